"""LaTeX into tokens. pylatexenc finds macros, arguments and groups; here fonts and accents become parts of names.

`\\hat{\\mathbf{w}}` is the bold name `w_hat`, `\\varepsilon` the name `epsilon`, `\\operatorname{tr}` the name `tr`,
`\\mathcal{N}` the name `Normal`.
Each token keeps the place where it stands in the LaTeX, so that a slip can be made there.
"""
import re
from typing import NamedTuple

from pylatexenc.latexwalker import (
    LatexCharsNode,
    LatexEnvironmentNode,
    LatexGroupNode,
    LatexMacroNode,
    LatexSpecialsNode,
    LatexWalker,
    LatexWalkerParseError,
    get_default_latex_context_db,
)
from pylatexenc.macrospec import std_macro

FONTS = {'mathbf', 'boldsymbol', 'bm', 'mathcal', 'mathrm', 'mathsf', 'mathbb', 'operatorname', 'mathop', 'mathit'}
ACCENTS = {
    'hat': 'hat', 'widehat': 'hat', 'tilde': 'tilde', 'widetilde': 'tilde', 'bar': 'bar', 'overline': 'bar', 'dot': 'dot',
}
BOARD = {'R': 'Reals', 'P': 'Pr', '1': 'Indicator', 'E': 'Expect', 'N': 'Naturals'}
BARS = {'lVert': 'macro', 'rVert': 'macro', 'lvert': 'sign', 'rvert': 'sign'}  # kinds of the bars that they are
BLANKS = {',', ';', ':', '!', ' ', '/', 'displaystyle', 'textstyle', 'nolimits', 'limits'}
WIDE_BLANKS = {'quad', 'qquad'}
SIZES = {f'{size}{side}' for size in ('big', 'Big', 'bigg', 'Bigg') for side in ('', 'l', 'r', 'm')} | {'left', 'right'}
GREEK = set(
    'alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi rho sigma tau upsilon '
    'phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell'.split()
)
FUNCTIONS = set(
    'exp log ln sin cos tan tanh cosh sinh arctan arccos arcsin det max min arg sup inf lim Pr dim ker gcd'.split()
)

_context = get_default_latex_context_db()
_context.add_context_category('formulas', prepend=True, macros=[
    std_macro('operatorname', '*{'), std_macro('binom', '{{'), std_macro('xrightarrow', '{'), std_macro('overset', '{{'),
    *(std_macro(name, '{{') for name in ('frac', 'tfrac', 'dfrac')),
    *(std_macro(name, '{') for name in (
        'underbrace', 'boldsymbol', 'bm', 'mathbb', 'mathcal', 'substack', 'widehat', 'widetilde', 'overline')),
])


class FormulaError(ValueError):
    """The formula cannot be read or run; the message says which part of it."""


class ShapeError(FormulaError):
    """The formula puts together what does not fit, so it is wrong for all values."""


class Token(NamedTuple):
    """A piece of LaTeX. `kind` is name, number, sign, blank, wide, text, group, macro or environment."""
    kind: str
    text: str
    start: int  # its place in the LaTeX
    end: int
    args: tuple = ()  # lists of tokens
    bold: bool = False

    def is_(self, *texts: str) -> bool:
        """Whether this is one of these signs or macros."""
        return self.kind in ('sign', 'macro') and self.text in texts


def tokens(latex: str) -> list[Token]:
    """The tokens of a formula. Raises FormulaError for what is no LaTeX."""
    same_length = re.sub(r'(\\\\)(\[[\d.]+(?:ex|em|pt)\])', lambda found: found[1] + ' ' * len(found[2]), latex)
    same_length = re.sub(r'\\label\{[^}]*\}', lambda found: ' ' * len(found[0]), same_length)
    walker = LatexWalker(same_length, latex_context=_context, tolerant_parsing=False)
    try:
        nodes, _, read = walker.get_latex_nodes(parsing_state=walker.make_parsing_state(in_math_mode=True))
    except LatexWalkerParseError as error:
        raise FormulaError(f'not LaTeX: {error}') from None
    if read != len(same_length):
        raise FormulaError('not LaTeX: an unbalanced bracket')
    return _converted(nodes)


def _converted(nodes):
    found = []
    for node in nodes:
        if node is None:
            continue
        start, end = node.pos, node.pos + node.len
        if isinstance(node, LatexCharsNode):
            found += _characters(node.chars, node.pos)
        elif isinstance(node, LatexSpecialsNode):
            found += _characters(node.specials_chars, node.pos)
        elif isinstance(node, LatexGroupNode):
            found.append(Token('group', '', start, end, (_converted(node.nodelist),)))
        elif isinstance(node, LatexEnvironmentNode):
            found.append(Token('environment', node.environmentname, start, end, (_converted(node.nodelist),)))
        elif isinstance(node, LatexMacroNode):
            blank = '' if node.nodeargd and any(node.nodeargd.argnlist) else node.macro_post_space  # \alpha x, not \bar x
            found += _macro(node, start, end - len(blank))
        else:
            raise FormulaError(f'not read: {node.latex_verbatim()!r}')
    return _thousands_joined(found)


def _thousands_joined(pieces):
    """40\\,000 is one number."""
    found = []
    for token in pieces:
        before = found[-2:] if [t.kind for t in found[-2:]] == ['number', 'blank'] and found[-1].text == ',' else None
        if before and re.fullmatch(r'\d{3}', token.text) and '.' not in before[0].text:
            found[-2:] = [before[0]._replace(text=before[0].text + token.text, end=token.end)]
        else:
            found.append(token)
    return found


def _macro(node, start, end):
    """The tokens of a macro: one, or none for the size of a bracket."""
    name = node.macroname
    given = [a for a in (node.nodeargd.argnlist if node.nodeargd else []) if a is not None]
    if name in SIZES:
        return []
    if name in BLANKS:
        return [Token('blank', name, start, end)]
    if name in WIDE_BLANKS:
        return [Token('wide', name, start, end)]
    if name in BARS:
        return [Token(BARS[name], '|', start, end)]
    if name in GREEK | FUNCTIONS:
        return [Token('name', name.removeprefix('var'), start, end)]
    if name in ('text', 'textrm', 'mbox'):
        return [Token('text', _plain(given), start, end)]
    if name in ACCENTS:
        return [_accented(name, _inner(given), start, end)]
    if name in FONTS:
        return [_in_font(name, given, start, end)]
    return [Token('macro', name, start, end, tuple(_inner([a]) for a in given))]


def _accented(name, inner, start, end):
    if len(inner) != 1 or inner[0].kind != 'name':
        raise FormulaError(f'an accent ({name}) over what is no letter')
    return Token('name', f'{inner[0].text}_{ACCENTS[name]}', start, end, bold=inner[0].bold)


def _in_font(font, given, start, end):
    if font == 'operatorname' and given and getattr(given[0], 'chars', '') == '*':
        given = given[1:]
    plain = _plain(given)
    if font == 'mathbb':
        return Token('name', BOARD.get(plain, plain), start, end)
    if (font, plain) == ('mathcal', 'N'):  # beside N, the number of examples
        return Token('name', 'Normal', start, end)
    inner = _inner(given)
    if len(inner) == 1 and inner[0].kind in ('name', 'number'):
        return Token('name', inner[0].text, start, end, bold=font in ('mathbf', 'boldsymbol', 'bm'))
    if plain.isalnum():
        return Token('name', plain, start, end)
    return Token('macro', font, start, end, (inner,))


def _inner(nodes):
    """The tokens of arguments, without their braces."""
    found = []
    for node in nodes:
        found += _converted(node.nodelist if isinstance(node, LatexGroupNode) else [node])
    return found


def _plain(nodes):
    """The words of a text argument."""
    text = ''.join(n.latex_verbatim() for n in nodes)
    return re.sub(r'\\[,; ]|[{}*]', '', text) if '\\' in text else text.strip('{}')


def _characters(text, at):
    found = []
    for match in re.finditer(r"\d+(?:\.\d+)?|[A-Za-zℓ]|\s+|'+|:=|\|\||.", text, re.S):
        piece, start, end = match[0], at + match.start(), at + match.end()
        if piece.isspace():
            continue
        if piece[0].isdigit():
            found.append(Token('number', piece, start, end))
        elif piece.isalpha():
            found.append(Token('name', piece, start, end))
        elif piece == '||':
            found.append(Token('macro', '|', start, end))
        else:
            found.append(Token('sign', piece, start, end))
    return found
