"""What dots leave out: of x_1, ..., x_N and of x_1 y_1 + ... + x_N y_N all terms, from the first one and the last one.

Two terms belong to one pattern if their trees are the same but for one counter, which stands in both at the same places.
"""
from nbutils.printed.grammar import Node, form
from nbutils.printed.tokens import FormulaError, Token
from nbutils.printed.values import whole


def all_terms(items, evaluate, scope):
    """The values of a list of nodes, in which each `dots` stands for what its neighbours say."""
    return [evaluate(node, scope) for node in filled(items, evaluate, scope)]


def filled(items, evaluate, scope):
    """A list of nodes with all terms of the pattern in place of its `dots`."""
    return [node for part in around_dots(items, evaluate, scope) for node in part]


def around_dots(items, evaluate, scope):
    """A list of nodes in three parts: before the pattern that has `dots`, all its terms, and behind it."""
    at = next((k for k, node in enumerate(items) if node.op == 'dots'), None)
    if at is None:
        return items, (), ()
    first, after = pattern_around(items, at)
    return items[:first], terms(items[first:at], items[at + 1:after], evaluate, scope), items[after:]


def pattern_around(items, at):
    """(index of the first term, index behind the last one) of the pattern whose dots stand at `at`."""
    if at + 1 == len(items):
        raise FormulaError('it is not clear where the dots end')
    for first in range(at):
        frames = {_frame(item, items[at + 1]) for item in items[first:at]}
        if len(frames) == 1 and None not in frames:
            break
    else:
        raise FormulaError('it is not clear what the dots leave out')
    after = at + 2
    while after < len(items) and _frame(items[after], items[first]) in frames:
        after += 1
    return first, after


def _frame(term, other):
    """What is left of a term without the counter in which it differs from another one; None if they differ in more."""
    pairs = []
    collect_differences(term, other, pairs)
    if len({(form(p), form(q)) for p, q in pairs}) != 1:
        return None
    if pairs[0][0] is term and {'scripted', 'call'} & {term.op, other.op}:
        return None  # the terms have nothing in common
    frame = form(with_counter(term, other, 0))
    return frame if frame == form(with_counter(other, term, 0)) else None


def terms(before, after, evaluate, scope):
    """All terms of a pattern, as nodes, from those before its dots and those behind them.

    They differ in one counter. Two terms side by side say how it moves, else it grows by one. Terms that are printed
    beyond the end, as x_2 in x_1, x_2, ..., x_n for n = 1, are not there.
    """
    first, last = before[0], after[-1]
    starts = [_counter(term, last, evaluate, scope) for term in before]
    ends = [_counter(term, first, evaluate, scope) for term in after]
    low, high = starts[0], ends[-1]
    step = starts[1] - low if len(starts) > 1 else high - ends[-2] if len(ends) > 1 else 1
    if step == 0 or starts != [low + j * step for j in range(len(starts))]:
        raise FormulaError('the terms before the dots do not follow one another')
    if ends[::-1] != [high - j * step for j in range(len(ends))]:
        raise FormulaError('the terms behind the dots do not follow one another')
    alone = len(starts) == len(ends) == 1
    if (high - low) % step or (high - low) // step < (0 if alone else -1):
        raise FormulaError(f'the dots do not lead from {low} to {high}')
    return [with_counter(first, last, k) for k in range(low, high + step // abs(step), step)]


def _counter(term, other, evaluate, scope):
    pairs = []
    collect_differences(term, other, pairs)
    return whole(evaluate(pairs[0][0], scope))


def collect_differences(a, b, pairs):
    """Append to `pairs` the pairs of nodes in which two trees of the same form differ."""
    if form(a) == form(b):
        return
    if _apart(a, b):
        pairs.append((a, b))
        return
    for p, q in _matched(a, b):
        collect_differences(p, q, pairs)


def with_counter(a, b, k):
    """The tree a with the number k wherever it differs from the tree b."""
    if form(a) == form(b):
        return a
    if _apart(a, b):
        return Node('number', (k,), a.start, a.end)
    if a.op == b.op == 'sub':
        a, b = _digits_apart(a, b)
    args = tuple(_argument_with_counter(p, q, k) for p, q in zip(a.args, b.args, strict=True))
    if a.op == 'sub':  # the literal text of a subscript changes with its counter
        nodes = args[1] or ()
        args = (str(nodes[0].args[0]) if len(nodes) == 1 and nodes[0].op == 'number' else '', args[1])
    return Node(a.op, args, a.start, a.end)


def _argument_with_counter(p, q, k):
    if isinstance(p, Node) and isinstance(q, Node):
        return with_counter(p, q, k)
    if _is_list(p) and _is_list(q):
        return tuple(_argument_with_counter(r, s, k) for r, s in zip(p, q, strict=True))
    return p


def _digits_apart(a, b):
    """Subscripts whose digits stand for letters of the other one: r_{11} and r_{nn}."""
    found = []
    for sub, other in ((a, b), (b, a)):
        (key, nodes), (_, others) = sub.args, other.args
        if len(nodes or ()) == len(others or ()) == 1 and nodes[0].op == 'number' and others[0].op == 'product':
            digits = str(nodes[0].args[0])
            if len(digits) == len(others[0].args):
                nodes = (Node('product', tuple(Node('number', (int(d),)) for d in digits)),)
        found.append(Node('sub', (key, nodes), sub.start, sub.end))
    return found


def _matched(a, b):
    if a.op == b.op == 'sub':
        a, b = _digits_apart(a, b)
    for p, q in zip(a.args, b.args, strict=True):
        if isinstance(p, Node) and isinstance(q, Node):
            yield p, q
        elif _is_list(p) and _is_list(q) and len(p) == len(q):
            yield from ((r, s) for r, s in zip(p, q, strict=True) if isinstance(r, Node) and isinstance(s, Node))


def _apart(a, b):
    """Whether two nodes differ in themselves and not only in what is below them."""
    return {'number', 'name'} & {a.op, b.op} or a.op != b.op or len(a.args) != len(b.args)


def _is_list(value):
    return isinstance(value, tuple) and not isinstance(value, (Node, Token))
