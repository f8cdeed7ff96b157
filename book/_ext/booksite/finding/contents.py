"""The contents beside each page, for page/templates/sbt-sidebar-nav.html: the theme would resolve them anew for each."""
from docutils import nodes
from sphinx.application import Sphinx

from ..build import book


def add(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Hand the template the parts of the book, and a function from a page to its number and title as HTML."""
    titles = book(app.env).__dict__.setdefault('titles_in_contents', {})  # the same on all pages

    def title_in_contents(page):
        if page not in titles:
            number = book(app.env).numbers.get(page)
            title = app.builder.render_partial(app.env.titles[page])['title']
            titles[page] = f'{number}. {title}' if number else title
        return titles[page]

    context['contents'] = [(part['caption'], _entries(app, part['chapters'])) for part in book(app.env).toc.get('parts', ())]
    context['title_in_contents'] = title_in_contents


def _entries(app, chapters):
    """Pairs of a chapter and its sections; a page that is missing is reported by the table of contents."""
    known = app.env.titles
    return [(chapter['file'], [section['file'] for section in chapter.get('sections', ()) if section['file'] in known])
            for chapter in chapters if chapter['file'] in known]
