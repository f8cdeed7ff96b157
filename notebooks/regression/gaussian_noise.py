# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Gaussian noise and squared loss
#
# - **Question.** Why square the errors? What does a loss assume about the noise, and what if the noise is different?
# - **You need** [linear regression](linear_regression.ipynb), [maximum
#   likelihood](../probability/maximum_likelihood.ipynb) and [the Gaussian](../probability/gaussian_distribution.ipynb).
# - **You build** the likelihood of a linear model under Gaussian and under Laplace noise, the two estimators that follow, a
#   forecast of which one wins, and a fit that survives a blunder of the Belgian telephone statistics.
# - **Time** 9 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %%
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.linalg import inv, lstsq
from scipy.integrate import quad
from scipy.optimize import brentq, linprog, minimize, minimize_scalar
from scipy.stats import kstest, laplace, multivariate_normal, norm, t
from sklearn.linear_model import QuantileRegressor

from nbutils.cases import integers, scalars, seeds, vectors
from nbutils.checks import close, erratum, grade, holds, verify
from nbutils.data import diabetes
from nbutils.figures import GREY, label_lines, panels

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## A law for the noise
#
# [Linear regression](linear_regression.ipynb) chose the squared loss because it is smooth, leads to linear equations and
# rewards the conditional mean. Those are reasons of convenience. There is a reason of principle: *say how the noise is
# distributed, and the loss follows.* Suppose that a straight line is true, and that each measurement misses it
# by many small independent errors. Their sum is nearly [Gaussian](../probability/gaussian_distribution.ipynb), with the
# density
#
# ```{math}
# :label: dl.normal-sq.pdf
# p(x) = \frac{1}{\sqrt{2\pi\sigma^2}} \exp\Big( {-\frac{1}{2\sigma^2}} (x - \mu)^2 \Big) ,
# ```
#
# so that the model reads
#
# ```{math}
# :label: dl.normal-sq.model
# y = \mathbf{w}^\top \mathbf{x} + b + \epsilon, \qquad \epsilon \sim \mathcal{N}(0, \sigma^2) .
# ```
#
# Given $\mathbf{x}$, the target is a Gaussian that has been carried to the line. To get its density, put the mean
# $\mathbf{w}^\top \mathbf{x} + b$ in place of $\mu$:
#
# ```{math}
# :label: dl.normal-sq.likelihood
# P(y \mid \mathbf{x}) = \frac{1}{\sqrt{2\pi\sigma^2}} \exp\Big( {-\frac{1}{2\sigma^2}} (y - \mathbf{w}^\top \mathbf{x} - b)^2 \Big) .
# ```

# %%
def bell(x, mu, sigma):
    return np.exp(-(x - mu) ** 2 / (2 * sigma**2)) / np.sqrt(
        2 * np.pi * sigma**2)

def density(y, x, w, b, sigma):
    return bell(y, w @ x + b, sigma)

# %% [markdown]
# The traps of these formulas are $\sigma$ where $\sigma^2$ is meant and a bias with the wrong sign; they make the
# controls. For the model, 4000 simulated residuals, divided by $\sigma$, must keep to the distance from the normal
# distribution function that chance exceeds once in a million (Dvoretzky, Kiefer and Wolfowitz). There the trap waits in
# the code: numpy's `normal` takes the standard deviation, not the variance.

# %% tags=["hide-input"]
def residuals(seed, scale, law, w_read, n=4000):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = 1.5 * x - 2 + law(rng, scale, n)
    return x, y - w_read * x + 2

def is_standard_normal(z):
    dkw = np.sqrt(np.log(2e6) / (2 * len(z)))
    return kstest(z, norm.cdf).statistic < dkw

gaussian = lambda rng, scale, n: rng.normal(0, scale, n)
uniform = lambda rng, scale, n: 3**0.5 * scale * rng.uniform(-1, 1, n)

def as_in_the_model(seed, sigma, scale):
    return is_standard_normal(residuals(seed, scale, gaussian, 1.5)[1] / sigma)

# %% tags=["hide-input"]
holds(
    'dl.normal-sq.pdf',
    lambda x, mu, s: close(bell(x, mu, s), norm.pdf(x, mu, s), atol=0),
    control=lambda x, mu, s: close(bell(x, mu, s), norm.pdf(x, mu, s**2),
                                   atol=0),
    x=vectors(3), mu=scalars(), s=scalars(0.5, 3),
)
holds(
    'dl.normal-sq.model', lambda seed, s: as_in_the_model(seed, s, s),
    control=lambda seed, s: as_in_the_model(seed, s, s**2),
    seed=seeds(), s=[0.5, 1.5, 4], tries=30,
)

# %% tags=["hide-input"]
def scipy_density(y, x, w, b, sigma):
    return norm.pdf(y, loc=np.dot(w, x) + b, scale=sigma)

holds(
    'dl.normal-sq.likelihood',
    lambda y, x, w, b: close(density(y, x, w, b, 4.0),
                             scipy_density(y, x, w, b, 4.0), atol=0),
    control=lambda y, x, w, b: close(density(y, x, w, -b, 4.0),
                                     scipy_density(y, x, w, b, 4.0), atol=0),
    y=scalars(), x=vectors(2), w=vectors(2, -2, 2), b=scalars(),
)

# %% [markdown]
# The second set of notes states the same model with the bias among the weights,
#
# ```{math}
# :label: ml.mle.model.noise
# \begin{gathered}
# y_n = \mathbf{x}_n^\top \mathbf{w} + \epsilon_n , \\
# \epsilon_n \ \text{independent, Gaussian, of mean zero and variance } \sigma^2 .
# \end{gathered}
# ```
#
# This says more than it seems to: at the true weights the residuals are Gaussian *and* know nothing of the inputs, so that
# $\frac1N \sum_n x_n \epsilon_n$ is zero up to five standard errors. Uniform noise of the same variance fails, and so do
# weights that are a little off. (A law closer to the bell would need more residuals to be told apart.)

# %%
def fits_the_model(seed, law, w_read, sigma=0.7):
    x, e = residuals(seed, sigma, law, w_read)
    blind = abs((x * e).mean()) < 5 * sigma * np.sqrt((x**2).mean() / len(x))
    return bool(blind and is_standard_normal(e / sigma))

holds(
    'ml.mle.model.noise', lambda seed: fits_the_model(seed, gaussian, 1.5),
    control=lambda seed: fits_the_model(seed, uniform, 1.5),
    seed=seeds(), tries=30,
)
assert not fits_the_model(0, gaussian, 1.6)

# %% [markdown]
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
# The witness is the joint density in $N$ dimensions with covariance $\sigma^2 I$. One assumption is spent here, and it is
# the one most often broken: if all measurements share a disturbance (an instrument warms up, a season passes), the
# covariance has entries off its diagonal, and the product is wrong. That is the first control. The second writes the
# constant $-\frac12 \log 2\pi\sigma^2$ once, not $N$ times.

# %%
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

# %% tags=["hide-input"]
def factorizes(seed, sigma, shared):
    X, y, w = few(seed)
    product = np.prod([density(y[i], X[i], w, 0, sigma) for i in range(4)])
    return close(np.log(product), joint(seed, sigma, shared))

holds(
    'dl.normal-sq.factorize', lambda seed, s: factorizes(seed, s, 0),
    control=lambda seed, s: factorizes(seed, s, 0.3),
    seed=seeds(), s=scalars(0.5, 3), tries=60,
)
holds(
    'ml.mle.model.likelihood',
    lambda seed, s: close(log_likelihood(*few(seed), s), joint(seed, s, 0)),
    control=lambda seed, s: close(log_likelihood(*few(seed), s, copies=1),
                                  joint(seed, s, 0)),
    seed=seeds(), s=scalars(0.5, 3), tries=60,
)

# %% mystnb={"figure": {"caption": "Left: the bell moves with $\\mu$ and widens with $\\sigma$. Right: given the input, the target has such a bell around the line, of the same width everywhere."}, "image": {"alt": "Left: three normal densities with different centres and widths. Right: a rising regression line in the middle of two bands, one and two standard deviations wide, with the bell curve of the noise drawn sideways at three inputs and forty points scattered over the bands."}} tags=["hide-input"]
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

# %% [markdown]
# ## The loss is a logarithm
#
# Which line made these points? The *principle of maximum likelihood* takes the one under which all of them together were
# the least surprising,
#
# ```{math}
# :label: dl.normal-sq.mle
# (\hat{\mathbf{w}}, \hat b) = \operatorname*{arg\,max}_{\mathbf{w}, b} \; P(\mathbf{y} \mid \mathbf{X}) ,
# ```
#
# and its whole theory stands in [the section on it](../probability/maximum_likelihood.ipynb). A product of $n$ small
# numbers soon is zero on a computer; its logarithm is a sum, and minus the logarithm is something to be minimized, a
# loss. (In the notes the $P$ is lost on the left, and $-\log(\mathbf{y} \mid \mathbf{X})$ remains, the logarithm of
# nothing.)
#
# ```{math}
# :label: dl.normal-sq.nll-lhs
# -\log P(\mathbf{y} \mid \mathbf{X}) = -\log \Big( \prod_{i=1}^n P(y^{(i)} \mid \mathbf{x}^{(i)}) \Big) = -\sum_{i=1}^n \log P(y^{(i)} \mid \mathbf{x}^{(i)})
# ```
#
# The logarithm undoes the exponential of {eq}`dl.normal-sq.likelihood` and turns the root in front into
# $\frac12 \log 2\pi\sigma^2$. The brackets matter: both terms are summed.
#
# ```{math}
# :label: dl.normal-sq.nll
# -\log P(\mathbf{y} \mid \mathbf{X}) = \sum_{i=1}^n \Big[ \tfrac12 \log(2\pi\sigma^2) + \tfrac{1}{2\sigma^2} \big(y^{(i)} - \mathbf{w}^\top \mathbf{x}^{(i)} - b\big)^2 \Big]
# ```

# %%
def nll(X, y, w, b, sigma):
    e = y - X @ w - b  # (n,)
    return (np.log(2 * np.pi * sigma**2) / 2 + e**2 / (2 * sigma**2)).sum()

def data(seed, n=5, d=2):  # X, y and some parameters
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(n, d)), 0.8 * rng.normal(size=n)
    w, b = rng.normal(size=d), rng.normal()
    return X, X @ w + b + noise, w, b

def torch_densities(X, y, w, b, sigma):
    law = torch.distributions.Normal(torch.tensor(X @ w + b), sigma)
    return law.log_prob(torch.tensor(y)).exp().numpy()

def constant_once(X, y, w, b, sigma):
    e = y - X @ w - b
    return np.log(2 * np.pi * sigma**2) / 2 + (e**2).sum() / (2 * sigma**2)

# %% tags=["hide-input"]
def log_of(seed, sigma, rule):
    P = torch_densities(*data(seed), sigma)
    return close(-np.log(P).sum(), rule(P))

holds(
    'dl.normal-sq.nll-lhs',
    lambda seed, s: log_of(seed, s, lambda P: -np.log(P.prod())),
    control=lambda seed, s: log_of(seed, s, lambda P: -np.log(P.sum())),
    seed=seeds(), s=scalars(0.5, 3), tries=60,
)
holds(
    'dl.normal-sq.nll',
    lambda seed, s: log_of(seed, s, lambda P: nll(*data(seed), s)),
    control=lambda seed, s: log_of(seed, s,
                                   lambda P: constant_once(*data(seed), s)),
    seed=seeds(), s=scalars(0.5, 3), tries=60,
)
many = data(0, n=2000)
lost = torch_densities(*many, 0.8).prod() == 0
print('the product of 2000 densities is too small for a computer:', lost)
print(f'minus its logarithm: {nll(*many, 0.8):.0f}')

# %% [markdown]
# Look at {eq}`dl.normal-sq.nll` as a function of $\mathbf{w}$ and $b$ alone. The first term is a constant. The second is
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
# *The square in the squared loss is the square in the exponent of the bell.* And $\sigma$, which nobody knows, plays no
# part in the choice of $\mathbf{w}$ and $b$. The check draws two sets of parameters and demands that both sides rank them
# with the same difference, so that no other minimizer is possible; the control has noise with density
# $\propto e^{-|\epsilon|/\sigma}$.

# %%
def mean_loss(X, y, w, b):
    return ((X @ w + b - y) ** 2).mean() / 2

def laplace_nll(X, y, w, b, sigma):
    return -laplace.logpdf(y, X @ w + b, sigma).sum()

def same_ranking(seed, sigma, rule):
    X, y, w, b = data(seed)
    other = w[::-1] + 0.5, b - 1
    gap = rule(X, y, w, b, sigma) - rule(X, y, *other, sigma)
    losses = mean_loss(X, y, w, b) - mean_loss(X, y, *other)
    return close(gap, len(y) / sigma**2 * losses)

holds(
    'dl.normal-sq.equiv', lambda seed, s: same_ranking(seed, s, nll),
    control=lambda seed, s: same_ranking(seed, s, laplace_nll),
    seed=seeds(), s=scalars(0.5, 3), tries=60,
)

# %% [markdown]
# :::{admonition} Erratum
# :class: warning
# The second set of notes prints
# $\mathcal{L}_{LL}(\mathbf{w}) = -\frac1N \sum_n (y_n - \mathbf{x}_n^\top \mathbf{w})^2 + \text{const}$. The factor of
# the exponent is $\frac{1}{2\sigma^2}$, for any $N$. The slip is easily made, since $\frac1N$ is the factor of the mean
# squared error and the place of the maximum does not notice; but its *height and sharpness* do, and with them every error
# bar and every comparison of two models.
# :::
#
# ```{math}
# :label: ml.mle.cost.ll
# \mathcal{L}_{LL}(\mathbf{w}) = \log p(\mathbf{y} \mid \mathbf{X}, \mathbf{w}) = -\frac{1}{2\sigma^2} \sum_{n=1}^N (y_n - \mathbf{x}_n^\top \mathbf{w})^2 + \text{const.}
# ```

# %%
def const_is_const(seed, sigma, factor):  # at two places
    X, y, w, b = data(seed)
    rest = [norm.logpdf(y - X @ v - b, scale=sigma).sum()
            + factor(len(y)) * ((y - X @ v - b) ** 2).sum()
            for v in (w, w[::-1] + 0.5)]
    return close(rest[0], rest[1])

erratum(
    'ml.mle.cost.ll',
    printed=lambda seed, s: const_is_const(seed, s, lambda N: 1 / N),
    corrected=lambda seed, s: const_is_const(seed, s,
                                             lambda N: 1 / (2 * s**2)),
    seed=seeds(), s=scalars(0.5, 3), tries=60,
)

# %% [markdown]
# Now let $\sigma$ be unknown too. For fixed $\mathbf{w}, b$ with squared errors of sum $Q$ the derivative of
# $n \log \sigma + Q / 2\sigma^2$ vanishes at $\hat\sigma^2 = Q/n$: the mean squared residual of the least-squares line.
# An optimizer that sees only the likelihood, in $(\mathbf{w}, b, \log \sigma)$, finds all of it, and the line is as near
# to the truth as its standard errors $\sigma \sqrt{(\tilde{\mathbf{X}}^\top \tilde{\mathbf{X}})^{-1}_{jj}}$ say, five of
# them allowed, for 200 examples and for 2000. "Of the *entire* data set", say the notes; the control uses the first ten
# examples.

# %%
def most_likely(X, y):  # -> w, b, sigma in one array
    d = X.shape[1]
    loss = lambda p: nll(X, y, p[:d], p[d], np.exp(p[-1])) / len(y)
    p = minimize(loss, np.zeros(d + 2), tol=1e-9).x
    return np.array([*p[:-1], np.exp(p[-1])])

def near_truth(seed, n, used):
    X, y, w, b = data(seed, n)
    found = most_likely(X[:used], y[:used])[:-1]
    full = np.column_stack([X, np.ones(n)])
    bars = 0.8 * np.sqrt(np.diag(inv(full.T @ full)))
    return bool((abs(found - [*w, b]) < 5 * bars).all())

holds(
    'dl.normal-sq.mle', lambda seed, n: near_truth(seed, n, n),
    control=lambda seed, n: near_truth(seed, n, 10),
    seed=integers(0, 99), n=[200, 2000], tries=8,
)

# %%
X, y, w, b = data(1, n=60, d=1)
full = np.column_stack([X, np.ones(60)])
line = lstsq(full, y)[0]
rms = np.sqrt(((y - full @ line) ** 2).mean())
# a loss is flat to 1e-16 within some 1e-8 of its minimum
assert close(most_likely(X, y), [*line, rms], atol=3e-7, rtol=0)
weights, sigmas = np.linspace(-2, 3, 101), np.linspace(0.55, 1.6, 101)
by_weight = {s: np.array([nll(X, y, [v], line[1], s) for v in weights])
             for s in (0.8, 1.2, 2)}
squares = np.array([mean_loss(X, y, [v], line[1]) for v in weights])
by_sigma = [nll(X, y, line[:1], line[1], s) for s in sigmas]
assert len({c.argmin() for c in [*by_weight.values(), squares]}) == 1
print(f'best weight {line[0]:.2f}, sigma {rms:.2f}')

# %% mystnb={"figure": {"caption": "Left: whatever $\\sigma$ is, the likelihood is highest at the weight where the squared loss is lowest. Right: the best $\\sigma$ is the root of the mean squared residual."}, "image": {"alt": "Left: the negative log-likelihood per example against one weight for three values of sigma, three parabolas of different width and height whose lowest points lie at the same weight; the squared loss has its minimum there too. Right: the negative log-likelihood against sigma, steep on the left, with its minimum at the root mean squared residual."}} tags=["hide-input"]
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

# %% [markdown]
# ```{exercise} ★ How likely at best?
# :label: gaussian_noise-peak
# Given the residuals `e` of the best line, write `peak(e)`, the log-likelihood at $\sigma = \hat\sigma$. The grader
# searches for the maximum over $\sigma$.
# ```

# %%
def peak(e):
    raise NotImplementedError('your turn')

# %%
def peak_by_search(e):
    down = lambda s: -norm.logpdf(e, 0, np.exp(s)).sum()
    return -minimize_scalar(down, bracket=(-3, 3), tol=1e-10).fun

peak_rng = np.random.default_rng(3)
leftovers = [s * peak_rng.normal(size=n) for n, s in ((5, 1), (40, 0.2))]
leftovers = [(e - e.mean(),) for e in leftovers]  # as a bias leaves them
grade(peak, peak_by_search, leftovers)

# %% [markdown]
# ```{solution-start} gaussian_noise-peak
# :class: dropdown
# ```
# At $\hat\sigma^2 = Q/n$ the last term of the sum is $Q / 2\hat\sigma^2 = n/2$, whatever the data are. So the peak is
# $-\frac n2 \big( \log(2\pi \hat\sigma^2) + 1 \big)$. Dropping the 1 seems harmless as long as all models have it.

# %% jupyter={"source_hidden": true}
def peak_solution(e):
    return -len(e) / 2 * (np.log(2 * np.pi * (e**2).mean()) + 1)

def peak_without_one(e):
    return -len(e) / 2 * np.log(2 * np.pi * (e**2).mean())

assert grade(peak_solution, peak_by_search, leftovers)
assert not grade(peak_without_one, peak_by_search, leftovers)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Another law, another loss
#
# Nothing so far depended on the bell but the last step. Put another density in, take minus its logarithm, drop what does
# not depend on the line, and a loss comes out. The notes' second law is that of Laplace, a tent of exponentials:
#
# ```{math}
# :label: ml.mle.laplace.density
# p(y_n \mid \mathbf{x}_n, \mathbf{w}) = \frac{1}{2b} \, e^{-\frac1b |y_n - \mathbf{x}_n^\top \mathbf{w}|}
# ```
#
# (this $b > 0$ is a width, not a bias). Each side has the mass $\frac{1}{2b} \int_0^\infty e^{-e/b} \, de = \frac12$.
#
# :::{admonition} Erratum
# :class: warning
# The notes print $\frac{1}{\sqrt{2\pi}} e^{-\frac12 |y_n - \mathbf{x}_n^\top \mathbf{w}|}$: the exponent of a Laplace
# density with $b = 2$ under the constant of a Gaussian. Its mass is $4/\sqrt{2\pi} = 1.596$. The constant is what one
# copies without a thought from the line before; here it is the whole difference between a density and none.
# :::

# %%
def tent(e, b):
    return np.exp(-abs(e) / b) / (2 * b)

def as_printed(e, b=2):
    return np.exp(-abs(e) / 2) / np.sqrt(2 * np.pi)

def is_laplace(p, e, b):  # symmetric, of mass one, with these values
    mass = 2 * quad(p, 0, np.inf, args=(b,))[0]
    return close(mass, 1) and close(p(e, b), laplace.pdf(e, scale=b), atol=0)

erratum(
    'ml.mle.laplace.density',
    printed=lambda e, b: is_laplace(as_printed, e, b),
    corrected=lambda e, b: is_laplace(tent, e, b),
    e=vectors(3), b=scalars(0.5, 5), tries=40,
)
print(f'mass as printed: {2 * quad(as_printed, 0, np.inf)[0]:.3f}')

# %% [markdown]
# The negative log-likelihood is $N \log 2b + \frac1b \sum_n |y_n - \mathbf{x}_n^\top \mathbf{w}|$: *under Laplace noise
# the most likely line is that of least absolute deviations.* The dictionary goes on.
#
# | noise | density $\propto$ | loss of a residual $r$ |
# |---|---|---|
# | Gauss | $e^{-r^2/2\sigma^2}$ | $r^2$ |
# | Laplace | $e^{-\lvert r \rvert/b}$ | $\lvert r \rvert$ |
# | Student, $\nu$ degrees | $(1 + r^2/\nu)^{-(\nu+1)/2}$ | $\log(1 + r^2/\nu)$ |
# | uniform on $[-c, c]$ | 1 if $\lvert r \rvert \le c$ | 0 if $\lvert r \rvert \le c$, else $\infty$ |
# | exponential delay | $e^{-\lambda r}$ if $r \ge 0$ | $r$ if $r \ge 0$, else $\infty$ |
#
# Read it from right to left and a loss confesses what it believes. Make a residual $k$ times as large, and the squared
# loss $\ell_2$ and the absolute loss $\ell_1$ charge
#
# ```{math}
# :label: dl.normal-sq.outsize
# \ell_2(k r) = k^2 \, \ell_2(r) , \qquad \ell_1(k r) = k \, \ell_1(r) \quad \text{for all } k > 0 .
# ```
#
# Squares charge a hundredfold for tenfold. It is the bell that thinks so: an error of ten standard deviations, it says,
# comes with a probability of at most $2e^{-50}/(10\sqrt{2\pi}) \approx 1.5 \cdot 10^{-23}$, and a line that would
# rather turn round than admit one is only consistent. A tent of the same variance grants it the probability
# $e^{-10\sqrt2} \approx 7.2 \cdot 10^{-7}$.

# %%
square_loss, absolute_loss = (lambda r: r**2 / 2), abs

holds(
    'dl.normal-sq.outsize',
    lambda r, k: close(square_loss(k * r), k**2 * square_loss(r))
    and close(absolute_loss(k * r), k * absolute_loss(r)),
    control=lambda r, k: close(absolute_loss(k * r), k**2 * absolute_loss(r)),
    r=scalars(), k=scalars().map(abs),
)
far = {'bell': 2 * norm.sf(10), 'tent': 2 * laplace.sf(10, scale=0.5**0.5)}
for law, p in far.items():
    print(f'beyond ten standard deviations, {law}: {p:.2e}')

# %% [markdown]
# **How to fit it.** Least absolute deviations have no formula; linear regression found them as a linear program. The
# likelihood suggests another way, by least squares. For every $c > 0$
#
# ```{math}
# :label: gaussian_noise-tangent
# |r| \le \frac{r^2}{2c} + \frac c2 ,
# ```
#
# with equality at $c = |r|$, because the difference is $(|r| - c)^2 / 2c$. So take the residuals of the present line as
# $c_n$ and minimize $\sum_n r_n^2 / c_n$, *least squares with weights $1/c_n$*. The bound touches the cost where we stand
# and is above it elsewhere; where the bound is lowest, the cost is no higher than before. Repeat. A residual of zero would
# divide by zero, so we do the same for $\sqrt{r^2 + \epsilon^2}$, with $c = \sqrt{r^2 + \epsilon^2}$. As $|r| \le
# \sqrt{r^2 + \epsilon^2} \le |r| + \epsilon$, the minimum of the smoothed cost lies within $N \epsilon$ of the true one.
# The code fits many data sets with the same inputs at once.

# %%
def reweighted(X, Y, eps, rounds):  # X (N, p), Y (..., N)
    products = (X[:, :, None] * X[:, None]).reshape(len(X), -1)  # (N, p p)
    c, path = np.ones_like(Y), []
    for _ in range(rounds):
        A = ((1 / c) @ products).reshape(*Y.shape[:-1], *2 * X.shape[1:])
        w = np.linalg.solve(A, ((Y / c) @ X)[..., None])[..., 0]  # (..., p)
        c = np.hypot(Y - w @ X.T, eps)
        path.append(w)
    return np.array(path)  # (rounds, ..., p)

def by_linear_program(X, y):  # y - X w = up - down, both positive
    N, p = X.shape
    cost = np.r_[np.zeros(p), np.ones(2 * N)]
    bounds = [(None, None)] * p + [(0, None)] * (2 * N)
    pieces = np.hstack([X, np.eye(N), -np.eye(N)])
    return linprog(cost, A_eq=pieces, b_eq=y, bounds=bounds).x[:p]

# %% [markdown]
# Two checks: no round makes the smoothed cost larger, and after a hundred the true cost is within $N\epsilon$ of the
# least, which scipy's linear program supplies and scikit-learn's median regression confirms. The control forgets that $c$
# is the *root*, and weighs by $1/c^2$.

# %%
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

# %%
verify(
    'reweighting never climbs and ends within N eps of the best',
    lambda seed: descends_to_best(seed, reweighted),
    control=lambda seed: descends_to_best(seed, squared_weights),
    seed=seeds(), tries=20,
)

# %% [markdown]
# **What it estimates.** If the noise is lopsided, the two losses do not even aim at the same line. The squared loss is
# smallest, on average over new examples, at the conditional *mean* ({prf:ref}`thm-conditional-mean`), so that whenever
# the pattern is truly linear, the best line gives it for every input:
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
# Delays show it: exponential with mean 1, and the mean subtracted, they have the median $\ln 2 - 1 = -0.31$. With $N =
# 4000$ the parameters have the standard errors $\sqrt{g_{jj}}$ for both losses, $\mathbf{G} = (\mathbf{X}^\top
# \mathbf{X})^{-1}$ (for absolute values see the next section, where $2 f(m) = 1$ for the density $f(m) = \frac12$ at the
# median). Each loss must find its own line and miss the other's by more than five of them.

# %%
def aims_at(seed, fit, shift, N=4000):
    rng = np.random.default_rng(seed)
    X = with_ones(rng.normal(size=(N, 1)))
    y = X @ [1.5, -2.0] + rng.exponential(size=N) - 1
    off = fit(X, y) - [1.5, -2 + shift]
    return bool((abs(off) < 5 * np.sqrt(np.diag(inv(X.T @ X)))).all())

def with_ones(X):
    return np.column_stack([X, np.ones(len(X))])

def squares(X, y):
    return lstsq(X, y)[0]

def absolute(X, y):
    return reweighted(X, y, 0.01, 40)[-1]

# %%
holds(
    'dl.normal-sq.cond-exp', lambda seed: aims_at(seed, squares, 0),
    control=lambda seed: aims_at(seed, absolute, 0), seed=seeds(), tries=20,
)
verify(
    'absolute values find the conditional median',
    lambda seed: aims_at(seed, absolute, np.log(2) - 1),
    control=lambda seed: aims_at(seed, squares, np.log(2) - 1),
    seed=seeds(), tries=20,
)

# %% mystnb={"figure": {"caption": "Left: far out the tent allows errors that the bell all but excludes. Right: with delays as noise, squares find the conditional mean, absolute values the median, which is lower."}, "image": {"alt": "Left: a bell and a tent of the same variance on a logarithmic axis; the bell is a parabola that plunges, the tent two straight lines that stay far above it beyond three. Right: a cloud of points with noise that has a long tail upwards; the least-squares line runs through the conditional mean, the least-absolute line below it and parallel, through the median."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
grid = np.linspace(-6, 6, 241)
left.semilogy(grid, norm.pdf(grid))
left.semilogy(grid, tent(grid, 0.5**0.5))
left.text(-2.4, 2e-6, 'bell', color='C0', ha='right')
left.text(-4.2, 1e-2, 'tent', color='C1', ha='right')
left.set(xlabel='residual / standard deviation', ylabel='density',
         ylim=(1e-8, 2))
rng = np.random.default_rng(4)
X = with_ones(rng.uniform(-2, 2, (300, 1)))
y = X @ [1.5, -2] + rng.exponential(size=300) - 1
right.plot(X[:, 0], y, '.', color=GREY, ms=3)
for i, (fit, name) in enumerate(((squares, 'mean'), (absolute, 'median'))):
    ends = np.array([[-2, 1], [2, 1]]) @ fit(X, y)
    right.plot([-2, 2], ends, f'C{i}', label=name)
right.set(xlabel='x', ylabel='y', xlim=(-2, 2))
label_lines(right);

# %% [markdown]
# ```{exercise} ★★ Trains are never early
# :label: gaussian_noise-delay
# Let the noise be a delay, exponential and never negative: $y_n = w x_n + b + \epsilon_n$ with density
# $\lambda e^{-\lambda \epsilon}$ for $\epsilon \ge 0$. What do the most likely $w$ and $b$ minimize, and subject to what?
# Write `timetable(x, y)` $\to (w, b)$. *Hint:* some best line passes through two of the points; which height decides?
# ```

# %%
def timetable(x, y):
    raise NotImplementedError('your turn')

# %%
def timetable_by_program(x, y):  # the highest line below all points
    below = np.column_stack([x, np.ones(len(x))])
    free = [(None, None), (None, None)]
    return linprog(-below.sum(0), A_ub=below, b_ub=y, bounds=free).x

train_rng = np.random.default_rng(32)  # lopsided: the mean is not the middle
stations = [10 * train_rng.uniform(size=n) ** 3 for n in (6, 15, 40)]
trains = [(x, 2 * x + 1 + train_rng.exponential(size=len(x)))
          for x in stations]
grade(timetable, timetable_by_program, trains)

# %% [markdown]
# ```{solution-start} gaussian_noise-delay
# :class: dropdown
# ```
# The likelihood is zero if the line passes above a point; otherwise minus its logarithm is
# $\lambda \sum_n (y_n - w x_n - b)$ and a constant, smallest for the line that is *highest at $\bar x$* among those below
# all points. It touches two of them (an edge of the lower hull). The least-squares line, pushed down until it touches,
# has the wrong slope, and is less likely.

# %% jupyter={"source_hidden": true}
def timetable_solution(x, y):
    i, j = np.array([*combinations(range(len(x)), 2)]).T
    w = (y[j] - y[i]) / (x[j] - x[i])  # the lines through two points
    b = y[i] - w * x[i]
    below = (w[:, None] * x + b[:, None] < y + 1e-9).all(1)
    best = np.where(below, w * x.mean() + b, -np.inf).argmax()
    return w[best], b[best]

def pushed_down(x, y):
    w, b = np.polyfit(x, y, 1)
    return w, (y - w * x).min()

assert grade(timetable_solution, timetable_by_program, trains)
assert not grade(pushed_down, timetable_by_program, trains)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Which of the two wins?
#
# This section continues [Another law, another loss](#another-law-another-loss). Let the noise be symmetric, so that mean
# and median agree and both fits aim at the same line. Which comes closer? The least-squares estimate has, for noise of
# *any* law with variance $\sigma^2$, the covariance $\sigma^2 (\mathbf{X}^\top \mathbf{X})^{-1}$. What is that of the other
# one? A residual that is shifted by $u$ changes its absolute value by
#
# ```{math}
# :label: gaussian_noise-knight
# |\epsilon - u| - |\epsilon| = -u \operatorname{sign} \epsilon + 2 \, \max(|u| - |\epsilon|, 0) \, \mathbb{1}[u \epsilon > 0]
# \quad \text{for all } \epsilon \ne 0 .
# ```
#
# This is linear in $u$, unless $\epsilon$ changes its side. For $0 < \epsilon < u$ the left side is $u - 2\epsilon$ and the
# right $-u + 2(u - \epsilon)$; the other cases are as quick.

# %%
def knight(e, u, twice):
    turned = max(abs(u) - abs(e), 0) * (u * e > 0)
    return close(abs(e - u) - abs(e), -u * np.sign(e) + twice * turned)

verify(
    "Knight's identity", lambda e, u: knight(e, u, 2),
    control=lambda e, u: knight(e, u, 1),
    e=scalars().filter(bool), u=scalars(),
)

# %% [markdown]
# ````{prf:theorem} Least absolute deviations
# :label: thm-noise-lad
# Let $y_n = \mathbf{x}_n^\top \mathbf{w} + \epsilon_n$ with independent $\epsilon_n$ of one law that has the median 0 and
# near it a continuous density $f$ with $f(0) > 0$; let $\frac1N \mathbf{X}^\top \mathbf{X} \to \mathbf{Q}$, positive definite, and
# $\max_n \|\mathbf{x}_n\| / \sqrt N \to 0$. Then the estimate $\hat{\mathbf{w}}$ of least absolute deviations satisfies
# ```{math}
# :label: gaussian_noise-lad
# \sqrt N \, (\hat{\mathbf{w}} - \mathbf{w}) \xrightarrow{d} \mathcal{N}\Big( \mathbf{0}, \; \frac{1}{4 f(0)^2} \, \mathbf{Q}^{-1} \Big) .
# ```
# ````
#
# ````{prf:proof}
# With $\boldsymbol\delta = \sqrt N (\mathbf{v} - \mathbf{w})$ and $u_n = \mathbf{x}_n^\top \boldsymbol\delta / \sqrt N$
# the estimate minimizes $Z_N(\boldsymbol\delta) = \sum_n \big( |\epsilon_n - u_n| - |\epsilon_n| \big)$. By
# {eq}`gaussian_noise-knight` this is $-\boldsymbol\delta^\top \mathbf{s}_N$ plus a sum of $t_n \ge 0$, where
# $\mathbf{s}_N = \frac{1}{\sqrt N} \sum_n \mathbf{x}_n \operatorname{sign} \epsilon_n$.
#
# Signs have mean 0 and variance 1, so by the central limit theorem $\mathbf{s}_N \to \mathcal{N}(\mathbf{0}, \mathbf{Q})$. The
# mean of $t_n$ is $2 \int_0^{|u_n|} (|u_n| - \epsilon) f(\pm\epsilon) \, d\epsilon = u_n^2 \, (f(0) + o(1))$, uniformly,
# since all $u_n$ tend to 0; and $\sum_n u_n^2 \to \boldsymbol\delta^\top \mathbf{Q} \boldsymbol\delta$. The variance of the sum
# vanishes: it is at most $\sum_n \mathbb{E}[t_n^2] \le 2 \max_n |u_n| \sum_n \mathbb{E}[t_n] \to 0$. So for every
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
# Only the density at the centre counts; how far the tails reach is of no concern. With
# $\mathbf{G} = (\mathbf{X}^\top \mathbf{X})^{-1}$, divide the variances of one weight by each other: the *efficiency* of
# absolute values relative to squares is
#
# ```{math}
# :label: gaussian_noise-efficiency
# \frac{\sigma^2 g_{jj}}{g_{jj} / 4 f(0)^2} = 4 f(0)^2 \sigma^2 .
# ```
#
# It says how many examples squares need to do what absolute values do with one. For the Gaussian,
# $f(0)^2 = 1 / 2\pi\sigma^2$, it is $2/\pi = 0.64$; for the tent, $f(0) = 1/2b$ and $\sigma^2 = 2b^2$, it is 2. Each wins
# under its own law. Student's distributions lead from one world to the other. We measure with $N = 400$ inputs and 1000
# data sets a law; the two errors, divided by their forecast standard deviations, have mean squares of 1 with a standard
# error of at most $\sqrt{2 / 1000}$, and five of these are allowed. The control has lost the square of $2 f(0)$.

# %%
def error_of_absolute(law, seed, N=400, R=1000):  # (R, 2), in units of
    rng = np.random.default_rng(seed)  # 1 / sqrt of the diagonal of X'X
    X = with_ones(rng.normal(size=(N, 1)))
    errors = reweighted(X, law.rvs((R, N), random_state=rng), 0.01, 30)[-1]
    return errors / np.sqrt(np.diag(inv(X.T @ X)))

def efficiency(law):
    return 4 * law.pdf(0) ** 2 * law.var()

laws = {'Gauss': norm(), 'Laplace': laplace(),
        **{f'Student {nu}': t(nu) for nu in (3, 4, 6, 10, 30)}}
scaled = {name: error_of_absolute(law, seed) ** 2
          for seed, (name, law) in enumerate(laws.items())}  # (1000, 2)

# %%
def as_forecast(name, variance):
    squares = scaled[name] / variance(laws[name].pdf(0))
    return bool(abs(squares.mean() - 1) < 5 * np.sqrt(2 / 1000))

verify(
    'absolute values have the covariance 1/(4 f(0)²) times inverse XᵀX',
    lambda name: as_forecast(name, lambda f: 1 / (4 * f**2)),
    control=lambda name: as_forecast(name, lambda f: 1 / (2 * f)),
    name=list(laws),
)
even = brentq(lambda nu: efficiency(t(nu)) - 1, 3, 9)
print(f'Student: even at {even:.1f} degrees of freedom')
for name, law in laws.items():
    measured = law.var() / scaled[name].mean()
    print(f'{name:10} efficiency {efficiency(law):.2f}, '
          f'measured {measured:.2f}')

# %% [markdown]
# (For the tent the approach is slow: its density has a kink where it counts.) Up to two degrees of freedom squares lose
# altogether, since the variance is infinite. The best-known case is Cauchy's law, $\nu = 1$, where the average of any
# number of errors is distributed like a single one: more data do not help. The median error of absolute values falls
# like $1/\sqrt N$, and from $N = 25$ to $N = 400$ it must become four times smaller. A median of the sizes of $R$
# errors, which are about normal, has the relative standard error $1.17 / \sqrt R$ (half of such sizes are below 0.674
# standard deviations, where their density is 0.636, and $0.5/(0.674 \cdot 0.636) \approx 1.17$); the ratio of two, five
# times over, may miss by the factor $e^{8.3/\sqrt R}$. The control are the squares.

# %%
sizes = np.array([25, 50, 100, 200, 400])

def cauchy_errors(N, R=1000):  # of the slope: absolute values, squares
    rng = np.random.default_rng(N)
    X = with_ones(np.linspace(-1, 1, N)[:, None])
    Y = rng.standard_cauchy((R, N))
    return np.array([reweighted(X, Y, 0.02, 30)[-1][:, 0],
                     lstsq(X, Y.T)[0][0]])

lost = np.array([abs(cauchy_errors(N)) for N in sizes])  # (5, 2, 1000)
medians = np.median(lost, axis=2)  # (5, 2)

def four_times_smaller(column):
    ratio = medians[0, column] / medians[-1, column]
    return bool(abs(np.log(ratio / 4)) < 8.3 / np.sqrt(1000))

verify(
    "under Cauchy's law absolute values have the rate 1/sqrt(N)",
    lambda: four_times_smaller(0), control=lambda: four_times_smaller(1),
)

# %% mystnb={"figure": {"caption": "Left: absolute values beat squares when Student's noise has fewer than 4.7 degrees of freedom. Right: under Cauchy's noise only their error shrinks with more examples."}, "image": {"alt": "Left: the efficiency of absolute values relative to squares against the degrees of freedom of Student's noise, a falling curve that crosses 1 at 4.7 and tends to 0.64, with measured points on it. Right: under Cauchy noise the median error of the slope against the number of examples: flat for squares with a wide band, falling with slope one half for absolute values."}} tags=["hide-input"]
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
          title="Cauchy's noise")
right.xaxis.minorticks_off()
label_lines(right);

# %% [markdown]
# ```{exercise} ★★★ A few bad apples
# :label: gaussian_noise-contaminated
# A share $q$ of the errors is $k$ times as large as the others: the density is
# $(1 - q) \, \mathcal{N}(0, 1) + q \, \mathcal{N}(0, k^2)$. Write `efficiency_with(q, k)`. How many bad apples does it
# take, for $k = 3$ and for $k = 10$, until absolute values win?
# ```

# %%
def efficiency_with(q, k):
    raise NotImplementedError('your turn')

# %%
def by_quadrature(q, k):
    f = lambda e: (1 - q) * norm.pdf(e) + q * norm.pdf(e, scale=k)
    variance = 2 * quad(lambda e: e**2 * f(e), 0, 12 * k, points=[1, 5])[0]
    return 4 * f(0) ** 2 * variance

apples = [(0.0, 3), (0.1, 3), (0.05, 10), (0.5, 2)]
grade(efficiency_with, by_quadrature, apples, rtol=1e-5)

# %% [markdown]
# ```{solution-start} gaussian_noise-contaminated
# :class: dropdown
# ```
# Densities and second moments mix in proportion: $f(0) = (1 - q + q/k) / \sqrt{2\pi}$ and $\sigma^2 = 1 - q + q k^2$. The
# variance feels $k^2$, the density at 0 hardly anything. Who mixes the standard deviations gets $(1 - q + qk)^2$, which is
# smaller. The thresholds are printed below: for $k = 10$ less than one apple in a hundred decides, far too few to be
# noticed {cite}`tukey1960survey`. (Where nearly all are bad, the law is nearly a bell again, and squares win.)

# %% jupyter={"source_hidden": true}
def efficiency_with_solution(q, k):
    return 2 / np.pi * (1 - q + q / k) ** 2 * (1 - q + q * k**2)

def mixes_deviations(q, k):
    return 2 / np.pi * (1 - q + q / k) ** 2 * (1 - q + q * k) ** 2

assert grade(efficiency_with_solution, by_quadrature, apples, rtol=1e-5)
assert not grade(mixes_deviations, by_quadrature, apples, rtol=1e-5)
for k in (3, 10):
    lead = lambda q: efficiency_with_solution(q, k) - 1
    low, high = brentq(lead, 0, 0.3), brentq(lead, 0.3, 1)
    print(f'errors {k} times as large: from {100 * low:.2f} % '
          f'to {100 * high:.2f} %')

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Where it matters: calls from Belgium
#
# This section continues [Another law, another loss](#another-law-another-loss), whose linear program it uses. The Belgian
# statistics of international telephone calls, 1950 to 1973, in millions {cite}`rousseeuw1987robust`, hold a blunder: for
# six years, 1964 to 1969, the total *minutes* were written down in place of the number of calls, and the years 1963 and
# 1970 hold some of both. Nobody would notice in a sum. The line through all 24 years, by either loss; some best line of
# least absolute deviations passes through two of the points, so all pairs are tried.

# %%
year = np.arange(1950, 1974)
calls = np.array([4.4, 4.7, 4.7, 5.9, 6.6, 7.3, 8.1, 8.8, 10.6, 12, 13.5, 14.9,
                  16.1, 21.2, 119, 124, 142, 159, 182, 212, 43, 24, 27, 29])
x = year - 1950
honest = (year < 1963) | (year > 1970)

i, j = np.array([*combinations(range(24), 2)]).T
slope = (calls[j] - calls[i]) / (x[j] - x[i])
lines = np.column_stack([slope, calls[i] - slope * x[i]])  # (276, 2)
costs = abs(calls - lines @ [x, np.ones(24)]).sum(1)
best = lines[costs < costs.min() + 1e-9]

# %%
X = np.column_stack([x, np.ones(24)])
w = by_linear_program(X, calls)
assert close(costs.min(), abs(calls - X @ w).sum())
squares_line = lstsq(X, calls)[0]
honest_line = lstsq(X[honest], calls[honest])[0]
print('calls a year, in millions')
print(f'squares {squares_line[0]:.2f}, absolute values {best[:, 0].min():.2f} '
      f'to {best[:, 0].max():.2f}, squares on honest years '
      f'{honest_line[0]:.2f}')

# %% [markdown]
# Squares believe in five million more calls each year, absolute values in 1.2 to 1.6 million, much nearer to what the
# honest years say. A curiosity comes with it: the best line is not unique. Signs are all that absolute values look at,
# and here, with an even number of years in equal steps, they can balance exactly: a whole polygon of lines, with the
# corners just found, costs the same. How well does each line describe the sixteen honest years? The reference are constants.

# %%
def honest_error(guess):
    return abs(guess - calls)[honest].mean()

lowest_slope, highest_slope = best[best[:, 0].argsort()[[0, -1]]]
scores = {
    'the mean': honest_error(calls.mean()),
    'the median': honest_error(np.median(calls)),
    'squares': honest_error(X @ squares_line),
    'absolute values, worst': max(honest_error(X @ w) for w in best),
    'absolute values, best': min(honest_error(X @ w) for w in best),
    'squares on the honest years': honest_error(X @ honest_line),
}
for name, score in scores.items():
    print(f'{name}: mean absolute error {score:.2f}')

# %% mystnb={"figure": {"caption": "Eight spoiled years (crosses) pull the least-squares line up to 5.04 million more calls a year; lines of least absolute deviations stay near the honest years."}, "image": {"alt": "Calls per year from 1950 to 1973: a gentle rise, six points from 1964 to 1969 that shoot up to two hundred, then back. The least-squares line climbs steeply and misses nearly all; two nearly equal lines of least absolute deviations run through the honest points."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.1))
ax.plot(year[honest], calls[honest], 'o', color=GREY, ms=4)
ax.plot(year[~honest], calls[~honest], 'x', color=GREY, ms=6)
ax.plot(year, X @ squares_line, 'C0', label='squares')
for k, w in enumerate((lowest_slope, highest_slope)):
    ax.plot(year, X @ w, 'C1', label=['', 'absolute values'][k] or '_')
ax.text(1963.4, 190, 'minutes, not calls', ha='right')
ax.set(ylabel='calls (millions)', xlim=(1949.5, 1973.5))
label_lines(ax);

# %% [markdown]
# Could one have known without looking at the picture? The likelihood is a common currency: fit line and width under each
# law, and compare the peaks. With $\hat b = \frac1N \sum |r_n|$ that of the tent is $-N (\log 2\hat b + 1)$. The patients
# of [linear regression](linear_regression.ipynb) are asked the same question.

# %%
def peaks(X, y):  # the highest log-likelihoods: Gauss, Laplace
    e, r = y - X @ lstsq(X, y)[0], y - X @ by_linear_program(X, y)
    sigma, b = np.sqrt((e**2).mean()), abs(r).mean()
    return np.array([norm.logpdf(e, 0, sigma).sum(),
                     laplace.logpdf(r, 0, b).sum()])

def peaks_by_search(X, y):
    d = X.shape[1]
    start = np.array([*lstsq(X, y)[0], np.log(y.std())])
    return [-minimize(lambda p: -law.logpdf(y, X @ p[:d], np.exp(p[d])).sum(),
                      start, method='Nelder-Mead', options={
                          'xatol': 1e-9, 'fatol': 1e-9, 'maxiter': 5000}).fun
            for law in (norm, laplace)]

# the search ends within 1e-9 in each parameter
assert close(peaks(X, calls), peaks_by_search(X, calls), atol=1e-7, rtol=0)
patients = diabetes()
features = with_ones(patients.x / patients.x.std(0))
for name, pair in (('calls', peaks(X, calls)),
                   ('patients', peaks(features, patients.y))):
    lead = pair[1] - pair[0]
    print(f'{name}: Laplace leads by {lead:.2f} in log-likelihood')

# %% [markdown]
# The calls speak for the tent, by a factor of $e^{3.64} \approx 38$; the patients speak for the bell, by $e^{25}$. Their
# residuals have tails no heavier than a Gaussian's, and the squared loss is theirs by right. A loss is a belief about
# noise, and data can be asked whether they share it.

# %% [markdown]
# ## Summary
#
# Minus the logarithm of the likelihood of a linear model is the squared loss if the noise is Gaussian, and the absolute
# loss if it is Laplace; $\sigma$ sets the height and the sharpness, not the place of the minimum. Squares aim at the
# conditional mean and absolute values at the conditional median, and where these agree $4 f(0)^2 \sigma^2$ says which
# needs fewer examples: 0.64 for the bell, 2 for the tent, beyond all bounds for heavy tails. One blunder in a table of 24
# years is enough to make the difference between a line that describes the honest years and one that describes nothing.
#
# **Further reading.** {cite}`huber1964robust` and {cite}`rousseeuw1987robust` on what to do when no law is quite right;
# {cite}`bassett1978asymptotic` for the theorem on least absolute deviations, {cite}`pollard1991asymptotics` for the short
# proof; {cite}`bishop2006pattern`, chapter 3, for linear models as likelihoods.
