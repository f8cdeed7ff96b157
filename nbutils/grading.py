"""How `nbutils.checks.grade` compares a reader's function with the true one, and what it tells the reader."""
import contextlib
import copy
import functools
import importlib
import inspect
import sys
import sysconfig
import traceback
import warnings
from numbers import Number
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from nbutils import checks

RAISED = ValueError, ArithmeticError, LookupError  # what a truth may raise where there is no answer
STUB = 'not attempted yet'
SHRINKS = 300  # so many cases are tried in search of a simpler one
DRAW = 8  # so many cases are drawn at a time: hypothesis makes most of those that follow from the first ones
KEPT = 8  # so many sets of drawn cases are kept, and what so many truths make of one


class Grade:
    """The verdict on an answer: true if it is right; shown as a sentence. `case` is the case that is wrong, or None."""

    def __init__(self, right, message, case=None):
        """`message` and `case` may be given as one function that returns both, called when they are wanted."""
        self.right, self._said = right, message if callable(message) else lambda: (message, case)

    @functools.cached_property
    def _found(self):
        return self._said()

    @property
    def message(self):
        return self._found[0]

    @property
    def case(self):
        return self._found[1]

    def __bool__(self):
        return self.right

    def __repr__(self):
        return self.message


class Forbidden(Exception):
    """What an answer must not call, or do so often, was done."""


class Outcome(NamedTuple):
    """What a function did with a case: its value, or the exception that it raised, and which arguments it changed."""
    value: object
    error: Exception | None
    changed: tuple


class Cases:
    """The cases of a grader, those listed first, and what truths make of each."""

    def __init__(self, listed, sources, tries):
        self.listed, self.sources, self.tries, self.outcomes = listed, sources, tries, {}

    @functools.cached_property
    def drawn(self):
        """The cases drawn, as tuples; all combinations where all sources are lists."""
        if not self.sources:
            return []
        if all(isinstance(source, (list, tuple)) for source in self.sources.values()):
            return checks._combined(self.sources, self.tries)
        rows, source = {}, {'case': together(self.sources)}
        for seed in range(2 + 2 * self.tries // DRAW):
            if len(rows) == self.tries:
                break
            some = []
            checks._found(source, lambda row: some.append(row[0]), DRAW, seed)
            for row in some:
                if len(rows) < self.tries:
                    rows.setdefault(shown(row, 17, 10**6), (row, seed))
        if not rows:
            raise ValueError(f'no case satisfies the filters on {", ".join(self.sources)}')
        self.seeds = [None] * len(self.listed) + [seed for _, seed in rows.values()]  # what each case was drawn with
        return [row for row, _ in rows.values()]

    def __len__(self):
        return len(self.listed) + len(self.drawn)

    def judged_by(self, truth):
        """(case, what this truth makes of it) for each case. What was found is kept."""
        while len(self.outcomes) >= KEPT and id(truth) not in self.outcomes:
            del self.outcomes[next(iter(self.outcomes))]
        _, known = self.outcomes.setdefault(id(truth), (truth, {}))  # holds the truth, so that its id is not used again
        for n, row in enumerate([*self.listed, *self.drawn]):
            if n not in known:
                known[n] = right(truth, row)
            yield row, known[n]


def grade(answer, truth, listed, sources, same, without, lines, tries, atol, rtol):
    """See `nbutils.checks.grade`."""
    cases = _cases(listed, sources, tries)
    names = list(sources) or _parameters(answer)

    def wrong(row, want):
        got = run(answer, row, without, lines)
        if not sources:  # some graders of listed cases spoil them themselves
            got = got._replace(changed=())
        return fault(row, want, got, names, same, atol, rtol)

    for n, (row, want) in enumerate(cases.judged_by(truth)):
        if words := wrong(row, want):
            if words == STUB:
                return Grade(False, words)
            if n < len(cases.listed) or not _drawing(sources):
                return Grade(False, told(names, row, words), row)
            return Grade(False, lambda: simplest(cases, truth, wrong, names))  # seldom asked for
    if used := _used(answer, truth):
        return Grade(False, f'right, but it calls {used}, with which it is compared: write your own')
    return Grade(True, f'correct on {len(cases)} case{"s" * (len(cases) > 1)}')


_kept = {}


def _cases(listed, sources, tries):
    """The `Cases`, those of an earlier call with the same sources where there was one."""
    if not listed and not sources:
        raise ValueError('grade needs at least one case')
    for name, source in sources.items():
        if not (_draws(source) or isinstance(source, (list, tuple)) and source):
            raise TypeError(f'{name}={shown(source)}: give a strategy of nbutils.cases, a list of values, '
                            'or a function of other arguments that gives one')
    listed = listed or []
    if not sources:
        return Cases(listed, {}, tries)
    key = id(listed) if listed else 0, len(listed), tries, *((name, id(source)) for name, source in sources.items())
    if key not in _kept:
        while len(_kept) >= KEPT:
            del _kept[next(iter(_kept))]
        _kept[key] = Cases(listed, sources, tries)  # holds all of which the key has the id
    return _kept[key]


def _draws(source):
    return isinstance(source, st.SearchStrategy) or inspect.isfunction(source)


def _drawing(sources):
    return any(map(_draws, sources.values()))


def together(sources):
    """A strategy of tuples with a value of each source; a function gets the values of the arguments that it names."""
    needs = {name: list(inspect.signature(source).parameters) if inspect.isfunction(source) else []
             for name, source in sources.items()}
    order = []
    while len(order) < len(sources):
        ready = [name for name in sources if name not in order and set(needs[name]) <= set(order)]
        if not ready:
            raise TypeError(f'{", ".join(n for n in sources if n not in order)} wait for each other, or for no argument')
        order += ready

    @st.composite
    def drawn(draw):
        case = {}
        for name in order:
            source = sources[name]
            if inspect.isfunction(source):
                source = source(*(copy.deepcopy(case[need]) for need in needs[name]))
            case[name] = draw(st.sampled_from(source) if isinstance(source, (list, tuple)) else source)
        return tuple(case[name] for name in sources)

    return drawn()


def simplest(cases, truth, wrong, names):
    """(what is told of it, it): the simplest case found for which `wrong` says something.

    The shortest of those drawn, or a simpler one to which hypothesis comes from those that it drew together with it.
    """
    bad = [(row, said, seed) for (row, want), seed in zip(cases.judged_by(truth), cases.seeds, strict=True)
           if (said := wrong(row, want))]
    row, words, seed = min(bad, key=lambda one: _length(one[0]))
    found, tried = (row, words), 0

    def fails(drawn):
        nonlocal found, tried
        if tried > SHRINKS:
            raise checks.Enough
        tried += 1
        case, = drawn
        if said := wrong(case, right(truth, case)):
            found = case, said
        return bool(said)

    with contextlib.suppress(checks.Enough):
        checks._found({'case': together(cases.sources)}, fails, DRAW, seed)
    row, words = min(found, (row, words), key=lambda one: _length(one[0]))
    return told(names, row, words), row


def _length(row):
    return len(shown(row, most=10**6))


# ---- running a function on a case ----

def right(truth, row):
    """The outcome of the truth. It may raise one of `RAISED`, which the answer must then raise, too."""
    outcome = run(truth, row)
    if outcome.error is not None and not isinstance(outcome.error, RAISED):
        raise outcome.error
    return outcome


def run(function, row, without=(), lines=None):
    """The outcome of a function on a copy of a case, without warnings."""
    given, value, error = copy.deepcopy(row), None, None
    most = lines(*copy.deepcopy(row)) if callable(lines) else lines
    with warnings.catch_warnings(), np.errstate(all='ignore'), refused(without, function), limited(most):
        warnings.simplefilter('ignore')
        try:
            value = function(*given)
        except Exception as caught:  # whatever a reader's function does is told to the reader
            error = caught
    changed = (n for n, (now, was) in enumerate(zip(given, row, strict=True)) if not unchanged(now, was))
    return Outcome(value, error, tuple(changed))


@contextlib.contextmanager
def refused(paths, function):
    """Have public functions, 'numpy.linalg.inv', raise `Forbidden`, also where the notebook has imported them by name."""
    places = []
    for path in paths:
        home, _, name = path.rpartition('.')
        try:
            owner = importlib.import_module(home)
        except ImportError:  # a class in a module
            module, _, owner = home.rpartition('.')
            owner = getattr(importlib.import_module(module), owner)
        original = getattr(owner, name)
        own = getattr(function, '__globals__', {})
        places += [(vars(owner).get(name, original), path, functools.partial(setattr, owner, name))]
        places += [(original, path, functools.partial(own.__setitem__, key)) for key in own if own[key] is original]

    def refuse(path):
        def forbidden(*args, **keywords):
            raise Forbidden(f'it calls {path}, which is ruled out here')
        return forbidden

    try:
        for _, path, put in places:
            put(refuse(path))
        yield
    finally:
        for original, _, put in reversed(places):
            put(original)


@contextlib.contextmanager
def limited(most):
    """Raise `Forbidden` where more than so many lines of Python run, those of libraries not counted."""
    if most is None:
        yield
        return
    count = 0

    def line(frame, event, _):
        nonlocal count
        count += event == 'line'
        if count > most:
            raise Forbidden(f'it runs more than {most} lines of Python, repeated ones counted: find a way with fewer')
        return line

    def enter(frame, event, arg):
        return None if _library(frame.f_code.co_filename) else line(frame, event, arg)

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


@functools.cache
def _library(filename):
    """Whether a file is no part of a notebook: of an installed package, of Python, or of nbutils."""
    homes = sysconfig.get_path('stdlib'), str(Path(__file__).parent)
    return 'site-packages' in filename or filename.startswith(homes) or filename.startswith('<frozen')


def unchanged(now, was):
    """Whether an argument still has its values; true for what cannot be compared."""
    if type(now) is not type(was):
        return False
    if _is_tensor(was):
        now, was = now.detach().cpu().numpy(), was.detach().cpu().numpy()
    if isinstance(was, np.ndarray):
        if was.dtype == object:
            return now.shape == was.shape and all(map(unchanged, now.flat, was.flat))
        return now.shape == was.shape and now.dtype == was.dtype and now.tobytes() == was.tobytes()
    if isinstance(was, (list, tuple)):
        return len(now) == len(was) and all(map(unchanged, now, was))
    if isinstance(was, dict):
        return now.keys() == was.keys() and all(unchanged(now[key], was[key]) for key in was)
    if isinstance(was, (Number, str, set)):
        return now == was or (now != now and was != was)  # nan is as it was
    return True


# ---- comparing ----

def fault(row, want, got, names, same, atol, rtol):
    """What is wrong with an outcome, in words that follow 'for ...'; None where nothing is."""
    if isinstance(got.error, NotImplementedError):
        return STUB
    if isinstance(got.error, Forbidden):
        return str(got.error)
    if want.error is not None:
        kind = type(want.error)
        if got.error is None:
            return f'it gives {shown(got.value)}, expected {kind.__name__}: {want.error}'
        if not (isinstance(got.error, kind) or isinstance(got.error, RAISED) and isinstance(want.error, type(got.error))):
            return f'{_raised(got.error)}, expected {kind.__name__}: {want.error}'
    elif got.error is not None:
        return _raised(got.error)
    elif same is not None:
        if not same(got.value, want.value):
            return f'it gives {shown(got.value)}, for example {shown(want.value)} is right'
    elif words := different(got.value, want.value, atol, rtol):
        return words
    if changed := [n for n in got.changed if n not in want.changed]:
        name = names[changed[0]] if len(names) == len(row) else f'number {changed[0] + 1}'
        return f'it changes its argument {name}: work on a copy'
    return None


def told(names, row, words):
    """A whole sentence about a case."""
    named = zip(names, row, strict=True) if len(names) == len(row) else ((None, value) for value in row)
    case = ', '.join(f'{name} = {shown(value)}' if name else shown(value) for name, value in named)
    return f'not yet: for {case} {words}' if case else f'not yet: {words}'


def _parameters(function):
    """The names of a function's arguments; none where it takes any number."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _raised(error):
    """An exception with the line of the notebook in which it was raised, if that is no raise itself."""
    lines = [entry for entry in traceback.extract_tb(error.__traceback__) if not _library(entry.filename)]
    last = lines[-1] if lines else None
    where = f' (line {last.lineno}: {last.line})' if last and last.line and not last.line.startswith('raise') else ''
    return f'it raises {type(error).__name__}: {error}{where}'


def different(got, want, atol, rtol):
    """In which way a value differs from the one wanted, in words; None where it does not."""
    if got is None and want is not None:
        return f'it gives None, expected {shown(want)}: is a return missing?'
    if isinstance(want, (str, set, frozenset, type(None))):
        return None if type(got) is type(want) and got == want else f'it gives {shown(got)}, expected {shown(want)}'
    if isinstance(want, dict):
        if not isinstance(got, dict) or got.keys() != want.keys():
            return f'it gives {shown(got)}, expected {shown(want)}'
        parts = ((f'under {shown(key)} ', got[key], want[key]) for key in want)
        return next((where + words for where, a, b in parts if (words := different(a, b, atol, rtol))), None)
    if isinstance(want, (list, tuple)) and not _numeric(want):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            return f'it gives {shown(got)}, expected {type(want).__name__} of {len(want)}: {shown(want)}'
        parts = ((f'part {n} of the result: ', a, b) for n, (a, b) in enumerate(zip(got, want, strict=True)))
        return next((where + words for where, a, b in parts if (words := different(a, b, atol, rtol))), None)
    return _different_numbers(got, want, atol, rtol)


def _different_numbers(got, want, atol, rtol):
    if _is_bool(want) and not (_is_bool(got) and _is_tensor(got) >= _is_tensor(want)):
        return f'it gives {shown(got)}, expected {_kind(want)}: {shown(want)}'
    if not _numeric(got):
        return f'it gives {shown(got)}, expected {_kind(want)}: {shown(want)}'
    a, b = checks._array(got), checks._array(want)
    if a.shape != b.shape:
        return f'it gives {_kind(got)}, expected {_kind(want)}: {shown(want)}'
    with np.errstate(invalid='ignore', over='ignore'):
        share = np.minimum(rtol * abs(b), 0.5) if _whole(want) else rtol * abs(b)  # a count of millions may not miss by one
        near = np.isfinite(b) & (abs(a - b) <= atol + share) | (a == b) | np.isnan(a) & np.isnan(b)
    if near.all():
        return None
    if b.size > 6:
        at = tuple(map(int, np.argwhere(~near)[0]))
        return 'entry [{}] of the result is {}, expected {}'.format(', '.join(map(str, at)), *_apart(a[at], b[at]))
    return 'it gives {}, expected {}'.format(*_apart(*((got, want) if _is_bool(want) else (a, b))))


def _apart(got, want):
    """Two values as texts with as many digits as it takes to tell them apart."""
    pairs = ((shown(got, digits), shown(want, digits)) for digits in range(4, 18))
    return next(((a, b) for a, b in pairs if a != b), (repr(got), repr(want)))


def _numeric(value):
    try:
        checks._array(value)
    except (TypeError, ValueError):
        return False
    return True


def _is_tensor(value):
    torch = sys.modules.get('torch')
    return bool(torch and isinstance(value, torch.Tensor))


def _is_bool(value):
    """Whether a value is True or False, or an array, a tensor or a list of such."""
    if _is_tensor(value):
        return str(value.dtype) == 'torch.bool'
    try:
        return np.asarray(value).dtype == bool
    except (TypeError, ValueError):
        return False


def _whole(value):
    """Whether a value is an integer, or an array, a tensor or a list of such."""
    if _is_tensor(value):
        return not (value.is_floating_point() or value.is_complex())
    return np.asarray(value).dtype.kind in 'iu'


def _kind(value):
    """What kind of value this is, in words."""
    shape, truth = checks._array(value).shape, _is_bool(value)
    if not shape:
        return 'True or False' if truth else 'a number'
    return f'{"a tensor" if _is_tensor(value) else "an array"} of shape {shape}{" of True and False" * truth}'


def shown(value, digits=6, most=160):
    """A value in few characters: numbers to so many digits, arrays as nested lists."""
    text = ' '.join(_text(value, digits).split())
    return text if len(text) <= most else text[:most - 1] + '…'


def _text(value, digits):
    if _is_tensor(value):
        value = value.detach().cpu().numpy()
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, float):
        return f'{value + 0.0:.{digits}g}'  # + 0.0 turns -0.0 into 0.0
    if isinstance(value, complex):
        return f'{value.real + 0.0:.{digits}g}{value.imag + 0.0:+.{digits}g}j'
    if isinstance(value, list):
        return f'[{", ".join(_text(v, digits) for v in value)}]'
    if isinstance(value, tuple):
        return f'({", ".join(_text(v, digits) for v in value)}{"," * (len(value) == 1)})'
    if isinstance(value, dict):
        return '{' + ', '.join(f'{_text(k, digits)}: {_text(v, digits)}' for k, v in value.items()) + '}'
    return value.__name__ if isinstance(value, FunctionType) else repr(value)


# ---- whether the answer is its own ----

def _used(answer, truth):
    """The name of the truth, or of a function that it wraps, if the answer is it or calls it by name; else None."""
    targets = {f for f in [truth, *_held(truth)] if isinstance(f, FunctionType) and not _library(f.__code__.co_filename)}
    targets.add(truth)
    todo, seen = [answer], []
    while todo:
        function = todo.pop()
        if any(function is target for target in targets):
            return getattr(function, '__name__', 'the truth')
        if isinstance(function, FunctionType) and not any(function is other for other in seen):
            seen.append(function)
            named = (function.__globals__.get(name) for name in _names(function.__code__))
            todo += [f for f in (*named, *_held(function)) if isinstance(f, FunctionType)]
    return None


def _held(function):
    """The functions in the closure of a function."""
    cells = getattr(function, '__closure__', None) or ()
    return [cell.cell_contents for cell in cells if isinstance(cell.cell_contents, FunctionType)]


def _names(code):
    """The global names in the code of a function and of those within it."""
    inner = (_names(part) for part in code.co_consts if isinstance(part, CodeType))
    return set(code.co_names).union(*inner)
