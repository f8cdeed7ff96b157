# ---
# jupyter:
#   book:
#     functions:
#       hoeffding_bound: hoeffding_bound(50, uniform(4), 0, 1)
#       radius: radius(50, uniform(4) / 2)
#     main: ml.ms.hoeffding.ineq
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Concentration inequalities
#
# A classifier named 92 of 100 new pictures correctly. Is it right in 92 % of all pictures? With another hundred it might
# have been 88 or
# 95. How far can an average of $N$ observations lie from its expectation, for this $N$ and not only for very large ones, if we know next to
# nothing about the distribution?
#
# - **You need** [expectations and variances](expectations.ipynb), the binomial and the [normal
#   distribution](gaussian_distribution.ipynb).
# - **You build** the inequalities of Markov, Chebyshev and Hoeffding, two kinds of guaranteed interval, and a test of
#   what a test set proves.
# - **Runs in** 6 seconds, in float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import beta, binom, binomtest, norm

from nbutils.cases import integers, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.data import digits
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## Hoeffding's inequality: how far an average is from its mean
#
# We try it out. Suppose that a classifier names a picture correctly with probability 0.9. We draw 20,000 test sets of 100
# pictures each and look at the share that is named correctly:

# %%
rng = np.random.default_rng(0)
accuracy = rng.binomial(100, 0.9, size=20_000) / 100
print('five test sets:', accuracy[:5])
for eps in (0.05, 0.1, 0.15):
    off = (abs(accuracy - 0.9) > eps - 1e-9).mean()
    print(f'off by {eps:.3f} or more: {off:.5f} of the test sets')

# %% [markdown]
# Most test sets are off by less than 0.05, and hardly any by 0.10. In reality we do not know the 0.9, so we want a promise
# that holds for *every* distribution. There is one, if the observations are bounded:
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
#
# The square brackets hold an event, "the average misses its mean by $\epsilon$ or more". Its probability falls
# exponentially with $N$. For right and wrong answers we take $[a, b] = [0, 1]$:

# %%
def hoeffding_bound(N, eps, a, b):
    return 2 * np.exp(-2 * N * eps**2 / (b - a) ** 2)

# %%
def exact_tails(N, p, eps):     # for averages of N zeros and ones
    above = binom.sf(np.ceil(N * (p + eps) - 1e-9) - 1, N, p)
    below = binom.cdf(np.floor(N * (p - eps) + 1e-9), N, p)
    return above, below

for N in (100, 400, 1600):
    bound = hoeffding_bound(N, 0.05, 0, 1)
    print(f'N = {N:4}, off by 0.05: bound {bound:.4f},'
          f' p = 0.9 {sum(exact_tails(N, 0.9, 0.05)):.5f},'
          f' p = 0.5 {sum(exact_tails(N, 0.5, 0.05)):.4f}')

# %% [markdown]
# The bound holds for both values of $p$. For few observations it may exceed 1 and say nothing; then it falls quickly. It is
# not far from the probabilities of $p = 0.5$, where the observations vary most.
#
# ### The error bar and the sample size
#
# Usually we choose the probability $\delta$ of a failure, for example 0.05, and want the error bar $\epsilon$. Set $\delta
# = 2 e^{-2 N \epsilon^2 / (b - a)^2}$ and solve, $\ln(2 / \delta) = 2 N \epsilon^2 / (b - a)^2$:
#
# ```{math}
# :label: ml.ms.hoeffding.eps
# \epsilon = \sqrt{\frac{(b - a)^2 \ln(2 / \delta)}{2 N}} .
# ```

# %%
def radius(N, delta, a=0, b=1):
    return (b - a) * np.sqrt(np.log(2 / delta) / (2 * N))

for N in (100, 400, 1600):
    print(f'{N:4} pictures: accuracy ± {radius(N, 0.05):.3f}')

# %% [markdown]
# So the classifier of the opening is right in $92 \% \pm 13.6 \%$ of all pictures, with a probability of at least $1 - 0.05
# = 0.95$. Four times as many pictures make the error bar half as long. Solved for $N$, the same equation says how many we
# need for an error of 0.01:

# %%
def enough(eps, delta):         # the least N with a bound of delta
    return int(np.ceil(np.log(2 / delta) / (2 * eps**2)))

normal = round((norm.ppf(0.975) / (2 * 0.01)) ** 2)
for name, N in (('Hoeffding', enough(0.01, 0.05)),
                ('without the 2', enough(0.01, 0.1)),
                ('normal approximation', normal)):
    off = sum(exact_tails(N, 0.5, 0.01))
    print(f'{name:20} N = {N:5}, a fair coin is off with {off:.4f}')

# %% mystnb={"image": {"alt": "Two histograms of the accuracy of test sets, on a common axis from 0.74 to 1. With 100 pictures it is wide, with 1600 narrow. Behind each, a shaded band around 0.9 shows Hoeffding's radius; the histograms lie well inside."}} tags=["hide-input"]
fig, axes = panels(1, 2, height=1.5, sharex=True)
all_bins = np.arange(0.735, 1.0, 0.01), np.arange(0.8647, 0.94, 0.0025)
for ax, N, bins in zip(axes, (100, 1600), all_bins, strict=True):
    ax.axvspan(0.9 - radius(N, 0.05), min(1, 0.9 + radius(N, 0.05)), color='C1', alpha=0.2)
    ax.hist(np.random.default_rng(1).binomial(N, 0.9, 20_000) / N, bins, density=True, color='C0')
    ax.set(yticks=[], xlim=(0.74, 1.04))
    ax.text(0.745, 0.8 * ax.get_ylim()[1], f'{N} pictures')
axes[1].text(0.945, 0.45 * axes[1].get_ylim()[1], "shaded:\n± Hoeffding's radius", color='C1')
axes[1].set(xlabel='share named correctly');

# %% [markdown] tags=["caption"]
# Accuracies of 20,000 test sets, each picture right with probability 0.9. Hoeffding's radius contains nearly all of them,
# because it must suffice for every distribution.

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# The factor 2 stands for the two sides, too high and too low. If you care for one side only, you may leave it out, and then
# 14979 observations are enough. About 15,000 is often quoted for both sides, too, but the bound asks for 18445. The average
# of a single toss of a fair coin shows that the 2 is needed: it misses $\frac12$ by $\frac12$ with probability 1, and
# without the 2 the bound would be $e^{-2 \cdot 1/4} = 0.61$.
# :::
#
# ```{exercise} ★ Program: how many ratings?
# :label: conc-ratings
# Customers rate from $a$ to $b$ stars. What is the least number of independent ratings for which Hoeffding's bound says
# that the average misses the expectation by $\epsilon$ or more with probability at most $\delta$? Write
# `ratings(eps, delta, a, b)`, for floats $\epsilon > 0$, $0 < \delta < 1$ and $a < b$. It returns an integer.
# ```

# %%
def ratings(eps, delta, a, b):
    """The least number of ratings between a and b stars.

    ratings(0.1, 0.05, 0.0, 1.0) is 185.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def ratings_by_trying(eps, delta, a, b):
    N = np.arange(1, 40_000)
    return N[2 * np.exp(-2 * N * (eps / (b - a)) ** 2) <= delta].min()

shop_cases = dict(eps=on(0.1, 2.0) | scalars(0.1, 3), delta=on(0.05) | scalars(0.01, 0.99),
                  a=on(0.0, 1.0) | scalars(-5, 5), b=lambda a: scalars(1, 8).map(lambda d: a + d))
grade(ratings, ratings_by_trying, **shop_cases)

# %% [markdown]
# ```{solution-start} conc-ratings
# :class: dropdown
# ```
# Solve $2 e^{-2 N \epsilon^2 / (b - a)^2} \le \delta$ for $N$ and round up. The range enters squared: one to five stars
# instead of a thumb up or down cost sixteen times as many customers, for the same $\epsilon$. The wrong answers count one
# side only, forget to square the range, and round down.

# %% jupyter={"source_hidden": true}
def ratings_solution(eps, delta, a, b):
    return int(np.ceil((b - a) ** 2 * np.log(2 / delta) / (2 * eps**2)))

def one_side_only(eps, delta, a, b):
    return int(np.ceil((b - a) ** 2 * np.log(1 / delta) / (2 * eps**2)))

def range_not_squared(eps, delta, a, b):
    return int(np.ceil((b - a) * np.log(2 / delta) / (2 * eps**2)))

def rounded_down(eps, delta, a, b):
    return int((b - a) ** 2 * np.log(2 / delta) / (2 * eps**2))

assert grade(ratings_solution, ratings_by_trying, **shop_cases)
assert not grade(one_side_only, ratings_by_trying, **shop_cases)
assert not grade(range_not_squared, ratings_by_trying, **shop_cases)
assert not grade(rounded_down, ratings_by_trying, **shop_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def two_sided(N, j, p, a, width, factor):
    eps = j / (2 * N)  # where the tail of a fair coin jumps
    bound = factor * hoeffding_bound(N, eps * width, a, a + width)
    return sum(exact_tails(N, p, eps)) <= bound + 1e-9

coins = dict(
    N=integers(1, 60),
    j=integers(1, 60),
    p=[0.05, 0.3, 0.5, 0.8],
)
holds(
    'ml.ms.hoeffding.ineq',
    lambda **case: two_sided(**case, factor=1),
    slip=(
        'forgets that there are two sides',
        lambda **case: two_sided(**case, factor=1 / 2),
    ),
    **coins,
    a=scalars(-3, 3),
    width=[0.5, 1, 4],
)

def tails_by_listing(N, p, eps):
    total = 0
    for outcome in product([0, 1], repeat=N):
        if abs(np.mean(outcome) - p) > eps - 1e-9:
            total += np.prod([p if one else 1 - p for one in outcome])
    return total

verify(
    'the exact tails are those of all outcomes',
    lambda N, p, eps: close(sum(exact_tails(N, p, eps)), tails_by_listing(N, p, eps)),
    slip=('counts one side', lambda N, p, eps: close(exact_tails(N, p, eps)[0], tails_by_listing(N, p, eps))),
    N=[1, 4, 7], p=[0.5, 0.3, 0.9], eps=[0.1, 0.25, 0.5],
)

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
verify(
    'enough observations, and not one too many',
    lambda eps, delta, fewer: (hoeffding_bound(enough(eps, delta) - fewer, eps, 0, 1) <= delta) == (fewer == 0),
    slip=('forgets the two sides',
          lambda eps, delta, fewer: (hoeffding_bound(enough(eps, 2 * delta) - fewer, eps, 0, 1) <= delta) == (fewer == 0)),
    eps=scalars(0.005, 0.2), delta=scalars(0.01, 0.4), fewer=[0, 1],
)

# %% [markdown]
# ## Where it comes from: Markov's and Chebyshev's inequalities
#
# In a country whose mean income is 40,000, how many people can earn 200,000 or more? At most a share of
# $40\,000/200\,000 = 0.2$. If there were more of them, the mean would be above 40,000, even if nobody else earned anything.
#
# ```{prf:theorem} Markov's inequality
# :label: thm-conc-markov
# If $Z \ge 0$ and $t > 0$, then $\Pr[Z \ge t] \le \mathbb{E}[Z] / t$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Let $1_{Z \ge t}$ be $1$ where $Z \ge t$ and $0$ elsewhere. Then $t \, 1_{Z \ge t} \le Z$: where the left side is $t$,
# $Z$ is at least that; where it is $0$, $Z$ is not negative. Take expectations.
# ```
#
#
# Now let $X$ have the mean $\mu$ and the variance $\sigma^2$. We apply Markov's inequality to the squared distance $Z = (X - \mu)^2$. The events $|X - \mu| \ge t$ and
# $Z \ge t^2$ are the same, so
#
# ```{math}
# :label: eq-conc-chebyshev
# \Pr\big[ |X - \mu| \ge t \big] \le \frac{\sigma^2}{t^2} \qquad (t > 0).
# ```
#
# This is **Chebyshev's inequality**. The average of $N$ independent $\Theta_n$, each with mean $\mu$ and variance
# $\sigma^2$, has the mean $\mu$ and only the variance $\sigma^2 / N$. So
#
# ```{math}
# :label: ml.ms.hoeffding.concentration
# \Pr\Big[ \big| \tfrac1N \textstyle\sum_{n} \Theta_n - \mu \big| \ge \epsilon \Big] \le \frac{\sigma^2}{N \epsilon^2} .
# ```
#
# The right side tends to zero as $N$ grows: the average is *concentrated* around its mean, which is a law of large numbers.
# Chebyshev's inequality needs no bounded values, but it falls only like $1/N$. If we know no more than the variance,
# nothing better is true. For example, let $X$ be $-2$ or $2$ with probability 0.1 each, and else 0. The variance is $0.1
# \cdot 4 + 0.1 \cdot 4 = 0.8$, and $\Pr[|X| \ge 2] = 0.1 + 0.1 = 0.2$ is exactly $0.8 / 2^2$.
#
# ### Chernoff's method: exponentials
#
# For bounded observations we can do better. In place of the square we take an exponential, which turns a sum into a
# product. Let $S = \sum_n (\Theta_n - \mathbb{E}[\Theta_n])$ with independent terms. For every $\lambda > 0$,
#
# ```{math}
# :label: eq-conc-chernoff
# \begin{aligned}
# \Pr[S \ge s] &= \Pr\big[ e^{\lambda S} \ge e^{\lambda s} \big] \le e^{-\lambda s} \, \mathbb{E}\big[ e^{\lambda S} \big] \\
# &= e^{-\lambda s} \prod_{n=1}^N \mathbb{E}\big[ e^{\lambda (\Theta_n - \mathbb{E}[\Theta_n])} \big] .
# \end{aligned}
# ```
#
# The first step is Markov's inequality, and the second uses independence. In the end we choose the best $\lambda$. This is
# **Chernoff's method** {cite}`chernoff1952measure`. One factor remains to be bounded:
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
#
# We insert the lemma into {eq}`eq-conc-chernoff` with $s = N \epsilon$. The exponent
# $-\lambda N \epsilon + N \lambda^2 (b - a)^2 / 8$ is a parabola in $\lambda$. It is lowest at
# $\lambda = 4 \epsilon / (b - a)^2$, and its value there is $-2 N \epsilon^2 / (b - a)^2$:
#
# ```{math}
# :label: eq-conc-one-sided
# \Pr\big[ \tfrac1N \textstyle\sum_n \Theta_n - \mathbb{E}[\Theta] \ge \epsilon \big] \le e^{-2 N \epsilon^2 / (b - a)^2} .
# ```
#
# The same holds for $-\Theta_n$. We add the probabilities of both events, and {prf:ref}`thm-conc-hoeffding` is proved.
#
# ### Which bound is better?
#
# We compare for 200 tosses of a fair coin, and of a coin that shows heads once in twenty:

# %%
N = 200
eps = (np.arange(1, 31) - 0.5) / N  # between two possible deviations
for p in (0.5, 0.05):
    for e in eps[[5, 11, 23]]:
        print(f'p = {p:4}, off by {e:.4f}: exact'
              f' {sum(exact_tails(N, p, e)):.2e},'
              f' Chebyshev {p * (1 - p) / (N * e**2):.2e},'
              f' Hoeffding {hoeffding_bound(N, e, 0, 1):.2e}')

# %% mystnb={"image": {"alt": "Tail probabilities against the deviation in logarithmic scale, for 200 tosses. Fair coin: Hoeffding's bound falls alongside the exact tail, and Chebyshev's flattens far above both. Rare coin: the exact tail falls much faster than Hoeffding's bound, which is the same as before."}} tags=["hide-input"]
fig, axes = panels(2, sharey=True, height=3)
for ax, p, title in zip(axes, (0.5, 0.05), ('fair coin', 'heads once in twenty'), strict=True):
    curves = {'Chebyshev': p * (1 - p) / (N * eps**2), 'Hoeffding': hoeffding_bound(N, eps, 0, 1),
              'exact': sum(exact_tails(N, p, eps))}
    for (name, curve), colour in zip(curves.items(), ('C2', 'C1', 'C0'), strict=True):
        ax.semilogy(eps, np.minimum(curve, 1), color=colour)
    ax.set(xlabel='deviation ε', ylim=(2e-6, 2), title=title)
axes[0].set(ylabel='probability to be off by ε')
for name, spot, colour in (('Chebyshev', (0.08, 0.35), 'C2'), ('Hoeffding', (0.105, 0.03), 'C1'),
                           ('exact', (0.07, 3e-4), 'C0')):
    axes[0].text(*spot, name, color=colour);

# %% [markdown] tags=["caption"]
# For a fair coin Hoeffding's bound falls as fast as the exact probability. For a rare event it is far too large, because it
# knows the range of the values but not their variance.

# %% [markdown]
# ```{exercise} ★★ Pencil: a bound for one side
# :label: conc-cantelli
# You care only about averages that are too large. Let $X$ have mean $\mu$ and standard deviation $\sigma > 0$, let $t > 0$.
# For every $u \ge 0$ the event $X - \mu \ge t$ implies $(X - \mu + u)^2 \ge (t + u)^2$. Apply Markov's inequality,
# choose the best $u$, and write `one_sided(sigma, t)`, the resulting bound for $\Pr[X - \mu \ge t]$.
# ```

# %%
def one_sided(sigma, t):
    """The bound for one side: floats sigma > 0, t > 0 -> float.

    one_sided(1.0, 1.0) is 0.5.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def one_sided_by_search(sigma, t):
    def bound(log_u):
        return (sigma**2 + np.exp(2 * log_u)) / (t + np.exp(log_u)) ** 2
    return minimize_scalar(bound, bracket=(-1, 1), tol=1e-12).fun

side_cases = dict(sigma=on(1.0) | scalars(0.1, 9), t=on(1.0) | scalars(0.1, 9))
grade(one_sided, one_sided_by_search, **side_cases)

# %% [markdown]
# ```{solution-start} conc-cantelli
# :class: dropdown
# ```
# $\mathbb{E}[(X - \mu + u)^2] = \sigma^2 + u^2$, so the bound is $(\sigma^2 + u^2) / (t + u)^2$. Its derivative in $u$
# has the sign of $u (t + u) - (\sigma^2 + u^2) = u t - \sigma^2$; so $u = \sigma^2 / t$, and the bound is
# $\sigma^2 / (\sigma^2 + t^2)$, Cantelli's inequality. Unlike Chebyshev's it is always below 1. The first wrong answer is half of Chebyshev's
# bound: a lopsided distribution may have all of its deviation on one side. The second takes $u = 0$, and the third forgets the squares.

# %% jupyter={"source_hidden": true}
def one_sided_solution(sigma, t):
    return sigma**2 / (sigma**2 + t**2)

def half_of_chebyshev(sigma, t):
    return sigma**2 / t**2 / 2

def without_a_shift(sigma, t):
    return sigma**2 / t**2

def squares_forgotten(sigma, t):
    return sigma / (sigma + t)

assert grade(one_sided_solution, one_sided_by_search, **side_cases)
assert not grade(half_of_chebyshev, one_sided_by_search, **side_cases)
assert not grade(without_a_shift, one_sided_by_search, **side_cases)
assert not grade(squares_forgotten, one_sided_by_search, **side_cases)

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

def average_of(x, p, N):  # all averages of N draws of values x, and their probabilities
    draws = np.array(list(product(range(len(x)), repeat=N)))
    return x[draws].mean(1), p[draws].prod(1)

def concentrated(x, w, N, eps, shift, factor=1):
    p = w / w.sum()
    mean = p @ x
    values, chances = average_of(x, p, N)
    sigma2 = p @ (x - mean) ** 2
    off = abs(values - (mean + shift * np.sqrt(sigma2))) >= eps + 1e-9
    return bool(chances[off].sum() <= factor * sigma2 / (N * eps**2) + 1e-9)

averages = dict(x=vectors(3), w=vectors(3, 0.1, 9), N=integers(1, 5), eps=scalars(0.2, 8))
holds(
    'ml.ms.hoeffding.concentration',
    lambda **case: concentrated(**case, shift=0),
    slip=('measures the distance from another centre', lambda **case: concentrated(**case, shift=1)),
    **averages,
)

def attained(t, q, factor):  # mass q / 2 on -t and t, the rest on 0
    x, p = np.array([-t, 0, t]), np.array([q / 2, 1 - q, q / 2])
    return close(p[abs(x) >= t].sum(), factor * (p @ x**2) / t**2)

verify(
    'three values attain Chebyshev\'s bound',
    lambda t, q: attained(t, q, 1),
    slip=('promises seven tenths of it', lambda t, q: attained(t, q, 0.7)), t=scalars(0.5, 5), q=scalars(0.1, 1), tries=40,
)

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

def upper(N, j, p, width):
    bound = hoeffding_bound(N, j / (2 * N), 0, width) / 2
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

def ratio_to_exact(p, k):  # in the figure, at the k-th deviation
    return hoeffding_bound(200, eps[k], 0, 1) / sum(exact_tails(200, p, eps[k]))

verify(
    'for deviations up to 0.1175 the bound is within a factor of 10 for the fair coin',
    lambda k, p: ratio_to_exact(p, k) < 10,
    slip=('expects the same of the rare one', lambda k, p: ratio_to_exact(0.1 * p, k) < 10), k=[5, 11, 23], p=[0.5],
)

# %% [markdown]
# ## Confidence intervals for a test set: Hoeffding, exact and Wald
#
# The classifier was right on 92 of 100 pictures, so Hoeffding's interval reaches from 0.784 to beyond 1. For zeros and ones
# we can do better, because the number $K$ of ones is binomial and we can compute its probabilities. Keep every $p$ for
# which the count $k$ that was seen is not too unlikely {cite}`clopper1934use`:
#
# ```{prf:definition} Exact (Clopper–Pearson) interval
# :label: def-conc-exact
# The interval of all $p$ for which both $\Pr_p[K \ge k] \ge \delta / 2$ and $\Pr_p[K \le k] \ge \delta / 2$.
# ```
#
# $\Pr_p[K \ge k]$ grows with $p$, so the first condition excludes everything below some point, and the second everything
# above another. These points are quantiles of the Beta distribution.
#
# ```{admonition} Why Beta, and why the promise is kept
# :class: dropdown
# Differentiate $\Pr_p[K \ge k] = \sum_{j \ge k} \binom{N}{j} p^j (1 - p)^{N - j}$ term by term. The sum telescopes, and $N
# \binom{N - 1}{k - 1} p^{k - 1} (1 - p)^{N - k}$ is left, the density of the Beta distribution with parameters $k$ and $N -
# k + 1$. So the lower end is its quantile at $\delta / 2$, or 0 if $k = 0$; the upper end follows by exchanging zeros and
# ones.
#
# The true $p$ is excluded by the first condition only if $k \ge k_0$, where $k_0$ is the first count with
# $\Pr_p[K \ge k_0] < \delta / 2$: an event of probability less than $\delta / 2$. The same holds for the other side.
# ```

# %%
def exact_interval(k, N, delta):  # k (...,) -> two arrays (...,)
    def lower(k):
        quantile = beta.ppf(delta / 2, np.maximum(k, 1), N - k + 1)
        return np.where(k > 0, quantile, 0)
    return lower(k), 1 - lower(N - k)

# %%
low, high = exact_interval(92, 100, 0.05)
library = binomtest(92, 100).proportion_ci(0.95, method='exact')
print(f'Hoeffding: {0.92 - radius(100, 0.05):.3f} to 1')
print(f'exact: {low:.3f} to {high:.3f}')
print(f'scipy: {library.low:.3f} to {library.high:.3f}')

# %% [markdown]
# What does 95 % mean here? The accuracy $p$ is a fixed number; random is the interval. It is a promise about the procedure:
# of all intervals that you will ever report in this way, at most 5 % fail to contain the true value. The most popular
# interval, $\hat p \pm 1.96 \sqrt{\hat p (1 - \hat p) / N}$ with the share $\hat p$ of ones, is due to Wald and keeps the
# promise only for large $N$. How often is each of the three right? We add up the binomial probabilities of all counts whose
# interval contains $p$:

# %%
N, delta = 50, 0.05
k = np.arange(N + 1)            # all possible counts
share = k / N
bar = norm.ppf(1 - delta / 2) * np.sqrt(share * (1 - share) / N)
intervals = {
    'Hoeffding': (share - radius(N, delta), share + radius(N, delta)),
    'exact': exact_interval(k, N, delta),
    'Wald': (share - bar, share + bar),
}

# %%
def coverage(p, low, high):     # p (P,), ends (N + 1,) -> (P,)
    p = p[:, None]
    return (binom.pmf(k, N, p) * ((low <= p) & (p <= high))).sum(1)

p_grid = np.linspace(0.01, 0.99, 393)
covered = {name: coverage(p_grid, *ends)
           for name, ends in intervals.items()}
for name, c in covered.items():
    print(f'{name:9} right with probability {c.min():.3f} to {c.max():.3f}')

# %% mystnb={"image": {"alt": "Left: probability that each interval is right against the true p, with 50 observations. Hoeffding's is above 0.99 throughout, the exact one jumps between 0.95 and 1, Wald's stays mostly below 0.95 and drops steeply towards both ends. Right: half widths of the three against the share seen; Hoeffding's is constant and widest, the others are domes, Wald's touching zero at the ends."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3)
for i, (name, c) in enumerate(covered.items()):
    left.plot(p_grid, c, lw=1, color=f'C{i}')
    low, high = intervals[name]
    right.plot(share, (high - low) / 2, color=f'C{i}')
for name, height, i in (('Hoeffding', 0.2, 0), ('exact', 0.15, 1), ('Wald', 0.1, 2)):
    right.text(0.5, height if i != 2 else 0.118, name, color=f'C{i}', ha='center')
left.axhline(0.95, color=GREY, ls=':')
left.set(xlabel='true p', ylabel='probability to be right', ylim=(0.78, 1.005))
right.set(xlabel='share of ones seen', ylabel='half width', ylim=(0, 0.25));

# %% [markdown] tags=["caption"]
# With 50 observations, Hoeffding's interval is right with probability above 0.99 and wider than necessary. The exact one
# keeps its promise of 95 % (dotted), and Wald's breaks it for most $p$.

# %% [markdown]
# Wald's interval is worst for rare events {cite}`brown2001interval`: if not a single 1 is seen, its width is zero. There the
# exact interval is far better than Hoeffding's, too. After $N$ trials without a single one, its upper end solves $(1 - p)^N
# = \delta / 2$, so it is about $\ln(2 / \delta) / N$ and not of the order $1/\sqrt N$:

# %%
for trials in (100, 10_000):
    end = exact_interval(0, trials, 0.05)[1]
    print(f'none in {trials:5}: at most {end:.5f} by the exact interval,'
          f' {radius(trials, 0.05):.5f} by Hoeffding')

# %% tags=["checks"]
def ends_are(k, N, delta, shift):  # at the ends, the count is just likely enough
    low, high = exact_interval(k, N, delta)
    at_low = k == 0 or close(binom.sf(k - 1 + shift, N, low), delta / 2)
    return bool(at_low and (k == N or close(binom.cdf(k - shift, N, high), delta / 2)))

verify(
    'at the ends of the exact interval the count has probability δ/2',
    lambda k, more, delta: ends_are(k, k + more, delta, 0),
    slip=('leaves out the count itself', lambda k, more, delta: ends_are(k, k + more, delta, 1)),
    k=integers(0, 30), more=integers(1, 30), delta=scalars(0.01, 0.5), tries=60,
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

def drawn_coverage(seed, name, delta, R=4000):  # against the sum over all counts
    p = np.array([0.05, 0.3, 0.72])
    counts = np.random.default_rng(seed).binomial(N, p, size=(R, 3))
    low, high = intervals[name]
    want = coverage(p, low, high) - delta
    hits = ((low[counts] <= p) & (p <= high[counts])).mean(0)
    return bool((abs(hits - want) < 5 * np.sqrt(0.25 / R)).all())

verify(
    'drawn counts are covered as often as computed',
    lambda seed, name: drawn_coverage(seed, name, 0),
    slip=('is off by a tenth', lambda seed, name: drawn_coverage(seed, name, 0.1)),
    seed=seeds(), name=[*intervals], tries=12,
)
verify(
    'Hoeffding and the exact interval keep the promise, Wald does not',
    lambda name, kept: bool((covered[name].min() >= kept) == (name != 'Wald')),
    slip=('expects that of Wald, too', lambda name, kept: bool(covered[name].min() >= kept)), name=[*intervals], kept=[0.95],
)
assert (covered['Wald'] < 0.95).mean() > 0.5
assert close(exact_interval(0, 100, 0.05)[1], 1 - 0.025 ** (1 / 100))

# %% [markdown]
# ## Where it matters: the error bar of a test set
#
# A classifier $f$ has the *loss* $\ell(y, f(\mathbf{x}))$ on an example, say 1 if it is wrong and 0 if it is right. What we
# want to know is its *true loss*, or risk, on the distribution $\mathcal{D}$ that examples come from. If $(\mathbf{x}_n,
# y_n)$ is drawn from $\mathcal{D}$ and $f$ is fixed, it is the mean of the loss of one example:
#
# ```{math}
# :label: ml.ms.hoeffding.true-loss
# \mathbb{E}\big[ \ell(y_n, f(\mathbf{x}_n)) \big] = L_{\mathcal{D}}(f) .
# ```
#
# The losses of independent examples are independent and lie in $[a, b]$, here $[0, 1]$. So Hoeffding's inequality applies
# to their average $L_S(f) = \frac1N \sum_{n} \ell(y_n, f(\mathbf{x}_n))$ over a sample $S$:
#
# ```{math}
# :label: ml.ms.hoeffding.use
# \Theta_n = \ell(y_n, f(\mathbf{x}_n)), \\
# \Pr\big[ |L_S(f) - L_{\mathcal{D}}(f)| \ge \epsilon \big] \le \delta = 2 e^{-2 N \epsilon^2 / (b - a)^2} .
# ```
#
# Both lines need that $f$ is *fixed* before the sample is drawn. What happens if it is not? For an experiment we must know
# the risk. So let 1497 handwritten digits be *all* the digits there are, and draw samples from them with replacement. The
# fixed classifier takes the nearest of ten class means, computed from 300 other digits. Its rival memorizes the sample and
# answers with the label of the nearest member.

# %%
data = digits()
x_rest, y_rest = data.x[:300], data.y[:300]
x_all, y_all = data.x[300:], data.y[300:]  # (1497, 64), (1497,)

def squared_distances(x, z):    # (m, d), (k, d) -> (m, k)
    return (x**2).sum(1)[:, None] - 2 * x @ z.T + (z**2).sum(1)

# %%
means = np.array([x_rest[y_rest == c].mean(0) for c in range(10)])
wrong = squared_distances(x_all, means).argmin(1) != y_all
distance = squared_distances(x_all, x_all)  # (1497, 1497)
print(f'risk of the fixed classifier: {wrong.mean():.3f}')

# %%
def fixed(sample):              # -> loss on the sample, risk
    return wrong[sample].mean(), wrong.mean()

def memorizer(sample):
    nearest = sample[distance[:, sample].argmin(1)]
    errors = y_all[nearest] != y_all
    return errors[sample].mean(), errors.mean()

# %%
def gaps(method, seed, R=1000, size=20):  # loss minus risk, (R,)
    rng = np.random.default_rng(seed)
    both = [method(rng.integers(1497, size=size)) for _ in range(R)]
    return np.subtract(*np.transpose(both))

promised = radius(20, 0.05)
gap = {method.__name__: gaps(method, seed=0)
       for method in (fixed, memorizer)}
for name, g in gap.items():
    off = (abs(g) >= promised).mean()
    print(f'{name:9} off by {promised:.2f} or more: {off:.3f} of the samples')

# %% mystnb={"image": {"alt": "Histograms of sample loss minus risk over 1000 samples of 20. For the fixed classifier a bell around zero, well inside the shaded interval. For the memorizer all of the mass lies far to the left, most of it outside."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.8))
ax.axvspan(-promised, promised, color=GREY, alpha=0.15)
for name, g in gap.items():
    ax.hist(g, np.arange(-0.7, 0.51, 0.05), alpha=0.5)
ax.text(0.12, 150, 'fixed', color='C0')
ax.text(-0.45, 250, 'memorizer', color='C1', ha='center')
ax.text(0.29, 300, "shaded: Hoeffding's 95 %", ha='right')
ax.set(xlabel='loss on the sample − risk', ylabel='samples', ylim=(0, 330));

# %% [markdown] tags=["caption"]
# Hoeffding's bound holds for a classifier that is fixed before the sample of 20 is drawn. One that memorizes the sample is
# off by 0.30 or more in most samples.

# %% [markdown]
# Each member of the sample is its own nearest neighbour. So the memorizer reports a loss of zero, and its error bar means
# nothing. This is why we keep a **test set** apart, and why it may be used only once. To choose the best of $K$ classifiers
# by their test losses is again to look first; it costs a factor $K$ in $\delta$. So does a look at the average after each
# new example, if you stop when you like what you see:
#
# ```{exercise} ★★ Program: an error bar for every look
# :label: conc-peeking
# You look at the average after every single observation in $[0, 1]$ and want error bars that are right *at all times at
# once* with probability at least $1 - \delta$. Give the $n$-th look the share $\delta / (n (n + 1))$ of the failure
# probability (these shares add up to $\delta$) and write `radius_at(n, delta)`, for an integer $n \ge 1$ and a float $0 <
# \delta < 1$.
# ```

# %%
def radius_at(n, delta):
    """The radius of the n-th look: int, float -> float.

    radius_at(1, 0.5) is about 1.02.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def radius_at_by_search(n, delta):
    def spare(e):
        return np.log(2 * n * (n + 1) / delta) - 2 * n * e**2
    return brentq(spare, 0, 100, xtol=1e-14)

look_cases = dict(n=on(1, 2000) | integers(1, 5000), delta=on(0.05, 0.5) | scalars(0.001, 0.999))
grade(radius_at, radius_at_by_search, **look_cases)

# %% [markdown]
# ```{solution-start} conc-peeking
# :class: dropdown
# ```
# Put $\delta / (n (n + 1))$ for $\delta$ in the radius. The shares telescope, $\frac{1}{n (n + 1)} = \frac1n - \frac{1}{n +
# 1}$, so they add up to 1, and the probability that *any* look fails is at most the sum $\delta$. The price is small, a
# term $\ln(n (n + 1))$ under the root. The wrong answers take the ordinary radius, give each look $\delta / n$, whose sum
# is infinite, or divide outside the logarithm.

# %% jupyter={"source_hidden": true}
def radius_at_solution(n, delta):
    return np.sqrt(np.log(2 * n * (n + 1) / delta) / (2 * n))

def ordinary(n, delta):
    return np.sqrt(np.log(2 / delta) / (2 * n))

def one_nth(n, delta):
    return np.sqrt(np.log(2 * n / delta) / (2 * n))

def outside_the_logarithm(n, delta):
    return np.sqrt(n * (n + 1) * np.log(2 / delta) / (2 * n))

assert grade(radius_at_solution, radius_at_by_search, **look_cases)
assert not grade(ordinary, radius_at_by_search, **look_cases)
assert not grade(one_nth, radius_at_by_search, **look_cases)
assert not grade(outside_the_logarithm, radius_at_by_search, **look_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★★ Experiment: peeking
# :label: conc-failures
# Toss a fair coin 2000 times and look after every toss whether the average is still within `radius(n, 0.3)` of $\frac12$.
# Predict two shares, with 3000 such series: of the series that are outside after the last toss, and of those that were
# outside at *some* toss on the way. Return a tuple of two numbers, each of them 0.05, 0.3, 0.6 or 0.95, whichever is
# nearest. Then run and explain.
# ```

# %%
def predicted_failures():
    """(outside at the end, outside at some toss): two of the four."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def failures(bar, series=3000):
    tosses = np.random.default_rng(8).integers(0, 2, size=(series, 2000), dtype=np.int16)
    n = np.arange(1, 2001)
    outside = abs(tosses.cumsum(1, dtype=np.int16) / n - 0.5) >= bar(n, 0.3)
    return outside[:, -1].mean(), outside.any(1).mean()

def is_measured(shares):
    offered = (0.05, 0.3, 0.6, 0.95)
    if len(shares) != 2 or not set(shares) <= set(offered):
        raise ValueError('give two of the numbers 0.05, 0.3, 0.6 and 0.95')
    found = failures(radius, 1000)
    if list(shares) != [min(offered, key=lambda s: abs(s - share)) for share in found]:
        raise ValueError('other shares are measured; try it')
    return True

grade(lambda: is_measured(predicted_failures()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} conc-failures
# :class: dropdown
# ```
# At one fixed toss, Hoeffding's radius fails far less often than promised. But there are 2000 looks, and their failures
# accumulate: more than half of the series are outside at some toss, although 0.3 was promised for each. By the law of the
# iterated logarithm some look fails in the end almost surely. With the radius of the last exercise the promise holds for
# all looks together. Sharper bars of this kind are called confidence sequences {cite}`howard2021time`. The wrong answers
# trust the promise at the end, trust it for all looks, or expect certain failure already.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured((0.05, 0.6)), lambda: True, [()])
assert not grade(lambda: is_measured((0.3, 0.6)), lambda: True, [()])  # the bound is an equality
assert not grade(lambda: is_measured((0.05, 0.3)), lambda: True, [()])  # the promise holds for all looks
assert not grade(lambda: is_measured((0.05, 0.95)), lambda: True, [()])  # 2000 looks are enough to fail surely
for name, bar in (('ordinary', radius), ('for every look', radius_at_solution)):
    at_end, ever = failures(bar)
    print(f'{name:15} outside at the end {at_end:.3f}, at some toss {ever:.2f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def is_unbiased(gap):
    return abs(gap.mean()) < 5 * gap.std() / np.sqrt(len(gap))

holds(
    'ml.ms.hoeffding.true-loss',
    lambda seed: is_unbiased(gaps(fixed, seed, R=200)),
    slip=(
        'chooses the classifier by looking at the sample',
        lambda seed: is_unbiased(gaps(memorizer, seed, R=200)),
    ),
    seed=seeds(),
    tries=10,
)

def keeps_promise(N, delta, p, factor=1):  # losses are 0 or 1, with risk p
    return sum(exact_tails(N, p, factor * radius(N, delta))) <= delta + 1e-9

def learnt_by_heart(N, delta, p):  # labels are tosses: no loss on the sample, risk p = 1/2
    return 0.5 < radius(N, delta)

promises = dict(N=integers(1, 60), delta=scalars(0.01, 0.99), p=[0.5, 0.1, 0.3])
holds(
    'ml.ms.hoeffding.use',
    keeps_promise,
    slip=('chooses the classifier by looking at the sample', learnt_by_heart),
    **promises,
)
verify(
    "Hoeffding's radius keeps its promise for every N and δ",
    keeps_promise,
    slip=('takes seven tenths of it', lambda **case: keeps_promise(factor=0.7, **case)), **promises,
)
verify(
    'the memorizer breaks the promise in more than half of the samples, the fixed classifier in few',
    lambda most: bool((abs(gap['memorizer']) >= promised).mean() > 0.5 > most > (abs(gap['fixed']) >= promised).mean()),
    slip=('exchanges the two', lambda most: bool((abs(gap['fixed']) >= promised).mean() > 0.5 > most)),
    most=[0.05],
)

# %% [markdown]
# ## Summary
#
# The average of $N$ independent observations in $[a, b]$ misses its mean by $\epsilon$ with probability at most $2 e^{-2 N
# \epsilon^2 / (b - a)^2}$, for every $N$ and every distribution. The proof applies Markov's inequality to an exponential;
# applied to a square, it gives Chebyshev's inequality, which needs only a variance but falls more slowly. For counts of
# zeros and ones, the exact interval is never wider, and all of these promises need a quantity that was fixed before the
# sample was drawn.
#
# **Further reading.** {cite}`hoeffding1963probability` is short and still worth reading, sampling without replacement
# included; {cite}`boucheron2013concentration` is the modern account, with the inequalities that know the variance
# (Bernstein, Bennett), and {cite}`vershynin2018high` takes the subject to matrices and high dimension.
