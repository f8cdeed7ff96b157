"""Maps of what depends on what: of a chapter, of the book; and the line at the end of a section that says who needs it."""
from collections.abc import Callable

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from ..build import address, book, link, paragraph, title_of
from .graph_layout import Box, draw
from .prerequisites import Prerequisites

CAPTION = ('An arrow leads from a section to those that need it; small print names what is needed from other chapters. '
           'What follows from other needs is left out.')


def needs(env: BuildEnvironment) -> Prerequisites:
    """The `Prerequisites` of the running build."""
    return env.app.booksite.needs


class ChapterMap(SphinxDirective):
    """The sections of a chapter, given by its page, and what they need from others: {chapter-map} book/calculus."""
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        chapter = self.arguments[0]
        if chapter not in book(self.env).chapters:
            raise self.error(f'{chapter} is no chapter of _toc.yml')
        items = [self.item(page) for page in book(self.env).chapters[chapter]]
        if len(items) == 1:
            return items[0].children
        return figure(chapter_svg(self.env, chapter, self.uri), CAPTION, items)

    def uri(self, page):
        return address(self.env, page)

    def item(self, page):
        wanted = needs(self.env).of[page]
        said = [named(self.env, page), ' needs ' if wanted else ' needs no other section.']
        return nodes.list_item('', paragraph(*said, *listed(self.env, wanted)))


class BookMap(ChapterMap):
    """The chapters of the book and which need others, with the sections where one can start: {book-map}."""
    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        found = needs(self.env)
        edges = chapter_edges(found)
        boxes = {chapter: Box(found.book.numbers[chapter], title_of(self.env, chapter), self.uri(chapter))
                 for chapter in found.book.chapters}
        items = []
        for chapter in boxes:
            wanted = [a for a, b in edges if b == chapter]
            said = [named(self.env, chapter), ' needs ' if wanted else ' needs no other chapter.']
            items.append(nodes.list_item('', paragraph(*said, *listed(self.env, wanted))))
        first = [page for page in found.pages if not found.of[page]]
        start = paragraph('Sections that need no other one: ', *listed(self.env, first), classes=['map-starts'])
        svg = draw(boxes, _direct(edges), 'Map of the chapters')
        return [*figure(svg, 'An arrow leads from a chapter to those with sections that need it.', items), start]


def chapter_edges(found: Prerequisites) -> list[tuple[str, str]]:
    """Pairs of chapters, what is needed first. Of two that need each other the one with the lower number is needed."""
    chapters = list(found.book.chapters)
    pairs = {(found.chapter[need], found.chapter[page]) for page in found.pages for need in found.of[page]}
    pairs = sorted((pair for pair in pairs if pair[0] != pair[1]), key=lambda pair: tuple(map(chapters.index, pair)))
    kept = []
    for a, b in sorted(pairs, key=lambda pair: chapters.index(pair[0]) > chapters.index(pair[1])):  # forward ones first
        if not _leads(kept, b, a):
            kept.append((a, b))
    return sorted(kept, key=lambda pair: tuple(map(chapters.index, pair)))


def chapter_svg(env: BuildEnvironment, chapter: str, uri: Callable[[str], str]) -> str:
    """The map of a chapter; `uri` gives the address of a page."""
    found, pages = needs(env), book(env).chapters[chapter]

    def box(page, inside=()):
        return Box(found.book.numbers[page], title_of(env, page), uri(page), tuple(map(box, inside)))

    boxes = {page: box(page, found.outside(page, pages)) for page in pages}
    edges = [(need, page) for page in pages for need in found.inside(page, pages)]
    return draw(boxes, edges, f'Map of the chapter {title_of(env, chapter)}')


def figure(svg: str, caption: str, items: list[nodes.Node]) -> list[nodes.Node]:
    """The drawing in a box that scrolls, its caption, and the same as a list that unfolds."""
    opened = f'<figure class="map-figure"><div class="map-box">{svg}</div>\n<figcaption>{caption}</figcaption></figure>\n'
    return [
        nodes.raw('', f'{opened}<details class="map-list"><summary>The same as a list</summary>', format='html'),
        nodes.bullet_list('', *items),
        nodes.raw('', '</details>', format='html'),
    ]


def named(env: BuildEnvironment, page: str) -> nodes.reference:
    return link(env, page, f'{book(env).numbers[page]} {title_of(env, page)}')


def listed(env: BuildEnvironment, pages: list[str]) -> list[nodes.Node | str]:
    """Links to pages with commas between and a full stop at the end."""
    made = []
    for i, page in enumerate(pages):
        made += [named(env, page), '.' if i == len(pages) - 1 else ', ']
    return made


def add_foot(app: Sphinx, doctree: nodes.document) -> None:
    """A line at the end of a section: which sections need it."""
    page = app.env.docname
    if page in needs(app.env).of and (users := needs(app.env).needed_by(page)):
        section = next(doctree.findall(nodes.section))
        section += paragraph('Needed by ', *listed(app.env, users), classes=['needed-by'])


def _direct(edges):
    """The edges that do not follow from others."""
    return [(a, b) for a, b in edges if not _leads([edge for edge in edges if edge != (a, b)], a, b)]


def _leads(edges, start, end):
    reached = {start}
    for _ in edges:
        reached |= {b for a, b in edges if a in reached}
    return end in reached
