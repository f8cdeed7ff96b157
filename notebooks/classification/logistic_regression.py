# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Logistic regression
#
# - **Question.** Seven of 23 shuttle flights came home with damaged seals, the four coldest among them. How
#   probable is damage in frost, how sure is the answer, and what if no finite weights fit best?
# - **You need** [Maximum likelihood](../probability/maximum_likelihood.ipynb),
#   [Gradient descent](../optimization/gradient_descent.ipynb), Newton's method from
#   [Stationary points](../optimization/stationary_points.ipynb), and [Cross-entropy](cross_entropy.ipynb).
# - **You build** a Newton solver that agrees with scikit-learn and survives data on which the plain one explodes, a test
#   that tells beforehand whether a best fit exists, error bars, and, with three more lines, regression for counts.
# - **Time** 9 s.

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
from numpy import linalg
from numpy.linalg import cholesky, eigvalsh, inv, lstsq, norm, solve
from scipy import stats
from scipy.optimize import linprog, minimize
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.metrics import log_loss

from nbutils.cases import scalars, seeds, vectors
from nbutils.checks import close, erratum, grade, holds, verify
from nbutils.figures import GREY, panels

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## The log-odds, the sigmoid and the likelihood
#
# On the eve of the last launch of the *Challenger*, in January 1986, engineers asked whether cold harms the rubber
# seals of the boosters. Their records held 23 flights, each with a temperature and a yes or no: was a seal damaged
# {cite}`dalal1989risk`? A line through zeros and ones will not do as a forecast, for it leaves $[0, 1]$ sooner or
# later. What *can* be linear? A probability $p$ lives in $(0, 1)$, the *odds* $p / (1 - p)$ in $(0, \infty)$, and
# their logarithm on the whole line. So let the log-odds be linear in the inputs,
#
# $$
# \log \frac{p}{1 - p} = \mathbf{x}^\top \mathbf{w}
# \qquad \Longleftrightarrow \qquad
# p = \sigma(\mathbf{x}^\top \mathbf{w}), \quad \sigma(z) = \frac{1}{1 + e^{-z}} ,
# $$
#
# where the first entry of $\mathbf{x}$ is always 1 and carries the intercept. (To get from left to right,
# exponentiate and solve for $p$.) A weight now has a meaning that can be said in words: if $x_j$ grows by one unit,
# the odds are multiplied by $e^{w_j}$, wherever one starts.
#
# Three facts about the *sigmoid* $\sigma$ carry this whole page. It undoes the log-odds. The probability of the other
# label is $1 - \sigma(z) = \frac{e^{-z}}{1 + e^{-z}} = \sigma(-z)$. And its slope is
# $\sigma'(z) = \frac{e^{-z}}{(1 + e^{-z})^2} = \sigma(z) \, \sigma(-z)$, which is the variance of a coin that shows
# heads with probability $\sigma(z)$. In code $e^{-z}$ overflows for large negative $z$; $e^{-|z|}$ never does.

# %%
def sigmoid(z):
    e = np.exp(-abs(z))  # at most 1
    return np.where(z >= 0, 1, e) / (1 + e)

z = np.array([-700.0, -40, -1, 0, 0.5, 40, 1e4])
assert close(sigmoid(z), expit(z), atol=0, rtol=1e-14)
print('1 - sigma(40) has lost all digits:', 1 - sigmoid(40.0) == 0)
print(f'sigma(-40) has not: {sigmoid(-40.0):.3g}')

# %% tags=["hide-input"]
def slope(z, h=1e-5):
    return (sigmoid(z + h) - sigmoid(z - h)) / (2 * h)

# %% [markdown]
# Linear log-odds are not only convenient. They are exact for the simplest picture of two classes:
#
# ```{prf:theorem} Two Gaussian clouds of one shape
# :label: thm-logreg-gaussian
# Let $y = 1$ with probability $\pi$, and let $\mathbf{x}$ given $y$ be Gaussian with mean $\boldsymbol\mu_y$ and a
# covariance $\boldsymbol\Sigma \succ 0$ that both classes share. Then
# $\Pr(y = 1 \mid \mathbf{x}) = \sigma(\mathbf{v}^\top \mathbf{x} + b)$ with
# $\mathbf{v} = \boldsymbol\Sigma^{-1} (\boldsymbol\mu_1 - \boldsymbol\mu_0)$ and
# $b = -\frac12 (\boldsymbol\mu_1 + \boldsymbol\mu_0)^\top \mathbf{v} + \log \frac{\pi}{1 - \pi}$.
# ```
#
# ```{prf:proof}
# By [Bayes' theorem](../probability/bayes_theorem.ipynb) the odds are
# $\frac{\pi}{1 - \pi} \cdot \frac{p(\mathbf{x} \mid 1)}{p(\mathbf{x} \mid 0)}$. The two densities have the same
# normalizing constant, which cancels, and the logarithm of their ratio is the difference of the exponents,
#
# $$
# \begin{aligned}
# &-\tfrac12 (\mathbf{x} - \boldsymbol\mu_1)^\top \boldsymbol\Sigma^{-1} (\mathbf{x} - \boldsymbol\mu_1) + \tfrac12
# (\mathbf{x} - \boldsymbol\mu_0)^\top \boldsymbol\Sigma^{-1} (\mathbf{x} - \boldsymbol\mu_0) \\ &\quad = (\boldsymbol\mu_1
# - \boldsymbol\mu_0)^\top \boldsymbol\Sigma^{-1} \mathbf{x} - \tfrac12 \big( \boldsymbol\mu_1^\top \boldsymbol\Sigma^{-1}
# \boldsymbol\mu_1 - \boldsymbol\mu_0^\top \boldsymbol\Sigma^{-1} \boldsymbol\mu_0 \big) :
# \end{aligned}
# $$
#
# the terms quadratic in $\mathbf{x}$ are the same in both. The bracket is $(\boldsymbol\mu_1 + \boldsymbol\mu_0)^\top
# \boldsymbol\Sigma^{-1} (\boldsymbol\mu_1 - \boldsymbol\mu_0) = (\boldsymbol\mu_1 + \boldsymbol\mu_0)^\top \mathbf{v}$.
# ```
#
# The intercept contains the log-odds of the classes themselves, because they need not be equally frequent.

# %%
def gaussian_weights(means, Sigma, prior):  # means (2, d) -> b, v
    v = solve(Sigma, means[1] - means[0])
    return np.log(prior / (1 - prior)) - means.sum(0) @ v / 2, v

# %%
clouds = np.array([[-1.0, 0.4], [1.0, -0.4]])
shape = np.array([[1.0, 0.5], [0.5, 0.8]])
b, v = gaussian_weights(clouds, shape, 0.5)
draws = np.random.default_rng(0).multivariate_normal([0, 0], shape, (2, 60))
u1, u2 = np.meshgrid(np.linspace(-4, 4, 121), np.linspace(-3, 3, 121))
surface = sigmoid(b + v[0] * u1 + v[1] * u2)

# %% mystnb={"image": {"alt": "Left: the sigmoid climbs from 0 to 1, its slope is a bell with height one quarter at zero. Right: two clouds of points on a map of the probability, whose level lines are parallel; that of one half runs between the clouds."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
grid = np.linspace(-7, 7, 200)
left.plot(grid, sigmoid(grid))
left.plot(grid, slope(grid))
left.text(1.5, 0.9, 'σ', color='C0', ha='right')
left.text(1.6, 0.2, "σ'", color='C1')
left.set(xlabel='log-odds z')
levels = np.linspace(0, 1, 11)
hill = right.contourf(u1, u2, surface, levels, cmap='coolwarm', alpha=0.6)
right.contour(u1, u2, surface, [0.5], colors=GREY)
for cloud, offset, colour in zip(
        draws, clouds, ('C0', 'C4'), strict=True):
    right.plot(*(cloud + offset).T, 'o', ms=3, color=colour)
right.set(xlabel='x₁', ylabel='x₂', xlim=(-4, 4), ylim=(-3, 3),
          title='p, and the line xᵀw = 0')
fig.colorbar(hill, ticks=[0, 0.5, 1]);

# %% [markdown] tags=["caption"]
# Left: the sigmoid turns log-odds into probabilities, and is steepest, with slope $\frac14$, at even odds. Right: for two
# Gaussian clouds of one shape the lines of equal probability are parallel.

# %% [markdown]
# **The likelihood.** Logistic regression models the labels *given* the inputs and says nothing about the inputs. Its
# one assumption about them is that they have nothing to do with the parameter,
#
# ```{math}
# :label: ml.logreg.mle.assumption
# p(\mathbf{X} \mid \mathbf{w}) = p(\mathbf{X}) .
# ```
#
# The weather over Florida does not depend on our weights. Then the factor $p(\mathbf{X})$, which nobody knows, cannot
# move the maximum.
#
# The probability of inputs *and* labels is a product:
#
# ```{math}
# :label: ml.logreg.mle.joint
# \begin{aligned}
# p(\mathbf{y}, \mathbf{X} \mid \mathbf{w}) &= p(\mathbf{X} \mid \mathbf{w}) \, p(\mathbf{y} \mid \mathbf{X}, \mathbf{w}) \\
# &= p(\mathbf{X}) \, p(\mathbf{y} \mid \mathbf{X}, \mathbf{w})
# \end{aligned}
# ```
#
# For independent pairs it is therefore proportional to the probability of the labels alone,
#
# ```{math}
# :label: ml.logreg.mle.product
# \mathcal{L}(\mathbf{w}) = \prod_{n=1}^N p(\mathbf{x}_n) \, p(y_n \mid \mathbf{x}_n, \mathbf{w}) \propto \prod_{n=1}^N p(y_n \mid \mathbf{x}_n, \mathbf{w}) .
# ```
#
# :::{admonition} A tempting mistake
# :class: warning
# It is tempting to write $p(\mathbf{y} \mid \mathbf{X}, \mathbf{w}) = p(\mathbf{X} \mid \mathbf{w}) \, p(\mathbf{y} \mid
# \mathbf{X}, \mathbf{w})$, because both sides have their maximum at the same $\mathbf{w}$. But that would need
# $p(\mathbf{X} \mid \mathbf{w}) = 1$: if each of two inputs has probability $\frac12$, the right side is half the left
# side.
# :::

# %%
def frequencies_obey(law, seed, N=20_000):
    rng = np.random.default_rng(seed)
    p_x, w = rng.dirichlet([4, 4, 4]), rng.normal(size=2) / 2
    p_1 = expit(w[0] + w[1] * np.arange(3))
    x = rng.choice(3, p=p_x, size=N)
    y = rng.random(N) < p_1[x]
    share = np.bincount(3 * y + x, minlength=6).reshape(2, 3) / N
    p = law(p_x, np.stack([1 - p_1, p_1]))  # (2, 3): label, input
    return (abs(share - p) <= 5 * np.sqrt(p * (1 - p) / N)).all()

def log_quotient(w, x, y):
    given = stats.bernoulli.logpmf(y, expit(w * x)).sum()
    pairs = [stats.norm.pdf(u) * expit(w * u if v else -w * u)
             for u, v in zip(x, y, strict=True)]
    return np.log(np.prod(pairs)) - given

# %% [markdown]
# One factor is $p(1 \mid \mathbf{x}_n, \mathbf{w})$ if $y_n = 1$, and the probability of a zero otherwise. An exponent of
# 0 or 1 works as a switch between them:
#
# ```{math}
# :label: ml.logreg.mle.bernoulli
# \prod_{n=1}^N p(y_n \mid \mathbf{x}_n, \mathbf{w})
# = \prod_{n=1}^N p(0 \mid \mathbf{x}_n, \mathbf{w})^{1 - y_n} \, p(1 \mid \mathbf{x}_n, \mathbf{w})^{y_n}
# ```
#
# With the sigmoid for the probabilities,
#
# ```{math}
# :label: ml.logreg.mle.sigmoid-lik
# \mathcal{L}(\mathbf{w}) \propto \prod_{n=1}^N \sigma(\mathbf{x}_n^\top \mathbf{w})^{y_n} \big[ 1 - \sigma(\mathbf{x}_n^\top \mathbf{w}) \big]^{1 - y_n} .
# ```
#
# ```{exercise} ★★ A balanced sample of something rare
# :label: logreg-balanced
# A disease has prevalence $\pi$. To save money, a model is fitted to a sample in which the ill are a share $r$
# instead; among the ill, and among the healthy, people are picked at random. Its intercept is $b$. Write
# `population_intercept(b, r, pi)`, the intercept that is right for the population, and convince yourself that no
# other weight changes.
# ```

# %%
def population_intercept(b, r, pi):
    raise NotImplementedError('your turn')

# %%
def intercept_by_bayes(b, r, pi):  # at x = 0
    p = expit(b)
    ratio = p / (1 - p) * (1 - r) / r  # p(x | ill) / p(x | healthy)
    ill = pi * ratio / (pi * ratio + 1 - pi)
    return np.log(ill) - np.log(1 - ill)

prevalences = [(0.3, 0.5, 0.01), (-2.0, 0.4, 0.2), (1.0, 0.2, 0.7)]
grade(population_intercept, intercept_by_bayes, prevalences)

# %% [markdown]
# ```{solution-start} logreg-balanced
# :class: dropdown
# ```
# In both groups the log-odds are the log of the ratio of densities plus the log of the prior odds,
# $\log \frac{r}{1 - r}$ in the sample and $\log \frac{\pi}{1 - \pi}$ in the population. Only the second summand
# differs, and it does not contain $\mathbf{x}$: add the difference to the intercept. The plausible mistake is to
# correct in the wrong direction.

# %% jupyter={"source_hidden": true}
def population_intercept_solution(b, r, pi):
    return b + np.log(pi / (1 - pi)) - np.log(r / (1 - r))

def wrong_direction(b, r, pi):
    return b - np.log(pi / (1 - pi)) + np.log(r / (1 - r))

assert grade(
    population_intercept_solution, intercept_by_bayes, prevalences)
assert not grade(wrong_direction, intercept_by_bayes, prevalences)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
verify(
    'the sigmoid undoes the log-odds, and flips with the sign',
    lambda z: (
        close(np.log(sigmoid(z) / sigmoid(-z)), z)
        and close(sigmoid(z) + sigmoid(-z), 1)
    ),
    slip=(
        'takes the odds against 1 plus the other chance',
        lambda z: close(np.log(sigmoid(z) / (1 + sigmoid(-z))), z),
    ),
    z=scalars(),
)
verify(
    'its slope is the variance of the coin',
    lambda z: close(slope(z), sigmoid(z) * sigmoid(-z)),
    slip=(
        'takes the sigmoid for its own slope',
        lambda z: close(slope(z), sigmoid(z)),
    ),
    z=scalars(),
)

def posterior(x, means, Sigma, prior):
    low, high = (stats.multivariate_normal(m, Sigma).pdf(x) for m in means)
    return prior * high / (prior * high + (1 - prior) * low)

def is_logistic(seed, assumed):
    rng = np.random.default_rng(seed)
    means, x, A = (
        rng.normal(size=(2, 2)),
        rng.normal(size=2),
        rng.normal(size=(2, 2)),
    )
    Sigma, prior = A @ A.T + np.eye(2), rng.uniform(0.05, 0.45)
    b, v = gaussian_weights(means, Sigma, assumed(prior))
    return close(sigmoid(b + v @ x), posterior(x, means, Sigma, prior))

verify(
    'two Gaussian clouds of one shape have linear log-odds',
    lambda seed: is_logistic(seed, lambda prior: prior),
    slip=(
        'takes the classes for equally frequent',
        lambda seed: is_logistic(seed, lambda prior: 0.5),
    ),
    seed=seeds(),
    tries=40,
)

# %% tags=["checks"]
trial = np.linspace(-3, 3, 121)  # weights, D = 1

def same_maximum(seed, centre):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=30)
    y = rng.random(30) < expit(x)
    labels = stats.bernoulli.logpmf(y, expit(trial[:, None] * x)).sum(1)
    inputs = stats.norm.logpdf(x, centre(trial)[:, None]).sum(1)
    return labels.argmax() == (labels + inputs).argmax()

holds(
    'ml.logreg.mle.assumption',
    lambda seed: same_maximum(seed, lambda w: 0 * w),
    slip=(
        'lets the inputs depend on the weight',
        lambda seed: same_maximum(seed, lambda w: w),
    ),
    seed=seeds(),
    tries=30,
)
answers = vectors(5, 0, 1).map(np.round)
erratum(
    'ml.logreg.mle.joint',
    printed=lambda seed: frequencies_obey(lambda p_x, given: given, seed),
    corrected=lambda seed: frequencies_obey(
        lambda p_x, given: p_x * given, seed
    ),
    seed=seeds(),
    tries=40,
)
erratum(
    'ml.logreg.mle.product',
    printed=lambda w, v, x, y: close(log_quotient(w, x, y), 0),
    corrected=lambda w, v, x, y: close(
        log_quotient(w, x, y), log_quotient(v, x, y)
    ),
    w=scalars(-2, 2),
    v=scalars(-2, 2),
    x=vectors(5, -2, 2),
    y=answers,
    tries=50,
)

# %% tags=["checks"]
def switched(p, y):
    return np.prod((1 - p) ** (1 - y) * p**y)

def by_log_loss(p, y):
    return np.exp(-log_loss(y, p, normalize=False, labels=[0, 1]))

holds(
    'ml.logreg.mle.bernoulli',
    lambda p, y: close(switched(p, y), stats.bernoulli.pmf(y, p).prod()),
    slip=(
        'puts the density of the input in the switch',
        lambda p, y: close(
            switched(stats.norm.pdf(p), y), stats.bernoulli.pmf(y, p).prod()
        ),
    ),
    p=vectors(5, 0, 1),
    y=answers,
    tries=50,
)
holds(
    'ml.logreg.mle.sigmoid-lik',
    lambda z, y: close(switched(sigmoid(z), y), by_log_loss(expit(z), y)),
    slip=(
        'exchanges the exponents',
        lambda z, y: close(
            switched(sigmoid(z), 1 - y), by_log_loss(expit(z), y)
        ),
    ),
    z=vectors(5, -3, 3),
    y=answers,
    tries=50,
)

# %% [markdown]
# ## The logistic loss: gradient, Hessian and convexity
#
# Products of many probabilities underflow, so take minus the logarithm of the likelihood and make it small:
#
# ```{math}
# :label: ml.logreg.nll.nll
# -\log p(\mathbf{y} \mid \mathbf{X}, \mathbf{w}) = -\log \Big( \prod_{n=1}^N \sigma(\mathbf{x}_n^\top \mathbf{w})^{y_n}
# \big[ 1 - \sigma(\mathbf{x}_n^\top \mathbf{w}) \big]^{1 - y_n} \Big)
# ```
#
# Let $z_n = \mathbf{x}_n^\top \mathbf{w}$. One term is $-y_n \log \sigma(z_n) - (1 - y_n) \log \sigma(-z_n)$, and
# there $\log \sigma(-z) = -\log(1 + e^z)$ and $\log \sigma(z) = z - \log(1 + e^z)$. The logarithm occurs $y_n$ times
# and $1 - y_n$ times, once in all:
#
# ```{math}
# :label: ml.logreg.nll.simplified
# -\log p(\mathbf{y} \mid \mathbf{X}, \mathbf{w}) = \sum_{n=1}^N \Big[ -y_n \mathbf{x}_n^\top \mathbf{w} + \log\big( 1 +
# e^{\mathbf{x}_n^\top \mathbf{w}} \big) \Big]
# ```
#
# :::{admonition} A tempting mistake
# :class: warning
# It is easy to pull the minus sign out of the sum and to leave it inside as well. Minus the logarithm of a probability is
# never negative, so a sign can be checked at a glance: one example with $y = 1$ and $z = 0$ contributes $\log 2$, not
# $-\log 2$. With the wrong sign, minimization would find the *worst* weights.
# :::
#
# As a function of $z$ this is the [cross-entropy](cross_entropy.ipynb) of two labels. `logaddexp(0, z)` is
# $\log(1 + e^z)$ without overflow.

# %%
def nll(X, y, w):  # (N, D), (N,), (..., D) -> (...)
    z = w @ X.T
    return (np.logaddexp(0, z) - y * z).sum(-1)

def torch_nll(X, y, w):
    z = torch.as_tensor(X) @ torch.as_tensor(w)
    return F.binary_cross_entropy_with_logits(
        z, torch.as_tensor(y), reduction='sum')

def problem(seed, N=12, D=3):  # X, y, w; a column of ones in front
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(N, D)), rng.normal(size=D)
    X[:, 0] = 1
    y = (rng.random(N) < expit(X @ w)) * 1.0
    return X, y, w + rng.normal(size=D)

def by_switches(X, y, w):
    p = expit(X @ w)
    return -np.log(np.prod(p**y * (1 - p) ** (1 - y)))

# %% [markdown]
# Here are the 23 flights. We measure temperature in tens of degrees above 60 °F, so that the intercept speaks of 60
# °F.

# %%
fahrenheit = np.array([66, 70, 69, 68, 67, 72, 73, 70, 57, 63, 70, 78, 67,
                       53, 67, 75, 70, 81, 76, 79, 75, 76, 58])
damaged = np.zeros(23)
damaged[[1, 8, 9, 10, 13, 20, 22]] = 1
X_f = np.column_stack([np.ones(23), (fahrenheit - 60) / 10])
w0, w1 = np.meshgrid(np.linspace(-2, 6, 161), np.linspace(-6, 1.5, 151))
losses = nll(X_f, damaged, np.stack([w0, w1], -1)) / 23  # (151, 161)
no_slope = nll(X_f, damaged, np.array([np.log(7 / 16), 0])) / 23
print(f'mean loss: best of the grid {losses.min():.3f}, '
      f'no slope {no_slope:.3f}')

# %% mystnb={"image": {"alt": "Left: the loss of one example against the score; for label 1 it falls from a steep line to zero, for label 0 it is the mirror image. Right: the likelihood of the flights over intercept and slope is one narrow tilted ridge with a single summit."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
z = np.linspace(-5, 5, 200)
one = np.array([[1.0]])
left.plot(z, nll(one, 1, z[:, None]))
left.plot(z, nll(one, 0, z[:, None]))
left.text(-2.7, 3.1, 'y = 1', color='C0')
left.text(2.7, 3.1, 'y = 0', color='C1', ha='right')
left.set(xlabel='score z', title='Loss of one example')
height = np.exp(23 * (losses.min() - losses))
hill = right.contourf(w0, w1, height, np.linspace(0, 1.0001, 11))
right.set(xlabel='intercept (log-odds at 60 °F)', title='Likelihood, top = 1',
          ylabel='slope per 10 °F')
fig.colorbar(hill, ticks=[0, 0.5, 1]);

# %% [markdown] tags=["caption"]
# Left: on the wrong side of zero the loss of an example grows like the distance. Right: the likelihood of the 23 flights has
# one summit, on a ridge where intercept and slope trade off.

# %% [markdown]
# There seems to be one maximum. To prove that there is never a second one we need two derivatives. From here on
# $L(\mathbf{w})$ is {eq}`ml.logreg.nll.simplified` divided by $N$, the *mean* loss. The derivative of $\log(1 + e^z)$ is
# $\sigma(z)$, so by the chain rule
#
# ```{math}
# :label: logreg-gradient
# \nabla L(\mathbf{w}) = \frac1N \sum_{n=1}^N \big( \sigma(\mathbf{x}_n^\top \mathbf{w}) - y_n \big) \mathbf{x}_n = \frac1N \mathbf{X}^\top (\mathbf{p} - \mathbf{y}) ,
# \qquad p_n = \sigma(\mathbf{x}_n^\top \mathbf{w}) .
# ```
#
# Where it vanishes, $\mathbf{X}^\top \mathbf{p} = \mathbf{X}^\top \mathbf{y}$. Because $\mathbf{X}$ has a column of
# ones, the fitted probabilities add up to the number of ones in the data, and because of a 0-1 column for some group
# they do so within that group, too: on the data that it was fitted to, logistic regression is right on average.
# Differentiate once more, with $\sigma' = \sigma(1 - \sigma)$:
#
# ```{math}
# :label: ml.logreg.newton.hessian-sum
# \nabla^2 L(\mathbf{w}) = \frac1N \sum_{n=1}^N \sigma(\mathbf{x}_n^\top \mathbf{w}) \big( 1 - \sigma(\mathbf{x}_n^\top \mathbf{w}) \big) \, \mathbf{x}_n \mathbf{x}_n^\top
# ```
#
# A sum of outer products with weights is a product of three matrices:
#
# ```{math}
# :label: ml.logreg.newton.hessian-matrix
# \begin{gathered}
# \nabla^2 L(\mathbf{w}) = \frac1N \mathbf{X}^\top \mathbf{S} \mathbf{X}, \qquad
# \mathbf{S} = \operatorname{diag}(s_1, \dots, s_N), \\
# s_n = \sigma(\mathbf{x}_n^\top \mathbf{w}) \big( 1 - \sigma(\mathbf{x}_n^\top \mathbf{w}) \big)
# \end{gathered}
# ```
#
# Without $\mathbf{S}$ this is the Hessian of least squares.

# %%
def gradient(X, y, w):
    return X.T @ (expit(X @ w) - y) / len(y)

def hessian(X, w):
    s = expit(X @ w) * expit(-X @ w)  # p (1 - p), without cancellation
    return X.T * s @ X / len(X)

def autograd(transform, X, y, w):  # of the mean loss
    loss = lambda w: torch_nll(X, y, w) / len(y)
    return transform(loss)(torch.tensor(w))

def hessian_sum(X, y, w, factor):
    p = expit(X @ w)
    terms = [q * np.outer(x, x) for q, x in zip(factor(p), X, strict=True)]
    return sum(terms) / len(X)

# %%
def is_gradient(seed, link):
    X, y, w = problem(seed)
    first = autograd(torch.func.grad, X, y, w)
    return close(X.T @ (link(X @ w) - y) / len(y), first) and close(
        gradient(X, y, w), first)

def is_hessian(seed, formula):
    return close(formula(*problem(seed)),
                 autograd(torch.func.hessian, *problem(seed)))

# %% [markdown]
# ````{prf:theorem} One valley
# :label: thm-logreg-convex
# The Hessian of the logistic loss is positive semidefinite everywhere, so that $L$ is convex. It is *strictly*
# convex, and has therefore at most one minimum, if and only if the columns of $\mathbf{X}$ are linearly independent.
# ````
#
# ````{prf:proof}
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
# L\big( (1 - t) \mathbf{w} + t \mathbf{u} \big) \le (1 - t) L(\mathbf{w}) + t L(\mathbf{u}) \quad (0 \le t \le 1) .
# ```
#
# The weights $\sigma (1 - \sigma)$ are positive, so {eq}`ml.logreg.convexity.psd` is zero only if
# $\mathbf{X} \mathbf{v} = \mathbf{0}$. If that forces $\mathbf{v} = \mathbf{0}$, then $g'' > 0$ on every segment, and
# $L$ is strictly convex; if not, $L$ is constant along $\mathbf{v}$.
# ````
#
# The converse of the last implication holds too; both are proved, with more, in
# [Convex functions](../optimization/convex_functions.ipynb). What convexity excludes is best seen beside a loss that
# lacks it. The squared error of the *probabilities*, $\frac12 (\sigma(z) - y)^2$, has the second derivative
# $s^2 + (\sigma - y) \, s \, (1 - 2\sigma)$ with $s = \sigma(1 - \sigma)$, which is negative for $y = 1$ and
# $\sigma < \frac13$: a plateau, high above the valley.

# %%
def brier(X, y, w):  # squared error of the probabilities
    return ((expit(X @ w) - y) ** 2).mean() / 2

def brier_hessian(X, y, w):
    p = expit(X @ w)
    s = p * (1 - p)
    return X.T * (s**2 + (p - y) * s * (1 - 2 * p)) @ X / len(X)

X, y, w = problem(1)
by_torch = lambda w: F.mse_loss(
    torch.sigmoid(torch.tensor(X) @ w), torch.tensor(y)) / 2
assert close(torch.func.hessian(by_torch)(torch.tensor(w)),
             brier_hessian(X, y, w))

# %%
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

# %% [markdown]
# So [gradient descent](../optimization/gradient_descent.ipynb) cannot end in a wrong valley. As $s_n \le \frac14$, no
# curvature exceeds $M = \lambda_{\max}(\mathbf{X}^\top \mathbf{X}) / 4N$, and the step $1/M$ is safe. On the flights
# it arrives where scikit-learn does (`C=inf` turns off the penalty that it would add on its own):

# %%
def descend(X, y, w, steps):
    eta = 4 * len(y) / eigvalsh(X.T @ X)[-1]
    path = [w]
    for _ in range(steps):
        path.append(path[-1] - eta * gradient(X, y, path[-1]))
    return np.array(path)  # (steps + 1, D)

def by_sklearn(X, y, C=np.inf):  # the first column of X is the intercept
    model = LogisticRegression(
        C=C, solver='newton-cholesky', tol=1e-12, max_iter=500)
    model.fit(X[:, 1:], y)
    return np.concatenate([model.intercept_, model.coef_[0]])

path_f = descend(X_f, damaged, np.zeros(2), 1500)
w_f = by_sklearn(X_f, damaged)
assert close(path_f[-1], w_f)
assert close(losses.min(), nll(X_f, damaged, w_f) / 23, atol=1e-4)
assert close(expit(X_f @ w_f).sum(), 7)
arrived = (norm(path_f - w_f, axis=1) > 1e-6).sum()
print(f'steps of descent to six digits: {arrived}')
print(f'10 °F colder multiplies the odds of damage by {np.exp(-w_f[1]):.0f}')

# %% [markdown]
# ```{exercise} ★ Counts instead of cases
# :label: logreg-grouped
# Often many examples share one input. At input $\mathbf{x}_j$ there were $n_j$ trials, of which $k_j$ succeeded.
# Write `grouped_gradient(X, n, k, w)`, the gradient of the *sum* {eq}`ml.logreg.nll.simplified` over all trials,
# without unrolling them.
# ```

# %%
def grouped_gradient(X, n, k, w):
    raise NotImplementedError('your turn')

# %%
def gradient_unrolled(X, n, k, w):
    X_all = torch.tensor(np.repeat(X, n, axis=0))
    y_all = [i < success for trials, success in zip(n, k, strict=True)
             for i in range(trials)]
    total = lambda w: F.binary_cross_entropy_with_logits(
        X_all @ w, torch.tensor(y_all).double(), reduction='sum')
    return torch.func.grad(total)(torch.tensor(w))

levels = np.array([[1.0, -1], [1, 0.5], [1, 2]])
groups = [(levels, np.array([4, 1, 7]), np.array([1, 0, 5]), np.array(w))
          for w in ([0.0, 0], [0.3, -1], [-1, 2.0])]
grade(grouped_gradient, gradient_unrolled, groups)

# %% [markdown]
# ```{solution-start} logreg-grouped
# :class: dropdown
# ```
# The $n_j$ terms of a group have the same $\mathbf{x}_j$ and $p_j$; their labels add up to $k_j$. So the group
# contributes $(n_j p_j - k_j) \mathbf{x}_j$. Fitting the fractions $k_j / n_j$ as if each were one observation gives
# a group of one the same say as a group of seven.

# %% jupyter={"source_hidden": true}
def grouped_gradient_solution(X, n, k, w):
    return X.T @ (n * expit(X @ w) - k)

def of_fractions(X, n, k, w):
    return X.T @ (expit(X @ w) - k / n)

assert grade(grouped_gradient_solution, gradient_unrolled, groups)
assert not grade(of_fractions, gradient_unrolled, groups)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
holds(
    'ml.logreg.nll.nll',
    lambda seed: close(by_switches(*problem(seed)), torch_nll(*problem(seed))),
    slip=(
        'exchanges the labels',
        lambda seed: close(
            by_switches(
                problem(seed)[0], 1 - problem(seed)[1], problem(seed)[2]
            ),
            torch_nll(*problem(seed)),
        ),
    ),
    seed=seeds(),
    tries=30,
)
erratum(
    'ml.logreg.nll.simplified',
    printed=lambda seed: close(
        -nll(*problem(seed)), torch_nll(*problem(seed))
    ),
    corrected=lambda seed: (
        close(nll(*problem(seed)), torch_nll(*problem(seed)))
        and nll(*problem(seed)) > 0
    ),
    seed=seeds(),
    tries=30,
)
verify(
    'the gradient is X^T (p - y) / N',
    lambda seed: is_gradient(seed, expit),
    slip=('forgets the sigmoid', lambda seed: is_gradient(seed, lambda z: z)),
    seed=seeds(),
    tries=15,
)
holds(
    'ml.logreg.newton.hessian-sum',
    lambda s: is_hessian(s, lambda *c: hessian_sum(*c, lambda p: p * (1 - p))),
    slip=(
        'takes p for p(1 − p)',
        lambda s: is_hessian(s, lambda *c: hessian_sum(*c, lambda p: p)),
    ),
    s=seeds(),
    tries=12,
)
holds(
    'ml.logreg.newton.hessian-matrix',
    lambda s: is_hessian(s, lambda X, y, w: hessian(X, w)),
    slip=(
        'forgets the weights S',
        lambda s: is_hessian(s, lambda X, y, w: X.T @ X / len(X)),
    ),
    s=seeds(),
    tries=12,
)

# %% tags=["checks"]
holds(
    'ml.logreg.convexity.psd',
    lambda seed: quadratic_form(seed, 2),
    slip=('loses the square', lambda seed: quadratic_form(seed, 1)),
    seed=seeds(),
    tries=30,
)
holds(
    'ml.logreg.convexity.geq',
    lambda s: eigvalsh(hessian(problem(s)[0], problem(s)[2]))[0] >= -1e-12,
    slip=(
        'takes the squared error of the probabilities',
        lambda s: eigvalsh(brier_hessian(*problem(s)))[0] >= -1e-12,
    ),
    s=seeds(),
    tries=60,
)
holds(
    'ml.logreg.convexity.convex',
    lambda seed, t: below_chord(nll, seed, t),
    slip=(
        'takes the squared error of the probabilities',
        lambda seed, t: below_chord(brier, seed, t),
    ),
    seed=seeds(),
    t=scalars(0, 1),
    tries=100,
)

# %% [markdown]
# ## Newton's method is weighted least squares
#
# This section continues [The logistic loss: gradient, Hessian and
# convexity](#the-logistic-loss-gradient-hessian-and-convexity), with its derivatives and the flights. Descent sees a slope.
# [Newton's method](../optimization/stationary_points.ipynb) sees a bowl: with gradient and Hessian at the current weights
# it draws a paraboloid $Q$, the right side of
#
# ```{math}
# :label: ml.logreg.newton.taylor
# \begin{aligned}
# L(\mathbf{w}) \approx {} & L(\mathbf{w}^{(t)}) + \nabla L(\mathbf{w}^{(t)})^\top (\mathbf{w} - \mathbf{w}^{(t)}) \\
# & + \tfrac12 (\mathbf{w} - \mathbf{w}^{(t)})^\top \, \nabla^2 L(\mathbf{w}^{(t)}) \, (\mathbf{w} - \mathbf{w}^{(t)})
# \end{aligned}
# ```
#
# and jumps to its lowest point. The gradient of $Q$ is $\nabla L + \nabla^2 L \, (\mathbf{w} - \mathbf{w}^{(t)})$; setting
# it to zero,
#
# ```{math}
# :label: ml.logreg.newton.idea
# \operatorname*{arg\,min}_{\mathbf{w}} Q(\mathbf{w}) = \mathbf{w}^{(t)} - \nabla^2 L(\mathbf{w}^{(t)})^{-1} \, \nabla L(\mathbf{w}^{(t)}) .
# ```
#
# That the paraboloid fits to second order means that the error falls with the *third* power of the distance: at half
# the distance it is an eighth. Without the $\frac12$ it would be a quarter.

# %%
def paraboloid(X, y, w, p, half):  # at w + p
    slope, bend = gradient(X, y, w) @ p, p @ hessian(X, w) @ p
    return nll(X, y, w) / len(y) + slope + half * bend

def order_of_error(half):  # exponents, from seven directions
    X, y, w = problem(2)
    exponents = []
    for p in np.random.default_rng(0).normal(size=(7, 3)):
        errors = [abs(nll(X, y, w + h * p) / 12 - paraboloid(
            X, y, w, h * p, half)) for h in (0.01, 0.005)]
        exponents.append(np.log2(errors[0] / errors[1]))
    return np.array(exponents)

def newton_step(X, y, w, factor=1):
    return -factor * solve(hessian(X, w), gradient(X, y, w))

def is_lowest_point(seed, factor):
    X, y, w = problem(seed, N=40)
    bowl = lambda p: paraboloid(X, y, w, p, 1 / 2)
    slope = lambda p: gradient(X, y, w) + hessian(X, w) @ p
    lowest = minimize(bowl, np.zeros(3), jac=slope, tol=1e-11).x
    return close(newton_step(X, y, w, factor), lowest, rtol=1e-5, atol=1e-7)

# %% [markdown]
# For the logistic loss the step has a second face. Write $\mathbf{z} = \mathbf{X}\mathbf{w}$ and put the derivatives
# in; the factors $\frac1N$ cancel:
#
# $$
# \begin{aligned}
# \mathbf{w}_{\text{new}} &= \mathbf{w} + (\mathbf{X}^\top \mathbf{S} \mathbf{X})^{-1} \mathbf{X}^\top (\mathbf{y} - \mathbf{p}) \\
# &= (\mathbf{X}^\top \mathbf{S} \mathbf{X})^{-1} \big( \mathbf{X}^\top \mathbf{S} \, \mathbf{X} \mathbf{w} +
# \mathbf{X}^\top (\mathbf{y} - \mathbf{p}) \big) \\ &= (\mathbf{X}^\top \mathbf{S} \mathbf{X})^{-1} \mathbf{X}^\top
# \mathbf{S} \, \boldsymbol\zeta ,
# \qquad \boldsymbol\zeta = \mathbf{z} + \mathbf{S}^{-1} (\mathbf{y} - \mathbf{p}) .
# \end{aligned}
# $$
#
# These are the normal equations of a *weighted* [least-squares problem](../regression/linear_regression.ipynb),
# $\min_{\mathbf{w}} \sum_n s_n (\zeta_n - \mathbf{x}_n^\top \mathbf{w})^2$. One straightens the sigmoid at the
# current score: $\zeta_n$ is the score at which the tangent would reach $y_n$. Its noise, that of a coin divided by
# the slope $s_n$, has variance $s_n / s_n^2 = 1 / s_n$, and least squares weights by the inverse variance. Hence the
# name *iteratively reweighted least squares*, IRLS. It is no mere curiosity, for a least-squares routine works on
# $\mathbf{S}^{1/2} \mathbf{X}$ and never forms $\mathbf{X}^\top \mathbf{S} \mathbf{X}$, whose condition number is the
# [square](../linear_algebra/qr_decomposition.ipynb).

# %%
def irls_step(X, y, w, power=0.5):  # power 0: unweighted
    s = expit(X @ w) * expit(-X @ w)
    zeta = X @ w + (y - expit(X @ w)) / s
    return lstsq(X * s[:, None] ** power, zeta * s**power)[0] - w
assert close(irls_step(*problem(0)), newton_step(*problem(0)))

# %% [markdown]
# Newton's method may also shorten its steps by a factor $\gamma_t$,
#
# ```{math}
# :label: ml.logreg.newton.is-gd
# \mathbf{w}^{(t+1)} = \mathbf{w}^{(t)} - \gamma_t \, \nabla^2 L(\mathbf{w}^{(t)})^{-1} \, \nabla L(\mathbf{w}^{(t)}), \qquad \gamma_t > 0 .
# ```
#
# This is gradient descent in other units. Factor the Hessian at $\mathbf{w}^{(t)}$ as $\mathbf{C} \mathbf{C}^\top$ and
# measure the weights as $\mathbf{v} = \mathbf{C}^\top \mathbf{w}$. In these units the bowl is round, and a step of gradient
# descent, $\mathbf{v} - \gamma \, \mathbf{C}^{-1} \nabla L$, read back, is $\mathbf{w} - \gamma \, \mathbf{C}^{-\top}
# \mathbf{C}^{-1} \nabla L$: Newton's step. So Newton's method is gradient descent in units that it chooses anew at every
# step. Its step has the direction of plain descent only where the gradient is an eigenvector of the Hessian.
#
# What it knows beyond descent is the Hessian, and the reward is that each step about
# [squares the error](../optimization/stationary_points.ipynb),
#
# ```{math}
# :label: ml.logreg.newton.second-order-info
# \|\mathbf{w}^{(t+1)} - \mathbf{w}^*\| \approx c \, \|\mathbf{w}^{(t)} - \mathbf{w}^*\|^2 .
# ```
#
# On the flights we measure the exponent, as a ratio of logarithms. We also measure it for steps that compute the curvature
# once, at the start, and keep it.

# %%
def newton(X, y, w, steps, bend=hessian):  # plain: full steps
    path = [w]
    for _ in range(steps):
        try:
            step = solve(bend(X, path[-1]), gradient(X, y, path[-1]))
        except linalg.LinAlgError:  # the curvature has underflowed
            break
        path.append(path[-1] - step)
    return np.array(path)

def exponent(path):  # of the last error above rounding
    errors = norm(path - w_f, axis=1)
    t = np.flatnonzero(errors > 1e-9)[-1]
    logs = np.log(errors[t - 2:t + 1])
    return (logs[2] - logs[1]) / (logs[1] - logs[0])

def in_round_units(seed, gamma, factor):
    X, y, w = problem(seed, N=30)
    C = factor(hessian(X, w))
    back = lambda v: solve(C.T, v)
    slope = autograd(torch.func.grad, X @ inv(C.T), y, C.T @ w).numpy()
    new = back(C.T @ w - gamma * slope)
    return close(new - w, newton_step(X, y, w, gamma), rtol=1e-5)

# %% tags=["hide-input"]
path_n = newton(X_f, damaged, np.zeros(2), 8)
assert close(path_n[-1], w_f, rtol=1e-9)
print('Newton, by step:', *(f'{b:.4f}' for b in path_n[1:6, 1]))
stale = newton(X_f, damaged, np.zeros(2), 150,
               lambda X, w: hessian(X, np.zeros(2)))
print(f'exponent of Newton {exponent(path_n):.1f},',
      f'with the curvature of the start {exponent(stale):.1f}')

# %% tags=["checks"]
holds(
    'ml.logreg.newton.is-gd',
    lambda seed, gamma: in_round_units(seed, gamma, cholesky),
    slip=(
        'measures the weights in their old units',
        lambda seed, gamma: in_round_units(seed, gamma, lambda H: np.eye(3)),
    ),
    seed=seeds(),
    gamma=[1, 0.5],
    tries=40,
)
holds(
    'ml.logreg.newton.second-order-info',
    lambda: abs(exponent(path_n) - 2) < 0.3,
    slip=(
        'computes the curvature once and keeps it',
        lambda: abs(exponent(stale) - 2) < 0.3,
    ),
)

# %% mystnb={"image": {"alt": "Left: level lines of the loss of the flights; the path of descent bends along the valley in many small steps, that of Newton goes almost straight to the bottom. Right: the error against the step on logarithmic axes; Newton's falls ever more steeply within seven steps, that of descent takes hundreds."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
levels = losses.min() + 0.004 * 2.0 ** np.arange(9)
left.contour(w0, w1, losses, levels, colors=GREY, linewidths=0.6)
errors = {}
for name, path, colour in (('descent', path_f, 'C0'),
                           ('Newton', path_n, 'C1')):
    left.plot(*path.T, '.-', color=colour, lw=1)
    errors[name] = norm(path - w_f, axis=1)
    right.loglog(np.arange(len(path)) + 1, np.maximum(errors[name], 1e-12),
                 color=colour)
left.set(xlabel='intercept', ylabel='slope per 10 °F', xlim=(-1.5, 3),
         ylim=(-4, 1))
right.text(7, 1e-6, 'Newton', color='C1')
right.text(300, 1e-3, 'descent', color='C0')
right.set(xlabel='step + 1', title='Distance from the optimum',
          ylim=(1e-11, 10));

# %% [markdown] tags=["caption"]
# On the flights Newton's method comes within $10^{-11}$ of the optimum within seven steps; descent with a safe step creeps
# along the narrow valley for hundreds.

# %% [markdown]
# Five numbers, each with about twice the correct digits of the one before. (scikit-learn's coefficients were the judge,
# and the slope of $-2.3216/10 = -0.2322$ per degree is the one in the literature.)
#
# **When the bowl lies.** Far out the logistic loss is nearly straight, so its curvature is tiny, and the paraboloid
# has its lowest point absurdly far away. On five numbers, with a single weight, two starts on the same side of the
# minimum have opposite fates:

# %%
x_line = np.array([[-2.0], [-1], [0.9], [1], [2]])
y_line = np.array([0.0, 0, 0, 1, 1])
near = newton(x_line, y_line, np.array([2.6]), 6)[:, 0]
far = newton(x_line, y_line, np.array([4.2]), 3)[:, 0]
print('from 2.6:', *near.round(3))
print('from 4.2:', *(f'{w:.4g}' for w in far))

# %% mystnb={"image": {"alt": "Two panels with the loss of one weight, a valley with a straight right side. Left, from 2.6, the parabola touches the curve and its vertex lies left of the minimum, about as far from it as the start. Right, from 4.2, the parabola is nearly flat and its vertex lies far outside to the left, where the loss is high."}} tags=["hide-input"]
fig, axes = panels(2, height=2.5)
grid = np.linspace(-16, 6, 221)
for ax, path in zip(axes, (near, far), strict=True):
    ax.plot(grid, nll(x_line, y_line, grid[:, None]) / 5, color=GREY, lw=2.5)
    start, p = path[:1], grid - path[0]
    bowl = [paraboloid(x_line, y_line, start, q, 1 / 2) for q in p[:, None]]
    ax.plot(grid, bowl)
    height = nll(x_line, y_line, path[:2, None]) / 5
    ax.plot(path[:2], height, 'C1o')
    ax.annotate('', (path[1], height[1]), (path[0], height[0]),
                arrowprops=dict(arrowstyle='->', color='C1', lw=1.5))
    ax.set(xlabel='weight w', title=f'from {path[0]}')
axes[0].set(ylabel='mean loss', xlim=(-4, 5), ylim=(-0.2, 3))
axes[1].set(xlim=(-16, 6), ylim=(-3, 18));

# %% [markdown] tags=["caption"]
# Newton's method trusts the parabola. From 2.6 its vertex overshoots the minimum but stays in the valley; from 4.2, where
# the loss is almost straight, it lies far out, where the loss is many times larger.

# %% [markdown]
# The cure is to mistrust: since $L$ is convex, the Newton direction leads down wherever the Hessian is invertible, so
# halve the step until the loss falls by a fair part of what the slope promises (Armijo's condition). If $L$ has a
# minimum at all, the set where $L$ is below its starting value is bounded, as for every strictly convex function; on
# it curvature is bounded from both sides, and the walk converges, finally with full steps {cite}`boyd2004convex`. We
# add a penalty $\frac12 \sum_j \lambda_j w_j^2$ with a $\lambda_j$ for each weight, so that the intercept can go
# free.

# %%
def objective(X, y, penalty):  # penalty (D,) -> value, gradient, Hessian
    return (lambda w: nll(X, y, w) / len(y) + penalty @ w**2 / 2,
            lambda w: gradient(X, y, w) + penalty * w,
            lambda w: hessian(X, w) + np.diag(penalty))

def damped_newton(value, slope, bend, w, tol=1e-10, most=100):
    path = [w]
    for _ in range(most):
        g = slope(w)
        if norm(g) < tol:
            break
        p, gamma = -solve(bend(w), g), 1.0
        enough = lambda c: value(w) + 1e-4 * c * (g @ p) + 1e-14  # rounding
        while value(w + gamma * p) > enough(gamma):
            gamma = gamma / 2
        w = w + gamma * p
        path.append(w)
    return np.array(path)

# %% [markdown]
# The coefficients are those of scikit-learn, with and without penalty. The library minimizes
# $C \cdot \text{(sum of the losses)} + \frac12 \|\mathbf{w}\|^2$, intercept excepted. Divided by $CN$ this is our
# objective with $\lambda = 1/(CN)$. If you forget the $N$, you regularize $N$ times too little.
#
# ```{exercise} ★★ A Hessian computed once
# :label: logreg-bound
# As $s_n \le \frac14$, the matrix $\mathbf{B} = \frac{1}{4N} \mathbf{X}^\top \mathbf{X}$ bounds all Hessians,
# $\nabla^2 L \preceq \mathbf{B}$ {cite}`bohning1992multinomial`. Show that the step
# $-\mathbf{B}^{-1} \nabla L(\mathbf{w})$ can never raise the loss, from any start, without any line search (the
# columns of $\mathbf{X}$ being independent). Write `bound_step(X, y, w)`.
# ```

# %%
def bound_step(X, y, w):
    raise NotImplementedError('your turn')

# %%
def bound_step_by_lstsq(X, y, w):  # a least-squares fit with weights 1/4
    return lstsq(X / 2, 2 * (y - expit(X @ w)))[0]

grade(bound_step, bound_step_by_lstsq, [problem(seed) for seed in range(3)])

# %% [markdown]
# ```{solution-start} logreg-bound
# :class: dropdown
# ```
# Along the segment to $\mathbf{w} + \mathbf{p}$ the second derivative is at most
# $\mathbf{p}^\top \mathbf{B} \mathbf{p}$, so
# $L(\mathbf{w} + \mathbf{p}) \le L(\mathbf{w}) + \nabla L^\top \mathbf{p} + \frac12 \mathbf{p}^\top \mathbf{B} \mathbf{p}$.
# The right side is smallest at the proposed $\mathbf{p}$, where it is
# $L(\mathbf{w}) - \frac12 \nabla L^\top \mathbf{B}^{-1} \nabla L$. One factorization serves all steps, and the method
# cannot overshoot; it pays with linear convergence. Who forgets the $\frac14$ takes steps that are still safe, and
# four times too short.

# %% jupyter={"source_hidden": true}
def bound_step_solution(X, y, w):
    return -solve(X.T @ X / (4 * len(y)), gradient(X, y, w))

def without_quarter(X, y, w):
    return -solve(X.T @ X / len(y), gradient(X, y, w))

bound_cases = [problem(seed) for seed in range(3)]
assert grade(bound_step_solution, bound_step_by_lstsq, bound_cases)
assert not grade(without_quarter, bound_step_by_lstsq, bound_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
holds(
    'ml.logreg.newton.taylor',
    lambda: (abs(order_of_error(1 / 2) - 3) < 0.1).all(),
    slip=(
        'forgets the half before the Hessian',
        lambda: (abs(order_of_error(1) - 3) < 0.1).all(),
    ),
)
holds(
    'ml.logreg.newton.idea',
    lambda seed: is_lowest_point(seed, 1),
    slip=(
        'keeps a factor 2 before the Hessian',
        lambda seed: is_lowest_point(seed, 1 / 2),
    ),
    seed=seeds(),
    tries=20,
)

def steps_agree(seed, power):
    case = problem(seed)
    return close(irls_step(*case, power), newton_step(*case), rtol=1e-5)

verify(
    'a Newton step is a weighted least-squares fit',
    lambda seed: steps_agree(seed, 0.5),
    slip=(
        'forgets the weights of the least squares',
        lambda seed: steps_agree(seed, 0),
    ),
    seed=seeds(),
    tries=60,
)
line = objective(x_line, y_line, np.zeros(1))
verify(
    'with damping every start leads to the minimum',
    lambda w: close(damped_newton(*line, np.array([w]))[-1], near[-1:]),
    slip=(
        'takes full steps without damping',
        lambda w: close(
            newton(x_line, y_line, np.array([w]), 6)[-1], near[-1:]
        ),
    ),
    w=scalars(-6, 6),
    tries=60,
)

# %% tags=["checks"]
def same_as_sklearn(seed, lam, scale):
    X, y, _ = problem(seed, N=60, D=4)
    ours = damped_newton(
        *objective(X, y, lam * np.array([0, 1, 1, 1])), np.zeros(4)
    )[-1]
    theirs = by_sklearn(X, y, scale(lam, 60))
    return close(ours, theirs, rtol=1e-6, atol=1e-7)

verify(
    'the coefficients are those of scikit-learn',
    lambda seed, lam: same_as_sklearn(
        seed, lam, lambda lam, N: 1 / (lam * N) if lam else np.inf
    ),
    slip=(
        'forgets the number of examples in C',
        lambda seed, lam: same_as_sklearn(
            seed, lam, lambda lam, N: 1 / lam if lam else np.inf
        ),
    ),
    seed=list(range(20)),
    lam=[0, 0.001, 0.01, 0.1],
    tries=40,
)

# %% [markdown]
# ## Separable data: when no best fit exists
#
# This section continues [Newton's method is weighted least squares](#newtons-method-is-weighted-least-squares), and uses
# its solvers. "If $L$ has a minimum at all", we said. Suppose that some $\mathbf{b}$ puts every one on its positive and
# every zero on its negative side. Then multiplying $\mathbf{b}$ by 2 makes every answer more certain, and right; by 4, more
# so; the loss falls towards zero and never gets there. The cleaner the data, the worse for the method. With the signs
# $\varepsilon_n = 2 y_n - 1 = \pm 1$ a term of the loss is $\log(1 + e^{-m_n})$, where $m_n = \varepsilon_n
# \mathbf{x}_n^\top \mathbf{w}$ is the *margin* of example $n$. Call the data *separable* if there is a $\mathbf{b}$ with
# all $\varepsilon_n \mathbf{x}_n^\top \mathbf{b} \ge 0$, not all zero: some examples may sit on the fence.
#
# ```{prf:theorem} Existence (Albert and Anderson; Silvapulle)
# :label: thm-logreg-existence
# Let $\mathbf{X}$ have independent columns. The logistic loss has a minimum if and only if the data are not
# separable; it is then the only one.
# ```
#
# ```{prf:proof}
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
# The condition {cite}`albert1984existence,silvapulle1981existence` is about signs of linear forms, so a linear
# program decides it: among all $\mathbf{b}$ in a box with $\varepsilon_n \mathbf{x}_n^\top \mathbf{b} \ge 0$, make
# the sum of these numbers large. The value is zero if and only if $\mathbf{b} = \mathbf{0}$ is all there is.

# %%
def separating_direction(X, y):  # (D,), zero where there is none
    signed = (2 * y - 1)[:, None] * X
    return linprog(-signed.sum(0), A_ub=-signed, b_ub=np.zeros(len(y)),
                   bounds=(-1, 1)).x

def separable(X, y):
    return abs(X @ separating_direction(X, y)).max() > 1e-6

# %% [markdown]
# On data that are not separable the damped Newton walk settles; on separable data it marches on for ever, even if some
# examples lie on the border.

# %%
def whole_numbers(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(6), rng.integers(-2, 3, size=(6, 1))])
    X[:2, 1] = [-1, 1]  # independent columns
    return X, rng.integers(0, 2, size=6) * 1.0

# %% [markdown]
# **Where do the weights go?** Their length has no limit, but their direction has one. We leave the intercept out, to
# have a picture in the plane, and call $m(\mathbf{u}) = \min_n \varepsilon_n \mathbf{x}_n^\top \mathbf{u}$ the margin
# of a unit vector $\mathbf{u}$. Let $\mathbf{u}^*$ have the largest one, $m^* > 0$. (It is unique: of two, the
# normalized midpoint would have a larger margin.)
#
# ````{prf:theorem} A vanishing penalty finds the widest street
# :label: thm-logreg-margin
# Let the data be strictly separable, and let $\mathbf{w}_\lambda = r \mathbf{u}$, $\|\mathbf{u}\| = 1$, minimize
# $L(\mathbf{w}) + \frac\lambda2 \|\mathbf{w}\|^2$, where $\lambda$ is so small that all margins are positive. Then
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
# $\mathbf{w}_\lambda$ beats $r \mathbf{u}^*$, and both pay the same penalty, so
# $N L(r \mathbf{u}) \le N L(r \mathbf{u}^*)$. On the right every term is
# $\log(1 + e^{-m_n}) \le e^{-m_n} \le e^{-r m^*}$. On the left one term has the margin $r \, m(\mathbf{u}) > 0$, and
# $\log(1 + x) \ge x / 2$ for $0 \le x \le 1$. Therefore $\frac12 e^{-r m(\mathbf{u})} \le N e^{-r m^*}$; take
# logarithms. As $\lambda \to 0$ the minimal value tends to zero (take a long multiple of $\mathbf{u}^*$ with a much
# smaller penalty still), so $r \to \infty$ and $m(\mathbf{u}) \to m^*$. A limit point of the directions has margin
# $m^*$, and only $\mathbf{u}^*$ has.
# ````
#
# The direction of the widest street between the classes is the *support vector machine* (without intercept), found here
# by accident {cite}`rosset2004boosting`. Gradient descent without any penalty goes there, too, as slowly as its norm
# grows, like $\log t$ {cite}`soudry2018implicit`. Newton's method hurries: where all losses are nearly $e^{-m_n}$ it
# adds 1 to the smallest margins at each step, as it adds exactly 1 to $w$ on the function $e^{-w}$. What stops it in
# the end is rounding alone. The two smallest margins here belong to ones. Beyond $z = 53 \log 2 \approx 36.7$ the sum
# $1 + e^{-z}$ rounds to 1, and so does $\sigma(z)$; the residuals $p_n - y_n$ of the ones vanish, and the walk stands
# still, with every sign of success. (Had they been zeros, whose $p_n$ keeps its digits, it would go on to margins of
# 710, where $e^{-z}$ leaves the normal numbers.)

# %%
rng = np.random.default_rng(3)
X_s = rng.normal(size=(60, 2)) * [1.5, 1]
score_s = X_s @ [0.6, 0.8]
X_s, y_s = X_s[abs(score_s) > 0.3], (score_s[abs(score_s) > 0.3] > 0) * 1.0
signed_s = (2 * y_s - 1)[:, None] * X_s  # (N, 2)
street = minimize(lambda w: w @ w / 2, np.ones(2), jac=lambda w: w,
                  constraints={'type': 'ineq', 'jac': lambda w: signed_s,
                               'fun': lambda w: signed_s @ w - 1}).x
best_margin = 1 / norm(street)
assert separable(X_s, y_s) and (signed_s @ street).min() > 1 - 1e-6

# %%
def margin(w):  # (..., 2) -> (...)
    return (w @ signed_s.T).min(-1) / norm(w, axis=-1)

def ridge_path(lams):
    return np.array([damped_newton(
        *objective(X_s, y_s, lam * np.ones(2)), np.zeros(2))[-1]
        for lam in lams])

around = np.linspace(0, 2 * np.pi, 100_001)
circle = np.stack([np.cos(around), np.sin(around)], -1)
assert close(margin(circle).max(), best_margin, rtol=1e-4)

# %%
path_lam = ridge_path(np.geomspace(1e-2, 1e-9, 15))
long_walk = descend(X_s, y_s, np.zeros(2), 20_000)
sprint = newton(X_s, y_s, np.zeros(2), 60)
smallest = (sprint @ signed_s.T).min(1)
print('Newton, smallest margin:', *smallest[10:51:5].round(1))
gains = np.diff(smallest)[24:34]
assert close(gains, np.ones(10), atol=0.01)
print(f'gain a step, about there: {gains.mean():.3f}')
print(f'norm at which rounding stops it: {norm(sprint[-1]):.0f}')
assert close(sprint[-1], sprint[-5]) and abs(smallest[-1] - 36.74) < 0.02
print('descent, norm after 10^2, 10^3, 10^4 steps:',
      *norm(long_walk[[100, 1000, 10_000]], axis=1).round(1))

# %% mystnb={"image": {"alt": "Left: the norm of the weights over steps on logarithmic axes. Newton's rises steeply to a hundred within forty steps and stands still; that of descent creeps for twenty thousand steps. Right: the lacking margin against the norm, for the ridge path and for descent, both falling below the dashed bound."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
for name, path, colour in (('descent', long_walk, 'C0'),
                           ('Newton', sprint, 'C1')):
    left.loglog(np.arange(1, len(path)), norm(path[1:], axis=1), color=colour)
    left.text(len(path), 1.25 * norm(path[-1]), name, color=colour,
              ha='right', va='bottom')
left.set(xlabel='step', ylabel='norm of the weights', ylim=(0.5, 300))
lengths = norm(path_lam, axis=1)
right.loglog(lengths, best_margin - margin(path_lam), 'C2o-', ms=4,
             label='penalty λ → 0')
right.loglog(norm(long_walk[10:], axis=1),
             best_margin - margin(long_walk[10:]), label='descent')
right.loglog(lengths, np.log(2 * len(y_s)) / lengths, '--', color=GREY,
             label='bound')
right.set(xlabel='norm of the weights', title='margin lacking')
right.set_xticks([3, 10, 30], ['3', '10', '30'])
right.minorticks_off()
right.legend(fontsize=8);

# %% [markdown] tags=["caption"]
# On separable data the weights never settle. Left: Newton's grow until rounding stops them, those of descent creep. Right:
# their direction nears the widest street, well within the bound.

# %% [markdown]
# **Nearly separable** data have a best fit, but regions where the bowl lies may be on the way. Here are five
# observations of whole numbers on which plain Newton explodes from zero weights, the start of every textbook. (A
# random search found it; such tables are rare.) Damping finds the fit without effort.

# %%
X_5 = np.array([[1.0, 7, 0], [1, -1, -1], [1, -46, -46], [1, 0, -1],
                [1, -62, 4]])
y_5 = np.array([0.0, 0, 1, 1, 1])
plain = newton(X_5, y_5, np.zeros(3), 40)
safe = damped_newton(*objective(X_5, y_5, np.zeros(3)), np.zeros(3))
print('separable:', separable(X_5, y_5))
print('plain, largest weight:', *(f'{v:#.3g}' for v in abs(plain).max(1)[:9]))
print('damped:', *safe[-1].round(3), 'in', len(safe) - 1, 'steps')
assert len(plain) < 41
assert close(safe[-1], by_sklearn(X_5, y_5), rtol=1e-5)

# %% [markdown]
# So there are two ways to be safe. Ask the program first, and report "separable" instead of weights that merely tell
# when the solver lost patience. Or add a penalty: with $\lambda > 0$ on all weights the loss is coercive for *every*
# data set (on all but the intercept will do, if both labels occur). A solver that does neither will return something,
# with a straight face.
#
# ```{exercise} ★★ Three kinds of data
# :label: logreg-kinds
# Write `kind(X, y)` for $\mathbf{X}$ with independent columns: 2 if the data are strictly separable (some
# $\mathbf{b}$ has all $\varepsilon_n \mathbf{x}_n^\top \mathbf{b} > 0$), 1 if they are separable only with examples
# on the fence, and 0 if a best fit exists. The grader tries all directions in the plane that matter.
# ```

# %%
def kind(X, y):
    raise NotImplementedError('your turn')

# %%
def kind_by_directions(X, y):  # D = 2
    signed = (2 * y - 1)[:, None] * X
    angles = np.arctan2(signed[:, 1], signed[:, 0])
    fence = np.concatenate([angles + np.pi / 2, angles - np.pi / 2])
    fence = np.sort(fence % (2 * np.pi))
    between = (fence + np.append(fence[1:], fence[0] + 2 * np.pi)) / 2
    tried = np.concatenate([fence, between])
    sides = signed @ np.stack([np.cos(tried), np.sin(tried)])  # (N, angles)
    if (sides > 1e-9).all(0).any():
        return 2
    return int((sides > -1e-9).all(0).any())

def without_ones(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(5, 2)) * 1.0
    X[:2] = [[1, 0], [0, 1]]  # independent columns
    return X, rng.integers(0, 2, size=5) * 1.0

# %%
tables = [make(seed) for seed in range(80)
          for make in (whole_numbers, without_ones)]
grade(kind, kind_by_directions, tables)

# %% [markdown]
# ```{solution-start} logreg-kinds
# :class: dropdown
# ```
# A second program: the largest $t$ for which all $\varepsilon_n \mathbf{x}_n^\top \mathbf{b} \ge t$ with $\mathbf{b}$
# in the box. It is positive exactly for strict separation. The first program cannot tell kinds 1 and 2 apart, since
# its solution may sit on the fence without need.

# %% jupyter={"source_hidden": true}
def kind_solution(X, y):
    signed = (2 * y - 1)[:, None] * X
    A = np.column_stack([-signed, np.ones(len(y))])  # t <= signed @ b
    box = [(-1, 1)] * X.shape[1] + [(None, 1)]
    top = linprog(-np.eye(len(box))[-1], A_ub=A, b_ub=np.zeros(len(y)),
                  bounds=box)
    return 2 if top.x[-1] > 1e-9 else int(separable(X, y))

def by_the_first_program(X, y):
    sides = (2 * y - 1) * (X @ separating_direction(X, y))
    return int(separable(X, y)) + int((sides > 1e-6).all())

assert grade(kind_solution, kind_by_directions, tables)
assert not grade(by_the_first_program, kind_by_directions, tables)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def marches_on(X, y):
    path = damped_newton(
        *objective(X, y, np.zeros(2)), np.zeros(2), tol=1e-11, most=30
    )
    return norm(path[-1] - path[-2]) > 0.1 if len(path) > 1 else False

def strictly_separable(X, y):  # rows (1, x): by a number between the labels
    zeros, ones = X[y == 0, 1], X[y == 1, 1]
    return not (len(zeros) and len(ones)) or (
        zeros.max() < ones.min() or ones.max() < zeros.min()
    )

verify(
    'Newton marches on for ever exactly where the program separates',
    lambda seed: (
        marches_on(*whole_numbers(seed)) == separable(*whole_numbers(seed))
    ),
    slip=(
        'asks for strict separation',
        lambda seed: (
            marches_on(*whole_numbers(seed))
            == strictly_separable(*whole_numbers(seed))
        ),
    ),
    seed=list(range(80)),
    tries=40,
)

def bounded(lam, power):
    w, N = ridge_path([lam])[0], len(y_s)
    shortfall = best_margin - margin(w)
    return 0 <= shortfall <= np.log(2 * N) / norm(w) ** power

verify(
    'the margin falls short by at most log(2N) / norm',
    lambda lam: bounded(lam, 1),
    slip=('divides by the squared norm', lambda lam: bounded(lam, 2)),
    lam=list(np.geomspace(1e-3, 1e-9, 7)),
)

# %% [markdown]
# ## Generalized linear models, Poisson regression and error bars
#
# This section continues [Newton's method is weighted least squares](#newtons-method-is-weighted-least-squares), with its
# solvers and the flights. Which part of all this was about coins? Surprisingly little. Bernoulli, Gaussian (of variance 1)
# and Poisson laws can all be written in the form
#
# ```{math}
# :label: logreg-family
# p(y \mid \eta) = h(y) \, e^{\eta y - A(\eta)}, \qquad e^{A(\eta)} = \int h(y) \, e^{\eta y} \, dy ,
# ```
#
# a sum instead of the integral for counts: an *exponential family* with the *natural parameter* $\eta$. A coin has
# $p^y (1 - p)^{1 - y} = e^{y \log \frac{p}{1 - p} + \log(1 - p)}$: its natural parameter is the log-odds, and there
# is the sigmoid again. A count of mean $\mu$ has $\mu^y e^{-\mu} / y! = \frac{1}{y!} e^{y \log \mu - \mu}$: its
# natural parameter is $\log \mu$.
#
# | law | $\eta$ | $A(\eta)$ | mean $A'$ | variance $A''$ |
# |---|---|---|---|---|
# | Bernoulli | $\log \frac{p}{1 - p}$ | $\log(1 + e^\eta)$ | $\sigma(\eta)$ | $\sigma(\eta) \sigma(-\eta)$ |
# | Poisson | $\log \mu$ | $e^\eta$ | $e^\eta$ | $e^\eta$ |
# | Gaussian, variance 1 | $\mu$ | $\frac12 \eta^2$ | $\eta$ | $1$ |
#
# ```{prf:theorem} The normalizer knows mean and variance
# :label: thm-logreg-cumulants
# In the interior of the interval where $A$ is finite, $A'(\eta) = \mathbb{E}[y]$ and
# $A''(\eta) = \operatorname{Var}(y)$. In particular $A$ is convex.
# ```
#
# ```{prf:proof}
# There $e^{A(\eta)}$ may be differentiated under the integral as often as one likes {cite}`lehmann1998theory`. Once:
# $A' e^A = \int y \, h \, e^{\eta y} dy$, that is $A' = \mathbb{E}[y]$. Twice:
# $(A'' + A'^2) e^A = \int y^2 h \, e^{\eta y} dy$, that is $A'' = \mathbb{E}[y^2] - \mathbb{E}[y]^2$.
# ```
#
# A *generalized linear model* with canonical link lets $\eta_n = \mathbf{x}_n^\top \mathbf{w}$
# {cite}`nelder1972generalized`. Up to a constant its negative log-likelihood, divided by $N$, is
#
# $$
# \begin{aligned}
# L(\mathbf{w}) &= \frac1N \sum_{n=1}^N \big[ A(\mathbf{x}_n^\top \mathbf{w}) - y_n \mathbf{x}_n^\top \mathbf{w} \big] , \\
# \nabla L &= \tfrac1N \mathbf{X}^\top (\boldsymbol\mu - \mathbf{y}), \qquad
# \nabla^2 L = \tfrac1N \mathbf{X}^\top \operatorname{diag}(A''(\eta_n)) \, \mathbf{X} ,
# \end{aligned}
# $$
#
# and what was said of the loss and its solver returns word by word: one valley, sums that the fit gets right, reweighted
# least squares. Only three functions change.

# %%
families = {  # A, mean, variance
    'Bernoulli': (lambda e: np.logaddexp(0, e), expit,
                  lambda e: expit(e) * expit(-e)),
    'Poisson': (np.exp, np.exp, np.exp),
    'Gaussian': (lambda e: e**2 / 2, lambda e: e, np.ones_like),
}
laws = {'Bernoulli': lambda e: stats.bernoulli(expit(e)),
        'Poisson': lambda e: stats.poisson(np.exp(e)), 'Gaussian': stats.norm}

# %%
def glm(X, y, family):  # value, gradient, Hessian
    A, mean, variance = family
    return (lambda w: (A(X @ w) - y * (X @ w)).mean(),
            lambda w: X.T @ (mean(X @ w) - y) / len(y),
            lambda w: X.T * variance(X @ w) @ X / len(y))

def fit(X, y, name):
    start = np.zeros(X.shape[1])
    return damped_newton(*glm(X, y, families[name]), start)[-1]

def poisson_by_sklearn(X, y):
    model = PoissonRegressor(
        alpha=0, solver='newton-cholesky', tol=1e-12, max_iter=500)
    model.fit(X[:, 1:], y)
    return np.concatenate([[model.intercept_], model.coef_])

def three_fits_agree(seed, fit_counts):
    X, y, w = problem(seed, N=50)
    counts = np.random.default_rng(seed).poisson(np.exp(X @ w / 2))
    return (close(fit(X, y, 'Gaussian'), lstsq(X, y)[0])
            and close(fit(X, y, 'Bernoulli'), by_sklearn(X, y))
            and close(fit_counts(X, counts), poisson_by_sklearn(X, counts)))

# %% [markdown]
# An old trick for counts is least squares on $\log(y + 1)$. That is another model, and it has another answer.
#
# **Error bars.** How far is $\hat{\mathbf{w}}$ from the truth? By
# [asymptotic normality](../probability/maximum_likelihood.ipynb) its covariance is about the inverse of the Fisher
# information of the whole sample (that of its limit law, to be exact: a sample is separable with a tiny probability,
# and then there is no $\hat{\mathbf{w}}$). With the canonical link that is no new object: the Hessian of the
# log-likelihood does not contain $\mathbf{y}$, so it *is* its own expectation, and Newton's method is Fisher scoring:
#
# ```{math}
# :label: logreg-covariance
# \operatorname{Cov}(\hat{\mathbf{w}}) \approx \big( \mathbf{X}^\top \operatorname{diag}(A''(\eta_n)) \, \mathbf{X} \big)^{-1} .
# ```
#
# The solver hands it over for free. Is it true? We draw the labels of 400 inputs 2000 times from known weights, refit
# each time (all at once), and compare the covariance of the estimates entry by entry. An entry of the covariance of
# $R$ Gaussian vectors has standard error $\sqrt{(C_{ii} C_{jj} + C_{ij}^2) / R}$.

# %%
def covariance(X, w, name):
    return inv(X.T * families[name][2](X @ w) @ X)

def refit(X, Y, name, w, steps=5):  # Y (R, N) -> (R, D), from w
    _, mean, variance = families[name]
    squares = np.einsum('nd,ne->nde', X, X)
    for _ in range(steps):
        H = np.tensordot(variance(w @ X.T), squares, 1)  # (R, D, D)
        g = (Y - mean(w @ X.T)) @ X  # (R, D)
        w = w + solve(H, g[..., None])[..., 0]
    return w

rng = np.random.default_rng(4)
X_w = np.column_stack([np.ones(400), rng.normal(size=400)])
truth, R = np.array([0.5, 1.0]), 2000
redrawn = {name: laws[name](X_w @ truth).rvs((R, 400), random_state=rng)
           for name in ('Bernoulli', 'Poisson')}
start = np.tile(truth, (R, 1))
refits = {n: refit(X_w, Y, n, start) for n, Y in redrawn.items()}
assert all(close(refits[n][7], fit(X_w, Y[7], n)) for n, Y in redrawn.items())

# %%
for name, w in refits.items():
    bars = np.array([np.diag(covariance(X_w, v, name)) for v in w]) ** 0.5
    inside = (abs(w - truth) < 1.96 * bars).mean(0)
    assert (abs(inside - 0.95) < 5 * np.sqrt(0.95 * 0.05 / R)).all()
    print(f'{name:9} truth within 1.96 error bars:', *inside.round(2))

# %% [markdown]
# Now the engineers' question. On the launch morning it was 31 °F, 22 degrees below the coldest flight on record. The
# log-odds there are $\mathbf{x}^\top \hat{\mathbf{w}}$ with variance $\mathbf{x}^\top \mathbf{C} \mathbf{x}$; their
# 95 % interval is mapped to probabilities by the sigmoid, which keeps it inside $[0, 1]$. And a second history for
# counts: deaths from AIDS in Australia by quarter, from January 1983 to June 1986 {cite}`whyte1987epidemiology`. Did
# they grow exponentially, $\log \mu = w_0 + w_1 t$? If a Poisson model is right, the squares of
# $(y_n - \mu_n) / \sqrt{\mu_n}$ are about 1 on average; their sum, divided by $N - D$, is a first test (Pearson's).

# %%
C_f = covariance(X_f, w_f, 'Bernoulli')
assert close(w_f, fit(X_f, damaged, 'Bernoulli'))

def chances(degrees):  # (3, n): low, estimate, high
    x = np.column_stack([np.ones(len(degrees)), (degrees - 60) / 10])
    bar = np.sqrt(np.einsum('nd,de,ne->n', x, C_f, x))
    return expit(x @ w_f + 1.96 * np.outer([-1, 0, 1], bar))

print('slope per 10 °F:', round(w_f[1], 2), '±', round(C_f[1, 1] ** 0.5, 2))
for degrees in (53, 31):
    low, p, high = chances(np.array([degrees]))[:, 0]
    print(f'at {degrees} °F: {p:.4f}, between {low:.2f} and {high:.4f}')

# %%
deaths = np.array([0, 1, 2, 3, 1, 4, 9, 18, 23, 31, 20, 25, 37, 45])
quarter = np.arange(1, 15)
clocks = {'exponential': quarter, 'power of time': np.log(quarter)}
curves = {}
for name, clock in clocks.items():
    X = np.column_stack([np.ones(14), clock])
    w = fit(X, deaths, 'Poisson')
    assert close(w, poisson_by_sklearn(X, deaths))
    curves[name] = mu = np.exp(X @ w)
    assert close(mu.sum(), deaths.sum())
    pearson = ((deaths - mu) ** 2 / mu).sum() / 12
    bar = covariance(X, w, 'Poisson')[1, 1] ** 0.5
    print(f'{name:13} {w[1]:.3f} ± {bar:.3f}, Pearson / 12 = {pearson:.2f}')

# %% mystnb={"image": {"alt": "Left: damage against temperature as dots at 0 and 1 with the fitted falling curve and its 95 per cent band; at 31 degrees, far left of all data, the curve is at 1 and the band spans the upper half. Right: quarterly deaths as dots rising from 0 to 45, an exponential curve that overshoots at the end, and a power of time that fits better."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
degrees = np.linspace(29, 83, 109)
low, p, high = chances(degrees)
left.fill_between(degrees, low, high, alpha=0.25, lw=0)
left.plot(degrees, p)
left.plot(fahrenheit, damaged, 'o', color=GREY, ms=4, alpha=0.6)
left.axvline(31, color='C1', ls=':')
left.text(32, 0.3, 'launch day', color='C1')
left.set(xlabel='temperature (°F)', ylabel='probability of damage')
for mu in curves.values():
    right.plot(quarter, mu)
right.plot(quarter, deaths, 'o', color=GREY)
right.text(8.2, 46, 'exponential', color='C0')
right.text(10.3, 6, 'power\nof time', color='C1')
right.set(xlabel='quarter', ylabel='deaths', xticks=range(2, 15, 4));

# %% [markdown] tags=["caption"]
# Left: at 31 °F, far below all data, the estimate is close to $1$, but its interval reaches down to about one half. Right: a
# power of time follows the deaths better than an exponential.

# %% [markdown]
# The estimate for launch day looks certain; its interval reaches from a coin toss to certainty, for nothing in the
# data speaks about frost but the straightness of the log-odds, which nobody has checked down there. What the data do
# say is that the slope is negative, by more than two error bars, and that a much colder launch was a leap in the
# dark. The exponential for the deaths has a small error bar and is nevertheless wrong: squared residuals are more
# than twice as large as Poisson noise allows. Growth like $t^{2.2}$ passes. Error bars speak about noise inside the
# model, never about the model.
#
# ```{exercise} ★ Counts per hour
# :label: logreg-exposure
# A count $k_n$ was observed during an exposure of $h_n$ hours, at a rate $e^{\mathbf{x}_n^\top \mathbf{w}}$ an hour.
# Write `rate_fit(X, k, h)`, the most likely weights of this Poisson model; `damped_newton` may help. The grader knows
# the rates $k_n / h_n$ must be weighted by the hours.
# ```

# %%
def rate_fit(X, k, h):
    raise NotImplementedError('your turn')

# %%
def rate_by_sklearn(X, k, h):
    model = PoissonRegressor(
        alpha=0, solver='newton-cholesky', tol=1e-12, max_iter=500)
    model.fit(X[:, 1:], k / h, sample_weight=h)
    return np.concatenate([[model.intercept_], model.coef_])

watches = []
for seed in range(3):
    X, _, w = problem(seed, N=20)
    hours = np.random.default_rng(seed).uniform(0.5, 20, size=20)
    watches.append((X, np.round(hours * np.exp(X @ w / 2)), hours))
grade(rate_fit, rate_by_sklearn, watches, rtol=1e-5)

# %% [markdown]
# ```{solution-start} logreg-exposure
# :class: dropdown
# ```
# The mean is $h_n e^{\mathbf{x}_n^\top \mathbf{w}} = e^{\log h_n + \mathbf{x}_n^\top \mathbf{w}}$: a known *offset*
# in the natural parameter. The loss becomes $h_n e^{\mathbf{x}_n^\top \mathbf{w}} - k_n \mathbf{x}_n^\top \mathbf{w}$
# and a constant. Fitting the rates as if they were counts weighs ten minutes like a day.

# %% jupyter={"source_hidden": true}
def rate_fit_solution(X, k, h):
    mean = lambda w: h * np.exp(X @ w)
    return damped_newton(
        lambda w: (mean(w) - k * (X @ w)).mean(),
        lambda w: X.T @ (mean(w) - k) / len(k),
        lambda w: X.T * mean(w) @ X / len(k), np.zeros(X.shape[1]))[-1]

def unweighted_rates(X, k, h):
    return fit(X, k / h, 'Poisson')

assert grade(rate_fit_solution, rate_by_sklearn, watches, rtol=1e-5)
assert not grade(unweighted_rates, rate_by_sklearn, watches, rtol=1e-5)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★★ A stronger effect, a weaker proof
# :label: logreg-hauck
# Of 50 untreated patients 25 recover, of 50 treated ones $k$. Logistic regression on a 0-1 treatment has the weight
# $w_1$ with standard error $\operatorname{se}$ from {eq}`logreg-covariance`; the *Wald statistic* is
# $w_1 / \operatorname{se}$. Derive a closed form and write `wald(k)` for $0 < k < 50$. Then let $k$ run to 49. What
# happens, and why would you not trust this statistic? (Hauck and Donner were the first to wonder
# {cite}`hauck1977wald`.)
# ```

# %%
def wald(k):
    raise NotImplementedError('your turn')

# %%
def wald_by_fit(k):
    X = np.column_stack([np.ones(100), np.arange(100) >= 50])
    y = np.arange(100) % 50 < np.where(np.arange(100) >= 50, k, 25)
    w = by_sklearn(X, y * 1.0)
    return w[1] / covariance(X, w, 'Bernoulli')[1, 1] ** 0.5

recoveries = [(20,), (40,), (46,), (49,)]
grade(wald, wald_by_fit, recoveries, rtol=1e-5)

# %% [markdown]
# ```{solution-start} logreg-hauck
# :class: dropdown
# ```
# With one parameter for each group the fit reproduces both shares. The intercept is $0$, the log-odds of $25$ of
# $50$; the weight is $w_1 = \log \frac{k}{50 - k}$. The information of a group of $n$ about its own log-odds is
# $n p (1 - p)$, so the variance of that log-odds is $\frac{1}{n p (1 - p)} = \frac1k + \frac1{50 - k}$, and the two
# groups add. As $k \to 50$ the weight grows only like a logarithm and the variance like $\frac{1}{50 - k}$: the
# statistic rises, and then *falls*, and a perfect cure would be no proof at all. The likelihood is no parabola far
# out; compare the heights of two summits instead. Who forgets the second group has an error bar that is too short.

# %% jupyter={"source_hidden": true}
def wald_solution(k):
    return np.log(k / (50 - k)) / np.sqrt(1 / k + 1 / (50 - k) + 2 / 25)

def one_group(k):
    return np.log(k / (50 - k)) / np.sqrt(1 / k + 1 / (50 - k))

assert grade(wald_solution, wald_by_fit, recoveries, rtol=1e-5)
assert not grade(one_group, wald_by_fit, recoveries, rtol=1e-5)
print('recovered, Wald:', *(f'{k}: {wald_solution(k):.2f};'
                            for k in (40, 44, 46, 48, 49)))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def moments_agree(name, e, family, h=1e-4):
    A, mean, variance = family
    slopes = [(f(e + h) - f(e - h)) / (2 * h) for f in (A, mean)]
    same = close(slopes, [mean(e), variance(e)], rtol=1e-5)
    return same and close([mean(e), variance(e)], laws[name](e).stats('mv'))

verify(
    'mean and variance are derivatives of A',
    lambda name, eta: moments_agree(name, eta, families[name]),
    slip=(
        'takes the mean for the variance',
        lambda name, eta: moments_agree(
            name, eta, (*families[name][:2], families[name][1])
        ),
    ),
    name=list(families),
    eta=scalars(-3, 3),
)
verify(
    'one solver: lstsq, LogisticRegression, PoissonRegressor',
    lambda seed: three_fits_agree(seed, lambda X, k: fit(X, k, 'Poisson')),
    slip=(
        'fits log(y + 1) by least squares',
        lambda seed: three_fits_agree(
            seed, lambda X, k: lstsq(X, np.log(k + 1))[0]
        ),
    ),
    seed=list(range(8)),
)

def spread_is(C, w):
    v = np.diag(C)
    band = 5 * np.sqrt((np.outer(v, v) + C**2) / R)
    return (abs(np.cov(w.T) - C) < band).all()

verify(
    'the covariance of the fits is the inverse information',
    lambda name: spread_is(covariance(X_w, truth, name), refits[name]),
    slip=(
        'loses the weights',
        lambda name: spread_is(inv(X_w.T @ X_w), refits[name]),
    ),
    name=list(redrawn),
)

# %% [markdown]
# ## Logistic regression on breast tumours: certain, and wrong
#
# This section continues [Separable data: when no best fit exists](#separable-data-when-no-best-fit-exists). Thirty
# measurements of cells from 569 breast tumours, benign or malignant {cite}`street1993nuclear`. In twenty random splits we
# hold out 171 patients; means and standard deviations for scaling come from the other 398. Among five penalties the one is
# chosen that forecasts best in a five-fold cross-validation within these 398. Beside it stand: the share of malignant
# tumours among the 398, announced to everyone; one measurement alone, the mean radius; and all thirty without penalty. For
# these, is there a best fit?

# %%
table = load_breast_cancer()
malignant = 1.0 - table.target
rng = np.random.default_rng(0)
orders = np.array([rng.permutation(569) for _ in range(20)])
lams = np.geomspace(3e-4, 3e-2, 5)
fold = np.arange(398) % 5

def scaled(order, data):  # scaling from the first 398 of the order
    x = data[order]
    x = (x - x[:398].mean(0)) / x[:398].std(0)
    return np.column_stack([np.ones(569), x]), malignant[order]

def solve_for(X, y, lam, tol=1e-8):
    penalty = lam * (np.arange(X.shape[1]) > 0)
    return damped_newton(
        *objective(X, y, penalty), np.zeros(X.shape[1]), tol)[-1]

def chosen(X, y):  # by the loss on each fold of a fit to the others
    total = np.zeros(5)
    for k in range(5):
        inside, out = fold != k, fold == k
        trials = [solve_for(X[inside], y[inside], lam) for lam in lams]
        total += nll(X[out], y[out], np.array(trials))
    return lams[total.argmin()]

# %%
forecasts, truths, clean = [], [], []
for order in orders:
    X, y = scaled(order, table.data)
    radius, _ = scaled(order, table.data[:, :1])
    clean.append(separable(X[:398], y[:398]))
    fits = {'mean radius': (radius, solve_for(radius[:398], y[:398], 0)),
            'no penalty': (X, solve_for(X[:398], y[:398], 0, tol=1e-4)),
            'penalty': (X, solve_for(X[:398], y[:398],
                                     chosen(X[:398], y[:398])))}
    base = np.full(171, np.log(y[:398].mean() / (1 - y[:398].mean())))
    forecasts.append([base] + [Z[398:] @ w for Z, w in fits.values()])
    truths.append(y[398:])
z, y = np.array(forecasts), np.array(truths)[:, None]  # (20, 4, 171)
lost = (np.logaddexp(0, z) - y * z).mean(-1)  # (20, 4)
wrong = ((z > 0) != y).mean(-1)
for i, name in enumerate(['share of malignant', *fits]):
    print(f'{name:18} loss {lost[:, i].mean():.3f} ± {lost[:, i].std():#.3g}, '
          f'wrong {wrong[:, i].mean():.4f} ± {wrong[:, i].std():.4f}')
print(f'training part separable in {sum(clean)} of 20 splits')
worse = (lost[:, 2] > lost[:, 0]).sum()
print(f'no penalty worse than the constant share in {worse} of 20 splits')
print('penalty has the least loss in all splits:',
      (lost.argmin(1) == 3).all())

# %% [markdown]
# In every split a hyperplane separates the training patients: the best fit without penalty does not exist, and we
# stopped where its gradient was below $10^{-4}$. Its *decisions* are respectable, wrong for one patient in twenty.
# Its *probabilities* are worse than announcing the same share to everybody, in 18 of 20 splits. Nearly all of them
# are 0 or 1 to many digits, and those who were certain of the wrong thing pay dearly.
#
# A *reliability diagram* shows what accuracy does not see: among the patients who were told about 0.8, is the disease
# there in four of five?

# %%
edges = np.array([0, 0.001, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 0.999, 1])

def reliability(p, y):  # per bin: mean forecast, frequency, number
    told, seen = (stats.binned_statistic(p, v, 'mean', edges).statistic
                  for v in (p, y))
    return told, seen, np.histogram(p, edges)[0]

diagrams, is_ill = {}, y.ravel() == 1
for i, name in ((2, 'no penalty'), (3, 'penalty')):
    score = z[:, i].ravel()
    diagrams[name] = reliability(expit(score), is_ill)
    certain = abs(score) > np.log(999)
    mistaken = ((score > 0) != is_ill)[certain].mean()
    print(f'{name:10}: certain to 0.999 in {certain.mean():.2f} of all '
          f'cases, wrong in {mistaken:.2g} of these')
    assert close(diagrams[name][1] @ diagrams[name][2], is_ill.sum())
inner = diagrams['no penalty'][1][1:-1]
print(f'no penalty: between the ends malignant in {inner.min():.2f} to '
      f'{inner.max():.2f}')

# %% mystnb={"image": {"alt": "Left: frequency of malignant tumours against the probability announced. The penalized forecasts rise near the diagonal, a little more steeply than it; those without penalty lie between 0.20 and 0.48 whatever was announced, except at the ends. Right: held-out losses of four forecasts in twenty splits; the constant share at 0.66, mean radius near 0.3, no penalty mostly between 0.6 and 4, penalty near 0.07."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3.0)
left.plot([0, 1], [0, 1], ':', color=GREY)
for colour, (name, (told, seen, number)) in zip(
        ('C2', 'C3'), diagrams.items(), strict=True):
    bar = 2 * np.sqrt(seen * (1 - seen) / number)
    inside = np.minimum(bar, [seen, 1 - seen])  # down, up
    left.errorbar(told, seen, inside, fmt='o-', ms=4, lw=1.2, label=name,
                  color=colour)
left.set(xlabel='probability announced', ylabel='frequency of malignant',
         ylim=(-0.05, 1.05))
left.legend(fontsize=8, loc='upper left')
names = ['share of\nmalignant', 'mean\nradius', 'no\npenalty', 'penalty']
for i, name in enumerate(names):
    scatter = np.linspace(-0.2, 0.2, 20)
    right.semilogy(i + scatter, lost[:, i], 'o', ms=3, alpha=0.7)
right.set_xticks(range(4), names, fontsize=8)
right.set(title='Loss on held-out patients', ylabel='mean loss')
right.set_yticks([0.05, 0.1, 0.3, 1, 3], ['0.05', '0.1', '0.3', '1', '3'])
right.minorticks_off();

# %% [markdown] tags=["caption"]
# Left: with a penalty the probabilities are near the truth, without one those between 0 and 1 say little. Right: without
# penalty the loss is mostly above that of the constant share.

# %% [markdown]
# (The bars are two standard errors, cut off at 0 and 1, and too short, as the same patient appears in several splits.)
# Without penalty a forecast between 0.05 and 0.95 says next to nothing, and those beyond are too sure. With it the
# points lie near the diagonal. Where they leave it they are too modest, nearer to one half than the facts, for a penalty
# shrinks the scores: that is the price, and the held-out loss says that it was worth paying.

# %% [markdown]
# ## Summary
#
# Logistic regression makes the log-odds linear; its negative log-likelihood is convex, its gradient is guess minus truth
# times the input, and Newton's method on it is least squares with weights that are renewed at every step. The best fit
# exists exactly if no hyperplane separates the labels, which a linear program decides; on separable data the weights run
# away towards the widest street between the classes, and only a penalty gives probabilities that can be believed. Gradient,
# solver and error bars are not about coins: every exponential family with its natural parameter linear in the inputs has
# the same gradient, the same solver and, from the same Hessian, the same error bars.
#
# **Further reading.** {cite:t}`cox1958regression` started it; {cite:t}`mccullagh1989generalized` is the classic on
# generalized linear models, {cite:t}`hastie2009elements`, chapter 4, and {cite:t}`bishop2006pattern`, chapter 4,
# connect them to machine learning. {cite:t}`albert1984existence` settled existence, {cite:t}`soudry2018implicit` the
# direction of divergence, and {cite:t}`firth1993bias` proposed the penalty that statisticians use against it.
