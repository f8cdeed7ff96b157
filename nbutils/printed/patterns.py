"""What dots leave out: of x_1, ..., x_N and of x_1 y_1 + ... + x_N y_N all terms, from the first one and the last one.

Two terms belong to one pattern if their trees are the same but for one counter, which stands in both at the same places.
"""
from nbutils.printed.grammar import Node
from nbutils.printed.tokens import FormulaError, Token
from nbutils.printed.values import whole


def all_terms(items, evaluate, scope):
    """The values of a list of nodes, in which each `dots` stands for what its neighbours say."""
    at = next((k for k, node in enumerate(items) if node.op == 'dots'), None)
    if at is None:
        return [evaluate(node, scope) for node in items]
    first = first_alike(items, at)
    between = series(items[first], items[at + 1], evaluate, scope)
    return [evaluate(n, scope) for n in items[:first]] + between + [evaluate(n, scope) for n in items[at + 2:]]


def first_alike(items, at):
    """The index of the first term of the pattern that ends after the dots at `at`."""
    last = _form(items[at + 1]) if at + 1 < len(items) else None
    for k in range(at):
        if _form(items[k]) == last:
            return k
    raise FormulaError('it is not clear what the dots leave out')


def series(first, last, evaluate, scope):
    """The values of first, ..., last, which differ in one counter."""
    pairs = []
    collect_differences(first, last, pairs)
    if not pairs or any(_bare(pair) != _bare(pairs[0]) for pair in pairs):
        raise FormulaError('it is not clear what the dots leave out')
    low, high = (whole(evaluate(node, scope)) for node in pairs[0])
    return [evaluate(with_counter(first, last, k), scope) for k in range(low, high + 1)]


def collect_differences(a, b, pairs):
    """Append to `pairs` the pairs of nodes in which two trees of the same form differ."""
    if _bare(a) == _bare(b):
        return
    if _apart(a, b):
        pairs.append((a, b))
        return
    for p, q in _matched(a, b):
        collect_differences(p, q, pairs)


def with_counter(a, b, k):
    """The tree a with the number k wherever it differs from the tree b."""
    if not isinstance(a, Node) or _bare(a) == _bare(b):
        return a
    if _apart(a, b):
        return Node('number', (k,), a.start, a.end)
    args = tuple(_argument_with_counter(p, q, k) for p, q in zip(a.args, b.args, strict=True))
    if a.op == 'sub':  # the literal text of a subscript changes with its counter
        nodes = args[1] or ()
        args = (str(nodes[0].args[0]) if len(nodes) == 1 and nodes[0].op == 'number' else '', args[1])
    return Node(a.op, args, a.start, a.end)


def _argument_with_counter(p, q, k):
    if isinstance(p, Node) and isinstance(q, Node):
        return with_counter(p, q, k)
    if _is_list(p) and _is_list(q):
        return tuple(with_counter(r, s, k) if isinstance(r, Node) else r for r, s in zip(p, q, strict=True))
    return p


def _matched(a, b):
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


def _form(node):
    """The tree without places, numbers, and names of one letter: what the terms of one pattern share."""
    if isinstance(node, Node):
        counts = node.op in ('number', 'add') or node.op == 'name' and len(node.args[0]) == 1
        return '?' if counts else (node.op, tuple(map(_form, node.args)))
    return '?' if isinstance(node, (int, float, str, bool)) else None


def _bare(value):
    """The tree without its places in the LaTeX."""
    if isinstance(value, Node):
        return value.op, tuple(map(_bare, value.args))
    if isinstance(value, Token):
        return value.text
    return tuple(map(_bare, value)) if isinstance(value, tuple) else value
