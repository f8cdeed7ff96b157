# ---
# jupyter:
#   book:
#     functions:
#       dense: dense(normal(3, 4), normal(3, 4, 3, 4), normal(3, 4))
#       window: window(normal(4, 5), normal(3, 3), 0.5)
#     main: dl.fc-to-conv.fc
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # From dense layers to convolutions
#
# Shuffle the pixels of a picture, and you no longer recognize anything. Now shuffle all pictures of a data set, each in the
# same way, and train a dense network on them. The network learns as well as before! So it cannot be using what you use: which
# pixels are neighbours. How can a layer make use of neighbouring pixels, and how much does this help?
#
# - **You need** [hidden layers](../neural_networks/hidden_layers.ipynb),
#   [training in minibatches](../regression/minibatch_training.ipynb) and, for one experiment, the
#   [correlation](../probability/expectations.ipynb) of two variables.
# - **You build** a convolutional layer from a dense one, in three steps, and a network that learns well until its inputs are shuffled.
# - **Runs in** 20 seconds. Tensors are float64.

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
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from nbutils import data
from nbutils.cases import integers, matrices, scalars, seeds
from nbutils.checks import below, close, grade, holds, verify
from nbutils.figures import GREY, panels, show_image
from nbutils.training import batches, fit

plt.style.use('nbutils.book')
torch.set_default_dtype(torch.float64)
torch.set_printoptions(precision=2, sci_mode=False)
torch.set_num_threads(1)  # the tensors are small: a second thread would mostly wait

# %% [markdown]
# ## Dense layers: a weight for each pair of pixels
#
# Let $\mathbf{X}$ be a grey picture with $n_h$ rows and $n_w$ columns of pixels. We want a hidden layer that keeps the
# grid, so that we can speak of neighbours: its units form a picture $\mathbf{H}$ of the same shape. In a dense layer, each
# unit $(i, j)$ has a bias $U_{i,j}$ and a weight $W_{i,j,k,l}$ for each pixel $(k, l)$. Before the activation, the unit
# has the value
#
# ```{math}
# :label: dl.fc-to-conv.fc
# H_{i,j} = U_{i,j} + \sum_{k=0}^{n_h - 1} \sum_{l=0}^{n_w - 1} W_{i,j,k,l}\, X_{k,l} .
# ```

# %%
def dense(X, W, U):                   # W (n_h, n_w, n_h, n_w)
    return U + torch.einsum('ijkl,kl->ij', W, X)

# %% [markdown]
# As an example, we build a layer that finds edges: each unit takes the pixel to its right minus the pixel at its own place.

# %%
X = torch.tensor([[0.0, 0, 5, 5],
                  [0.0, 0, 5, 5],
                  [0.0, 0, 0, 5]])
W, U = torch.zeros(3, 4, 3, 4), torch.zeros(3, 4)
for i, j in product(range(3), range(4)):
    W[i, j, i, j] = -1
    if j < 3:
        W[i, j, i, j + 1] = 1
print(dense(X, W, U))

# %% [markdown]
# The layer gives 5 where the picture becomes brighter. At the right border it gives $-5$, because the missing pixel counts as zero. This
# is an ordinary `nn.Linear` layer, whose inputs and outputs are flattened:

# %%
flat = F.linear(X.flatten(), W.reshape(12, 12), U.flatten())
print(flat.reshape(3, 4))
print(W.numel(), 'weights,', W.count_nonzero().item(), 'are not zero')
print(f'for 28 x 28 pixels: {28**4:,} weights')

# %% [markdown]
# A million pixels would need a million times a million weights. But this edge detector consists of only two numbers, $-1$ and 1, and a rule where to
# put them.
#
# ### Shuffled pixels: a dense network does not notice
#
# Flatten a picture to $n$ numbers $x_k$, so that the weights of a layer are a matrix. Let $\pi$ be a permutation, that is, an order
# in which we put the pixels. If we put the columns of the matrix in the same order, the sum for each unit $j$ has the same terms,
#
# ```{math}
# :label: eq-dense-shuffled
# \sum_{k=0}^{n-1} W_{j,\pi(k)}\, x_{\pi(k)} = \sum_{k=0}^{n-1} W_{j,k}\, x_k .
# ```
#
# (dl.cnn.perm-invariant)=
# So a network on shuffled pictures computes the same function if the columns of the weights in its first layer are shuffled, too.
# Each training step keeps this: the loss depends on $W_{j,k}$ only through the product $W_{j,k} x_k$, so by the chain rule the gradient for
# $W_{j,k}$ has the factor $x_k$. Hence the columns of the gradient are shuffled like the pixels. At the start, all weights of a layer are drawn independently
# from one distribution, so the shuffled columns are as likely as the same columns in the original order. So a dense network learns from
# shuffled pictures as well as from the original ones, on average over its random starts. We try it on 500 handwritten digits:

# %%
digits = data.mnist('train')
pictures = torch.tensor(digits.x[:500])                    # (500, 784)
y = torch.tensor(digits.y[:500])
order = torch.randperm(784, generator=torch.Generator().manual_seed(0))
shuffled = pictures[:, order]

# %% mystnb={"image": {"alt": "Four handwritten digits, 1, 2, 3 and 4, in the upper row. In the lower row, the same pictures with shuffled pixels: grey dots scattered over the square, the middle of which is no denser than the border."}} tags=["hide-input"]
fig, axes = panels(4, 2, height=1.25)
for column, ax in enumerate(axes.T):
    show_image(ax[0], 1 - pictures[column + 1].reshape(28, 28)).axes.spines[:].set_visible(True)
    show_image(ax[1], 1 - shuffled[column + 1].reshape(28, 28)).axes.spines[:].set_visible(True)

# %% [markdown] tags=["caption"]
# Four digits, and the same digits with their pixels shuffled, each in the same order. A dense network learns from both equally well.

# %%
def start():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))

def losses(pictures, net):            # 31 steps on all pictures
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    return fit(net, nn.CrossEntropyLoss(), optimizer, [(pictures, y)] * 31)

# %% mystnb={"image": {"alt": "A row of three thin boxes joined by arrows: a tall one, 784; a lower one, 32; a short one, 10. Over the first arrow stands: dense, ReLU; over the second: dense."}} tags=["hide-input"]
def draw_network(ax, y, name, boxes, steps):
    ax.text(-1.5, y, name, ha='left', va='center', fontsize=11)
    for left, width, height, shape in boxes:
        ax.add_patch(plt.Rectangle((left, y - height / 2), width, height, color='C0'))
        ax.text(left + width / 2, y - height / 2 - 0.12, shape, ha='center', va='top', fontsize=9)
    for (left, width, *_), (end, *_), step in zip(boxes, boxes[1:], steps, strict=False):
        ax.annotate('', (end - 0.15, y), (left + width + 0.15, y), arrowprops={'arrowstyle': '->', 'color': GREY})
        ax.text((left + width + end) / 2, y + 0.12, step, ha='center', va='bottom', fontsize=8.5)

fig, ax = plt.subplots(figsize=(6, 1.3))
draw_network(ax, 0, '', [(0, 0.12, 1.6, '784'), (5, 0.12, 0.8, '32'), (10, 0.12, 0.5, '10')], ['dense, ReLU', 'dense'])
ax.set(xlim=(-1, 11.5), ylim=(-1.3, 0.9))
ax.axis('off');

# %% [markdown] tags=["caption"]
# The dense network: 784 pixels, 32 hidden units and 10 scores. FLOPs, below, are its multiplications and additions.

# %%
moved = start()
with FlopCounterMode(display=False) as counter:
    moved(pictures[:1])
print(f'{sum(p.numel() for p in moved.parameters()):,} parameters,'
      f' {counter.get_total_flops():,} FLOPs for a picture')

# %%
with torch.no_grad():
    moved[0].weight.copy_(moved[0].weight[:, order])
runs = [losses(pictures, start()), losses(shuffled, moved),
        losses(shuffled, start())]
print('step  original  shuffled, and weights  shuffled alone')
for step in (0, 5, 10, 30):
    a, b, c = (run[step] for run in runs)
    print(f'{step:4}     {a:.3f}                  {b:.3f}           {c:.3f}')

# %% [markdown]
# In the second run, the columns of the first weights are shuffled like the pixels, and the losses are those of the first run. In the
# third run, each pixel meets another column, as with another random start. The losses differ a little, but they fall in the same way.
#
# (dl.cnn.nearby)=
# What is lost by shuffling? In real pictures, nearby pixels are related. We measure the correlation of two pixels of a photograph
# that lie $d$ columns apart in one row, before and after shuffling:

# %%
def correlation(picture, d):          # (n_h, n_w)
    pairs = [picture[:, :-d].flatten(), picture[:, d:].flatten()]
    return torch.corrcoef(torch.stack(pairs))[0, 1]

temple = data.photograph('china')[100:300, 100:500].mean(-1)
photo = torch.tensor(temple)                               # (200, 400)
g = torch.Generator().manual_seed(0)
mixed = photo.flatten()[torch.randperm(80_000, generator=g)]
mixed = mixed.reshape(200, 400)
for d in (1, 4, 16, 64):
    print(f'{d:2} columns apart: {correlation(photo, d):.2f},'
          f' shuffled {below(correlation(mixed, d), 0.02)}')

# %% [markdown]
# Here, the nearer two pixels are, the stronger is their correlation. After shuffling, nothing is left of it. A dense network is not told which
# pixels are near each other, so it has to learn this from the examples.

# %% tags=["checks"]
def numbers(*shape, seed=0):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape))

X_0, W_0, U_0 = numbers(3, 4), numbers(3, 4, 3, 4, seed=1), numbers(3, 4, seed=2)
H_0 = F.linear(X_0.flatten(), W_0.reshape(12, 12), U_0.flatten()).reshape(3, 4)

def entry(tensor):
    return lambda *place: tensor[place].item()

holds(
    'dl.fc-to-conv.fc', H=entry(H_0), U=entry(U_0), W=entry(W_0), X=entry(X_0), n_h=3, n_w=4, i=range(3), j=range(4),
)

def dense_is_linear(X, seed, turn):
    X, W, U = torch.tensor(X), numbers(2, 3, 2, 3, seed=seed), numbers(2, 3, seed=seed + 1)
    matrix = W.permute(2, 3, 0, 1) if turn else W
    return close(dense(X, W, U).flatten(), F.linear(X.flatten(), matrix.reshape(6, 6), U.flatten()))

verify(
    'the dense layer with four indices is nn.Linear on flattened pictures',
    lambda X, seed: dense_is_linear(X, seed, False),
    slip=('swaps the indices of unit and pixel', lambda X, seed: dense_is_linear(X, seed, True)),
    X=matrices(2, 3), seed=seeds(), tries=30,
)
verify(
    'with shuffled first weights the losses on shuffled pictures are the same',
    lambda run: close(runs[run], runs[0], atol=1e-9),
    slip=('leaves the weights as they are', lambda run: close(runs[run + 1], runs[0], atol=1e-9)),
    run=[1],
)
def related(name, shuffle):
    pixels = torch.tensor(data.photograph(name).mean(-1))[100:300, 100:500]
    if shuffle:
        pixels = pixels.flatten()[torch.randperm(80_000, generator=torch.Generator().manual_seed(1))].reshape(200, 400)
    return bool(correlation(pixels, 1) > 0.9)

holds(
    'dl.cnn.nearby',
    lambda name: related(name, False),
    slip=('says so of shuffled pixels', lambda name: related(name, True)),
    name=['china', 'flower'],
)

# %% [markdown]
# ## Translation equivariance and locality: one window for all places
#
# Three steps lead to a layer with very few weights. The first one only renames the weights, and the other two are assumptions about
# pictures.
#
# **Relative positions.** Instead of the place $(k, l)$ of a pixel, we use its position $(a, b) = (k - i, l - j)$ relative to the unit: $(0, 1)$ is the pixel to the right of the unit, wherever the unit
# is. With $k = i + a$ and $l = j + b$, the layer {eq}`dl.fc-to-conv.fc` reads
#
# ```{math}
# :label: dl.fc-to-conv.reindex
# H_{i,j} = U_{i,j} + \sum_a \sum_b V_{i,j,a,b}\, X_{i+a,\,j+b}, \qquad V_{i,j,a,b} = W_{i,j,i+a,j+b},
# ```
#
# where the sums run over all positions $(a, b)$ whose pixel lies in the picture. Wherever a unit of the edge
# detector is, its weights are $-1$ at the position $(0, 0)$, its own pixel, and 1 at $(0, 1)$.
#
# **Translation equivariance.** An edge is an edge in each part of a picture. So we assume that all units have the same weights
# and the same bias, that is, $V_{i,j,a,b} = V_{a,b}$ and $U_{i,j} = u$:
#
# ```{math}
# :label: dl.transl-inv.formula
# H_{i,j} = u + \sum_a \sum_b V_{a,b}\, X_{i+a,\,j+b}
# ```
#
# Because of these **shared weights**, a shift of the picture shifts the output in the same way, as long as only zeros cross the border. Take a
# shift by one row: the new $X_{i+a,j+b}$ is the old $X_{i+a-1,j+b}$ for all $a$ and $b$, so the new $H_{i,j}$ is the old $H_{i-1,j}$.
#
# **Locality.** To find an edge at some place, we need only look near this place. So outside a window of radius $\Delta$ we set the
# weights to zero:
#
# ```{math}
# :label: dl.locality.zero-outside
# V_{a,b} = 0 \quad \text{if } \max(|a|, |b|) > \Delta .
# ```
#
# What is left is a **convolutional layer**, and its weights $\mathbf{V}$ are called the **kernel**:
#
# ```{math}
# :label: dl.locality.conv-layer
# H_{i,j} = u + \sum_{a=-\Delta}^{\Delta} \sum_{b=-\Delta}^{\Delta} V_{a,b}\, X_{i+a,\,j+b} .
# ```
#
# A kernel with radius $\Delta$ has $(2\Delta + 1)^2$ weights. Usually $\Delta$ is 1, 2 or 3. Near the border, the window reaches out of
# the picture, where we take $X_{i+a,j+b} = 0$. The code works with whole pictures. For each $a$ and $b$, it moves the
# picture $a$ rows up and $b$ columns to the left, and multiplies it by $V_{a,b}$. Then it adds up the results:

# %%
def window(X, V, u):                  # V_{a,b} is V[d + a, d + b]
    n_h, n_w = X.shape
    d = V.shape[0] // 2               # the radius Δ
    padded = F.pad(X, (d, d, d, d))   # zeros around the picture
    H = torch.full_like(X, u)
    for a, b in product(range(-d, d + 1), repeat=2):
        H += V[d + a, d + b] * padded[d + a:d + a + n_h,
                                      d + b:d + b + n_w]
    return H

# %%
kernel = torch.tensor([[0.0, 0, 0],
                       [0.0, -1, 1],
                       [0.0, 0, 0]])
print(window(X, kernel, 0.0))
print(F.conv2d(X[None, None], kernel[None, None], padding=1)[0, 0])

# %% [markdown]
# The window finds the same edges as the dense layer, with only nine weights. PyTorch's `conv2d` does so, too. It expects two
# more axes, for the pictures of a batch and for their colours, and `padding=1` adds the zeros around the picture.
#
# Assumptions that are built into a model are called its *inductive bias*. They have a price: inside the picture, one layer
# can neither treat two places differently nor relate pixels that are far apart. A second layer sees farther, because its window covers
# several windows of the first.

# %% mystnb={"image": {"alt": "Three squares of 25 by 25 cells in violet and orange. Left: random colours everywhere. Middle: colours repeat along all diagonals within blocks of five by five cells. Right: three narrow bands of diagonals remain, and all other cells are white."}} tags=["hide-input"]
fig, axes = panels(3, height=2.3)
n, g = 5, torch.Generator().manual_seed(1)
W_dense = torch.randn(n, n, n, n, generator=g)
V_shared = torch.randn(2 * n - 1, 2 * n - 1, generator=g)
V_local = torch.zeros_like(V_shared)
V_local[n - 2:n + 1, n - 2:n + 1] = torch.tensor([[1.6, -0.8, -2.0], [0.7, 2.0, -1.2], [-1.7, 1.2, -0.5]])
i = torch.arange(n)
offset = i[None, :] - i[:, None] + n - 1                   # (5, 5) place of each pair along one axis
W_shared, W_local = (V[offset[:, None, :, None], offset[None, :, None, :]] for V in (V_shared, V_local))
titles = 'dense: 625 weights', 'shared: 81 weights', 'and local: 9 weights'
for ax, tensor, title in zip(axes, (W_dense, W_shared, W_local), titles, strict=True):
    show_image(ax, tensor.reshape(25, 25), title, cmap='PuOr', vmin=-2, vmax=2).axes.spines[:].set_visible(True)
    ax.set(xlabel='25 pixels')
axes[0].set_ylabel('25 units');

# %% [markdown] tags=["caption"]
# The matrices of three layers for pictures of $5 \times 5$ pixels. Equal colours are equal weights, and white is zero. With sharing, equal weights
# stand along pieces of diagonals. The window of the right layer has the radius $\Delta = 1$.

# %% [markdown]
# How many weights do the two assumptions save? With a window of $5 \times 5$ pixels:

# %%
for n in (28, 1000):
    print(f'{n:4} x {n:4} pixels: dense {n**4:,},'
          f' shared {(2 * n - 1)**2:,}, and local {5**2}')

# %% [markdown]
# With locality, the number of weights no longer depends on the size of the picture.
#
# Is the layer really equivariant? We move a digit one row down and two columns to the right, before or after the layer, and print the
# largest difference of the results. The kernel is random, and so are the weights of the dense layer:

# %%
def gap(layer, X):
    moved_before = layer(X.roll((1, 2), (0, 1)))
    moved_after = layer(X).roll((1, 2), (0, 1))
    return (moved_before - moved_after).abs().max()

# %%
g = torch.Generator().manual_seed(0)
kernel = torch.randn(5, 5, generator=g)
weights = torch.randn(28, 28, 28, 28, generator=g) / 5
picture = pictures[4].reshape(28, 28)
layers = {'window': lambda X: window(X, kernel, 0.5),
          'dense': lambda X: dense(X, weights, 0.5)}
for name, layer in layers.items():
    print(f'{name}: difference {below(gap(layer, picture))},'
          f' outputs up to {layer(picture).abs().max():.1f}')

# %% [markdown]
# For the window, it does not matter whether the digit moves before or after the layer. For the dense layer, it does.
#
# :::{admonition} A tempting mistake
# :class: warning
# It is easy to mix up two words. The layer is **equivariant**: if the digit moves, the output moves along. It is not **invariant**,
# which would mean that the output stays as it is. A network that says *which* digit is in the picture should be invariant. A network that says *where* the digit is must not be invariant.
# :::
#
# Here, the digit and a margin of $\Delta = 2$ pixels around it stay inside the picture. Nearer to the border, the two results would differ:
# `roll` brings pixels that leave at one side back in at the other, while the window sees zeros there.
#
# ```{exercise} ★★ Pencil: local, but not shared
# :label: dense-local
# Keep locality and give up sharing: each unit of an $n \times n$ picture has a window of radius $d$ with weights of its own, but no
# weights for places outside the picture. How many weights does the layer have? Find a formula for integers $n \ge 1$ and $0 \le d < n$, and
# write it as `local_weights(n, d)`. Hint: count the pairs $(i, k)$ of rows with $|i - k| \le d$ first.
# ```

# %%
def local_weights(n, d):
    """The number of weights, an int, for ints n >= 1 and 0 <= d < n.

    local_weights(2, 1) is 16 and local_weights(3, 1) is 49.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_counting(n, d):
    i = np.arange(n)
    near = abs(i[:, None] - i) <= d                         # (n, n)
    return int(np.einsum('ik,jl->', near.astype(int), near.astype(int)))

sides = dict(n=integers(1, 12), d=lambda n: integers(0, n - 1))
grade(local_weights, by_counting, **sides)

# %% [markdown]
# ```{solution-start} dense-local
# :class: dropdown
# ```
# Each of the $n$ rows would have $2d + 1$ rows within distance $d$ if the grid did not end. Above the grid, the first row misses $d$ of
# them, the second $d - 1$, and so on: $d(d+1)/2$ in all, and as many are missing below. So there are $n(2d + 1) - d(d + 1)$ pairs of rows.
# For the columns the count is the same, and each pair of rows goes with each pair of columns, so the answer is
# $\big(n(2d + 1) - d(d + 1)\big)^2$. For $n = 28$ and $d = 2$ these are 17,956 weights: many fewer than 614,656, but the number still grows with
# the picture. The wrong answers forget the border, count only one side of it, or count the rows alone.

# %% jupyter={"source_hidden": true}
def local_weights_solution(n, d):
    return (n * (2 * d + 1) - d * (d + 1)) ** 2

def without_border(n, d):
    return (n * (2 * d + 1)) ** 2

def border_at_one_side(n, d):
    return (n * (2 * d + 1) - d * (d + 1) // 2) ** 2

def rows_alone(n, d):
    return n * (2 * d + 1) - d * (d + 1)

assert grade(local_weights_solution, by_counting, **sides)
assert not grade(without_border, by_counting, **sides)
assert not grade(border_at_one_side, by_counting, **sides)
assert not grade(rows_alone, by_counting, **sides)
print(f'{local_weights_solution(28, 2):,}')

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Program: back to the dense layer
# :label: dense-from-window
# Write `dense_weights(V, n_h, n_w)`, the weights of the dense layer {eq}`dl.fc-to-conv.fc` that computes the same as
# `window(X, V, u)` with $u = 0$ for all pictures with $n_h$ rows and $n_w$ columns. The kernel may be larger than the picture.
# ```

# %%
def dense_weights(V, n_h, n_w):
    """The weights W (n_h, n_w, n_h, n_w), a tensor, of a window.

    V (2 d + 1, 2 d + 1), and n_h and n_w are ints, at least 1.
    dense_weights(torch.tensor([[3.0]]), 1, 2)[0] is [[[3, 0], [0, 3]]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_unit_pictures(V, n_h, n_w):  # what the layer makes of each picture with a single 1
    units = torch.eye(n_h * n_w).reshape(-1, 1, n_h, n_w)
    out = F.conv2d(units, V[None, None], padding=len(V) // 2)  # (n_h n_w, 1, n_h, n_w)
    return out.reshape(n_h, n_w, n_h, n_w).permute(2, 3, 0, 1)

odd_squares = integers(0, 2).flatmap(lambda d: matrices(2 * d + 1, 2 * d + 1))
kernels = dict(V=odd_squares.map(torch.tensor), n_h=integers(1, 4), n_w=integers(1, 4))
grade(dense_weights, by_unit_pictures, **kernels)

# %% [markdown]
# ```{solution-start} dense-from-window
# :class: dropdown
# ```
# The weight of unit $(i, j)$ for pixel $(k, l)$ is $V_{k-i,\,l-j}$ if this place lies in the window, and otherwise zero. The wrong
# answers swap unit and pixel, which turns the kernel by half a turn, use negative indices, which Python counts from the end, or go
# around the border as `roll` does.

# %% jupyter={"source_hidden": true}
def dense_weights_solution(V, n_h, n_w):
    W, d = torch.zeros(n_h, n_w, n_h, n_w), len(V) // 2
    for i, j, k, l in product(range(n_h), range(n_w), range(n_h), range(n_w)):
        a, b = k - i, l - j
        if abs(a) <= d and abs(b) <= d:
            W[i, j, k, l] = V[d + a, d + b]
    return W

def turns_the_kernel(V, n_h, n_w):
    return dense_weights_solution(V.flip(0, 1), n_h, n_w)

def indices_from_the_end(V, n_h, n_w):
    W, d = torch.zeros(n_h, n_w, n_h, n_w), len(V) // 2
    for i, j, k, l in product(range(n_h), range(n_w), range(n_h), range(n_w)):
        if abs(k - i) <= d and abs(l - j) <= d:
            W[i, j, k, l] = V[k - i, l - j]
    return W

def goes_around(V, n_h, n_w):
    W, d = torch.zeros(n_h, n_w, n_h, n_w), len(V) // 2
    for i, j, k, l in product(range(n_h), range(n_w), range(n_h), range(n_w)):
        a, b = (k - i + d) % n_h, (l - j + d) % n_w
        if a <= 2 * d and b <= 2 * d:
            W[i, j, k, l] = V[a, b]
    return W

assert grade(dense_weights_solution, by_unit_pictures, **kernels)
assert not grade(turns_the_kernel, by_unit_pictures, **kernels)
assert not grade(indices_from_the_end, by_unit_pictures, **kernels)
assert not grade(goes_around, by_unit_pictures, **kernels)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
X_0, V_0, U_0 = numbers(4, 3), numbers(3, 3, seed=1), numbers(4, 3, seed=2)
H_0 = F.conv2d(X_0[None, None], V_0[None, None], padding=1)[0, 0] + 0.5
W_0 = by_unit_pictures(V_0, 4, 3)

def or_zero(tensor, d=0):             # the entry at (i + d, j + d), zero outside
    padded = F.pad(tensor, (9, 9, 9, 9))
    return lambda i, j: padded[i + d + 9, j + d + 9].item()

places = dict(i=range(4), j=range(3), a=range(-3, 4), b=range(-2, 3))
holds(
    'dl.fc-to-conv.reindex', H=entry(H_0 - 0.5 + U_0), U=entry(U_0), X=or_zero(X_0),
    W=lambda i, j, k, l: W_0[i, j, k, l].item() if 0 <= k < 4 and 0 <= l < 3 else 0.0, **places,
)
holds('dl.transl-inv.formula', H=entry(H_0), u=0.5, V=or_zero(V_0, 1), X=or_zero(X_0), **places)
holds('dl.locality.zero-outside', V=or_zero(V_0, 1), a=range(-4, 5), b=range(-4, 5), Delta=1,
      alike={'indices swapped: a,b → b,a': 'the condition is the same for a and b'})
holds('dl.locality.conv-layer', H=entry(H_0), u=0.5, V=or_zero(V_0, 1), X=or_zero(X_0), i=range(4), j=range(3), Delta=1)

def around(W):                        # the weights as each unit sees them
    n_h, n_w = W.shape[:2]
    V = W.new_zeros(n_h, n_w, 2 * n_h - 1, 2 * n_w - 1)
    for i, j in product(range(n_h), range(n_w)):
        V[i, j, n_h - 1 - i:2 * n_h - 1 - i, n_w - 1 - j:2 * n_w - 1 - j] = W[i, j]
    return V

def window_is_conv2d(X, V, u, turned):
    X, V = torch.tensor(X), torch.tensor(V)
    ours = window(X, V.flip(0, 1) if turned else V, u)
    return close(ours, F.conv2d(X[None, None], V[None, None], torch.tensor([u]), padding=1)[0, 0])

verify(
    'the window computes what conv2d computes, with a bias and with zeros around the picture',
    lambda X, V, u: window_is_conv2d(X, V, u, False),
    slip=('turns the kernel by half a turn', lambda X, V, u: window_is_conv2d(X, V, u, True)),
    X=matrices((1, 5), (1, 5)), V=matrices(3, 3), u=scalars(), tries=30,
)
verify(
    'seen from each unit, the weights of a window are the same where the picture does not end',
    lambda V, seen: close(around(by_unit_pictures(torch.tensor(V), 5, 5))[seen], np.pad(V, 3)),
    slip=('compares the rows of W', lambda V, seen: close(by_unit_pictures(torch.tensor(V), 5, 5)[seen], np.pad(V, 1))),
    V=matrices(3, 3), seen=[(1, 1), (2, 3)], tries=8,
)

def moves_along(seed, layer):
    g = torch.Generator().manual_seed(seed)
    X = F.pad(torch.randn(6, 6, generator=g), (5, 5, 5, 5))
    return bool(gap(lambda X: layer(X, g.initial_seed()), X) < 1e-9)

def random_window(X, seed):
    return window(X, numbers(5, 5, seed=seed), 0.5)

verify(
    'a window is equivariant for what stays away from the border',
    lambda seed: moves_along(seed, random_window),
    slip=('gives each row a bias of its own',
          lambda seed: moves_along(seed, lambda X, seed: random_window(X, seed) + numbers(16, 1, seed=seed))),
    seed=seeds(), tries=12,
)

# %% [markdown]
# ## Where it matters: a CNN on shuffled signals
#
# A network with convolutional layers is called a **convolutional neural network**, or CNN. How much does it gain from the two
# assumptions? If neighbours help a CNN, shuffling must take this help away. We take the signals of MNIST-1D {cite}`greydanus2024scaling`. Each
# has 40 points. A short piece of it has the shape that belongs to one of the ten digits. It lies at a random place, which the data do not tell and the eye hardly finds.
# The rest is noise. We also reverse the signals, which changes all places but keeps neighbours together.

# %%
train, test = data.mnist_1d('train'), data.mnist_1d('test')
x, y = torch.tensor(train.x), torch.tensor(train.y)        # (4000, 40)
x_test, y_test = torch.tensor(test.x), torch.tensor(test.y)
g = torch.Generator().manual_seed(0)
places = torch.arange(40)
orders = {'original': places, 'reversed': places.flip(0),
          'shuffled': torch.randperm(40, generator=g)}

# %% mystnb={"image": {"alt": "Two by three panels of lines. First column: signals of the digits 2 and 4; the first has three smooth humps, the second is nearly flat, with one deep narrow dip. Second column: the same lines mirrored. Third column: jagged lines that jump from point to point."}} tags=["hide-input"]
fig, axes = panels(3, 2, height=1.25, sharex=True, sharey=True)
for row, digit in enumerate((2, 4)):
    for ax, (name, order) in zip(axes[row], orders.items(), strict=True):
        ax.plot(x[10 + digit, order], lw=1.2)
        ax.set(xlim=(0, 39), yticks=[])
        if row == 0:
            ax.set_title(name)
    axes[row, 0].set_ylabel(f'digit {digit}')
axes[1, 1].set_xlabel('place');

# %% [markdown] tags=["caption"]
# Signals of two digits in three orders. Only shuffling scatters neighbours.

# %% [markdown]
# In one dimension, a window of five points computes $h_i = u + \sum_{a=-2}^{2} V_a x_{i+a}$. One kernel can look for only one pattern. So
# the first layer of our CNN has 16 kernels, and its 16 outputs are called **channels**. A kernel of the second layer has five weights for each of
# these channels, and adds up all 80 products. With `stride=2` a layer computes its output at every second place only, which saves work. A
# dense layer at the end turns the results into ten scores. We compare with a dense network (an MLP) that has more parameters:

# %%
def cnn():
    return nn.Sequential(
        nn.Unflatten(1, (1, 40)),                          # (B, 1, 40)
        nn.Conv1d(1, 16, 5, stride=2, padding=2), nn.ReLU(),   # (B, 16, 20)
        nn.Conv1d(16, 16, 5, stride=2, padding=2), nn.ReLU(),  # (B, 16, 10)
        nn.Flatten(), nn.Linear(160, 10))

def mlp():
    return nn.Sequential(nn.Linear(40, 64), nn.ReLU(),
                         nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))

def linear():                         # softmax regression, for comparison
    return nn.Linear(40, 10)

# %% mystnb={"image": {"alt": "Two rows of boxes joined by arrows. CNN: a flat long box 1 by 40, a box 16 by 20, a box 16 by 10, a thin tall box of 160, a thin box of 10; over the arrows stand: window of 5, stride 2, twice, then flatten, then dense. MLP: thin boxes of 40, 64, 64 and 10, with dense over each arrow."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.7))
draw_network(ax, 2.2, 'CNN', [
    (0, 2, 0.12, '1 × 40'), (3.9, 1, 0.9, '16 × 20'), (6.8, 0.5, 0.9, '16 × 10'),
    (9.2, 0.12, 1.6, '160'), (11.2, 0.12, 0.5, '10'),
], ['window 5,\nstride 2', 'window 5,\nstride 2', 'flatten', 'dense'])
draw_network(ax, 0.2, 'MLP', [
    (1, 0.12, 1.0, '40'), (4.4, 0.12, 1.2, '64'), (7.8, 0.12, 1.2, '64'), (11.2, 0.12, 0.5, '10'),
], ['dense', 'dense', 'dense'])
ax.set(xlim=(-1.5, 12), ylim=(-1.0, 3.3))
ax.axis('off');

# %% [markdown] tags=["caption"]
# The shapes in the two networks, channels × places. A ReLU follows each hidden layer. Convolutional layers keep the order of the places, and dense layers know no order.

# %%
@cache
def accuracy(make, lr, seed, name):
    order, epochs = orders[name], 4 if make is cnn else 8
    torch.manual_seed(seed)
    net = make()
    optimizer = torch.optim.Adam(net.parameters(), lr, fused=True)
    g = torch.Generator().manual_seed(seed)
    dealt = batches(g, 100, x[:, order], y, epochs=epochs)
    fit(net, nn.CrossEntropyLoss(), optimizer, dealt)
    with torch.no_grad():
        hit = net(x_test[:, order]).argmax(1) == y_test
    return hit.double().mean().item()

# %% [markdown]
# A pass costs the MLP about half as many operations as the CNN, as we count below. So the MLP gets twice as many passes over the data. First we look
# for a good learning rate for each network and for softmax regression, with one seed. We choose it on the test signals, so all scores are
# slightly too good:

# %%
low, high = (0.003, 0.01, 0.03), (0.01, 0.03, 0.1)
for make, rates in (cnn, high), (mlp, low), (linear, low):
    print(make.__name__, 'learning rate   original   shuffled')
    for lr in rates:
        one, two = (accuracy(make, lr, 0, name)
                    for name in ('original', 'shuffled'))
        print(f'{lr:17}{one:11.3f}{two:11.3f}')

# %% [markdown]
# With the best rates, we train three times, the MLP five times, with other random starts and other batches. For each network we print its
# parameters, the operations for one signal (FLOPs, where a multiplication and an addition count as two), and the mean accuracy with the lowest and the
# highest:

# %%
chosen = {cnn: (0.03, 3), mlp: (0.01, 5), linear: (0.01, 3)}  # rate, runs
for make, (lr, runs) in chosen.items():
    net = make()
    with FlopCounterMode(display=False) as counter:
        net(x_test[:1])
    print(make.__name__, sum(p.numel() for p in net.parameters()),
          'parameters,', counter.get_total_flops(), 'FLOPs')
    for name in orders if make is cnn else ('original', 'shuffled'):
        all_runs = [accuracy(make, lr, seed, name) for seed in range(runs)]
        print(f'    {name}: {np.mean(all_runs):.3f}'
              f' ({min(all_runs):.3f} to {max(all_runs):.3f})')

# %%
for make, name in (cnn, 'shuffled'), (cnn, 'reversed'), (mlp, 'shuffled'):
    lr, runs = chosen[make]
    points = 100 * np.array([
        accuracy(make, lr, seed, 'original')
        - accuracy(make, lr, seed, name) for seed in range(runs)])
    error = points.std(ddof=1) / runs**0.5
    print(f'{make.__name__}, {name}: costs {points.mean():.2f} percentage'
          f' points, two standard errors are {2 * error:.2f}')

# %% [markdown]
# In the original order, the CNN is far ahead of the MLP, and the MLP of softmax regression, which has no hidden layer. Guessing would give a tenth. On shuffled signals, the CNN stays below the best score of the MLP,
# whichever of its three learning rates it has: the windows now join points that do not belong together. For the MLP, shuffling makes no difference beyond
# two standard errors, and neither does reversing for the CNN. So the CNN does not need the original order. It needs each point to stay near
# its neighbours.
#
# The CNN has fewer parameters than the MLP, but it needs more operations, because it uses each weight at many places.
# In PyTorch, such a layer is `nn.Conv1d(1, 16, 5, padding=2)` for signals and `nn.Conv2d(1, 16, 5, padding=2)` for
# pictures: one input channel, 16 output channels and windows of 5 or $5 \times 5$ places.
#
# ```{exercise} ★★ Experiment: which orders does a CNN survive?
# :label: dense-orders
# Predict for each of three orders of the 40 places whether the CNN gets more than 0.65 of the test signals right:
#
# | name | order |
# |---|---|
# | `'pairs'` | neighbours swapped in pairs: 1, 0, 3, 2, 5, 4, ... |
# | `'even-odd'` | first all even places, then all odd ones: 0, 2, 4, ..., 1, 3, 5, ... |
# | `'sevens'` | steps of seven; after the end, counting goes on from the start: 0, 7, 14, 21, 28, 35, 2, 9, ... |
#
# Add the orders to `orders`, train, and explain what you see.
# ```

# %%
def survives():
    """A dict with True or False for each of the three names."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
three_orders = {'pairs': places.reshape(20, 2).flip(1).flatten(), 'even-odd': places.reshape(20, 2).T.flatten(),
                'sevens': 7 * places % 40}

@cache
def share_right(name):
    orders[name] = three_orders[name]
    return accuracy(cnn, 0.03, 0, name)

def is_measured(said):
    for name in three_orders:
        if said[name] not in (True, False):
            raise ValueError(f'say True or False for {name}')
        if said[name] != (share_right(name) > 0.65):
            raise ValueError(f'something else is measured for {name}; try it')
    return True

grade(lambda: is_measured(survives()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} dense-orders
# :class: dropdown
# ```
# Swapped pairs stay within the window of five points. The even places on their own hold the same shape, drawn with half of its points, and so do the
# odd ones: neighbours of the new signal are two places apart in the old one, and still related. In steps of seven, neighbours of
# the new signal are seven places apart, so a window of five points reaches over 28 places of the old one. Most of these points do not
# belong together, and the accuracy falls. So it matters most that related points come together in a window. Swapping their order costs less.

# %% jupyter={"source_hidden": true}
right_orders = {'pairs': True, 'even-odd': True, 'sevens': False}
assert grade(lambda: is_measured(right_orders), lambda: True, [()])
assert not grade(lambda: is_measured(dict.fromkeys(right_orders, False)), lambda: True, [()])
assert not grade(lambda: is_measured(dict.fromkeys(right_orders, True)), lambda: True, [()])
assert not grade(lambda: is_measured(right_orders | {'even-odd': False}), lambda: True, [()])
for name in three_orders:
    print(f'{name}: {share_right(name):.3f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def gaps_to(name, make):  # what an order costs in each run
    lr, runs = chosen[make]
    return np.array([accuracy(make, lr, seed, 'original') - accuracy(make, lr, seed, name) for seed in range(runs)])

def costs(make, errors):  # more than so many standard errors, paired over runs
    gaps = gaps_to('shuffled', make)
    return bool(abs(gaps.mean()) > errors * gaps.std(ddof=1) / len(gaps)**0.5)

holds(
    'dl.cnn.perm-invariant',
    lambda errors: not costs(mlp, errors),
    slip=('says so of the convolutional network', lambda errors: not costs(cnn, errors)),
    errors=[2],
)

def below_mlp(lr, name):
    return accuracy(cnn, lr, 0, name) < accuracy(mlp, 0.01, 0, name)

verify(
    'on shuffled signals the CNN is below the MLP at each learning rate',
    lambda lr: below_mlp(lr, 'shuffled'),
    slip=('says so of the original order', lambda lr: below_mlp(lr, 'original')),
    lr=[0.01, 0.03, 0.1],
)
verify(
    'reversing costs the CNN less than two standard errors, and less than three points',
    lambda points: abs(gaps_to('reversed', cnn).mean()) < min(points, 2 * gaps_to('reversed', cnn).std(ddof=1) / 3**0.5),
    slip=('says so of shuffling', lambda points: abs(gaps_to('shuffled', cnn).mean()) < points),
    points=[0.03],
)

def scores(make, name):
    lr, runs = chosen[make]
    return np.array([accuracy(make, lr, seed, name) for seed in range(runs)])

def ahead(name, *makes):  # of the next one, by more than two standard errors of the difference
    runs = [scores(make, name) for make in makes]
    return all(one.mean() - two.mean() > 2 * np.hypot(*(s.std(ddof=1) / len(s)**0.5 for s in (one, two)))
               for one, two in zip(runs, runs[1:]))

verify(
    'CNN, MLP and softmax regression: in this order on the original signals, and the MLP first on the shuffled ones',
    lambda name: ahead(name, *((cnn, mlp) if name == 'original' else (mlp, cnn)), linear),
    slip=('puts the CNN first on both', lambda name: ahead(name, cnn, mlp, linear)),
    name=['original', 'shuffled'],
)

# %% [markdown]
# ## Summary
#
# A dense layer has a weight for each pair of a unit and a pixel, so it can learn from shuffled pictures as well as from the original ones.
# A convolutional layer is a dense layer with two assumptions: all units have the same weights, seen from their own places, and
# only the weights in a small window are not zero. These assumptions make the number of weights independent of the size of the picture, and
# they pay off where neighbours belong together: on the signals here, a CNN beats an MLP with more parameters, until the points are shuffled.
#
# **Further reading.** {cite:t}`zhang2023dive`, chapter 7, derives the layer in the same steps.
# {cite:t}`prince2023understanding`, chapter 10, draws it in one dimension first. {cite:t}`greydanus2024scaling` made such signals, to try ideas in seconds.
