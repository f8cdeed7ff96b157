"""What this book's website needs beside its theme; a local Sphinx extension.

- `evidence`, `ledger_pages`: the claims page and the errata page, from the ledger and the stored outputs;
- `check_lines`: printed checks as lists that link to the claims page, and back;
- `excerpts`: a check, a figure and the questions of the sections on the landing page, taken from the notebooks;
- `repository`, `page_scripts`: the address of the project, and no request to another host;
- `repairs`: names for the theme's nameless controls;
- `highlight`, `images`, `sidebar`, `lookups`: pages of fewer bytes, and a build that computes once what is the same on each;
- `not_found`: a page for addresses that do not exist.

Nothing is executed and nothing is written outside the build folder.
"""
import sys
from pathlib import Path

_root = Path(__file__).resolve().parents[3]
if str(_root) not in sys.path:  # the ledger is read from the checkout: nbutils need not be installed
    sys.path.insert(0, str(_root))

from sphinx.util import logging  # noqa: E402

from nbutils import ledger  # noqa: E402

from . import (  # noqa: E402
    check_lines,
    excerpts,
    highlight,
    images,
    ledger_pages,
    lookups,
    not_found,
    page_scripts,
    repairs,
    repository,
    sidebar,
)
from .evidence import Book  # noqa: E402

GENERATED = ('book/index', 'book/how_to_read', 'book/claims', 'book/errata')  # from the ledger and all notebooks
_log = logging.getLogger(__name__)


def setup(app):
    app.add_role('ledger', ledger_pages.LedgerNumber())
    app.add_role('repository', repository.RepositoryFile())
    app.add_directive('claim-summary', ledger_pages.ClaimSummary)
    app.add_directive('claim-counts', ledger_pages.ClaimCounts)
    app.add_directive('claim-tables', ledger_pages.ClaimTables)
    app.add_directive('errata', ledger_pages.Errata)
    app.add_directive('check-lines', excerpts.CheckLines)
    app.add_directive('check-excerpt', excerpts.CheckExcerpt)
    app.add_directive('figure-excerpt', excerpts.FigureExcerpt)
    app.add_directive('section-cards', excerpts.SectionCards)
    app.connect('config-inited', _configure, priority=100)
    app.connect('builder-inited', _read_book)
    app.connect('builder-inited', page_scripts.add_filter)
    app.connect('builder-inited', sidebar.connect, priority=900)
    app.connect('source-read', _depend_on_sources)
    app.connect('doctree-read', check_lines.tidy)
    app.connect('html-page-context', page_scripts.name_buttons, priority=900)
    app.connect('html-page-context', page_scripts.clean, priority=950)
    app.connect('html-page-context', repairs.repair, priority=950)
    app.connect('html-collect-pages', not_found.pages)
    app.connect('html-page-context', images.lazy, priority=940)
    highlight.use(app)
    lookups.keep()
    app.add_js_file('math.js', priority=400, loading_method='defer')  # before MathJax, which has 500
    return {'version': '1', 'env_version': 1, 'parallel_read_safe': True, 'parallel_write_safe': True}


def _configure(app, config):
    config.templates_path.append(str(Path(__file__).parent / 'templates'))
    repository.configure(app, config)


def _read_book(app):
    """Read the ledger and the stored outputs; each contradiction is a warning, and so stops a strict build."""
    app.booksite = Book(app.srcdir)
    checks = app.booksite.checks
    for place, message in app.booksite.problems:
        _log.warning(message, location=place, type='booksite')
    _log.info('[booksite] %d checks in %d sections', len(checks), len(app.booksite.sections))


def _depend_on_sources(app, page, content):
    """Pages made from the ledger and all stored outputs are read again when one of these has changed."""
    if page in GENERATED:
        sections = map(app.booksite.notebook, app.booksite.sections)
        ledgers = [ledger.FOLDER / f'{file}.yml' for file in ledger.FILES]
        for file in (app.booksite.root / '_toc.yml', *ledgers, *sections, *Path(__file__).parent.glob('*.py')):
            app.env.note_dependency(str(file))
