"""Every formula of the ledger renders, those in its prose too, also of sections that are still to come."""
import html
import re

import pytest
from booksite.claims import formula
from conftest import settle
from docutils import nodes

from nbutils import ledger

FORMULAS = {
    f'{claim.id} ({part})': getattr(claim, part)
    for claim in ledger.claims().values() for part in ('notes', 'correct') if getattr(claim, part)
}
IN_PROSE = {
    f'{claim.id} (why, formula {number})': node.astext() for claim in ledger.claims().values()
    for number, node in enumerate(formula.prose(claim.why or ''), 1) if isinstance(node, nodes.math)
}
_TWO_WORDS = re.compile(r'(?<![\\a-zA-Z{])[a-zA-Z]{3,} [a-zA-Z]{2,}\b')


@pytest.fixture
def harness(page, site, address):
    """A page of the site's own MathJax with all formulas, each in an element that bears its name."""
    claims = (site / 'book' / 'claims.html').read_text('utf-8')
    settings = re.search(r'<script[^>]*>(window\.MathJax = .*?)</script>', claims).group(1)
    head = f'<script>{settings}</script><script defer src="/_static/mathjax/tex-chtml.js"></script>'
    lines = (f'<p data-name="{html.escape(n)}">\\({html.escape(latex)}\\)</p>' for n, latex in (FORMULAS | IN_PROSE).items())
    answer = {'content_type': 'text/html; charset=utf-8', 'body': f'<!DOCTYPE html>{head}{"".join(lines)}'}
    page.route('**/harness.html', lambda route: route.fulfill(**answer))
    page.set_default_timeout(120_000)  # more formulas than any page of the book has
    page.goto(f'{address}harness.html')
    settle(page)
    return page


def test_all_formulas_render(harness):
    bad = harness.evaluate("""() => {
      const error = p => p.querySelector('mjx-merror, [data-mjx-error], mjx-mtext[style*="red"]');
      return [...document.querySelectorAll('[data-name]')].filter(p => error(p) || !p.querySelector('mjx-container'))
        .map(p => `${p.dataset.name}: ${error(p)?.dataset.mjxError || p.innerText}`);
    }""")
    assert not bad, 'book/claims/*.yml: LaTeX that MathJax does not understand:\n' + '\n'.join(bad)


def test_words_of_a_formula_are_marked_as_text():
    """Words outside \\text{} would be set as a product of letters."""
    bad = [
        f'{name}: {value}' for name, latex in FORMULAS.items() for kind, value in formula.pieces(latex)
        if kind == 'math' and _TWO_WORDS.search(re.sub(r'\\\w+\{[^{}]*\}', '', value))
    ]
    assert not bad, 'book/claims/*.yml: put the words into \\text{}:\n' + '\n'.join(bad)


def test_dollars_and_backticks_of_prose_come_in_pairs():
    for claim in ledger.claims().values():
        rest = ''.join(node.astext() for node in formula.prose(claim.why or '') if isinstance(node, nodes.Text))
        assert not set('$`') & set(rest), claim.id
