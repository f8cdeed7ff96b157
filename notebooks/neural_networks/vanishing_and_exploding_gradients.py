# ---
# jupyter:
#   book:
#     functions:
#       sigmoid_slope: "sigmoid_slope(normal(5))"
#       jacobian_product: "jacobian_product(normal(3), [normal(3, 4), normal(4, 2)], [normal(4), normal(2)], torch.sigmoid, sigmoid_slope)"
#     main: gradients-jacobians
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Vanishing and exploding gradients
#
# Take a chain of ten sigmoid units, and let all weights be 1. The slope of the sigmoid is at most $\frac14$, so each unit
# passes on at most a quarter of a small change. If you move the input a little, less than one millionth of the movement
# arrives at the output. How does a gradient depend on the depth of a network, and what does that do to training?
#
# - **You need** [hidden layers](hidden_layers.ipynb), [Jacobians](../calculus/jacobians.ipynb),
#   [the chain rule](../calculus/chain_rule.ipynb), the [spectral norm](../linear_algebra/norms.ipynb) and the
#   [Gaussian distribution](../probability/gaussian_distribution.ipynb).
# - **You build** a gradient as a product, its exact growth rate, and gradient clipping.
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
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import brentq
from scipy.special import polygamma, psi
from torch import nn

from nbutils import data
from nbutils.cases import integers, on, scalars, seeds
from nbutils.checks import below, close, grade, verify
from nbutils.figures import GREY, panels

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the matrices are small: a second thread would mostly wait
torch.set_printoptions(precision=4, sci_mode=False)
plt.style.use('nbutils.book')

# %% [markdown]
# ## The gradient of a deep network is a product of Jacobians
#
# Put $L$ units in a row. Unit $l$ computes $z^{(l)} = w\,h^{(l-1)}$ and $h^{(l)} = \phi(z^{(l)})$, from
# the input $h^{(0)} = x$. By the chain rule, unit $l$ contributes the factor $w\,\phi'(z^{(l)})$ to the derivative of the
# output with respect to $x$. We take sigmoid units, $\sigma(z) = 1/(1 + e^{-z})$, with $w = 1$ and $x = 1$.

# %%
def sigmoid_slope(z):
    s = torch.sigmoid(z)
    return s * (1 - s)

def chain_factors(x, w, phi, slope, L):
    h, factors = x, []
    for _ in range(L):
        z = w * h
        factors.append(w * slope(z))
        h = phi(z)
    return torch.stack(factors)  # (L,)

# %%
x = torch.tensor(1.0)
for L in (2, 6, 10):
    first = chain_factors(x, 1.0, torch.sigmoid, sigmoid_slope, L)
    print(f'{L:2} units: derivative {first.prod():.8f}')

# %% [markdown]
# With each further unit the derivative gets at least four times smaller. This is a **vanishing gradient**. The figure shows
# the factors of six units, and their products from the output back to the input, in the order of backpropagation.

# %% mystnb={"image": {"alt": "Seven circles in a row, x, h1 to h6, joined by arrows to the right. Above each arrow stands a factor, 0.20 at the first and 0.22 at the later ones. Below the circles stand the products, from 1 at the right end down to 0.00011 at the left end."}} tags=["hide-input"]
six = first[:6]
left_over = [six[l:].prod().item() for l in range(6)] + [1.0]
fig, ax = plt.subplots(figsize=(5.2, 1.55))
for l, share in enumerate(left_over):
    ax.add_patch(plt.Circle((l, 0), 0.2, fc='none', ec='C0', lw=1.5))
    ax.text(l, 0, f'$h^{{({l})}}$' if l else '$x$', ha='center', va='center', fontsize=9)
    ax.text(l, -0.45, f'{share:.2g}', ha='center', va='center', fontsize=9, color='C1')
    if l < 6:
        ax.annotate('', (l + 0.78, 0), (l + 0.22, 0), arrowprops={'arrowstyle': '->', 'color': GREY})
        ax.text(l + 0.5, 0.16, f'{six[l]:.2f}', ha='center', fontsize=9)
ax.set(xlim=(-0.5, 6.5), ylim=(-0.65, 0.45), aspect='equal')
ax.axis('off');

# %% [markdown] tags=["caption"]
# A chain of six sigmoid units with weight 1. Above each arrow: the factor of the unit to its right. Below each circle: the
# derivative of the last circle with respect to this one, which is the product of all factors to the right.

# %% [markdown]
# The opposite happens with ReLU units and $w = 2$. All factors are 2, so each unit doubles the derivative. This is an
# **exploding gradient**. Here are the products for ten units, again from the output back to the input:

# %%
def relu_slope(z):
    return (z > 0).to(z.dtype)   # 0 or 1

second = chain_factors(x, 2.0, torch.relu, relu_slope, 10)
print(*(f'{share:.0f}' for share in second.flip(0).cumprod(0)))

# %% [markdown]
# ### Layers of many units
#
# Now let layer $l$ have $d_l$ units, a weight matrix $\mathbf{W}^{(l)}$ and a row of biases $\mathbf{b}^{(l)}$. It computes
# two rows of $d_l$ numbers, $\mathbf{z}^{(l)} = \mathbf{h}^{(l-1)}\mathbf{W}^{(l)} + \mathbf{b}^{(l)}$ and $\mathbf{h}^{(l)}
# = \phi(\mathbf{z}^{(l)})$. The single factor becomes a matrix, the Jacobian $\mathbf{J}^{(l)}$ of $\mathbf{h}^{(l)}$ with
# respect to $\mathbf{h}^{(l-1)}$. For $L$ hidden layers, $\mathbf{J}_{\text{net}}$ is the Jacobian of $\mathbf{h}^{(L)}$
# with respect to the input $\mathbf{x} = \mathbf{h}^{(0)}$:
#
# ```{math}
# :label: gradients-jacobians
# \begin{gathered}
# \mathbf{J}^{(l)} = \operatorname{diag}\big(\phi'(\mathbf{z}^{(l)})\big) \, (\mathbf{W}^{(l)})^\top , \\
# \mathbf{J}_{\text{net}} = \mathbf{J}^{(L)} \, \mathbf{J}^{(L-1)} \cdots \mathbf{J}^{(1)} .
# \end{gathered}
# ```
#
# Here $\operatorname{diag}$ makes a diagonal matrix from the slopes. In code, each row of the matrix to its right is
# multiplied by a slope:

# %%
def jacobian_product(x, Ws, bs, phi, slope):
    h, J = x, torch.eye(len(x), dtype=x.dtype)
    for W, b in zip(Ws, bs):
        z = h @ W + b                      # (d_l,)
        J = slope(z)[:, None] * W.T @ J    # (d_l, d_0)
        h = phi(z)
    return J

# %% [markdown]
# Autograd computes the same Jacobian, here for two inputs and two layers:

# %%
g = torch.Generator().manual_seed(0)
Ws = [torch.randn(2, 3, generator=g), torch.randn(3, 2, generator=g)]
bs = [torch.zeros(3), torch.zeros(2)]

def forward(x, Ws, bs):
    for W, b in zip(Ws, bs):
        x = torch.sigmoid(x @ W + b)
    return x

# %%
x = torch.tensor([1.0, -1.0])
print('product ', *jacobian_product(x, Ws, bs, torch.sigmoid, sigmoid_slope))
by_autograd = torch.autograd.functional.jacobian(
    lambda x: forward(x, Ws, bs), x)
print('autograd', *by_autograd)

# %% [markdown]
# Backpropagation never builds this matrix. It starts with the row $\mathbf{g}^{(L)}$, the gradient of the loss
# with respect to $\mathbf{h}^{(L)}$, and multiplies by one Jacobian after the other:
#
# ```{math}
# :label: gradients-row
# \mathbf{g}^{(l-1)} = \mathbf{g}^{(l)} \, \mathbf{J}^{(l)} .
# ```
#
# The gradient with respect to the weights of layer $l$ is computed from $\mathbf{g}^{(l)}$ and the layer's input. So the signal
# from which an early layer learns has been multiplied by the Jacobians of all later layers.
#
# ### A bound for the sigmoid: one quarter for each layer
#
# The spectral norm $\|\mathbf{A}\|_2$ is the largest factor by which $\mathbf{A}$ stretches a vector. The norm of a
# product is at most the product of the norms. The slope of the sigmoid is $\sigma(z)(1 - \sigma(z))$. It is largest at $z
# = 0$, where it is $\frac14$. So for $L$ sigmoid layers
#
# ```{math}
# :label: gradients-quarter
# \|\mathbf{J}_{\text{net}}\|_2
# \le \Big( \frac14 \Big)^{L} \, \prod_{l=1}^{L} \|\mathbf{W}^{(l)}\|_2 .
# ```
#
# If all weight matrices have norms of at most 3, for example, this bound falls exponentially with the depth. Here are layers
# of 64 units. Weights with mean 0 and standard deviation $\frac18$ give norms of about 2:

# %%
for L in (5, 10, 20):
    g = torch.Generator().manual_seed(0)
    Ws = torch.randn(L, 64, 64, generator=g) / 8
    J = jacobian_product(torch.ones(64), Ws, torch.zeros(L, 64),
                         torch.sigmoid, sigmoid_slope)
    norms = torch.linalg.matrix_norm(Ws, 2)           # (L,)
    print(f'{L:2} layers: norm {torch.linalg.matrix_norm(J, 2):.2e},'
          f' bound {0.25**L * norms.prod():.2e},'
          f' mean norm of the weights {norms.mean():.2f}')

# %% [markdown]
# The norm is much smaller than the bound, because the bound takes the largest slope and the worst direction at every layer. The
# slopes of ReLU are 0 and 1, so for ReLU the bound has the factor 1 in place of $\frac14$, and the weights decide.
#
# ```{exercise} ★ Pencil: how deep until nothing is left?
# :label: gradients-depth
# In a network of sigmoid layers, all weight matrices have the same spectral norm $r$. For which number $L$ is
# the bound {eq}`gradients-quarter` equal to a given $\varepsilon$ with $0 < \varepsilon < 1$? Do not round $L$ to a whole
# number. Write the answer as `depth_for(r, eps)`. If the bound does not fall with the depth, return infinity.
# ```

# %%
def depth_for(r, eps):
    """The L at which the bound is eps: floats r > 0, 0 < eps < 1 -> float.

    depth_for(2.0, 0.25) is 2.0, and depth_for(5.0, 0.25) is np.inf.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_search(r, eps):
    if min(r / 4, 1) ** 1e5 > eps:
        return np.inf
    return brentq(lambda L: (r / 4) ** L - eps, 0, 1e5, xtol=1e-12, rtol=1e-12)

depth_cases = dict(r=on(1.0, 2.0, 3.9, 4.0, 5.0) | scalars(0.1, 3.9),
                   eps=on(0.5, 1e-6, 0.25) | scalars(0.001, 0.999))
grade(depth_for, by_search, **depth_cases)

# %% [markdown]
# ```{solution-start} gradients-depth
# :class: dropdown
# ```
# The bound is $(r/4)^L$. Take the logarithm of $(r/4)^L = \varepsilon$ to get $L = \log \varepsilon / \log(r/4)$. If $r
# \ge 4$, the bound never gets below 1. The wrong answers treat $r = 4$ as a bound that falls, forget the weights, and take
# the inverse of the ratio.

# %% jupyter={"source_hidden": true}
def depth_for_solution(r, eps):
    if r >= 4:
        return np.inf
    return np.log(eps) / np.log(r / 4)

def falls_at_four(r, eps):
    return np.inf if r > 4 else np.log(eps) / min(np.log(r / 4), -1e-9)

def without_weights(r, eps):
    return np.inf if r >= 4 else np.log(eps) / np.log(1 / 4)

def upside_down(r, eps):
    return np.inf if r >= 4 else np.log(r / 4) / np.log(eps)

assert grade(depth_for_solution, by_search, **depth_cases)
assert not grade(falls_at_four, by_search, **depth_cases)
assert not grade(without_weights, by_search, **depth_cases)
assert not grade(upside_down, by_search, **depth_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def random_layers(seed, n, L):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(n, generator=g), torch.randn(L, n, n, generator=g), torch.randn(L, n, generator=g)

def as_autograd(seed, n, L, flip):
    x, Ws, bs = random_layers(seed, n, L)
    J = jacobian_product(x, flip(Ws), flip(bs), torch.sigmoid, sigmoid_slope)
    return close(J, torch.autograd.functional.jacobian(lambda x: forward(x, Ws, bs), x))

verify(
    'the product of the Jacobians is the Jacobian of autograd',
    lambda seed, n, L: as_autograd(seed, n, L, lambda layers: layers),
    slip=('takes the layers in the opposite order',
          lambda seed, n, L: as_autograd(seed, n, L, lambda layers: layers.flip(0))),
    seed=seeds(), n=integers(1, 4), L=integers(1, 4), tries=40,
)

def in_quarters(seed, n, L, quarter):  # the biases make all z zero in half of the cases: there the slope is largest
    x, Ws, bs = random_layers(seed, n, L)
    if seed % 2:
        bs = -torch.stack([x @ Ws[0], *(W.sum(0) / 2 for W in Ws[1:])])
    J = jacobian_product(x, Ws, bs, torch.sigmoid, sigmoid_slope)
    bound = quarter**L * torch.linalg.matrix_norm(Ws, 2).prod()
    return bool(torch.linalg.matrix_norm(J, 2) <= bound * (1 + 1e-12))

verify(
    'sigmoid layers shrink a gradient at least by one quarter times the norm of the weights',
    lambda seed, n, L: in_quarters(seed, n, L, 0.25),
    slip=('takes one fifth for the largest slope', lambda seed, n, L: in_quarters(seed, n, L, 0.2)),
    seed=integers(0, 10**6), n=integers(1, 4), L=integers(1, 6), tries=60,
)
verify(
    'the derivative of the sigmoid chain is below one quarter for each unit, and that of the ReLU chain doubles',
    lambda L: first[-L:].prod() < 0.25**L and second[-L:].prod() == 2**L and sigmoid_slope(torch.tensor(0.0)) == 0.25,
    slip=('expects three doublings for two units', lambda L: second[-L:].prod() == 2 ** (L + 1)),
    L=[1, 2, 4, 8],
)

# %% [markdown]
# ## Gradient norms by depth: measured and predicted
#
# Now we measure gradients. The data are handwritten digits of $8 \times 8$ pixels. The function `deep_net` makes hidden
# layers with 32 units each and an output layer with 10 units. All biases start at 0. The weights of a layer with $n$ inputs
# are drawn from a Gaussian distribution with mean 0 and standard deviation $s/\sqrt n$, where we choose the number $s$.

# %%
x, labels, _ = data.digits()
X = torch.tensor(x - x[:1400].mean())                 # (1797, 64)
y = torch.tensor(labels)                              # (1797,)
X, X_test, y, y_test = X[:1400], X[1400:], y[:1400], y[1400:]

# %%
def deep_net(hidden, activation, s, seed):
    generator = torch.Generator().manual_seed(seed)
    layers = []
    for n in [64] + [32] * (hidden - 1):
        layers += [nn.Linear(n, 32), activation()]
    layers.append(nn.Linear(32, 10))
    for layer in layers[::2]:                         # the linear ones
        std = s / layer.in_features**0.5
        nn.init.normal_(layer.weight, std=std, generator=generator)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)

# %% mystnb={"image": {"alt": "A row of boxes joined by arrows: X, 100 by 64; h(1), 100 by 32; h(2), 100 by 32; dots; h(L), 100 by 32; o, 100 by 10. Over the arrows stand W(1), 64 by 32; W(2), 32 by 32; and over the last one W(L+1), 32 by 10."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.2, 1.35))
boxes = [('$\\mathbf{X}$', '100 × 64'), ('$\\mathbf{h}^{(1)}$', '100 × 32'), ('$\\mathbf{h}^{(2)}$', '100 × 32'),
         ('…', ''), ('$\\mathbf{h}^{(L)}$', '100 × 32'), ('$\\mathbf{o}$', '100 × 10')]
arrows = [('$\\mathbf{W}^{(1)}$', '64 × 32'), ('$\\mathbf{W}^{(2)}$', '32 × 32'), ('', ''), ('', ''),
          ('$\\mathbf{W}^{(L+1)}$', '32 × 10')]
for k, (name, shape) in enumerate(boxes):
    if shape:
        ax.add_patch(plt.Rectangle((2 * k - 0.45, -0.3), 0.9, 0.6, fc='none', ec='C0', lw=1.5))
    ax.text(2 * k, 0, name, ha='center', va='center', fontsize=10)
    ax.text(2 * k, -0.58, shape, ha='center', va='center', fontsize=8.5)
for k, (name, shape) in enumerate(arrows):
    ax.annotate('', (2 * k + 1.52, 0), (2 * k + 0.48, 0), arrowprops={'arrowstyle': '->', 'color': GREY})
    ax.text(2 * k + 1, 0.88, name, ha='center', va='center', fontsize=9)
    ax.text(2 * k + 1, 0.5, shape, ha='center', va='center', fontsize=8.5)
ax.set(xlim=(-0.7, 10.7), ylim=(-0.8, 1.1))
ax.axis('off');

# %% [markdown] tags=["caption"]
# The network `deep_net` with $L$ hidden layers, and the shapes for a batch of 100 digits. An activation follows
# each hidden linear layer, and none follows the last layer.

# %% [markdown]
# We send 100 digits through networks with 20 hidden layers, and compute the gradient of the loss with respect to each hidden
# layer. Each step back to an earlier layer multiplies the norm of the gradient by some factor. From layer 20 to layer 1 there
# are 19 factors. We print the geometric mean of these factors, over the 19 steps and five networks. The estimate beside it is
# explained below.

# %%
def gradient_norms(model, X, y):
    h, hidden = X, []
    for layer in model:
        h = layer(h)
        if not isinstance(layer, nn.Linear):
            hidden.append(h)                          # h(1), ..., h(L)
    gradients = torch.autograd.grad(F.cross_entropy(h, y), hidden)
    return torch.stack([gradient.norm() for gradient in gradients])

# %%
kinds = {'sigmoid, s = 1': (nn.Sigmoid, 1, 0.25),
         'ReLU, s = 1': (nn.ReLU, 1, 0.5**0.5),
         'ReLU, s = 2': (nn.ReLU, 2, 2 * 0.5**0.5)}
norms, per_layer = {}, {}
for name, (activation, s, estimate) in kinds.items():
    five = [gradient_norms(deep_net(20, activation, s, seed), X[:100], y[:100])
            for seed in range(5)]
    norms[name] = torch.stack(five).log().mean(0).exp()    # (20,)
    per_layer[name] = (norms[name][0] / norms[name][-1]) ** (1 / 19)
    print(f'{name:14} factor per layer {per_layer[name]:.3f},'
          f' estimate {estimate:.3f}')

# %% mystnb={"image": {"alt": "Norm of the gradient, on a logarithmic axis, against the hidden layer from 1 to 20. The line of ReLU with s = 2 falls to the right, over nearly three powers of ten. The line of ReLU with s = 1 rises over three powers of ten, and that of the sigmoid over twelve. A dashed straight line lies near each."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.4, 3))
depth = np.arange(1, 21)
for (name, (_, _, estimate)), colour in zip(kinds.items(), ('C0', 'C1', 'C2'), strict=True):
    ax.plot(depth, norms[name][-1].item() * estimate ** (20.0 - depth), '--', color=GREY, lw=1)
    ax.plot(depth[::-1], norms[name].flip(0), 'o-', color=colour, ms=3.5, lw=1.2)
    ax.text(*(1.2, norms[name][0] * 25) if 'ReLU' in name else (7, 1e-11), name, color=colour, fontsize=9)
ax.set(xlabel='hidden layer $l$', ylabel='norm of the gradient', yscale='log', xticks=[1, 5, 10, 15, 20],
       ylim=(1e-14, 1e5));

# %% [markdown] tags=["caption"]
# The norm of the gradient with respect to each of 20 hidden layers, as the geometric mean of five random networks. Backpropagation
# goes from right to left. Dashed: how the norm would change with the estimated factors.

# %% [markdown]
# The estimates come from a rough argument. A random weight matrix with $s = 1$ changes the length of a row only a little. With
# another $s$ the length is multiplied by $s$. Then the slopes enter. For the sigmoid we take the largest slope, $\frac14$, so
# this estimate is a little too large. The slopes of ReLU set about half of the entries to 0, which multiplies the length by
# about $\sqrt{1/2} \approx 0.71$. So for ReLU the gradient vanishes with $s = 1$ and explodes with $s = 2$. The section
# [initialization](initialization.ipynb) chooses $s$ such that neither happens.
#
# ### The exact growth rate of a product of random matrices
#
# Without activations there is an exact answer. Multiply a row $\mathbf{v}$ of length 1 by one $n \times n$ matrix after the
# other, each with independent standard Gaussian entries. Each matrix multiplies the length by a random factor, so it adds a
# random number to the logarithm of the length. The mean of this number is
#
# ```{math}
# :label: gradients-rate
# \lambda_n = \tfrac12 \big( \log 2 + \psi(\tfrac n2) \big) .
# ```
#
# The function $\psi$, in SciPy `psi`, is the derivative of the logarithm of the gamma function. Such a growth rate is called a
# **Lyapunov exponent**. The product has $n$ of them, and $\lambda_n$ is the largest.
#
# ```{prf:theorem} Products of Gaussian matrices
# :label: thm-gradients-rate
# Let $\mathbf{M}^{(1)}, \dots, \mathbf{M}^{(L)}$ be independent $n \times n$ matrices whose entries are independent standard
# Gaussian numbers, and let $\mathbf{v} \ne \mathbf{0}$ be a fixed row. Then $\log \|\mathbf{v}
# \mathbf{M}^{(1)} \cdots \mathbf{M}^{(L)}\| - \log \|\mathbf{v}\|$ is a sum of $L$ independent random numbers. Each of them has
# the mean $\lambda_n$ and the variance $\frac14 \psi'(\frac n2)$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Let $\mathbf{u}$ be a row of length 1. Each entry of $\mathbf{u}\mathbf{M}$ is a sum of independent Gaussian numbers,
# weighted by the entries of $\mathbf{u}$, whose squares have the sum 1. So the entries are again independent standard
# Gaussian numbers, and $\|\mathbf{u}\mathbf{M}\|^2$ has the chi-square distribution with $n$ degrees of freedom, whatever
# $\mathbf{u}$ is. Therefore the factor by which $\mathbf{M}^{(k)}$ changes the length is independent of all earlier
# matrices. The logarithm of a chi-square number has the mean $\log 2 + \psi(\frac n2)$ and the variance
# $\psi'(\frac n2)$. The length is the root of the square, which halves the logarithm. It is zero with probability 0 only, so
# its logarithm exists.
# ```
#
# We multiply 100 such matrices of size $4 \times 4$, and repeat this 200 times. The first row of a product is $\mathbf{v} =
# (1, 0, 0, 0)$ times all matrices. We divide the logarithm of its length by 100, and print the mean over the 200 products, ±
# one standard error. The Frobenius norm of the whole product grows faster at first. So for this norm we take the growth from
# factor 20 on, divided by 80.

# %%
def growth_rate(n):
    return (np.log(2) + psi(n / 2)) / 2

# %%
g = torch.Generator().manual_seed(0)
P = torch.eye(4).expand(200, 4, 4)                    # 200 products
row_logs, matrix_logs = [], []
for M in torch.randn(100, 200, 4, 4, generator=g):
    P = P @ M
    row_logs.append(P[:, 0].norm(dim=1).log())
    matrix_logs.append(P.flatten(1).norm(dim=1).log())
row_logs = torch.stack(row_logs)                      # (100, 200)
matrix_logs = torch.stack(matrix_logs)                # (100, 200)

# %%
from_20 = (matrix_logs[99] - matrix_logs[19]) / 80    # (200,)
for name, rates in (('a row', row_logs[99] / 100),
                    ('the matrix from factor 20 on', from_20)):
    print(f'{name:29} {rates.mean():.3f} ± {rates.std() / 200**0.5:.4f}')
print(f'exact                         {growth_rate(4):.3f}')

# %% mystnb={"image": {"alt": "Left: thirty grey paths rise from 0 to between 45 and 65 over 100 factors, around a straight line that ends at 56, and a dashed line ends at 69, above all paths. Right: mean log norm minus the exact line, for the first 100 factors; that of the row stays near zero inside a band, that of the matrix starts higher and stays a little above 1."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
factors = np.arange(1, 101)
left.plot(factors, row_logs[:, :30], color=GREY, lw=0.4)
left.plot(factors, factors * growth_rate(4), color='C0', lw=1.8)
left.plot(factors, factors * np.log(2), '--', color='C1', lw=1.5)
left.text(38, 62, 'root of the\nmean square', color='C1', ha='right', fontsize=9)
left.text(62, 18, '$\\lambda_4$ per factor', color='C0', fontsize=9)
left.set(xlabel='factors', ylabel='log of the length of a row', xlim=(0, 100), ylim=(-5, 80))
for logs, name, colour in (row_logs, 'a row', 'C0'), (matrix_logs, 'the matrix', 'C2'):
    right.plot(factors[::5], (logs.mean(1).numpy() - factors * growth_rate(4))[::5], 'o-', ms=3, lw=1, color=colour)
band = 2 * np.sqrt(factors * polygamma(1, 2) / 4 / 200)
right.fill_between(factors, -band, band, color='C0', alpha=0.15, lw=0)
right.text(95, 0.7, 'a row', color='C0', ha='right', fontsize=9)
right.text(95, 1.75, 'the matrix', color='C2', ha='right', fontsize=9)
right.set(xlabel='factors', title='mean minus exact line', xlim=(0, 100), ylim=(-1.5, 2.5));

# %% [markdown] tags=["caption"]
# Left: the log length in 30 products (grey), its exact mean (blue), the log of the root mean square (dashed). Right: mean log
# minus exact line, for a row (band: two standard errors) and the matrix norm, which starts higher, then grows equally fast.

# %% [markdown]
# Take a network with $n$ units in each layer, Gaussian weights and no activations. Start backpropagation at a single output:
# the row has a 1 there and zeros elsewhere. Each layer multiplies it by one matrix, as in the theorem. If the standard
# deviation of the weights is $s/\sqrt n$ in
# place of 1, then $\log (s/\sqrt n)$ is added to $\lambda_n$. For large $n$, $\lambda_n$ is close to $\log \sqrt n$, so the
# sum is about $\log s$. So the gradients of wide linear layers vanish for $s < 1$ and explode for $s > 1$.
#
# :::{admonition} A tempting mistake
# :class: warning
# The mean of $\|\mathbf{v}\mathbf{M}\|^2$ is exactly $n \|\mathbf{v}\|^2$. So one expects that each $4 \times 4$ matrix makes the
# row $\sqrt4 = 2$ times longer. But for a long product, nearly all of this mean comes from enormous rows that are so rare that
# none of our 200 products has one. After 100
# factors, the typical row is several hundred thousand times shorter than $2^{100}$:
# :::

# %%
print(f'root of the mean square: {2.0**100:.2e}')
print(f'typical length, exp(100 λ): {np.exp(100 * growth_rate(4)):.2e}')
print(f'longer than 2^100: {(row_logs[99] > 100 * np.log(2)).sum()} of 200')

# %% [markdown]
# ```{exercise} ★★ Program: the length of a row after thousands of matrices
# :label: gradients-log-norm
# After many factors a length can become infinite or zero in floating-point numbers. Write `log_norm(v, Ms)`,
# the logarithm of $\|\mathbf{v}\mathbf{M}^{(1)} \cdots \mathbf{M}^{(L)}\|$ for any number $L \ge 0$ of matrices, also for
# thousands. Where the length is 0, return minus infinity.
# ```

# %%
def log_norm(v, Ms):
    """The log length of v M(1) ... M(L): (n,), (L, n, n) -> (), float64.

    log_norm(torch.tensor([3., 4.]), torch.zeros(0, 2, 2)) is log(5).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def in_whole_numbers(v, Ms):  # all entries are multiples of 1/64, so that integers of any length compute exactly
    row = [int(entry) for entry in v * 64]
    for M in (Ms * 64).long().numpy().astype(object):
        row = list(np.array(row, dtype=object) @ M)
    square = sum(entry * entry for entry in row)
    if square == 0:
        return torch.tensor(-np.inf)
    shift = max(square.bit_length() - 900, 0)  # math.log2 of a number too long for a float
    return torch.tensor((np.log2(float(square >> shift)) + shift - 12 * (len(Ms) + 1)) * np.log(2) / 2)

def sixty_fourths(seed, size, *shape):
    g = torch.Generator().manual_seed(seed)
    return torch.randint(-size, size + 1, shape, generator=g) / 64.0

log_norm_cases = dict(
    v=integers(1, 3).flatmap(lambda n: on(torch.zeros(n)) | seeds().map(lambda seed: sixty_fourths(seed, 200, n))),
    Ms=lambda v: (on(0, 1, 2, 700) | integers(0, 9)).flatmap(lambda L: (on(9, 300, 2000)).flatmap(
        lambda size: seeds().map(lambda seed: sixty_fourths(seed, size, L, len(v), len(v)) * (seed % 8 > 0)))),
)
grade(log_norm, in_whole_numbers, tries=40, **log_norm_cases)

# %% [markdown]
# ```{solution-start} gradients-log-norm
# :class: dropdown
# ```
# Divide the row by its length before each matrix, and add up the logarithms of the lengths. A row of zeros must not be
# divided by its length, so we stop there. The logarithm of its length is already minus infinity. The wrong answers compute the
# product first, divide by zero, and forget the length of the given row.

# %% jupyter={"source_hidden": true}
def log_norm_solution(v, Ms):
    total = torch.zeros(())
    for M in Ms:
        size = v.norm()
        if size == 0:
            break
        total, v = total + size.log(), v / size @ M
    return total + v.norm().log()

def product_first(v, Ms):
    for M in Ms:
        v = v @ M
    return v.norm().log()

def divides_by_zero(v, Ms):
    total = torch.zeros(())
    for M in Ms:
        size = v.norm()
        total, v = total + size.log(), v / size @ M
    return total + v.norm().log()

def of_length_one(v, Ms):
    return log_norm_solution(v, Ms) - v.norm().log()

assert grade(log_norm_solution, in_whole_numbers, tries=40, **log_norm_cases)
assert not grade(product_first, in_whole_numbers, tries=40, **log_norm_cases)
assert not grade(divides_by_zero, in_whole_numbers, tries=40, **log_norm_cases)
assert not grade(of_length_one, in_whole_numbers, tries=40, **log_norm_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: does a wider layer lose less?
# :label: gradients-width
# Draw the entries of all matrices with the standard deviation $1/\sqrt n$, so that the *mean square* of the length never
# changes. A row of length 1 is multiplied by 100 such matrices. Predict the mean of the logarithm of its
# length for $n$ = 2, 8 and
# 32, each with an error of at most one fifth of the measured value. Return three numbers, then run the grader and explain.
# ```

# %%
def predicted_logs():
    """The mean log length for n = 2, 8 and 32: three floats."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
@cache
def measured_logs():
    g, means = torch.Generator().manual_seed(1), []
    for n, runs in (2, 1000), (8, 500), (32, 200):
        rows = torch.eye(n)[:1].expand(runs, 1, n)
        for _ in range(100):
            rows = rows @ (torch.randn(runs, n, n, generator=g) / n**0.5)
        means.append(float(rows.norm(dim=2).log().mean()))
    return means

def is_measured(said):
    if len(said) != 3:
        raise ValueError('give three numbers')
    for n, guess, mean in zip((2, 8, 32), said, measured_logs(), strict=True):
        if not abs(guess - mean) <= abs(mean) / 5:
            raise ValueError(f'another mean is measured for n = {n}; try it')
    return True

grade(lambda: is_measured(predicted_logs()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} gradients-width
# :class: dropdown
# ```
# Dividing the entries by $\sqrt n$ subtracts $\log \sqrt n$ from the rate, so the mean is $100\,(\lambda_n - \log \sqrt
# n)$. It is negative for each $n$: a typical row shrinks although the mean square stays. For large $n$ the rate is about
# $-\frac{1}{2n}$, so wider layers lose less. The wrong answers take the mean square for the typical case, forget the division,
# and expect the same loss for each width.

# %% jupyter={"source_hidden": true}
right_logs = measured_logs()
assert grade(lambda: is_measured(right_logs), lambda: True, [()])
assert not grade(lambda: is_measured((0, 0, 0)), lambda: True, [()])
assert not grade(lambda: is_measured([100 * growth_rate(n) for n in (2, 8, 32)]), lambda: True, [()])
assert not grade(lambda: is_measured((-29, -29, -29)), lambda: True, [()])
for n, mean in zip((2, 8, 32), right_logs):
    print(f'n = {n:2}: measured {mean:.2f},'
          f' predicted {100 * (growth_rate(n) - np.log(n) / 2):.2f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
verify(
    'the gradient changes by the expected factor per layer, and no sigmoid layer keeps more than a quarter',
    lambda name: abs(per_layer[name] / kinds[name][2] - 1) < 0.1 and per_layer['sigmoid, s = 1'] < 0.25,
    slip=('expects ReLU to keep the length', lambda name: abs(per_layer[name] / max(kinds[name][1], 1) - 1) < 0.1),
    name=list(kinds),
)

def rate_is(n, L, rate, spread, errors=4):  # over 4000 draws; the errors follow from the variance
    g = torch.Generator().manual_seed(n)
    rows = torch.ones(4000, 1, n)
    for M in torch.randn(L, 4000, n, n, generator=g):
        rows = rows @ M
    logs = rows.norm(dim=2).log() - np.log(n) / 2
    of_mean, of_variance = (L * spread(n) / 4000) ** 0.5, 0.15
    return bool(abs(logs.mean() - L * rate(n)) < errors * of_mean and abs(logs.var() / (L * spread(n)) - 1) < of_variance)

def quarter_trigamma(n):
    return float(polygamma(1, n / 2)) / 4

verify(
    'the logarithm of the length has the mean λ and the variance ψ′/4 for each factor',
    lambda n, L: rate_is(n, L, growth_rate, quarter_trigamma),
    slip=('takes the root of the mean square for the typical length',
          lambda n, L: rate_is(n, L, lambda n: np.log(n) / 2, quarter_trigamma)),
    n=[1, 2, 4, 8], L=[1, 3, 10],
)
verify(
    'from factor 20 on, the norm of the matrix grows at the rate λ, up to three standard errors',
    lambda n: abs(from_20.mean() - growth_rate(n)) < 3 * (quarter_trigamma(4) / 80 / 200) ** 0.5,
    slip=('takes the logarithm of the root of n for the rate',
          lambda n: abs(from_20.mean() - np.log(n) / 2) < 3 * (quarter_trigamma(4) / 80 / 200) ** 0.5),
    n=[4],
)
verify(
    'for large n the rate is close to the logarithm of the root of n, below it by about 1/(2n)',
    lambda n: abs(growth_rate(n) - np.log(n) / 2 + 1 / (2 * n)) < 1 / n**2,
    slip=('adds the small term', lambda n: abs(growth_rate(n) - np.log(n) / 2 - 1 / (2 * n)) < 1 / n**2),
    n=[4, 16, 64, 256],
)

# %% [markdown]
# ## Training: a deep sigmoid network, and gradient clipping
#
# What do small gradients do to training? We compare three networks that start with $s = 1$. The first has one hidden layer of
# sigmoid units, and the second has six. The third differs from the second only in its activation, the *stretched* sigmoid
# $4\sigma(z) - 2$. Its slope at $z = 0$ is 1 in place of $\frac14$. We write it as a class with a method `forward`. Before
# training we print the norm of the gradient with respect to $\mathbf{h}^{(1)}$. We also print the standard deviation of an
# output over the digits, as a mean over the ten outputs.

# %%
class Stretched(nn.Module):
    def forward(self, z):
        return 4 * torch.sigmoid(z) - 2

# %%
nets = {'1 layer, sigmoid': (1, nn.Sigmoid),
        '6 layers, sigmoid': (6, nn.Sigmoid),
        '6 layers, stretched': (6, Stretched)}
first_norms = {}
for name, net in nets.items():
    model = deep_net(*net, 1, 0)
    first_norms[name] = gradient_norms(model, X, y)[0]
    print(f'{name:20} gradient at h(1): {first_norms[name]:.2e},'
          f' outputs differ by {model(X).std(0).mean():.2e}')

# %% [markdown]
# The training loop is that of the section [hidden layers](hidden_layers.ipynb), with 100 steps on 50 digits each.

# %%
def train(model, lr, seed):
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    model.train()
    for _ in range(100):
        rows = torch.randint(len(X), (50,), generator=generator)
        optimizer.zero_grad()
        F.cross_entropy(model(X[rows]), y[rows]).backward()
        optimizer.step()
    model.eval()
    return model

# %%
@torch.no_grad()
def share_right(model):
    return (model(X_test).argmax(1) == y_test).double().mean()

# %% [markdown]
# We train the deep sigmoid network with three learning rates, and each of the other two with one that suits it. Each network is
# trained from three random starts. We print the best of the three shares of right answers on the test digits. The last line
# is the share if the answer is always the most frequent digit.

# %%
shares = {}
for name, lr in (('1 layer, sigmoid', 1.0), ('6 layers, stretched', 0.1),
                 *(('6 layers, sigmoid', lr) for lr in (0.1, 1.0, 10.0))):
    three = [train(deep_net(*nets[name], 1, k), lr, seed=k) for k in range(3)]
    shares[name, lr] = torch.stack([share_right(model) for model in three])
    best = shares[name, lr].max()
    said = f'{best:.3f}' if best > 0.2 else below(best, 0.105)
    print(f'{name:20} learning rate {lr:3g}: best {said}')
print(f'a constant answer: {y_test.bincount().max() / len(y_test):.3f}')

# %% [markdown]
# In these 100 steps the deep sigmoid network stays at the level of a constant answer, at each of the three learning rates. The
# network with the stretched activation learns. Yet a sigmoid network can compute what the stretched one computes: move the
# factor 4 into the weights of the next layer, and the shift by 2 into its biases. So the right weights exist. But at the start,
# the gradient with respect to $\mathbf{h}^{(1)}$ is about a thousand times smaller than in the stretched network. The forward
# pass suffers, too: the outputs for different digits are nearly equal. Our experiment does not separate the two.
#
# Besides initialization there are other remedies. *Normalization* rescales the pre-activations during training. *Residual
# connections* add the input of a layer to its output, which adds the identity matrix to its Jacobian.
#
# ### Exploding gradients and gradient clipping
#
# When a gradient is huge only now and then, there is a simpler remedy. **Gradient clipping** takes
# the gradients of all
# parameters as one long row $\mathbf{g}$. If it is longer than a chosen number $c$, it is shortened to the length $c$:
#
# ```{math}
# :label: gradients-clip
# \mathbf{g}_{\text{new}} = \min\Big(1, \frac{c}{\|\mathbf{g}\|}\Big) \, \mathbf{g} .
# ```
#
# In PyTorch, `torch.nn.utils.clip_grad_norm_(parameters, c)` does this in place, between `backward()` and `step()`. It adds
# a tiny number to $\|\mathbf{g}\|$, so that it never divides by zero. We try it on a chain of 20 linear units that share one weight
# $w$, with the input 1 and the target 1. The loss is $(w^{20} - 1)^2$, and we start at $w = 1.5$.

# %%
def chain_training(c, steps):
    w = nn.Parameter(torch.tensor(1.5))
    optimizer = torch.optim.SGD([w], lr=0.001)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (w**20 - 1) ** 2
        loss.backward()
        torch.nn.utils.clip_grad_norm_([w], c)
        optimizer.step()
    return w.item()

# %%
for c, steps in ((float('inf'), 1), (float('inf'), 3), (10, 1), (10, 100)):
    print(f'c = {c:3}, steps {steps:3}: w = {chain_training(c, steps):.4g}')

# %% [markdown]
# Without clipping ($c = \infty$) the first step throws the weight far away, and after three steps it is not a number (`nan`).
# With $c = 10$ the steps have at most the length $0.001 \cdot 10 = 0.01$, and the weight moves to 1.
#
# Clipping by {eq}`gradients-clip` keeps the direction of the gradient, because all parameters are multiplied by the same
# number. Two other ways of clipping can change the direction. One clips each tensor by its own norm. The other,
# `clip_grad_value_`,
# cuts off each entry at $\pm c$. We print the cosine of the angle between the gradients before and after, for a ReLU network with
# $s = 2$:

# %%
def long_row(model):                  # all gradients as one row
    return torch.cat([p.grad.flatten() for p in model.parameters()])

ways = {'all together': lambda ps: nn.utils.clip_grad_norm_(ps, 1),
        'each tensor': lambda ps: [nn.utils.clip_grad_norm_(p, 1) for p in ps],
        'each entry': lambda ps: nn.utils.clip_grad_value_(ps, 0.1)}

# %%
cosines = {}
for name, clip in ways.items():
    model = deep_net(6, nn.ReLU, 2, 0)
    F.cross_entropy(model(X), y).backward()
    before = long_row(model)
    clip(list(model.parameters()))
    after = long_row(model)
    cosines[name] = F.cosine_similarity(before, after, dim=0)
    print(f'{name:12} norm {after.norm():.2f}, cosine {cosines[name]:.3f}')

# %% tags=["checks"]
verify(
    'the deep sigmoid network stays at a constant answer at each learning rate, and the other two learn',
    lambda low: max(shares['6 layers, sigmoid', lr].max() for lr in (0.1, 1.0, 10.0)) < low
    and min(shares['1 layer, sigmoid', 1.0].min(), shares['6 layers, stretched', 0.1].min()) > 5 * low,
    slip=('says so of the stretched network', lambda low: shares['6 layers, stretched', 0.1].max() < low),
    low=[0.12],
)
verify(
    'in the deep sigmoid network the gradient at the first hidden layer is a hundred times smaller',
    lambda times: times * first_norms['6 layers, sigmoid'] < min(
        first_norms['1 layer, sigmoid'], first_norms['6 layers, stretched']),
    slip=('says so of the stretched one',
          lambda times: times * first_norms['6 layers, stretched'] < first_norms['1 layer, sigmoid']),
    times=[100],
)

def same_function(seed, factor):  # six stretched layers, and sigmoid layers with other weights and biases
    model, other = deep_net(3, Stretched, 1, seed), deep_net(3, nn.Sigmoid, 1, seed)
    with torch.no_grad():
        for layer in [layer for layer in other if isinstance(layer, nn.Linear)][1:]:
            layer.bias.sub_(2 * layer.weight.sum(1))
            layer.weight.mul_(factor)
        return close(model(X[:5]), other(X[:5]))

verify(
    'a sigmoid network with other weights computes what the stretched one computes',
    lambda seed: same_function(seed, 4),
    slip=('leaves the weights as they are', lambda seed: same_function(seed, 1)),
    seed=integers(0, 10**6), tries=5,
)
verify(
    'clipping all together keeps the direction',
    lambda name: close(cosines[name], 1),
    slip=('clips each tensor by itself',
          lambda name: close(cosines[name.replace('all together', 'each tensor')], 1)),
    name=['all together'],
)
verify(
    'the clipped chain arrives at 1, and the other one leaves the numbers',
    lambda c: abs(chain_training(c, 100) - 1) < 1e-3 and np.isnan(chain_training(float('inf'), 100)),
    slip=('clips at norms that are ten million times larger', lambda c: abs(chain_training(1e7 * c, 100) - 1) < 1e-3),
    c=[5, 10],
)

# %% [markdown]
# ## Symmetry: units that start equal stay equal
#
# Gradients of a good size are not enough. Suppose that all weights and biases start with the same value. Then two units of a
# hidden layer have equal incoming weights and biases, so they compute equal numbers. They have equal outgoing weights as well,
# so the gradients that come back to them are equal. After a step of gradient descent the two units are equal again, and so on.
# A layer of 32 units works like a single unit.
#
# We train the network with one hidden layer from four starts. In the first, all weights and biases are 0.1. In the second, a
# single weight is larger by 0.001. The third is like the first, but it uses dropout, which in each step sets about half of
# the hidden units to zero, at random. The fourth has random weights. After the training we compare the incoming weights of the
# 32 units with the mean over these units, and print the largest difference.

# %%
def equal_net(dropout=0.0):
    model = nn.Sequential(nn.Linear(64, 32), nn.Sigmoid(), nn.Dropout(dropout),
                          nn.Linear(32, 10))
    for p in model.parameters():
        nn.init.constant_(p, 0.1)
    return model

# %%
perturbed = equal_net()
with torch.no_grad():
    perturbed[0].weight[0, 20] += 0.001               # pixel 20 into unit 0
starts = {'all equal': equal_net(), 'one weight changed': perturbed,
          'dropout': equal_net(0.5), 'random': deep_net(1, nn.Sigmoid, 1, 0)}

# %%
apart = {}
for name, model in starts.items():
    torch.manual_seed(0)                              # for dropout
    train(model, 1.0, seed=0)
    W = model[0].weight.detach()                      # (32, 64), a unit a row
    apart[name] = (W - W.mean(0)).abs().max()
    said = below(apart[name]) if apart[name] < 1e-9 else f'{apart[name]:.4f}'
    print(f'{name:18} units differ by {said:11}'
          f' right: {share_right(model):.3f}')

# %% [markdown]
# After 100 steps the units of the first network still differ by rounding errors only. The changed weight separates its unit
# from the others, but slowly, and the network has learned nothing yet. Dropout separates the units much faster, because it leaves
# out different units in each step. With random weights all units differ from the beginning, and the network learns best of the
# four. This is why weights are drawn at random. The biases may all start at zero.

# %% tags=["checks"]
verify(
    'after 100 steps units that start equal are equal up to rounding, and those of the other starts are not',
    lambda name: (apart[name] < 1e-12) == (name == 'all equal') and (apart[name] > 1e-4) == (name != 'all equal'),
    slip=('says so of all starts', lambda name: apart[name] < 1e-12),
    name=list(starts),
)

# %% [markdown]
# ## Summary
#
# The gradient of a deep network is a row times one Jacobian for each layer, so its length tends to shrink or grow
# exponentially with the depth. In our experiment a sigmoid network with six hidden layers learned nothing in 100 steps, but it
# learned with an activation of four times the slope. Clipping the norm of all gradients together bounds a step of SGD and keeps
# its direction, and without dropout, units that start with equal weights and biases stay equal.
#
# **Further reading.** {cite:t}`zhang2023dive`, chapter 5, multiplies 100 random matrices.
# {cite:t}`pascanu2013difficulty` explains vanishing, exploding and clipping for recurrent networks.
# {cite:t}`newman1986distribution` is for readers who want all Lyapunov exponents of Gaussian matrices, not only the largest.
