"""The contents beside each page, for page/templates/sbt-sidebar-nav.html: the theme would resolve them anew for each."""
from docutils import nodes
from sphinx.application import Sphinx

from ..build import book
from .plain_text import text_of


def add(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Hand the template the parts of the book: pairs of a caption and its chapters with their sections."""
    parts = book(app.env).toc.get('parts', ())
    context['contents'] = [(part['caption'], _chapters(app, part['chapters'])) for part in parts]
    context['title_in_contents'] = lambda page: _title(app, page)


def _chapters(app, chapters):
    """Pairs of a chapter and its sections; a page that is missing is reported by the table of contents."""
    known = app.env.titles
    return [(chapter['file'], [section['file'] for section in chapter.get('sections', ()) if section['file'] in known])
            for chapter in chapters if chapter['file'] in known]


def _title(app, page):
    number = book(app.env).numbers.get(page)
    title = text_of(app.env.titles[page])
    return f'{number}. {title}' if number else title
