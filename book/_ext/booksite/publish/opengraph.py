"""What others see of a page in links and in search results: its address, title, description and picture.

sphinxext-opengraph takes a description from the text as it stands, TeX included, and the first picture, also a narrow one.
"""
import html
import textwrap
from pathlib import Path

import imagesize
from docutils import nodes
from sphinx.application import Sphinx

from ..finding.plain_text import text_of
from ..page import svg_figures

PICTURE = '_static/page.png'  # of pages without a figure


def add_tags(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Put description, Open Graph and Twitter tags into the head of a page."""
    if doctree is None or not context.get('pageurl'):
        return
    said = description(doctree)
    address, alt, width, height = picture(app, doctree)
    properties = {
        'og:type': 'article', 'og:site_name': context['docstitle'], 'og:title': title(doctree, page),
        'og:url': context['pageurl'], 'og:description': said or context['docstitle'],
        'og:image': address, 'og:image:alt': alt,
        'og:image:width': width, 'og:image:height': height,
    }
    lines = [f'<meta property="{name}" content="{html.escape(str(text))}">' for name, text in properties.items()]
    lines.append('<meta name="twitter:card" content="summary_large_image">')
    if said and not written(doctree):
        lines.append(f'<meta name="description" content="{html.escape(said)}">')
    context['metatags'] += '\n'.join(['', *lines, ''])


def title(doctree: nodes.document, page: str) -> str:
    """The title of a page as plain text."""
    return next((text_of(node) for node in doctree.findall(nodes.title)), page)


def description(doctree: nodes.document) -> str:
    """What a page is about in at most 200 characters: as its source says, else its question, else its first paragraph."""
    if said := written(doctree):
        return said
    text = (node for node in doctree.findall(nodes.paragraph) if not isinstance(node.parent, nodes.citation))
    first = next(map(text_of, text), '')
    return textwrap.shorten(first.removeprefix('Question.'), 200, placeholder=' …')


def written(doctree: nodes.document) -> str:
    """The description that a page gives in `html_meta`, '' where it gives none."""
    return next((node['content'] for node in doctree.findall(nodes.meta) if node.get('name') == 'description'), '')


def picture(app: Sphinx, doctree: nodes.document) -> tuple[str, str, int, int]:
    """Address, alternative text, width and height of the first wide figure of a page, else of the picture of the book.

    Figures are transparent, in colours that keep their contrast on a light and on a dark ground.
    """
    sources = {name: source for source, name in app.builder.images.items() if name.endswith(('.png', '.svg'))}
    for image in doctree.findall(nodes.image):
        name = image['uri'].rsplit('/', 1)[-1]
        if name not in sources:
            continue
        path = Path(app.srcdir, sources[name])
        if name.endswith('.svg'):
            path = svg_figures.preview(app, path)
        if (size := imagesize.get(path))[0] > size[1]:
            return f'{app.config.html_baseurl}{app.builder.imagedir}/{path.name}', image.get('alt', ''), *size
    alt = 'A page of the book: a formula, its check, and what the check printed'
    return app.config.html_baseurl + PICTURE, alt, *imagesize.get(Path(app.srcdir, 'book', PICTURE))
