# ---
# jupyter:
#   book:
#     functions:
#       project_ball: project_ball(np.asarray(normal(3)), 0.5)
#       project_box: project_box(np.asarray(normal(3)), -0.5, 0.5)
#       project_simplex: project_simplex(np.asarray(normal(4, 5)))
#     main: dl.convex-sets.definition
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Convex sets
#
# A program estimates the correlations of ten measurements from a table with holes. Each entry is reasonable, and yet the
# matrix cannot be right, because it gives a combination of the measurements a negative variance. Which possible matrix is
# nearest to it? Is there only one, and how do you compute it? For *convex* sets such questions have simple answers.
#
# - **You need** [norms](../linear_algebra/norms.ipynb), [dot products](../linear_algebra/dot_products.ipynb), and for
#   the last part [eigenvalues of symmetric matrices](../linear_algebra/eigendecomposition.ipynb).
# - **You build** a test for convexity, projections onto ball, box, half-space, simplex and $\ell_1$ ball, Dykstra's
#   algorithm for several sets at once, and a repair for broken correlation matrices.
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
import torch
from numpy.linalg import norm
from scipy.linalg import null_space
from scipy.optimize import brentq, minimize, nnls, root
from scipy.signal import argrelmin
from scipy.spatial import Delaunay

from nbutils import data
from nbutils.cases import counts, matrices, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.figures import GREY, panels

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Convex sets: the segment between two points stays inside
#
# Here are a disc and a ring around the origin. We take two points that belong to both and walk straight from one to the
# other:

# %%
def in_disc(p):
    return norm(p) <= 1

def in_ring(p):
    return 0.4 <= norm(p) <= 1

a, b = np.array([0.8, 0.3]), np.array([-0.6, 0.3])
for lam in (1, 0.75, 0.5, 0.25, 0):
    p = lam * a + (1 - lam) * b
    print(f'lambda = {lam:4}: p = {p}, disc {in_disc(p)}, ring {in_ring(p)}')

# %% [markdown]
# The disc contains the whole segment, the ring does not. This is the difference between a convex set and others.
#
# ````{prf:definition} Convex set
# :label: def-convex-set
# A set $C \subseteq \mathbb{R}^n$ is *convex* if it contains the segment between any two of its points:
# ```{math}
# :label: dl.convex-sets.definition
# \lambda \mathbf{a} + (1 - \lambda) \mathbf{b} \in C \qquad
# \text{for all } \mathbf{a}, \mathbf{b} \in C \text{ and all } \lambda \in [0, 1] .
# ```
# ````
#
# The definition is also a test. Draw members at random, draw a point between each two, and look whether it is a
# member:

# %%
def segments(member, low=0, high=1):  # ends a, b; is between a member?
    rng = np.random.default_rng(0)
    p = rng.uniform(-1.2, 1.2, (2, 20_000))
    a = p[:, member(p)]
    b = np.roll(a, 1, axis=1)
    lam = rng.uniform(low, high, a.shape[1])
    return a, b, member(lam * a + (1 - lam) * b)

def looks_convex(member, low=0, high=1):
    return segments(member, low, high)[2].all()

# %%
left = lambda p: np.hypot(p[0] + 0.4, p[1]) <= 0.7
right = lambda p: np.hypot(p[0] - 0.4, p[1]) <= 0.7
plane_sets = {  # p (2, n) -> (n,): is each point a member?
    'half-plane': lambda p: p[0] + 2 * p[1] <= 0.5,
    'ring': lambda p: abs(np.hypot(*p) - 0.7) <= 0.3,
    'star': lambda p: (abs(p) ** 0.5).sum(0) <= 1,
    'both discs': lambda p: left(p) & right(p),
    'either disc': lambda p: left(p) | right(p),
}
print('convex:', [k for k in plane_sets if looks_convex(plane_sets[k])])

# %% mystnb={"image": {"alt": "Five sets in the plane, each with a segment between two members. In the half-plane and in the intersection of two discs the segment stays inside; in the ring, the four-pointed star and the union of two discs it leaves the set."}} tags=["hide-input"]
u = np.linspace(-1.2, 1.2, 301)
grid = np.stack(np.meshgrid(u, u)).reshape(2, -1)
fig, axes = plt.subplots(1, 5, figsize=(6, 1.6))
for ax, (name, member) in zip(axes, plane_sets.items(), strict=True):
    ax.contourf(u, u, member(grid).reshape(301, 301), [0.5, 1.5],
                colors=['C0'], alpha=0.35)
    a, b, stays = segments(member)
    j = (norm(a - b, axis=0) - 9 * stays * (not stays.all())).argmax()
    ax.plot(*np.stack([a[:, j], b[:, j]], 1), 'o-', ms=4,
            color='C2' if stays.all() else 'C4')
    ax.set(aspect='equal', title=name, xticks=[], yticks=[])
    ax.spines[:].set_visible(False)

# %% [markdown] tags=["caption"]
# A set is convex if the segment between any two members stays inside: one segment that leaves refutes ring, star and union,
# while half-plane and intersection pass.

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: tip
# "The test found no counterexample, so the set is convex." Such a test can refute convexity, but it never proves it. And do
# not forget $\lambda \in [0, 1]$: with all real $\lambda$ the points run along the whole *line* through $\mathbf{a}$ and
# $\mathbf{b}$, and not even the interval $[0, 1]$ would pass.
# :::
#
# ### Half-spaces, balls and their intersections
#
# A *half-space* $\{\mathbf{v} : \mathbf{n} \cdot \mathbf{v} \le \beta\}$, one side of a linear classifier, is convex because
# $\mathbf{n} \cdot (\lambda\mathbf{a} + (1 - \lambda)\mathbf{b})$ lies between $\mathbf{n} \cdot \mathbf{a}$ and
# $\mathbf{n} \cdot \mathbf{b}$. A *ball* of any norm is convex by the triangle inequality,
# $\|\lambda\mathbf{a} + (1 - \lambda)\mathbf{b}\| \le \lambda\|\mathbf{a}\| + (1 - \lambda)\|\mathbf{b}\| \le r$. Most other
# examples come from imposing several conditions at once:
#
# ```{math}
# :label: ml.opt.convex-sets.intersection
# \bigcap_{i \in I} C_i \text{ is convex} \qquad \text{if } C_i \text{ is convex }\text{for all } i \in I .
# ```
#
# The segment between two points of the intersection lies in every $C_i$, and so in the intersection. The family may be
# infinite. For a union the argument fails, because the two ends may lie in different sets.
# So there is a smallest convex set around given points, the intersection of all convex sets that contain them. It is called
# their *convex hull*.
#
# So the probability vectors, $\mathbf{v} \ge \mathbf{0}$ with $\sum_i v_i = 1$, form a convex set, the *simplex*:
# each condition is a half-space, or two. So do the positive semidefinite matrices, because each vector $\mathbf{u}$
# contributes one condition $\mathbf{u}^\top \mathbf{M} \mathbf{u} \ge 0$ that is linear in $\mathbf{M}$.
#
# ### Convex functions, and why every local minimum is global
#
# A function is *convex* if no chord passes below the graph:
# $f(\lambda a + (1 - \lambda) b) \le \lambda f(a) + (1 - \lambda) f(b)$ for all $a, b$ and all $\lambda \in [0, 1]$. Convex
# functions are described by convex sets. Let the *epigraph* $\operatorname{epi} f = \{ (x, s) : s \ge f(x) \}$ be the region
# above the graph. Then
#
# ```{math}
# :label: dl.convexity.need-defs
# f \text{ is convex} \iff \operatorname{epi} f \text{ is a convex set}.
# ```
#
# ```{prf:proof}
# :class: dropdown
# If the epigraph is convex, it contains the chord from
# $(a, f(a))$ to $(b, f(b))$, and that is the inequality. Conversely, let $s \ge f(a)$ and $t \ge f(b)$; then
# $\lambda s + (1 - \lambda) t \ge \lambda f(a) + (1 - \lambda) f(b) \ge f(\lambda a + (1 - \lambda) b)$.
# ```
#
# It is tempting to look at the *sublevel sets* $\{x : f(x) \le c\}$ instead. They are convex if $f$ is, but not only then,
# as $\sqrt{|x|}$ shows.

# %% tags=["hide-input"]
functions = {
    'x²': lambda x: x**2, '|x|': abs, '√|x|': lambda x: abs(x) ** 0.5,
    'x³': lambda x: x**3, 'eˣ': np.exp, 'sin x': np.sin,
}
def above_chord_nowhere(f):
    a, b, lam = np.random.default_rng(0).uniform(0, 1, (3, 5000))
    a, b = 2.4 * a - 1.2, 2.4 * b - 1.2
    chord = lam * f(a) + (1 - lam) * f(b)
    return (f(lam * a + (1 - lam) * b) <= chord + 1e-12).all()
print('convex:', [k for k, f in functions.items() if above_chord_nowhere(f)])

# %% mystnb={"image": {"alt": "Left: a parabola, the region above it shaded, and a chord inside that region. Right: the square root of the absolute value, with a cusp at zero; its chord leaves the shaded region, yet the sublevel set marked on the axis is an interval, as on the left."}} tags=["hide-input"]
fig, axes = panels(2, height=2.2, sharey=True)
for ax, name in zip(axes, ('x²', '√|x|'), strict=True):
    f = functions[name]
    ax.fill_between(u, f(u), 1.5, color='C0', alpha=0.25, lw=0)
    ax.plot(u, f(u))
    ends = np.array([-0.1, 1.0])
    good = above_chord_nowhere(f)
    ax.plot(ends, f(ends), 'o-', color='C2' if good else 'C4')
    sublevel = u[f(u) <= 0.5]
    ax.plot(sublevel[[0, -1]], [-0.12, -0.12], color='C1', lw=4)
    ax.text(0, -0.33, f'where {name} ≤ ½', color='C1', ha='center')
    ax.text(-0.9, 1.3, 'epigraph', color='C0')
    ax.set(xlabel='x', ylim=(-0.45, 1.5))

# %% [markdown] tags=["caption"]
# A function is convex exactly if its epigraph is a convex set. Convex sublevel sets are not enough: $\sqrt{|x|}$ has them,
# and a chord that leaves its epigraph.

# %% [markdown]
# Convexity matters in optimization because of the following. Let $f$ and $C$ be convex, $\mathbf{x} \in C$, and suppose that
# some $\mathbf{z} \in C$ is better, $f(\mathbf{z}) < f(\mathbf{x})$. Walk from $\mathbf{x}$ straight towards $\mathbf{z}$.
# The way is permitted because $C$ is convex, and for each $\lambda > 0$, however small, $f((1 - \lambda) \mathbf{x} +
# \lambda \mathbf{z}) \le (1 - \lambda) f(\mathbf{x}) + \lambda f(\mathbf{z}) < f(\mathbf{x})$, because $f$ is convex. So
# $\mathbf{x}$ is no local minimum: *every local minimum is global*. The losses of neural networks are not convex, but many
# sets of permitted weights, pictures or probabilities are.

# %% [markdown]
# ```{exercise} ★ Program: three corners
# :label: convex_sets-corners
# Write `inside(p, a, b, c)`: is the point $\mathbf{p}$ of the plane in the triangle with the corners $\mathbf{a}$,
# $\mathbf{b}$, $\mathbf{c}$? Its edges and corners belong to the triangle. All coordinates are whole numbers, so that you can
# decide it without rounding.
# ```

# %%
def inside(p, a, b, c):
    """Whether p lies in the triangle with the corners a, b, c: True or False.

    p, a, b, c: float arrays (2,) of whole numbers; a, b, c not on one line.
    With a = np.array([0.0, 0.0]), b = np.array([2.0, 0.0]),
    c = np.array([0.0, 2.0]), inside(np.array([1.0, 1.0]), a, b, c) is True.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def weights_exist(p, a, b, c):  # not negative, with the sum 1
    equations = np.vstack([np.transpose([a, b, c]), np.ones(3)])
    return nnls(equations, [*p, 1])[1] < 1e-9

def mixed(a, b, c):  # by thirds, so that many lie on or near the edges
    thirds = counts(2, -1, 3).map(lambda w: np.array([*w, 3 - w.sum()]))
    return thirds.map(lambda w: (w @ [a, b, c] / 3).round())

whole = counts(2, -3, 3).map(np.float64)
area = lambda u, v: u[0] * v[1] - u[1] * v[0]
cases = dict(
    p=lambda a, b, c: mixed(a, b, c) | whole, a=whole,
    b=lambda a: whole.filter(np.any).map(lambda d: a + 3 * d),
    c=lambda a, b: (whole | whole.map(lambda d: a + 3 * d)).filter(
        lambda c: area(b - a, c - a)),
)
grade(inside, weights_exist, **cases)

# %% [markdown]
# ```{solution-start} convex_sets-corners
# :class: dropdown
# ```
# Walk round the triangle. A point inside is always on the same side, so the turns from each edge to the point have no
# two different signs; on an edge one of them is zero. Solving for the weights $\lambda_i$ and asking whether each is
# at least zero is the same in exact arithmetic. But on an edge rounding makes a weight of zero a little negative, and a
# point of the triangle is turned away. The other wrong answers leave the edges out, know one direction round the
# triangle only, and test the box around it.

# %% jupyter={"source_hidden": true}
def inside_solution(p, a, b, c):
    turns = []
    for start, end in ((a, b), (b, c), (c, a)):
        (x, y), (v, w) = end - start, p - start
        turns.append(x * w - y * v)
    return min(turns) >= 0 or max(turns) <= 0

def without_the_edges(p, a, b, c):
    equations = np.vstack([np.transpose([a, b, c]), np.ones(3)])
    return (np.linalg.solve(equations, [*p, 1]) > 1e-9).all()

def as_rounded(p, a, b, c):
    equations = np.vstack([np.transpose([a, b, c]), np.ones(3)])
    return (np.linalg.solve(equations, [*p, 1]) >= 0).all()

def one_way_round(p, a, b, c):
    turns = [area(b - a, p - a), area(c - b, p - b), area(a - c, p - c)]
    return min(turns) >= 0

def in_the_box(p, a, b, c):
    corners = [a, b, c]
    return (np.min(corners, 0) <= p).all() and (p <= np.max(corners, 0)).all()

# %% jupyter={"source_hidden": true}
assert grade(inside_solution, weights_exist, **cases)
assert not grade(without_the_edges, weights_exist, **cases)
assert not grade(as_rounded, weights_exist, **cases)
assert not grade(one_way_round, weights_exist, **cases)
assert not grade(in_the_box, weights_exist, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def contains_hull(member):
    p = np.random.default_rng(1).uniform(-1.2, 1.2, (2, 4000))
    hull = Delaunay(p[:, member(p)].T[:200])
    return member(p)[hull.find_simplex(p.T) >= 0].all()

holds('dl.convex-sets.definition',
      lambda name: looks_convex(plane_sets[name])
      == contains_hull(plane_sets[name]),
      slip=('lets lambda run through all real numbers',
            lambda name: looks_convex(plane_sets[name], -1, 2)
            == contains_hull(plane_sets[name])),
      name=list(plane_sets))

def segments_stay(seed, combine):
    rng = np.random.default_rng(seed)
    normals, p = rng.normal(size=(3, 3)), rng.normal(size=(3, 1000))
    member = lambda p: combine(
        [*(normals @ p <= 0.3), norm(p, axis=0) <= 1.5], axis=0)
    a = p[:, member(p)]
    b, lam = np.roll(a, 1, axis=1), rng.random(a.shape[1])
    return member(lam * a + (1 - lam) * b).all()

holds('ml.opt.convex-sets.intersection',
      lambda seed: segments_stay(seed, np.all),
      slip=('asks for one of the conditions in place of all',
            lambda seed: segments_stay(seed, np.any)),
      seed=seeds(), tries=50)

def is_convex_as(region, name):
    f = functions[name]
    return above_chord_nowhere(f) == looks_convex(lambda p: region(f, p))

verify('a function is convex exactly if its epigraph is',
       lambda name: is_convex_as(lambda f, p: p[1] >= f(p[0]), name),
       slip=('looks at the sublevel sets in place of the epigraph',
             lambda name: is_convex_as(lambda f, p: f(p[0]) <= 0.5, name)),
       name=list(functions))

def local_minima_agree(c, closed):
    x = np.arange(-9.0, 10)
    allowed = abs(x) > closed
    f = np.where(allowed, (x - c) ** 2, np.inf)
    f = np.pad(f, 1, constant_values=np.inf)
    lowest = f[argrelmin(f)]
    return close(lowest, np.full(len(lowest), f.min()))

verify('over a convex set a local minimum of a convex function is global',
       lambda c: local_minima_agree(c, -1),
       slip=('minimizes over a set with a gap',
             lambda c: local_minima_agree(c, 2)),
       c=scalars(-12, 12))

# %% tags=["checks"]
def from_a_to_b(lam):
    return np.array([1.4 * lam - 0.6, 0.3])

verify(
    'the segment stays in the disc, and crosses the hole of the ring where |x| < √0.07',
    lambda lam: bool(in_disc(from_a_to_b(lam)) and in_ring(from_a_to_b(lam)) == (abs(1.4 * lam - 0.6) >= 0.07**0.5)),
    slip=('fills the hole', lambda lam: bool(in_ring(from_a_to_b(lam)))),
    lam=scalars(0, 1),
)
verify(
    'the disc ends at the distance one',
    lambda r, angle: bool(in_disc(r * np.array([np.cos(angle), np.sin(angle)])) == (r <= 1)),
    slip=('takes the square around it', lambda r, angle: bool(
        (abs(r * np.array([np.cos(angle), np.sin(angle)])) <= 1).all() == (r <= 1))),
    r=scalars(0, 1.4).filter(lambda r: abs(r - 1) > 1e-9), angle=scalars(0, 6),
)

# %% [markdown]
# ## Projection: the nearest point of a convex set
#
# If a point $\mathbf{x}$ is not permitted, the mildest correction moves it as little as possible, to the **projection**
#
# ```{math}
# :label: ml.opt.convex-sets.projection-def
# P_C(\mathbf{x}) := \operatorname*{arg\,min}_{\mathbf{v} \in C} \|\mathbf{v} - \mathbf{x}\|_2 .
# ```
#
# Three projections have simple formulas. A ball shortens the vector, a half-space goes back along its normal
# $\mathbf{n}$, and a box clips each coordinate:

# %%
def project_ball(x, r=1.0):
    return x * r / max(norm(x), r)

def project_halfspace(x, n, beta):
    return x - max(n @ x - beta, 0) / (n @ n) * n

def project_box(x, low, high):
    return np.minimum(np.maximum(x, low), high)

# %%
x = np.array([2.0, 1.0, -2.0])
print('ball:      ', project_ball(x).round(2))
print('box:       ', project_box(x, -1.25, 1.25))
print('half-space:', project_halfspace(x, np.array([1.0, 1, 0]), 1))

# %% [markdown]
# One of them you may have used already. *Clipping a gradient by norm* in PyTorch is the projection onto a ball (apart from a
# tiny number, which torch adds to the norm in order not to divide by zero), and clipping by value is the projection onto a
# box:

# %%
for clip in (torch.nn.utils.clip_grad_norm_, torch.nn.utils.clip_grad_value_):
    w = torch.zeros(3, requires_grad=True)
    w.grad = torch.tensor(x)
    clip(w, 1.25)
    print(f'{clip.__name__:16} {w.grad.numpy().round(2)}')
print(f'project_ball     {project_ball(x, 1.25).round(2)}')

# %% [markdown]
# ### Is there always exactly one nearest point?
#
# ````{prf:theorem} Projection onto a convex set
# :label: thm-convex-projection
# Let $C \subseteq \mathbb{R}^n$ be non-empty, closed and convex. Then for each $\mathbf{x} \in \mathbb{R}^n$ there is
# exactly one $\mathbf{p} \in C$ with $\|\mathbf{p} - \mathbf{x}\| = \min_{\mathbf{v} \in C} \|\mathbf{v} -
# \mathbf{x}\|$.
# ````
#
# ```{prf:proof}
# :class: dropdown
# Take any $\mathbf{c} \in C$. Only members within $\|\mathbf{c} - \mathbf{x}\|$ of $\mathbf{x}$ can be nearer; they
# form a closed bounded set, on which the continuous distance has a minimum $d$. Suppose that
# $\mathbf{u}, \mathbf{v} \in C$ both have distance $d$. Their midpoint $\mathbf{m}$ is in $C$, and the parallelogram
# law says $\|\mathbf{m} - \mathbf{x}\|^2 = \frac12 d^2 + \frac12 d^2 - \frac14 \|\mathbf{u} - \mathbf{v}\|^2$. This
# is less than $d^2$ unless $\mathbf{u} = \mathbf{v}$.
# ```
#
# Each hypothesis is needed. An open disc has no nearest point to anything outside. A circle has too many for its centre.
# And in the norm $\|\cdot\|_\infty$, which obeys no parallelogram law, every $(1, t)$ with $|t| \le 1$ is nearest to
# the origin among the points with $v_1 \ge 1$.
#
# How do you recognize the nearest point without comparing it with all others? If a member of $C$ lay at an acute angle to
# the direction from $\mathbf{p}$ to $\mathbf{x}$, a small step towards it would bring you nearer.
#
# ```{prf:theorem} Obtuse angles
# :label: thm-obtuse-angle
# Let $C$ be convex and $\mathbf{p} \in C$. Then $\mathbf{p} = P_C(\mathbf{x})$ if and only if
# $(\mathbf{x} - \mathbf{p}) \cdot (\mathbf{z} - \mathbf{p}) \le 0$ for all $\mathbf{z} \in C$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# For every $\mathbf{z}$ and $\lambda$, $\|\mathbf{p} + \lambda(\mathbf{z} - \mathbf{p}) - \mathbf{x}\|^2 =
# \|\mathbf{p} -
# \mathbf{x}\|^2 - 2\lambda (\mathbf{x} - \mathbf{p}) \cdot (\mathbf{z} - \mathbf{p}) + \lambda^2 \|\mathbf{z} -
# \mathbf{p}\|^2$. If the dot product is never positive, $\lambda = 1$ shows that no $\mathbf{z}$ is nearer than
# $\mathbf{p}$, and none equally near except $\mathbf{p}$. Conversely, let $\mathbf{p}$ be nearest. For $\mathbf{z} \in
# C$ and $0 < \lambda \le 1$ the point on the left is a member, so $0 \le -2 (\mathbf{x} - \mathbf{p}) \cdot
# (\mathbf{z} -
# \mathbf{p}) + \lambda \|\mathbf{z} - \mathbf{p}\|^2$. Let $\lambda \to 0$.
# ```
#
# With this theorem we can prove a guess. For $\mathbf{x}$ outside the ball of radius $r$ guess
# $\mathbf{p} = r\mathbf{x} / \|\mathbf{x}\|$. Then $\mathbf{x} - \mathbf{p}$ is a positive multiple of $\mathbf{p}$,
# and $\mathbf{p} \cdot (\mathbf{z} - \mathbf{p}) \le \|\mathbf{p}\| \|\mathbf{z}\| - r^2 \le 0$. For the half-space,
# $\mathbf{n} \cdot \mathbf{p} = \beta$, and $\mathbf{n} \cdot (\mathbf{z} - \mathbf{p}) \le \beta - \beta$. In a box
# the squared distance is a sum over coordinates, so each is clipped on its own.
#
# The theorem also gives a separating plane. If $\mathbf{x} \notin C$, the half-space
# $\{\mathbf{v} : (\mathbf{x} - \mathbf{p}) \cdot (\mathbf{v} - \mathbf{p}) \le 0\}$ contains all of $C$ but not
# $\mathbf{x}$. Hence a closed convex set is the intersection of all half-spaces that contain it.
#
# ### Projections do not expand
#
# Two points are never farther apart after the projection than before. So rounding errors do not grow, and gradient descent
# loses nothing by being projected, as [projected gradient descent](projected_gradient_descent.ipynb) will use.
#
# ```{prf:theorem} Projections do not expand
# :label: thm-nonexpansive
# Let $\mathbf{p} = P_C(\mathbf{x})$ and $\mathbf{q} = P_C(\mathbf{y})$. Then
# $\|\mathbf{p} - \mathbf{q}\|^2 \le (\mathbf{x} - \mathbf{y}) \cdot (\mathbf{p} - \mathbf{q})$, and therefore
# $\|\mathbf{p} - \mathbf{q}\| \le \|\mathbf{x} - \mathbf{y}\|$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Two obtuse angles: $(\mathbf{x} - \mathbf{p}) \cdot (\mathbf{q} - \mathbf{p}) \le 0$ and
# $(\mathbf{y} - \mathbf{q}) \cdot (\mathbf{p} - \mathbf{q}) \le 0$. Their sum is
# $\big( (\mathbf{p} - \mathbf{q}) - (\mathbf{x} - \mathbf{y}) \big) \cdot (\mathbf{p} - \mathbf{q}) \le 0$, the first
# inequality. By Cauchy-Schwarz its right side is at most $\|\mathbf{x} - \mathbf{y}\| \|\mathbf{p} - \mathbf{q}\|$.
# ```

# %% mystnb={"image": {"alt": "Left: a rectangle and points around it, each with an arrow to its projection; at one of them the angle between the direction back to the point and the direction to a member of the set is obtuse. Right: two separate discs; points on either side of the dotted middle line are projected onto different discs, so neighbours are torn apart."}} tags=["hide-input"]
fig, (one, two) = panels(2, height=2.6)
one.fill([-1, 1, 1, -1], [-0.6, -0.6, 0.6, 0.6], color='C0', alpha=0.3)
angles = 2 * np.pi * (np.arange(12) + 0.5) / 12
ring = 1.7 * np.stack([np.cos(angles), 0.8 * np.sin(angles)], 1)
pairs = [(x, project_box(x, [-1, -0.6], [1, 0.6])) for x in ring]
one.plot([1, -0.5], [0.6, -0.3], '--', color='C1')
one.text(0.3, -0.1, 'obtuse', color='C1')
near = np.array([[s, h] for s in (-0.08, 0.08) for h in (-0.9, 0, 0.9)])
for sign in (-1, 1):
    two.add_patch(plt.Circle((sign, 0), 0.6, color='C0', alpha=0.3, lw=0))
two.axvline(0, color=GREY, ls=':')
for x in near:
    centre = np.array([np.sign(x[0]), 0])
    pairs.append((x, centre + project_ball(x - centre, 0.6)))
for i, (x, p) in enumerate(pairs):
    ax, colour = (one, 'C2') if i < len(ring) else (two, 'C4')
    arrow = dict(arrowstyle='->', color=colour, shrinkA=0, shrinkB=0)
    ax.annotate('', p, x, arrowprops=arrow)
    ax.plot(*x, 'o', ms=3, color=colour)
for ax, name in ((one, 'convex'), (two, 'not convex')):
    ax.set(aspect='equal', xlim=(-1.8, 1.8), ylim=(-1.5, 1.5), title=name)

# %% [markdown] tags=["caption"]
# Left: a projection onto a convex set sees every member of it at an obtuse or right angle. Right: two separate discs tear
# neighbours apart, which no projection onto a convex set does.

# %% [markdown]
# ```{exercise} ★★ Pencil: onto the solutions of a system
# :label: convex_sets-affine
# Let $\mathbf{A}$ have independent rows. Find the projection onto
# $\{\mathbf{v} : \mathbf{A}\mathbf{v} = \mathbf{b}\}$ and write it as `project_affine(x, A, b)`. Which
# $\mathbf{x} - \mathbf{p}$ have no acute angle to any $\mathbf{z} - \mathbf{p}$, if with every $\mathbf{z}$ its mirror image
# $2\mathbf{p} - \mathbf{z}$ is a member too?
# ```

# %%
def project_affine(x, A, b):
    """The point nearest to x among all v with A v = b: a float array (n,).

    x: float array (n,). A: float array (k, n), 1 <= k <= n, of rank k.
    b: float array (k,).
    project_affine(np.array([3.0, 1.0]), np.array([[2.0, 0.0]]),
    np.array([2.0])) is array([1., 1.]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def along_the_kernel(x, A, b):
    one, kernel = np.linalg.pinv(A) @ b, null_space(A)  # (n,), (n, n - k)
    return one + kernel @ (kernel.T @ (x - one))

def independent(x):
    A = matrices((1, len(x)), len(x), -4, 4, edges=True)
    return A.filter(lambda A: np.linalg.svd(A)[1].min() > 0.1)

cases = dict(
    x=vectors((1, 4), edges=True), A=independent,
    b=lambda x, A: vectors(len(A), edges=True) | on(A @ x),  # or x fits
)
grade(project_affine, along_the_kernel, **cases)

# %% [markdown]
# ```{solution-start} convex_sets-affine
# :class: dropdown
# ```
# Members come in mirror pairs, so an angle that is never acute is always right: $\mathbf{x} - \mathbf{p}$ is
# perpendicular to the kernel of $\mathbf{A}$, hence a combination of its rows, $\mathbf{x} - \mathbf{p} =
# \mathbf{A}^\top \mathbf{y}$. Apply $\mathbf{A}$: $\mathbf{A}\mathbf{x} - \mathbf{b} = \mathbf{A} \mathbf{A}^\top
# \mathbf{y}$. Without the inverse of $\mathbf{A} \mathbf{A}^\top$ the formula is right for orthonormal rows only. To
# project onto one equation after the other is right for orthogonal rows only: otherwise the later ones spoil the
# earlier ones. And least squares by themselves give the solution nearest to the origin, wherever $\mathbf{x}$ is.

# %% jupyter={"source_hidden": true}
def project_affine_solution(x, A, b):
    return x - A.T @ np.linalg.solve(A @ A.T, A @ x - b)

def as_if_orthonormal(x, A, b):
    return x - A.T @ (A @ x - b)

def one_after_the_other(x, A, b):
    for row, goal in zip(A, b, strict=True):
        x = x - (row @ x - goal) / (row @ row) * row
    return x

def nearest_to_the_origin(x, A, b):
    return np.linalg.lstsq(A, b)[0]

assert grade(project_affine_solution, along_the_kernel, **cases)
assert not grade(as_if_orthonormal, along_the_kernel, **cases)
assert not grade(one_after_the_other, along_the_kernel, **cases)
assert not grade(nearest_to_the_origin, along_the_kernel, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ### Simplex and $\ell_1$ ball: nearest probabilities and sparse vectors
#
# Scores $\mathbf{x}$ are to become proportions: no entry below zero, sum one. Softmax does it with exponentials. Which
# proportions are *nearest*? Lower all entries by the same $\theta$, cut off what falls below zero, and choose $\theta$ so
# that the rest adds up to $r$, where $r = 1$ for proportions:
#
# ```{math}
# :label: convex_sets-simplex
# p_i = \max(x_i - \theta, 0), \qquad \textstyle\sum_i p_i = r .
# ```
#
# With the entries in falling order, $u_1 \ge \dots \ge u_n$, the right level is the largest of
# $\theta_k = (u_1 + \dots + u_k - r) / k$. So the projection costs a sort {cite}`held1974validation`.

# %%
def project_simplex(x, r=1.0):  # over the last axis of x
    u = -np.sort(-x, -1)
    k = np.arange(1, x.shape[-1] + 1, dtype=u.dtype)
    level = (u.cumsum(-1) - r) / k
    return np.maximum(x - level.max(-1, keepdims=True), 0)

# %%
x = np.array([0.9, 0.7, -0.5])
print('nearest proportions:', project_simplex(x))
print('softmax:            ', (np.exp(x) / np.exp(x).sum()).round(3))

# %% [markdown]
# ```{prf:proof}
# :class: dropdown
# As $\theta$ falls from $\max_i x_i$ to $-\infty$, the
# sum grows continuously from 0 to $\infty$, strictly, so exactly one $\theta$ fits. And this $\mathbf{p}$ is nearest:
# for $\mathbf{z}$ in the simplex $\sum_i (z_i - p_i) = 0$, so $\theta$ may be subtracted in
#
# $$
# (\mathbf{x} - \mathbf{p}) \cdot (\mathbf{z} - \mathbf{p}) = \sum_i (x_i - p_i - \theta)(z_i - p_i) = \sum_{i : p_i = 0} (x_i - \theta) \, z_i \le 0 .
# $$
#
# (Where $p_i > 0$ the first factor is zero; where $p_i = 0$ it is $x_i - \theta \le 0$.) The number $\theta_k$ is the level
# that would be right if just the first $k$ entries stayed positive. For every $k$,
#
# $$
# r = \sum_{i=1}^n \max(u_i - \theta, 0) \ \ge\ \sum_{i=1}^k (u_i - \theta) = k \theta_k + r - k \theta ,
# $$
#
# so $\theta \ge \theta_k$, with equality for the number $k$ of entries that do stay positive.
# ```
#
# The $\ell_1$ ball $\|\mathbf{v}\|_1 \le r$, whose picture is a diamond, takes the same formula with the signs put back. It
# is symmetric in the sign of each coordinate, and no coordinate of the nearest point has the wrong sign, since flipping it
# would bring it nearer. For $\mathbf{x} \ge \mathbf{0}$ with $\sum_i x_i > r$ we have $\theta > 0$, and for $\mathbf{z} \ge
# \mathbf{0}$ with $\sum_i z_i \le r$ the dot product above only gains the term $\theta \sum_i (z_i - p_i) \le 0$. So
#
# ```{math}
# :label: convex_sets-diamond
# p_i = \operatorname{sign}(x_i) \, \max(|x_i| - \theta, 0) .
# ```

# %%
def project_diamond(x, r=1.0):
    inside = norm(x, 1) <= r
    return x if inside else np.sign(x) * project_simplex(abs(x), r)

# %% [markdown]
# As a layer of a network, the projection onto the simplex is called **sparsemax** {cite}`martins2016softmax`. For two scores
# $(t, 0)$ softmax gives the first $1 / (1 + e^{-t})$, which is never 0 or 1; sparsemax gives $(1 + t)/2$, cut off at 0 and
# 1. The same zeros make the $\ell_1$ ball useful where few weights should survive. We project 100 random numbers onto two
# balls of radius 3:

# %%
x = np.random.default_rng(0).normal(size=100)
for name, project in (('ball', project_ball), ('l1 ball', project_diamond)):
    print(f'{name:8} {np.count_nonzero(project(x, 3)):3} of 100 are not zero')

# %% mystnb={"image": {"alt": "Left: the diamond in the plane, with arrows from points around it to their projections; wide regions of points, shaded, end at the four corners. Right: the first weight against the score t; softmax is a smooth curve that never reaches zero or one, sparsemax a straight ramp from zero at minus one to one at plus one."}} tags=["hide-input"]
t = np.linspace(-3, 3, 241)
scores = np.stack([t, 0 * t], 1)  # (241, 2)
sparse = project_simplex(scores)[:, 0]
soft = torch.softmax(torch.tensor(scores), 1)[:, 0]
fig, (flat, curve) = panels(2, height=2.7)
flat.fill([1, 0, -1, 0], [0, 1, 0, -1], color='C0', alpha=0.3, lw=0)
side = np.linspace(-2, 2, 161)
square = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
corner = [np.count_nonzero(project_diamond(x)) == 1 and norm(x, 1) > 1
          for x in square]
flat.contourf(side, side, np.reshape(corner, (161, 161)), [0.5, 1.5],
              colors=[GREY], alpha=0.2)
angles = 2 * np.pi * (np.arange(20) + 0.5) / 20
for x in 1.8 * np.stack([np.cos(angles), np.sin(angles)], 1):
    arrow = dict(arrowstyle='->', color='C2', shrinkA=0, shrinkB=0)
    flat.annotate('', project_diamond(x), x, arrowprops=arrow)
flat.set(aspect='equal', xlabel='x₁', ylabel='x₂')
curve.plot(t, soft, color='C1')
curve.plot(t, sparse, color='C0')
curve.text(1.5, 0.68, 'softmax', color='C1')
curve.text(-0.95, 0.7, 'sparsemax', color='C0', ha='right')
curve.set(xlabel='score t beside a score 0', ylabel='weight');

# %% [markdown] tags=["caption"]
# Left: all points of a grey region are projected onto one corner, with a coordinate exactly zero. Right: sparsemax, a
# projection onto the simplex, reaches weights 0 and 1; softmax never does.

# %% [markdown]
# ```{exercise} ★★ Program: a ceiling for every share
# :label: convex_sets-ceiling
# A portfolio may put no more than $c$ into any one share. Write `project_capped(x, c)`, the projection onto
# $\{\mathbf{v} : 0 \le v_i \le c, \ \sum_i v_i = 1\}$, where $nc \ge 1$. (Guess a form with one unknown level, certify
# it by an obtuse angle, and find the level by bisection.)
# ```

# %%
def project_capped(x, c):
    """The nearest shares, each at most c: a float array (n,) of sum 1.

    x: float array (n,), n >= 1. c: float >= 1 / n; it may be above 1.
    project_capped(np.array([2.0, 0.0]), 0.75) is array([0.75, 0.25]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def nearest_of_all_faces(x, c):  # each share 0, c, or free
    kinds = np.stack(np.meshgrid(*[range(3)] * len(x)), -1).reshape(-1, len(x))
    free, full = kinds == 2, c * (kinds == 1)
    excess = free @ x + full.sum(1) - 1
    faces = np.where(free, x - (excess / free.sum(1))[:, None], full)
    fit = (abs(faces - c / 2) <= c / 2 + 1e-9).all(1)
    faces = faces[fit & (abs(faces.sum(1) - 1) < 1e-9)]
    return faces[((faces - x) ** 2).sum(1).argmin()]

cases = dict(
    x=vectors((1, 5), -4, 4, edges=True) | vectors((2, 5), 0, 1, edges=True),
    c=lambda x: on(1 / len(x), 1.0, 0.5 + 0.5 / len(x)) | scalars(1 / len(x), 2),
)
grade(project_capped, nearest_of_all_faces, **cases)

# %% [markdown]
# ```{solution-start} convex_sets-ceiling
# :class: dropdown
# ```
# $p_i = \min(\max(x_i - \theta, 0), c)$ with $\sum_i p_i = 1$. In $\sum_i (x_i - p_i - \theta)(z_i - p_i)$ a term
# with $p_i = c$ has a first factor that is not negative and $z_i - p_i \le 0$; the others are as before. To cut the
# ordinary projection off at $c$ loses part of the sum, and to divide the rest by its sum lifts shares above $c$ again. The
# level $\theta$ may be negative, too: with $\mathbf{x} = \mathbf{0}$ all shares must rise.

# %% jupyter={"source_hidden": true}
def project_capped_solution(x, c):
    below, above = x.min() - 1, x.max()
    for _ in range(60):
        theta = (below + above) / 2
        p = (x - theta).clip(0, c)
        below, above = (theta, above) if p.sum() > 1 else (below, theta)
    return p

def cut_at_ceiling(x, c):
    return project_simplex(x).clip(0, c)

def cut_and_divided(x, c):
    p = project_simplex(x).clip(0, c)
    return p / p.sum()

def without_ceiling(x, c):
    return project_simplex(x)

def level_never_negative(x, c):
    theta = brentq(lambda t: (x - t).clip(0, c).sum() - 1, 0, 20)
    return (x - theta).clip(0, c)

# %% jupyter={"source_hidden": true}
assert grade(project_capped_solution, nearest_of_all_faces, **cases)
assert not grade(cut_at_ceiling, nearest_of_all_faces, **cases)
assert not grade(cut_and_divided, nearest_of_all_faces, **cases)
assert not grade(without_ceiling, nearest_of_all_faces, **cases)
assert not grade(level_never_negative, nearest_of_all_faces, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def nearest(x, g, start=0.1, kind='ineq'):  # min |v - x| with g(v) >= 0
    return minimize(
        lambda v: (v - x) @ (v - x) / 2, np.full(len(x), start),
        jac=lambda v: v - x, method='SLSQP', options={'ftol': 1e-15},
        constraints={'type': kind, 'fun': g}).x

n, beta = np.array([1.0, 2.0, -0.5]), 0.7
low, high = np.array([-1.0, -0.4, -2.0]), np.array([0.5, 1.0, 0.3])
projections = {
    'ball': project_ball,
    'half-space': lambda x: project_halfspace(x, n, beta),
    'box': lambda x: project_box(x, low, high),
}

# %% tags=["checks"]
def shrink(x, g):  # by bisection
    small, large = 0.0, 1.0
    for _ in range(40):
        t = (small + large) / 2
        small, large = (t, large) if np.min(g(t * x)) >= 0 else (small, t)
    return small * x
inside_of = {  # every entry >= 0: v is a member
    'ball': lambda v: 1 - v @ v,
    'half-space': lambda v: beta - n @ v,
    'box': lambda v: np.append(v - low, high - v),
}

def agrees_with_solver(p, x, g):
    return close(p, nearest(x, g), atol=1e-6)

holds('ml.opt.convex-sets.projection-def',
      lambda name, x:
      agrees_with_solver(projections[name](x), x, inside_of[name]),
      slip=('shrinks the point towards the origin until it fits',
            lambda name, x:
            agrees_with_solver(shrink(x, inside_of[name]), x,
                               inside_of[name])),
      name=list(projections), x=vectors(3, -4, 4), tries=30)

def one_goal(x, g, kind):
    goals = [nearest(x, g, start, kind) for start in (-2, 0.1, 3)]
    return close(goals[:2], goals[1:], atol=1e-6)

holds('ml.opt.convex-sets.unique-projection',
      lambda name, x: one_goal(x, inside_of[name], 'ineq'),
      slip=('claims it for a sphere, which is not convex',
            lambda name, x: one_goal(x, inside_of['ball'], 'eq')),
      name=list(projections), x=vectors(3, -1, 1), tries=20)

def clipped_by(clip, x):
    w = torch.zeros(3, requires_grad=True)
    w.grad = torch.tensor(x)
    clip(w, 2.5)
    return w.grad

verify('clipping a gradient by norm projects it onto a ball',
       lambda x: close(clipped_by(torch.nn.utils.clip_grad_norm_, x),
                       project_ball(x, 2.5)),
       slip=('clips each entry by value',
             lambda x: close(clipped_by(torch.nn.utils.clip_grad_value_, x),
                             project_ball(x, 2.5))),
       x=vectors(3))

# %% tags=["checks"]
def obtuse(p, x, z):
    return (x - p) @ (z - p) <= 1e-9

def contracts(project, x, y):
    p, q = project(x), project(y)
    return (p - q) @ (p - q) <= (x - y) @ (p - q) + 1e-9

verify('no member of the set is at an acute angle',
       lambda name, x, z:
       obtuse(projections[name](x), x, projections[name](z)),
       slip=('shrinks the point towards the origin until it fits',
             lambda name, x, z:
             obtuse(shrink(x, inside_of[name]), x, projections[name](z))),
       name=list(projections), x=vectors(3, -4, 4), z=vectors(3, -4, 4))

verify('projections do not expand',
       lambda name, x, y: contracts(projections[name], x, y),
       slip=('projects onto a sphere, which is not convex',
             lambda name, x, y: contracts(lambda v: v / norm(v), x, y)),
       name=list(projections), x=vectors(3, -4, 4).filter(np.any),
       y=vectors(3, -4, 4).filter(np.any))

# %% tags=["checks"]
signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, 8).T
total = 1.5
in_simplex = lambda v: np.append(v, [total - v.sum(), v.sum() - total])
in_diamond = lambda v: total - signs @ v

def cut_off(x):
    return np.maximum(x - (x.sum() - total) / 3, 0)

verify('the projection onto the simplex is one level for all',
       lambda x: agrees_with_solver(project_simplex(x, total), x, in_simplex),
       slip=('cuts off what is negative and forgets the sum',
             lambda x: agrees_with_solver(cut_off(x), x, in_simplex)),
       x=vectors(3, -3, 3), tries=40)

verify('the projection onto the diamond is the same with signs',
       lambda x: agrees_with_solver(project_diamond(x, total), x, in_diamond),
       slip=('cuts off what is negative and forgets the sum',
             lambda x: agrees_with_solver(
             x if norm(x, 1) <= total else np.sign(x) * cut_off(abs(x)),
             x, in_diamond)),
       x=vectors(3, -3, 3), tries=40)

# %% [markdown]
# ## Several sets at once: alternating projections and Dykstra's algorithm
#
# Often several conditions must be satisfied, each easy by itself. The obvious idea is to project onto one set, then onto the
# next, and round again. These **alternating projections** do arrive at a common point, if there is one
# {cite}`bregman1965method`. The reason is {prf:ref}`thm-nonexpansive`: a common point is its own projection onto every set,
# and no step increases the distance to it. But is it the nearest common point?
#
# Take the disc of radius 1 and the half-plane $v_2 \le 0$, and start at $(\frac12, \frac32)$. The projection onto the disc
# is $(\frac12, \frac32) / \sqrt{2.5}$, as $\frac14 + \frac94 = 2.5$. The projection onto the half-plane is then $(0.32, 0)$,
# as $0.5/\sqrt{2.5} \approx 0.32$. This is a common point, so the walk ends there. But the nearest common point is
# $(\frac12, 0)$, straight below the start.
#
# The disc pulled the point sideways, and after the half-plane had done its part, this was no longer necessary. But nobody
# took it back. **Dykstra's algorithm** {cite}`boyle1986method` remembers what each set has removed, and gives it back before
# the set is visited again:

# %%
def dykstra(x, projections, rounds, give_back=1):
    y, path = x, [x]
    removed = [0 * x for _ in projections]
    for _ in range(rounds):
        for i, project in enumerate(projections):
            z = y + give_back * removed[i]
            y = project(z)
            removed[i] = z - y
            path.append(y)
    return np.array(path)  # (1 + rounds * number of sets, ...)

# %%
half_disc = [project_ball, lambda v: project_halfspace(v, np.array([0, 1]), 0)]
start = np.array([0.5, 1.5])
for name, give_back in (('alternating', 0), ('Dykstra', 1)):
    end = dykstra(start, half_disc, 60, give_back)[-1]
    print(f'{name:12} ends at ({end[0]:.3f}, {abs(end[1]):.3f})')

# %% [markdown]
# With `give_back=0` these are the alternating projections.
#
# ```{prf:theorem} Where Dykstra's algorithm ends
# :label: thm-dykstra
# Suppose that $\mathbf{y}$ converges to $\mathbf{p}$ and that what each closed convex set $C_i$ has removed converges
# to some $\mathbf{r}_i$. Then $\mathbf{p}$ is the point of $\bigcap_i C_i$ nearest to $\mathbf{x}$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Every step leaves $\mathbf{y} + \sum_i \mathbf{r}_i$ as it was, for what leaves $\mathbf{y}$ is remembered. At
# the beginning this sum was $\mathbf{x}$, so $\mathbf{x} - \mathbf{p} = \sum_i \mathbf{r}_i$. After the visit of
# $C_i$, the point $\mathbf{y}$ is the projection of $\mathbf{y} + \mathbf{r}_i$, and {prf:ref}`thm-obtuse-angle` says
# $\mathbf{r}_i \cdot (\mathbf{z} - \mathbf{y}) \le 0$ for all $\mathbf{z} \in C_i$; in the limit
# $\mathbf{r}_i \cdot (\mathbf{z} - \mathbf{p}) \le 0$. A common point $\mathbf{z}$ is in all $C_i$. Add up:
# $(\mathbf{x} - \mathbf{p}) \cdot (\mathbf{z} - \mathbf{p}) \le 0$. And $\mathbf{p}$, the limit of points of each
# closed $C_i$, is common to all. The same theorem, read backwards, finishes the proof.
# ```
#
# That $\mathbf{y}$ always converges if the sets have a common point is harder {cite}`boyle1986method`. How long does it
# take? We draw four random half-spaces and the unit ball in ten dimensions, eight times, and follow the distance to the
# nearest common point, which a general solver finds.

# %% tags=["hide-input"]
def distances(seed, give_back, rounds=120):
    rng = np.random.default_rng(seed)
    normals, x = rng.normal(size=(4, 10)), 2 * rng.normal(size=10)
    goal = nearest(x, lambda v: np.append(0.2 - normals @ v, 1 - v @ v))
    sets = [project_ball] + [
        lambda v, n=n: project_halfspace(v, n, 0.2) for n in normals]
    return norm(dykstra(x, sets, rounds, give_back)[::5] - goal, axis=1)

runs = {
    give_back: np.array([distances(seed, give_back) for seed in range(8)])
    for give_back in (0, 1)
}
missed = (runs[0][:, -1] > 0.01).sum()
print(f'alternating projections miss the nearest point in {missed} of 8 runs,')
print(f'Dykstra in {(runs[1][:, -1] > 1e-3).sum()}')

# %% mystnb={"image": {"alt": "Left: a half disc; from a point above it, alternating projections go to the rim and straight down, to a point left of the nearest one, while Dykstra's path turns back and ends at the nearest one. Right: distance to the nearest common point against rounds on a logarithmic axis; alternating projections stay at a constant distance in seven of eight runs, Dykstra's curves fall in straight lines."}} tags=["hide-input"]
fig, (plane, rate) = panels(2, height=2.8)
arc = np.linspace(-np.pi, 0, 80)
plane.fill(np.cos(arc), np.sin(arc), color='C0', alpha=0.3, lw=0)
plane.plot(np.cos(arc), -np.sin(arc), ':', color=GREY)
for give_back, colour in ((0, 'C4'), (1, 'C2')):
    path = dykstra(start, half_disc, 2, give_back)
    plane.plot(*path.T, 'o-', color=colour, ms=(7, 4)[give_back],
               lw=(4, 1.2)[give_back])
    shown = np.where(runs[give_back] > 1e-6, runs[give_back], np.nan)
    rate.semilogy(shown.T, color=colour, lw=1)
plane.text(*start + [0.08, 0], 'x', va='center')
plane.text(0.28, -0.14, 'alternating', color='C4', ha='right')
plane.text(0.55, -0.14, 'nearest', color='C2')
plane.set(aspect='equal', xlim=(-1.1, 1.3), xlabel='v₁', ylabel='v₂')
rate.text(75, 0.9, 'alternating', color='C4')
rate.text(83, 1e-5, 'Dykstra', color='C2')
rate.set(xlabel='round', ylabel='distance to the nearest point',
         ylim=(1e-6, 20));

# %% [markdown] tags=["caption"]
# Left: alternating projections stop at a common point that is not the nearest. Right: so they do in seven of eight runs in
# ten dimensions, while Dykstra's algorithm converges to the nearest each time.

# %% [markdown]
# Near the end Dykstra's curves are straight on this logarithmic axis: each round divides the distance by about the same
# factor, which depends on the angles at which the sets meet. Where they are nearly parallel, it is close to one, and the
# same is true of alternating projections.
#
# ```{exercise} ★★★ Experiment: the price of a narrow angle
# :label: convex_sets-angle
# Two lines through the origin of the plane meet at the angle $\alpha$. From a point of the first, project onto the
# second and back onto the first, again and again. Predict the factor by which such a round multiplies the distance to
# the common point, without and with giving back: write `contraction(alpha, give_back)`. The grader measures three rounds
# of `dykstra`. Explain what giving back changes here.
# ```

# %%
def contraction(alpha, give_back):
    """The factor per round, in the mean over three rounds: a float.

    alpha: float in (0, pi / 2], the angle. give_back: 0 or 1, as in dykstra.
    contraction(np.pi / 2, 0) is 0.0: the first round arrives.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def measured_contraction(alpha, give_back):
    second = np.array([np.cos(alpha), np.sin(alpha)])
    lines = [lambda v: v @ second * second, lambda v: v * [1, 0]]
    path = dykstra(np.array([1.0, 0]), lines, 3, give_back)
    return norm(path[6]) ** (1 / 3)

cases = dict(alpha=on(0.7, 0.1, np.pi / 2) | scalars(0.01, 1.57), give_back=[0, 1])
grade(contraction, measured_contraction, **cases)

# %% [markdown]
# ```{solution-start} convex_sets-angle
# :class: dropdown
# ```
# Each of the two projections keeps the cosine, so a round keeps $\cos^2\alpha \approx 1 - \alpha^2$: at one tenth of
# a radian it takes 230 rounds to gain a digit. Giving back changes nothing: what a line has removed is perpendicular
# to it, so giving it back does not move the next projection onto that line. Only sets that are not affine, such as
# discs and half-planes, have something to take back. Of the wrong answers, one counts a single projection, one expects
# twice the speed from giving back, and one takes the formula for narrow angles for the formula.

# %% jupyter={"source_hidden": true}
def contraction_solution(alpha, give_back):
    return np.cos(alpha) ** 2

def one_projection(alpha, give_back):
    return np.cos(alpha)

def faster_with_memory(alpha, give_back):
    return np.cos(alpha) ** (2 + 2 * give_back)

def narrow(alpha, give_back):
    return 1 - alpha**2

assert grade(contraction_solution, measured_contraction, **cases)
assert not grade(one_projection, measured_contraction, **cases)
assert not grade(faster_with_memory, measured_contraction, **cases)
assert not grade(narrow, measured_contraction, **cases)
print(f'{np.log(0.1) / np.log(contraction_solution(0.1, 0)):.0f} rounds a digit')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def in_all(v):
    return np.hstack([g(v) for g in inside_of.values()])

def ends_nearest(x, give_back):
    end = dykstra(x, list(projections.values()), 300, give_back)[-1]
    return close(end, nearest(x, in_all), atol=1e-5)

verify("Dykstra's algorithm finds the nearest common point",
       lambda x: ends_nearest(x, 1),
       slip=('projects in turn without giving anything back',
             lambda x: ends_nearest(x, 0)),
       x=vectors(3, -4, 4), tries=20)

# %% [markdown]
# ## Where it matters: repairing a correlation matrix
#
# Of the ten measurements of 442 diabetes patients
# {cite}`efron2004least` we erase three in ten, at random, and want them back. Standardize each column, write
# $\mathbf{R}$ for the matrix of correlations, and let $\mathbf{x}_o$ be what is observed of a patient and $\mathbf{x}_m$
# what is missing. The best linear guess, and for [Gaussian data](../probability/gaussian_distribution.ipynb) the best of
# all, is
#
# ```{math}
# :label: convex_sets-fill
# \hat{\mathbf{x}}_m = \mathbf{R}_{mo} \mathbf{R}_{oo}^{-1} \mathbf{x}_o .
# ```
#
# But $\mathbf{R}$ has to be estimated from the same table. The usual way takes for each pair of columns the patients
# that have both:

# %%
def pairwise_correlation(x):  # x (N, d), nan where erased -> (d, d)
    seen = (~np.isnan(x)).astype(float)
    z = np.nan_to_num(x)
    pairs = seen.T @ seen
    mean = z.T @ seen / pairs  # [i, j]: of column i where j is seen too
    var = (z * z).T @ seen / pairs - mean**2
    return (z.T @ z / pairs - mean * mean.T) / np.sqrt(var * var.T)

def with_holes(share, seed):
    table = data.diabetes().x
    erased = np.random.default_rng(seed).random(table.shape) < share
    holes = np.where(erased, np.nan, table)
    centre, spread = np.nanmean(holes, 0), np.nanstd(holes, 0)
    return (holes - centre) / spread, (table - centre) / spread

# %%
holes, _ = with_holes(0.3, seed=1)
R = pairwise_correlation(holes)
print('eigenvalues of R:', np.linalg.eigvalsh(R).round(3))

# %% [markdown]
# One eigenvalue is negative. If $\mathbf{R}\mathbf{u} = \lambda\mathbf{u}$, then $\mathbf{u}^\top \mathbf{R} \mathbf{u} =
# \lambda \|\mathbf{u}\|^2$ would be the variance of the combination $\sum_i u_i x_i$, so no data can have these
# correlations. Different entries were estimated from different patients, and they do not fit together. And
# {eq}`convex_sets-fill` divides by such eigenvalues.
#
# The possible correlation matrices form a convex set, an intersection: symmetric matrices with eigenvalues at least $\delta$
# (we take $\delta = 0.01$, so that we never divide by a tiny number), and matrices with ones on the diagonal. With the
# distance $\|\mathbf{M} - \mathbf{M}'\|_F$ a matrix is a vector of $d^2$ entries. The projection onto the second set writes
# ones on the diagonal. The projection onto the first raises each eigenvalue that is below $\delta$ to $\delta$. Dykstra's
# algorithm then finds the nearest possible correlation matrix, the method of {cite:t}`higham2002computing`.
#
# :::{admonition} Why raising the eigenvalues is the projection
# :class: dropdown
# For $\delta = 0$ it splits $\mathbf{M} = \mathbf{M}_+ - \mathbf{M}_-$ into positive
# semidefinite parts with $\mathbf{M}_+ \mathbf{M}_- = 0$, and the angle at $\mathbf{M}_+$ is obtuse,
#
# $$
# \operatorname{tr}\big( (\mathbf{M} - \mathbf{M}_+)(\mathbf{Z} - \mathbf{M}_+) \big) = -\operatorname{tr}(\mathbf{M}_- \mathbf{Z}) + \operatorname{tr}(\mathbf{M}_- \mathbf{M}_+) = -\operatorname{tr}(\mathbf{M}_- \mathbf{Z}) \le 0
# $$
#
# for every positive semidefinite $\mathbf{Z}$. Other $\delta$ shift everything by $\delta \mathbf{I}$.
# :::

# %%
def raise_eigenvalues(M, least=0.01):
    lam, U = np.linalg.eigh(M)
    return U * np.maximum(lam, least) @ U.T

def unit_diagonal(M):
    return M + np.diag(1 - M.diagonal())

def nearest_correlation(R, give_back=1):
    sets = [raise_eigenvalues, unit_diagonal]
    return dykstra(R, sets, 100, give_back)[-1]

print(np.linalg.eigvalsh(nearest_correlation(R)).round(3))

# %% [markdown]
# Now fill the holes of all patients at once. (A missing entry gets the equation $\alpha_i = 0$; so one $d \times d$
# system per patient does for every pattern of holes.) We compare four matrices: $\mathbf{R}$ raw; $\mathbf{R}$ repaired;
# the correlations of the complete table, which one does not have in practice; and the identity, which fills in column
# means.

# %%
def fill(x, R):  # x (N, d)
    seen = ~np.isnan(x)
    systems = R * seen[:, :, None] * seen[:, None, :]
    systems += np.eye(len(R)) * ~seen[:, None, :]
    alpha = np.linalg.solve(systems, np.nan_to_num(x)[:, :, None])[:, :, 0]
    return np.where(seen, x, alpha @ R)

def fill_errors(share, seed):  # root mean square, in standard deviations
    holes, truth = with_holes(share, seed)
    R = pairwise_correlation(holes)
    complete = np.corrcoef(truth.T)
    tables = (R, nearest_correlation(R), complete, np.eye(len(R)))
    erased = np.isnan(holes)
    return [np.sqrt(((fill(holes, M) - truth)[erased] ** 2).mean())
            for M in tables]

# %%
shares = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
errors = np.array([[fill_errors(share, seed) for seed in range(12)]
                   for share in shares])  # (shares, seeds, tables)
worst = errors.max(1)
print('worst of 12   raw R  repaired  complete  column means')
for share, (raw, repaired, complete, means) in zip(shares, worst):
    print(f'{share:4.0%} erased  {raw:6.2f}  {repaired:8.2f}  '
          f'{complete:8.2f}  {means:12.2f}')

# %% mystnb={"image": {"alt": "Error of the filled-in values against the share erased, twelve tables each, on a logarithmic axis. With the raw correlations the errors scatter up to a hundred standard deviations; with the repaired ones they lie close together, a little above those of the complete table and well below column means."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
names = 'raw R', 'repaired', 'complete table', 'column means'
for k, colour in enumerate(('C4', 'C2', 'C0', GREY)):
    place = 100 * shares[:, None] + 1.6 * (k - 1.5) + 0 * errors[:, :, k]
    ax.semilogy(place, errors[:, :, k], 'o', ms=3, color=colour, alpha=0.7)
    ax.text(56, (8, 0.81, 0.58, 1.15)[k], names[k], color=colour, va='center')
ax.set(xlabel='share erased (%), 12 tables each', xlim=(4, 71),
       ylabel='error (standard deviations)', xticks=100 * shares);

# %% [markdown] tags=["caption"]
# Filled in with an impossible matrix of correlations, holes can be off by a hundred standard deviations; with the nearest
# possible one the error is nearly that of the complete table.

# %% [markdown]
# Whatever the share, some raw matrix does worse than to know nothing about the patient, at worst by a factor of about
# a hundred. Repaired, the same estimates come within a tenth of what the complete table would give, on every one of
# the sixty tables. It matters less here how the convex set is reached. Alternating projections reach it too, and they end
# hardly farther from $\mathbf{R}$:

# %%
def distance_moved(give_back):
    return norm(nearest_correlation(R, give_back) - R)

extra = distance_moved(0) / distance_moved(1) - 1
print(f'alternating projections move R farther, by {extra:.3%}')

# %% tags=["checks"]
assert close(sparse, ((1 + t) / 2).clip(0, 1))
for i, j in np.ndindex(R.shape):
    both = holes[~np.isnan(holes[:, [i, j]]).any(1)][:, [i, j]]
    assert close(R[i, j], np.corrcoef(both.T)[0, 1])

row = holes[0]
(m,), (o,) = np.isnan(row).nonzero(), np.isfinite(row).nonzero()
guess = R[np.ix_(m, o)] @ np.linalg.solve(R[np.ix_(o, o)], row[o])
assert close(fill(holes, R)[0, m], guess)
assert (worst[:, 0] > worst[:, 3]).all()
assert (errors[:, :, 1] < 1.1 * errors[:, :, 2]).all()

# If the first projection P of R + D, with D diagonal, has ones on its
# diagonal, then P is nearest to R: R - P = (R + D - P) - D, the first part has
# no acute angle to any Z - P, and D is perpendicular to all of them. So a root
# finder may look for the numbers in D.
def by_root_finder(R):
    excess = lambda d: raise_eigenvalues(R + np.diag(d)).diagonal() - 1
    d = root(excess, np.zeros(len(R)), tol=1e-12).x
    return raise_eigenvalues(R + np.diag(d))

def is_nearest(seed, give_back):
    R = pairwise_correlation(with_holes(0.5, seed)[0])
    return close(nearest_correlation(R, give_back), by_root_finder(R),
                 atol=1e-6)

verify('Dykstra finds the nearest correlation matrix',
       lambda seed: is_nearest(seed, 1),
       slip=('projects in turn without giving anything back',
             lambda seed: is_nearest(seed, 0)),
       seed=seeds(), tries=8)

verify(
    'with corrections the result is nearer, by more than 0.01 % and less than 1 %',
    lambda kept, lost: bool(1e-4 < distance_moved(lost) / distance_moved(kept) - 1 < 1e-2),
    slip=('exchanges the two', lambda kept, lost: bool(1e-4 < distance_moved(kept) / distance_moved(lost) - 1)),
    kept=[1], lost=[0],
)

# %% [markdown]
# ## Summary
#
# A set is convex if it contains the segment between any two of its points; intersections stay convex, functions are
# convex when the region above their graph is, and a local minimum of a convex function over a convex set is global.
# Every point has exactly one nearest point in a closed convex set, recognized by its obtuse angles, and it has a
# formula for half-space, box, ball, simplex and $\ell_1$ ball. For several sets at once alternating
# projections end in a common point, Dykstra's algorithm in the nearest one, and a table of correlations that no data
# can have becomes usable again.
#
# **Further reading.** {cite:t}`boyd2004convex` is the standard introduction, {cite:t}`rockafellar1970convex` the
# classic, {cite:t}`bauschke2017convex` the reference on projections. {cite:t}`higham2002computing` tells how stock
# correlations led to the matrix problem.
