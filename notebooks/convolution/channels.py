# ---
# jupyter:
#   book:
#     functions:
#       conv_channels: conv_channels(normal(2, 5, 6), normal(4, 2, 3, 2))
#       conv_einsum: conv_einsum(normal(2, 5, 6), normal(4, 2, 3, 2))
#       pointwise: pointwise(normal(3, 4, 5), normal(2, 3))
#       grouped: grouped(normal(4, 5, 6), normal(6, 2, 3, 2), 2)
#       block_kernel: block_kernel(normal(6, 2, 3, 2), 2)
#     main: eq-channels
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Channels
#
# A black-and-white photograph of an astronaut does not show that her suit is orange. A colour photograph does, because each pixel has three
# numbers, for red, green and blue. Inside a network, each pixel may have hundreds of numbers. How does a
# convolution use all these numbers, and what does this cost?
#
# - **You need** [convolutions](convolutions.ipynb), their [windows as an array](computing_convolutions.ipynb),
#   [singular values](../linear_algebra/singular_value_decomposition.ipynb) and, for the experiment, [training in minibatches](../regression/minibatch_training.ipynb) and
#   [cross-entropy](../classification/cross_entropy.ipynb).
# - **You build** convolutions with several channels, in one group and in many, and you look into a trained face detector.
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
import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from nbutils.cases import integers, lists, seeds
from nbutils.checks import close, grade, holds, verify
from nbutils.data import digits, face_detector, portrait
from nbutils.figures import GREY, panels, show_image
from nbutils.timing import seconds
from nbutils.training import batches, fit

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the tensors are small: a second thread would mostly wait
torch.set_printoptions(precision=2, sci_mode=False)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Several input channels and several output channels
#
# We load the portrait of an astronaut, and print the mean colour of a piece of her suit and of the wall behind her:

# %%
photo = torch.tensor(portrait()).permute(2, 0, 1)       # (3, 256, 256)
patches = {'suit': photo[:, 150:160, 45:55], 'wall': photo[:, 10:20, 60:70]}
for name, patch in patches.items():
    red, green, blue = patch.mean((1, 2))
    print(f'{name}: red {red:.2f}, green {green:.2f}, blue {blue:.2f}')

# %% mystnb={"image": {"alt": "Four panels: the portrait of an astronaut in an orange suit before a light wall, and its red, green and blue channels in grey. The suit is lighter than the wall in the red channel and much darker than the wall in the blue one."}} tags=["hide-input"]
fig, axes = panels(2, rows=2, height=2.3)
show_image(axes[0, 0], photo.permute(1, 2, 0)[::2, ::2], 'portrait')
for ax, channel, name in zip(axes.flat[1:], photo, ('red', 'green', 'blue'), strict=True):
    show_image(ax, channel[::2, ::2], f'{name} channel', vmin=0, vmax=1)

# %% [markdown] tags=["caption"]
# A colour picture is three grey pictures. The suit is brighter than the wall in red, and much darker in blue.

# %% [markdown]
# Each of the three arrays is a **channel**. A picture with $c_i$ channels has the shape $(c_i, n_h, n_w)$. To find orange, a layer has
# to compare channels: much red and little blue. So its kernel has one slice of $k_h \times k_w$ weights for each input
# channel. We lay each slice on its own channel, multiply, and *sum over the window and over the channels*. The result is a
# single output channel. For $c_o$ output channels we take $c_o$ such kernels. So the weights have four axes:
#
# ```{math}
# :label: eq-channels
# Y_{o,i,j} = \sum_{c=0}^{c_i - 1} \sum_{a=0}^{k_h - 1} \sum_{b=0}^{k_w - 1} W_{o,c,a,b}\, X_{c,\,i+a,\,j+b} .
# ```

# %%
def conv_channels(X, W):
    c_o, c_i, k_h, k_w = W.shape
    rows, columns = X.shape[1] - k_h + 1, X.shape[2] - k_w + 1
    Y = X.new_zeros(c_o, rows, columns)
    for o in range(c_o):
        for i in range(rows):
            for j in range(columns):
                window = X[:, i:i + k_h, j:j + k_w]     # (c_i, k_h, k_w)
                Y[o, i, j] = (W[o] * window).sum()
    return Y

# %% [markdown]
# Here are two channels of $3 \times 3$ pixels and two kernels. In each window, the first kernel sums the first channel and subtracts
# the sum of the second. The second kernel takes only the upper left number of the second channel:

# %%
X = torch.tensor([[[3.0, 1, 0], [2, 2, 1], [0, 1, 4]],
                  [[1.0, 0, 2], [0, 5, 1], [2, 1, 0]]])        # (2, 3, 3)
W = torch.tensor([[[[1.0, 1], [1, 1]], [[-1, -1], [-1, -1]]],
                  [[[0.0, 0], [0, 0]], [[1, 0], [0, 0]]]])     # (2, 2, 2, 2)
print(conv_channels(X, W))
print(F.conv2d(X[None], W)[0])                                 # PyTorch

# %% [markdown]
# The first number is $(3 + 1 + 2 + 2) - (1 + 0 + 0 + 5) = 2$. `F.conv2d` has one more axis in front, for the pictures of a
# batch. A layer `nn.Conv2d` also adds a bias for each output channel, so it has $c_o (c_i k_h k_w + 1)$ parameters.

# %% mystnb={"image": {"alt": "Left: two stacked squares, the input X with c_i channels. Middle: a table of two by two small squares, the kernel W, with a row for each output channel and a column for each input channel. Right: two stacked squares, the output Y with c_o channels. Arrows lead from X to the table and from each row of the table to one output channel."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.3))
def sheet(x, y, size, colour, words=''):
    ax.add_patch(plt.Rectangle((x, y), size, size, fc=colour, ec=GREY, alpha=0.12, lw=0))
    ax.add_patch(plt.Rectangle((x, y), size, size, fc='none', ec=GREY, lw=1))
    ax.text(x + size / 2, y + size / 2, words, ha='center', va='center', fontsize=8.5)

for c, colour in enumerate(('C0', 'C1')):
    sheet(0.2, 2.15 - 1.95 * c, 1.6, colour, f'channel {c}')
    for o in range(2):
        sheet(4.3 + 1.5 * c, 2.4 - 1.95 * o, 1.1, colour, f'W[{o}, {c}]')
for o in range(2):
    sheet(9.4, 2.3 - 1.95 * o, 1.3, GREY, f'Y[{o}]')
    ax.annotate('', (9.2, 2.95 - 1.95 * o), (7.1, 2.95 - 1.95 * o), arrowprops={'arrowstyle': '->', 'color': GREY})
    ax.text(8.15, 3.07 - 1.95 * o, 'sum', ha='center', fontsize=8.5)
    ax.annotate('', (4.1, 2.95 - 1.95 * o), (2.0, 1.97), arrowprops={'arrowstyle': '->', 'color': GREY})
for x, words in (1, '$(c_i, n_h, n_w)$'), (5.6, '$(c_o, c_i, k_h, k_w)$'), (10.05, '$(c_o, h, w)$'):
    ax.text(x, -0.35, words, ha='center', fontsize=9)
for x, words in (1, 'input'), (5.6, 'kernel'), (10.05, 'output'):
    ax.text(x, 4.0, words, ha='center', fontsize=9.5)
ax.set(xlim=(0, 11), ylim=(-0.6, 4.3))
ax.axis('off');

# %% [markdown] tags=["caption"]
# The shapes in the example, with $h = n_h - k_h + 1$ and $w = n_w - k_w + 1$. The slices in one row meet all input channels and
# make one output channel.

# %% [markdown]
# ### Without loops: unfold and einsum
#
# The loops over $i$ and $j$ disappear if all windows are put into one array. Then `einsum` sums over the letters that do
# not occur behind the arrow, here $c$, $a$ and $b$:

# %%
def conv_einsum(X, W):
    k_h, k_w = W.shape[2:]
    windows = X.unfold(1, k_h, 1).unfold(2, k_w, 1)     # (c_i, h, w, k_h, k_w)
    return torch.einsum('ocab,chwab->ohw', W, windows)  # (c_o, h, w)

# %%
g, wins = torch.Generator().manual_seed(0), {}
V = torch.randn(10, 3, 3, 3, generator=g)
for n in (4, 32):
    A = torch.randn(3, n, n, generator=g)
    loop, fast, library = seconds(
        lambda: conv_channels(A, V), lambda: conv_einsum(A, V),
        lambda: F.conv2d(A[None], V), rounds=2)
    wins[n] = bool(loop > 100 * fast), bool(fast > 10 * library)
    print(f'{n:2} x {n:2} pixels, {V.numel() * (n - 2)**2:,} multiplications:'
          f'\n   einsum 100 times faster than loops: {wins[n][0]},'
          f'\n   library 10 times faster: {wins[n][1]}')

# %% [markdown]
# The loops and `einsum` do the same multiplications: one for each weight and each window. But the loops call PyTorch anew for each output. The library
# is not ten times faster than `einsum` at either size.
#
# ### The order of the axes: channels first or last
#
# PyTorch puts the output channels of the kernel first, then the input channels. TensorFlow and many papers put the channels
# last. With a window from $-\Delta$ to $\Delta$ around the pixel, their formula is
#
# ```{math}
# :label: dl.channels.channels
# H_{i,j,o} = \sum_{a=-\Delta}^{\Delta} \sum_{b=-\Delta}^{\Delta} \sum_{c=0}^{c_i - 1} V_{a,b,c,o}\, X_{i+a,\,j+b,\,c} .
# ```
#
# To use a stored kernel $\mathbf{V}$ of shape $(k_h, k_w, c_i, c_o)$ in PyTorch, we move its axis 3 to the front, then axis 2,
# then 0 and 1:

# %%
V = torch.arange(36.0).reshape(3, 3, 2, 2)              # (k_h, k_w, c_i, c_o)
x = torch.ones(1, 2, 3, 3)
x[0, 1] = 0                                             # only channel 0 is on
print('permute(3, 2, 0, 1):', F.conv2d(x, V.permute(3, 2, 0, 1)).flatten())
print('permute(2, 3, 0, 1):', F.conv2d(x, V.permute(2, 3, 0, 1)).flatten())
print('by the formula:     ', V[:, :, 0].sum((0, 1)))

# %% [markdown]
# ```{admonition} A tempting mistake
# :class: warning
# `permute(2, 3, 0, 1)` moves the channels to the front as well, but it swaps input and output channels. If their numbers differ,
# PyTorch raises an error. If they are equal, as in many layers of a deep network, there is no error, and the results are wrong.
# ```

# %% tags=["checks"]
def drawn(seed, *shapes):
    g = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=g) for shape in shapes]

def equals_torch(seed, c_i, c_o, k_h, k_w, way):
    X, W = drawn(seed, (c_i, 5, 6), (c_o, c_i, k_h, k_w))
    return close(way(X, W), F.conv2d(X[None], W)[0])

shapes = dict(seed=seeds(), c_i=integers(1, 3), c_o=integers(1, 3), k_h=integers(1, 3), k_w=integers(1, 4), tries=25)
verify(
    'the loop is a convolution of the library',
    lambda **case: equals_torch(way=conv_channels, **case),
    slip=('forgets all channels but the first', lambda **case: equals_torch(
        way=lambda X, W: conv_channels(X[:1], W[:, :1]), **case)),
    **shapes,
)
verify(
    'einsum over the windows is a convolution of the library',
    lambda **case: equals_torch(way=conv_einsum, **case),
    slip=('reads the windows by columns', lambda **case: equals_torch(
        way=lambda X, W: conv_einsum(X.mT, W.mT).mT.flip(1), **case)),
    **shapes,
)
verify(
    'at 32 x 32 pixels einsum is more than 100 times faster than loops, the library not 10 times faster than einsum',
    lambda way: wins[32][way] == (way == 0),
    slip=('says so of both', lambda way: wins[32][way]),
    way=[0, 1],
)
stored, last = drawn(1, (3, 3, 2, 3), (5, 6, 2))        # V with c_i = 2, c_o = 3, and a picture, channels last
wanted = F.conv2d(last.permute(2, 0, 1)[None], stored.permute(3, 2, 0, 1))[0]
holds(
    'dl.channels.channels', Delta=1, c_i=2, i=range(1, 4), j=range(1, 5), o=range(3),
    H=lambda i, j, o: wanted[o, i - 1, j - 1].item(), V=lambda a, b, c, o: stored[a + 1, b + 1, c, o].item(),
    X=lambda i, j, c: last[i, j, c].item(),
)

def converted(seed, axes):
    V, X = drawn(seed, (3, 2, 2, 2), (4, 5, 2))
    Y = F.conv2d(X.permute(2, 0, 1)[None], V.permute(axes))[0]
    return close(Y, torch.tensor([[[sum(
        (V[a, b, :, o] * X[i + a, j + b]).sum() for a in range(3) for b in range(2)) for j in range(4)]
        for i in range(2)] for o in range(2)]))

verify(
    'permute(3, 2, 0, 1) turns a kernel with channels last into one of PyTorch',
    lambda seed: converted(seed, (3, 2, 0, 1)),
    slip=('swaps input and output', lambda seed: converted(seed, (2, 3, 0, 1))),
    seed=seeds(), tries=10,
)

# %% [markdown]
# ## Trained kernels, and the 1 × 1 convolution
#
# What do kernels find when their weights are learned? The face detector of MTCNN {cite}`zhang2016joint` begins with ten
# kernels. Each has three slices of $3 \times 3$ weights, one for each colour. The layer expects numbers from $-1$ to 1. We load
# it, and apply it to a smaller portrait:

# %%
weights = {name: torch.tensor(w).double()
           for name, w in face_detector().items()}
W_1, b_1 = weights['conv1.weight'], weights['conv1.bias']
print(tuple(W_1.shape))                                 # (c_o, c_i, k_h, k_w)

def first_layer(picture, shrink):                       # (3, 256, 256)
    small = F.avg_pool2d(picture[None], shrink) * 255
    return F.conv2d((small - 127.5) / 128, W_1, b_1)[0]  # from -1 to 1

# %% [markdown]
# Which kernels need the colours? We measure how much the output of a kernel varies, by its standard deviation over the portrait. Then we take the
# colours away, and print which part of this standard deviation is left:

# %%
grey = photo.mean(0).expand(3, -1, -1)                  # (3, 256, 256)
responses = first_layer(photo, 3)                       # (10, 83, 83)
kept = first_layer(grey, 3).std((1, 2)) / responses.std((1, 2))
for o in range(10):
    print(f'kernel {o}, part left without colours: {kept[o]:.3f}')
for o in (1, 2, 9):
    print(f'kernel {o}, sum of each slice:', W_1[o].sum((1, 2)))

# %% mystnb={"image": {"alt": "Ten pairs of pictures in two rows of five: a kernel of three by three coloured squares and below it the response to the portrait in blue and red. Kernels 1, 2 and 9 fill whole areas: suit, wall or face. The other kernels draw outlines of the face, the collar and the helmet."}} tags=["hide-input"]
fig, axes = panels(5, rows=4, height=1.2)
for o in range(10):
    top, below = axes[o // 5 * 2:o // 5 * 2 + 2, o % 5]
    show_image(top, (0.5 + W_1[o] / abs(W_1[o]).max() / 2).permute(1, 2, 0), f'kernel {o}')
    most = float(abs(responses[o]).quantile(0.99))
    show_image(below, responses[o], cmap='RdBu', vmin=-most, vmax=most)

# %% [markdown] tags=["caption"]
# The ten kernels of a trained face detector as colours (grey is zero), and their responses to the portrait: blue is positive, red negative.
# Kernels 1, 2 and 9 fill areas of one colour or brightness; the others draw edges.

# %% [markdown]
# What can we read in the kernels?
#
# - **Edges.** Seven kernels vary about as much as before without colours, because they react to brightness. Kernel 8 has a bright row
#   between two dark ones, for horizontal lines. Kernel 7 compares its right column with the rest, for vertical edges.
# - **Colours.** Kernel 9 weighs green against red and blue: its slices have the sums $-2.0$, $4.7$ and $-2.4$. On a grey area
#   all channels are equal, so these sums nearly cancel. Kernel 1 weighs green and blue against red. These two lose most of
#   their variation on the grey portrait.
# - **Brightness of an area.** The sums of kernel 2 do not cancel in this way, so it tells light areas from dark ones.
#
# ### A 1 × 1 convolution is a dense layer at each pixel
#
# Comparing colours takes no window at all. A kernel of $1 \times 1$ sees one pixel, but all channels of it:
#
# ```{math}
# :label: eq-pointwise
# Y_{o,i,j} = \sum_{c=0}^{c_i - 1} W_{o,c}\, X_{c,i,j} .
# ```
#
# This is a dense layer from $c_i$ to $c_o$ numbers, with the same weights at each pixel. Such a convolution is called **pointwise**. We look for
# orange with the weights $1$, $-\tfrac12$ and $-\tfrac12$:

# %%
def pointwise(X, W):
    return torch.einsum('oc,chw->ohw', W, X)            # (c_o, h, w)

# %%
orange = torch.tensor([[1.0, -0.5, -0.5]])              # (1, 3)
for name, patch in patches.items():
    ours = pointwise(patch, orange).mean()
    library = F.conv2d(patch[None], orange[:, :, None, None]).mean()
    dense = F.linear(patch.permute(1, 2, 0), orange).mean()  # channels last
    print(f'{name}: {ours:.3f}, conv2d {library:.3f}, linear {dense:.3f}')

# %% [markdown]
# The last layer of the face detector is of this kind. At each place, it makes two scores out of 32 channels, "no face" and "face".
# The other [layers of the detector](padding_and_stride.ipynb) work window by window as well. So the detector
# takes pictures of any size from $12 \times 12$ pixels on. It judges windows of 12 × 12 that are 2 pixels apart. We run it on the portrait, shrunk by 6: with colours, without colours, and with red and blue
# swapped. We print the probability of the best window, and its place in the map of 16 × 16 windows:

# %%
def face_probability(picture):                          # (3, 256, 256)
    h = first_layer(picture, 6)                         # (10, 40, 40)
    h = F.prelu(h[None], weights['prelu1.weight'])
    h = F.max_pool2d(h, 2)                              # (1, 10, 20, 20)
    for l in (2, 3):
        w, b = weights[f'conv{l}.weight'], weights[f'conv{l}.bias']
        h = F.conv2d(h, w, b)
        h = F.prelu(h, weights[f'prelu{l}.weight'])     # at last 32 channels
    scores = F.conv2d(h, weights['conv4_1.weight'], weights['conv4_1.bias'])
    return scores.softmax(1)[0, 1]                      # (16, 16)

# %%
found = {'red, green, blue': photo, 'grey': grey,
         'blue, green, red': photo.flip(0)}
for name, picture in found.items():
    p = found[name] = face_probability(picture)
    print(f'{name}: {p.max():.3f} at {divmod(p.argmax().item(), 16)}')

# %% [markdown]
# One step in the map is $2 \cdot 6 = 12$ pixels of the portrait. So the window (3, 6) begins in row 36 and column 72, and
# has $12 \cdot 6 = 72$ rows and columns: it lies on the face. Without colours the detector is still quite sure. With the channels in the wrong order it prefers a
# window in the lower right corner, on the helmet. Swapped channels are a common mistake, because some
# libraries load pictures as blue, green, red.
#
# ```{exercise} ★★ Pencil: a detour through few channels
# :label: channels-bottleneck
# A $1 \times 1$ convolution maps 256 channels to 256 channels. Someone replaces it by two: from 256 to $r$ channels and from $r$ back to
# 256, with nothing in between. For which $r$ does this save weights? Which kernels can the pair represent, and does a ReLU in
# between change your answer?
# ```
#
# ```{solution-start} channels-bottleneck
# :class: dropdown
# ```
# The pair has $2 \cdot 256\, r$ weights in place of $256^2$, so it saves weights for $r < 128$. At each pixel it multiplies by
# $\mathbf{B}\mathbf{A}$, where $\mathbf{A}$ is $r \times 256$ and $\mathbf{B}$ is $256 \times r$. So it is one $1 \times 1$ convolution whose
# matrix has a rank of at most $r$, and each matrix of such a rank can be reached. With a ReLU in between, the pair is no
# longer linear: it is a network with one hidden layer of $r$ units at each pixel.
# ```{solution-end}
# ```

# %% tags=["checks"]
def one_pixel(seed, way):
    X, W = drawn(seed, (4, 5, 6), (3, 4))
    dense = F.linear(X.permute(1, 2, 0), W).permute(2, 0, 1)
    return close(way(X, W), dense) and close(way(X, W), F.conv2d(X[None], W[:, :, None, None])[0])

verify(
    'a 1 x 1 convolution is a dense layer at each pixel',
    lambda seed: one_pixel(seed, pointwise),
    slip=('sums over the pixels of a column', lambda seed: one_pixel(
        seed, lambda X, W: pointwise(X.mean(1, keepdim=True).expand_as(X), W))),
    seed=seeds(), tries=20,
)
verify(
    'without colours only the kernels 1 and 9 lose half of their spread',
    lambda o: bool(kept[o] < 0.5) == (o in (1, 9)),
    slip=('expects it of kernel 2', lambda o: bool(kept[o] < 0.5) == (o in (1, 2, 9))),
    o=list(range(10)),
)

def on_the_face(name):  # rows 20 to 116 and columns 60 to 156 of the portrait
    row, column = divmod(found[name].argmax().item(), 16)
    return 20 <= 12 * row and 12 * row + 72 <= 116 and 60 <= 12 * column and 12 * column + 72 <= 156

verify(
    'the best window is on the face, if red and blue are not swapped',
    lambda name: on_the_face(name) == (name != 'blue, green, red'),
    slip=('expects it in each case', on_the_face),
    name=list(found),
)
verify(
    'each step takes confidence: red, green, blue, then grey, then blue, green, red',
    lambda order: [name for name in sorted(found, key=lambda name: -found[name].max())] == order,
    slip=('puts grey first', lambda order: sorted(found, key=lambda name: found[name].max()) == order),
    order=[['red, green, blue', 'grey', 'blue, green, red']],
)

# %% [markdown]
# ## Grouped, depthwise and separable convolutions
#
# A full kernel connects each output channel with each input channel. In a **grouped convolution** with $G$ groups, the
# input channels and the output channels are divided into $G$ equal parts, and each part has its own small convolution. With 4 input channels, 6 output channels
# and 2 groups, the kernel has only 2 slices for each output channel:

# %%
def grouped(X, W, groups):
    parts = zip(X.chunk(groups), W.chunk(groups))
    return torch.cat([conv_einsum(x, w) for x, w in parts])

# %%
X, W = torch.randn(4, 5, 5, generator=g), torch.randn(6, 2, 3, 3, generator=g)
print(grouped(X, W, 2)[:, 0, 0])
print(F.conv2d(X[None], W, groups=2)[0, :, 0, 0])

# %% [markdown]
# The same numbers come from a full kernel in which all slices between different groups are zero. We write its slices into a table, with a row for
# each output channel and a column for each input channel. Then only blocks on the diagonal are not zero, so the table is called block
# diagonal:

# %%
def block_kernel(W, groups):
    c_o, c_g, k_h, k_w = W.shape                        # c_g inputs per group
    full = W.new_zeros(c_o, groups * c_g, k_h, k_w)
    for o in range(c_o):
        first = (o * groups // c_o) * c_g               # input of its group
        full[o, first:first + c_g] = W[o]
    return full

# %%
print(conv_channels(X, block_kernel(W, 2))[:, 0, 0])

# %% mystnb={"image": {"alt": "Three tables with six rows for output channels and six columns for input channels. Full: all 36 cells are filled. Three groups: three blocks of two by two cells on the diagonal are filled. Depthwise: only the six cells on the diagonal are filled."}} tags=["hide-input"]
fig, axes = panels(3, height=2.2)
for ax, groups, name in zip(axes, (1, 3, 6), ('full', '3 groups', 'depthwise: 6 groups'), strict=True):
    table = block_kernel(torch.ones(6, 6 // groups, 1, 1), groups)[..., 0, 0]
    for o, c in np.ndindex(6, 6):
        ax.add_patch(plt.Rectangle((c, o), 1, 1, fc='C0' if table[o, c] else 'none', ec=GREY, lw=0.7))
    ax.set(xlim=(0, 6), ylim=(6, 0), aspect='equal', xticks=[], yticks=[], xlabel='input channels')
    ax.set_title(f'{name}\n{int(table.sum())} slices')
    ax.spines[:].set_visible(False)
axes[0].set_ylabel('output channels');

# %% [markdown] tags=["caption"]
# Which input channels each of six output channels sees. With $G$ groups, a share of $1/G$ of all slices is left. In a depthwise convolution, each
# channel sees only itself.

# %% [markdown]
# With as many groups as input channels the convolution is called **depthwise**. It filters each channel with a window of its own and
# never compares two channels. A $1 \times 1$ convolution compares channels, but has no window. The two, one after the other, form a **depthwise
# separable** convolution {cite}`chollet2017xception`, on which small networks for phones are built {cite}`howard2017mobilenets`. The first one, with
# the weights $\mathbf{D}$, makes $Z_{c,i,j} = \sum_{a,b} D_{c,a,b} X_{c,i+a,j+b}$. The second one, with the weights $\mathbf{P}$, makes
# $\sum_c P_{o,c} Z_{c,i,j}$. In this sum, $X_{c,i+a,j+b}$ has the factor
#
# ```{math}
# :label: eq-separable
# W_{o,c,a,b} = P_{o,c}\, D_{c,a,b} ,
# ```
#
# so the two together are a convolution with this kernel. For input channel $c$, all output channels use the same pattern
# $\mathbf{D}_c$, and only the number $P_{o,c}$ in front of it differs.
#
# ### The cost of a separable convolution
#
# For each pixel of the output, a full kernel of $k \times k$ takes $c_o c_i k^2$ multiplications, the depthwise one
# $c_i k^2$, and the pointwise one $c_o c_i$. So a separable convolution costs the share
#
# ```{math}
# :label: eq-separable-cost
# \frac{c_i k^2 + c_o c_i}{c_o c_i k^2} = \frac{1}{c_o} + \frac{1}{k^2}
# ```
#
# of a full one. For a $3 \times 3$ kernel with many channels this is about one ninth. We let PyTorch count the
# operations, and measure the time as well:

# %%
def operations(layer, X):
    with FlopCounterMode(display=False) as counter:
        layer(X)
    return counter.get_total_flops()

def full_and_separable(c):
    depthwise = nn.Conv2d(c, c, 3, padding=1, groups=c, bias=False)
    mix = nn.Conv2d(c, c, 1, bias=False)
    full = nn.Conv2d(c, c, 3, padding=1, bias=False)
    return full.float(), nn.Sequential(depthwise, mix).float()

# %%
shares, times = {}, {}
for c, n in (8, 28), (256, 14):
    X = torch.ones(1, c, n, n, dtype=torch.float32)
    full, separable = full_and_separable(c)
    shares[c] = operations(separable, X) / operations(full, X)
    with torch.no_grad():
        times[c] = seconds(lambda: full(X), lambda: separable(X), rounds=2)
    print(f'{c:3} channels: share of the operations {shares[c]:.3f},'
          f' formula {1 / c + 1 / 9:.3f},'
          f' less than half the time: {times[c][1] < times[c][0] / 2}')

# %% [markdown]
# With 8 channels, the separable layer needs less than a quarter of the operations, but more than half of the time. So count the operations, but measure the
# time as well.
#
# What is lost? A trained kernel need not have the form {eq}`eq-separable`. For each of its 10 input channels, the detector's second layer has 16
# slices of 9 weights, a $16 \times 9$ matrix. In a separable layer, these 16 rows would be multiples of a single row, which we call the pattern. If we allow $m$ patterns
# for each input channel, how close can we come to the trained weights? The best choice keeps the $m$ largest
# [singular values](../linear_algebra/singular_value_decomposition.ipynb) of each matrix. We print its share of the sum of all squared weights:

# %%
slices = weights['conv2.weight'].transpose(0, 1).flatten(2)  # (10, 16, 9)
sigma_2 = torch.linalg.svdvals(slices) ** 2                  # (10, 9)
kept_by = sigma_2.cumsum(1).sum(0) / sigma_2.sum()           # (9,)
for m in (1, 2, 4, 9):
    print(f'patterns per channel: {m}, share kept: {kept_by[m - 1]:.2f}')

# %% [markdown]
# One pattern for each channel keeps only a third of the squared weights of this trained kernel. So you cannot simply replace this layer by a separable one. You train a
# network with separable layers from the start.
#
# ```{exercise} ★★ Program: import a depthwise kernel
# :label: channels-depthwise
# TensorFlow stores a depthwise kernel in the shape $(k_h, k_w, c_i, m)$: each input channel $c$ has $m$ windows of its own, which make the
# output channels $cm, \dots, cm + m - 1$. Write `to_torch(V)`, which returns the kernel for `F.conv2d` with `groups=c_i`.
# ```

# %%
def to_torch(V):
    """Rearrange a kernel: array (k_h, k_w, c_i, m) -> (c_i * m, 1, k_h, k_w).

    to_torch(np.array([[[[1.0, 2.0]]]])) is [[[[1.0]]], [[[2.0]]]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def entry_by_entry(V):
    k_h, k_w, c_i, m = V.shape
    W = np.zeros((c_i * m, 1, k_h, k_w))
    for a, b, c, r in np.ndindex(V.shape):
        W[c * m + r, 0, a, b] = V[a, b, c, r]
    return W

kernels = dict(V=lists(integers(1, 3), 4, 4).map(lambda s: np.arange(1.0, np.prod(s) + 1).reshape(s)))
grade(to_torch, entry_by_entry, **kernels)

# %% [markdown]
# ```{solution-start} channels-depthwise
# :class: dropdown
# ```
# Move the axes of the channels to the front, the input channel before its windows, and join the two. Here
# `(2, 3, 0, 1)` is right, because the axis in front must count the groups. With `(3, 2, 0, 1)` the windows of one
# input channel do not stand together, so groups get windows of other channels. A reshape without moving axes, or one that turns the
# windows, gives the right shape and wrong numbers.

# %% jupyter={"source_hidden": true}
def to_torch_solution(V):
    k_h, k_w, c_i, m = V.shape
    return V.transpose(2, 3, 0, 1).reshape(c_i * m, 1, k_h, k_w)

def interleaved(V):
    k_h, k_w, c_i, m = V.shape
    return V.transpose(3, 2, 0, 1).reshape(c_i * m, 1, k_h, k_w)

def only_reshaped(V):
    k_h, k_w, c_i, m = V.shape
    return V.reshape(c_i * m, 1, k_h, k_w)

def turned(V):
    return to_torch_solution(V)[..., ::-1, ::-1]

assert grade(to_torch_solution, entry_by_entry, **kernels)
assert not grade(interleaved, entry_by_entry, **kernels)
assert not grade(only_reshaped, entry_by_entry, **kernels)
assert not grade(turned, entry_by_entry, **kernels)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def groups_agree(seed, groups, inputs, outputs, way):
    X, W = drawn(seed, (groups * inputs, 4, 5), (groups * outputs, inputs, 3, 2))
    return close(way(X, W, groups), F.conv2d(X[None], W, groups=groups)[0])

grouping = dict(seed=seeds(), groups=integers(1, 3), inputs=integers(1, 3), outputs=integers(1, 3), tries=25)
verify(
    'a grouped convolution is one convolution for each group',
    lambda **case: groups_agree(way=grouped, **case),
    slip=('deals the channels out in turn', lambda **case: groups_agree(way=lambda X, W, G: grouped(
        torch.cat([X[k::G] for k in range(G)]), W, G), **case)),
    **grouping,
)
verify(
    'its full kernel is block diagonal',
    lambda **case: groups_agree(way=lambda X, W, G: conv_einsum(X, block_kernel(W, G)), **case),
    slip=('puts the blocks on the other diagonal', lambda **case: groups_agree(
        way=lambda X, W, G: conv_einsum(X.flip(0), block_kernel(W, G)), **case)),
    **grouping,
)

def is_separable(seed, kernel):
    X, D, P = drawn(seed, (3, 5, 6), (3, 3, 2), (4, 3))
    two_steps = F.conv2d(F.conv2d(X[None], D[:, None], groups=3), P[:, :, None, None])[0]
    return close(conv_einsum(X, kernel(P, D)), two_steps)

verify(
    'a depthwise and then a pointwise convolution apply the product of their weights',
    lambda seed: is_separable(seed, lambda P, D: P[:, :, None, None] * D),
    slip=('adds the weights', lambda seed: is_separable(seed, lambda P, D: P[:, :, None, None] + D)),
    seed=seeds(), tries=20,
)
verify(
    'the counted share of the operations is 1 / c_o + 1 / k²',
    lambda c: close(shares[c], 1 / c + 1 / 9),
    slip=('leaves the depthwise part out', lambda c: close(shares[c], 1 / 9)),
    c=list(shares),
)
verify(
    'with 256 channels the separable layer takes less than half the time, with 8 it does not',
    lambda c: bool(times[c][1] < times[c][0] / 2) == (c == 256),
    slip=('says so for both', lambda c: bool(times[c][1] < times[c][0] / 2)),
    c=[8, 256],
)

def best_patterns(seed, m, kept):  # keeping m patterns per input channel, in the least squares sense
    slices = drawn(seed, (3, 5, 4))[0]
    U, S, Vt = torch.linalg.svd(slices, full_matrices=False)
    near = (U[..., :m] * S[:, None, :m]) @ Vt[:, :m]
    return close(1 - ((slices - near) ** 2).sum() / (slices ** 2).sum(), kept(S)[m - 1])

verify(
    'm patterns keep the share of the m largest squared singular values',
    lambda seed, m: best_patterns(seed, m, lambda S: (S**2).cumsum(1).sum(0) / (S**2).sum()),
    slip=('does not square them', lambda seed, m: best_patterns(seed, m, lambda S: S.cumsum(1).sum(0) / S.sum())),
    seed=seeds(), m=integers(1, 4), tries=20,
)

# %% [markdown]
# ## Where it matters: digits hidden in colour
#
# A test for colour blindness shows dots of random brightness, and only their colour tells a number. We make such
# pictures from 1797 handwritten digits of 8 × 8 pixels. All channels of a pixel get the same random brightness. Where there is
# ink, red gets up to 0.15 more and green up to 0.15 less:

# %%
x, y, _ = digits()
ink, y = torch.tensor(x).reshape(-1, 1, 8, 8), torch.tensor(y)
tint = torch.tensor([0.15, -0.15, 0.0])[:, None, None]  # (3, 1, 1)

def plates(shared):
    g = torch.Generator().manual_seed(0)
    shape = (len(ink), 1 if shared else 3, 8, 8)
    brightness = 0.15 + 0.7 * torch.rand(shape, generator=g)
    return brightness + tint * ink                      # (1797, 3, 8, 8)

pictures = plates(shared=True)

# %% mystnb={"image": {"alt": "Four panels of eight by eight pixels: a picture with random brightness, tinted a little red where there is ink; its red channel and the mean of its channels, which look like noise; red minus green, which shows the digit 3."}} tags=["hide-input"]
fig, axes = panels(2, rows=2, height=1.9)
one = pictures[3]
for ax, panel, name in zip(
        axes.flat, (one.permute(1, 2, 0), one[0], one.mean(0), one[0] - one[1]),
        ('picture', 'red channel', 'mean of the channels', 'red minus green'), strict=True):
    show_image(ax, panel, name)

# %% [markdown] tags=["caption"]
# A hidden 3. Neither the red channel alone nor the mean of the channels shows it. The difference of two channels does,
# because the random brightness cancels.

# %% [markdown]
# Can a network read the digits if it keeps the channels apart? We train a convolutional network with 3 groups, so that only the last, dense
# layer sees all colours. Then we put a single $1 \times 1$ convolution in front, which has $3 \cdot 3$ weights and 3 biases. It starts as the identity, so both networks start as the same function. The third network has full
# kernels, and fewer channels, so that it has about as many parameters. A linear model is the reference.

# %%
def network(c, groups):
    return nn.Sequential(
        nn.Conv2d(3, c, 3, groups=groups), nn.ReLU(),   # (B, c, 6, 6)
        nn.MaxPool2d(2),                                # (B, c, 3, 3)
        nn.Conv2d(c, c, 3, padding=1, groups=groups), nn.ReLU(),
        nn.Flatten(), nn.Linear(9 * c, 10))

def mixed():
    rest, mix = network(12, groups=3), nn.Conv2d(3, 3, 1)
    nn.init.dirac_(mix.weight)                          # the identity
    nn.init.zeros_(mix.bias)
    return nn.Sequential(mix, *rest)

makers = {
    'linear model': lambda: nn.Sequential(nn.Flatten(), nn.Linear(192, 10)),
    '3 groups': lambda: network(12, groups=3),
    '1 x 1, 3 groups': mixed,
    'full kernels': lambda: network(9, groups=1)}

# %% mystnb={"image": {"alt": "Two rows of boxes joined by arrows, with the shape of its output below each box. Groups: picture, 3 by 8 by 8; a dashed box, 1 by 1 mix, 3 by 8 by 8; 3 by 3 in 3 groups, 12 by 6 by 6; maximum of 2 by 2, 12 by 3 by 3; 3 by 3 in 3 groups, 12 by 3 by 3; dense, 10. Full kernels: picture, 3 by 8 by 8; 3 by 3 full, 9 by 6 by 6; maximum, 9 by 3 by 3; 3 by 3 full, 9 by 3 by 3; dense, 10."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
for height, c, words in (0, 12, '3 × 3\n3 groups'), (-2.6, 9, '3 × 3\nfull'):
    boxes = [(words, f'{c}×6×6'), ('max\n2 × 2', f'{c}×3×3'), (words, f'{c}×3×3'), ('dense', '10')]
    if c == 12:
        boxes.insert(0, ('1 × 1\nmix', '3×8×8'))
    ax.text(-0.1, height, 'picture\n3×8×8', ha='center', va='center', fontsize=9.5)
    for k, (words, shape) in enumerate(boxes, 5 - len(boxes)):
        left = 0.9 + 2 * k
        colour, line = ('C0', '-') if k else ('C1', '--')
        ax.add_patch(plt.Rectangle((left, height - 0.6), 1.3, 1.2, fill=False, ec=colour, lw=1.5, ls=line))
        ax.text(left + 0.65, height, words, ha='center', va='center', fontsize=9.5)
        ax.text(left + 0.65, height - 0.95, shape, ha='center', va='center', fontsize=9.5, color='C0')
        start = 0.5 if k == 5 - len(boxes) else left - 0.62
        ax.annotate('', (left - 0.05, height), (start, height), arrowprops={'arrowstyle': '->', 'color': GREY})
ax.set(xlim=(-0.8, 10.4), ylim=(-3.8, 0.8))
ax.axis('off');

# %% [markdown] tags=["caption"]
# The network with groups, with the $1 \times 1$ convolution of one version (dashed), and the network with full kernels. Below each layer stands the shape
# of its output; *max* keeps the largest of $2 \times 2$ numbers. ReLU follows each convolution of $3 \times 3$.

# %%
def trained(make, seed, lr, pictures):
    torch.manual_seed(seed)
    model, g = make(), torch.Generator().manual_seed(seed)
    inputs = 4 * (pictures[:1200] - 0.5)                # centred, scaled
    dealt = batches(g, 100, inputs, y[:1200], epochs=6)
    optimizer = torch.optim.Adam(model.parameters(), lr)
    fit(model, nn.CrossEntropyLoss(), optimizer, dealt)
    return model

@torch.no_grad()
def accuracy(model, pictures):
    scores = model(4 * (pictures[1200:] - 0.5))         # (597, 10)
    return (scores.argmax(1) == y[1200:]).double().mean().item()

# %% [markdown]
# We train each network on 1200 digits, with three learning rates and three seeds. We print the parameters, the
# operations for one picture (FLOPs, a multiplication and an addition count as two), and for each rate the mean accuracy on the other digits ± two standard errors:

# %%
models, shares_read = {}, {}
for name, make in makers.items():
    for lr in (1e-2, 3e-2, 1e-1):
        models[name, lr] = three = [trained(make, seed, lr, pictures)
                                    for seed in range(3)]
        shares_read[name, lr] = [accuracy(m, pictures) for m in three]

# %%
def spread(three):
    return f'{np.mean(three):.3f} ± {2 * np.std(three, ddof=1) / 3**0.5:.5f}'

print('network         param. FLOPs  lr 0.01         lr 0.03         lr 0.1')
for name, make in makers.items():
    size = sum(p.numel() for p in make().parameters())
    print(f'{name:15} {size:,} {operations(make(), pictures[:1]):6,} ',
          *(spread(shares_read[name, lr]) for lr in (1e-2, 3e-2, 1e-1)))

# %% mystnb={"image": {"alt": "Accuracy for three learning rates, three points each. At 0.01 and 0.03, three groups lie lowest, near 0.5; with the 1 by 1 convolution in front they reach nearly 0.9 at 0.03, above the linear model and a little above the full kernels. At 0.1, some points of each convolutional network lie at chance, which a dashed line marks, and the linear model stays at 0.83."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
for k, (name, colour) in enumerate(zip(makers, (GREY, 'C1', 'C0', 'C2'), strict=True)):
    for at, lr in enumerate((1e-2, 3e-2, 1e-1)):
        ax.plot([at - 0.24 + 0.16 * k] * 3, shares_read[name, lr], 'o', color=colour, alpha=0.75)
    ax.text(2.5, 0.8 - 0.13 * k, name, color=colour)
ax.axhline(0.1, color=GREY, ls='--', lw=1)
ax.text(-0.35, 0.12, 'chance', color=GREY)
ax.set(xlabel='learning rate', ylabel='accuracy', xticks=[0, 1, 2], xlim=(-0.4, 3.4), ylim=(0, 1))
ax.set_xticklabels(['0.01', '0.03', '0.1']);

# %% [markdown] tags=["caption"]
# A point for each seed. At each of the rates 0.01 and 0.03, the twelve parameters that mix the colours take the network with groups from below the
# linear model at this rate to above it. At 0.1, some runs stay near chance.

# %% [markdown]
# At each learning rate, the network with groups stays far below the best score of the linear model. With twelve more parameters in front, at the
# learning rate 0.03, it is better than the linear model. The network with full kernels mixes colours in each layer. At its best rate, it is also right on
# more than four fifths of the digits, which is not more than the linear model. Three seeds are too few to say which of the two convolutional networks is better.
#
# What have the twelve parameters learned? We print the $3 \times 3$ weights at the learning rate 0.03, as a mean over the three seeds. The rows are
# output channels, the columns are red, green and blue:

# %%
learned = torch.stack([m[0].weight.detach()[..., 0, 0]  # (3, 3)
                       for m in models['1 x 1, 3 groups', 3e-2]])
print(learned.mean(0))

# %% [markdown]
# The first row takes red and subtracts green and blue. The second row takes green and subtracts red and blue. Each row
# nearly sums to zero, so a brightness that all channels share cancels.
#
# Does the $1 \times 1$ convolution help because of this cancellation? Then it should bring little where nothing can cancel. We give each channel a random
# brightness of its own, train again at the learning rate 0.03, and compare the two networks seed by seed:

# %%
own, gains = plates(shared=False), {}
for kind in ('shared', 'own'):
    scores = []
    for name in ('3 groups', '1 x 1, 3 groups'):
        scores.append(shares_read[name, 3e-2] if kind == 'shared' else [
            accuracy(trained(makers[name], seed, 3e-2, own), own)
            for seed in range(3)])
    gain = gains[kind] = np.subtract(scores[1], scores[0])  # (3,)
    print(f'{kind:6} brightness: {np.mean(scores[0]):.2f} and'
          f' {np.mean(scores[1]):.2f}, gain {spread(gain)}')

# %% [markdown]
# If the channels share their brightness, mixing gains about a third of all digits. If each has its
# own, only a small part of this gain is left. This fits the explanation: mixing helps because it can *subtract* a brightness that the channels share. (The
# second task is also harder, so the two gains do not tell how much of the first is due to this.) Whenever a network with groups must compare channels of different groups, a $1 \times 1$ convolution can do it.
#
# ```{exercise} ★★ Experiment: two colours swapped
# :label: channels-swap
# Take the trained networks `models['1 x 1, 3 groups', 3e-2]` and swap red and green in the test pictures. Predict the mean
# accuracy: `'as before'`, `'chance'` (between 0.07 and 0.13) or `'below chance'`. Then measure it, and explain.
# ```

# %%
def after_the_swap():
    """One of 'as before', 'chance' and 'below chance'."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
swapped = pictures[:, [1, 0, 2]]
swap_scores = [accuracy(model, swapped) for model in models['1 x 1, 3 groups', 3e-2]]

def is_measured(answer):
    if answer not in ('as before', 'chance', 'below chance'):
        raise ValueError("give 'as before', 'chance' or 'below chance'")
    mean = np.mean(swap_scores)
    return answer == ('below chance' if mean < 0.07 else 'chance' if mean < 0.13 else 'as before')

grade(lambda: is_measured(after_the_swap()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} channels-swap
# :class: dropdown
# ```
# It falls far below chance. Where red was brighter than green, it is now darker, so the network sees each digit as a
# negative. What spoke for the right class now speaks against it. The measured accuracy is below 0.07, and a network that
# answers at random would be right on a tenth.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured('below chance'), lambda: True, [()])
assert not grade(lambda: is_measured('as before'), lambda: True, [()])
assert not grade(lambda: is_measured('chance'), lambda: True, [()])
assert not grade(lambda: is_measured('nothing'), lambda: True, [()])
print('below 0.07 for each seed:', max(swap_scores) < 0.07)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def best(name):
    return max((np.mean(three), three) for (other, lr), three in shares_read.items() if other == name)[1]

verify(
    'at its best learning rate, each seed with the 1 x 1 convolution reads a tenth of the digits more than each one without',
    lambda name: min(best('1 x 1, 3 groups')) > max(best(name)) + 0.1,
    slip=('turns the two round', lambda name: min(best(name)) > max(best('1 x 1, 3 groups')) + 0.1),
    name=['3 groups'],
)
verify(
    'the network with groups stays behind the linear model by more than two standard errors',
    lambda name: bool(np.mean(best('linear model')) - np.mean(best(name))
                      > 2 * np.hypot(np.std(best(name), ddof=1), np.std(best('linear model'), ddof=1)) / 3**0.5),
    slip=('says so of the network with the 1 x 1 convolution', lambda name: bool(
        np.mean(best('linear model')) > np.mean(best('1 x 1, ' + name)))),
    name=['3 groups'],
)
verify(
    'of the gain less than a third is left if each channel has a brightness of its own',
    lambda part: bool(gains['own'].mean() < part * gains['shared'].mean()),
    slip=('compares in the other direction', lambda part: bool(gains['shared'].mean() < part * gains['own'].mean())),
    part=[1 / 3],
)

# %% tags=["checks"]
def cancels(matrix, row):  # what it makes of a brightness that all channels share, beside its length
    return abs(float(matrix[row].sum())) < 0.2 * float(matrix[row].norm())

verify(
    'a shared brightness nearly cancels in the rows of red and of green',
    lambda seed, row: cancels(models['1 x 1, 3 groups', 3e-2][seed][0].weight[..., 0, 0].detach(), row),
    slip=('says so before the training', lambda seed, row: cancels(torch.eye(3), row)),
    seed=[0, 1, 2], row=[0, 1],
)
def differ(one, two):  # by more than two standard errors
    return bool(abs(np.mean(best(one)) - np.mean(best(two)))
                > 2 * np.hypot(np.std(best(one), ddof=1), np.std(best(two), ddof=1)) / 3**0.5)

verify(
    'full kernels are within two standard errors of the groups with the 1 x 1 convolution, and above four fifths',
    lambda other: not differ('full kernels', other) and np.mean(best('full kernels')) > 0.8,
    slip=('says so of the groups alone', lambda other: not differ('3 groups', other)),
    other=['1 x 1, 3 groups'],
)
verify(
    'with the 1 x 1 convolution it is ahead of the linear model by more than two standard errors',
    lambda name: bool(np.mean(best(name)) - np.mean(best('linear model'))
                      > 2 * np.hypot(np.std(best(name), ddof=1), np.std(best('linear model'), ddof=1)) / 3**0.5),
    slip=('says so of the network without it', lambda name: bool(
        np.mean(best(name.removeprefix('1 x 1, '))) > np.mean(best('linear model')))),
    name=['1 x 1, 3 groups'],
)

def starts_as_the_same(seed, make):
    torch.manual_seed(seed % 1000)
    without = makers['3 groups']()
    torch.manual_seed(seed % 1000)
    return close(make()(pictures[:5]).detach(), without(pictures[:5]).detach())

verify(
    'both networks with groups start as the same function',
    lambda seed: starts_as_the_same(seed, mixed),
    slip=('draws the first weights at random', lambda seed: starts_as_the_same(
        seed, lambda: nn.Sequential(nn.Conv2d(3, 3, 1), *network(12, groups=3)))),
    seed=seeds(), tries=10,
)
verify(
    'with red and green swapped, it reads fewer digits than chance would',
    lambda k: swap_scores[k] < 0.07,
    slip=('says so without the swap', lambda k: accuracy(models['1 x 1, 3 groups', 3e-2][k], pictures) < 0.07),
    k=[0, 1, 2],
)

# %% [markdown]
# ## Summary
#
# A kernel has a slice for each pair of an output and an input channel, in PyTorch in the order $(c_o, c_i, k_h, k_w)$, and the results of
# all input channels are summed. A $1 \times 1$ convolution only mixes channels, as a dense layer at each pixel; a depthwise
# convolution never mixes them. One after the other, they cost the share $1/c_o + 1/k^2$ of a full convolution, but they can represent fewer
# kernels.
#
# **Further reading.** {cite}`zhang2023dive`, section 7.4, introduces channels with small examples.
# {cite:t}`lin2014network` put small networks of $1 \times 1$ convolutions between the others. {cite:t}`howard2017mobilenets` build
# a whole network from separable convolutions, and weigh accuracy against cost.
