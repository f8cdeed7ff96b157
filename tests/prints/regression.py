"""Regression: the meanings of letters, by section."""
from itertools import combinations_with_replacement, permutations, product

import numpy as np
from hypothesis import strategies as st
from scipy import linalg, optimize, special, stats
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import KFold

from nbutils.cases import scalars, vectors
from nbutils.printed import Box, Random, of
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

# least_squares


def scipy_cost(r, w):
    """The loss that scipy's solver reports at its start: half the squared length of the residual."""
    return optimize.least_squares(r, w, max_nfev=1).cost


def of_rank(rank):
    """Matrices of shape (4, 3) and this rank."""
    return st.tuples(normal(4, rank), normal(rank, 3)).map(lambda pair: pair[0] @ pair[1])


def in_span(X):
    """Membership in the span of the columns, by the projection onto it."""
    return lambda y: np.linalg.norm(y - X @ np.linalg.pinv(X) @ y) < 1e-9


def some_minimizers(X, y):
    """Solutions of least squares, and their neighbours."""
    best = np.linalg.lstsq(X, y)[0]
    flat = np.linalg.svd(X)[2][-1]
    return [best, best + flat, best - 2 * flat, *around(best)[1:]]


_squares = dict(
    X=normal(4, 2), x=of(rows), y=normal(4), N=4, w=normal(2),
    L=of(lambda X, y: lambda w: mean_squared_error(y, predicted(X, w)) / 2),
)
_chord = _squares | dict(w_prime=normal(2), lambda_=[0.3, 1.5, -0.5, 0.9])  # beyond its ends a chord lies below
_level = dict(
    X=np.eye(4, 2), y=np.ones(4), w=np.array([3., 2.]), w_prime=np.array([3., 2.]), lambda_=0.3,
)
_svd = dict(
    X=normal(4, 3),
    U=of(lambda X: np.linalg.svd(X)[0]),
    S=of(lambda X: linalg.diagsvd(np.linalg.svd(X)[1], 4, 3)),
    V=of(lambda X: np.linalg.svd(X)[2].T),
    N=4,
    D=3,
)
_ranks = st.sampled_from([1, 2, 3]).flatmap(of_rank)

prints(
    'la.lsq.system',
    tries=20,
    also_true=1,  # minus zero
    X=_ranks,
    v=normal(3),
    off=[np.zeros(4), np.array([1., 0., -1., 2.])],
    y=of(lambda X, v, off: X @ v + off),
    w=of(some_minimizers),
    col=in_span,
)
prints(
    'la.lsq.objective',
    tries=20,
    X=_ranks,
    y=normal(4),
    w=of(some_minimizers),
    which=list(range(9)),
    w_hat=of(lambda w, which: w[which]),
    X_plus=of(lambda X: np.linalg.pinv(X)),
)
prints('ml.ls.loss', tries=20, **_squares)
prints(
    'ml.ls.closed-form.normal-eq', tries=6, **_squares,
    w_star=of(lambda X, y: LinearRegression(fit_intercept=False).fit(X, y).coef_),
)
prints(
    'ml.ls.closed-form.solution', **_squares,
    w_star=of(lambda X, y: LinearRegression(fit_intercept=False).fit(X, y).coef_),
)
prints('ml.ls.convexity.definition', tries=20, **_chord, equality=_level)
prints('ml.ls.convexity.defect', tries=12, **_chord)
prints('ml.ls.convexity.hessian', tries=4, X=normal(5, 2), y=normal(5), w=normal(2), N=5, options={'wrt': 'w'})
prints('ml.ls.svd.svd', **_svd)
prints('ml.ls.svd.psd', **_svd)
prints(
    'ml.ls.invertibility.iff', X=_ranks, D=3,
    is_invertible=lambda A: A.shape[0] == A.shape[1] and np.linalg.cond(A) < 1e12,
)
prints(
    'ml.ls.rank.wide',
    also_turned=1,  # that N < D is concluded, too
    X=st.one_of(of_rank(2), of_rank(3), of_rank(2).map(np.transpose), of_rank(1).map(np.transpose)),
    N=of(lambda X: X.shape[0]),
    D=of(lambda X: X.shape[1]),
)
prints('ml.ls.rank.collinear', X=normal(5, 3), s=of(lambda X: linalg.svdvals(X)), kappa=np.linalg.cond)

_noise = dict(
    X=normal(4, 2),
    w=normal(2),
    s=of(lambda X: linalg.svdvals(X)),
    u=of(lambda X: list(np.linalg.svd(X)[0].T[:2])),
    v=of(lambda X: list(np.linalg.svd(X)[2])),
    X_plus=of(lambda X: np.linalg.pinv(X)),
    w_hat=of(lambda X, w, e: LinearRegression(fit_intercept=False).fit(X, X @ w + e).coef_),
)
prints('ls-noise', tries=30, **_noise, e=normal(4))
prints(
    'ls-covariance', tries=5, **_noise, sigma=scalars(0.5, 3), signs=Random(product([-1., 1.], repeat=4)),
    e=of(lambda sigma, signs: sigma * np.array(signs)),
)

# nonlinear_least_squares


def residual(x, y):
    """The residual of w_1 (1 - exp(-w_2 x)), or its entry n, as a function."""
    def r(*arguments):
        *n, w = arguments
        e = w[0] * (1 - np.exp(-w[1] * x)) - y
        return e[n[0] - 1] if n else e
    return r


def jacobian(x, w):
    e = np.exp(-w[1] * x)
    return np.stack([1 - e, w[0] * x * e], axis=1)


_curve = dict(
    x=np.array([0.5, 1., 2., 3.]),
    y=normal(4),
    N=4,
    w=vectors(2, 0.5, 2),
    r=of(residual),
    r_bold=of(lambda r, w: r(w)),
    J=of(jacobian),
    L=of(lambda r: lambda w: scipy_cost(r, w)),
    lambda_=scalars(0.1, 3),
    D=np.diag([1., 2.]),
)


def damped_step(J, r_bold, D, lambda_):
    """The step by least squares, with more rows for the price of its length."""
    return np.linalg.lstsq(np.vstack([J, np.sqrt(lambda_) * D]), np.append(-r_bold, np.zeros(2)))[0]


prints('nlls-loss', **_curve)
prints(
    'nlls-gauss-newton', **_curve,
    p=of(lambda J, r_bold: -np.linalg.pinv(J) @ r_bold),
    w_new=of(lambda J, r_bold, w: np.linalg.lstsq(J, J @ w - r_bold)[0]),
)
prints('nlls-hessian', tries=4, **_curve | dict(L=of(lambda r: lambda w: (r(w) ** 2).sum() / 2)))
prints(
    'nlls-foot',
    w=scalars(-0.02, 0.02),
    d=scalars(-0.9, 3),
    w_new=of(lambda w, d: w - np.linalg.lstsq(np.array([[-np.sin(w)], [np.cos(w)]]), np.array([np.cos(w) - 1 - d, np.sin(w)]))[0][0]),
    options={'approx': 2e-5},
)
prints('nlls-damped', **_curve, p=of(lambda J, r_bold, D: lambda price: damped_step(J, r_bold, D, price)))
prints(
    'nlls-gain',
    tries=30,
    **_curve,
    p=of(damped_step),
    gamma=of(lambda L, w, p, J, D, lambda_: 2 * (L(w) - L(w + p)) / (p @ (J.T @ J + 2 * lambda_ * D @ D) @ p)),
)


def step_map_eigenvalues(A, S, D, lambda_):
    return list(np.linalg.eigvals(np.eye(2) - np.linalg.solve(A + lambda_ * D @ D, A + S)).real)


prints(
    'nlls-enough',
    slip=('forgets the factor two', r'\max_i |\mu_i| < 1 \iff \mathbf{S} \prec \mathbf{A} + \lambda\mathbf{D}^2'),
    H=normal(2, 2).map(lambda B: B @ B.T + 0.1 * np.eye(2)),
    A=normal(2, 2).map(lambda B: B @ B.T + 0.1 * np.eye(2)),
    S=of(lambda H, A: H - A),
    D=np.diag([1., 2.]),
    ratio=[0.3, 0.97, 1.03, 2.0],  # of the damping to the least one that is enough
    lambda_=of(lambda A, S, D, ratio: ratio * max(0.1, linalg.eigh(S - A, 2 * D @ D, eigvals_only=True)[-1])),
    mu=of(lambda A, S, D, lambda_: np.array(step_map_eigenvalues(A, S, D, lambda_))),
)


def fitted(x, y, w):
    """The best weights near w, by Gauss-Newton steps."""
    r = residual(x, y)
    for _ in range(4):
        w = w - np.linalg.lstsq(jacobian(x, w), r(w))[0]
    return w


prints(
    'nlls-covariance',
    tries=2,
    x=np.array([0.5, 1., 2., 3.]) * 1e-4,  # so that both weights are large, and their variances about one
    w=vectors(2, 1, 2).map(lambda w: 1e4 * w),
    sigma=scalars(0.5, 1.5),
    signs=Random(product([-1., 1.], repeat=4)),
    y=of(lambda x, w, sigma, signs: residual(x, 0.0)(w) + sigma * np.array(signs)),
    w_hat=of(fitted),
    r=of(residual),
    J=of(jacobian),
    N=4,
    D=2,
    options={'approx': 1e-2},
)

# ridge_regression


def by_ridge(X, y, alpha):
    return Ridge(alpha=alpha, fit_intercept=False, solver='svd').fit(X, y).coef_


def gram_eigenvalues(X):
    """The eigenvalues of XᵀX, largest first; those that are zero are exactly so."""
    s = linalg.eigh(X.T @ X, eigvals_only=True)[::-1]
    return np.where(s < 1e-10, 0, s)


def gram_eigenvectors(X):
    return linalg.eigh(X.T @ X)[1][:, ::-1]


_gram = dict(
    X=_ranks,
    y=normal(4),
    N=4,
    d=3,
    s=of(gram_eigenvalues),
    u=of(lambda X: list(gram_eigenvectors(X).T)),
    p=of(lambda X, s: [X @ v / np.sqrt(c) if c else np.zeros(4) for v, c in zip(gram_eigenvectors(X).T, s, strict=True)]),
    alpha=scalars(0.1, 5),
    w_alpha=of(by_ridge),
)

prints('ml.reg.ridge.omega', w=vectors(3), Omega=lambda w: w @ w)
prints(
    'ml.reg.ridge.objective',
    tries=6,
    **_squares | dict(lambda_=scalars(0.1, 2), w=of(lambda X, y, lambda_: around(by_ridge(X, y, 8 * lambda_)))),
)
prints(
    'ml.reg.ridge-solution.grad',
    tries=10,
    **_squares,
    L_MSE=of(lambda X, y: lambda w: ((y - X @ w) ** 2).mean() / 2),
    Omega=lambda w: w @ w,
    lambda_=scalars(0.1, 2),
)
prints(
    'ml.reg.ridge-solution.lambda-prime',
    lambda_=scalars(0.1, 2),
    N=[1, 4],
    off=[0.0, 1.0],
    lambda_prime=of(lambda lambda_, N, off: 2 * N * lambda_ + off),
)
prints(
    'ml.reg.ridge-solution.solution',
    X=normal(5, 2),
    y=normal(5),
    lambda_prime=scalars(0.1, 5),
    w_star_ridge=of(lambda X, y, lambda_prime: by_ridge(X, y, lambda_prime)),
)
prints(
    'ml.reg.ridge-conditioning.proof', tries=30, **_gram, lambda_prime=scalars(0.1, 5),
    U=of(gram_eigenvectors), S=of(lambda s: np.diag(s)),
)
prints('ml.reg.ridge-conditioning.lift', **_gram, lambda_prime=scalars(0.1, 5))
prints('ridge-filter', tries=30, **_gram)
prints('ridge-dual', tries=40, **_gram)
prints(
    'ridge-mse',
    tries=2,
    X=normal(3, 2),
    w=normal(2),
    d=2,
    sigma=scalars(0.5, 2),
    alpha=scalars(0.2, 3),
    signs=Random(product([-1., 1.], repeat=3)),
    y=of(lambda X, w, sigma, signs: X @ w + sigma * np.array(signs)),
    w_hat_alpha=of(lambda X, y, alpha: np.linalg.solve(X.T @ X + alpha * np.eye(2), X.T @ y)),
    s=of(gram_eigenvalues),
    c=of(lambda X, w: gram_eigenvectors(X).T @ w),
)


def freedom(X):
    """How much all fitted values change with their own targets, by the library."""
    return lambda alpha: sum((X @ by_ridge(X, e, alpha))[n] for n, e in enumerate(np.eye(len(X))))


prints('ridge-hat', tries=10, **_gram, y_hat=of(lambda X, w_alpha: X @ w_alpha), df=of(freedom))
prints(
    'ridge-evidence',
    tries=40,
    **_gram | dict(
        C=of(lambda X, alpha: np.eye(4) + X @ X.T / alpha),
        sigma_hat=of(lambda y, C: np.sqrt(y @ np.linalg.solve(C, y) / 4)),
        p=of(lambda C, sigma_hat: lambda y: stats.multivariate_normal.pdf(y, np.zeros(4), sigma_hat ** 2 * C)),
    ),
)

# lasso


def by_lasso(X, y, alpha):
    return Lasso(alpha, fit_intercept=False, tol=1e-14, max_iter=100_000).fit(X, y).coef_


def lasso_cost(X, y, alpha):
    return lambda w: mean_squared_error(y, predicted(X, w)) / 2 + alpha * np.linalg.norm(w, 1)


def lasso_dual(y):
    return lambda z: (y @ y - (y - z) @ (y - z)) / (2 * len(y))


def columns(X):
    return list(X.T)


def soft(gamma, v):
    """The soft threshold of each entry, as the lasso with orthonormal features."""
    t = np.atleast_1d(v)
    best = by_lasso(np.sqrt(len(t)) * np.eye(len(t)), np.sqrt(len(t)) * t, gamma)
    return best if np.ndim(v) else best[0]


def proximal_step(X, y, alpha, L):
    """The step that makes the bound by a parabola of curvature L smallest: a lasso with orthonormal features."""
    return lambda v: soft(alpha / L, v + X.T @ (y - X @ v) / (L * len(y)))


def top_curvature(X):
    return np.linalg.norm(X, 2) ** 2 / len(X)


def accelerated(step, start, count):
    """(places, places ahead) of FISTA, with its numbers as roots of a quadratic equation."""
    places, ahead, tau = [start], [None, start], 1.0
    for _ in range(count):
        places.append(step(ahead[-1]))
        after = max(np.roots([1, -1, -tau ** 2]))
        ahead.append(places[-1] + (tau - 1) / after * (places[-1] - places[-2]))
        tau = after
    return places, ahead


def tau_of_step(k):
    tau = 1.0
    for _ in range(k - 1):
        tau = max(np.roots([1, -1, -tau ** 2]))
    return tau


_sparse = dict(
    X=normal(4, 2),
    X_columns=of(columns),
    y=normal(4),
    N=4,
    w=normal(2),
    alpha=scalars(0.05, 1),
    F=of(lambda X, y, alpha: lambda w: lasso_cost(X, y, alpha)(w)),
    D=of(lambda y: lambda z: lasso_dual(y)(z)),
)
_proximal = _sparse | dict(
    L=of(top_curvature),
    S=soft,
    f=of(lambda X, y: lambda v: ((y - X @ v) ** 2).mean() / 2),
    P=of(lambda X, y, alpha, L: lambda v: proximal_step(X, y, alpha, L)(v)),
)

prints('lasso-objective', tries=20, **_sparse)
prints('lasso-gap', tries=10, **_sparse, z=normal(4))
prints(
    'lasso-dual-point', tries=10, **_sparse,
    r=of(lambda X, y, w: y - X @ w),
    w_star=of(by_lasso),
    G=of(lambda F, D, w, X, r, alpha: F(w) - D(r * min(1, 4 * alpha / np.linalg.norm(X.T @ r, np.inf)))),
)
prints(
    'lasso-coordinate', tries=10, **_sparse,
    S=soft,
    r=of(lambda X, y, w: y - X @ w),
    a=of(lambda X: (X ** 2).mean(0)),
    w_new=of(lambda X, r, w, alpha: np.array([by_lasso(x[:, None], r + v * x, alpha)[0] for x, v in zip(X.T, w, strict=True)])),
)
prints('lasso-ista', tries=4, **_proximal, v=normal(2))
prints(
    'lasso-one-step',
    tries=6,
    equality=dict(
        X=np.array([[1., 0.], [2., 0.]]), y=np.ones(2), w=np.zeros(2), alpha=0.0, v=np.array([3., 1.]), u=np.array([3., -0.5])),
    also_true=1,  # what a step from u gains is bounded by the same
    **_proximal,
    v=normal(2),
    u=normal(2),
)
prints(
    'lasso-fista', tries=4, **_proximal | dict(
        k=range(1, 5),
        walk=of(lambda P: accelerated(P, np.array([3., -2.]), 6)),
        w=of(lambda walk: lambda k: walk[0][k]),
        v=of(lambda walk: lambda k: walk[1][k]),
        tau=tau_of_step,
    ),
)
prints(
    'lasso-fista-bound',
    slip=[
        ('has lost a factor of four', r'F(\mathbf{w}^{(k)}) - F(\mathbf{w}^*) \le \frac{L\,\|\mathbf{w}^{(0)} - \mathbf{w}^*\|^2}{2 (k + 1)^2}'),
        ('a quarter less', r'F(\mathbf{w}^{(k)}) - F(\mathbf{w}^*) \le \frac{1.5 L\,\|\mathbf{w}^{(0)} - \mathbf{w}^*\|^2}{(k + 1)^2}'),
    ],
    tries=12,
    **_proximal | dict(
        # The slowest walk goes down a constant slope, here that of the penalty along a column of zeros, which is so gentle that
        # the minimum is not reached yet: 0.78 of the bound after 12 steps of 0.02, and the nearer to it, the more steps.
        alpha=[0.01, 0.02, 0.5],
        start=[np.array([2 ** 0.5, -1.0]), np.array([-1.4, -14.0])],
        q=[0.02, 0],
        X=of(lambda q: np.sqrt(2) * np.diag([1.0, np.sqrt(q)])),
        y=of(lambda alpha: np.array([2 + 2 ** 0.5 * alpha, 3.0])),
        N=2,
        k=range(1, 14),
        walk=of(lambda P, start: accelerated(P, start, 16)),
        w=of(lambda walk: lambda k: walk[0][k]),
        w_star=of(by_lasso),
    ),
)
prints('lasso-worst', q=Box(0.0, 0.2), t=list(range(20, 41, 5)), options={'approx': 8e-5})
prints(
    'lasso-path',
    tries=10,
    X=normal(8, 4),
    noise=normal(8),
    y=of(lambda X, noise: X @ np.array([3., -2., 4., 0.]) + noise),
    N=8,
    alpha=scalars(0.01, 0.3),
    whole=of(by_lasso),
    X_A=of(lambda X, whole: X[:, whole != 0]),
    s=of(lambda whole: np.sign(whole[whole != 0])),
    w_A=of(lambda X, y: lambda alpha: (lambda w: w[w != 0])(by_lasso(X, y, alpha))),
)

# generalization


def squared(y, guess):
    return (y - guess) ** 2


_pairs = [[np.array([0., 1.]), 1.0], [np.array([2., 1.]), -1.0], [np.array([1., -1.]), 0.5], [np.array([2., 1.]), 2.0]]
_rules = [lambda x: x[0] - x[1], lambda x: 0.5, lambda x: x @ x]


def weighted_loss(f):
    guesses = [f(x) for x, _ in _pairs]
    return mean_squared_error([y for _, y in _pairs], guesses, sample_weight=_shares)


_examples = dict(
    which=Random(range(4), _shares),
    x=of(lambda which: _pairs[which][0]),
    y=of(lambda which: _pairs[which][1]),
    f=_rules,
)


def smooth_risk(s):
    """The risk of f in the world y = 2 x + e, by Gauss's quadrature, which is exact for polynomials."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    weights = weights / weights.sum()
    return lambda f: sum(p * q * (2 * x + s * e - f(x)) ** 2 for x, p in zip(nodes, weights, strict=True)
                         for e, q in zip(nodes, weights, strict=True))


def chi_squared(freedom):
    """A random variable with four values that has the mean of chi-squared and that of one over it, by Gauss's quadrature."""
    nodes, weights = special.roots_genlaguerre(4, freedom / 2 - 2)
    return Random((2 * nodes).tolist(), (weights * nodes / (weights @ nodes)).tolist())


prints('ml.ms.generalization.def', **_examples, ell=squared, L_D=lambda f: weighted_loss(f))
prints(
    'gen-toy-risk', a=scalars(), b=scalars(), s=scalars(0.1, 3), f=of(lambda a, b: lambda x: a * x + b),
    L_D=of(lambda s: lambda f: smooth_risk(s)(f)),
)
prints(
    'ml.ms.empirical.def', f=_rules, ell=squared, S=of(lambda: [*_pairs, _pairs[0]]),
    L_S=lambda f: mean_squared_error([y for _, y in [*_pairs, _pairs[0]]], [f(x) for x, _ in [*_pairs, _pairs[0]]]),
)
_guess = [lambda x: 0.2 * x, lambda x: 0.5 + 0 * x, lambda x: x ** 2]
prints(
    'ml.ms.empirical.unbiased',
    f=_guess,
    S=Random(list(product([0.1, 0.5, 0.9], repeat=3))),
    L=lambda S, f: np.mean([f(x) for x in S]),
    L_D=lambda f: np.mean([f(x) for x in (0.1, 0.5, 0.9)]),
)
prints(
    'ml.ms.gap.claim',
    slip=('forgets the square at the range', r'''\Pr\bigg[ \big| L_{\mathcal{D}}(f) - L_{S_{\text{test}}}(f) \big| \ge
        \sqrt{\frac{(b - a) \ln(2/\delta)}{2\,|S_{\text{test}}|}} \, \bigg] \le \delta'''),
    f=of(lambda: 0.0),  # what it adds to each loss
    rate=[0.2, 0.5],
    size=[2, 12],  # of two equally likely losses the mean is off by half of the range every other time: more than 0.49
    count=Random(range(13), of(lambda rate, size: stats.binom.pmf(np.arange(13), size, rate))),
    ends=[[-2.0, 3.0], [-0.2, 0.3]],
    a=of(lambda ends: ends[0]),
    b=of(lambda ends: ends[1]),
    delta=[0.05, 0.49],
    S_test=of(lambda a, b, count, size: [b] * count + [a] * (size - count)),
    L_S=of(lambda S_test: lambda f: np.mean(S_test) + f),
    L_D=of(lambda a, b, rate: lambda f: rate * b + (1 - rate) * a + f),
)
_flattery = dict(
    n=12,
    residual=chi_squared(12 - 3),  # the squares in the n - p directions that are left, over the variance
    spread=chi_squared(12 - 3 + 1),  # 1 / this is an entry on the diagonal of the inverse of XᵀX
)
prints(
    'gen-exact', tries=5, **_flattery, p=3, sigma=scalars(0.5, 3),
    w_S=of(lambda residual, spread: np.array([residual, spread])),
    L_S=of(lambda sigma: lambda w: sigma ** 2 * w[0] / 12),
    L_D=of(lambda sigma: lambda w: sigma ** 2 * (1 + 3 / w[1])),
)
prints(
    'gen-two-parts',
    X=normal(4, 2),
    w=normal(2),
    noise=normal(4),
    sigma=scalars(0.5, 3),
    w_S=of(lambda X, w, noise: np.linalg.lstsq(X, X @ w + noise)[0]),
    L_S=of(lambda X, w, noise: lambda v: mean_squared_error(X @ w + noise, X @ v)),
    L_D=of(lambda w, sigma: lambda v: sigma ** 2 + (v - w) @ (v - w)),
)
prints(
    'dl.train-gen-error.estimate',
    S=normal(3, 3),
    w_S=of(lambda S: np.linalg.lstsq(S[:, :2], S[:, 2])[0]),
    T=Random(product(range(4), repeat=2), [p * q for p, q in product(_shares, repeat=2)]),
    L_T=of(lambda T: lambda w: np.mean([squared(_pairs[k][1], w @ _pairs[k][0]) for k in T])),
    L_D=lambda w: weighted_loss(lambda x: w @ x),
)
prints(
    'gen-u-shape', tries=5, **_flattery, q=3, sigma_q=scalars(0.5, 3),
    L_S=of(lambda sigma_q, residual: sigma_q ** 2 * residual / 12),
    L_D=of(lambda sigma_q, spread: sigma_q ** 2 * (1 + 3 / spread)),
)
def just_pays(others, n, q, s, ratio):
    """Weights, of which the one after the first q has this ratio to the least one with which to use it pays."""
    w = others.copy()
    w[q] = ratio * np.sqrt((s ** 2 + (w[q + 1:] ** 2).sum()) / (n - q - 2))
    return w


prints(
    'gen-pays',
    tries=40,
    slip=('forgets the number of examples', r'''\frac{(n - 1) \sigma_{q+1}^2}{n - q - 2} < \frac{(n - 1) \sigma_q^2}{n - q - 1} \iff
        w_{q+1}^2 > \sigma_q^2'''),
    n=[8, 12],
    q=[1, 2],
    others=vectors(4, -2, 2),
    s=scalars(0.5, 2),
    ratio=[0.99, 1.01],  # of a weight to the least one that pays
    w=of(just_pays),
    sigma=of(lambda w, s: lambda q: np.sqrt(s ** 2 + (w[q:] ** 2).sum())),
)

# polynomial_curve_fitting


def legendre(w):
    """The polynomial with these weights of Legendre's polynomials, which are scaled to mean square 1."""
    return np.polynomial.Legendre(w * np.sqrt(2 * np.arange(len(w)) + 1))


_fixed_inputs = dict(
    N=3,
    p=2,
    X=normal(3, 2),
    f=normal(3),
    sigma=scalars(0.5, 2),
    old=Random(product([-1., 1.], repeat=3)),
    y=of(lambda f, sigma, old: f + sigma * np.array(old)),
    y_hat=of(lambda X, y: X @ np.linalg.lstsq(X, y)[0]),
    D=of(lambda X, f: np.sqrt(np.linalg.lstsq(X, f)[1][0])),
)

prints(
    'polyfit-model',
    d=3,
    x=scalars(-2, 2),
    w_bold=normal(4),
    w=of(lambda w_bold: lambda j: w_bold[j]),
    v=lambda x: np.vander([x], 4, increasing=True)[0],
    y_hat=of(lambda w_bold, x: np.polynomial.polynomial.polyval(x, w_bold)),
)
prints(
    'polyfit-price',
    tries=1,
    **_fixed_inputs,
    new=Random(product([-1., 1.], repeat=3)),
    y_prime=of(lambda f, sigma, new: f + sigma * np.array(new)),
)
prints(
    'polyfit-vandermonde',
    tries=30,
    slip=('takes the rate of half the interval', r'\mathbf{x} \in [-1, 1]^N \implies \kappa(\mathbf{V}) \ge \frac{(1 + \sqrt2)^{2d}}{2\sqrt{1 + d}}'),
    ends=[(-10.0, 1.0), (-1.0, 1.0), (0.0, 1.0), (0.0, 2.0), (-1.0, 2.0), (-2.0, 1.0)],
    d=[1, 2, 4],
    N=of(lambda d: d + 3),
    x=of(lambda ends, N: ends[0] + (ends[1] - ends[0]) * (1 - np.cos(np.pi * (np.arange(N) + 0.5) / N)) / 2),  # Chebyshev's points
    V=of(lambda x, d: np.vander(x, d + 1, increasing=True)),
    kappa=np.linalg.cond,
)
prints(
    'polyfit-energy',
    tries=10,
    p=4,
    weights=normal(4),
    j_in=of(lambda: [0, 1, 2, 3]),
    w=of(lambda weights: lambda j: weights[j]),
    q=of(lambda weights: (lambda x: legendre(weights)(x))),
)

# cross_validation


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
    tries=10,
    X=normal(6, 2),
    y=normal(6),
    x=of(rows),
    k=3,
    F=of(lambda: [[1, 2], [3, 4], [5, 6]]),
    ell=lambda guess, y: (guess - y) ** 2,
    f=of(fold_fits),
    CV_k=of(cross_validated),
)

_folds = dict(
    N=7,
    k=3,
    seed=list(range(6)),
    F=of(lambda seed: [(held + 1).tolist() for _, held in KFold(3, shuffle=True, random_state=seed).split(np.zeros(7))]),
    T=of(lambda seed: [(rest + 1).tolist() for rest, _ in KFold(3, shuffle=True, random_state=seed).split(np.zeros(7))]),
)
prints(
    'dl.crossval.partition', **_folds,
    equality=dict(seed=0),  # three of seven in one fold, two in another
    also_true=2,  # a bound of 2; a difference without its bars, for i and j swapped
)
prints('dl.crossval.rounds', **_folds)
prints(
    'cv-ols-risk', tries=20, sigma=scalars(0.5, 3), d=[1, 2, 3], n=[6, 10],
    R=of(lambda sigma, d: lambda n: sigma ** 2 * (1 + np.trace(np.atleast_2d(stats.invwishart(n, np.eye(d)).mean())))),
)

# weight_decay


def decayed_by_torch(X, y, w, b, eta, beta, t, lambda_):
    """The weights after one step of torch's SGD with weight decay on the batch."""
    import torch

    batch = [i - 1 for i in beta[t - 1]]
    v = torch.tensor(w, dtype=torch.float64, requires_grad=True)
    ((torch.tensor(X[batch]) @ v + b - torch.tensor(y[batch])) ** 2 / 2).mean().backward()
    torch.optim.SGD([v], lr=eta, weight_decay=lambda_).step()
    return v.detach().numpy()


prints(
    'dl.weightdecay.degree-coarse', k=[1, 2, 3, 4], d=[0, 1, 2, 5],
    m=of(lambda k: lambda d: len(list(combinations_with_replacement(range(k), d)))),
)
prints(
    'weight-decay-objective',
    tries=20,
    X=normal(4, 2),
    y=normal(4),
    n=4,
    w=normal(2),
    b=scalars(),
    lambda_=scalars(0.1, 2),
    l=of(lambda X, y: lambda i, w, b: half_square(y[i - 1] - w @ X[i - 1] - b)),
    J=of(lambda X, y, lambda_: lambda w, b: mean_squared_error(y, predicted(X, w, b)) / 2 + lambda_ / 2 * np.linalg.norm(w) ** 2),
)
prints(
    'dl.norms-wd.decay-step',
    tries=10,
    **_hands | dict(
        lambda_=scalars(0.1, 2),
        l=of(lambda X, y: lambda i, w, b: (y[i - 1] - w @ X[i - 1] - b) ** 2 / 2),
        w_new=of(decayed_by_torch),
    ),
)

# model_selection

# two models on three examples: the share of the range that each loses there, and how often a test set of four has each. One
# law makes the test err by nearly the range, once in a million times
_losses = np.array([[0., 1., 0.], [1., 0., 0.]])
_counts = [(i, j, 4 - i - j) for i in range(5) for j in range(5 - i)]
_models = dict(
    K=2,
    N=4,
    a=[-45.0, -0.7],
    b=[15.0],
    chances=[np.array([0.96, 0.02, 0.02]), np.array([0.9, 0.05, 0.05]), np.array([0.5, 0.3, 0.2])],
    f=of(lambda: [0, 1]),
    S_test=Random([[0] * i + [1] * j + [2] * k for i, j, k in _counts], of(lambda chances: stats.multinomial(4, chances).pmf(_counts))),
    L_test=of(lambda S_test, a, b: lambda f: a + (b - a) * _losses[f][list(S_test)].mean()),
    L_D=of(lambda a, b, chances: lambda f: a + (b - a) * _losses[f] @ chances),
    k_star=of(lambda L_D: int(np.argmin([L_D(f) for f in range(2)])) + 1),
    k_hat=of(lambda L_test: int(np.argmin([L_test(f) for f in range(2)])) + 1),
)
# three models, and a test set of one example: all lose on one of two, or each on one of its own, or one on one of two and the
# others the same everywhere. A world is the losses of the models on three examples, and the chances of these.
_extreme = dict(
    K=3,
    N=1,
    world=[
        [np.array([[0., 1, 0], [1, 0, 0], [0, 1, 0]]), np.array([0.5, 0.5, 0])],
        [np.eye(3), np.ones(3) / 3],
        [np.array([[0., 1, 0], [0.4] * 3, [0.4] * 3]), np.array([0.5, 0.5, 0])],
    ],
    S_test=Random(range(3), of(lambda world: world[1])),
    ends=[[-0.2, 0.3], [2.0, 12.0]],
    a=of(lambda ends: ends[0]),
    b=of(lambda ends: ends[1]),
    epsilon=of(lambda a, b: 0.49 * (b - a)),
    f=of(lambda: [0, 1, 2]),
    L_test=of(lambda S_test, a, b, world: lambda f: a + (b - a) * world[0][f, S_test]),
    L_D=of(lambda a, b, world: lambda f: a + (b - a) * world[0][f] @ world[1]),
)


def radius(N, K, delta, a=0.0, b=1.0):
    """Where K times the two tails of Hoeffding's bound are delta, by search."""
    def tails(share):
        return np.log(2 * K) - 2 * N * share ** 2 - np.log(delta)
    return (b - a) * optimize.brentq(tails, 0, 10, xtol=1e-14)


prints(
    'ms-one',
    slip=('forgets the square at the range', r'''\Pr\big[ |L_{\mathcal{D}}(f) - L_{\text{test}}(f)| \ge \epsilon \big]
        \le 2 e^{-2N\epsilon^2/(b - a)}'''),
    **_extreme | dict(f=[0, 1, 2], share=[0.49, 0.9], epsilon=of(lambda a, b, share: share * (b - a))),
)
prints(
    'ml.ms.union.union',
    also_true=4,  # 3 K; the bound without its factor, with the exponent 1, or with its sign turned, which is above K
    **_extreme,
)
prints(
    'ml.ms.union.eps-k', tries=30, K=[1, 5], N=[3, 10], a=scalars(-2, 0), b=scalars(1, 6), delta=scalars(0.05, 0.9),
    off=[0.0, 0.5],
    epsilon=of(lambda N, K, delta, a, b, off: radius(N, K, delta, a, b) + off),
)
prints(
    'ml.ms.k-errors.claim',
    tries=40,
    slip=[
        ('forgets the square at the range', r'''\Pr\bigg[ \max_k |L_{\mathcal{D}}(f_k) - L_{\text{test}}(f_k)| \ge
        \sqrt{\frac{(b - a) \ln(2K/\delta)}{2\,|S_{\text{test}}|}} \, \bigg] \le \delta'''),
        ('a fifth nearer', r'''\Pr\bigg[ \max_k |L_{\mathcal{D}}(f_k) - L_{\text{test}}(f_k)| \ge
        0.8 \sqrt{\frac{(b - a)^2 \ln(2K/\delta)}{2\,|S_{\text{test}}|}} \, \bigg] \le \delta'''),
    ],
    # on two equally likely examples each model is off by half of the range for two of sixteen test sets: more than 0.12
    **_models | dict(
        K=[1, 2], a=[-45.0], f=of(lambda K: [0, 1][:K]),
        chances=[np.array([0.96, 0.02, 0.02]), np.array([0.5, 0.5, 0]), np.array([0.5, 0.3, 0.2])]),
    delta=[0.05, 0.12, 0.7, 0.9],
)
prints('ml.ms.k-errors.cheap', epsilon=lambda K: radius(100, K, 0.05), options={'approx': 5e-3})
prints(
    'ms-chain',
    slip=('spends the deviation only once', r'''\max_k |L_{\mathcal{D}}(f_k) - L_{\text{test}}(f_k)| < \epsilon \implies
        L_{\mathcal{D}}(f_{\hat k}) < L_{\mathcal{D}}(f_{k^*}) + \epsilon'''),
    f=of(lambda: [0, 1, 2]),
    true=[np.array([0.0, 0.3, 1.0])],
    off=[*(0.2 * np.array(signs) for signs in product([-1., 1.], repeat=3)), np.array([0, 0, 0.2]), np.array([0, -0.5, 0])],
    epsilon=[0.15, 0.21],
    L_D=of(lambda true: lambda f: true[f]),
    L_test=of(lambda true, off: lambda f: true[f] + off[f]),
    k_star=of(lambda true: int(np.argmin(true)) + 1),
    k_hat=of(lambda true, off: int(np.argmin(true + off)) + 1),
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
prints(
    'ml.ms.union.selection-tail',
    tries=12,
    slip=('forgets the square at the range', r'''\Pr\big[ L_{\mathcal{D}}(f_{\hat k}) - L_{\mathcal{D}}(f_{k^*}) \ge 2\epsilon \big]
        \le 2K e^{-2N\epsilon^2/(b - a)}'''),
    **_models | dict(a=[-1500.0], b=[500.0]),
    share=[0.05, 0.08, 0.2, 0.9],
    epsilon=of(lambda a, b, share: share * (b - a)),
)
prints(
    'ml.ms.union.selection',
    tries=12,
    slip=('forgets the square at the range', r'''\Pr\bigg[ L_{\mathcal{D}}(f_{\hat k}) \ge L_{\mathcal{D}}(f_{k^*}) + 2 \sqrt{\frac{(b - a)
        \ln(2K/\delta)}{2\,|S_{\text{test}}|}} \, \bigg] \le \delta'''),
    **_models | dict(a=[-1500.0], b=[500.0]),
    delta=[0.05, 0.7, 0.9],
)
prints(
    'ms-vote',
    N=[51, 101],
    K=25,
    mu=of(lambda N: abs(2 * np.arange(N + 1) - N) @ stats.binom.pmf(np.arange(N + 1), N, 0.5) / N),
    B=Random(range(26), of(lambda mu: stats.binom.pmf(np.arange(26), 25, (1 + mu) / 2))),
    Phi=stats.norm.cdf,
    options={'approx': 1e-2},
)
prints(
    'ms-adaptive', a=scalars(-2, 0), b=scalars(1, 6), K=[1, 4], m=[2, 3], N=[10, 50], delta=scalars(0.05, 0.9),
    epsilon=of(lambda N, K, m, delta, a, b: radius(N, m ** K, delta, a, b)),
)

# bias_variance


def line_through(points):
    """The line through two points, as a function."""
    (s, t), (u, v) = points
    return lambda x: t + (x - s) * (v - t) / (u - s)


_world = [(-1., 0.5), (0., -1.), (2., 1.5)]
_training = [[_world[i], _world[j]] for i, j in permutations(range(3), 2)]
_fits = dict(
    S=Random(_training),
    f_S=of(lambda S: lambda x: line_through(S)(x)),
    x_0=scalars(-3, 3),
    f=[lambda x: x ** 2 - 1, lambda x: 0.5 * x],
    f_bar=lambda x: np.mean([line_through(S)(x) for S in _training]),
    epsilon=Random([-1., 0.5], [1 / 3, 2 / 3]),
    sigma=np.sqrt(0.5),
    y_0=of(lambda f, x_0, epsilon: f(x_0) + epsilon),
)
prints(
    'ml.bv.expected-risk',
    tries=20,
    **_fits | dict(
        pair=Random(range(3), [0.5, 0.3, 0.2]),
        x=of(lambda pair: _world[pair][0]),
        y=of(lambda pair: 2 * _world[pair][1]),
        L_D=lambda f: mean_squared_error([2 * t for _, t in _world], [f(x) for x, _ in _world], sample_weight=[0.5, 0.3, 0.2]),
    ),
)
prints('ml.bv.three-terms', tries=10, **_fits)
prints(
    'ml.bv.formula', tries=4, **_fits, S_prime=Random(_training), f_S_prime=of(lambda S_prime: lambda x: line_through(S_prime)(x)),
)


def ridge_weights(X):
    """The weights of the targets in a prediction at x, by ridge regression."""
    return lambda x: X @ np.linalg.solve(X.T @ X + np.eye(2), np.array([1.0, x]))


def predictions(X, f_bold, sigma, x_0):
    """What the library's ridge regression predicts at x_0, for all signs of the noise."""
    signs = np.array(list(product([-1., 1.], repeat=4)))
    return Ridge(alpha=1.0, fit_intercept=False).fit(X, (f_bold + sigma * signs).T).predict([[1.0, x_0]])


prints(
    'bv-smoother',
    tries=20,
    X=normal(4).map(lambda x: np.column_stack([np.ones(4), x])),
    x_0=scalars(-3, 3),
    f=lambda x: x ** 2,
    f_bold=of(lambda X: X[:, 1] ** 2),
    sigma=scalars(0.5, 2),
    s=of(ridge_weights),
    guesses=of(lambda X, f_bold, sigma, x_0: predictions(X, f_bold, sigma, x_0).ravel()),
    bias=of(lambda guesses, x_0: guesses.mean() - x_0 ** 2),
    variance=of(lambda guesses: guesses.var()),
)
