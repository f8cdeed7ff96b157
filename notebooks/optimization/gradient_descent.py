# ---
# jupyter:
#   book:
#     functions:
#       backtracking: "backtracking(lambda x: 1.5 * (x @ x), lambda x: 3 * x, normal(3), 5)"
#       gradient_descent: "gradient_descent(lambda x: 2 * x, normal(3), 0.1, 5)"
#       mse_gradient: mse_gradient(normal(5, 3), normal(5), normal(3))
#     main: aw.gd.gd-step
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Gradient descent
#
# The loss of a neural network depends on millions of weights, and no formula gives the best ones. But for any weights we can
# compute the gradient: in which direction the loss rises, and how steeply. How can we find a minimum if we see only the
# slope at the point where we stand? And how long may a step be?
#
# - **You need** [gradients and directional derivatives](../calculus/gradients.ipynb),
#   [eigenvalues of symmetric matrices](../linear_algebra/eigendecomposition.ipynb), and
#   [norms](../linear_algebra/norms.ipynb).
# - **You build** gradient descent, equal to `torch.optim.SGD`, a search for the step size, a forecast of the number of
#   steps, and a regression that is slow or fast, depending on the units of the data.
# - **Runs in** 10 seconds, in float64.

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
from numpy.linalg import norm
from scipy.optimize import brentq
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler
from torch.utils.flop_counter import FlopCounterMode

from nbutils import data
from nbutils.cases import integers, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.figures import GREY, panels

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Gradient descent: a step against the gradient
#
# Our first landscape is a valley, $f(\mathbf{x}) = \frac12 (x_1^2 + 10\,x_2^2)$. We start at $(4, 1)$ and want to get to
# the minimum at $(0, 0)$. The gradient is $\nabla f(\mathbf{x}) = (x_1, 10\,x_2)$:

# %%
curvature = np.array([1.0, 10.0])
start = np.array([4.0, 1.0])

def f(x):
    return (curvature * x**2).sum(-1) / 2

def gradient(x):
    return curvature * x

print('gradient at the start:', gradient(start))

# %% [markdown]
# The gradient points in the direction in which $f$ rises fastest. So we step in the opposite direction, compute the gradient
# at the new point, and step again. This is **gradient descent**:
#
# ```{math}
# :label: aw.gd.gd-step
# \mathbf{x}_t = \mathbf{x}_{t-1} - \eta_t \nabla f(\mathbf{x}_{t-1})
# ```
#
# The number $\eta_t > 0$ is the **step size**, or **learning rate**. Often it is the same number $\eta$ at each step:

# %%
def gradient_descent(gradient, x, eta, steps):
    """The points x_0, ..., x_steps of gradient descent from x."""
    path = [x]
    for _ in range(steps):
        x = x - eta * gradient(x)
        path.append(x)
    return np.array(path)  # (steps + 1, d)

# %%
path = gradient_descent(gradient, start, eta=0.15, steps=20)
print('step           x              f')
for t in (0, 1, 2, 3, 10, 20):
    print(f'{t:4}   ({path[t][0]:.3f}, {path[t][1]:6.3f})   {f(path[t]):7.4f}')

# %% mystnb={"image": {"alt": "Contour lines of a valley, ellipses that are long in the direction of x1. A path of arrows begins at (4, 1), jumps to the other side of the valley floor, back again, and then follows the floor to the minimum at the origin."}} tags=["hide-input"]
def draw_valley(ax, across=(-1.2, 4.5), up=(-1.4, 1.4)):
    u, v = np.meshgrid(np.linspace(*across, 150), np.linspace(*up, 100))
    ax.contour(u, v, f(np.stack([u, v], -1)), np.linspace(0.3, 4.6, 8) ** 2 / 1.2, colors=GREY, linewidths=0.5)
    ax.plot(0, 0, 'x', color=GREY, ms=7, mew=1.5)
    ax.set(xlim=across, ylim=up, xlabel='x₁')

fig, ax = plt.subplots(figsize=(6, 3.2))
draw_valley(ax)
for here, there in zip(path[:9], path[1:10]):
    ax.annotate('', there, here, arrowprops=dict(arrowstyle='-|>', color='C0', shrinkA=0, shrinkB=0))
ax.plot(*path.T, 'o', color='C0', ms=3)
ax.text(4.05, 1.1, 'start', color='C0', ha='center')
ax.text(0, -0.3, 'minimum', ha='center')
ax.set(aspect='equal', ylabel='x₂');

# %% [markdown] tags=["caption"]
# Gradient descent with the step size 0.15. Each step leaves its contour line at a right angle. The
# first steps do not point at the minimum.

# %% [markdown]
# Each step multiplies the first coordinate by $1 - 0.15 = 0.85$ and the second by $1 - 0.15 \cdot 10 = -0.5$. So the second
# coordinate changes its sign at each step, and the path jumps across the valley floor. The same twenty steps in PyTorch:

# %%
x = torch.tensor(start, requires_grad=True)
sgd = torch.optim.SGD([x], lr=0.15)
for _ in range(20):
    sgd.zero_grad()
    (x[0]**2 / 2 + 5 * x[1]**2).backward()
    sgd.step()
print(f'after 20 steps: x1 = {x[0]:.3f}, f = {f(x.detach().numpy()):.4f}')

# %% [markdown]
# ### A minimum without a formula
#
# Why do we not solve $\nabla f(\mathbf{x}) = \mathbf{0}$? Sometimes we can, but often the solution has no formula, even
# with one variable:
#
# ```{math}
# :label: aw.gd.closed-form
# \begin{aligned}
# \operatorname*{arg\,min}_x \big( \tfrac12 a x^2 - b x \big) &= b / a \qquad (a > 0) \\
# \operatorname*{arg\,min}_x \big( \tfrac12 x^2 - \sin x \big) &\approx 0.739085
# \end{aligned}
# ```
#
# Type any number into a calculator, in radians, and press the cosine key again and again. The display settles at 0.739085,
# the solution of $\cos x = x$. This is gradient descent on $\varphi(x) = \frac12 x^2 - \sin x$. Since
# $\varphi'(x) = x - \cos x$, a step with $\eta = 1$ lands at $x - (x - \cos x) = \cos x$.

# %%
def slope(x):
    return x - np.cos(x)

display = gradient_descent(slope, 1.0, eta=1, steps=60)
for t in (0, 1, 2, 10, 60):
    print(f'after {t:2} presses: {display[t]:.6f}')

# %% [markdown]
# ### Why the negative gradient is the direction of steepest descent
#
# To compare directions, we write a step as a length times a vector of length one:
#
# ```{math}
# :label: aw.gd.step
# \mathbf{x}_t = \mathbf{x}_{t-1} + \eta_t \, \mathbf{p}_t, \qquad \|\mathbf{p}_t\| = 1
# ```
#
# Here $\eta_t$ is the length of the step, whatever the length of the gradient. One long step says little about a direction: on
# $x^2$, the direction $-1$ leads down from $x = 1$, but a step of length 3 ends higher, at $x = -2$. So we ask for *every*
# short step:
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
# The slope along $\mathbf{p}$ is the directional derivative
# $D_{\mathbf{p}} f(\mathbf{x}) = \lim_{\eta \to 0^+} \frac{1}{\eta} \big( f(\mathbf{x} + \eta\,\mathbf{p}) - f(\mathbf{x}) \big)$.
# Along a descent direction these quotients are negative for small $\eta$, so their limit is not positive:
#
# ```{math}
# :label: aw.gd.dir-nonpos
# D_{\mathbf{p}_t} f(\mathbf{x}_{t-1}) \le 0
# ```
#
# Conversely, if the slope is negative, $\mathbf{p}$ is a descent direction. The slope is a dot product. If $\alpha$ is the
# angle between the gradient and $\mathbf{p}_t$, then
#
# ```{math}
# :label: aw.gd.cosine
# D_{\mathbf{p}_t} f(\mathbf{x}_{t-1}) = \nabla f(\mathbf{x}_{t-1}) \cdot \mathbf{p}_t
# = \|\nabla f(\mathbf{x}_{t-1})\| \, \|\mathbf{p}_t\| \cos\alpha .
# ```
#
# (aw.gd.const-and-unit)=
# Here $\|\nabla f(\mathbf{x}_{t-1})\|$ is the same for every $\mathbf{p}_t$, and $\|\mathbf{p}_t\| = 1$. Only the angle is
# free:
#
# ```{math}
# :label: aw.gd.cosine-unit
# D_{\mathbf{p}_t} f(\mathbf{x}_{t-1}) = \|\nabla f(\mathbf{x}_{t-1})\| \cos\alpha .
# ```
#
# We measure the slope in some directions at the start, over a very short step:

# %%
def turn(v, alpha):  # v turned by alpha, in the plane
    c, s = np.cos(alpha), np.sin(alpha)
    return np.array([c * v[0] - s * v[1], s * v[0] + c * v[1]])

def measured_slope(x, p, h=1e-5):
    return (f(x + h * p) - f(x - h * p)) / (2 * h)

# %%
g = gradient(start)
for degrees in (0, 60, 120, 180, 240):
    p = turn(g / norm(g), np.radians(degrees))
    forecast = norm(g) * np.cos(np.radians(degrees))
    print(f'{degrees:3} degrees from the gradient:',
          f'slope {measured_slope(start, p):6.2f}, forecast {forecast:6.2f}')

# %% [markdown]
# Half of all directions lead down, wherever the gradient is not zero:
#
# ```{math}
# :label: aw.gd.half-circle
# \cos\alpha < 0 \quad \text{for} \quad \tfrac{\pi}{2} < \alpha < \tfrac{3\pi}{2}
# ```
#
# The cosine is smallest at $\alpha = \pi$. So the steepest direction is the negative gradient, scaled to length one:
#
# ```{math}
# :label: aw.gd.steepest
# \mathbf{p}_t = -\frac{\nabla f(\mathbf{x}_{t-1})}{\|\nabla f(\mathbf{x}_{t-1})\|} .
# ```
#
# In $n$ dimensions, the Cauchy-Schwarz inequality says the same for every unit vector $\mathbf{p}$:
#
# ```{math}
# :label: aw.gd.greatest-increase
# -\|\nabla f(\mathbf{x})\| \ \le \ \nabla f(\mathbf{x}) \cdot \mathbf{p} \ \le \ \|\nabla f(\mathbf{x})\| .
# ```
#
# The right side is reached only for $\mathbf{p} = \nabla f(\mathbf{x}) / \|\nabla f(\mathbf{x})\|$, the direction of greatest
# increase. The left side is reached only for the negative of this vector. Gradient descent does not divide by the norm, so its
# steps get shorter near a minimum.

# %% mystnb={"image": {"alt": "Left: contours of the valley; at one point the gradient, its opposite, and the half disc of descent directions, shaded. The minimum, marked by a cross, lies in another direction. Right: the slope against the angle is a cosine, negative in the shaded half from 90 to 270 degrees, with measured dots on the curve."}} tags=["hide-input"]
here = np.array([1.6, 0.55])
g = gradient(here)
fig, (left, right) = panels(2, height=2.9)
draw_valley(left, (-1.2, 2.8), (-1.6, 2))
fan = turn(g / norm(g), np.linspace(np.pi / 2, 1.5 * np.pi, 60))
left.fill(*(here[:, None] + fan), color='C0', alpha=0.25, lw=0)
for sign, colour, name in ((1, 'C1', '∇f'), (-1, 'C0', '−∇f')):
    arrow = dict(color=colour, arrowstyle='->', lw=2, shrinkA=0, shrinkB=0)
    left.annotate('', here + sign * g / norm(g), here, arrowprops=arrow)
    left.text(*(here + 1.25 * sign * g / norm(g)), name, color=colour, ha='center', va='center')
left.text(0, -0.45, 'minimum', ha='center', va='center')
left.set(aspect='equal', ylabel='x₂')
a = np.linspace(0, 360, 25)
measured = [measured_slope(here, turn(g / norm(g), np.radians(b))) for b in a]
right.axvspan(90, 270, color='C0', alpha=0.25, lw=0)
right.plot(np.arange(361), norm(g) * np.cos(np.radians(np.arange(361))), color=GREY)
right.plot(a, measured, 'o', ms=3, color='C0')
right.text(180, 3.5, 'these lead down', color='C0', ha='center')
right.set(xlabel='angle α to the gradient (degrees)', ylabel='slope', xticks=[0, 90, 180, 270, 360]);

# %% [markdown] tags=["caption"]
# The slope along a unit direction is $\|\nabla f\| \cos\alpha$, so half of all directions lead down. The steepest, $-\nabla
# f$, does not point at the minimum.

# %% [markdown]
# ```{admonition} A tempting mistake
# :class: tip
# $-\nabla f$ is not an arrow towards the minimum. At the start it points in the direction $(-4, -10)$, nearly straight across
# the valley, while the minimum lies in the direction $(-4, -1)$. It is the best direction only for very short steps.
# ```
#
# ```{exercise} ★★ Program: steepest for another norm
# :label: gradient_descent-sign
# "Steepest" depends on what counts as a step of length one. Write `steepest_max(g)`, the vector $\mathbf{p}$ with the
# smallest $\mathbf{g} \cdot \mathbf{p}$ among all with $\max_i |p_i| \le 1$, for a gradient `g` with no entry equal to zero.
# ```

# %%
def steepest_max(g):
    """The steepest step p for the gradient g: both of shape (n,), n >= 1.

    No entry of g is zero, but some may be as small as 1e-15.
    steepest_max(np.array([0.5])) is array([-1.]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def best_corner(g):  # a linear function is smallest at a corner of the cube
    corners = np.stack(np.meshgrid(*[[-1.0, 1.0]] * len(g)), -1).reshape(-1, len(g))
    return corners[(corners @ g).argmin()]

def scaled(size):
    return vectors((1, 6), edges=True).filter(np.all).map(lambda g: size * g)

cases = dict(g=on(1.0, 1e-12, 1e9).flatmap(scaled))
grade(steepest_max, best_corner, **cases)

# %% [markdown]
# ```{solution-start} gradient_descent-sign
# :class: dropdown
# ```
# The sum $\sum_i g_i p_i$ is smallest when each term is, at $p_i = -\operatorname{sign} g_i$. The slope is then
# $-\|\mathbf{g}\|_1$. Methods that step by the sign of the gradient are steepest descent in this norm. Of the wrong answers,
# the first scales the largest entry to 1 and seldom reaches a corner, the second is steepest for the Euclidean norm, and the
# third climbs.

# %% jupyter={"source_hidden": true}
def steepest_max_solution(g):
    return -np.sign(g)

def scaled_to_the_cube(g):
    return -g / abs(g).max()

def for_the_euclidean_norm(g):
    return -g / norm(g)

def uphill(g):
    return np.sign(g)

assert grade(steepest_max_solution, best_corner, **cases)
assert not grade(scaled_to_the_cube, best_corner, **cases)
assert not grade(for_the_euclidean_norm, best_corner, **cases)
assert not grade(uphill, best_corner, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def by_torch(x, eta, steps):  # on the sum of log cosh x_i, whose gradient is tanh x
    x = torch.tensor(x, requires_grad=True)
    sgd = torch.optim.SGD([x], lr=eta)
    for _ in range(steps):
        sgd.zero_grad()
        torch.log(torch.cosh(x)).sum().backward()
        sgd.step()
    return x

def unit_gradient(x):
    return np.tanh(x) / max(norm(np.tanh(x)), 1e-9)

def ends_as_torch(gradient, x, eta, steps):
    return close(gradient_descent(gradient, x, eta, steps)[-1], by_torch(x, eta, steps))

holds(
    'aw.gd.gd-step',
    lambda **case: ends_as_torch(np.tanh, **case),
    slip=('divides by the norm of the gradient', lambda **case: ends_as_torch(unit_gradient, **case)),
    x=vectors(2, -3, 3), eta=scalars(0.01, 0.9), steps=integers(0, 5), tries=30,
)
root = brentq(slope, 0, 1, xtol=1e-14)

def both_minima(a, b, other):
    parabola = gradient_descent(lambda x: a * x - b, 0, 0.5, 80)[-1]
    return close(parabola, b / a) and close(gradient_descent(slope, b, 1, 80)[-1], other)

holds(
    'aw.gd.closed-form',
    lambda a, b: both_minima(a, b, root),
    slip=('replaces cos x by 1 - x²/2', lambda a, b: both_minima(a, b, 3**0.5 - 1)),
    a=scalars(0.5, 3), b=scalars(), tries=50,
)
holds(
    'aw.gd.step',
    lambda x, v, eta: close(norm(x + eta * v / norm(v) - x), eta),
    slip=('takes a direction of any length', lambda x, v, eta: close(norm(x + eta * v - x), eta)),
    x=vectors(3), v=vectors(3).filter(np.any), eta=scalars(0.1, 5),
)

# %% tags=["checks"]
def leads_down(x, p, share):  # f(x + eta p) - f(x) = eta g·p + eta²/2 p·Ap: the bound is where this is zero
    p = -p if gradient(x) @ p > 0 else p
    bound = -2 * gradient(x) @ p / (p @ gradient(p))
    return bool(bound < 1e-3 or f(x + share * bound * p) < f(x))

holds(
    'aw.gd.descent-def',
    leads_down,
    slip=('lets the steps be as long as one likes', lambda x, p, share: leads_down(x, p, 10 * share)),
    x=vectors(2), p=vectors(2).filter(lambda p: norm(p) > 0.1), share=scalars(0.01, 0.99),
)

def falls_for(lengths, x, p):  # on the sine
    return all(np.sin(x + h * p) < np.sin(x) for h in lengths)

holds(
    'aw.gd.dir-nonpos',
    lambda x, p: not falls_for(10.0 ** -np.arange(1, 7), x, p) or np.cos(x) * p <= 0,
    slip=('judges a direction by one long step', lambda x, p: not falls_for([4], x, p) or np.cos(x) * p <= 0),
    x=scalars(-3, 3), p=[1, -1],
)
steep = vectors(2, -3, 3).filter(lambda x: norm(gradient(x)) > 0.1)
toward = vectors(2, -3, 3).filter(lambda p: norm(p) > 0.1)

def angle(u, v):
    return np.arctan2(u[1], u[0]) - np.arctan2(v[1], v[0])

def three_ways(x, p, sign):
    g = gradient(x)
    cosine = np.cos(angle(sign * g, p))
    return close([g @ p, norm(g) * norm(p) * cosine], [measured_slope(x, p)] * 2, atol=1e-6)

holds(
    'aw.gd.cosine', lambda x, p: three_ways(x, p, 1),
    slip=('takes the angle to the negative gradient', lambda x, p: three_ways(x, p, -1)),
    x=steep, p=toward,
)

# %% tags=["checks"]
def at_angle(x, a, length):  # the slope along the gradient, made as long as `length` says and turned by a
    g = gradient(x)
    return measured_slope(x, turn(length(g) * g / norm(g), a)), norm(g)

def slope_is_cosine(x, a, length):
    slope, size = at_angle(x, a, length)
    return close(slope, size * np.cos(a), atol=1e-6)

def first_factor(x, a, length):
    slope, size = at_angle(x, a, length)
    return close(slope / np.cos(a), size, rtol=1e-5)

askew = scalars(0, 2 * np.pi).filter(lambda a: abs(np.cos(a)) > 0.01)
holds(
    'aw.gd.const-and-unit', lambda x, a: first_factor(x, a, lambda g: 1),
    slip=('lets the direction be 1 % too long', lambda x, a: first_factor(x, a, lambda g: 1.01)),
    x=steep, a=askew,
)
holds(
    'aw.gd.cosine-unit', lambda x, a: slope_is_cosine(x, a, lambda g: 1),
    slip=('leaves the gradient its length', lambda x, a: slope_is_cosine(x, a, norm)),
    x=steep, a=askew,
)

def steps_down(x, a):
    p = turn(gradient(x) / norm(gradient(x)), a)
    return bool(f(x + 1e-6 * p) < f(x))

holds(
    'aw.gd.half-circle',
    lambda x, a: steps_down(x, a) == (np.pi / 2 < a < 3 * np.pi / 2),
    slip=('takes the half from 0 to π', lambda x, a: steps_down(x, a) == (0 < a < np.pi)),
    x=steep, a=askew,
)

def best_on_circle(x):
    circle = turn(np.array([1.0, 0.0]), np.linspace(0, 2 * np.pi, 3601))
    return circle[:, f(x[:, None].T + 1e-6 * circle.T).argmin()]

holds(
    'aw.gd.steepest',
    lambda x: norm(best_on_circle(x) + gradient(x) / norm(gradient(x))) < 2e-3,  # the circle has steps of 0.0017
    slip=('forgets the norm below', lambda x: norm(best_on_circle(x) + gradient(x)) < 2e-3),
    x=steep.filter(lambda x: norm(gradient(x)) > 0.5), tries=50,
)
crowd = np.random.default_rng(0).normal(size=(2000, 3))
crowd = crowd / norm(crowd, axis=1, keepdims=True)

def extreme(x, up, h=1e-5):  # on (x_1² + 4 x_2² + 9 x_3²) / 2: is no direction steeper than `up`, or than its opposite?
    def gain(p):
        return ((x + h * p) ** 2 @ [1, 4, 9] - x**2 @ [1, 4, 9]) / 2
    up = up / norm(up)
    return bool(gain(up) >= gain(crowd).max() and gain(-up) <= gain(crowd).min())

holds(
    'aw.gd.greatest-increase', lambda x: extreme(x, [1, 4, 9] * x),
    slip=('points away from the minimum', lambda x: extreme(x, x)),
    x=vectors(3).filter(lambda x: norm(x) > 0.1), tries=50,
)

# %% [markdown]
# ## The learning rate: how to choose the step size
#
# On $f(x) = x^2$ with $f'(x) = 2x$, a step multiplies $x$ by $1 - 2\eta$. We start at 1 and try four step sizes:

# %%
for eta in (0.1, 0.4, 0.9, 1.1):
    path = gradient_descent(lambda x: 2 * x, 1.0, eta, steps=5)
    print(f'eta = {eta}:', '  '.join(f'{x:5.2f}' for x in path))

# %% [markdown]
# The shortest step is slow, and the second is fast. The third jumps from side to side but comes nearer. The last one moves away:
# gradient descent **diverges**. The limit is $\eta = 1$, where $x$ jumps between $1$ and $-1$ for ever.
#
# In general, we call $f$ **$L$-smooth** if
# $\|\nabla f(\mathbf{x}) - \nabla f(\mathbf{y})\| \le L \|\mathbf{x} - \mathbf{y}\|$ for all $\mathbf{x}, \mathbf{y}$. If $f$ is
# twice differentiable, this says that no eigenvalue of the Hessian exceeds $L$ in size. For $x^2$, $L = 2$.
#
# ```{prf:theorem} Descent lemma
# :label: thm-descent-lemma
# If $f$ is $L$-smooth, then $f(\mathbf{y}) \le f(\mathbf{x}) + \nabla f(\mathbf{x}) \cdot (\mathbf{y} - \mathbf{x}) +
# \frac{L}{2} \|\mathbf{y} - \mathbf{x}\|^2$ for all $\mathbf{x}, \mathbf{y}$.
# ```
#
# ```{prf:proof}
# :class: dropdown
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
# So a parabola of curvature $L$ touches the function at $\mathbf{x}$ and lies nowhere below it. With
# $\mathbf{y} = \mathbf{x} - \eta \nabla f(\mathbf{x})$, the lemma says what a step gains:
#
# ```{math}
# :label: gradient_descent-decrease
# f(\mathbf{x} - \eta \nabla f(\mathbf{x})) \le f(\mathbf{x}) - \eta \Big( 1 - \frac{L\eta}{2} \Big) \|\nabla f(\mathbf{x})\|^2
# ```
#
# For $\eta > 0$, the bracket is positive exactly if $\eta < 2/L$. Each such step leads down, unless the gradient is zero. The
# promised gain is largest at $\eta = 1/L$, which leads to the vertex of the parabola. The limit $2/L$ is sharp, because on
# $\frac{L}{2}x^2$ a step maps $x$ to $(1 - \eta L)x$, and this is nearer to 0 only if $|1 - \eta L| < 1$.

# %% mystnb={"image": {"alt": "The function phi and three parabolas above it. Each touches the curve at an iterate; from its vertex an arrow leads straight down to the curve, where the next iterate lies."}} tags=["hide-input"]
def phi(x):
    return x**2 / 2 - np.sin(x)

def parabola(x, y, L):
    return phi(x) + slope(x) * (y - x) + L / 2 * (y - x) ** 2

steps = gradient_descent(slope, -1.7, eta=0.5, steps=3)
grid = np.linspace(-2, 2.2, 300)
fig, ax = plt.subplots()
ax.plot(grid, phi(grid), color=GREY, lw=2.5)
for i, (x, after) in enumerate(zip(steps[:-1], steps[1:])):
    vertex = parabola(x, after, 2)
    ax.plot(grid, parabola(x, grid, 2), color=f'C{i}', lw=1.2)
    ax.annotate('', (after, phi(after)), (after, vertex), arrowprops=dict(arrowstyle='->', color=f'C{i}', shrinkA=0))
    ax.plot(x, phi(x), 'o', color=f'C{i}')
    ax.text(x - 0.06, phi(x) - 0.3, f'x{"₀₁₂"[i]}', color=f'C{i}', ha='right')
ax.text(2.05, 0.7, 'φ', color=GREY)
ax.set(xlabel='x', ylabel='φ and parabolas above it', ylim=(-0.8, 4));

# %% [markdown] tags=["caption"]
# A parabola of curvature $L = 2$ that touches $\varphi$ lies above it. The step $1/L$ leads to the vertex of the parabola.
# There $\varphi$ is no higher than the vertex, so $\varphi$ has fallen at least as far as the parabola.

# %% [markdown]
# ### Where does gradient descent end?
#
# Add {eq}`gradient_descent-decrease` over all steps. The values in between cancel. Let $\inf f$ be the greatest lower bound of
# $f$. Since $f$ cannot fall below it,
#
# ```{math}
# :label: gradient_descent-sum
# \eta \Big( 1 - \frac{L\eta}{2} \Big) \sum_{t=0}^{\infty} \|\nabla f(\mathbf{x}_t)\|^2 \le f(\mathbf{x}_0) - \inf f < \infty
# ```
#
# The terms of a convergent sum tend to zero. So for every $L$-smooth $f$ that is bounded below,
#
# ```{math}
# :label: aw.gd.converge-local
# 0 < \eta < \tfrac{2}{L} \quad \Longrightarrow \quad \|\nabla f(\mathbf{x}_t)\| \to 0 .
# ```
#
# So the slope tends to zero. But is the end the lowest point? At a **global minimum** $\mathbf{w}^*$, a loss $\mathcal{L}$ is
# as low as anywhere. At a **local minimum**, it is as low as anywhere nearby:
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
# The tilted double well $\mathcal{L}(w) = w^4 - 2w^2 + \frac12 w$ has a global and another local minimum. Where you
# start decides where you end:

# %%
def well(w):
    return w**4 - 2 * w**2 + w / 2

def well_slope(w):
    return 4 * w**3 - 4 * w + 0.5

for w in (-1.5, 0.0, 0.2, 1.5):
    end = gradient_descent(well_slope, w, eta=0.05, steps=300)[-1]
    print(f'start {w:4}: end {end:6.3f}, loss {well(end):6.3f}')

# %% [markdown]
# The end need not even be a local minimum. The pass $x_1^2 + \cos x_2$ has a **saddle** at the origin: there the gradient is
# zero, but the pass falls in the direction of $x_2$. From a start with $x_2 = 0$, gradient descent ends in the saddle:

# %%
def pass_gradient(x):  # of x_1^2 + cos x_2
    return np.array([2 * x[0], -np.sin(x[1])])

for x2 in (0.0, 0.001):
    pass_path = gradient_descent(pass_gradient, np.array([1.5, x2]), 0.4, 60)
    x1_end, x2_end = pass_path[-1]
    print(f'start (1.5, {x2}): end ({x1_end:.3f}, {x2_end:.3f})')

# %% mystnb={"image": {"alt": "Left: a tilted double well with two paths; from the left of the hill one rolls into the global minimum, from the right of it one rolls into the local minimum. Right: contours of a mountain pass; one path runs along the ridge line and ends in the saddle at the origin, another one beside it turns away and ends in a minimum at x2 equal to 3.14."}} tags=["hide-input"]
grid = np.linspace(-1.65, 1.55, 400)
fig, (left, right) = panels(2, height=2.7)
left.plot(grid, well(grid), color=GREY, lw=1)
for w, colour, name, x in ((0.0, 'C0', 'global\nminimum', -1.05), (0.2, 'C1', 'local\nminimum', 0.95)):
    walk = gradient_descent(well_slope, w, 0.05, 40)
    left.plot(walk, well(walk), 'o-', color=colour, ms=3, lw=1)
    left.text(x, well(x) - 0.08, name, ha='center', va='top', color=colour)
left.text(0.1, 0.13, 'two starts', ha='center')
left.set(xlabel='w', ylabel='loss', ylim=(-2.3, 0.6))
u, v = np.meshgrid(np.linspace(-0.6, 3.8, 120), np.linspace(-0.9, 1.9, 80))
right.contour(u, v, v**2 + np.cos(u), 14, colors=GREY, linewidths=0.5)
right.plot([0, 0], [1.5, 0], 'o-', color='C1', ms=3, lw=1)
right.plot(*pass_path.T[::-1], 'o-', color='C0', ms=3, lw=1)
right.plot(*gradient_descent(pass_gradient, np.array([1.5, 0.0]), 0.4, 9).T[::-1], 'o', color='C1', ms=4)
right.text(0, -0.16, 'saddle', color='C1', va='top', ha='center')
right.text(np.pi, -0.16, 'minimum', color='C0', va='top', ha='center')
right.text(0.12, 1.5, 'two starts', va='center')
right.set(xlabel='x₂', ylabel='x₁');

# %% [markdown] tags=["caption"]
# Gradient descent ends where the ground is flat: in the deeper valley or in the other one (left), and even in a saddle
# (right). A push of 0.001 to the side is enough to leave the saddle.

# %% [markdown]
# So only a vanishing slope is guaranteed. The path need not end: on $\log(1 + e^x)$ it runs to $-\infty$. If the Hessian at a
# saddle has a negative eigenvalue, paths rarely end there, because almost any push leads away.
#
# ```{admonition} A tempting mistake
# :class: tip
# "It finds a minimum, because the loss falls at every step." On $x^2$ from 1, the loss does fall with the step sizes
# $\eta_t = 0.2 \cdot 2^{-t}$, and $x_t$ converges, but not to 0: the steps soon become too short.
# ```

# %%
x = 1.0
for t in range(1, 31):
    x = x - 0.2 * 2.0**-t * (2 * x)
    if t in (1, 10, 20, 30):
        print(f'after {t:2} steps: x = {x:.4f}')

# %% [markdown]
# It is enough that step sizes stay away from 0 and $2/L$. For an $L$-smooth $f$ that is bounded below,
#
# ```{math}
# :label: aw.gd.stepsize
# 0 < \inf_t \eta_t \le \sup_t \eta_t < \tfrac{2}{L} \quad \Longrightarrow \quad \|\nabla f(\mathbf{x}_t)\| \to 0 .
# ```
#
# ```{prf:proof}
# :class: dropdown
# Then $\eta_t(1 - L\eta_t/2)$ stays above a positive constant, and the sum converges as before. Steps may even tend to
# zero if they do it slowly: with $\eta_t \le 1/L$ and $\sum_t \eta_t = \infty$, the same sum gives
# $\liminf_t \|\nabla f(\mathbf{x}_t)\| = 0$.
# ```
#
# ### Backtracking: a step size without L
#
# Often $L$ is unknown. If the slope stayed the same, a step would lower $f$ by $\eta\|\nabla f\|^2$. A **backtracking
# line search** begins with a long step and halves it until $f$ falls by at least half of this amount:
# $f(\mathbf{x} - \eta \nabla f) \le f(\mathbf{x}) - \frac{\eta}{2}\|\nabla f\|^2$ {cite}`armijo1966minimization`.

# %%
def backtracking(f, gradient, x, steps):
    """The point after the steps. Raises ValueError unless f is finite."""
    for _ in range(steps):
        g, eta = gradient(x), 1.0
        if not np.isfinite(f(x) + g @ g):
            raise ValueError('f and its gradient must be finite')
        while not f(x - eta * g) <= f(x) - eta / 2 * (g @ g):
            eta = eta / 2
        x = x - eta * g
    return x

# %% [markdown]
# On an $L$-smooth function every $\eta \le 1/L$ passes, by {eq}`gradient_descent-decrease`. So the accepted $\eta$ is 1, or it
# is half of a refused one and thus more than $1/(2L)$. We try it on a sum of three exponentials
# {cite}`boyd2004convex`, whose curvature has no bound:

# %%
M = np.array([[1.0, 3.0], [1.0, -3.0], [-1.0, 0.0]])

def cliffs(x):
    return np.exp(M @ x - 0.1).sum()

def cliffs_gradient(x):
    return M.T @ np.exp(M @ x - 0.1)

# %%
near, far = np.array([0.1, 0.1]), np.array([1.0, 1.0])
fixed = gradient_descent(cliffs_gradient, near, eta=0.1, steps=100)[-1]
wild = gradient_descent(cliffs_gradient, far, eta=0.1, steps=1)[-1]
safe = backtracking(cliffs, cliffs_gradient, far, steps=100)
print(f'least value                     {8**0.5 * np.exp(-0.1):.4f}')
print(f'at the start (1, 1)             {cliffs(far):.4f}')
print(f'step 0.1 from (0.1, 0.1)        {cliffs(fixed):.4f}')
print(f'step 0.1 from (1, 1), 1 step    {cliffs(wild):.2e}')
print(f'backtracking from (1, 1)        {cliffs(safe):.4f}')

# %% [markdown]
# The step 0.1 is good near the minimum, but it is far too long at $(1, 1)$. There backtracking takes shorter steps.
#
# ```{exercise} ★ Pencil: at the edge
# :label: gradient_descent-edge
#
# The cosine key is gradient descent on $\varphi$ with $\eta = 1$. Show that $\varphi$ is $L$-smooth with $L = 2$, so that
# $\eta = 2/L$ is just too long for {eq}`aw.gd.converge-local`. Why does the display settle nevertheless? Write
# `factor_at_rest(eta)`, by which a step multiplies a small distance to the minimum $x^*$. Does the display settle for $\eta = 3$?
# ```

# %%
def factor_at_rest(eta):
    """The limit of (x_1 - x*) / (x_0 - x*) as x_0 tends to x*: a float.

    The step size eta is a float, eta >= 0. Where the step leads to the
    other side of x*, the factor is negative. factor_at_rest(0.0) is 1.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def factor_measured(eta, h=1e-5):  # from two starts close to the minimum
    rest = brentq(slope, 0, 1, xtol=1e-15)
    left, right = (x - eta * slope(x) for x in (rest - h, rest + h))
    return (right - left) / (2 * h)

cases = dict(eta=on(0.0, 1.0, 2.0, 3.0) | scalars(0, 10))
grade(factor_at_rest, factor_measured, **cases)

# %% [markdown]
# ```{solution-start} gradient_descent-edge
# :class: dropdown
# ```
# We have $\varphi''(x) = 1 + \sin x$, which lies between 0 and 2. After two presses the display lies between $\cos 1$ and 1. There
# $\varphi''(x) \le 1 + \sin 1 < 2$, so a smaller $L$ will do from then on. Near the minimum $x^*$, a step multiplies the
# distance to $x^*$ by nearly $1 - \eta\varphi''(x^*)$. For $\eta = 1$ this is $-\sin x^*$, so the distance alternates and
# shrinks. For $\eta = 3$ the factor is $1 - 3\,(1 + \sin x^*) < -2$, so the display leaves every small enough neighbourhood of
# $x^*$, unless it starts at $x^*$. Of the wrong answers, the first takes off the sign, the second gives the factor of
# $\eta = 1$ for every $\eta$, and the third takes the largest curvature 2 for the one at $x^*$.

# %% jupyter={"source_hidden": true}
def factor_at_rest_solution(eta):
    rest = brentq(slope, 0, 1)  # or press the key a hundred times
    return 1 - eta * (1 + np.sin(rest))

def without_its_sign(eta):
    return abs(1 - eta * (1 + np.sin(brentq(slope, 0, 1))))

def of_the_key_only(eta):
    return -np.sin(brentq(slope, 0, 1))

def of_the_largest_curvature(eta):
    return 1 - 2 * eta

assert grade(factor_at_rest_solution, factor_measured, **cases)
assert not grade(without_its_sign, factor_measured, **cases)
assert not grade(of_the_key_only, factor_measured, **cases)
assert not grade(of_the_largest_curvature, factor_measured, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
verify(
    'a parabola of curvature 2 that touches φ lies above it',
    lambda x, y: parabola(x, y, 2) - phi(y) > -1e-9,
    slip=('a curvature of 1.75', lambda x, y: parabola(x, y, 1.75) - phi(y) > -1e-9),
    x=scalars(-4, 4), y=scalars(-4, 4), tries=500,
)

def ends_in_minimum(x):
    end = gradient_descent(pass_gradient, x, 0.4, 200)[-1]
    t = np.linspace(0, 2 * np.pi, 17)
    ring = end[:, None] + 0.01 * np.stack([np.cos(t), np.sin(t)])
    return bool((end[0] ** 2 + np.cos(end[1]) <= ring[0] ** 2 + np.cos(ring[1])).all())

def gradient_vanishes(x, eta, L=2, lowest=-1):
    path = gradient_descent(pass_gradient, x, eta, 400)
    steepness = norm(pass_gradient(path.T), axis=0)
    gain = eta * (1 - L * eta / 2) * (steepness**2).sum()
    return bool(steepness[-1] < 1e-6 and gain <= x[0] ** 2 + np.cos(x[1]) - lowest + 1e-9)

holds(
    'aw.gd.converge-local',
    lambda x1, x2, eta: gradient_vanishes(np.array([x1, x2]), eta),
    slip=('expects a minimum at the end of every walk', lambda x1, x2, eta: ends_in_minimum(np.array([x1, x2]))),
    x1=scalars(1, 3), x2=scalars(-3, 3), eta=scalars(0.1, 0.96), tries=50,
)
verify(
    'up to a step of 2/L gradients vanish, and their squares are paid for by f',
    lambda x1, x2, eta: gradient_vanishes(np.array([x1, x2]), eta),
    slip=('allows steps up to 3/L', lambda x1, x2, eta: gradient_vanishes(np.array([x1, x2]), 1.5 * eta)),
    x1=scalars(1, 3), x2=scalars(-3, 3), eta=scalars(0.1, 0.96), tries=50,
)
smooth = {'x²': lambda x: 2 * x, 'φ': slope}  # L = 2 for both

def arrives(name, x, low, high, seed):
    for eta in np.random.default_rng(seed).uniform(low, high, 1000):
        x = x - eta * smooth[name](x)
    return bool(abs(smooth[name](x)) < 1e-6)

holds(
    'aw.gd.stepsize',
    lambda low, **case: arrives(low=low, high=0.98, **case),
    slip=('lets the steps reach 2/L', lambda low, **case: arrives(low=1, high=1, **case)),
    name=[*smooth], x=scalars(1, 10), low=scalars(0.05, 0.98), seed=seeds(), tries=40,
)

def reaches(ratio, low):  # does x, which falls at each step, get below `low`?
    return bool(np.prod(1 - 2 * 0.1 * ratio ** np.arange(2000.0)) < low)

verify(
    'steps that shrink by a constant factor stall on the slope of x²',
    lambda ratio: not reaches(ratio, np.exp(-0.25 / (1 - ratio))),  # log(1 - u) >= -1.25 u for u <= 0.2
    slip=('says so of steps that do not shrink', lambda ratio: not reaches(1.0, np.exp(-0.25 / (1 - ratio)))),
    ratio=scalars(0.1, 0.9), tries=50,
)

# %% tags=["checks"]
valleys = np.sort(np.roots([4, 0, -4, 0.5]).real)  # a valley, the hill between, a valley

def lowest_in_ball(w, radius):
    return bool((well(w) <= well(np.linspace(w - radius, w + radius, 101)) + 1e-12).all())

def local_minimum(w, quantifier):
    is_valley = 12 * w**2 - 4 > 0
    return quantifier(lowest_in_ball(w, radius) for radius in (0.01, 0.1, 1, 3)) == is_valley

holds(
    'ml.opt.local-min', lambda w: local_minimum(w, any),
    slip=('asks for every radius', lambda w: local_minimum(w, all)), w=list(valleys),
)

def beaten_nowhere(c, w, choose):  # among the valleys of w⁴ - 2 w² + c w
    def loss(w):
        return w**4 - 2 * w**2 + c * w
    flat = np.roots([4, 0, -4, c])
    flat = flat[abs(flat.imag) < 1e-9].real
    return bool(choose(loss(flat[12 * flat**2 > 4])) <= loss(w) + 1e-12)

holds(
    'ml.opt.global-min', lambda c, w: beaten_nowhere(c, w, min),
    slip=('takes the higher valley', lambda c, w: beaten_nowhere(c, w, max)), c=scalars(-1.4, 1.4), w=scalars(),
)

def accepted(L, x, factor):  # of L x²/2, from x
    end = backtracking(lambda x: L / 2 * x @ x, lambda x: L * x, np.array([x]), 1)[0]
    eta = (1 - end / x) / L
    return bool(eta > 0.999 or eta > factor / L)

verify(
    'the step of backtracking is the first one or longer than 1/(2L)',
    lambda L, x: accepted(L, x, 0.5),
    slip=('promises more than 1/L', lambda L, x: accepted(L, x, 1)),
    L=scalars(0.1, 30).filter(lambda L: abs(np.log2(L) % 1) > 0.01), x=scalars(1, 3), tries=50,
)

def slope_of(f, w, h=1e-5):
    return (f(w + h) - f(w - h)) / (2 * h)

verify(
    'the slope of the well is its derivative',
    lambda w: close(well_slope(w), slope_of(well, w), atol=1e-7),
    slip=('forgets the tilt', lambda w: close(4 * w**3 - 4 * w, slope_of(well, w), atol=1e-7)),
    w=scalars(-1.5, 1.5),
)
verify(
    'a start left of the hilltop, 0.127, ends in the global minimum, one right of it does not',
    lambda w: bool((gradient_descent(well_slope, w, 0.05, 300)[-1] < 0) == (w < 0.127)),
    slip=('sends every start there', lambda w: bool(gradient_descent(well_slope, w, 0.05, 300)[-1] < 0)),
    w=[-1.5, 0.0, 0.12, 0.135, 0.2, 1.5],
)

# %% tags=["checks"]
def cliffs_by_differences(x, h=1e-6):
    return [(cliffs(x + h * e) - cliffs(x - h * e)) / (2 * h) for e in np.eye(2)]

verify(
    'the gradient of the cliffs is that of differences',
    lambda x: close(cliffs_gradient(x), cliffs_by_differences(x), atol=1e-6, rtol=1e-6),
    slip=('forgets the shift in the exponent', lambda x: close(
        M.T @ np.exp(M @ x), cliffs_by_differences(x), atol=1e-6, rtol=1e-6)),
    x=vectors(2, -1, 1), tries=40,
)
verify(
    'the fixed step arrives from near by, and backtracking from far off',
    lambda: close([cliffs(fixed), cliffs(safe)], [8**0.5 * np.exp(-0.1)] * 2),
    slip=('takes the fixed step from far off', lambda: close(cliffs(wild), 8**0.5 * np.exp(-0.1))),
)

# %% [markdown]
# ## The condition number: how many steps does it take?
#
# How fast does the gradient go to zero? We answer this for a quadratic. A smooth function that curves up in every direction at
# its minimum is nearly a quadratic there:
#
# $$
# f(\mathbf{x}) = \tfrac12 \mathbf{x}^\top \mathbf{A} \mathbf{x} - \mathbf{b}^\top \mathbf{x}, \qquad
# \nabla f(\mathbf{x}) = \mathbf{A}\mathbf{x} - \mathbf{b} = \mathbf{A}(\mathbf{x} - \mathbf{x}^*), \qquad \mathbf{A}\mathbf{x}^* = \mathbf{b},
# $$
#
# where $\mathbf{A}$ is symmetric with eigenvalues $0 < \mu = \lambda_1 \le \dots \le \lambda_n = L$. Let the
# step size be fixed, and subtract $\mathbf{x}^*$ on both sides of the update. Then each step multiplies the error by the same
# matrix:
#
# ```{math}
# :label: gradient_descent-iterate
# \mathbf{x}_t - \mathbf{x}^* = (\mathbf{I} - \eta \mathbf{A})(\mathbf{x}_{t-1} - \mathbf{x}^*) = (\mathbf{I} - \eta \mathbf{A})^t (\mathbf{x}_0 - \mathbf{x}^*)
# ```
#
# Along each eigenvector the error has its own factor, $1 - \eta\lambda_i$. Steep directions demand a short step, since
# $\eta L$ must stay below 2. But then the flat directions hardly move, since $1 - \eta\mu$ is close to 1.
# In our valley $\mu = 1$ and $L = 10$:

# %%
sizes = {'η = 0.02: slow': 0.02, 'η = 2/(μ+L): best': 2 / 11,
         'η = 0.205: too long': 0.205}
walks = {name: gradient_descent(gradient, start, eta, steps=40)
         for name, eta in sizes.items()}
for name, path in walks.items():
    print(f'{name:20} distance after 40 steps {norm(path[-1]):.4f}')

# %% mystnb={"image": {"alt": "Three descent paths on elliptic contours from the same start: a small step creeps along the valley, the best step zigzags to the minimum, too long a step bounces between the walls with growing swings."}} tags=["hide-input"]
fig, axes = plt.subplots(3, figsize=(6, 5.4), sharex=True, layout='constrained')
for i, (ax, (name, path)) in enumerate(zip(axes, walks.items())):
    shown = path if i < 2 else path[:11]
    draw_valley(ax, up=(-1.7, 1.7))
    ax.plot(*shown.T, 'o-', color=f'C{i}', ms=3, lw=1.2)
    ax.text(4.4, -1.5, name, color=f'C{i}', ha='right')
    ax.set(xlabel='x₁' if i == 2 else '', ylabel='x₂')

# %% [markdown] tags=["caption"]
# In a valley with $\mu = 1$ and $L = 10$, a short step creeps along the floor, the best one zigzags in, and one just beyond
# $2/L = 2/10 = 0.2$ swings out (first ten steps).

# %% [markdown]
# ```{prf:theorem} Rate on quadratics
# :label: thm-gd-rate
# With $\rho = \max(|1 - \eta\mu|, |1 - \eta L|)$ we have
# $\|\mathbf{x}_t - \mathbf{x}^*\| \le \rho^t \, \|\mathbf{x}_0 - \mathbf{x}^*\|$, and from some starts both sides are
# equal for all $t$. Gradient descent converges to $\mathbf{x}^*$ from every start if and only if $0 < \eta < 2/L$. The best
# step and its rate are
#
# $$
# \eta^* = \frac{2}{\mu + L}, \qquad \rho^* = \frac{L - \mu}{L + \mu} = \frac{\kappa - 1}{\kappa + 1}, \qquad \kappa = \frac{L}{\mu} .
# $$
# ```
#
# ```{prf:proof}
# :class: dropdown
# $\mathbf{I} - \eta \mathbf{A}$ is symmetric with eigenvalues $1 - \eta\lambda_i$, so it stretches no vector by more
# than the largest $|1 - \eta\lambda_i|$. As $|1 - \eta\lambda|$ is convex in $\lambda$, it is largest at $\mu$ or at
# $L$: this is $\rho$, and the eigenvector there is stretched by $\rho$ at each step. We have $\rho < 1$ if and only if
# $\eta\mu$ and $\eta L$ lie between 0 and 2, that is, $0 < \eta < 2/L$. For $\eta > 0$, $\rho$ is the larger of $1 -
# \eta\mu$, which falls as $\eta$ grows, and $\eta L - 1$, which rises. So it is smallest where the two are equal, at
# $\eta^* = 2/(\mu + L)$, and the rate is $1 - \eta^*\mu$.
# ```
#
# The **condition number** $\kappa$ sets the pace. A round bowl, with $\kappa = 1$, takes one step. For large $\kappa$,
# $\rho^* \approx 1 - 2/\kappa \approx e^{-2/\kappa}$. One more correct digit means $e^{-2t/\kappa} = \frac{1}{10}$, so it
# costs about $t = \frac{\kappa}{2} \ln 10$ steps. The step $1/L$, which does not need $\mu$, has the rate $1 - 1/\kappa$ and
# takes twice as many. We test the forecast in thirty dimensions, with random axes and eigenvalues from 1 to $\kappa$:

# %%
def random_quadratic(eigenvalues, rng):
    n = len(eigenvalues)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return Q * eigenvalues @ Q.T, rng.normal(size=n), rng.normal(size=n)

def errors(kappa):
    rng = np.random.default_rng(2)
    A, goal, x = random_quadratic(np.linspace(1, kappa, 30), rng)
    path = gradient_descent(lambda x: A @ (x - goal), x,
                            eta=2 / (1 + kappa), steps=10 * kappa)
    return norm(path - goal, axis=1) / norm(x - goal)  # (steps + 1,)

# %%
runs = {kappa: errors(kappa) for kappa in (10, 100, 1000)}
for kappa, error in runs.items():
    half = len(error) // 2
    digits = np.log10(error[half] / error[-1])
    forecast = 1 / np.log10((kappa + 1) / (kappa - 1))
    print(f'kappa = {kappa:4}: {(len(error) - 1 - half) / digits:6.1f} steps'
          f' per digit, forecast {forecast:6.1f}')

# %%
etas = np.linspace(0.01, 0.21, 21)
measured = []
for eta in etas:
    path = gradient_descent(gradient, start, eta, steps=200)
    measured.append(norm(path[-1]) / norm(path[-2]))

# %% mystnb={"image": {"alt": "Left: errors on a logarithmic scale; after a quick start they fall along straight lines parallel to their dashed bounds, steeply for condition number 10, hardly for 1000. Right: factor per step against step size; measured dots fall along the line 1 minus eta mu down to 2/(mu+L), then rise along the line eta L minus 1 and cross 1 at 2/L."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
spots = (62, 3e-5), (150, 1.2e-4), (150, 0.13)
for i, (kappa, error) in enumerate(runs.items()):
    t = np.arange(301)
    left.semilogy(error[:301], color=f'C{i}')
    left.semilogy(t, ((kappa - 1) / (kappa + 1)) ** t, '--', color=f'C{i}', lw=1)
    left.text(*spots[i], f'κ = {kappa}', color=f'C{i}')
left.set(xlabel='step t', ylabel='error (dashed: bound)', ylim=(1e-5, 2))
fine = np.linspace(0, 0.22, 221)
right.plot(fine, abs(1 - fine), color=GREY, lw=1)
right.plot(fine, abs(1 - 10 * fine), color=GREY, lw=1)
right.plot(etas, measured, 'o', ms=4, color='C0')
right.text(0.025, 1.02, '|1 − ημ|')
right.text(0.045, 0.45, '|1 − ηL|')
right.axhline(1, color=GREY, lw=0.8, ls=':')
right.text(0.168, 0.55, '2/(μ+L)', color='C0')
right.text(0.196, 1.1, '2/L', color='C0', ha='right')
right.set(xlabel='step size η', ylabel='factor per step (dots: measured)', ylim=(0, 1.25), xlim=(0, 0.22));

# %% [markdown] tags=["caption"]
# Left: after a quick start the errors fall at the forecast rate, the slower the larger $\kappa$. Right ($\kappa = 10$): the
# slower of two directions decides, and the best step makes both equally slow.

# %% [markdown]
# ```{admonition} Beyond quadratics
# :class: dropdown
# If $f$ is twice continuously differentiable and the eigenvalues of its Hessian
# lie in $[\mu, L]$ everywhere, then $\nabla f(\mathbf{x}) = \mathbf{H} (\mathbf{x} - \mathbf{x}^*)$ with
# $\mathbf{H} = \int_0^1 \nabla^2 f(\mathbf{x}^* + s(\mathbf{x} - \mathbf{x}^*)) \, ds$, an average of Hessians, whose
# eigenvalues lie in $[\mu, L]$, too. One step multiplies the error by $\mathbf{I} - \eta \mathbf{H}$, and the bound
# stands {cite}`nesterov2018lectures`.
# ```
#
# ```{exercise} ★★★ Program: different steps are better than equal ones
# :label: gradient_descent-chebyshev
# No *fixed* step beats $2/(\mu + L)$, but $T$ different ones can. After them the error along eigenvalue $\lambda$ carries the
# factor $\prod_t (1 - \eta_t \lambda)$. Write `best_steps(mu, L, T)`, the $T$ step sizes, in any order, that make the largest
# absolute value of this factor on $[\mu, L]$ as small as possible. Yours is compared with the
# least that is possible, $1 / \cosh(T \operatorname{arcosh} \frac{\kappa + 1}{\kappa - 1})$. *Hint:* the product is a
# polynomial with value 1 at $\lambda = 0$. Which polynomials stay small on an interval?
# ```

# %%
def best_steps(mu, L, T):
    """The T best step sizes for eigenvalues in [mu, L]: an array (T,).

    mu and L are floats, 0 < mu < L, and T >= 1 is an int.
    best_steps(1.0, 3.0, 1) is array([0.5]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def worst_factor(steps):  # how an answer is judged: by its worst factor
    def judged(mu, L, T):
        etas = np.asarray(steps(mu, L, T), float)
        if etas.shape != (T,):
            raise TypeError(f'an array of shape ({T},) is asked for')
        return abs(np.prod([1 - eta * np.linspace(mu, L, 2001) for eta in etas], 0)).max()
    return judged

def least_factor(mu, L, T):
    return 1 / np.cosh(T * np.arccosh((L + mu) / (L - mu)))

def times_kappa(mu):
    return (on(1.1, 10.0, 1000.0) | scalars(1.1, 100)).map(lambda kappa: mu * kappa)

cases = dict(mu=scalars(0.01, 50), L=times_kappa, T=integers(1, 12), atol=0, rtol=1e-5)
grade(worst_factor(best_steps), least_factor, **cases)

# %% [markdown]
# ```{solution-start} gradient_descent-chebyshev
# :class: dropdown
# ```
# Chebyshev's: $C_T$ stays between $-1$ and $1$ on $[-1, 1]$ and grows fastest outside. Map $[\mu, L]$ to $[-1, 1]$,
# then 0 goes to $-\frac{\kappa+1}{\kappa-1}$, and dividing by the value of $C_T$ there makes the product 1 at zero.
# The steps are the reciprocals of its roots; $T = 1$ gives $2/(\mu + L)$ again. As $T$ grows, the factor per step
# tends to $\frac{\sqrt\kappa - 1}{\sqrt\kappa + 1}$: the condition number has been replaced by its root. Momentum
# reaches this rate without fixing $T$ in advance. Of the wrong answers, the first repeats the best fixed step, the second
# spaces the roots equally, the third ignores $\mu$, and the fourth has roots at the ends.

# %% jupyter={"source_hidden": true}
def chebyshev_steps(mu, L, T):
    roots = np.cos((2 * np.arange(T) + 1) * np.pi / (2 * T))
    return 1 / ((L + mu) / 2 + (L - mu) / 2 * roots)

def fixed_step_repeated(mu, L, T):
    return np.full(T, 2 / (mu + L))

def equally_spaced_roots(mu, L, T):
    return 1 / np.linspace(mu, L, T + 2)[1:-1]

def mu_ignored(mu, L, T):
    return 2 / (L * (1 + np.cos((2 * np.arange(T) + 1) * np.pi / (2 * T))))

def roots_at_the_ends(mu, L, T):
    return 1 / ((L + mu) / 2 + (L - mu) / 2 * np.cos(np.linspace(0, np.pi, T)))

assert grade(worst_factor(chebyshev_steps), least_factor, **cases)
assert not grade(worst_factor(fixed_step_repeated), least_factor, **cases)
assert not grade(worst_factor(equally_spaced_roots), least_factor, **cases)
assert not grade(worst_factor(mu_ignored), least_factor, **cases)
assert not grade(worst_factor(roots_at_the_ends), least_factor, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
spectrum = np.array([1.0, 2.0, 5.0, 10.0])

def bounded_and_sharp(seed, eta, rho):
    A, goal, x = random_quadratic(spectrum, np.random.default_rng(seed))
    path = gradient_descent(lambda x: A @ (x - goal), x, eta, 20)
    error = norm(path - goal, axis=1)
    slowest = np.linalg.eigh(A)[1][:, abs(1 - eta * spectrum).argmax()]  # an eigenvector that reaches the bound
    end = gradient_descent(lambda x: A @ (x - goal), goal + slowest, eta, 20)[-1]
    return bool((error[1:] <= rho(eta) * error[:-1] * (1 + 1e-9)).all()) and close(norm(end - goal), rho(eta) ** 20)

verify(
    'errors shrink at least by ρ, and from some start exactly by ρ',
    lambda **case: bounded_and_sharp(rho=lambda eta: max(abs(1 - eta), abs(1 - 10 * eta)), **case),
    slip=('forgets the flat direction', lambda **case: bounded_and_sharp(rho=lambda eta: abs(1 - 10 * eta), **case)),
    seed=seeds(), eta=scalars(0.01, 0.25), tries=50,
)

def no_step_is_better(eta, best):
    return bool(max(abs(1 - eta), abs(1 - 10 * eta)) >= max(abs(1 - best), abs(1 - 10 * best)) - 1e-12)

verify(
    'the best fixed step is 2/(μ + L)',
    lambda eta: no_step_is_better(eta, 2 / 11),
    slip=('takes 1/L', lambda eta: no_step_is_better(eta, 1 / 10)),
    eta=scalars(0, 0.5),
)
def is_forecast(kappa, per_digit):  # over the second half of a run
    error = runs[kappa]
    half = len(error) // 2
    steps = (len(error) - 1 - half) / np.log10(error[half] / error[-1])
    return close(steps, per_digit(kappa), rtol=5e-3)  # ln((κ + 1)/(κ - 1)) = 2/κ (1 + 1/(3 κ²) + ...): 0.33 % at κ = 10

verify(
    'a digit costs κ/2 ln 10 steps',
    lambda kappa: is_forecast(kappa, lambda kappa: kappa / 2 * np.log(10)),
    slip=('forgets the half', lambda kappa: is_forecast(kappa, lambda kappa: kappa * np.log(10))),
    kappa=[10, 100, 1000],
)

# %% [markdown]
# ## Least squares by gradient descent: why features are standardized
#
# The most used quadratic is the mean squared error of a linear model. The rows of $\mathbf{X}$ are $N$ examples
# $\mathbf{x}_n$ with $D$ features, and $\mathbf{y}$ holds their targets. The **residuals** are
#
# ```{math}
# :label: ml.opt.gd-mse.residual
# \mathbf{e} = \mathbf{y} - \mathbf{X}\mathbf{w} ,
# ```
#
# and half their mean square is the loss:
#
# ```{math}
# :label: ml.opt.gd-mse.loss-matrix
# \mathcal{L}(\mathbf{w}) = \frac{1}{2N} \sum_{n=1}^N (y_n - \mathbf{x}_n^\top \mathbf{w})^2 = \frac{1}{2N} \, \mathbf{e}^\top \mathbf{e}
# ```
#
# Since $\partial e_n / \partial w_j = -x_{nj}$, the derivative with respect to $w_j$ is
# $\frac{1}{2N} \sum_n 2 e_n \cdot (-x_{nj})$. The 2 of the square cancels the half, and the sum over $n$ is entry $j$ of
# $\mathbf{X}^\top \mathbf{e}$:
#
# ```{math}
# :label: ml.opt.gd-mse.grad
# \nabla \mathcal{L}(\mathbf{w}) = -\frac1N \mathbf{X}^\top \mathbf{e}
# ```

# %%
def mse_gradient(X, y, w):
    e = y - X @ w              # (N,)
    return -(X.T @ e) / len(y)  # (D,)

# %% [markdown]
# Gradient descent with a fixed step size is then
#
# ```{math}
# :label: ml.opt.gd.update
# \mathbf{w}^{(t+1)} = \mathbf{w}^{(t)} - \eta \nabla \mathcal{L}(\mathbf{w}^{(t)}), \qquad \eta > 0 .
# ```
#
# (ml.opt.gd-mse.cost)=
# Each of the products $\mathbf{X}\mathbf{w}$ and $\mathbf{X}^\top \mathbf{e}$ uses every entry of $\mathbf{X}$ once. So
# $\mathbf{X}^\top (\mathbf{y} - \mathbf{X}\mathbf{w})$ takes $2ND$ multiplications, which is $O(ND)$. The brackets matter:
# forming $\mathbf{X}^\top \mathbf{X}$ first would cost $ND^2$, though only once.
#
# Many texts leave out the half in the loss. Then the same step size leads twice as far and may be too long.
#
# :::{admonition} A tempting mistake: the step size of one text for the loss of another
# :class: dropdown
# Without the half, the gradient has a factor 2:
#
# ```{math}
# :label: ml.opt.gd-mse.loss
# \begin{aligned}
# \nabla_{\mathbf{w}} \Big( \frac{1}{2N} \sum_{n=1}^N (y_n - \mathbf{x}_n^\top \mathbf{w})^2 \Big) &= -\frac1N \mathbf{X}^\top \mathbf{e} , \\
# \nabla_{\mathbf{w}} \Big( \frac{1}{N} \sum_{n=1}^N (y_n - \mathbf{x}_n^\top \mathbf{w})^2 \Big) &= -\frac2N \mathbf{X}^\top \mathbf{e} .
# \end{aligned}
# ```
#
# Let $L$ be the largest eigenvalue of $\frac1N \mathbf{X}^\top \mathbf{X}$, the Hessian with the half. There, the step
# $3/(2L)$ converges. Without the half the Hessian is twice as large, so the limit is $1/L$, and the same step
# diverges. `torch.nn.MSELoss` has no half.
# :::
#
# The Hessian of $\mathcal{L}$ is $\mathbf{A} = \frac1N \mathbf{X}^\top \mathbf{X}$, so the condition number is a property of
# the data. Our data are ten measurements of 442 patients, and the target is how far their diabetes has come a year later
# {cite}`efron2004least`. We take the measurements in four versions:
#
# - *raw*: as they are, with age in years and so on,
# - *centred*: each column is shifted to mean 0,
# - *standardized*: each column is then scaled to standard deviation 1,
# - *whitened*: the centred columns are rotated so that no two are correlated, and then scaled.

# %%
x, y = data.diabetes().x, data.diabetes().y  # (442, 10), (442,)
versions = {
    'raw': x,
    'centred': x - x.mean(0),
    'standardized': StandardScaler().fit_transform(x),
    'whitened': PCA(whiten=True).fit_transform(x),
}
designs = {name: np.column_stack([np.ones(len(v)), v])
           for name, v in versions.items()}  # (442, 11) each

# %% [markdown]
# Other weights and another intercept undo a shift, a scaling or a rotation of the features. So the best predictions are the
# same in all four versions; only the shape of the valley differs. The eigenvalues of $\mathbf{A}$ are the squared singular
# values of $\mathbf{X}$, divided by $N$, so $\kappa$ is `np.linalg.cond(X)**2`. We walk with the step $1/L$ from
# $\mathbf{w} = \mathbf{0}$ and measure $R^2$, the share of the variance explained. It is 0 for the mean of all patients.

# %%
def descend(X, steps, share=1.0):  # with the step share / L
    L = np.linalg.eigvalsh(X.T @ X / len(X))[-1]
    return gradient_descent(lambda w: mse_gradient(X, y, w),
                            np.zeros(X.shape[1]), share / L, steps)

def r_squared(X, y, W):  # W (..., D) -> (...)
    return 1 - ((y - W @ X.T)**2).mean(-1) / y.var()

# %%
best = {name: np.linalg.lstsq(X, y)[0] for name, X in designs.items()}
print('               condition   R² after 1,  100,  3000 steps   exact')
for name, X in designs.items():
    one, hundred, end = r_squared(X, y, descend(X, 3000)[[1, 100, 3000]])
    print(f'{name:12} {np.linalg.cond(X)**2:11.4g} {one:11.3f} {hundred:7.3f}'
          f' {end:7.3f} {r_squared(X, y, best[name]):13.3f}')

# %% [markdown]
# Centring removes the offsets, and scaling removes the units. Both make this valley rounder. All four runs begin
# at $\mathbf{w} = \mathbf{0}$, where $R^2 < 0$. The raw columns have offsets, so one step lifts all predictions to the
# targets' level; with centred columns only the intercept lifts them. When will the raw
# descent arrive? We compute it by {eq}`gradient_descent-iterate`:

# %%
def forecast(X, y, t):
    """R² after t steps of size 1/L from zero; t of shape (k,)."""
    lam, U = np.linalg.eigh(X.T @ X / len(X))
    goal = np.linalg.lstsq(X, y)[0]
    error = (1 - lam / lam[-1]) ** t[:, None] * (U.T @ goal)  # (k, D)
    return r_squared(X, y, goal - error @ U.T)

def arrival(X, y):
    """Steps until R² is within 0.001 of the best."""
    t = np.geomspace(1, 1e11, 1101)
    curve = forecast(X, y, t)
    return t[(curve < curve[-1] - 0.001).sum()]

# %% [markdown]
# We count the steps for all patients, and for twenty random halves of them:

# %%
rng = np.random.default_rng(0)
halves = [rng.permutation(442)[:221] for _ in range(20)]
for name in ('raw', 'standardized'):
    X = designs[name]
    times = [arrival(X[half], y[half]) for half in halves]
    print(f'{name:12} {arrival(X, y):.2g} steps,'
          f' on halves {min(times):.2g} to {max(times):.2g}')

# %% [markdown]
# On every half the raw descent needs more than fifty million steps, and the standardized one less than a thousand.

# %% mystnb={"image": {"alt": "R squared against the number of steps on a logarithmic axis. Standardized data reach the dashed line of the exact solver within a few hundred steps; raw data climb in stages and need about a hundred million. Dots from actual runs lie on the forecast curves."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.2))
t, stops = np.geomspace(1, 1e10, 501), np.array([1, 3, 10, 30, 100, 300, 1000, 3000])
for name, colour in ('raw', 'C0'), ('standardized', 'C1'):
    X = designs[name]
    ax.semilogx(t, forecast(X, y, t), color=colour)
    ax.semilogx(stops, r_squared(X, y, descend(X, 3000)[stops]), 'o', color=colour)
for level, name in ((r_squared(designs['raw'], y, best['raw']), 'exact solver'), (0, 'mean of all patients')):
    ax.axhline(level, color=GREY, ls='--', lw=1)
    ax.text(1e10, level + 0.012, name, ha='right')
ax.text(13, 0.43, 'standardized', color='C1')
ax.text(900, 0.33, 'raw', color='C0')
ax.set(xlabel='steps (dots: run, lines: forecast)', ylabel='R²', ylim=(-0.04, 0.58));

# %% [markdown] tags=["caption"]
# Offsets and units decide how long gradient descent takes: about three hundred steps on standardized measurements, and about
# a hundred million on raw ones, for practically the same $R^2$.

# %% [markdown]
# The raw curve climbs in stages, because the error along the eigenvector of $\lambda_i$ takes about $L/\lambda_i$ steps to shrink
# to a third. Standardizing removes the part of $\kappa$ that comes from offsets and
# units. What is left comes from the correlations between the columns. Whitening removes these, too, and
# one step is enough. But it costs as much as an exact solution. Normalization layers and adaptive steps are cheaper ways to
# a rounder valley.
#
# ```{exercise} ★ Pencil: one raw feature
# :label: gradient_descent-raw
#
# Take only the body mass index $x$, with mean $m = 26$ and standard deviation $s = 4$, and the line $w_0 + w_1 x$. Find
# $\mathbf{A}$, and estimate $\kappa$ by its squared trace over its determinant: `kappa_estimate(m, s)`. What is $\kappa$ after
# standardizing?
# ```

# %%
def kappa_estimate(m, s):
    """The squared trace of A over its determinant: a float.

    The feature has the mean m and the standard deviation s > 0: floats.
    kappa_estimate(0.0, 1.0) is 4.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def from_two_people(m, s):  # with this mean and this standard deviation
    X = np.array([[1, m - s], [1, m + s]])
    A = X.T @ X / 2
    return np.trace(A) ** 2 / np.linalg.det(A)

cases = dict(m=on(0.0, 26.0) | scalars(-100, 100), s=on(1.0, 4.0) | scalars(0.1, 20))
grade(kappa_estimate, from_two_people, **cases)

# %% [markdown]
# ```{solution-start} gradient_descent-raw
# :class: dropdown
# ```
# The rows of $\mathbf{X}$ are $(1, x_n)$, and the mean of $x_n^2$ is $m^2 + s^2$. The trace is $L + \mu \approx L$ and the
# determinant is $L\mu$, so
#
# $$
# \mathbf{A} = \begin{pmatrix} 1 & m \\ m & m^2 + s^2 \end{pmatrix}, \qquad
# \kappa = \frac{L^2}{L\mu} \approx \frac{(1 + m^2 + s^2)^2}{s^2} .
# $$
#
# This is about 30,000, only because nobody has an index near zero. After standardizing, $m = 0$, $s = 1$, $\mathbf{A}$ is the
# identity and $\kappa = 1$ (where $L = \mu$, the estimate is four times too large). The true mean and deviation are not
# exactly 26 and 4, so the measured $\kappa$ differs a little. Of the wrong answers, the first takes $m^2$ for the mean of
# the squares, the second forgets the ones, and the third does not square the trace.

# %% jupyter={"source_hidden": true}
def kappa_estimate_solution(m, s):
    return (1 + m**2 + s**2) ** 2 / s**2

def square_of_the_mean(m, s):
    return (1 + m**2) ** 2 / s**2

def without_the_ones(m, s):
    return (m**2 + s**2) ** 2 / s**2

def trace_not_squared(m, s):
    return (1 + m**2 + s**2) / s**2

assert grade(kappa_estimate_solution, from_two_people, **cases)
assert not grade(square_of_the_mean, from_two_people, **cases)
assert not grade(without_the_ones, from_two_people, **cases)
assert not grade(trace_not_squared, from_two_people, **cases)

bmi = x[:, data.diabetes().names.index('bmi')]
kappa = np.linalg.cond(np.column_stack([np.ones(442), bmi])) ** 2
print(f'estimate {kappa_estimate_solution(26, 4):.0f}, measured {kappa:.0f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: which step size is fastest?
# :label: gradient_descent-fastest
#
# Run 100 steps on the standardized design with step sizes $0.1/L$, $1/L$, $1.9/L$ and $2.1/L$ (`descend` takes the factor as
# `share`). First predict: return the list of the four factors, sorted by the $R^2$ that they reach, best first. Then run and
# explain. What is the order after 5 steps?
# ```

# %%
def predicted_order():
    """The factors 0.1, 1, 1.9 and 2.1, best first: a list of four floats."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
factors = [0.1, 1, 1.9, 2.1]

def reached(steps):
    X = designs['standardized']
    return {factor: r_squared(X, y, descend(X, steps, factor)[-1]) for factor in factors}

def is_measured(order):
    order, measured = list(order), reached(100)
    if sorted(order) != factors:
        raise ValueError('name each of the factors 0.1, 1, 1.9 and 2.1 once')
    if order != sorted(factors, key=measured.get, reverse=True):
        raise ValueError('another order is measured; run the four and compare')
    return True

grade(lambda: is_measured(predicted_order()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} gradient_descent-fastest
# :class: dropdown
# ```
# After 100 steps, $1.9/L$ is best, although it promises less than $1/L$ for a single step: the flat directions move almost
# twice as fast, and the steepest one, which changes its sign at each step, has shrunk by $|1 - 1.9|^{100}$. With $2.1/L$ it
# has grown by $|1 - 2.1|^{100}$ instead. After 5 steps this is not large yet, and $2.1/L$ is still ahead of $0.1/L$. So a step
# that is a little too long need not look bad at first.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured([1.9, 1, 0.1, 2.1]), lambda: True, [()])
assert not grade(lambda: is_measured([1, 1.9, 0.1, 2.1]), lambda: True, [()])  # as the bound of one step says
assert not grade(lambda: is_measured([1.9, 1, 2.1, 0.1]), lambda: True, [()])  # as after 5 steps
assert not grade(lambda: is_measured([2.1, 1.9, 1, 0.1]), lambda: True, [()])  # longer is always faster
assert not grade(lambda: is_measured([1.9, 1.9, 1, 0.1]), lambda: True, [()])  # one factor twice
for steps in 5, 100:
    print(
        f'after {steps:3} steps:',
        ', '.join(
            f'{factor}/L {r2:.4g}' for factor, r2 in reached(steps).items()
        ),
    )

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def problem(seed, N=7, D=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, D)), rng.normal(size=N), rng.normal(size=D)

def by_sgd(X, y, w, eta, steps):
    X, y, w = torch.tensor(X), torch.tensor(y), torch.tensor(w, requires_grad=True)
    sgd = torch.optim.SGD([w], lr=eta)
    for _ in range(steps):
        sgd.zero_grad()
        (torch.nn.functional.mse_loss(X @ w, y) / 2).backward()
        sgd.step()
    return w

def ends_as_sgd(seed, eta, sign):
    X, y, w = problem(seed)
    return close(gradient_descent(lambda w: sign * mse_gradient(X, y, w), w, eta, 5)[-1], by_sgd(X, y, w, eta, 5))

holds(
    'ml.opt.gd.update', lambda **case: ends_as_sgd(sign=1, **case),
    slip=('steps up the gradient', lambda **case: ends_as_sgd(sign=-1, **case)),
    seed=seeds(), eta=scalars(0.01, 0.5), tries=30,
)

def autograd(X, y, w, factor):  # gradient of factor * mean square
    X, y, w = map(torch.tensor, (X, y, w))
    return torch.func.grad(lambda w: factor * torch.nn.functional.mse_loss(X @ w, y))(w)

def is_autograd(seed, scale, factor):
    case = problem(seed)
    return close(scale * mse_gradient(*case), autograd(*case, factor))

holds(
    'ml.opt.gd-mse.grad', lambda seed: is_autograd(seed, 1, 1 / 2),
    slip=('has the other sign', lambda seed: is_autograd(seed, -1, 1 / 2)), seed=seeds(), tries=50,
)
holds(
    'ml.opt.gd-mse.loss', lambda seed: is_autograd(seed, 1, 1 / 2) and is_autograd(seed, 2, 1),
    slip=('loses the 2 below the bar of the loss', lambda seed: is_autograd(seed, 1, 1)), seed=seeds(), tries=50,
)

# %% tags=["checks"]
def squares(X, y, w):  # torch's own, example by example
    X, y, w = map(torch.tensor, (X, y, w))
    return torch.nn.functional.mse_loss(X @ w, y, reduction='none')

def e_is_residual(seed, e):  # with one feature, so that y - x has a shape that fits
    case = problem(seed, N=4, D=1)
    return close(e(*case) ** 2, squares(*case))

holds(
    'ml.opt.gd-mse.residual', lambda seed: e_is_residual(seed, lambda X, y, w: y - X @ w),
    slip=('forgets the weights', lambda seed: e_is_residual(seed, lambda X, y, w: y - X[:, 0])),
    seed=seeds(), tries=50,
)

def is_loss(seed, v):  # v'e / 2N is half the mean square
    X, y, w = problem(seed, N=3, D=3)
    return close(v(X, y, w) @ (y - X @ w) / (2 * 3), squares(X, y, w).mean() / 2)

holds(
    'ml.opt.gd-mse.loss-matrix', lambda seed: is_loss(seed, lambda X, y, w: y - X @ w),
    slip=('multiplies by the weights', lambda seed: is_loss(seed, lambda X, y, w: w)),
    seed=seeds(), tries=50,
)

def multiplications(gradient, N, D):  # counted by torch: two operations for each
    with FlopCounterMode(display=False) as counter:
        gradient(torch.ones(N, D), torch.ones(N, 1), torch.ones(D, 1))
    return counter.get_total_flops() // 2

holds(
    'ml.opt.gd-mse.cost',
    lambda N, D: multiplications(mse_gradient, N, D) == 2 * N * D,
    slip=('forms X^T X first', lambda N, D: multiplications(lambda X, y, w: (X.T @ X) @ w - X.T @ y, N, D) == 2 * N * D),
    N=integers(1, 8), D=integers(1, 8), tries=60,
)

def forecast_is_run(name, late):  # the dots lie on the curves
    stops = np.array([0, 1, 10, 100, 1000])
    X = designs[name]
    return close(r_squared(X, y, descend(X, 1001)[stops + late]), forecast(X, y, stops), atol=1e-6)

verify(
    'the forecast of R² is what the runs reach',
    lambda name: forecast_is_run(name, 0),
    slip=('is one step late', lambda name: forecast_is_run(name, 1)), name=[*designs],
)
verify(
    'raw measurements need more than 100,000 times as many steps',
    lambda many: many * arrival(designs['standardized'], y) < arrival(designs['raw'], y),
    slip=('expects the standardized ones to be slower',
          lambda many: many * arrival(designs['raw'], y) < arrival(designs['standardized'], y)),
    many=[100, 100_000],
)

# %% [markdown]
# ## Summary
#
# Gradient descent steps against the gradient. With a step size below $2/L$ each step leads down, but the end need not be a
# minimum. On a quadratic the error along each eigenvector of the Hessian shrinks by its own factor $1 - \eta\lambda_i$, the
# best common step is $2/(\mu + L)$, and a digit costs about $\frac{\kappa}{2} \ln 10$ steps. For least squares, $\kappa$
# depends on the offsets and units of the data, and standardizing replaced about a hundred million steps by about three
# hundred.
#
# **Further reading.** The method is Cauchy's {cite}`cauchy1847methode`.
# {cite:t}`nesterov2018lectures` proves the rates for convex functions,
# {cite:t}`boyd2004convex` treat line searches, {cite:t}`golub2013matrix` the conditioning of least squares, and
# {cite:t}`goodfellow2016deep` the loss of a network.
