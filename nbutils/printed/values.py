"""What letters stand for while a formula is evaluated, and the arithmetic of these values.

A number is a float or complex; a vector is a column of shape (n, 1); a matrix has shape (m, n); a family (x_1, ...,
x_N) is a list; the identity and zero take their size from what they meet. So transposes, inner and outer products
mean what is printed, and nothing is broadcast: a number added to a vector is an error of the formula. Python
functions receive vectors as arrays of shape (n,) and whole numbers as ints.
"""
import inspect
import math
from collections.abc import Callable
from itertools import product

import numpy as np
from scipy.linalg import expm

from nbutils.printed.tokens import FormulaError, ShapeError


class Identity:
    """A multiple of the identity matrix, whose size the context decides."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def sized(self, n):
        return self.scale * np.eye(n)


class Zero(float):
    """The zero vector or matrix, whose size the context decides."""


class Random:
    """A random variable with finitely many values.

    `values` is a sequence of numbers or arrays, `weights` their probabilities (numbers that add to 1, equal ones if
    left out, or an `of` that computes them).
    """

    def __init__(self, values, weights=None):
        self.values = list(values)
        self.weights = [1 / len(self.values)] * len(self.values) if weights is None else weights


class Box:
    """What an extremum runs over: the numbers between `low` and `high`, or the vectors of `size` such numbers.

    The extremum is searched numerically, from a grid of starts; it must not lie on the border.
    """

    def __init__(self, low: float, high: float, size: int | None = None):
        self.low, self.high, self.size = low, high, size


class of:
    """A value computed from others: `of(lambda a, b: ...)` takes the values of the letters a and b."""

    def __init__(self, function: Callable):
        self.function = function
        self.needs = tuple(name.rstrip('_') for name in inspect.signature(function).parameters)


FLOATS = float, np.float64  # most of what is computed: asked for first, as a type, which is quick


def lift(value):
    """The value as formulas compute with it."""
    if type(value) in FLOATS:
        return value
    if isinstance(value, (np.ndarray, np.generic)) or type(value).__module__.startswith('torch'):
        value = np.asarray(value)
        value = value.astype(complex if value.dtype.kind == 'c' else float)
        if value.ndim > 2:
            raise FormulaError('an array of more than two axes: bind its slices')
        return value[()] if value.ndim == 0 else value[:, None] if value.ndim == 1 else value
    if isinstance(value, (list, tuple)):
        return [lift(v) for v in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def lower(value):
    """The value as a Python function expects it."""
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] == 1:
        return value[:, 0]
    if isinstance(value, list):
        return [lower(v) for v in value]
    if isinstance(value, (float, np.floating)) and float(value).is_integer() and abs(value) < 1e9:
        return int(value)
    return value


def is_number(value):
    if type(value) in FLOATS:
        return True
    if type(value) is np.ndarray:
        return value.ndim == 0
    return not isinstance(value, (Identity, list)) and not callable(value) and np.ndim(value) == 0


def whole(value):
    """The int of a value that is one. Raises FormulaError for others."""
    if not is_number(value) or not np.isfinite(value) or value != int(value):
        raise FormulaError(f'{value} is no whole number')
    return int(value)


class Scope:
    """The meanings of letters. A changed scope forgets what was computed from the changed letters."""

    def __init__(self, values, computed=None, defined=None, options=None, known=()):
        self.values, self.computed, self.defined = dict(values), computed or {}, defined or {}
        self.options, self._cache, self._needs = dict(options or {}), dict(known), {}
        self._parent, self._fresh = None, set()
        self.found = None  # where `nbutils.printed.evaluating.evaluate` keeps the values of parts of the formula, or None
        self.parts = {}  # values of counters -> what is found where they have these
        self.randoms = {name: v for name, v in self.values.items() if isinstance(v, Random)}

    def __contains__(self, name):
        return name in self.values or name in self.computed or name in self.defined

    def raw(self, name):
        """What was given for a letter, or None."""
        return self.values.get(name, self.computed.get(name, self.defined.get(name)))

    def get(self, name):
        """The value of a letter. Raises FormulaError where it has none."""
        if name in self.values:
            return self.values[name]
        if self._parent is not None and name in self.computed and self.needs(name).isdisjoint(self._fresh):
            return self._parent.get(name)
        if name not in self._cache:
            self._cache[name] = None  # until it is known: what needs itself is an error
            if name in self.computed:
                self._cache[name] = lift(self._computed(name))
            elif name in self.defined:
                self._cache[name] = self.defined[name](self)
            else:
                raise FormulaError(f'no meaning was given for {name}')
        if self._cache[name] is None:
            raise FormulaError(f'{name} is defined by itself')
        return self._cache[name]

    def _computed(self, name):
        values = [self.get(n) for n in self.computed[name].needs]
        if any(isinstance(v, Random) for v in values):
            del self._cache[name]
            raise FormulaError(f'{name} is random, and stands outside an expectation')
        return self.computed[name].function(*map(lower, values))

    def changed(self, **changes):
        """The scope with other values for some letters."""
        scope = object.__new__(Scope)
        scope.values, scope.computed, scope.defined = self.values | changes, self.computed, self.defined
        scope.options, scope._cache, scope.found = self.options, {}, None
        scope.randoms, scope._needs = self.randoms, self._needs
        scope._parent, scope._fresh = self, {*changes, *self.defined}
        return scope

    def known(self):
        """What was computed so far from given letters alone: a formula with other definitions has the same values."""
        return {name: value for name, value in self._cache.items()
                if name in self.computed and value is not None and self.needs(name).isdisjoint(self.defined)}

    def needs(self, name):
        """The letters on which a value hangs, itself included."""
        if name not in self._needs:
            rule, self._needs[name] = self.computed.get(name), {name}  # for now: a letter may hang on itself
            letters = rule.needs if rule else getattr(self.defined.get(name), 'names', ())
            self._needs[name] = {name}.union(*(self.needs(n) for n in letters))
        return self._needs[name]

    def outcomes(self, names):
        """(probability, scope) for all joint values of these independent random variables."""
        variables = [self.randoms[n] for n in names]
        chances = [self._weights(v) for v in variables]
        for ks in product(*(range(len(v.values)) for v in variables)):
            weight = math.prod(w[k] for w, k in zip(chances, ks, strict=True))
            yield weight, self.changed(**{n: lift(v.values[k]) for n, v, k in zip(names, variables, ks, strict=True)})

    def _weights(self, variable):
        weights = variable.weights
        if isinstance(weights, of):
            weights = weights.function(*(lower(self.get(n)) for n in weights.needs))
        if len(weights) != len(variable.values) or min(weights) < 0 or abs(sum(weights) - 1) > 1e-9:
            raise FormulaError('weights of a random variable that are no probabilities')
        return weights


# arithmetic


def add(a, b, sign=1):
    kinds = type(a), type(b)
    if kinds[0] in FLOATS and kinds[1] in FLOATS or kinds == (np.ndarray, np.ndarray) and a.shape == b.shape:
        return a + sign * b
    if isinstance(b, Identity) and isinstance(a, (Identity, Zero)):
        return Identity((0 if isinstance(a, Zero) else a.scale) + sign * b.scale)
    if isinstance(b, Identity) and np.ndim(a) == 2:
        b = b.sized(len(a))
    if isinstance(a, Identity) and np.ndim(b) == 2:
        a = a.sized(len(b))
    if isinstance(a, Zero) and callable(b) and sign == 1:
        return b
    if callable(a) and callable(b):
        return lambda *values: add(lift(a(*values)), lift(b(*values)), sign)
    if any(isinstance(v, (Identity, list, bool)) or callable(v) for v in (a, b)):
        raise FormulaError('these cannot be added')
    if isinstance(b, Zero):
        return a
    if isinstance(a, Zero):
        return times(sign, b)
    if np.shape(a) != np.shape(b):
        raise ShapeError(f'shapes {np.shape(a)} and {np.shape(b)} are added')
    return a + sign * b


def times(a, b):
    if type(a) in FLOATS and type(b) in FLOATS:
        return a * b
    if isinstance(a, (list, bool)) or isinstance(b, (list, bool)) or callable(a) or callable(b):
        raise FormulaError('a list, a statement or a function is multiplied')
    if isinstance(a, Identity) and isinstance(b, Identity):
        return Identity(a.scale * b.scale)
    if isinstance(a, Identity):
        return Identity(a.scale * b) if is_number(b) else a.scale * b
    if isinstance(b, Identity):
        return Identity(b.scale * a) if is_number(a) else b.scale * a
    if is_number(a) or is_number(b):
        return a * b
    if a.shape[1] != b.shape[0]:
        raise ShapeError(f'shapes {a.shape} and {b.shape} are multiplied')
    c = a @ b
    return c[0, 0] if c.shape == (1, 1) else c


def divide(a, b):
    if not is_number(b):
        raise ShapeError('division by a vector or a matrix')
    with np.errstate(all='ignore'):
        if is_number(a):
            return np.asarray(a, dtype=np.result_type(type(a), float))[()] / b
        return times(a, np.float64(1) / b)


EVENTS = {'cup': lambda a, b: a or b, 'cap': lambda a, b: a and b, 'setminus': lambda a, b: a and not b}
SETS = {'cup': set.union, 'cap': set.intersection, 'setminus': set.difference}


def joined(sign, a, b):
    """a sign b, for the signs between factors. Raises ShapeError where the shapes do not fit the sign."""
    if sign in SETS:
        return _of_sets(sign, a, b)
    numbers = is_number(a), is_number(b)
    if sign == '/':
        return divide(a, b)
    if sign == 'odot':
        if np.shape(a) != np.shape(b):
            raise ShapeError(f'shapes {np.shape(a)} and {np.shape(b)} in a product entry by entry')
        return a * b
    if sign == 'otimes':
        return np.kron(a, b)
    if sign == 'cdot' and not any(numbers):
        if np.shape(a) != np.shape(b) or np.shape(a)[1] != 1:
            raise ShapeError(f'a dot between shapes {np.shape(a)} and {np.shape(b)}')
        return (a * b).sum()
    if sign == 'times' and not any(numbers):
        if np.shape(a) != (3, 1) or np.shape(b) != (3, 1):
            raise ShapeError('a cross product outside space')
        return np.cross(a[:, 0], b[:, 0])[:, None]
    if sign in ('cdot', 'times'):
        return times(a, b)
    raise FormulaError(f'no meaning is known for the sign {sign} here')


def _of_sets(sign, a, b):
    """What two events or two sets of numbers make; a set is the sorted list of its members."""
    if is_event(a) and is_event(b):
        return EVENTS[sign](a, b)
    if callable(a) and callable(b):  # sets that are given by a test of membership
        return lambda v: EVENTS[sign](a(v), b(v))
    if not all(isinstance(v, list) and all(map(is_number, v)) for v in (a, b)):
        raise FormulaError(f'{sign} of what is no set of numbers and no event')
    return sorted(SETS[sign](set(a), set(b)))


def is_event(value):
    """Whether a value is the truth of a statement."""
    return isinstance(value, (bool, np.bool_))


def power(a, b):
    if isinstance(b, np.ndarray):
        raise ShapeError('an array in an exponent')
    if isinstance(a, np.ndarray):
        if a.shape[0] != a.shape[1] or not is_number(b):
            raise ShapeError('a power of what is no square matrix')
        if b != int(b):
            return _root_of_matrix(a, b)
        try:
            return np.linalg.matrix_power(a, int(b))
        except np.linalg.LinAlgError:
            raise FormulaError('a singular matrix is inverted') from None
    if isinstance(a, Identity):
        return Identity(a.scale ** b)
    if not is_number(a) or not is_number(b):
        raise FormulaError('a power of what is neither number nor matrix')
    with np.errstate(all='ignore'):
        return a ** b if isinstance(a, (complex, np.complexfloating)) else np.float64(a) ** b


def _root_of_matrix(a, b):
    """A broken power of a symmetric positive semidefinite matrix, by its eigenvalues."""
    values, vectors = np.linalg.eigh(a)
    if abs(a - a.T).max() > 1e-9 * abs(a).max() or values[0] < 0 and b < 0 or values[0] < -1e-9 * abs(a).max():
        raise FormulaError('a root of a matrix that is not symmetric and positive')
    return vectors * np.maximum(values, 0) ** b @ vectors.T


def exponential(a):
    """The exponential of a square matrix."""
    if a.shape[0] != a.shape[1]:
        raise ShapeError('an exponential of a matrix that is not square')
    return expm(a)


# derivatives

_STENCIL = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))  # central differences of sixth order
_STEP = 1e-3  # of the differences, times the size of the number
_COMPLEX_STEP = 1e-30  # nothing is subtracted, so it can be as small as one likes
_AGREE = 1e-5  # the error of the differences: rounding 1e-16 divided by the step, and more for large values


def slope(f: Callable, v: float):
    """The derivative of f at the number v.

    By a complex step, which has no cancellation, wherever it agrees with central differences; by those where f does not
    take complex numbers or is not analytic (bars, maxima), so with an error of about 1e-6.
    """
    h = _STEP * max(1, abs(v))
    by_differences = Zero()
    for k, weight in _STENCIL:
        by_differences = add(by_differences, times(weight / h, add(f(v + k * h), f(v - k * h), -1)))
    if isinstance(v, (complex, np.complexfloating)):
        return by_differences
    try:
        by_complex_step = np.imag(f(v + 1j * _COMPLEX_STEP)) / _COMPLEX_STEP
    except (TypeError, ValueError, FormulaError, AttributeError, ArithmeticError, np.linalg.LinAlgError):
        return by_differences
    close = np.shape(by_complex_step) == np.shape(by_differences) and np.all(
        abs(by_complex_step - by_differences) <= _AGREE * max(1, np.max(abs(by_differences), initial=0)))
    return by_complex_step if close else by_differences


def gradient(f: Callable, v):
    """df/dv: an array of the shape of v for a number f, the Jacobian (a row for each entry of f) for a column f."""
    if is_number(v):
        return slope(f, v)
    if not isinstance(v, np.ndarray):
        raise FormulaError('a derivative with respect to what is neither number nor array')
    slopes = [slope_along(f, v, at) for at in np.ndindex(*v.shape)]
    if all(map(is_number, slopes)):
        return np.reshape(slopes, v.shape)
    if v.shape[1] == 1 and all(s.shape[1] == 1 for s in slopes):
        return np.hstack(slopes)
    raise FormulaError('a derivative of a matrix with respect to an array')


def slope_along(f: Callable, v, at):
    """The derivative of f at the array v with respect to its entry at these indices."""
    def moved(t):
        w = v.astype(np.result_type(v, type(t)))
        w[at] = t
        return f(w)
    return slope(moved, v[at])
