"""Operators with a variable of their own: sums, products, extrema, integrals, limits, derivatives and expectations."""
import math
from functools import partial, reduce
from itertools import product

import numpy as np

from nbutils.printed.evaluating import (
    CAPITALS,
    ELEMENTWISE,
    Unfinished,
    builtin,
    evaluate,
    extremum,
    indices,
    names_in,
    rows_or_columns,
    rule,
    value_at,
)
from nbutils.printed.grammar import Node, children, letters, walk
from nbutils.printed.tokens import FormulaError
from nbutils.printed.values import (
    Box,
    Zero,
    add,
    divide,
    gradient,
    is_event,
    is_number,
    joined,
    lift,
    lower,
    slope_along,
    times,
    whole,
)

FAR = 30  # in an integral to infinity, how far out 0 · inf is 0: a density has underflowed there
INFINITE_SUM = 60  # terms of a sum to infinity: what is left out of a geometric series with ratio 1/2 is below 1e-18


@rule('big')
def _big(node, scope):
    kind, domain, body = node.args[:3]
    if kind == 'int':
        return _integral(node, scope)
    if kind == 'lim':
        return _limit(domain, body, scope)
    if domain is None:
        if kind in ('sum', 'prod', 'bigcup', 'bigcap'):
            raise FormulaError(f'a {kind} that does not say over what')
        if body.op == 'name' and f'{kind}_{body.args[0]}' in scope:  # inf f
            return scope.get(f'{kind}_{body.args[0]}')
        return builtin(kind, [evaluate(body, scope)])
    if kind not in ('sum', 'prod') and (name := _letter_of_a_box(domain, scope)):
        return _searched(kind, name, body, scope)
    cases = [(place, evaluate(body, case)) for place, case in over(domain, body, scope)]
    values = [value for _, value in cases]
    if kind == 'sum':
        return _sum(values)
    if kind in ('bigcup', 'bigcap'):
        return reduce(partial(joined, kind.removeprefix('big')), values)
    if kind == 'prod':
        return reduce(times, values, 1.0)
    best = extremum(kind.removeprefix('arg'), values)
    if not kind.startswith('arg'):
        return best
    place = next(place for place, value in cases if value == best)
    return place[0] if len(place) == 1 else list(place)


def _sum(values):
    return reduce(add, values, Zero())


def places(node, scope):
    """(all places that an arg max or arg min runs over, the heights there with a sign that makes low ones the best)."""
    kind, domain, body = node.args[:3]
    if domain is None:
        raise FormulaError(f'an {kind} that does not say over what')
    sign = 1 if kind == 'argmin' else -1
    found = [(place, sign * evaluate(body, case)) for place, case in over(domain, body, scope)]
    return [place[0] for place, _ in found], [height for _, height in found]


def _letter_of_a_box(domain, scope):
    """The letter below an extremum, as in `\\min_x`, if it runs over a box; else None."""
    if domain[0] != 'over' or len(domain[1]) != 1:
        return None
    below = domain[1][0]
    return below.args[0] if below.op == 'name' and isinstance(scope.raw(below.args[0]), Box) else None


def _searched(kind, name, body, scope):
    """An extremum over a box."""
    box, sign = scope.raw(name), 1 if kind.endswith(('min', 'inf')) else -1

    def height(v):
        return sign * evaluate(body, scope.changed(**{name: v}))
    with np.errstate(all='ignore'):
        place = _lowest_number(height, box) if box.size is None else _lowest_vector(height, box)
    return place if kind.startswith('arg') else sign * height(place)


def _lowest_number(height, box):
    from scipy.optimize import minimize_scalar

    grid = np.linspace(box.low, box.high, 65)
    best = int(np.argmin([height(v) for v in grid.tolist()]))
    if best in (0, 64):
        raise FormulaError('an extremum on the border of its box')
    found = minimize_scalar(height, bounds=grid[[best - 1, best + 1]], method='bounded', options={'xatol': 1e-10})
    return float(found.x) if found.fun < height(float(grid[best])) else float(grid[best])


def _lowest_vector(height, box):
    from scipy.optimize import minimize, root

    starts = [np.array(v) for v in product(np.linspace(box.low, box.high, 5), repeat=box.size)]
    start = min(starts, key=lambda v: height(v[:, None]))
    slope = lambda v: gradient(height, v[:, None])[:, 0]  # noqa: E731
    found = minimize(lambda v: height(v[:, None]), start, jac=slope, options={'gtol': 1e-9})
    # near its bottom a function is flat to rounding, and a search by values stops early: its slope still tells the way
    place = root(slope, found.x, options={'xtol': 1e-12}).x
    if abs(place - found.x).max() > 1e-3 * (1 + abs(place).max()):
        place = found.x
    if abs(slope(place)).max() > 1e-5 or not np.all((box.low < place) & (place < box.high)):
        raise FormulaError('an extremum that is not inside its box, or not smooth')
    return place[:, None]


def over(domain, body, scope):
    """(values of the counters, scope) for all that an operator runs over."""
    how, *what = domain
    if how == 'range':
        name, low, high = what
        low = whole(evaluate(low, scope))
        for k in range(low, _last(name, high, low, body, scope) + 1):
            yield (float(k),), scope.changed(**{name: float(k)})
        return
    tests = () if how == 'over' else what[0]
    if len(tests) == 1 and tests[0].op == 'relation' and tests[0].args[1].text == 'in':
        yield from _members(*tests[0].args[::2], scope)
        return
    if how == 'over':
        names = [_counter(n) for n in what[0]]
    else:
        names = sorted({n for t in tests for n in _counters_in(t, scope)})
    if not names:
        raise FormulaError('it is not clear what the operator runs over')
    if not all(t.op == 'relation' for t in tests):
        raise FormulaError('what stands below the operator cannot be read')
    for values in product(*(_choices(n, body, scope) for n in names)):
        case = scope.changed(**dict(zip(names, values, strict=True)))
        if all(evaluate(t, case) for t in tests):
            yield values, case


def _members(left, right, scope):
    """(values, scope) for all members x, or pairs (x, y), of a finite set."""
    pairs = left.op == 'bracket' and left.args[0] == '('
    names = [_counter(node) for node in (left.args[2] if pairs else (left,))]
    members = evaluate(right, scope)
    if not isinstance(members, list):
        raise FormulaError('an operator over what is no finite set')
    for member in members:
        values = member if pairs else [member]
        if not isinstance(values, list) or len(values) != len(names):
            raise FormulaError(f'the members of the set are no lists of {len(names)}')
        yield tuple(values), scope.changed(**dict(zip(names, values, strict=True)))


def _choices(name, body, scope):
    """What a letter x below an operator runs over: the list x_in, the members of the family that it stands for, or a
    counter's range."""
    if f'{name}_in' in scope:
        return scope.get(f'{name}_in')
    if name in scope and isinstance(scope.get(name), list):
        return scope.get(name)
    return [float(k) for k in counter_range(body, name, scope)]


def _counters_in(node, scope):
    """The letters of what stands below an operator that have no value: of p_i only i, where p has one."""
    if node.op == 'name':
        name = node.args[0]
        return {name} if name not in scope or f'{name}_in' in scope or isinstance(scope.raw(name), range) else set()
    return set().union(*(_counters_in(child, scope) for child in children(node)))


def _last(name, high, low, body, scope):
    """Where a counter ends; a letter without a meaning there ends it at the length of what it indexes."""
    try:
        value = evaluate(high, scope)
    except FormulaError:
        if high.op != 'name' or high.args[0] in scope:
            raise
        return counter_range(body, name, scope)[-1]
    return low + INFINITE_SUM if value == math.inf else whole(value)


def _counter(node):
    if node.op != 'name':
        raise Unfinished('what the operator runs over is no counter')
    return node.args[0]


def counter_range(body, name, scope):
    """The range of a counter: the one that was given, or the length of what it indexes."""
    if isinstance(scope.raw(name), range):
        return scope.raw(name)
    lengths = set()
    for node in walk(body):
        if node.op == 'scripted':
            lengths |= _lengths(node, name, scope)
    if len(lengths) != 1:
        raise FormulaError(
            f'{name} indexes axes of different lengths' if lengths else f'it is not clear how far {name} runs')
    return range(1, lengths.pop() + 1)


def _lengths(node, name, scope):
    """The lengths of the axes of a letter with scripts that a counter indexes."""
    base, sub, sup, _ = node.args
    if not any(script is not None and name in letters(script) for script in (sub, sup)):
        return set()
    try:
        value = _indexed_value(base, scope)
    except FormulaError:
        return set()
    if base.op == 'name' and sub is not None:
        value = rows_or_columns(value, base, sub, scope)
    nodes = indices(sub.args[1], value) if sub is not None and sub.args[1] else ()
    if sup is not None and sup.args[0] == 'label':
        nodes = (*sup.args[1].args[2], *nodes)
    places = [k for k, n in enumerate(nodes) if n.op == 'name' and n.args[0] == name]
    sizes = np.shape(value) if isinstance(value, np.ndarray) else ()
    while isinstance(value, list) and value:  # a family of families, or of vectors or matrices
        sizes, value = (*sizes, len(value)), value[0]
        if isinstance(value, np.ndarray):
            sizes = (*sizes, *value.shape)
    return {sizes[k] for k in places if k < len(sizes)}


def _indexed_value(base, scope):
    if base.op == 'name' and base.args[0] not in scope and f'{base.args[0]}_bold' not in scope:
        return scope.get(CAPITALS.get(base.args[0], base.args[0].upper()))
    return evaluate(base, scope)


def _integral(node, scope):
    from scipy.integrate import quad

    _, limits, body, variable = node.args
    low, high = (evaluate(limit, scope) for limit in limits) if limits else (-math.inf, math.inf)
    name = _counter(variable)

    def height(t):
        value = evaluate(body, scope.changed(**{name: t}))
        return 0.0 if far and abs(t) > FAR and np.isnan(value) else value
    far = math.isinf(low) or math.isinf(high)
    with np.errstate(all='ignore'):
        return quad(height, low, high)[0]


def _limit(domain, body, scope):
    test = domain[1][0] if domain and domain[0] == 'where' else None
    if test is None or test.op != 'relation' or test.args[1].text != 'to':
        raise Unfinished('a limit of an unknown kind')
    goal = test.args[2]
    if goal.op == 'scripted' and goal.args[2] is not None and goal.args[2].args == ('mark', 'plus'):
        goal = goal.args[0]  # from above, as all limits here are taken
    name, goal = _counter(test.args[0]), evaluate(goal, scope)
    if not math.isfinite(goal):
        raise Unfinished('a limit at infinity')
    table = [evaluate(body, scope.changed(**{name: goal + 1e-2 / 2 ** k})) for k in range(7)]
    for order in range(1, 7):  # Richardson: each column removes one power of the step
        table = [divide(add(times(2 ** order, b), a, -1), 2 ** order - 1) for a, b in zip(table, table[1:], strict=False)]
    return table[0]


# derivatives


@rule('derivative')
def _derivative(node, scope):
    wrt, body = node.args
    if body.op == 'name' and body.args[0] in scope and callable(scope.get(body.args[0])):  # df/dx_i for f of x
        letter = wrt[-1].args[0] if wrt[-1].op == 'scripted' else wrt[-1]
        body = Node('call', (body, (letter,)), body.start, body.end)
    if len(wrt) == 1:
        return _partial(wrt[0], lambda s: evaluate(body, s), scope)
    return _partial(wrt[0], lambda s: _derivative(Node('derivative', (wrt[1:], body)), s), scope)


@rule('gradient')
def _gradient(node, scope):
    sign, wrt, order, body = node.args
    subgradients = f'partial_{body.args[0].args[0]}' if sign == 'partial' and body.op == 'call' else ''
    if wrt is None and subgradients in scope:
        return lift(scope.get(subgradients)(*(lower(evaluate(a, scope)) for a in body.args[1])))
    if wrt is not None:
        def once(s):
            return _partial(wrt, lambda r: evaluate(body, r), s)
        return once(scope) if order == 1 else _partial(wrt, once, scope)
    if body.op == 'call' and body.args[1] and not (body.args[0].op == 'name' and body.args[0].args[0] in ELEMENTWISE):
        return _gradient_of_call(sign, order, body, scope)
    name = scope.options.get('wrt')
    if name is None:
        raise FormulaError('a gradient that does not say with respect to what')
    return _gradient(Node('gradient', (sign, Node('name', (name, False)), order, body)), scope)


def _gradient_of_call(sign, order, body, scope):
    """The gradient of f at x in `\\nabla f(x)`; its Jacobian in `\\partial f(x)`, which is a row for a number f."""
    head, args = body.args
    at = evaluate(args[0], scope)

    def f(v):
        return value_at(head, v, args[1:], scope)
    if order == 2:
        return gradient(lambda v: gradient(f, v), at)
    result = gradient(f, at)
    row = sign == 'partial' and isinstance(result, np.ndarray) and is_number(f(at))
    return result.T if row else result


def _partial(variable, value, scope):
    """The derivative of value(scope) with respect to a letter or an entry of it."""
    base, sub = variable.args[:2] if variable.op == 'scripted' else (variable, None)
    if base.op != 'name':
        raise FormulaError('a derivative with respect to what is no letter')
    name, bold = base.args
    key = f'{name}_bold' if bold and f'{name}_bold' in scope else name
    literal = f'{name}_{sub.args[0]}' if sub is not None else key
    if sub is None or literal in scope.values:
        return gradient(lambda v: value(scope.changed(**{literal: v})), scope.get(literal))
    if key not in scope:
        key = CAPITALS.get(name, name.upper())
    array = scope.get(key)
    if not isinstance(array, np.ndarray) or sub.args[1] is None:
        raise FormulaError('a derivative with respect to what is no letter and no entry')
    at = [whole(evaluate(n, scope)) - 1 for n in indices(sub.args[1], array)]
    at = (*at, 0) if len(at) == 1 and array.shape[1] == 1 else tuple(at)
    if len(at) != 2 or not all(0 <= k < n for k, n in zip(at, array.shape, strict=True)):
        raise FormulaError('a derivative with respect to an entry that is not there')
    return slope_along(lambda changed: value(scope.changed(**{key: changed})), array, at)


# expectations over finitely many outcomes, exactly


@rule('moment')
def _moment(node, scope):
    kind, sub, args = node.args
    events, given = [a for a in args if a.op != 'given'], [a.args[0] for a in args if a.op == 'given']
    kind = 'Pr' if kind == 'P' else kind
    tests = [_condition(g, scope) for g in given]
    if len(events) > {'Pr': math.inf, 'Cov': 2}.get(kind, 1):
        raise FormulaError(f'{kind} of several things')
    names = _random_names(args, scope)
    law = _law_below(sub, scope)
    if sub is not None and law is None:
        named = set() if sub.args[1] is None else {n for k in sub.args[1] for n in names_in(k)}
        for below in sub.args[1] or ():
            _check_law(below, scope)
        named = {r for name in named for r in scope.needs(name) if r in scope.randoms}
        if not named:
            raise FormulaError(f'{kind} over {sub.args[0]}, which is not random')
        names = sorted(set(names) & named)
    if not names:
        raise FormulaError(f'{kind} of what is not random')
    cases = _under(law, names, scope) if law else scope.outcomes(names)
    outcomes = [
        (weight, [evaluate(e, case) for e in events]) for weight, case in cases
        if weight and all(test(case) for test in tests)
    ]
    mass = sum(weight for weight, _ in outcomes)
    if not mass:
        raise FormulaError('a condition of probability zero')
    if kind == 'Pr':
        return _mean([(weight, _happened(values)) for weight, values in outcomes], mass)
    means = [_mean([(weight, values[k]) for weight, values in outcomes], mass) for k in range(len(events))]
    if kind == 'Expect':
        return means[0]
    centred = [(weight, [add(v, m, -1) for v, m in zip(values, means, strict=True)]) for weight, values in outcomes]
    return _mean([(weight, _spread(differences)) for weight, differences in centred], mass)


def _condition(node, scope):
    """What a case must obey: the statement behind the bar, or that a random variable has the value that it has now."""
    if node.op in ('relation', 'implies'):
        return lambda case: evaluate(node, case)
    if not _random_names([node], scope):
        raise Unfinished('a condition that is no statement: say X = x')
    now = evaluate(node, scope)
    return lambda case: np.array_equal(evaluate(node, case), now)


def _law_below(sub, scope):
    """The function p of E_p, or None where what stands below is a random variable or a statement about it."""
    if sub is None or sub.args[0] not in scope or scope.needs(sub.args[0]) & set(scope.randoms):
        return None
    law = scope.get(sub.args[0])
    return law if callable(law) else None


def _under(law, names, scope):
    """The outcomes of one random variable with probabilities in proportion to a function of it: E_p of f(X)."""
    if len(names) != 1:
        raise FormulaError('an expectation under a law, of several random variables')
    values = [lift(v) for v in scope.randoms[names[0]].values]
    weights = [law(lower(v)) for v in values]
    if min(weights) < 0:
        raise FormulaError('a law with negative probabilities')
    return [(w / sum(weights), scope.changed(**{names[0]: v})) for w, v in zip(weights, values, strict=True)]


def _happened(events):
    if not all(map(is_event, events)):
        raise FormulaError('the probability of what is no statement')
    return float(all(events))


def _spread(differences):
    """The product of the differences from two means, or of one with itself; an outer product for rows and columns."""
    a, b = differences[0], differences[-1]
    if is_number(a) and is_number(b):
        return a * np.conj(b)
    a, b = (v.T if not is_number(v) and v.shape[0] == 1 else v for v in (a, b))
    return times(a, b if is_number(b) else b.T)


def _check_law(below, scope):
    """Raises FormulaError where `Y \\sim p` or `Y \\sim p(Y)` is printed, p is a function, and Y has other weights."""
    if below.op != 'relation' or below.args[1].text != 'sim':
        return
    variable, _, law = below.args
    law = law.args[0] if law.op == 'call' else law
    if variable.op == law.op == 'name' and law.args[0] in scope and callable(scope.get(law.args[0])):
        for weight, case in scope.outcomes([variable.args[0]]):
            if abs(weight - evaluate(Node('call', (law, (variable,))), case)) > 1e-9:
                raise FormulaError(f'{variable.args[0]} has other weights than {law.args[0]}')


def _mean(outcomes, mass):
    return divide(_sum(times(weight, value) for weight, value in outcomes), mass)


def _random_names(nodes, scope):
    names = set().union(*(names_in(node) for node in nodes))
    return sorted({r for name in names for r in scope.needs(name) if r in scope.randoms})


