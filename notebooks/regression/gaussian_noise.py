# ---
# jupyter:
#   book:
#     functions:
#       bell: bell(normal(5), 0.5, 2.0)
#       nll: nll(normal(8, 3), normal(8), normal(3), 0.5, 2.0)
#       mean_loss: mean_loss(normal(8, 3), normal(8), normal(3), 0.5)
#       tent: tent(normal(5), 2.0)
#       reweighted: reweighted(normal(20, 3), normal(20), 0.1, 20)
#       squares: squares(normal(20, 3), normal(20))
#       absolute: absolute(with_ones(normal(21, 1)), normal(21))
#       with_ones: with_ones(normal(4, 2))
#     main: dl.normal-sq.nll
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Gaussian noise and squared loss
#
# From 1964 to 1969, the Belgian telephone statistics recorded minutes of talk instead of calls. Through all years, least
# squares draws a line that rises by 5.04 million calls a year, while the correct years rise by 1.08 million. Why do we
# square the errors, what does this assume about the noise, and what should we do if the noise is different?
#
# - **You need** [linear regression](linear_regression.ipynb), [maximum
#   likelihood](../probability/maximum_likelihood.ipynb) and [the Gaussian](../probability/gaussian_distribution.ipynb).
# - **You build** the likelihood of a linear model under Gaussian and under Laplace noise, the two estimators that follow,
#   and a forecast of which one is more accurate.
# - **Runs in** 9 seconds, in float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.linalg import inv, lstsq
from scipy.integrate import quad
from scipy.optimize import brentq, linprog, minimize, minimize_scalar
from scipy.stats import kstest, laplace, multivariate_normal, norm, t
from sklearn.linear_model import QuantileRegressor

from nbutils.cases import integers, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.data import diabetes
from nbutils.figures import GREY, label_lines, panels

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

def all_rounds(X, Y, eps, rounds):  # reweighted least squares for many data sets: X (N, p), Y (..., N)
    products = (X[:, :, None] * X[:, None]).reshape(len(X), -1)  # (N, p p)
    c, path = np.ones_like(Y), []
    for _ in range(rounds):
        A = ((1 / c) @ products).reshape(*Y.shape[:-1], *2 * X.shape[1:])
        w = np.linalg.solve(A, ((Y / c) @ X)[..., None])[..., 0]  # (..., p)
        c = np.hypot(Y - w @ X.T, eps)
        path.append(w)
    return np.array(path)  # (rounds, ..., p)

# %% [markdown]
# ## Gaussian noise, maximum likelihood and the squared loss
#
# We fit the 442 diabetes patients of [linear regression](linear_regression.ipynb) and look at the residuals, divided by
# their standard deviation. What share is larger than 1, 2 and 3? Beside it stand the shares of a Gaussian.

# %%
patients = diabetes()
features = np.column_stack([patients.x / patients.x.std(0), np.ones(442)])
residual = patients.y - features @ lstsq(features, patients.y)[0]  # (442,)
size = abs(residual) / residual.std()
for k in (1, 2, 3):
    print(f'beyond {k}: residuals {np.mean(size > k):.3f},'
          f' Gaussian {2 * norm.sf(k):.3f}')

# %% [markdown]
# The shares are similar. This is plausible if each measurement misses the linear pattern by many small independent errors,
# because their sum is nearly [Gaussian](../probability/gaussian_distribution.ipynb), with the density
#
# ```{math}
# :label: dl.normal-sq.pdf
# p(x) = \frac{1}{\sqrt{2\pi\sigma^2}} \exp\Big( {-\frac{1}{2\sigma^2}} (x - \mu)^2 \Big) .
# ```
#
# So let us assume the model
#
# ```{math}
# :label: dl.normal-sq.model
# y = \mathbf{w}^\top \mathbf{x} + b + \epsilon, \qquad \epsilon \sim \mathcal{N}(0, \sigma^2) .
# ```
#
# Given $\mathbf{x}$, the target is Gaussian with the mean $\mathbf{w}^\top \mathbf{x} + b$, which takes the place of $\mu$:
#
# ```{math}
# :label: dl.normal-sq.likelihood
# P(y \mid \mathbf{x}) = \frac{1}{\sqrt{2\pi\sigma^2}} \exp\Big( {-\frac{1}{2\sigma^2}} (y - \mathbf{w}^\top \mathbf{x} - b)^2 \Big) .
# ```

# %%
def bell(x, mu, sigma):
    return (np.exp(-(x - mu) ** 2 / (2 * sigma**2))
            / (2 * np.pi * sigma**2) ** 0.5)

# %% mystnb={"image": {"alt": "Left: three normal densities with different centres and widths. Right: a rising regression line in the middle of two bands, one and two standard deviations wide, with the bell curve of the noise drawn sideways at three inputs and forty points scattered over the bands."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
grid = np.linspace(-5, 6, 300)
for i, (mu, sigma) in enumerate(((0, 1), (-2, 0.6), (2, 1.6))):
    left.plot(grid, bell(grid, mu, sigma))
    name = f'{mu}, {sigma}'.replace('-', '−')
    left.text(mu, bell(mu, mu, sigma) + 0.015, name, color=f'C{i}',
              ha='center')
left.set(xlabel='x', ylabel='density', title='µ, σ', ylim=(0, 0.75))
line = np.array([1, 7])  # at the inputs 0 and 10
for k in (2, 1):
    right.fill_between([0, 10], line - k, line + k, color='C0', alpha=0.15,
                       lw=0)
right.plot([0, 10], line, 'C0')
for at in (1.5, 4.5, 7.5):
    up = np.linspace(-3, 3, 80)
    right.plot(at + 4 * bell(up, 0, 1), 0.6 * at + 1 + up, 'C1')
    right.plot([at, at], 0.6 * at + 1 + up[[0, -1]], 'C1', lw=0.7)
rng = np.random.default_rng(2)
dots = rng.uniform(0, 10, 40)
right.plot(dots, 0.6 * dots + 1 + rng.normal(size=40), '.', color=GREY)
right.set(xlabel='input', ylabel='target', ylim=(-2, 9),
          title='the law of y given x');

# %% [markdown] tags=["caption"]
# Left: the bell moves with $\mu$ and widens with $\sigma$. Right: given the input, the target has such a bell around the
# line, of the same width everywhere.

# %% [markdown]
# For all $N$ measurements, with the bias among the weights, the model says
#
# ```{math}
# :label: ml.mle.model.noise
# \begin{gathered}
# y_n = \mathbf{x}_n^\top \mathbf{w} + \epsilon_n , \\
# \epsilon_n \ \text{independent, Gaussian, of mean zero and variance } \sigma^2 .
# \end{gathered}
# ```
#
# Independent measurements multiply their densities:
#
# ```{math}
# :label: dl.normal-sq.factorize
# P(\mathbf{y} \mid \mathbf{X}) = \prod_{i=1}^n P(y^{(i)} \mid \mathbf{x}^{(i)})
# ```
#
# ```{math}
# :label: ml.mle.model.likelihood
# p(\mathbf{y} \mid \mathbf{X}, \mathbf{w}) = \prod_{n=1}^N p(y_n \mid \mathbf{x}_n, \mathbf{w}) = \prod_{n=1}^N \mathcal{N}(y_n \mid \mathbf{x}_n^\top \mathbf{w}, \sigma^2)
# ```
#
# This is the assumption that is broken most often. If all measurements share a disturbance, because an instrument warms up
# or a season passes, the errors are correlated, and the product is wrong.
#
# ### The negative log-likelihood
#
# Which line made these points? The *principle of maximum likelihood* takes the one under which all of them together have
# the highest density,
#
# ```{math}
# :label: dl.normal-sq.mle
# (\hat{\mathbf{w}}, \hat b) = \operatorname*{arg\,max}_{\mathbf{w}, b} \; P(\mathbf{y} \mid \mathbf{X}) .
# ```
#
# A product of many small numbers soon is zero on a computer. Its logarithm is a sum, and minus the logarithm is a loss to
# be minimized:
#
# ```{math}
# :label: dl.normal-sq.nll-lhs
# -\log P(\mathbf{y} \mid \mathbf{X}) = -\log \Big( \prod_{i=1}^n P(y^{(i)} \mid \mathbf{x}^{(i)}) \Big) = -\sum_{i=1}^n \log P(y^{(i)} \mid \mathbf{x}^{(i)})
# ```
#
# The logarithm undoes the exponential of {eq}`dl.normal-sq.likelihood` and turns the root in front into
# $\frac12 \log 2\pi\sigma^2$. Both terms are summed:
#
# ```{math}
# :label: dl.normal-sq.nll
# -\log P(\mathbf{y} \mid \mathbf{X}) = \sum_{i=1}^n \Big[ \tfrac12 \log(2\pi\sigma^2) + \tfrac{1}{2\sigma^2} \big(y^{(i)} - \mathbf{w}^\top \mathbf{x}^{(i)} - b\big)^2 \Big]
# ```

# %%
def nll(X, y, w, b, sigma):
    e = y - X @ w - b  # (n,)
    return (np.log(2 * np.pi * sigma**2) / 2 + e**2 / (2 * sigma**2)).sum()

# %% tags=["hide-input"]
def data(seed, n=5, d=2):  # X, y and some parameters
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(n, d)), 0.8 * rng.normal(size=n)
    w, b = rng.normal(size=d), rng.normal()
    return X, X @ w + b + noise, w, b

# %%
for n in (20, 200, 2000):
    X, y, w, b = data(0, n=n)
    product = np.prod(bell(y, X @ w + b, 0.8))
    print(f'{n:4} examples: product of densities {product:.3g},'
          f' minus its logarithm {nll(X, y, w, b, 0.8):.1f}')

# %% [markdown]
# In {eq}`dl.normal-sq.nll`, the first term does not depend on $\mathbf{w}$ and $b$. The second is
# the squared loss, up to a factor: with $L(\mathbf{w}, b) = \frac1n \sum_i \frac12 (\hat y^{(i)} - y^{(i)})^2$,
#
# ```{math}
# :label: gaussian_noise-loss
# -\log P(\mathbf{y} \mid \mathbf{X}) = \frac{n}{2} \log(2\pi\sigma^2) + \frac{n}{\sigma^2} L(\mathbf{w}, b) ,
# ```
#
# so both are smallest at the same place:
#
# ```{math}
# :label: dl.normal-sq.equiv
# \operatorname*{arg\,min}_{\mathbf{w}, b} \; L(\mathbf{w}, b) = \operatorname*{arg\,max}_{\mathbf{w}, b} \; P(\mathbf{y} \mid \mathbf{X}) .
# ```
#
# *The square in the squared loss is the square in the exponent of the Gaussian.* The unknown $\sigma$ plays no part in the
# choice of $\mathbf{w}$ and $b$. If $\sigma$ is fitted as well, the derivative of $n \log \sigma + Q / 2\sigma^2$, where $Q$
# is the sum of the squared residuals, vanishes at $\hat\sigma^2 = Q/n$. An optimizer that knows only the likelihood finds
# all three:

# %%
def mean_loss(X, y, w, b):
    return ((X @ w + b - y) ** 2).mean() / 2

def most_likely(X, y):  # -> w, b, sigma in one array
    d = X.shape[1]
    loss = lambda p: nll(X, y, p[:d], p[d], np.exp(p[-1])) / len(y)
    p = minimize(loss, np.zeros(d + 2), tol=1e-9).x
    return np.array([*p[:-1], np.exp(p[-1])])

# %%
X, y, w, b = data(1, n=60, d=1)
full = np.column_stack([X, np.ones(60)])
line = lstsq(full, y)[0]
rms = np.sqrt(((y - full @ line) ** 2).mean())
print('likelihood:    w, b, σ =', most_likely(X, y).round(3))
print('least squares: w, b, σ =', np.array([*line, rms]).round(3))

# %% mystnb={"image": {"alt": "Left: the negative log-likelihood per example against one weight for three values of sigma, three parabolas of different width and height whose lowest points lie at the same weight; the squared loss has its minimum there too. Right: the negative log-likelihood against sigma, steep on the left, with its minimum at the root mean squared residual."}} tags=["hide-input"]
weights, sigmas = np.linspace(-2, 3, 101), np.linspace(0.55, 1.6, 101)
by_weight = {s: np.array([nll(X, y, [v], line[1], s) for v in weights]) for s in (0.8, 1.2, 2)}
squares = np.array([mean_loss(X, y, [v], line[1]) for v in weights])
by_sigma = [nll(X, y, line[:1], line[1], s) for s in sigmas]
fig, (left, right) = panels(2, height=2.8)
for s, curve in by_weight.items():
    left.plot(weights, curve / 60, label=f'σ = {s}')
left.plot(weights, squares, color='C3', label='loss L')
left.axvline(line[0], color=GREY, ls=':', lw=1)
left.set(xlabel='weight w', ylabel='−log P(y | X) / n', ylim=(0, 5.5),
         xlim=(-2, 3))
label_lines(left)
right.plot(sigmas, by_sigma)
right.axvline(rms, color=GREY, ls=':', lw=1)
right.text(rms + 0.03, 84, 'root of the mean\nsquared residual')
right.set(xlabel='σ', ylabel='−log P(y | X)');

# %% [markdown] tags=["caption"]
# Left: whatever $\sigma$ is, the likelihood is highest at the weight where the squared loss is lowest. Right: the best
# $\sigma$ is the root of the mean squared residual.

# %% [markdown]
# With the bias among the weights, the log-likelihood is
#
# ```{math}
# :label: ml.mle.cost.ll
# \mathcal{L}_{LL}(\mathbf{w}) = \log p(\mathbf{y} \mid \mathbf{X}, \mathbf{w}) = -\frac{1}{2\sigma^2} \sum_{n=1}^N (y_n - \mathbf{x}_n^\top \mathbf{w})^2 + \text{const.}
# ```
#
# :::{admonition} A tempting mistake
# :class: warning
# It is easy to write $\frac1N$ in place of $\frac{1}{2\sigma^2}$, because $\frac1N$ is the factor of the mean squared error,
# and the maximum is at the same place. But the *curvature* of the log-likelihood, from which error bars are computed, is
# different. For the 60 examples above:
# :::

# %%
for name, factor in (('1/(2σ²)', 1 / (2 * 0.8**2)), ('1/N', 1 / 60)):
    error = 1 / np.sqrt(2 * factor * ((X - X.mean()) ** 2).sum())
    print(f'factor {name:8} error bar of the weight {error:.3f}')

# %% [markdown]
# ```{exercise} ★ Pencil: how likely at best?
# :label: gaussian_noise-peak
# Given the residuals `e` of a line, write `peak(e)`, the log-likelihood of this line with Gaussian noise at the most likely
# $\sigma$.
# ```

# %%
def peak(e):
    """The highest log-likelihood over all sigma > 0: a float.

    e: float array (n,), n >= 1, the residuals, not all zero. Their mean
    need not be zero.
    peak(np.array([1.0, -1.0])) is -2.8379, to four decimals.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def peak_by_search(e):
    down = lambda s: -norm.logpdf(e, 0, np.exp(s)).sum()
    return -minimize_scalar(down, bracket=(-3, 3), tol=1e-10).fun

leftovers = dict(e=vectors((1, 6), edges=True).filter(lambda e: abs(e).max() > 0.01), tries=50)
grade(peak, peak_by_search, **leftovers)

# %% [markdown]
# ```{solution-start} gaussian_noise-peak
# :class: dropdown
# ```
# At $\hat\sigma^2 = Q/n$ the last term of the sum is $Q / 2\hat\sigma^2 = n/2$, whatever the data are. So the peak is
# $-\frac n2 \big( \log(2\pi \hat\sigma^2) + 1 \big)$. Dropping the 1 seems harmless as long as all models have it. The second
# wrong answer subtracts the mean of the residuals, which is another line, the third divides by $n - 1$, which is not the most
# likely $\sigma$, and the fourth gives the mean over the examples in place of the sum.

# %% jupyter={"source_hidden": true}
def peak_solution(e):
    return -len(e) / 2 * (np.log(2 * np.pi * (e**2).mean()) + 1)

def peak_without_one(e):
    return -len(e) / 2 * np.log(2 * np.pi * (e**2).mean())

def peak_of_a_moved_line(e):
    return peak_solution(e - e.mean())

def peak_unbiased(e):
    sigma = np.sqrt((e**2).sum() / (len(e) - 1))
    return norm.logpdf(e, 0, sigma).sum()

def mean_peak(e):
    return peak_solution(e) / len(e)

assert grade(peak_solution, peak_by_search, **leftovers)
assert not grade(peak_without_one, peak_by_search, **leftovers)
assert not grade(peak_of_a_moved_line, peak_by_search, **leftovers)
assert not grade(peak_unbiased, peak_by_search, **leftovers)
assert not grade(mean_peak, peak_by_search, **leftovers)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def residuals(seed, scale, law, w_read, n=4000):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = 1.5 * x - 2 + law(rng, scale, n)
    return x, y - w_read * x + 2
def is_standard_normal(z):
    dkw = np.sqrt(np.log(2e6) / (2 * len(z)))
    return kstest(z, norm.cdf).statistic < dkw
gaussian = lambda rng, scale, n: rng.normal(0, scale, n)
def fits_the_model(seed, law, w_read, sigma=0.7):
    x, e = residuals(seed, sigma, law, w_read)
    blind = abs((x * e).mean()) < 5 * sigma * np.sqrt((x**2).mean() / len(x))
    return bool(blind and is_standard_normal(e / sigma))

assert not fits_the_model(0, gaussian, 1.6)

# %% tags=["checks"]
def density(y, x, w, b, sigma):
    return bell(y, w @ x + b, sigma)
uniform = lambda rng, scale, n: 3**0.5 * scale * rng.uniform(-1, 1, n)

def as_in_the_model(seed, sigma, scale):
    return is_standard_normal(residuals(seed, scale, gaussian, 1.5)[1] / sigma)
holds('dl.normal-sq.pdf',
      lambda x, mu, s: close(bell(x, mu, s), norm.pdf(x, mu, s), atol=0),
      slip=('takes the variance for the standard deviation',
            lambda x, mu, s: close(bell(x, mu, s), norm.pdf(x, mu, s**2),
                                   atol=0)),
      x=vectors(3), mu=scalars(), s=scalars(0.5, 3))

holds('dl.normal-sq.model', lambda seed, s: as_in_the_model(seed, s, s),
      slip=('draws the noise with the variance as its scale',
            lambda seed, s: as_in_the_model(seed, s, s**2)),
      seed=seeds(), s=[0.5, 1.5, 4], tries=30)

def scipy_density(y, x, w, b, sigma):
    return norm.pdf(y, loc=np.dot(w, x) + b, scale=sigma)

holds('dl.normal-sq.likelihood',
      lambda y, x, w, b: close(density(y, x, w, b, 4.0),
                               scipy_density(y, x, w, b, 4.0), atol=0),
      slip=('subtracts the bias instead of adding it',
            lambda y, x, w, b: close(density(y, x, w, -b, 4.0),
                                     scipy_density(y, x, w, b, 4.0), atol=0)),
      y=scalars(), x=vectors(2), w=vectors(2, -2, 2), b=scalars())
holds('ml.mle.model.noise', lambda seed: fits_the_model(seed, gaussian, 1.5),
      slip=('draws uniform noise of the same variance',
            lambda seed: fits_the_model(seed, uniform, 1.5)),
      seed=seeds(), tries=30)

def log_likelihood(X, y, w, sigma, copies=None):
    e = y - X @ w  # (N,)
    copies = len(y) if copies is None else copies
    constant = -copies / 2 * np.log(2 * np.pi * sigma**2)
    return constant - (e**2).sum() / (2 * sigma**2)

def few(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(4, 2)), rng.normal(size=4), rng.normal(size=2)

def joint(seed, sigma, shared):  # correlation of any two errors
    X, y, w = few(seed)
    covariance = sigma**2 * (np.eye(4) + shared * (1 - np.eye(4)))
    return multivariate_normal.logpdf(y, X @ w, covariance)

# %% tags=["checks"]
def factorizes(seed, sigma, shared):
    X, y, w = few(seed)
    product = np.prod([density(y[i], X[i], w, 0, sigma) for i in range(4)])
    return close(np.log(product), joint(seed, sigma, shared))

holds('dl.normal-sq.factorize', lambda seed, s: factorizes(seed, s, 0),
      slip=('lets all errors share a disturbance',
            lambda seed, s: factorizes(seed, s, 0.3)),
      seed=seeds(), s=scalars(0.5, 3), tries=60)

holds('ml.mle.model.likelihood',
      lambda seed, s: close(log_likelihood(*few(seed), s), joint(seed, s, 0)),
      slip=('writes the constant once, not N times',
            lambda seed, s: close(log_likelihood(*few(seed), s, copies=1),
                                  joint(seed, s, 0))),
      seed=seeds(), s=scalars(0.5, 3), tries=60)

# %% tags=["checks"]
def torch_densities(X, y, w, b, sigma):
    law = torch.distributions.Normal(torch.tensor(X @ w + b), sigma)
    return law.log_prob(torch.tensor(y)).exp().numpy()

def constant_once(X, y, w, b, sigma):
    e = y - X @ w - b
    return np.log(2 * np.pi * sigma**2) / 2 + (e**2).sum() / (2 * sigma**2)

def log_of(seed, sigma, rule):
    P = torch_densities(*data(seed), sigma)
    return close(-np.log(P).sum(), rule(P))

holds('dl.normal-sq.nll-lhs',
      lambda seed, s: log_of(seed, s, lambda P: -np.log(P.prod())),
      slip=('adds the densities instead of multiplying them',
            lambda seed, s: log_of(seed, s, lambda P: -np.log(P.sum()))),
      seed=seeds(), s=scalars(0.5, 3), tries=60)

holds('dl.normal-sq.nll',
      lambda seed, s: log_of(seed, s, lambda P: nll(*data(seed), s)),
      slip=('writes the constant once, not n times',
            lambda seed, s: log_of(seed, s,
                                   lambda P: constant_once(*data(seed), s))),
      seed=seeds(), s=scalars(0.5, 3), tries=60)

def laplace_nll(X, y, w, b, sigma):
    return -laplace.logpdf(y, X @ w + b, sigma).sum()

def same_ranking(seed, sigma, rule):
    X, y, w, b = data(seed)
    other = w[::-1] + 0.5, b - 1
    gap = rule(X, y, w, b, sigma) - rule(X, y, *other, sigma)
    losses = mean_loss(X, y, w, b) - mean_loss(X, y, *other)
    return close(gap, len(y) / sigma**2 * losses)

holds('dl.normal-sq.equiv', lambda seed, s: same_ranking(seed, s, nll),
      slip=('takes Laplace noise for Gaussian noise',
            lambda seed, s: same_ranking(seed, s, laplace_nll)),
      seed=seeds(), s=scalars(0.5, 3), tries=60)

def const_is_const(seed, sigma, factor):  # at two places
    X, y, w, b = data(seed)
    rest = [norm.logpdf(y - X @ v - b, scale=sigma).sum()
            + factor(len(y)) * ((y - X @ v - b) ** 2).sum()
            for v in (w, w[::-1] + 0.5)]
    return close(rest[0], rest[1])

holds('ml.mle.cost.ll',
      lambda seed, s: const_is_const(seed, s, lambda N: 1 / (2 * s**2)),
      slip=('takes the factor 1/N of the mean squared error',
            lambda seed, s: const_is_const(seed, s, lambda N: 1 / N)),
      seed=seeds(), s=scalars(0.5, 3), tries=60)

# %% tags=["checks"]
# a loss is flat to 1e-16 within some 1e-8 of its minimum
assert close(most_likely(X, y), [*line, rms], atol=3e-7, rtol=0)
assert len({c.argmin() for c in [*by_weight.values(), squares]}) == 1

def near_truth(seed, n, used):
    X, y, w, b = data(seed, n)
    found = most_likely(X[:used], y[:used])[:-1]
    full = np.column_stack([X, np.ones(n)])
    bars = 0.8 * np.sqrt(np.diag(inv(full.T @ full)))
    return bool((abs(found - [*w, b]) < 5 * bars).all())

holds('dl.normal-sq.mle', lambda seed, n: near_truth(seed, n, n),
      slip=('uses the first ten examples alone',
            lambda seed, n: near_truth(seed, n, 10)),
      seed=integers(0, 99), n=[200, 2000], tries=8)

# %% [markdown]
# ## Laplace noise and the absolute loss
#
# Nothing so far depended on the Gaussian but the last step. Put another density in, take minus its logarithm, drop what does
# not depend on the line, and a loss comes out. How likely are large errors? We compare a Gaussian with a *Laplace* density
# of the same variance:

# %%
for k in (3, 5, 10):
    print(f'beyond {k:2} standard deviations: Gaussian {2 * norm.sf(k):.2e},'
          f' Laplace {2 * laplace.sf(k, scale=0.5**0.5):.2e}')

# %% [markdown]
# The Laplace density falls exponentially on both sides, so it allows large errors:
#
# ```{math}
# :label: ml.mle.laplace.density
# p(y_n \mid \mathbf{x}_n, \mathbf{w}) = \frac{1}{2b} \, e^{-\frac1b |y_n - \mathbf{x}_n^\top \mathbf{w}|}
# ```
#
# (this $b > 0$ is a width, not a bias). Each side has the mass $\frac{1}{2b} \int_0^\infty e^{-e/b} \, de = \frac12$.

# %%
def tent(e, b):
    return np.exp(-abs(e) / b) / (2 * b)

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# If you change the exponent of a Gaussian, the constant in front must change as well. $\frac{1}{\sqrt{2\pi}} e^{-\frac12
# |e|}$ is no density, because its mass is not 1:
# :::

# %%
def gaussian_constant(e, b):
    return np.exp(-abs(e) / 2) / np.sqrt(2 * np.pi)

for name, p in (('Gaussian constant', gaussian_constant), ('Laplace', tent)):
    print(f'{name}: mass {2 * quad(p, 0, np.inf, args=(2,))[0]:.3f}')

# %% [markdown]
# The negative log-likelihood is $N \log 2b + \frac1b \sum_n |y_n - \mathbf{x}_n^\top \mathbf{w}|$: *under Laplace noise
# the most likely line is that of least absolute deviations.* Other noise gives other losses:
#
# | noise | density $\propto$ | loss of a residual $r$ |
# |---|---|---|
# | Gauss | $e^{-r^2/2\sigma^2}$ | $r^2$ |
# | Laplace | $e^{-\lvert r \rvert/b}$ | $\lvert r \rvert$ |
# | Student, $\nu$ degrees | $(1 + r^2/\nu)^{-(\nu+1)/2}$ | $\log(1 + r^2/\nu)$ |
# | uniform on $[-c, c]$ | 1 if $\lvert r \rvert \le c$ | 0 if $\lvert r \rvert \le c$, else $\infty$ |
# | exponential delay | $e^{-\lambda r}$ if $r \ge 0$ | $r$ if $r \ge 0$, else $\infty$ |
#
# Read from right to left, the table says what a loss assumes. If a residual becomes $k$ times as large, the squared
# loss $\ell_2$ and the absolute loss $\ell_1$ grow by
#
# ```{math}
# :label: dl.normal-sq.outsize
# \ell_2(k r) = k^2 \, \ell_2(r) , \qquad \ell_1(k r) = k \, \ell_1(r) \quad \text{for all } k > 0 .
# ```
#
# For ten times the error, the squared loss is a hundred times as large. So a least-squares line rather misses many points by
# a little than one point by much.
#
# ### Least absolute deviations by reweighted least squares
#
# Least absolute deviations have no formula. In practice you call scikit-learn's `QuantileRegressor`, which solves a linear
# program. The likelihood suggests another way, by least squares. For every $c > 0$
#
# ```{math}
# :label: gaussian_noise-tangent
# |r| \le \frac{r^2}{2c} + \frac c2 ,
# ```
#
# with equality at $c = |r|$, because the difference is $(|r| - c)^2 / 2c$. So take the residuals of the present line as
# $c_n$ and minimize $\sum_n r_n^2 / c_n$, *least squares with weights $1/c_n$*. The bound is equal to the cost at the
# present line and above it elsewhere. Where the bound is lowest, the cost is no higher than before. Repeat. To avoid a
# division by zero, we take $c = \sqrt{r^2 + \epsilon^2}$, which belongs to the smoothed cost $\sqrt{r^2 + \epsilon^2}$. Its
# minimum has a cost within $N \epsilon$ of the least, because $|r| \le \sqrt{r^2 + \epsilon^2} \le |r| + \epsilon$.

# %%
def reweighted(X, y, eps, rounds):  # X (N, p), y (N,) -> (p,)
    c = np.ones_like(y)
    for _ in range(rounds):
        w = np.linalg.solve(X.T @ (X / c[:, None]), X.T @ (y / c))
        c = np.hypot(y - X @ w, eps)  # the root of r² + ε²
    return w

def squares(X, y):
    return lstsq(X, y)[0]

def absolute(X, y):
    return reweighted(X, y, 0.01, 40)

# %% [markdown]
# ### Mean or median?
#
# If the noise is not symmetric, the two losses do not even aim at the same line. We take delays as noise, exponential
# with mean 1 and with this mean subtracted, around the line $1.5 x - 2$:

# %%
def with_ones(X):
    return np.column_stack([X, np.ones_like(X[:, 0])])

# %%
rng = np.random.default_rng(4)
X = with_ones(rng.uniform(-2, 2, (4000, 1)))
y = X @ [1.5, -2] + rng.exponential(size=4000) - 1
library = QuantileRegressor(alpha=0, fit_intercept=False)
print('squares:        ', squares(X, y).round(3))
print('absolute values:', absolute(X, y).round(3))
print('scikit-learn:   ', library.fit(X, y).coef_.round(3))
print(f'median of the noise: {np.log(2) - 1:.2f}')

# %% [markdown]
# The squared loss is smallest, on average over new examples, at the conditional *mean* ({prf:ref}`thm-conditional-mean`). So
# if the pattern is truly linear, the best line gives the mean for every input:
#
# ```{math}
# :label: dl.normal-sq.cond-exp
# \begin{aligned}
# (\mathbf{w}^*, b^*) &= \operatorname*{arg\,min}_{\mathbf{w}, b} \; \mathbb{E}\big[ (\mathbf{w}^\top X + b - Y)^2 \big] , \\
# \mathbf{x}^\top \mathbf{w}^* + b^* &= \mathbb{E}[Y \mid X = \mathbf{x}] .
# \end{aligned}
# ```
#
# The absolute loss is smallest at the conditional *median*, as for [single numbers](../optimization/subgradients.ipynb).
# Here the median of the noise is $\ln 2 - 1 = -0.31$, so the line of absolute values is lower.

# %% mystnb={"image": {"alt": "Left: a Gaussian and a Laplace density of the same variance on a logarithmic axis; the Gaussian is a parabola that plunges, the Laplace density two straight lines that stay far above it beyond three. Right: a cloud of points with noise that has a long tail upwards; the least-squares line runs through the conditional mean, the least-absolute line below it and parallel, through the median."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
grid = np.linspace(-6, 6, 241)
left.semilogy(grid, norm.pdf(grid))
left.semilogy(grid, tent(grid, 0.5**0.5))
left.text(-2.4, 2e-6, 'Gaussian', color='C0', ha='right')
left.text(-4.2, 1e-2, 'Laplace', color='C1', ha='right')
left.set(xlabel='residual / standard deviation', ylabel='density',
         ylim=(1e-8, 2))
right.plot(X[:300, 0], y[:300], '.', color=GREY, ms=3)
for i, (fit, name) in enumerate(((squares, 'mean'), (absolute, 'median'))):
    ends = np.array([[-2, 1], [2, 1]]) @ fit(X, y)
    right.plot([-2, 2], ends, f'C{i}', label=name)
right.set(xlabel='x', ylabel='y', xlim=(-2, 2))
label_lines(right);

# %% [markdown] tags=["caption"]
# Left: far out, the Laplace density allows errors that the Gaussian all but excludes. Right: with delays as noise, squares
# find the conditional mean, absolute values the median, which is lower.

# %% [markdown]
# ```{exercise} ★★ Program: trains are never early
# :label: gaussian_noise-delay
# Let the noise be a delay, exponential and never negative: $y_n = w x_n + b + \epsilon_n$ with density
# $\lambda e^{-\lambda \epsilon}$ for $\epsilon \ge 0$. What do the most likely $w$ and $b$ minimize, and subject to what?
# Write `timetable(x, y)` $\to (w, b)$. *Hint:* some best line passes through two of the points; which height decides?
# ```

# %%
def timetable(x, y):
    """A most likely slope and height at zero: a pair (w, b) of floats.

    x, y: float arrays (n,), n >= 2. Some x may be equal, but not all. If
    several lines are equally likely, any of them will do.
    timetable(np.array([0.0, 1.0]), np.array([2.0, 5.0])) is (3.0, 2.0).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def no_early_train(answer):  # (whether the line is possible, its height at the mean)
    def judged(x, y):
        w, b = answer(x.copy(), y.copy())
        return [bool((w * x + b <= y + 1e-7).all()), w * x.mean() + b]
    return judged

def least_mixture(x, y):  # of two points, at the mean: no possible line is higher
    i, j = np.nonzero((x[:, None] <= x.mean()) & (x > x.mean()))
    share = (x.mean() - x[i]) / (x[j] - x[i])
    return [True, ((1 - share) * y[i] + share * y[j]).min()]

trains = dict(
    x=vectors((2, 6), 0, 10, edges=True).filter(lambda x: np.ptp(x) > 0.1),
    y=lambda x: vectors(len(x), edges=True),
)
grade(no_early_train(timetable), least_mixture, **trains)

# %% [markdown]
# ```{solution-start} gaussian_noise-delay
# :class: dropdown
# ```
# The likelihood is zero if the line passes above a point; otherwise minus its logarithm is
# $\lambda \sum_n (y_n - w x_n - b)$ and a constant, smallest for the line that is *highest at $\bar x$* among those below
# all points. It touches two of them (an edge of the lower hull). The least-squares line, pushed down until it touches,
# has the wrong slope, and is less likely. Pushed not at all, it lets trains be early. The third wrong answer looks at the
# middle of the range in place of the mean, and the fourth passes through the two lowest points.

# %% jupyter={"source_hidden": true}
def highest_at(place, x, y):  # among the lines below all points
    i, j = np.array([*combinations(range(len(x)), 2)]).T
    i, j = i[x[i] != x[j]], j[x[i] != x[j]]
    w = (y[j] - y[i]) / (x[j] - x[i])  # the lines through two points
    b = y[i] - w * x[i]
    below = (w[:, None] * x + b[:, None] < y + 1e-9).all(1)
    best = np.where(below, w * place + b, -np.inf).argmax()
    return w[best], b[best]

def timetable_solution(x, y):
    return highest_at(x.mean(), x, y)

def pushed_down(x, y):
    w, b = np.polyfit(x, y, 1)
    return w, (y - w * x).min()

def least_squares(x, y):
    return np.polyfit(x, y, 1)

def highest_in_the_middle(x, y):
    return highest_at((x.min() + x.max()) / 2, x, y)

def through_the_lowest(x, y):
    i, j = y.argsort(kind='stable')[:2]
    w = (y[j] - y[i]) / (x[j] - x[i])
    return w, y[i] - w * x[i]

assert grade(no_early_train(timetable_solution), least_mixture, **trains)
assert not grade(no_early_train(pushed_down), least_mixture, **trains)
assert not grade(no_early_train(least_squares), least_mixture, **trains)
assert not grade(no_early_train(highest_in_the_middle), least_mixture, **trains)
assert not grade(no_early_train(through_the_lowest), least_mixture, **trains)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def by_linear_program(X, y):  # y - X w = up - down, both positive
    N, p = X.shape
    cost = np.r_[np.zeros(p), np.ones(2 * N)]
    bounds = [(None, None)] * p + [(0, None)] * (2 * N)
    pieces = np.hstack([X, np.eye(N), -np.eye(N)])
    return linprog(cost, A_eq=pieces, b_eq=y, bounds=bounds).x[:p]

assert close(all_rounds(X, y, 0.01, 40)[-1], absolute(X, y))

# %% tags=["checks"]
def is_laplace(p, e, b):  # symmetric, of mass one, with these values
    mass = 2 * quad(p, 0, np.inf, args=(b,))[0]
    return close(mass, 1) and close(p(e, b), laplace.pdf(e, scale=b), atol=0)


holds('ml.mle.laplace.density', lambda e, b: is_laplace(tent, e, b),
      slip=('keeps the constant of the Gaussian, and no width',
            lambda e, b: is_laplace(gaussian_constant, e, b)),
      e=vectors(3), b=scalars(0.5, 5), tries=40)
square_loss, absolute_loss = (lambda r: r**2 / 2), abs
holds('dl.normal-sq.outsize',
      lambda r, k: close(square_loss(k * r), k**2 * square_loss(r))
      and close(absolute_loss(k * r), k * absolute_loss(r)),
      slip=('lets the absolute loss grow like a square',
            lambda r, k: close(absolute_loss(k * r), k**2 * absolute_loss(r))),
      r=scalars(), k=scalars().map(abs))

def descends_to_best(seed, fit, eps=0.01):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 2)), rng.standard_t(2, size=20)
    costs = [np.hypot(y - X @ w, eps).sum() for w in fit(X, y, eps, 100)]
    least = abs(y - X @ by_linear_program(X, y)).sum()
    oracle = QuantileRegressor(alpha=0, fit_intercept=False).fit(X, y)
    assert close(least, abs(y - oracle.predict(X)).sum())
    falls = (np.diff(costs) < 1e-9).all()
    return bool(falls and least < costs[-1] < least + 20 * eps)

def squared_weights(X, y, eps, rounds):
    c, path = np.ones(len(y)), []
    for _ in range(rounds):
        path.append(lstsq(X / c[:, None], y / c)[0])
        c = np.hypot(y - X @ path[-1], eps)
    return path
verify('reweighting never climbs and ends within N eps of the best',
       lambda seed: descends_to_best(seed, all_rounds),
       slip=('weighs by 1/c² instead of 1/c',
             lambda seed: descends_to_best(seed, squared_weights)),
       seed=seeds(), tries=20)

def aims_at(seed, fit, shift, N=4000):
    rng = np.random.default_rng(seed)
    X = with_ones(rng.normal(size=(N, 1)))
    y = X @ [1.5, -2.0] + rng.exponential(size=N) - 1
    off = fit(X, y) - [1.5, -2 + shift]
    return bool((abs(off) < 5 * np.sqrt(np.diag(inv(X.T @ X)))).all())

# %% tags=["checks"]
holds('dl.normal-sq.cond-exp', lambda seed: aims_at(seed, squares, 0),
      slip=('takes the line of absolute values, the median',
            lambda seed: aims_at(seed, absolute, 0)),
      seed=seeds(), tries=20)

verify('absolute values find the conditional median',
       lambda seed: aims_at(seed, absolute, np.log(2) - 1),
       slip=('takes the least-squares line, the mean',
             lambda seed: aims_at(seed, squares, np.log(2) - 1)),
       seed=seeds(), tries=20)

# %% [markdown]
# ## Which is more accurate, squares or absolute values?
#
# Let the noise be symmetric, so that mean and median agree and both fits aim at the same line. Which comes closer? We draw
# 1000 data sets with 400 examples for several kinds of noise, and divide the mean squared error of squares by that of
# absolute values:

# %% tags=["hide-input"]
def error_of_absolute(law, seed, N=400, R=1000):  # (R, 2), in units of
    rng = np.random.default_rng(seed)  # 1 / sqrt of the diagonal of X'X
    X = np.column_stack([rng.normal(size=(N, 1)), np.ones(N)])
    errors = all_rounds(X, law.rvs((R, N), random_state=rng), 0.01, 30)[-1]
    return errors / np.sqrt(np.diag(inv(X.T @ X)))

def efficiency(law):
    return 4 * law.pdf(0) ** 2 * law.var()

laws = {'Gauss': norm(), 'Laplace': laplace(),
        **{f'Student {nu}': t(nu) for nu in (3, 4, 6, 10, 30)}}
scaled = {name: error_of_absolute(law, seed) ** 2
          for seed, (name, law) in enumerate(laws.items())}  # (1000, 2)
for name, law in laws.items():
    measured = law.var() / scaled[name].mean()
    print(f'{name:10} efficiency {efficiency(law):.2f}, '
          f'measured {measured:.2f}')
even = brentq(lambda nu: efficiency(t(nu)) - 1, 3, 9)
print(f'Student: even at {even:.1f} degrees of freedom')

# %% [markdown]
# Absolute values are worse for Gaussian noise and better for Laplace noise: each loss wins under its own noise. Where does
# the forecast, the *efficiency*, come from? For noise of any distribution with variance $\sigma^2$, least squares has the
# covariance $\sigma^2 (\mathbf{X}^\top \mathbf{X})^{-1}$. For absolute values we have
#
# ````{prf:theorem} Least absolute deviations
# :label: thm-noise-lad
# Let $y_n = \mathbf{x}_n^\top \mathbf{w} + \epsilon_n$ with independent $\epsilon_n$ of one law that has the median 0 and
# near it a continuous density $f$ with $f(0) > 0$; let $\frac1N \mathbf{X}^\top \mathbf{X} \to \mathbf{Q}$, positive
# definite, and $\max_n \|\mathbf{x}_n\| / \sqrt N \to 0$. Then the estimate $\hat{\mathbf{w}}$ of least absolute deviations
# satisfies
# ```{math}
# :label: gaussian_noise-lad
# \sqrt N \, (\hat{\mathbf{w}} - \mathbf{w}) \xrightarrow{d} \mathcal{N}\Big( \mathbf{0}, \; \frac{1}{4 f(0)^2} \, \mathbf{Q}^{-1} \Big) .
# ```
# ````
#
# ````{prf:proof}
# :class: dropdown
# A residual that is shifted by $u$ changes its absolute value by
# ```{math}
# :label: gaussian_noise-knight
# |\epsilon - u| - |\epsilon| = -u \operatorname{sign} \epsilon + 2 \, \max(|u| - |\epsilon|, 0) \, \mathbb{1}[u \epsilon > 0]
# \quad \text{for all } \epsilon \ne 0 .
# ```
# This is linear in $u$, unless $\epsilon$ changes its side. For $0 < \epsilon < u$ the left side is $u - 2\epsilon$ and the
# right $-u + 2(u - \epsilon)$; the other cases are as quick.
#
# With $\boldsymbol\delta = \sqrt N (\mathbf{v} - \mathbf{w})$ and $u_n = \mathbf{x}_n^\top \boldsymbol\delta / \sqrt N$
# the estimate minimizes $Z_N(\boldsymbol\delta) = \sum_n \big( |\epsilon_n - u_n| - |\epsilon_n| \big)$. By
# {eq}`gaussian_noise-knight` this is $-\boldsymbol\delta^\top \mathbf{s}_N$ plus a sum of $t_n \ge 0$, where
# $\mathbf{s}_N = \frac{1}{\sqrt N} \sum_n \mathbf{x}_n \operatorname{sign} \epsilon_n$.
#
# Signs have mean 0 and variance 1, so by the central limit theorem $\mathbf{s}_N \to \mathcal{N}(\mathbf{0}, \mathbf{Q})$.
# The mean of $t_n$ is $2 \int_0^{|u_n|} (|u_n| - \epsilon) f(\pm\epsilon) \, d\epsilon = u_n^2 \, (f(0) + o(1))$, uniformly,
# since all $u_n$ tend to 0; and $\sum_n u_n^2 \to \boldsymbol\delta^\top \mathbf{Q} \boldsymbol\delta$. The variance of the
# sum vanishes: it is at most $\sum_n \mathbb{E}[t_n^2] \le 2 \max_n |u_n| \sum_n \mathbb{E}[t_n] \to 0$. So for every
# $\boldsymbol\delta$
#
# $$
# Z_N(\boldsymbol\delta) = -\boldsymbol\delta^\top \mathbf{s}_N + f(0) \, \boldsymbol\delta^\top \mathbf{Q} \boldsymbol\delta + o_P(1) .
# $$
#
# The $Z_N$ are convex, the bowl on the right has the single lowest point $\frac{1}{2 f(0)} \mathbf{Q}^{-1} \mathbf{s}_N$,
# and for convex functions closeness at every point makes the minimizers close {cite}`pollard1991asymptotics`. The
# covariance of that point tends to $\frac{1}{4 f(0)^2} \mathbf{Q}^{-1} \mathbf{Q} \, \mathbf{Q}^{-1}$.
# ````
#
# Only the density at the centre counts, not how far the tails reach. With
# $\mathbf{G} = (\mathbf{X}^\top \mathbf{X})^{-1}$, divide the variances of one weight by each other: the *efficiency* of
# absolute values relative to squares is
#
# ```{math}
# :label: gaussian_noise-efficiency
# \frac{\sigma^2 g_{jj}}{g_{jj} / 4 f(0)^2} = 4 f(0)^2 \sigma^2 .
# ```
#
# It says how many examples squares need to do what absolute values do with one. For the Gaussian, $f(0)^2 = 1 /
# 2\pi\sigma^2$, it is $2/\pi = 0.64$. For Laplace noise, $f(0) = 1/2b$ and $\sigma^2 = 2b^2$, it is 2. (The measured value
# comes near slowly, because this density has a kink at 0.) Student's distributions lie between: with few degrees of freedom
# they have heavy tails. Up to two degrees of freedom, the variance is infinite, and squares lose altogether. The best-known
# case is Cauchy's distribution, $\nu = 1$, where the average of any number of errors is distributed like a single one: more
# data do not help. The error of absolute values still falls like $1/\sqrt N$.

# %% tags=["hide-input"]
sizes = np.array([25, 50, 100, 200, 400])

def cauchy_errors(N, R=1000):  # of the slope: absolute values, squares
    rng = np.random.default_rng(N)
    X = np.column_stack([np.linspace(-1, 1, N), np.ones(N)])
    Y = rng.standard_cauchy((R, N))
    return np.array([all_rounds(X, Y, 0.02, 30)[-1][:, 0],
                     lstsq(X, Y.T)[0][0]])

lost = np.array([abs(cauchy_errors(N)) for N in sizes])  # (5, 2, 1000)
medians = np.median(lost, axis=2)  # (5, 2)
for N, (of_absolute, of_squares) in zip(sizes, medians):
    print(f'Cauchy, {N:3} examples: median error of the slope, '
          f'absolute values {of_absolute:.3f}, squares {of_squares:.2f}')

# %% mystnb={"image": {"alt": "Left: the efficiency of absolute values relative to squares against the degrees of freedom of Student's noise, a falling curve that crosses 1 at 4.7 and tends to 0.64, with measured points on it. Right: under Cauchy noise the median error of the slope against the number of examples: flat for squares with a wide band, falling with slope one half for absolute values."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
nu = np.geomspace(2.5, 40, 100)
left.semilogx(nu, [efficiency(t(v)) for v in nu], 'C0')
for v in (3, 4, 6, 10, 30):
    squares_of = scaled[f'Student {v}']
    middle = t(v).var() / squares_of.mean()
    left.errorbar(v, middle, 2 * middle * (2 / 1000) ** 0.5, fmt='C0o', ms=4)
left.axhline(1, color=GREY, ls=':', lw=1)
left.axhline(2 / np.pi, color=GREY, ls='--', lw=1)
left.text(2.5, 0.48, '2/π: Gauss')
left.plot(even, 1, 'x', color='C1', ms=8, mew=2)
left.set(xlabel='degrees of freedom ν', ylim=(0.4, 2.6),
         ylabel='efficiency, absolute / squares', xticks=[3, 5, 10, 30],
         xticklabels=['3', '5', '10', '30'])
left.minorticks_off()
for i, name in ((1, 'squares'), (0, 'absolute')):
    right.loglog(sizes, medians[:, i], f'C{1 - i}', label=name)
    right.fill_between(sizes, *np.quantile(lost[:, i], (0.25, 0.75), axis=1),
                       color=f'C{1 - i}', alpha=0.2, lw=0)
right.set(xlabel='examples N', ylabel='error of the slope',
          xticks=[25, 100, 400], xticklabels=['25', '100', '400'],
          title="Cauchy noise")
right.xaxis.minorticks_off()
label_lines(right);

# %% [markdown] tags=["caption"]
# Left: absolute values beat squares when Student's noise has fewer than 4.7 degrees of freedom. Right: under Cauchy's noise
# only their error shrinks with more examples.

# %% [markdown]
# ```{exercise} ★★★ Pencil: a few bad apples
# :label: gaussian_noise-contaminated
# A share $q$ of the errors is $k$ times as large as the others: the density is
# $(1 - q) \, \mathcal{N}(0, 1) + q \, \mathcal{N}(0, k^2)$. Write `efficiency_with(q, k)`, the efficiency of absolute values
# relative to squares. How many bad apples does it take, for $k = 3$ and for $k = 10$, until absolute values win?
# ```

# %%
def efficiency_with(q, k):
    """The efficiency of absolute values relative to squares: a float.

    q: float in [0, 1], the share of large errors. k: float >= 1, how many
    times as large their standard deviation is.
    efficiency_with(0.1, 3.0) is 0.9982, to four decimals.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def on_a_grid(q, k):
    e = np.linspace(-10 * k, 10 * k, 4001)
    f = (1 - q) * norm.pdf(e) + q * norm.pdf(e, scale=k)
    return 4 * f[2000] ** 2 * np.trapezoid(e**2 * f, e)

apples = dict(q=on(0.1, 0.0, 1.0, 0.5) | scalars(0, 1), k=on(3.0, 1.0, 10.0) | scalars(1, 12))
grade(efficiency_with, on_a_grid, **apples)

# %% [markdown]
# ```{solution-start} gaussian_noise-contaminated
# :class: dropdown
# ```
# Densities and second moments mix in proportion: $f(0) = (1 - q + q/k) / \sqrt{2\pi}$ and $\sigma^2 = 1 - q + q k^2$. The
# variance feels $k^2$, the density at 0 hardly anything. Who mixes the standard deviations gets $(1 - q + qk)^2$, which is
# smaller. The thresholds are printed below: for $k = 10$ less than one apple in a hundred decides, far too few to be
# noticed {cite}`tukey1960survey`. (Where nearly all are bad, the law is nearly a bell again, and squares win.) The second
# wrong answer forgets that the density at 0 changes, too, the third takes the law for a Gaussian of the
# same variance, and the fourth is the efficiency of squares.

# %% jupyter={"source_hidden": true}
def efficiency_with_solution(q, k):
    return 2 / np.pi * (1 - q + q / k) ** 2 * (1 - q + q * k**2)

def mixes_deviations(q, k):
    return 2 / np.pi * (1 - q + q / k) ** 2 * (1 - q + q * k) ** 2

def variance_alone(q, k):
    return 2 / np.pi * (1 - q + q * k**2)

def as_one_gaussian(q, k):
    return 2 / np.pi

def of_squares(q, k):
    return 1 / efficiency_with_solution(q, k)

assert grade(efficiency_with_solution, on_a_grid, **apples)
assert not grade(mixes_deviations, on_a_grid, **apples)
assert not grade(variance_alone, on_a_grid, **apples)
assert not grade(as_one_gaussian, on_a_grid, **apples)
assert not grade(of_squares, on_a_grid, **apples)
for k in (3, 10):
    lead = lambda q: efficiency_with_solution(q, k) - 1
    low, high = brentq(lead, 0, 0.3), brentq(lead, 0.3, 1)
    print(f'errors {k} times as large: from {100 * low:.2f} % '
          f'to {100 * high:.2f} %')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def knight(e, u, twice):
    turned = max(abs(u) - abs(e), 0) * (u * e > 0)
    return close(abs(e - u) - abs(e), -u * np.sign(e) + twice * turned)

verify("Knight's identity", lambda e, u: knight(e, u, 2),
       slip=('forgets the factor 2 of the part beyond zero',
             lambda e, u: knight(e, u, 1)),
       e=scalars().filter(bool), u=scalars())

def as_forecast(name, variance):
    squares = scaled[name] / variance(laws[name].pdf(0))
    return bool(abs(squares.mean() - 1) < 5 * np.sqrt(2 / 1000))

verify('absolute values have the covariance 1/(4 f(0)²) times inverse XᵀX',
       lambda name: as_forecast(name, lambda f: 1 / (4 * f**2)),
       slip=('forgets to square 2 f(0)',
             lambda name: as_forecast(name, lambda f: 1 / (2 * f))),
       name=list(laws))

def four_times_smaller(column):
    ratio = medians[0, column] / medians[-1, column]
    return bool(abs(np.log(ratio / 4)) < 8.3 / np.sqrt(1000))

verify("under Cauchy's law absolute values have the rate 1/sqrt(N)",
       lambda: four_times_smaller(0),
       slip=('takes squares in place of absolute values',
             lambda: four_times_smaller(1)))

# %% [markdown]
# ## Outliers in real data: telephone calls from Belgium
#
# The Belgian statistics of international telephone calls, 1950 to 1973, in millions {cite}`rousseeuw1987robust`, contain an
# error: for six years, 1964 to 1969, the total *minutes* were written down in place of the number of calls, and the years
# 1963 and 1970 hold some of both. We fit a line through all 24 years by either loss. Some best line of least absolute
# deviations passes through two of the points, so we can try all pairs.

# %%
year = np.arange(1950, 1974)
calls = np.array([4.4, 4.7, 4.7, 5.9, 6.6, 7.3, 8.1, 8.8, 10.6, 12, 13.5, 14.9,
                  16.1, 21.2, 119, 124, 142, 159, 182, 212, 43, 24, 27, 29])
x = year - 1950
X = np.column_stack([x, np.ones(24)])
honest = (year < 1963) | (year > 1970)

# %%
i, j = np.array([*combinations(range(24), 2)]).T
slope = (calls[j] - calls[i]) / (x[j] - x[i])
lines = np.column_stack([slope, calls[i] - slope * x[i]])  # (276, 2)
costs = abs(calls - lines @ X.T).sum(1)
best = lines[costs < costs.min() + 1e-9]

# %%
squares_line = lstsq(X, calls)[0]
honest_line = lstsq(X[honest], calls[honest])[0]
print('calls a year, in millions')
print(f'squares {squares_line[0]:.2f}, absolute values {best[:, 0].min():.2f} '
      f'to {best[:, 0].max():.2f}, squares on the correct years '
      f'{honest_line[0]:.2f}')

# %% mystnb={"image": {"alt": "Calls per year from 1950 to 1973: a gentle rise, six points from 1964 to 1969 that shoot up to two hundred, then back. The least-squares line climbs steeply and misses nearly all; two nearly equal lines of least absolute deviations run through the correct points."}} tags=["hide-input"]
lowest_slope, highest_slope = best[best[:, 0].argsort(kind='stable')[[0, -1]]]
fig, ax = plt.subplots(figsize=(6, 3.1))
ax.plot(year[honest], calls[honest], 'o', color=GREY, ms=4)
ax.plot(year[~honest], calls[~honest], 'x', color=GREY, ms=6)
ax.plot(year, X @ squares_line, 'C0', label='squares')
for k, w in enumerate((lowest_slope, highest_slope)):
    ax.plot(year, X @ w, 'C1', label=['', 'absolute values'][k] or '_')
ax.text(1963.4, 190, 'minutes, not calls', ha='right')
ax.set(ylabel='calls (millions)', xlim=(1949.5, 1973.5))
label_lines(ax);

# %% [markdown] tags=["caption"]
# Eight wrong years (crosses) pull the least-squares line up to 5.04 million more calls a year; lines of least absolute
# deviations stay near the correct years.

# %% [markdown]
# The best line of absolute values is not unique. Only the signs of the residuals count, and with an even number of years in
# equal steps they can balance exactly: a whole polygon of lines, with the corners just found, costs the same. How well does
# each line describe the sixteen correct years? For reference we add two constants.

# %% tags=["hide-input"]
def honest_error(guess):
    return abs(guess - calls)[honest].mean()

scores = {
    'the mean': honest_error(calls.mean()),
    'the median': honest_error(np.median(calls)),
    'squares': honest_error(X @ squares_line),
    'absolute values, worst': max(honest_error(X @ w) for w in best),
    'absolute values, best': min(honest_error(X @ w) for w in best),
    'squares on the correct years': honest_error(X @ honest_line),
}
for name, score in scores.items():
    print(f'{name}: mean absolute error {score:.2f}')

# %% [markdown]
# ### Let the likelihood choose the noise
#
# Could we have known without looking at the picture? We can compare likelihoods: fit line and width under each kind of
# noise, and compare the highest values. With $\hat b = \frac1N \sum |r_n|$ that of Laplace noise is $-N (\log 2\hat b + 1)$.
# We ask the same question for the patients of the first part.

# %%
def peaks(X, y):  # the highest log-likelihoods: Gauss, Laplace
    median = QuantileRegressor(alpha=0, fit_intercept=False).fit(X, y)
    e, r = y - X @ lstsq(X, y)[0], y - median.predict(X)
    sigma, b = np.sqrt((e**2).mean()), abs(r).mean()
    return np.array([norm.logpdf(e, 0, sigma).sum(),
                     laplace.logpdf(r, 0, b).sum()])

# %%
patients = diabetes()
scaled_x = patients.x / patients.x.std(0)
for name, pair in (('calls', peaks(X, calls)), ('patients', peaks(
        np.column_stack([scaled_x, np.ones(442)]), patients.y))):
    lead = pair[1] - pair[0]
    print(f'{name}: Laplace leads by {lead:.2f} in log-likelihood')

# %% [markdown]
# For the calls, Laplace noise is more likely by a factor of $e^{3.64} \approx 38$. For the patients, Gaussian noise is more
# likely by $e^{25}$. Their residuals have tails no heavier than a Gaussian's, and the squared loss is the right one.
#
# ```{exercise} ★★ Experiment: one wrong entry
# :label: gaussian_noise-entry
# Keep the sixteen correct years and make one mistake. A: the calls of 1957 are typed a hundred times as large. B: the year
# 1973 is typed 100 too high. Which fits then change their slope by more than half? Predict `'squares'`, `'absolute'`, `'both'` or
# `'neither'` for A and for B, then measure, with `QuantileRegressor` for absolute values.
# ```

# %%
def broken_fits():
    """A pair of 'squares', 'absolute', 'both' or 'neither': for A and for B.

    For example ('neither', 'neither').
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def slopes_with(mistake):  # squares, absolute values
    A, target = X[honest].copy(), calls[honest].copy()
    if mistake == 'A':
        target[A[:, 0] == 1957 - 1950] *= 100
    if mistake == 'B':
        A[A[:, 0] == 1973 - 1950, 0] += 100
    median = QuantileRegressor(alpha=0, fit_intercept=False).fit(A, target)
    return np.array([lstsq(A, target)[0][0], median.coef_[0]])

slopes_of = {mistake: slopes_with(mistake) for mistake in ('none', 'A', 'B')}
words = {(True, True): 'both', (True, False): 'squares', (False, True): 'absolute', (False, False): 'neither'}

def is_measured(pair):
    if len(pair) != 2 or not set(pair) <= set(words.values()):
        raise ValueError(f'give two of {", ".join(words.values())}')
    for mistake, said in zip('AB', pair):
        change = abs(slopes_of[mistake] / slopes_of['none'] - 1)
        if said != words[tuple((change > 0.5).tolist())]:
            raise ValueError(f'{mistake}: something else is measured; try it')
    return True

grade(lambda: is_measured(broken_fits()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} gaussian_noise-entry
# :class: dropdown
# ```
# A wrong number of calls changes one residual, and absolute values count only its sign: a hundred times as large, it pulls no
# harder than before. A wrong *year* is another matter. The point then lies so far from all others that a line which misses it
# pays more than one that turns towards it and misses all the others a little. So least absolute deviations protect from
# errors in $y$, but not from errors in $x$, where a single point can turn the line.

# %% jupyter={"source_hidden": true}
for mistake, (of_squares_fit, of_absolute_fit) in slopes_of.items():
    print(f'mistake {mistake:4}: slope by squares {of_squares_fit:.3f}, by absolute values {of_absolute_fit:.3f}')
assert grade(lambda: is_measured(('squares', 'both')), lambda: True, [()])
assert not grade(lambda: is_measured(('squares', 'squares')), lambda: True, [()])  # takes the median line for safe
assert not grade(lambda: is_measured(('both', 'both')), lambda: True, [()])
assert not grade(lambda: is_measured(('neither', 'both')), lambda: True, [()])
assert not grade(lambda: is_measured('both'), lambda: True, [()])

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def peaks_by_search(X, y):
    d = X.shape[1]
    start = np.array([*lstsq(X, y)[0], np.log(y.std())])
    return [-minimize(lambda p: -law.logpdf(y, X @ p[:d], np.exp(p[d])).sum(),
                      start, method='Nelder-Mead', options={
                          'xatol': 1e-9, 'fatol': 1e-9, 'maxiter': 5000}).fun
            for law in (norm, laplace)]

# the search ends within 1e-9 in each parameter
assert close(peaks(X, calls), peaks_by_search(X, calls), atol=1e-7, rtol=0)
median_line = QuantileRegressor(alpha=0, fit_intercept=False).fit(X, calls)
assert close(costs.min(), abs(calls - median_line.predict(X)).sum())

# %% [markdown]
# ## Summary
#
# Minus the logarithm of the likelihood of a linear model is the squared loss if the noise is Gaussian, and the absolute loss
# if it is Laplace; $\sigma$ does not change the place of the minimum. Squares aim at the conditional mean and absolute
# values at the conditional median, and where these agree, $4 f(0)^2 \sigma^2$ says which needs fewer examples: squares for
# Gaussian noise, absolute values for heavy tails. A few wrong entries in a table of 24 years are enough to make the
# least-squares line useless.
#
# **Further reading.** {cite}`huber1964robust` and {cite}`rousseeuw1987robust` on what to do when no distribution is quite
# right; {cite}`bassett1978asymptotic` for the theorem on least absolute deviations, {cite}`pollard1991asymptotics` for the
# short proof; {cite}`bishop2006pattern`, chapter 3, for linear models as likelihoods.
