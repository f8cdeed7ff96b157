"""Read the ledger and the stored outputs before anything else; each contradiction is a warning, so stops a strict build."""
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging

from .claims import ledger_faults
from .claims.evidence import Book
from .finding.glossary import Glossary
from .finding.prerequisites import Prerequisites

_log = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    app.connect('builder-inited', read_book, priority=100)


def read_book(app: Sphinx) -> None:
    """Put a `Book` with its prerequisites and its glossary where `build.book` finds it. Raises ExtensionError."""
    if _warn(ledger_faults.broken()):
        raise ExtensionError('the ledger of claims cannot be read: see the warnings above')
    _warn(ledger_faults.doubtful())
    book = app.booksite = Book(app.srcdir)
    book.needs, book.glossary = Prerequisites(book), Glossary(book)
    checks, own = book.checks, sum(map(len, book.verified.values()))
    _warn([*book.problems, *book.needs.problems, *book.glossary.problems])
    _log.info('[booksite] %d checks and %d own statements in %d sections', len(checks), own, len(book.sections))


def _warn(problems):
    """Report problems, pairs of a place and a message; how many they are."""
    problems = list(problems)
    for place, message in problems:
        _log.warning(message, location=place, type='booksite')
    return len(problems)
