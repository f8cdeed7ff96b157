# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Softmax
#
# - **Question.** A model gives every label a score. Which probabilities should the scores become, and how are they
#   computed, slopes included, on a machine whose exponential function gives up at 710?
# - **You need** [Jacobians](../calculus/jacobians.ipynb), the word *convex*
#   ([Convex functions](../optimization/convex_functions.ipynb)), and Gibbs' inequality:
#   $-\sum_j p_j \log q_j$ is smallest for $\mathbf{q} = \mathbf{p}$.
# - **You build** softmax and its logarithm for any finite scores, a version that reads its input in pieces, a derivative
#   with more correct digits than the library's, and honest confidences for a digit reader.
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
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import reduce

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import brentq, minimize
from scipy.special import entr, expit, logsumexp, ndtr, softmax
from sklearn.linear_model import LogisticRegression

from nbutils.cases import integers, scalars, seeds, vectors
from nbutils.checks import close, erratum, grade, holds, verify
from nbutils.data import digits
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')
torch.set_default_dtype(torch.float64)

# %% [markdown]
# ## From scores to probabilities
#
# A classifier with $q$ labels ends in $q$ scores $\mathbf{o}$, the *logits*: any real numbers, a higher one for a more
# likely label. They must become probabilities. Dividing by the sum fails, since scores may be negative. What do we want?
# Let us ask for little: that the *odds* between two labels depend on how far their scores lie apart, and on nothing
# else. That leaves no choice.
#
# ````{prf:theorem} Only the exponential will do
# :label: thm-softmax-only
# Let $q \ge 3$, and let $\mathbf{p}(\mathbf{o})$ be positive probabilities with $p_i / p_j = g(o_i - o_j)$ for all
# $i \ne j$ and all scores, with one strictly increasing function $g$. Then there is a $\beta > 0$ with
# $p_i = e^{\beta o_i} / \sum_j e^{\beta o_j}$.
# ````
#
# ````{prf:proof}
# Compare two labels by way of a third: $\frac{p_i}{p_k} = \frac{p_i}{p_j} \cdot \frac{p_j}{p_k}$ says
# $g(s + t) = g(s) \, g(t)$ for $s = o_i - o_j$ and $t = o_j - o_k$, which are arbitrary. So $\log g$ turns sums into
# sums. It is then linear on the rational numbers, $\log g(r) = r \log g(1)$, and being monotone it has no room for
# anything else between them: $g(t) = e^{\beta t}$, with $\beta > 0$ as $g$ increases. So all
# $p_i e^{-\beta o_i}$ are equal, and the sum of the $p_i$ is one.
# ````
#
# (This is a form of Luce's theory of choice {cite}`luce1959individual`.) Two labels have no third. There any increasing
# positive $g$ with $g(t) \, g(-t) = 1$ serves, for example that of *probit* regression, where $p_1 = \Phi(o_1 - o_2)$ with
# the normal distribution function $\Phi$. It is the control:

# %%
def exponential_odds(t):
    return np.exp(t)

def probit_odds(t):
    return ndtr(t) / ndtr(-t)

def compose(g, s, t):
    return close(g(s + t), g(s) * g(t)) and close(g(t) * g(-t), 1)

verify(
    'odds over a third label agree with direct ones',
    lambda s, t: compose(exponential_odds, s, t),
    control=lambda s, t: compose(probit_odds, s, t),
    s=scalars(-3, 3), t=scalars(-3, 3),
)

# %% [markdown]
# The factor $\beta$ is a matter of units, to which we return; with $\beta = 1$ the map is called *softmax*:
#
# ```{math}
# :label: dl.softmax.softmax
# \hat{y}_i = \frac{\exp(o_i)}{\sum_j \exp(o_j)}
# ```
#
# Its values are positive, sum to one, and stand in the order of the scores. The control exponentiates the sum
# where it should sum the exponentials.

# %%
def by_definition(o):
    return np.exp(o) / np.exp(o).sum()

def of_the_sum(o):
    return np.exp(o) / np.exp(o.sum())

def is_softmax(f, o, c):
    p = f(o)
    wider = abs(o[:, None] - o) > 1e-9  # pairs that are no ties
    order = np.sign(o[:, None] - o) == np.sign(p[:, None] - p)
    return (close(p, torch.softmax(torch.tensor(o), 0)) and (p > 0).all()
            and close(p.sum(), 1) and order[wider].all()
            and close(f(o + c), p))

holds(
    'dl.softmax.softmax',
    lambda o, c: is_softmax(by_definition, o, c),
    control=lambda o, c: is_softmax(of_the_sum, o, c),
    o=vectors(4), c=scalars(-300, 300),
)

# %% [markdown]
# The second set of notes writes the vector out. Its first component is right, once the sum is told to run from 1 to $n$
# (the control lets it run over the *other* entries, which gives the odds, not the probability):
#
# ```{math}
# :label: la.softmax.first-component
# \mathrm{Softmax}(\mathbf{x})_1 = \frac{\exp(x_1)}{\sum_{i=1}^{n} \exp(x_i)}
# ```

# %%
holds(
    'la.softmax.first-component',
    lambda x: close(np.exp(x[0]) / np.exp(x).sum(), softmax(x)[0]),
    control=lambda x: close(np.exp(x[0]) / np.exp(x[1:]).sum(), softmax(x)[0]),
    x=vectors(4),
)

# %% [markdown]
# :::{admonition} Erratum
# :class: warning
# As printed, the last component is $\mathrm{Softmax}(\mathbf{x})_n = \exp(x_n) \big/ \sum_i^n \exp(x_n)$. The summand does
# not depend on $i$, so the sum is $n \exp(x_n)$ and the fraction is $1/n$ for every $\mathbf{x}$. The slip is easy to
# make: one writes the first entry, copies it to the end, and turns each 1 into an $n$; but the index under the sum
# is *bound*, it belongs to the sum alone, and must not be touched when the numerator changes. It should read
#
# ```{math}
# :label: la.softmax.last-component
# \mathrm{Softmax}(\mathbf{x})_n = \frac{\exp(x_n)}{\sum_{i=1}^{n} \exp(x_i)} .
# ```
# :::

# %%
def last_component(x, summand):
    n = len(x)
    return np.exp(x[-1]) / sum(np.exp(summand(x, i)) for i in range(n))

erratum(
    'la.softmax.last-component',
    printed=lambda x: close(
        last_component(x, lambda x, i: x[-1]), softmax(x)[-1]),
    corrected=lambda x: close(
        last_component(x, lambda x, i: x[i]), softmax(x)[-1]),
    x=vectors(3),
)

# %% [markdown]
# What can be read back? Odds depend on differences, so a common shift of all scores is invisible; and nothing else is:
#
# ````{prf:theorem} Scores are known up to a constant
# :label: thm-softmax-shift
# $\operatorname{softmax}(\mathbf{o}) = \operatorname{softmax}(\mathbf{o}')$ if and only if
# $\mathbf{o}' = \mathbf{o} + c \mathbf{1}$ for some number $c$.
# ````
#
# ````{prf:proof}
# A shift multiplies numerator and denominator by $e^c$. Conversely $\log \hat{y}_i = o_i - \log \sum_j e^{o_j}$: the
# scores *are* the log-probabilities plus one number for all. If both vectors give the same probabilities, they differ
# by the difference of these two numbers.
# ````
#
# So $q$ scores carry $q - 1$ numbers. With two labels the one that counts is $o_1 - o_2$, and
# $\hat{y}_1 = 1 / (1 + e^{-(o_1 - o_2)})$ is its sigmoid, as in [Logistic regression](logistic_regression.ipynb). For a
# linear model $\mathbf{o} = \mathbf{W}^\top \mathbf{x}$ with a column of weights for each label it follows that one and
# the same vector may be added to all columns: each example's scores shift by one number. *Weights of a softmax model
# are not identifiable*, only differences of columns are, and "the weight of this pixel for the digit 3 is positive"
# says nothing by itself. A penalty decides: $\sum_j (w_j + c)^2$ is smallest for $c = -\bar w$, so a penalized fit has
# rows of $\mathbf{W}$ that sum to zero. Multiplying the scores, on the other hand, does change the answer, by the factor
# $\beta$ of {prf:ref}`thm-softmax-only`.

# %%
def same_answer(seed, change):
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(5, 3)), rng.normal(size=(3, 4))
    P = softmax(X @ W, axis=1)
    return close(softmax(X @ change(W, rng.normal(size=3)), axis=1), P)

verify(
    'adding one vector to all columns of W changes no probability',
    lambda seed: same_answer(seed, lambda W, w: W + w[:, None]),
    control=lambda seed: same_answer(seed, lambda W, w: w[:, None] * W),
    seed=seeds(),
)
verify(
    'with two labels softmax is the sigmoid of the difference',
    lambda o: close(softmax(o)[0], expit(o[0] - o[1])),
    control=lambda o: close(softmax(o)[0], expit(o[0])), o=vectors(2),
)

# %% [markdown]
# Three probabilities are a point in a triangle. Where $o_i - o_j$ keeps one value, so do the odds $p_i : p_j$, and
# constant odds of two entries are a straight line through the corner of the third. So the net below, on which one of the
# differences is a whole number from $-3$ to $3$, is straight; it crowds towards the edges, which no scores reach.

# %%
t = np.linspace(-6, 6, 121)
alone = softmax(np.stack([t, 0 * t, 0 * t], 1), axis=1)  # (121, 3)
corners = np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])

def net_line(i, step):  # o_i - o_(i+1) = step, the third score varies
    o = np.zeros((121, 3))
    o[:, i], o[:, i - 1] = step, 2 * t
    return softmax(o, axis=1)

net = {(i, step): net_line(i, step) for i in range(3)
       for step in range(-3, 4)}
for (i, step), p in net.items():
    third = np.eye(3)[i - 1]
    assert close(p[:, i] / p[:, (i + 1) % 3], np.full(121, np.exp(step)))
    bent = np.linalg.det(np.stack([p[30], p[90], third]))
    assert abs(bent) < 1e-12  # on a line with the corner

# %% mystnb={"figure": {"caption": "Left: a higher score takes equally from two equal others. Right: a fixed difference of two scores is a straight line through a corner; whole steps crowd toward the edges."}, "image": {"alt": "Left: the softmax of o, 0, 0 against o; the first entry rises in an S from zero to one through one third at o = 0, the two others fall together. Right: a triangle with three families of straight lines, one through each corner, dense near the edges."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
left.plot(t, alone[:, 0])
left.plot(t, alone[:, 1])
left.text(2.2, 0.7, 'first', color='C0')
left.text(-6, 0.54, 'each of the others', color='C1')
left.axhline(1 / 3, color=GREY, ls=':', lw=0.9)
left.set(xlabel='score o', ylabel='probability', title='softmax(o, 0, 0)')
for (i, step), p in net.items():
    right.plot(*(p @ corners).T, color=f'C{i}', lw=0.9)
right.fill(*corners.T, fill=False, ec=GREY)
for k, (x, y) in enumerate(corners):
    right.text(x, y + (0.03 if k == 2 else -0.09), f'p{"₁₂₃"[k]} = 1',
               ha='center')
right.set(aspect='equal', ylim=(-0.1, 0.97))
right.axis('off');

# %% [markdown]
# ```{exercise} ★ Back to the scores
# :label: softmax-centred
# Write `centred_logits(p)`: the scores that sum to zero and whose softmax is the positive vector `p`.
# ```

# %%
def centred_logits(p):
    raise NotImplementedError('your turn')

# %%
def by_least_norm(p):  # of all scores with these differences the shortest
    D = np.diff(np.eye(len(p)), axis=0)
    return np.linalg.lstsq(D, D @ np.log(p), rcond=None)[0]

logit_cases = [(np.array(p),) for p in (
    [0.5, 0.5], [0.7, 0.2, 0.1], [0.9, 0.05, 0.03, 0.02])]
grade(centred_logits, by_least_norm, logit_cases)

# %% [markdown]
# ```{solution-start} softmax-centred
# :class: dropdown
# ```
# By {prf:ref}`thm-softmax-shift` the answer is $\log \mathbf{p}$ plus a constant, namely minus its mean: the logarithm
# of $\mathbf{p}$ over its *geometric* mean. Dividing by the arithmetic mean gives scores with the right softmax and the
# wrong sum.

# %% jupyter={"source_hidden": true}
def centred_logits_solution(p):
    return np.log(p) - np.log(p).mean()

def over_the_mean(p):
    return np.log(p / p.mean())

assert grade(centred_logits_solution, by_least_norm, logit_cases)
assert not grade(over_the_mean, by_least_norm, logit_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Temperature
#
# Physics writes $\beta = 1/\tau$ and calls $\tau$ the *temperature*: $\operatorname{softmax}(\mathbf{x} / \tau)$ has the
# odds $e^{(x_i - x_j)/\tau}$. Cooling ($\beta \to \infty$) freezes the choice at the largest score. The notes say so in
# words, softmax is a smooth approximation of "pick the largest"; the promise is kept in the limit, and only where
# the largest is unique:
#
# ```{math}
# :label: la.softmax.approximates-argmax
# \operatorname{softmax}(\beta \mathbf{x}) \ \longrightarrow \ \operatorname{onehot}\big(\arg\max(\mathbf{x})\big)
# \qquad (\beta \to \infty)
# ```
#
# How fast? Let $x_m$ be the largest score and $\delta > 0$ its lead over the second. The distance (sum of absolute
# differences) is $(1 - p_m) + \sum_{i \ne m} p_i = 2 \sum_{i \ne m} p_i$. Each of these $p_i$ is
# $p_m e^{-\beta (x_m - x_i)} \le e^{-\beta \delta}$, and the second largest is $p_m e^{-\beta \delta}$ with
# $p_m \ge 1/n$. Hence
#
# ```{math}
# :label: softmax-rate
# \tfrac2n \, e^{-\beta \delta} \ \le \ \big\| \operatorname{softmax}(\beta \mathbf{x}) - \mathbf{e}_m \big\|_1
# \ \le \ 2 (n - 1) \, e^{-\beta \delta} .
# ```
#
# The lead decides, not the size of the scores; the control takes $x_m$ for $\delta$. With a lead of 0.01 softmax at
# $\beta = 1$ is nowhere near a choice, and for a tie it never gets there, but shares the probability evenly.

# %%
def distance_to_choice(p):
    return 2 * np.delete(p, p.argmax()).sum()

def freezes(x, beta, lead):
    n, d = len(x), np.exp(-beta * lead(x))
    distance = distance_to_choice(softmax(beta * x))
    low, high = 2 / n * d, 2 * (n - 1) * d
    return low * (1 - 1e-12) <= distance <= high * (1 + 1e-12)

def gap(x):
    return np.sort(x)[-1] - np.sort(x)[-2]

holds(
    'la.softmax.approximates-argmax',
    lambda x, beta: freezes(x, beta, gap),
    control=lambda x, beta: freezes(x, beta, np.max),
    x=vectors(4).filter(lambda x: gap(x) > 0), beta=[1, 3, 10, 30],
)
print('lead 0.01, beta 1:  ', softmax([0.01, 0]).round(4))
print('lead 0.01, beta 500:', softmax([5, 0]).round(4))
print('tie, beta 500:      ', softmax([500, 500, 0]).round(4))

# %% [markdown]
# Heating ($\beta \to 0$) leads to indifference. On the way, everything follows from one derivative. With the mean
# score $\mu = \sum_j p_j x_j$ of a random label, differentiate $\log p_i = \beta x_i - \log \sum_j e^{\beta x_j}$:
#
# ```{math}
# :label: softmax-beta
# \begin{gathered}
# \frac{d p_i}{d \beta} = p_i \, (x_i - \mu), \qquad
# \frac{d \mu}{d \beta} = \sum_i p_i \, (x_i - \mu) \, x_i = \operatorname{Var}(x) \ge 0, \\
# \frac{d H}{d \beta} = -\beta \operatorname{Var}(x)
# \end{gathered}
# ```
#
# for the entropy $H = -\sum_i p_i \log p_i = \log \sum_j e^{\beta x_j} - \beta \mu$, whose derivative is
# $\mu - \mu - \beta \frac{d\mu}{d\beta}$. Labels above the mean gain and those below it lose. While $\beta$ runs from 0 to
# infinity, the mean score rises from the plain average to the maximum, and the entropy falls from $\log n$ to zero (for
# a tie, to the logarithm of the number of winners).
#
# At $\beta = 0$ the derivative is $(x_i - \bar x) / n$. The remainder of Taylor's formula is $\beta^2/2$ times a
# second derivative $p_i \big( (x_i - \mu)^2 - \operatorname{Var}(x) \big)$, which is at most $R^2$ in size if all
# scores lie within a range $R$. So $\operatorname{softmax}(\beta \mathbf{x})_i = \frac1n + \frac{\beta}{n} (x_i - \bar x)$
# up to $\frac12 \beta^2 R^2$. (The control forgets to centre.)

# %%
def near_uniform(x, beta, centre):
    line = (1 + beta * (x - centre)) / len(x)
    error = abs(softmax(beta * x) - line).max()
    return error <= (beta * np.ptp(x)) ** 2 / 2 + 1e-15

verify(
    'a hot softmax is uniform, plus beta times the centred scores',
    lambda x, beta: near_uniform(x, beta, x.mean()),
    control=lambda x, beta: near_uniform(x, beta, 0),
    x=vectors(5, -3, 3), beta=[1e-4, 0.01, 0.1, 1],
)

# %%
def beta_slopes(x, beta, factor):  # of p, mean score, entropy
    p = softmax(beta * x)
    mean = p @ x
    var = p @ (x - mean) ** 2
    return np.array([*(p * (x - mean)), var, -factor * var])

def by_differences(x, beta, h=1e-5):
    def record(b):
        p = softmax(b * x)
        return np.array([*p, p @ x, entr(p).sum()])
    return (record(beta + h) - record(beta - h)) / (2 * h)

verify(
    'the rates of probabilities, mean score and entropy',
    lambda x, beta: close(
        beta_slopes(x, beta, beta), by_differences(x, beta), atol=1e-7),
    control=lambda x, beta: close(
        beta_slopes(x, beta, 1), by_differences(x, beta), atol=1e-7),
    x=vectors(4, -3, 3), beta=scalars(-2, 2),
)

# %%
x = np.array([1.0, 0.6, 0.0, -1.0])
bars = {tau: softmax(x / tau) for tau in (0.2, 1, 5)}
assert bars[0.2].max() > bars[1].max() > bars[5].max()
angles = np.radians(np.arange(0, 360, 20))
plane = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
rays = np.stack([np.cos(angles), np.sin(angles)], 1) @ plane  # (18, 3)
strength = np.geomspace(0.01, 100, 400)
paths = softmax(strength[:, None, None] * rays, axis=2)  # (400, 18, 3)
triangle = np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])
assert close(paths[-1], np.eye(3)[rays.argmax(1)], atol=1e-9)

# %% mystnb={"figure": {"caption": "Cold makes softmax choose the largest score, hot makes it indifferent: of four labels the first has more than 0.8 at $\\tau = 0.2$ and less than 0.3 at $\\tau = 5$."}, "image": {"alt": "Left: bars of the softmax of four scores at temperatures 0.2, 1 and 5: nearly all on the first, a staircase, nearly equal. Right: a triangle with eighteen curves that start in its centre in all directions and bend towards the three corners."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
for k, (tau, p) in enumerate(bars.items()):
    left.bar(np.arange(4) + 0.27 * (k - 1), p, 0.25, label=f'τ = {tau}')
left.set(xticks=range(4), xticklabels=['1', '0.6', '0', '−1'],
         xlabel='score', ylabel='probability')
left.legend()
right.fill(*triangle.T, fill=False, ec=GREY)
for k in range(18):
    right.plot(*(paths[:, k] @ triangle).T, color=f'C{rays[k].argmax()}',
               lw=1)
right.set(aspect='equal', title='from hot (centre) to cold (corners)')
right.axis('off');

# %% [markdown]
# **How sure may a digit reader be?** Take a linear model of digits that was trained on only 600 pictures with hardly
# any penalty. It knows its training set by heart, and its scores have grown large: on new pictures its average
# confidence (the largest probability) is higher than the share that it gets right. *Temperature scaling*
# {cite}`guo2017calibration` mends this with a single number. Divide all scores by a $\tau$ that makes the mean
# cross-entropy on 400 further pictures smallest. As a function of $\beta = 1/\tau$ this loss,
# $\frac1n \sum_i \big( \log \sum_j e^{\beta o_{ij}} - \beta \, o_{i y_i} \big)$, has the derivative
# $\frac1n \sum_i (\mu_i - o_{i y_i})$, which by {eq}`softmax-beta` increases: so the loss is convex and the root of the
# derivative unique. There the score that the model *expects* equals, on average, the score of the truth. The order of
# scores stays, so no answer changes.

# %%
def expected_minus_true(beta, o, y):
    mean = (softmax(beta * o, axis=1) * o).sum(1)
    return (mean - o[np.arange(len(y)), y]).mean()

def loss(beta, o, y):
    true = beta * o[np.arange(len(y)), y]
    return (logsumexp(beta * o, axis=1) - true).mean()

def split_scores(seed):  # -> weights, scores and labels, two parts
    X, y, _ = digits()
    order = np.random.default_rng(seed).permutation(len(y))
    train, tune, test = np.split(order, [600, 1000])
    model = LogisticRegression(C=1000, solver='newton-cholesky', tol=1e-8)
    model.fit(X[train], y[train])
    score = model.decision_function
    assert (score(X[train]).argmax(1) == y[train]).all()  # by heart
    return model.coef_, [(score(X[part]), y[part]) for part in (tune, test)]

# %%
splits = [split_scores(seed) for seed in range(5)]
rows = []
for weights, (tune, (o, y)) in splits:
    beta = brentq(expected_minus_true, 1e-3, 10, args=tune)
    around = [loss(beta * f, *tune) for f in (0.99, 1, 1.01)]
    assert min(around) == around[1]
    confidence = [softmax(b * o, axis=1).max(1).mean() for b in (1, beta)]
    rows.append([1 / beta, loss(1, o, y), loss(beta, o, y),
                 (o.argmax(1) == y).mean(), *confidence])
rows = np.array(rows)
names = ('temperature', 'loss as trained', 'loss scaled', 'share right',
         'confidence as trained', 'confidence scaled')
for name, column in zip(names, rows.T, strict=True):
    print(f'{name:22} {column.mean():.3f} ± {column.std(ddof=1):.4f}')
gain = rows[:, 1] - rows[:, 2]
print(f'scaled is better by {gain.min():.3f} to {gain.max():.3f}')
centred = [abs(w.sum(0)).max() < 1e-6 * abs(w).max() for w, _ in splits]
print('weights of each pixel sum to zero:', all(centred))

# %% [markdown]
# (Whoever knows nothing has a loss of $\log 10 = 2.30$ and a confidence of 0.1.) The last line agrees with what a penalty,
# however tiny, demands: among all weights with the same answers, those whose rows sum to zero. (Descent without one, begun
# at zero, has them too: each row of its gradient sums to zero.) Each curve below is one split, each dot the temperature
# found on *other* pictures.

# %%
taus = np.geomspace(0.5, 5, 60)
curves = [[loss(1 / tau, *test) for tau in taus] for _, (_, test) in splits]

# %% mystnb={"figure": {"caption": "A temperature found on other pictures (dots), here between 1.2 and 2, lowers the loss on new digits in each of five splits."}, "image": {"alt": "Five curves of the loss on new digits against the temperature on a logarithmic axis, each a valley with its bottom a little below two. The dots, at temperatures between 1.2 and 2, lie lower than the curves at temperature one."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.7))
for k, curve in enumerate(curves):
    ax.plot(taus, curve, color=f'C{k}', lw=1.2)
    ax.plot(rows[k, 0], rows[k, 2], 'o', color=f'C{k}')
ax.axvline(1, color=GREY, ls=':', lw=0.9)
ax.text(0.98, 0.36, 'as trained', ha='right')
ax.set(xscale='log', xlabel='temperature τ', ylabel='loss on new digits',
       ylim=(0.1, 0.4), xticks=[0.5, 1, 2, 5],
       xticklabels=['0.5', '1', '2', '5'])
ax.minorticks_off();

# %% [markdown]
# ## Safe at any score
#
# As it stands, {eq}`dl.softmax.softmax` breaks on a computer. A float has a largest value, and its logarithm is not
# large:

# %%
for dtype in (torch.float16, torch.float32, torch.float64):
    limit = np.log(torch.finfo(dtype).max)
    print(f'{str(dtype)[6:]}: exp overflows above {limit:.1f}')

def naive(o):  # (..., q) -> (..., q)
    e = o.exp()
    return e / e.sum(-1, keepdim=True)

print('naive softmax of (1000, 1001):  ', naive(torch.tensor([1e3, 1001])))
print('naive softmax of (-1000, -1001):', naive(torch.tensor([-1e3, -1001])))

# %% [markdown]
# The remedy is a freedom that we have met: a common shift of the scores changes nothing. Shift them by their maximum $m$.
# With $z_i = o_i - m \le 0$ no exponential exceeds 1, the sum lies between 1 and $q$, and what underflows is beneath
# notice. A shift that does not follow the maximum would not do: subtract the mean, and $(3000, 0, 0)$ overflows still. For
# the logarithm of a probability take the logarithm in the formula, not of the result:
#
# ```{math}
# :label: softmax-log
# \log \hat{y}_i = z_i - \log \sum_j e^{z_j}, \qquad z_j = o_j - \max_k o_k
# ```
#
# because $\hat{y}_i$ itself underflows to 0 once $z_i < -745$, and $\log 0 = -\infty$ is no use as a loss.

# %%
def shifted(o):
    return o - o.amax(-1, keepdim=True).detach()

def safe_softmax(o):  # (..., q) -> (..., q)
    e = shifted(o).exp()
    return e / e.sum(-1, keepdim=True)

def log_softmax(o):  # (..., q) -> (..., q)
    z = shifted(o)
    return z - z.exp().sum(-1, keepdim=True).log()

# %% [markdown]
# What is left of the error? Let $u = 2^{-53}$ be the rounding unit. The subtraction gives $z_i (1 + \varepsilon)$ with
# $|\varepsilon| \le u$, which multiplies $e^{z_i}$ by $e^{z_i \varepsilon} \approx 1 + z_i \varepsilon$, so by at most
# $|z_i| u$ in relative terms; a library's exponential adds $2u$. In the sum the errors are weighted:
# $\sum_j e^{z_j} |z_j|\, u \le \frac{q - 1}{e} u$, as $t e^{-t} \le 1/e$ and one of the $z_j$ is zero; the additions cost
# $(q - 1) u$, and the sum is at least 1. With the final division (or logarithm and subtraction) all this stays below
#
# ```{math}
# :label: softmax-error
# \big(2 |z_i| + 3 q + 4\big)\, u ,
# ```
#
# *relative* to $\hat{y}_i$ for softmax, and *absolute* for its logarithm: two forms of the same statement, as
# $d \log p = dp / p$. Far from the maximum, digits are lost in proportion to $|z_i|$, and nobody is to blame: the
# exponential magnifies the rounding of its argument.
#
# A bound wants a judge that does not use the same trick. Python's `decimal` numbers have exponents up to $10^{18}$, so
# there the definition can be evaluated literally, with 200 digits. The scores of the check spread over $\pm 1100$
# (multiples of 1.1, which use all digits) and are moved by up to $10^{12}$ besides; below the smallest normal number,
# multiples of $2^{-1074}$ are all there is. The controls are the two habits of careless authors: to shift by the mean, and
# to take the logarithm afterwards.

# %%
wide = Context(prec=200, Emax=MAX_EMAX, Emin=MIN_EMIN)

def exact_softmax(o):  # tensor (q,) -> list of Decimals, no shift
    with localcontext(wide):
        e = [Decimal(v).exp() for v in o.tolist()]
        total = sum(e)
        return [v / total for v in e]

def exact_log(o):
    with localcontext(wide):
        return torch.tensor([float(p.ln()) for p in exact_softmax(o)])

def bound(o):
    return (2 * shifted(o).abs() + 3 * len(o) + 4) * 2.0**-53

def softmax_within(f, o):
    p = torch.tensor([float(v) for v in exact_softmax(o)])
    return ((f(o) - p).abs() <= bound(o) * p + 2 * 2.0**-1074).all()

def log_within(f, o):
    return ((f(o) - exact_log(o)).abs() <= bound(o)).all()

# %%
def by_the_mean(o):
    e = (o - o.mean()).exp()
    return e / e.sum()

scores = dict(o=vectors(4, -1000, 1000).map(lambda v: torch.tensor(1.1 * v)),
              shift=[0, 300, -5000, 1e6, 1e12], tries=60)
verify(
    'softmax is as accurate as the bound says, for every shift',
    lambda o, shift: softmax_within(safe_softmax, o + shift),
    control=lambda o, shift: softmax_within(by_the_mean, o + shift),
    **scores,
)
verify(
    'so is its logarithm, shifted first',
    lambda o, shift: log_within(log_softmax, o + shift),
    control=lambda o, shift: log_within(
        lambda o: safe_softmax(o).log(), o + shift),
    **scores,
)

# %%
def both(f, o):  # log-probabilities by f, and their slopes
    o = o.clone().requires_grad_()
    value = f(o)
    slope, = torch.autograd.grad(value[..., 1].sum(), o)
    return value.detach(), slope

def log_naive(o):
    return naive(o).log()

def log_safe(o):
    return safe_softmax(o).log()

c = torch.arange(-1000.0, 1001, 20)
level = torch.stack([c, c + 1], -1)  # (101, 2)
window = {f: f(level)[:, 1] for f in (naive, safe_softmax)}
lead = torch.stack([c, 0 * c], -1)
lines = {f: f(lead)[:, 1] for f in (log_naive, log_safe, log_softmax)}
known = window[naive].isfinite()
print(f'in steps of 20 the naive softmax survives '
      f'from {c[known].min():.0f} to {c[known].max():.0f}')
assert close(window[safe_softmax], np.full(101, 1 / (1 + np.exp(-1))))
assert close(lines[log_softmax], -torch.logaddexp(0 * c, c), rtol=1e-14)

# %% mystnb={"figure": {"caption": "Left: taking off the maximum makes softmax safe at every shift $c$; the naive form breaks at both ends. Right: where the probability itself underflows, only log-softmax goes on."}, "image": {"alt": "Left: the second softmax value of c and c + 1 against c. The safe form is a level line at 0.73 from minus 1000 to 1000, the naive one exists only in a window from about minus 740 to 700. Right: the log-probability of a label whose score trails by t. The naive curve ends at 700, the logarithm of the safe softmax at 740, log-softmax goes on."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
for f, name, width, color in ((safe_softmax, 'safe', 7, 'C2'),
                              (naive, 'naive', 2.5, 'C1')):
    left.plot(c, window[f], color=color, lw=width, label=name)
left.set(xlabel='c', ylabel='second probability', title='scores (c, c + 1)',
         ylim=(0.6, 0.85))
left.legend(ncols=2)
for f, name, width, color in (
        (log_softmax, 'log_softmax', 8, 'C2'),
        (log_safe, 'log of the safe softmax', 4, 'C0'),
        (log_naive, 'log of the naive one', 1.5, 'C1')):
    line = np.where(lines[f].isfinite(), lines[f], np.nan)
    right.plot(c, line, lw=width, color=color, label=name)
right.set(xlim=(400, 1000), ylim=(-1050, -400), xlabel='t',
          ylabel='log of the second probability', title='scores (t, 0)')
right.legend(loc='lower left', fontsize=8);

# %% [markdown]
# Where a value is lost, so is its slope, and sometimes the slope alone. From {eq}`softmax-log` (or since the shift is a
# constant that changes nothing, which is why the code detaches it),
#
# ```{math}
# :label: softmax-log-gradient
# \frac{\partial \log \hat{y}_i}{\partial o_j} = \delta_{ij} - \hat{y}_j ,
# ```
#
# harmless numbers between $-1$ and $1$. Automatic differentiation finds them in the form `log_softmax`. In the other two it
# multiplies $1 / \hat{y}_i = \infty$ by $0$, or starts from a `nan`, and returns `nan`, which one step of training spreads
# over all weights. A score of $-\infty$ is legal, it forbids its label; there `log of safe` has the right value for the
# second label, and yet no slope (last row).

# %%
def exact_slope(o):  # of the second log-probability
    with localcontext(wide):
        p = exact_softmax(o)
        return torch.tensor([float((i == 1) - v) for i, v in enumerate(p)])

extremes = {
    'tame': (1, 0.5, -2), 'overflow': (1000, 0, 999),
    'underflow': (-1000, -1001, -1002), 'trailing': (800, 0, 30),
    'huge': (1e15, 1e15 - 1, -1e15), 'forbidden': (float('-inf'), 2, 1),
}
forms = {'naive': log_naive, 'log of safe': log_safe,
         'log_softmax': log_softmax}

# %%
for name, values in extremes.items():
    o = torch.tensor(values, dtype=torch.float64)
    want = exact_slope(o)
    assert close(both(log_softmax, o)[1], want, atol=0, rtol=1e-13)
    library = both(lambda o: o.log_softmax(-1), o)
    assert close(both(log_softmax, o)[0], library[0])
    assert close(library[1], want)
    verdicts = []
    for form, f in forms.items():
        slope = both(f, o)[1]
        said = 'right' if close(slope, want) else 'nan'
        assert said == 'right' or slope.isnan().all()
        verdicts.append(f'{form}: {said:7}')
    print(f'{name:10}', *verdicts)

# %% [markdown]
# **In one pass.** The shift seems to need two readings of the scores, one for the maximum and one for the sum. For
# attention over a long text this is a nuisance: the scores of one query are as many as the words, they come in blocks,
# and one would rather not keep them. What is wanted is the average $\sum_j \hat{y}_j \mathbf{v}_j$ of value vectors.
# Keep three things about the entries read so far, their *state*:
#
# $$
# m = \max_j x_j, \qquad s = \sum_j e^{x_j - m}, \qquad \mathbf{a} = \sum_j e^{x_j - m} \, \mathbf{v}_j .
# $$
#
# The states of two disjoint sets of entries, $(m_1, s_1, \mathbf{a}_1)$ and $(m_2, s_2, \mathbf{a}_2)$, merge into that
# of their union. As $e^{x_j - m} = e^{m_1 - m} e^{x_j - m_1}$ for the entries of the first set,
#
# ```{math}
# :label: softmax-merge
# \begin{gathered}
# m = \max(m_1, m_2), \qquad s = e^{m_1 - m} s_1 + e^{m_2 - m} s_2, \\
# \mathbf{a} = e^{m_1 - m} \mathbf{a}_1 + e^{m_2 - m} \mathbf{a}_2 ,
# \end{gathered}
# ```
#
# and no exponent is positive. (A block of nothing but $-\infty$ has no finite $m$; leave it out.) At the end the answer
# is $\mathbf{a} / s$. Since the merged state depends on the union
# only, the order of merging is free: one entry after the other {cite}`milakov2018online`, blocks on several processors,
# or the blocks of a fast attention kernel that never writes the matrix of scores to memory {cite}`dao2022flashattention`.

# %%
def state(x, v):  # (n, k), (k, d) -> (n,), (n,), (n, d)
    m = x.amax(-1)
    w = (x - m[:, None]).exp()
    return m, w.sum(-1), w @ v

def rescaled(m, part):
    return (part[0] - m).exp()

def merge(left, right, scale=rescaled):
    m = torch.maximum(left[0], right[0])
    a, b = scale(m, left), scale(m, right)
    return (m, a * left[1] + b * right[1],
            a[:, None] * left[2] + b[:, None] * right[2])

def streamed(x, v, width, merge):
    pieces = zip(x.split(width, -1), v.split(width), strict=True)
    m, s, a = reduce(merge, (state(*piece) for piece in pieces))
    return a / s[:, None]

# %% [markdown]
# In the check the last keys are 400 times as long as the first, so that scores run into hundreds and the maximum jumps
# from block to block; PyTorch's attention is the judge. The control adds states without rescaling them, which is right
# as long as the maximum does not move.

# %%
def streams(seed, width, merge):
    g = torch.Generator().manual_seed(seed)
    Q, K = torch.randn(2, 5, 4, generator=g)  # five queries, five keys
    K = torch.cat([K, 20 * K, 400 * K])  # (15, 4)
    V = torch.randn(15, 3, generator=g)
    want = F.scaled_dot_product_attention(Q, K, V, scale=1)
    return close(streamed(Q @ K.T, V, width, merge), want)

verify(
    'a softmax average read in blocks is the whole one',
    lambda seed, width: streams(seed, width, merge),
    control=lambda seed, width: streams(
        seed, width, lambda a, b: merge(
            a, b, lambda m, part: torch.ones_like(m))),
    seed=seeds(), width=integers(1, 15), tries=80,
)

# %% [markdown]
# ```{exercise} ★★★ Entropy in one pass
# :label: softmax-entropy
# How concentrated is an attention row? Its entropy $H = -\sum_j \hat{y}_j \log \hat{y}_j$ tells, and can be streamed,
# too. Let $t = \sum_j (x_j - m) \, e^{x_j - m}$. Express $H$ by $s$ and $t$, find out how $t$ changes when $m$ does, and
# write `streamed_entropy(x)` for a vector `x` that looks at each entry once, in turn, and keeps three numbers.
# ```

# %%
def streamed_entropy(x):
    raise NotImplementedError('your turn')

# %%
def entropy_at_once(x):
    return entr(softmax(x)).sum()

entropy_cases = [(np.array(x),) for x in (
    [0.0, 1.0, 2.0], [3.0, -1.0, 3.5, 0.2], [900.0, 1000.0, 999.0, -1e4],
    [-1000.0, -1001.0, -999.5])]
grade(streamed_entropy, entropy_at_once, entropy_cases)

# %% [markdown]
# ```{solution-start} softmax-entropy
# :class: dropdown
# ```
# With $\log \hat{y}_j = (x_j - m) - \log s$ we have $H = \log s - t / s$. If the maximum rises from $m$ to $m'$, each
# term of $t$ becomes $(x_j - m + m - m') \, e^{x_j - m} e^{m - m'}$, so $t' = e^{m - m'} \big( t + (m - m') \, s \big)$:
# not only the weight changes, but the factor before it as well. Who forgets that gets a plausible number.

# %% jupyter={"source_hidden": true}
def streamed_entropy_solution(x, moved=1):
    m, s, t = x[0], 1.0, 0.0
    for v in x[1:]:
        new = max(m, v)
        t = np.exp(m - new) * (t + moved * (m - new) * s)
        s = np.exp(m - new) * s + np.exp(v - new)
        t += (v - new) * np.exp(v - new)
        m = new
    return np.log(s) - t / s

def weights_alone(x):
    return streamed_entropy_solution(x, moved=0)

assert grade(streamed_entropy_solution, entropy_at_once, entropy_cases)
assert not grade(weights_alone, entropy_at_once, entropy_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The Jacobian
#
# This section continues [Safe at any score](#safe-at-any-score). How do the probabilities $\mathbf{p} =
# \operatorname{softmax}(\mathbf{x})$ answer a push on the scores? Multiply {eq}`softmax-log-gradient` by $p_i$:
#
# ```{math}
# :label: softmax-jacobian
# \frac{\partial p_i}{\partial x_j} = p_i \, (\delta_{ij} - p_j), \qquad
# \mathbf{J} = \operatorname{diag}(\mathbf{p}) - \mathbf{p} \mathbf{p}^\top .
# ```
#
# Raising one score helps its own label by $p_i (1 - p_i)$, the slope of a sigmoid, and takes that from the others in
# proportion to what they have. Softmax is *not* applied entry by entry; the control is what one gets by believing so.

# %%
def jacobian(p):
    return torch.diag(p) - torch.outer(p, p)

def entry_by_entry(p):
    return torch.diag(p * (1 - p))

def is_jacobian(formula, x):
    x, h = torch.tensor(x), 1e-5 * torch.eye(4)
    J = formula(safe_softmax(x))
    central = (safe_softmax(x + h) - safe_softmax(x - h)) / 2e-5
    return (close(J, central.T, atol=1e-9)
            and close(J, torch.func.jacrev(lambda x: x.softmax(0))(x)))

verify(
    'the Jacobian is diag(p) - p pᵀ',
    lambda x: is_jacobian(jacobian, x),
    control=lambda x: is_jacobian(entry_by_entry, x),
    x=vectors(4, -5, 5), tries=30,
)

# %% [markdown]
# ````{prf:theorem} The shape of the Jacobian
# :label: thm-softmax-jacobian
# $\mathbf{J}$ is symmetric and positive semidefinite; $\mathbf{J} \mathbf{v} = \mathbf{0}$ if and only if $\mathbf{v}$ is
# a multiple of $\mathbf{1}$, so its rank is $q - 1$; and its largest eigenvalue obeys
# $\max_i p_i (1 - p_i) \le \lambda_{\max} \le 2 \max_i p_i (1 - p_i)$.
# ````
#
# ````{prf:proof}
# The formula is symmetric, and $\mathbf{v}^\top \mathbf{J} \mathbf{v} = \sum_i p_i v_i^2 - \big( \sum_i p_i v_i
# \big)^2$ is the variance of $v_i$ when label $i$ is drawn with probability $p_i$: never negative, and zero only if all
# $v_i$ are equal, since all $p_i$ are positive. For a positive semidefinite matrix,
# $\mathbf{v}^\top \mathbf{J} \mathbf{v} = 0$ and $\mathbf{J} \mathbf{v} = \mathbf{0}$ mean the same. For the lower bound
# take $\mathbf{v}$ to be a unit vector $\mathbf{e}_i$. For the upper one let $|v_i|$ be the largest entry of an
# eigenvector, and divide row $i$ of $\mathbf{J} \mathbf{v} = \lambda \mathbf{v}$ by it: $\lambda$ is at most the sum of
# the absolute values of the row, $p_i (1 - p_i) + p_i \sum_{j \ne i} p_j = 2 p_i (1 - p_i)$.
# ````
#
# The null vector is the invariance under shifts, seen infinitesimally. The bounds tell how softmax *saturates*: where one
# probability is near 1, $\mathbf{J}$ is near zero, and whatever learns through it stops, sure or mistaken. This is why
# [attention](../attention/multi_head_attention.ipynb) divides its scores by $\sqrt{d}$, and why cross-entropy is taken of
# the logarithm: in {eq}`softmax-log-gradient` the factor $p_i$ is gone.

# %%
def shaped(p, factor):
    lam, most = torch.linalg.eigvalsh(jacobian(p)), (p * (1 - p)).max()
    flat = close(jacobian(p) @ torch.ones(len(p)), torch.zeros(len(p)))
    return (flat and abs(lam[0]) < 1e-14
            and lam[1] >= (1 - 1e-9) * p.min()
            and most * (1 - 1e-12) <= lam[-1]
            and lam[-1] <= factor * most * (1 + 1e-12))

verify(
    'one null vector, the other eigenvalues positive and within bounds',
    lambda x: shaped(safe_softmax(torch.tensor(x)), factor=2),
    control=lambda x: shaped(safe_softmax(torch.tensor(x)), factor=1),
    x=vectors(4, -5, 5), tries=100,
)

# %% [markdown]
# (The second smallest eigenvalue is even at least $\min_i p_i$: on vectors with $\sum_i v_i = 0$ the variance is the
# least of $\sum_i p_i (v_i - c)^2$ over all $c$, hence at least $\min_i p_i \cdot \sum_i (v_i - c)^2 \ge \min_i p_i \,
# \|\mathbf{v}\|^2$.)
#
# Nobody forms this matrix. Backpropagation hands us $\mathbf{g}$, the slopes of a loss with respect to $\mathbf{p}$, and
# wants $\mathbf{J}^\top \mathbf{g}$. Since $\mathbf{J}$ is a diagonal minus one outer product,
#
# ```{math}
# :label: softmax-vjp
# \mathbf{J}^\top \mathbf{g} = \mathbf{p} \odot (\mathbf{g} - \bar g \, \mathbf{1}), \qquad
# \bar g = \mathbf{p}^\top \mathbf{g} ,
# ```
#
# which costs $4 q$ operations in place of $2 q^2$. It has a flaw, however, and PyTorch shares it. If $p_m$ is near 1,
# $\bar g$ is near $g_m$, and $g_m - \bar g$ loses its digits; once $p_m$ *rounds* to 1 the answer for the most
# probable label is zero or noise. The invariance mends the derivative as it mended the value. $\mathbf{J}$ does not see
# a multiple of $\mathbf{1}$, so take $g_m$ off all entries first:
#
# ```{math}
# :label: softmax-vjp-centred
# \mathbf{J}^\top \mathbf{g} = \mathbf{p} \odot (\mathbf{d} - \mathbf{p}^\top \mathbf{d} \, \mathbf{1}), \qquad
# \mathbf{d} = \mathbf{g} - g_m \mathbf{1} .
# ```
#
# Now $d_m = 0$, and the large probability is multiplied by it: the sum is made up of small terms alone. Each entry
# comes out with a small error *relative* to $p_i \big( |d_i| + \sum_j p_j |d_j| \big)$, however small that is.

# %%
def plain_vjp(p, g):  # (..., q) twice -> (..., q)
    return p * (g - (p * g).sum(-1, keepdim=True))

def centred_vjp(p, g):
    top = p.argmax(-1, keepdim=True)
    return plain_vjp(p, g - g.take_along_dim(top, -1))

def exact_vjp(x, g):  # and the size that errors are compared with
    with localcontext(wide):
        p, g = exact_softmax(x), [Decimal(v) for v in g.tolist()]
        mean, m = sum(a * b for a, b in zip(p, g)), p.index(max(p))
        off = sum(a * abs(b - g[m]) for a, b in zip(p, g))
        pairs = [(a * (b - mean), a * (abs(b - g[m]) + off))
                 for a, b in zip(p, g)]
        return torch.tensor([[float(v) for v in pair] for pair in pairs]).T

def digits_kept(vjp, x, g):
    want, size = exact_vjp(x, g)
    return ((vjp(safe_softmax(x), g) - want).abs() <= 1e-12 * size).all()

# %% [markdown]
# The error of the probabilities, {eq}`softmax-error`, is below $10^{-13}$ for the scores of the check, which lie within
# 300 of each other. First the two formulas must agree with automatic differentiation on batches, then comes the judge
# with 200 digits. The control is {eq}`softmax-vjp`.

# %%
g = torch.Generator().manual_seed(0)
x, v = torch.randn(2, 6, 7, generator=g)  # six rows of seven scores
x.requires_grad_()
pulled, = torch.autograd.grad(x.softmax(-1), x, v)
for vjp in (plain_vjp, centred_vjp):
    assert close(vjp(safe_softmax(x), v), pulled)
long, push = 3 * torch.randn(2, 100_000, generator=g)
small = centred_vjp(safe_softmax(long), push)  # J would fill 80 gigabytes
long.requires_grad_()
pulled, = torch.autograd.grad(long.softmax(-1), long, push)
assert close(small, pulled, atol=1e-15)

verify(
    'centring the incoming slopes keeps the digits of the outgoing ones',
    lambda x, g: digits_kept(centred_vjp, x, g),
    control=lambda x, g: digits_kept(plain_vjp, x, g),
    x=vectors(3, -150, 150).map(torch.tensor),
    g=vectors(3).filter(np.ptp).map(torch.tensor), tries=100,
)

# %%
t = torch.arange(1.0, 61)
x = torch.stack([t, 0 * t], -1).requires_grad_()  # (60, 2)
own = torch.tensor([1.0, 0.0]).expand(60, 2)  # picks the first probability
library = torch.autograd.grad(x.softmax(-1), x, own)[0][:, 0]
ours = centred_vjp(safe_softmax(x.detach()), own)[:, 0]
assert close(ours, torch.sigmoid(t) * torch.sigmoid(-t), atol=0, rtol=1e-13)
lost = t[library == 0].min()
print('the library says zero from t =', int(lost))
assert (library[t >= lost] == 0).all()
half = torch.tensor([9, 0], dtype=torch.float16).softmax(-1)
print('in half precision softmax(9, 0) rounds to 1:', bool(half[0] == 1))

# %% mystnb={"figure": {"caption": "From a lead of 37 on the library's slope is zero, as $p_1$ rounds to 1; centring the incoming slopes first keeps the true one."}, "image": {"alt": "The slope of the first softmax value in its own score t, beside a score of zero, on a logarithmic axis. The centred form falls along a straight line to ten to the minus 26 at t = 60. The library's points follow it down to ten to the minus 16 at t = 36 and end there."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.7))
ax.semilogy(t, ours, label='slopes centred first', lw=3)
some = library > 0
ax.semilogy(t[some], library[some], 'C1o', ms=3.5, label='library')
ax.axvline(lost, color=GREY, ls=':', lw=0.9)
ax.text(lost + 0.7, 1e-5, 'zero from here on', va='center')
ax.set(xlabel='lead t of the first score', ylabel='slope p₁(1 − p₁)')
ax.legend(loc='lower left');

# %% [markdown]
# Does it matter? Not for a loss that has large slopes elsewhere. It does for whoever takes logarithms or ratios of
# these slopes afterwards, or trains in half precision, where a lead of 9 already counts as certainty.

# %% [markdown]
# ```{exercise} ★★ How far can a push reach?
# :label: softmax-lipschitz
# Let $\mathbf{x}$ be pushed by $\mathbf{v}$. Write `push_bound(v)`: the smallest number that
# $\big\| \frac{d}{dt} \operatorname{softmax}(\mathbf{x} + t \mathbf{v}) \big\|_1$ stays below or reaches at $t = 0$, for
# all $\mathbf{x}$. Hint: the derivative has entries $p_i (v_i - \bar v)$; which $\mathbf{p}$ makes the mean distance
# $\sum_i p_i |v_i - \bar v|$ of a random entry from its mean largest?
# ```

# %%
def push_bound(v):
    raise NotImplementedError('your turn')

# %%
def by_trying_pairs(v):  # probability w on one entry, 1 - w on another
    w = np.linspace(0, 1, 101)[:, None]
    pairs = [w * np.eye(len(v))[i] + (1 - w) * np.eye(len(v))[j]
             for i in range(len(v)) for j in range(i)]
    p = np.concatenate(pairs)
    return (p * abs(v - (p @ v)[:, None])).sum(1).max()

push_cases = [(np.array(v),) for v in (
    [1.0, 0.0], [3.0, -1.0, 0.5], [2.0, 4.0, 5.0, 2.5])]
grade(push_bound, by_trying_pairs, push_cases)

# %% [markdown]
# ```{solution-start} softmax-lipschitz
# :class: dropdown
# ```
# Let the entries lie in $[a, b]$. The function $|v - \bar v|$ of $v$ is convex, so it lies below its chord over $[a, b]$;
# moving all probability to the two ends, with the same mean, can only raise the sum. With $w$ at $b$ the mean is
# $\bar v = a + w (b - a)$ and the sum is $2 w (1 - w) (b - a) \le (b - a) / 2$, with equality at $w = \frac12$, and softmax
# comes as near to this $\mathbf{p}$ as one likes. So the answer is half the *range* of $\mathbf{v}$. Twice as much is what
# $p_i \le 1$ and $|v_i - \bar v| \le b - a$ give at once.

# %% jupyter={"source_hidden": true}
def push_bound_solution(v):
    return np.ptp(v) / 2

def at_once(v):
    return np.ptp(v)

assert grade(push_bound_solution, by_trying_pairs, push_cases)
assert not grade(at_once, by_trying_pairs, push_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Three ways to the maximum
#
# The Jacobian is symmetric, and a field with symmetric Jacobian is a gradient. Of what? By {eq}`softmax-log`,
# $\log p_i = x_i - \operatorname{LSE}(\mathbf{x})$ with the *log-sum-exp*
# $\operatorname{LSE}(\mathbf{x}) = \log \sum_j e^{x_j}$, the smooth maximum of [Cross-entropy](cross_entropy.ipynb), and
# its derivative in $x_i$ is $e^{x_i} / \sum_j e^{x_j}$:
#
# ```{math}
# :label: softmax-lse
# \nabla \operatorname{LSE}(\mathbf{x}) = \operatorname{softmax}(\mathbf{x}) .
# ```
#
# The maximum of $\mathbf{x}$ has the gradient $\operatorname{onehot}(\arg\max \mathbf{x})$, where it has one (the
# control); the smooth maximum has the smooth version of it.

# %%
def is_slope_of_lse(f, x):
    h = 1e-5 * np.eye(len(x))
    central = (logsumexp(x + h, axis=1) - logsumexp(x - h, axis=1)) / 2e-5
    return close(f(x), central)

verify(
    'softmax is the gradient of log-sum-exp',
    lambda x: is_slope_of_lse(softmax, x),
    control=lambda x: is_slope_of_lse(
        lambda x: np.eye(len(x))[x.argmax()], x),
    x=vectors(4, -5, 5),
)

# %% [markdown]
# Two further stories end at the same pair of functions.
#
# **A bonus for keeping options open.** Choose probabilities $\mathbf{p}$ yourself, and earn the mean score
# $\mathbf{p}^\top \mathbf{x}$. You will put everything on the largest. Now add the entropy $H(\mathbf{p})$ as a bonus.
#
# ````{prf:theorem} Softmax maximizes score plus entropy
# :label: thm-softmax-entropy
# For all probabilities $\mathbf{p}$, $\ \mathbf{p}^\top \mathbf{x} + H(\mathbf{p}) \le \operatorname{LSE}(\mathbf{x})$,
# with equality only for $\mathbf{p} = \operatorname{softmax}(\mathbf{x})$. Hence among all $\mathbf{p}$ with a given mean
# score $E$, strictly between the smallest score and the largest, $\operatorname{softmax}(\beta \mathbf{x})$ has the
# largest entropy, for the one $\beta \in \mathbb{R}$ with which its mean score is $E$.
# ````
#
# ````{prf:proof}
# Write $\mathbf{s} = \operatorname{softmax}(\mathbf{x})$, so that $x_i = \log s_i + \operatorname{LSE}(\mathbf{x})$. Then
#
# $$
# \operatorname{LSE}(\mathbf{x}) - \mathbf{p}^\top \mathbf{x} - H(\mathbf{p}) = \sum_i p_i \log \frac{p_i}{s_i} ,
# $$
#
# the divergence of $\mathbf{p}$ from $\mathbf{s}$, which by Gibbs' inequality ({prf:ref}`thm-gibbs`) is positive unless
# $\mathbf{p} = \mathbf{s}$. For the second part apply this to $\beta \mathbf{x}$: among all $\mathbf{p}$ with
# $\mathbf{p}^\top \mathbf{x} = E$ the term $\beta E$ is a constant, so $H$ alone is largest at
# $\operatorname{softmax}(\beta \mathbf{x})$, if that has mean $E$. One $\beta$ does it: by {eq}`softmax-beta` the mean
# rises strictly, from the smallest score at $-\infty$ to the largest at $\infty$.
# ````
#
# That is why softmax stands under *Optimization* in the second set of notes, and why physics knew it long before, as
# Boltzmann's distribution: of all distributions with a given mean energy, it assumes least {cite}`jaynes1957information`. As
# a statement on conjugate functions the theorem is in [Convex functions](../optimization/convex_functions.ipynb). A solver
# that knows nothing of exponentials finds the same point; the control claims that temperature $\tau$ multiplies the score
# instead of the bonus.

# %%
def by_solver(x, tau):  # the largest p·x + tau H(p)
    q = len(x)
    result = minimize(
        lambda p: -p @ x - tau * entr(p).sum(), np.full(q, 1 / q),
        jac=lambda p: tau * (np.log(p) + 1) - x,
        bounds=[(1e-9, 1)] * q, method='SLSQP', options={'ftol': 1e-14},
        constraints={'type': 'eq', 'fun': lambda p: p.sum() - 1})
    return result.x, -result.fun

def is_best(x, tau, value, best):
    p, most = by_solver(x, tau)
    return close(p, best, atol=1e-5) and close(most, value, atol=1e-9)

verify(
    'score plus tau times entropy is largest at softmax(x / tau)',
    lambda x, tau: is_best(
        x, tau, tau * logsumexp(x / tau), softmax(x / tau)),
    control=lambda x, tau: is_best(
        x, tau, logsumexp(tau * x) / tau, softmax(tau * x)),
    x=vectors(4, -2, 2).filter(np.ptp), tau=[0.5, 1, 2], tries=40,
)

# %% [markdown]
# **A noisy contest.** Let every label add noise of its own to its score, and let the largest sum win. If the noise has
# the distribution function $\Pr(G \le t) = e^{-e^{-t}}$ (*Gumbel*; draw it as $-\log(-\log U)$ with $U$ uniform), the
# largest sum is easy to describe: all must stay below $t$, so
#
# ```{math}
# :label: softmax-gumbel
# \Pr\big( \max_j (x_j + G_j) \le t \big) = \prod_j \exp\big( {-e^{x_j - t}} \big)
# = \exp\big( {-e^{\operatorname{LSE}(\mathbf{x}) - t}} \big) .
# ```
#
# It is a Gumbel variable again, moved by $\operatorname{LSE}(\mathbf{x})$: the smooth maximum is the *expected maximum* of a
# noisy contest, up to the mean $\gamma = 0.577\ldots$ of the noise. And who wins? Raise $x_i$ a little. The maximum rises at
# rate one if $i$ is the winner (ties have probability zero), else at rate zero; on average, with the probability that $i$
# wins. (The difference quotients lie between 0 and 1, so mean and derivative may be exchanged.) But the average maximum is
# $\operatorname{LSE}(\mathbf{x}) + \gamma$, whose slope is softmax:
#
# ```{math}
# :label: softmax-gumbel-winner
# \Pr\big( i = \arg\max_j (x_j + G_j) \big) = \frac{\partial}{\partial x_i} \mathbb{E} \max_j (x_j + G_j)
# = \operatorname{softmax}(\mathbf{x})_i .
# ```
#
# So one draws from a softmax by adding noise and taking the largest, without a sum or a normalization. (As a race of
# waiting times, and made differentiable, this is in [The reparameterization
# trick](../probability/reparameterization.ipynb).) The check plays 20,000 contests. The share of each
# winner must lie within five standard errors $\sqrt{p_i (1 - p_i) / N}$, the mean of the maximum within five of
# $\pi / \sqrt{6 N}$, as a Gumbel variable has variance $\pi^2 / 6$. The control has the noise upside down, $\log(-\log
# U)$, a sign that is easily lost.

# %%
def contest(x, seed, sign, N=20_000):
    u = np.random.default_rng(seed).random((N, len(x)))
    total = x - sign * np.log(-np.log(u))
    share = np.bincount(total.argmax(1), minlength=len(x)) / N
    p, mean = softmax(x), logsumexp(x) + np.euler_gamma
    shares_fit = abs(share - p) < 5 * np.sqrt(p * (1 - p) / N)
    return shares_fit.all(), (
        abs(total.max(1).mean() - mean) < 5 * np.pi / np.sqrt(6 * N))

for i, statement in enumerate(
        ('the winner of a Gumbel contest is drawn from the softmax',
         'the mean of its largest sum is log-sum-exp plus gamma')):
    verify(
        statement,
        lambda x, seed: contest(x, seed, sign=1)[i],
        control=lambda x, seed: contest(x, seed, sign=-1)[i],
        x=vectors(3, -1, 1), seed=seeds(), tries=60,
    )

# %% [markdown]
# ```{exercise} ★★ A loaded die
# :label: softmax-die
# A die shows 4.5 points on average in place of 3.5, and that is all you know. Which probabilities of the six faces assume
# least? Write `loaded(mean)`: the vector of largest entropy with that mean, for any mean between 1 and 6.
# ```

# %%
def loaded(mean):
    raise NotImplementedError('your turn')

# %%
def die_by_solver(mean):
    faces = np.arange(1, 7)
    result = minimize(
        lambda p: -entr(p).sum(), np.full(6, 1 / 6), method='SLSQP',
        jac=lambda p: np.log(p) + 1, bounds=[(1e-9, 1)] * 6,
        options={'ftol': 1e-15, 'maxiter': 500}, constraints=[
            {'type': 'eq', 'fun': lambda p: p.sum() - 1},
            {'type': 'eq', 'fun': lambda p: p @ faces - mean}])
    return result.x

die_cases = [(3.5,), (4.5,), (2.9,), (5.5,), (1.3,)]
grade(loaded, die_by_solver, die_cases, atol=1e-5)

# %% [markdown]
# ```{solution-start} softmax-die
# :class: dropdown
# ```
# By {prf:ref}`thm-softmax-entropy` the answer is $\operatorname{softmax}(\beta \cdot (1, \dots, 6))$, and its mean
# increases with $\beta$, so the root of "mean minus what is asked" is unique. A line of probabilities with the right mean
# looks innocent, but claims more than is known.

# %% jupyter={"source_hidden": true}
def loaded_solution(mean):
    faces = np.arange(1, 7)
    excess = lambda beta: softmax(beta * faces) @ faces - mean
    return softmax(brentq(excess, -50, 50, xtol=1e-12) * faces)

def on_a_line(mean):
    centred = np.arange(1, 7) - 3.5
    return 1 / 6 + (mean - 3.5) / (centred @ centred) * centred

assert grade(loaded_solution, die_by_solver, die_cases, atol=1e-5)
assert not grade(on_a_line, die_by_solver, die_cases, atol=1e-5)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Summary
#
# Softmax is the one way to make probabilities from three or more scores so that odds depend on differences alone, whence
# it ignores a common shift; cooled it becomes the choice of the largest score, at a rate that its lead decides, heated it
# becomes indifference. The shift that means nothing in theory decides everything in arithmetic: taking off the maximum
# makes the value safe for all finite scores, rescaling to a new maximum makes it streamable, and centring the incoming
# slopes saves the digits of the derivative $(\operatorname{diag}(\mathbf{p}) - \mathbf{p} \mathbf{p}^\top)\, \mathbf{g}$,
# which never needs the matrix. It is the gradient of log-sum-exp, the best choice when keeping options open is paid
# by entropy, and the winner of a contest with Gumbel noise.
#
# **Further reading.** {cite}`luce1959individual` on choice; {cite}`blanchard2021accurately` on rounding errors;
# {cite}`milakov2018online` and {cite}`dao2022flashattention` on softmax in one pass; {cite}`guo2017calibration` on
# temperature and confidence; {cite}`martins2016softmax` on sparsemax, a relative that can say zero
# (built in [Convex sets](../optimization/convex_sets.ipynb)); {cite}`jaynes1957information` on
# largest entropy.
