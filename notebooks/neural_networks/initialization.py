# ---
# jupyter:
#   book:
#     functions:
#       relu: "relu(normal(5))"
#       forward: "forward(normal(1, 4), [normal(4, 3), normal(3, 2)], torch.tanh)[1]"
#       gaussian_mean: "gaussian_mean(torch.square, normal(1)[0].abs())"
#       next_v: "next_v(torch.tanh, normal(1)[0].abs(), 100, 0.1)"
#     main: init-forward
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Initialization
#
# Draw all weights of 50 layers of 100 ReLU units from a normal distribution with mean zero. If its standard deviation is 0.01,
# the numbers in the last layer have a size of about $4.1 \cdot 10^{-58}$. If it is 1, their size is about
# $4.1 \cdot 10^{42}$. Which standard deviation keeps them near one, so that the network can learn?
#
# - **You need** [hidden layers](hidden_layers.ipynb), the [chain rule](../calculus/chain_rule.ipynb),
#   [expectations](../probability/expectations.ipynb), at the end [momentum](../optimization/momentum.ipynb).
# - **You build** a prediction for the size of each layer, and the starts of Xavier and He.
# - **Runs in** 8 seconds. All tensors are float64.

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
from scipy import integrate, stats
from torch import nn

from nbutils import data
from nbutils.cases import integers, lists, on, scalars, seeds
from nbutils.checks import close, grade, holds, verify
from nbutils.figures import GREY, panels
from nbutils.training import batches, fit

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the matrices are small: a second thread would mostly wait
plt.style.use('nbutils.book')

# %% [markdown]
# ## Forward: the weights set the size of each layer
#
# Layer $l$ has the pre-activations $\mathbf{z}^{(l)} = \mathbf{h}^{(l-1)}\mathbf{W}^{(l)}$. The activation $\phi$ makes of
# them the units $\mathbf{h}^{(l)} = \phi(\mathbf{z}^{(l)})$, and $\mathbf{h}^{(0)}$ is the input $\mathbf{x}$. The biases start at
# zero, so we leave them out. As the **size** of a layer we take the root of the mean square of its pre-activations.

# %%
def relu(z):
    return z.clamp(min=0)

def forward(x, Ws, phi):
    """The pre-activations of all layers, a list."""
    zs, h = [], x
    for W in Ws:
        zs.append(h @ W)             # (..., 1, d) @ (..., d, m)
        h = phi(zs[-1])
    return zs

# %%
def draw(networks, m, seed, layers=50):     # weights of standard deviation 1
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(networks, 1, m, generator=g)
    x /= x.square().mean(-1, keepdim=True).sqrt()     # mean square 1
    return x, [torch.randn(networks, m, m, generator=g) for _ in range(layers)]

x, normals = draw(10, 100, seed=0)          # ten networks at once
for sigma in (0.01, 0.02**0.5, 1.0):
    zs = forward(x, [sigma * W for W in normals], relu)
    sizes = [zs[l - 1].square().mean().sqrt() for l in (1, 10, 50)]
    print(f'standard deviation {sigma:5.3g}: layers 1, 10, 50:',
          '  '.join(f'{size:.2e}' for size in sizes))

# %% [markdown]
# The last layers have sizes of $4.1 \cdot 10^{-58}$, about 1 and $4.1 \cdot 10^{42}$. Each layer multiplies the size by about
# the same factor. Over 50 layers even a factor of 2 becomes $2^{50} \approx 10^{15}$, so the factor must be near one. Let us
# compute it.
#
# A pre-activation is a sum $z = \sum_{i=1}^{d} h_i w_i$ over the $d$ units of the layer
# before. The weights are independent, with mean zero and variance $\sigma^2$. When we take the mean of $z^2$ over the
# weights, the products of two different weights have mean zero, and only the squares are left:
#
# ```{math}
# :label: init-unit
# \mathbb{E}\Big[\Big(\sum_{i=1}^{d} h_i w_i\Big)^2\Big] = \sigma^2 \sum_{i=1}^{d} h_i^2 .
# ```
#
# So the mean square of the pre-activations is $d \sigma^2$ times the mean square of the $h_i$. Let $v_l$ be the mean
# square of the pre-activations in layer $l$, and $d_l$ the number of its units. In a wide network each pre-activation is a
# sum of many independent terms. So it is nearly normal, like $\sqrt{v_l}\,Z$ with a standard normal $Z$. The activation turns
# it into $h = \phi(\sqrt{v_l}\,Z)$. A mean over many units is close to its expectation. So in a wide layer the mean of the
# $h_i^2$ is close to $\mathbb{E}[\phi(\sqrt{v_l}\,Z)^2]$. In the same way, the mean square of the next pre-activations is close
# to its mean over the weights, which we have just computed. In the limit of very wide layers this gives, from layer $l - 1$ to
# layer $l$,
#
# ```{math}
# :label: init-forward
# v_l = d_{l-1}\, \sigma^2\, \mathbb{E}\big[\phi(\sqrt{v_{l-1}}\, Z)^2\big] .
# ```
#
# For the first layer, put the mean square of the inputs in place of the expectation. The expectation is an integral
# over the normal density. In code it is a weighted mean over a fine grid:

# %%
def gaussian_mean(f, v):
    """E f(sqrt(v) Z) for a standard normal Z."""
    z = torch.linspace(-8, 8, 1600, dtype=v.dtype)
    p = torch.softmax(-z**2 / 2, dim=0)              # exp(-z²/2), with sum 1
    return (p * f(v.sqrt() * z)).sum()

def next_v(phi, v, d, sigma):
    return d * sigma**2 * gaussian_mean(lambda z: phi(z) ** 2, v)

# %% [markdown]
# **ReLU: He initialization.** ReLU sets the negative half to zero and keeps the positive half, so
# $\mathbb{E}[\operatorname{relu}(\sqrt{v}\, Z)^2] = v/2$. Each layer multiplies $v$ by $d\sigma^2/2$. This factor is one
# if
#
# ```{math}
# :label: init-he
# \sigma^2 = \frac{2}{d_{l-1}} .
# ```
#
# This start is called **He initialization** {cite}`he2015delving`. The number $d_{l-1}$ of inputs of a unit is called its
# **fan-in**. For 100 inputs the standard deviation is $\sqrt{2/100} = 0.141$, the middle one of the three above.
#
# **tanh.** Near zero, $\tanh z$ is nearly $z$, so small numbers keep their size if $\sigma^2 = 1/d_{l-1}$. Large numbers
# become smaller, and {eq}`init-forward` says by how much. We draw 100 networks, and compare the predicted mean square with the
# median and the largest of the measured ones:

# %%
layers = {'ReLU': (relu, 0.02**0.5), 'tanh': (torch.tanh, 0.1)}
measured = {name: torch.zeros(50, 100) for name in layers}
for k in range(100):                          # one network after the other
    x, normals = draw(1, 100, seed=k)
    for name, (phi, sigma) in layers.items():
        zs = forward(x, [sigma * W for W in normals], phi)
        measured[name][:, k] = torch.stack(zs).square().mean((1, 2, 3))

# %%
predicted = {}
for name, (phi, sigma) in layers.items():
    v = [torch.tensor(100 * sigma**2)]        # x has the mean square 1
    while len(v) < 50:
        v.append(next_v(phi, v[-1], 100, sigma))
    predicted[name] = torch.stack(v)          # (50,)

# %%
for name in layers:
    for l in (1, 10, 50):
        v, nets = predicted[name][l - 1], measured[name][l - 1]
        print(f'{name}, layer {l:2}: predicted {v:.3g}, median'
              f' {nets.median():.3g}, largest {nets.max():.4g}')

# %% mystnb={"image": {"alt": "Two panels with logarithmic heights over the layers 1 to 50. ReLU: a flat orange line at 2, a blue line of medians that falls slowly below it, and a light blue band that widens to more than a factor 100 on the right. tanh: an orange line that falls from 1 to 0.01, steeply at first, with the blue line close to it and a narrower band."}} tags=["hide-input"]
fig, axes = panels(2, height=2.5, sharey=True)
for ax, name in zip(axes, layers, strict=True):
    low, middle, high = measured[name].quantile(torch.tensor([0.05, 0.5, 0.95]), dim=1)
    ax.fill_between(range(1, 51), low, high, color='C0', alpha=0.2, lw=0)
    ax.plot(range(1, 51), middle, color='C0', lw=1.5, label='median of 100 networks')
    ax.plot(range(1, 51), predicted[name], color='C1', lw=1.5, ls='--', label='predicted')
    ax.set(yscale='log', xlabel='layer', title=name, xlim=(1, 50))
axes[0].set_ylabel('mean square $v_l$')
axes[0].legend(loc='lower left', frameon=False);

# %% [markdown] tags=["caption"]
# The mean square of the pre-activations in 100 random networks of width 100. In each layer, ninety of them lie in the band. ReLU starts with
# $\sigma^2 = 2/100$, tanh with $\sigma^2 = 1/100$. For ReLU the prediction stays at 2, and most networks lie below it.

# %% [markdown]
# For tanh the predicted curve runs through the band. It falls, because tanh moves every number towards zero. But it hardly
# changes a small number, so the fall becomes slow: in 50 layers $v$ loses only a factor of about 100.
#
# For ReLU most networks fall below the prediction. Is the prediction wrong? No, it is exact for the *mean* over all networks:
#
# ```{prf:theorem} He initialization keeps the mean square
# :label: thm-init-he
# Let the weights of a ReLU network be independent and symmetric about zero, those of layer $l$ with variance
# $2/d_{l-1}$, and let the biases be zero. Then the mean over the weights of $\big(z_j^{(l)}\big)^2$ is
# $\frac{2}{d_0} \lVert\mathbf{x}\rVert^2$ for every layer $l$, every unit $j$ and every input $\mathbf{x}$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# For the first layer this is {eq}`init-unit` with $\mathbf{h} = \mathbf{x}$ and $\sigma^2 = 2/d_0$. Now let it hold for layer $l$.
# Change the sign of all weights into unit $j$: by symmetry this is an equally likely network, and $z_j^{(l)}$ changes its sign.
# Of $z$ and $-z$, ReLU keeps one, so $\operatorname{relu}(z)^2 + \operatorname{relu}(-z)^2 = z^2$, and the mean of
# $\big(h_j^{(l)}\big)^2$ is half the mean of $\big(z_j^{(l)}\big)^2$, that is $\lVert\mathbf{x}\rVert^2/d_0$. The next weights are independent of
# $\mathbf{h}^{(l)}$, so by {eq}`init-unit` the mean of $\big(z_k^{(l+1)}\big)^2$ is
# $\frac{2}{d_l} \cdot d_l \cdot \lVert\mathbf{x}\rVert^2/d_0$.
# ```
#
# The theorem holds for narrow layers, too. But a single network is not the mean. In a single network, each layer of width $m$
# multiplies the mean square by a random factor. The factor has the mean 1 and a variance of about $5/m$, because
# $2 \operatorname{relu}(Z)^2$ has the variance 5. For a large $m$ the factor is close to 1, so its logarithm is close to the
# factor minus 1, and has about the same variance. The logarithms of
# $L$ layers add up, so the logarithm of $v_L$ has a standard deviation of about $\sqrt{5L/m}$:

# %%
spread = measured['ReLU'][-1].log().std()
print(f'standard deviation of log v in layer 50: {spread:.2f},'
      f' formula {(5 * 50 / 100) ** 0.5:.2f}')

# %% [markdown]
# A random factor with mean 1 has a logarithm whose mean is below 0. Over many layers these logarithms add up to a nearly normal
# number with a mean below 0. So in most networks the mean square is below 2. A few networks with a much larger mean square
# keep the mean at 2. The spread grows with $L/m$: a deeper network needs wider layers for the same spread.
#
# ```{exercise} ★★ Pencil: leaky ReLU
# :label: init-leaky
# Leaky ReLU is $\phi(z) = z$ for $z \ge 0$ and $\phi(z) = az$ for $z < 0$. Which standard deviation of the weights keeps
# $v_l$ the same from layer to layer, if each unit has $d$ inputs? Write the answer as `leaky_std(a, d)`.
# ```

# %%
def leaky_std(a, d):
    """Standard deviation of the weights: float a >= 0, int d >= 1 -> float.

    leaky_std(0, 50) is 0.2, as for ReLU.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_torch(a, d):
    return nn.init.calculate_gain('leaky_relu', a) / d**0.5

leaky_cases = dict(a=on(0.0, 1.0, 5**0.5) | scalars(0, 3), d=on(1) | integers(1, 1000))
grade(leaky_std, by_torch, **leaky_cases)

# %% [markdown]
# ```{solution-start} init-leaky
# :class: dropdown
# ```
# The negative half now gives $a^2 v/2$ in place of 0, so the expectation is $(1 + a^2) v/2$, and $\sigma^2 =
# \frac{2}{(1 + a^2) d}$. For $a = 1$ there is no nonlinearity, and $\sigma^2 = 1/d$. The wrong answers give the variance
# in place of the standard deviation, ignore $a$, and add $a$ in place of $a^2$.

# %% jupyter={"source_hidden": true}
def leaky_std_solution(a, d):
    return (2 / ((1 + a**2) * d)) ** 0.5

def leaky_variance(a, d):
    return 2 / ((1 + a**2) * d)

def ignores_the_slope(a, d):
    return (2 / d) ** 0.5

def slope_not_squared(a, d):
    return (2 / ((1 + a) * d)) ** 0.5

assert grade(leaky_std_solution, by_torch, **leaky_cases)
assert not grade(leaky_variance, by_torch, **leaky_cases)
assert not grade(ignores_the_slope, by_torch, **leaky_cases)
assert not grade(slope_not_squared, by_torch, **leaky_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Program: let a batch choose the scale
# :label: init-rescale
# The formulas need the expectation of $\phi^2$. There is another way: look at the data. Write `rescaled(X, Ws,
# phi)`. It multiplies each matrix by a positive number. Choose these numbers, one for each matrix, such that in the network
# with the *new* matrices the pre-activations of every layer have the mean square 1. The mean is over the batch $\mathbf{X}$ and
# the units of the layer.
# ```

# %%
def rescaled(X, Ws, phi):
    """The new matrices: (n, d_0) and a list of (d_{l-1}, d_l) -> a list.

    All float64 tensors; phi is applied after every layer. None of Ws changes.
    rescaled(torch.ones(1, 1), [torch.tensor([[4.0]])], relu) is [[[1.0]]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_layers(X, Ws, phi):
    new = []
    for W in Ws:
        z = forward(X, [*new, W], phi)[-1].numpy()
        new.append(torch.tensor(W.numpy() * (z.size**0.5 / np.linalg.norm(z))))
    return new

def random_net(widths, seed):
    g = torch.Generator().manual_seed(seed)
    return [torch.randn(a, b, generator=g) * 3 for a, b in zip(widths, widths[1:], strict=False)]

rescale_cases = dict(
    X=lambda Ws: integers(1, 4).map(lambda n: torch.linspace(-1, 2, n * len(Ws[0])).reshape(n, -1)),
    Ws=lists(integers(2, 5), 2, 5).flatmap(lambda widths: seeds().map(lambda seed: random_net(widths, seed))),
    phi=on(torch.tanh, torch.sigmoid, torch.sin),
)
grade(rescaled, by_layers, tries=40, **rescale_cases)

# %% [markdown]
# ```{solution-start} init-rescale
# :class: dropdown
# ```
# Go through the network once, divide each matrix by the size of its pre-activations, and go on with the new
# pre-activations. The wrong answers go on with the old ones, divide by the mean square in place of its root, and measure
# the weights in place of the pre-activations. In practice the first batch of the training data is used {cite}`mishkin2016all`.

# %% jupyter={"source_hidden": true}
def rescaled_solution(X, Ws, phi):
    new, h = [], X
    for W in Ws:
        size = (h @ W).square().mean().sqrt()
        new.append(W / size)
        h = phi(h @ new[-1])
    return new

def from_the_old_network(X, Ws, phi):
    return [W / z.square().mean().sqrt() for W, z in zip(Ws, forward(X, Ws, phi), strict=True)]

def by_the_square(X, Ws, phi):
    new, h = [], X
    for W in Ws:
        new.append(W / (h @ W).square().mean())
        h = phi(h @ new[-1])
    return new

def by_the_weights(X, Ws, phi):
    return [W / (len(W) * W.square().mean()).sqrt() for W in Ws]

assert grade(rescaled_solution, by_layers, tries=40, **rescale_cases)
assert not grade(from_the_old_network, by_layers, tries=40, **rescale_cases)
assert not grade(by_the_square, by_layers, tries=40, **rescale_cases)
assert not grade(by_the_weights, by_layers, tries=40, **rescale_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def by_quad(phi, v):
    f = lambda z: float(getattr(torch, phi)(torch.tensor(v**0.5 * z))) ** 2 * stats.norm.pdf(z)
    return integrate.quad(f, -9, 0, limit=200)[0] + integrate.quad(f, 0, 9, limit=200)[0]

def by_grid(phi, v):
    return gaussian_mean(lambda z: getattr(torch, phi)(z) ** 2, torch.tensor(v))

verify(
    'the weighted mean over the grid is the integral of scipy',
    lambda phi, v: close(by_grid(phi, v), by_quad(phi, v), rtol=1e-5),
    slip=('forgets the root of v', lambda phi, v: close(by_grid(phi, v**2), by_quad(phi, v), rtol=1e-5)),
    phi=['relu', 'tanh', 'sigmoid'], v=[0.001, 0.3, 1.0, 20.0],
)

def in_band(name, l, nets, curve):
    low, high = nets[name][l - 1].quantile(torch.tensor([0.05, 0.95]))
    return bool(low < curve[l - 1] < high)

verify(
    'the prediction lies in the band of nine tenths of the networks, in each of the 50 layers',
    lambda name, l: in_band(name, l, measured, predicted[name]),
    slip=('takes tanh for the identity', lambda name, l: in_band(name, l, measured, torch.full((50,), predicted[name][0]))),
    name=['ReLU', 'tanh'], l=list(range(1, 51)),
)

def mean_over_signs(width, variance):  # of z² in layer 2 of ReLU: 2 -> width -> 1, over all signs of all weights
    x, sizes = torch.tensor([[1.0, 0.5]]), (variance(2) ** 0.5, variance(width) ** 0.5)
    signs = torch.tensor(list(product([-1.0, 1.0], repeat=3 * width)))
    Ws = [sizes[0] * signs[:, :2 * width].reshape(-1, 2, width), sizes[1] * signs[:, 2 * width:].reshape(-1, width, 1)]
    return forward(x, Ws, relu)[-1].square().mean()

verify(
    'with random signs, variance 2/d keeps the mean square of ReLU layers exactly, however narrow they are',
    lambda width: close(mean_over_signs(width, lambda d: 2 / d), 1.25),
    slip=('takes the variance 1/d', lambda width: close(mean_over_signs(width, lambda d: 1 / d), 1.25)),
    width=[1, 2, 3, 4],
)
verify(
    'the logarithm of v has a standard deviation of about the root of 5 L / m, and most networks lie below the mean',
    lambda l: bool(0.8 < measured['ReLU'][l - 1].log().std() / (5 * l / 100) ** 0.5 < 1.2
                   and measured['ReLU'][l - 1].median() < measured['ReLU'][l - 1].mean()),
    slip=('takes the variance 5 l / m for the standard deviation',
          lambda l: bool(0.8 < measured['ReLU'][l - 1].log().std() / (5 * l / 100) < 1.2)),
    l=[10, 25, 50],
)

# %% [markdown]
# ## Backward: the gradient, and Xavier's compromise
#
# The gradient, too, is multiplied by a factor in each layer, but in the other direction. The unit $h_i$ of layer $l - 1$ acts on the loss $\mathcal{L}$ through all $d_l$
# units of the next layer, so the chain rule says $\frac{\partial \mathcal{L}}{\partial h_i} = \sum_{j=1}^{d_l}
# \frac{\partial \mathcal{L}}{\partial z_j} w_{ij}$. This is again a sum with random weights, but now with $d_l$ terms. The
# number $d_l$ of units that a unit acts on is called the **fan-out**.

# %% mystnb={"image": {"alt": "Two pictures of three circles on the left and five circles on the right. Left picture: three blue arrows run into one unit on the right. Right picture: five orange arrows run back from the five units to one unit on the left."}} tags=["hide-input"]
fig, axes = panels(2, height=2.2)
spots = [[(0.0, k - 1.0) for k in range(3)], [(2.4, 0.8 * k - 1.6) for k in range(5)]]
pictures = [('forward: fan-in $d_{l-1} = 3$', [(i, 2) for i in range(3)], 'C0'),
            ('backward: fan-out $d_l = 5$', [(1, j) for j in range(5)], 'C1')]
for ax, (words, arrows, colour) in zip(axes, pictures, strict=True):
    for x, y in sum(spots, []):
        ax.add_patch(plt.Circle((x, y), 0.2, fc='none', ec=GREY, lw=1.3))
    for i, j in arrows:
        start, end = (spots[0][i], spots[1][j]) if colour == 'C0' else (spots[1][j], spots[0][i])
        away = 0.25 * np.subtract(end, start) / np.hypot(*np.subtract(end, start))
        ax.annotate('', end - away, start + away, arrowprops={'arrowstyle': '->', 'color': colour, 'lw': 1.4})
    ax.text(0, -2.35, r'$\mathbf{h}^{(l-1)}$: 1 × 3', ha='center', fontsize=9)
    ax.text(2.4, -2.35, r'$\mathbf{z}^{(l)}$: 1 × 5', ha='center', fontsize=9)
    ax.text(1.2, 2.1, words, ha='center', fontsize=10, color=colour)
    ax.set(xlim=(-0.8, 3.2), ylim=(-2.6, 2.5), aspect='equal')
    ax.axis('off')

# %% [markdown] tags=["caption"]
# One matrix $\mathbf{W}^{(l)}$ of shape 3 × 5, used in both directions. Forward, each pre-activation is a sum of as many terms as
# the layer has inputs. Backward, each derivative is a sum of as many terms as the layer has outputs.

# %% [markdown]
# Let $u_l$ be the mean square of the derivatives $\partial \mathcal{L} / \partial z_j^{(l)}$. From $h_i$ back to $z_i$ the chain rule multiplies by
# the slope $\phi'(z_i)$. We pretend that the weights are independent of the derivatives and of the slopes. Then
#
# ```{math}
# :label: init-backward
# u_{l-1} = d_l\, \sigma^2\, \mathbb{E}\big[\phi'(\sqrt{v_{l-1}}\, Z)^2\big]\, u_l .
# ```
#
# This is an approximation: the derivatives depend on the pre-activations, and these were computed with the same weights. We
# shall measure how good it is. The
# slope of ReLU is 1 for half of the numbers and 0 for the others, so the factor is $d_l \sigma^2/2$. It is the forward
# factor, with the fan-out in place of the fan-in.
#
# Where the slope is nearly 1, as for tanh near zero, the forward factor is $d_{l-1} \sigma^2$ and the backward factor
# is $d_l \sigma^2$. If the widths differ, the two factors cannot both be one. As a compromise **Xavier initialization**
# {cite}`glorot2010understanding` makes their mean one:
#
# ```{math}
# :label: init-xavier
# \sigma^2 = \frac{2}{d_{l-1} + d_l} .
# ```
#
# A layer with 100 inputs and 400 outputs gets $\sigma^2 = \frac{2}{500}$. Forward it multiplies the mean square by $100 \cdot \frac{2}{500} = 0.4$,
# backward by $400 \cdot \frac{2}{500} = 1.6$.
#
# The weights need not be normal, because only their variance stands in these formulas. Numbers that are uniform between $-c$ and $c$ have the variance $c^2/3$. So uniform weights
# have the variance of Xavier initialization if
#
# ```{math}
# :label: init-bound
# c = \sqrt{3}\, \sigma = \sqrt{\frac{6}{d_{l-1} + d_l}} .
# ```
#
# Now we measure the gradient. We take a random row $\mathbf{r}$ as the derivative with respect to $\mathbf{z}^{(50)}$ and send it
# back to $\mathbf{z}^{(1)}$ with autograd. By which factor has its length changed? We take the mean of $\log_{10}$ of this
# factor over ten networks, and print it as a power of ten:

# %%
def gradient_power(x, Ws, phi, r):    # log10 of |layer 1| / |layer 50|
    zs = forward(x.requires_grad_(), Ws, phi)
    (first,) = torch.autograd.grad(zs[-1], zs[0], r)
    return (first.norm(dim=-1) / r.norm(dim=-1)).log10().mean()

# %%
def predicted_power(phi, slope, sigma, m=100, layers=50):
    v, u = torch.tensor(m * sigma**2), 1.0
    for _ in range(layers - 1):
        u *= m * sigma**2 * gaussian_mean(lambda z: slope(z) ** 2, v)
        v = next_v(phi, v, m, sigma)
    return (u.log10() / 2).round(decimals=6) + 0.0   # 0.0, not -0.0

# %%
def sigmoid_slope(z):
    return torch.sigmoid(z) * torch.sigmoid(-z)

activations = {'ReLU': (relu, lambda z: (z > 0).to(z), 0.02**0.5),
               'tanh': (torch.tanh, lambda z: 1 - z.tanh() ** 2, 0.1),
               'sigmoid': (torch.sigmoid, sigmoid_slope, 0.1)}

# %%
x, normals = draw(10, 100, seed=2)
r = torch.randn(10, 1, 100, generator=torch.Generator().manual_seed(3))
powers = {}
for name, (phi, slope, rule) in activations.items():
    for sigma in (0.01, rule, 1.0):
        power = gradient_power(x, [sigma * W for W in normals], phi, r)
        powers[name, sigma] = power, predicted_power(phi, slope, sigma)
        print(f'{name:7} standard deviation {sigma:5.3g}: measured'
              f' 10^{power:.3g}, predicted 10^{powers[name, sigma][1]:.3g}')

# %% [markdown]
# (dl.init.mitigate)=
# The middle row of ReLU is He initialization, and that of tanh is Xavier initialization. In these two rows the gradient
# keeps its size to within about a factor 10 through 50 layers. In the other rows of ReLU and tanh it shrinks or grows by
# 16 powers of ten or more. The predicted exponents are at most about 0.5 too high, which is a factor of about 3. Only for tanh
# with the standard deviation 1 is the exponent about 2 too high.
#
# For the sigmoid Xavier initialization fails: it assumes a slope near 1, and the slope of the sigmoid is at most
# $\frac14$. With the standard deviation 1, the large weights make up for the small slopes, but at a price:

# %%
zs = forward(x, normals, torch.sigmoid)
h = torch.sigmoid(torch.stack(zs[:-1])).detach()
flat = ((h < 0.01) | (h > 0.99)).double().mean()
print(f'sigmoid units within 0.01 of zero or one: {flat:.0%}')

# %% [markdown]
# Near zero and near one the sigmoid is flat, so these units hardly react to their inputs. What such gradients do to training is the subject of
# [vanishing and exploding gradients](vanishing_and_exploding_gradients.ipynb).
#
# ```{exercise} ★★ Experiment: the gradients of the weights
# :label: init-weights
# So far we have compared derivatives with respect to the pre-activations. Gradient descent needs those with respect to
# the *weights*. Take a ReLU network of 50 layers of width 100, and let $\mathcal{L}$ be the sum of the last pre-activations.
# How long is $\partial \mathcal{L}/\partial \mathbf{W}^{(1)}$, compared with $\partial \mathcal{L}/\partial \mathbf{W}^{(50)}$?
# Let $R$ be the first length divided by the second. Predict $\log_{10} R$, with
# an error of at most 1, for the standard deviations 0.01, $\sqrt{2/100}$ and 1. Then run the grader and explain.
# ```

# %%
def predicted_logs():
    """log10 of R for 0.01, for He and for 1: three floats."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
@cache
def weight_logs(phi=relu):
    x, normals = draw(10, 100, seed=4)
    logs = []
    for sigma in (0.01, 0.02**0.5, 1.0):
        Ws = [(sigma * W).requires_grad_(k in (0, 49)) for k, W in enumerate(normals)]
        first, last = torch.autograd.grad(forward(x, Ws, phi)[-1].sum(), [Ws[0], Ws[-1]])
        logs.append(float((first.norm(dim=(1, 2)) / last.norm(dim=(1, 2))).log10().mean()))
    return logs

def is_measured(said):
    if len(said) != 3:
        raise ValueError('give three numbers')
    for name, guess, log in zip(('0.01', 'He', '1'), said, weight_logs(), strict=True):
        if not abs(guess - log) <= 1:
            raise ValueError(f'another number is measured for {name}; try it')
    return True

grade(lambda: is_measured(predicted_logs()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} init-weights
# :class: dropdown
# ```
# The ratio is about 1 for every standard deviation. The gradient of $\mathbf{W}^{(l)}$ is a product of two things: the layer
# $\mathbf{h}^{(l-1)}$ before the weights and the derivative with respect to $\mathbf{z}^{(l)}$ after them. With small
# weights the first layer has a large input and a tiny derivative, the last layer a tiny input and a large derivative. For ReLU each
# layer multiplies both by about the same factor, so the products are equal. They are *all* tiny, or all huge. So do not
# judge a ReLU network by comparing the gradients of its weights between layers. The wrong answers take the derivatives
# of the pre-activations, turn them round, and expect a difference for small weights only.

# %% jupyter={"source_hidden": true}
right_logs = [0, 0, 0]
assert grade(lambda: is_measured(right_logs), lambda: True, [()])
assert not grade(lambda: is_measured([-57, 0, 41]), lambda: True, [()])
assert not grade(lambda: is_measured([57, 0, -41]), lambda: True, [()])
assert not grade(lambda: is_measured([-57, 0, 0]), lambda: True, [()])
print('measured', ', '.join(f'{abs(log):.1f}' for log in weight_logs()))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def keeps_gradient(name, sigma):  # within two powers of ten, through 50 layers
    return bool(abs(powers[name, sigma][0]) < 2)

holds(
    'dl.init.mitigate',
    lambda name: keeps_gradient(name, activations[name][2])
    and not any(keeps_gradient(name, sigma) for sigma in (0.01, 1.0)),
    slip=('starts with the standard deviation 0.01', lambda name: keeps_gradient(name, 0.01)),
    name=['ReLU', 'tanh'],
)
verify(
    'the predicted and the measured power of ten of the gradient differ by less than 3',
    lambda name, k: bool(abs(torch.subtract(*powers[name, (0.01, activations[name][2], 1.0)[k]])) < 3),
    slip=('takes the slope for 1', lambda name, k: bool(abs(
        powers[name, (0.01, activations[name][2], 1.0)[k]][0]
        - predicted_power(activations[name][0], torch.ones_like, (0.01, activations[name][2], 1.0)[k])) < 3)),
    name=list(activations), k=[0, 1, 2],
)
verify(
    'Xavier initialization of sigmoid units loses more than 20 powers of ten, and with standard deviation 1 '
    'more than a third of the units are nearly zero or one',
    lambda sigma: bool(powers['sigmoid', sigma][0] < -20 and flat > 1 / 3),
    slip=('says so of the standard deviation 1', lambda sigma: bool(powers['sigmoid', 10 * sigma][0] < -20)),
    sigma=[0.1],
)

def uniform_variance(d_in, d_out, a):
    return stats.uniform(-a, 2 * a).var(), 2 / (d_in + d_out)

def within(fill, d_in, d_out, a):  # are the largest of so many numbers just below a?
    return bool(0.98 * a < fill(torch.empty(d_out, d_in)).abs().max() <= a)

verify(
    'uniform numbers within the bound of Xavier have the variance of Xavier, and torch takes the same bound',
    lambda d_in, d_out: close(*uniform_variance(d_in, d_out, (6 / (d_in + d_out)) ** 0.5)) and within(
        nn.init.xavier_uniform_, d_in, d_out, (6 / (d_in + d_out)) ** 0.5),
    slip=('takes the standard deviation for the bound',
          lambda d_in, d_out: close(*uniform_variance(d_in, d_out, (2 / (d_in + d_out)) ** 0.5))),
    d_in=[100, 300], d_out=[100, 400],
)

# %% [markdown]
# ## In PyTorch: the default, nn.init, and ten layers on digits
#
# A new `nn.Linear` already has random weights and biases. Which ones? We read off the largest and smallest weight and
# compare them with one over the root of the fan-in:

# %%
torch.manual_seed(0)
layer = nn.Linear(100, 50)               # weight (50, 100), bias (50,)
print(f'weights {layer.weight.min():.3f} to {layer.weight.max():.3f},'
      f' standard deviation {layer.weight.std():.3f}')
print(f'biases  {layer.bias.min():.3f} to {layer.bias.max():.3f}')
print(f'1 / root of the fan-in {100**-0.5:.3f},'
      f' divided by the root of 3: {300**-0.5:.3f}')

# %% [markdown]
# The default is uniform between $-1/\sqrt{d_{l-1}}$ and $1/\sqrt{d_{l-1}}$, for weights and biases. So $\sigma^2 =
# \frac{1}{3 d_{l-1}}$, and $d_{l-1} \sigma^2 = \frac13$.
#
# :::{admonition} A tempting mistake
# :class: warning
# The source code of `nn.Linear` calls `kaiming_uniform_(self.weight, a=math.sqrt(5))`. Kaiming is the first name of He,
# so it looks as if the default were He initialization. But `a` is the slope of a leaky ReLU. Such a unit needs $\sigma^2 =
# \frac{2}{(1 + a^2) d_{l-1}}$, as the first exercise shows. With $a = \sqrt5$ this is $\frac{1}{3 d_{l-1}}$, the default, and
# one sixth of what ReLU needs. So with ReLU and the default each layer after the first divides the mean square by 6, apart from what the biases add. Ten layers
# divide it by $6^9 \approx 1.0 \cdot 10^{7}$.
# :::
#
# To choose another start, call a function of `nn.init`. Its name ends with an underscore, because it overwrites the tensor
# that it is given. `model.apply(he)` calls the function `he` on each part of the model:

# %%
def he(part):
    if isinstance(part, nn.Linear):
        nn.init.kaiming_normal_(part.weight, nonlinearity='relu')
        nn.init.zeros_(part.bias)

def network(depth, m=50):                # 196 -> m -> ... -> m -> 10
    widths = [196] + [m] * (depth - 1) + [10]
    parts = []
    for d, m in zip(widths, widths[1:]):
        parts += [nn.Linear(d, m), nn.ReLU()]
    return nn.Sequential(*parts[:-1])    # no ReLU at the end

model = network(10)
model.apply(he)
print(f'first layer {model[0].weight.std():.3f}, He {(2 / 196)**0.5:.3f};'
      f' second {model[2].weight.std():.3f}, He {(2 / 50)**0.5:.3f}')

# %% [markdown]
# `nn.init` reads the fan-in off the shape of the weight. It expects the order of `nn.Linear`, (outputs, inputs). If you give it
# a matrix in the order of our formulas, (inputs, outputs), it takes the number of outputs for the fan-in.
#
# Now we train. The digits of MNIST are made smaller, to $14 \times 14$ pixels, and get mean 0 and variance 1. The network
# has ten layers. We compare four starts, all with zero biases except for the default:

# %%
def small_digits(part):
    x, y, _ = data.mnist(part)
    squares = torch.tensor(x).reshape(-1, 1, 28, 28)
    x = F.avg_pool2d(squares, 2).flatten(1)      # (n, 196)
    return (x - x.mean()) / x.std(), torch.tensor(y)

X, y = small_digits('train')                     # (4000, 196)
X_test, y_test = small_digits('test')            # (1000, 196)
print(len(X), 'digits for training,', len(X_test), 'for the test')

# %%
def start(fill):                         # as he, with another function
    def init(part):
        if isinstance(part, nn.Linear):
            fill(part.weight)
            nn.init.zeros_(part.bias)
    return init

starts = {'std 0.01': start(lambda W: nn.init.normal_(W, std=0.01)),
          'default': lambda part: None,  # leave it as it is
          'Xavier': start(nn.init.xavier_normal_),
          'He': he}

# %% mystnb={"image": {"alt": "A row of boxes with arrows between them: x of shape 1 by 196, h1 of shape 1 by 50, h2 of shape 1 by 50, dots, h9 of shape 1 by 50, o of shape 1 by 10. Above the arrows stand the weights, W1 196 by 50, W2 50 by 50 and W10 50 by 10."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 0.95))
boxes = [(0, r'$\mathbf{x}$', '1 × 196'), (2, r'$\mathbf{h}^{(1)}$', '1 × 50'), (4, r'$\mathbf{h}^{(2)}$', '1 × 50'),
         (7, r'$\mathbf{h}^{(9)}$', '1 × 50'), (9, r'$\mathbf{o}$', '1 × 10')]
for at, name, shape in boxes:
    ax.text(at, 0, name, ha='center', va='center', fontsize=10, bbox={'boxstyle': 'round', 'fc': 'none', 'ec': 'C0'})
    ax.text(at, -1.15, shape, ha='center', fontsize=8.5)
weights = (0.45, 1.5, '196 × 50'), (2.5, 3.5, '50 × 50'), (4.5, 5.2, ''), (5.8, 6.5, ''), (7.5, 8.55, '50 × 10')
for start_at, end_at, words in weights:
    ax.annotate('', (end_at, 0), (start_at, 0), arrowprops={'arrowstyle': '->', 'color': GREY})
    ax.text((start_at + end_at) / 2, 0.45, words, ha='center', fontsize=8.5)
ax.text(5.5, 0, '…', ha='center', va='center')
ax.set(xlim=(-0.7, 9.7), ylim=(-1.5, 1.1))
ax.axis('off');

# %% [markdown] tags=["caption"]
# The ten layers. Above the arrows: the shapes of the first two weights and of the last one, $\mathbf{W}^{(1)}$, $\mathbf{W}^{(2)}$ and $\mathbf{W}^{(10)}$.

# %% [markdown]
# Can the last layer tell the digits apart, before any training? For each unit we take the standard deviation of its
# pre-activation over the test digits. We print the mean over the units of a layer:

# %%
for name, init in starts.items():
    torch.manual_seed(0)
    model, h, apart = network(10), X_test, []
    model.apply(init)
    for part in model:
        h = part(h)
        if isinstance(part, nn.Linear):
            apart.append(h.std(0).mean().item())
    print(f'{name:8} layers 1, 5, 10:',
          '  '.join(f'{apart[l - 1]:.2e}' for l in (1, 5, 10)))

# %% [markdown]
# With the default, the outputs of the last layer are the same for all digits, up to about $10^{-4}$.
#
# We train from each start with cross-entropy, [momentum](../optimization/momentum.ipynb) and four learning rates. A run is one
# pass through the training digits, in 63 batches. `fit` takes the usual steps for each batch: `zero_grad`, `backward`, `step`.
# We print the share of test digits that the trained network gets right. We choose the learning rate by the training loss, as a
# mean over the last nine batches, and not by the test digits. So it need not be the rate with the largest share. With this rate
# we train from two more seeds.

# %%
@cache
def run(name, lr, seed, depth=10, clip=None):
    torch.manual_seed(seed)                          # the start
    model = network(depth)
    model.apply(starts[name])
    g = torch.Generator().manual_seed(seed)          # the order of the digits
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    losses = fit(model, F.cross_entropy, optimizer,
                 batches(g, 64, X, y), clip=clip)
    with torch.no_grad():
        hit = model(X_test).argmax(1) == y_test
    return hit.double().mean().item(), losses

# %%
rates, best = (0.01, 0.03, 0.1, 0.3), {}

def sweep(name, depth=10):               # shares, index of the best rate
    swept = [run(name, lr, 0, depth) for lr in rates]
    ends = [losses[-9:].mean().nan_to_num(torch.inf) for _, losses in swept]
    return [share for share, _ in swept], ends.index(min(ends))

for name in starts:
    shares, k = sweep(name)
    best[name] = rates[k]
    print(f'{name:8} learning rates {rates}:',
          '  '.join(f'{share:.0%}' for share in shares))

# %%
runs = {name: [run(name, best[name], seed) for seed in range(3)]
        for name in starts}
for name in starts:
    shares = [share for share, _ in runs[name]]
    print(f'{name:8} best rate {best[name]:4}, three seeds:'
          f' {min(shares):.0%} to {max(shares):.0%}')
shares, k = sweep('default', depth=1)
print(f'softmax regression, best rate {rates[k]}: {shares[k]:.0%}')

# %% mystnb={"image": {"alt": "Loss over 63 steps. Two lines, std 0.01 and default, stay flat at 2.3. The line of Xavier falls later, that of He falls at once and ends lowest."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.6, 2.6))
for name, colour, style in (('std 0.01', GREY, '-'), ('default', 'C3', '--'), ('Xavier', 'C0', '-'), ('He', 'C1', '-')):
    mean = torch.stack([losses for _, losses in runs[name]]).mean(0)
    ax.plot(range(5, 63, 9), mean.reshape(7, 9).mean(1), color=colour, ls=style, lw=1.6)
ax.text(40, 2.38, 'std 0.01 and default', color='C3')
ax.text(54, 1.88, 'Xavier', color='C0')
ax.text(54, 1.1, 'He', color='C1')
ax.set(xlabel='training step', ylabel='cross-entropy', xlim=(0, 63), ylim=(0, 2.7));

# %% [markdown] tags=["caption"]
# The training loss of ten layers from four starts, each at its best learning rate, as a mean over three seeds and nine steps. With
# the standard deviation 0.01 and with the default, the loss stays at $\log 10 = 2.3$, the loss of guessing.

# %% [markdown]
# With the standard deviation 0.01 and with the default, the network is right for one digit in ten, as if it guessed, at all four
# learning rates. From Xavier initialization it learns, although each ReLU layer then halves the mean square where the widths
# are equal. From He initialization it gets further in these 63 steps, if each start has its own best rate: the worst of its
# three runs is better than the best one from Xavier
# initialization. Softmax regression, which is a single layer, is still better after so few steps. We use ten layers only to
# show what the start does.
#
# (dl.default-init.default)=
# So is the default bad? Not for a few layers. We train three layers at the learning rate 0.03:

# %%
three = {name: [run(name, 0.03, seed, depth=3)[0] for seed in range(3)]
         for name in ('default', 'He')}
for name, shares in three.items():
    print(f'three layers, {name:7}: {min(shares):.0%} to {max(shares):.0%}')

# %% [markdown]
# From the default the network learns here, though at this rate He initialization is ahead.
#
# A good start is not all. At the learning rate 0.1 the
# ten layers do badly even from He initialization. *Gradient clipping* helps: in each step, if the gradient of all parameters together is longer than 1, it is
# shortened to the length 1. In PyTorch, `nn.utils.clip_grad_norm_(model.parameters(), 1.0)` does so after
# `loss.backward()`.

# %%
clipped = {clip: [run('He', 0.1, seed, clip=clip)[0] for seed in range(3)]
           for clip in (None, 1.0)}
for name, clip in ('without clipping', None), ('with clipping', 1.0):
    print(f'He, rate 0.1, {name}:'
          f' {min(clipped[clip]):.0%} to {max(clipped[clip]):.0%}')

# %% tags=["checks"]
def default_bound(d, times):  # do the weights and biases of a new layer fill this interval?
    layer = nn.Linear(d, 200)
    return all(0.9 < p.abs().max() / (times * d**-0.5) <= 1 for p in layer.parameters())

verify(
    'a new nn.Linear has weights and biases between plus and minus one over the root of the fan-in',
    lambda d: default_bound(d, 1),
    slip=("takes the bound of He's uniform numbers", lambda d: default_bound(d, 6**0.5)),
    d=[20, 100, 500],
)
verify(
    'kaiming_normal_ has the standard deviation of He, for the fan-in in the second place of the shape',
    lambda d: bool(abs(nn.init.kaiming_normal_(torch.empty(200, d), nonlinearity='relu').std() / (2 / d) ** 0.5 - 1) < 0.1),
    slip=('takes the first place', lambda d: bool(
        abs(nn.init.kaiming_normal_(torch.empty(d, 200), nonlinearity='relu').std() / (2 / d) ** 0.5 - 1) < 0.1)),
    d=[20, 50, 800],
)

def shares_of(name):
    return [share for share, _ in runs[name]]

verify(
    'of four starts of ten layers, He learns best, then Xavier, and the other two guess',
    lambda worse, better: max(shares_of(worse)) < min(shares_of(better)),
    slip=('puts Xavier above He', lambda worse, better: max(shares_of(better)) < min(shares_of(worse))),
    worse=['std 0.01', 'default', 'Xavier'], better=['He'],
)
verify(
    'with the standard deviation 0.01 and with the default ten layers are right for one digit in ten, at each of the rates',
    lambda name, bound: max(shares_of(name) + sweep(name)[0]) < bound,
    slip=('says so of Xavier', lambda name, bound: max(shares_of('Xavier') + sweep('Xavier')[0]) < bound),
    name=['std 0.01', 'default'], bound=[0.15],
)
holds(
    'dl.default-init.default',
    lambda depth: min(three['default']) > 0.75 if depth == 3 else max(shares_of('default')) < 0.15,
    slip=('expects the same of ten layers',
          lambda depth: min(three['default'] if depth == 3 else shares_of('default')) > 0.75),
    depth=[3, 10],
)
verify(
    'at the learning rate 0.1 each run with clipped gradients is better than each run without',
    lambda worse, better: max(clipped[worse]) < min(clipped[better]),
    slip=('says that clipping does harm', lambda worse, better: max(clipped[better]) < min(clipped[worse])),
    worse=[None], better=[1.0],
)

# %% [markdown]
# ## Summary
#
# Forward, each layer multiplies the mean square by a factor: fan-in times $\sigma^2$ times the share of the mean square that the
# activation keeps. Backward, the factor is fan-out times $\sigma^2$ times the mean square of the slope. He initialization,
# $\sigma^2 = 2/d_{l-1}$, makes the forward factor one for ReLU, and between layers of equal width the backward factor, too. Xavier initialization, $\sigma^2 = 2/(d_{l-1} + d_l)$, is the
# compromise for activations with slope one at zero. Between layers of equal width the default of `nn.Linear` is smaller than
# both. From the default our network of three layers learned. Our network of ten layers learned only from Xavier and from He
# initialization.
#
# **Further reading.** {cite:t}`zhang2023dive`, section 5.4, is a short way in. {cite:t}`prince2023understanding`, chapter
# 7, derives He initialization with all steps. {cite:t}`he2015delving`, section 2.2, is easy to read in the original.
# {cite:t}`hanin2018start` prove what the band above shows: the spread grows with depth divided by width.
