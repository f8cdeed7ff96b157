# ---
# jupyter:
#   book:
#     functions:
#       tail_bound: tail_bound(500, 10, 0.1)
#       radius: radius(500, 10, 0.05)
#       enough: enough(0.05, 10, 0.05)
#       by_grid: by_grid(200, 10, 0.05)
#       select_model: select_model(uniform(4, 5))
#       bad_one_wins: bad_one_wins(100, 50, 0.375, 0.125)
#       exact_vote: exact_vote(1001, 11)
#       ridge_classifier: ridge_classifier(normal(30, 4), np.arange(30) % 10, 1.0)(normal(5, 4))
#     main: ml.ms.union.union
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Model selection with a guarantee
#
# A cheap sensor for handwritten digits has room for thirty pixels. We try 100 sets of thirty pixels and keep the set that
# makes the fewest errors on 200 test digits: 8.5 % on average. On fresh digits the same sets err in 12.2 % of the cases. If
# we try $K$ models on one test set and keep the best, what is its score still worth, and how often can one test set be used?
#
# - **You need** [generalization](generalization.ipynb), [Hoeffding's inequality](../probability/concentration.ipynb) and
#   [Jensen's inequality](../optimization/jensens_inequality.ipynb).
# - **You build** error bars that hold for all candidates at once, the exact distribution of the largest error, a guarantee
#   for the winner, and an attack that ruins a test set.
# - **Runs in** 5 seconds.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom, kstwo, norm
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, PredefinedSplit

from nbutils.cases import integers, lists, on, scalars, seeds
from nbutils.checks import close, grade, holds, verify
from nbutils.data import digits
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## Many models on one test set: the union bound
#
# A thousand people toss a coin ten times each. It is no surprise that one of them sees tails every time. In the same way,
# some of a thousand models have a misleading test error, even if each test error by itself is trustworthy. Here all $K$
# models have the risk 0.3. We test them on $N = 500$ examples, twenty times:

# %%
rng = np.random.default_rng(0)
for K in (1, 10, 1000):
    test_errors = rng.binomial(500, 0.3, (20, K)) / 500
    worst = abs(test_errors - 0.3).max(axis=1)  # (20,)
    print(f'{K:4} models: largest deviation {worst.mean():.4f} on average,'
          f' lowest test error {test_errors.min(axis=1).mean():.3f}')

# %% [markdown]
# How wrong can the worst of $K$ test errors be? Let $f$ be a model that does not depend on the test set of $N$ examples,
# with losses in $[a, b]$. Hoeffding's inequality says
#
# ```{math}
# :label: ms-one
# \Pr\big[ |L_{\mathcal{D}}(f) - L_{\text{test}}(f)| \ge \epsilon \big] \le 2 e^{-2N\epsilon^2/(b - a)^2} .
# ```
#
# For $K$ models we use the *union bound*: the probability of a union of events is at most the sum of their probabilities,
# because the sum counts each outcome as often as it occurs in an event, and the union counts it once. The largest deviation
# reaches $\epsilon$ if and only if one of the $K$ does, so
#
# ```{math}
# :label: ml.ms.union.union
# \begin{aligned}
# \Pr\Big[ \max_k |L_{\mathcal{D}}(f_k) &- L_{\text{test}}(f_k)| \ge \epsilon \Big] \\
# &= \Pr\Big[ \bigcup\nolimits_k \big\{ |L_{\mathcal{D}}(f_k) - L_{\text{test}}(f_k)| \ge \epsilon \big\} \Big] \\
# &\le \sum_{k=1}^K \Pr\big[ |L_{\mathcal{D}}(f_k) - L_{\text{test}}(f_k)| \ge \epsilon \big] \\
# &\le 2K e^{-2N\epsilon^2/(b - a)^2} .
# \end{aligned}
# ```
#
# Set the right side equal to $\delta$ and solve for $\epsilon > 0$:
#
# ```{math}
# :label: ml.ms.union.eps-k
# \delta = 2K e^{-2N\epsilon^2/(b - a)^2} \;\Longleftrightarrow\; \epsilon = \sqrt{\frac{(b - a)^2 \ln(2K/\delta)}{2N}} .
# ```

# %%
def tail_bound(N, K, eps, a=0, b=1):
    return 2 * K * np.exp(-2 * N * eps**2 / (b - a) ** 2)

def radius(N, K, delta, a=0, b=1):
    return (b - a) * np.sqrt(np.log(2 * K / delta) / (2 * N))

for K in (1, 10, 1000):
    print(f'{K:4} models: with probability 95 % no deviation reaches '
          f'{radius(500, K, 0.05):.3f}')

# %% [markdown]
# ````{prf:theorem} K test errors
# :label: thm-ms-union
# Let $f_1, \dots, f_K$ be fixed before the test set is drawn, and losses lie in $[a, b]$. Then for $0 < \delta < 1$
#
# ```{math}
# :label: ml.ms.k-errors.claim
# \Pr\bigg[ \max_k |L_{\mathcal{D}}(f_k) - L_{\text{test}}(f_k)| \ge
# \sqrt{\frac{(b - a)^2 \ln(2K/\delta)}{2\,|S_{\text{test}}|}} \, \bigg] \le \delta .
# ```
# ````
#
# Nothing is assumed about how the deviations depend on each other. On a shared test set they do.
#
# ### How the error bar grows with the number of models
#
# With the number of test examples the radius in {eq}`ml.ms.k-errors.claim` decreases as
#
# ```{math}
# :label: ml.ms.k-errors.rate-n
# O\big( 1/\sqrt{|S_{\text{test}}|} \big) ,
# ```
#
# and with the number of models it grows only as
#
# ```{math}
# :label: ml.ms.k-errors.rate-k
# \sqrt{\ln K} .
# ```
#
# So we can test many models without a large penalty. If $\epsilon_K$ is the radius for $K$ models and $\delta = 0.05$, then
#
# ```{math}
# :label: ml.ms.k-errors.cheap
# \frac{\epsilon_{1000}}{\epsilon_1} = \sqrt{\frac{\ln 40\,000}{\ln 40}} \approx 1.69 .
# ```
#
# A thousand models cost less than three times the test data of one. The reason is the exponential tail. With
# Chebyshev's inequality for each model, $\epsilon = \sqrt{K/(4N\delta)}$, the factor would be $\sqrt{1000}$. A
# guarantee of $\pm\epsilon$ asks for $N \ge \ln(2K/\delta) / (2\epsilon^2)$ test examples:

# %%
def enough(eps, K, delta):
    return int(np.ceil(np.log(2 * K / delta) / (2 * eps**2)))

for eps in (0.05, 0.01):
    print(f'± {eps}: test examples for K = 1, 100, a million:',
          *(enough(eps, K, 0.05) for K in (1, 100, 10**6)))

# %% [markdown]
# These rates are true not only of the bound, but of the largest deviation itself, on average:
#
# ````{prf:theorem} The largest of K deviations, on average
# :label: thm-ms-mean
# Under the hypotheses of {prf:ref}`thm-ms-union`, with $M = \max_k |L_{\mathcal{D}}(f_k) - L_{\text{test}}(f_k)|$,
#
# $$ \mathbb{E}[M] \le (b - a) \sqrt{\frac{\ln(2K)}{2N}} . $$
# ````
#
# ````{prf:proof}
# :class: dropdown
# $M$ is the largest of $2K$ variables, the deviations $Z_j$ with both signs. For $\lambda > 0$, by Jensen's inequality,
# $e^{\lambda \mathbb{E}[M]} \le \mathbb{E}[e^{\lambda M}] \le \sum_j \mathbb{E}[e^{\lambda Z_j}] \le 2K
# e^{\lambda^2 (b - a)^2 / (8N)}$, by Hoeffding's lemma for each of the $N$ terms of an average. So $\mathbb{E}[M] \le
# \ln(2K)/\lambda + \lambda (b - a)^2/(8N)$, which is least at $\lambda = \sqrt{8N \ln(2K)}/(b - a)$.
# ````
#
# ### How loose is the union bound?
#
# For $K$ *independent* models of the same risk $p$ the exact distribution of $M$ is known. If one deviation is at most $d$
# with probability $F(d)$, then all are with probability $F(d)^K$. So we can compare the bound with the truth:

# %% tags=["hide-input"]
def law(N, p):  # possible deviations of one model, and F
    share = np.arange(N + 1) / N
    order = np.argsort(abs(share - p), kind='stable')
    F = binom.pmf(order, N, p).cumsum().clip(0, 1)
    return abs(share - p)[order], F

def quantile_max(N, K, p, delta):
    d, F = law(N, p)
    return d[np.searchsorted(F**K, 1 - delta)]

def simulated_max(seed, N, K, p, R=1000):
    shares = np.random.default_rng(seed).binomial(N, p, (R, K)) / N
    return abs(shares - p).max(axis=1)

N, delta = 500, 0.05
counts = np.unique(np.geomspace(1, 10_000, 40).astype(int))
bound = radius(N, counts, delta)
needed = {p: np.array([quantile_max(N, K, p, delta) for K in counts]) for p in (0.5, 0.05)}
print('95 % radius      one model   10,000 models')
for name, values in {'union bound': bound, 'exact, risk 0.5': needed[0.5], 'exact, risk 0.05': needed[0.05]}.items():
    print(f'{name:17} {values[0]:.3f} {values[-1]:15.3f}')
for p, exact in needed.items():
    print(f'risk {p}: the bound is {bound[0] / exact[0]:.2f} times too wide for one model, '
          f'{bound[-1] / exact[-1]:.2f} times for 10,000')

# %% mystnb={"image": {"alt": "Radius that holds for all models at once against their number, on a logarithmic axis, 500 test examples. The union bound rises slowly from 0.061 to 0.114; the exact radius for independent models of risk one half lies a little below it, that for risk 0.05 far below; a flat line for copies of one model. Simulated points lie on the exact curves."}} tags=["hide-input"]
few = np.array([1, 10, 100, 1000])
dots = {p: np.array([[np.quantile(simulated_max(seed, N, K, p, 400), 0.95)
                      for K in few] for seed in range(3)]) for p in needed}
fig, ax = plt.subplots(figsize=(6, 3.1))
ax.plot(counts, bound, color='C1', label='union bound')
for color, (p, exact) in zip(('C0', 'C2'), needed.items(), strict=True):
    ax.plot(counts, exact, color=color, drawstyle='steps-mid', label=f'independent, risk {p}')
    ax.plot(few, dots[p].T, '.', color=color, ms=5)
ax.hlines(needed[0.5][0], 1, 10_000, color=GREY, ls=':', label='copies, risk 0.5')
ax.set(xscale='log', ylim=(0, 0.15), xlabel='number of models K', ylabel='95 % radius', title='N = 500')
ax.legend(ncols=2, loc='upper left');

# %% [markdown] tags=["caption"]
# For $N = 500$ the radius that holds for all $K$ models grows slowly with $K$; the union bound comes closer with $K$ for
# risk one half and is generous for risk 0.05.

# %% [markdown]
# The bound gives away four things, of very different size:
#
# - *The tail.* At risk $\frac12$ the true probability, about $2\Phi(-2\epsilon\sqrt N)$, is smaller than
#   $2e^{-2N\epsilon^2}$. This makes the radius 1.38 times too wide for one model, and matters less with more models.
# - *The union.* For independent models the sum of the probabilities is $\delta$ where the truth is
#   $1 - (1 - \delta/K)^K \ge 1 - e^{-\delta}$, practically the same.
# - *The range.* Hoeffding puts $(b - a)/2$ where the standard deviation belongs. This matters if errors are rare.
# - *Dependence.* Models that err on the same examples count as fewer than $K$. A thousand copies of one model cost nothing.
#
# ### Infinitely many models
#
# The bound extends to some infinite classes, but not to all. Take as models all thresholds $t \in \mathbb{R}$, with
# loss 1 where $x \le t$. The risk is the distribution function $F(t)$, and the test error is the share $F_N(t)$ of test
# examples up to $t$.
#
# ````{prf:theorem} All thresholds at once
# :label: thm-ms-thresholds
# If $F$ is continuous, then for every whole $m \ge 2$
#
# ```{math}
# :label: ml.ms.k-errors.infinite
# \Pr\bigg[ \sup_t |F_N(t) - F(t)| \ge \sqrt{\frac{\ln(2(m-1)/\delta)}{2N}} + \frac1m \bigg] \le \delta .
# ```
# ````
#
# ````{prf:proof}
# :class: dropdown
# Let $F(t_j) = j/m$ for $0 < j < m$. Both functions rise with $t$. So between two neighbours $t_{j-1} \le t \le t_j$ we
# have $F_N(t) - F(t) \le F_N(t_j) - F(t_j) + \frac1m$, and likewise from below; at the outer ends ($F = 0$ and $F = 1$)
# both functions agree. So the supremum is at most the largest of $m - 1$ deviations plus $\frac1m$, and
# {prf:ref}`thm-ms-union` applies with $K = m - 1$.
# ````

# %%
def by_grid(N, m, delta):
    return radius(N, m - 1, delta) + 1 / m

print(f'N = 200: grid of 10 {by_grid(200, 10, 0.05):.3f}, one model '
      f'{radius(200, 1, 0.05):.3f}, exact {kstwo.isf(0.05, 200):.3f}')

# %% [markdown]
# Infinitely many models that resemble each other count as finitely many. For thresholds the radius of a single model is
# enough, $\sqrt{\ln(2/\delta)/(2N)}$ {cite}`massart1990tight`; we do not prove it, but the exact radius, from Kolmogorov's
# distribution, is a little smaller. For general classes the part of $K$ is played by the number of ways in which the class
# can label $N$ examples {cite}`vapnik1971uniform`. If it is $2^N$, nothing is guaranteed: among *all* functions there is one
# that errs on the test examples and nowhere else. Its deviation is 1 for every $N$.
#
# ```{exercise} ★ Pencil: a leaderboard
# :label: model_selection-leaderboard
# A competition takes $T \ge 2$ entries from each of $M$ teams and scores them by a loss in $[0, c]$ on a hidden test set of
# $N$ examples. All entries are fixed before any score is shown. Which radius holds for all scores at once with
# probability $1 - \delta$, if one half of $\delta$ is spent on the last entry of each team and the other half on all
# earlier entries? Write `two_radii(N, T, M, c, delta)`.
# ```

# %%
def two_radii(N, T, M, c, delta):
    """The radius of the last entries and that of the earlier ones: a pair.

    N, M: ints >= 1. T: int >= 2. c: float > 0. delta: float in (0, 1).
    two_radii(200, 2, 1, 1.0, 0.08) is about (0.0989, 0.0989): one team
    with one earlier entry.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def two_by_search(N, T, M, c, delta):
    def solve(K):
        spent = lambda e: np.log(2 * K) - 2 * N * (e / c) ** 2
        return brentq(lambda e: spent(e) - np.log(delta / 2), 0, 99 * c,
                      xtol=1e-14)
    return np.array([solve(M), solve(M * (T - 1))])

boards = dict(
    N=on(1, 100) | integers(1, 5000), T=on(2, 3) | integers(2, 50), M=on(1, 7) | integers(1, 100),
    c=on(1.0, 4.0) | scalars(0.1, 10), delta=on(0.05) | scalars(0.001, 0.9),
)
grade(two_radii, two_by_search, **boards)

# %% [markdown]
# ```{solution-start} model_selection-leaderboard
# :class: dropdown
# ```
# The union bound does not ask that $\delta$ be shared out equally. There are $M$ last entries, which may fail with
# probability $\delta/2$ together, and $M(T - 1)$ others with the other half. The logarithm makes the two nearly equal.
# It is tempting to forget that $\delta$ was halved, which gives radii that are too short. The second wrong answer counts the
# last entries among the earlier ones, and the third takes the losses to be at most 1.

# %% jupyter={"source_hidden": true}
def two_radii_solution(N, T, M, c, delta):
    K = np.array([M, M * (T - 1)])
    return c * np.sqrt(np.log(4 * K / delta) / (2 * N))

def not_halved(N, T, M, c, delta):
    return two_radii_solution(N, T, M, c, 2 * delta)

def last_counted_twice(N, T, M, c, delta):
    return two_radii_solution(N, T + 1, M, c, delta)

def losses_up_to_one(N, T, M, c, delta):
    return two_radii_solution(N, T, M, 1.0, delta)

assert grade(two_radii_solution, two_by_search, **boards)
assert not grade(not_halved, two_by_search, **boards)
assert not grade(last_counted_twice, two_by_search, **boards)
assert not grade(losses_up_to_one, two_by_search, **boards)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def tail(N, p, eps):  # exact Pr[|share - p| >= eps]
    k = np.arange(N + 1)
    return binom.pmf(k, N, p)[abs(k / N - p) >= eps].sum()

def chain(seed, combine):
    rng = np.random.default_rng(seed)
    p, events = rng.dirichlet(np.ones(8)), rng.random((5, 8)) < 0.3
    union = p[events.any(axis=0)].sum()
    risks, eps = rng.uniform(0.1, 0.9, 5), rng.uniform(0.05, 0.4)
    b = rng.uniform(0.25, 4)  # losses 0 and b
    below = all(sum(tail(N, q, eps) for q in risks)
                <= tail_bound(N, 5, b * eps, 0, b) for N in (1, 30))
    return bool(union <= combine(events @ p) + 1e-12 and below)

def solves(N, K, delta, a, b, outside):
    eps = outside * radius(N, K / outside**2, delta, a, b)
    return close(tail_bound(N, K, eps, a, b), delta)

def exceeded(seed, N, K, eps, R=2000):  # share of draws with max >= eps
    shares = np.random.default_rng(seed).binomial(N, 0.5, (R, K)) / N
    return (abs(shares - 0.5).max(axis=1) >= eps).mean()

def missed(N, K, eps, p):  # exact Pr[largest of K deviations >= eps]
    return 1 - (1 - tail(N, p, eps)) ** K

def as_seen(seed, K, eps, counted):
    exact = missed(100, counted, eps, 0.5)
    error = 5 * np.sqrt(exact * (1 - exact) / 2000)
    return abs(exceeded(seed, 100, K, eps) - exact) <= error
holds('ml.ms.union.union', lambda seed: chain(seed, np.sum),
      slip=('takes the worst event for the union',
            lambda seed: chain(seed, np.max)),
      seed=seeds(), tries=60)

box = dict(N=integers(1, 5000), K=integers(1, 1000),
           delta=scalars(0.001, 0.9), a=scalars(-3, 3), b=scalars(4, 9))

holds('ml.ms.union.eps-k', lambda **case: solves(**case, outside=1),
      slip=('puts K outside the logarithm',
            lambda **case: solves(**case, outside=np.sqrt(case['K']))),
      **box)

verify('the exact probability is what one sees',
       lambda seed, K, eps: as_seen(seed, K, eps, K),
       slip=('forgets the number of models',
             lambda seed, K, eps: as_seen(seed, K, eps, 1)),
       seed=[0, 1, 2], K=[1, 10, 200], eps=[0.065, 0.115, 0.165])

holds('ml.ms.k-errors.claim',
      lambda N, K, p, delta:
      missed(N, K, radius(N, K, delta), p) <= delta + 1e-12,
      slip=('loses the 2 in the logarithm',
            lambda N, K, p, delta:
            missed(N, K, radius(N, K / 2, delta), p) <= delta + 1e-12),
      N=[1, 2, 5, 30, 200], K=[1, 2, 10, 200], p=[0.5, 0.2],
      delta=[0.99, 0.8, 0.62, 0.3, 0.05, 0.001], tries=240)

# %% tags=["checks"]
def mean_max(N, K, p=0.5):
    d, F = law(N, p)
    return d @ np.diff(F**K, prepend=0)

def agrees(seed, N, K, p, counted):
    seen = simulated_max(seed, N, K, p)
    error = 5 * seen.std() / np.sqrt(1000)
    return abs(seen.mean() - mean_max(N, counted, p)) < error

def slope(N, rate):
    measured = np.log(mean_max(64 * N, 100) / mean_max(N, 100)) / np.log(64)
    return abs(measured - rate) < 0.005

verify('the exact mean of the largest deviation is what one sees',
       lambda **case: agrees(**case, counted=case['K']),
       slip=('counts twice as many models',
             lambda **case: agrees(**case, counted=2 * case['K'])),
       seed=seeds(), N=[50, 300], K=[1, 7, 100], p=[0.1, 0.5], tries=30)

verify('it is below its bound',
       lambda N, K, p: mean_max(N, K, p) <= np.sqrt(np.log(2 * K) / (2 * N)),
       slip=('forgets the 2 under the root',
             lambda N, K, p: mean_max(N, K, p) <= np.sqrt(
             np.log(2 * K) / (4 * N))),
       N=integers(1, 300), K=integers(1, 10_000), p=[0.1, 0.5])

holds('ml.ms.k-errors.rate-n', lambda N: slope(N, -1 / 2),
      slip=('falls like 1/N, as a variance does', lambda N: slope(N, -1)),
      N=[100, 200])

# %% tags=["checks"]
def normal_max(log_K):  # mean of the largest of K normal deviations |z|
    z = np.linspace(0, np.sqrt(2 * log_K) + 5, 200_001)
    beyond = np.minimum(log_K + np.log(2) + norm.logsf(z), 50)
    return np.trapezoid(-np.expm1(-np.exp(beyond)), z)

def near_normal(N, K, counted):  # tails of the binomial: error of order z³/N
    z = normal_max(np.log(counted))
    return abs(2 * np.sqrt(N) * mean_max(N, K) - z) < z**3 / N

def rises(log_K, power):  # extreme values: relative remainder ln ln K / ln K
    off = normal_max(log_K) / (2 * log_K) ** power - 1
    return abs(off) < np.log(log_K) / log_K

verify('for many examples the deviations are those of normal errors',
       lambda N, K: near_normal(N, K, K),
       slip=('counts deviations to one side alone',
             lambda N, K: near_normal(N, K, K / 2)),
       N=[20_000, 200_000], K=[10**4, 10**6])

holds('ml.ms.k-errors.rate-k', lambda log_K: rises(log_K, 0.5),
      slip=('takes 0.55 for the power of the logarithm',
            lambda log_K: rises(log_K, 0.55)),
      log_K=[1e2, 1e3, 1e4, 1e5])

def chebyshev_radius(N, K, delta):  # variance at most 1/4 each
    return np.sqrt(K / (4 * N * delta))

def penalty(radius, N):
    return radius(N, 1000, 0.05) / radius(N, 1, 0.05)

holds('ml.ms.k-errors.cheap', lambda N: round(penalty(radius, N), 2) == 1.69,
      slip=("uses Chebyshev's inequality for each model",
            lambda N: round(penalty(chebyshev_radius, N), 2) == 1.69),
      N=integers(1, 5000))

def worst_threshold(x):  # uniform x, F(t) = t
    x, N = np.sort(x), len(x)
    return max((np.arange(1, N + 1) / N - x).max(),
               (x - np.arange(N) / N).max())

def worst_function(x):  # errs on the sample alone
    anywhere = np.linspace(0, 1, 1001)
    return np.isin(x, x).mean() - np.isin(anywhere, x).mean()

# %% tags=["checks"]
def bounded(seed, N, delta, worst, R=200):
    rng = np.random.default_rng(seed)
    seen = np.array([worst(rng.random(N)) for _ in range(R)])
    eps = radius(N, 1, delta)
    slack = 5 * np.sqrt(delta / R)
    right = kstwo.sf(eps, N) <= delta and eps < by_grid(N, 10, delta)
    near = abs((seen >= eps).mean() - kstwo.sf(eps, N)) < slack
    on_grid = (seen >= by_grid(N, 10, delta)).mean() <= delta + slack
    return bool(right and near and on_grid)

holds('ml.ms.k-errors.infinite',
      lambda seed, N, delta: bounded(seed, N, delta, worst_threshold),
      slip=('takes a function that errs on the test examples alone',
            lambda seed, N, delta: bounded(seed, N, delta, worst_function)),
      seed=[0, 1, 2], N=[20, 200], delta=[0.3, 0.05], tries=12)

# %% tags=["checks"]
def is_least(N, eps, K, delta):
    return tail_bound(N, K, eps) <= delta < tail_bound(N - 1, K, eps)

verify('enough test examples: with one less the bound exceeds δ',
       lambda **case: is_least(enough(**case), **case),
       slip=('rounds down',
             lambda **case: is_least(enough(**case) - 1, **case)),
       eps=scalars(0.005, 0.3), K=integers(1, 10**6),
       delta=scalars(0.001, 0.9))

# %% [markdown]
# ## Choosing by the test error: the score of the winner is too low
#
# This section continues [Many models on one test set: the union bound](#many-models-on-one-test-set-the-union-bound).
#
# Now we choose. Here are 40 models, say 40 values of a hyper-parameter, with known risks that form a bowl. We draw a test
# set of 500, choose the model with the lowest test error, and repeat this 4000 times:

# %%
def select_model(test_errors):  # (..., K) -> winner
    return np.argmin(test_errors, axis=-1)

N, delta = 500, 0.05
risks = 0.25 + 0.3 * np.linspace(-0.6, 1, 40) ** 2
tests = np.random.default_rng(4).binomial(N, risks, (4000, 40)) / N
winner = select_model(tests)  # (4000,)

# %%
print(f'least risk of the 40             {risks.min():.4f}')
print(f'risk of the winner, on average   {risks[winner].mean():.4f}')
print(f'its test error, on average       {tests.min(axis=1).mean():.4f}')

# %% [markdown]
# The winner's risk is close to the best. Its score is lower than any risk: it is a minimum, and too low on average
# ({prf:ref}`thm-gen-flattery` with $f_1, \dots, f_K$ as the class and the test set as the sample). How much worse than the
# best can the winner be? Let
#
# ```{math}
# :label: ml.ms.union.kstar
# k^* = \operatorname*{arg\,min}_k L_{\mathcal{D}}(f_k) , \qquad \hat k = \operatorname*{arg\,min}_k L_{\text{test}}(f_k)
# ```
#
# be the model that we want, with the smallest true risk, and the model that we get, with the smallest test error. Then
#
# ```{math}
# :label: ms-chain
# \begin{aligned}
# \max_k |L_{\mathcal{D}}(f_k) - L_{\text{test}}(f_k)| < \epsilon \implies
# & L_{\mathcal{D}}(f_{\hat k}) < L_{\text{test}}(f_{\hat k}) + \epsilon \\
# & \le L_{\text{test}}(f_{k^*}) + \epsilon \\
# & < L_{\mathcal{D}}(f_{k^*}) + 2\epsilon .
# \end{aligned}
# ```
#
# The step in the middle says that $\hat k$ is best on the test set. The first and the last use a deviation each, of two
# different models. So
#
# ```{math}
# :label: ml.ms.union.selection-tail
# \Pr\big[ L_{\mathcal{D}}(f_{\hat k}) - L_{\mathcal{D}}(f_{k^*}) \ge 2\epsilon \big] \le 2K e^{-2N\epsilon^2/(b - a)^2} ,
# ```
#
# or, with the radius {eq}`ml.ms.union.eps-k`,
#
# ```{math}
# :label: ml.ms.union.selection
# \Pr\bigg[ L_{\mathcal{D}}(f_{\hat k}) \ge L_{\mathcal{D}}(f_{k^*}) + 2 \sqrt{\frac{(b - a)^2
# \ln(2K/\delta)}{2\,|S_{\text{test}}|}} \, \bigg] \le \delta .
# ```

# %%
eps = radius(N, 40, delta)
excess = risks[winner] - risks.min()
print(f'excess risk of the winner: {excess.mean():.4f} on average, '
      f'{excess.max():.3f} at most, bound {2 * eps:.3f}')

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# Only two models occur in {eq}`ms-chain`, so it is tempting to leave out the $K$. But let one good model stand against
# $K - 1$ equally bad ones, whose risk is larger by $2\epsilon$. The more there are, the likelier it is that one of them wins
# by luck.
# :::

# %%
def bad_one_wins(N, K, p, eps):  # exact; ties count as lost
    k = np.arange(N + 1)
    no_better = binom.sf(k, N, p + 2 * eps) ** (K - 1)
    return 1 - binom.pmf(k, N, p) @ no_better

print('bound without K, for N = 100 and eps = 0.125:'
      f' {tail_bound(100, 1, 0.125):.3f}')
for K in (100, 10_000, 100_000):
    print(f'{K - 1:6} bad models: one wins or draws with probability '
          f'{bad_one_wins(100, K, 0.375, 0.125):.4f}')

# %% tags=["hide-input"]
def mean_least(N, K, p):  # exact, for K independent models of risk p
    above = binom.sf(np.arange(N), N, p) ** K  # Pr[least count > k]
    return above.sum() / N

few, many = np.array([1, 10, 100, 1000]), np.unique(np.geomspace(1, 1000, 30).astype(int))
least = np.array([mean_least(N, K, 0.3) for K in many])
seen = np.array([[np.random.default_rng([s, K]).binomial(N, 0.3, (300, K)).min(axis=1) / N
                  for K in few] for s in range(3)])
edge = 0.3 - radius(N, few[[0, -1]], delta)
print(f'1000 models of risk 0.3: score of the winner {least[-1]:.3f}, '
      f'bound {edge[0]:.3f} for one model, {edge[1]:.3f} for all')

# %% mystnb={"image": {"alt": "Left: true risks of 40 models form a bowl; test errors with error bars scatter around it; the model with the least risk and the one with the least test error are marked and differ. Right: with K models of risk 0.3 the score of the winner falls from 0.3 to 0.235 as K grows to a thousand, inside a shaded region whose lower edge falls from 0.239 to 0.197, while its risk stays 0.3."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3)
k, got = np.arange(40), tests[0]
left.errorbar(k, got, eps, fmt='.', color='C0', ms=4, lw=0.6, alpha=0.7)
left.plot(k, risks, color='C1')
left.plot(risks.argmin(), risks.min(), 'D', color='C1', label='$k^*$')
left.plot(got.argmin(), got.min(), 's', color='C4', label='$\\hat{k}$')
left.set(xlabel='model k', ylabel='error', title='Risks and test errors')
left.legend(loc='upper center')
right.plot(many, least, color='C0', label='score of the winner')
right.plot(few, seen.mean(axis=2).T, '.', color='C0')
right.axhline(0.3, color='C1', label='its risk')
right.fill_between(many, 0.3 - radius(N, many, delta), 0.3, color=GREY,
                   alpha=0.15)
right.set(xscale='log', ylim=(0.15, 0.32), xlabel='number of models K',
          title='All models alike')
right.legend(loc='lower left');

# %% [markdown] tags=["caption"]
# Left: the model with the lowest test error is not the one with the lowest risk. Right: among $K$ equal models the winner's
# score sinks, within the shaded bound, while its risk stays 0.3.

# %% [markdown]
# ```{exercise} ★★ Pencil: half of it suffices
# :label: model_selection-half
# Look at {eq}`ms-chain` again: which deviations are used, and in which direction? Show that the probability in
# {eq}`ml.ms.union.selection-tail` is at most $K e^{-2N\epsilon^2/(b-a)^2}$, and write `excess_bound(N, K, delta)`, the
# bound on $L_{\mathcal{D}}(f_{\hat k}) - L_{\mathcal{D}}(f_{k^*})$ that follows with probability $1 - \delta$ for
# losses in $[0, 1]$.
# ```

# %%
def excess_bound(N, K, delta):
    """The bound on the excess risk of the winner: a float.

    N: int >= 1. K: int >= 2. delta: float in (0, 1). It falls with N like
    1 / sqrt(N): with 4 * N examples it is half as large.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def excess_by_search(N, K, delta):
    events = (K - 1) + 1  # bad ones too good, the best one too bad
    spare = lambda e: np.log(events / delta) - 2 * N * (e / 2) ** 2
    return brentq(spare, 0, 20, xtol=1e-14)

searches = dict(
    N=on(1, 100) | integers(1, 5000), K=on(2, 40) | integers(2, 1000), delta=on(0.05, 0.5) | scalars(0.001, 0.9),
)
grade(excess_bound, excess_by_search, **searches)

# %% [markdown]
# ```{solution-start} model_selection-half
# :class: dropdown
# ```
# The first step needs only that no model $k \ne k^*$ scores *too well*, by $\epsilon$ or more: $K - 1$ one-sided
# events. The last step needs that $f_{k^*}$ does not score *too badly*: one more. (If $\hat k = k^*$ there is nothing
# to show.) A one-sided event costs $e^{-2N\epsilon^2/(b-a)^2}$, so together $K e^{-2N\epsilon^2/(b-a)^2}$, and the
# excess is below $2\epsilon = \sqrt{2\ln(K/\delta)/N}$. The two-sided bound, the first wrong answer, is true but too large.
# The second is $\epsilon$ in place of $2\epsilon$. The third, which looks at the two models of the chain alone, forgets that
# chance decides which one wins.

# %% jupyter={"source_hidden": true}
def excess_solution(N, K, delta):
    return np.sqrt(2 * np.log(K / delta) / N)

def two_sided(N, K, delta):
    return np.sqrt(2 * np.log(2 * K / delta) / N)

def one_step_only(N, K, delta):
    return np.sqrt(np.log(K / delta) / (2 * N))

def two_models(N, K, delta):
    return excess_solution(N, 2, delta)

assert grade(excess_solution, excess_by_search, **searches)
assert not grade(two_sided, excess_by_search, **searches)
assert not grade(one_step_only, excess_by_search, **searches)
assert not grade(two_models, excess_by_search, **searches)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
assert (abs(tests - risks).max(axis=1) >= eps).mean() <= delta
assert (excess < 2 * eps).all()
off = seen.mean(axis=(0, 2)) - [mean_least(N, K, 0.3) for K in few]
assert (abs(off) < 5 * seen.std(axis=(0, 2)) / np.sqrt(900)).all()

# %% tags=["checks"]
def chain_holds(seed, uses):
    rng = np.random.default_rng(seed)
    risks, luck = rng.uniform(0, 0.5, 4), rng.uniform(-0.3, 0.3, 4)
    excess = risks[select_model(risks + luck)] - risks.min()
    return excess <= uses * abs(luck).max() + 1e-12

def opposite_wins(N, eps):  # exact; it errs where the good one does not
    return binom.sf((N - 1) // 2, N, 0.5 - eps)  # ties count as lost

def tail_holds(N, K, x, counted):
    eps = x / np.sqrt(N)
    promised = tail_bound(N, counted, eps)
    return (bad_one_wins(N, K, 0.5 - eps, eps) <= promised
            and opposite_wins(N, eps) <= promised)

def two_winners(seed, find):
    rng = np.random.default_rng(seed)
    risks = np.linspace(0.2, 0.5, 40) ** 2 + 0.2
    errors = rng.binomial(200, risks, (500, 40)) / 200
    star, hat = find(risks, errors), select_model(errors)
    least = errors[np.arange(500), hat] <= errors[:, 0]
    fair = close(errors.mean(axis=0), risks, atol=0.01)
    return bool((star == 0).all() and fair and least.all()
                and (hat != 0).mean() > 0.5)
holds('ml.ms.union.kstar',
      lambda seed: two_winners(seed, lambda risks, e: risks.argmin()),
      slip=('defines both by the test error',
            lambda seed: two_winners(seed, lambda r, e: select_model(e))),
      seed=seeds(), tries=20)

verify('the excess is at most twice the largest deviation',
       lambda seed: chain_holds(seed, uses=2),
       slip=('spends the deviation only once',
             lambda seed: chain_holds(seed, uses=1)),
       seed=seeds())

# %% tags=["checks"]
def rarely_beyond(N, K, delta, part):  # an excess of 2 part * radius
    eps = part * radius(N, K, delta)
    return (bad_one_wins(N, K, 0.5 - eps, eps) <= delta
            and opposite_wins(N, eps) <= delta)

holds('ml.ms.union.selection',
      lambda N, K, delta: rarely_beyond(N, K, delta, 1),
      slip=('spends the deviation only once',
            lambda N, K, delta: rarely_beyond(N, K, delta, 1 / 2)),
      N=[400, 2000], K=[2, 100, 10**5], delta=[0.5, 0.05, 1e-4, 1e-8])

holds('ml.ms.union.selection-tail', lambda N, K, x: tail_holds(N, K, x, K),
      slip=('leaves out the number of models',
            lambda N, K, x: tail_holds(N, K, x, 1)),
      N=[60, 100, 250], K=[2, 100, 10**5], x=scalars(0.1, 3))

# %% [markdown]
# ## Adaptive overfitting: how a test set is used up
#
# This section continues [Choosing by the test error: the score of the winner is too
# low](#choosing-by-the-test-error-the-score-of-the-winner-is-too-low).
#
# So far the $K$ models were fixed before the test set was drawn. What if model 2 is built after the score of model 1 was
# seen? An attack shows best what can happen. Let the labels be fair coins, $y = \pm1$, so that every model has
# risk $\frac12$. Submit $K$ random answer sheets, learn the test error of each, invert those that were worse than chance,
# and let all of them vote.

# %%
def vote(rng, N, K):  # -> test error, error on as many fresh examples
    right = rng.integers(2, size=(K, N)) * 2 - 1  # 1 if right, else -1
    turn = np.sign(right.sum(axis=1))  # (K,)
    fresh = rng.integers(2, size=(K, N)) * 2 - 1
    return (turn @ right < 0).mean(), (turn @ fresh < 0).mean()

N = 1001
for K in (11, 101, 1001):
    test, fresh = vote(np.random.default_rng(K), N, K)
    print(f'{K:4} sheets: error of the vote {test:.3f}, on fresh {fresh:.3f},'
          f' bound for fixed models {0.5 - radius(N, K + 1, 0.05):.3f}')

# %% [markdown]
# With 101 sheets the vote seems far better than {prf:ref}`thm-ms-union` allows for $K + 1$ *fixed* models. On fresh examples
# it is a coin. How good is its score on average?
#
# ````{prf:theorem} A vote of coins
# :label: thm-ms-vote
# Let $N$ and $K$ be odd, and let $B$ have the binomial distribution of $K$ trials with probability $(1 + \mu)/2$. The test
# error of the vote has the expectation
#
# ```{math}
# :label: ms-vote
# \Pr\Big[ B \le \frac{K - 1}{2} \Big] \approx \Phi\Big( {-\sqrt{\frac{2K}{\pi N}}} \Big) , \qquad
# \mu = \frac{1}{2^{N-1}} \binom{N-1}{(N-1)/2} .
# ```
# ````
#
# ````{prf:proof}
# :class: dropdown
# Let $a_{kn} = \pm1$ say whether sheet $k$ is right on example $n$: independent fair coins, and $S_k = \sum_n a_{kn}
# \ne 0$ is what the score reveals. After turning, sheet $k$ is right on example $n$ if $\operatorname{sign}(S_k)\,
# a_{kn} = 1$. By symmetry this has the same mean for all $n$, so the mean is $\mathbb{E}|S_k| / N = \mu$ (de Moivre),
# about $\sqrt{2/(\pi N)}$. For a fixed $n$ the $K$ sheets are independent, so the number of right votes on it is $B$.
# ````
#
# Each inverted sheet has an edge of only $\mu \approx \sqrt{2/(\pi N)}$, about 0.025 for $N = 1001$. But $K$ of them add up.
# The best of $K$ sheets is lucky by about $\sqrt{\ln K / (2N)}$, their vote by about $\sqrt{K/N}/\pi$.

# %%
def exact_vote(N, K):
    edge = binom.pmf((N - 1) // 2, N - 1, 0.5)
    return binom.cdf((K - 1) // 2, K, (1 + edge) / 2)

print(f'edge of one sheet: {binom.pmf(500, 1000, 0.5):.4f}')
for K in (11, 101, 1001):
    best = (binom.sf(np.arange(N), N, 0.5) ** K).sum() / N
    print(f'{K:4} sheets: expected error of the best {best:.3f}, '
          f'of the vote {exact_vote(N, K):.3f}')

# %% mystnb={"image": {"alt": "Test error against the number of answer sheets, 1001 examples, all of risk one half. The best sheet falls slowly to 0.45 and stays above the curve of the union bound; the vote of all sheets falls ever faster, crosses that curve near forty sheets; its error on fresh examples stays at one half."}} tags=["hide-input"]
sheets = np.unique(np.geomspace(1, 600, 40).astype(int) * 2 - 1)  # odd
scores = np.array([exact_vote(N, K) for K in sheets])
some = np.array([11, 101, 401, 1001])
shown = np.array([[vote(np.random.default_rng([s, K]), N, K) for K in some] for s in range(3)])  # (3, 4, 2)
best = np.array([binom.sf(np.arange(N), N, 0.5)**K @ np.ones(N) / N for K in sheets])
fig, ax = plt.subplots(figsize=(6, 3))
ax.axhline(0.5, color=GREY, lw=0.8, ls=':')
ax.plot(some, shown[..., 1].T, '.', color='C2')
ax.plot([], [], '.', color='C2', label='vote, fresh examples')
ax.plot(sheets, best, color='C0', label='best sheet')
ax.plot(sheets, 0.5 - radius(N, sheets + 1, 0.05), '--', color='C3', label='bound for fixed models')
ax.plot(sheets, scores, color='C1', label='vote')
ax.plot(some, shown[..., 0].T, '.', color='C1')
ax.set(xscale='log', xlim=(1, 1400), ylim=(0.15, 0.55), ylabel='error', xlabel='answer sheets K')
ax.legend(loc='lower left');

# %% [markdown] tags=["caption"]
# On 1001 coin-flip labels a vote of answer sheets, inverted by their scores, falls far below the bound for fixed models; on
# fresh examples it is no better than chance.

# %% [markdown]
# The union bound is not wrong. The vote was not among the fixed models: it was made out of the scores. We can save the bound
# if we count all the models that *might* have been submitted.
#
# ````{prf:theorem} One after the other
# :label: thm-ms-adaptive
# Let $K$ models be chosen one after the other, each by a fixed rule from the answers to the earlier ones, where an
# answer is one of $m \ge 2$ values computed from the test set. Then with probability at least $1 - \delta$ all $K$
# deviations are less than
#
# ```{math}
# :label: ms-adaptive
# \epsilon = (b - a) \sqrt{\frac{K \ln m + \ln(2/\delta)}{2N}} .
# ```
# ````
#
# ````{prf:proof}
# :class: dropdown
# Draw the rules as a tree: the root is the first model, and from each model $m$ branches lead to those that might be
# submitted next. Before the test set is drawn the whole tree is fixed. It has $1 + m + \dots + m^{K-1} \le m^K$ models.
# {prf:ref}`thm-ms-union` holds for all of them at once, hence for those on the path that is taken.
# ````
#
# The price has changed from $\ln K$ to $K$. The attack uses one bit of each answer ($m = 2$), and its luck grows like
# $\sqrt{K/N}$, too. So the theorem cannot be improved by much: after about $N$ questions a test set is used up.
#
# The remedy is to answer less. A leaderboard that reports only improvements by more than $\eta$, the *ladder*
# {cite}`blum2015ladder`, has few possible histories. Its reports on $K$ models stay right up
# to order $(\ln(KN)/N)^{1/3}$, which we do not prove. Answers with noise are another way {cite}`dwork2015reusable`.
#
# ```{exercise} ★★ Program: the ladder
# :label: model_selection-ladder
# Write `ladder(errors, eta)`. It starts with the report 1. Whenever a test error is more than $\eta$ below the last
# report, the report becomes that test error, rounded to the nearest multiple of $\eta$; otherwise the last report is
# repeated.
# ```

# %%
def ladder(errors, eta):
    """The reports, one after each test error: a float array (K,).

    errors: float array (K,) with entries in [0, 1], K >= 0. eta: float > 0.
    Halves are rounded as np.round does. For errors = [0.9, 0.5, 0.4] and
    eta = 0.25 the result is [1., 0.5, 0.5].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def ladder_by_recursion(errors, eta):
    if len(errors) == 0:
        return np.array([])
    *before, last = errors
    reports = ladder_by_recursion(before, eta)
    report = reports[-1] if len(reports) else 1.0
    steps = np.round(last / eta)
    return np.append(reports, steps * eta if report - last > eta else report)

rungs = dict(errors=lists(integers(0, 64), 0, 12).map(lambda k: np.array(k) / 64), eta=on(0.25, 0.125, 0.0625, 0.03125))
grade(ladder, ladder_by_recursion, **rungs)

# %% [markdown]
# ```{solution-start} model_selection-ladder
# :class: dropdown
# ```
# It is tempting to report the *lowest test error so far*, without threshold and rounding. This would leak more: every
# improvement, however small, is then shown in full. The second wrong answer does not round, the third accepts an
# improvement of exactly $\eta$, and the fourth compares with the last test error in place of the last report.

# %% jupyter={"source_hidden": true}
def ladder_solution(errors, eta):
    reports, report = [], 1.0
    for error in errors:
        if error < report - eta:
            report = np.round(error / eta) * eta
        reports.append(report)
    return np.array(reports)

def lowest_so_far(errors, eta):
    return np.minimum.accumulate(errors)

def not_rounded(errors, eta):
    reports = [1.0]
    for error in errors:
        reports.append(error if error < reports[-1] - eta else reports[-1])
    return np.array(reports[1:])

def at_the_threshold(errors, eta):
    return ladder_solution(errors, eta * (1 - 1e-9))

def last_error(errors, eta):
    reports, report = [], 1.0
    for error, before in zip(errors, [1.0, *errors], strict=False):
        if error < before - eta:
            report = np.round(error / eta) * eta
        reports.append(report)
    return np.array(reports)

assert grade(ladder_solution, ladder_by_recursion, **rungs)
assert not grade(lowest_so_far, ladder_by_recursion, **rungs)
assert not grade(not_rounded, ladder_by_recursion, **rungs)
assert not grade(at_the_threshold, ladder_by_recursion, **rungs)
assert not grade(last_error, ladder_by_recursion, **rungs)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★★ Experiment: attack the leaderboard
# :label: model_selection-attack
# An analyst lets answer sheets vote, and turns round those whose score looks bad: (A) 51 sheets, 501 examples, all scores
# reported; (B) four times as many examples; (C) 201 sheets; (D) 201 sheets, but the ladder with $\eta = 0.05$ reports, and
# every sheet that brings no improvement is turned. Predict the order of the test errors of the vote, then measure them.
# ```

# %%
def predicted_order():
    """The letters A to D in a string, the lowest test error first."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def error_of_vote(N, K, eta=None):  # the mean of 40 trials
    rng, shares = np.random.default_rng(9), []
    for _ in range(40):
        right = rng.integers(2, size=(K, N)) * 2 - 1
        errors = (right < 0).mean(axis=1)
        reports = errors if eta is None else ladder_by_recursion(errors, eta)
        good = errors < 0.5 if eta is None else np.diff(reports, prepend=1) < 0
        shares.append((np.where(good, 1, -1) @ right < 0).mean())
    return np.mean(shares)

attacks = {'A': (501, 51), 'B': (2003, 51), 'C': (501, 201), 'D': (501, 201, 0.05)}

def is_measured(letters):
    if sorted(letters) != sorted(attacks):
        raise ValueError('give each of the letters A, B, C and D once')
    if [*letters] != sorted(attacks, key=lambda letter: error_of_vote(*attacks[letter])):
        raise ValueError('another order is measured; run it and compare')
    return True

grade(lambda: is_measured(predicted_order()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} model_selection-attack
# :class: dropdown
# ```
# With all scores the luck of the vote grows like $\sqrt{K/N}$: four times the sheets double it, four times the examples
# halve it. Under the ladder only the first sheet and at most a few more bring an improvement. The analyst turns the others
# in ignorance of their scores, and their vote is worth hardly more than that of fresh coins. The first wrong
# answer takes four times as many examples for a better protection than the ladder. The second expects more sheets to average
# the luck away, as they do for noise, and the third takes more examples for more to learn by heart.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured('CABD'), lambda: True, [()])
assert not grade(lambda: is_measured('CADB'), lambda: True, [()])
assert not grade(lambda: is_measured('ACBD'), lambda: True, [()])
assert not grade(lambda: is_measured('CBAD'), lambda: True, [()])
for letter, trial in attacks.items():
    print(f'{letter}: error of the vote {error_of_vote(*trial):.3f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
assert close(exact_vote(1001, 501), norm.cdf(-np.sqrt(1002 / (np.pi * 1001))), atol=0.003)

# %% tags=["checks"]
def attack(seed, N, K, R=40):
    rng = np.random.default_rng(seed)
    return np.array([vote(rng, N, K) for _ in range(R)])  # (R, 2)

def near(values, want):
    error = values.std() / np.sqrt(len(values))
    return abs(values.mean() - want) < 5 * error

def as_computed(seed, N, K):
    test, fresh = attack(seed, N, K).T
    return near(test, exact_vote(N, K)) and near(fresh, 0.5)

def as_promised(seed, N, K):
    return (attack(seed, N, K)[:, 0] > 0.5 - radius(N, K + 1, 0.05)).all()

cases = dict(seed=[0, 1, 2], N=[201, 501], K=[51, 201], tries=12)
verify('a vote of coins scores as computed', as_computed,
       slip=('promises what holds for fixed models', as_promised), **cases)

def lucky(N, K):
    return 0.5 - exact_vote(N, K)

def adaptive_radius(N, K, delta, price):
    return np.sqrt((price(K) + np.log(2 / delta)) / (2 * N))

def luck_rate(N, rate):  # from K = 9 to K = 225
    measured = np.log(lucky(N, 225) / lucky(N, 9)) / np.log(225 / 9)
    return abs(measured - rate) < 0.02

odd = integers(1, 400).map(lambda k: 2 * k - 1)
verify('the tree bounds the vote',
       lambda N, K: lucky(N, K) < adaptive_radius(
           N, K + 1, 0.05, lambda K: K * np.log(2)),
       slip=('counts the models with ln K, as if fixed',
             lambda N, K: lucky(N, K) < adaptive_radius(
             N, K + 1, 0.05, np.log)),
       N=[301, 1001], K=odd)

verify('the luck of the vote grows like the root of K',
       lambda N: luck_rate(N, 1 / 2),
       slip=('lets the luck grow like K', lambda N: luck_rate(N, 1)),
       N=[5001, 20_001])

# %% [markdown]
# ## Choosing thirty pixels of a digit
#
# This section continues [Choosing by the test error: the score of the winner is too
# low](#choosing-by-the-test-error-the-score-of-the-winner-is-too-low).
#
# Which thirty of the 64 pixels should the sensor for [handwritten digits](../probability/concentration.ipynb) have? We draw
# 100 sets of thirty at random, fit a ridge classifier (least squares on labels $\pm1$, one column per digit) to each by 600
# training digits, and keep the one with the lowest error on 200 test digits. The other 997 digits take no part. They tell
# what the winner is worth.

# %%
data = digits()

def ridge_classifier(X, labels, alpha):  # -> function: (m, d) -> (m,)
    Y = 2.0 * (labels[:, None] == np.arange(10)) - 1
    m, G = X.mean(axis=0), X - X.mean(axis=0)
    one = np.eye(G.shape[1], dtype=G.dtype)
    W = np.linalg.solve(G.T @ G + alpha * one, G.T @ Y)
    return lambda X: ((X - m) @ W + Y.mean(axis=0)).argmax(axis=1)

# %%
def deal(seed):  # 600 training, 200 test, 997 fresh digits
    order = np.random.default_rng(seed).permutation(1797)
    return np.split(order, [600, 800])

def error(classify, rows, pixels=slice(None)):
    return (classify(data.x[rows][:, pixels]) != data.y[rows]).mean()

# %%
def trial(seed, K=100):  # errors of K sets of pixels, test and fresh
    train, test, fresh = deal(seed)
    rng = np.random.default_rng([seed, 1])
    found = np.empty((K, 2))
    for k in range(K):
        pixels = rng.permutation(64)[:30]
        f = ridge_classifier(data.x[train][:, pixels], data.y[train], 1.0)
        found[k] = [error(f, rows, pixels) for rows in (test, fresh)]
    return found

trials = np.array([trial(seed) for seed in range(8)])  # (8, 100, 2)

# %%
def references(seed):  # fresh errors: always the commonest, all pixels
    train, _, fresh = deal(seed)
    commonest = np.bincount(data.y[train]).argmax()
    full = ridge_classifier(data.x[train], data.y[train], 1.0)
    return (data.y[fresh] != commonest).mean(), error(full, fresh)

always, full = np.transpose([references(seed) for seed in range(8)])

# %%
hat = select_model(trials[..., 0])  # (8,)
score, worth = trials[np.arange(8), hat].T
average = trials[..., 1].mean(axis=1)
for name, values in {'winner, its test score': score,
                     'winner, fresh digits': worth,
                     'average set, fresh digits': average,
                     'always the commonest digit': always,
                     'all 64 pixels': full}.items():
    print(f'{name:27} {values.mean():6.2%} ± {values.std():.2%}')

# %%
print('score too low in', (score < worth).sum(), 'of 8 random divisions;'
      ' winner better than the average in', (worth < average).sum())
print(f'fresh errors over scores: {worth.sum() / score.sum():.2f}')

# %% mystnb={"image": {"alt": "Fresh error against test error of 100 sets of pixels in one division. The cloud rises along the diagonal. The set with the least test error lies clearly above the diagonal: its fresh error is larger than its score."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(4.4, 3.4))
test_error, fresh_error = trials[0].T
ax.plot(test_error, fresh_error, '.', color='C0', alpha=0.6)
ax.plot(score[0], worth[0], 's', color='C4', ms=7, label='winner')
ax.axline((0.1, 0.1), slope=1, color=GREY, lw=0.8, ls=':')
ax.set(xlabel='error on 200 test digits', ylabel='error on 997 fresh digits', xlim=(0.05, 0.25), ylim=(0.1, 0.22),
       xticks=[0.05, 0.1, 0.15, 0.2, 0.25])
ax.legend(loc='lower right');

# %% [markdown] tags=["caption"]
# One of eight divisions: the winner of 100 sets of pixels errs nearly twice as often on fresh digits as on the 200 test
# digits by which it was chosen (1.4 times on average).

# %% [markdown]
# The winner deserves to win: it is better than the average set in every division. But its own score is too good in every
# division, on average 8.5 % in place of 12.2 %, and only fresh digits say so. How does this compare with the
# guarantee? We add two radii, one for the test and one for the fresh part, each with probability $1 - 0.05 = 0.95$:

# %%
deviation = abs(trials[..., 0] - trials[..., 1]).max(axis=1)
eps = radius(200, 100, 0.05) + radius(997, 100, 0.05)
print(f'largest of 100 deviations: {deviation.mean():.3f} on average, '
      f'{deviation.max():.3f} at most, bound {eps:.3f}')
spread = (trials[..., 0] - trials[..., 1]).std(axis=1).mean()
alone = np.sqrt(average.mean() * (1 - average.mean()) / 200)
print(f'spread of deviations over the sets {spread:.3f}, '
      f'standard error of one {alone:.3f}')

# %% [markdown]
# The bound is generous. One reason is the range of the losses. Another is dependence: the deviations of the 100 sets have
# less spread among themselves than one of them has by itself, because many sets err on the same digits. An honest choice
# needs two test sets, one to choose by and one to judge by.
#
# In scikit-learn, `GridSearchCV` chooses. Here it chooses the price $\alpha$ of long weights on all pixels, by the same test
# digits:

# %%
train, test, _ = deal(0)
both = np.concatenate([train, test])
fold = PredefinedSplit(np.repeat([-1, 0], [600, 200]))
prices = [0.01, 1.0, 100.0, 10_000.0]
search = GridSearchCV(RidgeClassifier(), {'alpha': prices}, cv=fold)
search.fit(data.x[both], data.y[both])
for alpha, accuracy in zip(prices, search.cv_results_['mean_test_score']):
    f = ridge_classifier(data.x[train], data.y[train], alpha)
    print(f'alpha {alpha:8g}: test error {error(f, test):.3f}, '
          f'scikit-learn {1 - accuracy:.3f}')

# %% tags=["checks"]
excess = worth - trials[..., 1].min(axis=1)
assert (deviation < eps).all() and (excess < 2 * eps).all()
errors = [error(ridge_classifier(data.x[train], data.y[train], alpha), test) for alpha in prices]
assert close(1 - search.cv_results_['mean_test_score'], errors)
assert prices[np.argmin(errors)] == search.best_params_['alpha']

# %% tags=["checks"]
def by_sklearn(seed, part):  # the commonest label; alpha = 1, by default
    train, judge = (deal(seed)[i] for i in (0, part))
    found = [model.fit(data.x[train], data.y[train])
             for model in (DummyClassifier(), RidgeClassifier())]
    return [1 - f.score(data.x[judge], data.y[judge]) for f in found]

verify('the two references are those of scikit-learn, on the fresh digits',
       lambda seed: close(references(seed), by_sklearn(seed, 2)),
       slip=('judges on the digits of training',
             lambda seed: close(references(seed), by_sklearn(seed, 0))),
       seed=[0, 1, 2, 3])

# %% [markdown]
# ## Summary
#
# For $K$ models that were fixed in advance the union bound makes all test errors trustworthy at once, at the price of
# $\ln K$ under the root, and with many models it wastes little unless errors are rare or the models alike; classes with
# infinitely many models can be covered by finitely many. The model with the best test error is at most two radii worse than
# the best model, but its own score is too low. Models built from earlier scores must be counted as a tree, which turns
# $\ln K$ into $K$: a test set of $N$ examples survives about $N$ adaptive questions, and simple voting shows that this is
# so.
#
# **Further reading.** {cite}`shalev2014understanding`, chapters 4 to 6, and {cite}`vapnik1971uniform` for infinite
# classes; {cite}`cawley2010over` on how much published comparisons suffer from choosing and judging by the same data;
# {cite}`recht2019imagenet`, who built a second test set for a benchmark that thousands had used, and found the old
# ranking intact. Where data are too few for a test set of their own, see [cross-validation](cross_validation.ipynb).
