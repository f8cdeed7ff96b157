"""Multilayer perceptrons: theorems as functions, and cases without their hypotheses."""
import numpy as np

from nbutils.cases import vectors
from tests.hypotheses import theorem
from tests.prints import normal


def in_the_plane(outer, score):
    """Two sets without a common weighted mean; does this score, an affine one, part them?

    A holds `outer` points (t, 1/t) of a branch of a hyperbola, B is the horizontal axis: the more points, the nearer they come.
    """
    t = 2.0 ** np.arange(outer)
    A, B = np.column_stack([t, 1 / t]), np.column_stack([t, 0 * t])
    return bool((score(A, t.max()) > 0).all() and (score(B, t.max()) < 0).all())


theorem(  # with infinitely many points one score would have to serve all t
    'thm-limits-hulls', in_the_plane, outer=[1, 3, 10], score=[lambda X, t: X[:, 1] - 1 / (2 * t)],
    without={'be finite sets': dict(outer=40, score=lambda X, t: X[:, 1] - 1e-6)},
)


def products_fit(x, y):
    """Whether some weights of 1, x_1, x_2 and x_1 x_2 give the values y at the inputs x."""
    P = np.column_stack([np.ones(len(x)), x, x[:, :1] * x[:, 1:]])
    return bool(np.allclose(P @ np.linalg.lstsq(P, y, rcond=None)[0], y))


BITS = np.array([[0., 0], [0, 1], [1, 0], [1, 1]])
theorem(
    'thm-limits-products', products_fit, x=[BITS], y=vectors(4),
    without={'inputs from $\\{0, 1\\}$': dict(x=np.array([[0., 0], [1, 0], [2, 0]]), y=np.array([0., 1, 0]))},
)


def bounded(X, labels, W, b):
    """Whether the linear model is right on at most 1/2 + 1/(2q) of the inputs."""
    right = (X @ W + b).argmax(1) == labels
    return bool(right.mean() <= 0.5 + 0.5 / len(b) + 1e-12)


PAIR = np.array([[1., 0], [-1, 0], [0, 1], [0, -1]])
theorem(
    'thm-limits-pairs', bounded, X=[PAIR], labels=[np.array([0, 0, 1, 1])], W=normal(2, 2), b=vectors(2),
    without={
        'which have the same label $k$': dict(X=PAIR, labels=np.array([0, 1, 0, 1]), W=np.array([[1., -1], [1, -1]]), b=np.zeros(2)),
        'consists of such pairs': dict(X=PAIR[[0, 2]], labels=np.array([0, 1]), W=np.eye(2), b=np.zeros(2)),
        'all $q$ classes are equally frequent': dict(X=PAIR[:2], labels=np.array([0, 0]), W=np.zeros((2, 2)), b=np.array([1., 0])),
    },
)


def hinges_err(f, m):
    """The largest error on [0, 1] of the broken line through f at m + 1 places."""
    x, t = np.linspace(0, 1, 20_001), np.linspace(0, 1, m + 1)
    return abs(np.interp(x, t, f(t)) - f(x)).max()


theorem(  # M is the largest second derivative away from a kink
    'thm-hidden-hinges', lambda f, M, m: bool(hinges_err(f, m) <= M / (8 * m**2) + 1e-12),
    f=[np.sin], M=[1.0], m=[1, 4, 16],
    without={'be twice continuously differentiable': dict(f=lambda x: abs(x - 1 / 3), M=0.0, m=4)},
)
theorem(  # with enough hinges in one dimension; a jump stays, and so does a pole at an end that is left out
    'thm-hidden-universal', lambda f: bool(hinges_err(f, 4000) < 0.01),
    f=[np.sin, np.sqrt, lambda x: abs(x - 1 / 3)],
    without={
        'be a continuous function': dict(f=lambda x: np.floor(2 * x + 0.5) / 2),
        'on a closed box': dict(f=lambda x: 1 / np.maximum(x, 1e-9)),
    },
)
