"""Calculus: the meanings of letters."""

import numpy as np
from scipy import stats

from nbutils.cases import seeds, vectors
from nbutils.printed import of
from tests.prints import normal, prints

maps = [lambda x: np.array([x[0] * x[1], np.sin(x[0])]), lambda x: np.array([x[0] ** 2 - x[1], x[0] + 3 * x[1]])]

prints(
    'aw.jacobians.taylor',
    f=maps,
    x_0=vectors(2, -2, 2),
    u=vectors(2, -1, 1),
    x=of(lambda x_0, u: x_0 + 1e-3 * u),
    options={'approx': 1e-5},
)
prints('aw.jacobians.rows', f=maps, x=vectors(2, -2, 2), y=of(lambda f, x: f(x)), c=2, options={'n': 2})
prints('aw.jacobians.chain', f=maps, g=maps, x=vectors(2, -2, 2))
S, TRIES = {}, {}


_cov = seeds().map(lambda s: (lambda a: a @ a.T + np.eye(2))(np.random.default_rng(s).normal(size=(2, 2))))

prints(
    'deriv-likelihood',
    P=_cov,
    data=normal(7, 2),
    S=of(lambda data: np.cov(data.T, bias=True)),
    n=7,
    d=2,
    ell=of(lambda data: lambda P: stats.multivariate_normal.logpdf(data, data.mean(0), np.linalg.inv(P)).sum()),
)
