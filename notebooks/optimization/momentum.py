# ---
# jupyter:
#   book:
#     functions:
#       momentum: 'momentum(lambda x: 3 * x, normal(4), 0.1, 0.9, 20)'
#       nesterov: 'nesterov(lambda x: 3 * x, normal(4), 0.1, 0.9, 20)'
#       modulus: modulus(0.3, 0.5)
#     main: momentum-step
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Momentum
#
# Gradient descent in a long, narrow valley wastes most of its effort. The slope across the valley is steep, so the steps
# must be short. Even so, they jump from one wall of the valley to the other. The slope along the floor is gentle, so short
# steps hardly get ahead. Can a method that remembers its earlier steps do better?
#
# - **You need** [gradient descent](gradient_descent.ipynb) with its condition number $\kappa$,
#   [eigenvalues](../linear_algebra/eigendecomposition.ipynb) and, for the experiment,
#   [stochastic gradient descent](stochastic_gradient_descent.ipynb).
# - **You build** momentum and Nesterov momentum, equal to `torch.optim.SGD`, and a forecast of how fast they are.
# - **Runs in** 5 seconds, in float64.

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
from numpy.linalg import eigvalsh, norm, solve
from scipy.optimize import brentq
from scipy.special import logsumexp, softmax
from torch import logsumexp as torch_logsumexp
from torch import optim, tensor

from nbutils import data
from nbutils.cases import matrices, on, scalars, seeds, vectors
from nbutils.checks import close, erratum, grade, holds, verify
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')
np.set_printoptions(suppress=True)

# %% [markdown]
# ## Momentum: a step that remembers
#
# Our valley is $f(\mathbf{x}) = \frac12 (x_1^2 + 30\,x_2^2)$. Its curvature along the floor, in the direction of $x_1$, is 1.
# Its curvature across the floor, in the direction of $x_2$, is 30. We start at $(-10, 1.5)$, and the minimum is at $(0, 0)$.
# First we take four steps of gradient descent, $-\eta \nabla f(\mathbf{x})$, with the step size $\eta = 2/31$:

# %%
curvature = np.array([1.0, 30.0])
start = np.array([-10.0, 1.5])

def gradient(x):
    return curvature * x

x = start
print('step       x_1     x_2')
for t in range(5):
    print(f'{t:4}   {x[0]:7.3f}  {x[1]:6.3f}')
    x = x - 2 / 31 * gradient(x)

# %% [markdown]
# The second coordinate changes its sign at each step, and the first one shrinks slowly. **Momentum** remembers the earlier
# steps in a second vector, the *velocity* $\mathbf{v}$, which starts at $\mathbf{v}_0 = \mathbf{0}$. Each step multiplies the
# old velocity by a number $\beta$ between 0 and 1 and adds the new gradient. Then the point moves by $-\eta\mathbf{v}$:
#
# ```{math}
# :label: momentum-step
# \begin{aligned}
# \mathbf{v}_t &= \beta\,\mathbf{v}_{t-1} + \nabla f(\mathbf{x}_{t-1}), \\
# \mathbf{x}_t &= \mathbf{x}_{t-1} - \eta\,\mathbf{v}_t .
# \end{aligned}
# ```
#
# For $\beta = 0$ this is gradient descent. The point moves like a heavy ball that rolls down the valley, so the method is also
# called the **heavy ball** {cite}`polyak1964methods`.

# %%
def momentum(gradient, x, eta, beta, steps):
    """All iterates, from x on; beta = 0 is gradient descent."""
    path, v = [x], 0
    for _ in range(steps):
        v = beta * v + gradient(x)
        x = x - eta * v
        path.append(x)
    return np.array(path)

# %% [markdown]
# We take 40 steps with each method. Gradient descent has the step size $2/31$, which is the best one for this valley.
# Momentum has $\eta = 1/30$ and
# $\beta = (1 - 1/\sqrt{30})^2 \approx 0.668$, which is a good choice for this $\eta$. The next part finds an even better pair.

# %%
descent = momentum(gradient, start, eta=2 / 31, beta=0, steps=40)
ball = momentum(gradient, start, eta=1 / 30, beta=0.668, steps=40)
print('       gradient descent   momentum')
print('step       x_1    x_2        x_1    x_2')
for t in 0, 1, 2, 3, 10, 40:
    (a, b), (c, d) = descent[t], ball[t]
    print(f'{t:4}   {a:7.3f} {b:6.3f}    {c:7.3f} {d:6.3f}')
print('share of the way that is left after 40 steps:')
print(f'gradient descent {norm(descent[40]) / norm(start):.1%},',
      f'momentum {norm(ball[40]) / norm(start):.2%}')

# %% mystnb={"image": {"alt": "Upper panel: on the elongated contours of a valley, gradient descent zigzags between the walls for 40 steps. Lower panel: from the same start momentum swings across the floor in smaller and smaller waves, and ends at the cross that marks the minimum."}} tags=["hide-input"]
fig, axes = panels(1, 2, height=1.75, sharex=True)
u, v = np.meshgrid(np.linspace(-10.6, 1.2, 120), np.linspace(-1.9, 1.9, 80))
levels = np.geomspace(0.3, 90, 11)
for i, (ax, name, path) in enumerate(zip(axes, ('gradient descent', 'momentum'), (descent, ball))):
    ax.contour(u, v, (u**2 + 30 * v**2) / 2, levels, colors=GREY, linewidths=0.5)
    ax.plot(*path.T, 'o-', color=f'C{i}', ms=3, lw=1.2)
    ax.plot(0, 0, 'x', color=GREY, ms=8, mew=2)
    ax.set_title(name, color=f'C{i}')
    ax.set(ylabel='x₂')
axes[1].set(xlabel='x₁');

# %% [markdown] tags=["caption"]
# The 40 steps of each method. The cross is the minimum, and the grey lines are contours of $f$. Gradient descent changes the
# side at each step and is still on its way. Momentum changes the side only every few steps, and it has arrived.

# %% [markdown]
# Gradient descent multiplies $x_2$ by $1 - 30 \cdot 2/31 \approx -0.935$ at each step, so $x_2$ changes its sign every time and
# shrinks slowly. With momentum $x_2$ swings, too, but after 10 steps it is down to 0.174, against 0.770 with gradient descent.
# Momentum is ahead along the floor as well.
#
# (aw.momentum.local-dir)=
# Why does gradient descent set out in a bad direction? Because $-\nabla f$ is the direction of greatest descent only for very
# short steps. At the start, $-\nabla f$ points along $(10, -45)$, nearly straight across the valley, while the minimum lies in
# the direction of $(10, -1.5)$. So a step that is long enough to get ahead along the floor goes too far across the valley.
#
# ### The velocity is a weighted sum of all gradients
#
# Why does momentum treat the two directions differently? Insert the formula for $\mathbf{v}_{t-1}$ into the formula for
# $\mathbf{v}_t$, then the one for $\mathbf{v}_{t-2}$, and so on down to $\mathbf{v}_0 = \mathbf{0}$. The velocity turns out
# to be a weighted sum of all gradients so far:
#
# ```{math}
# :label: momentum-unrolled
# \mathbf{v}_t = \sum_{k=0}^{t-1} \beta^k \, \nabla f(\mathbf{x}_{t-1-k}) .
# ```
#
# Along the floor of the valley the gradient changes little. Suppose that it is the same vector $\mathbf{a}$ for many steps.
# After many steps the velocity is nearly the first sum below. Across the floor, in gradient descent, the gradient changes its
# sign at every step. Suppose that step $t$ adds the gradient $(-1)^t\,\mathbf{b}$. The velocity is then the second sum:
#
# ```{math}
# :label: momentum-filter
# \sum_{k=0}^{\infty} \beta^k \mathbf{a} = \frac{\mathbf{a}}{1 - \beta}, \qquad
# \sum_{k=0}^{\infty} \beta^k (-1)^{t-k} \, \mathbf{b} = \frac{(-1)^t \, \mathbf{b}}{1 + \beta} .
# ```

# %%
weights = 0.9 ** np.arange(200)
signs = (-1.0) ** np.arange(200)
print(f'steady gradient:      velocity {weights.sum():5.2f} times as long')
print(f'alternating gradient: velocity {(weights * signs).sum():5.2f}',
      'times as long')

# %% [markdown]
# With $\beta = 0.9$ the velocity becomes ten times as long as a steady gradient, but only about half as long as an alternating
# one. This is the idea of momentum: it amplifies what persists and suppresses what alternates. In our valley,
# $\beta = 0.668$ amplifies the gradient along the floor by $1/(1 - 0.668) \approx 3.01$. After ten steps momentum is at $x_1 = -3.766$,
# and gradient descent with the step size $3/30 = 0.1$ would be at $-10 \cdot 0.9^{10} \approx -3.487$. But it cannot take this
# step size, because beyond $2/30$ its $x_2$ grows.
#
# (aw.momentum.damping)=
# The number $\beta$ also says how fast the ball slows down. Where the ground is flat, the gradient is zero, and each step
# multiplies the velocity by $\beta$. If the ball enters this ground with the velocity $\mathbf{v}_0$, then $t$ steps later
# $\mathbf{v}_t = \beta^t\,\mathbf{v}_0$ is left. So a *large* $\beta$ damps *little*. For $\beta = 0.9$ it takes 22 steps
# until a tenth of the velocity is left, since $0.9^{22} \approx 0.1$.
#
# ### Momentum in PyTorch
#
# In PyTorch momentum is an option of `SGD`. Ten steps give the same point:

# %%
x = tensor(start, requires_grad=True)
optimizer = optim.SGD([x], lr=1 / 30, momentum=0.668)
for _ in range(10):
    optimizer.zero_grad()
    f = (tensor(curvature) * x**2).sum() / 2
    f.backward()
    optimizer.step()
print('torch:', x.detach().numpy().round(4), '  ours:', ball[10].round(4))

# %% [markdown]
# Some texts multiply each gradient by the step size before it enters the velocity. As long as the step size stays the same,
# this makes no difference. Others multiply each gradient by $1 - \beta$. Then the step size must be $1/(1 - \beta)$ times as large.
#
# `````{admonition} The step size inside the velocity
# :class: dropdown
# Call this velocity $\mathbf{u}_t$. It starts at $\mathbf{u}_0 = \mathbf{0}$, and it is itself the step of the point. The step
# size $\eta_t$ may change with $t$:
#
# ```{math}
# :label: aw.momentum.momentum
# \mathbf{u}_t = -\eta_t \nabla f(\mathbf{x}_{t-1}) + \beta \, \mathbf{u}_{t-1},
# ```
#
# ```{math}
# :label: aw.momentum.update
# \mathbf{x}_t = \mathbf{x}_{t-1} + \mathbf{u}_t .
# ```
#
# As long as the step size stays the same, $\mathbf{u}_t = -\eta\mathbf{v}_t$, and the two methods visit the same points.
#
# (aw.momentum.expanded)=
# When the step size changes, the two methods differ. In $\mathbf{u}_t$ each old gradient keeps the step size of its own step:
# $\mathbf{u}_t = -\eta_t \nabla f(\mathbf{x}_{t-1}) - \beta\,\eta_{t-1} \nabla f(\mathbf{x}_{t-2}) + \beta^2\,\mathbf{u}_{t-2}$.
# `````
#
# ```{exercise} ★★ Program: which convention does PyTorch follow?
# :label: momentum-convention
#
# Write `total_move(gradients, etas, beta)`: how far `torch.optim.SGD` has moved in the end, if its step size changes from step
# to step. Do without `SGD` and `sgd`. Then let the step size drop to zero after the first step. Does PyTorch stand still at once?
# Would it with the step size inside the velocity?
# ```

# %%
def total_move(gradients, etas, beta):
    """The sum of all moves, an array (d,).

    gradients: array (T, d), the gradients met on the way, T >= 1.
    etas: array (T,) of step sizes, some may be 0.
    beta: the momentum, a float, 0 <= beta < 1.
    With np.ones((2, 1)), np.array([0.1, 0.1]) and 0.9 it is [-0.29].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def moved_by_torch(gradients, etas, beta):
    x = tensor(np.zeros(gradients.shape[1]), requires_grad=True)
    optimizer = optim.SGD([x], lr=1, momentum=beta)
    for g, eta in zip(gradients, etas):
        optimizer.param_groups[0]['lr'] = eta
        x.grad = tensor(g)
        optimizer.step()
    return x.detach().numpy()

cases = dict(
    gradients=matrices((1, 5), (1, 3), edges=True),
    etas=lambda gradients: vectors(len(gradients), 0, 1, edges=True),
    beta=on(0.0, 0.9) | scalars(0, 0.99),
)
grade(total_move, moved_by_torch, **cases, without=['torch.optim.SGD', 'torch.optim.sgd.sgd'])

# %% [markdown]
# ```{solution-start} momentum-convention
# :class: dropdown
# ```
# PyTorch multiplies the whole velocity by the *current* step size. If this drops to zero, PyTorch stands still at once. The
# other method first finishes its old moves: the first wrong answer below puts the step sizes into the velocity. The second
# multiplies the gradients by $1 - \beta$, the third ignores $\beta$, and the fourth forgets the gradients of steps of length
# zero. The fifth is right but calls `SGD`.

# %% jupyter={"source_hidden": true}
def total_move_solution(gradients, etas, beta):
    v = x = np.zeros(gradients.shape[1])
    for g, eta in zip(gradients, etas):
        v = beta * v + g
        x = x - eta * v
    return x

def step_size_inside(gradients, etas, beta):
    u = x = np.zeros(gradients.shape[1])
    for g, eta in zip(gradients, etas):
        u = beta * u - eta * g
        x = x + u
    return x

def averaged(gradients, etas, beta):
    return total_move_solution((1 - beta) * gradients, etas, beta)

def beta_ignored(gradients, etas, beta):
    return total_move_solution(gradients, etas, 0)

def without_pauses(gradients, etas, beta):
    return total_move_solution(gradients[etas > 0], etas[etas > 0], beta)

def by_sgd(gradients, etas, beta):
    x = tensor(np.zeros(gradients.shape[1]), requires_grad=True)
    optimizer = optim.SGD([x], momentum=beta)
    for x.grad, optimizer.param_groups[0]['lr'] in zip(tensor(gradients), etas):
        optimizer.step()
    return x.detach().numpy()

assert grade(total_move_solution, moved_by_torch, **cases, without=['torch.optim.SGD', 'torch.optim.sgd.sgd'])
assert grade(by_sgd, moved_by_torch, **cases)  # right, only ruled out
assert not grade(step_size_inside, moved_by_torch, **cases)
assert not grade(averaged, moved_by_torch, **cases)
assert not grade(beta_ignored, moved_by_torch, **cases)
assert not grade(without_pauses, moved_by_torch, **cases)
assert not grade(by_sgd, moved_by_torch, **cases, without=['torch.optim.SGD', 'torch.optim.sgd.sgd'])

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
B, c, d = (np.random.default_rng(0).normal(size=size) for size in ((5, 3), 5, 3))

def bowl(x):  # curved differently everywhere
    return logsumexp(B @ x + c) + (d**2 + 0.1) @ x**2 / 2

def bowl_gradient(x):
    return B.T @ softmax(B @ x + c) + (d**2 + 0.1) * x

def torch_walk(x, etas, beta, inside=False, nesterov=False):
    """Positions, and the velocity after each step; inside: the step sizes multiply the gradients."""
    x = tensor(x, requires_grad=True)
    optimizer = optim.SGD([x], lr=1, momentum=beta, nesterov=nesterov)
    xs, vs = [x.tolist()], [[0.0] * len(x)]
    for eta in etas:
        optimizer.zero_grad()
        f = torch_logsumexp(tensor(B) @ x + tensor(c), 0) + tensor(d**2 + 0.1) @ x**2 / 2
        (f * float(eta) if inside else f).backward()
        if not inside:
            optimizer.param_groups[0]['lr'] = float(eta)
        optimizer.step()
        xs.append(x.tolist())
        vs.append(optimizer.state[x]['momentum_buffer'].tolist())
    return np.array(xs), np.array(vs)

def is_torch(method, x, eta, beta, **options):
    return close(method(bowl_gradient, x, eta, beta, 12), torch_walk(x, [eta] * 12, beta, **options)[0])

verify(
    'momentum is that of torch.optim.SGD, step by step',
    lambda x, eta, beta: is_torch(momentum, x, eta, beta),
    slip=('damps the new gradient by 1 - β as well', lambda x, eta, beta: is_torch(
        lambda grad, x, eta, beta, steps: momentum(grad, x, eta * (1 - beta), beta, steps), x, eta, beta)),
    x=vectors(3, -2, 2), eta=scalars(0.01, 0.1), beta=scalars(0.1, 0.95), tries=20,
)
rates = np.array([0, 0.1, 0.2, 0.05, 0.1, 0.3])
xs, us = torch_walk(np.array([2.0, -1.0, 1.0]), rates[1:], 0.9, inside=True)  # torch's velocity is -u
inside = dict(f=bowl, t=range(1, 6), x=lambda t: xs[t], u=lambda t: -us[t], eta=lambda t: rates[t], beta=0.9)
holds('aw.momentum.momentum', **inside)
holds('aw.momentum.update', **inside)

def two_steps(x, etas, old):  # old: the place of the step size of the older gradient
    xs, us = torch_walk(x, etas, 0.9, inside=True)
    g = -us
    unrolled = -etas[-1] * bowl_gradient(xs[-2]) - 0.9 * etas[old] * bowl_gradient(xs[-3]) + 0.81 * g[-3]
    return close(g[-1], unrolled)

erratum(
    'aw.momentum.expanded',
    printed=lambda x, etas: two_steps(x, etas, -1),
    corrected=lambda x, etas: two_steps(x, etas, -2),
    x=vectors(3, -2, 2), etas=vectors(4, 0.01, 0.3), tries=40,
)

# %% tags=["checks"]
narrow = np.array([1.0, 100.0])

def best_direction(x, distance):
    angles = np.arange(720) * np.pi / 360
    fan = np.stack([np.cos(angles), np.sin(angles)], 1)  # (720, 2)
    return fan[((x + distance * fan)**2 @ narrow).argmin()]

def is_steepest(x, part):  # part of the way to the minimum
    downhill = -x * narrow
    return norm(best_direction(x, part * norm(x)) - downhill / norm(downhill)) < 0.02

def walk(x, bowl):  # 40 steps of the best size, 2 / (least + largest curvature)
    return momentum(lambda x: bowl * x, x, 2 / bowl.sum(), 0, 40)

def is_slow(x):  # 40 of the best steps leave more than 0.4 of the way
    return norm(walk(x, narrow)[-1]) > 0.4 * norm(x)

def is_noisy(x, factor):  # a factor below 0: x_2 changes its sign at every step
    across = walk(x, narrow)[:, 1]
    return close(across[1:], factor * across[:-1])

def follows(x):  # both, and in a round bowl neither: there the first step arrives
    return is_slow(x) and is_noisy(x, -99 / 101) and norm(walk(x, np.ones(2))[1]) < 1e-12

holds(
    'aw.momentum.local-dir',
    lambda a, b: is_steepest(np.array([a, b]), 1e-4) and not is_steepest(np.array([a, b]), 1) and follows(np.array([a, b])),
    slip=('trusts the direction at every distance', lambda a, b: is_steepest(np.array([a, b]), 1)),
    a=scalars(1, 10), b=scalars(0.2, 1), tries=60,
)

# %% tags=["checks"]
def push_then_flat(v, beta, steps=6):  # a gradient v at the first step, none afterwards
    slopes = iter([v] + [0 * v] * steps)
    return -np.diff(momentum(lambda x: next(slopes), 0 * v, 1.0, beta, steps + 1), axis=0)

holds(
    'aw.momentum.damping',
    lambda v, beta: close(push_then_flat(v, beta), np.outer(beta ** np.arange(7), v)),
    slip=('damps by 1 - β', lambda v, beta: close(push_then_flat(v, beta), np.outer((1 - beta) ** np.arange(7), v))),
    v=vectors(2), beta=scalars(0, 1),
)

def in_the_long_run(a, b, beta, gain):
    slopes = iter(a + b * (-1.0) ** np.arange(301)[:, None])
    path = momentum(lambda x: next(slopes), 0 * a, 1.0, beta, 301)
    return close(path[-2] - path[-1], a / (1 - beta) + b * gain)

verify(
    'steady gradients are amplified, alternating ones are damped',
    lambda a, b, beta: in_the_long_run(a, b, beta, 1 / (1 + beta)),
    slip=('amplifies both', lambda a, b, beta: in_the_long_run(a, b, beta, 1 / (1 - beta))),
    a=vectors(2), b=vectors(2), beta=scalars(0.1, 0.9), tries=30,
)

def valley(x):
    return (x[0]**2 + 30 * x[1]**2) / 2

verify(
    'the gradient of the valley is that of differences',
    lambda x: close(gradient(x), [(valley(x + h) - valley(x - h)) / 2e-4 for h in 1e-4 * np.eye(2)]),
    slip=('exchanges the two curvatures', lambda x: close(
        gradient(x[::-1])[::-1], [(valley(x + h) - valley(x - h)) / 2e-4 for h in 1e-4 * np.eye(2)])),
    x=vectors(2, -10, 10), tries=40,
)
verify(
    'after 40 steps momentum has less than a twentieth of the way left that gradient descent has',
    lambda: bool(20 * norm(ball[40]) < norm(descent[40])),
    slip=('exchanges the two', lambda: bool(20 * norm(descent[40]) < norm(ball[40]))),
)

# %% [markdown]
# ## Convergence rate: the square root of the condition number
#
# How much faster is momentum? We take quadratics in twenty dimensions, with curvatures between 1 and $\kappa$. We count the
# steps until the distance to the minimum is a millionth of what it was. Both methods use their best parameters.
# Those of momentum are in `best_pair`, derived below.

# %%
def distances(method, kappa, eta, beta, steps):
    curvature = np.linspace(1, kappa, 20)
    x = np.random.default_rng(0).normal(size=20)
    return norm(method(lambda x: curvature * x, x, eta, beta, steps), axis=1)

def steps_needed(distance):
    return np.flatnonzero(distance < 1e-6 * distance[0])[0]

# %%
def best_pair(kappa):  # for curvatures from 1 to kappa
    rho = (kappa**0.5 - 1) / (kappa**0.5 + 1)
    return 4 / (kappa**0.5 + 1) ** 2, rho**2

# %%
print('kappa   gradient descent   momentum   ratio')
for kappa in 10, 100, 1000:
    plain = steps_needed(distances(momentum, kappa, 2 / (kappa + 1), 0, 9000))
    fast = steps_needed(
        distances(momentum, kappa, *best_pair(kappa), 900))
    print(f'{kappa:5} {plain:18} {fast:10} {plain / fast:7.1f}')

# %% [markdown]
# From row to row $\kappa$ is ten times as large, and gradient descent needs ten times as many steps. Momentum needs only about three and a
# half times as many, which is near $\sqrt{10}$.
#
# ### Why the square root?
#
# On a quadratic we can look at one eigendirection of the Hessian at a time. Let $a$ be the curvature in this direction, and
# let $e_t$ and $v_t$ be the components of the error $\mathbf{x}_t - \mathbf{x}^*$ and of the velocity. The component of the
# gradient is $a e_t$, so {eq}`momentum-step` says $e_t = e_{t-1} - \eta(\beta v_{t-1} + a e_{t-1})$. The step before
# was $e_{t-1} - e_{t-2} = -\eta v_{t-1}$. If we put this in place of $-\eta v_{t-1}$, the velocity is gone:
#
# $$
# e_t = (1 + \beta - \eta a) \, e_{t-1} - \beta \, e_{t-2} .
# $$
#
# Such a recursion is solved by powers, $e_t = z^t$. Insert the power and divide by $z^{t-2}$. What is left is a quadratic
# equation for $z$:
#
# ```{math}
# :label: momentum-roots
# z^2 - (1 + \beta - \eta a) \, z + \beta = 0 .
# ```
#
# The error is a combination of the powers of its two roots. In the long run the root with the larger modulus (absolute
# value) decides. Its modulus is the factor by which the error shrinks at each step, on average.

# %%
def modulus(eta_a, beta):
    """The larger modulus of the two roots, for the number eta * a."""
    roots = np.roots([1, -(1 + beta - eta_a), beta])
    return abs(roots).max()

# %%
print('eta a:        0.02  0.30  1.00  2.00')
for beta in 0, 0.25, 0.81:
    factors = [modulus(eta_a, beta) for eta_a in (0.02, 0.3, 1, 2)]
    print(f'beta = {beta:4}: ', '  '.join(f'{z:.2f}' for z in factors))

# %% [markdown]
# For $\beta = 0.81$ all four factors are equal, and they are $\sqrt{0.81} = 0.9$. Why? The product of the two
# roots is $\beta$, the last coefficient of {eq}`momentum-roots`. If the roots are complex, they are conjugate and have the same
# modulus, so this modulus is $\sqrt\beta$. The curvature $a$ has no influence on it. The roots are complex, or equal to each
# other, if the discriminant is not positive. This is so for all $\eta a$ in a band:
#
# ```{math}
# :label: momentum-band
# (1 + \beta - \eta a)^2 \le 4\beta \iff (1 - \sqrt\beta)^2 \le \eta a \le (1 + \sqrt\beta)^2 .
# ```
#
# Inside the band, flat and steep directions converge at the same rate. A larger $\beta$ makes the band wider, but then
# $\sqrt\beta$ is nearer to 1, and the error shrinks more slowly. Let $\mu$ be the smallest and $L$ the largest curvature. We may choose $\eta$, too. So we take
# the smallest $\beta$ for which a band can begin at $\eta\mu$ and end at $\eta L$. The quotient of its ends is
# $\kappa = L/\mu = \big(\frac{1 + \sqrt\beta}{1 - \sqrt\beta}\big)^2$. We solve this for $\sqrt\beta$ and get the theorem
# below.

# %% mystnb={"image": {"alt": "Left: the factor per step against eta times a. For beta 0 a V with its tip at 1; for beta 0.25 and 0.81 curves that fall to a flat floor at 0.5 and 0.9 and rise at its end. Right: distance to the minimum on a logarithmic axis against 160 steps; gradient descent falls slowly, below its dashed line and parallel to it; momentum falls steeply, above its dashed line and at last nearly parallel to it."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
grid = np.linspace(0.001, 3.9, 400)
for i, beta in enumerate((0, 0.25, 0.81)):
    left.plot(grid, [modulus(step, beta) for step in grid], color=f'C{i}')
left.text(1.12, 0.05, 'β = 0', color='C0')
left.text(2.3, 0.52, 'β = 0.25', color='C1')
left.text(2.55, 0.82, 'β = 0.81', color='C2')
left.axhline(1, color=GREY, lw=0.8, ls='--')
left.set(xlabel='ηa', ylabel='factor per step', ylim=(0, 1.15), xlim=(0, 3.9))
for i, (beta, rate, name) in enumerate([(0, 99 / 101, 'gradient\ndescent'), (None, 9 / 11, 'momentum')]):
    eta, beta = (2 / 101, 0) if beta == 0 else best_pair(100)
    curve = distances(momentum, 100, eta, beta, 160)
    right.semilogy(curve, color=f'C{i}')
    right.semilogy(curve[0] * rate ** np.arange(161), '--', color=f'C{i}', lw=1)
right.text(90, 3, 'gradient descent', color='C0', ha='center')
right.text(75, 1e-4, 'momentum', color='C1')
right.set(xlabel='step', ylabel='distance to the minimum', ylim=(1e-12, 30));

# %% [markdown] tags=["caption"]
# Left: the factor by which a step shrinks the error, for each $\eta a$. With momentum it is $\sqrt\beta$ on a whole band.
# Right: for $\kappa = 100$ momentum needs far fewer steps. The dashed lines fall by the best factor of each method.

# %% [markdown]
# ````{prf:theorem} The best step size and momentum on quadratics
# :label: thm-momentum-best
# Let $\kappa = L/\mu$ and $\kappa > 1$. Let $\rho$ be the largest modulus of a root of {eq}`momentum-roots`, over all
# curvatures $a \in [\mu, L]$. Among all $\eta$ and $\beta$, this $\rho$ is smallest for
# ```{math}
# :label: momentum-best
# \eta = \frac{4}{(\sqrt L + \sqrt\mu)^2}, \qquad \beta = \rho^2, \qquad \rho = \frac{\sqrt\kappa - 1}{\sqrt\kappa + 1} .
# ```
# ````
#
# ````{prf:proof}
# :class: dropdown
# These values are attained: with them {eq}`momentum-band` holds with equality on the left for $a = \mu$ and on the right for
# $a = L$. Now take any real $\eta, \beta$ for which all roots have modulus at most $\rho < 1$. Here $\rho > 0$, since both
# roots are zero only for $\eta a = 1$ and $\beta = 0$, which cannot be so at both ends. The product of the roots gives
# $\beta \le \rho^2$. A real quadratic $p(z) = z^2 - sz + \beta$ with no root of modulus above $\rho$ has $p(\rho) \ge 0$ and
# $p(-\rho) \ge 0$. With $s = 1 + \beta - \eta a$ and $a = \mu$ in the first inequality, $a = L$ in the second,
#
# $$
# \eta \mu \ge (1 - \rho) \Big(1 - \frac\beta\rho\Big), \qquad
# \eta L \le (1 + \rho) \Big(1 + \frac\beta\rho\Big) .
# $$
#
# As $\beta \le \rho^2 < \rho$, the first bound is positive. Divide; the quotient of the right sides grows with $\beta$,
# which is at most $\rho^2$:
#
# $$
# \kappa \le \frac{(1 + \rho)(1 + \beta/\rho)}{(1 - \rho)(1 - \beta/\rho)} \le \Big(\frac{1 + \rho}{1 - \rho}\Big)^2 ,
# $$
#
# and solving $\sqrt\kappa \le \frac{1 + \rho}{1 - \rho}$ for $\rho$ gives
# $\rho \ge \frac{\sqrt\kappa - 1}{\sqrt\kappa + 1}$.
# ````
#
# Gradient descent has the factor $\frac{\kappa - 1}{\kappa + 1}$ at best. For $\kappa = 10^4$ this is
# $(10^4 - 1)/(10^4 + 1) \approx 0.9998$. Momentum has $(10^2 - 1)/(10^2 + 1) \approx 0.98$, so it needs a hundred times fewer
# steps for each further digit.
#
# At each end of the band both roots are one number $z$. The recursion then has the solution $tz^t$ besides $z^t$, so with the
# best pair the error falls like $t\rho^t$. This is why momentum in the figure stays above its dashed line.
#
# ### What if the condition number is not known?
#
# The condition number is hardly ever known, so $\beta$ is a guess, often 0.9. A guess that is far too large is
# expensive. Here are $31 \approx 10\sqrt{10}$ steps on a quadratic with curvatures from 1 to 10: without momentum, with
# $\eta = 1/L$ and $\beta = (1 - 1/\sqrt{10})^2 \approx 0.47$, and with $\beta = 0.99$.

# %%
a, x = np.linspace(1, 10, 20), np.random.default_rng(0).normal(size=20)
print(f'start:       distance {norm(x):8.1e}')
for eta, beta in (2 / 11, 0), (1 / 10, (1 - 10**-0.5) ** 2), (1 / 10, 0.99):
    path = momentum(lambda x: a * x, x, eta, beta, 31)
    print(f'beta = {beta:.2f}: distance {norm(path[-1]):8.1e}')

# %% [markdown]
# With $\beta = 0.99$ the ball swings back and forth through the minimum and hardly loses speed. In each direction the swings
# become smaller only by the factor $\sqrt{0.99} \approx 0.995$ a step.
#
# ````{admonition} A pair for the step size 1/L, and how well it does
# :class: dropdown
# The second run here, and the first example of this page, have $\eta = 1/L$ and the $\beta$ whose band begins at the flattest
# direction. There $\eta a = \mu/L = 1/\kappa$, so $\sqrt\beta = 1 - 1/\sqrt\kappa$. For $\kappa = 30$ this is
# $\beta = (1 - 1/\sqrt{30})^2 \approx 0.668$.
#
# (aw.momentum.accelerates)=
# On all random quadratics with $\kappa \ge 4$ that we tried, $\eta = 1/L$ and $\sqrt\beta = 1 - 1/\sqrt\kappa$ were both
# faster and smoother than the best gradient descent. After $10\sqrt\kappa$ steps momentum was nearer to the minimum, and its
# steps had turned less from one to the next. With $\beta = 0.99$ for every valley this is not so.
# ````
#
# ```{exercise} ★ Pencil: how long may the steps be?
# :label: momentum-longest
#
# Gradient descent converges in a direction with curvature $a > 0$ if and only if $0 < \eta a < 2$. Let $0 \le \beta < 1$. For
# which $\eta$ does momentum converge? Write the upper limit as `step_limit(a, beta)`. *Hint*: both roots of
# $z^2 - sz + \beta$ have modulus below 1 if and only if $|s| < 1 + \beta$. Prove this, too.
# ```

# %%
def step_limit(a, beta):
    """The number below which each step size eta > 0 converges: a float.

    a: the curvature, a float, a > 0.
    beta: the momentum, a float, 0 <= beta < 1.
    Without momentum, step_limit(4.0, 0.0) is 0.5.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def searched_limit(a, beta):  # where the larger modulus passes 1
    return brentq(lambda eta: modulus(eta * a, beta) - 1, 1.9 / a, 9 / a, xtol=1e-14)

cases = dict(a=scalars(0.1, 10), beta=on(0.0, 0.25, 0.81) | scalars(0, 0.99))
grade(step_limit, searched_limit, **cases)

# %% [markdown]
# ```{solution-start} momentum-longest
# :class: dropdown
# ```
# Momentum converges if and only if $0 < \eta a < 2(1 + \beta)$. By {eq}`momentum-roots`, $s = 1 + \beta - \eta a$. The condition
# $s < 1 + \beta$ says $\eta a > 0$, and $s > -(1 + \beta)$ says $\eta a < 2 + 2\beta$.
#
# Now the hint. Complex roots have modulus $\sqrt\beta < 1$, and then $s^2 < 4\beta \le (1 + \beta)^2$. Real
# roots have no different signs, because their product is $\beta \ge 0$, and this product is below 1. So they lie between $-1$
# and $1$ if and only if the parabola $p(z) = z^2 - sz + \beta$ is positive at both places. This is
# $1 - s + \beta > 0$ and $1 + s + \beta > 0$.
#
# With $\beta$ near 1, steps may be nearly twice as long as those of gradient descent. Of the wrong answers, the first ignores
# $\beta$, the second ignores $a$, the third is the end of the band, where the roots turn real, and the fourth
# divides by the amplification $1/(1 - \beta)$ of a steady gradient.

# %% jupyter={"source_hidden": true}
def step_limit_solution(a, beta):
    return 2 * (1 + beta) / a

assert grade(step_limit_solution, searched_limit, **cases)
assert not grade(lambda a, beta: 2 / a, searched_limit, **cases)
assert not grade(lambda a, beta: 2 * (1 + beta), searched_limit, **cases)
assert not grade(lambda a, beta: (1 + beta**0.5) ** 2 / a, searched_limit, **cases)
assert not grade(lambda a, beta: 2 * (1 - beta) / a, searched_limit, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def in_band(eta_a, beta):
    return (1 - beta**0.5) ** 2 <= eta_a <= (1 + beta**0.5) ** 2

def closed_form(eta_a, beta):
    trace = 1 + beta - eta_a + 0j
    root = (trace**2 - 4 * beta) ** 0.5
    return max(abs(trace + root), abs(trace - root)) / 2

verify(
    'the modulus is the root of beta inside the band and larger outside',
    lambda s, beta: close(modulus(s, beta), closed_form(s, beta), atol=1e-7)
    and (modulus(s, beta) < beta**0.5 + 1e-7) == in_band(s, beta),
    slip=('says so for every curvature', lambda s, beta: close(modulus(s, beta), beta**0.5)),
    s=scalars(0.001, 4), beta=scalars(0.05, 0.95),
)
verify(
    'momentum converges exactly below 2 (1 + beta)',
    lambda beta, share: (modulus(share * 2 * (1 + beta), beta) < 1) == (share < 1),
    slip=('keeps the bound of gradient descent', lambda beta, share: (modulus(share * 2, beta) < 1) == (share < 1)),
    beta=scalars(0, 0.95), share=[0.01, 0.5, 0.999, 1.001, 2],
)

def worst_modulus(eta, beta, kappa):
    return max(modulus(eta * a, beta) for a in np.linspace(1, kappa, 101))

def no_better(kappa, p, q, rate):  # p and q change eta and beta
    eta, beta = best_pair(kappa)
    return rate(kappa) <= worst_modulus(eta * p, beta * q, kappa) + 1e-6

verify(
    'no step and momentum have a smaller worst modulus',
    lambda kappa, p, q: no_better(kappa, p, q, lambda k: best_pair(k)[1]**0.5),
    slip=('has the rate of gradient descent', lambda kappa, p, q: no_better(kappa, p, q, lambda k: (k - 1) / (k + 1))),
    kappa=scalars(1.1, 100), p=scalars(0.5, 1.5), q=scalars(0.3, 1.3), tries=60,
)

# %% tags=["checks"]
def slope_is(rate, method, kappa, eta, beta):  # t rate^t: its logarithm gains ln(rate) + ln(2)/T a step from T to 2T
    T = int(20 * kappa**0.5)
    distance = distances(method, kappa, eta, beta, 2 * T)
    return abs(np.log(distance[2 * T] / distance[T]) - T * np.log(rate) - np.log(2)) < 0.03  # the error is (t + c) rate^t

verify(
    'with the best pair the error falls as t ((√κ-1)/(√κ+1))^t',
    lambda kappa: slope_is((kappa**0.5 - 1) / (kappa**0.5 + 1), momentum, kappa, *best_pair(kappa)),
    slip=('forgets the roots', lambda kappa: slope_is((kappa - 1) / (kappa + 1), momentum, kappa, *best_pair(kappa))),
    kappa=[10, 30, 100, 1000],
)

def turning(path):  # mean cosine between steps: 1 straight on, -1 back
    steps = np.diff(path, axis=0)
    steps /= norm(steps, axis=1, keepdims=True)
    return (steps[1:] * steps[:-1]).sum(1).mean()

def faster_and_smoother(kappa, seed, beta):
    rng = np.random.default_rng(seed)
    a, x, T = rng.uniform(1, kappa, 20), rng.normal(size=20), int(10 * kappa**0.5)
    a[:2] = 1, kappa
    descent = momentum(lambda x: a * x, x, 2 / (kappa + 1), 0, T)
    ball = momentum(lambda x: a * x, x, 1 / kappa, beta, T)
    return bool(norm(ball[-1]) < norm(descent[-1]) and turning(ball) > turning(descent))

holds(
    'aw.momentum.accelerates',
    lambda kappa, seed: faster_and_smoother(kappa, seed, (1 - kappa**-0.5) ** 2),
    slip=('takes β = 0.99 for every valley', lambda kappa, seed: faster_and_smoother(kappa, seed, 0.99)),
    kappa=[4, 5, 10, 30, 100, 1000], seed=seeds(), tries=60,
)

def grows_like(power, method, pair):  # from κ = 100 to κ = 1000
    few, many = (steps_needed(distances(method, kappa, *pair(kappa), 9000)) for kappa in (100, 1000))
    return bool(abs(np.log10(many / few) - power) < 0.05)

best_plain = lambda kappa: (2 / (kappa + 1), 0)

verify(
    'gradient descent with its best step needs steps in proportion to κ',
    lambda power: grows_like(power, momentum, best_plain),
    slip=('says its root', lambda power: grows_like(power / 2, momentum, best_plain)),
    power=[1],
)
verify(
    'momentum with the best pair needs about √κ steps',
    lambda power: grows_like(power, momentum, best_pair),
    slip=('says κ', lambda power: grows_like(2 * power, momentum, best_pair)),
    power=[0.52],
)

# %% [markdown]
# ## Nesterov momentum: look ahead, then step
#
# Momentum evaluates the gradient at the current point and then moves. But one part of the move is known beforehand: the old
# velocity contributes $-\eta\beta\mathbf{v}_{t-1}$. **Nesterov momentum** {cite}`nesterov1983method` first makes this part of
# the move, to a point $\mathbf{y}_{t-1}$, and evaluates the gradient at this point ahead. So if the ground rises ahead, Nesterov
# momentum notices it one step earlier:
#
# ```{math}
# :label: momentum-nesterov
# \begin{aligned}
# \mathbf{y}_{t-1} &= \mathbf{x}_{t-1} - \eta\beta\,\mathbf{v}_{t-1}, \\
# \mathbf{v}_t &= \beta\,\mathbf{v}_{t-1} + \nabla f(\mathbf{y}_{t-1}), \\
# \mathbf{x}_t &= \mathbf{x}_{t-1} - \eta\,\mathbf{v}_t .
# \end{aligned}
# ```

# %%
def nesterov(gradient, x, eta, beta, steps):
    """All iterates, from x on."""
    path, v = [x], 0
    for _ in range(steps):
        y = x - eta * beta * v
        v = beta * v + gradient(y)
        x = x - eta * v
        path.append(x)
    return np.array(path)

# %% [markdown]
# The usual choice is $\eta = 1/L$ and $\beta = \frac{\sqrt\kappa - 1}{\sqrt\kappa + 1}$. A calculation like the one above shows
# that in the slowest direction the error then shrinks by the factor $1 - \frac{1}{\sqrt\kappa}$ at each step, in the long run.

# %%
def nesterov_pair(kappa):  # for curvatures from 1 to kappa
    return 1 / kappa, (kappa**0.5 - 1) / (kappa**0.5 + 1)

# %%
print('kappa   momentum   Nesterov')
for kappa in 10, 100, 1000:
    fast = steps_needed(
        distances(momentum, kappa, *best_pair(kappa), 900))
    safe = steps_needed(
        distances(nesterov, kappa, *nesterov_pair(kappa), 900))
    print(f'{kappa:5} {fast:10} {safe:10}')

# %% [markdown]
# On quadratics Nesterov momentum needs a number of steps that grows with $\sqrt\kappa$, too, but it needs more than the best
# heavy ball. Why is it famous nevertheless? Because it comes with a guarantee, and not for quadratics alone. For *every*
# function whose curvature lies between $\mu$ and $L$, the gap $f(\mathbf{x}_t) - f(\mathbf{x}^*)$ to the minimum is at most a
# constant times $(1 - 1/\sqrt\kappa)^t$ {cite}`nesterov2018lectures`.
#
# The heavy ball has no such guarantee. With the parameters that are best for quadratics, it may never arrive. The following
# function of one variable {cite}`lessard2016analysis` has the curvature 1 between 1 and 2, the curvature 25 elsewhere, and its
# minimum at 0. The code gives its slope.

# %%
def kinked(x):
    return np.where(x < 1, 25 * x, np.where(x < 2, x + 24, 25 * x - 24))

x = np.array(3.3)
trapped = momentum(kinked, x, *best_pair(25), 400)
settled = nesterov(kinked, x, *nesterov_pair(25), 400)
print('the last six of 400 points')
print('momentum', trapped[-6:].round(3))
print('Nesterov', settled[-6:].round(3))

# %% [markdown]
# The heavy ball runs round the same three points for ever. Nesterov momentum has arrived.
#
# In PyTorch you write `nesterov=True`. The parameters that PyTorch stores are then not the points
# $\mathbf{x}_t$, but the points ahead, $\mathbf{y}_t = \mathbf{x}_t + \beta (\mathbf{x}_t - \mathbf{x}_{t-1})$. Where the
# steps are short, $\mathbf{x}_t$ and $\mathbf{y}_t$ are nearly the same.

# %%
x = tensor(start, requires_grad=True)
optimizer = optim.SGD([x], lr=0.02, momentum=0.7, nesterov=True)
for _ in range(10):
    optimizer.zero_grad()
    ((tensor(curvature) * x**2).sum() / 2).backward()
    optimizer.step()
before, last = nesterov(gradient, start, 0.02, 0.7, 10)[-2:]
print('torch: ', x.detach().numpy().round(4))
print('our y: ', (last + 0.7 * (last - before)).round(4))

# %% tags=["checks"]
def nesterov_places(gradient, x, eta, beta, steps):  # y = x + beta (x - the x before)
    path = nesterov(gradient, x, eta, beta, steps)
    return path + beta * np.diff(path, axis=0, prepend=path[:1])

verify(
    "Nesterov's places y are those of torch.optim.SGD with nesterov=True",
    lambda x, eta, beta: is_torch(nesterov_places, x, eta, beta, nesterov=True),
    slip=('takes the places x', lambda x, eta, beta: is_torch(nesterov, x, eta, beta, nesterov=True)),
    x=vectors(3, -2, 2), eta=scalars(0.01, 0.1), beta=scalars(0.1, 0.95), tries=20,
)
verify(
    "Nesterov's error falls as t (1-1/√κ)^t on quadratics",
    lambda kappa: slope_is(1 - kappa**-0.5, nesterov, kappa, *nesterov_pair(kappa)),
    slip=('has the rate of the best heavy ball', lambda kappa: slope_is(
        (kappa**0.5 - 1) / (kappa**0.5 + 1), nesterov, kappa, *nesterov_pair(kappa))),
    kappa=[10, 30, 100, 1000],
)

def goes_round(method, pair):  # three different places, over and over
    path = method(kinked, np.array(3.3), *pair, 400)
    return close(path[-3:], path[-6:-3]) and np.ptp(path[-3:]) > 0.5

verify(
    'with the best parameters for quadratics the heavy ball goes round three places',
    lambda: goes_round(momentum, best_pair(25)),
    slip=('says so for Nesterov', lambda: goes_round(nesterov, nesterov_pair(25))),
)

# %% [markdown]
# ## Where it matters: full gradients and random batches
#
# Does momentum pay on real data? We predict the progress of diabetes in 442 patients from ten measurements, by a linear
# function and least squares. Each measurement is standardized, so the valley is not narrow just by the choice of units. The **gap** of a weight vector is its mean squared error minus the smallest possible mean squared error.

# %%
x, y, _ = data.diabetes()
X = (x - x.mean(0)) / x.std(0)                   # (442, 10)
y = y - y.mean()                                 # (442,)
H = 2 * X.T @ X / len(X)                         # Hessian of the loss
best = solve(H, 2 * X.T @ y / len(X))            # (10,)
mu, L = eigvalsh(H)[[0, -1]]
kappa = L / mu
print(f'{len(X)} patients, condition number {kappa:.0f}')

def gap(w):                                      # w (..., 10)
    return (((w - best) @ X.T) ** 2).mean(-1)

# %% [markdown]
# We count the steps until the gap is a millionth of what it was.

# %%
zero, T = np.zeros(10), 2000
full = lambda w: H @ (w - best)
eta, beta = best_pair(kappa)
walks = {
    'gradient descent': momentum(full, zero, 2 / (L + mu), 0, T),
    'momentum': momentum(full, zero, eta / mu, beta, T),  # eta: for mu = 1
    'momentum, β = 0.9': momentum(full, zero, 1 / L, 0.9, T),
    'Nesterov, β = 0.9': nesterov(full, zero, 1 / L, 0.9, T),
}
for name, walk in walks.items():
    steps = np.flatnonzero(gap(walk) < 1e-6 * gap(zero))[0]
    print(f'{name:18} {steps:5} steps')

# %% [markdown]
# With full gradients momentum needs about a tenth of the steps. The rule of thumb, $\beta = 0.9$ with $\eta = 1/L$, needs
# about a quarter more steps than the best pair.
#
# Now we take random batches, as in [stochastic gradient descent](stochastic_gradient_descent.ipynb). For each batch size we
# try 25 step sizes, with ten runs each, and look at the gap after 300 steps. Momentum amplifies a steady gradient by
# $1/(1-\beta)$. So that it moves both methods equally far, we multiply the step sizes of momentum by $1-\beta$. The table
# shows the mean gap at the best step size ± its standard error. The columns "at" show the best $\eta/(1-\beta)$.

# %%
def batch_gradient(size, rng):
    def gradient(w):                             # (25 step sizes, 10 runs, 10)
        rows = rng.integers(len(X), size=(10, size))
        e = np.einsum('rbd,ird->irb', X[rows], w) - y[rows]
        return 2 * np.einsum('irb,rbd->ird', e, X[rows]) / size
    return gradient

# %%
amplified = np.geomspace(1e-3, 0.2, 25)          # eta / (1 - beta)

def gaps_after_300(gradient, beta):              # (25, 10)
    eta = (1 - beta) * amplified[:, None, None]
    path = momentum(gradient, np.zeros((25, 10, 10)), eta, beta, 300)
    return gap(path[-1])

# %%
results = {}
print('batch   gradient descent  at       momentum 0.9  at')
for size in 1, 4, 16, 64:
    row = f'{size:5}'
    for beta in 0, 0.9:
        g = batch_gradient(size, np.random.default_rng(0))
        gaps = results[size, beta] = gaps_after_300(g, beta)
        best_row = gaps.mean(1).argmin()        # the best step size
        ten = gaps[best_row]
        row += f'   {ten.mean():5.1f} ± {ten.std(ddof=1) / 10**0.5:4.1f}'
        row += f'  {amplified[best_row]:.4f}'
    print(row)
print(f'always predicting the mean progress: {gap(zero):.0f}')
print(f'1/L = {1 / L:.2f}')
# %% mystnb={"image": {"alt": "Left: the gap on a logarithmic axis against 600 steps with full gradients; gradient descent falls slowly, three kinds of momentum fall steeply; that of the best pair first rises above the start. Right: the gap after 300 steps against eta over one minus beta for batches of 4 and of 64; for each batch size the curves of gradient descent and of momentum fall together to a minimum, and beyond it they part. The minima lie far to the left of a dotted line at 1/L."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3)
for i, (name, walk) in enumerate(walks.items()):
    left.semilogy(gap(walk[:601]) / gap(zero), color=f'C{i}')
left.text(260, 1.5e-1, 'gradient descent', color='C0')
left.text(12, 1e-9, 'best\npair', color='C1')
left.text(330, 4e-9, 'β = 0.9', color='C2')
left.text(190, 6e-6, 'Nesterov, β = 0.9', color='C3')
left.set(xlabel='step (full gradients)', ylabel='share of the gap that is left', ylim=(1e-11, 200), xlim=(0, 600))
for size, colour, height in (4, 'C0', 48), (64, 'C1', 19):
    for beta, line in (0, '-'), (0.9, '--'):
        right.loglog(amplified, results[size, beta].mean(1), line, color=colour, lw=1.6)
    right.text(1.1e-2, height, f'batches of {size}', color=colour, ha='center', va='top')
right.text(1.2e-3, 2.2e3, 'solid: gradient descent\ndashed: momentum 0.9', fontsize=8, va='top')
right.axvline(1 / L, color=GREY, lw=1, ls=':')
right.text(0.93 / L, 12, '1/L', color=GREY, ha='right')
right.set(xlabel='η / (1 − β)', ylabel='gap after 300 steps', ylim=(10, 4e3), xlim=(1e-3, 0.2));

# %% [markdown] tags=["caption"]
# Left: with full gradients momentum needs about a tenth of the steps, although with the best pair the gap first grows. Right:
# with random batches, up to the best step size, momentum does only what gradient descent does.

# %% [markdown]
# At its best step size momentum ends where gradient descent ends, within the standard errors. Below the best step size
# the curves coincide: momentum with $\eta$ does what gradient descent does with $10\eta$.
#
# Why is the advantage gone? Momentum helps by cancelling jumps from wall to wall, and such jumps begin only at step sizes
# beyond $1/L = 0.12$. With full gradients gradient descent took a longer step than this. With random batches the best
# step size is below 0.01. So the noise of the batches forbids the steps at which momentum would pay.
#
# So momentum helps where the valley limits the step size, as with full gradients or very large batches, and hardly where the
# noise limits it. Momentum is also reported to help on the badly conditioned problems of deep
# networks {cite}`sutskever2013importance`. A common first choice in PyTorch is:
#
# ```python
# optimizer = torch.optim.SGD(model.parameters(), lr=0.01,
#                             momentum=0.9, nesterov=True)
# ```
#
# If you switch on a momentum of 0.9 in a program that was tuned without it, begin with a tenth of the learning rate.
#
# ```{exercise} ★★ Experiment: more momentum, more speed?
# :label: momentum-more
#
# We take full gradients on the diabetes data, $\eta = 1/L$, and $\beta = 0$, $0.5$, $0.9$ or $0.99$. First predict: which
# $\beta$ has the smallest gap after 300 steps, which the second smallest, and so on? Then run
# `momentum(full, zero, 1 / L, beta, 300)`, look at the gap of the last point, and explain what you see.
# ```

# %%
def predicted_order():
    """The values 0, 0.5, 0.9 and 0.99 of beta, smallest gap first: a list."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
after_300 = {beta: gap(momentum(full, zero, 1 / L, beta, 300)[-1]) for beta in (0, 0.5, 0.9, 0.99)}

def is_measured(order):
    order = list(order)
    if sorted(order) != sorted(after_300):
        raise ValueError('name each of 0, 0.5, 0.9 and 0.99 once')
    if order != sorted(after_300, key=after_300.get):
        raise ValueError('another order is measured; run the four and compare')
    return True

grade(lambda: is_measured(predicted_order()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} momentum-more
# :class: dropdown
# ```
# The two roots have the product $\beta$, so no direction can shrink faster than by $\sqrt\beta$ a step. The flattest direction
# has $\eta a = 1/\kappa$, and the band that just begins there has $\beta = (1 - 1/\sqrt{470})^2 \approx 0.91$.
# So $0.9$ comes first. With $\beta = 0.99$ each direction shrinks by only $\sqrt{0.99} \approx 0.995$ a step, the steep ones as
# well, and $0.995^{300} \approx 0.22$. With $0.5$ and with $0$ only the flattest directions are slow, and they hold a
# small part of the gap. So too much momentum is worse than none here.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured([0.9, 0.5, 0, 0.99]), lambda: True, [()])
for wrong in (
    [0.99, 0.9, 0.5, 0],
    [0.9, 0.99, 0.5, 0],
    [0.9, 0.5, 0.99, 0],
    [0.9, 0.5],
    0.9,
    None,
):
    assert not grade(lambda: is_measured(wrong), lambda: True, [()])
for beta in sorted(after_300, key=after_300.get):
    print(f'beta = {beta:4}: gap {after_300[beta]:.1e}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def share_of_steps(name, share):
    steps = {n: np.flatnonzero(gap(walk) < 1e-6 * gap(zero))[0] for n, walk in walks.items()}
    return bool(steps[name] < share * steps['gradient descent'])

verify(
    'with full gradients each kind of momentum needs less than an eighth of the steps',
    lambda name: share_of_steps(name, 1 / 8),
    slip=('says a sixteenth', lambda name: share_of_steps(name, 1 / 16)),
    name=list(walks)[1:],
)

def within_a_tenth(size, i, shift):
    plain, ball = results[size, 0][i].mean(), results[size, 0.9][i + shift].mean()
    return bool(abs(ball / plain - 1) < 0.1)

verify(
    'up to the best step size, momentum does what gradient descent does with a ten times larger one',
    lambda size, i: within_a_tenth(size, i, 0),
    slip=('compares equal step sizes', lambda size, i: within_a_tenth(size, i, 10)),  # ten places are nearly a factor of ten
    size=[1, 4, 16, 64], i=[0, 1, 2, 3, 4, 5],
)

# %% [markdown]
# ## Summary
#
# Momentum moves by a velocity, a sum of all past gradients with weights $\beta^k$, so steady gradients are amplified by
# $1/(1-\beta)$ and alternating ones are damped. On quadratics with the best step size and momentum, the number of steps grows
# with $\sqrt\kappa$ in place of $\kappa$. Nesterov momentum evaluates the gradient ahead. On quadratics it is somewhat slower,
# but it converges on every strongly convex smooth function, where the heavy ball may run in a cycle. On real data momentum
# saved nine steps of ten with full gradients, and with small random batches it did no more than a ten times larger step size.
#
# **Further reading.** {cite:t}`polyak1964methods` introduces the heavy ball. {cite:t}`nesterov2018lectures` proves the rates
# and lower bounds, for readers who like proofs. {cite:t}`lessard2016analysis` find the cycle by treating optimizers as
# control systems. {cite:t}`sutskever2013importance` brought momentum to deep networks, and {cite:t}`zhang2023dive`,
# chapter 12, is a gentle survey.
