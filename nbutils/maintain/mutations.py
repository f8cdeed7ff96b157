"""The small edits that fault injection makes to code: which there are, and how each is made.

Not touched is what is free to choose: seeds, sizes, cases, slips, wrong answers of exercises, the layout of figures.
"""
import ast
import difflib
import functools
import itertools
import random
import re
import sys
from collections import Counter
from typing import NamedTuple

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider

from nbutils.maintain import lint

CHECKS = {  # each weakens a check, or disturbs it so that it passes only if it is too weak
    'assert': 'an assert, or what a claim says, turned: it passes only if it cannot fail',
    'tolerance': 'what is compared to, off by 1e-3, by 1e-2 where a tolerance is given: it passes only if that is too wide',
    'slip': 'a slip, or a printed form, that says what the claim says',
    'answer': 'a wrong answer to an exercise made right',
}

TURNED = {
    cst.LessThan: cst.GreaterThan, cst.GreaterThan: cst.LessThan, cst.LessThanEqual: cst.GreaterThanEqual,
    cst.GreaterThanEqual: cst.LessThanEqual, cst.Equal: cst.NotEqual, cst.NotEqual: cst.Equal,
    cst.And: cst.Or, cst.Or: cst.And,
}
FLIPPED = {
    cst.Add: cst.Subtract, cst.Subtract: cst.Add, cst.AddAssign: cst.SubtractAssign, cst.SubtractAssign: cst.AddAssign,
    cst.MultiplyAssign: cst.DivideAssign, cst.DivideAssign: cst.MultiplyAssign,
}
ORDERED = cst.Subtract, cst.Divide, cst.MatrixMultiply, cst.Power, cst.FloorDivide, cst.Modulo
PRINTING = {*lint.CHECKS}
CLOSE = {'close', 'isclose', 'allclose', 'assert_allclose'}
TOLERANCES = {'atol', 'rtol', 'tol', 'abs_tol', 'rel_tol'}
# keyword arguments whose numbers are free to choose, and functions all of whose numbers are
FREE = TOLERANCES | set('''
    seed random_state size tries num number repeat max_iter maxiter xtol ftol gtol xatol fatol n_init
    alpha lw linewidth linewidths s ms markersize mew fontsize figsize zorder ha va pad labelpad height dx gap rotation width
    shrink shrinkA shrinkB shrinka shrinkb ncol ncols nrows hspace wspace width_ratios height_ratios headwidth headlength
    xlim ylim vmin vmax xytext loc dpi mutation_scale markevery bbox_to_anchor capsize handlelength columnspacing'''.split())
FREELY_CALLED = set('''
    default_rng manual_seed seed Random RandomState normal uniform integers random standard_normal randn rand randint choice
    permutation exponential text annotate legend panels subplots tick_params colorbar label_lines margins'''.split())
PLOTS = set('''
    plot scatter bar barh fill fill_between fill_betweenx step stem errorbar contour contourf pcolormesh quiver semilogx
    semilogy loglog vlines hlines hist2d streamplot text'''.split())
OTHER_PLOT = {'axhline': 'axvline', 'axvline': 'axhline', 'axhspan': 'axvspan', 'axvspan': 'axhspan'}
UNORDERED = CLOSE | set('''
    array_equal equal max min maximum minimum hypot dot inner vdot gcd isinstance print linspace grade annotate meshgrid zip
    set subplots panels'''.split())
REDUCING = set('''
    sum mean max min argmax argmin all any prod std var cumsum cumprod softmax log_softmax logsumexp argsort sort median
    squeeze unsqueeze'''.split())
SPACED = {'linspace', 'logspace', 'geomspace'}  # their third argument is how many
JOINING = set('stack concatenate cat flip delete split repeat roll take'.split())


class Fault(NamedTuple):
    """One edit: the cell with this index (0 for a module) becomes `code`, in which the lines `was` are the lines `now`."""
    cell: int
    kind: str
    code: str
    was: str
    now: str


def possible(code, cell=0, spared=frozenset(), kind_of_finder=None):
    """All edits of a piece of code, each a function that gives its `Fault`, or None where it changes nothing.

    `spared` are names whose definitions are left alone; another `Finder` finds other edits.
    """
    wrapper = MetadataWrapper(cst.parse_module(code))
    finder = (kind_of_finder or Finder)(wrapper.module, spared)
    wrapper.visit(finder)
    return [functools.partial(_fault, wrapper.module, cell, *edit) for edit in finder.found]


def _fault(module, cell, kind, old, new):
    code = module.deep_replace(old, new).code
    lines = list(difflib.ndiff(module.code.splitlines(), code.splitlines()))
    was, now = ('\n'.join(line[2:].strip() for line in lines if line.startswith(mark)) for mark in '-+')
    return Fault(cell, kind, code, was, now) if code != module.code else None


def drawn(edits, number, seed):
    """So many faults of the edits, none twice, drawn at random from each kind in turn; all for 0."""
    rng, kinds, found = random.Random(seed), {}, {}
    for edit in edits:
        kinds.setdefault(edit.args[2], []).append(edit)
    for some in kinds.values():
        rng.shuffle(some)
    in_turn = [edit for row in itertools.zip_longest(*kinds.values()) for edit in rng.sample(row, len(row)) if edit]
    for edit in in_turn:
        if number and len(found) == number:
            break
        if fault := edit():
            found.setdefault((fault.cell, fault.code), fault)
    return list(found.values())


class Finder(cst.CSTVisitor):
    """Collects edits as (kind, node, what replaces it)."""

    METADATA_DEPENDENCIES = (ParentNodeProvider,)

    def __init__(self, module, spared):
        super().__init__()
        self.spared, self.found, self.text = spared, [], module.code_for_node
        self.asserting = False  # whether it looks into what a check says

    def above(self, node):
        """The nodes that hold this one, from the inside."""
        while node := self.get_metadata(ParentNodeProvider, node, None):
            yield node

    def add(self, kind, node, new):
        self.found.append(('assert' if kind == 'comparison' and self.asserting else kind, node, new))

    def on_visit(self, node):
        if isinstance(node, (cst.Import, cst.ImportFrom, cst.Annotation, cst.Decorator, cst.Raise)):
            return False
        if isinstance(node, cst.FunctionDef) and node.name.value in self.spared:
            return False
        if isinstance(node, cst.Assign) and (names := {*_names(node.targets)}) and names <= self.spared:
            return False
        if isinstance(node, cst.Expr) and called(node.value) in ('append', 'extend'):
            return not {*_names(node.value.func)} & self.spared
        return super().on_visit(node)

    # ---- checks ----

    def visit_Assert(self, node):
        before, test = len(self.found), node.test
        denied = isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not)
        call = test.expression if denied else test
        if called(call) == 'grade':
            truth = call.args[1].value
            if denied:
                same = cst.Attribute(grouped(truth), cst.Name('__call__'))  # another object: the truth itself is refused
                self.add('answer', call, with_values(call, {0: same}))
            else:
                self.add('tolerance', call, with_values(call, {1: _nudged(truth, call.args)}))
            return False
        self.claims(test)
        if not any(kind in ('assert', 'tolerance') for kind, *_ in self.found[before:]):
            self.add('assert', test, cst.UnaryOperation(cst.Not(), grouped(test)))
        return False

    def check(self, call):
        """holds, verify or erratum: all arguments but the claim are free to choose."""
        given = {arg.keyword.value: i for i, arg in enumerate(call.args) if arg.keyword}
        claim = call.args[given.get('corrected', 1)].value
        if 'printed' in given:
            self.add('slip', call, with_values(call, {given['printed']: claim}))
        if 'slip' in given:
            slip = call.args[given['slip']].value
            words, variant = slip.elements
            self.add('slip', call, with_values(call, {
                given['slip']: slip.with_changes(elements=[words, variant.with_changes(value=claim)])}))
        self.claims(claim)

    def claims(self, node):
        """Look into what a check says: there a comparison is its claim."""
        before, self.asserting = self.asserting, True
        node.visit(self)
        self.asserting = before

    def visit_Comparison(self, node):
        target = node.comparisons[-1]
        small = [x for x in re.findall(r'(?<![\w.])\d*\.\d+|\b\d+e-\d+', self.text(target.comparator)) if float(x) <= 0.1]
        difference = _first_difference(node.left)
        if isinstance(target.operator, (cst.LessThan, cst.LessThanEqual)) and small and difference:
            self.add('tolerance', difference.right, _nudged(difference.right))

    def visit_ComparisonTarget(self, node):
        if new := TURNED.get(type(node.operator)):
            self.add('comparison', node.operator, new())

    def visit_BooleanOperation(self, node):
        around = (cst.If, cst.While, cst.IfExp, cst.CompIf, cst.BaseStatement)
        condition = next(outer for outer in self.above(node) if isinstance(outer, around))
        if isinstance(node.operator, cst.Or) or not isinstance(condition, cst.SimpleStatementLine) and not self.asserting:
            # else it is a verdict, and what is right passes with less demanded, too
            self.add('comparison', node.operator, TURNED[type(node.operator)]())

    # ---- operations ----

    def visit_UnaryOperation(self, node):
        kind = {cst.Minus: 'sign', cst.Not: 'comparison'}.get(type(node.operator))
        if kind:
            self.add(kind, node, node.expression)

    def visit_AugAssign(self, node):
        if new := FLIPPED.get(type(node.operator)):
            self.add('sign', node.operator, new())

    def visit_BinaryOperation(self, node):
        if isinstance(node.left, (cst.SimpleString, cst.FormattedString)):
            return
        if new := FLIPPED.get(type(node.operator)):
            self.add('sign', node.operator, new())
        if isinstance(node.operator, ORDERED) and self.text(node.left) != self.text(node.right) and not self.even(node):
            self.add('operands', node, node.with_changes(left=grouped(node.right), right=grouped(node.left)))

    def even(self, node):
        """Whether this is a difference whose sign does not matter where it stands."""
        outer = next(outer for outer in self.above(node) if not isinstance(outer, cst.Arg))
        return isinstance(node.operator, cst.Subtract) and (
            called(outer) in ('abs', 'norm', 'square')
            or isinstance(outer, cst.BinaryOperation) and isinstance(outer.operator, cst.Power)
            and self.text(outer.right) in '24')

    def visit_Attribute(self, node):
        if node.attr.value in ('T', 'mT', 'H', 'mH'):
            self.add('transpose', node, node.value)

    # ---- indices and constants ----

    def visit_Index(self, node):
        if isinstance(node.value, cst.Name) and len(node.value.value) == 1 and node.value.value.islower():
            self.add('index', node.value, _shifted(node.value, cst.Subtract()))

    def visit_Slice(self, node):
        for end, operator in ((node.lower, cst.Add()), (node.upper, cst.Subtract())):
            if end and not isinstance(end, cst.Integer):
                self.add('index', end, _shifted(end, operator))

    def visit_Integer(self, node):
        minus, _, call = itertools.islice(self.above(node), 3)
        if not (isinstance(minus, cst.UnaryOperation) and called(call) in ('reshape', 'view')):  # any negative size will do
            self.nudge(node, cst.Integer(str(node.evaluated_value + 1)))

    def visit_Float(self, node):
        value = node.evaluated_value
        if 'e-' not in node.value and not 0 < abs(value - 1) < 1e-3:  # else a tolerance or a small step
            self.nudge(node, cst.Float(repr(float(f'{value * 1.1 or 0.1:.6g}'))))

    def nudge(self, node, new):
        kind, inner = 'constant', node
        for outer in self.above(node):
            if isinstance(outer, cst.BaseStatement):
                break
            if isinstance(outer, cst.SubscriptElement):
                kind = 'index'
            name = called(outer) if inner is not getattr(outer, 'func', None) else None
            keyword = outer.keyword.value if isinstance(outer, cst.Arg) and outer.keyword else None
            bound = isinstance(outer, cst.Comparison) and self.asserting and kind == 'constant'  # is not exact
            if bound or keyword in FREE or name in FREELY_CALLED or name in SPACED and inner in outer.args[2:]:
                return
            inner = outer
        self.add(kind, node, new)

    # ---- calls and lines ----

    def visit_Call(self, node):
        name, args = called(node), node.args
        if name in PRINTING:
            self.check(node)
            return False
        if name == 'grade':
            return False
        if name in CLOSE and len(args) > 1:
            self.add('tolerance', node, with_values(node, {1: _nudged(args[1].value, args)}))
        strange = cst.SimpleString, cst.FormattedString, cst.GeneratorExp, cst.Lambda
        plain = [arg for arg in args[:2] if not arg.keyword and not arg.star and not isinstance(arg.value, strange)]
        if name in PLOTS and args and args[0].star == '*':
            self.add('figure', args[0].value, cst.parse_expression(f'tuple({self.text(args[0].value)})[::-1]'))
        elif len(plain) == 2 and name not in UNORDERED:
            swapped = with_values(node, {0: args[1].value, 1: args[0].value})
            self.add('figure' if name in PLOTS else 'operands', node, swapped)
        if name in OTHER_PLOT:
            self.add('figure', node.func.attr, cst.Name(OTHER_PLOT[name]))
        if name == 'range' and not isinstance(last := args[min(len(args), 2) - 1].value, cst.Integer):
            self.add('index', last, _shifted(last, cst.Subtract()))
        given = {arg.keyword.value: i for i, arg in enumerate(args) if arg.keyword}
        for x, i in given.items():  # xlabel and ylabel, xlim and ylim ...
            if x.startswith('x') and (j := given.get('y' + x[1:])):
                self.add('figure', node, with_values(node, {i: args[j].value, j: args[i].value}))

    def visit_Arg(self, node):
        call = next(self.above(node))
        number = _whole(node.value)
        if number is None or not isinstance(call, cst.Call):
            return None
        name, method = called(call), isinstance(call.func, cst.Attribute)
        library = method and self.text(call.func.value) in ('np', 'torch')
        second = len(call.args) > 1 and call.args[1] is node and name in (JOINING | REDUCING if library else JOINING)
        first = call.args[0] is node and name in REDUCING and method and not library
        if node.keyword.value in ('axis', 'dim') if node.keyword else first or second:
            self.add('axis', node.value, cst.Integer('0' if number else '1'))
            return False

    def visit_SimpleString(self, node):
        if found := re.fullmatch("'C([0-4])'", node.value):
            self.add('figure', node, cst.SimpleString(f"'C{(int(found[1]) + 1) % 5}'"))

    def visit_SimpleStatementLine(self, node):
        line = node.body[0]
        if isinstance(line, cst.Expr):
            drop = self.on_visit(line) and isinstance(line.value, cst.Call) and called(line.value) not in PRINTING | {
                'print', 'grade', 'use', 'set_default_dtype', 'set_color', 'set_fontsize', 'tick_params', 'margins'}
        elif isinstance(line, cst.Assign):  # without the first binding of a name it would only be missed
            names = {*_names([target.target for target in line.targets])}
            plain = all(isinstance(target.target, (cst.Name, cst.Tuple)) for target in line.targets)
            drop = not plain or bool(names & {*_names(line.value)})
        else:
            drop = isinstance(line, (cst.AugAssign, cst.Continue, cst.Break))
        if drop:
            self.add('dropped', line, cst.Pass())


# ---- pieces of code ----

def called(node):
    """The name of what is called, without what stands before its last dot; None where nothing is called."""
    func = node.func if isinstance(node, cst.Call) else None
    return func.value if isinstance(func, cst.Name) else func.attr.value if isinstance(func, cst.Attribute) else None


def _names(node):
    """The plain names in a node or in a list of nodes."""
    if isinstance(node, cst.Name):
        yield node.value
    else:
        for part in [node.value] if isinstance(node, cst.Attribute) else getattr(node, 'children', node):
            yield from _names(part)


def with_values(call, values):
    """The call with other values of arguments, {number of the argument: value}."""
    args = [arg.with_changes(value=values.get(i, arg.value)) for i, arg in enumerate(call.args)]
    return call.with_changes(args=args)


def grouped(node):
    """The expression, in parentheses where its place could need them."""
    closed = cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float, cst.List
    if isinstance(node, closed) or node.lpar:
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def _shifted(node, operator):
    return cst.BinaryOperation(grouped(node), operator, cst.Integer('1'))


def _nudged(node, args=None):
    """A call of `nudged`, with more where `args` give a tolerance or are not known."""
    wide = args is None or any(arg.keyword and arg.keyword.value in TOLERANCES for arg in args)
    return cst.Call(cst.Name('nudged'), [cst.Arg(node)] + [cst.Arg(cst.Float('1e-2'))] * wide)


def nudged(value, by=1e-3):
    """A number, array or tensor changed by a little, relatively, zeros by as much; a function that gives such."""
    from nbutils import checks

    if callable(value):
        return lambda *args: nudged(value(*args), by)
    if not ('torch' in sys.modules and isinstance(value, sys.modules['torch'].Tensor)):
        try:
            value = checks._array(value)
        except (TypeError, ValueError):
            return value
    return value * (1 + by) if (value != 0).any() else value + by


def _whole(node):
    """The value of a literal integer, or None."""
    try:
        value = ast.literal_eval(cst.Module([]).code_for_node(node))
    except (ValueError, SyntaxError):
        return None
    return value if type(value) is int else None


def _first_difference(node):
    """The first subtraction in an expression, outside of indices."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Subtract):
        return node
    parts = [node.value] if isinstance(node, cst.Subscript) else node.children
    return next(filter(None, map(_first_difference, parts)), None)


# ---- names that only serve what is free to choose ----

def free_names(cells):
    """The names in these cells that serve only as slips, as cases or as a wrong answer."""
    tree, free = ast.parse('\n'.join(cells)), set()
    while True:
        parts = {id(node): node for top in _free(tree, free) for node in ast.walk(top)}.values()
        used, freely = (Counter(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
                        for nodes in (ast.walk(tree), parts))
        found = {name for name, times in freely.items() if times == used[name]}
        if found <= free:
            return frozenset(free)
        free |= found


def _free(tree, known):
    """The parts of a program that are free to choose, the definitions of `known` names among them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in known:
            yield node
        elif isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) and t.id in known for t in node.targets):
            yield node
        elif isinstance(node, ast.Assert) and isinstance(node.test, ast.UnaryOp):
            if lint.called(call := node.test.operand) == 'grade':
                yield call.args[0]
        elif isinstance(node, ast.Expr) and (name := _extended(node.value)):
            yield node if name.id in known else name
        elif lint.called(node) in PRINTING | {'grade'}:
            yield from node.args[2:]
            yield from (k.value for k in node.keywords if k.arg != 'corrected')


def _extended(call):
    """The name of a list to which `call` appends."""
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in ('append', 'extend'):
        return call.func.value if isinstance(call.func.value, ast.Name) else None
