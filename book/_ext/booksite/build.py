"""What every part of the extension needs to know about the running build: the book, its pages, links between them."""
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.environment import BuildEnvironment

if TYPE_CHECKING:
    from .claims.evidence import Book

CLAIMS_PAGE = 'book/claims'
ERRATA_PAGE = 'book/errata'


def book(env: BuildEnvironment) -> 'Book':
    """The `Book` of the running build."""
    return env.app.booksite


def page_of(section: str) -> str:
    """The page of a section of the ledger: 'linear_algebra/norms' is at 'notebooks/linear_algebra/norms'."""
    return f'notebooks/{section}'


def title_of(env: BuildEnvironment, page: str) -> str:
    """The title of a page, read from its source: pages are read in any order, so Sphinx may not know it yet."""
    titles = book(env).titles
    if page not in titles:
        titles[page] = _title(env, page)
    return titles[page]


def _title(env, page):
    source = next((path for end in ('.md', '.ipynb') if (path := Path(env.srcdir, page + end)).is_file()), None)
    if source is None:
        return page.rsplit('/', 1)[-1].replace('_', ' ').capitalize()
    if source.suffix == '.md':
        text = source.read_text('utf-8')
    else:
        cells = book(env).cells(page.removeprefix('notebooks/'))
        text = '\n'.join(''.join(cell['source']) for cell in cells if cell['cell_type'] == 'markdown')
    return next((line[2:].strip() for line in text.splitlines() if line.startswith('# ')), page)


def address(env: BuildEnvironment, page: str, anchor: str = '', source: str | None = None) -> str:
    """The address of a page, or of an anchor on it, as seen from the page `source`, or from the one that is being read."""
    # the LaTeX builder knows its pages only later; this is how its writer names them
    paper = env.app.builder.format == 'latex'
    uri = f'%{page}' if paper else env.app.builder.get_relative_uri(source or env.docname, page)
    return uri + (f'#{anchor}' if anchor else '')


def link(env: BuildEnvironment, page: str, text: str, anchor: str = '', classes: Sequence[str] = (),
         source: str | None = None) -> nodes.reference:
    """A reference to an anchor on another page; see `address`."""
    return nodes.reference('', text, internal=True, refuri=address(env, page, anchor, source), classes=list(classes))


def claim_anchor(claim_id: str) -> str:
    return f'claim-{claim_id}'


def check_anchor(claim_id: str) -> str:
    return f'check-{claim_id}'


def erratum_anchor(claim_id: str) -> str:
    return f'erratum-{claim_id}'


def verified_anchor(statement: str) -> str:
    return nodes.make_id(f'verified-{statement}')


def section_anchor(section: str) -> str:
    return f'claims-{section.replace("/", "-")}'


def paragraph(*children: nodes.Node | str, classes: Sequence[str] = ()) -> nodes.paragraph:
    made = nodes.paragraph(classes=list(classes))
    for child in children:
        made += nodes.Text(child) if isinstance(child, str) else child
    return made


def table(headings: list[str], rows: list, classes: Sequence[str] = (), widths: Sequence[int] | None = None) -> nodes.table:
    """A table. Each row is a list of cells (lists of nodes); the attribute `ids` of a row may be set afterwards."""
    widths = widths or [1] * len(headings)
    group = nodes.tgroup(cols=len(headings))
    group += [nodes.colspec(colwidth=width) for width in widths]
    head = nodes.thead('', _row([[paragraph(heading)] for heading in headings]))
    group += [head, nodes.tbody('', *map(_row, rows))]
    return nodes.table('', group, classes=list(classes))


def _row(cells):
    return nodes.row('', *(nodes.entry('', *cell) for cell in cells))
