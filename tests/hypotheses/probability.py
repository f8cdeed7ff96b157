"""Probability: theorems as functions, and cases without their hypotheses."""
from fractions import Fraction
from itertools import product

import numpy as np
from scipy import stats

from nbutils.cases import scalars, seeds, vectors
from nbutils.checks import close
from tests.hypotheses import theorem

DIE = frozenset(range(1, 7))


def share(event, given=DIE):
    return Fraction(len(event & given), len(given))


def denominator_is(B, parts):
    return share(B) == sum(share(B, A) * share(A) for A in parts)


theorem(
    'thm-bayes', denominator_is, B=[{2, 4, 6}, {1, 2}, {6}], parts=[[DIE], [{1, 2, 3}, {4, 5, 6}], [{1}, {2, 3}, {4, 5, 6}]],
    without={'disjoint': dict(B={2, 4, 6}, parts=[{1, 2, 3, 4}, {4, 5, 6}]),
             'cover everything': dict(B={2, 4, 6}, parts=[{1, 2, 3}, {4, 5}])},
)
theorem(  # equally likely values
    'thm-conc-markov', lambda z, t: (z >= t).mean() <= z.mean() / t + 1e-12, z=vectors(4, 0, 10), t=scalars(0.1, 5),
    without={'$Z \\ge 0$': dict(z=np.array([-1., 1.]), t=1), '$t > 0$': dict(z=np.ones(2), t=-1)},
)
theorem(
    'thm-conc-lemma', lambda x, k: np.exp(k * (x - x.mean())).mean() <= np.exp(k * k * 2 ** 2 / 8) * (1 + 1e-12),
    x=vectors(3, -1, 1), k=scalars(-3, 3), without={'$a \\le X \\le b$': dict(x=np.array([-2., 2.]), k=1)},
)


def hoeffding(outcomes, mean, eps):
    """The inequality for equally likely `outcomes` (m, N) and [a, b] = [-1, 1]."""
    far = abs(outcomes.mean(1) - mean) >= eps - 1e-12
    return far.mean() <= 2 * np.exp(-2 * outcomes.shape[1] * eps ** 2 / 4)


coins, two = (np.array(list(product([-1., 1.], repeat=n))) for n in (8, 2))
theorem(
    'thm-conc-hoeffding', hoeffding, outcomes=[coins, two], mean=[0], eps=[1.0, 1.1],
    without={
        'be independent': dict(outcomes=np.outer([-1., 1.], np.ones(8)), mean=0, eps=1),
        'with the same mean': dict(outcomes=np.array([[1., 1., 1., 1., 1., 1., 1., -1.]]), mean=-1, eps=1),
        'values in $[a, b]$': dict(outcomes=4 * coins, mean=0, eps=2),
        'every $\\epsilon > 0$': dict(outcomes=coins, mean=0, eps=-2),
    },
)
POINTS = np.array([0.5, 1, 2, 3])
theorem(
    'thm-herschel', lambda log_p: close((fall := (log_p(0) - log_p(POINTS)) / POINTS ** 2), np.full(4, fall[0])),
    log_p=[stats.norm.logpdf, stats.norm(0, 3).logpdf],
    without={'be independent': dict(log_p=stats.cauchy.logpdf),  # a joint density (1 + x² + y²)^(-3/2) has these margins
             'depend on $x^2 + y^2$ only': dict(log_p=stats.laplace.logpdf)},
)


def means_approach(seed, same):
    """Whether the estimate of a mean of 1 from 4000 normal values, or from one value 4000 times, is near."""
    rng = np.random.default_rng(seed)
    return abs(np.mean(rng.normal(1, 1, 1 if same else 4000)) - 1) < 0.1


theorem('thm-mle-consistency', means_approach, seed=seeds(), same=[False], without={'be independent': dict(seed=0, same=True)})


def truth_is_likeliest(seed, densities):
    """Whether of some densities on [0, 1] the first, which is uniform and the truth, fits 40 draws better than most others can."""
    y = np.random.default_rng(seed).random(40)
    logs = [np.log(p(y, y)).sum() for p in densities]
    return max(logs) - logs[0] < 8


def wave(w):
    return lambda x, y: 1 + w / 2 * np.cos(2 * np.pi * x)


def on_thin_strips(x, y):
    """One of the densities that are 3/2 and 1/2 on strips of width 1e-4 in some pattern: the one that fits the draws y best."""
    strips = np.unique(np.floor(y * 1e4))
    return np.where(np.isin(np.floor(x * 1e4), strips), 1.5, 0.5)


theorem(  # the patterns are values of w of one model, in which the density jumps from each to the next
    'thm-mle-consistency', truth_is_likeliest, seed=seeds(), densities=[[wave(w) for w in np.linspace(0, 1, 11)]],
    without={'be continuous for almost all $y$': dict(seed=0, densities=[wave(0), on_thin_strips])},
)
theorem(  # y ~ N(w, 1) at w = 0, N = 4: F = 4
    'thm-cramer-rao', lambda shrink, weights: shrink ** 2 * (np.array(weights) ** 2).sum() >= 1 / 4 - 1e-12,
    shrink=[1], weights=[[0.25] * 4, [1, 0, 0, 0], [0.5, 0.5, 0, 0]],
    without={'be unbiased': dict(shrink=0, weights=[0.25] * 4),
             'in an open set': dict(shrink=0, weights=[0.25] * 4)},  # unbiased if w can be nothing but 0
)


def has_normal_limit(seed, same):
    """Whether √N (mean - 1) of exponential times, with F = 1, has a standard normal law."""
    times = np.random.default_rng(seed).exponential(size=(300, 400))
    if same:
        times[:] = times[:, :1]
    return stats.kstest(20 * (times.mean(1) - 1), 'norm').pvalue > 1e-6


theorem('thm-mle-normality', has_normal_limit, seed=seeds(), same=[False], tries=5,
        without={'be independent': dict(seed=0, same=True)})
GRID = (np.arange(4000) + 0.5) / 4000  # ε uniform on [0, 1]


def slope_passes(f, of_path, theta):
    """Whether the slope of the mean of f(θ, ε) is the mean of its derivatives along the paths."""
    h = 1e-2
    slope = (f(theta + h, GRID).mean() - f(theta - h, GRID).mean()) / (2 * h)
    return close(slope, np.mean(of_path(theta, GRID)), atol=1e-2)


def thin_bump(t, e):
    """A bump of height 1 over [0, 2 |t|], with the sign of t: for each e > 0 it is zero near t = 0."""
    return np.sign(t) * np.maximum(0, 1 - abs(e / abs(t) - 1))


theorem(
    'thm-pathwise', slope_passes, f=[lambda t, e: np.sin(t + e)], of_path=[lambda t, e: np.cos(t + e)], theta=[0.3, 1],
    without={
        'not depend on $\\theta$': dict(f=lambda t, e: t * (t + e), of_path=lambda t, e: t + 0 * e, theta=1),
        "\\le K(\\epsilon) |\\theta - \\theta'|$": dict(f=lambda t, e: (e < t) * 1.0, of_path=lambda t, e: 0 * e, theta=0.5),
        '$\\mathbb{E}[K] < \\infty$': dict(f=thin_bump, of_path=lambda t, e: 0 * e, theta=0),
    },
)
