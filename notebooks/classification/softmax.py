# ---
# jupyter:
#   book:
#     functions:
#       softmax: softmax(normal(5, 4))
#       stable_softmax: stable_softmax(100 * normal(5, 4))
#       log_softmax: log_softmax(100 * normal(5, 4))
#       logsumexp: logsumexp(100 * normal(5, 4))
#       softmax_vjp: softmax_vjp(stable_softmax(normal(5, 4)), normal(5, 4))
#     main: dl.softmax.softmax
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Softmax
#
# A program looks at a photograph and gives each label a score: 2 for *cat*, 1 for *dog*, −1 for *bird*. A score may be
# any number. The higher the score, the more likely is the label. But you would like to know *how* likely the cat is. How
# do scores become probabilities, and how far can you trust these probabilities?
#
# - **You need** [Jacobians](../calculus/jacobians.ipynb), [variances](../probability/expectations.ipynb),
#   [maximum likelihood](../probability/maximum_likelihood.ipynb),
#   [convex functions](../optimization/convex_functions.ipynb) and PyTorch tensors with `backward`
#   ([Automatic differentiation](../calculus/automatic_differentiation.ipynb)).
# - **You build** the softmax, a version that works for scores of any size, its derivative, and probabilities that you can
#   trust for a program that reads handwritten digits.
# - **Runs in** 9 seconds. Tensors are float32, except where the text says float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext

import matplotlib.pyplot as plt
import numpy as np
import scipy.special
import torch
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import entr, expit, ndtr
from sklearn.linear_model import LogisticRegression

from nbutils.cases import lists, on, once, scalars, seeds, vectors
from nbutils.checks import close, erratum, grade, holds, verify
from nbutils.data import digits
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')
torch.set_printoptions(precision=3, sci_mode=False)

# %% [markdown]
# ## The softmax function: from scores to probabilities
#
# Probabilities are not negative, and sum to one. We cannot divide the scores by their sum, because the bird would get
# $-\frac12$. But the exponential function makes every score positive and keeps the order of the scores. So we first take
# the exponential of each score, and then divide the exponentials by their sum:

# %%
labels = ['cat', 'dog', 'bird']
o = torch.tensor([2.0, 1.0, -1.0])
e = o.exp()
p = e / e.sum()
for label, score, power, share in zip(labels, o, e, p):
    print(f'{label:4} score {score:2.0f}   exp {power:5.2f}'
          f'   probability {share:.4f}')
print(f'sum            exp {e.sum():5.2f}   probability {p.sum():.4f}')

# %% mystnb={"image": {"alt": "Three bar charts for cat, dog and bird, joined by arrows. Scores: 2, 1 and minus 1. Exponentials: 7.39, 2.72 and 0.37. Probabilities: 0.7054, 0.2595 and 0.0351."}} tags=["hide-input"]
fig, axes = panels(3, height=2.1)
steps = (o, 'scores', '{:.0f}'), (e, 'exponentials', '{:.2f}'), (p, 'probabilities', '{:.4f}')
for k, (ax, (values, title, digits_shown)) in enumerate(zip(axes, steps)):
    ax.bar(labels, values, color=f'C{k}', width=0.6)
    for place, value in enumerate(values):
        text = digits_shown.format(value).replace('-', '−')
        ax.annotate(text, (place, max(value, 0)), xytext=(0, 2), textcoords='offset points', ha='center', va='bottom')
    ax.axhline(0, color=GREY, lw=0.8)
    low, high = min(0, float(values.min())), float(values.max())
    ax.set(title=title, ylim=(1.1 * low, 1.18 * high), yticks=[])
    ax.spines[:].set_visible(False)
for ax, words in (axes[0], 'exp'), (axes[1], 'divide\nby sum'):
    ax.annotate('', (1.24, 0.45), (1.02, 0.45), xycoords='axes fraction', arrowprops={'arrowstyle': '->', 'color': GREY})
    ax.text(1.13, 0.5, words, transform=ax.transAxes, ha='center', fontsize=8, color=GREY)
fig.get_layout_engine().set(wspace=0.18)

# %% [markdown] tags=["caption"]
# The scores, their exponentials, and the exponentials divided by their sum. The exponential makes all scores positive
# and keeps their order. The division makes them probabilities.

# %% [markdown]
# ### The formula and its code
#
# Let $\mathbf{o} = (o_1, \dots, o_q)$ be the scores of $q$ labels. Scores that are used in this way are
# called **logits**. The **softmax** of $\mathbf{o}$ is the vector $\mathbf{p}$ with the entries
#
# ```{math}
# :label: dl.softmax.softmax
# p_i = \frac{\exp(o_i)}{\sum_{j=1}^{q} \exp(o_j)} .
# ```

# %%
def softmax(o):
    """Probabilities from the scores along the last axis."""
    e = o.exp()                           # (..., q)
    return e / e.sum(-1, keepdim=True)    # (..., q)

# %%
print('ours: ', softmax(o))
print('torch:', o.softmax(-1))

# %% [markdown]
# The denominator is the same for all entries. For example, the first and the last entry are
#
# ```{math}
# :label: la.softmax.first-component
# \operatorname{softmax}(\mathbf{o})_1 = \frac{\exp(o_1)}{\sum_{j=1}^{q} \exp(o_j)},
# ```
#
# ```{math}
# :label: la.softmax.last-component
# \operatorname{softmax}(\mathbf{o})_q = \frac{\exp(o_q)}{\sum_{j=1}^{q} \exp(o_j)} .
# ```
#
# ```{admonition} A tempting mistake
# :class: tip
# In the last entry it is easy to write $\exp(o_q)$ in the denominator as well, in place of $\exp(o_j)$. Then the sum adds
# the same number $q$ times, and the fraction is $1/q$ whatever the scores are. For the scores $0$ and $\log 3$, the last
# entry would be $\frac12$ in place of $\frac34$.
# ```
#
# ### Odds depend on differences of scores
#
# Divide two entries of the softmax. The sum cancels, and the **odds** of the two labels are left:
#
# ```{math}
# :label: softmax-odds
# \frac{p_i}{p_j} = e^{o_i - o_j} .
# ```
#
# So only the difference of their scores decides how much more likely one label is than another. A label that leads by
# one point is $e \approx 2.72$ times as likely as the other. With three labels or more, only the softmax does this, if it may
# multiply all scores by a number $\beta > 0$ first:
#
# ````{prf:theorem} Only the exponential will do
# :label: thm-softmax-only
# Let there be $q \ge 3$ labels. For all scores $\mathbf{o}$, let $\mathbf{p}(\mathbf{o})$ be positive probabilities.
# Suppose that there is a strictly increasing function $g$ with $p_i / p_j = g(o_i - o_j)$ for all scores and all
# $i \ne j$. Then there is a $\beta > 0$ with $p_i = e^{\beta o_i} / \sum_j e^{\beta o_j}$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# Compare two labels by way of a third: $\frac{p_i}{p_k} = \frac{p_i}{p_j} \cdot \frac{p_j}{p_k}$ says
# $g(s + t) = g(s) \, g(t)$ for $s = o_i - o_j$ and $t = o_j - o_k$, which are arbitrary. So $\log g$ turns sums into
# sums. It is then linear on the rational numbers, $\log g(r) = r \log g(1)$. Because it increases, it is linear between
# them as well, so $g(t) = e^{\beta t}$ with $\beta > 0$. Therefore all $p_i e^{-\beta o_i}$ are equal, and the sum of the
# $p_i$ is one. (This is a form of Luce's theory of choice {cite}`luce1959individual`.)
#
# Two labels have no third. There every increasing positive $g$ with $g(t) \, g(-t) = 1$ will do, for example
# $g(t) = \Phi(t) / \Phi(-t)$ with the normal distribution function $\Phi$; this is *probit* regression.
# ````
#
# ### A common shift changes nothing
#
# If all scores rise by the same amount, their differences stay the same, and so do the probabilities. If all scores are
# doubled, their differences are doubled, and the most likely label becomes even more likely:

# %%
print('o:    ', o.softmax(-1))
print('o + 5:', (o + 5).softmax(-1))
print('2 o:  ', (2 * o).softmax(-1))

# %% [markdown]
# ````{prf:theorem} Scores are known up to a constant
# :label: thm-softmax-shift
# $\operatorname{softmax}(\mathbf{o}) = \operatorname{softmax}(\mathbf{o}')$ if and only if
# $\mathbf{o}' = \mathbf{o} + c \mathbf{1}$ for some number $c$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# A shift multiplies numerator and denominator by $e^c$. Conversely $\log p_i = o_i - \log \sum_j e^{o_j}$: the
# scores *are* the log-probabilities plus one number for all. If both vectors give the same probabilities, they differ
# by the difference of these two numbers.
# ````
#
# With two labels, the probabilities depend on $o_1 - o_2$ alone: $p_1 = 1 / (1 + e^{-(o_1 - o_2)})$ is the sigmoid of
# this difference.
#
# ````{admonition} Why a single weight of a linear classifier says nothing
# :class: dropdown
# A linear classifier computes the scores $\mathbf{o} = \mathbf{W}^\top \mathbf{x}$ of an input $\mathbf{x}$. The matrix
# $\mathbf{W}$ has one column of weights for each label. If you add the same vector to all columns, all scores of an input
# rise by the same number, so no probability changes. So the probabilities do not determine the weights. For example,
# every weight can be made positive in this way, and the sign of a single weight says nothing. A penalty on the squared
# weights does determine them: the best columns sum to zero.
# ````
#
# ```{exercise} ★ Pencil: from probabilities back to scores
# :label: softmax-back
#
# (a) Which scores have the softmax $(\frac12, \frac14, \frac14)$? Which of them sum to zero? (b) A label has probability
# $\frac15$. By how much must its score alone rise for a probability of $\frac12$, of $\frac9{10}$, of 1? Write
# `centred_scores(p)` and `rise(p, target)`.
# ```

# %%
def centred_scores(p):
    """The scores with sum zero whose softmax is p, all of it positive.

    p and the scores are arrays of shape (q,).
    centred_scores(np.array([0.5, 0.5])) is [0., 0.].
    """
    raise NotImplementedError('your turn')

def rise(p, target):
    """What to add to one score so that its probability p becomes target.

    All are floats, p and target strictly between 0 and 1.
    rise(0.5, 0.2) is -1.386294...
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_equations(p):  # the lead of each score over the first, and the sum
    system = np.eye(len(p)) - np.eye(len(p))[0]
    system[0] = 1
    return np.linalg.solve(system, np.r_[0, np.log(p[1:] / p[0])])

def by_search(p, target):
    def excess(d):
        return p * np.exp(d) / (1 - p + p * np.exp(d)) - target
    return brentq(excess, -20, 20, xtol=1e-12)

positive = dict(p=vectors((1, 5), -5, 5, edges=True).map(scipy.special.softmax))
two_shares = dict(p=scalars(0.001, 0.999), target=scalars(0.001, 0.999))
print('centred_scores:', grade(centred_scores, by_equations, **positive))
print('rise:          ', grade(rise, by_search, **two_shares))

# %% [markdown]
# ```{solution-start} softmax-back
# :class: dropdown
# ```
# (a) By {prf:ref}`thm-softmax-shift` all scores $\log p_i + c$, that is, $(\log 2, 0, 0)$ plus any constant. Their sum is
# zero for $\frac13 \log 2 \cdot (2, -1, -1)$. In general $c$ is minus the mean of the logarithms, not minus the logarithm
# of the mean. (b) The odds of the label against all others together are $p / (1 - p)$, and raising its score by $d$
# multiplies them by $e^d$. They rise from $\frac14$ to 1 for $d = \log 4 \approx 1.39$ and to 9 for $d = \log 36
# \approx 3.58$. No finite score gives probability 1. Wrong answers forget to centre the scores, take the ratio of the
# probabilities for that of the odds, or start from even odds whatever $p$ is.

# %% jupyter={"source_hidden": true}
def centred_scores_solution(p):
    return np.log(p) - np.log(p).mean()

def rise_solution(p, target):
    return np.log(target / (1 - target)) - np.log(p / (1 - p))

def not_centred(p):
    return np.log(p)

def by_the_mean_probability(p):
    return np.log(p / p.mean())

def ratio_of_probabilities(p, target):
    return np.log(target / p)

def from_even_odds(p, target):
    return np.log(target / (1 - target))

assert grade(centred_scores_solution, by_equations, **positive)
assert grade(rise_solution, by_search, **two_shares)
assert not grade(not_centred, by_equations, **positive)
assert not grade(by_the_mean_probability, by_equations, **positive)
assert not grade(ratio_of_probabilities, by_search, **two_shares)
assert not grade(from_even_odds, by_search, **two_shares)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def double(o):
    return torch.tensor(o, dtype=torch.float64)

def of_the_sum(o):
    return o.exp() / o.sum(-1, keepdim=True).exp()

def is_softmax(form, o, c):
    p = form(double(o))
    return (close(p, scipy.special.softmax(o)) and bool((p > 0).all()) and close(p.sum(), 1)
            and close(form(double(o + c)), p))

holds(
    'dl.softmax.softmax',
    lambda o, c: is_softmax(softmax, o, c),
    slip=('exponentiates the sum in place of summing the exponentials', lambda o, c: is_softmax(of_the_sum, o, c)),
    o=vectors(4), c=scalars(-300, 300),
)
holds(
    'la.softmax.first-component',
    lambda o: close(np.exp(o[0]) / np.exp(o).sum(), softmax(double(o))[0]),
    slip=('sums over the other labels alone, which gives the odds',
          lambda o: close(np.exp(o[0]) / np.exp(o[1:]).sum(), softmax(double(o))[0])),
    o=vectors(4),
)

def last_component(o, summand):
    return np.exp(o[-1]) / sum(np.exp(summand(o, j)) for j in range(len(o)))

erratum(
    'la.softmax.last-component',
    printed=lambda o: close(last_component(o, lambda o, j: o[-1]), softmax(double(o))[-1]),
    corrected=lambda o: close(last_component(o, lambda o, j: o[j]), softmax(double(o))[-1]),
    o=vectors(3),
)

# %% tags=["checks"]
def compose(g, s, t):
    return close(g(s + t), g(s) * g(t)) and close(g(t) * g(-t), 1)

verify(
    'odds over a third label agree with direct ones',
    lambda s, t: compose(np.exp, s, t),
    slip=('takes the odds of probit regression', lambda s, t: compose(lambda d: ndtr(d) / ndtr(-d), s, t)),
    s=scalars(-3, 3), t=scalars(-3, 3),
)

def same_answer(seed, change):
    g = torch.Generator().manual_seed(seed)
    X, W, w = (torch.randn(shape, generator=g, dtype=torch.float64) for shape in ((5, 3), (3, 4), (3, 1)))
    return close(softmax(X @ change(W, w)), softmax(X @ W))

verify(
    'adding one vector to all columns of W changes no probability',
    lambda seed: same_answer(seed, lambda W, w: W + w),
    slip=('multiplies the columns by it', lambda seed: same_answer(seed, lambda W, w: w * W)),
    seed=seeds(),
)
def penalized_weights(seed):
    X = np.random.default_rng(seed).normal(size=(40, 3))
    return LogisticRegression(solver='newton-cg', tol=1e-10).fit(X, np.arange(40) % 4).coef_  # (4, 3)

verify(
    'with a penalty the columns of weights sum to zero',
    lambda seed: close(penalized_weights(seed).sum(0), np.zeros(3)),
    slip=('sums the weights of one label', lambda seed: close(penalized_weights(seed).sum(1), np.zeros(4))),
    seed=[0, 1, 2],
)
verify(
    'with two labels softmax is the sigmoid of the difference',
    lambda o: close(softmax(double(o))[0], expit(o[0] - o[1])),
    slip=('takes the sigmoid of the first score', lambda o: close(softmax(double(o))[0], expit(o[0]))),
    o=vectors(2),
)

def back(p, constant):  # scores with softmax p whose sum is zero
    scores = np.log(p) + constant(p)
    return close(scipy.special.softmax(scores), p) and close(scores.sum(), 0)

verify(
    'log-probabilities minus their mean are the scores with sum zero',
    lambda o: back(scipy.special.softmax(o), lambda p: -np.log(p).mean()),
    slip=('divides by the mean probability', lambda o: back(scipy.special.softmax(o), lambda p: -np.log(p.mean()))),
    o=vectors(4, -5, 5),
)

# %% [markdown]
# ## Numerically stable softmax and log-sum-exp
#
# Every floating-point type has a largest number. The exponential of a score of only 89 exceeds that of float32,
# and then the function `softmax` fails:

# %%
for dtype in (torch.float16, torch.float32, torch.float64):
    limit = np.log(torch.finfo(dtype).max)
    print(f'{str(dtype)[6:]}: exp overflows above {limit:.1f}')
print('scores 1000 and 1001:  ', softmax(torch.tensor([1000.0, 1001.0])))
print('scores -1000 and -1001:', softmax(torch.tensor([-1000.0, -1001.0])))

# %% [markdown]
# For the scores 1000 and 1001 we divide infinity by infinity. For −1000 and −1001 we divide zero by zero. If the loss of
# a model is `nan`, the next step of training turns its weights into `nan`.
#
# ### Subtract the maximum
#
# We may add any number to all scores, because this does not change the probabilities. So we subtract the largest score.
# Then the largest exponential is $e^0 = 1$. No exponential overflows, and the sum lies between 1 and $q$. Very small
# exponentials may be rounded to zero (they **underflow**), but they hardly contribute to the sum.

# %%
def stable_softmax(o):
    """The softmax. Scores may be −∞, but not all of them, and not +∞."""
    e = (o - o.amax(-1, keepdim=True)).exp()    # (..., q), the largest is 1
    return e / e.sum(-1, keepdim=True)

print(stable_softmax(torch.tensor([1000.0, 1001.0])))
print(stable_softmax(torch.tensor([-1000.0, -1001.0])))

# %% [markdown]
# `torch.softmax` and `scipy.special.softmax` do the same. A score of $-\infty$ gives its label the probability zero.
#
# ### Log-softmax and log-sum-exp
#
# To train a classifier we need the *logarithms* of its probabilities. It is risky to compute the softmax first and its
# logarithm afterwards: a small probability underflows to zero, and $\log 0 = -\infty$. So we first simplify
# $\log p_i$ on paper. Let $z_j$ be the scores minus the largest score. Then $\log e^{z_i} = z_i$, and
#
# ```{math}
# :label: softmax-log
# \log p_i = z_i - \log \sum_{j=1}^{q} e^{z_j}, \qquad z_j = o_j - \max_k o_k .
# ```

# %%
def log_softmax(o):
    """Logarithms of stable_softmax."""
    z = o - o.amax(-1, keepdim=True)                    # (..., q)
    return z - z.exp().sum(-1, keepdim=True).log()      # (..., q)

# %% [markdown]
# Without the shift, the formula is $\log p_i = o_i - \operatorname{LSE}(\mathbf{o})$. Here LSE is the **log-sum-exp**
#
# ```{math}
# :label: softmax-lse-definition
# \operatorname{LSE}(\mathbf{o}) = \log \sum_{j=1}^{q} e^{o_j} = m + \log \sum_{j=1}^{q} e^{o_j - m}, \qquad m = \max_k
# o_k .
# ```
#
# The first form may overflow, so compute the second. It also shows that log-sum-exp is close to the maximum $m$. One
# of its $q$ terms is $e^0 = 1$, and no term is larger, so the sum lies between 1 and $q$. Therefore
#
# ```{math}
# :label: softmax-lse-bounds
# \max_k o_k \le \operatorname{LSE}(\mathbf{o}) \le \max_k o_k + \log q .
# ```
#
# For this reason log-sum-exp is called a *smooth maximum*.

# %%
def logsumexp(o):
    """The log-sum-exp along the last axis, for scores as in stable_softmax."""
    m = o.amax(-1, keepdim=True)                              # (..., 1)
    return (m + (o - m).exp().sum(-1, keepdim=True).log()).squeeze(-1)

# %% [markdown]
# We compare three ways to compute $\log p_2$: the logarithm of `softmax`, the logarithm of `stable_softmax`, and
# `log_softmax`. The program prints $\log p_2$ and its derivatives with respect to the three scores (`slopes`):

# %%
ways = {'log of softmax': lambda o: softmax(o).log(),
        'log of stable': lambda o: stable_softmax(o).log(),
        'log_softmax': log_softmax}
for scores in (90, 0, 89), (200, 0, 30), (-torch.inf, 2, 1):
    print('scores', scores)
    for name, way in ways.items():
        x = torch.tensor(scores, dtype=torch.float32, requires_grad=True)
        way(x)[1].backward()
        print(f'  {name:14} {way(x)[1]:8.2f}   slopes', x.grad)

# %% [markdown]
# - For the scores $(90, 0, 89)$, `softmax` overflows. `stable_softmax` gives the right $\log p_2$, but its derivative
#   contains $1/p_2$, and this number overflows.
# - For $(200, 0, 30)$, $p_2$ underflows in the second way, so its logarithm is $-\infty$.
# - For $(-\infty, 2, 1)$, the first label has the probability zero. All three ways give the right $\log p_2$. But in the
#   first two, the derivatives contain $1/p_1 = 1/0$, multiplied by zero, which is `nan`.
#
# Only `log_softmax` is right in all three cases.

# %% mystnb={"image": {"alt": "Left: the log-sum-exp of x and 0 as a smooth curve above the bent line max(x, 0), farthest from it at x = 0, by log 2. Right: the log-probability of a score that trails by t, a falling straight line for log-softmax. Dots on it show where the log of the plain softmax ends, and further down that of the stable one."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
x = torch.linspace(-4, 4, 161)
left.plot(x, x.clamp(min=0), color=GREY, ls='--', lw=1.2)
left.plot(x, logsumexp(torch.stack([x, 0 * x], -1)), color='C0')
left.text(-0.3, 1.05, 'LSE(x, 0)', color='C0', ha='right')
left.text(2.2, 1.5, 'max(x, 0)', color=GREY)
left.plot([0, 0], [0, np.log(2)], color='C1', lw=2)
left.text(0.5, 0.0, 'log 2', color='C1')
left.set(xlabel='x', title='a smooth maximum')
t = torch.arange(0.0, 151)
lines = {name: way(torch.stack([t, 0 * t], -1))[:, 1] for name, way in ways.items()}
right.plot(t, lines['log_softmax'], color='C2')
right.text(128, -112, 'log_softmax', color='C2')
for name, color, across, side in ('log of softmax', 'C1', 6, 'left'), ('log of stable', 'C0', -6, 'right'):
    last = lines[name].isfinite().nonzero().max()
    right.plot(t[last], lines[name][last], 'o', color=color)
    right.text(t[last] + across, lines[name][last] + 1.4 * across, f'{name}\nends here', color=color, ha=side,
               va='bottom' if across > 0 else 'top')
right.set(xlabel='lead t of the first label', title='log-probability of the second', xlim=(-5, 185), ylim=(-155, 5));

# %% [markdown] tags=["caption"]
# Left: the log-sum-exp of the scores $x$ and 0 lies above their maximum, by at most $\log 2$. Right: $\log p_2$ for the scores
# $t$ and 0. The logarithms of `softmax` and `stable_softmax` are finite only up to the dots.

# %% [markdown]
# The formula $o_i - \operatorname{LSE}(\mathbf{o})$ loses digits if all scores are large. For example, float32 numbers
# near a million lie $1/16$ apart, so a log-sum-exp of this size has an error of up to $1/32$. `log_softmax`
# subtracts the maximum first and does not have this error:

# %%
far = torch.tensor([1e6, 1e6 + 0.5])
print('maximum first:     ', log_softmax(far))
print('log-sum-exp at end:', far - logsumexp(far))
print('float64:           ', torch.log_softmax(far.double(), -1).float())

# %% [markdown]
# ````{admonition} How large the rounding error of log_softmax can be
# :class: dropdown
# Let $u$ be the unit of rounding, $2^{-53}$ in float64. If the maximum is subtracted first, the absolute error of
# $\log p_i$ stays below $(2 |z_i| + 3 q + 4)\, u$. So does the relative error of $p_i$, as long as $p_i$ itself does not
# underflow. For $z_i = -20$ and $q = 10$ in float64, the bound is $74 u \approx 8 \cdot 10^{-15}$.
#
# The subtraction gives $z_i (1 + \varepsilon)$ with $|\varepsilon| \le u$, which multiplies $e^{z_i}$ by
# $e^{z_i \varepsilon} \approx 1 + z_i \varepsilon$, so by at most $|z_i| u$ in relative terms; a library's exponential
# adds $2u$. In the sum the errors are weighted: $\sum_j e^{z_j} |z_j|\, u \le \frac{q - 1}{e} u$, because $t e^{-t}
# \le 1/e$ and one of the $z_j$ is zero. The additions cost $(q - 1) u$, and the sum is at least 1. The final division,
# or logarithm and subtraction, stays within the rest of the bound. A relative error of $p$ and an absolute error of its
# logarithm are the same, as $d \log p = dp / p$ {cite}`blanchard2021accurately`.
# ````
#
# ```{exercise} ★★ Program: log-sum-exp of a stream
# :label: softmax-stream
#
# The scores of one long row come in blocks, and each block is overwritten when you ask for the next one. Write
# `streamed_logsumexp(blocks)` for an iterable of vectors with at least one finite score each. It returns the
# log-sum-exp of all scores together. Two numbers are enough to remember what has been read.
# ```

# %%
def streamed_logsumexp(blocks):
    """The log-sum-exp of all scores in the blocks together: a number.

    blocks can be passed through once. It has at least one block, a float64
    tensor (n,) with n >= 1; some scores may be -inf, not all of a block.
    [torch.zeros(1), torch.zeros(2)] gives log 3, about 1.0986.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def at_once(blocks):
    return scipy.special.logsumexp(torch.cat([block.clone() for block in blocks]).numpy())

def near(centre):  # blocks of scores at some distance from it; those far below the largest are forbidden
    block = on(3, 1000).flatmap(lambda far: vectors((1, 4), -far, far, edges=True))
    return lists(block.map(lambda o: double(np.where(o < o.max() - 900, -np.inf, o + centre))))

streams = dict(blocks=on(0, 1000, -1000).flatmap(near).map(once))
grade(streamed_logsumexp, at_once, **streams)

# %% [markdown]
# ```{solution-start} softmax-stream
# :class: dropdown
# ```
# Remember the maximum $m$ so far and $s = \sum_j e^{o_j - m}$. Two sets of scores with $(m_1, s_1)$ and $(m_2, s_2)$
# merge into their union by going over to the larger maximum. The same works for weighted sums
# $\mathbf{a} = \sum_j e^{o_j - m}\, \mathbf{v}_j$ of vectors, and $\mathbf{a}/s$ is then their mean with the softmax as
# weights:
#
# ```{math}
# :label: softmax-merge
# \begin{gathered}
# m = \max(m_1, m_2), \qquad s = e^{m_1 - m} s_1 + e^{m_2 - m} s_2, \\
# \mathbf{a} = e^{m_1 - m} \mathbf{a}_1 + e^{m_2 - m} \mathbf{a}_2 .
# \end{gathered}
# ```
#
# No exponent is positive, and the order of merging is free, so several processors can share the work
# {cite}`milakov2018online`. Fast implementations of attention {cite}`dao2022flashattention` are built on this. If you
# keep the first maximum for good, $e^{800}$ overflows; if you forget to rescale the old sum, you get a plausible, wrong
# number; if each block's own maximum replaces the old one, an old sum is scaled up until it overflows. A list of the
# blocks is no use once they are overwritten.

# %% jupyter={"source_hidden": true}
def streamed_logsumexp_solution(blocks):
    m, s = double(-torch.inf), double(0.0)
    for block in blocks:
        new = torch.maximum(m, block.max())
        s = (m - new).exp() * s + (block - new).exp().sum()
        m = new
    return m + s.log()

def first_maximum_for_good(blocks):
    m, s = None, 0
    for block in blocks:
        m = block.max() if m is None else m
        s = s + (block - m).exp().sum()
    return m + s.log()

def forgets_to_rescale(blocks):
    m, s = double(-torch.inf), double(0.0)
    for block in blocks:
        m = torch.maximum(m, block.max())
        s = s + (block - m).exp().sum()
    return m + s.log()

def forgets_the_old_maximum(blocks):
    m, s = double(-torch.inf), double(0.0)
    for block in blocks:
        s = (m - block.max()).exp() * s + (block - block.max()).exp().sum()
        m = block.max()
    return m + s.log()

def keeps_all_blocks(blocks):
    return torch.cat(list(blocks)).logsumexp(0)

assert grade(streamed_logsumexp_solution, at_once, **streams)
assert not grade(first_maximum_for_good, at_once, **streams)
assert not grade(forgets_to_rescale, at_once, **streams)
assert not grade(forgets_the_old_maximum, at_once, **streams)
assert not grade(keeps_all_blocks, at_once, **streams)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
wide = Context(prec=200, Emax=MAX_EMAX, Emin=MIN_EMIN)

def exact_softmax(o):  # a list of Decimals, from the definition
    with localcontext(wide):
        e = [Decimal(v).exp() for v in o.tolist()]
        total = sum(e)
        return [v / total for v in e]

def exact_log(o):
    with localcontext(wide):
        return double([float(p.ln()) for p in exact_softmax(o)])

def bound(o):
    return (2 * (o - o.max()).abs() + 3 * len(o) + 4) * 2.0**-53

def softmax_within(form, o):
    p = double([float(v) for v in exact_softmax(o)])
    return bool(((form(o) - p).abs() <= bound(o) * p + 2 * 2.0**-1074).all())

def log_within(form, o):
    return bool(((form(o) - exact_log(o)).abs() <= bound(o)).all())

def by_the_mean(o):
    return softmax(o - o.mean())

far_scores = dict(  # multiples of 1.1 use all digits
    o=vectors(4, -1000, 1000).map(lambda v: double(1.1 * v)), shift=[0, 300, -5000, 1e6, 1e12], tries=60)
verify(
    'softmax is as accurate as the bound says, for every shift',
    lambda o, shift: softmax_within(stable_softmax, o + shift),
    slip=('subtracts the mean in place of the maximum', lambda o, shift: softmax_within(by_the_mean, o + shift)),
    **far_scores,
)
verify(
    'so is its logarithm, shifted first',
    lambda o, shift: log_within(log_softmax, o + shift),
    slip=('takes the logarithm at the end', lambda o, shift: log_within(lambda o: stable_softmax(o).log(), o + shift)),
    **far_scores,
)

def lies_between(form, o):
    low, value = o.max(), form(double(o))
    return bool(low - 1e-9 <= value <= low + np.log(len(o)) + 1e-9) and close(value, scipy.special.logsumexp(o))

verify(
    'log-sum-exp lies between the maximum and log q more, and is that of scipy',
    lambda o: lies_between(logsumexp, o),
    slip=('takes the mean of the exponentials', lambda o: lies_between(lambda o: logsumexp(o) - np.log(len(o)), o)),
    o=vectors(5, -1000, 1000),
)

# %% [markdown]
# ## Softmax with temperature, and calibration
#
# We may divide all scores by a number $\tau > 0$, the **temperature**. This keeps the order of the probabilities, but it
# changes how far they lie apart:

# %%
for tau in (0.2, 1, 5):
    print(f'temperature {tau:3}:', (o / tau).softmax(-1))

# %% [markdown]
# At a low temperature, nearly all probability goes to the largest score. At a high temperature, the probabilities are
# nearly equal. Let $\beta = 1/\tau$, so that a low temperature is a large $\beta$. The **one-hot** vector of the argmax
# has a one at the largest score and zeros elsewhere. If the largest score is unique, the softmax tends to this vector:
#
# ```{math}
# :label: la.softmax.approximates-argmax
# \operatorname{softmax}(\beta \mathbf{o}) \ \longrightarrow \ \operatorname{onehot}\big(\arg\max(\mathbf{o})\big)
# \qquad (\beta \to \infty).
# ```
#
# So "soft*max*" is really a soft *argmax*. It is near the one-hot vector if the largest score leads the second largest
# by far, whatever their size. Compare three vectors of scores, with the leads
# 0.01, 5 and 0:

# %%
for scores in [0.01, 0.0], [5.0, 0.0], [500.0, 500.0, 0.0]:
    print(scores, torch.tensor(scores).softmax(-1))

# %% [markdown]
# ````{admonition} How fast the softmax approaches the one-hot vector
# :class: dropdown
# Let $o_m$ be the largest score, $\delta > 0$ its lead over the second, and $\mathbf{e}_m$ the vector with a one at $m$
# and zeros elsewhere. Then
#
# ```{math}
# :label: softmax-rate
# \tfrac2q \, e^{-\beta \delta} \ \le \ \big\| \operatorname{softmax}(\beta \mathbf{o}) - \mathbf{e}_m \big\|_1
# \ \le \ 2 (q - 1) \, e^{-\beta \delta} .
# ```
#
# The norm is $(1 - p_m) + \sum_{i \ne m} p_i = 2 \sum_{i \ne m} p_i$. Each of these $p_i$ is
# $p_m e^{-\beta (o_m - o_i)} \le e^{-\beta \delta}$, and the second largest is $p_m e^{-\beta \delta}$ with
# $p_m \ge 1/q$.
# ````
#
# ````{admonition} What changes, and how fast, while the softmax is cooled
# :class: dropdown
# Let $\mathbf{p} = \operatorname{softmax}(\beta\mathbf{o})$. The mean score $\mu = \sum_j p_j o_j$ is that of a random
# label with these probabilities. Its variance is $\operatorname{Var}(o) = \sum_i p_i (o_i - \mu)^2$. The entropy
# $H = -\sum_j p_j \log p_j$ measures how undecided the softmax is. Their derivatives with respect to $\beta$ are
#
# ```{math}
# :label: softmax-beta
# \frac{d p_i}{d \beta} = p_i \, (o_i - \mu), \qquad
# \frac{d \mu}{d \beta} = \operatorname{Var}(o) \ge 0, \qquad
# \frac{d H}{d \beta} = -\beta \operatorname{Var}(o),
# ```
#
# So when $\beta$ grows, labels with more than the mean score gain probability, and those with less lose. For
# $\beta > 0$ the entropy falls, unless all scores are equal.
#
# For a proof, differentiate $\log p_i = \beta o_i - \log \sum_j e^{\beta o_j}$. The derivative of the last term is $\mu$,
# which gives the first rate. Then $\frac{d\mu}{d\beta} = \sum_i p_i (o_i - \mu)\, o_i$ is the variance, and
# $H = \log \sum_j e^{\beta o_j} - \beta \mu$ has the derivative $\mu - \mu - \beta \frac{d\mu}{d\beta}$.
#
# At $\beta = 0$ the first rate is $(o_i - \bar o)/q$ with the plain mean $\bar o$. So
# $p_i = \frac1q + \frac{\beta}{q} (o_i - \bar o)$ up to $\frac12 \beta^2 R^2$, if all scores lie within a range $R$: the
# remainder of Taylor's formula has the second derivative $p_i \big( (o_i - \mu)^2 - \operatorname{Var}(o) \big)$, which
# is at most $R^2$ in size.
# ````

# %% mystnb={"image": {"alt": "Left: three bars each for cat, dog and bird at temperatures 0.2, 1 and 5: nearly all on the cat, then a staircase, then nearly equal. Right: a triangle with corners cat, dog and bird, and eighteen curves that start in its centre in all directions and bend into the corners. A dot lies near the side from cat to dog, nearer to the cat."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
for k, tau in enumerate((0.2, 1, 5)):
    places = np.arange(3) + 0.27 * (k - 1)
    left.bar(places, (o / tau).softmax(-1), 0.25, color=f'C{k}')
    left.text(1.1, 0.92 - 0.12 * k, f'τ = {tau}', color=f'C{k}')
left.set(xticks=range(3), xticklabels=labels, title='probability at three temperatures', ylim=(0, 1.05))
angles = torch.arange(0, 360, 20).deg2rad()
plane = torch.tensor([[1.0, -1, 0], [1, 1, -2]]) / torch.tensor([[2.0], [6]]).sqrt()
rays = torch.stack([angles.cos(), angles.sin()], -1) @ plane                       # (18, 3)
paths = (torch.logspace(-2, 2, 400)[:, None, None] * rays).softmax(-1)             # (400, 18, 3)
triangle = torch.tensor([[0, 0], [1, 0], [0.5, 3**0.5 / 2]])
right.fill(*triangle.T, fill=False, ec=GREY)
for k, ray in enumerate(rays):
    right.plot(*(paths[:, k] @ triangle).T, color=f'C{ray.argmax()}', lw=1)
for label, (x, y) in zip(labels, triangle):
    right.text(x, y + (0.03 if y else -0.1), label, ha='center')
right.plot(*(p @ triangle), 'o', color=GREY)
right.set(aspect='equal', ylim=(-0.12, 0.97))
right.axis('off');

# %% [markdown] tags=["caption"]
# Left: the probabilities at three temperatures. Right: each point of the triangle stands for three probabilities. They are equal at the
# centre, and a corner is one label for sure. Cooling leads along a curve from the centre to a corner. The dot: the photograph.

# %% [markdown]
# ### Calibration: are the probabilities right?
#
# A classifier answers with the label of the largest probability. This probability is called its **confidence**. Among the
# answers with a confidence of nine tenths, nine in ten should be right. If the same is true at every other level, the
# classifier is **calibrated**.
#
# We train a linear model on 600 pictures of handwritten digits. Of the other pictures, 400 are for choosing a temperature
# and 797 for testing. `LogisticRegression` adds a penalty on the squared weights. With `C=1000` this penalty is very small.

# %%
def split_scores(seed, C=1000):
    """(scores, digits) of the 400 pictures, and of the 797 to test on."""
    X, y, _ = digits()
    order = np.random.default_rng(seed).permutation(len(y))
    train, *others = np.split(order, [600, 1000])
    model = LogisticRegression(C=C, solver='newton-cg', tol=1e-10)
    model.fit(X[train], y[train])
    return [(torch.tensor(model.decision_function(X[part])),
             torch.tensor(y[part])) for part in others]

# %%
(tune_o, tune_y), (test_o, test_y) = split_scores(seed=0)
confidence, answer = test_o.softmax(-1).max(-1)
hit = answer == test_y
print(f'mean confidence {confidence.mean():.3f}')
print(f'right answers   {hit.double().mean():.3f}')
print(f'mean confidence of wrong answers {confidence[~hit].mean():.3f}')

# %% [markdown]
# The mean confidence exceeds the share of right answers: the model is *overconfident*. Even its wrong answers have a mean
# confidence of 0.800.
#
# **Temperature scaling** {cite}`guo2017calibration` divides all scores by one temperature. It should make the true digits
# likely, as in [maximum likelihood](../probability/maximum_likelihood.ipynb). Let $p_y$ be the probability that the model
# gives to the true digit $y$ of a picture. The loss is the mean of $-\log p_y$. We choose the temperature with the least
# loss on the 400 pictures that were set aside:

# %%
def mean_loss(o, y, tau=1.0):
    log_p = torch.log_softmax(o / tau, -1)           # (n, q)
    return -log_p[torch.arange(len(y)), y].mean().item()

def best_temperature(o, y):
    """The temperature with the least mean loss."""
    found = minimize_scalar(
        lambda log_tau: mean_loss(o, y, np.exp(log_tau)), (-1, 1))
    return np.exp(found.x)

# %% [markdown]
# ````{admonition} Why there is one best temperature
# :class: dropdown
# The loss is convex as a function of $\beta = 1/\tau$. Its derivative is the mean of $\mu - o_y$ over the pictures, where
# $o_y$ is the score of the true digit. By {eq}`softmax-beta` this derivative never falls. If some answers are wrong, but
# not too many, it is zero at a positive $\beta$. At this $\beta$ the *expected* score $\mu$ equals that of the true digit,
# on average over the pictures.
# ````
#
# Does this lower the loss on new pictures, too? We divide the pictures at random in five ways. For each division we
# train, choose the temperature, and measure on the 797 test pictures. The program prints means and standard deviations
# over the five divisions. *Trained* is the model without scaling, *scaled* the model with the temperature:

# %%
splits = [split_scores(seed) for seed in range(5)]
rows = []
for tune, (o_test, y_test) in splits:
    tau = best_temperature(*tune)
    share_right = (o_test.argmax(-1) == y_test).double().mean()
    confident = [(o_test / t).softmax(-1).amax(-1).mean() for t in (1, tau)]
    losses = [mean_loss(o_test, y_test, t) for t in (1, tau)]
    rows.append([tau, share_right, *confident, *losses])
rows = np.array(rows)                                # (5, 6)

# %%
names = ('temperature', 'right answers', 'confidence, trained',
         'confidence, scaled', 'loss, trained', 'loss, scaled')
for name, column in zip(names, rows.T):
    print(f'{name:20} {column.mean():.3f} ± {column.std(ddof=1):.4f}')
gain = rows[:, 4] - rows[:, 5]
print(f'scaling lowers the loss by {gain.min():.3f} to {gain.max():.3f}')
print(f'ten equal probabilities: loss {np.log(10):.2f}, confidence 0.10')

# %% [markdown]
# Scaling keeps the order of the scores, so no answer changes. But the mean confidence of the scaled model is close to its
# share of right answers, and the loss on new pictures falls in each of the five divisions.
#
# Are the probabilities right at every level of confidence? A **reliability diagram** sorts the answers into bins by their
# confidence. In each bin it compares the mean confidence with the share of right answers. We put the test pictures of all
# five divisions together, $5 \cdot 797 = 3985$ answers. The program prints one line for each bin:

# %%
def reliability(split, tau, bins):
    """Sum of confidences, right answers and answers, for each bin."""
    o, y = split
    confidence, answer = (o / tau).softmax(-1).max(-1)
    which = np.digitize(confidence, bins)
    hits = (answer == y).double()
    return [(confidence[which == k].sum(), hits[which == k].sum(),
             (which == k).sum()) for k in range(1, len(bins))]

bins = np.array([0.3, 0.6, 0.8, 0.9, 0.97, 1.01])
curves = {}
for name, taus in ('trained', np.ones(5)), ('scaled', rows[:, 0]):
    parts = np.array([
        reliability(test, tau, bins)
        for (_, test), tau in zip(splits, taus)], float)   # (5, bins, 3)
    claimed, hits, count = parts.sum(0).T
    curves[name] = claimed / count, hits / count
    for claim, share, n in zip(*curves[name], count):
        print(f'{name:8} confidence {claim:.3f}   right {share:.3f}   '
              f'answers {n:4.0f}')

# %% mystnb={"image": {"alt": "Left: five curves of the loss on new digits against the temperature, each a valley with its bottom a little below two; the dots lie near the bottoms, below the curves at temperature one. Right: share of right answers against confidence; the curve as trained lies below the diagonal, that after scaling near it."}} tags=["hide-input"]
fig, (left, right_ax) = panels(2, height=2.9)
taus = np.geomspace(0.5, 5, 40)
for (_, test), row in zip(splits, rows):
    left.plot(taus, [mean_loss(*test, tau) for tau in taus], color=GREY, lw=1)
    left.plot(row[0], row[5], 'o', color='C1')
left.axvline(1, color='C0', ls=':', lw=1.2)
left.text(1.04, 0.107, 'trained', color='C0')
left.set(xscale='log', xlabel='temperature τ', title='loss on new digits', ylim=(0.1, 0.4), xticks=[0.5, 1, 2, 5],
         xticklabels=['0.5', '1', '2', '5'])
left.minorticks_off()
right_ax.plot([0.3, 1], [0.3, 1], color=GREY, ls='--', lw=1)
right_ax.text(0.42, 0.56, 'calibrated', color=GREY, ha='center')
for (name, (claimed, share)), color, (x, y) in zip(curves.items(), ('C0', 'C1'), ((0.74, 0.5), (0.62, 0.83))):
    right_ax.plot(claimed, share, 'o-', color=color, lw=1.2)
    right_ax.text(x, y, name, color=color)
right_ax.set(xlabel='confidence', title='share of right answers', xlim=(0.3, 1.02), ylim=(0.3, 1.02));

# %% [markdown] tags=["caption"]
# Left: the loss on the test pictures in each division. At the chosen temperatures (dots) it is smaller than at
# temperature 1. Right: the share of right answers in each bin. Without scaling it lies below the confidence, with scaling
# close to it.

# %% [markdown]
# In scikit-learn, `CalibratedClassifierCV(FrozenEstimator(model), method='temperature')` scales a trained model.
#
# ```{exercise} ★★ Experiment: what does a penalty do to the confidence?
# :label: softmax-penalty
#
# With `C=1000` the model is *overconfident*: it claims more than it can do. A small `C` is a strong penalty on the
# weights. Predict for `C` equal to 1 and 0.01 whether the model is `'over'` or `'under'` confident, and return the two
# words in a list. Then call `split_scores(0, C)`, look at confidence, right answers and best temperature, and explain
# them.
# ```

# %%
def predicted_confidence():
    """Two words in a list, for C equal to 1 and to 0.01.

    Each is 'over' or 'under': ['over', 'under'], for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def measured(C, seed=0):
    tune, (o, y) = split_scores(seed, C)
    return o.softmax(-1).amax(-1).mean(), (o.argmax(-1) == y).double().mean(), best_temperature(*tune)

by_penalty = {C: measured(C) for C in (1000, 1, 0.01)}

def fits(word, C):
    claimed, share, _ = by_penalty[C]
    return (word == 'over') == bool(claimed > share)

def is_measured(words):
    words = list(words)
    if len(words) != 2 or not set(words) <= {'over', 'under'}:
        raise ValueError("give two words, each 'over' or 'under'")
    if not all(map(fits, words, (1, 0.01))):
        raise ValueError('something else is measured; train the two models and compare')
    return True

grade(lambda: is_measured(predicted_confidence()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} softmax-penalty
# :class: dropdown
# ```
# Both are underconfident. A penalty keeps the weights small, and with them the scores and their leads. With
# `C=1`, scikit-learn's default, the model is right in 96 % of the cases but claims only 86 %, and the best temperature is
# below one: it must be cooled. With `C=0.01` the scores are so small that the softmax is nearly uniform,
# while the *order* of the scores, and so the answers, are still right in most cases.

# %% jupyter={"source_hidden": true}
assert grade(
    lambda: is_measured(['under', 'under']), lambda: True, [()]
)
for wrong in (
    ['over', 'over'],
    ['over', 'under'],
    ['under', 'over'],
    ['under'],
    ['fine', 'under'],
    None,
):
    assert not grade(lambda: is_measured(wrong), lambda: True, [()])
for C, (claimed, right_share, tau) in by_penalty.items():
    print(
        f'C = {C:7}: confidence {claimed:.3f}, right {right_share:.3f}, '
        f'best temperature {tau:.3f}'
    )

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def lead(o):
    return np.sort(o)[-1] - np.sort(o)[-2]

def freezes(o, beta, lead):
    p, d = scipy.special.softmax(beta * o), np.exp(-beta * lead(o))
    distance = 2 * np.delete(p, p.argmax()).sum()
    low, high = 2 / len(o) * d, 2 * (len(o) - 1) * d
    return low * (1 - 1e-12) <= distance <= high * (1 + 1e-12)

holds(
    'la.softmax.approximates-argmax',
    lambda o, beta: freezes(o, beta, lead),
    slip=('takes the largest score for its lead', lambda o, beta: freezes(o, beta, np.max)),
    o=vectors(4).filter(lambda o: lead(o) > 0), beta=[1, 3, 10, 30],
)

def near_uniform(o, beta, centre):
    line = (1 + beta * (o - centre)) / len(o)
    error = abs(scipy.special.softmax(beta * o) - line).max()
    return error <= (beta * np.ptp(o)) ** 2 / 2 + 1e-15

verify(
    'a hot softmax is uniform, plus beta times the centred scores',
    lambda o, beta: near_uniform(o, beta, o.mean()),
    slip=('forgets to centre the scores', lambda o, beta: near_uniform(o, beta, 0)),
    o=vectors(5, -3, 3), beta=[1e-4, 0.01, 0.1, 1],
)

# %% tags=["checks"]
def rates(o, beta, factor):  # of p, mean score, entropy
    p = scipy.special.softmax(beta * o)
    mean = p @ o
    var = p @ (o - mean) ** 2
    return np.array([*(p * (o - mean)), var, -factor * var])

def by_differences(o, beta, h=1e-5):
    def record(b):
        p = scipy.special.softmax(b * o)
        return np.array([*p, p @ o, entr(p).sum()])
    return (record(beta + h) - record(beta - h)) / (2 * h)

verify(
    'the rates of probabilities, mean score and entropy',
    lambda o, beta: close(rates(o, beta, beta), by_differences(o, beta), atol=1e-7),
    slip=('forgets the factor beta of the entropy',
          lambda o, beta: close(rates(o, beta, 1), by_differences(o, beta), atol=1e-7)),
    o=vectors(4, -3, 3), beta=scalars(-2, 2),
)

def expects_the_truth(seed, at):  # the mean expected score equals the mean true score
    o, y = splits[seed][0]
    p = (o * at(1 / best_temperature(o, y))).softmax(-1)
    return close((p * o).sum(-1).mean(), o[torch.arange(len(y)), y].mean(), rtol=1e-4)

verify(
    'at the best temperature the expected score is that of the truth, on average',
    lambda seed: expects_the_truth(seed, lambda beta: beta),
    slip=('says so of the model as trained', lambda seed: expects_the_truth(seed, lambda beta: 1)),
    seed=list(range(5)),
)
verify(
    'scaling lowers the loss on new pictures in each split',
    lambda k: gain[k] > 0,
    slip=('heats instead of cooling, and the other way round',
          lambda k: mean_loss(*splits[k][1]) > mean_loss(*splits[k][1], 1 / rows[k, 0])),
    k=list(range(5)),
)

verify(
    'scaling brings the share of right answers nearer to what is claimed, in every bin',
    lambda better, worse, k: bool(abs(np.subtract(*curves[better])[k]) < abs(np.subtract(*curves[worse])[k])),
    slip=('exchanges trained and scaled scores', lambda better, worse, k: bool(
        abs(np.subtract(*curves[worse])[k]) < abs(np.subtract(*curves[better])[k]))),
    better=['scaled'], worse=['trained'], k=list(range(5)),
)

# %% [markdown]
# ## The derivative of softmax: its Jacobian
#
# If you raise the score of the cat a little, what happens to the three probabilities? We first differentiate the
# logarithm $\log p_i = o_i - \operatorname{LSE}(\mathbf{o})$. The derivative of LSE with respect to $o_j$ is
# $e^{o_j} / \sum_k e^{o_k} = p_j$. Let $\delta_{ij}$ be 1 for $i = j$ and 0 otherwise. Then
#
# ```{math}
# :label: softmax-log-gradient
# \frac{\partial \log p_i}{\partial o_j} = \delta_{ij} - p_j .
# ```
#
# Because $\frac{\partial p_i}{\partial o_j} = p_i \frac{\partial \log p_i}{\partial o_j}$, we multiply by $p_i$. This
# gives the **Jacobian** $\mathbf{J}$ of the softmax:
#
# ```{math}
# :label: softmax-jacobian
# \frac{\partial p_i}{\partial o_j} = p_i \, (\delta_{ij} - p_j), \qquad
# \mathbf{J} = \operatorname{diag}(\mathbf{p}) - \mathbf{p} \mathbf{p}^\top .
# ```

# %%
J = torch.diag(p) - torch.outer(p, p)
print(J)
print('autograd agrees:', torch.allclose(
    J, torch.func.jacrev(lambda o: o.softmax(-1))(o), atol=1e-6))

# %% [markdown]
# The first column answers our question. If the score of the cat rises, the probability of the cat rises at the rate
# $p_1 (1 - p_1) = 0.208$. The probabilities of the dog and the bird fall at the rates $p_2 p_1 = 0.183$ and
# $p_3 p_1 = 0.025$. The changes sum to zero, because the probabilities always sum to one.
#
# ````{prf:theorem} The shape of the Jacobian
# :label: thm-softmax-jacobian
# $\mathbf{J}$ is symmetric and positive semidefinite. $\mathbf{J} \mathbf{v} = \mathbf{0}$ if and only if $\mathbf{v}$ is
# a multiple of $\mathbf{1}$, so the rank of $\mathbf{J}$ is $q - 1$. The largest eigenvalue $\lambda_{\max}$ of
# $\mathbf{J}$ obeys $\max_i p_i (1 - p_i) \le \lambda_{\max} \le 2 \max_i p_i (1 - p_i)$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# The formula is symmetric, and $\mathbf{v}^\top \mathbf{J} \mathbf{v} = \sum_i p_i v_i^2 - \big( \sum_i p_i v_i
# \big)^2$ is the variance of $v_i$ when label $i$ is drawn with probability $p_i$: never negative, and zero only if all
# $v_i$ are equal, since all $p_i$ are positive. For a positive semidefinite matrix,
# $\mathbf{v}^\top \mathbf{J} \mathbf{v} = 0$ and $\mathbf{J} \mathbf{v} = \mathbf{0}$ mean the same. For the lower bound
# take $\mathbf{v}$ to be a unit vector $\mathbf{e}_i$. For the upper one let $|v_i|$ be the largest entry of an
# eigenvector, and divide row $i$ of $\mathbf{J} \mathbf{v} = \lambda \mathbf{v}$ by it: $\lambda$ is at most the sum of
# the absolute values of the row, $p_i (1 - p_i) + p_i \sum_{j \ne i} p_j = 2 p_i (1 - p_i)$.
#
# The second smallest eigenvalue is at least $\min_i p_i$: on vectors with $\sum_i v_i = 0$ the variance is the least of
# $\sum_i p_i (v_i - c)^2$ over all $c$, hence at least $\min_i p_i \cdot \sum_i (v_i - c)^2 \ge \min_i p_i \,
# \|\mathbf{v}\|^2$.
# ````
#
# If one probability is near 1, each product $p_i (1 - p_i)$ is near zero. By the theorem, all of $\mathbf{J}$ is then near
# zero. We say that the softmax **saturates**. Derivatives that pass through it become tiny, even if the answer is wrong.
# This is one reason why classifiers are trained on the *logarithm* of the probability: the derivative in
# {eq}`softmax-log-gradient` does not have the factor $p_i$. Saturation is also a problem in
# [attention](../attention/scaled_dot_product_attention.ipynb).
#
# ### Backpropagation without the matrix
#
# A language model that chooses among 50,000 words has a Jacobian with $50{,}000^2 = 2.5 \cdot 10^9$ entries. But we need
# not store it. Let $\mathbf{g}$ be the derivatives of a loss with respect to $\mathbf{p}$. Backpropagation needs only
# the product $\mathbf{J}^\top \mathbf{g}$, the derivatives with respect to the scores. Because $\mathbf{J}$ is a
# diagonal matrix minus an outer product, this product is
#
# ```{math}
# :label: softmax-vjp
# \mathbf{J}^\top \mathbf{g} = \mathbf{p} \odot (\mathbf{g} - \bar g \, \mathbf{1}), \qquad
# \bar g = \mathbf{p}^\top \mathbf{g} ,
# ```
#
# where $\odot$ multiplies entry by entry. This takes only about $4q$ operations.

# %%
def softmax_vjp(p, g):
    """The derivatives by the scores, from those by the probabilities."""
    return p * (g - (p * g).sum(-1, keepdim=True))    # (..., q)

g = torch.tensor([1.0, 0.0, 0.0])
print(softmax_vjp(p, g), J.T @ g)

# %% [markdown]
# ```{exercise} ★★★ Program: the small entries of the derivative
# :label: softmax-digits
#
# For the scores $(40, 0)$ and $\mathbf{g} = (1, 0)$ in float64, `softmax_vjp` and PyTorch return 0 for the first
# derivative. In truth it is $e^{-40} \approx 4 \cdot 10^{-18}$. Write `accurate_vjp(p, g)` for vectors `p` and `g`, so
# that small derivatives keep their digits, too. Hint: $\mathbf{J}\mathbf{1} = \mathbf{0}$, so you may add any $c\mathbf{1}$ to $\mathbf{g}$.
# ```

# %%
def accurate_vjp(p, g):
    """The derivatives by the scores, from those by the probabilities.

    p, all positive with sum 1, g and the result are float64 tensors (q,).
    The relative error of an entry is below 1e-9, unless its terms cancel.
    For p and g equal to torch.tensor([0.75, 0.25]) it is [0.09375, -0.09375].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def exact_vjp(o, g):
    with localcontext(wide):
        p, g = exact_softmax(o), [Decimal(v) for v in g.tolist()]
        mean = sum(a * b for a, b in zip(p, g))
        return double([float(a * (b - mean)) for a, b in zip(p, g)])

def from_scores(vjp):
    return lambda o, g: vjp(o.softmax(-1), g)

def no_terms_cancel(o, g):
    p, d = scipy.special.softmax(o), g - g[o.argmax()]
    return (abs(d - p @ d) >= 1e-3 * (abs(d) + p @ abs(d))).all()

def ahead(lead):  # scores the largest of which leads by this much, or more
    return vectors((2, 5), -3, 3, edges=True).map(lambda o: double(o + lead * (o == o.max())))

leads = dict(
    o=on(20, 80, 0).flatmap(ahead),
    g=lambda o: vectors(len(o)).filter(lambda g: no_terms_cancel(o.numpy(), g)).map(double),
    atol=1e-95, rtol=1e-9)
grade(from_scores(accurate_vjp), exact_vjp, **leads)

# %% [markdown]
# ```{solution-start} softmax-digits
# :class: dropdown
# ```
# If $p_m$ is near 1, then $\bar g$ is near $g_m$, and their difference loses its digits; once $p_m$ rounds to 1,
# nothing is left. So take $g_m$ off all entries first:
#
# ```{math}
# :label: softmax-vjp-centred
# \mathbf{J}^\top \mathbf{g} = \mathbf{p} \odot (\mathbf{d} - \mathbf{p}^\top \mathbf{d} \, \mathbf{1}), \qquad
# \mathbf{d} = \mathbf{g} - g_m \mathbf{1} .
# ```
#
# Now $d_m = 0$, so the large probability is multiplied by zero, and the sum is made up of small terms alone. Taking off
# the mean of $\mathbf{g}$, or its first entry, is right as well, but keeps the digits only by luck. Does it
# matter? Not for a loss with larger derivatives elsewhere, but it does if you take logarithms or ratios of these
# derivatives, or train in half precision, where a lead of 9 already rounds to certainty.

# %% jupyter={"source_hidden": true}
def accurate_vjp_solution(p, g):
    return softmax_vjp(p, g - g[p.argmax()])

def not_centred_at_all(p, g):
    return softmax_vjp(p, g)

def centred_by_the_mean(p, g):
    return softmax_vjp(p, g - g.mean())

def centred_by_the_first(p, g):
    return softmax_vjp(p, g - g[0])

assert grade(from_scores(accurate_vjp_solution), exact_vjp, **leads)
assert not grade(from_scores(not_centred_at_all), exact_vjp, **leads)
assert not grade(from_scores(centred_by_the_mean), exact_vjp, **leads)
assert not grade(from_scores(centred_by_the_first), exact_vjp, **leads)
for dtype in (torch.float16, torch.float32):
    sure = torch.tensor([9, 0], dtype=dtype).softmax(-1)
    print(f'{dtype}, scores (9, 0): 1 - p_1 = {1 - sure[0].item():.2e}')

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★★ Pencil: how far can a push reach?
# :label: softmax-lipschitz
#
# The scores move in the direction $\mathbf{v}$. Show that
# $\big\| \frac{d}{dt} \operatorname{softmax}(\mathbf{o} + t \mathbf{v}) \big\|_1$ is at most half the difference of the
# largest and the smallest entry of $\mathbf{v}$. Write `fastest(v)`, the probabilities for which this norm
# is largest.
# ```

# %%
def fastest(v):
    """Probabilities that move fastest in the direction v, in the 1-norm.

    v and the result are arrays of shape (q,), q >= 1. The result is not
    negative and sums to 1; it may have zeros, which a softmax comes near to.
    fastest(np.array([3., 1.])) is [0.5, 0.5].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def speed_of(answer):
    def speed(v):
        p = np.asarray(answer(v), float)
        if p.shape != v.shape or p.min() < 0 or not np.isclose(p.sum(), 1):
            raise TypeError(f'{p.tolist()} are no probabilities of {len(v)} labels')
        return (p * abs(v - p @ v)).sum()
    return speed

def half_the_range(v):
    return np.ptp(v) / 2

directions = dict(v=vectors((1, 5), edges=True))
grade(speed_of(fastest), half_the_range, **directions)

# %% [markdown]
# ```{solution-start} softmax-lipschitz
# :class: dropdown
# ```
# The derivative has the entries $p_i (v_i - \bar v)$ with $\bar v = \mathbf{p}^\top \mathbf{v}$, so we look for the
# largest mean distance $\sum_i p_i |v_i - \bar v|$ of a random entry from its mean. Let the entries lie in $[a, b]$.
# The function $|v - \bar v|$ of $v$ is convex, so it lies below its chord over $[a, b]$. Moving all probability to the
# two ends, with the same mean, can only raise the sum. With probability $w$ at $b$ the mean is $\bar v = a + w (b - a)$
# and the sum is $2 w (1 - w) (b - a) \le (b - a) / 2$, with equality at $w = \frac12$, and the softmax comes as near to
# this $\mathbf{p}$ as we like. Wrong answers look at the sizes of the entries without their signs, treat all labels
# alike, or prefer the largest entry.

# %% jupyter={"source_hidden": true}
def fastest_solution(v):
    p = np.zeros(len(v))
    p[v.argmax()] += 0.5
    p[v.argmin()] += 0.5
    return p

def of_the_sizes(v):
    return fastest_solution(abs(v))

def all_alike(v):
    return np.full(len(v), 1 / len(v))

def mostly_the_largest(v):
    return 0.2 * fastest_solution(v) + 0.8 * np.eye(len(v))[v.argmax()]

assert grade(speed_of(fastest_solution), half_the_range, **directions)
assert not grade(speed_of(of_the_sizes), half_the_range, **directions)
assert not grade(speed_of(all_alike), half_the_range, **directions)
assert not grade(speed_of(mostly_the_largest), half_the_range, **directions)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ### What softmax maximizes
#
# The softmax is the gradient of log-sum-exp:
#
# ```{math}
# :label: softmax-lse
# \nabla_{\mathbf{o}} \operatorname{LSE}(\mathbf{o}) = \operatorname{softmax}(\mathbf{o}) .
# ```
#
# The softmax also maximizes a sum of two terms. The mean score $\mathbf{p}^\top \mathbf{o}$ alone is largest if $\mathbf{p}$
# puts all probability on the largest score. The entropy $H(\mathbf{p}) = -\sum_j p_j \log p_j$ (with $0 \log 0 = 0$) alone
# is largest if all probabilities are equal. Their sum is largest at the softmax:
#
# ````{prf:theorem} Softmax maximizes score plus entropy
# :label: thm-softmax-entropy
# For all probabilities $\mathbf{p}$, $\ \mathbf{p}^\top \mathbf{o} + H(\mathbf{p}) \le \operatorname{LSE}(\mathbf{o})$,
# with equality only for $\mathbf{p} = \operatorname{softmax}(\mathbf{o})$.
#
# Let $E$ be a number strictly between the smallest score and the largest. Then there is exactly one real number $\beta$,
# perhaps negative, for which $\operatorname{softmax}(\beta \mathbf{o})$ has the mean score $E$. Of all $\mathbf{p}$ with
# this mean score, $\operatorname{softmax}(\beta \mathbf{o})$ has the largest entropy.
# ````
#
# ````{prf:proof}
# :class: dropdown
# Write $\mathbf{s} = \operatorname{softmax}(\mathbf{o})$, so that $o_i = \log s_i + \operatorname{LSE}(\mathbf{o})$. Then
#
# $$
# \mathbf{p}^\top \mathbf{o} + H(\mathbf{p}) - \operatorname{LSE}(\mathbf{o}) = \sum_i p_i \log \frac{s_i}{p_i}
# \le \sum_i p_i \Big( \frac{s_i}{p_i} - 1 \Big) \le 0 ,
# $$
#
# with sums over the labels with $p_i > 0$, because $\log t \le t - 1$ with equality only at $t = 1$, and because the
# $s_i$ sum to at most one there. Equality needs $p_i = s_i$ in all these terms, and a sum of all $s_i$.
#
# For the second part apply this to $\beta \mathbf{o}$: among all $\mathbf{p}$ with $\mathbf{p}^\top \mathbf{o} = E$ the
# term $\beta E$ is a constant, so $H$ alone is largest at $\operatorname{softmax}(\beta \mathbf{o})$, if that has mean
# $E$. One $\beta$ does it: by {eq}`softmax-beta` the mean rises strictly, from the smallest score at $-\infty$ to the
# largest at $\infty$.
#
# In physics, the probabilities with the largest entropy for a given mean energy are called Boltzmann's distribution
# {cite}`jaynes1957information`.
# ````
#
# ```{exercise} ★★ Program: a loaded die
# :label: softmax-die
#
# A die shows 4.5 points on average in place of 3.5, and that is all you know. Which probabilities of the six faces have
# this mean and the largest entropy? Write `loaded(mean)`, which returns them for a mean strictly between 1 and 6.
# ```

# %%
def loaded(mean):
    """The probabilities of the faces 1 to 6: an array of shape (6,).

    They have this mean, a float with 1 < mean < 6, and the largest entropy.
    loaded(3.5) is one sixth for each face.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_roots(mean):  # each face is x times as likely as the one before: a polynomial in x with one positive root
    roots = np.roots(np.arange(6, 0, -1) - mean)
    x = roots[abs(np.angle(roots)).argmin()].real
    return x ** np.arange(6) / (x ** np.arange(6)).sum()

means = dict(mean=scalars(1.001, 5.999) | on(3.5, 1 + 1e-9, 1.1, 5.9, 6 - 1e-9))
grade(loaded, by_roots, **means)

# %% [markdown]
# ```{solution-start} softmax-die
# :class: dropdown
# ```
# By {prf:ref}`thm-softmax-entropy` the answer is $\operatorname{softmax}(\beta \cdot (1, \dots, 6))$, and its mean
# increases with $\beta$, so there is one $\beta$ with the right mean. Probabilities on a line with the right mean look
# innocent, but they claim more than is known, and for extreme means some of them are negative. A search for $\beta$
# between $-2$ and 2 ends before the mean 1.1, and the slope of the mean at $\beta = 0$ is right near 3.5 alone.

# %% jupyter={"source_hidden": true}
faces = np.arange(1, 7)

def loaded_solution(mean):
    def excess(beta):
        return scipy.special.softmax(beta * faces) @ faces - mean
    beta = brentq(excess, -50, 50, xtol=1e-12)
    return scipy.special.softmax(beta * faces)

def on_a_line(mean):
    centred = faces - 3.5
    return 1 / 6 + (mean - 3.5) / (centred @ centred) * centred

def searches_too_near(mean):
    beta = brentq(lambda beta: scipy.special.softmax(beta * faces) @ faces - mean, -2, 2, xtol=1e-12)
    return scipy.special.softmax(beta * faces)

def first_order(mean):
    return scipy.special.softmax((mean - 3.5) / faces.var() * faces)

assert grade(loaded_solution, by_roots, **means)
assert not grade(on_a_line, by_roots, **means)
assert not grade(searches_too_near, by_roots, **means)
assert not grade(first_order, by_roots, **means)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: a noisy contest
# :label: softmax-contest
#
# Add independent noise to each of the scores 2, 1 and −1. The label with the largest noisy score wins. The noise is a **Gumbel variable**,
# $-\log(-\log U)$ with $U$ uniform between 0 and 1. Predict how often cat, dog and bird win, as a list of three shares
# with three decimals. Then play 100,000 contests. What changes with normal noise of the same variance, $\pi^2/6$?
# ```

# %%
def predicted_shares():
    """How often cat, dog and bird win: three shares in a list.

    Each is at most 0.004 away from what 100,000 contests give, and so is
    their sum: [0.333, 0.333, 0.334], for example, if the noise decides.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def play(noise, scores=(2, 1, -1), N=100_000):
    sums = np.array(scores) + noise(np.random.default_rng(0), (N, 3))
    return np.bincount(sums.argmax(1), minlength=3) / N

def gumbel(rng, shape):
    return -np.log(-np.log(rng.random(shape)))

def with_sum(shares):
    return [*shares, sum(shares)]

def played():
    return with_sum(play(gumbel))

closely = dict(atol=0.004, rtol=0)
grade(lambda: with_sum(predicted_shares()), played, [()], **closely)

# %% [markdown]
# ```{solution-start} softmax-contest
# :class: dropdown
# ```
# They win with the probabilities of the softmax. A Gumbel variable $G$ has the distribution function $e^{-e^{-t}}$, and
# all sums must stay below $t$, so
#
# ```{math}
# :label: softmax-gumbel
# \Pr\big( \max_j (o_j + G_j) \le t \big) = \prod_{j=1}^{q} \exp\big( {-e^{o_j - t}} \big)
# = \exp\big( {-e^{\operatorname{LSE}(\mathbf{o}) - t}} \big) .
# ```
#
# The largest sum is a Gumbel variable again, moved by $\operatorname{LSE}(\mathbf{o})$. So the smooth maximum is
# the *expected maximum* of the contest, up to the mean $\gamma \approx 0.577$ of the noise. And who wins? If $o_i$
# rises a little, the maximum rises at the rate one if $i$ is the winner and at the rate zero if not, that is, on
# average with the probability that $i$ wins. Therefore, by {eq}`softmax-lse`,
#
# ```{math}
# :label: softmax-gumbel-winner
# \Pr\big( i = \arg\max_j (o_j + G_j) \big) = \frac{\partial}{\partial o_i} \mathbb{E} \max_j (o_j + G_j)
# = \operatorname{softmax}(\mathbf{o})_i .
# ```
#
# (The difference quotients lie between 0 and 1, so mean and derivative may be exchanged.) You can thus draw from a
# softmax without computing a sum; [The reparameterization trick](../probability/reparameterization.ipynb) makes this
# differentiable. Normal noise of the same variance gives other shares, near ones but not the softmax. With the noise
# upside down, $\log(-\log U)$, the shares are wrong as well.

# %% jupyter={"source_hidden": true}
def turned_over(rng, shape):
    return -gumbel(rng, shape)

def normal_noise(rng, shape):
    return np.pi / 6**0.5 * rng.normal(size=shape)

for name, noise in (
    ('Gumbel', gumbel),
    ('turned over', turned_over),
    ('normal', normal_noise),
):
    print(f'{name:12}', play(noise).round(3))
correct = with_sum([0.705, 0.259, 0.035])
assert grade(lambda: correct, played, [()], **closely)
for wrong in (
    [1, 0, 0],
    [0.5, 0.35, 0.15],
    [0.70, 0.25, 0.03],
    list(play(turned_over)),
    list(play(normal_noise)),
    None,
):
    assert not grade(lambda: with_sum(wrong), played, [()], **closely)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def jacobian(p):
    return torch.diag(p) - torch.outer(p, p)

def is_jacobian(formula, o):
    o, h = double(o), 1e-5 * torch.eye(4, dtype=torch.float64)
    central = (stable_softmax(o + h) - stable_softmax(o - h)) / 2e-5
    return (close(formula(stable_softmax(o)), central.T, atol=1e-9)
            and close(torch.func.jacrev(lambda o: o.softmax(0).log())(o), torch.eye(4) - o.softmax(0).expand(4, 4)))

verify(
    'the Jacobian is diag(p) - p pᵀ',
    lambda o: is_jacobian(jacobian, o),
    slip=('applies the sigmoid slope entry by entry', lambda o: is_jacobian(lambda p: torch.diag(p * (1 - p)), o)),
    o=vectors(4, -5, 5), tries=30,
)

def shaped(o, factor):
    p = stable_softmax(double(o))
    lam, most = torch.linalg.eigvalsh(jacobian(p)), (p * (1 - p)).max()
    flat = close(jacobian(p).sum(1), torch.zeros(len(p)))
    return bool(flat and abs(lam[0]) < 1e-14 and lam[1] >= (1 - 1e-9) * p.min()
                and most * (1 - 1e-12) <= lam[-1] <= factor * most * (1 + 1e-12))

verify(
    'one null vector, the other eigenvalues positive and within bounds',
    lambda o: shaped(o, factor=2),
    slip=('takes the largest p (1 - p) for the largest eigenvalue', lambda o: shaped(o, factor=1)),
    o=vectors(4, -5, 5), tries=100,
)

def pulls_back(seed, vjp):
    rows, g = torch.randn(2, 6, 7, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    rows.requires_grad_()
    want, = torch.autograd.grad(rows.softmax(-1), rows, g)
    return close(vjp(stable_softmax(rows), g), want)

verify(
    'the product with the transposed Jacobian is that of autograd, for many rows at once',
    lambda seed: pulls_back(seed, softmax_vjp),
    slip=('subtracts the plain mean', lambda seed: pulls_back(seed, lambda p, g: p * (g - g.mean(-1, keepdim=True)))),
    seed=seeds(), tries=30,
)

def digits_kept(vjp, o, g):  # beside the size of the terms that are added
    p, m = exact_softmax(o), o.argmax()
    d = (g - g[m]).abs()
    size = double([float(v) for v in p]) * (d + (double([float(v) for v in p]) * d).sum())
    return bool(((vjp(stable_softmax(o), g) - exact_vjp(o, g)).abs() <= 1e-12 * size).all())

verify(
    'centring the incoming slopes keeps the digits of the outgoing ones',
    lambda o, g: digits_kept(accurate_vjp_solution, o, g),
    slip=('leaves them as they are', lambda o, g: digits_kept(softmax_vjp, o, g)),
    o=vectors(3, -150, 150).map(double), g=vectors(3).filter(np.ptp).map(double), tries=100,
)

# %% tags=["checks"]
def push(v, w):  # the norm for all pairs of entries that share the probability as w and 1 - w
    best = 0
    for i in range(len(v)):
        for j in range(i):
            p = np.zeros(len(v))
            p[i], p[j] = w, 1 - w
            best = max(best, p @ abs(v - p @ v))
    return best

verify(
    'half the range of a push bounds its effect, and two equal shares reach it',
    lambda v, o: close(push(v, 0.5), np.ptp(v) / 2)
    and scipy.special.softmax(o) @ abs(v - scipy.special.softmax(o) @ v) <= np.ptp(v) / 2 + 1e-12,
    slip=('takes a quarter', lambda v, o: scipy.special.softmax(o) @ abs(v - scipy.special.softmax(o) @ v) <= np.ptp(v) / 4),
    v=vectors(4), o=vectors(4),
)

def is_slope_of_lse(form, o):
    h = 1e-5 * np.eye(len(o))
    central = (scipy.special.logsumexp(o + h, axis=1) - scipy.special.logsumexp(o - h, axis=1)) / 2e-5
    return close(form(o), central)

verify(
    'softmax is the gradient of log-sum-exp',
    lambda o: is_slope_of_lse(scipy.special.softmax, o),
    slip=('takes the gradient of the maximum', lambda o: is_slope_of_lse(lambda o: np.eye(len(o))[o.argmax()], o)),
    o=vectors(4, -5, 5),
)

def by_solver(o, tau):  # the largest p·o + tau H(p)
    q = len(o)
    result = minimize(
        lambda p: -p @ o - tau * entr(p).sum(), np.full(q, 1 / q), jac=lambda p: tau * (np.log(p) + 1) - o,
        bounds=[(1e-9, 1)] * q, method='SLSQP', options={'ftol': 1e-14},
        constraints={'type': 'eq', 'fun': lambda p: p.sum() - 1})
    return result.x, -result.fun

def is_best(o, tau, value, best):
    p, most = by_solver(o, tau)
    return close(p, best, atol=1e-5) and close(most, value, atol=1e-9)

verify(
    'score plus tau times entropy is largest at softmax(o / tau)',
    lambda o, tau: is_best(o, tau, tau * scipy.special.logsumexp(o / tau), scipy.special.softmax(o / tau)),
    slip=('multiplies the scores by the temperature',
          lambda o, tau: is_best(o, tau, scipy.special.logsumexp(tau * o) / tau, scipy.special.softmax(tau * o))),
    o=vectors(4, -2, 2).filter(np.ptp), tau=[0.5, 1, 2], tries=40,
)

# %% tags=["checks"]
def contest(o, seed, noise, N=20_000):  # within five standard errors; a Gumbel variable has variance pi² / 6
    sums = o + noise(np.random.default_rng(seed), (N, len(o)))
    share = np.bincount(sums.argmax(1), minlength=len(o)) / N
    p, mean = scipy.special.softmax(o), scipy.special.logsumexp(o) + np.euler_gamma
    return (bool((abs(share - p) < 5 * np.sqrt(p * (1 - p) / N)).all()),
            abs(sums.max(1).mean() - mean) < 5 * np.pi / np.sqrt(6 * N))

verify(
    'the winner of a Gumbel contest is drawn from the softmax',
    lambda o, seed: contest(o, seed, gumbel)[0],
    slip=('turns the noise over', lambda o, seed: contest(o, seed, turned_over)[0]),
    o=vectors(3, -1, 1), seed=seeds(), tries=60,
)
verify(
    'the mean of its largest sum is log-sum-exp plus gamma',
    lambda o, seed: contest(o, seed, gumbel)[1],
    slip=('turns the noise over', lambda o, seed: contest(o, seed, turned_over)[1]),
    o=vectors(3, -1, 1), seed=seeds(), tries=60,
)

# %% [markdown]
# ## Summary
#
# Softmax turns scores into probabilities. They depend on the differences of the scores alone, so you may subtract the
# largest score, which prevents overflow. If a classifier is overconfident, a temperature chosen on pictures that were not
# used for training brings its confidence near its share of right answers, and no answer changes. The Jacobian
# $\operatorname{diag}(\mathbf{p}) - \mathbf{p}\mathbf{p}^\top$ is nearly zero if one probability is near 1, so training
# uses the logarithm of the softmax.
#
# **Further reading.** {cite}`zhang2023dive`, chapter 4, introduces softmax for classification. {cite}`guo2017calibration`
# is the source of temperature scaling and shows it on deep networks. {cite}`blanchard2021accurately` is for readers who
# care about the last digits. {cite}`martins2016softmax` presents sparsemax, whose probabilities can be exactly zero
# (built in [Convex sets](../optimization/convex_sets.ipynb)).
