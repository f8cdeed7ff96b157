"""The checks of a part of a page: one closed line, which opens to their list, and the list to their code.

Cells with the tag `checks` are gathered, part by part, where the last of them stands. On paper the list alone remains.
A mark at each sentence that bears the name of a checked claim leads to its line in the list, and the line leads back.
"""
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxTranslator

from ..build import check_anchor
from .badges import name_of, said_of
from .evidence import Check

TAG = 'tag_checks'


class Folded(nodes.General, nodes.Element):
    """What is closed until a reader opens it, under the line `summary`; `on_paper` says whether paper shows it."""


def visit_html(self: SphinxTranslator, node: Folded) -> None:
    self.body.append(f'{self.starttag(node, "details")}<summary>{self.encode(node["summary"])}</summary>\n')


def depart_html(self: SphinxTranslator, node: Folded) -> None:
    self.body.append('</details>\n')


def visit_latex(self: SphinxTranslator, node: Folded) -> None:
    if not node['on_paper']:
        raise nodes.SkipNode


def depart_latex(self: SphinxTranslator, node: Folded) -> None:
    pass


def gather(app: Sphinx, doctree: nodes.document) -> None:
    """Put the checks of each part behind one line, and marks at the sentences that they check."""
    page = app.env.docname
    if not page.startswith('notebooks/'):
        return
    for title in list(doctree.findall(nodes.section))[:1]:
        for part in [part for part in title.children if isinstance(part, nodes.section)] or [title]:
            _fold([cell for cell in part.findall(nodes.container) if TAG in cell['classes']])
    section = page.removeprefix('notebooks/')
    _mark(doctree, [check for check in app.booksite.checks.values() if check.section == section])


def _fold(cells):
    if not cells:
        return
    lists = [found for cell in cells for found in cell.findall(nodes.bullet_list) if 'checks' in found['classes']]
    items = [item for found in lists for item in found.children]
    count = sum('check-corrected' not in item['classes'] for item in items)  # an erratum has two lines
    said = f'{count} statement{"s" * (count > 1)} of this part {"are" if count > 1 else "is"} checked'
    said = said if items else 'Numbers of this part are checked'
    outer = Folded(summary=said, on_paper=bool(items), classes=['part-checks'])
    code = Folded(summary='The code of these checks', on_paper=False, classes=['part-checks-code'])
    cells[-1].parent.replace(cells[-1], outer)
    for cell in cells[:-1]:
        cell.parent.remove(cell)
    for found in lists:
        found.parent.remove(found)
    gathered = nodes.bullet_list('', *items, classes=['checks'])
    outer += [gathered, code] if items else [code]
    code += cells


def _mark(doctree, checks: list[Check]) -> None:
    """A mark at the sentence that bears a claim's name; a link back at the line of its check."""
    lines = {name: item for item in doctree.findall(nodes.list_item) for name in item['ids']}
    for check in checks:
        anchor = nodes.make_id(check.id)
        equation = nodes.make_id(f'equation-{check.id}')
        statement = next(_named(doctree, anchor), None)
        if statement is not None:
            mark = nodes.reference('', '✓', refuri=f'#{check_anchor(check.id)}', internal=True, classes=['check-badge'])
            mark['reftitle'] = said_of(check)
            mark.insert(0, nodes.inline('', name_of(check), classes=['visually-hidden']))
            statement.insert(0, mark)
        if line := lines.get(check_anchor(check.id)):
            target = anchor if statement is not None else equation
            if statement is not None or _has(doctree, equation):
                line.children[0] += nodes.reference('', '↩', refuri=f'#{target}', internal=True, classes=['check-back'],
                                                    reftitle='Back to the statement')


def _named(doctree, anchor) -> Iterator[nodes.paragraph]:
    """The paragraph that bears an anchor, or follows at once after it."""
    for node in doctree.findall(nodes.paragraph):
        if anchor in node['ids']:
            yield node


def _has(doctree, equation):
    return any(equation in node.get('ids', ()) for node in doctree.findall(nodes.math_block))


def setup(app: Sphinx) -> None:
    app.add_node(Folded, html=(visit_html, depart_html), latex=(visit_latex, depart_latex))
