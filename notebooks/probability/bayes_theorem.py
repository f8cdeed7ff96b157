# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Bayes' theorem
#
# - **Question.** How far should a piece of evidence move a belief, and when does the same evidence count twice?
# - **You need** counting, fractions and logarithms; an integral for the third part.
# - **You build** posteriors in exact fractions, one piece of evidence after the other; the posterior of a coin; and a
#   naive Bayes classifier of handwritten digits, whose overconfidence you then cure.
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
from fractions import Fraction
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import beta
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB

from nbutils.cases import integers, seeds
from nbutils.checks import close, grade, holds, verify
from nbutils.data import digits
from nbutils.figures import GREY, label_lines, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## Bayes theorem and the base rate
#
# One person in a thousand has a disease. A test finds every case, but is also positive for 5 % of the healthy. Someone
# picked at random tests positive: how likely is it that they are ill? In 1978 sixty doctors and students at Harvard's
# teaching hospitals were asked this. The most frequent answer was 95 %; eleven of the sixty were right
# {cite}`casscells1978interpretation`. Do not calculate, count. Of 1000 people one is ill, and positive. Of the other
# $1000 - 1 = 999$, about 50 are positive as well. So among 51 positive people one is ill, a share of $1/51 \approx 0.02$.
#
# The 95 % belong to another question: of the *healthy*, 95 % test negative. "How often is the test right about the
# healthy" is a share of the healthy, and "how often are the positive ill" is a share of the positive: the two fractions have
# different denominators.
#
# ```{prf:definition} Conditional probability
# :label: def-conditional-probability
# For events $A$, $B$ with $P(B) \ne 0$, $P(A \mid B) = P(A \cap B) / P(B)$: the share of $B$ that is also $A$.
# ```
#
# Both $P(A \mid B)$ and $P(B \mid A)$ are about the same overlap,
# $P(A \mid B) \, P(B) = P(A \cap B) = P(B \mid A) \, P(A)$. Divide by $P(B)$:
#
# ````{prf:theorem} Bayes
# :label: thm-bayes
# Let $P(B) \ne 0$ and $P(A) \ne 0$. Then
#
# ```{math}
# :label: dl.bayes.bayes
# P(A \mid B) = \frac{P(B \mid A) \, P(A)}{P(B)} .
# ```
#
# If $A_1, \dots, A_K$ are disjoint, cover everything and have $P(A_i) \neq 0$, then the denominator is
# $P(B) = \sum_j P(B \mid A_j) \, P(A_j)$.
# ````
#
# The last line holds because the pieces $B \cap A_j$ make up $B$. The hypothesis $P(A) \ne 0$ is needed for $P(B \mid A)$ to
# mean something; if $P(A) = 0$, then $P(A \mid B) = 0$, too.
#
# In use, the $A_i$ are rival *hypotheses*, $B$ is what was observed, $P(A_i)$ is the *prior*, $P(B \mid A_i)$ the
# *likelihood* and $P(A_i \mid B)$ the *posterior*. The denominator only makes the posterior sum to one:
#
# ```{math}
# :label: eq-bayes-proportional
# \text{posterior} \; \propto \; \text{likelihood} \times \text{prior} .
# ```
#
# That is a program. With arrays of `Fraction` it is exact; with floats it will serve for whole curves.

# %%
def posterior(prior, likelihood):  # one entry for each hypothesis
    joint = prior * likelihood
    return joint / joint.sum()

def exact(*decimals):
    return np.array([Fraction(d) for d in decimals])

ill = posterior(exact('0.001', '0.999'), exact('1', '0.05'))[0]
print(f'the question of 1978: {ill} = {float(ill):.4f}')
hiv = posterior(exact('0.0015', '0.9985'), exact('1', '0.01'))
print(f'an HIV test:          {hiv[0]} = {float(hiv[0]):.4f}')

# %% [markdown]
# The second line is the example of {cite}`zhang2023dive`: of 10,000 people 15 are infected, the test never misses, and
# is wrong for one healthy person in a hundred. The posterior can also be counted: draw 100,000 people, test each, and
# look how many of the positive are ill. This test also misses three cases in ten:

# %%
def counted(base, miss, alarm, seed, N=100_000):
    rng = np.random.default_rng(seed)
    is_ill = rng.random(N) < base
    positive = rng.random(N) < np.where(is_ill, 1 - miss, alarm)
    return is_ill[positive].mean(), positive.sum()

share, m = counted(base=0.1, miss=0.3, alarm=0.05, seed=0)
expected = posterior(np.array([0.1, 0.9]), np.array([0.7, 0.05]))[0]
print(f'of {m} positive people a share of {share:.3f} is ill; '
      f'posterior {expected:.3f}')

# %% [markdown]
# A picture makes the mistake impossible. Let the square be all people, cut into the ill on the left and the healthy on
# the right, and colour the positive. The posterior is the blue share *of the coloured area*. The test is the same in
# both squares, positive for nine in ten of the ill and one in ten of the healthy; only the base rate changes. Beside
# it, the posterior against the prior for three tests.

# %%
bases = [0.5, 0.05]
shares = [float(posterior(exact(b, 1 - b), exact('0.9', '0.1'))[0])
          for b in bases]
assert close(shares, [0.9, 9 / 28])
prior_grid = np.logspace(-7, np.log10(0.9), 200)
pair = np.stack([prior_grid, 1 - prior_grid])
curves = {}
for alarm in (0.1, 0.01, 0.001):
    joint = pair * np.array([[0.9], [alarm]])
    curves[alarm] = joint[0] / joint.sum(0)

# %% mystnb={"image": {"alt": "Two squares of people, cut by base rate. With half of all people ill, the blue area of true positives dominates the coloured area; with 5 per cent ill, it is a thin column beside a wide orange strip of false positives. A third panel shows the posterior rising with the prior, later for tests with more false alarms."}} tags=["hide-input"]
fig, axes = panels(3, height=2.5, width_ratios=[1, 1, 1.5])
for ax, base, share in zip(axes, bases, shares, strict=False):
    widths = [base, 1 - base]
    for heights, options in (
        ([0.9, 0.1], {'color': ['C0', 'C1'], 'alpha': 0.6}),
        ([1, 1], {'fill': False, 'edgecolor': GREY}),
    ):
        ax.bar([0, base], heights, widths, align='edge', **options)
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=[base, 1], yticks=[0, 1])
    ax.set(title=f'ill {base:.0%}:\nposterior {share:.2f}')
    ax.set(xlabel='share of people')
axes[0].set(ylabel='share positive')
for alarm, curve in curves.items():
    axes[2].plot(prior_grid, curve, label=f'{alarm:g}')
    axes[2].plot(alarm / (alarm + 0.9), 0.5, 'o', color=GREY)
axes[2].set(xscale='log', xlabel='prior', ylabel='posterior')
axes[2].set(title='posterior 1/2\nat the dots', xticks=[1e-6, 1e-3, 1])
axes[2].legend(loc='upper left', handlelength=1, title='false alarms');

# %% [markdown] tags=["caption"]
# The same test gives a posterior of 0.90 if half of all people are ill, and of 0.32 if one in twenty is. Right: false alarms
# weigh the more, the rarer the condition.

# %% [markdown]
# Each curve passes one half (at the dots) where the prior odds equal the ratio of false to true alarms. The rarer the
# condition, the fewer false alarms a test may raise before most of its alarms are false.
#
# ```{exercise} ★ Program: how rare may the condition be?
# :label: bayes-how-rare
# A test is positive with probability `s` for the ill and `f` for the healthy. Which base rate makes the posterior of a
# positive result exactly `q`? Write `base_rate(s, f, q)`.
# ```

# %%
def base_rate(s, f, q):
    raise NotImplementedError('your turn')

# %%
def base_rate_by_search(s, f, q):
    gap = lambda p: p * s / (p * s + (1 - p) * f) - q
    return brentq(gap, 1e-12, 1 - 1e-12, xtol=1e-15)

tests = [(0.9, 0.1, 0.5), (1.0, 0.01, 0.95), (0.7, 0.2, 0.1)]
grade(base_rate, base_rate_by_search, tests)

# %% [markdown]
# ```{solution-start} bayes-how-rare
# :class: dropdown
# ```
# From $q = ps / (ps + (1-p) f)$ follows $\frac{q}{1-q} = \frac{p}{1-p} \cdot \frac sf$, so the prior odds are
# $o = \frac{q}{1-q} \cdot \frac fs$, and $p = o / (1 + o)$. Odds are not probabilities: leaving out the last step is
# nearly right for rare conditions, and can exceed one for others.

# %% jupyter={"source_hidden": true}
def base_rate_solution(s, f, q):
    odds = q / (1 - q) * f / s
    return odds / (1 + odds)

def odds_for_probability(s, f, q):
    return q / (1 - q) * f / s

assert grade(base_rate_solution, base_rate_by_search, tests)
assert not grade(odds_for_probability, base_rate_by_search, tests)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def populate(both, only_a, only_b, neither):  # P(A), P(B), P(A|B), P(B|A)
    A, B = both + only_a, both + only_b
    people = A + only_b + neither
    ratios = (A, people), (B, people), (both, B), (both, A)
    return [Fraction(*ratio) for ratio in ratios]

def bayes(**counts):
    a, b, a_given_b, b_given_a = populate(**counts)
    return a_given_b == b_given_a * a / b

def upside_down(**counts):
    a, b, a_given_b, b_given_a = populate(**counts)
    return a_given_b == b_given_a * b / a

holds(
    'dl.bayes.bayes',
    bayes,
    slip=('turns the ratio of the probabilities upside down', upside_down),
    both=integers(0, 9),
    only_a=integers(1, 9),
    only_b=integers(1, 9),
    neither=integers(0, 9),
)

def agrees(q, base, miss, alarm, seed):
    # m positive people: the count of the ill among them is binomial
    share, m = counted(base, miss, alarm, seed)
    return abs(share - q) < 5 * np.sqrt(q * (1 - q) / m)

def by_bayes(hit, base, miss, alarm, seed):
    q = posterior(np.array([base, 1 - base]), np.array([hit, alarm]))[0]
    return agrees(q, base, miss, alarm, seed)

verify(
    'the posterior is the share of the ill among the positive',
    lambda miss, **case: by_bayes(1 - miss, miss=miss, **case),
    slip=(
        'forgets that the test misses cases',
        lambda miss, **case: by_bayes(1, miss=miss, **case),
    ),
    base=[0.02, 0.1, 0.5],
    miss=[0.1, 0.3],
    alarm=[0.05, 0.2],
    seed=seeds(),
    tries=60,
)

# %% [markdown]
# ## Odds and likelihood ratios: evidence multiplies
#
# This section continues [Bayes theorem and the base rate](#bayes-theorem-and-the-base-rate). Write Bayes' theorem for $A$
# and for its complement $\bar A$ (all probabilities positive) and divide: the denominator $P(B)$ cancels, and
#
# ```{math}
# :label: eq-bayes-odds
# \underbrace{\frac{P(A \mid B)}{P(\bar A \mid B)}}_{\text{posterior odds}}
# = \underbrace{\frac{P(B \mid A)}{P(B \mid \bar A)}}_{\text{likelihood ratio}}
# \times \underbrace{\frac{P(A)}{P(\bar A)}}_{\text{prior odds}} .
# ```
#
# The posterior depends on the evidence through the likelihood ratio alone. It tells how many times more often an ill person
# tests positive than a healthy one. The HIV test is worth a factor $1/0.01 = 100$, whoever is tested:
# it takes odds of 15 to $10000 - 15 = 9985$ to odds of $100 \cdot 15 = 1500$ to 9985. A second test then starts from
# there, for today's posterior is tomorrow's prior:
#
# ```{prf:theorem} Updating in steps
# :label: thm-sequential-bayes
# Where all conditions have positive probability: updating on $B_1$ with the likelihood $P(B_1 \mid A_i)$ and then on
# $B_2$ with the likelihood $P(B_2 \mid A_i, B_1)$ gives the same posterior as one update on both. If $B_1$ and $B_2$
# are independent given each $A_i$, the second likelihood is $P(B_2 \mid A_i)$, and the order does not matter.
# ```
#
# ```{prf:proof}
# $P(B_1, B_2 \mid A_i) = P(B_1 \mid A_i) \, P(B_2 \mid A_i, B_1)$; multiply by $P(A_i)$ and use
# {eq}`eq-bayes-proportional`. Normalising in between changes nothing, since it multiplies all entries alike.
# ```
#
# The condition on $B_1$ in the second likelihood is easily forgotten.
#
# In the example of {cite}`zhang2023dive` a second, different HIV test is positive for 98 % of the infected and 3 % of the
# others, and independent of the first given the truth:

# %%
second = exact('0.98', '0.03')
twice = posterior(hiv, second)
swapped = posterior(exact('0.0015', '0.9985'), second)
assert (posterior(swapped, exact('1', '0.01')) == twice).all()
print(f'after one positive test:  {float(hiv[0]):.4f}')
print(f'after two positive tests: {twice[0]} = {float(twice[0]):.4f}')

# %% [markdown]
# From 13 % to 83 %: odds multiply by $98/3$. Take logarithms and the multiplication becomes a sum, each observation
# adding its *weight of evidence* $\log \frac{P(B \mid A)}{P(B \mid \bar A)}$. How much weight will arrive per
# observation? That depends on which hypothesis is true. Let independent observations have the probabilities $p(x)$ if
# $A$ is true and $r(x)$ if not. Under $A$ the mean weight of one observation is
#
# ```{math}
# :label: eq-bayes-drift
# \sum_x p(x) \log \frac{p(x)}{r(x)} = D(p \,\|\, r) ,
# ```
#
# the Kullback–Leibler divergence, and under $\bar A$ it is $-D(r \,\|\, p)$. Both drifts point to the truth: from
# $\log u \le u - 1$, $-D(p \,\|\, r) = \sum p \log \frac rp \le \sum p \, (\frac rp - 1) = 0$ (where $p, r > 0$),
# and equality holds only for equal laws. By the law of large numbers the log odds of a true hypothesis grow in
# proportion to $n$. Their random part grows only like $\sqrt n$: $n$ independent weights have standard deviation
# $\sqrt{n} \, \tau$, where $\tau$ is that of one weight, for a coin $\sqrt{p (1-p)}$ times the distance between its
# two possible weights. The prior is a constant, soon forgotten.
#
# For example, let a coin show heads with probability $0.7$ under $A$ and $0.5$ under $\bar A$. After 200 flips of a coin
# of the first kind, in 4000 runs:

# %%
def divergence(p, r):  # of two coins
    return p * np.log(p / r) + (1 - p) * np.log((1 - p) / (1 - r))

def log_odds(p, r, heads, n):  # from prior odds 1 : 1
    weight_tail = np.log((1 - p) / (1 - r))
    return heads * np.log(p / r) + (n - heads) * weight_tail

def simulate(p, r, n, seed):
    heads = np.random.default_rng(seed).binomial(n, p, size=4000)
    return log_odds(p, r, heads, n)

found = simulate(0.7, 0.5, n=200, seed=0)
distance = np.log(0.7 / 0.5) - np.log(0.3 / 0.5)
print(f'mean {found.mean():.2f}, n D {200 * divergence(0.7, 0.5):.2f}; '
      f'spread {found.std():.2f}, '
      f'theory {np.sqrt(200 * 0.7 * 0.3) * distance:.2f}')

# %%
steps = np.arange(1, 201)
lanes = {}
for p in (0.7, 0.5):  # biased or fair; rival hypotheses for all coins
    flips = np.random.default_rng(3).random((1000, 200)) < p
    lanes[p] = log_odds(0.7, 0.5, flips.cumsum(1), steps) / np.log(10)
drift = [divergence(0.7, 0.5), -divergence(0.5, 0.7)]
misled = (lanes[0.5][:, -1] > 0).mean()
print(f'fair coins that look biased after 200 flips: {misled:.3%}')
print(f'drift per flip: {drift[0]:.4f} if biased, {drift[1]:.4f} if fair')

# %% mystnb={"image": {"alt": "Log odds for a biased coin against flips. Paths of truly biased coins climb along a straight line, paths of fair coins fall along another; the 90 per cent bands around both lines widen and separate after about 60 flips."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
for i, (p, paths) in enumerate(lanes.items()):
    low, high = np.quantile(paths, [0.05, 0.95], axis=0)
    ax.fill_between(steps, low, high, color=f'C{i}', alpha=0.25)
    ax.plot(steps, paths[:3].T, color=f'C{i}', lw=0.8, alpha=0.8)
    name = f'coins with\np = {p}'
    ax.plot(steps, steps * drift[i] / np.log(10), color=f'C{i}', label=name)
ax.axhline(0, color=GREY, ls=':')
ax.set(xlabel='flips', ylabel='log10 odds for p = 0.7\nagainst p = 0.5')
ax.set_title('Evidence accumulates: three paths, 90 % band, drift')
label_lines(ax)

# %% [markdown] tags=["caption"]
# Log odds drift toward the truth in proportion to the number of flips, while their spread grows only like its root: after
# about 60 flips the 90 % bands part.

# %% [markdown]
# Evidence can mislead, but you cannot *plan* to be misled, or to be convinced: before the result is known, the mean of
# the posterior is the prior, $\sum_b P(b) \, P(A \mid b) = \sum_b P(A \cap b) = P(A)$. If you know that the next
# result will raise your belief, you should have raised it already.
#
# Two warnings. A prior of exactly 0 stays 0 whatever is seen, so give every hypothesis that you can imagine a small positive
# prior. And a likelihood ratio may be multiplied in only if it is *fresh*: its two probabilities are conditional on
# everything seen before. Ten copies of one newspaper are not ten witnesses.
#
# ```{exercise} ★★ Program: ten tests of one sample
# :label: bayes-series
# A test is positive with probability `s` for the ill and `f` for the healthy. It is run `n` times on one blood sample.
# With probability `r` something in the sample (the same for ill and healthy) decides all runs at once: they copy the
# first one. Otherwise they are independent given the truth. All `n` are positive. Write the posterior
# `series(prior, s, f, r, n)`. What does it tend to as $n \to \infty$?
# ```

# %%
def series(prior, s, f, r, n):
    raise NotImplementedError('your turn')

# %%
def series_by_listing(prior, s, f, r, n):
    share = {True: 0.0, False: 0.0}
    for state, copied, *runs in product([True, False], repeat=2 + n):
        p = (prior if state else 1 - prior) * (r if copied else 1 - r)
        chance = s if state else f
        fresh = runs[:1] if copied else runs
        p *= np.prod([chance if run else 1 - chance for run in fresh])
        if all(runs):
            share[state] += p
    return share[True] / (share[True] + share[False])

samples = [(0.1, 0.9, 0.2, 0.3, 4), (0.01, 1.0, 0.1, 0.05, 8),
           (0.4, 0.6, 0.5, 0.0, 3)]
grade(series, series_by_listing, samples)

# %% [markdown]
# ```{solution-start} bayes-series
# :class: dropdown
# ```
# Average over the cause, separately for each hypothesis: $P(\text{all} \mid \text{ill}) = r s + (1 - r) s^n$, and the
# same with $f$. For $r > 0$, $n \to \infty$ and $s, f < 1$ the likelihood ratio tends to $s/f$, that of a *single* test;
# for $s = 1$ to $1 / (r f)$. A common cause puts a ceiling on what repetition can prove. Mixing inside each step,
# $s \, (r + (1 - r) s)^{n-1}$, would draw the cause anew for every run.

# %% jupyter={"source_hidden": true}
def of_being_ill(prior, likelihood):
    return posterior(np.array([prior, 1 - prior]), likelihood)[0]

def series_solution(prior, s, f, r, n):
    t = np.array([s, f])
    return of_being_ill(prior, r * t + (1 - r) * t**n)

def cause_drawn_anew(prior, s, f, r, n):
    t = np.array([s, f])
    return of_being_ill(prior, t * (r + (1 - r) * t) ** (n - 1))

assert grade(series_solution, series_by_listing, samples)
assert not grade(cause_drawn_anew, series_by_listing, samples)
for r in (0, 0.01, 0.1):
    found = [series_solution(0.001, 1, 0.05, r, n) for n in (1, 2, 3, 50)]
    print(f'r = {r}: after 1, 2, 3, 50 tests', np.round(found, 3))
anew = [cause_drawn_anew(0.001, 1, 0.05, 0.1, n) for n in (1, 2, 3, 50)]
print('r = 0.1, but drawn anew:   ', np.round(anew, 3))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def in_steps(seed, remember):
    n = np.random.default_rng(seed).integers(1, 10, size=(3, 2, 2))
    n = n * Fraction(1)  # (A, B1, B2), exact
    total = n.sum((1, 2))
    at_once = posterior(total / n.sum(), n[:, 0, 1] / total)
    first = posterior(total / n.sum(), n[:, 0].sum(1) / total)
    if remember:
        second = n[:, 0, 1] / n[:, 0].sum(1)
    else:
        second = n[:, :, 1].sum(1) / total
    return (posterior(first, second) == at_once).all()

verify(
    'two updates give what one update on both gives',
    lambda seed: in_steps(seed, remember=True),
    slip=(
        'forgets what was seen first',
        lambda seed: in_steps(seed, remember=False),
    ),
    seed=seeds(),
)
def drifts(p, r, n, seed, swap=False):
    found = simulate(p, r, n, seed)
    drift = divergence(r, p) if swap else divergence(p, r)
    return abs(found.mean() - n * drift) < 5 * found.std() / np.sqrt(4000)

def spreads(p, r, n, seed, swap=False):  # of nearly Gaussian sums
    variance = r * (1 - r) if swap else p * (1 - p)  # of a flip
    distance = abs(np.log(p / r) - np.log((1 - p) / (1 - r)))
    sd = np.sqrt(n * variance) * distance
    return abs(simulate(p, r, n, seed).std() / sd - 1) < 5 / np.sqrt(8000)

duels = {'p': [0.3, 0.7, 0.9], 'r': [0.2, 0.5, 0.6], 'n': [400, 6400]}
verify(
    'log odds grow like n times the divergence',
    drifts,
    slip=(
        'swaps p and r in the divergence',
        lambda **case: drifts(swap=True, **case),
    ),
    seed=seeds(),
    **duels,
)
verify(
    'their spread grows like the root of n',
    spreads,
    slip=(
        'takes the variance of the wrong coin',
        lambda **case: spreads(swap=True, **case),
    ),
    seed=seeds(),
    **duels,
)

# %% tags=["checks"]
def mean_posterior(seed, weigh):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 10, size=(3, 4)) * Fraction(1)  # hypothesis, result
    prior, result = n.sum(1) / n.sum(), n.sum(0) / n.sum()
    found = [posterior(prior, n[:, b] / n.sum(1)) for b in range(4)]
    weights = result if weigh else exact('1/4', '1/4', '1/4', '1/4')
    return (weights @ np.array(found) == prior).all()

verify(
    'the mean posterior is the prior',
    lambda seed: mean_posterior(seed, weigh=True),
    slip=(
        'weighs all results alike',
        lambda seed: mean_posterior(seed, weigh=False),
    ),
    seed=seeds(),
)

# %% [markdown]
# ## The posterior of a coin: a density of hypotheses
#
# This section continues [Bayes theorem and the base rate](#bayes-theorem-and-the-base-rate). A coin shows $k$ heads in $n$
# flips; how probable is heads? Now there is a hypothesis for each $\theta \in [0, 1]$, the prior is a density $p(\theta)$,
# the sum in the denominator becomes an integral, and the theorem keeps its form:
#
# ```{math}
# :label: eq-bayes-density
# p(\theta \mid k) = \frac{P(k \mid \theta) \, p(\theta)}{\int_0^1 P(k \mid t) \, p(t) \, dt} ,
# \qquad P(k \mid \theta) = \binom nk \theta^k (1 - \theta)^{n-k} .
# ```
#
# With no reason to prefer one $\theta$, Bayes took $p(\theta) = 1$, and found the integral without integrating
# {cite}`bayes1763essay`. Throw $n + 1$ balls onto a table, so that their distances from the left edge are independent
# and uniform. Call the first one's distance $\theta$. Each of the others then lands left of it with probability
# $\theta$: a coin. So $\int_0^1 P(k \mid \theta) \, d\theta$ is the probability that exactly $k$ of $n$ balls lie left
# of the first. But the first is no special ball: it is equally likely to be the leftmost, the second, ..., the last.
# The integral is $1 / (n + 1)$, and the posterior is
#
# ```{math}
# :label: eq-bayes-beta
# p(\theta \mid k) = (n + 1) \binom nk \theta^k (1 - \theta)^{n - k} ,
# ```
#
# the $\mathrm{Beta}(k + 1, n - k + 1)$ density. Our function for fractions computes it, too, on a grid of 1000
# hypotheses. Here are both densities at $\theta = 0.7005$ after 7 heads in 10 flips:

# %%
theta = (np.arange(1000) + 0.5) / 1000

def on_grid(k, n):  # density
    prior = np.ones(1000) / 1000
    return 1000 * posterior(prior, theta**k * (1 - theta) ** (n - k))

print(f'at {theta[700]:.4f}: on the grid {on_grid(7, 10)[700]:.4f}, '
      f'Beta density {beta.pdf(theta[700], 8, 4):.4f}')
# %% [markdown]
# What is the probability of $H$, that the *next* flip shows heads? Average $\theta$ over the posterior. By the formula for
# the integral, once with $k$ of $n$ and once with $k + 1$ of $n + 1$,
#
# ```{math}
# :label: eq-bayes-succession
# P(H \mid k) = \int_0^1 \theta \, p(\theta \mid k) \, d\theta
# = \frac{(n+1) \binom nk}{(n+2) \binom{n+1}{k+1}} = \frac{k + 1}{n + 2} .
# ```
#
# This is Laplace's *rule of succession*: as if one head and one tail had been seen before the first flip. After three
# heads in three flips it says $4/5$. The frequency $k/n$, at which the likelihood is largest
# (see [maximum likelihood](maximum_likelihood.ipynb)), would say 1.
#
# A posterior also gives intervals: cut off a probability of 0.05 at each end of the Beta density, and
# $0.95 - 0.05 = 0.9$ of the belief is left, a *credible interval*. Is the promise kept? If $\theta$ is drawn from the prior
# and then the coin is flipped, the pair can be drawn as well in the other order, first $k$ and then $\theta$ from its
# posterior. So the interval contains $\theta$ with just that probability. If $\theta$ comes from elsewhere, for example from
# $\mathrm{Beta}(1, 4)$ while the prior was uniform, nothing is promised:

# %%
def coverage(n, mint, seed, R=20_000):  # share of intervals with theta inside
    rng = np.random.default_rng(seed)
    true = rng.beta(*mint, size=R)
    k = rng.binomial(n, true)
    low, high = beta.ppf([[0.05], [0.95]], k + 1, n - k + 1)
    return ((low < true) & (true < high)).mean()

print(f'5 flips: θ from the prior {coverage(5, (1, 1), 0):.3f}, '
      f'θ from Beta(1, 4) {coverage(5, (1, 4), 0):.3f}')

# %% [markdown]
# As $n$ grows, the curve gathers around the truth, its width shrinking like $1/\sqrt n$, and the prior matters less
# and less. Two people watch one coin with $\theta = 0.75$. The first has the uniform prior, the second believes in fair
# coins and has $\mathrm{Beta}(30, 30)$:

# %%
flips = np.random.default_rng(5).random(500) < 0.75
views = {n: [] for n in (0, 10, 500)}
for n, densities in views.items():
    k = flips[:n].sum()
    for a in (1, 30):
        belief = beta.pdf(theta, a, a) / 1000
        seen = theta**k * (1 - theta) ** (n - k)
        densities.append(1000 * posterior(belief, seen))
        exactly = beta(a + k, a + n - k)
        assert close(densities[-1], exactly.pdf(theta), rtol=2e-5)
gap = [abs(theta @ (one - two)) / 1000 for one, two in views.values()]
print('distance of the two means:', np.round(gap, 3))

# %% mystnb={"image": {"alt": "Three panels for 0, 10 and 500 flips. A flat and a narrow curve around one half at first; after 10 flips they still differ; after 500 flips they lie almost upon each other near the true value 0.75."}} tags=["hide-input"]
fig, axes = panels(3, height=2.5)
for ax, (n, (one, two)) in zip(axes, views.items(), strict=True):
    ax.plot(theta, one, label='uniform')
    ax.plot(theta, two, label='fair coins')
    ax.axvline(0.75, color=GREY, ls=':')
    ax.set(title=f'{n} flips', xlabel='θ', xticks=[0, 0.5, 1])
    ax.set(ylim=(0, 25 if n == 500 else 9))
axes[0].set(ylabel='density')
axes[2].legend(loc='upper left', title='prior', handlelength=1);

# %% [markdown] tags=["caption"]
# Data outweigh the prior: the posterior means of a flat and of a stubborn prior differ by 0.138 after 10 flips, but only by
# 0.027 after 500.

# %% [markdown]
# ```{exercise} ★★ Program: the next three flips
# :label: bayes-next-m
# After $k$ heads in $n$ flips, with the uniform prior, how probable is it that the next $m$ flips are *all* heads?
# Write `all_heads(k, n, m)` without an integral.
# ```

# %%
def all_heads(k, n, m):
    raise NotImplementedError('your turn')

# %%
def all_heads_by_quadrature(k, n, m):
    density = lambda t: beta.pdf(t, k + 1, n - k + 1)
    return quad(lambda t: t**m * density(t), 0, 1)[0]

runs = [(3, 3, 3), (7, 10, 2), (0, 4, 1), (2, 9, 5)]
grade(all_heads, all_heads_by_quadrature, runs)

# %% [markdown]
# ```{solution-start} bayes-next-m
# :class: dropdown
# ```
# Apply the rule of succession again and again; each new head enters the counts:
# $\prod_{i=0}^{m-1} \frac{k + 1 + i}{n + 2 + i}$. The flips are independent *given* $\theta$, but $\theta$ is
# uncertain, and each head speaks for larger $\theta$. The plain power $\big(\frac{k+1}{n+2}\big)^m$ forgets that; it
# is too small.

# %% jupyter={"source_hidden": true}
def all_heads_solution(k, n, m):
    i = np.arange(m)
    return ((k + 1 + i) / (n + 2 + i)).prod()

def plain_power(k, n, m):
    return ((k + 1) / (n + 2)) ** m

assert grade(all_heads_solution, all_heads_by_quadrature, runs)
assert not grade(plain_power, all_heads_by_quadrature, runs)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def is_beta(k, tails, b):
    # The midpoint rule with step h misses the integral of f by about
    # h² (f'(1) - f'(0)) / 24. For f = θ^k (1 - θ)^(n - k) the difference is
    # at most n for k = 0 or n, 2 for k = 1 or n - 1, and 0 otherwise:
    # a relative error of n (n + 1) h² / 12 at most.
    n = k + tails
    allowed = n * (n + 1) / 12e6
    want = beta.pdf(theta, k + 1, b)
    return close(on_grid(k, n), want, atol=1e-12, rtol=allowed)

verify(
    'a uniform prior and k heads in n flips give a Beta(k+1, n-k+1)',
    lambda k, tails: is_beta(k, tails, tails + 1),
    slip=(
        'counts all flips as tails',
        lambda k, tails: is_beta(k, tails, k + tails + 1),
    ),
    k=integers(0, 10),
    tails=integers(0, 10),
)

def next_head(k, n):
    likelihood = lambda t: t**k * (1 - t) ** (n - k)
    heads = quad(lambda t: t * likelihood(t), 0, 1)[0]
    return heads / quad(likelihood, 0, 1)[0]

verify(
    'after k heads in n flips the next is heads with (k+1)/(n+2)',
    lambda k, n: close(next_head(k, n), (k + 1) / (n + 2), rtol=1e-9),
    slip=(
        'takes the frequency of heads',
        lambda k, n: close(next_head(k, n), k / n, rtol=1e-9),
    ),
    k=integers(0, 9),
    n=integers(9, 25),
)

def covers(n, seed, mint, R=20_000):
    inside = coverage(n, mint, seed, R)
    return abs(inside - 0.9) < 5 * np.sqrt(0.9 * 0.1 / R)

verify(
    '90 % intervals hold 90 % of the parameters that the prior draws',
    lambda n, seed: covers(n, seed, mint=(1, 1)),
    slip=(
        'flips coins that the prior does not expect',
        lambda n, seed: covers(n, seed, mint=(1, 4)),
    ),
    n=[1, 5, 40],
    seed=seeds(),
    tries=10,
)

# %% [markdown]
# ## Where it matters: naive Bayes reads handwritten digits
#
# A class makes an input, we see the input, and a classifier has to tell the class: it turns a condition round. If the joint
# law of the class $c$ and the input $x$ were known, nothing could beat the posterior.
#
# ```{prf:theorem} Bayes classifier
# :label: thm-bayes-classifier
# Among all functions $g$ from inputs to classes, the choice $g(x) = \arg\max_c P(c \mid x)$ has the least probability
# of error.
# ```
#
# ```{prf:proof}
# $P(g(x) = c) = \sum_x P(x) \, P(c = g(x) \mid x)$: each $x$ contributes one term, and each is largest for the class
# of largest posterior.
# ```
#
# The class of largest likelihood $P(x \mid c)$ can be a worse choice, because it neglects how common the classes are.
#
# For a picture of $8 \times 8$ black or white pixels, though, a table of $P(x \mid c)$ has $2^{64}$ entries for each
# class. *Naive Bayes* keeps 64: it pretends that pixels are independent given the class, so that their likelihoods
# multiply,
#
# ```{math}
# :label: eq-naive-bayes
# \log \big( P(c) \, P(\mathbf{x} \mid c) \big) = \log \pi_c + \sum_{j=1}^{64} \big( x_j \log \theta_{cj} + (1 - x_j) \log (1 - \theta_{cj}) \big) ,
# ```
#
# where $\theta_{cj}$ is the probability that pixel $j$ is white in class $c$. How should it be estimated? A pixel that
# was never white among the training sevens would get $\theta = 0$, and one such pixel in a new picture would veto the
# seven forever: the prior of exactly 0 again. But a pixel in a class is a coin, and its posterior probability of
# heads has just been found: $\theta_{cj} = (k_{cj} + 1) / (n_c + 2)$, with $k_{cj}$ white ones among $n_c$ pictures.
# Sums over all pictures are matrix products:

# %%
table = digits()
X, y = 1.0 * (table.x > 0.5), table.y  # (1797, 64), (1797,)
print(f'{len(y)} pictures, {X.mean():.0%} of their pixels white')

# %%
def fit(X, y):  # -> log priors (10,), chances of white (10, 64)
    in_class = 1.0 * (y == np.arange(10)[:, None])  # (10, N)
    n = in_class.sum(1)
    return np.log(n / n.sum()), (in_class @ X + 1) / (n[:, None] + 2)

def log_joint(X, log_prior, chance):  # (N, 10)
    white, black = np.log(chance), np.log(1 - chance)
    return log_prior + X @ white.T + (1 - X) @ black.T

# %% [markdown]
# Black pixels are evidence, too: each contributes $\log (1 - \theta_{cj})$. We stay with logarithms to the end: on
# larger pictures the product of probabilities would underflow, while the posterior needs only differences of
# logarithms. What has the model learnt? Its $10 \cdot 64 = 640$ numbers are ten blurred digits; and since it is a model
# of pictures, it can draw some.

# %%
log_prior, chance = fit(X, y)
drawn = np.random.default_rng(2).random((10, 64)) < chance
picture = np.stack([chance, drawn]).reshape(2, 10, 8, 8)
picture = np.pad(picture, ((0, 0), (0, 0), (1, 1), (1, 1)))  # black rim

# %% mystnb={"image": {"alt": "Two rows of ten small pictures. Above, the probability of a white pixel for the classes 0 to 9, blurred but readable digits. Below, one picture drawn for each class: the outlines are there, but speckled, with holes and stray pixels."}} tags=["hide-input"]
fig, axes = panels(10, rows=2, height=0.7)
for row, pictures in zip(axes, picture, strict=True):
    for ax, pixels in zip(row, pictures, strict=True):
        show_image(ax, pixels)
axes[0, 0].set_title('learnt')
axes[1, 0].set_title('drawn');

# %% [markdown] tags=["caption"]
# Naive Bayes learns where the ink of each digit lies, but draws in speckles: pixels that are independent given the class
# know nothing of strokes.

# %% [markdown]
# The drawings show what is wrong with the assumption: nobody writes with such holes, because neighbouring pixels go
# together. A pixel that repeats what its neighbour has said is not fresh evidence. Suppose, at worst, that every pixel is
# there $m$ times. Then naive Bayes raises the whole likelihood to the power $m$:
#
# ```{math}
# :label: eq-naive-copies
# \log P_m(c \mid \mathbf{x}) = \log \pi_c + m \log P(\mathbf{x} \mid c) + \text{const} .
# ```
#
# With equal priors the *decision* is the same for all $m$, but the *confidence* tends to certainty. So we expect a
# naive Bayes model to decide well and to be overconfident {cite}`domingos1997optimality`.

# %%
def with_power(L, log_prior, m):  # L (N, 10) log joint -> log posterior
    powered = log_prior + m * (L - log_prior)
    return powered - logsumexp(powered, axis=1, keepdims=True)

# %% [markdown]
# A power below one is a remedy. With a power $t < 1$ we say that 64 pixels carry only as much fresh evidence as
# $64\,t$ independent ones. Which $t$? One that gives the truth the highest probability on pictures not used for
# training, measured by the *log loss*, the mean of $-\log P_t(c_{true} \mid \mathbf{x})$. In twenty random splits, 600
# pictures train, 600 choose $t$ and the other 597 judge. As references: the guess of the commonest class, the nearest
# class mean, and [logistic regression](../classification/cross_entropy.ipynb) on the same pixels (five splits).

# %%
powers = np.linspace(0.05, 1.2, 24)

def log_loss(L, log_prior, t, y):
    return -with_power(L, log_prior, t)[np.arange(len(y)), y].mean()

def split_run(seed):
    order = np.random.default_rng(seed).permutation(len(y))
    train, choose, judge = np.split(order, [600, 1200])
    log_prior, chance = fit(X[train], y[train])
    L = log_joint(X, log_prior, chance)
    losses = [[log_loss(L[part], log_prior, t, y[part]) for t in powers]
              for part in (choose, judge)]  # (2, 24)
    t = powers[np.argmin(losses[0])]
    found = np.array([with_power(L[judge], log_prior, m) for m in (1, t)])
    return t, losses[1], np.exp(found).max(2), found.argmax(2) == y[judge]

# %%
results = [split_run(seed) for seed in range(20)]
t_best, losses, sure, right = map(np.array, zip(*results, strict=True))
accuracy, claimed = right.mean(2), sure.mean(2)  # (20, 2)
at = abs(powers - t_best[:, None]).argmin(1)
gain = losses[:, powers == 1].ravel() - losses[np.arange(20), at]
excess = (claimed - accuracy).mean(0)
print('right:  ', accuracy.mean(0).round(3), 'as it is and tempered')
print('claimed:', claimed.mean(0).round(3))
print('excess: ', excess.round(4), '±', (claimed - accuracy).std(0).round(4))
print(f'power chosen: {t_best.mean():.2f}, spread {t_best.std():.3f}')
print('tempering lowers the log loss in', (gain > 0).sum(), 'of 20 splits')
print('it claims too much in', (claimed > accuracy).sum(0)[0], 'of 20')

# %%
def references(seed):
    order = np.random.default_rng(seed).permutation(len(y))
    train, _, judge = np.split(order, [600, 1200])
    means = np.array([X[train][y[train] == c].mean(0) for c in range(10)])
    far = ((X[judge, None] - means) ** 2).sum(2)  # (597, 10)
    logistic = LogisticRegression(solver='newton-cholesky')
    guesses = [
        np.full(597, np.bincount(y[train]).argmax()), far.argmin(1),
        logistic.fit(X[train], y[train]).predict(X[judge]),
    ]
    return [(guess == y[judge]).mean() for guess in guesses]

scores = np.array([references(seed) for seed in range(5)])
above = (accuracy[:5, :1] > scores).sum(0)
print('naive Bayes beats each in', above, 'of 5 splits:')
for name, score in zip(
    ('commonest class', 'nearest mean', 'logistic'), scores.T, strict=True,
):
    print(f'{name:16s} {score.mean():.3f}')

# %% mystnb={"image": {"alt": "Left: share of right answers against claimed confidence in five bins. Plain naive Bayes lies below the diagonal, most of all at middle confidence; the tempered one follows the diagonal. Right: log loss against the power, twenty grey curves and their mean with a minimum near one half; power 1 is marked."}} tags=["hide-input"]
fig, (left, right_ax) = panels(2, height=2.9)
edges = np.array([0.3, 0.5, 0.7, 0.9, 0.98, 1.0001])
for i, name in enumerate(('naive Bayes', 'tempered')):
    bins = [(lo <= sure[:, i]) & (sure[:, i] < hi)
            for lo, hi in zip(edges[:-1], edges[1:], strict=True)]
    said = [sure[:, i][b].mean() for b in bins]
    left.plot(said, [right[:, i][b].mean() for b in bins], 'o-', label=name)
left.plot([0.3, 1], [0.3, 1], color=GREY, ls=':')
left.set(xlabel='claimed probability', ylabel='share of right answers')
left.set(title='Which one keeps its word?')
left.legend(loc='upper left')
right_ax.plot(powers, losses.T, color=GREY, lw=0.5, alpha=0.6)
right_ax.plot(powers, losses.mean(0), color='C1')
right_ax.axvline(1, color='C0', ls='--')
right_ax.text(0.98, 0.9, 'naive Bayes', color='C0', ha='right')
right_ax.set(xlabel='power t of the likelihood', ylabel='log loss')
right_ax.set(title='Twenty splits and mean', ylim=(0.2, 1));

# %% [markdown] tags=["caption"]
# Naive Bayes claims too much, most of all where it claims about 0.8; with the likelihood raised to a power of about one half
# it keeps its word and has the least log loss.

# %% [markdown]
# Naive Bayes decides well: better than the nearest mean and three points below logistic regression, which has the same form
# (next exercise) but fits its weights to the decision instead of to the pixels. It is overconfident, too: it claims
# to be right in 95 % of the cases and is right in 88 %. The sixty-four pixels are worth about half as many independent ones.
# With the power $t$ the model decides almost as before, and its claims are true.
#
# ```{exercise} ★★ Program: naive Bayes is a linear classifier
# :label: bayes-linear
# Show that {eq}`eq-naive-bayes` is $b_c + \mathbf{w}_c^\top \mathbf{x}$. Write `as_linear(log_prior, chance)`: an
# array `(K, 1 + D)` whose rows are $(b_c, \mathbf{w}_c)$.
# ```

# %%
def as_linear(log_prior, chance):  # (K,), (K, D) -> (K, 1 + D)
    raise NotImplementedError('your turn')

# %%
def linear_by_probing(log_prior, chance):  # values at 0 and at unit vectors
    D = chance.shape[1]
    at_zero = log_joint(np.zeros((1, D)), log_prior, chance)
    slopes = log_joint(np.eye(D), log_prior, chance) - at_zero
    return np.vstack([at_zero, slopes]).T

rng = np.random.default_rng(6)
models = [
    (np.log(rng.dirichlet(np.ones(K))), rng.uniform(0.1, 0.9, size=(K, D)))
    for K, D in ((2, 3), (3, 5), (10, 4))
]
grade(as_linear, linear_by_probing, models)

# %% [markdown]
# ```{solution-start} bayes-linear
# :class: dropdown
# ```
# Collect what multiplies $x_j$: $w_{cj} = \log \theta_{cj} - \log (1 - \theta_{cj})$, the log odds of the pixel. The
# rest is $b_c = \log \pi_c + \sum_j \log (1 - \theta_{cj})$, the score of an all-black picture. Forgetting the sum
# in $b_c$ favours classes with much ink.

# %% jupyter={"source_hidden": true}
def as_linear_solution(log_prior, chance):
    b = log_prior + np.log(1 - chance).sum(1)
    return np.column_stack([b, np.log(chance / (1 - chance))])

def without_black(log_prior, chance):
    return np.column_stack([log_prior, np.log(chance / (1 - chance))])

assert grade(as_linear_solution, linear_by_probing, models)
assert not grade(without_black, linear_by_probing, models)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★★ Experiment: half the picture is missing
# :label: bayes-missing
# Some pixels are unknown (`nan`). Show that in the naive model the exact posterior, which sums over all ways to fill
# them, simply leaves their factors out. Write `log_joint_missing(x, log_prior, chance)` for one picture `(D,)`. Then
# blank random pixels of the digits: how many may be lost before the accuracy falls below 0.8?
# ```

# %%
def log_joint_missing(x, log_prior, chance):  # (D,) -> (K,)
    raise NotImplementedError('your turn')

# %%
def missing_by_filling(x, log_prior, chance):
    gaps = np.flatnonzero(np.isnan(x))
    filled = []
    for values in product([0.0, 1.0], repeat=len(gaps)):
        x[gaps] = values
        filled.append(log_joint(x[None], log_prior, chance)[0])
    return logsumexp(filled, axis=0)

rng = np.random.default_rng(7)
partial = [
    (np.array(x), np.log(rng.dirichlet([2, 3, 4])),
     rng.uniform(0.1, 0.9, size=(3, 4)))
    for x in ([1, np.nan, 0, np.nan], [np.nan, 0, 1, 1.0], [0, 1, 1, 0.0])
]
grade(log_joint_missing, missing_by_filling, partial)

# %% [markdown]
# ```{solution-start} bayes-missing
# :class: dropdown
# ```
# Summing $\theta^{x} (1 - \theta)^{1 - x}$ over $x = 0, 1$ gives $(1 - \theta) + \theta = 1$: the sum over the gaps
# factorises, and every factor of a gap is 1. Setting unknown pixels to black, instead, treats ignorance as evidence. A
# classifier that models only $P(c \mid \mathbf{x})$ has no such way out: it does not know what pixels look like. About two
# pixels in five may be lost before the accuracy falls below 0.8.

# %% jupyter={"source_hidden": true}
def log_joint_missing_solution(x, log_prior, chance):
    known = ~np.isnan(x)
    return log_joint(x[None, known], log_prior, chance[:, known])[0]

def black_for_unknown(x, log_prior, chance):
    return log_joint(np.nan_to_num(x)[None], log_prior, chance)[0]

assert grade(log_joint_missing_solution, missing_by_filling, partial)
assert not grade(black_for_unknown, missing_by_filling, partial)

some = np.random.default_rng(8).permutation(len(y))
model, rest = fit(X[some[:900]], y[some[:900]]), some[900:]
for lost in (0.25, 0.4, 0.45, 0.5, 0.75):
    blank = np.random.default_rng(9).random((len(rest), 64)) < lost
    holed = np.where(blank, np.nan, X[rest])
    hits = [
        np.mean([f(x, *model).argmax() == c
                 for x, c in zip(holed, y[rest], strict=True)])
        for f in (log_joint_missing_solution, black_for_unknown)
    ]
    print(f'{lost:.0%} lost: left out {hits[0]:.2f}, black {hits[1]:.2f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def is_unbeaten(seed, by_posterior):
    n = np.random.default_rng(seed).integers(1, 20, size=(3, 4))  # (c, x)
    score = n / n.sum(0) if by_posterior else n / n.sum(1)[:, None]
    hits = n[score.argmax(0), np.arange(4)].sum()
    rivals = product(range(3), repeat=4)
    return all(hits >= n[g, np.arange(4)].sum() for g in rivals)

verify(
    'no classifier is right more often than the largest posterior',
    lambda seed: is_unbeaten(seed, by_posterior=True),
    slip=(
        'forgets how common each class is',
        lambda seed: is_unbeaten(seed, by_posterior=False),
    ),
    seed=seeds(),
)

def only_white(X, log_prior, chance):
    return log_prior + X @ np.log(chance).T

def as_sklearn(seed, ours):
    some = np.random.default_rng(seed).permutation(len(y))[:300]
    theirs = BernoulliNB(alpha=1).fit(X[some], y[some])
    want = theirs.predict_joint_log_proba(X)
    return close(ours(X, *fit(X[some], y[some])), want, rtol=1e-11)

verify(
    'naive Bayes from scratch is that of scikit-learn',
    lambda seed: as_sklearn(seed, log_joint),
    slip=(
        'lets only white pixels speak',
        lambda seed: as_sklearn(seed, only_white),
    ),
    seed=seeds(),
    tries=10,
)

def copies(m, seed, prior_apart):
    some = np.random.default_rng(seed).permutation(len(y))[:200]
    log_prior, chance = fit(X[some], y[some])
    repeated = np.tile(X[some], (1, m))  # (200, 64 m)
    want = log_joint(repeated, *fit(repeated, y[some]))
    want = want - logsumexp(want, axis=1, keepdims=True)
    L = log_joint(X[some], log_prior, chance)
    return close(with_power(L, prior_apart * log_prior, m), want)

verify(
    'm copies of each pixel raise the likelihood to the power m',
    lambda m, seed: copies(m, seed, prior_apart=1),
    slip=(
        'raises the prior to the power m, too',
        lambda m, seed: copies(m, seed, prior_apart=0),
    ),
    m=[2, 3, 5],
    seed=seeds(),
    tries=10,
)

# %% [markdown]
# ## Summary
#
# Bayes' theorem turns $P(B \mid A)$ into $P(A \mid B)$, and the price is the base rate: posterior odds are prior odds
# times the likelihood ratio. Evidence accumulates by adding logarithms, at the speed of a Kullback–Leibler divergence,
# but only as far as it is fresh given the hypothesis and all that came before. Naive Bayes pretends that everything is
# fresh, which makes it quick, robust to gaps and a decent classifier, and overconfident until its likelihood is tempered.
#
# **Further reading.** {cite}`bayes1763essay` is short and still charming; {cite}`gigerenzer1995improve` shows that
# people who fail with percentages succeed with counts; {cite}`bishop2006pattern` and {cite}`murphy2022probabilistic`
# build machine learning on the theorem; {cite}`ng2001discriminative` compares naive Bayes with logistic regression.
