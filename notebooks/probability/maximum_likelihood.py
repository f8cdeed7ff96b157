# ---
# jupyter:
#   book:
#     functions:
#       log_tack: log_tack(uniform(3), uniform(3) / 2 + 0.25)
#       log_gaussian: log_gaussian(normal(5), (normal(5), uniform(5) + 1))
#       log_likelihood: log_likelihood(log_gaussian, normal(5), (normal(5), uniform(5) + 1))
#       logistic: logistic(normal(4))
#       total_score: total_score(normal(4, 2), 9 + 0 * normal(4), 9 * uniform(4), normal(2))
#       fisher_information: fisher_information(normal(4, 2), 9 + 0 * normal(4), normal(2))
#       fisher_scoring: fisher_scoring(normal(8, 2), 9 + 0 * normal(8), 2 + 5 * uniform(8))
#     main: eq-mle-log-likelihood
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Maximum likelihood
#
# You throw a thumbtack ten times, and it lands with the point up seven times. How probable is *point up* in the next
# throw? You might answer 0.7, but a smaller or larger probability also makes these throws possible. Which probability
# makes your throws most likely, and how far is it from the true one?
#
# - **You need** densities, the law of large numbers and the central limit theorem from
#   [Expectations](expectations.ipynb), and the [normal distribution](gaussian_distribution.ipynb).
# - **You build** the likelihood of a model, its maximum, and an error bar from the Fisher information. You use them
#   to find the dose of a poison that kills half of some beetles.
# - **Runs in** 6 seconds, in float64.

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
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, xlogy
from scipy.stats import beta, binom, chi2, expon, kstest, laplace, norm
from sklearn.linear_model import LogisticRegression

from nbutils.cases import integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import below, close, grade, holds, verify
from nbutils.figures import GREY, label_lines, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## The likelihood: which parameters make the data likely?
#
# Suppose that the throws are independent and that each shows *point up* with probability $w$. Then your series of seven
# times *up* and three times *down* has the probability $w^7 (1-w)^3$. We compute this probability for several $w$:

# %%
for w in (0.3, 0.5, 0.6, 0.7, 0.8, 0.9):
    chance = w**7 * (1 - w) ** 3
    print(f'w = {w}: {1000 * chance:.2f} chances in 1000')

# %% [markdown]
# The series is rare for each $w$. But it is more than twice as probable for $w = 0.7$ as for $w = 0.5$. The probability of
# the data, as a function of $w$, is called the **likelihood** of $w$.

# %% mystnb={"image": {"alt": "Two hills over the probability w from 0 to 1, both with their top at 0.7 and height 1. The hill of 7 of 10 throws is about three times as wide as that of 70 of 100 throws."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.5))
grid = np.linspace(0.001, 0.999, 400)
for up, throws, at, colour in (7, 10, 0.45, 'C0'), (70, 100, 0.62, 'C1'):
    height = np.exp(xlogy(up, grid / 0.7) + xlogy(throws - up, (1 - grid) / 0.3))
    ax.plot(grid, height, color=colour)
    label = f'{up} of {throws}'
    ax.text(at, np.interp(at, grid, height) + 0.04, label, color=colour, ha='right')
ax.axvline(0.7, color=GREY, ls=':', lw=1)
ax.set(xlabel='w, the probability of point up', ylabel='likelihood / its maximum', xlim=(0, 1), ylim=(0, 1.08));

# %% [markdown] tags=["caption"]
# The likelihood of $w$, divided by its maximum, for 7 of 10 and for 70 of 100 throws. Both maxima are at 0.7. With more
# throws, fewer values of $w$ have a likelihood near the maximum.

# %% [markdown]
# ### The log-likelihood and its maximum
#
# ```{prf:definition} Likelihood
# :label: def-likelihood
# Let independent observations $y_1, \dots, y_N$ have the density (or probability) $p(y \mid \mathbf{w})$, with parameters
# $\mathbf{w} \in W \subseteq \mathbb{R}^D$. The *likelihood* is $\prod_{n} p(y_n \mid \mathbf{w})$ as a function of
# $\mathbf{w}$. A *maximum-likelihood estimate* $\hat{\mathbf{w}}$ is a point of $W$ where it is largest, if there is one.
# ```
#
# The logarithm is increasing, so the **log-likelihood** has its maximum at the same place, and it is a sum:
#
# ```{math}
# :label: eq-mle-log-likelihood
# \mathcal{L}_{LL}(\mathbf{w}) = \sum_{n=1}^N \log p(y_n \mid \mathbf{w}),
# ```
#
# ```{math}
# :label: eq-mle-estimate
# \hat{\mathbf{w}} = \operatorname*{arg\,max}_{\mathbf{w}} \mathcal{L}_{LL}(\mathbf{w}).
# ```

# %%
def log_tack(y, w):             # y is 1 for up and 0 for down
    return np.log(w * y + (1 - w) * (1 - y))

def log_likelihood(log_p, y, w):
    return log_p(y, w).sum(-1)

# %%
y = np.array([1, 1, 0, 1, 1, 1, 0, 1, 0, 1])
for w in (0.6, 0.7, 0.8):
    print(f'w = {w}: log-likelihood {log_likelihood(log_tack, y, w):.2f}')

# %% [markdown]
# With $k$ times *up* in $N$ throws the log-likelihood is $k \log w + (N - k) \log(1 - w)$. Its derivative
# $k/w - (N-k)/(1-w)$ is zero at $\hat w = k/N$, here 0.7.
#
# A product of many probabilities is rounded to zero. The sum of their logarithms is not:

# %%
many = np.random.default_rng(0).random(2000) < 0.7
print('product  ', np.exp(log_tack(many, 0.7)).prod())
print(f'logarithm {log_likelihood(log_tack, many, 0.7):.1f}')

# %% [markdown]
# ```{admonition} A tempting mistake
# :class: tip
# The likelihood is not a density of $w$, and it need not integrate to one. For seven of ten throws, its integral over
# $w$ is 1/1320. To say how *probable* a value of $w$ is, you need a prior and [Bayes' theorem](bayes_theorem.ipynb).
# ```
#
# ### A Gaussian: mean and variance
#
# You measure a length three times: 2.1, 2.9 and 4.3. Which Gaussian makes these data most likely? There are two
# parameters, $\mu$ and $\sigma$:

# %%
def log_gaussian(y, w):
    mu, sigma = w
    return -(((y - mu) / sigma) ** 2 + np.log(2 * np.pi * sigma**2)) / 2

lengths = np.array([2.1, 2.9, 4.3])

# %% [markdown]
# The maximum is at the mean $\hat\mu = \bar y$ and at $\hat\sigma^2 = S/N$ with $S = \sum_n (y_n - \bar y)^2$: the
# variance with divisor $N$, and not $N - 1$.
#
# ```{admonition} Derivation
# :class: dropdown
# For each fixed $\sigma$ the log-likelihood is a downward parabola in $\mu$ with its top at $\bar y$. Put $\mu = \bar y$.
# What remains is $-\frac N2 \log \sigma^2 - S / (2 \sigma^2)$ and a constant. Its derivative with respect to
# $\sigma^2$ is $(S - N \sigma^2) / (2 \sigma^4)$, which changes its sign from plus to minus at $\sigma^2 = S/N$. (If
# all $y_n$ are equal, then $S = 0$, and there is no maximum.)
# ```
#
# Usually there is no formula, and a program minimizes the **negative log-likelihood** $-\mathcal{L}_{LL}$. Here it searches
# for $\mu$ and $\log \sigma$. This keeps $\sigma$ positive, and the best $\sigma$ stays the same:

# %%
def loss(v):                    # v = (mu, log sigma)
    w = v[0], np.exp(v[1])
    return -log_likelihood(log_gaussian, lengths, w)

mu, log_sigma = minimize(loss, [0, 0]).x
by_library = norm.fit(lengths)
print(f'by hand:    {lengths.mean():.3f} {lengths.std():.3f}')
print(f'by search:  {mu:.3f} {np.exp(log_sigma):.3f}')
print(f'by library: {by_library[0]:.3f} {by_library[1]:.3f}')

# %% mystnb={"image": {"alt": "Left: three measured points under three bell curves, of which the one centred on the points is highest there. Right: contours of the likelihood over mean and standard deviation form one hill, wider for larger standard deviations, with its top marked."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
t = np.linspace(-1, 9, 300)
bells = {'most likely': by_library, 'too far right': (6, 1), 'too wide': (3, 2)}
for (name, w), colour, spot in zip(bells.items(), ('C0', 'C1', 'C2'), [(-0.9, 0.46), (5.6, 0.43), (-1.2, 0.12)]):
    left.plot(t, np.exp(log_gaussian(t, w)), color=colour)
    left.vlines(lengths, 0, np.exp(log_gaussian(lengths, w)), color=colour, alpha=0.4)
    left.text(*spot, name, color=colour)
left.plot(lengths, 0 * lengths, 'o', color=GREY, clip_on=False)
left.set(xlabel='measured length y', ylabel='density', ylim=(0, 0.55), title='three explanations')
mean, deviation = np.meshgrid(np.linspace(0.5, 5.7, 121), np.linspace(0.35, 3, 121))
hill = log_gaussian(lengths, (mean[..., None], deviation[..., None])).sum(-1)
hill = np.exp(hill - log_likelihood(log_gaussian, lengths, by_library))
filled = right.contourf(mean, deviation, hill, levels=np.linspace(0, 1.0001, 11))
right.plot(*by_library, 'o', color='C1')
right.set(xlabel='mean µ', ylabel='standard deviation σ', title='likelihood, maximum = 1')
fig.colorbar(filled, ticks=[0, 0.5, 1]);

# %% [markdown] tags=["caption"]
# The likelihood of three measured lengths has a single maximum, at their mean and their standard deviation with divisor $N$.
# A bell further right or wider makes the lengths less likely.

# %% [markdown]
# ### Why the squared error is a log-likelihood
#
# Now let the mean depend on inputs: $y_n = \mathbf{x}_n^\top \mathbf{w} + \varepsilon_n$, where the $\mathbf{x}_n$
# are known vectors, the rows of a matrix $\mathbf{X}$, and the $\varepsilon_n$ are independent noise. If the noise is
# Gaussian with mean zero and known variance $\sigma^2$, the log-likelihood is a constant minus $\frac{N}{2\sigma^2}$
# times the mean squared error
# $\mathcal{L}_{MSE}(\mathbf{w}) = \frac1N \sum_n (y_n - \mathbf{x}_n^\top \mathbf{w})^2$. So the likelihood is
# largest where the squared error is smallest:
#
# ```{math}
# :label: ml.mle.estimator.equiv
# \arg\min_{\mathbf{w}} \mathcal{L}_{MSE}(\mathbf{w}) = \arg\max_{\mathbf{w}} \mathcal{L}_{LL}(\mathbf{w}) .
# ```
#
# The squares in the loss come from the exponent of the Gaussian density. Noise with another density gives another
# loss. For Laplace noise, with density $\frac12 e^{-|\varepsilon|}$, the loss is the sum of the absolute errors. We fit
# a slope with each loss to ten points near the line $y = x$. The last point is too high by 3:

# %%
rng = np.random.default_rng(1)
x = np.linspace(0.2, 2, 10)
y = x + 0.3 * rng.normal(size=10)
y[-1] += 3
slopes = np.linspace(0, 2.4, 241)
errors = y - slopes[:, None] * x                        # (241, 10)
fits = {name: law.logpdf(errors).sum(1)
        for name, law in [('Gaussian', norm), ('Laplace', laplace)]}
for name, heights in fits.items():
    print(f'{name:8} most likely slope {slopes[heights.argmax()]:.2f}')
print(f'least squared error at {slopes[(errors**2).mean(1).argmin()]:.2f}')

# %% mystnb={"image": {"alt": "Left: ten points, nine along a line of slope 1 and the last far above, with a steep line pulled towards it and a flatter one through the nine. Right: two log-likelihood curves over the slope, the Gaussian one with its top at 1.44, the Laplace one with its top near 1."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.6)
left.plot(x, y, 'o', color=GREY)
for (name, heights), colour, (dx, dy) in zip(fits.items(), ('C0', 'C1'), [(0.75, 1.75), (1.35, 0.75)]):
    best = slopes[heights.argmax()]
    left.plot([0, 2.1], [0, 2.1 * best], color=colour)
    left.text(dx, dy, name, color=colour, ha='center')
    right.plot(slopes, heights - heights.max(), color=colour, label=name)
    right.axvline(best, color=colour, ls=':', lw=1)
left.set(xlabel='x', ylabel='y', title='ten points')
right.set(xlabel='slope w', title='log-likelihood − maximum', ylim=(-16, 1), xlim=(0, 2.4))
right.text(0.45, -3.5, 'Laplace', color='C1', ha='right')
right.text(0.85, -12, 'Gaussian', color='C0');

# %% [markdown] tags=["caption"]
# Left: the two lines. Right: the log-likelihoods of the slope, minus their maxima. Under Gaussian noise, the
# wrong point moves the most likely slope to 1.44. Under Laplace noise it stays nearer to the true slope 1.

# %% [markdown]
# For the labels of a classifier, the negative log-likelihood is called cross-entropy.
#
# ```{exercise} ★★ Program: lamps that still burn
# :label: mle-lamps
#
# Some lamps failed at the times $t_1, \dots, t_r$, the others were still burning when the test was stopped at time $T$.
# Lifetimes have the density $\lambda e^{-\lambda t}$, so a lamp burns longer than $T$ with probability $e^{-\lambda T}$.
# Write `lamp_rate(failed, survivors, T)`, the most likely $\lambda$.
# ```

# %%
def lamp_rate(failed, survivors, T):
    """The most likely rate: a float.

    failed: float array (r,), r >= 1, the times of failure, all in (0, T].
    survivors: int >= 0, how many lamps still burn at the time T, a float.
    lamp_rate(np.array([1.0, 3.0]), 0, 5.0) is 0.5.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def searched_rate(failed, survivors, T):
    def surprise(log_rate):
        densities = log_rate - np.exp(log_rate) * failed
        return np.exp(log_rate) * survivors * T - densities.sum()
    return np.exp(minimize_scalar(surprise, bracket=(-9, 3), tol=1e-12).x)

cases = dict(
    failed=vectors((1, 5), 0.1, 5, edges=True),
    survivors=on(0, 1) | integers(0, 9),
    T=lambda failed: on(failed.max()) | scalars(failed.max(), 9),
)
grade(lamp_rate, searched_rate, **cases, rtol=1e-5)

# %% [markdown]
# ```{solution-start} mle-lamps
# :class: dropdown
# ```
# A survivor contributes its probability $e^{-\lambda T}$, so the log-likelihood is
# $\sum_i (\log\lambda - \lambda t_i) - m \lambda T$ with $m$ survivors. Its derivative $r/\lambda - \sum_i t_i - m T$
# falls from $+\infty$ through a single zero: the number of failures divided by the total time that *all* lamps burnt. If you
# leave the survivors out, or treat them as failures at time $T$, the lamps look worse than they are. If you divide the
# share of failures by $T$, you forget that the failed lamps burnt for less than $T$.

# %% jupyter={"source_hidden": true}
def lamp_rate_solution(failed, survivors, T):
    return len(failed) / (failed.sum() + survivors * T)

def without_survivors(failed, survivors, T):
    return 1 / failed.mean()

def survivors_failed(failed, survivors, T):
    return (len(failed) + survivors) / (failed.sum() + survivors * T)

def share_per_time(failed, survivors, T):
    return len(failed) / ((len(failed) + survivors) * T)

assert grade(lamp_rate_solution, searched_rate, **cases, rtol=1e-5)
assert not grade(without_survivors, searched_rate, **cases, rtol=1e-5)
assert not grade(survivors_failed, searched_rate, **cases, rtol=1e-5)
assert not grade(share_per_time, searched_rate, **cases, rtol=1e-5)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def is_top(k, N, log_likelihood_at):  # k / N against each w of a grid
    others = np.linspace(0.01, 0.99, 99)
    return bool((log_likelihood_at(k / N) >= [log_likelihood_at(w) - 1e-9 for w in others]).all())

verify(
    'the most likely probability is the observed share',
    lambda k, more: is_top(k, k + more, lambda w: binom.logpmf(k, k + more, w)),
    slip=('counts one throw of each kind in advance',
          lambda k, more: is_top(k + 1, k + more + 2, lambda w: binom.logpmf(k, k + more, w))),
    k=integers(0, 30), more=integers(1, 30), tries=60,
)

def gaussian_top(seed, N, divisor):
    y = np.random.default_rng(seed).normal(1, 2, N)
    S = ((y - y.mean()) ** 2).sum()
    return close([y.mean(), (S / divisor(N)) ** 0.5], norm.fit(y))

verify(
    'the most likely Gaussian has the mean and S/N',
    lambda seed, N: gaussian_top(seed, N, lambda N: N),
    slip=('divides by N - 1', lambda seed, N: gaussian_top(seed, N, lambda N: N - 1)),
    seed=seeds(), N=integers(2, 30), tries=30,
)

def is_least_squares(seed, log_p):  # the Gaussian has variance 1/2
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    found = minimize(lambda w: -log_p(y - X @ w).sum(), np.zeros(3)).x
    curvature = np.linalg.eigvalsh(X.T @ X / 0.5)[0]
    # the search stops once every slope is below 1e-5, so at most 1.8e-5 / curvature from the bottom
    return close(found, np.linalg.lstsq(X, y)[0], rtol=0, atol=2e-5 / curvature)

holds(
    'ml.mle.estimator.equiv',
    lambda seed: is_least_squares(seed, lambda e: norm.logpdf(e, 0, 0.5**0.5)),
    slip=('says so for Laplace noise', lambda seed: is_least_squares(seed, laplace.logpdf)),
    seed=seeds(), tries=15,
)

# %% tags=["checks"]
def rated_as(seed, w, mu, sigma, log_density):  # nine throws, nine lengths
    rng = np.random.default_rng(seed)
    up, y = rng.random(9) < w, rng.normal(mu, sigma, 9)
    terms = log_density(y, mu, sigma)
    total = log_likelihood(log_gaussian, y, (mu, sigma))
    same = close(log_tack(up, w), binom.logpmf(up, 1, w)) and close(log_gaussian(y, (mu, sigma)), terms)
    return same and close(total, np.log(np.exp(terms).prod()))

cases = dict(seed=seeds(), w=scalars(0.01, 0.99), mu=scalars(-3, 3), sigma=scalars(0.3, 3))
verify(
    'throws and lengths are rated as by scipy, and the sum is the logarithm of the product',
    lambda **case: rated_as(**case, log_density=norm.logpdf),
    slip=('leaves out the factor of the density',
          lambda **case: rated_as(**case, log_density=lambda y, m, s: -((y - m) / s) ** 2 / 2)),
    **cases, tries=50,
)
# the search stops once every slope is below 1e-5; the curvatures are N / sigma² = 3.6 and 2N = 6
verify(
    "the search minimizes minus the log-likelihood, and ends at scipy's fit",
    lambda m, s: close(loss((m, s)), -norm.logpdf(lengths, m, np.exp(s)).sum())
    and close([mu, np.exp(log_sigma)], by_library, rtol=0, atol=1e-5),
    slip=('takes log σ for σ', lambda m, s: close(loss((m, s)), -norm.logpdf(lengths, m, s).sum())),
    m=scalars(-3, 3), s=scalars(0.1, 2), tries=50,
)

# %% [markdown]
# ## Consistency: why the estimate approaches the truth
#
# Suppose that the true probability of *point up* is 0.65. Five friends throw the thumbtack $N$ times each
# and estimate it:

# %%
w_true = 0.65
rng = np.random.default_rng(0)
for N in (10, 100, 1000, 10_000):
    estimates = rng.binomial(N, w_true, size=5) / N
    print(f'N = {N:5}:', ' '.join(f'{w:.3f}' for w in estimates))

# %% [markdown]
# For large $N$, all estimates are near the true probability. For the thumbtack this is the law of large numbers, because
# $k/N$ is a mean. The log-likelihood divided by $N$ is a mean, too. If its terms are independent with one distribution
# and a finite expectation $M(\mathbf{w})$, this mean approaches $M(\mathbf{w})$ for each fixed $\mathbf{w}$ by the same law:
#
# ```{math}
# :label: ml.mle.properties.sample-approx
# \frac1N \mathcal{L}_{LL}(\mathbf{w}) \approx M(\mathbf{w}) := \mathbb{E}_{p_{true}(\mathbf{x}, y)} \big[ \log p(y \mid \mathbf{x}, \mathbf{w}) \big] .
# ```
#
# The data, with or without inputs $\mathbf{x}$, are drawn from the *true* distribution: $\mathbf{w}$ stands only in the
# logarithm. Let
# $p_{\mathbf{w}}$ be the density of the model, and suppose that $p_{true} = p_{\mathbf{w}_{true}}$. Then $M$ is largest at
# the true parameters, because $\log u \le u - 1$, with equality only for $u = 1$:
#
# ```{math}
# :label: eq-mle-gibbs
# M(\mathbf{w}) - M(\mathbf{w}_{true}) = \mathbb{E}_{true} \Big[ \log \frac{p_{\mathbf{w}}}{p_{true}} \Big]
# \le \mathbb{E}_{true} \Big[ \frac{p_{\mathbf{w}}}{p_{true}} \Big] - 1 \le 0 .
# ```
#
# The difference $M(\mathbf{w}_{true}) - M(\mathbf{w})$ is called the **Kullback–Leibler divergence**.
#
# ```{admonition} Why the last step holds, and when the divergence is zero
# :class: dropdown
# The last expectation is the probability that $p_{\mathbf{w}}$ gives to the region where $p_{true} > 0$, so it is at
# most one. $M(\mathbf{w}) = M(\mathbf{w}_{true})$ only if the two densities agree almost everywhere.
# ```
#
# For the thumbtack $M(w) = w_{true} \log w + (1 - w_{true}) \log(1 - w)$. We print $M(w)$ and, beside it, the same
# expectation for data that are drawn with the probability $w$:

# %%
def expected(w, w_data):
    return w_data * np.log(w) + (1 - w_data) * np.log(1 - w)

grid = np.linspace(0.02, 0.99, 98)
means = {}
for N in (10, 100):
    share = rng.binomial(N, w_true, size=(300, 1)) / N
    means[N] = expected(grid, share)                    # (300, 98)
for w in (0.5, 0.65, 0.9, 0.99):
    print(f'w = {w:4}: M(w) = {expected(w, w_true):.2f}'
          f'   with data drawn from w itself {expected(w, w):.2f}')

# %% mystnb={"image": {"alt": "Two panels, for 10 and 100 throws, over w from 0 to 1. A solid curve has its top at 0.65; a band of sample curves around it is wide for 10 throws and narrow for 100. A dashed curve crosses the solid one at 0.5 and at 0.65, is slightly lower between, and rises towards zero at both ends."}} tags=["hide-input"]
fig, axes = panels(2, sharey=True, height=2.7)
for ax, (N, curves) in zip(axes, means.items()):
    low, high = np.quantile(curves, [0.05, 0.95], axis=0)
    ax.fill_between(grid, low, high, color='C0', alpha=0.3, lw=0)
    ax.plot(grid, expected(grid, w_true), color='C0')
    ax.plot(grid, expected(grid, grid), color='C1', ls='--')
    ax.axvline(w_true, color=GREY, ls=':', lw=1)
    ax.text(0.63, -0.12, 'own data', color='C1', ha='right')
    ax.set(xlabel='w', title=f'{N} throws', ylim=(-1.6, 0), xlim=(0, 1))
axes[0].set_ylabel('log-likelihood / N')
axes[0].text(0.6, -1.35, '90 % of samples', color='C0', ha='center')
axes[1].text(0.6, -1.0, 'M(w)', color='C0', ha='center');

# %% [markdown] tags=["caption"]
# At each $w$, the blue band holds the log-likelihood divided by $N$ of 90 % of the samples. With more throws it narrows around
# $M(w)$, which is largest at the true probability. The dashed curve is for data drawn with $w$ itself.

# %% [markdown]
# ```{admonition} A tempting mistake
# :class: tip
# You could write $\mathbb{E}_{p(y \mid \mathbf{w})}[\log p(y \mid \mathbf{w})]$, with the same $\mathbf{w}$ twice. Then the
# data are not drawn from the true distribution. This expectation is −0.06 for 0.99, but only −0.65 for the true 0.65.
# ```
#
# Under four conditions, the estimate approaches the true parameters {cite}`wald1949note`:
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
# :class: dropdown
# By (ii) and {eq}`eq-mle-gibbs`, $M(\mathbf{w}) < M(\mathbf{w}_{true})$ for $\mathbf{w} \ne \mathbf{w}_{true}$. Fix
# $\epsilon > 0$ and some $\mathbf{w}$ at distance at least $\epsilon$ from the truth. As a ball $B$ of $W$ around it
# shrinks, $\sup_B \log p(y \mid \cdot)$ decreases to $\log p(y \mid \mathbf{w})$ by (iii), and by (iv) its
# expectation decreases to $M(\mathbf{w})$. So some ball has
# $\mathbb{E} \sup_B \log p(y \mid \cdot) < M(\mathbf{w}_{true})$. The points at distance at least $\epsilon$ form a
# compact set, so finitely many such balls cover them. Apply the law of large numbers once for each ball and once for
# $\mathbf{w}_{true}$: with probability tending to one, every ball's mean of suprema is below the mean at
# $\mathbf{w}_{true}$. Then no point of any ball is a maximum, and $\hat{\mathbf{w}}_N$ is within $\epsilon$ of the
# truth. (With inputs, read $y$ as the pair $(\mathbf{x}, y)$; the density of $\mathbf{x}$ cancels.)
#
# If $\log p$ is concave in $\mathbf{w}$, then $W = \mathbb{R}^D$ will do, too, with (iv) on a ball around the truth in place
# of $W$. Cover only the sphere of radius $\epsilon$ around the truth, inside this ball. A concave function that is smaller on
# the whole sphere than at its centre is also smaller everywhere outside.
# ```
#
# ### What can go wrong without these conditions
#
# An instrument measures with Gaussian noise of variance 1 and adds an offset of 0.8. We estimate the variance with three
# models. The first model has two parameters, the mean and the variance. The second assumes that the mean is zero, which
# is false. In the third, $N$ objects are measured twice each, and each object has its own mean. So the number of
# parameters grows with $N$.

# %%
def variances(N, rng, R=300):  # three estimates of 1, (R,) each
    y = 0.8 + rng.normal(size=(R, N))
    again = 0.8 + rng.normal(size=(R, N))
    with_mean = ((y - y.mean(1, keepdims=True)) ** 2).mean(1)
    without_mean = (y**2).mean(1)
    one_mean_each = ((y - again) ** 2).mean(1) / 4
    return with_mean, without_mean, one_mean_each

# %%
sizes = np.array([5, 10, 20, 50, 100, 200, 500, 1000])
rng = np.random.default_rng(3)
paths = np.array([variances(N, rng) for N in sizes])    # (8, 3, 300)
names = ['mean fitted', 'mean set to 0', 'one mean\nper object']
for i, name in enumerate(names):
    print(f'{" ".join(name.split()):19} N = 10: {paths[1, i].mean():.2f}'
          f'   N = 1000: {paths[-1, i].mean():.2f}')

# %% mystnb={"image": {"alt": "Three bands that narrow as the sample grows from 5 to 1000. The first narrows onto the true value 1, the second onto 1.64, the third onto one half."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.8))
low, middle, high = np.quantile(paths, [0.05, 0.5, 0.95], axis=2)
for i, name in enumerate(names):
    ax.fill_between(sizes, low[:, i], high[:, i], alpha=0.25, lw=0)
    ax.plot(sizes, middle[:, i], label=name)
ax.axhline(1, color=GREY, ls=':', lw=1)
ax.set(xscale='log', xlabel='sample size N', ylabel='estimated variance', xlim=(5, 1000), ylim=(0, 3))
ax.set_title('median and 90 % band; the truth is 1')
label_lines(ax)

# %% [markdown] tags=["caption"]
# The estimated variance in the three models. With a fitted mean it approaches the true value 1. If the mean is set to 0 it
# approaches 1.64, and with one mean per object one half.

# %% [markdown]
# In a false model, under similar conditions, the estimate approaches the parameters with the least Kullback–Leibler
# divergence from the true distribution {cite}`white1982maximum`. In the second model this is $1 + 0.8^2 = 1.64$. The third
# estimate approaches $\frac12$ {cite}`neyman1948consistent`.
#
# If the model is not identifiable, more data do not help. Let two parts have the lengths $w_1$ and $w_2$, and suppose that we
# measure only their sum $\mu$. Then all pairs with the same sum are equally likely:

# %%
for w_1, w_2 in (2, 0), (1, 1), (0, 2):
    height = log_likelihood(log_gaussian, lengths, (w_1 + w_2, 1))
    print(f'w = ({w_1}, {w_2}): log-likelihood {height:.2f}')

# %% [markdown]
# If $W$ is not compact, the likelihood need not have a maximum. Let each observation come from $\mathcal{N}(0, 1)$ or
# $\mathcal{N}(\mu, \sigma^2)$, with probability $\frac12$ each. If $\mu$ is the first observation and $\sigma \to 0$, the
# likelihood grows without bound:

# %%
y = np.random.default_rng(9).normal(size=50)

def log_mixture(mu, sigma):
    both = norm.logpdf(y), norm.logpdf(y, mu, sigma)
    return np.logaddexp(*both).sum() - len(y) * np.log(2)

heights = [log_mixture(y[0], sigma) for sigma in (1e-10, 1e-50, 1e-100)]
print('log-likelihood:', [round(height) for height in heights])

# %% [markdown]
# ```{exercise} ★★ Pencil: one mean per object
# :label: mle-neyman-scott
#
# Measure each of $N$ objects $m \ge 2$ times, $y_{ij} = \mu_i + \varepsilon_{ij}$ with Gaussian noise of variance
# $\sigma^2$. What is the limit of the most likely $\hat\sigma^2$ as $N \to \infty$ with $m$ fixed? Does dividing by $Nm - 1$
# mend it? Write `unbiased_variance(y)`, a multiple that is right on average.
# ```

# %%
def unbiased_variance(y):
    """An estimate of the variance of the noise, right on average: a float.

    y: float array (N, m), row i the m >= 2 measurements of object i, N >= 1.
    unbiased_variance(np.array([[1.0, 3.0], [9.0, 9.0]])) is 1.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def from_pairs(y):  # the square of a difference is 2 sigma² on average
    i, j = np.triu_indices(y.shape[1], 1)
    return ((y[:, i] - y[:, j]) ** 2).mean() / 2

cases = dict(y=matrices((1, 5), (2, 4), edges=True))
grade(unbiased_variance, from_pairs, **cases)

# %% [markdown]
# ```{solution-start} mle-neyman-scott
# :class: dropdown
# ```
# The most likely $\mu_i$ is the mean $\bar y_i$ of the object, and $\hat\sigma^2 = \frac{1}{Nm} \sum_{ij} (y_{ij} - \bar
# y_i)^2$. Within one object, $\mathbb{E} \sum_j (y_{ij} - \bar y_i)^2 = (m - 1) \sigma^2$, because fitting $\bar
# y_i$ takes away one of $m$ directions. So the estimate tends to $\frac{m-1}{m} \sigma^2$, which is $\frac12
# \sigma^2$ for pairs. Divide by $N(m-1)$ instead. Dividing by $Nm - 1$ is not enough, because $N$ means were fitted and not
# one. Of the wrong answers, the third fits one mean to all measurements: it takes the differences between the objects for
# noise.

# %% jupyter={"source_hidden": true}
def unbiased_variance_solution(y):
    N, m = y.shape
    return ((y - y.mean(1, keepdims=True)) ** 2).sum() / (N * (m - 1))

def most_likely(y):
    return ((y - y.mean(1, keepdims=True)) ** 2).mean()

def one_mean_fitted(y):
    return ((y - y.mean(1, keepdims=True)) ** 2).sum() / (y.size - 1)

def one_mean_for_all(y):
    return ((y - y.mean()) ** 2).sum() / (y.size - len(y))

assert grade(unbiased_variance_solution, from_pairs, **cases)
assert not grade(most_likely, from_pairs, **cases)
assert not grade(one_mean_fitted, from_pairs, **cases)
assert not grade(one_mean_for_all, from_pairs, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def average_agrees(w, w_data, N, seed):  # y = 1.5 x + noise; Gaussian model with weight w
    sigma = 0.8
    x, noise = np.random.default_rng(seed).normal(size=(2, N))
    average = norm.logpdf(1.5 * x + sigma * noise, w * x, sigma).mean()
    variance = sigma**2 + (w - w_data) ** 2
    limit = -0.5 * (np.log(2 * np.pi * sigma**2) + variance / sigma**2)
    standard_error = (1 + (w - 1.5) ** 2 / sigma**2) / np.sqrt(2 * N)
    return bool(abs(average - limit) < 5 * standard_error)

holds(
    'ml.mle.properties.sample-approx',
    lambda w, N, seed: average_agrees(w, 1.5, N, seed),
    slip=('averages over the model, not over the data', lambda w, N, seed: average_agrees(w, w, N, seed)),
    w=scalars(-2, 4), N=[1000, 4000, 16000], seed=seeds(),
)

def misses(N, estimate, epsilon=0.25, R=4000):  # the frequency, and what the chi-squared law says
    y = 0.8 + np.random.default_rng(N).normal(size=(R, N))
    far = abs(estimate(y) - 1) > epsilon
    low, high = chi2.cdf(N * np.array([1 - epsilon, 1 + epsilon]), N - 1)
    return far.mean(), low + 1 - high

def is_consistent(estimate):
    q, p = np.array([misses(N, estimate) for N in (20, 80, 320)]).T
    near = abs(q - p) <= 5 * np.sqrt(p * (1 - p) / 4000)
    return bool(near.all() and p[0] > p[1] > p[2] and p[2] < 0.005)

holds(
    'ml.mle.properties.consistent',
    lambda: is_consistent(lambda y: y.var(1)),
    slip=('trusts a model that does not contain the truth', lambda: is_consistent(lambda y: (y**2).mean(1))),
)

def rated_below_truth(w, truth, own):  # three outcomes
    p, q = (np.exp(v - np.logaddexp.reduce(v)) for v in (truth, w))
    return bool((q if own else p) @ np.log(q) <= p @ np.log(p) + 1e-12)

verify(
    'no parameters have a larger expected log-likelihood than the true ones',
    lambda w, truth: rated_below_truth(w, truth, own=False),
    slip=('lets each model rate its own data', lambda w, truth: rated_below_truth(w, truth, own=True)),
    w=vectors(3, -3, 3), truth=vectors(3, -3, 3), tries=60,
)
verify(
    'the likelihood of seven in ten throws has the integral 1/1320',
    lambda: close(1320 * quad(lambda w: w**7 * (1 - w) ** 3, 0, 1)[0], 1),
    slip=('counts all orders of the ten throws', lambda: close(1320 * quad(lambda w: binom.pmf(7, 10, w), 0, 1)[0], 1)),
)

# %% tags=["checks"]
verify(
    'M(w) is the mean of log p under the true share',
    lambda w, share: close(expected(w, share), binom(1, share).expect(lambda k: binom.logpmf(k, 1, w))),
    slip=('draws the data from w itself',
          lambda w, share: close(expected(w, w), binom(1, share).expect(lambda k: binom.logpmf(k, 1, w)))),
    w=scalars(0.02, 0.98), share=scalars(0.02, 0.98), tries=50,
)

def scatter_around(seed, N, limits):  # 300 estimates each
    found = np.array(variances(N, np.random.default_rng(seed)))
    return bool((abs(found.mean(1) - limits) < 5 * found.std(1) / np.sqrt(300)).all())

verify(
    'the three estimates are 1 - 1/N, 1.64 and 1/2 on average',
    lambda seed, N: scatter_around(seed, N, [1 - 1 / N, 1.64, 0.5]),
    slip=('expects the true variance of the third', lambda seed, N: scatter_around(seed, N, [1 - 1 / N, 1.64, 1])),
    seed=[0, 1, 2], N=[5, 50, 1000],
)

# %% tags=["checks"]
def is_mixture(mu, sigma, share):
    both = share * (norm.pdf(y) + norm.pdf(y, mu, sigma))
    return close(log_mixture(mu, sigma), np.log(both.prod()))

verify(
    'half of each Gaussian; each factor of ten in σ adds ln 10 without limit',
    lambda mu, sigma: is_mixture(mu, sigma, 1 / 2) and close(np.diff(heights), np.log(10) * np.array([40, 50])),
    slip=('adds both with the factor 1', lambda mu, sigma: is_mixture(mu, sigma, 1)),
    mu=scalars(-2, 2), sigma=scalars(0.1, 3), tries=50,
)

# %% [markdown]
# ## Fisher information: how large is the error?
#
# How far is the estimate from the true parameter? Look at the log-likelihoods of forty samples near the true $w$:

# %%
rng = np.random.default_rng(5)
near = np.linspace(0.4, 0.85, 91)
profiles = {}
for N in (20, 200):
    k = rng.binomial(N, w_true, size=(40, 1))
    profiles[N] = N * (expected(near, k / N) - expected(w_true, k / N))

# %% mystnb={"image": {"alt": "Forty log-likelihood curves through one point at the true probability, for 20 and for 200 throws. Their slopes at that point scatter around zero, and with 200 throws the curves bend much more sharply. The expected curve has its top there."}} tags=["hide-input"]
fig, axes = panels(2, sharey=True, height=2.7)
for ax, (N, curves) in zip(axes, profiles.items()):
    ax.plot(near, curves.T, color='C0', alpha=0.4, lw=0.8)
    ax.plot(near, N * (expected(near, w_true) - expected(w_true, w_true)), color='C1')
    ax.axvline(w_true, color=GREY, lw=1, ls=':')
    ax.set(xlabel='w', ylim=(-8, 5), xlim=(0.4, 0.85), title=f'{N} throws, 40 samples')
axes[0].text(0.46, -7.2, 'orange: expected', color='C1')
axes[0].set_ylabel('log-likelihood minus\nits value at the truth');

# %% [markdown] tags=["caption"]
# Log-likelihoods of 40 samples, minus their value at the truth. With ten times as many throws the curvature is ten times as
# large, but the slopes at the truth differ only by $\sqrt{10}$ times as much. So the maxima are closer to the truth.

# %% [markdown]
# The distance of a maximum from the truth depends on the curvature of the log-likelihood, and on its slope at the truth. The
# slope of one term is called the **score**, $\mathbf{s}(y, \mathbf{w}) = \nabla_{\mathbf{w}} \log p(y \mid \mathbf{w})$. For
# the thumbtack it is $1/w$ or $-1/(1-w)$. We compute the scores and the curvatures of 100,000 throws:

# %%
y = (rng.random(100_000) < w_true).astype(float)
slope = y / w_true - (1 - y) / (1 - w_true)
curvature = -y / w_true**2 - (1 - y) / (1 - w_true) ** 2
print(f'variance of the score {slope.var():.2f}')
print(f'minus mean curvature  {-curvature.mean():.2f}')
print(f'1 / (w (1 - w))       {1 / (w_true * (1 - w_true)):.2f}')

# %% [markdown]
# The first two numbers agree. This is true in general. Assume that
#
# - **(a)** the set $\{y : p(y \mid \mathbf{w}) > 0\}$ is the same for all $\mathbf{w}$, and
# - **(b)** $\int p(y \mid \mathbf{w}) \, dy = 1$ may be differentiated twice with respect to $\mathbf{w}$ under the
#   integral.
#
# Then the mean score is zero, and the **Fisher information** of one observation can be computed in two ways:
#
# ```{math}
# :label: ml.mle.properties.fisher
# F(\mathbf{w}) = -\mathbb{E}_{p(y \mid \mathbf{w})} \Big[ \frac{\partial^2 \log p(y \mid \mathbf{w})}{\partial \mathbf{w} \, \partial \mathbf{w}^\top} \Big]
# = \mathbb{E}_{p(y \mid \mathbf{w})} \big[ \mathbf{s} \, \mathbf{s}^\top \big] = \mathrm{Cov}(\mathbf{s}) .
# ```
#
# ```{admonition} Why the two ways agree
# :class: dropdown
# The mean score is $\mathbb{E}[\mathbf{s}] = \int \nabla p \, dy = \nabla \int p \, dy = \mathbf{0}$. The
# quotient rule for $\mathbf{s} = \nabla p / p$ gives $\nabla^2 \log p = \nabla^2 p / p - \mathbf{s}\mathbf{s}^\top$,
# and the first term again has mean zero.
# ```
#
# The covariances of independent scores add up, so the whole sample has the information $F_N = N F$.
#
# ### The Cramér–Rao bound
#
# The information limits each unbiased estimator:
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
# :class: dropdown
# Let $\mathbf{s}$ be the score of the whole sample. Differentiating $\int T \, p \, d\mathbf{y} = \mathbf{w}$ gives
# $\mathbb{E}[T \mathbf{s}^\top] = I$, and since $\mathbb{E}[\mathbf{s}] = \mathbf{0}$, $\mathrm{Cov}(T, \mathbf{s}) = I$.
# Hence $\mathrm{Cov}(T - F_N^{-1} \mathbf{s}) = \mathrm{Cov}(T) - F_N^{-1} - F_N^{-1} + F_N^{-1} F_N F_N^{-1} =
# \mathrm{Cov}(T) - F_N^{-1}$, and a covariance is positive semidefinite. Equality holds exactly if $T = \mathbf{w} +
# F_N^{-1} \mathbf{s}$ almost surely. In the linear model with Gaussian noise, $\mathbf{s} = X^\top (\mathbf{y} -
# X\mathbf{w}) / \sigma^2$ and $F_N = X^\top X / \sigma^2$, and $(X^\top X)^{-1} X^\top \mathbf{y} = \mathbf{w} +
# F_N^{-1} \mathbf{s}$.
# ```
#
# Some estimates attain the bound for each $N$. The share $k/N$ has the variance $w(1-w)/N = 1/(NF)$. So does the most
# likely $\mathbf{w}$ in the linear model with [Gaussian noise](#why-the-squared-error-is-a-log-likelihood), if the
# columns of $\mathbf{X}$ are linearly independent:
#
# ```{math}
# :label: ml.mle.properties.cov
# \mathrm{Cov}(\hat{\mathbf{w}}) = F_N(\mathbf{w}_{true})^{-1} = \sigma^2 (X^\top X)^{-1} .
# ```
#
# Other estimates attain the bound only in the limit, or never. We compute the mean squared error of three estimates, divided
# by the bound: the most likely rate $\lambda$ of waiting times with density $\lambda e^{-\lambda y}$, the median of Gaussian
# data as an estimate of their mean, and the variance $S/N$ of Gaussian data.
#
# ````{admonition} The formula for the rate
# :class: dropdown
# Waiting times with density $\lambda e^{-\lambda y}$ have the score $1/\lambda - y$, so $F = 1/\lambda^2$. The estimate
# $\hat\lambda$ is one over their mean. From the moments of the Gamma distribution, for $N \ge 3$,
#
# ```{math}
# :label: ml.mle.properties.efficient
# N F(\lambda) \, \mathbb{E}\big[(\hat\lambda - \lambda)^2\big] = \frac{N (N + 2)}{(N - 1)(N - 2)} .
# ```
# ````

# %%
print('mean squared error / bound')
print('  N   rate (formula)   median   variance')
for N in (5, 25, 201):
    rng = np.random.default_rng(N)
    wait = rng.gamma(N, size=20_000)  # the sum of N times of rate 1
    z = rng.normal(size=(20_000, N))
    rate = N * ((N / wait - 1) ** 2).mean()
    median = N * (np.median(z, axis=1) ** 2).mean()
    variance = N * ((z.var(1) - 1) ** 2).mean() / 2     # F = 1/2
    formula = N * (N + 2) / ((N - 1) * (N - 2))
    print(f'{N:3} {rate:7.2f} ({formula:.2f}) {median:12.2f} {variance:10.2f}')

# %% [markdown]
# The estimate of the rate is **asymptotically efficient**: its mean squared error approaches the bound. That of the median
# approaches $\pi/2 = 1.57$ times the bound. That of $S/N$ can be *below* the bound, because $S/N$ is biased.
#
# ### Asymptotic normality
#
# Near its maximum, the log-likelihood is almost a parabola with curvature $-NF$. Its slope $g$ at the truth is a sum of $N$
# scores. By the central limit theorem, $g$ is almost Gaussian with covariance $NF$. The top of this parabola lies at the
# distance $(NF)^{-1} g$ from the truth. So the error of the estimate is almost Gaussian, with covariance
# $(NF)^{-1} NF (NF)^{-1} = (NF)^{-1}$.
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
# :class: dropdown
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
# In practice, the **standard errors** of the estimated parameters are the roots of the diagonal of
# $(NF)^{-1}$. For 7 of 10 throws this is $\sqrt{0.7 \cdot 0.3 / 10} = 0.14$, so our answer is $0.70 \pm 0.14$.
#
# ### When a condition fails
#
# | condition | model | estimate | consequence |
# |---|---|---|---|
# | fixed support (uniform) | uniform on $[0, \theta]$ | $\max_n y_n$ | error of order $1/N$, exponential limit |
# | interior point (wall) | $\mathcal{N}(w, 1)$ with $w \ge 0$, truth 0 | $\max(0, \bar y)$ | half of the estimates are exactly 0 |
# | invertible $F$ (cubic) | $\mathcal{N}(w^3, 1)$, truth 0 | $\sqrt[3]{\bar y}$ | error of order $N^{-1/6}$, two humps |
# | smooth density (kink) | $\tfrac12 e^{-\lvert y - w \rvert}$ | median | normal, but $F$ is only the covariance of the score |
#
# We draw 20,000 estimates of each kind, for two sample sizes:

# %%
def draw_errors(N, R=20_000):  # the j-th smallest of N is a Beta number
    rng = np.random.default_rng(N)
    mean = rng.normal(size=R) / np.sqrt(N)              # of N(0, 1)
    middle = rng.beta((N + 1) / 2, (N + 1) / 2, size=R)
    return {
        'uniform': rng.beta(N, 1, size=R) - 1,          # theta = 1
        'wall': np.maximum(0, mean),
        'cubic': np.cbrt(mean),
        'kink': laplace.ppf(middle),
    }

# %%
few, large = draw_errors(10**4 + 1), draw_errors(10**6 + 1)
power = {}
for name in few:
    shrinks = np.sqrt((large[name] ** 2).mean() / (few[name] ** 2).mean())
    power[name] = np.log(shrinks) / np.log(100)
    print(f'{name:8} error shrinks like N^{power[name]:.3f}')
print(f'exactly 0 at the wall: {(large["wall"] == 0).mean():.2f}')

# %% mystnb={"image": {"alt": "Four histograms of scaled errors with their limit laws. Uniform: a falling exponential. Wall: half a bell, and at zero a bar as high as the share of the estimates there, one half. Cubic: two humps with a gap at zero. Kink: an ordinary bell."}} tags=["hide-input"]
fig, axes = panels(2, rows=2, height=2.2)
t, s = np.linspace(0, 6, 200), np.linspace(-3.5, 3.5, 281)
pictures = [
    ('moving support', 'N (θ − estimate)', -1e6 * large['uniform'], t, np.exp(-t)),
    ('wall', '√N estimate', 1e3 * large['wall'][large['wall'] > 0], t, norm.pdf(t)),
    ('no information', 'sixth root of N × estimate', 10 * large['cubic'], s, 3 * s**2 * norm.pdf(s**3)),
    ('kink', '√N error', 1e3 * large['kink'], s, norm.pdf(s)),
]
edges = np.linspace(-3.5, 6, 77)
for ax, (title, xlabel, errors, at, density) in zip(axes.flat, pictures):
    ax.stairs(np.histogram(errors, edges)[0] / 20_000 / np.diff(edges), edges, fill=True, alpha=0.45)
    ax.plot(at, density, color='C1')
    ax.set(title=title, xlabel=xlabel, xlim=(-3.5, 3.5))
axes[0, 0].set(xlim=(-0.5, 6))
axes[0, 1].bar(0, 0.5, 0.12, color='C0')
axes[0, 1].text(-0.3, 0.36, 'half of the\nestimates', color='C0', ha='right')
axes[0, 1].text(1.1, 0.3, 'limit', color='C1')
for ax in axes[:, 0]:
    ax.set(ylabel='density')

# %% [markdown] tags=["caption"]
# The distributions of the 20,000 errors, scaled (blue), and their limits (orange). With a moving support the limit is
# exponential, at the wall half of the estimates are 0, and without information there are two humps. With the kink it is
# normal.

# %% [markdown]
# ```{admonition} Why, in each of the four cases
# :class: dropdown
# **Moving support.** The likelihood $\theta^{-N}$ falls for $\theta \ge \max_n y_n$ and is zero below, so the
# estimate sits on the edge of a cliff. The score is $-1/\theta$ for *each* $y$, so its mean is not zero: the
# derivative of $\int_0^\theta \frac1\theta \, dy$ has a boundary term $+\frac1\theta$ that the interchange drops. The
# Cramér–Rao bound fails, too. It would allow no variance below $\theta^2 / N$, but the unbiased
# $\frac{N+1}{N} \max_n y_n$ has $\theta^2 / (N (N + 2))$. Finally,
# $\Pr\big(N (\theta - \hat\theta)/\theta > t\big) = (1 - t/N)^N \to e^{-t}$.
#
# **Wall.** $\sqrt N \hat w = \max(0, Z)$ with $Z$ standard normal, for each $N$: at a wall the slope need not vanish.
#
# **No information.** The score $3 w^2 (y - w^3)$ vanishes at $w = 0$, so $F(0) = 0$. The model is identifiable and
# the estimate consistent, but $N^{1/6} \hat w = \sqrt[3]{Z}$.
#
# **Kink.** The score is $\mathrm{sign}(y - w)$, so $\mathbb{E}[s^2] = 1$. But the curvature is zero almost everywhere,
# so the two forms of $F$ differ. The variance of the median, times $N$, tends to $1 = 1/\mathbb{E}[s^2]$, so the
# covariance of the score is the one to trust. The theorem holds under a weaker smoothness
# {cite}`vandervaart1998asymptotic`.
# ```
#
# ```{exercise} ★★ Pencil: the divisor with the smallest error
# :label: mle-divisor
#
# Estimate the variance of $N$ Gaussian observations with unknown mean by $S / d$, $S = \sum_n (y_n - \bar y)^2$. You
# may use $\mathbb{E}[S] = (N - 1) \sigma^2$ and $\mathrm{Var}(S) = 2 (N - 1) \sigma^4$. Which divisor $d$ has the
# smallest mean squared error? Write it as `best_divisor(N)`.
# ```

# %%
def best_divisor(N):
    """The divisor with the smallest mean squared error: a number.

    N: int >= 2, how many observations there are.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def searched_divisor(N):  # the error is a parabola in 1 / d: three values give its lowest point
    def error(c):
        bias = c * chi2(N - 1).mean() - 1
        return c**2 * chi2(N - 1).var() + bias**2
    low, middle, high = error(0), error(1), error(2)
    return 2 * (low - 2 * middle + high) / (3 * low - 4 * middle + high)

cases = dict(N=on(2, 3) | integers(2, 99))
grade(best_divisor, searched_divisor, **cases)

# %% [markdown]
# ```{solution-start} mle-divisor
# :class: dropdown
# ```
# With $c = 1/d$ and $\sigma = 1$ the error is variance plus squared bias, $2 (N-1) c^2 + (c (N - 1) - 1)^2$. Its
# derivative with respect to $c$ vanishes at $c \, (2 + N - 1) = 1$, so $d = N + 1$: neither the unbiased $N - 1$ nor
# the most likely $N$. If the mean were known, it would be $N + 2$.

# %% jupyter={"source_hidden": true}
def best_divisor_solution(N):
    return N + 1

def unbiased(N):
    return N - 1

def most_likely_divisor(N):  # also what Var(S) = (N - 1) σ⁴ would give
    return N

def for_a_known_mean(N):  # E[S] = N σ² and Var(S) = 2 N σ⁴
    return N + 2

assert grade(best_divisor_solution, searched_divisor, **cases)
assert not grade(unbiased, searched_divisor, **cases)
assert not grade(most_likely_divisor, searched_divisor, **cases)
assert not grade(for_a_known_mean, searched_divisor, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Program: an honest interval on the cliff
# :label: mle-uniform
#
# Let `top` be the largest of $N$ numbers uniform on $[0, \theta]$. For which $c$ does the interval
# $[\mathtt{top}, \, c \cdot \mathtt{top}]$ contain $\theta$ with probability `level`? Write
# `interval_end(top, N, level)`, its upper end.
# ```

# %%
def interval_end(top, N, level):
    """The upper end of the interval: a float.

    top: float > 0, the largest of N >= 1 numbers. level: float in (0, 1).
    interval_end(1.0, 1, 0.5) is 2.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def end_by_quantile(top, N, level):  # top / θ has the density N t^(N - 1) on [0, 1]
    return top / beta(N, 1).isf(level)

cases = dict(
    top=on(1.0) | scalars(0.1, 20), N=on(1, 2, 100) | integers(1, 100),
    level=on(0.5, 0.95) | scalars(0.001, 0.999),
)
grade(interval_end, end_by_quantile, **cases)

# %% [markdown]
# ```{solution-start} mle-uniform
# :class: dropdown
# ```
# $\theta$ lies above $c \cdot \mathtt{top}$ if all $N$ values are below $\theta / c$, which has the probability
# $c^{-N}$. Set it to $1 - \mathtt{level}$. If you take $F = 1/\theta^2$ and a bell, your interval ends at
# $\mathtt{top} \, (1 + 1.96 / \sqrt N)$ for 95 %, and its other half lies below the largest observation, where
# $\theta$ cannot be. Of the other two wrong answers, one leaves $\theta$ out with the probability `level`, and one takes
# the exponential limit law of large $N$ for the law.

# %% jupyter={"source_hidden": true}
def interval_end_solution(top, N, level):
    return top * (1 - level) ** (-1 / N)

def blind_bell(top, N, level):
    return top * (1 + norm.ppf((1 + level) / 2) / np.sqrt(N))

def other_tail(top, N, level):
    return top * level ** (-1 / N)

def limit_law(top, N, level):
    return top * (1 - np.log(1 - level) / N)

assert grade(interval_end_solution, end_by_quantile, **cases)
assert not grade(blind_bell, end_by_quantile, **cases)
assert not grade(other_tail, end_by_quantile, **cases)
assert not grade(limit_law, end_by_quantile, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def poisson_case(rate, seed, N=10_000):
    y = np.random.default_rng(seed).poisson(rate, N)
    return y / rate - 1, -y / rate**2, 5 / np.sqrt(N)  # scores, curvatures, five standard errors for a deviation of 1

def mean_score_is_information(rate, seed):
    scores, _, five = poisson_case(rate, seed)
    return bool(abs(-scores.mean() - 1 / rate) < five / np.sqrt(rate))

def both_are_information(rate, seed, information):
    scores, curvatures, five = poisson_case(rate, seed)
    by_curvature = abs(-curvatures.mean() - information) < five / rate**1.5
    deviation = np.sqrt(rate + 2 * rate**2) / rate**2  # of the squared score
    return bool(by_curvature and abs((scores**2).mean() - information) < five * deviation)

holds(
    'ml.mle.properties.fisher', lambda rate, seed: both_are_information(rate, seed, 1 / rate),
    slip=('takes the mean of the score, a first derivative', mean_score_is_information),
    rate=[0.5, 2, 8], seed=seeds(), tries=60,
)

def has_covariance(C, z):  # C (D, D); z (R, D), of mean zero; five standard errors of each entry
    R, v = len(z), np.diag(C)
    return bool((abs(z.T @ z / R - C) < 5 * np.sqrt((np.outer(v, v) + C**2) / R)).all())

def attains(seed, times, N=30, sigma=0.7, R=5000):
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(N, 3)), sigma * rng.normal(size=(N, R))
    return has_covariance(np.linalg.inv(times * X.T @ X / sigma**2), np.linalg.lstsq(X, noise)[0].T)

holds(
    'ml.mle.properties.cov',
    lambda seed: attains(seed, 1),
    slip=('takes the information of one observation', lambda seed: attains(seed, 1 / 30)),
    seed=seeds(), tries=20,
)

def relative_error(N):  # twice the rate times the sum of N times has the chi-squared law of 2 N degrees of freedom
    return N * chi2(2 * N).expect(lambda c: (2 * N / c - 1) ** 2)

def reaches(N, numerator):
    return close(relative_error(N), numerator / ((N - 1) * (N - 2)), rtol=1e-6)

holds(
    'ml.mle.properties.efficient',
    lambda N: reaches(N, N * (N + 2)) and relative_error(10 * N) < 1 + 0.6 / N,  # 5 / (10 N) and a remainder
    slip=('says that the bound is attained for each N', lambda N: reaches(N, (N - 1) * (N - 2))),
    N=[3, 10, 30],
)

# %% tags=["checks"]
def shrinks_like(law, exponent):  # five standard errors of the logarithm of a root mean square, for e^4 up to 6
    return bool(abs(power[law] - exponent) < 0.012)

rates = {'uniform': -1, 'wall': -1 / 2, 'cubic': -1 / 6, 'kink': -1 / 2}
verify(
    'the errors shrink like 1/N, N^(-1/2), N^(-1/6) and N^(-1/2)',
    lambda law: shrinks_like(law, rates[law]),
    slip=('expects the root of N for each', lambda law: shrinks_like(law, -1 / 2)),
    law=list(rates),
)
limits = {
    'uniform': (10**6 * -large['uniform'], expon.cdf),
    'cubic': (10 * large['cubic'], lambda t: norm.cdf(t**3)),
    'kink': (1000 * large['kink'], norm.cdf),
}
farthest = np.sqrt(np.log(2e6) / (2 * 20_000))  # exceeded with probability 1e-6 at most

def has_limit(name, law):
    errors, cdf = limits[name]
    bell = norm(errors.mean(), errors.std()).cdf
    return bool(kstest(errors, cdf if law == 'derived' else bell).statistic < farthest)

verify(
    'the limits are exponential, two-humped and normal',
    lambda name: has_limit(name, 'derived'),
    slip=('expects a bell for each', lambda name: has_limit(name, 'bell')),
    name=list(limits),
)
at_wall = (large['wall'] == 0).mean()
verify(
    'half of the estimates are at the wall',  # within five standard errors
    lambda: bool(abs(at_wall - 0.5) < 5 * 0.5 / np.sqrt(20_000)),
    slip=('expects four of ten there', lambda: bool(abs(at_wall - 0.4) < 5 * 0.5 / np.sqrt(20_000))),
)
def variance_is(value):  # the largest of ten, divided by theta, has the law Beta(10, 1)
    return close(beta(10, 1).expect(lambda t: (11 / 10 * t - 1) ** 2), value)

verify(
    'on a moving support an unbiased estimate beats the bound: its variance is 1/(N(N + 2)) for N = 10',
    lambda: variance_is(1 / 120), slip=('obeys the bound', lambda: variance_is(1 / 10)),
)

# %% [markdown]
# ## Maximum likelihood at work: the dose that kills half of the beetles
#
# In 1935 C. I. Bliss published how many of 481 beetles died within five hours in eight concentrations of carbon
# disulphide {cite}`bliss1935calculation`. Which dose kills half, and how sure are we? A beetle is like a thumbtack,
# with a probability that depends on the dose. A common model takes the **logistic function** $g(t) = 1/(1 + e^{-t})$,
# which rises from 0 to 1:
#
# ```{math}
# :label: eq-mle-dose
# \Pr(\text{killed} \mid x) = g(w_0 + w_1 x), \qquad x = \log_{10}(\text{dose}) - 1.8 .
# ```

# %%
log_dose = np.array(
    [1.6907, 1.7242, 1.7552, 1.7842, 1.8113, 1.8369, 1.8610, 1.8839])
beetles = np.array([59, 60, 62, 56, 63, 59, 62, 60])
killed = np.array([6, 13, 18, 28, 52, 53, 61, 60])
X = np.stack([np.ones(8), log_dose - 1.8], axis=1)      # (8, 2)

# %% [markdown]
# Let $k$ of $n$ beetles be killed at one dose. By the chain rule their score is
# $(k - n g) \frac{g'}{g (1 - g)} \mathbf{x}$. Since $\mathrm{Var}(k) = n g (1 - g)$, their information is
# $\frac{n g'^2}{g(1 - g)} \mathbf{x}\mathbf{x}^\top$.

# %%
def logistic(t):                                        # value and slope
    g = 1 / (1 + np.exp(-t))
    return g, g * (1 - g)

def total_score(X, n, k, w, curve=logistic):            # X (J, D), k (..., J)
    g, slope = curve(w @ X.T)                           # (..., J)
    return (k - n * g) * slope / (g * (1 - g)) @ X      # (..., D)

def fisher_information(X, n, w, curve=logistic):
    g, slope = curve(w @ X.T)                           # (..., J)
    weight = n * slope**2 / (g * (1 - g))
    return (weight[..., None, :] * X.T) @ X             # (..., D, D)

# %% [markdown]
# There is no formula for the maximum. But near $\mathbf{w}$ the log-likelihood is almost a parabola, and the top of this
# parabola is at $\mathbf{w} + F_N^{-1} \mathbf{s}$. We go there, and repeat. This is
# **Fisher scoring**. For the logistic function it is the same as Newton's method.

# %%
def fisher_scoring(X, n, k, curve=logistic, steps=25):
    w = np.zeros((*k.shape[:-1], X.shape[1]), X.dtype)
    for _ in range(steps):
        s = total_score(X, n, k, w, curve)
        F_N = fisher_information(X, n, w, curve)
        w = w + np.linalg.solve(F_N, s[..., None])[..., 0]
    return w

# %%
w = fisher_scoring(X, beetles, killed)
C = np.linalg.inv(fisher_information(X, beetles, w))    # (2, 2)
print('Fisher scoring: ', w.round(2))
print('standard errors:', np.sqrt(np.diag(C)).round(2))

x_each = np.repeat(X[:, 1:], 2, axis=0)  # dead and alive at each dose
counts = np.stack([killed, beetles - killed], 1).ravel()
model = LogisticRegression(C=1e9, tol=1e-8, solver='newton-cholesky')
model.fit(x_each, [1, 0] * 8, sample_weight=counts)
print('scikit-learn:   ', np.r_[model.intercept_, model.coef_[0]].round(2))

# %% [markdown]
# The library agrees; `C=1e9` switches off its penalty for large weights. Half of the beetles die where $w_0 + w_1 x = 0$.
# Near the truth, $q(\mathbf{w}) = -w_0/w_1$ is almost linear, so the variance of $q(\hat{\mathbf{w}})$ is about $\nabla
# q^\top F_N^{-1} \nabla q$. The root of this number is our error bar. To test it, we draw 4000 new experiments from the
# fitted model, and estimate the dose from each:

# %%
def half_dose(w):
    return 1.8 - w[..., 0] / w[..., 1]

grad = np.array([-1 / w[1], w[0] / w[1] ** 2])
error_bar = np.sqrt(grad @ C @ grad)
print(f'log dose that kills half: {half_dose(w):.3f} ± {error_bar:.4f}')

rng = np.random.default_rng(11)
again = rng.binomial(beetles, logistic(X @ w)[0], size=(4000, 8))
half_again = half_dose(fisher_scoring(X, beetles, again))
inside = abs(half_again - half_dose(w)) < 1.96 * error_bar
print(f'spread of 4000 repetitions: {half_again.std():.4f}')
print(f'within 1.96 error bars: {inside.mean():.1%}')

# %% [markdown]
# The error bar supposes that the logistic curve is right. Another curve with as many parameters is the *complementary
# log-log* curve $g(t) = 1 - e^{-e^t}$. By how much does its largest log-likelihood exceed that of the logistic curve? And how
# often would the difference be so large if the logistic curve were true?

# %%
def log_log(t):  # value and slope, inside (0, 1)
    g = np.clip(-np.expm1(-np.exp(t)), 1e-12, 1 - 1e-12)
    return g, np.exp(t - np.exp(t))

def best_log_likelihood(k, curve):  # without binomial coefficients
    g, _ = curve(fisher_scoring(X, beetles, k, curve) @ X.T)
    return (xlogy(k, g) + xlogy(beetles - k, 1 - g)).sum(-1)

def lead(k):
    return best_log_likelihood(k, log_log) - best_log_likelihood(k, logistic)

# %%
w_rival = fisher_scoring(X, beetles, killed, log_log)
half_rival = 1.8 + (np.log(np.log(2)) - w_rival[0]) / w_rival[1]
seen, by_luck = lead(killed), lead(again)
print(f'the rival leads by {seen:.1f}; so much by luck'
      f' in {(by_luck >= seen).sum()} of {len(by_luck)} repetitions')
print(f'its log dose {half_rival:.3f} is'
      f' {(half_rival - half_dose(w)) / error_bar:.1f} error bars away')

# %% mystnb={"image": {"alt": "Left: the fraction of beetles killed against log dose with two fitted curves and the ranges in which 95 per cent of repetitions fall under the logistic one; the asymmetric log-log curve passes closer to six of the eight points. Right: histogram of the lead that the rival would have by luck, mostly negative, with the observed lead far in the right tail."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
t = np.linspace(1.68, 1.9, 200)
T = np.stack([np.ones(200), t - 1.8], 1)
low, high = np.quantile(again / beetles, [0.025, 0.975], axis=0)
left.vlines(log_dose, low, high, color='C0', alpha=0.4, lw=4)
left.plot(t, logistic(T @ w)[0], color='C0')
left.plot(t, log_log(T @ w_rival)[0], color='C1')
left.plot(log_dose, killed / beetles, 'o', color=GREY)
left.text(1.815, 0.45, 'logistic, and 95 %\nof its repetitions', color='C0', va='center')
left.text(1.853, 1.04, 'log-log', color='C1', ha='right')
left.set(xlabel='log10 of the dose (mg / l)', ylabel='fraction killed', title='481 beetles', ylim=(-0.02, 1.13))
right.hist(by_luck, bins=np.linspace(-14, 8, 45), color='C0', alpha=0.45)
right.axvline(seen, color='C1')
right.text(seen + 0.4, 200, 'observed', color='C1')
right.set(xlabel='lead of log-log', xlim=(-14, 10), ylabel='repetitions', title='if the logistic were true');

# %% [markdown] tags=["caption"]
# Left: the observed fractions and the two curves. The log-log curve fits better. Right: its lead in 4000 repetitions from the
# logistic curve. A lead as large as the observed one occurs in less than 1 of 100.

# %% [markdown]
# So the data speak against the logistic curve, and with the other curve the estimated dose is almost two error bars larger.
# The Fisher information does not tell whether the model is right.
#
# ```{exercise} ★★ Experiment: where to put the beetles
# :label: mle-design
#
# You may choose two log doses, $1.77 - d$ and $1.77 + d$, with 240 beetles each. Predict which of
# $d = 0.02$, $0.06$ and $0.14$ gives the smallest error bar of the dose that kills half, and which that of the slope
# $w_1$. Then compute both from `fisher_information` at the fitted `w`, and explain what you see.
# ```

# %%
def predicted_designs():
    """The best d for the half dose, and the best d for the slope."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def error_bars(d):
    design = np.array([[1.0, -0.03 - d], [1.0, -0.03 + d]])
    C_d = np.linalg.inv(fisher_information(design, np.array([240, 240]), w))
    return np.sqrt(grad @ C_d @ grad), np.sqrt(C_d[1, 1])

def is_smallest(choice):
    bars = {d: error_bars(d) for d in (0.02, 0.06, 0.14)}
    if len(choice) != 2 or not {*choice} <= {*bars}:
        raise ValueError('give two of the numbers 0.02, 0.06 and 0.14')
    if [*choice] != [min(bars, key=lambda d: bars[d][i]) for i in (0, 1)]:
        raise ValueError('another design has a smaller error bar; compute the six')
    return True

grade(lambda: is_smallest(predicted_designs()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} mle-design
# :class: dropdown
# ```
# For the half dose, close to it is best: only there do the counts change much when the curve moves sideways. For the
# slope, $d = 0.06$ is better than $0.02$, because two doses that are close together tell little about a slope. It is
# also better than $0.14$, because there nearly all beetles live or nearly all die, and $g(1 - g)$ is small. Bliss's
# eight doses serve both aims. They also allowed us to see that the curve is wrong, which two doses never show.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_smallest((0.02, 0.06)), lambda: True, [()])
for wrong in (0.02, 0.14), (0.06, 0.06), (0.14, 0.14), (0.02, 0.02):
    assert not grade(lambda: is_smallest(wrong), lambda: True, [()])
for d in (0.02, 0.06, 0.14):
    half, slope = error_bars(d)
    print(f'd = {d:.2f}: half dose ± {half:.4f}, slope ± {slope:.1f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★★ Experiment: beating the bound at one point
# :label: mle-hodges
#
# Hodges estimates the mean $\theta$ of $N$ observations from $\mathcal{N}(\theta, 1)$ by $\bar y$ if
# $|\bar y| > N^{-1/4}$, and by 0 otherwise. For $\bar y$ itself, $N$ times the mean squared error is 1, wherever $\theta$
# is. Predict its limit for Hodges' estimate at $\theta = 0$ as $N$ grows, and as which power of $N$ its largest value
# grows. Simulate both for $N = 100$ and $10^6$. Is maximum likelihood the best estimate?
# ```

# %%
def predicted_risks():
    """The limit at 0, and a where the largest risk grows as N^a: two floats.

    a is one of 0, 0.25, 0.5, 0.75 and 1.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def hodges_risk(N):  # at 81 places from 0 to 2 N^(-1/4)
    theta = np.linspace(0, 2, 81)[:, None] * N**-0.25
    mean = theta + np.random.default_rng(N).normal(size=10_000) / np.sqrt(N)
    estimate = np.where(abs(mean) > N**-0.25, mean, 0)
    return N * ((estimate - theta) ** 2).mean(1)

def are_measured(limit, power):
    risks = [hodges_risk(N) for N in (100, 10**6)]
    grown = np.log(risks[1].max() / risks[0].max()) / np.log(10**4)
    if abs(limit - risks[1][0]) > 0.05:
        raise ValueError('at 0 something else is measured')
    if power not in (0, 0.25, 0.5, 0.75, 1):
        raise ValueError('a is one of 0, 0.25, 0.5, 0.75 and 1')
    if abs(power - grown) > 0.1:
        raise ValueError('the largest risk grows as another power')
    return True

grade(lambda: are_measured(*predicted_risks()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} mle-hodges
# :class: dropdown
# ```
# At $\theta = 0$ the risk tends to 0, far below the bound. But near $N^{-1/4}$ the estimate is often 0, its squared
# error is then about $N^{-1/2}$, and $N$ times this grows like $\sqrt N$. Points that beat the bound in the limit
# have measure zero {cite}`vandervaart1998asymptotic` and are paid for nearby. Maximum likelihood is asymptotically
# best in this sense, and not at each point.

# %% jupyter={"source_hidden": true}
assert grade(lambda: are_measured(0, 0.5), lambda: True, [()])
for wrong in (1, 0.5), (0, 0), (0, 1), (0, 0.25):
    assert not grade(lambda: are_measured(*wrong), lambda: True, [()])
for N in (100, 10**6):
    risk = hodges_risk(N)
    print(
        f'N = {N:7}: risk at 0 {below(risk[0], 0.1)}, largest {risk.max():.0f}'
    )

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
doses = np.stack([np.ones(5), np.arange(-2, 3)], axis=1)  # (5, 2), equally likely
w_dose = np.array([0.4, 0.9])
F_one = fisher_information(doses, np.full(5, 1 / 5), w_dose)

def experiments(N, seed, R=4000):
    rng = np.random.default_rng(seed)
    n = rng.multinomial(N, np.full(5, 1 / 5), size=R)     # (R, 5)
    return n, rng.binomial(n, expit(doses @ w_dose))

def has_limit_law(N, seed, power):
    n, k = experiments(N, seed)
    w = np.zeros((len(k), 2))
    for _ in range(8):
        F_N = fisher_information(doses, n, w)
        w = w + np.linalg.solve(F_N, total_score(doses, n, k, w)[..., None])[..., 0]
    z = N**power * (w - w_dose)
    white = z @ np.linalg.cholesky(F_one)                 # covariance F^-1 becomes the identity
    farthest = np.sqrt(np.log(2e6) / (2 * len(z)))        # exceeded with probability 1e-6 at most
    distance = max(kstest(column, norm.cdf).statistic for column in white.T)
    return bool(has_covariance(np.linalg.inv(F_one), z) and distance < farthest)

holds(
    'ml.mle.properties.normal',
    lambda N, seed: has_limit_law(N, seed, power=1 / 2),
    slip=('multiplies by N in place of its root', lambda N, seed: has_limit_law(N, seed, power=1)),
    N=[2500, 10_000], seed=[0, 1],
)

def score_covariance(N, times):
    n, k = experiments(N, seed=0)
    return has_covariance(times * F_one, total_score(doses, n, k, w_dose) / np.sqrt(N))

verify(
    'the covariance of the scores is the information',
    lambda N: score_covariance(N, 1),
    slip=('takes that of all N for that of one', lambda N: score_covariance(N, N)),
    N=[50, 1000],
)

# %% tags=["checks"]
def bar_is_honest(observations):  # of 4000 repetitions; five standard errors of a standard deviation
    ratio = half_again.std() / (error_bar * np.sqrt(481 / observations))
    return bool(abs(ratio - 1) < 5 / np.sqrt(2 * 4000))

verify(
    'the error bar is the spread of repetitions',
    lambda: bar_is_honest(481),
    slip=('takes the information of a single beetle', lambda: bar_is_honest(1)),
)

curves = {'logistic': logistic, 'log-log': log_log}

def is_stationary(w, curve):
    return bool(abs(total_score(X, beetles, killed, w, curve)).max() < 1e-8)

verify(
    'Fisher scoring ends where the score is zero, for either curve',
    lambda name: is_stationary(fisher_scoring(X, beetles, killed, curves[name]), curves[name]),
    slip=('stops after two steps',
          lambda name: is_stationary(fisher_scoring(X, beetles, killed, curves[name], steps=2), curves[name])),
    name=list(curves),
)
verify(
    'if the logistic curve is true, the rival leads by so much in less than one of 100 repetitions',
    lambda: bool((by_luck >= seen).mean() < 0.01),
    slip=('calls any lead of the rival so rare', lambda: bool((by_luck > 0).mean() < 0.01)),
)

# %% [markdown]
# ## Summary
#
# The maximum-likelihood estimate makes the data as probable as possible. Under the conditions of consistency, such as a true
# and identifiable model with a fixed number of parameters, the estimate approaches the true parameters. In regular models,
# its error is then almost normal with covariance $(N F)^{-1}$, the Cramér–Rao bound. This need not hold if the support
# depends on the parameter, the truth lies on a boundary, or the model is wrong.
#
# **Further reading.** {cite}`murphy2022probabilistic` connects all of this to machine learning.
# {cite}`lehmann1998theory` treats estimation in full, {cite}`vandervaart1998asymptotic` has the sharpest conditions, and
# {cite}`fisher1922mathematical` is the source.
