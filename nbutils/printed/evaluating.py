"""The tree of a formula, evaluated: letters, arithmetic, indices, functions, brackets, matrices and cases.

`evaluate(node, scope)` gives a number, an array, a family, a function or a verdict. Sums, expectations and
derivatives are in `operators`, relations in `relations`; each kind of node has one rule, which its module enters with
`@rule`.
"""
import math
from collections.abc import Callable
from functools import partial, reduce

import numpy as np

from nbutils.printed.grammar import Node, form, kept, letters, walk
from nbutils.printed.patterns import all_terms, around_dots, filled, pattern_around, terms
from nbutils.printed.tokens import FormulaError, ShapeError
from nbutils.printed.values import (
    Box,
    Identity,
    Random,
    Scope,
    Zero,
    add,
    divide,
    exponential,
    is_number,
    joined,
    lift,
    lower,
    power,
    slope,
    times,
    whole,
)

CONSTANTS = {'pi': math.pi, 'e': math.e, 'infty': math.inf}
ELEMENTWISE = {
    'exp': np.exp, 'log': np.log, 'ln': np.log, 'sin': np.sin, 'cos': np.cos, 'tan': np.tan, 'tanh': np.tanh,
    'cosh': np.cosh, 'sinh': np.sinh, 'arctan': np.arctan, 'arccos': np.arccos, 'arcsin': np.arcsin, 'sign': np.sign,
    'sgn': np.sign, 'Im': np.imag, 'Re': np.real,
}
LEAVES = {'number', 'degrees', 'value', 'name'}
CAPITALS = {'sigma': 'Sigma', 'lambda': 'Lambda'}  # the entries of a matrix are written with its small letter

_rules: dict[str, Callable] = {}


class Unfinished(FormulaError):
    """What is printed cannot be run: a convergence, a quantifier, a distribution."""


def rule(*ops: str):
    """Enter a function as the rule for nodes of these kinds."""
    def enter(function):
        _rules.update(dict.fromkeys(ops, function))
        return function
    return enter


def evaluate(node: Node, scope: Scope):
    """The value of a formula. Raises FormulaError where it has none, ShapeError where its shapes do not fit.

    A scope that keeps the values of parts evaluates each part once, in whatever print of the formula it stands.
    """
    if (found := _rules.get(node.op)) is None:
        raise Unfinished(f'{node.op} has no value')
    if scope.found is None or node.op in LEAVES:
        return found(node, scope)
    if (part := form(node)) not in scope.found:
        scope.found[part] = node, found(node, scope)
    return scope.found[part][1]


def lasting(found: dict, scope: Scope) -> dict:
    """Of kept values those that hang on given letters alone: a print with other definitions has the same."""
    return {part: (node, value) for part, (node, value) in found.items()
            if all(scope.needs(name).isdisjoint(scope.defined) for name in names_in(node))}


@kept
def names_in(node):
    """All names that occur in a tree, with and without their subscripts and marks."""
    scripted = [part for part in walk(node) if part.op == 'scripted' and part.args[0].op == 'name']
    return letters(node).union(literal for part in scripted for literal, _ in _spellings(part))


def _between(bracket, sub, sup, scope):
    """[F]_a^b, the difference of F at two values of the only letter in it that has no meaning."""
    free = {name for name in letters(bracket) if name not in scope and name not in {*CONSTANTS, *ELEMENTWISE}}
    if len(free) != 1 or len(bracket.args[2]) != 1 or not sub.args[1]:
        raise FormulaError('it is not clear which letter runs between the limits')
    high, low = (
        evaluate(bracket.args[2][0], scope.changed(**{name: evaluate(end, scope) for name in free}))
        for end in (sup.args[1], sub.args[1][0]))
    return add(high, low, -1)


@kept
def _spellings(node):
    """The names that a letter with scripts may have, each with its parts: (letter, subscript, mark, label or exponent) or
    some of these."""
    base, sub, sup, primes = node.args
    kind, extra = sup.args if sup is not None else (None, None)
    name, key = base.args[0], sub.args[0] if sub is not None else ''
    mark = extra if kind == 'mark' else 'prime' * bool(primes)
    text = label(extra) if kind in ('label', 'power') else ''
    several = (name, key, mark, text), (name, mark, key), (name, key, text), (name, key), (name, mark), (name, text)
    return [('_'.join(filter(None, parts)), parts) for parts in several]


# letters and numbers


@rule('number')
def _number(node, scope):
    return float(node.args[0])


@rule('degrees')
def _degrees(node, scope):
    return math.radians(node.args[0])


@rule('value')
def _value(node, scope):
    return node.args[0]


@rule('name')
def _name(node, scope):
    name, bold = node.args
    for key in (f'{name}_bold', name) if bold else (name,):
        if key in scope:
            value = scope.get(key)
            if isinstance(value, Random):
                raise FormulaError(f'{name} is random, and stands outside an expectation')
            if isinstance(value, Box):
                raise FormulaError(f'{name} is what an extremum runs over, and stands outside of one')
            return value
    if bold and name == 'I':
        return Identity()
    if bold and name == '0':
        return Zero()
    if name in CONSTANTS and not bold:
        return CONSTANTS[name]
    raise FormulaError(f'no meaning was given for {name}')


# arithmetic


@rule('add')
def _add(node, scope):
    total = Zero()
    for sign, item in _summands([(sign, item) for sign, item, _ in node.args], scope):
        total = add(total, evaluate(item, scope), _factor(sign, scope))
    return total


def _summands(items, scope):
    """The terms of a sum with their signs, those that dots leave out among them."""
    dots = next((k for k, (_, item) in enumerate(items) if item.op == 'dots'), None)
    if dots is None:
        return items
    first, after = pattern_around([item for _, item in items], dots)
    if len({sign for sign, _ in items[first + 1:after]}) > 1:
        raise FormulaError('dots between terms of different sign')
    between = terms([item for _, item in items[first:dots]], [item for _, item in items[dots + 1:after]], evaluate, scope)
    signs = [items[first][0], *[items[dots][0]] * (len(between) - 1)]
    return items[:first] + list(zip(signs, between, strict=False)) + items[after:]


def _factor(sign, scope):
    return scope.options.get('pm', 1) if sign == 'pm' else -1 if sign == '-' else 1


@rule('product')
def _product(node, scope):
    factors = node.args
    if (at := _first_nudge(node)) is not None and (nudge := _nudge(factors, at, scope)) is not None:
        return nudge
    factors = _with_directional_derivatives(factors, scope)
    values = all_terms(factors, evaluate, scope)
    return reduce(times, values) if values else 1.0


@kept
def _first_nudge(product):
    """Which factor is a d or d^2 of what follows, or None."""
    return next((k for k, f in enumerate(product.args[:-1]) if _order_of_nudge(f)), None)


def _nudge(factors, at, scope):
    """d X where a direction dX was given is that direction; d of anything else is its change along all directions."""
    directions = {n[1:]: v for n, v in scope.values.items() if n[0] == 'd' and n[1:] in scope.values}
    if not directions:
        return None
    moved, rest = factors[at + 1], factors[at + 2:]
    order = _order_of_nudge(factors[at])
    if moved.op == 'name' and moved.args[0] in directions and order == 1:
        result = directions[moved.args[0]]
    else:
        result = _nth_derivative(lambda t: evaluate(moved, scope.changed(**{
            n: add(scope.values[n], times(t, v)) for n, v in directions.items()})), 0.0, order)
    for factor in reversed(factors[:at]):
        result = times(evaluate(factor, scope), result)
    return times(result, evaluate(Node('product', rest) if len(rest) > 1 else rest[0], scope)) if rest else result


def _order_of_nudge(node):
    """1 for d, 2 for d^2, 0 for anything else."""
    if node.op == 'scripted' and node.args[1] is None and node.args[2] is not None and not node.args[3]:
        kind, exponent = node.args[2].args
        square = kind == 'power' and exponent.op == 'number' and exponent.args[0] == 2
        return 2 * (square and _order_of_nudge(node.args[0]))
    return int(node.op == 'name' and node.args == ('d', False))


def _with_directional_derivatives(factors, scope):
    """D_v f(x), two factors, as one: how fast f changes at x along v."""
    done = []
    for factor in factors:
        before = done[-1] if done else None
        if factor.op == 'call' and before is not None and before.op == 'scripted' and before.args[0].args[:1] == ('D',):
            done[-1] = Node('value', (_along(before.args[1], factor, scope),), before.start, factor.end)
        else:
            done.append(factor)
    return tuple(done)


def _along(direction, call, scope):
    head, args = call.args
    if direction is None or not direction.args[1] or 'D' in scope:
        raise FormulaError('a directional derivative that does not say along what')
    at, v = evaluate(args[0], scope), evaluate(direction.args[1][0], scope)
    return slope(lambda t: value_at(head, add(at, times(t, v)), args[1:], scope), 0.0)


def value_at(head, value, rest, scope):
    """The value of f(v, y, ...), where v is a value and not a part of the formula."""
    return evaluate(Node('call', (head, (Node('value', (value,)), *rest))), scope.changed())


@rule('join')
def _join(node, scope):
    sign, a, b = node.args[:3]
    chain = _chain(node)
    if any(item.op == 'dots' for item in chain):  # F_1 \cup \dots \cup F_k
        return reduce(partial(joined, sign), all_terms(chain, evaluate, scope))
    a, b = evaluate(a, scope), evaluate(b, scope)
    if sign in scope and callable(scope.raw(sign)):
        return lift(scope.raw(sign)(lower(a), lower(b)))
    return joined(sign, a, b)


def _chain(node):
    """The terms between equal signs: a, b and c of a sign b sign c."""
    sign, a, b = node.args[:3]
    return [*_chain(a), b] if a.op == 'join' and a.args[0] == sign else [a, b]


@rule('frac')
def _fraction(node, scope):
    return divide(*(evaluate(part, scope) for part in node.args))


@rule('sqrt')
def _root(node, scope):
    radicand, degree = node.args
    value = evaluate(radicand, scope)
    return power(value, 0.5 if degree is None else 1 / evaluate(degree, scope))


@rule('binom')
def _binomial(node, scope):
    return float(math.comb(*(_count(part, scope) for part in node.args)))


@rule('factorial')
def _factorial(node, scope):
    return float(math.factorial(_count(node.args[0], scope)))


def _count(node, scope):
    if (value := whole(evaluate(node, scope))) < 0:
        raise FormulaError(f'{value} things cannot be counted')
    return value


# subscripts and superscripts


@rule('scripted')
def _scripted(node, scope):
    base, sub, sup, _ = node.args
    if base.op == 'bracket' and base.args[0] == '[' and sub is not None and sup is not None and sup.args[0] == 'power':
        return _between(base, sub, sup, scope)
    kind, extra = sup.args if sup is not None else (None, None)
    if base.op == 'norm' and sub is not None:
        value, sub = _norm_with_name(base, sub, scope), None
    elif base.op == 'bracket' and sub is not None and sub.args[0] == 'times':
        value, sub = cross_matrix(evaluate(base, scope)), None
    elif sub is not None and _is_shape(sub):
        value = evaluate(base, scope)
        if np.shape(value) != shape_of(sub.args[1][0], scope):
            raise ShapeError(f'the shape {np.shape(value)} is not the one printed')
        sub = None
    else:
        value, sub, kind = _named(node, scope)
    if kind == 'mark':
        raise FormulaError(f'no meaning was given for {label(base)} with the mark {extra}')
    if kind == 'label':
        value = indexed(value, (extra,), scope)
    if sub is not None:
        if sub.args[1] is None:
            raise FormulaError(f'no meaning was given for the subscript {sub.args[0]}')
        if isinstance(value, Identity):  # I_n
            value = value.sized(whole(evaluate(sub.args[1][0], scope)))
        else:
            value = indexed(value, sub.args[1], scope)
    return _raised(value, kind, extra, scope)


def _named(node, scope):
    """(value, what of the subscript is left, what of the superscript is left) of a letter with scripts."""
    base, sub, sup, primes = node.args
    kind = sup.args[0] if sup is not None else None
    if base.op != 'name':
        if primes:
            raise FormulaError('a prime behind what is no letter')
        return evaluate(base, scope), sub, kind
    spellings = _spellings(node)
    name, key, mark, text = spellings[0][1]
    for literal, parts in spellings:
        if literal != name and literal in scope:
            named_text = text and text in parts[1:]
            named_mark = kind == 'mark' and mark in parts[1:]
            if primes and 'prime' not in parts:
                break
            return scope.get(literal), None if key in parts[1:] else sub, None if named_text or named_mark else kind
    if primes:
        raise FormulaError(f'no meaning was given for {name} with a prime')
    if sub is not None and name not in scope and f'{name}_bold' not in scope:
        if name == 'e' and base.args[1] and sub.args[1]:
            return _unit_vector(sub, scope), None, kind
        capital = CAPITALS.get(name, name.upper())
        if capital != name and capital in scope and np.ndim(scope.get(capital)) == 2:
            return scope.get(capital), sub, kind
    value = evaluate(base, scope)
    return value if sub is None else rows_or_columns(value, base, sub, scope), sub, kind


def rows_or_columns(value, base, sub, scope):
    """What a subscript picks from: with a single index X_rows or X_columns, where one is given for a matrix X."""
    single = isinstance(value, np.ndarray) and value.shape[1] > 1 and sub.args[1] and len(indices(sub.args[1], value)) == 1
    given = [f'{base.args[0]}_{what}' for what in ('rows', 'columns') if f'{base.args[0]}_{what}' in scope]
    return scope.get(given[0]) if single and len(given) == 1 else value


def _raised(value, kind, extra, scope):
    if kind == 'transpose':
        return transposed(value)
    if kind == 'inverse transpose':
        return transposed(power(value, -1))
    if kind == 'power':
        exponent = evaluate(extra, scope)
        if isinstance(exponent, np.ndarray) and is_number(value) and value == math.e:
            return exponential(exponent)
        return power(value, exponent)
    return value


def transposed(value):
    if isinstance(value, np.ndarray):
        return value.T
    if is_number(value) or isinstance(value, Identity):
        return value
    raise FormulaError('a transpose of what is no array')


def label(node):
    """A node as part of a name: `T`, `2`, `t_1` for t + 1."""
    if node.op in ('name', 'number'):
        return str(node.args[0])
    if node.op == 'bracket':
        return ''.join(map(label, node.args[2]))
    if node.op == 'add':  # t_1 for t + 1, t_minus_1 for t - 1
        return '_'.join('minus_' * (sign == '-') + label(item) for sign, item, _ in node.args)
    return '?'


def cross_matrix(a):
    """The matrix by which a cross product from the left multiplies."""
    if np.shape(a) != (3, 1):
        raise ShapeError('the matrix of a cross product outside space')
    return np.cross(a[:, 0], np.eye(3)).T


def _is_shape(sub):
    nodes = sub.args[1]
    return bool(nodes) and nodes[0].op == 'join' and nodes[0].args[0] == 'times'


def shape_of(node, scope):
    """The shape that m x n below a letter or above the real numbers says."""
    if node.op == 'join' and node.args[0] == 'times':
        return shape_of(node.args[1], scope) + shape_of(node.args[2], scope)
    return (whole(evaluate(node, scope)),)


def _unit_vector(sub, scope):
    n = scope.options.get('n') or next((len(v) for v in scope.values.values() if isinstance(v, np.ndarray)), None)
    k = whole(evaluate(sub.args[1][0], scope))
    if n is None or not 1 <= k <= n:
        raise FormulaError('a unit vector of unknown size')
    return np.eye(whole(n))[:, k - 1:k]


def indices(nodes, value):
    """The nodes of a subscript one by one: the letters of ij, or what stands in brackets."""
    if len(nodes) == 1 and nodes[0].op == 'bracket':
        return nodes[0].args[2]
    is_matrix = isinstance(value, np.ndarray) and value.shape[1] > 1
    if len(nodes) == 1 and nodes[0].op == 'product' and (is_matrix or callable(value) or isinstance(value, list)):
        return nodes[0].args
    if len(nodes) == 1 and nodes[0].op == 'number' and is_matrix:  # 12 is row 1, column 2
        return tuple(Node('number', (int(digit),)) for digit in str(nodes[0].args[0]))
    return nodes


def indexed(value, nodes, scope):
    """An entry, a row or column, or a member of a family; a function is applied to its indices."""
    nodes = indices(nodes, value)
    if callable(value):
        return lift(value(*(lower(evaluate(n, scope)) for n in nodes)))
    where = [slice(None) if n.op == 'sign' else whole(evaluate(n, scope)) for n in nodes]
    if isinstance(value, list):
        member = value[_place(where[0], len(value))]
        return member if len(where) == 1 else indexed(member, nodes[1:], scope)
    if isinstance(value, np.ndarray) and len(where) == 1 and value.shape[1] == 1:
        return value[_place(where[0], len(value)), 0]
    if isinstance(value, np.ndarray) and len(where) == 2:
        i, j = (_place(w, n) for w, n in zip(where, value.shape, strict=True))
        part = value[i, j]
        return part if np.ndim(part) == 0 else part[None, :] if isinstance(j, slice) else part[:, None]
    if isinstance(value, np.ndarray) and len(where) == 1:
        raise FormulaError('one index of a matrix: bind its rows or its columns')
    raise FormulaError('an index of what has no entries')


def _place(k, n):
    if isinstance(k, slice):
        return k
    if not 1 <= k <= n:
        raise FormulaError(f'index {k} of {n} entries')
    return k - 1


# functions


@rule('call')
def _call(node, scope):
    head, args = node.args
    if head.op == 'bracket':
        return _composition(head, args, scope)
    base, sub, sup, primes = head.args if head.op == 'scripted' else (head, None, None, 0)
    if base.op != 'name' or sup is not None and sup.args[0] not in ('mark', 'label'):
        raise FormulaError('a function with a superscript that is no mark: a power stands behind the brackets')
    name = base.args[0]
    if any(a.op == 'given' for a in args) and f'{name}_given' in scope:  # P(x | y) beside P(x, y)
        name = f'{name}_given'
    own = name in scope or sub is not None and f'{name}_{sub.args[0]}' in scope  # P_C, the nearest point of C
    if name in ('Expect', 'Pr', 'P', 'Var', 'Cov') and not own:
        return evaluate(Node('moment', (name, sub, args)), scope)
    if name == 'Indicator' and not own:
        return float(evaluate(args[0], scope))
    return _applied(name, sub, sup, primes, args, scope)


def _applied(name, sub, sup, primes, args, scope):
    """A function with its marks and indices, applied to arguments."""
    function, parameters = _function(name, sub, sup, scope)
    if function is not None and not callable(function):
        raise FormulaError(f'{name} is no function')
    values = _arguments(args, scope)
    if function is None:
        if primes or parameters:
            raise FormulaError(f'no meaning was given for the function {name}')
        return builtin(name, values)
    parameters = [lower(p) for p in parameters]
    with np.errstate(all='ignore'):
        if primes:
            rest = [lower(v) for v in values[1:]]
            return _entry_by_entry(
                lambda v: _nth_derivative(lambda t: _value(function, *parameters, lower(t), *rest), v, primes), values[0])
        return _value(function, *parameters, *map(lower, values))


def _value(function, *values):
    try:
        return lift(function(*values))
    except TypeError as error:
        raise FormulaError(f'a function that does not take these arguments: {error}') from error


def _function(name, sub, sup, scope):
    """(function or None, its parameters) of a name with a subscript, and with a mark or a label in brackets."""
    kind, extra = sup.args if sup is not None else (None, None)
    mark = extra if kind == 'mark' else ''
    parameters = [evaluate(extra, scope)] if kind == 'label' else []
    key = '_'.join(filter(None, (sub.args[0] if sub is not None else '', mark)))
    if key and f'{name}_{key}' in scope:
        return scope.get(f'{name}_{key}'), parameters
    if mark:
        raise FormulaError(f'no meaning was given for {name} with the mark {mark}')
    if sub is not None and sub.args[1] is None:
        raise FormulaError(f'no meaning was given for the subscript {key}')
    parameters += [evaluate(node, scope) for node in sub.args[1]] if sub is not None else []
    return scope.get(name) if name in scope else None, parameters


def _entry_by_entry(f, value):
    """f of a number, or of each entry of an array: the derivative of a function that is applied so."""
    return np.vectorize(f, otypes=[np.result_type(value, float)])(value) if isinstance(value, np.ndarray) else f(value)


def _nth_derivative(f, v, order):
    return slope(f if order == 1 else lambda t: _nth_derivative(f, t, order - 1), v)


def _arguments(args, scope):
    """The values between the brackets; s_1, ..., s_N is one list."""
    before, listed, after = ([evaluate(a, scope) for a in part] for part in around_dots(args, evaluate, scope))
    return [*before, listed, *after] if any(a.op == 'dots' for a in args) else before


def _composition(head, args, scope):
    """[f \\circ g](x)."""
    sign, f, g = head.args[2][0].args[:3]
    f, g = evaluate(f, scope), evaluate(g, scope)
    values = [lower(evaluate(a, scope)) for a in args]
    if sign == 'circ':
        return lift(f(lower(lift(g(*values)))))
    return lift(scope.raw(sign)(f, g)(*values))


def builtin(name, values):
    """A function that every formula knows, of its values."""
    x = values[0] if values else None
    if name in ELEMENTWISE and len(values) == 1:
        if isinstance(x, (list, Identity)) or callable(x):
            raise FormulaError(f'{name} of what is no number')
        with np.errstate(all='ignore'):
            return ELEMENTWISE[name](x)
    if name in ('max', 'min', 'sup', 'inf'):
        return extremum(name, _members(values))
    if len(values) > 1:
        raise FormulaError(f'{name} of several things')
    if name == 'diag':
        entries = np.array(x, float) if isinstance(x, list) else x
        return np.diag(entries.ravel()) if 1 in entries.shape or entries.ndim == 1 else np.diag(entries)[:, None]
    if name in ('det', 'tr', 'rank', 'vec'):
        return _of_matrix(name, x)
    raise FormulaError(f'no meaning was given for the function {name}')


def _members(values):
    return [v for value in values for v in (value if isinstance(value, list) else [value])]


def extremum(name, values):
    if not all(map(is_number, values)):
        raise ShapeError(f'{name} of arrays')
    if not values:
        raise FormulaError(f'the {name} of nothing')
    return max(values) if name in ('max', 'sup') else min(values)


def _of_matrix(name, x):
    if not isinstance(x, np.ndarray):
        raise FormulaError(f'{name} of what is no matrix')
    if name in ('det', 'tr') and x.shape[0] != x.shape[1]:
        raise ShapeError(f'{name} of a matrix that is not square')
    if name == 'vec':
        return x.T.reshape(-1, 1)
    return np.linalg.det(x) if name == 'det' else np.trace(x) if name == 'tr' else float(np.linalg.matrix_rank(x))


# brackets, bars, matrices, cases


@rule('group', 'given')
def _group(node, scope):
    return evaluate(node.args[0], scope)


@rule('bracket')
def _bracket(node, scope):
    opening, _, items = node.args
    if opening in ('lfloor', 'lceil'):
        value = evaluate(items[0], scope)  # 1e-12: three divided by 0.1 counts as thirty
        return float(math.floor(value + 1e-12) if opening == 'lfloor' else math.ceil(value - 1e-12))
    if opening == 'langle':
        return _inner_product(*(evaluate(i, scope) for i in items), scope)
    if opening == '{':
        event = len(items) == 1 and items[0].op == 'relation'
        return evaluate(items[0], scope) if event else all_terms(items, evaluate, scope)
    if len(items) == 1:
        return evaluate(items[0], scope)
    values = all_terms(items, evaluate, scope)
    if all(map(is_number, values)):
        return np.array(values)[:, None] if opening == '(' else np.array(values)[None, :]
    return np.hstack(values) if all(isinstance(v, np.ndarray) for v in values) else values


def _inner_product(a, b, scope):
    if 'inner' in scope:
        return lift(scope.raw('inner')(lower(a), lower(b)))
    if np.shape(a) != np.shape(b):
        raise ShapeError('an inner product of different shapes')
    return (a * b).sum()


@rule('bars')
def _bars(node, scope):
    value = evaluate(node.args[0], scope)
    if isinstance(value, list):
        return float(len(value))
    if is_number(value):
        return abs(value)
    raise ShapeError('bars around an array')


@rule('norm')
def _norm(node, scope):
    return _length(evaluate(node.args[0], scope), scope)


def _length(value, scope):
    """The norm without a name: the one that was given, or Euclidean; for functions that of a given inner product."""
    if 'norm' in scope:
        return lift(scope.get('norm')(lower(value)))
    if callable(value) and 'inner' in scope:
        return math.sqrt(scope.raw('inner')(value, value))
    return norm(value, None)


def norm(value, order):
    """A norm; `order` is None (Euclidean, vectors only), a number p or 'fro'."""
    if is_number(value):
        return abs(value)
    if not isinstance(value, np.ndarray):
        raise FormulaError('a norm of what is no array')
    if 1 in value.shape:
        return np.linalg.norm(value.ravel(), 2 if order in (None, 'fro') else order)
    if order is None:
        raise FormulaError('a norm of a matrix without its name')
    return np.linalg.norm(value, order)


def _norm_with_name(node, sub, scope):
    """The norm that a subscript names: a given one, as norm_star, Frobenius' or that of a number p."""
    name, nodes = sub.args
    value = evaluate(node.args[0], scope)
    if f'norm_{name}' in scope:
        return lift(scope.get(f'norm_{name}')(lower(value)))
    if name == 'F':
        return norm(value, 'fro')
    if nodes is None:
        raise FormulaError(f'the norm {name} is not known')
    return norm(value, evaluate(nodes[0], scope))


@rule('cases')
def _cases(node, scope):
    for value, test in node.args:
        if test is None or evaluate(test, scope):
            return evaluate(value, scope)
    raise FormulaError('no case applies')


@rule('matrix')
def _matrix(node, scope):
    left_out = [all(cell.op in ('dots', 'empty') for cell in row) for row in node.args]
    rows = [Node('dots', ()) if dots else Node('row', row) for row, dots in zip(node.args, left_out, strict=True)]
    cells = [all_terms(row.args, evaluate, scope) for row in filled(rows, evaluate, scope)]
    if len({len(row) for row in cells}) > 1:
        raise ShapeError('rows of different length')
    if all(is_number(cell) for row in cells for cell in row):
        return np.array(cells)
    return _blocks(cells)


@rule('empty')
def _empty_cell(node, scope):
    return 0.0


def _blocks(cells):
    heights = [next((len(c) for c in row if isinstance(c, np.ndarray)), None) for row in cells]
    widths = [next((row[j].shape[1] for row in cells if isinstance(row[j], np.ndarray)), None) for j in range(len(cells[0]))]
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            if is_number(cell):
                shape = heights[i] or 1, widths[j] or 1
                if cell != 0 and shape != (1, 1):
                    raise ShapeError('a number as a block')
                row[j] = np.full(shape, cell)
    try:
        return np.block(cells)
    except ValueError as error:
        raise ShapeError(f'blocks that do not fit: {error}') from None
