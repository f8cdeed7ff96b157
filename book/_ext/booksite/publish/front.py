"""The address of the site shows the book's first page, and does not send its reader on."""
import posixpath
import re
from pathlib import Path

from sphinx.application import Sphinx

_LINK = re.compile(r'((?:href|src|action|data-content_root)=")(?!#|/|[a-z]+:)([^"]*)"')


def put_first(app: Sphinx, error: Exception | None) -> None:
    """Copy the first page to the root of the site, with links that lead from there."""
    page = app.config.root_doc
    if error or app.builder.format != 'html' or '/' not in page:
        return

    def from_root(found):
        leads_to = posixpath.normpath(posixpath.join(posixpath.dirname(page), found[2]))
        return f'{found[1]}{leads_to}{"/" * found[2].endswith("/")}"'

    text = Path(app.outdir, f'{page}.html').read_text('utf-8')
    Path(app.outdir, 'index.html').write_text(_LINK.sub(from_root, text), 'utf-8')
