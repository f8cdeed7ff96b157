"""What others see of a page: its address, title, description and picture in links, in search results and in the sitemap."""
import html
import textwrap
from pathlib import Path
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from docutils import nodes
from sphinx.util import logging

from . import svg_figures
from .images import png_size
from .plain import text_of

PICTURE = '_static/page.png'  # of pages without a figure
ADDRESSES = 'book/addresses.txt'
_log = logging.getLogger(__name__)


def add_tags(app, page, template, context, doctree):
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


def title(doctree, page):
    """The title of a page as plain text."""
    return next((text_of(node) for node in doctree.findall(nodes.title)), page)


def description(doctree):
    """What a page is about in at most 200 characters: as its source says, else its question, else its first paragraph."""
    if said := written(doctree):
        return said
    text = (node for node in doctree.findall(nodes.paragraph) if not isinstance(node.parent, nodes.citation))
    first = next(map(text_of, text), '')
    return textwrap.shorten(first.removeprefix('Question.'), 200, placeholder=' …')


def written(doctree):
    """The description that a page gives in `html_meta`, '' where it gives none."""
    return next((node['content'] for node in doctree.findall(nodes.meta) if node.get('name') == 'description'), '')


def picture(app, doctree):
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
        if (size := png_size(path))[0] > size[1]:
            return f'{app.config.html_baseurl}{app.builder.imagedir}/{path.name}', image.get('alt', ''), *size
    alt = 'A page of the book: a formula, its check, and what the check printed'
    return app.config.html_baseurl + PICTURE, alt, *png_size(Path(app.srcdir, 'book', PICTURE))


def write_sitemap(app, error):
    """List the pages in sitemap.xml; where the book has a host of its own, robots.txt says so."""
    if error or app.builder.name != 'html':
        return
    base = app.config.html_baseurl
    pages = [escape(base + app.builder.get_target_uri(page)) for page in sorted(app.env.found_docs)]
    Path(app.outdir, 'sitemap.xml').write_text('\n'.join([
        '<?xml version="1.0" encoding="utf-8"?>', '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
        *(f'<url><loc>{page}</loc></url>' for page in pages), '</urlset>', '',
    ]), 'utf-8')
    if urlsplit(base).path == '/':  # nobody asks for it anywhere else
        Path(app.outdir, 'robots.txt').write_text(f'User-agent: *\nAllow: /\nSitemap: {base}sitemap.xml\n', 'utf-8')


def check_addresses(app, env):
    """Compare the pages with the list of all addresses that were ever published: these must keep working."""
    path = Path(app.srcdir, ADDRESSES)
    if not path.is_file():
        return
    listed = path.read_text('utf-8').split()
    redirected = {old.rsplit('.', 1)[0] for old in app.config.rediraffe_redirects}
    for number, page in enumerate(listed, 1):
        if page not in env.found_docs and page not in redirected:
            _log.warning('%s was a page: say in rediraffe_redirects of _config.yml where it is now', page,
                         location=f'{path}:{number}', type='booksite')
    for page in sorted(env.found_docs - set(listed)):
        _log.warning('%s is a new page: add its line, so that its address keeps working', page,
                     location=f'{path}:{len(listed)}', type='booksite')
