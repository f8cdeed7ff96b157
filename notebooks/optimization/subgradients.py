# ---
# jupyter:
#   book:
#     functions:
#       is_subgradient: is_subgradient(l1, np.zeros(3), np.full(3, 0.9), normal(20, 3))
#       l1: l1(normal(4, 3))
#       hinge: hinge(normal(4, 1))
#       total_miss: total_miss(normal(1), normal(5))
#       slopes_by_rule: slopes_by_rule(2, np.array([1, 2, 2, 7]))
#       subgradient_descent: subgradient_descent(np.sign, normal(3), 0.1 * uniform(20))
#       absolute_loss: absolute_loss(normal(8, 3), normal(8), normal(3))
#       absolute_subgrad: absolute_subgrad(normal(8, 3), normal(8))(normal(3))
#       soft: soft(normal(5), 0.5)
#       ista: 'ista(lambda w: w - 1, soft, normal(3), 0.5, 9)'
#       lasso_value: lasso_value(normal(8, 3), normal(8), normal(3), 0.1)
#       lasso_ista: lasso_ista(normal(8, 3), normal(8), 0.1, 9)
#     main: ml.opt.subgradients.def
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Subgradients
#
# Gradient descent on $x^2/2$ takes ever smaller steps and settles at the minimum. On $|x|$ the same step size ends in
# jumping from 0.10 to −0.20 and back, for ever. The absolute value, the hinge and the 1-norm all have corners, and their
# minimum often lies in one. Which way is down where there is no derivative, and how fast can we get there?
#
# - **You need** [convex functions](convex_functions.ipynb), [gradient descent](gradient_descent.ipynb) and
#   [norms](../linear_algebra/norms.ipynb).
# - **You build** a test for subgradients, the rules of the subdifferential, subgradient descent with its exact worst case,
#   and the proximal step that finds zeros which are exactly zero.
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
import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
import torch
from numpy.linalg import norm
from scipy.optimize import linprog, minimize_scalar
from scipy.special import logsumexp, softmax
from sklearn.linear_model import Lasso

from nbutils import data
from nbutils.cases import integers, on, scalars, seeds, vectors
from nbutils.checks import below, close, grade, holds, verify
from nbutils.figures import GREY, panels

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Subgradients: the lines that lie below a corner
#
# Here is gradient descent with the step size 0.3, from $x = 1$. On $|x|$ we take the sign of $x$ for the slope:

# %%
for name, slope in {'x²/2': lambda x: x, '|x|': np.sign}.items():
    x, path = 1.0, []
    for t in range(9):
        path.append(f'{x:6.3f}')
        x = x - 0.3 * slope(x)
    print(f'{name:5}', *path)

# %% [markdown]
# On $|x|$ the path never settles. It jumps from 0.10 to −0.20 and back. To see what replaces the gradient in a corner, we
# look at what a gradient does for a smooth convex function. The function lies above each of its tangents, everywhere and not
# only near the point where they touch:
#
# ```{math}
# :label: ml.opt.nonsmooth.first-order
# \mathcal{L}(\mathbf{u}) \ge \mathcal{L}(\mathbf{w}) + \nabla\mathcal{L}(\mathbf{w})^\top (\mathbf{u} - \mathbf{w})
# \qquad \text{for all } \mathbf{u} \text{ and every } \mathbf{w} ,
# ```
#
# and for differentiable functions this is convexity ({prf:ref}`thm-three-tests`). The gradient at *one* point says
# something about *all* others. For a quadratic with the Hessian $\mathbf{H}$ the height over the tangent is
# $\frac12 (\mathbf{u} - \mathbf{w})^\top \mathbf{H} (\mathbf{u} - \mathbf{w})$. Now we turn the property into a
# definition. Where there is no gradient, we ask for what the gradient would have done.
#
# ````{prf:definition} Subgradient
# :label: def-subgradient
# A vector $\mathbf{g} \in \mathbb{R}^D$ is a *subgradient* of $\mathcal{L}$ at $\mathbf{w}$ if
# ```{math}
# :label: ml.opt.subgradients.def
# \mathcal{L}(\mathbf{u}) \ge \mathcal{L}(\mathbf{w}) + \mathbf{g}^\top (\mathbf{u} - \mathbf{w})
# \qquad \text{for all } \mathbf{u} .
# ```
# The set of all of them is the *subdifferential* $\partial\mathcal{L}(\mathbf{w})$.
# ````

# %%
def is_subgradient(f, w, g, samples):  # w, g (D,), samples (n, D)
    return (f(samples) >= f(w) + (samples - w) @ g - 1e-12).all()

def l1(w):
    return abs(w).sum(-1)

def hinge(w):  # of the support vector machine, (..., 1)
    return np.maximum(0, 1 - w[..., 0])

# %%
u = np.linspace(-5, 5, 1001)[:, None]
for name, f, x in ('|x|', l1, 0), ('|x|', l1, 2), ('hinge', hinge, 1):
    fits = [g for g in np.arange(-15, 16) / 10
            if is_subgradient(f, np.array([x]), np.array([g]), u)]
    print(f'{name:5} at {x}: slopes {min(fits):5.2f} to {max(fits):5.2f}')

# %% mystnb={"image": {"alt": "Three panels. A smooth convex curve with three tangents below it. The absolute value with a fan of lines through its corner, all below the graph. The subdifferential of the hinge: a step from minus one to zero with a vertical piece at one."}} tags=["hide-input"]
grid = np.linspace(-2, 2, 201)
fig, axes = panels(3, height=2.3)
smooth_max = lambda x: np.logaddexp(x, -2 * x)
axes[0].plot(grid, smooth_max(grid))
for x in (-1.3, 0.2, 1.4):
    slope = softmax([x, -2 * x]) @ [1, -2]
    axes[0].plot(grid, smooth_max(x) + slope * (grid - x), lw=1, color='C2')
    axes[0].plot(x, smooth_max(x), 'o', color='C2')
axes[0].set(title='tangents', ylim=(-0.6, 4), xlabel='x')
axes[1].plot(grid, abs(grid), lw=2.5)
for g in (-1, -0.6, -0.2, 0.2, 0.6, 1):
    axes[1].plot(grid, g * grid, lw=1, color='C2')
axes[1].set(title='below |x| at 0', xlabel='x', ylim=(-1.2, 2))
axes[2].plot([-1, 1, 1, 3], [-1, -1, 0, 0], lw=2.5)
axes[2].set(title='∂ hinge', xlabel='x', ylabel='slopes', yticks=[-1, 0]);

# %% [markdown] tags=["caption"]
# Where a convex function is smooth only one line fits below it. In the corner of $|x|$ every slope from $-1$ to $1$ fits, in
# that of the hinge every slope from $-1$ to $0$.

# %% [markdown]
# So $\partial|\cdot|(0) = [-1, 1]$. The hinge $\max(0, 1 - x)$ has the slope $-1$ to the left of $1$, $0$ to the right, and
# $[-1, 0]$ at its corner. For $\|\mathbf{w}\|_1 = \sum_i |w_i|$ the inequality falls apart into one for each coordinate
# (move only one): $g_i = \operatorname{sign} w_i$ where $w_i \ne 0$, and any $g_i \in [-1, 1]$ where $w_i = 0$.
#
# (ml.opt.subgradients.differentiable)=
# If $\mathcal{L}$ is convex and differentiable at $\mathbf{w}$, then the gradient is the only subgradient:
# $\partial\mathcal{L}(\mathbf{w}) = \{\nabla\mathcal{L}(\mathbf{w})\}$.
#
# ```{prf:proof}
# :class: dropdown
# That the gradient is in the set is {eq}`ml.opt.nonsmooth.first-order`. For the converse go a little way $\epsilon$ in
# any direction $\mathbf{d}$: $\mathcal{L}(\mathbf{w} + \epsilon \mathbf{d}) - \mathcal{L}(\mathbf{w}) \ge \epsilon\,
# \mathbf{g}^\top \mathbf{d}$, divide by $\epsilon$, let it vanish: $\nabla\mathcal{L}(\mathbf{w})^\top \mathbf{d} \ge
# \mathbf{g}^\top \mathbf{d}$. The same for $-\mathbf{d}$; so both sides are equal for every $\mathbf{d}$.
# ```

# %%
x = torch.tensor(0.0, requires_grad=True)
(x.abs() + x / 2).backward()
print('slope of |x| + x/2 at 0, by torch:', x.grad.item())

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# It is tempting to test for a minimum by asking whether the slope is zero. In a corner, a program returns one subgradient of
# many. For $|x| + x/2$, torch gives the slope 0.5 at 0, although the minimum is there.
# :::
#
# In fact the definition makes sense for $\mathcal{L}$ that are not differentiable, and not even convex. But without
# convexity $\partial\mathcal{L}(\mathbf{w})$ may be empty, even at a smooth point, and even at a local
# minimum. A line below the graph is a statement about the whole graph. At the lowest point of $x^2 + 3 \sin^2 2x$ the
# slope $0$ fits, and at the bottom of the next valley nothing does:

# %%
def wavy(a):
    return lambda w: w[..., 0] ** 2 + a * np.sin(2 * w[..., 0]) ** 2

def next_valley(a):
    return minimize_scalar(lambda x: wavy(a)(np.array([x])),
                           bounds=(1.1, 1.6), method='bounded').x

def slopes_that_fit(a, x):
    u = np.linspace(-4, 4, 4001)[:, None]
    return [g for g in np.linspace(-9, 9, 181)
            if is_subgradient(wavy(a), np.array([x]), np.array([g]), u)]

for x in (0.0, next_valley(3)):
    print(f'minimum at {x:.2f}: slopes that fit', *slopes_that_fit(3, x))

# %% [markdown]
# From here on all functions are convex. A convex function on all of $\mathbb{R}^D$ has a subgradient at every
# point: its epigraph is a convex set, and through every border point of a convex set goes a plane with the set on one side
# {cite}`rockafellar1970convex`.
#
# ```{exercise} ★ Pencil: a loss with two slopes
# :label: subgradients-pinball
# The *pinball loss* of a forecast that misses by $r$ is $\ell(r) = \max(\tau r, (\tau - 1) r)$, $0 < \tau < 1$: to
# underestimate costs $\tau$ per unit, to overestimate $1 - \tau$. Find the least and the greatest element of
# $\partial\ell(r)$ and write them as `pinball_range(r, tau)`.
# ```

# %%
def pinball_range(r, tau):
    """The least and the greatest subgradient at r: a list of two floats.

    r: float, the miss. tau: float in (0, 1).
    pinball_range(2.0, 0.25) is [0.25, 0.25].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def range_by_chords(r, tau, h=2.0**-12):  # to the left and to the right
    loss = lambda r: max(tau * r, (tau - 1) * r)
    return [(loss(r) - loss(r - h)) / h, (loss(r + h) - loss(r)) / h]

cases = dict(r=on(0.0) | scalars(-5, 5), tau=on(0.5, 0.9) | scalars(0.001, 0.999))
grade(pinball_range, range_by_chords, **cases)

# %% [markdown]
# ```{solution-start} subgradients-pinball
# :class: dropdown
# ```
# Two straight arms of slopes $\tau - 1$ and $\tau$; in the corner everything between. The derivative alone, with one of the
# arms' slopes at the corner, would give the whole set away. The other wrong answers take the corner's set at every $r$, and
# give the arms to the wrong sides.

# %% jupyter={"source_hidden": true}
def pinball_range_solution(r, tau):
    return [tau if r > 0 else tau - 1, tau if r >= 0 else tau - 1]

def pinball_derivative(r, tau):
    return [tau if r > 0 else tau - 1] * 2

def corner_everywhere(r, tau):
    return [tau - 1, tau]

def sides_exchanged(r, tau):
    return [tau - 1 if r >= 0 else tau, tau - 1 if r > 0 else tau]

assert grade(pinball_range_solution, range_by_chords, **cases)
assert not grade(pinball_derivative, range_by_chords, **cases)
assert not grade(corner_everywhere, range_by_chords, **cases)
assert not grade(sides_exchanged, range_by_chords, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
h = sp.symbols('h:3')
U, W = (sp.Matrix(sp.symbols(f'{v}:2')) for v in 'uw')
H = sp.Matrix([[h[0], h[1]], [h[1], h[2]]])
form = lambda v: (v.T * H * v)[0] / 2
over = form(U) - form(W) - ((H * W).T * (U - W))[0]
assert sp.expand(over - form(U - W)) == 0

def around(w, turn=np.positive):  # near and far, along the axes and beside
    near = np.random.default_rng(0).normal(size=(40, len(w)))
    axes = np.vstack([np.eye(len(w)), -np.eye(len(w))])
    return w + turn(np.vstack([near, 0.1 * axes, 9 * axes]))

def agrees_l1(w, t, off, turn):
    w, g = np.array(w), np.sign(w) + np.where(np.array(w) == 0, t, off)
    known = (g == np.sign(w))[w != 0].all() and (abs(g[w == 0]) <= 1).all()
    return is_subgradient(l1, w, g, around(w, turn)) == known

# %% tags=["checks"]
def first_order_gap(f, slope, u, w):
    return f(u) - f(w) - slope @ (u - w)

def gaps(seed, u, w, at):
    B = np.random.default_rng(seed).normal(size=(2, 3))
    H = B.T @ B
    return (first_order_gap(logsumexp, softmax(at), u, w),
            first_order_gap(lambda v: v @ H @ v / 2, H @ at, u, w),
            (u - w) @ H @ (u - w) / 2)

def above_tangent(seed, u, w, at):
    curved, quadratic, formula = gaps(seed, u, w, at)
    return curved >= -1e-12 and close(quadratic, formula)

holds('ml.opt.nonsmooth.first-order',
      lambda seed, u, w: above_tangent(seed, u, w, w),
      slip=('takes the slope at the wrong end',
            lambda seed, u, w: above_tangent(seed, u, w, u)),
      seed=seeds(), u=vectors(3, -3, 3), w=vectors(3, -3, 3))

def agrees_hinge(x, g, turn):
    low, high = -float(x <= 1), -float(x < 1)
    x, g = np.array([x]), np.array([g])
    fits = is_subgradient(hinge, x, g, around(x, turn))
    return fits == (low <= g[0] <= high)

def agrees(w, t, off, turn):
    return agrees_l1(w, t, off, turn) and agrees_hinge(w[0], t[0], turn)

holds('ml.opt.subgradients.def',
      lambda w, t, off: agrees(w, t, off, np.positive),
      slip=('looks to one side of the point only',
            lambda w, t, off: agrees(w, t, off, abs)),
      w=[(0, 1, -2), (1, 0, 0), (-1, 2, 1), (3, -1, 0)], t=vectors(3, -2, 2),
      off=[0, 0, 0.25, -0.25])
smooth = {
    'x²': (lambda w: w[..., 0] ** 2, lambda x: 2 * x),
    'ln(1 + eˣ)': (lambda w: np.logaddexp(0, w[..., 0]),
                   lambda x: 1 / (1 + np.exp(-x))),
}
corner = l1, np.sign

def only_the_slope(f, slope, x, off):
    w = np.array([x])
    samples = w + np.outer(np.r_[-1, 1], np.logspace(-3, 1, 60)).reshape(-1, 1)
    return is_subgradient(f, w, slope(w) + off, samples) == (off == 0)

holds('ml.opt.subgradients.differentiable',
      lambda name, x, off: only_the_slope(*smooth[name], x, off),
      slip=('takes the slope 0 of `sign` in the corner of |x|',
            lambda name, x, off: only_the_slope(*corner, x, off)),
      name=list(smooth), x=scalars(-3, 3), off=[-0.1, -0.01, 0, 0.01, 0.1])

# %% tags=["checks"]
holds('ml.opt.subgradients.no-convexity-needed',
      lambda a: close(slopes_that_fit(a, 0.0), [0])
      and not slopes_that_fit(a, next_valley(a)),
      slip=('says that every local minimum has a subgradient',
            lambda a: len(slopes_that_fit(a, next_valley(a))) > 0),
      a=scalars(2, 5), tries=10)

# %% [markdown]
# ## Rules for subdifferentials: the median and the lasso
#
# Nobody tries all slopes. For convex functions on $\mathbb{R}^D$ there are rules, and they look as one would hope; sets are
# added element by element:
#
# | Function | Subdifferential |
# |---|---|
# | $c f$, $c > 0$ | $c\, \partial f(\mathbf{w})$ |
# | $f + g$ | $\partial f(\mathbf{w}) + \partial g(\mathbf{w})$ |
# | $f(\mathbf{A}\mathbf{w} + \mathbf{b})$ | $\mathbf{A}^\top \partial f(\mathbf{A}\mathbf{w} + \mathbf{b})$ |
# | $\max(f_1, \dots, f_k)$ | convex hull of all $\partial f_i(\mathbf{w})$ with $f_i(\mathbf{w})$ maximal |
#
# That the right side is *contained* in the left takes one line each: for instance, if $g_1$ and $g_2$ satisfy the inequality
# for $f$ and $g$, then $g_1 + g_2$ satisfies their sum. That nothing is missing needs a separation of convex sets, and is
# proved in {cite}`rockafellar1970convex`. The rules give us a test for a minimum that works in every corner:
#
# ````{prf:theorem} Optimality
# :label: thm-zero-in-subdifferential
# ```{math}
# :label: subgradients-zero
# \mathbf{w} \text{ is a global minimizer of } f \iff \mathbf{0} \in \partial f(\mathbf{w}) .
# ```
# ````
#
# ```{prf:proof}
# Both sides say that $f(\mathbf{u}) \ge f(\mathbf{w}) + \mathbf{0}^\top(\mathbf{u} - \mathbf{w})$ for all $\mathbf{u}$.
# ```
#
# ### The median minimizes the sum of absolute errors
#
# Which number $x$ is nearest to all of $y_1, \dots, y_n$ if errors are not squared? Each $|x - y_i|$ contributes $+1$ if
# $x > y_i$, $-1$ if $x < y_i$, and $[-1, 1]$ if equal. So with $l$ numbers to the left of $x$, $r$ to the right and $e$ equal,
#
# ```{math}
# :label: subgradients-median
# \begin{gathered}
# f(x) = \sum_{i=1}^n |x - y_i| , \qquad \partial f(x) = [\, l - r - e,\ l - r + e \,] , \\
# 0 \in \partial f(x) \iff |l - r| \le e ,
# \end{gathered}
# ```
#
# which is the *median*, with all its special cases.

# %%
def total_miss(x, y):
    return abs(x - y).sum()

def slopes_by_rule(x, y, width=1):  # width of the corner's interval
    l, r, e = (y < x).sum(), (y > x).sum(), (y == x).sum()
    return np.array([l - r - width * e, l - r + width * e])

y = np.array([1, 2, 2, 7, 9])
for x in (1, 2, 3, 7):
    low, high = slopes_by_rule(x, y)
    print(f'x = {x}: sum of errors {total_miss(x, y):2}, '
          f'subdifferential [{low:2}, {high:2}]')

# %% [markdown]
# ### Why the lasso sets weights to zero
#
# The *lasso* is least squares with a price on every weight,
#
# ```{math}
# :label: subgradients-lasso
# F(\mathbf{w}) = \frac{1}{2N} \|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2 + \lambda \|\mathbf{w}\|_1 .
# ```
#
# The gradient of the square is $-\mathbf{c}$ with
# $\mathbf{c} = \frac1N \mathbf{X}^\top (\mathbf{y} - \mathbf{X}\mathbf{w})$, the correlations of the features with what
# is not yet explained. By the sum rule $\mathbf{0} \in \partial F(\mathbf{w})$ says
#
# ```{math}
# :label: subgradients-lasso-optimal
# \begin{aligned}
# w_j \ne 0 &\implies c_j = \lambda \operatorname{sign} w_j , \\
# w_j = 0 &\implies |c_j| \le \lambda .
# \end{aligned}
# ```
#
# A feature enters only if it correlates enough. That explains the zeros of the lasso: at a smooth minimum $w_j = 0$ would
# be a coincidence, but here a whole interval of $c_j$ leads to it. For $\mathbf{w} = \mathbf{0}$ the condition reads
# $\lambda \ge \frac1N \max_j |\mathbf{x}_j^\top \mathbf{y}|$ with the columns $\mathbf{x}_j$ of $\mathbf{X}$.

# %%
def lasso_problem(seed, N=30, D=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    return X, X @ [2, 0, -1, 0.5] + rng.normal(size=N)

def by_sklearn(X, y, lam):
    return Lasso(lam, fit_intercept=False, tol=1e-12).fit(X, y).coef_

# %%
X, y = lasso_problem(0)
largest = abs(X.T @ y / len(y)).max()
for share in (0.2, 0.5, 0.99, 1.01):
    w = by_sklearn(X, y, share * largest) + 0.0  # no -0.0
    c = X.T @ (y - X @ w) / len(y) / (share * largest)
    print(f'lambda = {share:4} max: weights', *(f'{v:5.2f}' for v in w),
          '  c / lambda', *(f'{v:5.2f}' for v in c))

# %% [markdown]
# Where a weight is not zero, $c_j/\lambda$ is $1$ or $-1$.
#
# ```{exercise} ★★ Program: the newsvendor
# :label: subgradients-quantile
# Replace $|x - y_i|$ by the pinball loss of $r_i = y_i - x$, $\max(\tau r_i, (\tau - 1) r_i)$. Use {eq}`subgradients-zero`
# to find a minimizer of the sum, and write `best_order(y, tau)` for $\tau n$ not a whole number, when it is unique. (You
# sell newspapers. To run out costs $\tau$ a copy, a leftover $1 - \tau$.)
# ```

# %%
def best_order(y, tau):
    """The x with the smallest sum of pinball losses: a float.

    y: float array (n,), n >= 1, in any order. tau: float in (0, 1) for which
    tau * n is not whole.
    best_order(np.array([9.0, 2.0, 5.0]), 0.5) is 5.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def best_by_program(y, tau):  # of x, shortages and leftovers
    n = len(y)
    cost = np.r_[0, np.full(n, tau), np.full(n, 1 - tau)]
    equations = np.hstack([np.ones((n, 1)), np.eye(n), -np.eye(n)])
    limits = [(None, None)] + [(0, None)] * (2 * n)
    return linprog(cost, A_eq=equations, b_eq=y, bounds=limits).x[0]

def between_whole(y):
    shares = on(0.5, 0.95, 0.05) | scalars(0.01, 0.99)
    return shares.filter(lambda t: abs(t * len(y) - round(t * len(y))) > 0.01)

cases = dict(y=vectors((1, 7), edges=True), tau=between_whole)
grade(best_order, best_by_program, **cases, tries=50)

# %% [markdown]
# ```{solution-start} subgradients-quantile
# :class: dropdown
# ```
# With $l$ numbers below $x$, $r$ above and one equal, the subdifferential is
# $(1 - \tau) l - \tau r + [-\tau, 1 - \tau]$, and with $l + r + 1 = n$ it contains $0$ if and only if
# $l \le \tau n \le l + 1$: $x$ is the $\lceil \tau n \rceil$-th smallest number, the $\tau$-*quantile*. With $\tau$ and
# $1 - \tau$ exchanged one orders for the wrong fear. The other wrong answers round $\tau n$ to the nearest number, which is
# one place too low half of the time, and take `np.quantile` as it is, which goes between two numbers.

# %% jupyter={"source_hidden": true}
def best_order_solution(y, tau):
    return np.sort(y)[int(np.ceil(tau * len(y))) - 1]

def best_order_exchanged(y, tau):
    return best_order_solution(y, 1 - tau)

def place_rounded(y, tau):
    return np.sort(y)[max(round(tau * len(y)), 1) - 1]

def interpolated(y, tau):
    return np.quantile(y, tau)

few = dict(tries=50)
assert grade(best_order_solution, best_by_program, **cases, **few)
assert not grade(best_order_exchanged, best_by_program, **cases, **few)
assert not grade(place_rounded, best_by_program, **cases, **few)
assert not grade(interpolated, best_by_program, **cases, **few)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def median_rule(y, i, width):
    y, h = np.round(y), 0.25  # whole numbers: straight up to x ± 1
    x = y[i]
    low, high = slopes_by_rule(x, y, width)
    here = total_miss(x, y)
    sides = [(here - total_miss(x - h, y)) / h,
             (total_miss(x + h, y) - here) / h]
    best = min(total_miss(k, y) for k in y)
    return close([low, high], sides) and (low <= 0 <= high) == (here == best)

verify('the sum rule finds the median', lambda y, i: median_rule(y, i, 1),
       slip=('lets `sign` decide in the corners',
             lambda y, i: median_rule(y, i, 0)),
       y=vectors(6, -3, 3), i=integers(0, 5))

def is_lasso_optimum(X, y, w, lam):
    c = X.T @ (y - X @ w) / len(y)
    return bool(np.where(w == 0, abs(c) <= lam + 1e-9,  # rounding
                         abs(c - lam * np.sign(w)) < 1e-9).all())

def threshold_right(seed, share, order):
    X, y = lasso_problem(seed)
    lam = share * norm(X.T @ y / len(y), order)
    w = by_sklearn(X, y, lam)
    moved = is_lasso_optimum(X, y, w + [1e-3, 0, 0, 0], lam)
    return (w == 0).all() == (share > 1) and (
        is_lasso_optimum(X, y, w, lam) and not moved)

verify('all weights are 0 from lambda = max |X_j y| / N on',
       lambda seed, share: threshold_right(seed, share, np.inf),
       slip=('takes the Euclidean norm for the largest entry',
             lambda seed, share: threshold_right(seed, share, 2)),
       seed=seeds(), share=[0.2, 0.97, 1.03], tries=40)

# %% [markdown]
# ## Subgradient descent: the value may rise, the distance falls
#
# Put a subgradient where the gradient was:
#
# ```{math}
# :label: ml.opt.subgradient-descent.update
# \mathbf{w}^{(t+1)} := \mathbf{w}^{(t)} - \gamma \mathbf{g}, \qquad \mathbf{g} \in \partial \mathcal{L}(\mathbf{w}^{(t)})
# ```
#
# Any element will do. For a loss put together by the rules above, programs such as torch return one of them. (Not for
# every formula: $\max(0, x) - \max(0, -x)$ is $x$, yet torch gives it the slope 0 at 0.)

# %%
def subgradient_descent(subgrad, w0, steps):
    path = [w0]
    for gamma in steps:
        path.append(path[-1] - gamma * subgrad(path[-1]))
    return np.array(path)

def slanted(w):  # |x| + 3 |y|
    return abs(w) @ [1, 3]

walk = subgradient_descent(lambda w: np.where(w < 0, -1, 1) * [1, 3],
                           np.array([1.0, 0.0]), np.full(30, 0.04))
for t in (0, 1, 2, 3, 10, 20, 30):
    print(f'step {t:2}: value {slanted(walk[t]):.2f}, '
          f'distance to the minimum {norm(walk[t]):.3f}')

# %% [markdown]
# The first step leads up. We stand at $(1, 0)$ on $|x| + 3|y|$. One subgradient is $(1, 3)$, and a step against it leads to
# $|1 - \gamma| + 9\gamma = 1 + 8\gamma$: up, however short the step. What does fall is the distance to
# a minimizer $\mathbf{w}^*$. With $\mathbf{e}_t = \mathbf{w}^{(t)} - \mathbf{w}^*$,
#
# ```{math}
# :label: subgradients-distance
# \begin{aligned}
# \|\mathbf{e}_{t+1}\|^2 &= \|\mathbf{e}_t\|^2 - 2\gamma\, \mathbf{g}^\top \mathbf{e}_t + \gamma^2 \|\mathbf{g}\|^2 \\
# &\le \|\mathbf{e}_t\|^2 - 2\gamma \big( \mathcal{L}(\mathbf{w}^{(t)}) - \mathcal{L}(\mathbf{w}^*) \big)
# + \gamma^2 \|\mathbf{g}\|^2 ,
# \end{aligned}
# ```
#
# by the definition of $\mathbf{g}$, with $\mathbf{u} = \mathbf{w}^*$. So short steps come nearer, until the gap is about
# $\gamma \|\mathbf{g}\|^2 / 2$.
#
# ````{prf:theorem} Rate of subgradient descent
# :label: thm-subgradient-rate
# Let $\mathcal{L}$ be convex with minimizer $\mathbf{w}^*$, $\|\mathbf{e}_0\| \le R$, and all $\|\mathbf{g}\| \le G$.
# Then for steps $\gamma_0, \dots, \gamma_T$
# ```{math}
# :label: subgradients-bound
# \min_{0 \le t \le T} \mathcal{L}(\mathbf{w}^{(t)}) - \mathcal{L}(\mathbf{w}^*)
# \le \frac{R^2 + G^2 \sum_{t=0}^T \gamma_t^2}{2 \sum_{t=0}^T \gamma_t} ,
# ```
# and with all $\gamma_t = R / (G \sqrt{T + 1})$ the right side is $RG / \sqrt{T + 1}$.
# ````
#
# ```{prf:proof}
# :class: dropdown
# Add {eq}`subgradients-distance` over $t = 0, \dots, T$. The squared distances cancel but for the first and the last, and
# the last is not negative:
# $2 \sum_t \gamma_t (\mathcal{L}(\mathbf{w}^{(t)}) - \mathcal{L}(\mathbf{w}^*)) \le R^2 + G^2 \sum_t \gamma_t^2$. Each
# gap on the left is at least the smallest.
# ```
#
# With a *constant* step the bound does not go to zero but to $\gamma G^2 / 2$. On $|x|$ the walk ends up jumping to and fro
# across the corner, as we saw, each jump of length $\gamma$. Gradient descent need not shrink its steps because
# the gradient shrinks. A subgradient of size 1 stays of size 1 until the very end.
#
# ### Least absolute deviations for the diabetes patients
#
# We predict the disease of these patients {cite}`efron2004least`, standardized, with absolute errors:
# $\mathcal{L}(\mathbf{w}) = \frac1N \sum_n |y_n - \mathbf{x}_n^\top \mathbf{w}|$. A linear program knows the minimum:
# minimize the mean of $s_n$ under $-s_n \le y_n - \mathbf{x}_n^\top \mathbf{w} \le s_n$.

# %%
def absolute_loss(X, y, w):  # w (..., D)
    return abs(y - w @ X.T).mean(-1)

def absolute_subgrad(X, y):
    return lambda w: -X.T @ np.sign(y - X @ w) / len(y)

# %%
def least_absolute(X, y):  # weights, then one bound for each residual
    N, D = X.shape
    cost = np.r_[np.zeros(D), np.ones(N) / N]
    rows = np.block([[-X, -np.eye(N)], [X, -np.eye(N)]])
    limits = [(None, None)] * D + [(0, None)] * N
    found = linprog(cost, A_ub=rows, b_ub=np.r_[-y, y], bounds=limits)
    return found.x[:D], found.fun

# %%
patients = data.diabetes()
z = (patients.x - patients.x.mean(0)) / patients.x.std(0)
X = np.c_[np.ones(len(z)), z]
y = (patients.y - patients.y.mean()) / patients.y.std()
lowest = least_absolute(X, y)[1]
t = np.arange(1, 3001)
schedules = {'0.5': 0.5 + 0 * t, '0.01': 0.01 + 0 * t, '2/√t': 2 / t**0.5}

# %%
gaps_so_far = {}
for name, steps in schedules.items():
    path = subgradient_descent(absolute_subgrad(X, y), np.zeros(11), steps)
    gap = absolute_loss(X, y, path) - lowest
    gaps_so_far[name] = np.minimum.accumulate(gap)
    rose = (np.diff(gap) > 0).mean()
    print(f'steps {name:7} rose in {rose:.2f} of the steps; '
          f'best gap {gap.min():.2e}')

# %% mystnb={"image": {"alt": "Left: contours of the absolute value of x plus three times that of y with a zigzag walk from the right across the valley floor towards the middle. Right: best gap so far against the step on logarithmic axes for three step rules on diabetes data; the long constant step stalls high, the short one starts slowly, the shrinking one keeps falling."}} tags=["hide-input"]
fig, (plane, rate) = panels(2, height=2.6)
a = np.linspace(-0.5, 1.2, 120)
b = np.linspace(-0.35, 0.35, 120)
plane.contour(a, b, abs(a) + 3 * abs(b)[:, None], 9, colors=GREY,
              linewidths=0.6, alpha=0.7)
plane.plot(*walk.T, 'o-', ms=3, lw=1)
plane.set(xlabel='x', ylabel='y', xlim=(-0.5, 1.2))
for name, gap in gaps_so_far.items():
    rate.loglog(np.arange(1, len(gap) + 1), gap, label=name)
rate.set(xlabel='step', ylabel='best gap so far')
rate.legend(title='step size');

# %% [markdown] tags=["caption"]
# Left: steps along subgradients rise and fall and still come nearer. Right: constant steps stall if long and are slow if
# short; steps like $1/\sqrt t$ begin badly and end best.

# %% [markdown]
# The figure shows the best value *so far*, and in practice we keep that: the last iterate may be worse than many before. The
# long step stalls (the bound allows it any gap up to $\gamma G^2 / 2$), the short one is still on its way, and the shrinking
# one is poor at first and best in the end, because $\sum_t \gamma_t$ grows without bound while
# $\sum_t \gamma_t^2 / \sum_t \gamma_t$ vanishes.
#
# ### The rate $1/\sqrt{T}$ cannot be improved
#
# Is $1/\sqrt{T}$ the truth or a weakness of the proof? In $k = T + 1$ dimensions let {cite}`nesterov2018lectures`
#
# ```{math}
# :label: subgradients-worst
# f(\mathbf{w}) = \max\big( w_1, \dots, w_k,\ \|\mathbf{w}\| - 1 - \tfrac{1}{\sqrt k} \big) .
# ```
#
# Its lowest value is $-1/\sqrt k$, at $w_i = -1/\sqrt k$, at distance $R = 1$ from the start $\mathbf{0}$ (if all
# $w_i < -1/\sqrt k$, then $\|\mathbf{w}\| > 1$ and the last term is larger), and $G = 1$. Of the coordinates that attain
# the maximum let the subgradient name the first; while $\|\mathbf{w}\| \le 1$ the last term plays no part. Each step of
# $1/\sqrt k$ lowers one coordinate. After fewer than $k$ steps one is still untouched, so $f \ge 0$: *the gap is
# $1/\sqrt{T + 1}$, exactly the bound*.

# %%
def worst_gap(T):
    k = T + 1
    f = lambda w: max(w.max(), norm(w) - 1 - k**-0.5)
    subgrad = lambda w: np.eye(k)[w.argmax()]  # while |w| <= 1
    path = subgradient_descent(subgrad, np.zeros(k), np.full(T, k**-0.5))
    lowest = f(np.full(k, -(k**-0.5)))
    return min(f(w) for w in path) - lowest

for T in (3, 30, 300):
    print(f'{T:3} steps: gap {worst_gap(T):.4f}, '
          f'bound {1 / np.sqrt(T + 1):.4f}')

# %% [markdown]
# ```{exercise} ★★ Experiment: one step size for ever
# :label: subgradients-fixed
# Subgradient descent with a fixed step size $\gamma$ runs for a thousand steps on $|x|$, on $|x|^{3/2}$ and on $x^2$. Predict
# for the first two: as which power of $\gamma$ does the distance $|x|$ grow at which the walk ends? Then turn the knob
# $\gamma$ and look. Why does the third walk come to rest, and the others not?
# ```

# %%
def predicted_powers():
    """a and b: the distance grows as gamma^a on |x|, as gamma^b on |x|^1.5.

    Two floats out of 0, 0.5, 1, 1.5, 2 and 3; (0, 0.5) has the right form.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def last_distance(p, gamma):  # mean of the last two of 1000 steps
    x = [0.777]
    for _ in range(1000):
        x.append(x[-1] - gamma * p * np.sign(x[-1]) * abs(x[-1]) ** (p - 1))
    return (abs(x[-1]) + abs(x[-2])) / 2

def are_measured(*powers):
    if len(powers) != 2 or not {*powers} <= {0, 0.5, 1, 1.5, 2, 3}:
        raise ValueError('give two of 0, 0.5, 1, 1.5, 2 and 3')
    for power, p in zip(powers, (1, 1.5), strict=True):
        grown = np.log10(last_distance(p, 0.1) / last_distance(p, 0.01))
        if abs(power - grown) > 0.2:
            raise ValueError(f'another power is measured on |x|^{p}')
    return True

grade(lambda: are_measured(*predicted_powers()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} subgradients-fixed
# :class: dropdown
# ```
# A walk that jumps for ever between $x$ and $-x$ takes steps of length $2|x|$. On $|x|^p$ a step has the length
# $\gamma p |x|^{p-1}$, and both are equal at $|x| = (\gamma p / 2)^{1/(2-p)}$. So the power is 1 on $|x|$, where the slope is
# the same everywhere (there the two sides may differ, and $\gamma/2$ is their mean), and 2 on $|x|^{3/2}$, where the slope
# fades towards the minimum. At $p = 2$ it fades as fast as the distance, and for $\gamma < 1$ each step is shorter than
# $2|x|$: the walk comes to rest. It is tempting to say 1 both times, or to give the powers of the loss.

# %% jupyter={"source_hidden": true}
assert grade(lambda: are_measured(1, 2), lambda: True, [()])
for wrong in (1, 1), (1, 1.5), (1, 3), (0.5, 2), (2, 1), (0, 2):
    assert not grade(lambda: are_measured(*wrong), lambda: True, [()])
for gamma in (0.1, 0.01):
    print(f'step size {gamma:4}:', *(
        f'{last_distance(p, gamma):.4g}' for p in (1, 1.5)))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def torch_path(X, y, w, steps):
    X, y = torch.tensor(X), torch.tensor(y)
    w = torch.tensor(w, requires_grad=True)
    optimizer, path = torch.optim.SGD([w], lr=1), [w.tolist()]
    for gamma in steps:
        optimizer.param_groups[0]['lr'] = gamma
        optimizer.zero_grad()
        (y - X @ w).abs().mean().backward()
        optimizer.step()
        path.append(w.tolist())
    return np.array(path)

def keeps_promise(seed, sign):
    rng = np.random.default_rng(seed)
    X, y, w = rng.normal(size=(9, 2)), rng.normal(size=9), rng.normal(size=2)
    best, lowest = least_absolute(X, y)
    R, G = norm(w - best), norm(X, axis=1).mean()
    steps = R / G / np.sqrt(np.arange(1, 61))
    subgrad = absolute_subgrad(X, y)
    path = subgradient_descent(lambda w: sign * subgrad(w), w, steps)
    gap = absolute_loss(X, y, path[:60]).min() - lowest
    bound = (R**2 + G**2 * (steps**2).sum()) / (2 * steps.sum())
    return -1e-9 <= gap <= bound and close(path, torch_path(X, y, w, steps))

holds('ml.opt.subgradient-descent.update', lambda seed: keeps_promise(seed, 1),
      slip=('walks along the subgradient, not against it',
            lambda seed: keeps_promise(seed, -1)),
      seed=seeds(), tries=15)

def last_two(x, gamma):
    walk = subgradient_descent(np.sign, x, np.full(60, gamma))
    return abs(walk[-2:])

verify('a constant step ends in jumps of its own length',
       lambda x, gamma: close(last_two(x, gamma).sum(), gamma),
       slip=('expects a constant step to converge',
             lambda x, gamma: last_two(x, gamma).sum() < gamma / 2),
       x=scalars(0.503, 4).filter(lambda x: x * 1000 % 100 != 0),
       gamma=[0.1, 0.2, 0.5])

verify('the rate 1 / sqrt(T + 1) is attained',
       lambda T: close(worst_gap(T), (T + 1) ** -0.5),
       slip=('claims the rate 1/(T + 1)',
             lambda T: close(worst_gap(T), 1 / (T + 1))),
       T=[1, 3, 10, 30, 100])

verify(
    'the step along (1, 3) from (1, 0) leads up by eight times its length',
    lambda gamma: close(slanted(np.array([1 - gamma, -3 * gamma])), 1 + 8 * gamma),
    slip=('forgets the slope in y', lambda gamma: close(slanted(np.array([1 - gamma, 0])), 1 + 8 * gamma)),
    gamma=scalars(0.01, 0.5),
)
verify(
    'the walk comes nearer at each of the first twenty steps',
    lambda t: bool(norm(walk[t + 1]) < norm(walk[t])),
    slip=('says that its values fall', lambda t: bool(slanted(walk[t + 1]) < slanted(walk[t]))),
    t=list(range(20)),
)

# %% [markdown]
# ## Proximal gradient descent: soft thresholding and ISTA
#
# Subgradient descent knows of a corner only one line at a time. But often we know the whole corner. In $F = f + h$ let
# $f$ be $L$-smooth and $h$ simple, say $\lambda \|\mathbf{w}\|_1$. Then we replace only $f$ by a model, the parabola of the
# [descent lemma](gradient_descent.ipynb), and keep $h$ as it is:
#
# $$
# \begin{aligned}
# \mathbf{w}^+ &= \operatorname*{arg\,min}_{\mathbf{u}} \Big( f(\mathbf{w}) + \nabla f(\mathbf{w})^\top
# (\mathbf{u} - \mathbf{w}) + \frac{1}{2\gamma} \|\mathbf{u} - \mathbf{w}\|^2 + h(\mathbf{u}) \Big) \\
# &= \operatorname{prox}_{\gamma h} \big( \mathbf{w} - \gamma \nabla f(\mathbf{w}) \big) ,
# \end{aligned}
# $$
#
# where, after completing the square, all that is left to solve is
#
# ```{math}
# :label: subgradients-prox
# \operatorname{prox}_{\gamma h}(\mathbf{v})
# = \operatorname*{arg\,min}_{\mathbf{u}} \Big( \tfrac12 \|\mathbf{u} - \mathbf{v}\|^2 + \gamma h(\mathbf{u}) \Big) .
# ```
#
# By {eq}`subgradients-zero` the minimizer $p$ is recognized by $v - p \in \gamma\, \partial h(p)$: a subgradient step too,
# but with the subgradient *at the place where it arrives*. That is why it can stop in a corner. For $h = |\cdot|$: if
# $p > 0$, then $v - p = \gamma$, so $p = v - \gamma$, which needs $v > \gamma$; likewise $p = v + \gamma$ for $v < -\gamma$;
# and $p = 0$ for all $|v| \le \gamma$. This is *soft thresholding*,
#
# ```{math}
# :label: subgradients-soft
# \operatorname{prox}_{\gamma |\cdot|}(v) = \operatorname{sign}(v) \max(|v| - \gamma, 0) ,
# ```
#
# and since $\|\cdot\|_1$ is a sum over coordinates, it does each on its own.

# %%
def soft(v, gamma):
    return np.sign(v) * np.maximum(abs(v) - gamma, 0)

def ista(grad, prox, w, gamma, T):  # prox(v, gamma)
    path = [w]
    for _ in range(T):
        path.append(prox(path[-1] - gamma * grad(path[-1]), gamma))
    return np.array(path)

print('v         ', *(f'{v:5.2f}' for v in (-2.0, 0.3, 0.8, 1.5)))
print('soft(v, 1)', *(f'{soft(v, 1):5.2f}' for v in (-2.0, 0.3, 0.8, 1.5)))

# %% [markdown]
# Hard thresholding would keep the large values whole. It is not the proximal step of $|x|$.
#
# ````{prf:theorem} Rate of the proximal gradient method
# :label: thm-ista-rate
# Let $f$ be convex and $L$-smooth, $h$ convex, $\mathbf{w}^*$ a minimizer of $F = f + h$, and $\gamma = 1/L$. Then $F$
# never rises, and
# ```{math}
# :label: subgradients-ista-bound
# F(\mathbf{w}^{(t)}) - F(\mathbf{w}^*) \le \frac{L \|\mathbf{w}^{(0)} - \mathbf{w}^*\|^2}{2t} .
# ```
# ````
#
# ```{prf:proof}
# :class: dropdown
# From $\mathbf{w}$ to $\mathbf{w}^+$: the descent lemma says $f(\mathbf{w}^+) \le f(\mathbf{w}) + \nabla
# f(\mathbf{w})^\top (\mathbf{w}^+ - \mathbf{w}) + \frac L2 \|\mathbf{w}^+ -
# \mathbf{w}\|^2$. Let $\mathbf{z}$ be any point. Convexity gives $f(\mathbf{z}) \ge f(\mathbf{w}) + \nabla
# f(\mathbf{w})^\top (\mathbf{z} - \mathbf{w})$, and since $L(\mathbf{w} - \mathbf{w}^+) - \nabla
# f(\mathbf{w})$ is a subgradient of $h$ at $\mathbf{w}^+$, $h(\mathbf{z}) \ge h(\mathbf{w}^+) + (L(\mathbf{w} -
# \mathbf{w}^+) - \nabla f(\mathbf{w}))^\top (\mathbf{z} - \mathbf{w}^+)$. Subtract: the gradients cancel, and
#
# $$
# \begin{aligned}
# F(\mathbf{w}^+) - F(\mathbf{z}) &\le \tfrac L2 \|\mathbf{w}^+ - \mathbf{w}\|^2
# + L (\mathbf{w} - \mathbf{w}^+)^\top (\mathbf{w}^+ - \mathbf{z}) \\
# &= \tfrac L2 \big( \|\mathbf{w} - \mathbf{z}\|^2 - \|\mathbf{w}^+ - \mathbf{z}\|^2 \big) .
# \end{aligned}
# $$
#
# With $\mathbf{z} = \mathbf{w}$: no rise. With $\mathbf{z} = \mathbf{w}^*$, added over $t$ steps: the right side telescopes
# to at most $\frac L2 \|\mathbf{w}^{(0)} - \mathbf{w}^*\|^2$, and the left side is at least $t$ times the last gap.
# ```
#
# This is the rate $1/t$ of smooth functions, for a function with corners. It cannot be better: take $f = 0$ and $h = \delta
# |x|$, where each step of $\gamma = 1$ goes by $\delta$. With $\delta = x_0 / 2t$ we are half way after $t$ steps, at a gap
# of $x_0^2 / 4t$, half of the bound.
#
# ### The lasso for the diabetes patients
#
# For the lasso the method is known as *ISTA* {cite}`beck2009fast`. We take the patients and $\lambda = 0.05$, and compare
# with subgradient descent, with the best of three shrinking steps, and with scikit-learn.

# %%
def lasso_value(X, y, w, lam):  # w (..., D)
    return ((y - w @ X.T) ** 2).mean(-1) / 2 + lam * abs(w).sum(-1)

def lasso_ista(X, y, lam, T, stretch=1):
    L = np.linalg.eigvalsh(X.T @ X / len(y))[-1]
    grad = lambda w: X.T @ (X @ w - y) / len(y)
    return ista(grad, lambda v, gamma: soft(v, gamma * lam),
                0.0 * X[0], stretch / L, T), L

def lasso_by_sklearn(X, y, lam):
    return Lasso(lam, fit_intercept=False, tol=1e-12,
                 max_iter=100_000).fit(X, y).coef_

# %%
patients = data.diabetes()
X = (patients.x - patients.x.mean(0)) / patients.x.std(0)
y = (patients.y - patients.y.mean()) / patients.y.std()
lam, T = 0.05, 1000
exact = lasso_by_sklearn(X, y, lam)
path, L = lasso_ista(X, y, lam, T)

# %%
def subgradient_walk(c):
    w, walk = np.zeros(10), [np.zeros(10)]
    for t in range(1, T + 1):
        g = X.T @ (X @ w - y) / len(y) + lam * np.sign(w)
        w = w - c / np.sqrt(t) * g
        walk.append(w)
    return np.array(walk)

walks = [subgradient_walk(c) for c in (0.03, 0.1, 0.3)]
best_walk = min(walks, key=lambda w: lasso_value(X, y, w, lam).min())

# %%
target = lasso_value(X, y, exact, lam)
gap = {name: lasso_value(X, y, w, lam) - target
       for name, w in (('ISTA', path), ('subgradient', best_walk))}
for name, w in (('ISTA', path), ('subgradient', best_walk)):
    print(f'{name:12} weights exactly 0: {(w[-1] == 0).sum()}',
          f'  best gap {below(gap[name].min(), 1e-8)}')
print('scikit-learn weights exactly 0:', (exact == 0).sum())

# %% mystnb={"image": {"alt": "Left: gap to the lasso optimum against the step on logarithmic axes: ISTA bends down steeply below the straight line of its bound, subgradient descent stays behind. Right: ten weights against the step under ISTA; several lie exactly on zero at the end."}} tags=["hide-input"]
fig, (rate, weights) = panels(2, height=2.7)
steps = np.arange(1, T + 1)
shown = gap['ISTA'][1:] > 1e-9
rate.loglog(steps[shown], gap['ISTA'][1:][shown], label='ISTA')
rate.loglog(steps, np.minimum.accumulate(gap['subgradient'])[1:],
            label='subgradient, best')
rate.loglog(steps, L * norm(exact) ** 2 / (2 * steps), ':', color=GREY,
            label='bound of ISTA')
rate.set(xlabel='step', ylabel='gap', ylim=(1e-9, 30))
rate.legend(fontsize=8)
weights.semilogx(steps, path[1:], lw=1.2)
weights.axhline(0, color=GREY, lw=0.8)
weights.set(xlabel='step of ISTA', ylabel='weights');

# %% [markdown] tags=["caption"]
# Left: the proximal method falls far below its $1/t$ bound and leaves subgradient descent behind. Right: within about twenty
# steps it sets four of the ten weights to exactly zero.

# %% [markdown]
# Subgradient descent comes close to the zeros and hits none. The proximal step makes them exact. Once it knows which weights
# are zero it moves on a smooth quadratic, at the linear rate of [gradient descent](gradient_descent.ipynb): this is the bend
# in the curve. Projection onto a convex set is the special case in which $h$ is $0$ on the set and infinite outside, so
# [projected gradient descent](projected_gradient_descent.ipynb) is a proximal method.
#
# ```{exercise} ★★★ Pencil: all or nothing
# :label: subgradients-block
# The *group lasso* charges $\lambda \|\mathbf{w}\|_2$, not squared, for a whole block of weights. Find
# $\partial \|\cdot\|_2 (\mathbf{0})$, then the proximal step $\operatorname{prox}_{\gamma \|\cdot\|_2}(\mathbf{v})$, and
# write it as `shrink_block(v, gamma)`. When does the whole block vanish? What is the prox of
# $\frac12 \|\cdot\|_2^2$, and why does ridge regression never give zeros?
# ```

# %%
def shrink_block(v, gamma):
    """The u with the smallest |u - v|^2 / 2 + gamma |u|: a float array (n,).

    v: float array (n,), n >= 1; it may be zero. gamma: float > 0.
    shrink_block(np.array([3.0, -4.0]), 1.0) is array([2.4, -3.2]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def block_by_search(v, gamma):  # along v, and at 0
    cost = lambda s: norm(s * v - v) ** 2 / 2 + gamma * norm(s * v)
    s = minimize_scalar(cost, bounds=(-1, 2), method='bounded', options={'xatol': 1e-10}).x
    return min(s * v, 0 * v, key=lambda u: norm(u - v) ** 2 / 2 + gamma * norm(u))

cases = dict(
    v=vectors((1, 4), edges=True),
    gamma=lambda v: (on(1.0, norm(v), norm(v) / 2) | scalars(0.05, 12)).filter(bool),
)
grade(shrink_block, block_by_search, **cases, atol=1e-6)

# %% [markdown]
# ```{solution-start} subgradients-block
# :class: dropdown
# ```
# At $\mathbf{0}$ the inequality $\|\mathbf{u}\| \ge \mathbf{g}^\top \mathbf{u}$ for all $\mathbf{u}$ says
# $\|\mathbf{g}\| \le 1$ (Cauchy–Schwarz, and $\mathbf{u} = \mathbf{g}$): a ball. So $\mathbf{p} = \mathbf{0}$ if and only
# if $\|\mathbf{v}\| \le \gamma$. Otherwise $\mathbf{v} - \mathbf{p} = \gamma\, \mathbf{p} / \|\mathbf{p}\|$: $\mathbf{p}$
# points along $\mathbf{v}$ and is shorter by $\gamma$. Soft thresholding each entry is another function: it can spare one
# weight of the block. Without the maximum a short block turns round. The prox of $\frac12 \|\cdot\|^2$ is
# $\mathbf{v} / (1 + \gamma)$, which is zero only for $\mathbf{v} = \mathbf{0}$: no corner, no zeros.

# %% jupyter={"source_hidden": true}
def shrink_block_solution(v, gamma):
    size = norm(v)
    return (1 - gamma / size) * v if size > gamma else 0 * v

def turned_round(v, gamma):
    return (1 - gamma / max(norm(v), 1e-9)) * v

def of_the_square(v, gamma):
    return v / (1 + gamma)

tight = dict(atol=1e-6)
assert grade(shrink_block_solution, block_by_search, **cases, **tight)
assert not grade(soft, block_by_search, **cases, **tight)
assert not grade(turned_round, block_by_search, **cases, **tight)
assert not grade(of_the_square, block_by_search, **cases, **tight)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
assert close(path[-1], exact, atol=1e-9, rtol=0)

# %% tags=["checks"]
def hard(v, gamma):
    return np.where(abs(v) > gamma, v, 0)

def prox_by_search(v, gamma):
    return minimize_scalar(lambda u: (u - v) ** 2 / 2 + gamma * abs(u),
                           tol=1e-12).x

verify('soft thresholding is the proximal step of |x|',
       lambda v, gamma: close(soft(v, gamma), prox_by_search(v, gamma),
                              atol=1e-6),
       slip=('keeps the large values whole, as hard thresholding does',
             lambda v, gamma: close(hard(v, gamma), prox_by_search(v, gamma),
                                    atol=1e-6)),
       v=scalars(-4, 4), gamma=scalars(0.1, 2))

def slow_gap(t, x):
    delta = x / (2 * t)
    shrink = lambda v, gamma: soft(v, gamma * delta)
    return delta * abs(ista(lambda w: 0, shrink, x, 1, t)[-1])

verify('half of the bound is attained after every number of steps',
       lambda t, x: close(slow_gap(t, x), x**2 / (4 * t)),
       slip=('claims the rate 1/t²',
             lambda t, x: close(slow_gap(t, x), x**2 / (4 * t**2))),
       t=[1, 2, 10, 50], x=scalars(0.5, 5))

def within_bound(seed, stretch):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 3)), 3 * rng.normal(size=12)
    path, L = lasso_ista(X, y, 0.2, 300, stretch)
    best = lasso_by_sklearn(X, y, 0.2)
    values = lasso_value(X, y, path, 0.2)
    gap = values - lasso_value(X, y, best, 0.2)
    bound = L * norm(best) ** 2 / (2 * np.arange(1, 301))
    return close(path[-1], best, atol=1e-9, rtol=0) and bool(
        (gap[1:] <= bound + 1e-9).all() and (np.diff(values) <= 1e-12).all())

verify('the proximal walk never rises and keeps to L |w*|² / 2t',
       lambda seed: within_bound(seed, 1),
       slip=('takes steps of 2.2/L', lambda seed: within_bound(seed, 2.2)),
       seed=seeds(), tries=30)

# %% [markdown]
# ## Summary
#
# A subgradient is the slope of a line that fits below the whole graph. In a corner there are many, sums and maxima have
# rules for them, and a point is a minimum if and only if zero is among them. Subgradient descent may rise, yet it
# comes nearer, and its best value converges like $1/\sqrt T$, which for some functions is exactly true. Where the corner is
# known, the proximal step solves it exactly, which restores $1/t$, never rises, and makes weights exactly zero.
#
# **Further reading.** {cite:t}`nesterov2018lectures` has the lower bounds, {cite:t}`beck2009fast` the proximal gradient
# method and its acceleration to $1/t^2$, {cite:t}`bauschke2017convex` the theory of proximal steps, and
# {cite:t}`hastie2009elements` what the lasso is good for.
