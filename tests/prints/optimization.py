"""Optimization: the meanings of letters."""
from itertools import product

import numpy as np
from scipy import integrate, optimize, spatial, special, stats

from nbutils.cases import integers, matrices, scalars, seeds, vectors
from nbutils.printed import Box, Random, of
from tests.prints import normal, prints

_bowl = [lambda w: (w[0] - 1) ** 2 + 2 * (w[1] + w[0]) ** 2, lambda w: np.cosh(w[0] - 1) + (w[1] + 1) ** 4 + (w[1] + 1) ** 2]


def unit(n, k):
    return np.eye(n)[k]

_hess = np.array([[3., 1], [1, 2]])

_quad = dict(f=lambda x: x @ _hess @ x / 2 + x[0])


def quad_slope(x):
    return _hess @ x + unit(2, 0)


def by_torch(momentum, rates, steps=6):
    """The iterates of torch's SGD, and their differences."""
    import torch
    x = torch.tensor([2., -1.], dtype=torch.float64, requires_grad=True)
    optimizer, seen = torch.optim.SGD([x], lr=1., momentum=0), [x.detach().numpy().copy()]
    velocity = np.zeros(2)
    for t in range(1, steps):
        optimizer.zero_grad()
        (x @ torch.tensor(_hess) @ x / 2 + x[0]).backward()
        velocity = momentum * velocity - rates[t] * x.grad.numpy()
        with torch.no_grad():
            x += torch.tensor(velocity)
        seen.append(x.detach().numpy().copy())
    return seen

_rates = [0, 0.1, 0.2, 0.15, 0.1, 0.3]

_path, _plain = by_torch(0.9, _rates), by_torch(0.0, _rates)

_moving = dict(**_quad, t=range(2, 6), eta=lambda t: _rates[t], x=lambda t: _path[t], lambda_=0.9,
               g=lambda t: _path[t] - _path[t - 1] if t else np.zeros(2))

prints('aw.momentum.momentum', **_moving)
prints('aw.momentum.update', **_moving)
prints('aw.momentum.expanded', **_moving)
prints('aw.gd.gd-step', **_moving | dict(x=lambda t: _plain[t]))

def on_diamond(x):
    t = abs(x)
    if t.sum() <= 1:
        return 0.0
    return optimize.brentq(lambda theta: np.maximum(t - theta, 0).sum() - 1, 0, t.max())


def nearest_on_diamond(x):
    corners = np.array(list(product([-1, 1], repeat=3)))  # |v|_1 <= 1 as eight half-spaces
    best = optimize.minimize(lambda v: (v - x) @ (v - x), np.zeros(3), jac=lambda v: 2 * (v - x), method='SLSQP',
                             constraints={'type': 'ineq', 'fun': lambda v: 1 - corners @ v, 'jac': lambda v: -corners},
                             options={'ftol': 1e-15, 'maxiter': 500})
    return np.round(best.x, 6)

prints(
    'convex_sets-diamond',
    x=vectors(3, -2, 2),
    theta=of(lambda x: round(on_diamond(x), 6)),
    p=of(lambda x: nearest_on_diamond(x)),
)
prints('subgradients-worst', f=lambda w: max([*w[:3], np.sqrt(w @ w) - 1 - 3 ** -0.5]), w=vectors(5), k=3)
prints('convex_functions-quadratic-gap', u=vectors(3), v=vectors(3), A=matrices(3, 3), lambda_=scalars(0, 1))
prints(
    'ml.opt.gd-mse.residual',
    X=normal(4, 2),
    y=normal(4),
    w=normal(2),
    e=of(lambda X, y, w: np.array([b - a @ w for a, b in zip(X, y, strict=True)])),
)

# convex sets


def in_ellipse(v):
    return (v[0] - 3) ** 2 + 4 * (v[1] - 2) ** 2 <= 4


def in_disc(v):
    return v[0] ** 2 + v[1] ** 2 <= 2


def in_half_plane(v):
    return v[0] + 2 * v[1] <= 0.5


def in_star(v):
    return abs(v[0]) ** 0.5 + abs(v[1]) ** 0.5 <= 1


def in_ring(v):
    return 1 <= v[0] ** 2 + v[1] ** 2 <= 3


def in_strip(v):
    return 3 <= v[0] + v[1] <= 6


_grid = [np.array(v) for v in product(np.linspace(-2, 2, 9), repeat=2)]


def midpoints_stay(member):
    """Whether the middle of each two members among the points of a grid is a member."""
    inside = [v for v in _grid if member(v)]
    return all(member((a + b) / 2) for a in inside for b in inside)


prints(
    'dl.convex-sets.definition',
    tries=40,
    C=[in_ellipse, in_strip],
    a=vectors(2, 1, 4),
    b=vectors(2, 1, 4),
    lambda_=scalars(-1, 2),
    also_true=2,  # a mixture of a point with itself
)
prints(
    'ml.opt.convex-sets.intersection',
    tries=12,
    C=[[in_disc, in_half_plane], [in_disc, in_ring], [in_star, in_half_plane], [in_half_plane, in_strip]],
    I=of(lambda: [1, 2]),
    i=range(1, 3),
    is_convex=midpoints_stay,
    slip=('takes the union', r'\bigcup_{i \in I} C_i \text{ is convex} \qquad \text{if } C_i \text{ is convex }\text{for all } i \in I'),
)

_line = np.linspace(-2, 2, 17)
_curves = [np.square, np.exp, abs, np.tanh, lambda t: -t, lambda t: np.sqrt(abs(t)), lambda t: (t * t - 1) ** 2, lambda t: max(t, 0.3 - t)]


def never_bends_down(f):
    heights = np.array([f(t) for t in _line])
    return bool(np.all(np.diff(heights, 2) >= -1e-12))


def has_all_segments(member):
    """Whether the segment between each two members, on or above the line's grid, stays in a set of the plane."""
    heights = (-1.0, 0.0, 0.3, 1.0, 1.5, 4.0, 9.0)
    inside = [np.array([x, s]) for x in _line for s in heights if member(np.array([x, s]))]
    return all(member((a + b) / 2) for a in inside for b in inside)


prints(
    'dl.convexity.need-defs',
    tries=20,
    f=_curves,
    epi=lambda f: lambda v: v[1] >= f(v[0]) - 1e-12,
    sub=lambda f: lambda v: f(v[0]) <= 0.5,
    is_convex=never_bends_down,
    is_a_convex_set=has_all_segments,
    slip=('takes the set of points where f is low', r'f \text{ is convex} \iff \operatorname{sub} f \text{ is a convex set}'),
)

_cloud = list(np.random.default_rng(3).normal(size=(7, 2)).round(2))


def nearest_in_cloud(x):
    return _cloud[spatial.cKDTree(_cloud).query(x)[1]]


prints('ml.opt.convex-sets.projection-def', C=of(lambda: _cloud), P_C=nearest_in_cloud, x=vectors(2, -3, 3))
prints('ml.opt.pgd.projection', C=of(lambda: _cloud), P_C=nearest_in_cloud, w_prime=vectors(2, -3, 3))


def nearest_in_simplex(x, r):
    """The nearest of all points that are zero outside some set of coordinates and best on it."""
    best = None
    for kept in product([0.0, 1.0], repeat=len(x)):
        kept = np.array(kept)
        if kept.any():
            p = kept * (x - ((kept * x).sum() - r) / kept.sum())
            if p.min() >= -1e-12 and (best is None or np.linalg.norm(p - x) < np.linalg.norm(best - x)):
                best = p
    return best


prints(
    'convex_sets-simplex',
    x=vectors(3, -2, 2),
    r=scalars(0.2, 3),
    theta=of(lambda x, r: optimize.brentq(lambda t: np.maximum(x - t, 0).sum() - r, -9, 9, xtol=1e-13)),
    p=of(nearest_in_simplex),
)

_table = np.random.default_rng(5).normal(size=(40, 5)) @ np.random.default_rng(6).normal(size=(5, 5))
_table = (_table - _table.mean(0)) / _table.std(0)
_correlation = np.corrcoef(_table.T)

prints(
    'convex_sets-fill',
    x_o=vectors(3),
    R_mo=_correlation[:2, 2:],
    R_oo=_correlation[2:, 2:],
    x_hat_m=of(lambda x_o: x_o @ np.linalg.lstsq(_table[:, 2:], _table[:, :2], rcond=None)[0]),
)

# convex functions

_psd = np.array([[2., 1, 0], [1, 3, -1], [0, -1, 1]])
_humps = [np.sin, np.tanh]


def norm1(v):
    return abs(v).sum()


def quadratic(v):
    return v @ _psd @ v


_convex = [norm1, quadratic, lambda v: special.logsumexp(v), lambda v: np.exp(v[0]) - v[1]]

prints(
    'dl.convex-fn.definition',
    f=_convex,
    x=vectors(3, -3, 3),
    x_prime=vectors(3, -3, 3),
    lambda_=scalars(0, 1),
    equality={'f': norm1, 'x': np.array([1., 2, 0]), 'x_prime': np.array([3., 0, 0]), 'lambda': 0.3},
)
prints(
    'ml.convexity.jensen',
    h=_convex,
    u=vectors(3, -3, 3),
    v=vectors(3, -3, 3),
    D=3,
    lambda_=scalars(-1, 2),
    equality={'h': norm1, 'u': np.array([1., 2, 0]), 'v': np.array([3., 0, 0]), 'lambda': 0.3},
)
prints(
    'ml.convexity.strict',
    h=[np.square, np.exp],
    u=integers(-2, 2),
    v=integers(-2, 2),
    lambda_=scalars(-1, 2),
    slip=(
        'lets the two points be the same',
        r'h(\lambda u + (1 - \lambda) v) < \lambda h(u) + (1 - \lambda) h(v) \qquad \forall 0 < \lambda < 1 .',
    ),
)
prints(
    'ml.convexity.mse-linear',
    tries=10,
    N=4,
    X=normal(4, 2),
    y=normal(4),
    w=normal(2),
    d=normal(2),
    L=of(lambda X, y: lambda w: np.mean((y - X @ w) ** 2)),
)

_soft = np.array([[5., 2], [2, 2]])  # eigenvalues 1 and 6, that of 1 along (1, -2)
_soft_way = np.array([1., -2])


def strongly_convex(v):
    return v @ _soft @ v / 2 + v[0] ** 4 / 4


def strong_bowl(v):
    return v @ _soft @ v / 2


_strong = dict(f=[strong_bowl, strongly_convex], mu=1.0)

prints(
    'convex_functions-strong',
    **_strong,
    tries=20,
    x=vectors(2, -2, 2),
    y=vectors(2, -2, 2),
    equality=dict(f=strong_bowl, x=np.ones(2), y=np.ones(2) + _soft_way),
)
prints(
    'convex_functions-distance',
    **_strong,
    tries=20,
    x=vectors(2, -2, 2),
    x_star=np.zeros(2),
    equality=dict(f=strong_bowl, x=_soft_way),
)
prints(
    'ml.convexity.sum',
    f=_curves,
    g=_curves,
    convex=never_bends_down,
    slip=('takes the difference', r'f, g \text{ convex} \implies f - g \text{ convex.}'),
)

_conjugates = {
    'bowl': (lambda t: t * t / 2, lambda s: s * s / 2),
    'exponential': (np.exp, lambda s: s * np.log(s) - s),
    'softplus': (lambda t: np.log1p(np.exp(t)), lambda s: s * np.log(s) + (1 - s) * np.log1p(-s)),
}


def conjugate(f):
    return next(g for h, g in _conjugates.values() if h is f)


_touching = dict(f=[f for f, _ in _conjugates.values()], f_star=of(lambda f: lambda s: conjugate(f)(s)), s=scalars(0.1, 0.9))

prints('convex_functions-conjugate', **_touching, tries=12, x=Box(-9, 9))
prints(
    'convex_functions-fenchel-young',
    **_touching,
    x=scalars(-4, 4),
    equality=dict(f=np.exp, x=np.log(0.3), s=0.3),
)

# Jensen's inequality


def below_zero(t):
    return t * t - 300.0


def affine(t):
    return 3 * t - 50.0


_cups = [np.exp, below_zero, affine, lambda t: -np.log(t + 11), lambda t: max(t, -2 * t) - 40]


def shares(*n):
    """Positive numbers that add to one along the last axis."""
    return seeds().map(lambda seed: np.random.default_rng(seed).dirichlet(np.ones(n[-1]), n[:-1] or None))


prints(
    'dl.jensen.finite',
    f=_cups,
    x=vectors(4, -3, 3),
    alpha=shares(4),
    equality=dict(f=affine, x=np.arange(4.), alpha=np.full(4, 0.25)),
)
prints(
    'dl.jensen.induction',
    f=_cups,
    x=vectors(4, -3, 3),
    alpha=shares(4),
    x_prime=of(lambda x, alpha: np.average(x[:2], weights=alpha[:2])),
    equality=dict(f=affine, x=np.arange(4.), alpha=np.full(4, 0.25)),
)
prints('dl.jensen.expectation', f=_cups, X=Random([-2., 0., 1., 5.], [0.2, 0.3, 0.4, 0.1]), equality=dict(f=affine))


def divergence(p, q):
    return special.rel_entr(p, q).sum()


prints('eq-jensen-kl', p=shares(3).map(lambda p: np.append(p, 0.0)), q=shares(4), KL=divergence)

_prior, _given = np.array([0.2, 0.5, 0.3]), np.array([[0.1, 0.2, 0.7], [0.5, 0.2, 0.3], [0.3, 0.2, 0.5]])  # P(y), P(x | y)


def joint(*values):
    """P(y), P(x) or P(x, y), where y is 1, 2 or 3 and x is 11, 12 or 13."""
    y, x = next((v for v in values if v < 10), None), next((v for v in values if v > 10), None)
    table = _prior[:, None] * _given
    return table[slice(None) if y is None else y - 1, slice(None) if x is None else x - 11].sum()


_hidden = dict(P=joint, P_given=lambda x, y: _given[y - 1, x - 11], x=[11, 12, 13])

prints('dl.jensen.latent', **_hidden, Y=Random([1, 2, 3], _prior.tolist()), equality=dict(x=12))
prints(
    'eq-jensen-elbo',
    **_hidden,
    weights=shares(3),
    q=of(lambda weights: lambda y: weights[y - 1]),
    Y=Random([1, 2, 3], of(lambda weights: weights)),
    also_true=1,  # exp P(x), which is above one, on the left
    P_Y=of(lambda: _prior),
    KL=lambda q, p: divergence(np.array([q(1), q(2), q(3)]), p),
)


def mixture_posterior(x, mu, pi):
    joint = pi * stats.norm.pdf(x[:, None] - mu)
    return joint / joint.sum(1, keepdims=True)


_x, _mu, _pi = np.array([0.5, -1, 2, 0]), np.array([-1.0, 0.3, 2]), np.array([0.2, 0.5, 0.3])

prints(
    'dl.jensen.simpler-bound',
    x=vectors(4, -3, 3),
    mu=vectors(3, -3, 3),
    pi=shares(3),
    q=shares(4, 3),
    phi=lambda t: np.exp(-t * t / 2) / np.sqrt(2 * np.pi),
    equality=dict(x=_x, mu=_mu, pi=_pi, q=mixture_posterior(_x, _mu, _pi)),
)


def gaussian_divergence(p, q):
    """By an integral, of two pairs (mean, variance)."""
    p, q = (stats.norm(mean, np.sqrt(variance)) for mean, variance in (p, q))
    around = p.mean() + p.std() * np.array([-12, 12])
    return integrate.quad(lambda t: p.pdf(t) * (p.logpdf(t) - q.logpdf(t)), *around, epsabs=1e-12, epsrel=1e-12)[0]


prints(
    'eq-jensen-gaussian-kl',
    tries=10,
    m=scalars(-2, 2),
    m_prime=scalars(-2, 2),
    s=scalars(0.3, 2),
    s_prime=scalars(0.3, 2),
    Normal=lambda mean, variance: (mean, variance),
    KL=gaussian_divergence,
)


def factor_model(seed):
    """(loadings, mean, picture, variance of the noise) of x = c + W z + noise."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(4, 2)), rng.normal(size=4), rng.normal(size=4), 0.5 + rng.random()


def factor_evidence(seed, x):
    W, c, _, noise = factor_model(seed)
    return stats.multivariate_normal(c, W @ W.T + noise * np.eye(4)).logpdf(x)


def best_mean_field(seed):
    """The largest lower bound by a Gaussian with independent coordinates, by a search over its means and variances."""
    W, c, x, noise = factor_model(seed)

    def minus_bound(m_and_log_v):
        m, v = m_and_log_v[:2], np.exp(m_and_log_v[2:])
        miss = ((x - c - W @ m) ** 2).sum() + (W ** 2).sum(0) @ v
        fit = -2 * np.log(2 * np.pi * noise) - miss / (2 * noise)
        return -fit + (m @ m + v.sum() - 2 - np.log(v).sum()) / 2
    return -optimize.minimize(minus_bound, np.zeros(4), method='BFGS', options={'gtol': 1e-8}).fun


prints(
    'eq-jensen-mean-field',
    tries=10,
    seed=seeds(),
    P=of(lambda seed: lambda x: np.exp(factor_evidence(seed, x))),
    x=of(lambda seed: factor_model(seed)[2]),
    bound=of(lambda seed: best_mean_field(seed)),
    Lambda=of(lambda seed: np.eye(2) + factor_model(seed)[0].T @ factor_model(seed)[0] / factor_model(seed)[3]),
)


def importance_bound(K):
    """The mean of the logarithm of the mean of K weights, over all draws of three hidden values."""
    draws = np.array(list(product(range(3), repeat=K)))
    joint, q = _prior * _given[:, 1], np.array([0.6, 0.2, 0.2])
    return q[draws].prod(1) @ np.log((joint / q)[draws].mean(1))


_draws = np.array(list(product(range(3), repeat=3)))
_proposal = np.array([0.6, 0.2, 0.2])

prints(
    'eq-jensen-iw',
    K=3,
    L=importance_bound,
    w=Random(list((_prior * _given[:, 1] / _proposal)[_draws]), _proposal[_draws].prod(1).tolist()),
    P=lambda x: _prior @ _given[:, 1],
    x=np.zeros(2),
    also_true=3,  # exp P(x) on the right; L_K and L_{K+2} above L_K
)
