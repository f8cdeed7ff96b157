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
# their input. But when we train both in the same way, the deep one ends with the larger error, even on the pictures that it
# is trained on. How can we make copying easy?
#
# - **You need** [channels](channels.ipynb), [pooling](pooling.ipynb), [batch normalization](batch_normalization.ipynb),
#   [Jacobians](../calculus/jacobians.ipynb),
#   [vanishing gradients](../neural_networks/vanishing_and_exploding_gradients.ipynb) and
#   [training in minibatches](../regression/minibatch_training.ipynb).
# - **You build** a residual block, a ResNet and a ResNeXt, and compare them with plain networks.
# - **Runs in** 13 seconds. All tensors are float64.

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
from nbutils.figures import GREY, panels
from nbutils.training import batches, fit

plt.style.use('nbutils.book')
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the tensors are small: a second thread would mostly wait

# %% [markdown]
# ## The residual block: y = x + f(x)
#
# Let $f$ be a few layers whose output has the shape of their input. A plain network computes $f(\mathbf{x})$. A **residual
# block** {cite}`he2016deep` adds the input:
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
fig, ax = plt.subplots(figsize=(6, 2.2))
boxes = (1.6, 'normalize\nReLU'), (3.4, 'conv 3×3\n8 → 8'), (5.2, 'normalize\nReLU'), (7.0, 'conv 3×3\n8 → 8')
for left, words in boxes:
    ax.add_patch(plt.Rectangle((left, 0.5), 1.4, 1, fc='C0', alpha=0.2, lw=0))
    ax.add_patch(plt.Rectangle((left, 0.5), 1.4, 1, fc='none', ec='C0', lw=1))
    ax.text(left + 0.7, 1, words, ha='center', va='center', fontsize=9)
arrow = {'arrowstyle': '->', 'color': GREY}
for start, end in (0.3, 1.6), (3.0, 3.4), (4.8, 5.2), (6.6, 7.0), (8.4, 9.05), (9.55, 10.7):
    ax.annotate('', (end, 1), (start, 1), arrowprops=arrow)
ax.plot([0.9, 0.9, 9.3, 9.3], [1, 2.3, 2.3, 1.3], color='C1')
ax.annotate('', (9.3, 1.25), (9.3, 1.6), arrowprops={'arrowstyle': '->', 'color': 'C1'})
ax.text(9.3, 1, '+', ha='center', va='center', fontsize=13, bbox={'boxstyle': 'circle', 'fc': 'none', 'ec': 'C1'})
ax.text(5, 2.4, 'skip connection: $\\mathbf{x}$, shape (B, 8, 4, 4)', ha='center', color='C1', fontsize=9)
ax.text(5, 0.1, '$f(\\mathbf{x})$, shape (B, 8, 4, 4)', ha='center', color='C0', fontsize=9)
ax.text(0.1, 1, '$\\mathbf{x}$', ha='center', va='center')
ax.text(10.9, 1, '$\\mathbf{y}$', ha='center', va='center')
ax.set(xlim=(-0.1, 11.1), ylim=(-0.1, 2.8))
ax.axis('off');

# %% [markdown] tags=["caption"]
# One residual block. The sum needs two terms of the same shape, so $f$ must return as many channels and pixels as it gets.

# %% [markdown]
# The way around $f$ is called the **skip connection** or shortcut. If the best block is a copy, $f$ has to be zero. Our $f$
# is two layers. Each has a normalization, a ReLU and a convolution:

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
# `nn.BatchNorm2d` subtracts from each channel its mean over the batch and all pixels, divides by the standard deviation, and
# then multiplies by a learned number and adds another. A network is a first
# convolution, $n$ blocks with two layers each, and a linear layer:

# %%
def network(block, n):
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1, bias=False),
        *[block() for _ in range(n)],                   # (B, 8, 4, 4)
        nn.BatchNorm2d(8), nn.ReLU(), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(32, 10))

x, y, _ = digits()                                      # 8 x 8 pixels
x, y = torch.tensor(x).reshape(-1, 1, 8, 8), torch.tensor(y)

# %% [markdown]
# We take 48 steps of Adam on 1,200 digits, and print the mean loss of the last 10 steps:

# %%
def trained(block, n, lr, seed):
    torch.manual_seed(seed)
    model = network(block, n)
    optimizer = torch.optim.Adam(model.parameters(), lr)
    g = torch.Generator().manual_seed(seed)
    dealt = batches(g, 50, x[:1200], y[:1200], epochs=2)
    losses = fit(model, nn.CrossEntropyLoss(), optimizer, dealt)
    return model, losses[-10:].mean().item()

# %%
runs = {}
print('layers  plain  residual')
for n in (2, 5, 8):
    for block in (plain, resnet):
        runs[block, n, 1e-2, 0] = trained(block, n, 1e-2, 0)
    print(f'{2 * n:6} {runs[plain, n, 1e-2, 0][1]:6.2f}'
          f' {runs[resnet, n, 1e-2, 0][1]:9.2f}')

# %% [markdown]
# With 4 layers in their blocks the two networks differ little. With 16 layers the loss of the plain network is more
# than three times as large as with 4, while that of the residual network has not grown. Guessing each digit with
# probability 1/10 has the loss $\ln 10 = 2.3$. A plain and a residual network of the same depth have exactly the same
# parameters.

# %% [markdown]
# ### The block by hand
#
# Here is the same block without modules. At the start of the training, the learned numbers of the normalization are 1 and 0:

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
# connection gets a [1 × 1 convolution](channels.ipynb) with stride 2. It keeps each second pixel of each second row,
# and mixes the channels:

# %%
f = nn.Sequential(nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
                  nn.Conv2d(16, 16, 3, padding=1))
shortcut = nn.Conv2d(8, 16, kernel_size=1, stride=2)
X = torch.randn(5, 8, 4, 4)
for name, part in ('f', f), ('shortcut', shortcut):
    print(f'{name:8}', tuple(X.shape), '->', tuple(part(X).shape))

# %% [markdown]
# ```{exercise} ★★ Program: the shortcut without a convolution
# :label: resnet-shortcut
# A row of $n$ pixels has 3 channels. Write the 1 × 1 convolution with stride $s$ as an indexing and a matrix product.
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
verify(
    'at 16 layers the loss of the plain network is more than twice that of the residual one, in one run',
    lambda n: runs[plain, n, 1e-2, 0][1] > 2 * runs[resnet, n, 1e-2, 0][1],
    slip=('says so at 4 layers', lambda n: runs[plain, n // 4, 1e-2, 0][1] > 2 * runs[resnet, n // 4, 1e-2, 0][1]),
    n=[8],
)

# %% [markdown]
# ## The gradient of a residual block: the identity plus a Jacobian
#
# What does the sum change for backpropagation? By the chain rule, the gradient is multiplied by the
# [Jacobian](../calculus/jacobians.ipynb) of each block. If $\mathbf{J}_\ell$ is the Jacobian of $f$ in block $\ell$,
# then the Jacobian of $\mathbf{x} + f(\mathbf{x})$ is $\mathbf{I} + \mathbf{J}_\ell$, and that of $L$ blocks is
#
# ```{math}
# (\mathbf{I} + \mathbf{J}_L) \cdots (\mathbf{I} + \mathbf{J}_2) (\mathbf{I} + \mathbf{J}_1)
# = \mathbf{I} + \sum_{\ell} \mathbf{J}_\ell + \sum_{\ell > m} \mathbf{J}_\ell \mathbf{J}_m + \cdots
# ```
#
# The plain network has only the very last term of this sum, $\mathbf{J}_L \cdots \mathbf{J}_1$. Here are 20 random
# matrices that shrink a vector to a fifth of its length on average:

# %%
g = torch.Generator().manual_seed(0)
J = torch.randn(20, 50, 50, generator=g)
J = 0.2 * J / 50**0.5                                   # 20 Jacobians
identity = torch.eye(50)
for name, factors in ('plain', J), ('residual', identity + J):
    product = torch.linalg.multi_dot(list(factors))
    print(f'{name:8} largest singular value'
          f' {torch.linalg.matrix_norm(product, 2):.2e}')

# %% [markdown]
# So the identity keeps small Jacobians from [making the gradient
# vanish](../neural_networks/vanishing_and_exploding_gradients.ipynb). Is this what happens in our networks? We take 16
# blocks before training, with and without the normalization, and compute the norm of the gradient at the output of each
# block:

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
# the plain gradient vanishes towards the first block. With normalization it grows. The residual gradients change far
# less.

# %% [markdown]
# So vanishing gradients are only half of the story. Normalization rescales them, and then the plain network has the
# opposite problem: its first block gets a gradient about 49 times as large as that of the last block. The figure cannot say
# whether this is what makes the training fail.
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
# ```{exercise} ★★ Pencil: how loud may f be?
# :label: resnet-scale
# Without normalization, let $f(\mathbf{x})$ have the variance of $\mathbf{x}$ and be uncorrelated with it. We compute
# $\mathbf{x} + \alpha f(\mathbf{x})$ in each of $L$ blocks. For which $\alpha > 0$ is the variance after all blocks
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
# \alpha^2)^L = 2$ we get $\alpha = \sqrt{2^{1/L} - 1}$. With $\alpha = 1$ the variance is $2^L$. Wrong answers add the
# growth of the blocks, as if it were not compounded, forget the root, or divide by $L$.

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
# One run with one learning rate may be an accident. We repeat the first experiment with three learning rates and three
# seeds, at 4 and at 16 layers:

# %%
rates = 3e-3, 1e-2, 3e-2
for n in (2, 8):
    for lr in rates:
        for block in (plain, resnet):
            for seed in range(3):
                if (block, n, lr, seed) not in runs:
                    runs[block, n, lr, seed] = trained(block, n, lr, seed)

# %%
def losses(block, n, lr):
    return [runs[block, n, lr, seed][1] for seed in range(3)]

for n in (2, 8):
    for block in (plain, resnet):
        lr = min(rates, key=lambda lr: np.mean(losses(block, n, lr)))
        three = losses(block, n, lr)
        print(f'{2 * n:2} layers, {block.__name__:6}: best rate {lr},'
              f' training loss {min(three):.3f} to {max(three):.3f}')

# %% mystnb={"image": {"alt": "Two panels of training loss against learning rate, for three seeds each. At 4 layers the points of plain and residual networks coincide nearly. At 16 layers the plain points lie far above the residual ones at each rate."}} tags=["hide-input"]
fig, axes = panels(2, height=2.7, sharey=True)
for ax, n in zip(axes, (2, 8)):
    for block, colour, shift in (plain, 'C1', -0.07), (resnet, 'C0', 0.07):
        for at, lr in enumerate(rates):
            ax.plot([at + shift] * 3, losses(block, n, lr), 'o', color=colour, alpha=0.7)
    ax.axhline(np.log(10), color=GREY, ls='--', lw=1)
    ax.set(title=f'{2 * n} layers', xlabel='learning rate', xticks=[0, 1, 2], ylim=(0, 2.6), xlim=(-0.4, 2.4))
    ax.set_xticklabels(['0.003', '0.01', '0.03'])
axes[0].set_ylabel('training loss')
axes[0].text(2.35, 2.35, 'guessing', color=GREY, ha='right')
axes[1].text(1, 1.85, 'plain', color='C1', ha='center')
axes[1].text(1, 0.6, 'residual', color='C0', ha='center');

# %% [markdown] tags=["caption"]
# Training loss for three learning rates, with a point for each seed. At 4 layers the skip connection changes little. At
# 16 layers the plain network has a larger loss at each rate.

# %% [markdown]
# The plain network loses on the pictures that it is *trained* on. So this is no overfitting, where the training loss
# would be small. Nor is the deep network too weak, because a plain block could copy its input, too. If the normalization
# adds so much that no number is negative, then the ReLU changes nothing, and kernels with a single 1 copy the channels.
# But the training does not find this. What fails is the optimization, for the 48 steps shown; this is called **degradation**. Taking the skip connections away is the only difference between the two
# networks.
#
# ```{exercise} ★★ Experiment: leave out a block
# :label: resnet-leave-out
# Take the networks with 16 layers that were trained with the rate 0.01, and leave out the fifth block, without training
# again. Predict for the plain and for the residual network whether it still reads more than half of the test digits on
# average. Then try it and explain.
# ```

# %%
def still_reads():
    """Two truth values in a list, for the plain and for the residual network.

    [True, True], for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
@torch.no_grad()
def share_read(model):
    return (model(x[1200:]).argmax(1) == y[1200:]).double().mean().item()

shares = {}
for block in (plain, resnet):
    models = [runs[block, 8, 1e-2, seed][0] for seed in range(3)]
    cut = [nn.Sequential(*model[:5], *model[6:]) for model in models]
    shares[block] = [np.mean([share_read(model) for model in some]) for some in (models, cut)]

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
# Without the block, the residual network loses one term of a sum, and all later blocks still get most of what they are
# used to. In the plain network the later blocks get numbers that they have never seen. But the plain network did not
# read well before, either, so this comparison alone does not show that the missing block is the reason.

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
def gap(n, lr):  # by how much plain networks are worse, at the least over the seeds
    return min(losses(plain, n, lr)) - max(losses(resnet, n, lr))

verify(
    'at 16 layers and each rate, each plain run has a larger training loss than each residual run',
    lambda lr: gap(8, lr) > 0.2,
    slip=('says so at 4 layers', lambda lr: gap(2, lr) > 0.2),
    lr=rates,
)

# %% [markdown]
# ## ResNeXt: grouped convolutions in the block
#
# A ResNeXt block {cite}`xie2017aggregated` is a residual block with three convolutions. The first is 1 × 1 and sets the
# number of channels. The second is 3 × 3 and splits the channels into $g$ groups: each group has a small convolution of
# its own, and their results are concatenated. The third is 1 × 1 again and mixes the groups. Here is the one in the
# middle:

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
# From $c$ to $c$ channels, one group has $9c^2$ weights. With $g$ groups there are $g$ small kernels of $9(c/g)^2$
# weights, $9c^2/g$ in total. ResNeXt spends what it saves on more channels inside the block. Ours has 16 in place of 8:

# %%
def resnext():
    return Residual(
        layer(8, 16, 1), layer(16, 16, 3, groups=4), layer(16, 8, 1))

for seed in range(3):
    runs[resnext, 8, 1e-2, seed] = trained(resnext, 8, 1e-2, seed)

# %% [markdown]
# We compare the parameters, the operations for one picture, and the accuracy on the other digits, all with the rate
# 0.01. As a reference, we fit logistic regression on the pixels:

# %%
def costs(model):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(x[:1])
    parameters = sum(p.numel() for p in model.parameters())
    return parameters, counter.get_total_flops()

@torch.no_grad()
def accuracy(model):
    return (model(x[1200:]).argmax(1) == y[1200:]).double().mean().item()

# %%
scores = {}
columns = 'network', 'blocks', 'parameters', '  FLOPs', 'accuracy'
print(*columns)
pairs = (plain, 2), (resnet, 2), (plain, 8), (resnet, 8), (resnext, 8)
for block, n in pairs:
    models = [runs[block, n, 1e-2, seed][0] for seed in range(3)]
    three = scores[block, n] = np.array([accuracy(m) for m in models])
    parameters, flops = costs(models[0])
    print(f'{block.__name__:7} {n:6} {parameters:10,} {flops:7,}'
          f' {three.mean():.3f} ± {2 * three.std(ddof=1) / 3**0.5:.3f}')
pixels = x.flatten(1)
linear = LogisticRegression(max_iter=1000).fit(pixels[:1200], y[:1200])
print(f'logistic regression: {linear.score(pixels[1200:], y[1200:]):.3f}')

# %% [markdown]
# The numbers behind ± are two standard errors over three seeds. Plain and residual networks cost the same, but the deep
# plain network reads far fewer digits. The deep residual network learns, but after 48 steps it has not overtaken the
# shallow one. ResNeXt has fewer parameters than the ResNet with as many blocks, and their accuracies differ by less than two
# standard errors. So on these small pictures, we cannot say which of them is better.
# Logistic regression, fitted to the end, is better than all of them after 48 steps: the experiment shows what trains
# quickly, not how to read digits best.

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
# identity plus the Jacobian of the layers, and gradients change far less from block to block than in a plain network.
# In our experiment, deep plain networks fail already on the training data, and the skip connection alone repairs this;
# ResNeXt saves weights by grouped convolutions.
#
# **Further reading.** {cite:t}`he2016deep` found degradation on photographs,: their blocks normalize after each
# convolution, and put a ReLU behind the sum. {cite:t}`he2016identity` move both in front, as we do, and explain why.
# {cite:t}`xie2017aggregated` introduce ResNeXt. {cite:t}`zhang2023dive`, chapter 8, builds a whole ResNet-18.
