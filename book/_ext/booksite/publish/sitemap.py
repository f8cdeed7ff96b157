"""The sitemap, and the list of all addresses that were ever published: these must keep working.

sphinx-sitemap lists the pages that a build writes: after an incremental one these are not all.
"""
from pathlib import Path
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

ADDRESSES = 'book/addresses.txt'
_log = logging.getLogger(__name__)


def write(app: Sphinx, error: Exception | None) -> None:
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


def check_addresses(app: Sphinx, env: BuildEnvironment) -> None:
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
