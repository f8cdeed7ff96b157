"""Checks that can fail: a claim is tried on cases, and a slightly wrong variant of it must be rejected."""
import copy
import inspect
import itertools
import re
import sys
from collections.abc import Callable
from random import Random
from typing import NamedTuple

import numpy as np
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample, Unsatisfiable, UnsatisfiedAssumption

from nbutils import ledger
from nbutils.cases import SEEDS

# Hypothesis also draws numbers that it finds in the source files of a checkout, so that the cases would change with an
# unrelated line of nbutils. No public setting prevents it. It keeps such numbers for each range, also those that a test of
# somebody else's found before this module was imported. Where this private module has changed, all else works without it.
try:
    from hypothesis.internal.conjecture import providers

    _no_constants = providers.Constants()
    if callable(providers._get_local_constants):
        providers._get_local_constants = lambda: _no_constants
        providers.CONSTANTS_CACHE.cache.clear()
except (ImportError, AttributeError, TypeError):
    pass


class Ran(NamedTuple):
    """A check of a claim that has run: its test and its slip, or the `latex` of the display that ran, and its cases."""
    test: Callable | None
    slip: tuple | None
    cases: dict
    latex: str | None = None


RAN = {}  # id of a claim -> Ran: what nbutils.own_numbers tries on a reader's numbers


def close(got, want, *, atol=1e-8, rtol=1e-6):
    """Whether all entries agree: |got - want| <= atol + rtol |want|.

    Takes numbers, sequences, numpy arrays, torch tensors and sympy numbers or matrices, real or complex. Shapes
    must be equal (nothing is broadcast), nan agrees with nothing, infinities only with themselves. Raises
    ValueError where the shapes differ, TypeError for what is not a number.
    """
    got, want = _array(got), _array(want)
    if got.shape != want.shape:
        raise ValueError(f'shape {got.shape}, expected {want.shape}')
    with np.errstate(invalid='ignore'):
        near = np.isfinite(want) & (abs(got - want) <= atol + rtol * abs(want))
    return bool((near | (got == want)).all())


def holds(claim_id, test=None, /, *, slip=None, tries=200, **cases):
    """Show that a claim of the ledger holds, and that the check can fail.

    `test` gives True or False for one case. `slip` is a pair of words that name a mistake, two at least, and the test
    of a claim with this mistake, which must come out False for some case. Each further keyword names an argument of
    both tests and says where its values come from: a strategy of `nbutils.cases`, or a list of values. Without any,
    both are called once and have to compute their own evidence.

    Lists alone are combined in all ways, up to `tries`. Else `tries` cases are drawn, always the same for one version
    of hypothesis, fewer where there are no more; some may be equal. Prints one line with the number of cases that
    were tried and the simplest one that shows the slip. Raises AssertionError where the claim fails or the slip does
    not, KeyError for an unknown id, TypeError for wrong arguments, ValueError where the ledger calls the claim wrong:
    see `erratum`.

    Without a test, the display that is labelled `claim_id` is what runs: each keyword says what a letter of it stands
    for (see `nbutils.printed`), and its spoilt prints must be rejected. An inequality also takes `equality={...}`, a
    case in which its sides are equal, or a `slip` whose second part is LaTeX. `alike={name of a slip: reason}` lists the
    slips that no case can tell from the display, because they say the same.
    """
    if ledger.claim(claim_id).verdict == 'wrong':
        raise ValueError(f'the ledger says that {claim_id} is wrong as printed: use erratum(...)')
    if test is None:
        from nbutils.printed.displays import display

        slip = _pair(claim_id, slip) if slip else None
        RAN[claim_id] = Ran(None, slip, cases, display(claim_id))
        print(f'✓ {claim_id}: {_as_printed(claim_id, display(claim_id), tries, slip=slip, **cases)}')
        return
    RAN[claim_id] = Ran(test, slip, cases)
    tried = _hold(claim_id, test, cases, tries)
    print(f'✓ {claim_id} holds{tried}; {_noticed(claim_id, slip, cases, tries)}')


def verify(statement, test, /, *, slip=None, tries=200, **cases):
    """Show that a statement of the book's own holds, one that no claim of the ledger makes; else as `holds`.

    `statement` is a short sentence, which is printed. Raises ValueError where it is the id of a claim.
    """
    if statement in ledger.claims():
        raise ValueError(f'{statement} is a claim of the ledger: use holds(...) or erratum(...)')
    tried = _hold(repr(statement), test, cases, tries)
    print(f'✓ {statement}: holds{tried}; {_noticed(repr(statement), slip, cases, tries)}')


def erratum(claim_id, /, *, printed=None, corrected=None, slip=None, tries=200, **cases):
    """Show a counterexample to what the notes print, and that the correction holds.

    `printed` and `corrected` give True or False for one case; the cases, and `slip`, a mistake in the correction that
    may be given as well, are those of `holds`. Prints two lines. Raises AssertionError where the printed form is not
    refuted, the correction fails or the slip does not, ValueError where the ledger does not call the claim wrong.

    Without `printed` and `corrected`, the LaTeX of the notes and that of the correction run themselves, as in `holds`.
    """
    if (verdict := ledger.claim(claim_id).verdict) != 'wrong':
        raise ValueError(f'the ledger says that {claim_id} is {verdict}, not wrong: use holds(...)')
    if printed is None and corrected is None:
        _print_erratum(claim_id, tries, slip, cases)
        return
    RAN[claim_id] = Ran(corrected, ('as it stands in the notes', printed), cases)
    refuted = _refute(claim_id, 'what the notes print', printed, cases, tries)
    tried = _hold(f'{claim_id} as corrected', corrected, cases, tries)
    noticed = f'; {_noticed(claim_id, slip, cases, tries)}' if slip else ''
    print(f'✗ {claim_id} as printed fails{_at(refuted)}\n✓ {claim_id} as corrected holds{tried}{noticed}')


def _as_printed(name, latex, tries, **keywords):
    """What is said of a display that has run: cases, how many of its spoilt prints were rejected, and one of them."""
    from nbutils.printed.checking import check
    from nbutils.printed.spoiling import telling

    report = check(name, latex, lambda test, cases: _counterexample(test, cases, tries), **keywords)
    words, spoilt = keywords['slip'] or telling(report.spoilt['false'] or report.spoilt['ill-formed'])
    return (f'as printed, {report.cases} case{"s" * (report.cases > 1)}; '
            f'{report.rejected} of {report.different} spoilt variants rejected; '
            f'would notice: {words}: {" ".join(spoilt.split()).rstrip(" .,;")}')


def _print_erratum(claim_id, tries, slip, meanings):
    """The notes' own LaTeX must fail, or put together what does not fit; that of the correction must hold."""
    from nbutils.printed import ShapeError, run

    claim = ledger.claim(claim_id)
    RAN[claim_id] = Ran(None, slip, meanings, claim.correct)
    notes = re.sub(r'\\quad\s*\(\d+\)\s*$', '', claim.notes)  # the number of an equation
    options = {k: meanings[k] for k in ('options',) if k in meanings}
    letters = {k: v for k, v in meanings.items() if k not in ('options', 'equality', 'also_true', 'also_turned', 'alike')}
    try:
        report = run(notes, lambda test, cases: _counterexample(test, cases, tries), spoil=False, **options, **letters)
        if (refuted := report.counterexample) is None:
            raise AssertionError(f'{claim_id}: what the notes print was not rejected')
        shown = _at(refuted)
    except ShapeError as error:
        shown = f': {error}'
    said = _as_printed(claim_id, claim.correct, tries, slip=_pair(claim_id, slip) if slip else None, **meanings)
    print(f'✗ {claim_id} as printed in the notes fails{shown}\n✓ {claim_id} as corrected holds {said}')


def below(error, bound=1e-12):
    """The largest size of an error as words that are the same on every machine: as `between(error, 0, bound)`."""
    return between(error, 0, bound)


def between(values, low, high):
    """Where the sizes |v| of some numbers lie: 'between low and high', or 'below high' for low = 0.

    For what has no digits that are the same on every machine. Sizes that lie elsewhere are given with two digits.
    """
    sizes = abs(_array(values))
    if low <= sizes.min() and sizes.max() < high:
        return f'between {low:g} and {high:g}' if low else f'below {high:g}'
    return f'{sizes.max():.1e}' if sizes.ndim == 0 else f'{sizes.min():.1e} to {sizes.max():.1e}'


def grade(answer, truth, cases=None, /, *, same=None, without=(), lines=None, tries=100, atol=1e-8, rtol=1e-6, **drawn):
    """Compare a reader's function with the true one, on cases that are listed, drawn, or both.

    Each keyword in `drawn` names an argument of the answer, in its order, and says where the values come from: a strategy
    of `nbutils.cases`, a list of values, or a function of other arguments that gives one of these, so that
    `V=lambda K: matrices(len(K), 2)` has as many rows as K. `tries` cases are drawn, always the same; lists alone are
    combined in all ways. `cases` is a list of tuples of arguments, which are tried first. Both functions get
    copies, by position.

    Numbers, arrays and tensors agree within `atol + rtol |truth|`, in equal shapes; the second term is at most a half
    where the truth gives integers. nan agrees with nan, and where the truth gives True or False, nothing else does;
    tuples, lists and dicts agree part by part. Where the truth raises a ValueError, an ArithmeticError or a LookupError,
    the answer must raise one of that kind. An answer must leave its arguments as they are if the truth does.
    `same(got, want)` replaces the comparison where more than one answer is right. `without` names public functions
    that the answer may not call: 'numpy.linalg.inv'. `lines` says how many lines of Python may run in one call, each
    pass of a loop counted, those of libraries not: a number, or a function of the arguments.

    Gives a `nbutils.grading.Grade`, true if the answer is right. Shown, it names the simplest case found that is wrong. A
    stub that raises NotImplementedError is 'not attempted yet'. An answer that calls the truth by its name is not right.
    Raises ValueError for an empty list or filters that let nothing pass, TypeError for wrong sources of cases.
    """
    from nbutils import grading

    return grading.grade(answer, truth, cases, drawn, same, without, lines, tries, atol, rtol)


def _array(value):
    torch, sympy = sys.modules.get('torch'), sys.modules.get('sympy')
    if torch and isinstance(value, torch.Tensor):
        value = value.detach().cpu().resolve_conj()
        value = value.to(torch.complex128 if value.is_complex() else torch.float64).numpy()
    elif sympy and isinstance(value, sympy.MatrixBase):
        value = value.tolist()
    array = np.asarray(value)
    if array.dtype == object:  # fractions and sympy numbers
        try:
            array = np.reshape([complex(v) for v in array.flat], array.shape)
        except (TypeError, ValueError):
            raise TypeError(f'not a number: {_short(value)}') from None
    if array.dtype.kind not in 'biufc':
        raise TypeError(f'not a number: {_short(value)}')
    return array.astype(complex if array.dtype.kind == 'c' else float)


def _hold(name, test, cases, tries):
    found, tried = _counterexample(test, cases, tries)
    if found is not None:
        raise AssertionError(f'{name} fails{_at(found)}')
    return f' in {tried} case{"s" * (tried > 1)}' if cases else ''


def _noticed(name, slip, cases, tries):
    """The end of a line, after the slip has been rejected."""
    if slip is None:
        raise TypeError(f"{name}: give slip=('words that name a mistake', variant)")
    words, variant = _pair(name, slip)
    shown = _at(_refute(name, f'the slip {words!r}', variant, cases, tries)).removeprefix(' at ')
    return f'would notice: {words}{shown and f" ({shown})"}'


def _pair(name, slip):
    if not (isinstance(slip, tuple) and len(slip) == 2 and isinstance(slip[0], str)):
        raise TypeError(f"{name}: slip is a pair ('words that name a mistake', variant), not {_short(slip)}")
    if len([word for word in slip[0].split() if any(map(str.isalpha, word))]) < 2 or not slip[0].isprintable():
        raise ValueError(f'{name}: {slip[0]!r} does not name a mistake: write two words or more, on one line')
    return slip


def _refute(name, what, test, cases, tries):
    """The simplest case found for which `test` is false, without what is a seed: such a number tells a reader
    nothing."""
    found, tried = _counterexample(test, cases, tries)
    if found is None:
        raise AssertionError(f'{name}: {what} was not rejected in {tried} cases, so the check proves nothing')
    return {key: value for key, value in found.items() if key != 'seed' and cases[key] is not SEEDS}


_quiet = dict(
    database=None, deadline=None, phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck),
)


def _counterexample(test, cases, tries, *, simplest=True):
    """The simplest case found for which `test` is false, or the first (None: there is none), and how many were tried."""
    for name, values in cases.items():
        if not (isinstance(values, st.SearchStrategy) or isinstance(values, (list, tuple)) and values):
            raise TypeError(f'{name}={_short(values)}: give a strategy of nbutils.cases or a list of values')
    _accepts(test, cases)
    tried = 0

    def fails(row):
        nonlocal tried
        tried += 1
        try:
            verdict = test(**copy.deepcopy(dict(zip(cases, row, strict=True))))
        except UnsatisfiedAssumption:
            raise TypeError('a check must decide each case: in place of assume, .filter the strategy') from None
        if not _is_verdict(verdict):
            raise TypeError(f'a check must give one True or False, not {_short(verdict)}')
        return not verdict

    if any(isinstance(values, st.SearchStrategy) for values in cases.values()):
        found = (_found if simplest else _first)(cases, fails, tries)
        if not tried:
            raise ValueError(f'no case satisfies the filters on {", ".join(cases)}')
    else:
        found = next(filter(fails, _combined(cases, tries)), None)
    return None if found is None else dict(zip(cases, found, strict=True)), tried


class Enough(BaseException):
    """Ends a search."""


def _first(cases, fails, tries):
    """The first row of values drawn for which `fails` is true, None where there is none."""
    def ends(row):
        if fails(row):
            raise Enough(row)

    try:
        return _found(cases, ends, tries)
    except Enough as found:
        return found.args[0]


def _found(cases, fails, tries, seed=0):
    """The simplest row of values drawn for which `fails` is true, None where there is none."""
    drawn = [st.sampled_from(values) if isinstance(values, (list, tuple)) else values for values in cases.values()]
    try:
        return find(st.tuples(*drawn), fails, settings=settings(max_examples=tries, **_quiet), random=Random(seed))
    except (NoSuchExample, Unsatisfiable):
        return None


def _combined(cases, tries):
    """All combinations of the values of lists, or `tries` of them, in their order."""
    rows = list(itertools.product(*cases.values()))
    if len(rows) <= tries:
        return rows
    return [rows[n] for n in sorted(Random(0).sample(range(len(rows)), tries))]


def _accepts(test, cases):
    if not callable(test):
        raise TypeError(f'a check must be a function of {", ".join(cases) or "nothing"}, not {_short(test)}')
    try:
        inspect.signature(test).bind(**cases)
    except TypeError as error:
        raise TypeError(f'the check takes {inspect.signature(test)}, the cases are {", ".join(cases)}: {error}') from None


def _is_verdict(value):
    if isinstance(value, (bool, np.bool_)):
        return True
    torch, sympy = sys.modules.get('torch'), sys.modules.get('sympy')
    return bool(
        torch and isinstance(value, torch.Tensor) and value.dtype == torch.bool and value.ndim == 0
        or sympy and isinstance(value, (type(sympy.true), type(sympy.false)))
    )


def _at(case):
    return ' at ' + ', '.join(f'{name} = {_short(value)}' for name, value in case.items()) if case else ''


def _short(value, most=72):
    """A value in few characters: numbers to four digits, arrays as nested lists."""
    torch = sys.modules.get('torch')
    if torch and isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        text = '[' + ', '.join(_short(v, most) for v in value) + ']'
    elif isinstance(value, (float, np.floating)):
        text = f'{value + 0.0:.4g}'  # + 0.0 turns -0.0 into 0.0
    else:
        text = ' '.join((str(value) if isinstance(value, np.generic) else repr(value)).split())
    return text if len(text) <= most else text[:most - 1] + '…'
