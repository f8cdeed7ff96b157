"""Whether two displays say the same: their statements are compared as trees, whatever their fonts, spaces and layout."""
import re

from nbutils.printed.grammar import RELATIONS, STATEMENTS, Node, parse
from nbutils.printed.tokens import FormulaError, Token

_APPLIED = frozenset('E L P R f g h p q ell sigma Normal'.split())  # what is a function in most of the book
_TRANSPOSE = re.compile(r'\^(?:\{?\\(?:mathsf|mathrm|intercal)?\{?T\}\}?|T(?![a-zA-Z])|\{T\})')
_WORDS = re.compile(r'(?<![_^{])\\(?:text|textrm|mbox)\{[^{}]*\}')
_LAYOUT = re.compile(r'\\(?:begin|end)\{(?:aligned|gathered|split)\}|\\(?:nolimits|textstyle|displaystyle)(?![a-z])')
_MATRIX = re.compile(r'\\begin\{(?:[bp]?matrix|cases)\}')


def compared(display: str, entry: str) -> str:
    """How two pieces of LaTeX compare: 'same' statements, 'partly' the same, 'other' ones, or 'words' where one of them has
    no statement that can be read."""
    here, there = statements(display), statements(entry)
    if not here or not there:
        return 'words'
    return 'same' if here == there else 'partly' if here & there else 'other'


def statements(latex: str) -> set:
    """The relations, implications and the like of a piece of LaTeX, of a chain each link, without what cannot be read."""
    latex = _WORDS.sub(r' \\qquad ', _TRANSPOSE.sub(r'^\\top ', latex))
    latex = re.sub(r'\\mathcal\{?L\}?(?![a-z])', 'L', latex)
    latex = re.sub(r'\\mathbf\{([A-Z]{2,3})\}', lambda found: ''.join(rf'\mathbf{{{letter}}}' for letter in found[1]), latex)
    try:
        parts = parse(latex, _APPLIED)
    except FormulaError:
        parts = [part for piece in _pieces(latex) for part in _read(piece)]
    found = set()
    for node in (part.node for part in parts):
        if node.op == 'relation':
            links = zip(node.args[::2], node.args[1::2], node.args[2::2], strict=False)
            found |= {bare(link) for link in links}
        elif node.op in STATEMENTS:
            found.add(bare(node))
    return found


def _pieces(latex):
    """The rows of a display and what wide blanks part, where no matrix runs over several rows."""
    if _MATRIX.search(latex):
        return [latex]
    return re.split(r'\\qquad|\\quad|\\\\', _LAYOUT.sub('', latex).replace('&', ''))


def _read(piece):
    try:
        return parse(piece, _APPLIED) if piece.strip(' .,;:\n') else []
    except FormulaError:
        return []


def bare(node):
    """A tree without places, fonts and the range from 1 of a counter, and with one sign for each relation."""
    if isinstance(node, Node):
        if node.op == 'name':
            return node.args[0]
        if node.op == 'add':
            return 'add', *((sign, bare(item)) for sign, item, _ in node.args)
        if node.op == 'big' and node.args[1] and node.args[1][0] == 'range' and bare(node.args[1][2]) == ('number', 1):
            kind, (_, counter, *_), *body = node.args
            return node.op, kind, ('over', (counter,)), *map(bare, body)
        return node.op, *map(bare, node.args)
    if isinstance(node, Token):
        return RELATIONS.get(node.text, node.text)
    return tuple(map(bare, node)) if isinstance(node, tuple) else node
