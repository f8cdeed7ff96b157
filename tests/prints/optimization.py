"""Optimization: the meanings of letters."""
from itertools import combinations, product

import numpy as np
from hypothesis import strategies
from scipy import integrate, optimize, spatial, special, stats
from sklearn import linear_model, metrics

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


def by_torch(rates, steps=6):
    """The iterates of gradient descent, with gradients from torch."""
    import torch
    x = torch.tensor([2., -1.], dtype=torch.float64, requires_grad=True)
    optimizer, seen = torch.optim.SGD([x], lr=1.), [x.detach().numpy().copy()]
    for t in range(1, steps):
        optimizer.param_groups[0]['lr'] = rates[t]
        optimizer.zero_grad()
        (x @ torch.tensor(_hess) @ x / 2 + x[0]).backward()
        optimizer.step()
        seen.append(x.detach().numpy().copy())
    return seen

_rates = [0, 0.1, 0.2, 0.15, 0.1, 0.3]

_plain = by_torch(_rates)

prints('aw.gd.gd-step', **_quad, t=range(2, 6), eta=lambda t: _rates[t], x=lambda t: _plain[t])

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
    h=[np.square, np.exp, lambda x: x * x - 9],
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


def steep_bowl(v):
    return 1.5 * strong_bowl(v)


_strong = dict(f=[steep_bowl, lambda v: 1.5 * strongly_convex(v)], mu=1.5)
_aside = np.array([1., -2])  # a minimizer that is not zero, whose sign would not matter

prints(
    'convex_functions-strong',
    **_strong,
    tries=20,
    x=vectors(2, -2, 2),
    y=vectors(2, -2, 2),
    equality=dict(f=steep_bowl, x=np.ones(2), y=np.ones(2) + _soft_way),
)
prints(
    'convex_functions-distance',
    f=[lambda v, f=f: f(v - _aside) for f in _strong['f']],
    mu=_strong['mu'],
    tries=20,
    x=vectors(2, -2, 2),
    x_star=_aside,
    equality=dict(f=lambda v: steep_bowl(v - _aside), x=_aside + _soft_way),
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
    equality=dict(f=affine, x=np.arange(4.), alpha=np.array([0, 0.25, 0.25, 0.5])),
)
prints(
    'dl.jensen.induction',
    f=_cups,
    x=vectors(4, -3, 3),
    alpha=shares(4),
    x_prime=of(lambda x, alpha: np.average(x[:2], weights=alpha[:2])),
    equality=dict(f=affine, x=np.arange(4.), alpha=np.array([0, 0.25, 0.25, 0.5])),
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


_x, _mu, _pi = np.array([0.5, -1, 2, 0]), np.array([-1.0, 0.3]), np.array([0.2, 0.8])

prints(
    'dl.jensen.simpler-bound',
    x=vectors(4, -3, 3),
    mu=vectors(2, -3, 3),
    pi=shares(2),
    q=shares(4, 2),
    phi=lambda t: np.exp(-t * t / 2) / np.sqrt(2 * np.pi),
    equality=dict(x=_x, mu=_mu, pi=_pi, q=mixture_posterior(_x, _mu, _pi)),
)


def gaussian_divergence(p, q):
    """By an integral, of two pairs (mean, variance)."""
    p, q = (stats.norm(mean, np.sqrt(variance)) for mean, variance in (p, q))
    t = p.mean() + p.std() * np.linspace(-12, 12, 97)  # for such a bell, trapezia as narrow as these leave no error
    return integrate.trapezoid(p.pdf(t) * (p.logpdf(t) - q.logpdf(t)), t)


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

# gradient descent


def double_well(w):
    return w[0] ** 4 - 2 * w[0] ** 2 + 0.5 * w[0] + w[1] ** 2


_deepest = np.array([optimize.brentq(lambda t: 4 * t ** 3 - 4 * t + 0.5, -2, -0.6, xtol=1e-15), 0.0])

prints('ml.opt.global-min', L=double_well, D=2, w=vectors(2, -2, 2), w_star=_deepest, equality=dict(w=_deepest))


def unit_steps_by_torch(steps=6):
    """Iterates of torch's SGD on gradients that are scaled to length one, and the directions of the steps."""
    import torch
    x = torch.tensor([2., -1.], dtype=torch.float64, requires_grad=True)
    seen, directions = [x.detach().numpy().copy()], [np.zeros(2)]
    for t in range(1, steps):
        optimizer = torch.optim.SGD([x], lr=_rates[t])
        optimizer.zero_grad()
        (x @ torch.tensor(_hess) @ x / 2 + x[0]).backward()
        torch.nn.utils.clip_grad_norm_([x], 1.0)
        directions.append(-x.grad.numpy() / np.linalg.norm(x.grad.numpy()))
        optimizer.step()
        seen.append(x.detach().numpy().copy())
    return seen, directions


_unit_path, _unit_ways = unit_steps_by_torch()

prints('aw.gd.step', t=range(1, 6), x=lambda t: _unit_path[t], eta=lambda t: _rates[t], p=lambda t: _unit_ways[t])
prints(
    'aw.gd.descent-def',
    f=lambda x: x @ x,
    x=(vectors(2, -3, 3) | vectors(2, -0.3, 0.3)).filter(np.any),
    p=of(lambda x: -x / np.linalg.norm(x)),
    eta_bar=of(lambda x: 2 * np.linalg.norm(x)),
    share=scalars(0, 3),
    eta=of(lambda share, x: share * np.linalg.norm(x)),
    slip=('takes twice the bound', r'f(\mathbf{x} + \eta \, \mathbf{p}) < f(\mathbf{x}) \qquad \text{for all } 0 < \eta < 2 \bar\eta'),
)


def polar(angle):
    return np.array([np.cos(angle), np.sin(angle)])


def turned(v, angle):
    return polar(np.arctan2(v[1], v[0]) + angle)


_places = [np.array(v) for v in [(1., 2), (-1., 0.5), (0.3, -2), (2., 2), (-3., 1)]]
_around = dict(**_quad, x=lambda t: _places[t], t=range(1, 5))

prints(
    'aw.gd.dir-nonpos',
    **_around,
    p=lambda t: turned(-quad_slope(_places[t - 1]), 0.35 * t),
    slip=('goes the other way', r'D_{-\mathbf{p}_t} f(\mathbf{x}_{t-1}) \le 0'),
)
_at_an_angle = dict(
    **_around,
    p=lambda t: polar(2.2 * t),
    alpha=of(lambda t: 2.2 * t - np.arctan2(*quad_slope(_places[t - 1])[::-1])),
)
prints('aw.gd.cosine', **_at_an_angle | dict(p=lambda t: 1.5 * polar(2.2 * t)))
prints('aw.gd.cosine-unit', **_at_an_angle)
prints(
    'aw.gd.half-circle',
    alpha=scalars(-1, 7),
    slip=('takes the lower half', r'\cos\alpha < 0 \quad \text{for} \quad \pi < \alpha < 2 \pi'),
)


def steepest_by_search(x):
    """The unit vector along which a quadratic falls fastest, by values of the quadratic alone."""
    f = _quad['f']

    def slope(angle):
        return f(x + polar(angle) / 2) - f(x - polar(angle) / 2)
    near = min(np.linspace(0, 2 * np.pi, 60), key=slope)
    return polar(optimize.minimize_scalar(slope, bounds=(near - 0.1, near + 0.1), method='bounded', options={'xatol': 1e-11}).x)


prints('aw.gd.steepest', **_around, p=lambda t: steepest_by_search(_places[t - 1]))
prints(
    'aw.gd.greatest-increase',
    **_quad,
    x=vectors(2, -3, 3),
    p=scalars(-4, 4).map(polar),
    equality=[dict(x=np.ones(2), p=turned(quad_slope(np.ones(2)), angle)) for angle in (0, np.pi)],
)
prints(
    'aw.gd.closed-form',
    tries=10,
    a=scalars(-2, 4).filter(lambda a: abs(a) > 0.5),
    b=scalars(-20, 20),
    x=Box(-60, 60),
    options={'approx': 1e-6},
)
prints(
    'gradient_descent-decrease',
    f=strong_bowl,
    L=6,
    x=vectors(2, -3, 3),
    eta=scalars(-1, 1),
    equality=dict(x=np.array([2., 1]), eta=0.3),
)


def descent(x, eta=0.2):
    """The walk from x on the bowl with curvatures 1 and 6, in closed form."""
    return lambda t: np.linalg.matrix_power(np.eye(2) - eta * _soft, t) @ x


prints(
    'gradient_descent-sum',
    f=lambda v: strong_bowl(v) - 3,
    inf_f=-3.0,
    L=6,
    eta=0.2,
    x=[descent(np.array([1., -1]))],
    equality=dict(x=descent(np.array([2., 1]))),
)
_even = by_torch([0.1] * 6)

prints('ml.opt.gd.update', L=_quad['f'], t=range(0, 5), w=lambda t: _even[t], eta=0.1)
prints(
    'gradient_descent-iterate',
    A=_hess,
    eta=0.1,
    t=range(1, 5),
    x=lambda t: _even[t],
    x_star=-np.linalg.inv(_hess)[:, 0],
)


def rows(X):
    return list(X)


_regression = dict(N=4, X=normal(4, 2), y=normal(4), w=normal(2), x=of(rows))
_residuals = of(lambda X, y, w: np.array([b - a @ w for a, b in zip(X, y, strict=True)]))


def half_mean_square(X, y):
    return lambda w: metrics.mean_squared_error(y, X @ w) / 2


prints('ml.opt.gd-mse.loss-matrix', **_regression, L=of(lambda X, y: lambda w: half_mean_square(X, y)(w)), e=_residuals, tries=20)
prints('ml.opt.gd-mse.grad', **_regression, L=of(lambda X, y: lambda w: half_mean_square(X, y)(w)), e=_residuals, tries=10)
prints('ml.opt.gd-mse.loss', **_regression, e=_residuals, tries=10)

# stationary points


def camel(x):
    u, v = x
    return (4 - 2.1 * u ** 2 + u ** 4 / 3) * u ** 2 + u * v + 4 * (v ** 2 - 1) * v ** 2


def camel_flat_points():
    """The fifteen stationary points of the camel, from one polynomial."""
    P = np.polynomial.Polynomial
    u = P([0, 1])
    v = -8 * u + 8.4 * u ** 3 - 2 * u ** 5  # where the first component of the gradient vanishes
    roots = (u - 8 * v + 16 * v ** 3).roots()
    real = np.sort(roots[abs(roots.imag) < 1e-9].real)
    return [np.array([t, v(t)]) for t in real]


_flat = camel_flat_points()
_minima = [x for x in _flat if np.all(np.linalg.eigvalsh(
    [[8 - 25.2 * x[0] ** 2 + 10 * x[0] ** 4, 1], [1, 48 * x[1] ** 2 - 8]]) > 0)]
_lowest = min(_minima, key=camel)
_off = [np.array(v) for v in [(0.1, 0.1), (1.5, -0.6), (-0.5, 0.2), (0.5, -8 * 0.5 + 8.4 * 0.5 ** 3 - 2 * 0.5 ** 5)]]


def lie_close(x, y):
    return np.linalg.norm(x - y) < 0.1


def turns_otherwise_than_a_slope(x):
    """Whether the values on a small circle around x change from lower to higher and back otherwise than once."""
    ring = [camel(x + 1e-3 * polar(angle)) > camel(x) for angle in np.linspace(0, 2 * np.pi, 49)]
    return sum(a != b for a, b in zip(ring, ring[1:], strict=False)) != 2


prints(
    'aw.gd-conv.only-increase',
    f=lambda x: camel(x),
    x_plus=_minima,
    nudge=vectors(2, -0.2, 0.2),
    x=of(lambda x_plus, nudge: x_plus + nudge),
    near=lie_close,
    equality=dict(x=_minima[0], x_plus=_minima[0]),
)
for _label in ('aw.gd-conv.grad-zero', 'aw.gd-conv.stationary'):
    prints(
        _label,
        f=camel,
        x_plus=[optimize.minimize(camel, x, method='Nelder-Mead', options={'xatol': 1e-9, 'fatol': 1e-16}).x for x in _minima]
        if _label.endswith('zero') else _flat,
        slip=('puts one for zero', r'\nabla f(\mathbf{x}^+) = \mathbf{1} .'),
        **{'1': np.ones(2)},
    )
prints(
    'aw.gd-conv.kinds',
    f=camel,
    x=_flat + _off,
    is_a_minimum_a_maximum_or_a_saddle=turns_otherwise_than_a_slope,
    slip=(
        'asks for slope zero in one direction',
        r'\mathbf{x} \text{ is a minimum, a maximum or a saddle} \iff \frac{\partial f(\mathbf{x})}{\partial x_1} = 0 .',
    ),
)
prints(
    'aw.gd-conv.grad-upward',
    f=camel,
    x_plus=_minima,
    nudge=vectors(2, -0.2, 0.2),
    x=of(lambda x_plus, nudge: x_plus + nudge),
    near=lie_close,
    equality=dict(x=_minima[0], x_plus=_minima[0]),
    slip=('the gradient points to the minimum', r'\nabla f(\mathbf{x}) \cdot (\mathbf{x}^+ - \mathbf{x}) \ge 0'),
)


def logistic_loss(w):
    points = np.array([[1., 2], [-1, 0.5], [2, -1], [0.3, 0.2]])
    return np.log1p(np.exp(-np.array([1, -1, 1, -1]) * (points @ w))).sum()


prints('ml.opt.optimality.hessian', tries=10, L=logistic_loss, w=vectors(2, -2, 2))
prints(
    'ml.opt.optimality.second-order-stationary',
    L=lambda w: logistic_loss(w) + w @ w,
    w_star=optimize.minimize(lambda w: logistic_loss(w) + w @ w, np.zeros(2), options={'gtol': 1e-10}).x,
    slip=('prints the Hessian, as the notes do', r'\nabla^2 \mathcal{L}(\mathbf{w}^*) = \mathbf{0}'),
)


def lowest_on_small_rings(f, x):
    return all(f(x + r * polar(angle)) > f(x) for r in (1e-2, 1e-3) for angle in np.linspace(0, 2 * np.pi, 33))


_flat_at_zero = [
    lambda w: w[0] ** 2 + 3 * w[1] ** 2 - w[1] ** 3, lambda w: w[0] ** 2 + w[1] ** 3, lambda w: w[0] ** 2 - w[1] ** 2,
    lambda w: w[0] * w[1] + w[0], lambda w: -w @ w, lambda w: w[0] ** 2 + w[1] ** 2 + w[0], lambda w: w[0] ** 4 + w[1] ** 4,
]
prints(
    'ml.opt.optimality.second-order-psd',
    L=_flat_at_zero,
    w_star=np.zeros(2),
    is_a_strict_local_minimum=of(lambda L: lambda w: lowest_on_small_rings(L, w)),
    slip=(
        'is content with semidefinite',
        r'\nabla \mathcal{L}(\mathbf{w}^*) = \mathbf{0} \text{ and } \nabla^2 \mathcal{L}(\mathbf{w}^*) \succeq 0 '
        r'\Longrightarrow \mathbf{w}^* \text{ is a strict local minimum.}',
    ),
)
prints('aw.gd-conv.global-min', f=camel, x=vectors(2, -2, 2), x_star=[_lowest, -_lowest], equality=dict(x=-_lowest, x_star=_lowest))
prints(
    'aw.gd-conv.convex',
    f=_convex,
    alpha=scalars(0, 1),
    x_1=vectors(3, -3, 3),
    x_2=vectors(3, -3, 3),
    equality=dict(f=norm1, alpha=0.3, x_1=np.array([1., 2, 0]), x_2=np.array([3., 0, 0])),
)
prints(
    'aw.gd-conv.paraboloid',
    k=scalars(0.1, 9),
    f=of(lambda k: lambda x: x[0] ** 2 + k * x[1] ** 2),
    x=vectors(2, -3, 3),
    x_star=np.zeros(2),
    slip=('forgets the sign', r'\nabla f(\mathbf{x}) \cdot (\mathbf{x}^* - \mathbf{x}) > 0 \quad \text{for all } \mathbf{x} \ne \mathbf{x}^*'),
)
prints(
    'aw.gd-conv.convex-stationary',
    f=[lambda x: np.cosh(x[0] - 1) + (x[1] + 1) ** 4, strong_bowl],
    x_star=[np.array([1., -1]), np.zeros(2), np.ones(2)],
    y=vectors(2, -3, 3),
    slip=('drops the condition', r'f(\mathbf{x}^*) \le f(\mathbf{y}) \text{ for all } \mathbf{y}'),

)
_losses = [logistic_loss, strong_bowl, camel, double_well, strongly_convex]
_all_around = [np.array(v) for v in product(np.linspace(-2, 2, 9), repeat=2)]


def bends_up_everywhere(f):
    """Whether on a grid no middle of two points is higher than the mean of their heights."""
    heights = {tuple(v): f(v) for v in _all_around}
    pairs = product(_all_around, repeat=2)
    return all(heights[tuple((a + b) / 2)] <= (f(a) + f(b)) / 2 + 1e-12 for a, b in pairs if tuple((a + b) / 2) in heights)


_bends_up = {f: bends_up_everywhere(f) for f in _losses}

prints(
    'ml.opt.optimality.first-order',
    L=_losses,
    w_star=[np.zeros(2), _minima[0], _minima[1], _deepest],
    is_convex=lambda f: _bends_up[f],
    is_a_global_minimum=of(lambda L: lambda w: all(L(v) >= L(w) - 1e-9 for v in _all_around)),
    slip=(
        'drops convexity',
        r'\nabla \mathcal{L}(\mathbf{w}^*) = \mathbf{0} \Longrightarrow \mathbf{w}^* \text{ is a global minimum.}',
    ),
)
_valleys = [strong_bowl, lambda x: strong_bowl(x - 1), lambda x: np.maximum(abs(x).max() - 1, 0), lambda x: (x[0] - x[1]) ** 2]


def bends_up_strictly(f):
    return all(f((a + b) / 2) < (f(a) + f(b)) / 2 for a, b in product(_all_around[::5], repeat=2) if np.any(a != b))


prints(
    'aw.gd-conv.strict-unique',
    f=_valleys,
    x_1=[np.zeros(2), np.ones(2), np.array([0.5, 0])],
    x_2=[np.zeros(2), np.ones(2), np.array([0.5, 0])],
    is_strictly_convex=bends_up_strictly,
    are_global_minima=of(lambda f: lambda x: all(f(v) >= f(x) for v in _all_around)),
    slip=(
        'drops strictness',
        r'f \text{ is convex } \text{and } \mathbf{x}_1, \mathbf{x}_2 \text{ are global minima} \Longrightarrow \mathbf{x}_1 = \mathbf{x}_2',
    ),
    is_convex=lambda f: True,
    also_true=1,  # a point is itself
)


def huber(x):
    return x * x / 2 if abs(x) <= 1 else abs(x) - 0.5


prints(
    'stationary_points-rate',
    f=lambda x: huber(x + 12) - 3,
    eta=1.0,
    t=[1, 2, 5, 10, 20],
    x=lambda t: 9.0 - t,  # on the arm, where each step is one long
    x_star=-12.0,
    slip=('promises the square', r'f(\mathbf{x}_t) - f(\mathbf{x}^*) \le \frac{\|\mathbf{x}_0 - \mathbf{x}^*\|^2}{2 \eta t^2} .'),
)
prints(
    'aw.gd-conv.always-stationary',
    f=lambda v: strong_bowl(v) - 3,
    inf_f=-3.0,
    L=6,
    T=[1, 2, 5],
    t=range(0, 6),
    eta=[0.1, 0.2, 0.3],
    x=of(lambda eta: lambda t: descent(np.array([1., -3]), eta)(t)),
    equality=dict(T=1, eta=1 / 6, x=descent(np.array([2., 1]), 1 / 6)),
)


def steps_to_leave(delta, eta):
    """Steps until the two weights of the loss (w_1 w_2 - 1)^2, started beside the saddle, are of size one half."""
    w, steps = np.full(2, delta), 0
    while w[0] < 0.5:
        w, steps = w - eta * 2 * (w[0] * w[1] - 1) * w[::-1], steps + 1
    return steps


prints(
    'stationary_points-escape',
    delta=[1e-6, 1e-9, 1e-12],
    eta=[0.01, 0.03, 0.1],
    t=of(steps_to_leave),
    options={'approx': 0.08},
)


def newton_path(x, steps=4):
    import torch
    path = [np.array(x)]
    for _ in range(steps):
        at = torch.tensor(path[-1])
        H = torch.autograd.functional.hessian(camel, at)
        g = torch.autograd.functional.jacobian(camel, at)
        path.append((at - torch.linalg.solve(H, g)).numpy())
    return path


_newton = newton_path([1.4, -0.6])

prints('stationary_points-newton', f=camel, t=range(0, 4), x=lambda t: _newton[t])



def strongly_convex_slope(v):
    return _soft @ v + np.array([v[0] ** 3, 0])


prints(
    'stationary_points-armijo',
    tries=20,
    f=strongly_convex,
    x=vectors(2, -2, 2).filter(np.any),
    g=of(lambda x: strongly_convex_slope(x)),
    p=of(lambda x: -strongly_convex_slope(x)),
    eta=of(lambda x: optimize.line_search(strongly_convex, strongly_convex_slope, x, -strongly_convex_slope(x), c1=1e-4)[0]),
    slip=(
        'asks for all that the slope promises',
        r'f(\mathbf{x} + \eta\mathbf{p}) \le f(\mathbf{x}) + \eta \, \mathbf{g} \cdot \mathbf{p}',
    ),
)
prints(
    'stationary_points-certificate',
    f=[lambda v, f=f: f(v) + 3 for f in _strong['f']],
    mu=_strong['mu'],
    tries=30,
    x=vectors(2, -2, 2),
    f_star=3.0,
    equality=dict(f=lambda v: steep_bowl(v) + 3, x=_soft_way),
)

# momentum

def torch_path(make, rates, start=(2., -1.), keep=()):
    """Iterates of an optimizer of torch on the quadratic, and of what it keeps under these names."""
    import torch
    x = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimizer = make([x])
    seen, kept = [x.detach().numpy().copy()], {name: [np.zeros(2)] for name in keep}
    for rate in rates[1:]:
        optimizer.param_groups[0]['lr'] = rate
        optimizer.zero_grad()
        (x @ torch.tensor(_hess) @ x / 2 + x[0]).backward()
        optimizer.step()
        seen.append(x.detach().numpy().copy())
        for name, values in kept.items():
            values.append(optimizer.state[x][name].numpy().copy())
    return seen, kept


def heavy_ball(nesterov):
    """Positions and velocities of torch's SGD with momentum 0.8 and step size 0.1."""
    import torch
    seen, kept = torch_path(
        lambda x: torch.optim.SGD(x, lr=0.1, momentum=0.8, nesterov=nesterov), [0.1] * 6, keep=['momentum_buffer'])
    return seen, kept['momentum_buffer']


_ball, _velocity = heavy_ball(nesterov=False)
_rolling = dict(**_quad, t=range(1, 6), beta=0.8, eta=0.1, x=lambda t: _ball[t], v=lambda t: _velocity[t])

prints('momentum-step', **_rolling)
prints('momentum-unrolled', **_rolling)
prints(
    'momentum-filter',
    tries=15,
    beta=scalars(-0.5, 0.5),
    t=integers(0, 5),
    a=vectors(2),
    b=vectors(2),
)


def ball_roots(eta, a, beta):
    """How one step of the heavy ball acts on two errors in a row, by its eigenvalues."""
    return np.linalg.eigvals([[1 + beta - eta * a, -beta], [1, 0]]).astype(complex)


prints(
    'momentum-roots',
    eta=scalars(0.1, 2),
    a=scalars(0.1, 2),
    beta=scalars(0.1, 0.9),
    z=of(lambda eta, a, beta: ball_roots(eta, a, beta)[0]),
)
prints(
    'momentum-band',
    eta=scalars(0.1, 2),
    a=scalars(0.1, 2),
    beta=scalars(0.1, 0.9),
    slip=('forgets the lower end', r'(1 + \beta - \eta a)^2 \le 4\beta \iff \eta a \le (1 + \sqrt\beta)^2'),
)


def both_ends(mu, L):
    """(step, momentum) for which the band of equal moduli reaches from mu to L, by solving two equations."""
    def misses(v):
        return [v[0] * mu - (1 - np.sqrt(v[1])) ** 2, v[0] * L - (1 + np.sqrt(v[1])) ** 2]
    return optimize.fsolve(misses, [1 / L, (1 - 1 / np.sqrt(L / mu)) ** 2], xtol=1e-14)


prints(
    'momentum-best',
    tries=20,
    mu=scalars(0.5, 1),
    L=scalars(3, 9),
    kappa=of(lambda mu, L: L / mu),
    eta=of(lambda mu, L: both_ends(mu, L)[0]),
    beta=of(lambda mu, L: both_ends(mu, L)[1]),
    rho=of(lambda mu, L: np.sqrt(np.prod(ball_roots(both_ends(mu, L)[0], (mu + L) / 2, both_ends(mu, L)[1])).real)),
)

_ahead, _ahead_velocity = heavy_ball(nesterov=True)

prints(  # torch keeps the places y
    'momentum-nesterov', **_quad, t=range(1, 6), beta=0.8, eta=0.1, y=lambda t: _ahead[t], v=lambda t: _ahead_velocity[t],
    x=lambda t: _ahead[t] + 0.1 * 0.8 * _ahead_velocity[t],
)


# adaptive methods

def at_entry(family):
    """Members of a family of vectors, or their entries."""
    return lambda t, i=None: family[t] if i is None else family[t][i - 1]


def adaptive(make, name):
    seen, kept = torch_path(make, _rates, keep=[name])
    slopes = [None, *(quad_slope(x) for x in seen)]
    return dict(
        **_quad, t=range(1, 6), i=range(1, 3), eta=lambda t: _rates[t], epsilon=0.01,
        w=at_entry(seen), s=at_entry(kept[name]), g=at_entry(slopes),
    )


def adagrad(x):
    import torch
    return torch.optim.Adagrad(x, lr=0.1, eps=0.01)


def rmsprop(x):
    import torch
    return torch.optim.RMSprop(x, lr=0.1, alpha=0.7, eps=0.01)


def adam(x):
    import torch
    return torch.optim.Adam(x, lr=0.1, betas=(0.6, 0.8), eps=0.01)


prints('adaptive-adagrad', **adaptive(adagrad, 'sum'))
prints('adaptive-rmsprop', **adaptive(rmsprop, 'square_avg'), beta=0.7)

_adam, _averages = torch_path(adam, _rates, keep=['exp_avg', 'exp_avg_sq'])
_adam_slopes = [None, *map(quad_slope, _adam)]

prints(
    'adaptive-adam',
    t=range(1, 6),
    i=range(1, 3),
    eta=lambda t: _rates[t],
    epsilon=0.01,
    beta_1=0.6,
    beta_2=0.8,
    w=at_entry(_adam),
    g=at_entry(_adam_slopes),
    m=at_entry(_averages['exp_avg']),
    s=at_entry(_averages['exp_avg_sq']),
    m_hat=lambda t, i: np.average([g[i - 1] for g in _adam_slopes[1:t + 1]], weights=0.6 ** np.arange(t)[::-1]),
    s_hat=lambda t, i: np.average([g[i - 1] ** 2 for g in _adam_slopes[1:t + 1]], weights=0.8 ** np.arange(t)[::-1]),
)


def cosine_rates(eta, steps):
    import torch
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=eta)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    rates = []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]['lr'])
        optimizer.step()
        schedule.step()
    return rates


_cosine = cosine_rates(0.3, 5)

prints('adaptive-cosine', h=3, T=8, t=range(0, 10), eta=0.3, eta_t=of(lambda t: _cosine[t - 3] if 3 <= t < 8 else 9.0))

# subgradients

_smooth = [lambda w: special.logsumexp(w), lambda w: np.cosh(w[0] - 1) + (w[1] + w[2]) ** 2, lambda w: np.array([1., -2, 0]) @ w]

prints(
    'ml.opt.nonsmooth.first-order',
    tries=20,
    L=_smooth,
    u=vectors(3, -3, 3),
    w=vectors(3, -3, 3),
    equality=dict(L=_smooth[2], u=np.array([1., 2, 0]), w=np.array([0., -1, 2])),
    slip=(
        'takes the slope at the other end',
        r'\mathcal{L}(\mathbf{u}) \ge \mathcal{L}(\mathbf{w}) + \nabla\mathcal{L}(\mathbf{u})^\top (\mathbf{u} - \mathbf{w})',
    ),
)
_whole = integers(-2, 2).map(float)
_on_edges = strategies.lists(_whole, min_size=3, max_size=3).map(np.array)
prints(
    'ml.opt.subgradients.def',
    L=norm1,
    w=_on_edges,
    inside=vectors(3, -1, 1),
    g=of(lambda w, inside: np.where(w == 0, inside, np.sign(w))),
    u=vectors(3, -3, 3),
    equality=dict(w=np.array([1., -2, 0]), inside=np.ones(3), u=np.array([2., -1, 3])),
    slip=(
        'takes twice the slope',
        r'\mathcal{L}(\mathbf{u}) \ge \mathcal{L}(\mathbf{w}) + 2 \mathbf{g}^\top (\mathbf{u} - \mathbf{w})',
    ),
)
_facets = np.array([[1., 2], [-1, 1], [0, -2], [-2, 0], [1, 0]])  # the slopes of a maximum of planes
_heights = np.array([[0., 0, 0, 0, 1], [1, -1, 2, 0, 3], [0, 2, 0, -2, 0]])


def highest_plane(heights):
    return lambda w: (_facets @ w + heights).max()


_maxima = [highest_plane(h) for h in _heights]


def lowest_of_planes(w, f):
    """Whether f, a maximum of planes, is nowhere lower than at w, by a linear program for its lowest value."""
    heights = _heights[_maxima.index(f)]
    found = optimize.linprog([0, 0, 1], A_ub=np.column_stack([_facets, -np.ones(5)]), b_ub=-heights, bounds=(None, None))
    return f(w) - found.fun < 1e-9


def mixtures_of_touching_planes(w, f):
    """Membership in the convex hull of the slopes of the planes that touch the graph of f at w."""
    heights = _facets @ w + _heights[_maxima.index(f)]
    slopes = _facets[heights > heights.max() - 1e-9]
    return lambda g: optimize.nnls(np.vstack([slopes.T, np.ones(len(slopes))]), np.append(g + np.zeros(2), 1))[1] < 1e-9


_bottoms = [optimize.linprog([0, 0, 1], A_ub=np.column_stack([_facets, -np.ones(5)]), b_ub=-h, bounds=(None, None)).x[:2]
            for h in _heights]

prints(
    'subgradients-zero',
    f=_maxima,
    w=_bottoms + [np.zeros(2), np.ones(2), np.array([0.5, 0])],
    is_a_global_minimizer_of=lowest_of_planes,
    partial_f=of(lambda f: lambda w: mixtures_of_touching_planes(w, f)),
    slip=('asks for the slope one', r'\mathbf{w} \text{ is a global minimizer of } f \iff \mathbf{1} \in \partial f(\mathbf{w})'),
    **{'1': np.ones(2)},
)


def slopes_to_the_sides(x, y):
    """Slopes of the sum of distances to whole numbers, to the left and to the right of a whole number."""
    left, here, right = (np.linalg.norm(v - y, 1) for v in (x - 0.5, x, x + 0.5))
    return np.array([[here - left, right - here]]) / 0.5


prints(
    'subgradients-median',
    n=5,
    y=strategies.lists(_whole, min_size=5, max_size=5).map(np.array),
    x=_whole,
    f=of(lambda y: lambda x: np.linalg.norm(x - y, 1)),
    partial_f=of(lambda y: lambda x: slopes_to_the_sides(x, y)),
    l=of(lambda x, y: np.searchsorted(np.sort(y), x, 'left')),
    r=of(lambda x, y: len(y) - np.searchsorted(np.sort(y), x, 'right')),
    e=of(lambda x, y: list(y).count(x)),
)
prints(
    'subgradients-lasso',
    N=5,
    X=normal(5, 3),
    y=normal(5),
    w=normal(3),
    lambda_=scalars(0, 2),
    F=of(lambda X, y, lambda_: lambda w: metrics.mean_squared_error(y, X @ w) / 2 + lambda_ * norm1(w)),
)


def lasso_by_least_angles(X, y, lambda_):
    return linear_model.LassoLars(alpha=lambda_, fit_intercept=False).fit(X, y).coef_


prints(
    'subgradients-lasso-optimal',
    tries=20,
    X=normal(9, 4),
    y=normal(9),
    lambda_=scalars(0.05, 0.4),
    w=of(lasso_by_least_angles),
    c=of(lambda X, y, w: X.T @ (y - X @ w) / 9),
    also_true=2,  # a weight in place of its correlation: zero is at most lambda
    also_turned=1,  # no correlation of noise is exactly zero
    slip=('asks for half the bound', r'w_j = 0 \implies |c_j| \le \lambda / 2'),
)


def box_of_slopes(w):
    """Membership in the subdifferential of 2 |w_1| + 3 |w_2|."""
    low, high = (np.where(w == 0, side, np.sign(w)) * [2, 3] for side in (-1, 1))
    return lambda g: bool(np.all((low <= g) & (g <= high)))


def slanted_path(rate, steps=7):
    """Iterates of torch's SGD on 2 |w_1| + 3 |w_2|, and the subgradients that autograd takes."""
    import torch
    w = torch.tensor([1., 0.], dtype=torch.float64, requires_grad=True)
    optimizer, seen, slopes = torch.optim.SGD([w], lr=rate), [w.detach().numpy().copy()], []
    for _ in range(steps):
        optimizer.zero_grad()
        (w.abs() * torch.tensor([2., 3.], dtype=torch.float64)).sum().backward()
        optimizer.step()
        seen.append(w.detach().numpy().copy())
        slopes.append(w.grad.numpy().copy())
    return seen, slopes


_slanted = {rate: slanted_path(rate) for rate in (0.3, 1.7)}  # the long steps jump to and fro


def slanted(w):
    return abs(w) @ [2, 3]


_walk = dict(
    L=slanted,
    t=range(0, 7),
    gamma=list(_slanted),
    w=of(lambda gamma: lambda t: _slanted[gamma][0][t]),
    g=of(lambda gamma, t: _slanted[gamma][1][t]),
)
prints('ml.opt.subgradient-descent.update', **_walk, partial_L=box_of_slopes, also_true=1)  # a number behind its vector


prints(
    'subgradients-distance',
    **_walk | dict(t=range(0, 6)),
    also_true=1,  # the third power of the last norm, which is above 1
    w_star=[np.zeros(2), np.array([2., 0])],  # both make the second line an equality at first; the other end is higher
    e=of(lambda w_star, gamma: lambda t: _slanted[gamma][0][t] - w_star),
)


def one_coordinate_a_step(T):
    """The walk on the function with the worst case: each step lowers the first of the highest coordinates."""
    return lambda t: -1.0 * (np.arange(T + 1) < t) / np.sqrt(T + 1)


def worst_case(T):
    return lambda w: max(w.max(), np.linalg.norm(w) - 1 - 1 / np.sqrt(T + 1))


def walk_on_bars(steps):
    """Iterates of the subgradient method on |w| from 1, with these steps."""
    walk = [1.0]
    for step in steps:
        walk.append(walk[-1] - step * np.sign(walk[-1]))
    return lambda t: np.array(walk[int(t)])


# the steps of a walk on |w|, or none for the worst case, in which all iterates are equally bad: with short steps the first
# iterate is bad, with a long one in their midst the last
_walks = [None, [0.5] * 10, [0.98, 4] + [0.001] * 8]

prints(
    'subgradients-bound',
    tries=24,
    T=[0, 1, 4, 9],
    t=range(0, 10),
    R=[1.0, 1.5],
    G=[1.0, 2],
    steps=_walks,
    L=of(lambda T, R, G, steps: lambda w: np.abs(w).sum() if steps else G * R * worst_case(T)(w / R)),
    w=of(lambda T, R, steps: walk_on_bars(steps) if steps else lambda t: R * one_coordinate_a_step(T)(t)),
    gamma=of(lambda T, R, G, steps: lambda t: steps[int(t)] if steps else R / G / np.sqrt(T + 1)),
    w_star=of(lambda T, R, steps: np.zeros(1) if steps else -R * np.ones(T + 1) / np.sqrt(T + 1)),
    equality=dict(T=3, R=1.5, G=2.0, steps=None),
)
_proximal = {
    abs: lambda v, gamma: v - np.clip(v, -gamma, gamma),
    np.exp: lambda v, gamma: v - special.lambertw(gamma * np.exp(v)).real,
    np.square: lambda v, gamma: v / (1 + 2 * gamma),
}
prints(
    'subgradients-prox',
    tries=9,
    h=list(_proximal),
    gamma=scalars(0.1, 2),
    v=scalars(-4, 4),
    u=Box(-9, 9),
    prox_gammah=of(lambda h, gamma: lambda v: _proximal[h](v, gamma)),
)


def soft_by_torch(v, gamma):
    import torch
    return torch.nn.functional.softshrink(torch.tensor(v, dtype=torch.float64), gamma).item()


prints('subgradients-soft', v=scalars(-4, 4), gamma=scalars(0, 2), prox_gamma_cdot=of(lambda gamma: lambda v: soft_by_torch(v, gamma)))
# A slope of delta that descent goes down to -3: the case in which half of the rate 1 / t is reached
SLOW_DESCENT = dict(
    delta=[0.1, 0.2, 0.5, 1],
    far=[2, 5],  # how far the minimum is
    L=1.0,
    t=[1, 2, 5, 10],
    w=of(lambda delta, far: lambda t: np.array([max(far - delta * t, 0) - 3])),
    w_star=np.array([-3.0]),
)


prints(
    'subgradients-ista-bound',
    # As for projections (pgd-one-over-t): half of this bound holds as well, and is reached.
    F=of(lambda delta: lambda w: delta * abs(w[0] + 3) - 3),
    **SLOW_DESCENT,
    slip=[
        ('promises the square',
         r'F(\mathbf{w}^{(t)}) - F(\mathbf{w}^*) \le \frac{L \|\mathbf{w}^{(0)} - \mathbf{w}^*\|^2}{2t^2} .'),
        ('less than half',
         r'F(\mathbf{w}^{(t)}) - F(\mathbf{w}^*) \le \frac{L \|\mathbf{w}^{(0)} - \mathbf{w}^*\|^2}{4.1t} .'),
    ],
)

# projected gradient descent


def torch_in_a_box(rate, steps=6):
    """Iterates of torch's SGD on the quadratic, clamped into a box after each step."""
    import torch
    x = torch.tensor([0.8, -0.5], dtype=torch.float64, requires_grad=True)
    optimizer, seen = torch.optim.SGD([x], lr=rate), [x.detach().numpy().copy()]
    for _ in range(steps):
        optimizer.zero_grad()
        (x @ torch.tensor(_hess) @ x / 2 + x[0]).backward()
        optimizer.step()
        with torch.no_grad():
            x.clamp_(-0.2, 0.8)
        seen.append(x.detach().numpy().copy())
    return seen


_boxed = torch_in_a_box(0.15)

prints(
    'ml.opt.pgd.update',
    L=_quad['f'],
    t=range(0, 6),
    w=lambda t: _boxed[t],
    gamma=0.15,
    P_C=lambda w: np.sort([w, np.full(2, -0.2), np.full(2, 0.8)], axis=0)[1],
)


def in_box(v):
    return abs(v).max() <= 1


_pulled = [lambda w: (w[0] - 3) ** 2 + w[1] ** 2, lambda w: (w - np.array([2., 3])) @ _hess @ (w - np.array([2., 3]))]


def lowest_in_box(f):
    return np.round(optimize.minimize(f, np.zeros(2), method='L-BFGS-B', bounds=[(-1, 1)] * 2, options={'ftol': 1e-16}).x, 6)


prints(
    'pgd-variational',
    tries=40,
    f=_pulled,
    C=lambda v: in_box(v),
    w_star=of(lambda f: lowest_in_box(f)),
    z=vectors(2, -1.5, 1.5),
    equality=dict(f=_pulled[0], z=np.array([1., -0.5])),
    slip=('forgets the set', r'\nabla f(\mathbf{w}^*) \cdot (\mathbf{z} - \mathbf{w}^*) \ge 0'),
)


def walk_in_the_corner(w, kappa):
    """Projected descent on a quadratic with curvatures 1 and kappa along the axes, among what is not negative."""
    def at(t):
        path = w
        for _ in range(t):
            path = np.maximum(path - 2 / (1 + kappa) * np.array([1, kappa]) * path, 0)
        return path
    return at


prints(
    'pgd-contraction',
    tries=20,
    kappa=[1.5, 4, 20],
    t=range(0, 5),
    start=strategies.lists(scalars(0, 3), min_size=2, max_size=2).map(np.array),
    w=of(lambda start, kappa: lambda t: walk_in_the_corner(start, kappa)(t) - 2),
    w_star=np.array([-2.0, -2]),
    equality=dict(kappa=4, start=np.array([2., 0])),
)
prints(
    'pgd-one-over-t',
    # Half of this bound holds as well (Taylor, Hendrickx and Glineur 2017), and is reached for delta = far / (2 t):
    # along a constant slope, of which the last step ends half-way to the minimum. Anything less is false.
    f=of(lambda delta: lambda w: delta * w[0]),  # over w >= -3
    **SLOW_DESCENT,
    slip=[
        ('promises the square',
         r'f(\mathbf{w}^{(t)}) - f(\mathbf{w}^*) \le \frac{L \, \|\mathbf{w}^{(0)} - \mathbf{w}^*\|^2}{2t^2} .'),
        ('less than half',
         r'f(\mathbf{w}^{(t)}) - f(\mathbf{w}^*) \le \frac{L \, \|\mathbf{w}^{(0)} - \mathbf{w}^*\|^2}{4.1t} .'),
    ],
)


def on_plane(b, E, e):
    """The lowest point of w·Hw/2 - b·w with H = diag(1, 2, 3) among those with E w = e, by a basis of the kernel of E."""
    H, inside, kernel = np.diag([1., 2, 3]), np.linalg.pinv(E) @ e, np.linalg.svd(E)[2][len(E):].T
    return inside + kernel @ np.linalg.solve(kernel.T @ H @ kernel, kernel.T @ (b - H @ inside))


def force_on_plane(b, E, e):
    return np.linalg.lstsq(E.T, b - np.array([1., 2, 3]) * on_plane(b, E, e))[0]


_on_plane = dict(A=np.diag([1., 2, 3]), b=normal(3), E=normal(2, 3), e=normal(2))

prints('pgd-kkt-system', **_on_plane, w=of(on_plane), lambda_=of(force_on_plane))

_fences, _levels = np.array([[1., 0.5], [-0.5, 1]]), np.array([0.5, 1])


def nearest_between_fences(a):
    """The point of a wedge that is nearest to a: one of a, its feet on the two fences, and their corner."""
    feet = [a - (n @ a - d) * n / (n @ n) for n, d in zip(_fences, _levels, strict=True)]
    candidates = [a, *feet, np.linalg.solve(_fences, _levels)]
    return min((p for p in candidates if np.all(_fences @ p <= _levels + 1e-12)), key=lambda p: np.linalg.norm(p - a))


prints(
    'pgd-kkt',
    tries=25,
    a=vectors(2, -3, 3),
    f=of(lambda a: lambda w: (w - a) @ (w - a) / 2),
    g=lambda i, w: _fences[i - 1] @ w - _levels[i - 1],
    m=2,
    i=range(1, 3),
    w_star=of(lambda a: nearest_between_fences(a)),
    lambda_=of(lambda a: np.linalg.solve(_fences.T, a - nearest_between_fences(a)).round(12)),
)


def cheapest_program(slack):
    """The linear program of a diet with relaxed rules: its lowest cost and the prices of the rules."""
    return optimize.linprog([1, 2], A_ub=[[-1, -1], [-1, -3], [-2, 0]], b_ub=np.array([-2, -3, -1]) + slack, bounds=(0, None))


prints(
    'pgd-price',
    tries=20,
    p=lambda s: cheapest_program(s).fun,
    s=vectors(3, -1, 1),
    lambda_=-cheapest_program(0).ineqlin.marginals,
    equality=dict(s=np.array([0.1, -0.1, 0])),
)

_points = [np.array(v) for v in product(np.linspace(-1, 2, 4), repeat=2)]

prints(
    'ml.opt.constrained.penalty',
    tries=20,
    L=[_bowl[0], _pulled[0]],
    C=of(lambda: [v for v in _points if in_box(v)]),
    w_in=_points,
    w=_points,
    I_C=lambda w: 0.0 if in_box(w) else np.inf,
)
prints(
    'pgd-distance-gradient',
    tries=12,
    C=[1.0, 2.5],
    w=vectors(3, -3, 3),
    dist=lambda w, C: np.linalg.norm(w - nearest_in_simplex(w, C)),
    P_C=of(lambda C: lambda w: by_bisection_in_simplex(w, C)),
)


def by_bisection_in_simplex(w, r):
    return np.maximum(w - optimize.brentq(lambda t: np.maximum(w - t, 0).sum() - r, -9, 9, xtol=1e-14), 0)


_round = dict(b=normal(2), E=normal(2, 2), e=normal(2), lambda_=normal(2), rho=[0.3, 2])


def round_of_multipliers(b, E, e, lambda_, rho):
    """Where w·diag(1, 2) w/2 - b·w with force and fine is lowest, by least squares of its parts."""
    roots = np.sqrt([1, 2])
    parts = np.vstack([np.diag(roots), np.sqrt(rho) * E])
    return np.linalg.lstsq(parts, np.concatenate([b / roots, np.sqrt(rho) * e - lambda_ / np.sqrt(rho)]))[0]


def force_after_round(b, E, e, lambda_, rho):
    """The force that balances the slope there."""
    return np.linalg.solve(E.T, b - np.array([1, 2]) * round_of_multipliers(b, E, e, lambda_, rho))


prints(
    'pgd-multipliers',
    **_round,
    tries=2,
    f=of(lambda b: lambda w: np.array([1, 2]) @ w ** 2 / 2 - b @ w),
    v=Box(-30, 30, 2),
    w=of(round_of_multipliers),
    lambda_plus=of(force_after_round),
    also_true=2,  # other constants below the minimum: lambda times e or lambda
)
prints(
    'pgd-multiplier-rate',
    **_round,
    S=of(lambda E: E @ np.diag([1, 1 / 2]) @ E.T),
    lambda_plus=of(force_after_round),
    lambda_star=of(lambda b, E, e: np.linalg.solve(E.T, b - np.array([1, 2]) * np.linalg.solve(E, e))),
)

# stochastic gradient descent

_inputs, _targets = np.array([[1., 2], [-1, 0.5], [2, -1], [0.3, 0.2]]), np.array([1., -2, 0.5, 3])


def squares(*n_and_w):
    """Half the squared residual of example n, or the mean of all by scikit-learn."""
    *n, w = n_and_w
    if n:
        return (_targets[n[0] - 1] - _inputs[n[0] - 1] @ w) ** 2 / 2
    return metrics.mean_squared_error(_targets, _inputs @ w) / 2


def torch_on_batches(batches, rate=0.1):
    """Iterates of torch's SGD, whose losses are means over these batches of examples, counted from 1."""
    import torch
    X, y = torch.tensor(_inputs), torch.tensor(_targets)
    w = torch.tensor([2., -1.], dtype=torch.float64, requires_grad=True)
    optimizer, seen = torch.optim.SGD([w], lr=rate), [w.detach().numpy().copy()]
    for batch in batches:
        optimizer.zero_grad()
        rows = torch.tensor(batch) - 1
        (torch.nn.functional.mse_loss(X[rows] @ w, y[rows]) / 2).backward()
        optimizer.step()
        seen.append(w.detach().numpy().copy())
    return seen


_picks = [3, 1, 4, 1, 2]
_singles = torch_on_batches([[n] for n in _picks])

prints(
    'ml.opt.sgd.update',
    tries=5,
    N=4,
    L=squares,
    t=range(0, 5),
    n=of(lambda t: _picks[t]),
    w=vectors(2, -3, 3),
    w_t=of(lambda t: _singles[t]),
    w_t_1=of(lambda t: _singles[t + 1]),
    gamma=0.1,
)
prints('ml.opt.sgd.unbiased', tries=2, N=4, L=squares, n=Random([1, 2, 3, 4]), w=vectors(2, -3, 3))

_batches = {len(B): torch_on_batches([B] * 5) for B in ([2], [1, 3], [2, 3, 4], [1, 2, 3, 4])}

prints(
    'ml.opt.minibatch.update',
    N=4,
    L=squares,
    t=range(0, 5),
    B=[[2], [1, 3], [2, 3, 4], [1, 2, 3, 4]],
    w=of(lambda B: lambda t: _batches[len(B)][t]),
    gamma=0.1,
)
_subsets = [list(B) for b in range(1, 6) for B in combinations(range(5), b)]


def equally_likely(b):
    chosen = np.array([len(B) == b for B in _subsets])
    return (chosen / chosen.sum()).tolist()


prints(
    'stochastic_gradient_descent-variance',
    tries=20,
    N=5,
    b=integers(1, 5),
    G=normal(5, 2),
    B=Random(_subsets, of(equally_likely)),
    g=of(lambda G, B: G[B].mean(0)),
    g_bar=of(lambda G: G.mean(0)),
    S=of(lambda G: np.linalg.norm(G - G.mean(0)) / np.sqrt(5)),
)


def kicked(e_0, gamma, a, sigma, kicks):
    """The error after each step of SGD on parabolas whose minima lie around the mean by these multiples of sigma."""
    def at(t):
        e = e_0
        for kick in kicks[:t]:
            e = e - gamma * a * (e - sigma * kick)
        return e
    return at


prints(
    'stochastic_gradient_descent-floor',
    tries=8,
    e_0=scalars(-3, 3),
    gamma=scalars(0.1, 0.9),
    a=scalars(0.3, 2),
    sigma=scalars(0.5, 3),
    kicks=Random(list(product([-1, 1], repeat=3))),
    t=range(0, 4),
    e=of(kicked),
)
prints(
    'stochastic_gradient_descent-running',
    tries=20,
    y=vectors(5),
    t=range(1, 6),
    w=of(lambda y: lambda t: np.mean(y[:t]) if t > 0 else 7.0),
)


def walk_to_the_mean(mu, draws):
    """SGD with the steps 1/(mu t) from 1 on parabolas with curvature mu and minima at the draws; t counts from 1."""
    def at(t):
        w = 1.0
        for s, c in enumerate(draws[:t - 1], 1):
            w = w - 1 / (mu * s) * mu * (w - c)
        return np.array([w])
    return at


prints(
    'stochastic_gradient_descent-rate',
    tries=20,
    mu=[0.25, 1, 8],
    G=of(lambda mu: 2 * mu),
    draws=Random(list(product([-1, 1], repeat=4))),
    t=range(1, 6),
    w=of(lambda mu, draws: lambda t: walk_to_the_mean(mu, draws)(t) - 1),  # all minima moved by -1
    w_star=np.array([-1.0]),
    also_turned=1,  # the bound holds at the start, too
    slip=(
        'forgets the squares of the slopes',
        r'\mathbb{E} \, \|\mathbf{w}_t - \mathbf{w}^*\|^2 \le \frac{2 G}{\mu^2 \, t} \qquad (t \ge 2),',
    ),
)


def late_variances(c, sigma):
    """The mean square error of SGD with the steps c/t on parabolas with curvature 1, started at the minimum."""
    V, found = 0.0, [0.0]
    for t in range(1, 4001):
        V = (1 - c / t) ** 2 * V + (c / t * sigma) ** 2
        found.append(V)
    return lambda t: found[t]


prints(
    'stochastic_gradient_descent-constant',
    t=[2000, 4000],
    c=[0.25, 1, 2, 3.5],
    sigma=1000.0,
    V=of(late_variances),
    options={'approx': 0.002},
)
