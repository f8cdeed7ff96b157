"""Pieces of the recorded notebooks on other pages: what a check printed, a figure, cards of sections."""
import hashlib
import os
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from ..build import book, link, paragraph, title_of
from ..claims import check_lines, part_checks
from ..claims.evidence import printed_lines, read_line


class CheckLines(SphinxDirective):
    """The lines that the check of one claim has printed: {check-lines} ID."""
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        check = book(self.env).checks.get(self.arguments[0])
        if check is None:
            raise self.error(f'no notebook shows a check of {self.arguments[0]}')
        cell = book(self.env).cells(check.section)[check.cell - 1]
        return check_lines.rewritten(self.env, lines_about(check.id, cell))


class FigureExcerpt(SphinxDirective):
    """A figure of a section: {figure-excerpt} SECTION with :showing: words of its alternative text, caption inside."""
    required_arguments = 1
    option_spec = {'showing': directives.unchanged_required}
    has_content = True

    def run(self) -> list[nodes.Node]:
        notebook = book(self.env).notebook(self.arguments[0])
        self.env.note_dependency(str(notebook))
        alt, svg = self.figure(notebook)
        image = nodes.image(uri=self.stored(svg), alt=alt)
        made = nodes.figure('', image, classes=['excerpt-figure'], align='center')
        caption = nodes.caption()
        self.state.nested_parse(self.content, self.content_offset, caption)
        if caption.children:
            made += nodes.caption('', '', *caption.children[0].children)
        return [made]

    def figure(self, notebook):
        """Alternative text and bytes of the one figure whose alternative text contains the given words."""
        for cell in book(self.env).cells(self.arguments[0]):
            alt = cell['metadata'].get('mystnb', {}).get('image', {}).get('alt', '')
            if self.options['showing'].lower() in alt.lower():
                for output in cell.get('outputs', ()):
                    if svg := output.get('data', {}).get('image/svg+xml'):
                        return alt, ''.join(svg).encode()
        raise self.error(f'{notebook} has no figure whose alternative text says {self.options["showing"]!r}')

    def stored(self, svg):
        """Put the picture beside the doctrees, never into the sources, and give its path from the sources."""
        folder = Path(self.env.doctreedir).parent / 'excerpts'
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f'{hashlib.sha256(svg).hexdigest()[:16]}.svg'
        path.write_bytes(svg)
        return '/' + os.path.relpath(path, self.env.srcdir).replace(os.sep, '/')


class SectionCards(SphinxDirective):
    """A card with its question for every section, by chapter; with a chapter's page as argument, for those of the chapter.

    On paper a list, and none without an argument: the table of contents is near.
    """
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        chapters = book(self.env).chapters
        if self.arguments and self.arguments[0] not in chapters:
            raise self.error(f'{self.arguments[0]} is no chapter of _toc.yml')
        if self.env.app.builder.format == 'latex':
            return self.listed(chapters[self.arguments[0]] if self.arguments else [])
        if self.arguments:
            return self.cards(chapters[self.arguments[0]])
        return [node for chapter, pages in chapters.items() for node in (self.heading(chapter), self.folded(pages))]

    def heading(self, chapter):
        name = f'{book(self.env).numbers[chapter]} {title_of(self.env, chapter)}'
        return nodes.rubric('', '', link(self.env, chapter, name), classes=['section-cards'])

    def folded(self, pages):
        """The cards of a chapter, folded on a phone, where those of all chapters are as long as 20 screens: book.css."""
        fold = part_checks.Folded(summary=f'{len(pages)} section{"s" * (len(pages) > 1)}', classes=['chapter-cards'])
        fold += self.cards(pages)
        return fold

    def cards(self, pages):
        grid = '::::{grid} 1 2 2 2\n:gutter: 1 1 3 3\n:class-container: section-cards\n'
        text = '\n'.join([grid, *map(self.card, pages), '::::'])
        made = nodes.container()
        self.state.nested_parse(StringList(text.splitlines(), source=self.env.docname), 0, made)
        return made.children

    def listed(self, pages):
        items = []
        for page in pages:
            title = link(self.env, page, title_of(self.env, page))
            items.append(nodes.list_item('', paragraph(title, f'. {self.asked(page)}')))
        return [nodes.bullet_list('', *items)] if items else []

    def asked(self, page):
        """The question of a section as book/questions.yml puts it."""
        return book(self.env).questions.get(page.removeprefix('notebooks/'), '')

    def card(self, page):
        return '\n'.join([
            f':::{{grid-item-card}} {title_of(self.env, page)}', f':link: /{page}', ':link-type: doc', '',
            self.asked(page), ':::',
        ])


def lines_about(claim_id: str, cell: dict) -> str:
    """What a cell has printed about one claim."""
    return '\n'.join(text for text in printed_lines(cell) if (line := read_line(text)) and line.name == claim_id)
