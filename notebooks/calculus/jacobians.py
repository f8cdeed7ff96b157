# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Jacobians and linearization
#
# - **Question.** A function takes several numbers to several numbers. Which matrix approximates it near a point, how large
#   is the error of the approximation, and how far from the point is it of use?
# - **You need** the gradient and what *differentiable* means from [Gradients](gradients.ipynb), and
#   [Matrix multiplication](../linear_algebra/matrix_multiplication.ipynb).
# - **You build** Jacobians column by column and row by row, products with a Jacobian that is never formed, a measurement
#   of the order of an error, and the small change that makes a network misread a digit.
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
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
import torch
from scipy.optimize import root
from sklearn.neural_network import MLPClassifier

from nbutils.cases import integers, scalars, seeds, vectors
from nbutils.checks import close, erratum, grade, holds
from nbutils.data import digits
from nbutils.figures import GREY, panels, show_image
from nbutils.timing import seconds

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## The Jacobian matrix: a row for each output, a column for each input
#
# A mixing desk has $d$ sliders and $c$ meters. If you push one slider a little, all the needles move, and each needle
# depends on all the sliders. We collect these effects in a table with one *row for each needle* and one *column for each
# slider*. For $\mathbf{y} = f(\mathbf{x})$ with $\mathbf{x} \in \mathbb{R}^d$ and $\mathbf{y} \in \mathbb{R}^c$ this table
# is the *Jacobian*
#
# ```{math}
# :label: aw.jacobians.matrix
# \begin{gathered}
# \partial f(\mathbf{x}) = \begin{bmatrix} \frac{\partial y_1}{\partial x_1} & \cdots & \frac{\partial y_1}{\partial x_d} \\
# \vdots & & \vdots \\ \frac{\partial y_c}{\partial x_1} & \cdots & \frac{\partial y_c}{\partial x_d} \end{bmatrix}, \\
# [\partial f(\mathbf{x})]_{ij} = \frac{\partial y_i}{\partial x_j}, \qquad \partial f(\mathbf{x}) \sim (c, d) .
# \end{gathered}
# ```
#
# Why this way round and not the other? Because it has to be multiplied by a nudge. If the inputs move by $\mathbf{h}
# \in \mathbb{R}^d$, the outputs move by about $\partial f(\mathbf{x})\, \mathbf{h}$, and the product exists only if the
# columns belong to the inputs. Nudging one input after the other builds the matrix by columns:

# %%
def jacobian(f, x, h=1e-5):  # (d,) -> (c, d)
    columns = [(f(x + h * e) - f(x - h * e)) / (2 * h)
               for e in torch.eye(len(x))]
    return torch.stack(columns, 1)

def f(x):  # (2,) -> (3,)
    return torch.stack([x[0] * x[1], x[0].sin(), x[0] + x[1] ** 2])

x = torch.tensor([1., 2.])
print(jacobian(f, x).numpy().round(3), 'by differences')
print(torch.func.jacfwd(f)(x).numpy().round(3), 'column by column')
print(torch.func.jacrev(f)(x).numpy().round(3), 'row by row')

# %% [markdown]
# For example, $y_2 = \sin x_1$ has the derivative $\cos x_1$ with respect to $x_1$ and does not depend on $x_2$.
#
# Now read the table in both directions. *Along row $i$* the output is fixed and the inputs change: these are all
# partial derivatives of the one function $y_i$, which is its gradient written as a row. *Down column $j$* the input is
# fixed: this is how all outputs respond to it.
#
# ```{math}
# :label: aw.jacobians.columns
# [\partial f(\mathbf{x})]_{i,:} = \nabla y_i(\mathbf{x})^\top \sim (d),
# ```
#
# ```{math}
# :label: aw.jacobians.rows
# [\partial f(\mathbf{x})]_{:,j} = \frac{\partial \mathbf{y}}{\partial x_j}
# = \lim_{h \to 0} \frac{f(\mathbf{x} + h\,\mathbf{e}_j) - f(\mathbf{x})}{h} \sim (c) .
# ```
#
# :::{admonition} A tempting mistake
# :class: warning
# Gradients are columns elsewhere, so it is easy to take each *column* of the Jacobian for the gradient of an output. Some
# books do arrange derivatives that way, with a row for each input. In our example the columns have 3 entries, but each
# output has 2 inputs, so its gradient has 2 entries and must be a row. For $c = d$ the shapes do not reveal the mistake.
# :::
#
# **One output.** For $c = 1$ one row is left. It has the same entries as the gradient, but the gradient is a column, like
# the points to which we add it, so there is a transpose:
#
# ```{math}
# :label: aw.jacobians.c-one
# \partial f(\mathbf{x}) = \nabla f(\mathbf{x})^\top \sim (1, d) .
# ```
#
# **One input as well.** For $c = d = 1$ the matrix has a single entry, the ordinary derivative:
#
# ```{math}
# :label: aw.jacobians.c-d-one
# \partial f(x) = \big[\, f'(x)\, \big] .
# ```
#
# The transpose matters in code. If you subtract the row from a point that is stored as a column, broadcasting makes a square
# matrix, without any error message:

# %%
point, slopes = np.zeros((3, 1)), np.ones((1, 3))  # column, Jacobian
print('column minus row:', (point - slopes).shape)
print('column minus its transpose:', (point - slopes.T).shape)

# %% [markdown]
# ```{exercise} ★ One layer
# :label: jacobians-layer
# A layer computes $\mathbf{y} = \tanh(\mathbf{W}\mathbf{x})$, entry by entry, with $\mathbf{W} \sim (c, d)$. Write
# `layer_jacobian(W, x)` without differences and without torch. Recall $\tanh' = 1 - \tanh^2$.
# ```

# %%
def layer_jacobian(W, x):  # (c, d), (d,) -> (c, d)
    raise NotImplementedError('your turn')

# %%
def layer_by_torch(W, x):
    W, x = torch.tensor(W), torch.tensor(x)
    return torch.func.jacfwd(lambda x: torch.tanh(W @ x))(x)

rng = np.random.default_rng(0)
layers = [(rng.normal(size=(c, d)), rng.normal(size=d))
          for c, d in ((2, 2), (3, 3), (5, 2), (1, 4))]
grade(layer_jacobian, layer_by_torch, layers)

# %% [markdown]
# ```{solution-start} jacobians-layer
# :class: dropdown
# ```
# $y_i = \tanh(\sum_j W_{ij} x_j)$ gives $\partial y_i/\partial x_j = (1 - y_i^2)\, W_{ij}$. The factor belongs to the
# *output*, so it scales rows: $\partial f = \operatorname{diag}(1 - \mathbf{y} \odot \mathbf{y})\, \mathbf{W}$. The
# mistake scales columns; for square $\mathbf{W}$ nothing warns you.

# %% jupyter={"source_hidden": true}
def layer_solution(W, x):
    return (1 - np.tanh(W @ x) ** 2)[:, None] * W

def columns_scaled(W, x):
    return W * (1 - np.tanh(W @ x) ** 2)

assert grade(layer_solution, layer_by_torch, layers)
assert not grade(columns_scaled, layer_by_torch, layers)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def with_printed_entry(J):
    J = J.clone()
    J[1, 0] = 1
    return J

erratum(
    'aw.jacobians.matrix',
    printed=lambda x: close(
        with_printed_entry(torch.func.jacrev(f)(torch.tensor(x))),
        jacobian(f, torch.tensor(x)),
    ),
    corrected=lambda x: close(
        torch.func.jacrev(f)(torch.tensor(x)), jacobian(f, torch.tensor(x))
    ),
    x=vectors(2, -3, 3),
    tries=100,
)

def q(x):  # distance and angle -> east and north
    return x[0] * torch.stack([x[1].cos(), x[1].sin()])

def gradient_of_output(i, x):
    x = torch.tensor(x, requires_grad=True)
    return torch.autograd.grad(q(x)[i], x)[0]

def response_to_input(j, x, h=1e-5):
    x, e = torch.tensor(x), torch.eye(2)[j]
    return (q(x + h * e) - q(x - h * e)) / (2 * h)

J_q = lambda x: torch.func.jacfwd(q)(torch.tensor(x))
cases = dict(x=vectors(2, -3, 3), k=[0, 1])
erratum(
    'aw.jacobians.columns',
    printed=lambda x, k: close(J_q(x)[:, k], gradient_of_output(k, x)),
    corrected=lambda x, k: close(J_q(x)[k], gradient_of_output(k, x)),
    **cases,
)
erratum(
    'aw.jacobians.rows',
    printed=lambda x, k: close(J_q(x)[k], response_to_input(k, x)),
    corrected=lambda x, k: close(J_q(x)[:, k], response_to_input(k, x)),
    **cases,
)

# %% tags=["checks"]
def row_and_column(d, seed):
    x, j = np.random.default_rng(seed).normal(size=d), np.arange(1, d + 1)
    row = torch.func.jacrev(lambda t: (torch.tensor(j) * t).sin().sum()[None])(
        torch.tensor(x)
    )
    return row.numpy(), (j * np.cos(j * x))[:, None]  # (1, d), (d, 1)

def is_transposed(d, seed):
    row, column = row_and_column(d, seed)
    return row.shape == (1, d) and close(row, column.T)

def is_the_same(d, seed):
    row, column = row_and_column(d, seed)
    return row.shape == column.shape and close(row, column)

holds(
    'aw.jacobians.c-one',
    is_transposed,
    slip=('forgets the transpose', is_the_same),
    d=integers(1, 6),
    seed=seeds(),
)
X = sp.Symbol('x')
product_rule = sp.lambdify(X, sp.diff(X**2 * sp.sin(X), X))
careless = sp.lambdify(X, sp.diff(X**2, X) * sp.diff(sp.sin(X), X))
J_one = lambda x: torch.func.jacrev(lambda t: t**2 * t.sin())(
    torch.tensor([x])
)  # (1, 1)
holds(
    'aw.jacobians.c-d-one',
    lambda x: close(J_one(x), [[product_rule(x)]]),
    slip=(
        'multiplies the derivatives of the two factors',
        lambda x: close(J_one(x), [[careless(x)]]),
    ),
    x=scalars(),
)

# %% [markdown]
# ## Linearization: the best linear approximation near a point
#
# Near $\mathbf{x}_0$ the Jacobian lets us replace $f$ by a linear function, the kind of function that we understand best:
#
# ```{math}
# :label: aw.jacobians.taylor
# f(\mathbf{x}) \approx f(\mathbf{x}_0) + \partial f(\mathbf{x}_0)\, (\mathbf{x} - \mathbf{x}_0) .
# ```
#
# The right side is the *linearization* of $f$ at $\mathbf{x}_0$. We start with one input and one output:
#
# ```{math}
# :label: aw.jacobians.code-df
# f(x) = x^2 - 1.5\,x, \qquad f'(x) = 2x - 1.5 .
# ```
#
# At $x_0 = 0.5$ the value is $-0.5$ and the slope is $-0.5$. One hundredth to the right,
#
# ```{math}
# :label: aw.jacobians.code-f
# f(0.51) = 0.2601 - 0.765 = -0.5049,
# ```
#
# ```{math}
# :label: aw.jacobians.code-lin
# f(0.5) + f'(0.5)\, (0.51 - 0.5) = -0.5 - 0.5 \cdot 0.01 = -0.5050 .
# ```
#
# The gap is $0.01^2 = 0.0001$. For this $f$ it is always the square of the step, because
# $f(x_0 + h) - f(x_0) - f'(x_0)\, h = h^2$. In exact fractions:

# %%
parabola = lambda x: x * x - Fraction(3, 2) * x
dparabola = lambda x: 2 * x - Fraction(3, 2)
x_0 = Fraction(1, 2)

def tangent(step):
    return parabola(x_0) + dparabola(x_0) * step
for h in Fraction(1, 100), Fraction(1, 10), Fraction(-1, 3):
    print(f'step {h}: value {parabola(x_0 + h)}, linearization {tangent(h)},'
          f' gap {parabola(x_0 + h) - tangent(h)}')

# %% [markdown]
# How good is a linearization in general? Lengths are Euclidean here, and $\|\mathbf{M}\|$ is the largest factor by which
# $\mathbf{M}$ stretches a vector, the spectral norm of [Norms](../linear_algebra/norms.ipynb).
#
# ````{prf:theorem} Error of the linearization
# :label: thm-jacobians-remainder
# In a ball of radius $R$ around $\mathbf{x}_0$ let $f$ be continuously differentiable, with a Jacobian that changes at
# most at the rate $L$: $\|\partial f(\mathbf{x}) - \partial f(\mathbf{x}_0)\| \le L\, \|\mathbf{x} - \mathbf{x}_0\|$.
# Then for $\|\mathbf{h}\| < R$
#
# ```{math}
# :label: jacobians-remainder
# \big\| f(\mathbf{x}_0 + \mathbf{h}) - f(\mathbf{x}_0) - \partial f(\mathbf{x}_0)\, \mathbf{h} \big\| \le \frac{L}{2}\, \|\mathbf{h}\|^2 .
# ```
# ````
#
# ```{prf:proof}
# Move straight from $\mathbf{x}_0$ to $\mathbf{x}_0 + \mathbf{h}$. At time $t \in [0, 1]$ the outputs move with the velocity
# $\partial f(\mathbf{x}_0 + t\mathbf{h})\, \mathbf{h}$ (each row by the slope formula in [Gradients](gradients.ipynb)), so
#
# $$ f(\mathbf{x}_0 + \mathbf{h}) - f(\mathbf{x}_0) - \partial f(\mathbf{x}_0)\, \mathbf{h}
# = \int_0^1 \big( \partial f(\mathbf{x}_0 + t\mathbf{h}) - \partial f(\mathbf{x}_0) \big)\, \mathbf{h} \, dt . $$
#
# The integrand is at most $L\, t\, \|\mathbf{h}\| \cdot \|\mathbf{h}\|$ long, and $\int_0^1 t\, dt = \frac12$.
# ```
#
# The parabola has $L = 2$ and an error equal to the bound. {prf:ref}`thm-jacobians-remainder` is the first step of Taylor's
# theorem; further terms use further derivatives. In which sense is the linearization the *best* linear approximation?
# Suppose that we use another matrix $\mathbf{M}$. It differs from the Jacobian by $m = \|\mathbf{M} - \partial
# f(\mathbf{x}_0)\| > 0$, so in some direction its forecast is off by $m \|\mathbf{h}\|$, give or take $\frac L2
# \|\mathbf{h}\|^2$. Let $E(\mathbf{M})$ be its worst error on the sphere of radius $r = \|\mathbf{h}\| < R$. Then
#
# ```{math}
# :label: aw.jacobians.taylor-name
# E\big(\partial f(\mathbf{x}_0)\big) \le \tfrac L2\, r^2 < m\,r - \tfrac L2\, r^2 \le E(\mathbf{M}) \quad \text{for } r <
# m/L .
# ```
#
# So every other matrix is worse at all distances smaller than its own $m/L$, and as $r \to 0$ only the Jacobian has an error
# that is small compared with $r$. This is a statement about small distances: farther out another matrix may be better.
#
# We can measure the order of an error. The error is $C r^p$ if and only if $\log(\text{error})$ is a straight line in $\log
# r$ of slope $p$; the slope is the order. Test functions are $f(\mathbf{x}) = \mathbf{A} \sin(\mathbf{B}\mathbf{x})$,
# for which $\partial f(\mathbf{x}) = \mathbf{A} \operatorname{diag}(\cos \mathbf{B}\mathbf{x})\, \mathbf{B}$. Since the
# cosine changes no faster than its argument, $L = \|\mathbf{A}\|\, \|\mathbf{B}\| \max_k \|\mathbf{b}_k\|$ will do,
# with $\mathbf{b}_k$ the rows of $\mathbf{B}$.

# %%
angle = np.linspace(0, 2 * np.pi, 180, endpoint=False)
circle = np.stack([np.cos(angle), np.sin(angle)])  # (2, 180)

def random_map(seed):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, 5)), rng.normal(size=(5, 2))
    x_0 = rng.normal(size=2)
    f = lambda x: A @ np.sin(B @ x)  # (2, n) -> (2, n)
    J = A * np.cos(B @ x_0) @ B
    norm = lambda M: np.linalg.norm(M, 2)
    L = norm(A) * norm(B) * np.linalg.norm(B, axis=1).max()
    return f, x_0[:, None], J, L

def worst_error(f, x_0, M, r, directions=circle):
    h = r * directions
    error = f(x_0 + h) - f(x_0) - M @ h
    return np.linalg.norm(error, axis=0).max()

def order(f, x_0, M):
    r = 2.0 ** -np.arange(10, 17)
    errors = [worst_error(f, x_0, M, s) for s in r]
    return np.polyfit(np.log(r), np.log(errors), 1)[0]

# %% [markdown]
# For four random maps of this kind, the Jacobian has an error of order 2. Its transpose, which has the same shape, is only of
# order 1, like any other matrix. At distance 10, however, even the zero matrix has a smaller worst error in all four cases:

# %%
for seed in range(4):
    f_A, x_A, J_A, _ = random_map(seed)
    far = [worst_error(f_A, x_A, M, 10) for M in (J_A, 0 * J_A)]
    print(f'order {order(f_A, x_A, J_A):.2f}, transpose',
          f'{order(f_A, x_A, J_A.T):.2f}, worst error at distance 10:',
          f'{far[0]:.1f}, of the zero matrix {far[1]:.1f}')

# %% [markdown]
# The hypothesis about $L$ is needed. The function $|x|^{3/2}$ is differentiable at 0 with slope 0, but its
# derivative $\tfrac32 \sqrt{x}$ leaves 0 faster than any $L x$, and the error is of order $1.5$. At the other end,
# where the second derivative happens to vanish, as for the sine at 0, order 3 comes for free.

# %%
step = 10.0 ** -np.arange(0.3, 9, 0.1)
error = {
    'wrong slope': abs(step ** 2 + 0.1 * step),
    '|x|^1.5': step ** 1.5,
    'parabola': abs((0.5 + step) ** 2 - 1.5 * (0.5 + step)
                    + 0.5 + 0.5 * step),
    'sine': abs(np.sin(step) - step),
}
for name, e in error.items():
    fair = (1e-5 < step) & (step < 1e-3)
    p = np.polyfit(np.log(step[fair]), np.log(e[fair]), 1)[0]
    print(f'{name:12} order {p:.2f}')

# %% mystnb={"image": {"alt": "Left: the parabola and its tangent at 0.5, which touch there and part as the square of the distance. Right: four errors against the step, logarithmic, as straight lines of slope 1, 1.5, 2 and 3; toward small steps the third bends into a ragged rounding floor and the fourth ends."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3, width_ratios=[1, 1.25])
x = np.linspace(-0.1, 1.3, 200)
left.plot(x, x ** 2 - 1.5 * x, label='f')
left.plot(x, -0.5 - 0.5 * (x - 0.5), '--', label='linearization')
left.plot(0.5, -0.5, 'o', color=GREY)
left.set(xlabel='x', ylabel='y', title='Touching at 0.5')
left.legend(loc='upper right')
for name, e in error.items():
    right.loglog(step[e > 0], e[e > 0], label=name)
right.legend(loc='lower right')
right.set(xlabel='step h', ylabel='error', title='Slope is order',
          ylim=(1e-27, 10));

# %% [markdown] tags=["caption"]
# On logarithmic axes the order of an error is a slope: 2 for the parabola's tangent, 1 for a wrong slope, and at 0 it is 1.5
# for $|x|^{3/2}$ and 3 for the sine.

# %% [markdown]
# Toward small steps the parabola's line turns ragged, where the error meets the rounding of values near $-0.5$, and the
# sine's ends, where $\sin h$ and $h$ are rounded to the same number. Measure an order above that
# floor and below the distances where higher terms matter.
#
# ```{exercise} ★★ Newton's method: solve the linearization
# :label: jacobians-newton
# To solve $f(\mathbf{x}) = \mathbf{0}$, replace $f$ by its linearization at $\mathbf{x}_0$, solve *that*, and repeat
# from the solution. Derive the step from {eq}`aw.jacobians.taylor` and write `newton(f, J, x)` with ten steps. If
# $\partial f$ is invertible at the solution, why does the number of right digits double with each step, near the end?
# ```

# %%
def newton(f, J, x):  # f: (d,) -> (d,), J: (d,) -> (d, d)
    raise NotImplementedError('your turn')

# %%
def newton_by_scipy(f, J, x):
    return root(f, x, jac=J, tol=1e-14).x

systems = [
    (lambda x: np.array([x[0] ** 2 + x[1] ** 2 - 4, x[0] * x[1] - 1]),
     lambda x: np.array([[2 * x[0], 2 * x[1]], [x[1], x[0]]]),
     np.array([2.0, 0.3])),
    (lambda x: np.array([x[0] - np.sin(x[1]) - 1, x[0] ** 3 + x[1] - 2]),
     lambda x: np.array([[1, -np.cos(x[1])], [3 * x[0] ** 2, 1]]),
     np.array([1.0, 0.5])),
]
grade(newton, newton_by_scipy, systems)

# %% [markdown]
# ```{solution-start} jacobians-newton
# :class: dropdown
# ```
# $\mathbf{0} = f(\mathbf{x}_0) + \partial f(\mathbf{x}_0)(\mathbf{x} - \mathbf{x}_0)$ gives $\mathbf{x} = \mathbf{x}_0 -
# \partial f(\mathbf{x}_0)^{-1} f(\mathbf{x}_0)$. At the solution $\mathbf{x}^*$, with $\mathbf{e} = \mathbf{x}_0 -
# \mathbf{x}^*$, the new error is $\partial f(\mathbf{x}_0)^{-1} \big( f(\mathbf{x}^*) - f(\mathbf{x}_0) - \partial
# f(\mathbf{x}_0)(\mathbf{x}^* - \mathbf{x}_0) \big)$, which by {eq}`jacobians-remainder` is at most $\frac L2
# \|\partial f(\mathbf{x}_0)^{-1}\|\, \|\mathbf{e}\|^2$: squared, up to a constant. The mistake computes the Jacobian
# once and keeps it. Each step then shrinks the error by a mere factor.

# %% jupyter={"source_hidden": true}
def newton_solution(f, J, x):
    for _ in range(10):
        x = x - np.linalg.solve(J(x), f(x))
    return x

def newton_frozen(f, J, x):
    first = J(x)
    return newton_solution(f, lambda x: first, x)

assert grade(newton_solution, newton_by_scipy, systems)
assert not grade(newton_frozen, newton_by_scipy, systems)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
t = sp.Symbol('t')
slope = sp.lambdify(t, sp.diff(t**2 - sp.Rational(3, 2) * t, t))
holds(
    'aw.jacobians.code-df',
    lambda x: close(slope(x), 2 * x - 1.5),
    slip=(
        'forgets the factor 2 of the power rule',
        lambda x: close(slope(x), x - 1.5),
    ),
    x=scalars(),
)
x_1 = Fraction(51, 100)
holds(
    'aw.jacobians.code-f',
    lambda: parabola(x_1) == Fraction('-0.5049'),
    slip=(
        'takes the linearization for the function',
        lambda: tangent(x_1 - x_0) == Fraction('-0.5049'),
    ),
)
holds(
    'aw.jacobians.code-lin',
    lambda: tangent(x_1 - x_0) == Fraction('-0.5050'),
    slip=(
        'multiplies the slope by x, not by the step',
        lambda: tangent(x_1) == Fraction('-0.5050'),
    ),
)

# %% tags=["checks"]
def order_two(seed, turn=lambda J: J):
    f, x_0, J, L = random_map(seed)
    bound = L / 2 * 0.1**2
    return (
        abs(order(f, x_0, turn(J)) - 2) < 0.1
        and worst_error(f, x_0, J, 0.1) <= bound
    )

def beats_a_rival(seed, near=True):
    f, x_0, J, L = random_map(seed)
    E = np.random.default_rng(seed).normal(size=(2, 2))
    M = J + E if near else 0 * J
    _, (m, _), Vt = np.linalg.svd(M - J)
    r = 0.99 * m / L if near else 10
    worst = Vt[:1].T * [1, -1]  # where the two differ most
    directions = np.c_[circle, worst]
    return worst_error(f, x_0, J, r, directions) < worst_error(
        f, x_0, M, r, directions
    )

holds(
    'aw.jacobians.taylor',
    order_two,
    slip=(
        'exchanges rows and columns of the Jacobian',
        lambda seed: order_two(seed, np.transpose),
    ),
    seed=seeds(),
)
holds(
    'aw.jacobians.taylor-name',
    beats_a_rival,
    slip=(
        'expects the Jacobian to win far away, too',
        lambda seed: beats_a_rival(seed, near=False),
    ),
    seed=seeds(),
)

# %% [markdown]
# ## Jacobians of compositions, and products without the matrix
#
# Let $g$ map $\mathbf{x}$ to $\mathbf{u}$, and $f$ map $\mathbf{u}$ to $\mathbf{y}$. What is the Jacobian of $f \circ
# g$? Replace both by their linearizations. A nudge $\mathbf{h}$ becomes $\partial g(\mathbf{x})\, \mathbf{h}$,
# and this, being a nudge of $\mathbf{u} = g(\mathbf{x})$, becomes $\partial f(g(\mathbf{x}))\, \partial g(\mathbf{x})\,
# \mathbf{h}$. One matrix after the other is the matrix product:
#
# ```{math}
# :label: aw.jacobians.chain
# \partial [f \circ g](\mathbf{x}) = \partial f(g(\mathbf{x}))\; \partial g(\mathbf{x}) .
# ```
#
# [The chain rule](chain_rule.ipynb) proves it with care for the remainders. The shapes keep the order: $(b, c)$ times
# $(c, d)$. They do not tell *where* to take the outer Jacobian. It belongs at $g(\mathbf{x})$, the point that $f$ is applied
# to; at $\mathbf{x}$ it gives another matrix:

# %%
def g(x):  # a swirl: turn by an angle that grows with the distance
    c, s = (x @ x / 2).cos(), (x @ x / 2).sin()
    return torch.stack([c * x[0] - s * x[1], s * x[0] + c * x[1]])

def f_bend(u):
    return torch.stack([u[0] + u[1] ** 2 / 2, u[1] + u[0] * u[1]])
J_f, J_g = torch.func.jacfwd(f_bend), torch.func.jacfwd(g)
J_both = torch.func.jacrev(lambda x: f_bend(g(x)))
x = torch.tensor([0.5, 0.3])
print(J_both(x).numpy().round(3), 'composition')
print((J_f(g(x)) @ J_g(x)).numpy().round(3), 'product')
print((J_f(x) @ J_g(x)).numpy().round(3), 'product, outer one at x')

# %%
corner = torch.tensor([0.5, 0.3])
walk = np.linspace(0, 1, 40)
o, e = 0 * walk, 1 + 0 * walk
outline = np.stack([np.r_[walk, e, walk[::-1], o],
                    np.r_[o, walk, e, walk[::-1]]])  # (2, 160)
stages = {'x': (lambda x: x, torch.eye(2)), 'g(x)': (g, J_g(corner)),
          'f(g(x))': (lambda x: f_bend(g(x)), J_both(corner))}
drawn, bends = {}, []
for name, (mapping, J) in stages.items():
    for side in (0.4, 0.2, 0.02, 0.01):
        moved = corner[:, None] + side * torch.tensor(outline)
        true = torch.func.vmap(mapping, 1, 1)(moved)
        start = mapping(corner)[:, None]
        straight = start + side * J @ torch.tensor(outline)
        drawn[name, side] = true.numpy(), straight.numpy()
        bends.append(float((true - straight).norm(dim=0).max()) / side)
ratio = bends[-2] / bends[-1]
print(f'half the side: error per side {ratio:.1f} times less,'
      f' from {bends[-2]:.4f} to {bends[-1]:.4f}')

# %% mystnb={"image": {"alt": "Two nested squares that share a corner and their images under g and under f of g. The images have curved sides; dashed parallelograms, the images under the Jacobian, fit the small square's image closely and the large one's poorly."}} tags=["hide-input"]
fig, axes = panels(3, height=2.5)
for ax, name in zip(axes, stages, strict=True):
    for side, color in ((0.4, 'C0'), (0.2, 'C1')):
        true, straight = drawn[name, side]
        ax.plot(*true, color=color)
        ax.plot(*straight, '--', color=color, lw=1.1)
    ax.plot(*drawn[name, 0.4][0][:, 0], 'o', color=GREY)
    ax.set(title=name, aspect='equal', xlabel='first coordinate')
    ax.margins(0.12)
axes[0].set_ylabel('second coordinate');

# %% [markdown] tags=["caption"]
# The Jacobian makes a square into a parallelogram, which fits the true image the better the smaller the square is, even
# relative to its side.

# %% [markdown]
# Solid lines are the true images, dashed ones the Jacobian's: always a parallelogram, and the smaller the square, the
# better the likeness, even relative to its size: by {eq}`jacobians-remainder` the bound on the error *per side* halves with
# the side, and here so does the error, once the square is small (measured at sides 0.02 and 0.01). The area of the
# parallelogram, $|\det \partial f|$ times that of the square, is the subject of
# [Determinants](../linear_algebra/determinants.ipynb).
#
# **Products without the matrix.** A network of ten layers with a thousand values each has a Jacobian with a million
# entries, but often we only need a product with it: how the outputs move with one nudge of the inputs, $\partial f\,
# \mathbf{v}$ (a *jvp*, Jacobian-vector product), or how one combination of outputs depends on all inputs, $\partial f^\top
# \mathbf{u}$ (a *vjp*, vector-Jacobian product). By
# {eq}`aw.jacobians.chain` both pass through the layers as vectors. For layers $\tanh(\mathbf{W}\mathbf{x})$ each
# Jacobian is $\operatorname{diag}(1 - \mathbf{h} \odot \mathbf{h})\, \mathbf{W}$, and:

# %%
def jvp(weights, x, v):
    for W in weights:
        x = np.tanh(W @ x)
        v = (1 - x * x) * (W @ v)
    return v

def vjp(weights, x, u):
    values = [x := np.tanh(W @ x) for W in weights]
    for W, h in zip(weights[::-1], values[::-1], strict=True):
        u = W.T @ ((1 - h * h) * u)
    return u

def full_jacobian(weights, x):
    J = np.eye(len(x))
    for W in weights:
        x = np.tanh(W @ x)
        J = (1 - x * x)[:, None] * (W @ J)
    return J

# %%
rng = np.random.default_rng(0)
n = 500
weights = [rng.normal(size=(n, n)) / n ** 0.5 for _ in range(3)]
x, v, u = rng.normal(size=(3, n))

def network(x):
    for W in weights:
        x = torch.tanh(torch.tensor(W) @ x)
    return x

by_torch = [
    torch.func.jvp(network, (torch.tensor(x),), (torch.tensor(v),))[1],
    torch.func.vjp(network, torch.tensor(x))[1](torch.tensor(u))[0]]
pushed, pulled = jvp(weights, x, v), vjp(weights, x, u)
assert close(pushed, by_torch[0]) and close(pulled, by_torch[1])
assert close(pushed, full_jacobian(weights, x) @ v)
assert close(u @ pushed, pulled @ v)  # both are u^T J v
matrix, column = seconds(
    lambda: full_jacobian(weights, x), lambda: jvp(weights, x, v))
clock = matrix / column
assert clock > 10
print('a product is over 10 times cheaper than the matrix:', clock > 10)

# %% [markdown]
# The jvp runs along with the values; the vjp runs backwards and must remember them. [The chain rule](chain_rule.ipynb)
# shows which of the two is cheaper, and [Automatic differentiation](automatic_differentiation.ipynb) makes a program of
# them.
#
# ```{exercise} ★★★ A Jacobian with three diagonals from six values
# :label: jacobians-colour
# In many models, from heat in a rod to chains of neurons, $y_i$ depends on $x_{i-1}, x_i, x_{i+1}$ only, so the
# Jacobian has three diagonals. Column by column, central differences need $2n$ values of $f$. Write `tridiagonal(f,
# x)`, the full $(n, n)$ matrix, with at most six, whatever $n$ is; the function refuses to be called more often. Then
# explore: how many values does a band of $2k + 1$ diagonals take, and what if the zeros are scattered?
# ```

# %%
def tridiagonal(f, x):  # -> (n, n)
    raise NotImplementedError('your turn')

# %%
class Rod:  # a function that counts how often it is asked
    calls = 0

    def __call__(self, x):
        self.calls += 1
        if self.calls > 6:
            raise RuntimeError('more than six values asked for')
        return self.f(x)

    def f(self, x):
        p = np.pad(x, 1)
        return p[2:] - 2 * x + p[:-2] * x + np.sin(x)

def column_by_column(rod, x, h=1e-5):
    return np.stack([(rod.f(x + h * e) - rod.f(x - h * e)) / (2 * h)
                     for e in np.eye(len(x))], 1)

rods = [(Rod(), np.random.default_rng(n).normal(size=n)) for n in (3, 7, 50)]
grade(tridiagonal, column_by_column, rods)

# %% [markdown]
# ```{solution-start} jacobians-colour
# :class: dropdown
# ```
# The columns $j, j + 3, j + 6, \dots$ touch no common row. Nudge all of them at once: entry $i$ of the quotient then
# has a single cause, the one among $i - 1, i, i + 1$ that was nudged. Three nudges, six values. The mistake nudges
# every second column, and neighbours of the same row collide. A band of $2k + 1$ diagonals takes $2k + 1$ groups; for
# scattered zeros, grouping columns is the colouring of a graph {cite}`curtis1974estimation,griewank2008evaluating`.

# %% jupyter={"source_hidden": true}
def grouped(f, x, groups, h=1e-5):
    n = len(x)
    i = np.arange(n)
    J = np.zeros((n, n))
    for k in range(groups):
        nudge = h * (i % groups == k)
        quotient = (f(x + nudge) - f(x - nudge)) / (2 * h)
        for j in i[k::groups]:
            rows = slice(max(j - 1, 0), j + 2)
            J[rows, j] = quotient[rows]
    return J

assert grade(lambda f, x: grouped(f, x, 3), column_by_column, rods)
assert not grade(lambda f, x: grouped(f, x, 2), column_by_column, rods)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def product_at(outer, x):
    x = torch.tensor(x)
    return close(J_both(x), J_f(outer(x)) @ J_g(x))

holds(
    'aw.jacobians.chain',
    lambda x: product_at(g, x),
    slip=(
        'takes the outer Jacobian at x, not at g(x)',
        lambda x: product_at(lambda x: x, x),
    ),
    x=vectors(2, -2, 2),
    tries=100,
)

# %% [markdown]
# ## Where it matters: adversarial examples, the smallest change that flips a classifier
#
# A network reads handwritten digits, $8 \times 8$ pixels between 0 and 1, and names the largest of its ten scores
# $\mathbf{z}$. How small a change of the picture makes it name another? Trying changes out would mean a search in 64
# dimensions. The linearization gives an estimate directly. If the network says $a$, then another class $k$ overtakes where
# the lead $z_a - z_k$ sinks to zero. Near $\mathbf{x}$ the lead is $z_a - z_k + (\mathbf{j}_a - \mathbf{j}_k) \cdot
# \mathbf{h}$, with $\mathbf{j}_k$ the rows of $\partial \mathbf{z}(\mathbf{x})$. By the Cauchy-Schwarz inequality a step of
# length $r$ lowers it by at most $r\,\|\mathbf{j}_a - \mathbf{j}_k\|$, and does so straight against the gradient of the
# lead. Hence the forecast
#
# ```{math}
# :label: jacobians-margin
# r = \min_{k \ne a} \frac{z_a - z_k}{\|\mathbf{j}_a - \mathbf{j}_k\|} ,
# ```
#
# with the step $\mathbf{h} = -r\, (\mathbf{j}_a - \mathbf{j}_k) / \|\mathbf{j}_a - \mathbf{j}_k\|$ for the best $k$.
# This is the first step of an attack known as DeepFool {cite}`moosavi2016deepfool`. We compute it for 300 pictures that
# the network has never seen, all Jacobians in one batch, and then *measure* how far one must really go along
# $\mathbf{h}$, and along a random direction.

# %%
x, y, _ = digits()
model = MLPClassifier((32,), activation='tanh', random_state=0,
                      learning_rate_init=0.01)
for _ in range(20):
    model.partial_fit(x[:1400], y[:1400], classes=range(10))
(W_1, W_2), (b_1, b_2) = model.coefs_, model.intercepts_
accuracy = model.score(x[1400:], y[1400:])
print(f'test accuracy {accuracy:.2f}')

def scores(x):  # (n, 64) -> (n, 10)
    return np.tanh(x @ W_1 + b_1) @ W_2 + b_2

def score_jacobians(x):  # (n, 64) -> (n, 10, 64)
    h = np.tanh(x @ W_1 + b_1)  # (n, 32)
    return W_2.T @ ((1 - h * h)[:, :, None] * W_1.T)

one = lambda x: (torch.tanh(x @ torch.tensor(W_1) + torch.tensor(b_1))
                 @ torch.tensor(W_2) + torch.tensor(b_2))
assert close(score_jacobians(x[:5]), torch.func.vmap(
    torch.func.jacrev(one))(torch.tensor(x[:5])))

# %%
pictures = x[1400:1700]  # (n, 64)
everyone = np.arange(len(pictures))
z, J = scores(pictures), score_jacobians(pictures)
a = z.argmax(1)
lead = z[everyone, a][:, None] - z  # (n, 10)
against = J - J[everyone, a][:, None]  # (n, 10, 64): j_k - j_a
length = np.linalg.norm(against, axis=2)
lead[everyone, a], length[everyone, a] = np.inf, 1
forecast = (lead / length).min(1)
k = (lead / length).argmin(1)
nearest = against[everyone, k] / length[everyone, k][:, None]  # (n, 64)
random = np.random.default_rng(0).normal(size=nearest.shape)
random /= np.linalg.norm(random, axis=1, keepdims=True)

def distance_to_flip(direction, most):
    r = most * np.geomspace(3e-4, 1, 601)
    names = np.array([scores(pictures + s * direction).argmax(1) for s in r])
    flipped = names != a  # (601, n)
    return np.where(flipped.any(0), r[flipped.argmax(0)], np.inf)

# %%
measured = distance_to_flip(nearest, 3)
by_chance = distance_to_flip(random, 15)
off = abs(measured / forecast - 1)
size = np.median(np.linalg.norm(pictures, axis=1))
print(f'median forecast {np.median(forecast):.2f},',
      f'measured {np.median(measured):.2f}; size {size:.0f}')
close_call = forecast < np.median(forecast)
near, far = np.median(off[close_call]), np.median(off[~close_call])
print(f'median error of the forecast: close calls {near:.3f},',
      f'the others {far:.3f}')
farther = np.median(by_chance) / np.median(measured)
print(f'a random direction takes {farther:.1f} times as long;',
      f'no change within length 15: {np.isinf(by_chance).mean():.2f}')

# %% mystnb={"image": {"alt": "Measured against forecast distance for 300 pictures, logarithmic. Points in the direction of the forecast lie close to the diagonal, those in random directions far above it; those that change nothing within length 15 are left out."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.2))
reach = np.isfinite(by_chance)
ax.loglog(forecast[reach], by_chance[reach], '.', color='C1', ms=4)
ax.loglog(forecast, measured, '.', color='C0', ms=4)
ends = np.array([0.002, 2])
ax.plot(ends, ends, '--', color=GREY, lw=1)
ax.text(0.002, 1, 'random direction', color='C1')
ax.text(0.1, 0.02, 'direction of the forecast', color='C0')
ax.set(xlabel='forecast distance', ylabel='measured distance');

# %% [markdown] tags=["caption"]
# Along its own direction a linearization forecasts well how far a picture must move before the network changes its answer; a
# random direction typically takes over six times as long.

# %% [markdown]
# Along its own direction the forecast is nearly exact for close calls and a little off, as a linearization must be, for
# far ones. A random direction takes much longer, and many change nothing. The linearization explains this, too: the squared
# cosines of a direction with the 64 axes add up to 1, so its cosine with any given one is typically $1/\sqrt{64} =
# \frac18$, and by the dot product above the lead sinks that much more slowly, or rises. Random noise hardly disturbs this
# network, but a small change in the right direction does. Here is the picture with the median forecast:

# %%
i = np.argsort(forecast, kind='stable')[len(forecast) // 2]
changed = pictures[i] + 1.02 * measured[i] * nearest[i]
before = int(scores(pictures[i:i + 1]).argmax())
after = int(scores(changed[None]).argmax())
assert before != after
print('read as', before, 'before and as', after, 'after')

# %% mystnb={"image": {"alt": "Three small pictures: a handwritten digit, the nudge with its contrast stretched four times, a pattern of lighter and darker pixels, and their sum, which a person still reads as the same digit."}} tags=["hide-input"]
fig, axes = panels(3, height=2.1)
trio = {f'read as {before}': pictures[i], 'nudge, × 4': changed - pictures[i],
        f'read as {after}': changed}
for ax, (name, pixels) in zip(axes, trio.items(), strict=True):
    low, high = (-0.125, 0.125) if 'nudge' in name else (0, 1)
    show_image(ax, pixels.reshape(8, 8), name, vmin=low, vmax=high)

# %% [markdown] tags=["caption"]
# A nudge of length about 0.4, aimed by one linearization, makes the network read a 7 as a 4, though the picture has a length
# of about 4.

# %% [markdown]
# ## Summary
#
# The Jacobian has one row for each output, the gradient of that output as a row, and one column for each input, the
# response of all outputs to it; it is the only matrix whose forecast errs by less than proportionally to the distance,
# at most $\frac L2 r^2$ when it changes at the rate $L$. The order of an error is a slope on logarithmic axes.
# The Jacobian of a composition is the product of the Jacobians, vectors can be multiplied by it without forming any matrix,
# and on a trained network one linearization tells how small a change makes it misread a picture.
#
# **Further reading.** {cite}`rudin1976principles` for the derivative as a linear map, {cite}`nocedal2006numerical` for
# Newton's method and everything built on linearization, {cite}`griewank2008evaluating` for Jacobians of programs and
# their sparsity, and {cite}`goodfellow2015explaining` for why networks that are nearly linear are so easily misled.
