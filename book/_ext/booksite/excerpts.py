"""Pieces of the recorded notebooks on other pages: a check with its result, a figure, cards of sections."""
import base64
import hashlib
import os
import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from .build import book, page_of, title_of

_QUESTION = re.compile(r'\*\*Question\.?\*\*\s*(.+?)(?=\s*(?:\*\*You need|\n\s*\n|\n\s*[-*] |\Z))', re.S)


class Excerpt(SphinxDirective):
    """Base of the directives that quote a section: its argument is a section of the table of contents."""
    required_arguments = 1

    def cells(self):
        section = self.arguments[0]
        path = book(self.env).notebook(section)
        if not path.is_file():
            raise self.error(f'{path} is missing: record it first')
        self.env.note_dependency(str(path))
        return book(self.env).cells(section)

    def missing(self, what):
        return self.error(f'{book(self.env).notebook(self.arguments[0])} has no {what}')


class CheckExcerpt(Excerpt):
    """The cell that checks one claim, and the lines that it printed: {check-excerpt} SECTION with :claim: ID."""
    option_spec = {'claim': directives.unchanged_required}

    def run(self):
        claim = self.options['claim']
        check = book(self.env).checks.get(claim)
        cells = self.cells()
        if check is None or check.section != self.arguments[0]:
            raise self.missing(f'check of {claim}')
        source = ''.join(cells[check.cell - 1]['source'])
        printed = ''.join(''.join(out.get('text', '')) for out in cells[check.cell - 1]['outputs'])
        made = nodes.container(classes=['excerpt'])
        made += nodes.literal_block(source, source, language='python')
        made += nodes.literal_block(printed, printed, language='none', classes=['output', 'stream'])
        return [made]


class FigureExcerpt(Excerpt):
    """A figure of a section: {figure-excerpt} SECTION with :showing: words of its alternative text, caption inside."""
    option_spec = {'showing': directives.unchanged_required}
    has_content = True

    def run(self):
        alt, png = self.figure()
        image = nodes.image(uri=self.stored(png), alt=alt)
        made = nodes.figure('', image, classes=['excerpt-figure'], align='center')
        caption = nodes.caption()
        self.state.nested_parse(self.content, self.content_offset, caption)
        if caption.children:
            made += nodes.caption('', '', *caption.children[0].children)
        return [made]

    def figure(self):
        """Alternative text and picture of the one figure whose alternative text contains the given words."""
        for cell in self.cells():
            alt = cell['metadata'].get('mystnb', {}).get('image', {}).get('alt', '')
            pictures = [out['data']['image/png'] for out in cell.get('outputs', ()) if 'image/png' in out.get('data', {})]
            if self.options['showing'].lower() in alt.lower() and pictures:
                return alt, base64.b64decode(''.join(pictures[0]))
        raise self.missing(f'figure whose alternative text says {self.options["showing"]!r}')

    def stored(self, png):
        """Put the picture beside the doctrees, never into the sources, and give its path from the sources."""
        folder = Path(self.env.doctreedir).parent / 'excerpts'
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f'{hashlib.sha256(png).hexdigest()[:16]}.png'
        path.write_bytes(png)
        return '/' + os.path.relpath(path, self.env.srcdir).replace(os.sep, '/')


class SectionCards(SphinxDirective):
    """A card for every section of the table of contents, with the question that it answers."""

    def run(self):
        the_book = book(self.env)
        cards = [self.card(page) for pages in the_book.chapters.values() for page in pages]
        lines = ['::::{grid} 1 2 2 3', ':gutter: 3', ':class-container: section-cards', '', *cards, '::::']
        made = nodes.container()
        self.state.nested_parse(StringList('\n'.join(lines).splitlines(), source=self.env.docname), 0, made)
        return made.children

    def card(self, page):
        self.env.note_dependency(str(Path(self.env.srcdir, f'{page}.ipynb')))
        asked = question(book(self.env).cells(page.removeprefix('notebooks/')))
        return '\n'.join([
            f':::{{grid-item-card}} {title_of(self.env, page)}', f':link: /{page}', ':link-type: doc', '', asked, ':::',
        ])


def question(cells):
    """The question that opens a section, '' where there is none."""
    opening = ''.join(cells[0]['source']) if cells else ''
    found = _QUESTION.search(opening)
    return ' '.join(found.group(1).split()) if found else ''
