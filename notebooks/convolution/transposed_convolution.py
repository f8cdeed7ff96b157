# ---
# jupyter:
#   book:
#     functions:
#       conv_transpose: conv_transpose(normal(3, 4), normal(3, 3), 2)
#     main: eq-transposed
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Transposed convolution
#
# A network that reads digits shrinks a picture of 28 × 28 pixels to maps of 7 × 7, by two strides of 2. A network that
# draws digits, or that gives a label to each pixel, has to go the other way. How does it get from 7 × 7 back to 28 ×
# 28? And why do many pictures that networks have drawn show a fine checkerboard?
#
# - **You need** [convolutions](convolutions.ipynb), their [padding and stride](padding_and_stride.ipynb),
#   the [chain rule](../calculus/chain_rule.ipynb), [automatic differentiation](../calculus/automatic_differentiation.ipynb)
#   and, for the experiments, [least squares](../regression/least_squares.ipynb) and
#   [training in minibatches](../regression/minibatch_training.ipynb).
# - **You build** a transposed convolution, equal to PyTorch's and to a transposed matrix, and networks that enlarge digits with it.
# - **Runs in** 10 seconds. All tensors are float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.functional import conv1d, conv2d
from torch.utils.flop_counter import FlopCounterMode

from nbutils.cases import counts, integers, seeds, vectors
from nbutils.checks import below, close, grade, verify
from nbutils.data import mnist
from nbutils.figures import GREY, panels, show_image
from nbutils.training import batches, fit

plt.style.use('nbutils.book')
torch.set_default_dtype(torch.float64)
torch.set_printoptions(precision=2, sci_mode=False)
torch.set_num_threads(1)  # the tensors are small: a second thread would mostly wait

# %% [markdown]
# ## Transposed convolution: a copy of the kernel for each input
#
# We begin with a row of three numbers, a kernel of three weights, and a stride of 2. Each number is multiplied by the
# whole kernel. We lay this copy of the kernel into the output, 2 places to the right of the copy before. Where copies
# overlap, they are added:

# %%
y = torch.tensor([1.0, 10, 100])
w = torch.tensor([1.0, 2, 3])
copies = torch.zeros(3, 7)
for i in range(3):
    copies[i, 2 * i:2 * i + 3] = y[i] * w
print(copies)
print('sum:', copies.sum(0))

# %% [markdown]
# So three numbers became seven. This is a **transposed convolution**.
#
# In a picture, the input $Y_{i,j}$ multiplies a kernel $\mathbf{W}$ of $k_h \times k_w$ weights. With stride $s$, the
# upper left corner of this copy is laid on the pixel $(si, sj)$. So the pixel $(r, c)$ of the output gets the weight
# $W_{r - si,\, c - sj}$ of this copy. We take it as zero if the copy does not reach the pixel. From an input of $m_h
# \times m_w$ numbers we get
#
# ```{math}
# :label: eq-transposed
# X_{r,c} = \sum_{i=0}^{m_h - 1} \sum_{j=0}^{m_w - 1} Y_{i,j}\, W_{r - si,\, c - sj} .
# ```

# %%
def conv_transpose(Y, W, s):
    (m_h, m_w), (k_h, k_w) = Y.shape, W.shape
    X = Y.new_zeros(s * (m_h - 1) + k_h, s * (m_w - 1) + k_w)
    for i in range(m_h):
        for j in range(m_w):
            X[s * i:s * i + k_h, s * j:s * j + k_w] += Y[i, j] * W
    return X

# %%
Y = torch.tensor([[1.0, 10], [100, 1000]])
W = torch.ones(3, 3)
print(conv_transpose(Y, W, 2))
print(F.conv_transpose2d(Y[None, None], W[None, None], stride=2)[0, 0])

# %% [markdown]
# PyTorch gives the same. The digits show the copies: the pixel in the middle, 1111, has got all four of them.

# %% mystnb={"image": {"alt": "Two panels. Left, convolution: seven grey squares below, three dots above; each dot is joined to three neighbouring squares, and arrows point up. Right, transposed convolution: the same squares, dots and lines, with arrows that point down."}} tags=["hide-input"]
fig, axes = panels(2, height=1.9)
for ax, title, up in zip(axes, ('convolution: 7 to 3', 'transposed: 3 to 7'), (True, False)):
    for i in range(3):
        colour = 'C0' if i % 2 else 'C1'
        for a in range(3):
            ends = [(2 * i + a, 0.12), (2 * i + 1, 0.88)]
            start, end = ends if up else ends[::-1]
            arrow = {'arrowstyle': '->', 'color': colour, 'shrinkA': 0, 'shrinkB': 0, 'lw': 1.3}
            ax.annotate('', end, start, arrowprops=arrow)
        ax.plot(2 * i + 1, 1, 'o', color=colour, ms=9)
    ax.plot(range(7), np.zeros(7), 's', color=GREY, ms=9)
    ax.set(title=title, xlim=(-0.6, 6.6), ylim=(-0.3, 1.3))
    ax.axis('off')

# %% [markdown] tags=["caption"]
# The same lines in both directions, for a kernel of 3 and stride 2. A convolution collects three pixels in each output.
# A transposed convolution spreads each input over these three pixels.

# %% [markdown]
# ### The size of the output: padding and output_padding
#
# In a row, the last of $m$ copies begins at the place $s(m - 1)$ and has $k$ entries. So the output has $s(m - 1) + k$
# entries. PyTorch's `padding=p` *cuts off* $p$ entries at each end. A convolution with the same arguments puts
# $p$ zeros there, so the way back has to drop them. One more argument is needed, because this
# convolution rounds:

# %%
kernel = torch.zeros(1, 1, 3, 3)
for n in (27, 28):
    small = conv2d(torch.zeros(1, 1, n, n), kernel, stride=2, padding=1)
    print(n, '->', small.shape[-1])

# %% [markdown]
# Both sizes give 14. To get back to 28, `output_padding=o`, here less than the stride, cuts off $o$ entries fewer
# at the right end. If $p < o$, zeros fill the rest. In total the output has the size
#
# ```{math}
# :label: eq-transposed-size
# n = s(m - 1) + k - 2p + o .
# ```

# %%
def size_back(m, k, s, p, o):               # p on each side
    return s * (m - 1) + k - 2 * p + o

# %%
for k, p, o in (3, 1, 0), (3, 1, 1), (4, 1, 0), (2, 0, 0):
    layer = nn.ConvTranspose2d(1, 1, k, stride=2, padding=p,
                               output_padding=o)
    out = layer(torch.zeros(1, 1, 14, 14))
    print(f'k = {k}, p = {p}, o = {o}: 14 -> {out.shape[-1]},'
          f' formula {size_back(14, k, 2, p, o)}')

# %% [markdown]
# The last three layers double each side. Two of them lead from 7 × 7 to 28 × 28. A dilation $d$
# spreads the kernel over $d(k - 1) + 1$ entries, and this number takes the place of $k$.
#
# A layer of a network often has several maps, its *channels*. Each pair of an input and an output channel has its own
# kernel, and for an output channel, the results of all input channels are added:

# %%
down = nn.Conv2d(8, 16, 4, stride=2, padding=1)
up = nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1)
maps = torch.zeros(1, 8, 28, 28)
print(tuple(down(maps).shape), tuple(up(down(maps)).shape))
print(tuple(down.weight.shape), tuple(up.weight.shape))

# %% [markdown]
# ```{admonition} A tempting mistake
# :class: tip
# `nn.Conv2d` stores its kernels as (outputs, inputs, $k$, $k$). You may expect the same of `nn.ConvTranspose2d(16, 8,
# 4)`, but its weight has the shape (inputs, outputs, $k$, $k$), here (16, 8, 4, 4). It is the shape for the convolution
# from 8 to 16 channels that this layer transposes.
# ```
#
# ```{exercise} ★★ Pencil: exactly s times as large
# :label: transposed-enlarge
# A transposed convolution with a kernel of $k$ and stride $s$, $2 \le s \le k$, shall make each row exactly $s$ times
# as long, for each length $m$. Which `padding` and which `output_padding` do you choose? Take the smallest possible
# padding. Write `enlarge(k, s)`.
# ```

# %%
def enlarge(k, s):
    """The padding on each side, and the output_padding: a tuple of two ints.

    The kernel has k entries; the stride is s, and 2 <= s <= k.
    enlarge(4, 2) is (1, 0).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_trying(k, s):
    for padding, o in product(range(k), range(s)):
        if all(F.conv_transpose1d(torch.empty(1, 1, m, device='meta'), torch.empty(1, 1, k, device='meta'), stride=s,
                                  padding=padding, output_padding=o).shape[-1] == m * s for m in range(k, k + 3)):
            return padding, o

enlargements = dict(k=lambda s: integers(s, s + 9), s=integers(2, 7))
grade(enlarge, by_trying, **enlargements)

# %% [markdown]
# ```{solution-start} transposed-enlarge
# :class: dropdown
# ```
# Insert $n = sm$ into {eq}`eq-transposed-size`. What is left is $2p = k - s + o$, for every $m$. So $k - s + o$ must be
# even: $o = 0$ if $k - s$ is even, and $o = 1$ otherwise. Three wrong answers: half of the kernel, as for an ordinary
# convolution; half of $k - s$, rounded down, with one pixel missing; $2p$ on each side.

# %% jupyter={"source_hidden": true}
def enlarge_solution(k, s):
    return (k - s + 1) // 2, (k - s) % 2

def half_of_the_kernel(k, s):
    return (k - 1) // 2, s - 1

def rounds_down(k, s):
    return (k - s) // 2, 0

def both_sides(k, s):
    return k - s, 0

assert grade(enlarge_solution, by_trying, **enlargements)
assert not grade(half_of_the_kernel, by_trying, **enlargements)
assert not grade(rounds_down, by_trying, **enlargements)
assert not grade(both_sides, by_trying, **enlargements)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def drawn(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))

def ours_is_torchs(seed, m, k, s, p, cut):
    Y, W = drawn(seed, m, m + 1), drawn(seed + 1, k, k + 1)
    want = F.conv_transpose2d(Y[None, None], W[None, None], stride=s, padding=p)[0, 0]
    ours = conv_transpose(Y, W, s)
    ours = ours[p:len(ours) - cut * p, p:ours.shape[1] - cut * p]
    return ours.shape == want.shape and close(ours, want)

verify(
    'copies of the kernel, added up, are what torch gives, and its padding cuts off both ends',
    lambda **case: ours_is_torchs(cut=1, **case),
    slip=('cuts off one end', lambda **case: ours_is_torchs(cut=0, **case)),
    seed=seeds(), m=integers(2, 6), k=integers(3, 5), s=integers(1, 4), p=integers(0, 1), tries=40,
)

def sizes_back(n, k, p, s, d, lost):
    m = conv1d(torch.zeros(1, 1, n), torch.zeros(1, 1, k), padding=p, stride=s, dilation=d).shape[-1]
    span = d * (k - 1) + 1
    return size_back(m, span, s, p, (n + 2 * p - span) % s if lost else 0) == n

def right_end(seed, m, k, s, p, o, cut):
    y, w = drawn(seed, m), drawn(seed + 1, k)
    want = F.conv_transpose1d(y[None, None], w[None, None], stride=s, padding=p, output_padding=o)[0, 0]
    return close(cut(conv_transpose(y[None], w[None], s)[0], p, o), want)

verify(
    'output_padding cuts fewer entries at the right end, and fills with zeros what is then missing',
    lambda **case: right_end(cut=lambda row, p, o: F.pad(row, (0, o))[p:len(row) + o - p], **case),
    slip=('adds zeros after the cut',
          lambda **case: right_end(cut=lambda row, p, o: F.pad(row[p:len(row) - p], (0, o)), **case)),
    seed=seeds(), m=integers(2, 5), k=integers(3, 5), s=integers(2, 4), p=integers(0, 1), o=integers(0, 1), tries=40,
)

rows_and_layers = dict(n=integers(9, 15), k=integers(1, 4), p=integers(0, 2), s=integers(1, 4), d=integers(1, 2))
verify(
    'the size is that of the input again, if the remainder of the division is added',
    lambda **case: sizes_back(lost=True, **case),
    slip=('adds nothing', lambda **case: sizes_back(lost=False, **case)),
    **rows_and_layers, tries=60,
)

# %% [markdown]
# ## The transposed matrix, and the gradient of a convolution
#
# Why is this layer called transposed? A convolution of a row is linear, so it is a product with a matrix $\mathbf{A}$.
# The columns of $\mathbf{A}$ are the outputs for the unit vectors:

# %%
units = torch.eye(7)[:, None]               # (7, 1, 7)
A = conv1d(units, w[None, None], stride=2)[:, 0].T
print(A)                                    # (3, 7)
print(A.T @ y)

# %% [markdown]
# Row $i$ of $\mathbf{A}$ holds the kernel, shifted to window $i$. So $\mathbf{A}^\top\mathbf{y}$ adds up these
# rows, each multiplied by $y_i$. These are the copies of the first example, and the result is the same. For a picture
# the matrix is large, but we need not write it down. The transpose is the only matrix for which
#
# ```{math}
# :label: eq-transposed-adjoint
# (\mathbf{A}\mathbf{x}) \cdot \mathbf{y} = \mathbf{x} \cdot (\mathbf{A}^\top\mathbf{y})
# ```
#
# for all vectors $\mathbf{x}$ and $\mathbf{y}$. The map $\mathbf{y} \mapsto \mathbf{A}^\top\mathbf{y}$ is also called
# the *adjoint*. We compute both sides for a handwritten digit and random numbers, without the matrix:

# %%
digit = torch.tensor(mnist('train').x[4]).reshape(1, 1, 28, 28)
g = torch.Generator().manual_seed(0)
W = torch.randn(1, 1, 3, 3, generator=g)
y = torch.randn(1, 1, 14, 14, generator=g)
Ax = conv2d(digit, W, stride=2, padding=1)
Aty = F.conv_transpose2d(y, W, stride=2, padding=1, output_padding=1)
print(f'{(Ax * y).sum():.4f} {(digit * Aty).sum():.4f}')

# %% [markdown]
# The backward pass of a convolution to its input is a transposed convolution. Let
# $\mathcal{L}$ be a loss of the outputs $\mathbf{A}\mathbf{x}$. Then, by the [chain
# rule](../calculus/chain_rule.ipynb),
#
# ```{math}
# :label: eq-conv-input-gradient
# \nabla_{\mathbf{x}}\, \mathcal{L}(\mathbf{A}\mathbf{x}) = \mathbf{A}^\top\, \nabla \mathcal{L}(\mathbf{A}\mathbf{x}) .
# ```
#
# Take half the sum of the squared outputs as the loss. Its gradient with respect to the outputs is the outputs
# themselves. Their transposed convolution should be what autograd finds for the pixels:

# %%
x = digit.clone().requires_grad_()
outputs = conv2d(x, W, stride=2, padding=1)
(outputs.square().sum() / 2).backward()
ours = F.conv_transpose2d(outputs.detach(), W, stride=2, padding=1,
                          output_padding=1)
print(tuple(x.grad.shape), 'difference:', below(abs(ours - x.grad).max()))

# %% [markdown]
# The transposed convolution is not the inverse of the convolution, though some authors call it *deconvolution*. Here
# $28^2$ pixels became $14^2$ numbers, and from these the pixels cannot be recovered. Only the shape comes back, and
# each number is spread over the pixels from which it was computed.
#
# ### Zeros between the inputs: fractionally strided convolution
#
# The same layer can be computed as an ordinary convolution with stride 1. Put $s - 1$ zeros between neighbouring inputs
# and $k - 1$ zeros at each end ($k - 1 - p$ with `padding=p`), and turn the kernel round:

# %%
stretched = torch.zeros(9)                  # k - 1 = 2 zeros at each end
stretched[2:7:2] = torch.tensor([1.0, 10, 100])
print(stretched)
print(conv1d(stretched[None, None], w.flip(0)[None, None])[0, 0])

# %% [markdown]
# The kernel moves by one entry, and the numbers are $s$ entries apart: a stride of $1/s$. So the layer is also called a
# *fractionally strided convolution* {cite}`dumoulin2016guide`.

# %% tags=["checks"]
def random_case(seed, n, k, p, s, d, o):  # n pixels; o is what rounding has lost
    x, w = drawn(seed, 1, 1, n, n), drawn(seed + 1, 1, 1, k, k)
    y = conv2d(x, w, padding=p, stride=s, dilation=d)
    z = drawn(seed + 2, *y.shape)
    lost = (n + 2 * p - d * (k - 1) - 1) % s
    return x, y, z, F.conv_transpose2d(z, w, padding=p, stride=s, dilation=d, output_padding=o(lost))

def adjoint(change=lambda back: back, **case):
    x, y, z, back = random_case(o=lambda lost: lost, **case)
    return close((y * z).sum(), (x * change(back)).sum())

verify(
    'the transposed convolution of torch multiplies by the transposed matrix',
    adjoint,
    slip=('shifts the result by a pixel', lambda **case: adjoint(lambda back: back.roll(1, -1), **case)),
    seed=seeds(), **rows_and_layers, tries=60,
)

def gradient_is(seed, k, s, turn):
    x, w = drawn(seed, 1, 1, 9, 9).requires_grad_(), drawn(seed + 1, 1, 1, k, k)
    out = conv2d(x, w, stride=s)
    out.backward(D := drawn(seed + 2, *out.shape))
    back = conv_transpose(D[0, 0], turn(w[0, 0]), s)
    return close(F.pad(back, (0, 9 - len(back), 0, 9 - len(back))), x.grad[0, 0])

verify(
    'the gradient of a convolution with respect to its input is a transposed convolution',
    lambda **case: gradient_is(turn=lambda W: W, **case),
    slip=('turns the kernel round', lambda **case: gradient_is(turn=lambda W: W.flip(0, 1), **case)),
    seed=seeds(), k=integers(1, 4), s=integers(1, 3), tries=40,
)

def by_stretching(seed, m, k, s, turn):
    y, w = drawn(seed, m), drawn(seed + 1, k)
    zeros = torch.zeros(s * (m - 1) + 2 * k - 1)
    zeros[k - 1:len(zeros) - k + 1:s] = y
    return close(conv1d(zeros[None, None], turn(w)[None, None])[0], conv_transpose(y[None], w[None], s))

verify(
    'it is a convolution with the turned kernel of the stretched input',
    lambda **case: by_stretching(turn=lambda w: w.flip(0), **case),
    slip=('forgets to turn the kernel', lambda **case: by_stretching(turn=lambda w: w, **case)),
    seed=seeds(), m=integers(1, 5), k=integers(1, 5), s=integers(1, 4), tries=40,
)

# %% [markdown]
# ## Checkerboard artefacts: uneven copies and unequal sums of weights
#
# What becomes of a row of ones, if all weights are 1? Each result counts the copies of the kernel that reach a pixel:

# %%
for k in (3, 4):
    reached = conv_transpose(torch.ones(1, 5), torch.ones(1, k), 2)[0]
    print(f'k = {k}:', reached.int().tolist())

# %% mystnb={"image": {"alt": "Two square pictures. With a kernel of three, a checkerboard of yellow, green and blue pixels. With a kernel of four, an even yellow area with green sides and blue corners."}} tags=["hide-input"]
fig, axes = panels(2, height=2.2)
for ax, k in zip(axes, (3, 4)):
    copies = F.conv_transpose2d(torch.ones(1, 1, 7, 7), torch.ones(1, 1, k, k), stride=2)[0, 0]
    show_image(ax, copies, f'kernel of {k} × {k}, stride 2', cmap='viridis', vmin=0, vmax=4)

# %% [markdown] tags=["caption"]
# The copies of the kernel that reach each pixel: 1 is blue, 2 green, 4 yellow. With equal weights, a kernel of 3 and
# stride 2 make a checkerboard of a constant picture. A kernel of 4 makes it even, away from the sides.

# %% [markdown]
# With $k = 3$ the counts alternate between 1 and 2, in a picture between 1, 2 and 4. Pictures from generative networks
# have shown this pattern {cite}`odena2016deconvolution`. Away from the ends, the copies overlap
# evenly if and only if $k$ is a multiple of
# $s$.
#
# But the weights of a network differ. With $s = 2$, an even pixel gets the weights $w_0, w_2, \dots$ of its copies, an
# odd pixel $w_1, w_3, \dots$:

# %%
for w in (1, 2, 1), (1, 2, 3, 4):
    row = conv_transpose(torch.ones(1, 5), torch.tensor([w]), 2)[0]
    print(w, '->', row.int().tolist())

# %% [markdown]
# The copies of 1, 2, 1 overlap unevenly, but away from the ends its results are equal, because $1 + 1 = 2$. The copies
# of 1, 2, 3, 4 overlap evenly, but its results alternate between $1 + 3$ and $2 + 4$. In general, a constant row stays
# constant away from its ends if and only if the $s$ sums of every $s$-th weight, $w_0 + w_s + \dots$ to $w_{s-1} +
# w_{2s-1} + \dots$, are equal. A network may learn this, but nothing forces it to.
#
# ### Resize, then convolve
#
# One way keeps constant pictures constant with any weights. First repeat each pixel $s$ times in each direction
# (*nearest neighbour*). Then apply an ordinary convolution with stride 1. A constant picture stays constant in both
# steps, away from the border.
#
# We compare three layers, with 500 random kernels each, on a constant picture. In the outputs, a pixel is one of four
# kinds, because its row and its column are even or odd. We take means over the pixels of each kind:

# %%
def enlarged(X, kind, W):                   # W: (1, 500, k, k)
    if kind == 'resize':
        X = F.interpolate(X, scale_factor=2, mode='nearest')
        return conv2d(X, W.transpose(0, 1), padding=1)
    return F.conv_transpose2d(X, W, stride=2)

def four_kinds(X):                          # (..., 2 h, 2 w) -> (..., 2, 2)
    return X.unflatten(-1, (-1, 2)).unflatten(-3, (-1, 2)).mean((-4, -2))

# %%
g = torch.Generator().manual_seed(0)
constant = torch.ones(1, 1, 20, 20)
shares = {}
for kind, k in ('kernel 3', 3), ('kernel 4', 4), ('resize', 3):
    W = torch.randn(1, 500, k, k, generator=g)
    means = four_kinds(enlarged(constant, kind, W)[..., 4:36, 4:36])
    pattern = means - means.mean((-2, -1), keepdim=True)
    shares[kind] = pattern.square().mean() / means.square().mean()

print('share of the pattern:',
      f'kernel 3 {shares["kernel 3"]:.2f},'
      f' kernel 4 {shares["kernel 4"]:.2f},'
      f' resize {below(shares["resize"])}')

# %% [markdown]
# For each kernel, the outputs are four numbers, one for each kind of pixel. The pattern is these four numbers minus
# their mean. We print its mean square, divided by the mean square of the four numbers. It is about three quarters in
# both transposed convolutions. The reason: the four numbers are sums of different weights, so they are independent with
# mean zero. Averaging four such numbers leaves a quarter of their mean square. The other three quarters are the
# pattern. After resizing there is none.

# %% mystnb={"image": {"alt": "Three square pictures of ten by ten pixels. Kernel 3: pale orange with every second pixel of every second row violet. Kernel 4: orange and pale violet pixels in a regular pattern. Resize: one even colour."}} tags=["hide-input"]
fig, axes = panels(3, height=2.1)
g = torch.Generator().manual_seed(1)
for ax, (kind, k) in zip(axes, (('kernel 3', 3), ('kernel 4', 4), ('resize', 3))):
    W = torch.randn(1, 1, k, k, generator=g)
    show_image(ax, enlarged(torch.ones(1, 1, 8, 8), kind, W)[0, 0, 3:13, 3:13], kind, cmap='PuOr_r', vmin=-3, vmax=3)
    ax.spines[:].set_visible(True)

# %% [markdown] tags=["caption"]
# One random kernel of each layer, on a constant picture, away from the border. Both transposed convolutions draw a
# pattern that repeats every two pixels. Resizing and then convolving does not.

# %% [markdown]
# In PyTorch this is `nn.Upsample(scale_factor=2)`, followed by `nn.Conv2d(16, 8, 3, padding=1)`. Computed in two steps
# it costs more, because the convolution runs at the larger size. The next exercise finds one kernel for both steps.
#
# ```{exercise} ★★★ Program: resize and convolve in one layer
# :label: transposed-resize
# Repeat each number of a row $s$ times, put $k - 1$ zeros at each end, and apply a convolution with the kernel
# $\mathbf{w}$ and stride 1, as `conv1d` does. Together, this is one transposed convolution with stride $s$. Write
# `one_kernel(w, s)`, its kernel.
# ```

# %%
def one_kernel(w, s):
    """The kernel of the transposed convolution: array (k,), int -> array.

    k and s are 1 or more. For w = [1., 2., 3.] and s = 2, it is
    [3., 5., 3., 1.].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def in_two_steps(y, w, s):
    repeated = F.interpolate(torch.as_tensor(y)[None, None], scale_factor=s, mode='nearest')
    return conv1d(F.pad(repeated, (len(w) - 1, len(w) - 1)), torch.as_tensor(w)[None, None])[0, 0]

kernels = dict(w=vectors((1, 5)), s=integers(1, 4))
grade(one_kernel, lambda w, s: in_two_steps(np.ones(1), w, s).numpy(), **kernels)

# %% [markdown]
# ```{solution-start} transposed-resize
# :class: dropdown
# ```
# A transposed convolution answers a single one, $y = (1)$, with its kernel. So we send a one through both steps. It is
# repeated $s$ times, and the convolution of these ones with $\mathbf{w}$ gives the sums of up to $s$ neighbouring
# weights. The kernel is turned round, because the first window touches the ones only with its last weight. For the
# numbers above, the sums of the even and of the odd places are $3 + 3$ and $5 + 1$, both $1 + 2 + 3$. That is always
# so: each of the $s$ ones sends the whole kernel, one place further on, so each kind of place gets each weight once.
# Wrong answers forget to turn the kernel, repeat its weights, or take means of the ones.

# %% jupyter={"source_hidden": true}
def one_kernel_solution(w, s):
    return np.convolve(w[::-1], np.ones(s))

def not_turned(w, s):
    return np.convolve(w, np.ones(s))

def repeated_weights(w, s):
    return np.repeat(w[::-1], s)

def means_of_weights(w, s):
    return np.convolve(w[::-1], np.ones(s) / s)

two_steps = lambda w, s: in_two_steps(np.ones(1), w, s).numpy()
assert grade(one_kernel_solution, two_steps, **kernels)
assert not grade(not_turned, two_steps, **kernels)
assert not grade(repeated_weights, two_steps, **kernels)
assert not grade(means_of_weights, two_steps, **kernels)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def even(k, s):  # copies that reach a pixel, away from the ends
    copies = conv_transpose(torch.ones(1, 20), torch.ones(1, k), s)[0, k:-k]
    return bool((copies == copies[0]).all())

verify(
    'the copies overlap evenly if and only if the stride divides the kernel',
    lambda k, s: even(k, s) == (k % s == 0),
    slip=('expects it of each kernel that is not shorter than the stride', lambda k, s: even(k, s) == (k >= s)),
    k=integers(1, 8), s=integers(1, 4), tries=60,
)

def stays_constant(w, s):  # away from the ends
    inside = conv_transpose(torch.ones(1, 9), torch.tensor(w)[None], s)[0, len(w):-len(w)]
    return bool((inside == inside[0]).all())

verify(
    'away from its ends, a constant row stays constant if and only if the sums of every s-th weight are equal',
    lambda w, s: stays_constant(w, s) == (len({w[i::s].sum() for i in range(s)}) == 1),
    slip=('says so if the stride divides the kernel', lambda w, s: stays_constant(w, s) == (len(w) % s == 0)),
    w=counts((1, 6), 0, 2), s=integers(1, 4), tries=100,
)
verify(
    'uneven copies can give even results, and even copies uneven ones',
    lambda w: stays_constant(np.array(w), 2) != (len(w) % 2 == 0),
    slip=('lets the copies decide', lambda w: stays_constant(np.array(w), 2) == (len(w) % 2 == 0)),
    w=[(1, 2, 1), (1, 2, 3, 4)],
)

def as_one_layer(seed, m, k, s, turn):
    y, w = drawn(seed, m), drawn(seed + 1, k)
    kernel = torch.tensor(np.convolve(turn(w).numpy(), np.ones(s)))
    return close(conv_transpose(y[None], kernel[None], s)[0], in_two_steps(y, w, s))

verify(
    'resizing and then convolving is a transposed convolution',
    lambda **case: as_one_layer(turn=lambda w: w.flip(0), **case),
    slip=('forgets to turn the kernel', lambda **case: as_one_layer(turn=lambda w: w, **case)),
    seed=seeds(), m=integers(1, 5), k=integers(1, 5), s=integers(1, 4), tries=40,
)
verify(
    'on a constant picture three quarters are pattern for random transposed kernels, and nothing is after resizing',
    lambda kind, share: abs(shares[kind] - share) < 0.05 and shares['resize'] < 1e-12,
    slip=('leaves a half', lambda kind, share: abs(shares[kind] - 0.5) < 0.05),
    kind=['kernel 3', 'kernel 4'], share=[0.75],
)

# %% [markdown]
# ## Where it matters: upsampling digits with transposed convolutions
#
# We halve the sides of real digits, by the mean of each 2 × 2 pixels, and ask one transposed convolution to restore 28
# × 28 pixels. Handwriting leans, so we add the mirror image of each digit. This layer doubles the sides:

# %%
def double(Y, W):                           # (n, 1, m, m) -> (n, 1, 2 m, 2 m)
    k = W.shape[-1]
    return F.conv_transpose2d(Y, W, stride=2, padding=(k - 1) // 2,
                              output_padding=k % 2)

def with_mirrors(part):
    x = torch.tensor(mnist(part).x).reshape(-1, 1, 28, 28)
    return torch.stack([x, x.flip(3)], 1).flatten(0, 1)

train, test = with_mirrors('train'), with_mirrors('test')

# %% [markdown]
# Each pixel of the result is a sum of weights times inputs. So it is linear in the weights, and [least
# squares](../regression/least_squares.ipynb) finds the best kernel without any learning rate. The column of a weight is
# what the layer gives if this weight is 1 and all others are 0:

# %%
def best_kernel(small, large, k):
    units = torch.eye(k * k).reshape(1, -1, k, k)
    columns = double(small, units).movedim(1, -1).reshape(-1, k * k)
    W = torch.linalg.lstsq(columns, large.reshape(-1, 1)).solution
    return W.reshape(1, 1, k, k)

def errors(pictures):                       # (n, 2, 2), squared, times 1,000
    truth = test[:len(pictures)]
    return 1000 * four_kinds((pictures - truth).square())[:, 0]

# %%
halved = F.avg_pool2d(test, 2)
for mode in 'nearest', 'bilinear', 'bicubic':
    guess = F.interpolate(halved, scale_factor=2, mode=mode)
    print(f'{mode:9}', errors(guess).mean(0).flatten())
best, learned = {}, {}
for k in (2, 3, 4):
    for i in range(3):                      # three sets of 100 digits
        large = train[200 * i:200 * i + 200]
        best[k, i] = best_kernel(F.avg_pool2d(large, 2), large, k)
    learned[k] = torch.stack(
        [errors(double(halved, best[k, i])) for i in range(3)]).mean(0)
    print(f'learned {k}', learned[k].mean(0).flatten())

# %% [markdown]
# The four numbers of a row are the errors of the four kinds of pixels: even row and even column, even and odd, odd and
# even, odd and odd. A kernel of 3 gives them 1, 2, 2 and 4 copies. Each kind has its own weights, so least squares fits
# each kind alone. The pixels with one copy get the same weight as with a kernel of 2, and those with four copies
# the same weights as with a kernel of 4. So their errors are the same, and the errors form a checkerboard:

# %%
def with_margin(gap):                       # of pictures, in pairs
    digits = gap.reshape(-1, 2).mean(1)
    margin = 2 * digits.std() / len(digits) ** 0.5
    return f'{digits.mean():.2f} ± {margin:.3f}'

print('one copy minus four:',
      with_margin(learned[3][:, 0, 0] - learned[3][:, 1, 1]))

# %% [markdown]
# The number behind ± is two standard errors over the test digits, where a digit and its mirror image count as one.
#
# *Bilinear* interpolation is such a layer, too, away from the border. Its kernel of 4 is fixed, and the learned one has a smaller
# error. *Bicubic* interpolation reads 4 × 4 inputs for each pixel, and has the smallest error of these six.
#
# ### Networks from 7 × 7 to 28 × 28
#
# Does a network with channels and ReLU learn to avoid the pattern? We train networks with two enlarging layers. There
# are three versions: transposed convolutions with kernels of 3 or 4, and repeated pixels followed by a convolution of 3
# × 3. The input is the mean of each 4 × 4 pixels of a digit. Each network sees 800 pictures once, in batches of 10: 80
# steps.

# %%
def enlarging(kind, c_i, c_o):
    if kind == 'resize':
        return [nn.Upsample(scale_factor=2),
                nn.Conv2d(c_i, c_o, 3, padding=1)]
    k = 3 if kind == 'kernel 3' else 4
    return [nn.ConvTranspose2d(c_i, c_o, k, stride=2, padding=1,
                               output_padding=k % 2)]

def network(kind):
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(),
        *enlarging(kind, 8, 4), nn.ReLU(), *enlarging(kind, 4, 1))

# %% mystnb={"image": {"alt": "Four squares in a row, joined by arrows: 1 by 7 by 7, after a convolution of 3 by 3 the same size with 8 channels, after enlarging twice as wide, 4 by 14 by 14, after enlarging once more 1 by 28 by 28."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.3))
left = 0
steps = [(7, '1×7×7', 'conv\n3 × 3'), (7, '8×7×7', 'enlarge'), (14, '4×14×14', 'enlarge'), (28, '1×28×28', '')]
for side, shape, step in steps:
    ax.add_patch(plt.Rectangle((left, -side / 2), side, side, fill=False, ec='C0', lw=1.5))
    ax.text(left + side / 2, -side / 2 - 1.5, shape, ha='center', va='top', fontsize=11.5, color=GREY)
    if step:
        ax.annotate('', (left + side + 11.5, 0), (left + side + 1, 0), arrowprops={'arrowstyle': '->', 'color': GREY})
        ax.text(left + side + 6, 1.2, step, ha='center', va='bottom', fontsize=11.5, color=GREY)
    left += side + 12.5
ax.set(xlim=(-1, left - 11), ylim=(-19, 15), aspect='equal')
ax.axis('off');

# %% [markdown] tags=["caption"]
# The shapes in the three networks, channels × rows × columns. ReLU follows the first two layers. Only the layers marked
# "enlarge" differ.

# %%
tiny, tiny_test = F.avg_pool2d(train[:800], 4), F.avg_pool2d(test[:600], 4)

def trained(kind, seed, lr):
    torch.manual_seed(seed)
    net = network(kind)
    g = torch.Generator().manual_seed(seed)
    fit(net, nn.MSELoss(), torch.optim.Adam(net.parameters(), lr),
        batches(g, 10, tiny, train[:800]))
    return net

kinds, rates = ('kernel 3', 'kernel 4', 'resize'), (0.01, 0.03)
nets = {case: trained(*case) for case in product(kinds, range(3), rates)}

# %% [markdown]
# For each network we measure the error on 600 test pictures. Then we give it a constant picture, with 0.5 in each of 9
# × 9 pixels. Away from the border, the result should be constant. As the *pattern* we print the standard deviation of
# its pixels, in percent of their mean:

# %%
@torch.no_grad()
def scores(net):                            # errors (600, 2, 2), pattern
    inside = net(torch.full((1, 1, 9, 9), 0.5))[..., 12:24, 12:24]
    return errors(net(tiny_test)), (inside.std() / inside.mean()).item()

results = {case: scores(net) for case, net in nets.items()}
for kind, lr in product(kinds, rates):
    error, pattern = zip(*(results[kind, seed, lr] for seed in range(3)))
    told = (below(max(pattern)) if kind == 'resize' else
            ', '.join(f'{p:.1%}' for p in pattern))
    print(f'{kind}, lr {lr}: errors',
          ', '.join(f'{e.mean():.1f}' for e in error), ' pattern', told)

# %% [markdown]
# After 80 steps, the patterns of the transposed convolutions are between 4.8 % and 22 %. If we resize first, there is none.
#
# For comparison, here are the interpolations and [ridge regression](../regression/ridge_regression.ipynb), a linear
# map from all 49 inputs to all 784 pixels:

# %%
guesses = {mode: F.interpolate(tiny_test, scale_factor=4, mode=mode)
           for mode in ('nearest', 'bilinear', 'bicubic')}
A = tiny.flatten(1)                         # (800, 49)
X = torch.linalg.solve(A.T @ A + torch.eye(49),
                       A.T @ train[:800].flatten(1))
linear = tiny_test.flatten(1) @ X           # (600, 784)
guesses['ridge'] = linear.reshape(-1, 1, 28, 28)
for name, guess in guesses.items():
    print(f'{name:8} error {errors(guess).mean():.1f}')
print(f'ridge: {X.numel():,} weights')

# %%
for kind in kinds:
    net = nets[kind, 0, 0.03]
    with FlopCounterMode(display=False) as counter:
        net(tiny_test[:1])
    e = torch.stack([results[kind, seed, 0.03][0] for seed in range(3)])
    print(f'{kind}: {sum(p.numel() for p in net.parameters())} weights,'
          f' {counter.get_total_flops():,} FLOPs')
    for name in 'bicubic', 'ridge':
        gap = (errors(guesses[name]) - e.mean(0)).mean((1, 2))
        print(f'  {name} minus network {with_margin(gap)}')

# %% mystnb={"image": {"alt": "Two rows of three pictures. Above: a blurred handwritten four, white on black, by each kind of network. Below: three grey squares; for kernel 3 a coarse grid with black spots, for kernel 4 grey lines across and down, for resize one even grey."}} tags=["hide-input"]
fig, axes = panels(3, 2, height=2.1)
with torch.no_grad():
    for (digits, flat), kind in zip(axes.T, kinds):
        net = nets[kind, 0, 0.03]
        show_image(digits, net(tiny_test[8:9])[0, 0], kind, vmin=0, vmax=1)
        inside = net(torch.full((1, 1, 9, 9), 0.5))[0, 0, 12:24, 12:24]
        show_image(flat, inside / inside.mean(), vmin=0.7, vmax=1.3)

# %% [markdown] tags=["caption"]
# Above: a test digit, enlarged by each kind of network. Below: a constant picture, enlarged and divided by its mean,
# from 0.7 (black) to 1.3 (white). After two strides of 2, patterns repeat every four pixels. Only resizing gives even
# grey.

# %% [markdown]
# With the larger learning rate, each network is better than bicubic interpolation. The mean error of each kind is lower by
# 4.42 to 5.92, with margins of at most 0.401. But after these 80 steps, ridge regression, with 29.5, is still better
# than seven of the nine networks. It is also better than the mean of each kind, by more than the margin. It needs 38,416 weights
# instead of some hundreds, and works for no other size of pictures.
#
# The errors of the three kinds of networks overlap, so we cannot rank the kinds.
#
# ```{exercise} ★★ Experiment: a kernel of 5
# :label: transposed-five
# In `double`, a kernel of 5 has `padding=2` and `output_padding=1`. Which kind of pixel has the largest error with
# `best_kernel(..., 5)`? Predict the pair (row, column), where 0 means even and 1 means odd. With a kernel of 3, it was
# (0, 0). Then measure, and explain.
# ```

# %%
def worst_kind():
    """The row and the column, 0 for even, 1 for odd: (0, 0), for example."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
with_five = best_kernel(F.avg_pool2d(train[:200], 2), train[:200], 5)
five = errors(double(halved, with_five)).mean(0)

def is_measured(answer):
    if len(answer) != 2 or not set(answer) <= {0, 1}:
        raise ValueError('give two numbers, each 0 or 1')
    return bool(five[tuple(answer)] == five.max())

grade(lambda: is_measured(worst_kind()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} transposed-five
# :class: dropdown
# ```
# It is (1, 1). `padding=2` cuts off two rows and columns, so even stays even. An even row gets the weights $w_0$, $w_2$
# and $w_4$, so three copies, an odd row only $w_1$ and $w_3$. In a picture the kinds have 9, 6, 6 and 4 copies, so the
# odd pixels are the worst. With four copies, their error is the same as with a kernel of 4. Wrong answers take the kind
# from the kernel of 3, or one of the mixed kinds.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured((1, 1)), lambda: True, [()])
assert not grade(lambda: is_measured((0, 0)), lambda: True, [()])
assert not grade(lambda: is_measured((0, 1)), lambda: True, [()])
assert not grade(lambda: is_measured((1, 0)), lambda: True, [()])
print(five.flatten())

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def error_is_that_of(side, k):  # to one percent, for pixels with side copies in each direction
    of_three, other = (learned[j].mean(0)[side - 1, side - 1] for j in (3, k))
    return bool(abs(of_three / other - 1) < 0.01)

verify(
    'with a kernel of 3, pixels with one copy have the error of a kernel of 2, those with four that of a kernel of 4',
    lambda side: error_is_that_of(side, 2 * side),
    slip=('takes a kernel of 4 for both', lambda side: error_is_that_of(side, 4)),
    side=[1, 2],
)

def interpolates(seed, weights):
    Y, b = drawn(seed, 1, 1, 6, 6), torch.tensor(weights)
    want = F.interpolate(Y, scale_factor=2, mode='bilinear')
    return close(double(Y, torch.outer(b, b)[None, None])[..., 1:-1, 1:-1], want[..., 1:-1, 1:-1])

verify(
    'bilinear interpolation is a transposed convolution away from the border',
    lambda seed: interpolates(seed, [0.25, 0.75, 0.75, 0.25]),
    slip=('gives equal weights to the two inputs', lambda seed: interpolates(seed, [0.5, 0.5, 0.5, 0.5])),
    seed=seeds(), tries=20,
)

def is_even(k):  # to two percent
    of_kinds = learned[k].mean(0)
    return bool(of_kinds.max() / of_kinds.min() < 1.02)

verify(
    'with one learned kernel the errors are even for kernels of 2 and 4, and not for 3',
    lambda k: is_even(k) == (k != 3),
    slip=('says so of all three', is_even),
    k=[2, 3, 4],
)

# %% tags=["checks"]
def beats_bicubic(kind, lr):  # each network, and the mean of three by two standard errors over the pictures
    reference = errors(guesses['bicubic']).mean((1, 2))
    three = torch.stack([results[kind, seed, lr][0].mean((1, 2)) for seed in range(3)])
    gap = (reference - three.mean(0)).reshape(-1, 2).mean(1)
    return bool(gap.mean() > 2 * gap.std() / len(gap) ** 0.5 and (three.mean(1) < reference.mean()).all())

verify(
    'with the larger learning rate each network is better than bicubic interpolation',
    lambda kind: beats_bicubic(kind, 0.03),
    slip=('says so of the smaller learning rate', lambda kind: beats_bicubic(kind, 0.01)),
    kind=list(kinds),
)

def ridge_is_better(kind, lr):  # than the mean of three, by two standard errors over the pictures
    three = torch.stack([results[kind, seed, lr][0].mean((1, 2)) for seed in range(3)]).mean(0)
    gap = (three - errors(guesses['ridge']).mean((1, 2))).reshape(-1, 2).mean(1)
    return bool(gap.mean() > 2 * gap.std() / len(gap) ** 0.5)

verify(
    'ridge regression has a smaller error than the mean of each kind of network, and than seven of the nine networks',
    lambda kind: ridge_is_better(kind, 0.03) and 7 == sum(
        bool(results[case][0].mean() > errors(guesses['ridge']).mean()) for case in results if case[2] == 0.03),
    slip=('exchanges the two', lambda kind: not ridge_is_better(kind, 0.03)),
    kind=list(kinds),
)

verify(
    'a constant picture gets a pattern above 3 percent in each network with transposed convolutions, none after resizing',
    lambda kind, seed, lr: (results[kind, seed, lr][1] > 0.03) == (kind != 'resize'),
    slip=('says so of each kind', lambda kind, seed, lr: results[kind, seed, lr][1] > 0.03),
    kind=list(kinds), seed=[0, 1, 2], lr=list(rates),
)

# %% [markdown]
# ## Summary
#
# A transposed convolution adds up a copy of the kernel for each input, and multiplies by the transposed matrix of a
# convolution. So it is the backward pass of a convolution to its input, and it enlarges what a stride made smaller. If
# the sums of every $s$-th weight differ, for example for equal weights and a stride that does not divide the kernel, a
# constant picture becomes a checkerboard; resizing before an ordinary convolution keeps it constant.
#
# **Further reading.** {cite:t}`dumoulin2016guide` draw all cases of padding and stride.
# {cite:t}`odena2016deconvolution` show checkerboards in well-known networks, in pictures that you can change.
# {cite:t}`zhang2023dive`, section 14.10, has a shorter introduction, and uses the layer in section 14.11 to label
# pixels.
