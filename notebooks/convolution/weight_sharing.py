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
# same 25 weights take part in all 784 outputs. For a lower loss, some of these outputs need a larger weight, and others a smaller one.
# What is the gradient of a weight that is used many times? And what does the sharing save in a whole network?
#
# - **You need** [convolutions](convolutions.ipynb), the [chain rule](../calculus/chain_rule.ipynb),
#   [backpropagation](../neural_networks/backpropagation.ipynb) and, for the experiment, [pooling](pooling.ipynb) and
#   [hidden layers](../neural_networks/hidden_layers.ipynb).
# - **You build** the gradient of a shared weight and of a convolution kernel, equal to PyTorch's, and LeNet, a convolutional
#   network for handwritten digits, in the style of 1998 and in that of today.
# - **Runs in** 10 seconds. Tensors are float64, and float32 for LeNet.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn.functional import conv1d, conv2d
from torch.utils.flop_counter import FlopCounterMode

from nbutils import data
from nbutils.cases import integers, scalars, seeds, vectors
from nbutils.checks import below, between, close, grade, holds, verify
from nbutils.figures import GREY, panels, show_image
from nbutils.printed import of
from nbutils.training import batches, fit

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the tensors are small: a second thread would mostly wait
torch.set_printoptions(precision=2, sci_mode=False)
plt.style.use('nbutils.book')

# %% [markdown]
# ## The gradient of a shared weight: the sum over its edges
#
# A small model has two inputs and two outputs, $o_1 = w x_1$ and $o_2 = w x_2$, with the same weight $w$. We call each use
# of the weight an **edge**. The loss is $\mathcal{L} = \frac12 (o_1 - y_1)^2 + \frac12 (o_2 - y_2)^2$. Suppose for a
# moment that each edge has a weight of its own, $v_1$ and $v_2$. Then backpropagation gives each of them a
# derivative:

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
# equal to $w$, so $d v_e / dw = 1$. If $\mathcal{L}$ is differentiable, the chain rule has one term for each $v_e$ through
# which $w$ acts on $\mathcal{L}$, namely $\partial \mathcal{L} / \partial v_e$ times 1, and adds them up:
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
# changes of the loss add up. In the example the mean is 1.00, and the difference quotient is 2.00. The mean is the sum
# divided by the number of edges. So with the mean, gradient descent moves this weight in the same direction, but by a shorter step,
# as if its learning rate were smaller. The network still trains, so the mistake is easily overlooked.
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
# An edge may also get its input from another edge with the same weight. This happens in recurrent networks, which use the same
# weight at each time step.
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
# handwritten digit. With the kernel $\mathbf{V}$, the layer should give the same outputs as with Sobel's kernel, which finds vertical
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
# A layer with more channels has such a sum for each pair of an input and an output channel. The pictures of a batch share the
# weights as well, so the gradients of the pictures add up. If the loss is a mean over the batch, so is the gradient.
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
# ## LeNet in PyTorch: from 1998 to now
#
# LeNet {cite}`lecun1998gradient` read the digits on bank cheques. Two convolutional layers, each followed by
# pooling, find patterns, and three dense layers turn them into ten scores. We write two versions. The older one has sigmoids and
# pools by the average of $2 \times 2$ values. The modern one has ReLU and pools by their maximum, as is usual today. The original
# differs from both: its activation was a scaled tanh, its pooling had trainable weights, and all but one of the 16 kernels of its
# second convolution read only some of the channels. Our weights begin with
# [Xavier's initialization](../neural_networks/initialization.ipynb):

# %%
torch.set_default_dtype(torch.float32)

def lenet(act, pool):
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), act(), pool(2),
        nn.Conv2d(6, 16, 5), act(), pool(2), nn.Flatten(),
        nn.Linear(400, 120), act(), nn.Linear(120, 84), act(),
        nn.Linear(84, 10))
    for layer in model:
        if hasattr(layer, 'weight'):
            nn.init.xavier_uniform_(layer.weight)
    return model

# %% mystnb={"image": {"alt": "A row of boxes from left to right: one square 28 by 28, six squares 28 by 28, six squares 14 by 14, sixteen squares 10 by 10, sixteen squares 5 by 5, then bars of 120, 84 and 10 units; the arrows are labelled conv, pool, conv, pool, dense, dense, dense."}} tags=["hide-input"]
fig, ax = panels(1, height=2.1)
maps = [(1, 28, '1×28×28'), (6, 28, '6×28×28'), (6, 14, '6×14×14'),
        (16, 10, '16×10×10'), (16, 5, '16×5×5')]
at, rights = 0.0, []
for k, (channels, side, words) in enumerate(maps):
    for layer in range(min(channels, 6)):
        low = -side / 2 - 1.2 * layer + 3
        ax.add_patch(plt.Rectangle((at + 1.2 * layer, low), side, side, fc='C0', ec='C0', alpha=0.18))
        ax.add_patch(plt.Rectangle((at + 1.2 * layer, low), side, side, fc='none', ec='C0', lw=0.8))
    rights.append((at, at + side + 1.2 * min(channels - 1, 5)))
    ax.text(sum(rights[-1]) / 2, -26 - 8 * (k % 2), words, ha='center', fontsize=9.5)
    at = rights[-1][1] + 15
for units, tall in ((120, 38), (84, 28), (10, 10)):
    ax.add_patch(plt.Rectangle((at, -tall / 2), 3, tall, fc='C1', ec='C1', alpha=0.4))
    ax.text(at + 1.5, -25, str(units), ha='center', fontsize=9.5)
    rights.append((at, at + 3))
    at += 25
for k, words in enumerate(('conv', 'pool', 'conv', 'pool', 'dense', 'dense', 'dense')):
    start, end = rights[k][1] + 1, rights[k + 1][0] - 1
    ax.annotate('', (end, 0), (start, 0), arrowprops={'arrowstyle': '->', 'color': GREY})
    ax.text((start + end) / 2, 22 if k > 3 else 21, words, ha='center', fontsize=9.5, color=GREY)
ax.set(xlim=(-6, at - 10), ylim=(-36, 27), aspect='equal')
ax.axis('off');

# %% [markdown] tags=["caption"]
# LeNet. The kernels are 5 × 5. Each pooling halves the sides. The last 16 maps of 5 × 5, written as 400 numbers, go through
# three dense layers. Six of the 16 channels are drawn.

# %% [markdown]
# ### What sharing saves: weights, not operations
#
# We send an empty picture through the network. At each layer with weights, we count the weights and the edges. In a convolutional
# layer, each weight is used once for each place of the output. So a weight has as many edges as the output has places:

# %%
total = kept = 0
h = torch.zeros(1, 1, 28, 28)
for layer in lenet(nn.ReLU, nn.MaxPool2d):
    h = layer(h)
    if hasattr(layer, 'weight'):
        weights = layer.weight.numel()
        places = h[0, 0].numel()      # 1 in a dense layer
        total, kept = total + weights * places, kept + weights
        print(f'{type(layer).__name__:6} {weights:6,} weights,'
              f' {weights * places:7,} edges')
print(f'all    {kept:6,} weights, {total:7,} edges')

# %% [markdown]
# The second convolution has 2,400 weights, but 240,000 edges. If each edge had a weight of its own, the whole network would need
# 416,520 weights in place of 61,470. But each edge costs a multiplication and an addition, whether its weight is shared or not. The
# FLOP counter of PyTorch finds these two operations for each of the 416,520 edges. We compare with two networks without
# convolutions. One is softmax regression. The other is an MLP with 78 hidden units, so that it has about as many parameters as
# LeNet. The parameters are the weights and the biases:

# %%
def softmax_regression():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 10))

def mlp():
    return nn.Sequential(
        nn.Flatten(), nn.Linear(784, 78), nn.ReLU(), nn.Linear(78, 10))

def lenet_1998():
    return lenet(nn.Sigmoid, nn.AvgPool2d)

def lenet_now():
    return lenet(nn.ReLU, nn.MaxPool2d)

# %%
operations, parameters = {}, {}
for make in softmax_regression, mlp, lenet_1998, lenet_now:
    model = make()
    with FlopCounterMode(display=False) as count:
        model(torch.zeros(1, 1, 28, 28))
    operations[make.__name__] = count.get_total_flops()
    parameters[make.__name__] = sum(p.numel() for p in model.parameters())
    print(f'{make.__name__:18} {parameters[make.__name__]:6,} parameters,'
          f' {count.get_total_flops():7,} operations')

# %% [markdown]
# ### Training on handwritten digits
#
# We train on handwritten digits with Adam. The learning rate rises and falls once during the training. If there is a
# GPU, it is used.

# %%
device = 'cuda' if torch.cuda.is_available() else 'cpu'
train, test = data.mnist('train'), data.mnist('test')
X = torch.tensor(train.x).float().reshape(-1, 1, 28, 28)
X_test = torch.tensor(test.x).float().reshape(-1, 1, 28, 28)
y, y_test = torch.tensor(train.y), torch.tensor(test.y)
print(len(X), 'digits for training,', len(X_test), 'for the test')

# %%
def trained(make, lr, seed, passes, size):
    torch.manual_seed(seed)
    model = make().to(device)
    adam = torch.optim.Adam(model.parameters(), lr, fused=True)
    cycle = torch.optim.lr_scheduler.OneCycleLR(
        adam, lr, total_steps=passes * len(X) // size)
    g = torch.Generator().manual_seed(seed)
    dealt = batches(g, size, X, y, epochs=passes)
    losses = fit(
        model, nn.CrossEntropyLoss(), adam, dealt, scheduler=cycle)
    with torch.no_grad():
        scores = model(X_test.to(device)).cpu()
    return losses[-40:].mean().item(), scores.argmax(1) == y_test

# %% [markdown]
# The two simple networks get six passes over the digits, in batches of 50. We try three learning rates, keep the one with the
# smallest training loss at the end, and train with two more seeds:

# %%
rates = (5e-3, 1e-2, 2e-2)
hits = {}                             # which test digits are right
for make in softmax_regression, mlp:
    tried = [trained(make, lr, 0, 6, 50) for lr in rates]
    best = min(range(3), key=lambda i: tried[i][0])
    more = [trained(make, rates[best], s, 6, 50)[1] for s in (1, 2)]
    hits[make.__name__] = torch.stack([tried[best][1], *more])  # (3, 1000)

# %% [markdown]
# A pass takes longer in LeNet. So LeNet gets only two passes, in batches of 40. We do not choose its learning rate either. Instead
# there is one run for each of the three rates, and each run has its own random start. We also train a version in between. It pools by
# the average as the older version does, but has ReLU:

# %%
def lenet_relu():
    return lenet(nn.ReLU, nn.AvgPool2d)

for make in lenet_now, lenet_relu, lenet_1998:
    hits[make.__name__] = torch.stack([    # (3, 1000)
        trained(make, lr, seed, 2, 40)[1]
        for seed, lr in enumerate(rates)])

# %% [markdown]
# How many of the test digits does each network read correctly? We print the share in the worst and in the best of three runs. The
# shares of the older LeNet differ so much from run to run that we only print a bound:

# %%
for name, three in hits.items():
    shares, like = three.float().mean(1), name.replace('relu', 'now')
    print(f'{name:18} {parameters[like]:6,} parameters,'
          f' {operations[like]:7,} operations,', below(shares.max(), 0.92)
          if name == 'lenet_1998'
          else f'{shares.min():.2f} to {shares.max():.2f}')

# %% [markdown]
# All networks read the same digits. So for each digit we count the runs that read it correctly, subtract these shares for two
# networks, and divide the mean of the differences by its standard error over the digits:

# %%
def in_errors(name, other):
    gain = hits[name].double().mean(0) - hits[other].double().mean(0)
    return gain.mean() / (gain.std() / len(gain) ** 0.5)

for pair in ('lenet_now', 'mlp'), ('mlp', 'softmax_regression'):
    print(' minus '.join(pair), 'in standard errors:',
          between(in_errors(*pair), 2, 20))

# %% [markdown]
# The modern LeNet reads more of the test digits than the MLP, although the MLP has even a few more parameters and took three times
# as many passes. The price is the number of operations, nearly seven times as many. Both read more than softmax regression. This
# standard error is one for other digits, not for other runs. But the worst run of the modern LeNet is still better than the best run of
# the MLP, and the same holds for the MLP and softmax regression.
#
# After two passes, the older LeNet is behind in all runs. Call `trained(lenet_1998, 1e-2, 0, passes=5, size=40)` to see what it
# gains with more passes. The version in between differs from it only in the activation function, and reads almost as many digits as
# the modern one. So in these runs it is the sigmoid, not the average, that makes the older LeNet slow.
#
# ```{exercise} ★★ Experiment: the mean in place of the sum
# :label: sharing-mean
# The first kernels of LeNet have 784 edges for each weight. Divide their gradient by 784, so that it is the mean over
# the edges, and take one step from the same start as with the sum. How many times smaller is the step of these kernels?
# Predict it for `torch.optim.SGD` and for `torch.optim.Adam`, then try it and explain.
# ```

# %%
def times_smaller():
    """Two numbers in a list, for SGD and for Adam, each within 10 percent.

    [2., 2.], for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def step_length(optimizer, divisor):
    torch.manual_seed(0)
    model = lenet_now().double()
    before = model[0].weight.detach().clone()
    step = optimizer(model.parameters(), lr=0.01)
    nn.CrossEntropyLoss()(model(X[:50].double()), y[:50]).backward()
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
# size, so a constant factor cancels, except for the tiny $\epsilon$ in the denominator. With Adam the mistake does no harm that you could
# see, and with gradient descent it looks like a badly chosen learning rate. So test a gradient that you have
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
def better(name, other, errors):  # paired over the test digits; all runs of one against all runs of the other
    apart = hits[name].sum(1).min() > hits[other].sum(1).max()
    return bool(in_errors(name, other) > errors and apart)

verify(
    'by two standard errors and in all runs, the modern LeNet is better than the MLP, and this than softmax regression',
    lambda errors: better('lenet_now', 'mlp', errors) and better('mlp', 'softmax_regression', errors),
    slip=('turns the order around', lambda errors: better('mlp', 'lenet_now', errors)),
    errors=[2],
)
verify(
    'with each rate LeNet with sigmoids is worse than each run with ReLU, with either pooling',
    lambda other: hits['lenet_1998'].sum(1).max() < min(hits[name].sum(1).min() for name in ('lenet_now', other)),
    slip=('calls ReLU with the average as slow', lambda other: hits[other].sum(1).max() < hits['lenet_now'].sum(1).min()),
    other=['lenet_relu'],
)
verify(
    'the operations of LeNet are two for each edge',
    lambda each: operations['lenet_1998'] == operations['lenet_now'] == each * total,
    slip=('counts one operation', lambda each: operations['lenet_now'] == each // 2 * total),
    each=[2],
)

# %% [markdown]
# ## Summary
#
# The gradient of a shared weight is the sum of the derivatives of all its edges, as if each edge had a weight of its own.
# For a convolution kernel with stride 1, this sum is again a convolution, of the input with the derivatives of the output. Sharing
# saves weights, not operations. In our experiment, LeNet with ReLU and max pooling reads more digits than an MLP with about as many
# parameters, and LeNet with average pooling learns faster with ReLU than with sigmoids.
#
# **Further reading.** {cite:t}`lecun1998gradient` describe LeNet and the system that read cheques with it. The article is long, but
# sections I to III are worth the time.
# {cite:t}`zhang2023dive`, chapter 7, trains the older version on pictures of clothes. {cite:t}`goodfellow2016deep`, chapter 9,
# derives the gradients of a layer with channels and a stride. Read it before you write such a layer.
