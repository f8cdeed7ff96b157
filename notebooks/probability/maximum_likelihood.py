# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Maximum likelihood
#
# - **Question.** Which parameters explain the data best, and how far from the truth is the answer?
# - **You need** densities, the law of large numbers and the central limit theorem from
#   [Expectations](expectations.ipynb), and the [normal distribution](gaussian_distribution.ipynb).
# - **You build** maximum-likelihood estimators, their Fisher information, and an error bar for each; then you break
#   every condition behind them.
# - **Time** 6 s.

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
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, xlogy
from scipy.stats import expon, kstest, laplace, norm

from nbutils.cases import scalars, seeds
from nbutils.checks import below, close, erratum, grade, holds
from nbutils.figures import GREY, label_lines, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## The parameters that expected the data
#
# You measure one length three times: 2.1, 2.9 and 4.3. A Gaussian centred at 9 would hardly ever produce that; one
# centred at 3 easily might. So read the density backwards: keep the data fixed and let the parameters move.
#
# ```{prf:definition} Likelihood
# :label: def-likelihood
# For independent observations $y_1, \dots, y_N$ with density (or probability) $p(y \mid \mathbf{w})$,
# $\mathbf{w} \in W \subseteq \mathbb{R}^D$, the *likelihood* is $\prod_{n} p(y_n \mid \mathbf{w})$ as a function of
# $\mathbf{w}$. A *maximum-likelihood estimate* $\hat{\mathbf{w}}$, in the notes $w_{MLE}$, is a point of $W$ where it
# is largest, if there is one.
# ```
#
# It is no density in $\mathbf{w}$: nothing makes it integrate to one. Since the logarithm is increasing, the
# *log-likelihood* $\mathcal{L}_{LL}(\mathbf{w}) = \sum_n \log p(y_n \mid \mathbf{w})$ has the same maximisers, and
# minus it is a loss to be minimised. The sum is also the only form that a computer can hold:

# %%
def log_gaussian(y, mu, sigma2):
    return -0.5 * (np.log(2 * np.pi * sigma2) + (y - mu) ** 2 / sigma2)

lengths = np.array([2.1, 2.9, 4.3])
many = np.random.default_rng(0).normal(size=2000)
print('product underflows:', np.exp(log_gaussian(many, 0, 1)).prod() == 0)
print(f'sum of logarithms: {log_gaussian(many, 0, 1).sum():.0f}')

# %% [markdown]
# For the Gaussian the summit has a formula. For each fixed $\sigma^2$ the log-likelihood is a downward parabola in
# $\mu$ with its top at the mean $\bar y$, whatever $\sigma^2$ is. Put $\mu = \bar y$ and
# $S = \sum_n (y_n - \bar y)^2$; what remains is $-\tfrac N2 \log \sigma^2 - S / (2 \sigma^2)$ and a constant, with
# derivative $(S - N \sigma^2) / (2 \sigma^4)$: positive below $\sigma^2 = S/N$, negative above (unless all $y_n$
# agree: then $S = 0$ and there is no top). Hence $\hat\mu = \bar y$ and $\hat\sigma^2 = S/N$, with $N$, not $N - 1$.
# An optimiser agrees:

# %%
top = np.array([lengths.mean(), lengths.var()])  # numpy's var divides by N
loss = lambda w: -log_gaussian(lengths, w[0], np.exp(w[1])).sum()
found = minimize(loss, [0, 0]).x
assert close([found[0], np.exp(found[1])], top, rtol=2e-5)
print(f'mean {top[0]:.2f}, variance {top[1]:.3f}')

mu, sd = np.meshgrid(np.linspace(0.5, 5.7, 121), np.linspace(0.35, 3, 121))
surface = log_gaussian(lengths[:, None, None], mu, sd**2).sum(0)
surface = np.exp(surface - log_gaussian(lengths, *top).sum())  # <= 1

# %% mystnb={"figure": {"caption": "The likelihood of three measured lengths has a single top, at their mean and their standard deviation with divisor $N$; a bell further right or wider makes them less likely."}, "image": {"alt": "Left: three measured points under three bell curves, of which the one centred on the points is highest there. Right: the likelihood over mean and standard deviation is one hill, wider for larger standard deviations, with its summit marked."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
t = np.linspace(-1, 9, 300)
rivals = {'most likely': top, 'too far right': (6, 1), 'too wide': (3, 4)}
for i, (name, w) in enumerate(rivals.items()):
    left.plot(t, np.exp(log_gaussian(t, *w)), label=name)
    heights = np.exp(log_gaussian(lengths, *w))
    left.vlines(lengths, 0, heights, color=f'C{i}', alpha=0.4)
left.plot(lengths, 0 * lengths, 'o', color=GREY, clip_on=False)
left.set(xlabel='measured length y', ylabel='density', ylim=(0, 0.62))
left.set_title('Three explanations')
left.legend(loc='upper right')
hill = right.contourf(mu, sd, surface, levels=np.linspace(0, 1.0001, 11))
right.plot(top[0], np.sqrt(top[1]), 'o', color='C1')
right.set(xlabel='mean µ', ylabel='standard deviation σ')
right.set_title('Likelihood, its top = 1')
fig.colorbar(hill, ticks=[0, 0.5, 1]);

# %% [markdown]
# Now let the mean depend on inputs: $y_n = \mathbf{x}_n^\top \mathbf{w} + \varepsilon_n$ with Gaussian noise of known
# variance $\sigma^2$. Each observation contributes
# $-\tfrac12 \log 2\pi\sigma^2 - (y_n - \mathbf{x}_n^\top \mathbf{w})^2 / 2\sigma^2$, so
# $\mathcal{L}_{LL}(\mathbf{w}) = \text{const} - \tfrac{N}{2\sigma^2} \mathcal{L}_{MSE}(\mathbf{w})$: a decreasing
# function of the mean squared error. Therefore
#
# ```{math}
# :label: ml.mle.estimator.equiv
# \arg\min_{\mathbf{w}} \mathcal{L}_{MSE}(\mathbf{w}) = \arg\max_{\mathbf{w}} \mathcal{L}_{LL}(\mathbf{w}) .
# ```
#
# (In the notes the left subscript is garbled to MLE, which would make the line a tautology.) The square in least
# squares *is* the square in the Gaussian exponent. The check compares the linear-algebra solution with an optimiser
# that sees only the likelihood. It stops once every slope is below $10^{-5}$, in a bowl of least curvature $c$, so at
# most $\sqrt3 \cdot 10^{-5} / c$ from the bottom; with the rounding of its slopes, we allow $2 \cdot 10^{-5} / c$.
# The control forgets the hypothesis and takes Laplace noise, $p \propto e^{-|\varepsilon|}$.

# %%
def mle_linear(X, y, log_p):  # X (N, D), y (N,) -> (D,)
    loss = lambda w: -log_p(y - X @ w).sum()
    return minimize(loss, np.zeros(X.shape[1])).x

def is_least_squares(seed, log_p):  # the Gaussian has variance 1/2
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    gap = mle_linear(X, y, log_p) - np.linalg.lstsq(X, y)[0]
    curvature = np.linalg.eigvalsh(X.T @ X / 0.5)[0]
    return close(gap, np.zeros(3), atol=2e-5 / curvature)

holds(
    'ml.mle.estimator.equiv',
    lambda seed: is_least_squares(seed, lambda e: log_gaussian(e, 0, 0.5)),
    control=lambda seed: is_least_squares(seed, laplace.logpdf),
    seed=seeds(), tries=15,
)

# %% [markdown]
# With one weight and one outlier the Gaussian likelihood peaks where the squared error is least; another noise model
# peaks elsewhere.

# %%
rng = np.random.default_rng(1)
x = np.linspace(0.2, 2, 10)
y = x + 0.3 * rng.normal(size=10)
y[-1] += 3  # one gross error
w_grid = np.linspace(0, 2.4, 241)
e = y - w_grid[:, None] * x  # (241, 10)
mse = (e**2).mean(1)
gauss, lap = log_gaussian(e, 0, 1).sum(1), laplace.logpdf(e).sum(1)
w_gauss, w_lap = w_grid[gauss.argmax()], w_grid[lap.argmax()]
assert w_grid[mse.argmin()] == w_gauss != w_lap
print(f'tops: Gaussian {w_gauss:.2f}, Laplace {w_lap:.2f}; truth 1')

# %% mystnb={"figure": {"caption": "The Gaussian log-likelihood has its top where the squared error is least, drawn by the outlier to $1.44$; the Laplace log-likelihood stays nearer to the true weight $1$."}, "image": {"alt": "Above, the mean squared error as a parabola; below, the Gaussian log-likelihood as the same parabola upside down with its top at the same weight, and the Laplace log-likelihood with its top further left, near the true weight 1."}} tags=["hide-input"]
fig, (upper, lower) = panels(1, rows=2, height=1.7, sharex=True)
upper.plot(w_grid, mse, color=GREY)
upper.set(ylabel='squared error', title='One weight, ten points, one outlier')
lower.plot(w_grid, gauss - gauss.max(), label='Gaussian')
lower.plot(w_grid, lap - lap.max(), label='Laplace')
for ax in (upper, lower):
    ax.axvline(w_gauss, color='C0', ls=':')
lower.axvline(w_lap, color='C1', ls=':')
lower.set(xlabel='weight w', ylabel='log-likelihood\nbelow its top')
label_lines(lower)

# %% [markdown]
# ```{exercise} ★ Lamps that still burn
# :label: mle-lamps
# Of $N$ lamps some failed at times $t_1, \dots, t_r$; the other $N - r$ were still burning when the test stopped at
# time $T$. Lifetimes have density $\lambda e^{-\lambda t}$, so a lamp survives $T$ with probability $e^{-\lambda T}$,
# and that is what a survivor contributes to the likelihood. Write `lamp_rate(failed, survivors, T)`, the most likely
# $\lambda$.
# ```

# %%
def lamp_rate(failed, survivors, T):
    raise NotImplementedError('your turn')

# %%
def lamp_rate_by_search(failed, survivors, T):
    loss = lambda u: T * survivors * np.exp(u) + (np.exp(u) * failed - u).sum()
    return np.exp(minimize_scalar(loss, bracket=(-9, 3), tol=1e-12).x)

lamps = [
    (np.array([1., 2.5]), 3, 4.), (np.array([.3, .4, 2.]), 0, 5.),
    (np.array([7.]), 9, 8.),
]
grade(lamp_rate, lamp_rate_by_search, lamps, rtol=1e-5)

# %% [markdown]
# ```{solution-start} mle-lamps
# :class: dropdown
# ```
# The log-likelihood is $\sum_i (\log\lambda - \lambda t_i) - (N - r) \lambda T$. Its derivative
# $r/\lambda - \sum_i t_i - (N-r) T$ falls from $+\infty$ through a single zero: failures divided by *all* the time
# burnt. Whoever drops the survivors makes lamps look worse than they are.

# %% jupyter={"source_hidden": true}
def lamp_rate_solution(failed, survivors, T):
    return len(failed) / (failed.sum() + survivors * T)

def without_survivors(failed, survivors, T):
    return 1 / failed.mean()

assert grade(lamp_rate_solution, lamp_rate_by_search, lamps, rtol=1e-5)
assert not grade(without_survivors, lamp_rate_by_search, lamps, rtol=1e-5)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Why the summit moves to the truth
#
# Why should the highest point of a random hill be near $\mathbf{w}_{true}$? Let the pairs $(\mathbf{x}_n, y_n)$ be
# drawn independently from one law. Divided by $N$, the log-likelihood is an average of independent terms, and the law
# of large numbers gives, for every fixed $\mathbf{w}$,
#
# ```{math}
# :label: ml.mle.properties.sample-approx
# \frac1N \mathcal{L}_{LL}(\mathbf{w}) \approx M(\mathbf{w}) := \mathbb{E}_{p_{true}(\mathbf{x}, y)} \big[ \log p(y \mid \mathbf{x}, \mathbf{w}) \big] .
# ```
#
# Nature draws the data; $\mathbf{w}$ only scores them. And nature's own parameters score best. Write $p_{\mathbf{w}}$
# for the model and suppose $p_{true} = p_{\mathbf{w}_{true}}$. Since $\log u \le u - 1$, with equality only at
# $u = 1$,
#
# ```{math}
# :label: eq-mle-gibbs
# M(\mathbf{w}) - M(\mathbf{w}_{true}) = \mathbb{E}_{true} \Big[ \log \frac{p_{\mathbf{w}}}{p_{true}} \Big]
# \le \mathbb{E}_{true} \Big[ \frac{p_{\mathbf{w}}}{p_{true}} \Big] - 1 \le 0,
# ```
#
# with equality only if both densities agree almost everywhere. (The last step: the expectation is the mass that
# $p_{\mathbf{w}}$ puts where $p_{true} > 0$.) With the opposite sign this is the Kullback–Leibler divergence.
#
# :::{admonition} Erratum
# :class: warning
# The notes print $\mathcal{L}_{LL}(w) \approx \mathbb{E}_{p(y|X,w)}[\log p(y|X,w)]$, with the same $w$ outside and
# inside: the model scores its own data. That is minus the model's entropy; for Gaussian noise it is
# $-\tfrac12 \log 2\pi e \sigma^2$ per observation whatever $w$ is: a plain without a summit. The slip is easy to
# make, for at $w = w_{true}$ both sides do agree.
# :::
#
# For $y = wx + \varepsilon$ with standard normal $x$, data made with $w_d$ and scored with $w$ have residuals of
# variance $v = \sigma^2 + (w - w_d)^2$. So $M(w) = -\tfrac12 \log 2\pi\sigma^2 - v / 2\sigma^2$, and one term, a
# squared Gaussian, has standard deviation $v / (\sqrt2 \, \sigma^2)$. The band below is five standard errors.

# %%
w_true, sigma = 1.5, 0.8

def expected(w, w_data):
    v = sigma**2 + (w - w_data) ** 2
    return -0.5 * (np.log(2 * np.pi * sigma**2) + v / sigma**2)

def agrees(w, w_data, N, seed):  # the data always come from w_true
    x, noise = np.random.default_rng(seed).normal(size=(2, N))
    average = norm.logpdf(w_true * x + sigma * noise, w * x, sigma).mean()
    band = 5 * (1 + (w - w_true) ** 2 / sigma**2) / np.sqrt(2 * N)
    return abs(average - expected(w, w_data)) < band

erratum(
    'ml.mle.properties.sample-approx',
    printed=lambda w, N, seed: agrees(w, w, N, seed),
    corrected=lambda w, N, seed: agrees(w, w_true, N, seed),
    w=scalars(-2, 4), N=[1000, 4000, 16000], seed=seeds(),
)

# %% [markdown]
# Over many samples the curves crowd around $M$; the printed one cannot tell one weight from another:

# %%
rng = np.random.default_rng(1)
w_axis = np.linspace(-0.5, 3.5, 81)
hills = {}
for N in (10, 100):
    x, noise = rng.normal(size=(2, 300, N, 1))
    e = (w_true - w_axis) * x + sigma * noise  # (300, N, 81)
    average = (e**2).mean(1) / (2 * sigma**2)  # (300, 81)
    hills[N] = -0.5 * np.log(2 * np.pi * sigma**2) - average

# %% mystnb={"figure": {"caption": "With more data the log-likelihood per observation crowds around $M(w)$, whose top is the true weight; the expectation that the notes print is flat and prefers no weight."}, "image": {"alt": "Two panels, for 10 and for 100 observations. A parabola with its summit at the true weight; around it a band of sample curves, wide for 10 observations and narrow for 100. The line that the notes print is flat in both."}} tags=["hide-input"]
fig, axes = panels(2, sharey=True, height=2.8)
for ax, (N, hill) in zip(axes, hills.items(), strict=True):
    low, high = np.quantile(hill, [0.05, 0.95], axis=0)
    ax.fill_between(w_axis, low, high, alpha=0.3, label='90 % of samples')
    ax.plot(w_axis, expected(w_axis, w_true), label='expectation M(w)')
    ax.plot(w_axis, expected(w_axis, w_axis), ls='--', label='as printed')
    ax.plot(w_true, -6, '^', color=GREY, clip_on=False)
    ax.set(xlabel='weight w (▲ truth)', title=f'N = {N}', ylim=(-6, 0))
axes[0].set(ylabel='log-likelihood / N')
axes[1].legend(loc='lower center');

# %% [markdown]
# A curve that is close to $M$ at each single $\mathbf{w}$ may still have its top elsewhere: infinitely many points
# get infinitely many chances to stray. Compactness reduces them to finitely many {cite}`wald1949note`.
#
# ````{prf:theorem} Consistency
# :label: thm-mle-consistency
# Let (i) $y_1, y_2, \dots$ be independent with density $p(\cdot \mid \mathbf{w}_{true})$, $\mathbf{w}_{true} \in W$,
# where $W \subset \mathbb{R}^D$ is compact and the same for all $N$; (ii) the model be *identifiable*:
# $\mathbf{w} \ne \mathbf{w}'$ give different distributions; (iii) $\mathbf{w} \mapsto \log p(y \mid \mathbf{w})$ be
# continuous for almost all $y$; (iv)
# $\mathbb{E}_{true} \sup_{\mathbf{w} \in W} |\log p(y \mid \mathbf{w})| < \infty$. Then
#
# ```{math}
# :label: ml.mle.properties.consistent
# \hat{\mathbf{w}}_N \xrightarrow{p} \mathbf{w}_{true} .
# ```
# ````
#
# ```{prf:proof}
# By (ii) and {eq}`eq-mle-gibbs`, $M(\mathbf{w}) < M(\mathbf{w}_{true})$ for $\mathbf{w} \ne \mathbf{w}_{true}$. Fix
# $\epsilon > 0$ and some $\mathbf{w}$ at distance at least $\epsilon$ from the truth. As a ball $B$ of $W$ around it
# shrinks, $\sup_B \log p(y \mid \cdot)$ decreases to $\log p(y \mid \mathbf{w})$ by (iii), and by (iv) its
# expectation decreases to $M(\mathbf{w})$; so some ball has
# $\mathbb{E} \sup_B \log p(y \mid \cdot) < M(\mathbf{w}_{true})$. Finitely many such balls cover all $\mathbf{w}$ at
# distance at least $\epsilon$, a compact set. The law of large numbers, once for each ball and once for
# $\mathbf{w}_{true}$, says: with probability tending to one, every ball's average of suprema is below the average at
# $\mathbf{w}_{true}$. Then no point of any ball is a maximiser, and $\hat{\mathbf{w}}_N$ is within $\epsilon$ of the
# truth.
# ```
#
# (With inputs, read $y$ as the pair $(\mathbf{x}, y)$; the density of $\mathbf{x}$ cancels.) Where $\log p$ is
# concave in $\mathbf{w}$, as in linear and logistic regression, $W = \mathbb{R}^D$ will do: cover only the sphere of
# radius $\epsilon$, for a concave function that is below its centre value on a whole sphere stays below it outside.
# The notes state consistency without any condition. The check takes linear regression with two correlated inputs.
# Given them, $\hat w_1 - w_1$ is exactly Gaussian, so the probability of missing by more than $\epsilon$ is known;
# frequencies over 4000 samples must match it within five standard errors and vanish as $N$ grows. The control drops
# the second input, so that the truth is no longer in the model.

# %%
def misses(N, keep, epsilon=0.25, R=4000):  # frequency and theory
    rng = np.random.default_rng(N)
    X = rng.normal(size=(N, 2)) @ [[1, 0.6], [0, 0.8]]  # correlation 0.6
    y = X @ [1, 1] + rng.normal(size=(R, N))  # (R, N)
    w1 = np.linalg.lstsq(X[:, :keep], y.T)[0][0]  # (R,)
    sd = np.sqrt(np.linalg.inv(X.T @ X)[0, 0])
    return np.mean(abs(w1 - 1) > epsilon), 2 * norm.sf(epsilon / sd)

def is_consistent(keep):
    q, p = np.array([misses(N, keep) for N in (20, 80, 320)]).T
    near = abs(q - p) <= 5 * np.sqrt(p * (1 - p) / 4000)
    return near.all() and p[-1] < 0.001

holds(
    'ml.mle.properties.consistent',
    lambda: is_consistent(keep=2), control=lambda: is_consistent(keep=1),
)

# %% [markdown]
# Each hypothesis carries weight. *Well specified*: with $x_2$ dropped the estimate does converge, to the maximiser of
# $M$, the closest model in Kullback–Leibler divergence {cite}`white1982maximum`; here that is $1 + 0.6 = 1.6$. *$W$
# fixed*: measure each of $N$ objects twice, $y_{ij} = \mu_i + \varepsilon_{ij}$. Every object brings its own $\mu_i$,
# and $\hat\sigma^2 = \frac{1}{2N} \sum_{ij} (y_{ij} - \bar y_i)^2 = \frac{1}{4N} \sum_i (y_{i1} -
# y_{i2})^2$ tends to $2\sigma^2 / 4 = \sigma^2 /
# 2$ {cite}`neyman1948consistent`. *Identifiable*: with two equal columns the likelihood has a ridge $w_1 + w_2 =
# \text{const}$, and no amount of data tells where on it the truth lies; `lstsq` returns its point of least norm.

# %%
def estimates(N, R=300):  # the truth is 1 in all three
    rng = np.random.default_rng(N)
    x1, z, noise, twin = rng.normal(size=(4, R, N))
    x2 = 0.6 * x1 + 0.8 * z
    y = x1 + x2 + noise
    a, b, c = (x1 * x1).sum(1), (x1 * x2).sum(1), (x2 * x2).sum(1)
    f, g = (x1 * y).sum(1), (x2 * y).sum(1)
    both = (c * f - b * g) / (a * c - b * b)  # Cramer's rule
    pairs = ((noise - twin) ** 2).mean(1) / 4  # the means cancel
    return both, f / a, pairs

sizes = np.array([5, 10, 20, 50, 100, 200, 500, 1000])
paths = np.array([estimates(N) for N in sizes])  # (8, 3, 300)
low, middle, high = np.quantile(paths, [0.05, 0.5, 0.95], axis=2)

x = np.random.default_rng(2).normal(size=1000)
ridge = np.linalg.lstsq(np.stack([x, x], 1), 2 * x)[0]
print('data from w = (2, 0), estimate', ridge.round(2))

# %% mystnb={"figure": {"caption": "A narrow band is not yet the truth: the full model closes in on 1, but a dropped input leads to $1.6$, and one mean per object to half the variance."}, "image": {"alt": "Three bands that narrow as the sample grows from 5 to 1000. The full model narrows onto the true value 1, the model with a dropped input onto 1.6, the variance with one mean per object onto 0.5."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
names = ['full model', 'input dropped', 'one mean\nper object']
for i, name in enumerate(names):
    ax.fill_between(sizes, low[:, i], high[:, i], alpha=0.25)
    ax.plot(sizes, middle[:, i], label=name)
ax.set(xscale='log', xlabel='sample size N', ylabel='estimate')
ax.set(ylim=(-0.2, 2.6), title='Median and 90 % band; the truth is 1')
label_lines(ax)

# %% [markdown]
# ```{exercise} ★★ One mean per object
# :label: mle-neyman-scott
# Let each object be measured $m$ times, in an array `y` of shape `(N, m)`. Find the limit of the maximum-likelihood
# estimate of $\sigma^2$ as $N \to \infty$ with $m$ fixed, and write `consistent_variance(y)`, which corrects it.
# ```

# %%
def consistent_variance(y):  # y (N, m) -> ()
    raise NotImplementedError('your turn')

# %%
def pairwise_variance(y):  # half the mean squared difference in an object
    m = y.shape[1]
    d = y[:, :, None] - y[:, None, :]  # (N, m, m)
    return 0.5 * (d**2).sum() / (len(y) * m * (m - 1))

rng = np.random.default_rng(4)
objects = [(rng.normal(size=(50, m)),) for m in (2, 3, 7)]
grade(consistent_variance, pairwise_variance, objects)

# %% [markdown]
# ```{solution-start} mle-neyman-scott
# :class: dropdown
# ```
# Within one object, $\mathbb{E} \sum_j (y_{ij} - \bar y_i)^2 = (m - 1) \sigma^2$, for $\bar y_i$ takes one direction
# of the $m$ away. The MLE divides by $m$ and tends to $\sigma^2 (m - 1)/m$. Divide by $m - 1$ instead. Dividing the
# grand total by $Nm - 1$ repairs nothing: $N$ means were fitted, not one.

# %% jupyter={"source_hidden": true}
def consistent_variance_solution(y):
    return y.var(axis=1, ddof=1).mean()

def grand_total(y):
    n = y.size
    return ((y - y.mean(axis=1, keepdims=True)) ** 2).sum() / (n - 1)

assert grade(consistent_variance_solution, pairwise_variance, objects)
assert not grade(grand_total, pairwise_variance, objects)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## How sharp the summit is
#
# Consistency says nothing about speed. A sharp summit pins the parameter down, a flat one leaves it loose; so measure
# the curvature. The slope of one term, $\mathbf{s}(y, \mathbf{w}) = \nabla_{\mathbf{w}} \log p(y \mid \mathbf{w})$,
# is the *score*. Assume that
#
# - **(a)** the set $\{y : p(y \mid \mathbf{w}) > 0\}$ is the same for all $\mathbf{w}$, and
# - **(b)** $\int p(y \mid \mathbf{w}) \, dy = 1$ may be differentiated twice in $\mathbf{w}$ under the integral.
#
# Then, with $\nabla p = p \, \mathbf{s}$ and all expectations under $p(\cdot \mid \mathbf{w})$, first
# $\mathbb{E}[\mathbf{s}] = \int \nabla p \, dy = \nabla \int p \, dy = \mathbf{0}$: at the parameter that made the
# data, slopes average out. Differentiating $\mathbf{s} = \nabla p / p$ once more by the quotient rule,
# $\nabla^2 \log p = \nabla^2 p / p - \mathbf{s}\mathbf{s}^\top$, and the first term again integrates to zero. So the
# *Fisher information* of one observation has two faces, mean curvature and spread of the score:
#
# ```{math}
# :label: ml.mle.properties.fisher
# F(\mathbf{w}) = -\mathbb{E}_{p(y \mid \mathbf{w})} \Big[ \frac{\partial^2 \log p(y \mid \mathbf{w})}{\partial \mathbf{w} \, \partial \mathbf{w}^\top} \Big]
# = \mathbb{E}_{p(y \mid \mathbf{w})} \big[ \mathbf{s} \, \mathbf{s}^\top \big] = \mathrm{Cov}(\mathbf{s}) .
# ```
#
# Independent scores add their covariances: the whole sample has $F_N = N F$.
#
# :::{admonition} Erratum
# :class: warning
# The notes print $F(w) = -\mathbb{E}\big[\frac{\partial \log p(y|X,w)}{\partial w}\big]$, with a first derivative.
# That is the mean score, which is zero for every regular model, and a vector where a matrix is due. A $\partial^2$
# loses its small 2 quickly.
# :::
#
# Counts with a Poisson law $\lambda^y e^{-\lambda} / y!$ have score $y/\lambda - 1$ and curvature $-y / \lambda^2$,
# so $F = 1/\lambda$. The sample averages below may miss by five standard errors, which follow from
# $\mathrm{Var}(y) = \lambda$ and $\mathrm{Var}((y - \lambda)^2) = \lambda + 2\lambda^2$.

# %%
def poisson_case(rate, seed, N=10_000):
    y = np.random.default_rng(seed).poisson(rate, N)
    score, curvature = y / rate - 1, -y / rate**2
    return score, curvature, 5 / np.sqrt(N)

def printed_fisher(rate, seed):
    score, _, five = poisson_case(rate, seed)
    return abs(-score.mean() - 1 / rate) < five / np.sqrt(rate)

def corrected_fisher(rate, seed):
    score, curvature, five = poisson_case(rate, seed)
    by_curvature = abs(-curvature.mean() - 1 / rate) < five / rate**1.5
    sd = np.sqrt(rate + 2 * rate**2) / rate**2
    return by_curvature and abs((score**2).mean() - 1 / rate) < five * sd

erratum(
    'ml.mle.properties.fisher', printed=printed_fisher,
    corrected=corrected_fisher, rate=[0.5, 2, 8], seed=seeds(), tries=60,
)

# %% [markdown]
# Both faces in one picture. With ten times the counts the curves bend ten times as sharply, while their slopes at the
# true rate spread only $\sqrt{10}$ times as far; so their tops lie $\sqrt{10}$ times closer.

# %%
rng = np.random.default_rng(5)
rates = np.linspace(1, 3.4, 121)
profiles = {}
for N in (20, 200):
    total = rng.poisson(2, size=(40, N)).sum(1)[:, None]  # (40, 1)
    profiles[N] = total * np.log(rates / 2) - N * (rates - 2)
peak = 2 * np.log(rates / 2) - (rates - 2)  # the expectation, per count

# %% mystnb={"figure": {"caption": "Ten times the counts bend the log-likelihood ten times as sharply, but spread its slopes at the true rate only $\\sqrt{10}$ times as far; so its top lies closer to the truth."}, "image": {"alt": "Forty log-likelihood curves through one point at the true rate 2, for 20 and for 200 counts. Their slopes at that point scatter around zero, and with 200 counts the curves bend much more sharply. The expected curve has its summit at the true rate."}} tags=["hide-input"]
fig, axes = panels(2, sharey=True, height=2.8)
for ax, (N, curves) in zip(axes, profiles.items(), strict=True):
    ax.plot(rates, curves.T, color='C0', alpha=0.4, lw=0.8)
    ax.plot(rates, peak * N, color='C1', label='expected')
    ax.axvline(2, color=GREY, lw=1, ls=':')
    ax.set(xlabel='rate λ', ylim=(-12, 6), title=f'{N} counts, 40 samples')
axes[0].set(ylabel='log-likelihood minus\nits value at the truth')
axes[1].legend(loc='upper right');

# %% [markdown]
# Why does the spread of slopes matter? Because it limits *every* unbiased estimator, not only this one.
#
# ```{prf:theorem} Cramér–Rao
# :label: thm-cramer-rao
# Let (a) and (b) hold for the sample's density $p(\mathbf{y} \mid \mathbf{w})$, $\mathbf{w}$ in an open set, with
# $F_N(\mathbf{w})$ finite and invertible. Let $T(\mathbf{y})$ have finite variance, be unbiased,
# $\mathbb{E}[T] = \mathbf{w}$ for all $\mathbf{w}$, and let this too be differentiable under the integral. Then
# $\mathrm{Cov}(T) \succeq F_N(\mathbf{w})^{-1}$: the difference is positive semidefinite.
# ```
#
# ```{prf:proof}
# Let $\mathbf{s}$ be the score of the whole sample. Differentiating $\int T \, p \, d\mathbf{y} = \mathbf{w}$ gives
# $\mathbb{E}[T \mathbf{s}^\top] = I$, and since $\mathbb{E}[\mathbf{s}] = \mathbf{0}$, $\mathrm{Cov}(T, \mathbf{s}) = I$.
# Hence $\mathrm{Cov}(T - F_N^{-1} \mathbf{s}) = \mathrm{Cov}(T) - F_N^{-1} - F_N^{-1} + F_N^{-1} F_N F_N^{-1} =
# \mathrm{Cov}(T) - F_N^{-1}$, and a covariance is positive semidefinite.
# ```
#
# Equality holds exactly if $T = \mathbf{w} + F_N^{-1} \mathbf{s}$ almost surely. Linear regression does it: there
# $\mathbf{s} = X^\top (\mathbf{y} - X\mathbf{w}) / \sigma^2$ and $F_N = X^\top X / \sigma^2$, so
# $\hat{\mathbf{w}} = \mathbf{w} + (X^\top X)^{-1} X^\top (\mathbf{y} - X \mathbf{w}) = \mathbf{w} + F_N^{-1} \mathbf{s}$,
# and whenever $X$ has full column rank,
#
# ```{math}
# :label: ml.mle.properties.cov
# \mathrm{Cov}(\hat{\mathbf{w}}) = F_N(\mathbf{w}_{true})^{-1} = \sigma^2 (X^\top X)^{-1} .
# ```
#
# In other regular models this becomes $\mathrm{Cov}(\hat{\mathbf{w}}) \approx (N F)^{-1}$. The notes write $F^{-1}$
# both here and in their limit law, which needs *one* observation's $F$ where this line needs the whole sample's. The
# control confuses the two. An entry of the covariance of $R$ Gaussian vectors has standard error
# $\sqrt{(C_{ii} C_{jj} + C_{ij}^2) / R}$.

# %%
def has_covariance(C, z):  # C (D, D); z (R, D), of mean zero
    R, v = len(z), np.diag(C)
    band = 5 * np.sqrt((np.outer(v, v) + C**2) / R)
    return (abs(z.T @ z / R - C) < band).all()

def redraw(seed, N=30, sigma=0.7, R=5000):
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(N, 3)), sigma * rng.normal(size=(N, R))
    return X.T @ X / sigma**2, np.linalg.lstsq(X, noise)[0].T  # F_N, errors

def attains(seed, share):
    F_N, errors = redraw(seed)
    return has_covariance(np.linalg.inv(share * F_N), errors)

holds(
    'ml.mle.properties.cov',
    lambda seed: attains(seed, 1),
    control=lambda seed: attains(seed, 1 / 30),
    seed=seeds(), tries=20,
)

# %% [markdown]
# The notes add that the MLE is *efficient*, that it attains the bound. For finite $N$ that is the exception. Waiting
# times with density $\lambda e^{-\lambda y}$ have score $1/\lambda - y$, so $F = 1/\lambda^2$ and
# $\hat\lambda = N / S$ with the sum $S$, which has a Gamma law: $\mathbb{E}[S^{-1}] = \lambda / (N - 1)$ and
# $\mathbb{E}[S^{-2}] = \lambda^2 / ((N - 1)(N - 2))$ for $N \ge 3$. Expanding the square,
#
# ```{math}
# :label: ml.mle.properties.efficient
# N F(\lambda) \, \mathbb{E}\big[(\hat\lambda - \lambda)^2\big] = \frac{N (N + 2)}{(N - 1)(N - 2)} .
# ```
#
# At $N = 5$ the ratio is $5 \cdot 7/(4 \cdot 3) \approx 2.9$; it tends to 1 as $N$ grows. What is true in general is
# *asymptotic* efficiency: the limit law of $\sqrt N (\hat{\mathbf{w}} - \mathbf{w}_{true})$, next section, has covariance
# $F^{-1}$. The control omits the word.

# %%
def reaches_bound(N, rate=2.0, R=20_000):  # F = 1 / rate^2
    total = np.random.default_rng(N).gamma(N, 1 / rate, size=R)
    ratio = N * ((N / total - rate) ** 2).mean() / rate**2
    return abs(ratio - 1) < 5 * np.sqrt(2 / R)  # Var(Z^2) = 2

holds(
    'ml.mle.properties.efficient',
    lambda: reaches_bound(10_000), control=lambda: reaches_bound(5),
)

# %% [markdown]
# Nor is the bound a floor for biased estimators: the Gaussian $\hat\sigma^2$ has mean squared error
# $(2N - 1) \sigma^4 / N^2$, *below* the $2 \sigma^4 / N$ that the theorem demands of unbiased ones. And consistency
# does not buy efficiency: the median of Gaussian data tends to $\pi/2$ times the bound.

# %%
sizes = np.array([9, 15, 25, 51, 101, 201])
ratio, spread = np.zeros((2, 3, 6))
for j, N in enumerate(sizes):
    rng = np.random.default_rng(N)
    z, wait = rng.normal(size=(4000, N)), rng.gamma(N, size=4000)
    squares = [
        N * (N / wait - 1) ** 2, N * np.median(z, 1) ** 2,
        N * (z.var(1) - 1) ** 2 / 2,
    ]
    ratio[:, j] = np.mean(squares, 1)
    spread[:, j] = np.std(squares, 1) / np.sqrt(4000)
formulas = [
    lambda N: N * (N + 2) / ((N - 1) * (N - 2)),
    lambda N: np.pi / 2 + 0 * N, lambda N: 1 - 1 / (2 * N),
]
gaps = [ratio[i] - formula(sizes) for i, formula in enumerate(formulas)]
near = abs(np.array(gaps)) < 5 * spread
assert near[[0, 2]].all() and near[1, -1]  # the median's is a limit
rate, median, variance = ratio[:, 0]
print(f'mean squared error over bound at N = 9: rate {rate:.2f}, '
      f'variance {variance:.2f}, median {median:.2f} (limit {np.pi / 2:.2f})')

# %% mystnb={"figure": {"caption": "Two MLEs meet the Cramér–Rao bound only in the limit: the exponential rate from above, the biased Gaussian variance from below. The Gaussian median tends to $\\pi/2$ times the bound."}, "image": {"alt": "Mean squared error divided by the Cramér-Rao bound against the sample size. The rate estimator falls from about 1.7 to 1, the Gaussian variance rises to 1 from slightly below, the median starts at 1.46 and then keeps near the line of its limit, 1.57."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
names = [
    'exponential rate (MLE)', 'Gaussian median (limit π/2)',
    'Gaussian variance (MLE)',
]
dense = np.arange(9, 202)
for i, name in enumerate(names):
    ax.errorbar(sizes, ratio[i], 2 * spread[i], fmt='o', label=name)
    ax.plot(dense, formulas[i](dense), color=f'C{i}', lw=1)
ax.axhline(1, color=GREY, ls=':')
ax.set(xscale='log', xlabel='sample size N', ylim=(0.8, 2.2))
ax.set(ylabel='mean squared error / bound', title='Points: ± 2 s.e.')
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.legend(loc='upper right');

# %% [markdown]
# ```{exercise} ★★ Below the bound
# :label: mle-divisor
# Estimate the variance of $N$ Gaussian observations with unknown mean by $S / d$, $S = \sum_n (y_n - \bar y)^2$. With
# $\mathbb{E}[S] = (N - 1) \sigma^2$ and $\mathrm{Var}(S) = 2 (N - 1) \sigma^4$, which divisor $d$ has the least mean
# squared error? Write `best_divisor(N)`.
# ```

# %%
def best_divisor(N):
    raise NotImplementedError('your turn')

# %%
def divisor_by_search(N):
    error = lambda c: 2 * (N - 1) * c**2 + (c * (N - 1) - 1) ** 2
    return 1 / minimize_scalar(error, bracket=(0, 1), tol=1e-12).x

sample_sizes = [(2,), (5,), (30,)]
grade(best_divisor, divisor_by_search, sample_sizes, rtol=1e-5)

# %% [markdown]
# ```{solution-start} mle-divisor
# :class: dropdown
# ```
# With $c = 1/d$ and $\sigma = 1$ the error is variance plus squared bias, $2 (N-1) c^2 + (c (N - 1) - 1)^2$. Its
# derivative vanishes at $c \, (2 + N - 1) = 1$, so $d = N + 1$: neither the unbiased $N - 1$ nor the most likely $N$.

# %% jupyter={"source_hidden": true}
def best_divisor_solution(N):
    return N + 1

assert grade(
    best_divisor_solution, divisor_by_search, sample_sizes, rtol=1e-5)
assert not grade(lambda N: N - 1, divisor_by_search, sample_sizes)
assert not grade(lambda N: N, divisor_by_search, sample_sizes)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The bell around the truth
# This section continues [How sharp the summit is](#how-sharp-the-summit-is). Near its top the log-likelihood is
# almost a parabola, with curvature $-N F$; its slope at $\mathbf{w}_{true}$ is a sum of $N$ scores, almost Gaussian
# with covariance $N F$. A parabola with slope $g$ at one point has its top at distance $g / (N F)$ from there. That
# is the whole theorem; the conditions only make "almost" true.
#
# ````{prf:theorem} Asymptotic normality
# :label: thm-mle-normality
# Let $y_1, y_2, \dots$ be independent with density $p(\cdot \mid \mathbf{w}_{true})$ and
# $\hat{\mathbf{w}}_N \xrightarrow{p} \mathbf{w}_{true}$, and suppose: (1) $\mathbf{w}_{true}$ is an interior point of
# $W$; on a ball $U \subseteq W$ around it (2) the set $\{y : p(y \mid \mathbf{w}) > 0\}$ does not depend on
# $\mathbf{w}$, and for $y$ in it $H = \partial^2 \log p / \partial \mathbf{w} \, \partial \mathbf{w}^\top$ exists and
# is continuous in $\mathbf{w}$; (3) $\int p \, dy = 1$ may be differentiated twice under the integral at
# $\mathbf{w}_{true}$; (4) $\mathbb{E} \sup_{\mathbf{w} \in U} \|H(y, \mathbf{w})\| < \infty$; (5)
# $F = F(\mathbf{w}_{true})$ is invertible. Then
#
# ```{math}
# :label: ml.mle.properties.normal
# \sqrt N \, (\hat{\mathbf{w}}_N - \mathbf{w}_{true}) \xrightarrow{d} \mathcal{N}\big(\mathbf{0}, F^{-1}(\mathbf{w}_{true})\big) .
# ```
# ````
#
# ````{prf:proof}
# With probability tending to one $\hat{\mathbf{w}} \in U$, by consistency, so the gradient vanishes there, by (1).
# Integrate $H$ along the segment from $\mathbf{w}_{true}$ to $\hat{\mathbf{w}}$:
#
# ```{math}
# \mathbf{0} = \frac{1}{\sqrt N} \sum_n \mathbf{s}(y_n, \mathbf{w}_{true}) + A_N \sqrt N (\hat{\mathbf{w}} - \mathbf{w}_{true}), \\
# A_N = \int_0^1 \frac1N \sum_n H\big(y_n, \mathbf{w}_{true} + t (\hat{\mathbf{w}} - \mathbf{w}_{true})\big) \, dt .
# ```
#
# By (2) and (3) the scores have mean zero and covariance $F = -\mathbb{E}[H]$, finite by (4), so the central limit
# theorem sends the first term to $\mathcal{N}(\mathbf{0}, F)$. By (2), (4) and dominated convergence
# $\mathbb{E} \sup_{\|\mathbf{w} - \mathbf{w}_{true}\| < r} \|H(y, \mathbf{w}) - H(y, \mathbf{w}_{true})\| \to 0$ as
# $r \to 0$; with consistency and the law of large numbers, $A_N \xrightarrow{p} -F$. So, by (5) and Slutsky's lemma,
# $\sqrt N (\hat{\mathbf{w}} - \mathbf{w}_{true})$ tends in law to
# $F^{-1} \mathcal{N}(\mathbf{0}, F) = \mathcal{N}(\mathbf{0}, F^{-1} F F^{-1})$.
# ````
#
# The line is garbled in the notes: $\frac1N$ stands where $1/\sqrt N$ belongs, and a loss where the mean zero. It
# speaks of the limit law; the covariance of $\hat{\mathbf{w}}$ itself need not exist (in logistic regression a sample
# may have only successes, and no finite estimate). Waiting times show the limit at work on lopsided small samples:

# %%
rng = np.random.default_rng(7)
bells = {  # sqrt(N) (estimate - 1), for the true rate 1
    N: np.sqrt(N) * (N / rng.gamma(N, size=20_000) - 1)
    for N in (4, 30, 1000)
}

# %% mystnb={"figure": {"caption": "The scaled error of an exponential rate tends to the normal law: clearly skewed for $N = 4$, slightly for $N = 30$, hard to tell from the bell for $N = 1000$."}, "image": {"alt": "Three histograms of the scaled error of the rate for 4, 30 and 1000 waiting times with the limiting bell curve. The first is strongly skewed to the right, the last agrees with the bell."}} tags=["hide-input"]
fig, axes = panels(3, sharey=True, height=2.4)
t = np.linspace(-4, 6, 200)
for ax, (N, errors) in zip(axes, bells.items(), strict=True):
    heights, edges = np.histogram(errors, np.linspace(-4, 6, 51))
    ax.stairs(heights / 20_000 / 0.2, edges, fill=True, alpha=0.45, color='C0')
    ax.plot(t, norm.pdf(t), color='C1')
    ax.set(title=f'N = {N}', xlabel='√N (estimate − truth)')
axes[0].set(ylabel='density');

# %% [markdown]
# The check uses a model without closed form: logistic regression,
# $\Pr(y = 1 \mid \mathbf{x}) = g(\mathbf{x}^\top \mathbf{w})$ with $g(t) = 1/(1 + e^{-t})$ and five equally likely
# dose levels. For $k$ successes among $n$ trials at one level the chain rule gives the score
# $(k - n g) \frac{g'}{g (1 - g)} \mathbf{x}$ and, as $\mathrm{Var}(k) = n g (1 - g)$, the matrix
# $\frac{n g'^2}{g(1 - g)} \mathbf{x}\mathbf{x}^\top$ as its information. The parabola also says how to climb: step by
# $F_N^{-1} \mathbf{s}$ to its top, and repeat. This is *Fisher scoring*, for logistic regression the same as Newton's
# method.

# %%
def logistic(t):  # value and slope
    return expit(t), expit(t) * expit(-t)

def fisher_information(X, n, w, curve=logistic):  # X (J, D), n (..., J)
    g, slope = curve(w @ X.T)  # (..., J)
    weight = n * slope**2 / (g * (1 - g))
    return np.einsum('...j,jd,je->...de', weight, X, X)

def total_score(X, n, k, w, curve=logistic):  # -> (..., D)
    g, slope = curve(w @ X.T)
    return ((k - n * g) * slope / (g * (1 - g))) @ X

def mle_binary(X, n, k, curve=logistic, steps=25):  # k (..., J)
    w = np.zeros((*k.shape[:-1], X.shape[1]))
    for _ in range(steps):
        F_N = fisher_information(X, n, w, curve)
        step = total_score(X, n, k, w, curve)[..., None]
        w = w + np.linalg.solve(F_N, step)[..., 0]
    return w

# %%
X = np.stack([np.ones(4), [0.0, 1.0, 2.0, 3.0]], axis=1)
n, k = np.array([10, 12, 9, 11]), np.array([2, 4, 6, 10])

def minus_log_likelihood(w):
    g = expit(X @ w)
    return -(xlogy(k, g) + xlogy(n - k, 1 - g)).sum()

by_scipy = minimize(minus_log_likelihood, np.zeros(2), tol=1e-9).x
assert close(mle_binary(X, n, k), by_scipy, atol=1e-5)
print('Fisher scoring and scipy:', mle_binary(X, n, k).round(3))

# %% [markdown]
# First the information, against the covariance of simulated scores; then 4000 experiments at once. The covariance of
# $\sqrt N (\hat{\mathbf{w}} - \mathbf{w}_{true})$ must be $F^{-1}$ within five standard errors, and each whitened
# coordinate within $\sqrt{\ln(2 / \alpha) / 2R}$ of the normal distribution function, a distance that $R$ draws exceed
# with probability at most $\alpha = 2/(2 \cdot 10^6) = 10^{-6}$ (Dvoretzky, Kiefer and Wolfowitz). $N$ is large enough
# for the next term, of order $1/\sqrt N$, to drown. The control multiplies by $N$ instead of $\sqrt N$.

# %%
doses = np.stack([np.ones(5), np.arange(-2, 3)], axis=1)  # (5, 2)
w_dose = np.array([0.4, 0.9])
F_one = fisher_information(doses, np.full(5, 1 / 5), w_dose)

def experiments(N, seed, R=4000):
    rng = np.random.default_rng(seed)
    n = rng.multinomial(N, np.full(5, 1 / 5), size=R)  # (R, 5)
    return n, rng.binomial(n, expit(doses @ w_dose))

n, k = experiments(1000, seed=0)
scores = total_score(doses, n, k, w_dose) / np.sqrt(1000)
assert has_covariance(F_one, scores)
assert not has_covariance(F_one, np.sqrt(1000) * scores)
print('score covariance is F:', has_covariance(F_one, scores))

# %%
def has_limit_law(N, seed, power):
    n, k = experiments(N, seed)
    z = N**power * (mle_binary(doses, n, k, steps=8) - w_dose)
    white = z @ np.linalg.cholesky(F_one)  # Cov F^-1 -> identity
    dkw = np.sqrt(np.log(2e6) / (2 * len(z)))
    ks = max(kstest(column, norm.cdf).statistic for column in white.T)
    return has_covariance(np.linalg.inv(F_one), z) and ks < dkw

holds(
    'ml.mle.properties.normal',
    lambda N, seed: has_limit_law(N, seed, power=1 / 2),
    control=lambda N, seed: has_limit_law(N, seed, power=1),
    N=[2500, 10_000], seed=[0, 1],
)

# %% [markdown]
# ```{exercise} ★★★ Beating the bound at one point
# :label: mle-hodges
# Hodges proposed for the mean $\theta$ of $N$ observations from $\mathcal{N}(\theta, 1)$: take $\bar y$ if
# $|\bar y| > N^{-1/4}$, else $0$. Write its scaled risk `hodges_risk(theta, N)` $= N \, \mathbb{E}(T - \theta)^2$;
# for the MLE this is 1 everywhere. What happens at $\theta = 0$, what near $N^{-1/4}$, as $N$ grows? Is the MLE the
# best estimator?
# ```

# %%
def hodges_risk(theta, N):
    raise NotImplementedError('your turn')

# %%
def risk_by_quadrature(theta, N):
    a, b = np.sqrt(N) * (np.array([-1, 1]) * N**-0.25 - theta)
    kept = lambda z: z**2 * norm.pdf(z)
    tails = quad(kept, -np.inf, a)[0] + quad(kept, b, np.inf)[0]
    return tails + N * theta**2 * quad(norm.pdf, a, b)[0]

points = [(0.0, 16), (0.3, 16), (0.5, 16), (-0.4, 40), (2.0, 10)]
grade(hodges_risk, risk_by_quadrature, points)

# %% [markdown]
# ```{solution-start} mle-hodges
# :class: dropdown
# ```
# Write $\bar y = \theta + Z / \sqrt N$; the estimate is zero for $Z$ between
# $a, b = \sqrt N (\mp N^{-1/4} - \theta)$. There the scaled error is $N \theta^2$, elsewhere $Z^2$; and
# $\int_a^b z^2 \varphi = \Phi(b) - \Phi(a) - b \varphi(b) + a \varphi(a)$ by parts. At $\theta = 0$ the risk tends to
# 0, below the bound; but near $N^{-1/4}$ it grows like $\sqrt N$. Such points of superefficiency have measure zero
# {cite}`vandervaart1998asymptotic`, and are paid for next door: the MLE is asymptotically best in this sense, not
# pointwise.

# %% jupyter={"source_hidden": true}
def parts(theta, N):  # E[Z^2; estimate kept], P(estimate zeroed)
    a, b = (np.sqrt(N) * (c * N**-0.25 - theta) for c in (-1, 1))
    inside = norm.cdf(b) - norm.cdf(a)
    return 1 - inside + b * norm.pdf(b) - a * norm.pdf(a), inside

def hodges_risk_solution(theta, N):
    kept, inside = parts(theta, N)
    return kept + N * theta**2 * inside

def forgets_bias(theta, N):
    return parts(theta, N)[0]

assert grade(hodges_risk_solution, risk_by_quadrature, points)
assert not grade(forgets_bias, risk_by_quadrature, points)
for N in (10**2, 10**4, 10**6):
    at_zero = hodges_risk_solution(0, N)
    worst = hodges_risk_solution(np.linspace(0, 2, 201) * N**-0.25, N).max()
    assert at_zero < 0.03
    print(f'N = {N}: risk at 0 {below(at_zero, 0.03)}, largest {worst:.0f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## When a condition fails
#
# The conditions are no fine print. Identifiability, a fixed $W$ and a true model have been [taken away
# already](#why-the-summit-moves-to-the-truth); now those of {prf:ref}`thm-mle-normality`:
#
# | condition | model | estimate | consequence |
# |---|---|---|---|
# | support fixed | uniform on $[0, \theta]$ | $\max_n y_n$ | error of order $1/N$, exponential limit |
# | true point interior | $\mathcal{N}(w, 1)$ with $w \ge 0$, truth 0 | $\max(0, \bar y)$ | half of all estimates are exactly 0 |
# | $F$ invertible | $\mathcal{N}(w^3, 1)$, truth 0 | $\sqrt[3]{\bar y}$ | error of order $N^{-1/6}$, two humps |
# | $\partial^2$ passes the integral | $\tfrac12 e^{-\lvert y - w \rvert}$ | median | normal, but only one face of $F$ is right |
#
# **Moving support.** The likelihood $\theta^{-N}$ falls for $\theta \ge \max_n y_n$ and is zero below: the estimate
# sits on a cliff, not on a summit. The score is $-1/\theta$ for *every* $y$, so its mean is not zero. Leibniz' rule
# shows what the interchange drops: $\frac{d}{d\theta} \int_0^\theta \frac1\theta \, dy$ has a boundary term
# $+\frac1\theta$. With it goes the Cramér–Rao bound: $\mathbb{E}[s^2] = 1/\theta^2$ would allow no variance below
# $\theta^2 / N$, yet the unbiased $\frac{N+1}{N} \max_n y_n$ has $\theta^2 / (N (N + 2))$. And
# $\Pr\big(N (\theta - \hat\theta)/\theta > t\big) = (1 - t/N)^N \to e^{-t}$.
#
# **Boundary.** $\sqrt N \hat w = \max(0, Z)$ with $Z$ standard normal, for every $N$: at a wall the slope need not
# vanish.
#
# **No information.** The score $3 w^2 (y - w^3)$ vanishes at $w = 0$, so $F(0) = 0$. The model is identifiable and
# the estimate consistent, but $N^{1/6} \hat w = \sqrt[3]{Z}$.
#
# **Kink.** The score is $\mathrm{sign}(y - w)$: $\mathbb{E}[s^2] = 1$. But the curvature is zero almost everywhere,
# and $-\mathbb{E}[\partial^2 \log p] = 0$: the second interchange fails. The error of the median has limit variance
# $1 = 1/\mathbb{E}[s^2]$, so of the two faces of $F$ the covariance of the score is the one to trust. (A weaker
# smoothness, differentiability in quadratic mean, is what matters {cite}`vandervaart1998asymptotic`.)
#
# Each estimate depends on the sample through one mean or one order statistic. Their laws are known (the $j$-th
# smallest of $N$ uniform numbers is Beta-distributed with parameters $j$, $N + 1 - j$), so a million observations
# cost one draw:

# %%
def draw_errors(N, R=20_000):  # N odd
    rng = np.random.default_rng(N)
    z = rng.normal(size=R) / np.sqrt(N)  # the mean of N(0, 1)
    middle = rng.beta((N + 1) / 2, (N + 1) / 2, size=R)
    return {
        'uniform': rng.beta(N, 1, size=R) - 1,  # theta = 1
        'wall': np.maximum(0, z),
        'cubic': np.cbrt(z),
        'kink': laplace.ppf(middle),
    }

small, large = draw_errors(10**4 + 1), draw_errors(10**6 + 1)
rms = lambda e: np.sqrt((e**2).mean())
slope = {
    s: np.log(rms(large[s]) / rms(small[s])) / np.log(100) for s in small
}
for name, want in zip(slope, (-1, -1 / 2, -1 / 6, -1 / 2), strict=True):
    assert abs(slope[name] - want) < 0.012
    print(f'{name:8s} error shrinks like N^{slope[name]:.3f}')

tops = 11 / 10 * np.random.default_rng(8).beta(10, 1, size=20_000)
print(f'variance against "bound", N = 10: {tops.var():.4f} < {1 / 10}')
assert abs(tops.var() - 1 / 120) < 5 * ((tops - 1) ** 2).std() / 20_000**0.5

# %% [markdown]
# The band 0.012 is five standard errors: the logarithm of a root mean square over $R$ draws has standard error
# $\sqrt{(\kappa - 1) / 4R}$, where the ratio $\kappa = \mathbb{E}[e^4] / \mathbb{E}[e^2]^2$ is at most 6 here. Next the
# limit laws, with the normal law of the same mean and spread as rival:

# %%
laws = {
    'uniform': (10**6 * -large['uniform'], expon.cdf),
    'cubic': (10 * large['cubic'], lambda t: norm.cdf(t**3)),
    'kink': (1000 * large['kink'], norm.cdf),
}
dkw = np.sqrt(np.log(2e6) / (2 * 20_000))
for name, (errors, cdf) in laws.items():
    bell = norm(errors.mean(), errors.std()).cdf
    law, normal = (kstest(errors, c).statistic < dkw for c in (cdf, bell))
    assert law and normal == (name == 'kink')
    print(f'{name:8s} limit law as derived: {law}, normal: {normal}')
at_wall = (large['wall'] == 0).mean()
assert abs(at_wall - 0.5) < 5 * 0.5 / np.sqrt(20_000)
print(f'wall     estimates that are exactly 0: {at_wall:.2f}')

u, s = np.linspace(0, 6, 200), np.linspace(-3.5, 3.5, 281)
curves = [
    (u, np.exp(-u)), (u, norm.pdf(u)),
    (s, 3 * s**2 * norm.pdf(s**3)), (s, norm.pdf(s)),
]
at_right = 1e3 * large['wall'][large['wall'] > 0]

# %% mystnb={"figure": {"caption": "Where a condition fails, the limit law changes: exponential for a moving support, half of the mass on the wall, two humps without information. Only the kink keeps the bell."}, "image": {"alt": "Four histograms of scaled errors with their limit laws. Uniform: a falling exponential. Wall: half a bell and a bar that holds the other half of the mass at zero. Cubic: two humps with a gap at zero. Kink: an ordinary bell."}} tags=["hide-input"]
fig, axes = panels(2, rows=2, height=2.3)
pictures = [
    ('Moving support', 'N (θ − estimate)', -1e6 * large['uniform']),
    ('Wall', '√N estimate', at_right),
    ('No information', 'sixth root of N × estimate', 10 * large['cubic']),
    ('Kink', '√N error', 1e3 * large['kink']),
]
edges = np.linspace(-3.5, 6, 77)
for ax, (title, xlabel, errors) in zip(axes.flat, pictures, strict=True):
    heights = np.histogram(errors, edges)[0] / 20_000 / np.diff(edges)
    ax.stairs(heights, edges, fill=True, alpha=0.45)
    ax.set(title=title, xlabel=xlabel, xlim=(-3.5, 3.5))
for ax, (grid, density) in zip(axes.flat, curves, strict=True):
    ax.plot(grid, density, color='C1')
axes[0, 0].set(xlim=(-0.5, 6))
axes[0, 1].bar(0, 0.5, 0.12, color='C0')
axes[0, 1].text(-0.3, 0.42, 'half of the\nestimates', color='C0', ha='right')
for ax in axes[:, 0]:
    ax.set(ylabel='density')

# %% [markdown]
# Last, a likelihood need not have a maximum at all. In the mixture
# $\tfrac12 \mathcal{N}(0, 1) + \tfrac12 \mathcal{N}(\mu, \sigma^2)$ put $\mu$ on one observation and let
# $\sigma \to 0$: that observation's term grows without limit while the first component keeps all others safe. Here
# $W$ is not compact and condition (iv) of {prf:ref}`thm-mle-consistency` fails.

# %%
y = np.random.default_rng(9).normal(size=50)

def log_mixture(mu, sigma):
    parts = [norm.logpdf(y), norm.logpdf(y, mu, sigma)]
    return np.logaddexp(*parts).sum() - len(y) * np.log(2)

heights = [log_mixture(y[0], 10.0**-d) for d in (10, 50, 100, 150)]
assert (np.diff(heights) > 90).all()
print('log-likelihood at the spike:', [round(h) for h in heights])

# %% [markdown]
# ```{exercise} ★★ An honest interval on the cliff
# :label: mle-uniform
# For data uniform on $[0, \theta]$ with largest value `top`, find the shortest interval
# $[\mathtt{top}, \, c \cdot \mathtt{top}]$ that contains $\theta$ with probability exactly `level`. Write
# `interval_end(top, N, level)`, its upper end.
# ```

# %%
def interval_end(top, N, level):
    raise NotImplementedError('your turn')

# %%
def end_by_bisection(top, N, level):
    low, high = 1.0, 1e6  # P(top > theta / c) = 1 - c^-N grows with c
    for _ in range(200):
        c = (low + high) / 2
        below = 1 - c**-N < level
        low, high = (c, high) if below else (low, c)
    return low * top

cliffs = [(3.0, 10, 0.95), (1.0, 2, 0.5), (20.0, 100, 0.99)]
grade(interval_end, end_by_bisection, cliffs)

# %% [markdown]
# ```{solution-start} mle-uniform
# :class: dropdown
# ```
# $\theta$ lies above $c \cdot \mathtt{top}$ when all $N$ values are below $\theta / c$, which has probability
# $c^{-N}$. Set it to $1 - \mathtt{level}$. The interval that blindly takes $F = 1/\theta^2$ and a bell ends at
# $\mathtt{top} \, (1 + 1.96 / \sqrt N)$ for 95 %, and the other half of it lies below the largest observation, where
# $\theta$ cannot be.

# %% jupyter={"source_hidden": true}
def interval_end_solution(top, N, level):
    return top * (1 - level) ** (-1 / N)

def blind_bell(top, N, level):
    return top * (1 + norm.ppf((1 + level) / 2) / np.sqrt(N))

assert grade(interval_end_solution, end_by_bisection, cliffs)
assert not grade(blind_bell, end_by_bisection, cliffs)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Where it matters: the dose that kills half
#
# This section continues [The bell around the truth](#the-bell-around-the-truth). In 1935 C. I. Bliss published counts
# of 481 beetles after five hours in carbon disulphide at eight concentrations {cite}`bliss1935calculation`. The
# question of every toxicologist: which dose kills half, and how sure are you? Logistic regression on the logarithm of
# the dose answers $x_{1/2} = -w_0 / w_1$, where $g(0) = \tfrac12$. Near the truth this function $q(\mathbf{w})$ is
# almost linear, so the variance of $q(\hat{\mathbf{w}})$ is about $\nabla q^\top F_N^{-1} \nabla q$.

# %%
log_dose = np.array(
    [1.6907, 1.7242, 1.7552, 1.7842, 1.8113, 1.8369, 1.8610, 1.8839])
beetles = np.array([59, 60, 62, 56, 63, 59, 62, 60])
killed = np.array([6, 13, 18, 28, 52, 53, 61, 60])
X_b = np.stack([np.ones(8), log_dose - 1.8], axis=1)  # centred at 1.8

w_b = mle_binary(X_b, beetles, killed)
C_b = np.linalg.inv(fisher_information(X_b, beetles, w_b))
half = 1.8 - w_b[0] / w_b[1]
grad = np.array([-1 / w_b[1], w_b[0] / w_b[1] ** 2])
error_bar = np.sqrt(grad @ C_b @ grad)
print(f'slope {w_b[1]:.1f} ± {np.sqrt(C_b[1, 1]):.1f}')
print(f'log dose that kills half: {half:.3f} ± {error_bar:.4f}')

# %% [markdown]
# Repeat the experiment 4000 times in the computer, at the fitted parameters, and compare the spread with the formula.
# A standard deviation from $R$ draws has relative standard error $1 / \sqrt{2R}$; five of them make the band. The
# control is the notes' $F^{-1}$ with the information of a *single* beetle.

# %%
rng = np.random.default_rng(11)
again = rng.binomial(beetles, expit(X_b @ w_b), size=(4000, 8))
w_again = mle_binary(X_b, beetles, again)  # (4000, 2)
half_again = 1.8 - w_again[:, 0] / w_again[:, 1]

band = 5 / np.sqrt(2 * 4000)
ratio = half_again.std() / error_bar
assert abs(ratio - 1) < band
assert abs(half_again.std() / (np.sqrt(481) * error_bar) - 1) > band
print(f'spread / formula: {ratio:.2f}')
inside = abs(half_again - half) < 1.96 * error_bar
print(f'within 1.96 error bars: {inside.mean():.2f}')

# %% [markdown]
# So the answer is certain to three digits? Only if the logistic curve is the right one. A rival with as many
# parameters is $g(t) = 1 - e^{-e^t}$, the *complementary log-log* curve. Likelihood is a common currency: compare the
# two summits, and ask how often the rival would win by this much if the logistic curve were true.

# %%
def log_log(t):  # value and slope, kept inside (0, 1)
    g = np.clip(-np.expm1(-np.exp(t)), 1e-12, 1 - 1e-12)
    return g, np.exp(t - np.exp(t))

def log_likelihood(k, w, curve):  # without the binomial coefficients
    g, _ = curve(w @ X_b.T)
    return (xlogy(k, g) + xlogy(beetles - k, 1 - g)).sum(-1)

def lead(k):  # of the rival over the logistic curve, both at their best
    best = [(mle_binary(X_b, beetles, k, c), c) for c in (log_log, logistic)]
    rival, ours = (log_likelihood(k, w, c) for w, c in best)
    return rival - ours

w_r = mle_binary(X_b, beetles, killed, log_log)
half_r = 1.8 + (np.log(np.log(2)) - w_r[0]) / w_r[1]
seen, by_luck = lead(killed), lead(again)
assert (by_luck >= seen).mean() < 0.01
assert abs(total_score(X_b, beetles, killed, w_r, log_log)).max() < 1e-8
print(f'the rival leads by {seen:.1f}')
print('by luck in', (by_luck >= seen).sum(), 'of', len(by_luck), 'draws')
shift = (half_r - half) / error_bar
print(f'its log dose: {half_r:.3f}, which is {shift:.2f} error bars away')

# %% mystnb={"figure": {"caption": "Left: the log-log curve fits the observed fractions better than the logistic one. Right: if the logistic were true, so large a lead would come by luck in less than 1 of 100 repetitions."}, "image": {"alt": "Left: the fraction of beetles killed against log dose with two fitted curves and the ranges in which 95 per cent of repetitions fall under the logistic one; the asymmetric log-log curve passes closer to the points. Right: histogram of the lead that the rival would have by luck, mostly negative, with the observed lead far in the right tail."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
t = np.linspace(1.68, 1.9, 200)
T = np.stack([np.ones(200), t - 1.8], 1)
low, high = np.quantile(again / beetles, [0.025, 0.975], axis=0)
left.vlines(log_dose, low, high, color='C0', alpha=0.4, lw=4)
left.plot(t, expit(T @ w_b), label='logistic')
left.plot(t, log_log(T @ w_r)[0], label='log-log')
left.plot(log_dose, killed / beetles, 'o', color=GREY, label='observed')
left.set(xlabel='log10 of the dose (mg / l)', ylabel='fraction killed')
left.set_title('481 beetles; bars: 95 % if logistic')
left.legend(loc='upper left')
right.hist(by_luck, bins=np.linspace(-14, 8, 45), color='C0', alpha=0.45)
right.axvline(seen, color='C1')
right.text(seen + 0.4, 200, 'observed', color='C1')
right.set(xlabel='lead of log-log, in log-likelihood', xlim=(-14, 10))
right.set(ylabel='repetitions', title='If logistic were true');

# %% [markdown]
# The likelihood decides against the curve that looked natural, and the dose moves by almost two of its proud error
# bars. Inside a model the Fisher information measures uncertainty; it is blind to whether the model is right.

# %% [markdown]
# ## Summary
#
# The maximum-likelihood estimate is the top of a sample average whose expectation peaks at the truth, so for an
# identifiable, well-specified model of fixed size it is consistent. In regular models its error is asymptotically
# normal with covariance $(N F)^{-1}$, which is the Cramér–Rao bound for unbiased estimators, and $F$ is both mean
# curvature and score covariance. Every condition matters: a moving support, a boundary, a vanishing information, a
# parameter per object or a wrong model each change the limit or the rate.
#
# **Further reading.** {cite}`fisher1922mathematical` is the source, and still readable; {cite}`lehmann1998theory`
# treats estimation in full, {cite}`vandervaart1998asymptotic` gives the sharpest conditions, and
# {cite}`murphy2022probabilistic` connects all of it to machine learning.
