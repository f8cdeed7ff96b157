# ---
# jupyter:
#   book:
#     functions:
#       numerical_gradient: "numerical_gradient(lambda x: (x**3).sum(), normal(4))"
#       slope: "slope(lambda x: (x**3).sum(), normal(4), normal(4), h=0.02)"
#     main: aw.gradients.directional
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Gradients and directional derivatives
#
# You stand on a hillside. One metre to the east lifts you by 30 centimetres, one metre to the north by 40. How much does one
# metre to the north-east lift you, and in which direction is the hill steepest? The loss of a neural network is such a
# landscape with a million directions instead of two, and training has to know which way leads down.
#
# - **You need** derivatives of functions of one variable, [dot products](../linear_algebra/dot_products.ipynb) and the
#   length of a [vector](../linear_algebra/norms.ipynb).
# - **You build** gradients and directional derivatives, numerical gradients with the best step size, and a check that finds
#   one wrong entry among hundreds from two values of the function.
# - **Runs in** 6 seconds, in float64.

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
from numpy.linalg import norm
from scipy.optimize import brentq
from torch import autograd, tensor

from nbutils import data
from nbutils.cases import counted, on, scalars, vectors
from nbutils.checks import below, between, close, grade, holds, verify
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## Gradient and directional derivative: the slope in every direction
#
# Here is a landscape with two hills. The place is $\mathbf{x} = (x_1, x_2)$, in kilometres to the east and to the north, and
# the height is in hundreds of metres:

# %%
def hills(x):  # x (2, ...) -> the heights of both
    u, v = x
    return (1.5 * np.exp(-(u - 0.7)**2 / 0.6 - (v - 0.3)**2 / 2),
            np.exp(-(u + 0.9)**2 / 1.6 - (v + 0.6)**2 / 0.5))

def height(x):
    a, b = hills(x)
    return a + b

p = np.array([1.1, -0.9])
print('height at p:', height(p).round(3))

# %% [markdown]
# A **partial derivative** is the slope along one axis, an ordinary derivative with respect to $x_i$ while the other
# variables stand still:
#
# $$ \partial_{x_i} f(\mathbf{x}) = \lim_{h \to 0} \frac{f(\mathbf{x} + h\,\mathbf{e}_i) - f(\mathbf{x})}{h} . $$
#
# The vector of all partial derivatives is the **gradient**:
#
# ```{math}
# :label: aw.gradients.gradient
# \nabla f(\mathbf{x}) =
# \begin{bmatrix} \partial_{x_1} f(\mathbf{x}) \\ \vdots \\ \partial_{x_d} f(\mathbf{x}) \end{bmatrix}
# ```
#
# It has as many entries as $\mathbf{x}$, so its shape is `(d,)`. By the rules of differentiation, each exponential is
# multiplied by the derivative of its exponent:

# %%
def gradient(x):
    (u, v), (a, b) = x, hills(x)
    return -2 * np.array([a * (u - 0.7) / 0.6 + b * (u + 0.9) / 1.6,
                          a * (v - 0.3) / 2 + b * (v + 0.6) / 0.5])

g = gradient(p)
print('gradient at p:', g.round(3))

# %% [markdown]
# So at $\mathbf{p}$ the ground falls towards the east and rises towards the north. What about the other directions? The slope
# along any vector $\mathbf{v}$ is the **directional derivative**,
# $D_{\mathbf{v}} f(\mathbf{x}) = \lim_{h \to 0} \frac1h \big( f(\mathbf{x} + h\mathbf{v}) - f(\mathbf{x}) \big)$.
# If the ground near $\mathbf{p}$ is nearly a plane, we need not measure it. A step $\mathbf{v} = (v_1, v_2)$ rises by
# $v_1 \partial_{x_1} f$ on its way east and by $v_2 \partial_{x_2} f$ on its way north, together
#
# ```{math}
# :label: aw.gradients.directional
# D_{\mathbf{v}} f(\mathbf{x}) = \nabla f(\mathbf{x}) \cdot \mathbf{v} .
# ```
#
# We compare the dot product with slopes that are measured over a short way:

# %%
def slope(f, x, v, h=1e-5):
    """The slope of f at x along v, measured from -h v to h v."""
    return (f(x + h * v) - f(x - h * v)) / (2 * h)

def unit(degrees):  # the direction, from east over north
    return np.array([np.cos(np.radians(degrees)),
                     np.sin(np.radians(degrees))])

# %%
for degrees in 0, 45, 90, 135, 180:
    v = unit(degrees)
    print(f'{degrees:3} degrees: measured {slope(height, p, v):6.3f},'
          f' gradient · v {g @ v:6.3f}')

# %% [markdown]
# ### The direction of steepest ascent
#
# A longer $\mathbf{v}$ has a larger directional derivative. To compare directions we take vectors of length 1. Let $\theta$
# be the angle between $\mathbf{v}$ and the gradient. Then the dot product is
#
# ```{math}
# :label: gradients-cosine
# D_{\mathbf{v}} f(\mathbf{x}) = \|\nabla f(\mathbf{x})\| \cos\theta .
# ```
#
# The cosine is largest at $\theta = 0$. So where the gradient is not zero, it points in the direction of steepest ascent,
# and its length is the slope in that direction. The opposite direction is the one of steepest descent, and at right angles
# the ground is level. For the hillside of the opening:

# %%
hillside = np.array([0.3, 0.4])
print(f'north-east {hillside @ unit(45):.3f}, steepest {norm(hillside):.3f}')

# %% [markdown]
# One metre to the north-east climbs 49 cm, and the steepest metre 50 cm. Near its maximum a cosine is flat: a direction that
# is off by 25 degrees still has nine tenths of the slope, since $\cos 25° \approx 0.91$.
#
# ### Gradients are perpendicular to contour lines
#
# Walk along a curve $\mathbf{x}(t)$ with the velocity $\dot{\mathbf{x}}(t)$. In a short time the height changes by the slope
# along the velocity:
#
# ```{math}
# :label: gradients-curve
# \frac{d}{dt} f(\mathbf{x}(t)) = \nabla f(\mathbf{x}(t)) \cdot \dot{\mathbf{x}}(t) .
# ```
#
# A **contour line**, or level set, joins points of equal height. Along it the height does not change, so the dot product is
# zero: the gradient stands at right angles to it. A path that follows the gradient crosses every contour line at a right
# angle and climbs all the time.

# %% mystnb={"image": {"alt": "Left: contour lines of two hills with arrows perpendicular to them and three paths that follow the arrows to one of the two tops; at a point p a longer arrow. Right: measured slope against direction, dots on a cosine curve whose top is at the direction of the gradient."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
q = np.stack(np.meshgrid(*2 * [np.linspace(-2.2, 2.2, 90)]))
few = np.stack(np.meshgrid(*2 * [np.linspace(-2, 2, 11)]))
left.contour(*q, height(q), levels=9, colors=GREY, linewidths=0.7)
left.quiver(*few, *gradient(few), color='C0', scale=18, width=0.007, minlength=0)
for start in [-1.9, 0.6], [-0.4, -1.9], [-0.2, 1.8]:
    walk = [np.array(start)]
    for _ in range(300):
        walk.append(walk[-1] + 0.05 * gradient(walk[-1]))
    left.plot(*np.array(walk).T, color='C1', lw=1.4)
left.annotate('', p + 0.8 * g / norm(g), p, arrowprops=dict(arrowstyle='-|>', color='C2', lw=2, shrinkA=0, shrinkB=0))
left.text(*(p + [0.15, -0.2]), 'p', color='C2')
left.set(aspect='equal', xlim=(-2.2, 2.2), ylim=(-2.2, 2.2), xlabel='x₁', ylabel='x₂')
angles = np.arange(0, 361, 15)
right.axhline(0, color=GREY, lw=0.6)
right.plot(angles, [g @ unit(a) for a in angles], color=GREY)
right.plot(angles, [slope(height, p, unit(a)) for a in angles], 'o', ms=3)
toward = np.degrees(np.arctan2(g[1], g[0])) % 360
right.axvline(toward, color='C2', lw=1.2)
right.text(toward + 8, norm(g), 'gradient', color='C2')
right.set(xticks=[0, 90, 180, 270, 360], xlabel='direction (degrees)', title='slope at p', ylim=(-1.5, 1.6));

# %% [markdown] tags=["caption"]
# Left: gradients are perpendicular to the contour lines, and paths that follow them lead to the tops. Right: the measured
# slopes in all directions (dots) lie on one cosine (line), whose maximum is in the direction of the gradient.

# %% [markdown]
# ```{exercise} ★ Program: a road up the hill
# :label: gradients-road
# The ground has the gradient `g` (east, north), but a road may climb no steeper than `s`, where $0 < s \le \|\mathbf{g}\|$.
# Write `road(g, s)`: the unit vector along which the road climbs with slope exactly `s`, to the left of the steepest
# direction.
# ```

# %%
def road(g, s):
    """The direction of the road: an array of shape (2,) and length 1.

    g is an array of shape (2,), s a float with 0 < s <= norm(g).
    road(np.array([2.0, 0.0]), 2.0) is array([1., 0.]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def road_by_search(g, s):  # turn left until the slope is s
    start = np.arctan2(g[1], g[0])
    way = lambda turn: np.array([np.cos(start + turn), np.sin(start + turn)])
    if g @ way(0) <= s * (1 + 1e-12):
        return way(0)
    return way(brentq(lambda turn: g @ way(turn) / s - 1, 0, np.pi / 2, xtol=1e-14))

cases = dict(
    g=vectors(2, edges=True).filter(lambda g: norm(g) > 0.01),
    s=lambda g: (on(1.0, 0.5) | scalars(0.02, 0.98)).map(lambda share: share * norm(g)),
)
grade(road, road_by_search, **cases, atol=1e-6)

# %% [markdown]
# ```{solution-start} gradients-road
# :class: dropdown
# ```
# By {eq}`gradients-cosine` the road makes the angle $\theta$ with the gradient, where $\cos\theta = s / \|\mathbf{g}\|$. In
# the basis of the unit vector along $\mathbf{g}$ and its left turn, the road is $(\cos\theta, \sin\theta)$. Of the wrong
# answers, the first measures the angle from the contour line, the second turns to the right, and the third returns a vector
# of length $s$.

# %% jupyter={"source_hidden": true}
def road_solution(g, s):
    up = g / norm(g)
    left = np.array([-up[1], up[0]])
    cosine = s / norm(g)
    return cosine * up + np.sqrt(1 - cosine**2) * left

def from_the_contour_line(g, s):
    up = g / norm(g)
    sine = s / norm(g)
    return np.sqrt(1 - sine**2) * up + sine * np.array([-up[1], up[0]])

def to_the_right(g, s):
    up = g / norm(g)
    cosine = s / norm(g)
    return cosine * up - np.sqrt(1 - cosine**2) * np.array([-up[1], up[0]])

def of_length_s(g, s):
    return s * road_solution(g, s)

assert grade(road_solution, road_by_search, **cases, atol=1e-6)
assert not grade(from_the_contour_line, road_by_search, **cases, atol=1e-6)
assert not grade(to_the_right, road_by_search, **cases, atol=1e-6)
assert not grade(of_length_s, road_by_search, **cases, atol=1e-6)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def by_torch(f, x):  # f of tensors, shape (d,) -> (d,)
    x = tensor(x, requires_grad=True)
    return autograd.grad(f(x), x)[0].numpy()

def height_of_tensors(x):
    u, v = x
    return (1.5 * (-(u - 0.7)**2 / 0.6 - (v - 0.3)**2 / 2).exp()
            + (-(u + 0.9)**2 / 1.6 - (v + 0.6)**2 / 0.5).exp())

def without_the_inner_derivative(x):
    return np.array([sum(hills(x)), sum(hills(x))])

holds(
    'aw.gradients.gradient',
    lambda x: close(gradient(x), by_torch(height_of_tensors, x)) and close(height(x), height_of_tensors(tensor(x))),
    slip=('forgets the derivative of the exponent',
          lambda x: close(without_the_inner_derivative(x), by_torch(height_of_tensors, x))),
    x=vectors(2, -2, 2), tries=60,
)

def agrees(f, x, v):  # the difference quotient errs by h² / 6 times a third derivative, at most 1e-7 here
    partials = np.array([slope(f, x, e) for e in np.eye(2)])
    return close(slope(f, x, v), partials @ v, atol=1e-6)

def dented(x):
    square = x[0] ** 2 + x[1] ** 2
    return x[0] ** 2 * x[1] / square if square > 0 else square

holds(
    'aw.gradients.directional', lambda x, v: agrees(height, x, v),
    slip=('uses the formula where no plane touches f', lambda x, v: agrees(dented, 0 * x, v)),
    x=vectors(2, -2, 2), v=vectors(2, -1, 1), tries=100,
)
verify(
    'slope(f, x, v) is the gradient times v', lambda x, v: close(slope(height, x, v), gradient(x) @ v, atol=1e-6),
    slip=('divides by h in place of 2h', lambda x, v: close(2 * slope(height, x, v), gradient(x) @ v, atol=1e-6)),
    x=vectors(2, -2, 2), v=vectors(2, -1, 1), tries=100,
)
verify(
    'of all directions, that of the gradient is steepest, and those at right angles to it are level',
    lambda a: close(slope(height, p, unit(toward + a)), norm(g) * np.cos(np.radians(a)), atol=1e-6),
    slip=('the sine of the angle',
          lambda a: close(slope(height, p, unit(toward + a)), norm(g) * np.sin(np.radians(a)), atol=1e-6)),
    a=scalars(0, 360), tries=60,
)

# %% [markdown]
# ## Differentiable functions: when partial derivatives are not enough
#
# Equation {eq}`aw.gradients.directional` was justified with "if the ground is nearly a plane". Is this needed? Here is a
# function that is zero on both axes, with the value 0 at the origin:

# %%
def b(x, y):
    return x**2 * y / (x**2 + y**2)

for h in 0.1, 0.01, 0.001:
    print(f'h = {h}: slope along east {b(h, 0) / h:.1f},'
          f' north {b(0, h) / h:.1f}, (1, 1) {b(h, h) / h:.1f}')

# %% [markdown]
# Both partial derivatives at the origin are zero, so the formula promises the slope 0 along $(1, 1)$. But the slope is
# $\tfrac12$, however short the step. No plane touches this function at the origin. The property that we need has a name:
#
# ```{prf:definition} Differentiable
# :label: def-gradients-differentiable
# $f : \mathbb{R}^d \to \mathbb{R}$ is *differentiable* at $\mathbf{x}$ if there is a vector $\mathbf{g}$ such that
#
# $$ f(\mathbf{x} + \mathbf{u}) = f(\mathbf{x}) + \mathbf{g} \cdot \mathbf{u} + r(\mathbf{u}), \qquad
# \frac{r(\mathbf{u})}{\|\mathbf{u}\|} \to 0 \quad \text{as } \mathbf{u} \to \mathbf{0} . $$
# ```
#
# The plane is $f(\mathbf{x}) + \mathbf{g} \cdot \mathbf{u}$, and $r$ is its error. It must be small *compared with the
# distance* $\|\mathbf{u}\|$, from whichever side $\mathbf{u}$ approaches zero. For $b$ it is not: at $\mathbf{u} = (h, h)$
# the error is $h/2$, and the distance is $\sqrt2\,h$.
#
# ````{prf:theorem} All slopes from one vector
# :label: thm-directional
# If $f$ is differentiable at $\mathbf{x}$, then it is continuous there, all partial derivatives exist,
# $\mathbf{g} = \nabla f(\mathbf{x})$, and {eq}`aw.gradients.directional` holds for every $\mathbf{v}$.
# ````
#
# ```{prf:proof}
# :class: dropdown
# $|f(\mathbf{x} + \mathbf{u}) - f(\mathbf{x})| \le \|\mathbf{g}\|\,\|\mathbf{u}\| + |r(\mathbf{u})| \to 0$: continuous.
# Put $\mathbf{u} = h\mathbf{v}$ with $\mathbf{v} \ne \mathbf{0}$. Then
#
# $$ \frac{f(\mathbf{x} + h\mathbf{v}) - f(\mathbf{x})}{h} = \mathbf{g} \cdot \mathbf{v} + \frac{r(h\mathbf{v})}{h} , $$
#
# and the last term has the size $\|\mathbf{v}\| \, |r(h\mathbf{v})| / \|h\mathbf{v}\| \to 0$. So
# $D_{\mathbf{v}} f = \mathbf{g} \cdot \mathbf{v}$. For $\mathbf{v} = \mathbf{e}_i$ this reads $\partial_{x_i} f = g_i$.
# ```
#
# How do we recognize differentiable functions? We measure the largest $|r(\mathbf{u})| / \|\mathbf{u}\|$ on smaller and
# smaller circles around the origin, for three functions whose partial derivatives there are zero:

# %%
functions = {
    'xy / (x² + y²)': lambda x, y: x * y / (x**2 + y**2),
    'x²y / (x² + y²)': b,
    'xy': lambda x, y: x * y,
}
angle = np.radians(np.arange(0, 360, 0.5))
for name, f in functions.items():
    worst = [abs(f(r * np.cos(angle), r * np.sin(angle))).max() / r
             for r in (0.1, 0.01, 0.001)]
    print(f'{name:15}', *(f'{value:10.4f}' for value in worst))

# %% [markdown]
# The quotient must tend to zero. Only the last function passes, so it is differentiable at the origin. The second is
# continuous but not differentiable. The first is not even continuous: on the diagonal $x = y$ it has the value $\tfrac12$,
# however close to the origin.
#
# We seldom have to do this. There is a simple criterion, and formulas made of polynomials, roots, exponentials and sines
# meet it wherever no denominator and no argument of a root is zero.
#
# ```{prf:theorem} Continuous partial derivatives suffice
# :label: thm-c1
# If all partial derivatives of $f$ exist near $\mathbf{x}$ and are continuous at $\mathbf{x}$, then $f$ is differentiable
# at $\mathbf{x}$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Walk from $\mathbf{x}$ to $\mathbf{x} + \mathbf{u}$ along the axes, one coordinate after the other. On leg $i$ only $x_i$
# changes, so the mean value theorem of one variable gives a point $\boldsymbol\xi_i$ on it where the change is
# $\partial_{x_i} f(\boldsymbol\xi_i)\, u_i$. Add the legs:
#
# $$ f(\mathbf{x} + \mathbf{u}) - f(\mathbf{x}) - \nabla f(\mathbf{x}) \cdot \mathbf{u}
# = \sum_{i=1}^d \big( \partial_{x_i} f(\boldsymbol\xi_i) - \partial_{x_i} f(\mathbf{x}) \big)\, u_i . $$
#
# As $\mathbf{u} \to \mathbf{0}$ all $\boldsymbol\xi_i$ tend to $\mathbf{x}$ and the brackets to 0. Since
# $|u_i| \le \|\mathbf{u}\|$, the sum is at most $\|\mathbf{u}\|$ times the sum of the sizes of the brackets.
# ```
#
# A network with smooth activations is therefore differentiable everywhere. The function $\operatorname{relu}(x) = \max(x,
# 0)$ has a kink at
# 0. There it has no derivative, and PyTorch uses the convention $\operatorname{relu}'(0) = 0$.
#
# ```{exercise} ★★ Pencil: how smooth at the origin?
# :label: gradients-smooth
# Let $f = |x|^\alpha |y|^\beta / (x^2 + y^2)$ with $\alpha, \beta > 0$, and $f(0, 0) = 0$. Write
# `smoothness(alpha, beta)`: 0 if $f$ is not continuous at the origin, 1 if it is continuous but not differentiable, 2 if
# it is differentiable.
# ```

# %%
def smoothness(alpha, beta):
    """0, 1 or 2; alpha and beta are positive floats.

    smoothness(2.0, 2.0) is 2.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def smoothness_measured(alpha, beta):
    t = np.linspace(0, np.pi / 2, 501)
    far, near = (((r * np.cos(t)) ** alpha * (r * np.sin(t)) ** beta / r**2).max() for r in (1e-2, 1e-8))
    if near > 0.99 * far:
        return 0
    return 1 if near / 1e-8 > 0.99 * far / 1e-2 else 2

exponents = on(1.0, 0.5, 1.5, 2.0, 3.0, 0.01, 4.0)
cases = dict(alpha=exponents, beta=exponents | on(0.25, 2.5, 1.99, 2.01))
grade(smoothness, smoothness_measured, **cases)

# %% [markdown]
# ```{solution-start} gradients-smooth
# :class: dropdown
# ```
# In polar coordinates $f = \rho^{\alpha + \beta - 2} |\cos\varphi|^\alpha |\sin\varphi|^\beta$, so the largest value on a
# circle is a constant times $\rho^{\alpha + \beta - 2}$. It tends to 0 if and only if $\alpha + \beta > 2$. Both partial
# derivatives at the origin are 0, hence $r = f$, and $\max |r| / \rho$ tends to 0 if and only if $\alpha + \beta > 3$. Of the
# wrong answers, the first counts partial derivatives and calls everything continuous differentiable, the second includes both
# boundaries, and the third ignores $\beta$.

# %% jupyter={"source_hidden": true}
def smoothness_solution(alpha, beta):
    return int(alpha + beta > 2) + int(alpha + beta > 3)

def by_partials(alpha, beta):
    return 2 if alpha + beta > 2 else 0

def with_boundaries(alpha, beta):
    return int(alpha + beta >= 2) + int(alpha + beta >= 3)

def alpha_alone(alpha, beta):
    return int(alpha > 1) + int(alpha > 1.5)

assert grade(smoothness_solution, smoothness_measured, **cases)
assert not grade(by_partials, smoothness_measured, **cases)
assert not grade(with_boundaries, smoothness_measured, **cases)
assert not grade(alpha_alone, smoothness_measured, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def largest(f, r, turns=angle):
    return abs(f(r * np.cos(turns), r * np.sin(turns))).max() / r

def goes_like(name, power, r):  # f is homogeneous, so the largest quotient is a power of r
    return close(largest(functions[name], r / 10) / largest(functions[name], r), 10.0**-power)

verify(
    'largest error over distance: only xy tends to zero',
    lambda pair, r: goes_like(*pair, r),
    slip=('one power more', lambda pair, r: goes_like(pair[0], pair[1] + 1, r)),
    pair=[('xy / (x² + y²)', -1), ('x²y / (x² + y²)', 0), ('xy', 1)], r=[0.1, 0.01, 0.001],
)
verify(
    'the slope of x²y / (x² + y²) at the origin along v is its value at v',
    lambda v, h: close(b(*(h * v)) / h, b(*v)), slip=('the gradient zero times v', lambda v, h: close(b(*(h * v)) / h, 0)),
    v=vectors(2).filter(np.any), h=[0.1, 0.001],
)

# %% [markdown]
# ## Finite differences and the best step size
#
# Often there is no formula: a simulation, an instrument or a program gives us only values. Then we take a **finite
# difference**,
#
# $$ \text{forward} \quad \frac{f(x + h) - f(x)}{h} \qquad\text{or central}\quad \frac{f(x + h) - f(x - h)}{2h} . $$
#
# The definition of the derivative asks for an $h$ as small as possible. We try it for $f(x) = 1/(1 + x^2)$, whose derivative
# is $-2x f(x)^2$, at many points between 0.5 and 1:

# %%
def forward(f, x, h):
    return (f(x + h) - f(x)) / h

def central(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h)

def bell(x):
    return 1 / (1 + x * x)

def typical_error(quotient, h):
    x = np.linspace(0.5, 1, 500)
    gaps = quotient(bell, x, h) + 2 * x * bell(x) ** 2
    return np.sqrt((gaps**2).mean())

# %%
print('   h     forward   central')
for h in 1e-1, 1e-3, 1e-5, 1e-8, 1e-11, 1e-14:
    print(f'{h:.0e}   {typical_error(forward, h):.1e}'
          f'   {typical_error(central, h):.1e}')

# %% [markdown]
# The errors, root mean squares over the points, first fall and then rise again. A computer stores about 16 digits of each
# value. As $h$ shrinks, the two values agree in more and more of these digits, the subtraction cancels them, and the
# division by $h$ magnifies what is left, the rounding errors. A large $h$ neglects the curvature of $f$, and a small one
# magnifies rounding. In between lies a best step:
#
# ```{prf:theorem} The best step
# :label: thm-best-step
# Let each computed value of $f$ be off by at most $\delta$, and let $|f''| \le M_2$, $|f'''| \le M_3$ between the points
# used. Then the errors of the quotients are at most
#
# $$ E_1(h) = \tfrac12 M_2 h + \frac{2\delta}{h} \ \text{ (forward)}, \qquad
# E_2(h) = \tfrac16 M_3 h^2 + \frac{\delta}{h} \ \text{ (central)} , $$
#
# and these bounds are smallest at
#
# $$ \begin{aligned}
# h_1 &= 2 \sqrt{\delta / M_2}, & E_1(h_1) &= 2 \sqrt{\delta M_2}; \\
# h_2 &= \sqrt[3]{3 \delta / M_3}, & E_2(h_2) &= \tfrac12 \sqrt[3]{9\, \delta^2 M_3} .
# \end{aligned} $$
# ```
#
# The first term of each bound is the part of the Taylor series that the quotient neglects, which grows with $h$. The second
# is the noise in the values, which grows with $1/h$.
#
# ```{prf:proof}
# :class: dropdown
# Taylor: $f(x + h) = f(x) + h f'(x) + \tfrac12 h^2 f''(\xi)$, so the exact forward quotient is off by
# $\tfrac12 h\, |f''(\xi)|$. For the central one,
# $f(x \pm h) = f(x) \pm h f'(x) + \tfrac12 h^2 f''(x) \pm \tfrac16 h^3 f'''(\xi_\pm)$.
# In the difference the even terms drop out, and what is left is $\tfrac16 h^2$ times the mean of two values of $f'''$. Two
# wrong values shift the numerators by at most $2\delta$. Finally $A h^p + B/h$ has the derivative $p A h^{p-1} - B/h^2$,
# zero at $h^{p+1} = B/(pA)$ and only there; put in $p = 1$ and $p = 2$.
# ```
#
# For our $f$ we have $|f''| \le 2$ and $|f'''| \le 4.7$. Each value takes three rounded operations, so in double precision
# $\delta \approx 3 \cdot 10^{-16}$. Rounding is just one kind of noise. An instrument that shows three decimals has
# $\delta = 0.0005$, and the theorem says how far apart two readings should be:

# %%
for delta in 3.3e-16, 5e-4, 1.8e-7:
    central_error = (9 * 4.7 * delta**2) ** (1 / 3) / 2
    print(f'noise {delta:.1e}: step forward {2 * (delta / 2) ** 0.5:.1e},'
          f' central {(3 * delta / 4.7) ** (1 / 3):.1e},'
          f' error {central_error:.1e}')

# %% [markdown]
# The error is the bound for the central difference. In double precision, the best forward step is about $2.6 \cdot 10^{-8}$,
# and half of the digits are lost. The best central step is about $5.9 \cdot 10^{-6}$, and a third of them are lost. The
# third line is for single precision: even the best central error is too large to judge a gradient by.

# %% mystnb={"image": {"alt": "Error against step on logarithmic axes. Two V-shaped curves of dots: the error of the forward difference falls with the step and soon rises again; that of the central difference falls twice as steeply to a lower minimum. Thin lines of the bounds lie above the dots."}} tags=["hide-input"]
steps = 10.0 ** -np.arange(0, 15.1, 0.5)
delta = 3.3e-16
fig, ax = plt.subplots(figsize=(6, 3))
bounds = steps + 2 * delta / steps, 4.7 / 6 * steps**2 + delta / steps
for i, (quotient, bound) in enumerate(zip((forward, central), bounds)):
    ax.loglog(steps, [typical_error(quotient, h) for h in steps], 'o', ms=3, color=f'C{i}')
    ax.loglog(steps, bound, color=f'C{i}', lw=1)
ax.text(3e-6, 2e-5, 'forward', color='C0', ha='right')
ax.text(3e-4, 1e-10, 'central', color='C1')
ax.set(xlabel='step h', ylabel='error', ylim=(1e-13, 10));

# %% [markdown] tags=["caption"]
# The typical error of a finite difference (dots) and the bound of the theorem (lines). Left of the best step rounding rules,
# right of it the curvature.

# %% [markdown]
# A gradient needs one quotient for each of the $d$ entries, $2d$ values of $f$ in all. The step must grow with $x_i$,
# because otherwise $x_i + h$ is rounded back to $x_i$. We take $h_i = \varepsilon^{1/3} \max(1, |x_i|)$, where $\varepsilon$
# is the distance from 1 to the next number of the type of $\mathbf{x}$:

# %%
def numerical_gradient(f, x):
    """The gradient of f at the array x (d,), by central differences."""
    result = np.empty_like(x)
    for i in range(len(x)):
        step = np.zeros_like(x)
        step[i] = np.finfo(x.dtype).eps ** (1 / 3) * max(1, abs(x[i]))
        rise = f(x + step) - f(x - step)
        result[i] = rise / (2 * step[i])
    return result

print('numerical:', numerical_gradient(height, p).round(6))
print('formula:  ', gradient(p).round(6))

# %% [markdown]
# SciPy has the forward version, `scipy.optimize.approx_fprime(x, f)`. [Automatic
# differentiation](automatic_differentiation.ipynb) needs no step and keeps nearly all digits. Finite differences remain
# useful to test it.
#
# ```{exercise} ★ Experiment: which difference is best?
# :label: gradients-best
# Four programs estimate the derivative of our $f$: (a) forward with $h = 10^{-3}$, (b) central with $h = 10^{-3}$, (c)
# central with $h = 10^{-5}$, (d) central with $h = 10^{-11}$. First predict: return the four letters, the most exact first.
# Then measure with `typical_error` and explain.
# ```

# %%
def predicted_order():
    """The letters a, b, c, d, the most exact first: a str such as 'abcd'."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def is_measured(order):
    measured = dict(a=typical_error(forward, 1e-3), b=typical_error(central, 1e-3),
                    c=typical_error(central, 1e-5), d=typical_error(central, 1e-11))
    if sorted(order) != sorted(measured):
        raise ValueError('name each of the letters a, b, c and d once')
    if list(order) != sorted(measured, key=measured.get):
        raise ValueError('another order is measured; run the four and compare')
    return True

grade(lambda: is_measured(predicted_order()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} gradients-best
# :class: dropdown
# ```
# By the theorem, (c) is near the best step, (b) errs by a multiple of $h^2$, (d) by about $\delta/h$, and (a) by a multiple
# of $h$, which is largest. So a central difference with a step that is a million times too small is still better than a
# forward difference with a step that looks reasonable.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured('cbda'), lambda: True, [()])
assert not grade(lambda: is_measured('dcba'), lambda: True, [()])  # the smaller the step, the better
assert not grade(lambda: is_measured('cbad'), lambda: True, [()])  # tiny steps are worst of all
assert not grade(lambda: is_measured('bcda'), lambda: True, [()])  # takes 1e-3 for better than 1e-5
assert not grade(lambda: is_measured('cbbd'), lambda: True, [()])  # one letter twice
for quotient, h in (forward, 1e-3), (central, 1e-3), (central, 1e-5), (central, 1e-11):
    print(f'{quotient.__name__:7} h = {h:.0e}: {typical_error(quotient, h):.1e}')

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Pencil: Richardson extrapolation
# :label: gradients-richardson
# Let $D(h)$ be the central difference. Its error is $c_2 h^2 + c_4 h^4 + \cdots$ with constants that do not depend on $h$.
# In **Richardson extrapolation**, $D(h)$ and $D(2h)$ are combined so that $h^2$ cancels. Write it as `extrapolated(f, x,
# h)`, with at most four values of $f$. For polynomials up to degree 4 nothing is left but rounding.
# ```

# %%
def extrapolated(f, x, h):
    """The estimate of the derivative of f at x: a float.

    f takes and gives floats; x and h > 0 are floats.
    extrapolated(lambda x: x**3, 0.0, 1.0) is 0.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def polynomial(coefficients):  # of degree 5 or less; four values may be taken
    def f(x):
        return np.polyval(coefficients, x)

    f.coefficients = coefficients
    f.__name__ = f'polynomial{tuple(coefficients.tolist())}'
    return counted(f, 4)

def slope_and_next_term(f, x, h):  # of x^5, D(h) is 5 x^4 + 10 x² h² + h^4
    c = f.function.coefficients
    return np.polyval(np.polyder(c), x) - 4 * c[0] * h**4

cases = dict(f=vectors(6, -4, 4, edges=True).map(polynomial), x=scalars(-2, 2), h=on(1.0, 0.25) | scalars(0.05, 1))
grade(extrapolated, slope_and_next_term, **cases)

# %% [markdown]
# ```{solution-start} gradients-richardson
# :class: dropdown
# ```
# $D(2h)$ has four times the leading error, so $\big( 4 D(h) - D(2h) \big) / 3$ is free of it. Of the wrong answers, the
# first would be right for the forward difference, whose error starts with $h$, the second takes the plain central
# difference, and the third the one with the step $2h$ for half.

# %% jupyter={"source_hidden": true}
def extrapolated_solution(f, x, h):
    return (4 * central(f, x, h) - central(f, x, 2 * h)) / 3

def for_order_one(f, x, h):
    return 2 * central(f, x, h) - central(f, x, 2 * h)

def plain(f, x, h):
    return central(f, x, h)

def with_half_the_step(f, x, h):
    return (4 * central(f, x, 2 * h) - central(f, x, h)) / 3

assert grade(extrapolated_solution, slope_and_next_term, **cases)
assert not grade(for_order_one, slope_and_next_term, **cases)
assert not grade(plain, slope_and_next_term, **cases)
assert not grade(with_half_the_step, slope_and_next_term, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def error_of(name, h):
    return typical_error({"forward": forward, "central": central}[name], h)

def rises_as(quotient, h, ratio, share):  # far from rounding, and far from curvature
    return 0.8 * ratio < error_of(quotient, h * share) / error_of(quotient, h) < 1.25 * ratio

verify(
    'the error of the forward difference is of order h, of the central one h²; both grow like 1/h below the best step',
    lambda case: rises_as(*case, 10), slip=('exchanges 10 and 100', lambda case: rises_as(*case[:2], 1000 / case[2], 10)),
    case=[('forward', 1e-4, 10), ('central', 1e-4, 100)],
)
verify(
    'the best steps of the theorem reach the errors that it promises',
    lambda case: error_of(*case[:2]) <= case[2],
    slip=('a thousandth of the step', lambda case: error_of(case[0], case[1] / 1000) <= case[2]),
    case=[('forward', 2.6e-8, 2 * (2 * 3.3e-16) ** 0.5),
          ('central', 6e-6, 0.5 * (9 * 4.7 * 3.3e-16**2) ** (1 / 3))],
)
verify(
    'numerical gradients agree with autograd to 1e-8',
    lambda x: close(numerical_gradient(height, x), by_torch(height_of_tensors, x), atol=1e-8),
    slip=('takes forward differences', lambda x: close([(height(x + 1e-5 * e) - height(x)) / 1e-5 for e in np.eye(2)],
                                       by_torch(height_of_tensors, x), atol=1e-8)),
    x=vectors(2, -2, 2), tries=60,
)

# %% [markdown]
# ## Gradient checking: one random direction is enough
#
# Suppose that you have derived the gradient of a loss by hand. Is it right? The data are 300 handwritten digits. The rows of
# $\mathbf{X} \sim (300, 65)$ are the pixels and a one. The weights $\mathbf{W} \sim (65, 10)$ give each digit ten scores
# $\mathbf{P} = \sigma(\mathbf{X}\mathbf{W})$, entry by entry with $\sigma(a) = 1/(1 + e^{-a})$. They should be near the rows
# of $\mathbf{Y}$, which have a one at the label and zeros elsewhere. The loss is the mean squared distance plus a small
# penalty for large weights:

# %%
pixels, label, _ = data.digits()
X = np.column_stack([pixels, np.ones(len(pixels))])[:300]
Y, lam = np.eye(10)[label[:300]], 1e-3

def scores(W):
    return 1 / (1 + np.exp(-X @ W))  # (300, 10)

def loss(W):
    return ((scores(W) - Y) ** 2).sum() / 300 + lam * (W**2).sum()

# %% [markdown]
# By hand we find, with $\odot$ for the product entry by entry,
#
# $$ \nabla L = \tfrac{2}{300}\, \mathbf{X}^\top \big( (\mathbf{P} - \mathbf{Y}) \odot \mathbf{P} \odot (\mathbf{1} - \mathbf{P}) \big) + 2\lambda \mathbf{W} . $$
#
# We make three mistakes on purpose, from gross to delicate: the derivative $\mathbf{P} \odot (\mathbf{1} - \mathbf{P})$ of
# $\sigma$ is forgotten, the penalty is forgotten, and one entry of 650, the largest, is one per cent too large.

# %%
W = 0.1 * np.random.default_rng(0).normal(size=(65, 10))
P = scores(W)
print(W.size, 'weights')
right = X.T @ ((P - Y) * P * (1 - P)) / 150 + 2 * lam * W
one_entry = right.copy()
one_entry.flat[abs(right).argmax()] *= 1.01
answers = {
    'right': right,
    'no σ′': X.T @ (P - Y) / 150 + 2 * lam * W,
    'no penalty': right - 2 * lam * W,
    'one entry': one_entry,
}

# %% [markdown]
# A numerical gradient would take $2 \cdot 650$ values of the loss. But {eq}`aw.gradients.directional` needs only *two*,
# whatever the number of weights. This is a **gradient check**. We draw a random direction $\mathbf{V}$ and compare the
# measured slope with the dot product of $\mathbf{V}$ and the gradient:

# %%
V = np.random.default_rng(1).normal(size=W.shape)
measured = slope(loss, W, V)
for name, answer in answers.items():
    print(f'{name:11} gradient · V {(answer * V).sum():10.6f},'
          f' measured {measured:9.6f}')

# %% [markdown]
# All three mistakes are visible. Can a wrong gradient be missed by bad luck? Let $\boldsymbol\delta$ be its error. Then we
# see $\boldsymbol\delta \cdot \mathbf{v}$. If the entries of $\mathbf{v}$ are standard normal, this number is normal with
# mean 0 and standard deviation $\|\boldsymbol\delta\|$. The density of the standard normal distribution is at most
# $1/\sqrt{2\pi}$, so
#
# ```{math}
# :label: gradients-random
# \mathbb{P}\big( |\boldsymbol\delta \cdot \mathbf{v}| \le t\, \|\boldsymbol\delta\| \big) \le \sqrt{2/\pi}\; t .
# ```
#
# For example, less than a hundredth of the true error is seen with a probability below $0.01\sqrt{2/\pi} \approx 0.008$. We
# repeat this with 200 directions. A gradient is rejected if the two numbers differ by more than $10^{-8}$:

# %%
directions = np.random.default_rng(2).normal(size=(200, 65, 10))
slopes = np.array([slope(loss, W, V) for V in directions])
for name, answer in answers.items():
    gap = abs(slopes - (answer * directions).sum((1, 2)))
    print(f'{name:11} rejected by {(gap > 1e-8).sum():3} of 200 directions')

# %% [markdown]
# ```{admonition} A tempting mistake
# :class: tip
# A check with a step that is too small rejects the right gradient, too. With $h = 10^{-12}$ instead of $10^{-5}$ the gaps of
# the right gradient are thousands of times larger, as the cell below shows. Before you search for an error in your formula,
# try other steps.
# ```

# %%
def typical_gap(h):  # of the right gradient
    gaps = [slope(loss, W, V, h) - (right * V).sum() for V in directions]
    return np.sqrt(np.mean(np.square(gaps)))

print(f'h = 1e-2:  typical gap {typical_gap(1e-2):.2e}')
print('h = 1e-5:  typical gap', below(typical_gap(1e-5), 1e-8))
print('h = 1e-12: typical gap', between(typical_gap(1e-12), 1e-5, 1e-2))

# %% [markdown]
# In PyTorch, `torch.autograd.gradcheck(f, inputs)` compares autograd with finite differences in this way. It wants inputs in
# double precision. With `fast_mode=True` it takes random directions, too.
#
# The shape of a derivative depends on what goes in and what comes out. The next sections take them one by one:
#
# | function | derivative | shape | section |
# |---|---|---|---|
# | $\mathbb{R}^d \to \mathbb{R}$ | gradient | `(d,)` | this one |
# | $\mathbb{R}^d \to \mathbb{R}^c$ | Jacobian | `(c, d)` | [Jacobians](jacobians.ipynb) |
# | $\mathbb{R}^{m \times n} \to \mathbb{R}$ | matrix derivative | `(m, n)` | [Matrix derivatives](matrix_derivatives.ipynb) |
# | $\mathbb{R}^d \to \mathbb{R}^c \to \mathbb{R}^b$ | product of Jacobians | `(b, d)` | [The chain rule](chain_rule.ipynb) |
#
# ```{exercise} ★★★ Pencil: a gradient from one slope
# :label: gradients-forward
# Draw each entry of $\mathbf{v}$ as $+1$ or $-1$ by a fair coin. Show that $(\mathbf{g} \cdot \mathbf{v})\, \mathbf{v}$,
# which needs a single directional derivative, equals the gradient $\mathbf{g}$ on average. Write `mean_squared_error(g)`:
# the mean of $\|(\mathbf{g} \cdot \mathbf{v})\, \mathbf{v} - \mathbf{g}\|^2$ over all signs, by a formula.
# ```

# %%
def mean_squared_error(g):
    """The mean over all signs: a float; g is an array of shape (d,), d >= 1.

    mean_squared_error(np.array([5.0])) is 0.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def over_all_signs(g):
    v = np.array(list(product([-1, 1], repeat=len(g))))  # (2^d, d)
    return (((v @ g)[:, None] * v - g) ** 2).sum(1).mean()

cases = dict(g=vectors((1, 8), edges=True))
grade(mean_squared_error, over_all_signs, lines=9, **cases)

# %% [markdown]
# ```{solution-start} gradients-forward
# :class: dropdown
# ```
# $\mathbb{E}[v_i v_j] = 1$ for $i = j$ and 0 otherwise, so $\mathbb{E}[(\mathbf{g} \cdot \mathbf{v})\, v_i] = \sum_j g_j
# \mathbb{E}[v_j v_i] = g_i$. Since $\|\mathbf{v}\|^2 = d$, the mean square of the estimate is $d\, \mathbb{E}[(\mathbf{g}
# \cdot \mathbf{v})^2] = d \|\mathbf{g}\|^2$, and the squared mean is to be subtracted: $(d - 1) \|\mathbf{g}\|^2$. To bring
# the error down to the size of the gradient one must average about $d$ such estimates, as many evaluations as differences
# take. One direction is enough to *check* a gradient, not to replace it {cite}`baydin2022gradients`. Of the wrong answers,
# the first forgets the squared mean, the second is for entries of the normal distribution, and the third forgets the length
# of $\mathbf{v}$.

# %% jupyter={"source_hidden": true}
def mean_squared_error_solution(g):
    return (len(g) - 1) * (g @ g)

def mean_square(g):
    return len(g) * (g @ g)

def for_normal_entries(g):
    return (len(g) + 1) * (g @ g)

def for_one_dimension(g):
    return 0.0 * (g @ g)

assert grade(mean_squared_error_solution, over_all_signs, lines=9, **cases)
assert not grade(mean_square, over_all_signs, lines=9, **cases)
assert not grade(for_normal_entries, over_all_signs, lines=9, **cases)
assert not grade(for_one_dimension, over_all_signs, lines=9, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def loss_of_tensors(W):
    P = (tensor(X) @ W).sigmoid()
    return ((P - tensor(Y)) ** 2).sum() / 300 + lam * (W**2).sum()

verify(
    'of the four gradients, the first alone is that of the loss',
    lambda name: close(answers[name], by_torch(loss_of_tensors, W)) == (name == 'right'),
    slip=('takes one entry for right',
          lambda name: close(answers[name], by_torch(loss_of_tensors, W)) == (name == 'one entry')),
    name=[*answers],
)

def rejections(name, h, least):
    gap = [abs(slope(loss, W, V, h) - (answers[name] * V).sum()) for V in directions]
    return np.mean(np.array(gap) > least)

verify(
    'nearly every direction rejects a wrong gradient, and none the right one',
    lambda name: rejections(name, 1e-5, 1e-8) > 0.98 if name != 'right' else rejections(name, 1e-5, 1e-8) == 0,
    slip=('with the step 1e-12', lambda name: (rejections(name, 1e-12, 1e-8) > 0.98) == (name != 'right')),
    name=[*answers],
)

# %% [markdown]
# ## Summary
#
# Where a function is differentiable, the slope in every direction is the dot product of the gradient and the direction. The
# gradient points in the direction of steepest ascent, at right angles to the contour lines. Partial derivatives alone
# guarantee none of this, and continuous partial derivatives guarantee all of it. Finite differences have a best step, near
# $10^{-8}$ for forward and $10^{-5}$ for central ones in double precision, and two values of a loss along one random
# direction are enough to test a gradient that was derived by hand.
#
# **Further reading.** {cite}`rudin1976principles` has the calculus of several variables with all proofs,
# {cite}`nocedal2006numerical` finite differences in optimization, and {cite}`griewank2008evaluating` derivatives of programs.
