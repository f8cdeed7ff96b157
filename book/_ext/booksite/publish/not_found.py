"""The page for addresses that do not exist. A server shows it at any depth, so it must not use relative links.

sphinx-notfound-page writes one prefix into all links; here a server at the root finds style and search as well.
"""
from collections.abc import Iterator
from urllib.parse import urlsplit

from sphinx.application import Sphinx

from ..build import book, title_of


def pages(app: Sphinx) -> Iterator[tuple]:
    """Add 404.html to the pages of the site."""
    if app.builder.format != 'html':
        return
    site = urlsplit(app.config.html_baseurl)
    address = app.builder.get_target_uri
    yield '404', {
        'title': 'Page not found', 'site_host': site.netloc, 'site_path': site.path or '/',
        'titles': {address(page): title_of(app.env, page) for page in sorted(app.env.found_docs)},
        'chapters': [address(page) for page in book(app.env).chapters],
    }, 'not_found.html'
