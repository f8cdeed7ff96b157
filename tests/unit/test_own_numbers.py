"""nbutils.own_numbers: a check on the numbers that a reader types."""
import numpy as np
import pytest
import torch

from nbutils import checks, own_numbers
from nbutils.cases import integers, seeds, vectors
from nbutils.checks import Ran


@pytest.fixture(autouse=True)
def ran(monkeypatch):
    """The checks that have run, none at first."""
    monkeypatch.setattr(checks, 'RAN', {})
    return checks.RAN


def triangle(x, y):
    return np.linalg.norm(x + y) <= np.linalg.norm(x) + np.linalg.norm(y) + 1e-9


def test_a_check_by_hand_says_what_it_says_of_these_numbers(ran):
    ran['c'] = Ran(triangle, ('turns the sign', lambda x, y: not triangle(x, y)), dict(x=vectors(2), y=vectors(2)))
    offered = own_numbers.letters('c')
    assert [line.split(' = ')[0] for line in offered.splitlines()] == ['x', 'y']
    assert own_numbers.answer('c', offered).startswith('true for these numbers')
    assert own_numbers.answer('c', 'x = [3, sqrt(16)]') == 'true for these numbers\nthe mistake “turns the sign”: false for these numbers'


def test_a_false_statement_is_called_false(ran):
    ran['c'] = Ran(lambda n: n % 2 == 0, None, dict(n=integers(0, 9)))
    assert own_numbers.answer('c', 'n = 3') == 'false for these numbers'
    assert own_numbers.answer('c', 'n = 4') == 'true for these numbers'


def test_the_displayed_formula_runs_with_its_sides(ran):
    ran['c'] = Ran(None, None, dict(x=vectors(2, -3, 3), y=vectors(2, -3, 3)), r'\mathbf{x}^\top \mathbf{y} = \mathbf{y}^\top \mathbf{x}')
    first, second, third = own_numbers.answer('c', 'x = [1, 2]; y = [3, 4]').splitlines()
    assert first == '11 = 11' and second == 'true for these numbers' and third.endswith('are false here')


def test_a_false_formula_is_called_false(ran):
    ran['c'] = Ran(None, None, dict(x=vectors(2, -3, 3)), r'\mathbf{x}^\top \mathbf{x} = 2')
    assert own_numbers.answer('c', 'x = [1, 1]').splitlines() == ['2 = 2', 'true for these numbers', own_numbers.answer('c', 'x = [1, 1]').splitlines()[2]]
    assert own_numbers.answer('c', 'x = [1, 2]').splitlines() == ['5 = 2', 'false for these numbers']


def test_conditions_that_are_not_met_are_told(ran):
    ran['c'] = Ran(None, None, dict(x=[1.0, 2.0, -1.0]), r'x^3 > 0 \quad \text{for all } x > 0')
    assert 'conditions' in own_numbers.answer('c', 'x = -2')
    assert 'true' in own_numbers.answer('c', 'x = 2')


def test_neither_seeds_nor_functions_are_offered_and_keep_their_values(ran):
    ran['c'] = Ran(lambda seed, f, n: f(n) == n and seed >= 0, None, dict(seed=seeds(), f=[abs], n=[3, 4]))
    assert own_numbers.letters('c') in ('n = 3', 'n = 4')
    assert own_numbers.answer('c', 'n = -1') == 'false for these numbers'
    ran['d'] = Ran(lambda seed: True, None, dict(seed=seeds()))
    assert own_numbers.letters('d') == ''


def test_what_is_typed_gets_the_type_of_the_case(ran):
    seen = []
    ran['c'] = Ran(lambda t, v, n: seen.append((t, v, n)) or True, None,
                   dict(t=[torch.ones(2, dtype=torch.float64)], v=[[1.0, 2.0]], n=[2]))
    own_numbers.answer('c', 't = [1, 2, 3]; v = [4]; n = 5')
    t, v, n = seen[-1]
    assert t.dtype == torch.float64 and t.tolist() == [1, 2, 3] and v == [4] and n == 5


@pytest.mark.parametrize('text, error', [('m = 1', NameError), ('n = 1.5', TypeError), ('n = [1]', TypeError), ('n =', SyntaxError), ('n = 1/0', ZeroDivisionError)])
def test_what_does_not_fit_is_an_error(ran, text, error):
    ran['c'] = Ran(lambda n: True, None, dict(n=integers(0, 9)))
    with pytest.raises(error):
        own_numbers.answer('c', text)
    with pytest.raises(KeyError):
        own_numbers.letters('never ran')


def test_checks_leave_behind_what_they_ran(ran, capsys):
    checks.holds('dl.norms.homog', lambda n: True, slip=('says it is not', lambda n: False), n=[1, 2])
    assert own_numbers.letters('dl.norms.homog') == 'n = 1' and own_numbers.answer('dl.norms.homog', 'n = 2').startswith('true')
