"""Multilayer perceptrons: theorems as functions, and cases without their hypotheses."""
from itertools import product

import numpy as np
from scipy.special import polygamma, psi

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


def geometric_is_plain(h, W, p, phi):
    """Whether the geometric mean over all masks of softmax(phi(masked h) W) is that of the pass without masks."""
    def log_softmax(o):
        return o - np.log(np.exp(o - o.max()).sum()) - o.max()

    log_mean = 0
    for r in np.ndindex(*[2] * len(h)):
        r = np.array(r)
        prob = np.prod(np.where(r, 1 - p, p))
        log_mean = log_mean + prob * log_softmax(phi(r * h / (1 - p)) @ W)
    return bool(np.allclose(log_softmax(log_mean), log_softmax(phi(h) @ W)))


theorem(  # the biases are left out: they are the weights of one more unit that stays
    'thm-dropout-softmax', geometric_is_plain, h=vectors(3, -2, 2), W=normal(3, 2), p=[0.2, 0.5], phi=[lambda o: o],
    without={'be an affine function of the masked units': dict(
        h=np.array([1., 2, 3]), W=np.array([[1., 0], [1, 0], [1, 0]]), p=0.5, phi=lambda o: np.maximum(o - 1, 0))},
)


def log_lengths(draw, v, n):
    """Whether log |v M M'| - log |v| has the mean and the variance of the theorem, for 4000 pairs from `draw`."""
    pairs = draw(np.random.default_rng(0), n)  # (4000, 2, n, n)
    with np.errstate(divide='ignore', invalid='ignore'):
        products = np.einsum('i,kij,kjl->kl', v[:n], pairs[:, 0], pairs[:, 1])
        logs = np.log(np.linalg.norm(products, axis=1)) - np.log(np.linalg.norm(v[:n]))
    mean, variance = np.log(2) + psi(n / 2), polygamma(1, n / 2) / 2
    return bool(abs(logs.mean() - mean) < 4 * np.sqrt(variance / 4000) and abs(logs.var() / variance - 1) < 0.15)


def gaussians(rng, n):
    return rng.normal(size=(4000, 2, n, n))


theorem(
    'thm-gradients-rate', log_lengths, draw=[gaussians], v=[np.array([1., 2, 3]), np.array([0., 1, 0])], n=[2, 3],
    without={
        'be independent $n \\times n$ matrices': dict(
            draw=lambda rng, n: np.stack([M := gaussians(rng, n)[:, 0], np.linalg.inv(M)], 1), v=np.ones(2), n=2),
        'entries are independent standard': dict(draw=lambda rng, n: gaussians(rng, n)[..., :1].repeat(n, -1), v=np.ones(2), n=2),
        'Gaussian numbers': dict(draw=lambda rng, n: rng.choice([-1., 1.], (4000, 2, n, n)), v=np.array([1., 0, 0]), n=3),
        '$\\mathbf{v} \\ne \\mathbf{0}$': dict(draw=gaussians, v=np.zeros(2), n=2),
    },
)


def init_he_mean(values, p, variance, tied, phi, b):
    """The mean of z² in the output of a network 2 -> 2 -> 1 at x = (1, 0.5), over all its weights."""
    total = 0
    for drawn in product(range(len(values)), repeat=6):
        w = np.sqrt(variance) * np.array(values)[list(drawn)]
        W_1, W_2 = w[:4].reshape(2, 2), w[4:]
        if tied:  # the weights into a unit are equal
            W_1, W_2 = W_1[:1].repeat(2, 0), W_2[:1].repeat(2)
        total += np.prod(np.array(p)[list(drawn)]) * (phi(np.array([1, 0.5]) @ W_1 + b) @ W_2 + b) ** 2
    return total


_init = dict(values=(-1., 1.), p=(0.5, 0.5), variance=1.0, tied=False, phi=lambda z: np.maximum(z, 0), b=0.0)

theorem(  # the variance is 2/2 = 1
    'thm-init-he', lambda **case: bool(np.isclose(init_he_mean(**case), 1.25)),
    **{name: [value] for name, value in _init.items()},
    without={
        'a ReLU network': _init | dict(phi=np.tanh),
        'independent': _init | dict(tied=True),
        'symmetric about zero': _init | dict(values=(2**0.5, -(0.5**0.5)), p=(1 / 3, 2 / 3)),
        'those of layer $l$ with variance $2/d_{l-1}$': _init | dict(variance=0.5),
        'let the biases be zero': _init | dict(b=0.5),
    },
)
