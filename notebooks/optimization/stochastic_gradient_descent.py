# ---
# jupyter:
#   book:
#     functions:
#       sgd: "sgd(lambda w, n: w - n, np.asarray(normal(3)), 0.1, [0, 1, 2])"
#     main: ml.opt.sgd.update
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Stochastic gradient descent
#
# The loss over a million examples is a mean of a million terms, and gradient descent computes the gradient of each of them
# for a single step. Suppose that we look at one random example instead, and step at once. Such a step is a million times
# cheaper, but it does not follow the gradient of the loss. Where do many of these steps lead, and when do they win?
#
# - **You need** [gradient descent](gradient_descent.ipynb), [expectations and
#   variances](../probability/expectations.ipynb), and the straight line through a cloud of points with the least sum of
#   squares.
# - **You build** stochastic gradient descent with single examples and with batches, a forecast of its noise, learning-rate
#   schedules that remove the noise, and a classifier of digits trained in one pass.
# - **Runs in** 10 seconds, in float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from fractions import Fraction
from itertools import combinations, product

import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.linalg import eigh, eigvalsh, lstsq, norm
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax
from scipy.stats import zscore
from torch.nn.functional import cross_entropy, mse_loss
from torch.utils.data import DataLoader, TensorDataset

from nbutils import data
from nbutils.cases import counts, integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.figures import GREY, label_lines, panels

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Stochastic gradient descent: one random example per step
#
# Our examples are 442 patients {cite}`efron2004least`. From their body mass index and blood pressure, both standardized, we
# predict how far their diabetes has come a year later. The loss of patient $n$ is half the squared error,
# $\mathcal{L}_n(\mathbf{w}) = \frac12 (y_n - \mathbf{x}_n^\top \mathbf{w})^2$, so its gradient is
# $\nabla \mathcal{L}_n(\mathbf{w}) = \mathbf{x}_n (\mathbf{x}_n^\top \mathbf{w} - y_n)$.

# %%
patients = data.diabetes()
columns = [patients.names.index(name) for name in ('bmi', 'bp')]
X, y = zscore(patients.x[:, columns]), zscore(patients.y)

def grad_squares(X, y):  # the gradient of example n at w
    return lambda w, n: X[n] * (X[n] @ w - y[n])

# %%
start = np.array([-0.6, 0.9])
each = [grad_squares(X, y)(start, n) for n in range(442)]
for n in range(4):
    print(f'gradient of patient {n + 1}: ', each[n].round(3))
print('mean of all 442:       ', np.mean(each, axis=0).round(3))

# %% [markdown]
# Single patients disagree, but the mean of their gradients is the gradient of the whole loss. Gradient descent computes all
# 442 before it moves. **Stochastic gradient descent** (SGD) draws one example $n$ at random and steps against its gradient
# alone. In the next step it draws again. With the step size $\gamma$ (the *learning rate*),
#
# ```{math}
# :label: ml.opt.sgd.update
# \begin{aligned}
# \mathcal{L}(\mathbf{w}) &= \frac1N \sum_{n=1}^N \mathcal{L}_n(\mathbf{w}), \\
# \mathbf{w}^{(t+1)} &= \mathbf{w}^{(t)} - \gamma \, \nabla \mathcal{L}_n(\mathbf{w}^{(t)}) .
# \end{aligned}
# ```

# %%
def sgd(grad_n, w, gamma, indices):
    path = [w]
    for n in indices:
        path.append(path[-1] - gamma * grad_n(path[-1], n))
    return np.array(path)  # (T + 1, D)

# %% [markdown]
# We show SGD each patient once, in random order, which is one *pass* over the data. Gradient descent takes twelve steps,
# so it reads all patients twelve times:

# %%
order = np.random.default_rng(1).permutation(442)
noisy = sgd(grad_squares(X, y), start, 0.03, order)
smooth = sgd(lambda w, n: X.T @ (X @ w - y) / 442, start, 0.4, range(12))

# %%
goal = lstsq(X, y)[0]

def gap(path):  # to the lowest loss
    errors = (y - path @ X.T) ** 2
    return (errors.mean(1) - ((y - X @ goal) ** 2).mean()) / 2

print('loss above the lowest one')
for read in (0, 100, 200, 442):
    print(f'SGD, {read:4} examples read: {gap(noisy)[read]:.5f}')
for passes in (1, 2, 12):
    read = 442 * passes
    print(f'descent, {read:4} examples read: {gap(smooth)[passes]:.5f}')

# %% mystnb={"image": {"alt": "Left: on elliptic contours the smooth path of gradient descent runs to the minimum, and the jagged path of SGD follows it roughly and then wanders about the minimum. Right: the loss above the lowest, on a logarithmic axis, against the number of examples read; SGD is down to a ragged floor before descent has made its second step, descent goes on falling."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
u, v = np.meshgrid(np.linspace(-0.8, 0.8, 80), np.linspace(-0.2, 1.1, 80))
surface = gap(np.stack([u, v], -1).reshape(-1, 2)).reshape(u.shape)
left.contour(u, v, surface, 14, colors=GREY, linewidths=0.5)
left.plot(*noisy.T, color='C1', lw=0.8)
left.plot(*smooth.T, 'o-', color='C0', ms=3.5, lw=1.4)
left.plot(*goal, 'x', color=GREY, ms=8, mew=2)
left.set(xlabel='weight of body mass', ylabel='weight of pressure')
right.semilogy(gap(noisy), color='C1', lw=1)
right.semilogy(442 * np.arange(13), gap(smooth), 'o-', color='C0', ms=4)
right.text(600, 1e-3, 'SGD', color='C1')
right.text(2500, 0.04, 'descent', color='C0')
right.set(xlabel='examples read', ylabel='loss above the lowest');

# %% [markdown] tags=["caption"]
# One pass of SGD over 442 examples comes near the minimum and then wanders about it; descent has made only one step by then,
# but goes on improving.

# %% [markdown]
# SGD is near the minimum when gradient descent has made its first step. Afterwards it wanders about, and gradient descent
# overtakes it. PyTorch takes the same steps, if it is given the same order:

# %%
def torch_sgd(X, y, w, gamma, indices, clear=True):
    X, y = torch.tensor(X), torch.tensor(y)
    w = torch.tensor(w, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=gamma)
    for n in indices:
        if clear:
            optimizer.zero_grad()
        ((y[n] - X[n] @ w) ** 2 / 2).backward()
        optimizer.step()
    return w.detach().numpy()

# %%
print('sgd             ', noisy[-1].round(3))
print('torch.optim.SGD ', torch_sgd(X, y, start, 0.03, order).round(3))
print('no zero_grad    ', torch_sgd(X, y, start, 0.03, order, False).round(3))
print('exact solution  ', goal.round(3))

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: tip
# PyTorch *adds* each new gradient to the stored one. If you leave out `zero_grad`, every step repeats all earlier gradients,
# and the weights end far from the solution, as in the third row. No error is raised.
# :::
#
# ### Why it works: the gradient of a random example is unbiased
#
# What does a step cost? The product $\mathbf{x}_n^\top \mathbf{w}$ takes $D$ multiplications and the scaling of
# $\mathbf{x}_n$ another $D$, however many examples there are: one step of SGD costs $O(D)$. A full gradient takes
# $N$ times as many, $2ND$.
#
# And do the steps lead in the right direction? On average they do. If $n$ is uniform on $1, \dots, N$, each example has the
# chance $\frac1N$, and the derivative of a sum is the sum of the derivatives:
#
# ```{math}
# :label: ml.opt.sgd.unbiased
# \mathbb{E}\big[\nabla \mathcal{L}_n(\mathbf{w})\big] = \frac1N \sum_{n=1}^N \nabla \mathcal{L}_n(\mathbf{w})
# = \nabla_{\mathbf{w}} \Big( \frac1N \sum_{n=1}^N \mathcal{L}_n(\mathbf{w}) \Big) = \nabla \mathcal{L}(\mathbf{w}) .
# ```
#
# So the gradient of one example is an *unbiased* estimate of the full gradient. It is important that the draw is uniform. If
# example $n$ is drawn with chance $p_n$, those with large $p_n$ pull too hard, unless each gradient is divided by $N p_n$.
#
# :::{admonition} Is the whole path unbiased as well?
# :class: dropdown
# An unbiased *step* does not yet make an unbiased *path*, because after the first step the gradient is taken at a random
# place. For least squares the path is unbiased all the same: the gradient is linear in $\mathbf{w}$, and an example drawn
# with replacement is independent of the earlier ones. So the mean of the new places is $\mathbb{E}[\mathbf{w}] - \gamma
# \nabla
# \mathcal{L}(\mathbb{E}[\mathbf{w}])$, and the mean of all random paths is the path of gradient descent. In a shuffled
# pass, or for the logistic loss, whose gradient is not linear, this is no longer true.
# :::

# %% [markdown]
# ```{exercise} ★ Pencil: uneven draws
# :label: stochastic_gradient_descent-uneven
# Long examples are drawn more often than short ones, example $n$ with the chance $p_n$. Write `corrected(G, p)`, the
# gradients of the $N$ examples, each scaled so that the mean over the draws is the mean of the rows of `G`.
# ```

# %%
def corrected(G, p):
    """The gradients, each times a number of its own: float array (N, D).

    G: float array (N, D), row n the gradient of example n, N >= 1.
    p: float array (N,), the chances of the examples, all positive.
    corrected(np.array([[4.0], [4.0]]), np.array([0.25, 0.75])) has the mean
    4 over the draws: 0.25 times its first row plus 0.75 times its second.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def mean_over_draws(answer):  # each row of A a multiple of that of G
    def judged(G, p):
        A = answer(G.copy(), p.copy())
        if np.shape(A) != G.shape:
            raise ValueError(f'shape {np.shape(A)}, expected {G.shape}')
        parallel = (A * A).sum(1) * (G * G).sum(1) - (A * G).sum(1) ** 2
        return [p @ A, A[~G.any(1)], parallel]
    return judged

draws = dict(
    G=matrices((1, 5), (1, 3), edges=True),
    p=lambda G: counts(len(G), 1, 9).map(lambda k: k / k.sum()),
)
mean_wanted = lambda G, p: [G.mean(0), G[~G.any(1)], np.zeros(len(G))]
grade(mean_over_draws(corrected), mean_wanted, **draws)

# %% [markdown]
# ```{solution-start} stochastic_gradient_descent-uneven
# :class: dropdown
# ```
# Row $n$ times $1/(Np_n)$: what is seen often counts little. If you forget $N$, the mean is the sum of the gradients, and the
# step is $N$ times too long. The second wrong answer leaves the rows as they are, which is right for even draws alone, and
# the third multiplies by the chances, which makes it worse. The fourth returns the mean in every row: its mean is right,
# but the rows are no scaled gradients of single examples any more, and computing them costs as much as gradient descent.

# %% jupyter={"source_hidden": true}
def corrected_solution(G, p):
    return G / (len(p) * p[:, None])

def corrected_without_n(G, p):
    return G / p[:, None]

def not_corrected(G, p):
    return G

def corrected_twice_wrong(G, p):
    return G * len(p) * p[:, None]

def mean_in_each_row(G, p):
    return np.tile(G.mean(0), (len(p), 1))

assert grade(mean_over_draws(corrected_solution), mean_wanted, **draws)
assert not grade(mean_over_draws(corrected_without_n), mean_wanted, **draws)
assert not grade(mean_over_draws(not_corrected), mean_wanted, **draws)
assert not grade(mean_over_draws(corrected_twice_wrong), mean_wanted, **draws)
assert not grade(mean_over_draws(mean_in_each_row), mean_wanted, **draws)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
class Counted(float):
    total = 0

    def __mul__(self, other):
        Counted.total += 1
        return float(self) * other

def problem(seed, N=6, D=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, D)), rng.normal(size=N), rng.normal(size=D)

def same_as_torch(seed, gamma, clear):
    X, y, w = problem(seed)
    indices = np.random.default_rng(seed).integers(6, size=8)
    path = sgd(grad_squares(X, y), w, gamma, indices)
    return all(close(path[t], torch_sgd(X, y, w, gamma, indices[:t], clear))
               for t in range(9))

holds('ml.opt.sgd.update',
      lambda seed, gamma: same_as_torch(seed, gamma, True),
      slip=('forgets zero_grad, so that gradients pile up',
            lambda seed, gamma: same_as_torch(seed, gamma, False)),
      seed=seeds(), gamma=scalars(0.01, 0.3), tries=20)

def multiplications(N, D, looks):
    X, y, w = problem(0, N, D)
    X = np.array([[Counted(x) for x in row] for row in X], dtype=object)
    Counted.total = 0
    for n in range(looks):
        grad_squares(X, y)(w, n)
    return Counted.total

holds('ml.opt.sgd.cost', lambda N, D: multiplications(N, D, 1) == 2 * D,
      slip=('looks at all examples for one step',
            lambda N, D: multiplications(N, D, N) == 2 * D),
      N=integers(1, 8), D=integers(1, 8), tries=60)

# %% tags=["checks"]
def mean_gradient(seed, chances, weights):
    X, y, w = problem(seed)
    grad_n = grad_squares(X, y)
    return sum(p * c * grad_n(w, n)
               for n, (p, c) in enumerate(zip(chances, weights)))

def full_gradient(seed):
    X, y, w = map(torch.tensor, problem(seed))
    return torch.func.grad(lambda w: ((y - X @ w) ** 2).mean() / 2)(w)

even, uneven, ones = np.full(6, 1 / 6), np.arange(1, 7) / 21, np.ones(6)

def unbiased(seed, chances, weights):
    return close(mean_gradient(seed, chances, weights), full_gradient(seed))

holds('ml.opt.sgd.unbiased',
      lambda seed: unbiased(seed, even, ones)
      and unbiased(seed, uneven, 1 / (6 * uneven)),
      slip=('draws unevenly without dividing by N p_n',
            lambda seed: unbiased(seed, uneven, ones)),
      seed=seeds(), tries=30)

def grad_logistic(X, y):
    return lambda w, n: X[n] * (expit(X[n] @ w) - y[n])

def mean_walk_is_descent(seed, rule):
    X, y, w = problem(seed, N=3)
    walks = [sgd(rule(X, y), w, 0.3, s) for s in product(range(3), repeat=4)]
    descent = w
    for _ in range(4):
        step = np.mean([rule(X, y)(descent, n) for n in range(3)], axis=0)
        descent = descent - 0.3 * step
    return close(np.mean(walks, axis=0)[-1], descent)

verify('for least squares the mean of all walks is the walk of descent',
       lambda seed: mean_walk_is_descent(seed, grad_squares),
       slip=('claims it for the curved gradients of the logistic loss',
             lambda seed: mean_walk_is_descent(seed, grad_logistic)),
       seed=seeds(), tries=20)

verify(
    'the gap is half the mean square of the change in the predictions',
    lambda w: close(gap(w[None])[0], norm(X @ (w - goal))**2 / (2 * len(y))),
    slip=('forgets the half', lambda w: close(2 * gap(w[None])[0], norm(X @ (w - goal))**2 / (2 * len(y)))),
    w=vectors(2), tries=40,
)
verify(
    'after one pass SGD is ahead of descent, which needs nine passes to go lower',
    lambda passes: bool((gap(noisy)[442] < gap(smooth)[passes]) == (passes < 9)),
    slip=('says so after nine passes, too', lambda passes: bool(gap(noisy)[442] < gap(smooth)[passes])),
    passes=[*range(1, 13)],
)

# %% [markdown]
# ## Minibatches: how the batch size reduces the variance
#
# Between one example and all of them lie the *batches*, also called minibatches. For a subset $B$ of the $N$ examples,
#
# ```{math}
# :label: ml.opt.minibatch.update
# \begin{aligned}
# \mathbf{w}^{(t+1)} &= \mathbf{w}^{(t)} - \gamma \, \mathbf{g}, \\
# \mathbf{g} &= \frac{1}{|B|} \sum_{n \in B} \nabla \mathcal{L}_n(\mathbf{w}^{(t)}), \qquad B \subseteq \{1, \dots, N\} .
# \end{aligned}
# ```
#
# In practice one shuffles the examples, deals them out in batches, and shuffles again for the next pass, or **epoch**.
# PyTorch's `DataLoader` does this. Here is the usual training loop, on all ten measurements of the patients. The batches of
# 64 leave a last batch of 58, and the mean divides by the size of each batch.

# %%
patients = data.diabetes()
X, y = zscore(patients.x), zscore(patients.y)  # (442, 10), (442,)
loader = DataLoader(
    TensorDataset(torch.tensor(X), torch.tensor(y)), batch_size=64,
    shuffle=True, generator=torch.Generator().manual_seed(0))
w = torch.zeros(10, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)

# %%
for epoch in range(3):
    for X_B, y_B in loader:
        optimizer.zero_grad()
        (mse_loss(X_B @ w, y_B) / 2).backward()
        optimizer.step()
    loss = mse_loss(torch.tensor(X) @ w, torch.tensor(y)) / 2
    print(f'epoch {epoch + 1}: loss {loss:.3f}; last batch of {len(y_B)}')
print(f'lowest: {((y - X @ lstsq(X, y)[0]) ** 2).mean() / 2:.3f}')

# %% [markdown]
# What does a larger batch buy? Let $\mathbf{g}_n$ be the gradients of the $N \ge 2$ examples at some $\mathbf{w}$,
# $\bar{\mathbf{g}}$ their mean, and $S^2 = \frac1N \sum_n \|\mathbf{g}_n - \bar{\mathbf{g}}\|^2$.
#
# ````{prf:theorem} Variance of a batch
# :label: thm-sgd-batch
# If all subsets $B$ of size $b$ are equally likely, then $\mathbb{E}[\mathbf{g}] = \bar{\mathbf{g}}$ and
# ```{math}
# :label: stochastic_gradient_descent-variance
# \mathbb{E}\,\|\mathbf{g} - \bar{\mathbf{g}}\|^2 = \frac{S^2}{b} \cdot \frac{N - b}{N - 1} .
# ```
# ````
#
# ```{prf:proof}
# :class: dropdown
# Let $\mathbf{c}_n = \mathbf{g}_n - \bar{\mathbf{g}}$. An example belongs to $B$ with chance $\frac bN$, so the mean of
# $\sum_{n \in B} \mathbf{c}_n$ is $\frac bN \sum_n \mathbf{c}_n = \mathbf{0}$. Two different ones both belong to $B$ with
# chance $\frac{b(b-1)}{N(N-1)}$. Hence
#
# $$
# \mathbb{E} \Big\| \sum_{n \in B} \mathbf{c}_n \Big\|^2
# = \frac bN \sum_n \|\mathbf{c}_n\|^2 + \frac{b(b-1)}{N(N-1)} \sum_{m \ne n} \mathbf{c}_m \cdot \mathbf{c}_n .
# $$
#
# Since $\big\|\sum_n \mathbf{c}_n\big\|^2 = 0$, the last double sum is $-\sum_n \|\mathbf{c}_n\|^2 = -NS^2$. This leaves
# $bS^2 \big(1 - \frac{b-1}{N-1}\big)$; divide by $b^2$.
# ```
#
# For $b = 1$ this is $S^2$; for $b = N$ it is zero, because every draw gives the same batch. If the examples of a batch are
# drawn *with* replacement, they are independent, and the second factor is missing.

# %%
def predicted_variance(G, b, replace):
    N, S2 = len(G), (norm(G - G.mean(0), axis=1) ** 2).mean()
    return S2 / b * (1 if replace else (N - b) / (N - 1))

# %% tags=["hide-input"]
def measured_variance(b, replace, seed, K=500):  # mean and standard error
    rng = np.random.default_rng(seed)
    if replace:
        B = rng.integers(442, size=(K, b))
    else:
        B = rng.random((K, 442)).argsort(1, kind='stable')[:, :b]
    squares = norm(G[B].mean(1) - G.mean(0), axis=1) ** 2
    return squares.mean(), squares.std() / K**0.5

# %%
G = -y[:, None] * X  # (442, 10): the gradients at w = 0
sizes = np.array([1, 3, 10, 30, 100, 300, 441])
points = {replace: np.array([measured_variance(b, replace, 7) for b in sizes])
          for replace in (True, False)}
print('variance for b =', sizes)
for replace, name in ((True, 'with'), (False, 'without')):
    print(f'{name:8}', *(f'{v:.4f}' for v in points[replace][:, 0]))
    wanted = [predicted_variance(G, b, replace) for b in sizes]
    print('forecast', *(f'{v:.4f}' for v in wanted))

# %% mystnb={"image": {"alt": "Variance of the batch gradient against batch size on logarithmic axes. Drawn with replacement the points follow a straight line of slope minus one; without replacement they follow it at first and then bend down to zero at the full data set."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.0))
b = np.linspace(1, 441.9, 2000)
for i, (replace, name) in enumerate(((True, 'with'), (False, 'without'))):
    middle, error = points[replace].T
    ax.errorbar(sizes, middle, 2 * error, fmt='o', color=f'C{i}', capsize=2)
    ax.loglog(b, predicted_variance(G, b, replace), color=f'C{i}', lw=1.2)
ax.text(330, 0.06, 'with\nreplacement', color='C0', ha='center')
ax.text(120, 0.004, 'without\nreplacement', color='C1', ha='center')
ax.text(4, 0.6, 'S²/b')
ax.set(xlabel='batch size b', ylabel='variance of the gradient',
       ylim=(1e-4, 20));

# %% [markdown] tags=["caption"]
# The variance of a batch gradient falls like $1/b$. Drawn without replacement it falls faster once $b$ is a large part of
# the 442 examples, and vanishes for all of them.

# %% [markdown]
# Twice the batch costs twice the arithmetic, but it divides the noise, the root of the variance, only by $\sqrt2$. Counted
# in arithmetic, nothing is gained. Counted in time, a batch wins on a processor that handles many examples in the time of
# one. There the best batch is the smallest that keeps the processor busy.
#
# ```{exercise} ★★ Program: quiet enough
# :label: stochastic_gradient_descent-quiet
# Write `smallest_batch(S2, N, v)`, the smallest batch size, without replacement, whose variance is at most $v > 0$.
# ```

# %%
def smallest_batch(S2, N, v):
    """The smallest batch size: a whole number from 1 to N.

    S2: float >= 0, the variance for a batch of one. N: int >= 2.
    v: float > 0, the largest variance that is allowed.
    smallest_batch(1.0, 3, 0.25) is 2.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def smallest_batch_by_trial(S2, N, v):
    b, S2, v = 1, Fraction(S2), Fraction(v)
    while S2 * (N - b) > v * b * (N - 1):
        b = b + 1
    return b

wishes = dict(  # whole numbers and sixteenths, which floats hold exactly
    S2=on(1.0, 0.0, 2.0) | integers(0, 9).map(float),
    N=on(2, 10, 442) | integers(2, 60),
    v=on(0.25, 1.0) | integers(1, 80).map(lambda k: k / 16),
)
grade(smallest_batch, smallest_batch_by_trial, [(2.0, 442, 0.01)], **wishes)

# %% [markdown]
# ```{solution-start} stochastic_gradient_descent-quiet
# :class: dropdown
# ```
# $S^2(N - b) \le vb(N - 1)$ means $b \ge NS^2 / \big(S^2 + v(N - 1)\big)$; round up, to 1 at least. The formula for
# independent draws, $S^2/v$, asks for $2/0.01 = 200$ of 442 patients where $442 \cdot 2/(2 + 0.01 \cdot 441) \approx 138$
# suffice, and for more examples than there are when $v$ is small. The second wrong answer divides by $N$ in place of
# $N - 1$. The third rounds down and adds 1, which is one too many where the bound is met exactly, and the fourth allows an
# empty batch if all gradients are equal.

# %% jupyter={"source_hidden": true}
def smallest_batch_solution(S2, N, v):
    return max(1, np.ceil(N * S2 / (S2 + v * (N - 1))))

def smallest_batch_independent(S2, N, v):
    return max(1, np.ceil(S2 / v))

def smallest_batch_with_n(S2, N, v):
    return max(1, np.ceil(N * S2 / (S2 + v * N)))

def smallest_batch_next(S2, N, v):
    return np.floor(N * S2 / (S2 + v * (N - 1))) + 1

def smallest_batch_or_none(S2, N, v):
    return np.ceil(N * S2 / (S2 + v * (N - 1)))

assert grade(smallest_batch_solution, smallest_batch_by_trial, **wishes)
assert not grade(
    smallest_batch_independent, smallest_batch_by_trial, **wishes)
assert not grade(smallest_batch_with_n, smallest_batch_by_trial, **wishes)
assert not grade(smallest_batch_next, smallest_batch_by_trial, **wishes)
assert not grade(smallest_batch_or_none, smallest_batch_by_trial, **wishes)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def minibatch_sgd(X, y, w, gamma, batches, size=None):
    for B in batches:
        e = y[B] - X[B] @ w  # (|B|,)
        w = w + gamma * X[B].T @ e / (size or len(B))
    return w

def beside_torch(seed, size):
    rng = np.random.default_rng(seed)
    X, y, w = rng.normal(size=(10, 3)), rng.normal(size=10), rng.normal(size=3)
    dealer = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(
            torch.tensor(X), torch.tensor(y), torch.arange(10)),
        batch_size=4, shuffle=True,
        generator=torch.Generator().manual_seed(int(seed)))
    v, batches = torch.tensor(w, requires_grad=True), []
    optimizer = torch.optim.SGD([v], lr=0.1)
    for Xb, yb, B in (batch for epoch in range(2) for batch in dealer):
        optimizer.zero_grad()
        (torch.nn.functional.mse_loss(Xb @ v, yb) / 2).backward()
        optimizer.step()
        batches.append(B.numpy())
    return close(minibatch_sgd(X, y, w, 0.1, batches, size), v)

holds('ml.opt.minibatch.update', lambda seed: beside_torch(seed, None),
      slip=('divides the short last batch by the full size',
            lambda seed: beside_torch(seed, 4)),
      seed=seeds(), tries=8)

def batch_variance(G, b):  # over all subsets of size b
    means = [G[list(B)].mean(0) for B in combinations(range(len(G)), b)]
    return (norm(means - G.mean(0), axis=1) ** 2).mean()

def agrees(g, b, replace):
    G = np.reshape(g, (5, 2))
    return close(batch_variance(G, b), predicted_variance(G, b, replace))

verify('variance of a batch: (S²/b) (N - b)/(N - 1)',
       lambda g, b: agrees(g, b, False),
       slip=('leaves out the factor of drawing without replacement',
             lambda g, b: agrees(g, b, True)),
       g=vectors(10), b=integers(1, 5), tries=60)

def within_five(b, replace, power):
    middle, error = measured_variance(b, replace, seed=b)
    want = predicted_variance(G, b, replace) * b ** (1 - power)
    return abs(middle - want) < 5 * error

verify('the variance falls as 1/b on real gradients',
       lambda b, replace: within_five(b, replace, 1),
       slip=('expects a variance that falls as 1/b²',
             lambda b, replace: within_five(b, replace, 2)),
       b=[3, 30, 300], replace=[True, False], tries=20)

# %% [markdown]
# ## Learning rate: the noise floor and schedules that lower it
#
# ### With a constant learning rate SGD does not converge
#
# At the minimum the *mean* of the gradients is zero, but each single one pushes the weights away again. How far from the
# minimum do they stay? Take one weight and $\mathcal{L}_n(w) = \frac a2 (w - c_n)^2$, where the $c_n$ have mean $w^*$ and
# variance $\sigma^2$. With the error $e_t = w_t - w^*$ and $\xi = c_n - w^*$ the update is
#
# $$
# e_{t+1} = (1 - \gamma a) \, e_t + \gamma a \, \xi .
# $$
#
# Square and take means. The mixed term vanishes, since $\xi$ is independent of $e_t$ and has mean zero:
# $\mathbb{E} e_{t+1}^2 = (1 - \gamma a)^2 \, \mathbb{E} e_t^2 + \gamma^2 a^2 \sigma^2$. This recursion has a fixed point $V$
# with $V \big(1 - (1 - \gamma a)^2\big) = \gamma^2 a^2 \sigma^2$, and for $0 < \gamma a < 2$ the distance to $V$ shrinks by
# the same factor at each step. So
#
# ```{math}
# :label: stochastic_gradient_descent-floor
# \mathbb{E} \, e_t^2 = (1 - \gamma a)^{2t} \, (e_0^2 - V) + V, \qquad
# V = \frac{\gamma a}{2 - \gamma a} \, \sigma^2 .
# ```
#
# The start is forgotten, and what remains is the **noise floor** $V$, for small steps about $\frac{\gamma a}{2} \sigma^2$
# and so proportional to $\gamma$. We let 4000 walks start at $e_0 = 3$, with $a = \sigma = 1$:

# %%
def squared_errors(gamma, a, e, T, seed, count=4000):  # of many walks
    rng = np.random.default_rng(seed)
    e = np.full(count, e)
    for _ in range(T):
        e = e - gamma * a * (e - rng.choice([-1, 1], size=count))  # sigma 1
    return e**2

# %%
for gamma in (0.4, 0.1, 0.025):
    early = squared_errors(gamma, 1, 3.0, 5, seed=0).mean()
    late = squared_errors(gamma, 1, 3.0, 200, seed=0).mean()
    print(f'gamma {gamma:5}: {early:.2f} after 5 steps, {late:.4f} after 200,'
          f' floor {gamma / (2 - gamma):.4f}')

# %% [markdown]
# Of these steps the longest forgets the start fastest and ends on the highest floor.
#
# In general the noise depends on the place, but for least squares it can still be forecast exactly. The folded cell
# does it with a recursion for the second moments of the weights.
#
# :::{admonition} The recursion of the second moments
# :class: dropdown
# Let $\mathbf{v} = \mathbf{w} - \mathbf{w}^*$, and let $r_n = y_n - \mathbf{x}_n^\top \mathbf{w}^*$ be the residuals of the
# best weights. Then $\nabla \mathcal{L}_n = \mathbf{x}_n \mathbf{x}_n^\top \mathbf{v} - r_n \mathbf{x}_n$. Put a 1 on top of
# $\mathbf{v}$, and a step becomes linear:
#
# $$
# \begin{pmatrix} 1 \\ \mathbf{v} \end{pmatrix}
# \mapsto (\mathbf{I} + \gamma \mathbf{C}_n) \begin{pmatrix} 1 \\ \mathbf{v} \end{pmatrix}, \qquad
# \mathbf{C}_n = \begin{pmatrix} 0 & \mathbf{0}^\top \\ r_n \mathbf{x}_n & -\mathbf{x}_n \mathbf{x}_n^\top \end{pmatrix} .
# $$
#
# So the matrix of all second moments, $\mathbf{U} = \mathbb{E} \binom{1}{\mathbf{v}} (1, \mathbf{v}^\top)$, follows
# $\mathbf{U} \mapsto \mathbb{E}\big[(\mathbf{I} + \gamma \mathbf{C}_n) \, \mathbf{U} \, (\mathbf{I} + \gamma
# \mathbf{C}_n)^\top\big]$, with no approximation. For $b$ independent draws $\mathbf{C}_n$ is replaced by a mean of $b$ of
# them; in the square the $b$ equal pairs keep $\mathbb{E}[\mathbf{C}_n \mathbf{U} \mathbf{C}_n^\top]$ and the others become
# $\bar{\mathbf{C}} \mathbf{U} \bar{\mathbf{C}}^\top$.
# :::

# %% tags=["hide-input"]
def step_matrices(X, y):  # (N, D), (N,) -> C (N, D + 1, D + 1)
    r = y - X @ lstsq(X, y)[0]
    top = np.zeros((len(X), 1, X.shape[1] + 1))
    rows = np.dstack([r[:, None] * X, -X[:, :, None] * X[:, None]])
    return np.concatenate([top, rows], axis=1)

def second_moments(C, v, gammas, b=1):
    square = np.einsum('nij,nkl->ijkl', C, C) / len(C)
    mean, U = C.mean(0), np.outer([1, *v], [1, *v])
    for gamma in gammas:
        same = np.einsum('ijkl,jl->ik', square, U)
        other = np.einsum('ij,kl,jl->ik', mean, mean, U)
        drift = mean @ U
        U = U + gamma * (drift + drift.T)
        U = U + gamma**2 * (same / b + (1 - 1 / b) * other)
        yield U

def mean_squares(C, v, gammas, b=1):  # E|v|² after each step
    return np.array([np.trace(U) - 1 for U in second_moments(C, v, gammas, b)])

# %% [markdown]
# For the patients with two measurements we compare this forecast with 600 walks of 800 steps:

# %%
patients = data.diabetes()
columns = [patients.names.index(name) for name in ('bmi', 'bp')]
X, y = zscore(patients.x[:, columns]), zscore(patients.y)
C, goal = step_matrices(X, y), lstsq(X, y)[0]

def crowd(gammas, v, count, seed):  # yields the errors (count, 2)
    rng = np.random.default_rng(seed)
    v = np.tile(v, (count, 1))
    for gamma in gammas:
        n = rng.integers(len(X), size=count)
        r = y[n] - ((goal + v) * X[n]).sum(1)
        v = v + gamma * r[:, None] * X[n]
        yield v

# %%
clouds = {}
for gamma in (0.1, 0.01):
    steps = np.full(800, gamma)
    *_, clouds[gamma] = crowd(steps, [1, -1], 600, seed=0)
    print(f'gamma {gamma}: mean square error',
          f'{(clouds[gamma] ** 2).sum(1).mean():.4f},',
          f'forecast {mean_squares(C, [1, -1], steps)[-1]:.4f}')

# %% mystnb={"image": {"alt": "Two clouds of walkers around the minimum, each filling its predicted ellipse: a wide one for step 0.1 and a small one for step 0.01."}} tags=["hide-input"]
turn = np.exp(1j * np.linspace(0, 2 * np.pi, 100))
fig, ax = plt.subplots(figsize=(4.4, 3.2))
for i, gamma in enumerate(clouds):
    *_, U = second_moments(C, [1, -1], np.full(800, gamma))
    lam, Q = eigh(U[1:, 1:] - np.outer(U[0, 1:], U[0, 1:]))
    ellipse = 2 * (Q * lam**0.5) @ [turn.real, turn.imag]
    ax.plot(*(goal + clouds[gamma]).T, '.', ms=2, color=f'C{i}', alpha=0.6)
    ax.plot(*(goal[:, None] + ellipse), color=f'C{i}', lw=1.5)
ax.plot(*goal, 'x', color=GREY, ms=8, mew=2)
ax.text(0.8, 0.6, 'γ = 0.1', color='C0')
ax.annotate('γ = 0.01', goal + [-0.04, 0.13], (-0.03, 0.68), color='C1',
            arrowprops=dict(arrowstyle='-', color='C1'))
ax.set(xlabel='weight of body mass', ylabel='weight of pressure',
       aspect='equal');

# %% [markdown] tags=["caption"]
# With a constant step SGD ends in a cloud about the minimum, as wide as the forecast (ellipses, two standard deviations); a
# tenth of the step has roughly a tenth of the mean square error.

# %% [markdown]
# A batch of $b$ divides the variance of the gradient by $b$. So the floor depends on the ratio $\gamma/b$: if you make the
# batch $k$ times larger, you may make the step $k$ times longer and stay near the same floor. This is the **linear scaling
# rule** {cite}`goyal2017accurate`. It fails near the steps at which the walk diverges, at the latest at $2/L$, with $L$ the
# largest eigenvalue of $\frac1N \mathbf{X}^\top \mathbf{X}$.

# %%
def floor(gamma, b):
    steps = np.full(round(8 / gamma), gamma)
    return mean_squares(C, [0, 0], steps, b)[-1]

print('batch   floor with the step 0.005   0.005 √b    0.005 b')
for b in (1, 2, 4, 8):
    print('{:5} {:27.5f} {:10.5f} {:10.5f}'.format(
        b, *(floor(0.005 * b**power, b) for power in (0, 0.5, 1))))

# %% [markdown]
# One case has no floor. If some weights fit *every* example, all residuals $r_n$ are zero, and so is every single gradient
# at the minimum. Then a constant step, if it is short enough, converges at a geometric rate {cite}`ma2018power`. We replace
# the targets by those on the fitted plane. Networks with more weights than examples are close to this case, one reason why
# constant steps work so well for them.

# %%
on_a_plane = step_matrices(X, X @ goal)
for t in (1, 50, 100, 200):
    steps = np.full(t, 0.1)
    real, plane = (mean_squares(matrices, [1, -1], steps)[-1]
                   for matrices in (C, on_a_plane))
    print(f'{t:3} steps: real targets {real:.3f}, on a plane {plane:.0e}')

# %% [markdown]
# ### Learning-rate schedules: how fast should the step shrink?
#
# The floor falls with the step, so we let the step shrink. How fast? For $\mathcal{L}_n(w) = \frac12 (w - y_n)^2$
# and $\gamma_t = 1/t$ the update is
#
# ```{math}
# :label: stochastic_gradient_descent-running
# w_t = w_{t-1} - \tfrac1t (w_{t-1} - y_t) = \frac{(t - 1) \, w_{t-1} + y_t}{t} ,
# ```
#
# and this is the mean of $y_1, \dots, y_t$. So computing a running mean is stochastic gradient descent with the step $1/t$:

# %%
def average_by_sgd(y, gammas):
    w = 100.0  # any start
    for gamma, target in zip(gammas, y):
        w = w - gamma * (w - target)
    return w

targets = np.array([3.0, 5.0, 4.0, 8.0])
print('SGD:', average_by_sgd(targets, 1 / np.arange(1, 5)),
      '  mean:', targets.mean())

# %% [markdown]
# After $t$ independent draws the mean square error of a mean is $\sigma^2/t$, and no unbiased estimate from Gaussian data
# does better (the Cramér-Rao bound of [maximum likelihood](../probability/maximum_likelihood.ipynb)). SGD with shrinking
# steps reaches the rate $1/t$ much more generally:

# %% [markdown]
# ````{prf:theorem} Rate of SGD
# :label: thm-sgd-rate
# Let $\nabla \mathcal{L}(\mathbf{w}) \cdot (\mathbf{w} - \mathbf{w}^*) \ge \mu \|\mathbf{w} - \mathbf{w}^*\|^2$ with
# $\mu > 0$ (as for a strongly convex loss), and $\mathbb{E}\|\nabla \mathcal{L}_n(\mathbf{w})\|^2 \le G^2$, wherever the
# walk goes. With $\gamma_t = \frac{1}{\mu t}$, $t = 1, 2, \dots$, and independent draws,
# ```{math}
# :label: stochastic_gradient_descent-rate
# \mathbb{E} \, \|\mathbf{w}_t - \mathbf{w}^*\|^2 \le \frac{2 G^2}{\mu^2 \, t} \qquad (t \ge 2),
# ```
# where $\mathbf{w}_{t+1}$ is the place after step $t$.
# ````
#
# ```{prf:proof}
# :class: dropdown
# Let $\delta_t = \mathbb{E}\|\mathbf{w}_t - \mathbf{w}^*\|^2$. Expand the square of $\mathbf{w}_t - \mathbf{w}^* - \gamma_t
# \nabla \mathcal{L}_n$ and take means, first over the new $n$: by unbiasedness and the two hypotheses,
#
# $$
# \delta_{t+1} \le \delta_t - 2\gamma_t\mu \, \delta_t + \gamma_t^2 G^2
# = \Big(1 - \frac2t\Big) \delta_t + \frac{K}{2t^2}, \qquad K = \frac{2G^2}{\mu^2} .
# $$
#
# For $t = 1$ this gives $\delta_2 \le -\delta_1 + \frac K2 \le \frac K2$, as claimed. If $\delta_t \le K/t$ for some
# $t \ge 2$, then, as $1 - \frac2t \ge 0$, $\delta_{t+1} \le \frac Kt - \frac{2K}{t^2} + \frac{K}{2t^2} \le \frac Kt -
# \frac{K}{t^2} \le \frac{K}{t + 1}$. The last step: $\frac1t - \frac{1}{t+1} = \frac{1}{t(t+1)} \le \frac{1}{t^2}$.
# ```

# %% [markdown]
# The constant in the step matters. Let $a = 1$ and $\gamma_t = c/t$ in one dimension, so that the mean square error follows
# $V_t = (1 - \frac ct)^2 V_{t-1} + \frac{c^2}{t^2} \sigma^2$. Try $V_t = K/t$. Since
# $\frac{K}{t-1} \approx \frac Kt + \frac{K}{t^2}$, the terms with $\frac{1}{t^2}$ balance if $0 = K - 2cK + c^2\sigma^2$,
#
# ```{math}
# :label: stochastic_gradient_descent-constant
# V_t \approx \frac{c^2}{2c - 1} \cdot \frac{\sigma^2}{t} \qquad \text{for } c > \tfrac12 .
# ```
#
# The factor is smallest at $c = 1$, the running mean, and about $\frac c2$ for large $c$. For $c < \frac12$ the start is
# forgotten too slowly, as $\prod_s (1 - \frac cs)^2$ falls like $t^{-2c}$, and $t V_t$ grows without bound:

# %%
def variances(c, T=4000):  # V_1, ..., V_T with the steps c/t, from e_0 = 3
    one_weight = step_matrices(np.ones((2, 1)), np.array([-1.0, 1.0]))
    return mean_squares(one_weight, [3], c / np.arange(1, T + 1))

for c in (0.25, 1, 2, 4):
    V = variances(c)
    print(f'c = {c:4}: t V = {1000 * V[999]:6.2f} at t = 1000,',
          f'{4000 * V[3999]:6.2f} at t = 4000')
print('forecast:', *(f'{c**2 / (2*c - 1):.2f} for c = {c}' for c in (1, 2, 4)))

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: tip
# "A step that is too small is the safe choice." With shrinking steps it is the other way round. Twice the best
# constant costs a third more error; a quarter of it changes the rate, and falls ever further behind.
# :::
#
# Four schedules on the patients: a constant step; $\gamma \propto 1/\sqrt t$; $\frac{2}{\mu(t + t_0)}$ with the smallest
# eigenvalue $\mu$ of $\frac1N \mathbf{X}^\top \mathbf{X}$, twice the constant of the theorem, where $t_0 = 40$ keeps
# the first steps short; and **step decay**, a constant that is halved whenever the time has doubled.

# %%
T = 4096
t = np.arange(1, T + 1)
mu = eigvalsh(X.T @ X / len(X))[0]
schedules = {
    'constant': np.full(T, 0.1),
    '1/√t': 0.5 / np.sqrt(t + 24),
    '1/t': 2 / (mu * (t + 40)),
    'halved': 0.1 * 0.5 ** np.floor(np.log2(np.maximum(t / 32, 1))),
}

# %%
curves = {name: mean_squares(C, [1, -1], s) for name, s in schedules.items()}
print('mean square error after 256, 1024, 4096 steps')
for name, curve in curves.items():
    print(f'{name:8}', *(f'{curve[k - 1]:.5f}' for k in (256, 1024, 4096)))

# %% mystnb={"image": {"alt": "Mean square error against steps on logarithmic axes for four schedules, each a forecast line with a band of walkers. The constant step ends on a plateau, one over root t falls with slope one half, one over t and the halved staircase fall with slope one."}} tags=["hide-input"]
marks = np.unique(np.geomspace(1, T, 40).astype(int))
walked = {}
for seed, (name, steps) in enumerate(schedules.items()):
    squares = [(v**2).sum(1) for v in crowd(steps, [1, -1], 300, seed)]
    walked[name] = np.array(squares)[marks - 1]  # (times, 300)

fig, ax = plt.subplots(figsize=(6, 3.4))
for i, (name, curve) in enumerate(curves.items()):
    ax.loglog(t, curve, color=f'C{i}', lw=1.5, label=name)
    low, high = np.quantile(walked[name], [0.25, 0.75], axis=1)
    ax.fill_between(marks, low, high, color=f'C{i}', alpha=0.15, lw=0)
ax.set(xlabel='step t', ylabel='mean square error', ylim=(1e-4, 4))
label_lines(ax);

# %% [markdown] tags=["caption"]
# A constant step ends on a floor. With steps like $1/\sqrt t$ or $1/t$ the mean square error falls at that rate, and at
# $1/t$, too, if the step is halved whenever the time has doubled. Bands: the middle half of 300 walks.

# %% [markdown]
# If it starts too low, step decay by the clock fails like a small $c$. In practice you halve the step when a plot of the
# training loss shows that the floor is reached; this needs no $\mu$.
#
# ```{exercise} ★★★ Pencil: the average of the path
# :label: stochastic_gradient_descent-averaging
# With a constant step the weights move about the minimum at random. Then average the *places*: $\bar w_T = \frac1T
# \sum_{t=1}^T w_t$. In one dimension with $a = 1$, $w_0 = w^* = 0$ and independent pushes $\xi_s$ of variance 1, write
# `averaged_variance(gamma, T)`, the variance of $\bar w_T$. *Hint:* $w_t = \gamma \sum_{s \le t} (1 - \gamma)^{t - s} \xi_s$.
# What does one push $\xi_s$ contribute to the sum of all places?
# ```

# %%
def averaged_variance(gamma, T):
    """The variance of the mean of the places after steps 1, ..., T: a float.

    gamma: float in (0, 2), the step size. T: int >= 1.
    averaged_variance(0.5, 2) is 0.203125.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_covariance(gamma, T):  # of all places with all others
    age = np.subtract.outer(np.arange(T), np.arange(T))
    response = np.where(age >= 0, gamma * (1 - gamma) ** np.maximum(age, 0), 0)
    return (response @ response.T).sum() / T**2

rides = dict(gamma=on(0.5, 1.0) | scalars(0.02, 1.98), T=on(1, 2) | integers(1, 40))
grade(averaged_variance, by_covariance, **rides)

# %% [markdown]
# ```{solution-start} stochastic_gradient_descent-averaging
# :class: dropdown
# ```
# A push with $k = T - s + 1$ places left contributes $\gamma \sum_{j<k} (1 - \gamma)^j = 1 - (1 - \gamma)^k$ to the sum. So
# the variance is $\frac{1}{T^2} \sum_{k=1}^T \big(1 - (1 - \gamma)^k\big)^2$, for $\gamma \le 1$ at most $\frac1T$: for
# large $T$ as good as the best step $1/t$, with a constant step and without knowing $\mu$ {cite}`polyak1992acceleration`.
# The first wrong answer treats the places as independent, too hopeful for $\gamma < 1$. The second takes this bound for the
# variance, the third counts one place too few for each push, so that the last one is left out, and the fourth is the
# variance of the last place alone.

# %% jupyter={"source_hidden": true}
def averaged_variance_solution(gamma, T):
    return ((1 - (1 - gamma) ** np.arange(1, T + 1)) ** 2).sum() / T**2

def averaged_as_if_independent(gamma, T):
    return gamma / (2 - gamma) / T

def averaged_at_most(gamma, T):
    return 1 / T

def averaged_too_early(gamma, T):
    return ((1 - (1 - gamma) ** np.arange(T)) ** 2).sum() / T**2

def not_averaged(gamma, T):
    return gamma / (2 - gamma) * (1 - (1 - gamma) ** (2 * T))

assert grade(averaged_variance_solution, by_covariance, **rides)
assert not grade(averaged_as_if_independent, by_covariance, **rides)
assert not grade(averaged_at_most, by_covariance, **rides)
assert not grade(averaged_too_early, by_covariance, **rides)
assert not grade(not_averaged, by_covariance, **rides)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: shuffled passes
# :label: stochastic_gradient_descent-shuffled
# Walks on the 442 patients start at the minimum and take single examples, either drawn independently or in passes that are
# shuffled anew. Halve the step from 0.01 to 0.005. By which factor, 1, 2 or 4, does the mean square error at the ends of
# the passes fall in either case? Predict the two factors, then measure and explain.
# ```

# %%
def predicted_factors():
    """A pair of the numbers 1, 2 and 4: (independent draws, shuffled passes).

    For example (1, 1), where a smaller step does not help at all.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def error_after_passes(gamma, shuffled, count=150, passes=6):
    rng, w, errors = np.random.default_rng(0), np.tile(goal, (count, 1)), []
    for _ in range(passes):
        if shuffled:
            order = rng.random((count, 442)).argsort(1, kind='stable')
        else:
            order = rng.integers(442, size=(count, 442))
        for n in order.T:
            r = y[n] - (w * X[n]).sum(1)
            w = w + gamma * r[:, None] * X[n]
        errors.append(((w - goal) ** 2).sum(1).mean())
    return np.mean(errors[2:])  # the start is forgotten after two passes

ends = {name: [error_after_passes(gamma, name == 'shuffled') for gamma in (0.01, 0.005)]
        for name in ('independent', 'shuffled')}

def is_measured(factors):
    if len(factors) != 2 or not set(factors) <= {1, 2, 4}:
        raise ValueError('give a pair of the numbers 1, 2 and 4')
    for said, (name, (long, short)) in zip(factors, ends.items()):
        if said != min((1, 2, 4), key=lambda k: abs(np.log(k * short / long))):
            raise ValueError(f'{name}: something else is measured; try it')
    return True

grade(lambda: is_measured(predicted_factors()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} stochastic_gradient_descent-shuffled
# :class: dropdown
# ```
# With independent draws the floor is about proportional to the step. In a shuffled pass every example comes exactly once,
# and at the minimum all pushes $\gamma r_n \mathbf{x}_n$ together are zero, in whatever order they come. What is left is
# that the early pushes have been forgotten a little more than the late ones, which is an effect of higher order in
# $\gamma$. The advantage needs a step so small that a pass does not forget its own beginning: with the step 0.04 the two
# floors are nearly equal.

# %% jupyter={"source_hidden": true}
for name, (long, short) in ends.items():
    print(f'{name:11} {long:.4f} with the step 0.01, {short:.5f} with 0.005: factor {long / short:.1f}')
print(f'step 0.04: independent {error_after_passes(0.04, False):.3f}, shuffled {error_after_passes(0.04, True):.3f}')
assert grade(lambda: is_measured((2, 4)), lambda: True, [()])
assert not grade(lambda: is_measured((2, 2)), lambda: True, [()])  # takes the order for unimportant
assert not grade(lambda: is_measured((4, 4)), lambda: True, [()])  # squares the step, as in the error of one push
assert not grade(lambda: is_measured((1, 2)), lambda: True, [()])
assert not grade(lambda: is_measured((4, 2)), lambda: True, [()])  # exchanges the two

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def forecast(gamma, a, e, T, floor):
    return (1 - gamma * a) ** (2 * T) * (e**2 - floor) + floor

def on_forecast(seed, gamma, a, T, floor):
    squares = squared_errors(gamma, a, 3.0, T, seed)
    error = squares.std() / len(squares) ** 0.5
    return abs(squares.mean() - forecast(gamma, a, 3, T, floor)) < 5 * error

verify('the mean square error goes down to gamma a/(2 - gamma a) sigma²',
       lambda gamma, a, T, seed:
       on_forecast(seed, gamma, a, T, gamma * a / (2 - gamma * a)),
       slip=('adds up the noise of one step only',
             lambda gamma, a, T, seed:
             on_forecast(seed, gamma, a, T, gamma**2 * a**2)),
       gamma=[0.05, 0.2, 0.4], a=[0.5, 2.0], T=[5, 40], seed=integers(0, 99),
       tries=12)

def mean_over_all_walks(C, v, gammas, b):
    batches = [C[list(s)].mean(0) for s in product(range(len(C)), repeat=b)]
    ends = []
    for walk in product(batches, repeat=len(gammas)):
        u = np.array([1, *v])
        for gamma, step in zip(gammas, walk):
            u = u + gamma * step @ u
        ends.append(u @ u - 1)
    return np.mean(ends)

def exact(seed, b, C_for):
    rng = np.random.default_rng(seed)
    X, y, v = rng.normal(size=(3, 2)), rng.normal(size=3), rng.normal(size=2)
    gammas = [0.3, 0.1, 0.2]
    counted = mean_over_all_walks(step_matrices(X, y), v, gammas, b)
    return close(mean_squares(C_for(X, y), v, gammas, b)[-1], counted)

def noise_as_at_minimum(X, y):
    C = step_matrices(X, y)
    C[:, 1:, 1:] = C[:, 1:, 1:].mean(0)
    return C

verify('the forecast of second moments is exact',
       lambda seed, b: exact(seed, b, step_matrices),
       slip=('takes the noise of the minimum everywhere',
             lambda seed, b: exact(seed, b, noise_as_at_minimum)),
       seed=seeds(), b=[1, 2], tries=12)

# %% tags=["checks"]
def same_floor(b, gamma, power):  # a little higher, by terms with gamma²
    ratio = floor(gamma * b**power, b) / floor(gamma, 1)
    return 0 < ratio - 1 < gamma * b / 2

verify('a batch b times larger with a step b times longer has the same floor',
       lambda b, gamma: same_floor(b, gamma, 1),
       slip=('lengthens the step by the root of b',
             lambda b, gamma: same_floor(b, gamma, 0.5)),
       b=[2, 4], gamma=[0.005, 0.01], tries=8)

def far_gone(seed, noise):
    rng = np.random.default_rng(seed)
    X, kicks, w = rng.normal(size=(8, 2)), rng.normal(size=8), [1.5, -0.5]
    C = step_matrices(X, X @ w + noise * kicks)
    *_, last = mean_squares(C, [1, 1], np.full(4000, 0.05))
    return last < 1e-10

verify('without residuals a constant step converges',
       lambda seed: far_gone(seed, 0),
       slip=('lets the targets miss the plane by a hundredth',
             lambda seed: far_gone(seed, 0.01)),
       seed=integers(0, 9), tries=5)
verify('SGD with steps 1/t computes the mean',
       lambda y: close(average_by_sgd(y, 1 / np.arange(1, 7)), y.mean()),
       slip=('keeps the step constant after the first one',
             lambda y: close(average_by_sgd(y, [1] + 5 * [1 / 6]), y.mean())),
       y=vectors(6))

# %% tags=["checks"]
# Points c in [-1, 1] and L_n(w) = mu (w - c_n)² / 2: with gamma_t mu <= 1 no
# step leaves the interval, so that G = 2 mu.
def scaled_steps(c, mu, scale, T):  # E e² after T steps of scale / t
    C = step_matrices(mu**0.5 * np.ones((len(c), 1)), mu**0.5 * c)
    return mean_squares(C, [1 - c.mean()], scale / np.arange(1, T + 1))[-1]

verify('with steps 1/(mu t) the error is at most 2 G²/(mu² t)',
       lambda c, T: scaled_steps(c, 0.25, 4, T) <= 8 / (T + 1),
       slip=('forgets the mu in the step 1/(mu t)',
             lambda c, T: scaled_steps(c, 0.25, 1, T) <= 8 / (T + 1)),
       c=vectors(4, -1, 1), T=[3, 30, 300], tries=30)

# L_n(w) = |w - u_n|, u_n uniform on [-1, 1]: the mean slope at w is w, so that
# mu = 1, and every slope is 1 or -1, so that G = 1. The start is the minimum.
# The fourth step is the first one that can leave the interval.
def absolute_errors(T):  # E w² after T steps of 1/t, over all 2^T walks
    w, p = np.zeros(1), np.ones(1)
    for t in range(1, T + 1):
        p = np.concatenate([p * (1 + w) / 2, p * (1 - w) / 2])
        w = np.concatenate([w - 1 / t, w + 1 / t])
    return p @ w**2

verify('absolute errors keep to 2 G²/(mu² t), and attain it after one step',
       lambda T: absolute_errors(T) <= 2 / (T + 1) + 1e-12,
       slip=('loses the 2', lambda T: absolute_errors(T) <= 1 / (T + 1) + 1e-12),
       T=[1, 2, 3])

def slope_is(c, want):  # of log V against log t, late
    V = variances(c)
    return abs(np.log(V[3999] / V[999]) / np.log(4) - want) < 0.01

verify('steps c/t: the rate is the smaller of 1 and 2c',
       lambda c: slope_is(c, -min(1, 2 * c)),
       slip=('expects the rate 1/t for every c', lambda c: slope_is(c, -1)),
       c=[0.1, 0.2, 0.3, 1, 2, 3])

def slopes_are(rates):
    fitted = [np.polyfit(np.log(t[T // 8:]), np.log(c[T // 8:]), 1)[0]
              for c in curves.values()]
    return all(abs(f - r) < 0.03 for f, r in zip(fitted, rates))

verify('constant, 1/sqrt t, 1/t and halved steps have the rates 0, 1/2, 1, 1',
       lambda: slopes_are([0, -0.5, -1, -1]),
       slip=('takes the rates of the error for those of its square',
             lambda: slopes_are([0, -0.25, -0.5, -0.5])))

# %% tags=["checks"]
def rate_of_halving(first):
    V = mean_squares(C, [1, -1], first / 0.1 * schedules['halved'])
    return np.log(V[1023] / V[4095]) / np.log(4)

verify('halved by the clock, a step that starts too low falls behind 1/t',
       lambda first: (rate_of_halving(first) > 0.9) == (first >= 0.02),
       slip=('trusts every start', lambda first: rate_of_halving(first) > 0.9),
       first=[0.1, 0.02, 0.01, 0.005])

def follows(name, forecast):  # within five standard errors of 300 walks
    squares, want = walked[name], curves[forecast][marks - 1]
    error = squares.std(1) / 300**0.5
    return (abs(squares.mean(1) - want) < 5 * error).all()

verify('300 walks follow the forecast of their schedule',
       lambda name: follows(name, name),
       slip=('forgets that the step shrinks',
             lambda name: follows(name, 'constant')), name=[*schedules])

# %% [markdown]
# ## SGD in practice: one pass through the digits
#
# A linear softmax classifier of handwritten digits has 650 weights. We train it on 1200 pictures and judge it on the other
# $1797 - 1200 = 597$. A small ridge penalty makes the minimum unique, and scipy's L-BFGS finds it for reference. All runs
# start at zero. Those in batches are repeated with five shuffles, side by side in one array.

# %%
digits = data.digits()
shuffle = np.random.default_rng(0).permutation(1797)
pictures = np.column_stack([np.ones(1797), digits.x])[shuffle]  # (1797, 65)
labels = digits.y[shuffle]
one_hot = np.eye(10)[labels]
train, test = slice(1200), slice(1200, None)

# %%
def penalized_loss(W, ridge=1e-3):  # W (..., 65, 10)
    z = pictures[train] @ W
    fit = logsumexp(z, axis=-1) - (z * one_hot[train]).sum(-1)
    return fit.mean(-1) + ridge / 2 * (W**2).sum((-2, -1))

def softmax_gradient(W, X, Y, ridge=1e-3):  # X (..., b, 65), Y (..., b, 10)
    p = softmax(X @ W, axis=-1)
    return X.swapaxes(-1, -2) @ (p - Y) / X.shape[-2] + ridge * W

def accuracy(W):
    return ((pictures[test] @ W).argmax(-1) == labels[test]).mean(-1)

# %% tags=["hide-input"]
def flat_loss_and_gradient(w):
    W = w.reshape(65, 10)
    gradient = softmax_gradient(W, pictures[train], one_hot[train])
    return penalized_loss(W), gradient.ravel()

best = minimize(flat_loss_and_gradient, np.zeros(650), jac=True,
                method='L-BFGS-B', options={'gtol': 1e-6, 'maxiter': 500})
print(f'lowest loss {best.fun:.3f}, '
      f'accuracy {accuracy(best.x.reshape(65, 10)):.3f}; guessing 0.100')

# %%
def train_digits(size, gammas, runs=5):  # gammas: one for each pass
    rng = np.random.default_rng(2)
    W, record = np.zeros((runs, 65, 10)), []
    for gamma in gammas:
        order = np.array([rng.permutation(1200) for _ in range(runs)])
        for i in range(0, 1200, size):
            B = order[:, i:i + size]  # (runs, size)
            W = W - gamma * softmax_gradient(W, pictures[B], one_hot[B])
        record.append([penalized_loss(W) - best.fun, accuracy(W)])
    return np.array(record)  # (passes, 2, runs)

# %%
histories = {
    'all 1200': train_digits(1200, np.full(60, 3.0), runs=1),
    'batches of 100': train_digits(100, np.full(12, 1.0)),
    'batches of 10': train_digits(10, np.full(12, 1.0)),
    '10, halved': train_digits(10, 0.5 ** (np.arange(12) // 2)),
}
for name, record in histories.items():
    (first, right), (last, _) = record[0].mean(1), record[-1].mean(1)
    print(f'{name:14} after one pass: gap {first:.3f}, accuracy {right:.2f};',
          f'after {len(record)}: gap {last:.4f}')

# %% [markdown]
# (No whole step up to 5 brings the gap of full descent below 0.12 sooner than 3 does. The step $1/L$, with $L$ half the
# largest eigenvalue of $\frac1N \mathbf{X}^\top \mathbf{X}$ plus the penalty, is safe {cite}`bohning1992multinomial`, but
# slower.) After one pass in batches of 10 the gap to the lowest loss is down to 0.1, and nine test pictures in ten are
# named right, while full descent has made a single step. With a constant step the batches of 10 soon reach their floor. In
# the fourth run the step is halved after every second pass, with the same shuffles.

# %% mystnb={"image": {"alt": "Left: the gap to the lowest loss against passes over the data, with bands over five shuffles. Full descent swings, falls and needs about thirty passes to get as low as batches of 10 after one, batches of 100 are faster, batches of 10 fastest but with a ragged floor, which halving the step lowers. Right: the accuracy on test pictures, above nine in ten after one pass in batches of 10, while that of full descent swings for a dozen passes first."}} tags=["hide-input"]
fig, axes = panels(2, height=3.0)
for i, (name, record) in enumerate(histories.items()):
    passes = np.arange(1, len(record) + 1)
    for ax, values in zip(axes, record.swapaxes(0, 1)):
        ax.plot(passes, values.mean(1), color=f'C{i}', lw=1.5)
        ax.fill_between(passes, values.min(1), values.max(1), color=f'C{i}',
                        alpha=0.25, lw=0)
axes[0].set(yscale='log', ylabel='gap to the lowest loss', ylim=(2e-3, 3))
axes[1].set(ylabel='accuracy on test pictures', ylim=(None, 1))
spots = (22, 0.7), (13, 0.047), (13, 0.022), (13, 0.0052)
for i, (name, spot) in enumerate(zip(histories, spots)):
    axes[0].text(*spot, name, color=f'C{i}', va='center')
for ax in axes:
    ax.set(xlabel='passes over the data', xlim=(0, 60));

# %% [markdown] tags=["caption"]
# One pass in batches of 10 brings the loss as low as some thirty full gradients do. A constant step then rattles on a
# floor, which halving the step lowers.

# %%
for name, record in histories.items():
    needed = 1 + np.argmax(record[:, 0].mean(1) < 0.12)
    print(f'{name:14} gap below 0.120 after {needed}, after {len(record)} '
          f'passes accuracy {record[-1, 1].mean():.3f}')

# %% [markdown]
# One pass in batches of 10 takes the accuracy from guessing to more than nine in ten. The rest takes long, on test pictures as
# well: the accuracy is 0.956 on the floor of the constant step, 0.967 with halved steps, and 0.978 at the minimum.

# %% tags=["checks"]
def autograd_gradient(W):
    X, y = torch.tensor(pictures[train]), torch.tensor(labels[train])
    loss = lambda W: cross_entropy(X @ W, y) + 5e-4 * (W**2).sum()
    return torch.func.grad(loss)(torch.tensor(W))

def gradient_is_right(seed, ridge):
    W = np.random.default_rng(seed).normal(size=(65, 10))
    own = softmax_gradient(W, pictures[train], one_hot[train], ridge)
    return close(own, autograd_gradient(W))

verify('the gradient of the classifier is that of autograd',
       lambda seed: gradient_is_right(seed, 1e-3),
       slip=('takes half of the penalty for its gradient',
             lambda seed: gradient_is_right(seed, 5e-4)),
       seed=seeds(), tries=3)
final = {name: record[-1, 0] for name, record in histories.items()}
L = eigvalsh(pictures[train].T @ pictures[train] / 1200)[-1] / 2 + 1e-3
for gamma in (1 / L, 1, 2, 3, 4, 5):
    gaps = train_digits(1200, np.full(60, gamma), runs=1)[:, 0, 0]
    first = 1 + np.argmax(gaps < 0.12)
    print(f'full descent, step {gamma:.3g}:', f'gap below 0.120 after {first}'
          if gaps.min() < 0.12 else f'gap {gaps[-1]:.3f} after 60', 'passes')
quieter = final['10, halved'] < final['batches of 10'] / 2
print('halving takes more than half off the final gap:', quieter.all())

# %% [markdown]
# ## Summary
#
# The gradient of a random example is an unbiased estimate of the gradient, and its cost does not grow with the data; a
# batch of $b$ divides its variance by $b$, and by more if it is drawn without replacement. With a constant step SGD ends on
# a noise floor about proportional to $\gamma/b$, unless all examples can be fitted; steps that shrink as $c/t$ bring the
# mean square error down as $1/t$ if $c$ is not too small. On real digits one pass in small batches did as much as some
# thirty full gradients.
#
# **Further reading.** The method begins with {cite:t}`robbins1951stochastic`, who ask for $\sum_t \gamma_t = \infty$ (any
# start can be forgotten) and $\sum_t \gamma_t^2 < \infty$ (enough for the noise to die out).
# {cite:t}`bottou2018optimization` survey it for machine learning; {cite:t}`polyak1992acceleration` analyse averaging,
# {cite:t}`goyal2017accurate` very large batches, and {cite:t}`ma2018power` the case without a floor.
