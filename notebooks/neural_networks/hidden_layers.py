# ---
# jupyter:
#   book:
#     functions:
#       relu: "relu(normal(5))"
#       mlp: "mlp(normal(5, 3), normal(3, 4), normal(4), normal(4, 2), normal(2))"
#       hinges: "hinges(torch.sin, 0.0, 6.0, 8)"
#     main: dl.hidden.overcome
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Hidden layers
#
# A lamp on a staircase has two switches. It is on if exactly one of them is up, and no linear model can learn this
# rule. But count the switches that are up: 0, 1 or 2. Take a second number that is 1 if both are up, and 0 otherwise. The count minus twice the second number is 0, 1 or
# 0, which is the lamp. So two intermediate numbers and a weighted sum are enough. How does a network find such
# intermediate numbers by itself, and which functions can it compute with them?
#
# - **You need** the [limitations of linear models](limits_of_linear_models.ipynb),
#   [cross-entropy](../classification/cross_entropy.ipynb),
#   [training in minibatches](../regression/minibatch_training.ipynb) and
#   [automatic differentiation](../calculus/automatic_differentiation.ipynb).
# - **You build** networks with one hidden layer: by hand for the lamp, by a formula for any curve with a bound on its error,
#   and by gradient descent for handwritten digits, the last one equal to PyTorch's.
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
from functools import cache
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from nbutils import data
from nbutils.cases import integers, lists, matrices, on, scalars, seeds
from nbutils.checks import close, grade, holds, verify
from nbutils.figures import GREY, panels, show_image
from nbutils.printed import of
from nbutils.training import batches, fit

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the matrices are small: a second thread would mostly wait
torch.set_printoptions(precision=2, sci_mode=False)
plt.style.use('nbutils.book')

# %% [markdown]
# ## A hidden layer: affine, nonlinear, affine
#
# A linear model goes from the inputs to the outputs in one step. We put a layer of new numbers in between. First each new
# number is an affine function of the inputs. For the lamp we take the count $x_1 + x_2$, and the count minus one. Then
# negative numbers are replaced by zero. This function is called **ReLU** (rectified linear unit):

# %%
def relu(z):
    return z.clamp(min=0)        # max(z, 0), entry by entry

# %%
X = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])  # (4, 2)
W_1 = torch.tensor([[1.0, 1.0], [1.0, 1.0]])  # each column is a unit
b_1 = torch.tensor([0.0, -1.0])
W_2 = torch.tensor([[1.0], [-2.0]])
b_2 = torch.tensor([0.0])
z = X @ W_1 + b_1                             # (4, 2)
h = relu(z)                                   # (4, 2)
o = h @ W_2 + b_2                             # (4, 1)
for row in range(4):
    print('x', *X[row].int().tolist(), '  z', *z[row].int().tolist(),
          '  h', *h[row].int().tolist(), '  lamp', int(o[row]))

# %% [markdown]
# The lamp is right in all four cases. Here is the same computation for any number of inputs. Let $\mathbf{x}$ be a row
# of $d$ inputs. A **hidden layer** of $m$ **units** and an output layer of $q$ outputs compute
#
# ```{math}
# :label: dl.hidden.overcome
# \begin{aligned}
# \mathbf{h} &= \phi\big(\mathbf{x}\mathbf{W}^{(1)} + \mathbf{b}^{(1)}\big) , \\
# \mathbf{o} &= \mathbf{h}\mathbf{W}^{(2)} + \mathbf{b}^{(2)} .
# \end{aligned}
# ```
#
# The shapes are $d \times m$ for $\mathbf{W}^{(1)}$ and $m \times q$ for $\mathbf{W}^{(2)}$.
# The nonlinear function $\phi$ is called the **activation function** and is applied entry by entry; ours is ReLU. What
# goes into it, $\mathbf{z} = \mathbf{x}\mathbf{W}^{(1)} + \mathbf{b}^{(1)}$, is the row of **pre-activations**. The
# layer is called hidden because the data contain only $\mathbf{x}$ and the desired output, not $\mathbf{h}$. In code:

# %%
def mlp(x, W_1, b_1, W_2, b_2):
    z = x @ W_1 + b_1            # (..., d) -> (..., m)
    h = relu(z)                  # (..., m)
    return h @ W_2 + b_2         # (..., q)

# %% mystnb={"image": {"alt": "Left: two circles x1 and x2, arrows to two circles h1 and h2, arrows to one circle o; below stand x (1 by 2), W1 (2 by 2), h (1 by 2), W2 (2 by 1), o (1 by 1). Right: empty dots at (0, 0) and (2, 1), a filled dot at (1, 0), and a dashed line between them with slope one half."}} tags=["hide-input"]
def draw_network(ax, layers, arrows):
    spots = [[(2.0 * i, (len(names) - 1) / 2 - k) for k in range(len(names))] for i, (names, _) in enumerate(layers)]
    for (names, shape), places in zip(layers, spots, strict=True):
        for name, (x, y) in zip(names, places, strict=True):
            ax.add_patch(plt.Circle((x, y), 0.28, fc='none', ec='C0', lw=1.5))
            ax.text(x, y, name, ha='center', va='center', fontsize=9)
        ax.text(places[0][0], -1.35, shape, ha='center', fontsize=9)
    for left, right, words in zip(spots, spots[1:], arrows, strict=False):
        for (x, y), (u, v) in product(left, right):
            away = 0.31 * np.array([u - x, v - y]) / np.hypot(u - x, v - y)
            ax.annotate('', (u - away[0], v - away[1]), (x + away[0], y + away[1]),
                        arrowprops={'arrowstyle': '->', 'color': GREY, 'lw': 0.9})
        ax.text((left[0][0] + right[0][0]) / 2, 0.95, words, ha='center', fontsize=9)
    ax.set(xlim=(-0.6, 2.0 * len(layers) - 1.4), ylim=(-1.6, 1.4), aspect='equal')
    ax.axis('off')

fig, (left, right) = panels(2, height=2.4, width_ratios=[1.35, 1])
draw_network(left, [(['$x_1$', '$x_2$'], '$\\mathbf{x}$: 1 × 2'), (['$h_1$', '$h_2$'], '$\\mathbf{h}$: 1 × 2'),
                    (['$o$'], '$\\mathbf{o}$: 1 × 1')], ['$\\mathbf{W}^{(1)}$: 2 × 2', '$\\mathbf{W}^{(2)}$: 2 × 1'])
full = o[:, 0] > 0.5
right.plot(*h[full].T, 'o', ms=11)
right.plot(*h[~full].T, 'o', color='C0', ms=11, mfc='none', mew=1.5)
right.plot([0.1, 2.9], [-0.2, 1.2], '--', color='C1')
for words, spot in (('(0, 0)', (0.15, 0.12)), ('(0, 1) and (1, 0)', (1.15, -0.08)), ('(1, 1)', (1.55, 1.2))):
    right.text(*spot, words, fontsize=9)
right.set(xlabel='$h_1$', ylabel='$h_2$', xlim=(-0.4, 3), ylim=(-0.4, 1.6), xticks=[0, 1, 2], yticks=[0, 1], aspect='equal');

# %% [markdown] tags=["caption"]
# Left: the network of the lamp. Each arrow is one weight. Right: the four positions of the switches in the plane of the
# hidden units. The two positions with the lamp on (filled) fall on one point, and now a line separates them.

# %% [markdown]
# ### More layers, and what a hidden layer is for
#
# More hidden layers are stacked on top of each other. With $\mathbf{h}^{(0)} = \mathbf{x}$, layer $l$ computes
#
# ```{math}
# :label: hidden-layer-l
# \mathbf{h}^{(l)} = \phi\big(\mathbf{h}^{(l-1)}\mathbf{W}^{(l)} + \mathbf{b}^{(l)}\big) ,
# ```
#
# and the last of the $L$ layers computes $\mathbf{o} = \mathbf{h}^{(L-1)}\mathbf{W}^{(L)} + \mathbf{b}^{(L)}$ without
# $\phi$. Layers in which every unit is connected to every unit of the layer before are called **fully connected**, and a stack
# of them is a **multilayer perceptron**, or **MLP**.
#
# (dl.hidden.representation)=
# We can think of the first $L - 1$ layers as the **representation** and of the last layer as a linear predictor. The
# representation is a set of features of the inputs. In a linear model we have to choose the features ourselves. In an
# MLP, gradient descent chooses them.
#
# ### Why the activation must be nonlinear
#
# Leave $\phi$ out, and the two layers are one:
#
# ```{math}
# :label: hidden-collapse
# \big(\mathbf{x}\mathbf{W}^{(1)} + \mathbf{b}^{(1)}\big) \mathbf{W}^{(2)} + \mathbf{b}^{(2)}
# = \mathbf{x} \big(\mathbf{W}^{(1)}\mathbf{W}^{(2)}\big) + \big(\mathbf{b}^{(1)}\mathbf{W}^{(2)} + \mathbf{b}^{(2)}\big) .
# ```
#
# The right side is one affine map of $\mathbf{x}$, with the weights $\mathbf{W}^{(1)}\mathbf{W}^{(2)}$. So however many
# affine layers you stack, the result is a linear model.
#
# :::{admonition} A tempting mistake
# :class: warning
# It is easy to forget the activation between two `nn.Linear` layers. Nothing warns you: the network trains, and has
# more parameters. We train it on the lamp with and without ReLU:
# :::

# %%
lamp = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
for name, middle in ('without', nn.Identity()), ('with', nn.ReLU()):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), middle, nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    fit(model, F.mse_loss, optimizer, [(X, lamp)] * 300)
    told = model(X).detach()[:, 0].abs()  # abs: 0.00, not -0.00
    print(f'{name:7} ReLU:', ' '.join(f'{v:.2f}' for v in told))

# %% [markdown]
# Without ReLU the network answers one half for all four positions, like the linear model that it is.
#
# ```{exercise} ★★ Pencil: a staircase with more floors
# :label: hidden-parity
# A lamp has $d$ switches and is on if an odd number of them is up. Let $s$ be the number of switches that are up, and
# let the hidden units be $h_k = \operatorname{relu}(s - k)$ for $k = 0, 1, \dots, d - 1$. Which weights $w_k$ give the
# lamp as $o = \sum_k w_k h_k$ (no bias)? Write the answer as `output_weights(d)`.
# ```

# %%
def output_weights(d):
    """The weights w_0, ..., w_{d-1}: int d >= 1 -> list of d numbers.

    output_weights(2) is [1, -2].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_elimination(d):
    s = np.arange(1, d + 1)
    return np.linalg.solve(np.maximum(s[:, None] - np.arange(d), 0) * 1.0, s % 2)

grade(output_weights, by_elimination, d=[1, 2, 3, 4, 5, 8])

# %% [markdown]
# ```{solution-start} hidden-parity
# :class: dropdown
# ```
# As a function of $s$, the lamp goes up from 0 to 1, down to 0, up to 1, and so on: a broken line whose slopes are
# $1, -1, 1, \dots$ The unit $h_k$ adds $w_k$ to the slope from $s = k$ on. So $w_0 = 1$, and after it the changes of
# the slope are $-2, 2, -2, \dots$ The wrong answers take the slopes in place of their changes, forget that the first
# slope starts from zero, and leave out the signs.

# %% jupyter={"source_hidden": true}
def output_weights_solution(d):
    return [1] + [2 * (-1) ** k for k in range(1, d)]

def slopes(d):
    return [(-1) ** k for k in range(d)]

def first_doubled(d):
    return [2 * (-1) ** k for k in range(d)]

def without_signs(d):
    return [1] + [2] * (d - 1)

assert grade(output_weights_solution, by_elimination, d=[1, 2, 3, 4, 5, 8])
assert not grade(slopes, by_elimination, d=[1, 2, 3, 4, 5, 8])
assert not grade(first_doubled, by_elimination, d=[1, 2, 3, 4, 5, 8])
assert not grade(without_signs, by_elimination, d=[1, 2, 3, 4, 5, 8])

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★ Program: any number of layers
# :label: hidden-forward
# Write `forward(x, Ws, bs)`: the output of an MLP of $L \ge 1$ layers, with ReLU after every layer but the last.
# ```

# %%
def forward(x, Ws, bs):
    """The output of an MLP: (n, d_0) -> (n, d_L), float64.

    Ws and bs are lists of L weights (d_{l-1}, d_l) and biases (d_l,).
    forward(X, [W_1, W_2], [b_1, b_2]) is the lamp, (4, 1).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_modules(x, Ws, bs):
    layers = []
    for W, b in zip(Ws, bs, strict=True):
        linear = nn.Linear(*W.shape)
        linear.weight.data, linear.bias.data = W.T, b
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers[:-1])(x).detach()

def weights_of(widths, seed):
    g = torch.Generator().manual_seed(seed)
    return [torch.randn(a, b, generator=g).round(decimals=2) for a, b in zip(widths, widths[1:], strict=False)]

widths = lists(on(1) | integers(1, 4), 2, 5)
forward_cases = dict(
    x=lambda Ws: matrices(3, len(Ws[0]), -2, 2).map(torch.tensor),
    Ws=widths.flatmap(lambda widths: seeds().map(lambda seed: weights_of(widths, seed))),
    bs=lambda Ws: seeds().map(lambda seed: [weights_of([1, W.shape[1]], seed)[0][0] for W in Ws]),
)
grade(forward, by_modules, tries=60, **forward_cases)

# %% [markdown]
# ```{solution-start} hidden-forward
# :class: dropdown
# ```
# Go through all layers but the last with ReLU, and then once without it. The wrong answers apply ReLU to the output as
# well, so that it can never be negative; leave ReLU out; and forget the biases of the hidden layers.

# %% jupyter={"source_hidden": true}
def forward_solution(x, Ws, bs):
    for W, b in zip(Ws[:-1], bs[:-1], strict=True):
        x = relu(x @ W + b)
    return x @ Ws[-1] + bs[-1]

def relu_at_the_end(x, Ws, bs):
    return relu(forward_solution(x, Ws, bs))

def without_relu(x, Ws, bs):
    for W, b in zip(Ws, bs, strict=True):
        x = x @ W + b
    return x

def without_hidden_biases(x, Ws, bs):
    return forward_solution(x, Ws, [0 * b for b in bs[:-1]] + [bs[-1]])

assert grade(forward_solution, by_modules, tries=60, **forward_cases)
assert not grade(relu_at_the_end, by_modules, tries=60, **forward_cases)
assert not grade(without_relu, by_modules, tries=60, **forward_cases)
assert not grade(without_hidden_biases, by_modules, tries=60, **forward_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def torch_layers(x, W_1, b_1, W_2, b_2):  # the hidden layer and the output of the library
    x, W_1, b_1, W_2, b_2 = (torch.tensor(v) for v in (x, W_1, b_1, W_2, b_2))
    h = F.relu(F.linear(x, W_1.T, b_1[0]))
    return h, F.linear(h, W_2.T, b_2[0])

layers = dict(x=matrices(1, 3, -2, 2), W_1=matrices(3, 2, -2, 2), b_1=matrices(1, 2, -2, 2),
              W_2=matrices(2, 2, -2, 2), b_2=matrices(1, 2, -2, 2))
holds('dl.hidden.overcome', tries=60, phi=lambda z: np.maximum(z, 0), **layers,
      h=of(lambda x, W_1, b_1, W_2, b_2: torch_layers(x, W_1, b_1, W_2, b_2)[0].numpy()),
      o=of(lambda x, W_1, b_1, W_2, b_2: torch_layers(x, W_1, b_1, W_2, b_2)[1].numpy()))

def random_net(seed, widths):
    Ws = weights_of(widths, seed)
    return Ws, [weights_of([1, W.shape[1]], seed + k + 1)[0][0] for k, W in enumerate(Ws)]

def agrees(seed, net):
    (W_1, W_2), (b_1, b_2) = random_net(seed, [3, 5, 2])
    x = torch.eye(3)
    return close(net(x, W_1, b_1, W_2, b_2), forward_solution(x, [W_1, W_2], [b_1, b_2]))

verify(
    'the function mlp is the two layers of the library',
    lambda seed: agrees(seed, mlp),
    slip=('leaves ReLU out', lambda seed: agrees(seed, lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1) @ W_2 + b_2)),
    seed=integers(0, 10**6), tries=30,
)

def explained(seed, depth):  # are the outputs linear in the hidden layer number `depth`?
    Ws, bs = random_net(seed, [4, 6, 3, 2])
    x = torch.randn(40, 4, generator=torch.Generator().manual_seed(seed))
    o = forward_solution(x, Ws, bs)
    for W, b in zip(Ws[:depth], bs[:depth], strict=True):
        x = relu(x @ W + b)
    features = torch.column_stack([x, torch.ones(40)])
    fitted = features @ torch.linalg.lstsq(features, o, driver='gelsd').solution
    return close(fitted, o)

holds(
    'dl.hidden.representation',
    lambda seed: explained(seed, 2),
    slip=('takes one layer less for the representation', lambda seed: explained(seed, 1)),
    seed=integers(0, 10**6), tries=30,
)

def one_map(seed, b):
    (W_1, W_2), (b_1, b_2) = random_net(seed, [3, 4, 2])
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(seed))
    return close((x @ W_1 + b_1) @ W_2 + b_2, x @ (W_1 @ W_2) + b(b_1, W_2, b_2))

verify(
    'two affine layers are one',
    lambda seed: one_map(seed, lambda b_1, W_2, b_2: b_1 @ W_2 + b_2),
    slip=('forgets to send the first biases through the second layer',
          lambda seed: one_map(seed, lambda b_1, W_2, b_2: b_2)),
    seed=integers(0, 10**6), tries=30,
)

# %% [markdown]
# ## Universal approximation: any curve from hinges
#
# How much can one hidden layer compute? We look at one input $x$ and one output. The unit $\operatorname{relu}(x - t)$ is
# zero up to $t$, and then it rises with slope 1. We call it a *hinge* at $t$. A weighted sum of hinges is a broken line:
# each hinge changes the slope at its own place, by its weight.
#
# So we can build a network for any function $f$ on an interval $[a, b]$, without training. Cut the interval into $m$
# pieces of length $\Delta = (b - a)/m$, and draw a straight line over each piece. Piece $k$ begins at
# $t_k = a + (k - 1)\Delta$, and its slope is $s_k = \big(f(t_k + \Delta) - f(t_k)\big)/\Delta$. The first hinge makes the
# first slope. The weight of every other hinge is the *change* of the slope at its place:
#
# ```{math}
# :label: hidden-hinges
# f_m(x) = f(a) + s_1 \operatorname{relu}(x - t_1) + \sum_{k=2}^{m} (s_k - s_{k-1}) \operatorname{relu}(x - t_k) .
# ```
#
# This is an MLP with $m$ hidden units. All first weights are 1, and the first biases are $-t_k$. The second weights are
# $s_1$ and the changes of the slope, and the second bias is $f(a)$:

# %%
def hinges(f, a, b, m):
    t = torch.linspace(a, b, m + 1)                # (m + 1,)
    s = f(t).diff() / t.diff()                     # (m,) slopes
    change = s.diff(prepend=torch.zeros_like(s[:1]))   # (m,)
    W_1, b_1 = torch.ones_like(s)[None], -t[:-1]   # (1, m), (m,)
    W_2, b_2 = change[:, None], f(t[:1])           # (m, 1), (1,)
    return W_1, b_1, W_2, b_2

# %%
x = torch.linspace(0, 2 * torch.pi, 4001)[:, None]     # (4001, 1)
largest = {}
for m in (4, 8, 16, 32, 64):
    net = hinges(torch.sin, 0, 2 * torch.pi, m)
    largest[m] = (mlp(x, *net) - x.sin()).abs().max()
    bound = (2 * torch.pi / m) ** 2 / 8
    print(f'{m:2} units: largest error {largest[m]:.5f}, bound {bound:.5f}')

# %% mystnb={"image": {"alt": "Left: eight rays that start on the horizontal axis at equal distances, some going up, most of them down. Right: a broken line with eight pieces close to one period of a sine."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.4)
W_1, b_1, W_2, b_2 = hinges(torch.sin, 0, 2 * torch.pi, 8)
parts = relu(x @ W_1 + b_1) * W_2[:, 0]  # (4001, 8)
left.plot(x, parts, lw=1.3)
left.set(title='weighted hinges', xlabel='x', ylim=(-3, 3))
right.plot(x, x.sin(), '--', color=GREY, lw=1.2)
right.plot(x, mlp(x, W_1, b_1, W_2, b_2), lw=1.5)
right.set(title='their sum', xlabel='x');

# %% [markdown] tags=["caption"]
# Left: eight hinges, each times its weight. Each one begins to act at its own place. Right: their sum is a broken line
# that meets the sine (dashed) at the ends of all pieces.

# %% [markdown]
# Twice as many units make the error nearly four times smaller, once the pieces are short. The last column is the bound of a theorem:
#
# ```{prf:theorem} How well hinges follow a curve
# :label: thm-hidden-hinges
# Let $f$ be twice continuously differentiable on $[a, b]$ with $|f''| \le M$. Then
# $|f_m(x) - f(x)| \le \frac{M \Delta^2}{8}$ for all $x$ in $[a, b]$, where $\Delta = (b - a)/m$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Let $x$ lie inside a piece from $t$ to $t + \Delta$, and let $e = f - f_m$, which is zero at both ends of the piece.
# Choose $c$ such that $g(u) = e(u) - c\,(u - t)(u - t - \Delta)$ is zero at $x$, too. Then $g$ has three zeros, so $g'$
# has two, and $g''$ has one, at some $\xi$. On the piece $f_m$ is straight, so $g'' = f'' - 2c$ and $c = f''(\xi)/2$.
# Hence $e(x) = \frac{f''(\xi)}{2}
# (x - t)(x - t - \Delta)$. The product is largest in size in the middle, where it is $\Delta^2/4$.
# ```
#
# The hinges also approach a continuous function without a second derivative, but the error may fall more slowly. On a short
# piece such a function changes little, so the broken line stays close. More than one input is no obstacle:
#
# ````{prf:theorem} Universal approximation
# :label: thm-hidden-universal
# Let $f$ be a continuous function on a closed box in $\mathbb{R}^d$, and let $\varepsilon > 0$. Then there is an MLP
# with one hidden layer of finitely many ReLU units whose output differs from $f$ by less than $\varepsilon$ everywhere
# in the box.
# ````
#
# ```{prf:proof}
# :class: dropdown
# The functions $\cos(\mathbf{x}\mathbf{w} + b)$ and their finite weighted sums contain the constants (with
# $\mathbf{w} = \mathbf{0}$), and they tell any two points of the box apart. A product of two of them is a sum of two
# again, because $\cos\alpha \cos\beta = \frac12 \cos(\alpha + \beta) + \frac12 \cos(\alpha - \beta)$. So the theorem of
# Stone and Weierstrass says that such a sum comes within $\varepsilon/2$ of $f$ everywhere. Each of its $K$ cosines,
# with the weight $c_i$, is a function of the single number $\mathbf{x}\mathbf{w}_i + b_i$, which runs through an
# interval. By the theorem above, enough hinges follow this function to within $\varepsilon / (2 K |c_i| + 1)$. Each
# hinge is $\operatorname{relu}(\mathbf{x}\mathbf{w}_i + b_i - t)$, a ReLU unit, and the errors add up to less than
# $\varepsilon$.
# ```
#
# Other activations do as well, for example the sigmoid {cite}`cybenko1989approximation`. In fact a continuous
# activation works if and only if it is not a polynomial {cite}`leshno1993multilayer`. But the theorem promises less
# than it seems to. It does not say how many units are needed. It does not say that gradient descent finds the weights.
# And it says nothing about points outside the box:

# %%
net = hinges(torch.sin, 0, 2 * torch.pi, 64)
for name, place in (('inside, at π/2', 0.5), ('outside, at 5π/2', 2.5)):
    at = torch.tensor([[place * torch.pi]])
    print(f'{name:17} network {mlp(at, *net).item():.2f},'
          f' sine {at.sin().item():.2f}')

# %% [markdown]
# Beyond the right end of the interval all hinges have begun to act, so the network goes on as a straight line.
#
# ```{exercise} ★★ Experiment: how fast does the error fall?
# :label: hidden-rates
# If twice as many units make the error $2^r$ times smaller, we call $r$ the rate. For the sine it is 2. Predict the
# rate of `hinges` on $[0, 1]$, up to 0.2, for (a) $f(x) = \sqrt{x}$, (b) $f(x) = x^2$, (c) $f(x) = |x - \frac13|$. Take
# $m$ = 16, 32, 64, and so on. Return the three rates, then run the grader and explain.
# ```

# %%
def predicted_rates():
    """The rates for sqrt(x), x**2 and abs(x - 1/3): three floats."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
@cache
def measured_rates():
    x = torch.linspace(0, 1, 10_001)[:, None]
    rates = []
    for f in torch.sqrt, torch.square, lambda x: (x - 1 / 3).abs():
        errors = [(mlp(x, *hinges(f, 0.0, 1.0, m)) - f(x)).abs().max() for m in (16, 256)]
        rates.append(float((errors[0] / errors[1]).log2() / 4))
    return rates

def is_measured(said):
    if len(said) != 3:
        raise ValueError('give three numbers')
    for name, guess, rate in zip(('sqrt(x)', 'x**2', 'abs(x - 1/3)'), said, measured_rates(), strict=True):
        if not abs(guess - rate) <= 0.2:
            raise ValueError(f'another rate is measured for {name}; try it')
    return True

grade(lambda: is_measured(predicted_rates()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} hidden-rates
# :class: dropdown
# ```
# The parabola has the constant second derivative 2, so the rate is 2, as for the sine, and the bound is reached. The
# root has no bounded second derivative. Its error is largest on the first piece, where it is $\sqrt\Delta/4$, so the
# rate is $\frac12$. The last function is straight except for its kink, and $\frac13$ is never a cut. In the piece with
# the kink the error is proportional to $\Delta$, so the rate is 1. The wrong answers take the rate of the sine for all,
# expect a kink to be harmless, and expect the root to be as bad as a jump.

# %% jupyter={"source_hidden": true}
right_rates = measured_rates()
assert grade(lambda: is_measured(right_rates), lambda: True, [()])
assert not grade(lambda: is_measured((2, 2, 2)), lambda: True, [()])
assert not grade(lambda: is_measured((0.5, 2, 2)), lambda: True, [()])
assert not grade(lambda: is_measured((0, 2, 1)), lambda: True, [()])
print('rates', ', '.join(f'{rate:.2f}' for rate in measured_rates()))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def in_bound(omega, b, m, factor):  # f = sin(omega x + 1), |f''| <= omega^2
    f = lambda x: torch.sin(omega * x + 1)
    x = torch.linspace(0, b, 501)[:, None]
    error = (mlp(x, *hinges(f, 0, b, m)) - f(x)).abs().max()
    return bool(error <= factor * omega**2 * (b / m) ** 2 / 8 + 1e-12)

verify(
    'a broken line of m pieces follows f to within M Δ²/8',
    lambda omega, b, m: in_bound(omega, b, m, 1),
    slip=('divides by 16 in place of 8', lambda omega, b, m: in_bound(omega, b, m, 0.5)),
    omega=scalars(0.5, 3), b=scalars(0.5, 6), m=integers(1, 40), tries=60,
)

def same_as_interp(seed, m, shift):
    g = torch.Generator().manual_seed(seed)
    heights = torch.randn(m + 1, generator=g)
    nodes = torch.linspace(-1, 2, m + 1)
    x = torch.rand(50, 1, generator=g) * 3 - 1
    f = lambda t: torch.tensor(np.interp(t, nodes, heights))
    return close(mlp(x, *hinges(f, -1, 2, m))[:, 0], np.interp(x[:, 0] + shift, nodes, heights))

verify(
    'the network of hinges is the broken line of numpy.interp',
    lambda seed, m: same_as_interp(seed, m, 0),
    slip=('puts the hinges in the wrong places', lambda seed, m: same_as_interp(seed, m, 0.1)),
    seed=seeds(), m=integers(1, 12), tries=40,
)
verify(
    'twice as many units make the error four times smaller',
    lambda m, factor: 0.9 * factor < largest[m] / largest[2 * m] < 1.1 * factor,
    slip=('expects half the error', lambda m, factor: 0.9 * factor < 2 * largest[m] / largest[2 * m] < 1.1 * factor),
    m=[8, 16, 32], factor=[4],
)
def of_net(*places):
    return mlp(torch.tensor(places)[:, None], *net)[:, 0]

verify(
    'inside the interval the network is near the sine, and beyond it a straight line',
    lambda x: abs(of_net(x).item() - np.sin(x)) < 0.002 and close(of_net(x + 7, x + 8, x + 9).diff().diff(), [0.0]),
    slip=('asks for the sine beyond it as well', lambda x: abs(of_net(x + 7).item() - np.sin(x + 7)) < 0.002),
    x=scalars(0, 6.2),
)

# %% [markdown]
# ## An MLP from scratch on handwritten digits
#
# Now the weights come from the data. We take the handwritten digits of MNIST {cite}`lecun1998gradient`: pictures of
# $28 \times 28$ pixels.

# %%
train, test = data.mnist('train'), data.mnist('test')
X, y = torch.tensor(train.x), torch.tensor(train.y)              # (4000, 784)
X_test, y_test = torch.tensor(test.x), torch.tensor(test.y)      # (1000, 784)
print(len(X), 'digits for training,', len(X_test), 'for the test')

# %% [markdown]
# The weights start at random, scaled so that the pre-activations are neither tiny nor huge. If all hidden units started
# with the same weights, they would compute the same and get the same gradients, so they would stay equal for ever.

# %%
def start(d, m, q, g):                # g is a random generator
    W_1 = torch.randn(d, m, generator=g) * (2 / d) ** 0.5
    W_2 = torch.randn(m, q, generator=g) * (1 / m) ** 0.5
    return W_1, torch.zeros(m), W_2, torch.zeros(q)

# %% [markdown]
# Training repeats three steps for each batch: compute the loss, let autograd compute its gradient with respect to all
# parameters, and move each parameter against its gradient. Under `torch.no_grad()` autograd does not record the move
# itself.

# %%
def train_by_hand(model, parameters, lr, epochs, g):
    for p in parameters:
        p.requires_grad_()
    for X_b, y_b in batches(g, 100, X, y, epochs=epochs):
        loss = F.cross_entropy(model(X_b, *parameters), y_b)
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for p, gradient in zip(parameters, gradients):
                p -= lr * gradient
    return [p.detach() for p in parameters]

# %%
def right(model, parameters):         # (1000,) True where the digit is right
    return model(X_test, *parameters).argmax(1) == y_test

def scores(x, W, b):                  # softmax regression, for comparison
    return x @ W + b

# %% [markdown]
# We compare two networks, of 16 and of 64 hidden units, with softmax regression, which has no hidden layer. Softmax
# regression starts at zero, and we try three learning rates for it. Then we train each model three times, in different
# orders of the digits, the networks also from different starts, and print the share of the test digits that are right.

# %%
def linear_right(lr, seed):
    g = torch.Generator().manual_seed(seed)
    zeros = [torch.zeros(784, 10), torch.zeros(10)]
    return right(scores, train_by_hand(scores, zeros, lr, 8, g))

for lr in (0.1, 0.5, 1):
    print(f'softmax regression, learning rate {lr}:'
          f' {linear_right(lr, seed=0).double().mean():.2f}')

# %%
nets, hits = {}, {'none': [linear_right(0.5, seed) for seed in range(3)]}
for m in (16, 64):
    nets[m] = []
    for seed in range(3):
        g = torch.Generator().manual_seed(seed)
        nets[m].append(train_by_hand(mlp, start(784, m, 10, g), 0.5, 8, g))
    hits[m] = [right(mlp, net) for net in nets[m]]
for m, three in hits.items():
    shares = [hit.double().mean() for hit in three]
    print(f'hidden units: {m:4}   {min(shares):.2f} to {max(shares):.2f}')

# %% [markdown]
# With 16 hidden units the network is not clearly better than softmax regression: all that its output layer sees of a
# digit is 16 numbers. With 64 units, it is right more often than softmax regression in each of the three runs.
#
# What has the network learned? Column $j$ of $\mathbf{W}^{(1)}$ has one weight for each pixel, so it can be shown as a
# picture. We subtract the random start, so that only what training has added is left, and take the eight units that have
# changed most:

# %%
g = torch.Generator().manual_seed(0)
added = nets[64][0][0] - start(784, 64, 10, g)[0]      # (784, 64)
order = added.norm(dim=0).argsort(descending=True, stable=True)
added = added[:, order[:8]]                            # (784, 8)

# %% mystnb={"image": {"alt": "Eight squares of 28 by 28 pixels with violet and orange bows and spots in the middle; the borders are white."}} tags=["hide-input"]
fig, axes = panels(4, 2, height=1.5)
for ax, weights in zip(axes.flat, added.T, strict=True):
    show_image(ax, weights.reshape(28, 28), cmap='PuOr', vmin=-0.25, vmax=0.25)

# %% [markdown] tags=["caption"]
# What training has added to the first weights of eight hidden units. Violet: training has raised the
# weight, so ink on this pixel raises the pre-activation. Orange: it has lowered the weight. Each unit looks for strokes in some places and for paper in others.

# %% [markdown]
# ### The same network in PyTorch
#
# `nn.Sequential` puts layers in a row. `nn.Linear(784, 64)` holds a weight matrix and a row of biases; it stores the matrix
# transposed, with the shape $64 \times 784$. To compare, we copy our start into it:

# %%
g = torch.Generator().manual_seed(0)
W_1, b_1, W_2, b_2 = start(784, 64, 10, g)
model = nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))
with torch.no_grad():                 # copying is no step of a computation
    model[0].weight.copy_(W_1.T)
    model[0].bias.copy_(b_1)
    model[2].weight.copy_(W_2.T)
    model[2].bias.copy_(b_2)

# %% [markdown]
# The loop has the same three steps as ours. `loss.backward()` computes the gradients and *adds* them to the gradients
# that each parameter stores, so `optimizer.zero_grad()` has to forget those of the last batch first. `optimizer.step()` moves all parameters.
# `model.train()` and `model.eval()` switch some kinds of layers, such as dropout, between training and use. Our layers
# do the same in both modes, but the two calls belong to the idiom.

# %%
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
model.train()
for X_b, y_b in batches(g, 100, X, y, epochs=8):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(X_b), y_b)
    loss.backward()
    optimizer.step()

# %%
model.eval()
with torch.no_grad():                 # a test needs no gradients
    hit = model(X_test).argmax(1) == y_test
print(f'nn.Sequential {hit.double().mean():.2f},'
      f' by hand {hits[64][0].double().mean():.2f}')
print('right on the same digits:', (hit == hits[64][0]).all().item())

# %% tags=["checks"]
def same_parameters(net):
    ours = [net[0].T, net[1], net[2].T, net[3]]
    return all(close(p, q, atol=1e-6) for p, q in zip(model.parameters(), ours, strict=True))

verify(
    'after the same training the parameters of nn.Sequential are ours',
    lambda seed: same_parameters(nets[64][seed]),
    slip=('compares with another start', lambda seed: same_parameters(nets[64][seed + 1])),
    seed=[0],
)
gain = {m: torch.stack(hits[m]).double() - torch.stack(hits['none']).double() for m in (16, 64)}  # (3, 1000)

def clearly_better(m, errors):  # paired over the test digits
    of_a_digit = gain[m].mean(0)
    return bool(of_a_digit.mean() > errors * of_a_digit.std() / 1000**0.5 and (gain[m].mean(1) > 0).all())

verify(
    'with 64 hidden units the network is better than softmax regression by more than two standard errors, '
    'with 16 it is not',
    lambda errors: clearly_better(64, errors) and not clearly_better(16, errors),
    slip=('says so of 16 hidden units', lambda errors: clearly_better(16, errors)),
    errors=[2],
)

def columns_after_training(m, first, second):  # of the first weights, those of the first and of the last unit
    biases = torch.zeros(m), torch.zeros(10)
    W_1 = train_by_hand(
        mlp, [first(784, m), biases[0], second(m, 10), biases[1]], 0.5, 1, torch.Generator().manual_seed(0))[0]
    return W_1[:, 0], W_1[:, -1]

verify(
    'units that start equal stay equal',
    lambda m: close(*columns_after_training(
        m, lambda *shape: torch.full(shape, 0.01), lambda *shape: torch.full(shape, 0.1))),
    slip=('starts them at random',
          lambda m: close(*columns_after_training(
              m, lambda *shape: weights_of(shape, 0)[0], lambda *shape: torch.full(shape, 0.1)))),
    m=[2, 5],
)

# %% [markdown]
# ## Summary
#
# A hidden layer is an affine map followed by a nonlinear activation, and the layer after it is a linear model of the
# hidden units; without the activation all layers together are one affine map. One hidden layer of ReLU units draws any
# broken line, so it comes as near to a continuous function on a closed interval as you like. If $|f''| \le M$, the error is at most
# $M\Delta^2/8$. The theorem neither finds the weights nor speaks about other places. Trained by
# gradient descent on handwritten digits, a network with 64 hidden units beats softmax regression.
#
# **Further reading.** {cite:t}`zhang2023dive`, chapter 5, goes the same way with more data. {cite:t}`goodfellow2016deep`,
# chapter 6, is the standard text on such networks. {cite:t}`prince2023understanding`, chapters 3 and 4, draws what hidden
# units do to the plane, for everybody who thinks in pictures.
