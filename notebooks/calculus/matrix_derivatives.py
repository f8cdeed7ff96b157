# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Matrix derivatives
#
# - **Question.** What is the derivative of a function whose input is a matrix, for example of a determinant or an inverse,
#   and how can we find it without working with single entries?
# - **You need** [Gradients](gradients.ipynb), [Jacobians](jacobians.ipynb) and
#   [Determinants](../linear_algebra/determinants.ipynb).
# - **You build** a calculus of differentials, a table of fourteen derivatives, and the likeliest chain of pixels.
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
import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.colors import to_rgba
from scipy.optimize import minimize
from torch.distributions import MultivariateNormal

from nbutils.cases import seeds, vectors
from nbutils.checks import below, close, grade, holds, verify
from nbutils.data import photograph
from nbutils.figures import GREY, panels

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# Torch gives the gradient of any function of a matrix, in the shape of the matrix, and central differences give it entry by
# entry. We compare the formulas of this page with both.

# %%
def by_torch(f, X):  # the gradient, in the shape of X
    X = X.clone().requires_grad_()
    return torch.autograd.grad(f(X), X)[0]

def by_differences(f, X, h=1e-5):
    nudges = h * torch.eye(X.numel()).reshape(-1, *X.shape)
    slopes = [(f(X + H) - f(X - H)) / (2 * h) for H in nudges]
    return torch.stack(slopes).reshape(X.shape)

def normal(seed, *shape):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape))

def logdet(X):
    return torch.linalg.slogdet(X)[1]

# %% tags=["hide-input"]
def is_gradient(G, f, X):
    return (G.shape == X.shape and close(G, by_torch(f, X))
            and close(G, by_differences(f, X), atol=1e-7,  # 1e-16 |f| / h
                      rtol=0))

few = dict(seed=seeds(), tries=50)

# %% [markdown]
# ## The gradient of a norm, differentials and layouts
#
# A ship at $\mathbf{a}$ hangs on a line that is fastened at $\mathbf{b}$. How much longer must the line be when the ship
# drifts by $\mathbf{h}$? We can answer without any rule of differentiation. Multiply out:
#
# $$\|\mathbf{a} + \mathbf{h} - \mathbf{b}\|_2^2 = \|\mathbf{a} - \mathbf{b}\|_2^2 + 2(\mathbf{a} - \mathbf{b}) \cdot \mathbf{h} + \|\mathbf{h}\|_2^2 .$$
#
# The middle term is linear in $\mathbf{h}$, and the last is small even in comparison with $\mathbf{h}$. So the middle term
# *is* the derivative:
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
#
# The length has a gradient of length one everywhere, like the pull of a rope under constant force. The gradient of the
# square grows with the distance, like the pull of a spring.

# %%
a, b = torch.tensor([3., 4.]), torch.tensor([0., 0.])
print('length:', by_torch(lambda a: (a - b).norm(), a).numpy())
print('square:', by_torch(lambda a: (a - b) @ (a - b), a).numpy())
print('length, at a = b:', by_torch(lambda a: (a - b).norm(), b).numpy())

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
# At $\mathbf{a} = \mathbf{b}$ the square has gradient zero and the length has none: it rises with slope one in *every*
# direction, forwards and backwards, and no linear map does that. Torch answers 0 there, which is a convention.
#
# The same works for matrices. Lengths are Frobenius norms, and the dot product is the
# one of all entries,
#
# $$\langle \mathbf{G}, \mathbf{H} \rangle = \sum_{i,j} g_{ij} h_{ij} = \operatorname{tr}(\mathbf{G}^\top \mathbf{H}) .$$
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
# There is exactly one such matrix: put $\mathbf{H} = \mathbf{E}_{ij}$, the matrix with a single one, and its entry $(i, j)$
# must be $df[\mathbf{E}_{ij}] = \partial f/\partial x_{ij}$. One usually writes $d\mathbf{X}$ for $\mathbf{H}$.
#
# **Layout.** The linear map $df$ does not depend on any convention about rows and columns. When we write its numbers into a
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
# the input, as torch does, because we add them to points. For one output, the gradient is the transposed Jacobian. When a
# formula comes from elsewhere, look at its shape first, and if it is square, test it on a matrix that is *not* symmetric.
#
# ```{exercise} ★ A knot of ropes
# :label: deriv-knot
# Ropes run from a knot at `a` to the pegs `pegs[i]`, and rope $i$ is pulled with the weight `w[i]`. The energy is
# $f(\mathbf{a}) = \sum_i w_i \|\mathbf{a} - \mathbf{p}_i\|_2$. Write `knot_gradient(a, pegs, w)`.
# ```

# %%
def knot_gradient(a, pegs, w):  # (d,), (n, d), (n,) -> (d,)
    raise NotImplementedError('your turn')

# %%
def knot_by_torch(a, pegs, w):
    pegs, w = torch.tensor(pegs), torch.tensor(w)
    return by_torch(lambda a: w @ (a - pegs).norm(dim=1), torch.tensor(a))

rng = np.random.default_rng(0)
knots = [(rng.normal(size=d), rng.normal(size=(n, d)), rng.uniform(1, 3, n))
         for n, d in ((1, 2), (3, 2), (5, 4))]
grade(knot_gradient, knot_by_torch, knots)

# %% [markdown]
# ```{solution-start} deriv-knot
# :class: dropdown
# ```
# By {eq}`la.deriv.norm` rope $i$ contributes $w_i$ times a unit vector. At rest the forces balance: this is how weights on
# strings find the point with the least weighted sum of distances, a median in the plane. The wrong answer takes the squared
# distances, whose sum is least at the mean.

# %% jupyter={"source_hidden": true}
def knot_solution(a, pegs, w):
    away = a - pegs
    return (w / np.linalg.norm(away, axis=1)) @ away

def springs(a, pegs, w):
    return 2 * w @ (a - pegs)

assert grade(knot_solution, knot_by_torch, knots)
assert not grade(springs, knot_by_torch, knots)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
far = vectors(4).filter(lambda v: np.linalg.norm(v) > 1)

def squared(a, b, sign):
    a, b = torch.tensor(a), torch.tensor(b)
    return is_gradient(sign * 2 * (a - b), lambda t: (t - b) @ (t - b), a)

def distance(b, away, power):
    b, away = torch.tensor(b), torch.tensor(away)
    G = away / away.norm() ** power
    return is_gradient(G, lambda t: (t - b).norm(), b + away)

holds(
    'la.deriv.norm-squared',
    lambda a, b: squared(a, b, 1),
    slip=('differentiates with respect to b', lambda a, b: squared(a, b, -1)),
    a=vectors(4),
    b=vectors(4),
)
holds(
    'la.deriv.norm',
    lambda b, away: distance(b, away, 1),
    slip=(
        'forgets to divide by the length',
        lambda b, away: distance(b, away, 0),
    ),
    b=vectors(4),
    away=far,
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
# ## Differentials and the trace trick
#
# We could compute partial derivatives entry by entry and then try to recognize a matrix in the result. Differentials let us
# work with whole matrices.
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
# The order of the factors must be kept, because matrices do not commute, nor do they with $d\mathbf{X}$. So do not write
# $d(\mathbf{X}^2) = 2\mathbf{X}\,d\mathbf{X}$ or $d(\mathbf{X}^{-1}) = -\mathbf{X}^{-2}\,d\mathbf{X}$, as for numbers.

# %%
inv = torch.linalg.inv
X, H = torch.tensor([[2., 1.], [0., 1.]]), torch.tensor([[0., 1.], [1., 0.]])
_, slope = torch.func.jvp(inv, (X,), (H,))  # torch's own differential
print(slope.numpy(), 'd(X⁻¹)')
print((-inv(X) @ H @ inv(X)).numpy(), '-X⁻¹ dX X⁻¹')

# %% [markdown]
# If the value of the function is a number, we still have to read the gradient off. Two rules suffice. Under a trace, factors
# may move from the front to the end,
# $\operatorname{tr}(\mathbf{A}\mathbf{B}) = \sum_{i,j} a_{ij} b_{ji} = \operatorname{tr}(\mathbf{B}\mathbf{A})$, hence also
# $\operatorname{tr}(\mathbf{A}\mathbf{B}\mathbf{C}) = \operatorname{tr}(\mathbf{B}\mathbf{C}\mathbf{A})$, and a
# transpose does not change it: $\operatorname{tr}\mathbf{A} = \operatorname{tr}\mathbf{A}^\top$. So every term can be turned
# until $d\mathbf{X}$ stands at its end, and
#
# ```{math}
# :label: deriv-identify
# df = \operatorname{tr}(\mathbf{B}\, d\mathbf{X}) \text{ for all } d\mathbf{X} \quad\Longleftrightarrow\quad \nabla f =
# \mathbf{B}^\top ,
# ```
#
# which is {prf:ref}`def-differential` with $\mathbf{G} = \mathbf{B}^\top$. A number is its own trace, so this *trace trick*
# applies to everything. For entrywise factors there is the companion
# $\langle \mathbf{A}, \mathbf{B} \odot \mathbf{C} \rangle = \langle \mathbf{A} \odot \mathbf{B}, \mathbf{C} \rangle$. Four
# examples, a line each:
#
# - $d(\mathbf{x}^\top\mathbf{A}\mathbf{x}) = d\mathbf{x}^\top\mathbf{A}\mathbf{x} + \mathbf{x}^\top\mathbf{A}\,d\mathbf{x} =
#   \mathbf{x}^\top(\mathbf{A}^\top + \mathbf{A})\,d\mathbf{x}$, as a number may be transposed. Hence $\nabla = (\mathbf{A} +
#   \mathbf{A}^\top)\mathbf{x}$, and $2\mathbf{A}\mathbf{x}$ for symmetric $\mathbf{A}$ only.
# - $d\,\|\mathbf{R}\|_F^2 = d\operatorname{tr}(\mathbf{R}^\top\mathbf{R}) = 2\operatorname{tr}(\mathbf{R}^\top
#   d\mathbf{R})$. With $\mathbf{R} = \mathbf{A}\mathbf{X}\mathbf{B} - \mathbf{C}$ and $d\mathbf{R} =
#   \mathbf{A}\,d\mathbf{X}\,\mathbf{B}$ this is $2 \operatorname{tr}(\mathbf{B}\mathbf{R}^\top\mathbf{A}\,d\mathbf{X})$: the
#   gradient is $2\mathbf{A}^\top\mathbf{R}\,\mathbf{B}^\top$.
# - $d(\mathbf{a}^\top\mathbf{X}^{-1}\mathbf{b}) = -\mathbf{a}^\top\mathbf{X}^{-1} d\mathbf{X}\,\mathbf{X}^{-1}\mathbf{b} =
#   -\operatorname{tr}(\mathbf{X}^{-1}\mathbf{b}\,\mathbf{a}^\top\mathbf{X}^{-1} d\mathbf{X})$.
# - $d \log \sum_i e^{x_i} = \sum_i e^{x_i} dx_i \big/ \sum_j e^{x_j} = \operatorname{softmax}(\mathbf{x}) \cdot
#   d\mathbf{x}$.
#
# The last row of the table is a layer of a network. With $\mathbf{T} = \tanh(\mathbf{X}\mathbf{W})$ and
# $\mathbf{R} = \mathbf{T}\mathbf{V} - \mathbf{Y}$ we have $d(\tfrac12 \|\mathbf{R}\|_F^2) = \langle \mathbf{R},
# d\mathbf{T}\,\mathbf{V} \rangle = \langle \mathbf{R}\mathbf{V}^\top, (1 - \mathbf{T}^{\odot 2}) \odot
# (\mathbf{X}\,d\mathbf{W}) \rangle$; move the factor over and then $\mathbf{X}$. Backpropagation is this calculation,
# from the output back to the input.
#
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
# For example, the last row in numbers:

# %%
X, W, V, Y = (normal(seed, *shape) for seed, shape in enumerate(
    [(5, 3), (3, 2), (2, 1), (5, 1)]))
T = torch.tanh(X @ W)  # (5, 2)
R = T @ V - Y  # (5, 1)
by_hand = X.T @ (R @ V.T * (1 - T**2))
layer_loss = lambda W: (torch.tanh(X @ W) @ V - Y).square().sum() / 2
print(by_hand.numpy().round(3), 'by hand')
print(by_torch(layer_loss, W).numpy().round(3), 'by torch')

# %% [markdown]
# ```{exercise} ★★ The gradient of a linear autoencoder
# :label: deriv-autoencoder
# A linear autoencoder maps each row of $\mathbf{X} \sim (n, d)$ to $k < d$ numbers and back with the same
# weights $\mathbf{W} \sim (d, k)$: $f(\mathbf{W}) = \|\mathbf{X} - \mathbf{X}\mathbf{W}\mathbf{W}^\top\|_F^2$. Derive its
# gradient, and write `autoencoder_gradient(W, X)`.
# ```

# %%
def autoencoder_gradient(W, X):
    raise NotImplementedError('your turn')

# %%
def autoencoder_by_torch(W, X):
    W, X = torch.tensor(W), torch.tensor(X)
    return by_torch(lambda W: (X - X @ W @ W.T).square().sum(), W)

rng = np.random.default_rng(1)
copies = [(rng.normal(size=(d, k)), rng.normal(size=(n, d)))
          for n, d, k in ((4, 3, 1), (3, 5, 2), (6, 3, 2))]
grade(autoencoder_gradient, autoencoder_by_torch, copies)

# %% [markdown]
# ```{solution-start} deriv-autoencoder
# :class: dropdown
# ```
# With $\mathbf{R} = \mathbf{X} - \mathbf{X}\mathbf{W}\mathbf{W}^\top$, $df = -2
# \operatorname{tr}\big(\mathbf{R}^\top\mathbf{X}\,(d\mathbf{W}\, \mathbf{W}^\top + \mathbf{W}\,d\mathbf{W}^\top)\big)$. Turn
# the first term to $\operatorname{tr}(\mathbf{W}^\top\mathbf{R}^\top\mathbf{X} \,d\mathbf{W})$; transpose the second to
# $\operatorname{tr}(d\mathbf{W}\,\mathbf{W}^\top\mathbf{X}^\top\mathbf{R})$ and turn it. So
# $\nabla f = -2(\mathbf{X}^\top\mathbf{R} + \mathbf{R}^\top\mathbf{X})\mathbf{W}$. The wrong answer differentiates one of
# the two $\mathbf{W}$ and doubles it, which would be right if $\mathbf{X}^\top\mathbf{R}$ were symmetric. It is not, though
# $\mathbf{X}^\top\mathbf{X}$ is.

# %% jupyter={"source_hidden": true}
def autoencoder_solution(W, X):
    K = X.T @ (X - X @ W @ W.T)  # (d, d)
    return -2 * (K + K.T) @ W

def one_of_two(W, X):
    return -4 * X.T @ (X - X @ W @ W.T) @ W

assert grade(autoencoder_solution, autoencoder_by_torch, copies)
assert not grade(one_of_two, autoencoder_by_torch, copies)

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
def judged(f, shape, gradient, seed):
    X = normal(seed, *shape)
    if shape == (3, 3):  # far from singular, for the inverses
        X += 4 * torch.eye(3)
    return is_gradient(gradient(X), f, X)

for name, (f, shape, gradient, words, wrong) in rules.items():
    verify(f'∇ {name}', lambda seed: judged(f, shape, gradient, seed),
           slip=(words, lambda seed: judged(f, shape, wrong, seed)),
           seed=seeds(), tries=25)

# %% [markdown]
# ## Determinants, singular values, symmetric matrices
#
# A small map $\mathbf{I} + \mathbf{H}$ changes volumes by a factor close to one. How close? In the sum over permutations
# that defines the [determinant](../linear_algebra/determinants.ipynb), the identical one gives
# $\prod_i (1 + h_{ii}) = 1 + \operatorname{tr}\mathbf{H} + \dots$, and any other moves at least two indices, so its term has
# at least two factors from off the diagonal, where there is only $\mathbf{H}$. Therefore
# $\det(\mathbf{I} + \mathbf{H}) = 1 + \operatorname{tr}\mathbf{H} + O(\|\mathbf{H}\|^2)$: *to first order, only the trace
# counts*. With $\det(\mathbf{X} + d\mathbf{X}) = \det\mathbf{X}\, \det(\mathbf{I} + \mathbf{X}^{-1}d\mathbf{X})$ this is
# Jacobi's formula
#
# ```{math}
# :label: deriv-jacobi
# d \det\mathbf{X} = \det\mathbf{X}\, \operatorname{tr}(\mathbf{X}^{-1} d\mathbf{X}), \qquad \text{hence} \qquad
# \nabla_{\mathbf{X}} \log|\det\mathbf{X}| = \mathbf{X}^{-\top} .
# ```
#
# This formula needs an inverse, but a derivative exists for every matrix. The determinant is linear in column $j$, so
# $\det\mathbf{X} = \sum_i x_{ij} c_{ij}$, where the *cofactor* $c_{ij}$ is the determinant with $\mathbf{e}_i$ in place of
# that column. As it does not contain the column, $\partial \det\mathbf{X}/\partial x_{ij} = c_{ij}$, for *every* square
# matrix: the gradient of the determinant is the matrix $\mathbf{C}$ of cofactors. (Where there is an inverse,
# {eq}`deriv-jacobi` says $\mathbf{C} = \det\mathbf{X}\,\mathbf{X}^{-\top}$, which is Cramer's rule.)

# %%
def cofactors(X):
    n = len(X)
    C = torch.empty(n, n)
    for i, j in np.ndindex(n, n):
        rows, columns = np.delete(range(n), i), np.delete(range(n), j)
        C[i, j] = (-1)**(i + j) * torch.linalg.det(X[rows][:, columns])
    return C

# %% [markdown]
# At some singular matrices torch is wrong. It multiplies the determinant, zero, by a kind of inverse:

# %%
flat = torch.tensor([[1., 0., 0.], [0., 0., 0.], [0., 0., 2.]])
det = torch.linalg.det
verdicts = {'cofactors': cofactors(flat), 'torch': by_torch(det, flat),
            'differences': by_differences(det, flat)}
for name, G in verdicts.items():
    print(f'{name:12} slope by the entry (2, 2): {G[1, 1]:.2f}')

# %% [markdown]
# **The largest singular value** has no simple formula to differentiate, but it is a maximum:
# $\sigma_1(\mathbf{X}) = \max \mathbf{u}^\top\mathbf{X}\mathbf{v}$ over unit vectors.
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
# proof breaks and so does the derivative: $\operatorname{diag}(1 + t, 1 - t)$ has $\sigma_1 = 1 + |t|$.
#
# **The gradient when $\mathbf{X}$ is symmetric.** Covariances and kernels are, and then the changes are symmetric as well.
# With a symmetric $d\mathbf{X}$,
# $\langle \mathbf{G}, d\mathbf{X} \rangle = \langle \tfrac12 (\mathbf{G} + \mathbf{G}^\top), d\mathbf{X} \rangle$, so the
# differential determines only this symmetric part, and *that* is the gradient among symmetric matrices: take the gradient as
# if all entries were free, and symmetrize. Many tables list something else. They count the entries with $i \le j$ as the
# variables. Then $x_{12}$ stands in two places, $d\mathbf{X} = \mathbf{E}_{12} + \mathbf{E}_{21}$, and
#
# ```{math}
# :label: deriv-symmetric
# \frac{\partial f}{\partial x_{ij}} = \begin{cases} g_{ij} + g_{ji} & i < j \\ g_{ii} & i = j \end{cases} \qquad (i \le j) ,
# ```
#
# for $\log\det\mathbf{X}$ the matrix $2\mathbf{X}^{-1} - \operatorname{diag}(\mathbf{X}^{-1})$. Both are right. One lists
# partial derivatives by *coordinates*, for a program whose parameters are these entries; the other is the direction of
# steepest ascent. They vanish together, but descent along the first one changes the entries beside the diagonal twice
# as fast as those on the diagonal.

# %%
def sigmas(t, twist):  # both singular values along a line
    X = torch.diag(torch.tensor([1 + t, 1 - t]))
    return torch.linalg.svdvals(X + twist * torch.tensor([[0., 1], [0.6, 0]]))

line = np.linspace(-0.5, 0.5, 201)
apart = np.array([sigmas(t, 0.12).tolist() for t in line])  # (201, 2)
kinked = np.array([sigmas(t, 0.0).tolist() for t in line])
closest = (apart[:, 0] - apart[:, 1]).min()
print(f'with the twist the two keep a distance of {closest:.3f}')

start, goal = np.array([[3.0, 1.8], [1.8, 1.0]]), np.eye(2)
walks = {'gradient': [start], 'entries': [start]}  # |S - goal|² / 2
for _ in range(30):
    for name, walk in walks.items():
        G = walk[-1] - goal
        step = G if name == 'gradient' else 2 * G - np.diag(G.diagonal())
        walk.append(walk[-1] - 0.1 * step)
walks = {name: np.array(walk)[:, 0] for name, walk in walks.items()}

# %% mystnb={"image": {"alt": "Left: two singular values along a line of matrices; dashed they cross and the larger has a kink, solid they avoid each other in smooth curves. Right: circles of equal Frobenius distance around the goal; the gradient walks straight to the centre, the partial derivatives by distinct entries take a bent way."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
for k, color in ((0, 'C0'), (1, 'C1')):
    left.plot(line, kinked[:, k], '--', color=color, lw=1.2)
    left.plot(line, apart[:, k], color=color)
left.text(-0.47, 1.22, 'σ₁', color='C0')
left.text(-0.47, 0.7, 'σ₂', color='C1')
left.set(xlabel='t', title='No derivative where they cross')
q = np.stack(np.meshgrid(np.linspace(0.5, 3.4, 100),
                         np.linspace(-0.5, 3, 100)))
right.contour(*q, np.hypot(q[0] - 1, q[1]), levels=8, colors=GREY,
              linewidths=0.6, alpha=0.6)
for name, color in (('entries', 'C1'), ('gradient', 'C0')):
    right.plot(walks[name][:, 0], np.sqrt(2) * walks[name][:, 1], 'o-',
               ms=3, lw=1, color=color)
right.text(2.0, 1.75, 'gradient', color='C0', ha='right')
right.text(2.2, 0.35, 'by entries', color='C1')
right.set(xlabel='$x_{11}$', ylabel=r'$\sqrt{2}\, x_{12}$', aspect='equal',
          title='Down to the identity');

# %% [markdown] tags=["caption"]
# Left: the larger singular value has a kink where the two cross, and none where they keep apart. Right: the gradient leads
# straight to the goal, the partial derivatives by distinct entries do not.

# %% [markdown]
# ```{exercise} ★★ Volume of a box: the gradient of log det XᵀX
# :label: deriv-gram
# The columns of a tall $\mathbf{X} \sim (m, n)$ span a box of volume $\sqrt{\det(\mathbf{X}^\top\mathbf{X})}$. Find the
# gradient of $\log\det(\mathbf{X}^\top\mathbf{X})$ and write `gram_gradient(X)`. What is it for square $\mathbf{X}$?
# ```

# %%
def gram_gradient(X):
    raise NotImplementedError('your turn')

# %%
def gram_by_torch(X):
    return by_torch(lambda X: logdet(X.T @ X), torch.tensor(X))

rng = np.random.default_rng(2)
boxes = [(rng.normal(size=shape),) for shape in ((2, 1), (5, 3), (4, 4))]
grade(gram_gradient, gram_by_torch, boxes)

# %% [markdown]
# ```{solution-start} deriv-gram
# :class: dropdown
# ```
# $\operatorname{tr}\big((\mathbf{X}^\top\mathbf{X})^{-1}(d\mathbf{X}^\top\mathbf{X} + \mathbf{X}^\top d\mathbf{X})\big)$ has
# two equal terms, for the inverse is symmetric. So $\nabla = 2\mathbf{X}(\mathbf{X}^\top\mathbf{X})^{-1}$, twice the
# transposed pseudoinverse, and $2\mathbf{X}^{-\top}$ for square $\mathbf{X}$, as it must be. The wrong answer forgets one of
# the two terms.

# %% jupyter={"source_hidden": true}
def gram_solution(X):
    return 2 * np.linalg.pinv(X).T

def one_term(X):
    return X @ np.linalg.inv(X.T @ X)

assert grade(gram_solution, gram_by_torch, boxes)
assert not grade(one_term, gram_by_torch, boxes)

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
    return by_torch(lambda s: f(s[where]), entries)[where]

def doubled(seed, diagonal):
    X = normal(seed, 3, 3)
    S = X @ X.T + torch.eye(3)
    f = lambda X: logdet(X) + (X @ X @ normal(9, 3, 3)).trace()
    G = by_torch(f, S)
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

# %% [markdown]
# ## Hessians and the second differential
#
# Differentiate $df$ once more, with the same constant $d\mathbf{X}$, and call it $d^2 f$. Taylor's formula along the line
# $\mathbf{X} + t\, d\mathbf{X}$ reads
#
# ```{math}
# :label: deriv-taylor
# f(\mathbf{X} + d\mathbf{X}) = f(\mathbf{X}) + df + \tfrac12\, d^2 f + o(\|d\mathbf{X}\|_F^2) .
# ```
#
# For a vector $\mathbf{x}$ the *Hessian* is the symmetric matrix with $d^2 f = d\mathbf{x}^\top \mathbf{H}\, d\mathbf{x}$.
# Of a *quadratic form*, $d(\mathbf{x}^\top\mathbf{A}\mathbf{x}) = d\mathbf{x}^\top\mathbf{A}\mathbf{x} +
# \mathbf{x}^\top\mathbf{A}\, d\mathbf{x}$, so $d^2 f = 2\, d\mathbf{x}^\top\mathbf{A}\,d\mathbf{x}$. Is
# $\mathbf{H} = 2\mathbf{A}$? Only if that is symmetric. The form sees the symmetric part of $\mathbf{A}$ alone, and
#
# ```{math}
# :label: deriv-quadratic
# \mathbf{H} = \mathbf{A} + \mathbf{A}^\top, \qquad (\mathbf{x} + \mathbf{h})^\top\mathbf{A}(\mathbf{x} + \mathbf{h}) = \mathbf{x}^\top\mathbf{A}\mathbf{x} +
# \nabla f(\mathbf{x}) \cdot \mathbf{h} + \mathbf{h}^\top\mathbf{A}\mathbf{h} .
# ```
#
# The error of the tangent plane is exactly $\mathbf{h}^\top\mathbf{A}\mathbf{h}$, at whatever point it touches. If
# $\mathbf{h}^\top\mathbf{A}\mathbf{h} > 0$ for all $\mathbf{h} \ne \mathbf{0}$, the plane stays below the bowl. If the form
# takes both signs, it cuts through the surface.

# %% mystnb={"image": {"alt": "Two surfaces with a tangent plane at the same place. Left, a bowl that lies above its plane and touches it in one point. Right, a saddle that the plane cuts along two lines through the point of contact."}} tags=["hide-input"]
fig, axes = plt.subplots(1, 2, figsize=(6, 2.6),
                         subplot_kw=dict(projection='3d'))
p = np.stack(np.meshgrid(*2 * [np.linspace(-1, 1, 61)]))  # (2, 61, 61)
x = np.array([0.25, -0.2])
h = p - x[:, None, None]
paint = np.repeat([to_rgba('C0'), to_rgba('C1')], 61, axis=0)
paint[60, 3] = 0  # no wall between the two sheets
for ax, A, title in ((axes[0], [[1, 0.8], [-0.2, 0.7]], 'bowl'),
                     (axes[1], [[1, 0.8], [-0.2, -0.9]], 'saddle')):
    A = np.array(A)
    form = np.einsum('iab,ij,jab->ab', p, A, p)
    plane = x @ A @ x + np.tensordot((A + A.T) @ x, h, 1)
    ax.plot_surface(*np.dstack([p, p]), np.hstack([form, plane]),
                    facecolors=np.tile(paint, (61, 1, 1)), lw=0,
                    rcount=61, ccount=122, antialiased=False,
                    rasterized=True)
    ax.view_init(19, -50)
    ax.set_axis_off()
    ax.set_title(title, y=0.9)
    ax.set_box_aspect((1, 1, 0.8), zoom=1.25);

# %% [markdown] tags=["caption"]
# A quadratic form misses its tangent plane by $\mathbf{h}^\top\mathbf{A}\mathbf{h}$: if that is positive for all $\mathbf{h}
# \ne \mathbf{0}$, the plane stays below the surface; if it takes both signs, the plane cuts through.

# %% [markdown]
# Two more Hessians, each from one line. For $f = \log \sum_i e^{x_i}$ with
# $\mathbf{p} = \operatorname{softmax}(\mathbf{x})$, $d^2 f = \sum_i p_i\, dx_i^2 - (\mathbf{p} \cdot d\mathbf{x})^2$ by the
# quotient rule, so $\mathbf{H} = \operatorname{diag}(\mathbf{p}) - \mathbf{p}\mathbf{p}^\top$; it is also the Jacobian of
# the softmax, which is the gradient of $f$. And {eq}`deriv-inverse` differentiates Jacobi's formula:
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
# They form a convex set, so it is enough to look at $d^2 f$ along lines. Let $\mathbf{X} = \mathbf{L}\mathbf{L}^\top$ and
# $\mathbf{M} = \mathbf{L}^{-1} d\mathbf{X}\, \mathbf{L}^{-\top}$, which is symmetric if $d\mathbf{X}$ is. With the trace
# going round, $d^2 f = -\operatorname{tr}(\mathbf{M}\mathbf{M}) = -\|\mathbf{M}\|_F^2$, and this is negative unless
# $d\mathbf{X} = \mathbf{0}$.
# ```
#
# **A matrix as variable.** Then the Hessian has four indices, and we stack the columns into a vector,
# $\operatorname{vec}\mathbf{X}$. Column $j$ of $\mathbf{A}\mathbf{X}\mathbf{B}$ is $\sum_k b_{kj} \mathbf{A}\mathbf{x}_k$,
# that is, block $(j, k)$ of a large matrix is $b_{kj}\mathbf{A}$:
#
# ```{math}
# :label: deriv-vec
# \operatorname{vec}(\mathbf{A}\mathbf{X}\mathbf{B}) = (\mathbf{B}^\top \otimes \mathbf{A}) \operatorname{vec}\mathbf{X} .
# ```
#
# For $f = \|\mathbf{A}\mathbf{X}\mathbf{B} - \mathbf{C}\|_F^2$ we have
# $d^2 f = 2\,\|\mathbf{A}\,d\mathbf{X}\,\mathbf{B}\|_F^2$, so the Hessian is $2\, (\mathbf{B}^\top \otimes
# \mathbf{A})^\top(\mathbf{B}^\top \otimes \mathbf{A}) = 2\, \mathbf{B}\mathbf{B}^\top \otimes \mathbf{A}^\top\mathbf{A}$.
# Torch and numpy store rows one after the other; in their order, the two factors of {eq}`deriv-vec` change places.

# %%
A, B, C = normal(1, 5, 4), normal(2, 3, 2), normal(3, 5, 2)
misfit = lambda v: (A @ v.reshape(4, 3) @ B - C).square().sum()
hessian = torch.func.hessian(misfit)(torch.zeros(12))
rows = 2 * torch.kron(A.T @ A, B @ B.T)  # rows stacked
print('Hessian of shape', *hessian.shape, 'off the Kronecker product by',
      below(hessian - rows, 1e-12))

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
# ## Where it matters: the maximum likelihood covariance of a chain of pixels
#
# What covariance explains $n$ observations $\mathbf{x}_i \in \mathbb{R}^d$ best, if they are Gaussian? In terms of the
# *precision* $\mathbf{P} = \boldsymbol\Sigma^{-1}$ the log-likelihood, with the mean at its best value, the sample mean, is
#
# ```{math}
# :label: deriv-likelihood
# \ell(\mathbf{P}) = \frac n2 \big( \log\det\mathbf{P} - \operatorname{tr}(\mathbf{P}\mathbf{S}) - d \log 2\pi \big)
# ```
#
# with $\mathbf{S} = \frac1n \sum_i (\mathbf{x}_i - \bar{\mathbf{x}})(\mathbf{x}_i - \bar{\mathbf{x}})^\top$, because by the
# trace trick $\sum_i (\mathbf{x}_i - \bar{\mathbf{x}})^\top\mathbf{P}(\mathbf{x}_i - \bar{\mathbf{x}}) = n
# \operatorname{tr}(\mathbf{P}\mathbf{S})$. Hence
# $d\ell = \frac n2 \operatorname{tr}\big((\mathbf{P}^{-1} - \mathbf{S})\,d\mathbf{P}\big)$, and it vanishes for all
# symmetric $d\mathbf{P}$ only if $\boldsymbol\Sigma = \mathbf{P}^{-1} = \mathbf{S}$: divide by $n$, not by $n - 1$. By
# {prf:ref}`thm-logdet` $\ell$ is strictly concave, so this is the one maximum, if $\mathbf{S}$ is invertible. If $n \le d$
# it is not, and $\ell$ has no bound, because the points lie in a plane of lower dimension, where a density can be
# arbitrarily high.
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
# So one matrix agrees with the data where its inverse is free, and the inverse is zero where it is not
# {cite}`dempster1972covariance`. For a *chain*, with edges between neighbours only, there is a closed form. If each variable
# depends only on the one before it, the density is
# $p(x_1) \prod_k p(x_{k+1} \mid x_k) = \prod_k p(x_k, x_{k+1}) \big/ \prod_{1 < k < d} p(x_k)$, whose pairs of neighbours
# have the prescribed covariances. Its logarithm contains no product of other pairs. So both conditions of {eq}`deriv-edges`
# are met by
#
# ```{math}
# :label: deriv-chain
# \mathbf{P} = \sum_{k=1}^{d-1} \big[ (\mathbf{S}_{k,k+1})^{-1} \big] - \sum_{k=2}^{d-1} \big[ 1/s_{kk} \big]
# ```
#
# where $\mathbf{S}_{k,k+1}$ is the $2 \times 2$ block of two neighbours and the brackets put a matrix back into its place
# among zeros.

# %%
def chain(S):  # (d, d) -> the precision of the likeliest chain
    P = np.zeros_like(S)
    for k in range(len(S) - 1):
        P[k:k + 2, k:k + 2] += np.linalg.inv(S[k:k + 2, k:k + 2])
    middle = np.arange(1, len(S) - 1)
    P[middle, middle] -= 1 / S[middle, middle]
    return P

S = np.array([[2., 1., 0.9], [1., 2., 1.], [0.9, 1., 2.]])
print(chain(S).round(3), 'precision')
print(np.linalg.inv(chain(S)).round(3), 'covariance')

# %% [markdown]
# In this small example the covariance 0.9 of the first and the third variable is not on an edge, so the chain replaces it by
# 0.5. All other entries agree with $\mathbf{S}$, and the precision is zero in the corner.
#
# Let us try this on strips of twelve neighbouring pixels, cut at random from the left half of a photograph. Three Gaussians
# are fitted to $n$ of them: one with independent pixels, one with a chain, one with the full $\mathbf{S}$. All three are the
# likeliest of their kind. Which one gives strips from the right half, never seen, the highest density? (In nats per pixel,
# for grey values between 0 and 1. Ten repetitions.)

# %%
grey = photograph('china').mean(2)  # (427, 640)

def strips(rng, n, left, d=12):
    row, column = rng.integers(427, size=n), rng.integers(320 - d, size=n)
    column = column + (0 if left else 320)
    return grey[row[:, None], column[:, None] + np.arange(d)]  # (n, d)

def score(P, mean, x):  # log-likelihood per pixel
    z = x - mean
    log_det = np.linalg.slogdet(P)[1]
    spread = np.einsum('ni,ij,nj->n', z, P, z).mean()
    return (log_det - spread - len(P) * np.log(2 * np.pi)) / (2 * len(P))

models = {'independent': lambda S: np.diag(1 / S.diagonal()),
          'chain': chain, 'full': np.linalg.inv}

def trial(n, seed):
    rng = np.random.default_rng(seed)
    x, new = strips(rng, n, left=True), strips(rng, 2000, left=False)
    S = np.cov(x, rowvar=False, bias=True)
    return [score(model(S), x.mean(0), new) if n > 12 or name != 'full'
            else np.nan for name, model in models.items()]

# %%
sizes = np.array([10, 14, 20, 30, 50, 100, 200, 500, 1000])
scores = np.array([[trial(n, seed) for seed in range(10)]
                   for n in sizes])  # (9, 10, 3)
for n in (20, 50, 1000):
    mean = scores[sizes == n][0].mean(0)
    row = (f'{k} {v:.2f}' for k, v in zip(models, mean, strict=True))
    print(f'n = {n:4}:', ', '.join(row))
chain_wins = (scores[..., 1] > scores[..., 2]).all(1)
full_wins = (scores[..., 1] < scores[..., 2]).all(1)
print('the chain wins all ten times at n =', *sizes[chain_wins])
print('the full covariance at n =', *sizes[full_wins])

many = strips(np.random.default_rng(0), 20000, left=True)
P = np.linalg.inv(np.cov(many, rowvar=False, bias=True))
scale = np.sqrt(P.diagonal())
partial = abs(P) / np.outer(scale, scale)  # partial correlations
beside, beyond = partial.diagonal(1).min(), np.triu(partial, 3).max()
print(f'neighbours at least {beside:.2f}; three or more apart'
      f' at most {beyond:.2f}')

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
# if the variance is small in every direction in which the sample happens to vary little. The chain needs fewer strips,
# because it has 23 parameters and not 78. With many strips the full model wins, because the chain is not quite true: given
# all others, a pixel still depends on those two and three places away.
#
# ```{exercise} ★★★ The covariances that a chain implies
# :label: deriv-chain-rest
# The chain takes the variances and the covariances of neighbours from the data. Which values do all the others have? Find
# $\Sigma_{13}$ for three variables from {eq}`deriv-chain` or from $p_{13} = 0$, guess the rule for $\Sigma_{ij}$, and write
# `completed(S)`, the full matrix, without inverting anything. Then explain how the correlation decreases along the
# chain, and compare it with a picture.
# ```

# %%
def completed(S):  # (d, d), only the three middle diagonals count
    raise NotImplementedError('your turn')

# %%
def cloud(seed, d=5, n=30):
    rng = np.random.default_rng(seed)
    return np.cov(rng.normal(size=(n, d)) @ rng.normal(size=(d, d)),
                  rowvar=False, bias=True)

def by_inversion(S):
    return np.linalg.inv(chain(S))

covariances = [(cloud(seed, d),) for seed, d in ((1, 2), (2, 3), (3, 7))]
grade(completed, by_inversion, covariances)

# %% [markdown]
# ```{solution-start} deriv-chain-rest
# :class: dropdown
# ```
# $p_{13} = 0$ says that the cofactor $\Sigma_{12}\Sigma_{23} - \Sigma_{13}\Sigma_{22}$ vanishes:
# $\Sigma_{13} = \Sigma_{12}\Sigma_{23}/\Sigma_{22}$. In correlations $\rho_{13} = \rho_{12}\,\rho_{23}$, and so on down the
# chain: $\rho_{ij}$ is the product of the correlations on the way, and with equal ones it dies out geometrically. In the
# photograph it dies out far more slowly, since large surfaces join distant pixels. The wrong answer multiplies covariances.

# %% jupyter={"source_hidden": true}
def completed_solution(S):
    scale = np.sqrt(S.diagonal())
    links = np.diag(S, 1) / (scale[:-1] * scale[1:])  # (d - 1,)
    d = len(S)
    rho = np.eye(d)
    for i in range(d):
        rho[i, i + 1:] = rho[i + 1:, i] = np.cumprod(links[i:])
    return rho * np.outer(scale, scale)

def covariances_multiplied(S):
    full = np.diag(S.diagonal())
    for i in range(len(S)):
        full[i, i + 1:] = full[i + 1:, i] = np.cumprod(np.diag(S, 1)[i:])
    return full

assert grade(completed_solution, by_inversion, covariances)
assert not grade(covariances_multiplied, by_inversion, covariances)
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
    slope = by_torch(lambda V: MultivariateNormal(
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
# {cite}`srinivasan2023gradient` sort out the two gradients by a symmetric matrix, and {cite}`boyd2004convex` show what
# concavity of $\log\det$ is good for.
