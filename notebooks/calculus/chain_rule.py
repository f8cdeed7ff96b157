# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The chain rule
#
# - **Question.** If one input of a long computation changes a little, how much does the output change, along how many paths
#   does the change travel, and what does it cost to know this for all inputs at once?
# - **You need** partial derivatives from [Gradients](gradients.ipynb), [Jacobians](jacobians.ipynb), and
#   [Matrix multiplication](../linear_algebra/matrix_multiplication.ipynb).
# - **You build** derivatives as sums over paths, two sweeps that never list a path, the cheapest order for a chain of
#   Jacobians, and a map of the pixels that make a digit an eight.
# - **Time** 8 s.

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
from numpy.polynomial import polynomial
from scipy.linalg import solve_triangular
from sklearn.neural_network import MLPClassifier

from nbutils.cases import seeds
from nbutils.checks import below, close, grade, holds, verify
from nbutils.data import digits
from nbutils.figures import GREY, label_lines, panels, show_image
from nbutils.timing import seconds

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## The chain rule: a sum over all paths from x to y
#
# The profit of a bakery depends on the price of flour, on wages and on the weather, and all three depend on the
# month. If the month moves a little, each of the three moves a little, and each moves the profit. Small effects do
# not disturb one another: they add. That is the chain rule.
#
# Let $y = f(\mathbf{u})$ with $\mathbf{u} = (u_1, \dots, u_m)$, and let each $u_j = g_j(\mathbf{x})$ with $\mathbf{x} =
# (x_1, \dots, x_n)$. Then
#
# ```{math}
# :label: dl.chain.sum
# \frac{\partial y}{\partial x_i} = \sum_{j=1}^m \frac{\partial y}{\partial u_j} \frac{\partial u_j}{\partial x_i} .
# ```
#
# This needs a hypothesis, and it is not enough that all these partial derivatives exist.
#
# ```{prf:definition} Differentiable
# :label: def-differentiable
# $f : \mathbb{R}^m \to \mathbb{R}$ is *differentiable* at $\mathbf{u}$ if there is a vector $\mathbf{d}$ with
#
# $$f(\mathbf{u} + \mathbf{h}) = f(\mathbf{u}) + \mathbf{d} \cdot \mathbf{h} + \|\mathbf{h}\|\, r(\mathbf{h}), \qquad r(\mathbf{h})
# \to 0 = r(\mathbf{0}) \text{ as } \mathbf{h} \to \mathbf{0} .$$
#
# Then $\mathbf{h} = t\,\mathbf{e}_j$ shows that $d_j = \partial f/\partial u_j$. Existence of all partial derivatives
# does not suffice; their existence nearby and continuity at $\mathbf{u}$ does.
# ```
#
# ```{prf:theorem} Chain rule
# :label: thm-chain-rule
# Let all $\partial g_j/\partial x_i$ exist at $\mathbf{x}$, for one fixed $i$, and let $f$ be differentiable at
# $\mathbf{u} = \mathbf{g}(\mathbf{x})$. Then $y = f(\mathbf{g}(\mathbf{x}))$ has a partial derivative by $x_i$ at
# $\mathbf{x}$, and {eq}`dl.chain.sum` holds.
# ```
#
# A small step of $x_i$ moves $\mathbf{u}$ by a small step, and near $\mathbf{u}$ the function $f$ is nearly linear.
#
# ```{prf:proof}
# :class: dropdown
# Change $x_i$ by $t \ne 0$. Then $\mathbf{u}$ moves by $\mathbf{h}(t) = \mathbf{g}(\mathbf{x} + t\,\mathbf{e}_i) -
# \mathbf{g}(\mathbf{x})$, and $h_j(t)/t \to \partial u_j/\partial x_i$ as $t \to 0$. In particular $\mathbf{h}(t) \to
# \mathbf{0}$, and $\|\mathbf{h}(t)\|/|t|$ stays bounded. Insert $\mathbf{h}(t)$ into {prf:ref}`def-differentiable`
# and divide by $t$:
#
# $$\frac{f(\mathbf{u} + \mathbf{h}(t)) - f(\mathbf{u})}{t} = \sum_{j=1}^m \frac{\partial f}{\partial u_j}\, \frac{h_j(t)}{t} +
# \frac{\|\mathbf{h}(t)\|}{t}\, r(\mathbf{h}(t)) .$$
#
# The sum tends to the right side of {eq}`dl.chain.sum`. The last term is a bounded quantity times one that tends to zero.
# ```
#
# The theorem asks for one partial derivative of each $g_j$, but for *all directions* of $f$, because the curve
# $\mathbf{h}(t)$ may approach zero from anywhere. For polynomials we can compare the sum with derivatives that do not use
# the chain rule: multiply everything out, and differentiate $\sum_k c_k x^k$ term by term. Here $f = u_1 u_2 + u_2 u_3^2$,
# and the $g_j$ are three random cubics.

# %%
def compose_and_expand(g):  # g: three polynomials, coefficients upwards
    mul = polynomial.polymul
    return polynomial.polyadd(mul(g[0], g[1]), mul(g[1], mul(g[2], g[2])))

def terms(g, x):  # of the sum, one for each u_j
    u = [polynomial.polyval(x, c) for c in g]
    du = [polynomial.polyval(x, polynomial.polyder(c)) for c in g]
    dy = u[1], u[0] + u[2] ** 2, 2 * u[1] * u[2]  # of f by u
    return [dy[j] * du[j] for j in range(3)]

def expanded_slope(g, x):
    return polynomial.polyval(x, polynomial.polyder(compose_and_expand(g)))

rng = np.random.default_rng(0)
g, x = rng.integers(-4, 5, (3, 4)).astype(float), 2
print('terms', *terms(g, x), 'sum', sum(terms(g, x)))
print('multiplied out and differentiated', expanded_slope(g, x))

# %% [markdown]
# Written for all $i$ at once, the sum is a matrix product. Let $\mathbf{J}_{\mathbf{g}}$ be the $m \times n$ matrix
# of the $\partial u_j/\partial x_i$. The row $\big(\partial y/\partial u_1, \dots, \partial y/\partial u_m\big)$
# times this matrix is the row of all $\partial y/\partial x_i$. With several outputs there are several such rows:
#
# ```{math}
# :label: chain-jacobians
# \mathbf{J}_{\mathbf{f} \circ \mathbf{g}}(\mathbf{x}) = \mathbf{J}_{\mathbf{f}}(\mathbf{g}(\mathbf{x}))\; \mathbf{J}_{\mathbf{g}}(\mathbf{x}) .
# ```
#
# The outer Jacobian is taken *at $\mathbf{g}(\mathbf{x})$*, which formulas without arguments do not show. Here is the
# product at $\mathbf{x} = (1, 2)$, beside the gradient of the composition by torch:

# %%
def g(x):  # (2,) -> (3,)
    return torch.stack([x[0] * x[1], x[0] + x[1] ** 2, x[0].sin()])

def f(u):  # (3,) -> ()
    return u[0] * u[1] + u[1] * u[2] ** 2

def dg(x):  # (3, 2)
    return np.array([[x[1], x[0]], [1, 2 * x[1]], [np.cos(x[0]), 0]])

def df(u):  # (3,)
    return np.array([u[1], u[0] + u[2] ** 2, 2 * u[1] * u[2]])

x = np.array([1.0, 2.0])
u = g(torch.tensor(x)).numpy()
print('row times matrix', (df(u) @ dg(x)).round(3))  # (3,) @ (3, 2)
by_torch = torch.func.jacrev(lambda x: f(g(x)))(torch.tensor(x))
print('by torch        ', by_torch.numpy().round(3))

# %% mystnb={"image": {"alt": "A graph with two inputs x1 and x2 on the left, three intermediate values u1, u2, u3 in the middle and y on the right. Every edge carries its partial derivative at the point 1, 2. There is no edge from x2 to u3."}} tags=["hide-input"]
du, dy = dg(x), df(u)
place = {'x₁': (0, 1.5), 'x₂': (0, 0.5), 'u₁': (2, 2), 'u₂': (2, 1),
         'u₃': (2, 0), 'y': (4, 1)}
edges = [('x₁', 'u₁', du[0, 0]), ('x₁', 'u₂', du[1, 0]),
         ('x₁', 'u₃', du[2, 0]), ('x₂', 'u₁', du[0, 1]),
         ('x₂', 'u₂', du[1, 1]), ('u₁', 'y', dy[0]), ('u₂', 'y', dy[1]),
         ('u₃', 'y', dy[2])]
fig, ax = plt.subplots(figsize=(6, 2.9))
for start, end, slope in edges:
    (a, b), (c, d) = place[start], place[end]
    color = 'C0' if start == 'x₁' else 'C1' if start == 'x₂' else 'C2'
    ax.annotate('', (c, d), (a, b), arrowprops=dict(
        arrowstyle='-|>', color=color, lw=1.3, shrinkA=13, shrinkB=13))
    t = 0.72 if start == 'x₂' else 0.85 if end == 'u₃' else 0.36
    ax.text(a + t * (c - a) + 0.16 * (end == 'u₃'),
            b + t * (d - b) + 0.1, f'{slope:.2f}', color=color, ha='center')
for name, (a, b) in place.items():
    ax.text(a, b, name, ha='center', va='center', size=12)
ax.set(xlim=(-0.3, 4.3), ylim=(-0.3, 2.3))
ax.axis('off');

# %% [markdown] tags=["caption"]
# Multiply along each path and add over the paths: at $\mathbf{x} = (1, 2)$ three of them lead from $x_1$ to $y$, but only
# two from $x_2$.

# %% [markdown]
# At $\mathbf{x} = (1, 2)$ three paths lead from $x_1$ to $y$. Multiply along each of them, then add: this is
# {eq}`dl.chain.sum`.
#
# **Why partial derivatives are not enough.** Take
#
# ```{math}
# :label: chain-counterexample
# f(u_1, u_2) = \frac{u_1^2\, u_2}{u_1^2 + u_2^2}, \quad f(0, 0) = 0, \qquad u_1 = u_2 = x .
# ```
#
# On both axes $f$ is zero, so both partial derivatives at the origin exist and are 0, and the sum in
# {eq}`dl.chain.sum` is $0 \cdot 1 + 0 \cdot 1 = 0$. But $y = x^3/(2x^2) = x/2$, with derivative $\tfrac12$. The function
# is continuous, and it has a slope in *every* direction, $\cos^2\theta \sin\theta$ in the
# direction of angle $\theta$. But these slopes are not those of a plane, which would be $d_1 \cos\theta + d_2
# \sin\theta$. In the language of {prf:ref}`def-differentiable`, with $\mathbf{d} = \mathbf{0}$ the remainder $r$
# along the diagonal is $\tfrac12 t/(\sqrt2\,|t|)$, and does not tend to zero.

# %%
def cone(u):  # (2, ...) -> (...)
    length = (u ** 2).sum(0)
    return np.where(length > 0, u[0] ** 2 * u[1], 0) / np.where(
        length > 0, length, 1)

def smooth(u):
    return np.sin(u[0]) + u[0] * u[1] + 0.5 * u[1]

# %%
theta = np.linspace(0, 2 * np.pi, 361)
direction = np.stack([np.cos(theta), np.sin(theta)])  # (2, 361)
h = 1e-6
slopes = {f.__name__: f(h * direction) / h for f in (cone, smooth)}
forecast = {'cone': 0 * theta, 'smooth': np.array([1, 0.5]) @ direction}
print(f'largest slope of the cone: {slopes["cone"].max():.3f}')
for name in slopes:
    off = abs(slopes[name] - forecast[name]).max()
    print(f'{name}: slope off the forecast by at most', f'{off:.3f}'
          if off > 1e-3 else below(off, 2e-6))

# %% mystnb={"image": {"alt": "Slope at the origin against the direction. Left, a differentiable function: the measured slopes lie on the sine wave forecast from the two partial derivatives. Right, the counterexample: it has slopes between plus and minus 0.385, but the forecast is zero in every direction and right only on the axes."}} tags=["hide-input"]
fig, axes = panels(2, height=2.5, sharey=True)
titles = {'smooth': 'differentiable', 'cone': 'only partial derivatives'}
for ax, (name, title) in zip(axes, titles.items(), strict=True):
    ax.plot(np.degrees(theta), slopes[name], label='slope')
    ax.plot(np.degrees(theta), forecast[name], '--', label='forecast')
    ax.set(title=title, xlabel='direction (degrees)',
           xticks=[0, 90, 180, 270, 360])
axes[0].set_ylabel('slope at the origin')
axes[0].legend();

# %% [markdown] tags=["caption"]
# Left: a differentiable function has in every direction the slope that its partial derivatives forecast. Right: both partial
# derivatives are zero, yet in most directions the slope is not.

# %% [markdown]
# The hypothesis matters in practice. Networks have many kinks, and at a kink a library returns *some* number. For
# $\operatorname{relu}(x) = \max(x, 0)$ at $0$ torch takes the slope 0. Now $x = \operatorname{relu}(x) -
# \operatorname{relu}(-x)$ for all $x$, with derivative 1. By the chain rule with these numbers it is $0 - 0 \cdot
# (-1) = 0$. The rule was applied where its hypothesis fails, and no error is raised:

# %%
x = torch.tensor([-1.0, 0.0, 1.0], requires_grad=True)
identity = x.relu() - (-x).relu()
identity.sum().backward()
print('values:', identity.detach().numpy())
print('slopes:', x.grad.numpy())

# %% [markdown]
# ```{exercise} ★ Polar coordinates
# :label: chain-polar
# A field $f$ on the plane has the partial derivatives $f_1$ and $f_2$ at the point $(r\cos\varphi, r\sin\varphi)$ and
# is differentiable there. Write `polar(f_1, f_2, r, phi)`, its partial derivatives by $r$ and by $\varphi$. The
# grader nudges $r$ and $\varphi$ of the plane that touches $f$.
# ```

# %%
def polar(f_1, f_2, r, phi):  # -> two numbers
    raise NotImplementedError('your turn')

# %%
def polar_by_nudging(f_1, f_2, r, phi, h=1e-5):
    f = lambda r, phi: f_1 * r * np.cos(phi) + f_2 * r * np.sin(phi)
    return ((f(r + h, phi) - f(r - h, phi)) / (2 * h),
            (f(r, phi + h) - f(r, phi - h)) / (2 * h))

places = [(1.0, 0.0, 2.0, 0.5), (0.3, -1.0, 1.5, 2.0), (2.0, 1.0, 0.1, -1.0)]
grade(polar, polar_by_nudging, places)

# %% [markdown]
# ```{solution-start} chain-polar
# :class: dropdown
# ```
# Two paths each: $\partial f/\partial r = f_1\cos\varphi + f_2\sin\varphi$ and $\partial f/\partial\varphi = -f_1\,
# r\sin\varphi + f_2\, r\cos\varphi$. The mistake forgets that $u_1$ and $u_2$ turn faster the farther out they are,
# and leaves $r$ out.

# %% jupyter={"source_hidden": true}
def polar_solution(f_1, f_2, r, phi):
    c, s = np.cos(phi), np.sin(phi)
    return f_1 * c + f_2 * s, r * (f_2 * c - f_1 * s)

def polar_without_r(f_1, f_2, r, phi):
    by_r, by_phi = polar_solution(f_1, f_2, r, phi)
    return by_r, by_phi / r

assert grade(polar_solution, polar_by_nudging, places)
assert not grade(polar_without_r, polar_by_nudging, places)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def agrees(seed):
    rng = np.random.default_rng(seed)
    g, x = rng.integers(-4, 5, (3, 4)).astype(float), rng.integers(-3, 4)
    return close(sum(terms(g, x)), expanded_slope(g, x))

def agrees_at_the_tip(seed):  # u = (a x, b x), at x = 0
    a, b = np.random.default_rng(seed).integers(1, 10, 2)
    partials = cone(h * np.eye(2)) / h  # (2,)
    direct = cone(h * np.array([a, b])) / h
    return close(direct, partials @ [a, b])

holds(
    'dl.chain.sum',
    agrees,
    slip=(
        'uses partial derivatives where no plane touches f',
        agrees_at_the_tip,
    ),
    seed=seeds(),
)

def row_times_matrix(seed, inner):
    x = np.random.default_rng(seed).normal(size=2)
    row = df(g(torch.tensor(x)).numpy()) @ inner(x)
    whole = torch.func.jacrev(lambda x: f(g(x)))(torch.tensor(x))
    return close(row, whole)

verify(
    'the gradient of f(g(x)) is the row of f at g(x) times the matrix of g',
    lambda seed: row_times_matrix(seed, dg),
    slip=(
        'forgets the path from x₁ through u₃',
        lambda seed: row_times_matrix(
            seed, lambda x: dg(x) * [[1], [1], [0]]
        ),
    ),
    seed=seeds(),
    tries=50,
)

# %% [markdown]
# ## Forward and reverse accumulation: all paths in one sweep
#
# Computations are deeper than $\mathbf{x} \to \mathbf{u} \to y$. Number the values $v_1, \dots, v_K$ in the order in
# which they are computed, and draw an edge from $v_i$ to $v_k$, $i < k$, if $v_k$ is computed directly from $v_i$.
# The edge carries the local derivative $w_{ki}$. Collect them in the matrix $\mathbf{W}$, which is strictly lower
# triangular, because no edge leads backwards.
#
# ````{prf:theorem} Sum over paths
# :label: thm-paths
# Let each value be a differentiable function of the values it is computed from. Then the derivative of $v_k$ by the
# input $v_i$ is the sum, over all paths from $v_i$ to $v_k$, of the products of the $w$ along the path. It is the
# entry $(k, i)$ of
#
# ```{math}
# :label: chain-paths
# \mathbf{P} = \mathbf{I} + \mathbf{W} + \mathbf{W}^2 + \dots + \mathbf{W}^{K-1} = (\mathbf{I} - \mathbf{W})^{-1} .
# ```
# ````
#
# ```{prf:proof}
# :class: dropdown
# Let $p_{ki}$ be the sum over paths, with $p_{ii} = 1$ for the path of no edges. For $k > i$ every path arrives at
# $v_k$ over a last edge, from some $v_j$. Sort the paths by this edge: $p_{ki} = \sum_{j<k} w_{kj}\, p_{ji}$. The
# derivatives $\partial v_k/\partial v_i$ obey the same recursion by {eq}`dl.chain.sum` and start with the same 1, so
# the two are equal by induction on $k$. Next, $(\mathbf{W}^s)_{ki} = \sum w_{k j_1} w_{j_1 j_2} \cdots w_{j_{s-1} i}$
# is the sum over paths of exactly $s$ edges. No path has more than $K - 1$, so $\mathbf{W}^K = \mathbf{0}$, and in
# $(\mathbf{I} - \mathbf{W})(\mathbf{I} + \mathbf{W} + \dots + \mathbf{W}^{K-1}) = \mathbf{I} - \mathbf{W}^K$ the last
# term vanishes.
# ```
#
# To list the paths would take far too long. In a chain of $D$ layers with $m$ values each, every value feeding every one
# of the next layer, one input and one output are joined by $m^D$ paths. But $ab + ac$
# needs only one multiplication if we write it as $a(b + c)$. Two sweeps factor out in this way everywhere, forward
# from the input $v_i$ and in reverse from the output $v_K$:
#
# ```{math}
# :label: chain-sweeps
# \begin{gathered}
# \dot v_i = 1, \qquad \dot v_k = \sum_{j<k} w_{kj}\, \dot v_j \quad (k > i) ; \\
# \bar v_K = 1, \qquad \bar v_j = \sum_{k>j} w_{kj}\, \bar v_k \quad (j < K) .
# \end{gathered}
# ```
#
# The *forward* sweep factors by the last edge of a path, the *reverse* sweep by the first. Forward, $\dot v_k$ is the
# derivative of $v_k$ by the chosen input: one sweep, one input, all outputs. In reverse, $\bar v_j$ is the derivative of
# the chosen output by $v_j$: one sweep, one output, all inputs. As equations they are $(\mathbf{I} -
# \mathbf{W})\,\dot{\mathbf{v}} = \mathbf{e}_i$ and $(\mathbf{I} - \mathbf{W})^\top\, \bar{\mathbf{v}} = \mathbf{e}_K$:
# *the chain rule is a triangular system*, solved from the top or from the bottom. The code counts its multiplications.

# %%
def by_paths(edges, start, end):  # edges: {(i, k): w}, i < k
    total = count = 0
    todo = [(start, 1.0)]
    while todo:
        here, product = todo.pop()
        total += product * (here == end)
        for (i, k), w in edges.items():
            if i == here:
                todo.append((k, product * w))
                count += 1
    return total, count

# %%
def forward(edges, start, end):
    dot, count = {start: 1.0}, 0
    for (i, k), w in sorted(edges.items(), key=lambda edge: edge[0][::-1]):
        if i in dot:
            dot[k], count = dot.get(k, 0.0) + w * dot[i], count + 1
    return dot[end], count

def reverse(edges, start, end):
    bar, count = {end: 1.0}, 0
    for (i, k), w in sorted(edges.items(), reverse=True):
        if k in bar:
            bar[i], count = bar.get(i, 0.0) + w * bar[k], count + 1
    return bar[start], count

# %% [markdown]
# Sorting by the end of the edge makes sure that $\dot v_i$ is complete when it is used; sorting backwards by its
# start does the same for $\bar v_k$. Our example is a chain of $D$ layers of three, with one input and one output. We
# compare all three with a triangular solver.

# %%
def layered(depth, width, rng):  # one input, layers, one output
    sizes = [1] + [width] * depth + [1]
    first = np.cumsum([0, *sizes])
    return {(first[s] + a, first[s + 1] + b): rng.normal()
            for s in range(depth + 1)
            for a in range(sizes[s]) for b in range(sizes[s + 1])}

rng = np.random.default_rng(0)
depths, counts = range(1, 9), []
for depth in depths:
    edges = layered(depth, 3, rng)
    K = 2 + 3 * depth
    W = np.zeros((K, K))
    for (i, k), w in edges.items():
        W[k, i] = w
    P = solve_triangular(np.eye(K) - W, np.eye(K), lower=True)
    ways = [way(edges, 0, K - 1) for way in (by_paths, forward, reverse)]
    assert all(close(value, P[-1, 0]) for value, _ in ways)
    counts.append([count for _, count in ways])
print('depth 8: paths take', counts[-1][0], 'multiplications,',
      'a sweep', counts[-1][1])

# %% mystnb={"image": {"alt": "Multiplications against depth, logarithmic. Listing all paths grows as a straight line, beyond ten thousand at depth 8; a sweep, forward or reverse, stays below a hundred."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5, 2.8))
walked, swept, back = np.transpose(counts)
assert (swept == back).all()
ax.semilogy(depths, walked, 'o-', label='all paths')
ax.semilogy(depths, swept, 'o-', label='one sweep')
ax.set(xlabel='layers of three', ylabel='multiplications', ylim=(3, 3e4))
label_lines(ax)

# %% [markdown] tags=["caption"]
# Listing all paths through layers of three takes about three times the work with each further layer; a sweep takes only nine
# multiplications more.

# %% [markdown]
# The count of the paths triples with every layer, that of the sweep grows by nine. With one input and one output the
# two directions cost the same: each edge is used once. With many inputs and few outputs, or the other way round, they differ
# much, as the next part shows.
#
# ```{exercise} ★★ Count the paths
# :label: chain-count
# How many paths lead from value 0 to value $K - 1$? Derive a count from {eq}`chain-paths` and write `roads(edges, K)`
# without listing any. The grader walks them all.
# ```

# %%
def roads(edges, K):  # edges: {(i, k): w}
    raise NotImplementedError('your turn')

# %%
def roads_by_walking(edges, K):
    number, todo = 0, [0]
    while todo:
        here = todo.pop()
        number += here == K - 1
        todo += [k for i, k in edges if i == here]
    return number

generator = np.random.default_rng(5)
graphs = [(layered(d, 3, generator), 2 + 3 * d) for d in (1, 2, 4)]
graphs += [({(i, k): 2.0 for k in range(n) for i in range(k)}, n)
           for n in (2, 5, 9)]
grade(roads, roads_by_walking, graphs)

# %% [markdown]
# ```{solution-start} chain-count
# :class: dropdown
# ```
# If all $w$ are 1, every path contributes 1. So put ones into $\mathbf{W}$ and solve $(\mathbf{I} -
# \mathbf{W})\,\dot{\mathbf{v}} = \mathbf{e}_1$, which is a forward sweep. In the complete graph on $n$ values this
# gives $2^{n-2}$. The mistake shown takes only the longest paths, $\mathbf{W}^{K-1}$.

# %% jupyter={"source_hidden": true}
def ones_on_edges(edges, K):
    W = np.zeros((K, K))
    for i, k in edges:
        W[k, i] = 1
    return W

def roads_solution(edges, K):
    W = ones_on_edges(edges, K)
    return np.linalg.solve(np.eye(K) - W, np.eye(K)[0])[-1]

def longest_only(edges, K):
    return np.linalg.matrix_power(ones_on_edges(edges, K), K - 1)[-1, 0]

assert grade(roads_solution, roads_by_walking, graphs)
assert not grade(longest_only, roads_by_walking, graphs)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Forward or reverse: the order of a product of Jacobians
#
# A network of $L$ layers maps $\mathbb{R}^{n_0} \to \mathbb{R}^{n_1} \to \dots \to \mathbb{R}^{n_L}$, and by
# {eq}`chain-jacobians` its Jacobian is $\mathbf{J}_L \cdots \mathbf{J}_2 \mathbf{J}_1$ with $\mathbf{J}_l$ of shape
# $n_l \times n_{l-1}$. Multiplication is associative, so every bracketing gives the same matrix, but not at the same
# price. A $p \times q$ matrix times a $q \times r$ matrix takes $pqr$ multiplications. Forward accumulation starts at
# the input, $\mathbf{J}_L(\cdots(\mathbf{J}_3(\mathbf{J}_2\mathbf{J}_1)))$, reverse accumulation at the output,
# $(((\mathbf{J}_L\mathbf{J}_{L-1})\mathbf{J}_{L-2})\cdots)\mathbf{J}_1$:
#
# ```{math}
# :label: chain-costs
# C_{\text{forward}} = n_0 \sum_{l=2}^{L} n_l\, n_{l-1}, \qquad C_{\text{reverse}} = n_L \sum_{l=1}^{L-1} n_l\, n_{l-1} .
# ```
#
# For one output the reverse order passes a single row through the network, the forward order a matrix with $n_0$ columns.
# Almost always no other order is better:
#
# ```{prf:theorem} One output
# :label: thm-reverse-optimal
# Let $n_L = 1$ and all other $n_l \ge 2$. Then no bracketing of $\mathbf{J}_L \cdots \mathbf{J}_1$ takes fewer
# multiplications than reverse accumulation, $\sum_{l=1}^{L-1} n_l\, n_{l-1}$.
# ```
#
# The proof is an induction on the place of the last product.
#
# ```{prf:proof}
# :class: dropdown
# *Step 1: If all widths are at least 2, any bracketing of $\mathbf{J}_k \cdots \mathbf{J}_1$ costs at least
# $\sum_{l=1}^{k} n_l n_{l-1} - n_k n_0$.* For $k = 1$ both sides are 0. For $k > 1$ the last product joins
# $\mathbf{J}_k \cdots \mathbf{J}_{j+1}$ and $\mathbf{J}_j \cdots \mathbf{J}_1$, for $n_k n_j n_0$ multiplications. By
# induction the total is at least
#
# $$\sum_{l=1}^{k} n_l n_{l-1} - n_k n_j - n_j n_0 + n_k n_j n_0 ,$$
#
# and $n_k n_j n_0 \ge 2 n_j \max(n_k, n_0) \ge n_k n_j + n_j n_0$, since both $n_k$ and $n_0$ are at least 2.
#
# *Step 2: The claim, by induction on $L$.* For $L = 1$ it says $0 \ge 0$. Let the last product join $\mathbf{J}_L
# \cdots \mathbf{J}_{k+1}$ and $\mathbf{J}_k \cdots \mathbf{J}_1$; it takes $1 \cdot n_k n_0$. The left part costs at
# least $\sum_{l=k+1}^{L-1} n_l n_{l-1}$ by induction, the right part at least $\sum_{l=1}^{k} n_l n_{l-1} - n_k n_0$
# by step 1. Add the three.
# ```
#
# The condition on the inner widths cannot be dropped: for $n = (2, 100, 1, 1)$ reverse takes 300 multiplications, and
# multiplying the last two Jacobians first 202. Short chains have few bracketings, so we can try them all: choose where the
# last product is, and do the same on either side.

# %%
def all_costs(n):  # widths n_0, ..., n_L: the cost of every bracketing
    if len(n) == 2:
        return [0]
    return [left + right + n[-1] * n[k] * n[0]
            for k in range(1, len(n) - 1)
            for right in all_costs(n[:k + 1]) for left in all_costs(n[k:])]

def forward_cost(n):
    return n[0] * sum(a * b for a, b in zip(n[1:], n[2:], strict=False))

def reverse_cost(n):
    return forward_cost(n[::-1])

rng = np.random.default_rng(0)
for _ in range(300):
    n = [int(v) for v in rng.integers(2, 20, size=rng.integers(2, 8))]
    assert min(all_costs([*n, 1])) == reverse_cost([*n, 1])
    assert min(all_costs([1, *n])) == forward_cost([1, *n])
n = [64, 32, 16, 8, 1]
print('one output:', sorted(all_costs(n)), 'reverse', reverse_cost(n))
print('bottleneck:', min(all_costs([2, 100, 1, 1])), 'against',
      reverse_cost([2, 100, 1, 1]))

# %% [markdown]
# If we read the chain from right to left, the theorem says that with one input forward is best. In between, neither need
# be. A chain with the widths $64, 256, 8, 256, n_L$ passes everything through eight numbers, as an autoencoder
# does. With many inputs *and* many outputs it is best to multiply up to the bottleneck from both sides.

# %%
many = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
ways = {name: [cost([64, 256, 8, 256, m]) for m in many] for name, cost in {
    'forward': forward_cost, 'reverse': reverse_cost,
    'best': lambda n: min(all_costs(n))}.items()}
assert ways['best'][0] == ways['reverse'][0]
ratio = min(ways['forward'][-1], ways['reverse'][-1]) / ways['best'][-1]
print(f'1024 outputs: both sweeps take {ratio:.2f} times the best, or more')

# %% mystnb={"image": {"alt": "Multiplications against the number of outputs, both logarithmic. Reverse rises in proportion and crosses forward, which is flat at first, near 64 outputs. The best order follows reverse up to four outputs and then stays below both."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.4, 3))
for name, style in (('forward', '-'), ('reverse', '-'), ('best', '--')):
    ax.loglog(many, ways[name], style, label=name)
ax.axvline(64, color=GREY, lw=0.8, ls=':')
ax.text(72, 1.4e4, 'as many outputs\nas inputs')
ax.set(xlabel='outputs', ylabel='multiplications', ylim=(1e4, 5e7))
label_lines(ax)

# %% [markdown] tags=["caption"]
# Where eight numbers are the bottleneck, neither sweep is best for many outputs: at 1024 outputs both take more than six
# times the multiplications of the best order.

# %% [markdown]
# Do counted multiplications predict the time? Six square Jacobians of side 400 and a last one with a single row: by
# {eq}`chain-costs` forward takes about $400 \cdot 5/6 \approx 333$ times as many multiplications. The measured factor
# is smaller, since a matrix product uses the processor better than a row does, but still large. The same holds for torch in
# forward and in reverse mode, on a function with 400 inputs and one output.

# %%
rng = np.random.default_rng(1)
side = 400
J = [rng.normal(size=(side, side)) / side ** 0.5 for _ in range(6)]
J.append(rng.normal(size=(1, side)))

def product(matrices):
    out, *rest = matrices
    for factor in rest:
        out = out @ factor
    return out

def from_the_output():
    return product(J[::-1])

def from_the_input():
    return product([factor.T for factor in J]).T

# %%
assert close(from_the_output(), from_the_input())
n = [side] * 7 + [1]
print(f'counted ratio: {forward_cost(n) / reverse_cost(n):.1f}')
forward, reverse = seconds(from_the_input, from_the_output)
clock = forward / reverse
print('measured ratio above 20:', clock > 20)
assert clock > 20

# %%
weights = [torch.tensor(factor) for factor in J]

def network(x):
    for w in weights:
        x = torch.tanh(w @ x)
    return x[0]

x = torch.ones(side)
in_reverse, in_forward = (jac(network) for jac in
                          (torch.func.jacrev, torch.func.jacfwd))
assert close(in_reverse(x), in_forward(x))
forward, reverse = seconds(lambda: in_forward(x), lambda: in_reverse(x))
clock = forward / reverse
print('400 inputs, one output: forward mode takes more than 5 times',
      'as long as reverse mode:', clock > 5)
assert clock > 5

# %% [markdown]
# That is the reason why networks are trained with reverse accumulation: a loss is *one* number. The price is memory. The
# forward sweep runs along with the computation and need not store earlier values, while the reverse sweep needs the local
# derivatives of all layers, last first, and so must keep (or recompute) every intermediate value.
#
# ```{exercise} ★★★ The best order for forty layers
# :label: chain-order
# Forty Jacobians have $\binom{78}{39}/40 \approx 7 \cdot 10^{20}$ bracketings, so `all_costs` is out of the question.
# Find the least cost with some ten thousand steps and write `least_cost(n)`. Hint: how many different sub-chains are
# there? The grader uses `all_costs` for short chains and {prf:ref}`thm-reverse-optimal` for the long one.
# ```

# %%
def least_cost(n):  # n: the widths n_0, ..., n_L
    raise NotImplementedError('your turn')

# %%
def least_cost_known(n):
    return min(all_costs(n)) if len(n) < 10 else reverse_cost(n)

widths = [([64, 256, 8, 256, 1024],), ([10, 30, 5, 60],), ([7, 3],),
          ([30, 35, 15, 5, 10, 20, 25],), ([3, 2, 9, 4, 2, 5, 8],),
          ([2 + (7 * k) % 11 for k in range(40)] + [1],)]
grade(least_cost, least_cost_known, widths)

# %% [markdown]
# ```{solution-start} chain-order
# :class: dropdown
# ```
# There are only $L(L+1)/2$ sub-chains. Whatever surrounds it, each should be multiplied in its own cheapest way, so
# compute the table of their costs from short to long: $c_{ab} = \min_{a<k<b}\,(c_{ak} + c_{kb} + n_a n_k n_b)$, in
# $O(L^3)$ steps. The mistake is greedy: always the product that is cheapest now. The table works for chains. For
# general graphs, the cheapest way to accumulate a Jacobian is NP-hard to find {cite}`naumann2008optimal`.

# %% jupyter={"source_hidden": true}
def least_cost_solution(n):
    c = {(a, a + 1): 0 for a in range(len(n) - 1)}
    for length in range(2, len(n)):
        for a in range(len(n) - length):
            b = a + length
            c[a, b] = min(c[a, k] + c[k, b] + n[a] * n[k] * n[b]
                          for k in range(a + 1, b))
    return c[0, len(n) - 1]

def greedy_cost(n):
    n, cost = list(n), 0
    while len(n) > 2:
        now = [a * b * c for a, b, c in zip(n, n[1:], n[2:], strict=False)]
        k = int(np.argmin(now))
        cost, n = cost + now[k], n[:k + 1] + n[k + 2:]
    return cost

assert grade(least_cost_solution, least_cost_known, widths)
assert not grade(greedy_cost, least_cost_known, widths)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Where it matters: saliency maps, or which pixels make an eight
#
# A network of three layers, $64 \to 32 \to 16 \to 10$ with $\tanh$ between them, has learned to read digits of $8
# \times 8$ pixels. Which pixels speak for an 8 rather than a 3? We want the gradient of the difference of two scores,
# $s = o_8 - o_3$, by the 64 pixels. Along the chain
#
# ```{math}
# :label: chain-saliency
# \begin{gathered}
# \nabla s(\mathbf{x})^\top = (\mathbf{e}_8 - \mathbf{e}_3)^\top\, \mathbf{W}_3^\top\, \mathbf{D}_2\, \mathbf{W}_2^\top\, \mathbf{D}_1\, \mathbf{W}_1^\top , \\
# \mathbf{D}_l = \mathbf{I} - \operatorname{diag}(\mathbf{h}_l)^2 ,
# \end{gathered}
# ```
#
# because $\tanh' = 1 - \tanh^2$, and $\mathbf{o} = \mathbf{W}_3^\top\mathbf{h}_2 + \mathbf{b}_3$ with $\mathbf{h}_l =
# \tanh(\mathbf{W}_l^\top\mathbf{h}_{l-1} + \mathbf{b}_l)$. A diagonal Jacobian costs one multiplication an entry if
# it is never made into a matrix. From the left, the row meets $16 \cdot 10 + 16 + 32 \cdot 16 + 32 + 64 \cdot 32 =
# 2768$ multiplications, although $64 \cdot 32 \cdot 16$ paths lead to each of the two scores.

# %%
x, y = digits()[:2]
model = MLPClassifier((32, 16), activation='tanh', random_state=0,
                      learning_rate_init=0.005)
for _ in range(40):
    model.partial_fit(x[:1400], y[:1400], classes=range(10))
accuracy = model.score(x[1400:], y[1400:])
print(f'test accuracy {accuracy:.2f}')

def scores_and_slopes(x, row):  # (64,), (10,) -> (10,), (64,)
    (W_1, W_2, W_3), (b_1, b_2, b_3) = model.coefs_, model.intercepts_
    h_1 = np.tanh(x @ W_1 + b_1)
    h_2 = np.tanh(h_1 @ W_2 + b_2)
    row = row @ W_3.T * (1 - h_2 ** 2)  # (16,)
    row = row @ W_2.T * (1 - h_1 ** 2)  # (32,)
    return h_2 @ W_3 + b_3, row @ W_1.T

eights_row = np.eye(10)[8] - np.eye(10)[3]
threes = x[1400:][y[1400:] == 3]
slopes = np.stack([scores_and_slopes(t, eights_row)[1] for t in threes])

# %% [markdown]
# The gradient is a *forecast* for small changes: $s(\mathbf{x} + \mathbf{h}) \approx s(\mathbf{x}) + \nabla s \cdot
# \mathbf{h}$. Test it on all threes that the network has not seen. Push each one along its own gradient by a step of
# length $\tfrac1{10}$. The forecast gain is $\|\nabla s\|/10$. What it neglects is quadratic in the step, so its
# relative error should halve with the step. For comparison, a push of the same length in a random direction.

# %%
def margin(x):  # the score of 8 less that of 3
    return scores_and_slopes(x, eights_row)[0] @ eights_row

def gains(directions, size):  # (n, 64) -> (n,)
    steps = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return np.array([margin(t + size * h) - margin(t)
                     for t, h in zip(threes, steps, strict=True)])

def forecast_error(size):  # relative, median over the threes
    forecast = size * np.linalg.norm(slopes, axis=1)
    return np.median(abs(gains(slopes, size) / forecast - 1))

random = np.random.default_rng(2).normal(size=slopes.shape)
beaten = gains(slopes, 0.1) > abs(gains(random, 0.1))
ratio = forecast_error(0.1) / forecast_error(0.05)
numeric = [(margin(threes[0] + 1e-6 * e) - margin(threes[0] - 1e-6 * e))
           / 2e-6 for e in np.eye(64)]
assert close(slopes[0], numeric, atol=1e-7)
print(f'median error of the forecast {forecast_error(0.1):.3f},',
      f'with half the step {ratio:.1f} times less')
print('threes for which the aimed push beats a random one:', beaten.sum(),
      'of', len(threes))

# %% mystnb={"image": {"alt": "Three 8 by 8 pictures: the mean three, a map of the average gradient with positive pixels where the left side of an eight closes its loops, and the mean eight."}} tags=["hide-input"]
fig, axes = panels(3, height=2.3)
show_image(axes[0], threes.mean(0).reshape(8, 8), 'mean three')
map_ = np.where(x.std(0) > 0.12, slopes.mean(0), np.nan)
limit = np.nanmax(abs(map_))
picture = show_image(axes[1], map_.reshape(8, 8),
                     'more ink here: more an eight', vmin=-limit, vmax=limit,
                     cmap=plt.get_cmap('RdBu_r').with_extremes(bad=GREY))
fig.colorbar(picture, ax=axes[1], shrink=0.8)
eight = x[1400:][y[1400:] == 8].mean(0)
show_image(axes[2], eight.reshape(8, 8), 'mean eight');

# %% [markdown] tags=["caption"]
# On average, ink left of the middle, where an eight closes its loops and a three is open, raises the network's score for 8
# over 3 the most.

# %% [markdown]
# Red pixels speak for an 8, blue ones against it. The strongest red lies to the left of the middle, where the 3 is open and
# the 8 closes its loops. Pixels that are nearly always blank are left grey. Their weights were hardly
# trained, so their slopes, though correct, depend on the random start and not on digits. A gradient tells what the network
# computes, not what makes a real digit an eight.

# %% [markdown]
# ## Summary
#
# If the outer function is differentiable, which is more than having partial derivatives, the derivative along a
# computation is the sum over all paths of the products of the local derivatives. Forward and reverse accumulation add
# up these paths edge by edge instead of one by one; they solve the same triangular system from its two ends. For a
# chain of Jacobians the order decides the cost: with one output and inner widths of at least 2 no order is cheaper than
# reverse, and that is the case of every loss.
#
# **Further reading.** {cite:t}`rudin1976principles` proves the chain rule for differentiable maps; the view of
# derivatives as sums over paths in a graph is {cite:t}`bauer1974computational`'s. {cite:t}`griewank2008evaluating`
# treat forward, reverse and all orders between them, and {cite:t}`goodfellow2016deep` show what back-propagation
# makes of them. How to turn the sweeps into a program that differentiates programs is the subject of [Automatic
# differentiation](automatic_differentiation.ipynb).
