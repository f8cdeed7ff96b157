"""The neighbours of a number: which there are, where it stands in a check, and that a check which lets one pass is seen."""
import pytest

from nbutils.maintain import notebooks, sections
from tests import constants

PAGE = '''# %%
import numpy as np
from nbutils.cases import scalars
from nbutils.checks import erratum, holds, verify

def area(r):
    return np.pi * r**2

edges = [0.5, 1.0]

# %%
verify('areas', lambda r: abs(area(2 * r) - 4 * area(r)) < 1e-9, slip=('says 2', lambda r: abs(area(2 * r) - 2 * area(r)) < 1e-9), r=scalars(0, 2))
verify('loose', lambda r: area(r) <= 4 * r**2, slip=('says 1', lambda r: area(r) <= r**2), r=scalars(0, 2))
verify('edges', lambda r: r <= 1, slip=('says no', lambda r: r < 0), r=[*edges, 0.7])
erratum('a.b', printed=lambda r: r < 0, corrected=lambda r: r > 0.4, r=[0.5, 0.9])
'''


@pytest.fixture
def passing():
    section = sections.Section.of(notebooks.parsed(PAGE))
    return lambda key, kind, code: constants.Check(section, key, 'regression/lasso').passing(code, constants.KINDS[kind])


@pytest.mark.parametrize('key, kind, code, left', [
    ('verify-areas', 'factor', 'near(4) * area(r)', []),  # in the test
    ('verify-areas', 'exponent', 'r**near(2)', []),  # in a function that it uses
    ('verify-areas', 'factor', 'abs(area(2 * r) - times(4 * area(r))) < 1e-9', []),
    ('verify-areas', 'exponent', 'power(area(r))', []),
    ('verify-areas', 'factor', 'near(2) * r', []),
    ('verify-loose', 'factor', 'near(4) * r**2', [5.6]),  # a bound that is not the least
    ('verify-loose', 'upper', 'near(4) * r**2', []),
    ('verify-edges', 'limit', '[*edges, near(0.7)]', [0.98]),  # among the cases
    ('verify-edges', 'upper', 'r <= near(1)', []),
    ('a.b', 'factor', 'r > near(0.4)', [0.28]),  # of a correction
])
def test_neighbours_that_pass(passing, key, kind, code, left):
    assert passing(key, kind, code) == pytest.approx(left)


@pytest.mark.parametrize('code, words', [
    ('area(r)', 'mark one number'), ('near(4) * near(2)', 'mark one number'), ('near(5) * area(r)', 'in 0 places'), ('near(r)', 'in 3 places'),
])
def test_an_entry_that_fits_nothing_is_refused(passing, code, words):
    with pytest.raises(ValueError, match=words):
        passing('verify-areas', 'factor', code)


def test_neighbours():
    assert constants.KINDS['exponent'](2) == [1, 3, 1.5, 2.5]
    assert constants.KINDS['exponent'](-0.5) == [-1.5, 0.5, -1.0, 0.0, -0.75, -0.25]
    assert constants.KINDS['count'](3) == [2, 4]
