# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Gradient descent
#
# - **Question.** A walker in fog feels nothing but the slope underfoot. Which way should the next step go, how long
#   may it be, and how many steps is it to the valley floor?
# - **You need** gradients and directional derivatives, eigenvalues of symmetric matrices, and
#   [norms](../linear_algebra/norms.ipynb).
# - **You build** gradient descent, a line search that finds its own step, a forecast of the number of steps, and least
#   squares by descent.
# - **Time** 10 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/heads/main.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
import sympy
import torch
from numpy.linalg import norm
from numpy.polynomial import Polynomial
from scipy.optimize import brentq, minimize_scalar

from nbutils import data
from nbutils.cases import integers, matrices, scalars, seeds, vectors
from nbutils.checks import close, erratum, grade, holds
from nbutils.figures import GREY, panels

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## What counts as lowest
#
# The task is short to state: among all inputs of a function, find one whose output is smallest.
#
# ```{math}
# :label: aw.gd.single-objective
# \min_{\mathbf{x} \in \mathbb{R}^n} f(\mathbf{x}), \qquad f : \mathbb{R}^n \to \mathbb{R}
# ```
#
# Two words are hidden in it. The task is *unconstrained*: every $\mathbf{x}$ is allowed. And it has a *single
# objective*: the output is one number, and of two numbers one is never worse than the other. With two outputs, say the
# price and the weight of a bicycle, nothing need be best, because the cheapest is seldom the lightest. So the check
# below looks for a best candidate among four, and its control judges them by two outputs at once.

# %%
def some_is_best(no_worse):  # (n, n): is i no worse than j?
    return no_worse.all(1).any()

holds(
    'aw.gd.single-objective',
    lambda price, weight: some_is_best(price[:, None] <= price),
    control=lambda price, weight: some_is_best(
        (price[:, None] <= price) & (weight[:, None] <= weight)),
    price=vectors(4, 0, 10), weight=vectors(4, 0, 10),
)

# %% [markdown]
# What does "smallest" mean? Machine learning writes $\mathbf{w}$ for the input and $L$ for the function, and
# distinguishes two answers. A *global* minimum is beaten nowhere, a *local* one nowhere nearby:
#
# ```{math}
# :label: ml.opt.global-min
# L(\mathbf{w}^*) \le L(\mathbf{w}) \quad \text{for all } \mathbf{w} \in \mathbb{R}^D
# ```
#
# ```{math}
# :label: ml.opt.local-min
# \text{there is } \epsilon > 0 \text{ with} \quad
# L(\mathbf{w}^*) \le L(\mathbf{w}) \quad \text{for all } \mathbf{w} \text{ with } \|\mathbf{w} - \mathbf{w}^*\| \le \epsilon
# ```
#
# One dimension is enough to see the difference. The tilted double well $L(w) = w^4 - 2w^2 + cw$ grows without bound on
# both sides, so it has a global minimum, and at a minimum the derivative vanishes. The sign of the second derivative
# then tells valleys from hills:

# %%
def tilted_well(c):
    return Polynomial([0, c, -2, 0, 1])

def classify_stationary_points(f):  # f: a polynomial
    roots = f.deriv().roots()
    points = np.sort(roots[abs(roots.imag) < 1e-9].real)
    return points, np.sign(f.deriv(2)(points))  # 1 valley, -1 hill

well = tilted_well(0.5)
points, kinds = classify_stationary_points(well)
for w, kind in zip(points, kinds, strict=True):
    print(f'w = {w:5.2f}, L = {well(w):5.2f}:', 'valley' if kind > 0 else 'hill')

# %% [markdown]
# Sympy, which isolates the roots exactly, agrees for several tilts, also where only one valley is left:

# %%
w = sympy.Symbol('w')
for c in (-2, -1, sympy.Rational(1, 2), 1, 2):
    L = w**4 - 2 * w**2 + c * w
    exact = [r.evalf() for r in sympy.real_roots(L.diff(w))]
    found = classify_stationary_points(tilted_well(float(c)))
    assert close(found[0], exact)
    assert close(found[1], [sympy.sign(L.diff(w, 2).subs(w, r)) for r in exact])

# %% [markdown]
# The definition of a local minimum asks for *some* $\epsilon$. Demanding it for *every* $\epsilon$ is the control, and
# the right-hand valley refutes it: a ball wide enough to reach the left-hand valley holds lower points.

# %% tags=["hide-input"]
def lowest_in_ball(w, eps):
    ball = np.linspace(w - eps, w + eps, 101)
    return (well(w) <= well(ball) + 1e-12).all()  # 1e-12: rounding

radii = (0.01, 0.1, 1, 3)
holds(
    'ml.opt.local-min',
    lambda w: any(lowest_in_ball(w, r) for r in radii) == (well.deriv(2)(w) > 0),
    control=lambda w: all(lowest_in_ball(w, r) for r in radii) == (well.deriv(2)(w) > 0),
    w=list(points),
)

def valley_depths(c):
    at, kind = classify_stationary_points(tilted_well(c))
    return tilted_well(c)(at[kind > 0])

holds(
    'ml.opt.global-min',
    lambda c, w: valley_depths(c).min() <= tilted_well(c)(w) + 1e-12,
    control=lambda c, w: valley_depths(c).max() <= tilted_well(c)(w) + 1e-12,
    c=scalars(-2, 2), w=scalars(),
)

# %% mystnb={"image": {"alt": "A tilted double well. Its left valley is the global minimum; the right one is a local minimum, lowest within the shaded ball around it, and between them lies a hill."}} tags=["hide-input"]
grid = np.linspace(-1.65, 1.55, 400)
fig, ax = plt.subplots()
ax.plot(grid, well(grid))
ax.axvspan(points[2] - 0.4, points[2] + 0.4, color='C1', alpha=0.2, lw=0)
ax.plot(points, well(points), 'o', color='C1')
ax.annotate('global minimum', (points[0], well(points[0])), (0, -15), textcoords='offset points', ha='center')
ax.annotate('local minimum', (points[2], well(points[2])), (0, -15), textcoords='offset points', ha='center')
ax.annotate('hill', (points[1], well(points[1])), (0, 8), textcoords='offset points', ha='center')
ax.text(points[2], 1.05, 'ball of radius ε', color='C1', ha='center')
ax.set(xlabel='w', ylabel='L(w)', ylim=(-2.0, 1.3));

# %% [markdown]
# ```{exercise} ★ The deeper valley
# :label: gradient_descent-deeper
# Write `deepest(c)`, the place of the global minimum of $w^4 - 2w^2 + cw$ for $c \ne 0$. The grader knows on which side
# of zero the deeper valley lies, and searches there.
# ```

# %%
def deepest(c):
    raise NotImplementedError('your turn')

# %%
def deepest_by_search(c):
    side = (-2, 0) if c > 0 else (0, 2)
    return minimize_scalar(
        lambda w: w**4 - 2 * w**2 + c * w, bounds=side,
        method='bounded', options={'xatol': 1e-9}).x

grade(deepest, deepest_by_search, [(0.5,), (-0.3,), (1.8,), (-1.5,)], atol=1e-6)

# %% [markdown]
# ```{solution-start} gradient_descent-deeper
# :class: dropdown
# ```
# The global minimum is a stationary point, and there are at most three: compare their values. Newton's method started
# at $w = 1$ is a plausible mistake. It finds a stationary point, but the one that is near, not the one that is low.

# %% jupyter={"source_hidden": true}
def deepest_solution(c):
    at, _ = classify_stationary_points(tilted_well(c))
    return at[tilted_well(c)(at).argmin()]

def newton_from_one(c):
    w = 1.0
    for _ in range(50):
        w = w - (4 * w**3 - 4 * w + c) / (12 * w**2 - 4)
    return w

deepest_cases = [(0.5,), (-0.3,), (1.8,), (-1.5,)]
assert grade(deepest_solution, deepest_by_search, deepest_cases, atol=1e-6)
assert not grade(newton_from_one, deepest_by_search, deepest_cases, atol=1e-6)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Which way is down
#
# A network has millions of weights, and nobody solves $\nabla f = \mathbf{0}$ for them. So we walk. From a first guess
# $\mathbf{x}_0$, each step has a direction and a length:
#
# ```{math}
# :label: aw.gd.step
# \mathbf{x}_t = \mathbf{x}_{t-1} + \eta_t \, \mathbf{p}_t, \qquad \|\mathbf{p}_t\| = 1
# ```
#
# Since the direction $\mathbf{p}_t$ is normalized, $\eta_t$ is the distance covered. It is called the *step size* or the *learning
# rate*.

# %%
holds(
    'aw.gd.step',
    lambda x, v, eta: close(norm(x + eta * v / norm(v) - x), eta),
    control=lambda x, v, eta: close(norm(x + eta * v - x), eta),
    x=vectors(3), v=vectors(3).filter(np.any), eta=scalars(0.1, 5),
)

# %% [markdown]
# Which directions lead down? The notes call $\mathbf{p}_t$ a descent direction if the step taken satisfies $f(\mathbf{x}_t)
# \le f(\mathbf{x}_{t-1})$. Read literally, that makes the word depend on the length of the step. On $x^2$ at $x = 1$ the direction
# $-1$ is downhill, yet a step of length 3 lands higher, at $(-2)^2 = 4$; at 0 the sine rises to the right, yet a step
# of length 4 lands lower, since $\sin 4 < 0$. What leaps over a valley says nothing about the slope. So we ask
# for *every* short enough step:
#
# ````{prf:definition} Descent direction
# :label: def-descent-direction
# $\mathbf{p}$ is a descent direction of $f$ at $\mathbf{x}$ if there is $\bar\eta > 0$ such that
# ```{math}
# :label: aw.gd.descent-def
# f(\mathbf{x} + \eta \, \mathbf{p}) < f(\mathbf{x}) \qquad \text{for all } 0 < \eta < \bar\eta
# ```
# ````
#
# On $x^2$ the bound is $\bar\eta = 2|x|$. The control drops it.

# %%
def step_on_square(x, eta):  # from x against the sign of the slope
    return (x - eta * np.sign(x)) ** 2

holds(
    'aw.gd.descent-def',
    lambda x, s: step_on_square(x, s * 2 * abs(x)) < x**2,
    control=lambda x, s: step_on_square(x, 10 * s) < x**2,
    x=scalars().filter(lambda x: abs(x) > 0.01), s=scalars(0.01, 0.99),
)

# %% [markdown]
# The definition speaks about a whole range of steps. The *directional derivative* replaces it by one number:
#
# $$
# D_{\mathbf{p}} f(\mathbf{x}) = \lim_{\eta \to 0^+} \frac{f(\mathbf{x} + \eta \, \mathbf{p}) - f(\mathbf{x})}{\eta}.
# $$
#
# If $\mathbf{p}$ is a descent direction, these quotients are negative for small $\eta$, and a limit of negative numbers
# is not positive:
#
# ```{math}
# :label: aw.gd.dir-nonpos
# D_{\mathbf{p}_t} f(\mathbf{x}_{t-1}) \le 0
# ```
#
# Conversely, if the limit is negative, so are the quotients for all small $\eta$, and $\mathbf{p}$ is a descent direction. Only
# $D_{\mathbf{p}} f = 0$ leaves the question open: both $x^2$ and $-x^2$ are flat at 0, and only the second leads down. In the
# control for {eq}`aw.gd.dir-nonpos` a single long step has to stand for all short ones.

# %%
def leads_down(x, p):  # on the sine, for steps of many sizes
    return all(np.sin(x + h * p) < np.sin(x) for h in 10.0 ** -np.arange(1, 7))

holds(
    'aw.gd.dir-nonpos',
    lambda x, p: not leads_down(x, p) or np.cos(x) * p <= 0,
    control=lambda x, p: not np.sin(x + 4 * p) < np.sin(x) or np.cos(x) * p <= 0,
    x=scalars(-3, 3), p=[1, -1],
)

# %% [markdown]
# By the chain rule the slope along $\mathbf{p}$ is $\sum_i \frac{\partial f}{\partial x_i} p_i$, a dot product, and dot products
# measure angles. With $\alpha$ the angle between the gradient and $\mathbf{p}_t$,
#
# ```{math}
# :label: aw.gd.cosine
# D_{\mathbf{p}_t} f(\mathbf{x}_{t-1}) = \nabla f(\mathbf{x}_{t-1}) \cdot \mathbf{p}_t
# = \|\nabla f(\mathbf{x}_{t-1})\| \, \|\mathbf{p}_t\| \cos\alpha .
# ```
#
# Of the three factors only one is ours to choose, because
#
# ```{math}
# :label: aw.gd.const-and-unit
# \|\nabla f(\mathbf{x}_{t-1})\| \text{ is the same for every } \mathbf{p}_t, \quad \text{and} \quad \|\mathbf{p}_t\| = 1 .
# ```
#
# What remains is the angle, and the whole plane of directions falls into an uphill and a downhill half (wherever the
# gradient is not zero):
#
# ```{math}
# :label: aw.gd.cosine-unit
# D_{\mathbf{p}_t} f(\mathbf{x}_{t-1}) = \|\nabla f(\mathbf{x}_{t-1})\| \cos\alpha
# ```
#
# ```{math}
# :label: aw.gd.half-circle
# \cos\alpha < 0 \quad \text{for} \quad \tfrac{\pi}{2} < \alpha < \tfrac{3\pi}{2}
# ```
#
# Here is a hillside to try this on, with its gradient, and with slopes measured by finite differences, which know
# nothing of gradients:

# %%
def hill(x):
    return x[0] ** 2 / 4 + x[1] ** 2 / 2 + np.sin(x[0] + x[1])

def grad_hill(x):
    return np.array([x[0] / 2, x[1]]) + np.cos(x[0] + x[1])

def slope(f, x, p, h=1e-5):
    return (f(x + h * p) - f(x - h * p)) / (2 * h)

def turn(v, alpha):  # v turned by alpha, in the plane
    c, s = np.cos(alpha), np.sin(alpha)
    return np.array([c * v[0] - s * v[1], s * v[0] + c * v[1]])

# %% tags=["hide-input"]
steep = vectors(2, -3, 3).filter(lambda x: norm(grad_hill(x)) > 0.1)
toward = vectors(2, -3, 3).filter(lambda p: norm(p) > 0.1)

def angle(u, v):
    return np.arctan2(u[1], u[0]) - np.arctan2(v[1], v[0])

def three_ways(x, p, sign):  # sign -1: the angle to -grad
    g = grad_hill(x)
    cosine = np.cos(angle(sign * g, p))
    return close([g @ p, norm(g) * norm(p) * cosine], [slope(hill, x, p)] * 2)

def unit(v):
    return v / norm(v)

holds(
    'aw.gd.cosine', lambda x, p: three_ways(x, p, 1),
    control=lambda x, p: three_ways(x, p, -1), x=steep, p=toward,
)
holds(
    'aw.gd.cosine-unit',
    lambda x, a: close(slope(hill, x, turn(unit(grad_hill(x)), a)), norm(grad_hill(x)) * np.cos(a)),
    control=lambda x, a: close(slope(hill, x, turn(grad_hill(x), a)), norm(grad_hill(x)) * np.cos(a)),
    x=steep, a=scalars(0, 2 * np.pi),
)

# %% [markdown]
# The first factor of {eq}`aw.gd.cosine` can be measured too, as slope over cosine; all unit directions must give the
# same. And on the half circle {eq}`aw.gd.half-circle` a short step must lower $f$ itself.

# %% tags=["hide-input"]
def first_factor(x, p):
    return slope(hill, x, p) / np.cos(angle(grad_hill(x), p))

askew = scalars(0, 2 * np.pi).filter(lambda a: abs(np.cos(a)) > 0.01)
holds(
    'aw.gd.const-and-unit',
    lambda x, a, size: close(first_factor(x, turn(unit(grad_hill(x)), a)), norm(grad_hill(x))),
    control=lambda x, a, size: close(
        first_factor(x, size * turn(unit(grad_hill(x)), a)), norm(grad_hill(x))),
    x=steep, a=askew, size=scalars(0.5, 2),
)

def steps_down(a):  # from one point of the hill, a step of 0.0001
    x = np.array([1.0, 1.0])
    return hill(x + 1e-4 * turn(unit(grad_hill(x)), a)) < hill(x)

holds(
    'aw.gd.half-circle', lambda a: steps_down(a) == (np.pi / 2 < a < 3 * np.pi / 2),
    control=lambda a: steps_down(a) == (0 < a < np.pi), a=askew,
)

# %% mystnb={"image": {"alt": "Left: contours of the hill with the gradient at a point, the opposite direction of steepest descent, and the half disc of descent directions. Right: the slope against the angle is a cosine, negative between pi/2 and 3 pi/2."}} tags=["hide-input"]
here = np.array([1.2, 0.9])
g = grad_hill(here)
a = np.linspace(0, 2 * np.pi, 49)
fig, (left, right) = panels(2, height=2.9)
u, v = np.meshgrid(np.linspace(-1, 3, 80), np.linspace(-1, 2.8, 80))
left.contour(u, v, hill(np.stack([u, v])), 16, colors=GREY, linewidths=0.6)
half = here[:, None] + turn(unit(g), np.linspace(np.pi / 2, 1.5 * np.pi, 60))
left.fill(*half, color='C0', alpha=0.25, lw=0)
for sign, colour, name in ((1, 'C1', '∇f'), (-1, 'C0', '−∇f')):
    tip = here + sign * unit(g)
    left.annotate('', tip, here, arrowprops=dict(color=colour, arrowstyle='->', lw=2))
    left.annotate(name, tip, 9 * sign * unit(g), textcoords='offset points', color=colour, ha='center', va='center')
left.set(aspect='equal', xlabel='x₁', ylabel='x₂')
right.axvspan(np.pi / 2, 1.5 * np.pi, color='C0', alpha=0.25, lw=0)
right.plot(a, norm(g) * np.cos(a), color=GREY)
right.plot(a, [slope(hill, here, turn(unit(g), b)) for b in a], 'o', ms=3, color='C0')
right.text(np.pi, 0.75 * norm(g), 'descent', color='C0', ha='center')
right.set(xlabel='angle α to the gradient', ylabel='slope along p')
right.set_xticks(np.arange(5) * np.pi / 2, ['0', 'π/2', 'π', '3π/2', '2π']);

# %% [markdown]
# The cosine is smallest at $\alpha = \pi$ and nowhere else. So the steepest way down is the unit vector
#
# ```{math}
# :label: aw.gd.steepest
# \mathbf{p}_t = -\frac{\nabla f(\mathbf{x}_{t-1})}{\|\nabla f(\mathbf{x}_{t-1})\|} .
# ```
#
# The notes write $\mathbf{p}_t = -\nabla f(\mathbf{x}_{t-1})$ after having asked for a normalized direction. As a direction it
# is the same; as a vector it is not, and the difference will decide how far we go. A blind search over the circle finds
# the normalized one, to within its resolution:

# %%
circle = turn(np.array([1.0, 0.0]), np.linspace(0, 2 * np.pi, 3601))

def best_on_circle(x):
    return circle[:, (grad_hill(x) @ circle).argmin()]

holds(
    'aw.gd.steepest',
    lambda x: norm(best_on_circle(x) + unit(grad_hill(x))) < 1e-3,
    control=lambda x: norm(best_on_circle(x) + grad_hill(x)) < 1e-3,
    x=steep,
)

# %% [markdown]
# In $n$ dimensions the Cauchy-Schwarz inequality takes the place of the cosine: among unit vectors,
#
# ```{math}
# :label: aw.gd.greatest-increase
# -\|\nabla f\| \le \nabla f \cdot \mathbf{p} \le \|\nabla f\|, \quad
# \text{with equality only for } \mathbf{p} = -\frac{\nabla f}{\|\nabla f\|} \text{ and } \mathbf{p} = \frac{\nabla f}{\|\nabla f\|} .
# ```
#
# It is tempting to picture $-\nabla f$ as an arrow to the minimum. It is not one. On the bowl $\frac12(x_1^2 + 4x_2^2 + 9x_3^2)$ no
# random direction beats the gradient, but many beat the direct line to the minimum at the origin:

# %%
def bowl(x):  # x (3, ...) -> (...)
    return np.tensordot([1, 4, 9], x**2, 1) / 2

crowd = np.random.default_rng(0).normal(size=(3, 2000))
crowd = crowd / norm(crowd, axis=0)  # (3, 2000) unit columns

def extreme(x, up, h=1e-5):  # is up the best of all, -up the worst?
    gains = bowl(x[:, None] + h * crowd)
    return bowl(x + h * up) >= gains.max() and bowl(x - h * up) <= gains.min()

holds(
    'aw.gd.greatest-increase',
    lambda x: extreme(x, unit([1, 4, 9] * x)), control=lambda x: extreme(x, unit(x)),
    x=vectors(3).filter(lambda x: norm(x) > 0.1), tries=50,
)

# %% [markdown]
# ```{exercise} ★★ Steepest by another yardstick
# :label: gradient_descent-sign
# "Steepest" depends on what counts as a step of length one. Find the vector $\mathbf{p}$ with the smallest $\mathbf{g} \cdot \mathbf{p}$
# among all with largest entry $\max_i |p_i| \le 1$ (no entry of $\mathbf{g}$ is zero). Write `steepest_max(g)`. The grader tries all
# corners of the cube.
# ```

# %%
def steepest_max(g):
    raise NotImplementedError('your turn')

# %%
def best_corner(g):
    corners = np.stack(np.meshgrid(*[[-1.0, 1.0]] * len(g)), -1).reshape(-1, len(g))
    return corners[(corners @ g).argmin()]

corner_cases = [(np.array(g),) for g in ([3.0, -1.0], [-0.1, 2.0, 5.0], [1.0])]
grade(steepest_max, best_corner, corner_cases)

# %% [markdown]
# ```{solution-start} gradient_descent-sign
# :class: dropdown
# ```
# The sum $\sum_i g_i p_i$ is smallest when each term is, at $p_i = -\operatorname{sign} g_i$. The slope is then $-\|\mathbf{g}\|_1$: the max-norm's
# dual has appeared. Scaling the gradient to largest entry one is the tempting mistake: it stays inside the cube
# but reaches a corner only by luck. Methods that step by the sign of the gradient descend steepest in this norm.

# %% jupyter={"source_hidden": true}
def steepest_max_solution(g):
    return -np.sign(g)

def scaled_gradient(g):
    return -g / abs(g).max()

corners_tried = [(np.array(g),) for g in ([3.0, -1.0], [-0.1, 2.0, 5.0], [1.0])]
assert grade(steepest_max_solution, best_corner, corners_tried)
assert not grade(scaled_gradient, best_corner, corners_tried)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## How far to step
#
# Type any number into a calculator, in radians, and press the cosine key again and again. The display settles at
# $0.739085\ldots$, the solution of $\cos x = x$. You have just run gradient descent; but first its formula. Take the
# direction of steepest descent and let the length of the gradient flow into the step, so that strides are long where it is
# steep and short near the bottom:
#
# ```{math}
# :label: aw.gd.gd-step
# \mathbf{x}_t = \mathbf{x}_{t-1} - \eta_t \nabla f(\mathbf{x}_{t-1})
# ```

# %%
def gradient_descent(grad, x, eta, T):  # eta: a number or T numbers
    path = [x]
    for eta_t in np.broadcast_to(eta, T):
        x = x - eta_t * grad(x)
        path.append(x)
    return np.array(path)  # (T + 1, n)

# %% [markdown]
# PyTorch calls the same rule `SGD`. The two agree on the pass $f(\mathbf{x}) = x_1^2 + \cos x_2$; a version that normalizes the gradient,
# as {eq}`aw.gd.step` would have it, does not.

# %%
def grad_pass(x):
    return np.array([2 * x[0], -np.sin(x[1])])

def torch_sgd(x, eta, T):
    x = torch.tensor(x, requires_grad=True)
    sgd = torch.optim.SGD([x], lr=eta)
    for _ in range(T):
        sgd.zero_grad()
        (x[0] ** 2 + torch.cos(x[1])).backward()
        sgd.step()
    return x

holds(
    'aw.gd.gd-step',
    lambda x: close(gradient_descent(grad_pass, x, 0.3, 5)[-1], torch_sgd(x, 0.3, 5)),
    control=lambda x: close(
        gradient_descent(lambda x: grad_pass(x) / norm(grad_pass(x)), x, 0.3, 5)[-1],
        torch_sgd(x, 0.3, 5)),
    x=vectors(2, -3, 3).filter(lambda x: x[0] not in (0, 0.6, -0.6)), tries=30,
)

# %% [markdown]
# Now the calculator. Let $\varphi(x) = \frac12 x^2 - \sin x$. Then $\varphi'(x) = x - \cos x$, and descent with $\eta = 1$
# reads $x - (x - \cos x) = \cos x$. Some minima have a formula, others must be approached:
#
# ```{math}
# :label: aw.gd.closed-form
# \operatorname*{arg\,min}_x \big( \tfrac12 a x^2 - b x \big) = \frac{b}{a} \quad (a > 0),
# \qquad \operatorname*{arg\,min}_x \big( \tfrac12 x^2 - \sin x \big) = 0.739085\ldots
# ```
#
# The second number solves an equation with no solution in elementary functions that anyone knows. Descent finds both, checked
# against $b/a$ and against a bracketing root finder. The control trusts a closed form that is not one: $\cos x \approx 1 - x^2/2$
# would give $\sqrt3 - 1$.

# %%
def press_cosine(x):
    return gradient_descent(lambda x: x - np.cos(x), x, 1, 80)[-1]

def line_root(a, b):
    return gradient_descent(lambda x: a * x - b, 0, 0.5, 80)[-1]

dottie = brentq(lambda x: x - np.cos(x), 0, 1, xtol=1e-14)
holds(
    'aw.gd.closed-form',
    lambda a, b: close([line_root(a, b), press_cosine(b)], [b / a, dottie]),
    control=lambda a, b: close([line_root(a, b), press_cosine(b)], [b / a, 3**0.5 - 1]),
    a=scalars(0.5, 3), b=scalars(),
)

# %% [markdown]
# Why did a step of 1 work? Would 3? A slope is trustworthy only as far as it does not change much, so everything hangs on
# how fast it can change. Call $f$ *$L$-smooth* if $\|\nabla f(\mathbf{x}) - \nabla f(\mathbf{y})\| \le L \|\mathbf{x} - \mathbf{y}\|$ for all
# $\mathbf{x}, \mathbf{y}$; for twice differentiable $f$ this says that no eigenvalue of the Hessian exceeds $L$ in size. (From here
# on $L$ is this constant. The loss of the notes will be $\mathcal{L}$.)
#
# ```{prf:theorem} Descent lemma
# :label: thm-descent-lemma
# If $f$ is $L$-smooth, then $f(\mathbf{y}) \le f(\mathbf{x}) + \nabla f(\mathbf{x}) \cdot (\mathbf{y} - \mathbf{x}) + \frac{L}{2} \|\mathbf{y} - \mathbf{x}\|^2$
# for all $\mathbf{x}, \mathbf{y}$.
# ```
#
# ```{prf:proof}
# Walk from $\mathbf{x}$ to $\mathbf{y}$ and add up slopes: with $\mathbf{d} = \mathbf{y} - \mathbf{x}$,
#
# $$
# f(\mathbf{y}) - f(\mathbf{x}) - \nabla f(\mathbf{x}) \cdot \mathbf{d}
# = \int_0^1 \big( \nabla f(\mathbf{x} + s\mathbf{d}) - \nabla f(\mathbf{x}) \big) \cdot \mathbf{d} \, ds
# \le \int_0^1 L \|s \mathbf{d}\| \, \|\mathbf{d}\| \, ds = \frac{L}{2} \|\mathbf{d}\|^2 .
# $$
#
# The inequality is Cauchy-Schwarz, then smoothness.
# ```
#
# So at every point a parabola of curvature $L$ lies above the function, and touches it there. For $\varphi$, where $\varphi'' = 1 +
# \sin x$, the constant is $L = 2$, and nothing smaller will do:

# %%
def phi(x):
    return x**2 / 2 - np.sin(x)

def parabola(x, y, L):
    return phi(x) + (x - np.cos(x)) * (y - x) + L / 2 * (y - x) ** 2

x, y = np.random.default_rng(1).uniform(-4, 4, size=(2, 10_000))
for L in (2, 1.8):
    above = (parabola(x, y, L) >= phi(y) - 1e-12).all()
    print(f'the parabola with L = {L} stays above: {above}')

# %% mystnb={"image": {"alt": "The function phi and three parabolas above it. Each touches the curve at an iterate, and the next iterate lies below the vertex of the parabola."}} tags=["hide-input"]
steps = gradient_descent(lambda x: x - np.cos(x), 3.4, 0.5, 3)
grid = np.linspace(-1.7, 4, 300)
fig, ax = plt.subplots(figsize=(6, 3.4))
ax.plot(grid, phi(grid), color=GREY, lw=2.5)
for i, x in enumerate(steps[:3]):
    ax.plot(grid, parabola(x, grid, 2), color=f'C{i}', lw=1.2)
    ax.plot(x, phi(x), 'o', color=f'C{i}')
    ax.annotate(f'x{"₀₁₂"[i]}', (x, phi(x)), (7, -11), textcoords='offset points', color=f'C{i}')
    vertex = parabola(x, steps[i + 1], 2)
    ax.plot([steps[i + 1]] * 2, [vertex, phi(steps[i + 1])], ':', color=f'C{i}')
    ax.plot(steps[i + 1], vertex, '+', color=f'C{i}', ms=9)
ax.text(-1.6, 2.75, 'φ', color=GREY)
ax.set(xlabel='x', ylabel='φ and its upper parabolas', ylim=(-1, 7));

# %% [markdown]
# Put $\mathbf{y} = \mathbf{x} - \eta \nabla f(\mathbf{x})$ into the lemma:
#
# ```{math}
# :label: gradient_descent-decrease
# f(\mathbf{x} - \eta \nabla f(\mathbf{x})) \le f(\mathbf{x}) - \eta \Big( 1 - \frac{L\eta}{2} \Big) \|\nabla f(\mathbf{x})\|^2
# ```
#
# The bracket is positive exactly for $0 < \eta < 2/L$: every such step leads down, however far from the minimum we are.
# The promised gain is largest at $\eta = 1/L$, which jumps to the vertex of the parabola. And the threshold $2/L$ is sharp. On $f(x)
# = \frac{L}{2}x^2$ a step maps $x$ to $(1 - \eta L)x$, which shrinks if and only if $|1 - \eta L| < 1$. The cosine key, with
# $\eta = 1 = 2/L$, stood on the very edge, and got away with it: after two presses the display lies between $\cos 1$ and
# 1, where $\varphi'' \le 1 + \sin 1 < 1.85$ and $2/1.85 > 1$.
#
# Where does it end? Add {eq}`gradient_descent-decrease` over all steps. The left sides telescope, and $f$ cannot fall
# below its infimum, so
#
# ```{math}
# :label: gradient_descent-sum
# \eta \Big( 1 - \frac{L\eta}{2} \Big) \sum_{t=0}^{\infty} \|\nabla f(\mathbf{x}_t)\|^2 \le f(\mathbf{x}_0) - \inf f < \infty .
# ```
#
# A convergent sum has terms that tend to zero: the gradient vanishes in the limit. That is less than one might hope for.
#
# :::{admonition} Erratum
# :class: warning
# As printed, a descent direction at every iteration and care with the step size "allow us to converge to a local minimum".
# What follows is only this:
#
# ```{math}
# :label: aw.gd.converge-local
# f \ L\text{-smooth and bounded below}, \ 0 < \eta < \tfrac{2}{L}
# \quad \Longrightarrow \quad \|\nabla f(\mathbf{x}_t)\| \to 0,
# ```
#
# so that every limit point is stationary. It may be a saddle, as on the pass $x_1^2 + \cos x_2$ from any point with $x_2 = 0$; and
# there may be no limit point at all: on $\log(1 + e^x)$ the walk goes to $-\infty$. The slip is easy to make, because both
# failures are hard to see: the slightest sideways push leaves the saddle.
# :::
#
# The pass has $L = 2$ and $f \ge -1$, so every hypothesis holds. The correction is tried together with the sum
# {eq}`gradient_descent-sum`.

# %%
def mountain_pass(x):
    return x[0] ** 2 + np.cos(x[1])

def ends_in_minimum(x):
    end = gradient_descent(grad_pass, x, 0.4, 200)[-1]
    t = np.linspace(0, 2 * np.pi, 17)
    ring = end[:, None] + 0.01 * np.stack([np.cos(t), np.sin(t)])
    return (mountain_pass(end) <= mountain_pass(ring)).all()

def gradient_vanishes(x, eta=0.4, L=2):
    slopes = norm([grad_pass(z) for z in gradient_descent(grad_pass, x, eta, 200)], axis=1)
    gain = eta * (1 - L * eta / 2) * (slopes**2).sum()
    return slopes[-1] < 1e-6 and gain <= mountain_pass(x) + 1 + 1e-9

erratum(
    'aw.gd.converge-local',
    printed=lambda x1, x2: ends_in_minimum(np.array([x1, x2])),
    corrected=lambda x1, x2: gradient_vanishes(np.array([x1, x2])),
    x1=scalars(1, 3), x2=scalars(-3, 3), tries=50,
)

# %% [markdown]
# The notes add that the step size "doesn't matter all that much as long as" $f$ decreases at each iteration. Decrease is not enough.
# On $x^2$ from 1, the steps $\eta_t = 0.1 \cdot 2^{-t}$, $t = 0, 1, \ldots$, lower $f$ every time and die out half-way up:
# the walk stalls at $x = \prod_t (1 - 0.2 \cdot 2^{-t}) \approx 0.65$. A hypothesis is missing, and the argument above names it. Let the steps
# vary, but keep them away from both ends:
#
# ```{math}
# :label: aw.gd.stepsize
# 0 < \inf_t \eta_t \le \sup_t \eta_t < \tfrac{2}{L} \quad \Longrightarrow \quad \|\nabla f(\mathbf{x}_t)\| \to 0
# ```
#
# Then $\eta_t(1 - L\eta_t/2)$ is bounded below by a positive constant, and the sum converges as before. (Steps
# that tend to zero are not forbidden: if $\eta_t \le 1/L$ and $\sum_t \eta_t = \infty$, the same sum gives $\liminf_t \|\nabla f(\mathbf{x}_t)\| = 0$.)

# %%
def falls_and_arrives(x, etas):  # on the square: f' = 2x, L = 2
    path = gradient_descent(lambda x: 2 * x, x, etas, 60)
    return (np.diff(path**2) < 0).all(), abs(2 * path[-1]) < 1e-6

t = np.arange(60)
holds(
    'aw.gd.stepsize',
    lambda x, low, high: all(falls_and_arrives(x, np.where(t % 2, low, high))),
    control=lambda x, low, high: all(falls_and_arrives(x, high * 0.5**t)),
    x=scalars(1, 10), low=scalars(0.2, 0.45), high=scalars(0.55, 0.8),
)
stalled = gradient_descent(lambda x: 2 * x, 1, 0.1 * 0.5**t, 60)
print(f'shrinking steps stall at x = {stalled[-1]:.2f}')

# %% [markdown]
# All this needs $L$, and who knows $L$? *Backtracking* does without: start from a generous step and halve it until it keeps half of
# what the slope promises, $f(\mathbf{x} - \eta \nabla f) \le f(\mathbf{x}) - \frac{\eta}{2}\|\nabla f\|^2$ {cite}`armijo1966minimization`. By
# {eq}`gradient_descent-decrease` every $\eta \le 1/L$ passes, so the accepted step is at least $1/(2L)$ or the first one tried. We test it where
# no fixed step is safe, on a sum of exponentials {cite}`boyd2004convex` whose curvature has no bound. Its minimum is known: $(-\frac12 \ln
# 2, 0)$.

# %%
def backtracking(f, grad, x, T, first=1.0):
    for _ in range(T):
        g, eta = grad(x), first
        while f(x - eta * g) > f(x) - eta / 2 * (g @ g):
            eta = eta / 2
        x = x - eta * g
    return x

M = np.array([[1.0, 3.0], [1.0, -3.0], [-1.0, 0.0]])

def cliffs(x):
    return np.exp(M @ x - 0.1).sum()

def grad_cliffs(x):
    return M.T @ np.exp(M @ x - 0.1)

bottom, far = [-np.log(2) / 2, 0], np.array([1.0, 1.0])
one_step = gradient_descent(grad_cliffs, far, 0.1, 1)[-1]
fixed = gradient_descent(grad_cliffs, far / 10, 0.1, 100)[-1]
print('step 0.1 from near by arrives:', close(fixed, bottom))
print('step 0.1 from far off multiplies f by more than 10^12:', cliffs(one_step) > 1e12 * cliffs(far))
print('backtracking from far off arrives:', close(backtracking(cliffs, grad_cliffs, far, 100), bottom, atol=1e-6))

# %% [markdown]
# ```{exercise} ★★ The best step of all
# :label: gradient_descent-exact
# For $f(\mathbf{x}) = \frac12 \mathbf{x}^\top A \mathbf{x} - \mathbf{b}^\top \mathbf{x}$ with $A$ symmetric positive definite, the lowest
# point along $-\nabla f(\mathbf{x})$ has a formula. Write `exact_step(A, b, x)`, the $\eta$ that reaches it. The grader
# searches the line.
# ```

# %%
def exact_step(A, b, x):
    raise NotImplementedError('your turn')

# %%
def searched_step(A, b, x):
    def f(x):
        return x @ A @ x / 2 - b @ x
    return minimize_scalar(lambda eta: f(x - eta * (A @ x - b))).x

step_cases = [
    (np.diag([1.0, 4.0]), np.array([1.0, 0.0]), np.array([2.0, 1.0])),
    (np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, -1.0]), np.array([0.0, 2.0])),
]
grade(exact_step, searched_step, step_cases, atol=1e-6)

# %% [markdown]
# ```{solution-start} gradient_descent-exact
# :class: dropdown
# ```
# With $\mathbf{g} = A\mathbf{x} - \mathbf{b}$, $\frac{d}{d\eta} f(\mathbf{x} - \eta\mathbf{g}) = -\mathbf{g} \cdot (A(\mathbf{x} - \eta \mathbf{g}) - \mathbf{b}) = -\mathbf{g}\cdot\mathbf{g} + \eta \,
# \mathbf{g}^\top A \mathbf{g}$, which is zero at $\eta = \frac{\mathbf{g} \cdot \mathbf{g}}{\mathbf{g}^\top A \mathbf{g}}$, the inverse of the curvature along $\mathbf{g}$. It lies between $1/L$ and
# $1/\mu$, where $\mu$ and $L$ are the extreme eigenvalues of $A$. Turning the fraction over gives the curvature itself.

# %% jupyter={"source_hidden": true}
def exact_step_solution(A, b, x):
    g = A @ x - b
    return g @ g / (g @ A @ g)

def curvature(A, b, x):
    return 1 / exact_step_solution(A, b, x)

assert grade(exact_step_solution, searched_step, step_cases, atol=1e-6)
assert not grade(curvature, searched_step, step_cases, atol=1e-6)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## How long it takes
#
# This section continues [How far to step](#how-far-to-step), whose `gradient_descent` it uses. "The gradient vanishes in the limit" is a promise without
# a date. For a date we need to know the landscape, and near a minimum every smooth landscape looks like a quadratic,
#
# $$
# f(\mathbf{x}) = \tfrac12 \mathbf{x}^\top A \mathbf{x} - \mathbf{b}^\top \mathbf{x}, \qquad
# \nabla f(\mathbf{x}) = A\mathbf{x} - \mathbf{b} = A(\mathbf{x} - \mathbf{x}^*), \qquad A\mathbf{x}^* = \mathbf{b},
# $$
#
# with $A$ symmetric and eigenvalues $0 < \mu = \lambda_1 \le \dots \le \lambda_n = L$. The step is now fixed. Machine
# learning often writes the rule with $\mathbf{w}$ for $\mathbf{x}$, a loss for $f$ and $\gamma$ for the step,
#
# ```{math}
# :label: ml.opt.gd.update
# \mathbf{w}^{(t+1)} = \mathbf{w}^{(t)} - \gamma \nabla \mathcal{L}(\mathbf{w}^{(t)}), \qquad \gamma > 0,
# ```
#
# which is {eq}`aw.gd.gd-step` in other clothes; we stay with $\mathbf{x}$ and $\eta$. Subtract $\mathbf{x}^*$ on both sides:
# each step multiplies the error by the same matrix, and the whole walk has a closed form,
#
# ```{math}
# :label: gradient_descent-iterate
# \mathbf{x}_t - \mathbf{x}^* = (I - \eta A)(\mathbf{x}_{t-1} - \mathbf{x}^*) = (I - \eta A)^t (\mathbf{x}_0 - \mathbf{x}^*) .
# ```

# %%
def valley(spectrum, seed):  # A with these eigenvalues; x*, x_0
    rng = np.random.default_rng(seed)
    n = len(spectrum)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return Q * spectrum @ Q.T, rng.normal(size=n), rng.normal(size=n)

def loop_is_formula(seed, sign):
    A, goal, x0 = valley([1, 2, 5, 10], seed)
    path = gradient_descent(lambda x: sign * A @ (x - goal), x0, 0.15, 30)
    power = np.linalg.matrix_power(np.eye(4) - 0.15 * A, 30)
    return close(path[-1], goal + power @ (x0 - goal))

holds(
    'ml.opt.gd.update', lambda seed: loop_is_formula(seed, 1),
    control=lambda seed: loop_is_formula(seed, -1), seed=seeds(),
)

# %% [markdown]
# Along each eigenvector of $A$ the error is multiplied by its own factor, $1 - \eta\lambda_i$, undisturbed by the others. This is
# the whole drama. The steep directions ask for a short step, for $\eta L$ must stay below 2; the flat ones then hardly move, since
# $1 - \eta\mu$ is close to 1. One step size has to serve them all.
#
# ```{prf:theorem} Rate on quadratics
# :label: thm-gd-rate
# With $\rho = \max(|1 - \eta\mu|, |1 - \eta L|)$ we have $\|\mathbf{x}_t - \mathbf{x}^*\| \le \rho^t \, \|\mathbf{x}_0 - \mathbf{x}^*\|$, and no smaller $\rho$ will do for
# all starts. The iterates converge from every start if and only if $0 < \eta < 2/L$. The best step and its rate are
#
# $$
# \eta^* = \frac{2}{\mu + L}, \qquad \rho^* = \frac{L - \mu}{L + \mu} = \frac{\kappa - 1}{\kappa + 1}, \qquad \kappa = \frac{L}{\mu} .
# $$
# ```
#
# ```{prf:proof}
# $I - \eta A$ is symmetric with eigenvalues $1 - \eta\lambda_i$, so it stretches no vector by more than the largest
# $|1 - \eta\lambda_i|$. As a function of $\lambda$, $|1 - \eta\lambda|$ is convex, so its maximum over $[\mu, L]$ is at an end: this is $\rho$, and the
# eigenvector of that end attains it at every step. Since $\eta\mu \le \eta L$, $\rho < 1$ means $0 < \eta\mu$ and $\eta L < 2$. To make $\rho$ small, start at $\eta = 0$ and raise $\eta$:
# $1 - \eta\mu$ falls, $\eta L - 1$ grows, and the larger of the two is smallest where they meet, at $1 - \eta\mu =
# \eta L - 1$. Hence $\eta^* = 2/(\mu + L)$, and $1 - \eta^* \mu$ is the rate.
# ```
#
# The *condition number* $\kappa$ alone sets the pace. A round bowl, $\kappa = 1$, is solved in one step. For large $\kappa$, $\rho^* \approx
# 1 - 2/\kappa \approx e^{-2/\kappa}$: one more correct digit costs about $\frac{\kappa}{2} \ln 10 \approx 1.15\,\kappa$ steps. The step $1/L$, which
# does not need $\mu$, has the rate $1 - 1/\kappa$, half as fast. Three walks in a valley with $\kappa = 10$, where $\eta^* = 2/11$ and $2/L = 0.2$:

# %%
lam = np.array([1.0, 10.0])
start = np.array([4.0, 1.0])
walks = {
    'η = 0.02: slow': gradient_descent(lambda x: lam * x, start, 0.02, 40),
    'η = 2/(μ+L): best': gradient_descent(lambda x: lam * x, start, 2 / 11, 40),
    'η = 0.205: too long': gradient_descent(lambda x: lam * x, start, 0.205, 10),
}
for name, path in walks.items():
    print(f'{name:20} error after 10 steps {norm(path[10]):.2f}')

# %% mystnb={"image": {"alt": "Three descent paths on elliptic contours from the same start: a small step creeps along the valley, the best step zigzags to the minimum, too long a step bounces between the walls with growing swings."}} tags=["hide-input"]
u, v = np.meshgrid(np.linspace(-1.2, 4.5, 120), np.linspace(-1.9, 1.9, 120))
fig, axes = panels(3, height=2.3, sharey=True)
for i, (ax, (name, path)) in enumerate(zip(axes, walks.items(), strict=True)):
    height = (u**2 + 10 * v**2) / 2
    ax.contour(u, v, height, np.linspace(0.3, 4.6, 8) ** 2, colors=GREY, linewidths=0.5)
    ax.plot(*path.T, 'o-', color=f'C{i}', ms=3, lw=1.2)
    ax.plot(0, 0, '+', color=GREY, ms=9, mew=1.5)
    ax.set_title(name, color=f'C{i}', fontsize=9)
    ax.set(xlabel='x₁', xlim=(-1.2, 4.5), ylim=(-1.9, 1.9))
axes[0].set_ylabel('x₂');

# %% [markdown]
# Does the walk keep to its timetable? In thirty dimensions, with eigenvalues spread from 1 to $\kappa$, random axes and a random start, we fit a line to the
# logarithm of the error and read off the steps per digit:

# %%
def errors(kappa):
    A, goal, x0 = valley(np.linspace(1, kappa, 30), seed=2)
    T = 10 * kappa
    path = gradient_descent(lambda x: A @ (x - goal), x0, 2 / (1 + kappa), T)
    return norm(path - goal, axis=1) / norm(x0 - goal)

runs = {kappa: errors(kappa) for kappa in (10, 100, 1000)}
for kappa, error in runs.items():
    late = np.arange(len(error) // 2, len(error))
    digits_per_step = -np.polyfit(late, np.log10(error[late]), 1)[0]
    rho = (kappa - 1) / (kappa + 1)
    print(f'kappa = {kappa}: {1 / digits_per_step:.4g} steps per digit, forecast {-1 / np.log10(rho):.4g}')
    assert (error <= rho ** np.arange(len(error)) * (1 + 1e-9)).all()
    assert close(-digits_per_step, np.log10(rho), rtol=1e-3)

# %% [markdown]
# The slope is the predicted one, and no error ever exceeds its bound. The second picture sweeps the step size instead, for $\kappa = 10$, and counts steps until the error is a
# millionth of what it was:

# %%
etas = np.unique(np.concatenate([np.geomspace(2e-3, 0.18, 14), [2 / 11], 0.2 - np.geomspace(0.001, 0.015, 6)]))
error, count = np.ones((len(etas), 2)), np.zeros(len(etas))
while (going := norm(error, axis=1) > 1e-6 * 2**0.5).any():
    error = error - etas[:, None] * lam * error  # all step sizes at once
    count = count + going
rate = np.maximum(abs(1 - etas), abs(1 - 10 * etas))
forecast = np.log(1e-6) / np.log(rate)
assert (count <= np.ceil(forecast)).all() and (count > 0.9 * forecast).all()
print('fewest steps at 2/(mu + L):', np.isclose(etas[count.argmin()], 2 / 11))

# %% mystnb={"image": {"alt": "Left: errors on a logarithmic scale fall along straight lines just below their dashed bounds, steeply for condition number 10, hardly for 1000. Right: steps needed against step size, falling as one over eta to a sharp minimum at 2/(mu+L), then shooting up before 2/L."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
for i, (kappa, error) in enumerate(runs.items()):
    t = np.arange(301)
    left.semilogy(t[:len(error)], error[:301], color=f'C{i}', label=f'κ = {kappa}')
    left.semilogy(t, ((kappa - 1) / (kappa + 1)) ** t, '--', color=f'C{i}', lw=1)
left.text(36, 2e-4, 'κ = 10', color='C0')
left.text(160, 4e-4, 'κ = 100', color='C1')
left.text(150, 0.13, 'κ = 1000', color='C2')
left.set(xlabel='step t', ylabel='error (dashed: bound)', ylim=(1e-5, 2))
fine = np.concatenate([np.geomspace(2e-3, 2 / 11, 60), np.linspace(2 / 11, 0.1995, 200)])
worst = np.maximum(abs(1 - fine), abs(1 - 10 * fine))
right.loglog(fine, np.log(1e-6) / np.log(worst), color=GREY, lw=1.2)
right.loglog(etas, count, 'o', color='C0')
right.axvline(0.2, color='C1', ls=':')
right.text(0.19, 3000, '2/L', color='C1', ha='right')
right.text(0.014, 3000, 'forecast: line\ncounted: dots', ha='left', va='center')
right.set(xlabel='step size η', ylabel='steps to a millionth', ylim=(40, 9000));

# %% [markdown]
# Nothing here needed $f$ to be exactly quadratic. If all eigenvalues of the Hessian lie in $[\mu, L]$ everywhere, then $\nabla f(\mathbf{x}) - \nabla f(\mathbf{x}^*)
# = H (\mathbf{x} - \mathbf{x}^*)$, where $H = \int_0^1 \nabla^2 f(\mathbf{x}^* + s(\mathbf{x} - \mathbf{x}^*)) \, ds$ is an average of Hessians and has its eigenvalues in
# $[\mu, L]$ too. One step multiplies the error by $I - \eta H$, so the bound stands {cite}`nesterov2018lectures`.
#
# ```{exercise} ★★★ Steps that conspire
# :label: gradient_descent-chebyshev
# No *fixed* step beats $2/(\mu + L)$, but $T$ different steps can. After them the error along eigenvalue $\lambda$ carries the factor $\prod_t (1
# - \eta_t \lambda)$. Write `conspiring_steps(mu, L, T)` that makes the largest such factor on $[\mu, L]$ as small as it can be. The grader
# compares that factor with the best possible one, $1 / \cosh(T \operatorname{arcosh} \frac{\kappa + 1}{\kappa - 1})$.
# *Hint:* the polynomial has value 1 at $\lambda = 0$. Which polynomials stay smallest on an interval?
# ```

# %%
def conspiring_steps(mu, L, T):
    raise NotImplementedError('your turn')

# %%
def worst_factor(steps, mu, L, T):
    grid = np.linspace(mu, L, 2001)
    return abs(np.prod([1 - eta * grid for eta in steps(mu, L, T)], 0)).max()

def best_possible(mu, L, T):
    return 1 / np.cosh(T * np.arccosh((L + mu) / (L - mu)))

step_counts = [(1.0, 10.0, 1), (1.0, 10.0, 2), (1.0, 100.0, 8)]
grade(lambda *case: worst_factor(conspiring_steps, *case), best_possible, step_counts)

# %% [markdown]
# ```{solution-start} gradient_descent-chebyshev
# :class: dropdown
# ```
# Chebyshev's: $T_T$ swings between $-1$ and $1$ on $[-1, 1]$ and grows fastest outside. Map $[\mu, L]$ to $[-1, 1]$; zero goes to $-\frac{\kappa+1}{\kappa-1}$,
# and dividing by $T_T$ there makes the value at zero 1. The steps are the reciprocals of its roots. For $T = 1$
# this is $2/(\mu + L)$ again. For large $\kappa$ the factor per step tends to $\frac{\sqrt\kappa - 1}{\sqrt\kappa + 1}$ instead of $\frac{\kappa-1}{\kappa+1}$: the root of the condition number.
# Momentum reaches the same rate without an appointed end. The best fixed step, repeated, is rejected.

# %% jupyter={"source_hidden": true}
def chebyshev_steps(mu, L, T):
    roots = np.cos((2 * np.arange(T) + 1) * np.pi / (2 * T))
    return 1 / ((L + mu) / 2 + (L - mu) / 2 * roots)

def best_fixed_step(mu, L, T):
    return np.full(T, 2 / (mu + L))

assert grade(lambda *case: worst_factor(chebyshev_steps, *case), best_possible, step_counts)
assert not grade(lambda *case: worst_factor(best_fixed_step, *case), best_possible, step_counts)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Least squares by descent
#
# The most used quadratic of all is the mean squared error of a linear model. The rows of $X$ are $N$ examples $\mathbf{x}_n$ with $D$ features, and the residuals, restored here
# because the scan of the notes shows only $e := y - x$, are
#
# ```{math}
# :label: ml.opt.gd-mse.residual
# \mathbf{e} = \mathbf{y} - X\mathbf{w} .
# ```
#
# Half their mean square is the loss (the scan shows $\frac1N w^\top e$, which is not even of one sign):
#
# ```{math}
# :label: ml.opt.gd-mse.loss-matrix
# \mathcal{L}(\mathbf{w}) = \frac{1}{2N} \sum_{n=1}^N (y_n - \mathbf{x}_n^\top \mathbf{w})^2 = \frac{1}{2N} \, \mathbf{e}^\top \mathbf{e}
# ```
#
# For its gradient, differentiate the sum term by term. Since $\partial e_n / \partial w_j = -x_{nj}$,
#
# $$
# \frac{\partial \mathcal{L}}{\partial w_j} = \frac{1}{2N} \sum_{n=1}^N 2 e_n \frac{\partial e_n}{\partial w_j} = -\frac1N \sum_{n=1}^N x_{nj} \, e_n ,
# $$
#
# and the sum over $n$ is row $j$ of $X^\top$ times $\mathbf{e}$. The square's 2 has cancelled the half:
#
# ```{math}
# :label: ml.opt.gd-mse.grad
# \nabla \mathcal{L}(\mathbf{w}) = -\frac1N X^\top \mathbf{e}
# ```

# %%
def residual(X, y, w):
    return y - X @ w  # (N,)

def mse_gradient(X, y, w):
    return -(X.T @ residual(X, y, w)) / len(y)  # (D,)

# %% [markdown]
# PyTorch has its own mean squared error, without the half, and finds gradients without our algebra:

# %%
def problem(seed, N=7, D=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, D)), rng.normal(size=N), rng.normal(size=D)

def autograd(X, y, w, factor):  # gradient of factor * mean square
    X, y, w = map(torch.tensor, (X, y, w))
    mse = torch.nn.functional.mse_loss
    return torch.func.grad(lambda w: factor * mse(X @ w, y))(w)

holds(
    'ml.opt.gd-mse.grad',
    lambda seed: close(mse_gradient(*problem(seed)), autograd(*problem(seed), 1 / 2)),
    control=lambda seed: close(-mse_gradient(*problem(seed)), autograd(*problem(seed), 1 / 2)),
    seed=seeds(), tries=50,
)

# %% [markdown]
# :::{admonition} Erratum
# :class: warning
# As printed, the loss has the factor $\frac1N$, without the 2, beside the gradient $-\frac1N X^\top \mathbf{e}$. The two do not belong together: a factor 2 is missing. The
# right pairs are
#
# ```{math}
# :label: ml.opt.gd-mse.loss
# \frac{1}{2N} \sum_{n=1}^N (y_n - \mathbf{x}_n^\top \mathbf{w})^2 \ \text{with} \ -\frac1N X^\top \mathbf{e},
# \qquad
# \frac{1}{N} \sum_{n=1}^N (y_n - \mathbf{x}_n^\top \mathbf{w})^2 \ \text{with} \ -\frac2N X^\top \mathbf{e} .
# ```
#
# Both conventions are common, so the slip is easily made; and it hides well, because a wrong factor only rescales the step. It bites when a step is copied from a paper
# with the other convention: one that was safe can then exceed $2/L$.
# :::

# %%
erratum(
    'ml.opt.gd-mse.loss',
    printed=lambda seed: close(mse_gradient(*problem(seed)), autograd(*problem(seed), 1)),
    corrected=lambda seed: close(mse_gradient(*problem(seed)), autograd(*problem(seed), 1 / 2))
    and close(2 * mse_gradient(*problem(seed)), autograd(*problem(seed), 1)),
    seed=seeds(), tries=50,
)

# %% [markdown]
# The restored formulas are tried too, each against the form in which the scan left it: the residual without $\mathbf{w}$, and $\mathbf{w}^\top \mathbf{e}$ in place of
# $\mathbf{e}^\top \mathbf{e}$.

# %% tags=["hide-input"]
def squares(X, y, w):  # torch's own, example by example
    X, y, w = map(torch.tensor, (X, y, w))
    return torch.nn.functional.mse_loss(X @ w, y, reduction='none')

holds(
    'ml.opt.gd-mse.residual',
    lambda X, y, w: close(residual(X, y, w) ** 2, squares(X, y, w)),
    control=lambda X, y, w: close((y - X[:, 0]) ** 2, squares(X, y, w)),
    X=matrices(4, 1), y=vectors(4), w=vectors(1),
)
holds(
    'ml.opt.gd-mse.loss-matrix',
    lambda X, y, w: close(residual(X, y, w) @ residual(X, y, w) / 6, squares(X, y, w).mean() / 2),
    control=lambda X, y, w: close(w @ residual(X, y, w) / 3, squares(X, y, w).mean() / 2),
    X=matrices(3, 3), y=vectors(3), w=vectors(3),
)

# %% [markdown]
# What does one gradient cost? Each of the two products, $X\mathbf{w}$ and $X^\top \mathbf{e}$, multiplies every entry of $X$ once:
#
# ```{math}
# :label: ml.opt.gd-mse.cost
# \text{multiplications for } {-\tfrac1N} X^\top (\mathbf{y} - X\mathbf{w}) \ = \ 2ND \ = \ \mathcal{O}(N \times D)
# ```
#
# The brackets matter. $X^\top X \mathbf{w} - X^\top \mathbf{y}$ is the same vector, but forming $X^\top X$ first costs $ND^2$. We let the entries of $X$ count their own
# multiplications:

# %%
class Counted(float):
    total = 0

    def __mul__(self, other):
        Counted.total += 1
        return float(self) * other

def multiplications(gradient, N, D):
    X, y, w = problem(0, N, D)
    X = np.array([[Counted(x) for x in row] for row in X], dtype=object)
    Counted.total = 0
    gradient(X, y, w)
    return Counted.total

holds(
    'ml.opt.gd-mse.cost',
    lambda N, D: multiplications(mse_gradient, N, D) == 2 * N * D,
    control=lambda N, D: multiplications(
        lambda X, y, w: (X.T @ X) @ w - X.T @ y, N, D) == 2 * N * D,
    N=integers(1, 8), D=integers(1, 8),
)

# %% [markdown]
# The count is silent about the constant. Two loops do the same multiplications as the two matrix products, and pay for each in Python:

# %%
def mse_gradient_loops(X, y, w):
    g = [0.0] * len(w)
    for row, target in zip(X, y, strict=True):
        e = target - sum(a * b for a, b in zip(row, w, strict=True))
        g = [g_j - e * a / len(y) for g_j, a in zip(g, row, strict=True)]
    return g

def seconds(gradient, *args):  # the best of five
    runs = []
    for _ in range(5):
        begin = time.perf_counter()
        gradient(*args)
        runs.append(time.perf_counter() - begin)
    return min(runs)

big = problem(0, N=2000, D=50)
assert close(mse_gradient_loops(*big), mse_gradient(*big))
assert close(autograd(*big, 1 / 2), mse_gradient(*big))
faster = seconds(mse_gradient_loops, *[a.tolist() for a in big]) > 20 * seconds(mse_gradient, *big)
print('matrix products more than 20 times faster than loops:', faster)
assert faster

# %% [markdown]
# The Hessian of $\mathcal{L}$ is $A = \frac1N X^\top X$: least squares is the quadratic of the last section, its condition number a property of the data. Here is
# descent from $\mathbf{w} = \mathbf{0}$ with the step $1/L$, and the exact solver `lstsq` as its judge:

# %%
def gd_least_squares(X, y, T):
    eta = 1 / np.linalg.eigvalsh(X.T @ X / len(y))[-1]
    w = np.zeros(X.shape[1])
    path = [w]
    for _ in range(T):
        w = w - eta * mse_gradient(X, y, w)
        path.append(w)
    return np.array(path)  # (T + 1, D)

X, y, _ = problem(3, N=50, D=4)
assert close(gd_least_squares(X, y, 500)[-1], np.linalg.lstsq(X, y, rcond=None)[0])

# %% [markdown]
# Now one real feature: the body mass index of 442 patients, against how far their diabetes had come a year later {cite}`efron2004least`. The model is a line, $w_0 +
# w_1 x$. What could go wrong with two weights? With mean $m$ and standard deviation $s$ of the feature,
#
# $$
# A = \frac1N X^\top X = \begin{pmatrix} 1 & m \\ m & m^2 + s^2 \end{pmatrix}, \qquad \det A = s^2, \qquad
# \kappa \approx \frac{(\operatorname{tr} A)^2}{\det A} = \frac{(1 + m^2 + s^2)^2}{s^2} .
# $$
#
# (For $L \gg \mu$ the trace is nearly $L$, and the determinant is $\mu L$.) The index averages 26 with a spread of 4, so $\kappa$ is in the tens of thousands, merely because nobody has a body mass index
# near zero. Measure the feature from its mean in units of its spread, and $m = 0$, $s = 1$: $A$ is the identity, $\kappa = 1$, and one step is enough.

# %%
patients = data.diabetes()
bmi = patients.x[:, patients.names.index('bmi')]
lines = {
    'raw': np.stack([np.ones_like(bmi), bmi], 1),
    'standardized': np.stack([np.ones_like(bmi), (bmi - bmi.mean()) / bmi.std()], 1),
}
fits = {name: gd_least_squares(X, patients.y, 20_000) for name, X in lines.items()}
for name, X in lines.items():
    exact = np.linalg.lstsq(X, patients.y, rcond=None)[0]
    hits = [t for t in (1, 20_000) if close(fits[name][t], exact)]
    print(f'{name}: condition number {np.linalg.cond(X) ** 2:.3g}, exact at step 1: {1 in hits}, at 20000: {20_000 in hits}')

# %% mystnb={"image": {"alt": "Left: patients as dots and the fitted line after 1, 2000, 10000 and 20000 raw steps, still turning towards the dashed exact line. Right: the loss; standardized it is exact after one step, raw it falls at once to a plateau and leaves it only after thousands of steps."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3.0)
left.plot(bmi, patients.y, 'o', ms=2, color=GREY, alpha=0.5)
span = np.array([17, 43])
for i, t in enumerate((1, 2000, 10_000, 20_000)):
    w = fits['raw'][t]
    left.plot(span, w[0] + w[1] * span, color=f'C{i}', lw=1.5, label=f't = {t}')
exact = np.linalg.lstsq(lines['raw'], patients.y, rcond=None)[0]
left.plot(span, exact[0] + exact[1] * span, '--', color=GREY, label='exact')
left.legend(fontsize=8)
left.set(xlabel='body mass index (kg/m²)', ylabel='disease progression', title='raw: the line turns slowly')
t = np.unique(np.geomspace(1, 20_000, 200).astype(int))
for i, (name, X) in enumerate(lines.items()):
    loss = ((patients.y[:, None] - X @ fits[name][t].T) ** 2).mean(0) / 2
    right.semilogx(t, loss, color=f'C{i}', label=name)
right.set(xlabel='step t', ylabel='loss', title='loss, exact solver dashed')
right.axhline(loss.min(), color=GREY, ls='--', lw=1)
right.legend(loc='center left');

# %% [markdown]
# ```{exercise} ★ Ridge
# :label: gradient_descent-ridge
# Ridge regression adds a penalty to the loss: $\frac{1}{2N}\|\mathbf{y} - X\mathbf{w}\|^2 + \lambda \|\mathbf{w}\|^2$. Write its gradient, `ridge_gradient(X, y, w, lam)`. Autograd judges.
# ```

# %%
def ridge_gradient(X, y, w, lam):
    raise NotImplementedError('your turn')

# %%
def ridge_autograd(X, y, w, lam):
    X, y, w = map(torch.tensor, (X, y, w))
    return torch.func.grad(lambda w: ((y - X @ w) ** 2).mean() / 2 + lam * w @ w)(w)

ridge_cases = [(*problem(seed), lam) for seed, lam in ((0, 0.0), (1, 0.1), (2, 3.0))]
grade(ridge_gradient, ridge_autograd, ridge_cases)

# %% [markdown]
# ```{solution-start} gradient_descent-ridge
# :class: dropdown
# ```
# The penalty contributes $2\lambda\mathbf{w}$. Forgetting the 2 is the erratum above all over again. The Hessian becomes $A + 2\lambda I$, so every eigenvalue moves up by $2\lambda$ and
# the condition number falls to $(L + 2\lambda)/(\mu + 2\lambda)$: the penalty also speeds up descent.

# %% jupyter={"source_hidden": true}
def ridge_gradient_solution(X, y, w, lam):
    return mse_gradient(X, y, w) + 2 * lam * w

def ridge_without_two(X, y, w, lam):
    return mse_gradient(X, y, w) + lam * w

assert grade(ridge_gradient_solution, ridge_autograd, ridge_cases)
assert not grade(ridge_without_two, ridge_autograd, ridge_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The price of a unit
#
# This section continues [Least squares by descent](#least-squares-by-descent), whose `gd_least_squares` it uses. All ten measurements now: age in years, blood pressure in mmHg,
# six blood values each in its own unit. Three versions of the same data: *raw*; *standardized*, each column shifted to mean 0 and scaled to standard deviation 1; and *whitened*, rotated as well until no
# two columns are correlated. With a column of ones in place, each version consists of linear combinations of the columns of each other. So the best predictions are the same
# to the last digit. The three valleys have the same floor. Only their shape differs.

# %%
x, target = data.diabetes().x, data.diabetes().y
z = (x - x.mean(0)) / x.std(0)
variances, axes_of_z = np.linalg.eigh(z.T @ z / len(z))
versions = {'raw': x, 'standardized': z, 'whitened': z @ axes_of_z / variances**0.5}
designs = {name: np.column_stack([np.ones(len(v)), v]) for name, v in versions.items()}

def r_squared(X, w):  # 0: no better than the mean of all patients
    return 1 - ((target - X @ w) ** 2).mean() / target.var()

for name, X in designs.items():
    w = gd_least_squares(X, target, 100)
    exact = r_squared(X, np.linalg.lstsq(X, target, rcond=None)[0])
    print(f'{name:12} condition number {np.linalg.cond(X) ** 2:8.2g}, R² after 1 step {r_squared(X, w[1]):6.3f}, '
          f'100 steps {r_squared(X, w[100]):.3f}, exact solver {exact:.3f}')

# %% [markdown]
# $R^2$ is the share of the variance explained: 0 for the trivial prediction, the mean of all patients, and 0.518 for the exact solver. The same algorithm, on the same patients, has
# practically arrived after a hundred steps or lost more than half the way, and a change of units is all that differs. (At its first step, the standardized walk still has its intercept to find.)
#
# When will the raw walk arrive? There is no need to wait for it. The closed form $(I - \eta A)^t$ of a quadratic says where it will be after a billion steps:

# %%
def forecast_r_squared(X, t):  # t (k,) steps -> (k,)
    lam, U = np.linalg.eigh(X.T @ X / len(X))
    exact = np.linalg.lstsq(X, target, rcond=None)[0]
    start = U.T @ (0 - exact)  # in the eigenbasis
    shrink = (1 - lam / lam[-1]) ** (2 * t[:, None])  # (k, D)
    return r_squared(X, exact) - (shrink * lam * start**2).sum(1) / target.var()

t = np.geomspace(1, 1e10, 1001)
forecasts = {name: forecast_r_squared(X, t) for name, X in designs.items()}
runs_done = np.array([1, 3, 10, 30, 100, 300, 1000, 3000])
walked = {name: [r_squared(X, w) for w in gd_least_squares(X, target, 3000)[runs_done]] for name, X in designs.items()}
for name, X in designs.items():
    assert close(forecast_r_squared(X, runs_done), walked[name], atol=1e-6)
arrival = {name: t[(r < 0.517).sum()] for name, r in forecasts.items()}
ratio = arrival['raw'] / arrival['standardized']
print('raw needs more than 100,000 times as many steps to R² = 0.517:', ratio > 1e5)

# %% mystnb={"image": {"alt": "R squared against the number of steps on a logarithmic axis. Standardized data reach the exact solver's dashed line after some hundred steps; raw data climb a staircase and need hundreds of millions. Dots from actual runs lie on the forecast curves."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.4))
for i, name in enumerate(['raw', 'standardized']):
    ax.semilogx(t, forecasts[name], color=f'C{i}')
    ax.semilogx(runs_done, walked[name], 'o', color=f'C{i}')
best = forecasts['standardized'][-1]
ax.axhline(best, color=GREY, ls='--', lw=1)
ax.text(1e10, best + 0.012, 'exact solver', ha='right')
ax.axhline(0, color=GREY, ls='--', lw=1)
ax.text(1e10, 0.012, 'mean of all patients', ha='right')
ax.text(13, 0.43, 'standardized', color='C1')
ax.text(900, 0.33, 'raw', color='C0')
ax.set(xlabel='steps (dots: run, lines: forecast)', ylabel='R²', ylim=(-0.04, 0.58));

# %% [markdown]
# Each flight of the raw staircase is an eigenvalue: the walk settles everything that is steep, then waits until $t \approx L/\lambda_i$ for the next flatter
# direction. Standardizing removes the part of the condition number that comes from units. What is left, a few hundred, is real: several blood values move together. Whitening
# removes that too and descent needs one step; but to whiten is to know the eigenvectors of $A$, and who knows them has already solved the problem. Between those ends lie
# normalization layers, adaptive step sizes and momentum, and all are attempts to walk as if the valley were round.
#
# ## Summary
#
# The negative gradient is the direction in which $f$ falls fastest, and on an $L$-smooth function every step shorter than $2/L$ times it leads down, towards points where the gradient
# vanishes, which need not be minima. On a quadratic each eigendirection shrinks by its own factor $1 - \eta\lambda_i$; the best common step is $2/(\mu + L)$, and a digit costs about $1.15\,\kappa$
# steps. For least squares $\kappa$ belongs to the data and its units, and standardizing decided whether descent took a hundred steps or hundreds of millions.
#
# **Further reading.** The method is Cauchy's, from a three-page note about astronomical orbits {cite}`cauchy1847methode`. {cite:t}`nesterov2018lectures` proves the rates for convex functions and the lower bounds,
# {cite:t}`boyd2004convex` treat line searches, {cite:t}`golub2013matrix` the condition of least squares, and {cite:t}`goodfellow2016deep` what changes when the function is the loss of a network.
