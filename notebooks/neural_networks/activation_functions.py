# ---
# jupyter:
#   book:
#     functions:
#       relu: "relu(normal(5))"
#       sigmoid: "sigmoid(normal(5))"
#       stable_sigmoid: "stable_sigmoid(normal(5))"
#       leaky_relu: "leaky_relu(normal(5))"
#       silu: "silu(normal(5))"
#       gelu: "gelu(normal(5))"
#       gelu_tanh: "gelu_tanh(normal(5))"
#     main: dl.relu.relu
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Activation functions
#
# A hidden unit has computed the pre-activation $z = -3$. ReLU turns it into 0, the sigmoid into 0.0474, and GELU into a
# negative number close to 0. How do they differ, and which one should you take? For training, the slope of the function at $z$ matters
# as much as its value: the gradient of the unit's weights is
# multiplied by it, so where the slope is zero, the unit learns nothing from this example.
#
# - **You need** [hidden layers](hidden_layers.ipynb), [the chain rule](../calculus/chain_rule.ipynb),
#   [automatic differentiation](../calculus/automatic_differentiation.ipynb) and
#   [logistic regression](../classification/logistic_regression.ipynb).
# - **You build** five activation functions, equal to PyTorch's, and you find out what kills ReLU units and what
#   saves them.
# - **Runs in** 7 seconds. All tensors are float64.

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
import sympy
import torch
import torch.nn.functional as F
from scipy import special
from torch import nn

from nbutils import data
from nbutils.cases import integers, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.figures import GREY, panels
from nbutils.training import batches, fit

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the matrices are small: a second thread would mostly wait
plt.style.use('nbutils.book')

# %% [markdown]
# ## ReLU, its derivative, and the point zero
#
# Here are six activation functions of PyTorch. An activation is applied entry by entry. So the derivative of the sum
# $\phi(z_1) + \phi(z_2) + \dots$ with respect to $z_1$ is $\phi'(z_1)$, and so on. One call of autograd on the sum gives all
# slopes:

# %%
activations = {'ReLU': F.relu, 'sigmoid': torch.sigmoid,
               'tanh': torch.tanh, 'leaky ReLU': F.leaky_relu,
               'SiLU': F.silu, 'GELU': F.gelu}

def slope(phi, z):                       # phi'(z), in the shape of z
    z = z.clone().requires_grad_()
    return torch.autograd.grad(phi(z).sum(), z)[0]

# %%
z = torch.tensor([-3.0, 3.0])
print('            at z = -3            at z = 3')
print('            value    slope       value    slope')
for name, phi in activations.items():
    value, rise = phi(z), slope(phi, z)
    print(f'{name:10} {value[0]:7.4f}  {rise[0]:7.4f}'
          f'     {value[1]:7.4f}  {rise[1]:7.4f}')

# %% mystnb={"image": {"alt": "Six panels from z = -4 to 4, each with a solid curve and a dashed one. ReLU: zero, then a ray; the slope jumps from 0 to 1. Sigmoid: an S from 0 to 1; the slope is a low hump. tanh: an S from -1 to 1; the slope is a narrow hump of height 1. Leaky ReLU looks like ReLU with a left half just below zero. SiLU and GELU dip below zero on the left and approach the ray on the right; their slopes go from 0 to 1 and a little beyond on both sides."}} tags=["hide-input"]
fig, axes = panels(3, 2, height=2.1, sharex=True, sharey=True)
grid = torch.linspace(-4, 4, 401)
for ax, (name, phi) in zip(axes.flat, activations.items(), strict=True):
    ax.axhline(0, color=GREY, lw=0.6)
    kink = 200 if 'ReLU' in name else None  # the slope jumps at zero: nothing is drawn there
    steep = slope(phi, grid)
    if kink:
        steep[kink] = torch.nan
    ax.plot(grid, phi(grid), lw=1.6)
    ax.plot(grid, steep, '--', color='C1', lw=1.3)
    ax.set(title=name, ylim=(-1.2, 3), xticks=[-4, 0, 4], yticks=[-1, 0, 1, 2, 3])
for ax in axes[1]:
    ax.set_xlabel('z');

# %% [markdown] tags=["caption"]
# Six activation functions (solid) and their slopes (dashed). Sigmoid and tanh become nearly flat on both sides. ReLU is exactly
# flat on the left, and the other three only nearly.

# %% [markdown]
# **ReLU**, the rectified linear unit, keeps positive numbers and replaces the negative ones by zero:
#
# ```{math}
# :label: dl.relu.relu
# \operatorname{relu}(z) = \max(z, 0) .
# ```

# %%
def relu(z):
    return z.clamp(min=0)                # entry by entry

# %% [markdown]
# Its derivative takes two values:
#
# ```{math}
# :label: dl.relu.deriv
# \operatorname{relu}'(z) = \begin{cases} 0 & z < 0 \\ 1 & z > 0 . \end{cases}
# ```
#
# Why does the slope matter? Let $h_j = \phi(z_j)$ be a hidden unit and $\mathcal{L}$ the loss. By the chain rule,
#
# ```{math}
# \frac{\partial \mathcal{L}}{\partial z_j} = \frac{\partial \mathcal{L}}{\partial h_j} \, \phi'(z_j) ,
# ```
#
# so on its way back to the weights the gradient is multiplied by the slope. ReLU passes it on unchanged if $z_j > 0$,
# and stops it if $z_j < 0$.
#
# (dl.relu.nondiff)=
# At $z = 0$, ReLU has no derivative: to the left its slope is 0, to the right it is 1.
#
# (dl.relu.zero-conv)=
# A program has to return some number. PyTorch's `F.relu` takes the slope from the left, which is 0.
#
# Here are three ways to write ReLU. The fourth function is $z$ itself, because $\max(z, 0) - \max(-z, 0) = z$:

# %%
zero = torch.tensor([0.0])
same = {'F.relu(z)': F.relu,
        'z.clamp(min=0)': relu,
        'torch.maximum(z, 0)': lambda z: torch.maximum(z, torch.zeros_like(z)),
        'F.relu(z) - F.relu(-z)': lambda z: F.relu(z) - F.relu(-z)}
for text, phi in same.items():
    print(f'{text:23} slope at 0: {slope(phi, zero).item():.2f}')

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# It is tempting to think that autograd returns the derivative wherever there is one. The last function is $z$, and its
# derivative at 0 is 1, but autograd says 0. Autograd differentiates the steps of the program, and for a step
# with a kink it uses a convention. The three ways to write ReLU follow three conventions: 0, 1 and one half.
# :::
#
# The convention seldom matters in practice, because a sum of many random products is hardly ever exactly zero.

# %% tags=["checks"]
def of_torch(phi):  # a function of a number
    return lambda z: phi(torch.tensor(float(z))).item()

def slope_at(phi, z):
    return slope(phi, torch.tensor([float(z)])).item()

holds('dl.relu.relu', tries=60, z=scalars(-3, 3) | on(0.0), relu=of_torch(F.relu))
holds('dl.relu.deriv', tries=60, z=scalars(-3, 3).filter(lambda z: abs(z) > 0.1), relu=of_torch(F.relu))

def quotient(phi, z, h):
    return (of_torch(phi)(z + h) - of_torch(phi)(z)) / h

holds(
    'dl.relu.nondiff',
    lambda h: close([quotient(F.relu, 0, -h), quotient(F.relu, 0, h)], [0, 1]),
    slip=('says so of SiLU', lambda h: close([quotient(F.silu, 0, -h), quotient(F.silu, 0, h)], [0, 1])),
    h=[1e-1, 1e-3, 1e-6],
)
holds(
    'dl.relu.zero-conv',
    lambda h: slope_at(F.relu, 0) == quotient(F.relu, 0, -h),
    slip=('takes the slope from the right', lambda h: slope_at(F.relu, 0) == quotient(F.relu, 0, h)),
    h=[1e-1, 1e-3, 1e-6],
)
verify(
    'the function relu is that of the library',
    lambda z: close(relu(torch.tensor(z)), F.relu(torch.tensor(z))),
    slip=('takes the absolute value', lambda z: close(torch.tensor(z).abs(), F.relu(torch.tensor(z)))),
    z=vectors(4, -3, 3, edges=True), tries=60,
)
verify(
    'three ways to write ReLU have three slopes at zero',
    lambda slopes: close([slope_at(phi, 0) for phi in list(same.values())[:3]], slopes),
    slip=('expects the convention of F.relu from all', lambda slopes: close([slope_at(F.relu, 0)] * 3, slopes)),
    slopes=[[0, 1, 0.5]],
)

# %% [markdown]
# ## Sigmoid and tanh: saturation
#
# The **sigmoid** maps every number into the interval from 0 to 1, and the **hyperbolic tangent** into the
# interval from $-1$ to 1:
#
# ```{math}
# :label: dl.sigmoid.sigmoid
# \sigma(z) = \frac{1}{1 + \exp(-z)} ,
# ```
#
# ```{math}
# :label: dl.tanh.tanh
# \tanh(z) = \frac{1 - \exp(-2z)}{1 + \exp(-2z)} .
# ```

# %%
def sigmoid(z):
    return 1 / (1 + torch.exp(-z))

# %% [markdown]
# The two are the same curve, stretched and moved:
#
# ```{math}
# :label: activation-rescaled
# \sigma(z) = \frac{1}{2} \big( 1 + \tanh(z / 2) \big) .
# ```
#
# Both slopes can be computed from the value alone:
#
# ```{math}
# :label: activation-slopes
# \begin{aligned}
# \sigma'(z) &= \sigma(z) \big( 1 - \sigma(z) \big) , \\
# \frac{d \tanh(z)}{d z} &= 1 - \tanh(z)^2 .
# \end{aligned}
# ```
#
# The product $\sigma(1 - \sigma)$ is largest at $\sigma = \frac12$. So the slope of the sigmoid is at most $\frac14$,
# and the slope of tanh is at most 1, both at $z = 0$. Away from zero the slopes fall quickly:

# %%
z = torch.tensor([0.0, 2, 5, 10])
print('z          ', *(f'{v:8.0f}' for v in z))
for name in ('ReLU', 'sigmoid', 'tanh'):
    rise = slope(activations[name], z)
    print(f'{name:8} slope', *(f'{v:.2e}' for v in rise))

# %% [markdown]
# A unit whose slope is nearly zero, because $z$ is large in size, is called **saturated**. At $z = 10$ the
# gradient is multiplied by $4.54 \cdot 10^{-5}$ in a sigmoid unit and by $8.24 \cdot 10^{-9}$ in a tanh unit. ReLU does not
# saturate for positive $z$. In a deep network these factors multiply from layer to layer, and
# [the gradient can vanish](vanishing_and_exploding_gradients.ipynb).
#
# ### A sigmoid that does not overflow
#
# You can write the sigmoid in two ways, as $1/(1 + e^{-z})$ or as $e^{z}/(1 + e^{z})$. The exponential of a large number is
# too large for float64, and becomes infinity. What happens at $z = \pm 1000$?

# %%
def other_form(z):
    return torch.exp(z) / (1 + torch.exp(z))

far = torch.tensor([-1000.0, 1000.0])
for text, phi in (('1 / (1 + exp(-z))', sigmoid),
                  ('exp(z) / (1 + exp(z))', other_form),
                  ('torch.sigmoid', torch.sigmoid)):
    print(f'{text:22} values', *(f'{v:.3f}' for v in phi(far)),
          '  slopes', *(f'{v:.3f}' for v in slope(phi, far)))

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# The second form divides infinity by infinity at $z = 1000$, which is `nan`. The first form looks safe, because its values are
# right: $1/(1 + \infty) = 0$. But its slope at $-1000$ is `nan`,
# because the chain rule multiplies 0 by $\infty$. One such
# entry spoils a training.
# :::
#
# The remedy is to take the exponential function of a number that is never positive. With $a = \exp(-|z|)$, the sigmoid is
# $1/(1 + a)$ for $z \ge 0$ and $a/(1 + a)$ for $z < 0$:

# %%
def stable_sigmoid(z):
    a = torch.exp(-z.abs())              # in [0, 1]
    return torch.where(z >= 0, 1, a) / (1 + a)

print('values', *(f'{v:.3f}' for v in stable_sigmoid(far)))
s = stable_sigmoid(zero)
print(f'slope at 0 by autograd {slope(stable_sigmoid, zero).item():.2f},'
      f' by the formula {(s * (1 - s)).item():.2f}')

# %% [markdown]
# The values are now right everywhere. But at zero $|z|$ has a kink, where autograd takes the
# slope 0. So it says that the sigmoid has the slope 0 there, not $\frac14$.
# `torch.sigmoid` is stable, and its backward pass uses the formula $\sigma(1 - \sigma)$. So use `torch.sigmoid`.
#
# ```{exercise} ★★ Pencil: a sigmoid network is a tanh network
# :label: activation-as-tanh
# A network computes $\mathbf{o} = \sigma\big(\mathbf{x}\mathbf{W}^{(1)} + \mathbf{b}^{(1)}\big)\mathbf{W}^{(2)} + \mathbf{b}^{(2)}$.
# Which weights and biases give the same outputs if $\sigma$ is replaced by $\tanh$? Write your four formulas
# as `as_tanh(W_1, b_1, W_2, b_2)`.
# ```

# %%
def as_tanh(W_1, b_1, W_2, b_2):
    """Weights of the tanh network that equals the sigmoid network.

    Tensors (d, m), (m,), (m, q), (q,) -> four tensors of the same shapes.
    For W_1 = 0, b_1 = 0, W_2 = 2, b_2 = 0 and m = 1, the output is 1.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def outputs(phi, x, W_1, b_1, W_2, b_2):
    return phi(x @ W_1 + b_1) @ W_2 + b_2

def drawn(seed, m):
    g = torch.Generator().manual_seed(seed)
    shapes = [(5, 3), (3, m), (m,), (m, 2), (2,)]
    return [torch.randn(shape, generator=g) for shape in shapes]

def of_sigmoids(seed, m):
    return outputs(torch.sigmoid, *drawn(seed, m))

def by_tanh(convert):
    def answer(seed, m):
        x, *parameters = drawn(seed, m)
        return outputs(torch.tanh, x, *convert(*parameters))
    return answer

network_cases = dict(seed=seeds(), m=[1, 2, 5])
grade(by_tanh(as_tanh), of_sigmoids, **network_cases)

# %% [markdown]
# ```{solution-start} activation-as-tanh
# :class: dropdown
# ```
# With $\sigma(z) = \frac12 + \frac12 \tanh(z/2)$ the hidden layer is $\frac12 \mathbf{1} + \frac12 \tanh(\mathbf{z}/2)$. Halving
# $\mathbf{W}^{(1)}$ and $\mathbf{b}^{(1)}$ halves $\mathbf{z}$. The factor $\frac12$ goes into $\mathbf{W}^{(2)}$.
# The constant row $\frac12 \mathbf{1}$ times $\mathbf{W}^{(2)}$ goes into the bias: it is half of the sum of the rows of
# $\mathbf{W}^{(2)}$. So such a network computes the same functions with either activation. The training still
# differs, because the gradient with respect to $\mathbf{W}^{(1)}/2$ is twice the gradient with respect to $\mathbf{W}^{(1)}$. The wrong answers forget the constant, do not halve the first bias, and add only
# a quarter of the sum.

# %% jupyter={"source_hidden": true}
def as_tanh_solution(W_1, b_1, W_2, b_2):
    return W_1 / 2, b_1 / 2, W_2 / 2, b_2 + W_2.sum(0) / 2

def without_constant(W_1, b_1, W_2, b_2):
    return W_1 / 2, b_1 / 2, W_2 / 2, b_2

def full_bias(W_1, b_1, W_2, b_2):
    return W_1 / 2, b_1, W_2 / 2, b_2 + W_2.sum(0) / 2

def halved_twice(W_1, b_1, W_2, b_2):
    return W_1 / 2, b_1 / 2, W_2 / 2, b_2 + W_2.sum(0) / 4

assert grade(by_tanh(as_tanh_solution), of_sigmoids, **network_cases)
assert not grade(by_tanh(without_constant), of_sigmoids, **network_cases)
assert not grade(by_tanh(full_bias), of_sigmoids, **network_cases)
assert not grade(by_tanh(halved_twice), of_sigmoids, **network_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
holds('dl.sigmoid.sigmoid', tries=60, z=scalars(-5, 5), sigma=special.expit)
holds('dl.tanh.tanh', tries=60, z=scalars(-5, 5))

Z = sympy.Symbol('z', real=True)
FORMULAS = {
    'ReLU': sympy.Max(Z, 0), 'sigmoid': 1 / (1 + sympy.exp(-Z)), 'tanh': sympy.tanh(Z),
    'leaky ReLU': sympy.Max(Z, Z / 100), 'SiLU': Z / (1 + sympy.exp(-Z)), 'GELU': Z * (1 + sympy.erf(Z / sympy.sqrt(2))) / 2,
}
SLOPES = {name: sympy.lambdify(Z, sympy.diff(formula, Z), ['scipy', 'numpy']) for name, formula in FORMULAS.items()}

verify(
    'the slopes by autograd are the derivatives of the six formulas',
    lambda name, z: close(slope_at(activations[name], z), SLOPES[name](z)),
    slip=('takes the derivative of ReLU for all', lambda name, z: close(slope_at(activations[name], z), SLOPES['ReLU'](z))),
    name=list(FORMULAS), z=scalars(-4, 4).filter(bool), tries=100,
)
verify(
    'the slope of the sigmoid is at most 1/4 and that of tanh at most 1, both at zero',
    lambda z, s, t: SLOPES['sigmoid'](z) <= s and SLOPES['tanh'](z) <= t
    and close([SLOPES['sigmoid'](0), SLOPES['tanh'](0)], [s, t]),
    slip=('exchanges the two', lambda z, s, t: SLOPES['sigmoid'](z) <= t and SLOPES['tanh'](z) <= s),
    z=scalars(-6, 6) | on(0.0), s=[1 / 4], t=[1], tries=60,
)
verify(
    'the function sigmoid is that of scipy, and the stable one even far from zero',
    lambda z, far: close(
        [sigmoid(torch.tensor(z)), stable_sigmoid(torch.tensor(far))], special.expit([z, far]), atol=0, rtol=1e-12),
    slip=('divides exp(z) by 1 + exp(z)',
          lambda z, far: close(other_form(torch.tensor(far)), special.expit(far), atol=0, rtol=1e-12)),
    z=scalars(-9, 9), far=scalars(-700, 1000) | on(0.0, -700.0, 1000.0), tries=100,
)
verify(
    'far from zero the plain sigmoid has no slope, and that of the library has one',
    lambda z: np.isnan(slope_at(sigmoid, z)) and close(slope_at(torch.sigmoid, z), 0),
    slip=('says so of the library', lambda z: np.isnan(slope_at(torch.sigmoid, z))),
    z=[-1000.0, -800.0],
)

# %% [markdown]
# ## Leaky ReLU, SiLU and GELU: a slope for negative inputs
#
# Three relatives of ReLU keep some slope to the left of zero. **Leaky ReLU** {cite}`maas2013rectifier` gives negative
# numbers a small slope $\alpha$, by default 0.01 in PyTorch. **SiLU** {cite}`elfwing2018sigmoid`, also called swish, and
# **GELU** {cite}`hendrycks2016gaussian` are smooth. They multiply $z$ by a *gate*, a number between 0 and 1. The gate of
# SiLU is $\sigma(z)$. The gate of GELU is $\Phi(z)$, the probability that a standard normal number is at most $z$:
#
# ```{math}
# :label: activation-smooth
# \begin{aligned}
# \operatorname{leaky}(z) &= \max(z, 0) + \alpha \min(z, 0) , \\
# \operatorname{silu}(z) &= z \, \sigma(z) , \\
# \operatorname{gelu}(z) &= z \, \Phi(z) .
# \end{aligned}
# ```
#
# The error function gives the gate as $\Phi(z) = \frac12 \big(1 + \operatorname{erf}(z / \sqrt{2})\big)$.

# %%
def leaky_relu(z, alpha=0.01):
    return z.clamp(min=0) + alpha * z.clamp(max=0)

def silu(z):
    return z * torch.sigmoid(z)

def gelu(z):
    return z * (1 + torch.erf(z / 2**0.5)) / 2

# %%
grid = torch.linspace(-8, 8, 160_001)
for name, phi in ('SiLU', silu), ('GELU', gelu):
    value, rise = phi(grid), slope(phi, grid)
    where = grid[value.argmin()]
    print(f'{name}: lowest {value.min():.3f} at z = {where:.2f},'
          f' slopes from {rise.min():.3f} to {rise.max():.3f}')

# %% [markdown]
# Both have a lowest point, and to the left of it the curve comes back towards zero. So two different $z$ can have
# the same value, with slopes of different sign. The slope can therefore not be
# computed from the value alone. Far to the left the slopes tend to zero, while that of leaky ReLU stays $\alpha$.
#
# ### The tanh form of GELU
#
# The paper on GELU also gives an approximate form with tanh:
#
# ```{math}
# :label: activation-gelu-tanh
# \operatorname{gelu}(z) \approx \frac{z}{2} \Big( 1 + \tanh\big( \sqrt{2 / \pi} \, (z + 0.044715 \, z^3) \big) \Big) .
# ```
#
# The factor $\sqrt{2/\pi}$ is chosen such that the new gate has the same slope at $z = 0$ as $\Phi$. How good is the approximation,
# and would 0.04 do as well as 0.044715?

# %%
def gelu_tanh(z, c=0.044715):
    return z / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (z + c * z**3)))

errors = {c: gelu_tanh(grid, c) - gelu(grid) for c in (0.044715, 0.04)}
for c, error in errors.items():
    worst = error.abs().argmax()
    print(f'c = {c:<8}  largest error {error[worst].abs():.2e},'
          f' at |z| = {grid[worst].abs():.2f}')

# %% mystnb={"image": {"alt": "Two curves of the error against z, both zero at zero and beyond 4 on either side. The solid curve for 0.044715 stays close to zero, with small bumps near 2.7. The dashed curve for 0.04 dips six times as deep near 1.75."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.6, 2.5))
shown = slice(30_000, 130_001, 200)
ax.plot(grid[shown], errors[0.04][shown], '--', color='C1', label='c = 0.04')
ax.plot(grid[shown], errors[0.044715][shown], label='c = 0.044715')
ax.text(2.5, -0.0024, '$c$ = 0.04', color='C1')
ax.text(-1.2, 0.0006, '$c$ = 0.044715', color='C0')
ax.set(xlabel='z', ylabel='error of the tanh form', ylim=(-0.0032, 0.0012));

# %% [markdown] tags=["caption"]
# The error of the tanh form of GELU, for the usual constant $c$ (solid) and for 0.04 (dashed). The largest error of the
# second is six times as large.

# %% [markdown]
# On our grid, from $-8$ to 8, the tanh form differs from GELU by at most about $4.73 \cdot 10^{-4}$. In PyTorch the two are `F.gelu(z)` and
# `F.gelu(z, approximate='tanh')`. If you load trained weights, take the form with which they were trained.
#
# ```{exercise} ★ Program: the slope from the value
# :label: activation-from-value
# A backward pass that needs only the value $h = \phi(z)$ does not have to keep $z$ in memory. Write
# `slope_from_value(name, h, alpha)`, the slope $\phi'(z)$ for `name` = `'relu'`, `'leaky'`, `'sigmoid'` or `'tanh'`. Only leaky
# ReLU uses $\alpha > 0$. At $z = 0$, take the slope from the left for ReLU and for leaky ReLU, as PyTorch does.
# ```

# %%
def slope_from_value(name, h, alpha):
    """The slopes phi'(z): str, float tensor (n,), float -> tensor (n,).

    h = phi(z). slope_from_value('tanh', torch.tensor([0.0]), 0.01) is [1.0].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
KINDS = {'relu': lambda z, alpha: F.relu(z), 'leaky': F.leaky_relu,
         'sigmoid': lambda z, alpha: torch.sigmoid(z), 'tanh': lambda z, alpha: torch.tanh(z)}
INVERSES = {'relu': lambda h, alpha: h, 'leaky': lambda h, alpha: torch.where(h > 0, h, h / alpha),
            'sigmoid': lambda h, alpha: torch.logit(h), 'tanh': lambda h, alpha: torch.atanh(h)}

def by_autograd(name, h, alpha):
    return slope(lambda z: KINDS[name](z, alpha), INVERSES[name](h, alpha))

value_cases = dict(
    name=list(KINDS),
    h=lambda name, alpha: vectors(5, -3, 3, edges=True).map(lambda z: KINDS[name](torch.tensor(z), alpha)),
    alpha=on(0.01, 0.2, 0.5))
grade(slope_from_value, by_autograd, tries=80, **value_cases)

# %% [markdown]
# ```{solution-start} activation-from-value
# :class: dropdown
# ```
# ReLU and leaky ReLU keep the sign of $z$, so $h > 0$ tells the two cases apart. For the other two use the formulas for the slopes above.
# The wrong answers take the slope from the right at zero, ignore $\alpha$, and put $h$ in the place of $z$.

# %% jupyter={"source_hidden": true}
def slope_from_value_solution(name, h, alpha):
    if name == 'sigmoid':
        return h * (1 - h)
    if name == 'tanh':
        return 1 - h**2
    return torch.where(h > 0, 1.0, 0.0 if name == 'relu' else alpha)

def from_the_right(name, h, alpha):
    found = slope_from_value_solution(name, h, alpha)
    return torch.where(h == 0, 1.0, found) if name in ('relu', 'leaky') else found

def without_alpha(name, h, alpha):
    return slope_from_value_solution(name, h, 0.01)

def value_for_input(name, h, alpha):
    return slope(lambda z: KINDS[name](z, alpha), h)

assert grade(slope_from_value_solution, by_autograd, tries=80, **value_cases)
assert not grade(from_the_right, by_autograd, tries=80, **value_cases)
assert not grade(without_alpha, by_autograd, tries=80, **value_cases)
assert not grade(value_for_input, by_autograd, tries=80, **value_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
verify(
    'our leaky ReLU, SiLU, GELU and its tanh form are those of the library',
    lambda z: close(torch.stack([leaky_relu(z), silu(z), gelu(z), gelu_tanh(z)]), torch.stack(
        [F.leaky_relu(z), F.silu(z), F.gelu(z), F.gelu(z, approximate='tanh')])),
    slip=('compares the tanh form with the other one', lambda z: close(gelu_tanh(z), F.gelu(z))),
    z=vectors(4, -6, 6, edges=True).map(torch.tensor), tries=60,
)

def exact_gelu(z):  # without torch
    return z * special.ndtr(z)

def has_error(c, error):  # on the grid, up to a hundredth of it
    return abs(abs(gelu_tanh(grid, c).numpy() - exact_gelu(grid.numpy())).max() / error - 1) < 0.01

verify(
    'the largest error of the tanh form is 4.73e-4, and with 0.04 it is 2.87e-3',
    lambda c, short: has_error(c, 4.73e-4) and has_error(short, 2.87e-3),
    slip=('exchanges the two constants', lambda c, short: has_error(short, 4.73e-4) and has_error(c, 2.87e-3)),
    c=[0.044715], short=[0.04],
)

# %% [markdown]
# ## Dead ReLU units: the learning rate and the mean of the inputs
#
# Suppose that the pre-activation of a ReLU unit is negative on all training data. Then its slope is zero on all of
# them, and its weights and its bias have the gradient zero. So a step of gradient descent does not move them. In the first
# hidden layer the inputs of the unit are the data, and these do not change. So the unit stays off in all further steps: it is
# **dead**.
# In a deeper layer the inputs of a unit change during the training, and may switch it on again. We train a small network on the
# digits of MNIST, where each pixel is the mean of a $2 \times 2$ square of the original picture.

# %%
def shrink(pictures):                    # (n, 784) -> (n, 196)
    squares = torch.tensor(pictures).reshape(-1, 1, 28, 28)
    return F.avg_pool2d(squares, 2).flatten(1)

train, test = data.mnist('train'), data.mnist('test')
y, y_test = torch.tensor(train.y), torch.tensor(test.y)
X, X_test = shrink(train.x), shrink(test.x)    # (4000, 196), (1000, 196)
centre = X.mean(0)                             # (196,) the mean picture
inputs = {'pixels': (X, X_test),
          'centred': (X - centre, X_test - centre)}
print(len(X), 'digits for training,', len(X_test), 'for the test')

# %% [markdown]
# The second version of the data is *centred*: we subtract the mean of the training pictures from every picture.
#
# PyTorch has the activations as modules, too, for example `nn.ReLU()`. They stand between the layers. Each training takes 80 steps on batches of 100 digits:

# %%
def trained(phi, X, lr, seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(196, 32), phi, nn.Linear(32, 10))
    return train_on(model, X, lr, seed)

def train_on(model, X, lr, seed, epochs=2):
    optimizer = torch.optim.SGD(model.parameters(), lr)
    g = torch.Generator().manual_seed(seed)
    rows = batches(g, 100, X, y, epochs=epochs)
    fit(model, F.cross_entropy, optimizer, rows)
    return model

# %% [markdown]
# A unit is *never on* if $z \le 0$ on all training digits. For ReLU this means that the unit is dead.

# %%
@torch.no_grad()
def never_on(model, X):                  # (32,) True for such units
    z = model[0](X)                      # (4000, 32)
    return (z <= 0).all(0)

@torch.no_grad()
def right(model, X_test):                # (1000,) 1 where the digit is right
    return (model(X_test).argmax(1) == y_test).double()

# %% mystnb={"image": {"alt": "Left: three boxes from left to right, x with 1 by 196 numbers, h with 1 by 32, o with 1 by 10, joined by arrows marked W1 196 by 32, then the activation, and W2 32 by 10. Right: two histograms of the dot product. That of the pixels begins at zero and reaches to about 25; that of the centred pixels is narrower and lies around zero."}} tags=["hide-input"]
fig, (left, rightmost) = panels(2, height=2.5, width_ratios=[1.1, 1])
boxes = (0, '$\\mathbf{x}$', '1 × 196'), (2.2, '$\\mathbf{h}$', '1 × 32'), (4.4, '$\\mathbf{o}$', '1 × 10')
for at, name, shape in boxes:
    left.add_patch(plt.Rectangle((at - 0.45, -0.6), 0.9, 1.2, fc='none', ec='C0', lw=1.5))
    left.text(at, 0, name, ha='center', va='center', fontsize=11)
    left.text(at, -1, shape, ha='center', fontsize=9)
for at, words, size in (1.1, '$\\mathbf{W}^{(1)}$, then $\\phi$', '196 × 32'), (3.3, '$\\mathbf{W}^{(2)}$', '32 × 10'):
    left.annotate('', (at + 0.6, 0), (at - 0.6, 0), arrowprops={'arrowstyle': '->', 'color': GREY})
    left.text(at, 0.75, words, ha='center', fontsize=9)
    left.text(at, -0.35, size, ha='center', fontsize=8)
left.set(xlim=(-0.6, 5), ylim=(-1.3, 1.3))
left.axis('off')
for (name, (rows, _)), colour in zip(inputs.items(), ('C1', 'C0'), strict=True):
    products = (rows[:300] @ rows[:300].T)[~torch.eye(300, dtype=bool)]
    rightmost.hist(products.numpy(), bins=np.arange(-8, 30, 1.0), histtype='step', color=colour, lw=1.5, density=True)
rightmost.text(9, 0.12, 'pixels', color='C1')
rightmost.text(1.5, 0.2, 'centred', color='C0')
rightmost.set(xlabel='dot product of two digits', ylabel='share', yticks=[0, 0.1, 0.2]);

# %% [markdown] tags=["caption"]
# Left: the network. Right: how the dot products of two different training digits are distributed (the first 300 digits). Pixels
# are never negative, so no product is negative. After centring they have both signs.

# %% [markdown]
# Now we train a network for each of three activations, three learning rates and two versions of the inputs. Each of these 18
# cases is trained from the same three random starts. Softmax regression is the reference.

# %%
kinds = {'ReLU': nn.ReLU(), 'leaky': nn.LeakyReLU(), 'GELU': nn.GELU()}
rates, three = (1.0, 2.0, 3.0), range(3)
models, off, hits = {}, {}, {}
for version, (rows, rows_test) in inputs.items():
    for lr in rates:
        for name, phi in kinds.items():
            key = version, lr, name
            models[key] = [trained(phi, rows, lr, seed) for seed in three]
            off[key] = [never_on(model, rows) for model in models[key]]
            hits[key] = [right(model, rows_test) for model in models[key]]
        hits[version, lr, 'softmax'] = [
            right(train_on(nn.Sequential(nn.Linear(196, 10)), rows, lr, seed),
                  rows_test) for seed in three]

# %%
print('                share never on        share of test digits right')
print('inputs   rate   ReLU  leaky GELU      ReLU  leaky GELU  softmax')
for version in inputs:
    for lr in rates:
        shares = [torch.stack(off[version, lr, name]).double().mean()
                  for name in kinds]
        scores = [torch.stack(hits[version, lr, name]).mean()
                  for name in (*kinds, 'softmax')]
        print(f'{version:8} {lr:.0f}     ',
              '  '.join(f'{v:.2f}' for v in shares),
              '    ', '  '.join(f'{v:.2f}' if v > 0.2 else '<0.2'
                                for v in scores))

# %% [markdown]
# The first three lines belong to the plain pixels. At the rate 1 no unit is lost. At the rate 2 half of the ReLU units
# are dead, and at the rate 3 nearly all. With leaky ReLU and GELU, too, most units are never on at the rate 3. These networks
# are right more often than the ReLU network, but still far below softmax regression.
#
# The last three lines belong to the centred pixels. No unit is lost at any of these rates, and the largest of the three
# rates is the best one. At this rate all three activations are better than softmax regression, and cannot be told apart. So here the
# inputs decide, not the activation.
#
# ### Why centring helps
#
# Take one step of gradient descent with the learning rate $\eta$ on a single example $\mathbf{x}$, and let
# $\delta_j = \partial \mathcal{L} / \partial z_j$ for the unit $j$. The step changes the weights of this unit by
# $-\eta\, \delta_j\, \mathbf{x}$ and its bias by $-\eta\, \delta_j$. What is its pre-activation on *another* example
# $\mathbf{x}'$ after the step? If $\mathbf{w}_j$ and $b_j$ are the weights and the bias before it, we have
#
# ```{math}
# :label: activation-shift
# (\mathbf{w}_j - \eta \delta_j \mathbf{x}) \cdot \mathbf{x}' + b_j - \eta \delta_j
# = \mathbf{w}_j \cdot \mathbf{x}' + b_j - \eta \delta_j ( \mathbf{x} \cdot \mathbf{x}' + 1 ) .
# ```
#
# If all entries of all examples are positive or zero, the last bracket is positive for every pair of examples. One step then
# moves the pre-activations of *all* examples in the same direction, and a large step down can push all of them below zero. A step on a batch is
# the mean of such steps, so some examples may go up and others down.
#
# Centred examples add up to zero. So the products of one example with all examples, itself among them, add up to zero. If this
# example is not the zero vector, its product with itself is positive, so its product with some other example is negative. Where
# such a product is
# below $-1$, the bracket is negative, and a step that moves the first example down moves the other one up. We count the signs for the pairs of 1000 training digits:

# %%
for version, (rows, _) in inputs.items():
    G = rows[:1000] @ rows[:1000].T + 1               # (1000, 1000)
    other = G[~torch.eye(len(G), dtype=bool)]
    print(f'{version:8} bracket: mean {other.mean():.2f},'
          f' negative for {(other < 0).double().mean():.2f} of the pairs')

# %% [markdown]
# ### Can a unit come back?
#
# We take the networks that were trained on pixels with the rate 3, and give them 40 more steps with the rate 0.1:

# %%
rows = inputs['pixels'][0]
stuck, back = {}, {}
for name in kinds:
    stuck[name], back[name] = [], []
    for seed, model in enumerate(models['pixels', 3.0, name]):
        lost = off['pixels', 3.0, name][seed]
        model.zero_grad()
        F.cross_entropy(model(rows), y).backward()    # gradient on all rows
        stuck[name] += (model[0].weight.grad[lost] == 0).all(1).tolist()
        train_on(model, rows, 0.1, seed, epochs=1)
        back[name] += (~never_on(model, rows)[lost]).tolist()
    print(f'{name:5} never on: without gradient {np.mean(stuck[name]):.2f},'
          f' back after 40 steps {np.mean(back[name]):.2f}')

# %% [markdown]
# The ReLU units have no gradient, so they cannot come back. The units of leaky ReLU and GELU do have one, but only a few
# of them came back in these 40 steps. Their slopes are small: 0.01 for leaky ReLU, and nearly zero for GELU far to the left. So it is better not to
# lose units: centre the inputs, and lower the learning rate.
#
# ### Which activation should you take?
#
# | for | take | because |
# |---|---|---|
# | hidden layers, to begin with | ReLU | it is cheap, and its slope is 1 where the unit is on |
# | many ReLU units that are never on | first centred inputs and a smaller learning rate; if that is not enough, leaky ReLU | smaller steps switch fewer units off; leaky ReLU always has a slope |
# | a known architecture, or trained weights | what its authors took, often GELU or SiLU | the weights fit this function |
# | an output that is a probability | sigmoid, or softmax for several classes | their values are probabilities |
# | an output that may be any number | none | each activation here but leaky ReLU would exclude some numbers |
#
# ```{exercise} ★★ Experiment: which inputs kill?
# :label: activation-kill
# Train the ReLU network with the rate 2 on four other versions of the pictures: (a) grey paper, `X + 0.1`, (b) ink and
# paper exchanged, `1 - X`, (c) centred and doubled, `2 * (X - centre)`, (d) half the ink, `X / 2`. Is the share of dead units,
# as a mean over the seeds 0, 1 and 2, small (below 0.2) or large (above 0.6)? First predict, with {eq}`activation-shift`.
# Return four strings, `'small'` or `'large'`. Then run the grader and explain.
# ```

# %%
def predicted_deaths():
    """'small' or 'large' for (a), (b), (c) and (d): a list of 4 strings."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
versions = {'a': X + 0.1, 'b': 1 - X, 'c': 2 * (X - centre), 'd': X / 2}

@cache
def deaths(letter):
    rows = versions[letter]
    return np.mean([never_on(trained(nn.ReLU(), rows, 2.0, seed), rows).double().mean() for seed in three])

def is_measured(said):
    if len(said) != 4 or not set(said) <= {'small', 'large'}:
        raise ValueError("give 'small' or 'large' four times")
    for letter, word in zip(versions, said, strict=True):
        if not (deaths(letter) < 0.2 if word == 'small' else deaths(letter) > 0.6):
            raise ValueError(f'({letter}) is measured otherwise; try it')
    return True

grade(lambda: is_measured(predicted_deaths()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} activation-kill
# :class: dropdown
# ```
# Grey paper looks harmless, but it adds to each of the 196 products in $\mathbf{x} \cdot \mathbf{x}'$, so the bracket grows, and most
# units die. With ink and paper exchanged nearly every pixel is near 1. The bracket is very large, and more units die.
# Doubling the centred pictures makes the products four times as large, but they keep both signs. Half the ink makes
# the products of the pixels four times smaller, so a step moves the other examples less, as with a smaller learning rate.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured(['large', 'large', 'small', 'small']), lambda: True, [()])
assert not grade(lambda: is_measured(['small', 'large', 'small', 'small']), lambda: True, [()])
assert not grade(lambda: is_measured(['large', 'large', 'large', 'small']), lambda: True, [()])
assert not grade(lambda: is_measured(['large', 'large', 'small']), lambda: True, [()])
print(', '.join(f'({letter}) {deaths(letter):.2f}' for letter in versions))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def shifted(seed, bias):  # one step on one example; the change on another one, and what the formula says
    g = torch.Generator().manual_seed(seed)
    x, other = torch.randn(2, 1, 4, generator=g)
    layer = nn.Linear(4, 3)
    before = layer(other).detach()
    z_j = layer(x)
    delta, = torch.autograd.grad((torch.tanh(z_j) ** 2).sum(), z_j, retain_graph=True)
    (torch.tanh(z_j) ** 2).sum().backward()
    torch.optim.SGD(layer.parameters(), 0.3).step()
    return close((layer(other) - before).detach(), -0.3 * delta * (x @ other.T + bias))

verify(
    'a step on one example moves the pre-activation of another one by the formula',
    lambda seed, bias: shifted(seed, bias),
    slip=('forgets the bias', lambda seed, bias: shifted(seed, 0)),
    seed=integers(0, 10**6), bias=[1], tries=20,
)

def mean_off(version, lr, name):
    return torch.stack(off[version, lr, name]).double().mean()

verify(
    'at the rate 3 more than 3/4 of the units are never on with pixels, and at most 1/100 with centred ones',
    lambda name, most, few: bool(mean_off('pixels', 3.0, name) > most and mean_off('centred', 3.0, name) < few),
    slip=('exchanges the inputs',
          lambda name, most, few: bool(mean_off('centred', 3.0, name) > most and mean_off('pixels', 3.0, name) < few)),
    name=list(kinds), most=[3 / 4], few=[1 / 100],
)

def ahead(version, name, other, lr=3.0):  # mean and standard error of the difference, paired over the test digits
    gap = (torch.stack(hits[version, lr, name]) - torch.stack(hits[version, lr, other])).mean(0)
    return gap.mean() / (gap.std() / 1000**0.5)

verify(
    'centred, each network beats softmax regression by more than two standard errors, and no activation another',
    lambda name, errors: bool(ahead('centred', name, 'softmax') > errors) and all(
        abs(ahead('centred', name, other)) < errors for other in kinds if other != name),
    slip=('says so of the plain pixels', lambda name, errors: bool(ahead('pixels', name, 'softmax') > errors)),
    name=list(kinds), errors=[2],
)
verify(
    'never-on units have no gradient with ReLU, and have one with the other two',
    lambda name: np.mean(stuck[name]) == (name == 'ReLU'),
    slip=('expects the same of leaky ReLU', lambda name: np.mean(stuck[name]) == (name != 'GELU')),
    name=list(kinds),
)
verify(
    'with ReLU none of them comes back in 40 steps, with the other two fewer than one in ten',
    lambda name, most: np.mean(back[name]) <= most * (name != 'ReLU'),
    slip=('says that none comes back with GELU, either', lambda name, most: not any(back[name])),
    name=list(kinds), most=[1 / 10],
)

# %% [markdown]
# ## Summary
#
# An activation acts by its value forwards and by its slope backwards. Sigmoid and tanh are one curve in two scales,
# and saturate on both sides; ReLU has the slope 1 on one side and 0 on the other, and at zero a slope by convention; SiLU and GELU
# multiply $z$ by a smooth gate. In our experiment too large steps on inputs that are never negative switched most units off with
# ReLU, leaky ReLU and GELU alike, and subtracting the mean of the inputs kept all of them alive.
#
# **Further reading.** {cite:t}`prince2023understanding`, chapter 3, shows the common activations in a few pictures, for
# a first overview. {cite:t}`hendrycks2016gaussian` is the short paper that introduced GELU, and shows where its gate comes from.
# {cite:t}`lecun1991eigenvalues` explain with eigenvalues why inputs with a mean far from zero slow down gradient descent;
# it is for readers who know the Hessian.
