"""Text that a search result or a tooltip can show: LaTeX becomes letters and signs of Unicode, code and markup go.

The signs are docutils' tables. On the 6,512 inline formulas of the book unicodeit leaves TeX in 1,733, and pylatexenc drops
norms and the brackets around exponents; both write bold letters as other characters, which no search would find.
"""
import functools
import re
import unicodedata

from docutils import nodes
from docutils.utils.math import tex2unichar

_SIGNS = {
    **tex2unichar.mathord, **tex2unichar.mathalpha, **tex2unichar.mathop, **tex2unichar.mathopen, **tex2unichar.mathclose,
    **tex2unichar.mathfence, **tex2unichar.mathpunct,
    **{name: f' {sign} ' for name, sign in {**tex2unichar.mathbin, **tex2unichar.mathrel}.items()},  # 'a ≤ b'
    'cdot': ' · ', 'dots': '…', 'ldots': '…', 'cdots': '⋯', 'top': 'ᵀ', 'epsilon': 'ε', 'mid': ' | ', 'xrightarrow': ' → ',
    'lVert': '‖', 'rVert': '\r‖', 'lvert': '|', 'rvert': '\r|', '|': '‖', 'square': '□', 'iff': ' ⇔ ', 'implies': ' ⇒ ',
    'circ': '∘',
    **dict.fromkeys([',', ';', ':', ' ', '\\', 'quad', 'qquad'], ' '), '!': '', **{sign: sign for sign in '{}%_&#$'},
}
_LETTERS = {  # commands that say how letters are set -> letters that are set otherwise
    'mathbb': dict(zip('CEHNPQRZ', 'ℂ𝔼ℍℕℙℚℝℤ', strict=True)),
    **dict.fromkeys(['mathbf', 'mathrm', 'mathcal', 'mathsf', 'mathtt', 'mathit', 'mathfrak', 'mathbin', 'mathdefault',
                     'boldsymbol', 'bm',
                     'text', 'textit', 'textbf', 'texttt', 'operatorname', 'operatorname*', 'mathop'], {}),
}
_SILENT = re.compile(r'(left|right|middle|[bB]igg?[lrm]?|(no)?limits|(display|text|script)style|label)')
_RAISED = dict(zip('0123456789+-=()inᵀT*∗⋆′', '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁱⁿᵀᵀ***′', strict=True))
_LOWERED = dict(zip('0123456789+-=()aeijklmnoprstuvx', '₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ', strict=True))
_TABLE = re.compile(r'\\begin\{(\w*matrix|array|cases)\}.*?\\end\{\1\}', re.S)
_ENVIRONMENT = re.compile(r'\\(?:begin|end)\{[^}]*\}')
_TOKEN = re.compile(r'\\[A-Za-z]+\*?\s*|\\.\s*|.', re.S)
_TIDY = [(r'\s*\r', ''), (r'\s+', ' '), (r'(?<=[(\[{⟨√∇]) | (?=[)\]}⟩,;.])', ''), (r' (?=[₀-₉ₐ-ₜᵢⱼ⁰¹²³⁴-ⁿᵀ_^])', '')]


@functools.cache  # pages repeat themselves, and each other
def formula(latex: str) -> str:
    """A formula as one line of text. What has no sign in Unicode keeps its name; there is no backslash and no dollar."""
    text = _row(_TOKEN.findall(_ENVIRONMENT.sub(' ', _TABLE.sub('[…]', latex))))
    for pattern, wanted in _TIDY:
        text = re.sub(pattern, wanted, text)
    return unicodedata.normalize('NFC', re.sub(r'[\\$]', '', text)).strip()


def _row(tokens, end=None):
    """The text of the tokens up to `end`. They are taken from the front of the list."""
    made = ''
    while tokens and tokens[0] != end:
        made += _item(tokens, made)
    del tokens[:1]
    return made


def _item(tokens, before=''):
    token = tokens.pop(0).rstrip() or ' '
    if token[0] == '\\':
        return _command(token[1:], tokens)
    if token == '{':
        return _row(tokens, '}')
    if token in ('^', '_'):
        return _script(token, _argument(tokens))
    if token in ('-', '+') and before.rstrip()[-1:].isalnum() or token in ('=', '<', '>'):
        return f' {"−" if token == "-" else token} '
    return {'-': '−', '&': ' ', '~': ' '}.get(token, token)


def _command(name, tokens):
    if name in ('frac', 'tfrac', 'dfrac'):
        return f'{_grouped(_argument(tokens))}/{_grouped(_argument(tokens))}'
    if name == 'binom':
        return f'({_argument(tokens)} choose {_argument(tokens)})'
    if name == 'sqrt':
        inner = _argument(tokens).strip()
        return f'√{inner}' if len(inner) == 1 or inner.isdigit() else f'√({inner})'
    if name in _LETTERS:
        return ''.join(_LETTERS[name].get(letter, letter) for letter in _argument(tokens))
    if accent := tex2unichar.mathaccent.get(name.removeprefix('wide')):
        inner = _argument(tokens)
        return inner + accent if len(inner) == 1 else inner
    if _SILENT.fullmatch(name):
        return ''
    return _SIGNS.get(name, f' {name} ')


def _argument(tokens):
    while tokens and tokens[0].isspace():
        tokens.pop(0)
    return _item(tokens) if tokens else ''


def _script(kind, text):
    table, letters = (_RAISED if kind == '^' else _LOWERED), text.replace('−', '-').replace(' ', '')
    if all(letter in table for letter in letters):
        return ''.join(table[letter] for letter in letters)
    text = text.strip()
    return f'{kind}{text}' if len(text) == 1 else f'{kind}({text})'


def _grouped(text):
    return text.strip() if re.fullmatch(r'\s*[\w.‖|′]*\s*', text) else f'({text.strip()})'


def text(markdown: str) -> str:
    """One paragraph of MyST as plain text: formulas as `formula` writes them, no marks of emphasis or code."""
    pieces = re.split(r'\$([^$]+)\$', markdown)
    pieces[::2] = [re.sub(r'[*`]|(?<=\])\([^)]*\)', '', piece) for piece in pieces[::2]]
    pieces[1::2] = map(formula, pieces[1::2])
    return re.sub(r'\s+', ' ', ''.join(pieces)).strip()


# classes of nodes with code in them, or with what other pages say
HIDDEN = ('cell', 'solution', 'section-cards', 'needed-by', 'claims-foot', 'check-badge')


def text_of(node: nodes.Node) -> str:
    """The prose of a node on one line: no code and no outputs, no solutions; long formulas become three dots."""
    return re.sub(r'\s+', ' ', ''.join(_pieces(node))).strip()


def _pieces(node):
    if isinstance(node, nodes.Text):
        yield node.astext()
    elif isinstance(node, nodes.math):
        yield formula(node.astext())
    elif isinstance(node, nodes.math_block):
        short = formula(node.astext())
        yield f' {short} ' if len(short) < 60 else ' … '
    elif not is_hidden(node):
        for child in node.children:
            yield from _pieces(child)
        if not isinstance(node, nodes.Inline):
            yield ' '


def is_hidden(node: nodes.Node) -> bool:
    """Whether a node holds something other than prose."""
    skipped = (nodes.literal_block, nodes.raw, nodes.comment, nodes.Invisible, nodes.image)
    return isinstance(node, skipped) or any(name in HIDDEN for name in node.get('classes', ()))
