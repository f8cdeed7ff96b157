"""The edits that make a check say less. What is left of it still holds, so that only four things can notice them: the slip,
where it is no longer rejected; a printed line that changes; the rules of the book; and a seal.
"""
import ast

import libcst as cst

from nbutils.maintain import lint, mutations
from nbutils.maintain.mutations import called, number

KINDS = {
    'conjunct': 'one of several conditions dropped',
    'any': '`all` made `any`, `and` made `or`',
    'wider': 'a tolerance 10,000 times as wide',
    'slack': 'a given tolerance 1,000 times narrower: it passes only if that is far wider than what is measured',
    'assert': 'an assert dropped',
    'oracle': 'what is compared put in place of what it is compared with',
    'constant': 'a constant of the claim times 0.7 or 1.4',
    'exponent': 'the neighbouring exponent',
    'threshold': 'a bound moved by a factor of two, so that more passes',
    'slip': 'a slip or a printed form that is always false',
}
FACTORS = 0.7, 1.4
WIDER, SLACK = 1e4, 1e-3
WIDE_CLOSE = cst.parse_expression('close(atol=1e-4, rtol=1e-2)')  # than its defaults
ROUNDING = 1e-9  # a tolerance up to here allows for rounding, whose size is another one on each machine
TOLERANCE = 1e-2  # below this, what a difference stays under is a tolerance, else a bound
NOTHING = 1e-3  # how far a bound of zero is moved
ABSURD = 'lambda *_, **__: False'
CHOOSING = cst.If, cst.While, cst.IfExp, cst.CompIf  # what stands in their test chooses, and is no verdict
MIRRORED = {cst.LessThan: cst.GreaterThan, cst.LessThanEqual: cst.GreaterThanEqual,
            cst.GreaterThan: cst.LessThan, cst.GreaterThanEqual: cst.LessThanEqual}


def possible(code, cell=0, judging=frozenset()):
    """All edits of a piece of code, as `mutations.possible` gives them. `judging` are the functions that give a verdict."""
    return mutations.possible(code, cell, judging, Finder)


def judging(cells):
    """The names of functions in these cells by which their checks and asserts judge, directly or through others."""
    nodes = list(ast.walk(ast.parse('\n'.join(cells))))
    functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    verdicts = [node.test for node in nodes if isinstance(node, ast.Assert)]
    verdicts += [part for call in lint.check_calls(nodes) for _, part in lint.tests(call)]
    found, todo = set(), verdicts
    while todo:
        names = lint.read(todo.pop()) & functions.keys() - found
        for name in names:
            given = [node.value for node in ast.walk(functions[name]) if isinstance(node, ast.Return) and node.value]
            if any(lint.is_verdict(part) for value in given for part in ast.walk(value)):
                found.add(name)
                todo.append(functions[name])
    return frozenset(found)


class Finder(mutations.Edits):
    """Finds the edits of `KINDS`."""

    inside, printing = 0, False  # how deep in what gives a verdict; whether in what is printed

    def look_into(self, *parts):
        """Visit what gives a verdict."""
        self.inside += 1
        for part in parts:
            part.visit(self)
        self.inside -= 1
        return False

    # ---- where verdicts are given ----

    def visit_FunctionDef(self, node):
        return self.look_into(node.body) if node.name.value in self.names else None

    def visit_Assert(self, node):
        if called(getattr(node.test, 'expression', node.test)) == 'grade':
            return False
        self.add('assert', node, cst.Pass())
        return self.look_into(node.test)

    def visit_Call(self, node):
        name = called(node)
        if name in mutations.PRINTING:
            return self.check(node)
        if name == 'print':
            self.printing = True
            self.look_into(*node.args)
            self.printing = False
            return False
        if self.inside:
            self.weaken_call(node, name)
        return name != 'grade'

    def check(self, call):
        """holds, verify or erratum: what is tested, and its variants."""
        for i, arg in enumerate(call.args):
            keyword = arg.keyword.value if arg.keyword else None
            if keyword == 'corrected' or i == 1 and not keyword:
                self.look_into(arg.value)
            elif keyword == 'printed':
                self.add('slip', arg.value, cst.parse_expression(ABSURD))
            elif keyword == 'slip' and isinstance(arg.value, cst.Tuple):
                self.add('slip', arg.value.elements[1].value, cst.parse_expression(ABSURD))
        return False

    def decides(self, node):
        """Whether a comparison is a verdict, and does not choose a branch or some entries."""
        inner = node
        for outer in self.above(node):
            if isinstance(outer, cst.SubscriptElement) or isinstance(outer, CHOOSING) and outer.test is inner:
                return False
            inner = outer
        return self.inside > 0

    # ---- conditions ----

    def visit_BooleanOperation(self, node):
        if self.decides(node) and isinstance(node.operator, cst.And):
            self.add('conjunct', node, mutations.grouped(node.left), mutations.grouped(node.right))
            self.add('any', node.operator, cst.Or())

    def weaken_call(self, node, name):
        if name == 'all':
            function = node.func if isinstance(node.func, cst.Name) else node.func.attr
            self.add('any', function, cst.Name('any'))
        if name not in lint.COMPARING or len(node.args) < 2:
            return
        self.add('oracle', node, mutations.with_values(node, {1: node.args[0].value}))
        given = {i: number(arg.value) for i, arg in enumerate(node.args)
                 if arg.keyword and arg.keyword.value in mutations.TOLERANCES and number(arg.value)}
        for factor, kind in ((WIDER, 'wider'), (SLACK, 'slack')):
            changed = {i: _literal(value * factor) for i, value in given.items() if kind == 'wider' or value > ROUNDING}
            if changed:
                self.add(kind, node, mutations.with_values(node, changed))
        if name == 'close' and not given:
            self.add('wider', node, node.with_changes(args=[*node.args, *WIDE_CLOSE.args]))

    def visit_Comparison(self, node):
        if not self.decides(node):
            return
        sides = [node.left, *(target.comparator for target in node.comparisons)]
        for target, left, right in zip(node.comparisons, sides, sides[1:], strict=False):
            sort = type(target.operator)
            if sort is cst.Equal and number(left) is None and number(right) is None:
                self.add('oracle', right, mutations.grouped(left))
            if sort in MIRRORED:
                self.move(right, sort)
                self.move(left, MIRRORED[sort])

    def move(self, bound, sort):
        """A bound, moved so that more passes that stands in this order to it."""
        value, below = number(bound), sort in (cst.LessThan, cst.LessThanEqual)
        if value is None:
            return
        if below and 0 < value < TOLERANCE:
            self.add('wider', bound, _literal(value * WIDER))
            if value > ROUNDING:
                self.add('slack', bound, _literal(value * SLACK))
        elif value:
            self.add('threshold', bound, _literal(value * (2 if below == (value > 0) else 0.5)))
        else:
            self.add('threshold', bound, _literal(NOTHING if below else -NOTHING))

    # ---- constants ----

    def visit_Integer(self, node):
        self.scale(node)

    def visit_Float(self, node):
        self.scale(node)

    def scale(self, node):
        """A factor, a summand or an argument of a verdict, times 0.7 or 1.4; an exponent, one more or less."""
        if self.printing or not self.decides(node):
            return
        outer, value = next(self.above(node)), number(node)
        if isinstance(outer, cst.BinaryOperation) and isinstance(outer.operator, cst.Power) and outer.right is node:
            near = (0.25, 1) if value == 0.5 else [n for n in (value - 1, value + 1) if n]
            self.add('exponent', node, *map(_literal, near))
        elif isinstance(outer, cst.BinaryOperation) and isinstance(outer.operator, (cst.Multiply, cst.Divide)):
            self.add('constant', node, *(_literal(value * factor) for factor in FACTORS if value))
        elif isinstance(outer, cst.Arg) and not outer.keyword and called(next(self.above(outer))) in self.names and value:
            self.add('constant', node, *(_literal(value * factor) for factor in FACTORS))


def _literal(value):
    """The literal of a number, to six digits."""
    return cst.parse_expression(repr(value if type(value) is int else float(f'{value:.6g}')))
