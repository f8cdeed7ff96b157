"""Check lines in the outputs of a page: from a printed log to a list with links to the claims page."""
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from ..build import (
    CLAIMS_PAGE,
    ERRATA_PAGE,
    book,
    check_anchor,
    claim_anchor,
    erratum_anchor,
    link,
    paragraph,
    section_anchor,
    verified_anchor,
)
from . import formula
from .evidence import Line, read_line

MARKS = {'verified': '✓', 'holds': '✓', 'corrected': '✓', 'printed': '✗'}


def tidy(app: Sphinx, doctree: nodes.document) -> None:
    """Replace check lines in the outputs of a section by lists, and end the page with a line about its claims."""
    page = app.env.docname
    if not page.startswith('notebooks/') or CLAIMS_PAGE not in app.env.found_docs:
        return
    for block in list(doctree.findall(_is_output)):
        if made := rewritten(app.env, block.astext()):
            block.parent.replace(block, made)  # replace_self would hand on its classes
    _add_foot(app.env, doctree, page.removeprefix('notebooks/'))


def _is_output(node):
    return isinstance(node, nodes.literal_block) and 'stream' in node['classes']


def rewritten(env: BuildEnvironment, text: str) -> list[nodes.Element] | None:
    """Nodes for an output with check lines in it; None where there are none."""
    made, found = [], False
    for line in text.splitlines():
        if check := _read(line):
            found = True
            if not isinstance(made[-1] if made else None, nodes.bullet_list):
                made.append(nodes.bullet_list(classes=['checks']))
            made[-1] += _item(env, check)
        elif made and isinstance(made[-1], nodes.literal_block):
            made[-1] = _plain(f'{made[-1].astext()}\n{line}')
        else:
            made.append(_plain(line))
    return made if found else None


def _read(line):
    try:
        return read_line(line)
    except ValueError:  # reported by `evidence`
        return None


def _item(env, line):
    if line.kind == 'verified':
        name = nodes.inline('', f'{line.name}:')
    else:
        name = link(env, CLAIMS_PAGE, line.name, claim_anchor(line.name), ['claim-id'])
    parts = [nodes.inline('', MARKS[line.kind], classes=['verdict']), ' ', name]
    if line.kind == 'printed':
        parts += [': ', _wrong_version(env, line.name), ' fails', *place_of(line)]
    else:
        parts += [' as corrected ' if line.kind == 'corrected' else ' ', tried(line)]
        parts += ['; ', *rejected] if (rejected := noticed(line)) else []
    anchors = {'holds': check_anchor, 'printed': check_anchor, 'verified': verified_anchor}  # one for both of an erratum
    ids = [anchors[line.kind](line.name)] if line.kind in anchors and env.docname.startswith('notebooks/') else []
    if ids and line.kind == 'verified':  # a claim has its permanent link on the claims page
        parts.append(nodes.reference(
            '', '#', refuri=f'#{ids[0]}', internal=True, reftitle='Link to this statement', classes=['headerlink']))
    return nodes.list_item('', paragraph(*parts), classes=[f'check-{line.kind}'], ids=ids)


def _wrong_version(env, claim_id):
    """What fails: the page does not show it, so it is linked to its lesson among the errata, where there are errata."""
    said = 'a wrong version'
    if ERRATA_PAGE not in env.found_docs:
        return nodes.inline('', said)
    return link(env, ERRATA_PAGE, said, erratum_anchor(claim_id))


def tried(line: Line) -> str:
    """What was tried: 'holds in 9 cases'; as displayed, where the LaTeX of the page itself has run."""
    said = 'holds as displayed' if line.spoilt else 'holds'
    return f'{said} in {line.cases:,} case{"s" * (line.cases > 1)}' if line.cases else said


def noticed(line: Line) -> list[nodes.Node | str]:
    """What was rejected, and where; nothing for a correction that was tried without a mistake."""
    if line.spoilt:
        return [f'{line.spoilt} spoilt variants rejected; would notice: {line.slip}: ', *formula.inline(line.latex)]
    if line.slip:
        return [f'would notice: {line.slip}', *place_of(line, ', at ')]
    return []


def place_of(line: Line, words: str = ' at ') -> list[nodes.Node | str]:
    """The case in which something fails, after the words, or the reason; nothing where neither was printed."""
    if line.reason:
        return [f': {line.reason}']
    return [words, nodes.literal('', line.at, classes=['counterexample'])] if line.at else []


def _plain(text):
    return nodes.literal_block(text, text, language='none', classes=['output', 'stream'])


def _add_foot(env, doctree, section):
    """A last line: how many statements of this section are checked, with links to what was tried, and to wrong versions."""
    states = [book(env).state(claim) for claim in book(env).claims.get(section, ())]
    wrong, checked = states.count('wrong'), states.count('wrong') + states.count('holds')
    if not checked:
        return
    one = checked == 1
    said = [f'{checked} statement{"s" * (not one)} of this section {"is" if one else "are"} checked by a program: ',
            link(env, CLAIMS_PAGE, 'what was tried', section_anchor(section)), '.']
    if wrong and ERRATA_PAGE in env.found_docs:
        of_them = 'it' if one else f'{wrong if wrong < checked else "all"} of them'
        said += [f' For {of_them} the ', link(env, ERRATA_PAGE, 'errata'), ' show a wrong version, and where it fails.']
    page = next(doctree.findall(nodes.section))
    page += paragraph(*said, classes=['claims-foot'])
