# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Concentration inequalities
#
# - **Question.** How far can an average of $N$ observations lie from its expectation, for this $N$ and not only in the
#   limit, if you know next to nothing about the distribution?
# - **You need** [expectations and variances](expectations.ipynb), the binomial and the [normal
#   distribution](gaussian_distribution.ipynb).
# - **You build** the inequalities of Markov, Chebyshev and Hoeffding, two kinds of guaranteed interval, and a test of
#   what a test set proves.
# - **Time** 6 s.

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
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import beta, binom, binomtest, norm

from nbutils.cases import integers, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.data import digits
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## Markov's and Chebyshev's inequalities
#
# In a country whose mean income is 40 000, how many people can earn 200 000 or more? At most a share of
# $40\,000/200\,000 = 0.2$, because more of them would push the mean above 40 000, even if nobody else earned
# anything. The argument needs one number, the mean, and one fact, that no income is negative.
#
# ```{prf:theorem} Markov's inequality
# :label: thm-conc-markov
# If $Z \ge 0$ and $t > 0$, then $\Pr[Z \ge t] \le \mathbb{E}[Z] / t$.
# ```
#
# ```{prf:proof}
# Let $1_{Z \ge t}$ be $1$ where $Z \ge t$ and $0$ elsewhere. Then $t \, 1_{Z \ge t} \le Z$: where the left side is $t$,
# $Z$ is at least that; where it is $0$, $Z$ is not negative. Take expectations.
# ```
#
# Markov's inequality knows no spread. So apply it to a quantity that measures spread: let $X$ have mean $\mu$ and
# variance $\sigma^2$, and take $Z = (X - \mu)^2$. Since $|X - \mu| \ge t$ says the same as $Z \ge t^2$,
#
# ```{math}
# :label: eq-conc-chebyshev
# \Pr\big[ |X - \mu| \ge t \big] \le \frac{\sigma^2}{t^2} \qquad (t > 0),
# ```
#
# *Chebyshev's inequality*.
#
# Could a cleverer argument give more? Not from the same knowledge. Put mass $q/2$ on each of $\mu - t$ and $\mu + t$
# and the rest on $\mu$: the variance is $q t^2$, the probability $q$, and {eq}`eq-conc-chebyshev` is an equality. A
# better bound must know more about $X$.

# %%
mu, t, q = 3.0, 2.0, 0.3
x, p = np.array([mu - t, mu, mu + t]), np.array([q / 2, 1 - q, q / 2])
variance = p @ (x - p @ x) ** 2
outside = p[abs(x - mu) >= t].sum()
assert close(outside, variance / t**2)
print(f'Pr = {outside:.2f}, Chebyshev promises at most {variance / t**2:.2f}')

# %% [markdown]
# Now average. Let $\Theta_1, \dots, \Theta_N$ be independent, each with mean $\mu$ and variance $\sigma^2$. Their
# average $\bar\Theta = \frac1N \sum_n \Theta_n$ has the mean $\mu$, too, but only the variance
# $N \sigma^2 / N^2 = \sigma^2 / N$, because the variances of independent terms add. Chebyshev's inequality turns this
# into a law of large numbers, for the right side tends to zero as $N$ grows:
#
# ```{math}
# :label: ml.ms.hoeffding.concentration
# \Pr\Big[ \big| \tfrac1N \textstyle\sum_{n} \Theta_n - \mu \big| \ge \epsilon \Big] \le \frac{\sigma^2}{N \epsilon^2} .
# ```
#
# The average is *concentrated* around its mean. How fast? Its standard deviation is $\sigma / \sqrt N$, so an interval that
# holds 95 % of all averages should shrink like $N^{-1/2}$: four times the data for one half of the width. From $N = 25$ to
# $N = 1600$ it should become 8 times narrower, and for uniform numbers it does. The average of $N$ Cauchy variables, which
# have no mean, is again a Cauchy variable of the same width:

# %%
def central_width(draw, N, seed, R=2000):
    averages = draw(np.random.default_rng(seed), (R, N)).mean(1)
    low, high = np.quantile(averages, [0.025, 0.975])
    return high - low

uniform = lambda rng, shape: rng.random(shape)
cauchy = lambda rng, shape: rng.standard_cauchy(shape)
for name, draw in (('uniform', uniform), ('Cauchy', cauchy)):
    before, after = (central_width(draw, N, seed=0) for N in (25, 1600))
    print(f'{name:8s} {before:.3f} wide at N = 25, {after:.3f} at N = 1600')

# %%
rng = np.random.default_rng(5)
steps = np.unique(np.geomspace(1, 4000, 150).astype(int))
draws = {
    'waiting times': rng.exponential(size=(8, 4000)) - 1,
    'Cauchy': rng.standard_cauchy(size=(8, 4000)),
}
running = {
    name: (d.cumsum(1) / np.arange(1, 4001))[:, steps - 1]
    for name, d in draws.items()
}
promise = 1 / np.sqrt(0.05 * steps)  # Chebyshev, variance 1, 95 %

# %% mystnb={"image": {"alt": "Left: eight running averages of waiting times close in on zero and stay inside a funnel given by Chebyshev's inequality. Right: eight running averages of Cauchy numbers jump about without settling, outside the same funnel."}} tags=["hide-input"]
fig, axes = panels(2, sharey=True, height=2.7)
for ax, (name, paths) in zip(axes, running.items(), strict=True):
    ax.fill_between(steps, -promise, promise, color='C1', alpha=0.2)
    ax.plot(steps, paths.T, color='C0', lw=0.9)
    ax.set(xscale='log', ylim=(-3, 3), xlabel='observations N', title=name)
axes[0].set(ylabel='average minus centre')
axes[0].text(1.2, -2.7, "shaded: Chebyshev's 95 %", color='C1');

# %% [markdown] tags=["caption"]
# Averages of waiting times (variance 1) close in on their mean, well inside Chebyshev's funnel $\pm\sqrt{20 / N}$; averages
# of Cauchy numbers, which have no mean, do not settle.

# %% [markdown]
# Chebyshev's funnel holds, but generously: nearly all averages stay in its inner half. The exact 95 % band is about
# $1.96 / \sqrt N$, the promised one has $\sqrt{20} \approx 4.47$ in place of 1.96, and at smaller probabilities the
# comparison gets much worse. For bounded variables the next part has a far better bound.
#
# ```{exercise} ★★ Program: a bound for one side
# :label: conc-cantelli
# You care only about averages that are too large. Let $X$ have mean $\mu$ and standard deviation $\sigma$, let $t > 0$.
# For every $u \ge 0$ the event $X - \mu \ge t$ implies $(X - \mu + u)^2 \ge (t + u)^2$. Apply Markov's inequality,
# choose the best $u$, and write `one_sided(sigma, t)`, the resulting bound for $\Pr[X - \mu \ge t]$.
# ```

# %%
def one_sided(sigma, t):
    raise NotImplementedError('your turn')

# %%
def one_sided_by_search(sigma, t):
    bound = lambda u: (sigma**2 + u**2) / (t + u) ** 2
    return minimize_scalar(bound, bounds=(0, 1e3), method='bounded').fun

spreads = [(1.0, 0.5), (2.0, 3.0), (0.4, 1.7)]
grade(one_sided, one_sided_by_search, spreads)

# %% [markdown]
# ```{solution-start} conc-cantelli
# :class: dropdown
# ```
# $\mathbb{E}[(X - \mu + u)^2] = \sigma^2 + u^2$, so the bound is $(\sigma^2 + u^2) / (t + u)^2$. Its derivative in $u$
# has the sign of $u (t + u) - (\sigma^2 + u^2) = u t - \sigma^2$; so $u = \sigma^2 / t$, and the bound is
# $\sigma^2 / (\sigma^2 + t^2)$, Cantelli's inequality. Unlike Chebyshev's it is always below 1. Half of Chebyshev's
# bound would be wrong: a lopsided distribution may have all of its deviation on one side.

# %% jupyter={"source_hidden": true}
def one_sided_solution(sigma, t):
    return sigma**2 / (sigma**2 + t**2)

def half_of_chebyshev(sigma, t):
    return sigma**2 / t**2 / 2

assert grade(one_sided_solution, one_sided_by_search, spreads)
assert not grade(half_of_chebyshev, one_sided_by_search, spreads)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def markov(z, p, t):  # values (k,), probabilities (k,)
    return p[z >= t].sum() <= p @ z / t + 1e-9

def chebyshev(x, p, t, power=2):
    distance = abs(x - p @ x)
    spread = np.sqrt(p @ distance**2)
    return p[distance >= t].sum() <= spread**power / t**2 + 1e-9

five = dict(x=vectors(5), w=vectors(5, 0.1, 9), t=scalars(0.1, 10))
verify(
    "Markov's inequality",
    lambda x, w, t: markov(x**2, w / w.sum(), t),
    slip=(
        'lets the variable be negative',
        lambda x, w, t: markov(x, w / w.sum(), t),
    ),
    **five,
)
verify(
    "Chebyshev's inequality",
    lambda x, w, t: chebyshev(x, w / w.sum(), t),
    slip=(
        'takes the standard deviation for the variance',
        lambda x, w, t: chebyshev(x, w / w.sum(), t, power=1),
    ),
    **five,
)

def width_slope(draw, seed):
    widths = [central_width(draw, N, seed) for N in (25, 1600)]
    return np.log(widths[1] / widths[0]) / np.log(1600 / 25)

# For a nearly normal average each of the two sampled quantiles has standard
# error sqrt(0.025 * 0.975 / R) / φ(1.96) in units of its standard deviation.
# Their errors are positively correlated, so their difference, 3.92 units, has
# relative standard error 0.97 / sqrt(R) at most.
band = 5 * np.sqrt(2) * 0.97 / np.sqrt(2000) / np.log(64)
holds(
    'ml.ms.hoeffding.concentration',
    lambda seed: abs(width_slope(uniform, seed) + 1 / 2) < band,
    slip=(
        'averages numbers that have no mean',
        lambda seed: abs(width_slope(cauchy, seed) + 1 / 2) < band,
    ),
    seed=[0, 1, 2, 3],
)

# %% [markdown]
# ## Hoeffding's inequality: tails that fall exponentially
#
# Chebyshev's inequality came from Markov's with a square. Any increasing function with positive values would do in its
# place, and the exponential turns sums into products. Let $S = \sum_n (\Theta_n - \mathbb{E}[\Theta_n])$
# with independent terms. For every $\lambda > 0$,
#
# ```{math}
# :label: eq-conc-chernoff
# \begin{aligned}
# \Pr[S \ge s] &= \Pr\big[ e^{\lambda S} \ge e^{\lambda s} \big] \le e^{-\lambda s} \, \mathbb{E}\big[ e^{\lambda S} \big] \\
# &= e^{-\lambda s} \prod_{n=1}^N \mathbb{E}\big[ e^{\lambda (\Theta_n - \mathbb{E}[\Theta_n])} \big] .
# \end{aligned}
# ```
#
# The first step is Markov's inequality, the last one independence. Choose the best $\lambda$ afterwards; this is
# *Chernoff's method* {cite}`chernoff1952measure`. It remains to bound one factor, and for a variable that cannot leave
# an interval this can be done without knowing anything else about it.
#
# ```{prf:theorem} Hoeffding's lemma
# :label: thm-conc-lemma
# If $a \le X \le b$, then $\mathbb{E}\big[ e^{\lambda (X - \mathbb{E}[X])} \big] \le e^{\lambda^2 (b - a)^2 / 8}$ for
# all real $\lambda$.
# ```
#
# The proof shows that the logarithm of the left side has second derivative at most $(b - a)^2 / 4$, because that
# derivative is the variance of a variable with values in $[a, b]$.
#
# ```{prf:proof}
# :class: dropdown
# A variable $Y$ with values in $[a, b]$ has variance at most $(b - a)^2 / 4$: the mean minimises the expected squared
# distance, so $\mathrm{Var}(Y) \le \mathbb{E}\big[ (Y - \frac{a + b}{2})^2 \big]$, and no point of the interval is
# further than $\frac{b - a}{2}$ from its middle. Now let $\psi(\lambda) = \ln \mathbb{E}[e^{\lambda (X - \mathbb{E}[X])}]$.
# As $X$ is bounded, we may differentiate under the expectation: $\psi(0) = 0$, $\psi'(0) = 0$, and, by the quotient
# rule, $\psi''(\lambda)$ is the variance of $X$ when its distribution is reweighted in proportion to $e^{\lambda X}$.
# The reweighted variable still lives in $[a, b]$. So $\psi'' \le (b - a)^2 / 4$ everywhere, and Taylor's formula with
# remainder gives $\psi(\lambda) \le \frac{\lambda^2}{2} \cdot \frac{(b - a)^2}{4}$.
# ```
#
# A tempting mistake is to put the variance where the quarter of the squared range stands, $\psi(\lambda) \le \lambda^2
# \sigma^2 / 2$, as if $X$ were Gaussian.
#
# Put the lemma into {eq}`eq-conc-chernoff` with $s = N \epsilon$. The exponent is
# $-\lambda N \epsilon + N \lambda^2 (b - a)^2 / 8$, a parabola in $\lambda$ with its lowest point at
# $\lambda = 4 \epsilon / (b - a)^2$, and its value there is $-2 N \epsilon^2 / (b - a)^2$. So one side costs
#
# ```{math}
# :label: eq-conc-one-sided
# \Pr\big[ \tfrac1N \textstyle\sum_n \Theta_n - \mathbb{E}[\Theta] \ge \epsilon \big] \le e^{-2 N \epsilon^2 / (b - a)^2} .
# ```
#
# Apply this to $-\Theta_n$ as well, whose range is as long, and add the probabilities of the two events:
#
# ````{prf:theorem} Hoeffding's inequality
# :label: thm-conc-hoeffding
# Let $\Theta_1, \dots, \Theta_N$ be independent with the same mean $\mathbb{E}[\Theta]$ and values in $[a, b]$. Then
# for every $\epsilon > 0$
#
# ```{math}
# :label: ml.ms.hoeffding.ineq
# \Pr\Big[ \Big| \frac1N \sum_{n=1}^N \Theta_n - \mathbb{E}[\Theta] \Big| \ge \epsilon \Big] \le 2 e^{-2 N \epsilon^2 / (b - a)^2} .
# ```
# ````
#
# Hoeffding published it in 1963 {cite}`hoeffding1963probability`.
#
# :::{admonition} A tempting mistake
# :class: warning
# The factor 2 belongs to the absolute value. For one side, {eq}`eq-conc-one-sided`, it is not needed, but for both sides
# it is: the average of a single toss of a fair coin misses $\frac12$ by $\frac12$ always, with probability 1, and without
# the 2 the bound would be $e^{-2 \cdot 1/4} = 0.61$.
# :::
#
# For values that are $a$ or $b$ both sides of the inequality are known exactly: the number of $b$'s is binomial.

# %%
def hoeffding_bound(N, eps, a, b, sides=2):
    return sides * np.exp(-2 * N * eps**2 / (b - a) ** 2)

def exact_tails(N, p, eps):  # of the average of N zeros and ones
    above = binom.sf(np.ceil(N * (p + eps) - 1e-9) - 1, N, p)
    below = binom.cdf(np.floor(N * (p - eps) + 1e-9), N, p)
    return above, below

for N in (1, 10, 100):
    exact = sum(exact_tails(N, 0.5, 0.1))
    bound = hoeffding_bound(N, 0.1, 0, 1)
    print(f'{N:3d} tosses miss by 0.1: probability {exact:.3f}, '
          f'bound {bound:.3f}')

# %% [markdown]
# How good is the bound? Here are two hundred tosses of a fair coin and of one that shows heads once in twenty. Beside the
# exact probability stand frequencies from five simulations (seeds) of 20 000 averages each.

# %%
N, R = 200, 20_000
eps = (np.arange(1, 31) - 0.5) / N  # between two possible deviations
tails = {}
for p in (0.5, 0.05):
    exact = sum(exact_tails(N, p, eps))  # (30,)
    counts = [np.random.default_rng(s).binomial(N, p, R) for s in range(5)]
    distance = abs(np.array(counts)[..., None] / N - p)  # (5, R, 1)
    seen = (distance >= eps).mean(1)  # (5, 30)
    tails[p] = exact, seen, p * (1 - p) / (N * eps**2)
    error = np.sqrt(exact * (1 - exact) / R)  # five counts more: no bell
    assert (abs(seen - exact) < 5 * error + 5 / R).all()
bound = hoeffding_bound(N, eps, 0, 1)
assert all((exact < bound).all() for exact, _, _ in tails.values())
for p, (_, _, square) in tails.items():
    print(f'p = {p}: Chebyshev below Hoeffding up to deviations of '
          f'{eps[square < bound].max():.4f}')

# %% mystnb={"image": {"alt": "Tail probabilities against the deviation in logarithmic scale, for 200 tosses. Fair coin: Hoeffding's bound falls alongside the exact tail; Chebyshev's is the lower one up to a deviation of about 0.07 and from there on stays far above both. Rare coin: the exact tail falls much faster than Hoeffding's bound, which is the same as before, and Chebyshev's is the lower one up to about 0.1. Simulated points lie on the exact tails."}} tags=["hide-input"]
fig, axes = panels(2, sharey=True, height=3)
titles = ['fair coin, N = 200', 'heads 1 in 20, N = 200']
for ax, title, (exact, seen, square) in zip(
        axes, titles, tails.values(), strict=True):
    ax.semilogy(eps, np.minimum(square, 1), color='C2', label='Chebyshev')
    ax.semilogy(eps, np.minimum(bound, 1), color='C1', label='Hoeffding')
    ax.semilogy(eps, exact, color='C0', label='exact')
    ax.plot(eps, np.where(seen > 0, seen, np.nan).T, '.', color=GREY, ms=3)
    ax.set(xlabel='deviation ε', ylim=(2e-6, 2), title=title)
axes[0].set(ylabel='probability of |average − p| ≥ ε')
axes[0].legend(loc='lower left');

# %% [markdown] tags=["caption"]
# Hoeffding's bound falls about as fast as the tail of a fair coin, and far more slowly than that of a rare one. Chebyshev's
# is the better of the two for small $\epsilon$ only.

# %% [markdown]
# For the fair coin Hoeffding's bound falls about as fast as the exact probability. Write $\epsilon = z / (2 \sqrt N)$, so
# that $z$ counts standard deviations: the bound is $2 e^{-z^2/2}$, and the central limit theorem gives about
# $2 e^{-z^2/2} / (z \sqrt{2\pi})$ for large $z$. The exponent is right, only a slow factor is lost. For the rare coin the
# exponent itself is too small: the bound has half the range, $\frac{b - a}{2}$, where the standard deviation, less than half
# of that, should be. It cannot know the variance.
#
# Turned round, the bound says how many observations are enough. To have $|\bar\Theta - \mathbb{E}[\Theta]| < 0.01$ with
# probability $1 - 0.05 = 0.95$, for variables in $[0, 1]$:

# %%
def enough(eps, delta, sides):  # least N whose bound is at most delta
    return int(np.ceil(np.log(sides / delta) / (2 * eps**2)))

sizes = {
    'Chebyshev': round(1 / (4 * 0.01**2 * 0.05)),
    'Hoeffding': enough(0.01, 0.05, sides=2),
    'Hoeffding, one side': enough(0.01, 0.05, sides=1),
    'normal approximation': round((norm.ppf(0.975) / (2 * 0.01)) ** 2),
}
for sides, name in ((2, 'Hoeffding'), (1, 'Hoeffding, one side')):
    before, at = (
        hoeffding_bound(sizes[name] - k, 0.01, 0, 1, sides) for k in (1, 0))
    assert at <= 0.05 < before
for name, size in sizes.items():
    tail = sum(exact_tails(size, 0.5, 0.01))
    print(f'{name:21s} N = {size:6d}, fair coin misses with Pr {tail:.2e}')

# %% [markdown]
# About 15 000 is an often quoted answer to this question. It is the *one-sided* count, put in the place of a two-sided one,
# which is 18 445. The normal approximation asks for half of that, but promises nothing for any particular $N$ or
# distribution. It was made here for the largest standard deviation, $\frac12$, that of a fair coin, which misses
# with a probability of about 5 %; coins of clearly smaller variance miss less often.
#
# ```{exercise} ★★ Program: the best exponent for coins
# :label: conc-exponent
# For coins with heads probability $p$ one need not bound the factor in {eq}`eq-conc-chernoff`: it is
# $e^{-\lambda p} (1 - p + p e^\lambda)$. With the best $\lambda > 0$ the bound is $e^{-N h}$, where
# $h = \max_\lambda \big[ \lambda (p + \epsilon) - \ln(1 - p + p e^\lambda) \big]$. Write `best_exponent(p, eps)` $= h$
# in closed form ($0 < p < p + \epsilon < 1$).
# ```

# %%
def best_exponent(p, eps):
    raise NotImplementedError('your turn')

# %%
def exponent_by_search(p, eps):
    loss = lambda lam: np.log(1 - p + p * np.exp(lam)) - lam * (p + eps)
    return -minimize_scalar(loss, bracket=(0, 1)).fun

coin_cases = [(0.5, 0.1), (0.05, 0.1), (0.8, 0.05)]
grade(best_exponent, exponent_by_search, coin_cases)

# %% [markdown]
# ```{solution-start} conc-exponent
# :class: dropdown
# ```
# With $q = p + \epsilon$ the derivative vanishes where $p e^\lambda / (1 - p + p e^\lambda) = q$, so
# $e^\lambda = \frac{q (1 - p)}{p (1 - q)}$ and $1 - p + p e^\lambda = \frac{1 - p}{1 - q}$. Hence
# $h = q \ln \frac{q}{p} + (1 - q) \ln \frac{1 - q}{1 - p}$, the Kullback–Leibler divergence of the coin that would make
# the deviation typical from the coin at hand; [Jensen's inequality](../optimization/jensens_inequality.ipynb) has more
# on it. Hoeffding's $2 \epsilon^2$ is smaller, by the proof of his lemma. And $h$ is the truth in the long run: among
# the $N + 1$ possible counts of a coin with heads probability $q$ the count $N q$, if whole, is the likeliest, so it has
# probability at least $1 / (N + 1)$; for our coin it is $e^{-N h}$ times as likely. So the tail lies between
# $e^{-N h} / (N + 1)$ and $e^{-N h}$.

# %% jupyter={"source_hidden": true}
def best_exponent_solution(p, eps):
    q = p + eps
    return q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p))

def wrong_way_round(p, eps):
    return best_exponent_solution(p + eps, -eps)

assert grade(best_exponent_solution, exponent_by_search, coin_cases)
assert not grade(wrong_way_round, exponent_by_search, coin_cases)
for p, eps in coin_cases:
    count = binom.logpmf(round(10**5 * (p + eps)), 10**5, p)
    h = best_exponent_solution(p, eps)
    spare = np.log(10**5 + 1) / 10**5
    assert 2 * eps**2 < h < -count / 10**5 < h + spare
    print(f'p = {p}: Hoeffding {2 * eps**2:.4f}, best {h:.4f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def log_mgf(x, p, lam):  # psi, for values x (k,) with probabilities p (k,)
    return np.log(p @ np.exp(lam * (x - p @ x)))

def variance(x, p):
    return p @ (x - p @ x) ** 2

verify(
    "Hoeffding's lemma",
    lambda x, w, lam: (
        log_mgf(x, w / w.sum(), lam) <= lam**2 * np.ptp(x) ** 2 / 8 + 1e-9
    ),
    slip=(
        'takes the variance for a quarter of the squared range',
        lambda x, w, lam: (
            log_mgf(x, w / w.sum(), lam)
            <= lam**2 * variance(x, w / w.sum()) / 2 + 1e-9
        ),
    ),
    x=vectors(4),
    w=vectors(4, 0.1, 9),
    lam=scalars(-2, 2),
)

def two_sided(N, j, p, a, width, sides):
    eps = j / (2 * N)  # where the tail of a fair coin jumps
    bound = hoeffding_bound(N, eps * width, a, a + width, sides)
    return sum(exact_tails(N, p, eps)) <= bound + 1e-9

coins = dict(
    N=integers(1, 60),
    j=integers(1, 60),
    p=[0.05, 0.3, 0.5, 0.8],
)
holds(
    'ml.ms.hoeffding.ineq',
    lambda **case: two_sided(**case, sides=2),
    slip=(
        'forgets that there are two sides',
        lambda **case: two_sided(**case, sides=1),
    ),
    **coins,
    a=scalars(-3, 3),
    width=[0.5, 1, 4],
)

def upper(N, j, p, width):
    bound = hoeffding_bound(N, j / (2 * N), 0, width, sides=1)
    return exact_tails(N, p, j / (2 * N))[0] <= bound + 1e-9

verify(
    'one side costs half',
    lambda N, j, p: upper(N, j, p, width=1),
    slip=(
        'takes twice the standard deviation for the range',
        lambda N, j, p: upper(N, j, p, 2 * np.sqrt(p * (1 - p))),
    ),
    **coins,
)

# %% [markdown]
# ## Confidence intervals: from a bound to an error bar
#
# You have $N$ observations in $[a, b]$ and want to report their average with an error bar that is right with
# probability at least $1 - \delta$. Set the right side of Hoeffding's inequality
# $\Pr[|\bar\Theta - \mathbb{E}[\Theta]| \ge \epsilon] \le 2 e^{-2 N \epsilon^2 / (b - a)^2}$ equal to $\delta$ and solve:
# $\ln(2 / \delta) = 2 N \epsilon^2 / (b - a)^2$, so
#
# ```{math}
# :label: ml.ms.hoeffding.eps
# \epsilon = \sqrt{\frac{(b - a)^2 \ln(2 / \delta)}{2 N}} .
# ```
#
# With $1 / \delta$ in place of $2 / \delta$ the radius would be right for one side alone.
# %%
def radius(N, delta, a=0, b=1):
    return (b - a) * np.sqrt(np.log(2 / delta) / (2 * N))

for N in (100, 400, 1600):
    print(f'{N:4d} observations in [0, 1]: ± {radius(N, 0.05):.4f}')

# %% [markdown]
# What is random in the sentence "$\mathbb{E}[\Theta]$ lies in $\bar\Theta \pm \epsilon$ with probability at least
# $1 - \delta$"? The interval, not the expectation. It is a promise about the procedure: of all the intervals that you
# will ever report, in the long run at most a share $\delta$ is wrong. Once the numbers are in, this one is right or it
# is not.
#
# For zeros and ones with unknown $p$ the count of ones $K$ is binomial, and we need no inequality. Keep
# every $p$ for which the count $k$ that was seen is not too unlikely {cite}`clopper1934use`:
#
# ```{prf:definition} Exact (Clopper–Pearson) interval
# :label: def-conc-exact
# The interval of all $p$ for which both $\Pr_p[K \ge k] \ge \delta / 2$ and $\Pr_p[K \le k] \ge \delta / 2$.
# ```
#
# Why is it an interval, and why does it keep the promise? $\Pr_p[K \ge k]$ grows with $p$, so the first condition cuts
# off everything below some point, the second everything above another. And the true $p$ is cut off by the first
# condition only if $k \ge k_0$, where $k_0$ is the first count with $\Pr_p[K \ge k_0] < \delta / 2$: an event of
# probability less than $\delta / 2$. The same on the other side.
#
# The ends need no search either. Differentiate $\Pr_p[K \ge k] = \sum_{j \ge k} \binom{N}{j} p^j (1 - p)^{N - j}$ term
# by term: the sum telescopes, and $N \binom{N - 1}{k - 1} p^{k - 1} (1 - p)^{N - k}$ is left, the density of the Beta
# distribution with parameters $k$ and $N - k + 1$. So the lower end is that distribution's quantile at $\delta / 2$,
# or 0 if $k = 0$; the upper end follows by exchanging zeros and ones.

# %%
def exact_interval(k, N, delta):  # k (...,) -> two arrays (...,)
    def lower(k):
        quantile = beta.ppf(delta / 2, np.maximum(k, 1), N - k + 1)
        return np.where(k > 0, quantile, 0)
    return lower(k), 1 - lower(N - k)

k = np.arange(13)
low, high = exact_interval(k, 12, 0.1)
for j in k:
    theirs = binomtest(j, 12).proportion_ci(0.9, method='exact')
    assert close([low[j], high[j]], [theirs.low, theirs.high])
assert close(binom.sf(k[1:] - 1, 12, low[1:]), np.full(12, 0.05))
assert close(binom.cdf(k[:-1], 12, high[:-1]), np.full(12, 0.05))
print(f'9 ones in 12: between {low[9]:.2f} and {high[9]:.2f}')

# %% [markdown]
# Hoeffding's interval always contains the exact one. Suppose $p < k/N - \epsilon$ with the radius
# {eq}`ml.ms.hoeffding.eps`. The one-sided bound gives
# $\Pr_p[K \ge k] \le e^{-2 N (k/N - p)^2} < e^{-2 N \epsilon^2} = \delta / 2$, so $p$ is not in the exact interval
# either.
#
# The usual interval $\hat p \pm 1.96 \sqrt{\hat p (1 - \hat p) / N}$, after Wald, promises 95 % only in the limit. How
# often is each of the three right? That too can be computed exactly, with no simulation: add up the binomial
# probabilities of all counts whose interval contains $p$.

# %%
N, delta = 50, 0.05
k = np.arange(N + 1)
share = k / N
bar = norm.ppf(1 - delta / 2) * np.sqrt(share * (1 - share) / N)
intervals = {
    'Hoeffding': (share - radius(N, delta), share + radius(N, delta)),
    'exact': exact_interval(k, N, delta),
    'Wald': (share - bar, share + bar),
}

def coverage(p, low, high):  # p (P,), ends (N + 1,) -> (P,)
    p = p[:, None]
    return (binom.pmf(k, N, p) * ((low <= p) & (p <= high))).sum(1)

p_grid = np.linspace(0.01, 0.99, 393)
covered = {
    name: coverage(p_grid, *ends) for name, ends in intervals.items()
}
for name, c in covered.items():
    print(f'{name:9s} right with probability {c.min():.3f} to {c.max():.3f}')
assert min(covered['Hoeffding'].min(), covered['exact'].min()) >= 1 - delta

# %% [markdown]
# Simulations with five seeds, of 4000 intervals for each of seven values of $p$, are the points of the next figure.

# %%
p_some = np.array([0.01, 0.05, 0.13, 0.3, 0.5, 0.72, 0.9])
R = 4000
hits = {name: np.zeros((5, 7)) for name in intervals}
for seed in range(5):
    counts = np.random.default_rng(seed).binomial(N, p_some, size=(R, 7))
    for name, (low, high) in intervals.items():
        right = (low[counts] <= p_some) & (p_some <= high[counts])
        hits[name][seed] = right.mean(0)
for name, ends in intervals.items():
    want = coverage(p_some, *ends)
    error = np.sqrt(want * (1 - want) / R)
    assert (abs(hits[name] - want) < 5 * error + 5 / R).all()
print('simulated and exact coverage agree for', ', '.join(intervals))

# %% mystnb={"image": {"alt": "Left: probability that each interval is right against the true p, with 50 observations. Hoeffding's is above 0.99 throughout, the exact one saws between 0.95 and 1, Wald's saws below 0.95 and drops steeply towards both ends; points from five simulations lie on the curves. Right: half widths of the three against the share seen; Hoeffding's is constant and widest, the others are domes, Wald's touching zero at the ends."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3)
for i, (name, c) in enumerate(covered.items()):
    left.plot(p_grid, c, lw=1, color=f'C{i}')
    left.plot(p_some, hits[name].T, '.', ms=4, color=f'C{i}')
    low, high = intervals[name]
    right.plot(share, (high - low) / 2, color=f'C{i}', label=name)
left.axhline(0.95, color=GREY, ls=':')
left.set(xlabel='true p', ylabel='probability to be right')
left.set(ylim=(0.78, 1.005), title='Coverage, N = 50, promised 95 %')
right.set(xlabel='share of ones seen', ylabel='half width')
right.set(ylim=(0, 0.25), title='The price')
right.legend(loc='lower center');

# %% [markdown] tags=["caption"]
# With 50 observations Hoeffding's interval is right with probability above $0.99$ and wider than need be; the exact one
# keeps its promise of 95 %, Wald's breaks it for most $p$.

# %% [markdown]
# The exact interval keeps its promise with little to spare. Its curve has jumps because a count is a whole number.
# Hoeffding's is right in far more cases than it promises, and a third wider in the middle.
# Wald's breaks its promise for most $p$ {cite}`brown2001interval`, and worst for rare events: where not a single one is
# seen, its width is zero, and its curve leaves the frame at both ends.
#
# Rare events are also where the exact interval wins by an order of magnitude. After $N$ trials without a single one its
# upper end solves $(1 - p)^N = \delta / 2$, so it is about $\ln(2 / \delta) / N$, while Hoeffding's radius is still of
# order $1 / \sqrt N$:

# %%
for trials in (100, 10_000):
    _, end = exact_interval(np.array(0), trials, 0.05)
    assert close(end, 1 - 0.025 ** (1 / trials))
    print(f'none in {trials:5d}: exact {end:.5f}, '
          f'Hoeffding {radius(trials, 0.05):.5f}')

# %% [markdown]
# ```{exercise} ★ Program: how many ratings?
# :label: conc-ratings
# Customers rate from $a$ to $b$ stars. What is the least number of independent ratings for which Hoeffding's bound says
# that the average misses the expectation by $\epsilon$ or more with probability at most $\delta$? Write
# `ratings(eps, delta, a, b)`.
# ```

# %%
def ratings(eps, delta, a, b):
    raise NotImplementedError('your turn')

# %%
def ratings_by_trying(eps, delta, a, b):
    N = np.arange(1, 10_000)
    return N[2 * np.exp(-2 * N * (eps / (b - a)) ** 2) <= delta].min()

shops = [(0.1, 0.05, 1, 5), (0.25, 0.01, 0, 10), (0.02, 0.2, 0, 1)]
grade(ratings, ratings_by_trying, shops)

# %% [markdown]
# ```{solution-start} conc-ratings
# :class: dropdown
# ```
# Solve $2 e^{-2 N \epsilon^2 / (b - a)^2} \le \delta$ for $N$ and round up. The range enters squared: five stars
# instead of a thumb cost sixteen times as many customers, for the same $\epsilon$.

# %% jupyter={"source_hidden": true}
def ratings_solution(eps, delta, a, b):
    return np.ceil((b - a) ** 2 * np.log(2 / delta) / (2 * eps**2))

def one_side_only(eps, delta, a, b):
    return ratings_solution(eps, 2 * delta, a, b)

def range_not_squared(eps, delta, a, b):
    return np.ceil((b - a) * np.log(2 / delta) / (2 * eps**2))

assert grade(ratings_solution, ratings_by_trying, shops)
assert not grade(one_side_only, ratings_by_trying, shops)
assert not grade(range_not_squared, ratings_by_trying, shops)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def radius_by_search(N, delta, a, b):
    spare = lambda e: np.log(2 / delta) - 2 * N * e**2 / (b - a) ** 2
    return brentq(spare, 0, 4 * (b - a), xtol=1e-14)

holds(
    'ml.ms.hoeffding.eps',
    lambda N, delta, a, width: close(
        radius(N, delta, a, a + width),
        radius_by_search(N, delta, a, a + width),
    ),
    slip=(
        'gives one side the whole of delta',
        lambda N, delta, a, width: close(
            radius(N, 2 * delta, a, a + width),
            radius_by_search(N, delta, a, a + width),
        ),
    ),
    N=integers(1, 10_000),
    delta=scalars(0.001, 0.9),
    a=scalars(-5, 5),
    width=scalars(0.1, 10),
)

def inside_hoeffding(N, delta, wider):
    k = np.arange(N + 1)
    low, high = exact_interval(k, N, delta)
    reach = max((k / N - low).max(), (high - k / N).max())
    return reach <= radius(N, wider * delta)

verify(
    "the exact interval lies in Hoeffding's",
    lambda N, delta: inside_hoeffding(N, delta, wider=1),
    slip=(
        'gives one side the whole of delta',
        lambda N, delta: inside_hoeffding(N, delta, wider=2),
    ),
    N=integers(1, 60),
    delta=scalars(0.001, 0.5),
)

# %% [markdown]
# ## Where it matters: the error bar of a test loss
#
# A classifier $f$ makes the loss $\ell(y, f(\mathbf{x}))$ on an example, say 1 if it is wrong and 0 if it is right.
# What counts is its *true loss*, or risk, under the distribution $\mathcal{D}$ that examples come from. If
# $(\mathbf{x}_n, y_n)$ is drawn from $\mathcal{D}$ and $f$ is fixed, this is what one example costs on average,
#
# ```{math}
# :label: ml.ms.hoeffding.true-loss
# \mathbb{E}\big[ \ell(y_n, f(\mathbf{x}_n)) \big] = L_{\mathcal{D}}(f) .
# ```
#
# So the average over a sample $S$, $L_S(f) = \frac1N \sum_{n} \ell(y_n, f(\mathbf{x}_n))$, estimates the risk without
# bias; and as the losses of independent examples are independent and lie in $[a, b]$ (here $[0, 1]$), Hoeffding's
# inequality applies to them:
#
# ```{math}
# :label: ml.ms.hoeffding.use
# \Theta_n = \ell(y_n, f(\mathbf{x}_n)), \\
# \Pr\big[ |L_S(f) - L_{\mathcal{D}}(f)| \ge \epsilon \big] \le \delta = 2 e^{-2 N \epsilon^2 / (b - a)^2} .
# ```
#
# Both lines need one hypothesis: $f$ must be *fixed* before the sample is seen. If $f$ was
# chosen by looking at $S$, the losses share that choice: they need no longer be independent, nor need their expectation be
# the risk of $f$ (which is now random, too).
#
# To see it we need a world in which the risk is known. Take 1497 handwritten digits as the *whole* world, and draw
# samples from it with replacement. The fixed classifier takes the nearest of ten class means, computed from 300 other
# digits. Its rival memorises the sample itself, and answers with the label of the nearest member.

# %%
data = digits()
x_rest, y_rest = data.x[:300], data.y[:300]
x_world, y_world = data.x[300:], data.y[300:]

def squared_distances(x, z):  # (m, d), (k, d) -> (m, k)
    return (x**2).sum(1)[:, None] - 2 * x @ z.T + (z**2).sum(1)

means = np.array([x_rest[y_rest == c].mean(0) for c in range(10)])
wrong = squared_distances(x_world, means).argmin(1) != y_world
between = squared_distances(x_world, x_world)  # (1497, 1497)
print(f'risk of the fixed classifier: {wrong.mean():.3f}')

# %%
size = 20

def fixed(sample):  # loss on the sample, risk
    return wrong[sample].mean(), wrong.mean()

def memoriser(sample):
    nearest = sample[between[:, sample].argmin(1)]
    errors = y_world[nearest] != y_world
    return errors[sample].mean(), errors.mean()

def repeat(method, seed, R=200):  # loss minus risk, (R,)
    samples = np.random.default_rng(seed).integers(1497, size=(R, size))
    seen, risk = np.array([method(s) for s in samples]).T
    return seen - risk

# %% [markdown]
# With $N = 20$ and $\delta = 0.05$ the promised radius is $\epsilon = 0.30$. How often is the risk outside, in 1000 samples?

# %%
def reach(delta):  # the radius for losses in [0, 1]
    return np.sqrt(np.log(2 / delta) / (2 * size))
gaps = {m.__name__: repeat(m, seed=0, R=1000) for m in (fixed, memoriser)}
eps = reach(0.05)
for name, gap in gaps.items():
    print(f'{name:9s} outside ± {eps:.2f}: {(abs(gap) >= eps).mean():.2f}')

# %% mystnb={"image": {"alt": "Histograms of sample loss minus risk over 1000 samples of 20. For the fixed classifier a bell around zero, well inside the Hoeffding interval. For the memoriser all of the mass lies far to the left, most of it outside."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.8))
ax.axvspan(-eps, eps, color=GREY, alpha=0.15)
for name, gap in gaps.items():
    ax.hist(gap, np.arange(-0.7, 0.51, 0.05), alpha=0.5, label=name)
ax.set(xlabel='loss on the sample − risk', ylabel='samples')
ax.set(title='Shaded: what Hoeffding allows (95 %, N = 20)')
ax.legend(loc='upper right');

# %% [markdown] tags=["caption"]
# Hoeffding's bound holds for a classifier that is fixed before the sample of 20 is drawn. One that memorises the sample
# misses its own risk by more than $0.30$ in most samples.

# %% [markdown]
# Each member of the sample is its own nearest neighbour, so the memoriser always reports a loss of zero, with the same
# error bar. The inequality is not at fault; its hypothesis is missing. This is why one keeps a test set, and why it must
# be looked at only once: choosing the best of $K$ classifiers by their test losses is again looking before choosing, and
# costs a factor $K$ on $\delta$. It is the same mistake to watch one classifier's test loss
# as examples come in, and to stop when it looks good:
#
# ```{exercise} ★★★ Experiment: peeking
# :label: conc-peeking
# You look at the average after every single observation in $[0, 1]$ and want error bars that are right *at all times
# at once* with probability at least $1 - \delta$. Give the $n$-th look the share $\delta / (n (n + 1))$ of the failure
# probability (these shares add up to $\delta$) and write `radius_at(n, delta)`. How often does the ordinary radius
# fail somewhere on the way to $n = 2000$?
# ```

# %%
def radius_at(n, delta):
    raise NotImplementedError('your turn')

# %%
def radius_at_by_search(n, delta):
    spend = lambda e: np.log(2 * n * (n + 1) / delta) - 2 * n * e**2
    return brentq(spend, 0, 100, xtol=1e-14)

looks = [(1, 0.05), (30, 0.1), (2000, 0.05)]
grade(radius_at, radius_at_by_search, looks)

# %% [markdown]
# ```{solution-start} conc-peeking
# :class: dropdown
# ```
# Put $\delta / (n (n + 1))$ for $\delta$ in the radius. The shares telescope,
# $\frac{1}{n (n + 1)} = \frac1n - \frac{1}{n + 1}$, so they add up to 1, and the probability that *any* look fails is at
# most the sum $\delta$. The price is small, a term $\ln(n (n + 1))$ under the root. With the ordinary radius the failures
# of ever new looks accumulate, and by the law of the iterated logarithm some look fails almost surely in the end, whatever
# $\delta$ is, unless the observations are constant. Sharper bars of this kind are called confidence sequences
# {cite}`howard2021time`. Below, 3000 fair coins are watched, with $\delta = 0.3$ so that the failures show.

# %% jupyter={"source_hidden": true}
def radius_at_solution(n, delta):
    return np.sqrt(np.log(2 * n * (n + 1) / delta) / (2 * n))

def ordinary(n, delta):
    return np.sqrt(np.log(2 / delta) / (2 * n))

assert grade(radius_at_solution, radius_at_by_search, looks)
assert not grade(ordinary, radius_at_by_search, looks)

tosses = np.random.default_rng(8).integers(0, 2, size=(3000, 2000))
n = np.arange(1, 2001)
off = abs(tosses.cumsum(1) / n - 0.5)
ever = {f.__name__: (off >= f(n, 0.3)).any(1).mean()
        for f in (ordinary, radius_at_solution)}
slack = 5 * np.sqrt(0.3 * 0.7 / 3000)
at_end = (off[:, -1] >= ordinary(2000, 0.3)).mean()
assert at_end < 0.3 + slack < ever['ordinary']
assert ever['radius_at_solution'] <= 0.3 + slack
print(f'ordinary radius fails at the end {at_end:.3f}, '
      f'at some look {ever["ordinary"]:.2f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def is_unbiased(gap):
    return abs(gap.mean()) < 5 * gap.std() / np.sqrt(len(gap))

holds(
    'ml.ms.hoeffding.true-loss',
    lambda seed: is_unbiased(repeat(fixed, seed)),
    slip=(
        'chooses the classifier by looking at the sample',
        lambda seed: is_unbiased(repeat(memoriser, seed)),
    ),
    seed=seeds(),
    tries=10,
)

def keeps_promise(gap, delta):
    slack = 5 * np.sqrt(delta * (1 - delta) / len(gap))
    return (abs(gap) >= reach(delta)).mean() <= delta + slack

holds(
    'ml.ms.hoeffding.use',
    lambda seed, delta: keeps_promise(repeat(fixed, seed), delta),
    slip=(
        'chooses the classifier by looking at the sample',
        lambda seed, delta: keeps_promise(repeat(memoriser, seed), delta),
    ),
    seed=seeds(),
    delta=[0.05, 0.2, 0.5],
    tries=10,
)

# %% [markdown]
# ## Summary
#
# Markov's inequality, applied to a square, gives Chebyshev's, and applied to an exponential, Hoeffding's: a tail that
# falls like $e^{-2 N \epsilon^2 / (b - a)^2}$ for each side, for every $N$ and every distribution on $[a, b]$. Solved
# for $\epsilon$ it is an error bar that shrinks like $1 / \sqrt N$; where the exact law is known, as for counts, an
# exact interval is never wider, and for rare events very much narrower. All of it needs a quantity that was fixed
# before the sample was drawn.
#
# **Further reading.** {cite}`hoeffding1963probability` is short and still worth reading, sampling without replacement
# included; {cite}`boucheron2013concentration` is the modern account, with the inequalities that know the variance
# (Bernstein, Bennett), and {cite}`vershynin2018high` takes the subject to matrices and high dimension.
