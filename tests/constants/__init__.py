"""The nearest false statements of claims with a constant, a rate, a bound or a threshold: one file a chapter.

Where a formula runs as printed, its spoilt variants try them. A check by hand is tried here: an entry quotes the piece of code,
of the check or of a function that it uses, in which the number of the claim stands, as `near(number)`, and says what it is.
Where the number is a one that nobody writes, `times(x)` and `power(x)` stand for 1 * x and x ** 1:

    regression/model_selection:
      ml.ms.k-errors.rate-n:
      - exponent: slope(N, near(-1 / 2))

`tests/book/test_constants.py` puts its neighbours in its place and demands that some case of the check rejects each:

- factor: 0.7 and 1.4 times it;  exponent: a half and one more and less, of a half a quarter as well;
- count: one more and one less;  upper, lower: what a bound is moved to that is too sharp, 0.7 or 1.4 times it;
- limit: the end of a range in which the claim holds, 1.4 times it.

`none.yml` lists the claims whose numbers are none of these, with the reason. Only what the check hangs on is executed.
"""
import ast
import contextlib
import copy
import os
from pathlib import Path
from typing import NamedTuple

import yaml

from nbutils.checks import _counterexample
from nbutils.maintain import environment, lint, notebooks

HERE = Path(__file__).parent
KINDS = {
    'factor': lambda value: [0.7 * value, 1.4 * value],
    'exponent': lambda value: [value - 1, value + 1, value - 0.5, value + 0.5] + [value - 0.25, value + 0.25] * bool(value % 1),
    'count': lambda value: [value - 1, value + 1],
    'upper': lambda value: [0.7 * value],
    'lower': lambda value: [1.4 * value],
    'limit': lambda value: [1.4 * value],
}
MARKS = {'near': None, 'times': ast.Mult(), 'power': ast.Pow()}


class Entry(NamedTuple):
    """A number of a claim: its section, the key of its check, what it is, and where it stands."""
    section: str
    key: str
    kind: str
    code: str

    @property
    def name(self):
        return f'{self.key} {self.code}'


def table():
    """All entries."""
    found = []
    for path in sorted(HERE.glob('*.yml')):
        if path.stem != 'none':
            for section, keys in (yaml.safe_load(path.read_text('utf-8')) or {}).items():
                found += [Entry(section, key, kind, code) for key, lines in keys.items()
                          for line in lines for kind, code in line.items()]
    return found


def excused():
    """{section: {claim: reason}} of the claims without such a number."""
    return yaml.safe_load((HERE / 'none.yml').read_text('utf-8'))


class Check:
    """The check of a key in a `sections.Section`: the program that it hangs on, its test and its cases."""

    def __init__(self, section, key, name):
        (number, self.call), *_ = section.by_hand[key]
        self.folder = notebooks.NOTEBOOKS / Path(name).parent
        self.before = [copy.deepcopy(node) for node in section.needed([number]) if node is not section.code[number]]
        self.call = copy.deepcopy(self.call)
        test = next((k.value for k in self.call.keywords if k.arg == 'corrected'), None)
        self.cases = [keyword for keyword in self.call.keywords if keyword.arg not in lint.NO_CASES]
        self.parts = [test or self.call.args[1], *self.before, *(keyword.value for keyword in self.cases)]
        self.session = None  # once what stands before the check has run as it is

    def value(self, code):
        """The number that a piece of code marks, which must stand in one place. Raises ValueError where it does not."""
        pattern = ast.parse(code).body[0]
        pattern = pattern.value if isinstance(pattern, ast.Expr) else pattern
        marks = [node for node in ast.walk(pattern) if isinstance(node, ast.Call) and getattr(node.func, 'id', '') in MARKS]
        if len(marks) != 1:
            raise ValueError(f'mark one number: {code}')
        plain = ast.dump(_replaced(copy.deepcopy(pattern), None))
        places = [node for part in self.parts for node in ast.walk(part) if ast.dump(node) == plain]
        if len(places) != 1:
            raise ValueError(f'stands in {len(places)} places of the check: {code}')
        self.place, self.pattern = places[0], pattern
        return _value(marks[0].args[0], {}) if marks[0].func.id == 'near' else 1

    def passing(self, code, neighbours):
        """Those of the neighbours of a number, a function of it, that no case of the check rejects."""
        value = self.value(code)
        with _plain_session(self.folder):
            return [near for near in neighbours(value) if not self.rejects(near)]

    def rejects(self, near):
        new = _replaced(copy.deepcopy(self.pattern), near)
        test, *rest = [_substituted(copy.deepcopy(part), self.place, new, part) for part in self.parts]
        before, cases = rest[:len(self.before)], rest[len(self.before):]
        if any(node is self.place for part in self.before for node in ast.walk(part)):
            session = _run(before)
        else:
            session = self.session = self.session or _run(before)
        drawn = {}
        for keyword, value in zip(self.cases, cases, strict=True):
            given = _value(value, session)
            drawn |= given if keyword.arg is None else {keyword.arg: given}
        tries = next((k.value.value for k in self.call.keywords if k.arg == 'tries'), 200)
        return _counterexample(_value(test, session), drawn, tries, simplest=False)[0] is not None


def _run(nodes):
    """The names that a program binds."""
    session = {}
    exec(compile(ast.fix_missing_locations(ast.Module(nodes, [])), 'what a check hangs on', 'exec'), session)
    return session


def _value(node, session):
    return eval(compile(ast.fix_missing_locations(ast.Expression(node)), 'a check', 'eval'), session)


def _replaced(tree, value):
    """The tree with a number in place of that which is marked; without the mark where there is none."""
    class Change(ast.NodeTransformer):
        def visit_Call(self, node):
            self.generic_visit(node)
            mark = getattr(node.func, 'id', '')
            if mark not in MARKS:
                return node
            if value is None:
                return node.args[0]
            number = ast.parse(repr(value), mode='eval').body
            return number if mark == 'near' else ast.BinOp(node.args[0], MARKS[mark], number)

    return Change().visit(tree)


def _substituted(tree, place, new, original):
    """The copy `tree` of `original` with `new` in place of the node that is `place` there."""
    if place is original:
        return new
    for old, copied in zip(ast.walk(original), ast.walk(tree), strict=True):
        for field, value in ast.iter_fields(old):
            if value is place:
                setattr(copied, field, new)
                return tree
            if isinstance(value, list):
                for i, item in enumerate(value):
                    if item is place:
                        getattr(copied, field)[i] = new
                        return tree
    return tree


@contextlib.contextmanager
def _plain_session(folder):
    """The folder of a notebook, silence, and torch as it was before."""
    import torch

    environment.fix()
    kind, here = torch.get_default_dtype(), Path.cwd()
    try:
        os.chdir(folder)
        with open(os.devnull, 'w') as null, contextlib.redirect_stdout(null):
            yield
    finally:
        os.chdir(here)
        torch.set_default_dtype(kind)
