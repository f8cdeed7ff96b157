# ---
# jupyter:
#   book:
#     functions:
#       squared: squared(normal(5), normal(5))
#       line: line(normal(9), normal(9))(normal(5))
#       memorizer: memorizer(normal(9), normal(9))(normal(5))
#       risk: 'risk(lambda x: 1.5 * x, squared, lambda x, y: gauss.pdf(x) * gauss.pdf(y, 2 * x, 0.7))'
#       gap_bound: gap_bound(100, 0.05)
#       exact: exact(24, 5, 1.0)[0]
#       fit_line: fit_line(normal(20, 3), normal(20))(normal(5, 3))
#     main: dl.train-gen-error.risk-int
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Generalization
#
# Two models were fitted to 332 diabetes patients. One predicts with ten weights and is off by 53 points of a disease score
# on these patients. The other looks up the most similar patient and makes no error at all. On 110 other patients the first
# is off by 56 and the second by 78, more than a constant guess. How good will a model be on examples that it has not seen,
# and how can we know?
#
# - **You need** [linear regression](linear_regression.ipynb), [least squares](least_squares.ipynb),
#   [expectations](../probability/expectations.ipynb) and
#   [Hoeffding's inequality](../probability/concentration.ipynb).
# - **You build** two laws for the gap between the two errors, and the U-shaped curve in closed form.
# - **Runs in** 8 seconds.

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
from numpy.linalg import lstsq, norm
from scipy.integrate import dblquad, quad
from scipy.optimize import brentq
from scipy.special import betaln, ndtr, owens_t
from scipy.stats import binom, chi2, ks_2samp
from scipy.stats import norm as gauss
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error, zero_one_loss
from sklearn.model_selection import learning_curve

from nbutils.cases import integers, on, scalars, seeds, vectors
from nbutils.checks import close, erratum, grade, holds, verify
from nbutils.data import diabetes
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## Training error and generalization error
#
# We make our own data: $x \sim \mathcal{N}(0, 1)$ and $y = 2x + e$ with noise $e \sim \mathcal{N}(0, s^2)$, $s = 0.7$. One
# model fits a line through the origin. The other is a *memorizer*: it answers with the label of the nearest example.

# %%
s = 0.7

def draw(rng, size):
    x = rng.normal(size=size)
    return x, 2 * x + rng.normal(0, s, size)

def squared(y, guess):
    return (y - guess) ** 2

# %%
def line(x, y):  # least squares
    slope = (x @ y) / (x @ x)
    return lambda x_new: slope * x_new

def memorizer(x, y):
    return lambda x_new: y[abs(x_new[:, None] - x).argmin(axis=1)]

# %%
x_new, y_new = draw(np.random.default_rng(0), 10_000)
print('mean squared loss    examples  training    new')
for name, learn in {'line': line, 'memorizer': memorizer}.items():
    for n in (5, 50, 500):
        x, y = draw(np.random.default_rng(n), n)
        seen = squared(y, learn(x, y)(x)).mean()
        new = squared(y_new, learn(x, y)(x_new)).mean()
        print(f'{name:20} {n:8} {seen:9.3f} {new:6.3f}')

# %% [markdown]
# The memorizer's error on its own examples is zero, whatever $n$ is, and says nothing about new ones. For the line, both
# errors come closer to the variance of the noise, $s^2 = 0.49$, the more examples there are.
#
# Let $f$ be a model, $\mathcal{D}$ the distribution of the examples $(\mathbf{x}, y)$ and $\ell(y, f(\mathbf{x}))$ the
# loss on one of them. What we pay per example in the long run is the **generalization error**, or **risk**:
#
# ```{math}
# :label: ml.ms.generalization.def
# L_{\mathcal{D}}(f) = \mathbb{E}_{(\mathbf{x}, y) \sim \mathcal{D}} \big[ \ell(y, f(\mathbf{x})) \big] .
# ```
#
# If $\mathcal{D}$ has a density $p(\mathbf{x}, y)$, the risk is an integral:
#
# ```{math}
# :label: dl.train-gen-error.risk-int
# L_{\mathcal{D}}(f) = \iint \ell(y, f(\mathbf{x})) \, p(\mathbf{x}, y) \, d\mathbf{x} \, dy .
# ```
#
# For our data and a line $f(x) = ax + b$ it can be computed by hand, because $y - f(x) = (2 - a)x - b + e$ is a sum of
# uncorrelated terms:
#
# ```{math}
# :label: gen-toy-risk
# L_{\mathcal{D}}(f) = (2 - a)^2 + b^2 + s^2 .
# ```

# %%
def density(x, y):
    return gauss.pdf(x) * gauss.pdf(y, 2 * x, s)

def risk(f, loss, density):  # the double integral, as a sum on a grid
    x, y = np.meshgrid(np.arange(-9, 9, 0.1), np.arange(-25, 25, 0.1))
    return (loss(y, f(x)) * density(x, y)).sum() * 0.1**2

# %%
f = lambda x: 1.5 * x + 1
print(f'by the integral     {risk(f, squared, density):.4f}')
print(f'by the formula      {(2 - 1.5) ** 2 + 1**2 + s**2:.4f}')
print(f'mean loss           {squared(y_new, f(x_new)).mean():.4f}')
print(f'loss of the means   {squared(y_new.mean(), f(x_new.mean())):.4f}')

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# The last line compares the average prediction with the average label. Errors to both sides cancel in it. The risk is the
# average of the losses, not the loss of the averages.
# :::
#
# Instead of $\mathcal{D}$ we have a sample $S$ of $|S| = n$ examples. The **empirical risk** is the average loss over it:
#
# ```{math}
# :label: ml.ms.empirical.def
# L_S(f) = \frac{1}{|S|} \sum_{(\mathbf{x}, y) \in S} \ell(y, f(\mathbf{x})) .
# ```
#
# The sample is a list: an example that is drawn twice counts twice. On the sample that $f$ was fitted to, $L_S(f)$ is called
# the **training error**. The empirical risk is a *statistic*, a function of the data alone: if two distributions happen to
# yield the same data, it is the same number. The risk is a function of the distribution, which we do not know.
#
# Data and distribution are connected by the assumption that training and test examples are *i.i.d.*: all from the *same*
# distribution, and all *independent*. Either half can fail. To see whether two samples come from one distribution, we can
# compare their inputs by a Kolmogorov–Smirnov test at the level 5 %:

# %% tags=["hide-input"]
def fair(rng):
    return draw(rng, 40), draw(rng, 40)

def shifted(rng):
    x, y = draw(rng, 40)
    return draw(rng, 40), (x + 1, y + 2)  # the line is the same

def copied(rng):
    train = draw(rng, 40)
    return train, train

def alarms(seed, split, R=100):
    rng = np.random.default_rng(seed)
    pairs = (split(rng) for _ in range(R))
    return np.mean([ks_2samp(train[0], test[0], method='asymp').pvalue < 0.05 for train, test in pairs])

print('test sample     test rejects   loss of the memorizer')
for name, split in {'fair': fair, 'shifted by 1': shifted, 'a copy': copied}.items():
    (x, y), (x_test, y_test) = split(np.random.default_rng(0))
    print(f'{name:13} {100 * alarms(0, split):6.0f} of 100 {squared(y_test, memorizer(x, y)(x_test)).mean():14.2f}')

# %% [markdown]
# The test notices that the inputs were shifted. It does not notice that the test sample is a *copy* of the training sample,
# although the score is then worthless.
#
# ### The test error of a fixed model is unbiased
#
# How far is $L_S(f)$ from $L_{\mathcal{D}}(f)$? All that follows depends on one hypothesis: $f$ must not depend on $S$.
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
# :class: dropdown
# With $f$ fixed, the losses $\ell_i = \ell(y_i, f(\mathbf{x}_i))$ are independent draws of one random variable with
# mean $L_{\mathcal{D}}(f)$. Their average has that mean, converges by the strong law, and has variance $\tau^2/n$. If
# $f$ is itself random but independent of $S$ (fitted to other data, say), all this holds given $f$.
# ````
#
# How likely is a large deviation? Let $S_{\text{test}}$ be a sample that was not used to find $f$, and let all losses
# lie in $[a, b]$. We solve [Hoeffding's inequality](../probability/concentration.ipynb) for the radius. For every
# $0 < \delta < 1$,
#
# ```{math}
# :label: ml.ms.gap.claim
# \Pr\bigg[ \big| L_{\mathcal{D}}(f) - L_{S_{\text{test}}}(f) \big| \ge
# \sqrt{\frac{(b - a)^2 \ln(2/\delta)}{2\,|S_{\text{test}}|}} \, \bigg] \le \delta .
# ```

# %%
def gap_bound(N, delta, a=0, b=1):
    return (b - a) * np.sqrt(np.log(2 / delta) / (2 * N))

for N in (100, 1000, 10_000):
    print(f'{N:6} test examples: error rate known to ± '
          f'{gap_bound(N, 0.05):.4f} with probability 95 %')

# %% [markdown]
# What if $f$ does depend on $S$? Take the 0–1 loss and the classifier "positive if $x > t$" for the sign of $y$, with
# samples of 20. First $t = 0.3$ is fixed. Then we choose $t$ among 41 thresholds so that it makes the fewest errors on the
# sample. We know the risk of each threshold, so we can compute the gap $L_S(f) - L_{\mathcal{D}}(f)$:

# %%
thresholds = np.linspace(-2, 2, 41)
risks = 0.5 - 2 * owens_t(thresholds, 2 / s)  # Owen's function
x, y = draw(np.random.default_rng(6), (4000, 20))
errors = ((x[..., None] > thresholds) != (y[..., None] > 0)).mean(axis=1)
still = abs(thresholds - 0.3).argmin()

# %%
gap_fixed = errors[:, still] - risks[still]  # (4000,)
gap_best = errors.min(axis=1) - risks[errors.argmin(axis=1)]
for name, gap in {'t fixed': gap_fixed, 't chosen': gap_best}.items():
    print(f'{name:9} mean gap {gap.mean():7.4f}, below zero in '
          f'{np.mean(gap < 0):.2f} of the samples')

# %% mystnb={"image": {"alt": "Left: empirical risks of one fixed line along eight growing samples close in on its risk, inside a band that narrows like one over root n. Right: histograms of the gap for samples of 20. For a fixed threshold it is centred at zero, and nearly all samples are inside the Hoeffding interval; for the threshold chosen on the sample it lies to the left."}} tags=["hide-input"]
sizes = np.unique(np.geomspace(5, 5000, 120).astype(int))
x, y = draw(np.random.default_rng(7), (8, 5000))
running = (squared(y, 1.5 * x).cumsum(axis=1) / np.arange(1, 5001))
running, level = running[:, sizes - 1], 0.5**2 + s**2
spread = level * np.sqrt(2 / sizes)  # losses are level times chi-squared
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

# %% [markdown] tags=["caption"]
# Left: the empirical risk of a fixed line closes in on its risk like $1/\sqrt{n}$. Right: a threshold $t$ chosen on the same
# 20 examples looks better than it is.

# %% [markdown]
# The gap of the fixed threshold has mean zero. The chosen one looks better than it is in nine of ten samples, and
# {eq}`ml.ms.gap.claim` says nothing about it.
#
# ```{exercise} ★ Pencil: a model moves house
# :label: generalization-moves
# The line $f(x) = ax + b$ is used where inputs have mean $m$ and variance $v$; labels are still $y = 2x + e$ with $e$ of
# variance $s^2 = 0.7^2 = 0.49$. Give its risk there under the squared loss, `risk_elsewhere(a, b, m, v)`.
# ```

# %%
def risk_elsewhere(a, b, m, v):
    """The expected squared loss of the line at its new place: a float.

    a, b: floats, slope and height of the line. m: float, the mean of the
    inputs, v: float >= 0, their variance. Noise has the variance 0.49.
    risk_elsewhere(1.0, 0.0, 0.0, 1.0) is 1.49.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_integration(a, b, m, v):  # over Gaussian inputs and noise, exact for squares
    nodes, weights = np.polynomial.hermite_e.hermegauss(4)
    x, e = np.meshgrid(m + np.sqrt(v) * nodes, 0.7 * nodes, indexing='ij')
    return weights @ squared(2 * x + e, a * x + b) @ weights / weights.sum() ** 2

houses = dict(
    a=on(1.0, 2.0) | scalars(-3, 3), b=on(0.0, 1.0) | scalars(-3, 3),
    m=on(0.0, 1.0) | scalars(-3, 3), v=on(1.0, 0.0) | scalars(0, 4),
)
grade(risk_elsewhere, by_integration, **houses)

# %% [markdown]
# ```{solution-start} generalization-moves
# :class: dropdown
# ```
# The error is $(2 - a)x - b + e$. Its mean is $(2 - a)m - b$, its variance $(2 - a)^2 v + s^2$, and a mean square is the
# squared mean plus the variance. Only lines with the true slope, $a = 2$, have the same risk everywhere, $b^2 + s^2$.
# Adding up the terms of {eq}`gen-toy-risk` with $m^2 + v$ for 1 forgets the product $-2(2 - a)mb$. The second wrong answer
# stays at home, the third forgets the noise, and the fourth takes the loss at the mean input for the mean loss.

# %% jupyter={"source_hidden": true}
def risk_elsewhere_solution(a, b, m, v):
    return ((2 - a) * m - b) ** 2 + (2 - a) ** 2 * v + 0.7**2

def product_forgotten(a, b, m, v):
    return (2 - a) ** 2 * (m**2 + v) + b**2 + 0.7**2

def at_home(a, b, m, v):
    return (2 - a) ** 2 + b**2 + 0.7**2

def without_noise(a, b, m, v):
    return ((2 - a) * m - b) ** 2 + (2 - a) ** 2 * v

def at_the_mean(a, b, m, v):
    return ((2 - a) * m - b) ** 2 + 0.7**2

assert grade(risk_elsewhere_solution, by_integration, **houses)
assert not grade(product_forgotten, by_integration, **houses)
assert not grade(at_home, by_integration, **houses)
assert not grade(without_noise, by_integration, **houses)
assert not grade(at_the_mean, by_integration, **houses)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
by_scipy = dblquad(lambda y, x: squared(y, 1.5 * x + 1) * density(x, y), -7, 7, -20, 20, epsabs=1e-6)[0]
assert close(risk(lambda x: 1.5 * x + 1, squared, density), by_scipy)
assert (abs(errors.mean(axis=0) - risks) < 5 * np.sqrt(0.25 / 80_000)).all()  # 4000 samples of 20
assert abs(gap_fixed.mean()) < 5 * gap_fixed.std() / np.sqrt(4000)
assert (abs(running - level) < 5 * spread).all()

def unpaired(x, y):
    return gauss.pdf(x) * gauss.pdf(y, 0, np.hypot(2, s))

def integral_is(a, b, density):
    want = (2 - a) ** 2 + b**2 + s**2
    return close(risk(lambda x: a * x + b, squared, density), want)

holds('dl.train-gen-error.risk-int', lambda a, b: integral_is(a, b, density),
      slip=('integrates as if x and y were independent', lambda a, b: integral_is(a, b, unpaired)),
      a=scalars(-3, 3), b=scalars(-3, 3), tries=15)

def wrong(t):  # risk of 'positive where x > t' under the 0-1 loss
    missed = quad(lambda x: gauss.pdf(x) * ndtr(2 * x / s), -9, t)[0]
    false = quad(lambda x: gauss.pdf(x) * ndtr(-2 * x / s), t, 9)[0]
    return missed + false

assert close([wrong(t) for t in thresholds], risks)

def count_off(t):  # difference of the shares called positive
    return abs(ndtr(t) - 0.5)

def near_frequency(seed, t, risk, R=4000):
    x, y = draw(np.random.default_rng(seed), R)
    share = ((x > t) != (y > 0)).mean()
    return abs(share - risk(t)) < 5 * np.sqrt(0.25 / R)

holds('ml.ms.generalization.def', lambda seed, t: near_frequency(seed, t, wrong),
      slip=('compares only how many are called positive', lambda seed, t: near_frequency(seed, t, count_off)),
      seed=seeds(), t=scalars(-2, 2), tries=60)

# %% tags=["checks"]
def zero_one(y, guess):
    return (y != guess) * 1.0

def empirical_risk(f, x, y, loss):
    return sum(loss(y_i, f(x_i)) for x_i, y_i in zip(x, y)) / len(x)

def as_a_set(x, y, f):
    pairs = np.unique(np.stack([x, y]), axis=1)  # (2, at most n)
    return empirical_risk(f, *pairs, zero_one)

halves = lambda x: 0.5 * x + 1
verify('the empirical risk is the mean squared error of scikit-learn',
       lambda x, y: close(empirical_risk(halves, x, y, squared), mean_squared_error(y, halves(x))),
       slip=('puts the mean input into the model',
             lambda x, y: close(empirical_risk(lambda _: halves(x.mean()), x, y, squared),
                                mean_squared_error(y, halves(x)))),
       x=vectors(4), y=vectors(4), tries=100)
holds('ml.ms.empirical.def',
      lambda x, y: close(empirical_risk(np.sign, x, y, zero_one), zero_one_loss(y, np.sign(x))),
      slip=('counts equal examples once, as a set does',
            lambda x, y: close(as_a_set(x, y, np.sign), zero_one_loss(y, np.sign(x)))),
      x=vectors(5).map(np.round), y=vectors(5).map(np.sign), tries=40)

def average_loss(x, y, a):
    return squared(y, a * x).mean()

def no_world(slope):
    return average_loss

def gap_to(slope):  # in the world y = slope x + e
    return lambda x, y, a: average_loss(x, y, a) - ((slope - a) ** 2 + s**2)

def is_statistic(seed, a, measure):
    rng = np.random.default_rng(seed)
    (x, y), other = draw(rng, 10), draw(rng, 10)
    here, elsewhere = measure(2)(x, y, a), measure(3)(x, y, a)
    return here == elsewhere and here != measure(2)(*other, a)

holds('dl.train-gen-error.remp-stat', lambda seed, a: is_statistic(seed, a, no_world),
      slip=('subtracts the risk, which depends on the distribution', lambda seed, a: is_statistic(seed, a, gap_to)),
      seed=seeds(), a=scalars(-3, 3))
at_most = 0.05 + 5 * np.sqrt(0.05 * 0.95 / 100)  # five standard errors above the level
verify('two samples from one distribution raise as few alarms as they should', lambda seed: alarms(seed, fair) < at_most,
       slip=('shifts the inputs of the test sample', lambda seed: alarms(seed, shifted) < at_most),
       seed=[0, 1, 2])

# %% tags=["checks"]
def gap_of_fixed(rng, x, y):  # 1000 samples in rows -> gaps L_S - L_D, (1000,)
    return ((y - 1.5 * x) ** 2).mean(axis=1) - (0.25 + s**2)

def gap_of_fitted(rng, x, y):
    a = (x * y).sum(axis=1) / (x**2).sum(axis=1)  # (1000,)
    train = ((y - a[:, None] * x) ** 2).mean(axis=1)
    return train - ((2 - a) ** 2 + s**2)

def gap_of_memorizer(rng, x, y):  # training error 0; risk from five new examples
    x_new, y_new = draw(rng, (len(x), 5))
    near = abs(x_new[:, :, None] - x[:, None]).argmin(axis=2)  # (1000, 5)
    guess = np.take_along_axis(y, near, axis=1)
    return -((y_new - guess) ** 2).mean(axis=1)

def gaps(method, n, seed):
    rng = np.random.default_rng([seed, n])
    return method(rng, *draw(rng, (1000, n)))

def is_fair(method, n, seed):
    gap = gaps(method, n, seed)
    return abs(gap.mean()) < 5 * gap.std() / np.sqrt(len(gap))

def rms_slope(method, seed):
    few, many = ((gaps(method, n, seed) ** 2).mean() for n in (16, 400))
    return np.log(many / few) / 2 / np.log(400 / 16)

# the losses are multiples of chi-squared variables, so an average of n has kurtosis 3 + 12/n
relative = [np.sqrt((2 + 12 / n) / 1000) / 2 for n in (16, 400)]
band = 5 * norm(relative) / np.log(400 / 16)
holds('ml.ms.empirical.unbiased', lambda n, seed: is_fair(gap_of_fixed, n, seed),
      slip=('fits the slope to the same sample', lambda n, seed: is_fair(gap_of_fitted, n, seed)),
      n=[8, 20], seed=seeds(), tries=60)
holds('ml.ms.empirical.lln', lambda seed: abs(rms_slope(gap_of_fixed, seed) + 1 / 2) < band,
      slip=('judges the memorizer by its training error',
            lambda seed: abs(rms_slope(gap_of_memorizer, seed) + 1 / 2) < band),
      seed=[0, 1, 2])

def exceeded(N, p, eps):  # exact Pr[|share - p| >= eps]
    k = np.arange(N + 1)
    return binom.pmf(k, N, p)[abs(k / N - p) >= eps].sum()

def kept(N, p, delta, a, width, power):
    eps = gap_bound(N, delta, a, a + width**power)
    return exceeded(N, p, eps / width) <= delta

holds('ml.ms.gap.claim', lambda **case: kept(**case, power=1),
      slip=('takes the root of the range of losses', lambda **case: kept(**case, power=1 / 2)),
      N=integers(1, 200), p=scalars(0.05, 0.95), delta=[0.9, 0.5, 0.01, 1e-6], a=scalars(-3, 3), width=[0.5, 1, 4])

# %% tags=["checks"]
def answers(seed, n, power):  # by lstsq, and by distances one by one
    x, y = draw(np.random.default_rng(seed), n)
    q = np.linspace(-2, 2, 7)
    slope = lstsq(x[:, None], y, rcond=None)[0]
    near = [min(range(n), key=lambda i: (q_i - x[i]) ** power) for q_i in q]
    return close(line(x, y)(q), slope * q) and close(memorizer(x, y)(q), y[near])

verify('the line is that of least squares, the memorizer answers with the nearest label',
       lambda seed, n: answers(seed, n, 2),
       slip=('forgets to square the distance', lambda seed, n: answers(seed, n, 1)),
       seed=seeds(), n=integers(1, 30), tries=50)

# %% [markdown]
# ## Why the training error of a fitted model is too low
#
# Now we fit. Least squares with $p = 5$ weights gets $n$ examples with standard normal features and noise of variance 1.
# Here are the averages of training error and risk over 2000 samples:

# %%
def fits(rng, n, p, R, sigma=1.0):  # R samples at once
    X, e = rng.normal(size=(R, n, p)), rng.normal(0, sigma, (R, n, 1))
    d = np.linalg.solve(X.mT @ X, X.mT @ e)  # (R, p, 1), w_S - w
    train = ((e - X @ d) ** 2).mean(axis=(1, 2))
    risk = sigma**2 + (d**2).sum(axis=(1, 2))
    return train, risk, (e**2).mean(axis=(1, 2))  # the last for w itself

# %%
for n in (8, 12, 24, 100, 1000):
    train, risk, _ = fits(np.random.default_rng(n), n, 5, 2000)
    print(f'{n:4} examples: training error {train.mean():.3f}, '
          f'risk {risk.mean():.3f}')

# %% [markdown]
# The training error lies below the variance of the noise, the risk above it, and both approach it as $n$ grows. This order,
# and the rise of the training error, are the same for every class of models and every loss:
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
# :class: dropdown
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
# The idea: the best model of the class is fixed, and the fitted model does at least as well as it on the sample. The risk is
# less orderly. For some models it does not fall with every further example {cite}`loog2019minimizers`.
#
# For least squares with Gaussian features we can compute both sides. Let $y = \mathbf{w}^\top\mathbf{x} + e$ with
# $\mathbf{x} \sim \mathcal{N}(\mathbf{0}, \boldsymbol\Sigma)$ of $p$ features and independent noise $e \sim
# \mathcal{N}(0, \sigma^2)$. No bias is fitted.
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
# :class: dropdown
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

# %%
def exact(n, p, sigma):  # expected training error and risk
    return sigma**2 * np.array([1 - p / n, (n - 1) / (n - p - 1)])

for n in (8, 12, 24, 100, 1000):
    train, risk = exact(n, 5, 1)
    print(f'{n:4} examples: training error {train:.3f}, risk {risk:.3f}, '
          f'1 + p/n = {1 + 5 / n:.3f}')

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# It is tempting to mirror the training error and to expect the risk $\sigma^2(1 + p/n)$. That is right for new labels at the
# *old* inputs. New inputs cost more: for $n = 8$ the risk is 3.5, not 1.625.
# :::
#
# ### How fast the gap between training error and risk closes
#
# Let $\mathbf{w}$ be the true weights. We split the gap into two parts:
#
# ```{math}
# :label: gen-two-parts
# \begin{aligned}
# L_{\mathcal{D}}(\mathbf{w}_S) - L_S(\mathbf{w}_S) &= \underbrace{\sigma^2 - L_S(\mathbf{w})}_{\text{luck}} \\
# &\quad + \underbrace{\big( L_{\mathcal{D}}(\mathbf{w}_S) - \sigma^2 \big) + \big( L_S(\mathbf{w}) - L_S(\mathbf{w}_S)
# \big)}_{\text{optimism}} .
# \end{aligned}
# ```
#
# *Luck* is the gap of a fixed model: it has mean zero and the size $\sigma^2\sqrt{2/n}$. *Optimism* comes from fitting. It
# is a sum of two terms that are never negative, and by {eq}`gen-exact` its mean is $\sigma^2\big(\frac{p}{n} + \frac{p}{n -
# p - 1}\big) \approx 2\sigma^2 p/n$. So the part that fitting adds falls like $1/n$, and luck falls only like $1/\sqrt n$.
# They are equally large near $n = 2p^2$.

# %% tags=["hide-input"]
def parts(n, p, seed, R=400):  # rms luck, mean optimism
    train, risk, own = fits(np.random.default_rng([seed, n]), n, p, R)
    return np.sqrt(((1 - own) ** 2).mean()), (risk - 1 + own - train).mean()

def optimism(n):
    return 5 / n + 5 / (n - 6)

grid, spans = np.array([12, 16, 24, 40, 80, 160, 320]), 2 ** np.arange(4, 12)
curves = np.array([[[np.mean(v) for v in fits(np.random.default_rng([seed, n]), n, 5, 40)[:2]]
                    for n in grid] for seed in range(5)])  # (5, 7, 2)
measured_parts = np.array([[parts(n, 5, seed, R=60) for n in spans] for seed in range(3)])  # (3, 8, 2)
print('   n  luck (rms), theory   optimism (mean), theory')
for n, (luck, mean) in list(zip(spans, measured_parts.mean(axis=0)))[::2]:
    print(f'{n:4} {luck:10.4f} {np.sqrt(2 / n):9.4f} {mean:15.4f} {optimism(n):9.4f}')

# %% mystnb={"image": {"alt": "Left: training error rises and risk falls towards one as the sample grows; averages of five simulations lie on the exact curves, the risk far steeper at few examples. Right: luck and optimism against sample size on logarithmic axes, straight lines of slopes minus one half and minus one that cross near fifty."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
fine = np.geomspace(10, 320, 200)
for k, name in enumerate(('training error', 'risk')):
    left.plot(fine, exact(fine, 5, 1)[k], color=f'C{k}', label=name)
    left.plot(grid, curves[..., k].T, '.', color=f'C{k}', ms=4)
left.axhline(1, color=GREY, lw=0.8, ls=':')
left.set(xscale='log', ylim=(0, 2.6), xlabel='sample size n', ylabel='squared loss / σ²', title='p = 5 features')
left.legend()
for k in range(2):
    right.loglog(spans, measured_parts[..., k].T, '.', color=f'C{k + 2}')
right.loglog(spans, np.sqrt(2 / spans), color='C2', label='luck (rms)')
right.loglog(spans, optimism(spans), color='C3', label='optimism (mean)')
right.set(xlabel='sample size n', title='Two parts of the gap')
right.legend();

# %% [markdown] tags=["caption"]
# Left: training error and risk of least squares approach the variance of the noise from both sides. Right: the part of the
# gap that fitting adds falls like $1/n$, luck only like $1/\sqrt{n}$.

# %% [markdown]
# With enough data and a simple model, training error and risk are close:
#
# ```{math}
# :label: dl.complexity.simple-abundant
# \mathbb{E}\big[ L_{\mathcal{D}}(\mathbf{w}_S) - L_S(\mathbf{w}_S) \big] \to 0 \qquad (n \to \infty, \; p \text{ fixed}).
# ```
#
# How much is enough depends on $p$. If the model grows with the data, $p = n/4$, the expected gap does not close. It tends
# to $\frac14 + \frac13 \approx 0.58$ times $\sigma^2$:

# %%
def mean_gap(seed, n, p):
    train, risk, _ = fits(np.random.default_rng(seed), n, p, 100)
    return (risk - train).mean()

for n in (24, 96, 384):
    print(f'n = {n:3}: mean gap {mean_gap(0, n, 4):.4f} for p = 4, '
          f'{mean_gap(0, n, n // 4):.4f} for p = {n // 4}')

# %% [markdown]
# The remedy for a training error that is too low is a **test set** $T$, withheld from training. On average over all such
# test sets, with the training sample $S$ as it is,
#
# ```{math}
# :label: dl.train-gen-error.estimate
# \mathbb{E}_T\big[ L_T(\mathbf{w}_S) \big] = L_{\mathcal{D}}(\mathbf{w}_S) .
# ```
#
# This is {eq}`ml.ms.empirical.unbiased` once more, with $\mathbf{w}_S$ as the fixed model. It fails as soon as some test
# examples were used for training, too.

# %% [markdown]
# ```{exercise} ★★★ Pencil: with a bias
# :label: generalization-bias
# Now let $y = \mathbf{w}^\top\mathbf{x} + b + e$, where $\mathbf{x}$ is Gaussian with an unknown mean and an invertible
# covariance, and fit a bias, too. Derive the expected training error and the expected risk for $\sigma = 1$, and write
# `with_bias(n, p)`, the two numbers.
# ```

# %%
def with_bias(n, p):
    """The expected training error and the expected risk: float array (2,).

    p: int >= 1, the number of features. n: int >= p + 3, of examples.
    with_bias(4, 1) is [0.5, 2.5].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_leaving_out(n, p):  # one of n + 1 examples: 1 / (1 - leverage), on average
    a, b = (n - p) / 2, p / 2
    inverse = np.exp(betaln(a - 1, b) - betaln(a, b))  # of a beta variable
    constant = n / (n + 1)  # the part of the constant column in 1 - leverage
    return np.array([chi2(n - p - 1).mean() / n, inverse / constant])

with_bias_cases = dict(
    n=lambda p: on(p + 3, p + 4) | integers(p + 3, 60), p=on(1, 2) | integers(1, 9))
grade(with_bias, by_leaving_out, **with_bias_cases)

# %% [markdown]
# ```{solution-start} generalization-bias
# :class: dropdown
# ```
# Now $p + 1$ parameters are fitted, so the training error is $1 - (p + 1)/n$. Centring removes the bias and one row's
# worth of freedom. For multiply the rows of inputs by an orthogonal $n \times n$ matrix whose first row is constant. The
# result is again $n$ independent Gaussian rows, the first is $\sqrt n\,\bar{\mathbf{x}}$, and the other $n - 1$ have mean
# zero and the same scatter as the centred inputs. So the scatter is independent of $\bar{\mathbf{x}}$ and that of $n - 1$
# independent examples. The prediction for a new $\mathbf{x}$ is $\bar y + \mathbf{w}_S^\top(\mathbf{x} -
# \bar{\mathbf{x}})$. The new noise costs 1, the mean noise $1/n$, and $\mathbf{x} - \bar{\mathbf{x}}$, independent of
# $\mathbf{w}_S$, has covariance $(1 + \frac1n)\boldsymbol\Sigma$. In total $(1 + \frac1n)\big(1 + \frac{p}{n - p - 2}\big) =
# (1 + \frac1n)\frac{n - 2}{n - p - 2}$. Replacing $p$ by $p + 1$ in {eq}`gen-exact` is wrong, though not by much: a column
# of ones is not Gaussian. The second wrong answer takes the mean for known, the third does not count the bias in the
# training error, and the fourth forgets that $n - 1$ rows are left. (The grader leaves out one of $n + 1$ examples, which is
# a new example for the others.)

# %% jupyter={"source_hidden": true}
def with_bias_solution(n, p):
    risk = (1 + 1 / n) * (n - 2) / (n - p - 2)
    return np.array([1 - (p + 1) / n, risk])

def one_more_feature(n, p):
    return np.array([1 - (p + 1) / n, (n - 1) / (n - p - 2)])

def mean_known(n, p):
    return np.array([1 - (p + 1) / n, (n - 2) / (n - p - 2)])

def bias_not_counted(n, p):
    return np.array([1 - p / n, with_bias_solution(n, p)[1]])

def all_rows_left(n, p):
    return np.array([1 - (p + 1) / n, (1 + 1 / n) * (n - 1) / (n - p - 1)])

assert grade(with_bias_solution, by_leaving_out, **with_bias_cases)
assert not grade(one_more_feature, by_leaving_out, **with_bias_cases)
assert not grade(mean_known, by_leaving_out, **with_bias_cases)
assert not grade(bias_not_counted, by_leaving_out, **with_bias_cases)
assert not grade(all_rows_left, by_leaving_out, **with_bias_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
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
       lambda seed: rises(seed, 0),
       slip=('takes the errors on the examples left out',
             lambda seed: rises(seed, 1)),
       seed=seeds(), tries=40)

def mirrored(n, p, sigma):
    return sigma**2 * np.array([1 - p / n, 1 + p / n])

def agrees(seed, n, p, sigma, law, R=1000):
    seen = fits(np.random.default_rng(seed), n, p, R, sigma)[:2]
    error = np.std(seen, axis=1) / np.sqrt(R)
    off = abs(np.mean(seen, axis=1) - law(n, p, sigma))
    return bool((off < 5 * error).all())

verify('expected training error and risk of least squares',
       lambda **case: agrees(**case, law=exact),
       slip=('takes 1 + p/n for the risk, too',
             lambda **case: agrees(**case, law=mirrored)),
       seed=seeds(), n=[12, 24, 40], p=[1, 3, 6], sigma=[0.5, 2.0], tries=60)

def slopes(seed, p=5):
    near, far = parts(80, p, seed), parts(640, p, seed)
    return np.log(np.divide(far, near)) / np.log(8)

def measured(seed, which, rate, spread):
    band = 5 * spread * np.sqrt(2 / 400) / np.log(8)
    return abs(slopes(seed)[which] - rate) < band

expected = np.log(optimism(640) / optimism(80)) / np.log(8)  # near -1

verify('luck falls like n^(-1/2)',
       lambda seed: measured(seed, 0, -1 / 2, np.sqrt(1 / 2)),
       slip=('lets luck fall like 1/n',
             lambda seed: measured(seed, 0, expected, np.sqrt(1 / 2))),
       seed=[0, 1])

verify('optimism falls like 1/n',
       lambda seed: measured(seed, 1, expected, np.sqrt(2 / 5)),
       slip=('lets optimism fall like 1/√n',
             lambda seed: measured(seed, 1, -1 / 2, np.sqrt(2 / 5))),
       seed=[0, 1])

# %% tags=["checks"]
def closes(seed, size):  # four times the data, at most half of the gap
    first, second, third = (mean_gap(seed, n, size(n)) for n in (24, 96, 384))
    return second < first / 2 and third < second / 2

def on_test_sets(seed, leaked, R=1000):  # of one fit, on R test sets of 20
    rng = np.random.default_rng(seed)
    X, e = rng.normal(size=(15, 4)), rng.normal(size=15)
    d = lstsq(X, e, rcond=None)[0]
    X_new, e_new = rng.normal(size=(R, 20, 4)), rng.normal(size=(R, 20))
    rows = rng.integers(15, size=(R, leaked))
    X_new[:, :leaked], e_new[:, :leaked] = X[rows], e[rows]
    return ((e_new - X_new @ d) ** 2).mean(axis=1), 1 + d @ d

def honest(seed, leaked):
    scores, risk = on_test_sets(seed, leaked)
    return abs(scores.mean() - risk) < 5 * scores.std() / np.sqrt(1000)

holds('dl.complexity.simple-abundant', lambda seed: closes(seed, lambda n: 4),
      slip=('lets the features grow with the examples',
            lambda seed: closes(seed, lambda n: n // 4)),
      seed=[0, 1])

holds('dl.train-gen-error.estimate', lambda seed: honest(seed, 0),
      slip=('mixes training examples into the test sets',
            lambda seed: honest(seed, 10)),
      seed=seeds(), tries=60)

# %% [markdown]
# ## Overfitting and the U-shaped curve: how many features?
#
# More features fit better. Do they predict better? Here is a linear model with three strong features (weight 1.5) and 17
# weak ones (weight 0.15), all independent and standard normal, with noise of variance 1. Model $q$ uses the first $q$ of
# them. We fit each to 400 samples of $n = 40$ examples:

# %%
w, sigma = np.array([1.5] * 3 + [0.15] * 17), 1.0

def fit_first(X, y, k):  # the first k columns -> (R, 20) weights
    A, v = X[..., :k], np.zeros((len(X), 20))
    v[:, :k] = np.linalg.solve(A.mT @ A, A.mT @ y)[..., 0]
    return v

# %%
def nested_fits(seed, n, R):  # training errors, risks, errors on 20 more
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(R, n + 20, 20))
    y = X @ w[:, None] + rng.normal(0, sigma, (R, n + 20, 1))
    train, risk, fresh = np.empty((3, R, 21))
    for k in range(21):
        v = fit_first(X[:, :n], y[:, :n], k)
        errors = ((y - X @ v[..., None]) ** 2)[..., 0]  # (R, n + 20)
        train[:, k] = errors[:, :n].mean(axis=1)
        fresh[:, k] = errors[:, n:].mean(axis=1)
        risk[:, k] = sigma**2 + ((w - v) ** 2).sum(axis=1)
    return train, risk, fresh

# %%
train, risk, _ = (v.mean(axis=0) for v in nested_fits(0, 40, 400))
for k in (1, 2, 3, 8, 14, 20):
    print(f'{k:2} features: training error {train[k]:5.2f}, '
          f'risk {risk[k]:5.2f}, gap {risk[k] - train[k]:.2f}')

# %% [markdown]
# The training error falls with every feature. The risk falls up to three features and then rises. Why? What the features
# outside model $q$ contribute to $y$ looks to the model exactly like further noise. So its effective noise has the variance
#
# $$ \sigma_q^2 = \sigma^2 + \sum_{j > q} w_j^2 , $$
#
# and {eq}`gen-exact` applies with $\sigma_q$ for $\sigma$ and $q$ for $p$:
#
# ```{math}
# :label: gen-u-shape
# \mathbb{E}\,[L_S] = \sigma_q^2 \Big(1 - \frac qn\Big) , \qquad
# \mathbb{E}\,[L_{\mathcal{D}}] = \underbrace{\sigma_q^2}_{\text{misfit, falls}} \cdot
# \underbrace{\frac{n - 1}{n - q - 1}}_{\text{price of fitting, rises}} .
# ```
#
# The U-shaped curve is the product of a falling and a rising factor.

# %%
q = np.arange(21)

def expected_curves(n):  # training error and risk of models 0 to 20
    left_out = np.append(np.cumsum(w[::-1] ** 2)[::-1], 0)  # (21,)
    variance = sigma**2 + left_out
    return variance * (1 - q / n), variance * (n - 1) / (n - q - 1)

for n in (40, 120):
    risk = expected_curves(n)[1]
    print(f'{n:3} examples: least expected risk {risk.min():.2f} '
          f'with {risk.argmin()} features')

# %% mystnb={"image": {"alt": "Training error and risk against the number of features, for 40 and for 120 examples. Both fall steeply up to three features. Then the training error keeps falling. The risk turns upwards with 40 examples, and falls on, slightly, with 120. Bands from single training sets surround both."}} tags=["hide-input"]
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

# %% [markdown] tags=["caption"]
# Each further feature lowers the training error. With 40 examples the weak features after the third raise the risk; with 120
# they lower it a little.

# %% [markdown]
# For $n > q + 2$ we multiply out when feature $q + 1$ pays for itself:
#
# ```{math}
# :label: gen-pays
# \frac{(n - 1) \, \sigma_{q+1}^2}{n - q - 2} < \frac{(n - 1) \, \sigma_q^2}{n - q - 1} \iff
# w_{q+1}^2 > \frac{\sigma_q^2}{n - q - 1} .
# ```
#
# A true but weak feature is better left out as long as examples are few.
#
# (dl.complexity.complex-few)=
# A common rule says that a more complex model, or fewer examples, lower the training error and raise the generalization
# error. The second half is not true of every complex model. With more features $L_S$ falls on every sample, but the expected
# risk falls as long as features pay, and rises only afterwards. With fewer examples ($q \ge 1$, $n > q + 1$) the expected
# training error falls, and the expected risk and the gap rise.
#
# The **generalization gap** $\big| L_{\mathcal{D}}(f) - L_S(f) \big|$ does not always grow with complexity, either. Its mean
# is $\sigma_q^2 \big( \frac{q}{n} + \frac{q}{n - q - 1} \big)$. In the table above it falls from two features to three,
# because $\sigma_q^2$ falls by a larger factor than the bracket rises. From the third feature on it grows.
#
# ### Overfitting: closer to the data than to the distribution
#
# A model *overfits* if it is closer to the training data than to the distribution that they come from. Here are two
# polynomials, fitted to the same twelve points of a cubic curve with noise:

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

# %%
x12, y12, follower = polynomial(2, 12, 11)
suitable = polynomial(2, 12, 3)[2]
for name, f in {'degree 3': suitable, 'degree 11': follower}.items():
    print(f'{name:9}  largest residual {abs(f(x12) - y12).max():.2f},'
          f'  risk {curve_risk(f):.3f}')

# %% mystnb={"image": {"alt": "Twelve noisy points. A cubic passes smoothly between them, close to the true curve. A polynomial of degree eleven passes through every point and swings far away between the two leftmost."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.8))
x = np.linspace(-1, 1, 401)
ax.plot(x, cubic(x), color=GREY, ls='--', label='world')
ax.plot(x, suitable(x), color='C0', label='degree 3')
ax.plot(x, follower(x), color='C1', label='degree 11')
ax.plot(x12, y12, 'o', color='C2')
ax.set(xlabel='x', ylabel='y', ylim=(-8, 6))
ax.legend(loc='lower right');

# %% [markdown] tags=["caption"]
# Degree 11 has no error on its twelve points and swings away between them; degree 3 misses the points a little and stays
# close to the truth.

# %% [markdown]
# ### Choosing a model: the score of the winner is too low
#
# What we look for is a pattern that carries over to examples that were not used to find it. The training error cannot find
# it: it always chooses 20 features. So we choose by the error on 20 fresh examples. But the error of the *winner* on these
# 20 is a minimum over a class on a sample, and too low on average by {prf:ref}`thm-gen-flattery`:

# %%
def chosen(seed, by):  # training error, risk, fresh error of the winner
    runs = nested_fits(seed, 40, 400)
    winner = runs[by].argmin(axis=1)[:, None]
    return [np.take_along_axis(v, winner, axis=1)[:, 0] for v in runs]

for name, by in {'training error': 0, 'fresh examples': 2}.items():
    _, risk, fresh = (v.mean() for v in chosen(0, by))
    print(f'chosen by {name}: risk {risk:.3f}, on the fresh {fresh:.3f}')

# %% [markdown]
# A score for the winner needs data that had no part in the choice. How much a choice spoils the score is the subject of
# [model selection](model_selection.ipynb).
#
# ```{exercise} ★★ Program: when does a feature pay?
# :label: generalization-pays
# Model $q$ has effective noise variance $v = \sigma_q^2$, fitted to $n$ examples. A further feature is on offer, *not*
# standardized: it is independent of the others, with variance $u$. How large must its weight be, in absolute value, for
# the expected risk to fall? Write `least_weight(v, u, n, q)`.
# ```

# %%
def least_weight(v, u, n, q):
    """The absolute weight from which on the feature pays: a float.

    v, u: floats > 0, the effective noise variance without the feature and
    the variance of the feature. q: int >= 0, the features so far.
    n: int >= q + 3, the examples.
    least_weight(1.0, 1.0, 10, 0) is 0.3333, to four decimals.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def least_weight_by_search(v, u, n, q):
    before = v * (n - 1) / (n - q - 1)
    after = lambda t: (v - u * t**2) * (n - 1) / (n - q - 2)
    return brentq(lambda t: after(t) - before, 0, np.sqrt(v / u), xtol=1e-14)

offers = dict(
    v=on(1.0, 2.0) | scalars(0.1, 9), u=on(1.0, 0.25) | scalars(0.1, 9),
    n=lambda q: on(q + 3, 10 + q) | integers(q + 3, 60), q=on(0, 1) | integers(0, 9),
)
grade(least_weight, least_weight_by_search, **offers)

# %% [markdown]
# ```{solution-start} generalization-pays
# :class: dropdown
# ```
# With weight $t$ the feature removes $ut^2$ from the effective noise. The risk falls if $(v - ut^2)(n - q - 1) < v(n -
# q - 2)$, that is $ut^2 > v/(n - q - 1)$: {eq}`gen-pays` with $ut^2$ for the squared weight. The first wrong answer asks only
# that the weight exceed its own standard error $\sqrt{v/(un)}$, as if the other $q$ weights cost nothing. The second takes
# the feature for standardized, the third counts the new weight twice, and the fourth is the square of the weight.

# %% jupyter={"source_hidden": true}
def least_weight_solution(v, u, n, q):
    return np.sqrt(v / (u * (n - q - 1)))

def one_standard_error(v, u, n, q):
    return np.sqrt(v / (u * n))

def standardized_feature(v, u, n, q):
    return np.sqrt(v / (n - q - 1))

def counted_twice(v, u, n, q):
    return np.sqrt(v / (u * (n - q - 2)))

def squared_weight(v, u, n, q):
    return v / (u * (n - q - 1))

assert grade(least_weight_solution, least_weight_by_search, **offers)
assert not grade(one_standard_error, least_weight_by_search, **offers)
assert not grade(standardized_feature, least_weight_by_search, **offers)
assert not grade(counted_twice, least_weight_by_search, **offers)
assert not grade(squared_weight, least_weight_by_search, **offers)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: more features than examples
# :label: generalization-beyond
# Let $y$ be the sum of 200 independent standard normal features, each with the weight $3 / \sqrt{200}$, and noise of
# variance 1. Fit $n = 40$ examples with the first $q$ features by `lstsq`, which takes the shortest weights if there are
# many solutions. Sort $q = 10$, $40$ and $200$ by the median risk over many samples, the best first: predict, then measure.
# ```

# %%
def order_of_models():
    """The numbers 10, 40 and 200, the model with the least risk first: a list.

    For example [10, 40, 200].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def risk_with(q, rng):
    X, truth, v = rng.normal(size=(40, 200)), np.full(200, 3 / np.sqrt(200)), np.zeros(200)
    v[:q] = lstsq(X[:, :q], X @ truth + rng.normal(size=40), rcond=None)[0]
    return 1 + ((v - truth) ** 2).sum()

beyond = {q: np.array([risk_with(q, np.random.default_rng(seed)) for seed in range(60)])
          for q in (10, 40, 200)}

def is_measured(order):
    if sorted(order) != sorted(beyond):
        raise ValueError('give the numbers 10, 40 and 200 in some order')
    if list(order) != sorted(beyond, key=lambda q: np.median(beyond[q])):
        raise ValueError('another order is measured; try the three')
    return True

grade(lambda: is_measured(order_of_models()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} generalization-beyond
# :class: dropdown
# ```
# At $q = n$ the fit must pass through all examples and has no choice how, so it needs huge weights. With 200 features it
# passes through them, too, but among the many ways to do so it takes the one with the shortest weights, which are harmless.
# So the risk rises towards $q = n$ and falls again beyond: **double descent** {cite}`belkin2019reconciling`. It is no law
# that the largest model wins. Here all features are equally useful, and ten of them leave most of $y$ unexplained.

# %% jupyter={"source_hidden": true}
for q_beyond, values in beyond.items():
    print(f'{q_beyond:3} features: median risk {np.median(values):.1f}')
assert grade(lambda: is_measured([200, 10, 40]), lambda: True, [()])
assert not grade(lambda: is_measured([10, 40, 200]), lambda: True, [()])  # the U goes on rising
assert not grade(lambda: is_measured([10, 200, 40]), lambda: True, [()])
assert not grade(lambda: is_measured([200, 40, 10]), lambda: True, [()])  # the more the better
assert not grade(lambda: is_measured([200, 10]), lambda: True, [()])

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
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
       slip=('leaves out the last feature of each model',
             lambda seed, n: u_shape(seed, n, np.abs(q - 1))),
       seed=[0, 1], n=[40, 120])

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

def mean_gaps(seed, own_sample):  # after 3, 8, 14 and 20 features
    train, risk, fresh = nested_fits(seed, 24, 400)
    return abs(risk - (train if own_sample else fresh)).mean(axis=0)[[3, 8, 14, 20]]

def gap_grows(seed, own_sample):
    gap = mean_gaps(seed, own_sample)
    return bool((np.diff(gap) > 0.8 * gap[0]).all())

holds('dl.complexity.complex-few', lambda seed: follows(seed, 3),
      slip=('lets the risk rise from the first feature on',
            lambda seed: follows(seed, 0)),
      seed=[0, 1])

verify('from the third feature on the gap grows', lambda seed: gap_grows(seed, True),
      slip=('measures the gap on fresh examples',
            lambda seed: gap_grows(seed, False)),
      seed=[0, 1])

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

# %% tags=["checks"]
def beats_training_error(seed, vote):
    by_training, by_vote = (chosen(seed, v)[1] for v in (0, vote))
    better = by_training - by_vote
    return better.mean() > 5 * better.std() / np.sqrt(400)

def flatters(seed, vote):  # judged by the 20 fresh examples
    _, risk, fresh = chosen(seed, vote)
    off = risk - fresh
    return off.mean() > 5 * off.std() / np.sqrt(400)

verify('fresh examples choose better than the training error', lambda seed: beats_training_error(seed, 2),
      slip=('chooses by the training error',
            lambda seed: beats_training_error(seed, 0)),
      seed=[0, 1])

verify('the least error of a vote is too low', lambda seed: flatters(seed, 2),
       slip=('chooses by training error, not by the fresh examples',
             lambda seed: flatters(seed, 0)),
       seed=[0, 1])

# %% [markdown]
# ## Training, validation and test sets: 442 patients
#
# (dl.train-gen-error.never-exact)=
# For real data we do not know $p(\mathbf{x}, y)$, so the risk can never be measured exactly. We estimate it on examples that
# are withheld. We divide the [diabetes patients](linear_regression.ipynb) at random into a part for training and a part for
# testing. If several models compete, a third part, the *validation set*, chooses between them, and the error on it is the
# *validation error*.

# %%
X, y, _ = diabetes()

def deal(rng, sizes):  # disjoint rows
    return np.split(rng.permutation(442), np.cumsum(sizes)[:-1])

def fit_line(X, y):
    ones = np.ones_like(X[:, 0])
    theta = lstsq(np.column_stack([X, ones]), y, rcond=None)[0]
    return lambda X: X @ theta[:-1] + theta[-1]

def mse(f, rows):
    return ((y[rows] - f(X[rows])) ** 2).mean()

# %% [markdown]
# We compare four models: the mean of the training targets, the linear model, one with squares and products of the features
# (64 weights and a bias), and the memorizer. Features are standardized by the training part.

# %% tags=["hide-input"]
def by_mean(X, y):
    return lambda X_new: np.full(len(X_new), y.mean())

def standardized(learn):
    def fit(X, y):
        m, sd = X.mean(axis=0), X.std(axis=0)
        f = learn((X - m) / sd, y)
        return lambda X_new: f((X_new - m) / sd)
    return fit

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

models = {'the mean': by_mean, 'linear': standardized(fit_line),
          'with products': standardized(quadratic), 'memorizer': standardized(memorize)}

# %%
scores = np.empty((20, 4, 2))
for seed in range(20):
    train, test = deal(np.random.default_rng(seed), [332, 110])
    for k, learn in enumerate(models.values()):
        f = learn(X[train], y[train])
        scores[seed, k] = mse(f, train) ** 0.5, mse(f, test) ** 0.5
mean, spread = scores.mean(axis=0), scores[..., 1].std(axis=0)

# %%
worse = (scores[:, :, 1] > scores[:, [1], 1]).sum(axis=0)  # than linear
print('root mean squared error, 20 random divisions')
for k, name in enumerate(models):
    seen, new = mean[k]
    print(f'{name:13} training {seen:4.1f}   test {new:4.1f} '
          f'± {spread[k]:.1f}   worse than linear in {worse[k]}')

# %% [markdown]
# By training error the memorizer would be perfect. On new patients it is no better than a constant, because it pays for
# the noise of two patients, the old one's and the new one's. The 64 weights fit better than ten, and predict worse.
#
# The test error of the linear model is different in each division. A mean of 110 squared errors with standard deviation
# $\tau$ should have the spread $\tau/\sqrt{110}$:

# %%
def test_mse(seed):
    train, test = deal(np.random.default_rng(seed), [332, 110])
    return mse(fit_line(X[train], y[train]), test)

squares = (y - fit_line(X, y)(X)) ** 2  # (442,)

def spread_ratio(measure):
    values = [measure(seed) for seed in range(40)]
    return np.std(values) / (squares.std() / np.sqrt(110))

print(f'spread of 40 test errors / predicted: {spread_ratio(test_mse):.2f}')

# %% [markdown]
# ### The learning curve: would more patients help?
#
# Last, we fit the linear model to the first $n$ training patients, averaged over 100 divisions. In scikit-learn this is
# `learning_curve`:

# %%
sizes = np.array([20, 30, 50, 80, 130, 200, 330])
deals = [deal(np.random.default_rng(seed), [332, 110])
         for seed in range(100)]
_, train_errors, test_errors = (abs(v) for v in learning_curve(
    LinearRegression(), X, y, train_sizes=sizes, cv=deals,
    scoring='neg_mean_squared_error'))  # (7, 100)

# %% [markdown]
# We compare with {eq}`gen-exact` with a bias (the exercise above),
#
# $$ \sigma^2\Big(1 - \frac{11}{n}\Big) \quad\text{and}\quad \sigma^2 \Big(1 + \frac1n\Big) \frac{n - 2}{n - 12} , $$
#
# where the one number $\sigma^2$ comes from the residuals of all 442. The theorem assumes Gaussian features and a true
# linear model. For patients neither is true: sex has two values, and some blood values have long tails.

# %%
noise = squares.sum() / (442 - 11)

def law(n):
    risk = (1 + 1 / n) * (n - 2) / (n - 12)
    return noise * np.array([1 - 11 / n, risk])

ratio = test_errors.mean(axis=1) / law(sizes)[1]
for n, r in zip(sizes, ratio):
    print(f'{n:3} patients: mean squared test error / law = {r:.2f}')

# %% mystnb={"image": {"alt": "Root mean squared training and test error of the linear model against the number of training patients. The test error falls from about 90 towards 55, the training error rises from about 36; points for the averages with bars over divisions lie close to the two theoretical curves, except that the first two test errors lie above theirs. A dotted line marks the score of the mean."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.2))
fine = np.geomspace(18, 330, 200)
for k, (name, errors) in enumerate({'training error': train_errors, 'test error': test_errors}.items()):
    low, high = np.quantile(errors ** 0.5, [0.1, 0.9], axis=1)
    ax.vlines(sizes, low, high, color=f'C{k}', lw=1)
    ax.plot(sizes, errors.mean(axis=1) ** 0.5, 'o', color=f'C{k}')
    ax.plot(fine, law(fine)[k] ** 0.5, color=f'C{k}', label=name)
ax.axhline(mean[0, 1], color=GREY, ls=':', lw=1)
ax.text(330, mean[0, 1] + 1, 'test error of the mean', ha='right')
ax.set(xscale='log', xlabel='training patients n', ylabel='root mean squared error',
       ylim=(20, 125), xticks=sizes, xticklabels=sizes)
ax.minorticks_off()
ax.legend();

# %% [markdown] tags=["caption"]
# The errors of the linear model follow the law for Gaussian features closely from fifty patients on; fitted to twenty, it
# predicts worse than the mean.

# %% [markdown]
# From fifty patients on the law is right to a few percent. At twenty, with eleven parameters, it is too low for
# features that are not Gaussian. The curve also says what more patients would bring: hardly anything, because the test error
# of 330 patients is already close to $\sigma$.

# %% tags=["checks"]
Z = (X - X.mean(axis=0)) / X.std(axis=0)
assert np.linalg.matrix_rank(np.column_stack([with_products(Z), np.ones(442)])) == 65  # none is redundant
by_hand = np.array([[mse(fit_line(X[train[:n]], y[train[:n]]), test) for train, test in deals[:3]] for n in sizes])
assert close(by_hand, test_errors[:, :3])

def one_number(seed):  # the fit to all patients, on all of them
    return mse(fit_line(X, y), deal(np.random.default_rng(seed), [442])[0])

def varies(measure):  # five standard errors of a spread from 40 values
    return abs(spread_ratio(measure) - 1) < 5 / np.sqrt(2 * 40)

verify('test errors of 40 divisions scatter as their standard error says', lambda: varies(test_mse),
       slip=('scores the fit to everybody on everybody', lambda: varies(one_number)))

# %% tags=["checks"]
def ten_and_a_bias(seed, n, R=2000):  # Gaussian features, noise 1, all true weights 0
    rng = np.random.default_rng(seed)
    A, e = rng.normal(size=(R, n, 11)), rng.normal(size=(R, n, 1))
    A[:, :, 0] = 1
    w = np.linalg.solve(A.mT @ A, A.mT @ e)
    return np.array([((e - A @ w) ** 2).mean((1, 2)), 1 + (w**2).sum((1, 2))])

def keeps_law(seed, n, errors):
    seen = ten_and_a_bias(seed, n)
    return (abs(seen.mean(1) - errors) < 5 * seen.std(1) / np.sqrt(2000)).all()

verify('with a bias and ten Gaussian features the mean errors follow the law',
       lambda seed, n: keeps_law(seed, n, law(n) / noise),
       slip=('forgets the bias',
             lambda seed, n: keeps_law(seed, n, exact(n, 10, 1))),
       seed=[0, 1, 2], n=[20, 50])

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
