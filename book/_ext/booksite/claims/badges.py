"""A mark at each displayed formula that bears the name of a claim: it leads to the line of the check."""
import re
from html import escape

from docutils import nodes
from sphinx.application import Sphinx

from ..build import check_anchor
from .check_lines import tried
from .evidence import Check

_NUMBER = re.compile(r'(<div class="math[^>]* id="([^"]+)">\s*<span class="eqno">)')


def add(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Put the marks before the numbers of the equations."""
    if not page.startswith('notebooks/') or not context.get('body'):
        return
    section = page.removeprefix('notebooks/')
    checks = [check for check in app.booksite.checks.values() if check.section == section]
    badges = {nodes.make_id(f'equation-{check.id}'): badge(check) for check in checks}
    context['body'] = _NUMBER.sub(lambda found: found[1] + badges.get(found[2], ''), context['body'])


def badge(check: Check) -> str:
    """✓, for what stands on the page holds, also where the notes print it wrongly: the check that it leads to says so."""
    return (
        f'<a class="check-badge" href="#{escape(check_anchor(check.id))}" aria-label="{escape(name_of(check))}" '
        f'title="{escape(said_of(check))}">✓</a>'
    )


def name_of(check: Check) -> str:
    """What a screen reader says of the mark."""
    return f'{"corrected and " * bool(check.fails)}checked: {check.id}'


def said_of(check: Check) -> str:
    """What the mark says on hover: in how many cases the check was tried."""
    return f'{"as corrected, " * bool(check.fails)}{tried(check.holds)}'.capitalize()
