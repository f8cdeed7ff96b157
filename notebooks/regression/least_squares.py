# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Least squares
#
# - **Question.** Which weights fit best when none fit exactly, when is there only one answer, and how many of its digits
#   can be trusted?
# - **You need** [linear regression](linear_regression.ipynb), shadows from
#   [Dot products](../linear_algebra/dot_products.ipynb), the [QR](../linear_algebra/qr_decomposition.ipynb) and the
#   [singular value decomposition](../linear_algebra/singular_value_decomposition.ipynb).
# - **You build** three direct solvers and one that only multiplies, a proof of convexity in three ways, a map of all
#   solutions when there are many, and a measurement of what each solver loses as columns grow alike.
# - **Time** 8 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %%
from itertools import combinations_with_replacement

import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.linalg import LinAlgError, cholesky, cond, lstsq, matrix_rank, norm
from scipy.linalg import null_space, solve_triangular
from scipy.sparse.linalg import lsqr
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error

from nbutils.cases import seeds
from nbutils.checks import between, close, erratum, grade, holds, verify
from nbutils.data import diabetes, digits
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')
torch.set_default_dtype(torch.float64)

# %% [markdown]
# Two sets of notes speak of the same problem in two dialects. Linear algebra says $\mathbf{A}\mathbf{x} = \mathbf{b}$,
# statistics says $\mathbf{y} = \mathbf{X}\mathbf{w}$. We keep to the second: $\mathbf{X}$ has $N$ rows, one for each
# example $\mathbf{x}_n^\top$, and $D$ columns, one for each feature; a bias is a column of ones. The cases of the checks
# are integer matrices whose rank is prescribed, so that questions of rank have exact answers.

# %%
def problem(seed, N, D, rank):  # X (N, D) of that rank, y (N,)
    rng = np.random.default_rng(seed)
    while True:
        left = rng.integers(-3, 4, (N, rank))
        X = (left @ rng.integers(-3, 4, (rank, D))).astype(float)
        if matrix_rank(X) == rank:
            return X, rng.integers(-9, 10, N).astype(float)

# %% [markdown]
# ## The nearest point
#
# Three measurements, two weights: $\mathbf{X}\mathbf{w} = \mathbf{y}$ is three equations for two unknowns. As $\mathbf{w}$
# runs through all pairs of numbers, $\mathbf{X}\mathbf{w}$ runs through a plane in space, the span of the two columns.
# The equations ask that $\mathbf{y}$ lie in that plane, and measured numbers hardly ever do. In general, the system can be
# solved exactly if $\mathbf{y}$ lies in the span $\operatorname{col}(\mathbf{X})$ of the columns,
#
# ```{math}
# :label: la.lsq.system
# \min_{\mathbf{w}} \|\mathbf{X}\mathbf{w} - \mathbf{y}\| = 0 \iff \mathbf{y} \in \operatorname{col}(\mathbf{X})
# \iff \operatorname{rank}[\mathbf{X} \,|\, \mathbf{y}] = \operatorname{rank} \mathbf{X} ,
# ```
#
# because appending $\mathbf{y}$ to the columns enlarges their span exactly if it was not in it. (The notes print the bare
# equation, without sizes and without this condition.) That the columns be independent is *not* the condition; it is the
# control. If there is no solution, ask for the best substitute. The notes print the length that is to be small; what has to
# be added is the minimum, and what singles one minimizer out if there are several:
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
# The second line says that $\mathbf{X}^+\mathbf{y}$, which is one of the minimizers, is the shortest of them.
#
# The proof needs one picture. Drop a perpendicular from $\mathbf{y}$ onto the plane. Its foot $\hat{\mathbf{y}}$ is nearer
# than any other point of the plane, since the way to another point is the hypotenuse of a right triangle. And the
# perpendicular $\mathbf{y} - \hat{\mathbf{y}}$ is at right angles to every column, $\mathbf{X}^\top(\mathbf{y} -
# \mathbf{X}\hat{\mathbf{w}}) = \mathbf{0}$. These are the *normal equations*, so called because a normal is a
# perpendicular. {prf:ref}`thm-projection` has the details, {prf:ref}`thm-least-squares-minimum` a second proof without
# geometry.
#
# Three ways to compute $\hat{\mathbf{w}}$ were prepared in the chapter on linear algebra. They can now compete. *Cholesky*
# factors $\mathbf{X}^\top\mathbf{X} = \mathbf{L}\mathbf{L}^\top$ and solves two triangular systems. *QR* inserts
# $\mathbf{X} = \mathbf{Q}\mathbf{R}$ into the normal equations, $\mathbf{R}^\top\mathbf{R}\mathbf{w} =
# \mathbf{R}^\top\mathbf{Q}^\top\mathbf{y}$, and cancels $\mathbf{R}^\top$. The *SVD* divides by the singular values that are
# not zero and leaves the other directions alone, which is $\mathbf{X}^+\mathbf{y}$. (The argument `stored` says how a matrix
# is kept. It does nothing until the last part asks what rounding does.)

# %%
EPS = np.finfo(float).eps

def by_gram(X, y, stored=np.asarray):  # Cholesky on the normal equations
    L, c = cholesky(stored(X.T @ X)), X.T @ y
    return solve_triangular(L.T, solve_triangular(L, c, lower=True))

def by_qr(X, y, stored=np.asarray):
    Q, R = map(stored, np.linalg.qr(X))
    return solve_triangular(R, Q.T @ y)

def by_svd(X, y, stored=np.asarray):  # the shortest, for every rank
    U, s, Vt = map(stored, np.linalg.svd(X, full_matrices=False))
    keep = s > max(X.shape) * EPS * s[0]
    return Vt[keep].T @ (U[:, keep].T @ y / s[keep])

# %% [markdown]
# The first check draws right sides inside and outside of the column space. The second demands of a solver that the normal
# equations hold, that 1000 random steps nowhere lead lower, and that the result is the one of numpy's library, for matrices
# of full rank and of rank two. Its control solves with two independent columns and gives the third the weight zero. That is
# a best solution, too, but not the shortest.

# %%
def solvable(X, y):
    return close(X @ lstsq(X, y)[0], y)

def same_answer(seed, inside, rank, condition):
    X, y = problem(seed, 6, 3, rank)
    y = X @ [1, -2, 3] if inside else y
    return solvable(X, y) == condition(X, y)

holds(
    'la.lsq.system',
    lambda seed, inside, rank: same_answer(
        seed, inside, rank,
        lambda X, y: matrix_rank(np.c_[X, y]) == matrix_rank(X)),
    control=lambda seed, inside, rank: same_answer(
        seed, inside, rank, lambda X, y: matrix_rank(X) == 3),
    seed=seeds(), inside=[True, False], rank=[2, 3], tries=60,
)

# %%
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

holds(
    'la.lsq.objective',
    lambda seed, rank: best_and_shortest(seed, rank, by_svd),
    control=lambda seed, rank: best_and_shortest(seed, rank, two_columns),
    seed=seeds(), rank=[2, 3], tries=60,
)

# %% [markdown]
# Statistics divides the sum of squares by its number of terms. The second set of notes prints the factor $1/N$, but its
# gradient, its Hessian and its proof of convexity, which follow below, are those of $1/(2N)$. The constant moves no minimum,
# so either is a legitimate choice; one of them has to be kept to:
#
# ```{math}
# :label: ml.ls.loss
# L(\mathbf{w}) = \frac{1}{2N} \sum_{n=1}^N (y_n - \mathbf{x}_n^\top\mathbf{w})^2
# = \frac{1}{2N} (\mathbf{y} - \mathbf{X}\mathbf{w})^\top (\mathbf{y} - \mathbf{X}\mathbf{w}) .
# ```
#
# Row $n$ of $\mathbf{y} - \mathbf{X}\mathbf{w}$ is $y_n - \mathbf{x}_n^\top\mathbf{w}$, and a vector times itself is the sum
# of its squares. The derivative by $w_j$ is $-\frac1N \sum_n x_{nj} (y_n - \mathbf{x}_n^\top\mathbf{w})$; all $D$ of them
# together, and what is asked of them at the minimum,
#
# ```{math}
# :label: ml.ls.closed-form.normal-eq
# \nabla L(\mathbf{w}) = -\frac1N \mathbf{X}^\top (\mathbf{y} - \mathbf{X}\mathbf{w}) , \qquad
# \nabla L(\mathbf{w}^*) = \mathbf{0} ,
# ```
#
# are the normal equations again, found without geometry. If the Gram matrix $\mathbf{X}^\top\mathbf{X}$ can be inverted,
# there is exactly one solution,
#
# ```{math}
# :label: ml.ls.closed-form.solution
# \mathbf{w}^* = (\mathbf{X}^\top\mathbf{X})^{-1} \mathbf{X}^\top \mathbf{y} .
# ```

# %%
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

# %% [markdown]
# The checks: the sum with the factor $\frac12$ is the matrix form, half of scikit-learn's mean squared error, and a
# function with the gradient {eq}`ml.ls.closed-form.normal-eq`; with the printed factor it is not. The gradient is PyTorch's,
# and zero where the solver stops; the control loses the sign. The closed form gives the coefficients of scikit-learn. Its
# control fits one feature at a time, $w_j = \mathbf{x}_j^\top\mathbf{y} / \mathbf{x}_j^\top\mathbf{x}_j$, which would be
# right if the columns were at right angles.

# %% tags=["hide-input"]
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

# %% tags=["hide-input"]
holds('ml.ls.loss', lambda seed: fits_together(seed, 1 / 2),
      control=lambda seed: fits_together(seed, 1), seed=seeds(), tries=60)
holds('ml.ls.closed-form.normal-eq', lambda seed: is_gradient(seed, gradient),
      control=lambda seed: is_gradient(seed, lambda *a: -gradient(*a)),
      seed=seeds(), tries=60)
holds('ml.ls.closed-form.solution',
      lambda seed: as_sklearn(seed, closed_form),
      control=lambda seed: as_sklearn(
          seed, lambda X, y: X.T @ y / (X * X).sum(axis=0)),
      seed=seeds(), tries=60)
direct = {'Cholesky': by_gram, 'QR': by_qr, 'SVD': by_svd}
verify('Cholesky, QR and SVD give the weights of scikit-learn',
       lambda seed, name: as_sklearn(seed, direct[name]),
       control=lambda seed, name: as_sklearn(
           seed, lambda X, y: direct[name](X[:-1], y[:-1])),
       seed=seeds(), name=list(direct), tries=60)

# %% [markdown]
# Insert the solution: $\hat{\mathbf{y}} = \mathbf{P}\mathbf{y}$ with $\mathbf{P} =
# \mathbf{X}(\mathbf{X}^\top\mathbf{X})^{-1}\mathbf{X}^\top$, the matrix that "puts the hat on $\mathbf{y}$". It projects:
# $\mathbf{P}^2 = \mathbf{P}$, a second drop of the perpendicular changes nothing. It does so at right angles, which in
# algebra is $\mathbf{P}^\top = \mathbf{P}$. And its trace is $\operatorname{tr}((\mathbf{X}^\top\mathbf{X})^{-1}
# \mathbf{X}^\top\mathbf{X}) = D$, the number of weights; since $p_{nn} = \partial\hat{y}_n / \partial y_n$ is the pull of
# an example on its own prediction, $N$ examples share a total pull of $D$. Symmetry is what makes the foot the *nearest*
# point: the control $\mathbf{X}(\mathbf{Z}^\top\mathbf{X})^{-1}\mathbf{Z}^\top$ projects onto the same plane with the
# same trace, but at a slant.

# %%
def projects(seed, slant):
    X, y = problem(seed, 6, 3, 3)
    Z = X + slant * np.random.default_rng(seed).normal(size=X.shape)
    P = X @ np.linalg.solve(Z.T @ X, Z.T)
    nearest = close(P @ y, X @ lstsq(X, y)[0])
    pythagoras = close(y @ y, (P @ y) @ (P @ y) + (y - P @ y) @ (y - P @ y))
    return close(P @ P, P) and close(np.trace(P), 3) and nearest and pythagoras

verify('the hat matrix projects at right angles, with trace D',
       lambda seed: projects(seed, 0), seed=seeds(), tries=60,
       control=lambda seed: projects(seed, 0.1))

# %%
plane = np.array([[1, 0.2], [0.1, 1], [0.3, 0.3]])  # two columns in space
target = np.array([0.5, 0.6, 1.2])
foot = plane @ by_qr(plane, target)
drop = target - foot
print('perpendicular to both columns:', close(plane.T @ drop, [0, 0]))

# %% mystnb={"figure": {"caption": "The best fit $\\mathbf{X}\\mathbf{w}^*$ is the foot of the perpendicular from $\\mathbf{y}$ to the plane of the columns; what remains of $\\mathbf{y}$ is at right angles to each column."}, "image": {"alt": "A slanted plane spanned by two arrows from the origin, the columns. Above it the point y; a dashed perpendicular leads down to its foot, the projection, with a right angle marked at the foot, and an arrow runs from the origin to the foot."}} tags=["hide-input"]
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

# %% [markdown]
# ```{exercise} ★★ One more measurement
# :label: ls-recursive
# A sensor delivers one row $(\mathbf{x}, y)$ after the other, and the fit shall be up to date without being done anew. Keep
# $\mathbf{C} = (\mathbf{X}^\top\mathbf{X})^{-1}$ and the current $\mathbf{w}$. Check the formula of Sherman and Morrison,
# $(\mathbf{G} + \mathbf{x}\mathbf{x}^\top)^{-1} = \mathbf{C} - \mathbf{C}\mathbf{x}\mathbf{x}^\top\mathbf{C} / (1 +
# \mathbf{x}^\top\mathbf{C}\mathbf{x})$ for $\mathbf{C} = \mathbf{G}^{-1}$, by multiplying out, and derive
# the update of $\mathbf{w}$. Write `updated(w, C, x, y)`, which returns the new weights and costs of the order of $D^2$.
# ```

# %%
def updated(w, C, x, y):
    raise NotImplementedError('your turn')

# %%
def anew(w, C, x, y):
    G = np.linalg.inv(C)
    return np.linalg.solve(G + np.outer(x, x), G @ w + y * x)

rls_rng = np.random.default_rng(1)
rls_roots = [rls_rng.normal(size=(d + 3, d)) for d in (1, 2, 4)]
rls_cases = [(rls_rng.normal(size=A.shape[1]), np.linalg.inv(A.T @ A),
              rls_rng.normal(size=A.shape[1]), 2.5) for A in rls_roots]
grade(updated, anew, rls_cases)

# %% [markdown]
# ```{solution-start} ls-recursive
# :class: dropdown
# ```
# The new normal equations are $(\mathbf{G} + \mathbf{x}\mathbf{x}^\top)\,\mathbf{w}' = \mathbf{G}\mathbf{w} + y\mathbf{x}$.
# Subtract $(\mathbf{G} + \mathbf{x}\mathbf{x}^\top)\,\mathbf{w}$: the change obeys $(\mathbf{G} +
# \mathbf{x}\mathbf{x}^\top)(\mathbf{w}' - \mathbf{w}) = \mathbf{x}\,(y - \mathbf{x}^\top\mathbf{w})$, and Sherman and
# Morrison turn $(\mathbf{G} + \mathbf{x}\mathbf{x}^\top)^{-1}\mathbf{x}$ into $\mathbf{C}\mathbf{x} / (1 +
# \mathbf{x}^\top\mathbf{C}\mathbf{x})$. So the weights move along $\mathbf{C}\mathbf{x}$, in proportion to how badly the new
# measurement was predicted. The wrong answer forgets the denominator and overshoots.

# %% jupyter={"source_hidden": true}
def updated_solution(w, C, x, y):
    return w + C @ x * (y - x @ w) / (1 + x @ C @ x)

def overshoots(w, C, x, y):
    return w + C @ x * (y - x @ w)

assert grade(updated_solution, anew, rls_cases)
assert not grade(overshoots, anew, rls_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## A bowl without dents
#
# That a zero gradient means a *minimum*, and the lowest one, rests on convexity
# ([Convex functions](../optimization/convex_functions.ipynb)). The notes prove it three times, and each proof shows
# something else.
#
# **By composition.** The map $\mathbf{w} \mapsto y_n - \mathbf{x}_n^\top\mathbf{w}$ is affine: it takes the segment
# between two weights to the segment between two numbers, at the same pace. The square is convex on numbers. So *first
# affine, then convex* is convex, and a sum of convex functions is convex. The order counts. First square, then subtract, as
# in $y_n - (\mathbf{x}_n^\top\mathbf{w})^2$, is concave; that is the control.
#
# **By the definition.** Take a point $\lambda\mathbf{w} + (1-\lambda)\mathbf{w}'$ of the segment. Convex means that the
# graph lies below its chord:
#
# ```{math}
# :label: ml.ls.convexity.definition
# L(\lambda\mathbf{w} + (1-\lambda)\mathbf{w}') - \big(\lambda L(\mathbf{w}) + (1-\lambda) L(\mathbf{w}')\big) \le 0
# \qquad (0 \le \lambda \le 1).
# ```
#
# For a square the gap can be computed. Let $\mathbf{r} = \mathbf{y} - \mathbf{X}\mathbf{w}$ and $\mathbf{r}' = \mathbf{y} -
# \mathbf{X}\mathbf{w}'$. The residual of the mixture is the mixture of the residuals, and
#
# $$
# \|\lambda\mathbf{r} + (1-\lambda)\mathbf{r}'\|^2 - \lambda\|\mathbf{r}\|^2 - (1-\lambda)\|\mathbf{r}'\|^2
# = -\lambda(1-\lambda) \big( \|\mathbf{r}\|^2 - 2\,\mathbf{r}\cdot\mathbf{r}' + \|\mathbf{r}'\|^2 \big) ,
# $$
#
# since $\lambda^2 - \lambda = (1-\lambda)^2 - (1-\lambda) = -\lambda(1-\lambda)$ and the mixed term is
# $2\lambda(1-\lambda)\,\mathbf{r}\cdot\mathbf{r}'$. In the bracket stands $\|\mathbf{r} - \mathbf{r}'\|^2$, and
# $\mathbf{r} - \mathbf{r}' = -\mathbf{X}(\mathbf{w} - \mathbf{w}')$. So the left side of
# {eq}`ml.ls.convexity.definition` is
#
# ```{math}
# :label: ml.ls.convexity.defect
# \begin{aligned}
# & L(\lambda\mathbf{w} + (1-\lambda)\mathbf{w}') - \big(\lambda L(\mathbf{w}) + (1-\lambda) L(\mathbf{w}')\big) \\
# & \quad = -\frac{1}{2N}\, \lambda(1-\lambda)\, \|\mathbf{X}(\mathbf{w} - \mathbf{w}')\|_2^2 \le 0 \qquad (0 \le \lambda \le 1).
# \end{aligned}
# ```
#
# :::{admonition} Erratum
# :class: warning
# As printed, {eq}`ml.ls.convexity.definition` ends in $\ge 0$, which says *concave*. The slip is easy because both versions
# are in use, "chord minus graph $\ge 0$" and "graph minus chord $\le 0$", and only one of the two changes was made. As
# printed, {eq}`ml.ls.convexity.defect` ends in $< 0$. The formula is right, but it vanishes at the ends of the segment
# ($\lambda = 0$ or 1), for $\mathbf{w} = \mathbf{w}'$, and, which matters, whenever
# $\mathbf{X}(\mathbf{w} - \mathbf{w}') = \mathbf{0}$. Then $L$ is constant along the segment: the bowl is a valley with a
# level floor. A strict sign would prove that the minimizer is unique, which it need not be.
# :::
#
# **By the Hessian.** Differentiate {eq}`ml.ls.closed-form.normal-eq` once more. The notes have lost the 2 in the middle and
# gained an $\mathcal{L}$; restored,
#
# ```{math}
# :label: ml.ls.convexity.hessian
# \mathbf{H}(\mathbf{w}) = \frac{1}{2N} \nabla^2 \big[ (\mathbf{y} - \mathbf{X}\mathbf{w})^\top (\mathbf{y} - \mathbf{X}\mathbf{w}) \big]
# = \frac1N \mathbf{X}^\top\mathbf{X} .
# ```
#
# It is the same at every $\mathbf{w}$, and positive semidefinite because
# $\mathbf{v}^\top\mathbf{H}\mathbf{v} = \frac1N\|\mathbf{X}\mathbf{v}\|^2 \ge 0$: no eigenvalue is negative. (In the
# control the transpose of a square matrix is forgotten; $\mathbf{v}^\top\mathbf{X}\mathbf{X}\mathbf{v} =
# (\mathbf{X}^\top\mathbf{v}) \cdot (\mathbf{X}\mathbf{v})$ is no square of a length.)

# %%
def halved_mean(w, X, y):  # w (..., D) -> (...)
    return ((y - w @ X.T) ** 2).mean(axis=-1) / 2

def convexity_defect(X, w, v, lam):
    return -lam * (1 - lam) * ((X @ (w - v)) ** 2).sum() / (2 * len(X))

def gap(X, y, w, v, lam, f=halved_mean):  # graph minus chord
    chord = lam * f(w, X, y) + (1 - lam) * f(v, X, y)
    return f(lam * w + (1 - lam) * v, X, y) - chord

def two_weights(seed):
    return np.random.default_rng(seed).normal(size=(2, 3))

# %% tags=["hide-input"]
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

# %% tags=["hide-input"]
cases = dict(seed=seeds(), lam=[0.5, 0.25, 0.75, 0.0], tries=60)
holds('ml.ls.convexity.composition',
      lambda seed: composed(seed, halved_mean),
      control=lambda seed: composed(seed, square_first),
      seed=seeds(), tries=60)
erratum('ml.ls.convexity.definition',
        printed=lambda seed, lam: defect_is(seed, 3, lam, lambda g: g >= 0),
        corrected=lambda seed, lam: defect_is(seed, 3, lam, lambda g: g <= 0),
        **cases)
erratum('ml.ls.convexity.defect',
        printed=lambda seed, rank, lam: defect_is(
            seed, rank, lam, lambda g: g < 0),
        corrected=lambda seed, rank, lam: defect_is(
            seed, rank, lam, lambda g: g <= 0),
        rank=[2, 3], **cases)

# %% tags=["hide-input"]
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

# %% tags=["hide-input"]
holds('ml.ls.convexity.hessian',
      lambda seed: hessian_is(seed, lambda X: X.T @ X),
      control=lambda seed: hessian_is(seed, lambda X: 2 * X.T @ X),
      seed=seeds(), tries=40)
holds('ml.ls.convexity.psd',
      lambda seed, N, rank: curves_up(seed, N, 3, rank, lambda X: X.T @ X),
      control=lambda seed, N, rank: curves_up(seed, 3, 3, rank,
                                              lambda X: X @ X),
      seed=seeds(), N=[2, 3, 6], rank=[1, 2], tries=60)

# %% mystnb={"figure": {"caption": "Left: the loss lies below its chord, as convexity demands. Right: with rank two of three columns it is level along a null direction, so its minimizer is not unique."}, "image": {"alt": "Left: the loss along a segment is a parabola below its chord, the gap at the middle marked. Right: for a matrix of rank two the loss along a null direction is a level line, while along another direction it is a parabola."}} tags=["hide-input"]
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

# %% [markdown]
# How steep is the bowl, and in which directions? That is what the singular value decomposition tells,
#
# ```{math}
# :label: ml.ls.svd.svd
# \mathbf{X} = \mathbf{U}\mathbf{S}\mathbf{V}^\top, \qquad \mathbf{U}^\top\mathbf{U} = \mathbf{I}_N, \quad \mathbf{V}^\top\mathbf{V} = \mathbf{I}_D ,
# ```
#
# where the $N \times D$ matrix $\mathbf{S}$ has the singular values $s_1 \ge s_2 \ge \dots \ge 0$ on its diagonal. The notes
# put "(PSD)" behind the name; most likely "(SVD)" is meant. But there is a connection, and it is worth a line. Insert the
# decomposition, and $\mathbf{U}$ cancels:
#
# ```{math}
# :label: ml.ls.svd.psd
# \mathbf{X}^\top\mathbf{X} = \mathbf{V}\, \mathbf{S}^\top\mathbf{S}\, \mathbf{V}^\top .
# ```
#
# So the eigenvectors of the Gram matrix are the $\mathbf{v}_i$ and its eigenvalues the *squares* $s_i^2$ (and zeros, if
# $D > N$), none of them negative. It is $\mathbf{X}^\top\mathbf{X}$ that is positive semidefinite, not $\mathbf{X}$. The
# curvature of $L$ along $\mathbf{v}_i$ is $s_i^2 / N$. Read backwards, {eq}`ml.ls.svd.psd` is a recipe for the SVD, good for
# well-conditioned matrices only, as the page on [the SVD](../linear_algebra/singular_value_decomposition.ipynb) shows.

# %%
def svd_via_gram(X):  # independent columns
    squares, V = np.linalg.eigh(X.T @ X)
    s, V = np.sqrt(squares[::-1]), V[:, ::-1]
    return X @ V / s, s, V.T

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

# %% tags=["hide-input"]
sizes = dict(seed=seeds(), N=[3, 6], D=[3, 4], tries=60)
holds('ml.ls.svd.svd', lambda seed, N, D: decomposes(seed, N, D, False),
      control=lambda seed, N, D: decomposes(seed, N, D, True), **sizes)
holds('ml.ls.svd.psd', lambda seed, N, D: gram_is(seed, N, D, 2),
      control=lambda seed, N, D: gram_is(seed, N, D, 1), **sizes)
for k in range(20):
    A, _ = problem(k, 6, 3, 3)
    U, s, Vt = svd_via_gram(A)
    assert close(s, np.linalg.svd(A)[1]) and close(U * s @ Vt, A)
    assert close(U.T @ U, np.eye(3))

# %% [markdown]
# ```{exercise} ★ How far above the floor?
# :label: ls-excess
# A colleague proposes weights $\mathbf{w}$. By how much does their loss exceed the least possible one? Write
# `excess(X, y, w)` that gives $L(\mathbf{w}) - \min L$ without solving for the minimizer and without subtracting two losses,
# for $\mathbf{X}$ with independent columns.
# ```

# %%
def excess(X, y, w):
    raise NotImplementedError('your turn')

# %%
def by_two_losses(X, y, w):
    f = lambda w: ((y - X @ w) ** 2).mean() / 2
    return f(w) - f(np.linalg.lstsq(X, y)[0])

excess_rng = np.random.default_rng(2)
excess_cases = [(excess_rng.normal(size=(n, 3)), excess_rng.normal(size=n),
                 excess_rng.normal(size=3)) for n in (4, 9, 30)]
grade(excess, by_two_losses, excess_cases)

# %% [markdown]
# ```{solution-start} ls-excess
# :class: dropdown
# ```
# Pythagoras: $\|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2 = \|\mathbf{y} - \mathbf{P}\mathbf{y}\|^2 + \|\mathbf{P}\mathbf{y} -
# \mathbf{X}\mathbf{w}\|^2$. The second part is the excess, and $\mathbf{P}\mathbf{y} - \mathbf{X}\mathbf{w} =
# \mathbf{P}(\mathbf{y} - \mathbf{X}\mathbf{w}) = \mathbf{Q}\mathbf{Q}^\top\mathbf{r}$ has the length of
# $\mathbf{Q}^\top\mathbf{r}$. What can still be explained is the part of the residual that lies in the plane. The wrong
# answer uses the columns of $\mathbf{X}$ as if they were orthonormal.

# %% jupyter={"source_hidden": true}
def excess_solution(X, y, w):
    Q, _ = np.linalg.qr(X)
    return ((Q.T @ (y - X @ w)) ** 2).sum() / (2 * len(y))

def slanted(X, y, w):
    return ((X.T @ (y - X @ w)) ** 2).sum() / (2 * len(y))

assert grade(excess_solution, by_two_losses, excess_cases)
assert not grade(slanted, by_two_losses, excess_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The valley with a level floor
#
# When is there only one best $\mathbf{w}$? {eq}`ml.ls.convexity.defect` has shown where it could fail: along directions
# $\mathbf{u}$ with $\mathbf{X}\mathbf{u} = \mathbf{0}$. Such a direction says that the columns are dependent,
# $\sum_j u_j \mathbf{x}_j = \mathbf{0}$; that is, $\operatorname{rank}\mathbf{X} < D$. And it is all that can go wrong:
#
# ```{math}
# :label: ml.ls.invertibility.iff
# \mathbf{X}^\top\mathbf{X} \ \text{ is invertible} \iff \operatorname{rank}(\mathbf{X}) = D .
# ```
#
# ```{prf:proof}
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
# In the notes the last steps of the first half read "$\operatorname{rank}(\mathbf{X}^\top) < D$, so $\mathbf{X}^\top$ is
# not invertible". The factor $\mathbf{X}$ is lost there: $\mathbf{X}^\top$ need not be square, and then there is nothing to
# invert. The second half is missing altogether, and it is the one with an idea. It shows that $\mathbf{X}$ and
# $\mathbf{X}^\top\mathbf{X}$ have the same null vectors, hence the same rank. The controls are two wrong Gram matrices: for
# the theorem, $\mathbf{X}\mathbf{X}^\top$; for the step in the proof, $\|\mathbf{X}^\top\mathbf{u}\|^2$.

# %%
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
      control=lambda seed, rank: gram_knows_rank(seed, rank,
                                                 lambda X: X @ X.T),
      seed=seeds(), rank=[1, 2, 3], tries=60)
holds('ml.ls.invertibility.proof',
      lambda seed: proof_step(seed, lambda X, v: norm(X @ v) ** 2),
      control=lambda seed: proof_step(seed, lambda X, v: norm(X.T @ v) ** 2),
      seed=seeds(), tries=60)

# %% [markdown]
# One cause of dependence is a shortage of rows. The rank is also the number of independent *rows*, so
#
# ```{math}
# :label: ml.ls.rank.wide
# D > N \implies \operatorname{rank}(\mathbf{X}) = \operatorname{rank}(\mathbf{X}^\top) \le N < D .
# ```
#
# The other cause is a description that says something twice. The notes claim that in practice this is common, and three
# tables from the data that come with this book bear them out. Give each sex a column of its own, beside the column of ones:
# the two add up to it. Add all squares to the ten measurements: sex, coded as 1 or 2, has a square that is a line,
# $s^2 = 3s - 2$. Take the pixels of the handwritten digits: some at the border are blank in every picture. The control is
# the same claim about the tables with the superfluous columns removed.

# %%
x, _, _ = diabetes()
one, sex = np.ones((len(x), 1)), x[:, 1]
pixels = digits().x
tables = {  # the whole table, and its columns that can go
    'one column for each sex': (np.c_[one, sex == 1, sex == 2, x[:, 2:4]], 1),
    'all squares': (np.c_[one, x, x**2], 12),
    'pixels of digits': (pixels, pixels.max(axis=0) == 0),
}

def deficient(X):
    return matrix_rank(X / np.maximum(norm(X, axis=0), 1)) < X.shape[1]

def too_wide(X):
    rank, rows, columns = matrix_rank(X), *X.shape
    return rank == matrix_rank(X.T) and rank <= rows and rank < columns

holds('ml.ls.rank.practice',
      lambda name: deficient(tables[name][0]),
      control=lambda name: deficient(np.delete(*tables[name], axis=1)),
      name=list(tables))
holds('ml.ls.rank.wide',
      lambda seed, N: too_wide(problem(seed, N, 6, N)[0]),
      control=lambda seed, N: too_wide(problem(seed, N, 6, N)[0].T),
      seed=seeds(), N=[1, 3, 5], tries=60)

# %% [markdown]
# The minimizers can be listed completely. If $\hat{\mathbf{w}}$ is one, the others are
# $\hat{\mathbf{w}} + \mathbf{u}$ with $\mathbf{X}\mathbf{u} = \mathbf{0}$: all of them make the *same predictions*, and
# they are the floor of the valley. The shortest, $\mathbf{X}^+\mathbf{y}$, is the one at right angles to the floor, in the
# span of the rows. Which one does an algorithm find? Gradient descent has a clear answer.
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
# Every gradient $-\frac1N\mathbf{X}^\top(\cdot)$ is a combination of rows, at right angles to the null space. So the null
# component of $\mathbf{w}_t$ never moves. Along $\mathbf{v}_i$ with $s_i > 0$ the distance to the minimum is multiplied by
# $1 - \eta s_i^2 / N$ in each step, a number strictly between $-1$ and 1. The nearest minimizer is the foot of the
# perpendicular from $\mathbf{w}_0$ to the floor, and the walk has moved perpendicular to the floor.
# ```

# %%
def descend(X, y, w, steps):  # -> (steps + 1, D)
    path, eta = [w], len(y) / (2 * norm(X, 2) ** 2)
    for _ in range(steps):
        path.append(path[-1] + eta * X.T @ (y - X @ path[-1]) / len(y))
    return np.array(path)

def lands_at(seed, null_part):
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.normal(size=(n, 2)))[0] for n in (6, 3))
    X, y, start = U * [1, 0.6] @ V.T, rng.normal(size=6), rng.normal(size=3)
    goal = V @ (U.T @ y / [1, 0.6]) + null_part(start, null_vector(X))
    return close(descend(X, y, start, 150)[-1], goal)

verify('descent lands at the minimizer nearest to its start',
       lambda seed: lands_at(seed, lambda w, u: u * (u @ w)),
       control=lambda seed: lands_at(seed, lambda w, u: 0),
       seed=seeds(), tries=30)

# %%
valley_X = np.array([[2., 1], [4, 2], [-2, -1]])
valley_y = np.array([3., 5, 0])
starts = np.array([[0., 0], [-1, 2], [2, 1.8]])
walks = [descend(valley_X, valley_y, start, 40) for start in starts]
shortest = np.linalg.pinv(valley_X) @ valley_y
floor = shortest + np.outer([-3, 3], null_vector(valley_X))  # (2, 2)
assert close(walks[0][-1], shortest)
print('from zero, descent finds the shortest solution:', shortest.round(2))

# %% mystnb={"figure": {"caption": "If the columns are dependent, the minimizers fill a line, and gradient descent ends at the one nearest to its start; from zero that is the shortest."}, "image": {"alt": "Contours of the loss over two weights are parallel lines beside a straight floor of minimizers. Three descent paths run perpendicular to the floor from three starts, each to another point of it; the one from zero ends at the point marked as shortest."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5, 3.3))
a, b = np.meshgrid(np.linspace(-2, 3, 90), np.linspace(-2, 2.6, 90))
misses = (valley_X @ np.stack([a.ravel(), b.ravel()])).T - valley_y
surface = (misses**2).mean(axis=1).reshape(a.shape) / 2
ax.contour(a, b, surface, 8, colors=GREY, linewidths=0.6, alpha=0.7)
ax.plot(*floor.T, color='C0', label='all minimizers')
for walk in walks:
    ax.plot(*walk.T, 'C1.-', lw=1.2)
ax.plot([], [], 'C1.-', label='descent')
ax.plot(*shortest, '*', color='C2', ms=12, label='shortest', zorder=4)
ax.set(xlabel='w₁', ylabel='w₂', xlim=(-2, 3), ylim=(-2, 2.6))
ax.set_aspect('equal')
ax.legend(loc='center left', bbox_to_anchor=(1, 0.5));

# %% [markdown]
# With more weights than examples and independent rows, every weight vector on the floor fits the data without any error, and
# the choice among them is made by the algorithm, silently. For linear models started at zero it is the shortest interpolant;
# much of the theory of overparametrized networks asks what takes its place there.
#
# ```{exercise} ★★ The shortest interpolant
# :label: ls-shortest
# Let $\mathbf{X}$ be wide ($N < D$) with independent rows. Show that the shortest $\mathbf{w}$ with $\mathbf{X}\mathbf{w} =
# \mathbf{y}$ is $\mathbf{X}^\top\mathbf{a}$ for some $\mathbf{a}$, and write `shortest_interpolant(X, y)` by a QR
# decomposition of $\mathbf{X}^\top$, without forming a Gram matrix.
# ```

# %%
def shortest_interpolant(X, y):
    raise NotImplementedError('your turn')

# %%
def by_pseudoinverse(X, y):
    return np.linalg.pinv(X) @ y

wide_rng = np.random.default_rng(3)
wide_cases = [(wide_rng.normal(size=(n, d)), wide_rng.normal(size=n))
              for n, d in ((1, 2), (2, 5), (4, 6))]
grade(shortest_interpolant, by_pseudoinverse, wide_cases)

# %% [markdown]
# ```{solution-start} ls-shortest
# :class: dropdown
# ```
# Split $\mathbf{w}$ into its part in the span of the rows and a null part. The null part does not change
# $\mathbf{X}\mathbf{w}$ and by Pythagoras only adds length, so it is zero in the shortest: $\mathbf{w} =
# \mathbf{X}^\top\mathbf{a}$. With $\mathbf{X}^\top = \mathbf{Q}\mathbf{R}$ the rows are spanned by $\mathbf{Q}$; put
# $\mathbf{w} = \mathbf{Q}\mathbf{c}$, and $\mathbf{y} = \mathbf{R}^\top\mathbf{Q}^\top\mathbf{Q}\mathbf{c} =
# \mathbf{R}^\top\mathbf{c}$. The wrong answer interpolates with the first $N$ columns alone.

# %% jupyter={"source_hidden": true}
def shortest_interpolant_solution(X, y):
    Q, R = np.linalg.qr(X.T)
    return Q @ solve_triangular(R, y, trans=1)

def first_columns(X, y):
    w = np.linalg.solve(X[:, :len(y)], y)
    return np.append(w, np.zeros(X.shape[1] - len(y)))

assert grade(shortest_interpolant_solution, by_pseudoinverse, wide_cases)
assert not grade(first_columns, by_pseudoinverse, wide_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## An iteration that only multiplies
#
# This section continues [The nearest point](#the-nearest-point), whose solvers it competes with. A table with a million
# rows and a hundred thousand columns, mostly zeros, cannot be factored: $\mathbf{Q}$ would have no zeros. But
# $\mathbf{X}\mathbf{p}$ and $\mathbf{X}^\top\mathbf{r}$ are cheap. What can be done with products alone? Gradient descent
# needs nothing else, but it is slow. After $k$ steps it has seen the vectors $\mathbf{G}^i\mathbf{X}^\top\mathbf{y}$,
# $i < k$, with $\mathbf{G} = \mathbf{X}^\top\mathbf{X}$, and it uses one particular combination of them. *Conjugate
# gradients* {cite}`hestenes1952methods` use the best one: $\mathbf{w}_k$ is the minimizer of the loss over the whole
# *Krylov space* $\mathcal{K}_k = \operatorname{span}\{\mathbf{X}^\top\mathbf{y}, \mathbf{G}\mathbf{X}^\top\mathbf{y}, \dots,
# \mathbf{G}^{k-1}\mathbf{X}^\top\mathbf{y}\}$.
#
# Minimizing anew over a growing space sounds expensive. It is not, if each new direction $\mathbf{p}$ is chosen such that
# $\mathbf{X}\mathbf{p}$ is at right angles to all earlier $\mathbf{X}\mathbf{p}_i$ ("conjugate"). For then the columns
# $\mathbf{X}\mathbf{p}_i$ are orthogonal, and the coefficient of each is found alone, once and for all:
# $\alpha = \mathbf{r} \cdot \mathbf{q} / \|\mathbf{q}\|^2$ with $\mathbf{q} = \mathbf{X}\mathbf{p}$ and the current residual
# $\mathbf{r}$. The new direction is the gradient $\mathbf{s} = \mathbf{X}^\top\mathbf{r}$, made conjugate. Here is the small
# miracle. By the minimality $\mathbf{s}$ is at right angles to $\mathcal{K}_k$. The directions so far are
# $\mathbf{p}_0, \dots, \mathbf{p}_{k-1}$ with $\mathbf{p}_i \in \mathcal{K}_{i+1}$, so
# $\mathbf{G}\mathbf{p}_i \in \mathcal{K}_{i+2}$, which is inside $\mathcal{K}_k$ for all but the *last* of them. Hence
# $\mathbf{X}\mathbf{s} \cdot \mathbf{X}\mathbf{p}_i = \mathbf{s} \cdot \mathbf{G}\mathbf{p}_i = 0$ for $i \le k - 2$: the
# gradient is conjugate to them already, and one correction, by a multiple of the last direction, is enough. Its coefficient
# comes from $\mathbf{G}\mathbf{p} = (\mathbf{s}_{\text{old}} - \mathbf{s}) / \alpha$ and
# $\mathbf{s} \cdot \mathbf{s}_{\text{old}} = 0$: the new direction is $\mathbf{s} + \beta\mathbf{p}$ with
# $\beta = \|\mathbf{s}\|^2 / \|\mathbf{s}_{\text{old}}\|^2$. In the same way $\alpha = \|\mathbf{s}\|^2 / \|\mathbf{q}\|^2$.
# (`stored`, how a vector is kept, matters in the next part only.)

# %%
TINY = np.finfo(float).tiny  # so that an exact solution may stay where it is

def cgls(X, y, steps, stored=np.asarray):  # -> (steps + 1, D), from zero
    path, r = [np.zeros(X.shape[1])], y
    p = s = stored(X.T @ r)
    for _ in range(steps):
        q = stored(X @ p)
        alpha = s @ s / (q @ q + TINY)
        path.append(stored(path[-1] + alpha * p))
        r = stored(r - alpha * q)
        old, s = s, stored(X.T @ r)
        p = s + s @ s / (old @ old + TINY) * p
    return np.array(path)

# %% [markdown]
# The product $\mathbf{X}^\top\mathbf{X}$ is never formed. The residual $\mathbf{r}$ is kept as a vector of its own, and
# this version of conjugate gradients on the normal equations is called CGLS. Its twin LSQR {cite}`paige1982lsqr` makes
# orthonormal bases of both sides, one vector of each per step, and has the same iterates in exact arithmetic; scipy's is the
# oracle, step by step. Brute force over the Krylov space is another. The control forgets the conjugation and takes the
# gradients as they come (*steepest descent*).

# %%
def random_problem(seed, kappa, N=30, D=8):  # singular values 1 to 1 / kappa
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.normal(size=(n, D)))[0] for n in (N, D))
    s = kappa ** -np.linspace(0, 1, D)
    return U * s @ V.T, rng.normal(size=N)

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

# %%
def as_library(seed, k, method):
    X, y = random_problem(seed, kappa=10)
    w = method(X, y, k)[-1]
    # rounding, which conjugacy amplifies
    return (close(w, by_scipy(X, y, k), atol=3e-7, rtol=0)
            and close(w, over_krylov(X, y, k), atol=3e-7, rtol=0))

def arrives(seed, steps):  # after D steps
    X, y = random_problem(seed, kappa=10)
    return close(cgls(X, y, steps)[-1], by_qr(X, y), atol=3e-7, rtol=0)

verify('CGLS takes the steps of LSQR, each the best in its Krylov space',
       lambda seed, k: as_library(seed, k, cgls),
       control=lambda seed, k: as_library(seed, k, steepest),
       seed=seeds(), k=[1, 2, 3, 5, 8], tries=60)
verify('eight steps for eight weights', lambda seed: arrives(seed, 8),
       control=lambda seed: arrives(seed, 7), seed=seeds(), tries=40)

# %% [markdown]
# Nobody makes a hundred thousand steps. The point is how much earlier one may stop.
#
# ```{prf:theorem} The rate of conjugate gradients
# :label: thm-ls-cg
# Let $\mathbf{X}$ have rank $D$ and condition number $\kappa = s_1 / s_D > 1$. With $\mathbf{w}_0 = \mathbf{0}$,
#
# $$\|\mathbf{X}(\mathbf{w}_k - \mathbf{w}^*)\| \le 2 \Big( \frac{\kappa - 1}{\kappa + 1} \Big)^k \|\mathbf{X}\mathbf{w}^*\| .$$
# ```
#
# ```{prf:proof}
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
# the condition number $\kappa^2$ ([Gradient descent](../optimization/gradient_descent.ipynb)). For $\kappa = 100$ that
# is $\frac12 \cdot 100^2 \ln 10 \approx 11{,}500$ steps for one digit against $\frac12 \cdot 100 \ln 10 \approx 115$.
# The control of the check takes the root of $\kappa$ once too often, as whoever remembers the formula for symmetric
# systems is tempted to.

# %%
def fitted_error(path, X, y):  # relative, in the predictions
    best = by_qr(X, y)
    return norm((path - best) @ X.T, axis=1) / norm(X @ best)

def bound(k, kappa):
    return 2 * ((kappa - 1) / (kappa + 1)) ** k

def within(seed, kappa, rate):
    X, y = random_problem(seed, kappa, N=80, D=60)
    error = fitted_error(cgls(X, y, 20), X, y)
    return (error <= bound(np.arange(21), rate) + 1e-13).all()

verify('CGLS keeps to the rate (κ - 1) / (κ + 1)',
       lambda seed, kappa: within(seed, kappa, kappa),
       control=lambda seed, kappa: within(seed, kappa, np.sqrt(kappa)),
       seed=seeds(), kappa=[2, 10, 100], tries=40)

def plain_descent(X, y, steps):
    path, eta = [np.zeros(X.shape[1])], 2 / (norm(X, 2)**2 + norm(X, -2)**2)
    for _ in range(steps):
        path.append(path[-1] + eta * X.T @ (y - X @ path[-1]))
    return np.array(path)

# %%
race_X, race_y = random_problem(5, kappa=20, N=80, D=60)
race = {f.__name__: fitted_error(f(race_X, race_y, 90), race_X, race_y)
        for f in (cgls, plain_descent)}
assert race['cgls'][90] < 1e-7 and race['plain_descent'][90] > 0.1
slow = (20**2 - 1) / (20**2 + 1)
tail = race['plain_descent'][90] / race['plain_descent'][89]
print(f'factor per step of descent {tail:.3f}, in theory at most {slow:.3f}')

# %% [markdown]
# **Stopping early on real data.** On the 442 patients of [Linear regression](linear_regression.ipynb) let the ten
# measurements be joined by their 55 squares and products. For $442 - 110 = 332$ patients, 65 weights are many: the
# exact least-squares solution (the shortest one, since the square of sex is superfluous) fits noise. CGLS finds the
# directions with large $s_i$, along which the data speak clearly, in its first steps, and fits the noise later. So its
# number of steps is a dial. We turn it by the rules: means and standard deviations come from the training part, the
# number of steps is chosen on a quarter of the training part, which is not fitted, and the 110 test patients see the
# result once. The baseline is step 0, which predicts the mean.

# %%
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

# %%
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

# %% mystnb={"figure": {"caption": "Left: at $\\kappa = 20$ conjugate gradients keep to their bound and outrun gradient descent. Right: on test patients a few steps on 65 columns beat their exact solution, but not ten plain columns."}, "image": {"alt": "Left: error in the predictions on a logarithmic scale against the step: CGLS falls steeply, below its bound, plain gradient descent slowly, from one to less than a half. Right: error on test patients against the step of CGLS, with a band over splits: it falls from 78 to about 57 within a few steps, then creeps up towards the exact solution, a dashed line near 63; a dashed line near 55 is the exact solution on ten columns."}} tags=["hide-input"]
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

# %% [markdown]
# The exact solution on 65 columns gives back over a third of what the plain ten had gained over the mean. Stopping early
# recovers two thirds of that loss without a penalty term ever being written. (It does the work of one; *ridge regression*
# is the penalty that is named.) It does not beat the ten plain columns here: the products carry little.
#
# ```{exercise} ★★★ A random ruler
# :label: ls-sketch
# With $\kappa = 10^6$ the bound allows CGLS millions of steps, and rounding spoils the promise of $D$ steps; on the
# problems below sixty are far too few. Change the variables: if $\mathbf{R}$ is triangular and $\mathbf{X}\mathbf{R}^{-1}$
# is well conditioned, solve for $\mathbf{z} = \mathbf{R}\mathbf{w}$ by CGLS. The $\mathbf{R}$ of $\mathbf{X}$ itself would
# be perfect, and as expensive as the solution. Take the one of a *sketch*: multiply $\mathbf{X}$ from the left by a random
# matrix with $4D$ rows of standard normal numbers and decompose that small product. Write `sketched(X, y)` with at most 60
# steps.
# ```

# %%
def sketched(X, y):
    raise NotImplementedError('your turn')

# %%
def predictions_of(solve):  # the weights themselves are not so well determined
    return lambda X, y: X @ solve(X, y)

sketch_cases = [random_problem(k, 1e6, N=300, D=20) for k in range(3)]
for X, y in [random_problem(k, 1e6, N=300, D=20) for k in range(3)]:
    X[:-1, -1] = 0  # only the last row knows this weight
    sketch_cases.append((X, y))
grade(predictions_of(sketched), predictions_of(by_qr), sketch_cases)

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
# {cite}`avron2010blendenpik`. The wrong answer does not change the variables.

# %% jupyter={"source_hidden": true}
def sketched_solution(X, y):
    S = np.random.default_rng(0).normal(size=(4 * X.shape[1], len(X)))
    R = np.linalg.qr(S @ X, 'r')
    Z = solve_triangular(R, X.T, trans=1).T  # X R^-1
    return solve_triangular(R, cgls(Z, y, 60)[-1])

def without_ruler(X, y):
    return cgls(X, y, 60)[-1]

truth = predictions_of(by_qr)
assert grade(predictions_of(sketched_solution), truth, sketch_cases)
assert not grade(predictions_of(without_ruler), truth, sketch_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## How many digits are left
#
# This section continues [An iteration that only multiplies](#an-iteration-that-only-multiplies), which now runs against the
# three direct solvers. Columns need not be dependent to make trouble; it is enough that they are *nearly* so. Let
# $\mathbf{a}$, $\mathbf{b}$, $\mathbf{z}$ be independent, and let the columns be $\mathbf{a}$, $\mathbf{b}$ and
# $\mathbf{a} + \mathbf{b} + \epsilon\,\mathbf{z}$ with a small $\epsilon > 0$. Then the direction $\mathbf{u} = (1, 1, -1)$
# is shrunk to $\mathbf{X}\mathbf{u} = -\epsilon\,\mathbf{z}$, so $s_3 \le \epsilon\|\mathbf{z}\| / \sqrt3$. It is of no
# smaller order: $\mathbf{X} = [\mathbf{a}\ \mathbf{b}\ \mathbf{z}]\,\mathbf{M}$ with a matrix $\mathbf{M}$ whose inverse
# has the columns $\mathbf{e}_1$, $\mathbf{e}_2$ and $(-1, -1, 1) / \epsilon$, so $s_3$ is at least the least singular value
# of $[\mathbf{a}\ \mathbf{b}\ \mathbf{z}]$ divided by $\sqrt{2 + 3 / \epsilon^2}$. And $s_1$ stays. So the condition number
# grows like $1/\epsilon$, and that of the Gram matrix like its square:
#
# ```{math}
# :label: ml.ls.rank.collinear
# \kappa(\mathbf{X}) = \frac{s_1}{s_3} , \qquad
# \kappa(\mathbf{X}^\top\mathbf{X}) = \frac{s_1^2}{s_3^2} = \kappa(\mathbf{X})^2 .
# ```
#
# **What this costs in the weights.** Let each operation make a relative error of the order of $\varepsilon \approx 2 \cdot
# 10^{-16}$. The computed Gram matrix is $\mathbf{G} + \mathbf{E}$ with $\|\mathbf{E}\| \approx \varepsilon s_1^2$. From
# $(\mathbf{G} + \mathbf{E})(\mathbf{w} + \boldsymbol\delta) = \mathbf{G}\mathbf{w}$ follows, to first order,
# $\boldsymbol\delta = -\mathbf{G}^{-1}\mathbf{E}\mathbf{w}$, and the largest part of it points along $\mathbf{v}_D$:
#
# ```{math}
# :label: ls-gram-error
# \|\boldsymbol\delta\| \approx \frac{\varepsilon s_1^2}{s_D^2}\, \|\mathbf{w}\| = \varepsilon\kappa^2\, \|\mathbf{w}\| .
# ```
#
# Half of the digits are gone at $\kappa = 10^4$, and all of them at $1/\sqrt{10^{-16}} = 10^8$. Factorizations of
# $\mathbf{X}$ itself are backward stable. Their errors are those that a relative change $\varepsilon$ of the *data*
# would cause, which by {eq}`qr-sensitivity` is $\varepsilon\kappa$ if the fit is nearly exact, and has a term
# $\varepsilon\kappa^2$ times the relative residual if it is not. The page on
# [QR](../linear_algebra/qr_decomposition.ipynb) compares the two cases.
#
# **What it costs in the predictions.** Here is what that page does not show. The error {eq}`ls-gram-error` points along
# $\mathbf{v}_D$, the direction which $\mathbf{X}$ shrinks to $s_D$. So the predictions are off by only
#
# ```{math}
# :label: ls-fit-error
# \|\mathbf{X}\boldsymbol\delta\| \approx s_D \cdot \varepsilon\, \frac{s_1^2}{s_D^2}\, \|\mathbf{w}\| = \varepsilon\kappa \cdot s_1\|\mathbf{w}\| .
# ```
#
# The weights may be worthless while the fit looks perfect, and nothing in the residual gives a warning.
#
# To measure all this we need problems with a solution that is known to the last bit. Take integers for the columns, a power
# of two for $\epsilon$ and integers for $\mathbf{w}$: then $\mathbf{X}\mathbf{w}$ is computed without any rounding. And
# measure everything twice, with opposite mistakes $\mathbf{c}$ and $-\mathbf{c}$: the right side
# $(\mathbf{X}\mathbf{w} + \mathbf{c}, \mathbf{X}\mathbf{w} - \mathbf{c})$ has a residual that is at right angles to the
# columns of the doubled matrix, exactly.

# %%
def collinear(seed, k, noise):  # epsilon = 2^-k -> X (16, 3), y, true w
    rng = np.random.default_rng(seed)
    a, b, z = rng.integers(-9999, 10_000, (3, 8))
    X = np.stack([a, b, a + b + z * 2.0**-k], axis=1)
    w, c = np.array([1, -2, 3]), noise * rng.integers(-9999, 10_000, 8)
    return np.vstack([X, X]), np.r_[X @ w + c, X @ w - c], w

def exact_in_integers(seed, k):  # the same, without rounding
    X, y, w = collinear(seed, k, noise=1)
    X, y = ([int(v * 2**k) for v in A.ravel()] for A in (X, y))
    X, w = np.array(X, dtype=object).reshape(16, 3), np.array(w, dtype=object)
    return (X.T @ (np.array(y, dtype=object) - X @ w) == 0).all()

checked = [exact_in_integers(seed, k) for seed in range(5) for k in (0, 36)]
print('the solution is exact:', all(checked))

# %%
def condition_grows(seed, power):  # log-log slope against 1 / epsilon
    X = [collinear(seed, k, noise=0)[0] for k in (8, 10, 12)]
    kappa = np.log2([cond(x) for x in X])
    gram = np.log2([cond(x.T @ x) for x in X])
    slope = np.polyfit((8, 10, 12), kappa, 1)[0]
    # rounding of 1e-16 changes a Gram matrix's κ² by the share 1e-16 κ²
    return abs(slope - 1) < 0.05 and close(gram, power * kappa, rtol=1e-7)

holds('ml.ls.rank.collinear', lambda seed: condition_grows(seed, 2),
      control=lambda seed: condition_grows(seed, 1), seed=seeds(), tries=60)

# %% [markdown]
# Now the race. Forty such problems for each $\epsilon$, four solvers, and two errors each, relative to $\|\mathbf{w}\|$ and
# to $\|\mathbf{X}\mathbf{w}\|$. CGLS, which without rounding would be done after three steps, gets twenty: rounding spoils
# the conjugacy, and the iteration needs some extra steps to repair it. Where one of the forty Gram matrices, as stored, is
# not positive definite, it has no Cholesky factor, and the normal equations are out of the race.

# %%
def by_cgls(X, y, stored):
    return cgls(X, y, 20, stored)[-1]

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
    return 10 ** np.array([np.mean([np.log10(cond(collinear(seed, k, 0)[0]))
                                    for seed in range(40)]) for k in levels])

solvers = {'normal equations': by_gram, 'QR': by_qr, 'SVD': by_svd,
           'CGLS': by_cgls}
levels = np.arange(6, 22)  # kappa from 10^2 to 10^7
digits_lost = {(name, noise): np.array([lost(f, k, noise, np.asarray)
                                        for k in levels])
               for name, f in solvers.items() for noise in (0, 1)}

# %%
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
       control=lambda name, noise: exponents(
           name, noise, dict.fromkeys(solvers, 2)),
       name=list(solvers), noise=[0, 1])

# %%
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

# %% [markdown]
# The last digits of a sum depend on the order in which a processor adds. For a picture that is the same everywhere, we
# therefore *store* the matrices of each solver (of CGLS: its vectors) and its result in single precision, 24 binary digits,
# and compute all else in double precision, as good as exact beside that. The $\varepsilon$ of the formulas is then
# $2^{-24} \approx 6 \cdot 10^{-8}$.

# %%
def single(a):
    return np.float32(a).astype(float)

fine = np.arange(19)
kappas = condition(fine)
drawn = {name: np.array([lost(f, k, 0, single) for k in fine])
         for name, f in solvers.items()}

# %% mystnb={"figure": {"caption": "For an exact fit, stored in single precision, the error of the normal equations grows like $\\kappa^2$ in the weights and $\\kappa$ in the predictions; QR, SVD and CGLS save one power of $\\kappa$ in both."}, "image": {"alt": "Errors against the condition number for an exact fit, stored in single precision, both axes logarithmic. Left, weights: the normal equations climb with slope two and break off near a condition number of 4000, where Cholesky's method fails; QR, SVD and CGLS climb together with slope one. Right, predictions: the normal equations climb with slope one, the other three stay level near rounding."}} tags=["hide-input"]
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

# %% [markdown]
# The picture shows exact fits. There the exponents are those of {eq}`ls-gram-error` and {eq}`ls-fit-error` for the normal
# equations, and one less in the weights for the three methods that never square. In the predictions these three lose
# nothing. With a residual of about a quarter of the fit the check finds $\kappa^2$ in the weights and $\kappa$ in the
# predictions for *all four*: what the data do not determine, no algorithm can. Only the normal equations lose it always,
# and where $\varepsilon\kappa^2$ has passed one they often give no answer at all.
#
# **Rounding and noise are made alike.** The same small $s_D$ magnifies the noise of the data. Let $\mathbf{y} =
# \mathbf{X}\mathbf{w} + \mathbf{e}$ with independent errors of mean zero and variance $\sigma^2$. Then
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
# along $\mathbf{v}_i$ the weights have the variance $\sigma^2 / s_i^2$. In double precision, noise does the damage long
# before rounding does: noise of one percent along $\mathbf{u}_D$ is blown up to the size of $\mathbf{w}$ at
# $\kappa = 1/0.01 = 100$, where even the normal equations have lost only four of their sixteen digits. Better
# arithmetic does not help there; *less freedom* does, by stopping early as above, or by a penalty. The check draws 4000
# data sets; a variance estimated from them has the relative standard error $\sqrt{2/4000}$, and five of those are
# allowed.

# %%
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
       control=lambda seed, sigma: spreads_like(seed, sigma, 1),
       seed=seeds(), sigma=[0.5, 3.0], tries=20)

# %% [markdown]
# ## Summary
#
# The best weights are those whose residual is at right angles to every column; the loss is convex because the Gram matrix
# $\mathbf{X}^\top\mathbf{X}$ is positive semidefinite, and its minimizer is unique exactly if the columns are independent,
# while otherwise the shortest one, $\mathbf{X}^+\mathbf{y}$, is what descent from zero finds. The normal equations cost
# $\kappa^2$ rounding errors in the weights where QR, SVD and an iteration made of products cost $\kappa$ for a good fit,
# and the predictions hide it by one power of $\kappa$. For each digit, conjugate gradients need at most about $\kappa$
# steps where descent may need $\kappa^2$, and on real patients a handful of steps on 65 columns predicts better than the
# exact solution.
#
# **Further reading.** {cite}`bjorck1996numerical` is the book on the numerical side, {cite}`trefethen1997numerical`,
# lectures 11, 18, 19 and 38, the most readable account of it; {cite}`paige1982lsqr` is LSQR; {cite}`hastie2009elements`,
# chapter 3, has the statistics.
