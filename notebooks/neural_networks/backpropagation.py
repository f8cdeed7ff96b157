# ---
# jupyter:
#   book:
#     functions:
#       forward: "forward(normal(5, 3), [normal(3, 4), normal(4, 2)], [normal(1, 4), normal(1, 2)])[1]"
#       backward: "backward([normal(5, 3), normal(5, 4)], normal(5, 2), [normal(3, 4), normal(4, 2)])[0][0]"
#       output_delta: "output_delta(normal(5, 3), torch.tensor([0, 1, 2, 1, 0]))"
#     main: bp-backward
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Backpropagation
#
# A network that reads handwritten digits has tens of thousands of weights. Before each step of training we must know, for
# each weight, how the loss changes if this weight grows a little. We could try the weights one after the other, and run the
# network once for each. Backpropagation runs the network once, and gets all these derivatives from a single pass back, from
# the loss to the input. How does this pass work, how can you test it, and what does it cost?
#
# - **You need** [hidden layers](hidden_layers.ipynb), [the chain rule](../calculus/chain_rule.ipynb),
#   [automatic differentiation](../calculus/automatic_differentiation.ipynb),
#   [cross-entropy](../classification/cross_entropy.ipynb), [weight decay](../regression/weight_decay.ipynb) and
#   [momentum](../optimization/momentum.ipynb).
# - **You build** the backward pass of an MLP, a training loop that equals PyTorch's, three tests for a gradient, and a
#   count of multiplications and memory.
# - **Runs in** 6 seconds. All tensors are float64.

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
import torch.nn.functional as F
from torch import nn
from torch.autograd import gradcheck
from torch.utils.checkpoint import checkpoint_sequential
from torch.utils.flop_counter import FlopCounterMode

from nbutils import data
from nbutils.cases import integers, lists, matrices, on, scalars, seeds, square_matrices
from nbutils.checks import below, between, close, grade, verify
from nbutils.figures import GREY, label_lines
from nbutils.training import batches

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the matrices are small: a second thread would mostly wait
plt.style.use('nbutils.book')

# %% [markdown]
# ## Backpropagation by hand: two hidden units, then matrices
#
# Take a network with one input $x$, two hidden units, one output $o$ and no biases. Hidden unit $j$ has the weight $w_j$. It
# computes $z_j = x w_j$ and $h_j = \tanh z_j$. The output is $o = h_1 v_1 + h_2 v_2$, with the weights $v_1$ and $v_2$. It
# should be $y$, and the loss is $\mathcal{L} = \frac12 (o - y)^2$.

# %%
x, y = 2.0, 1.0
w, v = [0.5, -0.25], [1.0, 2.0]
z = [x * w_j for w_j in w]
h = [np.tanh(z_j) for z_j in z]
o = h[0] * v[0] + h[1] * v[1]
loss = (o - y) ** 2 / 2
print(f'h {h[0]:.2f}, {h[1]:.2f}   o {o:.3f}   loss {loss:.2f}')

# %% [markdown]
# This was the **forward pass**. We keep its numbers, because the way back needs them.
# The **backward pass** starts with the derivative of the loss with respect to the output,
# $\partial\mathcal{L}/\partial o = o - y$. Then it goes back along the arrows of the figure, to the
# derivative with respect to each number.

# %% mystnb={"image": {"alt": "A circle x at the left, two circles h1 and h2 in the middle, a circle o at the right, joined by four arrows with their weights. Beside each circle stands its value and below it, in orange, a derivative; below each weight stands its derivative in orange."}} tags=["hide-input"]
numbers = torch.tensor([x, *w, *v], requires_grad=True)  # autograd finds the orange numbers here, as the rules below do
hidden = torch.tanh(numbers[0] * numbers[1:3])
output = hidden @ numbers[3:]
found = torch.autograd.grad((output - y) ** 2 / 2, [numbers, hidden, output])
(dx, *slopes), dh, do = (derivative.tolist() for derivative in found)
dw, dv = slopes[:2], slopes[2:]
fig, ax = plt.subplots(figsize=(6, 2.7))

def write(a, b, number, colour=None):
    ax.text(a, b, f'{number:.2f}'.replace('-', '−'), ha='center', va='center', fontsize=9,
            color=colour or plt.rcParams['text.color'])

spots = {'$x$': (0, 0), '$h_1$': (3, 1), '$h_2$': (3, -1), '$o$': (6, 0)}
for name, place in spots.items():
    ax.add_patch(plt.Circle(place, 0.34, fc='none', ec='C0', lw=1.5))
    ax.text(*place, name, ha='center', va='center', fontsize=10)
for start, end, weight, slope in (('$x$', '$h_1$', w[0], dw[0]), ('$x$', '$h_2$', w[1], dw[1]),
                                  ('$h_1$', '$o$', v[0], dv[0]), ('$h_2$', '$o$', v[1], dv[1])):
    (a, b), (c, d) = spots[start], spots[end]
    away = 0.38 * np.array([c - a, d - b]) / np.hypot(c - a, d - b)
    ax.annotate('', (c - away[0], d - away[1]), (a + away[0], b + away[1]), arrowprops={'arrowstyle': '->', 'color': GREY})
    lift = 0.62 if b + d > 0 else -0.38
    write((a + c) / 2, (b + d) / 2 + lift, weight)
    write((a + c) / 2, (b + d) / 2 + lift - 0.3, slope, 'C1')
for name, value, slope, (right, up) in (('$x$', x, dx, (-0.95, 0)), ('$h_1$', h[0], dh[0], (0, 0.75)),
                                        ('$h_2$', h[1], dh[1], (0, -0.78)), ('$o$', o, do, (0.95, 0))):
    a, b = spots[name]
    write(a + right, b + up + 0.15, value)
    write(a + right, b + up - 0.15, slope, 'C1')
ax.set(xlim=(-1.5, 7.5), ylim=(-2.2, 2), aspect='equal')
ax.axis('off');

# %% [markdown] tags=["caption"]
# Upper numbers: the weights, and the values of the forward pass. Lower numbers, orange: the derivative of the loss with respect to the number above. The $z_j$ and their derivatives are not drawn.

# %% [markdown]
# The backward pass uses three rules, and each is a case of the chain rule:
#
# 1. **For the weight of an arrow**, multiply the derivative at the end of the arrow by the number at its start. For
#    example, $\partial\mathcal{L}/\partial v_1 = (\partial\mathcal{L}/\partial o)\, h_1$. An arrow into
#    hidden unit $j$ leads to $z_j$ first, so
#    $\partial\mathcal{L}/\partial w_1 = (\partial\mathcal{L}/\partial z_1)\, x$.
# 2. **For the number at the start of arrows**, multiply the derivative at the end of each arrow by the weight of the arrow,
#    and add up. From $h_1$ only one arrow leaves, so $\partial\mathcal{L}/\partial h_1 = (\partial\mathcal{L}/\partial o)\,
#    v_1$. From $x$ two arrows leave, so $\partial\mathcal{L}/\partial x = (\partial\mathcal{L}/\partial z_1)\, w_1 +
#    (\partial\mathcal{L}/\partial z_2)\, w_2$.
# 3. **Through the activation $\phi$**, multiply by $\phi'(z)$. For $\phi = \tanh$ it is $\phi'(z) = 1 - \tanh^2 z$, which is
#    $1 - h^2$.
#
# In the code `do` stands for $\partial\mathcal{L}/\partial o$, and so on. The rules give the orange numbers:

# %%
do = o - y
dv = [do * h_j for h_j in h]                            # rule 1
dh = [do * v_j for v_j in v]                            # rule 2
dz = [dh_j * (1 - h_j**2) for dh_j, h_j in zip(dh, h)]  # rule 3
dw = [dz_j * x for dz_j in dz]                          # rule 1
dx = dz[0] * w[0] + dz[1] * w[1]                        # rule 2
print(f'do {do:.2f}   dv {dv[0]:.2f}, {dv[1]:.2f}   dx {dx:.2f}')
print(f'dh {dh[0]:.2f}, {dh[1]:.2f}   dz {dz[0]:.2f}, {dz[1]:.2f}'
      f'   dw {dw[0]:.2f}, {dw[1]:.2f}')

# %% [markdown]
# The orange number below $w_2$ says: if $w_2$ grows by a small $\varepsilon$, the loss changes by
# about $\varepsilon$ times this number. We try it with $\varepsilon = 0.001$:

# %%
moved = np.tanh(x * w[0]) * v[0] + np.tanh(x * (w[1] + 0.001)) * v[1]
print(f'{((moved - y) ** 2 / 2 - loss) / 0.001:.2f}')

# %% [markdown]
# ### The matrix form
#
# A real network has many units, and it works on a batch of $n$ examples. As in [hidden layers](hidden_layers.ipynb), layer
# $l = 1, \dots, L$ computes $\mathbf{z}^{(l)} = \mathbf{h}^{(l-1)}\mathbf{W}^{(l)} + \mathbf{b}^{(l)}$ and
# $\mathbf{h}^{(l)} = \phi(\mathbf{z}^{(l)})$. Here $\mathbf{h}^{(0)}$ is the input, and the last layer has no activation: its
# $\mathbf{z}^{(L)}$ is the output $\mathbf{o}$. Inputs, hidden units and outputs have one row for each example. The loss $\mathcal{L}$
# is the mean over the examples.
#
# The derivatives $\boldsymbol\delta^{(l)} = \partial\mathcal{L}/\partial\mathbf{z}^{(l)}$ have the shape of
# $\mathbf{z}^{(l)}$. The backward pass starts with
# $\boldsymbol\delta^{(L)} = \partial\mathcal{L}/\partial\mathbf{o}$ and goes down to $l = 1$. For matrices, the rules become
#
# ```{math}
# :label: bp-backward
# \begin{aligned}
# \boldsymbol\delta^{(l)} &= \big(\boldsymbol\delta^{(l+1)}\, {\mathbf{W}^{(l+1)}}^\top\big) \odot \phi'\big(\mathbf{z}^{(l)}\big)
# \quad (l < L), \\
# \frac{\partial\mathcal{L}}{\partial\mathbf{W}^{(l)}} &= {\mathbf{h}^{(l-1)}}^\top \boldsymbol\delta^{(l)} , \\
# \frac{\partial\mathcal{L}}{\partial\mathbf{b}^{(l)}} &= \mathbf{1}^\top \boldsymbol\delta^{(l)} ,
# \end{aligned}
# ```
#
# where $\odot$ is the product entry by entry and $\mathbf{1}$ a column of $n$ ones. In the first line, the product with
# the transposed weights is rule 2, and the factor $\phi'$ is rule 3. The second line is rule 1, added up over the
# examples, because all examples use the same weights. The third is rule 1, too: a bias is the weight of an arrow that starts at the number 1. In code, with $\phi = \tanh$:

# %%
def forward(x, Ws, bs):
    hs = [x]                               # h^(0), then h^(1), ...
    for W, b in zip(Ws[:-1], bs[:-1]):
        hs.append(torch.tanh(hs[-1] @ W + b))      # (n, d_l)
    return hs, hs[-1] @ Ws[-1] + bs[-1]            # o: (n, d_L)

# %%
def backward(hs, delta, Ws):               # delta: dL/do, (n, d_L)
    dWs, dbs = [], []
    for l in range(len(Ws), 0, -1):        # W^(l) is Ws[l - 1]
        h = hs[l - 1]                      # (n, d_{l-1})
        dWs.insert(0, h.T @ delta)                     # (d_{l-1}, d_l)
        dbs.insert(0, delta.sum(0, keepdim=True))      # (1, d_l)
        if l > 1:
            delta = (delta @ Ws[l - 1].T) * (1 - h**2)
    return dWs, dbs

# %% mystnb={"image": {"alt": "Three boxes in a row, h0, h1 and o, and the loss. Grey arrows lead to the right, from box to box, with W1 and W2. Orange arrows lead back to the left with delta 2 and delta 1, and from them orange arrows lead down to the derivatives of W2, b2, W1 and b1. Each has its shape below it."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.7))
names = [('$\\mathbf{h}^{(0)}$', '$n \\times d_0$'), ('$\\mathbf{h}^{(1)}$', '$n \\times d_1$'),
         ('$\\mathbf{o}$', '$n \\times d_2$'), ('$\\mathcal{L}$', 'a number')]
for i, (name, shape) in enumerate(names):
    ax.text(3 * i, 2, f'{name}\n{shape}', ha='center', va='center', fontsize=10,
            bbox={'boxstyle': 'round', 'fc': 'none', 'ec': 'C0', 'lw': 1.2})
for i, words in enumerate(('$\\mathbf{W}^{(1)}, \\mathbf{b}^{(1)}, \\tanh$', '$\\mathbf{W}^{(2)}, \\mathbf{b}^{(2)}$', '')):
    ax.annotate('', (3 * i + 2.3, 2), (3 * i + 0.75, 2), arrowprops={'arrowstyle': '->', 'color': GREY})
    ax.text(3 * i + 1.5, 2.5, words, ha='center', fontsize=10)
for i in (1, 2):
    words = f'$\\boldsymbol{{\\delta}}^{{({i})}}$\n$n \\times d_{i}$'
    ax.text(3 * i, 0.4, words, ha='center', va='center', fontsize=10, color='C1')
    ax.annotate('', (3 * i + 0.6, 0.4), (3 * i + 2.4, 0.4 if i == 1 else 1.7),
                arrowprops={'arrowstyle': '->', 'color': 'C1'})
    words = (f'$\\partial\\mathcal{{L}}/\\partial\\mathbf{{W}}^{{({i})}}$: $d_{i - 1} \\times d_{i}$\n'
             f'$\\partial\\mathcal{{L}}/\\partial\\mathbf{{b}}^{{({i})}}$: $1 \\times d_{i}$')
    ax.text(3 * i, -1.4, words, ha='center', va='center', fontsize=10, color='C1')
    ax.annotate('', (3 * i, -0.85), (3 * i, -0.2), arrowprops={'arrowstyle': '->', 'color': 'C1'})
ax.set(xlim=(-0.9, 9.8), ylim=(-2, 3))
ax.axis('off');

# %% [markdown] tags=["caption"]
# The forward pass (grey) and the backward pass (orange) of a network with two layers. The derivative with respect to a matrix
# has the shape of this matrix.

# %% [markdown]
# With cross-entropy as the loss, $\boldsymbol\delta^{(L)} = (\operatorname{softmax}(\mathbf{o}) - \mathbf{Y})/n$, where
# $\mathbf{Y}$ has the labels as one-hot rows. [Cross-entropy](../classification/cross_entropy.ipynb) derives
# it for one example, and the loss is a mean. We compare with
# autograd on a network with three layers:

# %%
def output_delta(o, y):                    # (n, q), (n,) -> (n, q)
    return (o.softmax(1) - F.one_hot(y, o.shape[1])) / len(y)

def start(widths, g):                      # g is a random generator
    pairs = list(zip(widths, widths[1:]))
    Ws = [torch.randn(a, b, generator=g) / a**0.5 for a, b in pairs]
    return Ws, [torch.zeros(1, b) for _, b in pairs]

# %%
g = torch.Generator().manual_seed(0)
Ws, bs = start([4, 6, 5, 3], g)
x, y = torch.randn(10, 4, generator=g), torch.arange(10) % 3
hs, o = forward(x, Ws, bs)
dWs, dbs = backward(hs, output_delta(o, y), Ws)

# %%
for p in Ws + bs:
    p.requires_grad_()
F.cross_entropy(forward(x, Ws, bs)[1], y).backward()
for W, dW in zip(Ws, dWs):
    print(f'largest entry {dW.abs().max():.3f},'
          f' difference {below((dW - W.grad).abs().max(), 1e-15)}')

# %% [markdown]
# With **weight decay** of strength $\lambda$, we minimize $J = \mathcal{L} + \frac\lambda2 \sum_l \|\mathbf{W}^{(l)}\|^2$, where
# $\|\mathbf{W}\|^2$ is the sum of the squared entries. The derivative of the penalty
# needs no backward pass, and is added:
#
# $$ \frac{\partial J}{\partial\mathbf{W}^{(l)}} = {\mathbf{h}^{(l-1)}}^\top \boldsymbol\delta^{(l)} + \lambda \mathbf{W}^{(l)} , $$
#
# and for the biases nothing changes.
#
# ```{exercise} ★★ Program: one matrix, used several times
# :label: bp-repeated
# A network uses the same matrix $\mathbf{W}$ in each of its $T$ layers: $\mathbf{h}_0 = \mathbf{x}$ and
# $\mathbf{h}_t = \tanh(\mathbf{h}_{t-1}\mathbf{W})$ for $t = 1, \dots, T$. You are given
# $\mathbf{G} = \partial\mathcal{L}/\partial\mathbf{h}_T$. Write `repeated(x, W, G, T)`, which returns
# $\partial\mathcal{L}/\partial\mathbf{W}$, without autograd.
# ```

# %%
def repeated(x, W, G, T):
    """dL/dW, a tensor (d, d): x and G are (n, d), W is (d, d), T >= 1.

    For T = 1 and x = 0 the result is 0, because x.T @ delta is.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_autograd(x, W, G, T):
    W = W.clone().requires_grad_()
    h = x
    for _ in range(T):
        h = torch.tanh(h @ W)
    return torch.autograd.grad(h, W, G)[0]

repeated_cases = dict(
    x=lambda W: matrices((1, 3), len(W), -1, 1, edges=True).map(torch.tensor),
    W=square_matrices((1, 3), -1, 1, edges=True).map(torch.tensor),
    G=lambda x: matrices(*x.shape, -2, 2).map(torch.tensor), T=on(1) | integers(1, 5),
)
banned = ['torch.autograd.grad', 'torch.autograd.backward', 'torch.Tensor.backward', 'torch.func.grad', 'torch.func.vjp',
          'torch.func.jacrev', 'torch.func.jvp', 'torch.func.jacfwd', 'torch.func.linearize',
          'torch.autograd.forward_ad.make_dual']
grade(repeated, by_autograd, without=banned, tries=40, **repeated_cases)

# %% [markdown]
# ```{solution-start} bp-repeated
# :class: dropdown
# ```
# Think of $T$ matrices that happen to be equal. Each has its derivative $\mathbf{h}_{t-1}^\top\boldsymbol\delta_t$. If
# $\mathbf{W}$ grows, all $T$ copies grow, so the derivatives add up. The wrong answers count the last use alone, keep only
# what the first use gives, and call autograd.

# %% jupyter={"source_hidden": true}
def repeated_solution(x, W, G, T):
    hs = [x]
    for _ in range(T):
        hs.append(torch.tanh(hs[-1] @ W))
    dW = torch.zeros_like(W)
    for t in range(T, 0, -1):
        delta = G * (1 - hs[t] ** 2)
        dW = dW + hs[t - 1].T @ delta
        G = delta @ W.T
    return dW

def last_use(x, W, G, T):
    for _ in range(T - 1):
        x = torch.tanh(x @ W)
    return x.T @ (G * (1 - torch.tanh(x @ W) ** 2))

def first_use(x, W, G, T):
    hs = [x]
    for _ in range(T):
        hs.append(torch.tanh(hs[-1] @ W))
    for h in hs[:0:-1]:
        delta = G * (1 - h**2)
        G = delta @ W.T
    return x.T @ delta

def by_library(x, W, G, T):
    W = W.clone().requires_grad_()
    for _ in range(T):
        x = torch.tanh(x @ W)
    (x * G).sum().backward()
    return W.grad

assert grade(repeated_solution, by_autograd, without=banned, tries=40, **repeated_cases)
assert not grade(last_use, by_autograd, without=banned, tries=40, **repeated_cases)
assert not grade(first_use, by_autograd, without=banned, tries=40, **repeated_cases)
assert not grade(by_library, by_autograd, without=banned, tries=40, **repeated_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def small_slopes(x, y, w_1, w_2, v_1, v_2, path=1):  # by the three rules; path=0 forgets the second arrow from x
    h = [np.tanh(x * w_1), np.tanh(x * w_2)]
    do = h[0] * v_1 + h[1] * v_2 - y
    dz = [do * v_1 * (1 - h[0] ** 2), do * v_2 * (1 - h[1] ** 2)]
    return [dz[0] * w_1 + path * dz[1] * w_2, dz[0] * x, dz[1] * x, do * h[0], do * h[1]]

def small_by_autograd(x, y, w_1, w_2, v_1, v_2):
    numbers = [torch.tensor(a, requires_grad=True) for a in (x, w_1, w_2, v_1, v_2)]
    x, w_1, w_2, v_1, v_2 = numbers
    loss = (torch.tanh(x * w_1) * v_1 + torch.tanh(x * w_2) * v_2 - y) ** 2 / 2
    return torch.stack(torch.autograd.grad(loss, numbers))

small = {name: scalars(-2, 2) for name in ('x', 'y', 'w_1', 'w_2', 'v_1', 'v_2')}
verify(
    'the three rules give the derivatives of the network with two hidden units',
    lambda **case: close(small_slopes(**case), small_by_autograd(**case)),
    slip=('forgets the second arrow that leaves x',
          lambda **case: close(small_slopes(**case, path=0), small_by_autograd(**case))),
    **small, tries=30,
)
verify(
    'the printed derivatives are those of the rules',
    lambda k: close([dx, *dw, *dv][k], small_by_autograd(2.0, 1.0, *w, *v)[k]),
    slip=('takes the next derivative', lambda k: close([dx, *dw, *dv][k - 1], small_by_autograd(2.0, 1.0, *w, *v)[k])),
    k=[0, 1, 2, 3, 4],
)

# %% tags=["checks"]
def net_of(widths, n, seed):
    g = torch.Generator().manual_seed(seed)
    Ws, bs = start(widths, g)
    bs = [torch.randn(b.shape, generator=g) for b in bs]
    return torch.randn(n, widths[0], generator=g), torch.randint(widths[-1], (n,), generator=g), Ws, bs

def autograd_of(x, y, Ws, bs, lam=0.0):
    leaves = [p.clone().requires_grad_() for p in Ws + bs]
    Ws, bs = leaves[:len(Ws)], leaves[len(Ws):]
    J = F.cross_entropy(forward(x, Ws, bs)[1], y) + lam / 2 * sum((W**2).sum() for W in Ws)
    return torch.autograd.grad(J, leaves)

def by_formula(x, y, Ws, bs, back, lam=0.0):
    hs, o = forward(x, Ws, bs)
    dWs, dbs = back(hs, output_delta(o, y), Ws)
    return [dW + lam * W for dW, W in zip(dWs, Ws, strict=True)] + dbs

def same_gradient(widths, n, seed, back, lam=0.0, factor=1):
    net = net_of(widths, n, seed)
    ours, theirs = by_formula(*net, back, factor * lam), autograd_of(*net, lam)
    return all(close(p, q, atol=1e-12) for p, q in zip(ours, theirs, strict=True))

def slope_of_the_next(hs, delta, Ws):  # phi' of layer l + 1 where that of layer l belongs: only equal widths let it run
    dWs, dbs = [], []
    for l in range(len(Ws), 0, -1):
        dWs.insert(0, hs[l - 1].T @ delta)
        dbs.insert(0, delta.sum(0, keepdim=True))
        delta = delta @ Ws[l - 1].T * (1 - hs[min(l, len(Ws) - 1)] ** 2)
    return dWs, dbs

sizes = dict(widths=lists(on(3), 2, 5), n=integers(1, 4), seed=seeds(), tries=30)
verify(
    'backward is the gradient of the mean cross-entropy with respect to all weights and biases',
    lambda **case: same_gradient(**case, back=backward),
    slip=("takes φ' in the wrong layer", lambda **case: same_gradient(**case, back=slope_of_the_next)), **sizes,
)
verify(
    'backward is right for layers of different widths',
    lambda widths, n, seed: same_gradient(widths, n, seed, backward),
    slip=('forgets to divide by n', lambda widths, n, seed: same_gradient(
        widths, n, seed, lambda hs, delta, Ws: backward(hs, n * delta, Ws))),
    widths=lists(integers(2, 5), 2, 5), n=integers(1, 4), seed=seeds(), tries=30,
)
verify(
    'weight decay adds λ W to the derivatives of the weights',
    lambda lam, **case: same_gradient(**case, back=backward, lam=lam),
    slip=('adds 2 λ W', lambda lam, **case: same_gradient(**case, back=backward, lam=lam, factor=2)),
    lam=scalars(0, 2), **sizes,
)

# %% [markdown]
# ## The training loop: zero_grad, backward, step
#
# Now we train with our own backward pass. The network has 784 inputs, the pixels of an image, 32 hidden units, and 10
# outputs. One epoch goes through all training digits once, in batches of 100:

# %%
train, test = data.mnist('train'), data.mnist('test')
X, y = torch.tensor(train.x), torch.tensor(train.y)            # (4000, 784)
X_test, y_test = torch.tensor(test.x), torch.tensor(test.y)    # (1000, 784)

# %%
def by_hand(lr, lam, seed, back=backward):  # one epoch
    g = torch.Generator().manual_seed(seed)
    Ws, bs = start([784, 32, 10], g)
    for X_b, y_b in batches(g, 100, X, y):
        hs, o = forward(X_b, Ws, bs)
        dWs, dbs = back(hs, output_delta(o, y_b), Ws)
        for W, b, dW, db in zip(Ws, bs, dWs, dbs):
            W -= lr * (dW + lam * W)
            b -= lr * db
    return Ws, bs

# %% [markdown]
# In PyTorch the loop has three calls:
#
# - `optimizer.zero_grad()` forgets the gradients of the batch before.
# - `loss.backward()` runs the backward pass and *adds* the derivative of each parameter `p` to what is stored in `p.grad`.
# - `optimizer.step()` subtracts the learning rate times `p.grad` from each parameter.
#
# With `weight_decay=lam` the optimizer first adds $\lambda$ times the parameter to its gradient. It would do so for the biases,
# too, so we put weights and biases into two groups.
#
# With `zero=False` we leave out the first call below.

# %%
def by_torch(lr, lam, seed, zero=True, momentum=0.0):
    g = torch.Generator().manual_seed(seed)
    Ws, bs = start([784, 32, 10], g)
    for p in Ws + bs:
        p.requires_grad_()
    groups = [{'params': Ws, 'weight_decay': lam}, {'params': bs}]
    optimizer = torch.optim.SGD(groups, lr=lr, momentum=momentum)
    for X_b, y_b in batches(g, 100, X, y):
        if zero:
            optimizer.zero_grad()
        loss = F.cross_entropy(forward(X_b, Ws, bs)[1], y_b)
        loss.backward()
        optimizer.step()
    return [W.detach() for W in Ws], [b.detach() for b in bs]

# %%
def accuracy(Ws, bs):                       # share of right test digits
    right = forward(X_test, Ws, bs)[1].argmax(1) == y_test
    return right.double().mean().item()

ours, theirs = by_hand(0.3, 1e-3, 0), by_torch(0.3, 1e-3, 0)
apart = max((p - q).abs().max() for p, q in zip(ours[0], theirs[0]))
print(f'by hand {accuracy(*ours):.2f}, PyTorch {accuracy(*theirs):.2f}')
print('difference of the weights', below(apart, 1e-10))

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# If you forget `optimizer.zero_grad()`, nothing warns you. Each step then uses the *sum* of the gradients of all batches so
# far. We train with and without this line, without weight decay, and print the share of right test digits, a mean over
# three seeds:
# :::

# %%
nets, means = {}, {}
for zero in (True, False):
    print('with zero_grad' if zero else 'without zero_grad')
    for lr in (0.01, 0.1, 1):
        nets[zero, lr] = [by_torch(lr, 0.0, seed, zero) for seed in range(3)]
        means[zero, lr] = np.mean([accuracy(*net) for net in nets[zero, lr]])
        print(f'  learning rate {lr:4}: {means[zero, lr]:.2f}')

# %% [markdown]
# Guessing would give about one tenth. With zero_grad the largest of the three rates is best, and without zero_grad it is the worst. But with the two small rates the faulty loop is even better after this one epoch. A loop that steps along the sum of all
# gradients has [momentum](../optimization/momentum.ipynb) with the coefficient 1. The function `by_torch` ends at the same weights with `zero=False` as with `zero=True` and
# `momentum=1.0`. If you want momentum, choose it, with a coefficient below 1.

# %% tags=["checks"]
def same_nets(one, other):
    return all(close(p, q, atol=1e-9) for p, q in zip(sum(one, []), sum(other, []), strict=True))

verify(
    'training by hand is training by autograd and SGD, with weight decay on the weights alone',
    lambda lam: same_nets(by_hand(0.3, lam, 0), theirs),
    slip=('halves weight decay', lambda lam: same_nets(by_hand(0.3, lam / 2, 0), theirs)),
    lam=[1e-3],
)
verify(
    'with zero_grad the largest rate is best, without it the worst; for the small rates the faulty loop is ahead',
    lambda last, others: means[True, last] > max(means[True, lr] for lr in others)
    and means[False, last] < min(means[False, lr] for lr in others) - 0.1
    and all(means[False, lr] > means[True, lr] for lr in others),
    slip=('says so of the smallest rate', lambda last, others: means[True, others[0]] > means[True, last]
          and means[False, others[0]] < means[False, last]),
    last=[1], others=[(0.01, 0.1)],
)
verify(
    'without zero_grad, SGD does what momentum with the coefficient 1 does',
    lambda momentum: same_nets(by_torch(0.1, 0.0, 0, momentum=momentum), nets[False, 0.1][0]),
    slip=('takes the coefficient 0.9',
          lambda momentum: same_nets(by_torch(0.1, 0.0, 0, momentum=0.9 * momentum), nets[False, 0.1][0])),
    momentum=[1.0],
)

# %% [markdown]
# ## Gradient checking: central differences, the complex step, gradcheck
#
# Suppose that we forget $\phi'$ in the backward pass. Does the training show it?

# %%
def without_slope(hs, delta, Ws):           # of two layers
    dh = delta @ Ws[1].T                    # rule 3 is missing
    return ([hs[0].T @ dh, hs[1].T @ delta],
            [dh.sum(0, keepdim=True), delta.sum(0, keepdim=True)])

# %%
shares = {}
for name, back in ('right', backward), ('without φ′', without_slope):
    shares[name] = [accuracy(*by_hand(0.3, 0.0, s, back)) for s in range(3)]
    print(f'{name:10} {np.mean(shares[name]):.2f}')

# %% [markdown]
# The network with the wrong gradient learns nearly as much. So a derivative of your own needs a test. The
# usual one compares it with the **central difference**. Choose a direction: one number for each parameter. Add $t$ times these
# numbers to the parameters, and call the loss $f(t)$. For a smooth loss and a small step $h$,
#
# $$ f'(0) = \frac{f(h) - f(-h)}{2h} + O(h^2) . $$
#
# This $h$ is not a hidden unit. If $h$ is too small, the difference of two nearly equal numbers loses its digits: the rounding
# error grows as $1/h$. The best step is computed in [gradients](../calculus/gradients.ipynb). The **complex step**
# {cite}`squire1998using` subtracts nothing. Put the imaginary number $ih$ into the Taylor series,
# $f(ih) = f(0) + ih f'(0) - \frac12 h^2 f''(0) - \dots$, and take the imaginary part:
#
# $$ f'(0) = \frac{\operatorname{Im} f(ih)}{h} + O(h^2) . $$
#
# We compare both with our `backward`, for the small network with three layers and 200 random directions at once. The error is
# the root mean square over the directions. PyTorch's cross-entropy takes no complex numbers, so we write it out:

# %%
g = torch.Generator().manual_seed(0)
Ws, bs = start([4, 6, 5, 3], g)
x, labels = torch.randn(10, 4, generator=g), torch.arange(10) % 3
directions = [torch.randn(200, *p.shape, generator=g) for p in Ws + bs]

def moved_loss(t):                          # number -> (200,)
    moved = [p + t * v for p, v in zip(Ws + bs, directions)]
    o = forward(x.to(moved[0].dtype), moved[:3], moved[3:])[1]
    of_label = o[..., torch.arange(10), labels]        # (200, 10)
    return (o.exp().sum(-1).log() - of_label).mean(-1)

# %%
hs, o = forward(x, Ws, bs)
dWs, dbs = backward(hs, output_delta(o, labels), Ws)
slopes = sum((v * d).sum((1, 2)) for v, d in zip(directions, dWs + dbs))

def central(h):
    return (moved_loss(h) - moved_loss(-h)) / (2 * h)

def complex_step(h):
    return moved_loss(h * 1j).imag / h

def error(estimate):                        # root mean square
    return (estimate - slopes).square().mean().sqrt()

# %%
for h in (1e-2, 1e-3, 1e-4, 1e-5):
    print(f'h = {h:.0e}: central {error(central(h)):.1e},'
          f' complex {error(complex_step(h)):.1e}')
for h, low, high in (1e-8, 1e-9, 1e-7), (1e-12, 1e-5, 1e-3), (1e-100, 0.1, 1):
    print(f'h = {h:.0e}: central {between(error(central(h)), low, high)},'
          f' complex {below(error(complex_step(h)), 2e-15)}')

# %% mystnb={"image": {"alt": "Error against step on logarithmic axes. From right to left, dots of both methods fall together along a steep line. Then a band of the central difference rises to the left. The dots of the complex step fall on to the bottom, where a flat band begins."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.2))
large, small = 10.0 ** -np.arange(1.5, 5.1, 0.5), 10.0 ** -np.arange(1.5, 7.1, 0.5)
ax.loglog(small, [error(complex_step(h)).item() for h in small], 'o', ms=8, mew=1.3, color='C1', mfc='none')
ax.loglog(large, [error(central(h)).item() for h in large], 'o', ms=3.5, color='C0')
ax.loglog([1e-6, 1e-1], [5.9e-12, 5.9e-2], color=GREY, lw=0.8, zorder=1)
tiny = np.array([1e-14, 1e-6])
ax.fill_between(tiny, 1e-17 / tiny, 1e-15 / tiny, color='C0', alpha=0.25, lw=0)
ax.fill_between([1e-14, 1e-8], 1e-17, 2e-15, color='C1', alpha=0.25, lw=0)
ax.text(2e-12, 1e-2, 'central difference', color='C0')
ax.text(1e-11, 1e-14, 'complex step', color='C1')
ax.text(3e-4, 1e-9, 'slope 2', color=GREY)
ax.set(xlabel='step $h$', ylabel='error', ylim=(1e-17, 1));

# %% [markdown] tags=["caption"]
# Right: both errors (filled dots: central difference, circles: complex step) fall along the line of slope 2. Left: rounding
# errors, which differ between computers, lie in the bands. The upper band has slope −1, the lower
# band is flat.

# %% [markdown]
# A step ten times smaller makes both errors a hundred times smaller. But below $h = 10^{-5}$ the error of the central
# difference soon grows again. At $h = 10^{-100}$ the two losses are the same float, so the central difference is 0. The complex step keeps only
# its rounding errors even there. But every operation of the
# program must accept complex numbers, and its own Taylor series must hold for them. ReLU and maximum do not accept them, because complex numbers have no
# order.
#
# ### The test that you type: gradcheck
#
# You seldom write the backward pass of a whole network, but sometimes that of one layer, as a `torch.autograd.Function`.
# Its `forward` calls `ctx.save_for_backward` to keep what `backward` will need. Its `backward` gets the derivative of the
# loss with respect to the output of the layer, and returns that with respect to each input:

# %%
class TanhLayer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h, W, b):
        out = torch.tanh(h @ W + b)
        ctx.save_for_backward(h, W, out)
        return out

    @staticmethod
    def backward(ctx, grad):                # dL/dout
        h, W, out = ctx.saved_tensors
        delta = grad * (1 - out**2)
        return delta @ W.T, h.T @ delta, delta.sum(0, keepdim=True)

# %% [markdown]
# `torch.autograd.gradcheck` compares such a backward pass with central differences, for each entry of each input and output. It wants
# float64. If the backward pass is wrong, `gradcheck` raises an error, or
# returns `False` if we ask for that:

# %%
class WithoutSlope(TanhLayer):
    @staticmethod
    def backward(ctx, grad):
        h, W, out = ctx.saved_tensors
        return grad @ W.T, h.T @ grad, grad.sum(0, keepdim=True)

inputs = [p.detach().requires_grad_() for p in (x, Ws[0], bs[0])]
for layer in TanhLayer, WithoutSlope:
    right = gradcheck(layer.apply, inputs, raise_exception=False)
    print(f'{layer.__name__:12} {right}')

# %% tags=["checks"]
verify(
    "without φ' the network reads nearly as many digits",
    lambda less: np.mean(shares['without φ′']) > np.mean(shares['right']) - less,
    slip=('says so of weights at random',
          lambda less: accuracy(*start([784, 32, 10], torch.Generator().manual_seed(0))) > np.mean(shares['right']) - less),
    less=[0.03],
)

estimates = {'central': central, 'complex': complex_step}

def has_power(method, h, power):  # of the error between two steps
    ratio = (error(estimates[method](h)) / error(estimates[method](h / 10))).log10().item()
    return abs(ratio - power) < 0.05

verify(
    'the error of both is proportional to the square of a large step',
    lambda method, h: has_power(method, h, 2),
    slip=('expects the first power', lambda method, h: has_power(method, h, 1)),
    method=list(estimates), h=[1e-2, 1e-3, 1e-4],
)
def in_bands(h, power):
    return bool(1e-17 / h**power < error(central(h)) < 1e-15 / h**power and error(complex_step(h)) < 2e-15)

verify(
    'for small steps the errors lie in the bands: that of the central difference is inversely proportional to the step',
    lambda h: in_bands(h, 1), slip=('expects the inverse square', lambda h: in_bands(h, 2)),
    h=[1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14],
)
def best_central():
    return min(error(central(10.0**-k)) for k in np.arange(1, 14, 0.25))

verify(
    'the central difference is never better than 1e-11, and the complex step is exact to 2e-15 at 1e-100',
    lambda bound: bool(best_central() > bound and error(complex_step(1e-100)) < 2e-15),
    slip=('expects 1e-9', lambda bound: bool(best_central() > 100 * bound)), bound=[1e-11],
)

layers = {'right': TanhLayer, 'without slope': WithoutSlope}

def accepted(layer):
    return gradcheck(layers[layer].apply, inputs, raise_exception=False)

verify(
    'gradcheck accepts the layer and rejects it without its slope',
    lambda layer: accepted(layer) == (layer == 'right'), slip=('expects that both pass', accepted), layer=list(layers),
)

# %% [markdown]
# ## What the backward pass costs: multiplications and memory
#
# Layer $l$ has $d_l$ units. In the forward pass, it multiplies an $n \times d_{l-1}$ by a $d_{l-1} \times d_l$ matrix. That
# takes $F_l = n\, d_{l-1}\, d_l$ multiplications. The backward pass has two products of the same size for each layer: one for the
# derivative of the weights, and one that carries $\boldsymbol\delta^{(l)}$ on to the layer before. Only the first layer needs
# no second product, because nobody asks for the derivative of the input. Everything else, such as $\phi'$, takes only a
# few times $n\, d_l$ operations. So if the forward pass takes $F = F_1 + \dots + F_L$ multiplications, the backward pass takes
# $2F - F_1$. To try the weights one
# after the other takes a forward pass for each.
#
# `FlopCounterMode` counts the operations of all matrix products that PyTorch runs. Each multiplication comes with an
# addition, so we halve its counts:

# %%
def count(run):                             # forward, backward
    with FlopCounterMode(display=False) as counter:
        loss = run().square().mean()
        forward = counter.get_total_flops() // 2
        loss.backward()
    return forward, counter.get_total_flops() // 2 - forward

# %%
def stack(widths):
    pairs = zip(widths, widths[1:])
    layers = [nn.Sequential(nn.Linear(a, b), nn.Tanh()) for a, b in pairs]
    return nn.Sequential(*layers)

# %%
for widths in [784, 32, 10], [256] * 3, [256] * 17:
    model, x = stack(widths), torch.zeros(100, widths[0])
    F_forward, F_backward = count(lambda: model(x))
    print(f'{len(widths) - 1:2} layers, {widths[0]} inputs: {F_forward:9}'
          f' and {F_backward:9}, ratio {F_backward / F_forward:.2f}')

# %% [markdown]
# In a deep network whose layers have equal widths, the backward pass costs nearly twice the forward pass. In the network for
# digits almost all weights are in the first layer, so both cost about the same.
# And if all weights are frozen and we ask for the derivative of the *input*, each layer needs only the second product:

# %%
model.requires_grad_(False)
F_forward, F_backward = count(lambda: model(x.requires_grad_()))
print(f'frozen weights: ratio {F_backward / F_forward:.2f}')

# %% [markdown]
# ### Memory against recomputation: gradient checkpointing
#
# The backward pass needs all $\mathbf{h}^{(l)}$, so the forward pass must keep these *activations*. The memory that they take
# grows with the number of layers and with the batch. Under `saved_tensors_hooks`, autograd calls our function `pack` for each tensor that
# it keeps. We count each tensor once, without the weights:

# %%
def kept(run, model):                       # bytes that autograd keeps
    weights = {p.data_ptr() for p in model.parameters()}
    tensors = {}
    def pack(tensor):
        if tensor.data_ptr() not in weights:
            tensors[tensor.data_ptr()] = tensor
        return tensor
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        run()
    return sum(tensor.nbytes for tensor in tensors.values())

# %% [markdown]
# **Gradient checkpointing** {cite}`chen2016training` keeps fewer activations. We cut the network into $k$ segments of $L/k$
# layers. In the last segment, where the backward pass begins, we keep all activations. Of each earlier segment
# we keep only the input. The backward pass runs such a
# segment forward again, goes back through it, and forgets it. In PyTorch this is one line. With $k = 1$ it is the plain network:

# %%
model, x = stack([256] * 17), torch.ones(128, 256)
run = lambda: checkpoint_sequential(model, k, x, use_reentrant=False)
for k in (1, 2, 4, 8, 16):
    F_forward, F_backward = count(run)
    print(f'k = {k:2}: {kept(run, model) / 2**20:.2f} MiB kept, backward'
          f' pass costs {F_backward / F_forward:.2f} forward passes')

# %% [markdown]
# One activation, $128 \times 256$ numbers of 8 bytes, takes a quarter of a MiB. Without checkpointing, the input and the 16 results of
# the layers are kept, 17 in all. With $k$ segments we keep the inputs of all $k$ segments, and the $L/k$ results of the last
# one. If $k$ divides $L$, the number of kept activations is
#
# ```{math}
# :label: bp-root
# k + \frac{L}{k} \ge 2\sqrt{L} ,
# ```
#
# with equality for $k = \sqrt{L}$. When the backward pass runs an earlier segment again, it has already forgotten the later
# ones. So it keeps most at its start. The price is less than one more forward pass, because only the part
# $1 - 1/k$ of the layers runs twice.

# %%
def activations(L, k):                      # kept with k segments
    model, x = stack([4] * (L + 1)), torch.zeros(2, 4)
    run = lambda: checkpoint_sequential(model, k, x, use_reentrant=False)
    return kept(run, model) // x.nbytes

# %% mystnb={"image": {"alt": "Kept activations against the number of segments, both axes logarithmic. Two curves with dots on them. That of 16 layers has its lowest dot, 8, at 4 segments; that of 64 layers has its lowest dot, 16, at 8 segments. Both ends of the curves are high, at 17 and 65."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.6, 2.8))
for L, colour in (16, 'C0'), (64, 'C1'):
    points = [(k, activations(L, k)) for k in (1, 2, 4, 8, 16, 32, 64) if k <= L]
    curve = np.geomspace(1, L, 100)
    ax.plot(curve, curve + L / curve, color=colour, lw=1, label=f'{L} layers')
    ax.plot(*zip(*points), 'o', ms=5, color=colour)
ax.set(xscale='log', yscale='log', xlabel='segments $k$', ylabel='kept activations', ylim=(6, 80))
ax.set_xticks([1, 2, 4, 8, 16, 32, 64], ['1', '2', '4', '8', '16', '32', '64'])
ax.set_yticks([8, 16, 32, 64], ['8', '16', '32', '64'])
ax.minorticks_off()
label_lines(ax);

# %% [markdown] tags=["caption"]
# Activations that are kept, counted (dots), and $k + L/k$ (lines). Four times as many layers need only twice the memory, if
# $k$ is the square root of their number.

# %% [markdown]
# ```{exercise} ★★ Pencil: training only some layers
# :label: bp-frozen
# In fine-tuning, some layers are frozen: their weights and biases do not require a gradient. Write
# `backward_cost(widths, trained)`: the number of multiplications in the matrix products of the backward pass for one
# example. The network has the widths $d_0, \dots, d_L$, and `trained[l - 1]` says whether layer $l$ is trained. Autograd
# computes only what it needs, and the input requires no gradient.
# ```

# %%
def backward_cost(widths, trained):
    """Multiplications of the backward pass: an int.

    widths is a list of L + 1 ints, trained a list of L booleans.
    backward_cost([5, 4, 3], [True, True]) is 2 * (20 + 12) - 20 = 44.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_counting(widths, trained):
    model = stack(widths)
    for layer, is_trained in zip(model, trained, strict=True):
        layer.requires_grad_(is_trained)
    if not any(trained):
        return 0
    return count(lambda: model(torch.zeros(1, widths[0])))[1]

frozen_cases = dict(
    widths=lists(integers(1, 5), 2, 5),
    trained=lambda widths: lists(on(True, False), len(widths) - 1, len(widths) - 1),
)
grade(backward_cost, by_counting, tries=40, **frozen_cases)

# %% [markdown]
# ```{solution-start} bp-frozen
# :class: dropdown
# ```
# A trained layer needs the product for its weights. The second product of a layer is needed if some layer *before* it is
# trained. So below the first trained layer nothing is computed, and training only the last layer costs a single product. The wrong
# answers take the second product wherever the layer is trained, never stop at the first trained layer, and ignore the
# frozen layers in between, through which $\boldsymbol\delta$ must pass.

# %% jupyter={"source_hidden": true}
def backward_cost_solution(widths, trained):
    total = 0
    for l in range(len(trained)):
        size = widths[l] * widths[l + 1]
        total += size * trained[l] + size * any(trained[:l])
    return total

def both_where_trained(widths, trained):
    total = sum(2 * widths[l] * widths[l + 1] for l in range(len(trained)) if trained[l])
    return total - trained[0] * widths[0] * widths[1]

def never_stops(widths, trained):
    sizes = [a * b for a, b in zip(widths, widths[1:], strict=False)]
    return sum(s * t for s, t in zip(sizes, trained, strict=True)) + sum(sizes[1:])

def skips_frozen(widths, trained):
    sizes = [a * b for a, b in zip(widths, widths[1:], strict=False)]
    return sum(sizes[l] * (1 + any(trained[:l])) for l in range(len(sizes)) if trained[l])

assert grade(backward_cost_solution, by_counting, tries=40, **frozen_cases)
assert not grade(both_where_trained, by_counting, tries=40, **frozen_cases)
assert not grade(never_stops, by_counting, tries=40, **frozen_cases)
assert not grade(skips_frozen, by_counting, tries=40, **frozen_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: how many segments?
# :label: bp-segments
# A network has $L = 24$ layers, so $\sqrt{L}$ is nearly 5. If $k$ does not divide $L$, PyTorch makes the first $k - 1$ segments
# of $\lfloor L/k \rfloor$ layers each, and the last segment takes the rest. How many activations are kept with $k = 4$, 5
# and 6? Predict three numbers, return them as a list, and compare with `activations(24, k)`. Which $k$ from 1 to 24 is
# best?
# ```

# %%
def predicted_activations():
    """Kept activations for k = 4, 5, 6: a list of three ints."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def are_measured(said):
    if len(said) != 3:
        raise ValueError('give three numbers')
    for k, guess in zip((4, 5, 6), said, strict=True):
        if guess != activations(24, k):
            raise ValueError(f'another number is counted for k = {k}; try it')
    return True

grade(lambda: are_measured(predicted_activations()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} bp-segments
# :class: dropdown
# ```
# With 4 segments of 6 layers, and with 6 segments of 4 layers, $k + L/k = 10$. With $k = 5$ the first four segments have four
# layers each, and eight are left for the last one. So 4 inputs, and 9 activations of the last segment are kept. The
# number 5 is nearest to the root, but 4 and 6 are best, because they divide 24. The wrong answers put 5 into the formula
# and round, expect that the root is best, and forget the result of the last layer.

# %% jupyter={"source_hidden": true}
right_numbers = [activations(24, k) for k in (4, 5, 6)]
assert grade(lambda: are_measured(right_numbers), lambda: True, [()])
assert not grade(lambda: are_measured([10, 10, 10]), lambda: True, [()])
assert not grade(lambda: are_measured([11, 9, 11]), lambda: True, [()])
assert not grade(lambda: are_measured([9, 12, 9]), lambda: True, [()])
counted = [activations(24, k) for k in range(1, 25)]
print('kept:', right_numbers, '  fewest:', [k for k in range(1, 25) if counted[k - 1] == min(counted)])

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def products(widths, n):  # F_1, ..., F_L
    return [n * a * b for a, b in zip(widths, widths[1:], strict=False)]

def costs(widths, n, expected):
    model = stack(widths)
    F_l = products(widths, n)
    return count(lambda: model(torch.zeros(n, widths[0]))) == (sum(F_l), expected(F_l))

verify(
    'the backward pass takes 2F - F_1 multiplications',
    lambda widths, n: costs(widths, n, lambda F_l: 2 * sum(F_l) - F_l[0]),
    slip=('says twice the forward pass', lambda widths, n: costs(widths, n, lambda F_l: 2 * sum(F_l))),
    widths=lists(integers(1, 6), 2, 5), n=integers(1, 4), tries=20,
)

def frozen_costs(widths, n, times):
    model = stack(widths).requires_grad_(False)
    forward, backward = count(lambda: model(torch.zeros(n, widths[0], requires_grad=True)))
    return backward == times * forward

verify(
    'with frozen weights the backward pass costs one forward pass', lambda widths, n: frozen_costs(widths, n, 1),
    slip=('says twice the forward pass', lambda widths, n: frozen_costs(widths, n, 2)),
    widths=lists(integers(1, 6), 2, 5), n=integers(1, 4), tries=20,
)
verify(
    'with k segments, where k divides L, k + L/k activations are kept',
    lambda k, each: activations(k * each, k) == k + each,
    slip=('forgets the inputs of the segments', lambda k, each: activations(k * each, k) == 1 + each),
    k=[1, 2, 3, 5], each=[1, 2, 4],
)

# %% tags=["checks"]
class Live:  # a kept tensor that says when autograd lets it go
    now, most = {}, 0

    def __init__(self, tensor):
        self.tensor, self.place = tensor, tensor.untyped_storage().data_ptr()
        Live.now[self.place] = Live.now.get(self.place, 0) + 1
        Live.most = max(Live.most, len(Live.now))

    def __del__(self):
        Live.now[self.place] -= 1
        if not Live.now[self.place]:
            del Live.now[self.place]

def most_at_once(L, k):  # the other way of torch, whose second forward pass calls the hooks as well
    model, x = stack([4] * (L + 1)), torch.zeros(2, 4, requires_grad=True)
    weights = {p.data_ptr() for p in model.parameters()}
    Live.now, Live.most = {}, 0
    with torch.autograd.graph.saved_tensors_hooks(
            lambda t: t if t.data_ptr() in weights else Live(t), lambda t: t.tensor if isinstance(t, Live) else t):
        checkpoint_sequential(model, k, x, use_reentrant=True).sum().backward()
    return Live.most

verify(
    'the whole backward pass never keeps more activations than its start',
    lambda k, each: most_at_once(k * each, k) == k + each,
    slip=('expects the memory of the plain pass', lambda k, each: most_at_once(k * each, k) == k * each + 1),
    k=[1, 2, 3, 5], each=[1, 2, 4],
)
def pays(k, each, share):
    model, x = stack([4] * (k * each + 1)), torch.zeros(2, 4)
    F_forward, plain = count(lambda: model(x))
    again = count(lambda: checkpoint_sequential(model, k, x, use_reentrant=False))[1] - plain
    return close(again / F_forward, share(k))

verify(
    'the part 1 - 1/k of the layers runs twice', lambda k, each: pays(k, each, lambda k: 1 - 1 / k),
    slip=('says that all of them run twice', lambda k, each: pays(k, each, lambda k: 1.0)), k=[1, 2, 3, 5], each=[1, 2, 4],
)

# %% [markdown]
# ## Summary
#
# From the output back to the first layer, backpropagation multiplies by the transposed weights and by $\phi'$. This gives
# $\boldsymbol\delta^{(l)}$, and ${\mathbf{h}^{(l-1)}}^\top \boldsymbol\delta^{(l)}$ is the derivative of the layer's
# weights. Call `zero_grad()` before each `backward()`. A network can learn even with a wrong gradient, so compare a
# derivative that you have written yourself with central differences or with the complex step. The backward pass costs at
# most twice the forward pass, and checkpointing saves memory at the price of less than one more forward pass.
#
# **Further reading.** {cite:t}`rumelhart1986learning` made the method known. {cite:t}`prince2023understanding`,
# chapter 7, derives the same formulas with columns in place of rows. {cite:t}`martins2003complex` is for those who want to use the complex step.
