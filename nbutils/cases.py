"""Where the cases of a check or a grader come from: hypothesis strategies with short values that shrink to simple ones.

Every strategy can be narrowed: `vectors(3).filter(np.any)` has no zero vector, `scalars().map(abs)` no negative number.
Strategies are joined by `|`: `on(0, 1) | scalars()` takes 0 and 1 in half of the cases. A size is an int, or a pair
(least, largest) from which it is drawn. With `edges=True` an array often has a special form: zeros, equal entries, small
whole numbers, one sign only; a matrix also a constant or a zero column, two equal rows, or it is the identity.
"""
import copy

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

SEEDS = st.integers(0, 2**32 - 1)


def scalars(low=-10, high=10):
    """Floats in [low, high], rounded to three decimals."""
    # + 0.0 turns -0.0 into 0.0; np.clip takes four times as long for one number
    return st.floats(low, high).map(lambda v: float(min(max(round(v, 3), low), high)) + 0.0)


def vectors(n, low=-10, high=10, *, edges=False):
    """Float arrays of shape (n,) with entries of `scalars(low, high)`."""
    if edges:
        return _edged(_dense(np.float64, _shape(n), scalars(low, high)), low, high)
    return arrays(np.float64, _shape(n), elements=scalars(low, high))


def matrices(m, n, low=-10, high=10, *, edges=False):
    """Float arrays of shape (m, n) with entries of `scalars(low, high)`."""
    if edges:
        return _edged(_dense(np.float64, _shape(m, n), scalars(low, high)), low, high)
    return arrays(np.float64, _shape(m, n), elements=scalars(low, high))


def square_matrices(n, low=-10, high=10, *, edges=False):
    """Float arrays of shape (n, n) with entries of `scalars(low, high)`."""
    sizes = st.integers(*n) if isinstance(n, tuple) else st.just(n)
    return sizes.flatmap(lambda size: matrices(size, size, low, high, edges=edges))


def lists(items, least=1, most=4):
    """Lists of `least` to `most` items, each from the strategy `items`."""
    return st.lists(items, min_size=least, max_size=most)


def integers(low, high):
    """Ints in [low, high]; simplest is the one nearest to zero."""
    return st.integers(low, high)


def counts(n, low, high):
    """Int arrays of shape (n,) with entries in [low, high]: counts, labels, places."""
    return _dense(np.int64, _shape(n), st.integers(low, high))


def masks(m, n=None):
    """Bool arrays of shape (m, n), or (m,); often all entries, or those of the first row, are equal."""
    drawn = _dense(np.bool_, _shape(m) if n is None else _shape(m, n), st.booleans())
    forms = st.sampled_from([_as_drawn, _as_drawn, _as_drawn, _all_first, _first_row_equal])
    return st.tuples(forms, drawn).map(lambda pair: pair[0](pair[1]))


def distributions(n):
    """Float arrays of shape (n,), not negative, with the sum 1; often some entries are 0 or equal."""
    whole = counts(n, 0, 9).filter(np.any)
    return whole.map(lambda w: w / w.sum())


def seeds():
    """Ints that seed a random generator, where a case is too large to be drawn entry by entry."""
    return SEEDS  # by which checks know that a case is a seed


def on(*values):
    """One of these values: the points at which something changes. The first is the simplest."""
    return st.sampled_from(values)


class once:
    """An iterable that can be read once, and whose items are spoilt when the next one is asked for.

    Arrays and tensors of floats that were handed out become nan and lists empty, so that nobody can keep the items
    without copying them. The second pass raises ValueError. As a strategy:
    `lists(vectors(3)).map(once)`.
    """

    def __init__(self, items):
        self.items, self.read = list(items), False

    def __iter__(self):
        if self.read:
            raise ValueError('this can be read only once')
        self.read = True
        for item in self.items:
            handed = copy.deepcopy(item)
            yield handed
            if isinstance(handed, np.ndarray) and handed.dtype.kind in 'fc':
                handed[...] = np.nan
            elif hasattr(handed, 'fill_'):
                handed.fill_(np.nan)
            elif isinstance(handed, list):
                handed.clear()

    def __repr__(self):
        return f'once({[np.asarray(item).tolist() for item in self.items]})'


class counted:
    """A function that raises ValueError when it is called more than `most` times. Each copy counts for itself."""

    def __init__(self, function, most):
        self.function, self.most, self.calls = function, most, 0

    def __call__(self, *args, **keywords):
        self.calls += 1
        if self.calls > self.most:
            raise ValueError(f'{self!r} was called more than {self.most} times')
        return self.function(*args, **keywords)

    def __deepcopy__(self, memo):
        return counted(self.function, self.most)

    def __repr__(self):
        return getattr(self.function, '__name__', type(self.function).__name__)


def _shape(*sizes):
    """A shape, or a strategy of shapes where a size is a pair."""
    if all(isinstance(size, (int, np.integer)) for size in sizes):
        return sizes
    return st.tuples(*(st.integers(*size) if isinstance(size, tuple) else st.just(size) for size in sizes))


def _dense(dtype, shape, elements):
    """Arrays whose entries are all drawn; without `fill`, most entries of an array would often be the same."""
    return arrays(dtype, shape, elements=elements, fill=st.nothing())


def _edged(drawn, low, high):
    """A strategy of arrays, two in three of them changed into one of the special forms that fit into [low, high]."""
    forms = [_all_first, _repeated, _small_whole, _negative, _positive, _constant_column]
    forms += [_none, _few, _zero_column] if low <= 0 <= high else []
    forms += [_identity] if low <= 0 and high >= 1 else []

    def change(pair):
        form, array = pair
        return np.clip(form(array), low, high) + 0.0 if array.size else array

    return st.tuples(st.sampled_from([_as_drawn] * (len(forms) // 2) + forms), drawn).map(change)


def _as_drawn(a):
    return a


def _all_first(a):
    return np.full_like(a, a.flat[0]) if a.size else a


def _repeated(a):
    a[-1] = a[0]
    return a


def _small_whole(a):
    return np.sign(a) * (abs(a).round() % 3)


def _negative(a):
    return -abs(a)


def _positive(a):
    return abs(a)


def _none(a):
    return np.zeros_like(a)


def _few(a):
    return np.where(abs(a).round() % 2 == 0, 0.0, a)


def _constant_column(a):
    a[..., 0] = a.flat[0]
    return a


def _zero_column(a):
    a[..., 0] = 0
    return a


def _identity(a):
    return np.eye(*a.shape) if a.ndim == 2 else np.eye(1, len(a))[0]


def _first_row_equal(a):
    a[:1] = a.flat[0] if a.size else False
    return a
