# ---
# jupyter:
#   book:
#     functions:
#       edge_gradients: "edge_gradients(normal(5, 6), normal(4, 4))"
#       kernel_gradient: "kernel_gradient(normal(5, 6), normal(4, 4))"
#     main: ml.conv.training.sum
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Weight sharing and its gradient
#
# Let a convolutional layer give one output for each of the $28 \cdot 28 = 784$ pixels of a picture, with a kernel of 5 × 5. Then the
# same 25 weights take part in all 784 outputs. At some of these places a larger weight would lower the loss, at others a smaller one.
# What is the gradient of a weight that is used many times? And what does the sharing save in a whole network?
#
# - **You need** [convolutions](convolutions.ipynb), the [chain rule](../calculus/chain_rule.ipynb),
#   [backpropagation](../neural_networks/backpropagation.ipynb) and, for the last part, [LeNet](lenet.ipynb).
# - **You build** the gradient of a shared weight and of a convolution kernel, equal to PyTorch's.
# - **Runs in** 4 seconds. Tensors are float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from copy import deepcopy
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn.functional import conv1d, conv2d
from torch.utils.flop_counter import FlopCounterMode

from nbutils import data
from nbutils.cases import integers, scalars, seeds, vectors
from nbutils.checks import below, close, grade, holds, verify
from nbutils.figures import GREY, panels, show_image
from nbutils.printed import of

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the tensors are small: a second thread would mostly wait
torch.set_printoptions(precision=2, sci_mode=False)
plt.style.use('nbutils.book')

# %% [markdown]
# ## The gradient of a shared weight: the sum over its edges
#
# A small model has two inputs and two outputs, $o_1 = w x_1$ and $o_2 = w x_2$, with the same weight $w$. We call each use
# of the weight, that is, each multiplication by it, an **edge**. The loss is $\mathcal{L} = \frac12 (o_1 - y_1)^2 + \frac12 (o_2 - y_2)^2$.
# Suppose for a moment that each edge has a weight of its own, $v_1$ and $v_2$. Then backpropagation gives each of them a derivative:

# %%
x = torch.tensor([2.0, 4.0])
y = torch.tensor([3.0, 0.5])

def loss(v):                          # v: one weight, or one for each edge
    return ((v * x - y) ** 2).sum() / 2

v = torch.tensor([0.5, 0.5], requires_grad=True)  # equal, but not shared
edges, = torch.autograd.grad(loss(v), v)
print('the two edges:', edges)

# %% [markdown]
# For example, the first output is $0.5 \cdot 2 = 1$ and should be 3, and the derivative is $(o_1 - y_1)\, x_1 = (1 - 3)
# \cdot 2 = -4$. It is negative, so a larger weight would be better for the first edge. For the second edge, a smaller
# weight would be better. Now we share the weight, and ask autograd and a difference quotient for its derivative:

# %%
w = torch.tensor(0.5, requires_grad=True)         # one weight, used twice
shared, = torch.autograd.grad(loss(w), w)
step = 0.01
quotient = (loss(0.5 + step) - loss(0.5 - step)) / (2 * step)
print(f'shared {shared:.2f}, quotient {quotient:.2f}')
print(f'sum of the edges {edges.sum():.2f}, mean {edges.mean():.2f}')

# %% [markdown]
# The derivative is the *sum* of $-4$ and $6$. The reason is the [chain rule](../calculus/chain_rule.ipynb). Let a
# weight $w$ be used on $m$ edges. The loss depends on the weights $v_1, \dots, v_m$ of the edges, and each $v_e$ is
# equal to $w$, so $d v_e / dw = 1$. A change of $w$ reaches $\mathcal{L}$ through each of the $v_e$. If $\mathcal{L}$ is differentiable,
# the chain rule gives each way a term, $\partial \mathcal{L} / \partial v_e$ times 1, and adds the terms up:
#
# ```{math}
# :label: ml.conv.training.sum
# \frac{d \mathcal{L}}{d w} = \sum_{e=1}^m \frac{\partial \mathcal{L}}{\partial v_e} .
# ```
#
# (ml.conv.training.unshared)=
# So backpropagation works for shared weights, too. First run it as if no weight were shared. Then, for each weight, sum the
# derivatives of its edges. You need not do this in PyTorch: if a tensor is used in several places, autograd adds up the
# derivatives that come back from them.
#
# :::{admonition} A tempting mistake
# :class: warning
# It seems fair to take the *mean* over the edges. But if $w$ grows by a little, all edges change at once, and the
# changes of the loss add up. In the example the mean is 1.00, and the difference quotient is 2.00. The mean of $m$ edges has the
# sign of the sum, but it is $m$ times too small. Gradient descent then moves this weight as if its learning rate were $m$ times smaller.
# The loss can still fall, so the mistake is easily overlooked.
# :::
#
# In a convolution, each weight of the kernel has one edge for each output:

# %% mystnb={"image": {"alt": "Five circles x0 to x4 in a row below, three circles y0 to y2 above. From each upper circle three lines lead to the three circles below it, in three colours: the left lines are labelled w0, the middle lines w1, the right lines w2."}} tags=["hide-input"]
fig, ax = panels(1, height=2.2)
for i in range(3):
    for a, colour in enumerate(('C0', 'C1', 'C2')):
        lower, upper = np.array([2 * (i + a), 0]), np.array([2 * i + 2, 2])
        cut = 0.27 * (upper - lower) / np.hypot(*(upper - lower))  # lines end at the circles
        ax.plot(*np.transpose([lower + cut, upper - cut]), color=colour, lw=2)
        ax.text(2 * i + 2 + (-0.6, 0.06, 0.6)[a], 1.45, f'$w_{a}$', color=colour, fontsize=10.5, ha='left' if a else 'right')
for row, letter, places in ((0, 'x', range(5)), (2, 'y', range(1, 4))):
    for k, place in enumerate(places):
        ax.add_patch(plt.Circle((2 * place, row), 0.27, fc='none', ec=GREY))
        ax.text(2 * place, row, f'${letter}_{k}$', ha='center', va='center')
ax.set(xlim=(-0.5, 8.5), ylim=(-0.4, 2.4), aspect='equal')
ax.axis('off');

# %% [markdown] tags=["caption"]
# A convolution of five inputs with a kernel of three weights. Lines of one colour are edges that share a weight. Each of the
# three weights has three edges, one for each output.

# %% [markdown]
# In a recurrent network, the uses of a weight follow one another: it multiplies a number at each time step, and the result of one step goes into the
# next. The sum over the edges is the gradient there, too.
#
# ```{exercise} ★★ Pencil: a weight that is used in each step
# :label: sharing-recurrence
# Let $h_0 = x$ and $h_t = w h_{t-1} + c$ for $t = 1, \dots, T$. Edge $t$ is the use of $w$ in step $t$. Give each edge a weight
# of its own, $v_t$, and find the derivatives of $h_T$ with respect to $v_1, \dots, v_T$ where all of them are equal to $w$. Write
# `edge_derivatives(w, c, x, T)`.
# ```

# %%
def edge_derivatives(w, c, x, T):
    """The derivatives of h_T for edges 1, ..., T: floats, int >= 1 -> list.

    edge_derivatives(2., 0., 3., 2) is [6., 6.].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_unsharing(w, c, x, T):
    v = torch.full((T,), w, requires_grad=True)
    h = torch.tensor(x)
    for t in range(T):
        h = v[t] * h + c
    return torch.autograd.grad(h, v)[0].tolist()

chains = dict(w=scalars(-2, 2), c=scalars(-3, 3), x=scalars(-3, 3), T=integers(1, 6))
grade(edge_derivatives, by_unsharing, **chains)

# %% [markdown]
# ```{solution-start} sharing-recurrence
# :class: dropdown
# ```
# The weight of edge $t$ multiplies $h_{t-1}$. The steps after it multiply the effect by $w$, and there are $T - t$ of
# them. So the derivative is $w^{T-t} h_{t-1}$, and the derivative with respect to the shared weight is the sum over
# $t$. Three mistakes are likely: to take $h_{t-1}$ alone, to count one step too many, and to leave out $c$. Without $c$, all edges
# would have the same derivative.

# %% jupyter={"source_hidden": true}
def edge_derivatives_solution(w, c, x, T):
    h, derivatives = x, []
    for t in range(1, T + 1):
        derivatives.append(w ** (T - t) * h)
        h = w * h + c
    return derivatives

def inputs_alone(w, c, x, T):
    inputs = [x]
    for _ in range(T - 1):
        inputs.append(w * inputs[-1] + c)
    return inputs

def one_step_more(w, c, x, T):
    return [w * d for d in edge_derivatives_solution(w, c, x, T)]

def without_the_constant(w, c, x, T):
    return edge_derivatives_solution(w, 0, x, T)

assert grade(edge_derivatives_solution, by_unsharing, **chains)
assert not grade(inputs_alone, by_unsharing, **chains)
assert not grade(one_step_more, by_unsharing, **chains)
assert not grade(without_the_constant, by_unsharing, **chains)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
holds(
    'ml.conv.training.sum',
    w=scalars(-2, 2), m=3,
    v=of(lambda w: np.array([w, w, w])),
    L=of(lambda v: np.sin(v[0] * v[1]) + v[2] ** 2 + v[0] * v[2]),
)

def unshared_then_collected(seed, collect):  # a small network whose three weights stand on nine edges, and autograd
    g = torch.Generator().manual_seed(seed)
    x, u, w = (torch.randn(n, generator=g).requires_grad_() for n in (5, 3, 3))
    loss = lambda v: ((v * x.unfold(0, 3, 1)).sum(1).tanh() * u).sum()  # v: (3,), or (3, 3) with a row for each output
    v = w.detach().repeat(3, 1).requires_grad_()
    edges, = torch.autograd.grad(loss(v), v)
    return close(collect(edges), torch.autograd.grad(loss(w), w)[0], atol=1e-12, rtol=0)

holds(
    'ml.conv.training.unshared',
    lambda seed: unshared_then_collected(seed, lambda edges: edges.sum(0)),
    slip=('takes the mean over the edges', lambda seed: unshared_then_collected(seed, lambda edges: edges.mean(0))),
    seed=seeds(), tries=30,
)

# %% [markdown]
# ## The gradient of a convolution with respect to its kernel
#
# We put numbers into the convolution of the figure above. Output $i$ is $y_i = \sum_a w_a x_{i+a}$. Suppose that
# backpropagation has already found the derivatives of some loss with respect to the outputs, $\delta_i =
# \partial\mathcal{L}/\partial y_i$. The edge from $x_{i+a}$ to $y_i$ adds its weight times $x_{i+a}$ to $y_i$. So $y_i$ has the
# derivative $x_{i+a}$ with respect to the weight of this edge, and by the chain rule the loss has the derivative
# $\delta_i x_{i+a}$:

# %%
x = torch.tensor([1.0, 2.0, 4.0, 3.0, 1.0])
delta = torch.tensor([1.0, -2.0, 0.5])
windows = x.unfold(0, 3, 1)           # (3, 3): row i is x[i:i + 3]
edges = delta[:, None] * windows      # (3, 3): one row an output
print(edges)
print('sums of the columns:', edges.sum(0))

# %% [markdown]
# Each column belongs to one weight. Autograd finds the same sums:

# %%
w = torch.zeros(3, requires_grad=True)
y = conv1d(x[None, None], w[None, None])[0, 0]
y.backward(delta)                     # starts from the derivatives delta
print(w.grad)

# %% [markdown]
# For pictures, two indices take the place of one, and the kernel is a matrix $\mathbf{V}$. A layer whose output has $r$ rows and $c$
# columns computes $Y_{i,j} = \sum_a \sum_b V_{a,b} X_{i+a,\,j+b}$. With $D_{i,j} = \partial\mathcal{L}/\partial Y_{i,j}$, the
# derivatives of the edges of $V_{a,b}$ add up to
#
# ```{math}
# :label: eq-kernel-gradient
# \frac{\partial \mathcal{L}}{\partial V_{a,b}} = \sum_{i=0}^{r-1} \sum_{j=0}^{c-1} D_{i,j} X_{i+a,\,j+b} .
# ```

# %%
def edge_gradients(X, D):
    k_h, k_w = X.shape[0] - D.shape[0] + 1, X.shape[1] - D.shape[1] + 1
    windows = X.unfold(0, k_h, 1).unfold(1, k_w, 1)   # (r, c, k_h, k_w)
    return D[:, :, None, None] * windows              # (r, c, k_h, k_w)

def kernel_gradient(X, D):
    return edge_gradients(X, D).sum((0, 1))           # (k_h, k_w)

# %% [markdown]
# Compare {eq}`eq-kernel-gradient` with what the layer computes: it is the same sum, with $\mathbf{D}$ in the place of $\mathbf{V}$. So a
# convolutional layer with the kernel $\mathbf{D}$, applied to $\mathbf{X}$, gives the gradient of $\mathbf{V}$. We try it on a
# handwritten digit. The layer is to learn a kernel $\mathbf{V}$ that gives the same outputs as Sobel's kernel, which finds vertical
# outlines. The loss is half the sum of the squared differences between the two outputs. Its derivative with respect to
# $Y_{i,j}$ is the difference at this place, so $\mathbf{D}$ holds these differences. PyTorch, too, has a function for the gradient of a
# kernel, `nn.grad.conv2d_weight`:

# %%
X = torch.tensor(data.mnist('train').x[4]).reshape(28, 28)
sobel = torch.tensor([[1.0, 0, -1], [2.0, 0, -2], [1.0, 0, -1]])
V = torch.full((3, 3), 0.1, requires_grad=True)

def layer(X, V):
    return conv2d(X[None, None], V[None, None])[0, 0]

loss = ((layer(X, V) - layer(X, sobel)) ** 2).sum() / 2
automatic, = torch.autograd.grad(loss, V)             # (3, 3)

# %%
D = (layer(X, V) - layer(X, sobel)).detach()          # (26, 26)
library = nn.grad.conv2d_weight(
    X[None, None], (1, 1, 3, 3), D[None, None])[0, 0]
ours = kernel_gradient(X, D)
print(ours)
for name, other in (
        ('autograd', automatic), ('conv2d_weight', library),
        ('X under the kernel D', layer(X, D))):
    print(name + ', difference:', below((ours - other).abs().max()))
print(D.numel(), 'edges for each weight')

# %% mystnb={"image": {"alt": "Three square panels. Left a handwritten four, dark on light. In the middle the derivatives D, with violet and orange strokes along the borders of the digit. Right the products for one weight: the strokes in violet and orange where the digit has ink, the rest white."}} tags=["hide-input"]
fig, axes = panels(3, height=2.2)
show_image(axes[0], 1 - X, 'digit $\\mathbf{X}$')
show_image(axes[1], D, 'derivatives $\\mathbf{D}$', cmap='PuOr_r', vmin=-4, vmax=4)
show_image(axes[2], edge_gradients(X, D)[:, :, 0, 0], 'edges of $V_{0,0}$', cmap='PuOr_r', vmin=-4, vmax=4)
for ax in axes:
    ax.spines[:].set_visible(True)

# %% [markdown] tags=["caption"]
# The derivatives of the 676 edges of the weight $V_{0,0}$ on one digit. Where they are positive (orange), a smaller weight would lower
# the loss, and where they are negative (violet), a larger one. Their sum is the upper left entry of the gradient above.

# %% [markdown]
# If a layer has several channels, it has a kernel for each pair of an input and an output channel, and each kernel has such a sum. The
# pictures of a batch share the weights as well, so the gradients of the pictures add up. If the loss is the mean over a batch, the gradient
# is the mean of the gradients of the pictures.
#
# ```{exercise} ★★ Program: the kernel's gradient with a stride
# :label: sharing-stride
# A layer with the stride $s$ computes $y_i = \sum_{a=0}^{k-1} w_a x_{si+a}$. Write `strided_gradient(x, delta, k, s)`, the
# derivatives with respect to $w_0, \dots, w_{k-1}$, where $\delta_i = \partial\mathcal{L}/\partial y_i$. Some inputs may lie behind the last window.
# ```

# %%
def strided_gradient(x, delta, k, s):
    """The gradient of the kernel: arrays (n,) and (r,), ints -> array (k,).

    All windows fit: s (r - 1) + k <= n. For x = [1., 2., 3.],
    delta = [1., 10.], k = 1, s = 2 it is [31.].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_torch(x, delta, k, s):
    v = torch.zeros(k, requires_grad=True)
    y = conv1d(torch.tensor(x)[None, None], v[None, None], stride=s)[0, 0]
    y[:len(delta)].backward(torch.tensor(delta))
    return v.grad.numpy()

strided = dict(
    x=lambda delta, k, s: vectors((s * (len(delta) - 1) + k, s * len(delta) + k - 1)),
    delta=vectors((1, 4)), k=integers(1, 4), s=integers(1, 4),
)
grade(strided_gradient, by_torch, **strided)

# %% [markdown]
# ```{solution-start} sharing-stride
# :class: dropdown
# ```
# The edge from $x_{si+a}$ to $y_i$ has the derivative $\delta_i x_{si+a}$, and we sum over $i$. For each $a$ this takes
# every $s$-th input, beginning with $x_a$. It is a mistake to ignore the stride, to take the mean over the outputs, and
# to put the stride on the index of the kernel.

# %% jupyter={"source_hidden": true}
def strided_gradient_solution(x, delta, k, s):
    r = len(delta)
    return np.array([(delta * x[a:a + s * r:s][:r]).sum() for a in range(k)])

def without_stride(x, delta, k, s):
    return strided_gradient_solution(x, delta, k, 1)

def mean_of_the_edges(x, delta, k, s):
    return strided_gradient_solution(x, delta, k, s) / len(delta)

def stride_on_the_kernel(x, delta, k, s):
    return np.array([sum(d * x[min(i + s * a, len(x) - 1)] for i, d in enumerate(delta)) for a in range(k)])

assert grade(strided_gradient_solution, by_torch, **strided)
assert not grade(without_stride, by_torch, **strided)
assert not grade(mean_of_the_edges, by_torch, **strided)
assert not grade(stride_on_the_kernel, by_torch, **strided)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def same_gradient(r, c, k, seed, collect):
    g = torch.Generator().manual_seed(seed)
    X, D = torch.randn(r + k - 1, c + k, generator=g), torch.randn(r, c, generator=g)
    want = nn.grad.conv2d_weight(X[None, None], (1, 1, k, k + 1), D[None, None])[0, 0]
    V = torch.randn(k, k + 1, generator=g).requires_grad_()
    layer(X, V).backward(D)
    return all(close(collect(X, D), other, atol=1e-12, rtol=1e-12) for other in (want, V.grad))

verify(
    'the sums over the edges are the kernel\'s gradient in autograd and in conv2d_weight',
    lambda **case: same_gradient(collect=kernel_gradient, **case),
    slip=('takes the mean over the places', lambda **case: same_gradient(
        collect=lambda X, D: edge_gradients(X, D).mean((0, 1)), **case)),
    r=integers(1, 5), c=integers(1, 5), k=integers(1, 4), seed=seeds(), tries=40,
)

# %% [markdown]
# ## What weight sharing saves: weights, not operations
#
# How much does the sharing save in a whole network? We take [LeNet](lenet.ipynb) and send an empty picture through it. At each layer with
# weights, we count the weights and the edges, without the biases. For one picture, a convolutional layer uses each weight once for each
# place of the output. So it has as many edges as the output has places. The counter of PyTorch counts the operations:

# %%
torch.manual_seed(0)
lenet = nn.Sequential(
    nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
    nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
    nn.Linear(84, 10))

# %%
total = kept = 0
h = torch.zeros(1, 1, 28, 28)
with FlopCounterMode(display=False) as counter:
    for layer in lenet:
        h = layer(h)
        if hasattr(layer, 'weight'):
            weights = layer.weight.numel()
            places = h[0, 0].numel()  # 1 in a dense layer
            total += weights * places
            kept += weights
            print(f'{type(layer).__name__:6} {weights:6,} weights,'
                  f' {weights * places:7,} edges')
print(f'all    {kept:6,} weights, {total:7,} edges,'
      f' {counter.get_total_flops():,} operations')

# %% [markdown]
# The second convolution has 2,400 weights, but 240,000 edges. If each edge had a weight of its own, the whole network would need
# 416,520 weights in place of 61,470. But each edge costs a multiplication and an addition, whether its weight is shared or not. These are
# the 833,040 operations that the counter finds. So sharing saves memory, and it lets each weight learn from all places, but it saves no
# operations.
#
# ```{exercise} ★★ Experiment: the mean in place of the sum
# :label: sharing-mean
# The kernels of LeNet's first layer have 784 edges for each weight. Divide their gradient by 784, so that it is the mean over
# the edges, and take one step. How many times shorter is the step of these kernels than the step with the sum, from the same start?
# Predict it for `torch.optim.SGD` and for `torch.optim.Adam`, then try it and explain.
# ```

# %%
def times_smaller():
    """Two numbers in a list, for SGD and for Adam, each within 10 percent.

    [2., 2.], for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
table = data.mnist('train')
digits, classes = torch.tensor(table.x[:50]).reshape(-1, 1, 28, 28), torch.tensor(table.y[:50])

def step_length(optimizer, divisor):
    model = deepcopy(lenet)
    before = model[0].weight.detach().clone()
    step = optimizer(model.parameters(), lr=0.01)
    nn.CrossEntropyLoss()(model(digits), classes).backward()
    model[0].weight.grad /= divisor
    step.step()
    return (model[0].weight - before).norm().item()

@cache
def measured_factors():
    return [step_length(kind, 1) / step_length(kind, 784) for kind in (torch.optim.SGD, torch.optim.Adam)]

def is_measured(said):
    if len(said) != 2:
        raise ValueError('give two numbers')
    for name, guess, factor in zip(('SGD', 'Adam'), said, measured_factors(), strict=True):
        if not abs(guess - factor) <= 0.1 * factor:
            raise ValueError(f'another factor is measured for {name}; try it')
    return True

grade(lambda: is_measured(times_smaller()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} sharing-mean
# :class: dropdown
# ```
# The step of gradient descent is proportional to the gradient, so it is 784 times smaller. Adam divides the gradient by its own
# size, so a constant factor cancels, except for the tiny $\epsilon$ in the denominator. With Adam the mistake is hardly seen in this
# step, and with gradient descent it looks like a badly chosen learning rate. So test a gradient that you have
# derived yourself against a difference quotient, and do not rely on the training.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured([784, 1]), lambda: True, [()])
assert not grade(lambda: is_measured([784, 784]), lambda: True, [()])
assert not grade(lambda: is_measured([1, 1]), lambda: True, [()])
assert not grade(lambda: is_measured([28, 1]), lambda: True, [()])
print('SGD {:.1f}, Adam {:.2f}'.format(*measured_factors()))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
verify(
    'the operations of LeNet are two for each edge',
    lambda each: counter.get_total_flops() == each * total,
    slip=('counts one operation', lambda each: counter.get_total_flops() == each // 2 * total),
    each=[2],
)

# %% [markdown]
# ## Summary
#
# The gradient of a shared weight is the sum of the derivatives of all its edges, as if each edge had a weight of its own.
# For a convolution kernel with stride 1, this sum is again a convolution, of the input with the derivatives of the output. Sharing
# saves weights, not operations.
#
# **Further reading.** {cite:t}`goodfellow2016deep`, chapter 9, derives the gradients of a layer with channels and a stride. Read it before
# you write such a layer.
