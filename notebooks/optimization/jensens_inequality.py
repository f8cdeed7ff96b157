# ---
# jupyter:
#   book:
#     functions:
#       jensen_gap: jensen_gap(np.square, normal(4), uniform(4))
#       kl: kl(uniform(4), uniform(4))
#     main: dl.jensen.finite
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Jensen's inequality
#
# The numbers on a die have the mean 3.5. The square of this mean is 12.25, but the mean of the squares is about 15.2. So it
# matters whether we average first or apply the function first. For which functions do we know which result is larger, how
# large is the difference, and what is it good for?
#
# - **You need** [convex functions](convex_functions.ipynb),
#   [expectations](../probability/expectations.ipynb), [Bayes' theorem](../probability/bayes_theorem.ipynb) and the
#   [normal distribution](../probability/gaussian_distribution.ipynb).
# - **You build** a proof that runs, the Kullback–Leibler divergence, the evidence lower bound and a tighter one, each beside
#   a case in which the exact value is known.
# - **Runs in** 7 seconds.

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
from scipy.optimize import minimize
from scipy.special import entr, expit, logsumexp, rel_entr, softmax
from scipy.stats import multivariate_normal, norm

from nbutils.cases import distributions, integers, lists, matrices, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.data import digits
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## Jensen's inequality: the mean of f is at least f of the mean
#
# We try three functions on the die, for which each number has the weight $\frac16$:

# %%
def jensen_gap(f, x, a):  # points x (n,), weights a (n,)
    return a @ f(x) - f(a @ x)

die, sixths = np.arange(1, 7), np.full(6, 1 / 6)
print(f'mean of the die: {sixths @ die:.1f}')
for name, f in (('x²', np.square), ('eˣ', np.exp), ('ln x', np.log)):
    print(f'{name:4} mean of f {sixths @ f(die):6.2f},',
          f'f of the mean {f(sixths @ die):6.2f},',
          f'difference {jensen_gap(f, die, sixths):7.3f}')

# %% [markdown]
# The mean of the die is 3.5, and $f$ of the mean is $f(3.5)$. For $x^2$ and $e^x$ the mean of the values is larger, for the
# logarithm it is smaller. The first two are *convex*: $\lambda f(x) + (1 - \lambda) f(x') \ge f(\lambda x + (1 - \lambda)
# x')$ for $0 \le \lambda \le 1$. **Jensen's inequality** says the same for any number of points:
#
# ```{math}
# :label: dl.jensen.finite
# \sum_i \alpha_i f(x_i) \ge f\Big( \sum_i \alpha_i x_i \Big), \qquad \alpha_i \ge 0, \quad \sum_i \alpha_i = 1 .
# ```
#
# For a concave function such as the logarithm it is turned round. A picture helps: put a mass $\alpha_i$ at each point
# $(x_i, f(x_i))$ of the graph. The centre of mass $\big( \sum_i \alpha_i x_i, \sum_i \alpha_i f(x_i) \big)$ lies on or above
# the graph. The inequality holds for every convex function on an interval, or on a convex set of any dimension.
#
# ### A proof: merge two points at a time
#
# We apply the definition of convexity to two points at a time. Replace the first two points by a single one, with their
# joint weight $\alpha_1 + \alpha_2 > 0$, at their own mean $x' = \frac{\alpha_1 x_1 + \alpha_2 x_2}{\alpha_1 + \alpha_2}$.
# The mean of all points stays where it was. And by the definition with $\lambda = \frac{\alpha_1}{\alpha_1 + \alpha_2}$,
# multiplied by $\alpha_1 + \alpha_2$,
#
# ```{math}
# :label: dl.jensen.induction
# (\alpha_1 + \alpha_2) f(x') + \sum_{i \ge 3} \alpha_i f(x_i) \le \sum_{i} \alpha_i f(x_i) :
# ```
#
# the centre of mass can only sink. After $n - 1$ such merges one point is left, at $\sum_i \alpha_i x_i$ and on the
# graph, so the height has sunk from the left side of {eq}`dl.jensen.finite` to the right side. (Points without weight are
# removed before.)

# %%
def merge(x, a):  # the first two of n points into one
    joint = a[0] + a[1]
    middle = (a[0] * x[0] + a[1] * x[1]) / joint
    return np.append(middle, x[2:]), np.append(joint, a[2:])
def heights(f, x, a, merge=merge):  # of the centre of mass, n values
    sinking = [a @ f(x)]
    while len(x) > 1:
        x, a = merge(x, a)
        sinking.append(a @ f(x))
    return np.array(sinking)

# %%
x = np.array([-2.2, 1.9, -1.1, 0.4, 2.4, -0.3])
a = np.array([0.1, 0.15, 0.2, 0.2, 0.15, 0.2])
sinking = heights(np.exp, x, a)
print('height after each merge:', sinking.round(2))
print('exp of the mean:        ', np.exp(a @ x).round(2))

# %% mystnb={"image": {"alt": "Left: six points of different size on the graph of the exponential function; their centre of mass lies above the curve, inside the polygon that they span. Right: the height of the centre of mass against the number of merges falls in steps to the value of the function at the mean."}} tags=["hide-input"]
mean = a @ x
fig, (left, right) = panels(2, height=2.8)
t = np.linspace(-2.6, 2.6, 200)
left.plot(t, np.exp(t))
hull = np.sort(x)
left.fill(hull, np.exp(hull), color='C1', alpha=0.15)
left.scatter(x, np.exp(x), 300 * a, color='C0')
left.plot([mean, mean], [np.exp(mean), sinking[0]], color='C1')
left.plot(mean, sinking[0], 's', color='C1')
left.text(mean, sinking[0] + 0.6, 'centre of mass', color='C1', ha='right')
left.set(xlabel='x', ylabel='exp x', title='Six points with weights')
right.plot(sinking, 's-', color='C1')
right.axhline(np.exp(mean), color='C0', ls=':')
right.text(0, np.exp(mean) + 0.06, 'exp of the mean', color='C0')
right.set(xlabel='merges', ylabel='height', title='One merge at a time');

# %% [markdown] tags=["caption"]
# The centre of mass of points on a convex graph lies above it. Each merge of two points only lowers it, until one point on
# the graph is left: a proof of Jensen's inequality.

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: tip
# It is easy to remember the inequality the wrong way round. The square is a good reminder: the gap for $x^2$ is
# $\sum_i \alpha_i x_i^2 - (\sum_i \alpha_i x_i)^2$, the weighted variance, which is never negative.
# :::
#
# For $f = -\ln$ and $x_i > 0$ Jensen says $-\sum_i \alpha_i \ln x_i \ge -\ln \sum_i \alpha_i x_i$. Change the sign and
# exponentiate: the geometric mean is at most the arithmetic one. It matters that $f$ is convex, not that it
# increases: the logarithm increases, and for it the inequality is turned round.
#
# ### Expectations: a line below the graph
#
# A continuous distribution has no first two values to merge, so it needs another proof.
# Let $X$ take values in an interval $I$ on which $f$ is convex, with finite mean $\mu$.
#
# ````{prf:theorem} Jensen's inequality
# :label: thm-jensen
# ```{math}
# :label: dl.jensen.expectation
# \mathbb{E}[f(X)] \ge f(\mathbb{E}[X]) ,
# ```
# where the left side may be $+\infty$. If $f$ is strictly convex, equality holds only if $X$ is almost surely constant.
# ````
#
# ```{prf:proof}
# :class: dropdown
# Chords of a convex function become steeper to the right. So at an inner point $\mu$ of $I$ no chord to the left of
# $\mu$ is steeper than any to the right, and some slope $g$ fits between them: $f(x) \ge f(\mu) + g (x - \mu)$ for all
# $x \in I$, a line that touches the graph at $\mu$ and stays below it. Take expectations (the left one exists, perhaps
# as $+\infty$, since the line is integrable): the line becomes $f(\mu)$, because $\mathbb{E}[X - \mu] = 0$. If $f$ is
# strictly convex, the line touches nowhere else, so the expectations agree only if $X = \mu$ almost surely. If $\mu$ is
# an end of $I$, then $X = \mu$ almost surely anyway.
# ```
#
# ### How large is the Jensen gap?
#
# Expand $f$ around $\mu$. The linear term averages to zero, the quadratic one to
# $\frac12 f''(\mu) \sigma^2$: half the curvature times the variance. For Gaussian $X$ the cubic term vanishes by symmetry,
# and with $\mathbb{E}[(X - \mu)^4] = 3 \sigma^4$ the rest is at most
#
# ```{math}
# :label: eq-jensen-taylor
# \Big| \mathbb{E}[f(X)] - f(\mu) - \tfrac12 f''(\mu) \sigma^2 \Big| \le \frac{\sigma^4}{8} \sup |f''''| .
# ```
#
# For the softplus function $f(x) = \ln(1 + e^x)$ we have $f'' = p (1 - p)$ with the sigmoid $p$, and
# $|f''''| \le \frac18$. We compute the expectation by a sum over a fine grid:

# %%
grid = np.linspace(-10, 10, 2001)
bell = norm.pdf(grid) * 0.01  # weights of the grid points

def expected(f, mu, s):  # E[f(X)], X ~ N(mu, s^2)
    return bell @ f(mu + s * grid)

softplus, p = lambda x: np.logaddexp(0, x), expit(0.5)
for s in (0.25, 0.5, 1, 2):
    gap = expected(softplus, 0.5, s) - softplus(0.5)
    print(f's = {s:4}: gap {gap:.4f}, half the curvature times the variance',
          f'{p * (1 - p) * s**2 / 2:.4f}')

# %% [markdown]
# For $f = \exp$ and $X \sim \mathcal{N}(0, s^2)$ the exact value is known: $\mathbb{E}[e^X] = e^{s^2/2}$, so the gap is
# $e^{s^2/2} - 1$. We compare it with the approximation $s^2/2$, and with the gap that one measures with 1000 draws, in 200
# repetitions.

# %%
z = np.random.default_rng(0).normal(size=(200, 1000))
widths = np.linspace(0.25, 4, 16)
gap = np.expm1(widths**2 / 2)
measured = np.array([np.exp(s * z).mean(1) - 1 for s in widths])
too_small = (measured < gap[:, None]).mean(1)
for i in (3, 7, 11, 15):
    print(f's = {widths[i]:.0f}: too small in {too_small[i]:.2f} of them')

# %% mystnb={"image": {"alt": "The Jensen gap of the exponential of a normal variable against its standard deviation, in logarithmic scale. The closed form rises ever more steeply; half the variance agrees with it up to about 1 and then falls behind; the median of the measurements follows the closed form up to about 2 and then falls below it, within a widening band."}} tags=["hide-input"]
low, median, high = np.quantile(measured, [0.05, 0.5, 0.95], axis=1)
fig, ax = plt.subplots(figsize=(6, 3))
ax.fill_between(widths, low, high, color='C2', alpha=0.25)
ax.semilogy(widths, median, color='C2', label='1000 draws: median, 90 % band')
ax.plot(widths, gap, color='C0', label='closed form')
ax.plot(widths, widths**2 / 2, color='C1', ls='--', label='half the variance')
ax.set(xlabel='standard deviation s', ylabel='E[exp X] − exp E[X]')
ax.set(title='Gap of the exponential')
ax.legend(loc='upper left');

# %% [markdown] tags=["caption"]
# Half the variance gives the gap only for small $s$. Beyond about $s = 2$ the median of 1000 draws falls below the true gap,
# which hangs on rare values.

# %% [markdown]
# If $X$ is wide, most of the expectation comes from values that a thousand draws hardly ever contain. So the measured gap
# is right on average over infinitely many repetitions, and too small in most of them. The last part meets this again.
#
# ```{exercise} ★ Experiment: fifty up, forty down
# :label: jensen-growth
# Each year a fund multiplies your money by one of the factors $x_i$, with probability $\alpha_i$. Over many years the
# share of years with factor $x_i$ tends to $\alpha_i$. With factors 1.5 and 0.6, equally likely, the average factor is 1.05:
# would you buy? Predict, for any fund, the factor per year by which your money grows in the long run, and write
# `growth(x, a)`. Then follow a thousand investors for a hundred years. How many of them gain?
# ```

# %%
def growth(x, a):
    """The factor per year in the long run: a float, 0.0 for certain ruin.

    x: float array (n,) of factors, none negative; some may be 0.
    a: float array (n,), their probabilities; some may be 0.
    growth(np.array([2.0, 0.5]), np.array([0.5, 0.5])) is 1.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def growth_by_counting(x, a):  # over years with just the right shares
    for N in range(1, 100):
        years = N * a
        if np.allclose(years, years.round(), atol=1e-9):
            money = 1.0
            for factor in np.repeat(x, years.round().astype(int)):
                money *= factor
            return money ** (1 / N)
    raise TypeError('no such number of years')

cases = dict(
    x=lambda a: vectors(len(a), 0, 3, edges=True),
    a=on(np.array([0.5, 0.5])) | distributions((1, 4)),
)
grade(growth, growth_by_counting, **cases)

# %% [markdown]
# ```{solution-start} jensen-growth
# :class: dropdown
# ```
# After $n$ years the money has been multiplied by about $\prod_i x_i^{n \alpha_i}$, so the factor per year is the
# geometric mean $\prod_i x_i^{\alpha_i}$, which is $e^{\mathbb{E}[\ln X]}$ if no factor is zero. By Jensen it is at most
# $\mathbb{E}[X]$. Here it is $\sqrt{1.5 \cdot 0.6} = 0.95$: the fund grows in the average over all investors, and in the long
# run it ruins nearly every one of them. After a hundred years 144 of a thousand still have a gain, and a few very large gains
# carry the average. The last wrong answer takes logarithms where a factor is 0: one that never occurs, with the
# probability 0, makes it `nan`.

# %% jupyter={"source_hidden": true}
def growth_solution(x, a):
    return np.prod(x**a)

def average(x, a):
    return a @ x

def all_alike(x, a):
    return np.prod(x) ** (1 / len(x))

def by_logarithms(x, a):
    return np.exp(a @ np.log(x))

assert grade(growth_solution, growth_by_counting, **cases)
assert not grade(average, growth_by_counting, **cases)
assert not grade(all_alike, growth_by_counting, **cases)
assert not grade(by_logarithms, growth_by_counting, **cases)
x, a = np.array([1.5, 0.6]), np.array([0.5, 0.5])
print(f'average {average(x, a):.2f}, growth {growth_solution(x, a):.2f}')
factors = np.random.default_rng(0).choice(x, (1000, 100), p=a)
gains = (factors.prod(1) > 1).sum()
print(f'{gains} of 1000 investors gain in a hundred years')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
CONVEX = {
    'exp': np.exp, 'square': np.square, 'softplus': softplus,
    'relu': lambda x: np.maximum(x, 0),
}

# %% tags=["checks"]
def has_gap(name, x, w):
    return jensen_gap(CONVEX[name], x, w / w.sum()) >= -1e-12

four = dict(name=list(CONVEX), x=vectors(4, -3, 3), w=vectors(4, 1, 2))
holds('dl.jensen.finite', has_gap,
      slip=('lets one weight be negative',
            lambda name, x, w: has_gap(name, x, w * [-1, 1, 1, 1])),
      **four)

def merge_halfway(x, a):
    return np.append((x[0] + x[1]) / 2, x[2:]), np.append(a[0] + a[1], a[2:])

def proof_runs(name, x, w, merge=merge):
    f, a = CONVEX[name], w / w.sum()
    sinking = heights(f, x, a, merge)
    return (np.diff(sinking) <= 1e-12).all() and close(sinking[-1], f(a @ x))

holds('dl.jensen.induction', proof_runs,
      slip=('merges two points at the midpoint, whatever they weigh',
            lambda **case: proof_runs(**case, merge=merge_halfway)),
      **four)

def means_in_order(x, w, v):  # v weighs the geometric mean
    a, b = w / w.sum(), v / v.sum()
    arithmetic, quadratic = a @ x, np.sqrt(a @ x**2)
    geometric = np.exp(b @ np.log(x))
    spread = a @ (x - arithmetic) ** 2
    ordered = geometric <= arithmetic + 1e-9 and arithmetic <= quadratic + 1e-9
    return ordered and close(quadratic**2 - arithmetic**2, spread)

verify('geometric <= arithmetic <= quadratic mean',
       lambda x, w: means_in_order(x, w, w),
       slip=('forgets the weights in the geometric mean',
             lambda x, w: means_in_order(x, w, np.ones(4))),
       x=vectors(4, 0.1, 9), w=vectors(4, 0.1, 9))
holds('dl.jensen.expectation',
      lambda name, mu, s: expected(CONVEX[name], mu, s)
      >= CONVEX[name](mu) - 1e-9,
      slip=('applies it to the sigmoid, which is not convex',
            lambda name, mu, s: expected(expit, mu, s) >= expit(mu) - 1e-9),
      name=list(CONVEX), mu=scalars(-3, 3), s=scalars(0.1, 2))

def near_half(mu, s, factor):
    p = expit(mu)
    gap = expected(CONVEX['softplus'], mu, s) - CONVEX['softplus'](mu)
    return abs(gap - factor * p * (1 - p) * s**2) <= s**4 / 64 + 1e-12

verify('the gap is half the curvature times the variance',
       lambda mu, s: near_half(mu, s, 1 / 2),
       slip=('forgets the half before the curvature',
             lambda mu, s: near_half(mu, s, 1)),
       mu=scalars(-3, 3), s=scalars(0.01, 1))

# %% [markdown]
# ## The Kullback–Leibler divergence is never negative
#
# Data come from $p$, and you believe in $q$. How much does each observation speak for $p$ against $q$, on average? We
# measure it by the expected logarithm of the likelihood ratio:
#
# ```{prf:definition} Kullback–Leibler divergence
# :label: def-jensen-kl
# $\mathrm{KL}(p \,\|\, q) = \sum_i p_i \ln \frac{p_i}{q_i}$, with $0 \ln 0 = 0$, and $\infty$ if some $q_i = 0 < p_i$;
# for densities with an integral in place of the sum.
# ```

# %%
def kl(p, q):
    inside = p > 0
    return p[inside] @ np.log(p[inside] / q[inside])

fair, loaded = np.full(6, 1 / 6), np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.5])
print(f'KL(fair, loaded) = {kl(fair, loaded):.3f}')
print(f'KL(loaded, fair) = {kl(loaded, fair):.3f}')
print(f'KL(fair, fair)   = {kl(fair, fair):.3f}')

# %% [markdown]
# The divergence is not symmetric, but it is never negative. To see this, apply {eq}`dl.jensen.finite` to the convex
# function $-\ln$, with weights $p_i$ and points $q_i / p_i$, over those $i$ for which $p_i > 0$:
#
# ```{math}
# :label: eq-jensen-kl
# \begin{aligned}
# \mathrm{KL}(p \,\|\, q) &= \sum_{p_i > 0} p_i \Big( -\ln \frac{q_i}{p_i} \Big) \ge -\ln \sum_{p_i > 0} p_i \frac{q_i}{p_i} \\
# &= -\ln \sum_{p_i > 0} q_i \ge -\ln 1 = 0 .
# \end{aligned}
# ```
#
# Equality needs both steps: $-\ln$ is strictly convex, so all ratios $q_i / p_i$ are equal, and no mass of $q$ lies
# where $p_i = 0$, so the common ratio is 1. The divergence is zero only for $p = q$.
#
# One consequence: against the uniform distribution on $n$ values, $\mathrm{KL}(p \,\|\, u) = \ln n - H(p)$ with the
# *entropy* $H(p) = -\sum_i p_i \ln p_i$. So no distribution on $n$ values has more entropy than $\ln n$.
#
# ### Forward and reverse KL: cover both humps or choose one
#
# Fit one Gaussian $q$ to a density $p$ with two humps. $\mathrm{KL}(p \,\|\, q)$ is large if $q$ is small where $p$ is not,
# so $q$ must cover both humps. We can minimize it by hand: only $-\mathbb{E}_p[\ln q] = \ln s + \mathbb{E}_p[(x - m)^2] / (2
# s^2) + \text{const}$ depends on $q$, and it is least if $m$ and $s^2$ are the mean and the variance of $p$. $\mathrm{KL}(q
# \,\|\, p)$ is large if $q$ is large where $p$ is not, above all in the gap between the humps. So it chooses one of them,
# and which one depends on where the search starts.

# %% tags=["hide-input"]
t = np.linspace(-9, 9, 1801)
log_p = np.logaddexp(
    np.log(0.6) + norm.logpdf(t, -2.5, 0.6),
    np.log(0.4) + norm.logpdf(t, 2, 0.9))

def covering(w):  # KL(p || q), w = (m, ln s)
    return np.exp(log_p) @ (log_p - norm.logpdf(t, w[0], np.exp(w[1]))) * 0.01

def settling(w):  # KL(q || p)
    log_q = norm.logpdf(t, w[0], np.exp(w[1]))
    return np.exp(log_q) @ (log_q - log_p) * 0.01

starts = [(covering, 0), (settling, -2), (settling, 2)]
fits = [minimize(f, [start, 0.0]) for f, start in starts]
for (f, _), fit in zip(starts, fits, strict=True):
    print(f'{f.__name__}: mean {fit.x[0]:.2f}, standard deviation '
          f'{np.exp(fit.x[1]):.2f}, divergence {fit.fun:.2f}')

# %% mystnb={"image": {"alt": "A density with two humps and three Gaussians fitted to it: the covering one is wide and spans both humps with its top in the gap between them; the two settling ones sit on one hump each."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.8))
ax.fill_between(t, np.exp(log_p), color=GREY, alpha=0.3, label='p')
labels = ['least KL(p || q)', 'least KL(q || p)', 'the same, from the right']
for fit, label in zip(fits, labels, strict=True):
    ax.plot(t, norm.pdf(t, fit.x[0], np.exp(fit.x[1])), label=label)
ax.set(xlim=(-5.5, 9), xlabel='x', ylabel='density')
ax.set(title='Two directions')
ax.legend(loc='upper right');

# %% [markdown] tags=["caption"]
# The least $\mathrm{KL}(p \,\|\, q)$ spreads $q$ over both humps; descent on $\mathrm{KL}(q \,\|\, p)$ settles on one of
# them, which one depends on the start.

# %% [markdown]
# The next part minimizes the second kind, so its $q$ tends to choose a single hump and to have tails that are too thin.
#
# ```{exercise} ★★ Pencil: mixing makes uncertain
# :label: jensen-mixing
# Distributions $p_1, \dots, p_K$ (the rows of `P`) are mixed with weights $w_k$ to $m = \sum_k w_k p_k$. Show that the
# entropy of the mixture exceeds the average entropy, $H(m) - \sum_k w_k H(p_k) \ge 0$, by writing the difference with
# divergences. Write it so as `mixing_gain(P, w, divergence)`, where `divergence` is a function that gives
# $\mathrm{KL}(p \,\|\, q)$ in nats or in bits. The gain has the same unit.
# ```

# %%
def mixing_gain(P, w, divergence):
    """The entropy gained by mixing, in the unit of the divergence: a float.

    P: float array (K, n), each row a distribution; entries may be 0.
    w: float array (K,), the weights, a distribution; entries may be 0.
    divergence: function of two distributions (n,) that gives a float, which
    is np.inf where the first has an outcome that the second has not.
    mixing_gain(np.eye(2), np.array([0.5, 0.5]), bits) is 1.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def nats(p, q):
    return rel_entr(p, q).sum()

def bits(p, q):
    return rel_entr(p, q).sum() / np.log(2)

def gain_by_entropies(P, w, divergence):
    one_coin = divergence(np.array([1.0, 0]), np.array([0.5, 0.5])) / np.log(2)
    return (entr(w @ P).sum() - w @ entr(P).sum(1)) * one_coin

def rows(w):
    mixed = integers(1, 4).flatmap(
        lambda n: lists(distributions(n), len(w), len(w)))
    return mixed.map(np.array)

cases = dict(P=rows, w=distributions((1, 4)), divergence=[nats, bits])
grade(mixing_gain, gain_by_entropies, **cases)

# %% [markdown]
# ```{solution-start} jensen-mixing
# :class: dropdown
# ```
# $-\sum_i m_i \ln m_i = -\sum_k w_k \sum_i p_{ki} \ln m_i$, so the difference is $\sum_k w_k \sum_i p_{ki} (\ln p_{ki} -
# \ln m_i) = \sum_k w_k \, \mathrm{KL}(p_k \,\|\, m) \ge 0$. If a hidden $k$ is drawn with probabilities $w_k$ and then
# $i$ from $p_k$, this is the mutual information of $k$ and $i$. A row of weight 0 is left out, because it may have outcomes
# that $m$ has not, and 0 times infinity is no number. The divergences in the other direction, $\mathrm{KL}(m
# \,\|\, p_k)$, add up to something else, and so do those from the middle of the rows. The entropies
# themselves are right in nats and do not notice the unit.

# %% jupyter={"source_hidden": true}
def mixing_gain_solution(P, w, divergence):
    return sum(
        weight * divergence(p, w @ P) for weight, p in zip(w, P, strict=True)
        if weight > 0)

def with_weight_zero(P, w, divergence):
    return w @ [divergence(p, w @ P) for p in P]

def other_direction(P, w, divergence):
    return w[w > 0] @ [divergence(w @ P, p) for p in P[w > 0]]

def from_the_middle(P, w, divergence):
    return w[w > 0] @ [divergence(p, P.mean(0)) for p in P[w > 0]]

def in_nats(P, w, divergence):
    return entr(w @ P).sum() - w @ entr(P).sum(1)

assert grade(mixing_gain_solution, gain_by_entropies, **cases)
assert not grade(with_weight_zero, gain_by_entropies, **cases)
assert not grade(other_direction, gain_by_entropies, **cases)
assert not grade(from_the_middle, gain_by_entropies, **cases)
assert not grade(in_nats, gain_by_entropies, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
mean = np.exp(log_p) @ t * 0.01
deviation = np.sqrt(np.exp(log_p) @ (t - mean) ** 2 * 0.01)
assert close(fits[0].x, [mean, np.log(deviation)], atol=1e-5)

def share(w):
    return w / w.sum()

verify('the divergence is not negative',
       lambda v, w: kl(share(v), share(w)) >= -1e-12
       and close(kl(share(v), share(w)), rel_entr(share(v), share(w)).sum()),
       slip=('weighs the logarithms with q in place of p',
             lambda v, w: -rel_entr(share(w), share(v)).sum() >= -1e-12),
       v=vectors(4, 0, 9).filter(np.any), w=vectors(4, 0.1, 9))

# %% [markdown]
# ## Hidden variables and the evidence lower bound (ELBO)
#
# Often only a part $X$ of what happened is observed, and another part $Y$ is hidden: the topic of a text, the style of a
# written digit. The model says how likely $x$ is for each $y$. The probability of what was seen, the *evidence*, is the
# average $P(x) = \sum_y P(y) P(x \mid y)$. Its logarithm is the logarithm of a sum, which is awkward to differentiate and
# to sum over data. Jensen exchanges the logarithm and the sum. With the convex function $-\log$ and the random number
# $P(x \mid Y)$, whose mean is $P(x)$,
#
# ```{math}
# :label: dl.jensen.latent
# \mathbb{E}_{Y \sim P(Y)}\big[ -\log P(x \mid Y) \big] \ge -\log P(x) ,
# ```
#
# with equality only if $P(x \mid y)$ is the same for all $y$ that can occur. How good is this bound? Two topics, three
# words:

# %%
prior = np.array([[0.7], [0.3]])  # P(y), (2, 1)
given = np.array([[0.5, 0.4, 0.1], [0.1, 0.2, 0.7]])  # P(x | y), (2, 3)
evidence = (prior * given).sum(0)  # P(x), (3,)
print('log P(x)             ', np.log(evidence).round(2))
print('Y from P(Y)          ', (prior * np.log(given)).sum(0).round(2))

# %% [markdown]
# Bayes' theorem, $P(x \mid y) = P(x) P(y \mid x) / P(y)$, shows that the gap is
# $\mathbb{E}_{P(Y)}[\log \frac{P(Y)}{P(Y \mid x)}] = \mathrm{KL}(P(Y) \,\|\, P(Y \mid x))$. It is small only if $x$ says
# little about $Y$. So we draw $Y$ from another distribution $q$, which may depend on $x$. Jensen, applied to the mean under
# $q$ of $P(x, Y) / q(Y)$, gives the **evidence lower bound**, or ELBO:
#
# ```{math}
# :label: eq-jensen-elbo
# \begin{aligned}
# \log P(x) &\ge \mathbb{E}_{Y \sim q}\Big[ \log \frac{P(x, Y)}{q(Y)} \Big] \\
# &= \mathbb{E}_{Y \sim q}\big[ \log P(x \mid Y) \big] - \mathrm{KL}( q \,\|\, P_Y ) ,
# \end{aligned}
# ```
#
# where $P_Y$ is the distribution of $Y$, without knowledge of $x$. With $P(x, y) = P(x) P(y \mid x)$ the gap is
# $\mathrm{KL}(q \,\|\, P(Y \mid x))$. So the best $q$ is the posterior, and for it the bound is an equality:

# %%
posterior = prior * given / evidence  # P(y | x), (2, 3)
fit = (posterior * np.log(given)).sum(0)
price = (posterior * np.log(posterior / prior)).sum(0)
print('log P(x)             ', np.log(evidence).round(2))
print('ELBO with posterior  ', (fit - price).round(2))
print('without the KL term  ', fit.round(2))

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: tip
# "Average $\log P(x \mid y)$ over the posterior." Without the term $\mathrm{KL}(q \,\|\, P_Y)$ the result is no lower
# bound. In the last row it exceeds $\log P(x)$.
# :::
#
# ### Why the bound is simpler: mixtures of Gaussians and EM
#
# Jensen's inequality bounds a more complicated expression by a simpler one. Let each of $N$ numbers come from one of $K$
# Gaussians with shares $\pi_k$, unit variance and unknown means $\mu_k$, and let $q_{nk}$ be any distributions over $k$.
# Then
#
# ```{math}
# :label: dl.jensen.simpler-bound
# \sum_n \log \sum_k \pi_k \, \varphi(x_n - \mu_k) \ge \sum_n \sum_k q_{nk} \log \frac{\pi_k \, \varphi(x_n - \mu_k)}{q_{nk}} .
# ```
#
# On the right the logarithm is applied directly to the Gaussian density $\varphi$. As a function of the means it is a sum of
# $-\frac12 q_{nk} (x_n - \mu_k)^2$ and constants, a *quadratic*, with its maximum at the weighted averages. And with the
# posterior for $q$, both sides agree.

# %%
def log_parts(x, mu, pi):  # (N, K)
    return np.log(pi) + norm.logpdf(x[:, None], mu)

def log_likelihood(x, mu, pi):
    return logsumexp(log_parts(x, mu, pi), axis=1).sum()

def lower_bound(q, x, mu, pi, paid=1):
    return (q * (log_parts(x, mu, pi) - paid * np.log(q))).sum()

# %%
x, pi = np.array([-2.1, -1.4, 1.7, 2.2]), np.array([0.5, 0.5])
now, new = np.array([-1.0, 1.0]), np.array([-1.7, 1.9])
q = softmax(log_parts(x, now, pi), axis=1)  # posterior at the present means
for name, mu in (('present means', now), ('other means', new)):
    print(f'{name:14} log-likelihood {log_likelihood(x, mu, pi):.3f},',
          f'bound {lower_bound(q, x, mu, pi):.3f}')

# %% [markdown]
# ### A hidden Gaussian, where everything is known
#
# The hidden $z \sim \mathcal{N}(0, 1)$ is observed with noise, $x \mid z \sim \mathcal{N}(z, \sigma^2)$. Sums of independent
# Gaussians are Gaussian: $x \sim \mathcal{N}(0, 1 + \sigma^2)$; and the posterior is
# $\mathcal{N}\big( \frac{x}{1 + \sigma^2}, \frac{\sigma^2}{1 + \sigma^2} \big)$. For $q = \mathcal{N}(m, s^2)$ the
# two terms of {eq}`eq-jensen-elbo` need only $\mathbb{E}_q[(x - z)^2] = (x - m)^2 + s^2$ and
#
# ```{math}
# :label: eq-jensen-gaussian-kl
# \mathrm{KL}\big( \mathcal{N}(m, s^2) \,\|\, \mathcal{N}(m', s'^2) \big) = \ln \frac{s'}{s} + \frac{s^2 + (m - m')^2}{2 s'^2} - \frac12 .
# ```
#
# For every $q$ the bound and the divergence from the posterior add up to $\log P(x)$:

# %%
def gaussian_kl(m, s, m2, s2):
    return np.log(s2 / s) + (s**2 + (m - m2) ** 2) / (2 * s2**2) - 0.5

def elbo(m, s, x, sigma):
    fit = norm.logpdf(x, m, sigma) - s**2 / (2 * sigma**2)
    return fit - gaussian_kl(m, s, 0, 1)

# %%
x_seen, sigma = 1.6, 0.8
wide = np.sqrt(1 + sigma**2)
best_m, best_s = x_seen / wide**2, sigma / wide  # of the posterior
for m, s in ((0, 1), (0.5, 0.3), (best_m, best_s)):
    bound = elbo(m, s, x_seen, sigma)
    off = gaussian_kl(m, s, best_m, best_s)
    print(f'q = N({m:.2f}, {s:.2f}²): {bound:.3f} + {off:.3f} =',
          f'{bound + off:.3f}')
print(f'log P(x) = {norm.logpdf(x_seen, 0, wide):.3f}')

# %% mystnb={"image": {"alt": "Left: minus log P(x) for a mixture of two Gaussians, a curve with two valleys. Above it the average over the prior, a single parabola that stays far above in the valleys, and the bound with the posterior at x = 0.9, a parabola that touches the curve at that point. Right: the evidence lower bound against the mean of q for three widths: three parabolas below the ceiling log p(x), of which the one with the posterior's width touches it."}} tags=["hide-input"]
t = np.linspace(-4, 4.5, 300)
pi, centres = np.array([0.6, 0.4]), np.array([-1.5, 2.0])
surprise = -logsumexp(log_parts(t, centres, pi), axis=1)
by_prior = -norm.logpdf(t[:, None], centres) @ pi
q = softmax(log_parts(np.array([0.9]), centres, pi), axis=1)[0]
by_q = -(log_parts(t, centres, pi) - np.log(q)) @ q
m_axis = np.linspace(-1, 3, 81)
curves = {
    s: elbo(m_axis, s, x_seen, sigma) for s in (best_s, 0.3, 1.4)
}
ceiling = norm.logpdf(x_seen, 0, wide)
fig, (left, right) = panels(2, height=3)
left.plot(t, surprise, label='−log P(x)')
left.plot(t, by_prior, label='Y from P(Y)')
left.plot(t, by_q, label='Y from P(Y | x = 0.9)')
left.axvline(0.9, ymax=0.6, color=GREY, ls=':')
left.set(xlabel='observed x', ylabel='nats', ylim=(0, 24))
left.set_title('A hidden component')
left.legend(loc='upper center')
right.axhline(ceiling, color=GREY, ls=':')
right.text(-1, ceiling + 0.1, 'log P(x)', color=GREY)
for s, curve in curves.items():
    right.plot(m_axis, curve, label=f's = {s:.2f}')
right.set(xlabel='mean m of q', ylabel='lower bound (nats)')
right.set(ylim=(-6, -1), title='A hidden Gaussian')
right.legend(loc='lower center');

# %% [markdown] tags=["caption"]
# Left: a bound weighted with the posterior touches $-\log P(x)$ where that posterior is right, at $x = 0.9$. Right: the
# lower bound reaches $\log P(x)$ only with the posterior's mean and width.

# %% [markdown]
# ```{exercise} ★★ Program: climb by touching
# :label: jensen-em
# Take the bound {eq}`dl.jensen.simpler-bound` with the posterior at the present means as $q$: it touches the
# log-likelihood there. Now keep $q$ and move the means to the top of the bound. Write `em_step(x, mu, pi)`, the new
# means. Some points may be far from all means. Why can the log-likelihood not fall?
# ```

# %%
def em_step(x, mu, pi):
    """The means at the top of the bound: a float array (K,).

    x: float array (N,), N >= 1, with entries from -60 to 60.
    mu: float array (K,), the present means, from -4 to 4.
    pi: float array (K,), the shares, all positive, with the sum 1.
    em_step(np.array([1.0, 3.0]), np.array([0.0]), np.array([1.0])) is
    array([2.]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def step_by_parabolas(x, mu, pi):  # each through three heights of the bound
    log_q = np.log(pi) - (x[:, None] - mu) ** 2 / 2
    q = np.exp(log_q - logsumexp(log_q, axis=1, keepdims=True))
    left, middle, right = (
        (q * (x[:, None] - new) ** 2).sum(0) for new in (-1, 0, 1))
    return (left - right) / (left + right - 2 * middle) / 2

cases = dict(
    x=vectors((1, 5), -4, 4, edges=True) | vectors((1, 5), -60, 60),
    mu=lambda pi: vectors(len(pi), -4, 4, edges=True),
    pi=distributions((1, 3)).filter(np.all),
)
grade(em_step, step_by_parabolas, **cases)

# %% [markdown]
# ```{solution-start} jensen-em
# :class: dropdown
# ```
# The top of the quadratic is the weighted mean $\mu_k = \sum_n q_{nk} x_n / \sum_n q_{nk}$. The new log-likelihood is at
# least the new bound (Jensen), the new bound at least the old one (its top), and the old one *is* the old
# log-likelihood (it touched). This is the EM algorithm {cite}`dempster1977maximum`. Assigning each point to its
# likeliest component instead is [k-means](../unsupervised/k_means.ipynb) with shares: another step. The other wrong answers
# forget the shares, and compute the densities themselves, which are all zero in floats for a point that is far away.

# %% jupyter={"source_hidden": true}
def em_step_solution(x, mu, pi):
    q = softmax(np.log(pi) - (x[:, None] - mu) ** 2 / 2, axis=1)
    return x @ q / q.sum(0)

def hard_step(x, mu, pi):
    nearest = (np.log(pi) - (x[:, None] - mu) ** 2 / 2).argmax(1)
    return np.array([x[nearest == k].mean() for k in range(len(mu))])

def without_shares(x, mu, pi):
    q = softmax(-(x[:, None] - mu) ** 2 / 2, axis=1)
    return x @ q / q.sum(0)

def by_densities(x, mu, pi):
    q = pi * np.exp(-(x[:, None] - mu) ** 2 / 2)
    q = q / q.sum(1, keepdims=True)
    return x @ q / q.sum(0)

# %% jupyter={"source_hidden": true}
assert grade(em_step_solution, step_by_parabolas, **cases)
assert not grade(hard_step, step_by_parabolas, **cases)
assert not grade(without_shares, step_by_parabolas, **cases)
assert not grade(by_densities, step_by_parabolas, **cases)
x = 2 * np.random.default_rng(2).normal(size=30)
mu, pi = np.array([-0.5, 0, 0.5]), np.array([0.2, 0.5, 0.3])
climb = [log_likelihood(x, mu, pi)]
for _ in range(4):
    mu = em_step_solution(x, mu, pi)
    climb.append(log_likelihood(x, mu, pi))
assert (np.diff(climb) > 0).all()
print('log-likelihood:', np.round(climb, 2))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def tables(w, T):  # P(y), P(x | y), P(y | x) from positive numbers
    prior = (w / w.sum())[:, None]  # (Y, 1)
    given = T / T.sum(1, keepdims=True)  # (Y, X)
    assert close(given.sum(1), np.ones(len(w)))
    return prior, given, prior * given / (prior * given).sum(0)

def latent_gap(q, prior, given):  # (X,); q (Y, 1) or (Y, X)
    return (q * -np.log(given)).sum(0) + np.log((prior * given).sum(0))

def prior_bounds(w, T):
    prior, given, _ = tables(w, T)
    return (latent_gap(prior, prior, given) >= -1e-12).all()

def posterior_bounds(w, T):
    prior, given, posterior = tables(w, T)
    return (latent_gap(posterior, prior, given) >= -1e-12).all()

table = dict(w=vectors(3, 0.1, 9), T=matrices(3, 4, 0.1, 9))
holds('dl.jensen.latent', prior_bounds,
      slip=('averages over P(y | x) without paying for it', posterior_bounds),
      **table)

def divergence(p, q):  # over y, for each x
    return rel_entr(p, q).sum(0)

def gaps_known(w, T, reverse=False):
    prior, given, posterior = tables(w, T)
    q = (posterior + prior) / 2  # something between the two
    of_prior = latent_gap(prior, prior, given)
    of_q = latent_gap(q, prior, given) + divergence(q, prior)
    swap = -1 if reverse else 1
    return close(of_prior, divergence(*[prior, posterior][::swap])) and close(
        of_q, divergence(*[q, posterior][::swap]))

verify('the gap is the divergence from the posterior', gaps_known,
       slip=('turns the divergence round',
             lambda w, T: gaps_known(w, T, reverse=True)),
       **table)

# %% tags=["checks"]
def is_quadratic(g):  # third differences are zero
    return abs(g(3) - 3 * g(2) + 3 * g(1) - g(0)) < 1e-9

def draw_mixture(seed):
    rng = np.random.default_rng(seed)
    x, (mu, line) = 2 * rng.normal(size=20), rng.normal(size=(2, 3))
    pi, q = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 20)
    return x, mu, line, pi, q

def is_simple_bound(seed, paid):
    x, mu, line, pi, q = draw_mixture(seed)
    truth = log_likelihood(x, mu, pi)
    posterior = softmax(log_parts(x, mu, pi), axis=1)
    below = lower_bound(q, x, mu, pi, paid) <= truth
    simple = is_quadratic(
        lambda t: lower_bound(q, x, mu + t * line, pi, paid))
    return below and simple and close(
        lower_bound(posterior, x, mu, pi, paid), truth)

holds('dl.jensen.simpler-bound', lambda seed: is_simple_bound(seed, paid=1),
      slip=('drops q in the denominator',
            lambda seed: is_simple_bound(seed, paid=0)),
      seed=seeds())
_, mu, line, pi_0, _ = draw_mixture(0)
assert not is_quadratic(lambda t: log_likelihood(x, mu + t * line, pi_0))
assert min((by_prior - surprise).min(), (by_q - surprise).min()) >= 0

# %% tags=["checks"]
def elbo_by_sum(m, s, x, sigma):
    z, q = m + s * np.linspace(-10, 10, 501), norm(m, s)
    joint = norm.logpdf(z) + norm.logpdf(x, z, sigma)
    return q.pdf(z) @ (joint - q.logpdf(z)) * s / 25

def adds_up(m, s, x, sigma, turned=False):
    wide, bound = np.sqrt(1 + sigma**2), elbo(m, s, x, sigma)
    fit, target = (m, s), (x / wide**2, sigma / wide)  # q and posterior
    pair = (target, fit) if turned else (fit, target)
    total = bound + gaussian_kl(*pair[0], *pair[1])
    return close(bound, elbo_by_sum(m, s, x, sigma)) and close(
        total, norm.logpdf(x, 0, wide))

verify('bound plus divergence is the log evidence', adds_up,
       slip=('turns the divergence round',
             lambda **case: adds_up(**case, turned=True)),
       m=scalars(-3, 3), s=scalars(0.1, 3), x=scalars(-4, 4),
       sigma=scalars(0.3, 2))

# %% [markdown]
# ## Where it matters: comparing models by their lower bounds
#
# Variational autoencoders and similar models are trained and compared by evidence lower bounds, because their likelihoods
# cannot be computed. To see what can go wrong, we take a model whose likelihood is known. *Probabilistic principal component
# analysis*
# {cite}`tipping1999probabilistic` is the linear case: a hidden $\mathbf{z} \sim \mathcal{N}(\mathbf{0}, \mathbf{I}_d)$,
# a picture $\mathbf{x} \mid \mathbf{z} \sim \mathcal{N}(\mathbf{c} + \mathbf{W} \mathbf{z}, \sigma^2 \mathbf{I})$. So
# $\mathbf{x} \sim \mathcal{N}(\mathbf{c}, \mathbf{W} \mathbf{W}^\top + \sigma^2 \mathbf{I})$ exactly, and the likelihood
# is greatest for $\mathbf{c}$ the mean, $\sigma^2$ the mean of the smallest eigenvalues of the covariance beyond the $d$
# largest $\lambda_1, \dots, \lambda_d$, and $\mathbf{W}$ with columns $\sqrt{\lambda_i - \sigma^2} \, \mathbf{u}_i$
# along their eigenvectors.
#
# Turn the hidden space by an orthogonal matrix $\mathbf{R}$, that is, take $\mathbf{W} \mathbf{R}$ in place of $\mathbf{W}$.
# As $\mathbf{W} \mathbf{R} \mathbf{R}^\top \mathbf{W}^\top = \mathbf{W} \mathbf{W}^\top$, every picture keeps its
# probability. Nobody who sees only pictures can tell the two models apart.

# %%
pictures = digits().x  # (1797, 64)
fitted, held_out = pictures[:1400], pictures[1400:]
centre = fitted.mean(0)
values, vectors_ = np.linalg.eigh(np.cov(fitted.T, bias=True))

def ppca(d):  # W (64, d), sigma^2
    noise = values[:-d].mean()
    return vectors_[:, -d:] * np.sqrt(values[-d:] - noise), noise

def log_evidence(x, W, noise):  # mean over the pictures
    C = W @ W.T + noise * np.eye(64)
    return multivariate_normal(centre, C).logpdf(x).mean()

# %%
rng = np.random.default_rng(3)
R, _ = np.linalg.qr(rng.normal(size=(24, 24)))
W24, noise24 = ppca(24)
models = {
    'd = 24': (W24, noise24), 'd = 24, turned': (W24 @ R, noise24),
    'd = 20': ppca(20),
}

# %% [markdown]
# For $q$ the usual choice is a *mean-field* Gaussian, which treats the coordinates of $\mathbf{z}$ as independent. The
# exact posterior has precision $\boldsymbol\Lambda = \mathbf{I} + \mathbf{W}^\top \mathbf{W} / \sigma^2$ and mean
# $\mathbf{m} = \boldsymbol\Lambda^{-1} \mathbf{W}^\top (\mathbf{x} - \mathbf{c}) / \sigma^2$. Among Gaussians with
# diagonal covariance $\mathrm{diag}(v_1, \dots, v_d)$, the divergence from it is $\frac12 \big( \sum_i
# \boldsymbol\Lambda_{ii} v_i - d - \sum_i \ln v_i - \ln \det \boldsymbol\Lambda \big)$ for the mean $\mathbf{m}$ and
# more for every other. It is least for $v_i = 1 / \boldsymbol\Lambda_{ii}$, and then
#
# ```{math}
# :label: eq-jensen-mean-field
# \log P(\mathbf{x}) - \text{bound} = \tfrac12 \Big( \sum_i \ln \boldsymbol\Lambda_{ii} - \ln \det \boldsymbol\Lambda \Big) ,
# ```
#
# the same for every picture. It is zero exactly if $\boldsymbol\Lambda$ is diagonal: if the columns of $\mathbf{W}$ are
# orthogonal, as those of the first model are and those of the turned one are not.

# %%
def mean_field(x, W, noise):  # means (n, d), variances (d,), precision
    precision = np.eye(W.shape[1]) + W.T @ W / noise
    means = (x - centre) @ np.linalg.solve(precision, W.T / noise).T
    return means, 1 / np.diag(precision), precision

def mean_field_bound(x, W, noise):
    m, v, _ = mean_field(x, W, noise)
    misfit = ((x - centre - m @ W.T) ** 2).sum(1) + v @ (W**2).sum(0)
    fit = -32 * np.log(2 * np.pi * noise) - misfit / (2 * noise)
    return (fit - 0.5 * (m**2 + v - 1 - np.log(v)).sum(1)).mean()

# %%
for name, model in models.items():
    print(f'{name:14s} log evidence {log_evidence(held_out, *model):.2f},',
          f'bound {mean_field_bound(held_out, *model):.2f}')

# %% [markdown]
# By evidence the two models with 24 hidden directions are the same, and better than the one with 20. By the bound the
# turned one is the worst of the three. A comparison of bounds compares models *and* how well $q$ suits them.
#
# ### Tighter with more draws: the importance-weighted bound
#
# Draw not one $\mathbf{z}$ but $K$, and average before taking the logarithm. The
# weights $w_k = P(\mathbf{x}, \mathbf{z}_k) / q(\mathbf{z}_k)$ have mean $P(\mathbf{x})$ each, so Jensen gives the
# *importance-weighted bound* {cite}`burda2016importance`
#
# ```{math}
# :label: eq-jensen-iw
# L_K = \mathbb{E}\Big[ \log \frac1K \sum_{k=1}^K w_k \Big] \le \log P(\mathbf{x}), \qquad L_K \le L_{K+1} ,
# ```
#
# with $L_1$ the bound {eq}`eq-jensen-elbo`. Why does it grow? Leave one of $K + 1$ weights out, at random. The average
# of the remaining $K$ has the full average as its mean over what was left out; so by Jensen its logarithm is, in the
# mean, at most that of the full average. And by the law of large numbers the inner average becomes $P(\mathbf{x})$.
#
# We take the turned model and forty held-out digits, with 512 draws for each from its mean-field $q$, and five seeds. Groups
# of $K$ draws give estimates of $L_K$.

# %% tags=["hide-input"]
few = held_out[:40]
W, noise = models['d = 24, turned']
m, v, _ = mean_field(few, W, noise)

def log_weights(seed):  # (40, 512)
    z = np.random.default_rng(seed).normal(size=(40, 512, 24))
    log_q = norm.logpdf(z).sum(-1) - 0.5 * np.log(v).sum()
    z = m[:, None] + np.sqrt(v) * z
    misfit = ((few[:, None] - centre - z @ W.T) ** 2).sum(-1)
    fit = -32 * np.log(2 * np.pi * noise) - misfit / (2 * noise)
    return fit + norm.logpdf(z).sum(-1) - log_q

# %%
group_sizes = 2 ** np.arange(10)
log_w = np.array([log_weights(seed) for seed in range(5)])  # (5, 40, 512)
by_size = np.array([
    logsumexp(log_w.reshape(5, 40, -1, K), axis=-1).mean((1, 2)) - np.log(K)
    for K in group_sizes])  # (10, 5)
ceiling = log_evidence(few, W, noise)
floor = mean_field_bound(few, W, noise)
rival = log_evidence(few, *models['d = 20'])
print(f'mean-field bound: short of the evidence by {ceiling - floor:.2f}')
for K in (1, 32, 512):
    short = ceiling - by_size[group_sizes == K].mean()
    print(f'K = {K:3d}: short of the evidence by {short:.2f}')

# %% mystnb={"image": {"alt": "The importance-weighted bound of the turned model against the number of draws K from 1 to 512, five seeds close together, rising from the mean-field bound towards the log evidence; on the way it passes the line of the model with 20 directions."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
ax.fill_between(
    group_sizes, by_size.min(1), by_size.max(1), color='C0', alpha=0.3)
ax.semilogx(group_sizes, by_size.mean(1), 'o-', base=2)
for level, text, color in (
        (ceiling, 'log evidence, d = 24', GREY),
        (rival, 'log evidence, d = 20', 'C1'),
        (floor, 'mean-field bound, turned', 'C2')):
    ax.axhline(level, color=color, ls=':')
    ax.text(512, level + 0.15, text, color=color, ha='right')
ax.set(xlabel='draws K', ylabel='nats per picture')
ax.set(title='Importance-weighted bound, five seeds')
ax.set(ylim=(None, ceiling + 1));

# %% [markdown] tags=["caption"]
# Averaging $K$ weights before the logarithm tightens the bound, ever more slowly: with 512 draws it is still about one nat
# short, and one draw ranks the turned model below the smaller one.

# %% [markdown]
# The first draws help most. From 32 draws to 512, sixteen times the work, we gain less than one
# nat. The reason is the same as for the thousand draws in the first part: the weights are exponentials
# of widely spread numbers, and most of their mean comes from draws that hardly ever occur. A better $q$ is worth more than
# many draws; here it would be one with a full covariance.
#
# ```{exercise} ★★★ Pencil: how fast the bound closes
# :label: jensen-limit
# The average of $K$ weights has variance $\mathrm{Var}(w) / K$, so the quadratic term of the expansion that led to
# {eq}`eq-jensen-taylor`, with $f = -\ln$ at $P(x)$, suggests that the gap of $L_K$ is about $\mathrm{Var}(w) / (2 K
# P(x)^2)$ for large $K$. (The bound itself needs a Gaussian variable and a bounded $f''''$.) For the hidden Gaussian, $z
# \sim \mathcal{N}(0, 1)$ and $x \mid z \sim \mathcal{N}(z, \sigma^2)$, take $q$ to be the prior, so that $w = P(x \mid
# z)$. Find $\mathrm{Var}(w) / (2 P(x)^2)$ and write it as `limit(x, sigma)`. What happens as $\sigma \to 0$?
# ```

# %%
def limit(x, sigma):
    """K times the gap for large K: a float.

    x: float, what is observed. sigma: float > 0, its standard deviation
    about z.
    limit(0.0, 1.0) is about 0.0774.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def limit_by_summing(x, sigma):
    z = np.linspace(-12, 12, 6001)
    prior = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * 0.004
    w = np.exp(-((x - z) ** 2) / (2 * sigma**2))  # times a constant
    return prior @ (w / (prior @ w) - 1) ** 2 / 2

cases = dict(
    x=on(0.0) | scalars(-4, 4), sigma=on(1.0, 0.05) | scalars(0.05, 5),
)
grade(limit, limit_by_summing, **cases)

# %% [markdown]
# ```{solution-start} jensen-limit
# :class: dropdown
# ```
# The square of a Gaussian density is one of half the variance, times a constant:
# $w^2 = \mathcal{N}(x; z, \sigma^2 / 2) \, / \, (2 \sigma \sqrt\pi)$. Average over $z$:
# $\mathbb{E}[w^2] = \mathcal{N}(x; 0, 1 + \sigma^2 / 2) \, / \, (2 \sigma \sqrt\pi)$, while
# $\mathbb{E}[w] = P(x) = \mathcal{N}(x; 0, 1 + \sigma^2)$. As $\sigma \to 0$ the result grows like $1 / \sigma$: the
# posterior is a needle, and the share of draws from the prior that hit it shrinks in proportion. Of the wrong answers, the
# first forgets to subtract $\mathbb{E}[w]^2$, the second forgets the half, and the third takes the limit of small
# $\sigma$ for the formula. The simulation has $K = 256$ draws in each of 10 000 repetitions, and agrees
# within five standard errors: with the ratio $r = \frac{1}{K P(x)} \sum_k w_k$ the gap is $-\mathbb{E}[\ln r]$, or
# $\mathbb{E}[r - 1 - \ln r]$, the same in the mean and far less noisy.

# %% jupyter={"source_hidden": true}
def second_moment(x, sigma):  # E[w^2] / P(x)^2
    square = norm.pdf(x, 0, np.sqrt(1 + sigma**2 / 2))
    square = square / (2 * sigma * np.sqrt(np.pi))
    return square / norm.pdf(x, 0, np.sqrt(1 + sigma**2)) ** 2

def limit_solution(x, sigma):
    return (second_moment(x, sigma) - 1) / 2

def no_mean(x, sigma):
    return second_moment(x, sigma) / 2

def no_half(x, sigma):
    return second_moment(x, sigma) - 1

def of_a_needle(x, sigma):
    return np.exp(x**2 / 2) * np.sqrt(2) / 4 / sigma

# %% jupyter={"source_hidden": true}
assert grade(limit_solution, limit_by_summing, **cases)
assert not grade(no_mean, limit_by_summing, **cases)
assert not grade(no_half, limit_by_summing, **cases)
assert not grade(of_a_needle, limit_by_summing, **cases)
z = np.random.default_rng(4).normal(size=(10_000, 256))
r = norm.pdf(0.5, z, 1).mean(1) / norm.pdf(0.5, 0, np.sqrt(2))
scaled = 256 * (r - 1 - np.log(r))
error = scaled.std() / np.sqrt(10_000)
assert abs(scaled.mean() - limit_solution(0.5, 1)) < 5 * error
print(f'K times the gap: {scaled.mean():.3f} at K = 256, '
      f'limit {limit_solution(0.5, 1):.3f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def weighted_bound(K, q, joint, divisor):  # q (3,), joint P(x, y) (3,)
    draws = np.indices((3,) * K).reshape(K, -1)  # (K, 3^K)
    ratio = (joint / q)[draws].sum(0) / divisor
    return q[draws].prod(0) @ np.log(ratio)

def bounds_climb(u, joint, averaged):
    q = u / u.sum()
    L = [
        weighted_bound(K, q, joint, K if averaged else 1)
        for K in range(1, 6)
    ]
    steps = np.diff([*L, np.log(joint.sum())])
    single = np.log(joint.sum()) - rel_entr(q, joint / joint.sum()).sum()
    return (steps >= -1e-12).all() and close(L[0], single)

verify('more draws, a tighter bound',
       lambda u, joint: bounds_climb(u, joint, averaged=True),
       slip=('sums the weights in place of averaging them',
             lambda u, joint: bounds_climb(u, joint, averaged=False)),
       u=vectors(3, 0.1, 9), joint=vectors(3, 0.01, 0.3), tries=60)

# %% tags=["checks"]
exact = {name: log_evidence(held_out, *m) for name, m in models.items()}
assert close(exact['d = 24'], exact['d = 24, turned'])
for name, model in models.items():
    _, v, precision = mean_field(held_out, *model)
    slack = -0.5 * (np.log(v).sum() + np.linalg.slogdet(precision)[1])
    assert close(exact[name] - mean_field_bound(held_out, *model), slack)
error = log_w.mean(2).std(0, ddof=1).mean() / np.sqrt(5 * 40)
assert abs(by_size[0].mean() - floor) < 5 * error
assert (by_size < ceiling).all()
assert close(expected(np.exp, 0.7, 1.3), np.exp(0.7 + 1.3**2 / 2))
relu_mean = 1.3 * norm.pdf(0.7 / 1.3) + 0.7 * norm.cdf(0.7 / 1.3)
assert close(expected(CONVEX['relu'], 0.7, 1.3), relu_mean, rtol=1e-5)

means = by_size.mean(1)

verify(
    'with twice as many draws the bound is tighter, on average, and it keeps below the evidence',
    lambda i, way: bool(0 < way * (means[i + 1] - means[i]) and means[i + 1] < ceiling),
    slip=('says that it gets looser', lambda i, way: bool(0 < way * (means[i] - means[i + 1]))),
    i=list(range(9)), way=[1],
)
verify(
    'the bound ranks the turned model below the smaller one, although its evidence is larger',
    lambda better, worse: bool(log_evidence(held_out, *models[better]) > log_evidence(held_out, *models[worse])
                               and mean_field_bound(held_out, *models[better]) < mean_field_bound(held_out, *models[worse])),
    slip=('says so of the model that is not turned', lambda better, worse: bool(
        mean_field_bound(held_out, *models['d = 24']) < mean_field_bound(held_out, *models[worse]))),
    better=['d = 24, turned'], worse=['d = 20'],
)

# %% [markdown]
# ## Summary
#
# A convex function of an average is at most the average of the function, by merging points two at a time or by one
# supporting line, and for small spread the difference is half the curvature times the variance. With $-\ln$ this says
# that the Kullback–Leibler divergence is never negative, and turns the logarithm of a sum over hidden variables into an
# evidence lower bound, whose gap is the divergence from the posterior. A comparison of bounds is a comparison of models
# only as far as those gaps agree; averaging many weights before the logarithm closes them slowly.
#
# **Further reading.** {cite}`jensen1906fonctions` is the source, and {cite}`steele2004cauchy` a delightful tour of what
# follows; {cite}`cover2006elements` has the divergence, {cite}`blei2017variational` the evidence lower bound in use, and
# {cite}`burda2016importance` its tightening.
