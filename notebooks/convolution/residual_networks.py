# ---
# jupyter:
#   book:
#     functions:
#       normalize: normalize(normal(2, 3, 4, 5))
#       residual: residual(normal(2, 3, 4, 5), normal(3, 3, 3, 3), normal(3, 3, 3, 3))
#       grouped: grouped(normal(2, 4, 5, 5), normal(6, 2, 3, 3), 2)
#     main: eq-residual
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Residual networks and ResNeXt
#
# A network of 16 convolutional layers can compute everything that one of 4 layers can, if the other 12 layers copy
# their input. But when we train both in the same way, the deep one may end with the larger error, even on the pictures that
# it is trained on. How can we make copying easy?
#
# - **You need** [channels](channels.ipynb), [pooling](pooling.ipynb), [batch normalization](batch_normalization.ipynb),
#   [Jacobians](../calculus/jacobians.ipynb), [singular values](../linear_algebra/singular_value_decomposition.ipynb),
#   [vanishing gradients](../neural_networks/vanishing_and_exploding_gradients.ipynb) and
#   [training in minibatches](../regression/minibatch_training.ipynb).
# - **You build** a residual block, a ResNet and a ResNeXt, and compare them with plain networks.
# - **Runs in** 25 seconds. All tensors are float64.

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
from scipy.optimize import brentq
from sklearn.linear_model import LogisticRegression
from torch import nn
from torch.nn.functional import conv1d, conv2d
from torch.utils.flop_counter import FlopCounterMode

from nbutils.cases import integers, matrices, seeds
from nbutils.checks import below, close, grade, verify
from nbutils.data import digits
from nbutils.device import best
from nbutils.figures import GREY, panels
from nbutils.training import batches, fit

plt.style.use('nbutils.book')
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the tensors are small: a second thread would mostly wait

# %% [markdown]
# ## The residual block: y = x + f(x)
#
# Let $f$ be a few layers whose output has the shape of their input. A plain block of a network computes $f(\mathbf{x})$. A
# **residual block** {cite}`he2016deep` adds the input:
#
# ```{math}
# :label: eq-residual
# \mathbf{y} = \mathbf{x} + f(\mathbf{x}) .
# ```

# %%
class Residual(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.f = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.f(x)

# %% mystnb={"image": {"alt": "A row of boxes between the input x and the output y: normalization and ReLU, convolution from 8 to 8 channels, and both again. A second arrow, the skip connection, leads from x over the boxes to a circle with a plus sign before y. Both ways carry the shape B, 8, 4, 4."}} tags=["hide-input"]
def draw_block(boxes, inside):
    fig, ax = plt.subplots(figsize=(6, 2.2))
    left, width = 1.6, 7 / len(boxes) - 0.35
    arrow = {'arrowstyle': '->', 'color': GREY}
    ax.annotate('', (left, 1), (0.3, 1), arrowprops=arrow)
    for k, words in enumerate(boxes):
        ax.add_patch(plt.Rectangle((left, 0.45), width, 1.1, fc='C0', alpha=0.2, lw=0))
        ax.add_patch(plt.Rectangle((left, 0.45), width, 1.1, fc='none', ec='C0', lw=1))
        ax.text(left + width / 2, 1, words, ha='center', va='center', fontsize=9)
        end = 9.05 if k == len(boxes) - 1 else left + width + 0.35
        ax.annotate('', (end, 1), (left + width, 1), arrowprops=arrow)
        left += width + 0.35
    ax.annotate('', (10.7, 1), (9.55, 1), arrowprops=arrow)
    ax.plot([0.9, 0.9, 9.3, 9.3], [1, 2.3, 2.3, 1.3], color='C1')
    ax.annotate('', (9.3, 1.25), (9.3, 1.6), arrowprops={'arrowstyle': '->', 'color': 'C1'})
    ax.text(9.3, 1, '+', ha='center', va='center', fontsize=13, bbox={'boxstyle': 'circle', 'fc': 'none', 'ec': 'C1'})
    ax.text(5, 2.4, 'skip connection: $\\mathbf{x}$, shape (B, 8, 4, 4)', ha='center', color='C1', fontsize=9)
    ax.text(5, -0.05, inside, ha='center', color='C0', fontsize=9)
    ax.text(0.1, 1, '$\\mathbf{x}$', ha='center', va='center')
    ax.text(10.9, 1, '$\\mathbf{y}$', ha='center', va='center')
    ax.set(xlim=(-0.1, 11.1), ylim=(-0.25, 2.8))
    ax.axis('off')

draw_block(['normalize\nReLU', 'conv 3×3\n8 → 8'] * 2, '$f(\\mathbf{x})$, shape (B, 8, 4, 4)')

# %% [markdown] tags=["caption"]
# One residual block, for a batch of B pictures. The sum needs two terms of the same shape, so $f$ must return as many channels and pixels as it gets.

# %% [markdown]
# The way around $f$ is called the **skip connection** or shortcut. A residual block copies its input if $f$ is zero, for
# example because the weights of its last convolution are zero. A plain block with zero weights
# returns zeros. To copy, it needs special weights, which we shall see below.
# Our $f$ is two layers. Each has a normalization, a ReLU and a convolution:

# %%
def layer(c_i, c_o, k, groups=1):
    return nn.Sequential(
        nn.BatchNorm2d(c_i), nn.ReLU(),
        nn.Conv2d(c_i, c_o, k, padding=k // 2, groups=groups, bias=False))

def plain():
    return nn.Sequential(layer(8, 8, 3), layer(8, 8, 3))

def resnet():
    return Residual(layer(8, 8, 3), layer(8, 8, 3))

# %% [markdown]
# A network is a first
# convolution, $n$ blocks with two layers each, one more normalization and ReLU, the mean over squares of $2 \times 2$ pixels, and a linear layer:

# %%
def network(block, n):
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1, bias=False),
        *[block() for _ in range(n)],                   # (B, 8, 4, 4)
        nn.BatchNorm2d(8), nn.ReLU(), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(32, 10))

x, y, _ = digits()                                      # 8 x 8 pixels
x, y = torch.tensor(x).reshape(-1, 1, 8, 8), torch.tensor(y)

# %% mystnb={"image": {"alt": "From left to right, joined by arrows: a digit of 8 by 8 pixels, then boxes: convolution 3 by 3 with stride 2; n blocks; normalization, ReLU and mean; linear. Below the arrows stand the shapes 1 by 8 by 8, 8 by 4 by 4, again 8 by 4 by 4, 8 by 2 by 2, and 10 scores."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 1.7))
ax.imshow(x[0, 0], cmap='gray', extent=(0, 1.5, 0.25, 1.75))
boxes = 'conv 3×3\nstride 2', '$n$ blocks', 'normalize\nReLU, mean', 'linear'
shapes = '1×8×8', '8×4×4', '8×4×4', '8×2×2', '10'
for k, words in enumerate(boxes):
    left = 2.5 + 2.9 * k
    ax.add_patch(plt.Rectangle((left, 0.4), 2.1, 1.2, fc='C0' if k == 1 else 'none', alpha=0.2, lw=0))
    ax.add_patch(plt.Rectangle((left, 0.4), 2.1, 1.2, fc='none', ec='C0', lw=1))
    ax.text(left + 1.05, 1, words, ha='center', va='center', fontsize=9)
for k, words in enumerate(shapes):
    start = 1.65 + 2.9 * k
    ax.annotate('', (start + 0.85, 1), (start, 1), arrowprops={'arrowstyle': '->', 'color': GREY})
    ax.text(start + 0.45, -0.15, words, ha='center', va='center', fontsize=9)
ax.set(xlim=(-0.1, 14.4), ylim=(-0.5, 1.9), aspect='equal')
ax.axis('off');

# %% [markdown] tags=["caption"]
# The whole network, with the shapes for one digit. All its blocks keep the shape 8 × 4 × 4, so we can take any number of them.

# %% [markdown]
# We take 48 steps of Adam, one pass over 1,200 digits. The training loss is the mean over the last 10 steps. If there is a GPU, it is used:

# %%
device = best()                                         # a GPU, or the CPU

def trained(block, n, lr, seed, passes=1):
    torch.manual_seed(seed)
    model = network(block, n).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr, fused=True)
    g = torch.Generator().manual_seed(seed)
    dealt = batches(g, 25, x[:1200], y[:1200], epochs=passes)
    losses = fit(model, nn.CrossEntropyLoss(), optimizer, dealt)
    return model.cpu(), losses

# %% [markdown]
# We train plain and residual networks with 4 and with 16 layers in their blocks, each from three seeds. Here are the mean losses
# and two standard errors:

# %%
def losses(block, n, lr):
    return np.array([runs[block, n, lr, seed][1][-10:].mean().item()
                     for seed in range(3)])

def spread(three):
    return f'{three.mean():.3f} ± {2 * three.std(ddof=1) / 3**0.5:.4f}'

# %%
runs, depths = {}, (2, 8)
print('layers  plain           residual')
for n in depths:
    for block in (plain, resnet):
        for seed in range(3):
            runs[block, n, 1e-2, seed] = trained(block, n, 1e-2, seed)
    print(f'{2 * n:6}  {spread(losses(plain, n, 1e-2))}'
          f'  {spread(losses(resnet, n, 1e-2))}')

# %% [markdown]
# From 4 to 16 layers, the loss of the plain network becomes three times as large. That of the residual network rises from 0.467 to 0.616. This rise
# may be chance, because it is smaller than 0.216, which is two standard errors of the second loss. If we guess each digit with probability 1/10, the
# loss is $\ln 10 = 2.3$. The comparison is fair: with the same seed, a plain and a residual network of the same depth start from the same weights and
# see the same batches.

# %% [markdown]
# ### The block by hand
#
# Here is the same block without modules. At the start of the training, the scale and the shift of the normalization are 1 and 0:

# %%
def normalize(X):                                       # (B, c, h, w)
    mean = X.mean((0, 2, 3), keepdim=True)              # (1, c, 1, 1)
    variance = ((X - mean) ** 2).mean((0, 2, 3), keepdim=True)
    return (X - mean) / (variance + 1e-5).sqrt()

def residual(X, W_1, W_2):                              # W: (c, c, 3, 3)
    H = conv2d(normalize(X).relu(), W_1, padding=1)
    return X + conv2d(normalize(H).relu(), W_2, padding=1)

# %%
torch.manual_seed(0)
X = torch.randn(5, 8, 4, 4)
block = resnet()
ours = residual(X, block.f[0][2].weight, block.f[1][2].weight)
print('largest difference:', below((ours - block(X)).abs().max()))

# %% [markdown]
# ### When the shape changes: a strided 1 × 1 convolution
#
# If $f$ doubles the channels and halves the height and width, we can no longer add $\mathbf{x}$. Then the skip
# connection gets a [1 × 1 convolution](channels.ipynb) with stride 2. It keeps every second pixel of every second row,
# and mixes the channels.
#
# ### ResNet-18: four stages of two blocks
#
# ResNet-18 is a network for photographs {cite}`he2016deep`. Its blocks are of an older kind than ours. Ours
# are called **pre-activation** blocks, and the same authors proposed them in a second article {cite}`he2016identity`. Here are both kinds:

# %% mystnb={"image": {"alt": "Two columns of boxes, read downwards from x to y, each with a skip connection around its boxes to a plus sign. Left, the older block: convolution, normalize, ReLU, convolution, normalize, plus sign, and below it a ReLU before y. Right, our block: normalize, ReLU, convolution, normalize, ReLU, convolution, plus sign, and directly y."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(4.8, 4.4))
arrow = {'arrowstyle': '->', 'color': GREY}
kinds = {0: ('older block', 'conv 3×3, normalize, ReLU, conv 3×3, normalize, +, ReLU'),
         6: ('our block', 'normalize, ReLU, conv 3×3, normalize, ReLU, conv 3×3, +')}
for left, (name, parts) in kinds.items():
    ax.text(left + 1.5, 10.7, name, ha='center', va='center', fontsize=11.5)
    ax.text(left + 1.5, 9.8, '$\\mathbf{x}$', ha='center', va='center', fontsize=11.5)
    parts = parts.split(', ')
    for k, words in enumerate(parts):
        height = 8.4 - 1.25 * k
        ax.annotate('', (left + 1.5, height + 0.4), (left + 1.5, height + 0.9), arrowprops=arrow)
        if words == '+':
            ax.text(left + 1.5, height, '+', ha='center', va='center', fontsize=13,
                    bbox={'boxstyle': 'circle,pad=0.15', 'fc': 'none', 'ec': 'C1'})
            ax.plot([left + 1.5, left + 3.9, left + 3.9], [9.2, 9.2, height], color='C1')
            ax.annotate('', (left + 1.95, height), (left + 3.95, height), arrowprops={'arrowstyle': '->', 'color': 'C1'})
        else:
            ax.add_patch(plt.Rectangle((left, height - 0.4), 3, 0.8, fc='C0', alpha=0.25 if 'conv' in words else 0, lw=0))
            ax.add_patch(plt.Rectangle((left, height - 0.4), 3, 0.8, fc='none', ec='C0', lw=1))
            ax.text(left + 1.5, height, words, ha='center', va='center', fontsize=11)
    ax.annotate('', (left + 1.5, -0.15), (left + 1.5, 0.45), arrowprops=arrow)
    ax.text(left + 1.5, -0.5, '$\\mathbf{y}$', ha='center', va='center', fontsize=11.5)
ax.set(xlim=(-0.2, 10.2), ylim=(-0.9, 11.1))
ax.axis('off');

# %% [markdown] tags=["caption"]
# In the older block, each normalization stands behind its convolution, and a ReLU behind the sum. If $f$ is zero, it gives the ReLU of
# $\mathbf{x}$. Our
# block has nothing behind the sum, and gives $\mathbf{x}$ itself.

# %% [markdown]
# When the shape changes, the skip connection of an older block gets a 1 × 1 convolution and a normalization:

# %%
def conv(c_i, c_o, k, s):
    return [nn.Conv2d(c_i, c_o, k, s, padding=k // 2, bias=False),
            nn.BatchNorm2d(c_o)]

class OlderBlock(Residual):
    def __init__(self, c_i, c_o, s):
        super().__init__(
            *conv(c_i, c_o, 3, s), nn.ReLU(), *conv(c_o, c_o, 3, 1))
        self.shortcut = nn.Sequential(*(conv(c_i, c_o, 1, s) if s > 1 else []))

    def forward(self, x):
        return (self.shortcut(x) + self.f(x)).relu()

# %% [markdown]
# On the device `meta`, tensors have shapes, but no numbers. So we can build the network and count its parameters without any
# work:

# %%
def stage(c_i, c_o, s):
    return nn.Sequential(OlderBlock(c_i, c_o, s), OlderBlock(c_o, c_o, 1))

with torch.device('meta'), FlopCounterMode(display=False) as counter:
    start = nn.Sequential(*conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    stages = [stage(64, 64, 1), stage(64, 128, 2), stage(128, 256, 2),
              stage(256, 512, 2)]
    end = nn.Sequential(
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))
    H = torch.zeros(1, 3, 224, 224)
    for part in (start, *stages, end):
        H = part(H)
        count = sum(p.numel() for p in part.parameters())
        print(f'{count:10,} parameters, output {tuple(H.shape[1:])}')

# %% [markdown]
# The first line is the start: a convolution and a max pooling. The last line is the end: the mean of each channel, and a linear layer to
# 1,000 classes. Between them, there are four stages. Each stage but the first doubles the channels and halves the height and width. The
# stages have 16 convolutional layers. With the first convolution and the linear layer, there are 18. The convolutions of the skip
# connections are not counted. Most parameters stand in the last stage. We also print the FLOPs, the multiplications and additions in all
# convolutions and in the linear layer for one picture:

# %%
whole = nn.Sequential(start, *stages, end)
print(f'{sum(p.numel() for p in whole.parameters()):,} parameters,'
      f' {counter.get_total_flops():,} FLOPs')

# %% [markdown]
# ```{exercise} ★★ Program: the shortcut without a convolution
# :label: resnet-shortcut
# A row of $n$ pixels has 3 channels. Write the 1 × 1 convolution to $c$ channels with stride $s$ as an indexing and a matrix product.
# ```

# %%
def narrow(X, W, s):
    """The 1 x 1 convolution of X, an array (3, n), with W, an array (c, 3).

    s >= 1 is the stride, and pixel 0 is kept.
    narrow(np.arange(9.0).reshape(3, 3), np.ones((1, 3)), 2) is [[9, 15]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_convolution(X, W, s):
    return conv1d(torch.tensor(X)[None], torch.tensor(W)[:, :, None], stride=s)[0].numpy()

rows = dict(X=matrices(3, (1, 9)), W=matrices((1, 4), 3), s=integers(1, 4))
grade(narrow, by_convolution, **rows)

# %% [markdown]
# ```{solution-start} resnet-shortcut
# :class: dropdown
# ```
# The kernel sees one pixel, so the stride only chooses pixels, those with the numbers $0, s, 2s, \dots$ Wrong answers start
# at another pixel, forget the stride, or keep the first pixels.

# %% jupyter={"source_hidden": true}
def narrow_solution(X, W, s):
    return W @ X[:, ::s]

def starts_late(X, W, s):
    return W @ X[:, s - 1::s]

def without_stride(X, W, s):
    return W @ X

def first_pixels(X, W, s):
    return W @ X[:, :-(-X.shape[1] // s)]

assert grade(narrow_solution, by_convolution, **rows)
assert not grade(starts_late, by_convolution, **rows)
assert not grade(without_stride, by_convolution, **rows)
assert not grade(first_pixels, by_convolution, **rows)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def same_block(seed, branch):
    torch.manual_seed(seed % 1000)
    block, X = resnet(), torch.randn(3, 8, 4, 4)
    ours = branch(X, block.f[0][2].weight, block.f[1][2].weight)
    return close(ours.detach(), block(X).detach())

verify(
    'the block by hand is the module',
    lambda seed: same_block(seed, residual),
    slip=('forgets to add the input', lambda seed: same_block(seed, lambda X, *W: residual(X, *W) - X)),
    seed=seeds(), tries=10,
)
def start_alike(seed, further):
    torch.manual_seed(seed % 1000)
    one = network(plain, 2)
    torch.manual_seed(seed % 1000 + further)
    return all(close(a.detach(), b.detach(), atol=0, rtol=0)
               for a, b in zip(one.parameters(), network(resnet, 2).parameters(), strict=True))

verify(
    'with the same seed, a plain and a residual network start from the same weights',
    lambda seed: start_alike(seed, 0),
    slip=('takes another seed', lambda seed: start_alike(seed, 1)),
    seed=seeds(), tries=3,
)
def grows(block, n):
    return bool((losses(block, n, 1e-2) > 2 * losses(block, n // 4, 1e-2)).all())

verify(
    'from 4 to 16 layers, the plain loss more than doubles in each run, and is then more than twice the residual one',
    lambda n: grows(plain, n) and bool((losses(plain, n, 1e-2) > 2 * losses(resnet, n, 1e-2)).all()),
    slip=('says so of the residual network', lambda n: grows(resnet, n)),
    n=[8],
)

# %% tags=["checks"]
def copies_up_to_relu(seed, function):
    torch.manual_seed(seed % 1000)
    block, X = OlderBlock(4, 4, 1), torch.randn(3, 4, 5, 5)
    nn.init.zeros_(block.f[-1].weight)                  # then f is zero
    return close(block(X).detach(), function(X))

verify(
    'if f is zero, a block of the older kind gives the ReLU of its input',
    lambda seed: copies_up_to_relu(seed, torch.relu),
    slip=('forgets the ReLU behind the sum', lambda seed: copies_up_to_relu(seed, lambda X: X)),
    seed=seeds(), tries=5,
)

def parameters_are(c, kernels):  # 20 c for the five normalizations
    return sum(p.numel() for p in stage(c, 2 * c, 2).parameters()) == kernels * c**2 + 20 * c

verify(
    'a stage from c to 2 c channels has 128 c² weights in its kernels, those of the shortcut included',
    lambda c: parameters_are(c, 128),
    slip=('forgets the shortcut', lambda c: parameters_are(c, 126)),
    c=[1, 4, 16],
)

# %% [markdown]
# ## The gradient of a residual block: the identity plus a Jacobian
#
# What does the sum change for backpropagation? Let $\mathbf{J}_\ell$ be the [Jacobian](../calculus/jacobians.ipynb) of $f$ in
# block $\ell$. Then the Jacobian of $\mathbf{x} + f(\mathbf{x})$ is $\mathbf{I} + \mathbf{J}_\ell$, and by the chain rule that of $L$ blocks
# is the product
#
# ```{math}
# (\mathbf{I} + \mathbf{J}_L) \cdots (\mathbf{I} + \mathbf{J}_2) (\mathbf{I} + \mathbf{J}_1)
# = \mathbf{I} + \sum_{\ell} \mathbf{J}_\ell + \sum_{\ell > m} \mathbf{J}_\ell \mathbf{J}_m + \cdots + \mathbf{J}_L \cdots \mathbf{J}_1
# ```
#
# Without the skip connections, only the last term is left. In the backward pass, the gradient is multiplied by the
# transpose of the product. How much shorter or longer can the gradient become? Let $\|\mathbf{J}\|$ be the largest singular value of
# $\mathbf{J}$, that is, the largest factor by which $\mathbf{J}$ lengthens a vector.
#
# ```{prf:theorem} The gradient in a residual network
# :label: thm-resnet-gradient
# Let $0 \le q \le 1$, and let $\|\mathbf{J}_\ell\| \le q$ for all $L$ square matrices $\mathbf{J}_\ell$. Then for each vector $\mathbf{g}$
#
# $$
# (1 - q)^L\, \|\mathbf{g}\| \le \|(\mathbf{I} + \mathbf{J}_1)^\top \cdots (\mathbf{I} + \mathbf{J}_L)^\top \mathbf{g}\| \le (1 + q)^L\,
# \|\mathbf{g}\| .
# $$
#
# Without the identities, $\|\mathbf{J}_1^\top \cdots \mathbf{J}_L^\top \mathbf{g}\| \le q^L\, \|\mathbf{g}\|$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# A matrix and its transpose have the same singular values, so $\|\mathbf{J}_\ell^\top \mathbf{g}\| \le q\, \|\mathbf{g}\|$. This, $L$ times, is the
# inequality for the plain network. By the triangle inequality,
# $(\mathbf{I} + \mathbf{J}_\ell)^\top \mathbf{g} = \mathbf{g} + \mathbf{J}_\ell^\top \mathbf{g}$ has a length
# between $\|\mathbf{g}\| - q\, \|\mathbf{g}\|$ and $\|\mathbf{g}\| + q\, \|\mathbf{g}\|$. Since $1 - q \ge 0$, we can multiply these
# bounds for $L$ blocks.
# ```
#
# If $q < 1/2$, then $q^L < (1 - q)^L$. So with the same matrices, the plain gradient is shorter than the residual one, unless
# $\mathbf{g}$ is zero. We try 20 random
# matrices. Each shrinks a random vector to about a fifth of its length. Some vectors shrink less, but no vector keeps more than $q$ times its length:

# %%
g = torch.Generator().manual_seed(0)
J = 0.2 * torch.randn(20, 50, 50, generator=g) / 50**0.5  # 20 Jacobians
q = torch.linalg.matrix_norm(J, 2).max().item()
plain_one = torch.linalg.svdvals(torch.linalg.multi_dot(list(J)))
both = torch.linalg.svdvals(
    torch.linalg.multi_dot(list(torch.eye(50) + J)))

# %%
print(f'q = {q:.3f}: each J lengthens a vector by this factor at most')
print(f'plain:    at most {plain_one[0]:.2e}, bound {q**20:.2e}')
print(f'residual: from {both[-1]:.3f} to {both[0]:.3f},'
      f' bounds {(1 - q)**20:.2e} and {(1 + q)**20:.2e}')

# %% [markdown]
# The plain product leaves almost nothing of each vector.
#
# Does the gradient vanish in our plain networks, too? We take networks of 16 blocks, twice as many as above, before training. We
# compute the norm of the gradient at the output of each block, with and without the normalization in the blocks. Then we divide the norm at the
# first block by that at the last one, and print the geometric mean of three seeds:

# %%
def gradient_norms(block, seed, normalized):
    torch.manual_seed(seed)
    model, h, outputs = network(block, 16), x[:200], []
    for module in model.modules():
        if isinstance(module, nn.Sequential) and not normalized:
            if isinstance(module[0], nn.BatchNorm2d):
                module[0] = nn.Identity()
    for part in model:
        h = part(h)
        outputs.append(h)
    loss = nn.functional.cross_entropy(h, y[:200])
    gradients = torch.autograd.grad(loss, outputs[1:17])
    return torch.stack([G.norm() for G in gradients])   # (16,)

# %%
norms = {}
for normalized in (False, True):
    for block in (plain, resnet):
        three = torch.stack([gradient_norms(block, seed, normalized)
                             for seed in range(3)])
        norms[block, normalized] = three / three[:, -1:]
        ratio = norms[block, normalized][:, 0].log().mean().exp()
        print(f'{block.__name__:6}', 'with' if normalized else 'without',
              f'normalization: first / last block {ratio:.2e}')

# %% mystnb={"image": {"alt": "Norm of the gradient, divided by that at the last block, against the number of the block, on a logarithmic axis, for three seeds each. Towards the first block, plain networks without normalization fall by many powers of ten, plain networks with normalization rise to some tens, and residual networks stay between one and about ten."}} tags=["hide-input"]
fig, axes = panels(2, height=2.7)
for ax, normalized in zip(axes, (False, True)):
    for block, colour, name in (plain, 'C1', 'plain'), (resnet, 'C0', 'residual'):
        for seed in range(3):
            ax.semilogy(range(1, 17), norms[block, normalized][seed], color=colour, label='' if seed else name)
    ax.set(title=('with' if normalized else 'without') + ' normalization', xlabel='block', xticks=[1, 8, 16])
axes[0].set_ylabel('gradient norm / last block')
axes[0].legend(loc='lower right');

# %% [markdown] tags=["caption"]
# The gradient at the output of each of 16 blocks, relative to the last block, for three seeds. Without normalization
# the plain gradient vanishes towards the first block, and with normalization it grows. The residual gradients change less. The two
# panels have different scales.

# %% [markdown]
# Our plain networks have a normalization. With it, the plain gradient before training
# does not vanish but grows towards the first block, to about 49 times its norm at the last block. In the residual
# network, it grows to about 9 times. So a vanishing gradient at the start does not explain why the plain networks train badly.
#
# ### A zero at the end of f: the block starts as the identity
#
# If the last convolution of $f$ starts with zero weights, then $f(\mathbf{x}) = \mathbf{0}$ and the block copies its input
# exactly. With this start, a deep network computes the same numbers as a network without any blocks:

# %%
torch.manual_seed(0)
deep = network(resnet, 8)
for block in deep[1:9]:
    nn.init.zeros_(block.f[1][2].weight)
shallow = nn.Sequential(deep[0], *deep[9:])             # the blocks left out
different = (deep(x[:200]) != shallow(x[:200])).sum().item()
print('outputs that differ:', different, 'of', 200 * 10)

# %% [markdown]
# ```{exercise} ★★ Pencil: how large may f be?
# :label: resnet-scale
# Think of the entries of $\mathbf{x}$ as random numbers with the same variance. There is no normalization. In each of $L$ blocks,
# the entries of $f(\mathbf{x})$ have the same variance as those of $\mathbf{x}$, and are uncorrelated with them. The block computes
# $\mathbf{x} + \alpha f(\mathbf{x})$. For which $\alpha > 0$ is the variance after all blocks
# twice that at the start? Write `scale(L)`.
# ```

# %%
def scale(L):
    """The number alpha > 0, a float, for L blocks, an int of at least 1.

    scale(1) is 1.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_root_finding(L):
    return brentq(lambda alpha: L * np.log1p(alpha**2) - np.log(2), 0, 2, xtol=1e-13)

grade(scale, by_root_finding, L=integers(1, 60))

# %% [markdown]
# ```{solution-start} resnet-scale
# :class: dropdown
# ```
# The variances of uncorrelated terms add, so each block multiplies the variance by $1 + \alpha^2$. From $(1 +
# \alpha^2)^L = 2$ we get $\alpha = \sqrt{2^{1/L} - 1}$. With $\alpha = 1$ the variance is $2^L$. There are three
# wrong answers in the cell below. The first adds up the growth of the blocks, where it must be multiplied. The second forgets the root.
# The third takes $1/L$.

# %% jupyter={"source_hidden": true}
def scale_solution(L):
    return (2 ** (1 / L) - 1) ** 0.5

def adds_the_growth(L):
    return L ** -0.5

def without_the_root(L):
    return 2 ** (1 / L) - 1

def one_over_depth(L):
    return 1 / L

assert grade(scale_solution, by_root_finding, L=integers(1, 60))
assert not grade(adds_the_growth, by_root_finding, L=integers(1, 60))
assert not grade(without_the_root, by_root_finding, L=integers(1, 60))
assert not grade(one_over_depth, by_root_finding, L=integers(1, 60))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def jacobian_is(seed, weight):  # of one block, and of its f
    torch.manual_seed(seed % 1000)
    block, X = resnet(), torch.randn(2, 8, 2, 2)
    whole = torch.autograd.functional.jacobian(block, X).reshape(64, 64)
    branch = torch.autograd.functional.jacobian(block.f, X).reshape(64, 64)
    return close(whole, weight * torch.eye(64) + branch)

verify(
    'the Jacobian of a residual block is the identity plus that of f',
    lambda seed: jacobian_is(seed, 1),
    slip=('forgets the identity', lambda seed: jacobian_is(seed, 0)),
    seed=seeds(), tries=3,
)
verify(
    'before training the plain gradient vanishes without normalization and grows with it',
    lambda least: bool((norms[plain, False][:, 0] < 1e-6).all() and (norms[plain, True][:, 0] > least).all()),
    slip=('says so of the residual network',
          lambda least: bool((norms[resnet, False][:, 0] < 1e-6).all() and (norms[resnet, True][:, 0] > least).all())),
    least=[15],
)
verify(
    'with zero weights at the end of f the network is the one without blocks',
    lambda blocks: bool((deep[:blocks + 1](x[:20]) == deep[0](x[:20])).all()),
    slip=('says so of random weights',
          lambda blocks: bool((network(resnet, 8)[:blocks + 1](x[:20]) == deep[0](x[:20])).all())),
    blocks=[1, 8],
)

# %% [markdown]
# ## Where it matters: degradation is a failure of the optimization
#
# Perhaps 0.01 is just the wrong learning rate for the deep plain network. We train it with a smaller
# and a larger rate, too:

# %%
rates = 3e-3, 1e-2, 3e-2
for lr in rates:
    for seed in range(3):
        if lr != 1e-2:
            runs[plain, 8, lr, seed] = trained(plain, 8, lr, seed)
    print(f'plain, rate {lr:5}: training loss {spread(losses(plain, 8, lr))}')

# %% [markdown]
# At each rate, its loss is more than twice that of the residual network with the rate 0.01. The plain network is worse on the pictures
# that it is *trained* on. So
# overfitting is not the reason: a network that overfits has a small training loss, and only the loss on other pictures is large.
#
# Nor is the plain network too weak. A plain block can copy its input, too, up to a shift and a scale. A normalization
# can add so much to each channel that no number is negative. Then the ReLU changes nothing, and a kernel with a single 1 in its
# middle copies the channel. The next normalization removes the shift and the scale. With such weights, the deep plain network gives
# nearly the scores of a network without
# blocks:

# %%
copying = network(plain, 8)
for block in copying[1:9]:
    for part in block:                                  # two layers each
        nn.init.constant_(part[0].bias, 30.0)
        nn.init.dirac_(part[2].weight)                  # one 1 a kernel
without = nn.Sequential(copying[0], *copying[9:])
gap = (copying(x[:200]) - without(x[:200])).abs().max()
print('largest difference of the scores:', below(gap, 1e-3))

# %% [markdown]
# In the same way, a network of eight blocks can do what a trained one of two blocks does: the other six copy. So there are weights with
# which the deep plain network does as
# well as a shallow one, but the training does not find them in these 48 steps. This failure of the optimization is called
# **degradation**. The skip connections are the only
# difference between our two networks. So they are the reason why the residual one reaches a far smaller loss in these steps.
#
# ### Slow, and still behind after five passes
#
# Does the plain network only need more time? We train both again from the same starts, with five passes over the digits (ten on a GPU). We also
# print the share of the *test digits* that they read, which are not used for the training. `fit` leaves a network in evaluation mode, so the test
# digits are normalized by the running means and variances of the training:

# %%
@torch.no_grad()
def accuracy(model):
    return (model(x[1200:]).argmax(1) == y[1200:]).double().mean().item()

# %%
passes, longer = 10 if device.type == 'cuda' else 5, {}
for block in (plain, resnet):
    for seed in range(3):
        longer[block, seed] = trained(block, 8, 1e-2, seed, passes)
    models, curves = zip(*[longer[block, seed] for seed in range(3)])
    ends = torch.stack(curves)[:, -10:].mean(1).numpy()
    shares = np.array([accuracy(model) for model in models])
    print(f'{block.__name__:6} loss {spread(ends)}, test {spread(shares)}')

# %% mystnb={"image": {"alt": "Training loss against the passes over the digits, three lines for each network. The lines of the residual networks fall below 0.5 soon after the first pass and end near 0.1; those of the plain networks fall slowly, from about 2 to about 0.5."}} tags=["hide-input"]
fig, ax = panels(1, height=2.6)
for block, colour in (plain, 'C1'), (resnet, 'C0'):
    for seed in range(3):
        curve = longer[block, seed][1].reshape(-1, 24).mean(1)
        ax.plot((np.arange(len(curve)) + 0.5) / 2, curve, color=colour)
ax.set(xlabel='passes over the digits', ylabel='training loss', ylim=(0, 2.4), xlim=(0, passes))
ax.text(1.6, 1.6, 'plain', color='C1')
ax.text(1.1, 0.12, 'residual', color='C0');

# %% [markdown] tags=["caption"]
# Training loss of networks with 16 layers, means of half a pass, from three seeds. The plain networks learn, but slowly.

# %% [markdown]
# So the deep plain network is *slow*, and after five passes it is still behind: its training loss is about four times that of the residual
# network. It reads fewer test digits, by more than two standard errors of the difference.
#
# ```{exercise} ★★ Experiment: leave out a block
# :label: resnet-leave-out
# Take these networks, `longer[plain, seed][0]` and `longer[resnet, seed][0]`, and leave out the fifth of the eight blocks, without training
# again. Predict for the plain and for the residual networks whether they still read more than half of the test digits, on
# average over the three seeds. Then try it and explain.
# ```

# %%
def still_reads():
    """Two truth values in a list, for the plain and for the residual network.

    [True, True], for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
shares = {}
for block in (plain, resnet):
    models = [longer[block, seed][0] for seed in range(3)]
    cut = [nn.Sequential(*model[:5], *model[6:]) for model in models]
    shares[block] = [np.mean([accuracy(model) for model in some]) for some in (models, cut)]

def is_measured(said):
    if len(said) != 2 or not all(answer in (True, False) for answer in said):
        raise ValueError('give two truth values')
    if list(said) != [shares[block][1] > 0.5 for block in (plain, resnet)]:
        raise ValueError('something else is measured; leave out the block and look')
    return True

grade(lambda: is_measured(still_reads()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} resnet-leave-out
# :class: dropdown
# ```
# A possible reason: without the block, the residual network loses one term of a sum, and all later blocks still get most of what they are
# used to. In the plain network the later blocks get numbers that they have never seen.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured([False, True]), lambda: True, [()])
assert not grade(lambda: is_measured([True, True]), lambda: True, [()])
assert not grade(lambda: is_measured([False, False]), lambda: True, [()])
assert not grade(lambda: is_measured([True, False]), lambda: True, [()])
for block, (whole, less) in shares.items():
    print(f'{block.__name__:6}: all blocks {whole:.3f}, one left out {less:.3f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
verify(
    'at 16 layers and each rate, each plain run has more than 1.5 times the training loss of each residual run with 0.01',
    lambda lr: min(losses(plain, 8, lr)) > 1.5 * max(losses(resnet, 8, 1e-2)),
    slip=('exchanges the two networks', lambda lr: min(losses(resnet, 8, 1e-2)) > 1.5 * max(losses(plain, 8, lr))),
    lr=rates,
)

def lag(block, other):  # the least quotient of the losses after the longer training, and the errors between the shares
    one, two = ([longer[name, seed][1][-10:].mean() for seed in range(3)] for name in (block, other))
    a, b = (np.array([accuracy(longer[name, seed][0]) for seed in range(3)]) for name in (block, other))
    return min(one) / max(two), (b.mean() - a.mean()) / np.hypot(a.std(ddof=1), b.std(ddof=1)) * 3**0.5

verify(
    'after the longer training each plain run has more than 1.5 times the loss of each residual run, and fewer test digits '
    'are read, by two standard errors',
    lambda ratio, errors: lag(plain, resnet)[0] > ratio and lag(plain, resnet)[1] > errors,
    slip=('exchanges the two', lambda ratio, errors: lag(resnet, plain)[0] > ratio),
    ratio=[1.5], errors=[2],
)

def copies(added):  # a plain block, up to what the next normalization takes away
    torch.manual_seed(1)
    block, X = plain(), torch.randn(5, 8, 4, 4)
    for part in block:
        nn.init.constant_(part[0].bias, added)
        nn.init.dirac_(part[2].weight)
    return close(normalize(block(X)).detach(), normalize(X), atol=1e-3)

verify(
    'with kernels of a single 1, a plain block copies its input up to a shift and a scale, if no number is negative',
    copies,
    slip=('adds nothing', lambda added: copies(0 * added)),
    added=[30.0],
)

# %% [markdown]
# ## ResNeXt: grouped convolutions in the block
#
# A ResNeXt block {cite}`xie2017aggregated` is a residual block with three convolutions. The first is 1 × 1 and sets the
# number of channels. The second is 3 × 3 and splits the channels into $g$ groups. Each group has a small convolution of
# its own, which sees no channel of another group. The results of the groups are concatenated. The third convolution is 1 × 1 again. It
# mixes the groups
# and restores the number of channels. Here is the second convolution, called a **grouped convolution**:

# %%
def grouped(X, W, groups):                              # W: (c_o, c_i/g, 3, 3)
    parts, kernels = X.chunk(groups, 1), W.chunk(groups)
    return torch.cat([conv2d(part, kernel, padding=1)
                      for part, kernel in zip(parts, kernels)], 1)

# %%
g = torch.Generator().manual_seed(0)
X = torch.randn(5, 16, 4, 4, generator=g)
W = torch.randn(16, 4, 3, 3, generator=g)
library = conv2d(X, W, padding=1, groups=4)
print('largest difference:', below((grouped(X, W, 4) - library).abs().max()))
print(W.numel(), 'weights, in one group', 16 * 16 * 9)

# %% [markdown]
# From $c$ to $c$ channels, a convolution with one group has $9c^2$ weights. With $g$ groups there are $g$ small kernels of $9(c/g)^2$
# weights, $9c^2/g$ in total. ResNeXt spends what it saves on more channels inside the block: ours has 16 where our ResNet has 8.

# %%
def resnext():
    return Residual(
        layer(8, 16, 1), layer(16, 16, 3, groups=4), layer(16, 8, 1))

for seed in range(3):
    runs[resnext, 8, 1e-2, seed] = trained(resnext, 8, 1e-2, seed)

# %% mystnb={"image": {"alt": "The residual block again, with three boxes: convolution 1 by 1 from 8 to 16 channels; convolution 3 by 3 from 16 to 16 channels in 4 groups; convolution 1 by 1 from 16 to 8 channels. Below stand the shapes inside, B, 16, 4, 4. The skip connection carries the shape B, 8, 4, 4."}} tags=["hide-input"]
draw_block(['conv 1×1\n8 → 16', 'conv 3×3\n16 → 16\n4 groups', 'conv 1×1\n16 → 8'],
           'inside: shape (B, 16, 4, 4); normalization and ReLU before each convolution')

# %% [markdown] tags=["caption"]
# Our ResNeXt block. Inside, it has twice as many channels as outside, and the 3 × 3 convolution works in four groups.

# %% [markdown]
# We compare the parameters, the operations for one picture (FLOPs), and the accuracy on the test digits, all with the rate
# 0.01. PyTorch counts each multiplication and each addition of the convolutions and of the linear layer. As a reference, we fit logistic
# regression on the pixels:

# %%
def costs(model):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(x[:1])
    parameters = sum(p.numel() for p in model.parameters())
    return parameters, counter.get_total_flops()

# %%
scores = {}
columns = 'network', 'blocks', 'parameters', '  FLOPs', 'accuracy'
print(*columns)
pairs = [(block, n) for n in depths for block in (plain, resnet)]
pairs.append((resnext, 8))
for block, n in pairs:
    models = [runs[block, n, 1e-2, seed][0] for seed in range(3)]
    three = scores[block, n] = np.array([accuracy(m) for m in models])
    parameters, flops = costs(models[0])
    print(f'{block.__name__:7} {n:6} {parameters:10,} {flops:7,}'
          f' {spread(three)}')
pixels = x.flatten(1)
linear = LogisticRegression(max_iter=1000).fit(pixels[:1200], y[:1200])
print(f'logistic regression: {linear.score(pixels[1200:], y[1200:]):.3f}')

# %% [markdown]
# The numbers behind ± are two standard errors over three seeds. A plain and a residual network of the same depth cost the same, because
# the additions of the skip connections are not counted. But with
# 8 blocks the plain networks read far fewer digits. With 2 blocks, the intervals overlap. Depth has brought nothing here:
# after 48 steps, the residual networks with 8 blocks have not overtaken those with 2.
# ResNeXt has fewer parameters than the ResNet with as many blocks, and their accuracies differ by less than two
# standard errors.
# Logistic regression, fitted until its loss falls no further, reads more digits than each network does after 48 steps, and
# more than the residual networks read on average after five passes. So these small digits do not need a deep network.

# %% tags=["checks"]
verify(
    'a grouped convolution is a split, small convolutions and a concatenation',
    lambda groups: close(grouped(X, W[:, :16 // groups], groups), conv2d(X, W[:, :16 // groups], padding=1, groups=groups)),
    slip=('turns the order of the groups around', lambda groups: close(
        grouped(X.flip(1), W[:, :16 // groups], groups), conv2d(X, W[:, :16 // groups], padding=1, groups=groups))),
    groups=[4, 8, 16],
)

def apart(a, b, errors):  # paired over the seeds
    difference = scores[a, 8] - scores[b, 8]
    return bool(difference.mean() > errors * difference.std(ddof=1) / 3**0.5)

verify(
    'of 8 blocks each, the residual network is better than the plain one by two standard errors, and not apart from ResNeXt',
    lambda errors: (apart(resnet, plain, errors)
                    and not apart(resnet, resnext, errors) and not apart(resnext, resnet, errors)),
    slip=('says that ResNeXt is better', lambda errors: apart(resnext, resnet, errors)),
    errors=[2],
)

# %% [markdown]
# ## Summary
#
# A residual block adds its input to what its layers compute, so that a copy needs only zeros. Its Jacobian is the
# identity plus the Jacobian of the layers, and in our networks before training, the gradient changes less from block to block than without the sum.
# In our experiment, deep plain networks are slow, and after five passes they still fit even their training data much worse than residual
# networks. The skip connections make the difference.
# ResNeXt saves weights by grouped convolutions.
#
# **Further reading.** {cite:t}`he2016deep` found degradation on photographs. {cite:t}`he2016identity` explain why
# the same authors later chose pre-activation blocks.
# {cite:t}`xie2017aggregated` introduce ResNeXt. {cite:t}`zhang2023dive`, chapter 8, trains a ResNet-18.
