# ---
# jupyter:
#   book:
#     functions:
#       conv: conv(normal(9), normal(3), 2, 2, 2)
#     main: dl.padding.shape
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Padding and stride
#
# A window of 3 × 3 pixels cannot be centred on the outermost pixels of a picture, because it would stick out. So each layer
# with such windows removes two rows and two columns, and after 13 layers a digit of 28 × 28 pixels is down to 2 × 2. Zeros
# around the picture prevent this. But what do these invented pixels do to the result? And how much of the picture does one
# output see after many layers?
#
# - **You need** [convolutions](convolutions.ipynb), [automatic differentiation](../calculus/automatic_differentiation.ipynb)
#   and, for the experiment, [training in minibatches](../regression/minibatch_training.ipynb).
# - **You build** a convolution with padding, stride and dilation, and a calculator of receptive fields.
# - **Runs in** 9 seconds. All tensors are float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
import warnings
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.functional import conv1d, conv2d
from torch.utils.flop_counter import FlopCounterMode

from nbutils.cases import integers, seeds
from nbutils.checks import close, grade, holds, verify
from nbutils.data import face_detector, photograph, portrait
from nbutils.figures import GREY, panels, show_image
from nbutils.training import batches, fit

plt.style.use('nbutils.book')
torch.set_default_dtype(torch.float64)
torch.set_printoptions(precision=2, sci_mode=False)
torch.set_num_threads(1)  # the tensors are small: a second thread would mostly wait

# %% [markdown]
# ## Padding: the size of the output, and what zeros do at the border
#
# We apply a kernel of 3 × 3 six times, and print the width after each layer. The argument `padding` says how
# many zeros PyTorch puts on each side:

# %%
kernel = torch.ones(1, 1, 3, 3)
for padding in (0, 1, 2):
    X, widths = torch.zeros(1, 1, 28, 28), []
    for layer in range(6):
        X = conv2d(X, kernel, padding=padding)
        widths.append(X.shape[-1])
    print(f'padding={padding}: 28 ->', *widths)

# %% [markdown]
# With `padding=1` the size stays: one row of zeros above and one below make up for the two rows that a layer removes.
#
# Let the picture have the shape $n_h \times n_w$ and the kernel the shape $k_h \times k_w$. We put $p_h$ rows of zeros above
# and below, and $p_w$ columns on the left and on the right. Without padding a window has $n_h - k_h + 1$ places from top to
# bottom. Each row of zeros gives it one more place. So the output has the shape
#
# ```{math}
# :label: dl.padding.shape
# (n_h - k_h + 2 p_h + 1) \times (n_w - k_w + 2 p_w + 1) .
# ```
#
# If the two sides get different numbers of zeros, their sum takes the place of $2 p_h$ or $2 p_w$. `F.pad` takes the numbers
# on the left, on the right, above and below, here for a kernel of 5 × 4. The formula gives $28 - 5 + (1 + 3) + 1 = 28$ rows
# and $28 - 4 + (0 + 2) + 1 = 27$ columns:

# %%
padded = F.pad(torch.zeros(1, 1, 28, 28), (0, 2, 1, 3))
print(conv2d(padded, torch.zeros(1, 1, 5, 4)).shape[2:])

# %% [markdown]
# Some books count both sides together and write $p_h$ where we write $2 p_h$ {cite}`zhang2023dive`.
#
# ### Keeping the size: why kernels are odd
#
# The output is as large as the input if $2 p_h = k_h - 1$ and $2 p_w = k_w - 1$. PyTorch calls this `padding='same'`. An odd
# kernel gets $(k - 1)/2$ zeros on each side. A kernel with 4 entries needs three zeros, and PyTorch puts one on the left and
# two on the right. We average the windows of a row of pixels:

# %%
row = torch.arange(3.0, 11)                 # 3, 4, ..., 10
for k in (3, 4, 5):
    padded = F.pad(row, ((k - 1) // 2, k // 2))
    means = conv1d(padded[None], torch.ones(1, 1, k) / k)
    print(f'k = {k}:', means[0])

# %% [markdown]
# Away from the ends, the odd kernels give back this row, because the mean of a window is its middle pixel. The even kernel has
# no middle pixel: its second output, 4.50, belongs between the pixels 4 and 5, but it has the place of the 4. So the row moves
# half a pixel to the left.
#
# ### What zeros do at the border
#
# In all three rows, zeros enter the means at both ends, and make them too small. How large is this effect?
# We cut pieces out of photographs, so we know the pixels beyond the border. Besides zeros, PyTorch has three
# other ways to fill these places:

# %%
modes = ('constant', 'replicate', 'reflect', 'circular')
for mode in modes:
    padded = F.pad(torch.tensor([[[1.0, 2, 3, 4]]]), (2, 2), mode=mode)
    print(f'{mode:9}', padded[0, 0].int().tolist())

# %% [markdown]
# We look for vertical edges with [Sobel's kernel](convolutions.ipynb), which subtracts right from left, in 48 pieces of 100 ×
# 100 pixels. The outputs computed from the true pixels are the true edges, and the error of a mode is its
# distance from them. We take the root mean square of the errors over the border of a piece, and print the mean of the 48 pieces ± two standard
# errors.

# %%
sobel = torch.tensor([[[[1.0, 0, -1], [2, 0, -2], [1, 0, -1]]]])
photos = np.stack([photograph(name).mean(-1) for name in ('china', 'flower')])
big = torch.tensor(photos).unfold(1, 102, 100).unfold(2, 102, 100)
big = big.reshape(-1, 1, 102, 102)                     # 48 pieces
border = torch.ones(100, 100, dtype=torch.bool)
border[1:-1, 1:-1] = False                             # inside
truth = conv2d(big, sobel)[:, 0, border]               # (48, 396)
errors = {'true edges': truth}
for mode in modes:
    padded = F.pad(big[..., 1:-1, 1:-1], (1, 1, 1, 1), mode=mode)
    errors[mode] = conv2d(padded, sobel)[:, 0, border] - truth

# %%
rms = {name: e.square().mean(1).sqrt() for name, e in errors.items()}
for name, roots in rms.items():
    print(f'{name:10} {roots.mean():.3f} ± {2 * roots.std() / 48**0.5:.3f}')
gap = rms['reflect'] - rms['replicate']
print(f'reflect - replicate {gap.mean():.4f}'
      f' ± {2 * gap.std() / 48**0.5:.4f}')

# %% mystnb={"image": {"alt": "Three square pictures: the roof of a temple before a bright sky; its vertical edges with zero padding, where white lines run down the left and the right side, just inside of a grey frame; its vertical edges with replicated pixels, where these lines are missing."}} tags=["hide-input"]
fig, axes = panels(3, height=2.1)
piece = torch.tensor(photograph('china').mean(-1))[20:84, 172:236]
show_image(axes[0], piece, 'photograph')
for ax, mode, title in zip(axes[1:], ('constant', 'replicate'), ('edges, zeros', 'edges, replicated')):
    edges = conv2d(F.pad(piece[None, None], (1, 1, 1, 1), mode=mode), sobel)[0, 0]
    show_image(ax, F.pad(abs(edges), (3, 3, 3, 3), value=1.25), title, vmin=0, vmax=2.5)  # a grey frame

# %% [markdown] tags=["caption"]
# Zeros stand for black pixels. So a piece with a bright border gets strong edges along its sides that are not in the
# photograph: the white lines beside the grey frame. Replicated pixels do not invent them.

# %% [markdown]
# Zeros (`constant`) err by 1.27. This is almost five times as large as the true edges themselves. For this kernel, the
# error is smallest if the outermost pixels are replicated: `reflect`, the next best, is worse by more than two standard errors.

# %% tags=["checks"]
def shape_is(n, k, p, plus, sides):  # p zeros on each side, and then as many in total, but not as many on each side
    for before in p, [part // 3 for part in p]:
        ends = (before[1], 2 * p[1] - before[1], before[0], 2 * p[0] - before[0])
        got = conv2d(F.pad(torch.zeros(1, 1, *n), ends), torch.zeros(1, 1, *k)).shape[2:]
        if tuple(got) != tuple(a - b + sides * c + plus for a, b, c in zip(n, k, p)):
            return False
    return True

sizes = dict(n=[(5, 5), (6, 8), (9, 5)], k=[(1, 1), (2, 3), (5, 4)], p=[(0, 0), (1, 2), (4, 3)])
holds(
    'dl.padding.shape',
    lambda n, k, p: shape_is(n, k, p, 1, 2),
    slip=('counts one side only', lambda n, k, p: shape_is(n, k, p, 1, 1)),
    **sizes,
)

def same_as_torch(seed, k, left):
    x = torch.randn(1, 1, 8, generator=torch.Generator().manual_seed(seed))
    w = torch.randn(1, 1, k, generator=torch.Generator().manual_seed(seed + 1))
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # that an even kernel needs a copy
        want = conv1d(x, w, padding='same')
    return close(conv1d(F.pad(x, (left(k), k - 1 - left(k))), w), want)

verify(
    "padding='same' puts the zero that is left over on the right",
    lambda **case: same_as_torch(left=lambda k: (k - 1) // 2, **case),
    slip=('puts it on the left', lambda **case: same_as_torch(left=lambda k: k // 2, **case)),
    seed=seeds(), k=[1, 2, 3, 4, 5, 6], tries=40,
)

def worse(first, second, factor):  # on the mean, by two standard errors of the paired differences
    difference = rms[first] - factor * rms[second]
    return bool(difference.mean() > 2 * difference.std() / len(difference) ** 0.5)

verify(
    'at the border zeros err by more than three times the true edges, and copies of the last pixel less than any other mode',
    lambda other: worse('constant', 'true edges', 3) and worse(other, 'replicate', 1),
    slip=('takes another mode for the best', lambda other: worse('replicate', other, 1)),
    other=['constant', 'reflect', 'circular', 'true edges'],
)

# %% [markdown]
# ## Stride and dilation: the size of the output in general
#
# A **stride** $s$ moves the window by $s$ pixels at a time, so it keeps each $s$-th output. In a picture, a stride of 2
# leaves about a quarter of the outputs and of the work. A **dilation** $d$ spreads the $k$ entries of the kernel so that neighbours
# are $d$ pixels apart. The window then spans $d(k - 1) + 1$ pixels, with as many weights as before. Here is a layer for a row
# of pixels with all three, and `p` zeros on each side:

# %%
def conv(x, w, p, s, d):
    x = F.pad(x, (p, p))
    span = d * (len(w) - 1) + 1
    windows = x.unfold(0, span, s)          # (m, span)
    return windows[:, ::d] @ w              # (m, k) @ (k,)

# %%
x = torch.arange(1.0, 9)
w = torch.tensor([1.0, 10, 100])            # shows which pixels were read
for s, d in (1, 1), (2, 1), (1, 2), (2, 2):
    print(f'stride {s}, dilation {d}:', conv(x, w, 0, s, d).int().tolist())

# %% [markdown]
# The first output, 321, has read the pixels 1, 2 and 3. With dilation 2 it is 531. With stride 2 no window reads the last
# pixel, because no whole step is left.

# %% mystnb={"image": {"alt": "Two grids of six by six cells. The four by four cells in the middle are grey, the ring around them is white and full of zeros. Left: four overlapping windows of three by three cells, numbered 1 to 4, start at the first and the third cell of the first and the third row; the last row and the last column are in no window. Right: a frame of five by five cells in the upper left corner; in it, the nine cells in every second row and column are coloured."}} tags=["hide-input"]
fig, axes = panels(2, height=2.6)
for ax, title in zip(axes, ('3 × 3, stride 2', '3 × 3, dilation 2')):
    for i, j in product(range(6), range(6)):
        inside = 1 <= i <= 4 and 1 <= j <= 4
        ax.add_patch(plt.Rectangle((j, i), 1, 1, fc=GREY if inside else 'none', ec=GREY, lw=0.6, alpha=0.45))
        if not inside:
            ax.text(j + 0.5, i + 0.5, 0, ha='center', va='center', fontsize=11, color=GREY)
    ax.set(title=title, xlim=(-0.1, 6.1), ylim=(6.1, -0.1), aspect='equal')
    ax.axis('off')
for number, (i, j) in enumerate(product((0, 2), (0, 2)), 1):
    colour, gap = ('C0', 0.08) if i == j else ('C1', 0.2)
    axes[0].add_patch(plt.Rectangle((j + gap, i + gap), 3 - 2 * gap, 3 - 2 * gap, fill=False, ec=colour, lw=2))
    axes[0].text(j + 1.5, i + 1.5, number, ha='center', va='center', fontsize=14, weight='bold', color=colour)
axes[1].add_patch(plt.Rectangle((0.08, 0.08), 4.84, 4.84, fill=False, ec='C0', lw=2))
for i, j in product((0, 2, 4), (0, 2, 4)):
    axes[1].add_patch(plt.Rectangle((j + 0.2, i + 0.2), 0.6, 0.6, fill=False, ec='C0', lw=2))

# %% [markdown] tags=["caption"]
# A picture of 4 × 4 pixels (grey) in a ring of zeros, $p = 1$. Left: the four windows of stride 2. Right: the first window of dilation 2 reads nine places.

# %% [markdown]
# How many outputs $m$ are there? Zeros included, the window has $n + 2p - d(k - 1)$ places. We number them from 0, so the last
# one has the number $n + 2p - d(k - 1) - 1$. A stride keeps the places $0, s, 2s, \dots$ So we divide the last number
# by $s$, round down, and add one for the place 0:
#
# ```{math}
# :label: eq-output-size
# m = \left\lfloor \frac{n + 2p - d(k - 1) - 1}{s} \right\rfloor + 1 .
# ```

# %%
def output_size(n, k, p, s, d):             # p on each side
    return (n + 2 * p - d * (k - 1) - 1) // s + 1

# %%
layer = nn.Conv2d(3, 64, 7, stride=2, padding=3)
print(tuple(layer(torch.zeros(1, 3, 224, 224)).shape))
print(output_size(224, 7, 3, 2, 1))

# %% [markdown]
# ### Pixels that a stride reads twice, or never
#
# If all weights are 1, each output is the sum of the pixels in its window. So the gradient of the sum of all outputs, with respect to a
# pixel, counts the windows that read this pixel:

# %%
for k, s in (3, 1), (3, 2), (4, 2), (1, 2):
    x = torch.zeros(1, 1, 9, requires_grad=True)
    conv1d(x, torch.ones(1, 1, k), stride=s).sum().backward()
    print(f'k = {k}, s = {s}:', x.grad[0, 0].int().tolist())

# %% [markdown]
# In the second row, $k$ is not a multiple of $s$, so
# pixels are read once or twice in turn. In the third row $k = 2s$, so all pixels in the middle are read twice. No window reaches the
# last pixel. In the last row, a kernel of one pixel with stride 2
# ignores every second pixel. Well-known networks have such layers {cite}`he2016deep`.
#
# ```{exercise} ★★ Program: the padding of TensorFlow
# :label: padding-tensorflow
# TensorFlow's `padding='same'` also allows strides. It adds the smallest number of zeros for which the output has
# $\lceil n/s \rceil$ entries. If this number is odd, the right side gets one zero more than the left side. Write
# `same_zeros(n, k, s, d)`, the numbers of zeros on the left and on the right.
# ```

# %%
def same_zeros(n, k, s, d):
    """The zeros on the left and on the right: a tuple of two ints.

    n pixels, k weights, stride s and dilation d are ints, 1 or more.
    same_zeros(8, 3, 2, 1) is (0, 1).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_search(n, k, s, d):
    wanted = len(range(0, n, s))
    for total in range(d * k + s * n):
        x = torch.empty(1, 1, n + total, device='meta')
        if n + total > d * (k - 1) and conv1d(
                x, torch.empty(1, 1, k, device='meta'), stride=s, dilation=d).shape[-1] == wanted:
            return total // 2, (total + 1) // 2

rows_of_pixels = dict(n=integers(1, 12), k=integers(1, 6), s=integers(1, 5), d=integers(1, 3))
grade(same_zeros, by_search, **rows_of_pixels)

# %% [markdown]
# ```{solution-start} padding-tensorflow
# :class: dropdown
# ```
# The last of $m = \lceil n/s \rceil$ windows starts at $(m - 1)s$ and spans $d(k - 1) + 1$ pixels. What it needs beyond $n$ is
# the number of zeros. If it needs less than $n$, no zero is added. Wrong answers forget that the number may not be negative,
# keep $k - 1$ zeros for all strides, or put the odd zero on the left.

# %% jupyter={"source_hidden": true}
def same_zeros_solution(n, k, s, d):
    m = -(-n // s)
    total = max((m - 1) * s + d * (k - 1) + 1 - n, 0)
    return total // 2, total - total // 2

def may_be_negative(n, k, s, d):
    total = (-(-n // s) - 1) * s + d * (k - 1) + 1 - n
    return total // 2, total - total // 2

def as_for_stride_one(n, k, s, d):
    total = d * (k - 1)
    return total // 2, total - total // 2

def odd_zero_on_the_left(n, k, s, d):
    return same_zeros_solution(n, k, s, d)[::-1]

assert grade(same_zeros_solution, by_search, **rows_of_pixels)
assert not grade(may_be_negative, by_search, **rows_of_pixels)
assert not grade(as_for_stride_one, by_search, **rows_of_pixels)
assert not grade(odd_zero_on_the_left, by_search, **rows_of_pixels)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def drawn(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))

def agrees_with_torch(seed, k, p, s, d, padding):
    x, w = drawn(seed, 12), drawn(seed + 1, k)
    want = conv1d(x[None, None], w[None, None], padding=p, stride=s, dilation=d)[0, 0]
    ours = conv(x, w, padding(p), s, d)
    return ours.shape == want.shape and close(ours, want)

layers = dict(seed=seeds(), k=integers(1, 4), p=integers(0, 3), s=integers(1, 4), d=integers(1, 3))
verify(
    'the layer with padding, stride and dilation is that of torch',
    lambda **case: agrees_with_torch(padding=lambda p: p, **case),
    slip=('pads with twice the zeros', lambda **case: agrees_with_torch(padding=lambda p: 2 * p, **case)),
    **layers, tries=60,
)

def all_cases(size):  # torch refuses where no window fits
    def one(n, k, p, s, d):
        try:
            row, kernel = torch.empty(1, 1, n, device='meta'), torch.empty(1, 1, k, device='meta')
            got = conv1d(row, kernel, padding=p, stride=s, dilation=d)
        except RuntimeError:
            return size(n, k, p, s, d) < 1
        return size(n, k, p, s, d) == got.shape[-1]
    return one

verify(
    'the size of the output, and where torch refuses',
    all_cases(output_size),
    slip=('rounds to the nearest number', all_cases(lambda n, k, p, s, d: round((n + 2 * p - d * (k - 1) - 1) / s) + 1)),
    n=integers(1, 30), k=integers(1, 9), p=integers(0, 9), s=integers(1, 9), d=integers(1, 9),
)

# %% [markdown]
# ## Receptive field: what one output sees
#
# With kernels of 3, an output of the second layer reads three outputs of the first layer, and each of these reads three pixels.
# The **receptive field** of an output is the stretch of pixels that it depends on. How long is it after $L$ layers with kernels
# $k_l$, strides $s_l$ and dilations $d_l$? Neighbouring outputs of layer $l - 1$ are $s_1 s_2 \cdots s_{l-1}$ pixels apart. The
# kernel of layer $l$ spans $d_l (k_l - 1)$ of these distances, and the field grows by as much. We begin with
# one pixel, so with $L$ layers it is
#
# ```{math}
# :label: eq-receptive-field
# r = 1 + \sum_{l=1}^{L} d_l\,(k_l - 1) \prod_{j=1}^{l-1} s_j .
# ```

# %%
def receptive_field(layers):                # a list of (k, s, d)
    r, distance = 1, 1                      # distance of neighbours
    for k, s, d in layers:
        r += d * (k - 1) * distance
        distance *= s
    return r

# %% [markdown]
# Backpropagation finds these pixels, too: an output depends on a pixel if the gradient of the output with respect to the
# pixel is not zero. We set all weights to 1, so that nothing cancels:

# %%
def seen(layers, n=101):                    # the pixels of one output
    x = torch.zeros(1, 1, n, requires_grad=True)
    y = x
    for k, s, d in layers:
        y = conv1d(y, torch.ones(1, 1, k), stride=s, dilation=d)
    y[0, 0, y.shape[-1] // 2].backward()    # an output in the middle
    return x.grad[0, 0].nonzero().flatten()

# %%
stacks = {'five layers': [(3, 1, 1)] * 5,
          'strides of 2': [(3, 2, 1)] * 5,
          'dilations of 2': [(3, 1, 2)] * 5,
          'dilations 1, 2, 4, 8, 16': [(3, 1, 2**j) for j in range(5)]}
for name, layers in stacks.items():
    pixels = seen(layers)
    print(f'{name:24} formula {receptive_field(layers):2},'
          f' gradient {pixels[-1] - pixels[0] + 1:2},'
          f' of which seen {len(pixels)}')

# %% [markdown]
# Five plain layers see only 11 pixels in a row. Strides that multiply, or dilations that double, reach 63 pixels with the same
# number of weights, because the field grows like $2^L$ and no longer like $L$. If all dilations are 2, every second pixel of
# the field is missing.
#
# Two layers of 3 × 3 see 5 × 5 pixels, as one layer of 5 × 5 does. But if all maps have equally many channels, they have $2 \cdot 9 = 18$ weights
# in place of 25 for each pair of channels. So many networks have kernels of 3 × 3 only.
#
# ```{exercise} ★★ Pencil: how many layers?
# :label: padding-depth
# An output should see at least $n$ pixels in a row. All kernels have $k \ge 2$ entries, and all strides are 1. How many layers
# are needed if all dilations are 1? And if they are 1, 2, 4, 8, ...? Write `depths(n, k)`, both numbers.
# ```

# %%
def depths(n, k):
    """The least numbers of layers: ints n >= 1, k >= 2 -> two ints.

    depths(7, 3) is (3, 2).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_adding_layers(n, k):
    found = []
    for growth in (1, 2):
        r, d, L = 1, 1, 0
        while r < n:
            r, d, L = r + d * (k - 1), d * growth, L + 1
        found.append(L)
    return tuple(found)

stretches = dict(n=integers(1, 40), k=integers(2, 7))
grade(depths, by_adding_layers, **stretches)

# %% [markdown]
# ```{solution-start} padding-depth
# :class: dropdown
# ```
# Insert into {eq}`eq-receptive-field`. With dilations of 1, $L$ layers see $1 + L(k - 1)$ pixels, so $L$ is $(n - 1)/(k - 1)$,
# rounded up. We call this number $q$. With dilations that double, they see $1 + (k - 1)(2^L - 1)$ pixels. They reach $n$ pixels
# if $2^L - 1 \ge q$. A number $q$ has $L$ binary digits if it is at most $2^L - 1$ and no smaller $L$ will do, so $L$ is the
# number of binary digits of $q$. Wrong answers divide $n$ by $k - 1$, round down, or forget the kernel in the second number.

# %% jupyter={"source_hidden": true}
def depths_solution(n, k):
    q = -(-(n - 1) // (k - 1))
    return q, q.bit_length()

def divides_n(n, k):
    q = -(-n // (k - 1))
    return q, q.bit_length()

def rounds_down(n, k):
    q = (n - 1) // (k - 1)
    return q, q.bit_length()

def forgets_the_kernel(n, k):
    return -(-(n - 1) // (k - 1)), (n - 1).bit_length()

assert grade(depths_solution, by_adding_layers, **stretches)
assert not grade(divides_n, by_adding_layers, **stretches)
assert not grade(rounds_down, by_adding_layers, **stretches)
assert not grade(forgets_the_kernel, by_adding_layers, **stretches)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ### A real network: faces of 12 × 12 pixels
#
# The first stage of a well-known face detector {cite}`zhang2016joint` has no padding, and it expects numbers from $-1$ to 1. After each convolution of 3 × 3 stands PReLU, which
# multiplies negative numbers by a trained factor. Once, *max pooling* keeps the largest number of each window of 2 × 2, with stride 2. The last
# layer is 1 × 1, with the outputs "no face" and "face". We run it on a portrait of 36 × 32 pixels, and on three of its windows:

# %% mystnb={"image": {"alt": "A row of six squares that become smaller, joined by arrows: 3 by 12 by 12; after a convolution of 3 by 3, 10 by 10 by 10; after a maximum over 2 by 2, 10 by 5 by 5; after a convolution of 3 by 3, 16 by 3 by 3; after another one, 32 by 1 by 1; after a convolution of 1 by 1, 2 by 1 by 1."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 1.75))
left = 0
steps = [(12, '3×12×12', '3 × 3'), (10, '10×10×10', 'max\n2 × 2'), (5, '10×5×5', '3 × 3'), (3, '16×3×3', '3 × 3'),
         (1, '32×1×1', '1 × 1'), (1, '2×1×1', '')]
for side, shape, step in steps:
    ax.add_patch(plt.Rectangle((left, -side / 2), side, side, fill=False, ec='C0', lw=1.5))
    ax.text(left + side / 2, -7.5, shape, ha='center', va='top', fontsize=9.5, color=GREY)
    if step:
        ax.annotate('', (left + side + 6.4, 0), (left + side + 0.6, 0), arrowprops={'arrowstyle': '->', 'color': GREY})
        ax.text(left + side + 3.4, 0.8, step, ha='center', va='bottom', fontsize=9.5, color=GREY)
    left += side + 7
ax.set(xlim=(-1, left - 4), ylim=(-10.5, 6.5), aspect='equal')
ax.axis('off');

# %% [markdown] tags=["caption"]
# The shapes in the face detector, channels × rows × columns, for a picture of 12 × 12 pixels.

# %%
weights = {name: torch.tensor(numbers).double()
           for name, numbers in face_detector().items()}

def convolved(X, name):
    return conv2d(X, weights[name + '.weight'], weights[name + '.bias'])

def face_scores(X):                         # (B, 3, h, w)
    X = F.prelu(convolved(X, 'conv1'), weights['prelu1.weight'])
    X = F.max_pool2d(X, 2)
    X = F.prelu(convolved(X, 'conv2'), weights['prelu2.weight'])
    X = F.prelu(convolved(X, 'conv3'), weights['prelu3.weight'])
    return convolved(X, 'conv4_1').softmax(1)[:, 1]   # probability of a face

# %%
print(receptive_field([(3, 1, 1), (2, 2, 1), (3, 1, 1), (3, 1, 1)]))
hopper = torch.tensor(portrait('hopper')).permute(2, 0, 1)[None]
small = F.avg_pool2d(hopper, 16)[..., :36, :] * 2 - 1  # (1, 3, 36, 32)
scores = face_scores(small)[0]                     # (13, 11)
best = divmod(scores.argmax().item(), scores.shape[1])
for i, j in best, (4, 7), (5, 4):
    window = small[..., 2 * i:2 * i + 12, 2 * j:2 * j + 12]
    alone = face_scores(window).item()
    print(f'output {(i, j)}: {scores[i, j]:.3f}, window alone {alone:.3f}')

# %%
def flops(net, X):                          # for one picture or row
    with FlopCounterMode(display=False) as counter:
        net(X)
    return counter.get_total_flops()

one, whole = flops(face_scores, window), flops(face_scores, small)
print(sum(w.numel() for w in weights.values()), 'parameters')
print(f'FLOPs: {one:,} for a window, {whole:,} for the portrait,'
      f' {scores.numel() * one:,} for its {scores.numel()} windows alone')

# %% mystnb={"image": {"alt": "Left: a coarse portrait of a woman in uniform; a square of twelve by twelve pixels frames her face. Right: the map of scores, dark, with a bright spot at the place of the face; the best score is framed."}} tags=["hide-input"]
fig, axes = panels(2, height=2.7)
show_image(axes[0], small[0].permute(1, 2, 0) / 2 + 0.5, 'portrait, 36 × 32 pixels')
axes[0].add_patch(plt.Rectangle((2 * best[1] - 0.5, 2 * best[0] - 0.5), 12, 12, fill=False, ec='C1', lw=2.5))
show_image(axes[1], scores, 'scores (dark 0, yellow 1)', cmap='viridis', vmin=0, vmax=1)
axes[1].add_patch(plt.Rectangle((best[1] - 0.5, best[0] - 0.5), 1, 1, fill=False, ec='C1', lw=2.5));

# %% [markdown] tags=["caption"]
# The output with the highest score (right), and its receptive field in the portrait (left). Each output judges one window of 12
# × 12 pixels, all in one pass. The weaker spot at the bottom is a mistake.

# %% [markdown]
# The receptive field is 12, the size of the faces that this network was trained on. The output $(i, j)$ depends only on the
# window that starts at the pixel $(2i, 2j)$, because the stride of the pooling makes neighbouring outputs 2 pixels apart. So all
# 143 windows one by one give the same scores, with five times as many operations.
#
# ### The effective receptive field
#
# Do all pixels of the field matter equally? A pixel in the middle reaches the output on many paths through the layers, a pixel
# in the corner on a single path. We square the gradient of an output with respect to each pixel, in 60 random networks with 8
# channels and ReLU. We divide the squares by their sum, so that they say which share of the gradient each pixel has. The table
# gives two numbers: the spread, the root mean square distance from the middle column, each pixel counted with its share; and how
# many of the pixels, in percent, hold 95 % of the gradient:

# %%
def gradient_map(L, seed):                  # (2 L + 1, 2 L + 1), sum 1
    torch.manual_seed(seed)
    X = torch.randn(1, 1, 2 * L + 1, 2 * L + 1, requires_grad=True)
    Y = X
    for layer in range(L):                  # ReLU between the layers
        V = torch.randn(8, Y.shape[1], 3, 3) * (2 / 9 / Y.shape[1]) ** 0.5
        Y = conv2d(Y.relu() if layer else Y, V)
    Y.sum().backward()                      # Y has 8 channels of one pixel
    squares = X.grad[0, 0].square()
    return squares / squares.sum()

# %%
maps = {L: torch.stack([gradient_map(L, seed) for seed in range(60)])
        for L in (5, 10, 20)}
for L, squares in maps.items():
    spreads = (squares.sum(1) @ torch.arange(-L, L + 1.0)**2).sqrt()
    shares = squares.mean(0).flatten().sort(descending=True)[0].cumsum(0)
    print(f'{L:2} layers: field {2 * L + 1:2}, spread {spreads.mean():.2f}'
          f' ± {2 * spreads.std() / 60**0.5:.3f},'
          f' formula {(L * (3**2 - 1) / 12) ** 0.5:.2f},'
          f' 95 % on {(shares < 0.95).double().mean():.0%}')

# %% [markdown]
# So the deeper these random networks are, the smaller is the part of the field that holds most of the gradient, the **effective
# receptive field** {cite}`luo2016understanding`. Without ReLU, the gradient is a sum over all paths from the pixel to the
# output, and each path gives the product of its weights. Let the weights be independent with mean 0 and equal variances. Two
# paths differ in at least one weight, so their products are uncorrelated. So their mean squares, all
# equal, add up: the mean square of the gradient is proportional to the number of paths. To count them, follow a
# random path. For $k = 3$, each layer takes it $-1$, 0 or 1 column to the side, all equally likely, with the variance $(1 + 0 +
# 1)/3$. In general it is $(k^2 - 1)/12$, and the variances of $L$ steps add up:
#
# ```{math}
# :label: eq-effective-field
# \sigma^2 = \frac{L\,(k^2 - 1)}{12} .
# ```
#
# A sum of many steps is nearly Gaussian. The table prints $\sigma$ as "formula". The spreads measured with ReLU lie within five
# percent of it. So the field grows like $L$, but at the start
# of a training the part that matters only like $\sqrt{L}$.

# %% mystnb={"image": {"alt": "Left: a square map of 41 by 41 pixels, bright in the middle and fading to black well before the sides. Right: the measured share of each column, points on a bell curve between minus 20 and 20 pixels; the points are near zero beyond minus 10 and 10."}} tags=["hide-input"]
fig, axes = panels(2, height=2.6)
show_image(axes[0], maps[20].mean(0).sqrt(), '20 layers: root of squared gradient', cmap='viridis')
steps = np.arange(-20, 21)
variance = 20 * (3**2 - 1) / 12
axes[1].plot(steps, np.exp(-steps**2 / 2 / variance) / np.sqrt(2 * np.pi * variance), color='C1')
axes[1].plot(steps, maps[20].mean(0).sum(0), 'o', ms=3.5, color='C0')
axes[1].set(xlabel='pixels from the middle', ylabel='share of a column', ylim=(0, None))
axes[1].text(5.5, 0.085, 'Gaussian', color='C1')
axes[1].text(-19.5, 0.06, 'measured', color='C0');

# %% [markdown] tags=["caption"]
# One output of 20 random layers. Its field has 41 × 41 pixels, but the squared gradient is concentrated in the middle. The
# points, the mean of 60 networks, follow a Gaussian without any fitted number.

# %% [markdown]
# ### Where it matters: zeros tell a network where it is
#
# A convolution treats all places alike. Can a network of convolutions tell the place of a pixel? We cut random rows of 40 pixels
# out of a photograph. For each pixel, a network predicts the place in its row, from $-1$ at the left end to 1 at the right. One
# network pads with zeros; its first layer, with a negative padding, cuts off the seven extra pixels on each side. The other one
# gets the *true* pixels beyond the ends of the row, so that it needs no padding.

# %%
def pieces(name):                           # 40 pixels, 7 more on each side
    photo = torch.tensor(photograph(name).mean(-1))
    photo = (photo - photo.mean()) / photo.std()
    return photo.unfold(1, 54, 5).reshape(-1, 1, 54)

train, test = pieces('china'), pieces('flower')[::10]
targets = torch.linspace(-1, 1, 40)

# %%
def network(mode):                          # (B, 1, 54) -> (B, 1, 40)
    pads = mode != 'true pixels'
    layers = [nn.ConstantPad1d(-7, 0)] if pads else []  # cut 7 + 7 off
    for channels, d in (1, 1), (8, 2), (8, 4):
        border = dict(padding=d, padding_mode=mode) if pads else {}
        layers += [nn.Conv1d(channels, 8, 3, dilation=d, **border), nn.ReLU()]
    return nn.Sequential(*layers, nn.Conv1d(8, 1, 1))

# %% mystnb={"image": {"alt": "Two rows of five boxes joined by arrows. Zeros: 1 by 40, three times 8 by 40, 1 by 40. True pixels: 1 by 54, 8 by 52, 8 by 48, 8 by 40, 1 by 40. Over the arrows stand: window 3; window 3, dilation 2; window 3, dilation 4; window 1."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.2))
steps = ['window 3', 'window 3\ndilation 2', 'window 3\ndilation 4', 'window 1']
for y, name, widths in (2.1, 'zeros', (40, 40, 40, 40, 40)), (0, 'true\npixels', (54, 52, 48, 40, 40)):
    ax.text(-1.6, y, name, ha='left', va='center', fontsize=9.5)
    for k, width in enumerate(widths):
        channels = 1 if k in (0, 4) else 8
        ax.add_patch(plt.Rectangle((2.6 * k - width / 100, y - channels / 32), width / 50, channels / 16, color='C0'))
        ax.text(2.6 * k, y - 0.35, f'{channels} × {width}', ha='center', va='top', fontsize=9.5)
        if k < 4:
            ax.annotate('', (2.6 * k + 2.0, y), (2.6 * k + 0.62, y), arrowprops={'arrowstyle': '->', 'color': GREY})
            ax.text(2.6 * k + 1.3, y + 0.1, steps[k], ha='center', va='bottom', fontsize=8.5)
ax.set(xlim=(-1.7, 11.2), ylim=(-0.85, 2.9))
ax.axis('off');

# %% [markdown] tags=["caption"]
# The shapes in the two networks, channels × places, and the windows. ReLU follows each window of 3.

# %%
def trained(mode, seed, lr):
    torch.manual_seed(seed)
    net = network(mode)
    g = torch.Generator().manual_seed(seed)
    X = train[torch.randint(len(train), (2400,), generator=g)]
    fit(net, nn.MSELoss(), torch.optim.Adam(net.parameters(), lr),
        batches(g, 32, X, targets.expand(len(X), 1, -1)))
    return net

@torch.no_grad()
def error(net):                             # of the constant 0 it is 1
    wrong = net(test) - targets
    return (wrong.square().mean() / targets.square().mean()).item()

# %% [markdown]
# We train with rows of one photograph and test with rows of another. An error of 1 means that the network is no better than
# the constant 0. We try three learning rates, with three seeds each:

# %%
for mode in 'zeros', 'true pixels':
    net = network(mode)
    print(f'{mode:11} {sum(w.numel() for w in net.parameters())} parameters,'
          f' {flops(net, test[:1]):,} FLOPs')

nets, results = {}, {}
for case in product(('zeros', 'true pixels'), (3e-3, 3e-2, 1e-1)):
    mode, lr = case
    nets[case] = [trained(mode, seed, lr) for seed in range(3)]
    results[case] = [error(net) for net in nets[case]]
    print(f'{mode:11} lr {lr:.0e}:', *(f'{e:.2f}' for e in results[case]))

# %% [markdown]
# With zeros and the best learning rate, the errors lie between 0.35 and 0.44. With the true pixels, none of the three learning rates helps. At
# the learning rate 0.1, two of three networks with zeros learn nothing. How small can the error become? Here $r = 1 + 2(1 + 2 +
# 4) = 15$, so an output sees seven pixels to each side. No zero is in sight of the 26 pixels in the middle. If the photograph
# itself tells nothing, as it seems from the true pixels, the smallest error is that of a network which knows all other places
# exactly, and guesses 0 for these 26:

# %%
hidden = targets[7:-7].square().sum() / targets.square().sum()
print(f'{hidden:.2f}')

# %% mystnb={"image": {"alt": "Predicted place for pixels 1 to 40. The line of zero padding follows the dashed diagonal in the first six and the last six pixels, is between it and zero at the seventh, and lies near zero between two vertical lines. The line of true pixels lies near zero everywhere."}} tags=["hide-input"]
fig, ax = panels(1, height=2.7)
places = np.arange(1, 41)
ax.plot(places, targets, color=GREY, ls='--', lw=1)
for mode, colour in ('zeros', 'C0'), ('true pixels', 'C1'):
    for net in nets[mode, 3e-2]:
        ax.plot(places, net(test).mean((0, 1)).detach(), color=colour, lw=1.3)
for line in (7.5, 33.5):
    ax.axvline(line, color=GREY, lw=1)
ax.text(20.5, 0.75, 'farther than 7 pixels\nfrom both ends', color=GREY, ha='center')
ax.text(3.2, -0.45, 'zeros', color='C0', ha='center')
ax.text(37.2, -0.2, 'true pixels', color='C1', ha='center')
ax.set(xlabel='pixel', ylabel='predicted place', xlim=(0.5, 40.5), ylim=(-1.15, 1.15));

# %% [markdown] tags=["caption"]
# The mean prediction for each pixel, three seeds each; dashed: the truth. With zeros the network knows the six outermost places
# on each side, a little of the seventh, and nothing of the others.

# %% [markdown]
# So the zeros told the place. This is useful where the place matters, and harmful
# where it should not matter {cite}`islam2020how,kayhan2020translation`.
#
# ```{exercise} ★★ Experiment: a mirror at the border
# :label: padding-mirror
# With `padding_mode='reflect'` the row is continued by its mirror image. Predict the error of `trained('reflect', seed, 3e-2)`, as the
# mean over the seeds 0, 1 and 2, within 0.05. Then train, look, and explain.
# ```

# %%
def error_with_mirror():
    """The mean error of three seeds, a float: 0.5, for example."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
mirrored = [error(trained('reflect', seed, 3e-2)) for seed in range(3)]

def is_measured(answer):
    if not abs(answer - np.mean(mirrored)) <= 0.05:
        raise ValueError('something else is measured; train the networks and look')
    return True

grade(lambda: is_measured(error_with_mirror()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} padding-mirror
# :class: dropdown
# ```
# It is 1, as with the true pixels. A mirror image continues a row without a jump, so at the border there is no value that stands
# out, as a zero does. A network could look for symmetry, but in 75 steps these
# did not learn it. Two wrong guesses: 0.3, as if a mirror told as much as zeros, and 0, as if the border were seen from
# everywhere.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured(1.0), lambda: True, [()])
assert not grade(lambda: is_measured(0.3), lambda: True, [()])
assert not grade(lambda: is_measured(0.0), lambda: True, [()])
assert not grade(lambda: is_measured(0.6), lambda: True, [()])
print(*(f'{e:.2f}' for e in mirrored))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def random_stack(seed):  # one to four layers (k, s, d)
    rng = np.random.default_rng(seed)
    return [tuple(rng.integers(1, (5, 3, 4)).tolist()) for layer in range(rng.integers(1, 5))]

def extent_is(seed, formula):
    layers = random_stack(seed)
    pixels = seen(layers, 300)
    return (pixels[-1] - pixels[0] + 1).item() == formula(layers)

def without_distance(layers):
    return 1 + sum(d * (k - 1) for k, s, d in layers)

verify(
    'the receptive field is as long as the part of the input with a gradient',
    lambda seed: extent_is(seed, receptive_field),
    slip=('forgets the strides of the layers below', lambda seed: extent_is(seed, without_distance)),
    seed=seeds(), tries=60,
)

def window_alone(i, j, step):
    patch = small[..., step * i:step * i + 12, step * j:step * j + 12]
    return close(face_scores(patch)[0, 0, 0], scores[i, j])

verify(
    'each score of the face detector is that of its 12 by 12 pixels alone',
    lambda i, j: window_alone(i, j, 2),
    slip=('starts the window at (i, j)', lambda i, j: window_alone(i, j, 1)),
    i=integers(0, scores.shape[0] - 1), j=integers(0, scores.shape[1] - 1), tries=40,
)

# %% tags=["checks"]
def spread_is(L, variance):  # within five percent
    spread = (maps[L].sum(1) @ torch.arange(-L, L + 1.0) ** 2).sqrt().mean().item()
    return abs(spread - variance**0.5) < 0.05 * variance**0.5

verify(
    'the measured spread of the gradient is that of L steps',
    lambda L: spread_is(L, L * 8 / 12),
    slip=('lets it grow like the field', lambda L: spread_is(L, (L / 5) ** 2 * 5 * 8 / 12)),
    L=[5, 10, 20],
)

def knows(mode, lr):  # half of what the zeros could tell at best, in each seed
    return max(results[mode, lr]) < 1 - 0.5 * (1 - hidden.item())

verify(
    'one pass over the portrait takes less than a quarter of the operations of all windows alone',
    lambda parts: parts * whole < scores.numel() * one,
    slip=('says so of a single window', lambda parts: parts * whole < one),
    parts=[4],
)
verify(
    'at 0.003 and 0.03 every network with zeros learns places, none with the true pixels',
    lambda lr: min(results['true pixels', lr]) > 0.98,
    slip=('says so of the zeros', lambda lr: min(results['zeros', lr]) > 0.98),
    lr=[3e-3, 3e-2],
)
predicted = torch.stack([net(test).detach().mean((0, 1)) for net in nets['zeros', 3e-2]])

def missed(pixel):  # from each end, in the mean prediction: squared error over the squared place, three networks
    return (predicted / targets - 1).square()[:, [pixel - 1, -pixel]].amax(1).tolist()

verify(
    'with zeros the mean prediction is about right at six pixels of each end, and nearer than 0 at the seventh',
    lambda pixel: max(missed(pixel)) < 0.2 if pixel < 7 else 0.2 < min(missed(pixel)) and max(missed(pixel)) < 1,
    slip=('says so of all seven', lambda pixel: max(missed(pixel)) < 0.2),
    pixel=[1, 2, 3, 4, 5, 6, 7],
)
verify(
    'at the best learning rate zeros tell more than half of what they could',
    lambda lr: knows('zeros', lr),
    slip=('says so of the true pixels', lambda lr: knows('true pixels', lr)),
    lr=[3e-2],
)

# %% [markdown]
# ## Summary
#
# One formula gives the size of the output for each padding, stride and dilation. Zeros keep the size, but they invent edges at
# the border, and they can tell an output near the border how far away it is. With the same number of weights, the receptive
# field grows fastest with strides or dilations that multiply, but in random networks most of the gradient lies in its middle.
#
# **Further reading.** {cite:t}`dumoulin2016guide` draw all these cases. {cite:t}`araujo2019computing` compute receptive fields
# of networks with branches.
