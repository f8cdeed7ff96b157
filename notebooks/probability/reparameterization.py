# ---
# jupyter:
#   book:
#     functions:
#       reparameterized: "reparameterized(normal(1)[0], lambda z: z**2, normal(9))"
#       score_function: "score_function(normal(1)[0], lambda z: z**2, normal(9))"
#       gumbel: gumbel(uniform(4, 3) / 2 + 0.2)
#       gumbel_softmax: gumbel_softmax(normal(3), uniform(4, 3) / 2 + 0.2, 0.5)
#     main: la.reparam.gradient-2
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The reparameterization trick
#
# A machine fills bottles. How much it fills in, $z$, varies around a mean $\mu$ that we can set, and each bottle has a cost
# $f(z)$ for what is spilled or missing. We see only single bottles and their costs. In which direction should we turn $\mu$
# to lower the *average* cost? In other words: how do we differentiate an expectation with respect to a parameter of its
# distribution, if all we have are draws?
#
# - **You need** [Expectations](expectations.ipynb), [The Gaussian distribution](gaussian_distribution.ipynb) and
#   [Automatic differentiation](../calculus/automatic_differentiation.ipynb).
# - **You build** the two estimators of such a slope, compare their variances, differentiate through a
#   random choice, and fit a whole posterior distribution with noisy gradients.
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
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy import stats
from scipy.integrate import quad
from scipy.special import logit, ndtri, softmax
from torch.distributions import MultivariateNormal, Normal, kl_divergence
from torch.nn import functional as F

from nbutils.cases import integers, on, scalars, seeds, vectors
from nbutils.checks import close, erratum, grade, holds, verify
from nbutils.data import diabetes
from nbutils.figures import GREY, label_lines, panels

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## The reparameterization trick: move the draws
#
# Let $z$ be normal with mean $\mu = 1.5$ and variance 1, and let the cost be $f(z) = z^2$. The average cost is $\mu^2 + 1$,
# so its slope is $2 \mu = 3$. Can PyTorch find this slope from draws? It offers two ways to draw:

# %%
torch.manual_seed(0)
mu = torch.tensor(1.5, requires_grad=True)
law = Normal(mu, 1.0)
for draw in (law.sample, law.rsample):
    z = draw((10_000,))
    print(f'{draw.__name__:7} average cost {(z**2).mean().item():.3f},'
          f' has a path to µ: {z.requires_grad}')
(z**2).mean().backward()
print(f'slope by rsample: {mu.grad.item():.3f}')

# %% [markdown]
# (la.reparam.sampling-not-differentiable)=
# The draws of `sample` come out of a black box. They carry no $\partial z / \partial \mu$, so backpropagation stops at
# them. Yet the expected cost is a smooth function of $\mu$. `rsample` finds its slope, because it makes the draw
# differently: it draws a standard normal number $\epsilon$, which does not depend on $\mu$, and computes $z = \mu +
# \epsilon$. This is the **reparameterization trick**: the randomness becomes an input, and $z$ becomes an ordinary function
# of the parameter.
#
# In general we write $p_\theta$ for the distribution with the parameter $\theta$ and $f$ for the cost, which does not
# depend on $\theta$. The expected cost is
#
# ```{math}
# :label: la.reparam.continuous
# \mathbb{E}_{z \sim p_\theta(z)}[f(z)] = \int p_\theta(z) f(z) \, dz
# ```
#
# if $z$ has a density, and, if $z$ takes finitely many values,
#
# ```{math}
# :label: la.reparam.discrete
# \mathbb{E}_{z \sim p_\theta(z)}[f(z)] = \sum_z p_\theta(z) f(z) .
# ```
#
# We estimate it by an average over draws:
#
# ```{math}
# :label: la.reparam.monte-carlo
# \mathbb{E}_{z \sim p_\theta(z)}[f(z)] \approx \frac1n \sum_{i=1}^n f(z_i), \qquad z_1, \dots, z_n \overset{\text{iid}}{\sim} p_\theta .
# ```
#
# Now let $\epsilon$ have a distribution $q$ without parameters, and let $z = g_\theta(\epsilon)$ be distributed like
# $p_\theta$. Then
#
# ```{math}
# :label: la.reparam.identity
# \mathbb{E}_{z \sim p_\theta(z)}[f(z)] = \mathbb{E}_{\epsilon \sim q(\epsilon)}[f(g_\theta(\epsilon))] .
# ```
#
# Both sides are the same function of $\theta$, so they have the same derivative:
#
# ```{math}
# :label: la.reparam.gradient-1
# \frac{\partial}{\partial \theta} \mathbb{E}_{z \sim p_\theta(z)}[f(z)] = \frac{\partial}{\partial \theta} \mathbb{E}_{\epsilon \sim q(\epsilon)}[f(g_\theta(\epsilon))] ,
# ```
#
# and on the right the parameter stands inside a function, where the chain rule can reach it:
#
# ```{math}
# :label: la.reparam.gradient-2
# \frac{\partial}{\partial \theta} \mathbb{E}_{\epsilon \sim q(\epsilon)}[f(g_\theta(\epsilon))]
# = \mathbb{E}_{\epsilon \sim q(\epsilon)} \Big[ f'\big(g_\theta(\epsilon)\big) \, \frac{\partial
# g_\theta(\epsilon)}{\partial \theta} \Big] .
# ```
#
# This is the **pathwise gradient**. The code leaves the chain rule to PyTorch:

# %%
def reparameterized(mu, f, noise):  # slope of E f(z), z = mu + noise
    mu = mu.detach().requires_grad_()
    f(mu + noise).mean().backward()
    return mu.grad

noise = torch.randn(10_000)
for m in (-1.0, 0.0, 1.5):
    slope = reparameterized(torch.tensor(m), torch.square, noise)
    print(f'µ = {m:5.2f}: slope {slope:.2f}, exact {2 * m:.2f}')

# %% mystnb={"image": {"alt": "Two computation graphs. Left: theta leads to a round node z, drawn at random, which leads to f; the arrow from theta to z is broken. Right: theta and a random node epsilon both lead to z = g(theta, epsilon), which leads to f; a path of solid arrows runs from f back to theta."}} tags=["hide-input"]
fig, axes = panels(2, height=1.7)
spots = {'θ': (0, 0), 'z': (1, 0), 'f': (2, 0), 'ϵ': (1, 1)}

def arrow(ax, a, b, **options):
    ax.annotate('', spots[b], spots[a], arrowprops=dict(
        arrowstyle='->', shrinkA=13, shrinkB=13, lw=1.6) | options)

for ax, nodes in zip(axes, ('θzf', 'θzfϵ'), strict=True):
    for name in nodes:
        random = name == 'ϵ' or (name == 'z' and len(nodes) == 3)
        ax.text(*spots[name], name, ha='center', va='center', color='C0',
                bbox=dict(boxstyle='circle' if random else 'square',
                          fc='none', ec='C1' if random else 'C0', pad=0.4))
    arrow(ax, 'z', 'f', color='C0')
    ax.set(xlim=(-0.4, 2.4), ylim=(-0.45, 1.45))
    ax.axis('off')
arrow(axes[0], 'θ', 'z', color='C1', linestyle=':')
arrow(axes[1], 'θ', 'z', color='C0')
arrow(axes[1], 'ϵ', 'z', color='C1')
axes[0].set(title='z is drawn: the path is cut')
axes[1].set(title='z = g(θ, ϵ): noise is an input');

# %% [markdown] tags=["caption"]
# Circles are random, squares are computed. Left: a draw cuts the path from $\theta$ to $f$. Right: with the noise
# $\epsilon$ as an input, $z$ is an ordinary function of $\theta$, and the chain rule runs through it.

# %% [markdown]
# A function $g_\theta$ exists for every distribution of numbers. If $F_\theta$ is the distribution function and $u$ is
# uniform in $(0, 1)$, then $F_\theta^{-1}(u)$ has the distribution $p_\theta$. For example, $-\log(1 - u) / \theta$ is
# exponential with rate $\theta$. Where $F_\theta^{-1}$ has no formula, as for the Gamma distribution, libraries
# differentiate it implicitly {cite}`figurnov2018implicit`.
#
# ### When is the exchange allowed?
#
# In {eq}`la.reparam.gradient-2` a derivative moves inside an expectation. This can fail. Let $z = 1$ if $u < \theta$ and 0
# otherwise: a coin. With $f(z) = z$ the left side is $\partial \theta / \partial \theta = 1$. On the right, for almost
# every $u$ a small change of $\theta$ changes nothing, and the mean of zeros is 0.
#
# ```{prf:theorem} Pathwise gradient
# :label: thm-pathwise
# Let $f$ not depend on $\theta$, let $\mathbb{E}|f(g_\theta(\epsilon))| < \infty$, and for almost every
# $\epsilon$ let $g_\theta(\epsilon)$ be differentiable at $\theta_0$ and $f$ be differentiable at
# $g_{\theta_0}(\epsilon)$. If
# $|f(g_{\theta}(\epsilon)) - f(g_{\theta'}(\epsilon))| \le K(\epsilon) |\theta - \theta'|$ for all
# $\theta, \theta'$ near $\theta_0$, with $\mathbb{E}[K] < \infty$, then {eq}`la.reparam.gradient-2` holds at
# $\theta_0$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# For $h \to 0$ the quotients $\frac1h \big( f(g_{\theta_0 + h}(\epsilon)) - f(g_{\theta_0}(\epsilon)) \big)$
# tend, for almost every $\epsilon$, to $\frac{\partial f}{\partial g} \cdot \frac{\partial g}{\partial \theta}$ by
# the chain rule, and none exceeds $K(\epsilon)$ in size. Dominated convergence: their means tend to the mean of the
# limit. And their means are the quotients on the left.
# ```
#
#
# A function that satisfies such a bound with a constant $K$ is called **Lipschitz continuous**. Kinks are allowed: $|z|$ is
# Lipschitz continuous, and a normal $z$ is never exactly 0. Jumps are not allowed, even if they are rare.
#
# ```{exercise} ★ Pencil: a Weibull lifetime
# :label: reparam-weibull
# The lifetime of a chain is often given a *Weibull* distribution, $\Pr(z > t) = e^{-t^k}$ for $t > 0$. Find $z =
# F_k^{-1}(u)$ and $\partial z / \partial k$, and write both as `weibull_path(u, k)`, for an array of $u$ in $(0, 1)$ and a
# float $k > 0$. It returns a tuple of two arrays.
# ```

# %%
def weibull_path(u, k):
    """(z, the derivative of z with respect to k): (n,), float -> two (n,).

    For u = 1 - exp(-1) and any k, z is 1 and the derivative is 0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def weibull_by_torch(u, k):
    k = torch.full(u.shape, k, requires_grad=True)
    z = torch.exp(torch.log(-torch.log1p(-torch.tensor(u))) / k)
    z.sum().backward()
    want = stats.weibull_min.ppf(u, k.detach().numpy())
    return want, k.grad.numpy()

chain_cases = dict(u=vectors((1, 5), 0.01, 0.99, edges=True), k=on(1.0) | scalars(0.3, 5))
grade(weibull_path, weibull_by_torch, **chain_cases)

# %% [markdown]
# ```{solution-start} reparam-weibull
# :class: dropdown
# ```
# $1 - u = e^{-z^k}$ gives $z = e^{\ell / k}$ with $\ell = \log(-\log(1 - u))$, hence $\partial z / \partial k = -z \ell /
# k^2$. The first wrong answer forgets the inner derivative. The second takes $u$ in place of $1 - u$: these lifetimes have
# the right distribution, too, but they are not $F_k^{-1}(u)$. The third loses the sign.

# %% jupyter={"source_hidden": true}
def weibull_path_solution(u, k):
    ell = np.log(-np.log1p(-u))
    z = np.exp(ell / k)
    return z, -z * ell / k**2

def forgets_inner_derivative(u, k):
    ell = np.log(-np.log1p(-u))
    return np.exp(ell / k), np.exp(ell / k) * ell / k

def turned_around(u, k):
    return weibull_path_solution(1 - u, k)

def sign_lost(u, k):
    z, slope = weibull_path_solution(u, k)
    return z, -slope

assert grade(weibull_path_solution, weibull_by_torch, **chain_cases)
assert not grade(forgets_inner_derivative, weibull_by_torch, **chain_cases)
assert not grade(turned_around, weibull_by_torch, **chain_cases)
assert not grade(sign_lost, weibull_by_torch, **chain_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def second_moment(mu, sigma, constant):
    z, h = np.linspace(-12, 12, 241, retstep=True)  # in units of sigma
    p = np.exp(-(z**2) / 2) / constant
    return ((mu + sigma * z) ** 2 * p).sum() * h * sigma

holds(
    'la.reparam.continuous',
    lambda mu, sigma: close(
        second_moment(mu, sigma, sigma * np.sqrt(2 * np.pi)), mu**2 + sigma**2
    ),
    slip=(
        'forgets sigma in the normalizing constant',
        lambda mu, sigma: close(
            second_moment(mu, sigma, np.sqrt(2 * np.pi)), mu**2 + sigma**2
        ),
    ),
    mu=scalars(),
    sigma=scalars(0.1, 5),
    tries=100,
)

def throws_agree(a, f, seed, p, N=4000):
    rng = np.random.default_rng(seed)
    average = f[rng.choice(4, size=N, p=softmax(a))].mean()
    exact = softmax(a)
    variance = exact @ (f - exact @ f) ** 2
    return abs(average - p(a) @ f) < 5 * np.sqrt(variance / N) + 1e-6

holds(
    'la.reparam.discrete',
    lambda a, f, seed: throws_agree(a, f, seed, softmax),
    slip=(
        'leaves the probabilities unnormalized',
        lambda a, f, seed: throws_agree(a, f, seed, np.exp),
    ),
    a=vectors(4, -2, 2),
    f=vectors(4),
    seed=seeds(),
    tries=100,
)

def error_is_right(n, average, R=2000):
    throws = np.random.default_rng(n).random((R, n)) < 0.9
    error = np.sqrt(((average(throws) - 0.9) ** 2).mean())
    return abs(error * np.sqrt(n) / 0.3 - 1) < 5 / np.sqrt(2 * R)

holds(
    'la.reparam.monte-carlo',
    lambda n: error_is_right(n, lambda z: z.mean(1)),
    slip=(
        'averages over the values instead of the draws',
        lambda n: error_is_right(n, lambda z: np.full(len(z), 0.5)),
    ),
    n=[50, 200, 800],
)

# %% tags=["checks"]
def no_path_but_smooth(mu, method):
    m = torch.tensor(mu, requires_grad=True)
    z = getattr(Normal(m, 1.0), method)()
    h = 1e-4
    slope = (
        second_moment(mu + h, 1, np.sqrt(2 * np.pi))
        - second_moment(mu - h, 1, np.sqrt(2 * np.pi))
    ) / (2 * h)
    return not z.requires_grad and close(slope, 2 * mu)

holds(
    'la.reparam.sampling-not-differentiable',
    lambda mu: no_path_but_smooth(mu, 'sample'),
    slip=(
        'takes a draw with rsample for a black box',
        lambda mu: no_path_but_smooth(mu, 'rsample'),
    ),
    mu=scalars(),
    tries=50,
)

def difference(function, t, h=1e-4):
    return (function(t + h) - function(t - h)) / (2 * h)

def slope_of(mu, f, df, seed, N=10_000):  # of E f(z), against E f'(z) by quadrature
    noise = torch.tensor(np.random.default_rng(seed).normal(size=N))
    got = reparameterized(torch.tensor(mu), f, noise).item()
    z, h = np.linspace(-12, 12, 481, retstep=True)
    p, slopes = stats.norm.pdf(z) * h, df(mu + z)
    return abs(got - p @ slopes) < 5 * np.sqrt(p @ slopes**2 / N)

verify(
    'the path gives the slope of the expectation',
    lambda mu, seed: slope_of(mu, torch.square, lambda z: 2 * z, seed) and slope_of(mu, torch.sin, np.cos, seed),
    slip=('moves against the noise', lambda mu, seed: slope_of(-mu - 1, torch.square, lambda z: -2 * z, seed)),
    mu=scalars(-4, 4), seed=seeds(), tries=40,
)

# %% tags=["checks"]
class Law(NamedTuple):  # of z = g(u, t), with f and its mean at t
    mean: callable
    g: callable
    dg: callable  # in t
    f: callable = np.sin
    df: callable = np.cos
    scipy: callable = None

laws = {
    'normal, scale t': Law(
        lambda t: np.sin(1) * np.exp(-(t**2) / 2),
        lambda u, t: 1 + t * ndtri(u), lambda u, t: ndtri(u),
        scipy=lambda t: stats.norm(1, t)),
    'exponential, rate t': Law(
        lambda t: t / (1 + t**2), lambda u, t: -np.log1p(-u) / t,
        lambda u, t: np.log1p(-u) / t**2,
        scipy=lambda t: stats.expon(scale=1 / t)),
    'logistic, centre t': Law(
        lambda t: np.sin(t) * np.pi / np.sinh(np.pi),
        lambda u, t: t + logit(u), lambda u, t: 1.0,
        scipy=lambda t: stats.logistic(t)),
}

wrong = {  # the variance as scale, rate for its inverse, a scale
    'normal, scale t': lambda u, t: 1 + t**2 * ndtri(u),
    'exponential, rate t': lambda u, t: -t * np.log1p(-u),
    'logistic, centre t': lambda u, t: t * logit(u),
}

# %% tags=["checks"]
def mean_by_path(f, g, t):
    return quad(lambda u: f(g(u, t)), 0, 1, limit=200)[0]

def carries_over(name, t, seed, generators):
    law, g = laws[name], generators[name]
    u = np.random.default_rng(seed).random(4000)
    distance = stats.kstest(g(u, t), law.scipy(t).cdf).statistic
    return distance < np.sqrt(np.log(2e6) / 8000) and close(
        mean_by_path(law.f, g, t), law.mean(t), atol=1e-6
    )

right = {name: law.g for name, law in laws.items()}
holds(
    'la.reparam.identity',
    lambda name, t, seed: carries_over(name, t, seed, right),
    slip=(
        'confuses scales, rates and variances',
        lambda name, t, seed: carries_over(name, t, seed, wrong),
    ),
    name=list(laws),
    t=scalars(0.3, 3),
    seed=seeds(),
    tries=60,
)

def same_slope(name, t, generators):
    law, z = laws[name], np.linspace(-100, 100, 20_001)  # spacing 0.01
    if name == 'exponential, rate t':
        z = np.linspace(0, 100, 20_001)
    left = lambda t: np.trapezoid(law.f(z) * law.scipy(t).pdf(z), z)
    path = lambda t: mean_by_path(law.f, generators[name], t)
    return close(difference(left, t), difference(path, t), atol=1e-5)

holds(
    'la.reparam.gradient-1',
    lambda name, t: same_slope(name, t, right),
    slip=(
        'confuses scales, rates and variances',
        lambda name, t: same_slope(name, t, wrong),
    ),
    name=list(laws),
    t=scalars(0.3, 3),
    tries=20,
)

# %% tags=["checks"]
zero = lambda *_: 0.0
more = laws | {
    'kink': Law(
        lambda t: t * (2 * stats.norm.cdf(t) - 1) + 2 * stats.norm.pdf(t),
        lambda u, t: t + ndtri(u),
        lambda u, t: 1.0,
        abs,
        np.sign,
    ),
    'coin': Law(lambda t: t, lambda u, t: u < t, zero, float, lambda z: 1.0),
    'jump': Law(
        stats.norm.cdf,
        lambda u, t: t + ndtri(u),
        lambda u, t: 1.0,
        lambda z: z > 0,
        zero,
    ),
}

def derivative_passes(name, t):
    law = more[name]
    at_kink = stats.norm.cdf(-t)  # where u + ... = 0, for 'kink'
    right = quad(
        lambda u: law.df(law.g(u, t)) * law.dg(u, t),
        0,
        1,
        points=[at_kink] if name == 'kink' else None,
        limit=200,
    )[0]
    return close(difference(law.mean, t), right, atol=1e-6)

holds(
    'la.reparam.gradient-2',
    lambda name, t: name in ('coin', 'jump') or derivative_passes(name, t),
    slip=('moves the derivative past a jump', derivative_passes),
    name=list(more),
    t=scalars(0.3, 0.9),
    tries=100,
)

# %% [markdown]
# ## The score-function estimator (REINFORCE)
#
# What if $f$ jumps, or $z$ is a choice? We leave the draws where they are and change their *weights* instead. Differentiate
# the density in the integral, then multiply and divide by $p_\theta$:
#
# ```{math}
# :label: eq-reparam-score
# \frac{\partial}{\partial \theta} \int p_\theta(z) f(z) \, dz &= \int \frac{\partial p_\theta(z)}{\partial \theta} \, f(z) \, dz
# = \int p_\theta(z) \, \frac{\partial \log p_\theta(z)}{\partial \theta} \, f(z) \, dz \\
# &= \mathbb{E}_{z \sim p_\theta} \Big[ f(z) \, \frac{\partial \log p_\theta(z)}{\partial \theta} \Big] .
# ```
#
# (The first step needs densities for which derivative and integral may be exchanged, and a set of possible values that does
# not move with $\theta$.) The factor $s(z) = \partial_\theta \log p_\theta(z)$ is called the score. The average of $f(z_i)
# \, s(z_i)$ is the **score-function estimator**, or **REINFORCE** {cite}`williams1992simple`. Nothing is asked of $f$
# except that we can evaluate it, and $z$ may be discrete, with sums in place of integrals. In a program we backpropagate
# $f(z) \log p_\theta(z)$ with $z$ and $f(z)$ held fixed:

# %%
def score_function(mu, f, noise):  # slope of E f(z), z ~ N(mu, 1)
    mu = mu.detach().requires_grad_()
    z = (mu + noise).detach()   # fixed numbers: no path to mu
    (f(z) * Normal(mu, 1.0).log_prob(z)).mean().backward()
    return mu.grad

for m in (-1.0, 0.0, 1.5):
    slope = score_function(torch.tensor(m), torch.square, noise)
    print(f'µ = {m:5.2f}: slope {slope:.2f}, exact {2 * m:.2f}')

# %% [markdown]
# (la.reparam.cannot-optimize)=
# :::{admonition} A tempting mistake
# :class: warning
# "Sampling is not differentiable, so we cannot optimize $p_\theta$ by backpropagation." The first half is true of the path
# through the sample, but the second half does not follow: the score function needs no such path. The descent below goes
# from 3 to the optimum 0, although no derivative passes through a draw.
# :::

# %%
m = torch.tensor(3.0)
for step in range(101):
    if step % 25 == 0:
        print(f'step {step:3}: µ = {m:5.2f}')
    m = m - 0.05 * score_function(m, torch.square, torch.randn(1000))

# %% [markdown]
# ### A baseline, and the variance of the estimators
#
# With $f = 1$ the left side of {eq}`eq-reparam-score` is the slope of the constant 1. So $\mathbb{E}[s] = 0$, and we may
# subtract any constant $b$ from $f$ without changing the mean:
#
# ```{math}
# :label: eq-reparam-baseline
# \mathbb{E}\big[ (f(z) - b) \, s(z) \big] = \frac{\partial}{\partial \theta} \mathbb{E}[f(z)] \quad \text{for every } b .
# ```
#
# Such a **baseline** matters if $f$ is large, because then the estimator averages large terms whose mean is small. A usual
# choice is the mean of $f$ over the draws.
#
# Which estimator has less noise? Let $\mathbf{z}$ have $D$ independent coordinates $z_i = \mu + \sigma \epsilon_i$, take
# the cost $f(\mathbf{z}) = \sum_i z_i^2$, and look for the slope in the *first* mean, $2\mu$. One draw gives
#
# ```{math}
# :label: eq-reparam-two
# \text{path: } \; 2 z_1, \quad \; \text{score: } \; f(\mathbf{z}) \, \frac{\epsilon_1}{\sigma}, \quad \;
# \text{with baseline: } \; \big( f(\mathbf{z}) - \mathbb{E} f \big) \frac{\epsilon_1}{\sigma} .
# ```

# %%
def estimates(D, mu, sigma, N, rng):  # -> (3, N): path, score, baseline
    eps = rng.normal(size=(N, D))
    z = mu + sigma * eps
    f, s = (z**2).sum(1), eps[:, 0] / sigma
    return np.array([2 * z[:, 0], f * s,
                     (f - D * (mu**2 + sigma**2)) * s])

# %%
rng = np.random.default_rng(0)
dims = 4 ** np.arange(5)        # 1, 4, ..., 256
measured = np.array([estimates(D, 1, 1, 10_000, rng).var(1) for D in dims])
print('   D     path     score   with baseline')
for D, row in zip(dims, measured, strict=True):
    print(f'{D:4} {row[0]:8.2f} {row[1]:9.0f} {row[2]:15.0f}')

# %% [markdown]
# The path depends on the first coordinate alone, so its variance does not change with $D$. The score function sees only the
# total cost, to which all other coordinates add noise. With $m = (D-1)(\mu^2 + \sigma^2)$ and $v = (D-1)(4\mu^2\sigma^2 +
# 2\sigma^4)$ the variances are
#
# ```{math}
# :label: eq-reparam-variances
# V_{\text{path}} &= 4\sigma^2 , \\
# V_{\text{score}} &= \tfrac{1}{\sigma^2} \big[ \mu^4 + 18\mu^2\sigma^2 + 15\sigma^4 + 2m(\mu^2 + 3\sigma^2) + m^2 + v \big] - 4\mu^2 , \\
# V_{\text{base}} &= 8\mu^2 + 10\sigma^2 + (D-1)(4\mu^2 + 2\sigma^2) .
# ```
#
# ```{prf:proof}
# :class: dropdown
# Write $f = a + S$ with $a = z_1^2$ and $S$ the rest, which is independent of $\epsilon_1$
# and has mean $m$ and variance $v$. Then
# $\mathbb{E}[f^2 \epsilon_1^2] = \mathbb{E}[a^2 \epsilon_1^2] + 2 m \, \mathbb{E}[a \epsilon_1^2] + m^2 + v$,
# and the moments 1, 3, 15 of $\epsilon_1$ give the second line. For the last line replace $a$ and $S$ by their deviations
# from the mean: $m$ drops out, and $a - \mathbb{E}a = 2\mu\sigma\epsilon_1 + \sigma^2(\epsilon_1^2 - 1)$ has
# $\mathbb{E}[(a - \mathbb{E}a)^2 \epsilon_1^2] = 12\mu^2\sigma^2 + 10\sigma^4$.
# ```
#
#
# So the variance of the score function grows like $D^2$, and like $D$ with the baseline.

# %% mystnb={"image": {"alt": "Variance against dimension from 1 to 256 on logarithmic axes: three lines with measured points on them. The path is flat, the score function with baseline rises with slope one, without baseline with slope two."}} tags=["hide-input"]
def variances(D, mu, sigma):    # -> (3, ...)
    m2, s2, others = mu**2, sigma**2, D - 1
    m, v = others * (m2 + s2), others * (4 * m2 * s2 + 2 * s2**2)
    square = (m2**2 + 18 * m2 * s2 + 15 * s2**2 + 2 * m * (m2 + 3 * s2) + m**2 + v)
    return np.array([4 * s2 + 0 * D, square / s2 - 4 * m2, 8 * m2 + 10 * s2 + others * (4 * m2 + 2 * s2)])

fig, ax = plt.subplots(figsize=(6, 2.8))
dense = np.geomspace(1, 256, 50)
for i, name in enumerate(('path', 'score', 'with baseline')):
    ax.loglog(dense, variances(dense, 1, 1)[i], color=f'C{i}', label=name)
    ax.loglog(dims, measured[:, i], 'o', color=f'C{i}')
ax.set(xlabel='dimension D', ylabel='variance of one draw')
label_lines(ax)

# %% [markdown] tags=["caption"]
# All three estimators have the mean 2. The noise of the path is the same in every dimension; that of the score function
# grows like $D^2$, and like $D$ with a baseline. Lines: formulas; points: ten thousand draws each.

# %% [markdown]
# The path is not always better. Its noise grows with the *slope* of $f$, that of the score function with the *size* of $f$.
# The exercise at the end of this part has examples.
#
# ```{exercise} ★★ Program: the leave-one-out baseline
# :label: reparam-leave-one-out
# In practice $\mathbb{E} f$ is unknown. The mean $\bar f$ of the same $n$ draws is at hand, but $f_i$ is part of it. Show
# that subtracting $\bar f$ shrinks the estimator's mean by the factor $1 - \frac1n$, and write `leave_one_out(f, s)`: the
# average of $(f_i - b_i) s_i$, where $b_i$ is the mean of the *other* values. `f` and `s` are arrays of the same length $n
# \ge 2$. At most five lines of Python may run, so no loop over the draws.
# ```

# %%
def leave_one_out(f, s):
    """The estimate with leave-one-out baselines: (n,), (n,) -> float.

    leave_one_out(np.array([1.0, 3.0]), np.array([1.0, 0.0])) is -1.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def leave_one_out_by_loop(f, s):
    n = len(f)
    others = [np.delete(f, i).mean() for i in range(n)]
    return sum((f[i] - others[i]) * s[i] for i in range(n)) / n

loo_cases = dict(f=vectors((2, 12), edges=True), s=lambda f: vectors(len(f)))
grade(leave_one_out, leave_one_out_by_loop, lines=5, **loo_cases)

# %% [markdown]
# ```{solution-start} reparam-leave-one-out
# :class: dropdown
# ```
# $\mathbb{E}[\bar f s_i] = \frac1n \mathbb{E}[f_i s_i]$, because the other $f_j$ are independent of $s_i$ and
# $\mathbb{E}[s_i] = 0$: the own share is lost. And $f_i - b_i = f_i - \frac{n \bar f - f_i}{n - 1} = \frac{n}{n-1} (f_i -
# \bar f)$, so leaving one out only rescales, by just the factor that was missing. The wrong answers lose the own share, use
# no baseline at all, or center the scores in place of the values and lose the factor.

# %% jupyter={"source_hidden": true}
def leave_one_out_solution(f, s):
    return ((f - f.mean()) * s).sum() / (len(f) - 1)

def own_share_lost(f, s):
    return ((f - f.mean()) * s).mean()

def no_baseline(f, s):
    return (f * s).mean()

def scores_centred(f, s):
    return (f * (s - s.mean())).mean()

assert grade(leave_one_out_solution, leave_one_out_by_loop, lines=5, **loo_cases)
assert not grade(own_share_lost, leave_one_out_by_loop, lines=5, **loo_cases)
assert not grade(no_baseline, leave_one_out_by_loop, lines=5, **loo_cases)
assert not grade(scores_centred, leave_one_out_by_loop, lines=5, **loo_cases)
assert not grade(leave_one_out_by_loop, lambda f, s: leave_one_out_by_loop(f, s), lines=5, **loo_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: which estimator would you take?
# :label: reparam-winners
# Let $z \sim \mathcal{N}(0.5, 1)$. Average 100 draws of each estimator of the slope of $\mathbb{E} f(z)$ with respect to
# the mean, without a baseline. Which has the smaller mean squared error? Predict it for the costs `'A'`, $f(z) = z^2$;
# `'B'`, $f(z) = \sin 5z$; `'C'`, $f(z) = 100 + z$; `'D'`, $f(z) = 1$ for $z > 0$ and 0 otherwise. Return a dict from
# letters to `'path'` or `'score'`.
# ```

# %%
def predicted_winners():
    """A dict with the keys 'A' to 'D', each value 'path' or 'score'."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
costs = {'A': (lambda z: z**2, lambda z: 2 * z), 'B': (lambda z: np.sin(5 * z), lambda z: 5 * np.cos(5 * z)),
         'C': (lambda z: 100 + z, lambda z: 1 + 0 * z), 'D': (lambda z: 1.0 * (z > 0), lambda z: 0 * z)}

def errors_of(letter):  # mean squared errors of path and score, 400 averages of 100 draws
    f, df = costs[letter]
    noise = np.random.default_rng(0).normal(size=(400, 100))
    z, h = np.linspace(-12, 12, 24_001, retstep=True)
    exact = (f(0.5 + z) * z * stats.norm.pdf(z)).sum() * h
    found = {'path': df(0.5 + noise), 'score': f(0.5 + noise) * noise}
    return {name: ((terms.mean(1) - exact) ** 2).mean() for name, terms in found.items()}

def is_measured(winners):
    if sorted(winners) != sorted(costs) or not set(winners.values()) <= {'path', 'score'}:
        raise ValueError("give 'path' or 'score' for each of the letters A, B, C and D")
    for letter, winner in winners.items():
        found = errors_of(letter)
        if winner != min(found, key=found.get):
            raise ValueError(f'{letter} is measured otherwise; try it')
    return True

grade(lambda: is_measured(predicted_winners()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} reparam-winners
# :class: dropdown
# ```
# For A the path has little noise. In B the cost is small but its slope is large, so the score function wins. In C the slope
# is exactly 1 on every path, but the score function averages terms near 100. In D the path gives 0 always, without noise
# and wrong, because the cost jumps. The wrong answers trust the path everywhere, take the score for better where $f$ is
# large, or take 0 for the slope of a step.

# %% jupyter={"source_hidden": true}
answer = {'A': 'path', 'B': 'score', 'C': 'path', 'D': 'score'}
assert grade(lambda: is_measured(answer), lambda: True, [()])
assert not grade(lambda: is_measured(answer | {'B': 'path'}), lambda: True, [()])  # the path is always better
assert not grade(lambda: is_measured(answer | {'C': 'score'}), lambda: True, [()])  # a large cost says much
assert not grade(lambda: is_measured(answer | {'D': 'path'}), lambda: True, [()])  # no noise is no error
for letter in costs:
    found = errors_of(letter)
    print(f'{letter}: path {found["path"]:.3f}, score {found["score"]:.3f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def reaches_optimum(mu, seed, eta=0.05, n=100, R=200):
    # at the optimum one term is ε³ with variance 15, and the error settles
    # where v = (1 - 2η)² v + η² 15 / n
    rng, mu = np.random.default_rng(seed), torch.full((R, 1), mu)
    for _ in range(100):
        noise = torch.tensor(rng.normal(size=(R, n)))
        mu = mu - eta * R * score_function(mu, torch.square, noise)  # its mean is over R runs, too
    v = eta**2 * 15 / n / (1 - (1 - 2 * eta) ** 2)
    return bool(abs(((mu**2).mean() / v) ** 0.5 - 1) < 5 / np.sqrt(2 * R))

erratum(
    'la.reparam.cannot-optimize',
    printed=lambda mu, seed: not reaches_optimum(mu, seed),
    corrected=reaches_optimum,
    mu=[-3.0, 1.0, 2.0],
    seed=seeds(),
    tries=6,
)

def without_logarithm(mu, f, noise):
    mu = mu.detach().requires_grad_()
    z = (mu + noise).detach()
    (f(z) * Normal(mu, 1.0).log_prob(z).exp()).mean().backward()
    return mu.grad

def slope_is_unbiased(mu, seed, estimator, N=10_000):
    noise = torch.tensor(np.random.default_rng(seed).normal(size=N))
    band = 5 * np.sqrt((mu**4 + 14 * mu**2 + 15) / N)  # from the moments 1, 3, 15 of the noise
    return abs(estimator(torch.tensor(mu), torch.square, noise).item() - 2 * mu) < band

verify(
    'the score function has the slope of the expectation',
    lambda mu, seed: slope_is_unbiased(mu, seed, score_function),
    slip=(
        'forgets the logarithm of the density',
        lambda mu, seed: slope_is_unbiased(mu, seed, without_logarithm),
    ),
    mu=scalars(-4, 4),
    seed=seeds(),
    tries=60,
)

# %% tags=["checks"]
def noise_as_derived(D, mu, sigma, seed, formula, N=4000):
    g = estimates(D, mu, sigma, N, np.random.default_rng(seed))
    V = formula(D, mu, sigma)
    square = (g - 2 * mu) ** 2  # its mean is the variance
    unbiased = abs(g.mean(1) - 2 * mu) < 5 * np.sqrt(V / N)
    right = abs(square.mean(1) - V) < 5 * square.std(1) / np.sqrt(N)
    return unbiased.all() and right.all()

verify(
    'all three are unbiased, with variances as derived',
    lambda D, mu, sigma, seed: noise_as_derived(D, mu, sigma, seed, variances),
    slip=(
        'lets the variance of the score grow like D',
        lambda D, mu, sigma, seed: noise_as_derived(
            D,
            mu,
            sigma,
            seed,
            lambda *w: np.where(
                np.array([False, True, False]),  # the score function's alone
                D * variances(1, mu, sigma),
                variances(*w),
            ),
        ),
    ),
    D=integers(1, 40),
    mu=scalars(-2, 2),
    sigma=scalars(0.3, 2),
    seed=seeds(),
    tries=30,
)

def growth(i):  # the exponent of D between 16 and 256: 10,000 draws leave some per cent of noise
    return np.log(measured[4, i] / measured[2, i]) / np.log(16)

verify(
    'the variances grow like D to the powers 0, 2 and 1',
    lambda i: bool(abs(growth(i) - [0, 2, 1][i]) < 0.1),
    slip=('expects the square of D from the baseline, too',
          lambda i: bool(abs(growth(i) - [0, 2, 2][i]) < 0.1)), i=[0, 1, 2],
)

# %% [markdown]
# ## Gumbel-softmax: gradients through a discrete choice
#
# A network chooses among $K$ words with the probabilities $\mathrm{softmax}(\mathbf{a})$. The choice jumps, so it has no
# useful path. Two steps make one. The first is exact. Add *Gumbel noise* $G_k = -\log(-\log u_k)$ with uniform $u_k$ to the
# logits, and take the largest:
#
# ```{math}
# :label: eq-gumbel-max
# \Pr\Big( \arg\max_j \, (a_j + G_j) = k \Big) = \frac{e^{a_k}}{\sum_j e^{a_j}} .
# ```
#
# So a draw from the softmax has become a function of the logits and of noise.
#
# ```{admonition} Why the maximum is a draw from the softmax
# :class: dropdown
# Let every option wait an exponential time with rate $e^{a_k}$, and choose the one that comes first. Then $k$ is first with
# probability
#
# $$
# \int_0^\infty e^{a_k} e^{-e^{a_k} t} \prod_{j \ne k} e^{-e^{a_j} t} \, dt = \frac{e^{a_k}}{\sum_j e^{a_j}} .
# $$
#
# Such a time is $E_k = e^{-a_k} (-\log u_k)$, and the smallest time has the largest $-\log E_k = a_k + G_k$.
# ```
#
# The second step is a compromise. Replace the argmax, which jumps, by a softmax with a **temperature** $\tau$
# {cite}`maddison2017concrete,jang2017categorical`:
#
# ```{math}
# :label: eq-gumbel-softmax
# \mathbf{y}_\tau = \mathrm{softmax}\Big( \frac{\mathbf{a} + \mathbf{G}}{\tau} \Big) .
# ```

# %%
def gumbel(u):
    return -torch.log(-torch.log(u))

def gumbel_softmax(a, u, tau):  # (K,), (N, K) -> (N, K)
    return torch.softmax((a + gumbel(u)) / tau, dim=-1)

# %%
p = torch.tensor([0.5, 0.3, 0.2])
u = torch.tensor(np.random.default_rng(4).random((1500, 3)))
for tau in (0.1, 0.5, 2):
    y = gumbel_softmax(p.log(), u, tau)
    sure = (y.max(1).values > 0.9).double().mean()
    share = torch.bincount(y.argmax(1)) / 1500
    print(f'τ = {tau}: largest at {share.numpy().round(3)},'
          f' above 0.9 in {sure:.2f} of the draws')

# %% mystnb={"image": {"alt": "Two triangles with 1500 points each, the corners labelled 0.5, 0.3 and 0.2. At temperature 0.1 almost all points sit in the corners and on the edges, at 2 they form a cloud around the middle."}} tags=["hide-input"]
corners = np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])
fig, axes = panels(2, height=2.5)
for ax, tau in zip(axes, (0.1, 2), strict=True):
    ax.fill(*corners.T, fill=False, ec=GREY)
    ax.scatter(*(gumbel_softmax(p.log(), u, tau).numpy() @ corners).T, s=3, alpha=0.35, color='C0', rasterized=True)
    for k, (x, y) in enumerate(corners):
        ax.text(x, y + (0.05 if k == 2 else -0.13), (0.5, 0.3, 0.2)[k], ha='center', color=GREY)
    ax.set(title=f'τ = {tau}', aspect='equal', ylim=(-0.2, 1.05))
    ax.axis('off')

# %% [markdown] tags=["caption"]
# A low temperature $\tau$ drives the Gumbel-softmax draws into the corners of the triangle, which are the three choices; a
# high one keeps them near the middle.

# %% [markdown]
# At every temperature, the largest entry is the exact choice. The lower $\tau$, the closer $\mathbf{y}_\tau$ is to this
# corner, but the steeper the softmax, so the larger the noise of the gradient. We measure both for the cost $f(\mathbf{y})
# = 2 y_1^3 - y_2^3 + y_3^3$. The exact slope in $a_1$ is $p_1 (f_1 - \bar f)$, where $f_k$ is the cost at corner $k$ and
# $\bar f$ its mean. PyTorch's own function is `F.gumbel_softmax(logits, tau, hard)`. With `hard=True` it puts the exact
# choice into $f$ but takes the derivative of the soft one, the **straight-through** estimator {cite}`bengio2013estimating`:

# %%
cost = torch.tensor([2.0, -1.0, 1.0])
exact = p[0] * (cost[0] - p @ cost)

def slopes(tau, hard, N=20_000):  # one for each draw
    a = p.log().repeat(N, 1).requires_grad_()
    y = F.gumbel_softmax(a, tau, hard)
    (y**3 @ cost).sum().backward()
    return a.grad[:, 0]

# %%
print(f'exact slope {exact:.3f}')
for hard in (False, True):
    for tau in (0.05, 0.3, 2):
        g = slopes(tau, hard)
        print(f'{"straight-through" if hard else "Gumbel-softmax":16}'
              f' τ = {tau:4}: mean {g.mean():.2f}, deviation {g.std():.1f}')

# %% [markdown]
# As $\tau$ falls, the mean of Gumbel-softmax approaches the exact slope, and its noise grows. One can show that the bias is
# proportional to $\tau$ and the variance to $1/\tau$. Straight-through settles at *one and a half times* the exact slope.
# In place of $f(1) - f(0)$ it uses the mean of the derivatives at both ends, which is right for quadratic costs but not for
# cubes. The score function also works here. It has no bias at all.

# %% tags=["checks"]
def race(a, seed, noise, N=4000):
    u = np.random.default_rng(seed).random((N, len(a)))
    first = (a + noise(u)).argmax(1)
    share, p = np.bincount(first, minlength=len(a)) / N, softmax(a)
    return (abs(share - p) < 5 * np.sqrt(p * (1 - p) / N)).all()

verify(
    'the largest logit plus Gumbel noise is a draw from the softmax',
    lambda a, seed: race(a, seed, lambda u: gumbel(torch.tensor(u)).numpy()),
    slip=(
        'takes normal noise in place of Gumbel noise',
        lambda a, seed: race(a, seed, ndtri),
    ),
    a=vectors(3, -2, 2),
    seed=seeds(),
    tries=60,
)

def as_scipy(a, seed, tau, temperature):
    u = np.random.default_rng(seed).random((5, 3))
    got = gumbel_softmax(torch.tensor(a), torch.tensor(u), temperature(tau)).numpy()
    return close(got, softmax((a + stats.gumbel_r.ppf(u)) / tau, axis=1))

verify(
    'Gumbel-softmax from scipy',
    lambda a, seed, tau: as_scipy(a, seed, tau, lambda t: t),
    slip=('multiplies by the temperature', lambda a, seed, tau: as_scipy(a, seed, tau, lambda t: 1 / t)),
    a=vectors(3, -2, 2), seed=seeds(), tau=scalars(0.2, 3), tries=40,
)

def settles(factor, hard, tau=0.05):  # with a bias of the order of tau
    g = slopes(tau, hard)
    return bool(abs(g.mean() - factor * exact) < 5 * g.std() / 20_000**0.5 + 0.1 * tau)

verify(
    'straight-through settles at one and a half times the slope of a cube, Gumbel-softmax at the slope',
    lambda hard: settles(1.5 if hard else 1, hard),
    slip=('believes that straight-through has no bias', lambda hard: settles(1, hard)), hard=[False, True],
)

def noise_ratio(hard):  # a tenth of the temperature, ten times the variance, about
    return (slopes(0.02, hard).std() / slopes(0.2, hard).std()) ** 2

verify(
    'at a tenth of the temperature the variance is about ten times as large',
    lambda power: bool(0.6 < noise_ratio(False) / 10**power < 1.6),
    slip=('expects the deviation to be ten times as large', lambda power: bool(0.6 < noise_ratio(False) / 100**power < 1.6)),
    power=[1],
)

# %% [markdown]
# ## Where it matters: variational inference
#
# Ten measurements predict the progress of diabetes in 442 patients. Which weights $\mathbf{w}$ are plausible, given the
# data $\mathbf{y}$? **Variational inference** answers with a distribution $q(\mathbf{w})$ from a family that we can handle,
# for example Gaussians. It looks for the $q$ with the largest *evidence lower bound*
#
# ```{math}
# :label: eq-reparam-elbo
# \mathbb{E}_{\mathbf{w} \sim q}\big[ \log p(\mathbf{y}, \mathbf{w}) - \log q(\mathbf{w}) \big] = \log p(\mathbf{y}) - \mathrm{KL}( q \,\|\, r ) ,
# ```
#
# where $r(\mathbf{w}) = p(\mathbf{w} \mid \mathbf{y})$ is the posterior and the divergence $\mathrm{KL}$ is zero only for
# $q = r$. This is an expectation over the distribution that is being tuned. To judge the two estimators we take a case with
# a known answer: $\mathbf{y} = X\mathbf{w} + \text{noise}$ with noise variance $\frac12$ and the prior
# $\mathcal{N}(\mathbf{0}, I)$, all columns standardized. Then the posterior is Gaussian with precision $P = 2 X^\top X + I$
# and mean $2 P^{-1} X^\top \mathbf{y}$.

# %%
torch.set_num_threads(1)        # for 10 x 10 matrices
x, y, _ = diabetes()
X = torch.tensor((x - x.mean(0)) / x.std(0))  # (442, 10)
y = torch.tensor((y - y.mean()) / y.std())    # (442,)
P = 2 * X.T @ X + torch.eye(10)
exact = MultivariateNormal(torch.linalg.solve(P, 2 * X.T @ y),
                           precision_matrix=P)

def log_joint(w):               # (..., 10) -> (...), up to a constant
    return 2 * w @ (X.T @ y) - (w @ P * w).sum(-1) / 2

# %% [markdown]
# The distribution $q$ has 65 parameters: a mean and a lower triangle $L$, with $\mathbf{w} = \mathbf{m} + L
# \boldsymbol\epsilon$. The path can use the closed form of $-\mathbb{E} \log q$, the entropy. The score function has the
# leave-one-out baseline:

# %%
def by_path(q, n):
    return log_joint(q.rsample((n,))).mean(0) + q.entropy()

def by_score(q, n):
    w = q.sample((n,))
    f = (log_joint(w) - q.log_prob(w)).detach()  # (n, ...)
    f = (f - f.mean(0)) * n / (n - 1)
    return (f * q.log_prob(w)).mean(0)

# %%
def gaussian(theta):            # (..., 11, 10): triangle and mean
    T = theta[..., :10, :]
    L = T.tril(-1) + T.diagonal(0, -2, -1).exp().diag_embed()
    return MultivariateNormal(theta[..., 10, :], scale_tril=L,
                              validate_args=False)

# %% [markdown]
# Both climb with Adam for 1000 steps with 10 draws each, from the same start, with five seeds. The best step size depends
# on the noise, so each gets the best of five. (All 25 runs are one batch. Adam ignores the scale of a gradient, so a step
# of 1 in `x` is a step of `rate` in the parameters.)

# %%
rates = torch.tensor([0.1, 0.03, 0.01, 0.005, 0.002])
start = torch.cat([-2.5 * torch.eye(10), torch.zeros(1, 10)])

def climb(bound, steps=1000, n=10):
    torch.manual_seed(0)
    x = torch.zeros(len(rates), 5, 11, 10, requires_grad=True)
    adam = torch.optim.Adam([x], lr=1.0)
    fall = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
    record = []                 # KL every 40 steps: (26, 5 rates, 5 seeds)
    for step in range(steps + 1):
        q = gaussian(start + rates[:, None, None, None] * x)
        if step % 40 == 0:
            record.append(kl_divergence(q, exact).detach())
        adam.zero_grad()
        (-bound(q, n).sum()).backward()
        adam.step()
        fall.step()
    return torch.stack(record)

# %%
kl = {name: climb(bound)
      for name, bound in (('score', by_score), ('path', by_path))}
best = {}
for name, record in kl.items():
    i = record[-1].median(1).values.argmin()
    best[name] = record[:, i]   # (26, 5)
    print(f'{name}: best rate {rates[i]:g}, KL from {record[0, i, 0]:.0f}'
          f' to {record[-1, i].median():.2g}')

# %% mystnb={"image": {"alt": "KL divergence from the exact posterior against the number of steps, on a logarithmic axis. The score function falls from about 250 to a few units; the path goes on to about three hundredths."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.8))
at = np.arange(0, 1001, 40)
for name, record in best.items():
    ax.fill_between(at, record.min(1).values, record.max(1).values, alpha=0.3, lw=0)
    ax.plot(at, record.median(1).values, label=name)
ax.set(yscale='log', xlabel='step (10 draws each)', ylabel='KL(q ‖ posterior)')
label_lines(ax)

# %% [markdown] tags=["caption"]
# Median and range of five seeds, each estimator at its best step size. With equally many draws the path comes much closer
# to the posterior than the score function.

# %% [markdown]
# The gradient of $\log p$ along the path tells each of the 65 parameters its own share, while the score function has only
# one number for each draw. This is why variational autoencoders are trained by reparameterization
# {cite}`kingma2014auto,rezende2014stochastic`, and why we return to the score function only where there is no path.

# %% tags=["checks"]
def has_gradient_of_kl(bound, seed):
    torch.manual_seed(seed)
    near = torch.linalg.cholesky(torch.linalg.inv(P))
    near = near.tril(-1) + near.diag().log().diag()
    theta = torch.cat([near, exact.mean[None]]) + 0.01 * torch.randn(11, 10)  # near the posterior
    theta = theta.repeat(40, 1, 1).requires_grad_()  # 40 batches
    q = gaussian(theta)
    wanted, = torch.autograd.grad(-kl_divergence(q, exact).sum(), theta, retain_graph=True)
    noisy, = torch.autograd.grad(bound(q, 100).sum(), theta)
    gap = (noisy - wanted).mean(0)
    return bool((abs(gap) <= 5 * noisy.std(0) / 40**0.5 + 1e-9).all())

def score_of_moving_f(q, n):
    w = q.sample((n,))
    f = log_joint(w) - q.log_prob(w)
    f = (f - f.mean(0)) * n / (n - 1)
    return (f * q.log_prob(w)).mean(0)

bounds = {'score': by_score, 'path': by_path}
careless = bounds | {'score': score_of_moving_f}
verify(
    'both have the gradient of the lower bound',
    lambda name, seed: has_gradient_of_kl(bounds[name], seed),
    slip=(
        'forgets to hold f fixed',
        lambda name, seed: has_gradient_of_kl(careless[name], seed),
    ),
    name=list(bounds),
    seed=[0, 1, 2, 3],
)

def posterior_is(noise_variance):  # against ridge regression with the penalty s²
    w = np.linalg.lstsq(np.vstack([X, noise_variance**0.5 * np.eye(10)]), np.append(y, np.zeros(10)), rcond=None)[0]
    return close(exact.mean, w)

verify(
    'the mean of the posterior is ridge regression',
    posterior_is, slip=('takes the noise variance 1', lambda noise_variance: posterior_is(2 * noise_variance)),
    noise_variance=[0.5],
)
verify(
    'the path ends at less than a thirtieth of the divergence of the score function, in every seed',
    lambda factor: bool(best['score'][-1].min() > factor * best['path'][-1].max()),
    slip=('exchanges the two', lambda factor: bool(best['path'][-1].min() > factor * best['score'][-1].max())), factor=[30],
)

# %% [markdown]
# ## Summary
#
# There are two ways to differentiate an expectation over a distribution that is itself tuned. Reparameterization writes the
# draw as $g_\theta(\epsilon)$ and differentiates along this path, which needs a path without jumps. The score function
# weighs the draws and asks nothing of $f$, but its variance grows with the size of $f$ and with the dimension. A discrete
# choice has no path; Gumbel-softmax gives it one at the price of a bias that grows with the temperature.
#
# **Further reading.** {cite}`mohamed2020monte` survey all estimators of this kind with their history;
# {cite}`kingma2014auto` and {cite}`rezende2014stochastic` brought the path to deep learning,
# {cite}`williams1992simple` the score function; {cite}`murphy2022probabilistic` places both among the methods of
# inference.
