"""Checks that can fail: a claim is tried on generated cases, and a slightly wrong variant of it must be rejected."""
import copy
import inspect
import sys

import numpy as np
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample, Unsatisfiable
from hypothesis.internal.conjecture import providers

from nbutils import ledger

# hypothesis draws numbers that it finds in the source files of a checkout, too: then the cases, and the counterexamples
# printed, would change with an unrelated line of nbutils, or where nbutils is installed as a package
providers._get_local_constants = lambda: providers._local_constants


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


def holds(claim_id, test, /, *, control, tries=200, **cases):
    """Show that a claim of the ledger holds, and that the check can fail.

    `test` gives True or False for one case; `control` is the claim as a careless author could have written it, and
    must come out False for some case. Each further keyword names an argument of both and says where its values
    come from: a strategy of `nbutils.cases`, or a list of values. Without any, both are called once and have to
    compute their own evidence. At most `tries` cases are drawn, always the same. Prints one line, with the number
    of different ones. Raises AssertionError where the claim fails or the control does not, KeyError for an unknown
    id, TypeError for wrong arguments, ValueError where the ledger calls the claim wrong (that is an `erratum`).
    """
    if ledger.claim(claim_id).verdict == 'wrong':
        raise ValueError(f'the ledger says that {claim_id} is wrong as printed: use erratum(...)')
    tried = _hold(claim_id, test, cases, tries)
    print(f'✓ {claim_id} holds{tried}; control fails{_refute(claim_id, "the control", control, cases, tries)}')


def verify(statement, test, /, *, control, tries=200, **cases):
    """Show that a statement of the book's own holds, one that no claim of the ledger makes; else as `holds`.

    `statement` is a short sentence, which is printed. Raises ValueError where it is the id of a claim.
    """
    if statement in ledger.claims():
        raise ValueError(f'{statement} is a claim of the ledger: use holds(...) or erratum(...)')
    tried = _hold(repr(statement), test, cases, tries)
    print(f'✓ {statement}: holds{tried}; control fails{_refute(repr(statement), "the control", control, cases, tries)}')


def erratum(claim_id, /, *, printed, corrected, tries=200, **cases):
    """Show a counterexample to what the notes print, and that the correction holds.

    `printed` and `corrected` give True or False for one case; the cases are those of `holds`. Prints two lines.
    Raises AssertionError where the printed form is not refuted or the correction fails, ValueError where the
    ledger does not call the claim wrong.
    """
    if (verdict := ledger.claim(claim_id).verdict) != 'wrong':
        raise ValueError(f'the ledger says that {claim_id} is {verdict}, not wrong: use holds(...)')
    refuted = _refute(claim_id, 'what the notes print', printed, cases, tries)
    tried = _hold(f'{claim_id} as corrected', corrected, cases, tries)
    print(f'✗ {claim_id} as printed fails{refuted}\n✓ {claim_id} as corrected holds{tried}')


class Grade:
    """The verdict on an answer: true if it is right; shown as a sentence."""

    def __init__(self, right, message):
        self.right, self.message = right, message

    def __bool__(self):
        return self.right

    def __repr__(self):
        return self.message


def grade(answer, truth, cases, *, atol=1e-8, rtol=1e-6):
    """Compare a reader's function with the true one on a list of argument tuples, by `close`.

    Gives a `Grade` that names the first case that is wrong. A stub that raises NotImplementedError is 'not
    attempted yet'. Arguments are copied, so an answer cannot spoil them. Raises ValueError for an empty list.
    """
    if not cases:
        raise ValueError('grade needs at least one case')
    for case in cases:
        want = truth(*copy.deepcopy(case))
        try:
            got = answer(*copy.deepcopy(case))
            right, said = close(got, want, atol=atol, rtol=rtol), f'it gives {_short(got)}, expected {_short(want)}'
        except NotImplementedError:
            return Grade(False, 'not attempted yet')
        except Exception as error:  # whatever a reader's function does is told to the reader
            right, said = False, f'{type(error).__name__}: {error}'
        if not right:
            return Grade(False, f'not yet: for {", ".join(map(_short, case))} {said}')
    return Grade(True, f'correct on {len(cases)} case{"s" * (len(cases) > 1)}')


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


def _refute(claim_id, what, test, cases, tries):
    found, tried = _counterexample(test, cases, tries)
    if found is None:
        raise AssertionError(f'{claim_id}: {what} was not rejected in {tried} cases, so the check proves nothing')
    return _at(found)


_quiet = dict(
    derandomize=True, database=None, deadline=None, phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


def _counterexample(test, cases, tries):
    """The simplest case found for which `test` is false (None: there is none), and how many different ones were tried."""
    cases = {name: _strategy(name, values) for name, values in cases.items()}
    _accepts(test, cases)
    tried = set()

    def fails(case):
        tried.add(_key([case[name] for name in cases]))
        verdict = test(**copy.deepcopy(case))
        if not _is_verdict(verdict):
            raise TypeError(f'a check must give one True or False, not {_short(verdict)}')
        return not verdict

    if not cases:
        return ({} if fails({}) else None), len(tried)
    try:
        return find(st.fixed_dictionaries(cases), fails, settings=settings(max_examples=tries, **_quiet)), len(tried)
    except (NoSuchExample, Unsatisfiable):
        if not tried:
            raise ValueError(f'no case satisfies the filters on {", ".join(cases)}') from None
        return None, len(tried)


def _key(value):
    """Equal for equal cases: where there are few, hypothesis tries them again and again."""
    if isinstance(value, (list, tuple)):
        return tuple(map(_key, value))
    torch = sys.modules.get('torch')
    if torch and isinstance(value, torch.Tensor):
        value = value.detach().cpu().resolve_conj().numpy()
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.shape, value.dtype.str, value.tobytes()
    return repr(value)


def _strategy(name, values):
    if isinstance(values, (list, tuple)) and values:
        return st.sampled_from(values)
    if not isinstance(values, st.SearchStrategy):
        raise TypeError(f'{name}={_short(values)}: give a strategy of nbutils.cases or a list of values')
    return values


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
