"""A second reader of the displays that run: latex2mathml, which shares nothing with `nbutils.printed`.

It makes of LaTeX what a browser shows. For each letter and number of a display both say where it stands: in a subscript, a
superscript, above or below a bar of a fraction, under a root. A misreading of the grammar would be evaluated without an error.
"""
import re
import unicodedata
from collections import Counter
from xml.etree import ElementTree

import pytest
from latex2mathml.converter import convert

from nbutils.printed.displays import display
from nbutils.printed.grammar import Node, children, parse
from nbutils.printed.running import Formula
from nbutils.printed.tokens import ACCENTS, GREEK
from tests import prints

TABLE = prints.table()
KEYWORDS = ('options', 'equality', 'slip', 'also_true', 'also_turned', 'alike')
# where the children of an element stand, beside what they stand in
PLACES = {
    'msub': ('', 'sub'), 'msup': ('', 'sup'), 'msubsup': ('', 'sub', 'sup'), 'munder': ('', 'sub'), 'mover': ('', 'accent'),
    'munderover': ('', 'sub', 'sup'), 'mfrac': ('top', 'bottom'), 'msqrt': ('root',), 'mroot': ('root', 'degree'),
}
ALIKE = {'ϵ': 'ε', 'ϕ': 'φ', 'ϑ': 'θ', 'ϱ': 'ρ', 'ℓ': 'l', '′': '', '∂': '', '∇': '', '∞': '', '∅': ''}
NAMES = {name: unicodedata.lookup(f'GREEK {"SMALL" if name.islower() else "CAPITAL"} LETTER '
                                  f'{name.removeprefix("var").upper().replace("LAMBDA", "LAMDA")}')
         for name in GREEK if name != 'ell'} | {'ell': 'l'}


UNLIKE = {  # displays that the readers may read differently
    'subgradients-soft': 'a function as an index is one name for the grammar',
    'dl.convex-sets.definition': 'what is said of a and b is said of each',
    'ml.convexity.jensen': 'what is said of u and v is said of each',
}


def plain(latex):
    """The LaTeX without signs that are no letters of a tree, and with names of functions as \\operatorname."""
    latex = re.sub(r'\\(nabla|partial)\^2', r'\\\1', latex)  # an order of derivation
    latex = re.sub(r'\\mathbb\{[1P]\}|\\operatorname\*?\{arg\\,m(?:ax|in)\}', ' ', latex)
    latex = re.sub(r'\\(?:mathrm|mathop)\{([^{}]{2,})\}', r'\\operatorname{\1}', latex)
    return re.sub(r'(?<=\d)\\,(?=\d{3})', '', latex).replace('<', r'\lt ').replace('>', r'\gt ')


def number(text):
    return f'{float(text):g}'


def seen(latex):
    """The letters and numbers that the second reader finds, each with its place."""
    found = Counter()

    def visit(element, place):
        tag = element.tag.partition('}')[2] or element.tag
        text = unicodedata.normalize('NFKC', (element.text or '').strip())
        text = ALIKE.get(text, text)
        if tag == 'mn' and text:
            found[number(text), place] += 1
        elif tag == 'mi' and len(text) == 1 and text.isalpha():
            found[text, place] += 1
        for k, child in enumerate(element):
            visit(child, place + tuple(filter(None, PLACES.get(tag, ())[k:k + 1])))
    visit(ElementTree.fromstring(re.sub(r'&(?!#)', '&amp;', convert(plain(latex)))), ())
    return found


def letter(name):
    """The letter that a name of the grammar is printed as: of `w_hat` it is w; '' for the names of functions."""
    name = name.split('_')[0] if name.split('_')[-1] in ACCENTS.values() else name
    name = {'Reals': 'R', 'Expect': 'E', 'Normal': 'N', 'Naturals': 'N'}.get(name, name)
    return NAMES.get(name, name if len(name) == 1 and name.isalpha() else '')


def read(parts):
    """The same of the trees of the grammar."""
    found = Counter()

    def visit(node, place):
        if node.op == 'number' or node.op == 'name' and node.args[0] in ('0', '1'):  # 0 and 1 in bold are names
            found[number(node.args[0]), place] += 1
        elif node.op == 'name' and letter(node.args[0]):
            found[letter(node.args[0]), place] += 1
        for child, where in placed(node):
            visit(child, place + where)
    for part in parts:
        visit(part.node, ())
    return found


def differences(label, latex, parts):
    """What only the grammar finds and what only the second reader does; the d of derivatives and integrals is left out."""
    ours, theirs = read(parts), seen(latex)
    if re.search(r'\\int|frac\{?(?:\\mathrm\{)?d', latex):
        ours, theirs = (Counter({leaf: n for leaf, n in found.items() if leaf[0] != 'd'}) for found in (ours, theirs))
    return ours - theirs, theirs - ours


@pytest.mark.parametrize('label', sorted(TABLE))
def test_both_read_the_same(label):
    meanings, _ = TABLE[label]
    letters = {name.rstrip('_'): value for name, value in meanings.items() if name not in KEYWORDS}
    parts = Formula(display(label), letters, meanings.get('options') or {}).parts
    assert any(differences(label, display(label), parts)) == (label in UNLIKE), differences(label, display(label), parts)


@pytest.mark.parametrize('printed, misread', [
    ('x^{a b} = c', 'x^a b = c'), (r'x_{i + 1} = c', 'x_i + 1 = c'), (r'\frac{a}{b + c} = d', r'\frac{a}{b} + c = d'),
    (r'\sqrt{a b} = c', r'\sqrt{a} b = c'), (r'\sum_{i=1}^n x_i = c', r'\sum_{n=1}^i x_i = c'), ('a_i = b', 'a_j = b'),
])
def test_a_misreading_is_noticed(printed, misread):
    assert not any(differences('', printed, parse(printed)))
    assert any(differences('', printed, parse(misread)))


def placed(node):
    """(child, where it stands beside its parent) for all children of a node."""
    if node.op == 'range':
        return [(Node('name', (node.args[0], False)), ()), *((child, ()) for child in node.args[1:])]
    if node.op == 'big' and node.args[0] == 'int':
        _, limits, body, variable = node.args
        return [*zip(limits or (), (('sub',), ('sup',)), strict=False), (body, ()), (variable, ())]
    if node.op == 'big' and node.args[1]:
        how, *what = node.args[1]
        ends = [(Node('name', (what[0], False)), ('sub',)), (what[1], ('sub',)), (what[2], ('sup',))] if how == 'range' else [
            (child, ('sub',)) for child in what[0]]
        return ends + [(child, ()) for child in node.args[2:] if isinstance(child, Node)]
    if node.op == 'derivative':
        wrt, body = node.args
        where = ('top',) if body.start < wrt[0].start else ()
        return [*((child, ('bottom',)) for child in wrt), (body, where)]
    if node.op == 'gradient':
        return [(node.args[1], ('sub',)), (node.args[3], ())] if node.args[1] else [(node.args[3], ())]
    if node.op == 'moment' and node.args[1]:
        return [(node.args[1], ('sub',)), *((child, ()) for child in node.args[2])]
    inside = {'frac': [('top',), ('bottom',)], 'binom': [('top',), ('bottom',)], 'sqrt': [('root',), ('degree',)]}.get(node.op)
    if node.op == 'scripted':
        inside = [(), ('sub',), ('sup',), ()]
    if inside:
        return [(child, where) for child, where in zip(node.args, inside, strict=False) if isinstance(child, Node)]
    return [(child, ()) for child in children(node)]
