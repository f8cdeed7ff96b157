# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Minibatch training from scratch
#
# A network with millions of weights has no formula for its best weights, and often a computer cannot even hold all of its
# data. So it is trained by many small steps, each from a few examples. What belongs to the loop that does this, and how near
# to the exact solution do such steps come?
#
# - **You need** [linear regression](linear_regression.ipynb) and [stochastic gradient
#   descent](../optimization/stochastic_gradient_descent.ipynb).
# - **You build** the loop that trains every model of this book, a forecast of how far from the optimum it stops, and two
#   ways to get there all the same.
# - **Runs in** 10 seconds.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from itertools import permutations

import matplotlib.pyplot as plt
import torch
from scipy.linalg import eigh
from scipy.optimize import brentq
from scipy.stats import zscore
from sklearn.linear_model import LogisticRegression
from torch.linalg import eigvalsh, lstsq
from torch.nn.functional import cross_entropy, mse_loss

from nbutils import data
from nbutils.cases import integers, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.device import best
from nbutils.figures import GREY, label_lines, panels
from nbutils.training import batches, fit

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Four parts
#
# The best weights of a linear model solve a system of equations. Few other models are so obliging: networks are
# *trained*, by a loop that looks at a few examples, improves the weights a little, and goes on to the next few. The loop
# has four parts, a **data loader**, a **model**, a **loss** and an **update**, and the place to build it is here, where
# the exact answer lies beside it on the table.
#
# **The loader** works like a card dealer: shuffle the examples, deal them out in hands of a given size, shuffle again for
# the next pass (*epoch*). What is left at the end makes a smaller hand.

# %%
def deal(generator, size, *tensors):  # one epoch
    order = torch.randperm(len(tensors[0]), generator=generator)
    for rows in order.split(size):
        yield [t[rows] for t in tensors]

# %% [markdown]
# **The model** is $\hat y = \mathbf{w}^\top \mathbf{x} + b$, and **the loss** of example $i$ is half its squared residual,
# $l^{(i)} = \frac12 (\mathbf{w}^\top \mathbf{x}^{(i)} + b - y^{(i)})^2$. At step $t$ the loader has dealt the examples
# $\beta_t$. **The update** moves all parameters against the mean gradient of these:
#
# ```{math}
# :label: dl.sgd.joint
# (\mathbf{w}, b) \leftarrow (\mathbf{w}, b) - \frac{\eta}{|\beta_t|} \sum_{i \in \beta_t} \frac{\partial}{\partial(\mathbf{w}, b)} l^{(i)}(\mathbf{w}, b)
# ```
#
# The derivative is the chain rule at its plainest. The outer derivative of $\frac12 r^2$ is the residual $r$; inside,
# $\mathbf{w}^\top \mathbf{x} + b - y$ has the derivative $\mathbf{x}$ with respect to $\mathbf{w}$ and 1 with respect to
# $b$:
#
# ```{math}
# :label: dl.sgd.w
# \mathbf{w} \leftarrow \mathbf{w} - \frac{\eta}{|\beta_t|} \sum_{i \in \beta_t} \mathbf{x}^{(i)} \big(\mathbf{w}^\top \mathbf{x}^{(i)} + b - y^{(i)}\big)
# ```
#
# ```{math}
# :label: dl.sgd.b
# b \leftarrow b - \frac{\eta}{|\beta_t|} \sum_{i \in \beta_t} \big(\mathbf{w}^\top \mathbf{x}^{(i)} + b - y^{(i)}\big)
# ```

# %%
def predict(X, w, b):  # X (n, d) -> (n,)
    return X @ w + b

def mean_loss(y_hat, y):
    return ((y_hat - y) ** 2).mean() / 2

def update(w, b, X, y, eta):
    r = predict(X, w, b) - y  # (|β|,)
    return w - eta * X.T @ r / len(r), b - eta * r.mean()

# %% [markdown]
# Both parameters must be moved at once. Here is one step on five random examples, by our formulas and by `torch.optim.SGD`,
# which differentiates the mean loss by itself:

# %%
def hand(seed, n=5, d=3):  # parameters and a batch
    g = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(shape, generator=g)
    return draw(d), draw(), draw(n, d), draw(n)

def by_autograd(w, b, X, y, eta):
    loss = lambda w, b: mse_loss(X @ w + b, y) / 2
    g_w, g_b = torch.func.grad(loss, argnums=(0, 1))(w, b)
    return w - eta * g_w, b - eta * g_b

def by_torch_optim(w, b, X, y, eta):
    w, b = w.clone().requires_grad_(), b.clone().requires_grad_()
    optimizer = torch.optim.SGD([w, b], lr=eta)
    (((X @ w + b - y) ** 2).sum() / (2 * len(y))).backward()
    optimizer.step()
    return w, b

# %%
example = hand(seed=0)
for name, rule in (('ours ', update), ('torch', by_torch_optim)):
    w, b = rule(*example, 0.1)
    print(name, 'w =', w.detach().numpy().round(3), f' b = {b.item():.3f}')

# %% tags=["checks"]
def turned_round(w, b, X, y, eta):
    return w - eta * X.T @ (y - predict(X, w, b)) / len(y)

def summed(w, b, X, y, eta):
    return b - eta * (predict(X, w, b) - y).sum()

def one_after_the_other(w, b, X, y, eta):
    w = update(w, b, X, y, eta)[0]
    return w, update(w, b, X, y, eta)[1]

# %% [markdown]
# The batch changes from step to step, and its size can change as well: a step takes the mean
# $\frac{1}{|\beta_t|} \sum_{i \in \beta_t}$ over its own batch. The $T$ batches of one epoch contain every example once:
#
# ```{math}
# :label: dl.sgd.batch-index
# \beta_1 \cup \dots \cup \beta_T = \{1, \dots, n\} , \qquad |\beta_1| + \dots + |\beta_T| = n .
# ```
#
# Because every example is dealt once, the batch gradients $\mathbf{g}_t$ of an epoch, all taken at the same place, add up
# to the full one, $\sum_t \frac{|\beta_t|}{n} \mathbf{g}_t = \nabla L$. A program that divides by the same size at all steps spoils
# the short last batch.
#
# That is all. The loop puts the four parts in order:

# %%
def train(X, y, start, eta, size, epochs, generator):
    w, b = start
    path, losses = [torch.hstack([w, b])], []
    for _ in range(epochs):
        for X_t, y_t in deal(generator, size, X, y):
            losses.append(mean_loss(predict(X_t, w, b), y_t))
            w, b = update(w, b, X_t, y_t, eta)
            path.append(torch.hstack([w, b]))
    return torch.stack(path), torch.stack(losses)  # (T + 1, d + 1), (T,)

# %% [markdown]
# Now the 442 patients {cite}`efron2004least`, inputs and target standardized. Left below, two weights (body mass index and
# blood pressure) after *two epochs*: the same examples read, the same start, but hands of another size, with a step to suit
# it. Right, all ten features and one $\eta$ for all sizes. The cross and the dashed line are the exact solutions.

# %%
patients = data.diabetes()
X, y = torch.tensor(zscore(patients.x)), torch.tensor(zscore(patients.y))
two = X[:, [patients.names.index(name) for name in ('bmi', 'bp')]]
goal = lstsq(two, y[:, None])[0][:, 0]
start = torch.tensor([-0.6, 0.9]), torch.tensor(0.0)
runs = {442: 0.5, 34: 0.2, 1: 0.03}  # size: eta
paths = {
    size: train(two, y, start, eta, size, 2, torch.Generator().manual_seed(3))
    for size, eta in runs.items()
}
for size, (path, losses) in paths.items():
    near = (path[-1, :2] - goal).norm() / (path[0, :2] - goal).norm()
    print(f'size {size:3}: {len(losses):3} steps, {near:.4f} of the way left')

# %%
def loss_by_epoch(size, seed, eta=0.05, epochs=12):
    zero = torch.zeros(10), torch.zeros(())
    g = torch.Generator().manual_seed(seed)
    path, _ = train(X, y, zero, eta, size, epochs, g)
    ends = path[::-(-442 // size)]  # (epochs + 1, 11)
    return torch.stack([mean_loss(predict(X, t[:10], t[10]), y) for t in ends])

lowest = mean_loss(X @ lstsq(X, y[:, None])[0][:, 0], y)  # exact, bias 0
curves = {size: torch.stack([loss_by_epoch(size, s) for s in range(5)])
          for size in (1, 10, 100, 442)}  # (5, 13) each
print(f'exact {lowest:.3f}; after 12 epochs, mean of 5 shuffles:')
for size, curve in curves.items():
    print(f'size {size:3}: {curve[:, -1].mean():.3f}')

# %% mystnb={"image": {"alt": "Left: on elliptic contours three paths from one start. Two steps of full descent stop half way, 26 steps of batches of 34 come close with small wiggles, 884 steps of single examples arrive and scribble around the minimum, which a cross marks. Right: loss against epochs for four batch sizes. Batches of 10 fall at once to just above the dashed exact value; single examples fall at once and hover high above it with a wide band; batches of 100 and 442 fall slowly and smoothly."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3.0)
u, v = torch.meshgrid(torch.linspace(-0.8, 0.8, 70),
                      torch.linspace(-0.2, 1.1, 70), indexing='xy')
heights = ((torch.stack([u, v], -1) @ two.T - y) ** 2).mean(-1)
left.contour(u, v, heights, 14, colors=GREY, linewidths=0.5)
for i, (size, (path, _)) in reversed([*enumerate(paths.items())]):
    left.plot(*path[:, :2].T, color=f'C{i}', marker='o' if i < 2 else None,
              ms=5 - 2 * i, lw=1.4 if i < 2 else 0.6)
left.plot(*goal, 'x', color='C4', ms=10, mew=2.5, zorder=5)
for i, (size, spot) in enumerate(zip(paths, ((-0.3, 1), (-0.36, 0.48),
                                             (0.35, 0.72)))):
    left.text(*spot, f'size {size}', color=f'C{i}')
left.set(xlabel='weight of body mass', ylabel='weight of pressure')
for i, (size, curve) in enumerate(curves.items()):
    right.plot(curve.mean(0), f'C{(2, 1, 3, 0)[i]}', label=f'size {size}')
    right.fill_between(range(13), *curve.aminmax(dim=0), alpha=0.25, lw=0,
                       color=f'C{(2, 1, 3, 0)[i]}')
right.axhline(lowest, color=GREY, ls='--', lw=1)
right.set(xlabel='epoch', ylabel='loss on all patients', ylim=(0.22, 0.52),
          xlim=(0, 12), xticks=[0, 4, 8, 12])
label_lines(right);

# %% [markdown] tags=["caption"]
# Left: in two epochs smaller batches take more steps and come nearer to the goal. Right: at one step size, batches of 10 and
# 100 end near the exact loss, single examples hover above it.

# %% [markdown]
# Small hands make fast starts: in one epoch they take tens or hundreds of steps where full descent takes one. They also do
# not settle. How high do they hover?
#
# ```{exercise} ★ The loss of an epoch
# :label: minibatch_training-epoch
# Training logs often report the mean of the batch losses of an epoch. With a short last batch that is not the mean over the
# examples. Write `epoch_loss(losses, sizes)`, which is.
# ```

# %%
def epoch_loss(losses, sizes):
    raise NotImplementedError('your turn')

# %%
def over_examples(losses, sizes):  # each example with its batch's loss
    return torch.repeat_interleave(losses, sizes).mean()

logs = [(torch.tensor([2.0, 4.0, 9.0]), torch.tensor(sizes))
        for sizes in ([4, 4, 1], [3, 3, 3], [10, 10, 7])]
grade(epoch_loss, over_examples, logs)

# %% [markdown]
# ```{solution-start} minibatch_training-epoch
# :class: dropdown
# ```
# A mean of means is the mean only if the groups are equally large. Weigh each batch by its size:
# $\sum_t |\beta_t| L_t / n$.

# %% jupyter={"source_hidden": true}
def epoch_loss_solution(losses, sizes):
    return (losses * sizes).sum() / sizes.sum()

def mean_of_means(losses, sizes):
    return losses.mean()

assert grade(epoch_loss_solution, over_examples, logs)
assert not grade(mean_of_means, over_examples, logs)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
holds(
    'dl.sgd.w',
    lambda seed, eta: close(
        update(*hand(seed), eta)[0], by_autograd(*hand(seed), eta)[0]
    ),
    slip=(
        'turns the residual round',
        lambda seed, eta: close(
            turned_round(*hand(seed), eta), by_autograd(*hand(seed), eta)[0]
        ),
    ),
    seed=seeds(),
    eta=scalars(0.1, 2),
    tries=50,
)
holds(
    'dl.sgd.b',
    lambda seed, eta: close(
        update(*hand(seed), eta)[1], by_autograd(*hand(seed), eta)[1]
    ),
    slip=(
        'takes the sum in place of the mean',
        lambda seed, eta: close(
            summed(*hand(seed), eta), by_autograd(*hand(seed), eta)[1]
        ),
    ),
    seed=seeds(),
    eta=scalars(0.1, 2),
    tries=50,
)

def as_torch(rule, seed, eta):
    (w, b), (v, c) = (f(*hand(seed), eta) for f in (rule, by_torch_optim))
    return close(w, v) and close(b, c)

holds(
    'dl.sgd.joint',
    lambda seed, eta: as_torch(update, seed, eta),
    slip=(
        'updates the bias after the weights, with the new residuals',
        lambda seed, eta: as_torch(one_after_the_other, seed, eta),
    ),
    seed=seeds(),
    eta=scalars(0.1, 2),
    tries=50,
)

# %% tags=["checks"]
def epoch_gradient(seed, size, one_size):
    w, b, X, y = hand(seed, n=10)
    total = torch.zeros(3)
    for X_t, y_t in deal(torch.Generator().manual_seed(seed), size, X, y):
        r = predict(X_t, w, b) - y_t
        g_t = X_t.T @ r / (size if one_size else len(r))
        total += len(r) / 10 * g_t
    return total

def adds_up(seed, size, one_size):
    w, b, X, y = hand(seed, n=10)
    full = torch.func.grad(lambda w: mse_loss(X @ w + b, y) / 2)(w)
    return close(epoch_gradient(seed, size, one_size), full)

holds(
    'dl.sgd.batch-index',
    lambda seed, size: adds_up(seed, size, False),
    slip=(
        'divides the short last batch by the size of the others',
        lambda seed, size: adds_up(seed, size, True),
    ),
    seed=seeds(),
    size=integers(1, 9),
    tries=50,
)

# %% [markdown]
# ## The floor of a constant step
#
# Write $\boldsymbol\theta = (\mathbf{w}, b)$, $\tilde{\mathbf{x}} = (\mathbf{x}, 1)$, and let $\boldsymbol\theta^*$ be the
# exact solution, $r_i = y^{(i)} - \tilde{\mathbf{x}}_i^\top \boldsymbol\theta^*$ its residuals (from here on with this
# sign), $\mathbf{H} = \frac1n \sum_i \tilde{\mathbf{x}}_i \tilde{\mathbf{x}}_i^\top$ the curvature. With
# $\mathbf{v} = \boldsymbol\theta - \boldsymbol\theta^*$ the *excess* is
# $L(\boldsymbol\theta) - L(\boldsymbol\theta^*) = \frac12 \mathbf{v}^\top \mathbf{H} \mathbf{v}$
# ({prf:ref}`thm-least-squares-minimum`). At $\boldsymbol\theta^*$ single gradients do not vanish; their mean square is
#
# $$
# S = \frac1n \sum_i r_i^2 \, \|\tilde{\mathbf{x}}_i\|^2 .
# $$
#
# The section on stochastic gradients forecast the scatter of the walk exactly, by a recursion on matrices. The loss asks
# for less, and gets an answer that fits on one line. For now every batch is $b$ examples drawn independently, not dealt.
#
# ````{prf:theorem} The floor
# :label: thm-minibatch-floor
# Let $\mathbf{H}$ be invertible with largest eigenvalue $\lambda$, let $\kappa$ be the smallest number with
# $\frac1n \sum_i \|\tilde{\mathbf{x}}_i\|^2 \mathbf{u}^\top \tilde{\mathbf{x}}_i \tilde{\mathbf{x}}_i^\top \mathbf{u} \le
# \kappa \, \mathbf{u}^\top \mathbf{H} \mathbf{u}$ for all $\mathbf{u}$, and $\kappa_b = \frac{\kappa}{b} + (1 - \frac1b) \lambda$.
# If $0 < \eta < 2 / \kappa_b$, then from any start the mean excess, averaged over the first $T$ steps, comes for large $T$
# as near as one likes to the band
# ```{math}
# :label: minibatch_training-floor
# \frac{\eta S}{4 b} \; \le \; \text{excess} \; \le \; \frac{\eta S}{4 b} \cdot \frac{1}{1 - \eta \kappa_b / 2} .
# ```
# ````
#
# ````{prf:proof}
# A batch gradient is $\mathbf{g} = \hat{\mathbf{H}} \mathbf{v} - \boldsymbol\zeta$, where $\hat{\mathbf{H}}$ and
# $\boldsymbol\zeta$ are the batch's means of $\tilde{\mathbf{x}} \tilde{\mathbf{x}}^\top$ and of $r \tilde{\mathbf{x}}$. By
# the normal equations $\boldsymbol\zeta$ has mean zero, so $\mathbb{E}\|\boldsymbol\zeta\|^2 = S/b$. Expand the step,
#
# $$
# \|\mathbf{v} - \eta \mathbf{g}\|^2 = \|\mathbf{v}\|^2 - 2 \eta \, \mathbf{v} \cdot \mathbf{g} + \eta^2 \|\mathbf{g}\|^2 ,
# $$
#
# and take means:
#
# - $\mathbb{E}[\mathbf{v} \cdot \mathbf{g}] = \mathbb{E}[\mathbf{v}^\top \mathbf{H} \mathbf{v}]$, twice the mean excess $\ell_t$;
# - $\mathbb{E}\|\hat{\mathbf{H}} \mathbf{v}\|^2$ has $b$ equal and $b^2 - b$ different pairs of examples, which give at most
#   $\frac{\kappa}{b} \mathbf{v}^\top \mathbf{H} \mathbf{v} + (1 - \frac1b) \|\mathbf{H} \mathbf{v}\|^2 \le \kappa_b \mathbf{v}^\top \mathbf{H} \mathbf{v}$:
#   call its mean $q_t$, then $0 \le q_t \le 2 \kappa_b \ell_t$;
# - the mixed term $\mathbb{E}[\hat{\mathbf{H}} \mathbf{v} \cdot \boldsymbol\zeta]$ is linear in
#   $\mathbb{E}[\mathbf{v}_t] = (\mathbf{I} - \eta \mathbf{H})^t \mathbf{v}_0$, so it dies out, for $\eta < 2/\kappa_b \le 2/\lambda$.
#   (Indeed $\kappa \ge \lambda$: for a top unit eigenvector $\mathbf{u}$,
#   $\lambda^2 = \|\mathbf{H}\mathbf{u}\|^2 \le \frac1n \sum_i \|\tilde{\mathbf{x}}_i \tilde{\mathbf{x}}_i^\top \mathbf{u}\|^2 \le \kappa \lambda$.)
#
# Hence, with $D_t = \mathbb{E}\|\mathbf{v}_t\|^2$ and some $\epsilon_t \to 0$, we have
# $D_{t+1} = D_t - 4 \eta \ell_t + \eta^2 (S/b + q_t + \epsilon_t)$. Sum over $t < T$ and divide by $4 \eta T$; with a bar
# for the average over time,
#
# $$
# \bar\ell = \frac{\eta}{4} \Big( \frac Sb + \bar q + \bar\epsilon \Big) + \frac{D_0 - D_T}{4 \eta T} .
# $$
#
# $D_T$ stays bounded, since $\ell_t \ge \frac12 \lambda_{\min} D_t$ makes
# $D_{t+1} \le \big(1 - \eta (2 - \eta \kappa_b) \lambda_{\min}\big) D_t + \text{const}$. So the last term and
# $\bar\epsilon$ vanish. Now $\bar q \ge 0$ is the lower bound; $\bar q \le 2 \kappa_b \bar\ell$ gives
# $\bar\ell \, (1 - \eta \kappa_b / 2) \le \eta S / 4b$ in the limit, the upper one.
# ````
#
# In words: *the excess is the step, times the variance of the batch gradient, over four.* On a small data set
# the excess can be computed exactly, from the equation that the covariance of the settled walk satisfies, $\mathbf{C} = \frac{\eta^2}{b} \mathbf{G} +
# \mathbb{E}\big[(\mathbf{I} - \eta \hat{\mathbf{H}}) \, \mathbf{C} \, (\mathbf{I} - \eta \hat{\mathbf{H}})\big]$ with
# $\mathbf{G}$ the mean of $r_i^2 \tilde{\mathbf{x}}_i \tilde{\mathbf{x}}_i^\top$.

# %%
def constants(X1, y):  # X1 (n, D) -> H, residuals, S, kappa, lambda
    n, H = len(X1), X1.T @ X1 / len(X1)
    r = y - X1 @ lstsq(X1, y[:, None])[0][:, 0]
    squares = (X1**2).sum(1)  # (n,)
    M = X1.T @ (squares[:, None] * X1) / n
    kappa = eigh(M, H, eigvals_only=True)[-1]
    return H, r, (r**2 * squares).mean(), kappa, eigvalsh(H)[-1]

def band(X1, y, eta, b):
    H, r, S, kappa, lam = constants(X1, y)
    kappa_b = kappa / b + (1 - 1 / b) * lam
    low = eta * S / (4 * b)
    return low, low / (1 - eta * kappa_b / 2)

def settled_excess(X1, y, eta, b):  # exact
    H, r, *_ = constants(X1, y)
    n, D = X1.shape
    four = torch.einsum('ni,nj,nk,nl->ijkl', X1, X1, X1, X1) / n
    mixed = four.reshape(D * D, D * D) - torch.kron(H, H)
    step = torch.eye(D) - eta * H
    to_itself = torch.kron(step, step) + eta**2 / b * mixed
    kicks = eta**2 / b * X1.T @ (r[:, None] ** 2 * X1) / n
    C = torch.linalg.solve(torch.eye(D * D) - to_itself, kicks.reshape(-1))
    return (H * C.reshape(D, D)).sum() / 2

# %% [markdown]
# On the patients, with batches of 17, the band is narrow for short steps. We measure errors from $\boldsymbol\theta^*$,
# which makes $r$ the targets. Forty walkers per step size must be in the band, up to five standard errors; beside them
# walk forty whose batches are *dealt*, epoch by epoch, as a real loader does it.

# %%
patients = data.diabetes()
inputs, y = torch.tensor(zscore(patients.x)), torch.tensor(zscore(patients.y))
X1 = torch.column_stack([inputs, torch.ones(442)])  # (442, 11)
H, r, S, kappa, lam = constants(X1, y)
exact_loss = (r**2).mean() / 2

# %%
def hands(dealt, K, n, generator, size=17):  # an epoch of K walkers
    if dealt:
        order = torch.rand(K, n, generator=generator).argsort(1)
    else:
        order = torch.randint(n, (K, n), generator=generator)
    return order.split(size, dim=1)

def steps(X, y, theta, eta, epoch):  # theta (K, D)
    for B in epoch:
        x = X[B]  # (K, b, D)
        e = (x @ theta[:, :, None])[:, :, 0] - y[B]  # (K, b)
        theta = theta - eta * (e[:, None] @ x)[:, 0] / B.shape[1]
        yield theta

def walk(dealt, etas, v, seed):  # -> (epochs, 26, K, 11)
    g, path = torch.Generator().manual_seed(seed), []
    for eta in etas:
        path += steps(X1, r, v, eta, hands(dealt, len(v), 442, g))
        v = path[-1]
    return torch.stack(path).unflatten(0, (len(etas), 26))

def excess(v):
    return ((v @ H) * v).sum(-1) / 2

# %%
etas, floors, arches = (0.01, 0.03, 0.1, 0.2), {}, {}
for eta in etas:
    settle = round(0.3 / eta) + 3  # epochs until the walk is steady
    for dealt in (False, True):
        path = walk(dealt, [eta] * (settle + 16), torch.zeros(40, 11), seed=1)
        late = excess(path[settle:])  # (16, 26, 40)
        floors[eta, dealt] = late[:, -1].mean() / exact_loss
        arches[eta, dealt] = late.mean((0, 2)) / exact_loss
        if not dealt:
            low, high = band(X1, y, eta, 17)
            mean, error = late.mean(), late.mean((0, 1)).std() / 40**0.5
            assert low - 5 * error < mean < high + 5 * error
    print(f'eta {eta}: band {100 * low / exact_loss:.2f} to '
          f'{100 * high / exact_loss:.2f} % of the exact loss, dealt, at '
          f'ends of epochs, {100 * floors[eta, True]:#.3g} %')
assert floors[0.01, True] < floors[0.01, False] / 10
assert floors[0.2, True] > floors[0.2, False] / 2

# %% [markdown]
# Dealing pays: at the smallest step it leaves, at the ends of epochs, less than a tenth of the excess. Why? Take one
# weight, $l^{(i)} = \frac12 (w - c_i)^2$, and hands of one. With $v = w - \bar c$ and $\xi_i = c_i - \bar c$ a step is
# $v \leftarrow (1 - \eta) v + \eta \xi_i$, so an epoch that deals $\pi(1), \dots, \pi(n)$ ends at
#
# $$
# v_n = (1 - \eta)^n v_0 + \eta \sum_{k=1}^n \alpha_k \xi_{\pi(k)}, \qquad \alpha_k = (1 - \eta)^{n - k} .
# $$
#
# The $\xi_i$ add up to zero. Were the $\alpha_k$ equal, all kicks would cancel; what is left comes from their
# differences. With $\sigma^2 = \frac1n \sum_i \xi_i^2$, two different cards have
# $\mathbb{E}[\xi_{\pi(k)} \xi_{\pi(m)}] = -\frac{\sigma^2}{n - 1}$, and therefore
#
# ```{math}
# :label: minibatch_training-deal
# \mathbb{E} \, v_n^2 = (1 - \eta)^{2n} v_0^2 + \eta^2 \sigma^2 \, \frac{n}{n - 1} \Big( \sum_k \alpha_k^2 - \frac1n \big( \textstyle\sum_k \alpha_k \big)^2 \Big) .
# ```
#
# For small $\eta n$ we have $\alpha_k \approx 1 - \eta (n - k)$, and the bracket is $\eta^2 n (n^2 - 1) / 12$. An epoch
# forgets the share $2 \eta n$ of $v^2$; so the floor is about $\eta^3 \sigma^2 n^2 / 24$, that of independent draws
# $\eta \sigma^2 / 2$. Their ratio is $(\eta n)^2 / 12$, with $n/b$ steps in place of $n$ for larger hands. (With
# several unequal curvatures the cube becomes a square in general {cite}`mishchenko2020random`; long steps forget within
# an epoch, and gain little.)

# %% tags=["checks"]
def after_all_deals(c, v, eta):  # mean square over all orders
    xi = c - c.mean()
    ends = []
    for order in permutations(range(len(c))):
        w = v
        for i in order:
            w = (1 - eta) * w + eta * xi[i]
        ends.append(w**2)
    return sum(ends) / len(ends)

def forecast(c, v, eta, dealt):
    n = len(c)
    alpha = (1 - eta) ** torch.arange(n).numpy()
    if dealt:
        spread = ((alpha - alpha.mean()) ** 2).sum() * n / (n - 1)
    else:
        spread = (alpha**2).sum()
    return (1 - eta) ** (2 * n) * v**2 + eta**2 * c.var() * spread

# %% [markdown]
# Within an epoch the kicks have not cancelled yet. The first $k$ cards add up to something of variance
# $\sigma^2 k (n - k) / (n - 1)$ (a batch of $k$, {prf:ref}`thm-sgd-batch`): nothing, an arch, and nothing again. So the
# same walk is near the goal at the end of each epoch and away from it in the middle. To the left in the figure the reason
# why $b$ stands below $S$ in the theorem: the variance of a dealt batch gradient at $\boldsymbol\theta^*$, on its line of
# slope $-1$ until the batch is a sizeable part of the data.

# %%
def batch_variance(size, count=600):  # at the exact solution, and its error
    g = torch.Generator().manual_seed(size)
    B = torch.stack([next(iter(hands(True, 1, 442, g, size)))[0]
                     for _ in range(count)])  # (count, size)
    squares = ((r[B][:, None] @ X1[B])[:, 0] / size).square().sum(1)
    return squares.mean(), squares.std() / count**0.5

sizes = torch.tensor([1, 3, 10, 30, 100, 300])
variances, errors = torch.tensor([batch_variance(b) for b in sizes.tolist()]).T
line = S / sizes * (442 - sizes) / 441
assert (abs(variances - line) < 5 * errors).all()
slope = (variances[3] / variances[0]).log() / torch.tensor(30.0).log()
print(f'slope from size 1 to 30: {slope:.2f}')

# %% mystnb={"image": {"alt": "Three panels. Left: the variance of the batch gradient falls with the batch size along a line of slope minus one and bends down near the full data. Middle: the excess at the ends of epochs against the step size; the points of drawn batches lie in the narrow predicted band of slope one, those of dealt batches fall away below it, thirtyfold at the smallest step. Right: the excess within an epoch of dealing for step 0.01 is an arch, low at both ends; for drawn batches it is a flat line above it."}} tags=["hide-input"]
fig, (left, middle, right) = panels(3, height=2.7)
b = torch.linspace(1, 441.5, 2000)
left.loglog(b, S / b * (442 - b) / 441, 'C0', lw=1.2)
left.errorbar(sizes, variances, 2 * errors, fmt='C0o', ms=4)
left.loglog(b, S / b, color=GREY, ls=':', lw=1)
left.set(xlabel='size of the batch', title='variance of g', ylim=(3e-3, 9))
eta = torch.logspace(-2.1, -0.65, 60)
low, high = zip(*(band(X1, y, e, 17) for e in eta))
low, high = torch.stack(low), torch.stack(high)
middle.fill_between(eta, low / exact_loss, high / exact_loss, color='C0',
                    alpha=0.3, lw=0)
for i, (dealt, name) in enumerate(((False, 'drawn'), (True, 'dealt'))):
    middle.loglog(etas, [floors[e, dealt] for e in etas], f'C{i}o', ms=4)
    right.plot(range(1, 27), 100 * arches[0.01, dealt], f'C{i}')
    right.text(13, (0.325, 0.075)[i], name, color=f'C{i}', ha='center')
    middle.text(*((0.011, 0.02), (0.03, 4e-4))[i], name, color=f'C{i}')
middle.set(xlabel='step η', title='excess / exact loss')
right.set(xlabel='batch of the epoch', ylim=(0, 0.36),
          title='excess (%), η = 0.01');

# %% [markdown] tags=["caption"]
# The variance of the gradient falls like $1/b$. Drawn batches leave an excess in the predicted band; dealt ones leave far
# less at short steps, and least at the end of an epoch.

# %% [markdown]
# ```{exercise} ★★ The longest step
# :label: minibatch_training-step
# You can live with an excess of `target`. Write `longest_step(S, b, kappa_b, target)`, the largest $\eta$ for which
# {eq}`minibatch_training-floor` promises it. The grader searches.
# ```

# %%
def longest_step(S, b, kappa_b, target):
    raise NotImplementedError('your turn')

# %%
def step_by_search(S, b, kappa_b, target):
    too_much = lambda eta: eta * S / (4 * b - 2 * b * eta * kappa_b) - target
    return brentq(too_much, 0, (2 - 1e-9) / kappa_b, xtol=1e-14)

budgets = [(4.9, 17, 5.0, 0.01), (4.9, 1, 20.0, 0.01), (1.0, 3, 2.0, 2.0)]
grade(longest_step, step_by_search, budgets)

# %% [markdown]
# ```{solution-start} minibatch_training-step
# :class: dropdown
# ```
# Solve $\eta S = \tau \, (4b - 2b \eta \kappa_b)$ for $\eta$: $\eta = 4 b \tau / (S + 2 b \kappa_b \tau)$. It never
# exceeds $2/\kappa_b$, however modest the wish. The lower end of the band alone gives $4 b \tau / S$, a step that may be
# too long or even unstable.

# %% jupyter={"source_hidden": true}
def longest_step_solution(S, b, kappa_b, target):
    return 4 * b * target / (S + 2 * b * kappa_b * target)

def from_the_lower_end(S, b, kappa_b, target):
    return 4 * b * target / S

assert grade(longest_step_solution, step_by_search, budgets)
assert not grade(from_the_lower_end, step_by_search, budgets)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def in_band(seed, b, share, factor):
    g = torch.Generator().manual_seed(seed)
    X1, y = torch.randn(9, 3, generator=g), torch.randn(9, generator=g)
    *_, kappa, lam = constants(X1, y)
    eta = share * 2 / (kappa / b + (1 - 1 / b) * lam)
    low, high = (factor * end for end in band(X1, y, eta, b))
    return bool(low <= settled_excess(X1, y, eta, b) <= high)

verify(
    'the excess settles between eta S/4b and that over 1 - eta kappa/2',
    lambda seed, b, share: in_band(seed, b, share, 1),
    slip=(
        'claims twice the excess',
        lambda seed, b, share: in_band(seed, b, share, 2),
    ),
    seed=seeds(),
    b=integers(1, 5),
    share=scalars(0.01, 0.9),
    tries=60,
)
verify(
    'an epoch of dealing leaves what unequal weights leave',
    lambda c, v, eta: close(
        after_all_deals(c, v, eta), forecast(c, v, eta, True)
    ),
    slip=(
        'draws the batches independently in place of dealing them',
        lambda c, v, eta: close(
            after_all_deals(c, v, eta), forecast(c, v, eta, False)
        ),
    ),
    c=vectors(5),
    v=scalars(),
    eta=scalars(0.01, 1),
    tries=40,
)

# %% [markdown]
# ## Down to the exact solution
#
# This section continues [The floor of a constant step](#the-floor-of-a-constant-step). How near is near enough? Suppose
# that the targets are $\tilde{\mathbf{X}} \boldsymbol\theta_0 + \boldsymbol\varepsilon$ with independent noise of variance
# $\sigma^2$. The exact solution projects $\boldsymbol\varepsilon$ onto the $d + 1$ columns of $\tilde{\mathbf{X}}$, so the
# *true* $\boldsymbol\theta_0$ has the excess $\frac{1}{2n} \|\mathbf{P} \boldsymbol\varepsilon\|^2$, with mean
#
# ```{math}
# :label: minibatch_training-noise
# \mathbb{E}\big[ L(\boldsymbol\theta_0) - L(\boldsymbol\theta^*) \big] = \frac{\sigma^2 (d + 1)}{2n} .
# ```
#
# A walk that has come as close as that has as low a loss as the truth itself. Its own error is then as large as that of the
# exact solution, and the two add up: to go on can at most halve the distance to the truth, and soon gains nothing. For
# standardized features, of which $\|\tilde{\mathbf{x}}\|^2$ is $d + 1$ on average, $S \approx \sigma^2 (d + 1)$; then the
# floor $\eta S / 4b$ is below {eq}`minibatch_training-noise` as soon as $\eta \le 2b / n$. Who wants to come closer has two
# ways.
#
# **Shrink the step.** The floor is proportional to $\eta$: whenever the walk has reached it, halve the step, and it sinks
# to half.
#
# **Average the places.** With drawn batches a step is $\mathbf{v}_{t+1} = \mathbf{v}_t - \eta (\mathbf{H} \mathbf{v}_t -
# \boldsymbol\xi_t)$, where the noise $\boldsymbol\xi_t = \mathbf{H} \mathbf{v}_t - \mathbf{g}_t$ has mean zero whatever
# came before. Add up $T$ steps and divide by $\eta T$:
#
# ```{math}
# :label: minibatch_training-average
# \mathbf{H} \bar{\mathbf{v}} = \frac{\mathbf{v}_0 - \mathbf{v}_T}{\eta T} + \bar{\boldsymbol\xi} .
# ```
#
# The walk stays bounded in mean square, so the first term vanishes like $1/T$; the second is a mean of $T$ uncorrelated
# kicks of bounded mean square, with variance of order $1/T$. *At a constant step* the excess of the average falls like
# $1/T$ {cite}`polyak1992acceleration`. The last place of the walk does not come nearer.

# %% tags=["checks"]
def falls_like(averaged, power, length=12, K=80):
    path = walk(False, [0.2] * 8 * length, torch.zeros(K, 11), seed=5)
    logs, variance = [], 0
    for part in (path[:length], path):
        place = part.mean((0, 1)) if averaged else part[-1, -1]  # (K, 11)
        e = excess(place)
        logs.append(e.mean().log())
        variance += e.var() / e.mean() ** 2 / K
    change = logs[1] - logs[0]
    return bool(abs(change + power * torch.tensor(8).log())
                < 5 * variance**0.5)
assert falls_like(False, 0)

# %% [markdown]
# Now all of it on the patients: sixty epochs, dealt, from zero weights, ten shuffles side by side. The constant step of
# 0.2 rattles above the noise of {eq}`minibatch_training-noise`; with $\sigma^2$ estimated as $\sum_i r_i^2 / (n - d - 1)$
# that is 2.6 % of the exact loss.

# %%
noise = (r**2).sum() / (442 - 11) * 11 / (2 * 442)
theta_exact = lstsq(X1, y[:, None])[0][:, 0]
start = -theta_exact.expand(10, 11)  # zero weights, ten shuffles
constant = walk(True, [0.2] * 60, start, seed=6)
halved = walk(True, [0.2 * 0.5 ** max(0, k // 10 - 1) for k in range(60)],
              start, seed=6)
after_ten = constant[10:].flatten(0, 1).cumsum(0)[25::26]  # (50, 10, 11)
averaged = after_ten / (26 * torch.arange(1, 51))[:, None, None]
ways = {'constant': excess(constant[:, -1]), 'halved': excess(halved[:, -1]),
        'average': excess(averaged)}  # (epochs, 10)
assert ways['constant'][10:].mean() > noise
print(f'S / sigma² (d + 1): {S / (noise * 2 * 442):.2f}')
print(f'noise: {100 * noise / exact_loss:.1f} % of the exact loss')
for name, curve in ways.items():
    print(f'{name:8}: {100 * curve[-10:].mean() / exact_loss:.3f} % above; '
          f'at most {(curve[-10:].max() / noise):.3f} of the noise')

# %% mystnb={"image": {"alt": "Excess over the exact loss against epochs, logarithmic. The constant step stays on a ragged plateau above the dashed line of the noise. The halved step goes down in stairs through the line. The average, begun after ten epochs, starts well below the line, with a narrow band, and goes on falling smoothly."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.0))
for i, (name, curve) in enumerate(ways.items()):
    epochs = torch.arange(61 - len(curve), 61)
    ax.semilogy(epochs, curve.mean(1) / exact_loss, f'C{i}', label=name)
    ax.fill_between(epochs, *(curve / exact_loss).aminmax(dim=1), alpha=0.2,
                    color=f'C{i}', lw=0)
ax.axhline(noise / exact_loss, color=GREY, ls='--', lw=1)
ax.text(60, 1.15 * noise / exact_loss, 'noise', color=GREY, ha='right')
ax.set(xlabel='epoch', ylabel='excess / exact loss', xlim=(0, 60))
label_lines(ax);

# %% [markdown] tags=["caption"]
# The mean excess of ten shuffles stays above the noise of the data at a constant step; halving the step or averaging the
# places brings it far below.

# %% [markdown]
# And on patients that the training has not seen? Twenty splits, 332 for training and $442 - 332 = 110$ to judge, all
# standardized by the training part, all trained in one array: the walker of split $k$ is dealt the rows of its own
# training part. The references are the mean of the training targets and the exact solution.

# %%
def splits(K, seed):  # -> X (K, 442, 11), y (K, 442)
    g = torch.Generator().manual_seed(seed)
    order = torch.rand(K, 442, generator=g).argsort(1)
    X = torch.tensor(patients.x)[order]
    part = X[:, :332]
    X = (X - part.mean(1, keepdim=True)) / part.std(1, keepdim=True)
    X = torch.cat([X, torch.ones(K, 442, 1)], dim=2)
    return X, torch.tensor(patients.y)[order]

X, Y = splits(20, seed=7)
assert close(X[:, :332, :10].mean(1), torch.zeros(20, 10))  # no leak
flat, targets = X[:, :332].flatten(0, 1), Y[:, :332].flatten()
g, place, places = torch.Generator().manual_seed(8), torch.zeros(20, 11), []
for _ in range(40):
    epoch = [332 * torch.arange(20)[:, None] + B
             for B in hands(True, 20, 332, g)]
    places += steps(flat, targets, place, 0.2, epoch)
    place = places[-1]

# %%
candidates = {
    'the mean': torch.eye(11)[10] * Y[:, :332].mean(1, keepdim=True),
    'last place': place,
    'average': torch.stack(places[len(places) // 2:]).mean(0),
    'exact': lstsq(X[:, :332], Y[:, :332, None])[0][:, :, 0],
}  # (20, 11) each
rmse = {}
for name, theta in candidates.items():
    e = (X[:, 332:] @ theta[:, :, None])[:, :, 0] - Y[:, 332:]  # (20, 110)
    rmse[name] = (e**2).mean(1).sqrt()
    print(f'{name:10} RMSE {rmse[name].mean():.1f} ± {rmse[name].std():.1f}')
off = (rmse['average'] / rmse['exact'] - 1).abs()
assert off.max() < 0.02
print(f'average within {100 * off.max():.2f} % of exact in all splits')

# %% [markdown]
# ```{exercise} ★★★ Never shuffled
# :label: minibatch_training-unshuffled
# Deal the examples in the same order in every epoch. With a constant step nothing is random any more, and if the step is
# short enough, the places at the ends of the epochs converge. To what? Write `where_it_stops(X1, y, eta)` for hands of one
# (`X1` has its column of ones). Is it the exact solution? What becomes of it as $\eta \to 0$?
# ```

# %%
def where_it_stops(X1, y, eta):
    raise NotImplementedError('your turn')

# %%
def by_patience(X1, y, eta):
    theta = torch.zeros(X1.shape[1])
    for _ in range(400):
        for x, target in zip(X1, y):
            theta = theta - eta * x * (x @ theta - target)
    return theta

order_g = torch.Generator().manual_seed(9)
orders = [(torch.randn(6, D, generator=order_g),
           torch.randn(6, generator=order_g), eta)
          for D, eta in ((1, 0.1), (2, 0.2), (3, 0.15))]
grade(where_it_stops, by_patience, orders)

# %% [markdown]
# ```{solution-start} minibatch_training-unshuffled
# :class: dropdown
# ```
# A step is affine,
# $\boldsymbol\theta \mapsto (I - \eta \mathbf{x} \mathbf{x}^\top) \boldsymbol\theta + \eta y \mathbf{x}$, so an epoch is
# affine too, $\boldsymbol\theta \mapsto A \boldsymbol\theta + \mathbf{c}$. Collect $A$ and $\mathbf{c}$ in one pass and
# solve $(I - A) \boldsymbol\theta = \mathbf{c}$. It is not the exact solution: the last examples have the last word. For
# small $\eta$ the difference is of order $\eta$, a bias that no averaging over epochs removes; shuffling turns it into
# noise with a far smaller mean.

# %% jupyter={"source_hidden": true}
def where_it_stops_solution(X1, y, eta):
    D = X1.shape[1]
    A, c = torch.eye(D), torch.zeros(D)
    for x, target in zip(X1, y):
        step = torch.eye(D) - eta * torch.outer(x, x)
        A, c = step @ A, step @ c + eta * target * x
    return torch.linalg.solve(torch.eye(D) - A, c)

def the_exact_solution(X1, y, eta):
    return lstsq(X1, y[:, None])[0][:, 0]

assert grade(where_it_stops_solution, by_patience, orders)
assert not grade(the_exact_solution, by_patience, orders)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
verify(
    'at a constant step the average comes down as 1/T',
    lambda: falls_like(True, 1),
    slip=(
        'looks at the last place in place of the average',
        lambda: falls_like(False, 1),
    ),
)

# %% [markdown]
# ## One loop for the whole book
#
# This section continues [Four parts](#four-parts). Nothing in the loop but the model and its two formulas belongs to linear
# regression. Leave the derivatives to autograd and the update to an optimizer, and what remains is the same for every
# model:
#
# ```python
# for *inputs, target in batches:
#     optimizer.zero_grad()
#     value = loss(model(*inputs), target)
#     value.backward()
#     optimizer.step()
# ```
#
# From here on the book takes it from `nbutils.training`: `batches(generator, size, *tensors, epochs=1)` is our dealer, and
# `fit(model, loss, optimizer, batches)` the loop. They add only what is tedious. A batch moves to the device where the
# parameters are, while the order always comes from a generator on the CPU, so that it is the same on every machine; the
# model is switched to training mode before and to evaluation mode after; a gradient can be clipped, a scheduler stepped.
# `fit` gives the losses of the batches.
#
# With the same seed, this loop gives the losses and the weights of ours at every step.
#
# :::{admonition} A tempting mistake
# :class: warning
# The model's output has the shape $(b, 1)$, the targets have the shape $(b,)$. Unless you drop a dimension, their difference
# is a table of all $b^2$ pairs. PyTorch raises no error, and the model learns to predict the mean.
# :::

# %%
def half_mean_square(out, target):  # (b, 1), (b,)
    return mean_loss(out[:, 0], target)

def all_pairs(out, target):  # out - target has the shape (b, b)
    return mean_loss(out, target)

def by_module(X, y, loss, size, epochs, generator):
    model = torch.nn.Linear(X.shape[1], 1)
    for p in model.parameters():
        torch.nn.init.zeros_(p)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    place = lambda: torch.hstack([model.weight[0], model.bias]).detach()
    path, losses = [place()], []
    for batch in batches(generator, size, X, y, epochs=epochs):
        losses.append(fit(model, loss, optimizer, [batch]))
        path.append(place())
    return torch.stack(path), torch.cat(losses)

# %% [markdown]
# To change the task, change the model and the loss. Handwritten digits have ten classes in place of a number: a linear
# model with ten outputs under the [cross-entropy](../classification/cross_entropy.ipynb), then one with a hidden layer,
# each on the fastest device there is. The references are guessing the most frequent class, and scikit-learn's solver for
# the linear model.

# %%
digits, g = data.digits(), torch.Generator().manual_seed(10)
rows = torch.randperm(1797, generator=g)
pixels, labels = torch.tensor(digits.x)[rows], torch.tensor(digits.y)[rows]
nets = {
    'linear': torch.nn.Linear(64, 10),
    'one hidden layer': torch.nn.Sequential(
        torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)),
}
right = {}
for name, net in nets.items():
    for p in net.parameters():
        torch.nn.init.normal_(p, std=0.1, generator=g)
    net.to(best())
    optimizer = torch.optim.Adam(net.parameters(), lr=0.005)
    fit(net, cross_entropy, optimizer,
        batches(g, 50, pixels[:1200], labels[:1200], epochs=20))
    with torch.no_grad():
        guess = net(pixels[1200:].to(best())).argmax(1).cpu()
    right[name] = (guess == labels[1200:]).double().mean()

# %%
solver = LogisticRegression(C=1, max_iter=1000)
solver.fit(pixels[:1200], labels[:1200])
reference = solver.score(pixels[1200:], labels[1200:])
frequent = (labels[1200:] == labels[:1200].mode().values).double().mean()
print(f'most frequent class {frequent:.3f}, scikit-learn {reference:.2f}')
for name, share in right.items():
    assert share > 0.93 and not nets[name].training
    print(f'{name}: {share:.2f}')

# %% tags=["checks"]
def same_loop(seed, size, loss):
    g = [torch.Generator().manual_seed(seed) for _ in range(3)]
    X, y = torch.randn(10, 3, generator=g[0]), torch.randn(10, generator=g[0])
    zero = torch.zeros(3), torch.zeros(())
    ours = train(X, y, zero, 0.1, size, 3, g[1])
    theirs = by_module(X, y, loss, size, 3, g[2])
    return close(theirs[0], ours[0]) and close(theirs[1], ours[1])

verify(
    'the module takes our steps, one by one',
    lambda seed, size: same_loop(seed, size, half_mean_square),
    slip=(
        'compares each output with the targets of all examples',
        lambda seed, size: same_loop(seed, size, all_pairs),
    ),
    seed=seeds(),
    size=integers(2, 9),
    tries=20,
)

# %% [markdown]
# ## Summary
#
# A data loader, a model, a loss and an update make a training loop, and the update for the linear model is the residual
# times the input, averaged over the batch. At a constant step the excess loss settles at about $\eta S / 4b$ if batches are
# drawn, and far below if they are dealt in epochs with short steps; a floor below $\sigma^2 (d + 1) / 2n$ adds less error
# than the noise in the data has caused already. Halving the step or averaging the places leads on to the exact solution,
# and the same loop, as `nbutils.training`, trains the other models of this book.
#
# **Further reading.** {cite}`zhang2023dive`, chapter 3, builds such a loop for three frameworks;
# {cite}`bottou2018optimization` is the survey of its theory; {cite}`polyak1992acceleration` on averaging,
# {cite}`mishchenko2020random` on shuffling.
