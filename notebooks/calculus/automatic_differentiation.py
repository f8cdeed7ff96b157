# ---
# jupyter:
#   book:
#     functions:
#       Number: "Number(2.0).result(3.0).value"
#       Dual: "(Dual(2.0, 1.0) * Dual(3.0, 0.0)).slope"
#       Node: "(Node(2.0) * 3.0 + 1.0).value"
#       gradient: "gradient(lambda x: (x**3).sum(), normal(4))"
#       hvp: "hvp(lambda x: (x**3).sum(), normal(4), normal(4))"
#       jvp: "jvp(lambda x, y: x * y + x**3.0 + 1.0, normal(2), normal(2))"
#       sweep: "sweep(lambda x, y: x * y + x**3.0 + 1.0, normal(2))[1]"
#     main: autodiff-gradient
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Automatic differentiation
#
# A program computes how far a tennis ball flies, in hundreds of small steps with the drag of the air. You throw at 45
# degrees, the best angle if there were no air. Should you throw flatter or steeper, and how much is one more metre per second
# worth? Nobody has a formula for the answer. How can we get the exact derivatives of a program?
#
# - **You need** [gradients](gradients.ipynb), [Jacobians](jacobians.ipynb) and [the chain rule](chain_rule.ipynb) with its
#   two accumulations.
# - **You build** gradients with PyTorch's autograd, then your own reverse mode and forward mode, and a sharp portrait from a
#   blurred one.
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
import torch
from scipy.ndimage import convolve1d
from scipy.optimize import approx_fprime, minimize

from nbutils import data
from nbutils.cases import matrices, on, scalars, seeds, vectors
from nbutils.checks import below, close, grade, verify
from nbutils.figures import GREY, panels, show_image

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## PyTorch autograd: requires_grad, backward and .grad
#
# Here is the program. The ball is thrown from a height of 1.8 m. In each hundredth of a second the drag and the weight
# change the velocity $(u, v)$, and the velocity changes the position $(x, y)$. The loop ends when the ball is below the
# ground, and the last line goes back to the ground along the last step.

# %%
def distance(angle, speed, dt=0.01):  # radians, m/s -> metres
    x, y = 0.0, 1.8
    u, v = speed * angle.cos(), speed * angle.sin()
    while y > 0:
        drag = 0.02 * (u * u + v * v) ** 0.5
        u, v = u - dt * drag * u, v - dt * (9.81 + drag * v)
        x, y = x + dt * u, y + dt * v
    return x - y * u / v

# %% [markdown]
# We write `requires_grad=True` at the inputs whose derivatives we want. Then PyTorch records each operation on them while the
# program runs. The call `backward()` goes back through the record and stores the derivative of the result with respect to
# each input in its field `grad`:

# %%
angle = torch.tensor(torch.pi / 4, requires_grad=True)
speed = torch.tensor(25.0, requires_grad=True)
metres = distance(angle, speed)
metres.backward()
print(f'the ball flies {metres:.2f} m')
print(f'for each radian more {angle.grad:6.2f} m')
print(f'for each m/s more    {speed.grad:6.2f} m')

# %% [markdown]
# The derivative with respect to the angle is negative, so a flatter throw goes further. We try 40 and 50 degrees, with
# numbers that want no derivatives:

# %%
for degrees in 40, 45, 50:
    tried = torch.tensor(degrees * torch.pi / 180)
    print(f'{degrees} degrees: {distance(tried, torch.tensor(25.0)):.2f} m')

# %% mystnb={"image": {"alt": "Three paths of a ball thrown at 40, 45 and 50 degrees. They rise, bend down and fall steeply at the end. The path at 40 degrees stays lowest and reaches the ground furthest to the right."}} tags=["hide-input"]
def path(degrees, speed=25.0, dt=0.01):  # the same steps, each position kept
    x, y, u, v = 0.0, 1.8, speed * np.cos(np.radians(degrees)), speed * np.sin(np.radians(degrees))
    places = [(x, y)]
    while y > 0:
        drag = 0.02 * np.hypot(u, v)
        u, v = u - dt * drag * u, v - dt * (9.81 + drag * v)
        x, y = x + dt * u, y + dt * v
        places.append((x, y))
    return np.array(places).T

fig, ax = plt.subplots(figsize=(6, 2.6))
ax.axhline(0, color=GREY, lw=0.8)
for i, degrees in enumerate((40, 45, 50)):
    x, y = path(degrees)
    ax.plot(x, y, color=f'C{i}')
    top = y.argmax()
    ax.text(x[top], y[top] + 0.35, f'{degrees}°', color=f'C{i}', ha='center')
ax.set(xlabel='metres', ylabel='height (metres)', ylim=(-0.6, 16.5));

# %% [markdown] tags=["caption"]
# With the drag of the air, a throw at 40 degrees goes further than one at 45. The derivative of the program says so
# without trying.

# %% [markdown]
# Usually the inputs are the entries of one tensor. For a function $f$ of a vector $\mathbf{x}$ with one number as its result,
# `backward` computes the gradient:
#
# ```{math}
# :label: autodiff-gradient
# \nabla f(\mathbf{x}) =
# \begin{bmatrix} \partial_{x_1} f(\mathbf{x}) \\ \vdots \\ \partial_{x_d} f(\mathbf{x}) \end{bmatrix}
# ```

# %%
def gradient(f, x):
    """The gradient of f at the tensor x, in the shape of x."""
    x = x.detach().requires_grad_()  # a new input
    f(x).backward()
    return x.grad

print(gradient(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0, -1.0])))

# %% [markdown]
# The function adds up the cubes, so its gradient has the entries $3x_i^2$.
#
# ### Gradients accumulate in .grad
#
# A second `backward` does not replace what is stored in `grad`. It *adds* to it:

# %%
x = torch.tensor([1.0, 2.0, -1.0], requires_grad=True)
for _ in range(3):
    (x**3).sum().backward()
    print(x.grad)

# %% [markdown]
# This is useful because the gradient of a sum is the sum of the gradients. If the sum over a million examples does not fit
# into memory, we can call `backward` for one piece after the other, and at the end `grad` contains
#
# ```{math}
# :label: autodiff-accumulate
# \nabla_{\mathbf{x}} \big( f(\mathbf{x}) + g(\mathbf{x}) \big) = \nabla f(\mathbf{x}) + \nabla g(\mathbf{x}) .
# ```
#
# ```{admonition} A tempting mistake
# :class: tip
# If you want a new gradient, first set `x.grad = None`, or call `zero_grad()` of an optimizer. If you forget it, there is no
# error. After the third call above, `grad` is three times too large.
# ```
#
# ### no_grad and detach
#
# Recording costs memory, because the values of all steps are kept. Inside `torch.no_grad()` nothing is recorded. The method
# `detach` does the same for one tensor: it gives the same numbers without their history, so autograd takes them for
# constants. For example, $x \cdot x^2$ has the derivative $3x^2$. If we detach $x^2$, only the first factor counts, and
# the derivative is $x^2$:

# %%
x = torch.tensor(5.0)
print('whole:   ', gradient(lambda x: x * x**2, x).item())
print('detached:', gradient(lambda x: x * (x**2).detach(), x).item())

# %% [markdown]
# ### The usual errors of autograd
#
# Five mistakes end in an error. We provoke them and print how the messages begin:

# %%
def message(action):
    try:
        action()
    except RuntimeError as error:
        return str(error)[:64]

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
used = (x**2).sum()
used.backward()
print(message(lambda: (x**2).backward()))
print(message(lambda: used.backward()))
print(message(lambda: x.detach().sum().backward()))
print(message(lambda: x.numpy()))
print(message(lambda: x.add_(1.0)))

# %% [markdown]
# | what happened | what to do |
# |---|---|
# | the result has several entries | take the sum or the mean; the part about [Jacobian products](#forward-mode-dual-numbers-and-jacobian-vector-products) says what else is possible |
# | the record was used up by the first `backward` | run the program again, or call `backward(retain_graph=True)` |
# | the result has no history | look for a `detach`, a `no_grad`, an `item()` or NumPy on the way |
# | NumPy cannot record | `x.detach().numpy()` |
# | an input was changed in place | change it inside `torch.no_grad()` |
#
# Two more mistakes give no error. A number that left the record by `item()` or `float()` is a constant, so its derivative is
# missing. And autograd differentiates the steps that *ran*, not the function that you mean. This function is $x^2$, but at
# $x = 1$ another branch computes it:

# %%
def square(x):
    return x * x if x != 1 else 0 * x + 1

for x in 0.9, 1.0, 1.1:
    slope = gradient(square, torch.tensor(x)).item()
    print(f'x = {x}: value {square(x):.2f}, slope {slope:.2f}')

# %% [markdown]
# The value at 1 is right, but the slope should be 2. In the branch that ran, the result is a constant. For continuous
# functions put together from smooth pieces, {cite:t}`bolte2020mathematical` prove that such points are rare: a random input
# hits one with probability zero.
#
# ```{exercise} ★ Experiment: what is in .grad?
# :label: autodiff-predict
# Let `x` be a tensor with the single number $x > 0$. Predict `x.grad` after each of these lines, if it is `None` before:
#
# 1. `for _ in range(3): (x * x).backward()`
# 2. `(x * x.detach()).backward()`
# 3. `with torch.no_grad(): y = x * x`, then `(x * y).backward()`
# 4. `(x * x.item() + x).backward()`
#
# Write `predicted(x)`, which returns the four numbers as a list, without torch.
# ```

# %%
def predicted(x):
    """A list of four floats, the fields grad; x > 0 is a float.

    predicted(1.0) is [6.0, 1.0, 1.0, 2.0].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def four_lines(x):
    inputs = [torch.tensor(x, requires_grad=True) for _ in range(4)]
    a, b, c, d = inputs
    for _ in range(3):
        (a * a).backward()
    (b * b.detach()).backward()
    with torch.no_grad():
        y = c * c
    (c * y).backward()
    (d * d.item() + d).backward()
    return [t.grad.item() for t in inputs]

cases = dict(x=on(1.0, 2.0, 0.5) | scalars(0.001, 9))
grade(predicted, four_lines, without=['torch.tensor', 'torch.Tensor.backward'], **cases)

# %% [markdown]
# ```{solution-start} autodiff-predict
# :class: dropdown
# ```
# 1. Three gradients $2x$ add up to $6x$.
# 2. The second factor is a constant with the value $x$, so the derivative is $x$.
# 3. No record leads from $y$ to $x$. The derivative is $y = x^2$.
# 4. `item()` gives a plain number $x$, a constant factor. The second term adds 1.
#
# Of the wrong answers, the first lets the last call replace the others, the second differentiates through `detach`, and the
# third differentiates through `no_grad`.

# %% jupyter={"source_hidden": true}
def predicted_solution(x):
    return [6 * x, x, x**2, x + 1]

def last_call_alone(x):
    return [2 * x, x, x**2, x + 1]

def through_detach(x):
    return [6 * x, 2 * x, x**2, x + 1]

def through_no_grad(x):
    return [6 * x, x, 3 * x**2, x + 1]

assert grade(predicted_solution, four_lines, **cases)
assert not grade(last_call_alone, four_lines, **cases)
assert not grade(through_detach, four_lines, **cases)
assert not grade(through_no_grad, four_lines, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Program: a gradient in pieces
# :label: autodiff-pieces
# A function `loss(w, X)` gives the *mean* over the rows of `X` of some number that depends on the row and on `w`. It refuses
# more than three rows at once. Write `in_pieces(loss, w, X)`: the gradient with respect to `w` of the mean over all rows.
# ```

# %%
def in_pieces(loss, w, X):
    """The gradient at w of the mean over all rows of X: a tensor (d,).

    w is a tensor of shape (d,) and X one of shape (n, d), n >= 1.
    loss takes tensors of shapes (d,) and (k, d) with 1 <= k <= 3.
    If loss is the mean of X @ w, then in_pieces(loss, w, X) is X.mean(0).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def few_rows(w, X):
    if not 1 <= len(X) <= 3:
        raise ValueError('from one to three rows at once')
    return ((X @ w) ** 2).mean()

def by_formula(loss, w, X):
    return 2 / len(X) * X.T @ (X @ w)

cases = dict(
    loss=[few_rows], w=vectors(2).map(torch.tensor),
    X=matrices((1, 8), 2, -3, 3, edges=True).map(torch.tensor),
)
grade(in_pieces, by_formula, **cases)

# %% [markdown]
# ```{solution-start} autodiff-pieces
# :class: dropdown
# ```
# The sum over a piece of $k$ rows is $k$ times its mean, and the mean over all rows is the sum of these sums, divided by
# $n$. So we call `backward` on the mean of each piece, times $k/n$, and the gradients add up. Of the wrong answers, the
# first averages the means although the last piece may be shorter, the second keeps only the last piece, and the third asks
# for all rows at once.

# %% jupyter={"source_hidden": true}
def in_pieces_solution(loss, w, X):
    w = w.detach().requires_grad_()
    for piece in X.split(3):
        (loss(w, piece) * len(piece) / len(X)).backward()
    return w.grad

def mean_of_means(loss, w, X):
    w = w.detach().requires_grad_()
    for piece in X.split(3):
        (loss(w, piece) / len(X.split(3))).backward()
    return w.grad

def last_piece(loss, w, X):
    return gradient(lambda w: loss(w, X.split(3)[-1]) * len(X.split(3)[-1]) / len(X), w)

def at_once(loss, w, X):
    return gradient(lambda w: loss(w, X), w)

assert grade(in_pieces_solution, by_formula, **cases)
assert not grade(mean_of_means, by_formula, **cases)
assert not grade(last_piece, by_formula, **cases)
assert not grade(at_once, by_formula, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def flight_slopes(angle, speed):  # by autograd
    angle, speed = (torch.tensor(v, requires_grad=True) for v in (angle, speed))
    return torch.stack(torch.autograd.grad(distance(angle, speed), (angle, speed)))

def by_complex_steps(angle, speed, h=1e-30):  # distance with complex inputs: no difference, so no digits are lost
    angle, speed = complex(angle), complex(speed)
    return [flown(angle + h * 1j, speed).imag / h, flown(angle, speed + h * 1j).imag / h]

def flown(angle, speed, dt=0.01):
    x, y, u, v = 0, 1.8, speed * np.cos(angle), speed * np.sin(angle)
    while y.real > 0:
        drag = 0.02 * (u * u + v * v) ** 0.5
        u, v = u - dt * drag * u, v - dt * (9.81 + drag * v)
        x, y = x + dt * u, y + dt * v
    return x - y * u / v

verify(
    'autograd gives the derivatives of the flight',
    lambda angle, speed: close(flight_slopes(angle, speed), by_complex_steps(angle, speed)),
    slip=('in metres for each degree',
          lambda angle, speed: close(flight_slopes(angle, speed)[0] / 57.3, by_complex_steps(angle, speed)[0])),
    angle=scalars(0.2, 1.2), speed=scalars(3, 12), tries=8,
)

def beats(degrees, other):
    return flown(np.radians(degrees), 25.0) > flown(np.radians(other), 25.0)

verify(
    'a throw at 40 degrees goes further than one at 45, and this one further than one at 50',
    beats, slip=('the steeper the further', lambda degrees, other: beats(other, degrees)), degrees=[40], other=[45, 50],
)
verify(
    'the derivative of the flight with respect to the angle is negative at 45 degrees and positive at 35',
    lambda degrees: (flight_slopes(np.radians(degrees), 25.0)[0] > 0).item() == (degrees < 40),
    slip=('without the drag', lambda degrees: (np.cos(np.radians(2 * degrees)) >= 0) == (degrees < 40)), degrees=[35, 45],
)

# %% tags=["checks"]
def cubes_as_by_hand(x, factor):
    return close(factor * gradient(lambda x: (x**3).sum(), torch.tensor(x)), 3 * x**2)

verify(
    'gradient(f, x) is the gradient', lambda x: cubes_as_by_hand(x, 1),
    slip=('adds up two calls', lambda x: cubes_as_by_hand(x, 2)), x=vectors((1, 5)),
)

def asked(times, v):
    x = torch.tensor(v, requires_grad=True)
    for _ in range(times):
        (x**3).sum().backward()
    return x.grad

verify(
    'gradients accumulate', lambda times, v: close(asked(times, v), times * 3 * v**2),
    slip=('lets a second call replace the gradient', lambda times, v: close(asked(times, v), 3 * v**2)),
    times=[1, 2, 5], v=vectors(3),
)
verify(
    'with x² detached, x · x² has the slope x²',
    lambda x: close(gradient(lambda x: x * (x * x).detach(), torch.tensor(x)), x**2),
    slip=('forgets to detach x²', lambda x: close(gradient(lambda x: x * x * x, torch.tensor(x)), x**2)), x=scalars(),
)
verify(
    'autograd gives the slope of the branch that ran',
    lambda x: close(gradient(square, torch.tensor(x)), 2 * x if x != 1 else 0),
    slip=('the slope of the function', lambda x: close(gradient(square, torch.tensor(x)), 2 * x)), x=[0.9, 1.0, 1.1],
)

# %% [markdown]
# ## Reverse mode: a tape that is read backwards
#
# How does `backward` find the derivatives? Take a small program, $y = u \sin u$ with $u = wx + b$. While it runs, we write
# each step on a list, the **tape**. Beside the value of the step we write its derivatives with respect to the numbers that
# it was computed from:
#
# | step | derivatives |
# |---|---|
# | $p = w x$ | $x$ with respect to $w$, $w$ with respect to $x$ |
# | $u = p + b$ | 1 and 1 |
# | $s = \sin u$ | $\cos u$ |
# | $y = u s$ | $s$ with respect to $u$, $u$ with respect to $s$ |
#
# Then we go back from the end. For each step we want its **adjoint**, the derivative of the result $y$ with respect to the
# value of that step, written with a bar. At the end $\bar y = 1$. Next, $\bar s = u$. The value $u$ is used twice, in the
# product and in the sine, so two terms are added: $\bar u = s + \bar s \cos u$. In this way each step passes its adjoint on
# to the numbers that it was computed from.
#
# For any program, write $v_k = \varphi_k(v_1, \dots, v_{k-1})$ for step $k$. Most steps use one or two of their arguments,
# and inputs use none. The last value $v_K$ is the result. To say what the adjoint $\bar v_k$ is when later steps depend on
# $v_k$, stop the program after step $k$, take $v_1, \dots, v_k$ as free variables, and compute the rest from them. This
# makes the result a function $F_k(v_1, \dots, v_k)$, and $\bar v_k = \partial F_k / \partial v_k$. For an input, this is the
# partial derivative of the program.
#
# ```{prf:theorem} Reverse mode
# :label: thm-reverse-mode
# Let every $\varphi_k$ be differentiable at the values that occur. Then $\bar v_K = 1$, and for $i < K$
#
# $$\bar v_i = \sum_{k > i} \bar v_k\, \frac{\partial \varphi_k}{\partial v_i} ,$$
#
# where only those $k$ count whose $\varphi_k$ uses $v_i$. So if the tape is read backwards and each entry adds $\bar
# v_k\, \partial\varphi_k/\partial v_i$ to the adjoints of its arguments, every adjoint is complete when its turn
# comes.
# ```
#
# ```{prf:proof}
# :class: dropdown
# $F_K = v_K$, so $\bar v_K = 1$. Cutting one entry earlier means putting $\varphi_k$ in the place of $v_k$:
# $F_{k-1}(v_1, \dots, v_{k-1}) = F_k\big(v_1, \dots, v_{k-1}, \varphi_k(v_1, \dots, v_{k-1})\big)$. All these functions are
# differentiable, and the chain rule {eq}`dl.chain.sum` gives
#
# $$\frac{\partial F_{k-1}}{\partial v_i} = \frac{\partial F_k}{\partial v_i} + \bar v_k\, \frac{\partial \varphi_k}{\partial v_i}
# \qquad (i < k) .$$
#
# Start from $\partial F_K/\partial v_i = 0$ and add these up for $k = K, K - 1, \dots, i + 1$. The left side is then
# $\partial F_i/\partial v_i = \bar v_i$.
# ```
#
# ### A reverse-mode engine in Python
#
# We need numbers that do arithmetic and know the derivatives of each step. The method `result` gets the value of a step, and
# for each argument the pair of the argument and the derivative with respect to it. What happens with the pairs is decided
# later, by the two modes. Each is a subclass with its own `result`.

# %%
class Number:
    """Arithmetic with the derivatives of each step."""

    def __init__(self, value):
        self.value = value

    def result(self, value, *pairs):
        return Number(value)

    def __add__(a, b):
        b = b if isinstance(b, Number) else type(a)(b)
        return a.result(a.value + b.value, (a, 1.0), (b, 1.0))

    def __mul__(a, b):
        b = b if isinstance(b, Number) else type(a)(b)
        return a.result(a.value * b.value, (a, b.value), (b, a.value))

    def __pow__(a, k):
        return a.result(a.value**k, (a, k * a.value ** (k - 1)))

# %%
def sin(a):
    return a.result(np.sin(a.value), (a, np.cos(a.value)))

def cos(a):
    return a.result(np.cos(a.value), (a, -np.sin(a.value)))

def minus(a, b):
    return a + b * -1.0

def over(a, b):
    return a * b**-1.0

def above(a, b):
    return a.value > b

Number.sin, Number.cos = sin, cos
Number.__radd__, Number.__rmul__ = Number.__add__, Number.__mul__
Number.__sub__, Number.__truediv__, Number.__gt__ = minus, over, above

# %% [markdown]
# For reverse mode, each number is written on the tape with its pairs. The sweep is the theorem, line by line:

# %%
class Node(Number):
    tape = []

    def __init__(self, value, pairs=()):
        self.value, self.pairs, self.bar = value, pairs, 0.0
        Node.tape.append(self)

    def result(self, value, *pairs):
        return Node(value, pairs)

# %%
def sweep(f, inputs):
    """f at these numbers, and its derivative with respect to each."""
    Node.tape = []
    nodes = [Node(value) for value in inputs]
    out = f(*nodes)
    out.bar = 1.0
    for node in reversed(Node.tape):
        for argument, derivative in node.pairs:
            argument.bar += node.bar * derivative
    return out.value, [node.bar for node in nodes]

# %% [markdown]
# This is a complete engine. We run the small program at $w = 2$, $x = 0.5$, $b = 0.2$ and print its tape:

# %%
def small(w, x, b):
    u = w * x + b
    return u * u.sin()

y, slopes = sweep(small, [2.0, 0.5, 0.2])
for name, node in zip('wxbpusy', Node.tape):
    print(f'{name}: value {node.value:6.3f}, adjoint {node.bar:6.3f}')

# %% mystnb={"image": {"alt": "A graph from left to right: w and x lead to p, which with b leads to u. From u one arrow goes straight to y, and another by way of s, the sine. Each node shows its name, its value and its adjoint."}} tags=["hide-input"]
at = {'w': (0, 2), 'x': (0, 1), 'b': (1, 0.2), 'p': (1, 1.5), 'u': (2, 1), 's': (3, 1.7), 'y': (4, 1)}
nodes = dict(zip('wxbpusy', Node.tape))
names = {id(node): name for name, node in nodes.items()}
steps = {'p': 'p = wx', 'u': 'u = p + b', 's': 's = sin u', 'y': 'y = us'}
fig, ax = plt.subplots(figsize=(6, 3))
for end, node in nodes.items():
    for argument, _ in node.pairs:
        ax.annotate('', at[end], at[names[id(argument)]], arrowprops=dict(
            arrowstyle='-|>', color=GREY, lw=1, shrinkA=25, shrinkB=25))
for name, (i, j) in at.items():
    for line, (text, colour) in enumerate(((steps.get(name, name), GREY), (f'{nodes[name].value:.3f}', 'C0'),
                                           (f'{nodes[name].bar:.3f}', 'C1'))):
        ax.text(i, j + 0.2 - 0.2 * line, text, ha='center', va='center', color=colour, size=9)
ax.text(2.7, 0.25, 'value', color='C0')
ax.text(3.3, 0.25, 'adjoint', color='C1')
ax.set(xlim=(-0.35, 4.4), ylim=(-0.15, 2.35))
ax.axis('off');

# %% [markdown] tags=["caption"]
# The values are computed from left to right, the adjoints from right to left. Two arrows leave $u$, so two terms add up to
# its adjoint.

# %% [markdown]
# The ball flies with our numbers, too. Our engine gives the same derivatives as PyTorch:

# %%
metres, (by_angle, by_speed) = sweep(distance, [np.pi / 4, 25.0])
print(f'{by_angle:.2f} m for each radian, {by_speed:.2f} m for each m/s')
print('derivatives on the tape:', sum(len(n.pairs) for n in Node.tape))

# %% [markdown]
# The last line shows what reverse mode costs. The sweep makes one multiplication for each derivative on the tape, so it
# takes about as long as the program, *however many inputs there are*. {cite:t}`baur1983complexity` proved it: a function and
# all its derivatives take at most five times the operations of the function. The price is memory, because the tape keeps
# every step until the sweep.
#
# ### Tensors: vector-Jacobian products
#
# PyTorch does not record each number, but each operation on whole tensors. For an operation $\mathbf{v} =
# \varphi(\mathbf{a})$ the step of the sweep becomes $\bar{\mathbf{a}} \mathrel{+}= \mathbf{J}_\varphi^\top
# \bar{\mathbf{v}}$, a **vector-Jacobian product**. The Jacobian itself is never formed. Each operation has a rule instead,
# where $\mathbf{g}$ is the adjoint of its result:
#
# | operation | rule for the adjoint |
# |---|---|
# | $\mathbf{a} \odot \mathbf{b}$, entry by entry | $\mathbf{g} \odot \mathbf{b}$ and $\mathbf{g} \odot \mathbf{a}$ |
# | $\mathbf{A}\mathbf{B}$ | $\mathbf{G}\mathbf{B}^\top$ and $\mathbf{A}^\top\mathbf{G}$ |
# | sum of all entries | a copy of $g$ for each entry |
# | copies by broadcasting | the sum over the copies |
#
# We compare the second rule with PyTorch. `torch.autograd.grad` returns derivatives and leaves `grad` alone:

# %%
rng = np.random.default_rng(0)
A, B, G = (torch.tensor(rng.normal(size=shape))
           for shape in ((2, 3), (3, 2), (2, 2)))
A.requires_grad_()
rule = G @ B.T
theirs, = torch.autograd.grad(A @ B, A, G)
print(rule.numpy().round(3), theirs.numpy().round(3), sep='\n')

# %% [markdown]
# ```{exercise} ★★ Pencil: the rule for a cumulative sum
# :label: autodiff-cumsum
# The cumulative sum has the entries $v_k = a_1 + \dots + a_k$. Find its rule: from the adjoint $\mathbf{g}$ of the result,
# the adjoint of $\mathbf{a}$. Write `cumsum_rule(g)` in NumPy, without a loop.
# ```

# %%
def cumsum_rule(g):
    """The adjoint of a, from the adjoint g of its cumulative sum.

    Both are arrays of shape (n,), n >= 1.
    cumsum_rule(np.array([0.0, 1.0])) is array([1., 1.]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_the_jacobian(g):  # column i of the Jacobian is the cumulative sum of a one at place i
    return np.array([np.cumsum(one) @ g for one in np.eye(len(g))])

cases = dict(g=vectors((1, 6), edges=True))
grade(cumsum_rule, by_the_jacobian, lines=6, **cases)

# %% [markdown]
# ```{solution-start} autodiff-cumsum
# :class: dropdown
# ```
# The number $a_i$ is a term of $v_i, v_{i+1}, \dots, v_n$. So its adjoint is $g_i + g_{i+1} + \dots + g_n$, a cumulative sum
# from the other end. Of the wrong answers, the first forgets to transpose the Jacobian, the second leaves out the term
# $g_i$, and the third gives each entry the whole sum.

# %% jupyter={"source_hidden": true}
def cumsum_rule_solution(g):
    return np.cumsum(g[::-1])[::-1]

def not_transposed(g):
    return np.cumsum(g)

def without_its_own_term(g):
    return np.cumsum(g[::-1])[::-1] - g

def whole_sum(g):
    return np.full(len(g), g.sum())

assert grade(cumsum_rule_solution, by_the_jacobian, lines=6, **cases)
assert not grade(not_transposed, by_the_jacobian, lines=6, **cases)
assert not grade(without_its_own_term, by_the_jacobian, lines=6, **cases)
assert not grade(whole_sum, by_the_jacobian, lines=6, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def rational(x, y):  # every operation of the engine
    return (x * y.sin() - 2.0) / (x * x + y.cos() ** 2 + 1.0) + x

def slopes_as_torch(f, inputs, seed=1.0):
    tensors = [torch.tensor(v, requires_grad=True) for v in inputs]
    wanted = torch.autograd.grad(f(*tensors), tensors)
    return close(seed * np.array(sweep(f, inputs)[1]), torch.stack(wanted), atol=1e-10, rtol=1e-10)

verify(
    'the engine gives the gradients of torch to 1e-10',
    lambda x: slopes_as_torch(rational, x) and slopes_as_torch(small, [*x, 0.3]),
    slip=('starts the sweep with 2', lambda x: slopes_as_torch(rational, x, 2.0)), x=vectors(2, -3, 3), tries=50,
)
verify(
    'the engine gives the value and the slopes of the flight',
    lambda angle, speed: close(sweep(distance, [angle, speed])[1], flight_slopes(angle, speed), atol=1e-9, rtol=1e-9)
    and close(sweep(distance, [angle, speed])[0], flown(angle, speed)),
    slip=('exchanges the inputs',
          lambda angle, speed: close(sweep(distance, [angle, speed])[1], flight_slopes(angle, speed).flip(0))),
    angle=scalars(0.2, 1.2), speed=scalars(3, 12), tries=6,
)
verify(
    'u is used twice: its adjoint is s + u cos u',
    lambda w, x, b: close(sweep(small, [w, x, b])[1][2], np.sin(w * x + b) + (w * x + b) * np.cos(w * x + b)),
    slip=('forgets the way through the sine', lambda w, x, b: close(sweep(small, [w, x, b])[1][2], np.sin(w * x + b))),
    w=scalars(-2, 2), x=scalars(-2, 2), b=scalars(-2, 2), tries=50,
)

def product_rules(seed, left, right):
    rng = np.random.default_rng(seed)
    A, B, G = (torch.tensor(rng.normal(size=n)) for n in ((2, 3), (3, 4), (2, 4)))
    wanted = torch.func.vjp(torch.matmul, A, B)[1](G)
    return left(G, B).shape == A.shape and close(left(G, B), wanted[0]) and close(right(A, G), wanted[1])

verify(
    'the rule of the matrix product',
    lambda seed: product_rules(seed, lambda G, B: G @ B.T, lambda A, G: A.T @ G),
    slip=('exchanges the factors', lambda seed: product_rules(seed, lambda G, B: (B @ G.T), lambda A, G: A.T @ G)),
    seed=seeds(), tries=20,
)

# %% [markdown]
# ## Forward mode, dual numbers and Jacobian-vector products
#
# Reverse mode wants a tape. There is a second way, which keeps nothing. We extend the real numbers by a symbol $\varepsilon
# \ne 0$ with $\varepsilon^2 = 0$, as the complex numbers extend them by $i$ with $i^2 = -1$. A **dual number** $a +
# b\varepsilon$ has a value $a$ and a slope $b$. Multiply two of them:
#
# ```{math}
# :label: autodiff-dual-product
# (a + b\varepsilon)(c + d\varepsilon) = ac + (bc + ad)\,\varepsilon .
# ```
#
# The slope of the product is given by the product rule. For any other differentiable function we *define*
#
# ```{math}
# :label: autodiff-dual
# f(a + b\varepsilon) = f(a) + f'(a)\, b\, \varepsilon .
# ```
#
# By the chain rule, a program that is run on dual numbers then carries the derivative along with each value. The slope of a
# step is the sum of its derivatives, each times the slope of its argument. So our class needs a new `result` and nothing
# else:

# %%
class Dual(Number):
    def __init__(self, value, slope=0.0):
        self.value, self.slope = value, slope

    def result(self, value, *pairs):
        return Dual(value, sum(d * a.slope for a, d in pairs))

# %%
def jvp(f, inputs, direction):
    """The derivative of f at these numbers in a direction."""
    return f(*map(Dual, inputs, direction)).slope

print(f'{jvp(distance, [np.pi / 4, 25.0], [1, 0]):.2f} m for each radian')
print(f'{jvp(distance, [np.pi / 4, 25.0], [0, 1]):.2f} m for each m/s')

# %% [markdown]
# One run answers one question: how does the result change if the inputs move in the direction $\mathbf{v}$? The answer is
# $\mathbf{J}\mathbf{v}$, a **Jacobian-vector product**. For two inputs we needed two runs, and for a million inputs we would
# need a million.
#
# | | one run gives | whole Jacobian of $d$ inputs and $c$ outputs | memory |
# |---|---|---|---|
# | forward mode | $\mathbf{J}\mathbf{v}$ | $d$ runs | nothing extra |
# | reverse mode | $\mathbf{J}^\top\mathbf{g}$ | $c$ runs | every step |
#
# A loss has one output and many inputs. Therefore `backward` is reverse mode. In PyTorch, `torch.func.jvp` and
# `torch.func.vjp` are the two products, and `torch.func.jacfwd` and `torch.func.jacrev` the whole Jacobian, by columns and
# by rows.
#
# Both modes apply exact rules to computed values. So they have no step size, and none of the [errors of finite
# differences](gradients.ipynb).
#
# ### Second derivatives: Hessian-vector products
#
# The sweep itself consists of operations that can be recorded. In PyTorch we ask for it by `create_graph=True`, and then
# differentiate the gradient again. For a vector $\mathbf{v}$ that is held constant,
#
# ```{math}
# :label: autodiff-hvp
# \begin{gathered}
# \nabla_{\mathbf{x}} \langle \nabla f(\mathbf{x}), \mathbf{v}\rangle = \mathbf{H}(\mathbf{x})\,\mathbf{v}, \\
# \text{that is,}\quad \frac{\partial}{\partial x_i} \sum_j \frac{\partial f}{\partial x_j}\, v_j = \sum_j \frac{\partial^2 f}{\partial x_i\,\partial x_j}\, v_j .
# \end{gathered}
# ```
#
# This **Hessian-vector product** takes two sweeps {cite}`pearlmutter1994fast`. For a million variables the Hessian would
# have a million rows and columns, and it is never formed.

# %%
def hvp(f, x, v):
    """The Hessian of f at x, times v."""
    x = x.detach().requires_grad_()
    slopes, = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(slopes, x, v)[0]

# %%
x, v = torch.tensor([1.0, 2.0, -1.0]), torch.tensor([1.0, 1.0, 2.0])
print('two sweeps:   ', hvp(lambda x: (x**3).sum(), x, v))
print('whole Hessian:', torch.func.hessian(lambda x: (x**3).sum())(x) @ v)

# %% [markdown]
# The Hessian of the sum of cubes is diagonal with the entries $6x_i$.
#
# ```{exercise} ★★★ Program: a forward product from two reverse sweeps
# :label: autodiff-two-sweeps
# Use only `torch.autograd.grad` to compute a *forward* product $\mathbf{J}(\mathbf{x})\,\mathbf{v}$, without forming
# $\mathbf{J}$. Write `push(f, x, v)`. Hint: how does $\mathbf{J}^\top\mathbf{g}$ depend on $\mathbf{g}$?
# ```

# %%
def push(f, x, v):
    """A tensor of shape (c,): the Jacobian of f at x, times v.

    f takes a tensor of shape (d,), as x and v are, and gives one of
    shape (c,).
    push(lambda x: 3 * x, x, v) is 3 * v.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def spiral(x):  # (2,) -> (3,)
    return torch.stack([x[1].exp(), x[0] * x[1], x[0].sin()])

def linear(x):  # (2,) -> (1,)
    return (x * torch.tensor([2.0, -3.0])).sum()[None]

def fast_enough(x):  # (2,) -> (40000,): a Jacobian row by row would take minutes
    return (x.sum() * torch.arange(40000.0)).sin() * x[0]

def forward_product(f, x, v):
    return torch.func.jvp(f, (x,), (v,))[1]

cases = dict(
    f=[spiral, linear, fast_enough], x=vectors(2, -2, 2).map(torch.tensor), v=vectors(2, edges=True).map(torch.tensor),
)
banned = ['torch.func.jvp', 'torch.func.jacfwd', 'torch.func.jacrev', 'torch.autograd.functional.jvp',
          'torch.autograd.functional.jacobian', 'torch.func.linearize']
grade(push, forward_product, without=banned, tries=20, **cases)

# %% [markdown]
# ```{solution-start} autodiff-two-sweeps
# :class: dropdown
# ```
# The map $\mathbf{g} \mapsto \mathbf{J}^\top\mathbf{g}$ is linear, and the number $\langle \mathbf{J}^\top\mathbf{g},
# \mathbf{v}\rangle = \langle \mathbf{g}, \mathbf{J}\mathbf{v}\rangle$ has the gradient $\mathbf{J}\mathbf{v}$ with respect
# to $\mathbf{g}$. So make $\mathbf{g}$ a tensor that requires a derivative, with any values, record the first sweep, and run
# a second one. Of the wrong answers, the first differentiates with respect to $\mathbf{x}$ again, the second normalizes the
# direction, and the third takes a difference quotient.

# %% jupyter={"source_hidden": true}
def push_solution(f, x, v):
    x = x.detach().requires_grad_()
    y = f(x)
    g = torch.ones_like(y, requires_grad=True)
    pulled, = torch.autograd.grad(y, x, g, create_graph=True)
    return torch.autograd.grad(pulled, g, v)[0]

def by_x_again(f, x, v):
    return hvp(lambda x: f(x).sum(), x, v)

def unit_direction(f, x, v):
    return push_solution(f, x, v / (v.norm() + 1e-300))

def quotient(f, x, v, h=1e-4):
    return (f(x + h * v) - f(x - h * v)) / (2 * h)

assert grade(push_solution, forward_product, without=banned, tries=20, **cases)
assert not grade(by_x_again, forward_product, without=banned, tries=20, **cases)
assert not grade(unit_direction, forward_product, without=banned, tries=20, **cases)
assert not grade(quotient, forward_product, without=banned, tries=20, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def pushed_as_torch(x, v, length):
    ours = jvp(rational, x, v)
    theirs = torch.func.jvp(rational, tuple(map(torch.tensor, x)), tuple(map(torch.tensor, v)))[1]
    return close(ours * length, theirs, atol=1e-10, rtol=1e-10)

verify(
    'dual numbers give torch.func.jvp to 1e-10', lambda x, v: pushed_as_torch(x, v, 1),
    slip=('divides the slope by the length of v', lambda x, v: pushed_as_torch(x, v, 1 / max(np.linalg.norm(v), 1e-9))),
    x=vectors(2, -3, 3), v=vectors(2), tries=50,
)

def wavy(x):
    return (x[0] * x[1]).sin() + x[1] ** 3 * x[2]

def curves_as_torch(product, x, v):
    x, v = torch.tensor(x), torch.tensor(v)
    return close(product(wavy, x, v), torch.func.hessian(wavy)(x) @ v, atol=1e-10, rtol=1e-10)

def by_quotient(f, x, v, h=1e-5):  # of gradients
    return (gradient(f, x + h * v) - gradient(f, x - h * v)) / (2 * h)

verify(
    'Hessian times vector, exact', lambda x, v: curves_as_torch(hvp, x, v),
    slip=('takes a difference quotient of gradients', lambda x, v: curves_as_torch(by_quotient, x, v)),
    x=vectors(3, -2, 2), v=vectors(3), tries=50,
)

# %% [markdown]
# ## Where it matters: 9,216 derivatives in one sweep
#
# A camera moved while it took this portrait. Each pixel of the photograph is the mean of nine neighbouring pixels in a row,
# rounded to a multiple of 1/255, as in a picture file. We know how the camera moved. Can we compute the sharp portrait?

# %%
face = data.portrait()[20:116, 60:156].mean(2)  # (96, 96) grey levels

def blur(image):  # (96, 96) -> (96, 88)
    return sum(image[:, i:88 + i] for i in range(9)) / 9

photo = torch.tensor(np.round(blur(face) * 255) / 255)

# %% [markdown]
# We look for the image that, blurred by our program, comes closest to the photograph. A small second term prefers images
# whose neighbouring pixels are similar, so that the rounding errors are not amplified:

# %%
def misfit(image):
    across, down = image.diff(dim=1), image.diff(dim=0)
    smooth = (across**2).sum() + (down**2).sum()
    return ((blur(image) - photo) ** 2).sum() + 1e-4 * smooth

# %% [markdown]
# The misfit is a function of 96 · 96 = 9,216 pixels. SciPy's `minimize` finds a minimum if we give it a function that returns
# the value and the gradient. Autograd gives the gradient of the program, whatever the program is:

# %%
def value_and_gradient(pixels):
    image = torch.tensor(pixels).reshape(96, 96).requires_grad_()
    value = misfit(image)
    value.backward()
    return value.item(), image.grad.numpy().ravel()

# %%
found = minimize(value_and_gradient, np.full(9216, 0.5), jac=True,
                 method='L-BFGS-B', options={'maxiter': 100})
sharp = found.x.reshape(96, 96)

def error(image, inside=slice(4, -4)):  # root mean square, away from the rim
    return np.sqrt(((image - face[:, inside]) ** 2).mean())

print(f'error of the photograph:     {error(photo.numpy()):.3f}')
print(f'error of the computed image: {error(sharp[:, 4:-4]):.3f}')
print('runs of the program:', below(found.nfev, 150))

# %% mystnb={"image": {"alt": "Three grey pictures of the face of an astronaut. The photograph is smeared sideways, so that the eyes can hardly be made out. The computed image is nearly as sharp as the true one beside it."}} tags=["hide-input"]
fig, axes = panels(3, height=2.3)
for ax, picture, title in zip(axes, (photo.numpy(), sharp[:, 4:-4], face[:, 4:-4]), ('photograph', 'computed', 'true')):
    show_image(ax, np.round(np.clip(picture, 0, 1), 2), title, vmin=0, vmax=1)

# %% [markdown] tags=["caption"]
# The blurred photograph, the image that explains it best, and the true one, which the computation never saw. Each step of
# the search needs 9,216 derivatives, and one reverse sweep gives them all.

# %% [markdown]
# Without autograd, `minimize` estimates the gradient by finite differences, and forward mode needs one run for each pixel as
# well. On a corner of the image we count how often each way runs the program for one gradient:

# %%
runs = 0

def corner_misfit(pixels):  # of a corner of k x 20 pixels
    global runs
    runs += 1
    corner = torch.as_tensor(pixels).reshape(-1, 20)
    smeared = sum(corner[:, i:12 + i] for i in range(9)) / 9
    return ((smeared - photo[:len(corner), :12]) ** 2).sum()

# %%
for rows in 1, 5, 20:
    pixels, runs = np.full(rows * 20, 0.5), 0
    differences = approx_fprime(pixels, corner_misfit)
    by_differences, runs = runs, 0
    exact = gradient(corner_misfit, torch.tensor(pixels)).numpy()
    gap = below(abs(exact - differences).max(), 1e-6)
    print(f'{len(pixels):3} pixels: finite differences {by_differences} runs,'
          f' autograd {runs}; they differ by {gap}')

# %% [markdown]
# For the whole image, one gradient by finite differences would take more than nine thousand runs, and the search needed a
# hundred gradients. The training of a neural network is the same computation with weights in place of pixels.

# %% tags=["checks"]
def blurs_as_scipy(seed, width):
    image = np.random.default_rng(seed).random((96, 96))
    smeared = convolve1d(image, np.full(width, 1 / width), axis=1)[:, 4:-4]
    return close(blur(image), smeared)

verify(
    'each pixel of the photograph is the mean of nine', lambda seed: blurs_as_scipy(seed, 9),
    slip=('the mean of seven', lambda seed: blurs_as_scipy(seed, 7)), seed=seeds(), tries=5,
)

def misfit_by_numpy(pixels):
    image = pixels.reshape(96, 96)
    smeared = convolve1d(image, np.full(9, 1 / 9), axis=1)[:, 4:-4]
    rough = sum((np.diff(image, axis=axis) ** 2).sum() for axis in (0, 1))
    return ((smeared - photo.numpy()) ** 2).sum() + 1e-4 * rough

def slope_is_that_of_numpy(seed, factor):  # the misfit is quadratic, so a central difference is exact
    pixels, direction = np.random.default_rng(seed).random((2, 9216))
    value, slopes = value_and_gradient(pixels)
    difference = (misfit_by_numpy(pixels + direction) - misfit_by_numpy(pixels - direction)) / 2
    return close(value, misfit_by_numpy(pixels)) and close(factor * slopes @ direction, difference)

verify(
    'the misfit and its gradient', lambda seed: slope_is_that_of_numpy(seed, 1),
    slip=('half of the gradient', lambda seed: slope_is_that_of_numpy(seed, 0.5)), seed=seeds(), tries=5,
)
verify(
    'the computed image is less than half as far from the true one as the photograph',
    lambda times: times * error(sharp[:, 4:-4]) < error(photo.numpy()),
    slip=('exchanges the two images', lambda times: times * error(photo.numpy()) < error(sharp[:, 4:-4])), times=[2],
)

def runs_for(count):
    global runs
    runs = 0
    approx_fprime(np.full(count, 0.5), corner_misfit)
    return runs

verify(
    'finite differences run the program once for each pixel and once more',
    lambda count: runs_for(count) == count + 1, slip=('once for each pixel', lambda count: runs_for(count) == count),
    count=[20, 100],
)

# %% [markdown]
# ## Summary
#
# Autograd records the steps of a program on tensors with `requires_grad`, and `backward` reads this tape from the end, adds
# up adjoints, and *adds* the gradient to `grad`. One reverse sweep gives the derivatives of one number with respect to all
# inputs, at the cost of about one more run and of the memory for all steps; forward mode needs no memory, but one run for
# each input. Both differentiate the steps that ran, so they are exact up to rounding, and they see nothing through `detach`,
# `no_grad` and `item()`.
#
# **Further reading.** Forward mode is due to {cite:t}`wengert1964simple`, reverse mode in its general form to
# {cite:t}`linnainmaa1976taylor`, and networks owe it to {cite:t}`rumelhart1986learning`, where it is called backpropagation.
# {cite:t}`griewank2008evaluating` is the standard work; {cite:t}`baydin2018automatic` survey the subject for machine
# learning.
