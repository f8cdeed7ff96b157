"""Statements, evaluated: `evaluate` gives True or False for relations, implications and chains of them.

Two sides are equal if they differ by at most TOLERANCE times the larger one (at least 1): rounding of some hundred
operations on numbers of moderate size stays below 1e-12, and a slip in a formula changes it by far more. Where a
derivative cannot be taken by a complex step, its differences have an error of 1e-6, so DIFFERENCED is used; and so
where the place of an extremum is searched.
"""
import math

import numpy as np

from nbutils.printed.evaluating import Unfinished, evaluate, label, rule, shape_of
from nbutils.printed.grammar import ARROWS, RELATIONS, kept, walk
from nbutils.printed.operators import places
from nbutils.printed.tokens import FormulaError, ShapeError
from nbutils.printed.values import FLOATS, Identity, Zero, add, is_number, lower

TOLERANCE = 1e-7
DIFFERENCED = 1e-5
ORDERED = {
    '<=': lambda a, b, slack: a <= b + slack, '>=': lambda a, b, slack: a >= b - slack,
    '<': lambda a, b, slack: a < b, '>': lambda a, b, slack: a > b,
}


def steps(node):
    """(kind of arrow, left, right) for each arrow of a chain: A iff B implies C is (A iff B) and (B implies C)."""
    left, right = node.args[:2]
    if left.op in ARROWS.values():
        yield from steps(left)
        left = left.args[1]
    yield node.op, left, right


def stated(statement, supposed=True):
    """(left, sign, right) for each relation that a statement is made of, also of those that are only supposed if asked."""
    if statement.op == 'relation':
        yield from zip(statement.args[::2], statement.args[1::2], statement.args[2::2], strict=False)
    sides = statement.args if statement.op == 'both' else ()
    if statement.op in ARROWS.values():
        sides = [side for op, left, right in steps(statement) for side in (left, right)
                 if supposed or op == 'iff' or side is right]
    for side in sides:
        yield from stated(side, supposed)


def step_is_true(op, left, right):
    """Whether an arrow leads from the truth of its left side to that of its right side."""
    return left == right if op == 'iff' else right or not left


@rule('iff', 'implies')
def _arrow(node, scope):
    return all(step_is_true(op, *(bool(evaluate(side, scope)) for side in sides)) for op, *sides in steps(node))


@rule('both')
def _both(node, scope):
    return all(evaluate(part, scope) for part in node.args)


@rule('predicate')
def _predicate(node, scope):
    subject, words, *second = node.args
    return bool(scope.get(words.text)(*(lower(evaluate(part, scope)) for part in (subject, *second))))


@rule('relation')
def _relation(node, scope):
    parts = node.args
    return all(compare(parts[k - 1], RELATIONS[parts[k].text], parts[k + 1], scope) for k in range(1, len(parts), 2))


def compare(left, sign, right, scope) -> bool:
    """Whether `left sign right` is true. Raises Unfinished for relations that cannot be run."""
    if sign in ('to', 'mapsto', '<<', 'perp'):
        raise Unfinished(f'the relation {sign}')
    if sign in ('in', 'notin'):
        return _contained(evaluate(left, scope), right, scope) == (sign == 'in')
    if sign == 'sim':
        return _has_shape(evaluate(left, scope), right, scope)
    if sign == '<-':
        return _updated(left, right, scope)
    if sign == 'propto':
        return _proportional(left, right, scope)
    a, b = evaluate(left, scope), evaluate(right, scope)
    tolerance = DIFFERENCED if _is_differenced(left) or _is_differenced(right) else TOLERANCE
    if sign == '=':
        return equal(a, b, tolerance)
    if sign == '!=':
        return not equal(a, b, tolerance)
    if sign == '~':
        if 'approx' not in scope.options:
            raise Unfinished('an approximation: say how close (approx)')
        return equal(a, b, scope.options['approx'])
    if sign == 'subset':
        return _part_of(a, b)
    if sign in ('psd', 'pd', 'nsd', 'nd'):
        return _definite(sign, a, b)
    return _ordered(sign, a, b)


def _ordered(sign, a, b):
    if isinstance(a, np.ndarray) and is_number(b):
        b = np.full(a.shape, b)  # x >= 0 for a vector is said of its entries
    elif np.shape(a) != np.shape(b):
        raise ShapeError('an inequality between different shapes')
    slack = TOLERANCE * np.maximum(1, np.maximum(abs(a), abs(b)))
    return bool(np.all(ORDERED[sign](a, b, np.where(np.isfinite(slack), slack, 0))))


def _definite(sign, a, b):
    gap = a if is_number(b) and b == 0 else add(a, b, -1)  # 0 is the zero matrix here
    if not isinstance(gap, np.ndarray) or gap.shape[0] != gap.shape[1]:
        raise ShapeError('a definite matrix that is not square')
    if abs(gap - gap.T).max() > TOLERANCE * max(1, abs(gap).max()):
        return False  # definite matrices are symmetric in this book
    smallest = np.linalg.eigvalsh(gap if sign[0] == 'p' else -gap)[0]
    return bool(smallest >= -TOLERANCE * max(1, abs(gap).max()) if sign.endswith('sd') else smallest > 0)


def _updated(left, right, scope):
    name = label(left.args[0] if left.op == 'scripted' else left)
    if f'{name}_new' not in scope:
        raise FormulaError(f'an update: give {name}_new, the value after it')
    after = evaluate(left, scope.changed(**{name: scope.get(f'{name}_new')}))
    return equal(after, evaluate(right, scope))


def _proportional(left, right, scope):
    """The quotient of the sides is the same at two values of the letter named by the option `over`."""
    if 'over' not in scope.options:
        raise Unfinished('proportional: say with respect to what (over)')
    name, other = scope.options['over']
    moved = scope.changed(**{name: scope.get(other)})
    a, b, c, d = evaluate(left, scope), evaluate(right, scope), evaluate(left, moved), evaluate(right, moved)
    return equal(a / c, b / d)  # quotients, because densities are tiny


@kept
def _is_differenced(node):
    return any(
        n.op in ('derivative', 'gradient') or n.op == 'call' and n.args[0].op == 'scripted'
        or n.op == 'scripted' and n.args[0].args[:1] == ('D',) or n.op == 'big' and n.args[0].startswith('arg')
        for n in walk(node))


def equal(a, b, tolerance: float = TOLERANCE) -> bool:
    """Whether two values are the same. Raises ShapeError where their shapes differ."""
    if type(a) in FLOATS and type(b) in FLOATS:  # as below, for two numbers
        size = max(1.0, *(abs(v) for v in (a, b) if math.isfinite(v)), 0.0)
        return bool(a == b or abs(a - b) <= tolerance * size)
    if isinstance(a, Identity) and isinstance(b, Identity):
        return equal(a.scale, b.scale, tolerance)
    a, b = _sized(a, b), _sized(b, a)
    if isinstance(a, (bool, np.bool_)) or isinstance(b, (bool, np.bool_)):
        return bool(a) == bool(b)
    if callable(a) or callable(b):
        raise FormulaError('functions are compared')
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(equal(p, q, tolerance) for p, q in zip(a, b, strict=True))
    if isinstance(a, list) or isinstance(b, list):
        raise FormulaError('a family is compared with a value')
    if np.shape(a) != np.shape(b):
        raise ShapeError(f'shapes {np.shape(a)} and {np.shape(b)} are compared')
    if np.any(np.isnan(a)) or np.any(np.isnan(b)):
        return False
    sizes = [np.max(abs(np.asarray(v)), initial=0) for v in (a, b) if np.all(np.isfinite(v))]
    with np.errstate(invalid='ignore'):
        near = abs(np.asarray(a) - b) <= tolerance * max(1.0, *sizes, 0.0)
        return bool(np.all(near | (np.asarray(a) == b)))


def _sized(a, b):
    """The identity and zero in the size of what they are compared with."""
    if isinstance(a, Identity):
        if np.ndim(b) != 2 or b.shape[0] != b.shape[1]:
            raise ShapeError('the identity is compared with what is no square matrix')
        return a.sized(len(b))
    return np.zeros_like(b) if isinstance(a, Zero) and np.ndim(b) else a


def _part_of(a, b):
    if not isinstance(a, list) or not isinstance(b, list):
        raise FormulaError('subset of what is no finite set')
    return all(any(np.shape(v) == np.shape(w) and equal(v, w) for w in b) for v in a)


def _contained(value, right, scope):
    if right.op == 'scripted' and right.args[0].args[0] == 'Reals' and right.args[2] is not None:
        if (size := right.args[2].args[1]) is None:
            raise FormulaError('the real numbers with a mark that is no size')
        return _fits(value, shape_of(size, scope))
    if right.op == 'name' and right.args[0] == 'Reals':
        return is_number(value) and not np.iscomplexobj(value)
    if _is_interval(right):
        if not is_number(value):
            raise ShapeError('an array in an interval')
        low, high = (evaluate(i, scope) for i in right.args[2])
        above = value >= low if right.args[0] == '[' else value > low
        below = value <= high if right.args[1] == ']' else value < high
        return bool(np.all(above & below))
    if right.op == 'big' and right.args[0] in ('argmin', 'argmax'):
        where, heights = places(right, scope)
        return any(equal(value, v) for v, h in zip(where, heights, strict=True) if equal(h, min(heights)))
    if right.op == 'scripted' and _is_interval(right.args[0]) and right.args[2] is not None:  # a cube
        inside = all(_contained(entry, right.args[0], scope) for entry in np.ravel(value))
        return inside and _fits(value, (int(evaluate(right.args[2].args[1], scope)),))
    members = evaluate(right, scope)
    if callable(members):
        return bool(members(lower(value)))
    if right.op == 'gradient' and is_number(value) and np.shape(members) == (1, 2):  # an interval of subgradients
        return bool(members[0, 0] - TOLERANCE <= value <= members[0, 1] + TOLERANCE)
    if isinstance(members, list):
        return any(np.shape(m) == np.shape(value) and equal(value, m) for m in members)
    raise FormulaError('membership in what is no set')


def _is_interval(node):
    return node.op == 'bracket' and node.args[0] in ('[', '(') and len(node.args[2]) == 2


def _has_shape(value, right, scope):
    """X ~ (m, n): the shape of a tensor."""
    if right.op != 'bracket' or right.args[0] != '(':
        raise Unfinished('a distribution')
    return _fits(value, tuple(int(evaluate(i, scope)) for i in right.args[2]))


def _fits(value, shape):
    got = np.shape(value)
    one = got == () and shape == (1, 1)  # a number is a matrix with one entry
    return got == shape or one or len(shape) == 1 and got in ((shape[0], 1), (1, shape[0]))


