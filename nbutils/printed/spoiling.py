"""Slightly wrong variants of a printed formula: single slips of a typesetter or a student, made in the LaTeX itself.

Each slip is a place in the LaTeX and what stands there instead. Only claims are spoilt; of conditions the relations are
turned round, and ranges are left as they are.
"""
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from nbutils.printed.grammar import Part, walk

TURNED = {
    'le': r'\ge', 'leq': r'\ge', 'ge': r'\le', 'geq': r'\le', '<': '>', '>': '<', 'succeq': r'\preceq', 'preceq': r'\succeq',
    'succ': r'\prec', 'prec': r'\succ',
}
SWAPPED = {
    'max': 'min', 'min': 'max', 'sup': 'inf', 'inf': 'sup', 'argmax': 'argmin', 'argmin': 'argmax', 'sin': 'cos',
    'cos': 'sin', 'log': 'exp', 'exp': 'log', 'ln': 'exp', 'det': 'tr', 'tr': 'det', 'sum': 'prod', 'prod': 'sum',
    'bigcup': 'bigcap', 'bigcap': 'bigcup', 'cup': 'cap', 'cap': 'cup',
}
TURNS = ('inequality reversed', 'condition reversed', 'implication widened')
WIDTH = 30  # of what the name of a slip quotes
OPERATORS = ('tr', 'argmin', 'argmax')  # written with \operatorname
TELLING = (  # kinds of slips that a reader follows at a glance, the most telling first
    'sign flipped', 'indices swapped', 'transpose dropped', 'root dropped', 'range shifted', 'number changed',
    'function swapped', 'inequality reversed', 'condition reversed', 'fraction inverted', 'minus added',
)


class Slip(NamedTuple):
    """A kind of slip, the LaTeX with it, and its name: the kind and the place, 'number changed: 2 → 3', or
    'term dropped: - b (2)' for the second term - b."""
    kind: str
    latex: str
    name: str


def variants(parts: list[Part], latex: str, alike: dict[str, str] | None = None) -> Iterator[Slip]:
    """All single slips in the claims of a formula, each text once.

    `alike` gives to a letter another one whose value has the same shape, which could stand in its place.
    """
    seen, swaps, named = {latex}, _letter_swaps(parts, latex, alike or {}), Counter()
    for part in parts:
        for node in walk(part.node):
            slips = _turned(node) if part.role != 'claim' else (*_slips(node, latex), *_letter_slips(node, swaps))
            for kind, start, end, text in slips:
                spoilt = latex[:start] + text + latex[end:]
                if spoilt not in seen:
                    seen.add(spoilt)
                    name = f'{kind}: {_shown(latex[start:end])}' + f' → {_shown(text)}' * ('dropped' not in kind)
                    named[name] += 1
                    yield Slip(kind, spoilt, name if named[name] == 1 else f'{name} ({named[name]})')


def _shown(text):
    """A piece of LaTeX in a few characters, without braces around all of it."""
    text = ' '.join(re.sub(r'^\{((?:[^{}]|\{[^{}]*\})*)\}$', r'\1', text.strip()).split())
    return text if len(text) <= WIDTH else text[:WIDTH - 1] + '…'


def telling(slips: list[tuple[str, str]]) -> tuple[str, str]:
    """The slip to show to a reader: the first of the most telling kind that is there."""
    return min(slips, key=lambda slip: TELLING.index(slip[0]) if slip[0] in TELLING else len(TELLING))


def _letter_swaps(parts, latex, alike):
    written = {}
    for part in parts:
        for node in walk(part.node):
            if node.op == 'name' and node.end > node.start:
                written.setdefault(node.args[0], latex[node.start:node.end])
    return {a: written[b] for a, b in alike.items() if a in written and b in written}


def _letter_slips(node, swaps):
    if node.op == 'name' and node.args[0] in swaps and node.end > node.start:
        yield 'letter replaced', node.start, node.end, f'{{{swaps[node.args[0]]}}}'


def _slips(node, latex):
    if node.op in _kinds:
        yield from _kinds[node.op](node, latex)
    if node.op in ('call', 'big'):
        yield from _function_swapped(node, latex)


def _turned(node):
    for sign in node.args[1::2] if node.op == 'relation' else ():
        if sign.text in TURNED:
            yield 'condition reversed', sign.start, sign.end, TURNED[sign.text] + ' '


def _text(node, latex):
    return latex[node.start:node.end]


def _relation(node, latex):
    for left, sign, right in zip(node.args[0::2], node.args[1::2], node.args[2::2], strict=False):
        if sign.text in TURNED:
            yield 'inequality reversed', sign.start, sign.end, TURNED[sign.text] + ' '
        if sign.text == '=' and right.op not in ('add', 'cases', 'matrix') and left.end > left.start:
            yield 'minus added', right.start, right.end, '-' + _text(right, latex)


def _implies(node, latex):
    arrow = node.args[2]
    yield 'implication widened', arrow.start, arrow.end, r'\iff '


def _add(node, latex):
    for k, (sign, item, token) in enumerate(node.args):
        if item.op == 'dots' or token is None or sign not in '+-':
            continue
        if k:
            yield 'sign flipped', token.start, item.end, ('-' if sign == '+' else '+') + latex[token.end:item.end]
            yield 'term dropped', token.start, item.end, ''
        elif sign == '-':
            yield 'sign flipped', token.start, item.end, latex[token.end:item.end]


def _product(node, latex):
    factors = node.args
    for before, factor in zip((None, *factors), factors, strict=False):
        if factor.op == 'dots' or factor.op == 'name' and factor.args[0] == 'd':
            continue
        yield 'factor dropped', factor.start, factor.end, '{}'
        if before is not None and before.op != 'dots':
            between = latex[before.end:factor.start]
            yield 'factors swapped', before.start, factor.end, f'{_text(factor, latex)} {between} {_text(before, latex)}'


def _join(node, latex):
    sign, left, right, token = node.args
    if sign in SWAPPED:
        yield 'union and intersection swapped', token.start, token.end, f'\\{SWAPPED[sign]} '
    if sign == 'odot':
        yield 'product changed', token.start, token.end, ''
    if sign in ('cdot', 'times', '/', 'odot', 'setminus'):
        yield 'factor dropped', token.start, right.end, ''


def _scripted(node, latex):
    sup = node.args[2]
    kind = sup.args[0] if sup is not None else ''
    if kind in ('transpose', 'inverse transpose', 'power'):
        left = latex[node.start:sup.start] + '^{-1}' * (kind == 'inverse transpose') + latex[sup.end:node.end]
        yield 'exponent dropped' if kind == 'power' else 'transpose dropped', node.start, node.end, left


def _fraction(node, latex):
    top, bottom = node.args
    yield 'denominator dropped', node.start, node.end, f'{{{_text(top, latex)}}}'
    yield 'fraction inverted', node.start, node.end, rf'\frac{{{_text(bottom, latex)}}}{{{_text(top, latex)}}}'
    if re.fullmatch(r'\d+|\\?[a-z]+', _text(top, latex).strip()) and _text(top, latex).strip() != '1':
        yield 'numerator dropped', top.start, top.end, '1'


def _bare(kind):
    def slip(node, latex):
        if node.op != 'sqrt' or node.args[1] is None:
            yield kind, node.start, node.end, f'({_text(node.args[0], latex)})'
    return slip


def _big(node, latex):
    domain = node.args[1]
    if domain and domain[0] == 'range' and domain[2].op == 'number' and domain[2].end > domain[2].start:
        low = domain[2]
        yield 'range shifted', low.start, low.end, str(int(low.args[0]) + 1)


def _number(node, latex):
    if node.end > node.start and isinstance(node.args[0], int) and node.args[0] != 0:
        yield 'number changed', node.start, node.end, str(node.args[0] + 1)


def _subscript(node, latex):
    nodes = node.args[1] or ()
    if len(nodes) == 1 and nodes[0].op == 'product' and len(nodes[0].args) == 2:
        nodes = nodes[0].args
    if len(nodes) == 2 and all(n.op in ('name', 'number') for n in nodes):
        a, b = nodes
        yield 'indices swapped', a.start, b.end, _text(b, latex) + latex[a.end:b.start] + _text(a, latex)


_kinds = {
    'relation': _relation, 'implies': _implies, 'add': _add, 'product': _product, 'join': _join, 'scripted': _scripted,
    'frac': _fraction, 'sqrt': _bare('root dropped'), 'bars': _bare('bars dropped'), 'big': _big, 'number': _number,
    'sub': _subscript,
}


def _function_swapped(node, latex):
    head = node.args[0]
    name = head if node.op == 'big' else head.args[0] if head.op == 'name' else None
    written = re.match(r'\\operatorname\*?\{[^}]*\}|\\[a-z]+', latex[node.start:])
    if name in SWAPPED and written:
        other = SWAPPED[name]
        new = f'\\operatorname{{{other}}}' if other in OPERATORS else f'\\{other} '
        yield 'function swapped', node.start, node.start + written.end(), new


