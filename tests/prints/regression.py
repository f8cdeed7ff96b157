"""Regression: the meanings of letters, by section."""
from itertools import permutations, product

import numpy as np
from scipy import linalg, special, stats
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import mean_squared_error

from nbutils.cases import scalars, vectors
from nbutils.printed import Random, of
from tests.prints import normal, prints


def rows(X):
    return list(X)


def around(v, step=0.1):
    """v and what differs from it by one step in one entry."""
    steps = step * np.vstack([np.zeros(np.size(v)), np.eye(np.size(v)), -np.eye(np.size(v))])
    return [v + s for s in steps] if np.ndim(v) else [v + s for s in (0.0, step, -step)]


# linear_regression


def predicted(X, w, b=0.0):
    """Predictions of the library's linear model."""
    model = LinearRegression()
    model.coef_, model.intercept_ = w, b
    return model.predict(np.atleast_2d(X))


def half_square(r):
    """r²/2, as the Huber loss that never leaves its inner part."""
    return special.huber(np.inf, r)


_fit = dict(
    X=normal(4, 2),
    y=normal(4),
    model=of(lambda X, y: [*LinearRegression().fit(X, y).coef_, LinearRegression().fit(X, y).intercept_]),
    w_star=of(lambda model: np.array(model[:2])),
    b_star=of(lambda model: model[2]),
    w=of(lambda w_star: around(w_star)),
    b=of(lambda b_star: around(b_star)),
)
_places = [np.array(p) for p in ((0., 0.), (1., 0.), (0., 1.), (2., 3.))]
_shares = [0.1, 0.2, 0.3, 0.4]


def best_line(m):
    """The line closest to the four means m, weighted by the probabilities of the places: (weights, bias)."""
    line = LinearRegression().fit(_places, m, sample_weight=_shares)
    return [*line.coef_, line.intercept_]


_population = dict(
    k=Random(range(4), _shares),
    X=of(lambda k: _places[k]),
    noise=Random([-1., 3.], [0.75, 0.25]),
    Y=of(lambda k, noise, m: m[k] + noise),
)

prints(
    'dl.linreg.cond-exp',
    tries=30,
    w=vectors(2),
    b=scalars(),
    d=2,
    x=[np.array([0., 1.]), np.array([2., 1.])],
    X=Random([np.array([0., 1.]), np.array([2., 1.])]),
    noise=Random([-1., 0.5, 0.5]),
    Y=of(lambda X, noise, w, b: w @ X + b + noise),
)
prints(
    'dl.linreg.predict',
    X=normal(4, 2),
    x=normal(2),
    w=normal(2),
    b=scalars(),
    y_hat=of(lambda x, w, b: predicted(x, w, b)[0]),
    y_hat_bold=of(predicted),
    **{'1': np.ones(4)},
)
prints(
    'dl.loss.sq',
    y=normal(4),
    w=normal(2),
    b=scalars(),
    X=normal(4, 2),
    y_hat=of(predicted),
    l=of(lambda X, y: lambda i, w, b: half_square(y[i - 1] - w @ X[i - 1] - b)),
)
prints('dl.loss.half', y_hat=scalars(), y=scalars())
prints(
    'dl.loss.mean-loss',
    tries=30,
    X=normal(4, 2),
    y=normal(4),
    n=4,
    w=normal(2),
    b=scalars(),
    y_hat=of(predicted),
    l=of(lambda X, y: lambda i, w, b: half_square(y[i - 1] - w @ X[i - 1] - b)),
    L=of(lambda X, y: lambda w, b: mean_squared_error(y, predicted(X, w, b)) / 2),
)
prints('dl.loss.argmin', tries=10, **_fit, L=of(lambda X, y: lambda w, b: mean_squared_error(y, X @ w + b)))
prints(
    'dl.linreg.goal',
    tries=2,
    m=vectors(4),
    **_population,
    line=of(best_line),
    w_best=of(lambda line: np.array(line[:2])),
    b_best=of(lambda line: line[2]),
    w=of(lambda w_best: around(w_best)),
    b=of(lambda b_best: around(b_best)),
)

# minibatch_training


def by_autograd(X, y, w, b, eta, beta, t):
    """The parameters after one step of torch's SGD on the batch: [w, b]."""
    import torch

    batch = [i - 1 for i in beta[t - 1]]
    theta = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (w, b)]
    errors = torch.tensor(X[batch]) @ theta[0] + theta[1] - torch.tensor(y[batch])
    (errors ** 2 / 2).mean().backward()
    torch.optim.SGD(theta, lr=eta).step()
    return [v.detach().numpy() for v in theta]


_hands = dict(
    X=normal(5, 2),
    x=of(rows),
    y=normal(5),
    w=normal(2),
    b=scalars(),
    eta=scalars(0.1, 2),
    beta=of(lambda: [[1, 3, 4], [2, 5]]),
    t=[1, 2],
    after=of(by_autograd),
)
prints('dl.sgd.w', **_hands, w_new=of(lambda after: after[0]))
prints('dl.sgd.b', **_hands, b_new=of(lambda after: float(after[1])))
prints('dl.sgd.batch-index', beta=[[[*p[:2]], [p[2]], [p[3]]] for p in permutations(range(1, 5))], T=3, n=4)


def drawn_batches(X, b):
    """(mean of x xᵀ, rows) of all batches of b examples drawn with replacement."""
    batches = [list(rows) for rows in product(range(len(X)), repeat=b)]
    return [(X[r].T @ X[r] / b, r) for r in batches]


def settled_excess(X, y, eta, b):
    """The mean excess of a walk that has settled, from the covariance that one more step does not change."""
    n, d = X.shape
    r = y - X @ np.linalg.lstsq(X, y)[0]
    steps = [(np.eye(d) - eta * H, eta * X[rows].T @ r[rows] / b) for H, rows in drawn_batches(X, b)]
    to_itself = np.mean([np.kron(M, M) for M, _ in steps], axis=0)
    kicks = np.mean([np.outer(z, z) for _, z in steps], axis=0)
    C = np.linalg.solve(np.eye(d * d) - to_itself, kicks.ravel()).reshape(d, d)
    return (C * (X.T @ X / n)).sum() / 2


def kappa_of_batches(X, b):
    H, squares = X.T @ X / len(X), (X ** 2).sum(1)
    kappa = linalg.eigh(X.T @ (squares[:, None] * X) / len(X), H, eigvals_only=True)[-1]
    return kappa / b + (1 - 1 / b) * np.linalg.eigvalsh(H)[-1]


prints(
    'minibatch_training-floor',
    tries=20,
    slip=('loses a factor two', r'\frac{\eta S}{2 b} \le \text{excess} \le \frac{\eta S}{2 b} \cdot \frac{1}{1 - \eta \kappa_b / 2}'),
    X=normal(4, 2),
    y=normal(4),
    b=[1, 2],
    share=scalars(0.05, 0.9),
    S=of(lambda X, y: ((y - X @ np.linalg.lstsq(X, y)[0]) ** 2 * (X ** 2).sum(1)).mean()),
    kappa_b=of(kappa_of_batches),
    eta=of(lambda share, kappa_b: share * 2 / kappa_b),
    excess=of(settled_excess),
)


def after_an_epoch(order, c, v_0, eta):
    v = v_0
    for i in order:
        v = v - eta * (v - (c[i] - c.mean()))
    return v


prints(
    'minibatch_training-deal',
    tries=6,
    n=4,
    c=vectors(4),
    v_0=scalars(),
    eta=scalars(0.05, 1),
    sigma=of(lambda c: c.std()),
    alpha=of(lambda eta: (1 - eta) ** np.arange(4)[::-1]),
    order=Random(permutations(range(4))),
    v_n=of(after_an_epoch),
)
prints(
    'minibatch_training-noise',
    tries=6,
    n=4,
    d=1,
    X=normal(4, 1).map(lambda x: np.column_stack([x, np.ones(4)])),
    theta_0=normal(2),
    sigma=scalars(0.5, 3),
    signs=Random(product([-1., 1.], repeat=4)),
    y=of(lambda X, theta_0, sigma, signs: X @ theta_0 + sigma * np.array(signs)),
    theta_star=of(lambda X, y: np.linalg.lstsq(X, y)[0]),
    L=of(lambda X, y: lambda theta: mean_squared_error(y, X @ theta) / 2),
)


def walk(X, y, eta, T, seed):
    """(places relative to the optimum, noise of the gradients) of T + 1 steps with batches of two."""
    rng, best = np.random.default_rng(seed), np.linalg.lstsq(X, y)[0]
    theta, places, noise = np.zeros(2), [], []
    for _ in range(T + 1):
        batch = rng.integers(len(y), size=2)
        g = X[batch].T @ (X[batch] @ theta - y[batch]) / 2
        places.append(theta - best)
        noise.append(X.T @ (X @ theta - y) / len(y) - g)
        theta = theta - eta * g
    return [places, noise]


prints(
    'minibatch_training-average',
    X=normal(5, 2),
    y=normal(5),
    eta=scalars(0.05, 0.5),
    T=[3, 6],
    seed=[1, 2],
    path=of(walk),
    H=of(lambda X: X.T @ X / 5),
    v_0=of(lambda path: path[0][0]),
    v_T=of(lambda path, T: path[0][T]),
    v_bar=of(lambda path, T: np.mean(path[0][:T], axis=0)),
    xi_bar=of(lambda path, T: np.mean(path[1][:T], axis=0)),
)

# gaussian_noise


def joint_density(w, b, sigma):
    """The density of all targets, as one normal distribution in n dimensions."""
    def P(y, X):
        mean = predicted(X, w, b)
        return stats.multivariate_normal.pdf(y, mean, sigma ** 2 * np.eye(len(mean)))
    return P


_line = dict(X=normal(4, 2), x=of(rows), y=normal(4), n=4, w=normal(2), b=scalars(-2, 2), sigma=scalars(0.5, 2))
_without_bias = dict(X=normal(4, 2), x=of(rows), y=normal(4), N=4, w=normal(2), sigma=scalars(0.5, 2))

prints(
    'dl.normal-sq.pdf', x=scalars(-3, 3), mu=scalars(-3, 3), sigma=scalars(0.5, 2),
    p=of(lambda mu, sigma: lambda x: stats.norm.pdf(x, mu, sigma)),
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
prints('dl.normal-sq.factorize', **_line, P=of(joint_density))
prints(
    'ml.mle.model.likelihood',
    **_without_bias,
    p=of(lambda sigma: lambda y, X, w: joint_density(w, 0.0, sigma)(y, X)),
    Normal=lambda y, mean, variance: stats.norm.pdf(y, mean, np.sqrt(variance)),
)
prints(
    'dl.normal-sq.mle',
    tries=5,
    **{name.replace('_star', '_hat'): meaning for name, meaning in _fit.items() if name not in ('w', 'b')},
    w=of(lambda w_hat: around(w_hat)),
    b=of(lambda b_hat: around(b_hat)),
    P=of(lambda w, b: lambda y, X: joint_density(w, b, 1.5)(y, X)),
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
prints('dl.normal-sq.nll', tries=20, **_line, P=of(joint_density))
prints(
    'gaussian_noise-loss', tries=30, **_line, P=of(joint_density),
    L=of(lambda X, y: lambda w, b: mean_squared_error(y, predicted(X, w, b)) / 2),
)
prints(
    'dl.normal-sq.equiv',
    tries=5,
    X=normal(4, 2),
    y=normal(4),
    w=of(lambda: [np.array(w) for w in product([-0.5, 0., 0.6], repeat=2)]),
    b=of(lambda: [-0.4, 0., 0.5]),
    P=of(lambda w, b: lambda y, X: joint_density(w, b, 1.5)(y, X)),
    L=of(lambda X, y: lambda w, b: mean_squared_error(y, X @ w + b) / 2),
)
prints(
    'ml.mle.cost.ll',
    tries=30,
    **_without_bias,
    p=of(lambda sigma: lambda y, X, w: joint_density(w, 0.0, sigma)(y, X)),
    L_LL=of(lambda X, y, sigma: lambda w: stats.norm.logpdf(y, X @ w, sigma).sum()),
    const=of(lambda sigma: 4 * stats.norm.logpdf(0, 0, sigma)),
)
prints(
    'ml.mle.laplace.density',
    tries=30,
    X=normal(4, 2),
    x=of(rows),
    y=normal(4),
    w=normal(2),
    b=scalars(0.3, 3),
    p=of(lambda b: lambda y, x, w: stats.laplace.pdf(y, x @ w, b)),
)
prints('dl.normal-sq.outsize', r=scalars(), k=scalars(), ell_2=half_square, ell_1=lambda r: np.hypot(r, 0))
prints('gaussian_noise-tangent', equality=dict(r=-2.0, c=2.0), r=scalars(), c=scalars(0.1, 10))
prints(
    'dl.normal-sq.cond-exp',
    tries=2,
    v=vectors(2),
    a=scalars(),
    m=of(lambda v, a: predicted(_places, v, a)),
    **_population,
    x=_places,
    line=of(best_line),
    w_star=of(lambda line: np.array(line[:2])),
    b_star=of(lambda line: line[2]),
    w=of(lambda w_star: around(w_star)),
    b=of(lambda b_star: around(b_star)),
)
prints('gaussian_noise-knight', u=scalars(), epsilon=scalars())
prints(
    'gaussian_noise-efficiency',
    tries=30,
    sigma=scalars(0.5, 3),
    f=of(lambda sigma: lambda e: stats.norm.pdf(e, 0, sigma)),
    G=normal(5, 2).map(lambda X: np.linalg.inv(X.T @ X)),
)

prints(
    'ml.ms.union.kstar',
    f=of(lambda: _guess),
    y=vectors(3, -2, 2),
    L_D=of(lambda y: lambda f: ((f(np.arange(3)) - y) ** 2).mean()),
    L_test=of(lambda y: lambda f: ((f(np.arange(2)) - y[:2]) ** 2).mean()),
    k_star=of(lambda y: int(np.argmin([((g(np.arange(3)) - y) ** 2).mean() for g in _guess])) + 1),
    k_hat=of(lambda y: int(np.argmin([((g(np.arange(2)) - y[:2]) ** 2).mean() for g in _guess])) + 1),
)

prints('ml.ls.convexity.hessian', tries=5, X=normal(5, 2), y=normal(5), w=normal(2), N=5, options={'wrt': 'w'})


def by_ridge(X, y, lambda_prime):
    return Ridge(alpha=lambda_prime, fit_intercept=False, solver='svd').fit(X, y).coef_


prints(
    'ml.reg.ridge-solution.solution',
    X=normal(5, 2),
    y=normal(5),
    lambda_prime=scalars(0.1, 5),
    w_star_ridge=of(by_ridge),
)
prints(
    'ml.ls.svd.psd',
    X=normal(4, 3),
    V=of(lambda X: np.linalg.svd(X)[2].T),
    S=of(lambda X: np.vstack([np.diag(np.linalg.svd(X)[1]), np.zeros((1, 3))])),
)
_guess = [lambda x: 0.2 * x, lambda x: 0.5 + 0 * x, lambda x: x ** 2]
prints(
    'ml.ms.empirical.unbiased',
    f=_guess,
    S=Random(list(product([0.1, 0.5, 0.9], repeat=3))),
    L=lambda S, f: np.mean([f(x) for x in S]),
    L_D=lambda f: np.mean([f(x) for x in (0.1, 0.5, 0.9)]),
)


def cross_validated(X, y, F):
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
    tries=15,
    X=normal(6, 2),
    y=normal(6),
    x=of(rows),
    k=3,
    F=of(lambda: [[1, 2], [3, 4], [5, 6]]),
    ell=lambda guess, y: (guess - y) ** 2,
    f=of(fold_fits),
    CV_k=of(cross_validated),
)
