# ---
# jupyter:
#   book:
#     functions:
#       projected_gd: "projected_gd(lambda w: w - 2, lambda w: w.clip(-1, 1), np.asarray(normal(3)), 0.1, 5)"
#     main: ml.opt.pgd.update
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Projected gradient descent and constraints
#
# Two handwritten digits are superposed in one picture, and we want to know in which proportions. Least squares answers with
# negative proportions, which make no sense. So we look for the lowest loss among the *permitted* weights only. How can
# gradient descent respect such constraints, how do you recognize the best permitted point, and what does a constraint cost?
#
# - **You need** [convex sets](convex_sets.ipynb), above all projections and their obtuse angles, and [gradient
#   descent](gradient_descent.ipynb).
# - **You build** projected gradient descent, Lagrange multipliers and a test for them, penalties, the method of multipliers,
#   and a program that takes superposed digits apart.
# - **Runs in** 8 seconds.

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
from numpy.linalg import eigvalsh, norm, solve
from scipy.optimize import brentq, linprog, minimize, nnls

from nbutils import data
from nbutils.cases import distributions, integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import below, close, grade, holds, verify
from nbutils.figures import GREY, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## Projected gradient descent: take a step, then project
#
# We fit two weights to 20 examples by least squares. The weights must lie in the disc $\|\mathbf{w}\| \le 1$, but the free
# minimum lies outside:

# %%
def least_squares(seed, N=20, n=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, n))
    return X, X @ [1.5, 0.8] + 0.5 * rng.normal(size=N)

X, y = least_squares(4)
free = np.linalg.lstsq(X, y)[0]
print(f'minimum without the constraint: {free.round(3)},',
      f'length {norm(free):.2f}')

# %% [markdown]
# **Projected gradient descent** minimizes a loss over a closed convex set $C$. Each step has two halves: take the
# step as if there were no constraint, then go to the nearest point of $C$.
#
# ```{math}
# :label: ml.opt.pgd.update
# \mathbf{w}^{(t+1)} := P_C \big( \mathbf{w}^{(t)} - \gamma \nabla \mathcal{L}(\mathbf{w}^{(t)}) \big)
# ```
#
# ```{math}
# :label: ml.opt.pgd.projection
# P_C(\mathbf{w}') := \operatorname*{arg\,min}_{\mathbf{v} \in C} \|\mathbf{v} - \mathbf{w}'\|
# ```

# %%
def projected_gd(grad, project, w, gamma, T):
    path = [w]
    for _ in range(T):
        w = project(w - gamma * grad(w))
        path.append(w)
    return np.array(path)  # (T + 1, ...)

# %% [markdown]
# For the disc the projection is simple. A vector that is longer than 1 is divided by its length:

# %%
def to_ball(w):
    return w / max(norm(w), 1)

def full_gradient(w):
    return X.T @ (X @ w - y) / len(y)

def loss(w):
    return ((X @ w - y) ** 2).mean() / 2

# %%
start = np.array([0.55, -0.8])
path = projected_gd(full_gradient, to_ball, start, 0.3, 12)
print('step       w         length     loss')
for t in (0, 1, 2, 4, 12):
    w = path[t]
    print(f'{t:3}  ({w[0]:.3f}, {w[1]:6.3f})  {norm(w):.3f}  {loss(w):9.5f}')
w = to_ball(free)
print(f'     ({w[0]:.3f}, {w[1]:6.3f})  {norm(w):.3f}  {loss(w):9.5f}',
      ' free minimum, projected')

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: tip
# "Minimize without the constraint and project once, at the end." The last row shows the result: it is permitted, but it is
# not the best permitted point, because its loss is higher than after twelve projected steps. Once the constraint holds one
# direction back, the others should change as well.
# :::

# %% mystnb={"image": {"alt": "Contours of a least-squares loss whose minimum lies outside a shaded disc. Left: plain descent leaves the disc for the minimum; projected descent reaches the rim, slides along it and stops where the rim touches a contour. Right: the iterates of projected stochastic descent scatter along the rim and inside, around that point, and do not settle."}} tags=["hide-input"]
paths = {
    'plain': projected_gd(full_gradient, lambda w: w, start, 0.3, 12),
    'projected': path,
}
picks = iter(np.random.default_rng(0).integers(len(y), size=400))
one = lambda w: (lambda i: X[i] * (X[i] @ w - y[i]))(next(picks))
paths['stochastic'] = projected_gd(one, to_ball, start, 0.3, 400)

def solver(A, b, g, kind='ineq'):  # min w'Aw/2 - b'w with g(w) >= 0
    return minimize(
        lambda w: w @ A @ w / 2 - b @ w, np.full(len(b), 0.1),
        jac=lambda w: A @ w - b, method='SLSQP',
        options={'ftol': 1e-15},  # which leaves a distance of some 3e-8
        constraints={'type': kind, 'fun': g}).x

def optimum(X, y):  # in the ball of radius 1
    return solver(X.T @ X / len(y), X.T @ y / len(y), lambda w: 1 - w @ w)

best = optimum(X, y)
fig, axes = panels(2, height=2.9, sharey=True)
u, v = np.meshgrid(np.linspace(-1.3, 2.1, 120), np.linspace(-1.3, 1.5, 120))
heights = ((X @ np.stack([u, v]).reshape(2, -1) - y[:, None]) ** 2).mean(0) / 2
for ax in axes:
    ax.contour(u, v, heights.reshape(u.shape), 14, colors=GREY, linewidths=0.5)
    ax.add_patch(plt.Circle((0, 0), 1, color='C0', alpha=0.25, lw=0))
    ax.set(aspect='equal', xlabel='w₁')
axes[0].plot(*paths['plain'].T, 'o-', ms=3, lw=1.2, color='C4')
axes[0].plot(*paths['projected'].T, 'o-', ms=4, color='C2')
axes[1].plot(*paths['stochastic'].T, 'o', ms=3, alpha=0.4, color='C2')
axes[1].plot(*best, 'x', ms=9, mew=2.5, color='C1')
axes[0].text(1.1, 0.95, 'plain', color='C4')
axes[0].text(0.55, -0.3, 'projected', color='C2', ha='right')
axes[1].text(1.05, 0.6, 'optimum', color='C1')
axes[0].set(ylabel='w₂', title='GD + projection')
axes[1].set(title='SGD + projection');

# %% [markdown] tags=["caption"]
# Left: projected descent slides along the rim and stops at the constrained optimum. Right: with one example a step and a
# fixed step size it hovers about that point, on the rim and inside.

# %% [markdown]
# Where does projected gradient descent stand still? Exactly at the solutions:
#
# ````{prf:theorem} Three ways to be optimal
# :label: thm-constrained-optimum
# Let $C$ be closed and convex, $f$ convex and differentiable, $\mathbf{w}^* \in C$ and $\gamma > 0$. The following
# are equivalent: (i) $\mathbf{w}^*$ minimizes $f$ over $C$; (ii) no permitted direction leads down,
# ```{math}
# :label: pgd-variational
# \nabla f(\mathbf{w}^*) \cdot (\mathbf{z} - \mathbf{w}^*) \ge 0 \quad \text{for all } \mathbf{z} \in C;
# ```
# (iii) projected descent stands still, $\mathbf{w}^* = P_C(\mathbf{w}^* - \gamma \nabla f(\mathbf{w}^*))$.
# ````
#
# ```{prf:proof}
# :class: dropdown
# (i) ⇒ (ii): on the segment from $\mathbf{w}^*$ to $\mathbf{z}$, which is permitted, $f$ starts with slope
# $\nabla f(\mathbf{w}^*) \cdot (\mathbf{z} - \mathbf{w}^*)$, and a negative one would lead below the minimum. (ii) ⇒
# (i): a convex function lies above its tangents,
# $f(\mathbf{z}) \ge f(\mathbf{w}^*) + \nabla f(\mathbf{w}^*) \cdot (\mathbf{z} - \mathbf{w}^*) \ge f(\mathbf{w}^*)$.
# (ii) ⇔ (iii): with $\mathbf{x} = \mathbf{w}^* - \gamma \nabla f(\mathbf{w}^*)$, (ii) says
# $(\mathbf{x} - \mathbf{w}^*) \cdot (\mathbf{z} - \mathbf{w}^*) \le 0$ for all $\mathbf{z} \in C$, which by
# {prf:ref}`thm-obtuse-angle` means $\mathbf{w}^* = P_C(\mathbf{x})$.
# ```
#
# The gradient itself need not be zero at a constrained minimum. There is a stochastic version, too.
# Projected gradient descent
# is gradient descent with a projection after each step, projected SGD is SGD with such a projection, and in general only
# the first stands still at $\mathbf{w}^*$. Projected SGD is not even right on average: the mean of the stochastic steps is
# the full step, but the mean of their projections is not its projection, because the mean of different points of the disc
# lies strictly inside.

# %%
steps = best - 0.5 * (X @ best - y)[:, None] * X  # (20, 2): one per example
landed = np.array([to_ball(step) for step in steps])
print(f'length of the optimum: {norm(best):.2f}, '
      f'of the mean of the projected steps: {norm(landed.mean(0)):.2f}')

# %% [markdown]
# So with a fixed step size projected SGD stays in motion about the optimum (figure, right). For it to settle, its steps must
# shrink, as in [stochastic gradient descent](stochastic_gradient_descent.ipynb).

# %% [markdown]
# ```{exercise} ★ Program: no negative weights
# :label: pgd-nonnegative
# Write `nonnegative_ls(X, y)`, the $\mathbf{w} \ge \mathbf{0}$ with the smallest $\|\mathbf{X}\mathbf{w} - \mathbf{y}\|$,
# by projected descent. The step $1/L$ with $L$ the largest eigenvalue of $\mathbf{X}^\top \mathbf{X}$ and three hundred
# steps will do. The grader compares with an active-set method, which is exact; solvers from `scipy` are ruled out for you.
# ```

# %%
def nonnegative_ls(X, y):
    """The least-squares weights without negative entries: a float array (n,).

    X: float array (N, n), N >= n >= 1; its largest singular value is at most
    four times its smallest. y: float array (N,).
    nonnegative_ls(np.eye(2), np.array([3.0, -1.0])) is array([3., 0.]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_active_set(X, y):
    return nnls(X, y)[0]

def tables(n):
    X = matrices((n, 6), n, -3, 3, edges=True)
    return X.filter(lambda X: np.linalg.cond(X) <= 4)

cases = dict(
    X=integers(1, 3).flatmap(tables),
    y=lambda X: vectors(len(X), -5, 5, edges=True),
)
demands = dict(tries=40, atol=1e-5, without=(
    'scipy.optimize.nnls', 'scipy.optimize.lsq_linear', 'scipy.optimize.minimize'))
grade(nonnegative_ls, by_active_set, **cases, **demands)

# %% [markdown]
# ```{solution-start} pgd-nonnegative
# :class: dropdown
# ```
# The projection onto $\mathbf{w} \ge \mathbf{0}$ cuts off what is negative. The first wrong answer solves without
# the constraint and cuts off afterwards. But once a weight is cut off, the others should have moved. The second takes the
# largest singular value for $L$, which is its square, and the third asks a solver.

# %% jupyter={"source_hidden": true}
def nonnegative_solution(X, y):
    gamma = 1 / eigvalsh(X.T @ X)[-1]
    return projected_gd(
        lambda w: X.T @ (X @ w - y), lambda w: np.maximum(w, 0),
        np.zeros(X.shape[1]), gamma, 300)[-1]

def solve_then_cut(X, y):
    return np.maximum(np.linalg.lstsq(X, y)[0], 0)

def wrong_step(X, y):
    return projected_gd(
        lambda w: X.T @ (X @ w - y), lambda w: np.maximum(w, 0),
        np.zeros(X.shape[1]), 1 / norm(X, 2), 300)[-1]

def by_a_solver(X, y):
    return nnls(X, y)[0]

assert grade(nonnegative_solution, by_active_set, **cases, **demands)
assert not grade(solve_then_cut, by_active_set, **cases, **demands)
assert not grade(wrong_step, by_active_set, **cases, **demands)
assert not grade(by_a_solver, by_active_set, **cases, **demands)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ### How fast is projected gradient descent?
#
# The projections cost no speed. On a quadratic with all eigenvalues of $\mathbf{A}$ between $\mu > 0$ and $L$, gradient
# descent multiplies the error by $\mathbf{I} - \gamma \mathbf{A}$ in each step. Now let $\mathbf{w}^*$ be the constrained
# optimum. It is a fixed point of the projected step, and projections do not expand ({prf:ref}`thm-nonexpansive`):
#
# $$
# \begin{aligned}
# \|\mathbf{w}^{(t+1)} - \mathbf{w}^*\|
# &= \big\| P_C\big(\mathbf{w}^{(t)} - \gamma \nabla f(\mathbf{w}^{(t)})\big) - P_C\big(\mathbf{w}^* - \gamma \nabla f(\mathbf{w}^*)\big) \big\| \\
# &\le \big\| (\mathbf{I} - \gamma \mathbf{A})(\mathbf{w}^{(t)} - \mathbf{w}^*) \big\| .
# \end{aligned}
# $$
#
# The eigenvalues of $\mathbf{I} - \gamma \mathbf{A}$ lie between $1 - \gamma L$ and $1 - \gamma \mu$, so with
# $\gamma = 2/(\mu + L)$ and $\kappa = L/\mu$
#
# ```{math}
# :label: pgd-contraction
# \|\mathbf{w}^{(t+1)} - \mathbf{w}^*\| \le \frac{\kappa - 1}{\kappa + 1} \, \|\mathbf{w}^{(t)} - \mathbf{w}^*\|,
# ```
#
# the same rate as without constraints. It can be better. Where a coordinate is held at its bound, its error is zero, and
# only the block $\mathbf{A}_{FF}$ of the free coordinates matters. Its eigenvalues lie between those of $\mathbf{A}$, so in
# the end the error shrinks by the factor $\max_i |1 - \gamma \lambda_i(\mathbf{A}_{FF})|$, which is no larger. We minimize
# random quadratics with $\kappa = 20$ over $\mathbf{w} \ge \mathbf{0}$ in eight dimensions, with $\gamma = 1/L$:

# %%
def quadratic(seed, n=3, kappa=5):  # A, b
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    return Q * np.linspace(1, kappa, n) @ Q.T, 3 * rng.normal(size=n)

def orthant_walk(seed, kappa=20, n=8):  # errors, two forecasts of the factor
    A, b = quadratic(seed, n, kappa)
    path = projected_gd(lambda w: A @ w - b, lambda w: np.maximum(w, 0),
                        np.ones(n), 1 / kappa, 1500)
    error = norm(path - path[-1], axis=1)
    free = path[-1] > 0
    return error, 1 - eigvalsh(A)[0] / kappa, \
        1 - eigvalsh(A[free][:, free])[0] / kappa

# %%
walks = {seed: orthant_walk(seed) for seed in (1, 7, 0)}
print('factor per step: measured, of the free block, of the whole matrix')
for error, whole, free in walks.values():
    measured = (error[60] / error[40]) ** (1 / 20)
    print(f'{measured:24.3f} {free:18.3f} {whole:21.3f}')

# %% [markdown]
# If $\mu = 0$, the loss may be flat in some directions. Then the errors need not shrink by a factor, but the loss still
# falls to its lowest value:
#
# ````{prf:theorem} Rate of projected descent
# :label: thm-pgd-rate
# Let $f$ be convex and $L$-smooth, and $\mathbf{w}^*$ minimize it over $C$. With $\gamma = 1/L$,
# ```{math}
# :label: pgd-one-over-t
# f(\mathbf{w}^{(t)}) - f(\mathbf{w}^*) \le \frac{L \, \|\mathbf{w}^{(0)} - \mathbf{w}^*\|^2}{2t} .
# ```
# ````
#
# ```{prf:proof}
# :class: dropdown
# Let $\mathbf{g} = \nabla f(\mathbf{w})$, $\mathbf{w}^+ = P_C(\mathbf{w} - \mathbf{g}/L)$ and $\mathbf{z} \in C$.
# {prf:ref}`thm-descent-lemma` and the tangent at $\mathbf{w}$ give $f(\mathbf{w}^+) \le f(\mathbf{w}) + \mathbf{g} \cdot
# (\mathbf{w}^+ - \mathbf{w}) + \frac L2 \|\mathbf{w}^+ - \mathbf{w}\|^2$ and $f(\mathbf{w}) \le f(\mathbf{z}) - \mathbf{g}
# \cdot (\mathbf{z} - \mathbf{w})$. The obtuse angle at $\mathbf{w}^+$ says $\mathbf{g} \cdot (\mathbf{w}^+ - \mathbf{z}) \le
# L (\mathbf{w} - \mathbf{w}^+) \cdot (\mathbf{w}^+ - \mathbf{z})$. Add all three:
#
# $$
# \begin{aligned}
# f(\mathbf{w}^+) - f(\mathbf{z})
# &\le L (\mathbf{w} - \mathbf{w}^+) \cdot (\mathbf{w}^+ - \mathbf{z}) + \tfrac L2 \|\mathbf{w}^+ - \mathbf{w}\|^2 \\
# &= \tfrac L2 \|\mathbf{w} - \mathbf{z}\|^2 - \tfrac L2 \|\mathbf{w}^+ - \mathbf{z}\|^2 .
# \end{aligned}
# $$
#
# With $\mathbf{z} = \mathbf{w}$, the loss never rises. With $\mathbf{z} = \mathbf{w}^*$, the right sides of $t$ steps
# telescope to at most $\frac L2 \|\mathbf{w}^{(0)} - \mathbf{w}^*\|^2$, while the left sides, each at least the last
# one, add up to at least $t \, (f(\mathbf{w}^{(t)}) - f(\mathbf{w}^*))$.
# ```
#
# Our test problem has 40 proportions and only 10 equations, so the loss is flat in many directions: minimize
# $\frac12 \|\mathbf{X}\mathbf{w} - \mathbf{y}\|^2$ over the simplex, $\mathbf{w} \ge \mathbf{0}$ with $\sum_i w_i = 1$.
# The projection onto the simplex subtracts the same number from all entries and cuts off what is negative
# ([convex sets](convex_sets.ipynb)):

# %%
def project_simplex(x):  # over the last axis of x
    u = -np.sort(-x, -1)
    level = (u.cumsum(-1) - 1) / np.arange(1, x.shape[-1] + 1)
    return np.maximum(x - level.max(-1, keepdims=True), 0)

# %% tags=["hide-input"]
def best_proportions(X, y):  # exact
    Y = np.vstack([X - y[:, None], np.ones(X.shape[1])])
    v = nnls(Y, np.append(0 * y, 1))[0]
    return v / v.sum()

def gap_and_bound(seed, T=150, n=40):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(10, n)) + 1, 0.5 * rng.normal(size=10) + 1
    f = lambda W: ((W @ X.T - y) ** 2).sum(-1) / 2
    L, goal = eigvalsh(X @ X.T)[-1], best_proportions(X, y)
    path = projected_gd(lambda w: X.T @ (X @ w - y), project_simplex,
                        np.full(n, 1 / n), 1 / L, T)
    t = np.arange(1, T + 1)
    bound = L * norm(path[0] - goal) ** 2 / (2 * t)
    return t, f(path[1:]) - f(goal), bound

# %%
t, gap, bound = gap_and_bound(1)
gaps = np.array([gap_and_bound(seed)[1] for seed in range(10)])
for k in (1, 10, 100):
    print(f'step {k:3}: loss above the lowest {gap[k - 1]:.3f},',
          f'bound {bound[k - 1]:.3f}')

# %% [markdown]
# :::{admonition} Where the exact solution comes from
# :class: dropdown
# Subtract $\mathbf{y}$ from each column of $\mathbf{X}$ to get $\mathbf{Y}$; on the simplex
# $\mathbf{X}\mathbf{w} - \mathbf{y} = \mathbf{Y}\mathbf{w}$. Let an exact non-negative solver minimize
# $\|\mathbf{Y}\mathbf{v}\|^2 + (\sum_i v_i - 1)^2$ over $\mathbf{v} \ge \mathbf{0}$. For $\mathbf{v} = s\mathbf{w}$ with
# $\mathbf{w}$ in the simplex and $q = \|\mathbf{Y}\mathbf{w}\|^2$ this is $s^2 q + (s - 1)^2$, smallest at $s = 1/(1 + q)$
# with the value $q / (1 + q)$, which is the smaller the smaller $q$ is. So the best $\mathbf{v}$, divided by its sum,
# is the best $\mathbf{w}$.
# :::

# %% mystnb={"image": {"alt": "Left: errors of three walks over the non-negative orthant on a logarithmic axis. After a short start the dots of each lie on a straight line, its prediction from the free block, steeper than the dashed bound for the whole matrix. Right: ten curves of excess loss over the simplex against the step on double logarithmic axes, all below the line of the bound 1/t."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
steps = np.arange(120)
for i, (error, whole, free) in enumerate(walks.values()):
    left.semilogy(steps[::8], error[:120:8], 'o', color=f'C{i}', ms=4)
    left.semilogy(error[40] * free ** (steps - 40.0), color=f'C{i}', lw=1)
left.semilogy(walks[1][0][0] * whole**steps, '--', color=GREY)
left.text(118, 0.5, 'bound, κ = 20', ha='right')
left.set(xlabel='step', ylabel='error', ylim=(1e-7, 9),
         title='strongly convex')
right.loglog(t, gaps.T, color='C0', lw=1, alpha=0.7)
right.loglog(t, bound, '--', color=GREY)
right.text(12, 5.5, 'bound 1/t')
right.set(xlabel='step', ylabel='excess loss', title='flat valleys');

# %% [markdown] tags=["caption"]
# Projections cost no speed. Left: over $\mathbf{w} \ge \mathbf{0}$ the error ends on the faster rate of the free
# coordinates. Right: without strong convexity the excess loss stays below a bound $1/t$.

# %% [markdown]
# ```{exercise} ★★ Pencil: how much is still to gain
# :label: pgd-gap
# The bounds contain $\mathbf{w}^*$, which one does not know. But the tangent at $\mathbf{w}$ bounds from below what
# any member can reach:
# $f(\mathbf{w}) - f(\mathbf{w}^*) \le \max_{\mathbf{z} \in C} \nabla f(\mathbf{w}) \cdot (\mathbf{w} - \mathbf{z})$.
# Find the right side for the simplex, and write it as `possible_gain(w, g)`, where `g` is the gradient. The grader solves a
# linear program.
# ```

# %%
def possible_gain(w, g):
    """The largest g @ (w - z) for z in the simplex: a float, at least 0.

    w: float array (n,), n >= 1, not negative, with the sum 1.
    g: float array (n,), the gradient at w.
    possible_gain(np.array([0.5, 0.5]), np.array([1.0, 3.0])) is 1.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def gain_by_program(w, g):
    n = len(g)
    return g @ w - linprog(g, A_eq=np.ones((1, n)), b_eq=[1]).fun

cases = dict(w=distributions((1, 5)), g=lambda w: vectors(len(w), edges=True))
grade(possible_gain, gain_by_program, **cases, tries=50)

# %% [markdown]
# ```{solution-start} pgd-gap
# :class: dropdown
# ```
# A mixture $\mathbf{g} \cdot \mathbf{z}$ of the entries of $\mathbf{g}$ is smallest when all weight is on the
# smallest entry. The bound is zero at the optimum, so it can decide when to stop. To compare with the mean of
# $\mathbf{g}$ instead underestimates the gain, and may even be negative. Among the entries with weight alone, the smallest one
# misses a coordinate that should come into use. And $\mathbf{w}$ itself counts: it is not all on the largest entry.

# %% jupyter={"source_hidden": true}
def possible_gain_solution(w, g):
    return g @ w - g.min()

def gain_over_mean(w, g):
    return g @ w - g.mean()

def in_use_alone(w, g):
    return g @ w - g[w > 0].min()

def from_the_worst(w, g):
    return g.max() - g.min()

few = dict(tries=50)
assert grade(possible_gain_solution, gain_by_program, **cases, **few)
assert not grade(gain_over_mean, gain_by_program, **cases, **few)
assert not grade(in_use_alone, gain_by_program, **cases, **few)
assert not grade(from_the_worst, gain_by_program, **cases, **few)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
projections = {'ball': to_ball, 'box': lambda w: w.clip(-0.5, 0.8)}
members = {  # every entry >= 0: a member
    'ball': lambda w: 1 - w @ w,
    'box': lambda w: np.append(w + 0.5, 0.8 - w),
}

# %% tags=["checks"]
def is_nearest(name, w, g):
    goal = solver(np.eye(3), w, g)
    return close(projections[name](w), goal, atol=1e-6)

def descend(seed, name):
    A, b = quadratic(seed)
    project = projections[name]
    return projected_gd(lambda w: A @ w - b, project, 0 * b, 0.3, 80)

def arrives(end, seed, name):
    A, b = quadratic(seed)
    return close(end, solver(A, b, members[name]), atol=3e-7, rtol=0)

def stays_and_arrives(seed, name):
    path = descend(seed, name)
    stays = close(path, [projections[name](w) for w in path])
    return stays and arrives(path[-1], seed, name)

def project_once(seed, name):
    return arrives(projections[name](solve(*quadratic(seed))), seed, name)
holds('ml.opt.pgd.projection',
      lambda name, w: is_nearest(name, w, members[name]),
      slip=('forgets that the point must lie in C',
            lambda name, w: is_nearest(name, w, lambda v: 1)),
      name=list(members), w=vectors(3, -3, 3), tries=20)

holds('ml.opt.pgd.update', stays_and_arrives,
      slip=('projects only once, at the end', project_once), seed=seeds(),
      name=list(members), tries=30)

def stands_still(seed, examples, gamma=0.5):
    X, y = least_squares(seed)
    w = optimum(X, y)
    X, y = X[examples], y[examples]
    step = w - gamma * X.T @ (X @ w - y) / len(y)
    return close(projections['ball'](step), w, atol=3e-7, rtol=0)

holds('ml.opt.pgd.name', lambda seed: stands_still(seed, slice(0, 20)),
      slip=('steps along the gradient of one example',
            lambda seed: stands_still(seed, slice(0, 1))),
      seed=seeds(), tries=40)

# %% tags=["checks"]
def contracts(seed, name, kappa, factor):
    A, b = quadratic(seed, kappa=kappa)
    path = projected_gd(lambda w: A @ w - b, projections[name], 0 * b,
                        2 / (1 + kappa), 600)
    error = norm(path - path[-1], axis=1)[:40]
    return (error[1:] <= factor(kappa) * error[:-1] + 1e-9).all()

def last_factor(error):
    a, b = (error > 1e-8).sum(), (error > 1e-12).sum()
    return (error[b] / error[a]) ** (1 / (b - a))
verify('projected descent is as fast as descent',
       lambda seed, name, kappa:
       contracts(seed, name, kappa, lambda k: (k - 1) / (k + 1)),
       slip=('promises the rate of an accelerated method',
             lambda seed, name, kappa: contracts(
             seed, name, kappa, lambda k: (k**0.5 - 1) / (k**0.5 + 1))),
       seed=seeds(), name=list(projections), kappa=[2, 5, 20], tries=30)

def goes_at_rate(seed, which):
    error, *rates = orthant_walk(seed)
    return close(last_factor(error), rates[which], rtol=5e-3)

verify('the last stretch has the rate of the free block',
       lambda seed: goes_at_rate(seed, 1),
       slip=('takes the whole matrix, held coordinates included',
             lambda seed: goes_at_rate(seed, 0)),
       seed=list(range(12)))

def keeps_bound(seed, power):
    t, gap, bound = gap_and_bound(seed)
    return -1e-9 <= gap.min() and (gap <= bound / t ** (power - 1)).all()

verify('the loss falls at least as fast as 1/t',
       lambda seed: keeps_bound(seed, 1),
       slip=('promises a gap that falls as 1/t²',
             lambda seed: keeps_bound(seed, 2)),
       seed=seeds(), tries=12)

# %% tags=["checks"]
def is_slope(w, gradient):  # central differences of a parabola are exact
    there = [(loss(w + e) - loss(w - e)) / 2 for e in np.eye(2)]
    return close(loss(w), norm(X @ w - y)**2 / 40) and close(gradient(w), there)

verify('the gradient is that of half the mean square of 20 residuals',
       lambda w: is_slope(w, full_gradient),
       slip=('adds up the examples in place of averaging',
             lambda w: is_slope(w, lambda w: X.T @ (X @ w - y))),
       w=vectors(2, -2, 2), tries=50)

def loss_after(T):
    return loss(projected_gd(full_gradient, to_ball, start, 0.3, T)[-1])

def projected_minimum():
    return loss(to_ball(np.linalg.lstsq(X, y)[0]))

verify('twelve steps end lower than the free minimum, projected',
       lambda T: loss_after(T) < projected_minimum(),
       slip=('says so of the start', lambda T: loss_after(0 * T) < projected_minimum()),
       T=[12, 40])

# %% [markdown]
# ## Lagrange multipliers and the KKT conditions: the price of a constraint
#
# A ball rolls down a hillside until a fence stops it. There it rests, although the ground is not level: gravity pulls with
# $-\nabla f$, and the fence pushes back. **Lagrange multipliers** are the sizes of such forces. They say which constraints
# matter, and how much each of them costs.
#
# ### Equality constraints: one linear system
#
# Let the constraint be $\mathbf{E}\mathbf{w} = \mathbf{e}$ with independent rows. The permitted directions are those in the
# kernel of $\mathbf{E}$, both ways. So at an optimum the gradient is perpendicular to the kernel, which makes it a
# combination of the rows of $\mathbf{E}$: $\nabla f(\mathbf{w}) + \mathbf{E}^\top \boldsymbol\lambda = \mathbf{0}$. For a
# quadratic $\frac12 \mathbf{w}^\top \mathbf{A} \mathbf{w} - \mathbf{b}^\top \mathbf{w}$ this and the constraint make one
# linear system:
#
# ```{math}
# :label: pgd-kkt-system
# \begin{pmatrix} \mathbf{A} & \mathbf{E}^\top \\ \mathbf{E} & \mathbf{0} \end{pmatrix}
# \begin{pmatrix} \mathbf{w} \\ \boldsymbol\lambda \end{pmatrix}
# = \begin{pmatrix} \mathbf{b} \\ \mathbf{e} \end{pmatrix} .
# ```

# %%
def constrained_quadratic(A, b, E, e):  # -> w, lambda
    k = len(e)
    system = np.block([[A, E.T], [E, np.zeros((k, k))]])
    return np.split(solve(system, np.append(b, e)), [len(b)])

A, b = np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([4.0, 1.0])
E, e = np.array([[1.0, 1.0]]), np.array([1.0])  # w1 + w2 = 1
w, lam = constrained_quadratic(A, b, E, e)
print('free minimum:', solve(A, b), '  on the line:', w.round(3))
print('multiplier:', lam.round(3), '  gradient there:', (A @ w - b).round(3))

# %% [markdown]
# The gradient is the same in both directions, so moving along the line gains nothing.
#
# ### Inequality constraints: the KKT conditions
#
# An inequality $g_i(\mathbf{w}) \le 0$ is like a fence: it can push but not pull, and it pushes only where you touch it.
#
# ````{prf:theorem} Karush–Kuhn–Tucker conditions
# :label: thm-kkt
# Let $f$ and $g_1, \dots, g_m$ be convex and differentiable. If there are multipliers with
# ```{math}
# :label: pgd-kkt
# \begin{aligned}
# \nabla f(\mathbf{w}^*) + \sum_{i=1}^m \lambda_i \nabla g_i(\mathbf{w}^*) &= \mathbf{0} , \\
# g_i(\mathbf{w}^*) &\le 0 , \qquad \lambda_i \ge 0 , \\
# \lambda_i \, g_i(\mathbf{w}^*) &= 0 ,
# \end{aligned}
# ```
# then $\mathbf{w}^*$ minimizes $f$ over $C = \{\mathbf{w} : g_i(\mathbf{w}) \le 0 \text{ for all } i\}$.
# ````
#
# The first line says that the forces balance, the second that all constraints are kept and that they only push. The third
# says that a constraint which is not touched does not push.
#
# ```{prf:proof}
# :class: dropdown
# The *Lagrangian* $\ell(\mathbf{w}) = f(\mathbf{w}) + \sum_i \lambda_i g_i(\mathbf{w})$ is convex, since no $\lambda_i$ is
# negative, and its gradient vanishes at $\mathbf{w}^*$, so $\mathbf{w}^*$ minimizes it over the whole space. For
# $\mathbf{z} \in C$ therefore $f(\mathbf{z}) \ge f(\mathbf{z}) + \sum_i \lambda_i g_i(\mathbf{z}) = \ell(\mathbf{z}) \ge
# \ell(\mathbf{w}^*) = f(\mathbf{w}^*)$.
# ```
#
# Conversely, an optimum has such multipliers if all $g_i$ are affine, or if some point satisfies every constraint strictly,
# $g_i < 0$ {cite}`boyd2004convex`. Without such a condition there may be none. For $f(w) = w$ with $w^2 \le 0$ only
# $w = 0$ is permitted, hence optimal, but the constraint has slope zero there and $1 + \lambda \cdot 0$ is not 0.
#
# We take a disc cut by a line, $g_1(\mathbf{w}) = \|\mathbf{w}\|^2 - 1$ and $g_2(\mathbf{w}) = \mathbf{n} \cdot \mathbf{w} -
# 0.2$, let a general solver find the optimum of a random quadratic, and look for the forces $\boldsymbol\lambda \ge
# \mathbf{0}$ that balance the gradient, by non-negative least squares:

# %%
def rules(w, n):  # g (2,), Jacobian (2, dim)
    return np.array([w @ w - 1, n @ w - 0.2]), np.stack([2 * w, n])

# %% tags=["hide-input"]
def equations(seed, n=4, k=2):  # A, b, E, e
    rng = np.random.default_rng([seed, 1])
    return *quadratic(seed, n), rng.normal(size=(k, n)), rng.normal(size=k)

def best_by_rules(seed, dim=3, slack=0.0):
    A, b = quadratic(seed, dim)
    n = np.random.default_rng([seed, 2]).normal(size=dim)
    allow = np.array([slack, 0])
    return A, b, n, solver(A, b, lambda w: allow - rules(w, n)[0])

# %%
def forces(seed, dim=3, sign=1):  # lambda (2,), imbalance, lambda * g
    A, b, n, w = best_by_rules(seed, dim)
    g, J = rules(w, n)
    lam, imbalance = nnls(J.T, sign * (b - A @ w))
    return lam, imbalance, lam * g

for seed in (18, 1, 2):
    _, _, n, w = best_by_rules(seed, dim=2)
    g, lam = rules(w, n)[0].round(2) + 0, forces(seed, dim=2)[0]
    print(f'problem {seed:2}: g1 = {g[0]:5.2f}, lambda1 = {lam[0]:.3f};',
          f'g2 = {g[1]:5.2f}, lambda2 = {lam[1]:.3f}')

# %% [markdown]
# A constraint with $g_i < 0$ has the multiplier 0.
#
# ### A multiplier is a price
#
# Relax every constraint a little, $g_i(\mathbf{w}) \le s_i$, and let $p(\mathbf{s})$ be the
# lowest permitted value of $f$. The proof above, read once more for such $\mathbf{z}$, gives
# $f(\mathbf{z}) \ge f(\mathbf{w}^*) - \sum_i \lambda_i g_i(\mathbf{z})$, hence
#
# ```{math}
# :label: pgd-price
# p(\mathbf{s}) \ge p(\mathbf{0}) - \boldsymbol\lambda \cdot \mathbf{s} .
# ```
#
# The function $p$ never falls below this line and touches it at $\mathbf{s} = \mathbf{0}$, so wherever it has a slope there,
# $\partial p / \partial s_i = -\lambda_i$. So a multiplier is a *price*: it says how much the next unit of slack would save.
# A constraint with $\lambda_i = 0$ costs nothing. We relax the disc to $\|\mathbf{w}\|^2 \le 1 + s_1$:

# %%
def lowest(seed, slack, dim=3):
    A, b, n, w = best_by_rules(seed, dim, slack)
    return w @ A @ w / 2 - b @ w

for seed in (18, 1):
    slope = (lowest(seed, 0.001, 2) - lowest(seed, -0.001, 2)) / 0.002
    print(f'problem {seed:2}: slope of the lowest value {slope:.3f},',
          f'lambda1 = {forces(seed, 2)[0][0]:.3f}')

# %% mystnb={"image": {"alt": "Left: a disc cut by a half-plane, with contours of a quadratic whose free minimum lies outside. At the optimum, a corner, an arrow for the negative gradient is balanced by two arrows of the constraints, perpendicular to circle and line. Right: the lowest permitted value against the slack in the squared radius, a falling curve above its tangent at zero with slope minus lambda one."}} tags=["hide-input"]
A, b, n, corner = best_by_rules(18, dim=2)
lam = forces(18, dim=2)[0]
_, normals = rules(corner, n)
slacks = np.linspace(-0.7, 1.6, 47)
values = np.array([lowest(18, slack, dim=2) for slack in slacks])
line = lowest(18, 0, dim=2) - lam[0] * slacks
fig, (left, right) = panels(2, height=2.9)
u, v = np.meshgrid(np.linspace(-1.2, 2, 160), np.linspace(-1.2, 1.6, 160))
points = np.stack([u, v])
height = (points * np.tensordot(A / 2, points, 1)).sum(0) - (
    b[0] * u + b[1] * v)
left.contour(u, v, height, 14, colors=GREY, linewidths=0.5,
             linestyles='solid')
both = (u**2 + v**2 <= 1) & (n[0] * u + n[1] * v <= 0.2)
left.contourf(u, v, both, [0.5, 1.5], colors=['C0'], alpha=0.3)
pushes = -lam[:, None] * normals  # (2, 2), one per constraint
names = {'−∇f': (0, 0.1), 'disc': (-0.1, -0.25), 'half-plane': (-0.3, 0.1)}
for i, force in enumerate([b - A @ corner, *pushes]):
    tip, colour = corner + 0.4 * force, 'C2' if i else 'C1'
    arrow = dict(color=colour, arrowstyle='->', lw=2, shrinkA=0, shrinkB=0)
    left.annotate('', tip, corner, arrowprops=arrow)
    left.text(*tip + list(names.values())[i], list(names)[i], color=colour)
left.plot(*solve(A, b), 'x', color='C1', ms=8, mew=2)
left.set(aspect='equal', xlabel='w₁', ylabel='w₂')
right.plot(slacks, values)
right.plot(slacks, line, '--', color='C2')
right.text(-0.5, -4.3, 'slope −λ₁', color='C2')
right.set(xlabel='slack s₁ in ‖w‖² ≤ 1 + s₁', ylabel='lowest value p');

# %% [markdown] tags=["caption"]
# Left: at the optimum the forces of the two constraints balance $-\nabla f$. Right: the multiplier $\lambda_1$ is a price,
# the rate at which slack in the first constraint lowers the best value.

# %% [markdown]
# ```{exercise} ★★★ Program: water-filling
# :label: pgd-water
# A transmitter divides a power $P$ over channels with gains $a_i > 0$ so as to maximize
# $\sum_i \log(1 + a_i p_i)$ over $\mathbf{p} \ge \mathbf{0}$, $\sum_i p_i = P$. Write `water_filling(a, power)`. The KKT
# conditions say that all channels in use have the same price, and find the level in the manner of the simplex. Which
# channels stay silent?
# ```

# %%
def water_filling(a, power):
    """The best powers of the channels: a float array (n,) with the sum power.

    a: float array (n,), n >= 1, the gains, all positive, in any order.
    power: float > 0.
    water_filling(np.array([0.5, 1.0]), 3.0) is array([1., 2.]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def best_of_all_subsets(a, power):
    best, most = None, -np.inf
    for pattern in range(1, 2 ** len(a)):
        used = pattern >> np.arange(len(a)) & 1 == 1
        level = (power + (1 / a[used]).sum()) / used.sum()
        p = np.where(used, level - 1 / a, 0)
        if p.min() >= 0 and np.log1p(a * p).sum() > most:
            best, most = p, np.log1p(a * p).sum()
    return best

cases = dict(a=vectors((1, 5), 0.1, 9, edges=True), power=on(1.0) | scalars(0.01, 20))
grade(water_filling, best_of_all_subsets, **cases)

# %% [markdown]
# ```{solution-start} pgd-water
# :class: dropdown
# ```
# With price $\lambda$ for the sum and $\nu_i \ge 0$ for $p_i \ge 0$: $-a_i / (1 + a_i p_i) + \lambda - \nu_i = 0$.
# Where $p_i > 0$, $\nu_i = 0$ and $p_i = 1/\lambda - 1/a_i$; where $p_i = 0$, $a_i \le \lambda$. Together
# $p_i = \max(1/\lambda - 1/a_i, 0)$: water of level $1/\lambda$ over a ground of height $1/a_i$. That is the
# projection of the vector $-1/a_i$ onto the simplex with the sum $P$! Channels worse than the price stay silent. To divide
# the power in proportion to the gains is plausible and wrong. If you level all channels, cut off what is negative, and scale
# the rest to the right sum, the channels in use have different prices.

# %% jupyter={"source_hidden": true}
def water_filling_solution(a, power):
    x = -1 / a
    u = np.sort(x)[::-1]
    level = ((u.cumsum() - power) / np.arange(1, len(x) + 1)).max()
    return np.maximum(x - level, 0)

def in_proportion(a, power):
    return power * a / a.sum()

def cut_and_scaled(a, power):
    p = np.maximum((power + (1 / a).sum()) / len(a) - 1 / a, 0)
    return power * p / p.sum()

def of_one_unit(a, power):
    return power * water_filling_solution(a, 1)

assert grade(water_filling_solution, best_of_all_subsets, **cases)
assert not grade(in_proportion, best_of_all_subsets, **cases)
assert not grade(cut_and_scaled, best_of_all_subsets, **cases)
assert not grade(of_one_unit, best_of_all_subsets, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: more power
# :label: pgd-power
# Four channels have the gains 4, 2, 1 and 0.5. With little power only the first is in use. Predict at which powers the
# second, the third and the fourth come into use. Then turn the knob `power` of `water_filling` and look. How do the shares
# compare when the power is very large?
# ```

# %%
def predicted_powers():
    """The powers at which channels 2, 3 and 4 come into use: three floats.

    (1.0, 2.0, 3.0) has the right form; 3 % are allowed.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def are_seen(*powers):
    if len(powers) != 3 or not min(powers) > 0:
        raise ValueError('give three positive powers')
    for channel, power in enumerate(powers, 1):
        for factor in (0.97, 1.03):
            p = best_of_all_subsets(np.array([4, 2, 1, 0.5]), factor * power)
            if (p[channel] > 0) != (factor > 1):
                raise ValueError(f'channel {channel + 1} starts elsewhere')
    return True

grade(lambda: are_seen(*predicted_powers()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} pgd-power
# :class: dropdown
# ```
# The ground has the heights $\frac14$, $\frac12$, 1 and 2. A channel comes into use when the water has risen to its ground.
# Until then the others have taken up all differences to theirs: $\frac12 - \frac14 = 0.25$ for the second,
# $\frac34 + \frac12 = 1.25$ for the third, $\frac74 + \frac32 + 1 = 4.25$ for the fourth. It is tempting to count the
# difference to the best channel alone, but the water also rises in those between. When the power is large, the ground
# hardly matters any more, and all channels get nearly the same.

# %% jupyter={"source_hidden": true}
assert grade(lambda: are_seen(0.25, 1.25, 4.25), lambda: True, [()])
for wrong in (0.25, 0.75, 1.75), (0.5, 1, 2), (0.25, 0.5, 1), (4, 2, 1):
    assert not grade(lambda: are_seen(*wrong), lambda: True, [()])
for power in (0.2, 1, 4, 40):
    p = water_filling_solution(np.array([4, 2, 1, 0.5]), power)
    print(f'power {power:4}: shares', *(f'{share:.3f}' for share in p / power))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def move_free_minimum(A, b, E, e):
    return constrained_quadratic(np.eye(len(b)), solve(A, b), E, e)

def is_best(method, seed):
    A, b, E, e = equations(seed)
    goal = solver(A, b, lambda w: E @ w - e, 'eq')
    w, lam = method(A, b, E, e)
    return close(w, goal, atol=3e-7, rtol=0) and close(
        E.T @ lam, b - A @ goal, atol=1e-6, rtol=0)

verify('one linear system gives optimum and multipliers',
       lambda seed: is_best(constrained_quadratic, seed),
       slip=('moves the free minimum to the nearest permitted point',
             lambda seed: is_best(move_free_minimum, seed)),
       seed=seeds(), tries=30)

def is_kkt(seed, sign):
    _, imbalance, distant_push = forces(seed, sign=sign)
    return imbalance < 1e-5 and close(distant_push, [0, 0], atol=1e-5)

verify('at an optimum the forces of the constraints balance the gradient',
       lambda seed: is_kkt(seed, 1),
       slip=('lets the constraints pull where they push',
             lambda seed: is_kkt(seed, -1)),
       seed=seeds(), tries=40)

def slope_is_price(seed, slack, h=1e-3):
    rise = lowest(seed, slack(h)) - lowest(seed, slack(-h))
    # the difference errs by h² / 6 times a third derivative
    return close(rise / (2 * h), -forces(seed)[0][0], atol=1e-5, rtol=0)

verify('a multiplier is the price of its rule',
       lambda seed: slope_is_price(seed, lambda h: h),
       slip=('relaxes the radius in place of its square',
             lambda seed: slope_is_price(seed, lambda h: (1 + h) ** 2 - 1)),
       seed=seeds(), tries=20)
assert (values >= line - 1e-6).all()

# %% [markdown]
# ## Penalty methods and the method of multipliers
#
# ### A quadratic penalty is only approximate
#
# Can the constraints be put into the loss, so that any optimizer will do? In one way this is always possible. Charge nothing
# for permitted points and infinitely much for all others:
#
# ```{math}
# :label: ml.opt.constrained.penalty
# \min_{\mathbf{w} \in C} \mathcal{L}(\mathbf{w}) = \min_{\mathbf{w}} \big( \mathcal{L}(\mathbf{w}) + I_C(\mathbf{w}) \big), \qquad
# I_C(\mathbf{w}) = \begin{cases} 0 & \mathbf{w} \in C \\ +\infty & \mathbf{w} \notin C \end{cases}
# ```
#
# This is exact, but it is no easier to minimize. A finite smooth **penalty**,
# $P(\mathbf{w}) = \frac\rho2 \operatorname{dist}(\mathbf{w}, C)^2$, has a gradient, but it is only approximate. Take
# $\mathcal{L}(w) = \frac12 (w - 3)^2$ with the constraint $w \le 1$. Beyond 1 the slope $w - 3 + \rho (w - 1)$ is zero at
#
# $$
# w_\rho = \frac{3 + \rho}{1 + \rho} = 1 + \frac{2}{1 + \rho}.
# $$

# %%
line_grid = np.linspace(-5, 5, 10_001)  # spacing 0.001

def cheapest(penalty):  # the minimum on the grid
    beyond = np.maximum(line_grid - 1, 0)
    return line_grid[((line_grid - 3) ** 2 / 2 + penalty(beyond)).argmin()]

for rho in (1, 1.75, 2, 10, 100):
    print(f'rho = {rho:5}: quadratic penalty ends at',
          f'{cheapest(lambda d: rho / 2 * d**2):.3f},',
          f'rho times the distance at {cheapest(lambda d: rho * d):.3f}')

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: tip
# "If only $\rho$ is large enough, the constraint is kept." A quadratic penalty keeps it for no finite $\rho$. At the border
# its slope is zero, while the loss has the slope $-2$, so a small step over the border always pays.
# :::
#
# A penalty with a *kink*, $\rho \operatorname{dist}(w, C)$, has the slope $\rho$ right behind the border. As soon as that is
# at least the slope of the loss, the penalty is exact: here for $\rho \ge 2$. This number is the multiplier, for
# $\mathcal{L}'(1) + \lambda \cdot 1 = 0$ gives $\lambda = 2$.
#
# In any dimension the gradient of half the squared distance is the vector from the nearest point:
#
# ```{math}
# :label: pgd-distance-gradient
# \nabla_{\mathbf{w}} \big( \tfrac12 \operatorname{dist}(\mathbf{w}, C)^2 \big) = \mathbf{w} - P_C(\mathbf{w})
# ```
#
# ```{prf:proof}
# :class: dropdown
# Let $\mathbf{p}$, $\mathbf{q}$ be the points nearest to $\mathbf{w}$ and $\mathbf{w} + \mathbf{h}$. Then
# $\operatorname{dist}(\mathbf{w} + \mathbf{h})^2 \le \|\mathbf{w} + \mathbf{h} - \mathbf{p}\|^2 =
# \operatorname{dist}(\mathbf{w})^2 + 2\mathbf{h} \cdot (\mathbf{w} - \mathbf{p}) + \|\mathbf{h}\|^2$. In the same way
# $\operatorname{dist}(\mathbf{w})^2 \le \operatorname{dist}(\mathbf{w} + \mathbf{h})^2 - 2\mathbf{h} \cdot (\mathbf{w} +
# \mathbf{h} - \mathbf{q}) + \|\mathbf{h}\|^2$, and since $\|\mathbf{q} - \mathbf{p}\| \le \|\mathbf{h}\|$, the change of the
# squared distance is $2\mathbf{h} \cdot (\mathbf{w} - \mathbf{p})$ up to a multiple of $\|\mathbf{h}\|^2$.
# ```
#
# So at the minimum $\mathbf{w}_\rho$ of loss and penalty, $\nabla f(\mathbf{w}_\rho) = -\rho (\mathbf{w}_\rho -
# P_C(\mathbf{w}_\rho))$: the distance to $C$ is the size of the gradient divided by $\rho$, and the error falls like
# $1/\rho$. But the number of steps grows like $\rho$, because across the border the curvature is of the order $\rho$, while
# along it it stays bounded. So the condition number grows like $\rho$. We follow the minima for the ball; each is the start
# for the next.

# %%
def penalty_path(A, b, project, rhos):  # -> minima, numbers of steps
    w, minima, counts = 0 * b, [], []
    for rho in rhos:
        grad = lambda w: A @ w - b + rho * (w - project(w))
        eta, count = 1 / (eigvalsh(A)[-1] + rho), 0
        while norm(grad(w)) > 1e-7:
            w, count = w - eta * grad(w), count + 1
        minima.append(w)
        counts.append(count)
    return np.array(minima), np.array(counts)

# %% tags=["hide-input"]
rhos = np.array([1, 3, 10, 30, 100, 300])

def path_errors(seed):
    A, b = quadratic(seed)
    minima, counts = penalty_path(A, b, to_ball, rhos)
    return norm(minima - solver(A, b, lambda w: 1 - w @ w), axis=1), counts

A, b = quadratic(18, 2)
strengths = np.geomspace(0.1, 1000, 25)
trail, _ = penalty_path(A, b, to_ball, strengths)
price_paid = solver(A, b, lambda w: 1 - w @ w)

# %%
records = [path_errors(seed) for seed in (0, 2, 3, 4, 5, 7)]
print(' rho     error   steps')
for rho, error, count in zip(rhos, *records[0]):
    print(f'{rho:4} {error:9.4f} {count:7}')

# %% mystnb={"image": {"alt": "Left: a parabola with its minimum at 3 and the constraint w at most 1, drawn as a line; with quadratic penalties of growing weight the total's minimum moves towards the line but stays beyond it. Right: contours in the plane; the path of the penalty minima leads from the free minimum outside the disc to the constrained optimum on its rim."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
w = np.linspace(-0.5, 4.5, 300)
for i, rho in enumerate((0, 1, 4, 20)):
    total = (w - 3) ** 2 / 2 + rho / 2 * np.maximum(w - 1, 0) ** 2
    left.plot(w, total, color=(GREY, 'C0', 'C2', 'C3')[i])
    end = 1 + 2 / (1 + rho)
    left.plot(end, (end - 3) ** 2 / 2 + rho / 2 * (end - 1) ** 2, 'o',
              color=(GREY, 'C0', 'C2', 'C3')[i])
    left.text((3.8, 3.2, 2.5, 1.72)[i], (0, 1.9, 3.5, 4.8)[i],
              ('ρ = 0', 'ρ = 1', '4', '20')[i],
              color=(GREY, 'C0', 'C2', 'C3')[i])
left.axvline(1, color='C4', lw=3, alpha=0.6)
left.text(0.9, 5.2, 'w ≤ 1', color='C4', ha='right')
left.set(xlabel='w', ylabel='loss and penalty', ylim=(-0.2, 5.6))
u, v = np.meshgrid(np.linspace(0, 1.9, 160), np.linspace(-0.7, 0.9, 160))
points = np.stack([u, v])
height = (points * np.tensordot(A / 2, points, 1)).sum(0) - (
    b[0] * u + b[1] * v)
right.contour(u, v, height, 14, colors=GREY, linewidths=0.5,
              linestyles='solid')
right.add_patch(plt.Circle((0, 0), 1, color='C0', alpha=0.25, lw=0))
right.plot(*trail.T, 'o-', ms=3, color='C1')
right.plot(*price_paid, 'x', ms=9, mew=2.5, color='C2')
right.set(aspect='equal', xlim=(0, 1.9), ylim=(-0.7, 0.9), xlabel='w₁',
          ylabel='w₂');

# %% [markdown] tags=["caption"]
# The heavier a quadratic penalty, the nearer its minimum comes to the constrained optimum, but no finite weight $\rho$ keeps
# the constraint.

# %% [markdown]
# ### The method of multipliers converges with a fixed penalty
#
# The way out is to keep $\rho$ fixed and learn the multiplier. For the constraint $\mathbf{E}\mathbf{w} = \mathbf{e}$, the
# **method of multipliers** {cite}`hestenes1969multiplier,powell1969method` adds the current guess of the force to the loss:
#
# ```{math}
# :label: pgd-multipliers
# \begin{aligned}
# \mathbf{w} &:= \operatorname*{arg\,min}_{\mathbf{v}} \Big( f(\mathbf{v}) + \boldsymbol\lambda \cdot (\mathbf{E}\mathbf{v} - \mathbf{e})
# + \tfrac\rho2 \|\mathbf{E}\mathbf{v} - \mathbf{e}\|^2 \Big) \\
# \boldsymbol\lambda^+ &:= \boldsymbol\lambda + \rho (\mathbf{E}\mathbf{w} - \mathbf{e})
# \end{aligned}
# ```
#
# At the minimum $\nabla f(\mathbf{w}) + \mathbf{E}^\top \boldsymbol\lambda^+ = \mathbf{0}$: the new guess balances the
# gradient, and only the constraint itself may still be violated. For a quadratic each round divides the error of
# $\boldsymbol\lambda$ in the direction of an eigenvalue $s$ of $\mathbf{S} = \mathbf{E} \mathbf{A}^{-1} \mathbf{E}^\top$ by
# $1 + \rho s$:
#
# ```{math}
# :label: pgd-multiplier-rate
# (\mathbf{I} + \rho \mathbf{S})(\boldsymbol\lambda^+ - \boldsymbol\lambda^*) = \boldsymbol\lambda - \boldsymbol\lambda^* .
# ```
#
# So it converges to the exact optimum for *every* fixed $\rho > 0$.
#
# ```{prf:proof}
# :class: dropdown
# $\mathbf{w} = \mathbf{A}^{-1}(\mathbf{b} - \mathbf{E}^\top \boldsymbol\lambda^+)$, and the same with stars at the
# optimum, so $\mathbf{E}\mathbf{w} - \mathbf{e} = \mathbf{E}(\mathbf{w} - \mathbf{w}^*) =
# \mathbf{S}(\boldsymbol\lambda^* - \boldsymbol\lambda^+)$. Put that into the update of $\boldsymbol\lambda$.
# ```

# %%
def method_of_multipliers(A, b, E, e, rho, rounds):
    lam, points, forces = 0 * e, [], [0 * e]
    for _ in range(rounds):
        w = solve(A + rho * E.T @ E, b + E.T @ (rho * e - lam))
        lam = lam + rho * (E @ w - e)
        points.append(w)
        forces.append(lam)
    return np.array(points), np.array(forces)

# %%
A, b, E, e = equations(2)
exact, _ = constrained_quadratic(A, b, E, e)
rounds = {
    rho: norm(method_of_multipliers(A, b, E, e, rho, 60)[0] - exact, axis=1)
    for rho in (1, 10, 100)
}
for rho, error in rounds.items():
    print(f'rho = {rho:3}: error {error[0]:.3f} after the first round, '
          f'below 1e-6 after {(error > 1e-6).sum() + 1} rounds')

# %% mystnb={"image": {"alt": "Left: against the weight rho of the penalty, on double logarithmic axes, the errors of six problems fall along a line of slope minus one while their numbers of steps rise with slope one. Right: error of the method of multipliers against the round on a logarithmic axis, three straight lines, the steeper the larger rho."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
for error, counts in records:
    left.loglog(rhos, error, 'o-', color='C1', ms=3, lw=1)
    left.loglog(rhos[2:], counts[2:], 'o-', color='C4', ms=3, lw=1)
left.text(1.2, 0.012, 'error', color='C1')
left.text(9, 900, 'steps', color='C4')
left.set(xlabel='weight ρ of the penalty', title='penalty')
for i, (rho, error) in enumerate(rounds.items()):
    shown = np.where(error > 1e-11, error, np.nan)[:12]  # above rounding
    right.semilogy(np.arange(1, 13), shown, 'o-', color=f'C{i}', ms=4)
    right.text((8, 7, 2.3)[i], (0.4, 3e-3, 1e-9)[i], f'ρ = {rho}',
               color=f'C{i}')
right.set(xlabel='round', ylabel='error', ylim=(1e-11, 9),
          xticks=[1, 4, 8, 12],
          title='method of multipliers');

# %% [markdown] tags=["caption"]
# Left: the error of a penalty falls like $1/\rho$, while the number of steps grows nearly like $\rho$. Right: the method of
# multipliers converges at a fixed $\rho$, by a constant factor per round.

# %% [markdown]
# The first round, from $\boldsymbol\lambda = \mathbf{0}$, *is* the penalty method. All that is gained afterwards
# comes from the multiplier that is carried over.
#
# ```{exercise} ★★ Program: ridge regression is a price
# :label: pgd-ridge
# Write `ball_ls(X, y, r)`, the $\mathbf{w}$ with $\|\mathbf{w}\| \le r$ and the smallest
# $\frac12\|\mathbf{X}\mathbf{w} - \mathbf{y}\|^2$. With the constraint $\frac12 \|\mathbf{w}\|^2 \le \frac12 r^2$ the KKT
# conditions are those of ridge regression. Find the multiplier by bisection.
# ```

# %%
def ball_ls(X, y, r):
    """The best weights in the ball of radius r: a float array (n,).

    X: float array (N, n), N >= n >= 1, with independent columns.
    y: float array (N,). r: float > 0.
    ball_ls(np.eye(2), np.array([0.0, 4.0]), 1.0) is array([0., 1.]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def along_singular_vectors(X, y, r):
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    w = lambda lam: Vt.T @ (s * (U.T @ y) / (s**2 + lam))
    if norm(w(0)) <= r:
        return w(0)
    high = norm(X.T @ y) / r
    return w(brentq(lambda lam: norm(w(lam)) - r, 0, high, xtol=1e-12))

def columns(n):
    X = matrices((n, 6), n, -3, 3, edges=True)
    return X.filter(lambda X: np.linalg.svd(X)[1].min() > 0.3)

cases = dict(
    X=integers(1, 3).flatmap(columns),
    y=lambda X: vectors(len(X), edges=True),
    r=lambda X, y: on(1.0, 0.3) | scalars(0.1, 3).map(
        lambda part: part * max(norm(np.linalg.lstsq(X, y)[0]), 0.1)),
)
grade(ball_ls, along_singular_vectors, **cases)

# %% [markdown]
# ```{solution-start} pgd-ridge
# :class: dropdown
# ```
# $\mathbf{X}^\top (\mathbf{X}\mathbf{w} - \mathbf{y}) + \lambda \mathbf{w} = \mathbf{0}$ gives
# $\mathbf{w} = (\mathbf{X}^\top \mathbf{X} + \lambda \mathbf{I})^{-1} \mathbf{X}^\top \mathbf{y}$, whose length falls as
# $\lambda$ grows. Either $\lambda = 0$ already fits, or $\|\mathbf{w}\| = r$ determines it; since
# $\lambda \|\mathbf{w}\| \le \|\mathbf{X}^\top \mathbf{y}\|$, it is at most $\|\mathbf{X}^\top \mathbf{y}\| / r$. So
# weight decay of strength $\lambda$ and a ball of radius $r$ are two descriptions of one solution. To shrink the
# least-squares solution to length $r$ has the right length and the wrong direction. The other wrong answers find no
# multiplier where the constraint does not bind, and take $1/r$ for the price.

# %% jupyter={"source_hidden": true}
def ridge(X, y, lam):
    return solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ y)

def ball_ls_solution(X, y, r):
    below, above = 0.0, norm(X.T @ y) / r
    for _ in range(60):
        lam = (below + above) / 2
        long = norm(ridge(X, y, lam)) > r
        below, above = (lam, above) if long else (below, lam)
    return ridge(X, y, below)

def shrunk(X, y, r):
    w = np.linalg.lstsq(X, y)[0]
    return w * r / max(norm(w), r)

def always_on_the_rim(X, y, r):
    length = lambda lam: norm(ridge(X, y, lam)) - r
    return ridge(X, y, brentq(length, 0, norm(X.T @ y) / r))

def price_of_the_radius(X, y, r):
    return ridge(X, y, 1 / r)

assert grade(ball_ls_solution, along_singular_vectors, **cases)
assert not grade(shrunk, along_singular_vectors, **cases)
assert not grade(always_on_the_rim, along_singular_vectors, **cases)
assert not grade(price_of_the_radius, along_singular_vectors, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def fined(rho, goal):
    return close(cheapest(lambda d: rho / 2 * d**2), goal, atol=6e-4)

indicator = cheapest(lambda d: np.where(d > 0, np.inf, 0))
holds('ml.opt.constrained.penalty',
      lambda rho: close(indicator, 1) and fined(rho, 1 + 2 / (1 + rho)),
      slip=('takes the finite quadratic penalty for exact',
            lambda rho: fined(rho, 1)),
      rho=scalars(1, 1000))
verify('a penalty with a kink is exact once its slope reaches the multiplier',
       lambda rho: close(cheapest(lambda d: rho * d), 1) == (rho >= 2),
       slip=('needs only half of the multiplier as slope',
             lambda rho: close(cheapest(lambda d: rho * d), 1) == (rho >= 1)),
       rho=[0.5, 1, 1.5, 1.9, 2, 2.5, 4])

def falls_like(seed, power):
    error, _ = path_errors(seed)
    slope = np.log(error[-1] / error[-2]) / np.log(rhos[-1] / rhos[-2])
    return abs(slope - power) < 0.05

def slopes(f, w, h=1e-5):
    return [(f(w + e) - f(w - e)) / (2 * h) for e in h * np.eye(len(w))]

def points_away(name, w, factor):
    project = projections[name]
    distance = lambda w: norm(w - project(w))
    return close(slopes(lambda w: factor * distance(w) ** 2, w),
                 w - project(w), atol=2e-5)

verify('half the squared distance has the gradient w - P(w)',
       lambda name, w: points_away(name, w, 1 / 2),
       slip=('takes the gradient of the whole squared distance',
             lambda name, w: points_away(name, w, 1)),
       name=list(projections), w=vectors(3, -3, 3))

verify('the error of the penalty method falls like 1/rho',
       lambda seed: falls_like(seed, -1),
       slip=('expects an error that falls as 1/rho²',
             lambda seed: falls_like(seed, -2)),
       seed=[0, 2, 3, 4, 5, 7])  # in 1 and 6 the free minimum is permitted
assert close(trail[-1], price_paid, atol=3e-3)

# %% tags=["checks"]
def follows_rate(seed, rho, factor):
    A, b, E, e = equations(seed)
    w, lam = constrained_quadratic(A, b, E, e)
    points, forces = method_of_multipliers(A, b, E, e, rho, 4)
    error, S = forces - lam, E @ solve(A, E.T)
    balanced = close(points @ A + forces[1:] @ E, [b] * 4)
    return balanced and close(error[1:], error[:-1] @ factor(S, rho))

verify('each round divides the error of the multiplier by 1 + rho s',
       lambda seed, rho: follows_rate(
           seed, rho, lambda S, rho: np.linalg.inv(np.eye(2) + rho * S)),
       slip=('lets the error shrink by I - rho S',
             lambda seed, rho: follows_rate(
                 seed, rho, lambda S, rho: np.eye(2) - rho * S)),
       seed=seeds(), rho=[0.1, 1, 10, 100], tries=40)

# %% [markdown]
# ## Where it matters: which two digits are superposed?
#
# We superpose pairs of handwritten digits, six parts of one
# and four of the other. Which two were they? We try to express each picture by 300 *other* digits, the rows
# $\mathbf{d}_i$ of $\mathbf{D}$:
#
# ```{math}
# :label: pgd-unmix
# \min_{\mathbf{w}} \tfrac12 \|\mathbf{w}^\top \mathbf{D} - \mathbf{x}\|^2
# \quad \text{subject to} \quad \mathbf{w} \ge \mathbf{0}, \ \textstyle\sum_i w_i = 1 .
# ```
#
# The constraints are what we know about proportions. Without them 300 weights for 64 pixels fit nearly every picture, in
# infinitely many ways. They also help the descent. On the simplex we may subtract the mean picture from all
# $\mathbf{d}_i$ and from $\mathbf{x}$ without changing the difference, and $L$ loses the large eigenvalue that comes from
# what all pictures have in common. All pictures are unmixed at once; the weights of each are a row of $\mathbf{W}$.

# %%
digits = data.digits()

def double_exposures(seed, atoms=300, frames=100):
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(digits.x))
    D, rest = order[:atoms], order[atoms:]
    a, b = rng.choice(rest, (2, 4 * frames))
    differ = digits.y[a] != digits.y[b]
    a, b = a[differ][:frames], b[differ][:frames]
    one_hot = np.eye(10)[digits.y]
    film, truth = (0.6 * v[a] + 0.4 * v[b] for v in (digits.x, one_hot))
    return digits.x[D], one_hot[D], film, truth

def unmix(D, film, T=300):
    mean = D.mean(0)
    D, film = D - mean, film - mean
    start = np.full((len(film), len(D)), 1 / len(D))
    L = eigvalsh(D.T @ D)[-1]
    return projected_gd(lambda W: (W @ D - film) @ D.T, project_simplex,
                        start, 1 / L, T)[-1]

# %%
D, classes, film, truth = double_exposures(0)
W = unmix(D, film)
free = np.linalg.lstsq(D.T, film.T)[0].T  # (frames, atoms)
mean_loss = lambda W: (((W @ D - film) ** 2).sum(1) / 2).mean()
print(f'loss {mean_loss(W):.3f} with the constraints; without them '
      f'{below(mean_loss(free), 1e-3)}')
print(f'dictionary pictures in use: {(W > 1e-3).sum(1).mean():.0f} of 300')

# %% [markdown]
# Few pictures are in use, and the KKT conditions say why. With a price
# $\theta$ for the sum and $\nu_i \ge 0$ for each $w_i \ge 0$, the slope in direction $i$ is $\theta + \nu_i$, and
# $w_i > 0$ only where $\nu_i = 0$: a picture that would lower the loss less than the others do gets the weight 0.
#
# Now add up the weights of each class, and name the two largest. We compare with least squares without constraints (the
# shortest of its many solutions), with the same cut off at zero, and with the two nearest dictionary pictures of
# different classes, on five sets of pictures. Chance would be right in one of 45 cases.

# %%
def both_right(shares, truth):
    top, right = (np.sort(np.argsort(-s, 1, kind='stable')[:, :2])
                  for s in (shares, truth))
    return (top == right).all(1).mean()

def compare(seed):
    D, classes, film, truth = double_exposures(seed)
    free = np.linalg.lstsq(D.T, film.T)[0].T  # (frames, atoms)
    distance = norm(film[:, None] - D, axis=2)
    nearest = [distance[:, c > 0].min(1) for c in classes.T]  # per class
    weights = unmix(D, film), free, np.maximum(free, 0)
    shares = [w @ classes for w in weights] + [-np.transpose(nearest)]
    return [both_right(s, truth) for s in shares]

# %%
names = 'constraints', 'no constraints', 'none, then cut', 'two nearest'
scores = np.array([compare(seed) for seed in range(5)])
for name, score in zip(names, scores.T, strict=True):
    print(f'{name:19} {score.mean():.2f} ({score.min():.2f} to '
          f'{score.max():.2f})')

# %% mystnb={"image": {"alt": "Three double exposures of handwritten digits, each beside its reconstruction as a mixture of dictionary pictures and a bar chart of the share of each class. The bars with rules peak at the two true classes, whose shares are marked by dashes; the dots without rules scatter above and below zero."}} tags=["hide-input"]
fig, axes = plt.subplots(3, 3, figsize=(6, 4.6), width_ratios=[1, 1, 3.2])
for row, k in zip(axes, (0, 1, 2), strict=True):
    show_image(row[0], film[k].reshape(8, 8), 'film' if k == 0 else '')
    show_image(row[1], (W @ D)[k].reshape(8, 8), 'rebuilt' if k == 0 else '')
    row[2].bar(np.arange(10), (W @ classes)[k], color='C2', width=0.7)
    row[2].plot((free @ classes)[k], 'o', color='C4')
    row[2].plot(np.arange(10), np.where(truth[k] > 0, truth[k], np.nan), '_',
                color='C1', ms=16, mew=2.5)
    row[2].axhline(0, color=GREY, lw=0.8)
    row[2].set(xticks=np.arange(10), ylim=(-0.6, 1.1))
axes[0, 2].set_title('shares: bars with rules, dots without, dashes true')
axes[2, 2].set(xlabel='digit');

# %% [markdown] tags=["caption"]
# In these frames shares that must not be negative and sum to one are large for the two true digits only; without these rules
# they scatter over all classes, some below zero.

# %% [markdown]
# Least squares without constraints fits the pictures almost perfectly and is right about three times in five: a better
# fit that explains less. To cut off its negative weights afterwards does not help. The same loss with the two constraints
# finds both digits in four pictures of five, and does better than the others on every set.

# %% tags=["checks"]
slope = (W @ D - film) @ D.T  # (frames, atoms)
gain = (slope * W).sum(1) - slope.min(1)  # the bound of an exercise above
each = lambda W: ((W @ D - film) ** 2).sum(1) / 2
exact = np.array([best_proportions(D.T, x) for x in film])
excess = each(W) - each(exact)
assert (-1e-9 <= excess).all() and (excess <= gain).all()
print(f'still to gain: at most {gain.mean():.4f}, '
      f'{excess.mean():.4f} by the exact solver')
assert (scores[:, 0] > scores[:, 1:].max(1)).all()

# %% [markdown]
# ## Summary
#
# Projected gradient descent takes a step and returns to the nearest permitted point; it stands still exactly at the
# constrained optima, and keeps the guaranteed rates of gradient descent. At the optimum the gradient is balanced by
# multipliers, forces that only push and only where a constraint is tight, each the price of its constraint. Quadratic
# penalties violate the constraint for every finite weight and get slower as they get better, while the method of multipliers
# learns the price and converges with a fixed weight.
#
# **Further reading.** {cite:t}`boyd2004convex` on duality and KKT, {cite:t}`nocedal2006numerical` on penalties,
# multipliers and active sets, {cite:t}`nesterov2018lectures` on rates. {cite:t}`duchi2008efficient` brought
# projections onto simplex and diamond to machine learning.
