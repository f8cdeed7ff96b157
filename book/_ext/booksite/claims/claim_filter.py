r"""What the filter of the claims page needs: its script, and for each claim the words by which a reader may look for it.

A formula is found by its LaTeX (`\|\mathbf{x}\|`), by what is left of that without marks (`||x||`), and by names (`norm`).
"""
import re
from html import escape

from docutils import nodes
from sphinx.application import Sphinx

from nbutils import ledger

from ..build import CLAIMS_PAGE

_MARKS = re.compile(
    r'\\(?:mathbf|mathrm|mathsf|mathcal|mathbb|boldsymbol|operatorname|text|texttt|left|right|[bB]igg?[lr]?|quad|qquad)\b\*?'
    r'|\\[,;:! ]|[{}\s]',
)
_SIGNS = {  # what stands in LaTeX -> what is typed for it
    r'\\(?:[lr]Vert|\|)': '||', r'\\[lr]vert': '|', r'\\leq?\b': '<=', r'\\geq?\b': '>=', r'\\neq?\b': '!=', r'\\top': 'T',
    r'\\': '',
}
_NAMES = {  # name -> how LaTeX shows the thing
    'norm': r'\\[lr]Vert|\|\||\\\|', 'inverse': r'\^\{-1\}', 'transpose': r'\^\{?(?:\\top|\\mathsf|T\b)',
    'trace': r'tr\}|\\tr\b', 'determinant': r'\\det', 'matrix': r'\{[bp]matrix', 'Hadamard product': r'\\odot',
    'outer product': r'\\otimes', 'gradient': r'\\nabla', 'derivative': r'\\partial|\\frac\{d', 'integral': r'\\int',
    'sum': r'\\sum', 'minimum': r'\\(arg)?min', 'expectation mean': r'\\mathbb\{?E', 'probability': r'\\Pr|\bp\(',
    'covariance': r'Cov|\\Sigma', 'Gaussian': r'\\mathcal\{?N', 'square root': r'\\sqrt', 'exponential': r'\\exp|e\^',
    'logarithm': r'\\log|\\ln', 'loss': r'\\mathcal\{?L',
}


def add_script(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Load the filter on the claims page alone."""
    if page == CLAIMS_PAGE:
        app.add_js_file('claims.js', loading_method='defer')


def words(claim: ledger.Claim) -> nodes.raw:
    """A node that shows nothing and holds the `search_words` of a claim."""
    return nodes.raw('', f'<data value="{escape(search_words(claim))}"></data>', format='html')


def search_words(claim: ledger.Claim) -> str:
    """Name and title of a claim, the heading of the notes, its formulas in three forms."""
    heading = next(h for h in ledger.headings(claim.id.split('.')[0]) if h['id'] == claim.heading)
    latex = ' '.join(filter(None, (claim.notes, claim.correct)))
    named = (name for name, shown in _NAMES.items() if re.search(shown, latex))
    return ' '.join(filter(None, (claim.id, claim.title, heading['heading'], latex, plain(latex), *named)))


def plain(latex: str) -> str:
    """A formula without spaces, groups and typefaces, as one would type it."""
    text = _MARKS.sub('', latex)
    for sign, typed in _SIGNS.items():
        text = re.sub(sign, typed, text)
    return text
