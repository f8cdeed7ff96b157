"""Where the cases of a check come from: hypothesis strategies whose values are short to print and shrink to simple ones.

Every strategy can be narrowed: `vectors(3).filter(np.any)` has no zero vector, `scalars().map(abs)` no negative number.
"""
import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

SEEDS = st.integers(0, 2**32 - 1)


def scalars(low=-10, high=10):
    """Floats in [low, high], rounded to three decimals."""
    # + 0.0 turns -0.0 into 0.0
    return st.floats(low, high).map(lambda v: float(np.clip(round(v, 3), low, high)) + 0.0)


def vectors(n, low=-10, high=10):
    """Float arrays of shape (n,) with entries of `scalars(low, high)`."""
    return arrays(np.float64, n, elements=scalars(low, high))


def matrices(m, n, low=-10, high=10):
    """Float arrays of shape (m, n) with entries of `scalars(low, high)`."""
    return arrays(np.float64, (m, n), elements=scalars(low, high))


def integers(low, high):
    """Ints in [low, high]; simplest is the one nearest to zero."""
    return st.integers(low, high)


def seeds():
    """Ints that seed a random generator, where a case is too large to be drawn entry by entry."""
    return SEEDS  # by which checks know that a case is a seed
