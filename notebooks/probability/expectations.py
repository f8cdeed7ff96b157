# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Expectations
#
# - **Question.** What can one number say about a random quantity, and how fast does a computer find it?
# - **You need** sums, integrals and the matrix product; [dot products](../linear_algebra/dot_products.ipynb) for
#   covariance.
# - **You build** means, variances and covariances from tables and densities, the laws of total expectation and
#   variance, a Monte Carlo integrator with its error bar, and two ways to make it far cheaper.
# - **Time** 6 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from fractions import Fraction
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad
from scipy.stats import binom, cauchy, gamma, kstest, norm

from nbutils.cases import scalars, seeds
from nbutils.checks import below, between, close, grade, verify
from nbutils.data import digits
from nbutils.figures import GREY, label_lines, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## Expectation: the balance point of a distribution
#
# A hundred people check in their hats, which are handed back at random. How many get their own? The number is random, and
# its distribution is complicated: for example, exactly 99 is impossible, because then the last person has the right hat,
# too. Yet on average it is exactly one, and one line will prove it: an expectation can often be had without the
# distribution.
#
# ```{prf:definition} Expectation
# :label: def-expectation
# Let $X$ take the values $x$ with probabilities $p(x)$, or have the density $p(x)$. If $\sum_x |x| \, p(x)$ or
# $\int |x| \, p(x) \, dx$ is finite, then
#
# $$\mathbb{E}[X] = \sum_x x \, p(x) \quad \text{or} \quad \mathbb{E}[X] = \int x \, p(x) \, dx .$$
#
# Otherwise $X$ has no (finite) expectation.
# ```
#
# Put weights $p(x)$ at the points $x$ of a rod: $\mathbb{E}[X]$ is where it balances. A function of a random quantity
# is a random quantity, and for its expectation one need not find its distribution first:
#
# ```{math}
# :label: eq-expect-function
# \mathbb{E}[f(X)] = \sum_x f(x) \, p(x) ,
# ```
#
# or $\int f(x) \, p(x) \, dx$ with a density (if it converges absolutely), since collecting all $x$ with the same value
# $f(x) = z$ turns the sum into $\sum_z z \, P(f(X) = z)$, and integrals follow suit. As code:

# %%
def expect_table(f, values, weights):
    return sum(p * f(x) for x, p in zip(values, weights, strict=True))

def expect_density(f, density, low, high):
    return quad(lambda x: f(x) * density(x), low, high)[0]

# %% [markdown]
# The function $f(x) = e^{tx}$ has an expectation with a formula for both kinds. For the number of heads
# in $n$ flips with probability $q$ the binomial theorem gives $\mathbb{E}[e^{tX}] = (1 - q + q e^t)^n$; for the
# Gamma density $x^{a-1} e^{-x} / \Gamma(a)$, substituting $u = (1 - t) x$ gives $(1 - t)^{-a}$ for $t < 1$. Here are four
# flips with $q = 0.6$, and $t = 1$. The mean of $e^X$ is not $e$ to the mean:

# %%
heads = np.arange(5)
weights = binom.pmf(heads, 4, 0.6)
balance = expect_table(lambda x: x, heads, weights)
lifted = expect_table(np.exp, heads, weights)
print(f'mean {balance:.1f}, exp of it {np.exp(balance):.1f}, '
      f'mean of exp {lifted:.1f}')

# %% mystnb={"image": {"alt": "Left: five bars of probabilities for 0 to 4 heads with a triangle under the balance point 2.4. Right: the convex curve exp x with five dots sized by their weights; the mean of exp, 17, is marked above the point of the curve at the mean, 11."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.6)
left.bar(heads, weights, width=0.5, color='C0', alpha=0.6)
left.plot(balance, -0.012, '^', color='C1', ms=10, clip_on=False)
left.set(xlabel='heads in four flips', ylabel='probability')
left.set(title='The rod balances at the mean', ylim=(0, 0.4))
x = np.linspace(0, 4, 100)
right.plot(x, np.exp(x), color=GREY, lw=1)
right.scatter(heads, np.exp(heads), s=300 * weights, color='C0', alpha=0.6)
for height, color in ((lifted, 'C1'), (np.exp(balance), 'C2')):
    right.plot([0, balance], [height, height], color=color, ls=':')
right.plot(balance, lifted, 'o', color='C1')
right.plot(balance, np.exp(balance), 'o', color='C2')
right.text(0, lifted + 1.5, 'mean of exp(X)', color='C1')
right.text(2.6, np.exp(balance) - 4, 'exp of the mean', color='C2')
right.set(xlabel='x', ylabel='exp(x)', title='Convex functions lift it');

# %% [markdown] tags=["caption"]
# The probabilities balance at the mean, 2.4, but a convex function does not commute with it: the mean of $e^X$ is 17.0,
# while $e$ to the mean is only 11.0.

# %% [markdown]
# For a convex $f$ the mean of $f(X)$ lies above $f$ of the mean; that is [Jensen's
# inequality](../optimization/jensens_inequality.ipynb). Only straight lines commute with the mean:
#
# ```{prf:theorem} Linearity
# :label: thm-expect-linear
# If $X$ and $Y$ have expectations, so has $aX + bY$, and
# $\mathbb{E}[aX + bY] = a \, \mathbb{E}[X] + b \, \mathbb{E}[Y]$, whether or not $X$ and $Y$ are independent. If they
# are independent, then also $\mathbb{E}[XY] = \mathbb{E}[X] \, \mathbb{E}[Y]$.
# ```
#
# ```{prf:proof}
# (For tables; integrals replace sums.) With joint probabilities $p(x, y)$,
# $\sum_{x,y} (ax + by) \, p(x, y) = a \sum_x x \sum_y p(x, y) + b \sum_y y \sum_x p(x, y)$, and the inner sums are
# $p(x)$ and $p(y)$. The finite sums of absolute values allow the reordering. If $p(x, y) = p(x) \, p(y)$, then
# $\sum_{x,y} x y \, p(x) \, p(y)$ is a product of two sums.
# ```
#
# The first half never asks how $X$ and $Y$ depend on each other, and the second half does. For example, let $X$ be $1$ or
# $-1$ with probability $\frac12$ each, and $Y = X$. Then $\mathbb{E}[XY] = 1$, but $\mathbb{E}[X] \, \mathbb{E}[Y] = 0$.
#
# Now the hats. Let $X_i$ be 1 if person $i$ gets the own hat and 0 if not: an *indicator*, whose expectation is a
# probability, $\mathbb{E}[X_i] = P(X_i = 1) = 1/n$. The number of lucky ones is $X_1 + \dots + X_n$. The indicators
# are dependent, and linearity does not care: the mean is $n \cdot \frac1n = 1$, for ten people or ten million. What
# does depend on their dependence is the spread, and that is the next part.
#
# ```{exercise} ★ Program: how many faces appear?
# :label: expect-faces
# A die with $k$ faces is rolled $n$ times. Write `faces(n, k)`, the expected number of different faces that appear.
# ```

# %%
def faces(n, k):
    raise NotImplementedError('your turn')

# %%
def faces_by_listing(n, k):
    return np.mean([len(set(rolls)) for rolls in product(range(k), repeat=n)])

dice = [(1, 6), (4, 3), (3, 7), (6, 4)]
grade(faces, faces_by_listing, dice)

# %% [markdown]
# ```{solution-start} expect-faces
# :class: dropdown
# ```
# One indicator per face: a given face is missed by all rolls with probability $(1 - 1/k)^n$. So the mean is
# $k \, (1 - (1 - 1/k)^n)$. With $n = k$ large, a share of $1 - 1/e \approx 0.63$ of the faces appears, as of a data set in
# a bootstrap sample of the same size.

# %% jupyter={"source_hidden": true}
def faces_solution(n, k):
    return k * (1 - (1 - 1 / k) ** n)

def as_if_none_came_twice(n, k):
    return min(n, k)

assert grade(faces_solution, faces_by_listing, dice)
assert not grade(as_if_none_came_twice, faces_by_listing, dice)
print(f'in a bootstrap sample of 1000: {faces_solution(1000, 1000):.0f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def exponential_means(q, a, t):  # of 4 flips and of a Gamma law
    # beyond 80 there is less than 1e-10 of the integral, for a <= 5, t <= 1/2
    f = lambda x: np.exp(t * x)
    flips = expect_table(f, range(5), binom.pmf(range(5), 4, q))
    return [flips, expect_density(f, gamma(a).pdf, 0, 80)]

def formulas(q, a, t):
    return [(1 - q + q * np.exp(t)) ** 4, (1 - t) ** -a]

verify(
    'the mean of f(X) is the sum or integral of f(x) p(x)',
    lambda **case: close(exponential_means(**case), formulas(**case)),
    slip=(
        'takes the function of the mean',
        lambda q, a, t: close(
            [np.exp(t * 4 * q), np.exp(t * a)], formulas(q, a, t)
        ),
    ),
    q=scalars(0, 1),
    a=scalars(1, 5),
    t=scalars(-2, 0.5),
    tries=60,
)

def joint_table(seed):  # values x (3,), y (4,), probabilities (3, 4)
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 10, size=(3, 4)) * Fraction(1)
    return rng.integers(-9, 10, 3), rng.integers(-9, 10, 4), n / n.sum()

def is_linear(seed, a=2, b=-3):
    x, y, p = joint_table(seed)
    whole = ((a * x[:, None] + b * y) * p).sum()
    return whole == a * (x @ p.sum(1)) + b * (y @ p.sum(0))

def is_product(seed):
    x, y, p = joint_table(seed)
    return x @ p @ y == (x @ p.sum(1)) * (y @ p.sum(0))

verify(
    'the mean is linear, dependent or not',
    is_linear,
    slip=('multiplies the means of dependent quantities', is_product),
    seed=seeds(),
)

# %% [markdown]
# ## Variance and covariance
#
# A mean says nothing about how far off a single draw will be. Measure the squared distance from the mean
# $\mu = \mathbb{E}[X]$, the *variance*, and bring it back to the unit of $X$ by a root, the *standard deviation*
# $\sigma$:
#
# ```{math}
# :label: eq-expect-variance
# \begin{aligned}
# \mathrm{Var}(X) &= \mathbb{E}\big[(X - \mu)^2\big] = \mathbb{E}[X^2] - \mu^2 , \\
# \mathrm{Var}(aX + b) &= a^2 \, \mathrm{Var}(X) .
# \end{aligned}
# ```
#
# For the first, open the square and use linearity: $\mathbb{E}[X^2] - 2\mu \, \mathbb{E}[X] + \mu^2$. For the second,
# $aX + b$ has mean $a\mu + b$, so $b$ cancels in the distance and $a$ comes out squared. Two quantities vary together,
# or against each other; the *covariance* $\mathrm{Cov}(X, Y) = \mathbb{E}[(X - \mu_X)(Y - \mu_Y)]$ measures it.
# For a random vector $\mathbf{x}$ with mean $\boldsymbol\mu$ they form the matrix
# $\Sigma = \mathbb{E}[(\mathbf{x} - \boldsymbol\mu)(\mathbf{x} - \boldsymbol\mu)^\top]$. Then for a fixed vector
# $\mathbf{v}$
#
# ```{math}
# :label: eq-expect-quadratic
# \mathrm{Var}(\mathbf{v}^\top \mathbf{x}) = \mathbb{E}\big[\mathbf{v}^\top (\mathbf{x} - \boldsymbol\mu) (\mathbf{x} - \boldsymbol\mu)^\top \mathbf{v}\big]
# = \mathbf{v}^\top \Sigma \, \mathbf{v} ,
# ```
#
# again by linearity. So every $\Sigma$ is positive semidefinite, and $\mathbf{v} = (1, 1)$ gives
# $\mathrm{Var}(X + Y) = \mathrm{Var}(X) + \mathrm{Var}(Y) + 2 \, \mathrm{Cov}(X, Y)$. *Variances add only where
# covariances vanish*, as they do for independent quantities by the second half of {prf:ref}`thm-expect-linear`. As code,
# beside the covariance of NumPy for data with counts as weights:

# %%
def moments(values, p):  # values (K, d), p (K,) -> mean (d,), Cov (d, d)
    mu = p @ values
    away = values - mu
    return mu, away.T @ (p[:, None] * away)

# %%
counts = np.random.default_rng(1).integers(1, 6, size=5)
x = np.random.default_rng(2).normal(size=(5, 3))
Sigma = moments(x, counts / counts.sum())[1]
by_numpy = np.cov(x.T, fweights=counts, ddof=0)
assert close(Sigma, by_numpy, rtol=1e-12)
print('covariance, and as numpy has it: gap', below(Sigma - by_numpy))

# %% [markdown]
# The hats once more: $\mathrm{Var}(X_i) = \frac1n - \frac1{n^2}$, and two people both get theirs with probability
# $\frac{1}{n (n-1)}$, so $\mathrm{Cov}(X_i, X_j) = \frac{1}{n(n-1)} - \frac{1}{n^2} = \frac{1}{n^2 (n-1)}$. Together,
# $n \big(\frac1n - \frac1{n^2}\big) + n (n-1) \frac{1}{n^2 (n-1)} = 1$: mean one, variance one. The covariances are small,
# but there are many of them. Without them the variance would be $1 - \frac1n$, for eight hats $0.875$:

# %%
rng = np.random.default_rng(3)
hats = rng.permuted(np.tile(np.arange(8), (20_000, 1)), axis=1)
own = (hats == np.arange(8)).sum(1)  # (20000,)
print(f'own hats of 8: mean {own.mean():.3f}, variance {own.var():.3f}')

# %% [markdown]
# One formula for the variance is a trap. In floating point $\mathbb{E}[X^2]$ and $\mu^2$ are rounded to a relative
# $\epsilon \approx 10^{-16}$ each, so that their difference has an error of the order of $\epsilon \mu^2$, and a
# relative error of $\epsilon \, \mu^2 / \sigma^2$. Subtract the mean first, in a second pass: if it is wrong by
# $\epsilon \mu$, the variance is wrong by no more than the square of that. To have an exact reference we take data
# $2^m + z$ in which $z$ is a multiple of $2^{-20}$: then the addition does not round, and the true variance is that
# of $z$. Medians of 200 data sets:

# %%
z = np.random.default_rng(4).normal(size=(200, 50))
z = np.round(z * 2**20) / 2**20
exponents = np.arange(0, 31, 2)
errors = []
for m in exponents:
    x = 2.0**m + z
    one_pass = (x**2).mean(1) - x.mean(1) ** 2
    two_pass = ((x - x.mean(1, keepdims=True)) ** 2).mean(1)
    off = abs(np.array([one_pass, two_pass]) / z.var(1) - 1)
    errors.append(np.median(off, axis=1))
one_pass, two_pass = np.array(errors).T
print('one pass, mean = a million σ: error',
      between(one_pass[exponents == 20], 1e-5, 1e-3))
print('one pass, mean = a billion σ: error', between(one_pass[-1], 1, 1000))
print('two passes, always: error', below(two_pass, 1e-13))

# %% mystnb={"image": {"alt": "Relative error of the variance against the ratio of mean to standard deviation, both axes logarithmic. The one-pass formula climbs along a line of slope two to an error of one and more; the two-pass formula stays at rounding level."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.9))
ratio = 2.0**exponents
ax.loglog(ratio, one_pass, 'o-', label='E X² − (E X)²')
ax.loglog(ratio, np.maximum(two_pass, 1e-16), 'o-', label='E (X − E X)²')
guide = np.finfo(float).eps * ratio**2
ax.loglog(ratio, guide, color=GREY, ls=':', label='ε (mean / σ)²')
ax.set(xlabel='mean / σ', ylabel='relative error of the variance')
ax.set(ylim=(1e-17, 1e4), title='Cancellation')
label_lines(ax)

# %% [markdown] tags=["caption"]
# The one-pass variance errs by about $\epsilon\,(\mu/\sigma)^2$ and by more than the variance itself if $\mu$ is a billion
# times $\sigma$; subtracting the mean first keeps the error below $10^{-13}$.

# %% [markdown]
# ```{exercise} ★★ Program: the variance of two batches
# :label: expect-merge
# Two batches have sizes $n_1, n_2$, means $m_1, m_2$ and variances $v_1, v_2$ (divided by $n_1$, $n_2$). The data are
# gone. Write `merge(n1, m1, v1, n2, m2, v2)` that gives mean and variance of the union, and does not cancel.
# ```

# %%
def merge(n1, m1, v1, n2, m2, v2):  # -> (mean, variance)
    raise NotImplementedError('your turn')

# %%
def merge_by_making(n1, m1, v1, n2, m2, v2):  # batches with these numbers
    def batch(n, m, v):
        t = np.arange(n) - (n - 1) / 2
        return m + t * np.sqrt(v / (t**2).mean())

    x = np.concatenate([batch(n1, m1, v1), batch(n2, m2, v2)])
    return np.array([x.mean(), x.var()])

batches = [(3, 1.0, 2.0, 5, 4.0, 0.5), (2, -1.0, 1.0, 2, 1.0, 3.0),
           (90, 1e6, 2.0, 10, 1e6 + 3, 1.0)]
grade(merge, merge_by_making, batches)

# %% [markdown]
# ```{solution-start} expect-merge
# :class: dropdown
# ```
# Let $w = n_2 / (n_1 + n_2)$ and $\delta = m_2 - m_1$. The mean is $m_1 + w \delta$. A point of the first batch is
# $w \delta$ away from it on average, one of the second $(1 - w) \delta$; so the variance is
# $(1 - w) (v_1 + w^2 \delta^2) + w (v_2 + (1 - w)^2 \delta^2) = (1 - w) v_1 + w v_2 + w (1 - w) \delta^2$. Merging
# again and again computes a variance in one pass, in parallel, without cancellation {cite}`chan1983algorithms`. To
# average the variances alone forgets that the batches lie apart.

# %% jupyter={"source_hidden": true}
def merge_solution(n1, m1, v1, n2, m2, v2):
    w, gap = n2 / (n1 + n2), m2 - m1
    return np.array([m1 + w * gap,
                     (1 - w) * v1 + w * v2 + w * (1 - w) * gap**2])

def forgets_the_gap(n1, m1, v1, n2, m2, v2):
    w = n2 / (n1 + n2)
    return np.array([m1 + w * (m2 - m1), (1 - w) * v1 + w * v2])

assert grade(merge_solution, merge_by_making, batches)
assert not grade(forgets_the_gap, merge_by_making, batches)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def random_law(seed, d):  # exact
    rng = np.random.default_rng(seed)
    values = rng.integers(-9, 10, size=(5, d)) * Fraction(1)
    n = rng.integers(1, 10, size=5) * Fraction(1)
    return values, n / n.sum()

def shifts_and_scales(seed, factor):
    x, p = random_law(seed, 1)
    mu, var = (m.item() for m in moments(x, p))
    moved = moments(-3 * x + 7, p)[1].item()
    return var == (p @ x**2).item() - mu**2 and moved == factor * var

verify(
    'Var X = E X² - (E X)² and Var(-3 X + 7) = 9 Var X',
    lambda seed: shifts_and_scales(seed, factor=9),
    slip=(
        'forgets the square of a',
        lambda seed: shifts_and_scales(seed, factor=3),
    ),
    seed=seeds(),
)

def variance_along(seed, full):
    x, p = random_law(seed, 3)
    v = np.array([2, -1, 3])
    Sigma = moments(x, p)[1]
    along = moments((x @ v)[:, None], p)[1].item()
    return along == (v @ Sigma @ v if full else v**2 @ np.diag(Sigma))

verify(
    'the variance along v is v·Σv',
    lambda seed: variance_along(seed, full=True),
    slip=(
        'forgets the covariances',
        lambda seed: variance_along(seed, full=False),
    ),
    seed=seeds(),
)

def own_hats(seed, variance, R=20_000):
    # for 4 hats or more the fourth central moment is 4, as of a Poisson law
    # with mean 1, so the sample variance has standard error sqrt(3 / R)
    rng = np.random.default_rng(seed)
    hats = rng.permuted(np.tile(np.arange(8), (R, 1)), axis=1)
    own = (hats == np.arange(8)).sum(1)
    right_mean = abs(own.mean() - 1) < 5 / np.sqrt(R)
    return right_mean and abs(own.var() - variance) < 5 * np.sqrt(3 / R)

verify(
    'own hats have mean one and variance one',
    lambda seed: own_hats(seed, variance=1),
    slip=(
        'forgets the covariances of the hats',
        lambda seed: own_hats(seed, variance=1 - 1 / 8),
    ),
    seed=seeds(),
    tries=20,
)

# %% [markdown]
# ## Total expectation and total variance
#
# To find the mean height of a country, average the means of its regions, weighted by their people. Write
# $\mathbb{E}[X \mid Y = y] = \sum_x x \, P(X = x \mid Y = y)$ for the mean of $X$ in group $y$, and
# $\mathbb{E}[X \mid Y]$ for the random quantity that takes this value when $Y = y$; likewise
# $\mathrm{Var}(X \mid Y)$ for the variance inside the group.
#
# ````{prf:theorem} Total expectation and total variance
# :label: thm-total-variance
# If $X$ has an expectation, respectively a finite variance, then
#
# ```{math}
# :label: eq-total-variance
# \begin{aligned}
# \mathbb{E}[X] &= \mathbb{E}\big[\mathbb{E}[X \mid Y]\big] , \\
# \mathrm{Var}(X) &= \underbrace{\mathbb{E}\big[\mathrm{Var}(X \mid Y)\big]}_{\text{within}}
# + \underbrace{\mathrm{Var}\big(\mathbb{E}[X \mid Y]\big)}_{\text{between}} .
# \end{aligned}
# ```
# ````
#
# ```{prf:proof}
# First, $\sum_y P(y) \sum_x x \, P(x \mid y) = \sum_x x \sum_y P(x, y) = \mathbb{E}[X]$. Second, put
# $M = \mathbb{E}[X \mid Y]$. In each group $\mathbb{E}[X^2 \mid Y] = \mathrm{Var}(X \mid Y) + M^2$. Take expectations,
# use the first law on $X^2$, and subtract $\mathbb{E}[X]^2 = \mathbb{E}[M]^2$ on both sides.
# ```
#
# The two parts answer a question of every data set: *how much of the variation is explained?* Take handwritten digits.
# For each pixel, split the variance of its brightness into the part between the ten classes and the part within. The
# ratio of between to total, known as $R^2$, is the share that a perfect knowledge of the class would explain.

# %%
x, y, _ = digits()
share = np.bincount(y) / len(y)  # (10,)
means = np.array([x[y == c].mean(0) for c in range(10)])  # (10, 64)
within = share @ np.array([x[y == c].var(0) for c in range(10)])
between = share @ (means - x.mean(0)) ** 2
assert close(within + between, x.var(0), rtol=1e-12)
alive = x.var(0) > 0
explained = np.full(64, np.nan)
explained[alive] = between[alive] / x.var(0)[alive]
print(f'all pixels: {between.sum() / x.var(0).sum():.0%} between the classes')
print(f'best pixel {np.nanmax(explained):.0%}, {(~alive).sum()} never lit')

# %% mystnb={"image": {"alt": "Three 8 by 8 maps of pixels: the total variance is largest left below the centre and small at the left and right edges; the part between the classes is about half as large; the explained share exceeds one half at eleven pixels, and is largest, about 0.6, at four left of the centre."}} tags=["hide-input"]
fig, axes = panels(3, height=2.2)
maps = {'total variance': x.var(0), 'between classes': between}
for ax, (title, values) in zip(axes, maps.items(), strict=False):
    seen = show_image(ax, values.reshape(8, 8), title, vmin=0, vmax=0.17,
                      cmap='viridis')
fig.colorbar(seen, ax=axes[:2], ticks=[0, 0.08, 0.16], shrink=0.7)
seen = show_image(axes[2], explained.reshape(8, 8), 'explained share',
                  vmin=0, vmax=0.7, cmap='viridis')
fig.colorbar(seen, ax=axes[2], ticks=[0, 0.35, 0.7], shrink=0.7);

# %% [markdown] tags=["caption"]
# The class of a digit explains 42 % of the variance of all pixels together, and 61 % of the variance of the best pixel.

# %% [markdown]
# (Why the group mean is the best guess is shown in [linear regression](../regression/linear_regression.ipynb).) The
# same two laws solve problems with a random *number* of terms. Let $S = X_1 + \dots + X_N$ with independent $X_i$ of
# mean $\mu$ and variance $\sigma^2$, and $N$ independent of them. Given $N = n$, the sum has mean $n \mu$ and
# variance $n \sigma^2$. So
#
# ```{math}
# :label: eq-random-sum
# \mathbb{E}[S] = \mu \, \mathbb{E}[N] , \qquad \mathrm{Var}(S) = \sigma^2 \, \mathbb{E}[N] + \mu^2 \, \mathrm{Var}(N) .
# ```
#
# An insurer who knows only the first term, the spread of the claims, overlooks that their number varies.
#
# Total expectation also solves problems about time: condition on the first step. How long until the first head, if each
# flip is a head with probability $q$? One flip is spent; with probability $1 - q$ we are where we began:
# $\mathbb{E}[T] = 1 + (1 - q) \, \mathbb{E}[T]$, so $\mathbb{E}[T] = 1/q$ (that it is finite follows from
# $P(T > t) = (1 - q)^t$).
#
# ```{exercise} ★★★ Program: waiting for a pattern
# :label: expect-pattern
# A fair coin is flipped until a pattern such as `HTH` has appeared. One might think that all patterns of one length
# take equally long. Condition on the first steps to find the expected number of flips for `HH` and for `HT`; then
# find the rule and write `waiting(pattern)` without solving equations.
# ```

# %%
def waiting(pattern):
    raise NotImplementedError('your turn')

# %%
def waiting_by_equations(pattern):  # one unknown per matched length
    m = len(pattern)
    A, b = np.eye(m), np.ones(m)
    for i, flip in product(range(m), 'HT'):
        seen = pattern[:i] + flip
        ends = [j for j in range(len(seen) + 1)
                if pattern[:j] == seen[len(seen) - j:]]
        if max(ends) < m:
            A[i, max(ends)] -= 0.5
    return np.linalg.solve(A, b)[0]

patterns = [('H',), ('HH',), ('HT',), ('HTH',), ('HHTHH',), ('TTHTH',)]
grade(waiting, waiting_by_equations, patterns)

# %% [markdown]
# ```{solution-start} expect-pattern
# :class: dropdown
# ```
# For `HT`: first wait for a head, 2 flips, then for a tail, 2 more: 4. For `HH` a tail after the head throws you
# back to the start: $h = 1 + \frac12 \cdot 0 + \frac12 s$ and $s = 1 + \frac12 h + \frac12 s$ give $s = 6$. The
# rule: add $2^j$ for every $j$ for which the first $j$ letters equal the last $j$. Why? Let a new gambler arrive
# before every flip and bet one unit on the first letter, all the winnings on the next, and so on. The game is fair,
# so what all gamblers have paid, one unit per flip, is on average what they hold at the end (stopping a martingale
# makes this precise {cite}`li1980martingale`). And at the end someone holds $2^j$ for each $j$ for which the last
# $j$ letters are also the first $j$. To count only the whole pattern, $2^m$, forgets the overlaps.

# %% jupyter={"source_hidden": true}
def waiting_solution(pattern):
    lengths = range(1, len(pattern) + 1)
    return sum(2**j for j in lengths if pattern[:j] == pattern[-j:])

def without_overlaps(pattern):
    return 2 ** len(pattern)

assert grade(waiting_solution, waiting_by_equations, patterns)
assert not grade(without_overlaps, waiting_by_equations, patterns)
print('HH', waiting_solution('HH'), 'HT', waiting_solution('HT'))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def joint_law(seed):  # values x (4,), probabilities (4, 3) of x and group
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 10, size=(4, 3)) * Fraction(1)
    return rng.integers(-9, 10, 4), n / n.sum()

def two_stages(seed, between):
    x, p = joint_law(seed)
    group = p.sum(0)  # (3,)
    means = x @ p / group
    within = group @ (x**2 @ p / group - means**2)
    mean, all_within_x = x @ p.sum(1), x**2 @ p.sum(1)
    spread = group @ (means - mean) ** 2
    total = within + between * spread
    return group @ means == mean and total == all_within_x - mean**2

verify(
    'total expectation and total variance',
    lambda seed: two_stages(seed, between=1),
    slip=(
        'forgets the part between the groups',
        lambda seed: two_stages(seed, between=0),
    ),
    seed=seeds(),
)

def mean_and_variance(values, p):
    mean = values @ p
    return mean, (values - mean) ** 2 @ p

def random_sum(seed, count_varies):
    rng = np.random.default_rng(seed)
    p, q = rng.integers(1, 9, size=(2, 4)) * Fraction(1)
    p, q = p / p.sum(), q / q.sum()  # laws of X and of N on 0, 1, 2, 3
    law, total = np.array([Fraction(1)]), np.zeros(10, dtype=object)
    for n in range(4):
        total[: len(law)] += q[n] * law
        law = np.convolve(law, p)
    mu, var = mean_and_variance(np.arange(4), p)
    mean_n, var_n = mean_and_variance(np.arange(4), q)
    want = var * mean_n + count_varies * mu**2 * var_n
    return mean_and_variance(np.arange(10), total) == (mu * mean_n, want)

verify(
    'mean and variance of a sum of random length',
    lambda seed: bool(random_sum(seed, count_varies=1)),
    slip=(
        'forgets that the number of terms varies',
        lambda seed: bool(random_sum(seed, count_varies=0)),
    ),
    seed=seeds(),
)

# %% [markdown]
# ## Monte Carlo: averages estimate integrals
#
# Read the definition backwards: an unknown integral $\mathbb{E}[f(X)]$ can be *estimated* by drawing. The Monte Carlo
# estimate from independent draws is
#
# ```{math}
# :label: eq-monte-carlo
# \begin{gathered}
# \bar f_n = \frac1n \sum_{i=1}^n f(X_i) , \\
# \mathbb{E}[\bar f_n] = \mathbb{E}[f(X)] , \qquad \mathrm{Var}(\bar f_n) = \frac{\mathrm{Var}(f(X))}{n} .
# \end{gathered}
# ```
#
# The mean is linearity. The variance is $\frac{1}{n^2} \sum_i \mathrm{Var}(f(X_i))$, since independent terms have no
# covariance. So the error has the standard deviation $\sigma_f / \sqrt n$, the *standard
# error*: *one more digit costs a hundred times the work*, whatever the dimension of $X$. And since the mean square of the
# error vanishes, so does the probability of any fixed error (that step is Chebyshev's inequality, see
# [concentration](concentration.ipynb)): this is the weak law of large numbers, for finite variance. As an example take
# $f(\mathbf{x}) = e^{-x_1 - \dots - x_d}$ on the unit cube. By independence $\mathbb{E}[f] = (1 - e^{-1})^d$ and
# $\mathbb{E}[f^2] = \big(\frac{1 - e^{-2}}{2}\big)^d$. The root mean square of the error in 400 runs follows
# $\sigma_f / \sqrt n$ in each dimension, and 64 times the draws make it 8 times smaller:

# %%
def decay(x):  # (..., d) -> (...)
    return np.exp(-x.sum(-1))

def exactly(d):  # mean and standard deviation
    mean = (1 - np.exp(-1)) ** d
    return mean, np.sqrt(((1 - np.exp(-2)) / 2) ** d - mean**2)

def rms_error(n, d, seed, R=400):
    x = np.random.default_rng([seed, n]).random((R, n, d))
    miss = decay(x).mean(1) - exactly(d)[0]
    return np.sqrt((miss**2).mean())

for d in (1, 2, 5):
    errors = [rms_error(n, d, seed=0) for n in (50, 3200)]
    predicted = exactly(d)[1] / np.sqrt([50, 3200])
    print(f'd = {d}: errors', np.round(errors, 5),
          'predicted', np.round(predicted, 5))

# %% [markdown]
# Is that fast? Compare with a grid: the midpoint rule with $m$ points per axis has error of order $m^{-2}$, but
# $n = m^d$ points, hence $n^{-2/d}$. In the end it wins for $d < 4$ and loses for $d > 4$, and a network's loss
# lives in thousands of dimensions. Since $f$ is a product, the grid's answer is the one-dimensional one to the power
# $d$.

# %%
def midpoint(m, d):  # relative error
    grid = (np.arange(m) + 0.5) / m
    return abs(np.exp(-grid).mean() ** d / exactly(d)[0] - 1)

per_axis = {1: [8, 32, 128, 1024], 4: [2, 3, 5, 8], 8: [1, 2, 3]}
lattice = {d: [midpoint(m, d) for m in ms] for d, ms in per_axis.items()}
assert close(midpoint(3, 2), 1 - decay(
    (np.mgrid[:3, :3].T + 0.5) / 3).mean() / exactly(2)[0])
sizes = np.array([8, 64, 512, 4096])
drawn = {d: [rms_error(n, d, 0, R=100) / exactly(d)[0] for n in sizes]
         for d in (1, 4, 8)}
for d, errors in lattice.items():
    n = np.array(per_axis[d][-2:], dtype=float) ** d
    slope = np.log(errors[-1] / errors[-2]) / np.log(n[1] / n[0])
    print(f'd = {d}: grid n^{slope:.2f}, theory n^{-2 / d:.2f}')

# %% mystnb={"image": {"alt": "Three panels for 1, 4 and 8 dimensions: relative error against the number of points. The Monte Carlo error has the same slope one half in all. The grid is far below it for one dimension, parallel to it for four, and flatter for eight, above it beyond about a hundred points."}} tags=["hide-input"]
fig, axes = panels(3, height=2.5, sharey=True)
for ax, (d, ms) in zip(axes, per_axis.items(), strict=True):
    ax.loglog(sizes, drawn[d], 'o-', label='Monte Carlo')
    ax.loglog(np.array(ms, float) ** d, lattice[d], 's-', label='grid')
    ax.loglog(sizes, exactly(d)[1] / exactly(d)[0] / np.sqrt(sizes),
              color=GREY, ls=':', label='σ / √n')
    ax.set(title=f'd = {d}', xlabel='points n', xlim=(0.7, 1e4))
axes[0].set(ylabel='relative error')
axes[2].legend(loc='lower left');

# %% [markdown] tags=["caption"]
# Monte Carlo errs like $n^{-1/2}$ in every dimension, a grid like $n^{-2/d}$: far better for $d = 1$, at the same rate for
# $d = 4$, and worse for $d = 8$ beyond about a hundred points.

# %% [markdown]
# The error bar comes for free: estimate $\sigma_f$ by the standard deviation $s$ of the same draws, and
# $\bar f_n \pm 1.96 \, s / \sqrt n$ should cover the truth in 95 % of the runs, by the central limit theorem. All
# this hangs on $\sigma_f < \infty$. Two laws break it. The *Pareto* density $\frac32 x^{-5/2}$, $x \ge 1$, has mean
# 3 and no variance. The *Cauchy* density $\frac{1}{\pi (1 + x^2)}$ has not even a mean, and the average of $n$ draws
# is distributed exactly as a single one, so that averaging achieves nothing.

# %%
rng = np.random.default_rng(6)
laws = {
    'uniform': (rng.random((2000, 400)), 0.5),
    'Pareto 3/2': (rng.random((2000, 400)) ** (-2 / 3), 3),
}
for name, (x, mean) in laws.items():
    off = abs(x.mean(1) - mean) / x.std(1)
    print(f'{name}: covered {(off < 1.96 / np.sqrt(400)).mean():.2f}')

# %% [markdown]
# For the Pareto law the error bar promises too much. Here are running means of 2000 samples of three laws:

# %%
rng = np.random.default_rng(7)
draws = {
    'exponential': rng.exponential(size=(2000, 1000)) - 1,
    'Pareto 3/2': rng.random((2000, 1000)) ** (-2 / 3) - 3,
    'Cauchy': rng.standard_cauchy((2000, 1000)),
}
n = np.arange(1, 1001)
running = {name: x.cumsum(1) / n for name, x in draws.items()}
bands = {name: np.quantile(m, [0.05, 0.95], axis=0)
         for name, m in running.items()}
for name, (low, high) in bands.items():
    before, after = (high - low)[np.searchsorted(n, [100, 1000])]
    print(f'{name:12s} from 100 to 1000 draws the 90 % band shrinks by '
          f'{before / after:.2f}')

# %% mystnb={"image": {"alt": "Three panels of running means against the number of draws. For the exponential law the band narrows between two curves of the form 1.64 over root n. For the Pareto law it narrows more slowly and lopsidedly, with jumps. For the Cauchy law it does not narrow at all."}} tags=["hide-input"]
fig, axes = panels(3, height=2.6)
for ax, (name, m) in zip(axes, running.items(), strict=True):
    ax.fill_between(n, *bands[name], color='C0', alpha=0.25, rasterized=True)
    ax.plot(n, m[:4].T, color='C0', lw=0.8)
    ax.axhline(0, color=GREY, lw=1)
    limit = {'exponential': 1, 'Pareto 3/2': 4, 'Cauchy': 12}[name]
    ax.set(xscale='log', title=name, xlabel='draws n', ylim=(-limit, limit))
for sign in (-1, 1):
    axes[0].plot(n, sign * 1.645 / np.sqrt(n), color='C1', ls='--')
axes[0].set(ylabel='running mean − centre');

# %% [markdown] tags=["caption"]
# With a variance the 90 % band of the running mean narrows like $1/\sqrt n$; with a mean but no variance (Pareto) it narrows
# more slowly, without a mean (Cauchy) not at all.

# %% [markdown]
# With finite variance ten times narrower bands need a hundred times the draws; the first band shrinks by
# $\sqrt{10} \approx 3.2$ from 100 to 1000 draws. Without a variance the running mean still converges, but more slowly,
# here like $n^{-1/3}$ in the limit, a factor of $10^{1/3} \approx 2.2$. Without a mean it does not converge.

# %% tags=["checks"]
def has_rate(d, seed, rate):  # to five standard errors of 400 runs
    ratio = rms_error(3200, d, seed) / rms_error(50, d, seed)
    return abs(np.log(ratio) / np.log(64) - rate) < 5 / 20 / np.log(64)

def has_constant(d, seed, sigma):  # of a nearly Gaussian error, as well
    ratio = rms_error(50, d, seed) * np.sqrt(50) / sigma
    return abs(ratio - 1) < 5 / np.sqrt(800)

runs = {'d': [1, 2, 5], 'seed': [0, 1, 2]}
verify(
    'the Monte Carlo error falls like n to the power -1/2',
    lambda d, seed: has_rate(d, seed, rate=-1 / 2),
    slip=(
        'believes that twice the draws halve the error',
        lambda d, seed: has_rate(d, seed, rate=-1),
    ),
    tries=9,
    **runs,
)
verify(
    'its constant is the standard deviation of one draw',
    lambda d, seed: has_constant(d, seed, exactly(d)[1]),
    slip=(
        'takes the same deviation in every dimension',
        lambda d, seed: has_constant(d, seed, exactly(1)[1]),
    ),
    **runs,
)

def like_one_draw(n, seed, power):
    rng = np.random.default_rng(seed)
    average = rng.standard_cauchy((2000, n)).mean(1)
    # exceeded with probability 1e-6 at most, says the inequality of
    # Dvoretzky, Kiefer and Wolfowitz
    dkw = np.sqrt(np.log(2 / 1e-6) / (2 * 2000))
    return kstest(n**power * average, cauchy.cdf).statistic < dkw

verify(
    'n Cauchy draws average to one Cauchy draw',
    lambda n, seed: like_one_draw(n, seed, power=0),
    slip=(
        'expects averaging to narrow a Cauchy law',
        lambda n, seed: like_one_draw(n, seed, power=1 / 2),
    ),
    n=[3, 400],
    seed=seeds(),
    tries=10,
)

# %% [markdown]
# ## Control variates and importance sampling
#
# Every average of independent draws has the rate $n^{-1/2}$, but the constant $\sigma_f$ can be made smaller: average
# another quantity that has the same mean.
#
# **Control variates.** Let $g(X)$ be a quantity that resembles $f(X)$ and whose mean is known. Then
# $f - \beta \, (g - \mathbb{E}[g])$ has the mean of $f$ for every $\beta$, and variance
# $\mathrm{Var}(f) - 2 \beta \, \mathrm{Cov}(f, g) + \beta^2 \, \mathrm{Var}(g)$. This parabola is lowest at
# $\beta^* = \mathrm{Cov}(f, g) / \mathrm{Var}(g)$, where
#
# ```{math}
# :label: eq-control-variate
# \mathrm{Var}\big(f - \beta^* (g - \mathbb{E}[g])\big) = (1 - \rho^2) \, \mathrm{Var}(f) ,
# \qquad \rho = \frac{\mathrm{Cov}(f, g)}{\sigma_f \, \sigma_g} .
# ```
#
# In particular $\rho^2 \le 1$, as a variance is not negative. Only what $g$ does not explain has to be averaged out.
# For $f(U) = e^{cU}$ with uniform $U$ take $g(U) = U$, whose mean is $\frac12$ and whose variance is $\frac{1}{12}$:

# %%
def exponential_facts(c):  # E f, Var f, Cov(f, U)
    mean = np.expm1(c) / c
    return (mean, np.expm1(2 * c) / (2 * c) - mean**2,
            (np.exp(c) - mean) / c - mean / 2)

def with_help(u, c):  # (..., n) -> (...)
    beta = 12 * exponential_facts(c)[2]  # Var U = 1/12
    return (np.exp(c * u) - beta * (u - 0.5)).mean(-1)

_, var, cov = exponential_facts(1)
print(f'draws saved at c = 1: a factor {1 / (1 - 12 * cov**2 / var):.0f}')

# %% [markdown]
# **Importance sampling.** How likely is a standard normal $Z$ to exceed 4? Three draws in a hundred thousand do;
# plain drawing wastes the rest. So draw where the event happens, and correct by the ratio of densities: if
# $q(x) > 0$ wherever $f(x) \, p(x) \ne 0$, then
#
# ```{math}
# :label: eq-importance
# \mathbb{E}_p[f(X)] = \int f(x) \, \frac{p(x)}{q(x)} \, q(x) \, dx = \mathbb{E}_q[f(X) \, w(X)] , \qquad w(x) = \frac{p(x)}{q(x)} .
# ```
#
# The mean is right for all such $q$; the variance is what the choice decides. With $p = \mathcal{N}(0, 1)$, $q =
# \mathcal{N}(\mu, 1)$ and $f$ the indicator of $x > a$, $w(x) = e^{\mu^2/2 - \mu x}$, and the second moment under $q$,
# $\mathbb{E}_q[f w^2] = \mathbb{E}_p[f w]$, is, with the distribution function $\Phi$ of $\mathcal{N}(0, 1)$,
#
# ```{math}
# :label: eq-importance-shift
# \int_a^\infty e^{\mu^2/2 - \mu x} \, \frac{e^{-x^2/2}}{\sqrt{2\pi}} \, dx = e^{\mu^2} \, \Phi(-a - \mu) ,
# ```
#
# by completing the square, $\frac{\mu^2}{2} - \mu x - \frac{x^2}{2} = \mu^2 - \frac{(x + \mu)^2}{2}$.

# %%
def tail_estimates(a, mu, seed, R=2000, n=500):
    x = mu + np.random.default_rng(seed).normal(size=(R, n))
    w = np.exp(mu**2 / 2 - mu * x)
    return ((x > a) * w).mean(1)  # (R,)

def shift_sd(a, mu):  # of a single draw
    second = np.exp(mu**2) * norm.sf(a + mu)
    return np.sqrt(second - norm.sf(a) ** 2)

# %%
shifts = np.linspace(0, 6.5, 131)
relative = shift_sd(4, shifts) / norm.sf(4)
tried = np.array([2, 3, 4, 5, 6.0])
tested = [np.sqrt(500) * tail_estimates(4, mu, 9).std() / norm.sf(4)
          for mu in tried]
best = shifts[relative.argmin()]
gain = (relative[0] / relative.min()) ** 2
print(f'P(Z > 4) = {norm.sf(4):.2e}; best shift {best:.2f}')
print(f'draws saved: a factor of {gain:.1f}')
print(f'spread of one draw: {relative[0]:.0f} times P(Z > 4) without a shift, '
      f'{relative.min():.2f} times with the best')
u = np.random.default_rng(8).random((4000, 50))
plain, helped = np.exp(u).mean(1), with_help(u, 1)

# %% mystnb={"image": {"alt": "Left: histograms of 4000 averages around e minus 1, wide for plain draws and eight times narrower with a control variate. Right: relative standard deviation of a draw against the shift of the proposal, falling from 178 to about 2 near shift 4.1 and rising again; simulated points lie on the curve."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
edges = np.linspace(1.45, 2, 111)
left.hist(plain, edges, color='C0', alpha=0.5)
left.hist(helped, edges, color='C1', alpha=0.6)
left.text(1.5, 130, 'plain', color='C0')
left.text(1.75, 600, 'with control\nvariate', color='C1')
left.axvline(np.e - 1, color=GREY, ls=':')
left.set(xlabel='average of 50 draws of exp(U)', ylabel='runs')
left.set(title='Same mean, less spread')
right.semilogy(shifts, relative, color='C1')
right.plot(tried, tested, 'o', color='C0')
right.set(xlabel='shift µ of the proposal', ylabel='σ / P(Z > 4)')
right.set(title='One draw, relative to the answer');

# %% [markdown] tags=["caption"]
# Left: a control variate makes averages about eight times narrower. Right: a proposal shifted to about 4.1 brings the spread
# of one draw from 178 times $P(Z > 4)$ down to about twice it.

# %% [markdown]
# The best shift puts the draws just beyond the edge of the rare event. A badly chosen proposal is worse than none:
# where $q$ is small and $f p$ is not, weights are rare and huge, and an experiment that has not met one yet looks
# precise. The last exercise finds the point at which the variance becomes infinite. In deep learning both ideas return as
# baselines of [gradient estimators](reparameterization.ipynb) and as weights for data from another distribution.
#
# ```{exercise} ★★ Program: weights without a variance
# :label: expect-weights
# Draw from $q = \mathcal{N}(0, s^2)$ for a target $p = \mathcal{N}(0, 1)$. The mean of $w = p/q$ under $q$ is 1 for
# every $s$. Write `second_moment(s)` $= \mathbb{E}_q[w^2]$, and say for which $s$ it is finite. Is it safer to
# propose too narrowly or too widely?
# ```

# %%
def second_moment(s):  # inf where there is none
    raise NotImplementedError('your turn')

# %%
def second_moment_by_quadrature(s):
    ratio = lambda x: np.exp(2 * norm.logpdf(x) - norm.logpdf(x, scale=s))
    inside, outside = (quad(ratio, 0, b)[0] for b in (8, 16))
    return 2 * outside if outside < 1.01 * inside else np.inf

widths = [(1.0,), (0.8,), (2.0,), (5.0,), (0.6,)]
grade(second_moment, second_moment_by_quadrature, widths)

# %% [markdown]
# ```{solution-start} expect-weights
# :class: dropdown
# ```
# $\mathbb{E}_q[w^2] = \int p^2 / q = \frac{s}{\sqrt{2\pi}} \int e^{-x^2 (1 - 1/(2 s^2))} \, dx = \frac{s}{\sqrt{2 - 1/s^2}}$
# if $2 s^2 > 1$, and infinite otherwise. Too wide costs a factor that grows like $s$; too narrow, below
# $s = 1/\sqrt2$, costs everything. Exchanging $p$ and $q$ gives $\int q^2 / p$, which explodes on the wrong side.

# %% jupyter={"source_hidden": true}
def second_moment_solution(s):
    return s / np.sqrt(2 - 1 / s**2) if 2 * s**2 > 1 else np.inf

def roles_exchanged(s):
    return 1 / (s * np.sqrt(2 - s**2)) if s**2 < 2 else np.inf

assert grade(second_moment_solution, second_moment_by_quadrature, widths)
assert not grade(roles_exchanged, second_moment_by_quadrature, widths)
for s in (0.6, 0.75, 1.5, 5):
    print(f's = {s}: second moment {second_moment_solution(s):.2f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def controlled(c, seed, leftover, R=2000, n=50):
    mean, var, cov = exponential_facts(c)
    found = with_help(np.random.default_rng(seed).random((R, n)), c)
    rho = cov / np.sqrt(var / 12)
    sd = np.sqrt(leftover(rho) * var / n)
    near = abs(found.mean() - mean) < 5 * sd / np.sqrt(R)
    return near and abs(found.std() / sd - 1) < 5 / np.sqrt(2 * R)

verify(
    'a control variate leaves 1 - ρ² of the variance',
    lambda c, seed: controlled(c, seed, lambda rho: 1 - rho**2),
    slip=(
        'forgets the square of the correlation',
        lambda c, seed: controlled(c, seed, lambda rho: 1 - abs(rho)),
    ),
    c=[-2, 1, 3],
    seed=seeds(),
    tries=30,
)

def upside_down(a, mu, seed, R=2000, n=500):
    x = mu + np.random.default_rng(seed).normal(size=(R, n))
    return ((x > a) / np.exp(mu**2 / 2 - mu * x)).mean(1)

def as_predicted(a, mu, seed, estimates, R=2000, n=500):
    found = estimates(a, mu, seed)
    sd = shift_sd(a, mu) / np.sqrt(n)
    near = abs(found.mean() - norm.sf(a)) < 5 * sd / np.sqrt(R)
    return near and abs(found.std() / sd - 1) < 5 / np.sqrt(2 * R)

verify(
    'importance sampling has the right mean and predicted spread',
    lambda **case: as_predicted(estimates=tail_estimates, **case),
    slip=(
        'turns the weight upside down',
        lambda **case: as_predicted(estimates=upside_down, **case),
    ),
    a=[2, 3, 4],
    mu=[2.5, 3, 4],
    seed=[0, 1, 2],
    tries=12,
)

# %% [markdown]
# ## Summary
#
# Expectation is linear even for dependent quantities. Variance is not: it adds up only without covariance, and it splits
# into a part within groups and a part between them. An average of $n$ independent draws has standard deviation
# $\sigma / \sqrt n$ in every dimension, provided that there is a variance. Control variates and importance sampling
# leave the mean as it is and shrink the constant, the first safely, the second only if the proposal reaches
# everywhere that matters.
#
# **Further reading.** {cite}`blitzstein2019introduction` teaches indicators and conditioning with a hundred stories;
# {cite}`owen2013monte` is the book on Monte Carlo; {cite}`chan1983algorithms` analyses how to compute a variance, and
# {cite}`higham2002accuracy` rounding in general.
