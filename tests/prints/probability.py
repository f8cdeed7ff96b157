"""Probability: the meanings of letters."""
from itertools import product

import numpy as np
import torch
from scipy import optimize, special, stats
from sklearn.naive_bayes import BernoulliNB

from nbutils.cases import integers, scalars, seeds, vectors
from nbutils.printed import Box, Random, of
from tests.prints import normal, prints

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
    tries=6,
    Theta=Random(list(product([0., 1, 5], repeat=2))),
    N=2,
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

# Bayes' theorem

_people = frozenset(range(1, 13))
_groups = [frozenset(s) for s in ({1, 2}, {2, 4, 6, 8, 10}, {1, 2, 3, 4, 5, 6, 7}, {5, 6, 12})]


def share(a, b=_people):
    return len(a & b) / len(b)

_causes, _seen = [frozenset({1, 2, 3}), frozenset({4, 5, 6, 7}), frozenset(range(8, 13))], frozenset({2, 3, 4, 8, 9, 10, 11})

prints(
    'eq-bayes-proportional',
    h=[0, 1, 2],
    g=[0, 1, 2],
    posterior=of(lambda h: share(_causes[h], _seen)),
    likelihood=of(lambda h: share(_seen, _causes[h])),
    prior=of(lambda h: share(_causes[h])),
    options={'over': ('h', 'g')},
)
prints('eq-bayes-odds', A=_groups, B=_groups[1:3], A_bar=of(lambda A: _people - A), P=share)
_laws = [[0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.25, 0.25, 0.5]]


def law(weights):
    return lambda x: weights[int(x)]

prints(
    'eq-bayes-drift',
    p=[law(w) for w in _laws],
    r=[law(w) for w in _laws],
    x=range(3),
    D=lambda p, r: stats.entropy([p(x) for x in range(3)], [r(x) for x in range(3)]),
)
_flips = dict(
    n=5,
    k=[0, 1, 2, 3, 4, 5],
    theta=scalars(0.05, 0.95),
    p=lambda theta, *k: stats.beta.pdf(theta, k[0] + 1, 6 - k[0]) if k else 1.0,
    P=lambda k, theta: stats.binom.pmf(k, 5, theta),
    tries=8,
)

prints('eq-bayes-density', **_flips | dict(  # with a prior that is not flat
    p=lambda theta, *k: stats.beta.pdf(theta, k[0] + 2, 8 - k[0]) if k else stats.beta.pdf(theta, 2, 3)))
prints('eq-bayes-beta', **_flips)
prints('eq-bayes-succession', H=1, **_flips | dict(P=lambda H, k: stats.betabinom.pmf(H, 1, k + 1, 6 - k)))


def pictures():
    """Pictures of 64 black or white pixels in three classes."""
    rng = np.random.default_rng(0)
    names = rng.integers(0, 3, 40)
    return (rng.random((40, 64)) < 0.2 + 0.3 * names[:, None]) * 1.0, names


def trained(copies):
    X, names = pictures()
    return BernoulliNB().fit(np.tile(X, copies), names)

_naive = trained(1)


def joint(x, c):
    return _naive.predict_joint_log_proba(x[None])[0, c - 1]


def naive_chance(*given):
    """P(c) or P(x | c) of the trained model."""
    prior = np.exp(_naive.class_log_prior_[given[-1] - 1])
    return prior if len(given) == 1 else np.exp(joint(*given)) / prior

_pixels = dict(
    x=seeds().map(lambda seed: np.random.default_rng(seed).integers(0, 2, 64) * 1.0),
    pi=np.exp(_naive.class_log_prior_),
    P=naive_chance,
    tries=12,
)

prints('eq-naive-bayes', c=[1, 2, 3], theta=np.exp(_naive.feature_log_prob_), **_pixels)
prints(
    'eq-naive-copies',
    c=range(1, 4),
    m=[1, 2, 5],
    P_m=of(lambda m: lambda c, x: trained(m).predict_proba(np.tile(x, m)[None])[0, c - 1]),
    const=of(lambda m, x: -special.logsumexp(trained(m).predict_joint_log_proba(np.tile(x, m)[None]))),
    **_pixels,
)

# expectations

_weights = [np.array([0.2, 0.5, 0.3]), np.array([0.7, 0.1, 0.2])]
_values = np.array([0., 1, 4])


def moments(values, weights):
    """Mean and variance, by numpy."""
    return np.average(values, weights=weights), np.cov(values, aweights=weights, ddof=0)

_x = dict(
    w=_weights,
    X=Random(_values, of(lambda w: w)),
    mu=of(lambda w: moments(_values, w)[0]),
)

prints(
    'eq-expect-function',
    x=of(lambda: list(_values)),
    p=of(lambda w: lambda x: dict(zip(_values, w, strict=True))[x]),
    f=[lambda x: x ** 2 + 1, np.cos],
    **_x,
)
prints('eq-expect-variance', a=scalars(), b=scalars(), **_x)
_corners = np.array([[0., 1], [2, 2], [-1, 3]])

prints(
    'eq-expect-quadratic',
    w=_weights,
    x=Random(list(_corners), of(lambda w: w)),
    v=vectors(2),
    mu=of(lambda w: w @ _corners),
    Sigma=of(lambda w: np.cov(_corners.T, aweights=w, ddof=0)),
)
prints(
    'eq-total-variance',
    w=_weights,
    Y=Random([1., 2, 5], of(lambda w: w)),
    noise=Random([-1., 0.5, 3]),
    X=of(lambda Y, noise: Y ** 2 + Y * noise),
)
_claims = Random(list(product([0., 1, 5], repeat=3)))

prints(
    'eq-random-sum',
    w=[np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.5, 0, 0, 0.5])],  # variances 1 and 9/4
    N=Random(range(4), of(lambda w: w)),
    claims=_claims,
    S=of(lambda N, claims: sum(claims[:int(N)])),
    mu=2,
    sigma=np.sqrt(np.var([0, 1, 5])),
)
prints(
    'eq-monte-carlo',
    n=3,
    sample=Random(list(product([0., 1, 4], repeat=3))),
    X=Random([0., 1, 4]),
    X_i=of(lambda i, sample: sample[i - 1]),
    f=[lambda x: x ** 2 + 1, np.cos],
)
_f, _g = np.array([1., 3, 0, 2]), np.array([2., 5, 1, 1])

prints(
    'eq-control-variate',
    w=[np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.25, 0.25, 0.25, 0.25])],
    X=Random(range(4), of(lambda w: w)),
    f=of(lambda X: _f[int(X)]),
    g=of(lambda X: _g[int(X)]),
    C=of(lambda w: np.cov(_f, _g, aweights=w, ddof=0)),
    beta_star=of(lambda C: C[0, 1] / C[1, 1]),
    rho=of(lambda C: C[0, 1] / np.sqrt(C[0, 0] * C[1, 1])),
    sigma_f=of(lambda C: np.sqrt(C[0, 0])),
    sigma_g=of(lambda C: np.sqrt(C[1, 1])),
)
_line = np.linspace(-12, 12, 97)  # sums over it are integrals of bells, to all digits

prints(
    'eq-importance',
    X=Random(_line),
    p=stats.norm(0.3, 1).pdf,
    q=stats.norm(0, 1.2).pdf,
    f=np.cos,
)

# concentration

_three = Random(list(product([-1., 0, 1], repeat=3)), of(lambda w: [np.prod(p) for p in product(w, repeat=3)]))
_spread = dict(
    w=[np.array([0.1, 0.8, 0.1]), np.array([0.5, 0, 0.5]), np.array([0.2, 0.3, 0.5])],
    mu=of(lambda w: w @ [-1, 0, 1]),
    sigma=of(lambda w: np.sqrt(w @ [1, 0, 1] - (w @ [-1, 0, 1]) ** 2)),
)

prints(
    'eq-conc-chebyshev',
    X=Random([1., 3, 5], of(lambda w: w)),
    t=[-2, 0.5, 2],
    equality=dict(w=np.array([0.1, 0.8, 0.1]), t=2.0),
    w=_spread['w'],
    mu=of(lambda w: w @ [1, 3, 5]),  # far from zero, where a slip in its sign shows
    sigma=of(lambda w: np.sqrt(w @ [1, 9, 25] - (w @ [1, 3, 5]) ** 2)),
)
prints(
    'ml.ms.hoeffding.concentration',
    Theta=_three,
    N=3,
    epsilon=[0.2, 0.6, 1],
    slip=('the average no better than one', r'\Pr\Big[ \big| \tfrac13 \sum_{n} \Theta_n - \mu \big| \ge \epsilon \Big] \le \frac{\sigma^2}{N^2 \epsilon^2}'),
    **_spread,
)
# One coin comes near to both bounds: a fair one to 0.82 of them, where it is off by half of the range, and one that shows
# its better side in nine of ten cases to 0.92 of the bound for one side, which nothing below 1 could replace.
_coins = dict(
    p=[0.5, 0.9],
    N=[1, 3],
    ends=[[-3.0, 1.0], [0.5, 1.7]],
    a=of(lambda ends: ends[0]),
    b=of(lambda ends: ends[1]),
    side=Random([0, 1], of(lambda p: [1 - p, p])),
    Theta=of(lambda ends, side: ends[side]),
    sample=Random(list(product([0, 1], repeat=3)), of(lambda p: [np.prod(c) for c in product([1 - p, p], repeat=3)])),
    Theta_n=of(lambda n, N, sample, ends: ends[sample[n - 1]] if n <= N else 0),
    n=range(1, 4),
    share=[0.1, 0.5, 0.6],
    epsilon=of(lambda share, a, b: share * (b - a)),
)

prints(
    'eq-conc-one-sided',
    slip=[
        ('a 4 in the exponent', r'\Pr\big[ \tfrac1N \sum_n \Theta_n - \mathbb{E}[\Theta] \ge \epsilon \big] \le e^{-4 N \epsilon^2 / (b - a)^2}'),
        ('a tenth less', r'\Pr\big[ \tfrac1N \sum_n \Theta_n - \mathbb{E}[\Theta] \ge \epsilon \big] \le 0.9 e^{-2 N \epsilon^2 / (b - a)^2}'),
    ],
    **_coins,
)
prints(
    'ml.ms.hoeffding.ineq',
    slip=('two sides for less than the price of two',
          r'\Pr\Big[ \Big| \frac1N \sum_{n=1}^N \Theta_n - \mathbb{E}[\Theta] \Big| \ge \epsilon \Big] \le 1.6 e^{-2 N \epsilon^2 / (b - a)^2}'),
    **_coins,
)
prints(
    'ml.ms.hoeffding.eps',
    N=integers(5, 50),
    delta=scalars(0.01, 0.5),
    a=scalars(-2, 0),
    b=scalars(1, 3),
    epsilon=of(lambda N, delta, a, b: optimize.brentq(
        lambda t: np.log(2 / delta) - 2 * N * t ** 2 / (b - a) ** 2, 0, 20, xtol=1e-14)),
)
_pairs, _chances = [(0., 0), (0, 1), (1, 1), (2, 0)], [0.4, 0.1, 0.3, 0.2]  # inputs with labels


def loss(y, guess):
    return float(y != guess)


def risk(f):
    return sum(p * loss(y, f(x)) for p, (x, y) in zip(_chances, _pairs, strict=True))

_classifiers = [lambda x: int(x > 0), lambda x: int(x == 1), lambda x: int(x != 1)]
_test_set = Random(list(product(range(4), repeat=3)), [np.prod([_chances[k] for k in ks]) for ks in product(range(4), repeat=3)])

prints(
    'ml.ms.hoeffding.true-loss',
    pair=Random(range(4), _chances),
    x_n=of(lambda pair: _pairs[int(pair)][0]),
    y_n=of(lambda pair: _pairs[int(pair)][1]),
    ell=loss,
    f=_classifiers,
    L_D=risk,
)
prints(
    'ml.ms.hoeffding.use',
    also_true=2,  # one side is less likely than both, and an error above N never happens
    sample=_test_set,
    ell=lambda y, guess: 4 * loss(y, guess) - 3,
    f=_classifiers,
    L_D=lambda f: 4 * risk(f) - 3,
    L_S=of(lambda sample: lambda f: np.mean([4 * loss(_pairs[int(k)][1], f(_pairs[int(k)][0])) - 3 for k in sample])),
    N=3,
    a=-3,
    b=1,
    epsilon=[1.2, 2.0],
    delta=of(lambda epsilon: 2 * np.exp(-6 * (epsilon / 4) ** 2)),
)

# the Gaussian

prints('eq-gauss-constant')
prints('ml.mle.gaussian.sigma-psd', Sigma=_cov, v=vectors(2), also_true=1)  # without Sigma: the squared length of v


def residual(rows, known):
    """What is left of rows after least squares on the known rows."""
    return rows - rows @ np.linalg.pinv(known) @ known


def covariance(rows, *known):
    """Of a linear map of standard normal numbers, given another one of them."""
    left = residual(rows, known[0]) if known else rows
    return left @ left.T

_factor = normal(3, 3)

prints(
    'eq-gauss-precision',
    A=_factor,
    a=of(lambda A: A[:2]),
    b=of(lambda A: A[2:]),
    Cov=covariance,
    Sigma_aa=of(lambda A: (A @ A.T)[:2, :2]),
    Sigma_ab=of(lambda A: (A @ A.T)[:2, 2:]),
    Sigma_ba=of(lambda A: (A @ A.T)[2:, :2]),
    Sigma_bb=of(lambda A: (A @ A.T)[2:, 2:]),
    P_aa=of(lambda A: np.linalg.inv(A @ A.T)[:2, :2]),
)

# maximum likelihood

prints(
    'eq-mle-log-likelihood',
    y=[np.array(throws) for throws in ([1, 0], [1, 1, 0], [0, 1, 0, 0, 0], [1, 0, 1, 1, 1, 0])],
    N=of(lambda y: len(y)),
    w=vectors(1, 0.05, 0.95),
    p=lambda y, w: stats.bernoulli.pmf(int(y), w).item(),
    L_LL=of(lambda y: lambda w: stats.binom.logpmf(y.sum(), len(y), w).item() - np.log(special.comb(len(y), y.sum()))),
)
prints(
    'eq-mle-estimate',
    tries=3,
    y=normal(5),
    w=Box(-30, 30, 1),
    L_LL=of(lambda y: lambda w: stats.norm.logpdf(y, w, 0.7).sum()),
    w_hat=of(lambda y: np.array([y.mean()])),
)
prints(
    'ml.mle.estimator.equiv',
    X=normal(5, 2),
    y=vectors(5, -2, 2),
    w=Box(-30, 30, 2),
    L_MSE=of(lambda X, y: lambda w: ((y - X @ w) ** 2).mean()),
    L_LL=of(lambda X, y: lambda w: stats.norm.logpdf(y, X @ w, 0.7).sum()),
    tries=3,
)
_score = dict(
    w=vectors(2, -2, 2),
    y=Random(range(3), of(lambda w: special.softmax([*w, 0]))),
    p=lambda y, w: np.exp(np.append(w, 0)[y]) / np.exp(np.append(w, 0)).sum(),
)


def score(y, w):
    """The slope of the log-probability of y, by autograd."""
    return torch.func.grad(lambda w: torch.cat([w, w.new_zeros(1)]).log_softmax(0)[int(y)])(torch.tensor(w))

prints(
    'ml.mle.properties.fisher',
    s=of(score),
    F=lambda w: (np.diag(p := special.softmax([*w, 0])) - np.outer(p, p))[:2, :2],
    tries=6,
    **_score,
)
_truth = np.array([0.6, 0.4, 0])  # probabilities as parameters; the model may waste mass where the truth has none

prints(
    'eq-mle-gibbs',
    w=vectors(2, 0.1, 0.45).map(lambda w: np.append(w, 1 - w.sum())),
    w_true=_truth,
    y=Random(range(3)),
    true=lambda y: _truth[y],
    p_true=of(lambda y: _truth[int(y)]),
    p_w=of(lambda w, y: w[int(y)]),
    M=lambda w: _truth[:2] @ np.log(w[:2]),
    equality=dict(w=_truth),
)
prints(
    'ml.mle.properties.cov',
    X=normal(4, 2),
    sigma=scalars(0.5, 2),
    w_true=vectors(2),
    noise=Random(list(product([-1., 1], repeat=4))),
    w_hat=of(lambda X, sigma, w_true, noise: np.linalg.lstsq(X, X @ w_true + sigma * np.array(noise), rcond=None)[0]),
    F_N=of(lambda X, sigma: lambda w: -torch.func.hessian(lambda v: torch.distributions.Normal(
        torch.tensor(X) @ v, sigma).log_prob(torch.zeros(4)).sum())(torch.tensor(w))),
    tries=10,
)
_sums = {N: special.roots_genlaguerre(4, N - 3) for N in (3, 4, 7)}  # of exponential waiting times, with 1/s^2 in the weights

prints(
    'ml.mle.properties.efficient',
    N=[3, 4, 7],
    lambda_=scalars(0.2, 4),
    k=Random(range(4), of(lambda N: _sums[N][1] * _sums[N][0] ** 2 / special.gamma(N))),
    lambda_hat=of(lambda N, lambda_, k: N * lambda_ / _sums[N][0][int(k)]),
    F=lambda rate: 1 / rate ** 2,
)

# the reparameterization trick

_grid = np.linspace(-10, 10, 41)  # sums over it are integrals of bells, to all digits


def bell(t):
    """The standard normal density times the step of the grid."""
    return 0.5 * np.exp(-t ** 2 / 2) / np.sqrt(2 * np.pi)

_moving = dict(theta=scalars(-2, 2), f=[lambda z: z ** 2 + z, np.sin], z=Random(_grid, of(lambda theta: bell(_grid - theta))))
_density = dict(p=lambda theta, z: np.exp(-(z - theta) ** 2 / 2) / np.sqrt(2 * np.pi))

prints('la.reparam.continuous', tries=4, **_moving, **_density)
prints(
    'la.reparam.discrete',
    a=vectors(3, -2, 2),
    theta=scalars(-2, 2),
    z=Random([1., 2, 5], of(lambda a, theta: special.softmax(a * theta))),
    z_in=[1., 2, 5],
    p=of(lambda a: lambda theta, z: special.softmax(a * theta)[[1, 2, 5].index(z)]),
    f=[lambda z: z ** 2, np.sin],
)
prints('eq-reparam-score', tries=1, **_moving | dict(f=np.sin), **_density)
_path = dict(epsilon=Random(_grid, bell(_grid)), q=bell, g=lambda theta, t: theta + t)

prints('la.reparam.identity', tries=10, **_moving, **_density, **_path)
prints('la.reparam.gradient-1', tries=4, **_moving, **_density, **_path)
prints(
    'la.reparam.gradient-2', tries=4, theta=scalars(0.5, 2), f=[lambda z: z ** 2 + z, np.sin],
    **_path | dict(g=lambda theta, t: theta ** 2 + theta * t),  # whose slope is no constant
)


def estimators(D, mu, sigma):
    """The variances of three estimators of a slope, by quadrature that is exact for such polynomials."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    eps = np.array(list(product(nodes, repeat=int(D))))
    chance = np.array([np.prod(w) for w in product(weights / weights.sum(), repeat=int(D))])
    f = ((mu + sigma * eps) ** 2).sum(1)
    draws = 2 * (mu + sigma * eps[:, 0]), f * eps[:, 0] / sigma, (f - chance @ f) * eps[:, 0] / sigma
    return [chance @ draw ** 2 - (chance @ draw) ** 2 for draw in draws]

prints(
    'eq-reparam-variances',
    D=[1, 2, 3],
    mu=scalars(-2, 2),
    sigma=scalars(0.5, 2),
    m=of(lambda D, mu, sigma: (D - 1) * (mu ** 2 + sigma ** 2)),
    v=of(lambda D, mu, sigma: (D - 1) * (4 * mu ** 2 * sigma ** 2 + 2 * sigma ** 4)),
    V_path=of(lambda D, mu, sigma: estimators(D, mu, sigma)[0]),
    V_score=of(lambda D, mu, sigma: estimators(D, mu, sigma)[1]),
    V_base=of(lambda D, mu, sigma: estimators(D, mu, sigma)[2]),
    tries=10,
)


_evidence = np.array([0.1, 0.4, 0.2])  # the joint probabilities of three weights and the data

prints(
    'eq-reparam-elbo',
    y=1,
    chance=[np.array([0.2, 0.5, 0.3]), np.array([0.6, 0.1, 0.3])],
    w=Random(range(3), of(lambda chance: chance)),
    q=of(lambda chance: lambda w: chance[w]),
    r=lambda w: (_evidence / _evidence.sum())[w],
    p=lambda y, *w: _evidence[w[0]] if w else _evidence.sum(),
    KL=lambda q, r: stats.entropy([q(w) for w in range(3)], [r(w) for w in range(3)]),
)
