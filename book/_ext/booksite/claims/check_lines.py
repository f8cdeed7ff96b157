"""Check lines in the outputs of a page: from a printed log to a list with links to the claims page."""
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from ..build import CLAIMS_PAGE, book, check_anchor, claim_anchor, link, paragraph, section_anchor, verified_anchor
from .evidence import read_line

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


def _item(env, check):
    if check.kind == 'verified':
        name = nodes.inline('', f'{check.name}:')
    else:
        name = link(env, CLAIMS_PAGE, check.name, claim_anchor(check.name), ['claim-id'])
    said = {
        'verified': ' holds',
        'holds': ' holds',
        'printed': ' as printed fails',
        'corrected': ' as corrected holds',
    }[check.kind]
    if check.cases:
        said += f' in {check.cases:,} case{"s" * (check.cases > 1)}'
    children = [nodes.inline('', MARKS[check.kind], classes=['verdict']), nodes.Text(' '), name, nodes.Text(said)]
    if check.slip:
        children.append(nodes.Text(f'; would notice: {check.slip}'))
    elif check.kind in ('holds', 'verified'):
        children.append(nodes.Text('; control fails'))
    if check.at:
        children += [nodes.Text(', at ' if check.slip else ' at '), nodes.literal('', check.at, classes=['counterexample'])]
    anchors = {'holds': check_anchor, 'printed': check_anchor, 'verified': verified_anchor}  # one for both of an erratum
    ids = [anchors[check.kind](check.name)] if check.kind in anchors and env.docname.startswith('notebooks/') else []
    if ids and check.kind == 'verified':  # a claim has its permanent link on the claims page
        children.append(nodes.reference(
            '', '#', refuri=f'#{ids[0]}', internal=True, reftitle='Link to this statement', classes=['headerlink']))
    return nodes.list_item('', paragraph(*children), classes=[f'check-{check.kind}'], ids=ids)


def _plain(text):
    return nodes.literal_block(text, text, language='none', classes=['output', 'stream'])


def _add_foot(env, doctree, section):
    """A last line: how many statements of the notes this section answers for, with a link to them."""
    claims = book(env).claims.get(section, ())
    if not claims:
        return
    wrong = sum(book(env).state(claim) == 'wrong' for claim in claims)
    said = f'{len(claims)} statement{"s" * (len(claims) > 1)} of the notes'
    rest = f', {wrong} of them wrong as printed.' if wrong else '.'
    answers = link(env, CLAIMS_PAGE, said, section_anchor(section))
    page = next(doctree.findall(nodes.section))
    page += paragraph('This section answers for ', answers, rest, classes=['claims-foot'])
