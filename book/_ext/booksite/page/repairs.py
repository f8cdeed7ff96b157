"""Repairs to the HTML of other extensions in the body of a page: controls with two names, identifiers given twice."""
import re

from docutils import nodes
from sphinx.application import Sphinx

_FORMULA = re.compile(r'([(\[“‘]*)(<span class="math notranslate nohighlight">[^<]*</span>)([-.,;:!?)\]”’]+|)')
REPAIRS = {  # what is written -> what it should be
    # two names: voice control would hear another one than the reader sees
    '<summary aria-label="Toggle hidden content">': '<summary>',
    # sphinx-proof gives all proofs of a page one identifier
    '<div class="proof admonition" id="proof">\n<p>Proof. ':
        '<div class="proof admonition proof-text">\n<p><em>Proof.</em> ',
    # nor a title to a folded one, without which the script that folds stops there, and folds nothing below
    '<div class="proof dropdown admonition" id="proof">\n<p>Proof. ':
        '<div class="dropdown admonition">\n<p class="admonition-title">Proof</p>\n<p>',
    ' id="proof-content"': '',
    # the theme shows a title on hover alone; its own tooltips come with the keyboard, too
    '<a class="term reference internal"': '<a class="term reference internal" data-bs-toggle="tooltip"',
    # sphinx-exercise does so with the text of exercises and solutions
    ' id="exercise-content"': '',
    ' id="solution-content"': '',
    # a list whose items have another role
    '<div role="list" class="citation-list">': '<div class="citation-list">',
    ' role="doc-biblioentry"': '',
}


def repair(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Repair the text of a page."""
    body = context.get('body') or ''
    for written, wanted in REPAIRS.items():
        body = body.replace(written, wanted)
    context['body'] = _FORMULA.sub(_kept_together, body)


def _kept_together(found):
    """A formula with the brackets and stops that touch it: a line must not begin with a full stop."""
    return f'<span class="keep">{found[0]}</span>' if found[1] or found[3] else found[0]
