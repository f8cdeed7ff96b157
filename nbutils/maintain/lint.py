"""Checks that cannot fail, seen in the code of a notebook without running it. `nbutils.maintain.rules` applies these rules.

Each takes a `sections.Section`, of which it reads `name` and `trees`.
"""
import ast
import itertools
import re

VERDICTS = {'close', 'all', 'any', 'allclose', 'isclose', 'array_equal', 'array_equiv', 'equal', 'logical_and', 'logical_or'}
COMPARING = {'close', 'grade', 'allclose', 'isclose', 'array_equal', 'array_equiv', 'assert_allclose', 'assert_array_equal'}
ORDERS = ast.Lt, ast.LtE, ast.Gt, ast.GtE
LOOSE = 0.05  # a relative tolerance from here on accepts what every reader would call different
SEEDS = 3  # how many runs a claim about training needs at least
TRAINING = {'nbutils.training.fit', 'nbutils.weights.advance', 'nbutils.weights.resume'}
_LAYER = re.compile(r'(Lazy)?(Linear|Conv(Transpose)?[123]d)')
_NORMALIZING = re.compile(r'(Lazy)?(Batch|Instance)Norm[123]d|SyncBatchNorm')
CHECKS = ('holds', 'erratum', 'verify')
NO_CASES = {'slip', 'printed', 'corrected', 'tries'}  # the keywords of a check that are no cases


def check_calls(nodes):
    """The calls of checks among the nodes of a syntax tree."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CHECKS:
            yield node


# ---- rules ----

def computed(section):
    """A literal True in an output looks like a result and is none: print the value that was computed."""
    for i, _, nodes in section.trees:
        for call in calls(nodes, {'print'}):
            if any(isinstance(a, ast.Constant) and a.value in (True, False) for a in call.args):
                yield f'{section.name}, cell {i} prints a literal verdict: print the value that was computed'


def kept(section):
    """A comparison that is thrown away is an assert that was lost; only the last expression of a cell is shown."""
    for i, tree, nodes in section.trees:
        shown = tree.body[-1:]
        for node in nodes:
            if isinstance(node, ast.Expr) and is_verdict(node.value) and node not in shown:
                yield f'{section.name}, cell {i} throws away {ast.unparse(node)!r}: assert it, or print its numbers'


def two_sided(section):
    """What is compared with itself, or one number with another one, comes out the same for any code."""
    for i, _, nodes in section.trees:
        for node in nodes:
            if _decided(node):
                yield (f'{section.name}, cell {i}: {ast.unparse(node)[:80]!r} is decided before it runs: '
                       'compare with what another route gives')


def tight(section):
    """A relative tolerance of some percent accepts a wrong factor: compare within what the arithmetic leaves open."""
    for i, _, nodes in section.trees:
        for node in nodes:
            if isinstance(node, ast.keyword) and node.arg in ('rtol', 'rel_tol') and _literal(node.value):
                if (ast.literal_eval(node.value) or 0) >= LOOSE:  # None is a library's default
                    yield (f'{section.name}, cell {i} compares with {ast.unparse(node)}: below {LOOSE}, '
                           'or print the two numbers')


def told(section):
    """A fixed sentence looks like a result, whatever becomes of the asserts before it: print what was measured.

    A heading, on which printed values follow at once, and a sentence that a branch chooses are none.
    """
    for i, _, nodes in section.trees:
        blocks = [getattr(node, field) for node in nodes for field in ('body', 'orelse') if
                  isinstance(getattr(node, field, None), list) and not isinstance(node, (ast.If, ast.ExceptHandler))]
        for block in blocks:
            for line, following in zip(block, [*block[1:], None], strict=False):
                if _fixed(line) and not (following and (_fixed(following) or _prints_values(following))):
                    yield (f'{section.name}, cell {i} prints the fixed sentence {ast.unparse(line)[6:-1][:60]}: '
                           'print the numbers that show it')


def dependent(section):
    """A test that reads nothing of what it is given is true for any code, and its variant false: the pair proves nothing.

    A test reads each of its arguments, else cases would be counted that were never tried. A variant reads one at least.
    """
    functions, names = {}, set()
    for _, tree, _ in section.trees:
        functions |= _functions(tree)
        names |= bound(tree)
    for i, _, nodes in section.trees:
        for call in check_calls(nodes):
            where = f'{call.func.id} (line {call.lineno})'
            cases = {keyword.arg for keyword in call.keywords} - NO_CASES
            for what, part in tests(call):
                node = functions.get(part.id) if isinstance(part, ast.Name) else part
                if node is None:
                    continue
                reads, given = read(node), _given(node)
                if not reads & (names - bound(node) | _parameters(node)):
                    yield (f'{section.name}, cell {i}: {what} of {where} reads none of its '
                           'arguments and no name of the notebook: let it depend on what is checked')
                elif cases and given and not given & reads:
                    yield (f'{section.name}, cell {i}: {what} of {where} reads none of its arguments, '
                           'so that all cases are one')
                elif what in ('the test', 'corrected') and given - reads:
                    yield (f'{section.name}, cell {i}: {what} of {where} ignores {", ".join(sorted(given - reads))}: '
                           'let it read each case, or give fewer')


def one_sided(section):
    """(cell, code) of each printed order that shows no number, `print('error below 1e-6:', error < 1e-6)`.

    Such a line stays the same while what is measured moves by any factor on its side. Times have no digits that another
    machine would repeat: where they are taken, only their order can be said.
    """
    timing = {'seconds'}
    for _, tree, _ in section.trees:
        timing |= {name for name, function in _functions(tree).items() if read(function) & timing}
    for i, _, nodes in section.trees:
        if calls(nodes, timing):
            continue
        orders = {target.id for node in nodes if isinstance(node, ast.Assign) and _orders(node.value)
                  for target in node.targets if isinstance(target, ast.Name)}
        for call in calls(nodes, {'print'}):
            for part in call.args:
                for value in _printed_values(part):
                    if _orders(value) or isinstance(value, ast.Name) and value.id in orders:
                        yield i, ast.unparse(value)


def unbiased(section):
    """A bias before a normalization has no effect and a gradient of zero: Adam divides rounding errors by their own size, so
    that the parameter differs from machine to machine."""
    for i, _, nodes in section.trees:
        for node in nodes:
            parts = node.args if called(node) == 'Sequential' else getattr(node, 'elts', ())
            for layer, following in itertools.pairwise(parts):
                if (_LAYER.fullmatch(called(layer)) and _NORMALIZING.fullmatch(called(following))
                        and not any(key.arg == 'bias' and ast.unparse(key.value) == 'False' for key in layer.keywords)):
                    yield (f'{section.name}, cell {i}: {called(following)} takes the bias of {ast.unparse(layer)} away '
                           'again: give it bias=False')


def few_seeds(section):
    """(cell, number) of each statement that averages over two seeds: this shows no mean, nor how far apart runs lie."""
    for i, tree, _ in section.trees:
        for statement in tree.body:
            nodes = list(ast.walk(statement))
            if calls(nodes, {'mean', 'std', 'median'}):
                for node in nodes:
                    over = getattr(getattr(node, 'target', None), 'id', '')
                    if over in ('seed', 'run') and _length(getattr(node, 'iter', None)) in range(2, SEEDS):
                        yield i, _length(node.iter)


def stored(section):
    """A check that trains again doubles the time and hides what it judges: train once, keep the results, and check those."""
    functions, training = {}, set()
    for _, tree, nodes in section.trees:
        functions |= _functions(tree)
        for node in nodes:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:  # of a function, or of its module
                    whole, known = f'{node.module}.{alias.name}', alias.asname or alias.name
                    training |= {known + name[len(whole):] for name in TRAINING if f'{name}.'.startswith(f'{whole}.')}
    for i, _, nodes in section.trees:
        for call in check_calls(nodes):
            for what, part in tests(call):
                node = functions.get(part.id) if isinstance(part, ast.Name) else part
                done = {ast.unparse(one.func) for one in ast.walk(node) if called(one)} & training if node else ()
                for name in done:
                    yield (f'{section.name}, cell {i}: {what} of {call.func.id} (line {call.lineno}) calls {name}: train '
                           'before it, and let it read the results')


RULES = computed, kept, two_sided, tight, told, dependent, unbiased, stored


# ---- what they look at ----

def called(node):
    """The name of what is called, without what stands before its last dot."""
    return getattr(node.func, 'id', getattr(node.func, 'attr', '')) if isinstance(node, ast.Call) else ''


def calls(nodes, names):
    """The calls of functions of these names among some nodes."""
    return [node for node in nodes if called(node) in names]


def is_verdict(node):
    """Whether an expression is true or false by its form."""
    return (isinstance(node, (ast.Compare, ast.BoolOp)) or called(node) in VERDICTS
            or isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def _decided(node):
    """Whether a comparison, a difference or a quotient has equal sides, a comparison or an assert no name in it, or a
    verdict is combined with a literal True or False."""
    if called(node) in COMPARING:
        return len(node.args) > 1 and ast.dump(node.args[0]) == ast.dump(node.args[1])
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return all(map(_literal, sides)) or any(ast.dump(a) == ast.dump(b) for a, b in itertools.pairwise(sides))
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.Div)):
        return ast.dump(node.left) == ast.dump(node.right) and not any(map(called, ast.walk(node)))  # which may draw anew
    if isinstance(node, ast.BoolOp):
        return any(isinstance(value, ast.Constant) and isinstance(value.value, bool) for value in node.values)
    return isinstance(node, ast.Assert) and _literal(node.test)


def _length(node):
    """How many values a loop over a display, or over `range` with numbers, takes; None where that is not written down."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)) and not any(isinstance(part, ast.Starred) for part in node.elts):
        return len(node.elts)
    if called(node) == 'range' and all(map(_literal, node.args)):
        return len(range(*map(ast.literal_eval, node.args)))
    return None


def _literal(node):
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return False
    return True


def _fixed(line):
    """Whether a statement prints words alone."""
    return (isinstance(line, ast.Expr) and called(line.value) == 'print' and bool(line.value.args)
            and all(isinstance(a, ast.Constant) and isinstance(a.value, str) for a in line.value.args))


def _prints_values(line):
    return any(not all(isinstance(a, ast.Constant) for a in call.args) for call in calls(ast.walk(line), {'print'}))


def _printed_values(node):
    """The expressions whose values one argument of print shows."""
    if isinstance(node, ast.JoinedStr):
        return [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
    return [node.value if isinstance(node, ast.Starred) else node]


def _orders(node):
    """Whether an expression is `a < b` or the like, or says so of all, or of some, of several."""
    if isinstance(node, ast.Compare):
        return any(isinstance(op, ORDERS) for op in node.ops)
    if isinstance(node, ast.BoolOp):
        return any(map(_orders, node.values))
    if called(node) in ('all', 'any', 'bool'):
        inner = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
        return any(_orders(getattr(part, 'elt', part)) for part in inner)
    return False


def tests(call):
    """(name, expression) of each function that a check calls."""
    if call.func.id != 'erratum' and len(call.args) > 1:
        yield 'the test', call.args[1]
    for keyword in call.keywords:
        if keyword.arg in ('printed', 'corrected'):
            yield keyword.arg, keyword.value
        elif keyword.arg == 'slip' and isinstance(keyword.value, ast.Tuple):
            yield 'slip', keyword.value.elts[-1]


def _functions(tree):
    """Name -> definition of the functions in a tree, as def or as lambda."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            found |= {target.id: node.value for target in node.targets if isinstance(target, ast.Name)}
    return found


def bound(tree):
    """The names that a tree assigns, defines or imports; `close` and the like are no matter of the notebook."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node is not tree:
            found.add(node.name)
        elif isinstance(node, ast.Import) or isinstance(node, ast.ImportFrom) and node.module != 'nbutils.checks':
            found |= {(alias.asname or alias.name).split('.')[0] for alias in node.names}
    return found


def bound_by(line):
    """The names that a statement binds where it stands, not those within a function."""
    return {line.name} if isinstance(line, (ast.FunctionDef, ast.ClassDef)) else bound(line)


def read(tree):
    """The names that a tree reads."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _parameters(node):
    return {argument.arg for argument in ast.walk(node) if isinstance(argument, ast.arg)}


def _given(node):
    """The names of a function's own arguments; those with a default value serve its other callers."""
    if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
        return set()
    own = node.args
    plain = [*own.posonlyargs, *own.args]
    required = plain[:len(plain) - len(own.defaults)]
    required += [argument for argument, value in zip(own.kwonlyargs, own.kw_defaults, strict=True) if value is None]
    return {argument.arg for argument in [*required, *filter(None, (own.vararg, own.kwarg))]}
