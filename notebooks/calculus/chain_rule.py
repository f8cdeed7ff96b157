# ---
# jupyter:
#   book:
#     functions:
#       forward: forward(np.tril(normal(5, 5), -1), 0)
#       reverse: reverse(np.tril(normal(5, 5), -1), 4)
#       all_costs: "all_costs([4, 3, 2, 5])"
#     main: dl.chain.sum
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The chain rule
#
# A bakery sells 200 loaves a day at 3 euros. Each week it raises the price by 10 cents and loses 4 customers. Does it earn
# more or less? Time changes the price and the number of loaves, and both change the income. The loss of a network depends on
# each weight in the same way, through thousands of values. How do all these small effects combine?
#
# - **You need** [gradients](gradients.ipynb), [Jacobians](jacobians.ipynb) and [products of
#   matrices](../linear_algebra/matrix_multiplication.ipynb).
# - **You build** derivatives as sums over paths, forward and reverse accumulation, the cheapest order for a product of
#   Jacobians, and a map of the pixels that make a digit an eight.
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
from numpy.linalg import norm
from scipy.linalg import solve_triangular
from sklearn.neural_network import MLPClassifier
from torch import func, linspace, tensor

from nbutils import data
from nbutils.cases import integers, lists, masks, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.figures import GREY, label_lines, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## The chain rule: a sum over all paths
#
# Let $x$ be the time in weeks, $u_1$ the price, $u_2$ the number of loaves and $y = u_1 u_2$ the daily income:

# %%
def price_and_loaves(x):
    return 3 + 0.1 * x, 200 - 4 * x

def income(price, loaves):
    return price * loaves

for x in 0, 1, 2:
    print(f'week {x}: {income(*price_and_loaves(x)):.2f} euros')

# %% [markdown]
# At the beginning, 10 cents more on 200 loaves bring 20 euros a week, and 4 loaves less at 3 euros cost 12. Together the
# income grows at a rate of 8 euros a week. It reaches 607.60 euros and not 608 after a week, because the rate falls. The two
# effects are *added*, and each is a product: how much the income changes with the price, times how much the price changes
# with time. This is the **chain rule**. For $y = f(u_1, \dots, u_m)$, where each $u_j$ is a function of $x_1, \dots, x_n$,
#
# ```{math}
# :label: dl.chain.sum
# \frac{\partial y}{\partial x_i} = \sum_{j=1}^m \frac{\partial y}{\partial u_j} \frac{\partial u_j}{\partial x_i} .
# ```

# %%
price, loaves = price_and_loaves(0)
dy_du = loaves, price  # of the product
du_dx = 0.1, -4
print('terms:', dy_du[0] * du_dx[0], dy_du[1] * du_dx[1])
print('slope:', dy_du[0] * du_dx[0] + dy_du[1] * du_dx[1])

# %% [markdown]
# The chain rule works for functions in functions as well. A neuron computes $y = \sigma(u)$ with $u = wx + b$ and $\sigma(u)
# = 1/(1 + e^{-u})$. Since $\sigma' = \sigma(1 - \sigma)$, its derivative with respect to the weight is $y(1 - y)\,x$:

# %%
def neuron(w, x=2.0, b=0.5):
    return 1 / (1 + np.exp(-(w * x + b)))

y = neuron(-1.0)
measured = (neuron(-1.0 + 1e-5) - neuron(-1.0 - 1e-5)) / 2e-5
print(f'chain rule {y * (1 - y) * 2.0:.6f}, measured {measured:.6f}')

# %% [markdown]
# ### The chain rule for vectors: a product of Jacobians
#
# Let $\mathbf{J}_{\mathbf{g}}$ be the $m \times n$ matrix of the $\partial u_j/\partial x_i$. The row of the $\partial
# y/\partial u_j$ times this matrix is the row of all $\partial y/\partial x_i$, by {eq}`dl.chain.sum`. With several outputs
# there are several such rows:
#
# ```{math}
# :label: chain-jacobians
# \mathbf{J}_{\mathbf{f} \circ \mathbf{g}}(\mathbf{x}) = \mathbf{J}_{\mathbf{f}}(\mathbf{g}(\mathbf{x}))\; \mathbf{J}_{\mathbf{g}}(\mathbf{x}) .
# ```
#
# The outer Jacobian is taken at $\mathbf{g}(\mathbf{x})$. Here is an example with two inputs, three values in between and
# one output:

# %%
def g(x):  # (2,) -> (3,)
    return np.array([x[0] * x[1], x[0] + x[1] ** 2, np.sin(x[0])])

def dg(x):  # (3, 2)
    return np.array([[x[1], x[0]], [1, 2 * x[1]], [np.cos(x[0]), 0]])

def f(u):  # (3,) -> ()
    return u[0] * u[1] + u[1] * u[2] ** 2

def df(u):  # (3,)
    return np.array([u[1], u[0] + u[2] ** 2, 2 * u[1] * u[2]])

# %%
x = np.array([1.0, 2.0])
product = df(g(x)) @ dg(x)  # (3,) @ (3, 2)
measured = [(f(g(x + h)) - f(g(x - h))) / 2e-5 for h in 1e-5 * np.eye(2)]
print('row times matrix', product.round(3))
print('measured        ', np.round(measured, 3))

# %% mystnb={"image": {"alt": "A graph with two inputs x1 and x2 on the left, three intermediate values u1, u2, u3 in the middle and y on the right. Every edge carries its partial derivative at the point 1, 2. There is no edge from x2 to u3."}} tags=["hide-input"]
du, dy = dg(x), df(g(x))
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
# ### When the chain rule fails
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
# \mathbf{0}$, and $\|\mathbf{h}(t)\|/|t|$ stays bounded. With the remainder $r$ of {prf:ref}`def-gradients-differentiable`,
#
# $$\frac{f(\mathbf{u} + \mathbf{h}(t)) - f(\mathbf{u})}{t} = \sum_{j=1}^m \frac{\partial f}{\partial u_j}\, \frac{h_j(t)}{t} +
# \frac{r(\mathbf{h}(t))}{t} .$$
#
# The sum tends to the right side of {eq}`dl.chain.sum`. Where $\mathbf{h}(t) \ne \mathbf{0}$, the last term has the size
# $|r(\mathbf{h}(t))|/\|\mathbf{h}(t)\|$, which tends to zero, times $\|\mathbf{h}(t)\|/|t|$, which is bounded. Elsewhere it
# is zero.
# ```
#
# It is not enough that $f$ has partial derivatives. Take
#
# ```{math}
# :label: chain-counterexample
# f(u_1, u_2) = \frac{u_1^2\, u_2}{u_1^2 + u_2^2}, \quad f(0, 0) = 0, \qquad u_1 = u_2 = x .
# ```
#
# On both axes $f$ is zero, so both partial derivatives at the origin are 0, and the sum is $0 \cdot 1 + 0 \cdot 1 = 0$. But
# $y = x^3/(2x^2) = x/2$ has the derivative $\tfrac12$. In networks this happens at the kinks. For $\operatorname{relu}(x) =
# \max(x, 0)$ at $0$, PyTorch takes the slope 0. Now $\operatorname{relu}(x) - \operatorname{relu}(-x)$ is just $x$, with
# derivative 1 everywhere:

# %%
def identity(x):
    return (x.relu() - (-x).relu()).sum()

print('slopes at -1, 0, 1:', func.grad(identity)(linspace(-1, 1, 3)).numpy())

# %% [markdown]
# At 0 the answer is wrong, and there is no error. A random input seldom meets a kink exactly.
#
# ```{exercise} ★ Pencil: polar coordinates
# :label: chain-polar
# A field $f$ on the plane has the partial derivatives $f_1$ and $f_2$ at the point $(r\cos\varphi, r\sin\varphi)$ and
# is differentiable there. Write `polar(f_1, f_2, r, phi)`: its partial derivatives with respect to $r$ and to $\varphi$.
# ```

# %%
def polar(f_1, f_2, r, phi):
    """Two floats: the derivatives with respect to r and to phi.

    All arguments are floats, r >= 0, the angle phi in radians.
    polar(1.0, 0.0, 3.0, 0.0) is (1.0, 0.0).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def polar_by_steps(f_1, f_2, r, phi, h=1e-4):  # of the plane that touches f
    f = lambda r, phi: f_1 * r * np.cos(phi) + f_2 * r * np.sin(phi)
    return ((f(r + h, phi) - f(r - h, phi)) / (2 * h), (f(r, phi + h) - f(r, phi - h)) / (2 * h))

cases = dict(f_1=on(0.0, 1.0) | scalars(-3, 3), f_2=on(0.0, 1.0) | scalars(-3, 3),
             r=on(1.0, 0.0, 5.0) | scalars(0.01, 5), phi=on(0.0, np.pi / 2) | scalars(-4, 4))
grade(polar, polar_by_steps, **cases, atol=1e-6)

# %% [markdown]
# ```{solution-start} chain-polar
# :class: dropdown
# ```
# Two paths each: $\partial f/\partial r = f_1\cos\varphi + f_2\sin\varphi$ and $\partial f/\partial\varphi = -f_1\,
# r\sin\varphi + f_2\, r\cos\varphi$. Of the wrong answers, the first forgets that a turn moves a point further the farther
# out it is, the second has the wrong sign in the derivative of the cosine, and the third follows one path alone.

# %% jupyter={"source_hidden": true}
def polar_solution(f_1, f_2, r, phi):
    c, s = np.cos(phi), np.sin(phi)
    return f_1 * c + f_2 * s, r * (f_2 * c - f_1 * s)

def polar_without_r(f_1, f_2, r, phi):
    c, s = np.cos(phi), np.sin(phi)
    return f_1 * c + f_2 * s, f_2 * c - f_1 * s

def wrong_sign(f_1, f_2, r, phi):
    c, s = np.cos(phi), np.sin(phi)
    return f_1 * c + f_2 * s, r * (f_2 * c + f_1 * s)

def one_path(f_1, f_2, r, phi):
    return f_1 * np.cos(phi), -r * f_1 * np.sin(phi)

assert grade(polar_solution, polar_by_steps, **cases, atol=1e-6)
assert not grade(polar_without_r, polar_by_steps, **cases, atol=1e-6)
assert not grade(wrong_sign, polar_by_steps, **cases, atol=1e-6)
assert not grade(one_path, polar_by_steps, **cases, atol=1e-6)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def terms_add_up(x, outer, h=1e-4):  # f and g are smooth, so the quotient is exact to about h²
    u, steps = g(x), h * np.eye(2)
    dy = [(outer(u + e) - outer(u - e)) / (2 * h) for e in h * np.eye(3)]
    du = [(g(x + e) - g(x - e)) / (2 * h) for e in steps]
    whole = [(outer(g(x + e)) - outer(g(x - e))) / (2 * h) for e in steps]
    return close(np.array(du) @ dy, whole, atol=1e-5)

def no_plane_at_g(x):  # an outer function with a tip at g(x)
    def tip(u):
        a, b, _ = u - g(x)
        return a**2 * b / (a**2 + b**2) if a or b else 0.0
    return terms_add_up(x, tip)

holds(
    'dl.chain.sum', lambda x: terms_add_up(x, f),
    slip=('uses partial derivatives where no plane touches f', no_plane_at_g), x=vectors(2, 0.5, 2), tries=60,
)

def row_times_matrix(x, inner):
    def whole(x):
        u = x[0] * x[1], x[0] + x[1] ** 2, x[0].sin()
        return u[0] * u[1] + u[1] * u[2] ** 2
    return close(df(g(x)) @ inner(x), func.grad(whole)(tensor(x)))

verify(
    'the gradient of f(g(x)) is the row of f at g(x) times the matrix of g', lambda x: row_times_matrix(x, dg),
    slip=('forgets the path from x₁ through u₃', lambda x: row_times_matrix(x, lambda x: dg(x) * [[1], [1], [0]])),
    x=vectors(2, -2, 2), tries=50,
)
verify(
    'the income grows by 8 euros a week at the beginning',
    lambda slope: close((income(*price_and_loaves(1e-6)) - income(*price_and_loaves(-1e-6))) / 2e-6, slope),
    slip=('leaves out the loaves', lambda slope: close(dy_du[0] * du_dx[0], slope)), slope=[8.0],
)
verify(
    'a neuron has the derivative y (1 - y) x with respect to its weight',
    lambda w, x: close((neuron(w + 1e-5, x) - neuron(w - 1e-5, x)) / 2e-5, neuron(w, x) * (1 - neuron(w, x)) * x),
    slip=('forgets the input',
          lambda w, x: close((neuron(w + 1e-5, x) - neuron(w - 1e-5, x)) / 2e-5, neuron(w, x) * (1 - neuron(w, x)))),
    w=scalars(-2, 2), x=scalars(-2, 2), tries=60,
)
verify(
    'relu(x) - relu(-x) has the slope 1, except at 0, where torch says 0',
    lambda x: close(func.grad(identity)(tensor(x)), x != 0),
    slip=('the slope 1 everywhere', lambda x: close(func.grad(identity)(tensor(x)), 1)),
    x=[-1.0, 0.0, 1.0],
)

# %% [markdown]
# ## Forward and reverse accumulation: all paths in one sweep
#
# Computations are deeper than $\mathbf{x} \to \mathbf{u} \to y$. Number the values $v_1, \dots, v_K$ in the order in which
# they are computed, and draw an edge from $v_i$ to $v_k$ if $v_k$ is computed directly from $v_i$. The edge carries the
# local derivative $w_{ki}$. Collect these in the matrix $\mathbf{W}$. It has zeros on and above the diagonal, because each
# value is computed from earlier ones. Our example has an input, layers of three values, and an output. Each value feeds all
# of the next layer:

# %%
def layered(depth, width, rng):
    """Random local derivatives: one input, layers, one output."""
    sizes = [1] + [width] * depth + [1]
    ends = np.cumsum(sizes)
    W = np.zeros((ends[-1], ends[-1]))
    for before, size, end in zip(sizes, sizes[1:], ends):
        W[end:end + size, end - before:end] = rng.normal(size=(size, before))
    return W

# %%
def by_paths(W, i, k):
    """The sum over all paths from i to k, and their number."""
    if i == k:
        return 1.0, 1
    total, number = 0.0, 0
    for j in range(i + 1, k + 1):
        if W[j, i]:
            rest, paths = by_paths(W, j, k)
            total, number = total + W[j, i] * rest, number + paths
    return total, number

# %%
W = layered(2, 3, np.random.default_rng(0))
total, number = by_paths(W, 0, len(W) - 1)
print(f'{number} paths, derivative of the output {total:.3f}')

# %% [markdown]
# By the chain rule, the derivative of $v_k$ with respect to $v_i$ is a sum over paths again. In terms of matrices:
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
# Deep networks have too many paths to list: with $D$ layers of three there are $3^D$. But $ab + ac = a(b + c)$
# needs only one multiplication. Two sweeps factor out in this way everywhere, **forward accumulation**
# from the input $v_i$ and **reverse accumulation** from the output $v_K$:
#
# ```{math}
# :label: chain-sweeps
# \begin{gathered}
# \dot v_i = 1, \qquad \dot v_k = \sum_{j<k} w_{kj}\, \dot v_j \quad (k > i) ; \\
# \bar v_K = 1, \qquad \bar v_j = \sum_{k>j} w_{kj}\, \bar v_k \quad (j < K) .
# \end{gathered}
# ```

# %%
def forward(W, i):
    """The derivatives of all values with respect to value i."""
    dot = np.zeros(len(W), W.dtype)
    dot[i] = 1
    for k in range(i + 1, len(W)):
        dot[k] = W[k] @ dot
    return dot

# %%
def reverse(W, k):
    """The derivatives of value k with respect to all values."""
    bar = np.zeros(len(W), W.dtype)
    bar[k] = 1
    for j in range(k - 1, -1, -1):
        bar[j] = W[:, j] @ bar
    return bar

# %%
print(f'forward {forward(W, 0)[-1]:.3f}, reverse {reverse(W, 7)[0]:.3f}')
for depth in 2, 4, 8:
    W = layered(depth, 3, np.random.default_rng(0))
    number = by_paths(W, 0, len(W) - 1)[1]
    print(f'{depth} layers: {number:4} paths, {(W != 0).sum():2} edges')

# %% [markdown]
# A sweep multiplies once for each edge, so its cost grows by nine with each layer, while the number of paths triples. Both
# sweeps give the same number here. The difference is in what else they give. The number $\dot v_k$ is the derivative of
# $v_k$ with respect to the chosen *input*: one forward sweep gives the derivatives of all outputs with respect to one input.
# The number $\bar v_j$ is the derivative of the chosen *output* with respect to $v_j$: one reverse sweep gives the
# derivatives of one output with respect to all inputs.
#
# ```{exercise} ★★ Program: count the paths
# :label: chain-count
# How many paths lead from the first value to the last? Write `roads(edges)`. The grader has graphs with more paths than a
# computer can list.
# ```

# %%
def roads(edges):
    """The number of paths from value 0 to the last: a number.

    edges is an array of bools, shape (K, K), K >= 1, and edges[k, i] is
    True if an edge leads from i to k; only entries with i < k can be.
    roads(np.array([[False, False], [True, False]])) is 1.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def roads_by_powers(edges):  # of 1, 2, 3, ... edges
    step, walks, number = edges.astype(float), np.eye(len(edges)), 0.0
    for _ in range(len(edges)):
        number, walks = number + walks[-1, 0], step @ walks
    return number

def graphs(K):
    return masks(K, K).map(lambda edges: np.tril(edges, -1))

cases = dict(edges=on(1, 2, 3, 4, 6, 40).flatmap(graphs))
grade(roads, roads_by_powers, **cases)

# %% [markdown]
# ```{solution-start} chain-count
# :class: dropdown
# ```
# If all $w$ are 1, every path contributes 1. So put ones into $\mathbf{W}$ and sweep forward. Of the wrong answers, the
# first takes only the longest paths, $\mathbf{W}^{K-1}$, the second counts the edges, and the third counts the paths from
# all values.

# %% jupyter={"source_hidden": true}
def roads_solution(edges):
    return forward(edges.astype(float), 0)[-1]

def longest_alone(edges):
    return np.linalg.matrix_power(edges.astype(float), len(edges) - 1)[-1, 0]

def number_of_edges(edges):
    return float(edges.sum())

def from_anywhere(edges):
    return reverse(edges.astype(float), len(edges) - 1).sum()

assert grade(roads_solution, roads_by_powers, **cases)
assert not grade(longest_alone, roads_by_powers, **cases)
assert not grade(number_of_edges, roads_by_powers, **cases)
assert not grade(from_anywhere, roads_by_powers, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def sweeps_as_solver(seed, depth, width, sweep, turned=False):
    W = layered(depth, width, np.random.default_rng(seed))
    K = len(W)
    P = solve_triangular(np.eye(K) - W, np.eye(K), lower=True)
    wanted = P[:, 0] if (sweep is forward) != turned else P[-1]
    return close(sweep(W, 0 if sweep is forward else K - 1), wanted) and close(by_paths(W, 0, K - 1)[0], P[-1, 0])

verify(
    'forward and reverse sweeps, and sums over paths, solve the triangular system',
    lambda seed, depth, width: sweeps_as_solver(seed, depth, width, forward)
    and sweeps_as_solver(seed, depth, width, reverse),
    slip=('exchanges the sweeps', lambda seed, depth, width: sweeps_as_solver(seed, depth, width, forward, True)),
    seed=seeds(), depth=integers(1, 3), width=integers(1, 3), tries=40,
)
def paths_and_edges(depth):
    W = layered(depth, 3, np.random.default_rng(0))
    return by_paths(W, 0, len(W) - 1)[1], np.count_nonzero(W)

verify(
    'the number of paths triples with each layer of three, that of the edges grows by nine',
    lambda depth: paths_and_edges(depth) == (3**depth, 9 * depth - 3),
    slip=('nine times as many paths', lambda depth: paths_and_edges(depth) == (9**depth, 9 * depth - 3)),
    depth=[1, 2, 5],
)

# %% [markdown]
# ## Forward or reverse: the order of a product of Jacobians
#
# A network of $L$ layers maps $\mathbb{R}^{n_0} \to \mathbb{R}^{n_1} \to \dots \to \mathbb{R}^{n_L}$. By
# {eq}`chain-jacobians` its Jacobian is $\mathbf{J}_L \cdots \mathbf{J}_2 \mathbf{J}_1$ with $\mathbf{J}_l$ of shape
# $n_l \times n_{l-1}$. Every bracketing of this product gives the same matrix, but not at the same
# cost. A $p \times q$ matrix times a $q \times r$ matrix takes $pqr$ multiplications. Forward accumulation starts at
# the input, $\mathbf{J}_L(\cdots(\mathbf{J}_3(\mathbf{J}_2\mathbf{J}_1)))$, and reverse accumulation at the output,
# $(((\mathbf{J}_L\mathbf{J}_{L-1})\mathbf{J}_{L-2})\cdots)\mathbf{J}_1$:
#
# ```{math}
# :label: chain-costs
# C_{\text{forward}} = n_0 \sum_{l=2}^{L} n_l\, n_{l-1}, \qquad C_{\text{reverse}} = n_L \sum_{l=1}^{L-1} n_l\, n_{l-1} .
# ```

# %%
def forward_cost(n):
    return n[0] * sum(a * b for a, b in zip(n[1:], n[2:]))

def reverse_cost(n):
    return n[-1] * sum(a * b for a, b in zip(n, n[1:-1]))

def all_costs(n):
    """The cost of every bracketing, for the widths n_0, ..., n_L."""
    if len(n) == 2:
        return [0]
    return [left + right + n[-1] * n[k] * n[0]  # k: the last product
            for k in range(1, len(n) - 1)
            for right in all_costs(n[:k + 1]) for left in all_costs(n[k:])]

# %%
for n in [64, 32, 16, 8, 1], [1, 8, 16, 32, 64], [64, 256, 8, 256, 1024]:
    print(f'widths {n}: forward {forward_cost(n)},'
          f' reverse {reverse_cost(n)}, best {min(all_costs(n))}')

# %% [markdown]
# With one output, as in the first line, the reverse order passes a single row through the network, and the forward order a
# matrix with $n_0$ columns. A loss has one output. Therefore networks are trained by reverse accumulation. Almost always no
# other order is better:
#
# ```{prf:theorem} One output
# :label: thm-reverse-optimal
# Let $n_L = 1$ and all other $n_l \ge 2$. Then no bracketing of $\mathbf{J}_L \cdots \mathbf{J}_1$ takes fewer
# multiplications than reverse accumulation, $\sum_{l=1}^{L-1} n_l\, n_{l-1}$.
# ```
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
# The condition on the inner widths cannot be dropped. If we read the product from right to left, the theorem says that with
# one input forward is best, as in the second line. In between, neither need be. The third network passes everything through
# eight numbers, as an autoencoder does. Then it is best to multiply up to the bottleneck from both sides.

# %% mystnb={"image": {"alt": "Multiplications against the number of outputs, both logarithmic. Reverse rises in proportion and crosses forward, which is flat at first, near 64 outputs. The best order follows reverse up to four outputs and then stays below both."}} tags=["hide-input"]
many = 2 ** np.arange(11)
fig, ax = plt.subplots(figsize=(5.4, 3))
for name, cost, style in (('forward', forward_cost, '-'), ('reverse', reverse_cost, '-'),
                          ('best', lambda n: min(all_costs(n)), '--')):
    ax.loglog(many, [cost([64, 256, 8, 256, m]) for m in many.tolist()], style, label=name)
ax.axvline(64, color=GREY, lw=0.8, ls=':')
ax.text(72, 1.4e4, 'as many outputs\nas inputs')
ax.set(xlabel='outputs', ylabel='multiplications', ylim=(1e4, 5e7))
label_lines(ax)

# %% [markdown] tags=["caption"]
# The widths are 64, 256, 8, 256 and a number of outputs. With few outputs reverse accumulation is best. With many, both
# orders take several times the multiplications of the best one.

# %% [markdown]
# ```{admonition} A tempting mistake
# :class: tip
# Fewer multiplications are not all. Forward accumulation runs along with the computation and need not store earlier values.
# Reverse accumulation needs the local derivatives of all layers, last first, so it has to keep every intermediate value.
# When a network does not fit into memory, this is usually why.
# ```
#
# ```{exercise} ★★★ Program: the best order for forty layers
# :label: chain-order
# Forty Jacobians have far more bracketings than `all_costs` can list.
# Find the least cost with some ten thousand steps and write `least_cost(n)`. Hint: how many different sub-chains are
# there?
# ```

# %%
def least_cost(n):
    """The least number of multiplications: an int.

    n is a list of L + 1 ints, the widths, 1 <= L <= 40.
    least_cost([2, 3, 4]) is 24.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def least_cost_known(n):  # by listing where that is possible, else by the theorem
    return min(all_costs(n)) if len(n) < 8 else reverse_cost(n)

short = lists(on(1, 2, 3, 5, 8, 30), 2, 7)
long = lists(integers(2, 9), 40, 40).map(lambda n: [*n, 1])
cases = dict(n=short | short | short | long)
grade(least_cost, least_cost_known, tries=60, **cases)

# %% [markdown]
# ```{solution-start} chain-order
# :class: dropdown
# ```
# There are only $L(L+1)/2$ sub-chains. Whatever surrounds it, each should be multiplied in its own cheapest way, so compute
# the table of their costs from short to long: $c_{ab} = \min_{a<k<b}\,(c_{ak} + c_{kb} + n_a n_k n_b)$, in $O(L^3)$ steps.
# For general graphs, the cheapest way to accumulate a Jacobian is NP-hard to find {cite}`naumann2008optimal`. Of the wrong
# answers, the first is greedy and takes always the product that is cheapest now, the second takes the better one of the two
# sweeps, and the third always sweeps from the output.

# %% jupyter={"source_hidden": true}
def least_cost_solution(n):
    c = {(a, a + 1): 0 for a in range(len(n) - 1)}
    for length in range(2, len(n)):
        for a in range(len(n) - length):
            b = a + length
            c[a, b] = min(c[a, k] + c[k, b] + n[a] * n[k] * n[b] for k in range(a + 1, b))
    return c[0, len(n) - 1]

def greedy_cost(n):
    n, cost = list(n), 0
    while len(n) > 2:
        now = [a * b * c for a, b, c in zip(n, n[1:], n[2:])]
        k = int(np.argmin(now))
        cost, n = cost + now[k], n[:k + 1] + n[k + 2:]
    return cost

def better_sweep(n):
    return min(forward_cost(n), reverse_cost(n))

assert grade(least_cost_solution, least_cost_known, tries=60, **cases)
assert not grade(greedy_cost, least_cost_known, tries=60, **cases)
assert not grade(better_sweep, least_cost_known, tries=60, **cases)
assert not grade(reverse_cost, least_cost_known, tries=60, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def counted(n, sweep):  # of matrices of these widths, multiplied in this order
    shapes = list(zip(n[1:], n))
    while len(shapes) > 1:
        i = 0 if sweep == 'forward' else len(shapes) - 2
        (inner, columns), (rows, _) = shapes[i], shapes[i + 1]
        yield rows * inner * columns
        shapes[i:i + 2] = [(rows, columns)]

verify(
    'the costs of both sweeps are counted right, and both are among all costs',
    lambda n: forward_cost(n) == sum(counted(n, 'forward')) and reverse_cost(n) == sum(counted(n, 'reverse'))
    and {forward_cost(n), reverse_cost(n)} <= {*all_costs(n)},
    slip=('exchanges the sweeps', lambda n: forward_cost(n) == sum(counted(n, 'reverse'))),
    n=lists(integers(1, 9), 3, 6), tries=60,
)
verify(
    'with one output reverse is best, and with one input forward',
    lambda n: min(all_costs([*n, 1])) == reverse_cost([*n, 1]) and min(all_costs([1, *n])) == forward_cost([1, *n]),
    slip=('forward with one output', lambda n: min(all_costs([*n, 1])) == forward_cost([*n, 1])),
    n=lists(integers(2, 19), 2, 6), tries=60,
)
verify(
    'a bottleneck inside: for many outputs both sweeps take several times the best',
    lambda times: times * min(all_costs([64, 256, 8, 256, 1024])) < better_sweep([64, 256, 8, 256, 1024]),
    slip=('without the bottleneck',
          lambda times: times * min(all_costs([64, 256, 256, 1024])) < better_sweep([64, 256, 256, 1024])),
    times=[3, 6],
)

# %% [markdown]
# ## Where it matters: saliency maps, the gradients of a score
#
# A network of three layers, $64 \to 32 \to 16 \to 10$ with $\tanh$ between them, has learned to read digits of $8 \times 8$
# pixels. It computes $\mathbf{h}_l = \tanh(\mathbf{W}_l^\top\mathbf{h}_{l-1} + \mathbf{b}_l)$ and the ten scores $\mathbf{o}
# = \mathbf{W}_3^\top\mathbf{h}_2 + \mathbf{b}_3$. Which pixels speak for an 8 rather than a 3? We want the gradient of the
# difference of two scores, $s = o_8 - o_3$, with respect to the 64 pixels. Since $\tanh' = 1 - \tanh^2$, it is a product of
# Jacobians:
#
# ```{math}
# :label: chain-saliency
# \begin{gathered}
# \nabla s(\mathbf{x})^\top = (\mathbf{e}_8 - \mathbf{e}_3)^\top\, \mathbf{W}_3^\top\, \mathbf{D}_2\, \mathbf{W}_2^\top\, \mathbf{D}_1\, \mathbf{W}_1^\top , \\
# \mathbf{D}_l = \mathbf{I} - \operatorname{diag}(\mathbf{h}_l)^2 .
# \end{gathered}
# ```
#
# We multiply from the left, so a single row goes through the network:

# %%
x, y = data.digits()[:2]
model = MLPClassifier((32, 16), activation='tanh', random_state=0,
                      learning_rate_init=0.005)
for _ in range(40):
    model.partial_fit(x[:1400], y[:1400], classes=range(10))
print(f'test accuracy {model.score(x[1400:], y[1400:]):.2f}')

# %%
def score_and_slopes(x):
    """The score of 8 less that of 3, and its gradient (64,)."""
    (W_1, W_2, W_3), (b_1, b_2, b_3) = model.coefs_, model.intercepts_
    h_1 = np.tanh(x @ W_1 + b_1)
    h_2 = np.tanh(h_1 @ W_2 + b_2)
    row = (W_3[:, 8] - W_3[:, 3]) * (1 - h_2**2)  # (16,)
    row = row @ W_2.T * (1 - h_1**2)  # (32,)
    scores = h_2 @ W_3 + b_3  # (10,)
    return scores[8] - scores[3], row @ W_1.T

# %% [markdown]
# The gradient is a *forecast* for small changes, $s(\mathbf{x} + \mathbf{h}) \approx s(\mathbf{x}) + \nabla s \cdot
# \mathbf{h}$. We test it on all threes that the network has not seen. Each is pushed along its own gradient by a step of
# length $\tfrac1{10}$, so the forecast of the gain is $\|\nabla s\|/10$. For comparison, we push by the same length in a
# random direction:

# %%
threes = x[1400:][y[1400:] == 3]
slopes = np.stack([score_and_slopes(three)[1] for three in threes])
rng = np.random.default_rng(2)

def gain(three, direction, length):
    pushed = three + length * direction / norm(direction)
    return score_and_slopes(pushed)[0] - score_and_slopes(three)[0]

# %%
forecast = 0.1 * norm(slopes, axis=1)
aimed = np.array([gain(t, g, 0.1) for t, g in zip(threes, slopes)])
random = np.array([gain(t, rng.normal(size=64), 0.1) for t in threes])
print(f'mean forecast {forecast.mean():.2f}, measured {aimed.mean():.2f},'
      f' in a random direction {abs(random).mean():.2f}')
print('the aimed push is better for', (aimed > abs(random)).sum(),
      'of', len(threes), 'threes')

# %% mystnb={"image": {"alt": "Three 8 by 8 pictures: the mean three, a map of the average gradient with positive pixels where the left side of an eight closes its loops, and the mean eight."}} tags=["hide-input"]
fig, axes = panels(3, height=2.3)
show_image(axes[0], threes.mean(0).reshape(8, 8), 'mean three')
map_ = np.where(x.std(0) > 0.12, slopes.mean(0), np.nan)
limit = np.nanmax(abs(map_))
picture = show_image(axes[1], map_.reshape(8, 8), 'more ink here: more an eight', vmin=-limit, vmax=limit,
                     cmap=plt.get_cmap('RdBu_r').with_extremes(bad=GREY))
fig.colorbar(picture, ax=axes[1], shrink=0.8)
eight = x[1400:][y[1400:] == 8].mean(0)
show_image(axes[2], eight.reshape(8, 8), 'mean eight');

# %% [markdown] tags=["caption"]
# Average gradient over the threes: red pixels speak for an 8, blue ones against it. The strongest red lies left of the
# middle, where the 3 is open and the 8 closes its loops. Pixels that are nearly always blank are grey.

# %% [markdown]
# Such a picture is called a *saliency map*. It tells what the network computes, not what makes a real digit an eight. In
# PyTorch it is one call: `torch.autograd.grad(scores[8] - scores[3], x)`.
#
# ```{exercise} ★★ Experiment: half the step
# :label: chain-half
# How does the error of the forecast depend on the length of the step? First predict: write `predicted_factors()`, which
# returns two whole numbers. By which factor does the median over the threes of $|\text{gain} - \text{forecast}|$ shrink if
# the step is halved from 0.02 to 0.01? And that of $|\text{gain} - \text{forecast}| / \text{forecast}$? Then measure and
# explain.
# ```

# %%
def predicted_factors():
    """Two ints: absolute, relative. (1, 1) says 'it does not shrink'."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def shrinks():
    errors = {}
    for length in (0.02, 0.01):
        expected = length * norm(slopes, axis=1)
        gaps = abs(np.array([gain(t, g, length) for t, g in zip(threes, slopes)]) - expected)
        errors[length] = np.median(gaps), np.median(gaps / expected)
    return np.divide(errors[0.02], errors[0.01])

def is_measured(factors):
    if np.shape(factors) != (2,):
        raise ValueError('two numbers, please')
    if not (abs(shrinks() / factors - 1) < 0.2).all():
        raise ValueError('other factors are measured; halve the step and compare')
    return True

grade(lambda: is_measured(predicted_factors()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} chain-half
# :class: dropdown
# ```
# The forecast takes the part of the change that is linear in the step. What it neglects is quadratic, so it shrinks to a
# quarter. The forecast itself shrinks to a half, so the relative error is halved. That is why a gradient is a good guide for
# short steps only.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured((4, 2)), lambda: True, [()])
assert not grade(lambda: is_measured((2, 2)), lambda: True, [()])  # the error is taken for linear in the step
assert not grade(lambda: is_measured((4, 4)), lambda: True, [()])  # the relative error is taken for the absolute one
assert not grade(lambda: is_measured((2, 1)), lambda: True, [()])  # as if the forecast were off by a fixed share
print('measured factors:', *(f'{factor:.1f}' for factor in shrinks()))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def slopes_as_torch(n, row):
    layers = [tensor(W) for W in model.coefs_], [tensor(b) for b in model.intercepts_]

    def score(x):
        for W, b in zip(*layers):
            out = x @ W + b
            x = out.tanh()
        return out @ tensor(row)
    return close(score_and_slopes(threes[n])[1], func.grad(score)(tensor(threes[n])))

eight_less_three = np.eye(10)[8] - np.eye(10)[3]
verify(
    'the map is the gradient of the score of 8 less that of 3', lambda n: slopes_as_torch(n, eight_less_three),
    slip=('the score of 8 alone', lambda n: slopes_as_torch(n, np.eye(10)[8])), n=integers(0, len(threes) - 1), tries=20,
)
verify(
    'the forecast is right within a tenth, and a random push moves the score less than half as much',
    lambda share: abs(np.mean(aimed) / forecast.mean() - 1) < share and 2 * abs(random).mean() < np.mean(aimed),
    slip=('takes the random push for the aimed one',
          lambda share: abs(np.mean(aimed) / forecast.mean() - 1) < share and 2 * np.mean(aimed) < abs(random).mean()),
    share=[0.1],
)

# %% [markdown]
# ## Summary
#
# If the outer function is differentiable, the derivative along a computation is the sum over all paths of the products of
# the local derivatives. Forward and reverse accumulation add up these paths edge by edge: one forward sweep for each input,
# one reverse sweep for each output. For a product of Jacobians the order decides the cost. With one output and inner widths
# of at least 2 no order is cheaper than reverse, and every loss has one output.
#
# **Further reading.** {cite:t}`rudin1976principles` proves the chain rule for differentiable maps; the view of
# derivatives as sums over paths in a graph is {cite:t}`bauer1974computational`'s. {cite:t}`griewank2008evaluating`
# treat forward, reverse and all orders between them, and {cite:t}`goodfellow2016deep` show what back-propagation
# makes of them. How to turn the sweeps into a program that differentiates programs is the subject of [Automatic
# differentiation](automatic_differentiation.ipynb).
