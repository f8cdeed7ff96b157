# ---
# jupyter:
#   book:
#     functions:
#       operations: operations(16, 14)
#       dense_head: sum(p.numel() for layer in dense_head(8) for p in layer.parameters())
#       vgg_stage: "[torch.manual_seed(0), X := normal(2, 2, 6, 6), vgg_stage(2, 4).to(X.dtype)(X)][2]"
#       vgg: sum(p.numel() for p in vgg().parameters())
#       conv_norm: sum(p.numel() for layer in conv_norm(2, 4) for p in layer.parameters())
#       conv_relu: sum(p.numel() for layer in conv_relu(2, 4) for p in layer.parameters())
#       plain: "[torch.manual_seed(0), X := normal(2, 2, 6, 6), plain(2, 4).to(X.dtype)(X)][2]"
#       stage: len(stage(plain, 2, 4, 3))
#       mean_head: sum(p.numel() for layer in mean_head(32) for p in layer.parameters())
#       staged: sum(p.numel() for p in staged(plain, 2, mean_head(32)).parameters())
#       Residual: "[torch.manual_seed(0), X := normal(2, 8, 6, 6), Residual(8, 16).to(X.dtype)(X)][2]"
#       Inception: "[torch.manual_seed(0), X := normal(2, 8, 6, 6), Inception(8, 16).to(X.dtype)(X)][2]"
#       DenseBlock: "[torch.manual_seed(0), X := normal(2, 8, 6, 6), DenseBlock(8, 4, 2).to(X.dtype)(X)][2]"
#       dense_stage: "[torch.manual_seed(0), X := normal(2, 8, 6, 6), dense_stage(8, 16).to(X.dtype)(X)][2]"
#     main: eq-modern-stage
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # From LeNet to a residual network: what each idea brings
#
# Suppose that a thousand handwritten digits are all you have to train on. Then softmax regression gets about 87 of 100 new
# digits right, and LeNet 95. After LeNet came VGG, ResNet and others, and each brought new
# ideas. What does each idea bring, and what does it cost?
#
# - **You need** [LeNet](lenet.ipynb), [receptive fields](padding_and_stride.ipynb), [channels](channels.ipynb),
#   [pooling](pooling.ipynb), [batch normalization](batch_normalization.ipynb) and
#   [residual networks](residual_networks.ipynb).
# - **You build** small versions of VGG, ResNet, GoogLeNet and DenseNet, and compare them with LeNet.
# - **Runs in** 25 seconds. The networks are trained in float32.

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
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from nbutils import data, weights
from nbutils.cases import integers, lists
from nbutils.checks import below, between, grade, verify
from nbutils.figures import GREY, panels, show_image

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the tensors are small: a second thread would mostly wait
plt.style.use('nbutils.book')

# %% [markdown]
# ## Step by step: what does each idea bring?
#
# We have 5,000 digits of MNIST, with 28 × 28 pixels. The networks are trained on 1,000 of them. The next 1,000 serve to choose the
# learning rate, and the other 3,000 are for the test. Each network was trained from three random starts. This takes minutes, so it was
# done once, and the answers are stored. What does each idea bring, in points? One point is one more right digit of 100:

# %% tags=["hide-input"]
digits = data.mnist('all')
X = torch.tensor(digits.x).float().reshape(-1, 1, 28, 28)
y = torch.tensor(digits.y)
X_test, y_test = X[2000:], y[2000:]
print(f'{len(X)} digits: {len(X[:1000])} to train, {len(X_test)} to test')

found = weights.runs('digit_networks', X)       # by name, seed, rate
right = {run: kept.answers == y[1000:] for run, kept in found.items()}

def hits(name):                                 # (3 seeds, 3000 digits)
    return torch.stack([right[name, seed, 0.01][1000:] for seed in range(3)]).double()

def points(d):                                  # the mean and two standard errors
    seeds = d.mean(1).std() / len(d) ** 0.5
    test = d.mean(0).std() / d.shape[1] ** 0.5
    return 100 * d.mean().item(), 200 * (seeds**2 + test**2).item() ** 0.5

ideas = [('LeNet', 'convolutions', 'softmax'), ('VGG', '3 × 3 and stages', 'LeNet'),
         ('batch norm', 'batch normalization', 'VGG'), ('mean head', 'mean of each map', 'batch norm'),
         ('skips', 'skip connections', 'mean head'), ('deep', 'twice the depth', 'skips'),
         ('Inception', 'Inception blocks', 'mean head'), ('DenseNet', 'dense blocks', 'mean head'),
         ('LeNet, longer', '3 times the steps', 'LeNet'), ('LeNet, augmented', 'distorted copies', 'LeNet, longer'),
         ('deep, augmented', 'deeper than LeNet', 'LeNet, augmented'), ('deep', 'all but the copies', 'LeNet'),
         ('deep, augmented', 'all together', 'LeNet')]
gains = {(old, new): points(hits(new) - hits(old)) for new, _, old in ideas}

# %% mystnb={"image": {"alt": "Thirteen rows, each with a dot for the gain and a horizontal bar, and a line at 0. Convolutions lie near 8. Batch normalization, distorted copies and all together lie between 1 and 3, with bars right of the line, in blue. 3 × 3 and stages, Inception blocks and dense blocks lie left of the line, between −2 and −1, also in blue. The bars of the other six, in grey, cross the line."}} tags=["hide-input"]
fig, ax = panels(1, height=3.4)
ax.axvline(0, color=GREY, lw=1)
for row, (new, _, old) in enumerate(ideas):
    gain, error = gains[old, new]
    ax.errorbar(gain, row, xerr=error, fmt='o', ms=5, lw=1.4, color='C0' if abs(gain) > error else GREY)
ax.set(yticks=range(len(ideas)), xlim=(-4, 10))
ax.set_xlabel('gain, in points', fontsize=12)
ax.set_yticklabels([idea for _, idea, _ in ideas], fontsize=12)
ax.tick_params(labelsize=12)
ax.invert_yaxis()

# %% [markdown] tags=["caption"]
# What each idea brings to a network, with two standard errors. Blue gains and losses are larger than these errors, grey ones are not.

# %% [markdown]
# The table adds the name of the network with the new idea, how many of 100 test digits it gets right, and the network with which it is compared.
# A gain or a loss **counts** if it is larger than its two standard errors:

# %% tags=["hide-input"]
print(f'{"network":17}{"what is new":20}{"right":8}{"gain":15}over')
print(f'{"softmax":37}{points(hits("softmax"))[0]:.2f}')
for new, idea, old in ideas:
    print(f'{new:17}{idea:20}{points(hits(new))[0]:.2f}', '  {:+.2f} ± {:.2f}   {}'.format(*gains[old, new], old))

# %% [markdown]
# On these digits, seven of the thirteen gains and losses count:
#
# - **LeNet** brings the most, 8 points over softmax regression. It has convolutions and also hidden dense layers, but it
#   [gets more right than an MLP, too](lenet.ipynb).
# - **VGG** brings a loss. It differs from LeNet in its kernels, depth, channels and head. The table does not show
#   which of them is to blame.
# - **Batch normalization** makes up for this loss.
# - The **mean head** (global average pooling), **skip connections** and **depth** bring nothing that counts. But the mean head leaves the network
#   only a twelfth of its parameters.
# - **Inception** and **DenseNet** lose about one point against the network with the mean head, but they need fewer parameters. Among
#   thirteen comparisons, a loss that is only just larger than its errors, as that of Inception, may be chance.
# - **Augmentation** brings 1.4 points for LeNet. Three times as many steps alone bring nothing that counts.
# - **All together** bring 2.2 points over LeNet, in the deep network with augmentation. Without augmentation, the deep network brings nothing that counts.

# %% tags=["checks"]
def measured(old, new):  # the sign of a gain that is larger than two standard errors, else 0
    gain, error = gains[old, new]
    return (abs(gain) > error) * (1 if gain > 0 else -1)

ups = [('softmax', 'LeNet'), ('VGG', 'batch norm'), ('LeNet, longer', 'LeNet, augmented'), ('LeNet', 'deep, augmented')]
downs = [('LeNet', 'VGG'), ('mean head', 'Inception'), ('mean head', 'DenseNet')]
verify(
    'four steps up and three steps down, to VGG, Inception and DenseNet, are larger than two standard errors, and no others',
    lambda step: measured(*step) == (step in ups) - (step in downs),
    slip=('takes VGG for a step up', lambda step: measured(*step) == (step in [*ups, downs[0]]) - (step in downs[1:])),
    step=list(gains),
)

# %% [markdown]
# ## From LeNet to VGG: a network with stages
#
# How is each of these networks made? The first two are softmax regression and [LeNet](lenet.ipynb) with ReLU and max pooling:

# %%
def softmax_regression():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 10))

def dense_head(n):
    return [nn.Flatten(), nn.Linear(n, 120), nn.ReLU(),
            nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)]

def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        *dense_head(16 * 5 * 5))

# %% [markdown]
# VGG {cite}`simonyan2015very` made two decisions that shaped many later networks. First, its convolutions are 3 × 3. Two of them in a row see 5 × 5 pixels,
# as one convolution of 5 × 5 does. If all have $c$ channels, the two have $2 \cdot 9\,c^2 = 18c^2$ weights, and the one has $25c^2$.
# Second, its layers are grouped into **stages**. In our networks, each stage begins by halving the sides and doubling the channels.
#
# What does a 3 × 3 convolution from $c$ to $c$ channels cost, if its output has $m \times m$ pixels? Each of its $9c^2$ weights is used once at each
# pixel, in a multiplication and an addition. So it takes this number of operations (**FLOPs**):
#
# ```{math}
# :label: eq-modern-stage
# F(c, m) = 2 \cdot 9\, c^2 m^2 = F\left(2c, \frac{m}{2}\right) .
# ```

# %%
def operations(c, m):
    return 2 * 9 * c**2 * m**2

print(operations(8, 28), operations(16, 14), operations(32, 7))

# %% [markdown]
# So such a layer takes the same number of operations in each stage, but it has four times the weights of the stage before. We build a small
# VGG with the sides 28, 14 and 7 and the channels 8, 16 and 32. Like most convolutional networks, it has three parts. The **stem**,
# its first layer, reads the picture. The **body** consists of the stages. The **head** computes the ten scores from what
# the last stage gives. Our head is that of LeNet:

# %%
def vgg_stage(c_i, c_o):                        # (B, c_i, m, m)
    return nn.Sequential(
        nn.MaxPool2d(2),                        # (B, c_i, m/2, m/2)
        nn.Conv2d(c_i, c_o, 3, padding=1), nn.ReLU(),
        nn.Conv2d(c_o, c_o, 3, padding=1), nn.ReLU())

def vgg():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(),      # stem
        vgg_stage(8, 16), vgg_stage(16, 32),           # body
        *dense_head(32 * 7 * 7))                       # head

# %%
h = X[:1]
for part in vgg().float():
    h = part(h)
    if not isinstance(part, nn.ReLU):
        print(f'{type(part).__name__:10}', *h.shape[1:])

# %% mystnb={"image": {"alt": "Three rows of boxes joined by arrows, with the shape of the numbers above each arrow. Softmax regression: 1×28×28, box flatten, 784, box dense, 10. LeNet: 1×28×28, box conv 5×5 and pool, 6×14×14, box conv 5×5 and pool, 16×5×5, box dense head, 10. VGG: 1×28×28, box stem, 8×28×28, box stage, 16×14×14, box stage, 32×7×7, box dense head, 10. Stem and head have other colours than the stages."}} tags=["hide-input"]
def draw(rows):
    fig, ax = panels(1, height=1.05 * len(rows))
    for k, (name, shapes, boxes) in enumerate(rows):
        middle, at = -3.6 * k, 0.0
        ax.text(0, middle + 1.95, name, fontsize=12)
        for shape, words in zip(shapes, [*boxes, ''], strict=True):
            ax.annotate('', (at + 1.75, middle), (at, middle), arrowprops={'arrowstyle': '->', 'color': GREY})
            ax.text(at + 0.87, middle + 1, shape, ha='center', fontsize=12)
            at += 1.75
            if words:
                colour = 'C1' if 'head' in words or 'dense' in words else 'C2' if 'stem' in words else 'C0'
                for face, alpha in (colour, 0.2), ('none', 1):
                    ax.add_patch(plt.Rectangle((at, middle - 0.85), 3.05, 1.7, fc=face, ec=colour, alpha=alpha))
                ax.text(at + 1.52, middle, words, ha='center', va='center', fontsize=11.3)
                at += 3.05
    ax.set(xlim=(-0.3, 21), ylim=(-3.6 * len(rows) + 2.6, 2.7))
    ax.axis('off')

draw([
    ('softmax regression', ['1×28×28', '784', '10'], ['flatten', 'dense']),
    ('LeNet', ['1×28×28', '6×14×14', '16×5×5', '10'], ['conv 5×5\npool', 'conv 5×5\npool', 'dense\nhead']),
    ('VGG', ['1×28×28', '8×28×28', '16×14×14', '32×7×7', '10'],
     ['stem\nconv 3×3', 'stage', 'stage', 'dense\nhead'])])

# %% [markdown] tags=["caption"]
# The first three networks, with the shape for one digit above each arrow.

# %% [markdown]
# ```{exercise} ★★ Pencil: how much of the digit does one number see?
# :label: modern-receptive
# How many pixels of the digit, in a row, does one number of the last $7 \times 7$ maps of `vgg` see? And how many does it see if each of the
# two stages has four convolutions in place of two? Use the formula of LeNet's page: $m$ places in a row see $s(m - 1) + k$ places of the layer before.
# ```
#
# ```{solution-start} modern-receptive
# :class: dropdown
# ```
# We go backwards from one number. The two convolutions of the last stage see 3 and 5 places in a row, and its pooling $2(5 - 1) + 2 = 10$. The
# two convolutions of the stage before see 12 and 14 places, and its pooling $2(14 - 1) + 2 = 28$. The stem adds 2, which gives **30** pixels. That is more
# than the 28 pixels of the picture. But neighbours look at windows that lie 4 pixels apart, so only the number in the middle of the 7 × 7 sees the whole
# picture, and one pixel beyond each edge, where only zeros are. The others look further beyond an edge, and miss pixels on the other side.
# With four convolutions, the last stage sees 9 places and its pooling 18. The convolutions
# of the stage before see 26, its pooling 52, and the stem **54**. Here we let PyTorch find the pixels that have an influence, in a larger picture:

# %% jupyter={"source_hidden": true}
def seen(convolutions):
    kernel, pooled = torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2)
    picture = torch.zeros(1, 1, 120, 120, requires_grad=True)
    h = F.conv2d(picture, kernel, padding=1)
    for _ in range(2):
        h = F.conv2d(h, pooled, stride=2)
        for _ in range(convolutions):
            h = F.conv2d(h, kernel, padding=1)
    h[0, 0, 15, 15].backward()
    return int((picture.grad[0, 0].abs().sum(0) > 0).sum())

print(seen(2), seen(4))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def counted(c, m):
    with FlopCounterMode(display=False) as counter, torch.device('meta'):
        nn.Conv2d(c, c, 3, padding=1)(torch.zeros(1, c, m, m))
    return counter.get_total_flops()

verify(
    'the operations of a 3 × 3 convolution are those that PyTorch counts, and the same in the next stage',
    lambda c, m: counted(c, 2 * m) == operations(c, 2 * m) == counted(2 * c, m),
    slip=('doubles the channels of a picture of the same side', lambda c, m: counted(c, 2 * m) == counted(2 * c, 2 * m)),
    c=integers(1, 6), m=integers(1, 9), tries=30,
)

# %% [markdown]
# ## Batch normalization, global average pooling and skip connections
#
# ### Batch normalization in each convolution
#
# We put a [batch normalization](batch_normalization.ipynb) behind each convolution. The convolutions no longer need a bias, because the
# normalization would subtract it again:

# %%
def conv_norm(c_i, c_o, k=3, s=1):
    return [nn.Conv2d(c_i, c_o, k, s, k // 2, bias=False),
            nn.BatchNorm2d(c_o)]

def conv_relu(*sizes):
    return [*conv_norm(*sizes), nn.ReLU()]

def plain(c_i, c_o):
    halve = [nn.MaxPool2d(2)] if c_i < c_o else []
    return nn.Sequential(
        *halve, *conv_relu(c_i, c_o), *conv_relu(c_o, c_o))

# %% [markdown]
# This is a **block**. It halves the sides only if it ends with more channels than it gets. So a stage can have any number $n$ of blocks, and only
# the first one halves. From now on, a network is described by the kind of its blocks, the number $n$ and the head:

# %%
def stage(block, c_i, c_o, n):                  # n blocks
    return [block(c_i, c_o), *[block(c_o, c_o) for _ in range(n - 1)]]

def staged(block, n, head):
    return nn.Sequential(
        *conv_relu(1, 8),                                     # stem
        *stage(block, 8, 16, n), *stage(block, 16, 32, n),    # body
        *head)

def with_norm():
    return staged(plain, 1, dense_head(32 * 7 * 7))

# %% [markdown]
# ### Global average pooling in place of the dense head
#
# The first layer of the dense head has its own weights for each place. Network in Network {cite}`lin2014network` replaced such layers by [global average pooling](pooling.ipynb),
# which keeps one number of each map, its mean over all places. The mean does not depend on the place at which something was found. One dense layer then computes
# the ten scores from the means of our 32 maps:

# %%
def mean_head(c):
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, 10)]

def with_mean():
    return staged(plain, 1, mean_head(32))

# %%
def parameters(net):
    return sum(p.numel() for p in net.parameters())

for name, head in ('dense', dense_head(32 * 7 * 7)), ('mean', mean_head(32)):
    print(f'{name:5} head {parameters(nn.Sequential(*head)):7,} parameters')

# %% mystnb={"image": {"alt": "Two rows of boxes joined by arrows, alike up to their last box: 1×28×28, box stem, 8×28×28, box stage, 16×14×14, box stage, 32×7×7. Above follow the box dense head and 10, below the box mean head and 10."}} tags=["hide-input"]
shapes = ['1×28×28', '8×28×28', '16×14×14', '32×7×7', '10']
draw([(name, shapes, ['stem\nconv 3×3', 'stage', 'stage', f'{head}\nhead'])
      for name, head in (('with batch normalization', 'dense'), ('and with the mean head', 'mean'))])

# %% [markdown] tags=["caption"]
# The same stem and body with two heads. The dense head gets all 32 × 7 × 7 numbers of the last maps, the mean head makes 32 means of them.

# %% [markdown]
# ### Skip connections, also where the shape changes
#
# A [residual block](residual_networks.ipynb) adds its input to what its layers compute. In the first block of a stage, input and output have different
# shapes. So there the skip connection is a 1 × 1 convolution with stride 2:

# %%
class Residual(nn.Module):
    def __init__(self, c_i, c_o):
        super().__init__()
        self.f = plain(c_i, c_o)[:-1]           # without the last ReLU
        change = conv_norm(c_i, c_o, k=1, s=2) if c_i < c_o else []
        self.skip = nn.Sequential(*change)      # without layers: a copy

    def forward(self, x):                       # even sides
        return (self.skip(x) + self.f(x)).relu()

def with_skips():
    return staged(Residual, 1, mean_head(32))

# %%
block = Residual(8, 16)
h = torch.zeros(1, 8, 28, 28)
for name, part in ('skip', block.skip), ('f', block.f), ('block', block):
    print(f'{name:5}', *h.shape[1:], '->', *part(h).shape[1:])

# %% mystnb={"image": {"alt": "Two ways lead from the shape 8×28×28 to a plus sign: one through the boxes pool, conv 3×3 from 8 to 16 channels and conv 3×3 from 16 to 16 channels, the other, over them, through the box conv 1×1 with stride 2 from 8 to 16 channels. Behind the plus sign stand the ReLU and the shape 16×14×14."}} tags=["hide-input"]
fig, ax = panels(1, height=2.1)
arrow = {'arrowstyle': '->', 'color': GREY}
ax.text(1.1, 0, '8×28×28', ha='center', va='center', fontsize=11.3)
for left, width, words in (3.3, 1.9, 'pool'), (6, 2.9, 'conv 3×3\n8 → 16'), (9.7, 2.9, 'conv 3×3\n16 → 16'):
    ax.annotate('', (left, 0), (left - 0.9, 0), arrowprops=arrow)
    for face, alpha in ('C0', 0.2), ('none', 1):
        ax.add_patch(plt.Rectangle((left, -0.85), width, 1.7, fc=face, ec='C0', alpha=alpha))
    ax.text(left + width / 2, 0, words, ha='center', va='center', fontsize=11.3)
ax.annotate('', (13.5, 0), (12.6, 0), arrowprops=arrow)
ax.text(13.9, 0, '+', ha='center', va='center', fontsize=12, bbox={'boxstyle': 'circle,pad=0.15', 'fc': 'none', 'ec': 'C1'})
ax.annotate('', (16.6, 0), (14.4, 0), arrowprops=arrow)
ax.text(15.4, 0.2, 'ReLU', ha='center', fontsize=11.3)
ax.text(18.1, 0, '16×14×14', ha='center', va='center', fontsize=11.3)
ax.plot([2.8, 2.8, 3.7], [0, 2, 2], color='C1')
for face, alpha in ('C1', 0.2), ('none', 1):
    ax.add_patch(plt.Rectangle((3.7, 1.35), 9.1, 1.3, fc=face, ec='C1', alpha=alpha))
ax.text(8.25, 2, 'conv 1×1, stride 2, 8 → 16', ha='center', va='center', fontsize=11.3)
ax.plot([12.8, 13.9], [2, 2], color='C1')
ax.annotate('', (13.9, 0.5), (13.9, 2.05), arrowprops={'arrowstyle': '->', 'color': 'C1'})
ax.set(xlim=(-0.3, 19.8), ylim=(-1, 2.8))
ax.axis('off');

# %% [markdown] tags=["caption"]
# The first block of a stage with its skip connection. Not drawn are the batch
# normalization behind each convolution and the ReLU between the two 3 × 3 convolutions.

# %% [markdown]
# He et al. {cite}`he2016deep` halve the sides by the stride of the first 3 × 3 convolution. We keep the pooling, so that only the skip connections are new.
# From 50 layers on, their blocks are **bottlenecks**: a 1 × 1 convolution to few channels, a 3 × 3 convolution,
# and a 1 × 1 convolution back to many.
#
# ### More depth
#
# With two blocks in each stage, the body has eight 3 × 3 convolutions in a row instead of four:

# %%
def deep():
    return staged(Residual, 2, mean_head(32))

# %% [markdown]
# ### Inception and DenseNet: concatenate in place of add
#
# GoogLeNet {cite}`szegedy2015going` is made of **Inception** blocks. Patterns have different sizes, so such a block looks at its input through windows
# of several sizes side by side, and joins the channels of all branches. Before the larger windows, 1 × 1 convolutions
# reduce the channels, which saves operations. The branches give a quarter, a half, an eighth and an eighth of the channels, as in the first block of GoogLeNet.
# Each of our stages gets two blocks:

# %%
class Inception(nn.Module):
    def __init__(self, c_i, c_o):
        super().__init__()
        self.halve = nn.MaxPool2d(2 if c_i < c_o else 1)  # 1: a copy
        a, b = c_o // 4, c_o // 8
        self.branches = nn.ModuleList([
            nn.Sequential(*conv_relu(c_i, a, 1)),
            nn.Sequential(*conv_relu(c_i, a, 1), *conv_relu(a, 2 * a)),
            nn.Sequential(*conv_relu(c_i, b, 1), *conv_relu(b, b, 5)),
            nn.Sequential(nn.MaxPool2d(3, 1, 1),
                          *conv_relu(c_i, b, 1))])

    def forward(self, x):
        x = self.halve(x)
        return torch.cat([branch(x) for branch in self.branches], 1)

def inception():
    return staged(Inception, 2, mean_head(32))

# %% [markdown]
# In a **DenseNet** {cite}`huang2017densely`, each layer of a block gets the outputs of all layers before it. A residual block *adds* its
# input to its output, a dense block *concatenates* the two. So later layers can still use each earlier output as it was. Each layer gives the same number of new channels, the **growth**:

# %%
class DenseBlock(nn.Module):
    def __init__(self, c, growth, n):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.BatchNorm2d(c_i), nn.ReLU(),
                nn.Conv2d(c_i, growth, 3, padding=1, bias=False))
            for c_i in range(c, c + n * growth, growth))

    def forward(self, x):
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        return x

# %% [markdown]
# Four layers with a growth of $c_o/4$ add $c_o$ channels to the $c_i$ of the input. So a **transition layer** follows, a 1 × 1 convolution to
# $c_o$ channels. In the original, it also halves the sides:

# %%
def dense_stage(c_i, c_o):
    return nn.Sequential(
        nn.MaxPool2d(2),
        DenseBlock(c_i, c_o // 4, 4),           # c_i + c_o channels
        *conv_relu(c_i + c_o, c_o, 1))          # transition

def densenet():
    return staged(dense_stage, 1, mean_head(32))

# %% mystnb={"image": {"alt": "Three horizontal bars whose length is the number of output channels. Residual block: 32 channels, each a sum of skip and f. Inception: 32 channels in four pieces, 8 of the 1×1 branch, 16 of the 3×3 branch, 4 of the 5×5 branch, 4 of the pooling branch. Dense block: 48 channels, 16 of the input and four pieces of 8, one for each layer."}} tags=["hide-input"]
fig, ax = panels(1, height=2.3)
bars = [('residual block', [('skip + $f$', 32, 'C0')]),
        ('Inception', [('1×1', 8, 'C1'), ('3×3', 16, 'C1'), ('5×5', 4, 'C1'), ('pool', 4, 'C1')]),
        ('dense block, before its transition', [('input', 16, 'C0'), *[(f'$f_{k}$', 8, 'C1') for k in range(1, 5)]])]
for row, (name, pieces) in enumerate(bars):
    at = 0
    ax.text(0, 0.52 - 1.4 * row, name, fontsize=12)
    for words, channels, colour in pieces:
        for face, alpha in (colour, 0.2), ('none', 1):
            ax.add_patch(plt.Rectangle((at, -0.4 - 1.4 * row), channels, 0.8, fc=face, ec=colour, alpha=alpha))
        ax.text(at + channels / 2, -1.4 * row, words, ha='center', va='center', fontsize=12 if channels > 4 else 10.5)
        at += channels
    ax.text(at + 1, -1.4 * row, f'{at} channels', va='center', fontsize=12)
ax.set(xlim=(-0.5, 63), ylim=(-3.4, 1.1))
ax.axis('off');

# %% [markdown] tags=["caption"]
# Where the output channels of three blocks come from, if a stage begins with 16 channels and ends with 32: they are a sum, or stand side by side.

# %% tags=["checks"]
def joined(c, growth, n, claimed):
    return DenseBlock(c, growth, n)(torch.zeros(2, c, 3, 3)).shape == (2, claimed, 3, 3)

verify(
    'a dense block adds its growth once for each layer, and keeps the places',
    lambda c, growth, n: joined(c, growth, n, c + n * growth),
    slip=('counts the input again for each layer', lambda c, growth, n: joined(c, growth, n, n * (c + growth))),
    c=integers(1, 5), growth=integers(1, 4), n=integers(1, 4), tries=20,
)
verify(
    'an Inception block gives the channels of its four branches side by side, whatever it gets',
    lambda c, k: Inception(c, 8 * k)(torch.zeros(2, c, 6, 6)).shape[1] == 2 * k + 4 * k + k + k,
    slip=('adds the branches', lambda c, k: Inception(c, 8 * k)(torch.zeros(2, c, 6, 6)).shape[1] == 4 * k),
    c=integers(1, 6), k=integers(1, 3), tries=10,
)

# %% [markdown]
# ### Augmentation: new digits from old ones
#
# A digit stays the same digit if it is moved, turned, slanted or stretched a little. So each time a digit is used, we draw a random matrix
# and show the network a distorted copy. The first two columns of the matrix are the identity plus random numbers.
# They turn, slant and stretch the digit, and the third column moves it:

# %%
def distorted(x, generator):                    # (B, 1, 28, 28)
    most = torch.tensor([[0.15, 0.25, 0.14], [0.25, 0.15, 0.14]])
    r = torch.rand(len(x), 2, 3, generator=generator)
    A = torch.eye(2, 3) + most * (2 * r - 1)
    places = F.affine_grid(A.to(x), x.shape, align_corners=False)
    return F.grid_sample(x, places, align_corners=False)

# %% mystnb={"image": {"alt": "Two rows of seven pictures. Above a handwritten 2 and six copies of it, below a 5 and six copies. The copies are a little narrower or wider, more or less slanted, and moved by a few pixels; all are clearly a 2 or a 5."}} tags=["hide-input"]
fig, axes = panels(7, 2, height=0.95)
g = torch.Generator().manual_seed(0)
for row, digit in zip(axes, X[[2, 5]], strict=True):
    show_image(row[0], digit[0], cmap='Greys')
    for ax, copy in zip(row[1:], distorted(digit.expand(6, 1, 28, 28), g), strict=True):
        show_image(ax, copy[0], cmap='Greys')
axes[0, 0].set_title('digit', fontsize=10)
axes[0, 1].set_title('copies', fontsize=10)
for ax in axes.flat:
    ax.spines[:].set_visible(True)
    ax.spines[:].set_color(GREY)

# %% [markdown] tags=["caption"]
# Two digits for training and six distorted copies of each. All copies can still be read easily.

# %% [markdown]
# ```{exercise} ★★ Program: count the parameters of a network of stages
# :label: modern-count
# The list `c` has the number of channels of the stem and of each stage, such as `[8, 16, 32]`. No number is smaller than the one before it. The network is built like
# `staged(Residual, n, mean_head(c[-1]))`, with `n` blocks in each stage. Write
# `count(c, n)`, the number of its parameters, without building a layer. A batch normalization has two for each channel.
# ```

# %%
def count(c, n):
    """How many parameters the network has, an int.

    c is a list of whole numbers from 1 on, n a whole number from 1 on.
    count([8, 16, 32], 1) is 18626, and count([2], 1) is 52.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def built(c, n):
    layers = [*conv_norm(1, c[0])]
    for c_i, c_o in zip(c, c[1:], strict=False):
        layers += stage(Residual, c_i, c_o, n)
    return sum(p.numel() for p in nn.Sequential(*layers, *mean_head(c[-1])).parameters())

sizes = dict(c=lists(integers(1, 6), 1, 4).map(sorted), n=integers(1, 3))
no_layers = ['torch.nn.Module.__init__']        # that of all layers
grade(count, built, [([8, 16, 32], 2), ([3, 3], 1)], without=no_layers, **sizes)

# %% [markdown]
# ```{solution-start} modern-count
# :class: dropdown
# ```
# A 3 × 3 convolution from $c_i$ to $c_o$ channels and its normalization have $9 c_i c_o + 2 c_o$ parameters. The 1 × 1 convolution stands only in the
# first block of a stage, and only if the number of channels grows. Wrong answers forget it, give it to each stage, or forget the normalizations.

# %% jupyter={"source_hidden": true}
def pair(c_i, c_o, k):                          # convolution and normalization
    return k * k * c_i * c_o + 2 * c_o

def count_solution(c, n):
    total = pair(1, c[0], 3) + 10 * c[-1] + 10
    for c_i, c_o in zip(c, c[1:], strict=False):
        total += pair(c_i, c_o, 3) + (2 * n - 1) * pair(c_o, c_o, 3)
        if c_i < c_o:
            total += pair(c_i, c_o, 1)
    return total

def without_skips(c, n):
    grows = [one for one in zip(c, c[1:], strict=False) if one[0] < one[1]]
    return count_solution(c, n) - sum(pair(*one, 1) for one in grows)

def skips_everywhere(c, n):
    return without_skips(c, n) + sum(pair(c_i, c_o, 1) for c_i, c_o in zip(c, c[1:], strict=False))

def without_norms(c, n):
    norms = 2 * c[0] + sum(4 * n * c_o + 2 * c_o * (c_i < c_o) for c_i, c_o in zip(c, c[1:], strict=False))
    return count_solution(c, n) - norms

assert grade(count_solution, built, [([8, 16, 32], 2), ([3, 3], 1)], without=no_layers, **sizes)
assert not grade(without_skips, built, **sizes)
assert not grade(skips_everywhere, built, **sizes)
assert not grade(without_norms, built, **sizes)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# (training-all-networks-which-idea-brings-what)=
# ## Training all networks, and what each costs
#
# These are all networks of the table, and `read` gives the class of each picture:

# %%
networks = {
    'softmax': softmax_regression, 'LeNet': lenet, 'VGG': vgg,
    'batch norm': with_norm, 'mean head': with_mean,
    'skips': with_skips, 'Inception': inception, 'DenseNet': densenet,
    'deep': deep, 'LeNet, longer': lenet, 'LeNet, augmented': lenet,
    'deep, augmented': deep}

# %%
@torch.no_grad()
def read(net, x):                               # (B,) classes
    return torch.cat([net(part).argmax(1) for part in x.split(500)])

# %% [markdown]
# All are trained with Adam and batches of 25 digits, for 400 steps. The learning rate rises for
# 100 steps and then falls to zero. With augmentation, each step sees new copies, so we take 1,200 steps. For comparison,
# "LeNet, longer" gets 1,200 steps without it. The function `training` collects all this:

# %%
def training(name, seed, rate, size=25):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = networks[name]().float()
    steps = 1200 if ',' in name else 400

    def loss(generator):
        rows = torch.randint(1000, (size,), generator=generator)
        x = X[rows]
        if 'augmented' in name:
            x = distorted(x, generator)
        return F.cross_entropy(net(x), y[rows])

    def rise_and_fall(step):
        fall = (steps - step) / (steps - 100)
        return rate * min((step + 1) / 100, fall)

    return weights.Training(
        net, torch.optim.Adam(net.parameters()),
        torch.Generator().manual_seed(seed), loss, X, steps,
        rise_and_fall, answers=lambda net: read(net, X[1000:]).byte())

# %% [markdown]
# Which learning rate? Each of the first eight networks was trained with three rates. We count how many of the 1,000 validation digits it
# gets right, and add up each column. All networks get the rate with the largest sum:

# %%
rates = torch.tensor([0.003, 0.01, 0.03])
counts = torch.tensor([[right[name, 0, rate][:1000].sum()
                        for rate in rates.tolist()]
                       for name in list(networks)[:8]])   # (8, 3)
best = rates[counts.sum(0).argmax()].item()
print('rate      ', *[f'{rate:6}' for rate in rates.tolist()])
for name, row in zip(networks, counts.tolist(), strict=False):
    print(f'{name:10}', *[f'{count:6}' for count in row])
print('best rate ', best)

# %% [markdown]
# For no network is another rate better by more than five digits. Each count is of one run, so small differences say little.
#
# Do the stored answers come from the code above? We repeat the first ten steps of each network, and `weights.retrace` compares
# their losses with the stored ones. For comparison, we do the same with a wrong seed:

# %%
def apart(name, seed):
    kept = found[name, 0, best]
    return weights.retrace(training(name, seed, best), kept)

gaps = [apart(name, 0) for name in networks]
print('largest difference of a loss:', below(max(gaps), 0.003))
print('the same with another seed:', between(apart('deep', 1), 0.1, 1))

# %% [markdown]
# The losses agree. For the exercise below, we train three of the networks to the end. Another computer rounds differently, and the training
# enlarges such differences. So a few of their answers may differ from the stored ones, but they get about as many digits right:

# %% tags=["hide-input"]
trained = {}
for name in 'LeNet', 'batch norm', 'mean head':
    task = training(name, 0, best)
    weights.advance(task, 0, task.steps)
    trained[name] = task.model
    here = (read(trained[name], X_test) == y_test).double().mean()
    print(f'{name:10} right here {here:.2f}, stored {hits(name)[0].mean():.2f}')

# %% [markdown]
# ### The table: parameters, FLOPs and accuracy
#
# The FLOPs are the operations of convolutions and dense layers for one digit. The
# training loss is the mean over the last 50 steps, and with augmentation that of distorted copies:

# %%
def cost(name):
    net = networks[name]().float()
    with FlopCounterMode(display=False) as counter:
        net(X[:1])
    return parameters(net), counter.get_total_flops()

# %%
print(f'{"parameters":>27}      FLOPs    loss  accuracy in %')
for name in networks:
    loss = [found[name, k, best].curve[-50:].mean() for k in range(3)]
    print('{:17}{:10,}{:11,}'.format(name, *cost(name)),
          f'{sum(loss) / 3:8.4f}  ', '{:.2f} ± {:.2f}'.format(
              *points(hits(name))))

# %% [markdown]
# The training loss of VGG is three times that of LeNet. Batch normalization brings it down to a third. After 1,200 steps, LeNet
# has nearly no training loss left, but its gain in test digits is too small to count. Inception needs a third of the
# parameters and FLOPs of the network with the mean head, and DenseNet seven tenths. But both end with more than twice its training loss.
#
# The errors behind ± come from the random starts and from the choice of test digits. Each of the two
# has a standard error, and we take twice the root of the sum of their squares. With only three starts, this is
# a rough estimate. For a gain, we first subtract the two networks for each seed and each digit.
#
# ### Which network should you take?
#
# In the first table, augmentation brings LeNet a gain that counts. The deep network without augmentation brings none, and with
# augmentation too little more than LeNet to be measured. So before you build a deeper network, try augmentation with the one that you have.
#
# All this holds for small grey digits and short trainings. Skip connections were invented for much deeper networks, and a plain
# network of 16 layers [trains far worse](residual_networks.ipynb) than a residual one. On a million
# photographs, AlexNet {cite}`krizhevsky2012imagenet`, a much larger LeNet with ReLU and dropout, made such networks known. Then
# VGG showed what depth brings there, and ResNet what skip connections bring {cite}`simonyan2015very,he2016deep`.
#
# For pictures of your own, you will rarely start from random weights. A common beginning is a ResNet that was trained on many
# photographs. You replace its head by one that gives a score for each of your classes:
#
# ```python
# import torchvision
#
# net = torchvision.models.resnet18(weights='DEFAULT')
# net.fc = nn.Linear(net.fc.in_features, 10)
# ```
#
# Then you train with augmentation, and let validation pictures decide whether a larger network is worth its cost.

# %% tags=["checks"]
verify(
    'behind the mean head there is less than a tenth of the parameters of the dense head, with the same body',
    lambda small, large: cost(small)[0] < cost(large)[0] / 10 and cost(small)[1] > 0.8 * cost(large)[1],
    slip=('says so of LeNet', lambda small, large: cost('LeNet')[0] < cost(large)[0] / 10),
    small=['mean head'], large=['batch norm'],
)
verify(
    'the stored losses are those of the code above: the first steps of each network meet them',
    lambda name: apart(name, 0) < 0.003,
    slip=('takes another seed', lambda name: apart(name, 1) < 0.003),
    name=['LeNet', 'deep, augmented'],
)

# %% [markdown]
# ```{exercise} ★★ Experiment: digits that are moved
# :label: modern-moved
# Move each test digit by four pixels to the right, with `X_test.roll(4, 3)`. What share of them does LeNet get right, and what share does the network
# with the mean head? Both are in `trained`. Predict the two shares, then try it with `read`, also for eight pixels.
# Then try `'batch norm'`, whose body has the same layers as that of `'mean head'`, and `X_test.roll(4, 2)`, four pixels down. What do you conclude?
# ```

# %%
def predicted():
    """Two shares in a list, for LeNet and for the mean head, within 0.1.

    [0.5, 0.5], for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
moved = {name: (read(trained[name], X_test.roll(4, 3)) == y_test).double().mean().item() for name in ('LeNet', 'mean head')}

def is_measured(said):
    if len(said) != 2:
        raise ValueError('give two numbers')
    for name, guess in zip(moved, said, strict=True):
        if not abs(guess - moved[name]) <= 0.1:
            raise ValueError(f'another share is measured for {name}; try it')
    return True

grade(lambda: is_measured(predicted()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} modern-moved
# :class: dropdown
# ```
# LeNet loses nearly half of the digits, and the network with the mean head hardly any. At eight pixels, LeNet gets
# hardly more right than guessing would, and the mean head still most of them.
#
# Is the head the reason? The body of `'batch norm'` has the same layers, and only its head is dense. At four pixels, it loses
# three or four digits of ten, and at eight pixels most of them. A dense head has
# a weight for each place, and at the new places it learned something else. The mean is taken over all places, so it changes less.
#
# It does change. Four pixels down, the mean head loses one digit of ten, and eight pixels down nearly three. Digits are taller than wide. So
# more of their ink leaves the picture below, and `roll` lets it come in again at the top.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured([0.52, 0.95]), lambda: True, [()])
assert not grade(lambda: is_measured([0.95, 0.96]), lambda: True, [()])
assert not grade(lambda: is_measured([0.52, 0.52]), lambda: True, [()])
assert not grade(lambda: is_measured([0.1, 0.1]), lambda: True, [()])
right_4, right_8, down_4, down_8 = (4, 3), (8, 3), (4, 2), (8, 2)
bounds = {('LeNet', right_4): (0.4, 0.65), ('batch norm', right_4): (0.52, 0.75), ('mean head', right_4): (0.9, 1),
          ('LeNet', right_8): (0.05, 0.2), ('batch norm', right_8): (0.05, 0.35), ('mean head', right_8): (0.8, 0.95),
          ('LeNet', down_4): (0.2, 0.4), ('mean head', down_4): (0.85, 0.95), ('mean head', down_8): (0.6, 0.8)}
for (name, (shift, axis)), (low, high) in bounds.items():
    share = (read(trained[name], X_test.roll(shift, axis)) == y_test).double().mean().item()
    where = 'down' if axis == 2 else 'right'
    print(f'{shift} pixels {where:5} {name:10}: a share', between(share, low, high))
for name, ink in ('right', X_test[..., -8:]), ('down', X_test[..., -8:, :]):
    print(f'8 pixels {name:5} roll {ink.sum() / X_test.sum():.3f} of the ink over the edge')

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Summary
#
# Many convolutional networks have a stem, a body of stages that halve the sides and double the channels, and a head. With a thousand digits to
# train on, LeNet gets more right than softmax regression, and augmentation raises this further. Batch normalization makes up for the loss
# of VGG, and the mean head saves most of its parameters. What skip connections and depth bring is too small to be measured here.
#
# **Further reading.** {cite:t}`simonyan2015very` try one depth after the other. {cite:t}`he2016deep` have tables like ours for photographs.
# {cite:t}`zhang2023dive`, chapter 8, trains each of these networks, and {cite:t}`lippe2024uvadlc`, tutorial 5, compares GoogLeNet, ResNet and DenseNet on
# small colour pictures.
