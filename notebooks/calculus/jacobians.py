# ---
# jupyter:
#   book:
#     functions:
#       jacobian: "jacobian(lambda x: np.stack([x[0] * x[1], np.sin(x[0]), x[1] ** 2]), normal(2))"
#       jvp: "jvp([normal(3, 4), normal(2, 3)], normal(4), normal(4))"
#       vjp: "vjp([normal(3, 4), normal(2, 3)], normal(4), normal(2))"
#     main: aw.jacobians.matrix
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Jacobians and linearization
#
# The arm of a robot has two joints. Both are turned a little, and the hand moves to the side, upwards, and turns. Which
# joint moves it how far in which direction, and how must the joints turn so that the hand reaches a given point? The same
# question is asked of a network with 64 pixels as inputs and ten scores as outputs: which small change of the picture
# changes its answer?
#
# - **You need** the gradient and what *differentiable* means from [gradients](gradients.ipynb), and [products of
#   matrices](../linear_algebra/matrix_multiplication.ipynb).
# - **You build** Jacobians column by column, linearizations and their error, products with a Jacobian that is never formed, and the small
#   change that makes a network misread a digit.
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
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from numpy.linalg import norm
from scipy.optimize import root
from sklearn.neural_network import MLPClassifier
from torch import func, stack, tensor

from nbutils import data
from nbutils.cases import counted, integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import close, erratum, grade, holds, verify
from nbutils.figures import GREY, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## The Jacobian matrix: a row for each output, a column for each input
#
# The upper arm is 1 m long and the forearm 0.8 m. The inputs are the angles of shoulder and elbow, in radians. The outputs
# are the place $(y_1, y_2)$ of the hand and the direction $y_3$ in which it points:

# %%
def arm(x):  # (2,) -> (3,)
    turn = x[0] + x[1]
    return np.array([np.cos(x[0]) + 0.8 * np.cos(turn),
                     np.sin(x[0]) + 0.8 * np.sin(turn), turn])

x = np.array([0.5, 0.8])
for turn in [0.01, 0], [0, 0.01]:
    print(f'turn by {turn}: hand moves by', (arm(x + turn) - arm(x)).round(4))

# %% [markdown]
# Two inputs and three outputs make six effects. We collect them in a table with one *row for each output* and one *column
# for each input*. For $\mathbf{y} = f(\mathbf{x})$ with $\mathbf{x} \in \mathbb{R}^d$ and $\mathbf{y} \in \mathbb{R}^c$ this
# table is the **Jacobian**
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
# If the inputs move by a small $\mathbf{h} \in \mathbb{R}^d$, the outputs move by about $\partial f(\mathbf{x})\,
# \mathbf{h}$. This product exists because the columns belong to the inputs. A central difference for each input builds the
# matrix by columns:

# %%
def jacobian(f, x):
    """The Jacobian of f at the array x (d,): (c, d)."""
    h = np.finfo(x.dtype).eps ** (1 / 3)
    columns = [(f(x + h * e) - f(x - h * e)) / (2 * h)
               for e in np.eye(len(x), dtype=x.dtype)]
    return np.stack(columns, axis=1)

print(jacobian(arm, x).round(4))

# %% [markdown]
# The first column is the first line above, divided by the turn: it says how the hand reacts to the shoulder. In PyTorch,
# `torch.func.jacfwd(f)(x)` computes the matrix by columns and `torch.func.jacrev(f)(x)` by rows:

# %%
def arm_of_tensors(x):
    turn = x[0] + x[1]
    return stack([x[0].cos() + 0.8 * turn.cos(),
                  x[0].sin() + 0.8 * turn.sin(), turn])

print(func.jacrev(arm_of_tensors)(tensor(x)).numpy().round(4))

# %% [markdown]
# ### Rows are gradients, columns are responses
#
# Along row $i$ the output is fixed and the inputs change. These are all
# partial derivatives of the one function $y_i$, which is its gradient written as a row. Down column $j$ the input is
# fixed, and we see how all outputs respond to it:
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
# :class: tip
# Gradients are columns elsewhere, so it is easy to take each *column* of the Jacobian for the gradient of an output. Some
# books do arrange derivatives that way, with a row for each input. In our example the columns have 3 entries, but each
# output has 2 inputs, so its gradient has 2 entries and must be a row. For $c = d$ the shapes do not reveal the mistake.
# :::
#
# For one output, one row is left. It has the same entries as the gradient, but the gradient is a column, like
# the points to which we add it, so there is a transpose:
#
# ```{math}
# :label: aw.jacobians.c-one
# \partial f(\mathbf{x}) = \nabla f(\mathbf{x})^\top \sim (1, d) .
# ```
#
# For one input as well, the matrix has a single entry, the ordinary derivative:
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
# ```{exercise} ★ Pencil: one layer
# :label: jacobians-layer
# A layer computes $\mathbf{y} = \tanh(\mathbf{W}\mathbf{x})$, entry by entry, with $\mathbf{W} \sim (c, d)$. Find its
# Jacobian and write `layer_jacobian(W, x)`. Recall $\tanh' = 1 - \tanh^2$.
# ```

# %%
def layer_jacobian(W, x):
    """The Jacobian with respect to x: an array of shape (c, d).

    W is an array of shape (c, d) and x one of shape (d,).
    layer_jacobian(np.eye(2), np.zeros(2)) is np.eye(2).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def layer_by_torch(W, x):
    return func.jacfwd(lambda x: (tensor(W) @ x).tanh())(tensor(x))

def layer_inputs(W):
    return vectors(W.shape[1], -2, 2, edges=True)

cases = dict(W=matrices((1, 4), (1, 4), -2, 2, edges=True), x=layer_inputs)
grade(layer_jacobian, layer_by_torch, **cases)

# %% [markdown]
# ```{solution-start} jacobians-layer
# :class: dropdown
# ```
# $y_i = \tanh(\sum_j W_{ij} x_j)$ gives $\partial y_i/\partial x_j = (1 - y_i^2)\, W_{ij}$. The factor belongs to the
# *output*, so it scales rows: $\partial f = \operatorname{diag}(1 - \mathbf{y} \odot \mathbf{y})\, \mathbf{W}$. Of the wrong
# answers, the first scales columns and fails loudly only if $\mathbf{W}$ is not square, the second forgets the factor, and
# the third transposes.

# %% jupyter={"source_hidden": true}
def layer_solution(W, x):
    return (1 - np.tanh(W @ x) ** 2)[:, None] * W

def columns_scaled(W, x):
    return W * (1 - np.tanh(W @ x) ** 2)

def without_the_factor(W, x):
    return W

def transposed(W, x):
    return layer_solution(W, x).T

assert grade(layer_solution, layer_by_torch, **cases)
assert not grade(columns_scaled, layer_by_torch, **cases)
assert not grade(without_the_factor, layer_by_torch, **cases)
assert not grade(transposed, layer_by_torch, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def with_printed_entry(J):
    J = J.copy()
    J[1, 0] = 1
    return J

def J_arm(x):
    return func.jacrev(arm_of_tensors)(tensor(x)).numpy()

erratum(
    'aw.jacobians.matrix',
    printed=lambda x: close(with_printed_entry(J_arm(x)), jacobian(arm, x)),
    corrected=lambda x: close(J_arm(x), jacobian(arm, x)),
    x=vectors(2, -3, 3), tries=60,
)

def gradient_of_output(i, x):
    return func.grad(lambda x: arm_of_tensors(x)[i])(tensor(x))

def response_to_input(j, x, h=1e-5):
    e = h * np.eye(2)[j]
    return (arm(x + e) - arm(x - e)) / (2 * h)

def square_part(J):  # of the place of the hand: two outputs, two inputs
    return J[:2]

cases = dict(x=vectors(2, -3, 3), k=[0, 1], tries=60)
erratum(
    'aw.jacobians.columns',
    printed=lambda x, k: close(square_part(J_arm(x))[:, k], gradient_of_output(k, x)),
    corrected=lambda x, k: close(J_arm(x)[k], gradient_of_output(k, x)),
    **cases,
)
erratum(
    'aw.jacobians.rows',
    printed=lambda x, k: close(square_part(J_arm(x))[k], response_to_input(k, x)[:2]),
    corrected=lambda x, k: close(J_arm(x)[:, k], response_to_input(k, x)),
    **cases,
)

# %% tags=["checks"]
def row_and_column(d, seed):
    x, j = np.random.default_rng(seed).normal(size=d), np.arange(1, d + 1)
    row = jacobian(lambda t: np.array([np.sin(j * t).sum()]), x)
    return row, (j * np.cos(j * x))[:, None]  # (1, d), (d, 1)

def is_transposed(d, seed):
    row, column = row_and_column(d, seed)
    return row.shape == (1, d) and close(row, column.T)

def is_the_same(d, seed):
    row, column = row_and_column(d, seed)
    return row.shape == column.shape and close(row, column)

holds(
    'aw.jacobians.c-one', is_transposed, slip=('forgets the transpose', is_the_same),
    d=integers(1, 6), seed=seeds(), tries=60,
)
X = sp.Symbol('x')
product_rule = sp.lambdify(X, sp.diff(X**2 * sp.sin(X), X))
careless = sp.lambdify(X, sp.diff(X**2, X) * sp.diff(sp.sin(X), X))

def J_one(x):
    return func.jacrev(lambda t: t**2 * t.sin())(tensor(np.array([x])))  # (1, 1)

holds(
    'aw.jacobians.c-d-one', lambda x: close(J_one(x), [[product_rule(x)]]),
    slip=('multiplies the derivatives of the two factors', lambda x: close(J_one(x), [[careless(x)]])),
    x=scalars(), tries=60,
)

# %% [markdown]
# ## Linearization: the best linear approximation near a point
#
# Near $\mathbf{x}_0$ the Jacobian lets us replace $f$ by a linear function:
#
# ```{math}
# :label: aw.jacobians.taylor
# f(\mathbf{x}) \approx f(\mathbf{x}_0) + \partial f(\mathbf{x}_0)\, (\mathbf{x} - \mathbf{x}_0) .
# ```
#
# The right side is the **linearization** of $f$ at $\mathbf{x}_0$. We let both joints of the arm turn by the same angle and
# compare:

# %%
J = jacobian(arm, x)
for turn in 0.1, 0.05, 0.025:
    h = np.array([turn, turn])
    forecast = arm(x) + J @ h
    print(f'turn {turn:5}: hand at {arm(x + h)[:2].round(4)},'
          f' forecast {forecast[:2].round(4)},'
          f' gap {norm(arm(x + h) - forecast):.5f}')

# %% [markdown]
# Half the turn has a quarter of the gap. To see why, take one input and one output:
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
def parabola(x):
    return x * x - Fraction(3, 2) * x

def tangent(step):  # at 1/2
    return parabola(Fraction(1, 2)) - Fraction(1, 2) * step

for h in Fraction(1, 100), Fraction(1, 10), Fraction(-1, 3):
    value = parabola(Fraction(1, 2) + h)
    print(f'step {h}: gap {value - tangent(h)}')

# %% [markdown]
# In general the gap is at most a multiple of the square. Lengths are Euclidean here, and $\|\mathbf{M}\|$ is the largest
# factor by which $\mathbf{M}$ stretches a vector, the spectral norm of [Norms](../linear_algebra/norms.ipynb).
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
# :class: dropdown
# Move straight from $\mathbf{x}_0$ to $\mathbf{x}_0 + \mathbf{h}$. At time $t \in [0, 1]$ the outputs move with the velocity
# $\partial f(\mathbf{x}_0 + t\mathbf{h})\, \mathbf{h}$ (each row by the slope formula in [Gradients](gradients.ipynb)), so
#
# $$ f(\mathbf{x}_0 + \mathbf{h}) - f(\mathbf{x}_0) - \partial f(\mathbf{x}_0)\, \mathbf{h}
# = \int_0^1 \big( \partial f(\mathbf{x}_0 + t\mathbf{h}) - \partial f(\mathbf{x}_0) \big)\, \mathbf{h} \, dt . $$
#
# The integrand is at most $L\, t\, \|\mathbf{h}\| \cdot \|\mathbf{h}\|$ long, and $\int_0^1 t\, dt = \frac12$.
# ```
#
# The parabola has $L = 2$ and an error equal to the bound. The theorem is the first step of **Taylor's
# theorem**; further terms use further derivatives. In which sense is the linearization the *best* linear approximation?
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
# So every other matrix is worse at all distances smaller than its own $m/L$. Farther out another matrix may be better. We
# compare the Jacobian of the arm with a copy in which one entry is off by 0.05:

# %%
angles = np.linspace(0, 2 * np.pi, 180, endpoint=False)
circle = np.stack([np.cos(angles), np.sin(angles)])  # (2, 180)

def worst_error(f, x_0, M, r):
    h = r * circle
    gaps = f(x_0[:, None] + h) - f(x_0)[:, None] - M @ h
    return norm(gaps, axis=0).max()

# %%
wrong = J.copy()
wrong[0, 0] += 0.05
for r in 0.1, 0.01, 0.001:
    print(f'r = {r:5}: worst error {worst_error(arm, x, J, r):.2e},'
          f' with the wrong entry {worst_error(arm, x, wrong, r):.2e}')

# %% mystnb={"image": {"alt": "Left: the parabola and its tangent at 0.5, which touch there and part as the square of the distance. Right: worst error of the forecast for the arm against the distance, logarithmic: a line of slope 2 for the Jacobian, and for the wrong matrix a line that bends to slope 1 at small distances."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
t = np.linspace(-0.1, 1.3, 200)
left.plot(t, t**2 - 1.5 * t)
left.plot(t, -0.5 - 0.5 * (t - 0.5), '--')
left.plot(0.5, -0.5, 'o', color=GREY)
left.text(1.0, -0.35, 'f', color='C0')
left.text(0.3, -0.85, 'linearization', color='C1')
left.set(xlabel='x', ylabel='y', ylim=(-1, 0.3))
distances = np.geomspace(1e-4, 1, 30)
for M, name, colour, height in ((J, 'Jacobian', 'C0', 2e-7), (wrong, 'one entry wrong', 'C1', 2e-3)):
    right.loglog(distances, [worst_error(arm, x, M, r) for r in distances], color=colour)
    right.text(2e-4 if M is wrong else 1.5e-3, height, name, color=colour)
right.set(xlabel='distance r', title='worst error');

# %% [markdown] tags=["caption"]
# Left: a linearization touches the function, and the gap grows like the square of the distance. Right: on logarithmic axes
# the error of the Jacobian is a line of slope 2. With one wrong entry the slope is 1 at small distances.

# %% [markdown]
# ```{exercise} ★★ Program: Newton's method
# :label: jacobians-newton
# To solve $f(\mathbf{x}) = \mathbf{0}$, replace $f$ by its linearization at $\mathbf{x}_0$, solve *that*, and repeat from
# the solution. Write `newton(f, J, x)` with eight steps. It finds, for example, the angles with which the arm reaches a
# point. If $\partial f$ is invertible at the solution, why does the number of right digits double with each step, near the
# end?
# ```

# %%
def newton(f, J, x):
    """The point after eight steps: an array of shape (d,).

    f takes an array (d,) and gives one (d,), J gives the Jacobian (d, d),
    and x (d,) is the start, near a solution.
    newton(lambda x: 2 * x - 2, lambda x: 2 * np.eye(1), np.zeros(1)) is
    array([1.]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def hand_minus(goal):
    def reach(x):
        return arm(x)[:2] - goal
    return reach

def with_slopes(x_0):  # a problem whose solution is near x_0
    goal = arm(x_0)[:2]
    return hand_minus(goal), lambda x: jacobian(hand_minus(goal), x), x_0 + np.array([0.15, -0.2])

def by_scipy(problem):
    f, J, start = problem
    return root(f, start, jac=J, tol=1e-13).x

def run(solver):
    return lambda problem: solver(*problem)

bent = vectors(2, 0.5, 2.2).map(with_slopes)  # an elbow that is not stretched
grade(lambda problem: newton(*problem), by_scipy, problem=bent, tries=15, atol=1e-7)

# %% [markdown]
# ```{solution-start} jacobians-newton
# :class: dropdown
# ```
# $\mathbf{0} = f(\mathbf{x}_0) + \partial f(\mathbf{x}_0)(\mathbf{x} - \mathbf{x}_0)$ gives $\mathbf{x} = \mathbf{x}_0 -
# \partial f(\mathbf{x}_0)^{-1} f(\mathbf{x}_0)$. At the solution $\mathbf{x}^*$, with $\mathbf{e} = \mathbf{x}_0 -
# \mathbf{x}^*$, the new error is $\partial f(\mathbf{x}_0)^{-1} \big( f(\mathbf{x}^*) - f(\mathbf{x}_0) - \partial
# f(\mathbf{x}_0)(\mathbf{x}^* - \mathbf{x}_0) \big)$, which by {eq}`jacobians-remainder` is at most $\frac L2 \|\partial
# f(\mathbf{x}_0)^{-1}\|\, \|\mathbf{e}\|^2$: squared, up to a constant. Of the wrong answers, the first computes the
# Jacobian once and keeps it, so each step shrinks the error by a mere factor, the second takes one step alone, and the third
# walks in the wrong direction.

# %% jupyter={"source_hidden": true}
def newton_solution(f, J, x):
    for _ in range(8):
        x = x - np.linalg.solve(J(x), f(x))
    return x

def newton_frozen(f, J, x):
    first = J(x)
    return newton_solution(f, lambda x: first, x)

def one_step(f, J, x):
    return x - np.linalg.solve(J(x), f(x))

def other_way(f, J, x):
    for _ in range(8):
        x = x + np.linalg.solve(J(x), f(x))
    return x

assert grade(run(newton_solution), by_scipy, problem=bent, tries=15, atol=1e-7)
assert not grade(run(newton_frozen), by_scipy, problem=bent, tries=15, atol=1e-7)
assert not grade(run(one_step), by_scipy, problem=bent, tries=15, atol=1e-7)
assert not grade(run(other_way), by_scipy, problem=bent, tries=15, atol=1e-7)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
t = sp.Symbol('t')
exact_slope = sp.lambdify(t, sp.diff(t**2 - sp.Rational(3, 2) * t, t))
holds(
    'aw.jacobians.code-df', lambda x: close(exact_slope(x), 2 * x - 1.5),
    slip=('forgets the factor 2 of the power rule', lambda x: close(exact_slope(x), x - 1.5)), x=scalars(), tries=60,
)
x_1 = Fraction(51, 100)
holds(
    'aw.jacobians.code-f', lambda: parabola(x_1) == Fraction('-0.5049'),
    slip=('takes the linearization for the function', lambda: tangent(x_1 - Fraction(1, 2)) == Fraction('-0.5049')),
)
holds(
    'aw.jacobians.code-lin', lambda: tangent(x_1 - Fraction(1, 2)) == Fraction('-0.5050'),
    slip=('multiplies the slope by x, not by the step', lambda: tangent(x_1) == Fraction('-0.5050')),
)

# %% tags=["checks"]
def random_map(seed):  # x -> A sin Bx, whose Jacobian A diag(cos Bx) B changes at most at the rate L
    rng = np.random.default_rng(seed)
    A, B, x_0 = rng.normal(size=(2, 5)), rng.normal(size=(5, 2)), rng.normal(size=2)
    L = norm(A, 2) * norm(B, 2) * norm(B, axis=1).max()
    return lambda x: A @ np.sin(B @ x), x_0, A * np.cos(B @ x_0) @ B, L

def order(f, x_0, M):
    r = 2.0 ** -np.arange(10, 17)
    return np.polyfit(np.log(r), np.log([worst_error(f, x_0, M, s) for s in r]), 1)[0]

def order_two(seed, turn=lambda J: J):
    f, x_0, J, L = random_map(seed)
    return abs(order(f, x_0, turn(J)) - 2) < 0.1 and worst_error(f, x_0, J, 0.1) <= L / 2 * 0.1**2

def beats_a_rival(seed, near=True):
    f, x_0, J, L = random_map(seed)
    M = J + np.random.default_rng(seed).normal(size=(2, 2)) if near else 0 * J
    _, (m, _), Vt = np.linalg.svd(M - J)
    r = 0.99 * m / L if near else 10
    worst = r * Vt[:1].T * [1, -1]  # where the two differ most
    rival = norm(f(x_0[:, None] + worst) - f(x_0)[:, None] - M @ worst, axis=0).max()
    return worst_error(f, x_0, J, r) < max(rival, worst_error(f, x_0, M, r))

holds(
    'aw.jacobians.taylor', order_two,
    slip=('exchanges rows and columns of the Jacobian', lambda seed: order_two(seed, np.transpose)), seed=seeds(), tries=100,
)
holds(
    'aw.jacobians.taylor-name', beats_a_rival,
    slip=('expects the Jacobian to win far away, too', lambda seed: beats_a_rival(seed, near=False)),
    seed=seeds(), tries=100,
)
verify(
    'of the arm, the error of the Jacobian is of order 2, and with a wrong entry of order 1',
    lambda power: abs(order(arm, x, J if power == 2 else wrong) - power) < 0.1,
    slip=('exchanges the two', lambda power: abs(order(arm, x, J if power == 1 else wrong) - power) < 0.1), power=[1, 2],
)

# %% [markdown]
# ## Jacobians of compositions, and products without the matrix
#
# Let $g$ map $\mathbf{x}$ to $\mathbf{u}$, and $f$ map $\mathbf{u}$ to $\mathbf{y}$. What is the Jacobian of $f \circ g$?
# Replace both by their linearizations. A small change $\mathbf{h}$ becomes $\partial g(\mathbf{x})\, \mathbf{h}$, and this,
# being a small change of $\mathbf{u} = g(\mathbf{x})$, becomes $\partial f(g(\mathbf{x}))\, \partial g(\mathbf{x})\,
# \mathbf{h}$. One matrix after the other is the matrix product:
#
# ```{math}
# :label: aw.jacobians.chain
# \partial [f \circ g](\mathbf{x}) = \partial f(g(\mathbf{x}))\; \partial g(\mathbf{x}) .
# ```
#
# [The chain rule](chain_rule.ipynb) proves it with care for the remainders. The shapes keep the order: $(b, c)$ times
# $(c, d)$. They do not tell *where* to take the outer Jacobian. It belongs at $g(\mathbf{x})$, the point that $f$ is applied
# to. At $\mathbf{x}$ it gives another matrix:

# %%
def g(x):  # a swirl: a turn by an angle that grows with the distance
    c, s = np.cos(x @ x / 2), np.sin(x @ x / 2)
    return np.array([c * x[0] - s * x[1], s * x[0] + c * x[1]])

def f(u):
    return np.array([u[0] + u[1] ** 2 / 2, u[1] + u[0] * u[1]])

# %%
x = np.array([0.5, 0.3])
both = jacobian(lambda x: f(g(x)), x)
print(both.round(3), 'composition')
print((jacobian(f, g(x)) @ jacobian(g, x)).round(3), 'product')
print((jacobian(f, x) @ jacobian(g, x)).round(3), 'outer one at x')

# %% [markdown]
# ### Jacobian-vector and vector-Jacobian products
#
# A network of ten layers with a thousand values each has a Jacobian with a million entries. Often we only need a product
# with it. One is $\partial f\, \mathbf{v}$, how the outputs move with one change of the inputs (a *jvp*, Jacobian-vector
# product). The other is $\partial f^\top \mathbf{u}$, how one combination of outputs depends on all inputs (a *vjp*,
# vector-Jacobian product). By {eq}`aw.jacobians.chain` both pass through the layers as vectors. For layers $\mathbf{h} =
# \tanh(\mathbf{W}\mathbf{x})$ each Jacobian is $\operatorname{diag}(1 - \mathbf{h} \odot \mathbf{h})\, \mathbf{W}$:

# %%
def jvp(weights, x, v):
    """The Jacobian of the network at x, times v."""
    for W in weights:
        x = np.tanh(W @ x)
        v = (1 - x * x) * (W @ v)
    return v

def vjp(weights, x, u):
    """The transposed Jacobian of the network at x, times u."""
    values = [x := np.tanh(W @ x) for W in weights]
    for W, h in zip(weights[::-1], values[::-1]):
        u = W.T @ ((1 - h * h) * u)
    return u

# %%
rng = np.random.default_rng(0)
weights = [rng.normal(size=shape) for shape in ((5, 4), (6, 5), (3, 6))]
x, v, u = rng.normal(size=4), rng.normal(size=4), rng.normal(size=3)

def network(x):
    for W in weights:
        x = np.tanh(W @ x)
    return x

J = jacobian(network, x)  # (3, 4)
print('jvp', jvp(weights, x, v).round(4), ' J v  ', (J @ v).round(4))
print('vjp', vjp(weights, x, u).round(4), ' J^T u', (J.T @ u).round(4))

# %% [markdown]
# The jvp runs along with the values. The vjp runs backwards and must remember them. In PyTorch they are `torch.func.jvp` and
# `torch.func.vjp`. [The chain rule](chain_rule.ipynb) shows which of the two is cheaper, and [Automatic
# differentiation](automatic_differentiation.ipynb) makes a program of them.
#
# ```{exercise} ★★★ Program: a Jacobian with three diagonals from six values
# :label: jacobians-colour
# In many models, from heat in a rod to chains of neurons, $y_i$ depends on $x_{i-1}, x_i, x_{i+1}$ only, so the
# Jacobian has three diagonals. Column by column, central differences need $2n$ values of $f$. Write `tridiagonal(f,
# x)`, the full $(n, n)$ matrix, with at most six values. The function refuses to be called more often.
# ```

# %%
def tridiagonal(f, x):
    """The Jacobian of f at x: an array of shape (n, n).

    f takes an array of shape (n,), n >= 1, and gives one; it may be called
    six times. The entries should be right to six digits.
    tridiagonal(lambda x: 2 * x, np.zeros(2)) is 2 * np.eye(2).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def rod(x):
    p = np.pad(x, 1)
    return p[2:] - 2 * x + p[:-2] * x + np.sin(x)

def swing(x):
    p = np.pad(x, 1)
    return np.cos(p[2:]) * x - 3 * p[:-2] ** 2

def column_by_column(f, x):
    return jacobian(f.function, x)

cases = dict(f=[counted(rod, 6), counted(swing, 6)], x=on(1, 2, 3, 4, 7, 30).flatmap(lambda n: vectors(n, -2, 2)))
grade(tridiagonal, column_by_column, tries=60, **cases, atol=1e-6)

# %% [markdown]
# ```{solution-start} jacobians-colour
# :class: dropdown
# ```
# The columns $j, j + 3, j + 6, \dots$ touch no common row. Change all of these inputs at once: entry $i$ of the quotient
# then has a single cause, the one among $i - 1, i, i + 1$ that was changed. Three changes, six values. A band of $2k + 1$
# diagonals takes $2k + 1$ groups; for scattered zeros, grouping columns is the colouring of a graph
# {cite}`curtis1974estimation,griewank2008evaluating`. Of the wrong answers, the first changes every second input, so that
# neighbours in the same row collide, the second changes all at once, and the third calls the function too often.

# %% jupyter={"source_hidden": true}
def grouped(f, x, groups):
    h, i = 1e-5, np.arange(len(x))
    J = np.zeros((len(x), len(x)))
    for k in range(groups):
        change = h * (i % groups == k)
        quotient = (f(x + change) - f(x - change)) / (2 * h)
        for j in i[k::groups]:
            rows = slice(max(j - 1, 0), j + 2)
            J[rows, j] = quotient[rows]
    return J

def tridiagonal_solution(f, x):
    return grouped(f, x, 3)

def every_second(f, x):
    return grouped(f, x, 2)

def all_at_once(f, x):
    return grouped(f, x, 1)

assert grade(tridiagonal_solution, column_by_column, tries=60, **cases, atol=1e-6)
assert not grade(every_second, column_by_column, tries=60, **cases, atol=1e-6)
assert not grade(all_at_once, column_by_column, tries=60, **cases, atol=1e-6)
assert not grade(jacobian, column_by_column, tries=60, **cases, atol=1e-6)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def product_at(outer, x):
    return close(jacobian(lambda x: f(g(x)), x), jacobian(f, outer(x)) @ jacobian(g, x))

holds(
    'aw.jacobians.chain', lambda x: product_at(g, x),
    slip=('takes the outer Jacobian at x, not at g(x)', lambda x: product_at(lambda x: x, x)), x=vectors(2, -2, 2), tries=60,
)

def products_as_torch(seed, forward, backward):
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=shape) for shape in ((4, 4), (4, 4), (4, 4))]
    x, v, u = rng.normal(size=(3, 4))

    def layers(x):
        for W in weights:
            x = (tensor(W) @ x).tanh()
        return x

    pushed = func.jvp(layers, (tensor(x),), (tensor(v),))[1]
    pulled = func.vjp(layers, tensor(x))[1](tensor(u))[0]
    return close(forward(weights, x, v), pushed) and close(backward(weights, x, u), pulled)

verify(
    'jvp and vjp are those of torch', lambda seed: products_as_torch(seed, jvp, vjp),
    slip=('exchanges the two', lambda seed: products_as_torch(seed, vjp, jvp)), seed=seeds(), tries=30,
)

# %% [markdown]
# ## Where it matters: adversarial examples from one linearization
#
# A network reads handwritten digits, $8 \times 8$ pixels between 0 and 1, and names the largest of its ten scores
# $\mathbf{z}$. How small a change of the picture makes it name another? If the network says $a$, then another class $k$
# overtakes where the lead $z_a - z_k$ sinks to zero. Near $\mathbf{x}$ the lead is $z_a - z_k + (\mathbf{j}_a -
# \mathbf{j}_k) \cdot \mathbf{h}$, with $\mathbf{j}_k$ the rows of $\partial \mathbf{z}(\mathbf{x})$. By the Cauchy-Schwarz
# inequality a step of length $r$ lowers it by at most $r\,\|\mathbf{j}_a - \mathbf{j}_k\|$, and it does so in the direction
# opposite to the gradient of the lead. Hence the forecast
#
# ```{math}
# :label: jacobians-margin
# r = \min_{k \ne a} \frac{z_a - z_k}{\|\mathbf{j}_a - \mathbf{j}_k\|} ,
# ```
#
# with the step $\mathbf{h} = -r\, (\mathbf{j}_a - \mathbf{j}_k) / \|\mathbf{j}_a - \mathbf{j}_k\|$ for the best $k$.
# This is the first step of an attack known as DeepFool {cite}`moosavi2016deepfool`.

# %%
pixels, label, _ = data.digits()
model = MLPClassifier((32,), activation='tanh', random_state=0,
                      learning_rate_init=0.01)
for _ in range(20):
    model.partial_fit(pixels[:1400], label[:1400], classes=range(10))
print(f'test accuracy {model.score(pixels[1400:], label[1400:]):.2f}')

# %%
(W_1, W_2), (b_1, b_2) = model.coefs_, model.intercepts_

def scores(x):  # (..., 64) -> (..., 10)
    return np.tanh(x @ W_1 + b_1) @ W_2 + b_2

def score_jacobian(x):  # (64,) -> (10, 64)
    h = np.tanh(x @ W_1 + b_1)  # (32,)
    return W_2.T * (1 - h * h) @ W_1.T

# %%
def nearest_flip(x):
    """The forecast r, and the unit step towards the other answer."""
    z, J = scores(x), score_jacobian(x)
    a = z.argmax()
    others = np.delete(np.arange(10), a)
    against = J[others] - J[a]  # (9, 64)
    r = (z[a] - z[others]) / norm(against, axis=1)
    k = r.argmin()
    return r[k], against[k] / norm(against[k])

# %% [markdown]
# For 300 pictures that the network has never seen, we *measure* how far one must really go in this direction, and in a
# random one:

# %%
def distance_to_flip(x, step, most):
    """The least length that changes the answer, or infinity."""
    lengths = most * np.geomspace(3e-4, 1, 601)
    answers = scores(x + lengths[:, None] * step).argmax(1)
    changed = answers != scores(x).argmax()
    return lengths[changed.argmax()] if changed.any() else np.inf

# %%
pictures, rng = pixels[1400:1700], np.random.default_rng(0)
flips = [nearest_flip(x) for x in pictures]
forecast = np.array([r for r, _ in flips])
measured = np.array([distance_to_flip(x, step, 3)
                     for x, (_, step) in zip(pictures, flips)])
random = rng.normal(size=pictures.shape)
random /= norm(random, axis=1, keepdims=True)
by_chance = np.array([distance_to_flip(x, step, 15)
                      for x, step in zip(pictures, random)])

# %%
size = np.median(norm(pictures, axis=1))
print(f'median length of a picture:     {size:.2f}')
print(f'median forecast of the change:  {np.median(forecast):.2f}')
print(f'measured in this direction:     {np.median(measured):.2f}')
print(f'measured in a random direction: {np.median(by_chance):.2f}')

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
# In its own direction a linearization forecasts well how far a picture must move before the network changes its answer. In a
# random direction the way is much longer.

# %% [markdown]
# The linearization explains the random direction, too. The squared
# cosines of a direction with the 64 axes add up to 1, so its cosine with any given one is typically $1/\sqrt{64} =
# \frac18$, and the lead sinks that much more slowly, or rises. Random noise hardly disturbs this
# network, but a small change in the right direction does. Here is the picture with the median forecast:

# %% mystnb={"image": {"alt": "Three small pictures: a handwritten digit, the change with its contrast stretched four times, a pattern of lighter and darker pixels, and their sum, which a person still reads as the same digit."}} tags=["hide-input"]
i = np.argsort(forecast, kind='stable')[len(forecast) // 2]
changed = pictures[i] + 1.02 * measured[i] * flips[i][1]
before, after = scores(pictures[i]).argmax(), scores(changed).argmax()
fig, axes = panels(3, height=2.1)
trio = {f'read as {before}': pictures[i], 'change, × 4': changed - pictures[i], f'read as {after}': changed}
for ax, (name, picture) in zip(axes, trio.items()):
    low, high = (-0.125, 0.125) if 'change' in name else (0, 1)
    show_image(ax, picture.reshape(8, 8), name, vmin=low, vmax=high)

# %% [markdown] tags=["caption"]
# A change that a person hardly sees, aimed by one linearization, makes the network read a 7 as a 4.

# %% [markdown]
# ```{exercise} ★★ Experiment: how many answers change?
# :label: jacobians-share
# Move each of the 300 pictures (a) by half of its forecast $r$ in the direction of the forecast, (b) by $2r$ in this
# direction, (c) by $2r$ in a random direction. What share of the answers changes? First predict: return three words, each
# one of `'few'` (less than a fifth), `'some'` and `'most'` (more than four fifths). Then measure and explain.
# ```

# %%
def predicted_shares():
    """A list of three words for a, b, c, each 'few', 'some' or 'most'."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def shares():
    aimed = np.array([step for _, step in flips])
    old = scores(pictures).argmax(1)
    moves = (0.5, aimed), (2, aimed), (2, random)
    return [(scores(pictures + times * forecast[:, None] * step).argmax(1) != old).mean() for times, step in moves]

def is_measured(words):
    measured = ['few' if share < 0.2 else 'most' if share > 0.8 else 'some' for share in shares()]
    if list(words) != measured:
        raise ValueError('other shares are measured; move the pictures and count')
    return True

grade(lambda: is_measured(predicted_shares()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} jacobians-share
# :class: dropdown
# ```
# The forecast is nearly exact, so half of it changes almost no answer and twice of it almost every one. A random direction
# lowers the lead by about an eighth as much, so twice the forecast is not enough there.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured(['few', 'most', 'few']), lambda: True, [()])
assert not grade(lambda: is_measured(['few', 'most', 'most']), lambda: True, [()])  # any direction is as good
assert not grade(lambda: is_measured(['some', 'most', 'few']), lambda: True, [()])  # the forecast is a rough guess
assert not grade(lambda: is_measured(['few', 'some', 'few']), lambda: True, [()])  # half of the forecasts are too short
print('measured:', *(f'{share:.2f}' for share in shares()))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
verify(
    'the Jacobian of the scores', lambda n: close(score_jacobian(pictures[n]), jacobian(scores, pictures[n]), atol=1e-7),
    slip=('forgets the derivative of tanh', lambda n: close(W_2.T @ W_1.T, jacobian(scores, pictures[n]), atol=1e-7)),
    n=integers(0, 299), tries=20,
)

def ties_there(n, times):  # on the linearization, the answer and another score are equal after the step
    r, step = nearest_flip(pictures[n])
    z = scores(pictures[n]) + score_jacobian(pictures[n]) @ (times * r * step)
    first, second = np.sort(z)[-1:-3:-1]
    return close(first, second)

verify(
    'after the forecast step, two scores of the linearization are equal', lambda n: ties_there(n, 1),
    slip=('twice as far', lambda n: ties_there(n, 2)), n=integers(0, 299), tries=40,
)
verify(
    'the forecast is right within a tenth in the median, and random directions take more than four times as long',
    lambda times: abs(np.median(measured / forecast) - 1) < 0.1 and np.median(by_chance) > times * np.median(measured),
    slip=('exchanges the directions', lambda times: np.median(measured) > times * np.median(by_chance)), times=[1, 4],
)

# %% [markdown]
# ## Summary
#
# The Jacobian has one row for each output, the gradient of that output, and one column for each input, the response of all
# outputs to it. It gives the best linear approximation near a point, with an error of at most $\frac L2 r^2$ when it changes
# at the rate $L$. The Jacobian of a composition is the product of the Jacobians, vectors can be multiplied by it without
# forming any matrix, and on a trained network one linearization tells how small a change makes it misread a picture.
#
# **Further reading.** {cite}`rudin1976principles` for the derivative as a linear map, {cite}`nocedal2006numerical` for
# Newton's method and everything built on linearization, {cite}`griewank2008evaluating` for Jacobians of programs and
# their sparsity, and {cite}`goodfellow2015explaining` for why networks that are nearly linear are so easily misled.
