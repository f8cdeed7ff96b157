# ---
# jupyter:
#   book:
#     functions:
#       descend: "descend(lambda x: 2 * x, np.asarray(normal(3)), 0.1, 5)"
#       newton: "newton(lambda x: x**3 + x, lambda x: np.diag(3 * x**2 + 1), np.asarray(normal(3)), 3)"
#     main: aw.gd-conv.grad-zero
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Stationary points and convergence
#
# The smallest deep network has two layers of one neuron each, $x \mapsto w_2 w_1 x$. Trained to copy its input, it has the
# loss $(w_1 w_2 - 1)^2$. If both weights start at zero, the gradient is zero and the weights never change, although the loss
# is 1. At which points is the gradient zero, which of them are minima, where does gradient descent end, and what do second
# derivatives add?
#
# - **You need** [gradient descent](gradient_descent.ipynb), [gradients](../calculus/gradients.ipynb) and
#   [eigenvalues of symmetric matrices](../linear_algebra/eigendecomposition.ipynb).
# - **You build** a list of all fifteen stationary points of a landscape, a test that tells minima from saddle points, maps
#   of where gradient descent ends, and Newton's method, which doubles the number of correct digits in each step.
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
import mpmath
import numpy as np
import sympy
import torch
from matplotlib.colors import ListedColormap
from numpy.linalg import eigh, eigvalsh, norm, solve
from numpy.polynomial import Polynomial
from scipy.optimize import line_search, minimize, minimize_scalar, root
from scipy.optimize import newton as scipy_newton
from scipy.special import expit
from scipy.stats import zscore

from nbutils import data
from nbutils.cases import integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import below, close, erratum, grade, holds, verify
from nbutils.figures import GREY, panels

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Stationary points: minima, maxima and saddle points
#
# We compute the loss of the tiny network and its gradient at five points:

# %%
def tiny_net(w):
    return (w[0] * w[1] - 1) ** 2

def grad_tiny(w):
    return 2 * (w[0] * w[1] - 1) * w[::-1]

for w in ([1, 1], [2, 0.5], [0, 0], [0.1, 0.1], [0.1, -0.1]):
    print(f'w = {w!s:12} loss {tiny_net(w):.3f}, gradient',
          grad_tiny(np.array(w, float)).round(2) + 0)

# %% [markdown]
# The gradient is zero at $(1, 1)$, at $(2, \frac12)$ and at the origin. But the origin is different: close to it, at
# $(0.1, 0.1)$, the loss is lower, and at $(0.1, -0.1)$ it is higher.
#
# The point $\mathbf{x}^+$ is a **local minimum** of $f$ if
#
# ```{math}
# :label: aw.gd-conv.local-min
# f(\mathbf{x}^+) \le f(\mathbf{x}) \quad \text{for all } \mathbf{x} \text{ with } \|\mathbf{x} - \mathbf{x}^+\| < \epsilon,
# \quad \text{for some } \epsilon > 0 .
# ```
#
# In words: for some $\epsilon$, $f(\mathbf{x}^+)$ is less than or equal
# to the value at every point *within* distance $\epsilon$.
#
# :::{admonition} A tempting mistake
# :class: tip
# "Around a minimum the function increases." It need not, because equality is allowed:
#
# ```{math}
# :label: aw.gd-conv.only-increase
# f(\mathbf{x}) \ge f(\mathbf{x}^+) \quad \text{for all } \mathbf{x} \text{ near } \mathbf{x}^+ .
# ```
#
# Pictures show bowls, but losses of networks are seldom bowls. From $(1, 1)$ you may walk along the hyperbola $w_1 w_2 = 1$,
# for example to $(2, \frac12)$, and the loss stays zero.
# :::
#
# How can we recognize a minimum without trying all points nearby? By its slope.
#
# ````{prf:theorem} First-order condition
# :label: thm-stationary-first-order
# Let $f$ be differentiable at an interior point $\mathbf{x}^+$ of its domain. If $\mathbf{x}^+$ is a local minimum, then
# ```{math}
# :label: aw.gd-conv.grad-zero
# \nabla f(\mathbf{x}^+) = \mathbf{0} .
# ```
# ````
#
# ```{prf:proof}
# :class: dropdown
# Take any direction $\mathbf{p}$. For small $h > 0$ the point $\mathbf{x}^+ + h\mathbf{p}$ lies in the domain and in the
# ball, so $\big(f(\mathbf{x}^+ + h\mathbf{p}) - f(\mathbf{x}^+)\big)/h \ge 0$, and in the limit
# $\nabla f(\mathbf{x}^+) \cdot \mathbf{p} \ge 0$. The same holds for $-\mathbf{p}$. A number that is not negative, and
# whose negative is not negative, is zero; so the gradient is orthogonal to every $\mathbf{p}$, and vanishes.
# ```
#
# Both hypotheses are needed: $|x|$ has a kink at its minimum, and $f(x) = x$ on $[0, 1]$ is smallest at the edge of its
# domain.
#
# A point where the gradient is zero is called **stationary**:
#
# ```{math}
# :label: aw.gd-conv.stationary
# \nabla f(\mathbf{x}^+) = \mathbf{0} .
# ```
#
# Every local minimum of a differentiable $f$ is stationary, and so is every maximum (apply the theorem to $-f$). A
# stationary point that is neither, with lower and higher points in every ball around it, is called a **saddle point**. So
# for differentiable $f$ on an open domain
#
# ```{math}
# :label: aw.gd-conv.kinds
# \mathbf{x} \text{ is a minimum, a maximum or a saddle} \iff \nabla f(\mathbf{x}) = \mathbf{0} .
# ```
#
# Our second example has many stationary points. It is the *six-hump camel* {cite}`dixon1978global`,
#
# $$
# f(u, v) = \Big( 4 - 2.1\,u^2 + \frac{u^4}{3} \Big) u^2 + uv + 4 (v^2 - 1) v^2 .
# $$

# %%
def camel(x):  # x (2, ...) -> (...)
    u, v = x
    return (4 - 2.1 * u**2 + u**4 / 3) * u**2 + u * v + 4 * (v**2 - 1) * v**2
def grad_camel(x):
    u, v = x
    return np.array([8 * u - 8.4 * u**3 + 2 * u**5 + v, u - 8 * v + 16 * v**3])

# %% [markdown]
# We can find *all* of them. The first component of the gradient is zero where
# $v = -8u + 8.4u^3 - 2u^5$. Put into the second, this leaves one polynomial of degree 15 in $u$:

# %%
u = Polynomial([0, 1])
floor = -8 * u + 8.4 * u**3 - 2 * u**5  # v as a polynomial in u
roots = (u - 8 * floor + 16 * floor**3).roots()
us = np.sort(roots.real[abs(roots.imag) < 1e-9])
points = np.array([us, floor(us)])  # (2, 15)
print('stationary points:', len(us), '  largest gradient there',
      below(grad_camel(points), 1e-8))

# %% mystnb={"image": {"alt": "Left: contours of the smallest deep network's loss; its minima form the two branches of a hyperbola, and between them at the origin lies a saddle. Right: a wavy valley between the parabolas x squared and 3 x squared."}} tags=["hide-input"]
def dented(x):
    return x**2 * (2 + np.sin(1 / x))

fig, (left, right) = panels(2, height=2.8)
w = np.linspace(-2.2, 2.2, 150)
left.contour(w, w, np.sqrt(tiny_net(np.meshgrid(w, w))), 12, colors=GREY,
             linewidths=0.6)
for branch in (np.linspace(0.46, 2.2), np.linspace(-2.2, -0.46)):
    left.plot(branch, 1 / branch, color='C0')
left.plot(0, 0, 'o', color='C1')
left.text(0.12, -0.32, 'saddle', color='C1')
left.text(1.05, 1.3, 'minima', color='C0')
left.set(xlabel='w₁', ylabel='w₂', aspect='equal', title='(w₁w₂ − 1)²')
x = np.linspace(-0.12, 0.12, 4000)
right.plot(x, dented(x), color='C0', lw=1)
for factor in (1, 3):
    right.plot(x, factor * x**2, '--', color=GREY, lw=1)
right.plot(0, 0, 'o', color='C1')
right.set(xlabel='x', ylabel='g(x)', title='x²(2 + sin 1/x)');

# %% [markdown] tags=["caption"]
# Stationary points need not lie in bowls. Left: minima fill two whole curves, with a saddle between them. Right: a strict
# minimum at $0$ with smaller and smaller valleys around it.

# %% [markdown]
# :::{admonition} Does the gradient point away from a minimum?
# :class: dropdown
# In a bowl it does. This holds if $f$ is convex near $\mathbf{x}^+$:
#
# ```{math}
# :label: aw.gd-conv.grad-upward
# \nabla f(\mathbf{x}) \cdot (\mathbf{x} - \mathbf{x}^+) \ge 0 \quad \text{for all } \mathbf{x} \text{ near } \mathbf{x}^+ .
# ```
#
# Along the ray from $\mathbf{x}^+$ a convex function has a slope that never falls, and it begins at zero. Without
# convexity it can fail. Take $g(x) = x^2 \big(2 + \sin\frac1x\big)$, $g(0) = 0$, in the right picture. It lies between $x^2$
# and $3x^2$, so 0 is the strict global minimum. But its derivative $2x\big(2 + \sin\frac1x\big) - \cos\frac1x$ takes both
# signs in every neighbourhood of 0.
# :::
#
# ### The second-derivative test: eigenvalues of the Hessian
#
# At a stationary point the linear term of Taylor's formula is zero, and the quadratic one decides:
#
# ```{math}
# :label: stationary_points-taylor
# f(\mathbf{x}^+ + \mathbf{p}) = f(\mathbf{x}^+) + \tfrac12 \, \mathbf{p}^\top \nabla^2 f(\mathbf{x}^+) \, \mathbf{p}
# + o(\|\mathbf{p}\|^2)
# ```
#
# Here $\nabla^2 f$ is the **Hessian**, the matrix of all second derivatives. For a loss $\mathcal{L}$ of weights $\mathbf{w}
# \in \mathbb{R}^D$ it is also written $\partial^2 \mathcal{L} / \partial \mathbf{w} \, \partial \mathbf{w}^\top$:
#
# ```{math}
# :label: ml.opt.optimality.hessian
# \big( \nabla^2 \mathcal{L}(\mathbf{w}) \big)_{ij} = \frac{\partial^2 \mathcal{L}(\mathbf{w})}{\partial w_i \, \partial w_j} .
# ```
#
# It is expensive: $D^2$ numbers, and by differences two gradients for each column.

# %%
def hessian(grad, w, h=1e-5):
    return np.array([
        (grad(w + h * e) - grad(w - h * e)) / (2 * h) for e in np.eye(len(w))])

for w in (np.zeros(2), np.ones(2)):
    H = hessian(grad_tiny, w)
    print(f'tiny network at {w}: eigenvalues', eigvalsh(H).round(3) + 0)

# %% [markdown]
# ```{prf:theorem} Second-order conditions
# :label: thm-stationary-second-order
# Let $f$ be twice continuously differentiable near $\mathbf{x}^+$, with Hessian $\mathbf{H} = \nabla^2 f(\mathbf{x}^+)$.
#
# *Necessary:* if $\mathbf{x}^+$ is a local minimum, then $\nabla f(\mathbf{x}^+) = \mathbf{0}$ and $\mathbf{H} \succeq 0$.
#
# *Sufficient:* if $\nabla f(\mathbf{x}^+) = \mathbf{0}$ and $\mathbf{H} \succ 0$, then $\mathbf{x}^+$
# is a strict local minimum.
# ```
#
# ```{prf:proof}
# :class: dropdown
# *Necessary.* If $\mathbf{p}^\top \mathbf{H} \mathbf{p} < 0$ for some $\mathbf{p}$, then by
# {eq}`stationary_points-taylor` $f(\mathbf{x}^+ + h\mathbf{p}) - f(\mathbf{x}^+) = \frac{h^2}{2}
# \mathbf{p}^\top \mathbf{H} \mathbf{p} + o(h^2)$ is negative for all small $h$, and $\mathbf{x}^+$ is
# no minimum. *Sufficient.* Let $\mu > 0$ be the smallest eigenvalue of $\mathbf{H}$. Then $\frac12
# \mathbf{p}^\top \mathbf{H} \mathbf{p} \ge \frac\mu2 \|\mathbf{p}\|^2$, and the remainder is smaller
# than $\frac\mu4 \|\mathbf{p}\|^2$ once $\mathbf{p}$ is short. So $f(\mathbf{x}^+ + \mathbf{p}) -
# f(\mathbf{x}^+) \ge \frac\mu4 \|\mathbf{p}\|^2 > 0$ for short $\mathbf{p} \ne \mathbf{0}$.
# ```
#
# :::{admonition} A tempting mistake
# :class: tip
# "The gradient is zero and the Hessian is positive *semi*definite, so it is a minimum." This reads the necessary condition
# backwards. At 0 the function $w^3$ has gradient and Hessian zero, and it falls to the left. The sufficient condition is
# strict. With
#
# ```{math}
# :label: ml.opt.optimality.second-order-stationary
# \nabla \mathcal{L}(\mathbf{w}^*) = \mathbf{0}
# ```
#
# as the first half of the pair,
#
# ```{math}
# :label: ml.opt.optimality.second-order-psd
# \begin{gathered}
# \nabla \mathcal{L}(\mathbf{w}^*) = \mathbf{0} \ \text{ and } \ \nabla^2 \mathcal{L}(\mathbf{w}^*) \succ 0 \\
# \Longrightarrow \quad \mathbf{w}^* \text{ is a strict local minimum.}
# \end{gathered}
# ```
# :::
#
# So the eigenvalues of $\mathbf{H}$ sort the stationary points. All positive: minimum. All negative: maximum. Both signs:
# saddle, whatever the other eigenvalues may be. If there are only zeros, alone or beside one sign, the test leaves it open.

# %%
def classify(H, tol=1e-9):
    low, high = eigvalsh(H)[[0, -1]]
    if low > tol:
        return 'minimum'
    if high < -tol:
        return 'maximum'
    return 'saddle' if low < -tol and high > tol else 'open'

def hessian_camel(u, v):
    return [[8 - 25.2 * u**2 + 10 * u**4, 1], [1, 48 * v**2 - 8]]

by_curvature = [classify(hessian_camel(*x)) for x in points.T]
for kind in ('minimum', 'saddle', 'maximum'):
    print(f'{kind:8} {by_curvature.count(kind)}')

# %% mystnb={"image": {"alt": "Four small maps with contours and arrows of the negative gradient. At the minimum all arrows point in, at the maximum all point out, at the saddle they come in along one axis and leave along the other; at the degenerate point they come in from the right, and leave to the left."}} tags=["hide-input"]
shapes = {
    'minimum\nu² + v²': (1, 1, 0), 'maximum\n−u² − v²': (-1, -1, 0),
    'saddle\nu² − v²': (1, -1, 0), 'open\nu³ + v²': (0, 1, 1),
}
fig, axes = panels(4, height=2.0, sharey=True)
u, v = np.meshgrid(np.linspace(-1, 1, 80), np.linspace(-1, 1, 80))
at = np.linspace(-0.85, 0.85, 7)
for i, (ax, (name, (a, b, c))) in enumerate(zip(axes, shapes.items())):
    ax.contour(u, v, a * u**2 + b * v**2 + c * u**3, 9, colors=GREY,
               linewidths=0.5, linestyles='solid')
    p, q = np.meshgrid(at, at)
    ax.quiver(p, q, -2 * a * p - 3 * c * p**2, -2 * b * q, color=f'C{i}',
              scale=22, width=0.012)
    ax.plot(0, 0, 'o', color=f'C{i}')
    ax.set_title(name, color=f'C{i}', fontsize=9)
    ax.set(aspect='equal', xticks=[], yticks=[], xlabel='u')
axes[0].set_ylabel('v');

# %% [markdown] tags=["caption"]
# The signs of the Hessian's eigenvalues sort flat points. A zero beside one sign leaves the kind open: at this one descent
# arrives from the right and departs to the left.

# %% [markdown]
# Six minima, seven saddles, two maxima, and $6 - 7 + 2 = 1$. This is no accident: minima minus saddles plus maxima is 1 for
# every smooth function on the plane that rises to infinity on all sides, if its stationary points are finitely many and the
# test leaves none of them open {cite}`milnor1963morse`.
#
# A **global minimum** is a point, possibly one of many, where $f$ attains its lowest value:
#
# ```{math}
# :label: aw.gd-conv.global-min
# f(\mathbf{x}^*) \le f(\mathbf{x}) \quad \text{for all } \mathbf{x}
# ```

# %%
valleys = points[:, [name == 'minimum' for name in by_curvature]]  # (2, 6)
twins = valleys[:, camel(valleys) < camel(valleys).min() + 1e-9]
print('values at the six minima:', np.sort(camel(valleys)).round(3))
print('global minima:', *twins.T.round(4).tolist())

# %% [markdown]
# ### In high dimension most stationary points are saddles
#
# If the entries of the Hessian at a stationary point were drawn at random, all $D$ eigenvalues would have to be positive at
# once. In two dimensions the chance is 0.146, less than the $\frac14$ of two independent coins, and with $D$ it falls
# quickly:

# %%
def share_of_minima(D, count=40_000, seed=0):
    A = np.random.default_rng(seed).normal(size=(count, D, D))
    return (eigvalsh(A + A.swapaxes(1, 2))[:, 0] > 0).mean()

print(*(f'D = {D}: {share_of_minima(D):.4f}' for D in (1, 2, 3, 4)), sep='; ')

# %% [markdown]
# :::{admonition} The chance in two dimensions
# :class: dropdown
# With independent
# standard Gaussians $r, s, t$, write $\mathbf{H} = \begin{pmatrix} r + s & t \\ t & r - s \end{pmatrix}$. Its eigenvalues
# are $r \pm \sqrt{s^2 + t^2}$, so it is positive definite when $(r, s, t)$ lies in the cone $r > \sqrt{s^2 + t^2}$ of
# half-angle $45°$. The direction of a Gaussian vector is uniform on the sphere, and the cone cuts out the share
# $\frac12(1 - \cos 45°) = 0.146$.
# :::
#
# Hessians of networks are not random matrices, but where the loss is high, nearly every stationary point is a saddle
# there as well {cite}`dauphin2014identifying`.

# %% [markdown]
# ```{exercise} ★ Pencil: a fork
# :label: stationary_points-fork
# Write `wells(a)`, the stationary points of $\frac14 x^4 - \frac a2 x^2$ in increasing order, for any real $a$.
# ```

# %%
def wells(a):
    """The stationary points in increasing order, none twice: a list.

    a: float of any sign. Each point is a float.
    wells(4.0) is [-2.0, 0.0, 2.0].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def wells_by_roots(a):
    found = Polynomial([0, -a, 0, 1]).roots()
    return np.unique(found[abs(found.imag) < 1e-9].real.round(9))

forks = dict(a=on(4.0, 0.0, -1.0) | scalars())
grade(wells, wells_by_roots, **forks)

# %% [markdown]
# ```{solution-start} stationary_points-fork
# :class: dropdown
# ```
# $x^3 - ax = x(x^2 - a)$ vanishes at 0, and for $a > 0$ also at $\pm\sqrt a$. As $a$ passes through zero, one valley
# turns into a hill between two valleys. Dividing by $x$ first, a popular move, loses the root 0. The second wrong answer
# counts 0 three times at $a = 0$, and the third forgets that the derivative of $x^2$ is $2x$, which cancels the 2.

# %% jupyter={"source_hidden": true}
def wells_solution(a):
    return [-(a**0.5), 0, a**0.5] if a > 0 else [0]

def wells_after_dividing(a):
    return [-(a**0.5), a**0.5] if a > 0 else []

def wells_with_zero_thrice(a):
    return [-(a**0.5), 0, a**0.5] if a >= 0 else [0]

def wells_of_half(a):
    return wells_solution(a / 2)

assert grade(wells_solution, wells_by_roots, **forks)
assert not grade(wells_after_dividing, wells_by_roots, **forks)
assert not grade(wells_with_zero_thrice, wells_by_roots, **forks)
assert not grade(wells_of_half, wells_by_roots, **forks)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Pencil: Peano's surface
# :label: stationary_points-peano
# Along every straight line through the origin, $f(u, v) = (v - u^2)(v - 3u^2)$ has a local minimum at the origin. Yet the
# origin is no local minimum. Write `lower_point(r)`, a point $(u, v)$ with $u^2 + v^2 \le r^2$ and $f(u, v) < 0$, for any
# $r > 0$.
# ```

# %%
def lower_point(r):
    """A point (u, v) that is lower than the origin: a pair of floats.

    r: float > 0, how far from the origin it may lie. Large ones count, too.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def is_lower(answer):  # (whether it is near enough, whether it is lower)
    def judged(r):
        u, v = answer(r)
        return [u**2 + v**2 <= r**2, (v - u**2) * (v - 3 * u**2) < 0]
    return judged

radii = dict(r=on(1.0, 0.001, 25.0) | scalars(0.001, 100))
grade(is_lower(lower_point), lambda r: [True, True], **radii)

# %% [markdown]
# ```{solution-start} stationary_points-peano
# :class: dropdown
# ```
# Between the parabolas $v = u^2$ and $v = 3u^2$ the factors have different signs. On $v = 2u^2$ the value is $-u^4$. Take
# $u = \frac13 \min(r, 1)$: then $v = 2u^2 < u$, and $u^2 + v^2 < 2u^2 < r^2$. The Hessian is
# $\operatorname{diag}(0, 2)$, the open case again. Searching along lines, however finely, finds nothing: the first wrong
# answer does, and the second takes a point on the parabola, where $f = 0$. The third chooses $u = r/6$, which is too far away
# for large $r$, because $v$ grows like $r^2$, and the fourth does not look at $r$.

# %% jupyter={"source_hidden": true}
def lower_point_solution(r):
    u = min(r, 1) / 3
    return u, 2 * u**2

def steepest_line(r):
    return 0.0, r / 2

def on_the_parabola(r):
    return min(r, 1) / 3, (min(r, 1) / 3) ** 2

def in_proportion(r):
    return r / 6, 2 * (r / 6) ** 2

def always_the_same(r):
    return 0.5, 0.5

assert grade(is_lower(lower_point_solution), lambda r: [True, True], **radii)
assert not grade(is_lower(steepest_line), lambda r: [True, True], **radii)
assert not grade(is_lower(on_the_parabola), lambda r: [True, True], **radii)
assert not grade(is_lower(in_proportion), lambda r: [True, True], **radii)
assert not grade(is_lower(always_the_same), lambda r: [True, True], **radii)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
ball = np.linspace(-0.999, 0.999, 200)  # of radius 1

def lowest_at_zero(f, radius):
    return (f(radius * ball) >= f(0)).all()

holds('aw.gd-conv.local-min',
      lambda b: lowest_at_zero(lambda x: x**2 - b * x**3, 1 / max(abs(b), 1)),
      slip=('fixes the radius of the ball at 1',
            lambda b: lowest_at_zero(lambda x: x**2 - b * x**3, 1)),
      b=scalars())
near = np.geomspace(1e-4, 1, 41)

def heights(a, s, distance):
    return s * (distance**2 - a * distance)

def is_minimum(a, s):
    return s == 0 or a <= 0

holds('aw.gd-conv.in-words',
      lambda a, s: (heights(a, s, near) >= 0).all() == is_minimum(a, s),
      slip=('looks only at the points at distance epsilon',
            lambda a, s: (heights(a, s, 1) > 0) == is_minimum(a, s)),
      a=scalars(-1, 0.9), s=[1, 0])
erratum(
    'aw.gd-conv.only-increase',
    printed=lambda w1, w2: tiny_net([w1, w2]) > tiny_net([1, 1]),
    corrected=lambda w1, w2: tiny_net([w1, w2]) >= tiny_net([1, 1]),
    w1=[0.8, 0.9, 1.25], w2=[0.8, 0.9, 1.25],
)

def lowest_by_values(x, reach):
    walls = [(c - reach, c + reach) for c in x]
    options = {'xatol': 1e-9, 'fatol': 1e-15}
    return minimize(camel, x, method='Nelder-Mead', bounds=walls,
                    options=options).x

holds('aw.gd-conv.grad-zero',
      lambda x: norm(grad_camel(lowest_by_values(x, 5))) < 2e-6,
      slip=('forgets that the point must be interior',
            lambda x: norm(grad_camel(lowest_by_values(x, 0.1))) < 2e-6),
      x=vectors(2, -1.5, 1.5), tries=12)

def slopes(x, h=1e-5):  # measured in eight directions
    a = np.arange(8) * np.pi / 8
    step = h * np.array([np.cos(a), np.sin(a)])
    x = np.reshape(x, (2, 1))
    return (camel(x + step) - camel(x - step)) / (2 * h)

def flat(x):
    return close(slopes(x), np.zeros(8), atol=1e-8)

holds('aw.gd-conv.stationary', lambda i: flat(points[:, i]),
      slip=('asks for a zero slope in one direction only',
            lambda i: flat([us[i] + 0.1, floor(us[i] + 0.1)])),
      i=list(range(15)))

# %% tags=["checks"]
grid = np.array(np.meshgrid(
    np.linspace(-2.1, 2.1, 421), np.linspace(-1.1, 1.1, 221), indexing='ij'))

# Walk around a grid point, through its eight neighbours, and ask of each
# whether it is higher. On a slope the answer changes twice, in a pit and on a
# peak never, at a saddle four times.
def odd_places(ring):  # ring: the neighbours, in order around a point
    z = camel(grid)
    higher = np.array([np.roll(z, s, (0, 1)) for s in ring]) > z
    changes = (higher != np.roll(higher, 1, 0)).sum(0)[1:-1, 1:-1]
    kind = np.where(changes > 2, 0, 2 * higher[0, 1:-1, 1:-1] - 1)
    odd = changes != 2
    return grid[:, 1:-1, 1:-1][:, odd], kind[odd]  # 1 pit, 0 saddle, -1 peak

def meets(places):  # which stationary points are close by
    distance = norm(points[:, :, None] - places[:, None], axis=0)  # (15, k)
    return (distance < 0.01 / 2**0.5).argmax(0), distance.min(0).max()

neighbours = [(1, 0), (1, 1), (0, 1), (-1, 1),
              (-1, 0), (-1, -1), (0, -1), (1, -1)]
names = {1: 'minimum', 0: 'saddle', -1: 'maximum'}
places, kinds = odd_places(neighbours)
assert all(by_curvature[i] == names[k]
           for i, k in zip(meets(places)[0], kinds))
s = sympy.Symbol('s')
exact = -8 * s + sympy.Rational(42, 5) * s**3 - 2 * s**5
assert sympy.Poly(s - 8 * exact + 16 * exact**3).count_roots() == len(us)
for x in points.T:
    assert close(hessian(grad_camel, x), hessian_camel(*x))

# %% tags=["checks"]
def exactly_the_flat_ones(ring):
    met, farthest = meets(odd_places(ring)[0])
    return farthest < 0.01 / 2**0.5 and len(set(met)) == 15
holds('aw.gd-conv.kinds', lambda: exactly_the_flat_ones(neighbours),
      slip=('compares along one axis only',
            lambda: exactly_the_flat_ones([(1, 0), (-1, 0)])))

def grad_cup(x):  # cup(x) = log(e^x1 + e^x2 + e^-(x1 + x2)), convex
    p = np.exp([x[0], x[1], -x[0] - x[1]])
    return (p[:2] - p[2]) / p.sum()

def grad_dented(x):
    return 2 * x * (2 + np.sin(1 / x)) - np.cos(1 / x)

holds('aw.gd-conv.grad-upward', lambda x: grad_cup(x) @ x >= 0,
      slip=('forgets that f must be convex nearby',
            lambda x: (x * grad_dented(x) >= 0).all()),
      x=vectors(2, -1, 1).filter(np.all))

# %% tags=["checks"]
def logistic_gradient(X, y, w):
    return X.T @ (expit(X @ w) - y) / len(y)

def matches_torch(seed, part):
    rng = np.random.default_rng(seed)
    X, w, y = rng.normal(size=(6, 3)), rng.normal(size=3), rng.random(6)
    cross_entropy = torch.nn.functional.binary_cross_entropy_with_logits
    loss = lambda v: cross_entropy(torch.tensor(X) @ v, torch.tensor(y))
    want = torch.func.hessian(loss)(torch.tensor(w))
    got = part(hessian(lambda v: logistic_gradient(X, y, v), w))
    return close(got, want, atol=1e-9)

holds('ml.opt.optimality.hessian',
      lambda seed: matches_torch(seed, lambda H: H),
      slip=('keeps only the diagonal of the Hessian',
            lambda seed: matches_torch(seed, lambda H: np.diag(np.diag(H)))),
      seed=seeds(), tries=12)

def slope_and_bend(a, c):  # at the lowest point of a(x - c)² + (x - c)^4
    f = Polynomial([-c, 1]) ** 2 * (a + Polynomial([-c, 1]) ** 2)
    lowest = minimize_scalar(f, bracket=(c - 1, c + 0.5)).x
    return f.deriv()(lowest), f.deriv(2)(lowest)

holds('ml.opt.optimality.second-order-stationary',
      lambda a, c: abs(slope_and_bend(a, c)[0]) < 1e-6,
      slip=('asks for a zero Hessian in place of the gradient',
            lambda a, c: abs(slope_and_bend(a, c)[1]) < 1e-6),
      a=scalars(0.5, 3), c=scalars(-1, 1), tries=60)
circle = np.exp(2j * np.pi * np.arange(48) / 48)

def origin_is_lowest(a, b, radius, beats=np.greater_equal):
    w = np.outer(radius * np.geomspace(1e-3, 1, 20), circle)
    return beats(w.real**2 + a * w.imag**2 + b * w.imag**3, 0).all()

erratum(
    'ml.opt.optimality.second-order-psd',
    printed=lambda a, b: origin_is_lowest(a, b, 0.01),
    corrected=lambda a, b: a == 0 or origin_is_lowest(
        a, b, a / (1 + abs(b)), np.greater),
    a=scalars(0, 2), b=scalars(-2, 2),
)

# %% tags=["checks"]
def census(a, b, c):  # u^4 + v^4 - a u² - b v² + c u v + (u + v) / 10
    p = Polynomial([0.1, -2 * a, 0, 4]) / -c  # v from d/du = 0
    r = (4 * p**3 - 2 * b * p + c * Polynomial([0, 1]) + 0.1).roots()
    u = r.real[abs(r.imag) < 1e-7]
    bends = [[[12 * x**2 - 2 * a, c], [c, 12 * y**2 - 2 * b]]
             for x, y in zip(u, p(u))]
    found = [classify(H) for H in bends]
    return [found.count(n) for n in ('minimum', 'saddle', 'maximum')]

def alternates(a, b, c, signs):
    return np.dot(signs, census(a, b, c)) == 1

verify('minima - saddles + maxima = 1',
       lambda a, b, c: alternates(a, b, c, [1, -1, 1]),
       slip=('forgets to count the maxima',
             lambda a, b, c: alternates(a, b, c, [1, -1, 0])),
       a=scalars(-2, 3), b=scalars(-2, 3), c=scalars(0.5, 2))
holds('aw.gd-conv.global-min',
      lambda x: (camel(twins) <= camel(x) + 1e-12).all(),
      slip=('accepts every local minimum',
            lambda x: (camel(valleys) <= camel(x) + 1e-12).all()),
      x=vectors(2, -3, 3))

def within_band(p, count=40_000):  # five standard errors
    return abs(share_of_minima(2) - p) < 5 * (p * (1 - p) / count) ** 0.5

verify(
    'a random 2 x 2 Hessian is positive definite with chance (1 - cos 45°)/2',
    lambda: within_band((1 - 0.5**0.5) / 2),
    slip=('treats the two eigenvalues as independent coins',
             lambda: within_band(1 / 4)))

# %% [markdown]
# ## Convex functions: every stationary point is a global minimum
#
# A function is *convex* if for any two points
# $\mathbf{x}_1, \mathbf{x}_2$ and $\alpha \in [0, 1]$
#
# ```{math}
# :label: aw.gd-conv.convex
# f(\underbrace{\alpha \mathbf{x}_1 + (1 - \alpha) \mathbf{x}_2}_{\text{between the points}})
# \ \le \ \underbrace{\alpha f(\mathbf{x}_1) + (1 - \alpha) f(\mathbf{x}_2)}_{\text{on the chord}} .
# ```
#
# In a picture, the chord from $(\mathbf{x}_1, f(\mathbf{x}_1))$ to $(\mathbf{x}_2, f(\mathbf{x}_2))$ is nowhere below the
# graph between them. Beyond the two points the graph may lie above the line.
#
# ````{prf:theorem} Stationary points of convex functions
# :label: thm-stationary-convex
# If $f$ is convex and differentiable, then
# ```{math}
# :label: aw.gd-conv.convex-stationary
# \nabla f(\mathbf{x}^*) = \mathbf{0} \quad \Longrightarrow \quad f(\mathbf{x}^*) \le f(\mathbf{y}) \text{ for all } \mathbf{y} .
# ```
# ````
#
# ```{prf:proof}
# :class: dropdown
# Divide $f(\mathbf{x} + \alpha(\mathbf{y} - \mathbf{x})) \le f(\mathbf{x}) + \alpha \, (f(\mathbf{y}) - f(\mathbf{x}))$ by
# $\alpha$, after moving $f(\mathbf{x})$ to the left, and let $\alpha \to 0$. The left side becomes a directional
# derivative: $\nabla f(\mathbf{x}) \cdot (\mathbf{y} - \mathbf{x}) \le f(\mathbf{y}) - f(\mathbf{x})$. The graph lies
# above each of its tangent planes. At a stationary point the tangent plane is horizontal.
# ```
#
# For a loss of weights:
#
# ```{math}
# :label: ml.opt.optimality.first-order
# \mathcal{L} \text{ is convex } \text{and } \nabla \mathcal{L}(\mathbf{w}^*) = \mathbf{0} \quad \Longrightarrow \quad
# \mathbf{w}^* \text{ is a global minimum.}
# ```
#
# The cross-entropy of one sigmoid neuron is convex. Its squared error is not, although model and data are the same, and it
# may have many valleys {cite}`auer1996exponentially`.
#
# A convex function may have many global minima, for example $\max(|x| - 1, 0)$. *Strict* convexity
# ($<$ in {eq}`aw.gd-conv.convex` for $\mathbf{x}_1 \ne \mathbf{x}_2$, $0 < \alpha < 1$) rules that out:
#
# ```{math}
# :label: aw.gd-conv.strict-unique
# f \text{ is strictly convex } \text{and } \mathbf{x}_1, \mathbf{x}_2 \text{ are global minima} \quad \Longrightarrow \quad
# \mathbf{x}_1 = \mathbf{x}_2 .
# ```
#
# If they were two, their midpoint would lie strictly lower. This promises at most one, not at least one: $e^x$ is
# strictly convex and has no minimum.
#
# The best known convex surface is the paraboloid. It is the graph of a function of two variables, whose values are numbers:
#
# ```{math}
# :label: aw.gd-conv.r3
# f : \mathbb{R}^2 \to \mathbb{R}, \qquad \{ (x_1, x_2, f(\mathbf{x})) : \mathbf{x} \in \mathbb{R}^2 \} \subset \mathbb{R}^3
# ```

# %%
def cosine_to_minimum(x, k, sign):  # of sign * gradient
    g = 2 * sign * x * [1, k]
    return g @ -x / (norm(g) * norm(x))
cosine = cosine_to_minimum(np.array([1, 1]), 10, -1)
print(f'at (1, 1) with k = 10: cosine {cosine:.3f}')

# %% mystnb={"image": {"alt": "Three panels. A convex curve with a chord above it between two points and below it outside. Round contours, where all arrows of the negative gradient lie on the dashed lines to the minimum. Long elliptic contours, where the arrows miss it."}} tags=["hide-input"]
fig, (left, middle, right) = panels(3, height=2.2)
t = np.linspace(-2.6, 2.6, 200)
curve = lambda t: np.log(np.exp(1.5 * t) + np.exp(-t))
ends = np.array([-1.5, 1.5])
line = np.polynomial.Polynomial.fit(ends, curve(ends), 1)
left.plot(t, curve(t))
left.plot(t, line(t), ':', color='C1', lw=1.2)
left.plot(ends, curve(ends), 'o-', color='C1')
left.text(-0.1, 2.25, 'chord', color='C1', ha='right')
left.set(xlabel='x', ylabel='f(x)', title='chord')
u, v = np.meshgrid(np.linspace(-2, 2, 80), np.linspace(-2, 2, 80))
for ax, k, title in ((middle, 1, 'round: k = 1'), (right, 6, 'long: k = 6')):
    ax.contour(u, v, u**2 + k * v**2, 8, colors=GREY, linewidths=0.5)
    for a in np.arange(6) * np.pi / 3 + 0.5:
        x = 1.5 * np.array([np.cos(a), np.sin(a)])
        g = x * [1, k]
        ax.plot(*np.array([x, 0 * x]).T, ':', color='C1', lw=1)
        ax.annotate('', x - 0.7 * g / norm(g), x, arrowprops=dict(
            color='C0', arrowstyle='->', lw=1.5, shrinkA=0, shrinkB=0))
    ax.plot(0, 0, 'o', color='C1')
    ax.set(aspect='equal', title=title, xlabel='x₁', ylabel='x₂',
           xticks=[], yticks=[]);

# %% [markdown] tags=["caption"]
# A convex graph lies below its chord between the ends, not beyond. The negative gradient points at the minimum from
# everywhere if the paraboloid is round, and mostly misses it if it is long.

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: tip
# "On a paraboloid the negative gradient points at the minimum." It descends, but this says only that
#
# ```{math}
# :label: aw.gd-conv.paraboloid
# -\nabla f(\mathbf{x}) \cdot (\mathbf{x}^* - \mathbf{x}) > 0 \quad \text{for all } \mathbf{x} \ne \mathbf{x}^* ,
# ```
#
# an angle of less than 90°. The angle is zero from *every* point only if the paraboloid is round. For $x_1^2 + 10 x_2^2$,
# at $(1, 1)$, its cosine is 0.77.
# :::
#
# ### How fast does gradient descent converge on convex functions?
#
# ````{prf:theorem} Rate for convex functions
# :label: thm-stationary-rate
# Let $f$ be convex and $L$-smooth with a minimum at $\mathbf{x}^*$. Descent with a fixed step $0 < \eta \le 1/L$ satisfies
# ```{math}
# :label: stationary_points-rate
# f(\mathbf{x}_t) - f(\mathbf{x}^*) \le \frac{\|\mathbf{x}_0 - \mathbf{x}^*\|^2}{2 \eta t} .
# ```
# ````
#
# ```{prf:proof}
# :class: dropdown
# Let $\mathbf{g} = \nabla f(\mathbf{x}_t)$ and $\mathbf{e}_t = \mathbf{x}_t - \mathbf{x}^*$. Since $\eta \le 1/L$, the
# decrease {eq}`gradient_descent-decrease` is at least $\frac\eta2 \|\mathbf{g}\|^2$, and the tangent plane at
# $\mathbf{x}_t$ gives $f(\mathbf{x}_t) \le f(\mathbf{x}^*) + \mathbf{g} \cdot \mathbf{e}_t$. Together,
#
# $$
# \begin{aligned}
# f(\mathbf{x}_{t+1}) - f(\mathbf{x}^*) &\le \mathbf{g} \cdot \mathbf{e}_t - \tfrac\eta2 \|\mathbf{g}\|^2
# = \tfrac{1}{2\eta} \big( \|\mathbf{e}_t\|^2 - \|\mathbf{e}_t - \eta\mathbf{g}\|^2 \big) \\
# &= \tfrac{1}{2\eta} \big( \|\mathbf{e}_t\|^2 - \|\mathbf{e}_{t+1}\|^2 \big) .
# \end{aligned}
# $$
#
# Add up the first $t$ steps. On the right all but the ends cancel, and at most $\|\mathbf{e}_0\|^2 / 2\eta$ is left. On
# the left stand $t$ gaps that never grow, so the sum is at least $t$ times the last.
# ```
#
# No better power of $t$ is possible. The Huber function, a parabola on $[-\delta, \delta]$ between two straight arms of
# slope $\pm\delta$, has $L = 1$. With $x_0 = 3$, $\eta = 1$ and $\delta = x_0 / (2t + 1)$ the gap is between a third and a
# half of the bound, for every $t$:

# %%
def huber(x, delta):
    return np.where(abs(x) <= delta, x**2, 2 * delta * abs(x) - delta**2) / 2

def gap_after(t, x, delta, eta):
    for _ in range(t):
        x = x - eta * np.clip(x, -delta, delta)
    return huber(x, delta)

for t in (1, 10, 100):
    print(f't = {t:3}: gap {gap_after(t, 3, 3 / (2 * t + 1), 1):.4f},',
          f'bound {9 / (2 * t):.4f}')

# %% tags=["checks"]
def cup(x):
    return np.logaddexp.reduce([x[0], x[1], -x[0] - x[1]])

def on_chord(x1, x2, a):
    return a * cup(x1) + (1 - a) * cup(x2)

quadratic = {c: lambda x, c=c: x[0] ** 2 + c * x[1] ** 2 for c in (-1, 0, 3)}

def obeys(f, swapped, seed):  # the inequality, at 200 pairs of points
    x1, x2 = np.random.default_rng(seed).normal(size=(2, 200, 2))
    a = np.linspace(0, 1, 200)
    b = 1 - a if swapped else a
    return all(f(t * x + (1 - t) * y) <= s * f(x) + (1 - s) * f(y) + 1e-12
               for x, y, t, s in zip(x1, x2, a, b, strict=True))

holds('aw.gd-conv.convex',  # c < 0 alone makes a saddle
      lambda seed, c: obeys(quadratic[c], False, seed) == (c >= 0)
      and obeys(cup, False, seed),
      slip=('exchanges the weights on one side',
            lambda seed, c: obeys(quadratic[c], True, seed) == (c >= 0)
            and obeys(cup, True, seed)),
      seed=[0, 1, 2, 3], c=[-1, 0, 3])

def chord_above(x1, x2, a):  # a (k,): where along the line
    between = np.outer(x1, a) + np.outer(x2, 1 - a)  # (2, k)
    return (on_chord(x1, x2, a) >= cup(between) - 1e-12).all()

holds('aw.gd-conv.chord',
      lambda x1, x2: chord_above(x1, x2, np.linspace(0, 1, 41)),
      slip=('prolongs the chord beyond its ends',
            lambda x1, x2: chord_above(x1, x2, np.linspace(-0.5, 1.5, 41))),
      x1=vectors(2), x2=vectors(2))

def paraboloid(x):
    return x @ x

def graph_point(x):
    return np.array([*x, paraboloid(x)])

erratum(
    'aw.gd-conv.r3',
    printed=lambda x: np.shape(paraboloid(x)) == (3,),
    corrected=lambda x: np.shape(paraboloid(x)) == ()
    and graph_point(x).shape == (3,)
    and close(graph_point(x)[2], x[0] ** 2 + x[1] ** 2),
    x=vectors(2),
)

def descends_rarely_points(x, k):
    cosine = cosine_to_minimum(x, k, -1)
    points_there = 1 - cosine < 1e-12
    return 0 < cosine and points_there == (k == 1 or x[0] * x[1] == 0)

erratum(
    'aw.gd-conv.paraboloid',
    printed=lambda x, k: cosine_to_minimum(x, k, 1) > 0,
    corrected=descends_rarely_points,
    x=vectors(2).map(np.round).filter(np.any), k=[1, 2, 10],
)

# %% tags=["checks"]
def tilted(x, c, s):
    return cup(x) + s * norm(x) ** 2 / 2 - c @ x

def grad_tilted(x, c, s):
    p = np.exp([x[0], x[1], -x[0] - x[1]])
    return (p[:2] - p[2]) / p.sum() + s * x - c

def flat_is_lowest(y, c, s):
    found = root(grad_tilted, [0, 0], args=(c, s), tol=1e-10)
    return found.success and tilted(found.x, c, s) <= tilted(y, c, s) + 1e-9

holds('aw.gd-conv.convex-stationary', lambda y, c: flat_is_lowest(y, c, 2),
      slip=('loses the sign of the quadratic term',
            lambda y, c: flat_is_lowest(y, c, -2)),
      y=vectors(2), c=vectors(2))

def neuron(seed):
    rng = np.random.default_rng(seed)
    X, y = 3 * rng.normal(size=(8, 2)), rng.uniform(0.02, 0.98, size=8)
    return X, y, 3 * rng.normal(size=(300, 2))

def cross_entropy(X, y, w):
    return (np.logaddexp(0, X @ w.T).T - (X @ w.T).T * y).mean(-1)

def squared_error(X, y, w):
    return ((expit(X @ w.T).T - y) ** 2).mean(-1)

def flat_beats_random(seed, loss):
    X, y, rivals = neuron(seed)
    flat = minimize(lambda w: loss(X, y, w), rivals[0])
    return (norm(flat.x) > 10  # on a plateau: no evidence
            or loss(X, y, flat.x) <= loss(X, y, rivals).min() + 1e-9)

holds('ml.opt.optimality.first-order',
      lambda seed: flat_beats_random(seed, cross_entropy),
      slip=('squares the error of the sigmoid neuron',
            lambda seed: flat_beats_random(seed, squared_error)),
      seed=list(range(60)), tries=60)

def trough(x):
    return max(abs(x[0]) - 1, 0) + x[1] ** 2

def midpoint_wins(f, x1, x2):
    return f((x1 + x2) / 2) < max(f(x1), f(x2))

holds('aw.gd-conv.strict-unique',
      lambda x1, d, c, s:
      midpoint_wins(lambda x: tilted(x, c, s), x1, x1 + d),
      slip=('allows a flat floor',
            lambda x1, d, c, s: midpoint_wins(trough, x1, x1 + d)),
      x1=vectors(2, -3, 3), d=vectors(2, -3, 3).filter(np.any),
      c=vectors(2, -3, 3), s=scalars(0, 2))

# %% tags=["checks"]
verify('the gap is at most |x0 - x*|² / (2 eta t)',
       lambda t, x, d, eta:
       gap_after(t, x, d, eta) <= x**2 / (2 * eta * t) + 1e-12,
       slip=('promises a gap that falls as 1/t²',
             lambda t, x, d, eta:
             gap_after(t, x, d, eta) <= x**2 / (2 * eta * t**2) + 1e-12),
       t=integers(1, 40), x=scalars(), d=scalars(0.05, 1),
       eta=scalars(0.05, 1))

# %% tags=["checks"]
verify('on the Huber function the gap is |x0|² / (4t + 2), near half of the bound',
       lambda t, x: close(gap_after(t, x, x / (2 * t + 1), 1), x**2 / (4 * t + 2)),
       slip=('says that the bound itself is attained',
             lambda t, x: close(gap_after(t, x, x / (2 * t + 1), 1), x**2 / (2 * t))),
       t=integers(1, 40), x=scalars(0.1, 3))

# %% [markdown]
# ## Where gradient descent ends: saddles, basins and global minima
#
# Let $f$ be $L$-smooth and bounded below, and let the steps have a fixed size $0 < \eta < 2/L$. By
# {eq}`aw.gd.converge-local`, under these hypotheses $\|\nabla f(\mathbf{x}_t)\| \to 0$, and no minimum can be guaranteed.
# Each hypothesis is needed: on $-x^2$ every step leads further away, and with $\eta = 1$ on $x^2$ the walk jumps to and
# fro for ever. On $\log(1 + e^x)$ the gradient tends to zero, but only at infinity. There is also a bound for the
# first $T$ steps, by {eq}`gradient_descent-sum`: the smallest gradient is no larger than the average,
#
# ```{math}
# :label: aw.gd-conv.always-stationary
# \min_{t < T} \|\nabla f(\mathbf{x}_t)\|^2 \le \frac{f(\mathbf{x}_0) - \inf f}{\eta \, (1 - \frac{L\eta}{2}) \, T} .
# ```
#
# ### Gradient descent can reach a saddle, but seldom stays
#
# For the tiny network the origin is a saddle: the Hessian there is
# $\begin{pmatrix} 0 & -2 \\ -2 & 0 \end{pmatrix}$, with eigenvalue 2 along $(1, -1)$ and $-2$ along $(1, 1)$. Started with
# opposite weights, $w_2 = -w_1$, the two stay opposite and slide into the saddle. But near the saddle a
# deviation $\delta$ along $(1, 1)$ is multiplied at every step by $1 + 2\eta$. To grow to a size of order one it needs about
#
# ```{math}
# :label: stationary_points-escape
# t \approx \frac{\log (1 / \delta)}{\log(1 + 2\eta)}
# ```
#
# steps. A deviation that is a hundred times smaller costs a constant number of steps more:

# %%
def descend(grad, x, eta, T):
    path = [x]
    for _ in range(T):
        path.append(path[-1] - eta * grad(path[-1]))
    return np.array(path)  # (T + 1, ...)

def steps_on_plateau(delta, eta=0.05):  # until the loss is half of 1
    path = descend(grad_tiny, np.array([1 + delta, -1]), eta, 600)
    return (tiny_net(path.T) < 0.5).argmax()

# %%
for delta in (1e-2, 1e-4, 1e-6, 1e-8):
    print(f'deviation {delta:.0e}: {steps_on_plateau(delta):3} steps')
stuck = descend(grad_tiny, np.array([1.0, -1.0]), 0.05, 600)[-1]
print(f'no deviation: after 600 steps the loss is {tiny_net(stuck):.3f}')

# %% mystnb={"image": {"alt": "Left: five walks on contours of the tiny network's loss. They all begin near the dashed diagonal, run towards the saddle at the origin, and turn off to one of the two branches of minima. Right: the loss rests on a plateau at 1, longer by equal amounts for each hundredfold smaller deviation, then drops."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
w = np.linspace(-1.7, 1.7, 120)
left.contour(w, w, np.sqrt(tiny_net(np.meshgrid(w, w))), 12, colors=GREY,
             linewidths=0.5)
left.plot([-1.7, 1.7], [1.7, -1.7], '--', color=GREY, lw=1)
starts = [(1.5, -1.4), (1.3, -1.35), (-1.5, 1.2), (-1.2, 1.6), (1.0, -1.6)]
for i, w in enumerate(starts):
    path = descend(grad_tiny, np.array(w), 0.02, 400)
    left.plot(*path.T, color=f'C{i}', lw=1.3)
    left.plot(*path[0], 'o', color=f'C{i}')
left.set(xlabel='w₁', ylabel='w₂', aspect='equal')
for i, delta in enumerate((1e-2, 1e-4, 1e-6, 1e-8)):
    path = descend(grad_tiny, np.array([1 + delta, -1]), 0.05, 260)
    right.plot(tiny_net(path.T), color=f'C{i}')
    right.text(steps_on_plateau(delta) + 4, 0.5, f'10$^{{{-2 * i - 2}}}$',
               color=f'C{i}')
right.text(130, 1.15, 'on the plateau, for various δ', ha='center', fontsize=8)
right.set(xlabel='step', ylabel='loss', ylim=(-0.05, 1.6));

# %% [markdown] tags=["caption"]
# Descent turns away from a saddle in the end. Each time the deviation $\delta$ is a hundred times smaller, the plateau is
# longer by the same number of steps, here about 50.

# %% [markdown]
# For $\eta < 1/L$ a random start leads to a saddle with a negative eigenvalue with probability zero
# {cite}`lee2016gradient`. The danger is to *begin* in one. That is why networks are never initialized with all weights zero.
#
# ### Basins of attraction: which minimum?
#
# The set of all starts that lead to a minimum is its **basin of attraction**. We start one walk on the camel from each of
# $160 \cdot 90 = 14\,400$ places, all at once:

# %%
starts = np.array(np.meshgrid(
    np.linspace(-2, 2, 160), np.linspace(-1.1, 1.1, 90), indexing='ij'))

def nearest(x, candidates):  # x (2, ...) -> which column, how far
    gap = norm(x[:, None] - candidates[:, :, None, None], axis=0)
    return gap.argmin(0), gap.min(0)

# %%
ends = starts
for _ in range(500):
    ends = ends - 0.015 * grad_camel(ends)
basin, miss = nearest(ends, valleys)
deepest = np.isin(basin, nearest(twins[:, :, None], valleys)[0])
print('distance of the ends to a minimum', below(miss, 1e-6))
print(f'a global one from {deepest.mean():.0%} of the starts')

# %% [markdown]
# From two starts in five the walk misses the lowest minima.
#
# :::{admonition} A tempting mistake
# :class: tip
# "Gradient descent cannot find the global minimum of a non-convex function." What is true is weaker:
# no finite set of starts is enough for *every* $f$, but there
# are non-convex $f$ for which every start is enough.
# :::
#
# For the first half, run finitely many walks on $x^2/2$, and then dig a narrow hole, deeper than everything, where none of
# them came by. For the second half we need a reason other than convexity {cite}`polyak1963gradient,karimi2016linear`:
#
# ```{prf:theorem} Polyak-Łojasiewicz
# :label: thm-stationary-pl
# Let $f$ be $L$-smooth with minimal value $f^*$, and suppose that for some $\mu > 0$ everywhere
# $\frac12 \|\nabla f(\mathbf{x})\|^2 \ge \mu \, (f(\mathbf{x}) - f^*)$. Then descent with $\eta = 1/L$ satisfies
# $f(\mathbf{x}_t) - f^* \le (1 - \mu/L)^t \, (f(\mathbf{x}_0) - f^*)$, from every start.
# ```
#
# ```{prf:proof}
# :class: dropdown
# By {eq}`gradient_descent-decrease` with $\eta = 1/L$, then by hypothesis, $f(\mathbf{x}_{t+1}) - f^* \le f(\mathbf{x}_t) -
# f^* - \frac{1}{2L} \|\nabla f(\mathbf{x}_t)\|^2 \le (1 - \frac\mu L)(f(\mathbf{x}_t) - f^*)$.
# ```
#
# The function $x^2 + 3\sin^2 x$ has
# $f'' = 2 + 6\cos 2x$ between $-4$ and $8$, so it is far from convex, and yet $\mu = \frac16$ will do:

# %%
def wavy(x):
    return x**2 + 3 * np.sin(x) ** 2

def grad_wavy(x):
    return 2 * x + 3 * np.sin(2 * x)

x = np.linspace(-10, 10, 4000)  # without zero
print(f'largest possible mu: {(grad_wavy(x) ** 2 / wavy(x) / 2).min():.4f}')
for x in (-10.0, 2.0, 7.0):
    end = descend(grad_wavy, x, 1 / 8, 400)[-1]
    print(f'from {x:5}: distance to the minimum', below(end, 1e-6))

# %% [markdown]
# ```{exercise} ★★★ Program: dig the hole
# :label: stationary_points-hole
# Walks on $x^2/2$ with $\eta = \frac12$ start at the given points. Write `hidden(starts)`, the centre $c$ of a hole of radius
# 1 that none of them ever enters, with $\frac12 m \le |c| \le m$ for the largest $|$start$|$ $m$.
# ```

# %%
def hidden(starts):
    """The centre c of the hole: a float.

    starts: float array (N,), N >= 1, of either sign; the largest |start| is
    at least 5 N. No walk may come nearer to c than 1.
    For np.array([8.0]) both 6.0 and -6.0 are right.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def visitors(answer):  # (whether c is where it should be, how many enter)
    def judged(starts):
        walks, far = np.outer(0.5 ** np.arange(30), starts), abs(starts).max()
        c = answer(starts)
        return [far / 2 <= abs(c) <= far, (abs(walks - c) < 1).any(0).sum()]
    return judged

def far_enough(starts):
    return abs(starts).max() >= 5 * len(starts)

one_side = vectors((2, 8), 1, 99, edges=True).flatmap(
    lambda starts: on(1, -1).map(lambda side: side * starts))
both_sides = vectors((1, 6), -60, 60, edges=True)
crowds = dict(starts=(both_sides | one_side).filter(far_enough))
behind = [(np.array([-40.0, 30.0, 22.0]),)]  # the mirror image of the safe place
grade(visitors(hidden), lambda starts: [True, 0], behind, **crowds)

# %% [markdown]
# ```{solution-start} stationary_points-hole
# :class: dropdown
# ```
# The walks halve their distance to zero and never change sides. On the side of the start that is farthest, both ends of the
# interval from $\frac12 m$ to $m$ are visited, and each other walk comes there once at most. So $N$ walks leave at most $N$
# gaps, and the widest is at least $\frac{m}{2N} \ge \frac52$ long: its middle is safe. The other side, the first wrong answer, is
# safe only if nobody starts there. The mean of the starts may lie on somebody's way, and the middle of the gap between the
# two farthest starts forgets that starts from further out come by. No finite budget of starts protects from an adversary
# who knows them, which is one more reason to draw them at random.

# %% jupyter={"source_hidden": true}
def hidden_solution(starts):
    side = np.sign(starts[abs(starts).argmax()])
    own = side * starts[side * starts > 0]
    far = own.max()
    steps = np.outer(0.5 ** np.arange(30), own)
    met = np.sort(steps[(steps >= far / 2) & (steps <= far)])
    widest = np.diff(met).argmax()
    return side * (met[widest] + met[widest + 1]) / 2

def hidden_on_the_other_side(starts):
    return -0.75 * starts[abs(starts).argmax()]

def hidden_in_the_mean(starts):
    return starts.mean()

def hidden_between_starts(starts):
    far = np.sort(abs(starts))
    return (far[-1] + max(far[-1] / 2, *far[:-1])) / 2 if len(far) > 1 else 0.75 * far[0]

assert grade(visitors(hidden_solution), lambda starts: [True, 0], behind, **crowds)
assert not grade(visitors(hidden_on_the_other_side), lambda starts: [True, 0], behind, **crowds)
assert not grade(visitors(hidden_in_the_mean), lambda starts: [True, 0], behind, **crowds)
assert not grade(visitors(hidden_between_starts), lambda starts: [True, 0], behind, **crowds)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: a longer chain
# :label: stationary_points-chain
# A chain of $n$ neurons has the loss $(w_1 \cdots w_n - 1)^2$. Start all weights at $\delta$, with $\eta = 0.05$. The steps
# until the loss is $\frac12$ grow about as $\delta^{-k}$. Predict the whole number $k$ for $n = 2, 3, 4$ (0 for a
# logarithm). Then measure, at $\delta = 0.04$ and $0.02$.
# ```

# %%
def exponents():
    """The whole numbers k for n = 2, 3 and 4: a list.

    For example [1, 1, 1] where all three plateaus grow as 1 / delta.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def steps_of_chain(n, delta):  # all weights stay equal
    w, step = delta, 0
    while (w**n - 1) ** 2 > 0.5:
        w, step = w - 0.05 * 2 * (w**n - 1) * w ** (n - 1), step + 1
    return step

counts = {n: [steps_of_chain(n, delta) for delta in (0.04, 0.02)]
          for n in (2, 3, 4)}

def is_measured(ks):
    if len(ks) != 3:
        raise ValueError('give three whole numbers')
    for k, (n, (near, far)) in zip(ks, counts.items()):
        if k != round(np.log2(far / near)):
            raise ValueError(f'n = {n} is measured otherwise: try it')
    return True

grade(lambda: is_measured(exponents()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} stationary_points-chain
# :class: dropdown
# ```
# As long as the weights are small, each step adds $2 \eta w^{n-1}$ to each. For $n = 2$ this is a constant *factor*, and the
# number of steps is a logarithm. From $n = 3$ on the Hessian at the origin is zero: the test leaves it open, and the saddle
# is flatter. Then $\dot w = 2 w^{n-1}$ needs the time $\delta^{-(n-2)} / (2 (n - 2))$ to grow up, so $k = n - 2$. Deep
# networks that start too small hardly start at all.

# %% jupyter={"source_hidden": true}
for n, (near, far) in counts.items():
    print(f'n = {n}: {near:5} steps from 0.04, {far:5} from 0.02')
assert grade(lambda: is_measured([0, 1, 2]), lambda: True, [()])
assert not grade(lambda: is_measured([0, 0, 0]), lambda: True, [()])
assert not grade(lambda: is_measured([1, 1, 1]), lambda: True, [()])
assert not grade(lambda: is_measured([1, 2, 3]), lambda: True, [()])
assert not grade(lambda: is_measured([0, 1]), lambda: True, [()])

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def grad_egg_box(x):
    return np.array([np.cos(x[0]) * np.sin(x[1]), np.sin(x[0]) * np.cos(x[1])])

def end_in_egg_box(x1, x2, eta):
    *_, end = descend(grad_egg_box, np.array([x1, x2]), eta, 400)
    return end

holds('aw.gd-conv.only-stationary',
      lambda **walk: norm(grad_egg_box(end_in_egg_box(**walk))) < 1e-9,
      slip=('expects a minimum in place of a stationary point',
            lambda **walk: close(np.prod(np.sin(end_in_egg_box(**walk))), -1)),
      x1=[0.5, 1.0, -1.0], x2=[-1.2, 0.5, 1.0], eta=[0.3, 1.0, 1.8])

def waves(seed):
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=5), rng.normal(size=(5, 2)), rng.normal(size=5)
    f = lambda x: a @ np.sin(b @ x + c)
    grad = lambda x: b.T @ (a * np.cos(b @ x + c))
    return f, grad, abs(a).sum(), abs(a) @ (b**2).sum(1)

def gains(f, grad, path, eta, L):  # f falls by eta (1 - L eta / 2) |g|² a step
    paid = eta * (1 - L * eta / 2) * sum(norm(grad(x)) ** 2 for x in path[:-1])
    return bool(paid <= f(path[0]) - f(path[-1]) + 1e-9)

def gradient_fades(seed, share):  # eta = share * 2 / L; wells of curvature L
    f, grad, _, L = waves(seed)
    path = descend(grad, np.zeros(2), share * 2 / L, 200)
    a, b, c = np.random.default_rng(seed).uniform(0.8, 1.2, size=(3, 2))
    well = lambda x: a @ (1 - np.cos(b * x + c))
    slope, steepest = lambda x: a * b * np.sin(b * x + c), (a * b**2).max()
    walk = descend(slope, np.zeros(2), share * 2 / steepest, 1000)
    return (gains(f, grad, path, share * 2 / L, L)
            and gains(well, slope, walk, share * 2 / steepest, steepest)
            and norm(slope(walk[-1])) < 1e-9)

holds('aw.gd-conv.always-stationary', gradient_fades,
      slip=('takes steps that are a fifth longer',
            lambda seed, share: gradient_fades(seed, 1.2 * share)),
      seed=seeds(), share=scalars(0.2, 0.95), tries=60)

def escape_time(small, large, growth):
    longer = steps_on_plateau(small) - steps_on_plateau(large)
    return abs(longer - np.log(large / small) / np.log(growth)) <= 1

verify('the time on a plateau grows as log(1/delta) / log(1 + 2 eta)',
       lambda small, large: escape_time(small, large, 1.1),
       slip=('takes half of the negative eigenvalue',
             lambda small, large: escape_time(small, large, 1.05)),
       small=[1e-8, 1e-10, 1e-12], large=[1e-3, 1e-5, 1e-7])

# %% tags=["checks"]
def gap_shrinks(x, mu, T):  # L = 8, f* = 0
    end = descend(grad_wavy, x, 1 / 8, T)[-1]
    return wavy(end) <= (1 - mu / 8) ** T * wavy(x)

verify('the gap on x² + 3 sin² x shrinks by 1 - mu/L at each step, mu = 1/6',
       lambda x, T: gap_shrinks(x, 1 / 6, T),
       slip=('takes the mu of x² alone', lambda x, T: gap_shrinks(x, 2, T)),
       x=scalars(-50, 50), T=integers(1, 60))

def is_steep(x, mu):  # with f* = 0; least at 2.20, where mu = 0.1755
    return grad_wavy(x) ** 2 >= 2 * mu * wavy(x)

verify('|f\'|² is at least 2 mu times the gap for mu = 1/6',
       lambda x: is_steep(x, 1 / 6),
       slip=('takes mu = 1/5', lambda x: is_steep(x, 1 / 5)),
       x=[k / 20 for k in range(200)])

# %% tags=["checks"]
def reaches_floor(x):
    *_, end = descend(grad_wavy, x, 1 / 8, 400)
    return abs(end) < 1e-6

def grad_with_hole(x, c):  # of x²/2 - (100 + c²) (1 - (x - c)²)², |x - c| < 1
    inside = np.maximum(1 - (x - c) ** 2, 0)
    return x + 4 * (100 + c**2) * inside * (x - c)

def all_miss_the_hole(starts):
    c = abs(starts).max() + 2
    *_, ends = descend(lambda x: grad_with_hole(x, c), starts, 0.5, 100)
    return (abs(ends - c) > 1).all() and close(ends, 0 * starts)

erratum(
    'aw.gd-conv.impossible',
    printed=lambda starts: not reaches_floor(starts[0]),
    corrected=lambda starts: all(map(reaches_floor, starts))
    and all_miss_the_hole(starts),
    starts=vectors(5, -50, 50).filter(lambda s: abs(s).min() >= 1), tries=40,
)

# %% [markdown]
# ## Newton's method, and what real data ask for
#
# Gradient descent uses a linear model of the function and must be told how far to go. With the Hessian we have a quadratic
# model, $f(\mathbf{x}) + \mathbf{g} \cdot \mathbf{p} + \frac12 \mathbf{p}^\top \mathbf{H} \mathbf{p}$, and we can step to
# its stationary point. Its gradient with respect to $\mathbf{p}$ is zero if $\mathbf{H}\mathbf{p} = -\mathbf{g}$, and so
#
# ```{math}
# :label: stationary_points-newton
# \mathbf{x}_{t+1} = \mathbf{x}_t - \nabla^2 f(\mathbf{x}_t)^{-1} \, \nabla f(\mathbf{x}_t) .
# ```

# %%
def newton(grad, hess, x, T):
    path = [x]
    for _ in range(T):
        path.append(path[-1] - solve(hess(path[-1]), grad(path[-1])))
    return np.array(path)  # (T + 1, n)

# %% [markdown]
# We count correct digits, with an arithmetic of 400 digits, on $\cos x = x$: for Newton's method, and for pressing
# the cosine key of a calculator again and again (gradient descent with $\eta = 1$), both from $x = 1$.

# %%
def digits(step, T):  # correct digits after each of T steps
    with mpmath.workdps(400):
        goal = mpmath.findroot(lambda x: x - mpmath.cos(x), 1)
        x, errors = mpmath.mpf(1), []
        for _ in range(T):
            x = step(x)
            errors.append(abs(x - goal))
        return [int(-mpmath.log10(e)) for e in errors]

def newton_step(x):
    return x - (x - mpmath.cos(x)) / (1 + mpmath.sin(x))

print('Newton:', *digits(newton_step, 7))
print('cosine:', *digits(mpmath.cos, 7))

# %% [markdown]
# Each Newton step doubles the number of correct digits: an error of $10^{-k}$ becomes one of about $10^{-2k}$.
#
# ```{prf:theorem} Quadratic convergence
# :label: thm-stationary-newton
# On a ball around the stationary point $\mathbf{x}^*$ let all eigenvalues of the Hessian be at least $\mu > 0$, and let the
# Hessian be $M$-Lipschitz, $\|\nabla^2 f(\mathbf{x}) - \nabla^2 f(\mathbf{y})\| \le M \|\mathbf{x} - \mathbf{y}\|$. Then a
# Newton step from $\mathbf{x}$ in the ball satisfies
# $\|\mathbf{x}_{\text{new}} - \mathbf{x}^*\| \le \frac{M}{2\mu} \|\mathbf{x} - \mathbf{x}^*\|^2$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Let $\mathbf{e} = \mathbf{x} - \mathbf{x}^*$ and $\mathbf{H} = \nabla^2 f(\mathbf{x})$. Adding up curvature between
# $\mathbf{x}^*$, where the gradient is zero, and $\mathbf{x}$ gives $\nabla f(\mathbf{x}) = \int_0^1 \nabla^2
# f(\mathbf{x}^* + s\mathbf{e}) \, \mathbf{e} \, ds$. So
#
# $$
# \mathbf{x}_{\text{new}} - \mathbf{x}^* = \mathbf{e} - \mathbf{H}^{-1} \nabla f(\mathbf{x})
# = \mathbf{H}^{-1} \int_0^1 \big( \mathbf{H} - \nabla^2 f(\mathbf{x}^* + s\mathbf{e}) \big) \mathbf{e} \, ds .
# $$
#
# Now $\|\mathbf{H}^{-1}\| \le 1/\mu$, the bracket is at most $M(1 - s)\|\mathbf{e}\|$ in norm, and
# $\int_0^1 (1 - s) \, ds = \frac12$.
# ```
#
# But Newton's method looks for a *stationary* point. If $\mathbf{H}$ has a negative eigenvalue, the stationary point of the
# model is not its lowest point, and the method goes to saddles and maxima as well. Here is the camel again:

# %% tags=["hide-input"]
def newton_camel(x, T=60):  # all starts at once, 2 x 2 systems by hand
    for _ in range(T):
        (u, v), (g, h) = x, grad_camel(x)
        (a, b), (_, d) = hessian_camel(u, v)
        x = x - np.array([d * g - b * h, a * h - b * g]) / (a * d - b * b)
    return x

reached, off = nearest(newton_camel(starts), points)
order = ['maximum', 'saddle', 'minimum']
kind = np.array([order.index(name) for name in by_curvature])
landed = kind[reached]
print(f'arrived somewhere: {100 * (off < 1e-6).mean():.1f} % of the starts')
for k, name in enumerate(order):
    print(f'at a {name} from {10 * (landed == k).mean():.0f} starts in ten')

# %% mystnb={"image": {"alt": "Two maps of the same starts. Left, gradient descent: six large regions with smooth borders, one around each valley. Right, Newton's method: regions of valleys, saddles and peaks, torn into fringes and islands."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.3, sharey=True)
box = dict(extent=(-2, 2, -1.1, 1.1), origin='lower', aspect='auto', alpha=0.8)
left.imshow(basin.T, cmap=ListedColormap(['C0', 'C1', 'C2', 'C3', 'C4', GREY]),
            **box)
left.plot(*valleys, 'o', color=GREY, mec='C3', ms=5)
left.set(xlabel='u', ylabel='v', title='descent: which valley')
right.imshow(landed.T, cmap=ListedColormap(['C4', 'C1', 'C0']), **box)
right.set(xlabel='u', title='Newton:')
kinds_seen = ('valley', 'C0'), ('saddle', 'C1'), ('peak', 'C4')
for i, (name, colour) in enumerate(kinds_seen):
    right.text(0.4 + 0.24 * i, 1.045, name, color=colour, ha='center',
               transform=right.transAxes);

# %% [markdown] tags=["caption"]
# Descent ends only in valleys, each with one region of starts around it; Newton's method ends on saddles and peaks from
# about half of the starts, in ragged regions.

# %% [markdown]
# Two changes repair this. In the eigenbasis of $\mathbf{H}$, $\mathbf{H}\mathbf{p} = -\mathbf{g}$ reads
# $p_i = -g_i/\lambda_i$. The sign of a negative $\lambda_i$ sends us uphill, but its size is useful, because strongly curved
# directions need short steps. So take $p_i = -g_i / |\lambda_i|$
# {cite}`dauphin2014identifying`. Then $\mathbf{g} \cdot \mathbf{p} = -\sum_i g_i^2 / |\lambda_i| < 0$, a descent
# direction. And since the quadratic model cannot be trusted far away, halve the step until the value falls by a fair
# part of what the slope promises, **Armijo's condition**
#
# ```{math}
# :label: stationary_points-armijo
# f(\mathbf{x} + \eta\mathbf{p}) \le f(\mathbf{x}) + c \, \eta \, \mathbf{g} \cdot \mathbf{p}, \qquad c = 10^{-4} .
# ```

# %%
def armijo(f, x, p, slope, eta):
    return f(x + eta * p) <= f(x) + 1e-4 * eta * slope

def backtrack(f, x, p, slope):
    eta = 1.0
    while not armijo(f, x, p, slope, eta):
        eta = eta / 2
    return eta

# %%
def safe_newton(f, grad, hess, x, T=100):
    for _ in range(T):
        g = grad(x)
        if norm(g) < 1e-6:  # closer, differences of f are rounding
            break
        lam, V = eigh(hess(x))
        p = -V @ (V.T @ g / abs(lam))
        x = x + backtrack(f, x, p, g @ p) * p
    return x

x = np.array([0.3, 0.2])
plain = newton(grad_camel, lambda x: hessian_camel(*x), x, 20)[-1]
safe = safe_newton(camel, grad_camel, lambda x: hessian_camel(*x), x)
for name, end in (('plain', plain), ('safe', safe)):
    print(f'{name:5} Newton: a {classify(hessian_camel(*end))},',
          f'value {camel(end).round(3) + 0}')

# %% [markdown]
# ```{exercise} ★★ Program: division without dividing
# :label: stationary_points-reciprocal
# Some early computers could multiply but not divide. They found $1/a$, $a > 0$, as the root of $1/x - a$ by Newton's method,
# in which the division cancels. Write `reciprocal(a, x, T)`: $T$ steps from $x$, with additions and multiplications only.
# ```

# %%
def reciprocal(a, x, T):
    """What Newton's method on 1/x - a makes of x in T steps: a number.

    a: number > 0. x: number between 0 and 2 / a. T: int >= 0.
    a and x can be added, subtracted and multiplied, and nothing else.
    reciprocal(4.0, 0.125, 1) is 0.1875.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
class Undivided(float):  # a number of a machine that cannot divide
    pass

def kept(name):
    def operation(*numbers):
        return Undivided(getattr(float, name)(*map(float, numbers)))
    return operation

def refused(*_):
    raise TypeError('this machine cannot divide')

for name in 'add', 'radd', 'sub', 'rsub', 'mul', 'rmul', 'neg', 'pos':
    setattr(Undivided, f'__{name}__', kept(f'__{name}__'))
for name in 'truediv', 'rtruediv', 'floordiv', 'rfloordiv', 'pow', 'rpow':
    setattr(Undivided, f'__{name}__', refused)

def by_the_error(a, x, T):  # 1 - a x is squared at each step
    return (1 - (1 - float(a) * float(x)) ** 2**T) / float(a)

quotients = dict(
    a=(on(1.0, 4.0) | scalars(0.1, 9)).map(Undivided),
    x=lambda a: (on(0.5, 1.0) | scalars(0.02, 1.98)).map(
        lambda s: Undivided(s / float(a))),
    T=on(1, 0) | integers(0, 6),
)
grade(reciprocal, by_the_error, **quotients)

# %% [markdown]
# ```{solution-start} stationary_points-reciprocal
# :class: dropdown
# ```
# $x - \frac{1/x - a}{-1/x^2} = x + x - ax^2 = x(2 - ax)$. With $e = 1 - ax$ the new error is
# $1 - ax(2 - ax) = (1 - ax)^2 = e^2$: squared exactly, from any $x$ between $0$ and $2/a$. Stepping by the error itself,
# $x + x_0(1 - ax)$ with a fixed $x_0$, looks alike and gains only a constant factor at each step. The second wrong answer
# takes one step more, the third has the wrong sign in the derivative, and the fourth divides.

# %% jupyter={"source_hidden": true}
def reciprocal_solution(a, x, T):
    for _ in range(T):
        x = x * (2 - a * x)
    return x

def reciprocal_fixed(a, x, T):
    first = x
    for _ in range(T):
        x = x + first * (1 - a * x)
    return x

def reciprocal_late(a, x, T):
    return reciprocal_solution(a, x, T + 1)

def reciprocal_uphill(a, x, T):
    for _ in range(T):
        x = a * x * x
    return x

def reciprocal_dividing(a, x, T):
    for _ in range(T):
        x = x - (1 / x - a) / (-1 / (x * x))
    return x

assert grade(reciprocal_solution, by_the_error, **quotients)
assert not grade(reciprocal_fixed, by_the_error, **quotients)
assert not grade(reciprocal_late, by_the_error, **quotients)
assert not grade(reciprocal_uphill, by_the_error, **quotients)
assert not grade(reciprocal_dividing, by_the_error, **quotients)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ### Units: Newton's method does not notice the scale
#
# Now 442 patients with diabetes {cite}`efron2004least`. The task is to say whose disease will have come further than the
# median a year later, by logistic regression on ten measurements.
#
# ```{prf:theorem} Newton's method is affinely invariant
# :label: thm-stationary-affine
# Let $T$ be invertible and $\tilde f(\mathbf{v}) = f(T\mathbf{v})$. If $\mathbf{x}_0 = T\mathbf{v}_0$, then the iterates of
# Newton's method on $f$ and $\tilde f$ satisfy $\mathbf{x}_t = T\mathbf{v}_t$ for all $t$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# By the chain rule $\nabla \tilde f = T^\top \nabla f$ and $\nabla^2 \tilde f = T^\top \mathbf{H} T$. So the step is
# $-(T^\top \mathbf{H} T)^{-1} T^\top \nabla f = -T^{-1} \mathbf{H}^{-1} \nabla f$, and $T$ maps it to the step on $f$.
# ```
#
# Both methods start from zero weights, on raw and on standardized measurements. The step of gradient descent is $1/L$; since
# $p(1 - p) \le \frac14$, the largest eigenvalue of $X^\top X / 4N$ will do for $L$.

# %%
def logistic_loss(X, y, w):  # (N, D), (N,), (..., D)
    z = w @ X.T
    return (np.logaddexp(0, z) - y * z).mean(-1)

def derivatives(X, y):  # gradient and Hessian, as functions of w
    p = lambda w: expit(X @ w)
    return (lambda w: X.T @ (p(w) - y) / len(y),
            lambda w: X.T * (p(w) * (1 - p(w))) @ X / len(y))

# %% tags=["hide-input"]
patients = data.diabetes()
worse = (patients.y > np.median(patients.y)) * 1.0
z = zscore(patients.x)
designs = {'raw': patients.x, 'standardized': z}
designs = {n: np.column_stack([np.ones(442), X]) for n, X in designs.items()}

grad, hess = derivatives(designs['standardized'], worse)
best = minimize(lambda w: logistic_loss(designs['standardized'], worse, w),
                np.zeros(11), jac=grad, hess=hess, method='trust-exact',
                options={'gtol': 1e-9})
runs, gaps = {}, {}
for name, X in designs.items():
    grad, hess = derivatives(X, worse)
    L = eigvalsh(X.T @ X)[-1] / (4 * 442)
    runs['Newton', name] = newton(grad, hess, np.zeros(11), 7)
    runs['descent', name] = descend(grad, np.zeros(11), 1 / L, 6000)
for (method, name), path in runs.items():
    gaps[method, name] = logistic_loss(designs[name], worse, path) - best.fun
    enough = np.flatnonzero(gaps[method, name] < 1e-6)
    first = enough[0] if len(enough) else 'more than 6000'
    print(f'{method:8} {name:13} steps to a gap of 1e-6: {first}')

# %% [markdown]
# Newton's method takes the same four steps in both units. Gradient descent needs four thousand on standardized data.
#
# ### When to stop: the gradient as a certificate
#
# "Stop when the weights hardly move" is a bad rule. A walk moves little when it
# has arrived, but also when its steps are short:

# %%
moved = abs(np.diff(runs['descent', 'raw'], axis=0)[-1]).max()
print(f'raw: the last step moved no weight by more than {moved:.1e}')
print(f'but the loss is still {gaps["descent", "raw"][-1]:.3f} too high')

# %% [markdown]
# The gradient says more, if all eigenvalues of the Hessian are at least $\mu > 0$:
#
# ```{math}
# :label: stationary_points-certificate
# f(\mathbf{x}) - f^* \le \frac{\|\nabla f(\mathbf{x})\|^2}{2\mu}
# ```
#
# The right side can be computed without knowing $f^*$, and a ridge penalty $\frac\mu2 \|\mathbf{w}\|^2$ provides the $\mu$.
#
# ```{prf:proof}
# :class: dropdown
# Then $f(\mathbf{y}) \ge f(\mathbf{x}) + \nabla f(\mathbf{x}) \cdot (\mathbf{y} - \mathbf{x}) + \frac\mu2 \|\mathbf{y} -
# \mathbf{x}\|^2$ for all $\mathbf{y}$, and the left side cannot
# be less than the minimum of the right over $\mathbf{y}$, which lies at $\mathbf{y} - \mathbf{x} = -\nabla f(\mathbf{x}) /
# \mu$. This is the hypothesis of {prf:ref}`thm-stationary-pl` again.
# ```
#
# ### Early stopping: do we want the minimum at all?
#
# The loss on the training data is not what we want to be small in the end. With all squares and products of the ten
# measurements, 65 features for 100 patients, the minimum of the squared
# error predicts new patients badly. For 20
# random splits we stop where $271 - 100 = 171$ validation patients are predicted best, and judge on the other
# $442 - 271 = 171$.

# %% tags=["hide-input"]
i, j = np.triu_indices(10)
features = np.column_stack([z, z[:, i] * z[:, j]])  # (442, 65)
score = (patients.y - patients.y.mean()) / patients.y.std()
rng = np.random.default_rng(0)
orders = np.array([rng.permutation(442) for _ in range(20)])  # (20, 442)
X = features[orders]
X = (X - X[:, :100].mean(1, keepdims=True)) / X[:, :100].std(1, keepdims=True)
y = score[orders]
y = y - y[:, :100].mean(1, keepdims=True)

gram = X[:, :100].swapaxes(1, 2) @ X[:, :100] / 100  # (20, 65, 65)
cross = X[:, :100].swapaxes(1, 2) @ y[:, :100, None] / 100
eta = 1 / eigvalsh(gram)[:, -1, None, None]
path = descend(lambda w: gram @ w - cross, np.zeros((20, 65, 1)), eta, 2000)
checkpoints = np.unique(np.geomspace(1, 2000, 60).astype(int))
weights = path[checkpoints, ..., 0].transpose(1, 2, 0)  # (20, 65, steps)
missed = (y[..., None] - X @ weights) ** 2
parts = {'training': slice(100), 'validation': slice(100, 271),
         'test': slice(271, None)}
r2 = {part: 1 - missed[:, rows].mean(1) / (y[:, rows, None] ** 2).mean(1)
      for part, rows in parts.items()}  # each (20, steps)

# %%
stop = r2['validation'].argmax(1)
stopped = r2['test'][np.arange(20), stop]
gain = stopped - r2['test'][:, -1]
print(f'R² on test patients: stopped {stopped.mean():.3f}, '
      f'at the end {r2["test"][:, -1].mean():.3f}')
print(f'stopping helps by {gain.min():.3f} to {gain.max():.2f}')

# %% mystnb={"image": {"alt": "Left: the gap to the best loss against the step plus one, on logarithmic axes. Newton's curve plunges within four steps and is the same for both units; descent on standardized data needs thousands of steps, on raw data a quarter of the gap is left at the end. Right: over steps, R squared on training patients climbs, on validation patients it peaks early and then falls, with bands over splits."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
styles = ('C1', '-'), ('C2', '-'), ('C0', ':'), ('C3', '-')
for gap, (colour, line) in zip(gaps.values(), styles):
    gap = np.maximum(gap, 1e-13)
    left.loglog(np.arange(len(gap)) + 1, gap, line, color=colour)
left.text(8, 1e-9, 'Newton,\nboth units', color='C1')
left.text(400, 0.3, 'raw', color='C2')
left.text(120, 3e-6, 'standardized', color='C3', ha='center')
left.set(xlabel='step + 1', ylabel='loss above the best', ylim=(1e-11, 3))
for colour, (part, values) in zip(('C0', 'C1'), r2.items()):
    middle, spread = values.mean(0), values.std(0)
    right.semilogx(checkpoints, middle, color=colour)
    right.fill_between(checkpoints, middle - spread, middle + spread,
                       color=colour, alpha=0.25, lw=0)
right.text(20, 0.86, 'training', color='C0', ha='right')
right.text(8, 0.08, 'validation', color='C1', ha='center')
right.set(xlabel='step', ylabel='R²', ylim=(-0.6, 1));

# %% [markdown] tags=["caption"]
# Left: Newton's method needs the same few steps in both units, descent depends on the scale. Right: on validation patients
# $R^2$ is best after about ten steps and then falls below zero.

# %% [markdown]
# Here the stationary point of the training loss is not where we want to be.

# %% tags=["checks"]
def same_as_scipy(x, t, curvature):
    grad = lambda x: x - np.cos(x)
    path = newton(grad, lambda z: np.diag(curvature(z, x)), np.array([x]), t)
    return close(path[-1, 0], scipy_newton(
        grad, x, lambda x: 1 + np.sin(x), maxiter=t, tol=1e-300, disp=False))

verify('step by step the iterates of scipy.optimize.newton',
       lambda x, t: same_as_scipy(x, t, lambda z, x: 1 + np.sin(z)),
       slip=('computes the curvature once and keeps it',
             lambda x, t: same_as_scipy(x, t, lambda z, x: 1 + np.sin([x]))),
       x=scalars(-1, 3), t=integers(1, 6), tries=100)
# the third derivative of log(1 + e^z) is at most 1/(6 √3) in size; mu = 1
A = np.array([[1.0, 2.0], [-1.0, 1.0], [0.5, -1.5]])
M = (norm(A, axis=1) ** 3).sum() / (6 * 3**0.5)

def grad_soft(x, goal):  # of sum_i log(1 + e^(a_i x)) + |x|²/2, tilted
    return A.T @ (expit(A @ x) - expit(A @ goal)) + x - goal

def hess_soft(x):
    p = expit(A @ x)
    return np.eye(2) + A.T * (p * (1 - p)) @ A

def squares_error(goal, e, power):
    grad = lambda x: grad_soft(x, goal)
    new = newton(grad, hess_soft, goal + e, 1)[-1]
    return norm(new - goal) <= M / 2 * norm(e) ** power + 1e-14

verify('a Newton step leaves an error of at most M/(2 mu) times its square',
       lambda goal, e: squares_error(goal, e, 2),
       slip=('hopes for the cube of the error',
             lambda goal, e: squares_error(goal, e, 3)),
       goal=vectors(2, -2, 2), e=vectors(2, -1, 1))

# %% tags=["checks"]
def in_a_valley(x):
    flat = norm(grad_camel(x)) < 1e-6
    return flat and classify(hessian_camel(*x)) == 'minimum'

verify('Newton with |eigenvalues| and backtracking ends in a valley',
       lambda x: in_a_valley(
           safe_newton(camel, grad_camel, lambda x: hessian_camel(*x), x)),
       slip=('leaves the negative eigenvalues as they are',
             lambda x: in_a_valley(newton_camel(x))),
       x=vectors(2, -2, 2).filter(lambda x: norm(grad_camel(x)) > 0.1),
       tries=60)

def longest(x):  # the longest of 1, 1/2, 1/4, ... that passes
    g = grad_camel(x)
    bound = lambda eta: camel(x) - 1e-4 * eta * norm(g) ** 2
    return max(e for e in 0.5 ** np.arange(20) if camel(x - e * g) <= bound(e))

def searches_agree(x, search):
    g = grad_camel(x)
    wolfe = line_search(camel, grad_camel, x, -g)[0]
    scipy_passes = armijo(camel, x, -g, -g @ g, wolfe)
    return scipy_passes and search(camel, x, -g, -g @ g) == longest(x)

verify('halving finds the longest step, and that of scipy passes Armijo, too',
       lambda x: searches_agree(x, backtrack),
       slip=('steps by 1 without a search',
             lambda x: searches_agree(x, lambda *args: 1)),
       x=vectors(2, -2, 2).filter(lambda x: norm(grad_camel(x)) > 0.1),
       tries=60)

# %% tags=["checks"]
def same_walk(seed, T, walk):
    rng = np.random.default_rng(seed)
    X, y, w = rng.normal(size=(20, 2)), rng.random(20), rng.normal(size=2)
    there = walk(*derivatives(X @ T, y), solve(T, w), 3)
    return close(there @ T.T, walk(*derivatives(X, y), w, 3))

verify("Newton's method follows a change of units",
       lambda seed, T: same_walk(seed, T, newton),
       slip=('steps along the gradient instead',
             lambda seed, T: same_walk(
             seed, T, lambda grad, hess, w, steps:
             descend(grad, w, 0.1, steps))),
       seed=integers(0, 99),
       T=matrices(2, 2, -2, 2).filter(
         lambda T: abs(np.linalg.det(T)) > 0.2),
       tries=60)

def certified(w, x, constant):  # softplus(a w) + |w - x|²/2
    a = np.array([0.2, -0.1])
    f = lambda w: np.logaddexp(0, a @ w) + (w - x) @ (w - x) / 2
    grad = lambda w: a * expit(a @ w) + w - x
    lowest = minimize(f, x, jac=grad, options={'gtol': 1e-9}).fun
    return f(w) - lowest <= norm(grad(w)) ** 2 / (2 * constant) + 1e-12

verify('the gap is at most |gradient|² / (2 mu)',
       lambda w, x: certified(w, x, 1),
       slip=('takes a mu that is 1.25 % too large',
             lambda w, x: certified(w, x, 1.0125)),
       w=vectors(2, -3, 3), x=vectors(2, -3, 3), tries=60)

# %% tags=["checks"]
def in_floats(step, T):  # what 16 digits can show
    goal = root(lambda x: x - np.cos(x), 1, tol=1e-15).x[0]
    x, found = 1.0, []
    for _ in range(T):
        x = step(x)
        found.append(int(-np.log10(abs(x - goal))))
    return found

def by_newton(x):
    return newton(lambda x: x - np.cos(x), lambda x: np.diag(1 + np.sin(x)),
                  np.array([x]), 1)[1, 0]

verify('the digits are those of floats, as far as these reach',
       lambda T: digits(newton_step, 3)[:T] == in_floats(by_newton, T)
       and digits(mpmath.cos, 12)[:4 * T] == in_floats(np.cos, 4 * T),
       slip=('counts the digits before the step',
             lambda T: [0, *digits(newton_step, 2)][:T] == in_floats(by_newton, T)),
       T=[1, 2, 3])

# %% tags=["checks"]
# e' = c e² with c = cos x* / 2 (1 + sin x*) = 0.22: 0.66 digits more than twice
def doubles(found):
    return all(2 * a <= b <= 2 * a + 2 for a, b in zip(found, found[1:]))

verify('each Newton step doubles the correct digits',
       lambda T: doubles(digits(newton_step, T)),
       slip=('presses the cosine key', lambda T: doubles(digits(mpmath.cos, T))),
       T=[7, 8])

def as_torch(seed, labels):
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(9, 3)), rng.normal(size=(4, 3))
    y = rng.integers(0, 2, 9) * 1.0
    X_t, y_t = torch.tensor(X), torch.tensor(labels(y))
    loss = torch.nn.functional.binary_cross_entropy_with_logits
    f = lambda w: loss(X_t @ w, y_t)
    grad, hess = derivatives(X, y)
    w, v = W[0], torch.tensor(W[0])
    return (close(logistic_loss(X, y, W), [f(torch.tensor(w)) for w in W])
            and close(grad(w), torch.func.grad(f)(v))
            and close(hess(w), torch.func.hessian(f)(v)))

verify('the logistic loss and its derivatives are those of torch',
       lambda seed: as_torch(seed, lambda y: y),
       slip=('takes labels of -1 and 1', lambda seed: as_torch(seed, lambda y: 2 * y - 1)),
       seed=seeds(), tries=20)

# %% [markdown]
# ## Summary
#
# At a minimum the gradient vanishes and the Hessian is positive semidefinite; conversely a stationary point with a positive
# definite Hessian is a minimum, and on a convex function every stationary point is a global one, reached at the rate $1/t$
# or better. On other functions gradient descent can promise no more than a vanishing gradient, though it leaves saddles
# within a time of order $\log(1/\delta)$. Newton's method doubles the digits at each step and ignores units, but it goes to
# saddles too, unless its eigenvalues are taken in absolute value.
#
# **Further reading.** {cite:t}`nocedal2006numerical` are the standard work on Newton's method and line searches,
# {cite:t}`boyd2004convex` on its convex side, {cite:t}`nesterov2018lectures` on rates. {cite:t}`lee2016gradient` prove that
# descent avoids saddles, {cite:t}`karimi2016linear` collect what the Polyak-Łojasiewicz inequality can do, and
# {cite:t}`dauphin2014identifying` argue that saddles, not bad minima, slow down the training of networks.
