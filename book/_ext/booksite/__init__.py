"""What this book's website needs beside its theme; a local Sphinx extension.

- `evidence`, `ledger_pages`, `errata`: the claims page and the errata page, from the ledger and the stored outputs;
- `ledger_faults`: what is wrong with the ledger, with file and line;
- `badges`: a mark at each formula that a cell has checked, with a link to the check;
- `claim_filter`: what the filter of the claims page, `_static/claims.js`, searches;
- `check_lines`: printed checks as lists that link to the claims page, and back;
- `needs`, `layers`, `maps`: what each section needs, drawn on the pages of the chapters;
- `terms`: the glossary, links to it, the index of terms; `plain`: formulas as plain text;
- `search_index`: what the search page searches;
- `excerpts`: a check, a figure and the questions of the sections on the landing page, taken from the notebooks;
- `repository`, `page_scripts`: the address of the project, and no request to another host;
- `repairs`: names for the theme's nameless controls;
- `pictures`: no picture without words for those who cannot see it; `svg_figures`: figures in the colours of the page;
- `sharing`: what links to a page show, the sitemap, and that addresses keep working;
- `highlight`, `images`, `sidebar`, `lookups`: pages of fewer bytes, and a build that computes once what is the same on each;
- `parallel`: a build on all processors;
- `not_found`: a page for addresses that do not exist;
- `paper`: the book as one PDF.

Nothing is executed and nothing is written outside the build folder.
"""
import sys
import zlib
from pathlib import Path

_root = Path(__file__).resolve().parents[3]
if str(_root) not in sys.path:  # the ledger is read from the checkout: nbutils need not be installed
    sys.path.insert(0, str(_root))

from sphinx.errors import ExtensionError  # noqa: E402
from sphinx.util import logging  # noqa: E402

from . import (  # noqa: E402
    badges,
    check_lines,
    claim_filter,
    errata,
    excerpts,
    highlight,
    images,
    ledger_faults,
    ledger_pages,
    lookups,
    maps,
    not_found,
    page_scripts,
    paper,
    parallel,
    pictures,
    repairs,
    repository,
    search_index,
    sharing,
    sidebar,
    svg_figures,
    terms,
)
from .evidence import Book  # noqa: E402
from .needs import Needs  # noqa: E402

GENERATED = ('book/index', 'book/how_to_read', 'book/claims', 'book/errata')  # from the ledger and what notebooks say of it
_log = logging.getLogger(__name__)


def setup(app):
    app.add_role('ledger', ledger_pages.LedgerNumber())
    app.add_role('repository', repository.RepositoryFile())
    app.add_role('published', repository.PublishedFile())
    app.add_directive('claim-summary', ledger_pages.ClaimSummary)
    app.add_directive('claim-counts', ledger_pages.ClaimCounts)
    app.add_directive('claim-tables', ledger_pages.ClaimTables)
    app.add_directive('errata', errata.Errata)
    app.add_directive('check-lines', excerpts.CheckLines)
    app.add_directive('check-excerpt', excerpts.CheckExcerpt)
    app.add_directive('figure-excerpt', excerpts.FigureExcerpt)
    app.add_directive('section-cards', excerpts.SectionCards)
    app.add_directive('chapter-map', maps.ChapterMap)
    app.add_directive('book-map', maps.BookMap)
    app.add_directive('index-of-terms', terms.IndexOfTerms)
    app.add_node(terms.index_of_terms)
    app.add_transform(terms.Terms)
    app.add_transform(pictures.Addresses)
    app.connect('doctree-resolved', terms.fill_index)
    app.connect('config-inited', _configure, priority=100)
    app.connect('builder-inited', _read_book)
    app.connect('builder-inited', search_index.start)
    app.connect('doctree-resolved', search_index.collect)
    app.connect('html-collect-pages', search_index.pages)
    app.connect('build-finished', search_index.finish)
    app.connect('builder-inited', page_scripts.add_filter)
    app.connect('builder-inited', page_scripts.drop_live_files, priority=900)
    app.connect('env-get-outdated', maps.outdated)
    app.connect('doctree-read', maps.add_foot)
    app.connect('builder-inited', sidebar.connect, priority=900)
    app.connect('env-get-outdated', _outdated)
    app.connect('source-read', _depend_on_all)
    app.connect('doctree-read', check_lines.tidy)
    app.connect('html-page-context', badges.add)
    app.connect('html-page-context', claim_filter.add_script)
    app.connect('doctree-read', pictures.check)
    app.connect('html-page-context', page_scripts.name_buttons, priority=900)
    app.connect('html-page-context', page_scripts.clean, priority=950)
    app.connect('html-page-context', repairs.repair, priority=950)
    app.connect('html-page-context', sharing.add_tags, priority=950)
    app.connect('env-updated', sharing.check_addresses)
    app.connect('build-finished', sharing.write_sitemap)
    app.connect('html-collect-pages', not_found.pages)
    app.connect('html-page-context', images.lazy, priority=940)
    app.connect('html-page-context', svg_figures.put_in, priority=940)
    highlight.use(app)
    lookups.keep(app)
    parallel.use(app)
    app.add_js_file('math.js', priority=400, loading_method='defer')  # before MathJax, which has 500
    paper.setup(app)
    sources = b''.join(path.read_bytes() for path in sorted(Path(__file__).parent.glob('*.py')))
    # another extension, other pages: env_version makes Sphinx read all of them again
    return {'version': '1', 'env_version': zlib.crc32(sources), 'parallel_read_safe': True, 'parallel_write_safe': True}


def _configure(app, config):
    config.templates_path.insert(0, str(Path(__file__).parent / 'templates'))  # before those of the theme
    repository.configure(app, config)


def _read_book(app):
    """Read the ledger and the stored outputs; each contradiction is a warning, and so stops a strict build."""
    if _warn(ledger_faults.broken()):
        raise ExtensionError('the ledger of claims cannot be read: see the warnings above')
    macros = (app.config.mathjax3_config or {}).get('tex', {}).get('macros', ())
    _warn(ledger_faults.doubtful(ledger_faults.commands(Path(app.srcdir, 'book', '_static', 'mathjax'), macros)))
    app.booksite = Book(app.srcdir)
    checks, own = app.booksite.checks, sum(map(len, app.booksite.verified.values()))
    app.booksite.needs = Needs(app.booksite)
    app.booksite.glossary = terms.Glossary(app.booksite)
    _warn([*app.booksite.problems, *app.booksite.needs.problems, *app.booksite.glossary.problems])
    _log.info('[booksite] %d checks and %d own statements in %d sections', len(checks), own, len(app.booksite.sections))


def _warn(problems):
    """Report problems, pairs of a place and a message; how many they are."""
    problems = list(problems)
    for place, message in problems:
        _log.warning(message, location=place, type='booksite')
    return len(problems)


def _outdated(app, env, added, changed, removed):
    """The generated pages and those of the chapters, where what they show has changed since they were read."""
    shown = app.booksite.shown
    before, env.booksite_shown = getattr(env, 'booksite_shown', None), shown
    return [page for page in (*GENERATED, *app.booksite.chapters) if shown != before and page in env.found_docs]


def _depend_on_all(app, page, content):
    """The index of terms says which sections use a term: it is read again when a notebook or the glossary has changed."""
    if page == terms.INDEX:
        root = app.booksite.root
        for file in (root / '_toc.yml', root / 'book' / 'glossary.md', *map(app.booksite.notebook, app.booksite.sections)):
            app.env.note_dependency(str(file))
