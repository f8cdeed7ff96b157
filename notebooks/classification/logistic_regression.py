# ---
# jupyter:
#   book:
#     functions:
#       sigmoid: sigmoid(normal(5))
#       probability: probability(normal(5, 3), normal(3))
#       logistic_loss: logistic_loss(normal(5, 3), uniform(5).round(), normal(3))
#       gradient: gradient(normal(5, 3), uniform(5).round(), normal(3))
#       hessian: hessian(normal(5, 3), normal(3))
#       newton: newton(normal(40, 2), uniform(40).round(), 0 * normal(2), 5)
#       fit: fit(normal(40, 2), uniform(40).round(), uniform(2))
#     main: logreg-model
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Logistic regression
#
# In January 1986 the space shuttle *Challenger* was to be launched at 31 °F, just below freezing. On 7 of 23 earlier shuttle
# flights a rubber seal of the boosters had been damaged, among them the 4 coldest, at 53 to 63 °F. How likely is damage at
# 31 °F, and how sure can 23 flights make us of the answer?
#
# - **You need** [maximum likelihood](../probability/maximum_likelihood.ipynb),
#   [gradient descent](../optimization/gradient_descent.ipynb), Newton's method from
#   [stationary points](../optimization/stationary_points.ipynb), and [cross-entropy](cross_entropy.ipynb).
# - **You build** logistic regression by gradient descent and by Newton's method, equal to scikit-learn's, with error bars, a
#   test whether a best fit exists, and forecasts for tumours that are not falsely certain.
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
import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from numpy.linalg import cholesky, eigvalsh, inv, lstsq, matrix_rank, norm, solve
from scipy import stats
from scipy.optimize import linprog, minimize
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nbutils.cases import counts, integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.figures import GREY, panels

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Logistic regression: log-odds, odds and the sigmoid
#
# For each of the 23 flights {cite}`dalal1989risk` we know the temperature and whether a seal was damaged, 1 for yes and 0
# for no:

# %%
fahrenheit = np.array([66, 70, 69, 68, 67, 72, 73, 70, 57, 63, 70, 78, 67,
                       53, 67, 75, 70, 81, 76, 79, 75, 76, 58])
damaged = np.zeros(23)
damaged[[1, 8, 9, 10, 13, 20, 22]] = 1
for low, high in (53, 63), (66, 69), (70, 73), (75, 81):
    here = (low <= fahrenheit) & (fahrenheit <= high)
    print(f'{low} to {high} °F: damage on {damaged[here].sum():.0f}'
          f' of {here.sum()} flights')

# %% [markdown]
# We want a probability $p$ of damage for every temperature. A straight line does not give one, because it leaves the
# interval from 0 to 1:

# %%
line = np.polyfit(fahrenheit, damaged, 1)
for degrees in (31, 81):
    print(f'line at {degrees} °F: {np.polyval(line, degrees):.2f}')

# %% [markdown]
# What could be linear in the temperature? The **odds** $p/(1-p)$ say how many times as likely damage is as no damage. They
# can be any positive number. Their logarithm, the **log-odds** $\log \frac{p}{1-p}$, can be any number at all. So logistic
# regression lets the log-odds be linear in the inputs: they are $\mathbf{x}^\top\mathbf{w}$, where $\mathbf{x}$ holds the
# inputs and $\mathbf{w}$ the weights. The first entry of $\mathbf{x}$ is always 1, so that $w_0$ is the intercept. If we
# exponentiate $\log\frac{p}{1-p} = \mathbf{x}^\top\mathbf{w}$ and solve for $p$, we get the model
#
# ```{math}
# :label: logreg-model
# p(1 \mid \mathbf{x}, \mathbf{w}) = \sigma(\mathbf{x}^\top \mathbf{w}), \qquad \sigma(z) = \frac{1}{1 + e^{-z}} .
# ```
#
# The function $\sigma$ is called the **sigmoid**.

# %%
def sigmoid(z):
    return 1 / (1 + np.exp(-z))

def probability(X, w):  # (N, D), (D,) -> (N,)
    return sigmoid(X @ w)

# %% [markdown]
# We count the temperature in steps of 10 °F from 60 °F, so that $w_0$ is the log-odds at 60 °F. In the next part we shall
# find that $\mathbf{w} = (1.1, -2.3)$ fits best. It says:

# %%
def design(degrees):  # a column of ones, and the temperature
    return np.column_stack([np.ones(len(degrees)), (degrees - 60) / 10])

w = np.array([1.1, -2.3])
X = design(np.array([50, 60, 70, 80]))
for x, p in zip(X, probability(X, w)):
    print(f'{60 + 10 * x[1]:.0f} °F: log-odds {x @ w:4.1f},'
          f' odds {p / (1 - p):6.3f}, probability {p:.3f}')

# %% mystnb={"image": {"alt": "Dots at height 1 for flights with damage, most of them cold, and at height 0 for flights without. A dashed straight line falls from above 1 to below 0. A smooth curve falls from nearly 1 at 50 degrees to nearly 0 at 80 degrees and stays between 0 and 1."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.8))
degrees = np.linspace(40, 90, 201)
ax.plot(degrees, np.polyval(line, degrees), '--', color=GREY, lw=1.2)
ax.plot(degrees, probability(design(degrees), w))
ax.plot(fahrenheit, damaged, 'o', color='C1', ms=5, alpha=0.6)
ax.text(41, 1.17, 'least squares', color=GREY)
ax.text(61.5, 0.72, 'logistic regression', color='C0')
ax.text(53, 1.06, 'damage', color='C1')
ax.text(66, -0.13, 'no damage', color='C1')
ax.set(xlabel='temperature (°F)', ylabel='probability of damage', ylim=(-0.3, 1.4), yticks=[0, 0.5, 1]);

# %% [markdown] tags=["caption"]
# The sigmoid turns linear log-odds into probabilities. It is steepest where $p = \frac12$, and unlike a straight line it
# never leaves the interval from 0 to 1.

# %% [markdown]
# The weight of the temperature has a meaning: 10 °F more multiply the odds by $e^{-2.3} \approx 0.10$, wherever we start. In
# general, if $x_j$ grows by one unit, the odds are multiplied by $e^{w_j}$.
#
# We shall use two properties of the sigmoid. The probability of the label 0 is $1 - \sigma(z) = \sigma(-z)$. And the slope
# is $\sigma'(z) = \sigma(z)\,\sigma(-z)$, at most $\frac14$. If $z$ is below about $-710$, then $e^{-z}$ overflows in float64;
# `scipy.special.expit` is the same function without this problem, and we use it from here on.
#
# Linear log-odds are exact if each class is a Gaussian cloud and the two clouds have the same shape:
#
# ```{prf:theorem} Two Gaussian classes with one covariance
# :label: thm-logreg-gaussian
# Let $y = 1$ with probability $\pi$, and let $\mathbf{x}$ given $y$ be Gaussian with mean $\boldsymbol\mu_y$ and a
# covariance $\boldsymbol\Sigma \succ 0$ that both classes share. Then
# $\Pr(y = 1 \mid \mathbf{x}) = \sigma(\mathbf{v}^\top \mathbf{x} + b)$ with
# $\mathbf{v} = \boldsymbol\Sigma^{-1} (\boldsymbol\mu_1 - \boldsymbol\mu_0)$ and
# $b = -\frac12 (\boldsymbol\mu_1 + \boldsymbol\mu_0)^\top \mathbf{v} + \log \frac{\pi}{1 - \pi}$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# By [Bayes' theorem](../probability/bayes_theorem.ipynb) the odds are
# $\frac{\pi}{1 - \pi} \cdot \frac{p(\mathbf{x} \mid 1)}{p(\mathbf{x} \mid 0)}$. The two densities have the same
# normalizing constant, which cancels, and the logarithm of their ratio is the difference of the exponents,
#
# $$
# \begin{aligned}
# &-\tfrac12 (\mathbf{x} - \boldsymbol\mu_1)^\top \boldsymbol\Sigma^{-1} (\mathbf{x} - \boldsymbol\mu_1) + \tfrac12
# (\mathbf{x} - \boldsymbol\mu_0)^\top \boldsymbol\Sigma^{-1} (\mathbf{x} - \boldsymbol\mu_0) \\ &\quad = (\boldsymbol\mu_1
# - \boldsymbol\mu_0)^\top \boldsymbol\Sigma^{-1} \mathbf{x} - \tfrac12 \big( \boldsymbol\mu_1^\top \boldsymbol\Sigma^{-1}
# \boldsymbol\mu_1 - \boldsymbol\mu_0^\top \boldsymbol\Sigma^{-1} \boldsymbol\mu_0 \big) .
# \end{aligned}
# $$
#
# The terms that are quadratic in $\mathbf{x}$ are the same in both, so they cancel. The bracket is
# $(\boldsymbol\mu_1 + \boldsymbol\mu_0)^\top \boldsymbol\Sigma^{-1} (\boldsymbol\mu_1 - \boldsymbol\mu_0) =
# (\boldsymbol\mu_1 + \boldsymbol\mu_0)^\top \mathbf{v}$.
# ```
#
# ```{exercise} ★★ Pencil: a balanced sample of something rare
# :label: logreg-balanced
# A disease has prevalence $\pi$. To save money, a model is fitted to a sample in which the ill are a share $r$ instead; among
# the ill, and among the healthy, people are picked at random. The intercept of this model is $b$. Derive
# `population_intercept(b, r, pi)`, the intercept that is right for the population, and show that no other weight changes.
# ```

# %%
def population_intercept(b, r, pi):
    """The intercept for the population: a float.

    b is the intercept in the sample; the shares of ill people in the
    sample, r, and in the population, pi, are strictly between 0 and 1.
    population_intercept(0.0, 0.5, 0.2) is -1.386294...
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def intercept_by_bayes(b, r, pi):  # at x = 0, by counting people
    ill, healthy = expit(b) / r, expit(-b) / (1 - r)  # p(x | ill) and p(x | healthy), times one number
    ill, healthy = pi * ill, (1 - pi) * healthy
    return stats.logistic.ppf(ill / (ill + healthy))

cases = dict(b=on(0.0) | scalars(-5, 5), r=on(0.5) | scalars(0.01, 0.99), pi=on(0.5, 0.001) | scalars(0.01, 0.99))
grade(population_intercept, intercept_by_bayes, **cases)

# %% [markdown]
# ```{solution-start} logreg-balanced
# :class: dropdown
# ```
# In the sample and in the population, the log-odds are the logarithm of the ratio of the two densities of $\mathbf{x}$ plus
# the log-odds of the classes, which are $\log \frac{r}{1 - r}$ in the sample and $\log \frac{\pi}{1 - \pi}$ in the
# population. Only this second term differs, and it does not contain $\mathbf{x}$. So we add the difference to the intercept.
# The first wrong answer corrects in the wrong direction, the second takes the sample for balanced whatever $r$ is, and the
# third compares the shares in place of the odds.

# %% jupyter={"source_hidden": true}
def population_intercept_solution(b, r, pi):
    return b + np.log(pi / (1 - pi)) - np.log(r / (1 - r))

def wrong_direction(b, r, pi):
    return b - np.log(pi / (1 - pi)) + np.log(r / (1 - r))

def always_balanced(b, r, pi):
    return b + np.log(pi / (1 - pi))

def by_the_shares(b, r, pi):
    return b + np.log(pi / r)

assert grade(population_intercept_solution, intercept_by_bayes, **cases)
assert not grade(wrong_direction, intercept_by_bayes, **cases)
assert not grade(always_balanced, intercept_by_bayes, **cases)
assert not grade(by_the_shares, intercept_by_bayes, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def is_the_model(X, w, form):
    p = form(X, w)
    return close(p, stats.logistic.cdf(X @ w)) and close(np.log(p) - np.log1p(-p), X @ w)

verify(
    'the log-odds of the probabilities are Xw',
    lambda X, w: is_the_model(X, w, probability),
    slip=('takes exp(z) for the odds and forgets to add 1',
          lambda X, w: is_the_model(X, w, lambda X, w: np.exp(-abs(X @ w) - 1e-9))),
    X=matrices(4, 2, -3, 3), w=vectors(2, -2, 2),
)
verify(
    'the sigmoid undoes the log-odds, and flips with the sign',
    lambda z: close([np.log(sigmoid(z) / sigmoid(-z)), sigmoid(z) + sigmoid(-z), sigmoid(z)], [z, 1, expit(z)]),
    slip=('takes the odds against 1 plus the other chance', lambda z: close(np.log(sigmoid(z) / (1 + sigmoid(-z))), z)),
    z=scalars(),
)

def slope(z, h=1e-5):
    return (sigmoid(z + h) - sigmoid(z - h)) / (2 * h)

verify(
    'its slope is σ(z) σ(-z), at most 1/4',
    lambda z: close(slope(z), sigmoid(z) * sigmoid(-z)) and slope(z) <= 0.25 + 1e-9,
    slip=('takes the sigmoid for its own slope', lambda z: close(slope(z), sigmoid(z))),
    z=scalars(),
)

def odds_multiply(x, w, j, factor):  # one unit more of x_j
    p, q = probability(np.array([x, x + np.eye(3)[j]]), w)
    return close(q / (1 - q) / (p / (1 - p)), factor(w[j]), rtol=1e-5)

verify(
    'one unit more of x_j multiplies the odds by exp(w_j)',
    lambda x, w, j: odds_multiply(x, w, j, np.exp),
    slip=('multiplies them by the weight itself', lambda x, w, j: odds_multiply(x, w, j, lambda w: w)),
    x=vectors(3, -2, 2), w=vectors(3, -2, 2), j=[0, 1, 2],
)
verify(
    'the straight line leaves the interval from 0 to 1 at both ends',
    lambda degrees: not 0 <= np.polyval(line, degrees) <= 1,
    slip=('looks in the middle of the data', lambda degrees: not 0 <= np.polyval(line, (degrees + 3 * 67) / 4) <= 1),
    degrees=[31, 81],
)

def posterior(x, means, Sigma, prior):
    low, high = (stats.multivariate_normal(m, Sigma).pdf(x) for m in means)
    return prior * high / (prior * high + (1 - prior) * low)

# %% tags=["checks"]
def is_logistic(seed, assumed):
    rng = np.random.default_rng(seed)
    means, x, A = rng.normal(size=(2, 2)), rng.normal(size=2), rng.normal(size=(2, 2))
    Sigma, prior = A @ A.T + np.eye(2), rng.uniform(0.05, 0.45)
    v = solve(Sigma, means[1] - means[0])
    b = np.log(assumed(prior) / (1 - assumed(prior))) - means.sum(0) @ v / 2
    return close(sigmoid(b + v @ x), posterior(x, means, Sigma, prior))

verify(
    'two Gaussian clouds of one shape have linear log-odds',
    lambda seed: is_logistic(seed, lambda prior: prior),
    slip=('takes the classes for equally frequent', lambda seed: is_logistic(seed, lambda prior: 0.5)),
    seed=seeds(), tries=40,
)

# %% [markdown]
# ## Maximum likelihood and the logistic loss
#
# Which weights are best? We take those that make the observed labels most probable, as [maximum
# likelihood](../probability/maximum_likelihood.ipynb) asks. If the model says $p_n$ for flight $n$, its label has the
# probability $p_n$ for $y_n = 1$ and $1 - p_n$ for $y_n = 0$. We multiply these over all flights:

# %%
X_f = design(fahrenheit)  # (23, 2)
for name, w in (('no effect of cold', [np.log(7 / 16), 0]),
                ('w = (1.1, -2.3)', [1.1, -2.3]),
                ('w = (1.1, -6)', [1.1, -6])):
    p = probability(X_f, np.array(w))
    print(f'{name:18} {np.prod(np.where(damaged == 1, p, 1 - p)):.2g}')

# %% [markdown]
# The second model makes the labels about fifty times as probable as the first, which announces $\frac7{23}$ at every
# temperature. A slope of $-6$ is too steep: it is too sure that no warm flight has damage.
#
# ### From the likelihood to the loss
#
# The model is about the labels *given* the inputs. Its one assumption about the inputs is that they do not depend on the
# weights:
#
# ```{math}
# :label: ml.logreg.mle.assumption
# p(\mathbf{X} \mid \mathbf{w}) = p(\mathbf{X}) .
# ```
#
# Then the probability of inputs *and* labels is
#
# ```{math}
# :label: ml.logreg.mle.joint
# \begin{aligned}
# p(\mathbf{y}, \mathbf{X} \mid \mathbf{w}) &= p(\mathbf{X} \mid \mathbf{w}) \, p(\mathbf{y} \mid \mathbf{X}, \mathbf{w}) \\
# &= p(\mathbf{X}) \, p(\mathbf{y} \mid \mathbf{X}, \mathbf{w})
# \end{aligned}
# ```
#
# The factor $p(\mathbf{X})$ is the same for all weights, so it does not move the maximum. For $N$ independent pairs
# $(\mathbf{x}_n, y_n)$ the likelihood is therefore proportional to the probability of the labels alone:
#
# ```{math}
# :label: ml.logreg.mle.product
# \mathcal{L}(\mathbf{w}) = \prod_{n=1}^N p(\mathbf{x}_n) \, p(y_n \mid \mathbf{x}_n, \mathbf{w}) \propto \prod_{n=1}^N p(y_n \mid \mathbf{x}_n, \mathbf{w}) .
# ```
#
# We can write the two cases $y_n = 1$ and $y_n = 0$ as one formula, because an exponent 0 turns a factor into 1:
#
# ```{math}
# :label: ml.logreg.mle.bernoulli
# \prod_{n=1}^N p(y_n \mid \mathbf{x}_n, \mathbf{w})
# = \prod_{n=1}^N p(0 \mid \mathbf{x}_n, \mathbf{w})^{1 - y_n} \, p(1 \mid \mathbf{x}_n, \mathbf{w})^{y_n}
# ```
#
# With the sigmoid for the probabilities, this is
#
# ```{math}
# :label: ml.logreg.mle.sigmoid-lik
# \mathcal{L}(\mathbf{w}) \propto \prod_{n=1}^N \sigma(\mathbf{x}_n^\top \mathbf{w})^{y_n} \big[ 1 - \sigma(\mathbf{x}_n^\top \mathbf{w}) \big]^{1 - y_n} .
# ```
#
# A product of many probabilities underflows, so we minimize minus its logarithm:
#
# ```{math}
# :label: ml.logreg.nll.nll
# -\log p(\mathbf{y} \mid \mathbf{X}, \mathbf{w}) = -\log \Big( \prod_{n=1}^N \sigma(\mathbf{x}_n^\top \mathbf{w})^{y_n}
# \big[ 1 - \sigma(\mathbf{x}_n^\top \mathbf{w}) \big]^{1 - y_n} \Big)
# ```
#
# The logarithm turns the product into a sum. With $\log \sigma(z) = z - \log(1 + e^z)$ and
# $\log(1 - \sigma(z)) = -\log(1 + e^z)$ we get
#
# ```{math}
# :label: ml.logreg.nll.simplified
# -\log p(\mathbf{y} \mid \mathbf{X}, \mathbf{w}) = \sum_{n=1}^N \Big[ -y_n \mathbf{x}_n^\top \mathbf{w} + \log\big( 1 +
# e^{\mathbf{x}_n^\top \mathbf{w}} \big) \Big]
# ```
#
# From here on $L(\mathbf{w})$ is this sum divided by $N$, the mean **logistic loss**. It is the
# [cross-entropy](cross_entropy.ipynb) of two labels. No term is negative, which is a quick test of the signs. NumPy's
# `logaddexp(0, z)` is $\log(1 + e^z)$ without overflow.

# %%
def logistic_loss(X, y, w):  # (N, D), (N,), (..., D) -> (...)
    z = w @ X.T
    return (np.logaddexp(0, z) - y * z).mean(-1)

# %%
w = np.array([1.1, -2.3])
print(f'ours:  {logistic_loss(X_f, damaged, w):.4f}')
by_torch = F.binary_cross_entropy_with_logits(
    torch.tensor(X_f @ w), torch.tensor(damaged))
print(f'torch: {by_torch:.4f}')

# %% mystnb={"image": {"alt": "Loss of one example against its score. For label 1 the curve falls from a straight line on the left to zero on the right; for label 0 it is the mirror image. They cross at score zero."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5, 2.6))
scores = np.linspace(-5, 5, 200)
one = np.array([[1.0]])
for label, colour, side, across in (1, 'C0', 'left', -3.6), (0, 'C1', 'right', 3.6):
    ax.plot(scores, logistic_loss(one, label, scores[:, None]), color=colour)
    ax.text(across, 4, f'y = {label}', color=colour, ha=side)
ax.set(xlabel='score z = xᵀw', ylabel='loss of one example');

# %% [markdown] tags=["caption"]
# Far from zero, a score on the right side costs almost nothing, and one on the wrong side about its distance from zero.

# %% [markdown]
# ### Gradient, Hessian and convexity
#
# The derivative of $\log(1 + e^z)$ is $\sigma(z)$, so by the chain rule
#
# ```{math}
# :label: logreg-gradient
# \nabla L(\mathbf{w}) = \frac1N \sum_{n=1}^N \big( \sigma(\mathbf{x}_n^\top \mathbf{w}) - y_n \big) \mathbf{x}_n = \frac1N \mathbf{X}^\top (\mathbf{p} - \mathbf{y}) ,
# \qquad p_n = \sigma(\mathbf{x}_n^\top \mathbf{w}) .
# ```
#
# In words: for each example, forecast minus label, times the input. The second derivative, with
# $\sigma' = \sigma(1 - \sigma)$, is
#
# ```{math}
# :label: ml.logreg.newton.hessian-sum
# \nabla^2 L(\mathbf{w}) = \frac1N \sum_{n=1}^N \sigma(\mathbf{x}_n^\top \mathbf{w}) \big( 1 - \sigma(\mathbf{x}_n^\top \mathbf{w}) \big) \, \mathbf{x}_n \mathbf{x}_n^\top
# ```
#
# As a product of matrices, this is
#
# ```{math}
# :label: ml.logreg.newton.hessian-matrix
# \begin{gathered}
# \nabla^2 L(\mathbf{w}) = \frac1N \mathbf{X}^\top \mathbf{S} \mathbf{X}, \qquad
# \mathbf{S} = \operatorname{diag}(s_1, \dots, s_N), \\
# s_n = \sigma(\mathbf{x}_n^\top \mathbf{w}) \big( 1 - \sigma(\mathbf{x}_n^\top \mathbf{w}) \big)
# \end{gathered}
# ```

# %%
def gradient(X, y, w):
    return X.T @ (expit(X @ w) - y) / len(y)

def hessian(X, w):
    s = expit(X @ w) * expit(-X @ w)  # (N,)
    return X.T * s @ X / len(X)

# %% [markdown]
# All $s_n$ are positive. It follows:
#
# ````{prf:theorem} The logistic loss is convex
# :label: thm-logreg-convex
# The Hessian of the logistic loss is positive semidefinite everywhere, so that $L$ is convex. It is *strictly*
# convex if and only if the columns of $\mathbf{X}$ are linearly independent, and then has at most one minimum.
# ````
#
# ````{prf:proof}
# :class: dropdown
# For every direction $\mathbf{v}$, by {eq}`ml.logreg.newton.hessian-sum`,
#
# ```{math}
# :label: ml.logreg.convexity.psd
# \mathbf{v}^\top \nabla^2 L(\mathbf{w}) \, \mathbf{v} = \frac1N \sum_{n=1}^N \sigma(\mathbf{x}_n^\top \mathbf{w}) \big( 1 - \sigma(\mathbf{x}_n^\top \mathbf{w}) \big) (\mathbf{x}_n^\top \mathbf{v})^2
# ```
#
# has no negative term, since $0 < \sigma < 1$. That is to say,
#
# ```{math}
# :label: ml.logreg.convexity.geq
# \nabla^2 L(\mathbf{w}) \succeq 0 .
# ```
#
# On the segment from $\mathbf{w}$ to $\mathbf{u}$, $g(t) = L(\mathbf{w} + t (\mathbf{u} - \mathbf{w}))$ has
# $g'' = (\mathbf{u} - \mathbf{w})^\top \nabla^2 L \, (\mathbf{u} - \mathbf{w}) \ge 0$, so $g'$ increases and $g$
# stays below its chord:
#
# ```{math}
# :label: ml.logreg.convexity.convex
# \begin{aligned}
# &L\big( (1 - t) \mathbf{w} + t \mathbf{u} \big) \\
# &\le (1 - t) L(\mathbf{w}) + t L(\mathbf{u}) \quad (0 \le t \le 1) .
# \end{aligned}
# ```
#
# The weights $\sigma (1 - \sigma)$ are positive, so {eq}`ml.logreg.convexity.psd` is zero only if
# $\mathbf{X} \mathbf{v} = \mathbf{0}$. If that forces $\mathbf{v} = \mathbf{0}$, then $g'' > 0$ on every segment, and
# $L$ is strictly convex; if not, $L$ is constant along $\mathbf{v}$.
# ````
#
# So [gradient descent](../optimization/gradient_descent.ipynb) cannot end in a second, worse minimum. (The squared error of
# the probabilities, $(\sigma(z) - y)^2$, is not convex.) Because $s_n \le \frac14$, no curvature of $L$ exceeds
# $M = \lambda_{\max}(\mathbf{X}^\top \mathbf{X}) / 4N$, so a step of size $1/M$ never leads up.

# %%
def descend(X, y, w, steps):
    eta = 4 * len(y) / eigvalsh(X.T @ X)[-1]
    path = [w]
    for _ in range(steps):
        path.append(path[-1] - eta * gradient(X, y, path[-1]))
    return np.array(path)  # (steps + 1, D)

# %%
path_f = descend(X_f, damaged, np.zeros(2), 1500)
model = LogisticRegression(C=np.inf, solver='newton-cholesky', tol=1e-12)
model.fit(X_f[:, 1:], damaged)
w_f = np.append(model.intercept_, model.coef_)
for t in (1, 10, 100, 500):
    print(f'after {t:3} steps of descent: {path_f[t].round(4)}')
print(f'scikit-learn:               {w_f.round(4)}')

# %% [markdown]
# `C=np.inf` turns off the penalty that `LogisticRegression` adds by default. At the minimum the gradient is zero, so $\mathbf{X}^\top\mathbf{p} = \mathbf{X}^\top\mathbf{y}$. Since one column of $\mathbf{X}$
# consists of ones, the fitted probabilities sum to the number of ones in the data:

# %%
print(f'sum of the fitted probabilities: {expit(X_f @ w_f).sum():.4f}')

# %% [markdown]
# ```{exercise} ★ Program: counts instead of cases
# :label: logreg-grouped
# Often many examples share one input. At the input $\mathbf{x}_j$ there were $n_j$ trials, of which $k_j$ succeeded. Write
# `grouped_gradient(X, n, k, w)`, the gradient of the *sum* {eq}`ml.logreg.nll.simplified` over all trials, in one line,
# without a loop over the trials.
# ```

# %%
def grouped_gradient(X, n, k, w):
    """The gradient of the sum of the losses of all trials: an array (D,).

    X (J, D) and w (D,) are floats, n and k (J,) integers, 0 <= k <= n.
    For X = [[1.0]], n = [4], k = [1], w = [0.0] it is [1.0].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def gradient_unrolled(X, n, k, w):  # one row for each trial, by autograd
    X_all, w = torch.tensor(np.repeat(X, n, axis=0)), torch.tensor(w, requires_grad=True)
    y_all = torch.tensor([1.0 * (i < success) for trials, success in zip(n, k) for i in range(trials)])
    F.binary_cross_entropy_with_logits(X_all @ w, y_all, reduction='sum').backward()
    return w.grad

cases = dict(
    X=matrices((1, 4), 2, -3, 3, edges=True), n=lambda X: counts(len(X), 0, 6),
    k=lambda n: counts(len(n), 0, 6).map(lambda k: np.minimum(k, n)), w=vectors(2, -3, 3, edges=True))
grade(grouped_gradient, gradient_unrolled, lines=2, **cases)

# %% [markdown]
# ```{solution-start} logreg-grouped
# :class: dropdown
# ```
# The $n_j$ terms of a group have the same $\mathbf{x}_j$ and $p_j$, and their labels sum to $k_j$. So the group contributes
# $(n_j p_j - k_j) \mathbf{x}_j$. The first wrong answer fits the fractions $k_j / n_j$, so that a group of one has the same
# say as a group of six (and one of zero gives nan). The second forgets how many trials there were. The third passes through
# the trials one by one, in more lines than are allowed.

# %% jupyter={"source_hidden": true}
def grouped_gradient_solution(X, n, k, w):
    return X.T @ (n * expit(X @ w) - k)

def of_fractions(X, n, k, w):
    return X.T @ (expit(X @ w) - k / np.maximum(n, 1))

def one_trial_each(X, n, k, w):
    return X.T @ (expit(X @ w) - k)

def trial_by_trial(X, n, k, w):
    total = np.zeros(len(w))
    for x, trials, success in zip(X, n, k):
        for i in range(trials):
            total = total + (expit(x @ w) - (i < success)) * x
    return total

assert grade(grouped_gradient_solution, gradient_unrolled, lines=2, **cases)
assert not grade(of_fractions, gradient_unrolled, lines=2, **cases)
assert not grade(one_trial_each, gradient_unrolled, lines=2, **cases)
assert not grade(trial_by_trial, gradient_unrolled, lines=2, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
trial = np.linspace(-3, 3, 121)  # weights, D = 1

def same_maximum(seed, centre):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=30)
    y = rng.random(30) < expit(x)
    labels = stats.bernoulli.logpmf(y, expit(trial[:, None] * x)).sum(1)
    inputs = stats.norm.logpdf(x, centre(trial)[:, None]).sum(1)
    return labels.argmax() == (labels + inputs).argmax()

verify(
    'inputs that do not depend on the weights leave the maximum where it is',
    lambda seed: same_maximum(seed, lambda w: 0 * w),
    slip=('lets the inputs depend on the weight', lambda seed: same_maximum(seed, lambda w: w)),
    seed=seeds(), tries=30,
)

def frequencies_obey(law, seed, N=20_000):
    rng = np.random.default_rng(seed)
    p_x, w = rng.dirichlet([4, 4, 4]), rng.normal(size=2) / 2
    p_1 = expit(w[0] + w[1] * np.arange(3))
    x = rng.choice(3, p=p_x, size=N)
    y = rng.random(N) < p_1[x]
    share = np.bincount(3 * y + x, minlength=6).reshape(2, 3) / N
    p = law(p_x, np.stack([1 - p_1, p_1]))  # (2, 3): label, input
    return (abs(share - p) <= 5 * np.sqrt(p * (1 - p) / N)).all()

holds(
    'ml.logreg.mle.joint', lambda seed: frequencies_obey(lambda p_x, given: p_x * given, seed),
    slip=('takes the conditional probability for the joint one',
          lambda seed: frequencies_obey(lambda p_x, given: given, seed)),
    seed=seeds(), tries=40,
)

def log_quotient(w, x, y):
    given = stats.bernoulli.logpmf(y, expit(w * x)).sum()
    pairs = [stats.norm.pdf(u) * expit(w * u if v else -w * u) for u, v in zip(x, y, strict=True)]
    return np.log(np.prod(pairs)) - given

answers = vectors(5, 0, 1).map(np.round)
holds(
    'ml.logreg.mle.product',
    lambda w, v, x, y: close(log_quotient(w, x, y), log_quotient(v, x, y)),
    slip=('takes proportional for equal', lambda w, v, x, y: close(log_quotient(w, x, y), 0)),
    w=scalars(-2, 2), v=scalars(-2, 2), x=vectors(5, -2, 2), y=answers, tries=50,
)

def switched(p, y):
    return np.prod((1 - p) ** (1 - y) * p**y)

# %% tags=["checks"]
def by_log_loss(p, y):
    return np.exp(-log_loss(y, p, normalize=False, labels=[0, 1]))

holds(
    'ml.logreg.mle.bernoulli',
    lambda p, y: close(switched(p, y), stats.bernoulli.pmf(y, p).prod()),
    slip=('puts the density of the input in the switch',
          lambda p, y: close(switched(stats.norm.pdf(p), y), stats.bernoulli.pmf(y, p).prod())),
    p=vectors(5, 0, 1), y=answers, tries=50,
)

# %% tags=["checks"]
holds(
    'ml.logreg.mle.sigmoid-lik',
    lambda z, y: close(switched(sigmoid(z), y), by_log_loss(expit(z), y)),
    slip=('exchanges the exponents', lambda z, y: close(switched(sigmoid(z), 1 - y), by_log_loss(expit(z), y))),
    z=vectors(5, -3, 3), y=answers, tries=50,
)

# %% tags=["checks"]
def problem(seed, N=12, D=3):  # X, y, w; a column of ones in front
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(N, D)), rng.normal(size=D)
    X[:, 0] = 1
    y = (rng.random(N) < expit(X @ w)) * 1.0
    return X, y, w + rng.normal(size=D)

def torch_loss(X, y, w):
    return F.binary_cross_entropy_with_logits(torch.as_tensor(X) @ torch.as_tensor(w), torch.as_tensor(y))

def by_switches(X, y, w):
    p = expit(X @ w)
    return -np.log(np.prod(p**y * (1 - p) ** (1 - y))) / len(y)

def labels_exchanged(X, y, w):
    return X, 1 - y, w

holds(
    'ml.logreg.nll.nll',
    lambda seed: close(by_switches(*problem(seed)), torch_loss(*problem(seed))),
    slip=('exchanges the labels',
          lambda seed: close(by_switches(*labels_exchanged(*problem(seed))), torch_loss(*problem(seed)))),
    seed=seeds(), tries=30,
)
holds(
    'ml.logreg.nll.simplified',
    lambda seed: (close(logistic_loss(*problem(seed)), torch_loss(*problem(seed)))
                  and logistic_loss(*problem(seed)) > 0),
    slip=('has a minus before the sum as well',
          lambda seed: close(-logistic_loss(*problem(seed)), torch_loss(*problem(seed)))),
    seed=seeds(), tries=30,
)

def autograd(transform, X, y, w):
    return transform(lambda w: torch_loss(X, y, w))(torch.tensor(w))

def is_gradient(seed, form):
    return close(form(*problem(seed)), autograd(torch.func.grad, *problem(seed)))

def is_hessian(seed, form):
    return close(form(*problem(seed)), autograd(torch.func.hessian, *problem(seed)))

def hessian_sum(X, y, w, factor):
    p = expit(X @ w)
    return sum(q * np.outer(x, x) for q, x in zip(factor(p), X, strict=True)) / len(X)

verify(
    'the gradient is X^T (p - y) / N', lambda seed: is_gradient(seed, gradient),
    slip=('forgets the sigmoid', lambda seed: is_gradient(seed, lambda X, y, w: X.T @ (X @ w - y) / len(y))),
    seed=seeds(), tries=15,
)

# %% tags=["checks"]
holds(
    'ml.logreg.newton.hessian-sum',
    lambda seed: is_hessian(seed, lambda *c: hessian_sum(*c, lambda p: p * (1 - p))),
    slip=('takes p for p(1 − p)', lambda seed: is_hessian(seed, lambda *c: hessian_sum(*c, lambda p: p))),
    seed=seeds(), tries=12,
)
holds(
    'ml.logreg.newton.hessian-matrix',
    lambda seed: is_hessian(seed, lambda X, y, w: hessian(X, w)),
    slip=('forgets the weights S', lambda seed: is_hessian(seed, lambda X, y, w: X.T @ X / len(X))),
    seed=seeds(), tries=12,
)

# %% tags=["checks"]
def brier(X, y, w):  # squared error of the probabilities
    return ((expit(X @ w) - y) ** 2).mean()

def brier_hessian(X, y, w):
    squares = lambda w: F.mse_loss(torch.sigmoid(torch.tensor(X) @ w), torch.tensor(y))
    return torch.func.hessian(squares)(torch.tensor(w)).numpy()

def quadratic_form(seed, power):  # with a Hessian by autograd
    X, y, w = problem(seed)
    v, p = np.array([1.0, -2, 0.5]), expit(X @ w)
    H = autograd(torch.func.hessian, X, y, w).numpy()
    form = (p * (1 - p) * (X @ v) ** power).mean()
    return close(v @ H @ v, form) and form >= 0

def below_chord(loss, seed, t):
    X, y, w = problem(seed)
    u = -w
    chord = (1 - t) * loss(X, y, w) + t * loss(X, y, u)
    return loss(X, y, (1 - t) * w + t * u) <= chord + 1e-12

holds(
    'ml.logreg.convexity.psd',
    lambda seed: quadratic_form(seed, 2),
    slip=('loses the square', lambda seed: quadratic_form(seed, 1)),
    seed=seeds(), tries=30,
)
holds(
    'ml.logreg.convexity.geq',
    lambda seed: eigvalsh(hessian(problem(seed)[0], problem(seed)[2]))[0] >= -1e-12,
    slip=('takes the squared error of the probabilities', lambda seed: eigvalsh(brier_hessian(*problem(seed)))[0] >= -1e-12),
    seed=seeds(), tries=60,
)
holds(
    'ml.logreg.convexity.convex',
    lambda seed, t: below_chord(logistic_loss, seed, t),
    slip=('takes the squared error of the probabilities', lambda seed, t: below_chord(brier, seed, t)),
    seed=seeds(), t=scalars(0, 1), tries=100,
)

def never_up(seed, share):
    X, y, w = problem(seed)
    step = descend(X, y, w, 1)[1] - w
    return logistic_loss(X, y, w + share * step) <= logistic_loss(X, y, w) + 1e-12

verify(
    'a step of 1/M never leads up',
    lambda seed: never_up(seed, 1),
    slip=('takes ten times this step', lambda seed: never_up(seed, 10)), seed=seeds(), tries=100,
)

# %% tags=["checks"]
verify(
    "on the flights, descent arrives at scikit-learn's weights",
    lambda t: close(path_f[t], w_f),
    slip=('stops after 100 steps', lambda t: close(path_f[t // 15], w_f)), t=[1500],
)

def likelihood(w):
    p = probability(X_f, np.array(w))
    return np.prod(np.where(damaged == 1, p, 1 - p))

# %% tags=["checks"]
verify(
    'the labels are about fifty times as probable with w = (1.1, -2.3) as with one share for all flights',
    lambda other: 45 < likelihood([1.1, -2.3]) / likelihood(other) < 60 and likelihood(other) > likelihood([1.1, -6]) / 60,
    slip=('compares with the slope of the other sign', lambda other: 45 < likelihood([1.1, 2.3]) / likelihood(other) < 60),
    other=[[np.log(7 / 16), 0]],
)
verify(
    'the fitted probabilities sum to the number of ones',
    lambda w: close(expit(X_f @ w).sum(), damaged.sum()),
    slip=('takes other weights', lambda w: close(expit(X_f @ (w + 0.1)).sum(), damaged.sum())), w=[w_f],
)

# %% [markdown]
# ## Newton's method, iteratively reweighted least squares, and error bars
#
# [Newton's
# method](../optimization/stationary_points.ipynb) uses the curvature as well: at the current weights $\mathbf{w}^{(t)}$ it
# replaces the loss by the quadratic function with the same value, gradient and Hessian there, the right side of
#
# ```{math}
# :label: ml.logreg.newton.taylor
# \begin{aligned}
# L(\mathbf{w}) \approx {} & L(\mathbf{w}^{(t)}) + \nabla L(\mathbf{w}^{(t)})^\top (\mathbf{w} - \mathbf{w}^{(t)}) \\
# & + \tfrac12 (\mathbf{w} - \mathbf{w}^{(t)})^\top \, \nabla^2 L(\mathbf{w}^{(t)}) \, (\mathbf{w} - \mathbf{w}^{(t)})
# \end{aligned}
# ```
#
# We call this quadratic function $Q$. Its gradient is
# $\nabla L(\mathbf{w}^{(t)}) + \nabla^2 L(\mathbf{w}^{(t)}) \, (\mathbf{w} - \mathbf{w}^{(t)})$. Newton's method
# goes where it is zero, to the minimum of $Q$:
#
# ```{math}
# :label: ml.logreg.newton.idea
# \operatorname*{arg\,min}_{\mathbf{w}} Q(\mathbf{w}) = \mathbf{w}^{(t)} - \nabla^2 L(\mathbf{w}^{(t)})^{-1} \, \nabla L(\mathbf{w}^{(t)}) .
# ```

# %%
def newton(X, y, w, steps):
    path = [w]
    for _ in range(steps):
        w = w - solve(hessian(X, w), gradient(X, y, w))
        path.append(w)
    return np.array(path)  # (steps + 1, D)

# %%
path_n = newton(X_f, damaged, np.zeros(2), 7)
for t in range(1, 6):
    print(f'step {t}: w = ({path_n[t][0]:.6f}, {path_n[t][1]:.6f})')

# %% mystnb={"image": {"alt": "Left: level lines of the loss of the flights. The path of descent bends along the valley in many small steps, that of Newton goes almost straight to the bottom. Right: the distance from the minimum against the step on logarithmic axes; Newton's falls ever more steeply within six steps, that of descent takes hundreds."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
w0, w1 = np.meshgrid(np.linspace(-1.5, 3, 121), np.linspace(-4, 1, 121))
losses = logistic_loss(X_f, damaged, np.stack([w0, w1], -1))  # (121, 121)
left.contour(w0, w1, losses, losses.min() + 0.004 * 2.0 ** np.arange(9), colors=GREY, linewidths=0.6)
for name, path, colour in (('descent', path_f, 'C0'), ('Newton', path_n, 'C1')):
    left.plot(*path.T, '.-', color=colour, lw=1)
    right.loglog(np.arange(len(path)) + 1, np.maximum(norm(path - w_f, axis=1), 1e-12), color=colour)
left.set(xlabel='intercept', ylabel='slope per 10 °F')
right.text(7, 1e-6, 'Newton', color='C1')
right.text(300, 1e-3, 'descent', color='C0')
right.set(xlabel='step + 1', title='distance from the minimum', ylim=(1e-10, 10));

# %% [markdown] tags=["caption"]
# Newton's method reaches the minimum in six steps. Gradient descent follows the narrow valley for hundreds.

# %% [markdown]
# Near the minimum $\mathbf{w}^*$, each step has about twice as many correct digits as the one before, or more. The error is
# [squared](../optimization/stationary_points.ipynb), up to a constant $c$:
#
# ```{math}
# :label: ml.logreg.newton.second-order-info
# \|\mathbf{w}^{(t+1)} - \mathbf{w}^*\| \approx c \, \|\mathbf{w}^{(t)} - \mathbf{w}^*\|^2 .
# ```
#
# For the logistic loss a Newton step is a [least-squares problem](../regression/linear_regression.ipynb). We insert the
# gradient and the Hessian; the factors $\frac1N$ cancel:
#
# $$
# \begin{aligned}
# \mathbf{w}_{\text{new}} &= \mathbf{w} + (\mathbf{X}^\top \mathbf{S} \mathbf{X})^{-1} \mathbf{X}^\top (\mathbf{y} - \mathbf{p}) \\
# &= (\mathbf{X}^\top \mathbf{S} \mathbf{X})^{-1} \mathbf{X}^\top \mathbf{S} \, \boldsymbol\zeta ,
# \qquad \boldsymbol\zeta = \mathbf{X}\mathbf{w} + \mathbf{S}^{-1} (\mathbf{y} - \mathbf{p}) .
# \end{aligned}
# $$
#
# This is the least-squares fit to the targets $\zeta_n$ in which example $n$ has the weight $s_n$.
# The weights change at each step, hence the name **iteratively reweighted least squares** (IRLS).
#
# ### Damping: when a full step is too long
#
# Far from the minimum the loss is nearly straight, so the minimum of $Q$ can lie far beyond that of $L$. Here are five
# examples with a single weight and no intercept. From 2.6 Newton's method arrives, from 4.2 it does not:

# %%
x_5 = np.array([[-2.0], [-1], [0.9], [1], [2]])
y_5 = np.array([0.0, 0, 0, 1, 1])
for start, steps in (2.6, 6), (4.2, 2):
    path = newton(x_5, y_5, np.array([start]), steps)[:, 0]
    print(f'from {start}:', *(f'{w:.3g}' for w in path[1:]))

# %% [markdown]
# The remedy is to shorten the step by a factor $\gamma_t$:
#
# ```{math}
# :label: ml.logreg.newton.is-gd
# \mathbf{w}^{(t+1)} = \mathbf{w}^{(t)} - \gamma_t \, \nabla^2 L(\mathbf{w}^{(t)})^{-1} \, \nabla L(\mathbf{w}^{(t)}), \qquad \gamma_t > 0 .
# ```
#
# (This is gradient descent on $\mathbf{v} = \mathbf{B}^\top\mathbf{w}$, where $\mathbf{B}\mathbf{B}^\top$ is the Hessian.) We
# halve $\gamma_t$ until the loss falls by at least a ten-thousandth of what the slope promises. If there is exactly one
# minimum, this leads to it from every start, rounding apart {cite}`boyd2004convex`. We also allow a penalty $\frac12 \sum_j
# \lambda_j w_j^2$, for later use:

# %%
def fit(X, y, penalty, tol=1e-9, most=100):  # penalty: the λ_j, (D,)
    def total(w):
        return logistic_loss(X, y, w) + penalty @ w**2 / 2

    w = 0 * X[0]
    for _ in range(most):
        g = gradient(X, y, w) + penalty * w
        if norm(g) < tol:
            break
        step = -solve(hessian(X, w) + np.diag(penalty), g)
        gamma = 1.0
        enough = total(w) + 1e-14  # rounding
        while total(w + gamma * step) > enough + 1e-4 * gamma * (g @ step):
            gamma = gamma / 2
        w = w + gamma * step
    return w

# %% [markdown]
# ### Standard errors, and the forecast for 31 °F
#
# How far may $\hat{\mathbf{w}}$ be from the truth? By
# [asymptotic normality](../probability/maximum_likelihood.ipynb), the covariance of $\hat{\mathbf{w}}$ is about the inverse
# of the Fisher information. This is the Hessian of the *sum* of the losses, which Newton's method has already computed:
#
# ```{math}
# :label: logreg-covariance
# \operatorname{Cov}(\hat{\mathbf{w}}) \approx \big( \mathbf{X}^\top \mathbf{S} \, \mathbf{X} \big)^{-1} .
# ```
#
# The square roots of its diagonal are the **standard errors** of the weights. If $\mathbf{C}$ is this covariance, the
# log-odds $\mathbf{x}^\top\hat{\mathbf{w}}$ of a new input have the variance $\mathbf{x}^\top\mathbf{C}\mathbf{x}$. The
# sigmoid turns the interval of 1.96 standard errors to each side into one for the probability.

# %%
def covariance(X, w):
    return inv(hessian(X, w)) / len(X)

C = covariance(X_f, w_f)
print(f'slope per 10 °F: {w_f[1]:.2f} ± {C[1, 1]**0.5:.2f}')
for degrees in (65, 53, 31):
    x = design(np.array([degrees]))[0]
    z, bar = x @ w_f, (x @ C @ x)**0.5
    print(f'{degrees} °F: log-odds {z:5.2f} ± {bar:.2f}, probability'
          f' {expit(z):.2f}, between {expit(z - 1.96 * bar):.2f}'
          f' and {expit(z + 1.96 * bar):.2f}')

# %% [markdown]
# The slope is negative by more than two standard errors, so the 23 flights do say that cold is dangerous. For 31 °F the
# estimate is nearly 1, but the interval begins near one half. And it assumes that the log-odds stay linear down to 31 °F,
# 22 degrees below the coldest flight, which no flight has tested. An error bar measures the noise within a model, not
# whether the model is right.
#
# ````{admonition} The same method for other labels: generalized linear models
# :class: dropdown
# Coins, counts and Gaussian numbers of variance 1 all have a law of the form
#
# ```{math}
# :label: logreg-family
# p(y \mid \eta) = h(y) \, e^{\eta y - A(\eta)}, \qquad e^{A(\eta)} = \int h(y) \, e^{\eta y} \, dy ,
# ```
#
# with a sum instead of the integral for coins and counts. This is an *exponential family* with the *natural parameter* $\eta$:
#
# | law | $\eta$ | $A(\eta)$ | mean $A'$ | variance $A''$ |
# |---|---|---|---|---|
# | Bernoulli | $\log \frac{p}{1 - p}$ | $\log(1 + e^\eta)$ | $\sigma(\eta)$ | $\sigma(\eta) \sigma(-\eta)$ |
# | Poisson | $\log \mu$ | $e^\eta$ | $e^\eta$ | $e^\eta$ |
# | Gaussian, variance 1 | $\mu$ | $\frac12 \eta^2$ | $\eta$ | $1$ |
#
# With $\eta_n = \mathbf{x}_n^\top\mathbf{w}$ {cite}`nelder1972generalized`, the loss, its gradient and its Hessian are
#
# $$
# \begin{aligned}
# L(\mathbf{w}) &= \frac1N \sum_{n=1}^N \big[ A(\mathbf{x}_n^\top \mathbf{w}) - y_n \mathbf{x}_n^\top \mathbf{w} \big] , \\
# \nabla L &= \tfrac1N \mathbf{X}^\top (\boldsymbol\mu - \mathbf{y}), \qquad
# \nabla^2 L = \tfrac1N \mathbf{X}^\top \operatorname{diag}(A''(\eta_n)) \, \mathbf{X} .
# \end{aligned}
# $$
#
# So everything in this part carries over if $\sigma$ is replaced by $A'$, and $s_n$ by $A''(\eta_n)$. For the Gaussian law
# it is least squares, and for counts *Poisson regression*, scikit-learn's `PoissonRegressor`.
# ````
#
# ```{exercise} ★★ Program: Poisson regression, counts per hour
# :label: logreg-exposure
# A count $k_n$ was observed during $h_n$ hours. It has a Poisson law with the mean $h_n e^{\mathbf{x}_n^\top \mathbf{w}}$.
# Write `poisson_fit(X, k, h)`, the most likely weights, by Newton's method.
# ```

# %%
def poisson_fit(X, k, h):
    """The most likely weights: an array (D,).

    X (N, D) has independent columns, the first of ones; the counts k (N,)
    are at least 1, the hours h (N,) between 0.5 and 20.
    For X = [[1.0], [1.0]], k = [2, 4], h = [1.0, 2.0] it is [log 2].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_sklearn_with_weights(X, k, h):
    model = PoissonRegressor(alpha=0, solver='newton-cholesky', tol=1e-12, max_iter=500)
    model.fit(X[:, 1:], k / h, sample_weight=h)
    return np.append(model.intercept_, model.coef_)

def inputs(rows):  # independent columns, the first of ones
    return np.column_stack([np.ones(len(rows)), rows])

cases = dict(
    X=matrices((4, 9), 1, -2, 2).filter(lambda x: np.ptp(x) > 1).map(inputs), k=lambda X: counts(len(X), 1, 30),
    h=lambda X: vectors(len(X), 0.5, 20, edges=True))
grade(poisson_fit, by_sklearn_with_weights, tries=30, rtol=1e-5, atol=1e-6, **cases)

# %% [markdown]
# ```{solution-start} logreg-exposure
# :class: dropdown
# ```
# The mean is $\mu_n = e^{\log h_n + \mathbf{x}_n^\top \mathbf{w}}$, so the gradient of the summed loss is
# $\mathbf{X}^\top(\boldsymbol\mu - \mathbf{k})$ and the Hessian is
# $\mathbf{X}^\top\operatorname{diag}(\boldsymbol\mu)\,\mathbf{X}$. We start from a least-squares fit to the logarithms of
# the rates, because full steps from far away can overflow. The first wrong answer fits the rates $k_n/h_n$ as if they were
# counts, so that ten minutes count as much as a day. The second ignores the hours, and the third stops at the least-squares
# fit.

# %% jupyter={"source_hidden": true}
def poisson_fit_solution(X, k, h):
    w = lstsq(X, np.log(k / h))[0]
    for _ in range(40):
        mean = h * np.exp(X @ w)
        w = w + solve(X.T * mean @ X, X.T @ (k - mean))
    return w

def fits_the_rates(X, k, h):
    return poisson_fit_solution(X, k / h, np.ones(len(k)))

def ignores_the_hours(X, k, h):
    return poisson_fit_solution(X, k, np.ones(len(k)))

def by_logarithms(X, k, h):
    return lstsq(X, np.log(k / h))[0]

assert grade(poisson_fit_solution, by_sklearn_with_weights, tries=30, rtol=1e-5, atol=1e-6, **cases)
assert not grade(fits_the_rates, by_sklearn_with_weights, tries=30, rtol=1e-5, atol=1e-6, **cases)
assert not grade(ignores_the_hours, by_sklearn_with_weights, tries=30, rtol=1e-5, atol=1e-6, **cases)
assert not grade(by_logarithms, by_sklearn_with_weights, tries=30, rtol=1e-5, atol=1e-6, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★★ Pencil: a stronger effect, a weaker proof
# :label: logreg-hauck
# Of 50 untreated patients 25 recover, of 50 treated ones $k$. Logistic regression on the treatment, 0 or 1, has the weight
# $w_1$ with the standard error $\operatorname{se}$ from {eq}`logreg-covariance`. The *Wald statistic* $w_1 /
# \operatorname{se}$ says how many standard errors $w_1$ is away from zero. Derive a closed form, and write it as `wald(k)`.
# Then let $k$ run to 49. What happens, and why would you not trust this statistic {cite}`hauck1977wald`?
# ```

# %%
def wald(k):
    """The Wald statistic if k of 50 treated patients recover: a float.

    k is an integer from 1 to 49. wald(25) is 0.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def wald_by_fit(k):
    X = np.column_stack([np.ones(100), np.arange(100) >= 50])
    y = np.arange(100) % 50 < np.where(np.arange(100) >= 50, k, 25)
    w = fit(X, y * 1.0, np.zeros(2))
    return w[1] / covariance(X, w)[1, 1] ** 0.5

cases = dict(k=on(25, 1, 49) | integers(1, 49))
grade(wald, wald_by_fit, rtol=1e-5, **cases)

# %% [markdown]
# ```{solution-start} logreg-hauck
# :class: dropdown
# ```
# With one parameter for each group the fit reproduces both shares. The intercept is $0$, the log-odds of $25$ of $50$, so
# $w_1 = \log \frac{k}{50 - k}$. A group of $n$ has the information $n p (1 - p)$ about its own log-odds, so the variance of
# these is $\frac{1}{n p (1 - p)} = \frac1k + \frac1{50 - k}$, and the variances of the two groups add up. As $k \to 50$, the
# weight grows like a logarithm, but its variance like $\frac{1}{50 - k}$. So the statistic rises and then *falls*: the
# printed values say that 49 recoveries prove less than 46. Far from its maximum the likelihood is not like a parabola, as
# the statistic assumes; it is better to compare the likelihoods with and without $w_1$. The first wrong answer forgets the
# second group, the second forgets the square root, and the third gives $w_1$ itself.

# %% jupyter={"source_hidden": true}
def wald_solution(k):
    return np.log(k / (50 - k)) / np.sqrt(1 / k + 1 / (50 - k) + 2 / 25)

def one_group(k):
    return np.log(k / (50 - k)) / np.sqrt(1 / k + 1 / (50 - k))

def by_the_variance(k):
    return np.log(k / (50 - k)) / (1 / k + 1 / (50 - k) + 2 / 25)

def only_the_weight(k):
    return np.log(k / (50 - k))

assert grade(wald_solution, wald_by_fit, rtol=1e-5, **cases)
assert not grade(one_group, wald_by_fit, rtol=1e-5, **cases)
assert not grade(by_the_variance, wald_by_fit, rtol=1e-5, **cases)
assert not grade(only_the_weight, wald_by_fit, rtol=1e-5, **cases)
print('recovered, Wald:', *(f'{k}: {wald_solution(k):.2f};' for k in (40, 44, 46, 48, 49)))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def quadratic(X, y, w, p, half):  # Q at w + p
    return logistic_loss(X, y, w) + gradient(X, y, w) @ p + half * p @ hessian(X, w) @ p

def order_of_error(half):  # exponents, from seven directions
    X, y, w = problem(2)
    exponents = []
    for p in np.random.default_rng(0).normal(size=(7, 3)):
        errors = [abs(logistic_loss(X, y, w + h * p) - quadratic(X, y, w, h * p, half)) for h in (0.01, 0.005)]
        exponents.append(np.log2(errors[0] / errors[1]))
    return np.array(exponents)

holds(
    'ml.logreg.newton.taylor',
    lambda: (abs(order_of_error(1 / 2) - 3) < 0.1).all(),
    slip=('forgets the half before the Hessian', lambda: (abs(order_of_error(1) - 3) < 0.1).all()),
)

def is_lowest_point(seed, factor):
    X, y, w = problem(seed, N=40)
    lowest = minimize(lambda p: quadratic(X, y, w, p, 1 / 2), np.zeros(3), tol=1e-11,
                      jac=lambda p: gradient(X, y, w) + hessian(X, w) @ p).x
    return close(factor * (newton(X, y, w, 1)[1] - w), lowest, rtol=1e-5, atol=1e-7)

holds(
    'ml.logreg.newton.idea',
    lambda seed: is_lowest_point(seed, 1),
    slip=('keeps a factor 2 before the Hessian', lambda seed: is_lowest_point(seed, 1 / 2)),
    seed=seeds(), tries=20,
)

def in_round_units(seed, gamma, factor):
    X, y, w = problem(seed, N=30)
    C = factor(hessian(X, w))
    slope = autograd(torch.func.grad, X @ inv(C.T), y, C.T @ w).numpy()
    new = solve(C.T, C.T @ w - gamma * slope)
    return close(new - w, gamma * (newton(X, y, w, 1)[1] - w), rtol=1e-5)

holds(
    'ml.logreg.newton.is-gd',
    lambda seed, gamma: in_round_units(seed, gamma, cholesky),
    slip=('measures the weights in their old units', lambda seed, gamma: in_round_units(seed, gamma, lambda H: np.eye(3))),
    seed=seeds(), gamma=[1, 0.5], tries=40,
)

def exponent(path):  # of the last error above rounding
    errors = norm(path - w_f, axis=1)
    t = np.flatnonzero(errors > 1e-9)[-1]
    logs = np.log(errors[t - 2:t + 1])
    return (logs[2] - logs[1]) / (logs[1] - logs[0])

# %% tags=["checks"]
kept = [np.zeros(2)]  # with the curvature of the start
for _ in range(150):
    kept.append(kept[-1] - solve(hessian(X_f, np.zeros(2)), gradient(X_f, damaged, kept[-1])))
holds(
    'ml.logreg.newton.second-order-info',
    lambda: abs(exponent(path_n) - 2) < 0.3,
    slip=('computes the curvature once and keeps it', lambda: abs(exponent(np.array(kept)) - 2) < 0.3),
)
verify(
    "on the flights, six of Newton's steps come nearer than 500 of descent, and end at scikit-learn's weights",
    lambda steps: norm(path_n[steps] - w_f) < 1e-9 < norm(path_f[500] - w_f),
    slip=('takes three steps', lambda steps: norm(path_n[steps // 2] - w_f) < 1e-9), steps=[6],
)

# %% tags=["checks"]
def irls_step(X, y, w, power):  # power 0: unweighted
    s = expit(X @ w) * expit(-X @ w)
    zeta = X @ w + (y - expit(X @ w)) / s
    return lstsq(X * s[:, None] ** power, zeta * s**power)[0]

def steps_agree(seed, power):
    case = problem(seed)
    return close(irls_step(*case, power), newton(*case, 1)[1], rtol=1e-5)

verify(
    'a Newton step is a weighted least-squares fit',
    lambda seed: steps_agree(seed, 0.5),
    slip=('forgets the weights of the least squares', lambda seed: steps_agree(seed, 0)),
    seed=seeds(), tries=60,
)
best_5 = fit(x_5, y_5, np.zeros(1))
verify(
    "Newton's full steps arrive from 2.6 and run away from 4.2",
    lambda near, far: (close(newton(x_5, y_5, np.array([near]), 8)[-1], best_5)
                       and abs(newton(x_5, y_5, np.array([far]), 2)[-1] - best_5)[0] > 1e3),
    slip=('exchanges the two starts', lambda near, far: close(newton(x_5, y_5, np.array([far]), 2)[-1], best_5)),
    near=[2.6], far=[4.2],
)

def same_as_sklearn(seed, lam, scale):
    X, y, _ = problem(seed, N=60, D=4)
    ours = fit(X, y, lam * np.array([0, 1, 1, 1]))
    model = LogisticRegression(C=scale(lam, 60), solver='newton-cholesky', tol=1e-12, max_iter=500).fit(X[:, 1:], y)
    return close(ours, np.append(model.intercept_, model.coef_), rtol=1e-6, atol=1e-7)

verify(
    'the weights are those of scikit-learn for C = 1/(Nλ)',
    lambda seed, lam: same_as_sklearn(seed, lam, lambda lam, N: 1 / (lam * N) if lam else np.inf),
    slip=('forgets the number of examples in C',
          lambda seed, lam: same_as_sklearn(seed, lam, lambda lam, N: 1 / lam if lam else np.inf)),
    seed=list(range(20)), lam=[0, 0.001, 0.01, 0.1], tries=40,
)

rng = np.random.default_rng(4)
X_w = np.column_stack([np.ones(400), rng.normal(size=400)])
truth, R = np.array([0.5, 1.0]), 2000
w_R = np.tile(truth, (R, 1))
labels = rng.random((R, 400)) < expit(X_w @ truth)
squares = np.einsum('nd,ne->nde', X_w, X_w)
for _ in range(5):  # Newton for all samples at once
    p_R = expit(w_R @ X_w.T)
    w_R = w_R + solve(np.tensordot(p_R * (1 - p_R), squares, 1), ((labels - p_R) @ X_w)[..., None])[..., 0]

# %% tags=["checks"]
def spread_is(C):  # within five standard errors of each entry
    band = 5 * np.sqrt((np.outer(np.diag(C), np.diag(C)) + C**2) / R)
    return (abs(np.cov(w_R.T) - C) < band).all()

verify(
    'the covariance of 2000 fits is the inverse information',
    lambda X: close(w_R[7], fit(X, labels[7] * 1.0, np.zeros(2))) and spread_is(covariance(X, truth)),
    slip=('loses the weights S', lambda X: spread_is(inv(X.T @ X))), X=[X_w],
)

# %% tags=["checks"]

def covers(width):  # the truth lies within this many standard errors
    bars = np.array([np.diag(covariance(X_w, w)) for w in w_R]) ** 0.5
    inside = (abs(w_R - truth) < width * bars).mean(0)
    return (abs(inside - 0.95) < 5 * np.sqrt(0.95 * 0.05 / R)).all()

verify('1.96 standard errors hold the truth in 95 %', covers,
       slip=('takes half of them', lambda width: covers(width / 2)), width=[1.96])

def launch(degrees, sign):  # the end of the interval at a temperature
    x = design(np.array([degrees]))[0]
    return expit(x @ w_f + sign * 1.96 * (x @ covariance(X_f, w_f) @ x) ** 0.5)

verify(
    'the slope is more than two standard errors from zero, and the interval at 31 °F begins near one half',
    lambda degrees: (-w_f[1] > 2 * covariance(X_f, w_f)[1, 1] ** 0.5
                     and 0.4 < launch(degrees, -1) < 0.6 and 0.999 < launch(degrees, 1)),
    slip=('asks at 53 °F', lambda degrees: 0.999 < launch(degrees + 22, 1)), degrees=[31],
)

families = {  # A, mean, variance
    'Bernoulli': (lambda e: np.logaddexp(0, e), expit, lambda e: expit(e) * expit(-e)),
    'Poisson': (np.exp, np.exp, np.exp),
    'Gaussian': (lambda e: e**2 / 2, lambda e: e, np.ones_like),
}
laws = {'Bernoulli': lambda e: stats.bernoulli(expit(e)), 'Poisson': lambda e: stats.poisson(np.exp(e)),
        'Gaussian': stats.norm}

def moments_agree(name, e, family, h=1e-4):
    A, mean, variance = family
    slopes = [(f(e + h) - f(e - h)) / (2 * h) for f in (A, mean)]
    return close(slopes, [mean(e), variance(e)], rtol=1e-5) and close([mean(e), variance(e)], laws[name](e).stats('mv'))

verify(
    'mean and variance are derivatives of A',
    lambda name, eta: moments_agree(name, eta, families[name]),
    slip=('takes the mean for the variance',
          lambda name, eta: moments_agree(name, eta, (*families[name][:2], families[name][1]))),
    name=list(families), eta=scalars(-3, 3),
)

# %% [markdown]
# ## Separable data and regularization
#
# Suppose that only the ten flights below 70 °F had been recorded. All four up to 63 °F had damage, and all six from 66 °F on
# had none. What does Newton's method find?

# %%
cold = fahrenheit < 70
X_c, y_c = X_f[cold], damaged[cold]
path_c = newton(X_c, y_c, np.zeros(2), 30)
for t in (1, 2, 5, 10, 20, 30):
    print(f'step {t:2}: w = ({path_c[t][0]:6.2f}, {path_c[t][1]:7.2f}),'
          f' p = 1/2 at {60 - 10 * path_c[t][0] / path_c[t][1]:.1f} °F')

# %% [markdown]
# The weights grow for ever. The reason lies in the data: if some weights put all examples on the right side, twice these
# weights do so with more certainty, and the loss is smaller. It comes as near to zero as we like, but never gets there. So
# there is no best fit.
#
# A score $\mathbf{x}_n^\top\mathbf{w}$ should be positive for $y_n = 1$ and negative for $y_n = 0$. With the signs
# $\varepsilon_n = 2 y_n - 1 = \pm 1$, the **margin** $\varepsilon_n\mathbf{x}_n^\top\mathbf{w}$ should be positive. We call
# the data **separable** if some $\mathbf{b}$ has all margins $\varepsilon_n \mathbf{x}_n^\top \mathbf{b} \ge 0$, not all of
# them zero.
#
# ```{prf:theorem} When a best fit exists (Albert and Anderson; Silvapulle)
# :label: thm-logreg-existence
# Let $\mathbf{X}$ have independent columns. The logistic loss has a minimum if and only if the data are not
# separable; it is then the only one.
# ```
#
# ```{prf:proof}
# :class: dropdown
# *Separable.* Go from any $\mathbf{w}$ along $\mathbf{b}$. No margin shrinks and at least one grows, so the loss
# falls strictly: no $\mathbf{w}$ is a minimum.
#
# *Not separable.* For a unit vector $\mathbf{u}$ let
# $\delta(\mathbf{u}) = \max_n (-\varepsilon_n \mathbf{x}_n^\top \mathbf{u})$, the worst violation. It is positive:
# otherwise all $\varepsilon_n \mathbf{x}_n^\top \mathbf{u} \ge 0$, and not all are zero, since
# $\mathbf{X} \mathbf{u} \ne \mathbf{0}$. As a maximum of finitely many linear functions $\delta$ is continuous, so on
# the compact sphere it has a least value $\delta_0 > 0$. Since $\log(1 + e^{-m}) \ge -m$, the sum of the losses is at
# least $\delta_0 \|\mathbf{w}\|$. Outside a large ball this exceeds its value at $\mathbf{0}$; inside, a continuous
# function has a minimum. By {prf:ref}`thm-logreg-convex` there is no second one.
# ```
#
# A linear program decides which case we have {cite}`albert1984existence,silvapulle1981existence`. Among all $\mathbf{b}$
# with entries between $-1$ and 1 and no negative margin, it maximizes the sum of the margins. The data are separable if and
# only if this sum is positive:

# %%
def separable(X, y):
    signed = (2 * y - 1)[:, None] * X  # margins are signed @ b
    best = linprog(-signed.sum(0), A_ub=-signed, b_ub=np.zeros(len(y)),
                   bounds=(-1, 1))
    return -best.fun > 1e-6

print('ten flights below 70 °F:', separable(X_c, y_c))
print('all 23 flights:         ', separable(X_f, damaged))

# %% [markdown]
# ### A penalty gives finite weights
#
# If we add $\frac\lambda2 \|\mathbf{w}\|^2$ to the loss, the minimum exists for all data. We make $\lambda$ smaller and
# smaller on the ten flights:

# %%
for lam in (1e-2, 1e-4, 1e-6, 1e-8):
    w = fit(X_c, y_c, lam * np.ones(2))
    print(f'lambda = {lam:.0e}: norm {norm(w):4.1f},'
          f' p = 1/2 at {60 - 10 * w[0] / w[1]:.2f} °F')

# %% [markdown]
# The weights grow, and the border tends to 64.5 °F, the middle of the gap between 63 and 66 °F. This is no accident: a small
# penalty chooses the direction in which the smallest margin is as large as possible. If the intercept counts as a weight, it
# is the direction of the [support vector machine](support_vector_machines.ipynb).
#
# ````{prf:theorem} A vanishing penalty finds the largest margin
# :label: thm-logreg-margin
# Let the data be strictly separable: all margins of some $\mathbf{b}$ are positive. Let $\mathbf{w}_\lambda = r
# \mathbf{u}$, $\|\mathbf{u}\| = 1$, minimize $L(\mathbf{w}) + \frac\lambda2 \|\mathbf{w}\|^2$, where $\lambda$ is so small
# that all its margins are positive. Let $m(\mathbf{u}) = \min_n \varepsilon_n\mathbf{x}_n^\top\mathbf{u}$ be the smallest
# margin of a unit vector $\mathbf{u}$, and $m^*$ the largest value of $m$, reached at $\mathbf{u}^*$. Then
#
# ```{math}
# :label: logreg-margin-bound
# m^* - m(\mathbf{u}) \le \frac{\log 2N}{r} .
# ```
#
# As $\lambda \to 0$, $r \to \infty$ and $\mathbf{u} \to \mathbf{u}^*$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# $\mathbf{u}^*$ is unique: of two, the normalized midpoint would have a larger margin. The loss at $\mathbf{w}_\lambda$ is
# at most that at $r \mathbf{u}^*$, because both have the same penalty: $N L(r \mathbf{u}) \le N L(r \mathbf{u}^*)$. On the
# right every term is $\log(1 + e^{-m_n}) \le e^{-m_n} \le e^{-r m^*}$. On the left one term has the margin $r \,
# m(\mathbf{u}) > 0$, and $\log(1 + x) \ge x / 2$ for $0 \le x \le 1$. Therefore $\frac12 e^{-r m(\mathbf{u})} \le N e^{-r
# m^*}$; take logarithms. As $\lambda \to 0$ the minimal value tends to zero (take a long multiple of $\mathbf{u}^*$ with a
# much smaller penalty still), so $r \to \infty$ and $m(\mathbf{u}) \to m^*$. A limit point of the directions has margin
# $m^*$, and only $\mathbf{u}^*$ has {cite}`rosset2004boosting`. (Gradient descent without a penalty tends to the same
# direction, very slowly {cite}`soudry2018implicit`.)
# ````
#
# :::{admonition} A tempting mistake
# :class: warning
# scikit-learn minimizes $C$ times the *sum* of the losses plus $\frac12\|\mathbf{w}\|^2$ without the intercept, so $C =
# 1/(N\lambda)$, not $1/\lambda$, and a *large* $C$ means a *weak* penalty. If you forget the $N$ for a thousand examples,
# you penalize a thousand times too little.
# :::
#
# ### Breast tumours: certain, and wrong
#
# We take thirty measurements of cells from 569 breast tumours, benign or malignant
# {cite}`street1993nuclear`. In each of twenty random splits we fit scikit-learn's `LogisticRegression` to 398 patients
# and hold out the others, with penalties from strong to almost none. For comparison, one model uses only the
# mean radius, and one announces the share of malignant tumours to everybody.

# %%
table = load_breast_cancer()
malignant = 1.0 - table.target  # (569,)
rng = np.random.default_rng(0)
orders = [rng.permutation(569) for _ in range(20)]

def scores(C, columns):  # log-odds for the held-out patients, (20, 171)
    held_out = []
    for order in orders:
        train, test = table.data[order, :columns][:398], order[398:]
        model = make_pipeline(StandardScaler(), LogisticRegression(
            C=C, solver='newton-cholesky', tol=1e-9, max_iter=1000))
        model.fit(train, malignant[order[:398]])
        held_out.append(model.decision_function(table.data[test, :columns]))
    return np.array(held_out)

# %%
y_out = np.array([malignant[order[398:]] for order in orders])  # (20, 171)
Cs = 10.0 ** np.arange(-4, 7)
shares = [malignant[order[:398]].mean() for order in orders]
z = {'share': np.log(np.divide(shares, np.subtract(1, shares)))[:, None],
     'radius': scores(np.inf, 1), **{C: scores(C, 30) for C in Cs}}
loss = {name: (np.logaddexp(0, v) - y_out * v).mean(1)
        for name, v in z.items()}  # (20,) each
for name in ('share', 'radius', 1e-2, 1, 1e2, 1e4, 1e6):
    wrong = ((z[name] > 0) != y_out).mean()
    label = name if isinstance(name, str) else f'C = {name:g}'
    print(f'{label:9} loss {loss[name].mean():.3f} ± {loss[name].std():.4f},'
          f' wrong {wrong:.3f}')

# %%
clean = [separable(StandardScaler().fit_transform(table.data[order[:398]]),
                   malignant[order[:398]]) for order in orders]
print(f'training patients separable in {sum(clean)} of 20 splits')
for C in (1, 1e6):
    certain = abs(z[C]) > np.log(999)
    wrong = ((z[C] > 0) != y_out)[certain].mean()
    print(f'C = {C:g}: certain to 0.999 for {certain.mean():.2f} of the'
          f' patients, wrong for {wrong:.3f} of these')

# %% mystnb={"image": {"alt": "Left: mean held-out loss against C on logarithmic axes, with a band over twenty splits. It falls from the strongest penalty to a minimum at C = 1 and then rises steadily to a loss four times that of the dashed line for the constant share; a second dashed line, for the mean radius, lies in between. Right: frequency of malignant tumours against the announced probability. Points of C = 1 lie on the diagonal at both ends, below it for small and above it for large probabilities between; those of the nearly free model lie in a low band whatever was announced, except at the ends, where they miss 0 and 1."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3.0)
curve = np.array([loss[C] for C in Cs])  # (11, 20)
left.fill_between(Cs, curve.min(1), curve.max(1), alpha=0.2, lw=0)
left.loglog(Cs, curve.mean(1), 'o-', ms=4)
for name, words in ('share', 'share of malignant'), ('radius', 'mean radius'):
    left.axhline(loss[name].mean(), color=GREY, ls='--', lw=1)
    left.text(0.9, loss[name].mean() * 1.07, words, fontsize=8, ha='center')
left.set(xlabel='C (weak penalty on the right)', ylabel='loss on held-out patients')
left.set_yticks([0.1, 0.3, 1, 3], ['0.1', '0.3', '1', '3'])
left.minorticks_off()
edges = np.array([0, 0.001, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 0.999, 1])
right.plot([0, 1], [0, 1], ':', color=GREY)
for C, colour, words, spot in (1, 'C2', 'C = 1', (0.42, 0.8)), (1e6, 'C3', 'C = 1 000 000', (0.45, 0.13)):
    p = expit(z[C]).ravel()
    told, seen = (stats.binned_statistic(p, v, 'mean', edges).statistic for v in (p, y_out.ravel()))
    right.plot(told, seen, 'o-', ms=4, lw=1.2, color=colour)
    right.text(*spot, words, color=colour)
right.set(xlabel='probability announced', ylabel='frequency of malignant');

# %% [markdown] tags=["caption"]
# Left: with almost no penalty the forecasts are worse than announcing the same share to everybody. Right: with $C = 1$ the
# probabilities near 0 and 1 are right, and those between too cautious; with $C = 10^6$ some certain ones are wrong.

# %% [markdown]
# All training parts are separable. With $C = 10^6$ the *decisions*
# are still good, about 4 % wrong. But the *probabilities* are worse than the constant share, because the model is nearly
# always certain, and a certain forecast that turns out wrong costs a large loss. With scikit-learn's default $C = 1$, no
# forecast that was certain to 0.999 was wrong. The right panel, a **reliability diagram**, asks
# whether as many patients are ill as announced.
#
# ```{exercise} ★★ Program: three kinds of data
# :label: logreg-kinds
# Write `kind(X, y)`: 2 if the data are strictly separable (some $\mathbf{b}$ has all $\varepsilon_n \mathbf{x}_n^\top
# \mathbf{b} > 0$), 1 if they are separable, but some margin is zero for every separating $\mathbf{b}$, and 0 if a best fit
# exists. (Hint: a second linear program.)
# ```

# %%
def kind(X, y):
    """2: strictly separable, 1: separable, 0: neither; an int.

    X (N, 2) has independent columns, with small whole numbers as floats;
    y (N,) holds 0.0 and 1.0.
    For X = [[1.0, 0.0], [1.0, 1.0]], y = [0.0, 1.0] it is 2.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_directions(X, y):  # all directions in the plane at which a margin is zero, and one between each two
    signed = (2 * y - 1)[:, None] * X
    angles = np.arctan2(signed[:, 1], signed[:, 0])
    fence = np.sort(np.concatenate([angles + np.pi / 2, angles - np.pi / 2]) % (2 * np.pi))
    between = (fence + np.append(fence[1:], fence[0] + 2 * np.pi)) / 2
    tried = np.concatenate([fence, between])
    sides = signed @ np.stack([np.cos(tried), np.sin(tried)])  # (N, angles)
    if (sides > 1e-9).all(0).any():
        return 2
    return int((sides > -1e-9).all(0).any())

def independent(X):
    return matrix_rank(X) == 2

whole = matrices((2, 5), 2, -2, 2, edges=True).map(np.round)
with_a_constant = matrices((2, 6), 1, -2, 2).map(np.round).map(lambda x: np.column_stack([np.ones(len(x)), x]))
cases = dict(
    X=whole.filter(independent) | with_a_constant.filter(independent), y=lambda X: counts(len(X), 0, 1).map(np.float64))
grade(kind, by_directions, tries=60, **cases)

# %% [markdown]
# ```{solution-start} logreg-kinds
# :class: dropdown
# ```
# The second program finds the largest $t \le 1$ for which all $\varepsilon_n \mathbf{x}_n^\top \mathbf{b} \ge t$ with
# $\mathbf{b}$ in the box. It is positive exactly for strict separation. The first wrong answer looks at the margins of the
# first program's solution, which may be zero without need. The second does not distinguish kinds 1 and 2, and the third asks
# for strict separation alone.

# %% jupyter={"source_hidden": true}
def largest_smallest_margin(X, y):
    signed = (2 * y - 1)[:, None] * X
    A = np.column_stack([-signed, np.ones(len(y))])  # t <= signed @ b
    box = [(-1, 1)] * X.shape[1] + [(None, 1)]
    return -linprog(-np.eye(len(box))[-1], A_ub=A, b_ub=np.zeros(len(y)), bounds=box).fun

def kind_solution(X, y):
    return 2 if largest_smallest_margin(X, y) > 1e-6 else int(separable(X, y))

def by_the_first_program(X, y):
    signed = (2 * y - 1)[:, None] * X
    b = linprog(-signed.sum(0), A_ub=-signed, b_ub=np.zeros(len(y)), bounds=(-1, 1)).x
    return int(separable(X, y)) + int((signed @ b > 1e-6).all())

def two_kinds(X, y):
    return 2 * int(separable(X, y))

def only_strict(X, y):
    return 2 * int(largest_smallest_margin(X, y) > 1e-6)

assert grade(kind_solution, by_directions, tries=60, **cases)
assert not grade(by_the_first_program, by_directions, tries=60, **cases)
assert not grade(two_kinds, by_directions, tries=60, **cases)
assert not grade(only_strict, by_directions, tries=60, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: every flight twice
# :label: logreg-twice
# By mistake, each of the 23 flights is entered twice. Predict: by which factor does this change (a) the slope $w_1$ without a
# penalty, (b) its standard error, and (c) is the slope at `C=1` then steeper, the same or less steep? Return
# `(factor of the slope, factor of its standard error, 'steeper', 'same' or 'flatter')`. Then run it and explain.
# ```

# %%
def prediction():
    """What changes: a tuple (float, float, str)."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def fitted_slopes(times):  # the slope, its standard error, and the slope at C = 1
    X, y = np.tile(X_f, (times, 1)), np.tile(damaged, times)
    free, penalized = (LogisticRegression(C=C, solver='newton-cholesky', tol=1e-12).fit(X[:, 1:], y) for C in (np.inf, 1))
    w = np.append(free.intercept_, free.coef_)
    return w[1], inv(X.T * (expit(X @ w) * expit(-X @ w)) @ X)[1, 1] ** 0.5, penalized.coef_[0, 0]

def is_measured(said):
    slope, error, words = said
    one, two = fitted_slopes(1), fitted_slopes(2)
    if words not in ('steeper', 'same', 'flatter'):
        raise ValueError("the third part is 'steeper', 'same' or 'flatter'")
    seen = 'same' if close(two[2], one[2]) else 'steeper' if abs(two[2]) > abs(one[2]) else 'flatter'
    if not (close(slope, two[0] / one[0], atol=0.01) and close(error, two[1] / one[1], atol=0.01) and words == seen):
        raise ValueError('something else is measured; run it and compare')
    return True

grade(lambda: is_measured(prediction()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} logreg-twice
# :class: dropdown
# ```
# Without a penalty the mean loss is the same function, so the weights stay: the factor is 1. The information of the sample
# doubles, so the standard error shrinks by $1/\sqrt2 \approx 0.71$. It is too small now, because the second entry of a
# flight says nothing new; the formula takes the examples for independent. At $C = 1$ the sum of the losses is twice as large
# and the penalty is the same. So the penalty has less weight, and the slope is steeper. The wrong answers double the slope,
# halve the standard error, and take the penalty for one on the mean loss.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured((1, 0.5**0.5, 'steeper')), lambda: True, [()])
assert not grade(lambda: is_measured((2, 0.5**0.5, 'steeper')), lambda: True, [()])
assert not grade(lambda: is_measured((1, 0.5, 'steeper')), lambda: True, [()])
assert not grade(lambda: is_measured((1, 0.5**0.5, 'same')), lambda: True, [()])
for times in 1, 2:
    print('times {}: slope {:.3f} ± {:.3f}, at C = 1 {:.3f}'.format(times, *fitted_slopes(times)))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def marches_on(X, y):  # the damped walk has not come to rest
    return norm(fit(X, y, np.zeros(2), tol=1e-11, most=19) - fit(X, y, np.zeros(2), tol=1e-11, most=20)) > 0.1

def whole_numbers(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(6), rng.integers(-2, 3, size=(6, 1))])
    X[:2, 1] = [-1, 1]  # independent columns
    return X, rng.integers(0, 2, size=6) * 1.0

def strictly_separable(X, y):  # rows (1, x): by a number between the labels
    zeros, ones = X[y == 0, 1], X[y == 1, 1]
    return not (len(zeros) and len(ones)) or zeros.max() < ones.min() or ones.max() < zeros.min()

verify(
    'Newton marches on for ever exactly where the program separates',
    lambda seed: marches_on(*whole_numbers(seed)) == separable(*whole_numbers(seed)),
    slip=('asks for strict separation',
          lambda seed: marches_on(*whole_numbers(seed)) == strictly_separable(*whole_numbers(seed))),
    seed=list(range(80)), tries=40,
)
signed_c = (2 * y_c - 1)[:, None] * X_c
circle = np.linspace(0, 2 * np.pi, 100_001)
widest = (signed_c @ [np.cos(circle), np.sin(circle)]).min(0).max()

def bounded(lam, power):
    w = fit(X_c, y_c, lam * np.ones(2))
    shortfall = widest - (signed_c @ w).min() / norm(w)
    return -1e-6 <= shortfall <= np.log(2 * len(y_c)) / norm(w) ** power

verify(
    'the margin falls short by at most log(2N) / norm',
    lambda lam: bounded(lam, 1),
    slip=('divides by the squared norm', lambda lam: bounded(lam, 2)),
    lam=list(np.geomspace(1e-4, 1e-9, 6)),
)

def border(w):
    return 60 - 10 * w[0] / w[1]

verify(
    'on the ten flights the weights grow, and the border tends to the middle of the gap',
    lambda gap: (path_c[30, 1] < path_c[20, 1] < path_c[10, 1] < -50 and abs(border(path_c[30]) - sum(gap) / 2) < 0.01
                 and abs(border(fit(X_c, y_c, 1e-8 * np.ones(2))) - sum(gap) / 2) < 0.01),
    slip=('expects it at the warmest flight with damage', lambda gap: abs(border(path_c[30]) - gap[0]) < 0.01),
    gap=[(63, 66)],
)

# %% tags=["checks"]
gap_in_loss = loss[1e6] - loss['share']  # (20,)
verify(
    'the nearly free model has a larger loss than the constant share, and C = 1 the least loss',
    lambda k: gap_in_loss.mean() > k * gap_in_loss.std() / 20**0.5 and all(
        loss[1].mean() <= loss[name].mean() for name in loss) and (loss[1] < loss['radius']).all(),
    slip=('expects C = 100 to be worse than the share',
          lambda k: (loss[1e2] - loss['share']).mean() > k * gap_in_loss.std() / 20**0.5),
    k=[2],
)

# %% tags=["checks"]
verify(
    'all training parts are separable, decisions without penalty are good, and C = 1 is never certain and wrong',
    lambda C: (all(clean) and ((z[1e6] > 0) != y_out).mean() < 0.06
               and not (((z[C] > 0) != y_out) & (abs(z[C]) > np.log(999))).any()),
    slip=('asks it of the nearly free model',
          lambda C: not (((z[1e6 * C] > 0) != y_out) & (abs(z[1e6 * C]) > np.log(999))).any()),
    C=[1],
)

# %% [markdown]
# ## Summary
#
# Logistic regression makes the log-odds linear in the inputs. Its loss is convex, with the gradient forecast minus label
# times input, and Newton's method minimizes it by weighted least-squares fits, whose Hessian also gives the standard errors.
# A best fit exists exactly if no weights separate the labels; on separable data the weights grow without limit, and a
# penalty of the right strength prevents false certainty.
#
# **Further reading.** {cite:t}`cox1958regression` introduced the method. {cite:t}`mccullagh1989generalized` is the classic
# on generalized linear models, for readers who model counts and rates, too; {cite:t}`hastie2009elements`, chapter 4, and
# {cite:t}`bishop2006pattern`, chapter 4, connect it to machine learning. {cite:t}`firth1993bias` proposed the penalty that
# statisticians use on separable data.
