"""What this book's website needs beside its theme; a local Sphinx extension in four rooms.

- `claims`: the ledger of claims beside what was executed: claims page, errata page, badges, check lines;
- `finding`: how readers find their way: contents, maps, glossary, index of terms, search, excerpts;
- `page`: what a single page is made of: scripts, fonts, pictures, code, repairs to the markup of others;
- `publish`: the address of the project, what links to a page show, the sitemap, lost addresses, the book on paper.

`reading` reads the ledger and the stored outputs first, `build` is what all know about the running build, `freshness` makes
an incremental build equal to a cold one, `caches` keeps what other packages would compute again, `data_page` shows the data
sets. The `setup` of each room says what it connects to which event of Sphinx.
Nothing is executed and nothing is written outside the build folder.

Seams that are not public, each guarded by tests/site/test_seams.py, test_freshness.py and test_live.py:

- `builder.search = False` (class attribute of Sphinx' HTML builder): the stock index would cost a tenth of the build;
- exact strings in the body of a page (`page.repairs`): myst-nb, sphinx-proof, sphinx-exercise and docutils write them;
- `context['header_buttons']` of sphinx-book-theme (`page.page_scripts`): its buttons get the words that they show;
- what sphinx-exercise, sphinx-proof and MyST keep in Sphinx' environment (`freshness`): names and titles to compare;
- three style sheets that their extensions copy only after all pages are written (`page.page_scripts.LATE`).
"""
import sys
import zlib
from pathlib import Path

from sphinx.application import Sphinx

_root = Path(__file__).resolve().parents[3]
if str(_root) not in sys.path:  # the ledger is read from the checkout: nbutils need not be installed
    sys.path.insert(0, str(_root))

from . import caches, claims, data_page, finding, freshness, page, publish, reading  # noqa: E402


def setup(app: Sphinx) -> dict:
    for part in (reading, claims, data_page, finding, page, publish, freshness, caches):
        part.setup(app)
    files = sorted([*Path(__file__).parent.rglob('*.py'), *_root.glob('nbutils/ledger.py')])
    # another extension, other pages: env_version makes Sphinx read all of them again
    version = zlib.crc32(b''.join(path.read_bytes() for path in files))
    return {'version': '1', 'env_version': version, 'parallel_read_safe': True, 'parallel_write_safe': True}
