# ---
# jupyter:
#   book:
#     functions:
#       discriminants: discriminants(normal(6, 2), *estimate(normal(12, 2), np.arange(12) % 3))
#       estimate: estimate(normal(12, 2), np.arange(12) % 3)
#       lda: lda(normal(12, 2), np.arange(12) % 3)
#       shrink: shrink(np.stack([np.cov(normal(9, 2).T).astype(normal(1).dtype)]), 0.25)
#     main: clf-qda
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Linear and quadratic discriminant analysis
#
# A wine contains 2.6 units of flavanoids. Grower A's wines have 2.98 on average, with little spread, B's have 2.08 with
# much more spread, and C's have far fewer. Who made it, and how sure can we be? If we knew how each grower's wines are
# distributed, Bayes' theorem would answer, and no other rule could err less often. What if we estimate these
# distributions?
#
# - **You need** [linear classifiers](classification.ipynb), [Bayes' theorem](../probability/bayes_theorem.ipynb), the
#   [Gaussian in many dimensions](../probability/gaussian_distribution.ipynb) and
#   [maximum likelihood](../probability/maximum_likelihood.ipynb).
# - **You build** quadratic and linear discriminant analysis (QDA and LDA) as in scikit-learn, the risk of the best possible
#   classifier, and a shrinkage that rescues QDA from few examples.
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
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax
from scipy.stats import multivariate_normal, norm
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LinearRegression

from nbutils.cases import integers, matrices, on, scalars, seeds
from nbutils.checks import close, grade, verify
from nbutils.figures import GREY, label_lines, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## Quadratic discriminant analysis: compare the densities
#
# Among 178 wines {cite}`aeberhard1994comparative`, we take the flavanoids of each grower, and fit a Gaussian to them. For
# a new wine, we multiply its density under each grower by the grower's share of the wines:

# %%
wine = load_wine()
grower = wine.target                 # (178,): 0 is A, 1 is B, 2 is C
flavanoids = wine.data[:, 6]
new = 2.6
weight = []
for j, name in enumerate('ABC'):
    own = flavanoids[grower == j]
    share = len(own) / 178
    density = norm.pdf(new, own.mean(), own.std())
    weight.append(share * density)
    print(f'{name}: share {share:.2f}, mean {own.mean():.2f},'
          f' spread {own.std():.2f}, density at 2.6: {density:.4f}')

# %%
for name, part in zip('ABC', np.array(weight) / sum(weight)):
    print(f'{name}: probability {part:.2f}')

# %% mystnb={"image": {"alt": "Three bell curves over the flavanoids of the wines, with a tick for each wine below. C is narrow, on the left; B is broad, in the middle; A is narrower, on the right. Coloured strips under the axis show where each is highest: C, then B, then A, and far on the right B again. A dotted line at 2.6 marks the new wine."}} tags=["hide-input"]
axis = np.linspace(0, 5.5, 600)
parts = [flavanoids[grower == j] for j in range(3)]
heights = np.array([len(own) / 178 * norm.pdf(axis, own.mean(), own.std()) for own in parts])
fig, ax = plt.subplots(figsize=(6, 2.6))
for j, (name, x) in enumerate({'A': 3.15, 'B': 1.75, 'C': 0.78}.items()):
    ax.plot(axis, heights[j], color=f'C{j}')
    height = heights[j].max() * (0.9 if name == 'B' else 1.05)
    ax.text(x, height, f'grower {name}', color=f'C{j}', ha='right' if name == 'B' else 'left')
    ax.plot(parts[j], np.full(len(parts[j]), -0.02), '|', ms=5, color=f'C{j}')
    won = heights.argmax(0) == j
    ax.plot(axis[won], np.full(won.sum(), -0.055), 's', ms=2.5, color=f'C{j}')
ax.axvline(new, ls=':', color=GREY)
ax.set(xlabel='flavanoids', ylabel='share times density', ylim=(-0.075, 0.42), xlim=(0, 5.5));

# %% [markdown] tags=["caption"]
# Share times density of the three growers. The highest curve gives the answer; at $2.6$ A and B are nearly equal. B is much
# more spread out than A, so its curve is the highest on both sides of A's.

# %% [markdown]
# The wine is a close call: A is only a little more probable than B. In general let class $j$ have the share $\pi_j$ and
# the Gaussian density with mean $\boldsymbol\mu_j$ and covariance $\boldsymbol\Sigma_j$. The class with the largest share
# times density wins. It is easier to compare logarithms, without the constant that is the same for all classes:
#
# ```{math}
# :label: clf-qda
# o_j(\mathbf{x}) = \log \pi_j - \tfrac12 \log \det \boldsymbol\Sigma_j - \tfrac12 (\mathbf{x} - \boldsymbol\mu_j)^\top \boldsymbol\Sigma_j^{-1} (\mathbf{x} - \boldsymbol\mu_j) .
# ```
#
# **Quadratic discriminant analysis** estimates shares, means and covariances by maximum likelihood and answers with the
# largest score:

# %%
def estimate(X, y):
    """Shares (q,), means (q, d) and covariances (q, d, d)."""
    parts = [X[y == j] for j in range(y.max() + 1)]
    shares = np.array([len(part) for part in parts], X.dtype) / len(X)
    means = np.stack([part.mean(0) for part in parts])
    covs = np.stack([(part - mean).T @ (part - mean) / len(part)
                     for part, mean in zip(parts, means)])
    return shares, means, covs

# %%
def discriminants(X, shares, means, covs):
    """One score for each example and class: (n, q)."""
    D = (X[:, None] - means)[..., None]                # (n, q, d, 1)
    squares = (D * np.linalg.solve(covs, D)).sum((2, 3))     # (n, q)
    log_dets = np.linalg.slogdet(covs)[1]                    # (q,)
    return np.log(shares) - log_dets / 2 - squares / 2

# %%
taste = wine.data[:, [6, 9]]         # flavanoids, colour intensity
o = discriminants(taste, *estimate(taste, grower))
fit = LinearRegression().fit(taste, np.eye(3)[grower])
print('least squares on one-hot labels:',
      (fit.predict(taste).argmax(1) == grower).sum(), 'of 178 right')
print('QDA:', (o.argmax(1) == grower).sum(), 'right')
model = QuadraticDiscriminantAnalysis().fit(taste, grower)
print('different answers of scikit-learn:',
      (model.predict(taste) != o.argmax(1)).sum())

# %% [markdown]
# By Bayes' theorem the probabilities are $P(j \mid \mathbf{x}) = e^{o_j} / \sum_k e^{o_k}$, because the constants that we
# left out cancel. Different covariances give quadratic scores, so the borders are conic sections, such as ellipses and
# hyperbolas.

# %% mystnb={"image": {"alt": "178 wines in the plane of flavanoids and colour intensity in three regions with curved borders. Around each group lie two ellipses: a large tilted one for C, a flat wide one for B at the bottom, and a compact one for A on the right."}} tags=["hide-input"]
u1, u2 = np.meshgrid(np.linspace(0, 5.5, 300), np.linspace(0, 14, 300))
plane = np.stack([u1.ravel(), u2.ravel()], 1)
shares, means, covs = estimate(taste, grower)
regions = discriminants(plane, shares, means, covs).argmax(1).reshape(u1.shape)
fig, ax = plt.subplots(figsize=(5, 3.2))
ax.contourf(u1, u2, regions, [-0.5, 0.5, 1.5, 2.5], colors=['C0', 'C1', 'C2'], alpha=0.2)
turn = np.linspace(0, 2 * np.pi, 100)
circle = np.stack([np.cos(turn), np.sin(turn)])
for j, (name, place) in enumerate({'A': (4.4, 8), 'B': (3.6, 0.6), 'C': (1.4, 12.6)}.items()):
    ax.plot(*taste[grower == j].T, f'C{j}o', ms=3)
    ax.text(*place, f'grower {name}', color=f'C{j}', fontsize=11)
    for r in (1, 2):
        ax.plot(*(means[j][:, None] + r * np.linalg.cholesky(covs[j]) @ circle), color=f'C{j}', lw=1.2)
ax.set(xlabel='flavanoids', ylabel='colour intensity', xlim=(0, 5.5), ylim=(0, 14));

# %% [markdown] tags=["caption"]
# QDA fits one Gaussian to each grower (ellipses: one and two standard deviations). Its borders are curved, because each
# grower has another covariance.

# %% [markdown]
# ```{exercise} ★ Pencil: an island
# :label: lda-island
# Class 1 has the share $\pi$ and the density of $\mathcal{N}(0, 1)$, class 2 the share $1 - \pi$ and the density of
# $\mathcal{N}(0, s^2)$ with a standard deviation $s > 1$. For which $x$ is class 1 more probable? Write `island(s, share)`,
# the largest $|x|$ up to which it is, or 0 if it never is. Could a linear classifier give these answers?
# ```

# %%
def island(s, share):
    """Class 1 is more probable for |x| below this: a float >= 0.

    s: float > 1, the standard deviation of class 2.
    share: float in (0, 1), the share of class 1.
    island(2.0, 0.5) is 1.3596, to four decimals.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def island_by_search(s, share):
    def lead(x):  # of class 1
        return norm.logpdf(x) - norm.logpdf(x, 0, s) + np.log(share) - np.log(1 - share)
    return brentq(lead, 0, 99, xtol=1e-13) if lead(0) > 0 else 0.0

islands = dict(s=on(2.0, 1.1) | scalars(1.1, 10), share=on(0.5, 0.1) | scalars(0.05, 0.95))
grade(island, island_by_search, **islands)

# %% [markdown]
# ```{solution-start} lda-island
# :class: dropdown
# ```
# $o_1 = \log \pi - \frac12 x^2$ and $o_2 = \log (1 - \pi) - \log s - x^2 / 2s^2$. Class 1 wins for $\frac12 x^2 \big(1 -
# \frac{1}{s^2}\big) < \log \frac{\pi s}{1 - \pi}$, which is impossible where the right side is not positive. For $s = 2$ and
# equal shares this is $|x| < \sqrt{\frac83 \log 2} \approx 1.36$, an island of class 1 between two parts of class 2. The
# regions of a linear classifier are convex, so it cannot have class 2 on both sides. Of the wrong answers, the first forgets
# $\log s$, half the logarithm of the determinant, and so finds no island for equal shares. The second ignores the shares, the
# third takes $s$ for the variance, and the fourth draws the root of a negative number.

# %% jupyter={"source_hidden": true}
def island_solution(s, share):
    height = np.log(s * share / (1 - share))
    return np.sqrt(2 * max(height, 0) / (1 - 1 / s**2))

def without_the_determinant(s, share):
    return np.sqrt(2 * max(np.log(share / (1 - share)), 0) / (1 - 1 / s**2))

def equal_shares(s, share):
    return np.sqrt(2 * np.log(s) / (1 - 1 / s**2))

def s_as_variance(s, share):
    return island_solution(np.sqrt(s), share)

def always_an_island(s, share):
    return np.sqrt(2 * np.log(s * share / (1 - share)) / (1 - 1 / s**2))

assert grade(island_solution, island_by_search, **islands)
assert not grade(without_the_determinant, island_by_search, **islands)
assert not grade(equal_shares, island_by_search, **islands)
assert not grade(s_as_variance, island_by_search, **islands)
assert not grade(always_an_island, island_by_search, **islands)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def three_clouds(seed, n=60, d=2):
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(3 * d + 3) % 3, rng.choice(3, n, p=[0.5, 0.3, 0.2]))
    A = rng.normal(size=(3, d, d))
    return (A[y] @ rng.normal(size=(len(y), d, 1)))[..., 0] + y[:, None], y

def by_densities(X, y):  # probabilities from scipy's densities
    parts = [X[y == j] for j in range(3)]
    joint = np.array([len(part) * multivariate_normal(part.mean(0), np.cov(part.T, bias=True)).pdf(X) for part in parts])
    return (joint / joint.sum(0)).T

def without_determinants(X, shares, means, covs):
    return discriminants(X, shares, means, covs) + np.linalg.slogdet(covs)[1] / 2

def is_qda(seed, d, form):
    X, y = three_clouds(seed, d=d)
    return close(softmax(form(X, *estimate(X, y)), 1), by_densities(X, y))

verify(
    'QDA gives the probabilities of Bayes with Gaussian densities',
    lambda seed, d: is_qda(seed, d, discriminants),
    slip=('forgets the determinants', lambda seed, d: is_qda(seed, d, without_determinants)),
    seed=seeds(), d=[2, 4], tries=20,
)

# %% [markdown]
# ## Linear discriminant analysis: one covariance for all classes
#
# QDA estimates a covariance for each class: with 13 measurements and three growers, $3 \cdot 91 = 273$ numbers. **Linear
# discriminant analysis** {cite}`fisher1936use` assumes that all classes have the same covariance and estimates it by the
# pooled one, $\boldsymbol\Sigma = \sum_j \pi_j \boldsymbol\Sigma_j$, with 91 numbers. Then $\log \det \boldsymbol\Sigma$
# and $\mathbf{x}^\top \boldsymbol\Sigma^{-1} \mathbf{x}$ are the same in all scores and can be left out, and what remains
# is linear:
#
# ```{math}
# :label: clf-lda
# o_j(\mathbf{x}) = \mathbf{w}_j^\top \mathbf{x} + b_j, \qquad \mathbf{w}_j = \boldsymbol\Sigma^{-1} \boldsymbol\mu_j, \qquad
# b_j = \log \pi_j - \tfrac12 \boldsymbol\mu_j^\top \boldsymbol\Sigma^{-1} \boldsymbol\mu_j .
# ```

# %%
def lda(X, y):
    """Weights (q, d) and biases (q,) of a linear classifier."""
    shares, means, covs = estimate(X, y)
    pooled = np.tensordot(shares, covs, 1)               # (d, d)
    W = np.linalg.solve(pooled, means.T).T               # (q, d)
    return W, np.log(shares) - (W * means).sum(1) / 2

# %%
W, b = lda(taste, grower)
answers = (taste @ W.T + b).argmax(1)
print('LDA with two measurements:', (answers == grower).sum(), 'right')
model = LinearDiscriminantAnalysis(solver='lsqr').fit(taste, grower)
print('weights of scikit-learn:', model.coef_[0].round(2))
print('our weights:            ', W[0].round(2))

# %% [markdown]
# So LDA is a linear classifier like that of least squares, with other weights. Does it find a class in the middle, which
# least squares masks? Again we put three groups at $-4$, $0$ and $4$:

# %%
rng = np.random.default_rng(0)
group = np.repeat([0, 1, 2], 100)
row = (4.0 * (group - 1) + 0.5 * rng.normal(size=300))[:, None]
W, b = lda(row, group)
fit = LinearRegression().fit(row, np.eye(3)[group])
for name, o in (('least squares', fit.predict(row)),
                ('LDA', row @ W.T + b)):
    found = (o.argmax(1) == group)[group == 1].mean()
    print(f'{name:14} finds {found:.2f} of the middle group')

# %% [markdown]
# LDA only needs the middle score to be the largest in the middle. With two classes of equal size, however, nobody is in
# the middle, and the two methods are the same:
#
# ```{prf:theorem} Least squares and LDA
# :label: thm-lda-least-squares
# Let two classes have equally many examples, and let their pooled covariance be invertible. Then least squares with
# biases on one-hot labels and LDA have the same decision boundary.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Let $\boldsymbol\delta = \boldsymbol\mu_2 - \boldsymbol\mu_1$ and let $\bar{\mathbf{x}}$ be the mean of all inputs, here
# the midpoint between $\boldsymbol\mu_1$ and $\boldsymbol\mu_2$. By {prf:ref}`thm-clf-ls-scores`, least squares decides
# by the sign of $\boldsymbol\delta^\top \boldsymbol\Sigma_T^{-1} (\mathbf{x} - \bar{\mathbf{x}})$, where the total
# covariance is the pooled one plus the spread of the means, $\boldsymbol\Sigma_T = \boldsymbol\Sigma + \frac14
# \boldsymbol\delta \boldsymbol\delta^\top$. LDA decides by the sign of $\boldsymbol\delta^\top \boldsymbol\Sigma^{-1}
# (\mathbf{x} - \bar{\mathbf{x}})$: the shares are equal, so the difference of the biases is $-\frac12
# (\boldsymbol\mu_2^\top \boldsymbol\Sigma^{-1} \boldsymbol\mu_2 - \boldsymbol\mu_1^\top \boldsymbol\Sigma^{-1}
# \boldsymbol\mu_1) = -\boldsymbol\delta^\top \boldsymbol\Sigma^{-1} \bar{\mathbf{x}}$. With $\Delta^2 =
# \boldsymbol\delta^\top \boldsymbol\Sigma^{-1} \boldsymbol\delta$ we have $\boldsymbol\Sigma_T \boldsymbol\Sigma^{-1}
# \boldsymbol\delta = (1 + \frac14 \Delta^2) \, \boldsymbol\delta$, so $\boldsymbol\Sigma^{-1} \boldsymbol\delta = (1 +
# \frac14 \Delta^2) \, \boldsymbol\Sigma_T^{-1} \boldsymbol\delta$: both vectors point in the same direction.
# ```
#
# If the sizes differ, the direction is still the same, but the border is shifted.
#
# ```{admonition} A tempting mistake
# :class: tip
# The pooled covariance is *not* the covariance of all examples together. That one also contains the distances between the
# means, so it is too large in just the directions that separate the classes. For the three groups in a row it would be about
# $0.5^2 + 2 \cdot 4^2 / 3 \approx 10.9$ in place of $0.5^2 = 0.25$.
# ```

# %% tags=["checks"]
def is_lda(seed, d, pool):
    X, y = three_clouds(seed, d=d)
    shares, means, covs = estimate(X, y)
    model = LinearDiscriminantAnalysis(solver='lsqr').fit(X, y)
    probabilities = softmax(discriminants(X, shares, means, np.stack([pool(X, shares, covs)] * 3)), 1)
    W, b = lda(X, y)
    return close(probabilities, model.predict_proba(X)) and close(softmax(X @ W.T + b, 1), probabilities)

verify(
    'LDA is that of scikit-learn',
    lambda seed, d: is_lda(seed, d, lambda X, shares, covs: np.tensordot(shares, covs, 1)),
    slip=('takes the covariance of all examples together',
          lambda seed, d: is_lda(seed, d, lambda X, shares, covs: np.cov(X.T, bias=True))),
    seed=seeds(), d=[2, 4], tries=20,
)

def same_border(seed, ones):
    rng = np.random.default_rng(seed)
    y = (np.arange(60) < ones) * 1
    X, new = rng.normal(size=(60, 3)) + y[:, None] * rng.normal(size=3), 2 * rng.normal(size=(200, 3))
    W, b = lda(X, y)
    o = LinearRegression().fit(X, np.eye(2)[y]).predict(new)
    return ((new @ W.T + b).argmax(1) == o.argmax(1)).all()

verify(
    'for two classes of equal size least squares is LDA',
    lambda seed: same_border(seed, 30),
    slip=('says it for classes of different size', lambda seed: same_border(seed, 15)), seed=seeds(), tries=40,
)

# %% [markdown]
# ## The Bayes classifier: no rule errs less
#
# Why densities? Suppose that we *knew* the probabilities $p_j(\mathbf{x}) = P(j \mid \mathbf{x})$ of the classes. The
# **risk** $R(f)$ of a classifier $f$ is the probability that its answer is wrong. At each $\mathbf{x}$ the answer $j$ is
# wrong with the probability $1 - p_j(\mathbf{x})$, so nothing beats the most probable class. This rule is the **Bayes
# classifier** $f^*$, and its risk $R^*$ is the **Bayes risk**. How much do other classifiers lose?
#
# ````{prf:theorem} Bayes risk and excess risk
# :label: thm-clf-bayes
# The least risk is $R^* = \mathbb{E}\big[ 1 - \max_j p_j(\mathbf{x}) \big]$, with two classes and $\eta = p_1$ equal
# to $\mathbb{E}[\min(\eta, 1 - \eta)]$. Every other classifier has the excess
# $R(f) - R^* = \mathbb{E}\big[ \max_j p_j(\mathbf{x}) - p_{f(\mathbf{x})}(\mathbf{x}) \big]$, with two classes
#
# ```{math}
# :label: clf-excess
# R(f) - R^* = \mathbb{E}\big[ \, |2 \eta(\mathbf{x}) - 1| \; \mathbb{1}[f(\mathbf{x}) \ne f^*(\mathbf{x})] \, \big] .
# ```
#
# If $f$ decides as if $\hat\eta$ were $\eta$, then $R(f) - R^* \le 2 \, \mathbb{E} \, |\hat\eta - \eta|$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# Given $\mathbf{x}$, the answer $f(\mathbf{x})$ is right with the probability $p_{f(\mathbf{x})}(\mathbf{x})$, so $R(f) =
# \mathbb{E}[1 - p_{f(\mathbf{x})}(\mathbf{x})]$, which is least where the answer is most probable. This gives the first
# two lines. With two classes the bracket is zero where $f = f^*$, and the difference of the two probabilities, $|2\eta -
# 1|$, where not. And where $f \ne f^*$, the numbers $\eta$ and $\hat\eta$ lie on different sides of $\frac12$ (or on it),
# so that $|\hat\eta - \eta| \ge |\eta - \tfrac12|$, half of what is lost there.
# ````
#
# So a wrong decision is expensive only where the case is clear; near the border it costs little. And good estimates of
# the probabilities make good decisions. The reverse is not true: to decide well, an estimate only has to be on the right
# side of $\frac12$.
#
# ### Two Gaussian classes
#
# Let two classes have the same covariance $\boldsymbol\Sigma$, and let $\Delta = \sqrt{(\boldsymbol\mu_1 -
# \boldsymbol\mu_0)^\top \boldsymbol\Sigma^{-1} (\boldsymbol\mu_1 - \boldsymbol\mu_0)}$ be the distance between their
# means, measured in standard deviations. With $\tau = \log(\pi_0 / \pi_1)$, the Bayes risk is
#
# ```{math}
# :label: clf-gauss-risk
# R^* = \pi_1 \, \Phi\Big( \frac{\tau}{\Delta} - \frac\Delta2 \Big) + \pi_0 \, \Phi\Big( {-\frac{\tau}{\Delta}} - \frac\Delta2 \Big) .
# ```
#
# ```{prf:proof}
# :class: dropdown
# By {eq}`clf-lda` the difference of the scores is $z - \tau$ with $z = \mathbf{v}^\top \big(\mathbf{x} - \tfrac12
# (\boldsymbol\mu_0 + \boldsymbol\mu_1)\big)$ and $\mathbf{v} = \boldsymbol\Sigma^{-1} (\boldsymbol\mu_1 -
# \boldsymbol\mu_0)$. In class 1, $z$ is Gaussian with mean $\frac12 \Delta^2$ and variance $\mathbf{v}^\top
# \boldsymbol\Sigma \mathbf{v} = \Delta^2$; in class 0 its mean is $-\frac12 \Delta^2$ and the variance is the same. An
# example of class 1 is misclassified if its $z$ stays below $\tau$, one of class 0 if its $z$ exceeds $\tau$.
# ```
#
# For equal shares this is $\Phi(-\Delta / 2)$. Now we can watch estimates approach the limit. In one world both classes
# are round clouds of the same width in five dimensions; in the other, the first cloud is narrow and the second one wide.

# %%
worlds = {'same width': np.array([1.0, 1.0]),
          'narrow and wide': np.array([0.4, 1.6])}    # variances

def sample(variances, n, rng):
    y = np.arange(n) % 2                              # equal shares
    noise = np.sqrt(variances)[y, None] * rng.normal(size=(n, 5))
    return 0.6 * y[:, None] + noise, y                # (n, 5), (n,)

# %%
def risks(variances, sizes, runs=20):
    rng = np.random.default_rng(1)
    new, truth = sample(variances, 4000, rng)
    covs = variances[:, None, None] * np.eye(5)
    means = np.array([[0.0] * 5, [0.6] * 5])
    best = discriminants(new, np.full(2, 0.5), means, covs).argmax(1)
    risk = np.zeros((2, len(sizes), runs))            # LDA, QDA
    for i, run in np.ndindex(len(sizes), runs):
        X, y = sample(variances, sizes[i], rng)
        W, b = lda(X, y)
        scores = new @ W.T + b, discriminants(new, *estimate(X, y))
        risk[:, i, run] = [(o.argmax(1) != truth).mean() for o in scores]
    return (best != truth).mean(), risk

# %%
sizes = 16, 24, 40, 80, 160, 400, 1000
curves = {name: risks(world, sizes) for name, world in worlds.items()}
Delta = 0.6 * np.sqrt(5)
print(f'same width: Bayes risk by the formula {norm.cdf(-Delta / 2):.3f}')
for name, (bayes, risk) in curves.items():
    print(f'{name}: the Bayes classifier errs {bayes:.3f}')
    for i, method in enumerate(('LDA', 'QDA')):
        few, many = risk[i, 1], risk[i, -1]
        print(f'   {method} trained on 24 examples {few.mean():.3f}'
              f' ± {few.std():.4f}, on 1000 {many.mean():.3f}')

# %% mystnb={"image": {"alt": "Two panels of risk against the number of training examples on a logarithmic axis, with a grey line for the Bayes classifier. Left, same width: both curves fall to the line, LDA first. Right, narrow and wide: QDA falls to the line, LDA levels off far above it."}} tags=["hide-input"]
fig, axes = panels(2, height=2.7, sharey=True)
for ax, (name, (bayes, risk)) in zip(axes, curves.items()):
    for values, method, colour in zip(risk, ('LDA', 'QDA'), ('C2', 'C1')):
        middle, spread = values.mean(1), values.std(1)
        ax.plot(sizes, middle, color=colour)
        ax.fill_between(sizes, middle - spread, middle + spread, color=colour, alpha=0.2, lw=0)
    ax.axhline(bayes, color=GREY, lw=1)
    ax.text(16, bayes - 0.006, 'Bayes classifier', va='top', color=GREY)
    ax.set(xscale='log', xlabel='training examples', title=name, xticks=[20, 100, 1000], xticklabels=[20, 100, 1000],
           ylim=(0.05, 0.45))
axes[0].text(75, 0.33, 'QDA', color='C1')
axes[0].text(16, 0.26, 'LDA', color='C2')
axes[1].text(300, 0.24, 'LDA', color='C2')
axes[1].text(150, 0.14, 'QDA', color='C1')
axes[0].set_ylabel('risk');

# %% [markdown] tags=["caption"]
# Left: if the classes share a covariance, LDA comes near the Bayes risk with fewer examples. Right: if not, only QDA reaches
# it. Bands: one standard deviation over 20 training sets.

# %% [markdown]
# On the 4000 points of the first world, the Bayes classifier errs by chance a little less than its risk says. QDA has to
# estimate twice as many covariance entries as LDA here. If the classes share a covariance, this only adds variance; if
# they do not, it is what lets QDA reach the Bayes risk. LDA converges in both worlds, in the second one to the wrong
# rule. More data reduce the variance, but they do not repair a wrong model.
#
# ```{exercise} ★★ Program: the right to say "I do not know"
# :label: clf-doubt
# A wrong answer costs 1, a right one nothing, and "I do not know" costs $c$ with $0 \le c \le 1$. Write `with_doubt(p,
# c)`. For each example it gives the number of the class that makes the expected cost smallest, or $-1$ for "I do not know",
# also where both cost the same.
# ```

# %%
def with_doubt(p, c):
    """The numbers of the answers, or -1: int array (n,).

    p: float array (n, q), n >= 1, q >= 2, a row with the probabilities of
    the classes 0, ..., q - 1 for each example. c: float in [0, 1].
    Of two classes with equal costs, give the one with the lower number.
    with_doubt(np.array([[0.5, 0.5], [0.1, 0.9]]), 0.25) is [-1, 1].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def cheapest(p, c):  # the expected cost of each answer, doubt first
    costs = np.column_stack([np.full(len(p), c), 1 - p])
    return costs.argmin(1) - 1

def in_eighths(cuts):  # probabilities that floats hold exactly, so that ties are ties
    whole = np.sort(cuts.round(), axis=1)
    return np.diff(whole, axis=1, prepend=0, append=8) / 8

doubts = dict(
    p=matrices((1, 5), (1, 3), 0, 8, edges=True).map(in_eighths),
    c=on(0.25, 0.0, 1.0, 0.5) | integers(0, 16).map(lambda k: k / 16),
)
grade(with_doubt, cheapest, **doubts)

# %% [markdown]
# ```{solution-start} clf-doubt
# :class: dropdown
# ```
# The most probable class costs $1 - \max_j p_j$ in expectation. So doubt is cheaper, or as cheap, if $\max_j p_j \le 1 -
# c$ {cite}`chow1970optimum`. A tempting mistake is to compare $\max_j p_j$ with $c$ itself, which takes the chance of
# being right for the chance of being wrong. With two classes, doubt never pays for $c > \frac12$, because one of two
# probabilities is at least $\frac12$. The other wrong answers ignore the price of doubt, never doubt, and answer where both
# cost the same.

# %% jupyter={"source_hidden": true}
def with_doubt_solution(p, c):
    return np.where(p.max(1) > 1 - c, p.argmax(1), -1)

def compared_with_c(p, c):
    return np.where(p.max(1) > c, p.argmax(1), -1)

def compared_with_half(p, c):
    return np.where(p.max(1) > 0.5, p.argmax(1), -1)

def never_in_doubt(p, c):
    return p.argmax(1)

def answers_ties(p, c):
    return np.where(p.max(1) >= 1 - c, p.argmax(1), -1)

assert grade(with_doubt_solution, cheapest, **doubts)
assert not grade(compared_with_c, cheapest, **doubts)
assert not grade(compared_with_half, cheapest, **doubts)
assert not grade(never_in_doubt, cheapest, **doubts)
assert not grade(answers_ties, cheapest, **doubts)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def finite_world(seed):  # six inputs: their probabilities, eta, an estimate of it
    rng = np.random.default_rng(seed)
    eta = rng.random(6)
    return rng.dirichlet(np.ones(6)), eta, np.clip(eta + 0.3 * rng.normal(size=6), 0, 1)

rules = np.array(list(product([0, 1], repeat=6)))  # (64, 6): all classifiers

def all_risks(p_x, eta):
    return np.where(rules == 1, 1 - eta, eta) @ p_x

def best_of_all(seed, formula):
    p_x, eta, _ = finite_world(seed)
    return close(all_risks(p_x, eta).min(), p_x @ formula(eta))

def excess_agrees(seed, loss):
    p_x, eta, _ = finite_world(seed)
    excess = all_risks(p_x, eta) - all_risks(p_x, eta).min()
    return close(excess, (rules != (eta > 0.5)) @ (p_x * loss(eta)))

def bounded(seed, factor):
    p_x, eta, guess = finite_world(seed)
    excess = all_risks(p_x, eta) - all_risks(p_x, eta).min()
    return excess[(rules == (guess > 0.5)).all(1)][0] <= factor * p_x @ abs(guess - eta) + 1e-12

verify(
    'the least risk of all 64 classifiers is E[min(eta, 1 - eta)]',
    lambda seed: best_of_all(seed, lambda eta: np.minimum(eta, 1 - eta)),
    slip=('copies the answer of another example', lambda seed: best_of_all(seed, lambda eta: 2 * eta * (1 - eta))),
    seed=seeds(), tries=60,
)
verify(
    'a wrong decision costs |2 eta - 1|',
    lambda seed: excess_agrees(seed, lambda eta: abs(2 * eta - 1)),
    slip=('charges half of it', lambda seed: excess_agrees(seed, lambda eta: abs(eta - 0.5))),
    seed=seeds(), tries=60,
)
verify(
    'good probabilities lose at most twice their mean error',
    lambda seed: bounded(seed, 2), slip=('says once', lambda seed: bounded(seed, 1)), seed=seeds(), tries=60,
)

# %% tags=["checks"]
def simulated_risk(seed, share, trust_share, n=20_000):  # within five standard errors of the formula
    rng = np.random.default_rng(seed)
    means, A = rng.normal(size=(2, 2)), rng.normal(size=(2, 2))
    S = A @ A.T + np.eye(2) / 2
    y = (rng.random(n) < share) * 1
    X = means[y] + rng.normal(size=(n, 2)) @ np.linalg.cholesky(S).T
    shares = np.array([1 - share, share]) if trust_share else np.full(2, 0.5)
    answers = discriminants(X, shares, means, np.stack([S, S])).argmax(1)
    Delta = np.sqrt((means[1] - means[0]) @ np.linalg.solve(S, means[1] - means[0]))
    tau = np.log((1 - share) / share)
    low, high = norm.cdf([tau / Delta - Delta / 2, -tau / Delta - Delta / 2])
    R = share * low + (1 - share) * high
    return abs((answers != y).mean() - R) < 5 * np.sqrt(R * (1 - R) / n)

verify(
    'the Bayes classifier of two Gaussian classes has the risk of the formula',
    lambda seed, share: simulated_risk(seed, share, True),
    slip=('ignores the shares', lambda seed, share: simulated_risk(seed, share, False)),
    seed=seeds(), share=scalars(0.05, 0.3), tries=15,
)

def comes_near(name, method):  # trained on 1000 examples
    bayes, risk = curves[name]
    return bool(abs(risk[method, -1].mean() - bayes) < 0.02)

verify(
    'with 1000 examples LDA and QDA come near the Bayes risk, but LDA does not where the widths differ',
    lambda name, method: comes_near(name, method) == (name == 'same width' or method == 1),
    slip=('says so of LDA for every width', comes_near),
    name=list(worlds), method=[0, 1],
)
verify(
    'with 24 examples of classes of the same width LDA errs less than QDA, on average',
    lambda first, second: bool(np.diff(curves['same width'][1][[first, second], 1].mean(1))[0] > 0.02),
    slip=('says so of QDA', lambda first, second: bool(
        np.diff(curves['same width'][1][[second, first], 1].mean(1))[0] > 0.02)),
    first=[0], second=[1],
)

# %% [markdown]
# ## Shrinkage: discriminant analysis with few examples
#
# All 13 measurements should tell more than two. But a covariance of 13 measurements from 15 wines is a poor estimate. Its
# small eigenvalues are much too small, and the scores divide by them. (All measurements are divided by their standard
# deviations.)

# %%
every = wine.data / wine.data.std(0)                   # (178, 13)
first = every[grower == 0]                             # 59 wines of A
for n in (15, 30, 59):
    values = np.linalg.eigvalsh(np.cov(first[:n].T, bias=True))
    print(f'{n} wines: smallest eigenvalue {values[0]:.4f},'
          f' largest {values[-1]:.2f}, trace {values.sum():.2f}')

# %% [markdown]
# The traces differ much less than the smallest eigenvalues. So we keep the trace and mix the estimate with a round
# covariance, a multiple of the identity matrix. This is called **shrinkage**:
#
# ```{math}
# :label: clf-shrinkage
# \boldsymbol\Sigma_\alpha = (1 - \alpha) \, \boldsymbol\Sigma + \alpha \, \frac{\operatorname{tr} \boldsymbol\Sigma}{d} \, \mathbf{I} .
# ```
#
# The number $\alpha$ lies between 0 and 1. With $\alpha = 1$ each class is a round cloud. With $\alpha > 0$ the matrix is
# invertible even if there are fewer examples than measurements.

# %%
def shrink(covs, alpha):
    """Covariances (q, d, d) mixed with round ones of the same trace."""
    d = covs.shape[-1]
    round_ones = np.trace(covs, axis1=1, axis2=2)[:, None, None] / d
    identity = np.eye(d, dtype=covs.dtype)
    return (1 - alpha) * covs + alpha * round_ones * identity

# %% [markdown]
# Twenty times we draw 36 wines of each grower, of which the first 8, 15, 20, 27 or all 36 are used for training; the
# other 70 are for testing. The reference is the nearest mean. Standard deviations are computed from the training wines
# alone.

# %%
def nearest_mean(X, y, new):
    means = estimate(X, y)[1]
    return ((new[:, None] - means) ** 2).sum(2).argmin(1)

def linear(X, y, new):
    W, b = lda(X, y)
    return (new @ W.T + b).argmax(1)

def quadratic(X, y, new, alpha=0.0):
    shares, means, covs = estimate(X, y)
    return discriminants(new, shares, means, shrink(covs, alpha)).argmax(1)

# %%
per_grower = 8, 15, 20, 27, 36

def draw_wines(seed):
    order = np.random.default_rng(seed).permutation(178)
    x, y = wine.data[order], grower[order]
    same = y[:, None] == y
    rank = np.tril(same).sum(1)         # 1 for the first of its grower
    return x, y, rank

def error(method, seed, n):
    x, y, rank = draw_wines(seed)
    x = x / x[rank <= n].std(0)
    new = rank > 36                     # the other 70 wines
    answers = method(x[rank <= n], y[rank <= n], x[new])
    return (answers != y[new]).mean()

# %%
methods = {'nearest mean': nearest_mean, 'LDA': linear, 'QDA': quadratic,
           'QDA, α = 0.3': lambda *data: quadratic(*data, alpha=0.3)}
errors = {}                              # name, wines: 20 errors
print('wines       ', *(f'{n:11}' for n in per_grower))
for name, method in methods.items():
    for n in per_grower:
        enough = name != 'QDA' or n > 13   # else a singular matrix
        tried = range(20) if enough else ()
        errors[name, n] = np.array([error(method, s, n) for s in tried])
    tables = [errors[name, n] for n in per_grower]
    print(f'{name:12}', *(f'{e.mean():.3f}±{e.std():.3f}' if len(e)
                          else 11 * ' ' for e in tables))

# %% mystnb={"image": {"alt": "Share of errors against the training wines of each grower for four methods. QDA starts at 0.27 with 15 wines and falls steeply to the lowest error at 36. QDA with shrinkage starts at 0.07 with 8 wines and is lowest from 15 to 27. LDA starts at 0.12 and falls slowly; the nearest mean stays between 0.05 and 0.07."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.6, 3))
colours = {'nearest mean': GREY, 'LDA': 'C2', 'QDA': 'C1', 'QDA, α = 0.3': 'C0'}
for name, colour in colours.items():
    known = [n for n in per_grower if len(errors[name, n])]
    middle = np.array([errors[name, n].mean() for n in known])
    spread = np.array([errors[name, n].std() / 20**0.5 for n in known])
    ax.errorbar(known, middle, 2 * spread, fmt='none', color=colour, lw=1)
    ax.plot(known, middle, 'o-', ms=4, color=colour, label=name)
ax.set(xlabel='training wines of each grower', ylabel='share of errors', ylim=(0, 0.35), xlim=(7, 37), xticks=per_grower)
label_lines(ax, dx=8)
ax.text(37, 0.33, 'bars: two standard errors', ha='right', fontsize=8.5);

# %% [markdown] tags=["caption"]
# With few wines QDA is far worse than its rivals, and with shrinkage far better than without. With $36$ wines of each grower
# both forms of QDA err least on average.

# %% [markdown]
# With 15 wines of each grower, plain QDA is worse than the nearest mean, and with 8 it does not exist, because its
# matrices are singular. Shrinkage removes most of its errors and changes nothing else, so the uncertain covariances were
# the cause. In scikit-learn you would write

# %%
X, y = every, grower
model = LinearDiscriminantAnalysis(solver='lsqr', shrinkage=0.3)
theirs = model.fit(X, y).predict_proba(X)
shares, means, covs = estimate(X, y)
pooled = np.tensordot(shares, covs, 1)
ours = softmax(discriminants(
    X, shares, means, shrink(np.stack([pooled] * 3), 0.3)), axis=1)
print(f'wine 118: {theirs[118].round(2)}, ours {ours[118].round(2)}')

# %% [markdown]
# `shrinkage='auto'` chooses $\alpha$ by a formula {cite}`ledoit2004well`. scikit-learn's QDA has the argument
# `reg_param`, which mixes with $\mathbf{I}$ itself, so it should be used on measurements of similar scale.
#
# ```{exercise} ★★ Experiment: how much shrinkage?
# :label: lda-alpha
# Train QDA with 8 wines of each grower and shrink by 0.05, by 0.3 and by 0.9. First predict: sort the three numbers by
# the mean error over the twenty draws, smallest error first. Then run `error(lambda *data: quadratic(*data, alpha), seed,
# 8)`. Is the order the same with 36 wines?
# ```

# %%
def order_of_alphas():
    """The three numbers in the order of their errors, smallest first: a list.

    For example [0.05, 0.3, 0.9].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def mean_errors(n):
    return {alpha: np.mean([error(lambda *data: quadratic(*data, alpha), seed, n) for seed in range(20)])
            for alpha in (0.05, 0.3, 0.9)}

with_8 = mean_errors(8)

def is_measured(order):
    if sorted(order) != sorted(with_8):
        raise ValueError('give the three numbers 0.05, 0.3 and 0.9 in some order')
    if list(order) != sorted(with_8, key=with_8.get):
        raise ValueError('another order is measured; try the three and compare')
    return True

grade(lambda: is_measured(order_of_alphas()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} lda-alpha
# :class: dropdown
# ```
# With 8 wines the covariances say almost nothing, and the strongest shrinkage is best: what is left are the means and the
# widths of the three clouds. With 36 wines the covariances can be trusted, and the three errors are nearly the same. The
# best $\alpha$ falls as the number of examples grows, so it is chosen by cross-validation or by the formula of Ledoit and
# Wolf.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured([0.9, 0.3, 0.05]), lambda: True, [()])
for wrong in (
    [0.05, 0.3, 0.9],
    [0.3, 0.9, 0.05],
    [0.9, 0.3],
    [0.9, 0.3, 0.1],
    None,
):
    assert not grade(lambda: is_measured(wrong), lambda: True, [()])
for n, table in ((8, with_8), (36, mean_errors(36))):
    print(
        f'{n} wines:',
        ', '.join(
            f'α = {alpha} {value:.3f}' for alpha, value in table.items()
        ),
    )

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def shrinks_like_sklearn(seed, alpha, form):
    X, y = three_clouds(seed, d=3)
    shares, means, covs = estimate(X, y)
    model = LinearDiscriminantAnalysis(solver='lsqr', shrinkage=alpha).fit(X, y)
    pooled = np.tensordot(shares, form(covs, alpha), 1)
    return close(softmax(discriminants(X, shares, means, np.stack([pooled] * 3)), 1), model.predict_proba(X))

verify(
    'shrinkage is that of scikit-learn',
    lambda seed, alpha: shrinks_like_sklearn(seed, alpha, shrink),
    slip=('mixes with the identity whatever the trace', lambda seed, alpha: shrinks_like_sklearn(
        seed, alpha, lambda covs, alpha: (1 - alpha) * covs + alpha * np.eye(3))),
    seed=seeds(), alpha=scalars(0, 1), tries=20,
)

def worse_in_every_draw(name, other, n):
    return (errors[name, n] > errors[other, n]).all()

verify(
    'with 15 wines of each grower plain QDA errs more than with shrinkage in every draw',
    lambda n: worse_in_every_draw('QDA', 'QDA, α = 0.3', n),
    slip=('says that shrinkage does harm', lambda n: worse_in_every_draw('QDA, α = 0.3', 'QDA', n)),
    n=[15],
)

# %% [markdown]
# ## Summary
#
# QDA fits a Gaussian to each class and answers with the largest share times density; with one covariance for all classes
# this becomes LDA, a linear classifier that finds classes in the middle. With the true densities this is the Bayes
# classifier, which no rule can beat; with estimated ones the simpler LDA wins while examples are few, and QDA wins in the
# long run if the covariances differ. Shrinkage moves between the two kinds of error, and with few examples it decides
# whether QDA is useful at all.
#
# **Further reading.** {cite:t}`hastie2009elements`, section 4.3, treats LDA as a projection and regularized versions
# between LDA and QDA; {cite:t}`devroye1996probabilistic`, chapter 2, is for readers who want all that can be proved about
# the Bayes risk; {cite:t}`fisher1936use` is the original, with its irises.
