"""Whether the ledger quotes: what `notes` prints must stand in the notes, letter for letter, whatever the layout.

`tests/quotations` holds the four files of notes line by line, without layout, as `lines` makes them. The digest in the first
line of each is that of the file. A quotation is found where its text, without layout, stands in these lines; three dots in
brackets part pieces that follow one another. `tests/quotations/repairs.yml` names what noise of the scan a quotation mends.
"""
import re

OMITTED = '[…]'
NEAR = 1500  # signs between two pieces of one quotation, at most

_MATRIX = re.compile(r'\\begin\{(bmatrix|cases)\}(.*?)\\end\{\1\}', re.S)
_WRAPPED = re.compile(r'\\(?:text|textrm|textbf|mathrm|operatorname|texttt)\s*\{')
_LAYOUT = re.compile(
    r'\\(?:[,;:! ]|(?:quad|qquad|left|right|[bB]igg?[lr]?|textstyle|displaystyle|bullet)(?![a-zA-Z]))'
    r'|\\(?:begin|end)\{(?:aligned|array)\}(?:\{\w+\})?|[ \t~]')
_SINGLE = re.compile(r'\{(\\[a-zA-Z]+|[^\\{}])\}')
_SAME = [(re.compile(pattern), sign) for pattern, sign in (
    (r'\\leq?(?![a-zA-Z])', '≤'), (r'\\geq?(?![a-zA-Z])', '≥'), (r'\\neq?(?![a-zA-Z])', '≠'),
    (r'\\(?:to|rightarrow)(?![a-zA-Z])', '→'), (r'\\[lr]Vert(?![a-zA-Z])|\\\||\|\|', '‖'),
    (r'\\[lr]vert(?![a-zA-Z])|\\mid(?![a-zA-Z])', '|'), (r'\\l?dots(?![a-zA-Z])', '…'),
    (r'\\lbrace(?![a-zA-Z])|\\\{', '⦃'), (r'\\rbrace(?![a-zA-Z])|\\\}', '⦄'),
    (r"\^\{?\\prime\}?|['’]", '′'), (r'\\ell(?![a-zA-Z])', 'ℓ'), (r'\\infty(?![a-zA-Z])', '∞'),
    *((rf'\\{name}(?![a-zA-Z])', sign) for name, sign in (
        ('Sigma', 'Σ'), ('epsilon', 'ϵ'), ('xi', 'ξ'), ('lambda', 'λ'), ('theta', 'θ'), ('varphi', 'φ'), ('delta', 'δ'))),
)]


def plain(latex):
    """LaTeX, or text in which some is, without its layout: two prints that look the same give the same."""
    for pattern, sign in _SAME:
        latex = pattern.sub(sign, latex)
    latex = re.sub(r'\\mathbf\{([A-Za-z]{2,})\}', lambda found: ''.join(f'\\mathbf{{{x}}}' for x in found[1]), latex)
    latex = _MATRIX.sub(lambda found: f'〈{found[2]}〉'.replace(r'\\', '∨').replace('&', '∧'), latex)
    latex = re.sub(r'(?<!\\)&', '', latex.replace(r'\\', ''))
    latex = _LAYOUT.sub('', _unwrapped(latex))
    latex = re.sub(r'\\([_#$%&])', r'\1', latex)
    while (shorter := _SINGLE.sub(r'\1', latex)) != latex:
        latex = shorter
    return latex


def lines(text):
    """The lines of a file of notes without layout, marks of formulas, headings and lists; the empty ones are left out."""
    text = re.sub(r'^(?:#+|[ \t]*(?:•|-|\$\\bullet\$))[ \t]+', '', text, flags=re.M).replace(r'[\$', '[$')  # a broken line
    pieces = re.split(r'(\$\$|(?<!\\)\$(?! Generic)|(?<!\\)\\[\[\]()]|```)', text)
    inside, kept = '', []
    for piece in pieces:
        if piece in ('$', '$$', '```', '\\[', '\\]', '\\(', '\\)'):
            inside = '' if inside else piece
        else:
            kept.append(piece if inside else re.sub(r'\*+(?=\S)|(?<=[^\s^])\*+', '', piece).replace('&', r'\&'))
    return [line for line in plain(''.join(kept)).split('\n') if line]


def missing(notes, text):
    """The first piece of a quotation that does not stand in `text` after the one before, None where all do; both `plain`."""
    starts = [0]
    for piece in notes.split(OMITTED):
        ends = [found.end() for found in re.finditer(re.escape(piece), text)]
        starts = [end for end in ends if starts == [0] or any(0 <= end - len(piece) - start <= NEAR for start in starts)]
        if not starts:
            return piece
    return None


def _unwrapped(latex):
    while found := _WRAPPED.search(latex):
        depth, end = 1, found.end()
        while depth and end < len(latex):
            depth += {'{': 1, '}': -1}.get(latex[end], 0) * (latex[end - 1] != '\\')
            end += 1
        latex = latex[:found.start()] + latex[found.end():end - 1] + latex[end:]
    return latex
