import os
import subprocess
import sys
import time
from fractions import Fraction

import hypothesis
import numpy as np
import pytest
import sympy
import torch

from nbutils.cases import integers, matrices, scalars, seeds, vectors
from nbutils.checks import _counterexample, below, between, close, erratum, holds, verify

CORRECT, WRONG = 'dl.norms.homog', 'dl.norms.triangle'


@pytest.mark.parametrize('got, want', [
    (1, 1.0), (1e300, 1e300), (np.inf, np.inf), (-np.inf, -np.inf), ([1, 2], np.array([1.0, 2.0])),
    (torch.ones(2, 3), np.ones((2, 3))), (torch.ones(2, dtype=torch.float16), [1, 1]), (True, 1),
    (torch.ones(2, requires_grad=True) * 2, [2, 2]), (sympy.Rational(1, 3), 1 / 3), (Fraction(1, 3), 1 / 3),
    (sympy.Matrix([[1, sympy.sqrt(2)]]), [[1, 2**0.5]]), (1j, 1j), (sympy.I, 1j), (torch.tensor([1j]).conj(), [-1j]),
    (np.zeros((0, 3)), np.zeros((0, 3))), (1 + 5e-7, 1), (5e-9, 0),
])
def test_close(got, want):
    assert close(got, want)


@pytest.mark.parametrize('got, want', [
    (1, 2), (np.nan, np.nan), ([1, np.nan], [1, np.nan]), (5, np.inf), (np.inf, 5), (np.inf, -np.inf), (1j, 1),
    (1 + 2e-6, 1), (2e-8, 0), ([1, 2], [1, 3]), (-1, 1),
])
def test_not_close(got, want):
    assert not close(got, want)


@pytest.mark.parametrize('said, words', [
    (below(3e-16), 'below 1e-12'), (below([0.0, -2e-13]), 'below 1e-12'), (below([1e-3, -0.25]), '1.0e-03 to 2.5e-01'),
    (below(np.nan), 'nan'), (below(torch.tensor(2e-10), 1e-9), 'below 1e-09'), (below(1e-12), '1.0e-12'),
    (between(0.02, 0.01, 10), 'between 0.01 and 10'), (between([0.02, -20], 0.01, 10), '2.0e-02 to 2.0e+01'),
    (between(0.001, 0.01, 10), '1.0e-03'), (between([0.02, np.nan], 0.01, 10), 'nan to nan'),
])
def test_sizes_in_words(said, words):
    assert said == words


@pytest.mark.parametrize('got, want', [([1, 1], 1), ([[1]], [1]), (np.ones((3, 1)), np.ones(3)), ([], 0)])
def test_close_is_strict_in_shape(got, want):
    with pytest.raises(ValueError, match='shape .*, expected'):
        close(got, want)


@pytest.mark.parametrize('value', ['1', None, sympy.Symbol('x'), object()])
def test_close_takes_numbers_alone(value):
    with pytest.raises(TypeError, match='not a number'):
        close(value, 1)


NOTICED = [  # what is given beside the test, and the line after the name of the claim
    ({'slip': ('forgets the bars', lambda a: abs(-a) == a), 'a': [1, 2, -1]}, 'holds in 3 cases; would notice: forgets the bars (a = -1)'),
    ({'slip': ('says no', lambda a: False), 'a': seeds()}, 'holds in 200 cases; would notice: says no'),
    ({'slip': ('says no', lambda a, n: n != 2), 'a': seeds(), 'n': [1, 2], 'tries': 20},
     'holds in 20 cases; would notice: says no (n = 2)'),
    ({'slip': ('says no', lambda seed: False), 'seed': [3, 4]}, 'holds in 2 cases; would notice: says no'),
    ({'slip': ('says no', lambda: False)}, 'holds; would notice: says no'),
    ({'slip': ('says no', lambda seed, n: n != 2), 'seed': seeds(), 'n': [1, 2]}, 'holds in 200 cases; would notice: says no (n = 2)'),
]


@pytest.mark.parametrize('given, line', NOTICED)
def test_a_line_names_the_mistake_and_no_bare_seed(given, line, capsys):
    holds(CORRECT, lambda **case: True, **given)
    verify('so it is', lambda **case: True, **given)
    assert capsys.readouterr().out == f'✓ {CORRECT} {line}\n✓ so it is: {line}\n'


@pytest.mark.parametrize('given, error, message', [
    ({}, TypeError, r'give slip=\(.*\)'),
    ({'slip': lambda a: False}, TypeError, 'a pair'),
    ({'slip': (lambda a: False, 'says no')}, TypeError, 'a pair'),
    ({'slip': ('says no', 'so')}, TypeError, 'must be a function of a'),
    ({'slip': ('wrong', lambda a: False)}, ValueError, "'wrong' does not name a mistake"),
    ({'slip': ('= 2', lambda a: False)}, ValueError, 'two words or more'),
    ({'slip': ('says\nno', lambda a: False)}, ValueError, 'on one line'),
    ({'slip': ('says no', lambda a: True)}, AssertionError, "the slip 'says no' was not rejected in 3 cases"),
])
def test_a_slip_has_words_and_is_rejected(given, error, message):
    with pytest.raises(error, match=message):
        holds(CORRECT, lambda a: True, a=[1, 2, 3], **given)


def test_the_first_counterexample_or_the_simplest():
    tried = []
    cases = {'a': scalars(), 'b': scalars()}
    first, number = _counterexample(lambda a, b: bool(tried.append((a, b))) or a + b < 7, cases, 200, simplest=False)
    assert (first['a'], first['b']) == tried[-1] and number == len(tried) and sum(first.values()) > 7
    assert _counterexample(lambda a, b: a + b < 7, cases, 200)[0] == {'a': 0, 'b': 7}
    assert _counterexample(lambda a, b: True, cases, 200, simplest=False) == (None, 200)


def test_a_failing_claim_names_its_seed():
    with pytest.raises(AssertionError, match='fails at seed = 0$'):
        holds(CORRECT, lambda seed: False, slip=('says no', lambda seed: False), seed=seeds())


@pytest.mark.filterwarnings('ignore:Using `assume` outside')
@pytest.mark.parametrize('cases', [{'a': scalars()}, {'a': [1]}])
def test_assume_is_refused(cases):
    def test(a):
        hypothesis.assume(False)
        return True

    with pytest.raises(TypeError, match='in place of assume, .filter the strategy'):
        holds(CORRECT, test, slip=('says no', lambda a: False), **cases)


@pytest.mark.parametrize('cases, tries, number', [
    ({'a': scalars()}, 200, 200), ({'a': vectors(3)}, 60, 60), ({'a': seeds(), 'b': [1, 2, 3]}, 30, 30),
    ({'a': scalars().filter(lambda v: v > 0)}, 50, 50), ({'a': integers(2, 5)}, 200, 4),
    ({'a': integers(1, 7), 'b': integers(1, 5)}, 60, 35), ({'a': list(range(30)), 'b': [1, 2, 3]}, 200, 90),
    ({'a': list(range(30)), 'b': [1, 2, 3]}, 40, 40), ({'a': [1]}, 200, 1),
])
def test_the_number_printed_is_that_of_the_cases_tried(cases, tries, number, capsys):
    tried = []
    holds(CORRECT, lambda **case: tried.append(case) or True, slip=('says no', lambda **case: False), tries=tries, **cases)
    assert len(tried) == number and f'holds in {number} case' in capsys.readouterr().out


def test_lists_are_combined_in_all_ways():
    tried = []
    holds(CORRECT, lambda **case: tried.append(case) or True, slip=('says no', lambda **case: False), a=[1, 2], b=['x', 'y'])
    assert [tuple(case.values()) for case in tried] == [(1, 'x'), (1, 'y'), (2, 'x'), (2, 'y')]


def test_long_cases_are_cut(capsys):
    holds(CORRECT, lambda v: True, slip=('says no', lambda v: False), v=[list(range(100))])
    shown = capsys.readouterr().out.partition('v = ')[2].rstrip().removesuffix(')')
    assert len(shown) == 72 and shown.startswith('[0, 1, 2,') and shown.endswith('…')


def test_cases_reach_their_ends():
    drawn = []
    holds(CORRECT, lambda m: drawn.append(m) or True, slip=('says no', lambda m: False), m=matrices(2, 3))
    entries = np.array(drawn)
    assert entries.shape[1:] == (2, 3) and entries.min() == -10 and entries.max() == 10


def test_lists_are_cases(capsys):
    holds(CORRECT, lambda p: p > 0, slip=('says no', lambda p: p < 3), p=[1, 2, np.inf])
    assert 'in 3 cases; would notice: says no (p = inf)' in capsys.readouterr().out


def test_a_false_claim_fails_with_the_simplest_case():
    with pytest.raises(AssertionError, match=rf'{CORRECT} fails at a = -1$'):
        holds(CORRECT, lambda a: abs(a) == a, slip=('says no', lambda a: False), a=scalars())


def test_verify_rejects_what_holds_rejects():
    with pytest.raises(AssertionError, match=r"'a = 0' fails at a = 1$"):
        verify('a = 0', lambda a: a == 0, slip=('says no', lambda a: False), a=[0, 1])
    with pytest.raises(AssertionError, match='the slip .says no. was not rejected in 2 cases'):
        verify('a = a', lambda a: True, slip=('says no', lambda a: True), a=[0, 1])
    with pytest.raises(ValueError, match='claim of the ledger'):
        verify(CORRECT, lambda: True, slip=('says no', lambda: False))


def test_cases_do_not_hang_on_source_files(tmp_path, monkeypatch, capsys):
    # a module of a checkout, with numbers that hypothesis would like to try
    (tmp_path / 'innocent.py').write_text(f'numbers = {[round(0.123 + 0.001 * i, 3) for i in range(500)]}')
    monkeypatch.syspath_prepend(tmp_path)
    drawn = []
    for _ in range(2):
        verify('draws', lambda a: drawn.append(a) or True, slip=('says no', lambda a: False), tries=500, a=scalars(0, 1))
        import innocent  # noqa: F401
    assert drawn[:500] == drawn[500:]


AFTER = '''
import sys

if sys.argv[1:]:  # a session in which hypothesis has already tried numbers of a module of a checkout
    import innocent
    from hypothesis import given, settings
    from hypothesis import strategies as st

    settings(max_examples=100, database=None)(given(st.floats(0, 1))(lambda a: None))()
from nbutils.cases import scalars
from nbutils.checks import grade, verify
drawn = []
verify('draws', lambda a: drawn.append(a) or True, slip=('says no', lambda a: False), a=scalars(0, 1))
grade(lambda a: drawn.append(a), lambda a: None, a=scalars(0, 1))
print(drawn)
'''


def test_cases_do_not_hang_on_what_ran_before(tmp_path):
    (tmp_path / 'innocent.py').write_text(f'numbers = {[round(0.123 + 0.001 * i, 3) for i in range(500)]}')
    (tmp_path / 'after.py').write_text(AFTER)
    kinds = {'PYTHONHASHSEED': '1'}, {'PYTHONHASHSEED': '2'}
    said = [subprocess.run([sys.executable, tmp_path / 'after.py', *arguments], capture_output=True, text=True, check=True,
                           env=os.environ | kind).stdout for arguments, kind in zip(([], ['before']), kinds, strict=True)]
    assert said[0] == said[1] and len(said[0]) > 1000


WITHOUT = '''
import builtins
real = builtins.__import__

def without(name, scope=None, *rest, **named):
    if name.startswith('hypothesis.internal') and (scope or {}).get('__name__') == 'nbutils.checks':
        raise ImportError(name)
    return real(name, scope, *rest, **named)

builtins.__import__ = without
from hypothesis.internal.conjecture import providers
drawn = getattr(providers, '_get_local_constants', None)
from nbutils.cases import scalars, vectors
from nbutils.checks import verify
assert getattr(providers, '_get_local_constants', None) is drawn
verify('so', lambda a, x: True, slip=('says no', lambda a, x: a < 1), a=scalars(), x=vectors(2), tries=50)
'''


def test_checks_need_no_private_part_of_hypothesis():
    done = subprocess.run([sys.executable, '-c', WITHOUT], capture_output=True, text=True)
    assert done.stdout == '✓ so: holds in 50 cases; would notice: says no (a = 1, x = [0, 0])\n', done.stderr


def test_unknown_claims_are_named_with_a_remedy():
    with pytest.raises(KeyError, match='did you mean dl.norms.homog'):
        holds('dl.norms.homogg', lambda: True, slip=('says no', lambda: False))
    with pytest.raises(KeyError, match='no claim .nonsense.'):
        holds('nonsense', lambda: True, slip=('says no', lambda: False))


def test_the_ledger_decides_between_holds_and_erratum():
    with pytest.raises(ValueError, match='use erratum'):
        holds(WRONG, lambda: True, slip=('says no', lambda: False))
    with pytest.raises(ValueError, match='use holds'):
        erratum(CORRECT, printed=lambda: False, corrected=lambda: True)


@pytest.mark.parametrize('test, cases, message', [
    (lambda a: None, {'a': scalars()}, 'one True or False, not None'),
    (lambda a: np.array([True]), {'a': scalars()}, 'one True or False'),
    (lambda b: True, {'a': scalars()}, r'the check takes \(b\), the cases are a'),
    (lambda a: True, {'a': 3}, 'a=3: give a strategy'),
    (lambda a: True, {'a': []}, r'a=\[\]: give a strategy'),
    (True, {'a': scalars()}, 'must be a function of a, not True'),
])
def test_bad_use_gets_a_clear_error(test, cases, message):
    with pytest.raises(TypeError, match=message):
        holds(CORRECT, test, slip=('says no', lambda a: False), **cases)


def test_filters_that_nothing_passes_are_an_error():
    with pytest.raises(ValueError, match='no case satisfies the filters on a'):
        holds(CORRECT, lambda a: True, slip=('says no', lambda a: False), a=scalars().filter(lambda v: v > 100))


def test_errors_in_a_check_are_not_a_verdict():
    with pytest.raises(ZeroDivisionError):
        holds(CORRECT, lambda a: True, slip=('says no', lambda a: 1 / 0 > a), a=scalars())


def test_verdicts_may_be_numpy_torch_or_sympy():
    for true, false in ((np.True_, np.False_), (torch.tensor(True), torch.tensor(False)), (sympy.true, sympy.false)):
        holds(CORRECT, lambda: true, slip=('says no', lambda: false))


def test_erratum(capsys):
    erratum(WRONG, printed=lambda x, y: x + y == abs(x) + abs(y), corrected=lambda x, y: x + y <= abs(x) + abs(y),
            x=[0, 1], y=[1, -1])
    assert capsys.readouterr().out == (
        f'✗ {WRONG} as printed fails at x = 0, y = -1\n✓ {WRONG} as corrected holds in 4 cases\n')


def test_erratum_needs_a_counterexample_and_a_correction_that_holds():
    with pytest.raises(AssertionError, match='what the notes print was not rejected'):
        erratum(WRONG, printed=lambda x: True, corrected=lambda x: True, x=scalars())
    with pytest.raises(AssertionError, match='as corrected fails at x = 0'):
        erratum(WRONG, printed=lambda x: False, corrected=lambda x: False, x=scalars())


def test_a_correction_may_have_a_slip(capsys):
    erratum(WRONG, printed=lambda x: x > 0, corrected=lambda x: x >= 0, slip=('leaves out one', lambda x: x != 1), x=[0, 1])
    assert capsys.readouterr().out.endswith(f'✓ {WRONG} as corrected holds in 2 cases; would notice: leaves out one (x = 1)\n')
    with pytest.raises(AssertionError, match="the slip 'says yes' was not rejected"):
        erratum(WRONG, printed=lambda x: x > 0, corrected=lambda x: True, slip=('says yes', lambda x: True), x=[0, 1])


def test_counterexamples_are_the_same_every_time(capsys):
    for _ in range(2):
        holds(CORRECT, lambda x, s: True, slip=('says no', lambda x, s: x.sum() < 7.123 and s < 99), x=vectors(3), s=seeds())
    first, second = capsys.readouterr().out.splitlines()
    assert first == second and 'x = [' in first


def test_a_check_cannot_spoil_its_cases(capsys):
    def spoil(x):
        x[:] = 5
        return False

    with pytest.raises(AssertionError, match=r'at x = \[0, 0\]'):
        holds(CORRECT, spoil, slip=('says no', spoil), x=vectors(2))


def test_a_check_prints_one_line_whatever_its_cases_are(capsys):
    holds(CORRECT, lambda m: True, slip=('says no', lambda m: False), m=[sympy.Matrix([[1, 2], [3, 4]]), 'a\nb'])
    assert capsys.readouterr().out.count('\n') == 1


def test_a_check_is_fast():
    start = time.process_time()
    holds(CORRECT, lambda a, x: close(abs(a * x), abs(a) * abs(x)), slip=('says no', lambda a, x: close(abs(a * x), a * abs(x))),
          a=scalars(), x=vectors(4))
    assert time.process_time() - start < 1  # 0.2 s where it was written


def test_importing_checks_loads_neither_torch_nor_matplotlib():
    code = ('import sys, nbutils.cases, nbutils.checks, nbutils.data, nbutils.device, nbutils.figures, nbutils.ledger; '
            'print([m for m in ("torch", "matplotlib", "sklearn") if m in sys.modules])')
    assert subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout == '[]\n'


@pytest.mark.parametrize('strategy, shape', [(scalars(), ()), (vectors(3), (3,)), (matrices(2, 3), (2, 3))])
def test_cases_have_their_shape_range_and_few_digits(strategy, shape):
    def fine(v):
        v = np.asarray(v)
        return bool(v.shape == shape and v.dtype == float and (abs(v) <= 10).all() and (v == v.round(3)).all()
                    and not (np.signbit(v) & (v == 0)).any())

    holds(CORRECT, fine, slip=('says no', lambda v: bool(np.all(np.asarray(v) == 0))), v=strategy)


def test_narrow_ranges_are_kept():
    holds(CORRECT, lambda v: 0.1234 <= v <= 0.1238, slip=('says no', lambda v: v < 0.1236), v=scalars(0.1234, 0.1238))
    holds(CORRECT, lambda n: 2 <= n <= 5, slip=('says no', lambda n: n < 5), n=integers(2, 5))
