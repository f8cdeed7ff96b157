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
# - **You need** [gradients and directional derivatives](../calculus/gradients.ipynb),
#   [eigenvalues of symmetric matrices](../linear_algebra/eigendecomposition.ipynb), and
#   [norms](../linear_algebra/norms.ipynb).
# - **You build** gradient descent, a line search that finds its own step, a forecast of the number of steps, and
#   least squares by descent.
# - **Time** 10 s.

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
import sympy
import torch
from numpy.linalg import norm
from numpy.polynomial import Polynomial
from scipy.optimize import brentq, minimize_scalar

from nbutils import data
from nbutils.cases import integers, scalars, seeds, vectors
from nbutils.checks import below, close, erratum, grade, holds
from nbutils.figures import GREY, panels
from nbutils.timing import seconds

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
# It is *unconstrained*: every $\mathbf{x}$ is allowed. And it has a *single objective*: the output is one number, and
# of two numbers one is never worse than the other. With two outputs, say the price and the weight of a bicycle,
# nothing need be best, for the cheapest is seldom the lightest. The check looks for a best candidate among four; its
# control judges them by two outputs at once.

# %%
def some_is_best(no_worse):  # (n, n): is i no worse than j?
    return no_worse.all(1).any()

holds(
    'aw.gd.single-objective',
    lambda price, weight: some_is_best(price[:, None] <= price)
    and some_is_best(weight[:, None] <= weight),
    control=lambda price, weight: some_is_best(
        (price[:, None] <= price) & (weight[:, None] <= weight)),
    price=vectors(4, 0, 10), weight=vectors(4, 0, 10),
)

# %% [markdown]
# In machine learning the input is a vector of weights $\mathbf{w}$, the function a loss $\mathcal{L}$, and "smallest"
# has two meanings. A *global* minimum is beaten nowhere, a *local* one nowhere nearby:
#
# ```{math}
# :label: ml.opt.global-min
# \mathcal{L}(\mathbf{w}^*) \le \mathcal{L}(\mathbf{w}) \quad \text{for all } \mathbf{w} \in \mathbb{R}^D
# ```
#
# ```{math}
# :label: ml.opt.local-min
# \exists \, \epsilon > 0: \quad \mathcal{L}(\mathbf{w}^*) \le \mathcal{L}(\mathbf{w})
# \quad \text{for all } \|\mathbf{w} - \mathbf{w}^*\| \le \epsilon
# ```
#
# The tilted double well $\mathcal{L}(w) = w^4 - 2w^2 + cw$ shows the difference. It grows without bound on both
# sides, so a global minimum exists. At a minimum the derivative vanishes, and the sign of the second derivative,
# where it is not zero, tells valleys from hills:

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
    name = 'valley' if kind > 0 else 'hill'
    print(f'w = {w:6.3f}, loss = {well(w):6.3f}: {name}')

# %% [markdown]
# Sympy isolates the roots exactly. It agrees for several tilts, also where only one valley is left:

# %%
w = sympy.Symbol('w')
for c in (-2, -1, sympy.Rational(1, 2), 1, 2):
    loss = w**4 - 2 * w**2 + c * w
    exact = [r.evalf() for r in sympy.real_roots(loss.diff(w))]
    bend = [sympy.sign(loss.diff(w, 2).subs(w, r)) for r in exact]
    found, kind = classify_stationary_points(tilted_well(float(c)))
    assert close(found, exact) and close(kind, bend)

# %% [markdown]
# A local minimum asks for *some* $\epsilon$. Demanding *every* $\epsilon$ is the control, and the right-hand valley
# refutes it: a ball wide enough reaches into the deeper one.

# %% tags=["hide-input"]
def lowest_in_ball(w, eps):
    ball = np.linspace(w - eps, w + eps, 101)
    return (well(w) <= well(ball) + 1e-12).all()  # 1e-12: rounding

def agrees(w, quantifier, radii=(0.01, 0.1, 1, 3)):
    is_valley = well.deriv(2)(w) > 0
    return quantifier(lowest_in_ball(w, r) for r in radii) == is_valley

def valley_depths(c):
    at, kind = classify_stationary_points(tilted_well(c))
    return tilted_well(c)(at[kind > 0])

holds(
    'ml.opt.local-min', lambda w: agrees(w, any),
    control=lambda w: agrees(w, all), w=list(points),
)
holds(
    'ml.opt.global-min',
    lambda c, w: valley_depths(c).min() <= tilted_well(c)(w) + 1e-12,
    control=lambda c, w: valley_depths(c).max() <= tilted_well(c)(w) + 1e-12,
    c=scalars(-2, 2), w=scalars(),
)

# %% mystnb={"figure": {"caption": "A local minimum is lowest in some ball around it, a global one everywhere: here the right valley is lowest only within its ball, the left one is deeper."}, "image": {"alt": "A tilted double well. Its left valley is the global minimum; the right one is a local minimum, lowest within the shaded ball around it, and between them lies a hill."}} tags=["hide-input"]
grid = np.linspace(-1.65, 1.55, 400)
fig, ax = plt.subplots()
ax.plot(grid, well(grid))
ax.axvspan(points[2] - 0.4, points[2] + 0.4, color='C1', alpha=0.2, lw=0)
ax.plot(points, well(points), 'o', color='C1')
names = ('global minimum', -0.26), ('hill', 0.13), ('local minimum', -0.26)
for w, (name, lift) in zip(points, names, strict=True):
    ax.text(w, well(w) + lift, name, ha='center')
ax.text(points[2], 1.05, 'ball of radius ε', color='C1', ha='center')
ax.set(xlabel='w', ylabel='loss', ylim=(-2.0, 1.3));

# %% [markdown]
# ```{exercise} ★ The deeper valley
# :label: gradient_descent-deeper
# Write `deepest(c)`, the place of the global minimum of $w^4 - 2w^2 + cw$ for $c \ne 0$. The grader knows on which
# side of zero it lies, and searches there.
# ```

# %%
def deepest(c):
    raise NotImplementedError('your turn')

# %%
def deepest_by_search(c):
    return minimize_scalar(
        lambda w: w**4 - 2 * w**2 + c * w, method='bounded',
        bounds=(-2, 0) if c > 0 else (0, 2), options={'xatol': 1e-9}).x

tilts = [(0.5,), (-0.3,), (1.8,), (-1.5,)]
grade(deepest, deepest_by_search, tilts, atol=1e-6)

# %% [markdown]
# ```{solution-start} gradient_descent-deeper
# :class: dropdown
# ```
# The global minimum is stationary, and at most three points are: compare their values. Newton's method from $w = 1$,
# a plausible mistake, finds the stationary point that is near, not the one that is low.

# %% jupyter={"source_hidden": true}
def deepest_solution(c):
    at, _ = classify_stationary_points(tilted_well(c))
    return at[tilted_well(c)(at).argmin()]

def newton_from_one(c):
    w = 1.0
    for _ in range(50):
        w = w - (4 * w**3 - 4 * w + c) / (12 * w**2 - 4)
    return w

assert grade(deepest_solution, deepest_by_search, tilts, atol=1e-6)
assert not grade(newton_from_one, deepest_by_search, tilts, atol=1e-6)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Which way is down
#
# A network has millions of weights, and nobody solves $\nabla f = \mathbf{0}$ for them. So we walk. From a first
# guess $\mathbf{x}_0$, each step has a direction and a length:
#
# ```{math}
# :label: aw.gd.step
# \mathbf{x}_t = \mathbf{x}_{t-1} + \eta_t \, \mathbf{p}_t, \qquad \|\mathbf{p}_t\| = 1
# ```
#
# Since $\mathbf{p}_t$ is normalized, the *step size* or *learning rate* $\eta_t$ is the distance covered.

# %%
holds(
    'aw.gd.step',
    lambda x, v, eta: close(norm(x + eta * v / norm(v) - x), eta),
    control=lambda x, v, eta: close(norm(x + eta * v - x), eta),
    x=vectors(3), v=vectors(3).filter(np.any), eta=scalars(0.1, 5),
)

# %% [markdown]
# Which directions lead down? The notes say: those with $f(\mathbf{x}_t) \le f(\mathbf{x}_{t-1})$. Read literally,
# that depends on the length of the step. On $x^2$ at $x = 1$ the direction $-1$ is downhill, yet a step of length 3
# lands higher, at $(-2)^2$. At 0 the sine rises to the right, yet a step of length 4 lands lower. A leap across the
# valley says nothing about the slope, so we ask for *every* short step:
#
# ````{prf:definition} Descent direction
# :label: def-descent-direction
# $\mathbf{p}$ is a descent direction of $f$ at $\mathbf{x}$ if there is $\bar\eta > 0$ such that
# ```{math}
# :label: aw.gd.descent-def
# f(\mathbf{x} + \eta \, \mathbf{p}) < f(\mathbf{x}) \qquad \text{for all } 0 < \eta < \bar\eta .
# ```
# ````
#
# On $x^2$ the bound is $\bar\eta = 2|x|$; the control drops it.

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
# One number replaces the whole range of steps, the *directional derivative*
#
# $$
# D_{\mathbf{p}} f(\mathbf{x}) = \lim_{\eta \to 0^+} \frac{f(\mathbf{x} + \eta \, \mathbf{p}) - f(\mathbf{x})}{\eta}.
# $$
#
# Along a descent direction these quotients are negative for small $\eta$, and a limit of negative numbers is not
# positive:
#
# ```{math}
# :label: aw.gd.dir-nonpos
# D_{\mathbf{p}_t} f(\mathbf{x}_{t-1}) \le 0
# ```
#
# Conversely, if the limit is negative, so are the quotients for all small $\eta$, and $\mathbf{p}$ is a descent
# direction. Only slope zero leaves the question open: $x^2$ and $-x^2$ are both flat at 0, and only the second leads
# down. In the control one long step has to stand for all short ones.

# %%
def leads_down(x, p):  # on the sine, for steps of many sizes
    return all(np.sin(x + h * p) < np.sin(x) for h in 10.0 ** -np.arange(1, 7))

def leaps_down(x, p):  # the same, judged by one long step
    return np.sin(x + 4 * p) < np.sin(x)

holds(
    'aw.gd.dir-nonpos',
    lambda x, p: not leads_down(x, p) or np.cos(x) * p <= 0,
    control=lambda x, p: not leaps_down(x, p) or np.cos(x) * p <= 0,
    x=scalars(-3, 3), p=[1, -1],
)

# %% [markdown]
# By the chain rule the slope along $\mathbf{p}$ is the dot product $\sum_i \frac{\partial f}{\partial x_i} p_i$, and
# dot products measure angles. With $\alpha$ the angle between the gradient and $\mathbf{p}_t$,
#
# ```{math}
# :label: aw.gd.cosine
# D_{\mathbf{p}_t} f(\mathbf{x}_{t-1}) = \nabla f(\mathbf{x}_{t-1}) \cdot \mathbf{p}_t
# = \|\nabla f(\mathbf{x}_{t-1})\| \, \|\mathbf{p}_t\| \cos\alpha .
# ```
#
# Only the third factor is ours to choose, because $\|\nabla f(\mathbf{x}_{t-1})\|$ is the same for every $\mathbf{p}_t$,
# and $\|\mathbf{p}_t\| = 1$. This leaves
#
# ```{math}
# :label: aw.gd.cosine-unit
# D_{\mathbf{p}_t} f(\mathbf{x}_{t-1}) = \|\nabla f(\mathbf{x}_{t-1})\| \cos\alpha .
# ```
#
# Wherever the gradient is not zero, half of all directions lead down:
#
# ```{math}
# :label: aw.gd.half-circle
# \cos\alpha < 0 \quad \text{for} \quad \tfrac{\pi}{2} < \alpha < \tfrac{3\pi}{2}
# ```
#
# We try all this on a hillside, with slopes measured by finite differences, which know nothing of gradients:

# %%
def hill(x):
    return x[0] ** 2 / 4 + x[1] ** 2 / 2 + np.sin(x[0] + x[1])

def grad_hill(x):
    return np.array([x[0] / 2, x[1]]) + np.cos(x[0] + x[1])

def slope(f, x, p, h=1e-5):
    return (f(x + h * p) - f(x - h * p)) / (2 * h)

def unit(v):
    return v / norm(v)

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

def at_angle(x, a, scale):  # p turned by a from the gradient
    g = grad_hill(x)
    return close(slope(hill, x, turn(scale(g), a)), norm(g) * np.cos(a))

holds(
    'aw.gd.cosine', lambda x, p: three_ways(x, p, 1),
    control=lambda x, p: three_ways(x, p, -1), x=steep, p=toward,
)
holds(
    'aw.gd.cosine-unit', lambda x, a: at_angle(x, a, unit),
    control=lambda x, a: at_angle(x, a, lambda g: g),
    x=steep, a=scalars(0, 2 * np.pi),
)

# %% [markdown]
# The first factor can be measured too, as slope over cosine, and unit directions must all give the same. And on the
# half circle a short step must lower $f$ itself.

# %% tags=["hide-input"]
def first_factor_is_norm(x, a, size):
    p = size * turn(unit(grad_hill(x)), a)
    return close(slope(hill, x, p) / np.cos(a), norm(grad_hill(x)))

def steps_down(a):  # from one point of the hill, a step of 0.0001
    x = np.array([1.0, 1.0])
    return hill(x + 1e-4 * turn(unit(grad_hill(x)), a)) < hill(x)

askew = scalars(0, 2 * np.pi).filter(lambda a: abs(np.cos(a)) > 0.01)
holds(
    'aw.gd.const-and-unit', lambda x, a: first_factor_is_norm(x, a, 1),
    control=lambda x, a: first_factor_is_norm(x, a, 1.01), x=steep, a=askew,
)
holds(
    'aw.gd.half-circle',
    lambda a: steps_down(a) == (np.pi / 2 < a < 3 * np.pi / 2),
    control=lambda a: steps_down(a) == (0 < a < np.pi), a=askew,
)

# %% mystnb={"figure": {"caption": "The slope along a unit direction is $\\|\\nabla f\\| \\cos\\alpha$, so half of all directions lead down. The steepest, $-\\nabla f$, does not point at the minimum."}, "image": {"alt": "Left: contours of the hill, at one point the gradient, the opposite direction of steepest descent and the half disc of descent directions; the minimum, marked by a cross, lies elsewhere. Right: the slope against the angle is a cosine, negative between pi/2 and 3 pi/2."}} tags=["hide-input"]
here = np.array([1.0, 1.4])
g = grad_hill(here)
fig, (left, right) = panels(2, height=2.9)
u, v = np.meshgrid(np.linspace(-1.6, 2.7, 80), np.linspace(-1.2, 3.0, 80))
left.contour(u, v, hill(np.stack([u, v])), 16, colors=GREY, linewidths=0.5)
fan = turn(unit(g), np.linspace(np.pi / 2, 1.5 * np.pi, 60))
left.fill(*(here[:, None] + fan), color='C0', alpha=0.25, lw=0)
for sign, colour, name in ((1, 'C1', '∇f'), (-1, 'C0', '−∇f')):
    arrow = dict(color=colour, arrowstyle='->', lw=2, shrinkA=0, shrinkB=0)
    left.annotate('', here + sign * unit(g), here, arrowprops=arrow)
    left.text(*(here + 1.25 * sign * unit(g)), name, color=colour,
              ha='center', va='center')
left.plot(-0.78, -0.39, 'x', color=GREY, ms=7, mew=2)
left.set(aspect='equal', xlabel='x₁', ylabel='x₂')
a = np.linspace(0, 2 * np.pi, 49)
measured = [slope(hill, here, turn(unit(g), b)) for b in a]
right.axvspan(np.pi / 2, 1.5 * np.pi, color='C0', alpha=0.25, lw=0)
right.plot(a, norm(g) * np.cos(a), color=GREY)
right.plot(a, measured, 'o', ms=3, color='C0')
right.text(np.pi, 0.75 * norm(g), 'descent', color='C0', ha='center')
right.set(xlabel='angle α to the gradient', ylabel='slope along p')
right.set_xticks(np.arange(5) * np.pi / 2, ['0', 'π/2', 'π', '3π/2', '2π']);

# %% [markdown]
# The cosine is smallest at $\alpha = \pi$. So the steepest way down is the unit vector
#
# ```{math}
# :label: aw.gd.steepest
# \mathbf{p}_t = -\frac{\nabla f(\mathbf{x}_{t-1})}{\|\nabla f(\mathbf{x}_{t-1})\|} .
# ```
#
# The notes write $\mathbf{p}_t = -\nabla f(\mathbf{x}_{t-1})$, having asked for a normalized direction before. As a
# direction it is the same, as a vector it is not, and the length will matter soon. A blind search over the circle
# finds the normalized one, to within its resolution:

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
# In $n$ dimensions the Cauchy-Schwarz inequality takes over from the cosine: for unit vectors $\mathbf{p}$,
#
# ```{math}
# :label: aw.gd.greatest-increase
# -\|\nabla f(\mathbf{x})\| \ \le \ \nabla f(\mathbf{x}) \cdot \mathbf{p} \ \le \ \|\nabla f(\mathbf{x})\| ,
# ```
#
# on the right with equality only for $\mathbf{p} = \nabla f(\mathbf{x}) / \|\nabla f(\mathbf{x})\|$, the direction of
# greatest increase, and on the left only for its negative. It is tempting to read $-\nabla f$ as an arrow towards the
# minimum. It is not: in the picture it misses the cross widely. On the bowl $\frac12(x_1^2 + 4x_2^2 + 9x_3^2)$ no random
# direction beats the gradient, but many beat the straight line to the minimum at the origin:

# %%
def bowl(x):  # x (3, ...) -> (...)
    return np.tensordot([1, 4, 9], x**2, 1) / 2

crowd = np.random.default_rng(0).normal(size=(3, 2000))
crowd = crowd / norm(crowd, axis=0)  # (3, 2000) unit columns

def extreme(x, up, h=1e-5):  # is up the best of all, -up the worst?
    gains = bowl(x[:, None] + h * crowd)
    highest, lowest = bowl(x + h * unit(up)), bowl(x - h * unit(up))
    return highest >= gains.max() and lowest <= gains.min()

holds(
    'aw.gd.greatest-increase', lambda x: extreme(x, [1, 4, 9] * x),
    control=lambda x: extreme(x, x),
    x=vectors(3).filter(lambda x: norm(x) > 0.1), tries=50,
)

# %% [markdown]
# ```{exercise} ★★ Steepest by another yardstick
# :label: gradient_descent-sign
# "Steepest" depends on what counts as a step of length one. Write `steepest_max(g)`, the vector $\mathbf{p}$ with the
# smallest $\mathbf{g} \cdot \mathbf{p}$ among all with $\max_i |p_i| \le 1$ (no entry of $\mathbf{g}$ is zero). The
# grader tries all corners of the cube.
# ```

# %%
def steepest_max(g):
    raise NotImplementedError('your turn')

# %%
def best_corner(g):
    axes = np.meshgrid(*[[-1.0, 1.0]] * len(g))
    corners = np.stack(axes, -1).reshape(-1, len(g))
    return corners[(corners @ g).argmin()]

slopes = [([3.0, -1.0],), ([-0.1, 2.0, 5.0],), ([1.0],)]
grade(steepest_max, best_corner, slopes)

# %% [markdown]
# ```{solution-start} gradient_descent-sign
# :class: dropdown
# ```
# $\sum_i g_i p_i$ is smallest when each term is, at $p_i = -\operatorname{sign} g_i$. The slope is then
# $-\|\mathbf{g}\|_1$: the dual of the max norm has appeared. Scaling the gradient to largest entry one, the tempting
# mistake, stays inside the cube but seldom reaches a corner. Methods that step by the sign of the gradient descend
# steepest in this norm.

# %% jupyter={"source_hidden": true}
def steepest_max_solution(g):
    return -np.sign(g)

def scaled_gradient(g):
    return -np.array(g) / np.abs(g).max()

assert grade(steepest_max_solution, best_corner, slopes)
assert not grade(scaled_gradient, best_corner, slopes)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## How far to step
#
# Type any number into a calculator, in radians, and press the cosine key again and again. The display settles at
# $0.739085\ldots$, the solution of $\cos x = x$. This is gradient descent at work, as its formula will show. Take the
# steepest direction, and let the length of the gradient flow into the step, so that strides are long on steep ground:
#
# ```{math}
# :label: aw.gd.gd-step
# \mathbf{x}_t = \mathbf{x}_{t-1} - \eta_t \nabla f(\mathbf{x}_{t-1})
# ```

# %%
def gradient_descent(grad, x, eta, T):  # eta: a number or T numbers
    path = np.empty((T + 1, *np.shape(x)))  # (T + 1, n)
    path[0] = x
    for t, eta_t in enumerate(np.broadcast_to(eta, T)):
        path[t + 1] = path[t] - eta_t * grad(path[t])
    return path

display = gradient_descent(lambda x: x - np.cos(x), 1.0, 1, 100)
print(f'after 100 presses of the cosine key: {display[-1]:.6f}')

# %% [markdown]
# PyTorch's `SGD` takes the same steps, here on the mountain pass $x_1^2 + \cos x_2$. The control normalizes the
# gradient, as {eq}`aw.gd.step` would have it.

# %%
def grad_pass(x):
    return np.array([2 * x[0], -np.sin(x[1])])

def unit_grad_pass(x):
    return grad_pass(x) / max(norm(grad_pass(x)), 1e-9)

def torch_sgd(x, eta, T):
    x = torch.tensor(x, requires_grad=True)
    sgd = torch.optim.SGD([x], lr=eta)
    for _ in range(T):
        sgd.zero_grad()
        (x[0] ** 2 + torch.cos(x[1])).backward()
        sgd.step()
    return x

def same_as_torch(grad, x):
    path = gradient_descent(grad, x, 0.3, 5)
    return close(path[-1], torch_sgd(x, 0.3, 5))

holds(
    'aw.gd.gd-step', lambda x: same_as_torch(grad_pass, x),
    control=lambda x: same_as_torch(unit_grad_pass, x),
    x=vectors(2, -3, 3), tries=30,
)

# %% [markdown]
# Now the calculator. For $\varphi(x) = \frac12 x^2 - \sin x$ we have $\varphi'(x) = x - \cos x$, and a step with
# $\eta = 1$ lands at $x - (x - \cos x) = \cos x$. Some minima have a formula, others must be approached:
#
# ```{math}
# :label: aw.gd.closed-form
# \begin{aligned}
# \operatorname*{arg\,min}_x \big( \tfrac12 a x^2 - b x \big) &= b / a \qquad (a > 0) \\
# \operatorname*{arg\,min}_x \big( \tfrac12 x^2 - \sin x \big) &\approx 0.739085
# \end{aligned}
# ```
#
# Descent finds both; $b/a$ and a bracketing root finder are the judges. The control trusts a closed form that is only
# nearly one: $\cos x \approx 1 - x^2/2$ would give $\sqrt3 - 1$.

# %%
def press_cosine(x):
    return gradient_descent(lambda x: x - np.cos(x), x, 1, 80)[-1]

def parabola_bottom(a, b):
    return gradient_descent(lambda x: a * x - b, 0, 0.5, 80)[-1]

root = brentq(lambda x: x - np.cos(x), 0, 1, xtol=1e-14)
holds(
    'aw.gd.closed-form',
    lambda a, b: close(parabola_bottom(a, b), b / a)
    and close(press_cosine(b), root),
    control=lambda a, b: close(press_cosine(b), 3**0.5 - 1),
    a=scalars(0.5, 3), b=scalars(),
)

# %% [markdown]
# Why did a step of 1 work? Would 3? A slope can be trusted only as far as it does not change much. Call $f$
# *$L$-smooth* if $\|\nabla f(\mathbf{x}) - \nabla f(\mathbf{y})\| \le L \|\mathbf{x} - \mathbf{y}\|$ for all
# $\mathbf{x}, \mathbf{y}$; for twice differentiable $f$ this says that no eigenvalue of the Hessian anywhere exceeds
# $L$ in size.
#
# ```{prf:theorem} Descent lemma
# :label: thm-descent-lemma
# If $f$ is $L$-smooth, then $f(\mathbf{y}) \le f(\mathbf{x}) + \nabla f(\mathbf{x}) \cdot (\mathbf{y} - \mathbf{x}) +
# \frac{L}{2} \|\mathbf{y} - \mathbf{x}\|^2$ for all $\mathbf{x}, \mathbf{y}$.
# ```
#
# ```{prf:proof}
# Walk from $\mathbf{x}$ to $\mathbf{y}$ and add up slopes. With $\mathbf{d} = \mathbf{y} - \mathbf{x}$,
#
# $$
# \begin{aligned}
# f(\mathbf{y}) - f(\mathbf{x}) - \nabla f(\mathbf{x}) \cdot \mathbf{d}
# &= \int_0^1 \big( \nabla f(\mathbf{x} + s\mathbf{d}) - \nabla f(\mathbf{x}) \big) \cdot \mathbf{d} \, ds \\
# &\le \int_0^1 L \, \|s \mathbf{d}\| \, \|\mathbf{d}\| \, ds = \frac{L}{2} \|\mathbf{d}\|^2 ,
# \end{aligned}
# $$
#
# where the inequality is Cauchy-Schwarz, then smoothness.
# ```
#
# So a parabola of curvature $L$ touches the function at $\mathbf{x}$ and lies above it everywhere. For $\varphi$,
# with $\varphi'' = 1 + \sin x$, the constant is $L = 2$, and less will not do:

# %%
def phi(x):
    return x**2 / 2 - np.sin(x)

def parabola(x, y, L):
    return phi(x) + (x - np.cos(x)) * (y - x) + L / 2 * (y - x) ** 2

x, y = np.random.default_rng(1).uniform(-4, 4, size=(2, 10_000))
for L in (2, 1.75):
    lowest = (parabola(x, y, L) - phi(y)).min()
    print(f'L = {L}: the parabola is {round(lowest, 3) + 0.0} above, or more')

# %% mystnb={"figure": {"caption": "A parabola of curvature $L = 2$ that touches $\\varphi$ lies above it, so the step $1/L$, a jump to its vertex, lowers $\\varphi$ at least as far as the parabola."}, "image": {"alt": "The function phi and three parabolas above it. Each touches the curve at an iterate; the next iterate lies straight below the vertex of the parabola."}} tags=["hide-input"]
steps = gradient_descent(lambda x: x - np.cos(x), -1.7, 0.5, 3)
grid = np.linspace(-2, 2.2, 300)
fig, ax = plt.subplots()
ax.plot(grid, phi(grid), color=GREY, lw=2.5)
for i, (x, after) in enumerate(zip(steps[:-1], steps[1:], strict=True)):
    vertex = parabola(x, after, 2)
    ax.plot(grid, parabola(x, grid, 2), color=f'C{i}', lw=1.2)
    ax.plot([after, after], [vertex, phi(after)], ':', color=f'C{i}')
    ax.plot(x, phi(x), 'o', color=f'C{i}')
    ax.text(x - 0.06, phi(x) - 0.3, f'x{"₀₁₂"[i]}', color=f'C{i}', ha='right')
ax.text(2.05, 0.7, 'φ', color=GREY)
ax.set(xlabel='x', ylabel='φ and parabolas above it', ylim=(-0.8, 4));

# %% [markdown]
# Put $\mathbf{y} = \mathbf{x} - \eta \nabla f(\mathbf{x})$ into the lemma:
#
# ```{math}
# :label: gradient_descent-decrease
# f(\mathbf{x} - \eta \nabla f(\mathbf{x})) \le f(\mathbf{x}) - \eta \Big( 1 - \frac{L\eta}{2} \Big) \|\nabla f(\mathbf{x})\|^2
# ```
#
# For $\eta > 0$ the bracket is positive exactly if $\eta < 2/L$: each such step leads down, wherever the gradient is
# not zero already. The promised gain is largest at $\eta = 1/L$, the jump to the vertex of the parabola. And the
# threshold $2/L$ is sharp, for on $f(x) = \frac{L}{2}x^2$ a step maps $x$ to $(1 - \eta L)x$, which is nearer to 0 if
# and only if $|1 - \eta L| < 1$. The cosine key, with $\eta = 1 = 2/L$, walked on the very edge, and got away with it:
# after two presses the display lies between $\cos 1$ and 1, where $\varphi'' \le 1 + \sin 1 \approx 1.84$, and
# $1 < 2/1.84$. A step of 3 would not settle: at the minimum $\varphi'' = 1 + \sin 0.739 \approx 1.67$, and
# $|1 - 3 \cdot 1.67| > 1$.
#
# Where does the walk end? Add {eq}`gradient_descent-decrease` over all steps. The left sides telescope, and $f$
# cannot fall below its infimum:
#
# ```{math}
# :label: gradient_descent-sum
# \eta \Big( 1 - \frac{L\eta}{2} \Big) \sum_{t=0}^{\infty} \|\nabla f(\mathbf{x}_t)\|^2 \le f(\mathbf{x}_0) - \inf f < \infty
# ```
#
# The terms of a convergent sum tend to zero, so the gradient vanishes in the limit. That is less than one might hope
# for.
#
# :::{admonition} Erratum
# :class: warning
# As printed, a descent direction at every iteration and care with the step size suffice to converge to a local
# minimum. All that follows, for steps $-\eta \nabla f$ on an $L$-smooth $f$ that is bounded below, is
#
# ```{math}
# :label: aw.gd.converge-local
# 0 < \eta < \tfrac{2}{L} \quad \Longrightarrow \quad \|\nabla f(\mathbf{x}_t)\| \to 0,
# ```
#
# so that every limit point is stationary. It may be a saddle, as on the pass $x_1^2 + \cos x_2$ from any start with
# $x_2 = 0$; and there may be none, as on $\log(1 + e^x)$, where the walk goes to $-\infty$. The slip is easy to make
# because one rarely sees it happen: the slightest push sideways leads away from the saddle.
# :::
#
# The pass has $L = 2$ and is bounded below by $-1$. The correction is tried together with {eq}`gradient_descent-sum`.

# %%
def mountain_pass(x):
    return x[0] ** 2 + np.cos(x[1])

def ends_in_minimum(x):
    end = gradient_descent(grad_pass, x, 0.4, 200)[-1]
    t = np.linspace(0, 2 * np.pi, 17)
    ring = end[:, None] + 0.01 * np.stack([np.cos(t), np.sin(t)])
    return (mountain_pass(end) <= mountain_pass(ring)).all()

def gradient_vanishes(x, eta=0.4, L=2):
    path = gradient_descent(grad_pass, x, eta, 200)
    steepness = norm(grad_pass(path.T), axis=0)
    gain = eta * (1 - L * eta / 2) * (steepness**2).sum()
    return steepness[-1] < 1e-6 and gain <= mountain_pass(x) + 1 + 1e-9

erratum(
    'aw.gd.converge-local',
    printed=lambda x1, x2: ends_in_minimum(np.array([x1, x2])),
    corrected=lambda x1, x2: gradient_vanishes(np.array([x1, x2])),
    x1=scalars(1, 3), x2=scalars(-3, 3), tries=50,
)

# %% [markdown]
# The notes add that the step size hardly matters as long as $f$ decreases at each iteration. Decrease is not enough: on
# $x^2$ from 1, the steps $\eta_t = 0.1 \cdot 2^{-t}$, $t = 0, 1, \ldots$, lower $f$ every time and die out on the
# slope, at $x = \prod_t (1 - 2 \cdot 0.1 \cdot 2^{-t}) \approx 0.65$. The missing hypothesis keeps the steps away from
# both ends:
#
# ```{math}
# :label: aw.gd.stepsize
# 0 < \inf_t \eta_t \le \sup_t \eta_t < \tfrac{2}{L} \quad \Longrightarrow \quad \|\nabla f(\mathbf{x}_t)\| \to 0
# ```
#
# Then $\eta_t(1 - L\eta_t/2)$ stays above a positive constant, and the sum converges as before. (Steps may tend to
# zero if they do it slowly: with $\eta_t \le 1/L$ and $\sum_t \eta_t = \infty$ the same sum gives
# $\liminf_t \|\nabla f(\mathbf{x}_t)\| = 0$.)

# %%
def on_square(x, etas):  # x² has f' = 2x and L = 2
    path = gradient_descent(lambda x: 2 * x, x, etas, len(etas))
    return (np.diff(path**2) < 0).all(), path[-1]

def steady(x, low, high):  # between fixed bounds: the walk arrives
    return abs(on_square(x, [low, high] * 40)[1]) < 1e-6

def shrinking(x, low, high):  # "if f falls at every step, it arrives"
    falls, end = on_square(x, low * 0.5 ** np.arange(30))
    return not falls or abs(end) < 1e-6

holds(
    'aw.gd.stepsize', steady, control=shrinking,
    x=scalars(1, 10), low=scalars(0.1, 0.4), high=scalars(0.6, 0.9),
)
falls, end = on_square(1, 0.1 * 0.5 ** np.arange(30))
print(f'f falls at every step: {falls}; the walk stalls at x = {end:.2f}')

# %% [markdown]
# And who knows $L$? *Backtracking* does without: begin with a generous step and halve it until it keeps half of what
# the slope promises, $f(\mathbf{x} - \eta \nabla f) \le f(\mathbf{x}) - \frac{\eta}{2}\|\nabla f\|^2$
# {cite}`armijo1966minimization`. On an $L$-smooth function every $\eta \le 1/L$ passes, by
# {eq}`gradient_descent-decrease`, so the accepted step is the first one or longer than $1/(2L)$. We try it on a sum
# of exponentials {cite}`boyd2004convex` whose curvature has no bound and whose minimum is $(-\frac12 \ln 2, 0)$.

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
near = gradient_descent(grad_cliffs, far / 10, 0.1, 100)[-1]
wild = gradient_descent(grad_cliffs, far, 0.1, 1)[-1]
safe = backtracking(cliffs, grad_cliffs, far, 100)
print('step 0.1 from nearby: distance', below(near - bottom, 1e-6))
print('from far off its first step multiplies f by',
      f'{cliffs(wild) / cliffs(far):.1e}')
print('backtracking from there: distance', below(safe - bottom, 1e-6))

# %% [markdown]
# ## How long it takes
#
# This section continues [How far to step](#how-far-to-step), whose `gradient_descent` it uses. "The gradient vanishes
# in the limit" is a promise without a date. For the date take a quadratic, which is what a smooth function looks like
# close to a minimum with a positive definite Hessian:
#
# $$
# f(\mathbf{x}) = \tfrac12 \mathbf{x}^\top \mathbf{A} \mathbf{x} - \mathbf{b}^\top \mathbf{x}, \qquad
# \nabla f(\mathbf{x}) = \mathbf{A}\mathbf{x} - \mathbf{b} = \mathbf{A}(\mathbf{x} - \mathbf{x}^*), \qquad \mathbf{A}\mathbf{x}^* = \mathbf{b},
# $$
#
# where $\mathbf{A}$ is symmetric with eigenvalues $0 < \mu = \lambda_1 \le \dots \le \lambda_n = L$. Let the step be
# fixed. Machine learning often writes the rule with $\mathbf{w}$ for $\mathbf{x}$, a loss for $f$ and $\gamma$ for
# $\eta$,
#
# ```{math}
# :label: ml.opt.gd.update
# \mathbf{w}^{(t+1)} = \mathbf{w}^{(t)} - \gamma \nabla \mathcal{L}(\mathbf{w}^{(t)}), \qquad \gamma > 0,
# ```
#
# which is {eq}`aw.gd.gd-step` in other clothes. Subtract $\mathbf{x}^*$ on both sides: every step multiplies the
# error by the same matrix, and the whole walk has a closed form.
#
# ```{math}
# :label: gradient_descent-iterate
# \mathbf{x}_t - \mathbf{x}^* = (\mathbf{I} - \eta \mathbf{A})(\mathbf{x}_{t-1} - \mathbf{x}^*) = (\mathbf{I} - \eta \mathbf{A})^t (\mathbf{x}_0 - \mathbf{x}^*)
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
# Along each eigenvector the error has its own factor, $1 - \eta\lambda_i$, undisturbed by the others. This is the
# whole drama. Steep directions demand a short step, since $\eta L$ must stay below 2; flat ones then hardly move,
# since $1 - \eta\mu$ is close to 1. One step size has to serve them all.
#
# ```{prf:theorem} Rate on quadratics
# :label: thm-gd-rate
# With $\rho = \max(|1 - \eta\mu|, |1 - \eta L|)$ we have
# $\|\mathbf{x}_t - \mathbf{x}^*\| \le \rho^t \, \|\mathbf{x}_0 - \mathbf{x}^*\|$, and no smaller number will do for
# all starts. The walk converges from every start if and only if $0 < \eta < 2/L$. The best step and its rate are
#
# $$
# \eta^* = \frac{2}{\mu + L}, \qquad \rho^* = \frac{L - \mu}{L + \mu} = \frac{\kappa - 1}{\kappa + 1}, \qquad \kappa = \frac{L}{\mu} .
# $$
# ```
#
# ```{prf:proof}
# $\mathbf{I} - \eta \mathbf{A}$ is symmetric with eigenvalues $1 - \eta\lambda_i$, so it stretches no vector by more
# than the largest $|1 - \eta\lambda_i|$. As $|1 - \eta\lambda|$ is convex in $\lambda$, it is largest at $\mu$ or at
# $L$: this is $\rho$, and the eigenvector there is stretched by $\rho$ at every step. We have $\rho < 1$ if and only if
# $\eta\mu$ and $\eta L$ lie between 0 and 2, that is, $0 < \eta < 2/L$. For $\eta > 0$, $\rho$ is the larger of $1 -
# \eta\mu$, which falls as $\eta$ grows, and $\eta L - 1$, which rises. So it is smallest where the two are equal, at
# $\eta^* = 2/(\mu + L)$, and the rate is $1 - \eta^*\mu$.
# ```
#
# The *condition number* $\kappa$ sets the pace. A round bowl, $\kappa = 1$, takes one step. For large $\kappa$,
# $\rho^* \approx 1 - 2/\kappa \approx e^{-2/\kappa}$, so one more correct digit costs about $\frac{\kappa}{2} \ln 10$
# steps, where $\frac12 \ln 10 \approx 1.15$. The step $1/L$, which does not need $\mu$, has the rate $1 - 1/\kappa$:
# twice as many steps. Here are three walks in a valley with $\mu = 1$, $L = 10$:

# %%
lam = np.array([1.0, 10.0])
start = np.array([4.0, 1.0])
sizes = {'η = 0.02: slow': 0.02, 'η = 2/(μ+L): best': 2 / 11,
         'η = 0.205: too long': 0.205}
walks = {
    name: gradient_descent(lambda x: lam * x, start, eta, 40)
    for name, eta in sizes.items()
}
for name, path in walks.items():
    print(f'{name:20} error after 40 steps {norm(path[-1]):.3g}')

# %% mystnb={"figure": {"caption": "In a valley with $\\mu = 1$ and $L = 10$ a short step creeps along the floor, the best, $2/(\\mu + L)$, zigzags in, and one beyond $2/L = 2/10 = 0.2$ swings out."}, "image": {"alt": "Three descent paths on elliptic contours from the same start: a small step creeps along the valley, the best step zigzags to the minimum, too long a step bounces between the walls with growing swings."}} tags=["hide-input"]
u, v = np.meshgrid(np.linspace(-1.2, 4.5, 120), np.linspace(-1.9, 1.9, 120))
height, levels = (u**2 + 10 * v**2) / 2, np.linspace(0.3, 4.6, 8) ** 2
fig, axes = panels(3, height=2.3, sharey=True)
for i, (ax, (name, path)) in enumerate(zip(axes, walks.items(), strict=True)):
    ax.contour(u, v, height, levels, colors=GREY, linewidths=0.5)
    ax.plot(*path[:41 if i < 2 else 11].T, 'o-', color=f'C{i}', ms=3, lw=1.2)
    ax.plot(0, 0, 'x', color=GREY, ms=7, mew=1.5)
    ax.set_title(name, color=f'C{i}', fontsize=9)
    ax.set(xlabel='x₁', xlim=(-1.2, 4.5), ylim=(-1.9, 1.9))
axes[0].set_ylabel('x₂');

# %% [markdown]
# Does the walk keep to its timetable? In thirty dimensions, with eigenvalues from 1 to $\kappa$, random axes and a
# random start, we fit a line to the logarithm of the error and read off the steps per digit:

# %%
def errors(kappa):
    A, goal, x0 = valley(np.linspace(1, kappa, 30), seed=2)
    eta, T = 2 / (1 + kappa), 10 * kappa
    path = gradient_descent(lambda x: A @ (x - goal), x0, eta, T)
    return norm(path - goal, axis=1) / norm(x0 - goal)  # (T + 1,)

runs = {kappa: errors(kappa) for kappa in (10, 100, 1000)}
for kappa, error in runs.items():
    t = np.arange(len(error))
    digits = -np.log10((kappa - 1) / (kappa + 1))  # per step, forecast
    late = t > len(t) // 2
    fitted = -np.polyfit(t[late], np.log10(error[late]), 1)[0]
    print(f'kappa = {kappa}: {1 / fitted:.4g} steps per digit, '
          f'forecast {1 / digits:.4g}')
    assert (error <= 10 ** (-digits * t) * (1 + 1e-9)).all()
    assert close(fitted, digits, rtol=1e-3)

# %% [markdown]
# The slope is the predicted one, and no error exceeds its bound. Now sweep the step size for $\kappa = 10$, and count
# steps until every coordinate is a millionth of what it was:

# %%
etas = np.concatenate([
    np.geomspace(2e-3, 0.15, 13), [2 / 11], 0.2 - np.geomspace(0.01, 1e-3, 5)])
error, count = np.ones((len(etas), 2)), np.zeros(len(etas))
while (far_off := error.max(1) > 1e-6).any():
    error = abs(error - etas[:, None] * lam * error)  # all sizes at once
    count = count + far_off
rho = np.maximum(abs(1 - etas), abs(1 - 10 * etas))
assert (abs(count - np.log(1e-6) / np.log(rho)) <= 1).all()
best = etas[count.argmin()]
print('fewest steps at 2/(mu + L):', close(best, 2 / 11))

# %% mystnb={"figure": {"caption": "Left: after a quick start the errors fall at the forecast rate, the slower the larger $\\kappa$. Right ($\\kappa = 10$): the best fixed step is $2/(\\mu + L)$, and a little beyond it the count shoots up."}, "image": {"alt": "Left: errors on a logarithmic scale; after a quick start they fall along straight lines parallel to their dashed bounds, steeply for condition number 10, hardly for 1000. Right: steps needed against step size, falling as one over eta to a sharp minimum at 2/(mu+L), then shooting up before 2/L."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
spots = (62, 3e-5), (150, 1.2e-4), (150, 0.13)
for i, (kappa, error) in enumerate(runs.items()):
    t = np.arange(301)
    bound = ((kappa - 1) / (kappa + 1)) ** t
    left.semilogy(error[:301], color=f'C{i}')
    left.semilogy(t, bound, '--', color=f'C{i}', lw=1)
    left.text(*spots[i], f'κ = {kappa}', color=f'C{i}')
left.set(xlabel='step t', ylabel='error (dashed: bound)', ylim=(1e-5, 2))
fine = np.concatenate([[2e-3], np.linspace(2 / 11, 0.1995, 200)])
worst = np.maximum(abs(1 - fine), abs(1 - 10 * fine))
right.loglog(fine, np.log(1e-6) / np.log(worst), color=GREY, lw=1.2)
right.loglog(etas, count, 'o', color='C0')
right.axvline(0.2, color='C1', ls=':')
right.text(0.185, 5500, '2/L', color='C1', ha='right')
right.text(0.035, 70, '2/(μ+L)', color='C0', ha='left', va='center')
right.text(2.2e-3, 130, 'line: forecast\ndots: counted', va='center')
right.set(xlabel='step size η', ylabel='steps', ylim=(45, 9000));

# %% [markdown]
# Little of this needs $f$ to be exactly quadratic. If $f$ is twice continuously differentiable and its Hessian has all
# eigenvalues in $[\mu, L]$ everywhere, then $\nabla f(\mathbf{x}) = \mathbf{H} (\mathbf{x} - \mathbf{x}^*)$ with
# $\mathbf{H} = \int_0^1 \nabla^2 f(\mathbf{x}^* + s(\mathbf{x} - \mathbf{x}^*)) \, ds$, an average of Hessians, whose
# eigenvalues lie in $[\mu, L]$ too. One step multiplies the error by $\mathbf{I} - \eta \mathbf{H}$, and the bound
# stands {cite}`nesterov2018lectures`.
#
# ```{exercise} ★★★ Steps that conspire
# :label: gradient_descent-chebyshev
# No *fixed* step beats $2/(\mu + L)$, but $T$ different ones can. After them the error along eigenvalue $\lambda$
# carries the factor $\prod_t (1 - \eta_t \lambda)$. Write `conspiring_steps(mu, L, T)` that makes the largest such
# factor on $[\mu, L]$ as small as possible. The grader compares it with the least that can be had,
# $1 / \cosh(T \operatorname{arcosh} \frac{\kappa + 1}{\kappa - 1})$. *Hint:* the product is a polynomial with value 1
# at $\lambda = 0$. Which polynomials stay small on an interval?
# ```

# %%
def conspiring_steps(mu, L, T):
    raise NotImplementedError('your turn')

# %%
def worst_factor(steps):  # how an answer is judged: by its worst factor
    def judged(mu, L, T):
        grid = np.linspace(mu, L, 2001)
        factors = [1 - eta * grid for eta in steps(mu, L, T)]
        return abs(np.prod(factors, 0)).max()
    return judged

def least_factor(mu, L, T):
    return 1 / np.cosh(T * np.arccosh((L + mu) / (L - mu)))

valleys = [(1.0, 10.0, 1), (1.0, 10.0, 2), (1.0, 100.0, 8)]
grade(worst_factor(conspiring_steps), least_factor, valleys)

# %% [markdown]
# ```{solution-start} gradient_descent-chebyshev
# :class: dropdown
# ```
# Chebyshev's: $C_T$ stays between $-1$ and $1$ on $[-1, 1]$ and grows fastest outside. Map $[\mu, L]$ to $[-1, 1]$,
# then 0 goes to $-\frac{\kappa+1}{\kappa-1}$, and dividing by the value of $C_T$ there makes the product 1 at zero.
# The steps are the reciprocals of its roots; $T = 1$ gives $2/(\mu + L)$ again. As $T$ grows, the factor per step
# tends to $\frac{\sqrt\kappa - 1}{\sqrt\kappa + 1}$: the condition number has been replaced by its root. Momentum
# reaches this rate without fixing $T$ in advance. Rejected: the best fixed step, repeated.

# %% jupyter={"source_hidden": true}
def chebyshev_steps(mu, L, T):
    roots = np.cos((2 * np.arange(T) + 1) * np.pi / (2 * T))
    return 1 / ((L + mu) / 2 + (L - mu) / 2 * roots)

def best_fixed_step(mu, L, T):
    return np.full(T, 2 / (mu + L))

assert grade(worst_factor(chebyshev_steps), least_factor, valleys)
assert not grade(worst_factor(best_fixed_step), least_factor, valleys)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Least squares by descent
#
# The most used quadratic of all is the mean squared error of a linear model. The rows of $\mathbf{X}$ are $N$ examples
# $\mathbf{x}_n$ with $D$ features. The residuals (restored: the scan of the notes shows $e := y - x$) are
#
# ```{math}
# :label: ml.opt.gd-mse.residual
# \mathbf{e} = \mathbf{y} - \mathbf{X}\mathbf{w} ,
# ```
#
# and half their mean square is the loss (restored: the scan shows $\frac1N w^\top e$, which can be negative):
#
# ```{math}
# :label: ml.opt.gd-mse.loss-matrix
# \mathcal{L}(\mathbf{w}) = \frac{1}{2N} \sum_{n=1}^N (y_n - \mathbf{x}_n^\top \mathbf{w})^2 = \frac{1}{2N} \, \mathbf{e}^\top \mathbf{e}
# ```
#
# Differentiate term by term. Since $\partial e_n / \partial w_j = -x_{nj}$,
#
# $$
# \frac{\partial \mathcal{L}}{\partial w_j} = \frac{1}{2N} \sum_{n=1}^N 2 e_n \frac{\partial e_n}{\partial w_j} = -\frac1N \sum_{n=1}^N x_{nj} \, e_n ,
# $$
#
# where the 2 of the square has cancelled the half. The last sum is entry $j$ of $\mathbf{X}^\top \mathbf{e}$:
#
# ```{math}
# :label: ml.opt.gd-mse.grad
# \nabla \mathcal{L}(\mathbf{w}) = -\frac1N \mathbf{X}^\top \mathbf{e}
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

def is_autograd(scale, seed, factor):
    case = problem(seed)
    return close(scale * mse_gradient(*case), autograd(*case, factor))

holds(
    'ml.opt.gd-mse.grad', lambda seed: is_autograd(1, seed, 1 / 2),
    control=lambda seed: is_autograd(-1, seed, 1 / 2), seed=seeds(), tries=50,
)

# %% [markdown]
# :::{admonition} Erratum
# :class: warning
# As printed, the loss has the factor $\frac1N$, without the 2, beside the gradient $-\frac1N \mathbf{X}^\top
# \mathbf{e}$. A factor 2 is missing; the right pairs are
#
# ```{math}
# :label: ml.opt.gd-mse.loss
# \begin{aligned}
# \nabla_{\mathbf{w}} \Big( \frac{1}{2N} \sum_{n=1}^N (y_n - \mathbf{x}_n^\top \mathbf{w})^2 \Big) &= -\frac1N \mathbf{X}^\top \mathbf{e} , \\
# \nabla_{\mathbf{w}} \Big( \frac{1}{N} \sum_{n=1}^N (y_n - \mathbf{x}_n^\top \mathbf{w})^2 \Big) &= -\frac2N \mathbf{X}^\top \mathbf{e} .
# \end{aligned}
# ```
#
# Both conventions are common, so the slip is easily made, and it hides well: a wrong factor only rescales the step.
# It bites when a step is copied from a text with the other convention and lands beyond $2/L$.
# :::

# %%
erratum(
    'ml.opt.gd-mse.loss',
    printed=lambda seed: is_autograd(1, seed, 1),
    corrected=lambda seed:
    is_autograd(1, seed, 1 / 2) and is_autograd(2, seed, 1),
    seed=seeds(), tries=50,
)

# %% [markdown]
# The two restored formulas are tried against the form in which the scan left them,
# $\mathbf{e} = \mathbf{y} - \mathbf{x}$ with a single feature, and $\mathbf{w}^\top \mathbf{e}$ for
# $\mathbf{e}^\top \mathbf{e}$.

# %% tags=["hide-input"]
def squares(X, y, w):  # torch's own, example by example
    X, y, w = map(torch.tensor, (X, y, w))
    return torch.nn.functional.mse_loss(X @ w, y, reduction='none')

def e_is_residual(seed, e):  # one feature
    case = problem(seed, N=4, D=1)
    return close(e(*case) ** 2, squares(*case))

def is_loss(seed, v):  # v'e / 2N
    case = problem(seed, N=3, D=3)
    product = v(*case) @ residual(*case)
    return close(product / (2 * 3), squares(*case).mean() / 2)

holds(
    'ml.opt.gd-mse.residual', lambda seed: e_is_residual(seed, residual),
    control=lambda seed: e_is_residual(seed, lambda X, y, w: y - X[:, 0]),
    seed=seeds(), tries=50,
)
holds(
    'ml.opt.gd-mse.loss-matrix', lambda seed: is_loss(seed, residual),
    control=lambda seed: is_loss(seed, lambda X, y, w: w),
    seed=seeds(), tries=50,
)

# %% [markdown]
# What does one gradient cost? Each of the products $\mathbf{X}\mathbf{w}$ and $\mathbf{X}^\top \mathbf{e}$ multiplies
# every entry of $\mathbf{X}$ once: $\mathbf{X}^\top (\mathbf{y} - \mathbf{X}\mathbf{w})$ takes $2ND$ multiplications,
# which is $O(ND)$. The brackets matter: $\mathbf{X}^\top \mathbf{y} - (\mathbf{X}^\top \mathbf{X}) \mathbf{w}$ is the
# same vector, but forming $\mathbf{X}^\top \mathbf{X}$ costs $ND^2$. Let the entries of $\mathbf{X}$ count their own
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

def gradient_by_gram(X, y, w):
    return -(X.T @ y - (X.T @ X) @ w) / len(y)

holds(
    'ml.opt.gd-mse.cost',
    lambda N, D: multiplications(mse_gradient, N, D) == 2 * N * D,
    control=lambda N, D: multiplications(gradient_by_gram, N, D) == 2 * N * D,
    N=integers(1, 8), D=integers(1, 8), tries=60,
)

# %% [markdown]
# The count is silent about the constant. Loops do the same multiplications, and pay for each one in Python. Where there
# are many, that decides:

# %%
def mse_gradient_loops(X, y, w):
    g = [0.0] * len(w)
    for row, target in zip(X, y, strict=True):
        e = target - sum(a * b for a, b in zip(row, w, strict=True))
        g = [g_j - e * a / len(y) for g_j, a in zip(g, row, strict=True)]
    return g

faster = {}
for N, D in ((5, 2), (2000, 50)):
    arrays = problem(0, N=N, D=D)
    lists = [a.tolist() for a in arrays]
    assert close(mse_gradient_loops(*lists), mse_gradient(*arrays))
    slow, fast = seconds(lambda: mse_gradient_loops(*lists),
                         lambda: mse_gradient(*arrays))
    faster[N] = slow > 20 * fast
    print(f'{N} examples, {D} weights: '
          f'matrix products more than 20 times faster: {faster[N]}')
assert faster[2000] and not faster[5]

# %% [markdown]
# The Hessian of $\mathcal{L}$ is $\mathbf{A} = \frac1N \mathbf{X}^\top \mathbf{X}$: the condition number is a property
# of the data. Here is descent from $\mathbf{w} = \mathbf{0}$ with the step $1/L$, and the exact solver `lstsq` as its
# judge:

# %%
def gd_least_squares(X, y, T):
    eta = 1 / np.linalg.eigvalsh(X.T @ X / len(y))[-1]
    path = np.zeros((T + 1, X.shape[1]))
    for t in range(T):
        path[t + 1] = path[t] - eta * mse_gradient(X, y, path[t])
    return path  # (T + 1, D)

def exact_least_squares(X, y):
    return np.linalg.lstsq(X, y, rcond=None)[0]

X, y, _ = problem(3, N=50, D=4)
assert close(gd_least_squares(X, y, 500)[-1], exact_least_squares(X, y))

# %% [markdown]
# Now one real feature: the body mass index of 442 patients, against how far their diabetes had come a year later
# {cite}`efron2004least`. The model is a line, $w_0 + w_1 x$. What could go wrong with two weights? With mean $m$ and
# standard deviation $s$ of the feature,
#
# $$
# \mathbf{A} = \begin{pmatrix} 1 & m \\ m & m^2 + s^2 \end{pmatrix}, \qquad
# \kappa = \frac{L}{\mu} = \frac{L^2}{\det \mathbf{A}} \approx \frac{(\operatorname{tr} \mathbf{A})^2}{\det \mathbf{A}} = \frac{(1 + m^2 + s^2)^2}{s^2} .
# $$
#
# The index averages 26 with a spread of 4. So $\kappa$ is in the tens of thousands, for no deeper reason than that
# nobody has an index near zero. Measure from the mean, in units of the spread: then $m = 0$, $s = 1$, $\mathbf{A}$ is
# the identity, and one step is enough.

# %%
patients = data.diabetes()
bmi = patients.x[:, patients.names.index('bmi')]
ones = np.ones_like(bmi)
lines = {
    'raw': np.stack([ones, bmi], 1),
    'standardized': np.stack([ones, (bmi - bmi.mean()) / bmi.std()], 1),
}
fits = {
    name: gd_least_squares(X, patients.y, 50_000) for name, X in lines.items()
}
for name, X in lines.items():
    exact = exact_least_squares(X, patients.y)
    first, last = (close(fits[name][t], exact) for t in (1, -1))
    print(f'{name:12} kappa = {np.linalg.cond(X) ** 2:.5g}; '
          f'exact after 1 step: {first}, after 50000: {last}')

# %% mystnb={"figure": {"caption": "On the raw body mass index $\\kappa$ is 26333, and the line has not arrived after 50000 steps; on the standardized one a single step is exact."}, "image": {"alt": "Left: patients as dots, and the line fitted to raw data after 1, 10000 and 50000 steps, still turning towards the dashed exact line. Right: the loss; standardized it is exact after one step, raw it stays on a plateau for a thousand steps and then falls slowly."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3.0)
left.plot(bmi, patients.y, 'o', ms=2, color=GREY, alpha=0.5)
ends = np.array([17, 43])
for i, t in enumerate((1, 10_000, 50_000)):
    left.plot(ends, fits['raw'][t] @ [ones[:2], ends], color=f'C{i}',
              label=f't = {t}')
exact = exact_least_squares(lines['raw'], patients.y)
left.plot(ends, exact @ [ones[:2], ends], '--', color=GREY, label='exact')
left.legend(fontsize=8, loc='lower right', handlelength=1.2)
left.set(xlabel='body mass index (kg/m²)', ylabel='disease progression',
         title='raw: the line after t steps', ylim=(-30, 360))
t = np.unique(np.geomspace(1, 50_000, 200).astype(int))
for i, (name, X) in enumerate(lines.items()):
    wrong = patients.y[:, None] - X @ fits[name][t].T  # (N, steps)
    right.semilogx(t, (wrong**2).mean(0) / 2, color=f'C{i + 3}')
right.text(2, 2120, 'raw', color='C3')
right.text(2, 1951, 'standardized', color='C4')
right.axhline((wrong[:, -1] ** 2).mean() / 2, color=GREY, ls='--', lw=1)
right.text(2, 1930, 'exact solver', va='center')
right.set(xlabel='step t', ylabel='loss', ylim=(1920, 2150),
          title='the loss of both');

# %% [markdown]
# ```{exercise} ★ Ridge
# :label: gradient_descent-ridge
# Ridge regression adds a penalty: $\frac{1}{2N}\|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2 + \lambda \|\mathbf{w}\|^2$.
# Write its gradient, `ridge_gradient(X, y, w, lam)`. Autograd judges.
# ```

# %%
def ridge_gradient(X, y, w, lam):
    raise NotImplementedError('your turn')

# %%
def ridge_autograd(X, y, w, lam):
    X, y, w = map(torch.tensor, (X, y, w))
    return torch.func.grad(
        lambda w: ((y - X @ w) ** 2).mean() / 2 + lam * w @ w)(w)

penalties = [(*problem(seed), seed / 2) for seed in range(3)]
grade(ridge_gradient, ridge_autograd, penalties)

# %% [markdown]
# ```{solution-start} gradient_descent-ridge
# :class: dropdown
# ```
# The penalty contributes $2\lambda\mathbf{w}$; forgetting the 2 is the erratum above once more. Every eigenvalue of
# the Hessian moves up by $2\lambda$, and the condition number falls to $(L + 2\lambda)/(\mu + 2\lambda)$: the penalty
# also speeds up descent.

# %% jupyter={"source_hidden": true}
def ridge_gradient_solution(X, y, w, lam):
    return mse_gradient(X, y, w) + 2 * lam * w

def ridge_without_two(X, y, w, lam):
    return mse_gradient(X, y, w) + lam * w

assert grade(ridge_gradient_solution, ridge_autograd, penalties)
assert not grade(ridge_without_two, ridge_autograd, penalties)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The price of a unit
#
# This section continues [Least squares by descent](#least-squares-by-descent), whose `gd_least_squares` it uses. Take
# all ten measurements, age in years, blood pressure in mmHg, six blood values in units of their own, and three
# versions of them: *raw*; *standardized*, each column shifted to mean 0 and scaled to standard deviation 1; and
# *whitened*, rotated as well until no two columns are correlated. Beside a column of ones, the columns of each
# version are linear combinations of those of any other. So the best predictions are the same in all three. The
# valleys have the same floor; only their shape differs.

# %%
x, target = data.diabetes().x, data.diabetes().y
z = (x - x.mean(0)) / x.std(0)
variances, U = np.linalg.eigh(z.T @ z / len(z))
versions = {'raw': x, 'standardized': z, 'whitened': z @ U / variances**0.5}
designs = {
    name: np.column_stack([np.ones(len(v)), v]) for name, v in versions.items()
}

def r_squared(X, w):  # 0: no better than the mean of all patients
    return 1 - ((target - X @ w) ** 2).mean() / target.var()

best = {name: exact_least_squares(X, target) for name, X in designs.items()}
print(' ' * 13, '  kappa', 'R²: 1 step', '100 steps', 'exact', sep='  ')
for name, X in designs.items():
    path, kappa = gd_least_squares(X, target, 100), np.linalg.cond(X) ** 2
    first, last, goal = (
        r_squared(X, w) for w in (path[1], path[100], best[name]))
    print(f'{name:13}  {kappa:7.2g}  {first:10.3f}  {last:9.3f}  {goal:.3f}')

# %% [markdown]
# $R^2$ is the share of the variance explained: 0 for the trivial prediction, the mean of all patients, and 0.518 for
# the exact solver. After a hundred steps the same algorithm has practically arrived, or has more than half of the way
# before it, and the units make all the difference. (The standardized walk begins below 0 because its intercept still
# has to be found.)
#
# When will the raw walk arrive? There is no need to wait: the closed form $(\mathbf{I} - \eta \mathbf{A})^t$ tells where
# it will be after a billion steps.

# %%
def forecast(X, w, t):  # t (k,) steps -> R² (k,), w the exact weights
    lam, U = np.linalg.eigh(X.T @ X / len(X))
    shrink = (1 - lam / lam[-1]) ** (2 * t[:, None])  # (k, D)
    missing = shrink @ (lam * (U.T @ w) ** 2) / target.var()
    return r_squared(X, w) - missing

t = np.geomspace(1, 1e10, 1001)
curves = {name: forecast(X, best[name], t) for name, X in designs.items()}
stops = np.array([1, 3, 10, 30, 100, 300, 1000, 3000])
walked = {}
for name, X in designs.items():
    path = gd_least_squares(X, target, 3000)[stops]
    walked[name] = [r_squared(X, w) for w in path]
    assert close(walked[name], forecast(X, best[name], stops), atol=1e-6)
arrival = {name: t[(curve < 0.517).sum()] for name, curve in curves.items()}
print('steps to R² = 0.517:',
      ', '.join(f'{name} {steps:.3g}' for name, steps in arrival.items()))

# %% mystnb={"figure": {"caption": "Units decide how long descent takes: $R^2 = 0.517$, practically the exact solver's, needs some four hundred steps on standardized measurements and a hundred million on raw ones."}, "image": {"alt": "R squared against the number of steps on a logarithmic axis. Standardized data reach the exact solver's dashed line within a few hundred steps; raw data climb in stages and need about a hundred million. Dots from actual runs lie on the forecast curves."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.4))
for i, name in enumerate(['raw', 'standardized']):
    ax.semilogx(t, curves[name], color=f'C{i}')
    ax.semilogx(stops, walked[name], 'o', color=f'C{i}')
top = curves['standardized'][-1]
for level, name in ((top, 'exact solver'), (0, 'mean of all patients')):
    ax.axhline(level, color=GREY, ls='--', lw=1)
    ax.text(1e10, level + 0.012, name, ha='right')
ax.text(13, 0.43, 'standardized', color='C1')
ax.text(900, 0.33, 'raw', color='C0')
ax.set(xlabel='steps (dots: run, lines: forecast)', ylabel='R²',
       ylim=(-0.04, 0.58));

# %% [markdown]
# The raw curve climbs in stages. Each eigenvalue $\lambda_i$ brings its own, at about $t = L/\lambda_i$ steps: what
# is steep is settled first, and the rest has to wait. Standardizing removes the part of $\kappa$ that comes from
# units. What is left, some hundreds, is real, for several blood values move together. Whitening removes that too, and
# one step is enough; but to whiten costs as much as to solve the problem outright. Normalization layers, momentum and
# adaptive steps live between these ends, cheap ways to walk as if the valley were round.
#
# ## Summary
#
# The negative gradient is the direction of fastest decrease, and on an $L$-smooth function every step $-\eta\nabla f$
# with $0 < \eta < 2/L$ leads down, towards vanishing gradients rather than always to a minimum. On a quadratic each
# eigendirection shrinks by its own factor $1 - \eta\lambda_i$; the best common step is $2/(\mu + L)$, its rate is
# $(\kappa - 1)/(\kappa + 1)$, and a digit costs about $1.15\,\kappa$ steps. For least squares $\kappa$ belongs to the
# data and its units, and standardizing decided whether descent took some four hundred steps or a hundred million.
#
# **Further reading.** The method is Cauchy's, from a note of three pages {cite}`cauchy1847methode`.
# {cite:t}`nesterov2018lectures` proves the rates for convex functions and shows how far any first-order method can
# go, {cite:t}`boyd2004convex` treat line searches, {cite:t}`golub2013matrix` the conditioning of least squares, and
# {cite:t}`goodfellow2016deep` what changes when the function is the loss of a network.
