# ---
# jupyter:
#   book:
#     functions:
#       expect: expect(np.exp, normal(4), uniform(4))
#       moments: "moments(normal(5, 3), uniform(5) / 5)"
#       control_variate: control_variate(normal(50), uniform(50), 0.5)
#       shift_weight: shift_weight(normal(5), normal(5))
#     main: eq-expect-function
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Expectations
#
# A hundred people check in their hats, and the hats are handed back at random. How many people get their own hat? The
# number is different each time. What is it on average, how far from the average is it typically, and how many trials does a
# computer need to find out?
#
# - **You need** sums, integrals and the matrix product; [dot products](../linear_algebra/dot_products.ipynb) for
#   covariance.
# - **You build** means, variances and covariances of tables, the variance that a class explains, a Monte Carlo integrator with its error bar, and
#   two ways to make it more accurate.
# - **Runs in** 8 seconds, in float64.

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
from sklearn.feature_selection import f_classif

from nbutils.cases import integers, lists, on, scalars, seeds
from nbutils.checks import close, grade, verify
from nbutils.data import digits
from nbutils.figures import GREY, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## Expectation: the mean of a random quantity
#
# We hand back the hats 20,000 times and count how many people get their own:

# %%
def own_hats(n, runs, rng):     # -> (runs,)
    hats = rng.permuted(np.tile(np.arange(n), (runs, 1)), axis=1)
    return (hats == np.arange(n)).sum(1)

# %%
rng = np.random.default_rng(0)
for n in (4, 10, 100):
    own = own_hats(n, 20_000, rng)
    shares = [(own == k).mean() for k in range(4)]
    print(f'{n:3} people: mean {own.mean():.2f}, none in {shares[0]:.2f}'
          f' of the runs, one in {shares[1]:.2f}')

# %% [markdown]
# The mean is close to one for four people and for a hundred. We shall find out why, without computing a single one of these
# shares.
#
# A *random quantity* $X$ takes values $x$ with probabilities $p(x)$. Its **expectation** is the mean of the values, each
# weighted by its probability:
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
# If $f$ is a function, $f(X)$ is a random quantity, too. Its expectation needs only the probabilities of $X$:
#
# ```{math}
# :label: eq-expect-function
# \mathbb{E}[f(X)] = \sum_x f(x) \, p(x) ,
# ```
#
# or $\int f(x) \, p(x) \, dx$ with a density, if the sum or integral of $|f(x)|\,p(x)$ is finite.

# %%
def expect(f, values, weights):
    return weights @ f(values)

# %%
heads = np.arange(5)            # in four flips of a coin that shows
weights = binom.pmf(heads, 4, 0.6)  # heads with probability 0.6
mean = expect(lambda x: x, heads, weights)
print('probabilities', weights.round(4))
print(f'mean of X       {mean:.2f}, np.average'
      f' {np.average(heads, weights=weights):.2f}')
print(f'mean of exp(X)  {expect(np.exp, heads, weights):.2f}')
print(f'exp of the mean {np.exp(mean):.2f}')

# %% mystnb={"image": {"alt": "Left: five bars of probabilities for 0 to 4 heads with a triangle under the balance point 2.4. Right: the convex curve exp x with five dots sized by their probabilities; the mean of exp, 17.0, is marked above the point of the curve at the mean, 11.0."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.6)
left.bar(heads, weights, width=0.5, color='C0', alpha=0.6)
left.plot(mean, -0.012, '^', color='C1', ms=10, clip_on=False)
left.set(xlabel='heads in four flips', ylabel='probability', ylim=(0, 0.4))
left.text(mean, 0.365, 'mean 2.4', color='C1', ha='center')
t = np.linspace(0, 4, 100)
right.plot(t, np.exp(t), color=GREY, lw=1)
right.scatter(heads, np.exp(heads), s=300 * weights, color='C0', alpha=0.6)
for height, color, name in ((expect(np.exp, heads, weights), 'C1', 'mean of exp(X)'),
                            (np.exp(mean), 'C2', 'exp(mean of X)')):
    right.plot([0, mean], [height, height], color=color, ls=':')
    right.plot(mean, height, 'o', color=color)
    right.text(0, height + 1, name, color=color)
right.set(xlabel='x', ylabel='exp(x)');

# %% [markdown] tags=["caption"]
# Left: the bars balance at the mean, 2.4. Right: the mean of $e^X$ is 17.0, but $e$ to the power of the mean is only 11.0,
# because the curve bends upwards.

# %% [markdown]
# ```{admonition} A tempting mistake
# :class: warning
# The mean of $f(X)$ is in general *not* $f$ of the mean. For a convex $f$ it is never below, as [Jensen's
# inequality](../optimization/jensens_inequality.ipynb) says. Only straight lines may change places with the mean.
# ```
#
# ```{prf:theorem} Linearity
# :label: thm-expect-linear
# If $X$ and $Y$ have expectations, so has $aX + bY$, and
# $\mathbb{E}[aX + bY] = a \, \mathbb{E}[X] + b \, \mathbb{E}[Y]$, whether or not $X$ and $Y$ are independent. If they
# are independent, then also $\mathbb{E}[XY] = \mathbb{E}[X] \, \mathbb{E}[Y]$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# (For tables; integrals replace sums.) With joint probabilities $p(x, y)$,
# $\sum_{x,y} (ax + by) \, p(x, y) = a \sum_x x \sum_y p(x, y) + b \sum_y y \sum_x p(x, y)$, and the inner sums are
# $p(x)$ and $p(y)$. The finite sums of absolute values allow the reordering. If $p(x, y) = p(x) \, p(y)$, then
# $\sum_{x,y} x y \, p(x) \, p(y)$ is a product of two sums.
# ```
#
# Now the hats. Let $X_i$ be 1 if person $i$ gets the own hat, and 0 otherwise. This is called an **indicator**, and its
# expectation is the probability that it is 1: $\mathbb{E}[X_i] = 1/n$. The number of people with their own hat is $X_1 +
# \dots + X_n$. The indicators are dependent: for example, if all others have their own hats, so has the last person. But
# linearity does not ask for independence, so the mean is $n \cdot \frac1n = 1$ for every $n$.
#
# ```{exercise} ★ Pencil: how many faces appear?
# :label: expect-faces
# A fair die with $k$ faces is rolled $n$ times. Find the expected number of different faces that appear, with one indicator
# for each face, and write the formula as `faces(n, k)`, for integers $n \ge 0$ and $k \ge 1$.
# ```

# %%
def faces(n, k):
    """The expected number of different faces in n rolls of k faces.

    faces(2, 2) is 1.5.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def faces_by_listing(n, k):
    return np.mean([len(set(rolls)) for rolls in product(range(k), repeat=n)])

face_cases = dict(n=integers(0, 4), k=integers(1, 4))
grade(faces, faces_by_listing, **face_cases)

# %% [markdown]
# ```{solution-start} expect-faces
# :class: dropdown
# ```
# A given face is missed by all rolls with probability $(1 - 1/k)^n$, so its indicator has the mean $1 - (1 - 1/k)^n$, and
# there are $k$ of them. With $n = k$ large, a share of $1 - 1/e \approx 0.63$ of the faces appears, like the share of a
# data set that a bootstrap sample of the same size contains. The wrong answers assume that no face comes twice, count the
# missing faces, or forget that there are $k$ indicators.

# %% jupyter={"source_hidden": true}
def faces_solution(n, k):
    return k * (1 - (1 - 1 / k) ** n)

def as_if_none_came_twice(n, k):
    return min(n, k)

def faces_that_are_missing(n, k):
    return k * (1 - 1 / k) ** n

def a_single_face(n, k):
    return 1 - (1 - 1 / k) ** n

assert grade(faces_solution, faces_by_listing, **face_cases)
assert not grade(as_if_none_came_twice, faces_by_listing, **face_cases)
assert not grade(faces_that_are_missing, faces_by_listing, **face_cases)
assert not grade(a_single_face, faces_by_listing, **face_cases)
print(f'in a bootstrap sample of 1000: {faces_solution(1000, 1000):.0f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def expect_density(f, density, low, high):
    return quad(lambda x: f(x) * density(x), low, high)[0]

def exponential_means(q, a, t):  # of 4 flips and of a Gamma distribution
    # beyond 80 there is less than 1e-10 of the integral, for a <= 5, t <= 1/2
    f = lambda x: np.exp(t * x)
    flips = expect(f, np.arange(5), binom.pmf(range(5), 4, q))
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

def hats_by_hand(n, runs, mean):  # the variance of the number is 1 from n = 2 on
    return abs(own_hats(n, runs, np.random.default_rng(n)).mean() - mean) < 5 / np.sqrt(runs)

verify(
    'one person on average gets the own hat',
    lambda n: hats_by_hand(n, 20_000, 1),
    slip=('expects a tenth of the people', lambda n: hats_by_hand(n, 20_000, n / 10)), n=[2, 4, 10, 100],
)

# %% [markdown]
# ## Variance and covariance
#
# The mean does not say how far from it a single draw will be. The **variance** is the mean squared distance from the mean
# $\mu = \mathbb{E}[X]$. Its root $\sigma$, the **standard deviation**, has the unit of $X$ again.
#
# ```{math}
# :label: eq-expect-variance
# \begin{aligned}
# \mathrm{Var}(X) &= \mathbb{E}\big[(X - \mu)^2\big] = \mathbb{E}[X^2] - \mu^2 , \\
# \mathrm{Var}(aX + b) &= a^2 \, \mathrm{Var}(X) .
# \end{aligned}
# ```
#
# (Open the square and use linearity: $\mathbb{E}[X^2] - 2\mu \, \mathbb{E}[X] + \mu^2$. A shift by $b$ changes no distance,
# and $a$ comes out squared.)
#
# Two quantities may be large together. The **covariance** $\mathrm{Cov}(X, Y) = \mathbb{E}[(X - \mu_X)(Y - \mu_Y)]$
# measures this: it is positive if they tend to be large together, and negative if one tends to be small where the other is
# large. For a random vector $\mathbf{x}$ with mean $\boldsymbol\mu$, the covariances form the matrix $\Sigma =
# \mathbb{E}[(\mathbf{x} - \boldsymbol\mu)(\mathbf{x} - \boldsymbol\mu)^\top]$:

# %%
def moments(values, p):         # values (K, d), p (K,): each row's weight
    mu = p @ values             # (d,)
    away = values - mu
    return mu, away.T @ (p[:, None] * away)  # (d, d)

# %%
values = np.array([[0, 0], [0, 1], [1, 1], [2, 3]])
counts = np.array([3, 1, 1, 5])  # how often each row was seen
mu, Sigma = moments(values, counts / counts.sum())
print(f'mean {mu[0]:.2f} and {mu[1]:.2f}')
print(Sigma)
print('numpy', *np.cov(values.T, fweights=counts, ddof=0).round(2))

# %% [markdown]
# (`np.cov` divides by $N - 1$ unless we set `ddof=0`. The mean of a sample lies closer to the sample than the true mean
# does, and on average the divisor $N - 1$ makes up for it.)
#
# From the matrix we get the variance of every weighted sum. For a fixed vector $\mathbf{v}$, by linearity,
#
# ```{math}
# :label: eq-expect-quadratic
# \mathrm{Var}(\mathbf{v}^\top \mathbf{x}) = \mathbb{E}\big[\mathbf{v}^\top (\mathbf{x} - \boldsymbol\mu) (\mathbf{x} - \boldsymbol\mu)^\top \mathbf{v}\big]
# = \mathbf{v}^\top \Sigma \, \mathbf{v} .
# ```
#
# For example, $\mathbf{v} = (1, 1)$ gives $\mathrm{Var}(X + Y) = \mathrm{Var}(X) + \mathrm{Var}(Y) + 2 \, \mathrm{Cov}(X,
# Y)$. So variances add only if the covariances vanish. They do for independent quantities, by the second half of
# {prf:ref}`thm-expect-linear`.
#
# For the hats they do not vanish. $\mathrm{Var}(X_i) = \frac1n - \frac1{n^2}$. Persons $i$ and $j$ both get their hats with
# probability $\frac{1}{n (n-1)}$, so $\mathrm{Cov}(X_i, X_j) = \frac{1}{n(n-1)} - \frac{1}{n^2} = \frac{1}{n^2 (n-1)}$.
# Each covariance is tiny, but there are $n (n - 1)$ of them:

# %%
n = 8
variances = n * (1 / n - 1 / n**2)
covariances = n * (n - 1) / (n**2 * (n - 1))
print(f'variances {variances:.3f} + covariances {covariances:.3f}'
      f' = {variances + covariances:.3f}')
print(f'measured variance: {own_hats(n, 20_000, rng).var():.3f}')

# %% [markdown]
# ### How to compute a variance
#
# $\mathbb{E}[X^2] - \mu^2$ needs only one pass over the data, but it is dangerous in floating point. If $\mu$ is much
# larger than $\sigma$, two large and nearly equal numbers are subtracted, and little but their rounding errors is left.
# Subtract the mean first. Here are numbers with variance 1.25, far from zero:

# %%
for shift in (0.0, 1e4, 1e8):
    x = np.array([1.0, 2.0, 3.0, 4.0]) + shift
    one_pass = (x**2).mean() - x.mean() ** 2
    two_passes = ((x - x.mean()) ** 2).mean()
    print(f'shifted by {shift:5.0e}: one pass {one_pass:.2f},'
          f' two passes {two_passes:.2f}')

# %% [markdown]
# ```{exercise} ★★ Program: the variance of two batches
# :label: expect-merge
# Two batches of numbers have sizes $n_1, n_2 \ge 1$, means $m_1, m_2$ and variances $v_1, v_2$ (with divisors $n_1$,
# $n_2$). The data are gone. Write `merge(n1, m1, v1, n2, m2, v2)`, which returns the mean and the variance of the union as
# a tuple. It must be accurate for means as large as $10^7$, too.
# ```

# %%
def merge(n1, m1, v1, n2, m2, v2):
    """(mean, variance) of the union: integers n, floats m and v >= 0.

    merge(1, 0.0, 0.0, 1, 2.0, 0.0) is (1.0, 1.0).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def merge_exactly(n1, m1, v1, n2, m2, v2):  # in fractions, by the second moments
    m1, v1, m2, v2 = map(Fraction, (m1, v1, m2, v2))
    mean = (n1 * m1 + n2 * m2) / (n1 + n2)
    square = (n1 * (v1 + m1**2) + n2 * (v2 + m2**2)) / (n1 + n2)
    return float(mean), float(square - mean**2)

sizes, spreads = integers(1, 90), on(0.0) | scalars(0, 9)
near = scalars(-5, 5) | scalars(-5, 5).map(lambda m: m + 1e7)
merge_cases = dict(n1=sizes, m1=near, v1=spreads, n2=sizes,
                   m2=lambda m1: on(m1) | scalars(-3, 3).map(lambda d: m1 + d), v2=spreads)
grade(merge, merge_exactly, **merge_cases)

# %% [markdown]
# ```{solution-start} expect-merge
# :class: dropdown
# ```
# Let $w = n_2 / (n_1 + n_2)$ and $\delta = m_2 - m_1$. The mean is $m_1 + w \delta$. A point of the first batch is
# $w \delta$ away from it on average, and one of the second $(1 - w) \delta$. So the variance is
# $(1 - w) (v_1 + w^2 \delta^2) + w (v_2 + (1 - w)^2 \delta^2) = (1 - w) v_1 + w v_2 + w (1 - w) \delta^2$. Merging
# again and again computes a variance in one pass, in parallel, without cancellation {cite}`chan1983algorithms`. Of the wrong answers, the
# first forgets that the batches lie apart, the second ignores their sizes, and the third subtracts large squares.

# %% jupyter={"source_hidden": true}
def merge_solution(n1, m1, v1, n2, m2, v2):
    w, gap = n2 / (n1 + n2), m2 - m1
    return m1 + w * gap, (1 - w) * v1 + w * v2 + w * (1 - w) * gap**2

def forgets_the_gap(n1, m1, v1, n2, m2, v2):
    w = n2 / (n1 + n2)
    return m1 + w * (m2 - m1), (1 - w) * v1 + w * v2

def equal_sizes(n1, m1, v1, n2, m2, v2):
    return merge_solution(1, m1, v1, 1, m2, v2)

def by_large_squares(n1, m1, v1, n2, m2, v2):
    mean = (n1 * m1 + n2 * m2) / (n1 + n2)
    return mean, (n1 * (v1 + m1**2) + n2 * (v2 + m2**2)) / (n1 + n2) - mean**2

assert grade(merge_solution, merge_exactly, **merge_cases)
assert not grade(forgets_the_gap, merge_exactly, **merge_cases)
assert not grade(equal_sizes, merge_exactly, **merge_cases)
assert not grade(by_large_squares, merge_exactly, **merge_cases)

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

# %% tags=["checks"]
def hats_spread(seed, variance, R=20_000):
    # for 4 hats or more the fourth central moment is 4, as of a Poisson
    # distribution with mean 1: the sample variance has standard error sqrt(3 / R)
    own = own_hats(8, R, np.random.default_rng(seed))
    return abs(own.var() - variance) < 5 * np.sqrt(3 / R)

verify(
    'the number of own hats has variance one',
    lambda seed: hats_spread(seed, variance=1),
    slip=(
        'forgets the covariances of the hats',
        lambda seed: hats_spread(seed, variance=1 - 1 / 8),
    ),
    seed=seeds(),
    tries=20,
)

def agrees_with_numpy(seed, ddof):
    rng = np.random.default_rng(seed)
    counts, x = rng.integers(1, 6, size=5), rng.normal(size=(5, 3))
    return close(moments(x, counts / counts.sum())[1], np.cov(x.T, fweights=counts, ddof=ddof))

verify(
    'the covariance is that of numpy with ddof=0',
    lambda seed: agrees_with_numpy(seed, 0),
    slip=('divides by N - 1', lambda seed: agrees_with_numpy(seed, 1)), seed=seeds(), tries=40,
)
x = np.array([1.0, 2.0, 3.0, 4.0]) + 1e8
assert ((x - x.mean()) ** 2).mean() == 1.25 and abs((x**2).mean() - x.mean() ** 2 - 1.25) > 0.5

# %% [markdown]
# ## Conditional expectation and total variance
#
# How much of the variation in pictures of handwritten digits is explained by *which* digit it is? To answer, we split the
# data into groups. Write $\mathbb{E}[X \mid Y = y]$ for the mean of $X$ in group $y$, and $\mathbb{E}[X \mid Y]$ for the
# random quantity that takes this value if $Y = y$. $\mathrm{Var}(X \mid Y)$ is the variance inside the group.
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
# :class: dropdown
# First, $\sum_y P(y) \sum_x x \, P(x \mid y) = \sum_x x \sum_y P(x, y) = \mathbb{E}[X]$. Second, put
# $M = \mathbb{E}[X \mid Y]$. In each group $\mathbb{E}[X^2 \mid Y] = \mathrm{Var}(X \mid Y) + M^2$. Take expectations,
# use the first law on $X^2$, and subtract $\mathbb{E}[X]^2 = \mathbb{E}[M]^2$ on both sides.
# ```
#
# So the mean of all is the mean of the group means, weighted by the sizes of the groups. The variance has two parts: how
# far the values scatter within their groups, and how far the group means are apart. The ratio of the second part to the
# total, called $R^2$, is the share of the variance that the group *explains*. We compute it for each pixel of the digits:

# %%
x, y, _ = digits()              # (1797, 64), (1797,)
share = np.bincount(y) / len(y)  # of each digit: (10,)
means = np.array([x[y == c].mean(0) for c in range(10)])  # (10, 64)
spread = np.array([x[y == c].var(0) for c in range(10)])  # (10, 64)
inside, across = share @ spread, share @ (means - x.mean(0)) ** 2

# %%
total = x.var(0)
print(f'within {inside.sum():.3f} + between {across.sum():.3f}'
      f' = total {total.sum():.3f}')
lit = total > 0                 # some pixels are always black
explained = across[lit] / total[lit]
print(f'all pixels together: {across.sum() / total.sum():.2f} explained')
print(f'best pixel: {explained.max():.2f}, worst: {explained.min():.3f}')

# %% mystnb={"image": {"alt": "Two 8 by 8 maps of pixels. The total variance is large in the middle and small at the left and right edges. The explained share exceeds one half at eleven pixels and is largest, about 0.6, at four left of the centre."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.4)
seen = show_image(left, total.reshape(8, 8), 'total variance', vmin=0, vmax=0.17, cmap='viridis')
fig.colorbar(seen, ax=left, ticks=[0, 0.08, 0.16])
drawn = np.full(64, np.nan)
drawn[lit] = explained
seen = show_image(right, drawn.reshape(8, 8), 'explained share', vmin=0, vmax=0.7, cmap='viridis')
fig.colorbar(seen, ax=right, ticks=[0, 0.35, 0.7]);

# %% [markdown] tags=["caption"]
# To know which digit is written explains 0.42 of the variance of all pixels together, and 0.61 at the best pixel. White
# pixels are never inked.

# %% [markdown]
# This is how features are selected. In scikit-learn, `f_classif` computes $F = \frac{R^2 / (K - 1)}{(1 - R^2) / (N - K)}$
# for $K$ classes and $N$ examples, and `SelectKBest` keeps the features with the largest $F$, that is, with the largest
# $R^2$.

# %%
F, _ = f_classif(x[:, lit], y)
print('best five pixels by R²:',
      np.argsort(-explained, kind='stable')[:5])
print('by scikit-learn:       ', np.argsort(-F, kind='stable')[:5])

# %% [markdown]
# Total expectation is also a way to calculate: condition on what happens first. How long do we wait for the first head, if
# each flip shows heads with probability $q$? One flip is spent. With probability $1 - q$ we are where we began. So
# $\mathbb{E}[T] = 1 + (1 - q) \, \mathbb{E}[T]$, and $\mathbb{E}[T] = 1/q$. A sum of a random *number* $N$ of terms can be
# conditioned on $N$. Let $S = X_1 + \dots + X_N$ with independent $X_i$ of mean $\mu$ and variance $\sigma^2$, and $N$
# independent of them. Given $N = n$, the sum has mean $n \mu$ and variance $n \sigma^2$, so
#
# ```{math}
# :label: eq-random-sum
# \mathbb{E}[S] = \mu \, \mathbb{E}[N] , \qquad \mathrm{Var}(S) = \sigma^2 \, \mathbb{E}[N] + \mu^2 \, \mathrm{Var}(N) .
# ```
#
# ```{exercise} ★★★ Program: waiting for a pattern
# :label: expect-pattern
# A fair coin is flipped until a pattern such as `'HTH'` has appeared. Do all patterns of one length take equally long?
# Condition on the first flips to find the expected number of flips for `'HH'` and for `'HT'`. Then find a rule and write
# `waiting(pattern)` for a string of the letters H and T, one at least. No system of equations may be solved.
# ```

# %%
def waiting(pattern):
    """The expected number of flips until the pattern has appeared.

    waiting('H') is 2.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def waiting_by_equations(pattern):  # one unknown for each number of letters that fit
    m = len(pattern)
    A, b = np.eye(m), np.ones(m)
    for i, flip in product(range(m), 'HT'):
        seen = pattern[:i] + flip
        ends = [j for j in range(len(seen) + 1)
                if pattern[:j] == seen[len(seen) - j:]]
        if max(ends) < m:
            A[i, max(ends)] -= 0.5
    return np.linalg.solve(A, b)[0]

patterns = [(word,) for word in ('H', 'HH', 'HT', 'HTH', 'HHTHH', 'TTHTH')]
letters = lists(on('H', 'T'), 1, 7).map(''.join)
no_solver = ('numpy.linalg.solve', 'numpy.linalg.inv', 'numpy.linalg.lstsq')
grade(waiting, waiting_by_equations, patterns, without=no_solver, pattern=letters)

# %% [markdown]
# ```{solution-start} expect-pattern
# :class: dropdown
# ```
# For `HT`: first wait for a head, 2 flips, then for a tail, 2 more: 4. For `HH` a tail after the head throws you back to
# the start: $h = 1 + \frac12 \cdot 0 + \frac12 s$ and $s = 1 + \frac12 h + \frac12 s$ give $s = 6$. The rule: add $2^j$ for
# every $j$ for which the first $j$ letters equal the last $j$. Why? Let a new gambler arrive before every flip and bet one
# unit on the first letter, all the winnings on the next, and so on. The game is fair, so what all gamblers have paid, one
# unit for each flip, is on average what they hold at the end (stopping a martingale makes this precise
# {cite}`li1980martingale`). And at the end someone holds $2^j$ for each $j$ for which the last $j$ letters are also the
# first $j$. The first wrong answer counts only the whole pattern, the second waits for each letter in turn, and the third
# takes every pattern for a run of equal letters.

# %% jupyter={"source_hidden": true}
def waiting_solution(pattern):
    lengths = range(1, len(pattern) + 1)
    return sum(2**j for j in lengths if pattern[:j] == pattern[-j:])

def without_overlaps(pattern):
    return 2 ** len(pattern)

def letter_after_letter(pattern):
    return 2 * len(pattern)

def as_a_run(pattern):
    return 2 ** (len(pattern) + 1) - 2

assert grade(waiting_solution, waiting_by_equations, patterns, without=no_solver, pattern=letters)
assert not grade(without_overlaps, waiting_by_equations, patterns, without=no_solver, pattern=letters)
assert not grade(letter_after_letter, waiting_by_equations, patterns, without=no_solver, pattern=letters)
assert not grade(as_a_run, waiting_by_equations, patterns, without=no_solver, pattern=letters)
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

# %% tags=["checks"]
def f_is(K):
    R2 = across[lit] / total[lit]
    return close(R2 / (K - 1) / ((1 - R2) / (len(y) - K)), F)

verify(
    'F of scikit-learn is computed from the explained share of all pixels',
    lambda K: f_is(K),
    slip=('counts one class too many', lambda K: f_is(K + 1)), K=[10],
)

# %% [markdown]
# ## Monte Carlo: averages of random draws
#
# So far we could sum over all values. Often we cannot: the expectation of a network's loss over all pictures, or an
# integral in many dimensions. Then we draw, and average:
#
# ```{math}
# :label: eq-monte-carlo
# \begin{gathered}
# \bar f_n = \frac1n \sum_{i=1}^n f(X_i) , \\
# \mathbb{E}[\bar f_n] = \mathbb{E}[f(X)] , \qquad \mathrm{Var}(\bar f_n) = \frac{\mathrm{Var}(f(X))}{n} .
# \end{gathered}
# ```
#
# This **Monte Carlo** estimate is right on average, by linearity. Its variance is $\frac{1}{n^2} \sum_i
# \mathrm{Var}(f(X_i))$, because independent draws have no covariance. So the error has the standard deviation $\sigma_f /
# \sqrt n$, called the **standard error**: ten times the accuracy costs a hundred times the draws, in every dimension. As an
# example we integrate $f(\mathbf{x}) = e^{-x_1 - \dots - x_d}$ over the unit cube, where we know the answer:

# %%
def decay(x):                   # (..., d) -> (...)
    return np.exp(-x.sum(-1))

def exactly(d):                 # mean and standard deviation of f
    mean = (1 - np.exp(-1)) ** d
    return mean, np.sqrt(((1 - np.exp(-2)) / 2) ** d - mean**2)

def rms_error(n, d, seed, R=400):  # root mean square of R errors
    x = np.random.default_rng([seed, n]).random((R, n, d))
    return np.sqrt(((decay(x).mean(1) - exactly(d)[0]) ** 2).mean())

# %%
for d in (1, 5):
    for n in (50, 3200):
        forecast = exactly(d)[1] / np.sqrt(n)
        print(f'd = {d}, n = {n:4}: error {rms_error(n, d, seed=0):.5f},'
              f' forecast {forecast:.5f}')

# %% [markdown]
# Because the standard error tends to zero, so does the probability of any fixed error. This is the **law of large
# numbers**. Moreover, the error of the mean of many draws is nearly normally distributed: the **central limit theorem**.
# Together they give an error bar for free. Estimate $\sigma_f$ by the standard deviation $s$ of the same draws. Then $\bar
# f_n \pm 1.96 \, s / \sqrt n$ contains the true value in about 95 % of all runs.
#
# All this needs a finite variance. The *Pareto* density $\frac32 x^{-5/2}$ for $x \ge 1$ has the mean 3, but no variance:
# now and then a draw is huge. The *Cauchy* density $\frac{1}{\pi (1 + x^2)}$ does not even have a mean. We count how often
# the error bar is right:

# %%
def pareto(rng, size):          # density 1.5 x^-2.5 for x >= 1
    return rng.random(size) ** (-2 / 3)

rng = np.random.default_rng(6)
for name, x, mean in (('uniform', rng.random((2000, 400)), 0.5),
                      ('Pareto', pareto(rng, (2000, 400)), 3)):
    right = abs(x.mean(1) - mean) < 1.96 * x.std(1) / np.sqrt(400)
    print(f'{name}: the error bar was right in {right.mean():.2f} of the runs')

# %%
rng = np.random.default_rng(7)
draws = {'exponential': rng.exponential(size=(2000, 1000)) - 1,
         'Pareto': pareto(rng, (2000, 1000)) - 3,
         'Cauchy': rng.standard_cauchy((2000, 1000))}
n = np.arange(1, 1001)
running = {name: x.cumsum(1) / n for name, x in draws.items()}

# %%
bands = {name: np.quantile(m, [0.05, 0.95], axis=0)
         for name, m in running.items()}
for name, (low, high) in bands.items():
    before, after = (high - low)[[99, 999]]
    print(f'{name:12} from 100 to 1000 draws, the band becomes'
          f' {before / after:.2f} times narrower')

# %% mystnb={"image": {"alt": "Three panels of running means against the number of draws. For the exponential distribution the band narrows between two curves of the form 1.64 over root n. For the Pareto distribution it narrows more slowly and lopsidedly, with jumps. For the Cauchy distribution it does not narrow at all."}} tags=["hide-input"]
fig, axes = plt.subplots(3, figsize=(6, 5.4), sharex=True)
for ax, (name, m) in zip(axes, running.items(), strict=True):
    ax.fill_between(n, *bands[name], color='C0', alpha=0.25, rasterized=True)
    ax.plot(n, m[:4].T, color='C0', lw=0.8)
    ax.axhline(0, color=GREY, lw=1)
    limit = {'exponential': 1, 'Pareto': 4, 'Cauchy': 12}[name]
    ax.set(xscale='log', ylabel='error', ylim=(-limit, limit), xlim=(1, 1000))
    ax.text(900, 0.7 * limit, name, ha='right')
for sign in (-1, 1):
    axes[0].plot(n, sign * 1.645 / np.sqrt(n), color='C1', ls='--')
axes[2].set(xlabel='number of draws n');

# %% [markdown] tags=["caption"]
# Four running means each, and the band that holds nine tenths of 2000 of them. With a variance it narrows like $1/\sqrt n$
# (dashed); with a mean but no variance, more slowly; without a mean, not at all.

# %% [markdown]
# ### Control variates and importance sampling
#
# We cannot improve on $1/\sqrt n$, but we can make $\sigma_f$ smaller. A **control variate** is a quantity $g(X)$ that
# resembles $f(X)$ and whose mean we know. Then $f - \beta \, (g - \mathbb{E}[g])$ has the mean of $f$ for every $\beta$,
# and the variance $\mathrm{Var}(f) - 2 \beta \, \mathrm{Cov}(f, g) + \beta^2 \, \mathrm{Var}(g)$. It is least for $\beta^*
# = \mathrm{Cov}(f, g) / \mathrm{Var}(g)$:
#
# ```{math}
# :label: eq-control-variate
# \mathrm{Var}\big(f - \beta^* (g - \mathbb{E}[g])\big) = (1 - \rho^2) \, \mathrm{Var}(f) ,
# \qquad \rho = \frac{\mathrm{Cov}(f, g)}{\sigma_f \, \sigma_g} .
# ```
#
# For example, let $f(U) = e^U$ for a uniform $U$, and $g(U) = U$ with the mean $\frac12$:

# %%
def control_variate(f, g, mean_g):  # draws of f and g: (n,) each
    away = g - g.mean()
    beta = (away @ f) / (away @ away)
    return f - beta * (g - mean_g)

u = np.random.default_rng(8).random(1000)
plain, helped = np.exp(u), control_variate(np.exp(u), u, 0.5)
print(f'e - 1 = {np.e - 1:.4f}')
for name, f in (('plain', plain), ('with control variate', helped)):
    print(f'{name:20}: {f.mean():.4f} ± {f.std() / np.sqrt(1000):.5f}')

# %% [markdown]
# **Importance sampling** is for rare events. How likely is a standard normal number to exceed 4? Hardly any draw does. So
# we draw from another density $q$, under which the event is common, and correct by a weight. If $q(x) > 0$ wherever $f(x)
# \, p(x) \ne 0$, then
#
# ```{math}
# :label: eq-importance
# \mathbb{E}_p[f(X)] = \int f(x) \, \frac{p(x)}{q(x)} \, q(x) \, dx = \mathbb{E}_q[f(X) \, w(X)] , \qquad w(x) = \frac{p(x)}{q(x)} .
# ```
#
# For $p = \mathcal{N}(0, 1)$ and $q = \mathcal{N}(\mu, 1)$ the weight is $w(x) = e^{\mu^2/2 - \mu x}$:

# %%
def shift_weight(x, mu):        # N(0, 1) over N(mu, 1)
    return np.exp(mu**2 / 2 - mu * x)

z = np.random.default_rng(1).normal(size=10_000)
print(f'P(Z > 4) = {norm.sf(4):.3e}')
for mu in (0, 2, 4, 6):
    f = (z + mu > 4) * shift_weight(z + mu, mu)
    print(f'drawn around {mu}: {f.mean():.3e} ± {f.std() / 100:.0e}')

# %% [markdown]
# Without a shift, not one of ten thousand draws exceeds 4, and the error bar is 0 and wrong. Around 4, the answer is right
# to about two per cent. But a badly chosen $q$ is worse than none: if $q$ is small where $f p$ is not, a few huge weights
# decide, and an experiment that has not met one of them yet looks precise.
#
# ```{exercise} ★★ Pencil: weights without a variance
# :label: expect-weights
# Draw from $q = \mathcal{N}(0, s^2)$ for a target $p = \mathcal{N}(0, 1)$. The mean of $w = p/q$ under $q$ is 1 for every
# $s > 0$. Derive $\mathbb{E}_q[w^2]$ and write it as `second_moment(s)`, with `np.inf` where it is infinite. For which $s$
# is it finite? Is it safer to propose too narrowly or too widely?
# ```

# %%
def second_moment(s):
    """The mean of the squared weight under N(0, s²): a float or np.inf.

    second_moment(1.0) is 1.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def second_moment_by_quadrature(s):
    def ratio(x):  # p²/q
        return np.exp(2 * norm.logpdf(x) - norm.logpdf(x, scale=s))
    if 2 * norm.logpdf(99) - norm.logpdf(99, scale=s) > 2 * norm.logpdf(0) - norm.logpdf(0, scale=s):
        return np.inf  # it grows
    return 2 * quad(ratio, 0, 400, limit=400, points=(1, 5, 25, 100))[0]

away = scalars(0.3, 5).filter(lambda s: abs(2 * s**2 - 1) > 0.004)
weight_cases = dict(s=on(1.0, 0.7, 0.71, 0.708, 0.706, 2.0) | away)
grade(second_moment, second_moment_by_quadrature, tries=40, rtol=1e-5, **weight_cases)

# %% [markdown]
# ```{solution-start} expect-weights
# :class: dropdown
# ```
# $\mathbb{E}_q[w^2] = \int p^2 / q = \frac{s}{\sqrt{2\pi}} \int e^{-x^2 (1 - 1/(2 s^2))} \, dx = \frac{s}{\sqrt{2 -
# 1/s^2}}$ if $2 s^2 > 1$, and infinite otherwise. Too wide costs a factor that grows like $s$; too narrow, below $s =
# 1/\sqrt2$, costs everything. The first wrong answer exchanges $p$ and $q$, the second takes every $s$ below 1 for too
# narrow, and the third forgets that the integral can diverge.

# %% jupyter={"source_hidden": true}
def second_moment_solution(s):
    return s / np.sqrt(2 - 1 / s**2) if 2 * s**2 > 1 else np.inf

def roles_exchanged(s):
    return 1 / (s * np.sqrt(2 - s**2)) if s**2 < 2 else np.inf

def finite_from_one(s):
    return s / np.sqrt(2 - 1 / s**2) if s >= 1 else np.inf

def always_finite(s):
    return s / np.sqrt(abs(2 - 1 / s**2))

assert grade(second_moment_solution, second_moment_by_quadrature, tries=40, rtol=1e-5, **weight_cases)
assert not grade(roles_exchanged, second_moment_by_quadrature, tries=40, rtol=1e-5, **weight_cases)
assert not grade(finite_from_one, second_moment_by_quadrature, tries=40, rtol=1e-5, **weight_cases)
assert not grade(always_finite, second_moment_by_quadrature, tries=40, rtol=1e-5, **weight_cases)
for s in (0.6, 0.75, 1.5, 5):
    print(f's = {s}: second moment {second_moment_solution(s):.2f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: which averages settle?
# :label: expect-bands
# Average 20 draws, and then 2000 draws, of each of four distributions. How many times narrower does the band become that
# holds nine tenths of all such averages? Predict it: return a dict with the keys `'A'`, $1/\sqrt[3]{U}$ for a uniform $U$
# in $(0, 1)$, `'B'`, $1/\sqrt[3]{U^2}$, `'C'`, a Cauchy number, and `'D'`, a Cauchy number clipped to $[-10^5, 10^5]$. Each
# value is 10, 5 or 1, whichever is nearest. Then measure. What surprises you about D?
# ```

# %%
def predicted_factors():
    """A dict with the keys 'A' to 'D', each value 10, 5 or 1."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
laws = {'A': lambda rng, size: rng.random(size) ** (-1 / 3),
        'B': lambda rng, size: rng.random(size) ** (-2 / 3),
        'C': lambda rng, size: rng.standard_cauchy(size),
        'D': lambda rng, size: np.clip(rng.standard_cauchy(size), -1e5, 1e5)}

def band_factor(letter):
    rng = np.random.default_rng(0)
    averages = [laws[letter](rng, (400, n)).mean(1) for n in (20, 2000)]
    widths = [np.subtract(*np.quantile(m, [0.95, 0.05])) for m in averages]
    return widths[0] / widths[1]

def is_measured(factors):
    if sorted(factors) != sorted(laws) or not set(factors.values()) <= {10, 5, 1}:
        raise ValueError('give 10, 5 or 1 for each of the letters A, B, C and D')
    for letter, said in factors.items():
        factor = band_factor(letter)
        if said != min((10, 5, 1), key=lambda k: abs(np.log(k / factor))):
            raise ValueError(f'{letter} is measured otherwise; try it')
    return True

grade(lambda: is_measured(predicted_factors()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} expect-bands
# :class: dropdown
# ```
# A has a variance ($3x^{-4}$ is its density), so the factor is near $\sqrt{100} = 10$. B is the Pareto density of the text:
# the factor is about $100^{1/3} \approx 4.6$. The average of Cauchy numbers is a Cauchy number again, whatever their
# number. D has a variance, but an enormous one, which comes from draws so rare that even 2000 hardly ever contain one: the
# theory of $1/\sqrt n$ holds, but only for much larger $n$. The wrong answers take B for as good as A, C for as good as B,
# and D for as good as A.

# %% jupyter={"source_hidden": true}
measured = {letter: band_factor(letter) for letter in laws}
print({letter: float(round(factor, 1)) for letter, factor in measured.items()})
answer = {'A': 10, 'B': 5, 'C': 1, 'D': 1}
assert grade(lambda: is_measured(answer), lambda: True, [()])
assert not grade(lambda: is_measured(answer | {'B': 10}), lambda: True, [()])  # has a mean, so all is well
assert not grade(lambda: is_measured(answer | {'C': 5}), lambda: True, [()])  # averaging helps a little always
assert not grade(lambda: is_measured(answer | {'D': 10}), lambda: True, [()])  # has a variance

# %% [markdown]
# ```{solution-end}
# ```

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
        'expects averaging to narrow a Cauchy distribution',
        lambda n, seed: like_one_draw(n, seed, power=1 / 2),
    ),
    n=[3, 400],
    seed=seeds(),
    tries=10,
)

# %% tags=["checks"]
def shrinks(name, factor):  # quantiles of 2000 runs are uncertain by about 5 %
    before, after = (bands[name][1] - bands[name][0])[[99, 999]]
    return bool(0.8 < before / after / factor < 1.25)

verify(
    'from 100 to 1000 draws the bands shrink by about 3.2, 2.2 and 1',
    lambda name: shrinks(name, {'exponential': 10**0.5, 'Pareto': 10 ** (1 / 3), 'Cauchy': 1}[name]),
    slip=('expects the root of n of each', lambda name: shrinks(name, 10**0.5)), name=[*draws],
)

# %% tags=["checks"]
def leftover(c, seed, share, n=4000):  # of the variance of exp(c U)
    u = np.random.default_rng(seed).random(n)
    f = np.exp(c * u)
    rho = np.corrcoef(f, u)[0, 1]
    return close(control_variate(f, u, 0.5).var() / f.var(), share(rho))

verify(
    'a control variate leaves 1 - ρ² of the variance',
    lambda c, seed: leftover(c, seed, lambda rho: 1 - rho**2),
    slip=(
        'forgets the square of the correlation',
        lambda c, seed: leftover(c, seed, lambda rho: 1 - abs(rho)),
    ),
    c=[-2, 1, 3],
    seed=seeds(),
    tries=30,
)

def right_mean(c, seed, mean_g, R=400, n=100):  # the fitted β biases by about 1/n of a deviation
    u = np.random.default_rng(seed).random((R, n))
    found = [control_variate(np.exp(c * row), row, mean_g).mean() for row in u]
    return abs(np.mean(found) - np.expm1(c) / c) < 6 * np.std(found) / np.sqrt(R)

verify(
    'a control variate keeps the mean',
    lambda c, seed: right_mean(c, seed, 0.5),
    slip=('takes the known mean for zero', lambda c, seed: right_mean(c, seed, 0)), c=[-2, 1, 3], seed=seeds(), tries=20,
)

# %% tags=["checks"]
def upside_down(x, mu):
    return 1 / shift_weight(x, mu)

def shift_sd(a, mu):  # of a single draw: E_q[f w²] = exp(μ²) Φ(-a - μ)
    return np.sqrt(np.exp(mu**2) * norm.sf(a + mu) - norm.sf(a) ** 2)

def as_predicted(a, mu, seed, weight, R=2000, n=500):
    x = mu + np.random.default_rng(seed).normal(size=(R, n))
    found = ((x > a) * weight(x, mu)).mean(1)
    sd = shift_sd(a, mu) / np.sqrt(n)
    near = abs(found.mean() - norm.sf(a)) < 5 * sd / np.sqrt(R)
    return near and abs(found.std() / sd - 1) < 5 / np.sqrt(2 * R)

verify(
    'importance sampling has the right mean and predicted spread',
    lambda **case: as_predicted(weight=shift_weight, **case),
    slip=(
        'turns the weight upside down',
        lambda **case: as_predicted(weight=upside_down, **case),
    ),
    a=[2, 3, 4],
    mu=[2.5, 3, 4],
    seed=[0, 1, 2],
    tries=12,
)
verify(
    'the weight is a ratio of densities',
    lambda x, mu: close(shift_weight(x, mu), norm.pdf(x) / norm.pdf(x, mu)),
    slip=('turns the weight upside down', lambda x, mu: close(upside_down(x, mu), norm.pdf(x) / norm.pdf(x, mu))),
    x=scalars(-3, 3), mu=scalars(-3, 3), tries=40,
)
assert not (z > 4).any()

# %% [markdown]
# ## Summary
#
# Expectation is linear even for dependent quantities. Variances add up only without covariance, and a variance splits into
# a part within groups and a part between them. The mean of $n$ independent draws has the standard error $\sigma / \sqrt n$
# in every dimension, provided that there is a variance, and control variates and importance sampling make $\sigma$ smaller.
#
# **Further reading.** {cite}`blitzstein2019introduction` teaches indicators and conditioning with a hundred stories;
# {cite}`owen2013monte` is the book on Monte Carlo; {cite}`chan1983algorithms` analyse how to compute a variance, and
# {cite}`higham2002accuracy` rounding in general.
