"""A displayed formula, run: its letters are given meanings, cases are drawn, and its spoilt prints must be rejected.

    report = run(latex, x=vectors(3), A=matrices(3, 3))

The meaning of a letter is a strategy or a list (drawn), a function, a number or an array, a `range` (a counter),
`of(lambda a, b: ...)` (computed from the letters a and b), `Random(values, weights)`, or `Box(low, high)`, over which
extrema are searched. Fonts do not count; `\\hat{\\mathbf{w}}` is `w_hat`, `x^*` is `x_star`, `w_{\\text{ridge}}` is
`w_ridge`, and `lambda_` is the letter lambda. `norm` is the norm without an index, if not the Euclidean one, and
`norm_star` its dual. A letter below a sum or an extremum that stands for a family, `of(lambda: [...])`, runs over its
members, and so does x where it stands for something else and a list is given as `x_in`. An equation whose left side
has no meaning yet defines it. Conditions ("for all ...", or a bracket of relations behind a formula) choose among the
cases, or among the values of counters. `x^{(t-1)}` is `x_t_minus_1`; `x_new` is x after an update. Where a random
variable is given and P is not, `P(A)` is `Pr[A]`; `\\mathbb{E}_p` is the expectation under the law p, a function.
A statement that they always exclude is an error.
"""
import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

from nbutils.printed.evaluating import CAPITALS, CONSTANTS, ELEMENTWISE, Unfinished, evaluate, lasting, names_in
from nbutils.printed.grammar import (
    ARROWS,
    EXTREMA,
    PREFIX,
    RELATIONS,
    STATEMENTS,
    Node,
    children,
    kept,
    letters,
    parse,
    walk,
)
from nbutils.printed.operators import counter_range
from nbutils.printed.relations import equal, stated, step_is_true, steps
from nbutils.printed.spoiling import variants
from nbutils.printed.tokens import FormulaError
from nbutils.printed.values import Box, Random, Scope, add, is_number, lift, of

# what numpy, or a function that a letter stands for, may raise of values that do not fit
MISHAPS = TypeError, ValueError, IndexError, AttributeError, ArithmeticError, np.linalg.LinAlgError
GREATER, LESS = ('>=', '>', 'psd', 'pd'), ('<=', '<', 'nsd', 'nd')
SAME = 1e-9  # so close are equal sides of two prints, of which only the order of operations is another one
OPTIONS = ('approx', 'over', 'wrt', 'n')
RESERVED = {*CONSTANTS, *ELEMENTWISE, *PREFIX, *EXTREMA, 'Reals', 'I', '1', '0'}


@dataclass
class Report:
    """What came of a formula. `spoilt` maps what came of a spoilt print to pairs (kind of slip, LaTeX)."""
    formula: 'Formula'
    cases: int
    counterexample: dict | None
    spoilt: dict[str, list] = field(default_factory=lambda: {'false': [], 'ill-formed': [], 'same': [], 'survived': []})
    names: dict[str, str] = field(default_factory=dict)  # a spoilt print -> the name of its slip
    idle: list[str] = field(default_factory=list)  # what the cases did not try of implications
    tried: list[tuple] = field(default_factory=list)  # the cases, what was compared in each, and what is known in it

    @property
    def statements(self) -> int:
        return len(self.formula.claims)

    @property
    def rejected(self) -> int:
        return len(self.spoilt['false']) + len(self.spoilt['ill-formed'])

    @property
    def different(self) -> int:
        """How many spoilt prints say something else than the formula."""
        return self.rejected + len(self.spoilt['survived'])

    def follows(self, spoilt: str) -> bool:
        """Whether a true print of inequalities is no stronger than the formula: they have as much room in all cases."""
        formula = Formula(spoilt, self.formula.meanings, self.formula.options, definable=set(self.formula.defined))
        return all(
            _as_wide(formula.sides(formula.instances(formula.scope(copy.deepcopy(case), known))), sides)
            for case, sides, known in self.tried)


def run(latex: str, search: Callable, *, spoil=True, options: dict | None = None, more=(), **meanings) -> Report:
    """Run a formula on drawn cases, and then all its spoilt prints on the same cases.

    `search(test, strategies)` draws cases and gives (the simplest case for which the test is false or None, number of
    cases). `options`: `approx` (how close ≈ is), `over` (two letters: what ∝ compares), `wrt` (the letter of a bare
    ∇), `n` (the size of unit vectors). `more` are further cases, as dicts, on which all are run. Raises FormulaError
    where the formula cannot be read or run, ValueError where no case meets its conditions.
    """
    meanings = {name.rstrip('_'): value for name, value in meanings.items()}
    options = options or {}
    if unknown := set(options) - set(OPTIONS):
        raise TypeError(f'no such option: {", ".join(sorted(unknown))}')
    formula = Formula(latex, meanings, options)
    tries = []  # case, scope, (claim, scope) for its claims

    def holds(**case):
        scope = formula.scope(copy.deepcopy(case))
        instances = formula.instances(scope)
        tries.append((case, scope, instances))
        return formula.true_in(instances)
    found, tried = search(holds, formula.drawn)
    if found is None:  # {} is a case, too: that of a formula in which nothing is drawn
        found = next((case for case in more if not holds(**case)), None)
    tried += len(more)
    report = Report(formula, tried, found)
    if found is None and len(formula.met) < len(formula.claims):
        raise ValueError('no case meets the conditions that are printed')
    report.idle += formula.idle() if found is None else []
    if found is None and spoil:
        # what the formula has computed from the given letters need not be computed again for its spoilt prints
        report.tried = [(case, formula.sides(instances), _known(scope)) for case, scope, instances in tries]
        for kind, spoilt, report.names[spoilt] in variants(formula.parts, latex, formula.alike(tries[-1][0])):
            report.spoilt[_verdict(spoilt, meanings, options, report.tried, formula)].append((kind, spoilt))
    return report


def _known(scope):
    """(letters, parts of the formula) with their values, so far as no definition that is printed has a hand in them."""
    return scope.known(), {counters: lasting(found, scope) for counters, found in scope.parts.items()}


def _verdict(spoilt, meanings, options, cases, original):
    """What came of a spoilt print: false, ill-formed (without a value in some case, or tried in none), same (equal sides in
    all cases) or survived."""
    try:
        formula = Formula(spoilt, meanings, options, definable=set(original.defined))
    except FormulaError:
        return 'ill-formed'
    same = True
    for case, sides, known in cases:
        try:
            instances = formula.instances(formula.scope(copy.deepcopy(case), known))
            if not formula.true_in(instances):
                return 'false'
            same = same and _agree(formula.sides(instances), sides)
        except (FormulaError, *MISHAPS) as error:
            if not isinstance(error, FormulaError) and _is_ours(error):
                raise
            return 'ill-formed'
    if len(formula.met) < len(formula.claims) or formula.idle():
        return 'ill-formed'
    return 'same' if same else 'survived'


def _is_ours(error):
    """Whether this package has raised an error that is none of its own: a fault of ours, for which no print is rejected."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    return Path(trace.tb_frame.f_code.co_filename).parent == Path(__file__).parent


def _agree(a, b):
    """Whether two prints compare the same: values, or lists of them."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_agree, a, b))
    try:
        return equal(a, b, SAME)
    except (FormulaError, TypeError):  # words, functions and what has no value
        return a is b or isinstance(a, str) and a == b


def _as_wide(new, old):
    """Whether each inequality of a print has as much room as that of another one, from what both compare."""
    if [v for v in new if isinstance(v, str)] != [v for v in old if isinstance(v, str)]:
        return False
    for k, sign in enumerate(new):  # a relation stands between its sides, an arrow before what is supposed
        if isinstance(sign, str) and not (
                _more_room(RELATIONS[sign], new[k - 1:k + 2:2], old[k - 1:k + 2:2]) if sign in RELATIONS
                else _agree(new[k + 1:k + 2], old[k + 1:k + 2])):
            return False
    return True


def _more_room(sign, new, old):
    if sign not in GREATER and sign not in LESS:
        return _agree(new, old)
    try:
        (a, b), (c, d) = (pair if sign in GREATER else pair[::-1] for pair in (new, old))
        more = np.asarray(add(add(a, b, -1), add(c, d, -1), -1))
    except (FormulaError, *MISHAPS):
        return False
    more = np.linalg.eigvalsh(more) if sign in ('psd', 'pd', 'nsd', 'nd') else more
    return bool(np.all(more >= -SAME * max(1, *(np.max(abs(np.asarray(v))) for v in (c, d)))))


class Formula:
    """A display, its statements, and the meanings of its letters. `definable` restricts which letters an equation may
    define."""

    def __init__(self, latex, meanings, options, definable=None):
        self.meanings = meanings
        self.options, self.met = options, set()  # met: the claims that the printed conditions allowed in some case
        self.seen = {}  # of each step of an implication or an equivalence: the pairs of truths of its sides
        self.drawn = {
            k: v for k, v in meanings.items() if isinstance(v, list) and not k.endswith('_in') or hasattr(v, 'example')
        }
        self.computed = {k: v for k, v in meanings.items() if isinstance(v, of)}
        self.fixed = {
            k: v if callable(v) or isinstance(v, (Box, Random, range)) else lift(v)
            for k, v in meanings.items() if k not in self.drawn and k not in self.computed
        }
        self.parts = self._parsed(latex, meanings)
        self.defined, self.claims, self.conditions = {}, [], []
        for part in self.parts:
            self._sort(part, set(meanings), definable)
        if not self.claims:
            raise Unfinished('nothing to run: only definitions')

    def _parsed(self, latex, meanings):
        functions = {k for k, v in self.fixed.items() if callable(v)}
        functions |= {k for k, v in self.drawn.items() if isinstance(v, list) and v and callable(v[0])}
        functions |= {k for k, v in self.computed.items() if _gives_a_function(v)}
        functions |= {k.removesuffix('_in') for k, v in self.fixed.items() if k.endswith('_in') and callable(v[0])}
        functions |= {k.split('_')[0] for k in functions}
        if 'P' not in meanings and any(isinstance(v, Random) for v in meanings.values()):
            functions.add('P')  # P(A) is Pr[A]
        parts = parse(latex, frozenset(functions))
        new = {f for p in parts if (f := _defined_function(p.node, set(meanings) | functions))}
        return parse(latex, frozenset(functions | new)) if new else parts

    def _sort(self, part, known, definable):
        """Enter a part as a condition, a definition or a claim."""
        node = part.node
        _look_for_idle_counters(node)
        if part.role == 'range':
            name, low, high = node.args
            self.defined[f'range of {name}'] = (low, high)
        elif part.role == 'given' and node.op in STATEMENTS:
            self.conditions.append(node)
        elif part.role == 'given':
            unread = letters(node) - known - set(self.defined)
            if unread or node.op not in ('name', 'scripted', 'product', 'bracket'):
                raise FormulaError(f'a condition that cannot be run: {part.latex}')
        elif node.op not in STATEMENTS:
            raise FormulaError(f'no statement: {part.latex}')
        elif (rule := _definition(node, known, set(self.defined), definable)) is not None:
            self.defined[rule[0]] = rule[1]
            if len(node.args) > 3:
                self.claims.append(Node('relation', node.args[2:], node.start, node.end))
        else:
            self.claims.append(node)

    def scope(self, case, known=((), {})):
        """The meanings of all letters in one case; `known` is what another print has found in this case."""
        letters, parts = known
        defined = {k: v for k, v in self.defined.items() if callable(v)}
        scope = Scope(self.fixed | {k: lift(v) for k, v in case.items()}, self.computed, defined, self.options, letters)
        scope.parts = {counters: dict(found) for counters, found in parts.items()}
        return scope

    def instances(self, scope) -> list:
        """(claim, scope) for all that the formula says in one case: nothing where a printed condition is not met."""
        for claim in self.claims:
            self._look_for_loose_counters(claim, scope)
        return list(self._instances(scope))

    def true_in(self, instances) -> bool:
        """Whether all claims are true."""
        self.met |= {id(claim) for claim, _ in instances}
        return all(self._true(claim, s) for claim, s in instances)

    def _instances(self, scope):
        """(claim, scope) for all values of the counters that nothing in a claim binds, where the conditions are met."""
        claims = [(claim, self._counted(claim, scope)) for claim in self.claims]
        counted = set().union(*(counters for _, counters in claims))
        conditions = [(condition, self._counted(condition, scope)) for condition in self.conditions]
        choosing = [(condition, counters) for condition, counters in conditions if counters & counted]
        if any(not any(counters <= others for _, others in claims) for _, counters in choosing):
            raise FormulaError('a condition on a counter that stands in no statement beside the others')
        for condition, counters in conditions:
            met = counters & counted or all(evaluate(condition, s) for s in self._quantified(condition, counters, scope))
            if not met:
                return
        for claim, counters in claims:
            tests = [condition for condition, others in choosing if others <= counters]
            scopes = self._quantified(claim, counters, scope)
            yield from ((claim, s) for s in scopes if all(evaluate(test, s) for test in tests))

    def _look_for_loose_counters(self, claim, scope):
        """Raises FormulaError where a counter stands right of an equals sign alone, and nothing says what it runs over."""
        if claim.op != 'relation':
            return
        said = {name.removeprefix('range of ') for name in self.defined}
        said = said.union(*(self._counted(condition, scope) for condition in self.conditions))
        left = self._counted(claim.args[0], scope)
        for sign, right in zip(claim.args[1::2], claim.args[2::2], strict=True):
            there = self._counted(right, scope)
            for name in sorted(there - left - said) if RELATIONS[sign.text] == '=' else ():
                if self._counter(name, right, scope) is not None:
                    raise FormulaError(f'the counter {name} stands on the right side alone')
            left |= there

    def _true(self, claim, scope):
        """Whether a claim is true; with ± on both sides for both signs, with ± on one side for one of them."""
        if claim.op in ARROWS.values():
            truths = [(step, *(bool(evaluate(side, scope)) for side in step[1:])) for step in steps(claim)]
            for (_, _, right), a, b in truths:
                self.seen.setdefault(id(right), set()).add((a, b))
            return all(step_is_true(op, a, b) for (op, _, _), a, b in truths)
        signed = sum(map(_has_two_signs, claim.args[::2] if claim.op == 'relation' else (claim,)))
        if not signed:
            return bool(evaluate(claim, scope))
        either = claim.op == 'relation' and signed == 1
        scopes = (Scope(scope.values, scope.computed, scope.defined, scope.options | {'pm': sign}) for sign in (1, -1))
        return (any if either else all)(evaluate(claim, s) for s in scopes)

    def sides(self, instances) -> list:
        """The values of all that the claims compare: the same for two prints that say the same."""
        return [value for claim, scope in instances for value in _sides(claim, scope)]

    def compared(self, signs, case):
        """(left, right, whether they are equal) for each relation of these kinds that the claims state, in one case."""
        scope = self.scope(case)
        for claim, s in self._instances(scope):
            for left, sign, right in stated(claim):
                if RELATIONS[sign.text] in signs:
                    yield left, right, equal(evaluate(left, s), evaluate(right, s))

    def idle(self) -> list[str]:
        """What the cases did not try of implications and equivalences, in words."""
        found = []
        for op, _, right in (step for claim in self.claims if claim.op in ARROWS.values() for step in steps(claim)):
            seen = self.seen.get(id(right), set())
            if (True, True) not in seen:
                found.append(f'no case in which what stands before the arrow ({op}) is true')
            elif op == 'iff' and (False, False) not in seen:
                found.append('no case in which both sides of an equivalence are false')
        return found

    def alike(self, case) -> dict[str, str]:
        """For each letter another one whose value has the same shape."""
        scope, kinds = self.scope(case), {}
        for name in sorted(set().union(*(free_names(c) for c in self.claims)) & {*scope.values, *scope.computed}):
            try:
                value = scope.get(name)
            except (FormulaError, *MISHAPS):  # it hangs on a random variable
                continue
            if isinstance(value, np.ndarray) or is_number(value) and isinstance(value, (float, np.floating)):
                kinds.setdefault(np.shape(value), []).append(name)
        several = [names for names in kinds.values() if len(names) > 1]
        return {a: b for names in several for a, b in zip(names, names[1:] + names[:1], strict=True)}

    def _quantified(self, node, counters, scope):
        """The scope for all values of these counters, which nothing in the statement binds."""
        counters = {name: self._counter(name, node, scope) for name in sorted(counters)}
        counters = {name: values for name, values in counters.items() if values is not None}
        for ks in product(*counters.values()):
            case = scope.changed(**{n: float(k) for n, k in zip(counters, ks, strict=True)})
            case.found = scope.parts.setdefault((*counters, *ks), {})
            yield case

    def _counted(self, node, scope):
        """The names that nothing in a statement binds and that have no value: its counters."""
        return {
            name for name in free_names(node)
            if isinstance(scope.raw(name), range) or name not in scope and name not in {*CONSTANTS, 'P'} and len(name) == 1
        }

    def _counter(self, name, node, scope):
        if isinstance(scope.raw(name), range):
            return scope.raw(name)
        if f'range of {name}' in self.defined:
            low, high = self.defined[f'range of {name}']
            return range(int(evaluate(low, scope)), int(evaluate(high, scope)) + 1)
        try:
            return counter_range(node, name, scope)
        except FormulaError:
            return None  # no counter: evaluating says what is missing


def _sides(statement, scope):
    """The values of all that a statement compares. Of what an implication supposes, the truth alone counts, and of what it
    concludes, the values where that is supposed."""
    if statement.op == 'both':
        return [value for part in statement.args for value in _sides(part, scope)]
    if statement.op not in ARROWS.values():
        return [_value_or_none(side, scope) if isinstance(side, Node) else side.text for side in statement.args]
    found = []
    for op, left, right in steps(statement):
        supposed = _value_or_none(left, scope)
        found += [op, *([supposed] if op == 'implies' else _sides(left, scope))]
        found += _sides(right, scope) if op == 'iff' or supposed else []
    return found


def _look_for_idle_counters(node):
    """Raises FormulaError where what stands behind a sum or the like does not contain its counter."""
    for big in walk(node):
        if big.op == 'big' and big.args[0] in ('sum', 'prod', 'bigcap', 'bigcup'):
            counters = _bound(big)
            if counters and not counters & (names_in(big.args[2]) | free_names(big.args[2])):
                raise FormulaError(f'{big.args[0]} over {min(counters)}, which does not stand behind it')


def _value_or_none(node, scope):
    try:
        return evaluate(node, scope)
    except FormulaError:
        return None


def _gives_a_function(rule):
    """Whether an `of` computes a function: its lambda or def holds another one, which is no comprehension."""
    code = getattr(rule.function, '__code__', None)
    inside = [getattr(constant, 'co_name', '<>') for constant in code.co_consts] if code is not None else []
    return any(name == '<lambda>' or name[0] != '<' for name in inside)


@kept
def _has_two_signs(node):
    return any(n.op == 'add' and any(sign == 'pm' for sign, _, _ in n.args) for n in walk(node))


# definitions


def _definition(node, given, defined, definable):
    """(name, rule) where an equation defines a letter or a function that has no meaning yet, or None."""
    if node.op != 'relation' or RELATIONS[node.args[1].text] != '=':
        return None
    known = given | defined
    if _is_entry(node.args[0], given):
        return None
    name, parameters = _head(node.args[0], known) or (None, ())
    if name is None or name in known or name in RESERVED or definable is not None and name not in definable:
        return None
    return name, _Rule(node.args[2], parameters)


class _Rule:
    """The right side of a definition, evaluated in a scope: a value, or a function of its parameters."""

    def __init__(self, body, parameters):
        self.body, self.parameters, self.names = body, parameters, names_in(body) - {*parameters}

    def __call__(self, scope):
        if not self.parameters:
            return evaluate(self.body, scope)
        return lambda *values: evaluate(
            self.body, scope.changed(**{p: lift(v) for p, v in zip(self.parameters, values, strict=True)}))


def _is_entry(left, given):
    """Whether this is r_{ij} or r_{11} for a matrix R that was given."""
    if left.op != 'scripted' or left.args[0].op != 'name' or left.args[1] is None:
        return False
    name, (key, nodes) = left.args[0].args[0], left.args[1].args
    if name in given or f'{name}_{key}' in given or CAPITALS.get(name, name.upper()) not in given:
        return False
    only = nodes[0] if nodes and len(nodes) == 1 else None
    joint = only is not None and (only.op == 'product' and len(only.args) == 2 or only.op == 'number' and only.args[0] > 9)
    return joint or len(nodes or ()) == 2


def _head(left, known):
    """(name, parameters) of what an equation could define: x, x^*, x_i, f_k, f(x); None for anything else."""
    if left.op == 'name':
        return left.args[0], ()
    if left.op == 'call' and left.args[0].op == 'name':
        arguments = [a.args[0] if a.op == 'given' else a for a in left.args[1]]
        named = all(a.op == 'name' for a in arguments)
        return (left.args[0].args[0], tuple(a.args[0] for a in arguments)) if named else None
    if left.op != 'scripted' or left.args[0].op != 'name':
        return None
    base, sub, sup, _ = left.args
    name, key = base.args[0], sub.args[0] if sub is not None else ''
    if sup is not None:
        return ('_'.join(p for p in (name, sup.args[1], key) if p), ()) if sup.args[0] == 'mark' else None
    if sub is None or name in known or f'{name}_{key}' in known:
        return None
    nodes = sub.args[1] or ()
    if nodes and nodes[0].op == 'join':
        return None
    if len(nodes) == 1 and nodes[0].op == 'product':
        nodes = nodes[0].args
    if nodes and all(n.op == 'name' and len(n.args[0]) == 1 and n.args[0] not in known for n in nodes):
        return name, tuple(n.args[0] for n in nodes)
    return f'{name}_{key}', ()


def _defined_function(node, known):
    """The name of f where `f(x) = ...` was read as a product of f and x, because f has no meaning."""
    if node.op == 'relation' and node.args[0].op == 'product':
        factors = node.args[0].args
        if len(factors) == 2 and factors[0].op == 'name' and factors[0].args[0] not in known and factors[1].op == 'bracket':
            return factors[0].args[0] if all(n.op == 'name' for n in factors[1].args[2]) else None
    return None


@kept
def free_names(node) -> frozenset[str]:
    """The names of a tree that no sum, integral or limit inside it binds."""
    if node.op == 'name':
        return frozenset(node.args[:1])
    inside = set()
    for child in children(node):
        inside |= free_names(child)
    if node.op == 'big':
        inside -= _bound(node)
    return frozenset(inside)


def _bound(node):
    kind, domain = node.args[:2]
    if kind == 'int':
        return free_names(node.args[3])
    if domain is None:
        return set()
    if domain[0] == 'range':
        return {domain[1]}
    return set().union(*(free_names(n) for n in domain[1]))

