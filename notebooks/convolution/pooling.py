# ---
# jupyter:
#   book:
#     functions:
#       pool2d: pool2d(normal(5, 7), 3, 2, torch.amax)
#       pool2d_unfold: pool2d_unfold(normal(5, 7), 3, 2, torch.amax)
#     main: eq-pool-max
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Pooling
#
# A handwritten 3 that is moved by one pixel is still a 3. But some of the networks below change their answers for about a fifth
# of the test digits when these are moved by one pixel. *Pooling* layers replace each small window of a picture by one number.
# They are said to make networks insensitive to such shifts. Is this true, and what do they compute?
#
# - **You need** [convolutions](convolutions.ipynb), their [padding and stride](padding_and_stride.ipynb) and
#   [channels](channels.ipynb),
#   [automatic differentiation](../calculus/automatic_differentiation.ipynb) and, for the experiment,
#   [training in minibatches](../regression/minibatch_training.ipynb) and
#   [cross-entropy](../classification/cross_entropy.ipynb).
# - **You build** max and average pooling, their gradients, and three networks that differ only in how they shrink a picture.
# - **Runs in** 20 seconds. Tensors are float32, and float64 where networks are trained.

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
from itertools import permutations, product

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from nbutils.cases import integers, matrices, seeds
from nbutils.checks import between, close, grade, verify
from nbutils.data import mnist
from nbutils.figures import GREY, panels
from nbutils.timing import seconds
from nbutils.training import batches, fit

plt.style.use('nbutils.book')
torch.set_printoptions(precision=2, sci_mode=False)
torch.set_num_threads(1)  # the tensors are small: a second thread would mostly wait

# %% [markdown]
# ## Max pooling and average pooling: one number for each window
#
# The output of a convolutional layer is large where a pattern was found. Often it is enough to know that the pattern is
# somewhere near. So we cut the output into windows and keep one number of each. Then the next layer has fewer numbers to treat,
# and its kernels see a larger part of the picture. **Max pooling** keeps the largest entry, **average pooling** the mean.
# Here are windows of 2 × 2:

# %%
X = torch.tensor([[1.0, 3, 2, 0],
                  [0, 8, 1, 5],
                  [4, 2, 6, 6],
                  [1, 1, 6, 2]])
print(F.max_pool2d(X[None, None], 2)[0, 0])
print(F.avg_pool2d(X[None, None], 2)[0, 0])

# %% mystnb={"image": {"alt": "Left: a grid of four by four numbers, cut into four shaded windows of two by two. Right of it two grids of two by two: the largest numbers 8, 5, 4, 6 and the means 3, 2, 2, 5, each cell in the shade of its window."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.1))
shades = [('C0', 0.18), ('C1', 0.18), ('C1', 0.4), ('C0', 0.4)]
drawn = [(0, 0, X, 2, 'picture, 4 × 4'), (6, 1, F.max_pool2d(X[None, None], 2)[0, 0], 1, 'largest'),
         (10, 1, F.avg_pool2d(X[None, None], 2)[0, 0], 1, 'mean')]
for left, top, numbers, cells, words in drawn:
    for r, c in np.ndindex(*numbers.shape):
        colour, alpha = shades[2 * (r // cells) + c // cells]
        ax.add_patch(plt.Rectangle((left + c, top + r), 1, 1, fc=colour, alpha=alpha, lw=0))
        ax.add_patch(plt.Rectangle((left + c, top + r), 1, 1, fill=False, ec=GREY, lw=0.7))
        ax.text(left + c + 0.5, top + r + 0.5, f'{numbers[r, c]:.0f}', ha='center', va='center')
    ax.text(left + len(numbers) / 2, top - 0.35, words, ha='center', fontsize=9)
ax.annotate('', (5.6, 2), (4.4, 2), arrowprops={'arrowstyle': '->', 'color': GREY})
ax.text(9, 2, 'or', ha='center', va='center', color=GREY)
ax.set(xlim=(-0.3, 12.3), ylim=(4.2, -0.9), aspect='equal')
ax.axis('off');

# %% [markdown] tags=["caption"]
# Pooling with windows of 2 × 2 and stride 2. Each output has the shade of its window.

# %% [markdown]
# Let the window have $k$ rows and $k$ columns, and let it move by the stride $s$. The output of max pooling is
#
# ```{math}
# :label: eq-pool-max
# Y_{i,j} = \max_{a, b} X_{si+a,\, sj+b} ,
# ```
#
# and the output of average pooling is
#
# ```{math}
# :label: eq-pool-mean
# Y_{i,j} = \frac{1}{k^2} \sum_{a=0}^{k-1} \sum_{b=0}^{k-1} X_{si+a,\, sj+b} ,
# ```
#
# where the row $a$ and the column $b$ in the window run from $0$ to $k - 1$. One function computes both. Its last argument
# summarizes a window:

# %%
def pool2d(X, k, s, summary):
    rows, columns = (X.shape[0] - k) // s + 1, (X.shape[1] - k) // s + 1
    Y = X.new_zeros(rows, columns)
    for i in range(rows):
        for j in range(columns):
            Y[i, j] = summary(X[s * i:s * i + k, s * j:s * j + k])
    return Y

# %%
print(pool2d(X, 2, 2, torch.amax))
print(pool2d(X, 2, 1, torch.amax))      # overlapping windows

# %% [markdown]
# A pooling layer has no parameters. It treats each channel by itself. In PyTorch the stride is $k$
# unless you say otherwise. So `nn.MaxPool2d(2)` halves both sides if they are even, and `nn.MaxPool2d(3, stride=2, padding=1)` does so
# with windows that overlap.
#
# ### Without loops: unfold
#
# `X.unfold(0, k, s)` takes $k$ neighbouring rows at a time, $s$ rows apart, and lays them along a new last axis. We do the same with the
# columns. Then one call gives the largest entries of all windows:

# %%
def pool2d_unfold(X, k, s, summary):
    windows = X.unfold(0, k, s).unfold(1, k, s)         # (rows, columns, k, k)
    return summary(windows, (2, 3))

# %%
wins, g = {}, torch.Generator().manual_seed(0)
for n in (4, 128):
    Z = torch.randn(n, n, generator=g)
    loop, fast, library = seconds(
        lambda: pool2d(Z, 2, 2, torch.amax),
        lambda: pool2d_unfold(Z, 2, 2, torch.amax),
        lambda: F.max_pool2d(Z[None, None], 2), rounds=2)
    wins[n] = bool(loop > 20 * fast), bool(loop > 20 * library)
    print(f'{n:3} x {n:3} pixels: 20 times faster than the loop:'
          f' unfold {wins[n][0]}, library {wins[n][1]}')

# %% [markdown]
# ### Average pooling is a convolution, max pooling is not
#
# A mean is a weighted sum, and the weights $1/k^2$ are the same for each window. So average pooling without padding is a convolution with the
# same stride. Each channel has a kernel of its own (`groups=3` for three channels):

# %%
g = torch.Generator().manual_seed(0)
maps = torch.randn(1, 3, 6, 6, generator=g)             # 3 channels
kernel = torch.full((3, 1, 2, 2), 1 / 4)
means = F.conv2d(maps, kernel, stride=2, groups=3)
gap = (means - F.avg_pool2d(maps, 2)).abs().max()
print('largest difference:', between(gap, 0, 1e-6))

# %% [markdown]
# Max pooling is no convolution, because it is not linear. The largest entry of $-\mathbf{X}$ is in general not minus the
# largest entry of $\mathbf{X}$.
#
# ### The border: ceil_mode, padding and count_include_pad
#
# A row of five pixels does not divide into windows of 1 × 2. By default the last pixel is ignored. With `ceil_mode=True` there is
# one more window, which is cut off at the border:

# %%
row = torch.tensor([[[[1.0, 2, 3, 4, 5]]]])
for ceil in False, True:
    print(F.max_pool2d(row, (1, 2), ceil_mode=ceil)[0, 0, 0],
          F.avg_pool2d(row, (1, 2), ceil_mode=ceil)[0, 0, 0])

# %% [markdown]
# The two layers also pad differently. Max pooling pads with $-\infty$, so a number from outside is never the largest. Average
# pooling pads with zeros, and by default the mean counts them. So a constant picture gets dark borders, unless you say
# `count_include_pad=False`:

# %%
ones = torch.ones(1, 1, 3, 3)
for count in True, False:
    print(F.avg_pool2d(ones, 3, stride=1, padding=1,
                       count_include_pad=count)[0, 0])

# %% [markdown]
# In the corner, only four of the nine pixels of the window are ones, so the mean is $4/9 = 0.44$.
#
# ```{exercise} ★ Pencil: ReLU before or after pooling?
# :label: pooling-relu
#
# In most networks a ReLU stands in front of max pooling. Show that the result is the same if the ReLU stands behind the
# pooling. How many numbers does the ReLU have to treat then? Is the result also the same with average pooling?
# ```
#
# ```{solution-start} pooling-relu
# :class: dropdown
# ```
# ReLU never decreases: if $u \le v$, then $\operatorname{relu}(u) \le \operatorname{relu}(v)$. So the largest entry of
# a window is still a largest entry after ReLU, and $\max_a \operatorname{relu}(x_a) = \operatorname{relu}(\max_a x_a)$.
# Behind a pooling layer with $k = s = 2$, ReLU has a quarter of the numbers to treat. For the mean it fails: the
# window $(-1, 1)$ gives $\frac12$ with ReLU first, and $\operatorname{relu}(0) = 0$ with ReLU last.
# ```{solution-end}
# ```

# %% tags=["checks"]
def picture(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)

def is_library(summary, layer, seed, k, s):
    Z = picture(seed, 7, 9)
    return close(pool2d(Z, k, s, summary), layer(Z[None, None], k, s)[0, 0])

windows = dict(seed=seeds(), k=integers(1, 5), s=integers(1, 4), tries=40)
verify(
    'at 128 x 128 pixels both are more than 20 times faster than the loop, and not so at 4 x 4',
    lambda n: wins[n] == (n == 128, n == 128),
    slip=('says so for each size', lambda n: wins[n] == (True, True)),
    n=[4, 128],
)

def without_loops(seed, k, s, keep):
    Z = picture(seed, 7, 9)
    return close(pool2d_unfold(Z, k, s, keep), pool2d(Z, k, s, torch.amax))

verify(
    'without loops the result is the same',
    lambda **case: without_loops(keep=torch.amax, **case),
    slip=('takes the largest entry of the first row of a window',
          lambda **case: without_loops(keep=lambda W, axes: W[:, :, 0].amax(2), **case)),
    **windows,
)
verify(
    'the loop with the largest entry is F.max_pool2d',
    lambda **case: is_library(torch.amax, F.max_pool2d, **case),
    slip=('takes the mean', lambda **case: is_library(torch.mean, F.max_pool2d, **case)),
    **windows,
)
verify(
    'the loop with the mean is F.avg_pool2d',
    lambda **case: is_library(torch.mean, F.avg_pool2d, **case),
    slip=('takes the sum', lambda **case: is_library(torch.sum, F.avg_pool2d, **case)),
    **windows,
)

# %% tags=["checks"]
def as_convolution(seed, k, groups):
    Z = picture(seed, 2, 3, 8, 8)
    weights = torch.full((3, 3 // groups, k, k), 1 / k**2, dtype=torch.float64)
    return close(F.conv2d(Z, weights, stride=k, groups=groups), F.avg_pool2d(Z, k))

verify(
    'average pooling is a convolution with equal weights, channel by channel',
    lambda seed, k: as_convolution(seed, k, 3),
    slip=('adds up the channels', lambda seed, k: as_convolution(seed, k, 1)),
    seed=seeds(), k=integers(1, 4), tries=20,
)

def border(n, k, s, p, inside):  # of ceil_mode: a window that starts beyond the left padding and the picture is left out
    length = -(-(n + 2 * p - k) // s) + 1
    length -= inside and (length - 1) * s >= n + p
    return F.max_pool2d(torch.zeros(1, 1, n, n), k, s, p, ceil_mode=True).shape[-1] == length

verify(
    'ceil_mode rounds up, and leaves out a window that would lie in the padding on the right',
    lambda **case: border(inside=True, **case),
    slip=('keeps that window', lambda **case: border(inside=False, **case)),
    n=[4, 5, 6, 7, 8], k=[2, 3], s=[1, 2, 3], p=[0, 1],
)

# %% tags=["checks"]
def padded(seed, p, value, layer):
    Z = picture(seed, 1, 1, 5, 6) - 3                   # mostly negative
    return close(layer(Z, 3, 2, p), layer(F.pad(Z, (p, p, p, p), value=value), 3, 2))

verify(
    'max pooling pads with minus infinity, average pooling with zeros',
    lambda seed: padded(seed, 1, -np.inf, F.max_pool2d) and padded(seed, 1, 0.0, F.avg_pool2d),
    slip=('pads with zeros for both', lambda seed: padded(seed, 1, 0.0, F.max_pool2d)),
    seed=seeds(), tries=20,
)

def relu_last(seed, layer):
    Z = picture(seed, 1, 2, 6, 6)
    return close(layer(Z.relu(), 2), layer(Z, 2).relu())

verify(
    'ReLU may stand behind max pooling',
    lambda seed: relu_last(seed, F.max_pool2d),
    slip=('says so of average pooling', lambda seed: relu_last(seed, F.avg_pool2d)),
    seed=seeds(), tries=20,
)

# %% [markdown]
# ## The gradients of max pooling and average pooling
#
# Move one entry of a window a little. The mean moves $1/k^2$ times as much. The maximum moves only if this entry is the
# largest. So in the backward pass, average pooling *shares* the gradient of an output among all entries of its window, and max
# pooling gives all of it to *one* entry. We ask autograd for the gradients of the sum of all outputs:

# %%
def gradient(layer, picture, **options):
    picture = picture.clone().requires_grad_()
    outputs = layer(picture[None, None], 2, **options)
    return torch.autograd.grad(outputs.sum(), picture)[0]

print(gradient(F.max_pool2d, X))
print(gradient(F.avg_pool2d, X))

# %% [markdown]
# The lower right window holds 6, 6, 6 and 2, and the gradient goes to the first 6. At such a *tie* the maximum has no derivative. If the
# first 6 grows, so does the maximum. If it shrinks, the maximum stays at 6. So the library chooses one of the [subgradients](../optimization/subgradients.ipynb).
# `torch.amax` chooses another one: it shares the gradient among the largest entries.

# %%
window = torch.tensor([6.0, 6, 6, 2], requires_grad=True)
print(torch.autograd.grad(window.amax(), window)[0])

# %% [markdown]
# If windows overlap, one entry can be the largest of several windows. Then it gets the sum of their gradients.
# With stride 1, the 8 is the largest entry of four windows:

# %%
print(gradient(F.max_pool2d, X, stride=1))

# %% [markdown]
# For the backward pass, max pooling has to remember which entry was the largest. `return_indices=True` shows these places,
# counted row by row. Without padding, both layers keep the
# sum of the gradients.

# %%
Y, places = F.max_pool2d(X[None, None], 2, return_indices=True)
print(places[0, 0])

# %% [markdown]
# ```{exercise} ★★ Program: the backward pass of max pooling
# :label: pooling-backward
# Write `backward(X, G, k, s)`: the gradient of the loss with respect to the picture $\mathbf{X}$ if $\mathbf{G}$ is the
# gradient with respect to the output of max pooling. Windows may overlap, and at a tie the first entry in reading order
# gets the gradient.
# ```

# %%
def backward(X, G, k, s):
    """The gradient for the picture: (n, m) tensor, of the type of X.

    G has the shape of the output, the ints k and s are at least 1, k <= n, m.
    backward(tensor([[1., 2.]]), tensor([[3., 5.]]), 1, 1) is [[3., 5.]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_autograd(X, G, k, s):
    X = X.clone().requires_grad_()
    return torch.autograd.grad(F.max_pool2d(X[None, None], k, s)[0, 0], X, G)[0]

whole = matrices((1, 6), (1, 6), -2, 2, edges=True).map(lambda A: torch.tensor(A).round())  # has ties
backward_cases = dict(
    X=whole,
    G=lambda X, k, s: matrices((X.shape[0] - k) // s + 1, (X.shape[1] - k) // s + 1, -3, 3).map(torch.tensor),
    k=lambda X: integers(1, min(X.shape)), s=integers(1, 3),
)
grade(backward, by_autograd, **backward_cases)

# %% [markdown]
# ```{solution-start} pooling-backward
# :class: dropdown
# ```
# Go through the windows, find the place of the largest entry, which `argmax` counts row by row within the window, and
# *add* the gradient there. Three mistakes are likely: to overwrite where windows overlap, to give the gradient to all largest
# entries, and to give it to the last of them.

# %% jupyter={"source_hidden": true}
def backward_solution(X, G, k, s):
    D = torch.zeros_like(X)
    for i in range(G.shape[0]):
        for j in range(G.shape[1]):
            a, b = divmod(int(X[s * i:s * i + k, s * j:s * j + k].argmax()), k)
            D[s * i + a, s * j + b] += G[i, j]
    return D

def overwrites(X, G, k, s):
    D = torch.zeros_like(X)
    for i in range(G.shape[0]):
        for j in range(G.shape[1]):
            a, b = divmod(int(X[s * i:s * i + k, s * j:s * j + k].argmax()), k)
            D[s * i + a, s * j + b] = G[i, j]
    return D

def all_of_the_largest(X, G, k, s):
    D = torch.zeros_like(X)
    for i in range(G.shape[0]):
        for j in range(G.shape[1]):
            window = X[s * i:s * i + k, s * j:s * j + k]
            D[s * i:s * i + k, s * j:s * j + k] += (window == window.max()) * G[i, j]
    return D

def last_of_the_largest(X, G, k, s):
    D = torch.zeros_like(X)
    for i in range(G.shape[0]):
        for j in range(G.shape[1]):
            turned = X[s * i:s * i + k, s * j:s * j + k].flip(0, 1)
            a, b = divmod(int(turned.argmax()), k)
            D[s * i + k - 1 - a, s * j + k - 1 - b] += G[i, j]
    return D

assert grade(backward_solution, by_autograd, **backward_cases)
assert not grade(overwrites, by_autograd, **backward_cases)
assert not grade(all_of_the_largest, by_autograd, **backward_cases)
assert not grade(last_of_the_largest, by_autograd, **backward_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def gradient_sum(seed, layer, k, s):
    Z = picture(seed, 1, 1, 6, 6).requires_grad_()
    Y = layer(Z, k, s)
    G = torch.rand(Y.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.autograd.grad(Y, Z, G)[0].sum(), G.sum()

verify(
    'the gradients that leave a pooling layer add up to those that come in',
    lambda **case: close(*gradient_sum(layer=F.max_pool2d, **case)) and close(*gradient_sum(layer=F.avg_pool2d, **case)),
    slip=('sums in place of means', lambda **case: close(*gradient_sum(
        layer=lambda Z, k, s: k**2 * F.avg_pool2d(Z, k, s), **case))),
    seed=seeds(), k=integers(1, 4), s=integers(1, 3), tries=30,
)

def entries(seed, layer, share):  # a window with ties, alone
    Z = picture(seed, 1, 1, 3, 3).round().requires_grad_()
    D = torch.autograd.grad(layer(Z), Z)[0]
    return close(D, share(Z.detach()))

verify(
    'autograd gives the gradients of the loop over the windows',
    lambda seed: close(gradient(F.max_pool2d, picture(seed, 4, 6)), backward_solution(
        picture(seed, 4, 6), torch.ones(2, 3, dtype=torch.float64), 2, 2)),
    slip=('of average pooling', lambda seed: close(gradient(F.avg_pool2d, picture(seed, 4, 6)), backward_solution(
        picture(seed, 4, 6), torch.ones(2, 3, dtype=torch.float64), 2, 2))),
    seed=seeds(), tries=20,
)

def first_largest(Z):
    return F.one_hot(Z.flatten().argmax(), 9).double().reshape(Z.shape)

def all_largest(Z):
    return (Z == Z.max()) / (Z == Z.max()).sum()

verify(
    'of equal entries max pooling rewards the first, and amax rewards all',
    lambda seed: entries(seed, lambda Z: F.max_pool2d(Z, 3), first_largest) and entries(seed, torch.amax, all_largest),
    slip=('shares in max pooling', lambda seed: entries(seed, lambda Z: F.max_pool2d(Z, 3), all_largest)),
    seed=seeds(), tries=40,
)

# %% [markdown]
# ## Is max pooling invariant to a shift of one pixel?
#
# If the largest entry moves within its window, and no larger one comes in, the maximum stays the same. So max pooling is said to be
# **invariant** to small shifts, which means that its output does not change. How often is that true?
#
# Shift the picture by one pixel. A window of 2 × 2 then loses one of its columns, keeps the other, and sees a new one.
# Together, the old and the new window have six entries in three columns. If the largest of the six lies in the middle
# column, both windows have the same maximum. If it lies in another column, only one window contains it, and the maximum of the
# other is smaller. Let the entries be independent draws from one continuous distribution, so that no two are equal. Then all
# orders of the six are equally likely, and we can count them:

# %%
orders = torch.tensor(list(permutations(range(6)))).reshape(-1, 2, 3)
before = orders[:, :, :2].amax((1, 2))  # columns 0 and 1
after = orders[:, :, 1:].amax((1, 2))   # columns 1 and 2
print((before == after).sum().item(), 'of', len(orders))

# %% [markdown]
# The maximum stays the same with probability $\frac13$, because two of the six places lie in the middle column. Two neighbouring windows of $k \times k$ have together $k(k + 1)$ entries, and share $k(k - 1)$ of them. Each entry is equally likely to be the largest. So
# the maximum stays the same with the probability $k(k - 1) / (k(k + 1))$, which is
#
# ```{math}
# :label: eq-pool-keep
# p_k = \frac{k - 1}{k + 1} .
# ```
#
# After a shift, each window sees what its neighbour saw before. So we compare the outputs of neighbouring windows, in pictures of
# noise:

# %%
g = torch.Generator().manual_seed(0)
noise = torch.randn(300, 1, 28, 28, generator=g)

def unchanged(layer, k, pictures):
    Y = layer(pictures, k, stride=1)    # the windows at all places
    return (Y[..., 1:] == Y[..., :-1]).float().mean()

for k in 2, 3, 4, 5:
    print(f'k = {k}: formula {(k - 1) / (k + 1):.3f}, max pooling'
          f' {unchanged(F.max_pool2d, k, noise):.3f}, average pooling'
          f' {unchanged(F.avg_pool2d, k, noise):.0%}')

# %% mystnb={"image": {"alt": "Left: two rows of three cells; a solid frame around the first two columns, a dashed frame around the last two; the middle column, in both frames, is shaded. Right: the probability rises with the side of the window from one third at 2 to two thirds at 5; the measured points lie on the curve, and those of average pooling at 0."}} tags=["hide-input"]
fig, (ax, right) = panels(2, height=2.3, width_ratios=[1, 1.4])
ax.add_patch(plt.Rectangle((1, 0), 1, 2, color='C0', alpha=0.3, lw=0))
for r, c in np.ndindex(2, 3):
    ax.add_patch(plt.Rectangle((c, r), 1, 1, fill=False, ec=GREY, lw=0.6))
ax.add_patch(plt.Rectangle((0.05, 0.05), 1.9, 1.9, fill=False, ec='C0', lw=2))
ax.add_patch(plt.Rectangle((1.07, -0.05), 1.9, 2.1, fill=False, ec='C1', lw=2, ls='--'))
ax.text(0.5, 2.3, 'before', color='C0', ha='center')
ax.text(2.5, 2.3, 'after', color='C1', ha='center')
ax.text(1.5, -0.2, 'in both', ha='center', va='top', color=GREY)
ax.set(xlim=(-0.2, 3.2), ylim=(-0.8, 2.7), aspect='equal')
ax.axis('off')
ks = [2, 3, 4, 5]
right.plot(ks, [(k - 1) / (k + 1) for k in ks], '-', color=GREY, lw=1, label='formula')
right.plot(ks, [unchanged(F.max_pool2d, k, noise) for k in ks], 'o', color='C0', label='max')
right.plot(ks, [unchanged(F.avg_pool2d, k, noise) for k in ks], 's', color='C2', label='average')
right.text(4.1, 0.5, 'max pooling', color='C0')
right.text(2.9, 0.62, '$(k - 1)/(k + 1)$', color=GREY, ha='center')
right.text(4, 0.06, 'average pooling', color='C2', ha='center')
right.set(xlabel='side $k$ of the window', ylabel='share unchanged', xticks=ks, ylim=(-0.05, 1), xlim=(1.7, 5.5));

# %% [markdown] tags=["caption"]
# Left: the maximum stays the same if the largest of the six entries lies in the shared column. Right: the share of unchanged outputs when noise is shifted by one pixel.

# %% [markdown]
# In pictures of digits many entries are equal, because they are blank. So we count twice in MNIST {cite}`lecun1998gradient`:
# first all windows of 2 × 2, and then only those that have some ink before or after the shift.

# %%
digits = torch.tensor(mnist('test').x).float().reshape(-1, 1, 28, 28)
M = F.max_pool2d(digits, 2, stride=1)
before, after = M[..., :-1], M[..., 1:]
same, ink = before == after, torch.maximum(before, after) > 0
print(f'all windows: {same.float().mean():.2f} unchanged,'
      f' {1 - ink.float().mean():.2f} without ink')
print(f'with ink:    {same[ink].float().mean():.2f} unchanged')

# %% [markdown]
# Of the windows with ink, only a third is unchanged, as for noise.
#
# ### Aliasing: what the stride does
#
# With stride 1, a shifted picture gives a shifted output. A stride of 2 keeps every second place only. We pool a row of stripes on a circle: what a shift pushes out at the end comes in at the beginning.

# %%
stripes = torch.tensor([0.0, 0, 1, 1, 0, 0, 1, 1])
for shift in 0, 1:
    x = stripes.roll(shift)
    largest = torch.maximum(x, x.roll(-1))              # stride 1
    blurred = (largest.roll(1) + largest + largest.roll(-1)) / 3
    print('max', largest[::2], 'blurred', blurred[::2])  # stride 2

# %% [markdown]
# Max pooling gives stripes before the shift, and a constant after it. This is **aliasing**: every second number is not enough to show these
# stripes. A shift by two pixels would be harmless, because it only moves the output by one place.
#
# Signal processing has a remedy: *blur first, then keep every second number*. To blur, we replace each number by the mean
# of itself and its two neighbours. Now the two outputs differ by a third at most, and without blurring by 1. Max pooling
# with stride 1, followed by a weighted mean with stride 2, is called **anti-aliased max pooling** {cite}`zhang2019making`. Our weights are equal.
#
# ### Global average pooling
#
# **Global average pooling** keeps one number of each channel, the mean of the whole map {cite}`lin2014network`. From these numbers a
# linear layer computes a score for each class. On a circle, the mean does not change when the map moves. A linear layer on
# all pixels of the maps needs more weights, here for 32 maps of 7 × 7, and works for this size alone:

# %%
flat = nn.Sequential(nn.Flatten(), nn.Linear(32 * 7 * 7, 10))
pooled = nn.Sequential(
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
for head in flat, pooled:
    print(sum(p.numel() for p in head.parameters()), 'parameters,',
          'output', tuple(head(torch.zeros(1, 32, 7, 7)).shape))

# %% [markdown]
# ```{exercise} ★★ Pencil: longer shifts
# :label: pooling-shifts
# The picture is shifted by $r$ pixels to the right and by $d$ pixels down. What is the probability that the maximum of a
# window of $k \times k$ stays the same, for entries as above? Write it as `stays(k, r, d)`.
# ```

# %%
def stays(k, r, d):
    """The probability, a float; the ints are k >= 1, r >= 0 and d >= 0.

    stays(2, 1, 0) is 1/3, and stays(2, 2, 0) is 0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_sets(k, r, d):
    old = set(product(range(k), range(k)))
    new = set(product(range(d, d + k), range(r, r + k)))
    return len(old & new) / len(old | new)

shifts = dict(k=[1, 2, 3, 5], r=[0, 1, 2, 4], d=[0, 1, 3, 6])
grade(stays, by_sets, **shifts)

# %% [markdown]
# ```{solution-start} pooling-shifts
# :class: dropdown
# ```
# The largest of all entries must lie in both windows. They share $c = (k - r)(k - d)$ entries, or none if one of the
# shifts is $k$ or more, and together they have $2k^2 - c$. So the probability is $c/(2k^2 - c)$. For a diagonal step and
# $k = 2$ it is $\frac17$. Three mistakes are likely: to divide by the entries of one window alone, to let two negative factors make
# a positive number, and to ignore the second shift.

# %% jupyter={"source_hidden": true}
def stays_solution(k, r, d):
    c = max(k - r, 0) * max(k - d, 0)
    return c / (2 * k**2 - c)

def of_one_window(k, r, d):
    return max(k - r, 0) * max(k - d, 0) / k**2

def two_negative_factors(k, r, d):
    c = max((k - r) * (k - d), 0)
    return c / (2 * k**2 - c)

def only_to_the_right(k, r, d):
    return stays_solution(k, r, 0)

assert grade(stays_solution, by_sets, **shifts)
assert not grade(of_one_window, by_sets, **shifts)
assert not grade(two_negative_factors, by_sets, **shifts)
assert not grade(only_to_the_right, by_sets, **shifts)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def keeps(k, layer, distance):  # 5 standard errors; the windows of one picture overlap, so each picture counts once
    Y = layer(noise, k, stride=1)
    shares = (Y[..., 1:] == Y[..., :-1]).double().mean((1, 2, 3))
    return bool(abs(shares.mean() - (k - 1) / (k + distance)) < 5 * shares.std() / len(shares) ** 0.5)

verify(
    'a shift by one pixel leaves the share (k - 1) / (k + 1) of the maxima as they are',
    lambda k: keeps(k, F.max_pool2d, 1),
    slip=('divides by k, the entries of one window alone', lambda k: keeps(k, F.max_pool2d, 0)),
    k=[2, 3, 4, 5],
)
verify(
    'a shift by one pixel changes means almost everywhere',
    lambda k: bool(unchanged(F.avg_pool2d, k, noise) < 1e-3),
    slip=('says so of maxima', lambda k: bool(unchanged(F.max_pool2d, k, noise) < 1e-3)),
    k=[2, 3, 4, 5],
)

def moves(seed, layer, shift, step):  # a shift by the stride moves the output by one place
    Z = picture(seed, 1, 1, 12, 12)
    return close(layer(Z.roll(shift, 3), 2), layer(Z, 2).roll(step, 3))

verify(
    'a shift by the stride moves the output by one place',
    lambda seed: moves(seed, F.max_pool2d, 2, 1) and moves(seed, F.avg_pool2d, 2, 1),
    slip=('expects it of a shift by one pixel',
          lambda seed: moves(seed, F.max_pool2d, 1, 1) or moves(seed, F.max_pool2d, 1, 0)),
    seed=seeds(), tries=20,
)

# %% [markdown]
# ## Where it matters: do predictions survive a shift of one pixel?
#
# We train networks on 4,000 digits and ask for 1,000 others whether the prediction stays the same when the picture is
# shifted by one pixel. To make training quick, we cut off two pixels on each side and halve the rest to 12 × 12, by average
# pooling.

# %%
torch.set_default_dtype(torch.float64)

def halved(part):
    x = torch.tensor(part.x).double().reshape(-1, 1, 28, 28)
    return F.avg_pool2d(x[..., 2:26, 2:26], 2)          # (n, 1, 12, 12)

train, test = halved(mnist('train')), halved(mnist('test'))
y, y_test = torch.tensor(mnist('train').y), torch.tensor(mnist('test').y)
print(tuple(train.shape), tuple(test.shape))

# %% [markdown]
# There are three networks. In two places, each of them makes the maps half as wide and half as high:
#
# - *max*: by max pooling with stride 2,
# - *blurred*: by max pooling with stride 1, then a mean of 3 × 3 with stride 2,
# - *strided*: without pooling, by a stride of 2 in the convolution itself.
#
# Everything else is the same. At a border, a shift would push pixels out of the picture. So our pictures have no border: `nn.CircularPad2d`
# continues them with the pixels of the opposite side, as on a circle. For comparison, *linear* is softmax
# regression on the 144 pixels.

# %%
smaller = {
    'max': [nn.MaxPool2d(2)],
    'blurred': [nn.CircularPad2d(1), nn.MaxPool2d(2, stride=1),
                nn.AvgPool2d(3, stride=2)],
    'strided': [],
}

def network(kind):
    if kind == 'linear':
        return nn.Sequential(nn.Flatten(), nn.Linear(144, 10))
    stride = 2 if kind == 'strided' else 1
    return nn.Sequential(
        nn.CircularPad2d(2), nn.Conv2d(1, 6, 5, stride), nn.ReLU(),
        *smaller[kind],
        nn.CircularPad2d(1), nn.Conv2d(6, 32, 3, stride), nn.ReLU(),
        *smaller[kind],
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))

# %% mystnb={"image": {"alt": "Seven boxes in a row, joined by arrows: picture 1 by 12 by 12, convolution and ReLU 6 by 12 by 12, smaller 6 by 6 by 6, convolution and ReLU 32 by 6 by 6, smaller 32 by 3 by 3, mean of each map 32, linear layer 10. The boxes get lower as the maps shrink; the two with the word smaller are orange."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.1))
boxes = [('picture', '1×12×12', 12, GREY), ('conv\nReLU', '6×12×12', 12, 'C0'), ('smaller', '6×6×6', 6, 'C1'),
         ('conv\nReLU', '32×6×6', 6, 'C0'), ('smaller', '32×3×3', 3, 'C1'), ('mean of\neach map', '32', 1.2, 'C0'),
         ('linear', '10', 1.2, 'C0')]
for i, (name, shape, side, colour) in enumerate(boxes):
    left = 8.4 * i
    ax.add_patch(plt.Rectangle((left, -side / 2), 3.4, side, fc=colour, alpha=0.3, lw=0))
    ax.add_patch(plt.Rectangle((left, -side / 2), 3.4, side, fill=False, ec=colour, lw=1.2))
    ax.text(left + 1.7, 7.2, name, ha='center', va='bottom', fontsize=10)
    ax.text(left + 1.7, -7.2, shape, ha='center', va='top', fontsize=9)
    if i:
        ax.annotate('', (left - 0.4, 0), (left - 4.6, 0), arrowprops={'arrowstyle': '->', 'color': GREY})
ax.set(xlim=(-2.5, 57), ylim=(-10.5, 13.5), aspect='equal')
ax.axis('off');

# %% [markdown] tags=["caption"]
# The shapes in the network, channels first. Only the two steps marked "smaller" differ between the three networks. In the
# strided network, the convolutions themselves give the smaller shapes.

# %% [markdown]
# We train each network from three random starts. After each epoch, we store its predictions for the test digits, as they are and
# shifted to the right.

# %%
@torch.no_grad()
def predictions(model, shift):
    return model(test.roll(shift, 3)).argmax(1)         # (1000,)

kinds, models, said = [*smaller, 'linear'], {}, {}
for kind, seed in product(kinds, range(3)):
    torch.manual_seed(seed)
    model = network(kind)
    optimizer = torch.optim.Adam(model.parameters(), 0.015, fused=True)
    g = torch.Generator().manual_seed(seed)
    for epoch in range(3):
        dealt = batches(g, 50, train, y)
        fit(model, nn.CrossEntropyLoss(), optimizer, dealt)
        for shift in range(5 if epoch == 2 else 2):
            said[kind, seed, epoch, shift] = predictions(model, shift)
    models[kind, seed] = model

# %%
def right(kind, seed, epoch=2):                         # (1000,)
    return (said[kind, seed, epoch, 0] == y_test).double()

def survives(kind, seed, epoch=2, shift=1):             # (1000,)
    return (said[kind, seed, epoch, shift]
            == said[kind, seed, epoch, 0]).double()

def summary(score, kind):
    three = 100 * torch.stack(
        [score(kind, seed).mean() for seed in range(3)])
    return f'{three.mean():.1f} ± {2 * three.std() / 3 ** 0.5:.2f}'

# %%
print('         parameters  operations  % right      % survive a shift')
for kind in kinds:
    model = models[kind, 0]
    weights = sum(p.numel() for p in model.parameters())
    with FlopCounterMode(display=False) as counter:
        model(test[:1])
    print(f'{kind:8} {weights:8,} {counter.get_total_flops():12,}'
          f'   {summary(right, kind)}  {summary(survives, kind)}')

# %% [markdown]
# The numbers behind ± are two standard errors over the three starts. The operations are those for one picture, without pooling. We did not choose the best learning rate for each
# network, so the accuracies are no ranking.
#
# A shift by one pixel changes almost a third of the predictions of the linear model, although it reads the most digits in the table.
# Why do the networks read fewer? They keep only the mean of each last map, so they do not know where a stroke was. We
# train the networks with max pooling anew, and keep all 32 × 3 × 3 numbers:

# %%
for seed in range(3):
    torch.manual_seed(seed)
    model = nn.Sequential(
        *network('max')[:-3], nn.Flatten(), nn.Linear(288, 10))
    optimizer = torch.optim.Adam(model.parameters(), 0.015, fused=True)
    g = torch.Generator().manual_seed(seed)
    fit(model, nn.CrossEntropyLoss(), optimizer, batches(g, 50, train, y))
    hits = (predictions(model, 0) == y_test).sum()
    print(f'start {seed}: {hits} of 1000 digits right after one pass')
with FlopCounterMode(display=False) as counter:
    model(test[:1])
print(f'{sum(p.numel() for p in model.parameters()):,} parameters,'
      f' {counter.get_total_flops():,} operations')

# %% [markdown]
# After one pass, each of these networks reads 895 or more of 1,000 digits. Those with max pooling in the table read only 83.9 % after
# three. So with this larger head, which knows the places, they read more.
#
# Of the networks, the blurred ones keep the most predictions, and the strided ones the fewest. Is this order more than chance? For each digit, we take the share of the three starts in which its prediction survives, and the difference of this share
# between two kinds of networks. We divide the mean difference by its standard error over the digits:

# %%
for better, worse in ('blurred', 'max'), ('max', 'strided'):
    gain = sum(survives(better, seed) - survives(worse, seed)
               for seed in range(3)) / 3                # (1000,)
    error = gain.std() / len(gain) ** 0.5
    print(better, 'minus', worse, 'in standard errors:',
          between(gain.mean() / error, 5, 50))

# %% [markdown]
# So these networks would very likely show the same order on other digits. About other starts we know less: in our three, each blurred network keeps more
# predictions than each one with max pooling, and these keep more than each strided one.

# %% mystnb={"image": {"alt": "Left: share of surviving predictions for shifts of 0 to 4 pixels, three lines for each network; all networks are at 1 for the shifts 0 and 4; between them, the blurred ones stay close to 1, those with max pooling somewhat lower, and the strided ones fall to between a half and three quarters at a shift of 2; the linear model falls to a tenth. Right: survival against accuracy, a point for each seed and epoch; the three networks lie in three bands, one above the other, at all accuracies; the linear model lies at the right, below them."}} tags=["hide-input"]
fig, (left, right_ax) = panels(2, height=2.8)
colours = {'max': 'C0', 'blurred': 'C2', 'strided': 'C1', 'linear': GREY}
for kind, seed in product(kinds, range(3)):
    shares = [survives(kind, seed, 2, shift).mean() for shift in range(5)]
    left.plot(range(5), shares, 'o-', ms=4, color=colours[kind], alpha=0.8)
    right_ax.plot([right(kind, seed, epoch).mean() for epoch in range(3)],
                  [survives(kind, seed, epoch).mean() for epoch in range(3)], 'o', ms=5, color=colours[kind], alpha=0.8)
for kind, x, height in (('blurred', 2, 1.02), ('max', 2, 0.8), ('strided', 2.5, 0.44), ('linear', 3.4, 0.15)):
    left.text(x, height, kind, color=colours[kind], ha='center')
left.set(xlabel='shift in pixels', ylabel='share that survives', xticks=range(5), ylim=(0, 1.1))
right_ax.set(xlabel='accuracy without a shift', ylabel='share that survives one pixel', xlim=(0.45, 0.95), ylim=(0.6, 1.02));

# %% [markdown] tags=["caption"]
# Left: the share of predictions that survive a shift, for three seeds. Right: the share that survives one pixel against the
# accuracy, after each epoch, in the same colours.

# %% [markdown]
# In the left panel, every prediction of our three kinds of networks survives a shift by *four* pixels. Four is the product of the two strides, and divides
# the side 12. So such a shift moves the last maps by exactly one place, and global average pooling does not notice it.
#
# Are the strides the cause at the other shifts? We keep the weights of the strided networks, and set both strides to 1. With a dilation of
# 2, the weights of the second convolution meet the same places of the first map as before:
#
# %%
def without_strides(model):
    model = deepcopy(model)
    first, second = model[1], model[4]                  # convolutions
    first.stride, second.stride, second.dilation = 1, 1, 2
    model[3] = nn.CircularPad2d(2)                      # for the dilation
    return model

whole = {}
for seed in range(3):
    model = without_strides(models['strided', seed])
    whole[seed] = predictions(model, 1) == predictions(model, 0)
    print(f'start {seed}: {whole[seed].sum()} of 1000 predictions survive')

# %% [markdown]
# All predictions survive. So in these networks, the strides break the invariance. Max pooling and blurring reduce the damage, but do not
# remove it.
#
# A network that always says "3" survives every shift, too. So the right panel shows the survival beside the accuracy. Among networks of about the same
# accuracy, the order is the same. Blurring is not free: max pooling with stride 1 computes more than four times as many maxima. On photographs,
# {cite:t}`zhang2019making` finds a gain in accuracy. {cite:t}`azulay2019why` measure how fragile large networks are.
#
# ```{exercise} ★★ Experiment: ask for all shifts
# :label: pooling-vote
# Let a trained network look at a digit in four places: shifted by 0, 1, 2 and 3 pixels to the right. For each class, take the mean
# of the four scores, and predict the class with the largest mean. Answer two questions for the *strided* networks before you try. Does
# each of these predictions survive a shift by one more pixel? And are they right more often than those of the network alone, on
# average over the three starts?
# ```

# %%
def predicted():
    """Two truth values in a list: whether all survive, and more are right.

    [False, False], for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
@torch.no_grad()
def voted(model, shift):
    return sum(model(test.roll(shift + more, 3)) for more in range(4)).argmax(1)

votes = {seed: [voted(models['strided', seed], shift) for shift in (0, 1)] for seed in range(3)}
surviving = np.mean([(a == b).double().mean() for a, b in votes.values()])
accuracy = np.mean([(a == y_test).double().mean() for a, _ in votes.values()])
alone = np.mean([right('strided', seed).mean() for seed in range(3)])

def is_measured(answers):
    if len(answers) != 2 or not all(answer in (True, False) for answer in answers):
        raise ValueError('give two truth values')
    if list(answers) != [surviving > 0.995, accuracy > alone]:
        raise ValueError('something else is measured; try it')
    return True

grade(lambda: is_measured(predicted()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} pooling-vote
# :class: dropdown
# ```
# All survive. If the picture is shifted by one more pixel, the four places become 1, 2, 3 and 4, and the network does not
# distinguish place 4 from place 0. So the mean is the same. But it is right *less* often. The network was trained with digits in
# place 0 only. In the other three places it is right less often, as the last number below shows, and the mean uses their scores, too.
# An answer that is the same in all places is not yet a right one.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured([True, False]), lambda: True, [()])
assert not grade(lambda: is_measured([True, True]), lambda: True, [()])
assert not grade(lambda: is_measured([False, False]), lambda: True, [()])
assert not grade(lambda: is_measured([False, True]), lambda: True, [()])
elsewhere = np.mean([(said['strided', seed, 2, shift] == y_test).double().mean()
                     for seed, shift in product(range(3), (1, 2, 3))])
print(f'survive {surviving:.2f}, right {accuracy:.2f}, alone {alone:.2f}, alone in places 1, 2 and 3 {elsewhere:.2f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def beats(better, worse, errors):
    gains = torch.stack([survives(better, seed) - survives(worse, seed) for seed in range(3)])
    of_a_digit = gains.mean(0)
    return bool(of_a_digit.mean() > errors * of_a_digit.std() / len(of_a_digit) ** 0.5 and (gains.mean(1) > 0).all())

verify(
    'more predictions survive with blurring than with max pooling, and with that than with strides alone: for '
    'each seed, and by more than two standard errors',
    lambda pair: beats(*pair, 2),
    slip=('turns it round', lambda pair: beats(*reversed(pair), 2)),
    pair=[('blurred', 'max'), ('max', 'strided')],
)

def at_equal_accuracy(better, worse):  # each network against those of the other kind that read as many digits, to 3 points
    runs = list(product(range(3), range(3)))
    pairs = [(survives(better, *a).mean(), survives(worse, *b).mean()) for a, b in product(runs, runs)
             if abs(right(better, *a).mean() - right(worse, *b).mean()) < 0.03]
    return len(pairs) > 5 and all(u > v for u, v in pairs)

verify(
    'the same order among networks of the same accuracy, to 3 points',
    lambda pair: at_equal_accuracy(*pair),
    slip=('turns it round', lambda pair: at_equal_accuracy(*reversed(pair))),
    pair=[('blurred', 'max'), ('max', 'strided')],
)
verify(
    'a shift by the product of the strides changes no prediction',
    lambda kind, seed, shift: bool(survives(kind, seed, 2, shift).all()),
    slip=('says so of the last stride alone',
          lambda kind, seed, shift: bool(survives(kind, seed, 2, shift // 2).all())),
    kind=list(smaller), seed=[0, 1, 2], shift=[4],
)

verify(
    'the strided networks keep all predictions if their strides are taken away',
    lambda seed: bool(whole[seed].all()),
    slip=('leaves the strides as they are', lambda seed: bool(survives('strided', seed).all())),
    seed=[0, 1, 2],
)

def same_places(seed, dilated):  # at every fourth place, the last maps are those of the strided network
    strided, model = models['strided', seed], without_strides(models['strided', seed])
    model[4].dilation, model[3] = (2, nn.CircularPad2d(2)) if dilated else (1, nn.CircularPad2d(1))
    with torch.no_grad():
        return close(model[:6](test[:20])[..., ::4, ::4], strided[:6](test[:20]))

verify(
    'without strides, the last maps hold those of the strided network at every fourth place',
    lambda seed: same_places(seed, True),
    slip=('leaves the dilation out', lambda seed: same_places(seed, False)),
    seed=[0, 1, 2],
)

# %% [markdown]
# ## Summary
#
# Pooling keeps one number of each window: max pooling the largest entry, which alone gets the gradient, and average
# pooling the mean, which is a convolution with equal weights. A shift by one pixel leaves the maximum of a $k \times k$
# window of independent entries as it is with probability $(k - 1)/(k + 1)$. In our networks, the strides
# broke the invariance: on digits, fewer predictions survived a shift by one pixel with max pooling than with blurred max pooling, and still fewer with
# strides alone.
#
# **Further reading.** {cite:t}`zhang2023dive`, chapter 7, introduces pooling with more examples in code.
# {cite:t}`goodfellow2016deep`, chapter 9, explains pooling as a strong assumption about pictures, and says when it is wrong.
