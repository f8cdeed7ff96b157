# ---
# jupyter:
#   book:
#     functions:
#       by_gram: by_gram(normal(20, 3), normal(20))
#       by_qr: by_qr(normal(20, 3), normal(20))
#       by_svd: by_svd(normal(20, 3), normal(20))
#       halved_mean: halved_mean(normal(5, 3), normal(20, 3), normal(20))
#       gap: gap(normal(20, 3), normal(20), normal(3), normal(3), 0.3)
#       descend: descend(normal(20, 3), normal(20), normal(3), 20)
#       cgls: cgls(normal(20, 3), normal(20), 3)
#       plain_descent: plain_descent(normal(20, 3), normal(20), 20)
#       fitted_error: fitted_error(normal(4, 3), normal(20, 3), normal(20))
#       bound: bound(10, 20)
#     main: ml.ls.closed-form.solution
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Least squares
#
# A cyclist is seen 1.00, 2.10 and 2.80 km from home after 0, 2 and 4 minutes. Two numbers, the start and the speed, should
# explain three positions, but no two numbers do. Which two fit best, are they the only ones, and how many of their digits
# can we trust?
#
# - **You need** [linear regression](linear_regression.ipynb), projections from
#   [Dot products](../linear_algebra/dot_products.ipynb), the [QR](../linear_algebra/qr_decomposition.ipynb) and the
#   [singular value decomposition](../linear_algebra/singular_value_decomposition.ipynb).
# - **You build** three direct solvers and one that only multiplies, a list of all solutions when there are many, and a
#   measurement of how many digits each solver loses.
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
from itertools import combinations_with_replacement
from unittest import mock

import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.linalg import LinAlgError, cholesky, cond, lstsq, matrix_rank, norm
from scipy.linalg import null_space, solve_triangular
from scipy.sparse.linalg import lsqr
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error

from nbutils.cases import integers, matrices, on, scalars, seeds, square_matrices, vectors
from nbutils.checks import between, close, grade, holds, verify
from nbutils.data import diabetes, digits
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')
torch.set_default_dtype(torch.float64)

def problem(seed, N, D, rank):  # integers: X (N, D) of that rank, y (N,)
    rng = np.random.default_rng(seed)
    while True:
        left = rng.integers(-3, 4, (N, rank))
        X = (left @ rng.integers(-3, 4, (rank, D))).astype(float)
        if matrix_rank(X) == rank:
            return X, rng.integers(-9, 10, N).astype(float)

def random_problem(seed, kappa, N=30, D=8):  # singular values 1 to 1 / kappa
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.normal(size=(n, D)))[0] for n in (N, D))
    s = kappa ** -np.linspace(0, 1, D)
    return U * s @ V.T, rng.normal(size=N)

# %% [markdown]
# ## The least-squares solution: normal equations, QR and SVD
#
# $\mathbf{X}$ has $N$ rows, one for each example $\mathbf{x}_n^\top$, and $D$ columns, one for each feature. A bias is a
# column of ones. For the cyclist, the columns are ones and minutes:

# %%
X = np.array([[1.0, 0], [1, 2], [1, 4]])
y = np.array([1.0, 2.1, 2.8])  # km
w = lstsq(X, y)[0]
print(f'start {w[0]:.3f} km, speed {w[1]:.3f} km per minute')
print('positions:       ', *(f'{position:.2f}' for position in y))
print('fitted positions:', (X @ w).round(3))
print('residuals:       ', (y - X @ w).round(3))

# %% [markdown]
# As $\mathbf{w}$ runs through all pairs of numbers, $\mathbf{X}\mathbf{w}$ runs through a plane in space, the span of the
# two columns. The three positions are a point $\mathbf{y}$ beside this plane. In general, the system can be solved exactly
# if $\mathbf{y}$ lies in the span $\operatorname{col}(\mathbf{X})$ of the columns,
#
# ```{math}
# :label: la.lsq.system
# \min_{\mathbf{w}} \|\mathbf{X}\mathbf{w} - \mathbf{y}\| = 0 \iff \mathbf{y} \in \operatorname{col}(\mathbf{X})
# \iff \operatorname{rank}[\mathbf{X} \,|\, \mathbf{y}] = \operatorname{rank} \mathbf{X} ,
# ```
#
# because appending $\mathbf{y}$ to the columns enlarges their span exactly if it was not in it. Otherwise we look for the
# nearest point of the plane. It is the foot of the perpendicular from $\mathbf{y}$, since the way to every other point is
# the hypotenuse of a right triangle.

# %% mystnb={"image": {"alt": "A slanted plane spanned by two arrows from the origin, the columns. Above it the point y; a dashed perpendicular leads down to its foot, the projection, with a right angle marked at the foot, and an arrow runs from the origin to the foot."}} tags=["hide-input"]
plane = np.array([[1, 0.2], [0.1, 1], [0.3, 0.3]])  # two columns in space
target = np.array([0.5, 0.6, 1.2])
foot = plane @ lstsq(plane, target)[0]
drop = target - foot
fig = plt.figure(figsize=(5, 3.4))
ax = fig.add_subplot(projection='3d', computed_zorder=False)
corners = plane @ np.array([[-0.1, 1.2, 1.2, -0.1], [-0.1, -0.1, 1.2, 1.2]])
ax.plot_trisurf(*corners, triangles=[[0, 1, 2], [0, 2, 3]], color='C0',
                alpha=0.2)
for k, column in enumerate(plane.T):
    ax.quiver(0, 0, 0, *column, color='C0', arrow_length_ratio=0.1)
    ax.text(*(column + [0, 0, 0.07 - 0.16 * (k == 0)]), f'$x_{k + 1}$',
            color='C0')
ax.quiver(0, 0, 0, *target, color='C1', arrow_length_ratio=0.08)
ax.quiver(0, 0, 0, *foot, color='C2', arrow_length_ratio=0.1)
ax.plot(*np.stack([target, foot]).T, '--', color=GREY)
a, b = 0.12 * foot / norm(foot), 0.12 * drop / norm(drop)
ax.plot(*np.stack([foot - a, foot - a + b, foot + b]).T, color=GREY, lw=1)
ax.text(*(target + [0, 0, 0.05]), 'y', color='C1')
ax.text(*(foot + [0.05, 0.05, -0.12]), 'Xw*', color='C2')
ax.set_axis_off()
ax.set_box_aspect((1, 1, 0.9), zoom=1.25)
ax.view_init(18, -58);

# %% [markdown] tags=["caption"]
# The best fit $\mathbf{X}\mathbf{w}^*$ is the foot of the perpendicular from $\mathbf{y}$ to the plane of the columns; what
# remains of $\mathbf{y}$ is at right angles to each column.

# %% [markdown]
# The perpendicular $\mathbf{y} - \mathbf{X}\hat{\mathbf{w}}$ is at right angles to every column: $\mathbf{X}^\top(\mathbf{y} -
# \mathbf{X}\hat{\mathbf{w}}) = \mathbf{0}$. (For example, the sum of the three residuals above is zero.) These are the
# **normal equations**, since a normal is a perpendicular. If they have several solutions, one of them is the shortest,
# $\mathbf{X}^+\mathbf{y}$ with the pseudoinverse $\mathbf{X}^+$:
#
# ```{math}
# :label: la.lsq.objective
# \begin{gathered}
# \hat{\mathbf{w}} \in \operatorname*{arg\,min}_{\mathbf{w}} \|\mathbf{X}\mathbf{w} - \mathbf{y}\|_2^2
# \iff \mathbf{X}^\top\mathbf{X}\,\hat{\mathbf{w}} = \mathbf{X}^\top\mathbf{y} , \\
# \mathbf{X}^\top\mathbf{X}\,\hat{\mathbf{w}} = \mathbf{X}^\top\mathbf{y}
# \implies \|\mathbf{X}^+\mathbf{y}\| \le \|\hat{\mathbf{w}}\| .
# \end{gathered}
# ```
#
# {prf:ref}`thm-projection` has the details, {prf:ref}`thm-least-squares-minimum` a second proof without geometry.
#
# In statistics the sum of squares is divided by its number of terms, and often by 2. The constant moves no minimum:
#
# ```{math}
# :label: ml.ls.loss
# L(\mathbf{w}) = \frac{1}{2N} \sum_{n=1}^N (y_n - \mathbf{x}_n^\top\mathbf{w})^2
# = \frac{1}{2N} (\mathbf{y} - \mathbf{X}\mathbf{w})^\top (\mathbf{y} - \mathbf{X}\mathbf{w}) .
# ```
#
# The derivative with respect to $w_j$ is $-\frac1N \sum_n x_{nj} (y_n - \mathbf{x}_n^\top\mathbf{w})$. All $D$ of them
# together, set to zero,
#
# ```{math}
# :label: ml.ls.closed-form.normal-eq
# \nabla L(\mathbf{w}) = -\frac1N \mathbf{X}^\top (\mathbf{y} - \mathbf{X}\mathbf{w}) , \qquad
# \nabla L(\mathbf{w}^*) = \mathbf{0} ,
# ```
#
# are the normal equations again. If the *Gram matrix* $\mathbf{X}^\top\mathbf{X}$ can be inverted,
# there is exactly one solution,
#
# ```{math}
# :label: ml.ls.closed-form.solution
# \mathbf{w}^* = (\mathbf{X}^\top\mathbf{X})^{-1} \mathbf{X}^\top \mathbf{y} .
# ```
#
# ### Three ways to compute it
#
# **Cholesky** factors $\mathbf{X}^\top\mathbf{X} = \mathbf{L}\mathbf{L}^\top$ and solves two triangular systems:

# %%
def by_gram(X, y):
    L, c = cholesky(X.T @ X), X.T @ y
    return solve_triangular(L.T, solve_triangular(L, c, lower=True))

# %% [markdown]
# **QR** inserts $\mathbf{X} = \mathbf{Q}\mathbf{R}$ into the normal equations, $\mathbf{R}^\top\mathbf{R}\mathbf{w} =
# \mathbf{R}^\top\mathbf{Q}^\top\mathbf{y}$, and cancels $\mathbf{R}^\top$:

# %%
def by_qr(X, y):
    Q, R = np.linalg.qr(X)
    return solve_triangular(R, Q.T @ y)

# %% [markdown]
# The **SVD** divides by the singular values that are not zero and leaves the other directions alone. This is
# $\mathbf{X}^+\mathbf{y}$, for every rank:

# %%
def by_svd(X, y):
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    keep = s > max(X.shape) * np.finfo(s.dtype).eps * s[0]
    return Vt[keep].T @ (U[:, keep].T @ y / s[keep])

# %% [markdown]
# In practice you call a library: `np.linalg.lstsq` uses the SVD, and so does scikit-learn.

# %%
model = LinearRegression(fit_intercept=False).fit(X, y)
for name, solution in (('Cholesky', by_gram(X, y)), ('QR', by_qr(X, y)),
                       ('SVD', by_svd(X, y)), ('scikit-learn', model.coef_)):
    print(f'{name:12}', solution.round(4))

# %% [markdown]
# The solution makes the predictions $\hat{\mathbf{y}} = \mathbf{P}\mathbf{y}$ with the *hat matrix* $\mathbf{P} =
# \mathbf{X}(\mathbf{X}^\top\mathbf{X})^{-1}\mathbf{X}^\top$. It is a projection, $\mathbf{P}^2 = \mathbf{P}$, at right
# angles, $\mathbf{P}^\top = \mathbf{P}$. The number $p_{nn} = \partial\hat{y}_n / \partial y_n$ says how strongly an example
# pulls its own prediction. The sum of these numbers is the trace $\operatorname{tr}((\mathbf{X}^\top\mathbf{X})^{-1}
# \mathbf{X}^\top\mathbf{X}) = D$, the number of weights.

# %%
P = X @ np.linalg.inv(X.T @ X) @ X.T
print('pull of each example:', np.diag(P).round(3), f' sum {P.trace():.2f}')

# %% [markdown]
# ```{exercise} ★★ Pencil: one more measurement
# :label: ls-recursive
# A sensor delivers one row $(\mathbf{x}, y)$ after the other, and the fit shall be up to date without being done anew. Keep
# $\mathbf{C} = (\mathbf{X}^\top\mathbf{X})^{-1}$ and the current $\mathbf{w}$. Check the formula of Sherman and Morrison,
# $(\mathbf{G} + \mathbf{x}\mathbf{x}^\top)^{-1} = \mathbf{C} - \mathbf{C}\mathbf{x}\mathbf{x}^\top\mathbf{C} / (1 +
# \mathbf{x}^\top\mathbf{C}\mathbf{x})$ for $\mathbf{C} = \mathbf{G}^{-1}$, by multiplying out, and derive
# the update of $\mathbf{w}$. Write `updated(w, C, x, y)`, the new weights, without inverting or solving anything.
# ```

# %%
def updated(w, C, x, y):
    """The weights after one more measurement: float array (D,).

    w: float array (D,), the weights so far. C: float array (D, D), the
    inverse of the Gram matrix so far. x: float array (D,). y: float.
    No function of numpy.linalg or scipy.linalg may be called.
    updated(np.zeros(1), np.ones((1, 1)), np.ones(1), 4.0) is [2.0].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def anew(w, C, x, y):
    G = np.linalg.inv(C)
    return np.linalg.solve(G + np.outer(x, x), G @ w + y * x)

rls_cases = dict(
    w=lambda C: vectors(len(C), edges=True),
    C=square_matrices((1, 3), -2, 2, edges=True).map(
        lambda a: a.T @ a + 0.25 * np.eye(len(a))),
    x=lambda C: vectors(len(C), -3, 3, edges=True), y=on(0.0, 1.0) | scalars(),
    tries=60,
)
library = [f'{home}.{name}' for home in ('numpy.linalg', 'scipy.linalg')
           for name in ('inv', 'pinv', 'solve', 'lstsq', 'svd', 'cholesky', 'eigh', 'qr')]
grade(updated, anew, **rls_cases, without=library)

# %% [markdown]
# ```{solution-start} ls-recursive
# :class: dropdown
# ```
# The new normal equations are $(\mathbf{G} + \mathbf{x}\mathbf{x}^\top)\,\mathbf{w}' = \mathbf{G}\mathbf{w} + y\mathbf{x}$.
# Subtract $(\mathbf{G} + \mathbf{x}\mathbf{x}^\top)\,\mathbf{w}$: the change obeys $(\mathbf{G} +
# \mathbf{x}\mathbf{x}^\top)(\mathbf{w}' - \mathbf{w}) = \mathbf{x}\,(y - \mathbf{x}^\top\mathbf{w})$, and Sherman and
# Morrison turn $(\mathbf{G} + \mathbf{x}\mathbf{x}^\top)^{-1}\mathbf{x}$ into $\mathbf{C}\mathbf{x} / (1 +
# \mathbf{x}^\top\mathbf{C}\mathbf{x})$. So the weights move along $\mathbf{C}\mathbf{x}$, in proportion to how badly the new
# measurement was predicted. This costs of the order of $D^2$ operations. The first wrong answer forgets the denominator and
# overshoots, the second steps along the gradient $\mathbf{x}$, as if $\mathbf{C}$ were the identity, and the third forgets
# what was predicted already. The fourth solves anew, at the cost of $D^3$.

# %% jupyter={"source_hidden": true}
def updated_solution(w, C, x, y):
    return w + C @ x * (y - x @ w) / (1 + x @ C @ x)

def overshoots(w, C, x, y):
    return w + C @ x * (y - x @ w)

def along_the_gradient(w, C, x, y):
    return w + x * (y - x @ w) / (1 + x @ x)

def without_prediction(w, C, x, y):
    return w + C @ x * y / (1 + x @ C @ x)

def solves_anew(w, C, x, y):
    G = np.linalg.inv(C)
    return np.linalg.solve(G + np.outer(x, x), G @ w + y * x)

assert grade(updated_solution, anew, **rls_cases, without=library)
assert not grade(overshoots, anew, **rls_cases, without=library)
assert not grade(along_the_gradient, anew, **rls_cases, without=library)
assert not grade(without_prediction, anew, **rls_cases, without=library)
assert not grade(solves_anew, anew, **rls_cases, without=library)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def solvable(X, y):
    return close(X @ lstsq(X, y)[0], y)

def same_answer(seed, inside, rank, condition):
    X, y = problem(seed, 6, 3, rank)
    y = X @ [1, -2, 3] if inside else y
    return solvable(X, y) == condition(X, y)

holds('la.lsq.system',
      lambda seed, inside, rank: same_answer(
          seed, inside, rank,
          lambda X, y: matrix_rank(np.c_[X, y]) == matrix_rank(X)),
      slip=('demands independent columns instead',
            lambda seed, inside, rank: same_answer(
            seed, inside, rank, lambda X, y: matrix_rank(X) == 3)),
      seed=seeds(), inside=[True, False], rank=[2, 3], tries=60)

def best_and_shortest(seed, rank, solve):
    X, y = problem(seed, 6, 3, rank)
    w = solve(X, y)
    steps = np.random.default_rng(seed).normal(size=(3, 1000))
    squares = lambda w: ((X @ w - y[:, None]) ** 2).sum(axis=0)
    lowest = squares(w[:, None]) <= squares(w[:, None] + steps) + 1e-10
    shortest = close(w, np.linalg.pinv(X) @ y)
    return lowest.all() and close(X.T @ (y - X @ w), np.zeros(3)) and shortest

def two_columns(X, y):  # the third is a mixture of them, if the rank is two
    drop = [j for j in range(3)
            if matrix_rank(np.delete(X, j, axis=1)) == matrix_rank(X)]
    keep = np.delete(np.arange(3), drop[:1])
    w = np.zeros(3)
    w[keep] = by_qr(X[:, keep], y)
    return w

holds('la.lsq.objective',
      lambda seed, rank: best_and_shortest(seed, rank, by_svd),
      slip=('solves with two columns, weight 0 for the third',
            lambda seed, rank: best_and_shortest(seed, rank, two_columns)),
      seed=seeds(), rank=[2, 3], tries=60)

def loss(w, X, y):
    return (y - X @ w) @ (y - X @ w) / (2 * len(y))

def gradient(w, X, y):
    return -X.T @ (y - X @ w) / len(y)

def by_terms(w, X, y, factor):
    return factor / len(y) * sum((y[n] - X[n] @ w) ** 2 for n in range(len(y)))

def by_torch(w, X, y):  # value, gradient
    w, X, y = torch.tensor(w, requires_grad=True), *map(torch.tensor, (X, y))
    value = torch.nn.functional.mse_loss(X @ w, y) / 2
    return value.item(), torch.autograd.grad(value, w)[0]

def random_weights(seed):
    return np.random.default_rng(seed).normal(size=3)

# %% tags=["checks"]
def fits_together(seed, factor):
    X, y = problem(seed, 6, 3, 3)
    w = random_weights(seed)
    value, slope = by_torch(w, X, y)
    values = [by_terms(w, X, y, factor), loss(w, X, y), value]
    return close(values, 3 * [mean_squared_error(y, X @ w) / 2])

def is_gradient(seed, rule):
    X, y = problem(seed, 6, 3, 3)
    w, best = random_weights(seed), by_qr(X, y)
    return (close(rule(w, X, y), by_torch(w, X, y)[1])
            and close(rule(best, X, y), np.zeros(3)))

def as_sklearn(seed, solve):
    X, y = problem(seed, 6, 3, 3)
    return close(solve(X, y),
                 LinearRegression(fit_intercept=False).fit(X, y).coef_)

def closed_form(X, y):
    return np.linalg.inv(X.T @ X) @ X.T @ y

holds('ml.ls.loss', lambda seed: fits_together(seed, 1 / 2),
      slip=('forgets the ½ of the loss', lambda seed: fits_together(seed, 1)),
      seed=seeds(), tries=60)

holds('ml.ls.closed-form.normal-eq', lambda seed: is_gradient(seed, gradient),
      slip=('loses the sign of the gradient',
            lambda seed: is_gradient(seed, lambda *a: -gradient(*a))),
      seed=seeds(), tries=60)

holds('ml.ls.closed-form.solution', lambda seed: as_sklearn(seed, closed_form),
      slip=('fits one feature at a time',
            lambda seed: as_sklearn(
            seed, lambda X, y: X.T @ y / (X * X).sum(axis=0))),
      seed=seeds(), tries=60)

direct = {'Cholesky': by_gram, 'QR': by_qr, 'SVD': by_svd}
verify('Cholesky, QR and SVD give the weights of scikit-learn',
       lambda seed, name: as_sklearn(seed, direct[name]),
       slip=('leaves the last example out',
             lambda seed, name: as_sklearn(
             seed, lambda X, y: direct[name](X[:-1], y[:-1]))),
       seed=seeds(), name=list(direct), tries=60)

assert close(plane.T @ drop, [0, 0])

def projects(seed, slant):
    X, y = problem(seed, 6, 3, 3)
    Z = X + slant * np.random.default_rng(seed).normal(size=X.shape)
    P = X @ np.linalg.solve(Z.T @ X, Z.T)
    nearest = close(P @ y, X @ lstsq(X, y)[0])
    pythagoras = close(y @ y, (P @ y) @ (P @ y) + (y - P @ y) @ (y - P @ y))
    return close(P @ P, P) and close(np.trace(P), 3) and nearest and pythagoras

verify('the hat matrix projects at right angles, with trace D',
       lambda seed: projects(seed, 0), seed=seeds(), tries=60,
       slip=('projects at a slant', lambda seed: projects(seed, 0.1)))

# %% [markdown]
# ## Convexity, rank and uniqueness
#
# In the table below, the third column is the sum of the first two. Two different weight vectors make the same predictions,
# and so they have the same loss, whatever the targets are:

# %%
def halved_mean(w, X, y):  # w (..., D) -> (...)
    return ((y - w @ X.T) ** 2).mean(axis=-1) / 2

# %%
X = np.array([[1.0, 1, 2], [1, 2, 3], [1, 3, 4]])
y = np.array([4.0, 4, 8])
for w in np.array([[1.0, 2, 0], [0, 1, 1]]), lstsq(X, y)[0][None]:
    for row in w:
        print('weights', row.round(3), 'predictions', (X @ row).round(2),
              f'loss {halved_mean(row, X, y):.3f}')

# %% [markdown]
# Could such weights be a minimum that is not the lowest one? No, because the loss is
# [convex](../optimization/convex_functions.ipynb). There are three ways to see this.
#
# **By composition.** The map $\mathbf{w} \mapsto y_n - \mathbf{x}_n^\top\mathbf{w}$ is affine, and the square is convex. An
# affine map followed by a convex function is convex, and so is a sum of convex functions. The order matters: $y_n -
# (\mathbf{x}_n^\top\mathbf{w})^2$, where the square comes first, is concave.
#
# **By the definition.** Between $\mathbf{w}$ and $\mathbf{w}'$, the graph must not lie above its chord:
#
# ```{math}
# :label: ml.ls.convexity.definition
# L(\lambda\mathbf{w} + (1-\lambda)\mathbf{w}') - \big(\lambda L(\mathbf{w}) + (1-\lambda) L(\mathbf{w}')\big) \le 0
# \qquad (0 \le \lambda \le 1).
# ```
#
# For the squared loss this gap can be computed:
#
# ```{math}
# :label: ml.ls.convexity.defect
# \begin{aligned}
# & L(\lambda\mathbf{w} + (1-\lambda)\mathbf{w}') - \big(\lambda L(\mathbf{w}) + (1-\lambda) L(\mathbf{w}')\big) \\
# & \quad = -\frac{1}{2N}\, \lambda(1-\lambda)\, \|\mathbf{X}(\mathbf{w} - \mathbf{w}')\|_2^2 \le 0 \qquad (0 \le \lambda \le 1).
# \end{aligned}
# ```
#
# ```{prf:proof}
# :class: dropdown
# Let $\mathbf{r} = \mathbf{y} - \mathbf{X}\mathbf{w}$ and $\mathbf{r}' = \mathbf{y} -
# \mathbf{X}\mathbf{w}'$. The residual of the mixture is the mixture of the residuals, and
#
# $$
# \|\lambda\mathbf{r} + (1-\lambda)\mathbf{r}'\|^2 - \lambda\|\mathbf{r}\|^2 - (1-\lambda)\|\mathbf{r}'\|^2
# = -\lambda(1-\lambda) \big( \|\mathbf{r}\|^2 - 2\,\mathbf{r}\cdot\mathbf{r}' + \|\mathbf{r}'\|^2 \big) ,
# $$
#
# since $\lambda^2 - \lambda = (1-\lambda)^2 - (1-\lambda) = -\lambda(1-\lambda)$ and the mixed term is
# $2\lambda(1-\lambda)\,\mathbf{r}\cdot\mathbf{r}'$. In the bracket stands $\|\mathbf{r} - \mathbf{r}'\|^2$, and
# $\mathbf{r} - \mathbf{r}' = -\mathbf{X}(\mathbf{w} - \mathbf{w}')$.
# ```
#
# :::{admonition} A tempting mistake
# :class: warning
# It is tempting to write $< 0$ for $0 < \lambda < 1$ and to conclude that the minimizer is unique. But the gap is zero
# whenever $\mathbf{X}(\mathbf{w} - \mathbf{w}') = \mathbf{0}$, as for the two weight vectors above. Then the loss is
# constant on the whole segment between them.
# :::

# %%
def gap(X, y, w, v, lam, f=halved_mean):  # graph minus chord
    chord = lam * f(w, X, y) + (1 - lam) * f(v, X, y)
    return f(lam * w + (1 - lam) * v, X, y) - chord

# %% mystnb={"image": {"alt": "Left: the loss along a segment is a parabola below its chord, the gap at the middle marked. Right: for a matrix of rank two the loss along a null direction is a level line, while along another direction it is a parabola."}} tags=["hide-input"]
X, y = problem(3, 6, 3, 2)
best, d = lstsq(X, y)[0], np.array([1., -0.5, 1])
w, v = best - d, best + 1.4 * d
flat = w + null_space(X)[:, 0]
lam = np.linspace(0, 1, 101)[:, None]
way = lambda end: halved_mean(lam * end + (1 - lam) * w, X, y)
fig, (left, right) = panels(2, height=2.6, sharey=True)
left.plot(lam, way(v), label='loss')
left.plot([0, 1], way(v)[[0, -1]], color='C1', label='chord')
middle = way(v)[50]
left.plot([0.5, 0.5], [middle, middle - gap(X, y, v, w, 0.5)], color=GREY)
left.text(0.53, middle - gap(X, y, v, w, 0.5) / 2, 'defect', va='center')
left.set(xlabel='λ', ylabel='loss', title='Across the bowl')
left.legend(loc='upper left')
right.plot(lam, way(v), label='across')
right.plot(lam, way(flat), color='C2', label='along a null direction')
right.set(xlabel='λ', title='Rank two of three')
right.legend(loc='upper left');

# %% [markdown] tags=["caption"]
# Left: the loss lies below its chord, as convexity demands. Right: with rank two of three columns it is level along a null
# direction, so its minimizer is not unique.

# %% [markdown]
# **By the Hessian.** We differentiate {eq}`ml.ls.closed-form.normal-eq` once more:
#
# ```{math}
# :label: ml.ls.convexity.hessian
# \mathbf{H}(\mathbf{w}) = \frac{1}{2N} \nabla^2 \big[ (\mathbf{y} - \mathbf{X}\mathbf{w})^\top (\mathbf{y} - \mathbf{X}\mathbf{w}) \big]
# = \frac1N \mathbf{X}^\top\mathbf{X} .
# ```
#
# It is the same at every $\mathbf{w}$, and positive semidefinite because $\mathbf{v}^\top\mathbf{H}\mathbf{v} =
# \frac1N\|\mathbf{X}\mathbf{v}\|^2 \ge 0$: no eigenvalue is negative. How large are the eigenvalues? The singular value
# decomposition tells,
#
# ```{math}
# :label: ml.ls.svd.svd
# \mathbf{X} = \mathbf{U}\mathbf{S}\mathbf{V}^\top, \qquad \mathbf{U}^\top\mathbf{U} = \mathbf{I}_N, \quad \mathbf{V}^\top\mathbf{V} = \mathbf{I}_D ,
# ```
#
# where the $N \times D$ matrix $\mathbf{S}$ has the singular values $s_1 \ge s_2 \ge \dots \ge 0$ on its diagonal. In
# $\mathbf{X}^\top\mathbf{X}$ the factor $\mathbf{U}$ cancels:
#
# ```{math}
# :label: ml.ls.svd.psd
# \mathbf{X}^\top\mathbf{X} = \mathbf{V}\, \mathbf{S}^\top\mathbf{S}\, \mathbf{V}^\top .
# ```
#
# So the eigenvectors of the Gram matrix are the $\mathbf{v}_i$ and its eigenvalues the *squares* $s_i^2$ (and zeros, if
# $D > N$). The curvature of $L$ along $\mathbf{v}_i$ is $s_i^2 / N$.
#
# ### When is the solution unique?
#
# The minimizer is not unique if $\mathbf{X}\mathbf{u} = \mathbf{0}$ for some $\mathbf{u} \ne \mathbf{0}$. Then the columns
# are dependent, $\sum_j u_j \mathbf{x}_j = \mathbf{0}$; that is, $\operatorname{rank}\mathbf{X} < D$. Nothing else can go
# wrong:
#
# ```{math}
# :label: ml.ls.invertibility.iff
# \mathbf{X}^\top\mathbf{X} \ \text{ is invertible} \iff \operatorname{rank}(\mathbf{X}) = D .
# ```
#
# ```{prf:proof}
# :class: dropdown
# Let $\operatorname{rank}\mathbf{X} < D$. Then there is $\mathbf{u} \ne \mathbf{0}$ with
# $\mathbf{X}\mathbf{u} = \mathbf{0}$, hence $\mathbf{X}^\top\mathbf{X}\mathbf{u} = \mathbf{0}$, and a matrix with a nonzero
# null vector is not invertible. Conversely, let $\mathbf{X}^\top\mathbf{X}\mathbf{u} = \mathbf{0}$ for some
# $\mathbf{u} \ne \mathbf{0}$. Multiply by $\mathbf{u}^\top$ from the left,
#
# $$\mathbf{u}^\top\mathbf{X}^\top\mathbf{X}\mathbf{u} = \|\mathbf{X}\mathbf{u}\|^2 = 0 ,$$
#
# so $\mathbf{X}\mathbf{u} = \mathbf{0}$ and $\operatorname{rank}\mathbf{X} < D$.
# ```
#
# One cause of dependence is a shortage of rows. The rank is also the number of independent *rows*, so
#
# ```{math}
# :label: ml.ls.rank.wide
# D > N \implies \operatorname{rank}(\mathbf{X}) = \operatorname{rank}(\mathbf{X}^\top) \le N < D .
# ```
#
# The other cause is a table that says something twice. In practice this is common. Here are three examples: a column for
# each sex beside the column of ones, to which the two add up; all squares beside the measurements, where sex is coded as 1
# or 2 and its square is a line, $s^2 = 3s - 2$; and the pixels of handwritten digits, some of which are blank in every
# picture.

# %%
x, _, _ = diabetes()
one, sex, pixels = np.ones((len(x), 1)), x[:, 1], digits().x
tables = {  # the whole table, and its columns that can go
    'one column for each sex': (np.c_[one, sex == 1, sex == 2, x[:, 2:4]], 1),
    'all squares': (np.c_[one, x, x**2], 12),
    'pixels of digits': (pixels, pixels.max(axis=0) == 0),
}

# %%
for name, (table, _) in tables.items():
    scaled = table / np.maximum(norm(table, axis=0), 1)
    print(f'{name}: {table.shape[1]} columns, rank {matrix_rank(scaled)}')

# %% [markdown]
# If $\hat{\mathbf{w}}$ is one minimizer, the others are $\hat{\mathbf{w}} + \mathbf{u}$ with $\mathbf{X}\mathbf{u} =
# \mathbf{0}$. Which one does an algorithm find? The SVD finds the shortest. Gradient descent depends on its start:
#
# ```{prf:theorem} Descent remembers its start
# :label: thm-ls-implicit
# Let $0 < \eta < 2N / s_1^2$ and $\mathbf{w}_{t+1} = \mathbf{w}_t - \eta \nabla L(\mathbf{w}_t)$. Then
# $\mathbf{w}_t \to \mathbf{X}^+\mathbf{y} + \mathbf{P}_0\mathbf{w}_0$, where $\mathbf{P}_0$ projects onto the null space of
# $\mathbf{X}$. Out of all minimizers this is the one *nearest to the start*; from $\mathbf{w}_0 = \mathbf{0}$ it is the
# shortest.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Every gradient $-\frac1N\mathbf{X}^\top(\cdot)$ is a combination of rows, at right angles to the null space. So the null
# component of $\mathbf{w}_t$ never moves. Along $\mathbf{v}_i$ with $s_i > 0$ the distance to the minimum is multiplied by
# $1 - \eta s_i^2 / N$ in each step, a number strictly between $-1$ and 1. The nearest minimizer is the foot of the
# perpendicular from $\mathbf{w}_0$ to the set of minimizers, and descent has moved perpendicular to this set.
# ```

# %%
def descend(X, y, w, steps):  # -> (steps + 1, D)
    path, eta = [w], len(y) / (2 * norm(X, 2) ** 2)
    for _ in range(steps):
        path.append(path[-1] + eta * X.T @ (y - X @ path[-1]) / len(y))
    return np.array(path)

# %%
valley_X = np.array([[2., 1], [4, 2], [-2, -1]])  # rank 1
valley_y = np.array([3., 5, 0])
starts = np.array([[0., 0], [-1, 2], [2, 1.8]])
walks = [descend(valley_X, valley_y, start, 40) for start in starts]
for walk in walks:
    (u, v), (u_end, v_end) = walk[0], walk[-1]
    print(f'from ({u:.2f}, {v:.2f}) to ({u_end:.3f}, {v_end:.3f})')
print('shortest:', lstsq(valley_X, valley_y)[0].round(3))

# %% mystnb={"image": {"alt": "Contours of the loss over two weights are parallel lines beside a straight line of minimizers. Three descent paths run perpendicular to this line from three starts, each to another point of it; the one from zero ends at the point marked as shortest."}} tags=["hide-input"]
shortest = np.linalg.pinv(valley_X) @ valley_y
ends = shortest + np.outer([-3, 3], np.linalg.svd(valley_X)[2][-1])  # (2, 2)
fig, ax = plt.subplots(figsize=(5, 3.3))
a, b = np.meshgrid(np.linspace(-2, 3, 90), np.linspace(-2, 2.6, 90))
misses = (valley_X @ np.stack([a.ravel(), b.ravel()])).T - valley_y
surface = (misses**2).mean(axis=1).reshape(a.shape) / 2
ax.contour(a, b, surface, 8, colors=GREY, linewidths=0.6, alpha=0.7)
ax.plot(*ends.T, color='C0', label='all minimizers')
for walk in walks:
    ax.plot(*walk.T, 'C1.-', lw=1.2)
ax.plot([], [], 'C1.-', label='descent')
ax.plot(*shortest, '*', color='C2', ms=12, label='shortest', zorder=4)
ax.set(xlabel='w₁', ylabel='w₂', xlim=(-2, 3), ylim=(-2, 2.6))
ax.set_aspect('equal')
ax.legend(loc='center left', bbox_to_anchor=(1, 0.5));

# %% [markdown] tags=["caption"]
# If the columns are dependent, the minimizers fill a line, and gradient descent ends at the one nearest to its start; from
# zero that is the shortest.

# %% [markdown]
# ```{exercise} ★ Program: how much loss can still be saved?
# :label: ls-excess
# A colleague proposes weights $\mathbf{w}$. By how much does their loss exceed the least possible one? Write
# `excess(X, y, w)` that gives $L(\mathbf{w}) - \min L$ without solving for the minimizer and without subtracting two losses,
# which may be large and nearly equal.
# ```

# %%
def excess(X, y, w):
    """By how much the loss of w exceeds the least one: a float.

    X: float array (N, D) with independent columns, N >= D. y: float array
    (N,), possibly with entries as large as 1e8. w: float array (D,).
    np.linalg.qr may be called, nothing that solves, inverts or has an SVD.
    excess(np.eye(2), np.array([1.0, 0.0]), np.zeros(2)) is 0.25.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_the_way_back(X, y, w):  # how far from the minimizer, seen by the loss
    return ((X @ (w - np.linalg.lstsq(X, y)[0])) ** 2).sum() / (2 * len(y))

def independent(X):
    return norm(X, -2) > 0.01 * norm(X, 2) > 0.01

excess_cases = dict(
    X=integers(1, 3).flatmap(lambda d: matrices((d, 5), d, edges=True)).filter(independent),
    y=lambda X: vectors(len(X), edges=True),
    w=lambda X: vectors(X.shape[1], edges=True),
)
far_off = [(np.array([[1.0], [0.0]]), np.array([1.0, 1e8]), np.zeros(1))]
solving = [f'{home}.{name}' for home in ('numpy.linalg', 'scipy.linalg')
           for name in ('inv', 'pinv', 'solve', 'lstsq', 'svd')]
solving += ['scipy.linalg.solve_triangular']
excess_cases = dict(excess_cases, without=solving, tries=60)
grade(excess, by_the_way_back, far_off, **excess_cases)

# %% [markdown]
# ```{solution-start} ls-excess
# :class: dropdown
# ```
# Pythagoras: $\|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2 = \|\mathbf{y} - \mathbf{P}\mathbf{y}\|^2 + \|\mathbf{P}\mathbf{y} -
# \mathbf{X}\mathbf{w}\|^2$. The second part is the excess, and $\mathbf{P}\mathbf{y} - \mathbf{X}\mathbf{w} =
# \mathbf{P}(\mathbf{y} - \mathbf{X}\mathbf{w}) = \mathbf{Q}\mathbf{Q}^\top\mathbf{r}$ has the length of
# $\mathbf{Q}^\top\mathbf{r}$. What can still be explained is the part of the residual that lies in the plane. The first wrong
# answer uses the columns of $\mathbf{X}$ as if they were orthonormal, and the second forgets to divide by $2N$. The third
# subtracts two losses: if both are enormous, nothing of the difference is left. The fourth solves.

# %% jupyter={"source_hidden": true}
def excess_solution(X, y, w):
    Q, _ = np.linalg.qr(X)
    return ((Q.T @ (y - X @ w)) ** 2).sum() / (2 * len(y))

def slanted(X, y, w):
    return ((X.T @ (y - X @ w)) ** 2).sum() / (2 * len(y))

def sum_of_squares(X, y, w):
    return 2 * len(y) * excess_solution(X, y, w)

def two_losses(X, y, w):
    Q, _ = np.linalg.qr(X)
    rest = y - Q @ (Q.T @ y)
    return (((y - X @ w) ** 2).mean() - (rest**2).mean()) / 2

def by_solving(X, y, w):
    return ((X @ (w - lstsq(X, y)[0])) ** 2).mean() / 2

assert grade(excess_solution, by_the_way_back, far_off, **excess_cases)
assert not grade(slanted, by_the_way_back, far_off, **excess_cases)
assert not grade(sum_of_squares, by_the_way_back, far_off, **excess_cases)
assert not grade(two_losses, by_the_way_back, far_off, **excess_cases)
assert not grade(by_solving, by_the_way_back, far_off, **excess_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Program: the shortest interpolant
# :label: ls-shortest
# Let $\mathbf{X}$ be wide ($N < D$) with independent rows. Show that the shortest $\mathbf{w}$ with $\mathbf{X}\mathbf{w} =
# \mathbf{y}$ is $\mathbf{X}^\top\mathbf{a}$ for some $\mathbf{a}$, and write `shortest_interpolant(X, y)` by a QR
# decomposition of $\mathbf{X}^\top$. The Gram matrix would lose too many digits if rows are nearly dependent.
# ```

# %%
def shortest_interpolant(X, y):
    """The shortest w with X w = y: float array (D,).

    X: float array (N, D), N < D, with independent rows, its condition
    number up to 1e7. y: float array (N,). No pseudoinverse, least squares
    or SVD of a library may be called.
    shortest_interpolant(np.array([[3.0, 4.0]]), np.array([5.0])) is
    [0.6, 0.8].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_pseudoinverse(X, y):
    return np.linalg.pinv(X) @ y

def well_apart(X):
    return norm(X, -2) > 0.01 * norm(X, 2) > 0.01

wide_cases = dict(
    X=integers(1, 3).flatmap(lambda n: matrices(n, (n + 1, 5), edges=True)).filter(well_apart),
    y=lambda X: vectors(len(X), edges=True),
    without=[f'{home}.{name}' for home in ('numpy.linalg', 'scipy.linalg')
             for name in ('pinv', 'lstsq', 'svd')], tries=60,
)
close_rows = [(np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 1e-6]]), np.array([0.3, 0.300001]))]
grade(shortest_interpolant, by_pseudoinverse, close_rows, **wide_cases)

# %% [markdown]
# ```{solution-start} ls-shortest
# :class: dropdown
# ```
# Split $\mathbf{w}$ into its part in the span of the rows and a null part. The null part does not change
# $\mathbf{X}\mathbf{w}$ and by Pythagoras only adds length, so it is zero in the shortest: $\mathbf{w} =
# \mathbf{X}^\top\mathbf{a}$. With $\mathbf{X}^\top = \mathbf{Q}\mathbf{R}$ the rows are spanned by $\mathbf{Q}$; put
# $\mathbf{w} = \mathbf{Q}\mathbf{c}$, and $\mathbf{y} = \mathbf{R}^\top\mathbf{Q}^\top\mathbf{Q}\mathbf{c} =
# \mathbf{R}^\top\mathbf{c}$. The first wrong answer interpolates with the first $N$ columns alone, the second forgets to
# transpose $\mathbf{R}$, and the third forms the Gram matrix and loses all digits when two rows differ by $10^{-6}$. The
# fourth lets a library do it.

# %% jupyter={"source_hidden": true}
def shortest_interpolant_solution(X, y):
    Q, R = np.linalg.qr(X.T)
    return Q @ solve_triangular(R, y, trans=1)

def first_columns(X, y):
    w = np.linalg.solve(X[:, :len(y)], y)
    return np.append(w, np.zeros(X.shape[1] - len(y)))

def not_transposed(X, y):
    Q, R = np.linalg.qr(X.T)
    return Q @ solve_triangular(R, y)

def by_gram_matrix(X, y):
    return X.T @ np.linalg.solve(X @ X.T, y)

def by_library(X, y):
    return lstsq(X, y)[0]

assert grade(shortest_interpolant_solution, by_pseudoinverse, close_rows, **wide_cases)
assert not grade(first_columns, by_pseudoinverse, close_rows, **wide_cases)
assert not grade(not_transposed, by_pseudoinverse, close_rows, **wide_cases)
assert not grade(by_gram_matrix, by_pseudoinverse, close_rows, **wide_cases)
assert not grade(by_library, by_pseudoinverse, close_rows, **wide_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def convexity_defect(X, w, v, lam):
    return -lam * (1 - lam) * ((X @ (w - v)) ** 2).sum() / (2 * len(X))

def two_weights(seed):
    return np.random.default_rng(seed).normal(size=(2, 3))

def composed(seed, f):
    X, y = problem(seed, 6, 3, 3)
    w, v = two_weights(seed)
    each = [gap(X[[n]], y[[n]], w, v, 0.5, f) for n in range(6)]
    return max(*each, gap(X, y, w, v, 0.5, f)) <= 1e-12

def square_first(w, X, y):
    return (y - (w @ X.T) ** 2).mean(axis=-1) / 2

def defect_is(seed, rank, lam, sign):
    X, y = problem(seed, 6, 3, rank)
    w, v = two_weights(seed)
    v = v if rank == 3 else w + null_space(X)[:, 0]
    defect = convexity_defect(X, w, v, lam)
    return sign(round(gap(X, y, w, v, lam), 10) + 0.0) and close(
        gap(X, y, w, v, lam), defect)

cases = dict(seed=seeds(), lam=[0.5, 0.25, 0.75, 0.0], tries=60)
holds('ml.ls.convexity.composition', lambda seed: composed(seed, halved_mean),
      slip=('squares first and subtracts then',
            lambda seed: composed(seed, square_first)),
      seed=seeds(), tries=60)

holds('ml.ls.convexity.definition',
      lambda seed, lam: defect_is(seed, 3, lam, lambda g: g <= 0),
      slip=('turns the sign round, as for a concave function',
            lambda seed, lam: defect_is(seed, 3, lam, lambda g: g >= 0)),
      **cases)

holds('ml.ls.convexity.defect',
      lambda seed, rank, lam: defect_is(seed, rank, lam, lambda g: g <= 0),
      slip=('asks for a strict sign',
            lambda seed, rank, lam: defect_is(
                seed, rank, lam, lambda g: g < 0)),
      rank=[2, 3], **cases)

def hessian_is(seed, product):
    X, y = problem(seed, 3, 3, 3)
    w, t = two_weights(seed)[0], torch.tensor
    f = lambda w: ((t(y) - t(X) @ w) ** 2).sum() / (2 * len(y))
    return close(torch.autograd.functional.hessian(f, t(w)), product(X) / 3)

def curves_up(seed, N, D, rank, product):
    X, _ = problem(seed, N, D, rank)
    H = product(X) / N
    v = np.random.default_rng(seed).normal(size=D)
    return (np.linalg.eigvals(H).real.min() > -1e-10
            and close(v @ H @ v, ((X @ v) ** 2).mean()))

# %% tags=["checks"]
holds('ml.ls.convexity.hessian',
      lambda seed: hessian_is(seed, lambda X: X.T @ X),
      slip=('forgets that the ½ cancels the 2',
            lambda seed: hessian_is(seed, lambda X: 2 * X.T @ X)),
      seed=seeds(), tries=40)

holds('ml.ls.convexity.psd',
      lambda seed, N, rank: curves_up(seed, N, 3, rank, lambda X: X.T @ X),
      slip=('multiplies X by X without a transpose',
            lambda seed, N, rank: curves_up(seed, 3, 3, rank,
                                            lambda X: X @ X)),
      seed=seeds(), N=[2, 3, 6], rank=[1, 2], tries=60)

def decomposes(seed, N, D, transposed):
    X, _ = problem(seed, N, D, 2)
    U, s, Vt = np.linalg.svd(X)
    S = np.zeros((N, D))
    np.fill_diagonal(S, s)
    V = Vt if transposed else Vt.T
    orthogonal = close(U.T @ U, np.eye(N)) and close(V.T @ V, np.eye(D))
    ordered = (np.diff(s) <= 0).all() and s[-1] >= 0
    return orthogonal and ordered and close(U @ S @ V.T, X)

def gram_is(seed, N, D, power):
    X, _ = problem(seed, N, D, 2)
    s, Vt = np.linalg.svd(X)[1:]
    squares = np.r_[s ** power, np.zeros(max(0, D - N))]
    eigenvalues = np.linalg.eigvalsh(X.T @ X)
    return (close(X.T @ X, Vt.T * squares @ Vt, atol=1e-10)
            and close(eigenvalues, squares[::-1], atol=1e-10))
sizes = dict(seed=seeds(), N=[3, 6], D=[3, 4], tries=60)
holds('ml.ls.svd.svd', lambda seed, N, D: decomposes(seed, N, D, False),
      slip=('takes Vᵀ for V', lambda seed, N, D: decomposes(seed, N, D, True)),
      **sizes)

holds('ml.ls.svd.psd', lambda seed, N, D: gram_is(seed, N, D, 2),
      slip=('takes singular values for eigenvalues, without squaring',
            lambda seed, N, D: gram_is(seed, N, D, 1)),
      **sizes)

# %% tags=["checks"]
def null_vector(X):  # the direction that X shrinks most
    return np.linalg.svd(X)[2][-1]

def gram_knows_rank(seed, rank, gram):
    X, _ = problem(seed, 5, 3, rank)
    invertible = round(np.linalg.det(gram(X))) != 0  # integers
    return matrix_rank(gram(X)) == rank and invertible == (rank == 3)

def proof_step(seed, square):
    X, _ = problem(seed, 4, 4, 3)
    u, v = null_vector(X), np.random.default_rng(seed).normal(size=4)
    library = null_space(X)[:, 0]
    parallel = close(abs(u @ library), 1)
    null = close(X.T @ (X @ u), np.zeros(4))
    return parallel and null and close(v @ X.T @ X @ v, square(X, v))

holds('ml.ls.invertibility.iff',
      lambda seed, rank: gram_knows_rank(seed, rank, lambda X: X.T @ X),
      slip=('takes X Xᵀ for the Gram matrix',
            lambda seed, rank: gram_knows_rank(seed, rank,
                                               lambda X: X @ X.T)),
      seed=seeds(), rank=[1, 2, 3], tries=60)

holds('ml.ls.invertibility.proof',
      lambda seed: proof_step(seed, lambda X, v: norm(X @ v) ** 2),
      slip=('takes the length of Xᵀu for that of Xu',
            lambda seed: proof_step(seed, lambda X, v: norm(X.T @ v) ** 2)),
      seed=seeds(), tries=60)

def deficient(X):
    return matrix_rank(X / np.maximum(norm(X, axis=0), 1)) < X.shape[1]

def too_wide(X):
    rank, rows, columns = matrix_rank(X), *X.shape
    return rank == matrix_rank(X.T) and rank <= rows and rank < columns

verify('each of the tables of this section is rank deficient',
       lambda name: deficient(tables[name][0]),
       slip=('removes the superfluous columns first',
             lambda name: deficient(np.delete(*tables[name], axis=1))),
       name=list(tables))

holds('ml.ls.rank.wide', lambda seed, N: too_wide(problem(seed, N, 6, N)[0]),
      slip=('looks at the tall transpose',
            lambda seed, N: too_wide(problem(seed, N, 6, N)[0].T)),
      seed=seeds(), N=[1, 3, 5], tries=60)

# %% tags=["checks"]
assert close(walks[0][-1], shortest)

def lands_at(seed, null_part):
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.normal(size=(n, 2)))[0] for n in (6, 3))
    X, y, start = U * [1, 0.6] @ V.T, rng.normal(size=6), rng.normal(size=3)
    goal = V @ (U.T @ y / [1, 0.6]) + null_part(start, null_vector(X))
    return close(descend(X, y, start, 150)[-1], goal)

verify('descent lands at the minimizer nearest to its start',
       lambda seed: lands_at(seed, lambda w, u: u * (u @ w)),
       slip=('forgets the part of the start that never moves',
             lambda seed: lands_at(seed, lambda w, u: 0)),
       seed=seeds(), tries=30)

# %% [markdown]
# ## Conjugate gradients (CGLS) and early stopping
#
# This section continues [The least-squares solution: normal equations, QR and
# SVD](#the-least-squares-solution-normal-equations-qr-and-svd). A table with
# a million rows and a hundred thousand columns, mostly zeros, cannot be factored, because $\mathbf{Q}$ would have no zeros.
# But the products $\mathbf{X}\mathbf{p}$ and $\mathbf{X}^\top\mathbf{r}$ are cheap. Gradient descent needs nothing else, but
# it is slow. *Conjugate gradients* {cite}`hestenes1952methods` need the same two products per step and are much faster:

# %%
def cgls(X, y, steps):  # -> (steps + 1, D), from zero
    path, r = [0.0 * X[0]], y
    tiny = np.finfo(path[0].dtype).tiny  # an exact solution stays where it is
    p = s = X.T @ r
    for _ in range(steps):
        q = X @ p
        alpha = s @ s / (q @ q + tiny)
        path.append(path[-1] + alpha * p)
        r = r - alpha * q
        old, s = s, X.T @ r
        p = s + s @ s / (old @ old + tiny) * p
    return np.array(path)

# %%
def plain_descent(X, y, steps):
    path, eta = [0.0 * X[0]], 2 / (norm(X, 2)**2 + norm(X, -2)**2)
    for _ in range(steps):
        path.append(path[-1] + eta * X.T @ (y - X @ path[-1]))
    return np.array(path)

def fitted_error(path, X, y):  # relative, in the predictions
    best = lstsq(X, y)[0]
    return norm((path - best) @ X.T, axis=1) / norm(X @ best)

# %%
race_X, race_y = random_problem(5, kappa=20, N=80, D=60)
race = {f.__name__: fitted_error(f(race_X, race_y, 90), race_X, race_y)
        for f in (cgls, plain_descent)}
print('step   CGLS  gradient descent')
for k in (0, 5, 10, 20):
    print(f'{k:4} {race["cgls"][k]:6.3f}  {race["plain_descent"][k]:.3f}')

# %% [markdown]
# Why does this work? After $k$ steps, gradient descent has seen the vectors $\mathbf{G}^i\mathbf{X}^\top\mathbf{y}$, $i <
# k$, with $\mathbf{G} = \mathbf{X}^\top\mathbf{X}$, and uses one combination of them. Conjugate gradients use the best one:
# $\mathbf{w}_k$ minimizes the loss over the whole *Krylov space* $\mathcal{K}_k =
# \operatorname{span}\{\mathbf{X}^\top\mathbf{y}, \mathbf{G}\mathbf{X}^\top\mathbf{y}, \dots,
# \mathbf{G}^{k-1}\mathbf{X}^\top\mathbf{y}\}$. This is cheap if each new direction $\mathbf{p}$ is *conjugate*:
# $\mathbf{X}\mathbf{p}$ is at right angles to all earlier $\mathbf{X}\mathbf{p}_i$. For then the coefficient of each
# direction is found alone, once and for all. The new direction is the gradient, corrected by a multiple of the last
# direction.
#
# :::{admonition} Why one correction is enough
# :class: dropdown
# The coefficient of a direction is $\alpha = \mathbf{r} \cdot \mathbf{q} / \|\mathbf{q}\|^2$ with $\mathbf{q} =
# \mathbf{X}\mathbf{p}$ and the current residual $\mathbf{r}$. The new direction is the gradient $\mathbf{s} =
# \mathbf{X}^\top\mathbf{r}$, made conjugate. By the minimality $\mathbf{s}$ is at right angles to $\mathcal{K}_k$. The
# directions so far are $\mathbf{p}_0, \dots, \mathbf{p}_{k-1}$ with $\mathbf{p}_i \in \mathcal{K}_{i+1}$, so
# $\mathbf{G}\mathbf{p}_i \in \mathcal{K}_{i+2}$, which is inside $\mathcal{K}_k$ for all but the *last* of them. Hence
# $\mathbf{X}\mathbf{s} \cdot \mathbf{X}\mathbf{p}_i = \mathbf{s} \cdot \mathbf{G}\mathbf{p}_i = 0$ for $i \le k - 2$: the
# gradient is conjugate to them already, and one correction, by a multiple of the last direction, is enough. Its coefficient
# comes from $\mathbf{G}\mathbf{p} = (\mathbf{s}_{\text{old}} - \mathbf{s}) / \alpha$ and $\mathbf{s} \cdot
# \mathbf{s}_{\text{old}} = 0$: the new direction is $\mathbf{s} + \beta\mathbf{p}$ with $\beta = \|\mathbf{s}\|^2 /
# \|\mathbf{s}_{\text{old}}\|^2$. In the same way $\alpha = \|\mathbf{s}\|^2 / \|\mathbf{q}\|^2$.
# :::
#
# The product $\mathbf{X}^\top\mathbf{X}$ is never formed. This version for the normal equations is called CGLS. LSQR
# {cite}`paige1982lsqr`, which scipy has as `lsqr`, makes the same steps in exact arithmetic. After $D$ steps both arrive,
# but one can stop much earlier:
#
# ```{prf:theorem} The rate of conjugate gradients
# :label: thm-ls-cg
# Let $\mathbf{X}$ have rank $D$ and condition number $\kappa = s_1 / s_D > 1$. With $\mathbf{w}_0 = \mathbf{0}$,
#
# $$\|\mathbf{X}(\mathbf{w}_k - \mathbf{w}^*)\| \le 2 \Big( \frac{\kappa - 1}{\kappa + 1} \Big)^k \|\mathbf{X}\mathbf{w}^*\| .$$
# ```
#
# ```{prf:proof}
# :class: dropdown
# $\mathcal{K}_k$ consists of all $g(\mathbf{G})\mathbf{X}^\top\mathbf{y} = g(\mathbf{G})\mathbf{G}\mathbf{w}^*$ with
# polynomials $g$ of degree below $k$. So the errors that are possible are $-h(\mathbf{G})\mathbf{w}^*$, where $h(t) = 1 -
# t\,g(t)$ is any polynomial of degree at most $k$ with $h(0) = 1$. Minimizing the loss is the same as minimizing
# $\|\mathbf{X}(\mathbf{w} - \mathbf{w}^*)\|$, by Pythagoras. Along $\mathbf{v}_i$ the error is multiplied by $h(s_i^2)$, so
# the best $h$ is at least as good as any $h$ that is small on $[s_D^2, s_1^2]$. Chebyshev's polynomial $T_k$, carried to
# that interval and divided by its value at 0, is at most $1 / |T_k(-\gamma)|$ there, with $\gamma = (\kappa^2 + 1) /
# (\kappa^2 - 1)$. And $T_k(\gamma) \ge \tfrac12 \big(\gamma + \sqrt{\gamma^2 - 1}\big)^k = \tfrac12 \big(\tfrac{\kappa +
# 1}{\kappa - 1}\big)^k$, because $\gamma^2 - 1 = 4\kappa^2 / (\kappa^2 - 1)^2$ and $(\kappa + 1)^2 / (\kappa^2 - 1) =
# (\kappa + 1) / (\kappa - 1)$.
# ```
#
# Gradient descent with its best constant step has the factor $(\kappa^2 - 1) / (\kappa^2 + 1)$, since the Hessian has
# the condition number $\kappa^2$ ([gradient descent](../optimization/gradient_descent.ipynb)). For $\kappa = 100$ that
# is $\frac12 \cdot 100^2 \ln 10 \approx 11{,}500$ steps for one digit against $\frac12 \cdot 100 \ln 10 \approx 115$.
#
# :::{admonition} A tempting mistake
# :class: warning
# For a symmetric system the rate contains the root of the condition number. Here the symmetric matrix is
# $\mathbf{X}^\top\mathbf{X}$ with the condition number $\kappa^2$, and the root has been taken already. Taking it once more
# promises far too much:
# :::

# %%
def bound(k, kappa):
    return 2 * ((kappa - 1) / (kappa + 1)) ** k

# %%
print(f'after 10 steps: error {race["cgls"][10]:.3f}, bound'
      f' {bound(10, 20):.3f}, with the root of κ {bound(10, 20**0.5):.3f}')

# %% [markdown]
# ### Early stopping on real data
#
# We join the ten measurements of the 442 patients of [linear regression](linear_regression.ipynb) with their 55 squares and
# products. For $442 - 110 = 332$ training patients, 65 weights are many, and the exact least-squares solution fits noise.
# CGLS finds the directions with large $s_i$ in its first steps, and fits most of the noise later. So the number of steps
# matters. We choose it on a quarter of the training part, which is not fitted, and look at the 110 test patients once.

# %% tags=["hide-input"]
patients, progress, _ = diabetes()
i, j = np.array(list(combinations_with_replacement(range(10), 2))).T

def standardized(A, train):
    return (A - A[train].mean(axis=0)) / A[train].std(axis=0)

def test_errors(train, test, steps=20):  # RMSE after each step; of two solvers
    Z = standardized(patients, train)
    Z2 = standardized(np.c_[Z, Z[:, i] * Z[:, j]], train)
    mean = progress[train].mean()
    y = progress[train] - mean
    w = [*cgls(Z2[train], y, steps), by_svd(Z2[train], y),
         np.r_[by_qr(Z[train], y), np.zeros(55)]]
    misses = Z2[test] @ np.transpose(w) + mean - progress[test][:, None]
    return np.sqrt((misses**2).mean(axis=0))  # (steps + 3,)

def one_split(seed):  # errors on the test part, chosen number of steps
    order = np.random.default_rng(seed).permutation(442)
    test, hold, fit = np.split(order, [110, 193])
    chosen = test_errors(fit, hold)[:21].argmin()
    return test_errors(np.r_[hold, fit], test), chosen

splits = [one_split(seed) for seed in range(20)]
curves = np.array([errors for errors, _ in splits])  # (20, 23)
stopped = np.array([errors[chosen] for errors, chosen in splits])
scores = {'the mean': curves[:, 0], '65 columns, exact': curves[:, 21],
          '65 columns, stopped early': stopped, '10 columns': curves[:, 22]}
for name, score in scores.items():
    print(f'{name:26} RMSE {score.mean():.1f} ± {score.std():.1f}')
print('early stopping beats the exact solution in',
      (stopped < curves[:, 21]).sum(), 'of 20 splits')
print('steps chosen: median', int(np.median([k for _, k in splits])))

# %% mystnb={"image": {"alt": "Left: error in the predictions on a logarithmic scale against the step: CGLS falls steeply, below its bound, plain gradient descent slowly, from one to less than a half. Right: error on test patients against the step of CGLS, with a band over splits: it falls from 78 to about 57 within a few steps, then creeps up towards the exact solution, a dashed line near 63; a dashed line near 55 is the exact solution on ten columns."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
left.semilogy(race['cgls'][:24], label='CGLS')
left.semilogy(race['plain_descent'][:24], label='gradient descent')
left.semilogy(bound(np.arange(24), 20), ':', color=GREY, label='bound')
left.set(xlabel='step', title='κ = 20: error of the fit')
left.set(ylim=(3e-3, 4))
left.legend(loc='lower left')
low, high = np.quantile(curves, (0.1, 0.9), axis=0)
right.fill_between(range(16), low[:16], high[:16], alpha=0.2, lw=0)
right.plot(curves.mean(axis=0)[:16], '.-', label='CGLS, 65 columns')
right.axhline(curves[:, 21].mean(), color='C1', ls='--', label='exact, 65')
right.axhline(curves[:, 22].mean(), color='C2', ls='--', label='exact, 10')
right.set(xlabel='step', title='RMSE on test patients')
right.legend();

# %% [markdown] tags=["caption"]
# Left: at $\kappa = 20$ conjugate gradients keep to their bound and outrun gradient descent. Right: on test patients a few
# steps on 65 columns beat their exact solution, but not ten plain columns.

# %% [markdown]
# Stopping early is better than solving exactly in most splits, though no penalty was ever written down. It acts like one;
# *ridge regression* is the usual penalty. It does not beat the ten plain columns here, because the products tell little.
#
# ```{exercise} ★★★ Program: conjugate gradients with a random preconditioner
# :label: ls-sketch
# With $\kappa = 10^6$ the bound allows CGLS millions of steps, and because of rounding it does not arrive after $D$ steps;
# on the problems below sixty are far too few. Change the variables: if $\mathbf{R}$ is triangular and
# $\mathbf{X}\mathbf{R}^{-1}$ is well conditioned, solve for $\mathbf{z} = \mathbf{R}\mathbf{w}$ by CGLS. The $\mathbf{R}$ of
# $\mathbf{X}$ itself would be perfect, and as expensive as the solution. Take the one of a *sketch*: multiply $\mathbf{X}$
# from the left by a random matrix with $4D$ rows of standard normal numbers and decompose that small product. Write
# `sketched(X, y)` with at most 60 steps.
# ```

# %%
def sketched(X, y):
    """Weights of least squares: float array (D,).

    X: float array (N, D), N much larger than D, its condition number up to
    1e6. y: float array (N,). At most 60 steps of CGLS; np.linalg.qr of
    matrices with at most 5 D rows, and no other decomposition. The
    predictions X w are to be right to six digits.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
whole_qr = np.linalg.qr

def small_qr(A, *args, **keywords):
    if len(A) > 5 * A.shape[1]:
        raise ValueError('this QR decomposition is as expensive as the solution')
    return whole_qr(A, *args, **keywords)

def predictions_of(solve):  # the weights themselves are not so well determined
    def predictions(X, y):
        with mock.patch.object(np.linalg, 'qr', small_qr):
            return X @ solve(X, y)
    return predictions

def right_predictions(X, y):
    Q, _ = np.linalg.qr(X)
    return Q @ (Q.T @ y)

def lonely_weight(X):  # only the last row knows it
    X[:-1, -1] = 0
    return X

tall = seeds().map(lambda seed: random_problem(seed, 1e6, N=300, D=20)[0])
sketch_cases = dict(
    X=tall | tall.map(lonely_weight),
    y=seeds().map(lambda seed: np.random.default_rng(seed).normal(size=300)),
    tries=12, lines=480,  # sixty steps of cgls have seven lines each
    without=[f'{home}.{name}' for home in ('numpy.linalg', 'scipy.linalg') for name in (
        'inv', 'pinv', 'solve', 'lstsq', 'svd', 'cholesky', 'eigh')] + ['scipy.linalg.qr'],
)
grade(predictions_of(sketched), right_predictions, **sketch_cases)

# %% [markdown]
# ```{solution-start} ls-sketch
# :class: dropdown
# ```
# Let $\mathbf{S}$ be the random matrix and $\mathbf{X} = \mathbf{Q}_X\mathbf{R}_X$. The sketch is
# $(\mathbf{S}\mathbf{Q}_X)\mathbf{R}_X$, and $\mathbf{S}\mathbf{Q}_X$ is again a matrix of independent standard normal
# numbers, because $\mathbf{Q}_X$ has orthonormal columns: $4D \times D$, *whatever $\mathbf{X}$ is*. If
# $\mathbf{S}\mathbf{Q}_X = \mathbf{Q}'\mathbf{R}'$, then $\mathbf{R} = \mathbf{R}'\mathbf{R}_X$ and
# $\mathbf{X}\mathbf{R}^{-1} = \mathbf{Q}_X \mathbf{R}'^{-1}$ has the condition number of $\mathbf{R}'$, that of a tall
# random matrix: about $(1 + \tfrac12) / (1 - \tfrac12) = 3$. The rate is $\tfrac12$ per step, 60 steps are plenty
# {cite}`avron2010blendenpik`. The first wrong answer does not change the variables, and the second changes them, but does
# not change back. The third decomposes the first $4D$ rows in place of a sketch, which tell nothing of a weight that only
# the last row knows, and the fourth decomposes $\mathbf{X}$ itself.

# %% jupyter={"source_hidden": true}
def sketched_solution(X, y):
    S = np.random.default_rng(0).normal(size=(4 * X.shape[1], len(X)))
    R = np.linalg.qr(S @ X, 'r')
    Z = solve_triangular(R, X.T, trans=1).T  # X R^-1
    return solve_triangular(R, cgls(Z, y, 60)[-1])

def without_ruler(X, y):
    return cgls(X, y, 60)[-1]

def not_changed_back(X, y):
    S = np.random.default_rng(0).normal(size=(4 * X.shape[1], len(X)))
    R = np.linalg.qr(S @ X, 'r')
    return cgls(solve_triangular(R, X.T, trans=1).T, y, 60)[-1]

def first_rows(X, y):
    R = np.linalg.qr(X[:4 * X.shape[1]], 'r')
    return solve_triangular(R, cgls(solve_triangular(R, X.T, trans=1).T, y, 60)[-1])

assert grade(predictions_of(sketched_solution), right_predictions, **sketch_cases)
assert not grade(predictions_of(without_ruler), right_predictions, **sketch_cases)
assert not grade(predictions_of(not_changed_back), right_predictions, **sketch_cases)
assert not grade(predictions_of(first_rows), right_predictions, **sketch_cases)
assert not grade(predictions_of(by_qr), right_predictions, **sketch_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: worse conditioned
# :label: ls-steps
# On `random_problem(5, kappa, N=300, D=200)`, count the steps until the error of the fit is below $10^{-4}$, for CGLS and
# for gradient descent, with $\kappa = 10$ and $\kappa = 40$. Predict by which of the factors 2, 4 and 16 either count grows
# about, then measure.
# ```

# %%
def predicted_growth():
    """A pair of the numbers 2, 4 and 16: (CGLS, gradient descent).

    For example (2, 2), if the root of the condition number counted for both.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def steps_needed(solve, kappa, most):
    X, y = random_problem(5, kappa, N=300, D=200)
    return int((fitted_error(solve(X, y, most), X, y) > 1e-4).sum())

step_counts = {solve.__name__: [steps_needed(solve, *kappa_most) for kappa_most in limits]
               for solve, limits in ((cgls, ((10, 200), (40, 400))),
                                     (plain_descent, ((10, 1000), (40, 8000))))}

def is_measured(factors):
    if len(factors) != 2 or not set(factors) <= {2, 4, 16}:
        raise ValueError('give a pair of the numbers 2, 4 and 16')
    for said, (name, (few, many)) in zip(factors, step_counts.items()):
        if said != min((2, 4, 16), key=lambda k: abs(np.log(k * few / many))):
            raise ValueError(f'{name}: something else is measured; try it')
    return True

grade(lambda: is_measured(predicted_growth()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} ls-steps
# :class: dropdown
# ```
# The rate of CGLS is governed by $\kappa(\mathbf{X})$, that of gradient descent by $\kappa(\mathbf{X})^2$, the condition
# number of the Hessian: about 4 and 16. CGLS needs somewhat fewer steps than its bound says, because it also adapts to where
# the singular values lie, while the bound knows only the smallest and the largest one.

# %% jupyter={"source_hidden": true}
for name, (few, many) in step_counts.items():
    print(f'{name:13} {few:4} steps for κ = 10, {many / few:.1f} times as many for κ = 40')
assert grade(lambda: is_measured((4, 16)), lambda: True, [()])
assert not grade(lambda: is_measured((2, 16)), lambda: True, [()])  # takes the root of the condition number
assert not grade(lambda: is_measured((4, 4)), lambda: True, [()])  # forgets the square in the Hessian
assert not grade(lambda: is_measured((2, 4)), lambda: True, [()])
assert not grade(lambda: is_measured((16, 16)), lambda: True, [()])

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def by_scipy(X, y, k):
    return lsqr(X, y, atol=0, btol=0, conlim=0, iter_lim=k)[0]

def over_krylov(X, y, k):
    K = (X.T @ y)[:, None]
    while K.shape[1] < k:
        K = np.c_[K, X.T @ (X @ K[:, -1])]
        K = np.linalg.qr(K)[0]
    return K @ by_qr(X @ K, y)

def steepest(X, y, steps):
    path = [np.zeros(X.shape[1])]
    for _ in range(steps):
        s = X.T @ (y - X @ path[-1])
        path.append(path[-1] + s @ s / ((X @ s) @ (X @ s)) * s)
    return np.array(path)

def as_library(seed, k, method):
    X, y = random_problem(seed, kappa=10)
    w = method(X, y, k)[-1]
    # rounding, which conjugacy amplifies
    return (close(w, by_scipy(X, y, k), atol=3e-7, rtol=0)
            and close(w, over_krylov(X, y, k), atol=3e-7, rtol=0))

def arrives(seed, steps):  # after D steps
    X, y = random_problem(seed, kappa=10)
    return close(cgls(X, y, steps)[-1], by_qr(X, y), atol=3e-7, rtol=0)

assert race['cgls'][90] < 1e-7 and race['plain_descent'][90] > 0.1
assert race['plain_descent'][90] / race['plain_descent'][89] <= (20**2 - 1) / (20**2 + 1)

verify('CGLS takes the steps of LSQR, each the best in its Krylov space',
       lambda seed, k: as_library(seed, k, cgls),
       slip=('follows the gradients without making them conjugate',
             lambda seed, k: as_library(seed, k, steepest)),
       seed=seeds(), k=[1, 2, 3, 5, 8], tries=60)

verify('eight steps for eight weights', lambda seed: arrives(seed, 8),
       slip=('takes one step too few', lambda seed: arrives(seed, 7)),
       seed=seeds(), tries=40)

def within(seed, kappa, rate):
    X, y = random_problem(seed, kappa, N=80, D=60)
    error = fitted_error(cgls(X, y, 20), X, y)
    return (error <= bound(np.arange(21), rate) + 1e-13).all()

verify('CGLS keeps to the rate (κ - 1) / (κ + 1)',
       lambda seed, kappa: within(seed, kappa, kappa),
       slip=('takes the root of κ once too often',
             lambda seed, kappa: within(seed, kappa, np.sqrt(kappa))),
       seed=seeds(), kappa=[2, 10, 100], tries=40)

# %% [markdown]
# ## Condition number: how many digits are lost
#
# Columns need not be dependent to make trouble. It is enough that they are nearly so. Let the columns be $\mathbf{a}$,
# $\mathbf{b}$ and $\mathbf{a} + \mathbf{b} + \epsilon\,\mathbf{z}$ with random integers and a small $\epsilon$. We know the
# true weights, $\mathbf{X}\mathbf{w}$ is computed without any rounding, and yet the solvers lose digits:

# %% tags=["hide-input"]
def collinear(seed, k, noise):  # epsilon = 2^-k -> X (16, 3), y, true w
    rng = np.random.default_rng(seed)
    a, b, z = rng.integers(-9999, 10_000, (3, 8))
    X = np.stack([a, b, a + b + z * 2.0**-k], axis=1)
    w, c = np.array([1, -2, 3]), noise * rng.integers(-9999, 10_000, 8)
    # opposite errors c and -c: the residual is at right angles to the columns, exactly
    return np.vstack([X, X]), np.r_[X @ w + c, X @ w - c], w

EPS = np.finfo(float).eps

def gram_kept(X, y, stored):  # the solvers, with what they keep rounded by `stored`
    L, c = cholesky(stored(X.T @ X)), X.T @ y
    return solve_triangular(L.T, solve_triangular(L, c, lower=True))

def qr_kept(X, y, stored):
    Q, R = map(stored, np.linalg.qr(X))
    return solve_triangular(R, Q.T @ y)

def svd_kept(X, y, stored):
    U, s, Vt = map(stored, np.linalg.svd(X, full_matrices=False))
    keep = s > max(X.shape) * EPS * s[0]
    return Vt[keep].T @ (U[:, keep].T @ y / s[keep])

def cgls_kept(X, y, stored):
    w, r, tiny = np.zeros(X.shape[1]), y, np.finfo(float).tiny
    p = s = stored(X.T @ r)
    for _ in range(20):  # without rounding, three would do
        q = stored(X @ p)
        alpha = s @ s / (q @ q + tiny)
        w, r = stored(w + alpha * p), stored(r - alpha * q)
        old, s = s, stored(X.T @ r)
        p = s + s @ s / (old @ old + tiny) * p
    return w

def single(a):
    return np.float32(a).astype(float)

def lost(solve, k, noise, stored):  # mean log10: weights, predictions
    errors = []
    for seed in range(40):
        X, y, w = collinear(seed, k, noise)
        try:
            delta = stored(solve(X, y, stored)) - w
        except LinAlgError:
            return [np.nan, np.nan]
        errors.append([norm(delta) / norm(w), norm(X @ delta) / norm(X @ w)])
    return np.log10(np.maximum(errors, EPS / 2)).mean(axis=0)

def condition(levels):
    return 10 ** np.array([np.mean([np.log10(cond(collinear(seed, k, 0)[0])) for seed in range(40)]) for k in levels])

solvers = {'normal equations': gram_kept, 'QR': qr_kept, 'SVD': svd_kept, 'CGLS': cgls_kept}
fine = np.arange(19)
kappas = condition(fine)
drawn = {name: np.array([lost(f, k, 0, single) for k in fine]) for name, f in solvers.items()}
print(f'single precision, mean of 40 problems with condition number near {kappas[8]:.0f}')
failing = kappas[np.isnan(drawn['normal equations'][:, 0])][0]
for name, errors in drawn.items():
    print(f'{name:16}: relative error of the weights {10 ** errors[8, 0]:.3g}, of the fit {10 ** errors[8, 1]:.3g}')
print(f'Cholesky fails from condition number {failing:.0f} on')

# %% mystnb={"image": {"alt": "Errors against the condition number for an exact fit, stored in single precision, both axes logarithmic. Left, weights: the normal equations climb with slope two and break off before a condition number of 7426, where Cholesky's method fails; QR, SVD and CGLS climb together with slope one. Right, predictions: the normal equations climb with slope one, the other three stay level near rounding."}} tags=["hide-input"]
fig, axes = panels(2, height=3.0, sharey=True)
titles = 'Error of the weights', 'Error of the predictions'
for part, (ax, title) in enumerate(zip(axes, titles)):
    for name, mark in zip(solvers, ('o-', '.-', 's--', '^:')):
        ax.loglog(kappas, 10 ** drawn[name][:, part], mark,
                  label=name, ms=3.5, lw=1.3)
    ax.set(xlabel='condition number κ', title=title, ylim=(5e-9, 3))
for ax, lines in ((axes[0], ((3e3, 2), (1e6, 1))), (axes[1], ((1e6, 1),))):
    for end, power in lines:
        k = np.array([5, end])
        ax.loglog(k, 2.0**-24 * k**power, color=GREY, lw=0.8)
        ax.text(end, 2.0**-24 * end**power, ' εκ²' if power == 2 else ' εκ',
                ha='right' if power == 2 else 'center', va='bottom')
axes[0].set_ylabel('relative error')
fig.legend(*axes[0].get_legend_handles_labels(), ncols=4,
           loc='outside lower center');

# %% [markdown] tags=["caption"]
# For an exact fit, stored in single precision, the error of the normal equations grows like $\kappa^2$ in the weights and
# $\kappa$ in the predictions; QR, SVD and CGLS save one power of $\kappa$ in both.

# %% [markdown]
# (The matrices of each solver, for CGLS its vectors, and its result are stored in single precision, with
# $\varepsilon = 2^{-24} \approx 6 \cdot 10^{-8}$. All else is computed in double precision.)
#
# The direction $\mathbf{u} = (1, 1, -1)$ explains this. It is shrunk to $\mathbf{X}\mathbf{u} = -\epsilon\,\mathbf{z}$, so
# the least singular value is of the order of $\epsilon$, while $s_1$ stays. The condition number grows like $1/\epsilon$,
# and that of the Gram matrix like its square:
#
# ```{math}
# :label: ml.ls.rank.collinear
# \kappa(\mathbf{X}) = \frac{s_1}{s_3} , \qquad
# \kappa(\mathbf{X}^\top\mathbf{X}) = \frac{s_1^2}{s_3^2} = \kappa(\mathbf{X})^2 .
# ```
#
# **The weights.** The computed Gram matrix is $\mathbf{G} + \mathbf{E}$ with $\|\mathbf{E}\| \approx \varepsilon s_1^2$.
# From $(\mathbf{G} + \mathbf{E})(\mathbf{w} + \boldsymbol\delta) = \mathbf{G}\mathbf{w}$ follows, to first order,
# $\boldsymbol\delta = -\mathbf{G}^{-1}\mathbf{E}\mathbf{w}$, and its largest part points along $\mathbf{v}_D$:
#
# ```{math}
# :label: ls-gram-error
# \|\boldsymbol\delta\| \approx \frac{\varepsilon s_1^2}{s_D^2}\, \|\mathbf{w}\| = \varepsilon\kappa^2\, \|\mathbf{w}\| .
# ```
#
# In double precision, half of the digits are gone at $\kappa = 10^4$, and all of them at $1/\sqrt{10^{-16}} = 10^8$, where
# Cholesky's method begins to break down. Factorizations of $\mathbf{X}$ itself make errors like those of a relative change
# $\varepsilon$ of the *data*. By {eq}`qr-sensitivity`, this is $\varepsilon\kappa$ if the fit is nearly exact, and has a
# term $\varepsilon\kappa^2$ times the relative residual if it is not: what the data do not determine, no algorithm can find.
#
# **The predictions.** The error {eq}`ls-gram-error` points along $\mathbf{v}_D$, which $\mathbf{X}$ shrinks to $s_D$. So the
# predictions are off by only
#
# ```{math}
# :label: ls-fit-error
# \|\mathbf{X}\boldsymbol\delta\| \approx s_D \cdot \varepsilon\, \frac{s_1^2}{s_D^2}\, \|\mathbf{w}\| = \varepsilon\kappa \cdot s_1\|\mathbf{w}\| .
# ```
#
# The weights may be worthless while the fit looks perfect, and nothing in the residual gives a warning.
#
# **Noise is magnified in the same way.** Let $\mathbf{y} = \mathbf{X}\mathbf{w} + \mathbf{e}$ with independent errors of
# mean zero and variance $\sigma^2$. Then
#
# ```{math}
# :label: ls-noise
# \hat{\mathbf{w}} - \mathbf{w} = \mathbf{X}^+ \mathbf{e} = \sum_i \frac{\mathbf{u}_i \cdot \mathbf{e}}{s_i}\, \mathbf{v}_i .
# ```
#
# The $\mathbf{u}_i \cdot \mathbf{e}$ are uncorrelated with variance $\sigma^2$, so
#
# ```{math}
# :label: ls-covariance
# \operatorname{Cov}(\hat{\mathbf{w}}) = \sigma^2 (\mathbf{X}^\top\mathbf{X})^{-1} :
# ```
#
# along $\mathbf{v}_i$ the weights have the variance $\sigma^2 / s_i^2$. In double precision, noise does damage long
# before rounding does. Noise of one percent along $\mathbf{u}_D$ becomes as large as $\mathbf{w}$ at
# $\kappa = 1/0.01 = 100$. More accurate arithmetic does not help; stopping early, or a penalty, does.

# %% tags=["checks"]
def exact_in_integers(seed, k):  # the columns and the residual at right angles, without rounding
    X, y, w = collinear(seed, k, noise=1)
    X, y = ([int(v * 2**k) for v in A.ravel()] for A in (X, y))
    X, w = np.array(X, dtype=object).reshape(16, 3), np.array(w, dtype=object)
    return (X.T @ (np.array(y, dtype=object) - X @ w) == 0).all()

assert all(exact_in_integers(seed, k) for seed in range(5) for k in (0, 36))
levels = np.arange(6, 22)  # kappa from 10^2 to 10^7

def breaks_down(seed, k):
    X, _, _ = collinear(seed, k, noise=0)
    try:
        cholesky(X.T @ X)
    except LinAlgError:
        return True
    return False

below, beyond = ([breaks_down(seed, k) for k in ks for seed in range(40)]
                 for ks in (range(0, 22, 3), range(27, 37, 3)))
assert not any(below) and np.mean(beyond) > 0.2
print('Cholesky breaks down up to κ = 1e7 in', sum(below), 'of', len(below))
print('beyond 1e8, a share', between(np.mean(beyond), 0.2, 0.8))

# %% tags=["checks"]
def condition_grows(seed, power):  # log-log slope against 1 / epsilon
    X = [collinear(seed, k, noise=0)[0] for k in (8, 10, 12)]
    kappa = np.log2([cond(x) for x in X])
    gram = np.log2([cond(x.T @ x) for x in X])
    slope = np.polyfit((8, 10, 12), kappa, 1)[0]
    # rounding of 1e-16 changes a Gram matrix's κ² by the share 1e-16 κ²
    return abs(slope - 1) < 0.05 and close(gram, power * kappa, rtol=1e-7)

holds('ml.ls.rank.collinear', lambda seed: condition_grows(seed, 2),
      slip=('takes the Gram matrix to have the same κ',
            lambda seed: condition_grows(seed, 1)),
      seed=seeds(), tries=60)

digits_lost = {(name, noise): np.array([lost(f, k, noise, np.asarray)
                                        for k in levels])
               for name, f in solvers.items() for noise in (0, 1)}
log_kappa = np.log10(condition(levels))

def growth(name, noise, part):  # p in error ~ kappa^p
    return np.polyfit(log_kappa, digits_lost[name, noise][:, part], 1)[0]

def exponents(name, noise, weights_exact):  # of weights and predictions
    weights = 2 if noise else weights_exact[name]
    found = [growth(name, noise, part) for part in (0, 1)]
    return close(found, [weights, weights - 1], atol=0.3, rtol=0)

theory = dict.fromkeys(solvers, 1) | {'normal equations': 2}
verify('errors grow like κ² or κ in the weights, by one power less in Xw',
       lambda name, noise: exponents(name, noise, theory),
       slip=('expects κ² of every solver',
             lambda name, noise: exponents(
             name, noise, dict.fromkeys(solvers, 2))),
       name=list(solvers), noise=[0, 1])

def spreads_like(seed, sigma, power, draws=4000):
    X, _ = random_problem(seed, kappa=10)
    noise = sigma * np.random.default_rng(seed + 1).normal(size=(30, draws))
    deviation = lstsq(X, noise)[0]  # (8, draws)
    _, s, Vt = np.linalg.svd(X)
    measured = ((Vt @ deviation) ** 2).mean(axis=1)
    return (abs(measured * s**power / sigma**2 - 1)
            < 5 * np.sqrt(2 / draws)).all()

verify('noise is magnified by 1 / sᵢ along vᵢ',
       lambda seed, sigma: spreads_like(seed, sigma, 2),
       slip=('divides the variance by sᵢ instead of its square',
             lambda seed, sigma: spreads_like(seed, sigma, 1)),
       seed=seeds(), sigma=[0.5, 3.0], tries=20)

# %% [markdown]
# ## Summary
#
# The best weights are those whose residual is at right angles to every column. The loss is convex, and its minimizer is
# unique exactly if the columns are independent; otherwise gradient descent from zero finds the shortest one,
# $\mathbf{X}^+\mathbf{y}$. The normal equations lose digits like $\kappa^2$ where QR, SVD and conjugate gradients lose them
# like $\kappa$ for a good fit, and on real patients a handful of steps of conjugate gradients on 65 columns predicts better
# than the exact solution.
#
# **Further reading.** {cite}`bjorck1996numerical` is the book on the numerical side, {cite}`trefethen1997numerical`,
# lectures 11, 18, 19 and 38, the most readable account of it; {cite}`paige1982lsqr` is LSQR; {cite}`hastie2009elements`,
# chapter 3, has the statistics.
