"""Classification: the meanings of letters."""

import numpy as np
from scipy import special, stats

from nbutils.cases import scalars, vectors
from nbutils.printed import of
from tests.prints import normal, prints

smooth = [lambda x: x[0] ** 2 * x[1] + np.sin(x[1]), lambda x: np.exp(x[0] / 5) + x[0] * x[1]]

prints(
    'ml.logreg.newton.taylor',
    L=smooth,
    w_t=vectors(2, -2, 2),
    u=vectors(2, -1, 1),
    w=of(lambda w_t, u: w_t + 1e-2 * u),
    options={'approx': 1e-5},
)


def rows(X):
    return list(X)

sigmoid = special.expit

prints(
    'ml.logreg.mle.product',
    X=normal(4, 2),
    w=normal(2),
    v=normal(2),
    x=of(rows),
    y=[np.array([0., 1, 1, 0])],
    N=4,
    p=lambda a, *rest: stats.multivariate_normal.pdf(a, [0, 0]) if not rest else
     sigmoid(rest[0] @ rest[1]) if a == 1 else sigmoid(-rest[0] @ rest[1]),
    L=of(lambda X, y: lambda w: np.exp(stats.multivariate_normal.logpdf(X, [0, 0]).sum() - np.logaddexp(0, (1 - 2 * y) * (X @ w)).sum())),
    options={'over': ('w', 'v')},
)
prints('la.softmax.first-component', Softmax=special.softmax, x=vectors(4))
prints(
    'ml.logreg.newton.hessian-matrix',
    X=normal(4, 2),
    y=[np.array([0., 1, 1, 0])],
    w=vectors(2, -2, 2),
    x=of(rows),
    N=4,
    sigma=sigmoid,
    L=of(lambda X, y: lambda w: np.logaddexp(0, (1 - 2 * y) * (X @ w)).mean()),
)

def unit(n, k):
    return np.eye(n)[k]

prints(
    'dl.softmax-ce.gradient',
    o=vectors(3),
    y=[unit(3, k) for k in range(3)],
    l=of(lambda o, y: special.logsumexp(o) - y @ o),
    softmax=special.softmax,
)

def svm_dual(X, y, lam):
    """The weights of the optimum, by many sweeps of exact coordinate ascent."""
    n, alpha = len(y), np.zeros(len(y))
    for _ in range(3000):
        for k in range(n):
            w = (alpha * y) @ X / (lam * n)
            alpha[k] = np.clip(alpha[k] + lam * n * (1 - y[k] * X[k] @ w) / (X[k] @ X[k]), 0, 1)
    return (alpha * y) @ X / (lam * n)

_X, _y, _lam = np.random.default_rng(0).normal(size=(4, 2)), np.array([1., -1, 1, -1]), 0.3

_w_star = svm_dual(_X, _y, _lam)

prints(
    'svm-gap',
    also_true=1,
    N=4,
    lambda_=_lam,
    alpha=vectors(4, 0, 1),
    w=of(lambda alpha: (alpha * _y) @ _X / (_lam * 4)),
    w_star=_w_star,
    m=of(lambda w: _y * (_X @ w)),
    h=lambda m: max(0, 1 - m),
    P=lambda w: _lam / 2 * w @ w + np.maximum(0, 1 - _y * (_X @ w)).mean(),
    D=lambda alpha: alpha.mean() - _lam / 2 * ((alpha * _y) @ _X / (_lam * 4)) @ ((alpha * _y) @ _X / (_lam * 4)),
)

def expansions(f, g):
    return sum(a * b * np.exp(-(s - t) ** 2) for a, s in zip(f.a, f.x, strict=True) for b, t in zip(g.a, g.x, strict=True))


class Expansion:
    """sum of a_i k(x_i, .) with a Gaussian kernel"""

    def __init__(self, a, x):
        self.a, self.x = np.array(a), np.array(x)

    def __call__(self, t):
        return self.a @ np.exp(-(self.x - t) ** 2)


prints(
    'kernels-reproducing',
    f=[Expansion([1, -2], [0, 1.5]), Expansion([3], [2])],
    x=scalars(-3, 3),
    k=lambda x: Expansion([1], [x]),
    inner=expansions,
)
prints('softmax-lse', LSE=special.logsumexp, softmax=special.softmax, x=vectors(3))
prints(
    'ml.logreg.newton.hessian-sum',
    X=normal(4, 2),
    y=[np.array([0., 1, 1, 0])],
    w=vectors(2, -2, 2),
    x=of(rows),
    N=4,
    sigma=sigmoid,
    L=of(lambda X, y: lambda w: np.logaddexp(0, (1 - 2 * y) * (X @ w)).mean()),
)
onehot3 = [np.eye(3)[k] for k in range(3)]

prints('dl.softmax-ce.substituted', o=vectors(3), y=onehot3, q=3, l=of(lambda o, y: special.logsumexp(o) - y @ o))
prints('dl.softmax.softmax', o=vectors(4), y_hat=of(lambda o: special.softmax(o)))
prints(
    'ml.logreg.nll.nll',
    X=normal(4, 2),
    x=of(rows),
    y=[np.array([0., 1, 1, 0])],
    w=normal(2),
    N=4,
    sigma=sigmoid,
    p=lambda y, X, w: np.where(y == 1, sigmoid(X @ w), sigmoid(-X @ w)).prod(),
)
prints('dl.softmax-ce.expanded', o=vectors(3), y=onehot3, q=3, l=of(lambda o, y: special.logsumexp(o) - y @ o))
prints('dl.softmax-ce.logsumexp', o=vectors(3), y=onehot3, q=3, l=of(lambda o, y: -(y * special.log_softmax(o)).sum()))
