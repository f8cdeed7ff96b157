# ---
# jupyter:
#   book:
#     functions:
#       gradient: "gradient(lambda X: (X**3).sum(), normal(3, 2))"
#       cofactors: cofactors(normal(3, 3))
#     main: deriv-identify
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Matrix derivatives
#
# A layer of a network multiplies its inputs by a matrix of weights, $\mathbf{X}\mathbf{W}$. The loss is one number that
# depends on every weight. Collections of formulas give its derivative as a product of matrices, with a transpose here or
# there, and two of them often disagree. How do we find such a formula, and how do we see whether it is right?
#
# - **You need** [gradients](gradients.ipynb), [Jacobians](jacobians.ipynb) and
#   [determinants](../linear_algebra/determinants.ipynb).
# - **You build** a calculus of differentials, a table of fourteen derivatives, and the likeliest covariance of a chain of pixels.
# - **Runs in** 9 seconds, in float64.

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
from scipy.optimize import minimize
from torch.distributions import MultivariateNormal

from nbutils import data
from nbutils.cases import integers, matrices, on, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.figures import GREY, panels

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## The gradient with respect to a matrix: differentials and shapes
#
# Our first function is $f(\mathbf{X}) = \mathbf{a}^\top\mathbf{X}\,\mathbf{b}$, with a matrix $\mathbf{X}$ of shape (2, 3).
# PyTorch gives the partial derivatives with respect to its six entries, arranged in the shape of $\mathbf{X}$:

# %%
def gradient(f, X):
    """The gradient of f at X, by autograd, in the shape of X."""
    X = X.detach().requires_grad_()
    return torch.autograd.grad(f(X), X)[0]

a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0, 7.0])
X = torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]])
print(gradient(lambda X: a @ X @ b, X).numpy())

# %% [markdown]
# The entry $(i, j)$ is $a_i b_j$, so the gradient is $\mathbf{a}\mathbf{b}^\top$. We want to find this without looking at
# entries. If $\mathbf{X}$ changes by a small matrix $d\mathbf{X}$, then $f$ changes by $df = \mathbf{a}^\top
# d\mathbf{X}\,\mathbf{b}$. This is called the **differential**, the part of the change that is linear in $d\mathbf{X}$. How
# do we read the gradient off? The *trace*, the sum of the diagonal, does not change if the first factor of a product is
# moved to its end: $\operatorname{tr}(\mathbf{A}\mathbf{B}) = \sum_{i,j} a_{ij} b_{ji} =
# \operatorname{tr}(\mathbf{B}\mathbf{A})$. A number is its own trace, so
#
# $$ df = \operatorname{tr}(\mathbf{a}^\top d\mathbf{X}\,\mathbf{b}) = \operatorname{tr}(\mathbf{b}\,\mathbf{a}^\top d\mathbf{X}) . $$
#
# Now $d\mathbf{X}$ stands at the end, and the gradient is the transpose of what stands before it, here
# $(\mathbf{b}\,\mathbf{a}^\top)^\top = \mathbf{a}\mathbf{b}^\top$. In general,
#
# ```{math}
# :label: deriv-identify
# df = \operatorname{tr}(\mathbf{B}\, d\mathbf{X}) \text{ for all } d\mathbf{X} \quad\Longleftrightarrow\quad \nabla f =
# \mathbf{B}^\top ,
# ```
#
# because $\operatorname{tr}(\mathbf{B}\,d\mathbf{X}) = \sum_{i,j} b_{ji}\, dx_{ij}$, so that $b_{ji}$ is the derivative with
# respect to $x_{ij}$. This is the **trace trick**. In code:

# %%
dX = torch.tensor([[0.1, 0.0, -0.2], [0.0, 0.3, 0.1]])
B = torch.outer(b, a)  # (3, 2)
print(f'a^T dX b = {a @ dX @ b:.2f}, tr(B dX) = {(B @ dX).trace():.2f}')
print(B.T.numpy())

# %% [markdown]
# A definition makes precise what "linear part" means. Lengths are Frobenius norms, and $\langle \mathbf{G}, \mathbf{H}
# \rangle = \sum_{i,j} g_{ij} h_{ij} = \operatorname{tr}(\mathbf{G}^\top \mathbf{H})$ is the dot product of all entries.
#
# ```{prf:definition} Differential and gradient
# :label: def-differential
# Let $f$ map matrices $\mathbf{X}$ of shape $(m, n)$ to numbers or matrices. A linear map $df$ with
#
# $$f(\mathbf{X} + \mathbf{H}) = f(\mathbf{X}) + df[\mathbf{H}] + r(\mathbf{H}), \qquad \|r(\mathbf{H})\|_F / \|\mathbf{H}\|_F \to 0
# \quad\text{as } \mathbf{H} \to \mathbf{0},$$
#
# is the *differential* of $f$ at $\mathbf{X}$. If $f$ is a number, the *gradient* $\nabla f$ is the matrix of shape $(m, n)$
# for which $df[\mathbf{H}] = \langle \nabla f, \mathbf{H} \rangle$.
# ```
#
# ### The gradient of a norm
#
# With this definition we need no rule of differentiation, only multiplication. For a vector $\mathbf{a}$ and a fixed point
# $\mathbf{b}$,
#
# $$\|\mathbf{a} + \mathbf{h} - \mathbf{b}\|_2^2 = \|\mathbf{a} - \mathbf{b}\|_2^2 + 2(\mathbf{a} - \mathbf{b}) \cdot \mathbf{h} + \|\mathbf{h}\|_2^2 .$$
#
# The middle term is linear in $\mathbf{h}$, and the last is small even in comparison with $\mathbf{h}$. So
#
# ```{math}
# :label: la.deriv.norm-squared
# \frac{\partial \|\mathbf{a} - \mathbf{b}\|_2^2}{\partial \mathbf{a}} = 2(\mathbf{a} - \mathbf{b}) .
# ```
#
# The length itself is the square root of this, and $(\sqrt{s})' = 1/(2\sqrt{s})$ turns it, where
# $\mathbf{a} \ne \mathbf{b}$, into
#
# ```{math}
# :label: la.deriv.norm
# \frac{\partial \|\mathbf{a} - \mathbf{b}\|_2}{\partial \mathbf{a}} = \frac{\mathbf{a} - \mathbf{b}}{\|\mathbf{a} - \mathbf{b}\|_2} .
# ```

# %%
a, b = torch.tensor([3.0, 4.0]), torch.tensor([0.0, 0.0])
print('square:', gradient(lambda a: (a - b) @ (a - b), a).numpy())
print('length:', gradient(lambda a: (a - b).norm(), a).numpy())
print('length, at a = b:', gradient(lambda a: (a - b).norm(), b).numpy())

# %% mystnb={"image": {"alt": "Two panels with circles around a point b and arrows pointing away from it. Left, the length: all arrows have the same length. Right, the square: the arrows grow with the distance, and so does the density of circles."}} tags=["hide-input"]
fig, axes = panels(2, height=2.9, sharey=True)
b = np.array([0.4, -0.2])
p = np.stack(np.meshgrid(*2 * [np.linspace(-2, 2, 9)]))  # (2, 9, 9)
q = np.stack(np.meshgrid(*2 * [np.linspace(-2.3, 2.3, 200)]))
away = p - b[:, None, None]
length = np.hypot(*away)
for ax, power, title in ((axes[0], 1, 'length: a rope'),
                         (axes[1], 2, 'square: a spring')):
    height = np.hypot(*(q - b[:, None, None]))**power
    ax.contour(*q, height, levels=np.arange(0.5, 9, 0.5), colors=GREY,
               linewidths=0.6)
    arrows = power * away * length**(power - 2)
    ax.quiver(*p, *arrows, color='C1', width=0.007, angles='xy',
              scale_units='xy', scale=2.6 if power == 1 else 11)
    ax.plot(*b, 'o', color='C0')
    ax.set(aspect='equal', title=title, xlabel='first coordinate')
axes[0].set_ylabel('second coordinate');

# %% [markdown] tags=["caption"]
# The gradient of a distance has length one wherever it exists, like the pull of a rope; that of the squared distance grows
# with the distance, like the pull of a spring.

# %% [markdown]
# At $\mathbf{a} = \mathbf{b}$ the length has no gradient: it rises with slope one in *every*
# direction, forwards and backwards, and no linear map does that. PyTorch answers 0 there, which is a convention.
#
# ### Numerator layout and denominator layout
#
# The linear map $df$ does not depend on any convention about rows and columns. When we write its numbers into a
# table, we need one, and two are in use:
#
# | function | input | numerator layout | denominator layout |
# |---|---|---|---|
# | number | `(d,)` | row `(1, d)` | column `(d, 1)` |
# | number | `(m, n)` | `(n, m)` | `(m, n)` |
# | vector `(c,)` | `(d,)` | `(c, d)` | `(d, c)` |
#
# Each is the transpose of the other, so a chain of Jacobians, $\mathbf{J}_{f \circ g} = \mathbf{J}_f\, \mathbf{J}_g$ in
# numerator layout, runs *backwards* in denominator layout: $\mathbf{D}_{f \circ g} = \mathbf{D}_g\, \mathbf{D}_f$. This book
# writes Jacobians in numerator layout, because $\mathbf{J}\, d\mathbf{x}$ is then a product, and gradients in the shape of
# the input, as PyTorch does, because we subtract them from the input. When a
# formula comes from elsewhere, look at its shape first. If it is square, test it on a matrix that is *not* symmetric.
#
# ```{exercise} ★ Pencil: a knot of ropes
# :label: deriv-knot
# Ropes run from a knot at `a` to the pegs `pegs[i]`, and rope $i$ is pulled with the weight `w[i]`. The energy is
# $f(\mathbf{a}) = \sum_i w_i \|\mathbf{a} - \mathbf{p}_i\|_2$. Find its gradient and write `knot_gradient(a, pegs, w)`.
# ```

# %%
def knot_gradient(a, pegs, w):
    """The gradient with respect to a: an array of shape (d,).

    a is an array (d,), pegs one (n, d), none of them at a, and w one (n,).
    knot_gradient(np.array([2.0]), np.zeros((1, 1)), np.ones(1)) is
    array([1.]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def knot_by_torch(a, pegs, w):
    pegs, w = torch.tensor(pegs), torch.tensor(w)
    return gradient(lambda a: w @ (a - pegs).norm(dim=1), torch.tensor(a))

cases = dict(
    a=vectors((1, 3), 4, 9, edges=True), pegs=lambda a: matrices((1, 4), len(a), -3, 3, edges=True),
    w=lambda pegs: vectors(len(pegs), 0, 5),
)
grade(knot_gradient, knot_by_torch, **cases)

# %% [markdown]
# ```{solution-start} deriv-knot
# :class: dropdown
# ```
# By {eq}`la.deriv.norm` rope $i$ contributes $w_i$ times a unit vector. At rest the forces balance: this is how weights on
# strings find the point with the least weighted sum of distances, a median in the plane. Of the wrong answers, the first
# takes the squared distances, whose sum is least at the mean, the second forgets the weights, and the third points towards
# the pegs.

# %% jupyter={"source_hidden": true}
def knot_solution(a, pegs, w):
    away = a - pegs
    return (w / np.linalg.norm(away, axis=1)) @ away

def springs(a, pegs, w):
    return 2 * w @ (a - pegs)

def without_weights(a, pegs, w):
    return knot_solution(a, pegs, np.ones(len(w)))

def towards_the_pegs(a, pegs, w):
    return -knot_solution(a, pegs, w)

assert grade(knot_solution, knot_by_torch, **cases)
assert not grade(springs, knot_by_torch, **cases)
assert not grade(without_weights, knot_by_torch, **cases)
assert not grade(towards_the_pegs, knot_by_torch, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def by_differences(f, X, h=1e-5):
    steps = h * torch.eye(X.numel()).reshape(-1, *X.shape)
    return torch.stack([(f(X + H) - f(X - H)) / (2 * h) for H in steps]).reshape(X.shape)

def is_gradient(G, f, X):
    return (G.shape == X.shape and close(G, gradient(f, X))
            and close(G, by_differences(f, X), atol=1e-7, rtol=0))  # 1e-16 |f| / h

few = dict(seed=seeds(), tries=50)

far = vectors(4).filter(lambda v: np.linalg.norm(v) > 1)

def squared(a, b, sign):
    a, b = torch.tensor(a), torch.tensor(b)
    return is_gradient(sign * 2 * (a - b), lambda t: (t - b) @ (t - b), a)

def distance(b, away, power):
    b, away = torch.tensor(b), torch.tensor(away)
    return is_gradient(away / away.norm() ** power, lambda t: (t - b).norm(), b + away)

holds(
    'la.deriv.norm-squared', lambda a, b: squared(a, b, 1),
    slip=('differentiates with respect to b', lambda a, b: squared(a, b, -1)), a=vectors(4), b=vectors(4),
)
holds(
    'la.deriv.norm', lambda b, away: distance(b, away, 1),
    slip=('forgets to divide by the length', lambda b, away: distance(b, away, 0)), b=vectors(4), away=far,
)

def normal(seed, *shape):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape))

def read_off(seed, turn):  # the gradient of tr(BX)
    B, X = normal(seed, 3, 3), normal(seed + 1, 3, 3)
    return is_gradient(turn(B), lambda X: (B @ X).trace(), X)

verify(
    'the gradient of tr(BX) is B transposed', lambda seed: read_off(seed, torch.t),
    slip=('forgets the transpose', lambda seed: read_off(seed, lambda B: B)), **few,
)

# %% tags=["checks"]
def inputs_down(f, x):  # denominator layout: (d, c)
    rows = [torch.func.jvp(f, (x,), (e,))[1] for e in torch.eye(len(x))]
    return torch.stack(rows)

def swirl(x):  # (3,) -> (3,)
    return torch.stack([x[0] * x[1], x[1].sin() + x[2], x[2] * x[0]])

def bend(u):  # (3,) -> (2,)
    return torch.stack([u[0] + u[1] ** 2, u[1] * u[2].cos()])

def fits(x, inner, outer, order):
    D_g, D_f = inputs_down(inner, x), inputs_down(outer, inner(x))
    both = inputs_down(lambda x: outer(inner(x)), x)
    return close(both, order(D_g, D_f)) and both.shape[0] == len(x)

verify(
    'denominator layout: the inner derivative comes first',
    lambda seed: (
        fits(normal(seed, 3), swirl, swirl, torch.matmul)
        and fits(normal(seed, 3), swirl, bend, torch.matmul)
    ),
    slip=(
        'keeps the order of numerator layout',
        lambda seed: fits(
            normal(seed, 3), swirl, swirl, lambda D_g, D_f: D_f @ D_g
        ),
    ),
    seed=seeds(),
    tries=50,
)

# %% [markdown]
# ## Differentials, the trace trick and a table of matrix derivatives
#
# The rules of differentiation have a form for whole matrices:
#
# ````{prf:theorem} Rules
# :label: thm-differentials
# For differentiable $\mathbf{X}$, $\mathbf{Y}$ of fitting shapes, and a differentiable function $\sigma$ applied entry by
# entry,
#
# ```{math}
# :label: deriv-product
# \begin{gathered}
# d(\mathbf{X}\mathbf{Y}) = d\mathbf{X}\, \mathbf{Y} + \mathbf{X}\, d\mathbf{Y}, \qquad
# d\sigma(\mathbf{X}) = \sigma'(\mathbf{X}) \odot d\mathbf{X}, \\
# d\operatorname{tr}\mathbf{X} = \operatorname{tr} d\mathbf{X}, \qquad d(\mathbf{X}^\top) = (d\mathbf{X})^\top,
# \end{gathered}
# ```
#
# ```{math}
# :label: deriv-inverse
# d(\mathbf{X}^{-1}) = -\mathbf{X}^{-1}\, d\mathbf{X}\, \mathbf{X}^{-1} .
# ```
# ````
#
# ````{prf:proof}
# :class: dropdown
# $(\mathbf{X} + d\mathbf{X})(\mathbf{Y} + d\mathbf{Y}) - \mathbf{X}\mathbf{Y} = d\mathbf{X}\,\mathbf{Y} +
# \mathbf{X}\,d\mathbf{Y} + d\mathbf{X}\,d\mathbf{Y}$, and the last term is of second order. Trace and transpose are linear,
# so they are their own differentials, and $\sigma$ acts on each entry alone. For the inverse multiply
# $\mathbf{X}^{-1} \big( (\mathbf{X} + \mathbf{H}) - \mathbf{X} \big) (\mathbf{X} + \mathbf{H})^{-1}$ out in two ways, which
# gives
#
# ```{math}
# :label: deriv-resolvent
# (\mathbf{X} + \mathbf{H})^{-1} = \mathbf{X}^{-1} - \mathbf{X}^{-1}\mathbf{H}\,(\mathbf{X} + \mathbf{H})^{-1} .
# ```
#
# Insert the equation into its own right side: $(\mathbf{X} + \mathbf{H})^{-1} = \mathbf{X}^{-1} -
# \mathbf{X}^{-1}\mathbf{H}\mathbf{X}^{-1} + \mathbf{X}^{-1}\mathbf{H}\mathbf{X}^{-1}\mathbf{H}\,(\mathbf{X} +
# \mathbf{H})^{-1}$. The last term is of second order, since the inverse is continuous (Cramer's rule).
# ````
#
# ```{admonition} A tempting mistake
# :class: tip
# The order of the factors must be kept, because matrices do not commute, nor do they with $d\mathbf{X}$. So do not write
# $d(\mathbf{X}^2) = 2\mathbf{X}\,d\mathbf{X}$ or $d(\mathbf{X}^{-1}) = -\mathbf{X}^{-2}\,d\mathbf{X}$, as for numbers.
# ```

# %%
inv = torch.linalg.inv
X, H = torch.tensor([[2.0, 1.0], [0, 1]]), torch.tensor([[0.0, 1.0], [1, 0]])
slope = torch.func.jvp(inv, (X,), (H,))[1]  # torch's own differential
print(slope.numpy(), 'd(X⁻¹)')
print((-inv(X) @ H @ inv(X)).numpy(), '-X⁻¹ dX X⁻¹')
print((-inv(X @ X) @ H).numpy(), '-X⁻² dX: wrong')

# %% [markdown]
# Four examples of the trace trick, a line each:
#
# - $d(\mathbf{x}^\top\mathbf{A}\mathbf{x}) = d\mathbf{x}^\top\mathbf{A}\mathbf{x} + \mathbf{x}^\top\mathbf{A}\,d\mathbf{x} =
#   \mathbf{x}^\top(\mathbf{A}^\top + \mathbf{A})\,d\mathbf{x}$, because a number may be transposed. Hence $\nabla = (\mathbf{A} +
#   \mathbf{A}^\top)\mathbf{x}$, which is $2\mathbf{A}\mathbf{x}$ only for symmetric $\mathbf{A}$.
# - $d\,\|\mathbf{R}\|_F^2 = d\operatorname{tr}(\mathbf{R}^\top\mathbf{R}) = 2\operatorname{tr}(\mathbf{R}^\top
#   d\mathbf{R})$. With $\mathbf{R} = \mathbf{A}\mathbf{X}\mathbf{B} - \mathbf{C}$ and $d\mathbf{R} =
#   \mathbf{A}\,d\mathbf{X}\,\mathbf{B}$ this is $2 \operatorname{tr}(\mathbf{B}\mathbf{R}^\top\mathbf{A}\,d\mathbf{X})$, and the
#   gradient is $2\mathbf{A}^\top\mathbf{R}\,\mathbf{B}^\top$.
# - $d(\mathbf{a}^\top\mathbf{X}^{-1}\mathbf{b}) = -\mathbf{a}^\top\mathbf{X}^{-1} d\mathbf{X}\,\mathbf{X}^{-1}\mathbf{b} =
#   -\operatorname{tr}(\mathbf{X}^{-1}\mathbf{b}\,\mathbf{a}^\top\mathbf{X}^{-1} d\mathbf{X})$.
# - $d \log \sum_i e^{x_i} = \sum_i e^{x_i} dx_i \big/ \sum_j e^{x_j}$. The weights $p_i = e^{x_i} / \sum_j e^{x_j}$ are the gradient; they are called the softmax of $\mathbf{x}$.
#
# For entrywise factors there is the rule $\langle \mathbf{A}, \mathbf{B} \odot \mathbf{C} \rangle = \langle \mathbf{A} \odot
# \mathbf{B}, \mathbf{C} \rangle$. It gives the answer to the question of the opening, the layer of a network. With
# $\mathbf{T} = \tanh(\mathbf{X}\mathbf{W})$ and $\mathbf{R} = \mathbf{T}\mathbf{V} - \mathbf{Y}$ we have $d(\tfrac12
# \|\mathbf{R}\|_F^2) = \langle \mathbf{R}, d\mathbf{T}\,\mathbf{V} \rangle = \langle \mathbf{R}\mathbf{V}^\top, (1 -
# \mathbf{T}^{\odot 2}) \odot
# (\mathbf{X}\,d\mathbf{W}) \rangle$. Move the entrywise factor to the left and then $\mathbf{X}$:

# %%
rng = np.random.default_rng(0)
X, W, V, Y = (torch.tensor(rng.normal(size=shape))
              for shape in ((5, 3), (3, 2), (2, 1), (5, 1)))
T = torch.tanh(X @ W)  # (5, 2)
R = T @ V - Y  # (5, 1)
by_hand = X.T @ (R @ V.T * (1 - T**2))

def layer_loss(W):
    return ((torch.tanh(X @ W) @ V - Y) ** 2).sum() / 2

print(by_hand.numpy().round(3), 'by hand')
print(gradient(layer_loss, W).numpy().round(3), 'by torch')

# %% [markdown]
# | $f$ | $\nabla f$ | | $f$ | $\nabla f$ |
# |---|---|---|---|---|
# | $\mathbf{a}^\top\mathbf{x}$ | $\mathbf{a}$ | | $\lVert\mathbf{X}\rVert_F$ | $\mathbf{X} / \lVert\mathbf{X}\rVert_F$ |
# | $\mathbf{x}^\top\mathbf{A}\mathbf{x}$ | $(\mathbf{A} + \mathbf{A}^\top)\mathbf{x}$ | | $\operatorname{tr}(\mathbf{X}^\top\mathbf{A}\mathbf{X})$ | $(\mathbf{A} + \mathbf{A}^\top)\mathbf{X}$ |
# | $\lVert\mathbf{A}\mathbf{x} - \mathbf{b}\rVert^2$ | $2\mathbf{A}^\top(\mathbf{A}\mathbf{x} - \mathbf{b})$ | | $\operatorname{tr}(\mathbf{A}\mathbf{X}\mathbf{B}\mathbf{X}^\top)$ | $\mathbf{A}^\top\mathbf{X}\mathbf{B}^\top + \mathbf{A}\mathbf{X}\mathbf{B}$ |
# | $\mathbf{a}^\top\mathbf{X}\mathbf{b}$ | $\mathbf{a}\mathbf{b}^\top$ | | $\lVert\mathbf{A}\mathbf{X}\mathbf{B} - \mathbf{C}\rVert_F^2$ | $2\mathbf{A}^\top(\mathbf{A}\mathbf{X}\mathbf{B} - \mathbf{C})\mathbf{B}^\top$ |
# | $\operatorname{tr}(\mathbf{A}\mathbf{X})$ | $\mathbf{A}^\top$ | | $\mathbf{a}^\top\mathbf{X}^{-1}\mathbf{b}$ | $-\mathbf{X}^{-\top}\mathbf{a}\mathbf{b}^\top\mathbf{X}^{-\top}$ |
# | $\lVert\mathbf{X}\rVert_F^2$ | $2\mathbf{X}$ | | $\log\sum_i e^{x_i}$ | $\operatorname{softmax}(\mathbf{x})$ |
# | $\operatorname{tr}(\mathbf{A}\mathbf{X}^{-1})$ | $-(\mathbf{X}^{-1}\mathbf{A}\mathbf{X}^{-1})^\top$ | | $\tfrac12\lVert\tanh(\mathbf{X}\mathbf{W})\mathbf{V} - \mathbf{Y}\rVert_F^2$ by $\mathbf{W}$ | $\mathbf{X}^\top\big(\mathbf{R}\mathbf{V}^\top \odot (1 - \mathbf{T}^{\odot 2})\big)$ |
#
# All fourteen are found in this way. In the last row, $\mathbf{T}$ and $\mathbf{R}$ are those of the layer, and the
# derivative is with respect to $\mathbf{W}$.
#
# ```{exercise} ★★ Pencil: the gradient of a linear autoencoder
# :label: deriv-autoencoder
# A linear autoencoder maps each row of $\mathbf{X} \sim (n, d)$ to $k$ numbers and back with the same
# weights $\mathbf{W} \sim (d, k)$: $f(\mathbf{W}) = \|\mathbf{X} - \mathbf{X}\mathbf{W}\mathbf{W}^\top\|_F^2$. Derive its
# gradient, and write `autoencoder_gradient(W, X)` with NumPy.
# ```

# %%
def autoencoder_gradient(W, X):
    """The gradient with respect to W: an array of shape (d, k).

    W is an array of shape (d, k) and X one of shape (n, d).
    autoencoder_gradient(np.ones((1, 1)), np.ones((1, 1))) is [[0.]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def autoencoder_by_torch(W, X):
    X = torch.tensor(X)
    return gradient(lambda W: ((X - X @ W @ W.T) ** 2).sum(), torch.tensor(W))

cases = dict(W=matrices((1, 4), (1, 3), -2, 2, edges=True), X=lambda W: matrices((1, 4), len(W), -2, 2, edges=True))
grade(autoencoder_gradient, autoencoder_by_torch, **cases)

# %% [markdown]
# ```{solution-start} deriv-autoencoder
# :class: dropdown
# ```
# With $\mathbf{R} = \mathbf{X} - \mathbf{X}\mathbf{W}\mathbf{W}^\top$, $df = -2
# \operatorname{tr}\big(\mathbf{R}^\top\mathbf{X}\,(d\mathbf{W}\, \mathbf{W}^\top + \mathbf{W}\,d\mathbf{W}^\top)\big)$. Turn
# the first term to $\operatorname{tr}(\mathbf{W}^\top\mathbf{R}^\top\mathbf{X} \,d\mathbf{W})$; transpose the second to
# $\operatorname{tr}(d\mathbf{W}\,\mathbf{W}^\top\mathbf{X}^\top\mathbf{R})$ and turn it. So $\nabla f =
# -2(\mathbf{X}^\top\mathbf{R} + \mathbf{R}^\top\mathbf{X})\mathbf{W}$. Of the wrong answers, the first differentiates one of
# the two $\mathbf{W}$ and doubles it, which would be right if $\mathbf{X}^\top\mathbf{R}$ were symmetric, the second forgets
# one of the two, and the third forgets the minus sign of $d\mathbf{R}$.

# %% jupyter={"source_hidden": true}
def autoencoder_solution(W, X):
    K = X.T @ (X - X @ W @ W.T)  # (d, d)
    return -2 * (K + K.T) @ W

def one_of_two_doubled(W, X):
    return -4 * X.T @ (X - X @ W @ W.T) @ W

def one_of_two(W, X):
    return -2 * X.T @ (X - X @ W @ W.T) @ W

def without_the_minus(W, X):
    return -autoencoder_solution(W, X)

assert grade(autoencoder_solution, autoencoder_by_torch, **cases)
assert not grade(one_of_two_doubled, autoencoder_by_torch, **cases)
assert not grade(one_of_two, autoencoder_by_torch, **cases)
assert not grade(without_the_minus, autoencoder_by_torch, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def square(seed):  # two nonsymmetric matrices, the first well-conditioned
    X, H = normal(seed, 2, 3, 3)
    return X + 4 * torch.eye(3), H

def has_differential(f, differential, seed):
    X, H = square(seed)
    slope = torch.func.jvp(f, (X,), (H,))[1]  # df[H]
    return close(slope, differential(X, H))

verify(
    'd(XX) = dX X + X dX',
    lambda seed: has_differential(
        lambda X: X @ X, lambda X, H: H @ X + X @ H, seed
    ),
    slip=(
        'lets X and dX change places',
        lambda seed: has_differential(
            lambda X: X @ X, lambda X, H: 2 * X @ H, seed
        ),
    ),
    **few,
)
verify(
    'd(X⁻¹) = -X⁻¹ dX X⁻¹',
    lambda seed: has_differential(
        inv, lambda X, H: -inv(X) @ H @ inv(X), seed
    ),
    slip=(
        'lets the inverse and dX change places',
        lambda seed: has_differential(inv, lambda X, H: -inv(X @ X) @ H, seed),
    ),
    **few,
)

# %% tags=["checks"]
a, b, A, B = normal(1, 3), normal(2, 3), normal(3, 4, 4), normal(4, 3, 3)
M, c, C = normal(5, 5, 4), normal(6, 5), normal(7, 5, 3)
rules = {  # name: function, shape of the input, gradient, mistake
    'aᵀx': (lambda x: a @ x, (3,), lambda x: a,
            'gives x in place of a', lambda x: x),
    'xᵀAx': (lambda x: x @ A @ x, (4,), lambda x: (A + A.T) @ x,
             'takes A for symmetric', lambda x: 2 * A @ x),
    '|Mx - c|²': (lambda x: (M @ x - c).square().sum(), (4,),
                  lambda x: 2 * M.T @ (M @ x - c),
                  'forgets the factor 2', lambda x: M.T @ (M @ x - c)),
    'aᵀXb': (lambda X: a @ X @ b, (3, 3), lambda X: torch.outer(a, b),
             'writes b aᵀ in place of a bᵀ', lambda X: torch.outer(b, a)),
    'tr BX': (lambda X: (B @ X).trace(), (3, 3), lambda X: B.T,
              'forgets the transpose', lambda X: B),
    '|X|²': (lambda X: X.square().sum(), (4, 3), lambda X: 2 * X,
             'forgets the factor 2', lambda X: X),
    '|X|': (lambda X: X.norm(), (4, 3), lambda X: X / X.norm(),
            'differentiates the square of the norm', lambda X: 2 * X),
    'tr XᵀAX': (lambda X: (X.T @ A @ X).trace(), (4, 3),
                lambda X: (A + A.T) @ X,
                'takes A for symmetric', lambda X: 2 * A @ X),
}

# %% tags=["checks"]
rules |= {
    'tr AXBXᵀ': (lambda X: (A @ X @ B @ X.T).trace(), (4, 3),
                 lambda X: A.T @ X @ B.T + A @ X @ B,
                 'takes A and B for symmetric', lambda X: 2 * A @ X @ B),
    '|MXB - C|²': (lambda X: (M @ X @ B - C).square().sum(), (4, 3),
                   lambda X: 2 * M.T @ (M @ X @ B - C) @ B.T,
                   'forgets to transpose B',
                   lambda X: 2 * M.T @ (M @ X @ B - C) @ B),
    'aᵀX⁻¹b': (lambda X: a @ inv(X) @ b, (3, 3),
               lambda X: -inv(X).T @ torch.outer(a, b) @ inv(X).T,
               'forgets to transpose the inverses',
               lambda X: -inv(X) @ torch.outer(a, b) @ inv(X)),
    'tr BX⁻¹': (lambda X: (B @ inv(X)).trace(), (3, 3),
                lambda X: -(inv(X) @ B @ inv(X)).T,
                'lets B and the inverse change places',
                lambda X: -(B @ inv(X) @ inv(X)).T),
    'log Σ exp x': (lambda x: x.logsumexp(0), (5,),
                    lambda x: x.exp() / x.exp().sum(),
                    'forgets the derivative of exp x',
                    lambda x: 1 / x.exp().sum() * torch.ones(5)),
}
T = lambda W: torch.tanh(C @ W)  # inputs C (5, 3), outputs M (5, 4)
R = lambda W: T(W) @ A - M
rules['a layer'] = (lambda W: R(W).square().sum() / 2, (3, 4),
                    lambda W: C.T @ (R(W) @ A.T * (1 - T(W)**2)),
                    'forgets the derivative of tanh',
                    lambda W: C.T @ R(W) @ A.T)

# %% tags=["checks"]
def judged(f, shape, rule, seed):
    X = normal(seed, *shape)
    if shape == (3, 3):  # far from singular, for the inverses
        X += 4 * torch.eye(3)
    return is_gradient(rule(X), f, X)

for name, (f, shape, rule, words, wrong) in rules.items():
    verify(f'∇ {name}', lambda seed: judged(f, shape, rule, seed),
           slip=(words, lambda seed: judged(f, shape, wrong, seed)),
           seed=seeds(), tries=25)

# %% [markdown]
# ## The gradient of log det, symmetric matrices and Hessians
#
# A small map $\mathbf{I} + \mathbf{H}$ changes volumes by a factor close to one. How close? In the sum over permutations
# that defines the [determinant](../linear_algebra/determinants.ipynb), the identical one gives
# $\prod_i (1 + h_{ii}) = 1 + \operatorname{tr}\mathbf{H} + \dots$. Any other moves at least two indices, so its term has
# at least two factors from off the diagonal, where there is only $\mathbf{H}$. Therefore
# $\det(\mathbf{I} + \mathbf{H}) = 1 + \operatorname{tr}\mathbf{H} + O(\|\mathbf{H}\|^2)$: to first order, only the trace
# counts. With $\det(\mathbf{X} + d\mathbf{X}) = \det\mathbf{X}\, \det(\mathbf{I} + \mathbf{X}^{-1}d\mathbf{X})$ this is
# Jacobi's formula
#
# ```{math}
# :label: deriv-jacobi
# d \det\mathbf{X} = \det\mathbf{X}\, \operatorname{tr}(\mathbf{X}^{-1} d\mathbf{X}), \qquad \text{hence} \qquad
# \nabla_{\mathbf{X}} \log|\det\mathbf{X}| = \mathbf{X}^{-\top} .
# ```

# %%
def logdet(X):
    return torch.linalg.slogdet(X)[1]

X = torch.tensor([[2.0, 1.0], [0.5, 1.0]])
print(gradient(logdet, X).numpy().round(3), 'by torch')
print(torch.linalg.inv(X).T.numpy().round(3), 'inverse, transposed')

# %% [markdown]
# This formula needs an inverse, but the determinant has a gradient at every square matrix. It is linear in column $j$, so
# $\det\mathbf{X} = \sum_i x_{ij} c_{ij}$, where the *cofactor* $c_{ij}$ is $(-1)^{i+j}$ times the determinant without row
# $i$ and column $j$. A cofactor does not contain the column, so $\partial \det\mathbf{X}/\partial x_{ij} = c_{ij}$:

# %%
def cofactors(X):
    """The gradient of det at X (n, n), for singular X, too."""
    n, C = len(X), torch.empty_like(X)
    for i in range(n):
        for j in range(n):
            rows = [k for k in range(n) if k != i]
            columns = [k for k in range(n) if k != j]
            minor = torch.linalg.det(X[rows][:, columns])
            C[i, j] = (-1) ** (i + j) * minor
    return C

flat = torch.tensor([[1.0, 0, 0], [0, 0, 0], [0, 0, 2]])
for G in cofactors(flat), gradient(torch.linalg.det, flat):
    print(f'slope with respect to the entry (2, 2): {G[1, 1]:.2f}')

# %% [markdown]
# The first line is right: the entry (2, 2) times 2 is the determinant. The second line is PyTorch's answer at this singular
# matrix, and it is wrong.
#
# Another function without a simple formula is the largest singular value, the spectral norm, $\sigma_1(\mathbf{X}) = \max
# \mathbf{u}^\top\mathbf{X}\mathbf{v}$ over unit vectors:
#
# ````{prf:theorem} Derivative of the spectral norm
# :label: thm-sigma-max
# If $\sigma_1 > \sigma_2$, with singular vectors $\mathbf{u}$, $\mathbf{v}$, then
#
# ```{math}
# :label: deriv-sigma
# d\sigma_1 = \mathbf{u}^\top d\mathbf{X}\, \mathbf{v}, \qquad \nabla_{\mathbf{X}} \sigma_1 = \mathbf{u}\mathbf{v}^\top .
# ```
# ````
#
# ```{prf:proof}
# :class: dropdown
# Let $\mathbf{u}_H, \mathbf{v}_H$ attain the maximum for $\mathbf{X} + \mathbf{H}$. Each pair is a candidate for the other
# matrix, so
#
# $$\sigma_1(\mathbf{X}) + \mathbf{u}^\top\mathbf{H}\mathbf{v} \le \sigma_1(\mathbf{X} + \mathbf{H}) = \mathbf{u}_H^\top(\mathbf{X} + \mathbf{H})\mathbf{v}_H \le
# \sigma_1(\mathbf{X}) + \mathbf{u}_H^\top\mathbf{H}\mathbf{v}_H .$$
#
# As $\mathbf{H} \to \mathbf{0}$, limit points of $(\mathbf{u}_H, \mathbf{v}_H)$ attain the maximum for $\mathbf{X}$, and
# since $\sigma_1 > \sigma_2$ there is one such pair up to a common sign. So
# $\mathbf{u}_H\mathbf{v}_H^\top \to \mathbf{u}\mathbf{v}^\top$, and the two bounds differ by less and less in comparison
# with $\mathbf{H}$.
# ```
#
# The singular vectors change, too, but at a maximum this has no effect to first order. Where $\sigma_1 = \sigma_2$, the
# derivative need not exist: $\operatorname{diag}(1 + t, 1 - t)$ has $\sigma_1 = 1 + |t|$.
#
# ### The gradient with respect to a symmetric matrix
#
# Covariances are symmetric, and then the changes are symmetric as well. With a symmetric $d\mathbf{X}$, $\langle \mathbf{G},
# d\mathbf{X} \rangle = \langle \tfrac12 (\mathbf{G} + \mathbf{G}^\top), d\mathbf{X} \rangle$, so the differential determines
# only this symmetric part, and it is the gradient among symmetric matrices. Many tables list something else. They count the
# entries with $i \le j$ as the variables. Then $x_{12}$ stands in two places, and
#
# ```{math}
# :label: deriv-symmetric
# \frac{\partial f}{\partial x_{ij}} = \begin{cases} g_{ij} + g_{ji} & i < j \\ g_{ii} & i = j \end{cases} \qquad (i \le j) ,
# ```
#
# For $\log\det\mathbf{X}$ this is the matrix $2\mathbf{X}^{-1} - \operatorname{diag}(\mathbf{X}^{-1})$. Both are right. One
# lists partial derivatives with respect to these entries, for a program whose parameters they are. The other is the
# direction of steepest ascent.
#
# ### Hessians and the second differential
#
# Differentiate $df$ once more, with the same constant $d\mathbf{X}$, and call it $d^2 f$. Taylor's formula reads
#
# ```{math}
# :label: deriv-taylor
# f(\mathbf{X} + d\mathbf{X}) = f(\mathbf{X}) + df + \tfrac12\, d^2 f + o(\|d\mathbf{X}\|_F^2) .
# ```
#
# For a vector $\mathbf{x}$ the **Hessian** is the symmetric matrix with $d^2 f = d\mathbf{x}^\top \mathbf{H}\, d\mathbf{x}$.
# Of a **quadratic form**, $d^2(\mathbf{x}^\top\mathbf{A}\mathbf{x}) = 2\, d\mathbf{x}^\top\mathbf{A}\,d\mathbf{x}$. Is
# $\mathbf{H} = 2\mathbf{A}$? Only if that is symmetric. The form sees the symmetric part of $\mathbf{A}$ alone, and
#
# ```{math}
# :label: deriv-quadratic
# \mathbf{H} = \mathbf{A} + \mathbf{A}^\top, \qquad (\mathbf{x} + \mathbf{h})^\top\mathbf{A}(\mathbf{x} + \mathbf{h}) = \mathbf{x}^\top\mathbf{A}\mathbf{x} +
# \nabla f(\mathbf{x}) \cdot \mathbf{h} + \mathbf{h}^\top\mathbf{A}\mathbf{h} .
# ```

# %%
A = torch.tensor([[1.0, 3.0], [0.0, 2.0]])
H = torch.func.hessian(lambda x: x @ A @ x)(torch.ones(2))
print(H.numpy(), 'Hessian')
print((A + A.T).numpy(), 'A + A^T')

# %% [markdown]
# The differential of Jacobi's formula is found by $d(\mathbf{X}^{-1})$:
#
# ```{math}
# :label: deriv-logdet-two
# d^2 \log|\det\mathbf{X}| = d \operatorname{tr}(\mathbf{X}^{-1} d\mathbf{X}) = -\operatorname{tr}(\mathbf{X}^{-1}
# d\mathbf{X}\, \mathbf{X}^{-1} d\mathbf{X}) .
# ```
#
# ```{prf:theorem} The logarithm of the determinant is concave
# :label: thm-logdet
# On the symmetric positive definite matrices $\log\det$ is strictly concave.
# ```
#
# ```{prf:proof}
# :class: dropdown
# They form a convex set, so it is enough to look at $d^2 f$ along lines. Let $\mathbf{X} = \mathbf{L}\mathbf{L}^\top$ and
# $\mathbf{M} = \mathbf{L}^{-1} d\mathbf{X}\, \mathbf{L}^{-\top}$, which is symmetric if $d\mathbf{X}$ is. With the trace
# going round, $d^2 f = -\operatorname{tr}(\mathbf{M}\mathbf{M}) = -\|\mathbf{M}\|_F^2$, and this is negative unless
# $d\mathbf{X} = \mathbf{0}$.
# ```
#
# For a matrix as variable the Hessian has four indices, and we stack the columns into a vector,
# $\operatorname{vec}\mathbf{X}$. Column $j$ of $\mathbf{A}\mathbf{X}\mathbf{B}$ is $\sum_k b_{kj} \mathbf{A}\mathbf{x}_k$,
# that is, block $(j, k)$ of a large matrix is $b_{kj}\mathbf{A}$. This matrix is called the Kronecker product:
#
# ```{math}
# :label: deriv-vec
# \operatorname{vec}(\mathbf{A}\mathbf{X}\mathbf{B}) = (\mathbf{B}^\top \otimes \mathbf{A}) \operatorname{vec}\mathbf{X} .
# ```
#
# PyTorch and NumPy store rows one after the other. In their order, the two factors change places.
#
# ```{exercise} ★★ Pencil: the gradient of log det XᵀX
# :label: deriv-gram
# The columns of a tall $\mathbf{X} \sim (m, n)$ span a box of volume $\sqrt{\det(\mathbf{X}^\top\mathbf{X})}$. Find the
# gradient of $\log\det(\mathbf{X}^\top\mathbf{X})$ and write `gram_gradient(X)` with NumPy. What is it for square
# $\mathbf{X}$?
# ```

# %%
def gram_gradient(X):
    """The gradient: an array of the shape of X.

    X is an array of shape (m, n), m >= n, with independent columns.
    gram_gradient(np.array([[2.0]])) is [[1.]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def gram_by_torch(X):
    return gradient(lambda X: logdet(X.T @ X), torch.tensor(X))

tall = matrices((1, 5), (1, 3), -3, 3).filter(
    lambda X: X.shape[0] >= X.shape[1] and np.linalg.svd(X)[1].min() > 0.1)
grade(gram_gradient, gram_by_torch, X=tall)

# %% [markdown]
# ```{solution-start} deriv-gram
# :class: dropdown
# ```
# $\operatorname{tr}\big((\mathbf{X}^\top\mathbf{X})^{-1}(d\mathbf{X}^\top\mathbf{X} + \mathbf{X}^\top d\mathbf{X})\big)$ has
# two equal terms, because the inverse is symmetric. So $\nabla = 2\mathbf{X}(\mathbf{X}^\top\mathbf{X})^{-1}$, twice the
# transposed pseudoinverse, and $2\mathbf{X}^{-\top}$ for square $\mathbf{X}$, as it must be. Of the wrong answers, the first
# forgets one of the two terms, the second transposes, and the third inverts $\mathbf{X}\mathbf{X}^\top$, which is singular
# for a tall $\mathbf{X}$.

# %% jupyter={"source_hidden": true}
def gram_solution(X):
    return 2 * np.linalg.pinv(X).T

def one_term(X):
    return X @ np.linalg.inv(X.T @ X)

def transposed(X):
    return 2 * np.linalg.pinv(X)

def other_product(X):
    return 2 * np.linalg.inv(X @ X.T) @ X

assert grade(gram_solution, gram_by_torch, X=tall)
assert not grade(one_term, gram_by_torch, X=tall)
assert not grade(transposed, gram_by_torch, X=tall)
assert not grade(other_product, gram_by_torch, X=tall)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def spectral(X):
    return torch.linalg.matrix_norm(X, 2)

def top(X):
    U, _, Vt = torch.linalg.svd(X)
    return torch.outer(U[:, 0], Vt[0])

def by_entries(f, S):  # the partial derivatives by s_ij = s_ji, i <= j
    n = len(S)
    i, j = np.triu_indices(n)
    entries = S[i, j]
    where = torch.zeros(n, n, dtype=int)
    where[i, j] = where[j, i] = torch.arange(len(i))
    return gradient(lambda s: f(s[where]), entries)[where]

def doubled(seed, diagonal):
    X = normal(seed, 3, 3)
    S = X @ X.T + torch.eye(3)
    f = lambda X: logdet(X) + (X @ X @ normal(9, 3, 3)).trace()
    G = gradient(f, S)
    table = G + G.T - diagonal * torch.diag(G.diag())
    return close(by_entries(f, S), table)

# %% tags=["checks"]
verify(
    '∇ det X is the matrix of cofactors',
    lambda seed: is_gradient(
        cofactors(normal(seed, 4, 4)), torch.linalg.det, normal(seed, 4, 4)
    ),
    slip=(
        'transposes the matrix of cofactors',
        lambda seed: is_gradient(
            cofactors(normal(seed, 4, 4)).T,
            torch.linalg.det,
            normal(seed, 4, 4),
        ),
    ),
    **few,
)

def shifted(seed):  # nonsymmetric, hardly ever near singular
    return normal(seed, 4, 4) + 4 * torch.eye(4)

verify(
    '∇ log |det X| is the inverse transposed',
    lambda seed: is_gradient(
        torch.linalg.inv(shifted(seed)).T, logdet, shifted(seed)
    ),
    slip=(
        'forgets the transpose',
        lambda seed: is_gradient(
            torch.linalg.inv(shifted(seed)), logdet, shifted(seed)
        ),
    ),
    **few,
)
verify(
    '∇ σ₁ = u vᵀ',
    lambda seed: (
        is_gradient(top(normal(seed, 3, 3)), spectral, normal(seed, 3, 3))
        and is_gradient(top(normal(seed, 5, 2)), spectral, normal(seed, 5, 2))
    ),
    slip=(
        'writes v uᵀ in place of u vᵀ',
        lambda seed: is_gradient(
            top(normal(seed, 3, 3)).T, spectral, normal(seed, 3, 3)
        ),
    ),
    **few,
)
verify(
    'distinct entries of a symmetric matrix: G + Gᵀ - diag G',
    lambda seed: doubled(seed, 1),
    slip=('counts the diagonal twice', lambda seed: doubled(seed, 0)),
    **few,
)

# %% tags=["checks"]
def form_hessian(seed, H):
    A, x = normal(seed, 4, 4), normal(seed + 1, 4)
    return close(torch.func.hessian(lambda x: x @ A @ x)(x), H(A))

def softmax_hessian(seed, H):
    x = normal(seed, 5)
    return close(torch.func.hessian(lambda x: x.logsumexp(0))(x),
                 H(x.exp() / x.exp().sum()))

def midpoint(seed, f, definite):  # strictly above the chord?
    X, Y = normal(seed, 2, 3, 3)
    if definite:
        X, Y = X @ X.T, Y @ Y.T
    return bool(f((X + Y) / 2) > (f(X) + f(Y)) / 2)

def columns_stacked(X):
    return X.T.reshape(-1)

def vec_rule(seed, stack):
    A, X, B = normal(seed, 5, 4), normal(seed + 1, 4, 3), normal(seed, 3, 2)
    large = torch.kron(B.T.contiguous(), A)  # (10, 12)
    return close(stack(A @ X @ B), large @ stack(X))

# %% tags=["checks"]
verify(
    'the Hessian of xᵀAx is A + Aᵀ',
    lambda seed: form_hessian(seed, lambda A: A + A.T),
    slip=(
        'takes A for symmetric',
        lambda seed: form_hessian(seed, lambda A: 2 * A),
    ),
    **few,
)
verify(
    'the Hessian of log Σ exp x is diag p - p pᵀ',
    lambda seed: softmax_hessian(seed, lambda p: p.diag() - torch.outer(p, p)),
    slip=(
        'keeps the diagonal of p pᵀ alone',
        lambda seed: softmax_hessian(
            seed, lambda p: p.diag() - p.square().diag()
        ),
    ),
    **few,
)
verify(
    'log det is concave on definite matrices, log |det| is not on all',
    lambda seed: midpoint(seed, logdet, definite=True),
    slip=(
        'asks for concavity on all matrices',
        lambda seed: midpoint(seed, logdet, definite=False),
    ),
    **few,
)
verify(
    'vec(AXB) = (Bᵀ ⊗ A) vec X, columns stacked',
    lambda seed: vec_rule(seed, columns_stacked),
    slip=(
        'stacks rows in place of columns',
        lambda seed: vec_rule(seed, torch.flatten),
    ),
    **few,
)

def curvature(seed, sign):  # of log |det|, against torch
    X, H = normal(seed, 2, 3, 3)
    inverse = torch.linalg.inv(X)
    along = lambda t: logdet(X + t * H)
    second = torch.func.hessian(along)(torch.tensor(0.0))
    return close(second, sign * (inverse @ H @ inverse @ H).trace())

verify(
    'd² log |det X| = -tr(X⁻¹ dX X⁻¹ dX)',
    lambda seed: curvature(seed, -1),
    slip=('forgets the minus sign', lambda seed: curvature(seed, 1)),
    **few,
)

# %% [markdown]
# ## Where it matters: the maximum likelihood covariance of pixels
#
# Which covariance explains $n$ observations $\mathbf{x}_i \in \mathbb{R}^d$ best, if they are Gaussian? In terms of the
# **precision** $\mathbf{P} = \boldsymbol\Sigma^{-1}$, the inverse of the covariance, the logarithm of the density of all
# observations is, with the mean at the sample mean $\bar{\mathbf{x}}$,
#
# ```{math}
# :label: deriv-likelihood
# \ell(\mathbf{P}) = \frac n2 \big( \log\det\mathbf{P} - \operatorname{tr}(\mathbf{P}\mathbf{S}) - d \log 2\pi \big)
# ```
#
# with $\mathbf{S} = \frac1n \sum_i (\mathbf{x}_i - \bar{\mathbf{x}})(\mathbf{x}_i - \bar{\mathbf{x}})^\top$. By the
# trace trick $\sum_i (\mathbf{x}_i - \bar{\mathbf{x}})^\top\mathbf{P}(\mathbf{x}_i - \bar{\mathbf{x}}) = n
# \operatorname{tr}(\mathbf{P}\mathbf{S})$. Hence
# $d\ell = \frac n2 \operatorname{tr}\big((\mathbf{P}^{-1} - \mathbf{S})\,d\mathbf{P}\big)$. It vanishes for all
# symmetric $d\mathbf{P}$ only if $\boldsymbol\Sigma = \mathbf{P}^{-1} = \mathbf{S}$. By
# {prf:ref}`thm-logdet` $\ell$ is strictly concave, so this is the one maximum, if $\mathbf{S}$ is invertible. If $n \le d$
# it is not, and $\ell$ has no bound.
#
# The remedy is to say which pairs of variables do not depend on each other directly. Let $\mathbf{P}$ have zeros except on
# the diagonal and at given pairs, the *edges* of a graph. Then $d\mathbf{P}$ has these zeros, too, and the same differential
# says:
#
# ```{math}
# :label: deriv-edges
# d\ell = 0 \quad\Longleftrightarrow\quad \Sigma_{ij} = s_{ij} \text{ on the edges and on the diagonal.}
# ```
#
# So $\boldsymbol\Sigma$ agrees with the data where its inverse is free, and the inverse is zero elsewhere
# {cite}`dempster1972covariance`. For a *chain*, with edges between neighbours only, there is a closed form. Let each variable
# depend only on the one before it. Then the density is
# $p(x_1) \prod_k p(x_{k+1} \mid x_k) = \prod_k p(x_k, x_{k+1}) \big/ \prod_{1 < k < d} p(x_k)$, and its logarithm gives
#
# ```{math}
# :label: deriv-chain
# \mathbf{P} = \sum_{k=1}^{d-1} \big[ (\mathbf{S}_{k,k+1})^{-1} \big] - \sum_{k=2}^{d-1} \big[ 1/s_{kk} \big]
# ```
#
# where $\mathbf{S}_{k,k+1}$ is the $2 \times 2$ block of two neighbours and the brackets put a matrix back into its place
# among zeros.

# %%
def chain(S):
    """The precision of the likeliest chain, for S of shape (d, d)."""
    P = np.zeros_like(S)
    for k in range(len(S) - 1):
        P[k:k + 2, k:k + 2] += np.linalg.inv(S[k:k + 2, k:k + 2])
    middle = np.arange(1, len(S) - 1)
    P[middle, middle] -= 1 / S[middle, middle]
    return P

S = np.array([[2.0, 1.0, 0.9], [1.0, 2.0, 1.0], [0.9, 1.0, 2.0]])
print(chain(S).round(3), 'precision')
print(np.linalg.inv(chain(S)).round(3), 'covariance')

# %% [markdown]
# The covariance 0.9 of the first and the third variable is not on an edge, so the chain replaces it by
# 0.5. All other entries agree with $\mathbf{S}$, and the precision is zero in the corner.
#
# We try this on strips of twelve neighbouring pixels, cut at random from the left half of a photograph. Three Gaussians are
# fitted to $n$ of them: one with independent pixels, one with a chain, one with the full $\mathbf{S}$. Which one gives
# strips from the right half, which it has never seen, the highest density? The score is the logarithm of the density for
# each pixel, for grey values between 0 and 1, over ten repetitions.

# %%
grey = data.photograph('china').mean(2)  # (427, 640)

def strips(rng, n, left, apart=1, d=12):  # (n, d)
    row = rng.integers(427, size=n)
    column = rng.integers(320 - d * apart, size=n) + (0 if left else 320)
    return grey[row[:, None], column[:, None] + apart * np.arange(d)]

def score(P, mean, x):
    z = x - mean
    spread = ((z @ P) * z).sum(1).mean()
    log_det = np.linalg.slogdet(P)[1]
    return (log_det - spread) / (2 * len(P)) - np.log(2 * np.pi) / 2

# %%
models = {'independent': lambda S: np.diag(1 / S.diagonal()),
          'chain': chain, 'full': np.linalg.inv}

def trial(n, seed, apart=1):
    rng = np.random.default_rng(seed)
    x, new = strips(rng, n, True, apart), strips(rng, 2000, False, apart)
    S = np.cov(x, rowvar=False, bias=True)
    return [score(model(S), x.mean(0), new) if n > 12 or name != 'full'
            else np.nan for name, model in models.items()]

# %%
sizes = np.array([10, 14, 20, 30, 50, 100, 200, 500, 1000])
scores = np.array([[trial(n, seed) for seed in range(10)]
                   for n in sizes])  # (9, 10, 3)
for n in (20, 50, 1000):
    mean = scores[sizes == n][0].mean(0)
    row = (f'{k} {v:.2f}' for k, v in zip(models, mean))
    print(f'n = {n:4}:', ', '.join(row))
chain_wins = (scores[..., 1] > scores[..., 2]).all(1)
full_wins = (scores[..., 1] < scores[..., 2]).all(1)
print('the chain wins all ten times at n =', *sizes[chain_wins])
print('the full covariance at n =', *sizes[full_wins])

# %% tags=["hide-input"]
many = strips(np.random.default_rng(0), 20000, left=True)
P = np.linalg.inv(np.cov(many, rowvar=False, bias=True))
scale = np.sqrt(P.diagonal())
partial = abs(P) / np.outer(scale, scale)
print(f'neighbours at least {partial.diagonal(1).min():.2f}; three or more apart at most {np.triu(partial, 3).max():.2f}')

# %% mystnb={"image": {"alt": "Left: the full precision matrix of twelve pixels from many strips, scaled to a unit diagonal; it is bright on the diagonal, half as bright next to it, pale two and three places away, and dark beyond. Right: log-likelihood of new strips per pixel against the number of strips for learning, with bands; the chain is good from ten strips on, the full covariance starts below the picture at fourteen and overtakes at a hundred, independent pixels stay far below."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9, width_ratios=[1, 1.5])
picture = left.imshow(partial, vmin=0, vmax=1)
fig.colorbar(picture, ax=left, shrink=0.7)
left.set(title='|P|, scaled', xticks=[0, 5, 11], yticks=[0, 5, 11])
for k, name in enumerate(models):
    low, mid, high = np.quantile(scores[..., k], [0, 0.5, 1], axis=1)
    right.fill_between(sizes, low, high, color=f'C{k}', alpha=0.25, lw=0)
    right.plot(sizes, mid, 'o-', ms=3, color=f'C{k}')
right.set(xscale='log', ylim=(-1.5, 1.15), xlabel='strips to learn from, n',
          title='Score of new strips')
right.text(11, 0.72, 'chain', color='C1')
right.text(60, 0.2, 'full', color='C2')
right.text(90, -0.95, 'independent', color='C0');

# %% [markdown] tags=["caption"]
# From few strips the chain, with 23 numbers to learn, scores higher on new ones than the full covariance with 78, which
# overtakes near 100 strips and always wins from 200 on.

# %% [markdown]
# With fewer strips than pixels the full model does not exist, and with twenty it is very bad, because the likelihood is high
# if the variance is small in every direction in which the sample happens to vary little. The chain has 23 parameters, and
# the full model 78. With many strips the full model wins, because the chain is not quite true: given all others, a pixel
# still depends on those two and three places away.
#
# ```{exercise} ★★ Experiment: pixels that are not neighbours
# :label: deriv-apart
# Take strips of pixels that are eight places apart, `trial(n, seed, apart=8)`, so that they are far less correlated. First
# predict: return the order of the three models, the best first, by their mean score over ten seeds, for $n = 14$ and for $n
# = 1000$. Then measure and explain.
# ```

# %%
def predicted_orders():
    """Two strings of the letters i, c, f, the best model first, as 'icf'.

    i is the independent model, c the chain, f the full covariance; the
    first string is for n = 14, the second for n = 1000.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def measured_orders():
    means = [np.mean([trial(n, seed, 8) for seed in range(10)], axis=0) for n in (14, 1000)]
    return [''.join(np.array(list('icf'))[np.argsort(-mean, kind='stable')]) for mean in means]

def is_measured(orders):
    if list(orders) != measured_orders():
        raise ValueError('other orders are measured; run the trials and compare')
    return True

grade(lambda: is_measured(predicted_orders()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} deriv-apart
# :class: dropdown
# ```
# With fourteen strips the full covariance has far too many numbers to learn, and the chain is best, as for neighbours. With a
# thousand strips the full covariance is best again: eight places apart, pixels are still correlated, and not only along the
# chain. So how many observations there are decides between the models, and how correlated the pixels are matters less.

# %% jupyter={"source_hidden": true}
print(measured_orders())
assert grade(lambda: is_measured(['cif', 'fci']), lambda: True, [()])
assert not grade(lambda: is_measured(['icf', 'fci']), lambda: True, [()])  # takes distant pixels for independent
assert not grade(lambda: is_measured(['fci', 'fci']), lambda: True, [()])  # more parameters are always better
assert not grade(lambda: is_measured(['cif', 'cfi']), lambda: True, [()])  # takes the chain for the truth

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★★ Program: the covariances that a chain implies
# :label: deriv-chain-rest
# The chain takes the variances and the covariances of neighbours from the data. Which values do all the others have? Find
# $\Sigma_{13}$ for three variables from {eq}`deriv-chain` or from $p_{13} = 0$, guess the rule for $\Sigma_{ij}$, and write
# `completed(S)`, the full matrix, without inverting anything.
# ```

# %%
def completed(S):
    """The covariance of the likeliest chain: an array of shape (d, d).

    S is a symmetric positive definite array (d, d), d >= 2.
    completed(np.eye(3)) is np.eye(3).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def cloud(seed, d=5, n=30):
    rng = np.random.default_rng(seed)
    return np.cov(rng.normal(size=(n, d)) @ rng.normal(size=(d, d)), rowvar=False, bias=True)

def by_inversion(S):
    return np.linalg.inv(chain(S))

covariances = on(2, 3, 5, 8).flatmap(lambda d: integers(0, 10**6).map(lambda seed: cloud(seed, d))) | on(np.eye(3))
forbidden = ['numpy.linalg.inv', 'numpy.linalg.pinv', 'numpy.linalg.solve']
grade(completed, by_inversion, S=covariances, tries=40, without=forbidden)

# %% [markdown]
# ```{solution-start} deriv-chain-rest
# :class: dropdown
# ```
# $p_{13} = 0$ says that the cofactor $\Sigma_{12}\Sigma_{23} - \Sigma_{13}\Sigma_{22}$ vanishes: $\Sigma_{13} =
# \Sigma_{12}\Sigma_{23}/\Sigma_{22}$. In correlations $\rho_{13} = \rho_{12}\,\rho_{23}$, and so on down the chain:
# $\rho_{ij}$ is the product of the correlations on the way. In the photograph correlations die out far more slowly, because
# large surfaces join distant pixels. Of the wrong answers, the first multiplies covariances, the second leaves all other
# entries as they are, and the third sets them to zero.

# %% jupyter={"source_hidden": true}
def completed_solution(S):
    scale = np.sqrt(S.diagonal())
    links = np.diag(S, 1) / (scale[:-1] * scale[1:])  # (d - 1,)
    rho = np.eye(len(S))
    for i in range(len(S)):
        rho[i, i + 1:] = rho[i + 1:, i] = np.cumprod(links[i:])
    return rho * np.outer(scale, scale)

def covariances_multiplied(S):
    full = np.diag(S.diagonal())
    for i in range(len(S)):
        full[i, i + 1:] = full[i + 1:, i] = np.cumprod(np.diag(S, 1)[i:])
    return full

def as_they_are(S):
    return S

def zeros_elsewhere(S):
    return np.triu(np.tril(S, 1), -1)

assert grade(completed_solution, by_inversion, S=covariances, tries=40, without=forbidden)
assert not grade(covariances_multiplied, by_inversion, S=covariances, tries=40, without=forbidden)
assert not grade(as_they_are, by_inversion, S=covariances, tries=40, without=forbidden)
assert not grade(zeros_elsewhere, by_inversion, S=covariances, tries=40, without=forbidden)
rho = np.corrcoef(many, rowvar=False)
print(f'first and last pixel: {rho[0, -1]:.2f},',
      f'by the chain {np.diag(rho, 1).prod():.2f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def climb(S, edges):  # any graph: free entries, by their own derivatives
    i, j = np.nonzero(np.triu(edges))

    def loss(p):
        P = np.zeros_like(S)
        P[i, j] = P[j, i] = p
        if np.linalg.eigvalsh(P)[0] <= 0:
            return np.inf, p
        G = S - np.linalg.inv(P)
        value = (P * S).sum() - np.linalg.slogdet(P)[1]
        return value, np.where(i == j, 1, 2) * G[i, j]

    start = np.where(i == j, 1 / S.diagonal()[i], 0)
    p = minimize(loss, start, jac=True, options={'gtol': 1e-9}).x
    P = np.zeros_like(S)
    P[i, j] = P[j, i] = p
    return P

def stationary(seed, share):  # of torch's own Gaussian likelihood
    rng = np.random.default_rng(seed)
    x = torch.tensor(rng.normal(size=(9, 3)) @ rng.normal(size=(3, 3)))
    S = share * torch.cov(x.T, correction=0)
    slope = gradient(lambda V: MultivariateNormal(
        x.mean(0), V).log_prob(x).sum(), S)
    return close(slope @ S, torch.zeros(3, 3), atol=1e-9)  # rounding

# %% tags=["checks"]
def on_the_edges(seed, kept):
    S = cloud(seed)
    chosen = np.random.default_rng(seed).random((5, 5)) < 0.4
    edges = np.triu(chosen, 1) + np.triu(chosen, 1).T + np.eye(5) > 0
    P = climb(S, edges)
    agree = edges if kept == 'edges' else edges | True
    return (not P[~edges].any()
            and close(np.linalg.inv(P)[agree], S[agree],  # slopes at the end
                      atol=1e-6, rtol=0))

def chain_is_best(seed, closed_form):
    neighbours = abs(np.subtract.outer(np.arange(5), np.arange(5))) < 2
    S = cloud(seed)
    P = closed_form(S)
    return (close(np.linalg.inv(P)[neighbours], S[neighbours])
            and close(P, climb(S, neighbours), atol=1e-6, rtol=1e-6))

# %% tags=["checks"]
verify(
    'the likeliest covariance divides by n',
    lambda seed: stationary(seed, 1),
    slip=('divides by n − 1', lambda seed: stationary(seed, 9 / 8)),
    seed=seeds(),
    tries=20,
)
verify(
    'on the edges the likeliest Σ equals S',
    lambda seed: on_the_edges(seed, 'edges'),
    slip=(
        'expects equality off the edges, too',
        lambda seed: on_the_edges(seed, 'all'),
    ),
    seed=seeds(),
    tries=10,
)
verify(
    'the likeliest chain in closed form',
    lambda seed: chain_is_best(seed, chain),
    slip=(
        'counts the middle variables twice',
        lambda seed: chain_is_best(
            seed, lambda S: chain(S) + np.diag([0, 1, 1, 1, 0] / S.diagonal())
        ),
    ),
    seed=seeds(),
    tries=10,
)

# %% [markdown]
# ## Summary
#
# The derivative of a function of matrices is a linear map, its gradient the one matrix of the input's shape
# that represents this map, and layouts are ways to write it down. To find the gradient, differentiate by the product rule,
# move $d\mathbf{X}$ to the end under a trace, and transpose; a second round gives Hessians, and for symmetric matrices only
# the symmetric part of the gradient is determined. The differential of $\log\det$ tells which covariance explains Gaussian
# data best, also if zeros of its inverse are prescribed.
#
# **Further reading.** {cite}`magnus2019matrix` is the standard work on differentials of matrices, {cite}`horn2013matrix` the
# source for determinants and definite matrices, {cite}`lauritzen1996graphical` for Gaussians on graphs.
# {cite}`srinivasan2023gradient` sort out the two gradients with respect to a symmetric matrix, and {cite}`boyd2004convex`
# show what concavity of $\log\det$ is good for.
