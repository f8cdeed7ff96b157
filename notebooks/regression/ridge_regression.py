# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Ridge regression
#
# - **Question.** When the data say little about a weight, what should be believed about it, and when does a wrong answer
#   with less noise beat the right one with more?
# - **You need** [linear regression](linear_regression.ipynb) and the
#   [singular value decomposition](../linear_algebra/singular_value_decomposition.ipynb).
# - **You build** ridge regression on four routes, its exact bias and variance, leave-one-out errors without leaving
#   anything out, and honest error bars from a prior.
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
import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.linalg import eigh, eigvalsh, inv, norm, pinv, solve, svd
from scipy.linalg import solve_triangular
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import multivariate_normal
from sklearn.linear_model import BayesianRidge, LinearRegression, Ridge

from nbutils.cases import scalars, seeds, vectors
from nbutils.checks import below, close, erratum, grade, holds, verify
from nbutils.data import diabetes
from nbutils.figures import GREY, label_lines, panels

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## A price on long weights
#
# [Linear regression](linear_regression.ipynb) ended with a worry: the weights of two blood values, total and LDL
# cholesterol, sway widely from one choice of training patients to the next. The two values rise and fall together, so a
# large weight on the one can be cancelled by a large weight of the other sign on the other, and the training error
# hardly notices. Take thirty patients and these two features only:

# %%
X, y, _ = diabetes()
few = np.random.default_rng(1).permutation(442)[:30]
blood, label = X[:, [4, 5]], y - y[few].mean()
blood = (blood - blood[few].mean(axis=0)) / blood[few].std(axis=0)
all_patients = LinearRegression().fit(blood, label).coef_
thirty = LinearRegression().fit(blood[few], label[few]).coef_
print('correlation in the thirty:', np.corrcoef(blood[few].T)[0, 1].round(2))
print('weights from all 442:', all_patients.round(1))
print('weights from the 30: ', thirty.round(1))

# %% [markdown]
# The thirty patients hardly care: in one direction of the plane the training error is nearly flat, and noise decides where
# on it the minimum lies. The remedy is to charge for long weights. Beside the loss $\mathcal{L}$ set a second function
# $\Omega$ that is large for weights we do not believe in without evidence, and minimize the sum:
#
# ```{math}
# :label: ml.reg.form
# \min_{\mathbf{w}} \; \mathcal{L}(\mathbf{w}) + \Omega(\mathbf{w})
# ```
#
# This is *regularization*. For *ridge regression* $\Omega$ is the squared Euclidean length,
#
# ```{math}
# :label: ml.reg.ridge.omega
# \Omega(\mathbf{w}) = \|\mathbf{w}\|_2^2 = \sum_i w_i^2 ,
# ```
#
# at a price $\lambda \ge 0$ per unit (the notes put the price inside $\Omega$ at one place and in front of it at the next;
# we keep it in front). With $N$ examples $(\mathbf{x}_n, y_n)$ as rows of $\mathbf{X}$, and features and targets centred
# for the moment so that no bias is needed,
#
# ```{math}
# :label: ml.reg.ridge.objective
# \begin{aligned}
# & \min_{\mathbf{w}} \Big( \frac{1}{2N} \sum_{n=1}^N (y_n - \mathbf{x}_n^\top \mathbf{w})^2 + \lambda \|\mathbf{w}\|_2^2 \Big) \\
# & \qquad = \min_{\mathbf{w}} \Big( \frac{1}{2N} \|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2 + \lambda \|\mathbf{w}\|_2^2 \Big) .
# \end{aligned}
# ```
#
# :::{admonition} Erratum
# :class: warning
# As printed, the right side begins with $\frac1N$ in place of $\frac{1}{2N}$. The slip is easy to make because without a
# penalty it is harmless: a factor in front of the whole loss moves no minimum. Here it doubles one of two terms, which is
# the same as halving $\lambda$, and both the value and the minimizer change. Libraries differ in just this factor:
# scikit-learn's `Ridge` has neither $\frac12$ nor $\frac1N$, so that its `alpha` is $2N\lambda$.
# :::

# %%
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

# %% tags=["hide-input"]
holds('ml.reg.ridge.omega',
      lambda w: close(penalty(w), norm(w) ** 2),
      control=lambda w: close(penalty(w), norm(w)), w=vectors(4))
erratum('ml.reg.ridge.objective',
        printed=lambda seed: same_problem(seed, 1),
        corrected=lambda seed: same_problem(seed, 2),
        seed=seeds(), tries=15)

# %% [markdown]
# What does a higher price buy? Shorter weights, and a worse fit: never the other way round, whatever the two functions
# are.
#
# ````{prf:theorem} Loss against penalty
# :label: thm-penalty-trade
# Let $\mathbf{w}_\lambda$ minimize $\mathcal{L} + \lambda\Omega$ for any real functions $\mathcal{L}$ and $\Omega$. If
# $\lambda < \mu$, then $\Omega(\mathbf{w}_\mu) \le \Omega(\mathbf{w}_\lambda)$. If moreover $\lambda \ge 0$, then
# $\mathcal{L}(\mathbf{w}_\mu) \ge \mathcal{L}(\mathbf{w}_\lambda)$.
# ````
#
# ````{prf:proof}
# Each of the two is best at its own price:
# $\mathcal{L}(\mathbf{w}_\lambda) + \lambda\Omega(\mathbf{w}_\lambda) \le \mathcal{L}(\mathbf{w}_\mu) +
# \lambda\Omega(\mathbf{w}_\mu)$ and
# $\mathcal{L}(\mathbf{w}_\mu) + \mu\Omega(\mathbf{w}_\mu) \le \mathcal{L}(\mathbf{w}_\lambda) +
# \mu\Omega(\mathbf{w}_\lambda)$. Add them; the losses cancel, and
# $(\mu - \lambda)\big(\Omega(\mathbf{w}_\mu) - \Omega(\mathbf{w}_\lambda)\big) \le 0$. Now the first inequality gives
# $\mathcal{L}(\mathbf{w}_\mu) - \mathcal{L}(\mathbf{w}_\lambda) \ge \lambda\big(\Omega(\mathbf{w}_\lambda) -
# \Omega(\mathbf{w}_\mu)\big) \ge 0$.
# ````
#
# So $\mathbf{w}_\lambda$ has the least loss among all weights that are no longer than itself: the price is a budget in
# disguise (a [Lagrange multiplier](../optimization/projected_gradient_descent.ipynb)). The check minimizes
# {eq}`ml.reg.form` by a general optimizer; its control puts the price on the wrong one of the two terms.

# %%
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
      control=lambda seed: trades(seed, wrongly_priced),
      seed=seeds(), tries=15)

# %% [markdown]
# ### The explicit solution
#
# Both terms of {eq}`ml.reg.ridge.objective` are quadratic, so the minimum can be written down. Gradients add:
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
# Set it to zero, multiply by $N$ and collect $\mathbf{w}$:
# $(\mathbf{X}^\top\mathbf{X} + 2N\lambda\,\mathbf{I})\,\mathbf{w} = \mathbf{X}^\top\mathbf{y}$. With the abbreviation
#
# ```{math}
# :label: ml.reg.ridge-solution.lambda-prime
# \frac{\lambda'}{2N} = \lambda \iff \lambda' = 2N\lambda
# ```
#
# this is what the notes head "explicit solution for $w$":
#
# ```{math}
# :label: ml.reg.ridge-solution.solution
# \mathbf{w}^*_{\text{ridge}} = (\mathbf{X}^\top\mathbf{X} + \lambda'\mathbf{I})^{-1} \mathbf{X}^\top\mathbf{y} .
# ```
#
# In the copy from which this book works the last two lines are damaged. On the left of the solution stands
# $\nabla\mathcal{L}_{\text{MSE}}$, carried over from the line above, and the prime is lost in both lines; in the
# abbreviation the $N$ has slipped below the fraction bar, too, so that it reads $\lambda = \frac2N\lambda$. The control of
# the abbreviation takes this constant, $\lambda' = \frac2N\lambda$; that of the solution loses the prime.
#
# ````{prf:theorem} One minimum, always
# :label: thm-ridge-minimum
# If $\lambda > 0$, the ridge objective has exactly one minimizer, {eq}`ml.reg.ridge-solution.solution`, for every
# $\mathbf{X}$, also for dependent columns or fewer examples than features.
# ````
#
# ````{prf:proof}
# Write $J$ for the objective. Expanding the squares gives for every step $\boldsymbol\delta$
#
# $$ J(\mathbf{w} + \boldsymbol\delta) = J(\mathbf{w}) + \boldsymbol\delta^\top \nabla J(\mathbf{w})
# + \tfrac{1}{2N} \big( \|\mathbf{X}\boldsymbol\delta\|^2 + \lambda' \|\boldsymbol\delta\|^2 \big) . $$
#
# The bracket is positive for $\boldsymbol\delta \ne \mathbf{0}$. So $\mathbf{X}^\top\mathbf{X} + \lambda'\mathbf{I}$ is
# positive definite, hence invertible, and the gradient vanishes at one point. From there every step leads upwards.
# ````

# %%
def ridge(X, y, alpha):  # (N, d), (N,) -> (d,)
    return solve(X.T @ X + alpha * np.eye(X.shape[1]), X.T @ y)

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

# %% tags=["hide-input"]
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
      control=lambda seed: gradients_agree(seed, 0.5), seed=seeds(),
      tries=60)
holds('ml.reg.ridge-solution.lambda-prime',
      lambda seed: solves(seed, lambda lam, N: 2 * N * lam),
      control=lambda seed: solves(seed, lambda lam, N: 2 / N * lam),
      seed=seeds())
holds('ml.reg.ridge-solution.solution',
      lambda seed: is_solution(
          seed, lambda X, y, lam: ridge(X, y, 2 * len(y) * lam)),
      control=lambda seed: is_solution(seed, ridge), seed=seeds(), tries=100)

# %% tags=["hide-input"]
def found_by_search(seed, factor):
    X, y, _, lam = case(seed)
    w = priced(lambda w: objective(w, X, y, 0), lam, 3)
    return close(w, ridge(X, y, factor * len(y) * lam), atol=3e-7, rtol=0)

verify('a general optimizer finds the same weights',
       lambda seed: found_by_search(seed, 2),
       control=lambda seed: found_by_search(seed, 1), seed=seeds(), tries=20)

# %% [markdown]
# From here on we write $\alpha$ for $\lambda'$, as scikit-learn does. Back to the thirty patients: in the plane of the two
# weights the loss is a gorge, and along its floor the data are nearly silent. The solution slides along this floor towards
# the origin as $\alpha$ grows, and each $\mathbf{w}_\alpha$ is where the circle through it touches a level line.

# %%
A, b = blood[few], label[few]
alphas = np.geomspace(1e-3, 1e4, 200)
path = np.array([ridge(A, b, alpha) for alpha in alphas])  # (200, 2)
touch = ridge(A, b, 3)
w1, w2 = np.meshgrid(np.linspace(-25, 75, 81), np.linspace(-70, 40, 81))
steps = np.stack([w1 - thirty[0], w2 - thirty[1]])  # (2, 81, 81)
excess = ((A @ steps.reshape(2, -1)) ** 2).sum(axis=0).reshape(81, 81)
level = ((A @ (touch - thirty)) ** 2).sum()
miss = lambda w: norm(w - all_patients)
assert close(norm(b - A @ touch) ** 2, norm(b - A @ thirty) ** 2 + level)
print(f'distance to the weights of all 442: least squares {miss(thirty):.0f}, '
      f'ridge with alpha = 3 {miss(touch):.0f}')

# %% mystnb={"figure": {"caption": "Thirty patients leave the loss nearly flat along a gorge. Ridge slides along it from least squares towards the origin and, for $\\alpha = 3$, comes much closer to the weights of all 442."}, "image": {"alt": "Level lines of the loss over two weights: a long thin ellipse from upper left to lower right. Least squares sits far from the origin; the ridge path runs from there along the gorge and then to the origin. A circle around the origin touches one ellipse at the ridge solution. The weights of all patients lie closer to the path than to least squares."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5, 4.2))
ax.contour(w1, w2, excess, level * np.array([0.2, 1, 3, 7]), colors=GREY,
           linewidths=0.8)
turn = np.linspace(0, 2 * np.pi, 181)
ax.plot(*(norm(touch) * np.array([np.cos(turn), np.sin(turn)])), 'C2', lw=1.2)
ax.plot(*path.T, 'C1', label='ridge path')
ax.plot(*thirty, 'C0*', ms=11, label='least squares, 30 patients')
ax.plot(*touch, 'C1o', label='ridge, α = 3')
ax.plot(*all_patients, 'C3D', label='least squares, all 442')
ax.plot(0, 0, '+', color=GREY, ms=9)
ax.set(xlabel='weight of s1', ylabel='weight of s2', aspect='equal')
fig.legend(fontsize=8, ncols=2, loc='outside upper center');

# %% [markdown]
# ### The bias is free, the units are not
#
# A penalty is an opinion, and it should not be an opinion about units. Measure the disease in points above 100 instead of
# above 0, and all predictions ought to fall by 100, nothing else. So the bias $b$ must cost nothing. Minimizing
# $\|\mathbf{y} - \mathbf{X}\mathbf{w} - b\mathbf{1}\|^2 + \alpha\|\mathbf{w}\|^2$ over $b$ for fixed $\mathbf{w}$ gives
# $b = \bar{y} - \bar{\mathbf{x}}^\top\mathbf{w}$; put this in, and what remains is ridge regression without a bias on
# centred features and centred targets. The column of ones, so handy for least squares, is a trap here: its weight would be
# charged.
#
# The units of the *features* do matter. In metres instead of centimetres a weight is a hundred times as large and ten
# thousand times as dear. Unless all features share a unit, standardize them first, by the training part alone.

# %%
def ridge_with_bias(X, y, alpha):  # -> (d + 1,), the bias last
    m = X.mean(axis=0)
    w = ridge(X - m, y - y.mean(), alpha)
    return np.array([*w, y.mean() - m @ w])

def bias_charged(X, y, alpha):
    return ridge(np.column_stack([X, np.ones(len(y))]), y, alpha)

def as_scikit_learn(seed, fit):
    X, y, _, alpha = case(seed, d=4)
    model = Ridge(alpha).fit(X + 2, y + 5)
    want = [*model.coef_, model.intercept_]
    return close(fit(X + 2, y + 5, alpha), want, atol=1e-11, rtol=0)

verify('centred ridge is scikit-learn\'s, bias included',
       lambda seed: as_scikit_learn(seed, ridge_with_bias),
       control=lambda seed: as_scikit_learn(seed, bias_charged),
       seed=seeds(), tries=100)
Z = (X - X.mean(axis=0)) / X.std(axis=0)
model = Ridge(20.0).fit(Z, y)
ours = ridge_with_bias(Z, y, 20.0)
agree = close(ours, [*model.coef_, model.intercept_], atol=1e-10, rtol=0)
assert agree
print('on all patients, eleven parameters agree to ten decimals:', agree)
print(f'weight of s1 {ours[4]:.1f}, bias {ours[-1]:.1f}')

# %% [markdown]
# ```{exercise} ★ Shrink towards a guess
# :label: ridge_regression-guess
# Zero is a modest guess for unknown weights, but perhaps an earlier study found $\mathbf{w}_0$. Minimize
# $\|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2 + \alpha\|\mathbf{w} - \mathbf{w}_0\|^2$: write `towards(X, y, alpha, w0)`.
# ```

# %%
def towards(X, y, alpha, w0):  # (N, d), (N,), (), (d,) -> (d,)
    raise NotImplementedError('your turn')

# %%
def towards_by_library(X, y, alpha, w0):
    model = Ridge(alpha, fit_intercept=False, solver='svd')
    return model.fit(X, y - X @ w0).coef_ + w0

guess_rng = np.random.default_rng(4)
guess_cases = [
    (guess_rng.normal(size=(9, d)), guess_rng.normal(size=9), alpha,
     guess_rng.normal(size=d)) for d, alpha in ((1, 2.0), (4, 0.3))
]
grade(towards, towards_by_library, guess_cases)

# %% [markdown]
# ```{solution-start} ridge_regression-guess
# :class: dropdown
# ```
# The gradient vanishes where $(\mathbf{X}^\top\mathbf{X} + \alpha\mathbf{I})\mathbf{w} = \mathbf{X}^\top\mathbf{y} +
# \alpha\mathbf{w}_0$: the guess enters like further data. (The judge substitutes $\mathbf{w} = \mathbf{w}_0 + \mathbf{v}$
# and shrinks $\mathbf{v}$ to zero.) Adding $\mathbf{w}_0$ to the ordinary solution is wrong: that would move the
# predictions even where the data are clear.

# %% jupyter={"source_hidden": true}
def towards_solution(X, y, alpha, w0):
    G = X.T @ X + alpha * np.eye(X.shape[1])
    return solve(G, X.T @ y + alpha * w0)

def guess_on_top(X, y, alpha, w0):
    G = X.T @ X + alpha * np.eye(X.shape[1])
    return solve(G, X.T @ y) + w0

assert grade(towards_solution, towards_by_library, guess_cases)
assert not grade(guess_on_top, towards_by_library, guess_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Lifted eigenvalues, and four routes
#
# Why did thirty patients suffice for a sensible answer? Look at the matrix that is inverted. $\mathbf{X}^\top\mathbf{X}$
# is symmetric; let $\mathbf{U}$ hold its orthonormal eigenvectors and the diagonal $\mathbf{S}$ its eigenvalues
# $s_1 \ge \dots \ge s_d \ge 0$ (they are the squares of the singular values of $\mathbf{X}$, and $\mathbf{U}$ is what the
# section on singular values calls $\mathbf{V}$). Since $\mathbf{U}\mathbf{U}^\top = \mathbf{I}$,
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
# The eigenvectors stay, and every eigenvalue is lifted by the same amount:
#
# ```{math}
# :label: ml.reg.ridge-conditioning.lift
# (\mathbf{X}^\top\mathbf{X} + \lambda'\mathbf{I}) \, \mathbf{u}_j = (s_j + \lambda') \, \mathbf{u}_j , \qquad
# s_j + \lambda' \ge \lambda' .
# ```
#
# So the inverse exists whenever $\lambda' > 0$. A careless hand writes `X.T @ X + alpha` and lifts every *entry*, which
# raises one direction of $d$ and leaves the rest where it was. That is the control. The matrices have four columns and rank
# two.

# %%
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

# %% tags=["hide-input"]
holds('ml.reg.ridge-conditioning.proof',
      lambda seed, alpha: same_vectors(seed, alpha, lambda U: U),
      control=lambda seed, alpha: same_vectors(seed, alpha, np.transpose),
      seed=seeds(), alpha=scalars(0.01, 9), tries=100)
holds('ml.reg.ridge-conditioning.lift',
      lambda seed, alpha: all_lifted(seed, alpha, np.eye(4)),
      control=lambda seed, alpha: all_lifted(seed, alpha, 1),
      seed=seeds(), alpha=scalars(0.01, 9), tries=100)

# %% [markdown]
# The condition number falls from $s_1/s_d$ to $(s_1 + \alpha)/(s_d + \alpha)$. In proportion, small eigenvalues, the
# doubtful directions, are changed most, large ones hardly. For the ten standardized features of the patients:

# %%
X, y, _ = diabetes()
Z = (X - X.mean(axis=0)) / X.std(axis=0)
s = eigvalsh(Z.T @ Z)[::-1]
condition = lambda alpha: (s[0] + alpha) / (s[-1] + alpha)
alphas = np.geomspace(1e-2, 1e4, 121)
for alpha in (0, 10, 100):
    lifted = Z.T @ Z + alpha * np.eye(10)
    assert close(condition(alpha), np.linalg.cond(lifted))
    print(f'alpha = {alpha:3}: condition number {condition(alpha):.0f}')

# %% mystnb={"figure": {"caption": "Adding $\\alpha$ lifts the small eigenvalues of $\\mathbf{X}^\\top\\mathbf{X}$ and hardly changes the large ones: the condition number falls from 470 towards 1; stacking works with its square root."}, "image": {"alt": "Left: ten eigenvalues on a logarithmic scale for three values of alpha; on this scale the two smallest rise most, the largest stays. Right: the condition number against alpha falls from 470 to one; that of the stacked matrix is its square root."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.6)
for k, alpha in enumerate((0, 10, 100)):
    left.semilogy(range(1, 11), s + alpha, f'C{k}.-', label=f'α = {alpha}')
left.set(xlabel='j', ylabel='$s_j$ + α', title='Eigenvalues',
         xticks=[1, 5, 10])
left.legend()
right.loglog(alphas, condition(alphas), label='XᵀX + αI')
right.loglog(alphas, condition(alphas) ** 0.5, label='stacked')
right.set(xlabel='α', title='Condition number')
right.legend();

# %% [markdown]
# *Stacked* refers to another way to compute the same weights. There are four in all, and each shows a different side of
# the matter.
#
# 1. **Normal equations.** Solve {eq}`ml.reg.ridge-solution.solution` as it stands.
# 2. **Stacking.** A sum of two squared lengths is one squared length:
#    $\|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2 + \alpha\|\mathbf{w}\|^2$ is the ordinary least-squares loss of $N + d$
#    examples, the real ones and $d$ invented ones in which feature $j$ alone has the value $\sqrt\alpha$ and the target is
#    0. So $\mathbf{X}$ with $\sqrt\alpha\,\mathbf{I}$ below it goes into a
#    [QR decomposition](../linear_algebra/qr_decomposition.ipynb). Its singular values are $\sqrt{s_j + \alpha}$, its
#    condition number the square root of the one above.
# 3. **Filter factors.** Insert $\mathbf{X} = \sum_j \sqrt{s_j}\,\mathbf{p}_j\mathbf{u}_j^\top$:
#
# ```{math}
# :label: ridge-filter
# \mathbf{w}_\alpha = \sum_{s_j > 0} f_j\, \frac{\mathbf{p}_j^\top\mathbf{y}}{\sqrt{s_j}}\, \mathbf{u}_j , \qquad
# f_j = \frac{s_j}{s_j + \alpha} .
# ```
#
# Without the $f_j$ this is the pseudoinverse, the least-squares solution of least length; it is also the limit
# $\alpha \to 0$. Where the pseudoinverse needs a cutoff, all or nothing, the *filter factors* fade: close to 1 for
# $s_j \gg \alpha$, close to 0 for $s_j \ll \alpha$. One decomposition serves every $\alpha$.
#
# 4. **The dual form.** From $\mathbf{X}^\top(\mathbf{X}\mathbf{X}^\top + \alpha\mathbf{I}) =
#    (\mathbf{X}^\top\mathbf{X} + \alpha\mathbf{I})\mathbf{X}^\top$ (multiply out both sides) follows
#
# ```{math}
# :label: ridge-dual
# \mathbf{w}_\alpha = \mathbf{X}^\top \mathbf{a}, \qquad \mathbf{a} = (\mathbf{K} + \alpha\mathbf{I})^{-1}\mathbf{y}, \qquad
# \mathbf{K} = \mathbf{X}\mathbf{X}^\top .
# ```
#
# The system has the size of the number of examples, a bargain if features are many, and the inputs occur only through their
# dot products $K_{mn} = \mathbf{x}_m \cdot \mathbf{x}_n$: the door to kernel methods. Since
# $\mathbf{K}\mathbf{a} + \alpha\mathbf{a} = \mathbf{y}$, the dual weights are residuals:
# $\alpha\mathbf{a} = \mathbf{y} - \mathbf{X}\mathbf{w}_\alpha$.

# %%
def by_normal_equations(X, y, alpha, stored=np.asarray):
    G = X.T @ X + alpha * np.eye(X.shape[1])
    return solve(stored(G), X.T @ y)

def by_stacking(X, y, alpha, stored=np.asarray):
    d = X.shape[1]
    QR = np.linalg.qr(np.vstack([X, np.sqrt(alpha) * np.eye(d)]))
    Q, R = map(stored, QR)
    return solve_triangular(R, Q.T @ np.append(y, np.zeros(d)))

def by_filter(X, y, alpha, stored=np.asarray):
    P, root, Ut = map(stored, svd(X, full_matrices=False))
    return (root / (root**2 + alpha) * (P.T @ y)) @ Ut

def by_dual(X, y, alpha, stored=np.asarray):
    K = X @ X.T + alpha * np.eye(len(y))
    return X.T @ solve(stored(K), y)

routes = {'normal equations': by_normal_equations, 'stacked QR': by_stacking,
          'SVD': by_filter, 'dual': by_dual}

# %% tags=["hide-input"]
def four_agree(seed, N, d, alpha, forms):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(N, d)), rng.normal(size=N)
    want = Ridge(alpha, fit_intercept=False, tol=1e-12).fit(X, y).coef_
    return all(close(f(X, y, alpha), want, atol=1e-9, rtol=0) for f in forms)

rootless = lambda X, y, alpha: by_stacking(X, y, alpha**2)
verify('four routes lead to scikit-learn\'s weights',
       lambda seed, N, d, alpha: four_agree(seed, N, d, alpha,
                                            routes.values()),
       control=lambda seed, N, d, alpha: four_agree(seed, N, d, alpha,
                                                    [rootless]),
       seed=seeds(), N=[3, 9], d=[2, 20], alpha=[0.1, 2.0, 30.0], tries=100)

def to_shortest(seed, power):  # 5 examples, 8 features
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(5, 8)), rng.normal(size=5)
    gap = by_filter(X, y, 1e-8) - pinv(X) @ y
    slope = -pinv(X.T @ X) @ pinv(X) @ y  # of the path at 0
    return norm(gap - 1e-8**power * slope) < 1e-3 * norm(gap)

verify('the path starts at the shortest least-squares solution',
       lambda seed: to_shortest(seed, 1),
       control=lambda seed: to_shortest(seed, 0.5), seed=seeds(), tries=50)

# %% [markdown]
# (What `stored` is for comes next.) On paper the routes are one. In a computer, which stores numbers with so many
# digits and no more, they are not. To see the difference on every machine alike, let the matrices of each route be
# *stored* in single precision, 24 binary digits, $\varepsilon = 2^{-24} \approx 6 \cdot 10^{-8}$, and everything else
# be computed in double precision, as good as exact beside that. Put a polynomial of degree 5 through 30 points of
# $[0, 1]$: the columns $1, t, \dots, t^5$ are nearly dependent, $s_1/s_d$ is beyond a million. The labels lie on a
# polynomial, so that residuals are small (with large ones no route can be much better than the normal equations,
# because the problem itself is then as sensitive).

# %%
def single(a):
    return np.float32(a).astype(float)

def lost(seed, alpha):  # relative error of each route
    rng = np.random.default_rng(seed)
    X = np.vander(rng.random(30), 6, increasing=True)
    y = X @ rng.normal(size=6)
    true = by_stacking(X, y, alpha)
    return [norm(route(X, y, alpha, single) - true) / norm(true)
            for route in routes.values()]

prices = 10.0 ** np.arange(-13, 4)
errors = np.median([[lost(seed, alpha) for alpha in prices]
                    for seed in range(50)], axis=0)  # (17, 4)
at = dict(zip(routes, errors[prices == 1e-7][0], strict=True))
assert at['normal equations'] > 100 * at['stacked QR'] > 0
assert at['dual'] > 100 * at['stacked QR'] and at['SVD'] < 1e-3
assert (errors[-1] < 2.0**-23).all()
for name, error in at.items():
    times = error / at['stacked QR']
    print(f'alpha = 1e-7: {name}, error in units of stacking {times:.3g}')
print('alpha = 1000: errors in units of 2^-23', below(errors[-1] * 2**23, 1))

# %% mystnb={"figure": {"caption": "Stored in single precision, the routes that form $\\mathbf{X}^\\top\\mathbf{X}$ or $\\mathbf{X}\\mathbf{X}^\\top$ lose digits like $1/\\alpha$ until fewer than two are left; stacking and SVD lose far fewer."}, "image": {"alt": "Relative error of four routes, stored in single precision, against alpha, both logarithmic. For large alpha all are near the unit of rounding. As alpha falls, normal equations and dual lose digits in proportion to one over alpha until fewer than two are left; stacked QR and SVD lose about a third as many."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
for (name, error), mark in zip(zip(routes, errors.T), 'osx+', strict=False):
    ax.loglog(prices, error, marker=mark, ms=4, lw=1.3, label=name)
steep = prices[7:]
ax.loglog(steep, 2.0**-24 / steep, '--', color=GREY, lw=1)
ax.text(2e-6, 4e-2, 'ε/α')
ax.set(xlabel='α', ylabel='relative error', ylim=(1e-9, 1))
ax.legend();

# %% [markdown]
# The two steep curves grow with the condition number, which goes like $1/\alpha$ until $\alpha$ has sunk below $s_d$
# and no longer matters; the two flat ones with its root at most. (The dual matrix goes on getting worse, because
# $N - d$ of its eigenvalues are $\alpha$ itself, but their eigenvectors are what $\mathbf{X}^\top$ sends to zero.)
# Forming $\mathbf{X}^\top\mathbf{X}$ or $\mathbf{X}\mathbf{X}^\top$ squares the condition number, and the bound on the
# digits lost doubles (here it is two to three times as many). With the prices that statistics asks for, here to the
# right of one hundredth, in double precision every route will do, and the cheapest is best.
#
# ```{exercise} ★★ A price for each feature
# :label: ridge_regression-prices
# Let feature $j$ have its own price $\alpha_j > 0$, so that $\|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2 + \sum_j \alpha_j
# w_j^2$ is minimized, with far more features than examples. Derive a dual form and write `priced_dual(X, y, alphas)`,
# which solves no system larger than $N \times N$.
# ```

# %%
def priced_dual(X, y, alphas):  # (N, d), (N,), (d,) -> (d,)
    raise NotImplementedError('your turn')

# %%
def priced_primal(X, y, alphas):
    return solve(X.T @ X + np.diag(alphas), X.T @ y)

price_rng = np.random.default_rng(5)
price_cases = [(price_rng.normal(size=(N, d)), price_rng.normal(size=N),
                price_rng.uniform(0.5, 5, d)) for N, d in ((3, 7), (6, 40))]
grade(priced_dual, priced_primal, price_cases)

# %% [markdown]
# ```{solution-start} ridge_regression-prices
# :class: dropdown
# ```
# Put $v_j = \sqrt{\alpha_j}\, w_j$. Then $\mathbf{v}$ is charged at price 1 and the features become
# $\mathbf{X}\mathbf{D}^{-1/2}$ with $\mathbf{D} = \operatorname{diag}(\alpha_j)$. By {eq}`ridge-dual`,
# $\mathbf{w} = \mathbf{D}^{-1/2}\mathbf{v} = \mathbf{D}^{-1}\mathbf{X}^\top(\mathbf{X}\mathbf{D}^{-1}\mathbf{X}^\top +
# \mathbf{I})^{-1}\mathbf{y}$. The wrong answer forgets to scale back.

# %% jupyter={"source_hidden": true}
def priced_dual_solution(X, y, alphas):
    V = X / alphas
    return V.T @ solve(V @ X.T + np.eye(len(y)), y)

def not_scaled_back(X, y, alphas):
    V = X / np.sqrt(alphas)
    return V.T @ solve(V @ V.T + np.eye(len(y)), y)

assert grade(priced_dual_solution, priced_primal, price_cases)
assert not grade(not_scaled_back, priced_primal, price_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Some bias for less noise
#
# Shrunk weights are wrong on purpose. To see what this costs and what it buys, fix the inputs $\mathbf{X}$ and suppose that
#
# ```{math}
# :label: ridge-world
# \mathbf{y} = \mathbf{X}\mathbf{w} + \boldsymbol\epsilon , \qquad \mathbb{E}\,\boldsymbol\epsilon = \mathbf{0} , \qquad
# \operatorname{Cov}\boldsymbol\epsilon = \sigma^2 \mathbf{I} :
# ```
#
# a linear truth and uncorrelated noise of one size, Gaussian or not. Put this into the solution and write
# $\mathbf{G} = \mathbf{X}^\top\mathbf{X}$:
#
# $$ \begin{aligned}
# \hat{\mathbf{w}}_\alpha - \mathbf{w} &= (\mathbf{G} + \alpha\mathbf{I})^{-1} \big( \mathbf{G}\mathbf{w} +
# \mathbf{X}^\top\boldsymbol\epsilon \big) - \mathbf{w} \\
# &= \underbrace{-\alpha (\mathbf{G} + \alpha\mathbf{I})^{-1}\mathbf{w}}_{\text{bias}}
# + \underbrace{(\mathbf{G} + \alpha\mathbf{I})^{-1}\mathbf{X}^\top\boldsymbol\epsilon}_{\text{noise}} .
# \end{aligned} $$
#
# The bias is fixed, the noise has mean zero and covariance $\sigma^2 (\mathbf{G} + \alpha\mathbf{I})^{-1} \mathbf{G}
# (\mathbf{G} + \alpha\mathbf{I})^{-1}$. With $c_j = \mathbf{u}_j^\top\mathbf{w}$, the coordinates of the truth along the
# eigenvectors, the mean squared error is a sum over directions:
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
#
# At $\alpha = 0$ the bias term has slope zero, being quadratic in $\alpha$, while the noise falls at once: the derivative is
# $-2\sigma^2 \sum_j s_j^{-2} < 0$, if all $s_j > 0$. So *some* $\alpha > 0$ beats least squares, whatever the truth
# {cite}`hoerl1970ridge`. Comparing matrices instead of numbers tells more: how far $\alpha$ may go, and that every single
# prediction gains.
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
# This matrix form is due to Theobald {cite}`theobald1974generalizations`. Mind what it does not say. The bound contains
# $\sigma$ and $\mathbf{w}$, which nobody knows; an $\alpha$ chosen from the same data is random, and the theorem is silent
# about it. And it is a promise about averages over the noise, not about every sample.

# %%
def error_parts(s, c, sigma, alpha):  # squared bias, variance
    bias2 = (alpha * c / (s + alpha)) ** 2
    variance = sigma**2 * s / (s + alpha) ** 2
    return bias2.sum(), variance.sum()

def slope(s, c, sigma, alpha):
    return 2 * (s * (alpha * c**2 - sigma**2) / (s + alpha) ** 3).sum()

def world(seed):  # 30 examples, 3 features
    rng = np.random.default_rng(seed)
    X, w = rng.normal(0, [2, 1, 0.5], (30, 3)), rng.normal(size=3)
    s, U = eigh(X.T @ X)
    return rng, X, w, s, U

def ridge_map(X, alpha):  # (d, N): from targets to weights
    return solve(X.T @ X + alpha * np.eye(X.shape[1]), X.T)

def error_matrix(X, w, sigma, alpha):
    B = ridge_map(X, alpha)
    bias = B @ X @ w - w
    return np.outer(bias, bias) + sigma**2 * B @ B.T

# %%
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

# %% tags=["hide-input"]
verify('bias and variance as in the formula (noise not Gaussian)',
       lambda seed, alpha: simulated(seed, alpha, error_parts),
       control=lambda seed, alpha: simulated(seed, alpha, no_square),
       seed=seeds(), alpha=[0.5, 5.0, 50.0], tries=40)
verify('the slope of the error',
       lambda seed, alpha: same_slope(seed, alpha, slope),
       control=lambda seed, alpha: same_slope(
           seed, alpha, lambda s, c, sigma, alpha: slope(s, c, 1, alpha)),
       seed=seeds(), alpha=scalars(0.1, 9), tries=100)
verify('up to the bound every prediction gains',
       lambda seed, share: every_prediction_gains(seed, share),
       control=lambda seed, share: every_prediction_gains(seed, 3 * share),
       seed=seeds(), share=[0.01, 0.3, 1.0], tries=100)

# %% [markdown]
# How large is the effect on a real design? Take the 442 patients' ten features as $\mathbf{X}$ and, as if they were the
# truth, their least-squares weights and residual variance. Everything can now be computed without drawing a number, for the
# weights by {eq}`ridge-mse` and for the predictions at the 442 inputs with one more factor $s_j$ in each term, as
# $\|\mathbf{X}\mathbf{v}\|^2 = \sum_j s_j (\mathbf{u}_j^\top\mathbf{v})^2$.

# %%
X, y, _ = diabetes()
Z = (X - X.mean(axis=0)) / X.std(axis=0)
s, U = eigh(Z.T @ Z)
c = U.T @ ridge_map(Z, 0) @ y
sigma = norm(y - y.mean() - Z @ U @ c) / np.sqrt(442 - 11)
bound = 2 * sigma**2 / (c @ c)
alphas = np.append(0, np.geomspace(0.01, 300, 400))
of_weights = np.array([error_parts(s, c, sigma, a) for a in alphas])
of_predictions = np.array([
    ((s * (a * c / (s + a)) ** 2).sum(), sigma**2 * ((s / (s + a)) ** 2).sum())
    for a in alphas])
assert close(of_predictions[0], [0, 10 * sigma**2])
for name, parts in (('weights', of_weights), ('predictions', of_predictions)):
    total = parts.sum(axis=1)
    print(f'{name}: best alpha {alphas[total.argmin()]:.2f}, '
          f'error {total.min() / total[0]:.2f} of least squares')
print(f'the theorem allows alpha up to {bound:.2f}')

# %% mystnb={"figure": {"caption": "A small $\\alpha$ buys less variance for little bias: about a fifth off the error of the weights at best, much less off the predictions. A large $\\alpha$ is worse than least squares."}, "image": {"alt": "Two panels of squared error against alpha. Left, weights: variance falls, squared bias rises, the total dips about a fifth below least squares near one and climbs above it later. Right, predictions at the inputs: the same pattern with a shallower dip. A vertical line marks the bound of the theorem."}} tags=["hide-input"]
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

# %% [markdown]
# The dip is real and modest, and for large $\alpha$ ridge is *worse* than least squares (dashed). With 442 examples for
# ten features there is little noise to save. The theorem promises a gain, not a large one.
#
# ### How many parameters is that?
#
# Least squares with $d$ features fits $d$ parameters. Ridge has as many weights, but does not let them run freely. The
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
# The sum of the filter factors, the *effective degrees of freedom*, falls from $d$ to 0. The name is earned by what it
# predicts: by how much the training error flatters.
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
# Let $\mathbf{m} = \mathbf{X}\mathbf{w}$ be the common mean. In $\|\mathbf{y} - \hat{\mathbf{y}}\|^2 =
# \|\mathbf{y} - \mathbf{m}\|^2 - 2(\mathbf{y} - \mathbf{m})^\top(\hat{\mathbf{y}} - \mathbf{m}) + \|\hat{\mathbf{y}} -
# \mathbf{m}\|^2$ the outer terms have the same mean for $\mathbf{y}'$. The middle one has mean 0 for $\mathbf{y}'$,
# which is independent of $\hat{\mathbf{y}}$. For $\mathbf{y}$ it is
# $-2\,\mathbb{E}[\boldsymbol\epsilon^\top(\mathbf{H}_\alpha
# \mathbf{m} - \mathbf{m} + \mathbf{H}_\alpha\boldsymbol\epsilon)] = -2\,\mathbb{E}[\boldsymbol\epsilon^\top
# \mathbf{H}_\alpha
# \boldsymbol\epsilon] = -2\sigma^2 \operatorname{tr}\mathbf{H}_\alpha$.
# ````

# %%
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

# %% tags=["hide-input"]
at_three = dict(seed=seeds(), alpha=[1.0, 20.0, 200.0], tries=30)
verify('the training error flatters by 2σ² df / N',
       lambda seed, alpha: flatters(seed, alpha, freedom),
       control=lambda seed, alpha: flatters(seed, alpha, all_weights),
       **at_three)
verify('the trace of the hat matrix is df',
       lambda seed, alpha: trace_is(seed, alpha, freedom),
       control=lambda seed, alpha: trace_is(seed, alpha, all_weights),
       **at_three)

# %% [markdown]
# ```{exercise} ★★ The best price for orthonormal features
# :label: ridge_regression-best
# Let $\mathbf{X}^\top\mathbf{X} = \mathbf{I}$. Which $\alpha$ makes $\mathbb{E}\|\hat{\mathbf{w}}_\alpha - \mathbf{w}\|^2$
# least, and what is left of the error of least squares? Write `best_price(w, sigma)`, which returns both: $\alpha$ and the
# ratio of the two errors.
# ```

# %%
def best_price(w, sigma):  # (d,), () -> (alpha, ratio)
    raise NotImplementedError('your turn')

# %%
def by_search(w, sigma):
    def error(t):  # alpha = exp(t)
        shrink = 1 / (1 + np.exp(t))
        return (((1 - shrink) * w) ** 2 + (sigma * shrink) ** 2).sum()

    found = minimize_scalar(error, tol=1e-10)
    return np.exp(found.x), found.fun / error(-50)

best_rng = np.random.default_rng(6)
best_cases = [(best_rng.normal(size=d), sigma)
              for d, sigma in ((1, 0.5), (3, 1.0), (8, 2.5))]
grade(best_price, by_search, best_cases, rtol=1e-4)

# %% [markdown]
# ```{solution-start} ridge_regression-best
# :class: dropdown
# ```
# All $s_j$ are 1, so by {eq}`ridge-mse` the derivative is zero where $\alpha\|\mathbf{w}\|^2 = d\sigma^2$: noise over
# signal. The error at $\alpha = d\sigma^2/\|\mathbf{w}\|^2$ is $(\alpha^2\|\mathbf{w}\|^2 + d\sigma^2)/(1 + \alpha)^2 =
# d\sigma^2\,(\alpha + 1)/(1 + \alpha)^2$, and that of least squares is $d\sigma^2$: the ratio is $1/(1 + \alpha)$. The
# wrong answer forgets that $d$ directions carry noise.

# %% jupyter={"source_hidden": true}
def best_price_solution(w, sigma):
    alpha = len(w) * sigma**2 / (w @ w)
    return alpha, 1 / (1 + alpha)

def one_direction(w, sigma):
    alpha = sigma**2 / (w @ w)
    return alpha, 1 / (1 + alpha)

assert grade(best_price_solution, by_search, best_cases, rtol=1e-4)
assert not grade(one_direction, by_search, best_cases, rtol=1e-4)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Which price?
#
# One decomposition gives the weights for all $\alpha$ at once, by {eq}`ridge-filter`. Drawn against $\alpha$ they make the
# *path* of ridge regression (all 442 patients serve for training here).

# %%
def ridge_path(X, y, alphas):  # -> weights (k, d), df (k,)
    P, root, Ut = svd(X, full_matrices=False)
    s, price = root**2, alphas[:, None]
    weights = (root / (s + price) * (P.T @ y)) @ Ut
    return weights, (s / (s + price)).sum(axis=1)

X, y, names = diabetes()
Z = (X - X.mean(axis=0)) / X.std(axis=0)
alphas = np.geomspace(1e5, 1e-2, 141)
path, df = ridge_path(Z, y - y.mean(), alphas)
library = np.array([Ridge(a).fit(Z, y).coef_ for a in alphas[::20]])
assert close(path[::20], library, atol=1e-9, rtol=0)
hat = Z @ solve(Z.T @ Z + alphas[70] * np.eye(10), Z.T)
assert close(df[70], np.trace(hat))
for a in (1000, 100, 10, 1):
    k = abs(alphas - a).argmin()
    print(f'alpha = {a:4}: {df[k]:.1f} degrees of freedom,',
          f's1 {path[k, 4]:+.0f}, s2 {path[k, 5]:+.0f}'.replace('-', '−'))

# %% mystnb={"figure": {"caption": "As $\\alpha$ falls, the weights that the data determine well, such as bmi and bp, settle first; those of s1 and s2 swing out only at small $\\alpha$."}, "image": {"alt": "Ten weights against alpha, from large to small. All start at zero; bmi, s5 and bp rise early, and bmi and bp stay. s1 stays near zero for a long time and plunges to minus 38 at small alpha, while s2, s3 and s5 rise."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.6))
for j, name in enumerate(names):
    ax.semilogx(alphas, path[:, j], f'C{j % 5}', label=name,
                ls='-' if j < 5 else '--')
ax.plot(alphas[[0, -1]], [0, 0], color=GREY, lw=0.8)
ax.invert_xaxis()
ax.set(xlabel='α', ylabel='weight per standard deviation')
label_lines(ax);

# %% [markdown]
# From left to right evidence is admitted, the firmest first. The body mass index and blood pressure come early and stay.
# The quarrel of the blood values s1, s2, s3 and s5 breaks out at the very end, in the direction of the smallest eigenvalue,
# where the thirty patients went astray. Each weight is a rational function of $\alpha$, so unless it is zero for every
# $\alpha$ it may pass through zero at single points but cannot stay there; to set weights to zero is the business of the
# lasso.
#
# ### Leaving one out, without leaving anything out
#
# To choose $\alpha$, imitate new patients: leave example $n$ out, fit on the others, predict it, and average the squared
# errors over all $n$. Taken literally this needs $N$ fits for every $\alpha$. It needs one. ($\alpha = 2N\lambda$ is
# held fixed while $N$ drops by one, not $\lambda$.)
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
def leave_one_out(X, y, alphas, mean=1):  # -> errors (k, N)
    P, root, _ = svd(X - X.mean(axis=0), full_matrices=False)
    factors = root**2 / (root**2 + alphas[:, None])  # (k, d)
    fitted = y.mean() + (factors * (P.T @ (y - y.mean()))) @ P.T
    own = mean / len(y) + factors @ (P**2).T  # H_nn
    return (y - fitted) / (1 - own)

def by_loop(X, y, alpha):
    rest = ~np.eye(len(y), dtype=bool)
    return [y[n] - Ridge(alpha).fit(X[keep], y[keep]).predict(X[[n]])[0]
            for n, keep in enumerate(rest)]

def shortcut(seed, rule):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(1, 2, (7, 3)), rng.normal(4, 1, 7)
    alphas = np.array([0.3, 8.0])
    return close(rule(X, y, alphas), [by_loop(X, y, a) for a in alphas])

verify('one fit gives all leave-one-out errors',
       lambda seed: shortcut(seed, leave_one_out),
       control=lambda seed: shortcut(
           seed, lambda X, y, a: leave_one_out(X, y, a, mean=0)),
       seed=seeds(), tries=20)

# %% [markdown]
# The control forgets that with the example its share of the mean leaves, too.
#
# The formula holds for what the fit does with fixed features. If these were standardized with all examples, the one left
# out has had a tiny say in the units; the mean squares below ignore that, and the test patients, who had none, will tell.
#
# ### When it matters
#
# Two sets of features: the ten measurements, and 64 made of them, namely the ten, their squares and their products in
# pairs (without the square of sex, which takes two values only). Of the patients, 110 are held out; we train on 40 to 332
# of the others. Means, standard deviations and $\alpha$ come from the training part. References are the mean of the
# training targets and least squares (of least length, where there are fewer examples than features).

# %%
def ten(Z):
    return Z

def products(Z):  # (N, 10) -> (N, 64)
    i, j = np.triu_indices(10)
    keep = (i != 1) | (j != 1)
    return np.hstack([Z, (Z[:, i] * Z[:, j])[:, keep]])

def standardized(X, train):
    return (X - X[train].mean(axis=0)) / X[train].std(axis=0)

grid = np.geomspace(1e-1, 1e4, 51)

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

# %%
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
assert (rmse[products][:, :, 2] < rmse[products][:, :, 1]).all()
assert (rmse[ten][:, :, 2] < rmse[ten][:, :, 0]).all()

# %% mystnb={"figure": {"caption": "Left: with 64 features ridge beats least squares at every training size, even where that is worse than the mean. Right: leave-one-out and test error have their minima close together, the training error misleads."}, "image": {"alt": "Left: error on held-out patients against training size for 64 features; ridge falls steadily from 66 to 57, below least squares at every size, whose error peaks near 80 examples, and below the constant mean. Right: training, leave-one-out and test error against alpha for 160 examples: training error rises, the other two fall together to a flat minimum near 100 and rise again."}} tags=["hide-input"]
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

# %% [markdown]
# With ten features and all the patients there is nothing to gain, as the last section foretold: the choice hardly matters.
# With 64 features least squares is worse than no features at all on small samples, worst where the number of examples is
# just above that of the features and the smallest eigenvalue nearly vanishes. Ridge with the $\alpha$ of the leave-one-out
# errors beats it in every split. The right panel shows why that choice can be trusted: the training error only ever prefers
# $\alpha = 0$, while the leave-one-out error follows the test error at a small distance, and its minimum lies in the
# same flat valley.
#
# ```{exercise} ★★★ Leave a whole family out
# :label: ridge_regression-block
# If examples come in families (several visits of a patient), leaving out one visit is too kind: its siblings stay.
# Generalize the shortcut to a set $F$ of examples left out together, without a bias, and write `block_errors(X, y,
# alpha, F)`, the errors $y_n - \hat{y}_n^{(-F)}$ for $n \in F$, from one fit on all examples.
# ```

# %%
def block_errors(X, y, alpha, F):  # F: list of indices -> (len(F),)
    raise NotImplementedError('your turn')

# %%
def block_by_refit(X, y, alpha, F):
    keep = np.setdiff1d(np.arange(len(y)), F)
    model = Ridge(alpha, fit_intercept=False).fit(X[keep], y[keep])
    return y[F] - model.predict(X[F])

block_rng = np.random.default_rng(7)
block_cases = [(block_rng.normal(size=(9, d)), block_rng.normal(size=9),
                alpha, F)
               for d, alpha, F in ((2, 0.5, [3]), (4, 2.0, [1, 2, 7]))]
grade(block_errors, block_by_refit, block_cases)

# %% [markdown]
# ```{solution-start} ridge_regression-block
# :class: dropdown
# ```
# The proof goes through with vectors. Replace $\mathbf{y}_F$ by $\mathbf{z} = \hat{\mathbf{y}}_F^{(-F)}$; the fit is
# the one without $F$, and $\mathbf{z} = \hat{\mathbf{y}}_F + \mathbf{H}_{FF}(\mathbf{z} - \mathbf{y}_F)$. So
# $\mathbf{y}_F - \mathbf{z} = (\mathbf{I} - \mathbf{H}_{FF})^{-1}(\mathbf{y}_F - \hat{\mathbf{y}}_F)$. Dividing by the
# diagonal alone would leave out one at a time.

# %% jupyter={"source_hidden": true}
def block_errors_solution(X, y, alpha, F):
    H = X @ solve(X.T @ X + alpha * np.eye(X.shape[1]), X.T)
    I_minus_H = np.eye(len(F)) - H[np.ix_(F, F)]
    return solve(I_minus_H, y[F] - (H @ y)[F])

def one_at_a_time(X, y, alpha, F):
    H = X @ solve(X.T @ X + alpha * np.eye(X.shape[1]), X.T)
    return (y - H @ y)[F] / (1 - np.diag(H)[F])

assert grade(block_errors_solution, block_by_refit, block_cases)
assert not grade(one_at_a_time, block_by_refit, block_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## What the price says about the weights
#
# A price was set and justified by its results. There is another reading, in which the penalty is a statement: before seeing
# data, I hold small weights for likelier than large ones. Let
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
# The referee takes the other road: $\mathbf{w}$ and $\mathbf{y}$ are jointly Gaussian with
# $\operatorname{Cov}(\mathbf{w}, \mathbf{y}) = \tau^2\mathbf{X}^\top$ and $\operatorname{Cov}\mathbf{y} =
# \tau^2\mathbf{X}\mathbf{X}^\top + \sigma^2\mathbf{I}$, and the rule for
# [conditioning a Gaussian](../probability/gaussian_distribution.ipynb) gives the mean
# $\tau^2\mathbf{X}^\top(\tau^2\mathbf{X}\mathbf{X}^\top + \sigma^2\mathbf{I})^{-1}\mathbf{y}$: the dual form. Algebra that
# looked like a trick is Bayes' theorem read in two orders.

# %%
def posterior(X, y, sigma, tau):  # mean (d,), covariance (d, d)
    alpha = sigma**2 / tau**2
    inverse = inv(X.T @ X + alpha * np.eye(X.shape[1]))
    return inverse @ X.T @ y, sigma**2 * inverse

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
       control=lambda seed: as_conditioned(seed, spread_of_estimator),
       seed=seeds())

# %% [markdown]
# Now the question of the right price has an answer in one line. Average {eq}`ridge-mse` over weights drawn from the prior:
# every $c_j^2$ becomes $\tau^2$, and the derivative $2\sum_j s_j(\alpha\tau^2 - \sigma^2)/(s_j + \alpha)^3$ changes its
# sign, in all terms at once, exactly at $\alpha = \sigma^2/\tau^2$. In a world where the prior is true, no other
# $\alpha$ is better on average.
#
# The posterior also has error bars, and in that world they are honest: an interval of posterior mean $\pm 1.645$ posterior
# standard deviations for $\mathbf{x}^\top\mathbf{w}$ holds the truth in 90 % of all cases. The standard deviation *of the
# estimator*, which knows nothing of its bias, is too short. Both are simulated below, truth and noise drawn anew
# each time.

# %%
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

# %% tags=["hide-input"]
verify('σ²/τ² is the best price on average',
       lambda seed: best_on_average(seed, lambda s, t: s**2 / t**2),
       control=lambda seed: best_on_average(seed, lambda s, t: s / t),
       seed=seeds(), tries=40)
verify('the posterior\'s 90 % intervals hold the truth in 90 %',
       lambda seed: coverage_and_error(seed, posterior),
       control=lambda seed: coverage_and_error(seed, spread_of_estimator),
       seed=seeds(), tries=40)

# %% [markdown]
# ### The price from the evidence
#
# Nobody knows $\sigma$ and $\tau$, but the data have something to say about them. Averaged over the prior, $\mathbf{y}$ is
# Gaussian with covariance $\sigma^2\mathbf{C}$, $\mathbf{C} = \mathbf{I} + \mathbf{X}\mathbf{X}^\top/\alpha$. The
# density of the observed targets under this law, as a function of $\alpha$ and $\sigma$, is the *evidence*; maximize
# it, as in [maximum likelihood](../probability/maximum_likelihood.ipynb). By {eq}`ridge-dual`,
# $\mathbf{C}^{-1}\mathbf{y} = \alpha
# \mathbf{a} = \mathbf{y} - \mathbf{X}\mathbf{w}_\alpha$ is just the residual, and by Sylvester's rule $\det\mathbf{C} =
# \prod_j (1 + s_j/\alpha)$. For given $\alpha$ the best variance is $\hat\sigma^2 = \frac1N \mathbf{y}^\top(\mathbf{y} -
# \mathbf{X}\mathbf{w}_\alpha)$, which leaves
#
# ```{math}
# :label: ridge-evidence
# \log p(\mathbf{y}) = -\frac{N}{2} \big( \log(2\pi\hat\sigma^2) + 1 \big)
# - \frac12 \sum_{j=1}^d \log\Big( 1 + \frac{s_j}{\alpha} \Big) .
# ```
#
# A good fit pays in the first term; the second charges for every direction that the prior left open and the data had to
# close. scikit-learn's `BayesianRidge` climbs the same hill by fixed-point steps.

# %%
def evidence(X, y, alpha):  # -> log evidence, variance
    G = X.T @ X
    w = solve(G + alpha * np.eye(len(G)), X.T @ y)
    variance = y @ (y - X @ w) / len(y)
    fit = len(y) / 2 * (np.log(2 * np.pi * variance) + 1)
    return -fit - np.log1p(eigvalsh(G) / alpha).sum() / 2, variance

def is_density(seed, stretch):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(6, 3)), rng.normal(size=6)
    alpha = rng.uniform(1, 3)
    value, variance = evidence(X, y, alpha)
    law = lambda v: multivariate_normal(
        cov=v * (np.eye(6) + X @ X.T / alpha)).logpdf(y)
    others = law(0.9 * variance), law(1.1 * variance)
    return close(value, law(stretch * variance)) and max(others) < value

verify('the evidence is a Gaussian density at its best variance',
       lambda seed: is_density(seed, 1),
       control=lambda seed: is_density(seed, 6 / 5), seed=seeds(), tries=40)

# %%
X, y, names = diabetes()
Z, target = (X - X.mean(axis=0)) / X.std(axis=0), y - y.mean()
found = minimize_scalar(lambda t: -evidence(Z, target, np.exp(t))[0],
                        tol=1e-8)
alpha = np.exp(found.x)
sigma = np.sqrt(evidence(Z, target, alpha)[1])
library = BayesianRidge(tol=1e-9, max_iter=2000, alpha_1=0, alpha_2=0,
                        lambda_1=0, lambda_2=0).fit(Z, y)
# the height of the evidence is flat to 1e-16 within 1e-8 of its peak
assert close(alpha, library.lambda_ / library.alpha_, rtol=1e-5)
mean, covariance = posterior(Z, target, sigma, sigma / np.sqrt(alpha))
assert close(mean, library.coef_, rtol=1e-4)
assert close(covariance, library.sigma_, rtol=1e-5)
width = 1.645 * np.sqrt(np.diag(covariance))  # 90 %
plain = solve(Z.T @ Z, Z.T @ target)
residual = norm(target - Z @ plain) / np.sqrt(442 - 11)
plain_width = 1.645 * residual * np.sqrt(np.diag(inv(Z.T @ Z)))
print(f'evidence: alpha = {alpha:.1f}, sigma = {sigma:.0f}, '
      f'tau = {sigma / np.sqrt(alpha):.0f}')
print(f's1: least squares {plain[4]:.0f} ± {plain_width[4]:.0f}, '
      f'posterior {mean[4]:.0f} ± {width[4]:.0f}')

# %% mystnb={"figure": {"caption": "A Gaussian prior hardly moves weights that the data determine, such as bmi and bp, and draws the doubtful ones, s1 and s2, towards zero, with much shorter intervals."}, "image": {"alt": "Ten weights with 90 percent intervals, least squares beside the posterior. For age, sex, bmi, bp and s6 both agree. For s1 and s2 the least-squares intervals are very long and the posterior's much shorter and near zero; s3, s4 and s5 lie between."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
spots = np.arange(10)
ax.errorbar(spots - 0.12, plain, plain_width, fmt='C1s', ms=4, lw=1.4,
            label='least squares')
ax.errorbar(spots + 0.12, mean, width, fmt='C0o', ms=4, lw=1.4,
            label='posterior')
ax.axhline(0, color=GREY, lw=0.8)
ax.set(xticks=spots, xticklabels=names, ylabel='weight per standard deviation')
ax.legend();

# %% [markdown]
# Where the data are clear, for the body mass index or blood pressure, the prior is hardly heard. Where they are silent it
# has the word: s1 is no longer said to lie somewhere far below zero. Whether that is wisdom or prejudice, the data
# cannot tell; the intervals are honest on average over weights from the prior, not for one fixed truth. But the
# statement is now out in the open, where it can be argued with.
#
# ```{exercise} ★★ Yesterday's posterior
# :label: ridge_regression-update
# A new patient $(\mathbf{x}, y)$ arrives. Yesterday's posterior $\mathcal{N}(\mathbf{m}, \mathbf{P})$ is today's prior.
# Derive the new mean and covariance without inverting a matrix and write `update(m, P, x, y, sigma)`, which returns the
# mean as first row of a $(d+1) \times d$ array and the covariance below it.
# ```

# %%
def update(m, P, x, y, sigma):  # (d,), (d, d), (d,), (), () -> (d + 1, d)
    raise NotImplementedError('your turn')

# %%
def update_by_precision(m, P, x, y, sigma):
    covariance = inv(inv(P) + np.outer(x, x) / sigma**2)
    mean = covariance @ (inv(P) @ m + x * y / sigma**2)
    return np.vstack([mean, covariance])

update_rng = np.random.default_rng(8)
update_cases = []
for d in (1, 3):
    root = update_rng.normal(size=(d, d + 2))
    update_cases.append((update_rng.normal(size=d), root @ root.T,
                         update_rng.normal(size=d), 1.7, 0.6))
grade(update, update_by_precision, update_cases)

# %% [markdown]
# ```{solution-start} ridge_regression-update
# :class: dropdown
# ```
# Condition the pair $(\mathbf{w}, y)$: $\operatorname{Cov}(\mathbf{w}, y) = \mathbf{P}\mathbf{x}$ and
# $\operatorname{Var} y =
# \mathbf{x}^\top\mathbf{P}\mathbf{x} + \sigma^2$. With the gain $\mathbf{k} = \mathbf{P}\mathbf{x} /
# (\mathbf{x}^\top\mathbf{P}\mathbf{x} + \sigma^2)$ the mean moves by $\mathbf{k}$ times the surprise $y -
# \mathbf{x}^\top\mathbf{m}$, and $\mathbf{P}$ loses $\mathbf{k}\,(\mathbf{P}\mathbf{x})^\top$. This is recursive least
# squares, the heart of the Kalman filter. The wrong answer takes the whole $y$ for a surprise.

# %% jupyter={"source_hidden": true}
def update_solution(m, P, x, y, sigma):
    k = P @ x / (x @ P @ x + sigma**2)
    return np.vstack([m + k * (y - x @ m), P - np.outer(k, P @ x)])

def never_expected(m, P, x, y, sigma):
    k = P @ x / (x @ P @ x + sigma**2)
    return np.vstack([m + k * y, P - np.outer(k, P @ x)])

assert grade(update_solution, update_by_precision, update_cases)
assert not grade(never_expected, update_by_precision, update_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Summary
#
# Ridge regression charges for the length of the weights, which lifts every eigenvalue of $\mathbf{X}^\top\mathbf{X}$ by the
# same amount and fades out the directions about which the data say little. Where the truth is linear and the noise
# uncorrelated, a small enough price always beats least squares on average, and how much there is to gain depends on how
# many directions the data leave in doubt: nothing for ten features and 332 patients, a great deal for 64. The price can
# be read off leave-one-out errors, which cost one fit, or off the evidence for a Gaussian prior, whose posterior mean
# ridge regression is.
#
# **Further reading.** {cite}`hoerl1970ridge` is the beginning, {cite}`theobald1974generalizations` the theorem in the
# form given here. {cite}`hastie2009elements`, sections 3.4 and 7.6, for paths and effective degrees of freedom;
# {cite}`golub1979generalized` for the cross-validation that grew out of leaving one out; {cite}`bishop2006pattern`,
# chapter 3, and {cite}`mackay1992bayesian` for the evidence; {cite}`hansen2010discrete` for the same idea, Tikhonov's,
# in inverse problems.
