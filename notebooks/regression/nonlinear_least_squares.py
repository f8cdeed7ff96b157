# ---
# jupyter:
#   book:
#     functions:
#       gauss_newton: 'gauss_newton(lambda w: w**2 - 2, lambda w: np.diag(2 * w), 1 + uniform(3), 6)'
#       rise: rise(normal(2), uniform(5))
#       rise_jacobian: rise_jacobian(normal(2), uniform(5))
#       rate: rate(normal(2), 5 * uniform(6), 0.1 * normal(6))
#       damped_step: damped_step(normal(8, 3), normal(8), uniform(), 1 + uniform(3))
#       squares: squares(normal(4, 3))
#       column_lengths: column_lengths(normal(4, 3))
#       levenberg_marquardt: 'levenberg_marquardt(lambda w: w**2 - 2, lambda w: np.diag(2 * w), 9 + uniform(3), 4, first=1)'
#       standard_errors: standard_errors(normal(8, 3), normal(8))
#     main: nlls-gauss-newton
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Nonlinear least squares
#
# Sewage is sealed in bottles, and over ten days the oxygen is measured that its bacteria have used up: 109 mg/l after one
# day, 224 mg/l after ten. The curve rises quickly at first, then slower and slower. How do we fit such a curve, whose
# weights sit inside an exponential, when can we trust the iteration that does it, and how sure can we be of the result?
#
# - **You need** [least squares](least_squares.ipynb), the [QR decomposition](../linear_algebra/qr_decomposition.ipynb),
#   [Jacobians](../calculus/jacobians.ipynb) and [gradient descent](../optimization/gradient_descent.ipynb).
# - **You build** the methods of Gauss and Newton and of Levenberg and Marquardt, a forecast of their speed, a fit on
#   which a famous library fails, and standard errors that agree with certified ones.
# - **Runs in** 7 seconds, in float64.

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
import torch
from numpy.linalg import eigvalsh, inv, lstsq, norm, pinv, qr, solve
from scipy.optimize import curve_fit, least_squares, leastsq, minimize
from scipy.spatial.transform import Rotation
from scipy.stats import f as f_distribution
from scipy.stats import t as t_distribution
from torch.func import hessian, jacrev

from nbutils.cases import integers, on, scalars, seeds, vectors
from nbutils.checks import below, close, grade, verify
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')
torch.set_default_dtype(torch.float64)
np.seterr(over='ignore');  # a bad step may overflow; it will be refused

# %% [markdown]
# ## The Gauss–Newton method
#
# These six measurements {cite}`box1978statistics` are one of the tables by which the National Institute of Standards and
# Technology examines statistical software {cite}`nist2003strd`. The curve is
#
# $$f_n(\mathbf{w}) = w_1 \big(1 - e^{-w_2 x_n}\big) \approx y_n ,$$
#
# where $w_1$ is the total demand of oxygen in mg/l and $w_2$ the rate per day. In practice you call `curve_fit`:

# %%
days = np.array([1., 2, 3, 5, 7, 10])
oxygen = np.array([109., 149, 149, 191, 213, 224])  # mg/l

def curve(x, w1, w2):
    return w1 * (1 - np.exp(-w2 * x))

# %%
weights, covariance = curve_fit(curve, days, oxygen, p0=[100, 0.75])
errors = np.sqrt(np.diag(covariance))
print(f'w1 = {weights[0]:.1f} ± {errors[0]:.1f} mg/l,'
      f' w2 = {weights[1]:.3f} ± {errors[1]:.3f} per day')

# %% [markdown]
# What happens inside? If $w_2$ were known, $w_1$ would be a matter of [linear least squares](least_squares.ipynb). But $w_2$
# sits in the exponent. With the *residual* $\mathbf{r}(\mathbf{w}) = \mathbf{f}(\mathbf{w}) - \mathbf{y} \in \mathbb{R}^N$
# we look for the $\mathbf{w} \in \mathbb{R}^D$ that minimizes the loss
#
# ```{math}
# :label: nlls-loss
# L(\mathbf{w}) = \tfrac12 \|\mathbf{r}(\mathbf{w})\|^2 .
# ```
#
# Near $\mathbf{w}$ the residual is nearly linear: $\mathbf{r}(\mathbf{w} + \mathbf{p}) \approx \mathbf{r} +
# \mathbf{J}\mathbf{p}$ with the Jacobian $\mathbf{J} = \partial\mathbf{r} / \partial\mathbf{w}$, an $N \times D$ matrix. For
# the linear problem the best $\mathbf{p}$ is known. We take it, linearize again at the new place, and repeat. This is the
# **Gauss–Newton method**:
#
# ```{math}
# :label: nlls-gauss-newton
# \mathbf{J}^\top\mathbf{J}\, \mathbf{p} = -\mathbf{J}^\top\mathbf{r} , \qquad \mathbf{w} \leftarrow \mathbf{w} + \mathbf{p} .
# ```
#
# The program solves it by the pseudoinverse, which does not square the condition number. It accepts many starts at once, as
# leading axes, and does not make a step to numbers too large for the machine.

# %%
def gauss_newton(residual, jacobian, w, steps):  # -> (steps + 1, ..., D)
    path = [w]
    for _ in range(steps):
        r = residual(path[-1])[..., None]  # (..., N, 1)
        new = path[-1] - (pinv(jacobian(path[-1])) @ r)[..., 0]
        finite = np.isfinite(residual(new)).all(axis=-1, keepdims=True)
        path.append(np.where(finite, new, path[-1]))
    return np.array(path)

# %%
def rise(w, x):  # w (..., 2), x (N,) -> (..., N)
    return w[..., :1] * (1 - np.exp(-w[..., 1:] * x))

def rise_jacobian(w, x):  # (..., N, 2)
    e = np.exp(-w[..., 1:] * x)
    return np.stack([1 - e, w[..., :1] * x * e], axis=-1)

# %%
def oxygen_residual(w):
    return rise(w, days) - oxygen

def oxygen_jacobian(w):
    return rise_jacobian(w, days)

# %%
near, far = (gauss_newton(oxygen_residual, oxygen_jacobian, np.array(w), 30)
             for w in ([100, 0.75], [1., 1]))
for k in (0, 1, 2, 3, 30):
    print(f'near start, step {k:2}: w = {near[k, 0]:.1f}, {near[k, 1]:.3f}')
leap = far[0] - pinv(oxygen_jacobian(far[0])) @ oxygen_residual(far[0])
print(f'far start, step 1 would be: w = {leap[0]:.1f}, {leap[1]:.1f}')

# %% mystnb={"image": {"alt": "Six measured points rise from 109 to 224 mg per litre within ten days. The start, a curve that saturates at 100, lies far below them; the curve after one step passes under the first points and ends near the last; that of step 30 passes among them."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5, 2.8))
grid = np.linspace(0, 10.5, 100)
for k, style, name in ((0, ':', 'start'), (1, '--', 'step 1'),
                       (30, '-', 'step 30')):
    ax.plot(grid, rise(near[k], grid), style, label=name)
ax.plot(days, oxygen, 'o', color=GREY)
ax.set(xlabel='days', ylabel='oxygen used, mg/l')
ax.legend(loc='lower right');

# %% [markdown] tags=["caption"]
# From a start far below the data, one Gauss–Newton step comes most of the way, and the iteration converges to the
# least-squares curve.

# %% [markdown]
# From the near start the fit is good after three steps. From the far start, $\mathbf{w} = (1, 1)$, the first step would lead
# to a *negative* rate, a curve that explodes like $e^{92x}$.
#
# ### The Hessian, and what Gauss–Newton leaves out
#
# What has Newton to do with it? We differentiate {eq}`nlls-loss` once and once more:
#
# ```{math}
# :label: nlls-hessian
# \begin{gathered}
# \nabla L(\mathbf{w}) = \mathbf{J}^\top\mathbf{r} , \qquad \nabla^2 L(\mathbf{w}) = \mathbf{J}^\top\mathbf{J} + \mathbf{S} , \\
# \mathbf{S} = \sum_{n=1}^N r_n(\mathbf{w}) \, \nabla^2 r_n(\mathbf{w}) .
# \end{gathered}
# ```
#
# [Newton's method](../optimization/stationary_points.ipynb) would solve $(\mathbf{J}^\top\mathbf{J} +
# \mathbf{S})\mathbf{p} = -\mathbf{J}^\top\mathbf{r}$. Gauss–Newton leaves out $\mathbf{S}$. This saves all second
# derivatives, and it has an advantage: Newton's step may lead uphill where the Hessian is not positive definite.
#
# ```{prf:theorem} Gauss–Newton leads down
# :label: thm-nlls-descent
# Let $\mathbf{r}$ be differentiable at $\mathbf{w}$, let $\mathbf{J}$ have independent columns and $\nabla L(\mathbf{w}) \ne
# \mathbf{0}$. Then the step {eq}`nlls-gauss-newton` is a descent direction, with slope $\nabla L \cdot \mathbf{p} =
# -\|\mathbf{J}\mathbf{p}\|^2 < 0$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# $\nabla L \cdot \mathbf{p} =
# (\mathbf{J}^\top\mathbf{r})^\top\mathbf{p} = -(\mathbf{J}^\top\mathbf{J}\mathbf{p})^\top\mathbf{p} =
# -\|\mathbf{J}\mathbf{p}\|^2$. It is zero only if $\mathbf{J}\mathbf{p} = \mathbf{0}$, and then $\nabla L =
# -\mathbf{J}^\top\mathbf{J}\mathbf{p} = \mathbf{0}$.
# ```
#
# The theorem says that the *beginning* of the step leads down, and nothing about its end. So it does not protect us from the
# far start. The linear approximation is good nearby, but the step does not know how far.
#
# ```{exercise} ★ Program: the circle through a cloud
# :label: nlls-circle
# Points are scattered about half a circle or more. Write `circle(points)`, which gives centre and radius $(c_1, c_2, R)$
# such that the sum of the squared *distances* to the circle is least.
# ```

# %%
def circle(points):
    """Centre and radius of the best circle: a float array (3,).

    points: float array (N, 2), N >= 4, spread along half a circle or more,
    off it by up to a sixth of the radius. Errors of 1e-5 R do not matter.
    For points = [[1., 0.], [0., 1.], [-1., 0.], [0., -1.]] it is [0., 0., 1.].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def circle_by_scipy(points):
    middle = points.mean(axis=0)
    start = [*middle, norm(points - middle, axis=1).mean()]
    return least_squares(lambda w: norm(points - w[:2], axis=1) - w[2], start, method='lm', xtol=1e-12, ftol=1e-12).x

def a_cloud(seed):
    rng = np.random.default_rng(seed)
    N, R = rng.integers(4, 25), rng.choice([0.1, 1, 2, 50])
    arc = rng.choice([3.2, 4.5, 2 * np.pi * (1 - 1 / N)])
    turn = np.linspace(0, arc, N) + rng.uniform(-0.1, 0.1, N) + rng.uniform(0, 6)
    rim = rng.uniform(-5, 5, 2) + np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return R * (rim + rng.choice([0, 0.02, 0.05]) * rng.normal(size=rim.shape))

cases = dict(points=seeds().map(a_cloud))
limits = dict(tries=20, atol=1e-6, rtol=1e-5)
grade(circle, circle_by_scipy, **cases, **limits)

# %% [markdown]
# ```{solution-start} nlls-circle
# :class: dropdown
# ```
# The residual is $\|\mathbf{p}_n - \mathbf{c}\| - R$; its derivative by $\mathbf{c}$ is minus the unit vector from
# $\mathbf{c}$ to $\mathbf{p}_n$, its derivative by $R$ is $-1$. It is tempting to expand $\|\mathbf{p}\|^2 = 2\mathbf{c}
# \cdot \mathbf{p} + (R^2 - \|\mathbf{c}\|^2)$ and to solve for the brackets linearly. This *algebraic* fit needs no
# iteration, but it minimizes something else. On short arcs it favours small circles; it makes a good start. The second wrong
# answer takes the mean of the points for the centre, which is right for full circles only, and the third makes one step.

# %% jupyter={"source_hidden": true}
def circle_solution(points, steps=30):
    reach = lambda w: norm(points - w[:2], axis=1)
    slopes = lambda w: np.c_[(w[:2] - points) / reach(w)[:, None],
                             -np.ones(len(points))]
    start = np.append(points.mean(axis=0), 1.0)
    return gauss_newton(lambda w: reach(w) - w[2], slopes, start, steps)[-1]

def algebraic(points):
    A = np.c_[2 * points, np.ones(len(points))]
    a, b, c = lstsq(A, (points**2).sum(axis=1))[0]
    return np.array([a, b, np.sqrt(c + a**2 + b**2)])

def about_the_mean(points):
    middle = points.mean(axis=0)
    return np.append(middle, norm(points - middle, axis=1).mean())

def step_once(points):
    return circle_solution(points, steps=1)

assert grade(circle_solution, circle_by_scipy, **cases, **limits)
assert not grade(algebraic, circle_by_scipy, **cases, **limits)
assert not grade(about_the_mean, circle_by_scipy, **cases, **limits)
assert not grade(step_once, circle_by_scipy, **cases, **limits)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def second_order(w, x, r):  # S (2, 2), by hand
    e = np.exp(-w[1] * x)
    mixed, last = r @ (x * e), -w[0] * r @ (x**2 * e)
    return np.array([[0, mixed], [mixed, last]])

def random_fit(seed):  # x, y (8,), w (2,): far from a good fit
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 4, 8), rng.normal(size=8), rng.uniform(0.2, 2, 2)

def loss_by_torch(x, y):
    x, y = torch.tensor(x), torch.tensor(y)
    return lambda w: ((w[0] * (1 - torch.exp(-w[1] * x)) - y) ** 2).sum() / 2

def jacobian_is(seed, rule):
    x, _, w = random_fit(seed)
    model = lambda w: w[0] * (1 - torch.exp(-w[1] * torch.tensor(x)))
    return close(rule(w, x), jacrev(model)(torch.tensor(w)))

def derivatives_are(seed, second):
    x, y, w = random_fit(seed)
    r, J, L = rise(w, x) - y, rise_jacobian(w, x), loss_by_torch(x, y)
    return (close(J.T @ r, jacrev(L)(torch.tensor(w)))
            and close(J.T @ J + second(w, x, r), hessian(L)(torch.tensor(w))))

verify('the Jacobian is that of automatic differentiation',
       lambda seed: jacobian_is(seed, rise_jacobian),
       slip=('differentiates by w₂ and forgets the factor w₁',
             lambda seed: jacobian_is(
             seed, lambda w, x: rise_jacobian(w, x) / [1, w[0]])),
       seed=seeds(), tries=20)

verify('the Hessian is JᵀJ + S',
       lambda seed: derivatives_are(seed, second_order),
       slip=('forgets the second derivatives of the residuals',
             lambda seed: derivatives_are(seed, lambda *_: 0)),
       seed=seeds(), tries=15)

# %% tags=["checks"]
assert (far == far[0]).all()  # the step is never made
assert close(near[-1], weights, rtol=1e-5)

def leads_down(seed, second):
    x, y, w = random_fit(seed)
    r, J = rise(w, x) - y, rise_jacobian(w, x)
    p = -solve(J.T @ J + second(w, x, r), J.T @ r)
    values = [((rise(w + h * p, x) - y) ** 2).sum() / 2 for h in (-1e-5, 1e-5)]
    # the difference errs by 1e-10 times a third derivative
    return close((values[1] - values[0]) / 2e-5, -norm(J @ p) ** 2,
                 atol=1e-6, rtol=1e-6)

def one_step(seed, first):
    rng = np.random.default_rng(seed)
    X, y, w = rng.normal(size=(7, 3)), rng.normal(size=7), rng.normal(size=3)
    return close(first(X, y, w), lstsq(X, y)[0])

def steepest(X, y, w):
    g = X.T @ (X @ w - y)
    return w - g * (g @ g) / norm(X @ g) ** 2

verify('the slope along the step is -|Jp|²',
       lambda seed: leads_down(seed, lambda *_: 0),
       slip=("takes Newton's step",
             lambda seed: leads_down(seed, second_order)),
       seed=seeds())

verify('one step solves a linear problem',
       lambda seed: one_step(seed, lambda X, y, w: gauss_newton(
           lambda w: X @ w - y, lambda w: X, w, 1)[1]),
       slip=('takes one step of steepest descent',
             lambda seed: one_step(seed, steepest)),
       seed=seeds(), tries=60)

# %% [markdown]
# ## When does Gauss–Newton converge?
#
# This section continues [The Gauss–Newton method](#the-gaussnewton-method). The smallest example needs one weight. Let
# $\mathbf{f}(w) = (\cos w, \sin w)$ run round a circle of radius 1, and let $\mathbf{y} = (1 + d, 0)$ lie outside, at the
# distance $d$. The nearest point is $w = 0$, for every $d$. We start very near to it:

# %%
def on_circle(d):  # residual and Jacobian
    return (lambda w: np.concatenate([np.cos(w) - 1 - d, np.sin(w)]),
            lambda w: np.stack([-np.sin(w), np.cos(w)]))

# %%
for d in (0.3, 0.6, 0.9, 1.2):
    walk = gauss_newton(*on_circle(d), np.array([0.01]), 3)[:, 0]
    print(f'd = {d:.2f}:', ', '.join(f'{w:.5f}' for w in walk))

# %% [markdown]
# Each step lands on the other side, at $d$ times the distance. For $d > 1$ the method leaves the minimum, however
# near it starts. Indeed, $\mathbf{J}^\top\mathbf{J} = 1$ and $\mathbf{J}^\top\mathbf{r} = (1 + d)\sin w$, so a step is
#
# ```{math}
# :label: nlls-foot
# w \leftarrow w - (1 + d) \sin w \approx -d \cdot w .
# ```
#
# In the figure, a step replaces the circle by its tangent, drops the perpendicular from $\mathbf{y}$ onto the tangent, and
# goes round by the length found there.

# %% mystnb={"image": {"alt": "Left: a circle and a point outside of it at 0.6 radii; from a position on the circle a tangent is drawn to the foot of the perpendicular from the point. Right: distance from the minimum against the step on a logarithmic scale: falling straight lines for d of 0.3 and 0.9, a rising one for d of 1.2 that then levels off."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7, width_ratios=[1, 1.15])
turn = np.linspace(-1.3, 2.1, 200)
left.plot(np.cos(turn), np.sin(turn), color=GREY, lw=1)
w, aim = 1.1, np.array([1.6, 0])
here, ahead = (np.array([np.cos(v), np.sin(v)]) for v in (w, w + np.pi / 2))
drop = here - 1.6 * np.sin(w) * ahead
arc = np.linspace(w, w - 1.6 * np.sin(w), 50)
left.plot(*np.stack([here, drop, aim]).T, 'C0--', lw=1.2)
left.plot(np.cos(arc), np.sin(arc), 'C1', lw=2.5)
for place, mark, name, side in ((here, 'C0o', 'w', (0.06, 0.08)),
                                (aim, 'C2o', 'y', (0.1, -0.05))):
    left.plot(*place, mark)
    left.text(*(place + side), name, color=mark[:2], va='bottom')
left.plot(np.cos(arc[-1]), np.sin(arc[-1]), 'C1o')
left.set(title='One step', aspect='equal')
left.axis('off')
for d in (0.3, 0.9, 1.2):
    walk = abs(gauss_newton(*on_circle(d), np.array([0.01]), 30)[:, 0])
    right.semilogy(walk, label=f'd = {d}')
right.set(xlabel='step', ylabel='distance', ylim=(1e-9, 10),
          title='From the start 0.01')
right.legend(loc='lower right');

# %% [markdown] tags=["caption"]
# A Gauss–Newton step multiplies the distance to the minimum by about $d$, the distance of $\mathbf{y}$ from the circle of
# radius 1: beyond one radius the method leaves the minimum.

# %% [markdown]
# In general, the answer lies in the term $\mathbf{S}$ that was left out, a sum of *residuals times second derivatives*:
#
# ```{prf:theorem} Speed of Gauss–Newton
# :label: thm-nlls-rate
# Let $\mathbf{r}$ be three times continuously differentiable near $\mathbf{w}^*$, $\nabla L(\mathbf{w}^*) = \mathbf{0}$,
# and let $\mathbf{J} = \mathbf{J}(\mathbf{w}^*)$ have independent columns. Let $\rho$ be the largest absolute eigenvalue
# of $\mathbf{M} = (\mathbf{J}^\top\mathbf{J})^{-1}\mathbf{S}$. Then the errors
# $\mathbf{e}_t = \mathbf{w}_t - \mathbf{w}^*$ obey
#
# $$\mathbf{e}_{t+1} = -\mathbf{M}\,\mathbf{e}_t + O(\|\mathbf{e}_t\|^2) , \qquad
# \|\mathbf{J}\mathbf{e}_{t+1}\| \le \rho\, \|\mathbf{J}\mathbf{e}_t\| + O(\|\mathbf{e}_t\|^2) .$$
#
# If $\rho < 1$, the method converges from every start near enough. If $\mathbf{r}(\mathbf{w}^*) = \mathbf{0}$, it does so
# quadratically.
# ```
#
# ```{prf:proof}
# :class: dropdown
# A step maps $\mathbf{w}$ to $G(\mathbf{w}) = \mathbf{w} - (\mathbf{J}^\top\mathbf{J})^{-1} \nabla L(\mathbf{w})$, which
# is twice continuously differentiable. Differentiate at $\mathbf{w}^*$. The derivative of the inverse is multiplied by
# $\nabla L(\mathbf{w}^*) = \mathbf{0}$, and the derivative of $\nabla L$ is the Hessian {eq}`nlls-hessian`. So $G' =
# \mathbf{I} - (\mathbf{J}^\top\mathbf{J})^{-1}(\mathbf{J}^\top\mathbf{J} + \mathbf{S}) = -\mathbf{M}$, and Taylor's
# theorem gives the first formula. For the second let $\mathbf{J}^\top\mathbf{J} = \mathbf{R}^\top\mathbf{R}$. Then
# $\|\mathbf{J}\mathbf{e}\| = \|\mathbf{R}\mathbf{e}\|$, and $\mathbf{R}\mathbf{M}\mathbf{R}^{-1} =
# \mathbf{R}^{-\top}\mathbf{S}\mathbf{R}^{-1}$ is symmetric: its norm is its largest absolute eigenvalue, $\rho$. If
# $\rho < 1$, near $\mathbf{w}^*$ each step shrinks $\|\mathbf{J}\mathbf{e}\|$ by a factor below one. If
# $\mathbf{r} = \mathbf{0}$, then $\mathbf{S} = \mathbf{0}$ and only the square remains.
# ```
#
# On the circle, $\mathbf{M}$ is the length of the residual, $d$, times the curvature, 1. Gauss–Newton
# works if the data are nearer to the curve than its radius of curvature. In general the Hessian is
# $\mathbf{R}^\top(\mathbf{I} + \mathbf{R}\mathbf{M}\mathbf{R}^{-1})\mathbf{R}$ with $\mathbf{J}^\top\mathbf{J} =
# \mathbf{R}^\top\mathbf{R}$. So $\mathbf{w}^*$ is a strict minimum if all eigenvalues of $\mathbf{M}$ are above $-1$, and
# Gauss–Newton converges to it if they are in addition *below* $+1$.
#
# For the curve $w_1(1 - e^{-w_2x})$, the only entry of $\mathbf{S}$ at the minimum that is not zero is $S_{22}$: $w_1$
# enters linearly, and the mixed entries are multiples of the second component of $\mathbf{J}^\top\mathbf{r} = \mathbf{0}$.
# So $\mathbf{M}$ has the eigenvalues 0 and $\mu = (\mathbf{J}^\top\mathbf{J})^{-1}_{22} S_{22}$. We compare the forecast
# $-\mu$ with the steps for the bottles:

# %%
def rate(w, x, r):
    J = rise_jacobian(w, x)
    S_22 = -w[0] * r @ (x**2 * np.exp(-w[1] * x))
    return inv(J.T @ J)[1, 1] * S_22

# %%
best = near[-1]
forecast = -rate(best, days, oxygen_residual(best))
measured = (near[10, 1] - best[1]) / (near[9, 1] - best[1])
print(f'error per step: forecast {forecast:.3f}, measured {measured:.3f}')

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# It is easy to divide $S_{22}$ by the whole Hessian instead of $\mathbf{J}^\top\mathbf{J}$. This would give the factor $-\mu
# / (1 + \mu)$, which is close for small $\mu$ only:
# :::

# %%
for mu in (-forecast, 0.8, 2.0):
    print(f'mu = {mu:6.3f}: factor {-mu:6.3f}, mistaken {-mu / (1 + mu):6.3f}')

# %% [markdown]
# ```{exercise} ★★ Pencil: one weight fewer
# :label: nlls-projection
# In $y \approx b\,e^{-ct}$ the best $b$ for given $c$ is linear least squares, $b(c) = \boldsymbol\phi \cdot \mathbf{y} /
# \|\boldsymbol\phi\|^2$ with $\phi_n = e^{-ct_n}$. So only $c$ has to be searched for. Show that the Gauss–Newton step of
# both weights changes $c$ by $-\mathbf{d} \cdot \mathbf{r} / \|\mathbf{d}\|^2$, where $\mathbf{d}$ is $\partial\mathbf{f}
# / \partial c$ without its part along $\boldsymbol\phi$. Write `decay_rate(t, y)`, which gives the best
# $c$ in ten steps from $c = 0.5$, without any start for $b$.
# ```

# %%
def decay_rate(t, y):
    """The rate c of the least-squares curve b * exp(-c * t): a float.

    t: float array (N,), N >= 8, from 0 to 3. y: float array (N,), near a curve
    with c between 0.2 and 1.5, and b of either sign. At most 100 lines may
    run. For y = -2 * exp(-0.9 * t) the result is 0.9.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def decay_by_scipy(t, y):
    start = [np.sign(y[0]) * abs(y).max(), 0.5]
    return least_squares(lambda w: w[0] * np.exp(-w[1] * t) - y, start, method='lm', xtol=1e-12, ftol=1e-12).x[1]

def near_a_decay(t):
    def noisy(seed):
        rng = np.random.default_rng(seed)
        b, c = rng.choice([-1, 1]) * rng.uniform(1, 5), rng.uniform(0.2, 1.5)
        return b * np.exp(-c * t) + rng.choice([0, 0.03, 0.05]) * rng.normal(size=len(t))
    return seeds().map(noisy)

cases = dict(t=vectors((6, 14), 0, 3).map(lambda t: np.array([0, *np.sort(t), 3])), y=near_a_decay)
limits = dict(tries=30, atol=1e-6, rtol=1e-5, lines=100)
grade(decay_rate, decay_by_scipy, **cases, **limits)

# %% [markdown]
# ```{solution-start} nlls-projection
# :class: dropdown
# ```
# In a linear least-squares problem a coefficient is found from its column after removing what the other columns explain
# of it. Here the columns are $\boldsymbol\phi$ and $\partial\mathbf{f} / \partial c = -b\,t\,\boldsymbol\phi$, and
# $\mathbf{r}$ is at right angles to $\boldsymbol\phi$ already, because $b$ is best. With the exact derivative of
# $\mathbf{r}(b(c), c)$ in place of $\mathbf{d}$ this is *variable projection* {cite}`golub1973differentiation`. It is
# tempting to fit a straight line to the logarithms. That is another problem: there an error in a small $y$ weighs as much as
# a hundred times larger one in a $y$ that is a hundred times larger. The second wrong answer keeps the part along
# $\boldsymbol\phi$, and its steps are too short for ten to suffice. The third never adapts $b$ to the new $c$.

# %% jupyter={"source_hidden": true}
def decay_rate_solution(t, y):
    c = 0.5
    for _ in range(10):
        phi = np.exp(-c * t)
        b = phi @ y / (phi @ phi)
        d = -b * t * phi
        d = d - phi * (phi @ d) / (phi @ phi)
        c -= d @ (b * phi - y) / (d @ d)
    return c

def by_logarithms(t, y):
    return -np.polyfit(t, np.log(abs(y) + 1e-300), 1)[0]

def part_kept(t, y):
    c = 0.5
    for _ in range(10):
        phi = np.exp(-c * t)
        b = phi @ y / (phi @ phi)
        c -= (-b * t * phi) @ (b * phi - y) / ((b * t * phi) @ (b * t * phi))
    return c

def first_b_kept(t, y):
    c, phi = 0.5, np.exp(-0.5 * t)
    b = phi @ y / (phi @ phi)
    for _ in range(10):
        d = -b * t * np.exp(-c * t)
        c -= d @ (b * np.exp(-c * t) - y) / (d @ d)
    return c

assert grade(decay_rate_solution, decay_by_scipy, **cases, **limits)
assert not grade(by_logarithms, decay_by_scipy, **cases, **limits)
assert not grade(part_kept, decay_by_scipy, **cases, **limits)
assert not grade(first_b_kept, decay_by_scipy, **cases, **limits)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def foot_found(d):  # 300 steps from a start near the minimum
    path = gauss_newton(*on_circle(d), np.array([0.01]), 300)
    return abs(path[-1, 0]) < 1e-13  # 0.01 · 0.9^300 is 2e-16

verify('the walk round the circle is w - (1 + d) sin w',
       lambda w, d: close(gauss_newton(*on_circle(d), np.array([w]), 1)[1],
                          [w - (1 + d) * np.sin(w)]),
       slip=('forgets the radius in the distance from the centre',
             lambda w, d: close(
             gauss_newton(*on_circle(d), np.array([w]), 1)[1],
             [w - d * np.sin(w)])),
       w=scalars(-3, 3), d=scalars(0, 3), tries=60)

verify('the foot is found nearer than one radius, fled beyond',
       lambda d: foot_found(d) == (d < 1),
       slip=('lets the limit be two radii',
             lambda d: foot_found(d) == (d < 2)),
       d=[0, 0.3, 0.6, 0.9, 1.1, 1.5, 2.5])

def planted(seed, mu):  # x, y (8,), w: a minimum with that rate
    rng = np.random.default_rng(seed)
    x, w = np.arange(1, 9.), rng.uniform([50, 0.2], [300, 0.6])
    J, r = rise_jacobian(w, x), rng.normal(size=8)
    r = r - J @ (pinv(J) @ r)
    return x, rise(w, x) - mu / rate(w, x, r) * r, w

def walk_near(seed, mu, off, steps):  # errors of w, a start off by that part
    x, y, w = planted(seed, mu)
    path = gauss_newton(lambda v: rise(v, x) - y,
                        lambda v: rise_jacobian(v, x), w * (1 + off), steps)
    return path - w

def factor_is(seed, mu, forecast):
    e = walk_near(seed, mu, 1e-5, 2)[:, 1]
    return close(e[2] / e[1], forecast(mu), rtol=0, atol=5e-3)

def order_is(seed, mu, order):
    one, two = (norm(walk_near(seed, mu, off, 1)[1] / [100, 1])
                for off in (1e-3, 5e-4))
    return abs(np.log2(one / two) - order) < 0.05

verify('each step multiplies the error by -μ',
       lambda seed, mu: factor_is(seed, mu, lambda mu: -mu),
       slip=('divides by the whole Hessian',
             lambda seed, mu: factor_is(
             seed, mu, lambda mu: -mu / (1 + mu))),
       seed=seeds(), mu=[-0.7, 0.3, 0.8, 2.0], tries=40)

verify('the order is two without residual, else one',
       lambda seed, mu: order_is(seed, mu, 2 if mu == 0 else 1),
       slip=('expects order two although a residual remains',
             lambda seed, mu: order_is(seed, mu, 2)),
       seed=seeds(), mu=[0, 0.5, 0.8], tries=40)

verify(
    'the factor of the errors is as forecast',
    lambda: bool(abs(forecast / measured - 1) < 0.01),
    slip=('divides by 1 + µ', lambda: bool(abs(forecast / (1 - forecast) / measured - 1) < 0.01)),
)

# %% [markdown]
# ## Levenberg–Marquardt: damped steps
#
# This section continues [When does Gauss–Newton converge?](#when-does-gaussnewton-converge). Gauss–Newton fails from far
# starts because its steps are too long, and it can leave a minimum next to which it starts. One change mends both. The idea
# is to penalize the length of the step: minimize $\|\mathbf{r} + \mathbf{J}\mathbf{p}\|^2 + \lambda
# \|\mathbf{D}\mathbf{p}\|^2$ with $\lambda > 0$ and a diagonal matrix $\mathbf{D}$ of positive numbers. The solution is
#
# ```{math}
# :label: nlls-damped
# \mathbf{p}(\lambda) = -\big(\mathbf{J}^\top\mathbf{J} + \lambda\mathbf{D}^2\big)^{-1} \mathbf{J}^\top\mathbf{r} ,
# ```
#
# and it is again linear least squares, with $D$ more rows: $\sqrt\lambda\,\mathbf{D}$ below $\mathbf{J}$, zeros below
# $-\mathbf{r}$.

# %%
def damped_step(J, r, lam, scale):  # (..., N, D), (..., N), (...), (..., D)
    D = scale[..., None] * np.eye(J.shape[-1], dtype=J.dtype)  # diagonal
    rows = np.sqrt(lam)[..., None, None] * D
    Q, R = qr(np.concatenate([J, rows], axis=-2))
    top = np.swapaxes(Q[..., :r.shape[-1], :], -1, -2)
    return -solve(R, top @ r[..., None])[..., 0]

# %% [markdown]
# This is the **Levenberg–Marquardt method** {cite}`levenberg1944method,marquardt1963algorithm`. It lies between
# Gauss–Newton and gradient descent:
#
# ```{prf:theorem} From Gauss–Newton to gradient descent
# :label: thm-nlls-bridge
# Let $\mathbf{g} = \mathbf{J}^\top\mathbf{r} \ne \mathbf{0}$ and lengths be measured as $\|\mathbf{D}\mathbf{p}\|$.
# (a) Among *all* steps that are no longer than $\mathbf{p}(\lambda)$, it alone makes $\|\mathbf{r} +
# \mathbf{J}\mathbf{p}\|$ smallest. (b) Its length falls strictly as $\lambda$ grows. (c) For $\lambda \to
# \infty$ it becomes a short step of gradient descent, $\lambda\,\mathbf{p}(\lambda) \to -\mathbf{D}^{-2}\mathbf{g}$, and
# the angle between the two never grows on the way; if $\mathbf{J}$ has independent columns, it becomes the Gauss–Newton
# step for $\lambda \to 0$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Write $\mathbf{J}\mathbf{D}^{-1}$ for $\mathbf{J}$ and $\mathbf{D}\mathbf{p}$ for $\mathbf{p}$; then $\mathbf{D} =
# \mathbf{I}$. (a) Let $\|\mathbf{q}\| \le \|\mathbf{p}(\lambda)\|$ and $\mathbf{q} \ne \mathbf{p}(\lambda)$. Since
# $\mathbf{p}(\lambda)$ is the only minimizer with the penalty, $\|\mathbf{r} + \mathbf{J}\mathbf{p}(\lambda)\|^2 +
# \lambda\|\mathbf{p}(\lambda)\|^2 < \|\mathbf{r} + \mathbf{J}\mathbf{q}\|^2 + \lambda\|\mathbf{q}\|^2$. Here the penalty of
# $\mathbf{q}$ is no larger, so its fit must be worse. (b) Let $\mathbf{v}_i$ be the right singular vectors of $\mathbf{J}$,
# $s_i$ the singular values, $g_i = \mathbf{v}_i \cdot \mathbf{g}$ and $\pi_k = \sum_i g_i^2 / (s_i^2 + \lambda)^k$. Then
# $\mathbf{p}(\lambda) = -\sum_i \mathbf{v}_i\, g_i / (s_i^2 + \lambda)$ and $\|\mathbf{p}(\lambda)\|^2 = \pi_2$, each term
# of which falls. (c) The limits can be read off. The cosine of the angle is $\pi_1 / (\|\mathbf{g}\|\sqrt{\pi_2})$, and as
# $\pi_k' = -k\,\pi_{k+1}$, its logarithm has the derivative $-\pi_2 / \pi_1 + \pi_3 / \pi_2$, which is not negative because
# $\pi_2^2 \le \pi_1\pi_3$ by the Cauchy–Schwarz inequality.
# ```
#
# So $\lambda$ acts as a limit on the length of the step (the steps within it are called the *trust region*).
# The best short step is neither the Gauss–Newton step shortened nor the gradient.
#
# **How large should $\lambda$ be?** We compare what a step has gained with what the linear approximation promised,
#
# ```{math}
# :label: nlls-gain
# \gamma = \frac{\|\mathbf{r}(\mathbf{w})\|^2 - \|\mathbf{r}(\mathbf{w} + \mathbf{p})\|^2}{\|\mathbf{r}(\mathbf{w})\|^2 -
# \|\mathbf{r}(\mathbf{w}) + \mathbf{J}\mathbf{p}\|^2} .
# ```
#
# If nothing was gained, the step is taken back. If more than three quarters of the promise were kept, $\lambda$ is
# divided by three, and if not even one quarter was, it is doubled. As $\lambda \to \infty$, $\gamma \to 1$, so after
# finitely many refusals the loss falls, and it never rises. (That the limit points are stationary we do not prove; see
# {cite}`more1978levenberg`.)
#
# **And $\mathbf{D}$?** Each entry is the length of the column of $\mathbf{J}$, the longest met so far. If $w_1$ is measured
# in grams instead of milligrams, its column is multiplied by a thousand and so is its entry of $\mathbf{D}$: in
# $\mathbf{D}\mathbf{p}$ and $\mathbf{J}\mathbf{p}$ the unit cancels, and the path is the same in all units.

# %%
def squares(r):  # (..., N) -> (...)
    return (r**2).sum(axis=-1)

def column_lengths(J):
    return norm(J, axis=-2)

# %%
def levenberg_marquardt(residual, jacobian, w, steps, *,
                        first=1000, rule=column_lengths):
    path, lams, scale = [w], [first + 0 * w[..., 0]], 0.0
    for _ in range(steps):
        r, J, lam = residual(w), jacobian(w), lams[-1]
        scale = np.maximum(scale, rule(J))
        p = damped_step(J, r, lam.astype(r.dtype), scale)
        promise = squares(r) - squares(r + (J @ p[..., None])[..., 0])
        fall = squares(r) - squares(residual(w + p))
        w = np.where((fall > 0)[..., None], w + p, w)
        good, bad = fall > 0.75 * promise, ~(fall > 0.25 * promise)
        factor = np.where(good, 1 / 3, np.where(bad, 2, 1))
        lams.append((lam * factor).astype(r.dtype))
        path.append(w)
    return np.array(path), np.array(lams)

# %% [markdown]
# How many of $25^2 = 625$ starts, spread over four powers of ten for $w_1$ and over two for $w_2$, lead to the best fit of
# the bottles? We try a small and a large $\lambda$ at the beginning:

# %%
def damped_end(*problem, first=1000):
    return levenberg_marquardt(*problem, 100, first=first)[0][-1]

bottles = oxygen_residual, oxygen_jacobian
starts = np.stack(np.meshgrid(np.geomspace(0.1, 1000, 25),
                              np.geomspace(0.03, 3, 25)), axis=-1)
ends = {'Gauss–Newton': gauss_newton(*bottles, starts, 30)[-1],
        'damped, λ = 1 at first': damped_end(*bottles, starts, first=1),
        'damped, λ = 1000 at first': damped_end(*bottles, starts)}

# %%
reached = {name: (abs(end / best - 1) < 1e-3).all(axis=-1)
           for name, end in ends.items()}
for name, there in reached.items():
    print(f'{name}: about {10 * there.mean():.0f} of ten starts arrive')

# %% tags=["hide-input"]
far_path, far_lambdas = levenberg_marquardt(*bottles, np.array([1., 1]), 18)
for k in (6, 9, 12):
    print(f'from the far start, {k} damped steps:', far_path[k].round(3))
start, eta = np.array([120, 1.2]), 1 / norm(oxygen_jacobian(best), 2) ** 2
descent = [start]
for _ in range(500):
    slope = oxygen_jacobian(descent[-1]).T @ oxygen_residual(descent[-1])
    descent.append(descent[-1] - eta * slope)
paths = {'descent': np.array(descent),
         'Gauss–Newton': gauss_newton(*bottles, start, 1),
         'damped': levenberg_marquardt(*bottles, start, 60)[0]}
risen = [squares(oxygen_residual(path[-1])) for path in paths.values()]
print('squares after 500 steps of descent, over the least:',
      f'{risen[0] / risen[2]:.0f}')
a, b = np.meshgrid(np.linspace(80, 300, 120), np.linspace(0.1, 1.6, 120))
surface = np.log10(squares(oxygen_residual(np.stack([a, b], axis=-1))))

# %% mystnb={"image": {"alt": "Left: oval contours of the loss about a star. From one start the damped path climbs round the bend of the valley and ends at the star; the Gauss–Newton step shoots across the valley out of the picture; descent goes straight up and leaves it too. Right: starts on two logarithmic axes. Gauss–Newton fails on most of the plane, the damped method with a small first λ in a band at the left."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3.3)
left.contour(a, b, surface, 14, colors=GREY, linewidths=0.5)
for (name, path), color in zip(paths.items(), ('C3', 'C1', 'C0'),
                               strict=True):
    left.plot(*path.T, '.-', color=color, label=name, lw=1.2)
left.set(xlabel='w₁, mg/l', ylabel='w₂, 1/day', title='Three paths',
         xlim=(80, 300), ylim=(0.1, 1.6))
for name, mark, size in (('Gauss–Newton', 'C1.', 3),
                         ('damped, λ = 1 at first', 'C0o', 5.5)):
    right.plot(*starts[~reached[name]].T, mark, mfc='none', ms=size,
               label=name)
right.set(xlabel='w₁, mg/l', ylabel='w₂, 1/day', title='Starts that fail',
          xscale='log', yscale='log')
for ax in (left, right):
    ax.plot(*best, '*', color='C2', ms=11, zorder=4)
    ax.legend(loc='upper center', bbox_to_anchor=(0.5, -0.2));

# %% [markdown] tags=["caption"]
# Left: from one start, descent goes in a wrong direction and Gauss–Newton steps too far; the damped method follows the
# valley to the best fit. Right: of the starts $(w_1, w_2)$, most fail with Gauss–Newton, about a third with damping and
# $\lambda = 1$ at first.

# %% mystnb={"image": {"alt": "Two curves on a logarithmic axis against the step, from the far start. The damping falls along a straight line from a thousand to a millionth. The excess of the squares stays level for six steps, falls off, and then sinks along a line down to a thousandth of a millionth."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5, 2.5))
excess = squares(oxygen_residual(far_path)) - squares(oxygen_residual(best))
ax.semilogy(excess, '.-', label='squares above the least, (mg/l)²')
ax.semilogy(far_lambdas, '.-', label='damping λ')
ax.set(xlabel='step, from the far start', xticks=range(0, 19, 3))
ax.legend();

# %% [markdown] tags=["caption"]
# From the far start, with a large first $\lambda$, about six short steps change little. Then, as $\lambda$ falls, the
# squares quickly fall to their least value.

# %% [markdown]
# Even with damping, about a third of the starts fail if $\lambda = 1$ at first. Where $w_1$ is tiny, the curve hardly
# depends on $w_2$, so a change of $w_2$ costs nothing, and the first steps make it so large that $e^{-w_2x}$ is zero at all
# measured times. There the curve is a constant, its best value is the mean of the measurements, 172.5, and the slope in
# $w_2$ vanishes, so no local method comes back. The same happens to a famous library. Scipy's `leastsq` calls MINPACK. Its
# first limit on the step is `factor` times the length of the start, 100 by default; with 1 it arrives. **Begin with short
# steps.**

# %%
for factor in (100, 1):
    theirs = leastsq(oxygen_residual, [1, 1], Dfun=oxygen_jacobian,
                     factor=factor)[0]
    print(f'scipy, far start, factor {factor}: w1 = {theirs[0]:.1f},',
          f'w2 = {theirs[1]:.2f}')

# %% [markdown]
# Why does damping also repair the second failure, where Gauss–Newton leaves a minimum next to which it starts? With
# $\mathbf{A} = \mathbf{J}^\top\mathbf{J}$ and a fixed $\lambda$, the derivative of the step map at a minimum is, as in the
# proof of {prf:ref}`thm-nlls-rate`, $\mathbf{I} - (\mathbf{A} + \lambda\mathbf{D}^2)^{-1}(\mathbf{A} + \mathbf{S})$. If the
# Hessian $\mathbf{A} + \mathbf{S}$ is positive definite, the eigenvalues $\mu_i$ of this derivative are real and below 1,
# and they are above $-1$ if and only if $2(\mathbf{A} + \lambda\mathbf{D}^2) - (\mathbf{A} + \mathbf{S})$ is positive
# definite, too. That is,
#
# ```{math}
# :label: nlls-enough
# \max_i |\mu_i| < 1 \iff \mathbf{S} \prec \mathbf{A} + 2\lambda\mathbf{D}^2 .
# ```
#
# So the method converges to every minimum with a positive definite Hessian from nearby, if $\lambda$ is large enough.
#
# ```{exercise} ★★★ Program: turn one cloud into another
# :label: nlls-rotation
# Points $\mathbf{p}_n$ were turned about the origin and measured with errors as $\mathbf{q}_n$. Find the rotation
# $\mathbf{R}$ for which $\sum_n \|\mathbf{R}\mathbf{p}_n - \mathbf{q}_n\|^2$ is least, by Gauss–Newton. Nine entries with
# six conditions are clumsy weights. Take the step in three free numbers instead, $\mathbf{R} \leftarrow \mathbf{R}\,
# e^{[\boldsymbol\omega]_\times}$, a turn about the axis $\boldsymbol\omega$ by the angle $\|\boldsymbol\omega\|$, which is
# `Rotation.from_rotvec(omega).as_matrix()`. Write `turn_onto(P, Q)`.
# ```

# %%
def turn_onto(P, Q):
    """The rotation matrix R: a float array (3, 3).

    P, Q: float arrays (N, 3), N >= 3, the points before and after; P may lie
    in a plane, but not on a line. The turn is by less than 2.1. No SVD and no
    align_vectors. For Q = P the result is the identity.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def turn_by_scipy(P, Q):
    return Rotation.align_vectors(Q, P)[0].as_matrix()

def a_cloud_of_three_axes(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rng.integers(3, 11), 3)) * [1, 1, rng.choice([0, 0.03, 1])]

def turned_and_measured(P):
    def after(seed):
        rng = np.random.default_rng(seed)
        axis = rng.normal(size=3)
        Q = Rotation.from_rotvec(rng.choice([0, 0.5, 1.5, 2]) * axis / norm(axis)).apply(P)
        return Q + rng.choice([0, 0.03]) * rng.normal(size=Q.shape)
    return seeds().map(after)

cases = dict(P=seeds().map(a_cloud_of_three_axes), Q=turned_and_measured)
ruled_out = 'scipy.spatial.transform.Rotation.align_vectors', 'numpy.linalg.svd', 'scipy.linalg.svd'
limits = dict(tries=20, atol=1e-6, without=ruled_out)
grade(turn_onto, turn_by_scipy, **cases, **limits)

# %% [markdown]
# ```{solution-start} nlls-rotation
# :class: dropdown
# ```
# For small $\boldsymbol\omega$, $\mathbf{R}\,e^{[\boldsymbol\omega]_\times}\mathbf{p} \approx \mathbf{R}(\mathbf{p} +
# \boldsymbol\omega \times \mathbf{p}) = \mathbf{R}\mathbf{p} - \mathbf{R}[\mathbf{p}]_\times\boldsymbol\omega$, so the three
# rows of the Jacobian that belong to $\mathbf{p}$ are $-\mathbf{R}[\mathbf{p}]_\times$. Its columns are
# $\mathbf{R}(\mathbf{e}_i \times \mathbf{p})$. The weights are always three numbers near zero; the place about which they
# are small moves along. It is tempting to fit any matrix by linear least squares and to make its columns orthonormal
# afterwards, but this minimizes something else, and fails for points in a plane. The second wrong answer turns
# backwards, the third makes a single step, and the fourth asks the library.

# %% jupyter={"source_hidden": true}
def turn_onto_solution(P, Q, steps=30):
    R = np.eye(3)
    for _ in range(steps):
        r = (P @ R.T - Q).ravel()
        J = np.stack([(np.cross(e, P) @ R.T).ravel() for e in np.eye(3)], 1)
        R = R @ Rotation.from_rotvec(-pinv(J) @ r).as_matrix()
    return R

def repaired_afterwards(P, Q):
    U, R = qr(lstsq(P, Q)[0].T)
    return U * np.sign(np.diag(R))

def backwards(P, Q):
    return turn_onto_solution(Q, P)

def a_single_step(P, Q):
    return turn_onto_solution(P, Q, steps=1)

def by_the_library(P, Q):
    return Rotation.align_vectors(Q, P)[0].as_matrix()

assert grade(turn_onto_solution, turn_by_scipy, **cases, **limits)
assert not grade(repaired_afterwards, turn_by_scipy, **cases, **limits)
assert not grade(backwards, turn_by_scipy, **cases, **limits)
assert not grade(a_single_step, turn_by_scipy, **cases, **limits)
assert not grade(by_the_library, turn_by_scipy, **cases, **limits)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def random_step(seed):  # J (6, 3), r (6,), scale (3,), price
    rng = np.random.default_rng(seed)
    J, r = rng.normal(size=(6, 3)), rng.normal(size=6)
    return J, r, 10 ** rng.uniform(-1, 1, 3), 10 ** rng.uniform(-2, 1)

def best_on_leash(seed, choice):
    J, r, scale, lam = random_step(seed)
    p = damped_step(J, r, lam, scale)
    normal = solve(J.T @ J + lam * np.diag(scale**2), -J.T @ r)
    ball = np.random.default_rng(seed).normal(size=(3, 1000))
    others = np.c_[-pinv(J) @ r, -J.T @ r / scale**2, p, ball]
    others *= norm(scale * p) / norm(scale[:, None] * others, axis=0)
    fits = norm(r[:, None] + J @ others, axis=0)
    return close(p, normal) and fits[choice] <= fits.min() + 1e-12

def is_bridge(seed, measure):
    J, r, scale, _ = random_step(seed)
    lams = 10.0 ** np.arange(-14, 15)
    steps = np.array([damped_step(J, r, lam, scale) for lam in lams])
    ends = [-pinv(J) @ r, -J.T @ r / scale**2]
    limits = close(steps[0], ends[0]) and close(lams[-1] * steps[-1], ends[1])
    z, down = steps * measure(scale), ends[1] * measure(scale)
    cosine = z @ down / (norm(z, axis=1) * norm(down))
    shorter = (np.diff(norm(z, axis=1)) < 1e-12).all()
    return limits and shorter and (np.diff(cosine) > -1e-12).all()
verify('the damped step is the best of its length',
       lambda seed: best_on_leash(seed, 2),
       slip=('shortens the Gauss–Newton step or the gradient',
             lambda seed: best_on_leash(seed, 0) or best_on_leash(seed, 1)),
       seed=seeds(), tries=60)

verify('length and angle to the gradient fall as λ grows',
       lambda seed: is_bridge(seed, lambda scale: scale),
       slip=('measures lengths without the matrix D',
             lambda seed: is_bridge(seed, lambda scale: 1)),
       seed=seeds(), tries=60)

def decay_jacobian(w, t):
    e = np.exp(-w[..., 1:2] * t)
    return np.stack([e, -w[..., :1] * t * e, np.ones_like(e)], axis=-1)

def decay(w, t):  # w (..., 3) = a, b, c
    return w[..., :1] * np.exp(-w[..., 1:2] * t) + w[..., 2:]

def decay_problem(seed):  # residual, Jacobian, poor start
    rng = np.random.default_rng(seed)
    t, true = np.linspace(0, 4, 15), rng.uniform([2, 0.5, -1], [5, 1.5, 1])
    y = decay(true, t) + rng.normal(0, 0.1, 15)
    return (lambda w: decay(w, t) - y, lambda w: decay_jacobian(w, t),
            np.array([1, rng.uniform(0.05, 4), 0]))

def plain_end(*problem):
    return gauss_newton(*problem, 60)[-1]

# %% tags=["checks"]
def as_scipy(seed, end):
    residual, jacobian, w = decay_problem(seed)
    theirs = least_squares(residual, w, jacobian, method='lm',
                           xtol=1e-14, ftol=1e-14).x
    # a loss is flat to 1e-16 within some 1e-8 of its minimum
    return close(end(residual, jacobian, w), theirs, atol=2e-7, rtol=2e-7)

def same_in_units(seed, rule):
    residual, jacobian, w = decay_problem(seed)
    unit = np.array([1000, 1 / 60, 4])
    path, _ = levenberg_marquardt(residual, jacobian, w, 6, rule=rule)
    other, _ = levenberg_marquardt(lambda v: residual(v / unit),
                                   lambda v: jacobian(v / unit) / unit,
                                   w * unit, 6, rule=rule)
    return close(other / unit, path)

def planted_found(seed, end):
    x, y, w = planted(seed, 2.0)
    return close(end(lambda v: rise(v, x) - y, lambda v: rise_jacobian(v, x),
                     w * 1.05), w, rtol=1e-5)
verify("from poor starts, scipy's weights",
       lambda seed: as_scipy(seed, damped_end),
       slip=('takes Gauss–Newton steps',
             lambda seed: as_scipy(seed, plain_end)),
       seed=seeds(), tries=40)

verify('the path does not depend on units',
       lambda seed: same_in_units(seed, column_lengths),
       slip=('takes the identity for D',
             lambda seed: same_in_units(seed, lambda J: np.ones(3))),
       seed=seeds(), tries=60)

verify('minima from which Gauss-Newton flees are found',
       lambda seed: planted_found(seed, damped_end),
       slip=('takes Gauss–Newton steps',
             lambda seed: planted_found(seed, plain_end)),
       seed=seeds(), tries=40)

def attracts(seed, lam_of):
    x, y, w = planted(seed, 3.0)
    J, S = rise_jacobian(w, x), second_order(w, x, rise(w, x) - y)
    D = column_lengths(J)
    lam, least = lam_of(eigvalsh((S - J.T @ J) / np.outer(D, D))[-1])
    v = w * (1 + 1e-6)
    for _ in range(100):
        v = v + damped_step(rise_jacobian(v, x), rise(v, x) - y, lam, D)
    return (norm((v - w) / w) < 1e-8) == (lam > least)  # from 1.4e-6

verify('a fixed λ attracts if S < A + 2λD², not if S exceeds it',
       lambda seed, part: attracts(seed, lambda top: (part * top, top / 2)),
       slip=('forgets the factor 2 of λD²',
             lambda seed, part: attracts(
             seed, lambda top: (part * top, top))),
       seed=seeds(), part=[0.3, 0.45, 0.55, 0.8], tries=40)

# %% tags=["checks"]
def decay_by_torch(v, t):
    return v[0] * torch.exp(-v[1] * torch.tensor(t)) + v[2]

for at in ([3., 0.7, -1], [0.5, 2.5, 4]):
    times, at = np.array([0.3, 1, 2.2]), np.array(at)
    assert close(decay_jacobian(at, times), jacrev(
        lambda v: decay_by_torch(v, times))(torch.tensor(at)))
assert reached['damped, λ = 1000 at first'].all()
assert risen[0] > 5 * risen[2]
assert close(paths['damped'][-1], best, atol=0, rtol=1e-8)

verify(
    'more damping at first lets more starts arrive',
    lambda i: bool(np.diff([there.mean() for there in reached.values()])[i] > 0.1),
    slip=('says that fewer do', lambda i: bool(np.diff([there.mean() for there in reached.values()])[i] < 0)),
    i=[0, 1],
)

# %% [markdown]
# ## Standard errors and confidence regions
#
# This section continues [Levenberg–Marquardt: damped steps](#levenbergmarquardt-damped-steps). How sure are we of the
# weights? Suppose the curve is right, $\mathbf{y} = \mathbf{f}(\mathbf{w}^\circ) + \boldsymbol\epsilon$ with independent
# errors of mean zero and variance $\sigma^2$, and let $\hat{\mathbf{w}}$ be the fit. Near $\mathbf{w}^\circ$ the residual is
# $\mathbf{r}(\hat{\mathbf{w}}) \approx \mathbf{J}(\hat{\mathbf{w}} - \mathbf{w}^\circ) - \boldsymbol\epsilon$, and
# $\mathbf{J}^\top\mathbf{r}(\hat{\mathbf{w}}) = \mathbf{0}$. So $\hat{\mathbf{w}} - \mathbf{w}^\circ \approx \mathbf{J}^+
# \boldsymbol\epsilon$ as in the linear case, and
#
# ```{math}
# :label: nlls-covariance
# \operatorname{Cov}(\hat{\mathbf{w}}) \approx \sigma^2 (\mathbf{J}^\top\mathbf{J})^{-1} , \qquad
# \mathbb{E}\bigg[ \frac{\|\mathbf{r}(\hat{\mathbf{w}})\|^2}{N - D} \bigg] \approx \sigma^2 .
# ```
#
# So $\sigma^2$ is estimated by the quotient in the bracket, $s^2$. The divisor is $N - D$ because what is left of
# $\boldsymbol\epsilon$ lies at right angles to the $D$ columns of $\mathbf{J}$. Both statements become exact as $\sigma \to
# 0$. The *standard error* of $\hat w_j$ is the root of a diagonal element of $s^2(\mathbf{J}^\top\mathbf{J})^{-1}$. With
# $\mathbf{J} = \mathbf{Q}\mathbf{R}$ it is $s$ times the length of row $j$ of $\mathbf{R}^{-1}$.

# %%
def standard_errors(J, r):  # (..., N, D), (..., N) -> (..., D)
    s2 = squares(r) / (J.shape[-2] - J.shape[-1])
    return np.sqrt(s2[..., None] * squares(inv(qr(J)[1])))

# %% [markdown]
# The institute has certified weights *and* standard errors of the bottles; of a dental study, the volume adsorbed at 14
# pressures, with the same curve; and of the resistance of a thermistor at 16 temperatures, $w_1 e^{w_2 / (x + w_3)}$, which
# is difficult because its three weights are of the order of a hundredth, ten thousand and a hundred. Damped steps bring us
# near, and twelve of Gauss–Newton finish the work.

# %% tags=["hide-input"]
pressure = np.array([77.6, 114.9, 141.1, 190.8, 239.9, 289, 332.8,
                     378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760])
volume = np.array([10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02,
                   44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78])
degrees = np.arange(50, 126, 5)
ohm = np.array([34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744,
                8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872])

def thermistor(w, x):
    return w[..., :1] * np.exp(w[..., 1:2] / (x + w[..., 2:]))

def thermistor_jacobian(w, x):
    f, shifted = thermistor(w, x), x + w[..., 2:]
    return np.stack([f / w[..., :1], f / shifted,
                     -w[..., 1:2] * f / shifted**2], axis=-1)

tables = {  # model, Jacobian, x, y, start, certified weights and errors
    'bottles': (rise, rise_jacobian, days, oxygen, [1., 1],
                [2.1380940889e2, 5.4723748542e-1],
                [1.2354515176e1, 1.0455993237e-1]),
    'dental study': (rise, rise_jacobian, pressure, volume, [500, 1e-4],
                     [2.3894212918e2, 5.5015643181e-4],
                     [2.7070075241e0, 7.2668688436e-6]),
    'thermistor': (thermistor, thermistor_jacobian, degrees, ohm,
                   [0.02, 4000, 250],
                   [5.6096364710e-3, 6.1813463463e3, 3.4522363462e2],
                   [1.5687892471e-4, 2.3309021107e1, 7.8486103508e-1]),
}

def fitted(model, jacobian, x, y, start):  # weights, standard errors
    problem = lambda w: model(w, x) - y, lambda w: jacobian(w, x)
    w = levenberg_marquardt(*problem, np.array(start), 180)[0][-1]
    w = gauss_newton(*problem, w, 12)[-1]
    return w, standard_errors(problem[1](w), problem[0](w))

for name, (*table, weights, errors) in tables.items():
    w, se = fitted(*table)
    off = max(abs(w / weights - 1).max(), abs(se / errors - 1).max())
    print(f'{name}:', *(f'{a:.4g} ± {b:#.3g}' for a, b in zip(w, se)),
          ' relative difference from the certified numbers', below(off, 1e-8))

distant = np.array([2, 4e5, 25000])
problem = (lambda w: thermistor(w, degrees) - ohm,
           lambda w: thermistor_jacobian(w, degrees))
here = levenberg_marquardt(*problem, distant, 400)[0][-1]
theirs = leastsq(problem[0], distant, Dfun=problem[1], maxfev=5000)[0]
print('thermistor, far start: found here:',  # leastsq ends at 1.5e-8
      close(here, weights, atol=0, rtol=1e-8),
      '- by scipy:', close(theirs, weights, atol=0, rtol=1e-8))

# %% [markdown]
# On the thermistor's far start, the library arrives and the program of this page does not. No
# method of this kind finds every minimum; try several starts.
#
# ### Can the standard errors be trusted?
#
# The noise of the bottles, $s = 17$ mg/l, is not small. Does the interval $\hat w_j \pm t \cdot$ standard error
# contain the true $w_j$ in 95 % of the experiments, as it should? Since $s$ is an estimate from $N - D = 4$ numbers,
# $t$ is the quantile 2.78 of Student's distribution, not the 1.96 of the Gaussian. For both weights together
# there are two regions. The *ellipse* uses the covariance. The *level region*
#
# ```{math}
# :label: nlls-region
# \Big\{ \mathbf{w} : \ \|\mathbf{r}(\mathbf{w})\|^2 \le \|\mathbf{r}(\hat{\mathbf{w}})\|^2 \Big(1 + \frac{D}{N - D}
# F_{0.95}\Big) \Big\}
# ```
#
# uses the loss itself, with a quantile of Fisher's $F$ distribution for $D$ and $N - D$. For a linear model the two regions
# are the same. We try them by simulation (the *parametric bootstrap*): draw 4000 sets of measurements from the fitted curve,
# refit all, and count. We take the six days of the table, and six measurements in the first three days, as somebody in a
# hurry might take them.

# %% tags=["hide-input"]
def refit(seed, x, w, sigma, draws=4000):  # refits (draws, 2), residuals
    y = rise(w, x) + np.random.default_rng(seed).normal(
        0, sigma, (draws, len(x)))
    problem = lambda w: rise(w, x) - y, lambda w: rise_jacobian(w, x)
    path, _ = levenberg_marquardt(*problem, np.tile(w, (draws, 1)), 40,
                                  first=1)
    fits = path[-1]
    return fits, problem[0](fits)

truth, sigma = np.array([213.81, 0.5472]), 17.0
hurried = np.array([0.5, 1, 1.5, 2, 2.5, 3])
level = 1 + 2 / 4 * f_distribution.ppf(0.95, 2, 4)

def coverage(x, quantile):  # shares below, above; ellipse, level region
    fits, r = refit(0, x, truth, sigma)
    J, e = rise_jacobian(fits, x), fits - truth
    reach = quantile * standard_errors(J, r)
    s2, true_r = squares(r) / 4, r - rise(fits, x) + rise(truth, x)
    ellipse = squares((J @ e[..., None])[..., 0]) <= 4 * s2 * (level - 1)
    inside = squares(true_r) <= squares(r) * level
    return (*(share.mean(axis=0) for share in (e < -reach, e > reach)),
            ellipse.mean(), inside.mean())

# %%
for name, x in (('six days of ten', days), ('hurried', hurried)):
    below_it, above_it, ellipse, region = coverage(
        x, t_distribution.ppf(0.975, 4))
    print(f'{name}: ellipse {ellipse:.1%}, level region {region:.1%},')
    print(f'    w1 above its interval {below_it[0]:.2%},'
          f' below {above_it[0]:.2%}')

# %% mystnb={"image": {"alt": "Left: the six measurements, the fitted curve and a band about it that is widest beyond ten days. Right: a cloud of 1500 fits is bent like a banana. The level region bends with it and holds nearly all of the cloud; the straight ellipse cuts across it, misses both arms and covers ground where no fit lies."}} tags=["hide-input"]
def corner(x, w):  # R of the Jacobian, inverted
    return inv(qr(rise_jacobian(w, x))[1])

def band(grid):  # half width of the 95% band about the fit of the bottles
    lengths = norm(rise_jacobian(best, grid) @ corner(days, best), axis=1)
    s = np.sqrt(squares(oxygen_residual(best)) / 4)
    return t_distribution.ppf(0.975, 4) * s * lengths

grid = np.linspace(0, 15, 151)
half = band(grid)
cloud, _ = refit(0, hurried, truth, sigma, draws=1500)
reach = sigma * np.sqrt(4 * (level - 1))
turn = np.linspace(0, 2 * np.pi, 200)
ellipse = truth + reach * np.stack(
    [np.cos(turn), np.sin(turn)], axis=1) @ corner(hurried, truth).T
a, b = np.meshgrid(np.linspace(90, 700, 200), np.linspace(0.05, 1.6, 200))
away = squares(rise(np.stack([a, b], axis=-1), hurried)
               - rise(truth, hurried))

fig, (left, right) = panels(2, height=3.0)
left.fill_between(grid, rise(best, grid) - half, rise(best, grid) + half,
                  alpha=0.2, lw=0)
left.plot(grid, rise(best, grid))
left.plot(days, oxygen, 'o', color=GREY)
left.set(xlabel='days', ylabel='oxygen used, mg/l', title='Fit and 95% band')
right.plot(*cloud.T, '.', ms=2, alpha=0.5, color=GREY)
right.plot(*ellipse.T, 'C1')
right.contour(a, b, away, [reach**2], colors='C0')
right.text(330, 0.5, 'level region', color='C0')
right.text(330, 0.9, 'ellipse', color='C1')
right.text(330, 1.3, 'fits', color=GREY)
right.set(xlabel='w₁, mg/l', ylabel='w₂, 1/day', xlim=(90, 700),
          ylim=(0.05, 1.6), title='In a hurry');

# %% [markdown] tags=["caption"]
# Left: the band about the fit is widest beyond the last measurement. Right: with data from three days only, the fits lie
# along a bent region, which the level region follows and the ellipse does not.

# %% [markdown]
# With six days of ten all is well. After three days much food is left, and a higher demand with a lower rate fits nearly as
# well. The ellipse then contains the truth in three of four experiments instead of nineteen of twenty. The interval for
# $w_1$ is wrong on one side some thirty times as often as on the other. The level region still has the promised probability:
# the surface of the curves $\mathbf{f}(\mathbf{w})$ is nearly flat, and only the *coordinates* on it are bent. So look at
# the contours of the loss before you print $\pm$.
#
# ```{exercise} ★★ Program: bad bottles
# :label: nlls-huber
# Some measurements are spoilt. Replace the squares by *Huber's* function, $\frac12 r^2$ for $|r| \le k$ and
# $k|r| - \frac12 k^2$ beyond, whose slope $\psi(r)$ is $r$, cut off at $\pm k$. Its minimum solves
# $\sum_n \psi(r_n) \nabla r_n = \mathbf{0}$, which is $\sum_n \omega_n r_n \nabla r_n = \mathbf{0}$ with weights
# $\omega_n = \psi(r_n) / r_n$. So repeat: weights from the residuals, one Gauss–Newton step for the weighted squares.
# Write `robust(x, y, k)` for the curve of this page, with the start $(\max y,\, 1 / \bar x)$.
# ```

# %%
def robust(x, y, k):
    """The weights w1 and w2 with the least sum of Huber's function: (2,).

    x: float array (N,), N >= 18 days from 0.5 to 10. y: float array (N,), near
    a curve with w1 from 100 to 300 and w2 from 0.4 to 0.6, but for up to three
    later ones that are too low by 30. k: float >= 1. Relative errors of 1e-5
    do not matter. For k = 1000 it is ordinary least squares.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def robust_by_descent(x, y, k):
    unit = np.array([y.max(), 1 / x.mean()])

    def value_and_slope(v):
        r, J = rise(v * unit, x) - y, rise_jacobian(v * unit, x)
        value = np.where(abs(r) <= k, r**2 / 2, k * abs(r) - k**2 / 2).sum()
        return value / k, np.clip(r, -k, k) @ J * unit / k

    return minimize(value_and_slope, np.ones(2), jac=True, options={'gtol': 1e-9}).x * unit

def spoilt(x):
    def measured(seed):
        rng = np.random.default_rng(seed)
        w = np.array([rng.uniform(100, 300), rng.uniform(0.4, 0.6)])
        y = rise(w, x) + rng.normal(0, 2, len(x))
        y[rng.choice(np.arange(len(x) // 3, len(x)), rng.integers(0, 4), replace=False)] -= 30
        return y
    return seeds().map(measured)

cases = dict(
    x=integers(18, 24).map(lambda N: np.linspace(0.5, 10, N)), y=spoilt, k=on(1.0, 2.0, 5.0, 1000.0),
)
limits = dict(tries=8, atol=1e-6, rtol=1e-5)
grade(robust, robust_by_descent, **cases, **limits)

# %% [markdown]
# ```{solution-start} nlls-huber
# :class: dropdown
# ```
# Weighted squares are squares of $\sqrt{\omega_n}\, r_n$, with the Jacobian scaled in the same way. The method is called
# *iteratively reweighted least squares*. It is tempting to multiply by $\omega_n$ instead of its root, as the first wrong
# answer does. The second ignores $k$, and the third takes all measurements for good.

# %% jupyter={"source_hidden": true}
def reweighted(x, y, k, power):
    w = np.array([y.max(), 1 / x.mean()])
    for _ in range(100):
        r = rise(w, x) - y
        factor = np.minimum(1, k / abs(r)) ** power
        w = w - pinv(factor[:, None] * rise_jacobian(w, x)) @ (factor * r)
    return w

def robust_solution(x, y, k):
    return reweighted(x, y, k, 1 / 2)

def without_root(x, y, k):
    return reweighted(x, y, k, 1)

def always_one(x, y, k):
    return reweighted(x, y, 1.0, 1 / 2)

def all_good(x, y, k):
    return reweighted(x, y, 1000.0, 1 / 2)

assert grade(robust_solution, robust_by_descent, **cases, **limits)
assert not grade(without_root, robust_by_descent, **cases, **limits)
assert not grade(always_one, robust_by_descent, **cases, **limits)
assert not grade(all_good, robust_by_descent, **cases, **limits)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: the next bottle
# :label: nlls-next
# You may measure a seventh bottle, on day 0, 1, 4 or 20, with the same noise. Which day makes the standard error of $w_1$
# smallest, which that of $w_2$, and which day teaches nothing at all? Predict three days, then compute the standard errors
# from {eq}`nlls-covariance` at the fit, $\sigma = 17$.
# ```

# %%
def predicted_days():
    """The best day for w1, the best day for w2, the useless one: a tuple."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def errors_with(*more):
    J = rise_jacobian(best, np.append(days, more))
    return 17 * np.sqrt(np.diag(inv(J.T @ J)))

def is_measured(chosen):
    tried = {day: errors_with(day) for day in (0, 1, 4, 20)}
    if len(chosen) != 3 or not {*chosen} <= {*tried}:
        raise ValueError('give three of the days 0, 1, 4 and 20')
    useless = max(tried, key=lambda day: tried[day].sum())
    if tuple(chosen) != (*(min(tried, key=lambda day: tried[day][j]) for j in (0, 1)), useless):
        raise ValueError('other days are found; compute them and compare')
    return True

grade(lambda: is_measured(predicted_days()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} nlls-next
# :class: dropdown
# ```
# The total demand $w_1$ is the level at the end, so a late bottle tells most about it. The rate $w_2$ shows in how steeply the
# curve begins, and a late bottle helps nearly as much, because it fixes the level. On day 0 the curve is 0 whatever the
# weights are: its row of the Jacobian is zero. A measurement teaches something about a weight only where the curve depends
# on it. It is tempting to fill the gap, on day 4, or to think that the earliest bottle is best for the rate.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured((20, 1, 0)), lambda: True, [()])
assert not grade(lambda: is_measured((4, 1, 0)), lambda: True, [()])  # fills the gap
assert not grade(lambda: is_measured((20, 0, 20)), lambda: True, [()])  # the earliest for the rate
assert not grade(lambda: is_measured((20, 20, 0)), lambda: True, [()])  # the latest for both
for more in ((), (0,), (1,), (4,), (20,)):
    print('with day', more or '(none)', 'standard errors {:.2f} mg/l, {:.4f} per day'.format(*errors_with(*more)))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def whitener(J):
    return qr(J)[1].T

dental = np.array([238.94, 5.5016e-4])
trials = [refit(seed, pressure, dental, 0.005) for seed in (0, 1)]

def spread_is(trial, root):
    fits, _ = trials[trial]
    z = (fits - dental) @ root(rise_jacobian(dental, pressure)) / 0.005
    off = abs(z.T @ z / len(z) - np.eye(2))
    return (off < 5 * np.sqrt((1 + np.eye(2)) / 4000)).all()

def noise_is(trial, lost):
    _, r = trials[trial]
    s2 = squares(r).mean() / (14 - lost)
    return abs(s2 / 0.005**2 - 1) < 5 * np.sqrt(2 / (4000 * 12))
on_ellipse = norm((ellipse - truth) @ rise_jacobian(truth, hurried).T, axis=1)
assert close(on_ellipse, np.full(200, reach))
for name, (*table, weights, errors) in tables.items():
    w, se = fitted(*table)
    assert close(w, weights, atol=0, rtol=1e-9) and close(se, errors, atol=0, rtol=1e-8)

verify('the covariance of refits is σ²(JᵀJ)⁻¹',
       lambda trial: spread_is(trial, whitener),
       slip=('forgets that the weights are correlated',
             lambda trial: spread_is(
             trial, lambda J: np.diag(column_lengths(J)))),
       trial=[0, 1])

verify('the noise is estimated with the divisor N - D',
       lambda trial: noise_is(trial, 2),
       slip=('divides by N instead of N − D',
             lambda trial: noise_is(trial, 0)),
       trial=[0, 1])

def intervals_hold(quantile):
    below, above, _, region = coverage(days, quantile)
    band = 3 * np.sqrt(0.95 * 0.05 / 4000)
    return (abs(1 - below - above - 0.95) < band).all() and (
        abs(region - 0.95) < band)
verify('95% intervals and the level region hold what they promise',
       lambda: intervals_hold(t_distribution.ppf(0.975, 4)),
       slip=("takes 1.96 for the quantile of Student's distribution",
             lambda: intervals_hold(1.96)))

# %% [markdown]
# ## Summary
#
# Gauss–Newton solves a linear least-squares problem, again and again. Near the minimum each step multiplies the error by
# about residual times curvature: it converges quadratically for perfect fits, linearly for imperfect ones, and not at all
# where the product exceeds one. Damping limits the length of the step and makes the method converge to every minimum from
# nearby, but the first steps must be short. The covariance $s^2(\mathbf{J}^\top\mathbf{J})^{-1}$ gives reliable standard
# errors if noise times curvature is small; if not, the contours of the loss still do.
#
# **Further reading.** {cite}`nocedal2006numerical`, chapter 10, and {cite}`dennis1996numerical` have the algorithms and
# their convergence; {cite}`more1978levenberg` is the program inside MINPACK; {cite}`bates1988nonlinear` is the book on
# curvature and on regions that bend. Automatic Jacobians make the same methods work for thousands of weights, as in the
# adjustment of maps from photographs.
