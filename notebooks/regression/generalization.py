# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Generalization
#
# - **Question.** A model is good on the examples it was fitted to. How good will it be on others, and how would you know
#   without having them?
# - **You need** [linear regression](linear_regression.ipynb), [least squares](least_squares.ipynb),
#   [expectations](../probability/expectations.ipynb) and
#   [Hoeffding's inequality](../probability/concentration.ipynb).
# - **You build** worlds in which the true risk is a number that you can compute, two laws for the distance between it and
#   the training error, and the U-shaped curve of model complexity in closed form.
# - **Time** 8 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %%
import matplotlib.pyplot as plt
import numpy as np
from numpy.linalg import lstsq, norm
from scipy.integrate import dblquad, quad
from scipy.optimize import brentq
from scipy.special import ndtr, owens_t
from scipy.stats import binom, ks_2samp
from scipy.stats import norm as gauss
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error, zero_one_loss
from sklearn.model_selection import learning_curve

from nbutils.cases import integers, scalars, seeds, vectors
from nbutils.checks import close, erratum, grade, holds, verify
from nbutils.data import diabetes
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## What we want, and what we have
#
# A model $f$ is made for examples that nobody has seen yet. Suppose that they come from a distribution $\mathcal{D}$ with
# density $p(\mathbf{x}, y)$, and that $\ell(y, f(\mathbf{x}))$ is the loss on one of them. What one pays per example in
# the long run is the *risk*, or *generalization error*:
#
# ```{math}
# :label: ml.ms.generalization.def
# L_{\mathcal{D}}(f) = \mathbb{E}_{(\mathbf{x}, y) \sim \mathcal{D}} \big[ \ell(y, f(\mathbf{x})) \big] .
# ```
#
# The first set of notes writes $R$ for it, as an expectation and as an integral:
#
# ```{math}
# :label: dl.train-gen-error.risk
# R[p, f] = \mathbb{E}_{(\mathbf{x}, y) \sim P} \big[ l(\mathbf{x}, y, f(\mathbf{x})) \big]
# ```
#
# ```{math}
# :label: dl.train-gen-error.risk-int
# R[p, f] = \iint l(\mathbf{x}, y, f(\mathbf{x})) \, p(\mathbf{x}, y) \, d\mathbf{x} \, dy .
# ```
#
# (In print the bracket of {eq}`dl.train-gen-error.risk` has slipped into the subscript.) To watch it we need a world
# whose density is known: $x \sim \mathcal{N}(0, 1)$ and $y = 2x + e$ with $e \sim \mathcal{N}(0, s^2)$, $s = 0.7$.
# For a line $f(x) = ax + b$ and the squared loss, $y - f(x) = (2 - a)x - b + e$ is a sum of uncorrelated terms, so
#
# ```{math}
# :label: gen-toy-risk
# L_{\mathcal{D}}(f) = (2 - a)^2 + b^2 + s^2 .
# ```
#
# Three slips are the controls: an integral in which $x$ and $y$ have lost each other, $p(x)\,p(y)$; the loss *of the
# averages* for the average loss; and, for a classifier that says "positive" where $x > t$ while the true label is the
# sign of $y$, a count of how *many* are called positive, in which errors to both sides cancel.

# %%
s = 0.7

def draw(rng, size):
    x = rng.normal(size=size)
    return x, 2 * x + rng.normal(0, s, size)

def phi(t):  # the standard normal density
    return np.exp(-t**2 / 2) / np.sqrt(2 * np.pi)

def density(x, y):
    return phi(x) * phi((y - 2 * x) / s) / s

def unpaired(x, y):
    return phi(x) * phi(y / np.hypot(2, s)) / np.hypot(2, s)

def squared(y, guess):
    return (y - guess) ** 2

def risk(f, loss, density):  # the double integral, as a sum on a grid
    x, y = np.meshgrid(np.arange(-9, 9, 0.1), np.arange(-25, 25, 0.1))
    return (loss(y, f(x)) * density(x, y)).sum() * 0.1**2

by_scipy = dblquad(lambda y, x: squared(y, 1.5 * x + 1) * density(x, y),
                   -7, 7, -20, 20, epsabs=1e-6)[0]
assert close(risk(lambda x: 1.5 * x + 1, squared, density), by_scipy)

# %%
def wrong(t):  # risk of 'positive where x > t' under the 0-1 loss
    missed = quad(lambda x: phi(x) * ndtr(2 * x / s), -9, t)[0]
    false = quad(lambda x: phi(x) * ndtr(-2 * x / s), t, 9)[0]
    return missed + false

def count_off(t):  # difference of the shares called positive
    return abs(ndtr(t) - 0.5)

def near_frequency(seed, t, risk, R=4000):
    x, y = draw(np.random.default_rng(seed), R)
    share = ((x > t) != (y > 0)).mean()
    return abs(share - risk(t)) < 5 * np.sqrt(0.25 / R)

for t in (-1, 0, 0.3):  # in closed form, by Owen's function
    assert close(wrong(t), 0.5 - 2 * owens_t(t, 2 / s))

# %%
def loss_of_averages(x, y, f):
    return squared(y.mean(), f(x.mean()))

def average_loss(x, y, f):
    return squared(y, f(x)).mean()

def near_risk(seed, a, b, average, R=4000):
    x, y = draw(np.random.default_rng(seed), R)
    f = lambda x: a * x + b
    error = squared(y, f(x)).std() / np.sqrt(R)
    return abs(average(x, y, f) - ((2 - a)**2 + b**2 + s**2)) < 5 * error

def integral_is(a, b, density):
    want = (2 - a) ** 2 + b**2 + s**2
    return close(risk(lambda x: a * x + b, squared, density), want)

# %% tags=["hide-input"]
lines = dict(a=scalars(-3, 3), b=scalars(-3, 3))
holds('dl.train-gen-error.risk-int',
      lambda a, b: integral_is(a, b, density),
      control=lambda a, b: integral_is(a, b, unpaired), **lines, tries=15)
holds('dl.train-gen-error.risk',
      lambda seed, a, b: near_risk(seed, a, b, average_loss),
      control=lambda seed, a, b: near_risk(seed, a, b, loss_of_averages),
      seed=seeds(), **lines)
holds('ml.ms.generalization.def',
      lambda seed, t: near_frequency(seed, t, wrong),
      control=lambda seed, t: near_frequency(seed, t, count_off),
      seed=seeds(), t=scalars(-2, 2), tries=60)

# %% [markdown]
# What we have instead of $\mathcal{D}$ is a sample $S$ of $n$ examples. The *empirical risk* is the average loss over it,
#
# ```{math}
# :label: ml.ms.empirical.def
# L_S(f) = \frac{1}{|S|} \sum_{(\mathbf{x}, y) \in S} \ell(y, f(\mathbf{x})) ,
# ```
#
# or
#
# ```{math}
# :label: dl.train-gen-error.remp
# R_{\text{emp}}[\mathbf{X}, \mathbf{y}, f] = \frac1n \sum_{i=1}^n l(\mathbf{x}^{(i)}, y^{(i)}, f(\mathbf{x}^{(i)})) .
# ```
#
# In print this ends in $f(\mathbf{x})^{(i)}$, but there is no $\mathbf{x}$ without an index to
# put in. (The control puts in the mean.) And $S$, though called a set, is a list: an example drawn
# twice counts twice. (The control lets twins collapse, as sets do.) On the sample that $f$ was fitted to, $L_S(f)$ is the
# *training error*.
#
# The empirical risk is a *statistic*, a function of the data alone: two worlds that happen to yield the same data give
# the same number. The risk is a function of the world alone. Their difference, which we would like to know, needs both;
# it is the control.

# %%
def empirical_risk(f, x, y, loss):
    return loss(y, f(x)).mean()

def one_by_one(x, y, f):
    return sum((y_i - f(x_i)) ** 2 for x_i, y_i in zip(x, y)) / len(x)

def at_the_mean(x, y, f):
    return sum((y_i - f(x.mean())) ** 2 for y_i in y) / len(x)

def zero_one(y, guess):
    return (y != guess) * 1.0

def as_a_set(x, y, f):
    pairs = np.unique(np.stack([x, y]), axis=1)  # (2, at most n)
    return empirical_risk(f, *pairs, zero_one)

# %%
def gap_to(slope):  # in the world y = slope x + e
    return lambda x, y, a: average_loss(x, y, lambda x: a * x) - (
        (slope - a) ** 2 + s**2)

def no_world(slope):
    return lambda x, y, a: average_loss(x, y, lambda x: a * x)

def is_statistic(seed, a, measure):
    rng = np.random.default_rng(seed)
    (x, y), other = draw(rng, 10), draw(rng, 10)
    here, elsewhere = measure(2)(x, y, a), measure(3)(x, y, a)
    return here == elsewhere and here != measure(2)(*other, a)

# %% tags=["hide-input"]
halves = lambda x: 0.5 * x + 1
holds('dl.train-gen-error.remp',
      lambda x, y: close(empirical_risk(halves, x, y, squared),
                         one_by_one(x, y, halves))
      and close(one_by_one(x, y, halves), mean_squared_error(y, halves(x))),
      control=lambda x, y: close(at_the_mean(x, y, halves),
                                 mean_squared_error(y, halves(x))),
      x=vectors(4), y=vectors(4), tries=100)
holds('ml.ms.empirical.def',
      lambda x, y: close(empirical_risk(np.sign, x, y, zero_one),
                         zero_one_loss(y, np.sign(x))),
      control=lambda x, y: close(as_a_set(x, y, np.sign),
                                 zero_one_loss(y, np.sign(x))),
      x=vectors(5).map(np.round), y=vectors(5).map(np.sign), tries=40)
holds('dl.train-gen-error.remp-stat',
      lambda seed, a: is_statistic(seed, a, no_world),
      control=lambda seed, a: is_statistic(seed, a, gap_to),
      seed=seeds(), a=scalars(-3, 3))

# %% [markdown]
# What ties data to the world is the assumption that training and test examples are *i.i.d.*: all from the *same*
# distribution, and all *independent*. Both halves can break, and only one of the fractures shows. The
# Kolmogorov–Smirnov test, which compares two samples, should cry out in one of twenty cases at level 5 %. If the inputs
# of the test sample are shifted by one standard deviation, it nearly always does: the control. If the test sample is a
# *copy* of the training sample, the test is content; but the score of a model that memorizes is then worthless.

# %%
def fair(rng):
    return draw(rng, 40), draw(rng, 40)

def shifted(rng):
    x, y = draw(rng, 40)
    return draw(rng, 40), (x + 1, y + 2)  # the line is the same

def copied(rng):
    train = draw(rng, 40)
    return train, train

# %%
def nearest(x, y, x_new):  # the label of the nearest example
    return y[abs(x_new[:, None] - x).argmin(axis=1)]

def alarms(seed, split, R=100):
    rng = np.random.default_rng(seed)
    pairs = (split(rng) for _ in range(R))
    rejected = [ks_2samp(train[0], test[0], method='asymp').pvalue < 0.05
                for train, test in pairs]
    return np.mean(rejected)

def test_score(split):  # of the memorizer
    (x, y), (x_new, y_new) = split(np.random.default_rng(0))
    return squared(y_new, nearest(x, y, x_new)).mean()

band = 5 * np.sqrt(0.05 * 0.95 / 100)
holds('dl.train-gen-error.iid',
      lambda seed: alarms(seed, fair) < 0.05 + band,
      control=lambda seed: alarms(seed, shifted) < 0.05 + band,
      seed=[0, 1, 2])
assert alarms(0, copied) == 0 == test_score(copied) < 0.5 < test_score(fair)
print(f'alarms in 100 splits: {100 * alarms(0, fair):.0f} if fair, '
      f'{100 * alarms(0, shifted):.0f} if shifted')
print(f'loss of the memorizer: {test_score(fair):.2f} on a fair test sample, '
      'none on a copy')

# %% [markdown]
# ### A fixed model is measured fairly
#
# The notes call $L_S(f)$ an unbiased estimator of the true error, which converges to it by the law of large numbers,
# "but fluctuations". They leave out the hypothesis on which all of this hangs: $f$ must not depend on $S$.
#
# ````{prf:theorem} A fixed model
# :label: thm-gen-fixed
# Let $S$ be $n$ independent examples from $\mathcal{D}$, and $f$ chosen independently of $S$, with finite expected loss.
# Then
#
# ```{math}
# :label: ml.ms.empirical.unbiased
# \mathbb{E}_S\big[ L_S(f) \big] = L_{\mathcal{D}}(f) ,
# ```
#
# ```{math}
# :label: ml.ms.empirical.lln
# L_S(f) \to L_{\mathcal{D}}(f) \quad (|S| \to \infty, \text{ almost surely}).
# ```
#
# If the loss has variance $\tau^2 < \infty$, the fluctuation $L_S(f) - L_{\mathcal{D}}(f)$ has standard deviation
# $\tau / \sqrt n$.
# ````
#
# ````{prf:proof}
# With $f$ fixed, the losses $\ell_i = \ell(y_i, f(\mathbf{x}_i))$ are independent draws of one random variable with
# mean $L_{\mathcal{D}}(f)$. Their average has that mean, converges by the strong law, and has variance $\tau^2/n$. If
# $f$ is itself random but independent of $S$ (fitted to other data, say), all this holds given $f$.
# ````
#
# If $f$ was fitted to $S$ the proof breaks at its first line. Two such rivals are the controls: the slope fitted to $S$,
# and the *memorizer*, which answers with the label of the nearest example of $S$. On $S$ itself it has loss zero for every
# $n$, so that its gap is its whole risk, which never falls below $2s^2$. For the fixed line the root mean square of the gap
# must fall with slope $-\frac12$ in logarithmic scale, in a band of five standard errors. (The losses are multiples of
# $\chi^2_1$ variables, so an average of $n$ has kurtosis $3 + 12/n$.)

# %%
def fixed(rng, x, y):  # 1000 samples in rows -> gaps L_S - L_D, (1000,)
    return ((y - 1.5 * x) ** 2).mean(axis=1) - (0.25 + s**2)

def fitted(rng, x, y):
    a = (x * y).sum(axis=1) / (x**2).sum(axis=1)  # (1000,)
    train = ((y - a[:, None] * x) ** 2).mean(axis=1)
    return train - ((2 - a) ** 2 + s**2)

def memorizer(rng, x, y):  # training error 0; risk from five new examples
    x_new, y_new = draw(rng, (len(x), 5))
    near = abs(x_new[:, :, None] - x[:, None]).argmin(axis=2)  # (1000, 5)
    guess = np.take_along_axis(y, near, axis=1)
    return -((y_new - guess) ** 2).mean(axis=1)

def gaps(method, n, seed):
    rng = np.random.default_rng([seed, n])
    return method(rng, *draw(rng, (1000, n)))

# %%
def is_fair(method, n, seed):
    gap = gaps(method, n, seed)
    return abs(gap.mean()) < 5 * gap.std() / np.sqrt(len(gap))

def rms_slope(method, seed):
    few, many = ((gaps(method, n, seed) ** 2).mean() for n in (16, 400))
    return np.log(many / few) / 2 / np.log(400 / 16)

relative = [np.sqrt((2 + 12 / n) / 1000) / 2 for n in (16, 400)]
band = 5 * norm(relative) / np.log(400 / 16)
holds('ml.ms.empirical.unbiased',
      lambda n, seed: is_fair(fixed, n, seed),
      control=lambda n, seed: is_fair(fitted, n, seed),
      n=[8, 20], seed=seeds(), tries=60)
holds('ml.ms.empirical.lln',
      lambda seed: abs(rms_slope(fixed, seed) + 1 / 2) < band,
      control=lambda seed: abs(rms_slope(memorizer, seed) + 1 / 2) < band,
      seed=[0, 1, 2])

# %% [markdown]
# How improbable are large fluctuations? *Given a model $f$, a test set $S_{\text{test}}$,
# i.i.d. from $\mathcal{D}$ and not used to learn $f$, and a loss in $[a, b]$*, say the notes, and break off. What
# belongs there is [Hoeffding's inequality](../probability/concentration.ipynb), solved for the radius: for
# every $0 < \delta < 1$
#
# ```{math}
# :label: ml.ms.gap.claim
# \Pr\bigg[ \big| L_{\mathcal{D}}(f) - L_{S_{\text{test}}}(f) \big| \ge
# \sqrt{\frac{(b - a)^2 \ln(2/\delta)}{2\,|S_{\text{test}}|}} \, \bigg] \le \delta .
# ```
#
# For losses that are either $a$ or $b$ the left side is exact, two binomial tails. The control forgets the square at
# the range.

# %%
def gap_bound(N, delta, a=0, b=1):
    return (b - a) * np.sqrt(np.log(2 / delta) / (2 * N))

def exceeded(N, p, eps):  # exact Pr[|share - p| >= eps]
    k = np.arange(N + 1)
    return binom.pmf(k, N, p)[abs(k / N - p) >= eps].sum()

def kept(N, p, delta, a, width, power):
    eps = gap_bound(N, delta, a, a + width**power)
    return exceeded(N, p, eps / width) <= delta

holds('ml.ms.gap.claim',
      lambda **case: kept(**case, power=1),
      control=lambda **case: kept(**case, power=1 / 2),
      N=integers(1, 200), p=scalars(0.05, 0.95), delta=[0.9, 0.5, 0.01, 1e-6],
      a=scalars(-3, 3), width=[0.5, 1, 4])

# %% [markdown]
# On the right below are samples of 20, the 0–1 loss, and the classifier "positive where $x > t$". With $t = 0.3$ fixed,
# the gap is centred at zero. With $t$ chosen among 41 thresholds for fewest errors on the sample, the histogram moves
# to the left, and the promise {eq}`ml.ms.gap.claim` is not made for it.

# %%
x, y = draw(np.random.default_rng(6), (4000, 20))
thresholds = np.linspace(-2, 2, 41)
still = abs(thresholds - 0.3).argmin()
risks = 0.5 - 2 * owens_t(thresholds, 2 / s)  # (41,)
errors = ((x[..., None] > thresholds) != (y[..., None] > 0)).mean(axis=1)
assert (abs(errors.mean(axis=0) - risks) < 5 * np.sqrt(0.25 / x.size)).all()
gap_fixed = errors[:, still] - risks[still]
gap_best = errors.min(axis=1) - risks[errors.argmin(axis=1)]
assert abs(gap_fixed.mean()) < 5 * gap_fixed.std() / np.sqrt(4000)
print(f'mean gap: t chosen on the sample {gap_best.mean():+.3f}, '
      f'{np.mean(gap_best < 0):.3f} of all below zero')

# %%
sizes = np.unique(np.geomspace(5, 5000, 120).astype(int))
x, y = draw(np.random.default_rng(7), (8, 5000))
running = (squared(y, 1.5 * x).cumsum(axis=1) / np.arange(1, 5001))
running, level = running[:, sizes - 1], 0.5**2 + s**2
spread = level * np.sqrt(2 / sizes)  # losses are level times chi-squared
assert (abs(running - level) < 5 * spread).all()

# %% mystnb={"figure": {"caption": "Left: the empirical risk of a fixed line closes in on its risk like $1/\\sqrt{n}$. Right: a threshold $t$ chosen on the same 20 examples looks better than it is."}, "image": {"alt": "Left: empirical risks of one fixed line along eight growing samples close in on its risk, inside a band that narrows like one over root n. Right: histograms of the gap for samples of 20. For a fixed threshold it is centred at zero, and nearly all samples are inside the Hoeffding interval; for the threshold chosen on the sample it lies to the left."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
left.fill_between(sizes, level - 2 * spread, level + 2 * spread, color='C1',
                  alpha=0.2)
left.plot(sizes, running.T, color='C0', lw=0.9)
left.axhline(level, color='C1')
left.set(xscale='log', ylim=(0, 1.8), xlabel='sample size n',
         ylabel='$L_S(f)$', title='One line, eight samples')
eps = gap_bound(20, 0.05)
right.axvspan(-eps, eps, color=GREY, alpha=0.15)
bins = np.arange(-0.425, 0.4, 0.05)
right.hist(gap_fixed, bins, alpha=0.5, label='t fixed')
right.hist(gap_best, bins, alpha=0.5, label='t chosen')
right.set(xlabel='$L_S(f) - L_D(f)$', ylabel='samples', xlim=(-0.42, 0.42),
          title='Shaded: bound for n = 20, δ = 0.05')
right.legend();

# %% [markdown]
# ```{exercise} ★ A model moves house
# :label: generalization-moves
# The line $f(x) = ax + b$ is used where inputs have mean $m$ and variance $v$; labels are still $y = 2x + e$ with $e$ of
# variance $s^2 = 0.7^2 = 0.49$. Give its risk there under the squared loss, `risk_elsewhere(a, b, m, v)`.
# ```

# %%
def risk_elsewhere(a, b, m, v):
    raise NotImplementedError('your turn')

# %%
def by_integration(a, b, m, v):
    law = lambda x, y: gauss.pdf(x, m, v**0.5) * gauss.pdf(y, 2 * x, s)
    return risk(lambda x: a * x + b, squared, law)

houses = [(2.0, 0.0, 1.0, 0.5), (1.0, 0.5, 2.0, 1.0), (1.5, -1.0, -1.0, 0.8)]
grade(risk_elsewhere, by_integration, houses)

# %% [markdown]
# ```{solution-start} generalization-moves
# :class: dropdown
# ```
# The error is $(2 - a)x - b + e$. Its mean is $(2 - a)m - b$, its variance $(2 - a)^2 v + s^2$, and a mean square is the
# squared mean plus the variance. Only lines with the true slope, $a = 2$, have the same risk everywhere, $b^2 + s^2$.
# Adding up the terms of {eq}`gen-toy-risk` with $m^2 + v$ for 1 forgets the product $-2(2 - a)mb$.

# %% jupyter={"source_hidden": true}
def risk_elsewhere_solution(a, b, m, v):
    return ((2 - a) * m - b) ** 2 + (2 - a) ** 2 * v + s**2

def product_forgotten(a, b, m, v):
    return (2 - a) ** 2 * (m**2 + v) + b**2 + s**2

assert grade(risk_elsewhere_solution, by_integration, houses)
assert not grade(product_forgotten, by_integration, houses)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## A fitted model flatters itself
#
# A suit fits the person that it was cut for better than others. How much better? First, a theorem that assumes nothing
# about the class of models, the loss, or the world.
#
# ````{prf:theorem} Training error is too low, and rises
# :label: thm-gen-flattery
# Let $\mathcal{F}$ be any class of models, $S_n$ a sample of $n$ independent examples, and $f_n$ minimize $L_{S_n}$ over
# $\mathcal{F}$; suppose that the minima and expectations below exist. Then
#
# $$ \mathbb{E}\big[L_{S_n}(f_n)\big] \le \mathbb{E}\big[L_{S_{n+1}}(f_{n+1})\big] \le
# \min_{f \in \mathcal{F}} L_{\mathcal{D}}(f) \le \mathbb{E}\big[L_{\mathcal{D}}(f_n)\big] . $$
# ````
#
# ````{prf:proof}
# Let $f^*$ have the least risk in $\mathcal{F}$. It is fixed, and $f_n$ does better on $S_n$: $L_{S_n}(f_n) \le
# L_{S_n}(f^*)$, whose expectation is $L_{\mathcal{D}}(f^*)$ by {prf:ref}`thm-gen-fixed`, for every $n$. The last
# inequality is the definition of $f^*$. For the first, leave out one of $n + 1$ examples at a time. In the average
#
# $$ L_{S_{n+1}}(f) = \frac{1}{n+1} \sum_{i=1}^{n+1} L_{S_{n+1} \setminus i}(f) $$
#
# every example appears $n$ times. At $f = f_{n+1}$ each term on the right is at least its own minimum. So the least
# value for $n + 1$ examples is at least the average of $n + 1$ least values for $n$, each of which has the expectation
# $\mathbb{E}[L_{S_n}(f_n)]$.
# ````
#
# On average, training error is below even the risk of the best model in the
# class, and creeps up from there. The risk is less orderly: it need not fall
# with every further example {cite}`loog2019minimizers`. The leaving-out inequality holds for every single sample; the
# control takes the errors on the examples left out, which are too large instead.

# %%
def best_fit(X, y):  # (n, p), (n,) -> weights, training error
    w = lstsq(X, y, rcond=None)[0]
    return w, ((y - X @ w) ** 2).mean()

def averages(seed):  # least errors for n, left-out errors, least for n + 1
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(9, 3)), rng.normal(size=9)
    without = [best_fit(np.delete(X, i, 0), np.delete(y, i))
               for i in range(9)]
    left_out = [(y[i] - X[i] @ w) ** 2 for i, (w, _) in enumerate(without)]
    least = np.mean([error for _, error in without])
    return least, np.mean(left_out), best_fit(X, y)[1]

def rises(seed, which):
    got = averages(seed)
    return got[which] < got[2]

verify('least training errors rise with n, on average',
       lambda seed: rises(seed, 0), control=lambda seed: rises(seed, 1),
       seed=seeds(), tries=40)

# %% [markdown]
# For least squares in a Gaussian world everything can be computed. Let $y = \mathbf{w}^\top\mathbf{x} + e$ with
# $\mathbf{x} \sim \mathcal{N}(\mathbf{0}, \boldsymbol\Sigma)$ of $p$ features and independent noise $e \sim
# \mathcal{N}(0, \sigma^2)$; no bias is fitted. ([Ridge regression](ridge_regression.ipynb) told the flattery for
# *fixed* inputs; here new examples come with new inputs.)
#
# ````{prf:theorem} Both sides of the risk
# :label: thm-gen-exact
# For $n > p + 1$ examples and invertible $\boldsymbol\Sigma$ the least-squares weights $\mathbf{w}_S$ have
#
# ```{math}
# :label: gen-exact
# \mathbb{E}\big[L_S(\mathbf{w}_S)\big] = \sigma^2 \Big( 1 - \frac{p}{n} \Big) , \qquad
# \mathbb{E}\big[L_{\mathcal{D}}(\mathbf{w}_S)\big] = \sigma^2 \, \frac{n - 1}{n - p - 1} .
# ```
# ````
#
# ````{prf:proof}
# *Training.* The residual is the noise $\mathbf{e} \in \mathbb{R}^n$, projected on the orthogonal complement of the $p$
# columns of $\mathbf{X}$. In $n - p$ directions out of $n$ it keeps its variance, in $p$ nothing is left.
#
# *Risk.* If $\mathbf{x}$ is replaced by $\boldsymbol\Sigma^{-1/2}\mathbf{x}$, least squares makes the same predictions;
# so let $\boldsymbol\Sigma = \mathbf{I}$. Then $\mathbf{d} = \mathbf{w}_S - \mathbf{w} =
# (\mathbf{X}^\top\mathbf{X})^{-1}\mathbf{X}^\top\mathbf{e}$ and, for a new example, $L_{\mathcal{D}}(\mathbf{w}_S) =
# \sigma^2 + \|\mathbf{d}\|^2$. Given $\mathbf{X}$, the covariance of $\mathbf{d}$ is
# $\sigma^2(\mathbf{X}^\top\mathbf{X})^{-1}$, so it remains to find the expected diagonal entries of this inverse. Entry
# $j$ is $1 / r_j^2$, where $r_j$ is the distance of column $j$ from the span of the other columns ([Schur
# complement](../linear_algebra/lu_decomposition.ipynb)). Columns are independent and Gaussian, so $r_j^2$ is a sum of
# $k = n - p + 1$ squared standard normal variables. Its reciprocal has expectation $1/(k - 2)$: integrate the
# $\chi^2_k$ density over $u$ after division by $u$, what remains is a $\chi^2_{k-2}$ density over $k - 2$. Altogether
# $\sigma^2\big(1 + \frac{p}{n - p - 1}\big)$.
# ````
#
# The control is the tempting $\sigma^2(1 + p/n)$, a mirror image of the training error: it is right for new labels at
# the *old* inputs.

# %%
def fits(rng, n, p, R, sigma=1.0):  # R samples at once
    X, e = rng.normal(size=(R, n, p)), rng.normal(0, sigma, (R, n, 1))
    d = np.linalg.solve(X.mT @ X, X.mT @ e)  # (R, p, 1), w_S - w
    train = ((e - X @ d) ** 2).mean(axis=(1, 2))
    return train, sigma**2 + (d**2).sum(axis=(1, 2)), (e**2).mean(axis=(1, 2))

def mirrored(n, p, sigma):
    return sigma**2 * np.array([1 - p / n, 1 + p / n])

def exact(n, p, sigma):
    return sigma**2 * np.array([1 - p / n, (n - 1) / (n - p - 1)])

def agrees(seed, n, p, sigma, law, R=1000):
    seen = fits(np.random.default_rng(seed), n, p, R, sigma)[:2]
    error = np.std(seen, axis=1) / np.sqrt(R)
    off = abs(np.mean(seen, axis=1) - law(n, p, sigma))
    return bool((off < 5 * error).all())

verify('expected training error and risk of least squares',
       lambda **case: agrees(**case, law=exact),
       control=lambda **case: agrees(**case, law=mirrored),
       seed=seeds(), n=[12, 24, 40], p=[1, 3, 6], sigma=[0.5, 2.0], tries=60)

# %% [markdown]
# How fast does the gap close? Split it in two. With the true weights $\mathbf{w}$ on the same sample,
#
# ```{math}
# :label: gen-two-parts
# \begin{aligned}
# L_{\mathcal{D}}(\mathbf{w}_S) - L_S(\mathbf{w}_S) &= \underbrace{\sigma^2 - L_S(\mathbf{w})}_{\text{luck}} \\
# &\quad + \underbrace{\big( L_{\mathcal{D}}(\mathbf{w}_S) - \sigma^2 \big) + \big( L_S(\mathbf{w}) - L_S(\mathbf{w}_S)
# \big)}_{\text{flattery}} .
# \end{aligned}
# ```
#
# *Luck* is the gap of a fixed model: mean zero, either sign, size $\sigma^2\sqrt{2/n}$. *Flattery* is a sum of two
# terms that are never negative; by {eq}`gen-exact` its mean is $\sigma^2\big(\frac{p}{n} + \frac{p}{n - p - 1}\big)
# \approx 2\sigma^2 p/n$. So the part that fitting adds dies out as $1/n$, the part that no one can avoid only as
# $1/\sqrt n$. They cross near $n = 2p^2$. We measure both slopes. The flattery of a sample is close to $2\sigma^2/n$
# times a $\chi^2_p$ variable, which gives its band; each control is the other's rate.

# %%
def parts(n, p, seed, R=400):  # rms luck, mean flattery
    train, risk, own = fits(np.random.default_rng([seed, n]), n, p, R)
    return np.sqrt(((1 - own) ** 2).mean()), (risk - 1 + own - train).mean()

def slopes(seed, p=5):
    near, far = parts(80, p, seed), parts(640, p, seed)
    return np.log(np.divide(far, near)) / np.log(8)

def measured(seed, which, rate, spread):
    band = 5 * spread * np.sqrt(2 / 400) / np.log(8)
    return abs(slopes(seed)[which] - rate) < band

flattery = lambda n: 5 / n + 5 / (n - 6)
expected = np.log(flattery(640) / flattery(80)) / np.log(8)  # near -1
verify('luck falls like n^(-1/2)',
       lambda seed: measured(seed, 0, -1 / 2, np.sqrt(1 / 2)),
       control=lambda seed: measured(seed, 0, expected, np.sqrt(1 / 2)),
       seed=[0, 1])
verify('flattery falls like 1/n',
       lambda seed: measured(seed, 1, expected, np.sqrt(2 / 5)),
       control=lambda seed: measured(seed, 1, -1 / 2, np.sqrt(2 / 5)),
       seed=[0, 1])
print(f'theory for the second slope: {expected:.2f}')

# %%
grid = np.array([12, 16, 24, 40, 80, 160, 320])
curves = np.array([[[np.mean(v) for v in
                     fits(np.random.default_rng([seed, n]), n, 5, 40)[:2]]
                    for n in grid] for seed in range(5)])  # (5, 7, 2)
fine = np.geomspace(10, 320, 200)
theory = exact(fine, 5, 1)
assert close(curves[..., 0].mean(axis=0), exact(grid, 5, 1)[0], atol=0.1)
spans = 2 ** np.arange(4, 12)
measured_parts = np.array([[parts(n, 5, seed, R=60) for n in spans]
                           for seed in range(3)])  # (3, 8, 2)

# %% mystnb={"figure": {"caption": "Left: training error and risk of least squares close in on the noise from both sides. Right: what fitting adds to the gap dies out like $1/n$, mere luck only like $1/\\sqrt{n}$."}, "image": {"alt": "Left: training error rises and risk falls towards one as the sample grows; averages of five simulations lie on the exact curves, the risk far steeper at few examples. Right: luck and flattery against sample size on logarithmic axes, straight lines of slopes minus one half and minus one that cross near fifty."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
for k, name in enumerate(('training error', 'risk')):
    left.plot(fine, theory[k], color=f'C{k}', label=name)
    left.plot(grid, curves[..., k].T, '.', color=f'C{k}', ms=4)
left.axhline(1, color=GREY, lw=0.8, ls=':')
left.set(xscale='log', ylim=(0, 2.6), xlabel='sample size n',
         ylabel='squared loss / σ²', title='p = 5 features')
left.legend()
for k, name in enumerate(('luck (rms)', 'flattery (mean)')):
    right.loglog(spans, measured_parts[..., k].T, '.', color=f'C{k + 2}')
right.loglog(spans, np.sqrt(2 / spans), color='C2', label='luck (rms)')
right.loglog(spans, flattery(spans), color='C3', label='flattery (mean)')
right.set(xlabel='sample size n', title='Two parts of the gap')
right.legend();

# %% [markdown]
# The left picture shows what the notes say: *simple models with abundant data: training and generalization error tend
# to be close*,
#
# ```{math}
# :label: dl.complexity.simple-abundant
# \mathbb{E}\big[ L_{\mathcal{D}}(\mathbf{w}_S) - L_S(\mathbf{w}_S) \big] \to 0 \qquad (n \to \infty, \; p \text{ fixed}).
# ```
#
# "Abundant" is relative: with $p = n/4$ the expected gap tends to $\frac14 + \frac13 \approx 0.58$ times $\sigma^2$, a
# quarter from the training error and a third from the risk; that is the control. And the remedy for a flattering score is *an independent test set $T$, withheld from training*. On average over all such test sets, with
# $S$ as it is,
#
# ```{math}
# :label: dl.train-gen-error.estimate
# \mathbb{E}_T\big[ L_T(\mathbf{w}_S) \big] = L_{\mathcal{D}}(\mathbf{w}_S) .
# ```
#
# This is {eq}`ml.ms.empirical.unbiased` once more, with $\mathbf{w}_S$ as the fixed model. In the control one half of
# the test rows were in the training set, too.

# %%
def mean_gap(seed, n, p):
    train, risk, _ = fits(np.random.default_rng(seed), n, p, 100)
    return (risk - train).mean()

def closes(seed, size):  # four times the data, at most half of the gap
    first, second, third = (mean_gap(seed, n, size(n)) for n in (24, 96, 384))
    return second < first / 2 and third < second / 2

# %%
def test_errors(seed, leaked, R=1000):  # of one fit, on R test sets of 20
    rng = np.random.default_rng(seed)
    X, e = rng.normal(size=(15, 4)), rng.normal(size=15)
    d = lstsq(X, e, rcond=None)[0]
    X_new, e_new = rng.normal(size=(R, 20, 4)), rng.normal(size=(R, 20))
    rows = rng.integers(15, size=(R, leaked))
    X_new[:, :leaked], e_new[:, :leaked] = X[rows], e[rows]
    return ((e_new - X_new @ d) ** 2).mean(axis=1), 1 + d @ d

def honest(seed, leaked):
    scores, risk = test_errors(seed, leaked)
    return abs(scores.mean() - risk) < 5 * scores.std() / np.sqrt(1000)

holds('dl.complexity.simple-abundant',
      lambda seed: closes(seed, lambda n: 4),
      control=lambda seed: closes(seed, lambda n: n // 4), seed=[0, 1])
for size in (lambda n: 4, lambda n: n // 4):
    print('mean gap for n = 24, 96, 384 with p =', [size(24), size(384)],
          *(f'{mean_gap(0, n, size(n)):.4f}' for n in (24, 96, 384)))
holds('dl.train-gen-error.estimate',
      lambda seed: honest(seed, 0), control=lambda seed: honest(seed, 10),
      seed=seeds(), tries=60)

# %% [markdown]
# ```{exercise} ★★ With a bias
# :label: generalization-bias
# Now let $y = \mathbf{w}^\top\mathbf{x} + b + e$, where $\mathbf{x}$ has an unknown mean, and fit a bias, too. Derive
# the expected training error and the expected risk and write `with_bias(n, p)`, the two numbers for $\sigma = 1$.
# ```

# %%
def with_bias(n, p):  # -> (expected training error, expected risk)
    raise NotImplementedError('your turn')

# %%
def bias_by_parts(n, p):  # scatter (n - 1 free rows), new point, mean
    from scipy.stats import chi2
    density = chi2(n - p).pdf
    inverse = quad(lambda u: density(u) / u, 0, np.inf)[0]
    train = chi2(n - p - 1).mean() / n
    return np.array([train, (1 + 1 / n) * (1 + p * inverse)])

bias_cases = [(12, 3), (30, 5), (100, 1)]
grade(with_bias, bias_by_parts, bias_cases)

# %% [markdown]
# ```{solution-start} generalization-bias
# :class: dropdown
# ```
# Now $p + 1$ parameters are fitted, so the training error is $1 - (p + 1)/n$. Centring removes the bias and one row's
# worth of freedom: the centred inputs behave like $n - 1$ independent ones. The prediction for a new $\mathbf{x}$ is
# $\bar y + \mathbf{w}_S^\top(\mathbf{x} - \bar{\mathbf{x}})$. The new noise costs 1, the mean noise $1/n$, and
# $\mathbf{x} - \bar{\mathbf{x}}$, independent of $\mathbf{w}_S$, has covariance $(1 + \frac1n)\boldsymbol\Sigma$. In
# total $(1 + \frac1n)\big(1 + \frac{p}{n - p - 2}\big) = (1 + \frac1n)\frac{n - 2}{n - p - 2}$. Replacing $p$ by $p +
# 1$ in {eq}`gen-exact` is wrong, though not by much: a column of ones is not Gaussian. (The judge integrates $1/u$ over
# the $\chi^2$ density.)

# %% jupyter={"source_hidden": true}
def with_bias_solution(n, p):
    risk = (1 + 1 / n) * (n - 2) / (n - p - 2)
    return np.array([1 - (p + 1) / n, risk])

def one_more_feature(n, p):
    return np.array([1 - (p + 1) / n, (n - 1) / (n - p - 2)])

assert grade(with_bias_solution, bias_by_parts, bias_cases)
assert not grade(one_more_feature, bias_by_parts, bias_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## How many features?
#
# More features fit better. Do they predict better? Let model $q$ use the first $q$ of them.
# If all are independent and standard normal, what the others contribute to $y$ looks to model $q$
# exactly like further noise, so that its effective noise has the variance
#
# $$ \sigma_q^2 = \sigma^2 + \sum_{j > q} w_j^2 , $$
#
# and {eq}`gen-exact` applies as it stands, with $\sigma_q$ for $\sigma$ and $q$ for $p$:
#
# ```{math}
# :label: gen-u-shape
# \mathbb{E}\,[L_S] = \sigma_q^2 \Big(1 - \frac qn\Big) , \qquad
# \mathbb{E}\,[L_{\mathcal{D}}] = \underbrace{\sigma_q^2}_{\text{misfit, falls}} \cdot
# \underbrace{\frac{n - 1}{n - q - 1}}_{\text{price of fitting, rises}} .
# ```
#
# The U-shaped curve is a product of a falling and a rising factor. For $n > q + 2$, feature $q + 1$ pays for itself exactly
# if (multiply out)
#
# ```{math}
# :label: gen-pays
# \frac{(n - 1) \, \sigma_{q+1}^2}{n - q - 2} < \frac{(n - 1) \, \sigma_q^2}{n - q - 1} \iff
# w_{q+1}^2 > \frac{\sigma_q^2}{n - q - 1} .
# ```
#
# A true but weak feature is better left out as long as examples are few. Our world has three strong features and 17
# weak ones.

# %%
w, sigma = np.array([1.5] * 3 + [0.15] * 17), 1.0
q = np.arange(21)

def expected_curves(n):  # training error and risk of models 0 to 20
    left_out = np.append(np.cumsum(w[::-1] ** 2)[::-1], 0)  # (21,)
    variance = sigma**2 + left_out
    return variance * (1 - q / n), variance * (n - 1) / (n - q - 1)

def nested_fits(seed, n, R):  # training errors, risks, and errors on 20 more
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(R, n + 20, 20))
    y = X @ w[:, None] + rng.normal(0, sigma, (R, n + 20, 1))
    train, risk, fresh = np.empty((3, R, 21))
    for k in q:
        A, miss = X[:, :n, :k], np.tile(w, (R, 1))
        v = np.linalg.solve(A.mT @ A, A.mT @ y[:, :n])
        miss[:, :k] -= v[..., 0]
        errors = ((y - X[..., :k] @ v) ** 2)[..., 0]  # (R, n + 20)
        train[:, k] = errors[:, :n].mean(axis=1)
        risk[:, k] = sigma**2 + (miss**2).sum(axis=1)
        fresh[:, k] = errors[:, n:].mean(axis=1)
    return train, risk, fresh

# %%
def u_shape(seed, n, order, R=200):
    seen = [v[:, order] for v in nested_fits(seed, n, R)]
    train, risk = expected_curves(n)
    for got, want in zip(seen, (train, risk, risk), strict=True):
        error = got.std(axis=0) / np.sqrt(R) + 1e-12
        if (abs(got.mean(axis=0) - want) >= 5 * error).any():
            return False
    return True

verify('training error and risk of nested models',
       lambda seed, n: u_shape(seed, n, q),
       control=lambda seed, n: u_shape(seed, n, np.abs(q - 1)),
       seed=[0, 1], n=[40, 120])
for n in (40, 120):
    best = expected_curves(n)[1].argmin()
    pays = w**2 * (n - q[:20] - 1) > sigma**2 + np.cumsum(w[::-1]**2)[::-1]
    assert pays[:best].all() and not pays[best:].any()
    print(f'{n} examples: the best model uses {best} features')

# %% mystnb={"figure": {"caption": "Each further feature lowers the training error. With 40 examples the weak features after the third raise the risk; with 120 they lower it a little."}, "image": {"alt": "Training error and risk against the number of features, for 40 and for 120 examples. Both fall steeply up to three features. Then the training error keeps falling. The risk turns upwards with 40 examples, and falls on, slightly, with 120. Bands from single training sets surround both."}} tags=["hide-input"]
fig, axes = panels(2, height=2.9, sharey=True)
for ax, n in zip(axes, (40, 120), strict=True):
    for k, (name, got, want) in enumerate(zip(
            ('training error', 'risk'), nested_fits(0, n, 200)[:2],
            expected_curves(n), strict=True)):
        low, high = np.quantile(got, [0.1, 0.9], axis=0)
        ax.fill_between(q, low, high, color=f'C{k}', alpha=0.2)
        ax.plot(q, want, '.-', ms=4, color=f'C{k}', label=name)
    ax.set(ylim=(0, 5), xlabel='features q', xticks=[0, 3, 10, 20],
           title=f'n = {n}')
axes[0].set(ylabel='squared loss')
axes[0].legend();

# %% [markdown]
# The notes say that *a more complex model and/or fewer examples cause the training error to diminish, but the
# generalization error to grow*. That leaves out where: up to three features the risk falls, and steeply. Precisely,
#
# ```{math}
# :label: dl.complexity.complex-few
# \begin{aligned}
# &\text{larger } q: \; L_S \text{ falls}, \; \mathbb{E}[L_{\mathcal{D}}] \text{ falls with features that pay, else rises;} \\
# &\text{smaller } n: \; \mathbb{E}[L_S] \text{ falls}, \; \mathbb{E}[L_{\mathcal{D}}] \text{ and the gap rise.}
# \end{aligned}
# ```
#
# (The second line is {eq}`gen-u-shape`, for $q \ge 1$ and $n > q + 1$; with $q$ the training error falls on every single
# sample, as a minimum over more weights.) Does at least the *generalization gap*,
#
# ```{math}
# :label: ml.ms.gap.def
# \big| L_{\mathcal{D}}(f) - L_S(f) \big| ,
# ```
#
# grow with complexity? Not always: its mean is $\sigma_q^2 \big( \frac{q}{n} + \frac{q}{n - q - 1} \big)$, and where
# $\sigma_q^2$ falls by a larger factor than the bracket rises, as here from the second to the third feature, the gap falls.
# (From the first to the second it grows, although the risk falls.) From the third on it grows. The control is the gap on 20
# fresh examples, which grows only in proportion to the risk.

# %%
def follows(seed, turn):  # falls up to feature `turn`, then rises
    train, risk, _ = nested_fits(seed, 40, 400)
    fewer_train, fewer_risk, _ = nested_fits(seed, 30, 400)
    steps = np.diff(risk.mean(axis=0)[[0, 1, 2, 3, 8, 14, 20]])
    gap, more = (risk - train).mean(axis=0), slice(8, 15)
    fewer_gap = (fewer_risk - fewer_train).mean(axis=0)
    return bool((np.diff(train) <= 1e-12).all()
                and (steps[:turn] < 0).all() and (steps[turn:] > 0).all()
                and (fewer_train.mean(axis=0) < train.mean(axis=0))[more].all()
                and (fewer_risk.mean(axis=0) > risk.mean(axis=0))[more].all()
                and (fewer_gap > gap)[more].all()
                and gap[1:6].argmin() == 2)  # model 3

# %%
def mean_gaps(seed, own_sample):  # after 3, 8, 14 and 20 features
    train, risk, fresh = nested_fits(seed, 24, 400)
    gap = abs(risk - (train if own_sample else fresh)).mean(axis=0)
    return gap[[3, 8, 14, 20]]

def gap_grows(seed, own_sample):
    gap = mean_gaps(seed, own_sample)
    return bool((np.diff(gap) > 0.8 * gap[0]).all())

holds('dl.complexity.complex-few',
      lambda seed: follows(seed, 3), control=lambda seed: follows(seed, 0),
      seed=[0, 1])
holds('ml.ms.gap.def',
      lambda seed: gap_grows(seed, True),
      control=lambda seed: gap_grows(seed, False), seed=[0, 1])
for name, own in {'own': True, 'fresh': False}.items():
    print(f'mean gap on {name} examples:', mean_gaps(0, own).round(2))

# %% [markdown]
# When a model has followed the sample rather than the world it is said to *overfit*. Here are both on the same twelve
# points:

# %%
def cubic(x):
    return 1 - x - 2 * x**2 + 4 * x**3

def polynomial(seed, n, degree):  # sample and fitted curve, noise 0.3
    rng = np.random.default_rng(seed)
    x = np.linspace(-1, 1, n)
    y = cubic(x) + rng.normal(0, 0.3, n)
    return x, y, np.polynomial.Polynomial.fit(x, y, degree)

def curve_risk(f):  # new inputs uniform in [-1, 1]
    x = np.linspace(-1, 1, 2001)
    return ((f(x) - cubic(x)) ** 2).mean() + 0.3**2

x12, y12, follower = polynomial(2, 12, 11)
suitable = polynomial(2, 12, 3)[2]
assert close(follower(x12), y12) and curve_risk(suitable) < 0.2
print(f'risk: degree 3 {curve_risk(suitable):.3f}, '
      f'degree 11 {curve_risk(follower):.2f}')

# %% mystnb={"figure": {"caption": "Degree 11 has no error on its twelve points and swings away between them; degree 3 misses the points a little and stays close to the truth."}, "image": {"alt": "Twelve noisy points. A cubic passes smoothly between them, close to the true curve. A polynomial of degree eleven passes through every point and swings far away between the two leftmost."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.8))
x = np.linspace(-1, 1, 401)
ax.plot(x, cubic(x), color=GREY, ls='--', label='world')
ax.plot(x, suitable(x), color='C0', label='degree 3')
ax.plot(x, follower(x), color='C1', label='degree 11')
ax.plot(x12, y12, 'o', color='C2')
ax.set(xlabel='x', ylabel='y', ylim=(-8, 6))
ax.legend(loc='lower right');

# %% [markdown]
# :::{admonition} Erratum
# :class: warning
# As printed, overfitting is "fitting closer to the training *model* than to the underlying distribution". It should be
# the training *data*. The slip is easy to make where model and data are mentioned in one breath, but it empties the word:
# the model that training yields is the model itself, to which its distance is zero, whether it overfits or not.
# :::
#
# Let "closer" mean less than half of the loss. Twelve points with
# degree 11 overfit; 200 points do not, neither with degree 3 nor with degree 0, which underfits.

# %%
def called_overfit(seed, n, degree, reference):
    x, y, f = polynomial(seed, n, degree)
    near = squared_loss(f(x), reference(x, y, f))
    return (near < curve_risk(f) / 2) == (degree == n - 1)

def squared_loss(a, b):
    return ((a - b) ** 2).mean()

samples = dict(seed=seeds(), shape=[(12, 11), (200, 3), (200, 0)])
erratum('dl.generalization.overfitting',
        printed=lambda seed, shape: called_overfit(
            seed, *shape, reference=lambda x, y, f: f(x)),
        corrected=lambda seed, shape: called_overfit(
            seed, *shape, reference=lambda x, y, f: y), **samples)

# %% [markdown]
# The goal, say the notes, is *a generalizable pattern*, for *previously unseen data*. The training error cannot find
# it: it always votes for 20 features. So vote by the error on data that were kept from training. But do not trust the
# winner about itself: the *least* of the 21 errors is a minimum over a class on a sample, too low on average by
# {prf:ref}`thm-gen-flattery`. A score for the winner needs data that had no vote. How much a vote spoils is the subject
# of [model selection](model_selection.ipynb).

# %%
def chosen(seed, vote):  # risks by that vote, and the winner's score
    runs = nested_fits(seed, 40, 400)
    winner = runs[vote].argmin(axis=1)[:, None]
    return [np.take_along_axis(v, winner, axis=1)[:, 0] for v in runs]

def beats_training_error(seed, vote):
    by_training, by_vote = (chosen(seed, v)[1] for v in (0, vote))
    better = by_training - by_vote
    return better.mean() > 5 * better.std() / np.sqrt(400)

def flatters(seed, vote):  # judged by the 20 fresh examples
    _, risk, fresh = chosen(seed, vote)
    off = risk - fresh
    return off.mean() > 5 * off.std() / np.sqrt(400)

holds('dl.generalization.goal',
      lambda seed: beats_training_error(seed, 2),
      control=lambda seed: beats_training_error(seed, 0), seed=[0, 1])
verify('the least error of a vote is too low',
       lambda seed: flatters(seed, 2),
       control=lambda seed: flatters(seed, 0), seed=[0, 1])
for name, vote in {'training error': 0, 'fresh examples': 2}.items():
    _, risk, fresh = (v.mean() for v in chosen(0, vote))
    print(f'vote by {name}: risk {risk:.3f}, score on fresh ones {fresh:.3f}')

# %% [markdown]
# ```{exercise} ★★ When does a feature pay?
# :label: generalization-pays
# Model $q$ has effective noise variance $v = \sigma_q^2$, fitted to $n$ examples. A further feature is on offer, *not*
# standardized: it is independent of the others, with variance $u$. How large must its weight be, in absolute value, for
# the expected risk to fall? Write `least_weight(v, u, n, q)`.
# ```

# %%
def least_weight(v, u, n, q):
    raise NotImplementedError('your turn')

# %%
def least_weight_by_search(v, u, n, q):
    before = v * (n - 1) / (n - q - 1)
    after = lambda t: (v - u * t**2) * (n - 1) / (n - q - 2)
    return brentq(lambda t: after(t) - before, 0, np.sqrt(v / u), xtol=1e-14)

offers = [(1.0, 1.0, 40, 3), (2.5, 4.0, 25, 10), (0.3, 0.1, 12, 0)]
grade(least_weight, least_weight_by_search, offers)

# %% [markdown]
# ```{solution-start} generalization-pays
# :class: dropdown
# ```
# With weight $t$ the feature removes $ut^2$ from the effective noise. The risk falls if $(v - ut^2)(n - q - 1) < v(n -
# q - 2)$, that is $ut^2 > v/(n - q - 1)$: {eq}`gen-pays` with $ut^2$ for the squared weight. The wrong answer asks only
# that the weight exceed its own standard error $\sqrt{v/(un)}$, as if the other $q$ weights cost nothing.

# %% jupyter={"source_hidden": true}
def least_weight_solution(v, u, n, q):
    return np.sqrt(v / (u * (n - q - 1)))

def one_standard_error(v, u, n, q):
    return np.sqrt(v / (u * n))

assert grade(least_weight_solution, least_weight_by_search, offers)
assert not grade(one_standard_error, least_weight_by_search, offers)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Where it matters: 442 patients
#
# Where the density is unknown *the risk can never be measured exactly*. There are only estimates. We deal the
# [diabetes patients](linear_regression.ipynb) into three disjoint parts: for
# training, for choosing, and for testing. The error on the part for choosing, the *validation set*, is the
# *validation error*. The control deals with replacement, so that training patients return in the validation set.

# %%
X, y, _ = diabetes()

def deal(rng, sizes):  # disjoint rows
    return np.split(rng.permutation(442), np.cumsum(sizes)[:-1])

def deal_again(rng, sizes):
    return np.split(rng.integers(442, size=442), np.cumsum(sizes)[:-1])

def fit_line(X, y):
    theta = lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0]
    return lambda X: X @ theta[:-1] + theta[-1]

def mse(f, rows):
    return ((y[rows] - f(X[rows])) ** 2).mean()

# %%
def is_validation(seed, deal):
    parts = deal(np.random.default_rng(seed), [242, 100, 100])
    train, held, test = parts
    model = LinearRegression().fit(X[train], y[train])
    want = mean_squared_error(y[held], model.predict(X[held]))
    right = close(mse(fit_line(X[train], y[train]), held), want)
    return right and len(np.unique(np.concatenate(parts))) == 442

holds('dl.complexity.val-error', lambda seed: is_validation(seed, deal),
      control=lambda seed: is_validation(seed, deal_again),
      seed=seeds(), tries=40)

# %% [markdown]
# Four models compete: the mean of the training targets, the linear model, one with squares and products of the features
# (64 weights and a bias), and the memorizer. Features are standardized by the training part. The root mean squared
# errors are averaged over 20 deals, with the standard deviation over deals.

# %%
def by_mean(X, y):
    return lambda X_new: np.full(len(X_new), y.mean())

def standardized(learn):
    def fit(X, y):
        m, sd = X.mean(axis=0), X.std(axis=0)
        f = learn((X - m) / sd, y)
        return lambda X_new: f((X_new - m) / sd)
    return fit

# %%
def with_products(X):  # (n, 10) -> (n, 64)
    i, j = np.triu_indices(10)
    keep = (i != j) | (i != 1)  # sex has two values: its square adds nothing
    return np.column_stack([X, X[:, i[keep]] * X[:, j[keep]]])

def quadratic(X, y):
    f = fit_line(with_products(X), y)
    return lambda X_new: f(with_products(X_new))

def memorize(X, y):
    def f(X_new):
        far = (X**2).sum(axis=1) - 2 * X_new @ X.T  # up to a constant
        return y[far.argmin(axis=1)]
    return f

Z = (X - X.mean(axis=0)) / X.std(axis=0)
columns = np.column_stack([with_products(Z), np.ones(442)])
assert np.linalg.matrix_rank(columns) == 65  # none is redundant

# %%
models = {'the mean': by_mean, 'linear': standardized(fit_line),
          'with products': standardized(quadratic),
          'memorizer': standardized(memorize)}
scores = np.empty((20, 4, 2))
for seed in range(20):
    train, test = deal(np.random.default_rng(seed), [332, 110])
    for k, learn in enumerate(models.values()):
        f = learn(X[train], y[train])
        scores[seed, k] = mse(f, train) ** 0.5, mse(f, test) ** 0.5
mean, spread = scores.mean(axis=0), scores[..., 1].std(axis=0)
for name, (seen, new), sd in zip(models, mean, spread, strict=True):
    print(f'{name:13} training {seen:4.1f}   test {new:4.1f} ± {sd:.1f}')
for k in (0, 2, 3):
    worse = (scores[:, k, 1] > scores[:, 1, 1]).sum()
    print(f'{list(models)[k]} worse than linear on new patients: '
          f'{worse} of 20 deals')

# %% [markdown]
# By training error the memorizer would be perfect; on new patients it is no better than a constant, because it pays for
# the noise of two patients, the old one's and the new one's. The 64 weights fit better than ten, and predict worse. And the
# linear model has another score in each deal, with about the spread $\tau/\sqrt{110}$ of a mean of 110 squared errors.
# The control is a number that does not vary, the error of the fit to all 442 on themselves; but that is no risk of
# anything.

# %%
def test_mse(seed):
    train, test = deal(np.random.default_rng(seed), [332, 110])
    f = fit_line(X[train], y[train])
    return mse(f, test)

everybody = fit_line(X, y)
squares = (y - everybody(X)) ** 2  # (442,)

def one_number(seed):
    return mse(everybody, deal(np.random.default_rng(seed), [442])[0])

def spread_ratio(measure):
    values = [measure(seed) for seed in range(40)]
    return np.std(values) / (squares.std() / np.sqrt(110))

def varies(measure):
    return 0.5 < spread_ratio(measure) < 1.5

holds('dl.train-gen-error.never-exact', lambda: varies(test_mse),
      control=lambda: varies(one_number))
print(f'spread of 40 test errors / promised: {spread_ratio(test_mse):.2f}')

# %% [markdown]
# Last, the learning curve: the linear model on the first $n$ training patients of a deal, averaged over 100 deals. The
# curves drawn through the points are not fitted to them. They are {eq}`gen-exact` with a bias (the exercise above),
#
# $$ \sigma^2\Big(1 - \frac{11}{n}\Big) \quad\text{and}\quad \sigma^2 \Big(1 + \frac1n\Big) \frac{n - 2}{n - 12} , $$
#
# with one number, $\sigma^2$, from the residuals of all 442. The theorem assumed Gaussian features and a true linear
# model. Patients are neither: sex has two values, some blood values have long tails.

# %%
sizes = np.array([20, 30, 50, 80, 130, 200, 330])
deals = [deal(np.random.default_rng(seed), [332, 110]) for seed in range(100)]
learned = np.array([
    [[mse(f, train[:n]), mse(f, test)] for n in sizes
     for f in [fit_line(X[train[:n]], y[train[:n]])]]
    for train, test in deals])  # (100, 7, 2)
_, theirs_train, theirs_test = learning_curve(
    LinearRegression(), X, y, train_sizes=sizes, cv=deals[:3],
    scoring='neg_mean_squared_error')
assert close(learned[:3, :, 0].T, -theirs_train)
assert close(learned[:3, :, 1].T, -theirs_test)

# %%
noise = squares.sum() / (442 - 11)
fine = np.geomspace(18, 330, 200)
def law(n):
    risk = (1 + 1 / n) * (n - 2) / (n - 12)
    return noise * np.array([1 - 11 / n, risk])

average = learned.mean(axis=0)  # (7, 2)
for n, ratio in zip(sizes, average[:, 1] / law(sizes)[1], strict=True):
    print(f'{n:3} patients: mean squared test error / law = {ratio:.2f}')

# %% mystnb={"figure": {"caption": "The errors of the linear model follow the law for Gaussian features closely from fifty patients on; fitted to twenty, it predicts worse than the mean."}, "image": {"alt": "Root mean squared training and test error of the linear model against the number of training patients. The test error falls from about 90 towards 55, the training error rises from about 36; points for the averages with bars over deals lie close to the two theoretical curves, except that the first two test errors lie above theirs. A dotted line marks the score of the mean."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.2))
for k, name in enumerate(('training error', 'test error')):
    low, high = np.quantile(learned[..., k] ** 0.5, [0.1, 0.9], axis=0)
    ax.vlines(sizes, low, high, color=f'C{k}', lw=1)
    ax.plot(sizes, average[:, k] ** 0.5, 'o', color=f'C{k}')
    ax.plot(fine, law(fine)[k] ** 0.5, color=f'C{k}', label=name)
ax.axhline(mean[0, 1], color=GREY, ls=':', lw=1)
ax.text(330, mean[0, 1] + 1, 'test error of the mean', ha='right')
ax.set(xscale='log', xlabel='training patients n',
       ylabel='root mean squared error',
       ylim=(20, 125), xticks=sizes, xticklabels=sizes)
ax.minorticks_off()
ax.legend();

# %% [markdown]
# From fifty patients on the law is right to a few percent. At twenty, with eleven parameters, it is too kind to
# features that are not Gaussian. No density was known, and yet one training error tells how far off the test error will
# be, and what more patients would buy: hardly anything. Ten features have said what they know.

# %% [markdown]
# ## Summary
#
# The risk is an expectation under an unknown distribution; the empirical risk of a model that is fixed beforehand
# estimates it without bias, with a fluctuation of order $1/\sqrt n$ that Hoeffding's inequality bounds. A model that
# was fitted to the sample flatters itself, for every class of models, and for least squares by about $2\sigma^2 p/n$,
# so that a further feature pays only if its squared weight exceeds the effective noise divided by $n - q - 1$. Choosing
# by held-out data finds the right complexity, but the winner needs a third sample to be judged.
#
# **Further reading.** {cite}`hastie2009elements`, chapter 7, on optimism and the three parts of a data set;
# {cite}`shalev2014understanding` and {cite}`mohri2018foundations` for the theory of empirical risk minimization;
# {cite}`breiman1983many`, where {eq}`gen-exact` decides how many variables a regression should have;
# {cite}`loog2019minimizers` for risks that grow with more data. The next sections are
# [polynomial curve fitting](polynomial_curve_fitting.ipynb) and [cross-validation](cross_validation.ipynb).
