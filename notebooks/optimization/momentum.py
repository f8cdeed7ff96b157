# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Momentum and adaptive steps
#
# - **Question.** Gradient descent forgets every step it took. What can a walker gain who remembers where it was going,
#   or how steep each axis has been?
# - **You need** [gradient descent](gradient_descent.ipynb) and its condition number $\kappa$,
#   [eigenvalues](../linear_algebra/eigendecomposition.ipynb), and
#   [stochastic gradients](stochastic_gradient_descent.ipynb) for the schedules.
# - **You build** heavy ball, Nesterov's method, Adagrad, RMSProp, Adam and AdamW, each in step with PyTorch's own,
#   learning-rate schedules, and a race of them all.
# - **Time** 9 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.linalg import norm, qr, solve
from scipy.special import expit, softmax
from scipy.stats import zscore
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from nbutils.cases import integers, scalars, seeds, vectors
from nbutils.checks import below, close, erratum, grade, holds, verify
from nbutils.figures import GREY, panels

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## A ball that remembers
#
# In a long narrow valley the steepest way down points at the opposite wall, not along the floor. The notes put it so:
# *$-\nabla f(\mathbf{x})$ is the direction of greatest descent only for very short steps*.
#
# Let $f(\mathbf{x}) = \frac12 (x_1^2 + 100\,x_2^2)$. Among 720 directions we look for the one that lowers $f$ most at a
# given distance. At a ten-thousandth of the way to the minimum it is that of $-\nabla f$. At the distance of the
# minimum it is not: the best direction points home. The control believes the arrow at every distance.

# %%
def best_direction(x, distance):
    angles = np.arange(720) * np.pi / 360
    fan = np.stack([np.cos(angles), np.sin(angles)], 1)  # (720, 2)
    ends = x + distance * fan
    return fan[(ends**2 @ [1, 100]).argmin()]

def is_steepest(x, part):  # part of the way to the minimum
    arrow = -x * [1, 100]
    best = best_direction(x, part * norm(x))
    return norm(best - arrow / norm(arrow)) < 0.02

holds(
    'aw.momentum.local-dir',
    lambda a, b: is_steepest(np.array([a, b]), 1e-4)
    and not is_steepest(np.array([a, b]), 1),
    control=lambda a, b: is_steepest(np.array([a, b]), 1),
    a=scalars(1, 10), b=scalars(0.2, 1), tries=60,
)

# %% [markdown]
# So a walk with steps of useful length zigzags between the walls; and if the gradients are noisy, it staggers as well.
# Now let a heavy ball roll down instead. It keeps a fraction $\lambda$ of its velocity, and the slope only bends its
# path:
#
# ```{math}
# :label: aw.momentum.momentum
# \mathbf{g}_t = -\eta_t \nabla f(\mathbf{x}_{t-1}) + \lambda \, \mathbf{g}_{t-1}, \qquad \mathbf{g}_0 = \mathbf{0}
# ```
#
# ```{math}
# :label: aw.momentum.update
# \mathbf{x}_t = \mathbf{x}_{t-1} + \mathbf{g}_t
# ```
#
# The notes write $\mathbf{g}$ for the *step*, not for the gradient. This is Polyak's *heavy ball*
# {cite}`polyak1964methods`; $\lambda = 0$ is gradient descent.

# %%
def heavy_ball(grad, x, etas, lam, g=0.0):
    path = np.empty((len(etas) + 1, *np.shape(x)))  # (T + 1, ...)
    path[0] = x
    for t, eta in enumerate(etas):
        g = -eta * grad(path[t]) + lam * g
        path[t + 1] = path[t] + g
    return path

# %% [markdown]
# Every optimizer of this section will be compared with PyTorch, step by step, on the function
# $f(\mathbf{x}) = \log \sum_i e^{(B\mathbf{x} + \mathbf{c})_i} + \frac12 \mathbf{d} \cdot \mathbf{x}^2$, which is curved
# differently everywhere, and along no axis in particular. We write its gradient by hand, PyTorch finds its own:

# %%
def bowl(seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(5, 3)), rng.normal(size=5),
            rng.uniform(0.1, 2, 3), 2 * rng.normal(size=3))  # B, c, d, x

def bowl_gradient(seed):
    B, c, d, _ = bowl(seed)
    return lambda x: B.T @ softmax(B @ x + c) + d * x

def torch_path(seed, etas, make):
    B, c, d, x = map(torch.tensor, bowl(seed))
    x.requires_grad_()
    optimizer, path = make([x]), [x.tolist()]
    for eta in etas:
        optimizer.param_groups[0]['lr'] = float(eta)
        optimizer.zero_grad()
        (torch.logsumexp(B @ x + c, 0) + d @ x**2 / 2).backward()
        optimizer.step()
        path.append(x.tolist())
    return path

def exactly(got, want):
    return close(got, want, atol=1e-11, rtol=1e-11)

# %% [markdown]
# PyTorch's SGD with momentum keeps $\mathbf{v}_t = \lambda \mathbf{v}_{t-1} + \nabla f$ and moves by
# $-\eta_t \mathbf{v}_t$. With a constant step, $\mathbf{g}_t = -\eta \mathbf{v}_t$, and the two are the same. The first
# control damps the new gradient too, by $1 - \lambda$, as running averages do. The second moves by the *old* velocity.

# %%
def ball_agrees(seed, lam, scale=1.0, shift=0):
    x, etas = bowl(seed)[3], np.full(12, 0.07)
    mine = heavy_ball(bowl_gradient(seed), x, scale * etas, lam)
    own = torch_path(
        seed, etas, lambda p: torch.optim.SGD(p, lr=1, momentum=lam))
    steps = np.diff(mine, axis=0)
    old = np.concatenate([0 * steps[:shift], steps[:12 - shift]])
    moved = x + np.cumsum(old, axis=0)
    return exactly(moved, own[1:])

holds(
    'aw.momentum.momentum', ball_agrees,
    control=lambda seed, lam: ball_agrees(seed, lam, scale=1 - lam),
    seed=seeds(), lam=scalars(0, 0.95), tries=20,
)
holds(
    'aw.momentum.update', ball_agrees,
    control=lambda seed, lam: ball_agrees(seed, lam, shift=1),
    seed=seeds(), lam=scalars(0, 0.95), tries=20,
)

# %% [markdown]
# What does $\lambda$ do? It determines how much the previous term is dampened, say the notes. On a plain without slope a
# ball with velocity $\mathbf{g}_0$ has $\mathbf{g}_t = \lambda^t \mathbf{g}_0$. Note the direction: a *large* $\lambda$
# damps *little*. The control has it the other way round, with the factor $1 - \lambda$.

# %%
def coasts(g, lam, factor):
    path = heavy_ball(lambda x: 0 * x, 0 * g, [1] * 6, lam, g)
    return close(np.diff(path, axis=0), np.outer(factor ** np.arange(1, 7), g))

holds(
    'aw.momentum.damping', lambda g, lam: coasts(g, lam, lam),
    control=lambda g, lam: coasts(g, lam, 1 - lam),
    g=vectors(2), lam=scalars(0, 1),
)

# %% [markdown]
# Put the formula for $\mathbf{g}_{t-1}$ into that for $\mathbf{g}_t$, and again, down to $\mathbf{g}_0 = \mathbf{0}$:
#
# ```{math}
# :label: momentum-unrolled
# \mathbf{g}_t = -\sum_{k=0}^{t-1} \lambda^k \, \eta_{t-k} \, \nabla f(\mathbf{x}_{t-1-k}) .
# ```
#
# The step is a sum of all gradients so far, older ones with exponentially smaller weight.
#
# :::{admonition} Erratum
# :class: warning
# The notes unroll two steps and print $-\eta_t \nabla f(\mathbf{x}_{t-1}) - \lambda \eta_t \nabla f(\mathbf{x}_{t-2}) +
# \lambda^2 \mathbf{g}_{t-2}$. The second step size is the one that was used *then*:
#
# ```{math}
# :label: aw.momentum.expanded
# \mathbf{g}_t = -\eta_t \nabla f(\mathbf{x}_{t-1}) - \lambda \, \eta_{t-1} \nabla f(\mathbf{x}_{t-2})
# + \lambda^2 \, \mathbf{g}_{t-2} .
# ```
#
# It is a slip of the index. It is easily made because the step is constant in most examples, and then both are right. (The
# first line of the notes has $\eta$ without an index, as if it were.)
# :::

# %%
def two_steps(seed, etas, old):  # the last step, unrolled; old: its index
    x, grad = heavy_ball(bowl_gradient(seed), bowl(seed)[3], etas, 0.9), \
        bowl_gradient(seed)
    g = np.diff(x, axis=0)
    unrolled = (-etas[-1] * grad(x[-2]) - 0.9 * etas[old] * grad(x[-3])
                + 0.81 * g[-3])
    return exactly(g[-1], unrolled)

erratum(
    'aw.momentum.expanded',
    printed=lambda seed, etas: two_steps(seed, etas, -1),
    corrected=lambda seed, etas: two_steps(seed, etas, -2),
    seed=seeds(), etas=vectors(4, 0.01, 0.3), tries=40,
)

# %% tags=["hide-input"]
def unrolls(seed, etas, lam, shift):
    grad = bowl_gradient(seed)
    x = heavy_ball(grad, bowl(seed)[3], etas, lam)
    G = np.array([grad(p) for p in x[:-1]])  # (T, 3)
    weights = lam ** np.arange(shift, len(etas) + shift)[::-1]
    return exactly(x[-1] - x[-2], -(weights * etas) @ G)

verify(
    'the last step is the weighted sum of all gradients',
    lambda seed, etas, lam: unrolls(seed, etas, lam, 0),
    control=lambda seed, etas, lam: unrolls(seed, etas, lam, 1),
    seed=seeds(), etas=vectors(6, 0.01, 0.3), lam=scalars(0.1, 0.95), tries=40,
)

# %% [markdown]
# Why does such a sum help in a valley? Along the floor the gradient is nearly the same, $\mathbf{a}$, for many steps; across
# it, it changes sign each time, $(-1)^t \mathbf{b}$. After many steps the sum {eq}`momentum-unrolled` is nearly a geometric
# series, for either part:
#
# ```{math}
# :label: momentum-filter
# \sum_{k=0}^{\infty} \lambda^k \mathbf{a} = \frac{\mathbf{a}}{1 - \lambda}, \qquad
# \sum_{k=0}^{\infty} \lambda^k (-1)^{t-k} \, \mathbf{b} = \frac{(-1)^t \, \mathbf{b}}{1 + \lambda} .
# ```
#
# With $\lambda = 0.9$, what persists is amplified ten times and what alternates is nearly halved: momentum is a filter.

# %%
def filtered(a, b, lam, gain):  # the step after a long time, eta = 1
    times = iter((-1.0) ** np.arange(301))
    path = heavy_ball(lambda x: a + b * next(times), 0 * a, [1] * 301, lam)
    return close(path[-2] - path[-1], a / (1 - lam) + b * gain(lam))

verify(
    'steady slopes are amplified, alternating ones damped',
    lambda a, b, lam: filtered(a, b, lam, lambda lam: 1 / (1 + lam)),
    control=lambda a, b, lam: filtered(a, b, lam, lambda lam: 1 / (1 - lam)),
    a=vectors(2), b=vectors(2), lam=scalars(0.1, 0.9), tries=30,
)

# %% [markdown]
# In the valley with $\kappa = 30$, the best step of gradient descent against a ball with the *shorter* step $1/L$ and
# $\lambda = (1 - 1/\sqrt\kappa)^2 = 0.668$ (the next section says why):

# %%
valley = np.array([1.0, 30.0])
begin = np.array([-10.0, 1.5])
paths = {
    'descent': heavy_ball(lambda x: valley * x, begin, [2 / 31] * 40, 0),
    'heavy ball': heavy_ball(
        lambda x: valley * x, begin, [1 / 30] * 40, 0.668),
}
heights = {name: (p**2 @ valley) / 2 for name, p in paths.items()}
for name, height in heights.items():
    print(f'{name:10} after 40 steps: f = {height[-1]:.1e}')

# %% mystnb={"figure": {"caption": "In a valley with $\\kappa = 30$ gradient descent at its best step still zigzags after 40 steps; the heavy ball damps the swings and ends about a thousand times lower."}, "image": {"alt": "Upper panel: on the elongated contours of a valley gradient descent zigzags between the walls and is still far from the minimum. Lower panel: the heavy ball crosses the floor about six times, with ever smaller swings, and ends at the cross that marks the minimum."}} tags=["hide-input"]
fig, axes = panels(1, 2, height=1.75, sharex=True)
u, v = np.meshgrid(np.linspace(-10.6, 1.2, 120), np.linspace(-1.9, 1.9, 80))
levels = np.geomspace(0.3, 90, 11)
for i, (ax, (name, path)) in enumerate(zip(axes, paths.items())):
    ax.contour(u, v, (u**2 + 30 * v**2) / 2, levels, colors=GREY,
               linewidths=0.5)
    ax.plot(*path.T, 'o-', color=f'C{i}', ms=3, lw=1.2)
    ax.plot(0, 0, 'x', color=GREY, ms=8, mew=2)
    ax.set_title(name, color=f'C{i}')
    ax.set(ylabel='x₂')
axes[1].set(xlabel='x₁');

# %% [markdown]
# ```{exercise} ★ PyTorch's convention
# :label: momentum-convention
# When the step size changes, PyTorch's momentum is another method. Write `torch_momentum(grads, etas, lam)`: given the
# gradients $(T, n)$ met on the way and the step sizes, the sum of all moves of `torch.optim.SGD`.
# ```

# %%
def torch_momentum(grads, etas, lam):
    raise NotImplementedError('your turn')

# %%
def moved_by_torch(grads, etas, lam):
    x = torch.zeros(len(grads[0]), requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=1, momentum=lam)
    for g, eta in zip(grads, etas):
        optimizer.param_groups[0]['lr'] = eta
        x.grad = torch.tensor(g)
        optimizer.step()
    return x

slopes = np.random.default_rng(0).normal(size=(4, 2))
marches = [(slopes, [0.1, 0.05, 0.02, 0.3], 0.9), (slopes, [0.2] * 4, 0.5)]
grade(torch_momentum, moved_by_torch, marches)

# %% [markdown]
# ```{solution-start} momentum-convention
# :class: dropdown
# ```
# The step size multiplies the whole velocity: lower $\eta_t$, and the ball slows down at once. In
# {eq}`aw.momentum.momentum` it finishes the old steps first. Rejected: that formula, right only on the second case.

# %% jupyter={"source_hidden": true}
def torch_momentum_solution(grads, etas, lam):
    v, x = 0, 0
    for g, eta in zip(grads, etas):
        v = lam * v + g
        x = x - eta * v
    return x

def momentum_of_the_notes(grads, etas, lam):
    slope = iter(grads)
    return heavy_ball(lambda x: next(slope), 0 * grads[0], etas, lam)[-1]

assert grade(torch_momentum_solution, moved_by_torch, marches)
assert grade(momentum_of_the_notes, moved_by_torch, marches[1:])
assert not grade(momentum_of_the_notes, moved_by_torch, marches)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The root of the condition number
#
# This section continues [A ball that remembers](#a-ball-that-remembers). How much faster is the ball? On a quadratic with
# eigenvalues in $[\mu, L]$ and $\kappa = L/\mu$, look at one eigendirection with eigenvalue $a$. The error there obeys
#
# $$
# e_{t+1} = (1 + \lambda - \eta a) \, e_t - \lambda \, e_{t-1} ,
# $$
#
# for $\mathbf{g}_t = \mathbf{x}_t - \mathbf{x}_{t-1}$. Solutions are combinations of powers $z^t$ with
#
# ```{math}
# :label: momentum-roots
# z^2 - (1 + \lambda - \eta a) \, z + \lambda = 0 .
# ```
#
# The product of the roots is $\lambda$. If they are complex (or equal), they are conjugate, and both have modulus
# $\sqrt\lambda$, *whatever $a$ is*. That happens if the discriminant is not positive, and
#
# ```{math}
# :label: momentum-band
# (1 + \lambda - \eta a)^2 \le 4\lambda \iff (1 - \sqrt\lambda)^2 \le \eta a \le (1 + \sqrt\lambda)^2 .
# ```
#
# Here is the whole secret: inside a band, flat and steep directions converge at the same rate.

# %%
def radius(eta_a, lam):  # the larger modulus of the two roots
    trace = 1 + lam - np.asarray(eta_a) + 0j
    root = np.sqrt(trace**2 - 4 * lam)
    return np.maximum(abs(trace + root), abs(trace - root)) / 2

def in_band(eta_a, lam):
    return (1 - lam**0.5) ** 2 <= eta_a <= (1 + lam**0.5) ** 2

companion = lambda s, lam: np.array([[1 + lam - s, -lam], [1, 0]])
verify(
    'the modulus is the root of lambda inside the band, larger outside',
    lambda s, lam: close(
        radius(s, lam), abs(np.linalg.eigvals(companion(s, lam))).max(),
        atol=1e-6)
    and (radius(s, lam) < lam**0.5 + 1e-9) == in_band(s, lam),
    control=lambda s, lam: close(radius(s, lam), lam**0.5),
    s=scalars(0.001, 4), lam=scalars(0.05, 0.95),
)

# %% [markdown]
# ````{prf:theorem} The best heavy ball
# :label: thm-momentum-best
# For $\kappa > 1$, the largest modulus $\rho$ over all $a \in [\mu, L]$ is smallest for
# ```{math}
# :label: momentum-best
# \eta = \frac{4}{(\sqrt L + \sqrt\mu)^2}, \qquad \lambda = \rho^2, \qquad \rho = \frac{\sqrt\kappa - 1}{\sqrt\kappa + 1} .
# ```
# ````
#
# ````{prf:proof}
# These values are attained: with them {eq}`momentum-band` holds with equality on the left for $a = \mu$ and on the right for
# $a = L$. Now take any real $\eta, \lambda$ for which all roots have modulus at most $\rho < 1$ (with $\rho > 0$: both roots
# are zero only for $\eta a = 1$, $\lambda = 0$, not at both ends). Their product gives $\lambda \le \rho^2$. A real
# quadratic $p(z) = z^2 - sz + \lambda$ with leading coefficient 1 and no root beyond $\pm\rho$ has $p(\rho) \ge 0$ and
# $p(-\rho) \ge 0$. With $s = 1 + \lambda - \eta a$ and $a = \mu$ in the first, $a = L$ in the second inequality,
#
# $$
# \eta \mu \ge (1 - \rho) \Big(1 - \frac\lambda\rho\Big), \qquad
# \eta L \le (1 + \rho) \Big(1 + \frac\lambda\rho\Big) .
# $$
#
# As $\lambda \le \rho^2 < \rho$, the first bound is positive. Divide; the quotient of the right sides grows with $\lambda$,
# which is at most $\rho^2$:
#
# $$
# \kappa \le \frac{(1 + \rho)(1 + \lambda/\rho)}{(1 - \rho)(1 - \lambda/\rho)} \le \Big(\frac{1 + \rho}{1 - \rho}\Big)^2 ,
# $$
#
# and solving $\sqrt\kappa \le \frac{1 + \rho}{1 - \rho}$ for $\rho$ gives
# $\rho \ge \frac{\sqrt\kappa - 1}{\sqrt\kappa + 1}$.
# ````
#
# Gradient descent has $\frac{\kappa - 1}{\kappa + 1}$ at best. For $\kappa = 10^4$ that is
# $(10^4 - 1)/(10^4 + 1) \approx 0.9998$ against $(10^2 - 1)/(10^2 + 1) \approx 0.98$: a hundred times fewer steps.

# %%
def best_ball(kappa):  # for eigenvalues from 1 to kappa
    rho = (kappa**0.5 - 1) / (kappa**0.5 + 1)
    return 4 / (kappa**0.5 + 1) ** 2, rho**2

def worst_radius(eta, lam, kappa):
    return radius(eta * np.linspace(1, kappa, 201), lam).max()

def no_better(kappa, p, q, rate):  # p, q move eta and lambda
    eta, lam = best_ball(kappa)
    other = worst_radius(eta * p, lam * q, kappa)
    return rate(kappa) <= other + 1e-7

verify(
    'no step and momentum have a smaller worst modulus',
    lambda kappa, p, q: no_better(kappa, p, q, lambda k: best_ball(k)[1]**0.5),
    control=lambda kappa, p, q: no_better(
        kappa, p, q, lambda k: (k - 1) / (k + 1)),
    kappa=scalars(2, 100), p=scalars(0.5, 1.5), q=scalars(0.3, 1.3),
)
assert close(worst_radius(*best_ball(50), 50), best_ball(50)[1] ** 0.5,
             atol=1e-6)

# %% [markdown]
# A double root $z$ contributes $t z^t$ beside $z^t$, and at the best parameters both ends of the spectrum have one. So the
# error is about $t\rho^t$, and its logarithm changes by $\ln\rho + \frac{\ln 2}{T}$ a step between $T$ and $2T$.
# Measured in twenty dimensions, eigenvalues spread from 1 to $\kappa$, with random axes:

# %%
def hidden_valley(kappa, seed=0, n=20):
    rng = np.random.default_rng(seed)
    Q = qr(rng.normal(size=(n, n)))[0]
    return Q * np.linspace(1, kappa, n) @ Q.T, rng.normal(size=n)

def slope(errors, T):
    return np.log(errors[2 * T] / errors[T]) / T

def ball_errors(kappa, T):
    A, x = hidden_valley(kappa)
    eta, lam = best_ball(kappa)
    return norm(heavy_ball(lambda x: A @ x, x, [eta] * T, lam), axis=1)

def has_slope(kappa, rate):
    T = int(20 * kappa**0.5)
    excess = slope(ball_errors(kappa, 2 * T), T) - np.log(rate(kappa))
    return abs(excess * T - np.log(2)) < 0.05

verify(
    'the error of the best heavy ball falls as t ((√κ-1)/(√κ+1))^t',
    lambda kappa: has_slope(kappa, lambda k: best_ball(k)[1] ** 0.5),
    control=lambda kappa: has_slope(kappa, lambda k: (k - 1) / (k + 1)),
    kappa=[10, 30, 100, 1000],
)

# %% [markdown]
# The notes conclude that *momentum accelerates training by smoothing the optimization path*. Both halves hold for a
# momentum that suits the problem. We take the cautious pair $\eta = \frac1L$, $\sqrt\lambda = 1 - \frac{1}{\sqrt\kappa}$,
# which meets the left end of {eq}`momentum-band` alone, and ask whether after $10\sqrt\kappa$ steps the error is below that
# of the best descent *and* the mean cosine between consecutive steps is larger. The control takes $\lambda = 0.99$
# everywhere: on round valleys the ball rolls up and down for a long time. (The pair {eq}`momentum-best`, fastest in the
# worst case, is not the smoothest: at $a = L$ its root is $-\rho$, and the ball alternates as descent does.)

# %%
def mean_cosine(path):
    steps = np.diff(path, axis=0)
    steps /= norm(steps, axis=1)[:, None]
    return (steps[1:] * steps[:-1]).sum(1).mean()

def faster_and_smoother(kappa, seed, lam):
    A, x = hidden_valley(kappa, seed)
    T, grad = int(10 * kappa**0.5), lambda x: A @ x
    descent = heavy_ball(grad, x, [2 / (kappa + 1)] * T, 0)
    ball = heavy_ball(grad, x, [1 / kappa] * T, lam)
    return (norm(ball[-1]) < norm(descent[-1])
            and mean_cosine(ball) > mean_cosine(descent))

holds(
    'aw.momentum.accelerates',
    lambda kappa, seed:
    faster_and_smoother(kappa, seed, (1 - kappa**-0.5) ** 2),
    control=lambda kappa, seed: faster_and_smoother(kappa, seed, 0.99),
    kappa=[10, 30, 100, 1000], seed=seeds(), tries=20,
)

# %% [markdown]
# Nesterov's method {cite}`nesterov1983method` moves first and looks then: the gradient is taken where the momentum leads.
#
# ```{math}
# :label: momentum-nesterov
# \mathbf{g}_t = \lambda \, \mathbf{g}_{t-1} - \eta \, \nabla f(\mathbf{y}_{t-1}), \qquad
# \mathbf{x}_t = \mathbf{x}_{t-1} + \mathbf{g}_t, \qquad \mathbf{y}_t = \mathbf{x}_t + \lambda \, \mathbf{g}_t
# ```
#
# PyTorch's `nesterov=True` stores the places $\mathbf{y}_t$ from which it looks, and so do we. The control is the heavy
# ball.

# %%
def nesterov(grad, x, etas, lam):
    path, g = np.empty((len(etas) + 1, *np.shape(x))), 0.0
    path[0] = x  # path: the places y
    for t, eta in enumerate(etas):
        g = lam * g - eta * grad(path[t])
        x = x + g
        path[t + 1] = x + lam * g
    return path

def is_torch_nesterov(method, seed, lam):
    etas = np.full(12, 0.07)
    mine = method(bowl_gradient(seed), bowl(seed)[3], etas, lam)
    return exactly(mine, torch_path(seed, etas, lambda p: torch.optim.SGD(
        p, lr=1, momentum=lam, nesterov=True)))

verify(
    "Nesterov's method is PyTorch's",
    lambda seed, lam: is_torch_nesterov(nesterov, seed, lam),
    control=lambda seed, lam: is_torch_nesterov(heavy_ball, seed, lam),
    seed=seeds(), lam=scalars(0.1, 0.95), tries=20,
)

# %% [markdown]
# On a quadratic the errors obey $e_{t+1} = (1 - \eta a) \big( (1 + \lambda) \, e_t - \lambda \, e_{t-1} \big)$: the product
# of the roots is $\lambda (1 - \eta a)$, and steep directions are damped more. With $\eta = \frac1L$ and
# $\lambda = \frac{\sqrt\kappa - 1}{\sqrt\kappa + 1}$ the slowest direction, $a = \mu$, has the discriminant
#
# $$
# \begin{gathered}
# \Big(1 - \frac1\kappa\Big) \Big[ (1 + \lambda)^2 \Big(1 - \frac1\kappa\Big) - 4\lambda \Big] = 0 , \\
# \text{as} \quad (1 + \lambda)^2 \Big(1 - \frac1\kappa\Big) = \frac{4\kappa}{(\sqrt\kappa + 1)^2} \cdot \frac{\kappa - 1}{\kappa} = 4\lambda ,
# \end{gathered}
# $$
#
# and a double root $\frac12 (1 + \lambda)(1 - \frac1\kappa) = 1 - \frac{1}{\sqrt\kappa}$. For large $\kappa$ that takes
# about twice the steps of the best ball.

# %%
def nesterov_errors(kappa, T):
    A, x = hidden_valley(kappa)
    lam = (kappa**0.5 - 1) / (kappa**0.5 + 1)
    return norm(nesterov(lambda x: A @ x, x, [1 / kappa] * T, lam), axis=1)

def nesterov_has_slope(kappa, rate):
    T = int(20 * kappa**0.5)
    excess = slope(nesterov_errors(kappa, 2 * T), T) - np.log(rate(kappa))
    return abs(excess * T - np.log(2)) < 0.05

verify(
    "Nesterov's error falls as t (1-1/√κ)^t",
    lambda kappa: nesterov_has_slope(kappa, lambda k: 1 - k**-0.5),
    control=lambda kappa: nesterov_has_slope(
        kappa, lambda k: best_ball(k)[1] ** 0.5),
    kappa=[10, 30, 100, 1000],
)

# %% mystnb={"figure": {"caption": "Left: the best step and momentum lie at a tip, close to pairs that diverge. Right: on a quadratic with $\\kappa = 100$ Nesterov's rate and the heavy ball's depend on $\\sqrt\\kappa$, that of descent on $\\kappa$."}, "image": {"alt": "Left: the worst modulus over step size and momentum for condition number 25 as filled contours; a narrow ridge-shaped valley leads to the best pair, marked by a dot. Right: errors on a logarithmic axis for condition number 100; descent falls slowly, Nesterov faster, the heavy ball fastest, each parallel to its dashed rate."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3.0)
p, q = np.linspace(0.002, 0.16, 160), np.linspace(0, 0.99, 160)
ends = [radius(a * p[None, :], q[:, None]) for a in (1, 25)]
shade = left.contourf(p, q, np.maximum(*ends), np.linspace(0.6, 1, 9),
                      cmap='viridis')
fig.colorbar(shade, ax=left, label='modulus ρ', ticks=[0.6, 0.8, 1])
left.plot(*best_ball(25), 'o', color='C4')
left.set(xlabel='step η (μ = 1, L = 25)', ylabel='momentum λ')
A, x = hidden_valley(100)
t = np.arange(161)
plain = norm(heavy_ball(lambda x: A @ x, x, [2 / 101] * 160, 0), axis=1)
curves = [(plain, 99 / 101, 'descent'), (nesterov_errors(100, 160), 0.9,
          'Nesterov'), (ball_errors(100, 160), 9 / 11, 'heavy ball')]
spots = (85, 3.0), (98, 1e-3), (25, 2e-9)
for i, ((errors, rate, name), spot) in enumerate(zip(curves, spots)):
    right.semilogy(t, errors, color=f'C{i}')
    right.semilogy(t, errors[0] * rate**t, '--', color=f'C{i}', lw=1)
    right.text(*spot, name, color=f'C{i}')
right.set(xlabel='step t (κ = 100)', ylabel='error (dashed: rate)',
          ylim=(1e-13, 30));

# %% [markdown]
# (On the left, blank pairs diverge.) So why does Nesterov matter? For *every* function with curvature between $\mu$ and $L$
# his method brings the gap to the minimum below a constant times $(1 - \frac{1}{\sqrt\kappa})^t$
# {cite}`nesterov2018lectures`; the heavy ball may never arrive. In one dimension take the slope $25x$ for $x < 1$, $x + 24$
# up to $x = 2$, then $25x - 24$. With the best parameters for $\kappa = 25$ the ball, started at $3.3$, runs into a cycle of
# three places for ever {cite}`lessard2016analysis`:

# %%
def kinked(x):
    return np.where(x < 1, 25 * x, np.where(x < 2, x + 24, 25 * x - 24))

trapped = heavy_ball(kinked, np.array(3.3), [1 / 9] * 400, 4 / 9)
settled = nesterov(kinked, np.array(3.3), [1 / 25] * 400, 2 / 3)
print('heavy ball goes round', *np.round(trapped[-3:], 3))
assert close(trapped[-3:], trapped[-6:-3]) and abs(trapped[-3:]).min() > 0.5
assert abs(settled[-1]) < 1e-9
print('Nesterov: distance to the minimum', below(settled[-1], 1e-9))

# %% [markdown]
# ```{exercise} ★★ How many steps?
# :label: momentum-steps
# Write `steps_saved(kappa)`: how many times more steps per digit gradient descent needs than the heavy ball, both with their
# best parameters on a quadratic. The grader takes the rates from spectral radii.
# ```

# %%
def steps_saved(kappa):
    raise NotImplementedError('your turn')

# %%
def saved_by_radius(kappa):
    plain = worst_radius(2 / (1 + kappa), 0, kappa)
    eta, lam = best_ball(kappa)
    return np.log(worst_radius(eta, lam, kappa)) / np.log(plain)

grade(steps_saved, saved_by_radius, [(4.0,), (25.0,), (400.0,)], rtol=1e-5)

# %% [markdown]
# ```{solution-start} momentum-steps
# :class: dropdown
# ```
# The quotient of the logarithms of the rates; for large $\kappa$ they are $-2/\sqrt\kappa$ and $-2/\kappa$, and the quotient
# tends to $\sqrt\kappa$. For small $\kappa$ that rule of thumb, rejected here, is not accurate.

# %% jupyter={"source_hidden": true}
def steps_saved_solution(kappa):
    r = kappa**0.5
    return np.log((r - 1) / (r + 1)) / np.log((kappa - 1) / (kappa + 1))

valleys = [(4.0,), (25.0,), (400.0,)]
assert grade(steps_saved_solution, saved_by_radius, valleys, rtol=1e-5)
assert not grade(lambda k: k**0.5, saved_by_radius, valleys, rtol=1e-5)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## A step for each coordinate
#
# This section continues [The root of the condition number](#the-root-of-the-condition-number). Momentum keeps one step size
# for all weights. But a weight whose feature is rare, or measured in large units, has gradients of quite another size. The
# notes say, briefly, that *usually, the step size and the gradient are inversely proportional*. Which gradient, and what
# size of it? Adagrad {cite}`duchi2011adaptive` makes it precise, for each coordinate $i$ on its own. (From here on
# $\mathbf{g}$ is the gradient, as usual for these methods.)
#
# ```{math}
# :label: momentum-adaptive
# \begin{gathered}
# x_{t,i} = x_{t-1,i} - \frac{\eta_t}{\sqrt{s_{t,i}} + \epsilon} \, g_{t,i}, \qquad
# s_{t,i} = s_{t-1,i} + g_{t,i}^2, \\
# \mathbf{g}_t = \nabla f(\mathbf{x}_{t-1}) .
# \end{gathered}
# ```
#
# Adagrad sums the squares since the start. RMSProp {cite}`tieleman2012lecture` averages the recent ones,
#
# ```{math}
# :label: momentum-rmsprop
# s_{t,i} = \beta \, s_{t-1,i} + (1 - \beta) \, g_{t,i}^2 ,
# ```
#
# and steps in the same way.

# %%
def adagrad(grad, x, etas, eps=1e-10):
    path, s = np.empty((len(etas) + 1, *np.shape(x))), 0.0
    path[0] = x
    for t, eta in enumerate(etas):
        g = grad(path[t])
        s = s + g**2
        path[t + 1] = path[t] - eta * g / (np.sqrt(s) + eps)
    return path

def rmsprop(grad, x, etas, beta=0.99, eps=1e-8):
    path, s = np.empty((len(etas) + 1, *np.shape(x))), 0.0
    path[0] = x
    for t, eta in enumerate(etas):
        g = grad(path[t])
        s = beta * s + (1 - beta) * g**2
        path[t + 1] = path[t] - eta * g / (np.sqrt(s) + eps)
    return path

# %% [markdown]
# Adam {cite}`kingma2015adam` adds momentum. It averages the gradients as well, and corrects both averages for having started
# at zero. With a constant gradient $\mathbf{g}$ the first average is $\mathbf{m}_t = (1 - \beta_1) \sum_{k<t} \beta_1^k \,
# \mathbf{g} = (1 - \beta_1^t) \, \mathbf{g}$, so dividing by $1 - \beta_1^t$ removes the bias:
#
# ```{math}
# :label: momentum-adam
# \begin{aligned}
# m_{t,i} &= \beta_1 m_{t-1,i} + (1 - \beta_1) \, g_{t,i}, & s_{t,i} &= \beta_2 s_{t-1,i} + (1 - \beta_2) \, g_{t,i}^2, \\
# x_{t,i} &= x_{t-1,i} - \eta_t \, \frac{\hat{m}_{t,i}}{\sqrt{\hat{s}_{t,i}} + \epsilon}, &
# \hat{m}_{t,i} &= \frac{m_{t,i}}{1 - \beta_1^t}, \quad \hat{s}_{t,i} = \frac{s_{t,i}}{1 - \beta_2^t} .
# \end{aligned}
# ```
#
# Weights are often pulled to zero. There are two ways to do it. An $\ell_2$ penalty adds $c\,\mathbf{x}$ to the gradient,
# and so to both averages. *Decoupled* decay, AdamW {cite}`loshchilov2019decoupled`, leaves them alone and shrinks the
# weights, $\mathbf{x} \leftarrow (1 - \eta_t c) \, \mathbf{x}$, before each step:

# %%
def adam(grad, x, etas, betas=(0.9, 0.999), eps=1e-8, l2=0.0, decay=0.0):
    path, m, s = np.empty((len(etas) + 1, *np.shape(x))), 0.0, 0.0
    path[0] = x
    for t, eta in enumerate(etas, 1):
        x = path[t - 1]
        g = grad(x) + l2 * x
        m = betas[0] * m + (1 - betas[0]) * g
        s = betas[1] * s + (1 - betas[1]) * g**2
        m_hat, s_hat = m / (1 - betas[0] ** t), s / (1 - betas[1] ** t)
        step = eta * m_hat / (np.sqrt(s_hat) + eps)
        path[t] = (1 - eta * decay) * x - step
    return path

# %% [markdown]
# All of them against PyTorch, with changing step sizes, default and unusual settings (a large $\epsilon$ shows where it
# is added). Controls: Adagrad for RMSProp and the reverse, the penalty for the decay and the reverse.

# %%
optim = torch.optim
pairs = {
    'Adagrad': (adagrad, {}, optim.Adagrad, {}),
    'Adagrad, eps': (adagrad, {'eps': 0.3}, optim.Adagrad, {'eps': 0.3}),
    'RMSProp': (rmsprop, {}, optim.RMSprop, {}),
    'RMSProp, eps': (rmsprop, {'beta': 0.8, 'eps': 0.3},
                     optim.RMSprop, {'alpha': 0.8, 'eps': 0.3}),
    'Adam': (adam, {}, optim.Adam, {}),
    'Adam, l2': (adam, {'betas': (0.7, 0.95), 'eps': 0.3, 'l2': 0.2},
                 optim.Adam, {'betas': (0.7, 0.95), 'eps': 0.3,
                              'weight_decay': 0.2}),
    'AdamW': (adam, {'decay': 0.2}, optim.AdamW, {'weight_decay': 0.2}),
    'AdamW, eps': (adam, {'betas': (0.7, 0.95), 'eps': 0.3, 'decay': 0.2},
                   optim.AdamW, {'betas': (0.7, 0.95), 'eps': 0.3,
                                 'weight_decay': 0.2}),
}

# %%
def is_torch(ours, theirs, seed):
    method, options, _, _ = pairs[ours]
    _, _, make, settings = pairs[theirs]
    etas = np.random.default_rng(seed).uniform(0.05, 0.3, 10)
    mine = method(bowl_gradient(seed), bowl(seed)[3], etas, **options)
    return exactly(mine, torch_path(
        seed, etas, lambda p: make(p, lr=1, **settings)))

rivals = {'Adagrad': 'RMSProp', 'RMSProp': 'Adagrad', 'Adam': 'RMSProp',
          'Adam, l2': 'AdamW, eps', 'AdamW': 'Adam',
          'AdamW, eps': 'Adam, l2', 'Adagrad, eps': 'Adagrad',
          'RMSProp, eps': 'RMSProp'}
for name, rival in rivals.items():
    verify(
        f'{name} is PyTorch\'s', lambda seed: is_torch(name, name, seed),
        control=lambda seed: is_torch(rival, name, seed),
        seed=seeds(), tries=6,
    )

# %% [markdown]
# Now the claim of the notes. In a constant gradient $\mathbf{g}$, the average of RMSProp tends to $\mathbf{g}^2$, so its
# step *size* tends to $\eta/|g_i|$, inversely proportional to the gradient, and its *step* to
# $-\eta \operatorname{sign}(g_i)$, whatever the gradient's length. The sum of Adagrad is $t\,\mathbf{g}^2$, its step
# $-\eta \operatorname{sign}(g_i)/\sqrt t$: a schedule of its own, which is why it cannot stand for the claim, and serves as
# control.

# %%
def last_step(method, g):
    path = method(lambda x: g, 0 * g, [0.1] * 2500)
    return path[-1] - path[-2]

holds(
    'aw.momentum.adaptive',
    lambda g: close(last_step(rmsprop, g), -0.1 * np.sign(g), rtol=1e-4),
    control=lambda g: close(last_step(adagrad, g), -0.1 * np.sign(g)),
    g=vectors(3).filter(lambda g: abs(g).min() > 0.01), tries=6,
)
verify(
    'in a constant gradient Adagrad steps by eta / √t',
    lambda g: close(last_step(adagrad, g), -0.1 * np.sign(g) / 50),
    control=lambda g: close(last_step(adagrad, g), -0.1 * np.sign(g) / 2500),
    g=vectors(3).filter(lambda g: abs(g).min() > 0.01), tries=6,
)

# %% [markdown]
# Adam's *first* step is $-\eta \operatorname{sign}(g_i)$ already, thanks to the correction. RMSProp, which has none, starts
# with $\eta/\sqrt{1 - \beta}$, ten times $\eta$ for $\beta = 0.99$.

# %%
def first_step(method, seed, size):
    x, grad = bowl(seed)[3], bowl_gradient(seed)
    step = np.diff(method(grad, x, [0.1]), axis=0)[0]
    return close(step, -size * np.sign(grad(x)), rtol=1e-4)

verify(
    "Adam's first step has the size eta, RMSProp's ten times that",
    lambda seed: first_step(adam, seed, 0.1) and first_step(rmsprop, seed, 1),
    control=lambda seed: first_step(rmsprop, seed, 0.1),
    seed=[1, 2, 3, 4, 5],
)

# %% [markdown]
# What do these divisions buy? Multiply the loss by $c > 0$, or measure one weight in other units, $x_i = u_i z_i$: the
# gradient in $z$ is $u_i$ times as long, and without $\epsilon$ the quotients do not change. Steps in $z$ all have the same
# size again, whatever the units. (So in $x_i$ they are $u_i$ times as long: what no longer matters is the unit of the loss,
# not that of the weight.) What do they cost? A quotient taken entry by entry knows its axes. Turn the problem by
# $\mathbf{Q}$, and the path of the heavy ball turns with it, for its steps are sums of gradients $\mathbf{Q}^\top \nabla
# f$; Adam's does not.

# %%
def turns_along(method, seed):
    grad, x = bowl_gradient(seed), bowl(seed)[3]
    Q = qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    turned = method(lambda z: Q.T @ grad(Q @ z), Q.T @ x)
    return close(turned @ Q.T, method(grad, x))

def ignores_size(method, seed, c):
    grad, x = bowl_gradient(seed), bowl(seed)[3]
    return close(method(lambda x: c * grad(x), x), method(grad, x))

ball = lambda grad, x: heavy_ball(grad, x, [0.1] * 9, 0.8)
scaled = lambda grad, x: adam(grad, x, [0.1] * 9, eps=0)
verify('the heavy ball turns with the axes',
       lambda seed: turns_along(ball, seed),
       control=lambda seed: turns_along(scaled, seed), seed=seeds(), tries=20)
verify('Adam ignores the size of the gradient',
       lambda seed, c: ignores_size(scaled, seed, c),
       control=lambda seed, c: ignores_size(ball, seed, c),
       seed=seeds(), c=vectors(3, 0.1, 10), tries=20)

# %% mystnb={"figure": {"caption": "Turn the valley by 45 degrees, and the path of the heavy ball turns with it; Adagrad and Adam, which scale each coordinate by itself, take other paths."}, "image": {"alt": "Two panels of elliptic contours, one along the axes, one turned by 45 degrees, with paths of heavy ball, Adagrad and Adam from the same start. The heavy ball's path is the same, turned. In the first panel Adagrad drops to the floor of the valley at once and runs along it to the minimum; in the second it crosses the valley and comes back before it slides along the floor. Adam also takes another path."}} tags=["hide-input"]
fig, axes = panels(2, height=3.1, sharex=True, sharey=True)
tilt = np.array([[1, -1], [1, 1]]) / 2**0.5
u, v = np.meshgrid(*[np.linspace(-2.6, 2.6, 120)] * 2)
plane = np.stack([u, v], -1)
runs = {'heavy ball': lambda *a: heavy_ball(*a, [0.03] * 60, 0.8),
        'Adagrad': lambda *a: adagrad(*a, [0.9] * 60),
        'Adam': lambda *a: adam(*a, [0.2] * 60)}
for ax, U, title in zip(axes, (np.eye(2), tilt), ('along the axes', 'turned')):
    H = U * [1, 30] @ U.T
    ax.contour(u, v, ((plane @ H) * plane).sum(-1) / 2,
               np.geomspace(0.3, 90, 9), colors=GREY, linewidths=0.5)
    for i, (name, run) in enumerate(runs.items()):
        path = run(lambda x: H @ x, U @ np.array([-2.0, 0.8]))
        ax.plot(*path.T, 'o-', color=f'C{i}', ms=2.5, lw=1.1, label=name)
    ax.plot(0, 0, 'x', color=GREY, ms=8, mew=2)
    ax.set(aspect='equal', title=title, xlabel='x₁')
axes[0].set(ylabel='x₂')
axes[0].legend(loc='lower left', fontsize=8);

# %% [markdown]
# The last check multiplies each entry of the gradient by its own $c_i > 0$. It also explains why decay is decoupled. If the
# penalty $c\,\mathbf{x}$ is all there is, Adam divides it by its own size: the first step is
# $-\eta \operatorname{sign}(x_i)$, *however large or small $c$ is*. AdamW shrinks by $1 - \eta c$, as asked. The control
# asks Adam with the penalty for that.

# %%
def shrinks(option, x, c):
    path = adam(lambda x: 0 * x, x, [0.1] * 5, **{option: c})
    return close(path[-1], (1 - 0.1 * c) ** 5 * x)

verify(
    'without a gradient AdamW shrinks all weights by 1 - eta c',
    lambda x, c: shrinks('decay', x, c),
    control=lambda x, c: shrinks('l2', x, c),
    x=vectors(2), c=scalars(0.01, 2),
)
pulled = {c: adam(lambda x: 0 * x, np.array([5.0, -2]), [0.1], l2=c)[-1]
          for c in (0.01, 1, 100)}
print(*(f'c = {c}: ({x[0]:.2f}, {x[1]:.2f})' for c, x in pulled.items()),
      sep='\n')

# %% [markdown]
# ```{exercise} ★★ No correction
# :label: momentum-bias
# Leave both corrections of {eq}`momentum-adam` out, with $\epsilon = 0$. In a constant gradient, how long is step $t$ in
# units of $\eta$? Write `uncorrected(t, beta1, beta2)`. The grader runs the recursion.
# ```

# %%
def uncorrected(t, beta1, beta2):
    raise NotImplementedError('your turn')

# %%
def uncorrected_by_loop(t, beta1, beta2):
    m = s = 0.0
    for _ in range(t):
        m, s = beta1 * m + (1 - beta1), beta2 * s + (1 - beta2)
    return m / s**0.5

ages = [(1, 0.9, 0.999), (10, 0.9, 0.999), (1000, 0.9, 0.999), (3, 0.5, 0.9)]
grade(uncorrected, uncorrected_by_loop, ages)

# %% [markdown]
# ```{solution-start} momentum-bias
# :class: dropdown
# ```
# $(1 - \beta_1^t)/\sqrt{1 - \beta_2^t}$: $(1 - 0.9)/\sqrt{1 - 0.999} \approx 3.2$ at first,
# $(1 - 0.9^{10})/\sqrt{1 - 0.999^{10}} \approx 6.5$ at $t = 10$, and only after thousands of steps 1. The correction is
# not cosmetic: without it Adam starts several times too fast. Forgetting the root is rejected.

# %% jupyter={"source_hidden": true}
def uncorrected_solution(t, beta1, beta2):
    return (1 - beta1**t) / (1 - beta2**t) ** 0.5

def uncorrected_without_root(t, beta1, beta2):
    return (1 - beta1**t) / (1 - beta2**t)

assert grade(uncorrected_solution, uncorrected_by_loop, ages)
assert not grade(uncorrected_without_root, uncorrected_by_loop, ages)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## All on the same problems
#
# This section continues [A step for each coordinate](#a-step-for-each-coordinate). Who wins? Three problems, the same for
# all. A quadratic in ten dimensions with eigenvalues from $0.001$ to 1 along the axes; the same one turned at random; and a
# real one, logistic regression that tells malignant from benign tumours by thirty measurements of 569 patients
# {cite}`street1993nuclear`, with an $\ell_2$ penalty. Each method may choose its best constant step out of the same 17, from
# $10^{-3}$ to 10, by the median error after 200 steps; momentum is $0.9$, everything else as PyTorch has it. Five random
# starts (and rotations) give the bands. All steps and starts run at once, in one array.

# %%
table = load_breast_cancer()
X = np.column_stack([np.ones(569), zscore(table.data)])  # (569, 31)
y, ridge = 1.0 - table.target, 0.001
T, grid, lam = 200, np.geomspace(1e-3, 10, 17), 0.9
rng = np.random.default_rng(0)
spectrum = np.geomspace(1e-3, 1, 10)
turns = qr(rng.normal(size=(5, 10, 10)))[0]
aligned = np.broadcast_to(np.diag(spectrum), (5, 10, 10))
rotated = turns * spectrum @ turns.swapaxes(1, 2)  # (5, 10, 10)
goal, start = rng.normal(size=(2, 5, 10))

def quadratic(A):
    apply = lambda e: (e[..., None, :] @ A)[..., 0, :]
    return (lambda x: ((x - goal) * apply(x - goal)).sum(-1) / 2,
            lambda x: apply(x - goal))

def log_loss(w):  # w (..., 31)
    z = w @ X.T
    return (np.logaddexp(0, z) - y * z).mean(-1) + ridge / 2 * (w**2).sum(-1)

def log_gradient(w):
    return (expit(w @ X.T) - y) @ X / len(y) + ridge * w

# %% [markdown]
# The lowest loss comes from Newton's method, whose matrix is $\frac1N \mathbf{X}^\top \operatorname{diag}(p(1 - p))
# \mathbf{X} + cI$, and scikit-learn's solver agrees:

# %%
def newton(w, T):
    path = [w]
    for _ in range(T):
        p = expit(X @ path[-1])
        H = (X.T * (p * (1 - p))) @ X / len(y) + ridge * np.eye(31)
        path.append(path[-1] - solve(H, log_gradient(path[-1])))
    return np.array(path)

newton_path = newton(np.zeros(31), 12)
lowest = log_loss(newton_path[-1])
judge = LogisticRegression(C=1 / (ridge * len(y)), fit_intercept=False,
                           tol=1e-10, max_iter=5000).fit(X, y)
assert close(newton_path[-1], judge.coef_[0], atol=1e-5)
rounds = int((log_loss(newton_path) - lowest > 1e-12).sum())
print(f'lowest loss {lowest:.4f}; Newton gets there in {rounds} steps')

# %%
methods = {
    'descent': lambda *run: heavy_ball(*run, lam=0),
    'heavy ball': lambda *run: heavy_ball(*run, lam=lam),
    'Nesterov': lambda *run: nesterov(*run, lam=lam),
    'Adagrad': adagrad, 'RMSProp': rmsprop, 'Adam': adam,
    'AdamW': lambda *run: adam(*run, decay=0.01),
}
problems = {
    'along the axes': (*quadratic(aligned), start, 0.0),
    'turned': (*quadratic(rotated), start, 0.0),
    'tumours': (log_loss, log_gradient,
                0.3 * rng.normal(size=(5, 31)), lowest),
}

def race(method, loss, grad, x, floor):
    x = np.broadcast_to(x, (len(grid), *x.shape))  # (17, 5, n)
    with np.errstate(all='ignore'):  # steps that are too long overflow
        path = method(grad, x, [grid[:, None, None]] * T)
        final = np.median(loss(path[-1]) - floor, axis=-1)
    best = np.nanargmin(np.maximum(final, 1e-12))  # less is rounding
    return np.maximum(loss(path[:, best]) - floor, 1e-12)  # (T + 1, 5)

results = {(p, m): race(method, *problem) for p, problem in problems.items()
           for m, method in methods.items()}

# %%
final = {key: np.median(gap[-1]) for key, gap in results.items()}
for p in problems:
    times = final[p, 'descent'] / final[p, 'heavy ball']
    print(f'{p}: the gap of descent is {times:.1e} times that of heavy ball')
for m in ('Adagrad', 'RMSProp'):
    won = [p for p in problems if final[p, m] < final[p, 'heavy ball']]
    print(f'{m} beats the heavy ball on:', ', '.join(won))

def survives_turning(m):  # within a factor of 100
    return final['turned', m] < 100 * final['along the axes', m]

verify(
    'turning the axes costs descent and momentum little, Adagrad much',
    survives_turning, m=['descent', 'heavy ball', 'Nesterov'],
    control=lambda m: survives_turning(
        m.replace('heavy ball', 'Adagrad').replace('Nesterov', 'RMSProp')),
)

# %% mystnb={"figure": {"caption": "Adagrad and RMSProp win by far where the eigenvectors lie along the axes and lose that lead when the bowl is turned; the heavy ball beats plain descent on all three problems."}, "image": {"alt": "Three panels of the gap to the minimum on logarithmic axes against steps, for seven methods with bands over five starts: a quadratic along the axes, the same turned, and logistic regression on tumours, where a dotted line of Newton drops almost vertically."}} tags=["hide-input"]
fig, axes = panels(3, height=3.4, sharex=True)
looks = [(GREY, '-'), ('C0', '-'), ('C0', '--'), ('C1', '-'), ('C2', '-'),
         ('C3', '-'), ('C3', '--')]
for ax, p in zip(axes, problems):
    for m, (colour, line) in zip(methods, looks):
        gap = results[p, m]
        ax.semilogy(np.median(gap, 1), line, color=colour, lw=1.3,
                    label=m if ax is axes[0] else None)
        ax.fill_between(np.arange(T + 1), gap.min(1), gap.max(1),
                        color=colour, alpha=0.1, lw=0)
    ax.set(title=p, xlabel='step', xlim=(0, 150))  # then rounding shows
axes[2].semilogy(log_loss(newton_path[:rounds]) - lowest, ':', color='C4',
                 label='Newton')
axes[0].set(ylabel='gap to the minimum')
fig.legend(loc='outside lower center', ncols=4, fontsize=8);

# %% [markdown]
# Along the axes, Adagrad and RMSProp see ten separate problems in one dimension, each scaled by its own history: for them
# there is no condition number; Adagrad reaches the bottom of the picture, the limit of rounding, and RMSProp comes near it.
# (The spikes of RMSProp come from forgetting: where gradients have been tiny for long, so is the divisor, and the next step
# is a leap.) Turn the same bowl, and their advantage is gone, while descent, heavy ball and Nesterov do about as well as
# before. Adam shares the speed of momentum, and a part of the dependence on axes. AdamW levels off on every problem, and
# rightly: its decay pulls to the origin, which is not part of *this* loss. Newton, who sees all the curvature, needs nine
# steps, each of which solves a system with as many unknowns as there are weights. No order is a law; but one can say before
# the race who depends on the axes.
#
# ```{exercise} ★★★ Axes of its own
# :label: momentum-full
# Adagrad with the whole matrix does not depend on the axes: it keeps $S_t = \sum_{k \le t} \mathbf{g}_k \mathbf{g}_k^\top$
# and steps by $-\eta \, S_t^{-1/2} \mathbf{g}_t$. The rows of `G` are the gradients so far, more than there are weights.
# Write `full_step(G, eta)`, the last step. The grader turns to the singular value decomposition.
# ```

# %%
def full_step(G, eta):
    raise NotImplementedError('your turn')

# %%
def full_step_by_svd(G, eta):
    _, s, Vt = np.linalg.svd(G, full_matrices=False)
    return -eta * Vt.T @ (Vt @ G[-1] / s)

drawn = np.random.default_rng(4).normal(size=(6, 3))
histories = [(drawn, 0.1), (drawn[:4] * [1, 10, 100], 0.5)]
grade(full_step, full_step_by_svd, histories)

# %% [markdown]
# ```{solution-start} momentum-full
# :class: dropdown
# ```
# $\mathbf{S} = \mathbf{G}^\top \mathbf{G}$ is symmetric; divide by the roots of its eigenvalues in the basis of its
# eigenvectors. Its diagonal alone, rejected here, is Adagrad. The price is an eigendecomposition for each step: with a
# million weights the matrix does not even fit into memory.

# %% jupyter={"source_hidden": true}
def full_step_solution(G, eta):
    lam, U = np.linalg.eigh(G.T @ G)
    return -eta * U @ (U.T @ G[-1] / lam**0.5)

def diagonal_step(G, eta):
    return -eta * G[-1] / (G**2).sum(0) ** 0.5

assert grade(full_step_solution, full_step_by_svd, histories)
assert not grade(diagonal_step, full_step_by_svd, histories)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Steps that change
#
# This section continues [All on the same problems](#all-on-the-same-problems). With random batches a constant step rattles
# above the minimum, for Adam as for [stochastic gradient descent](stochastic_gradient_descent.ipynb). A *schedule* starts
# long and ends short. Two are most in use: *step decay* multiplies by a factor every so many steps; *warm-up and cosine*
# {cite}`loshchilov2017sgdr` first rises from $\eta/w$ for $w$ steps, while Adam's averages still rest on few gradients and
# every coordinate moves by $\eta$ on the word of one batch, and then falls along half a cosine,
#
# ```{math}
# :label: momentum-cosine
# \eta_t = \frac{\eta}{2} \Big( 1 + \cos \frac{\pi (t - w)}{T - w} \Big) \qquad \text{for all } w \le t < T .
# ```

# %%
def step_decay(T, top, factor, every):
    return top * factor ** (np.arange(T) // every)

def warm_cosine(T, top, warm):
    t = np.arange(T)
    rise = (1 + (warm - 1) * t / warm) / warm
    fall = (1 + np.cos(np.pi * (t - warm) / (T - warm))) / 2
    return top * np.where(t < warm, rise, fall)

# %%
def torch_schedule(T, top, make):
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=top)
    scheduler, etas = make(optimizer), []
    for _ in range(T):
        etas.append(optimizer.param_groups[0]['lr'])
        optimizer.step()
        scheduler.step()
    return etas

from_torch = torch.optim.lr_scheduler

def torch_cosine(T, top, warm):
    def make(o):
        rise = from_torch.LinearLR(o, 1 / warm, total_iters=warm)
        fall = from_torch.CosineAnnealingLR(o, T - warm)
        return from_torch.SequentialLR(o, [rise, fall], [warm])
    return torch_schedule(T, top, make)

# %%
verify(
    "step decay is PyTorch's",
    lambda f, k: exactly(step_decay(20, 0.3, f, k), torch_schedule(
        20, 0.3, lambda o: from_torch.StepLR(o, k, f))),
    control=lambda f, k: exactly(step_decay(20, 0.3, f, k), torch_schedule(
        20, 0.3, lambda o: from_torch.ExponentialLR(o, f))),
    f=scalars(0.1, 0.9), k=integers(2, 9), tries=10,
)
verify(
    "warm-up and cosine are PyTorch's",
    lambda T, warm: exactly(
        warm_cosine(T, 0.3, warm), torch_cosine(T, 0.3, warm)),
    control=lambda T, warm: exactly(
        warm_cosine(T + 1, 0.3, warm)[:T], torch_cosine(T, 0.3, warm)),
    T=integers(20, 40), warm=integers(2, 9), tries=10,
)

# %% [markdown]
# Adam on the tumours in batches of 16, five runs side by side. Both schedules have their longest step, $0.1$, near the
# start. To be fair, the constant step may be the best of four:

# %%
def batch_gradient(seed, size=16, runs=5):
    rng = np.random.default_rng(seed)

    def gradient(w):  # w (runs, 31)
        B = rng.integers(569, size=(runs, size))
        e = expit((X[B] @ w[:, :, None])[..., 0]) - y[B]  # (runs, size)
        return (e[:, None] @ X[B])[:, 0] / size + ridge * w
    return gradient

def ride(etas):  # gaps (T + 1, runs)
    path = adam(batch_gradient(1), np.zeros((5, 31)), etas)
    return log_loss(path) - lowest

# %%
rides = {eta: ride(np.full(1000, eta)) for eta in (0.01, 0.02, 0.05, 0.1)}
shortlist = sorted(rides, key=lambda eta: rides[eta][-1].mean())
print('best constant step:', shortlist[0])
schedules = {
    'constant': np.full(1000, 0.1), 'best constant': np.full(1000, 0.02),
    'step decay': step_decay(1000, 0.1, 0.5, 150),
    'warm-up, cosine': warm_cosine(1000, 0.1, 50),
}
rides = {name: ride(etas) for name, etas in schedules.items()}
rest = {name: gap[-1] for name, gap in rides.items()}
for name in ('step decay', 'warm-up, cosine'):
    largest = (rest[name] / rest['constant']).max()
    mean = rest[name].mean() / rest['best constant'].mean()
    print(f'{name}: gap at most {largest:.2f} of that of the constant 0.1;',
          f'on average {mean:.2f} of that of the best constant step')

# %% [markdown]
# The stream of batches has the mean that it should have, the full gradient:

# %%
def mean_of_batches(scale, w):
    draw = batch_gradient(0, size=400, runs=200)
    G = draw(np.tile(w, (200, 1)))
    error = G.std(0) / 200**0.5
    return (abs(G.mean(0) - scale * log_gradient(w)) < 5 * error).all()

probe = np.random.default_rng(7).normal(size=31)
verify('batches have the mean of the full gradient',
       lambda: mean_of_batches(1, probe),
       control=lambda: mean_of_batches(1.1, probe))

# %% mystnb={"figure": {"caption": "With random batches Adam at a long constant step rattles on a plateau; schedules that are as long near the start and end short come closer to the minimum than the best constant step."}, "image": {"alt": "Left: four schedules against the step, two flat lines, a falling staircase, and a short rise followed by half a cosine down to zero. Right: the gap to the lowest loss with bands over five runs; the long constant step rattles on a plateau, the short one is lower, and the staircase and the cosine sink below both."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
for i, (name, etas) in enumerate(schedules.items()):
    left.plot(etas, color=f'C{i}', label=name)
    gap = rides[name][::10]
    t = np.arange(0, 1001, 10)
    right.semilogy(t, np.median(gap, 1), color=f'C{i}', lw=1.3)
    right.fill_between(t, gap.min(1), gap.max(1), color=f'C{i}',
                       alpha=0.2, lw=0)
left.set(xlabel='step t', ylabel='step size η', ylim=(0, 0.16))
left.legend(loc='upper right', fontsize=7)
right.set(xlabel='step t', ylabel='gap to the lowest loss');

# %% [markdown]
# ## Summary
#
# A heavy ball sums past gradients with weights $\lambda^k$, and on a quadratic this replaces the condition number in the
# rate by its root, the best that any fixed step and momentum can do; Nesterov's look-ahead keeps that order of speed where
# the ball may be trapped in a cycle. Adaptive methods divide each coordinate of the gradient by a running size of its own,
# which makes them blind to the scale of the loss and of each entry of the gradient, and dependent on the axes. In the race
# the heavy ball won tenfold over descent on every problem, Adagrad and RMSProp won only along the axes, and with noisy
# gradients the schedule decided how close Adam came.
#
# **Further reading.** The heavy ball is from {cite:t}`polyak1964methods`; {cite:t}`nesterov2018lectures` proves the rates
# and lower bounds, {cite:t}`lessard2016analysis` find the cycle by treating optimizers as control systems,
# {cite:t}`sutskever2013importance` brought momentum to deep networks, and {cite:t}`reddi2018convergence` show a convex
# problem on which Adam does not converge. {cite:t}`goodfellow2016deep` and {cite:t}`zhang2023dive` survey them all.
