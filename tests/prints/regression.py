"""Regression: the meanings of letters."""
from itertools import product

import numpy as np
from scipy import stats
from sklearn.linear_model import Ridge

from nbutils.cases import scalars, vectors
from nbutils.printed import Random, of
from tests.prints import normal, prints

prints(
    'ml.ms.union.kstar',
    f=of(lambda: _guess),
    y=vectors(3, -2, 2),
    L_D=of(lambda y: lambda f: ((f(np.arange(3)) - y) ** 2).mean()),
    L_test=of(lambda y: lambda f: ((f(np.arange(2)) - y[:2]) ** 2).mean()),
    k_star=of(lambda y: int(np.argmin([((g(np.arange(3)) - y) ** 2).mean() for g in _guess])) + 1),
    k_hat=of(lambda y: int(np.argmin([((g(np.arange(2)) - y[:2]) ** 2).mean() for g in _guess])) + 1),
)

prints('ml.ls.convexity.hessian', X=normal(5, 2), y=normal(5), w=normal(2), N=5, options={'wrt': 'w'})

def by_ridge(X, y, lambda_prime):
    return Ridge(alpha=lambda_prime, fit_intercept=False, solver='svd').fit(X, y).coef_

prints(
    'ml.reg.ridge-solution.solution',
    X=normal(5, 2),
    y=normal(5),
    lambda_prime=scalars(0.1, 5),
    w_star_ridge=of(by_ridge),
)

def rows(X):
    return list(X)

prints(
    'dl.normal-sq.nll',
    X=normal(4, 2),
    x=of(rows),
    y=normal(4),
    w=normal(2),
    b=scalars(-2, 2),
    sigma=scalars(0.5, 2),
    P=of(lambda w, b, sigma: lambda y, X: stats.norm.pdf(y, X @ w + b, sigma).prod()),
)
S, TRIES = {}, {}

prints(
    'ml.ls.svd.psd',
    X=normal(4, 3),
    V=of(lambda X: np.linalg.svd(X)[2].T),
    S=of(lambda X: np.vstack([np.diag(np.linalg.svd(X)[1]), np.zeros((1, 3))])),
)
_guess = [lambda x: 0.2 * x, lambda x: 0.5 + 0 * x, lambda x: x ** 2]

prints(
    'dl.linreg.cond-exp',
    w=vectors(2),
    b=scalars(),
    d=2,
    x=[np.array([0., 1.]), np.array([2., 1.])],
    X=Random([np.array([0., 1.]), np.array([2., 1.])]),
    noise=Random([-1., 0.5, 0.5]),
    Y=of(lambda X, noise, w, b: w @ X + b + noise),
)
prints(
    'ml.mle.laplace.density',
    X=normal(4, 2),
    x=of(rows),
    y=normal(4),
    w=normal(2),
    b=scalars(0.3, 3),
    p=of(lambda b: lambda y, x, w: stats.laplace.pdf(y, x @ w, b)),
)
prints(
    'ml.ms.empirical.unbiased',
    f=_guess,
    S=Random(list(product([0.1, 0.5, 0.9], repeat=3))),
    L=lambda S, f: np.mean([f(x) for x in S]),
    L_D=lambda f: np.mean([f(x) for x in (0.1, 0.5, 0.9)]),
)
prints(
    'dl.normal-sq.nll-lhs',
    X=normal(4, 2),
    x=of(rows),
    y=normal(4),
    n=4,
    w=normal(2),
    P=of(lambda w: lambda y, x: stats.norm.pdf(y, x @ w, 0.7).prod()),
)

def cross_validated(X, y, F):
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import cross_val_score
    folds = [([n for n in range(6) if n + 1 not in f], [n - 1 for n in f]) for f in F]
    return -cross_val_score(LinearRegression(fit_intercept=False), X, y, cv=folds, scoring='neg_mean_squared_error').mean()


def fold_fits(X, y, F):
    fits = []
    for f in F:
        rest = [n for n in range(6) if n + 1 not in f]
        fits.append(np.linalg.lstsq(X[rest], y[rest], rcond=None)[0])
    return lambda i, x: x @ fits[i - 1]

prints(
    'dl.crossval.average',
    X=normal(6, 2),
    y=normal(6),
    x=of(rows),
    k=3,
    F=of(lambda: [[1, 2], [3, 4], [5, 6]]),
    ell=lambda guess, y: (guess - y) ** 2,
    f=of(fold_fits),
    CV_k=of(cross_validated),
)
prints(
    'dl.normal-sq.likelihood',
    x=vectors(2),
    y=scalars(),
    w=vectors(2),
    b=scalars(),
    sigma=scalars(0.5, 3),
    P=of(lambda w, b, sigma: lambda y, x: stats.norm.pdf(y, x @ w + b, sigma)),
)
