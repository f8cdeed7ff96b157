"""The ledger of claims beside what was executed: two pages, a badge at each formula, check lines with links."""
from sphinx.application import Sphinx

from . import badges, check_lines, claim_filter, errata, ledger_pages, part_checks


def setup(app: Sphinx) -> None:
    app.add_role('ledger', ledger_pages.LedgerNumber())
    app.add_directive('claim-counts', ledger_pages.ClaimCounts)
    app.add_directive('claim-tables', ledger_pages.ClaimTables)
    app.add_directive('errata', errata.Errata)
    part_checks.setup(app)
    app.connect('doctree-read', check_lines.tidy)
    app.connect('doctree-read', part_checks.gather)  # the lists that it has made
    app.connect('html-page-context', badges.add)
    app.connect('html-page-context', claim_filter.add_script)
