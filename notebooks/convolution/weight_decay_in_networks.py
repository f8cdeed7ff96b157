# ---
# jupyter:
#   book:
#     functions:
#       normalize: "normalize(normal(3, 6))"
#     main: ml.conv.wd-bn.invariance
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Weight decay meets normalization
#
# Weight decay makes the weights of a network smaller. But in many networks, all layers except the last are followed by a
# normalization, which cancels the size of their weights. So what does weight decay do there?
#
# - **You need** [batch normalization](batch_normalization.ipynb), [weight decay](../regression/weight_decay.ipynb), [AdamW](../optimization/adaptive_methods.ipynb),
#   [channels in groups](channels.ipynb) and [training in minibatches](../regression/minibatch_training.ipynb).
# - **You build** a layer whose scale does not matter, a prediction of the size of its weights, and an experiment with
#   weight decay and shifted pictures.
# - **Runs in** 20 seconds. All tensors are float64.

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
from sklearn.linear_model import LogisticRegression
from torch import nn
from torch.nn.functional import batch_norm, cross_entropy, pad
from torch.utils.flop_counter import FlopCounterMode

from nbutils import data
from nbutils.cases import scalars, seeds
from nbutils.checks import below, close, grade, holds, verify
from nbutils.figures import GREY, panels, show_image

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the tensors are small: a second thread would mostly wait
torch.set_printoptions(precision=3, sci_mode=False)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Scale invariance: batch normalization cancels the size of the weights
#
# Batch normalization takes the outputs of one unit for all examples of a batch, subtracts their mean and divides by their
# standard deviation. Here a layer with two units reads a batch of four examples, the columns of $\mathbf{X}$. We double
# its weights:

# %%
def normalize(Z):                     # Z: (units, examples)
    centred = Z - Z.mean(1, keepdim=True)
    return centred / centred.square().mean(1, keepdim=True).sqrt()

# %%
W = torch.tensor([[1.0, 2.0], [3.0, -1.0]])
X = torch.tensor([[1.0, 2.0, 0.5, 4.0], [3.0, 1.0, 2.5, 2.0]])
print('outputs', W @ X, 'doubled', 2 * W @ X, sep='\n')
print('normalized', normalize(W @ X), sep='\n')
print('doubled, normalized', normalize(2 * W @ X), sep='\n')

# %% [markdown]
# Doubled weights double the outputs, their mean and their standard deviation, so the quotient stays as it was. The same
# happens with each positive factor. We write BN for this normalization:
#
# ```{math}
# :label: ml.conv.wd-bn.invariance
# \operatorname{BN}(\alpha \mathbf{W} \mathbf{X}) = \operatorname{BN}(\mathbf{W} \mathbf{X})
# \quad \text{for all } \alpha > 0 .
# ```
#
# A function with this property is called **scale invariant** in $\mathbf{W}$. The layers behind the normalization get the same
# numbers, so the output of the whole network is scale invariant in $\mathbf{W}$, too. A bias before the normalization would be
# subtracted with the mean, so we leave it out.

# %% mystnb={"image": {"alt": "Four boxes in a row, joined by arrows: X; layer W, no bias; normalization; ReLU and the rest. Below the second box stands: times alpha; below the third: divided by alpha; below the fourth: unchanged."}} tags=["hide-input"]
fig, ax = panels(1, height=1.3)
for k, (words, below_it) in enumerate((
        ('$\\mathbf{X}$', ''), ('layer $\\mathbf{W}$,\nno bias', 'times $\\alpha$'),
        ('normalization', 'divided by $\\alpha$'), ('ReLU and\nthe rest', 'unchanged'))):
    ax.add_patch(plt.Rectangle((3 * k, 0), 2, 1, fc='none', ec='C1' if k == 2 else 'C0', lw=1.5))
    ax.text(3 * k + 1, 0.5, words, ha='center', va='center', fontsize=9)
    ax.text(3 * k + 1, -0.35, below_it, ha='center', va='center', fontsize=9)
    if k < 3:
        ax.annotate('', (3 * k + 2.95, 0.5), (3 * k + 2.05, 0.5), arrowprops={'arrowstyle': '->', 'color': GREY})
ax.set(xlim=(-0.2, 11.2), ylim=(-0.7, 1.2))
ax.axis('off');

# %% [markdown] tags=["caption"]
# A factor $\alpha$ in the weights of a layer multiplies its outputs, and the normalization divides by it again.

# %% [markdown]
# Libraries add a small $\varepsilon$ to the variance before they take the root, so that nothing is divided by zero. Then the
# equation holds only approximately, and only while the variance is much larger than $\varepsilon$. In PyTorch, $\varepsilon$ is $10^{-5}$:

# %%
print('epsilon:', nn.BatchNorm1d(2).eps)
for alpha in 100, 1, 0.01, 0.001:
    got = batch_norm((alpha * W @ X).T, None, None, training=True).T
    print(f'{alpha:6}: largest output {got.abs().max():.3f}')

# %% [markdown]
# ### The gradient is orthogonal to the weights
#
# Let $f(\mathbf{W})$ be the loss of such a network. We move $\mathbf{W}$ a little in its own direction, so that it is multiplied by a
# factor near 1. The loss does not change, so its slope in the direction of $\mathbf{W}$ is zero. In other words, the gradient $\nabla f(\mathbf{W})$
# is orthogonal to $\mathbf{W}$. Here a matrix counts as one long vector: $\langle \mathbf{A}, \mathbf{B} \rangle$ is the sum of the
# products of all entries at the same places.
#
# Now let the weights be $\alpha$ times as large. Then the same small change of $\mathbf{W}$ is $\alpha$ times smaller in proportion, so it
# changes the loss $\alpha$ times less. Therefore the gradient is $\alpha$ times *smaller*:
#
# ```{prf:theorem} The gradient of a scale invariant loss
# :label: thm-wd-orthogonal
# Let $f(\alpha \mathbf{W}) = f(\mathbf{W})$ for all $\alpha > 0$, and let $f$ be differentiable at $\mathbf{W}$. Then for each $\alpha > 0$
#
# $$
# \langle \nabla f(\mathbf{W}), \mathbf{W} \rangle = 0 \quad\text{and}\quad
# \nabla f(\alpha \mathbf{W}) = \tfrac{1}{\alpha} \nabla f(\mathbf{W}) .
# $$
# ```
#
# ```{prf:proof}
# :class: dropdown
# As a function of $\alpha$, $f(\alpha \mathbf{W})$ is constant, so its derivative at $\alpha = 1$ is zero. By the chain rule, this derivative is
# $\langle \nabla f(\mathbf{W}), \mathbf{W} \rangle$. For the second equation, read the assumption as $f(\mathbf{V}) = f(\mathbf{V} / \alpha)$. At $\mathbf{V} = \alpha \mathbf{W}$, the right
# side is differentiable, and its gradient with respect to $\mathbf{V}$ is $\frac{1}{\alpha} \nabla f(\mathbf{W})$ by the chain rule. The gradient of the left side is
# $\nabla f(\alpha \mathbf{W})$.
# ```
#
# We measure both on handwritten digits of $8 \times 8$ pixels. One layer has ten units, and its normalized outputs are the scores of
# the ten classes:

# %%
digits = data.digits()
pixels, labels = torch.tensor(digits.x), torch.tensor(digits.y)

def loss(W, rows=slice(0, 1000)):
    scores = normalize(W @ pixels[rows].T).T          # (rows, 10)
    return cross_entropy(scores, labels[rows])

# %%
def gradient(W, *rows):
    W = W.detach().requires_grad_()
    return torch.autograd.grad(loss(W, *rows), W)[0]

# %%
start = torch.Generator().manual_seed(0)
W0 = torch.randn(10, 64, generator=start, dtype=pixels.dtype) / 8
for alpha in 1, 2, 4:
    g = gradient(alpha * W0)
    cosine = (g * W0).sum() / g.norm() / W0.norm()
    print(f'{alpha}: |gradient| {g.norm():.4f},'
          f' cosine with W {below(cosine.abs())}')

# %% [markdown]
# ### Two runs with the same function at each step
#
# We take a gradient step from $\alpha \mathbf{W}$ with the learning rate $\alpha^2 \eta$, and insert the second equation of the theorem:
#
# $$
# \alpha \mathbf{W} - \alpha^2 \eta\, \nabla f(\alpha \mathbf{W}) = \alpha \mathbf{W} - \alpha \eta\, \nabla f(\mathbf{W})
# = \alpha\, (\mathbf{W} - \eta\, \nabla f(\mathbf{W})) .
# $$
#
# This is $\alpha$ times the result of a step from $\mathbf{W}$ with the rate $\eta$. So the two runs have the same outputs after each step. Here are the losses
# at three of the steps:

# %%
def descend(W, eta, steps=101):
    losses = []
    for _ in range(steps):
        losses.append(loss(W).item())
        W = W - eta * gradient(W)
    return torch.tensor(losses)

# %%
plain = descend(W0, 1.0)
scaled = descend(3 * W0, 9.0)
same_rate = descend(3 * W0, 1.0)
for name, run in (('W, eta', plain), ('3W, 9 eta', scaled),
                  ('3W, eta', same_rate)):
    print(f'{name:9}', run[[0, 10, 100]])
print('first two differ:', below((plain - scaled).abs().max(), 1e-10))

# %% [markdown]
# The third run shows what larger weights do if the learning rate stays the same: they make learning slower.
#
# ```{exercise} ★★ Program: the squared norm after a step
# :label: wd-next-norm
# A scale invariant loss has the gradient $\mathbf{g}$ at the weights $\mathbf{w}$. One step of gradient descent with the rate $\eta$ and weight decay of strength $\lambda$ leads to $(1 - \eta
# \lambda)\, \mathbf{w} - \eta\, \mathbf{g}$. Write `next_square(w2, g2, eta, lam)`, the squared norm after the
# step, from the squared norms of $\mathbf{w}$ and $\mathbf{g}$.
# ```

# %%
def next_square(w2, g2, eta, lam):
    """The squared norm after the step: four floats >= 0 -> float.

    next_square(4., 1., 0.5, 0.) is 4.25.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_vectors(w2, g2, eta, lam):
    w, g = np.array([w2**0.5, 0.0]), np.array([0.0, g2**0.5])  # orthogonal
    return float((((1 - eta * lam) * w - eta * g) ** 2).sum())

squares = dict(w2=scalars(0, 9), g2=scalars(0, 9), eta=scalars(0, 2), lam=scalars(0, 2))
grade(next_square, by_vectors, **squares)

# %% [markdown]
# ```{solution-start} wd-next-norm
# :class: dropdown
# ```
# The two vectors are orthogonal, because $\mathbf{g}$ is orthogonal to $\mathbf{w}$. So Pythagoras' theorem adds up the squares of their
# lengths. The factors are squared, too. Without decay the norm cannot shrink.

# %% jupyter={"source_hidden": true}
def next_square_solution(w2, g2, eta, lam):
    return (1 - eta * lam) ** 2 * w2 + eta**2 * g2

def without_squares(w2, g2, eta, lam):
    return (1 - eta * lam) * w2 + eta * g2

def without_decay(w2, g2, eta, lam):
    return w2 + eta**2 * g2

def lengths_added(w2, g2, eta, lam):
    return ((1 - eta * lam) * w2**0.5 + eta * g2**0.5) ** 2

assert grade(next_square_solution, by_vectors, **squares)
assert not grade(without_squares, by_vectors, **squares)
assert not grade(without_decay, by_vectors, **squares)
assert not grade(lengths_added, by_vectors, **squares)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def normal(rows, columns):
    return seeds().map(lambda seed: np.random.default_rng(seed).normal(size=(rows, columns)))

holds(
    'ml.conv.wd-bn.invariance',
    alpha=scalars(0.1, 10), W=normal(3, 4), X=normal(4, 6),
    BN=lambda Z: normalize(torch.tensor(Z)).numpy(),
    alike={r'factor dropped: \alpha': 'it makes no difference, as the formula says'},
)
verify(
    'the gradient is orthogonal to the weights, and α times smaller at α W',
    lambda alpha: close(alpha * gradient(alpha * W0), gradient(W0), atol=1e-12, rtol=1e-9)
    and abs((gradient(alpha * W0) * W0).sum()) < 1e-12,
    slip=('takes the gradient to be as large as before', lambda alpha: close(
        gradient(alpha * W0), gradient(W0), atol=1e-12, rtol=1e-9)),
    alpha=[0.1, 2, 30],
)
verify(
    'from α W with the rate α² η, gradient descent has the same losses to 1e-10',
    lambda alpha: (descend(alpha * W0, alpha**2) - plain).abs().max() < 1e-10,
    slip=('multiplies the rate by α', lambda alpha: (descend(alpha * W0, alpha) - plain).abs().max() < 1e-10),
    alpha=[0.5, 3.0],
)
verify(
    'normalize is batch_norm of torch without ε, and no bias before it changes it',
    lambda bias: close(normalize(W @ X + bias), batch_norm((W @ X).T, None, None, training=True, eps=1e-30).T, atol=1e-12),
    slip=('adds the bias after it', lambda bias: close(normalize(W @ X) + bias, normalize(W @ X), atol=1e-12)),
    bias=[0.5, -3.0],
)

# %% [markdown]
# ## Weight decay sets the effective learning rate
#
# Weight decay, or $\ell_2$-regularization, adds a penalty for large weights to the loss $\mathcal{L}$. Biases are not penalized. With the weights
# $\mathbf{W}^{(i)}$ of layer $i$, we minimize
#
# $$
# \mathcal{L} + \frac{\lambda}{2} \sum_i \|\mathbf{W}^{(i)}\|_F^2 ,
# $$
#
# where $\|\mathbf{W}\|_F^2$ is the sum of the squares of all entries. From now on we write $\|\mathbf{W}\|$ for the root of this sum, and call it the norm of $\mathbf{W}$.
#
# (ml.conv.weight-decay.update)=
# The penalty has the gradient $\lambda \mathbf{W}$. So a step of gradient descent multiplies all weights by $1 - \eta\lambda$, and subtracts $\eta$ times
# the gradient of the loss:
#
# $$
# \mathbf{W}_{t+1} = \mathbf{W}_t - \eta \nabla \mathcal{L}(\mathbf{W}_t) - \eta \lambda \mathbf{W}_t
# = (1 - \eta \lambda)\, \mathbf{W}_t - \eta \nabla \mathcal{L}(\mathbf{W}_t) .
# $$
#
# In PyTorch, `SGD` does this with `weight_decay=lam`. With Adam, it makes a difference whether we add the penalty to the loss or multiply the weights by $1 - \eta\lambda$. `Adam` takes the gradient of the penalized
# loss, and divides it by the size that its entries usually have. So $\lambda \mathbf{W}$, the part of the penalty, is divided, too. `AdamW` multiplies the weights by $1 - \eta\lambda$, and adds nothing to the gradient
# {cite}`loshchilov2019decoupled`. We take one step from two weights of size 1, whose gradients are 100 and 0.1:

# %%
def one_step(kind, **settings):
    w = torch.ones(2, requires_grad=True)
    w.grad = torch.tensor([100.0, 0.1])
    kind([w], lr=0.01, **settings).step()
    return w.detach()

# %%
for kind in torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW:
    moved = (one_step(kind, weight_decay=0.5)
             - one_step(kind, weight_decay=0.0))
    print(f'{kind.__name__:5} decay moves the weights by',
          ', '.join('nothing' if abs(m) < 1e-8 else f'{m:.4f}'
                    for m in moved.tolist()))

# %% [markdown]
# `SGD` and `AdamW` subtract $\eta\lambda = 0.005$ times the weight. In the first step of `Adam`, we see no effect of the decay. Each weight moves
# by $\eta$ in this step, however large its gradient is, and only the sign of the gradient counts.
#
# ### Without decay the weights grow, with decay they reach an equilibrium
#
# In a layer that is followed by a normalization, the new weights are the sum of two orthogonal parts: $(1 - \eta\lambda)\, \mathbf{W}_t$, and $-\eta$ times the
# gradient. By Pythagoras' theorem, the squares of their norms add up:
#
# ```{prf:theorem} The norm before a normalization
# :label: thm-wd-norm
# Let $\mathcal{L}(\alpha \mathbf{W}) = \mathcal{L}(\mathbf{W})$ for each $\alpha > 0$, and let $\mathcal{L}$ be differentiable at $\mathbf{W}_t$. Then a step of plain gradient descent
# with weight decay leads to
#
# $$
# \|\mathbf{W}_{t+1}\|^2 = (1 - \eta\lambda)^2 \|\mathbf{W}_t\|^2 + \eta^2 \|\nabla\mathcal{L}(\mathbf{W}_t)\|^2 .
# $$
# ```
#
# Without decay, that is, with $\lambda = 0$, the norm grows with each step, until the gradient is zero. With decay, there are two forces. The gradient makes the weights
# larger, and the decay makes them smaller. We train with minibatches of 20 digits, from small and from large weights:

# %%
def train(W, eta, lam, steps=800, seed=0):
    g = torch.Generator().manual_seed(seed)
    squares, gradients = [], []
    for _ in range(steps):
        grad = gradient(W, torch.randint(1000, (20,), generator=g))
        squares.append(W.square().sum().item())
        gradients.append(grad.square().sum().item())
        W = (1 - eta * lam) * W - eta * grad
    return torch.tensor(squares), torch.tensor(gradients)

# %%
eta, lam = 0.5, 0.02
runs = {name: train(scale * W0, eta, decay) for name, scale, decay in (
    ('small, no decay', 1, 0), ('small, decay', 1, lam),
    ('large, decay', 3, lam))}

# %% mystnb={"image": {"alt": "Squared norm of the weights against the step, on a logarithmic axis. The line without decay rises all the time. The two lines with decay fall from different heights, meet after some hundred steps, and stay close to a dashed grey line."}} tags=["hide-input"]
squares, gradients = runs['large, decay']
c2 = (squares * gradients)[-300:].mean().item()
level = (eta * c2 / (lam * (2 - eta * lam))) ** 0.5
fig, ax = panels(1, height=2.8)
for name, (squares, _) in runs.items():
    ax.plot(squares, label=name)
ax.axhline(level, color=GREY, ls='--', lw=1)
ax.text(790, level * 0.9, 'predicted', ha='right', va='top', fontsize=9)
ax.set(xlabel='step', ylabel='squared norm $\\|\\mathbf{W}\\|^2$', yscale='log', ylim=(3, 120))
ax.legend();

# %% [markdown] tags=["caption"]
# With weight decay, both starts lead to the same squared norm: in the end, the two curves lie on each other. Without it, the
# norm grows with each step. The dashed line is predicted by the formula below.

# %% [markdown]
# Where is the equilibrium, at which the norm no longer changes? Weights that are $\alpha$ times as large have a gradient that is $\alpha$ times
# smaller. So the product $c = \|\nabla\mathcal{L}\|\, \|\mathbf{W}\|$ does not depend on the size of the weights. It does depend on their direction and on
# the batch, but let us treat $c$ as constant. With the squared norm $n = \|\mathbf{W}\|^2$, we have
# $\|\nabla\mathcal{L}\|^2 = c^2 / n$. At the equilibrium, a step leads from $n$ to $n$, so the theorem says $n = (1 - \eta\lambda)^2 n + \eta^2 c^2 / n$.
# We multiply by $n$, and bring the terms with $n^2$ to one side: $n^2\, (1 - (1 - \eta\lambda)^2) = \eta^2 c^2$. The bracket is $\eta\lambda\, (2 - \eta\lambda)$, so
#
# $$
# n = c\, \sqrt{\frac{\eta}{\lambda\, (2 - \eta\lambda)}} .
# $$
#
# The network only depends on the direction $\mathbf{W} / \|\mathbf{W}\|$ of the weights. How fast does a run change this direction? In the part before, a run from $\mathbf{W}$ with
# the rate $\eta$ and a run from $\alpha \mathbf{W}$ with the rate $\alpha^2 \eta$ had weights with the same directions at each step. The quotient $\eta / \|\mathbf{W}\|^2$ is the same in both runs, because $\alpha^2$
# cancels. So this quotient counts, and not $\eta$ alone. It is called the **effective learning rate** {cite}`vanlaarhoven2017l2`. With weight decay and a constant $\eta$, the effective rate does not
# fall to zero, because the norm stays bounded. Here is $\eta$, divided by the mean squared norm towards the end of each run. For the prediction, we take the mean of $c^2$ over the same steps of the third run:

# %%
for name, (squares, gradients) in runs.items():
    n = squares[-300:].mean().item()
    print(f'{name:15} squared norm {n:.2f}, effective rate {eta / n:.4f}')
squares, gradients = runs['large, decay']
c2 = (squares * gradients)[-300:].mean().item()
print(f'predicted: {(eta * c2 / (lam * (2 - eta * lam))) ** 0.5:.2f}')

# %% [markdown]
# Without decay, the effective learning rate is almost six times smaller. The predicted norm is only approximate, because $c$ differs from batch to batch. The
# equation of the theorem, however, holds exactly at each step.
#
# ```{exercise} ★★ Pencil: the time to the equilibrium
# :label: wd-decay-time
# A run starts from large weights before a normalization. Their gradients are small, so at first the decay acts almost alone. If $\eta\lambda$ is small, about how many steps
# does it take to divide the norm $\|\mathbf{W}\|$ by $e$?
# ```
#
# ```{solution-start} wd-decay-time
# :class: dropdown
# ```
# After $t$ steps the norm is multiplied by $(1 - \eta\lambda)^t \approx e^{-\eta\lambda t}$. So it takes $1/(\eta\lambda)$
# steps, here $1 / (0.5 \cdot 0.02) = 100$:

# %% jupyter={"source_hidden": true}
print(f'{(1 - eta * lam) ** 100:.4f}, and 1/e is {np.exp(-1):.4f}')

# %% [markdown]
# Often both $\eta$ and $\lambda$ are much smaller. Then a training may be over before it comes to the equilibrium.
#
# ```{solution-end}
# ```
#
# ```{exercise} ★★ Experiment: four times the decay
# :label: wd-four-times
# Train from $\mathbf{W}_0$ with $\eta = 0.5$ and $\lambda = 0.08$ in place of 0.02. By which factor does the effective
# learning rate at the equilibrium change? Predict first, then call `train`.
# ```

# %%
def rate_factor():
    """New effective rate over the old one: a float, up to 15 percent."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
@cache
def measured_factor():
    old, new = (train(W0, 0.5, strength)[0][-300:].mean() for strength in (0.02, 0.08))
    return (old / new).item()

def is_measured(said):
    if not abs(said - measured_factor()) <= 0.15 * measured_factor():
        raise ValueError('another factor is measured; try it')
    return True

grade(lambda: is_measured(rate_factor()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} wd-four-times
# :class: dropdown
# ```
# In the formula of the equilibrium, $n$ is divided by about $\sqrt{4} = 2$. So the effective rate $\eta / n$ is about twice as large. Before a
# normalization more decay means larger steps, not a simpler function.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured(2), lambda: True, [()])
assert not grade(lambda: is_measured(4), lambda: True, [()])
assert not grade(lambda: is_measured(0.5), lambda: True, [()])
assert not grade(lambda: is_measured(1), lambda: True, [()])
print(f'{measured_factor():.2f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def sgd_step(lam, change):  # torch on the penalized loss, torch with weight_decay, and the formula
    eta, w = 0.3, W0.clone().requires_grad_()
    (loss(w) + lam / 2 * w.square().sum()).backward()
    torch.optim.SGD([w], eta).step()
    v = W0.clone().requires_grad_()
    v.grad = gradient(W0)
    torch.optim.SGD([v], eta, weight_decay=lam).step()
    formula = (1 - change * eta * lam) * W0 - eta * gradient(W0)
    return all(close(formula, other.detach(), atol=1e-12, rtol=0) for other in (w, v))

holds(
    'ml.conv.weight-decay.update',
    lambda lam: sgd_step(lam, 1),
    slip=('takes the gradient of a penalty without the half', lambda lam: sgd_step(lam, 2)),
    lam=[0.01, 0.5, 2.0],
)
verify(
    'AdamW multiplies the weights by 1 − η λ before its step',
    lambda lam, kind: close(
        one_step(kind, weight_decay=lam), one_step(kind, weight_decay=0.0) - 0.01 * lam, atol=1e-12, rtol=0),
    slip=('takes Adam for AdamW', lambda lam, kind: close(
        one_step(torch.optim.Adam, weight_decay=lam), one_step(kind, weight_decay=0.0) - 0.01 * lam,
        atol=1e-12, rtol=0)),
    lam=[0.1, 0.5], kind=[torch.optim.AdamW],
)

def norms_follow(name, power):
    strength = 0 if name == 'small, no decay' else lam
    n, g = runs[name]
    return close(n[1:], (1 - eta * strength) ** 2 * n[:-1] + eta**power * g[:-1], atol=0, rtol=1e-10)

verify(
    'the squared norm is shrunk by (1 − η λ)² and grows by η² times the squared gradient, at each step',
    lambda name: norms_follow(name, 2),
    slip=('leaves out a square', lambda name: norms_follow(name, 1)),
    name=list(runs),
)
verify(
    'with decay both starts end within 10 percent of the predicted norm; without it the norm grows at each step',
    lambda name, other: abs(runs[name][0][-300:].mean() / level - 1) < 0.1
    and bool((runs[other][0].diff() > 0).all() and runs[other][0][-1] > 2 * level),
    slip=('exchanges the two', lambda name, other: abs(runs[other][0][-300:].mean() / level - 1) < 0.1),
    name=['small, decay', 'large, decay'], other=['small, no decay'],
)

# %% [markdown]
# ## Weight decay and data augmentation in a convolutional network
#
# Does weight decay help a network to read new digits? We train convolutional networks on only 100 digits, with and without a normalization.
# The differences are small, so we repeat everything with ten seeds. Each seed has its own digits and its own start:

# %%
SEEDS = 10
order = torch.stack([
    torch.randperm(1797, generator=torch.Generator().manual_seed(s))
    for s in range(SEEDS)], 1)                           # (1797, SEEDS)
training, testing, choosing = order.split([100, 1000, 697])
print(len(training), 'digits for training,', len(testing),
      'for the test,', len(choosing), 'to choose the learning rate')

# %% [markdown]
# To save time, the ten networks stand side by side in one, as ten
# [groups of channels](channels.ipynb), which do not mix:

# %%
def network(normalized):
    def norm(channels):
        return nn.BatchNorm2d(channels) if normalized else nn.Identity()
    def conv(inputs, outputs, k, **settings):
        return nn.Conv2d(SEEDS * inputs, SEEDS * outputs, k,
                         groups=SEEDS, **settings)
    free = dict(bias=not normalized)  # no bias before a normalization
    return nn.Sequential(             # (examples, SEEDS, 8, 8)
        conv(1, 8, 3, **free), norm(8 * SEEDS), nn.ReLU(),
        conv(8, 16, 3, stride=2, **free), norm(16 * SEEDS), nn.ReLU(),
        conv(16, 10, 2),              # (examples, 10 * SEEDS, 1, 1)
        nn.Flatten(), nn.Unflatten(1, (SEEDS, 10)))

# %% mystnb={"image": {"alt": "From left to right, joined by arrows: a digit of 8 by 8 pixels, then boxes: convolution 3 by 3; convolution 3 by 3 with stride 2; convolution 2 by 2. Above the first two boxes stands: norm or not, then ReLU. Below the arrows stand the shapes 1 by 8 by 8, 8 by 6 by 6, 16 by 2 by 2, and 10 scores."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 1.9))
ax.imshow(pixels[0].reshape(8, 8), cmap='gray', extent=(0, 1.5, 0.25, 1.75))
for k, words in enumerate(('conv 3×3', 'conv 3×3\nstride 2', 'conv 2×2')):
    left = 3.2 + 3.7 * k
    ax.add_patch(plt.Rectangle((left, 0.4), 2.1, 1.2, fc='none', ec='C0', lw=1))
    ax.text(left + 1.05, 1, words, ha='center', va='center', fontsize=9)
    if k < 2:
        ax.text(left + 1.05, 2.1, 'norm or not,\nthen ReLU', ha='center', va='center', fontsize=9, color='C1')
for k, words in enumerate(('1×8×8', '8×6×6', '16×2×2', '10')):
    start = 1.6 + 3.7 * k
    ax.annotate('', (start + 1.55, 1), (start, 1), arrowprops={'arrowstyle': '->', 'color': GREY})
    ax.text(start + 0.75, -0.1, words, ha='center', va='center', fontsize=9)
ax.set(xlim=(-0.1, 14.4), ylim=(-0.5, 2.6), aspect='equal')
ax.axis('off');

# %% [markdown] tags=["caption"]
# One of the ten networks, with the shapes for one digit. Only the last layer is not followed by a normalization.

# %% [markdown]
# How much does one of the networks cost? We count its parameters, and for one digit the multiplications and additions in its convolutions (FLOPs):

# %%
for normalized in False, True:
    model = network(normalized).eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(1, SEEDS, 8, 8))
    parameters = sum(p.numel() for p in model.parameters()) // SEEDS
    print('normalized:' if normalized else 'plain:     ',
          f'{parameters:,} parameters,',
          f'{counter.get_total_flops() // SEEDS:,} FLOPs')

# %% [markdown]
# For the last experiment we also need shifted digits. So for each digit we store nine versions:

# %%
padded = pad(pixels.reshape(-1, 8, 8), (1, 1, 1, 1))     # (1797, 10, 10)
shifted = torch.stack([padded[:, a:a + 8, b:b + 8]
                       for a in range(3) for b in range(3)])

# %% mystnb={"image": {"alt": "Three by three pictures of the same handwritten 3, in thick grey pixels. The middle one, version 4, is the digit itself. The others are moved up, down, left or right by one pixel, or in two directions at once; pixels that leave the square are lost, and black ones come in."}} tags=["hide-input"]
fig, axes = panels(3, rows=3, height=1.2)
for version, ax in enumerate(axes.flat):
    show_image(ax, shifted[version, 3], 'as it is' if version == 4 else '')
    ax.spines[:].set_visible(True)
    ax.spines[:].set_color(GREY)

# %% [markdown] tags=["caption"]
# The nine versions of one digit: shifted by $-1$, 0 or 1 pixels in each direction. Version 4, in the middle, is not shifted.

# %% [markdown]
# Weight decay acts on the kernels of the chosen layers, which are the parameters with four axes. It does not act on biases, or on the scales and
# shifts of the normalization, which have one axis. We use [momentum](../optimization/momentum.ipynb), and a learning rate that falls to zero
# along half a cosine wave:

# %%
def decaying_sgd(model, lr, lam, layers):
    weights = [p for p in model.parameters() if p.ndim == 4]
    others = [p for p in model.parameters() if p.ndim == 1]
    groups = [dict(params=[w], weight_decay=lam * (k in layers))
              for k, w in enumerate(weights)]
    return torch.optim.SGD(
        [*groups, dict(params=others)], lr, momentum=0.9)

# %%
def trained(normalized, lr, lam, layers=(0, 1, 2),
            shift=False, steps=100):
    torch.manual_seed(0)
    model = network(normalized).train()
    sgd = decaying_sgd(model, lr, lam, layers)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(sgd, steps)
    for _ in range(steps):
        rows = training[torch.randint(100, (32,))]       # (32, SEEDS)
        version = torch.randint(9, rows.shape) if shift else 4
        scores = model(shifted[version, rows])
        error = cross_entropy(scores.flatten(0, 1), labels[rows].flatten())
        sgd.zero_grad()
        (SEEDS * error).backward()    # the sum of the networks' losses
        sgd.step()
        slower.step()
    return model.eval()

# %% [markdown]
# For both networks, without decay and with $\lambda = 0.03$, we try three learning rates. We keep the one that is best on
# the 697 digits that we set aside for this choice. For comparison, we fit a linear model to the same 100 digits:

# %%
@torch.no_grad()
def accuracy(model, rows, version=4):                    # (SEEDS,)
    right = model(shifted[version, rows]).argmax(2) == labels[rows]
    return right.double().mean(0)

# %%
tests, rates, squares_of = {}, {}, {}
for normalized in False, True:
    for strength in 0, 0.03:
        models = {lr: trained(normalized, lr, strength)
                  for lr in (0.08, 0.16, 0.32)}
        best = max(models, key=lambda lr: accuracy(
            models[lr], choosing).mean())
        rates[normalized, strength] = best
        tests[normalized, strength] = accuracy(models[best], testing)
        squares_of[normalized, strength] = sum(
            m.weight.square().sum().item() / SEEDS
            for m in models[best] if isinstance(m, nn.Conv2d))

# %%
x, y, linear = digits.x, digits.y, []
for rows, others in zip(training.T, testing.T):
    model = LogisticRegression(max_iter=1000).fit(x[rows], y[rows])
    linear.append(model.score(x[others], y[others]))
linear = torch.tensor(linear)                            # (SEEDS,)

# %%
def gain(new, old):
    difference = new - old            # one for each seed: paired
    error = difference.std() / SEEDS**0.5
    return f'{difference.mean():.4f}, standard error {error:.4f}'

# %%
for normalized in False, True:
    old, new = tests[normalized, 0], tests[normalized, 0.03]
    print('normalized:' if normalized else 'plain:',
          f'no decay {old.mean():.3f}, decay {new.mean():.3f}')
    print('  paired gain', gain(new, old))
    for strength in 0, 0.03:
        key = normalized, strength
        print(f'  decay {strength}: best rate {rates[key]:.3f},'
              f' squared norm {squares_of[key]:.1f}')
print(f'linear model: {linear.mean():.3f}; normalized with decay'
      f' minus it: {gain(tests[True, 0.03], linear)}')

# %% [markdown]
# (ml.conv.weight-decay.small-w)=
# In both networks weight decay leads to smaller weights. In the plain network, ten seeds
# show no gain beyond two standard errors. In the normalized one weight decay does help, by almost five standard errors. This may be surprising, because
# there the size of most weights has no influence. But the last layer is not followed by a normalization. We repeat the run with
# decay in some of the layers only:

# %%
for name, layers in (('before a normalization', (0, 1)),
                     ('last layer', (2,))):
    part = accuracy(trained(True, 0.16, 0.03, layers), testing)
    tests[name] = part
    print(f'{name}: gain', gain(part, tests[True, 0]))

# %% [markdown]
# Decay in the last layer alone brings a gain of more than two standard errors. There, smaller weights do change the output: they make the
# scores of the classes smaller. Decay in the two layers before a normalization only raises their effective learning rate. Its gain
# is within two standard errors, so we cannot say that it helps.
#
# A network need not be the best choice for 100 digits. The linear model reads 0.886 of the test digits, and the best network above is
# within two standard errors of it.
#
# ### Data augmentation: train on shifted digits
#
# Another way to [generalize](../neural_networks/generalization_in_deep_learning.ipynb) from few examples is **data augmentation**. During training, we change the pictures in ways that
# do not change their class. Here we shift each digit at random by up to one pixel. We test on the digits as they are, and on the same digits
# shifted by one pixel up, down, left or right:

# %%
augmented = {}
for shift in False, True:
    model = trained(True, 0.16, 0.03, shift=shift, steps=200)
    augmented[shift] = (accuracy(model, testing), torch.stack(
        [accuracy(model, testing, v) for v in (1, 3, 5, 7)]).mean(0))
    print('trained with shifts:   ' if shift else 'trained without shifts:',
          'as they are {:.2f}, shifted {:.2f}'.format(
              *(a.mean() for a in augmented[shift])))
for k, name in enumerate(('as they are', 'shifted')):
    print(name, gain(augmented[True][k], augmented[False][k]))

# %% mystnb={"image": {"alt": "Two groups of ten points each, for digits as they are and for shifted digits. On the left the points for training with and without shifts lie at the same height near 0.9. On the right those without shifts lie near 0.4 and those with shifts near 0.8."}} tags=["hide-input"]
fig, ax = panels(1, height=2.5)
for shift, colour, words in ((False, 'C0', 'trained without shifts'), (True, 'C1', 'trained with shifts')):
    for k in range(2):
        at = k + (0.1 if shift else -0.1) + np.linspace(-0.05, 0.05, SEEDS)
        ax.plot(at, augmented[shift][k], 'o', color=colour, ms=4, label=None if k else words)
ax.axhline(0.1, color=GREY, ls='--', lw=1)
ax.text(0.5, 0.12, 'guessing', ha='center', fontsize=9)
ax.set(xticks=[0, 1], xticklabels=['digits as they are', 'digits shifted by one pixel'],
       ylabel='accuracy', ylim=(0, 1), xlim=(-0.5, 1.5))
ax.legend(loc='center left');

# %% [markdown] tags=["caption"]
# Ten seeds. A network that has never seen a shifted digit fails on most of them. Shifts in the training repair this.

# %% [markdown]
# Trained without shifts, the networks misread more than half of the shifted digits. Convolutions alone do not protect a network
# against shifts: the section on [pooling](pooling.ipynb) shows what strides do there. With shifts in the training, the
# networks read shifted digits far better, and the change on unshifted digits is within two standard errors. Both runs had the same
# weight decay. So weight decay did not replace the shifts. A penalty for large weights does not say that a shifted digit is the same digit.

# %% tags=["checks"]
def beyond(differences, errors=2):
    return bool(differences.mean() > errors * differences.std() / SEEDS**0.5)

def gains(normalized, control):
    smaller = squares_of[normalized, 0.03] < squares_of[normalized, 0]
    return smaller and beyond(tests[normalized, 0.03] - tests[normalized, control])

verify(
    'decay in the last layer alone gains more than two standard errors, in the layers before a normalization less',
    lambda name, other: beyond(tests[name] - tests[True, 0]) and not beyond(tests[other] - tests[True, 0]),
    slip=('exchanges the layers', lambda name, other: beyond(tests[other] - tests[True, 0])),
    name=['last layer'], other=['before a normalization'],
)
holds(
    'ml.conv.weight-decay.small-w',
    lambda normalized: gains(normalized, 0),
    slip=('compares decay with the same decay', lambda normalized: gains(normalized, 0.03)),
    normalized=[True],
)

def shift_gain(k, sign=1):
    return sign * (augmented[True][k] - augmented[False][k])

verify(
    'shifts in the training raise the accuracy on shifted digits by ten standard errors, the other changes by less than two',
    lambda k: beyond(shift_gain(k), 10) and not beyond(shift_gain(1 - k)) and not beyond(shift_gain(1 - k, -1)),
    slip=('exchanges the two', lambda k: beyond(shift_gain(1 - k), 10)),
    k=[1],
)

# %% [markdown]
# ## Summary
#
# Before a normalization, a factor in the weights changes no output, and the gradient is orthogonal to the weights. So weight decay
# cannot make such a layer simpler, but with a constant $\eta$, it keeps the effective learning rate $\eta / \|\mathbf{W}\|^2$ from falling to zero. In our
# experiment with few digits, weight decay helped the normalized network, also if only the last layer decayed. The networks read shifted digits
# well only after a training with shifts.
#
# **Further reading.** {cite:t}`vanlaarhoven2017l2` is the short paper on the effective learning rate. {cite:t}`loshchilov2019decoupled` is for
# everybody who uses AdamW. {cite:t}`goodfellow2016deep`, chapter 7, compares many ways to regularize a network.
