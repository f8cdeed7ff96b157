"""Read the ledger and the stored outputs before anything else; each contradiction is a warning, so stops a strict build."""
from sphinx.application import Sphinx
from sphinx.util import logging

from .claims.evidence import Book
from .finding.glossary import Glossary
from .finding.prerequisites import Prerequisites

_log = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    app.connect('builder-inited', read_book, priority=100)


def read_book(app: Sphinx) -> None:
    """Put a `Book` with its prerequisites and its glossary where `build.book` finds it."""
    book = app.booksite = Book(app.srcdir)
    book.needs, book.glossary = Prerequisites(book), Glossary(book)
    checks, own = book.checks, sum(map(len, book.verified.values()))
    for place, message in [*book.problems, *book.needs.problems, *book.glossary.problems]:
        _log.warning(message, location=place, type='booksite')
    _log.info('[booksite] %d checks and %d own statements in %d sections', len(checks), own, len(book.sections))
