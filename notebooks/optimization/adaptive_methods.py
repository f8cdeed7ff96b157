# ---
# jupyter:
#   book:
#     functions:
#       adagrad: 'adagrad(lambda w: 3 * w, normal(4), 0.1, 20)'
#       rmsprop: 'rmsprop(lambda w: 3 * w, normal(4), 0.1, 20)'
#       adam: 'adam(lambda w: 3 * w, normal(4), 0.1, 20, decay=0.1)'
#     main: adaptive-adagrad
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Adam and other adaptive methods
#
# A medical table holds the age in years, the sex as 1 or 2, and blood values in milligrams. One column spreads over half a
# unit, another over 35 units, and in gradient descent one step size must serve all weights. If it is short enough for
# the steepest direction, it is far too short for the others. Can each weight get a step size of its own, without anybody
# choosing it?
#
# - **You need** [gradient descent](gradient_descent.ipynb), [random batches](stochastic_gradient_descent.ipynb),
#   [momentum](momentum.ipynb) and, for the last part, [gradients from
#   PyTorch](../calculus/automatic_differentiation.ipynb).
# - **You build** Adagrad, RMSProp, Adam and AdamW, equal to `torch.optim`, and a training loop with a schedule.
# - **Runs in** 20 seconds, in float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from functools import cache, partial

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from nbutils import data
from nbutils.cases import integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.figures import GREY, label_lines, panels

plt.style.use('nbutils.book')
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the matrices are small: a second thread would mostly wait

# %% [markdown]
# ## Adagrad and RMSProp: a step size for each coordinate
#
# We predict the progress of diabetes in hundreds of patients by a linear function of ten measurements. From each column we
# subtract its mean, but we keep its unit. The loss is the mean squared error.

# %%
x, y, names = data.diabetes()
X = torch.tensor(x - x.mean(0))                  # (442, 10)
y = torch.tensor(y - y.mean())                   # (442,)

def gradient(w):                                 # of the mean squared error
    return 2 * (w @ X.T - y) @ X / len(X)

# %%
g = gradient(torch.zeros(10))
for name in 'age', 'sex', 's1', 's5':
    i = names.index(name)
    print(f'{name:4} spread {X[:, i].std():5.2f}   gradient {g[i]:8.1f}')

# %% [markdown]
# The gradient of *s1* is more than three hundred times as long as that of *sex*, mostly because of the units. **Adagrad**
# {cite}`duchi2011adaptive` divides each coordinate of the gradient by the root of the sum of its own squares so far. With
# $\mathbf{g}_t = \nabla f(\mathbf{w}_{t-1})$ and $\mathbf{s}_0 = \mathbf{0}$, for each coordinate $i$,
#
# ```{math}
# :label: adaptive-adagrad
# \begin{aligned}
# s_{t,i} &= s_{t-1,i} + g_{t,i}^2, \\
# w_{t,i} &= w_{t-1,i} - \frac{\eta_t}{\sqrt{s_{t,i}} + \epsilon} \, g_{t,i} .
# \end{aligned}
# ```
#
# The tiny number $\epsilon$ prevents a division by zero. In code, with a constant $\eta$:

# %%
def adagrad(gradient, w, eta, steps, eps=1e-10):
    """All iterates, from w on."""
    path, s = [w], 0
    for _ in range(steps):
        g = gradient(w)
        s = s + g**2
        w = w - eta / (s**0.5 + eps) * g
        path.append(w)
    return torch.stack(path)

# %%
path = adagrad(gradient, torch.zeros(10), eta=5, steps=3)
for name in 'age', 'sex', 's1', 's5':
    steps = path.diff(dim=0)[:, names.index(name)]
    print(f'{name:4} first steps', '  '.join(f'{step:6.2f}' for step in steps))

# %% [markdown]
# The first step has the length $\eta = 5$ in *each* coordinate, since $g/\sqrt{g^2}$ is 1 or $-1$. Afterwards coordinates whose
# gradients have become small take small steps. A feature that is seldom different from zero, such as a rare word of a text, seldom has
# a gradient. Its sum stays small and its steps stay long, which is what Adagrad was made for. Does this help here, too? For comparison we need [momentum](momentum.ipynb), which is
# gradient descent for $\beta = 0$:

# %%
def momentum(gradient, w, eta, steps, beta=0.9):
    path, v = [w], 0
    for _ in range(steps):
        v = beta * v + gradient(w)
        w = w - eta * v
        path.append(w)
    return torch.stack(path)

# %%
def descent(gradient, w, eta, steps):
    return momentum(gradient, w, eta, steps, beta=0)

# %% [markdown]
# Each method may choose its best $\eta$ out of 25, and we compare the errors after 200 steps. For Adagrad $\eta$ is the length
# of a step. For gradient descent it is a factor of gradients in the hundreds, so there we try far smaller numbers.

# %%
best = torch.linalg.lstsq(X, y[:, None]).solution[:, 0]   # (10,)

def gap(w):  # (..., 10): mean squared error above its minimum
    return ((w - best) @ X.T).square().mean(-1)

def curve(method, etas, steps=200):  # gaps at the best of the step sizes
    start = torch.zeros(len(etas), 10)
    gaps = gap(method(gradient, start, etas[:, None], steps))
    return gaps[:, gaps[-1].nan_to_num(torch.inf).argmin()]

# %%
long, short = torch.logspace(-2, 3, 25), torch.logspace(-6, -2, 25)
print(f'at the start      {gap(torch.zeros(10)):7.1f}')
print(f'gradient descent  {curve(descent, short)[-1]:7.1f}')
print(f'momentum          {curve(momentum, short)[-1]:7.1f}')
print(f'Adagrad           {curve(adagrad, long)[-1]:7.1f}')

# %% [markdown]
# It does: from the same start, Adagrad ends lowest.
#
# ### RMSProp forgets
#
# Adagrad's sum only grows, so its step sizes $\eta/\sqrt{s_{t,i}}$ only shrink, even if the early gradients were large by accident.
# **RMSProp** {cite}`tieleman2012lecture` forgets. It keeps a running average of the squares, over about the last
# $1/(1-\beta)$ gradients,
#
# ```{math}
# :label: adaptive-rmsprop
# s_{t,i} = \beta \, s_{t-1,i} + (1 - \beta) \, g_{t,i}^2 ,
# ```
#
# and steps in the same way. The name stands for the **r**oot of the **m**ean **s**quare.

# %%
def rmsprop(gradient, w, eta, steps, beta=0.99, eps=1e-8):
    """All iterates, from w on."""
    path, s = [w], 0
    for _ in range(steps):
        g = gradient(w)
        s = beta * s + (1 - beta) * g**2
        w = w - eta / (s**0.5 + eps) * g
        path.append(w)
    return torch.stack(path)

# %% [markdown]
# The difference shows most clearly when the gradient never changes:

# %%
steady = torch.tensor([100.0, -0.01])
for name, method in ('Adagrad', adagrad), ('RMSProp', rmsprop):
    moves = method(lambda w: steady, torch.zeros(2), 0.1, 2500).diff(dim=0)
    for t in 1, 100, 2500:
        first, second = moves[t - 1]
        print(f'{name} step {t:4}: {first:7.4f} {second:7.4f}')

# %% [markdown]
# (aw.momentum.adaptive)=
# Under a constant gradient, the average of RMSProp tends to $g_i^2$. So its step size $\eta/\sqrt{s_i}$ becomes inversely
# proportional to the size of the gradient, and its *step* tends to $-\eta \operatorname{sign}(g_i)$ for all gradients that
# are large compared with $\epsilon$. Adagrad's sum is $t\,g_i^2$, so its step shrinks like $\eta/\sqrt t$.
#
# The first step of RMSProp is ten times $\eta$, because its average starts at zero: after one gradient it is only
# $(1 - \beta) g_i^2 = 0.01\,g_i^2$, and its root is a tenth of $|g_i|$. Adam mends this.

# %% tags=["checks"]
def bowl(seed):  # a function that is curved differently everywhere, its gradient, and a start
    g = torch.Generator().manual_seed(seed)
    B, c, d, w = (torch.randn(shape, generator=g) for shape in ((5, 3), (5,), (3,), (3,)))
    f = lambda w: torch.logsumexp(B @ w + c, 0) + (d**2 + 0.1) @ w**2 / 2
    return f, lambda w: B.T @ (B @ w + c).softmax(0) + (d**2 + 0.1) * w, 2 * w

def torch_path(make, seed, steps=10):
    f, _, w = bowl(seed)
    w.requires_grad_()
    optimizer, path = make([w]), [w.tolist()]
    for _ in range(steps):
        optimizer.zero_grad()
        f(w).backward()
        optimizer.step()
        path.append(w.tolist())
    return path

def is_torch(method, make, seed):
    _, slope, w = bowl(seed)
    return close(method(slope, w, 0.1, 10), torch_path(make, seed), atol=1e-11, rtol=1e-11)

def with_options(method, **options):
    return lambda *run: method(*run, **options)

optim = torch.optim
for eps in 1e-10, 0.3:  # a large eps shows where it is added
    verify(
        f'Adagrad is that of torch.optim, with eps = {eps:g}',
        lambda seed: is_torch(with_options(adagrad, eps=eps), lambda p: optim.Adagrad(p, 0.1, eps=eps), seed),
        slip=('forgets as RMSProp does', lambda seed: is_torch(rmsprop, lambda p: optim.Adagrad(p, 0.1, eps=eps), seed)),
        seed=seeds(), tries=6,
    )
for beta, eps in (0.99, 1e-8), (0.8, 0.3):
    verify(
        f'RMSProp is that of torch.optim, with beta = {beta} and eps = {eps:g}',
        lambda seed: is_torch(with_options(rmsprop, beta=beta, eps=eps),
                              lambda p: optim.RMSprop(p, 0.1, alpha=beta, eps=eps), seed),
        slip=('sums as Adagrad does',
              lambda seed: is_torch(adagrad, lambda p: optim.RMSprop(p, 0.1, alpha=beta, eps=eps), seed)),
        seed=seeds(), tries=6,
    )

def last_step(method, g):
    g = torch.tensor(g)
    path = method(lambda w: g, 0 * g, 0.1, 900)
    return path[-1] - path[-2]

nonzero = vectors(3).filter(lambda g: abs(g).min() > 0.01)
holds(
    'aw.momentum.adaptive',
    lambda g: close(last_step(rmsprop, g), -0.1 * np.sign(g), rtol=1e-3),  # 0.99**900 is 1e-4
    slip=('says so of Adagrad', lambda g: close(last_step(adagrad, g), -0.1 * np.sign(g))),
    g=nonzero, tries=3,
)
verify(
    'under a constant gradient Adagrad steps by eta / √t',
    lambda g: close(last_step(adagrad, g), -0.1 * np.sign(g) / 30),
    slip=('says eta / t', lambda g: close(last_step(adagrad, g), -0.1 * np.sign(g) / 900)),
    g=nonzero, tries=3,
)

# %% tags=["checks"]
mean_square = lambda w: ((X @ w - y) ** 2).mean()

verify(
    'the gradient of the mean squared error is that of autograd',
    lambda w: close(gradient(torch.tensor(w)), torch.func.grad(mean_square)(torch.tensor(w))),
    slip=('forgets the 2', lambda w: close(gradient(torch.tensor(w)) / 2, torch.func.grad(mean_square)(torch.tensor(w)))),
    w=vectors(10), tries=20,
)
verify(
    'the gap is the loss above that of least squares',
    lambda w: close(gap(torch.tensor(w)), mean_square(torch.tensor(w)) - mean_square(best)),
    slip=('takes the distance of the weights', lambda w: close(
        (torch.tensor(w) - best).square().mean(), mean_square(torch.tensor(w)) - mean_square(best))),
    w=vectors(10), tries=20,
)
verify(
    'at its best step size Adagrad ends below momentum, and momentum below gradient descent',
    lambda: bool(curve(adagrad, long)[-1] < curve(momentum, short)[-1] < curve(descent, short)[-1]),
    slip=('turns the order round', lambda: bool(curve(adagrad, long)[-1] > curve(momentum, short)[-1])),
)

# %% [markdown]
# ## Adam: momentum and a step size for each coordinate
#
# **Adam** {cite}`kingma2015adam` takes the running average of the squares from RMSProp and adds momentum: it averages the
# gradients, too. Both averages start at zero, so at first they are too small. If the gradient is always $\mathbf{g}$, then
# $\mathbf{m}_t = (1 - \beta_1)(1 + \beta_1 + \dots + \beta_1^{t-1})\,\mathbf{g} = (1 - \beta_1^t)\,\mathbf{g}$. Dividing by
# $1 - \beta_1^t$ removes this **bias**:
#
# ```{math}
# :label: adaptive-adam
# \begin{aligned}
# m_{t,i} &= \beta_1 m_{t-1,i} + (1 - \beta_1) \, g_{t,i}, & \hat{m}_{t,i} &= \frac{m_{t,i}}{1 - \beta_1^t}, \\
# s_{t,i} &= \beta_2 s_{t-1,i} + (1 - \beta_2) \, g_{t,i}^2, & \hat{s}_{t,i} &= \frac{s_{t,i}}{1 - \beta_2^t}, \\
# w_{t,i} &= w_{t-1,i} - \eta_t \, \frac{\hat{m}_{t,i}}{\sqrt{\hat{s}_{t,i}} + \epsilon} .
# \end{aligned}
# ```

# %%
def adam(gradient, w, eta, steps, beta_1=0.9, beta_2=0.999, eps=1e-8,
         schedule=lambda t: 1, decay=0):  # decay is for AdamW, below
    """All iterates, from w on; eta_t is eta * schedule(t)."""
    path, m, s = [w], 0, 0
    for t in range(1, steps + 1):
        g = gradient(w)
        m = beta_1 * m + (1 - beta_1) * g
        s = beta_2 * s + (1 - beta_2) * g**2
        m_hat, s_hat = m / (1 - beta_1**t), s / (1 - beta_2**t)
        w = w - eta * schedule(t) * (m_hat / (s_hat**0.5 + eps) + decay * w)
        path.append(w)
    return torch.stack(path)

# %%
for name, method in ('RMSProp', rmsprop), ('Adam', adam):
    first = method(gradient, torch.zeros(10), 0.1, 1)[1]
    print(f'{name:8} first step {first.abs().mean():.3f},'
          f' gap after 200 steps {curve(method, long)[-1]:5.1f}')

# %% mystnb={"image": {"alt": "The gap to the minimum on a logarithmic axis against 200 steps. Gradient descent stays highest and is nearly flat, momentum lies a little lower, Adagrad and RMSProp clearly lower, and Adam falls below all of them."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.4, 2.9))
for name, method, etas in (('gradient descent', descent, short), ('momentum', momentum, short), ('Adagrad', adagrad, long),
                           ('RMSProp', rmsprop, long), ('Adam', adam, long)):
    ax.semilogy(curve(method, etas), label=name)
ax.set(xlabel='step', ylabel='gap to the minimum', xlim=(0, 200), ylim=(5, 4e3))
label_lines(ax, gap=12);

# %% [markdown] tags=["caption"]
# Each method at its best step size, on columns in their own units. One step size for all weights leaves gradient descent far
# behind; Adam, with momentum and a step size for each weight, is the best.

# %% [markdown]
# Adam's first step has the length $\eta$ in each coordinate. So its learning rate is easy to understand: it is about how far a
# weight moves in one step while its gradients stay alike. If their signs alternate, their average is small, and so is the step. A large
# gradient after many small ones can move the weight several times as far, because the average of the squares has not yet followed.
# Adam costs memory: beside each weight it keeps two more numbers, $m_i$ and $s_i$. The $\beta_1$, $\beta_2$ and $\epsilon$ of `adam` are the defaults of PyTorch:

# %%
w = torch.zeros(10, requires_grad=True)
optimizer = torch.optim.Adam([w], lr=1.0, betas=(0.9, 0.999), eps=1e-8)
for _ in range(50):
    optimizer.zero_grad()
    loss = F.mse_loss(X @ w, y)
    loss.backward()
    optimizer.step()
print('torch:', w[:4].detach().numpy().round(3))
ours = adam(gradient, torch.zeros(10), eta=1.0, steps=50)[-1]
print('ours: ', ours[:4].numpy().round(3))

# %% [markdown]
# ### AdamW: weight decay that is not divided
#
# Often one wants to keep weights small. An $\ell_2$ penalty $\frac{c}{2}\|\mathbf{w}\|^2$ in the loss adds $c\,\mathbf{w}$ to
# the gradient. But Adam divides each coordinate of the gradient by its usual size, and this takes the size of the penalty away, too. If
# the penalty is all there is, the first step has the length $\eta$, *however large or small $c$ is*. **AdamW**
# {cite}`loshchilov2019decoupled` keeps the penalty out of the gradient. Instead it multiplies the weights by $1 - \eta c$
# before each step. In `adam` above, $c$ is `decay`. We let PyTorch's two methods act on two weights without any other loss:

# %%
def first_step(make, c):
    w = torch.tensor([5.0, -2.0], requires_grad=True)
    w.grad = torch.zeros(2)
    make([w], lr=0.1, weight_decay=c).step()
    return w.detach().numpy()

for c in 0.01, 1, 5:
    penalty = first_step(torch.optim.Adam, c).round(3)
    decay = first_step(torch.optim.AdamW, c).round(3)
    print(f'c = {c:4}: Adam with penalty {penalty}   AdamW {decay}')

# %% [markdown]
# ```{exercise} ★ Pencil: Adam without the correction
# :label: adaptive-bias
#
# Leave both corrections of {eq}`adaptive-adam` out, and let $\epsilon = 0$. How long is step $t$, in units of $\eta$, if the
# gradient is always the same? Write it as `uncorrected_step(t, beta1, beta2)`, without a loop, and insert $t = 1$ and
# $t = 10$ for $\beta_1 = 0.9$ and $\beta_2 = 0.999$.
# ```

# %%
def uncorrected_step(t, beta1, beta2):
    """The length of step t, in units of eta: a float.

    t: int >= 1. beta1, beta2: floats in [0, 1).
    uncorrected_step(1, 0.5, 0.75) is 1.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def step_by_averages(t, beta1, beta2, g=2.0):
    m = s = 0.0
    for _ in range(t):
        m = beta1 * m + (1 - beta1) * g
        s = beta2 * s + (1 - beta2) * g**2
    return m / s**0.5

cases = dict(
    t=on(1, 2, 10) | integers(1, 200),
    beta1=on(0.9, 0.0) | scalars(0, 0.99), beta2=on(0.999, 0.0) | scalars(0, 0.999),
)
grade(uncorrected_step, step_by_averages, **cases, lines=10)

# %% [markdown]
# ```{solution-start} adaptive-bias
# :class: dropdown
# ```
# The averages are $(1 - \beta_1^t)\,g$ and $(1 - \beta_2^t)\,g^2$, so the step is $(1 - \beta_1^t)/\sqrt{1 - \beta_2^t}$ long:
# $(1 - 0.9)/\sqrt{1 - 0.999} \approx 3.2$ at first, $(1 - 0.9^{10})/\sqrt{1 - 0.999^{10}} \approx 6.5$ at $t = 10$, and 1 only
# after thousands of steps. Without the correction Adam starts several times too fast. Of the wrong answers, the first forgets
# the root, the second is the first step for every $t$, the third counts steps from 0, and the last runs a loop.

# %% jupyter={"source_hidden": true}
def uncorrected_solution(t, beta1, beta2):
    return (1 - beta1**t) / (1 - beta2**t) ** 0.5

def without_root(t, beta1, beta2):
    return (1 - beta1**t) / (1 - beta2**t)

def first_for_all(t, beta1, beta2):
    return (1 - beta1) / (1 - beta2) ** 0.5

def counted_from_zero(t, beta1, beta2):
    return uncorrected_solution(t - 1, beta1, beta2)

def by_a_loop(t, beta1, beta2):
    m = s = 0.0
    for _ in range(t):
        m, s = beta1 * m + 1 - beta1, beta2 * s + 1 - beta2
    return m / s**0.5

# %% jupyter={"source_hidden": true}
assert grade(uncorrected_solution, step_by_averages, **cases, lines=10)
assert not grade(without_root, step_by_averages, **cases, lines=10)
assert not grade(first_for_all, step_by_averages, **cases, lines=10)
assert not grade(counted_from_zero, step_by_averages, **cases, lines=10)
assert not grade(by_a_loop, step_by_averages, **cases, lines=10)
for t in 1, 10:
    print(f't = {t:2}: {uncorrected_solution(t, 0.9, 0.999):.2f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
adamw = with_options(adam, decay=0.2)
penalized = lambda grad, w, eta, steps: adam(lambda w: grad(w) + 0.2 * w, w, eta, steps)
sizes = dict(beta_1=0.7, beta_2=0.95, eps=0.3)
for name, method, make, words, wrong in (
    ('Adam', adam, lambda p: optim.Adam(p, 0.1), 'leaves the momentum out', rmsprop),
    ('Adam with other numbers', with_options(adam, **sizes),
     lambda p: optim.Adam(p, 0.1, betas=(0.7, 0.95), eps=0.3), 'swaps the two betas',
     with_options(adam, **sizes | dict(beta_1=0.95, beta_2=0.7))),
    ('Adam with a penalty', penalized, lambda p: optim.Adam(p, 0.1, weight_decay=0.2), 'decays as AdamW', adamw),
    ('AdamW', adamw, lambda p: optim.AdamW(p, 0.1, weight_decay=0.2), 'adds a penalty to the gradient', penalized),
):
    verify(
        f'{name} is that of torch.optim', lambda seed: is_torch(method, make, seed),
        slip=(words, lambda seed: is_torch(wrong, make, seed)), seed=seeds(), tries=6,
    )

def starts_with(method, seed, size):
    _, slope, w = bowl(seed)
    step = method(slope, w, 0.1, 1).diff(dim=0)[0]
    return close(step, -size * slope(w).sign(), rtol=1e-4)

verify(
    "Adam's first step has the size eta, RMSProp's ten times that",
    lambda seed: starts_with(adam, seed, 0.1) and starts_with(rmsprop, seed, 1),
    slip=('says eta for both', lambda seed: starts_with(rmsprop, seed, 0.1)),
    seed=[1, 2, 3, 4, 5],
)

def without_correction(t, beta_1, beta_2):
    m = s = 0.0
    for _ in range(t):
        m, s = beta_1 * m + (1 - beta_1), beta_2 * s + (1 - beta_2)
    return m / s**0.5

verify(
    'without the correction step t has the length (1-β₁ᵗ)/√(1-β₂ᵗ)',
    lambda t, beta_1, beta_2: close(without_correction(t, beta_1, beta_2), (1 - beta_1**t) / (1 - beta_2**t) ** 0.5),
    slip=('forgets the root', lambda t, beta_1, beta_2: close(
        without_correction(t, beta_1, beta_2), (1 - beta_1**t) / (1 - beta_2**t))),
    t=[1, 2, 10, 1000], beta_1=scalars(0.1, 0.99), beta_2=scalars(0.5, 0.999), tries=60,
)

verify(
    'decoupled decay shrinks the weights by eta c, and the penalty leaves the first step of Adam as it was',
    lambda c: close(first_step(torch.optim.AdamW, c), (1 - 0.1 * c) * np.array([5.0, -2.0]))
    and close(first_step(torch.optim.Adam, c), [4.9, -1.9]),
    slip=('lets Adam shrink the weights by eta c', lambda c: close(
        first_step(torch.optim.Adam, c), (1 - 0.1 * c) * np.array([5.0, -2.0]))),
    c=[0.01, 1, 5],
)

# %% [markdown]
# ## Where it matters: units and correlated features
#
# When does a step size for each weight decide
# how fast we learn? We train on the diabetes data with random batches of 32, and present the same data in three ways: in
# their own units, standardized, so that each column has spread one, and turned, that is, multiplied by a random rotation.
# After a rotation, each column is a mixture of all ten measurements. The predictions that a linear model can make are the same
# all three times.

# %%
g = torch.Generator().manual_seed(0)
own = X.expand(5, *X.shape)                      # (5 runs, 442, 10)
turns = torch.linalg.qr(torch.randn(5, 10, 10, generator=g))[0]
tables = {'own units': own, 'standardized': own / X.std(0),
          'turned': own @ turns}

# %%
def batches_of(A, size=32):                      # A (5, 442, 10)
    g, runs = torch.Generator().manual_seed(1), torch.arange(5)[:, None]
    def gradient(w):                             # (41 step sizes, 5, 10)
        rows = torch.randint(442, (5, size), generator=g)
        inputs = A[runs, rows]                   # (5, 32, 10)
        e = torch.einsum('rbd,ird->irb', inputs, w) - y[rows]
        return 2 * torch.einsum('irb,rbd->ird', e, inputs) / size
    return gradient

# %%
lowest = F.mse_loss(X @ best, y)
anywhere = torch.logspace(-6, 2, 41)             # step sizes
methods = {'gradient descent': descent, 'momentum': momentum,
           'Adagrad': adagrad, 'RMSProp': rmsprop, 'Adam': adam}

# %%
def excess_errors(method, A):                    # of five runs, (5,)
    start = torch.zeros(41, 5, 10)
    w = method(batches_of(A), start, anywhere[:, None, None], 1000)[-1]
    predicted = torch.einsum('rnd,ird->irn', A, w)
    errors = (predicted - y).square().mean(-1) - lowest      # (41, 5)
    return errors[errors.mean(1).nan_to_num(torch.inf).argmin()]

# %%
excess = {}
for table, A in tables.items():
    print(table)
    for name, method in methods.items():
        five = excess[table, name] = excess_errors(method, A)
        print(f'  {name:17} {five.mean():5.0f} ± {five.std() / 5**0.5:3.0f}')

# %% mystnb={"image": {"alt": "Three groups of five rows of dots, for own units, standardized and turned, on a logarithmic axis of the error above the least possible. Own units: gradient descent and momentum lie above 200, Adagrad, RMSProp and Adam lower, below or near 100. Standardized: all near 20. Turned: all means lie near 240."}} tags=["hide-input"]
fig, axes = panels(1, 3, height=1.35, sharex=True)
for ax, table in zip(axes, tables):
    for row, name in enumerate(methods):
        five = excess[table, name]
        ax.plot(five, [row] * 5, 'o', color=f'C{row}', ms=4, alpha=0.6, mew=0)
        ax.plot(five.mean(), row, '|', color=f'C{row}', ms=13, mew=2)
    ax.set(xscale='log', yticks=range(5), ylim=(4.6, -0.6), xlim=(15, 500), xticks=[20, 50, 100, 200, 500])
    ax.set_yticklabels(methods, fontsize=8)
    ax.set_xticklabels([20, 50, 100, 200, 500])
    ax.minorticks_off()
    ax.set_title(table)
axes[-1].set(xlabel='mean squared error above the least possible');

# %% [markdown] tags=["caption"]
# Five runs each, at the best step size; a bar marks the mean. In their own units, methods with a step size for each weight win. Standardizing
# makes all methods about equally good. Turning the data takes nearly all of the gain away.

# %% [markdown]
# The numbers behind ± are one standard error over the five runs. In their own units, the columns need very different step sizes, and Adagrad, RMSProp and Adam find them. Standardizing removes
# the cause, and then one step size for all weights is about as good as ten different ones. Standardizing is also the better cure: after it,
# all methods end lower than the best of them did before. So standardize what you can. Inside a deep network you cannot,
# because its layers make their own features, which change while it learns. This may be one reason why Adam is popular there.
#
# With full gradients Adam was the best method; with random batches it ends behind Adagrad. Adagrad's steps shrink by
# themselves, as the noise of the batches requires. The last part makes Adam's steps shrink, too.
#
# The rotation shows the limit. A step that is divided coordinate by coordinate depends on the axes. If the data are turned, the
# paths of gradient descent and momentum turn with them, because their steps are sums of gradients. So their errors do not change at all.
# Adagrad, RMSProp and Adam take other paths, and their gain is nearly gone: the steep directions do not lie along the axes any
# more.

# %% mystnb={"image": {"alt": "Two panels of elliptic contours, one along the axes, one turned by 45 degrees, each with paths of momentum and Adagrad from the same start. The path of momentum is the same, turned. Adagrad drops to the floor of the first valley at once and follows it; in the second it crosses the floor, comes back, and does not reach the minimum within the steps shown."}} tags=["hide-input"]
fig, axes = panels(2, height=3.1, sharex=True, sharey=True)
tilt = torch.tensor([[1.0, -1], [1, 1]]) / 2**0.5
u, v = torch.meshgrid(*[torch.linspace(-2.6, 2.6, 120)] * 2, indexing='xy')
plane = torch.stack([u, v], -1)
walks = {'momentum': lambda *run: momentum(*run, 0.03, 30, 0.8), 'Adagrad': lambda *run: adagrad(*run, 0.9, 30)}
for ax, U, title in zip(axes, (torch.eye(2), tilt), ('along the axes', 'turned')):
    H = U * torch.tensor([1.0, 30]) @ U.T
    ax.contour(u, v, ((plane @ H) * plane).sum(-1) / 2, np.geomspace(0.3, 90, 9), colors=GREY, linewidths=0.5)
    for i, (name, walk) in enumerate(walks.items()):
        path = walk(lambda w: H @ w, U @ torch.tensor([-2.0, 0.8]))
        ax.plot(*path.T, 'o-', color=f'C{i}', ms=3, lw=1.2)
        if ax is axes[0]:
            ax.text(-2.25 + 1.35 * i, -1.5, name, color=f'C{i}')
    ax.plot(0, 0, 'x', color=GREY, ms=8, mew=2)
    ax.set(aspect='equal', title=title, xlabel='w₁', xlim=(-2.4, 0.7), ylim=(-2.1, 1.2))
axes[0].set(ylabel='w₂');

# %% [markdown] tags=["caption"]
# If a valley is turned by 45 degrees, the path of momentum turns with it. Adagrad, which scales each coordinate by itself,
# takes another path.

# %% [markdown]
# ```{exercise} ★★ Program: Adagrad with the whole matrix
# :label: adaptive-full
#
# A version of Adagrad that does not depend on the axes keeps the matrix
# $\mathbf{S}_t = \sum_{k \le t} \mathbf{g}_k \mathbf{g}_k^\top$ and steps by $-\eta\,\mathbf{S}_t^{-1/2}\,\mathbf{g}_t$. Here
# $\mathbf{S}^{-1/2}$ has the eigenvectors of $\mathbf{S}$, and its eigenvalues are $1/\sqrt{\lambda_i}$. Write
# `full_step(G, eta)`, the last step. The rows of `G` are the gradients so far, and
# $\mathbf{S}_t$ is invertible. What does a step cost if there are a million weights?
# ```

# %%
def full_step(G, eta):
    """The last step, to be added to the weights: a tensor (d,).

    G: tensor (t, d) of float64, t >= d >= 1, row k the gradient of step k; its
    columns are independent. eta: float > 0, the learning rate.
    full_step(torch.eye(2), 0.1) is tensor([0.0, -0.1]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def full_step_by_svd(G, eta):
    _, s, Vt = torch.linalg.svd(G, full_matrices=False)
    return -eta * Vt.T @ (Vt @ G[-1] / s)

def histories(d):  # with independent columns
    G = matrices((d, 5), d, -4, 4, edges=True)
    return G.filter(lambda G: np.linalg.svd(G)[1].min() > 0.3).map(torch.tensor)

cases = dict(G=integers(1, 3).flatmap(histories), eta=on(0.1, 1.0) | scalars(0.001, 2))
grade(full_step, full_step_by_svd, **cases)

# %% [markdown]
# ```{solution-start} adaptive-full
# :class: dropdown
# ```
# $\mathbf{S} = \mathbf{G}^\top \mathbf{G}$ is symmetric, so we divide by the roots of its eigenvalues in the basis of its
# eigenvectors. For a million weights $\mathbf{S}$ has a million rows, and it does not even fit into memory. The diagonal alone,
# which is Adagrad, is rejected. So is the inverse without the root, and the triangular factor of Cholesky, which is a root
# of another kind: it depends on the order of the axes. Another wrong answer takes the mean of the gradients' squares for
# their sum.

# %% jupyter={"source_hidden": true}
def full_step_solution(G, eta):
    eigenvalues, U = torch.linalg.eigh(G.T @ G)
    return -eta * U @ (U.T @ G[-1] / eigenvalues**0.5)

def diagonal_step(G, eta):
    return -eta * G[-1] / (G**2).sum(0) ** 0.5

def without_the_root(G, eta):
    return -eta * torch.linalg.solve(G.T @ G, G[-1])

def by_cholesky(G, eta):
    return -eta * torch.linalg.solve(torch.linalg.cholesky(G.T @ G), G[-1])

def of_the_mean(G, eta):
    return full_step_solution(G, eta) * len(G) ** 0.5

assert grade(full_step_solution, full_step_by_svd, **cases)
assert not grade(diagonal_step, full_step_by_svd, **cases)
assert not grade(without_the_root, full_step_by_svd, **cases)
assert not grade(by_cholesky, full_step_by_svd, **cases)
assert not grade(of_the_mean, full_step_by_svd, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: which methods notice the size of the loss?
# :label: adaptive-size
#
# Somebody divides the loss of the diabetes data by a thousand, with the learning rate unchanged. We say that a method takes
# the same path as before if its weights after 50 steps differ by less than 1 %. Which of the five methods do so? And which do so if the
# loss is divided by $10^{11}$? Return two sets of names, for the two questions. *Hint*: mind $\epsilon$. First predict, then try, and explain what you see.
# ```

# %%
def unchanged():
    """The methods that keep their path, for 1,000 and for 10^11: two sets.

    names: 'SGD', 'momentum', 'Adagrad', 'RMSProp' and 'Adam'.
    ({'SGD', 'Adam'}, {'SGD'}) has the right form.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
optimizers = {
    'SGD': lambda w: torch.optim.SGD(w, 1e-4), 'momentum': lambda w: torch.optim.SGD(w, 1e-5, momentum=0.9),
    'Adagrad': lambda w: torch.optim.Adagrad(w, 1), 'RMSProp': lambda w: torch.optim.RMSprop(w, 0.1),
    'Adam': lambda w: torch.optim.Adam(w, 0.1)}

def weights_after(make, divisor, steps=50):
    w = torch.zeros(10, requires_grad=True)
    optimizer = make([w])
    for _ in range(steps):
        optimizer.zero_grad()
        (F.mse_loss(X @ w, y) / divisor).backward()
        optimizer.step()
    return w.detach()

@cache
def changes(make, divisor):
    before, after = weights_after(make, 1), weights_after(make, divisor)
    return ((after - before).norm() / before.norm()).item()

def is_seen(answer):
    thousand, more = answer
    for said, divisor in (thousand, 1e3), (more, 1e11):
        if not set(said) <= set(optimizers):
            raise ValueError("give two sets of names out of 'SGD', 'momentum', 'Adagrad', 'RMSProp' and 'Adam'")
        if set(said) != {name for name, make in optimizers.items() if changes(make, divisor) < 0.01}:
            raise ValueError(f'not what is seen for the divisor {divisor:g}; try each of the five')
    return True

grade(lambda: is_seen(unchanged()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} adaptive-size
# :class: dropdown
# ```
# A constant factor cancels in $g/\sqrt{s}$ and in $\hat{m}/\sqrt{\hat{s}}$, so Adagrad, RMSProp and Adam do not notice a
# division by a thousand. SGD and momentum take steps that are a thousand times shorter. After a division by $10^{11}$ the
# gradients are not large compared with $\epsilon$ any more, and now all five paths change. In half precision,
# Adam's default $\epsilon$ is rounded to zero, so there a larger one must be chosen.

# %% jupyter={"source_hidden": true}
adaptive = {'Adagrad', 'RMSProp', 'Adam'}
assert grade(lambda: is_seen([adaptive, set()]), lambda: True, [()])
for wrong in (
    [adaptive, adaptive],
    [{'Adam'}, set()],
    [set(optimizers), set()],
    [adaptive, {'Adagrad'}],
    [adaptive],
    None,
):
    assert not grade(lambda: is_seen(wrong), lambda: True, [()])
for name, make in optimizers.items():
    print(
        f'{name:8} changes by {changes(make, 1e3):4.0%} '
        f'and by {changes(make, 1e11):4.0%}'
    )

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def turns_along(method, seed):
    _, slope, w = bowl(seed)
    Q = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(seed)))[0]
    turned = method(lambda z: Q.T @ slope(Q @ z), Q.T @ w, 0.1, 9)
    return close(turned @ Q.T, method(slope, w, 0.1, 9))

def ignores_size(method, seed, c):
    _, slope, w = bowl(seed)
    c = torch.tensor(c)
    return close(method(lambda w: c * slope(w), w, 0.1, 9), method(slope, w, 0.1, 9))

without_eps = with_options(adam, eps=0)
verify(
    'the path of momentum turns with the axes',
    lambda seed: turns_along(momentum, seed),
    slip=('says so of Adam', lambda seed: turns_along(without_eps, seed)), seed=seeds(), tries=20,
)
verify(
    'without eps, Adam ignores the size of each coordinate of the gradient',
    lambda seed, c: ignores_size(without_eps, seed, c),
    slip=('says so of momentum', lambda seed, c: ignores_size(momentum, seed, c)),
    seed=seeds(), c=vectors(3, 0.1, 10), tries=20,
)

def ahead(table, name, times):  # of gradient descent, by this factor and by two standard errors
    plain, ours = excess[table, 'gradient descent'], excess[table, name]
    error = ((plain.var() + ours.var()) / 5) ** 0.5
    return bool(plain.mean() > times * ours.mean() and plain.mean() - ours.mean() > 2 * error)

verify(
    'in their own units the adaptive methods are ahead by a factor of 1.7',
    lambda name: ahead('own units', name, 1.7),
    slip=('says so of standardized data', lambda name: ahead('standardized', name, 1.7)),
    name=['Adagrad', 'RMSProp', 'Adam'],
)
verify(
    'turning leaves less than a factor of 1.5 of this',
    lambda name: not ahead('turned', name, 1.5),
    slip=('says so of the own units', lambda name: not ahead('own units', name, 1.5)),
    name=['Adagrad', 'RMSProp', 'Adam'],
)
verify(
    'turning does not change the errors of gradient descent and momentum',
    lambda name: close(excess['turned', name], excess['own units', name], rtol=1e-7),
    slip=('says so of Adam', lambda name: all(
        close(excess['turned', other], excess['own units', other], rtol=1e-7) for other in (name, 'Adam'))),
    name=['gradient descent', 'momentum'],
)

# %% [markdown]
# ## Learning-rate schedules and an ordinary training loop
#
# With random batches, a constant learning rate leaves the weights jumping about the minimum, as in [stochastic gradient
# descent](stochastic_gradient_descent.ipynb). A **schedule** makes the steps long at first and short in the end. *Step decay*
# multiplies the learning rate by a factor below 1 from time to time (`StepLR` in PyTorch). *Warm-up and cosine*
# first lets it rise in a straight line for $h$ steps, since at the beginning Adam's averages rest on a few batches only.
# Then it falls to zero along half a cosine {cite}`loshchilov2017sgdr`, until step $T$. If $t$ counts the steps that are
# already done,
#
# ```{math}
# :label: adaptive-cosine
# \eta_t = \frac{\eta}{2} \Big( 1 + \cos \frac{\pi (t - h)}{T - h} \Big) \qquad \text{for all } h \le t < T .
# ```

# %% [markdown]
# We try it on the diabetes data in their own units, with $h = 0$ and $T = 1000$:

# %%
def cosine(t):
    return (1 + np.cos(np.pi * (t - 1) / 1000)) / 2  # adam counts from 1

scheduled = excess_errors(partial(adam, schedule=cosine), own)
constant = excess['own units', 'Adam']
for name, five in ('constant', constant), ('cosine', scheduled):
    print(f'Adam, {name:9} {five.mean():3.0f} ± {five.std() / 5**0.5:.0f}')

# %% [markdown]
# The schedule brings Adam from behind Adagrad to far below it. The other methods run without one here, and
# might gain from it, too. In PyTorch a schedule is an object beside the optimizer:

# %%
def warm_cosine(optimizer, warm, T):             # 1 <= warm < T
    rise = LinearLR(optimizer, 1 / warm, total_iters=warm)
    fall = CosineAnnealingLR(optimizer, T - warm)
    return SequentialLR(optimizer, [rise, fall], [warm])

# %% [markdown]
# We put everything together and train a network with one hidden layer to tell handwritten digits apart. It returns ten scores
# for an image, and the loss, `cross_entropy`, is small if the score of the right digit is the largest by far.

# %%
images, labels, _ = data.digits()
order = torch.randperm(1797, generator=torch.Generator().manual_seed(0))
images, labels = torch.tensor(images)[order], torch.tensor(labels)[order]
train_x, test_x = images.split([1200, 597])      # (1200, 64), (597, 64)
train_y, test_y = labels.split([1200, 597])

def network():
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))

# %% [markdown]
# The training loop takes a list of models, because we shall train many at once below. Now the list has one entry, and then this is the
# loop of most programs in PyTorch. In each epoch, every image is used once:

# %%
def train(models, optimizer, schedule=None):
    for epoch in range(10):
        for rows in torch.randperm(1200).split(32):          # 38 batches
            loss = sum(F.cross_entropy(model(train_x[rows]), train_y[rows])
                       for model in models)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if schedule:
                schedule.step()

# %%
@torch.no_grad()
def test_loss(model):
    return F.cross_entropy(model(test_x), test_y).item()

torch.manual_seed(0)
model = network()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.03, weight_decay=0.01)
train([model], optimizer, warm_cosine(optimizer, warm=20, T=380))
wrong = (model(test_x).argmax(1) != test_y).double().mean()
print(f'test loss {test_loss(model):.2f}, wrong digits {wrong:.1%}')

# %% [markdown]
# Does the schedule matter? We train with a constant learning rate and with the schedule, at six learning rates, from three
# random starts each. To save time, all 18 networks are trained at once, on the same batches. Each weight gets its gradient
# from its own network alone, so each network is trained as if it were alone.
#
# Guessing has the loss $\ln 10 \approx 2.30$. A linear model, `nn.Linear(64, 10)`, is trained in the same way for comparison.

# %%
all_adam = partial(torch.optim.Adam, fused=True)         # fewer calls
all_sgd = partial(torch.optim.SGD, momentum=0.9, fused=True)
linear = partial(nn.Linear, 64, 10)
runs = {'Adam, constant': (network, all_adam, False),
        'Adam, schedule': (network, all_adam, True),
        'momentum, schedule': (network, all_sgd, True),
        'linear model': (linear, all_adam, True)}

# %%
rates = [0.001, 0.003, 0.01, 0.03, 0.1, 0.2]

def losses_of(make_model, make_optimizer, scheduled):    # (6, 3)
    torch.manual_seed(0)
    models = [nn.ModuleList(make_model() for _ in range(3)) for _ in rates]
    optimizer = make_optimizer([dict(params=three.parameters(), lr=lr)
                                for three, lr in zip(models, rates)])
    schedule = warm_cosine(optimizer, 20, 380) if scheduled else None
    train([one for three in models for one in three], optimizer, schedule)
    return np.array([[test_loss(one) for one in three] for three in models])

# %%
losses = {}                                              # (6, 3) each
print('learning rate      ' + '   '.join(f'{lr:5}' for lr in rates))
for name, settings in runs.items():
    losses[name] = losses_of(*settings)
    print(f'{name:18}',
          '   '.join(f'{row.mean():5.3f}' for row in losses[name]))

# %% mystnb={"image": {"alt": "Left: the learning rate as a share of its maximum against the step, a constant line at one, and a schedule that rises for 20 steps and then falls to zero along half a cosine. Right: test loss against learning rate on logarithmic axes, with dots for three starts. Adam with a constant rate has its minimum at 0.03 and rises steeply beyond. With the schedule the minimum lies at 0.03, too, but lower, and the rise is much smaller. Momentum with the schedule falls until 0.2."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3, width_ratios=[1, 1.35])
optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
schedule, shares = warm_cosine(optimizer, 20, 380), []
for _ in range(380):
    shares.append(optimizer.param_groups[0]['lr'])
    optimizer.step()
    schedule.step()
left.plot([0, 380], [1, 1], color='C0')
left.plot(shares, color='C1')
left.text(190, 1.03, 'constant', color='C0', ha='center')
left.text(110, 0.35, 'schedule', color='C1', ha='center')
left.set(xlabel='step', ylabel='share of the largest learning rate', ylim=(0, 1.15), xlim=(0, 380))
for i, name in enumerate([*runs][:3]):
    right.loglog(rates, losses[name].mean(1), color=f'C{i}', lw=1.3)
    right.plot(rates, losses[name], 'o', color=f'C{i}', ms=3.5, alpha=0.6, mew=0)
right.text(0.17, 1.75, 'Adam,\nconstant', color='C0', ha='right')
right.text(0.0009, 0.105, 'Adam,\nschedule', color='C1')
right.annotate('', (0.0095, 0.145), (0.0038, 0.125), arrowprops={'arrowstyle': '-', 'color': 'C1', 'lw': 0.8})
right.text(0.0112, 0.75, 'momentum,\nschedule', color='C2')
right.set(xlabel='learning rate', ylabel='test loss', ylim=(0.08, 3));

# %% [markdown] tags=["caption"]
# Test loss after ten epochs, three random starts each. With the schedule (left), Adam loses far less at large learning rates, and at its best
# learning rate it beats the best constant one. At small learning rates the constant one is better.

# %% [markdown]
# With the schedule, Adam loses much less at learning rates that are too large, and at its best one it ends lower than at any
# of the constant rates. If the rate is too small, the constant rate is better, because the schedule makes the steps shorter
# still. Momentum with the schedule ends at 0.100, which is not behind Adam, but at the learning rate 0.2, the largest that we tried. Adam
# is best at 0.03. Even the linear model ends not far above, at 0.120. Here the learning rate matters more than the method: with each
# method, a bad one costs a factor of nine or more in the loss. The best rates are those of the test loss itself. For a model that you want
# to use, choose them on other data.
#
# For a new problem, AdamW with warm-up and cosine is a common start; try several learning rates, such as `1e-3`, `3e-3`
# and `1e-2`, before anything else.

# %% tags=["checks"]
def rates_of_torch(warm, T):
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.3)
    schedule, seen = warm_cosine(optimizer, warm, T), []
    for _ in range(T):
        seen.append(optimizer.param_groups[0]['lr'])
        optimizer.step()
        schedule.step()
    return seen

def rates_by_formula(warm, T, end):
    t = np.arange(T)
    rise = (1 + (warm - 1) * t / warm) / warm
    fall = (1 + np.cos(np.pi * (t - warm) / (end - warm))) / 2
    return 0.3 * np.where(t < warm, rise, fall)

verify(
    "warm-up and cosine are PyTorch's",
    lambda warm, T: close(rates_by_formula(warm, T, T), rates_of_torch(warm, T)),
    slip=('ends a step too late', lambda warm, T: close(rates_by_formula(warm, T, T + 1), rates_of_torch(warm, T))),
    warm=[2, 5, 9], T=[20, 40],
)

verify(
    'in their own units, Adam with the cosine ends lower than each method without',
    lambda name: bool(scheduled.max() < excess['own units', name].min()),
    slip=('says so of Adam without', lambda name: bool(excess['own units', 'Adam'].max() < excess['own units', name].min())),
    name=list(methods),
)

def better_at_best(ours, other, margin):  # mean of three starts, both at their best rate
    return losses[ours].mean(1).min() < (1 - margin) * losses[other].mean(1).min()

verify(
    'at its best rate the schedule ends at least a tenth lower than any constant rate',
    lambda margin: better_at_best('Adam, schedule', 'Adam, constant', margin),
    slip=('says so of the constant rate', lambda margin: better_at_best('Adam, constant', 'Adam, schedule', margin)),
    margin=[0, 0.1],
)

def wins_at(lr, ours, other):
    return bool((losses[ours] < losses[other])[rates.index(lr)].all())  # from each start

verify(
    'with a small rate the constant one is better, with a large rate the schedule',
    lambda lr: wins_at(lr, 'Adam, constant', 'Adam, schedule') == (lr < 0.005),
    slip=('says that the schedule always wins', lambda lr: wins_at(lr, 'Adam, schedule', 'Adam, constant')),
    lr=[0.001, 0.003, 0.03, 0.1, 0.2],
)

# %% [markdown]
# ## Summary
#
# Adagrad divides each coordinate of the gradient by the root of the sum of its squares, RMSProp by a running average that
# forgets, and Adam adds momentum and corrects both averages for their start at zero. On a table in its own units they were far
# ahead of gradient descent; on standardized columns all methods were about equally good, and on turned data the gain was
# nearly gone, because a step for each coordinate depends on the axes. With random batches, a schedule with long steps first
# and short ones in the end let Adam end lower than any constant learning rate that we tried.
#
# **Further reading.** {cite:t}`duchi2011adaptive` prove a bound for Adagrad, for readers who like proofs, and
# {cite:t}`kingma2015adam` introduce Adam. {cite:t}`reddi2018convergence` show a convex problem on which Adam does not
# converge. {cite:t}`loshchilov2019decoupled` explain why penalty and decay differ. {cite:t}`zhang2023dive`, chapter 12, is a
# gentle survey of all these methods, and {cite:t}`goodfellow2016deep`, chapter 8, a more theoretical one.
