"""Probability: the meanings of letters."""
from itertools import product

import numpy as np
from scipy import special, stats

from nbutils.cases import scalars, seeds, vectors
from nbutils.printed import Random, of
from tests.prints import prints

_cov = seeds().map(lambda s: (lambda a: a @ a.T + np.eye(2))(np.random.default_rng(s).normal(size=(2, 2))))

prints(
    'ml.mle.gaussian.multivariate',
    Normal=stats.multivariate_normal.pdf,
    y=vectors(2, -2, 2),
    mu=vectors(2, -2, 2),
    Sigma=_cov,
    D=2,
)
prints(
    'ml.mle.gaussian.univariate',
    p=lambda y, m, v: stats.norm.pdf(y, m, np.sqrt(v)),
    Normal=lambda y, m, v: stats.norm.pdf(y, m, np.sqrt(v)),
    y=scalars(-3, 3),
    mu=scalars(-3, 3),
    sigma=scalars(0.5, 3),
)
_die = {frozenset(s) for s in ({1, 2}, {2, 4, 6}, {3}, {1, 2, 3, 4, 5}, {5, 6})}

prints(
    'dl.bayes.bayes',
    A=sorted(_die, key=str),
    B=sorted(_die, key=str),
    P=lambda a, b=frozenset(range(1, 7)): len(a & b) / len(b),
)

prints(
    'eq-conc-chernoff',
    tries=8,
    Theta=Random(list(product([0., 1, 3], repeat=3))),
    N=3,
    lambda_=scalars(0.1, 1),
    s=scalars(-2, 4),
    S=of(lambda Theta: sum(Theta) - 4),
)
sigmoid = special.expit

_p = of(lambda theta: np.array([sigmoid(theta), 1 - sigmoid(theta)]))

prints(
    'eq-reparam-baseline',
    f=[lambda z: z ** 2, lambda z: np.sin(z) + 3],
    theta=scalars(-2, 2),
    b=scalars(),
    z=Random([1., 4.], _p),
    s=of(lambda theta: lambda z: 1 - sigmoid(theta) if z == 1 else -sigmoid(theta)),
)
