# ---
# jupyter:
#   book:
#     functions:
#       ridge: ridge(normal(20, 3), normal(20), 0.5)
#       ridge_with_bias: ridge_with_bias(normal(20, 3), normal(20), 0.5)
#       by_normal_equations: by_normal_equations(normal(20, 3), normal(20), 0.5)
#       by_stacking: by_stacking(normal(20, 3), normal(20), 0.5)
#       by_filter: by_filter(normal(20, 3), normal(20), 0.5)
#       by_dual: by_dual(normal(20, 3), normal(20), 0.5)
#       ridge_map: ridge_map(normal(20, 3), 0.5)
#       error_parts: error_parts(uniform(3), normal(3), 2.0, 0.5)
#       ridge_path: ridge_path(normal(20, 3), normal(20), uniform(4))
#       leave_one_out: leave_one_out(normal(20, 3), normal(20), uniform(4))
#       posterior: posterior(normal(20, 3), normal(20), 2.0, 1.0)
#     main: ml.reg.ridge-solution.solution
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Ridge regression
#
# Total and LDL cholesterol rise and fall together. If we predict the course of diabetes from these two values, least squares
# on thirty patients gives them the weights 65 and −59, while all 442 patients give 27 and −8. How do we get sensible weights
# from few data?
#
# - **You need** [linear regression](linear_regression.ipynb) and the
#   [singular value decomposition](../linear_algebra/singular_value_decomposition.ipynb).
# - **You build** ridge regression in four ways, its exact bias and variance, all leave-one-out errors from a single fit, and
#   error bars for the weights from a Gaussian prior.
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
import tracemalloc

import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.linalg import eigh, eigvalsh, inv, norm, pinv, solve, svd
from scipy.linalg import solve_triangular
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import multivariate_normal
from sklearn.linear_model import BayesianRidge, LinearRegression, Ridge, RidgeCV

from nbutils.cases import integers, lists, matrices, on, scalars, seeds, vectors
from nbutils.checks import below, close, grade, holds, verify
from nbutils.data import diabetes
from nbutils.figures import GREY, label_lines, panels

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Ridge regression: least squares with a penalty
#
# We take thirty of the 442 patients {cite}`efron2004least` and two features, total and LDL cholesterol (s1 and s2). Both are
# standardized: we subtract the mean of the thirty and divide by their standard deviation.

# %%
X, y, _ = diabetes()  # (442, 10), (442,)
few = np.random.default_rng(1).permutation(442)[:30]
blood, label = X[:, [4, 5]], y - y[few].mean()
blood = (blood - blood[few].mean(axis=0)) / blood[few].std(axis=0)
A, b = blood[few], label[few]  # (30, 2), (30,)

# %%
all_patients = LinearRegression().fit(blood, label).coef_
thirty = LinearRegression().fit(A, b).coef_
print('correlation in the thirty:', np.corrcoef(A.T)[0, 1].round(2))
print('weights from all 442:', all_patients.round(1))
print('weights from the 30: ', thirty.round(1))

# %% [markdown]
# Because the two features are strongly correlated, a large negative weight of one nearly cancels a large positive weight of the
# other. The training error hardly changes if both grow in this way, so the noise of thirty patients decides how large they
# become.
#
# The remedy is to make large weights expensive. Beside the loss $\mathcal{L}$ we choose a **penalty** $\Omega$, a function
# that is large for weights that we do not want unless the data demand them, and we minimize the sum:
#
# ```{math}
# :label: ml.reg.form
# \min_{\mathbf{w}} \; \mathcal{L}(\mathbf{w}) + \Omega(\mathbf{w})
# ```
#
# This is called **regularization**. **Ridge regression** takes the squared Euclidean length of the weights,
#
# ```{math}
# :label: ml.reg.ridge.omega
# \Omega(\mathbf{w}) = \|\mathbf{w}\|_2^2 = \sum_i w_i^2 ,
# ```
#
# times a number $\lambda \ge 0$, the strength of the penalty. Let the $N$ examples $(\mathbf{x}_n, y_n)$ be the rows of
# $\mathbf{X}$, and let features and targets be centred, so that no bias is needed. Then ridge regression solves
#
# ```{math}
# :label: ml.reg.ridge.objective
# \begin{aligned}
# & \min_{\mathbf{w}} \Big( \frac{1}{2N} \sum_{n=1}^N (y_n - \mathbf{x}_n^\top \mathbf{w})^2 + \lambda \|\mathbf{w}\|_2^2 \Big) \\
# & \qquad = \min_{\mathbf{w}} \Big( \frac{1}{2N} \|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2 + \lambda \|\mathbf{w}\|_2^2 \Big) .
# \end{aligned}
# ```
#
# ### The solution in closed form
#
# Both terms are quadratic, so we can write the minimum down. Gradients add:
#
# ```{math}
# :label: ml.reg.ridge-solution.grad
# \begin{aligned}
# \nabla_{\mathbf{w}} \big( \mathcal{L}_{\text{MSE}}(\mathbf{w}) + \lambda \, \Omega(\mathbf{w}) \big)
# &= \nabla \mathcal{L}_{\text{MSE}}(\mathbf{w}) + \lambda \, \nabla \Omega(\mathbf{w}) \\
# &= -\frac1N \mathbf{X}^\top (\mathbf{y} - \mathbf{X}\mathbf{w}) + 2\lambda\mathbf{w} .
# \end{aligned}
# ```
#
# We set the gradient to zero, multiply by $N$ and collect $\mathbf{w}$:
# $(\mathbf{X}^\top\mathbf{X} + 2N\lambda\,\mathbf{I})\,\mathbf{w} = \mathbf{X}^\top\mathbf{y}$. With the abbreviation
#
# ```{math}
# :label: ml.reg.ridge-solution.lambda-prime
# \frac{\lambda'}{2N} = \lambda \iff \lambda' = 2N\lambda
# ```
#
# the solution is
#
# ```{math}
# :label: ml.reg.ridge-solution.solution
# \mathbf{w}^*_{\text{ridge}} = (\mathbf{X}^\top\mathbf{X} + \lambda'\mathbf{I})^{-1} \mathbf{X}^\top\mathbf{y} .
# ```
#
# In code we write $\alpha$ for $\lambda'$, as scikit-learn does:

# %%
def ridge(X, y, alpha):  # (N, d), (N,) -> (d,)
    one = np.eye(X.shape[1], dtype=X.dtype)
    return solve(X.T @ X + alpha * one, X.T @ y)

# %%
for alpha in (0, 3, 300):
    w = ridge(A, b, alpha)
    print(f'alpha = {alpha:3}: weights {w[0]:5.1f} and {w[1]:5.1f},'
          f' {norm(w - all_patients):.1f} away from those of all 442')

# %% mystnb={"image": {"alt": "Level lines of the loss over two weights: a long thin ellipse from upper left to lower right. Least squares sits far from the origin; the ridge path runs from there along the long axis of the ellipse and then to the origin. A circle around the origin touches one ellipse at the ridge solution. The weights of all patients lie closer to the path than to least squares."}} tags=["hide-input"]
alphas = np.geomspace(1e-3, 1e4, 200)
path = np.array([ridge(A, b, alpha) for alpha in alphas])  # (200, 2)
touch = ridge(A, b, 3)
w1, w2 = np.meshgrid(np.linspace(-25, 75, 81), np.linspace(-70, 40, 81))
steps = np.stack([w1 - thirty[0], w2 - thirty[1]])  # (2, 81, 81)
excess = ((A @ steps.reshape(2, -1)) ** 2).sum(axis=0).reshape(81, 81)
level = ((A @ (touch - thirty)) ** 2).sum()
fig, ax = plt.subplots(figsize=(5, 4.2))
ax.contour(w1, w2, excess, level * np.array([0.2, 1, 3, 7]), colors=GREY, linewidths=0.8)
turn = np.linspace(0, 2 * np.pi, 181)
ax.plot(*(norm(touch) * np.array([np.cos(turn), np.sin(turn)])), 'C2', lw=1.2)
ax.plot(*path.T, 'C1', label='ridge path')
ax.plot(*thirty, 'C0*', ms=11, label='least squares, 30 patients')
ax.plot(*touch, 'C1o', label='ridge, α = 3')
ax.plot(*all_patients, 'C3D', label='least squares, all 442')
ax.plot(0, 0, '+', color=GREY, ms=9)
ax.set(xlabel='weight of s1', ylabel='weight of s2', aspect='equal')
fig.legend(fontsize=8, ncols=2, loc='outside upper center');

# %% [markdown] tags=["caption"]
# The training error of thirty patients is nearly flat in one direction. With growing $\alpha$, the ridge weights move along
# this direction from least squares towards the origin; for $\alpha = 3$ they are much closer to the weights of all 442.

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# Without a penalty, a factor in front of the loss changes no minimizer, so it is easy to be careless about it. With a
# penalty it matters: $\frac1N$ in place of $\frac{1}{2N}$ has the same effect as half the $\lambda$. Libraries differ in
# just this factor. scikit-learn's `Ridge` has neither $\frac12$ nor $\frac1N$, so that its `alpha` is $2N\lambda$, not
# $\lambda$.
# :::

# %%
lam, N = 0.05, 30
for loss, alpha in (('1/(2N)', 2 * N * lam), ('1/N', N * lam), ('1', lam)):
    w = Ridge(alpha, fit_intercept=False).fit(A, b).coef_
    print(f'loss with the factor {loss:6}: weights', w.round(1))

# %% [markdown]

# ````{prf:theorem} One minimum, always
# :label: thm-ridge-minimum
# If $\lambda > 0$, the ridge objective has exactly one minimizer, {eq}`ml.reg.ridge-solution.solution`, for every
# $\mathbf{X}$, also for dependent columns or fewer examples than features.
# ````
#
# ````{prf:proof}
# :class: dropdown
# Write $J$ for the objective. Expanding the squares gives for every step $\boldsymbol\delta$
#
# $$ J(\mathbf{w} + \boldsymbol\delta) = J(\mathbf{w}) + \boldsymbol\delta^\top \nabla J(\mathbf{w})
# + \tfrac{1}{2N} \big( \|\mathbf{X}\boldsymbol\delta\|^2 + \lambda' \|\boldsymbol\delta\|^2 \big) . $$
#
# The bracket is positive for $\boldsymbol\delta \ne \mathbf{0}$. So $\mathbf{X}^\top\mathbf{X} + \lambda'\mathbf{I}$ is
# positive definite, hence invertible, and the gradient vanishes at one point. From there every step leads upwards.
# ````
#
# A larger $\lambda$ gives shorter weights and a worse fit, never the other way round. This holds for every loss and every
# penalty:
#
# ````{prf:theorem} Loss against penalty
# :label: thm-penalty-trade
# Let $\mathbf{w}_\lambda$ minimize $\mathcal{L} + \lambda\Omega$ for any real functions $\mathcal{L}$ and $\Omega$. If
# $\lambda < \mu$, then $\Omega(\mathbf{w}_\mu) \le \Omega(\mathbf{w}_\lambda)$. If moreover $\lambda \ge 0$, then
# $\mathcal{L}(\mathbf{w}_\mu) \ge \mathcal{L}(\mathbf{w}_\lambda)$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# Each of the two is best for its own penalty:
# $\mathcal{L}(\mathbf{w}_\lambda) + \lambda\Omega(\mathbf{w}_\lambda) \le \mathcal{L}(\mathbf{w}_\mu) +
# \lambda\Omega(\mathbf{w}_\mu)$ and
# $\mathcal{L}(\mathbf{w}_\mu) + \mu\Omega(\mathbf{w}_\mu) \le \mathcal{L}(\mathbf{w}_\lambda) +
# \mu\Omega(\mathbf{w}_\lambda)$. Add them; the losses cancel, and
# $(\mu - \lambda)\big(\Omega(\mathbf{w}_\mu) - \Omega(\mathbf{w}_\lambda)\big) \le 0$. Now the first inequality gives
# $\mathcal{L}(\mathbf{w}_\mu) - \mathcal{L}(\mathbf{w}_\lambda) \ge \lambda\big(\Omega(\mathbf{w}_\lambda) -
# \Omega(\mathbf{w}_\mu)\big) \ge 0$.
# ````
#
# So $\mathbf{w}_\lambda$ has the least loss among all weights that are no longer than itself. In the figure, the circle
# touches a level line there.
#
# ### Standardize the features, and do not penalize the bias
#
# If we add a constant to all targets, all predictions should grow by this constant, and nothing else should change. So the
# bias $b$ must not be penalized. For fixed $\mathbf{w}$, the $b$ that minimizes
# $\|\mathbf{y} - \mathbf{X}\mathbf{w} - b\mathbf{1}\|^2 + \alpha\|\mathbf{w}\|^2$ is
# $b = \bar{y} - \bar{\mathbf{x}}^\top\mathbf{w}$. If we insert it, ridge regression without a bias on
# centred features and centred targets remains. (A column of ones is a mistake here, because its weight would be penalized.)

# %%
def ridge_with_bias(X, y, alpha):  # -> (d + 1,), the bias last
    m = X.mean(axis=0)
    w = ridge(X - m, y - y.mean(), alpha)
    return np.array([*w, y.mean() - m @ w])

# %%
Z = (X - X.mean(axis=0)) / X.std(axis=0)
ours, model = ridge_with_bias(Z, y, 20.0), Ridge(20.0).fit(Z, y)
print(f'ours:         s1 {ours[4]:.2f}, bias {ours[-1]:.1f}')
print(f'scikit-learn: s1 {model.coef_[4]:.2f}, bias {model.intercept_:.1f}')

# %% [markdown]
# The units of the *features* do matter. In metres instead of centimetres a weight is a hundred times as large, and its
# penalty ten thousand times. Unless all features share a unit, standardize them first, with means and standard
# deviations of the training data.
#
# ```{exercise} ★ Program: shrink towards a guess
# :label: ridge_regression-guess
# An earlier study found the weights $\mathbf{w}_0$. Minimize
# $\|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2 + \alpha\|\mathbf{w} - \mathbf{w}_0\|^2$: write `towards(X, y, alpha, w0)`.
# ```

# %%
def towards(X, y, alpha, w0):
    """The weights that minimize the sum of both terms: a float array (d,).

    X: float array (N, d), N may be less than d. y: float array (N,).
    alpha: float > 0. w0: float array (d,).
    For X = [[1.]], y = [2.], alpha = 1.0 and w0 = [4.] the result is [3.].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def towards_by_least_squares(X, y, alpha, w0):
    step = np.linalg.lstsq(np.vstack([X, alpha**0.5 * np.eye(len(w0))]), np.append(y - X @ w0, 0 * w0))[0]
    return w0 + step

cases = dict(
    X=matrices((1, 8), (1, 4), edges=True), y=lambda X: vectors(len(X), edges=True),
    alpha=on(1.0, 0.1, 10.0) | scalars(0.1, 10), w0=lambda X: vectors(X.shape[1], edges=True),
)
grade(towards, towards_by_least_squares, **cases)

# %% [markdown]
# ```{solution-start} ridge_regression-guess
# :class: dropdown
# ```
# The gradient vanishes where $(\mathbf{X}^\top\mathbf{X} + \alpha\mathbf{I})\mathbf{w} = \mathbf{X}^\top\mathbf{y} +
# \alpha\mathbf{w}_0$: the guess enters like further data. It is tempting, but wrong, to add $\mathbf{w}_0$ to the ordinary
# solution: that would move the predictions even where the data determine them well. The second wrong answer forgets that
# $\alpha$ multiplies $\mathbf{w}_0$, and the third returns the distance from the guess.

# %% jupyter={"source_hidden": true}
def towards_solution(X, y, alpha, w0):
    G = X.T @ X + alpha * np.eye(X.shape[1])
    return solve(G, X.T @ y + alpha * w0)

def guess_on_top(X, y, alpha, w0):
    return ridge(X, y, alpha) + w0

def alpha_forgotten(X, y, alpha, w0):
    return solve(X.T @ X + alpha * np.eye(len(w0)), X.T @ y + w0)

def distance_only(X, y, alpha, w0):
    return ridge(X, y - X @ w0, alpha)

assert grade(towards_solution, towards_by_least_squares, **cases)
assert not grade(guess_on_top, towards_by_least_squares, **cases)
assert not grade(alpha_forgotten, towards_by_least_squares, **cases)
assert not grade(distance_only, towards_by_least_squares, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: ten copies of one feature
# :label: ridge_regression-copies
# Fit all patients with $\alpha = 100$, once with the ten standardized features and once with ten equal columns in place of
# bmi. Predict two changes, then measure them and explain.
# ```

# %%
def predicted_changes():
    """What copying does to two numbers, each 'falls', 'rises' or 'stays'.

    A pair: the weight of a single bmi column, the sum of the weights of all
    bmi columns. Less than 1 % counts as 'stays'.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def bmi_weights(copies):  # of each column, in sum
    columns = np.hstack([Z[:, [2]]] * copies + [np.delete(Z, 2, axis=1)])
    w = Ridge(100.0).fit(columns, y).coef_
    return np.array([w[0], w[:copies].sum()])

def is_measured(answer):
    ratios = bmi_weights(10) / bmi_weights(1)
    if len(answer) != 2 or not {*answer} <= {'falls', 'rises', 'stays'}:
        raise ValueError("give two words, each 'falls', 'rises' or 'stays'")
    if [*answer] != ['stays' if abs(ratio - 1) < 0.01 else 'rises' if ratio > 1 else 'falls' for ratio in ratios]:
        raise ValueError('something else is measured; run it and compare')
    return True

grade(lambda: is_measured(predicted_changes()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} ridge_regression-copies
# :class: dropdown
# ```
# The columns are equal, so the penalty is least if they share their sum $v$ equally, each with $v/10$. These weights cost
# $10\,(v/10)^2 = v^2/10$: the penalty of the sum is a tenth of what it was, and the sum is shrunk less. It is tempting to
# think that nothing changes in sum, because the predictions that can be made are the same. But a penalty depends on how
# the features are written down.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured(('falls', 'rises')), lambda: True, [()])
assert not grade(lambda: is_measured(('falls', 'stays')), lambda: True, [()])  # only predictions matter
assert not grade(lambda: is_measured(('stays', 'rises')), lambda: True, [()])  # each column keeps its weight
assert not grade(lambda: is_measured(('falls', 'falls')), lambda: True, [()])  # ten columns are penalized ten times
for copies in (1, 10):
    print(f'{copies:2} columns: weight of each {bmi_weights(copies)[0]:.1f}, sum {bmi_weights(copies)[1]:.1f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def penalty(w):
    return (w**2).sum()

def objective(w, X, y, lam, half=2):
    return norm(y - X @ w) ** 2 / (half * len(y)) + lam * penalty(w)

def regularized_fit(loss, penalty, d):  # by a general optimizer
    total = lambda w: loss(w) + penalty(w)
    return minimize(total, np.zeros(d), jac='3-point', tol=1e-9).x

def case(seed, N=12, d=3):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(N, d)), rng.normal(0, 3, N)
    return X, y, rng.normal(size=d), rng.uniform(0.1, 1)

def same_problem(seed, half):
    X, y, w, lam = case(seed)
    terms = [(y_n - x_n @ w) ** 2 for x_n, y_n in zip(X, y, strict=True)]
    left = sum(terms) / (2 * len(y)) + lam * penalty(w)
    best = Ridge(alpha=2 * len(y) * lam, fit_intercept=False).fit(X, y).coef_
    right = lambda w: objective(w, X, y, lam, half)
    ours = minimize(right, w, jac='3-point', tol=1e-9).x
    # a loss is flat to 1e-16 within some 1e-8 of its minimum
    return close(left, right(w)) and close(ours, best, atol=3e-7, rtol=0)
holds('ml.reg.ridge.omega', lambda w: close(penalty(w), norm(w) ** 2),
      slip=('takes the length in place of its square',
            lambda w: close(penalty(w), norm(w))),
      w=vectors(4))

holds('ml.reg.ridge.objective', lambda seed: same_problem(seed, 2),
      slip=('loses the 2 below the bar on one side',
            lambda seed: same_problem(seed, 1)),
      seed=seeds(), tries=15)

def trades(seed, fit):
    X, y, _, _ = case(seed)
    loss = lambda w: objective(w, X, y, 0)
    ways = [fit(loss, price, 3) for price in (0, 0.2, 1, 5)]
    losses, lengths = map(loss, ways), map(penalty, ways)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    return (close(ways[0], best, atol=3e-7, rtol=0)
            and bool((np.diff(list(losses)) > 0).all())
            and bool((np.diff(list(lengths)) < 0).all()))

def priced(loss, price, d):
    return regularized_fit(loss, lambda w: price * penalty(w), d)

def wrongly_priced(loss, price, d):
    return regularized_fit(lambda w: price * loss(w), penalty, d)

holds('ml.reg.form', lambda seed: trades(seed, priced),
      slip=('multiplies the loss by λ instead of the penalty',
            lambda seed: trades(seed, wrongly_priced)),
      seed=seeds(), tries=15)

# %% tags=["checks"]
def gradient(w, X, y, lam):
    return -X.T @ (y - X @ w) / len(y) + 2 * lam * w

def by_torch(w, X, y, lam):
    w, X, y = (torch.tensor(a) for a in (w, X, y))
    w.requires_grad_()
    (((y - X @ w) ** 2).mean() / 2 + lam * (w**2).sum()).backward()
    return w.grad

def by_library(X, y, lam):
    model = Ridge(alpha=2 * len(y) * lam, fit_intercept=False)
    return model.fit(X, y).coef_

def solves(seed, alpha):  # alpha: a function of lambda and N
    X, y, _, lam = case(seed)
    w = ridge(X, y, alpha(lam, len(y)))
    return close(gradient(w, X, y, lam), np.zeros(3), atol=1e-12)

def is_solution(seed, rule):
    X, y, _, lam = case(seed)
    return close(rule(X, y, lam), by_library(X, y, lam), atol=1e-11, rtol=0)

def gradients_agree(seed, factor):
    X, y, w, lam = case(seed)
    return close(gradient(w, X, y, factor * lam), by_torch(w, X, y, lam))

holds('ml.reg.ridge-solution.grad', lambda seed: gradients_agree(seed, 1),
      slip=('forgets the 2 of the derivative of the square',
            lambda seed: gradients_agree(seed, 0.5)),
      seed=seeds(), tries=60)

holds('ml.reg.ridge-solution.lambda-prime',
      lambda seed: solves(seed, lambda lam, N: 2 * N * lam),
      slip=('divides by N instead of multiplying by it',
            lambda seed: solves(seed, lambda lam, N: 2 / N * lam)),
      seed=seeds())

holds('ml.reg.ridge-solution.solution',
      lambda seed: is_solution(
          seed, lambda X, y, lam: ridge(X, y, 2 * len(y) * lam)),
      slip=("writes λ where λ' = 2Nλ belongs",
            lambda seed: is_solution(seed, ridge)),
      seed=seeds(), tries=100)

def found_by_search(seed, factor):
    X, y, _, lam = case(seed)
    w = priced(lambda w: objective(w, X, y, 0), lam, 3)
    return close(w, ridge(X, y, factor * len(y) * lam), atol=3e-7, rtol=0)

verify('a general optimizer finds the same weights',
       lambda seed: found_by_search(seed, 2),
       slip=("writes λ' = Nλ without the 2",
             lambda seed: found_by_search(seed, 1)),
       seed=seeds(), tries=20)

# %% tags=["checks"]
def bias_charged(X, y, alpha):
    return ridge(np.column_stack([X, np.ones(len(y))]), y, alpha)

def as_scikit_learn(seed, fit):
    X, y, _, alpha = case(seed, d=4)
    model = Ridge(alpha).fit(X + 2, y + 5)
    want = [*model.coef_, model.intercept_]
    return close(fit(X + 2, y + 5, alpha), want, atol=1e-11, rtol=0)

assert close(ours, [*model.coef_, model.intercept_], atol=1e-10, rtol=0)
assert close(norm(b - A @ touch) ** 2, norm(b - A @ thirty) ** 2 + level)
verify('centred ridge is scikit-learn\'s, bias included',
       lambda seed: as_scikit_learn(seed, ridge_with_bias),
       slip=('penalizes the bias as well',
             lambda seed: as_scikit_learn(seed, bias_charged)),
       seed=seeds(), tries=100)

# %% [markdown]
# ## Eigenvalues, filter factors and the dual form
#
# How badly a matrix can be inverted is measured by its
# [condition number](../linear_algebra/singular_value_decomposition.ipynb), the largest eigenvalue of
# $\mathbf{X}^\top\mathbf{X}$ divided by the smallest. For the ten standardized features of all patients, adding
# $\alpha\mathbf{I}$ has this effect:

# %%
X, y, _ = diabetes()
Z = (X - X.mean(axis=0)) / X.std(axis=0)
s = eigvalsh(Z.T @ Z)[::-1]  # (10,), largest first
for alpha in (0, 10, 100):
    largest, smallest = s[0] + alpha, s[-1] + alpha
    print(f'alpha = {alpha:3}: eigenvalues {smallest:.0f} to {largest:.0f},'
          f' condition number {largest / smallest:.0f}')

# %% [markdown]
# Every eigenvalue grows by $\alpha$. To see why, let the columns of $\mathbf{U}$ be the orthonormal eigenvectors of
# $\mathbf{X}^\top\mathbf{X}$, and the diagonal of $\mathbf{S}$ its eigenvalues $s_1 \ge \dots \ge s_d \ge 0$, which are the
# squares of the singular values of $\mathbf{X}$. Since $\mathbf{U}\mathbf{U}^\top = \mathbf{I}$,
#
# ```{math}
# :label: ml.reg.ridge-conditioning.proof
# \begin{aligned}
# \mathbf{X}^\top\mathbf{X} &= \mathbf{U}\mathbf{S}\mathbf{U}^\top , \\
# \mathbf{X}^\top\mathbf{X} + \lambda'\mathbf{I} &= \mathbf{U}\mathbf{S}\mathbf{U}^\top +
# \lambda'\mathbf{U}\mathbf{I}\mathbf{U}^\top = \mathbf{U}(\mathbf{S} + \lambda'\mathbf{I})\mathbf{U}^\top .
# \end{aligned}
# ```
#
# The eigenvectors stay the same, and no eigenvalue remains below $\lambda'$:
#
# ```{math}
# :label: ml.reg.ridge-conditioning.lift
# (\mathbf{X}^\top\mathbf{X} + \lambda'\mathbf{I}) \, \mathbf{u}_j = (s_j + \lambda') \, \mathbf{u}_j , \qquad
# s_j + \lambda' \ge \lambda' .
# ```
#
# So the inverse exists whenever $\lambda' > 0$.
#
# :::{admonition} A tempting mistake
# :class: warning
# It is easy to write `X.T @ X + alpha`, without the identity. This adds $\alpha$ to every *entry*, not to every eigenvalue.
# For two equal features, the matrix remains singular:
# :::

# %%
twins = np.array([[1.0, 1.0], [2.0, 2.0]])
print('alpha * np.eye(2):', eigvalsh(twins.T @ twins + 3 * np.eye(2)).round(1))
print('alpha:            ', abs(eigvalsh(twins.T @ twins + 3)).round(1))

# %% mystnb={"image": {"alt": "Left: ten eigenvalues on a logarithmic scale for three values of alpha; on this scale the two smallest rise most, the largest stays. Right: the condition number against alpha falls from 470 to one; that of the stacked matrix is its square root."}} tags=["hide-input"]
alphas = np.geomspace(1e-2, 1e4, 121)
condition = (s[0] + alphas) / (s[-1] + alphas)
fig, (left, right) = panels(2, height=2.6)
for k, alpha in enumerate((0, 10, 100)):
    left.semilogy(range(1, 11), s + alpha, f'C{k}.-', label=f'α = {alpha}')
left.set(xlabel='j', ylabel='$s_j$ + α', title='Eigenvalues',
         xticks=[1, 5, 10])
left.legend()
right.loglog(alphas, condition, label='XᵀX + αI')
right.loglog(alphas, condition ** 0.5, label='stacked')
right.set(xlabel='α', title='Condition number')
right.legend();

# %% [markdown] tags=["caption"]
# Adding $\alpha$ raises the small eigenvalues of $\mathbf{X}^\top\mathbf{X}$ and hardly changes the large ones: the
# condition number falls from 470 towards 1. The stacked matrix, below, has its square root.

# %% [markdown]
# ### Four ways to compute it
#
# **1. Normal equations.** This is {eq}`ml.reg.ridge-solution.solution` as it stands.

# %%
def by_normal_equations(X, y, alpha):
    one = np.eye(X.shape[1], dtype=X.dtype)
    return solve(X.T @ X + alpha * one, X.T @ y)

# %% [markdown]
# **2. Stacking.** $\|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2 + \alpha\|\mathbf{w}\|^2$ is the ordinary least-squares loss of
# $N + d$ examples: the real ones, and $d$ invented ones in which feature $j$ alone has the value $\sqrt\alpha$ and the
# target is 0. So we put $\sqrt\alpha\,\mathbf{I}$ below $\mathbf{X}$ and use the
# [QR decomposition](../linear_algebra/qr_decomposition.ipynb). The singular values of the stacked matrix are
# $\sqrt{s_j + \alpha}$, and its condition number is the square root of the one above.

# %%
def by_stacking(X, y, alpha):
    one = np.eye(X.shape[1], dtype=X.dtype)
    stacked = np.vstack([X, alpha**0.5 * one])  # (N + d, d)
    Q, R = np.linalg.qr(stacked)
    return solve_triangular(R, Q.T @ np.append(y, 0 * X[0]))

# %% [markdown]
# **3. Filter factors.** We insert the singular value decomposition
# $\mathbf{X} = \sum_j \sqrt{s_j}\,\mathbf{p}_j\mathbf{u}_j^\top$:
#
# ```{math}
# :label: ridge-filter
# \mathbf{w}_\alpha = \sum_{s_j > 0} f_j\, \frac{\mathbf{p}_j^\top\mathbf{y}}{\sqrt{s_j}}\, \mathbf{u}_j , \qquad
# f_j = \frac{s_j}{s_j + \alpha} .
# ```
#
# Without the $f_j$ this is the pseudoinverse, the limit for $\alpha \to 0$. The *filter factors* are close to 1 for
# $s_j \gg \alpha$ and close to 0 for $s_j \ll \alpha$. One decomposition serves every $\alpha$.

# %%
def by_filter(X, y, alpha):
    P, root, Ut = svd(X, full_matrices=False)  # root[j] is the root of s_j
    return (root / (root**2 + alpha) * (P.T @ y)) @ Ut

# %% [markdown]
# **4. The dual form.** From $\mathbf{X}^\top(\mathbf{X}\mathbf{X}^\top + \alpha\mathbf{I}) =
# (\mathbf{X}^\top\mathbf{X} + \alpha\mathbf{I})\mathbf{X}^\top$ (multiply out both sides) follows
#
# ```{math}
# :label: ridge-dual
# \mathbf{w}_\alpha = \mathbf{X}^\top \mathbf{a}, \qquad \mathbf{a} = (\mathbf{K} + \alpha\mathbf{I})^{-1}\mathbf{y}, \qquad
# \mathbf{K} = \mathbf{X}\mathbf{X}^\top .
# ```
#
# The system has the size of the number of examples, and the inputs occur only through their dot products $K_{mn} =
# \mathbf{x}_m \cdot \mathbf{x}_n$; kernel methods are built on this. The dual weights are residuals, $\alpha\mathbf{a} =
# \mathbf{y} - \mathbf{X}\mathbf{w}_\alpha$, since $\mathbf{K}\mathbf{a} + \alpha\mathbf{a} = \mathbf{y}$.

# %%
def by_dual(X, y, alpha):
    K = X @ X.T + alpha * np.eye(len(y), dtype=X.dtype)  # (N, N)
    return X.T @ solve(K, y)

# %%
routes = {'normal equations': by_normal_equations, 'stacked QR': by_stacking,
          'SVD': by_filter, 'dual': by_dual}
for name, route in routes.items():
    print(f'{name:16}', route(Z, y - y.mean(), 10.0)[:4].round(2))

# %% [markdown]
# In exact arithmetic the four agree. In a computer they lose different numbers of digits. We fit a polynomial of degree 5
# to 30 points of $[0, 1]$, whose columns $1, t, \dots, t^5$ are nearly dependent, and store the matrices in
# single precision ($\varepsilon = 2^{-24} \approx 6 \cdot 10^{-8}$).

# %% tags=["hide-input"]
def single(a):
    return np.float32(a).astype(float)

def rounded(X, y, alpha):  # weights (4, d), their matrices stored in single precision
    d = X.shape[1]
    G, K = single(X.T @ X + alpha * np.eye(d)), single(X @ X.T + alpha * np.eye(len(y)))
    Q, R = map(single, np.linalg.qr(np.vstack([X, np.sqrt(alpha) * np.eye(d)])))
    P, root, Ut = map(single, svd(X, full_matrices=False))
    return [solve(G, X.T @ y), solve_triangular(R, Q.T @ np.append(y, np.zeros(d))),
            (root / (root**2 + alpha) * (P.T @ y)) @ Ut, X.T @ solve(K, y)]

def lost(seed, alpha):  # relative error of each method
    rng = np.random.default_rng(seed)
    X = np.vander(rng.random(30), 6, increasing=True)
    y = X @ rng.normal(size=6)
    true = by_stacking(X, y, alpha)
    return norm(rounded(X, y, alpha) - true, axis=1) / norm(true)

strengths = 10.0 ** np.arange(-13, 4)
errors = np.median([[lost(seed, alpha) for alpha in strengths] for seed in range(50)], axis=0)  # (17, 4)
at = dict(zip(routes, errors[strengths == 1e-7][0], strict=True))
for name, error in at.items():
    print(f'alpha = 1e-7: {name}, error in units of stacking {error / at["stacked QR"]:.3g}')
print('alpha = 1000: errors in units of 2^-23', below(errors[-1] * 2**23, 1))

# %% mystnb={"image": {"alt": "Relative error of four methods, stored in single precision, against alpha, both logarithmic. For large alpha all are near the unit of rounding. As alpha falls, normal equations and dual lose digits in proportion to one over alpha until fewer than two are left; stacked QR and SVD lose about a third as many."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
for (name, error), mark in zip(zip(routes, errors.T), 'osx+', strict=False):
    ax.loglog(strengths, error, marker=mark, ms=4, lw=1.3, label=name)
steep = strengths[7:]
ax.loglog(steep, 2.0**-24 / steep, '--', color=GREY, lw=1)
ax.text(2e-6, 4e-2, 'ε/α')
ax.set(xlabel='α', ylabel='relative error', ylim=(1e-9, 1))
ax.legend();

# %% [markdown] tags=["caption"]
# Stored in single precision, the methods that form $\mathbf{X}^\top\mathbf{X}$ or $\mathbf{X}\mathbf{X}^\top$ lose digits
# like $1/\alpha$ until fewer than two are left; stacking and SVD lose far fewer.

# %% [markdown]
# The two steep curves grow with the condition number, and the two flat ones with its root at most. For a larger $\alpha$ all
# four are accurate, and the cheapest is best.
#
# ```{exercise} ★★ Program: a penalty for each feature
# :label: ridge_regression-prices
# Let feature $j$ have its own $\alpha_j > 0$, so that $\|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2 + \sum_j \alpha_j
# w_j^2$ is minimized, with far more features than examples. Derive a dual form and write `priced_dual(X, y, alphas)`
# without any $d \times d$ matrix.
# ```

# %%
def priced_dual(X, y, alphas):
    """The weights: a float array (d,).

    X: float array (N, d). y: float array (N,). alphas: float array (d,),
    all entries > 0. Memory for at most 20 arrays like X may be used.
    For X = [[1., 1.]], y = [3.], alphas = [1., 2.] the result is [1.2, 0.6].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def frugal(fit):
    def measured(X, y, alphas):
        tracemalloc.start()
        try:
            w = fit(X, y, alphas)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        if peak > 20 * X.nbytes + 10**6:
            raise ValueError(f'it needs memory for {peak // X.nbytes} arrays like X; at most 20 are allowed')
        return w
    return measured

def priced_by_gradient(X, y, alphas):  # the point where it vanishes
    return solve(X.T @ X + np.diag(alphas), X.T @ y)

wide = np.random.default_rng(5)
cases = dict(
    X=matrices((1, 4), (1, 8), edges=True), y=lambda X: vectors(len(X), edges=True),
    alphas=lambda X: vectors(X.shape[1], 0.1, 10, edges=True),
)
large = [(wide.normal(size=(3, 1000)), wide.normal(size=3), wide.uniform(0.5, 5, 1000))]
grade(frugal(priced_dual), priced_by_gradient, large, **cases)

# %% [markdown]
# ```{solution-start} ridge_regression-prices
# :class: dropdown
# ```
# Put $v_j = \sqrt{\alpha_j}\, w_j$. Then the penalty is $\|\mathbf{v}\|^2$ and the features become
# $\mathbf{X}\mathbf{D}^{-1/2}$ with $\mathbf{D} = \operatorname{diag}(\alpha_j)$. By {eq}`ridge-dual`,
# $\mathbf{w} = \mathbf{D}^{-1/2}\mathbf{v} = \mathbf{D}^{-1}\mathbf{X}^\top(\mathbf{X}\mathbf{D}^{-1}\mathbf{X}^\top +
# \mathbf{I})^{-1}\mathbf{y}$. In code, dividing $\mathbf{X}$ by the vector of the $\alpha_j$ takes the place of
# $\mathbf{D}^{-1}$. The first wrong answer forgets to scale back, the second takes the same $\alpha$ for all, and
# the third is right but builds a matrix of a million entries.

# %% jupyter={"source_hidden": true}
def priced_dual_solution(X, y, alphas):
    V = X / alphas
    return V.T @ solve(V @ X.T + np.eye(len(y)), y)

def not_scaled_back(X, y, alphas):
    V = X / np.sqrt(alphas)
    return V.T @ solve(V @ V.T + np.eye(len(y)), y)

def all_alike(X, y, alphas):
    return by_dual(X, y, alphas.mean())

def as_large_as_the_features(X, y, alphas):
    return solve(X.T @ X + np.diag(alphas), X.T @ y)

assert grade(frugal(priced_dual_solution), priced_by_gradient, large, **cases)
assert not grade(frugal(not_scaled_back), priced_by_gradient, large, **cases)
assert not grade(frugal(all_alike), priced_by_gradient, large, **cases)
assert not grade(frugal(as_large_as_the_features), priced_by_gradient, large, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def lift(X, alpha, what):  # the eigenvalues, and whether an inverse is found
    lifted = X.T @ X + alpha * what
    found = np.linalg.matrix_rank(lifted) == len(lifted)
    return eigvalsh(lifted), found and close(inv(lifted) @ lifted, np.eye(4))

def low_rank(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(6, 2)) @ rng.normal(size=(2, 4))

def all_lifted(seed, alpha, what):
    X = low_rank(seed)
    values, inverse = lift(X, alpha, what)
    expected = eigvalsh(X.T @ X) + alpha
    return bool(inverse and close(values, expected, atol=1e-10, rtol=1e-12)
                and (values >= alpha - 1e-10).all())

def same_vectors(seed, alpha, turn):
    X = np.random.default_rng(seed).normal(size=(6, 4))
    s, U = eigh(X.T @ X)
    U = turn(U)
    return close(U @ np.diag(s + alpha) @ U.T, X.T @ X + alpha * np.eye(4))

holds('ml.reg.ridge-conditioning.proof',
      lambda seed, alpha: same_vectors(seed, alpha, lambda U: U),
      slip=('multiplies by Uᵀ from the left and U from the right',
            lambda seed, alpha: same_vectors(seed, alpha, np.transpose)),
      seed=seeds(), alpha=scalars(0.01, 9), tries=100)

holds('ml.reg.ridge-conditioning.lift',
      lambda seed, alpha: all_lifted(seed, alpha, np.eye(4)),
      slip=('adds α to every entry instead of the diagonal',
            lambda seed, alpha: all_lifted(seed, alpha, 1)),
      seed=seeds(), alpha=scalars(0.01, 9), tries=100)

# %% tags=["checks"]
def four_agree(seed, N, d, alpha, forms):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(N, d)), rng.normal(size=N)
    want = Ridge(alpha, fit_intercept=False, tol=1e-12).fit(X, y).coef_
    return all(close(f(X, y, alpha), want, atol=1e-9, rtol=0) for f in forms)

rootless = lambda X, y, alpha: by_stacking(X, y, alpha**2)
for alpha in (0, 10, 100):
    assert close((s[0] + alpha) / (s[-1] + alpha), np.linalg.cond(Z.T @ Z + alpha * np.eye(10)))
assert at['normal equations'] > 100 * at['stacked QR'] > 0
assert at['dual'] > 100 * at['stacked QR'] and at['SVD'] < 1e-3
assert (errors[-1] < 2.0**-23).all()

verify('four routes lead to scikit-learn\'s weights',
       lambda seed, N, d, alpha: four_agree(seed, N, d, alpha,
                                            routes.values()),
       slip=('stacks α I below X instead of √α I',
             lambda seed, N, d, alpha: four_agree(seed, N, d, alpha,
                                                  [rootless])),
       seed=seeds(), N=[3, 9], d=[2, 20], alpha=[0.1, 2.0, 30.0], tries=100)

def to_shortest(seed, power):  # 5 examples, 8 features
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(5, 8)), rng.normal(size=5)
    gap = by_filter(X, y, 1e-8) - pinv(X) @ y
    slope = -pinv(X.T @ X) @ pinv(X) @ y  # of the path at 0
    return norm(gap - 1e-8**power * slope) < 1e-3 * norm(gap)

verify('the path starts at the shortest least-squares solution',
       lambda seed: to_shortest(seed, 1),
       slip=('takes the distance to be of the order of √α',
             lambda seed: to_shortest(seed, 0.5)),
       seed=seeds(), tries=50)

# %% [markdown]
# ## Bias, variance and the choice of α
#
# Ridge weights are too short on purpose: they have a *bias*. In exchange they vary less from one training set to the next.
# How good is this exchange? We take the ten features of the 442 patients as $\mathbf{X}$, pretend that their least-squares
# weights are the truth, draw new targets with noise a thousand times, and compare the mean squared error of the weights:

# %%
def ridge_map(X, alpha):  # (d, N): from targets to weights
    one = np.eye(X.shape[1], dtype=X.dtype)
    return solve(X.T @ X + alpha * one, X.T)

# %%
X, y, names = diabetes()
Z = (X - X.mean(axis=0)) / X.std(axis=0)
truth = ridge_map(Z, 0) @ y  # (10,)
sigma = norm(y - y.mean() - Z @ truth) / np.sqrt(442 - 11)

# %%
noise = sigma * np.random.default_rng(0).normal(size=(442, 1000))
targets = (Z @ truth)[:, None] + noise  # (442, 1000)
for alpha in (0, 1, 10, 100):
    off = ridge_map(Z, alpha) @ targets - truth[:, None]  # (10, 1000)
    print(f'alpha = {alpha:3}: squared error of the weights'
          f' {(off**2).sum(axis=0).mean():5.0f}')

# %% [markdown]
# A small $\alpha$ is better than least squares, a large one is worse. We can compute this without drawing. Suppose that
#
# ```{math}
# :label: ridge-world
# \mathbf{y} = \mathbf{X}\mathbf{w} + \boldsymbol\epsilon , \qquad \mathbb{E}\,\boldsymbol\epsilon = \mathbf{0} , \qquad
# \operatorname{Cov}\boldsymbol\epsilon = \sigma^2 \mathbf{I} :
# ```
#
# a linear truth and uncorrelated noise of the same variance everywhere, Gaussian or not. With
# $\mathbf{G} = \mathbf{X}^\top\mathbf{X}$, the solution has the error
#
# $$ \begin{aligned}
# \hat{\mathbf{w}}_\alpha - \mathbf{w} &= (\mathbf{G} + \alpha\mathbf{I})^{-1} \big( \mathbf{G}\mathbf{w} +
# \mathbf{X}^\top\boldsymbol\epsilon \big) - \mathbf{w} \\
# &= \underbrace{-\alpha (\mathbf{G} + \alpha\mathbf{I})^{-1}\mathbf{w}}_{\text{bias}}
# + \underbrace{(\mathbf{G} + \alpha\mathbf{I})^{-1}\mathbf{X}^\top\boldsymbol\epsilon}_{\text{noise}} .
# \end{aligned} $$
#
# The bias is fixed. The noise has mean zero and covariance $\sigma^2 (\mathbf{G} + \alpha\mathbf{I})^{-1} \mathbf{G}
# (\mathbf{G} + \alpha\mathbf{I})^{-1}$. Let $c_j = \mathbf{u}_j^\top\mathbf{w}$ be the coordinates of the truth along the
# eigenvectors. Then the mean squared error is a sum over directions:
#
# ```{math}
# :label: ridge-mse
# \begin{aligned}
# \mathbb{E}\,\|\hat{\mathbf{w}}_\alpha - \mathbf{w}\|^2 &= \sum_{j=1}^d \frac{\alpha^2 c_j^2}{(s_j + \alpha)^2} +
# \sum_{j=1}^d \frac{\sigma^2 s_j}{(s_j + \alpha)^2} , \\
# \frac{\mathrm{d}}{\mathrm{d}\alpha} \mathbb{E}\,\|\hat{\mathbf{w}}_\alpha - \mathbf{w}\|^2 &=
# 2 \sum_{j=1}^d \frac{s_j (\alpha c_j^2 - \sigma^2)}{(s_j + \alpha)^3} .
# \end{aligned}
# ```

# %%
def error_parts(s, c, sigma, alpha):  # squared bias, variance
    bias2 = (alpha * c / (s + alpha)) ** 2
    variance = sigma**2 * s / (s + alpha) ** 2
    return bias2.sum(), variance.sum()

# %%
s, U = eigh(Z.T @ Z)
c = U.T @ truth
for alpha in (0, 1, 10, 100):
    bias2, variance = error_parts(s, c, sigma, alpha)
    print(f'alpha = {alpha:3}: bias² {bias2:4.0f} + variance {variance:4.0f}'
          f' = {bias2 + variance:4.0f}')

# %% [markdown]
# At $\alpha = 0$ the derivative is $-2\sigma^2 \sum_j s_j^{-2} < 0$, if all $s_j > 0$: the squared bias begins with slope
# zero, because it is quadratic in $\alpha$, while the variance falls at once. So *some* $\alpha > 0$ beats least squares,
# whatever the truth is {cite}`hoerl1970ridge`. The next theorem {cite}`theobald1974generalizations` says how large $\alpha$
# may be, and that every single prediction becomes better:
#
# ````{prf:theorem} A little ridge beats least squares
# :label: thm-hoerl-kennard
# Let {eq}`ridge-world` hold with $\sigma > 0$, $\mathbf{w} \ne \mathbf{0}$ and linearly independent columns. For
# $0 < \alpha \le 2\sigma^2 / \|\mathbf{w}\|^2$ and every $\mathbf{x} \ne \mathbf{0}$,
#
# $$ \mathbb{E}\big[(\mathbf{x}^\top\hat{\mathbf{w}}_\alpha - \mathbf{x}^\top\mathbf{w})^2\big] <
# \mathbb{E}\big[(\mathbf{x}^\top\hat{\mathbf{w}}_0 - \mathbf{x}^\top\mathbf{w})^2\big] . $$
#
# Hence also $\mathbb{E}\,\|\hat{\mathbf{w}}_\alpha - \mathbf{w}\|^2 < \mathbb{E}\,\|\hat{\mathbf{w}}_0 - \mathbf{w}\|^2$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# Let $\mathbf{M}_\alpha = \mathbb{E}[(\hat{\mathbf{w}}_\alpha - \mathbf{w})(\hat{\mathbf{w}}_\alpha -
# \mathbf{w})^\top]$ and $\mathbf{R} = (\mathbf{G} + \alpha\mathbf{I})^{-1}$. Bias and noise above give
# $\mathbf{M}_\alpha = \mathbf{R}(\sigma^2\mathbf{G} + \alpha^2\mathbf{w}\mathbf{w}^\top)\mathbf{R}$ and
# $\mathbf{M}_0 = \sigma^2\mathbf{G}^{-1} = \sigma^2 \mathbf{R} (\mathbf{G} + \alpha\mathbf{I}) \mathbf{G}^{-1}
# (\mathbf{G} +
# \alpha\mathbf{I}) \mathbf{R}$. The middle of the latter is $\mathbf{G} + 2\alpha\mathbf{I} + \alpha^2\mathbf{G}^{-1}$, so
#
# $$ \mathbf{M}_0 - \mathbf{M}_\alpha = \alpha\, \mathbf{R} \big( 2\sigma^2\mathbf{I} - \alpha\mathbf{w}\mathbf{w}^\top +
# \alpha\sigma^2\mathbf{G}^{-1} \big) \mathbf{R} . $$
#
# The eigenvalues of $2\sigma^2\mathbf{I} - \alpha\mathbf{w}\mathbf{w}^\top$ are $2\sigma^2$ and $2\sigma^2 -
# \alpha\|\mathbf{w}\|^2 \ge 0$, and $\mathbf{G}^{-1}$ is positive definite: so is the difference. The error of the
# prediction at $\mathbf{x}$ is $\mathbf{x}^\top\mathbf{M}_\alpha\mathbf{x}$, that of the weights the trace.
# ````
#
# The bound contains $\sigma$ and $\mathbf{w}$, which nobody knows, and the theorem says nothing about an $\alpha$
# that is chosen from the same data.

# %% tags=["hide-input"]
bound = 2 * sigma**2 / (c @ c)
alphas = np.append(0, np.geomspace(0.01, 300, 400))
of_weights = np.array([error_parts(s, c, sigma, a) for a in alphas])
of_predictions = np.array([  # at the 442 inputs: one more factor s in each term
    ((s * (a * c / (s + a)) ** 2).sum(), sigma**2 * ((s / (s + a)) ** 2).sum())
    for a in alphas])
for name, parts in (('weights', of_weights), ('predictions', of_predictions)):
    total = parts.sum(axis=1)
    print(f'{name}: best alpha {alphas[total.argmin()]:.2f}, '
          f'error {total.min() / total[0]:.2f} of least squares')
print(f'the theorem allows alpha up to {bound:.2f}')

# %% mystnb={"image": {"alt": "Two panels of squared error against alpha. Left, weights: variance falls, squared bias rises, the total dips about a fifth below least squares near one and climbs above it later. Right, predictions at the inputs: the same pattern with a shallower dip. A vertical line marks the bound of the theorem."}} tags=["hide-input"]
fig, axes = panels(2, height=2.8)
for ax, parts, title in zip(axes, (of_weights, of_predictions / 442),
                            ('Weights', 'Predictions'), strict=True):
    ax.semilogx(alphas[1:], parts[1:, 0], 'C1', label='bias²')
    ax.semilogx(alphas[1:], parts[1:, 1], 'C2', label='variance')
    ax.semilogx(alphas[1:], parts[1:].sum(axis=1), 'C0', label='sum')
    ax.axhline(parts[0].sum(), color=GREY, ls='--', lw=1)
    ax.axvline(bound, color=GREY, ls=':', lw=1)
    ax.set(xlabel='α', title=title, ylim=(0, 1.8 * parts[0].sum()))
axes[0].set_ylabel('mean squared error')
axes[0].legend(fontsize=8, loc='upper left');

# %% [markdown] tags=["caption"]
# A small $\alpha$ lowers the variance at the cost of little bias. At best the error of the weights falls by about a fifth,
# that of the predictions by much less. For large $\alpha$ both exceed those of least squares (dashed).

# %% [markdown]
# ### Effective degrees of freedom
#
# Least squares with $d$ features fits $d$ parameters. Ridge regression has as many weights, but they are held back. The
# fitted values are a linear function of the targets,
#
# ```{math}
# :label: ridge-hat
# \begin{aligned}
# \hat{\mathbf{y}} &= \mathbf{H}_\alpha\mathbf{y} , \qquad
# \mathbf{H}_\alpha = \mathbf{X}(\mathbf{X}^\top\mathbf{X} + \alpha\mathbf{I})^{-1}\mathbf{X}^\top , \\
# \operatorname{df}(\alpha) &= \operatorname{tr}\mathbf{H}_\alpha = \sum_{j=1}^d \frac{s_j}{s_j + \alpha} .
# \end{aligned}
# ```
#
# The sum of the filter factors, the *effective degrees of freedom*, falls from $d$ to 0. It tells by how much the training
# error is too small.
#
# ````{prf:theorem} Optimism
# :label: thm-optimism
# In the world {eq}`ridge-world`, let $\mathbf{y}'$ be new targets at the same inputs, independent of $\mathbf{y}$. Then
#
# $$ \frac1N \mathbb{E}\|\mathbf{y}' - \hat{\mathbf{y}}\|^2 - \frac1N \mathbb{E}\|\mathbf{y} - \hat{\mathbf{y}}\|^2 =
# \frac{2\sigma^2}{N} \operatorname{df}(\alpha) . $$
# ````
#
# ````{prf:proof}
# :class: dropdown
# Let $\mathbf{m} = \mathbf{X}\mathbf{w}$ be the common mean. In $\|\mathbf{y} - \hat{\mathbf{y}}\|^2 =
# \|\mathbf{y} - \mathbf{m}\|^2 - 2(\mathbf{y} - \mathbf{m})^\top(\hat{\mathbf{y}} - \mathbf{m}) + \|\hat{\mathbf{y}} -
# \mathbf{m}\|^2$ the outer terms have the same mean for $\mathbf{y}'$. The middle one has mean 0 for $\mathbf{y}'$,
# which is independent of $\hat{\mathbf{y}}$. For $\mathbf{y}$ it is
# $-2\,\mathbb{E}[\boldsymbol\epsilon^\top(\mathbf{H}_\alpha
# \mathbf{m} - \mathbf{m} + \mathbf{H}_\alpha\boldsymbol\epsilon)] = -2\,\mathbb{E}[\boldsymbol\epsilon^\top
# \mathbf{H}_\alpha
# \boldsymbol\epsilon] = -2\sigma^2 \operatorname{tr}\mathbf{H}_\alpha$.
# ````
#
# One singular value decomposition gives the weights and the degrees of freedom for all $\alpha$ at once, by
# {eq}`ridge-filter`. Drawn against $\alpha$, the weights form the *ridge path*:

# %%
def ridge_path(X, y, alphas):  # -> weights (k, d), df (k,)
    P, root, Ut = svd(X, full_matrices=False)
    s, alpha = root**2, alphas[:, None]  # (d,), (k, 1)
    weights = (root / (s + alpha) * (P.T @ y)) @ Ut
    return weights, (s / (s + alpha)).sum(axis=1)

# %%
some = np.array([1000.0, 100.0, 10.0, 1.0])
for alpha, w, df in zip(some, *ridge_path(Z, y - y.mean(), some)):
    print(f'alpha = {alpha:4.0f}: {df:.1f} degrees of freedom,',
          f's1 {w[4]:+.0f}, s2 {w[5]:+.0f}'.replace('-', '−'))

# %% mystnb={"image": {"alt": "Ten weights against alpha, from large to small. All start at zero; bmi, s5 and bp rise early, and bmi and bp stay. s1 stays near zero for a long time and plunges to minus 38 at small alpha, while s2, s3 and s5 rise."}} tags=["hide-input"]
alphas = np.geomspace(1e5, 1e-2, 141)
path, df = ridge_path(Z, y - y.mean(), alphas)
fig, ax = plt.subplots(figsize=(6, 3.6))
for j, name in enumerate(names):
    ax.semilogx(alphas, path[:, j], f'C{j % 5}', label=name,
                ls='-' if j < 5 else '--')
ax.plot(alphas[[0, -1]], [0, 0], color=GREY, lw=0.8)
ax.invert_xaxis()
ax.set(xlabel='α', ylabel='weight per standard deviation')
label_lines(ax);

# %% [markdown] tags=["caption"]
# As $\alpha$ falls, the weights that the data determine well, such as bmi and bp, settle first; those of s1 and s2 become
# large only at small $\alpha$.

# %% [markdown]
# Each weight is a rational function of $\alpha$, so unless it is always zero, it can be zero only at single points. Ridge
# regression does not select features.
#
# ### Leave-one-out cross-validation from one fit
#
# To choose $\alpha$, we imitate new patients: leave example $n$ out, fit the others, predict example $n$, and average the
# squared errors over all $n$. This seems to take $N$ fits for every $\alpha$. For ridge regression one fit is enough. (Here
# $\alpha$ stays the same when an example leaves, not $\lambda$.)
#
# ````{prf:theorem} The leave-one-out shortcut
# :label: thm-leave-one-out
# Let $\hat{\mathbf{y}} = \mathbf{H}\mathbf{y}$ be the fitted values of ridge regression with $\alpha > 0$ on all examples
# and $\hat{y}_n^{(-n)}$ the prediction for example $n$ by the fit without it. Then $H_{nn} < 1$ and
#
# $$ y_n - \hat{y}_n^{(-n)} = \frac{y_n - \hat{y}_n}{1 - H_{nn}} . $$
#
# The same is true with a free bias if $N \ge 2$; then $H_{nn} = \frac1N +
# \big(\mathbf{X}_c(\mathbf{X}_c^\top\mathbf{X}_c + \alpha\mathbf{I})^{-1}\mathbf{X}_c^\top\big)_{nn}$ with the centred
# $\mathbf{X}_c$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# Replace the target $y_n$ by $z = \hat{y}_n^{(-n)}$ and fit all $N$ examples. The weights (and bias) that were best without
# $n$ are still best: on the other examples nothing is better, and on the new one they make no error at all. So the fit to
# the changed targets predicts $z$ at $n$. But fits are linear in the targets, and only one of these has changed:
# $z = \hat{y}_n + H_{nn}(z - y_n)$. Subtract both sides from $y_n$, which gives
# $(y_n - z)(1 - H_{nn}) = y_n - \hat{y}_n$.
#
# For $H_{nn} < 1$: the eigenvalues of $\mathbf{H}$ without bias are $s_j/(s_j + \alpha)$ and zeros, all below 1, and a
# diagonal entry never exceeds the largest of them. With a bias, 1 becomes an eigenvalue, with eigenvector $\mathbf{1}$
# alone. As no eigenvalue exceeds 1, $H_{nn} = \mathbf{e}_n^\top\mathbf{H}\mathbf{e}_n = 1$ would make $\mathbf{e}_n$ an
# eigenvector for 1, a multiple of $\mathbf{1}$, which it is not if $N \ge 2$.
# ````

# %%
def leave_one_out(X, y, alphas):  # -> errors (k, N)
    P, root, _ = svd(X - X.mean(axis=0), full_matrices=False)
    factors = root**2 / (root**2 + alphas[:, None])  # (k, d)
    fitted = y.mean() + (factors * (P.T @ (y - y.mean()))) @ P.T
    own = 1 / len(y) + factors @ (P**2).T  # H_nn
    return (y - fitted) / (1 - own)

# %% [markdown]
# scikit-learn's `RidgeCV` uses the same shortcut. You give it the values of $\alpha$ to choose from:

# %%
grid = np.geomspace(1e-1, 1e4, 51)
errors = (leave_one_out(Z, y, grid) ** 2).mean(axis=1)  # (51,)
library = RidgeCV(alphas=grid).fit(Z, y)
print(f'ours {grid[errors.argmin()]:.1f}, scikit-learn {library.alpha_:.1f}')

# %% [markdown]
# ### Ridge regression against least squares on new patients
#
# We compare two sets of features: the ten measurements, and 64 made of them, namely the ten, their squares and their
# products in pairs (without the square of sex, which has two values only). We hold out 110 patients and train on 40 to 332
# of the others. Means, standard deviations and $\alpha$ come from the training part. For reference we show the mean of the
# training targets and least squares (the solution of least length, where there are fewer examples than features).

# %% tags=["hide-input"]
def ten(Z):
    return Z

def products(Z):  # (N, 10) -> (N, 64)
    i, j = np.triu_indices(10)
    keep = (i != 1) | (j != 1)
    return np.hstack([Z, (Z[:, i] * Z[:, j])[:, keep]])

def standardized(X, train):
    return (X - X[train].mean(axis=0)) / X[train].std(axis=0)

def trial(seed, N, features):  # mean squares on (k,) alphas; test: 3 rivals
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = order[:110], order[110:110 + N]
    Z = standardized(features(standardized(X, train)), train)
    centred, level = y - y[train].mean(), y[train].mean()
    weights, _ = ridge_path(Z[train], centred[train], grid)
    left_out = (leave_one_out(Z[train], y[train], grid) ** 2).mean(axis=1)
    on = lambda part, w: ((w @ Z[part].T + level - y[part]) ** 2).mean(axis=-1)
    least = pinv(Z[train]) @ centred[train]
    curves = on(train, weights), left_out, on(test, weights)
    rivals = on(test, 0 * least), on(test, least), curves[2][left_out.argmin()]
    return np.array(curves), np.array(rivals)

sizes = (40, 80, 160, 332)
splits = range(20)
results = {f: [[trial(seed, N, f) for seed in splits] for N in sizes]
           for f in (ten, products)}
rmse = {f: np.sqrt([[r for _, r in row] for row in table])
        for f, table in results.items()}  # (4 sizes, 20 splits, 3 rivals)
print('root mean squared error on held-out patients, mean of 20 splits')
print('features   N  mean   LS  ridge  ridge beats LS in')
for f, errors in rmse.items():
    for N, table in zip(sizes, errors, strict=True):
        mean, least, ridge_error = table.mean(axis=0)
        wins = (table[:, 2] < table[:, 1]).sum()
        print(f'{f.__name__:8} {N:3} {mean:5.0f} {least:5.0f} '
              f'{ridge_error:5.0f}   {wins} of 20')

# %% mystnb={"image": {"alt": "Left: error on held-out patients against training size for 64 features; ridge falls steadily from 66 to 57, below least squares at every size, whose error peaks near 80 examples, and below the constant mean. Right: training, leave-one-out and test error against alpha for 160 examples: training error rises, the other two fall together to a flat minimum near 100 and rise again."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3)
for k, name in enumerate(('the mean', 'least squares', 'ridge')):
    part = rmse[products][:, :, k]
    low, high = np.quantile(part, (0.1, 0.9), axis=1)
    left.fill_between(sizes, low, high, color=f'C{k}', alpha=0.2, lw=0)
    left.loglog(sizes, part.mean(axis=1), f'C{k}.-', label=name)
left.set(xlabel='training examples', ylabel='RMSE', ylim=(45, 600),
         title='64 features', xticks=sizes, xticklabels=sizes)
left.set_yticks([50, 100, 200, 400], [50, 100, 200, 400])
left.minorticks_off()
left.legend(fontsize=8)
curves = np.array([c for c, _ in results[products][2]])  # (20, 3, k)
styles = ('training', 'C1'), ('leave-one-out', 'C3'), ('test', 'C2')
for (name, color), curve in zip(styles, curves.mean(axis=0), strict=True):
    right.semilogx(grid, np.sqrt(curve), color, label=name)
right.set(xlabel='α', title='64 features, 160 examples', ylim=(30, 90))
right.legend(fontsize=8);

# %% [markdown] tags=["caption"]
# Left: with 64 features ridge beats least squares at every training size, even where that is worse than the mean. Right:
# leave-one-out and test error have their minima close together, the training error misleads.

# %% [markdown]
# With ten features and many patients, the choice hardly matters. With 64 features and small samples, least squares is worse
# than no features at all. It is worst where the number of examples is just above that of the features and the smallest
# eigenvalue is nearly zero. Ridge regression, with the $\alpha$ of the leave-one-out errors, beats it in every split. The
# right panel shows why: the training error prefers the smallest $\alpha$, but the leave-one-out error follows the test
# error.

# %% [markdown]
# ```{exercise} ★★ Pencil: the best α for orthonormal features
# :label: ridge_regression-best
# Let $\mathbf{X}^\top\mathbf{X} = \mathbf{I}$. Which $\alpha$ makes $\mathbb{E}\|\hat{\mathbf{w}}_\alpha - \mathbf{w}\|^2$
# least, and what is left of the error of least squares? Write both formulas as `best_price(w, sigma)`.
# ```

# %%
def best_price(w, sigma):
    """The best alpha, and its error divided by that of least squares: floats.

    w: float array (d,), the true weights, not all 0. sigma: float > 0, the
    standard deviation of the noise. For w = [2.] and sigma = 2.0 the result
    is (1.0, 0.5).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_search(w, sigma):
    def error(t):  # alpha = exp(t)
        return sum(error_parts(np.ones(len(w)), w, sigma, np.exp(t)))

    found = minimize_scalar(error, bounds=(-15, 15), options={'xatol': 1e-9})
    return np.exp(found.x), found.fun / error(-50)

cases = dict(w=vectors((1, 8), edges=True).filter(lambda w: norm(w) > 0.5), sigma=on(1.0, 0.5) | scalars(0.1, 5))
grade(best_price, by_search, **cases, rtol=1e-4)

# %% [markdown]
# ```{solution-start} ridge_regression-best
# :class: dropdown
# ```
# All $s_j$ are 1, so by {eq}`ridge-mse` the derivative is zero where $\alpha\|\mathbf{w}\|^2 = d\sigma^2$: noise over
# signal. The error at $\alpha = d\sigma^2/\|\mathbf{w}\|^2$ is $(\alpha^2\|\mathbf{w}\|^2 + d\sigma^2)/(1 + \alpha)^2 =
# d\sigma^2\,(\alpha + 1)/(1 + \alpha)^2$, and that of least squares is $d\sigma^2$: the ratio is $1/(1 + \alpha)$. The
# first wrong answer forgets that $d$ directions carry noise, the second confuses variance and standard deviation, and the
# third gives the share that is saved.

# %% jupyter={"source_hidden": true}
def best_price_solution(w, sigma):
    alpha = len(w) * sigma**2 / (w @ w)
    return alpha, 1 / (1 + alpha)

def one_direction(w, sigma):
    return best_price_solution(w, sigma / len(w) ** 0.5)

def not_squared(w, sigma):
    return best_price_solution(w, sigma**0.5)

def share_saved(w, sigma):
    alpha, left = best_price_solution(w, sigma)
    return alpha, 1 - left

assert grade(best_price_solution, by_search, **cases, rtol=1e-4)
assert not grade(one_direction, by_search, **cases, rtol=1e-4)
assert not grade(not_squared, by_search, **cases, rtol=1e-4)
assert not grade(share_saved, by_search, **cases, rtol=1e-4)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★★ Program: leave several visits of one patient out
# :label: ridge_regression-block
# If each patient came several times, leaving out one visit is too optimistic, because the other visits of the same patient
# stay. Generalize the shortcut to a set $F$ of examples that are left out together, without a bias. Write
# `block_errors(H, y, F)`: the hat matrix of all examples is enough.
# ```

# %%
def block_errors(H, y, F):
    """The errors y_n minus prediction without F, for n in F: (len(F),).

    H: float array (N, N), the hat matrix of ridge regression without a bias
    on all N examples, for some alpha > 0. y: float array (N,), the targets.
    F: list of different ints from 0 to N - 1, in any order, one to N of them.
    For H = [[0.1, 0.2], [0.2, 0.4]], y = [1., 2.] and F = [1, 0] the result
    is [2., 1.]: without any data all predictions are 0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def block_by_refit(H, y, F):
    left = np.setdiff1d(np.arange(len(y)), F)
    K = solve(np.eye(len(y)) - H, H)  # dot products of the examples, divided by alpha
    a = solve(K[np.ix_(left, left)] + np.eye(len(left)), y[left])
    return y[F] - K[np.ix_(F, left)] @ a

hats = matrices((1, 7), (1, 3), -3, 3, edges=True).flatmap(
    lambda X: on(1.0, 0.1, 10.0).map(lambda alpha: X @ ridge_map(X, alpha)))
cases = dict(
    H=hats, y=lambda H: vectors(len(H), edges=True),
    F=lambda H: lists(integers(0, len(H) - 1), 1, 5).map(lambda F: [*dict.fromkeys(F)]),
)
grade(block_errors, block_by_refit, **cases)

# %% [markdown]
# ```{solution-start} ridge_regression-block
# :class: dropdown
# ```
# The proof goes through with vectors. Replace $\mathbf{y}_F$ by $\mathbf{z} = \hat{\mathbf{y}}_F^{(-F)}$; the fit is
# the one without $F$, and $\mathbf{z} = \hat{\mathbf{y}}_F + \mathbf{H}_{FF}(\mathbf{z} - \mathbf{y}_F)$. So
# $\mathbf{y}_F - \mathbf{z} = (\mathbf{I} - \mathbf{H}_{FF})^{-1}(\mathbf{y}_F - \hat{\mathbf{y}}_F)$. Dividing by the
# diagonal alone, as in the first wrong answer, would leave out one at a time. The second takes the training errors, and the
# third inverts the whole $\mathbf{I} - \mathbf{H}$ in place of its block, which leaves all examples out.

# %% jupyter={"source_hidden": true}
def block_errors_solution(H, y, F):
    I_minus_H = np.eye(len(F)) - H[np.ix_(F, F)]
    return solve(I_minus_H, y[F] - (H @ y)[F])

def one_at_a_time(H, y, F):
    return (y - H @ y)[F] / (1 - np.diag(H)[F])

def training_errors(H, y, F):
    return (y - H @ y)[F]

def whole_inverse(H, y, F):
    return solve(np.eye(len(y)) - H, y - H @ y)[F]

assert grade(block_errors_solution, block_by_refit, **cases)
assert not grade(one_at_a_time, block_by_refit, **cases)
assert not grade(training_errors, block_by_refit, **cases)
assert not grade(whole_inverse, block_by_refit, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def slope(s, c, sigma, alpha):
    return 2 * (s * (alpha * c**2 - sigma**2) / (s + alpha) ** 3).sum()

def world(seed):  # 30 examples, 3 features
    rng = np.random.default_rng(seed)
    X, w = rng.normal(0, [2, 1, 0.5], (30, 3)), rng.normal(size=3)
    s, U = eigh(X.T @ X)
    return rng, X, w, s, U

def error_matrix(X, w, sigma, alpha):
    B = ridge_map(X, alpha)
    bias = B @ X @ w - w
    return np.outer(bias, bias) + sigma**2 * B @ B.T

def simulated(seed, alpha, formula):
    rng, X, w, s, U = world(seed)
    sigma = rng.uniform(1, 3)
    noise = 3**0.5 * sigma * rng.uniform(-1, 1, (30, 4000))
    off = ridge_map(X, alpha) @ ((X @ w)[:, None] + noise) - w[:, None]
    errors = (off**2).sum(axis=0)
    gap = errors.mean() - sum(formula(s, U.T @ w, sigma, alpha))
    return abs(gap) < 5 * errors.std() / errors.size**0.5

def no_square(s, c, sigma, alpha):
    return error_parts(s, c, sigma, alpha)[0], (sigma**2 / (s + alpha)).sum()

def same_slope(seed, alpha, slope):  # derivative by a complex step
    _, _, w, s, U = world(seed)
    step = sum(error_parts(s, U.T @ w, 1.5, alpha + 1e-30j))
    return close(slope(s, U.T @ w, 1.5, alpha), step.imag / 1e-30)

def every_prediction_gains(seed, share):  # share of the theorem's bound
    rng, X, w, _, _ = world(seed)
    sigma = rng.uniform(0.1, 0.4)
    alpha = share * 2 * sigma**2 / (w @ w)
    gain = error_matrix(X, w, sigma, 0) - error_matrix(X, w, sigma, alpha)
    return bool(eigvalsh(gain)[0] > 0)
verify('bias and variance as in the formula (noise not Gaussian)',
       lambda seed, alpha: simulated(seed, alpha, error_parts),
       slip=('forgets to square the filter factors of the variance',
             lambda seed, alpha: simulated(seed, alpha, no_square)),
       seed=seeds(), alpha=[0.5, 5.0, 50.0], tries=40)

verify('the slope of the error',
       lambda seed, alpha: same_slope(seed, alpha, slope),
       slip=('forgets σ² in the slope',
             lambda seed, alpha: same_slope(
             seed, alpha, lambda s, c, sigma, alpha: slope(s, c, 1, alpha))),
       seed=seeds(), alpha=scalars(0.1, 9), tries=100)

verify('up to the bound every prediction gains',
       lambda seed, share: every_prediction_gains(seed, share),
       slip=('lets α be three times as large',
             lambda seed, share: every_prediction_gains(seed, 3 * share)),
       seed=seeds(), share=[0.01, 0.3, 1.0], tries=100)

# %% tags=["checks"]
def freedom(s, alpha):
    return (s / (s + alpha)).sum()

def flatters(seed, alpha, freedom):
    rng, X, w, s, _ = world(seed)
    sigma = rng.uniform(1, 2)
    old, new = (X @ w)[:, None] + sigma * rng.normal(size=(2, 30, 4000))
    fitted = X @ ridge_map(X, alpha) @ old
    gap = ((new - fitted) ** 2 - (old - fitted) ** 2).mean(axis=0)
    off = gap.mean() - 2 * sigma**2 * freedom(s, alpha) / len(X)
    return bool(abs(off) < 5 * gap.std() / gap.size**0.5)

def trace_is(seed, alpha, freedom):
    _, X, _, s, _ = world(seed)
    return close(np.trace(X @ ridge_map(X, alpha)), freedom(s, alpha))

def all_weights(s, alpha):
    return len(s)

at_three = dict(seed=seeds(), alpha=[1.0, 20.0, 200.0], tries=30)
verify('the training error flatters by 2σ² df / N',
       lambda seed, alpha: flatters(seed, alpha, freedom),
       slip=('counts all d weights as degrees of freedom',
             lambda seed, alpha: flatters(seed, alpha, all_weights)),
       **at_three)

verify('the trace of the hat matrix is df',
       lambda seed, alpha: trace_is(seed, alpha, freedom),
       slip=('counts all d weights as degrees of freedom',
             lambda seed, alpha: trace_is(seed, alpha, all_weights)),
       **at_three)

# %% tags=["checks"]
def by_loop(X, y, alpha):
    rest = ~np.eye(len(y), dtype=bool)
    return [y[n] - Ridge(alpha).fit(X[keep], y[keep]).predict(X[[n]])[0]
            for n, keep in enumerate(rest)]

def shortcut(seed, rule):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(1, 2, (7, 3)), rng.normal(4, 1, 7)
    alphas = np.array([0.3, 8.0])
    return close(rule(X, y, alphas), [by_loop(X, y, a) for a in alphas])

def share_of_mean_forgotten(X, y, alphas):
    H = X - X.mean(axis=0)
    own = 1 - np.array([np.diag(H @ ridge_map(H, a)) for a in alphas])
    return leave_one_out(X, y, alphas) * (own - 1 / len(y)) / own

verify('one fit gives all leave-one-out errors',
       lambda seed: shortcut(seed, leave_one_out),
       slip=("forgets the example's share of the mean",
             lambda seed: shortcut(seed, share_of_mean_forgotten)),
       seed=seeds(), tries=20)
library = np.array([Ridge(a).fit(Z, y).coef_ for a in alphas[::20]])
assert close(path[::20], library, atol=1e-9, rtol=0)
assert close(df[70], np.trace(Z @ ridge_map(Z, alphas[70])))
assert close(of_predictions[0], [0, 10 * sigma**2])
assert (rmse[products][:, :, 2] < rmse[products][:, :, 1]).all()
assert (rmse[ten][:, :, 2] < rmse[ten][:, :, 0]).all()

# %% [markdown]
# ## Bayesian ridge regression: the penalty as a Gaussian prior
#
# How sure are we of each weight? We compare 90 % intervals of least squares with those of a method that we derive now.

# %%
def posterior(X, y, sigma, tau):  # mean (d,), covariance (d, d)
    alpha = sigma**2 / tau**2
    inverse = inv(X.T @ X + alpha * np.eye(X.shape[1], dtype=X.dtype))
    return inverse @ X.T @ y, sigma**2 * inverse

# %%
X, y, names = diabetes()
Z, target = (X - X.mean(axis=0)) / X.std(axis=0), y - y.mean()
mean, covariance = posterior(Z, target, sigma=54, tau=14)
width = 1.645 * np.sqrt(np.diag(covariance))  # 90 %

# %%
plain = solve(Z.T @ Z, Z.T @ target)
residual = norm(target - Z @ plain) / np.sqrt(442 - 11)
plain_width = 1.645 * residual * np.sqrt(np.diag(inv(Z.T @ Z)))
print('90 % intervals  least squares     posterior')
for j in (2, 4, 5):  # bmi, s1, s2
    print(f'{names[j]:14} {plain[j]:6.1f} ± {plain_width[j]:4.1f}'
          f'   {mean[j]:6.1f} ± {width[j]:4.1f}')

# %% mystnb={"image": {"alt": "Ten weights with 90 percent intervals, least squares beside the posterior. For age, sex, bmi, bp and s6 both agree. For s1 and s2 the least-squares intervals are very long and the posterior's much shorter and near zero; s3, s4 and s5 lie between."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
spots = np.arange(10)
ax.errorbar(spots - 0.12, plain, plain_width, fmt='C1s', ms=4, lw=1.4,
            label='least squares')
ax.errorbar(spots + 0.12, mean, width, fmt='C0o', ms=4, lw=1.4,
            label='posterior')
ax.axhline(0, color=GREY, lw=0.8)
ax.set(xticks=spots, xticklabels=names, ylabel='weight per standard deviation')
ax.legend();

# %% [markdown] tags=["caption"]
# A Gaussian prior hardly changes weights that the data determine well, such as bmi and bp. It moves the doubtful ones, s1
# and s2, towards zero, with much shorter intervals.

# %% [markdown]
# The penalty can be read as a statement: before seeing data, we hold small weights for more likely than large ones. Let
#
# $$ \mathbf{w} \sim \mathcal{N}(\mathbf{0}, \tau^2\mathbf{I}) , \qquad
# \mathbf{y} \mid \mathbf{w} \sim \mathcal{N}(\mathbf{X}\mathbf{w}, \sigma^2\mathbf{I}) . $$
#
# ````{prf:theorem} Ridge regression is a posterior mean
# :label: thm-ridge-posterior
# With $\alpha = \sigma^2/\tau^2$,
# $\ \mathbf{w} \mid \mathbf{y} \sim \mathcal{N}\big(\mathbf{w}_\alpha, \; \sigma^2 (\mathbf{X}^\top\mathbf{X} +
# \alpha\mathbf{I})^{-1}\big)$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# By [Bayes' theorem](../probability/bayes_theorem.ipynb) the posterior density is, up to factors without $\mathbf{w}$,
#
# $$ \begin{aligned}
# &\exp\Big( {-\tfrac{1}{2\sigma^2}} \|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2 - \tfrac{1}{2\tau^2} \|\mathbf{w}\|^2 \Big) \\
# &\qquad = \exp\Big( {-\tfrac{1}{2\sigma^2}} \big( \|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2 + \alpha\|\mathbf{w}\|^2
# \big) \Big) .
# \end{aligned} $$
#
# The bracket is the ridge objective. By the expansion in the proof of {prf:ref}`thm-ridge-minimum`, times $2N$, it equals
# its minimum plus $\boldsymbol\delta^\top(\mathbf{X}^\top\mathbf{X} + \alpha\mathbf{I})\boldsymbol\delta$ with
# $\boldsymbol\delta = \mathbf{w} - \mathbf{w}_\alpha$. That is a Gaussian with this mean and the stated covariance.
# ````
#
# The function `posterior` above is this theorem.
#
# If the prior is true, it answers which $\alpha$ is best. Average {eq}`ridge-mse` over weights from the prior:
# every $c_j^2$ becomes $\tau^2$, and the derivative $2\sum_j s_j(\alpha\tau^2 - \sigma^2)/(s_j + \alpha)^3$ changes its
# sign, in all terms at once, exactly at $\alpha = \sigma^2/\tau^2$. The intervals, posterior mean $\pm 1.645$ posterior
# standard deviations, then hold the truth in 90 % of all cases, on average over weights from the prior. For one fixed truth
# they need not.
#
# ### Choosing α by the evidence
#
# We took $\sigma = 54$ and $\tau = 14$. Where do these numbers come from? Averaged over the prior, $\mathbf{y}$ is Gaussian
# with covariance $\sigma^2\mathbf{C}$, $\mathbf{C} = \mathbf{I} + \mathbf{X}\mathbf{X}^\top/\alpha$. The density of the
# observed targets under this distribution, as a function of $\alpha$ and $\sigma$, is the **evidence** or marginal
# likelihood. We choose the $\alpha$ and $\sigma$ that maximize it, as in [maximum
# likelihood](../probability/maximum_likelihood.ipynb).
#
# By {eq}`ridge-dual`, $\mathbf{C}^{-1}\mathbf{y} = \alpha\mathbf{a} = \mathbf{y} - \mathbf{X}\mathbf{w}_\alpha$ is the
# residual, and $\det\mathbf{C} = \prod_j (1 + s_j/\alpha)$. For given $\alpha$ the best variance is $\hat\sigma^2 = \frac1N
# \mathbf{y}^\top(\mathbf{y} - \mathbf{X}\mathbf{w}_\alpha)$, which leaves
#
# ```{math}
# :label: ridge-evidence
# \log p(\mathbf{y}) = -\frac{N}{2} \big( \log(2\pi\hat\sigma^2) + 1 \big)
# - \frac12 \sum_{j=1}^d \log\Big( 1 + \frac{s_j}{\alpha} \Big) .
# ```
#
# The first term rewards a good fit, and the second penalizes directions that the data had to determine.

# %%
def evidence(X, y, alpha):  # -> log evidence, variance
    G = X.T @ X
    w = solve(G + alpha * np.eye(len(G)), X.T @ y)
    variance = y @ (y - X @ w) / len(y)
    fit = len(y) / 2 * (np.log(2 * np.pi * variance) + 1)
    return -fit - np.log1p(eigvalsh(G) / alpha).sum() / 2, variance

# %%
found = minimize_scalar(lambda t: -evidence(Z, target, np.exp(t))[0],
                        tol=1e-8)
alpha = np.exp(found.x)
sigma = np.sqrt(evidence(Z, target, alpha)[1])
print(f'evidence: alpha = {alpha:.1f}, sigma = {sigma:.0f}, '
      f'tau = {sigma / np.sqrt(alpha):.0f}')

# %% [markdown]
# scikit-learn's `BayesianRidge` maximizes the same function. (It adds priors for $\sigma$ and $\tau$, which we switch off.)

# %%
library = BayesianRidge(tol=1e-9, max_iter=2000, alpha_1=0, alpha_2=0,
                        lambda_1=0, lambda_2=0).fit(Z, y)
print(f'scikit-learn: alpha = {library.lambda_ / library.alpha_:.1f}')

# %% [markdown]
# ```{exercise} ★★ Program: one more patient
# :label: ridge_regression-update
# A new patient $(\mathbf{x}, y)$ arrives. The posterior so far, $\mathcal{N}(\mathbf{m}, \mathbf{P})$, becomes the prior.
# Derive the new mean and covariance and write `update(m, P, x, y, sigma)`, with no matrix to invert and no system to solve.
# ```

# %%
def update(m, P, x, y, sigma):
    """The new mean and covariance: float arrays (d,) and (d, d), as a pair.

    m, x: float arrays (d,). P: float array (d, d), symmetric, no eigenvalue
    is negative (P may be singular, even 0). y: float. sigma: float > 0, the
    standard deviation of the noise. For m = [0.], P = [[1.]], x = [1.],
    y = 4.0 and sigma = 1.0 the result is ([2.], [[0.5]]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def update_by_root(m, P, x, y, sigma):  # w = m + root z with a standard Gaussian z, which has a precision
    values, U = eigh(P)
    root = U * np.sqrt(np.maximum(values, 0))
    z, spread = posterior((x @ root)[None], np.array([y - x @ m]), sigma, 1.0)
    return m + root @ z, root @ spread @ root.T

cases = dict(
    m=vectors((1, 3), edges=True),
    P=lambda m: matrices(len(m), (1, 3), -3, 3, edges=True).map(lambda root: root @ root.T),
    x=lambda m: vectors(len(m), edges=True), y=on(0.0) | scalars(), sigma=on(1.0) | scalars(0.3, 5),
)
solvers = 'inv', 'pinv', 'solve', 'lstsq'
without = [f'numpy.linalg.{name}' for name in solvers]
grade(update, update_by_root, **cases, without=without)

# %% [markdown]
# ```{solution-start} ridge_regression-update
# :class: dropdown
# ```
# Condition the pair $(\mathbf{w}, y)$: $\operatorname{Cov}(\mathbf{w}, y) = \mathbf{P}\mathbf{x}$ and
# $\operatorname{Var} y =
# \mathbf{x}^\top\mathbf{P}\mathbf{x} + \sigma^2$. With the gain $\mathbf{k} = \mathbf{P}\mathbf{x} /
# (\mathbf{x}^\top\mathbf{P}\mathbf{x} + \sigma^2)$ the mean moves by $\mathbf{k}$ times the surprise $y -
# \mathbf{x}^\top\mathbf{m}$, and $\mathbf{P}$ loses $\mathbf{k}\,(\mathbf{P}\mathbf{x})^\top$. This is recursive least
# squares, the heart of the Kalman filter. The first wrong answer takes the whole $y$ for a surprise, the second takes
# $\sigma$ for a variance, and the third inverts the covariance, which is ruled out and fails where one is singular.

# %% jupyter={"source_hidden": true}
def update_solution(m, P, x, y, sigma):
    k = P @ x / (x @ P @ x + sigma**2)
    return m + k * (y - x @ m), P - np.outer(k, P @ x)

def never_expected(m, P, x, y, sigma):
    k = P @ x / (x @ P @ x + sigma**2)
    return m + k * y, P - np.outer(k, P @ x)

def sigma_as_variance(m, P, x, y, sigma):
    return update_solution(m, P, x, y, sigma**0.5)

def by_precision(m, P, x, y, sigma):
    covariance = inv(inv(P) + np.outer(x, x) / sigma**2)
    return covariance @ (inv(P) @ m + x * y / sigma**2), covariance

assert grade(update_solution, update_by_root, **cases, without=without)
assert not grade(never_expected, update_by_root, **cases, without=without)
assert not grade(sigma_as_variance, update_by_root, **cases, without=without)
assert not grade(by_precision, update_by_root, **cases, without=without)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def as_conditioned(seed, posterior):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(6, 3)), rng.normal(size=6)
    sigma, tau = rng.uniform(0.5, 2, 2)
    joint = tau**2 * X @ X.T + sigma**2 * np.eye(6)
    gain = tau**2 * X.T @ inv(joint)
    mean, covariance = posterior(X, y, sigma, tau)
    return (close(mean, gain @ y)
            and close(covariance, tau**2 * (np.eye(3) - gain @ X)))

def spread_of_estimator(X, y, sigma, tau):  # its variance, without the bias
    mean, covariance = posterior(X, y, sigma, tau)
    return mean, covariance @ X.T @ X @ covariance / sigma**2

verify('posterior mean and covariance',
       lambda seed: as_conditioned(seed, posterior),
       slip=("takes the variance of the estimator for the posterior's",
             lambda seed: as_conditioned(seed, spread_of_estimator)),
       seed=seeds())

def average_error(alpha, s, sigma, tau):
    return ((alpha**2 * tau**2 + sigma**2 * s) / (s + alpha) ** 2).sum()

def best_on_average(seed, price):
    s, (sigma, tau) = np.split(
        np.random.default_rng(seed).uniform(0.5, 3, 6), [4])
    found = minimize_scalar(
        lambda t: average_error(np.exp(t), s, sigma, tau), tol=1e-9)
    return close(np.exp(found.x), price(sigma, tau), rtol=1e-5)

def coverage_and_error(seed, rule):
    rng = np.random.default_rng(seed)
    X, x = rng.normal(0, [1.5, 1, 0.7, 0.4], (8, 4)), rng.normal(size=4)
    sigma, tau = rng.uniform(0.5, 1.5, 2)
    W = tau * rng.normal(size=(4, 4000))
    mean, covariance = rule(X, X @ W + sigma * rng.normal(size=(8, 4000)),
                            sigma, tau)
    inside = abs(x @ (mean - W)) < 1.645 * np.sqrt(x @ covariance @ x)
    errors = ((mean - W) ** 2).sum(axis=0)
    want = average_error(sigma**2 / tau**2, eigvalsh(X.T @ X), sigma, tau)
    off = abs(errors.mean() - want) * errors.size**0.5 / errors.std()
    return bool(abs(inside.mean() - 0.9) < 5 * (0.09 / inside.size) ** 0.5
                and off < 5)

verify('σ²/τ² is the best α on average',
       lambda seed: best_on_average(seed, lambda s, t: s**2 / t**2),
       slip=('takes σ/τ in place of σ²/τ²',
             lambda seed: best_on_average(seed, lambda s, t: s / t)),
       seed=seeds(), tries=40)

verify('the posterior\'s 90 % intervals hold the truth in 90 %',
       lambda seed: coverage_and_error(seed, posterior),
       slip=('takes the standard deviation of the estimator',
             lambda seed: coverage_and_error(seed, spread_of_estimator)),
       seed=seeds(), tries=40)

# %% tags=["checks"]
def is_density(seed, stretch):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(6, 3)), rng.normal(size=6)
    alpha = rng.uniform(1, 3)
    value, variance = evidence(X, y, alpha)
    law = lambda v: multivariate_normal(
        cov=v * (np.eye(6) + X @ X.T / alpha)).logpdf(y)
    others = law(0.9 * variance), law(1.1 * variance)
    return close(value, law(stretch * variance)) and max(others) < value

# the height of the evidence is flat to 1e-16 within 1e-8 of its peak
assert close(alpha, library.lambda_ / library.alpha_, rtol=1e-5)
best = posterior(Z, target, sigma, sigma / np.sqrt(alpha))
assert close(best[0], library.coef_, rtol=1e-4) and close(best[1], library.sigma_, rtol=1e-5)

verify('the evidence is a Gaussian density at its best variance',
       lambda seed: is_density(seed, 1),
       slip=('divides the sum of squares by N − 1',
             lambda seed: is_density(seed, 6 / 5)),
       seed=seeds(), tries=40)

# %% [markdown]
# ## Summary
#
# Ridge regression adds the squared length of the weights to the loss, which adds $\alpha$ to every eigenvalue of
# $\mathbf{X}^\top\mathbf{X}$ and shrinks the weights most in the directions about which the data say little. If the truth is
# linear and the noise uncorrelated, a small enough $\alpha$ beats least squares on average. We can choose $\alpha$ by
# leave-one-out errors, which take one fit, or by the evidence for a Gaussian prior, whose posterior mean ridge regression
# is.
#
# **Further reading.** {cite}`hoerl1970ridge` introduced ridge regression, and {cite}`theobald1974generalizations` proved the
# theorem in the form given here. {cite}`hastie2009elements`, sections 3.4 and 7.6, treat paths and effective degrees of
# freedom; {cite}`golub1979generalized` generalize leave-one-out cross-validation; {cite}`bishop2006pattern`, chapter 3, and
# {cite}`mackay1992bayesian` explain the evidence; {cite}`hansen2010discrete` uses the same idea, Tikhonov's, for inverse
# problems.
