# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Gradients and directional derivatives
#
# - **Question.** A function of many variables has a slope in every direction. Which list of numbers determines all these
#   slopes, when does it fail to, and how can we compute it from values of the function alone?
# - **You need** derivatives of functions of one variable, [dot products](../linear_algebra/dot_products.ipynb) and the
#   length of a [vector](../linear_algebra/norms.ipynb).
# - **You build** directional derivatives, four ways to get a slope from values alone with the best step for each, and a
#   gradient check that finds one wrong entry among hundreds from two values of the loss.
# - **Time** 9 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from fractions import Fraction
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
import torch
from scipy.integrate import quad
from scipy.optimize import brentq

from nbutils.cases import vectors
from nbutils.checks import below, close, grade, holds
from nbutils.data import digits
from nbutils.figures import GREY, panels
from nbutils.timing import seconds

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Gradient and directional derivatives: the slope in every direction
#
# You stand on a hillside. One step east lifts you by 30 centimetres, one step north by 40. How much does a step to the
# north-east lift you, and which way is steepest? If the ground near you is nearly a plane, the two numbers answer
# every such question. Slopes along the axes are *partial derivatives*,
#
# $$ \partial_{x_i} f(\mathbf{x}) = \lim_{h \to 0} \frac{f(\mathbf{x} + h\,\mathbf{e}_i) - f(\mathbf{x})}{h} , $$
#
# ordinary derivatives in $x_i$ while the other variables stand still. The list of them is the *gradient*:
#
# ```{math}
# :label: aw.gradients.gradient
# \nabla f(\mathbf{x}) =
# \begin{bmatrix} \partial_{x_1} f(\mathbf{x}) \\ \vdots \\ \partial_{x_d} f(\mathbf{x}) \end{bmatrix}
# ```
#
# It has as many entries as $\mathbf{x}$, so its shape is `(d,)`. Some authors write $\partial f(\mathbf{x})$ for it. We
# keep this name for the [Jacobian](jacobians.ipynb), which for a single output is the *row* $\nabla f^\top$. For
# $f = x_1^2 x_2 + \sin(x_2 x_3)$ the rules of differentiation give
# $\nabla f = (2 x_1 x_2,\; x_1^2 + x_3 \cos(x_2 x_3),\; x_2 \cos(x_2 x_3))$. Do not forget the factors $x_3$ and $x_2$,
# which come from inside the sine. Torch needs only the program of $f$:

# %%
def f(x):
    return x[0]**2 * x[1] + torch.sin(x[1] * x[2])

def by_torch(f, x):  # shape (d,) -> (d,)
    x = torch.tensor(x, requires_grad=True)
    return torch.autograd.grad(f(x), x)[0]

a, b, c = point = [1., 2., -1.]
formula = 2 * a * b, a**2 + c * np.cos(b * c), b * np.cos(b * c)
print('torch:  ', by_torch(f, point).numpy().round(3))
print('formula:', np.round(formula, 3))

# %% [markdown]
# A gradient has one slope for each axis, but there are infinitely many directions. The slopes in all of them are tied
# together if the ground is nearly flat when seen from close by. This property has a name:
#
# ```{prf:definition} Differentiable
# :label: def-gradients-differentiable
# $f : \mathbb{R}^d \to \mathbb{R}$ is *differentiable* at $\mathbf{x}$ if there is a vector $\mathbf{g}$ such that
#
# $$ f(\mathbf{x} + \mathbf{u}) = f(\mathbf{x}) + \mathbf{g} \cdot \mathbf{u} + r(\mathbf{u}), \qquad
# \frac{r(\mathbf{u})}{\|\mathbf{u}\|} \to 0 \quad \text{as } \mathbf{u} \to \mathbf{0} . $$
# ```
#
# The error $r$ of the plane must be small *compared with the distance*, from whichever side and along whichever path
# $\mathbf{u}$ approaches zero. The slope along any vector $\mathbf{v}$ is the *directional derivative*
# $D_{\mathbf{v}} f(\mathbf{x}) = \lim_{h \to 0} \frac1h \big( f(\mathbf{x} + h\mathbf{v}) - f(\mathbf{x}) \big)$.
#
# ````{prf:theorem} All slopes from one vector
# :label: thm-directional
# If $f$ is differentiable at $\mathbf{x}$, then it is continuous there, all partial derivatives exist,
# $\mathbf{g} = \nabla f(\mathbf{x})$, and for every $\mathbf{v}$
#
# ```{math}
# :label: aw.gradients.directional
# D_{\mathbf{v}} f(\mathbf{x}) = \nabla f(\mathbf{x}) \cdot \mathbf{v} .
# ```
# ````
#
# ```{prf:proof}
# $|f(\mathbf{x} + \mathbf{u}) - f(\mathbf{x})| \le \|\mathbf{g}\|\,\|\mathbf{u}\| + |r(\mathbf{u})| \to 0$: continuous.
# Put $\mathbf{u} = h\mathbf{v}$ with $\mathbf{v} \ne \mathbf{0}$. Then
#
# $$ \frac{f(\mathbf{x} + h\mathbf{v}) - f(\mathbf{x})}{h} = \mathbf{g} \cdot \mathbf{v} + \frac{r(h\mathbf{v})}{h} , $$
#
# and the last term has the size $\|\mathbf{v}\| \, |r(h\mathbf{v})| / \|h\mathbf{v}\| \to 0$. So
# $D_{\mathbf{v}} f = \mathbf{g} \cdot \mathbf{v}$. For $\mathbf{v} = \mathbf{e}_i$ this reads $\partial_{x_i} f = g_i$.
# ```
#
# The word *differentiable* is needed: $x_1^2 x_2 / (x_1^2 + x_2^2)$, with the value zero at the origin, has a slope in every
# direction there, and the formula gets most of them wrong. The next part shows why. For the smooth $f$ above, the difference
# quotients along $\mathbf{v} = (0.5, -1, 2)$ approach $\nabla f \cdot \mathbf{v}$:

# %%
x, v = torch.tensor([1., 2., -1.]), torch.tensor([0.5, -1., 2.])
_, forward = torch.func.jvp(f, (x,), (v,))  # torch's own D_v f
product_ = by_torch(f, x.tolist()) @ v
print(f'gradient times v {product_:.4f}, torch.func.jvp {forward:.4f}')
for h in (1e-1, 1e-2, 1e-3):
    quotient = (f(x + h * v) - f(x)) / h
    print(f'h = {h:5}: quotient off by {abs(quotient - forward):.5f}')

# %% [markdown]
# With a tenth of $h$ the error is a tenth, too, and the limit is what torch computes without any $h$.
#
# **The direction of steepest ascent.** The vector $\mathbf{v}$ may have any length, and $D_{2\mathbf{v}} f = 2
# D_{\mathbf{v}} f$. It is a *slope*, a rise per unit of distance, only if $\|\mathbf{v}\| = 1$. Then, with the angle
# $\theta$ between $\mathbf{v}$ and the gradient,
#
# ```{math}
# :label: gradients-cosine
# D_{\mathbf{v}} f(\mathbf{x}) = \|\nabla f(\mathbf{x})\| \cos\theta .
# ```
#
# So the gradient, where it is not zero, points in the direction of steepest ascent, and its length is the slope in that
# direction. The opposite direction is the one of steepest descent, and at right angles to both the ground is level. On the
# hillside $\nabla f = (0.3, 0.4)$
# has length 0.5, and a step to the north-east climbs $(0.3 + 0.4)/\sqrt2 \approx 0.49$, almost as much. Near its
# maximum a cosine is flat: a direction that is off by 25 degrees still has nine tenths of the slope. That is one reason why
# training works with inexact gradients.

# %%
def height(x, y):  # two hills
    return (1.5 * np.exp(-(x - 0.7)**2 / 0.6 - (y - 0.3)**2 / 2)
            + np.exp(-(x + 0.9)**2 / 1.6 - (y + 0.6)**2 / 0.5))

p = np.array([1.1, -0.9])
h = 1e-5
angles = np.linspace(0, 2 * np.pi, 25)
ways = np.stack([np.cos(angles), np.sin(angles)])  # (2, 25)
ahead, behind = (height(*(p[:, None] + s * h * ways)) for s in (1, -1))
slopes = (ahead - behind) / (2 * h)
g = slopes[[0, 6]]  # east and north: angles 0 and 90 degrees
# each slope errs by h² / 6 times a third derivative, and 1e-16 / h
toward = np.arctan2(g[1], g[0])
off = slopes - np.hypot(*g) * np.cos(angles - toward)
print('gradient', g.round(3), 'of length', f'{np.hypot(*g):.3f}')
print('25 measured slopes lie on one cosine up to', below(off, 1e-9))

# %% mystnb={"image": {"alt": "Left: a surface with two hills; at a point on the slope a line leads up the steepest way and a level line crosses it. Right: measured slope against direction of walk, 25 points on a cosine whose top is at the direction of the gradient."}} tags=["hide-input"]
fig = plt.figure(figsize=(6, 2.8))
left = fig.add_subplot(1, 2, 1, projection='3d', computed_zorder=False)
x, y = np.meshgrid(np.linspace(-2, 2, 60), np.linspace(-2, 2, 60))
left.plot_surface(x, y, height(x, y), cmap='viridis', vmin=-0.4, lw=0,
                  rcount=60, ccount=60, antialiased=False,
                  rasterized=True)
unit = g / np.hypot(*g)
up = np.stack([p, p + 0.9 * unit], 1)
level = p[:, None] + np.outer([-unit[1], unit[0]], [-0.8, 0.8])
plane = lambda q: height(*p) + g @ (q - p[:, None]) + 0.03
left.plot(*level, plane(level), color=GREY, lw=2.5)
left.plot(*up, plane(up), color='C1', lw=3)
left.plot(*p, height(*p) + 0.05, 'o', color='C1')
left.view_init(42, -60)
left.set_axis_off()
left.set_box_aspect((1, 1, 0.65), zoom=1.1)
right = fig.add_subplot(1, 2, 2)
t = np.linspace(0, 360, 200)
right.plot(t, np.hypot(*g) * np.cos(np.radians(t) - toward), color=GREY)
right.plot(np.degrees(angles), slopes, 'o')
right.axvline(np.degrees(toward) % 360, color='C1', lw=1.2)
right.text(np.degrees(toward) % 360 + 8, 1.38, 'gradient', color='C1')
right.set(xticks=[0, 90, 180, 270, 360], ylim=(-1.35, 1.6))
right.set(xlabel='direction (degrees from east)', title='Measured slope')
right.axhline(0, color=GREY, lw=0.6);

# %% [markdown] tags=["caption"]
# Where a plane fits the ground, the slopes in all directions lie on one cosine: it is largest in the direction of the
# gradient, and at right angles to the gradient the ground is level.

# %% [markdown]
# ```{exercise} ★ A road up the hill
# :label: gradients-road
# The ground has the gradient `g` (east, north), but a road may climb no steeper than `s`, where $0 < s < \|\mathbf{g}\|$.
# Write `road(g, s)`: the unit vector in which the road climbs with slope exactly `s`, turned to the left of the steepest
# way.
# ```

# %%
def road(g, s):
    raise NotImplementedError('your turn')

# %%
def road_by_search(g, s):  # turn left until the slope is s
    start = np.arctan2(g[1], g[0])
    way = lambda turn: np.array([np.cos(start + turn), np.sin(start + turn)])
    return way(brentq(lambda turn: g @ way(turn) - s, 0, np.pi, xtol=1e-13))

hills = [
    (np.array([0.3, 0.4]), 0.1), (np.array([-1., 0.2]), 0.5),
    (np.array([0., -2.]), 0.12),
]
grade(road, road_by_search, hills)

# %% [markdown]
# ```{solution-start} gradients-road
# :class: dropdown
# ```
# By {eq}`gradients-cosine` the road makes the angle $\theta$ with the gradient, $\cos\theta = s / \|\mathbf{g}\|$. In the
# basis of the unit vector along $\mathbf{g}$ and its left turn, it is $(\cos\theta, \sin\theta)$. The wrong answer measures
# the angle from the level line.

# %% jupyter={"source_hidden": true}
def road_solution(g, s):
    up = g / np.hypot(*g)
    left = np.array([-up[1], up[0]])
    cosine = s / np.hypot(*g)
    return cosine * up + np.sqrt(1 - cosine**2) * left

def from_the_level(g, s):
    up = g / np.hypot(*g)
    left = np.array([-up[1], up[0]])
    sine = s / np.hypot(*g)
    return np.sqrt(1 - sine**2) * up + sine * left

assert grade(road_solution, road_by_search, hills)
assert not grade(from_the_level, road_by_search, hills)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
x1, x2, x3 = variables = sp.symbols('x1:4')
formula = x1**2 * x2 + sp.sin(x2 * x3)
by_sympy = sp.lambdify(variables, [formula.diff(v) for v in variables])
forgetful = sp.lambdify(
    variables, [2 * x1 * x2, x1**2 + sp.cos(x2 * x3), sp.cos(x2 * x3)]
)
holds(
    'aw.gradients.gradient',
    lambda x: close(by_torch(f, x), by_sympy(*x)),
    slip=(
        'forgets the factor from inside the sine',
        lambda x: close(by_torch(f, x), forgetful(*x)),
    ),
    x=vectors(3, -3, 3),
)

def slope(f, x, v, h=1e-5):  # off by at most h² |f‴| / 6, f‴ along v
    return (f(x + h * v) - f(x - h * v)) / (2 * h)

def agrees(f, x, v):
    x, v = torch.tensor(x), torch.tensor(v)
    partials = torch.stack([slope(f, x, e) for e in torch.eye(3)])
    # |f‴| is at most 6 * 3³ + 18³ + 3 * 18² = 6966: off by 1e-7 at most
    return close(slope(f, x, v), partials @ v, atol=1e-6)

def dented(x):
    square = x[0] ** 2 + x[1] ** 2
    return x[0] ** 2 * x[1] / square if square > 0 else square

holds(
    'aw.gradients.directional',
    lambda x, v: agrees(f, x, v),
    slip=(
        'uses the formula where no plane touches f',
        lambda x, v: agrees(dented, 0 * x, v),
    ),
    x=vectors(3, -3, 3),
    v=vectors(3, -3, 3),
    tries=100,
)

# %% [markdown]
# ## Differentiable functions: partial derivatives are not enough
#
# Partial derivatives describe a function along the axes only. Between the axes it may do something else. Here are four
# functions, all zero at the origin and on both axes, so that both partial derivatives are 0 and the list of them is $(0,
# 0)$. Only the last one is differentiable.
#
# - $a = \dfrac{xy}{x^2 + y^2}$ is not even continuous: on the diagonal $x = y$ it is $\tfrac12$, however close to the
#   origin.
# - $b = \dfrac{x^2 y}{x^2 + y^2}$ is continuous, for $|b| \le |y|$, and has a slope in every direction,
#   $D_{\mathbf{v}} b = b(\mathbf{v})$. But this is not linear in $\mathbf{v}$: along $(1, 1)$ it is $\tfrac12$, and the
#   formula says 0.
# - $c = \dfrac{x^3 y}{x^4 + y^2}$ is continuous, for $2 x^2 |y| \le x^4 + y^2$ gives $|c| \le |x|/2$. Along every straight
#   line its slope is $\lim_{h \to 0} \frac{h\, v_1^3 v_2}{h^2 v_1^4 + v_2^2} = 0$. So {eq}`aw.gradients.directional` holds
#   for *all* $\mathbf{v}$. Still there is no tangent plane: on the parabola $y = x^2$, $c = x/2$, which is not small
#   compared with the distance.
# - $s = xy$ is differentiable, since $|xy| \le \tfrac12 (x^2 + y^2)$ vanishes faster than the distance.
#
# We can measure what {prf:ref}`def-gradients-differentiable` asks for: on circles of radius $\rho$ around the origin, the
# largest $|r(\mathbf{u})| / \rho$ must tend to zero. Here $r = f$, because the supposed plane is zero.

# %%
ladder = {
    'a': lambda x, y: x * y / (x**2 + y**2),
    'b': lambda x, y: x**2 * y / (x**2 + y**2),
    'c': lambda x, y: x**3 * y / (x**4 + y**2),
    's': lambda x, y: x * y,
}
near_axis = np.logspace(-9, np.log10(np.pi / 4), 2000)
angles = np.r_[near_axis, np.pi / 2 - near_axis]  # a quadrant
radii = np.logspace(0, -5, 11)
x, y = radii[:, None] * np.cos(angles), radii[:, None] * np.sin(angles)
worst = {name: abs(f(x, y)).max(1) / radii for name, f in ladder.items()}
for name, values in worst.items():
    rate = np.log(values[-1] / values[-3]) / np.log(radii[-1] / radii[-3])
    print(f'{name}: largest |r| / distance goes like distance^{round(rate)}')

# %% mystnb={"image": {"alt": "Left: largest remainder over distance against the radius, logarithmic; a rises as the radius shrinks, b and c stay level near one half, s falls to zero. Right: the function c along three straight lines, where it bends into the origin with slope zero, and along the parabola, where it rises with slope one half."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
for name, values in worst.items():
    left.plot(radii, values, 'o-', ms=3, label=name)
left.set(xscale='log', yscale='log', xlabel='radius ρ', xlim=(1e-5, 1))
left.set(title='Largest |r| / ρ')
levels = {'a': 3e4, 'b': 0.06, 'c': 1.4, 's': 3e-4}
for i, (name, level) in enumerate(levels.items()):
    left.text(8e-5, level, name, color=f'C{i}')
s = np.linspace(1e-9, 0.5, 300)
for k, steep in enumerate((0.5, 0.2, 0.05)):
    line = ladder['c'](s, steep * s)
    label = None if k else 'straight lines'
    right.plot(s, line, color='C0', lw=1.2, label=label)
right.plot(s, ladder['c'](s, s**2), color='C1', label='parabola y = x²')
right.set(xlabel='x', title='c along paths into the origin')
right.legend();

# %% [markdown] tags=["caption"]
# Of four functions with zero partial derivatives, only $s = xy$ is differentiable at the origin: its remainder shrinks
# faster than the distance. Right: $c$ starts level along all straight lines, not along a parabola.

# %% [markdown]
# A limit along all paths is hard to verify. There is a simpler criterion that needs partial derivatives only. Formulas made
# of polynomials, roots, exponentials and sines satisfy it wherever denominators and the arguments of roots are not zero.
#
# ```{prf:theorem} Continuous partial derivatives suffice
# :label: thm-c1
# If all partial derivatives of $f$ exist near $\mathbf{x}$ and are continuous at $\mathbf{x}$, then $f$ is differentiable
# at $\mathbf{x}$.
# ```
#
# ```{prf:proof}
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
# The condition is not necessary: $x^2 \sin(1/x)$, with the value 0 at 0, is differentiable there, although its derivative
# $2x \sin(1/x) - \cos(1/x)$ oscillates and has no limit at 0. So a network with smooth activations is differentiable
# everywhere. With $\operatorname{relu}(x) = \max(x, 0)$ it has kinks, where there is no derivative and torch uses a
# convention, $\operatorname{relu}'(0) = 0$. You should remember that it is only a convention:

# %%
relu = torch.relu
x = torch.tensor(0., requires_grad=True)
slope_of_x, = torch.autograd.grad(relu(x) - relu(-x), x)  # this is just x
print('slope of relu(x) - relu(-x) = x at 0, according to torch:',
      slope_of_x.item())

# %% [markdown]
# The function is $x$ and its derivative is 1, but torch returns 0: automatic differentiation differentiates the *program*,
# piece by piece {cite}`bolte2021conservative`. The kinks have volume zero, so training seldom meets one exactly.
#
# ```{exercise} ★★ How smooth at the origin?
# :label: gradients-smooth
# Let $f = |x|^\alpha |y|^\beta / (x^2 + y^2)$ with $\alpha, \beta > 0$, and $f(0, 0) = 0$. Write
# `smoothness(alpha, beta)`: 0 if $f$ is not continuous at the origin, 1 if it is continuous but not differentiable, 2 if
# it is differentiable.
# ```

# %%
def smoothness(alpha, beta):
    raise NotImplementedError('your turn')

# %%
def smoothness_measured(alpha, beta):
    t = np.linspace(0, np.pi / 2, 1001)
    largest = [
        (r * np.cos(t))**alpha * (r * np.sin(t))**beta / r**2
        for r in (1e-2, 1e-4)]
    high, low = (values.max() for values in largest)
    if low > 0.9 * high:
        return 0
    return 1 if low / 1e-4 > 0.9 * high / 1e-2 else 2

powers = [(1, 1), (0.5, 1), (1, 1.5), (2, 1), (0.5, 2.6), (2, 2), (1, 3)]
grade(smoothness, smoothness_measured, powers)

# %% [markdown]
# ```{solution-start} gradients-smooth
# :class: dropdown
# ```
# In polar coordinates $f = \rho^{\alpha + \beta - 2} |\cos\varphi|^\alpha |\sin\varphi|^\beta$, so the largest value on a
# circle is a constant times $\rho^{\alpha + \beta - 2}$: continuous if and only if $\alpha + \beta > 2$. Both partial
# derivatives at the origin are 0, hence $r = f$, and $\max |r| / \rho$ tends to 0 if and only if $\alpha + \beta > 3$. The
# wrong answer counts the partial derivatives and calls everything that is continuous differentiable.

# %% jupyter={"source_hidden": true}
def smoothness_solution(alpha, beta):
    return int(alpha + beta > 2) + int(alpha + beta > 3)

def by_partials(alpha, beta):
    return 2 if alpha + beta > 2 else 0

assert grade(smoothness_solution, smoothness_measured, powers)
assert not grade(by_partials, smoothness_measured, powers)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Gradient fields, contour lines and line integrals
#
# If we attach its gradient to every point, we get a field of arrows. How much of the function can we recover from it? Walk
# along a curve $\mathbf{x}(t)$. With $\mathbf{u} = \mathbf{x}(t + h) - \mathbf{x}(t)$ in
# {prf:ref}`def-gradients-differentiable`, divided by $h$, where $\mathbf{u}/h \to \dot{\mathbf{x}}$,
#
# ```{math}
# :label: gradients-curve
# \frac{d}{dt} f(\mathbf{x}(t)) = \nabla f(\mathbf{x}(t)) \cdot \dot{\mathbf{x}}(t) .
# ```
#
# On a *contour line* the height does not change, so the left side is zero: **gradients are perpendicular to contour
# lines.** And if we integrate over $t$ ($\nabla f$ now being continuous), the fundamental theorem of calculus gives
#
# ```{math}
# :label: gradients-path
# \int_0^1 \nabla f(\mathbf{x}(t)) \cdot \dot{\mathbf{x}}(t) \, dt = f(\mathbf{x}(1)) - f(\mathbf{x}(0)) .
# ```
#
# On every path the slopes add up to the difference in height, and around a closed loop they cancel.
# Not every field of arrows behaves like that. The field $(-y, x)$ turns around the origin: on the unit circle it always
# points along the path, and its integral is $2\pi$ for each round. So it is no gradient: around a loop, a gradient gives 0.
# If $f$ is twice continuously differentiable, there is even a local test. Since $\partial_{x_i} \partial_{x_j} f =
# \partial_{x_j} \partial_{x_i} f$, a gradient field $\mathbf{g}$ must have
#
# ```{math}
# :label: gradients-symmetric
# \partial_{x_i} g_j = \partial_{x_j} g_i .
# ```
#
# The field $(-y, x)$ has $\partial_x (x) = 1$, but $\partial_y (-y) = -1$.

# %%
def height(p):  # two hills; p (2, ...)
    x, y = p
    return (1.5 * np.exp(-(x - 0.7)**2 / 0.6 - (y - 0.3)**2 / 2)
            + np.exp(-(x + 0.9)**2 / 1.6 - (y + 0.6)**2 / 0.5))

def uphill(p):  # its gradient
    x, y = p
    a = 1.5 * np.exp(-(x - 0.7)**2 / 0.6 - (y - 0.3)**2 / 2)
    b = np.exp(-(x + 0.9)**2 / 1.6 - (y + 0.6)**2 / 0.5)
    return -2 * np.array([a * (x - 0.7) / 0.6 + b * (x + 0.9) / 1.6,
                          a * (y - 0.3) / 2 + b * (y + 0.6) / 0.5])

def turning(p):
    return np.array([-p[1], p[0]])

def along(field, path, velocity):  # the line integral for t in [0, 1]
    return quad(lambda t: field(path(t)) @ velocity(t), 0, 1)[0]

# %%
start, end = np.array([-1.5, 1.]), np.array([1.2, -0.7])
aside = np.array([1, 2])
turn = lambda t: 2 * np.pi * t
paths = {
    'straight': (lambda t: start + t * (end - start), lambda t: end - start),
    'detour': (
        lambda t: start + t * (end - start) + np.sin(np.pi * t) * aside,
        lambda t: end - start + np.pi * np.cos(np.pi * t) * aside),
    'once around': (
        lambda t: np.array([np.cos(turn(t)), np.sin(turn(t))]),
        lambda t: turn(1) * np.array([-np.sin(turn(t)), np.cos(turn(t))])),
}
for name, (path, velocity) in paths.items():
    climbed = np.round(along(uphill, path, velocity), 12) + 0.0
    assert close(climbed, height(path(1)) - height(path(0)))
    collected = along(turning, path, velocity)
    print(f'{name:12} hills {climbed:6.3f}, turning field {collected:6.3f}')

# %% [markdown]
# **Two players.** Such fields occur in practice. Let one player choose $x$ to make $xy$ small and another choose $y$ to
# make it large, each following their own slope: the pair moves along $(-\partial_x, \partial_y)(xy) = (-y, x)$.
# There is no function that both descend. With steps of size $\eta$ the squared distance from the equilibrium
# becomes $(x - \eta y)^2 + (y + \eta x)^2 = (1 + \eta^2)(x^2 + y^2)$, and *grows*. Networks that are trained against each
# other have this problem {cite}`mescheder2017numerics`. With a single loss whose gradient is continuous, descent cannot go
# in circles as long as the steps are short enough, because along $-\nabla f$ the loss falls.

# %%
eta, p = 0.15, np.array([0.5, 0.])
spiral = [p]
for _ in range(60):
    p = p + eta * turning(p)
    spiral.append(p)
assert close(np.hypot(*p), 0.5 * (1 + eta**2)**30)
climbs = []
for p in np.array([[-1.9, 0.6], [-0.4, -1.9], [1.8, -1.3], [-0.2, 1.8]]):
    climbs.append([p])
    for _ in range(300):
        climbs[-1].append(climbs[-1][-1] + 0.05 * uphill(climbs[-1][-1]))
climbs = np.array(climbs)  # (4, 301, 2)
rises = np.diff(height(climbs.transpose(2, 0, 1)), axis=1)
assert (rises >= -1e-15).all()
print('steps along a gradient:', rises.size,
      'that went down:', (rises < -1e-15).sum())
times = np.hypot(*spiral[-1]) / 0.5
print(f'60 steps of the turning field: {times:.2f} times as far out')

# %% mystnb={"image": {"alt": "Left: contour lines of two hills with gradient arrows perpendicular to them and four paths that follow the arrows to one of the two maxima. Right: arrows that turn around the origin and a path of steps that spirals outwards."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3, sharey=True)
q = np.stack(np.meshgrid(*2 * [np.linspace(-2.2, 2.2, 90)]))
few = np.stack(np.meshgrid(*2 * [np.linspace(-2, 2, 11)]))
left.contour(*q, height(q), levels=10, cmap='viridis', linewidths=1)
left.quiver(*few, *uphill(few), color=GREY, scale=18, width=0.007,
            minlength=0)
for path in climbs:
    left.plot(*path.T, color='C1', lw=1.6)
    left.plot(*path[0], 'o', color='C1', ms=4)
left.set(title='A gradient field')
right.quiver(*few, *turning(few), color=GREY, scale=36, width=0.007)
right.plot(*np.transpose(spiral), 'o-', color='C1', ms=2.5, lw=1)
right.set(title='A field that is no gradient')
for ax in (left, right):
    ax.set(aspect='equal', xlim=(-2.2, 2.2), ylim=(-2.2, 2.2), xlabel='x')
left.set_ylabel('y');

# %% [markdown] tags=["caption"]
# Left: paths along a gradient only climb, here to one of two maxima. Right: a field that turns is the gradient of no
# function, and 60 steps along it lead 1.95 times as far out.

# %% [markdown]
# ```{exercise} ★★ A landscape from its slopes
# :label: gradients-potential
# Let $\mathbf{g}$ be continuously differentiable on $\mathbb{R}^d$ and obey {eq}`gradients-symmetric`. Show that it is a
# gradient field, and write `potential(g, x)`: the height at `x` if the origin has height 0. Use `quad` or any other rule
# for integrals; the grader allows $10^{-6}$.
# ```

# %%
def potential(g, x):
    raise NotImplementedError('your turn')

# %%
class Slopes:  # a gradient field that knows its height, for the grader
    def __init__(self, f, *variables):
        at_zero = f.subs({v: 0 for v in variables})
        self.height = sp.lambdify([variables], f - at_zero)
        self.slopes = sp.lambdify([variables], [f.diff(v) for v in variables])

    def __call__(self, x):
        return np.array(self.slopes(x))

    def __repr__(self):
        return 'a field'

u, v, w = sp.symbols('u v w')
fields = [
    (Slopes(u**2 * v + v, u, v), np.array([2., -1.])),
    (Slopes(sp.sin(u * v) + sp.exp(w * v), u, v, w), np.array([1., 0.5, -1.])),
]
grade(potential, lambda g, x: g.height(x), fields, atol=1e-6)

# %% [markdown]
# ```{solution-start} gradients-potential
# :class: dropdown
# ```
# {eq}`gradients-path` on the straight path $t\mathbf{x}$ leaves no choice:
# $f(\mathbf{x}) = \int_0^1 \mathbf{g}(t\mathbf{x}) \cdot \mathbf{x} \, dt$. This works: by symmetry, with $\mathbf{g}$ and
# its derivatives on the right taken at $t\mathbf{x}$,
#
# $$ \partial_{x_j} \big( \mathbf{g}(t\mathbf{x}) \cdot \mathbf{x} \big)
# = g_j + t \sum_i x_i\, \partial_{x_j} g_i = g_j + t \sum_i x_i\, \partial_{x_i} g_j
# = \frac{d}{dt} \big( t\, g_j(t\mathbf{x}) \big) , $$
#
# whose integral over $t$ is $g_j(\mathbf{x})$. The wrong answer takes the slope at the end for the slope on the whole way.

# %% jupyter={"source_hidden": true}
def potential_solution(g, x):
    return quad(lambda t: g(t * x) @ x, 0, 1)[0]

def slope_at_the_end(g, x):
    return g(x) @ x

assert grade(potential_solution, lambda g, x: g.height(x), fields, atol=1e-6)
assert not grade(slope_at_the_end, lambda g, x: g.height(x), fields, atol=1e-6)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Finite differences and the best step
#
# Often there is no formula: a simulation, an instrument or a program gives us only values. Then we take a difference
# quotient,
#
# $$ \text{forward} \quad \frac{f(x + h) - f(x)}{h} \qquad\text{or central}\quad \frac{f(x + h) - f(x - h)}{2h} , $$
#
# The definition asks for an $h$ as small as possible. On a computer that is wrong: as $h$ shrinks, the two values agree in
# more and more digits, these digits cancel, and what is left is rounding noise, magnified by $1/h$. A large $h$ neglects the
# curvature, a small one magnifies noise, and in between lies a best step.
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
# The two terms of each bound are the neglected terms of the Taylor series, which grow with $h$, and the noise, which grows
# with $1/h$.
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
# In general a formula whose truncation error is of order $h^p$ reaches $\delta^{p/(p+1)}$. With $\delta \approx 10^{-16}$
# that is 8 digits for the forward quotient, nearly 11 for the central one, nearly 13 for the five-point formula
# $\frac{1}{12h}\big( f(x - 2h) - 8 f(x - h) + 8 f(x + h) - f(x + 2h) \big)$ with $p = 4$ (its errors:
# $\tfrac1{30} M_5 h^4 + \tfrac32 \delta/h$), and never all 16.
#
# **The complex step.** If the formula of $f$ makes sense for complex numbers and gives an analytic function that is real on
# the real line, we can step *sideways*, into the complex plane. From
# $f(x + ih) = f(x) + i h f'(x) - \tfrac12 h^2 f''(x) - \tfrac16 i h^3 f'''(x) + \cdots$,
#
# ```{math}
# :label: gradients-complex
# f'(x) = \frac{\operatorname{Im} f(x + ih)}{h} + \tfrac16 h^2 f'''(x) + \cdots
# ```
#
# Nothing is subtracted, so nothing cancels, and $h$ may be $10^{-100}$ {cite}`squire1998using`. Let us compare all four on
# $f = 1/(1 + x^2)$ at 200 points in $[\tfrac12, \tfrac32]$. Each value takes three rounded operations, so
# $\delta = 3u \max f$ with $u = 2^{-53}$. The steps are powers of 2 and the points have few digits, so that $x + h$ is
# exact. The true slopes come from exact fractions.

# %%
def f(x):
    return 1 / (1 + x * x)

formulas = {  # order p, its constant, noise per delta / h, quotient
    'forward': (1, 1 / 2, 2, lambda f, x, h: (f(x + h) - f(x)) / h),
    'central': (2, 1 / 6, 1, lambda f, x, h: (f(x + h) - f(x - h)) / (2 * h)),
    'five points': (4, 1 / 30, 1.5, lambda f, x, h: (
        f(x - 2 * h) - 8 * f(x - h) + 8 * f(x + h) - f(x + 2 * h)) / (12 * h)),
}
x = np.random.default_rng(0).integers(2**9, 3 * 2**9, 200) / 2**10
exact = [Fraction(v) for v in x.tolist()]
exact = np.array([float(-2 * v / (1 + v * v)**2) for v in exact])
z, everywhere = sp.Symbol('z'), np.linspace(-0.5, 2.5, 3001)
M = {  # largest |f^(p + 1)| wherever the formulas may look
    p: abs(sp.lambdify(z, sp.diff(f(z), z, p + 1))(everywhere)).max()
    for p in (1, 2, 4)
}

# %%
steps = 2.0 ** -np.arange(1, 49)
delta = 3 * 2.0**-53 * f(0.5)
error, bound = {}, {}
for name, (p, constant, noise, quotient) in formulas.items():
    error[name] = [abs(quotient(f, x, h) - exact).max() for h in steps]
    bound[name] = constant * M[p] * steps**p + noise * delta / steps
    largest = (error[name] / (bound[name] + 1e-15)).max()
    assert largest <= 1.001
    best = steps[np.argmin(error[name])]
    theory = (noise * delta / (p * constant * M[p]))**(1 / (p + 1))
    assert 1 / 8 < best / theory < 8
    exponent = -np.log10(min(error[name]))
    print(f'{name:11} {exponent:4.1f} digits at the best step,',
          f'errors at most {largest:.2f} of the bound')
sideways = [abs(f(x + 1j * h).imag / h - exact).max() for h in steps]
tiny = 2.0**-400
print('complex step with h = 2^-400: error',
      below(f(x + 1j * tiny).imag / tiny - exact, 1e-15))

# %% [markdown]
# Rounding is just one kind of noise. An instrument that shows three decimals has $\delta = 0.001/2 = 0.0005$, and the
# same theorem tells how far apart two readings should be. We round the values of $f$ to a given accuracy and look for the
# best error over all steps. By the theorem it goes like $\delta$ to the power $\tfrac12$, $\tfrac23$ or $\tfrac45$.

# %%
levels = 10.0 ** -np.arange(5, 14)
fine = np.logspace(-8, -0.5, 76)
few = x[:50]
reached = {name: [] for name in formulas}
for name, (*_, quotient) in formulas.items():
    for level in levels:
        shown = lambda v: np.round(f(v) / (2 * level)) * 2 * level
        errors = [abs(quotient(shown, few, h) - exact[:50]) for h in fine]
        reached[name].append(np.max(errors, axis=1).min())
    p = formulas[name][0]
    rate = np.polyfit(np.log(levels), np.log(reached[name]), 1)[0]
    theory = p / (p + 1)
    assert abs(rate - theory) < 0.05
    print(f'{name:11} error like noise^{rate:.2f}, theory {theory:.2f}')

# %% mystnb={"image": {"alt": "Left: largest error against step, both logarithmic. Three V-shaped curves whose points lie below their theoretical bounds, the lowest points further right and lower for the higher orders; the complex step falls to 1e-16 and stays there. Right: best error against noise, three straight lines of slopes one half, two thirds and four fifths."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3.1, width_ratios=[1.35, 1])
for i, name in enumerate(formulas):
    left.plot(steps, error[name], '.', ms=4, color=f'C{i}')
    left.plot(steps, bound[name], color=f'C{i}', lw=1)
left.plot(steps, sideways, '.', ms=4, color='C3')
left.set(xscale='log', yscale='log', ylim=(2e-17, 20))
left.set(xlabel='step h', title='Error (lines: bounds)')
names = [*formulas, 'complex']
for i, (name, level) in enumerate(zip(names, (1e-9, 1e-11, 1e-13, 6e-16))):
    left.text(3e-15, level, name, color=f'C{i}')
for i, (name, values) in enumerate(reached.items()):
    right.plot(levels, values, 'o-', ms=3, color=f'C{i}')
right.set(xscale='log', yscale='log', xlabel='noise δ')
right.set(title='Best error');

# %% [markdown] tags=["caption"]
# With an error $\delta$ in each value, a difference quotient of order $p$ gets no closer than about $\delta^{p/(p+1)}$, at
# one best step; the complex step keeps 15 digits however small the step.

# %% [markdown]
# **In $d$ dimensions** a gradient costs $d + 1$ values by forward and $2d$ by central quotients. The step must grow with
# $x$, because otherwise $x + h$ rounds back to $x$; we take $h_i = u^{1/3} \max(1, |x_i|)$. Since $x_i \pm h_i$ is rounded,
# we divide by the actual distance of the two rounded points. The $2d$ points form two batches of shape `(d, d)`:

# %%
def numerical_gradient(f, x):  # f: (..., d) -> (...)
    h = torch.diag(2.0**(-53 / 3) * x.abs().clamp(min=1))  # (d, d)
    a, b = x - h, x + h  # one point a row
    return (f(b) - f(a)) / (b - a).diagonal()

functions = {
    'banana valley': lambda x: (
        (1 - x[..., :-1])**2 + 100 * (x[..., 1:] - x[..., :-1]**2)**2).sum(-1),
    'log-sum-exp': lambda x: x.logsumexp(-1),
    'length': lambda x: (x * x).sum(-1).sqrt(),
    'inverse, large x': lambda x: 1e12 / x.pow(2).sum(-1),
}

# %%
generator = torch.Generator().manual_seed(0)
for name, f_d in functions.items():
    size = 1e6 if 'large' in name else 1
    x_d = size * torch.randn(10, generator=generator)
    y = x_d.clone().requires_grad_()
    slopes, = torch.autograd.grad(f_d(y), y)
    gap = (numerical_gradient(f_d, x_d) - slopes).norm() / slopes.norm()
    print(f'{name:17} gap to autograd', below(gap, 1e-8))
far, h = 1e8, 1e-9
print('a step of 1e-9 from 1e8 leads', far + h - far, 'far')

# %% [markdown]
# **Where each fails.** In 32 bits $u = 2^{-24}$ leaves the central quotient hardly five digits, too few to judge a gradient
# by. The complex step goes wrong without any error message where a program takes absolute values, compares, or conjugates,
# because these are not analytic. For example, numpy's `norm` takes absolute values, and the imaginary part is lost:

# %%
v, w = np.array([3., 4.]), np.array([1., 0.])
h = 1e-30
norms = {
    'sqrt(v . v)': lambda v: np.sqrt(v @ v),
    'numpy.linalg.norm': np.linalg.norm,
}
for name, norm in norms.items():
    sideway = np.imag(norm(v + 1j * h * w)) / h
    print(f'{name:18} D_w by complex step: {sideway:.2f}')
single = x.astype(np.float32)
central = formulas['central'][-1]
in_32_bits = [
    abs(central(f, single, np.float32(h)) - exact).max() for h in steps[:20]]
exponent = -np.log10(min(in_32_bits))
print(f'in 32 bits {exponent:.1f} digits at the best central step')

# %% [markdown]
# [Automatic differentiation](automatic_differentiation.ipynb) has neither problem. Differences remain useful to test it.
#
# ```{exercise} ★★ Richardson extrapolation: two wrong slopes make a better one
# :label: gradients-richardson
# Let $D(h)$ be the central quotient. Its error is $c_2 h^2 + c_4 h^4 + \cdots$ with constants that do not depend on $h$.
# Combine $D(h)$ and $D(2h)$ so that $h^2$ cancels, and write `extrapolated(f, x, h)`. For polynomials up to degree 4
# nothing is left but rounding.
# ```

# %%
def extrapolated(f, x, h):
    raise NotImplementedError('your turn')

# %%
def exact_slope(f, x, h):
    return f.deriv()(x)

rng = np.random.default_rng(3)
quartics = [
    (np.polynomial.Polynomial(rng.integers(-4, 5, 5)), x, h)
    for x, h in ((0.5, 0.1), (-1.0, 0.25), (2.0, 0.5))
]
grade(extrapolated, exact_slope, quartics)

# %% [markdown]
# ```{solution-start} gradients-richardson
# :class: dropdown
# ```
# $D(2h)$ has four times the leading error, so $\big( 4 D(h) - D(2h) \big) / 3$ is free of it (*Richardson extrapolation*).
# Written out it is the five-point formula. The wrong answer, $2 D(h) - D(2h)$, would be right for the forward quotient,
# whose error starts with $h$.

# %% jupyter={"source_hidden": true}
def extrapolated_solution(f, x, h):
    D = lambda h: (f(x + h) - f(x - h)) / (2 * h)
    return (4 * D(h) - D(2 * h)) / 3

def for_order_one(f, x, h):
    D = lambda h: (f(x + h) - f(x - h)) / (2 * h)
    return 2 * D(h) - D(2 * h)

assert grade(extrapolated_solution, exact_slope, quartics)
assert not grade(for_order_one, exact_slope, quartics)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Where it matters: gradient checking along one random direction
#
# Almost every model in this book is trained by gradients. How can we test a gradient that was derived by hand? Take a
# softmax classifier, the subject of [Cross-entropy](../classification/cross_entropy.ipynb): digits $\mathbf{X} \sim (n,
# 65)$, pixels and a one, weights $\mathbf{W} \sim (65, 10)$, probabilities $\mathbf{P} =
# \operatorname{softmax}(\mathbf{X}\mathbf{W})$ by rows, one-hot labels $\mathbf{Y}$, and the loss
#
# $$ L(\mathbf{W}) = -\frac1n \sum_{i,k} Y_{ik} \log P_{ik} + \frac\lambda2 \sum_{j,k} W_{jk}^2 , \qquad
# \nabla L = \frac1n \mathbf{X}^\top (\mathbf{P} - \mathbf{Y}) + \lambda \mathbf{W} . $$
#
# We could compare one central quotient for each of the $65 \cdot 10 = 650$ weights. But {eq}`aw.gradients.directional` needs
# only *two* values of $L$, whatever the number of parameters: along a random direction $\mathbf{v}$ we compare the
# quotient with $\hat{\mathbf{g}} \cdot \mathbf{v}$. Can a wrong $\hat{\mathbf{g}}$ go unnoticed? The difference is
# $\boldsymbol\delta \cdot \mathbf{v}$ with the error $\boldsymbol\delta = \hat{\mathbf{g}} - \nabla L$. For standard
# normal $\mathbf{v}$ it is normal with mean 0 and standard deviation $\|\boldsymbol\delta\|$. The density of the
# standard normal law is at most $1/\sqrt{2\pi}$, so
#
# ```{math}
# :label: gradients-random
# \mathbb{P}\big( |\boldsymbol\delta \cdot \mathbf{v}| \le t\, \|\boldsymbol\delta\| \big) \le \sqrt{2/\pi}\; t .
# ```
#
# We see less than a hundredth of the true error with a probability of at most $0.01\sqrt{2/\pi} \approx 0.008$. Let us make
# three mistakes, from gross to delicate: the factor $1/n$ is missing; the penalty is forgotten; one entry of 650,
# the largest, is too large by one per cent. (The loss is rounded to 13 decimals, because its last digits would depend on
# the machine.)

# %%
pixels, label, _ = digits()
X = np.c_[pixels, np.ones(len(pixels))][:300]  # (300, 65)
Y, lam = np.eye(10)[label[:300]], 1e-3  # (300, 10)

def loss_and_P(W):
    S = X @ W
    S = S - S.max(1, keepdims=True)
    log_P = S - np.log(np.exp(S).sum(1, keepdims=True))
    return -(Y * log_P).sum() / len(X) + lam / 2 * (W * W).sum(), np.exp(log_P)

def gradient(W):
    return X.T @ (loss_and_P(W)[1] - Y) / len(X) + lam * W

W = 0.1 * np.random.default_rng(0).normal(size=(65, 10))
g = gradient(W)
one_entry = g.copy()
one_entry.flat[abs(g).argmax()] *= 1.01
answers = {
    'right': g, 'no 1/n': g * 300 - 299 * lam * W,
    'no penalty': g - lam * W, 'one entry': one_entry,
}

# %%
steps = 10.0 ** -np.arange(0.5, 13.1, 0.5)
directions = np.random.default_rng(1).normal(size=(200, 65, 10))
L = lambda W: np.round(loss_and_P(W)[0], 13)
quotients = np.array([
    [(L(W + h * v) - L(W - h * v)) / (2 * h) for h in steps]
    for v in directions
])  # (200, steps)
gaps = {
    name: abs(quotients - (answer * directions).sum((1, 2))[:, None])
    / np.linalg.norm(g) for name, answer in answers.items()
}
near = np.argmin(abs(steps - 1e-5))
for name, gap in gaps.items():
    caught = (gap[:, near] > 1e-8).sum()
    typical = (gap[:, near] ** 2).mean() ** 0.5
    print(f'{name:11} off by {typical:.1e} at h = 1e-5, rejected by',
          f'{caught:3} of 200 directions')

# %% mystnb={"image": {"alt": "Typical disagreement between quotient and gradient against the step, logarithmic. For the right gradient a V that reaches 2.6e-9 near a step of 1e-5; for the three wrong ones a V cut off by a level floor, at about 300, 0.0033 and 0.0017."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
heights = 2e-10, 1e3, 1e-2, 2e-4
for i, (name, gap) in enumerate(gaps.items()):
    ax.plot(steps, np.sqrt((gap**2).mean(0)))
    ax.text(1e-9, heights[i], name, color=f'C{i}')
ax.axhline(1e-8, color=GREY, lw=1, ls='--')
ax.text(1.2e-13, 2e-8, 'reject above', fontsize=8.5)
ax.set(xscale='log', yscale='log', xlabel='step h', ylim=(1e-12, 1e5))
ax.set(ylabel='disagreement / ‖∇L‖', xlim=(1e-13, 1));

# %% [markdown] tags=["caption"]
# Near a step of $10^{-5}$ only the right gradient falls below the threshold; a mistake leaves a floor of its own height,
# even one per cent in one entry of 650.

# %% [markdown]
# The right gradient shows the V of [the part before](#finite-differences-and-the-best-step); a wrong one shows a floor, as
# high as the mistake. With a step of $10^{-5}$ the smallest mistake stands several decades above the right gradient. With a
# step that is much too large or too small, even the right gradient looks wrong.
#
# What does it cost to compute *all* slopes? Central differences take two values for each parameter. Autograd takes a small
# multiple of the cost of one value, however many parameters there are {cite}`griewank2008evaluating`. With 650 parameters:

# %%
def by_differences(W, h=1e-5):
    result = np.zeros(W.size)
    for j, e in enumerate(np.eye(W.size)):
        e = e.reshape(W.shape)
        result[j] = (L(W + h * e) - L(W - h * e)) / (2 * h)
    return result.reshape(W.shape)

X_t, labels = torch.tensor(X), torch.tensor(label[:300])

def by_autograd(W):
    W = torch.tensor(W, requires_grad=True)
    cross_entropy = torch.nn.functional.cross_entropy(X_t @ W, labels)
    return torch.autograd.grad(cross_entropy + lam / 2 * W.pow(2).sum(), W)[0]

slow = seconds(lambda: by_differences(W), rounds=2)
fast = seconds(lambda: by_autograd(W))
assert close(by_autograd(W), g) and close(by_differences(W), g, atol=1e-8)
assert slow > 20 * fast
print('autograd is over 20 times faster than differences:', slow > 20 * fast)

# %% [markdown]
# **Shapes of derivatives.** What a derivative looks like depends on what goes in and what comes out. Each row of this table
# is a section of this chapter.
#
# | function | derivative | shape | section |
# |---|---|---|---|
# | $\mathbb{R}^d \to \mathbb{R}$ | gradient | `(d,)` | this one |
# | $\mathbb{R}^d \to \mathbb{R}^c$ | Jacobian | `(c, d)` | [Jacobians](jacobians.ipynb) |
# | $\mathbb{R}^{m \times n} \to \mathbb{R}$ | matrix derivative | `(m, n)` | [Matrix derivatives](matrix_derivatives.ipynb) |
# | $\mathbb{R}^d \to \mathbb{R}^c \to \mathbb{R}^b$ | product of Jacobians | `(b, d)` | [The chain rule](chain_rule.ipynb) |
# | any program | slopes along with values | | [Automatic differentiation](automatic_differentiation.ipynb) |

# %%
A, B = torch.randn(4, 3), torch.randn(2, 4)  # c = 4, d = 3, b = 2
x, M = torch.randn(3), torch.randn(5, 6)
inner = lambda x: torch.tanh(A @ x)
jacobian = torch.autograd.functional.jacobian
slopes = [
    jacobian(lambda x: x.pow(3).sum(), x), jacobian(inner, x),
    jacobian(lambda M: M.logsumexp(1).sum(), M),
    jacobian(lambda x: B @ inner(x), x),
]
print('torch gives the shapes of the table:',
      *[tuple(s.shape) for s in slopes])

# %% [markdown]
# ```{exercise} ★★★ A gradient from one slope
# :label: gradients-forward
# Draw each entry of $\mathbf{v}$ as $+1$ or $-1$ by a fair coin. Show that $(\nabla f \cdot \mathbf{v})\, \mathbf{v}$,
# which needs a single directional derivative, equals $\nabla f$ on average. Write `mean_squared_error(g)`: the mean of
# $\|(\mathbf{g} \cdot \mathbf{v})\, \mathbf{v} - \mathbf{g}\|^2$ over all signs. Then explain what descent along such
# estimates would cost in $d$ dimensions, and find the mean error for normal $\mathbf{v}$.
# ```

# %%
def mean_squared_error(g):
    raise NotImplementedError('your turn')

# %%
def over_all_signs(g):
    v = np.array(list(product([-1, 1], repeat=len(g))))  # (2^d, d)
    return (((v @ g)[:, None] * v - g)**2).sum(1).mean()

rng = np.random.default_rng(5)
gradients = [(rng.normal(size=d),) for d in (1, 2, 3, 7, 10)]
grade(mean_squared_error, over_all_signs, gradients)

# %% [markdown]
# ```{solution-start} gradients-forward
# :class: dropdown
# ```
# $\mathbb{E}[v_i v_j] = 1$ for $i = j$ and 0 otherwise, so
# $\mathbb{E}[(\mathbf{g} \cdot \mathbf{v})\, v_i] = \sum_j g_j \mathbb{E}[v_j v_i] = g_i$. Since $\|\mathbf{v}\|^2 = d$,
# the mean square of the estimate is $d\, \mathbb{E}[(\mathbf{g} \cdot \mathbf{v})^2] = d \|\mathbf{g}\|^2$, and the
# squared mean is to be subtracted: $(d - 1) \|\mathbf{g}\|^2$. The wrong answer forgets that. Normal entries have
# $\mathbb{E}[v_i^4] = 3$ and give $(d + 1) \|\mathbf{g}\|^2$. To bring the error down to the size of the gradient one must
# average about $d$ such estimates: as many evaluations as differences take. One direction is enough to *check* a gradient,
# not to replace it {cite}`baydin2022gradients`.

# %% jupyter={"source_hidden": true}
def mean_squared_error_solution(g):
    return (len(g) - 1) * (g @ g)

assert grade(mean_squared_error_solution, over_all_signs, gradients)
assert not grade(lambda g: len(g) * (g @ g), over_all_signs, gradients)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Summary
#
# Where a function is differentiable, the slope in every direction is a dot product with the gradient, which points in the
# direction of steepest ascent, at right angles to the contour lines; partial derivatives alone guarantee none of this,
# continuous partial derivatives guarantee all of it. From values with an error $\delta$, a difference quotient of order $p$
# gets no closer than about $\delta^{p/(p+1)}$, at a best step that theory predicts, while the complex step and automatic
# differentiation need no difference and keep nearly all digits. Two values of the loss along one random direction are enough
# to test a gradient that was derived by hand.
#
# **Further reading.** {cite}`rudin1976principles` has the calculus of several variables with all proofs,
# {cite}`nocedal2006numerical` finite differences in optimization, {cite}`martins2003complex` the complex step in practice,
# and {cite}`griewank2008evaluating` everything on derivatives of programs.
