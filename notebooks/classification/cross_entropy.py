# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Cross-entropy
#
# - **Question.** What should a forecast lose that gave the true answer a probability of 0.7, and what does that loss
#   teach a classifier?
# - **You need** [Maximum likelihood](../probability/maximum_likelihood.ipynb),
#   [Gradient descent](../optimization/gradient_descent.ipynb), and softmax, which turns scores into probabilities.
# - **You build** the loss, a form of it that no score can break, its gradient, and a classifier that reads handwritten
#   digits.
# - **Time** 8 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %%
import heapq
from dataclasses import dataclass

import matplotlib.pyplot as plt
import mpmath
import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import minimize_scalar
from scipy.stats import entropy as scipy_entropy
from scipy.stats import gmean
from sklearn.linear_model import LogisticRegression

from nbutils.cases import integers, seeds, vectors
from nbutils.checks import close, grade, holds
from nbutils.data import digits
from nbutils.device import best
from nbutils.figures import GREY, label_lines, panels, show_image

plt.style.use('nbutils.book')
torch.set_default_dtype(torch.float64)

# %% [markdown]
# ## The probability of what happened
#
# Two forecasters name a probability of rain each morning. Who is better? Wait for the evening, look up the probability
# that each had given to *what then happened*, and do this for many days. A classifier is judged in the same way. For
# example $i$ it announces a vector $\hat{\mathbf{y}}^{(i)}$ of probabilities for $q$ labels, and the world answers with
# one label. If the examples are independent given their inputs, the probability that the model gave to all answers
# together is the product:
#
# ```{math}
# :label: dl.loglik.product
# P(\mathbf{Y} \mid \mathbf{X}) = \prod_{i=1}^{n} P\big(\mathbf{y}^{(i)} \mid \mathbf{x}^{(i)}\big)
# ```
#
# Independence is essential. The check draws 20,000 pairs of labels and compares the frequency of each of the nine
# outcomes with the product, within five standard errors. In the control the second label is a copy of the first, as
# happens when a data set contains the same photograph twice.

# %%
def worst_outcome(seed, copied=False):  # in standard errors
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([4, 4, 4])
    a, b = rng.choice(3, p=p, size=(2, 20_000))
    counts = np.bincount(3 * a + (a if copied else b), minlength=9)
    joint = np.outer(p, p).ravel()
    errors = np.sqrt(a.size * joint * (1 - joint))
    return abs((counts - a.size * joint) / errors).max()

holds(
    'dl.loglik.product',
    lambda seed: worst_outcome(seed) < 5,
    control=lambda seed: worst_outcome(seed, copied=True) < 5,
    seed=seeds(), tries=40,
)

# %% [markdown]
# A product of many probabilities is unusable on a computer: 1797 factors of one half are already below the smallest
# positive float. Its logarithm is a harmless sum. So instead of making the likelihood large we make its negative
# logarithm small, which asks for the same parameters since the logarithm increases.

# %%
likelihood = torch.full((1797,), 0.5).prod()
log_likelihood = torch.full((1797,), 0.5).log().sum()
assert likelihood == 0
print('product of 1797 factors 1/2 comes out as zero:', bool(likelihood == 0))
print(f'sum of their logarithms: {log_likelihood:.1f}')

# %% [markdown]
# Every example contributes $-\log$ of the probability of its own label. Write the label as a *one-hot* vector
# $\mathbf{y}$, which has a 1 at the true label and zeros elsewhere; then this is a sum over labels in which one term
# survives:
#
# ```{math}
# :label: dl.loglik.cross-entropy
# l(\mathbf{y}, \hat{\mathbf{y}}) = - \sum_{j=1}^{q} y_j \log \hat{y}_j
# ```
#
# This is the *cross-entropy*. It is never negative, and zero only if the true label got probability one. A probability
# of zero for what happened costs infinity; a term with $y_j = 0$ counts as zero even where $\hat{y}_j = 0$, by the
# convention $0 \log 0 = 0$ that `xlogy` obeys. The formula makes sense for any distribution $\mathbf{y}$, a *soft*
# label, too. The control swaps the two arguments: they play different roles.

# %%
def cross_entropy(y_hat, y):  # (..., q), (..., q) -> (...)
    return -torch.xlogy(y, y_hat).sum(-1)

def swapped(y_hat, y):
    return cross_entropy(y, y_hat)

def agrees(loss, o, z, label):
    o, soft = torch.tensor(o), torch.softmax(torch.tensor(z), 0)
    y_hat, hard = torch.softmax(o, 0), F.one_hot(torch.tensor(label), 4)
    return (close(loss(y_hat, soft), F.cross_entropy(o, soft))
            and close(loss(y_hat, hard), -y_hat[label].log()))

holds(
    'dl.loglik.cross-entropy',
    lambda o, z, label: agrees(cross_entropy, o, z, label),
    control=lambda o, z, label: agrees(swapped, o, z, label),
    o=vectors(4, -5, 5), z=vectors(4, -5, 5), label=integers(0, 3),
)
sure = torch.eye(2)
assert close(cross_entropy(sure[0], sure), [0, np.inf])

# %% [markdown]
# Summed over the examples it is the negative logarithm of {eq}`dl.loglik.product`, and PyTorch's `nll_loss`:

# %%
generator = torch.Generator().manual_seed(0)
y_hat = torch.softmax(torch.randn(6, 3, generator=generator), -1)  # (n, q)
labels = torch.tensor([0, 2, 1, 1, 0, 2])
total = cross_entropy(y_hat, F.one_hot(labels, 3)).sum()
assert close(total, -y_hat[range(6), labels].prod().log())
assert close(total, F.nll_loss(y_hat.log(), labels, reduction='sum'))

# %% mystnb={"figure": {"caption": "The loss grows without bound as the probability given to what happened goes to zero: 0.7 costs 0.36, 0.1 costs 2.30 and 0.01 costs 4.61."}, "image": {"alt": "The curve of minus log p for p between 0 and 1: it falls from infinity at zero to zero at one, steeply at first."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.6))
p = np.linspace(0.002, 1, 500)
ax.plot(p, -np.log(p))
for q in (0.01, 0.1, 0.7):
    ax.plot(q, -np.log(q), 'C1o')
    ax.annotate(f'p = {q}: loss {-np.log(q):.2f}', (q, -np.log(q)),
                xytext=(8, 2), textcoords='offset points')
ax.set(xlabel='probability p given to the true label', ylabel='loss −log p');

# %% [markdown]
# ```{exercise} ★ Lost among how many?
# :label: cross_entropy-perplexity
# The *perplexity* of a model is $e^{\bar l}$ with $\bar l$ the mean loss over the examples: the number of equally
# likely labels among which one would be as lost. Write `perplexity(y_hat, labels)` for probabilities of shape `(n, q)`
# and integer labels of shape `(n,)`.
# ```

# %%
def perplexity(y_hat, labels):
    raise NotImplementedError('your turn')

# %%
def by_geometric_mean(y_hat, labels):
    return 1 / gmean(y_hat[range(len(labels)), labels].numpy())

perplexity_cases = [
    (torch.full((5, 8), 1 / 8), torch.arange(5)),
    (torch.tensor([[0.9, 0.1], [0.2, 0.8]]), torch.tensor([0, 0])),
    (torch.tensor([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.5, 0.1, 0.4]]),
     torch.tensor([2, 1, 0])),
]
grade(perplexity, by_geometric_mean, perplexity_cases)

# %% [markdown]
# ```{solution-start} cross_entropy-perplexity
# :class: dropdown
# ```
# Pick the probabilities, average their negative logarithms, exponentiate: the reciprocal of the *geometric* mean. The
# logarithm of the average probability is something else, and forgives a single bad miss.

# %% jupyter={"source_hidden": true}
def perplexity_solution(y_hat, labels):
    return (-y_hat[torch.arange(len(labels)), labels].log()).mean().exp()

def log_of_the_mean(y_hat, labels):
    return 1 / y_hat[torch.arange(len(labels)), labels].mean()

assert grade(perplexity_solution, by_geometric_mean, perplexity_cases)
assert not grade(log_of_the_mean, by_geometric_mean, perplexity_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Surprise, measured in bits
#
# Why the logarithm? Call $s(p)$ the *surprise* at an event of probability $p$. Two independent events have probability
# $p\,q$, and their surprises should add: $s(pq) = s(p) + s(q)$. With $p = e^{-t}$ this says that $t \mapsto s(e^{-t})$
# turns sums into sums; the only decreasing functions $s$ that do so are $s(p) = -c \log p$ with $c > 0$. The constant
# is the unit: $c = 1$ gives *nats*, $c = 1/\log 2$ *bits*, one for each fair coin toss.
#
# If events really follow the distribution $\mathbf{y}$, the mean surprise of someone who believes $\hat{\mathbf{y}}$ is
# $l(\mathbf{y}, \hat{\mathbf{y}})$. Who believes the truth is surprised by $H(\mathbf{y}) = -\sum_j y_j \log y_j$ on
# average, the *entropy*. Nobody can be surprised less:
#
# ````{prf:theorem} Gibbs' inequality
# :label: thm-gibbs
# For distributions $\mathbf{y}$ and $\hat{\mathbf{y}}$ on $q$ labels,
# $l(\mathbf{y}, \hat{\mathbf{y}}) \ge H(\mathbf{y})$, with equality only for $\hat{\mathbf{y}} = \mathbf{y}$.
# ````
#
# ````{prf:proof}
# Use $\log t \le t - 1$, with equality only at $t = 1$. If $\hat{y}_j = 0 < y_j$ for some $j$, then $l$ is
# infinite. Otherwise, with sums over the labels with $y_j > 0$,
#
# $$
# H(\mathbf{y}) - l(\mathbf{y}, \hat{\mathbf{y}}) = \sum_j y_j \log \frac{\hat{y}_j}{y_j}
# \le \sum_j y_j \Big( \frac{\hat{y}_j}{y_j} - 1 \Big) = \sum_j \hat{y}_j - 1 \le 0 .
# $$
#
# Equality in the first place needs $\hat{y}_j = y_j$ wherever $y_j > 0$; then these $\hat{y}_j$ already sum to one, and
# the others are zero as well.
# ````
#
# The excess $D(\mathbf{y} \,\|\, \hat{\mathbf{y}}) = l(\mathbf{y}, \hat{\mathbf{y}}) - H(\mathbf{y})$, the price of a
# wrong belief, is the *Kullback-Leibler divergence*. The theorem says that the loss rewards honesty: a forecaster who
# believes 0.7 does best to say 0.7. Not every score has this virtue. The plain "one minus the probability of what
# happened" looks fair and drives the forecaster to bluff.

# %%
said = np.linspace(0.01, 0.99, 99)  # probability announced, for truth 0.7
belief = np.array([0.7, 0.3])
hats = np.stack([said, 1 - said], axis=-1)  # (99, 2)
scores = {
    'one minus p': (1 - hats) @ belief,
    'cross-entropy': -np.log(hats) @ belief,
}
best_said = {name: said[score.argmin()] for name, score in scores.items()}
assert close(best_said['cross-entropy'], 0.7)
assert close(best_said['one minus p'], 0.99)
excess = scores['cross-entropy'] - scipy_entropy(belief)
assert close(excess, [scipy_entropy(belief, y_hat) for y_hat in hats])

# %% mystnb={"figure": {"caption": "If the true probability is 0.7, the expected cross-entropy is least for announcing 0.7, where it equals the entropy; one minus $p$ rewards whoever exaggerates."}, "image": {"alt": "Expected score against the announced probability when the truth is 0.7. Cross-entropy is a valley with its bottom at 0.7 on the level of the entropy; one minus p falls straight towards announcing 1."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.9))
for name, score in scores.items():
    line, = ax.plot(said, score, label=name)
    ax.plot(best_said[name], score.min(), 'o', color=line.get_color())
ax.axhline(scipy_entropy(belief), color=GREY, lw=0.9, ls=':')
ax.text(0.01, scipy_entropy(belief) - 0.03, 'entropy', va='top')
ax.set(xlabel='announced probability', ylabel='expected score', ylim=(0, 2))
label_lines(ax, dx=8);

# %% [markdown]
# Surprise in bits is also file size. A code that spends $L_j$ bits on symbol $j$ acts as if it believed
# $\hat{y}_j = 2^{-L_j}$, so its mean length $\sum_j y_j L_j$ *is* a cross-entropy. Huffman's classical code
# {cite}`cover2006elements` joins the two rarest symbols again and again into a tree; each join costs all symbols below
# it one bit. Every split of the tree halves the belief, so the $2^{-L_j}$ sum to one, and by {prf:ref}`thm-gibbs` no
# such code beats the entropy. We build one for the 17 grey levels of 1347 digit images and send the $1797 - 1347 = 450$
# others with it.

# %%
def code_lengths(y):  # Huffman: (q,) probabilities -> (q,) bits
    lengths = np.zeros(len(y), int)
    heap = [(p, [j]) for j, p in enumerate(y)]
    heapq.heapify(heap)
    while len(heap) > 1:
        (p, below), (r, others) = heapq.heappop(heap), heapq.heappop(heap)
        lengths[below + others] += 1
        heapq.heappush(heap, (p + r, below + others))
    return lengths

levels = (digits().x * 16).astype(int)  # (1797, 64), 0 to 16
share = lambda v: np.bincount(v.ravel(), minlength=17) / v.size
known, sent = share(levels[:1347]), share(levels[1347:])
L = code_lengths(known)
assert (2.0 ** -L).sum() == 1

# %%
bits = {
    'all levels equally likely': np.log2(17),
    'Huffman code': sent @ L,
    'shares in the known images': -sent @ np.log2(known),
    'entropy of what was sent': scipy_entropy(sent, base=2),
}
for name, length in bits.items():
    print(f'{length:.2f} bits a pixel: {name}')
assert list(bits.values()) == sorted(bits.values(), reverse=True)

# %% [markdown]
# ## Log-sum-exp
#
# A linear classifier computes scores $\mathbf{o}$, the *logits*, and makes probabilities from them by softmax. Put
# softmax into the loss:
#
# ```{math}
# :label: dl.softmax-ce.substituted
# l = - \sum_{j=1}^{q} y_j \log \frac{\exp(o_j)}{\sum_{k=1}^{q} \exp(o_k)}
# ```
#
# The logarithm of a quotient is a difference, and $\log \exp(o_j) = o_j$:
#
# ```{math}
# :label: dl.softmax-ce.expanded
# l = \sum_{j=1}^{q} y_j \log \sum_{k=1}^{q} \exp(o_k) - \sum_{j=1}^{q} y_j o_j
# ```
#
# The inner sum does not depend on $j$, so it comes out of the sum over $j$, multiplied by $\sum_j y_j$. Here, and only
# here, we use that $\mathbf{y}$ sums to one:
#
# ```{math}
# :label: dl.softmax-ce.logsumexp
# l = \log \sum_{k=1}^{q} \exp(o_k) - \sum_{j=1}^{q} y_j o_j
# ```
#
# The first line is checked against PyTorch, the others against the line before. The second step holds for every
# $\mathbf{y}$, the third fails in its control, where $\mathbf{y}$ is not normalized.

# %%
def substituted(o, y):
    return -(y * np.log(np.exp(o) / np.exp(o).sum())).sum()

def expanded(o, y, sign=-1):
    return (y * np.log(np.exp(o).sum())).sum() + sign * (y * o).sum()

def short(o, y):
    return np.log(np.exp(o).sum()) - y @ o

def torch_value(o, y):
    return F.cross_entropy(torch.tensor(o), torch.tensor(y))

# %% tags=["hide-input"]
cases = dict(o=vectors(3), y=vectors(3, 0, 1).filter(np.any))
holds(
    'dl.softmax-ce.substituted',
    lambda o, y: close(substituted(o, y), torch_value(o, y)),
    control=lambda o, y: close(-substituted(o, y), torch_value(o, y)),
    **cases,
)
holds(
    'dl.softmax-ce.expanded',
    lambda o, y: close(expanded(o, y), substituted(o, y)),
    control=lambda o, y: close(expanded(o, y, sign=1), substituted(o, y)),
    **cases,
)
holds(
    'dl.softmax-ce.logsumexp',
    lambda o, y: close(short(o, y / y.sum()), expanded(o, y / y.sum())),
    control=lambda o, y: close(short(o, y), expanded(o, y)),
    **cases,
)

# %% [markdown]
# The function $\operatorname{LSE}(\mathbf{o}) = \log \sum_k \exp(o_k)$ is a smooth maximum. With $m = \max_k o_k$, the
# sum contains $e^m$ and has $q$ terms of at most $e^m$, so
#
# $$
# m \le \operatorname{LSE}(\mathbf{o}) \le m + \log q .
# $$
#
# The loss $\operatorname{LSE}(\mathbf{o}) - o_{\text{true}}$ is therefore, up to $\log q$, the distance by which the
# true label's score trails the best one.

# %%
inf = float('inf')

def logsumexp(o):  # (..., q) -> (...)
    m = o.max(-1, keepdim=True).values
    m = torch.where(m.isfinite(), m, 0)
    return m.squeeze(-1) + (o - m).exp().sum(-1).log()

o = 5 * torch.randn(1000, 10, generator=torch.Generator().manual_seed(1))
largest = o.max(-1).values
assert (largest <= logsumexp(o)).all()
assert (logsumexp(o) <= largest + np.log(10)).all()
for top in (inf, -inf):  # infinite logits
    o = torch.tensor([top, -inf])
    assert close(logsumexp(o), torch.logsumexp(o, -1))
grid = torch.linspace(-4, 4, 161)
smooth = logsumexp(torch.stack([grid, 0 * grid], -1))

# %% mystnb={"figure": {"caption": "Log-sum-exp is a smooth maximum: above the larger of $x$ and $0$, by at most $\\log 2$, which is reached where the two are equal."}, "image": {"alt": "The log-sum-exp of x and 0 as a smooth curve above the bent line max(x, 0), farthest from it at the bend, by log 2."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.5))
ax.plot(grid, grid.clamp(min=0), label='max(x, 0)')
ax.plot(grid, smooth, label='LSE(x, 0)')
ax.plot([0, 0], [0, np.log(2)], color=GREY, lw=1)
ax.text(-0.1, 0.85, 'log 2', ha='right')
ax.set(xlabel='x')
ax.legend();

# %% [markdown]
# The code above does not compute the sum as it is written. In float64 $\exp(710)$ is infinite already, and nothing keeps a
# logit below 710. The remedy is an identity. Since $\exp(o_k) = e^{m} \exp(o_k - m)$,
#
# $$
# \operatorname{LSE}(\mathbf{o}) = m + \log \sum_k \exp(o_k - m) .
# $$
#
# Now the largest exponent is exactly zero. Nothing overflows; the sum lies between 1 and $q$, so its logarithm is tame;
# terms that underflow are far too small to change a sum of at least 1. (Where the maximum itself is infinite, $m = 0$
# keeps $\infty - \infty$ away.) For the loss, subtract $m$ from *all* logits before anything else:

# %%
def softmax_cross_entropy(o, y):  # (..., q) twice -> (...); y adds up to 1
    z = o - o.max(-1, keepdim=True).values
    chosen = torch.where(y > 0, y * z, 0).sum(-1)  # not 0 times -inf
    return z.exp().sum(-1).log() - chosen

# %% [markdown]
# Extreme logits, with 60-digit arithmetic as the oracle. The last row shows why $m$ is subtracted first: near $10^{15}$
# neighbouring floats lie $1/8$ apart, and $\operatorname{LSE}(\mathbf{o}) - o_{\text{true}}$ can come out only as a
# multiple of that, whereas $o_k - m$ is exact here. A logit of $-\infty$ is legal: it forbids a label. (One of
# $+\infty$ is not.)

# %%
def naive(o, y):
    return o.exp().sum(-1).log() - (y * o).sum(-1)

def exact(o, label):
    with mpmath.workdps(60):
        total = mpmath.fsum(mpmath.exp(v) for v in o)
        return float(mpmath.log(total) - o[label])

extremes = {
    'large': ((1000, 0, 0), 1),
    'very negative': ((-1000, -1000, -1001), 2),
    'one forbidden': ((-inf, 3, 1), 2),
    'huge': ((1e300, 0, -1e300), 1),
    'huge and close': ((1e15, 1e15 + 0.5), 0),
}
for name, (logits, label) in extremes.items():
    o = torch.tensor(logits, dtype=torch.float64)
    y = F.one_hot(torch.tensor(label), len(o)).double()
    late, first = logsumexp(o) - o[label], softmax_cross_entropy(o, y)
    print(f'{name:14} naive {naive(o, y):6.4g}, m late {late:6.4g}, '
          f'm first {first:6.4g}')
    assert close(first, exact(logits, label), rtol=1e-12, atol=0)

# %% [markdown]
# ```{exercise} ★★ The last digits of a small loss
# :label: cross_entropy-small
# For $\mathbf{o} = (0, -40)$ and the first label the loss is about $e^{-40} \approx 4 \cdot 10^{-18}$, yet
# `softmax_cross_entropy` and PyTorch return 0: $1 + e^{-40}$ rounds to 1. Write `small_loss(o, label)` for a vector
# `o`, which keeps all digits and is safe for any finite logits. Hint: derive $l = \log\big(1 + e^{t}\big)$ with
# $t = \operatorname{LSE}_{k \ne \text{true}}(o_k) - o_{\text{true}}$, and look up `torch.logaddexp`.
# ```

# %%
def small_loss(o, label):
    raise NotImplementedError('your turn')

# %%
def loss_by_many_digits(o, label):
    with mpmath.workdps(60):
        total = mpmath.fsum(mpmath.exp(v) for v in o.tolist())
        return float(mpmath.log(total) - o[label].item())

small_cases = [(torch.tensor(o, dtype=torch.float64), label) for o, label in (
    ((0, -40), 0), ((0, -40), 1), ((900, 850, 840), 0), ((-2000, 2000, 5), 2),
    ((1e15, 1e15 - 2, 1e15 - 2), 0), ((0, 22), 0))]
grade(small_loss, loss_by_many_digits, small_cases, atol=0, rtol=1e-12)

# %% [markdown]
# ```{solution-start} cross_entropy-small
# :class: dropdown
# ```
# Divide the sum inside the logarithm by $e^{o_{\text{true}}}$: the true term becomes 1, the others add up to $e^t$.
# `logaddexp(0, t)` is $\log(e^0 + e^t)$, computed by `log1p`, which knows $\log(1 + x)$ for $x$ far below the spacing of
# floats near 1. Take $o_{\text{true}}$ off first: after the logarithm of the sum its digits are gone.

# %% jupyter={"source_hidden": true}
def small_loss_solution(o, label):
    others = torch.cat([o[:label], o[label + 1:]]) - o[label]
    return torch.logaddexp(torch.zeros(()), torch.logsumexp(others, 0))

def library_loss(o, label):
    return F.cross_entropy(o, torch.tensor(label))

strict = dict(atol=0, rtol=1e-12)
assert grade(small_loss_solution, loss_by_many_digits, small_cases, **strict)
assert not grade(library_loss, loss_by_many_digits, small_cases, **strict)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Guess minus truth
#
# Differentiate {eq}`dl.softmax-ce.logsumexp`. By the chain rule
# $\partial \operatorname{LSE} / \partial o_j = \exp(o_j) / \sum_k \exp(o_k)$, which is softmax again; the second sum
# leaves $y_j$:
#
# ```{math}
# :label: dl.softmax-ce.gradient
# \partial_{o_j} l = \operatorname{softmax}(\mathbf{o})_j - y_j
# ```
#
# Guess minus truth, exactly as for [linear regression](../regression/linear_regression.ipynb) with squared loss. Each
# label is pushed up or down by the probability that it has too little or too much, and since both vectors sum to one
# the pushes cancel. The formula is tried against automatic differentiation and central differences; the control has the
# sign of a careless author.

# %%
def guess_minus_truth(o, y):
    return torch.softmax(o, -1) - y

def truth_minus_guess(o, y):
    return y - torch.softmax(o, -1)

def is_gradient(formula, o, z):
    o, y = torch.tensor(o), torch.softmax(torch.tensor(z), 0)
    loss = lambda o: F.cross_entropy(o, y)
    h = 1e-5 * torch.eye(len(o))
    central = torch.stack([loss(o + e) - loss(o - e) for e in h]) / 2e-5
    g = formula(o, y)
    return (close(g, torch.func.grad(loss)(o)) and close(g, central, atol=1e-6)
            and close(g.sum(), 0))

holds(
    'dl.softmax-ce.gradient',
    lambda o, z: is_gradient(guess_minus_truth, o, z),
    control=lambda o, z: is_gradient(truth_minus_guess, o, z),
    o=vectors(4), z=vectors(4, -5, 5), tries=60,
)

# %% [markdown]
# The gradient never fades while the guess is wrong: a confident error is pulled back with force close to one. Squared
# error on the *probabilities*, which looks as natural, has the extra factor $\hat{y} (1 - \hat{y})$ from the derivative
# of softmax, and a confident error hardly feels it.

# %%
o = torch.tensor([2.0, 1.0, -1.0, 0.5])
y = torch.tensor([0.0, 0.0, 1.0, 0.0])
pushes = guess_minus_truth(o, y)
margin = torch.linspace(-8, 8, 161)  # true logit minus the other one
trust = torch.sigmoid(margin)  # softmax for two labels
pull = {'cross-entropy': 1 - trust,
        'squared error': 2 * trust * (1 - trust) ** 2}
for name, loss in {'cross-entropy': lambda t: -F.logsigmoid(t),
                   'squared error': lambda t: (1 - t.sigmoid()) ** 2}.items():
    slope = torch.func.vmap(torch.func.grad(loss))(margin)
    assert close(-slope, pull[name])
assert pull['cross-entropy'][0] > 0.999 and pull['squared error'][0] < 0.001

# %% mystnb={"figure": {"caption": "Left: descent raises the true logit and lowers every other one by its probability. Right: cross-entropy pulls a confident error back with force near one, squared error hardly at all."}, "image": {"alt": "Left: the gradient for four labels as bars, negative for the true label, positive for the others. Right: the pull on the true logit against its margin; that of cross-entropy is near one for confident errors, that of squared error falls to zero on both sides."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
left.bar(range(4), pushes, color=['C1' if v > 0 else 'C0' for v in pushes])
left.axhline(0, color=GREY, lw=0.8)
left.set(xticks=range(4), xticklabels=['label 0', '1', '2 (true)', '3'],
         title='Gradient: guess minus truth')
for name, force in pull.items():
    right.plot(margin, force, label=name)
right.set(xlabel='true logit minus the other', title='Pull on the true logit')
right.legend();

# %% [markdown]
# One derivative more gives the Hessian $\operatorname{diag}(\mathbf{s}) - \mathbf{s} \mathbf{s}^\top$ with
# $\mathbf{s} = \operatorname{softmax}(\mathbf{o})$, and with it a reason to trust gradient descent here:
#
# ````{prf:theorem} Cross-entropy is convex in the logits
# :label: thm-cross-entropy-convex
# For every $\mathbf{v} \in \mathbb{R}^q$, $\; 0 \le \mathbf{v}^\top \big(\operatorname{diag}(\mathbf{s}) - \mathbf{s}
# \mathbf{s}^\top\big) \mathbf{v} \le \tfrac12 \|\mathbf{v}\|^2$.
# ````
#
# ````{prf:proof}
# The middle is $\sum_j s_j v_j^2 - \big(\sum_j s_j v_j\big)^2$: the *variance* of $v_J$ when the label $J$ is drawn
# from $\mathbf{s}$. A variance is not negative, and zero if all entries of $\mathbf{v}$ are equal. It is the mean
# squared distance to the mean, which no other point beats, so measure from the midpoint of the largest entry $v_a$ and
# the smallest $v_b$: no entry is farther from it than $(v_a - v_b)/2$. If they differ, the variance is thus at most
# $(v_a - v_b)^2 / 4 \le (v_a^2 + v_b^2) / 2 \le \|\mathbf{v}\|^2 / 2$.
# ````
#
# Logits are linear in the weights of a linear classifier, so its loss is convex in the weights, too: descent cannot end
# in a bad valley.

# %%
s = torch.softmax(o, 0)
hessian = torch.diag(s) - torch.outer(s, s)
assert close(torch.func.hessian(lambda o: F.cross_entropy(o, y))(o), hessian)
curvatures = torch.linalg.eigvalsh(hessian)
print(f'largest curvature {curvatures[-1]:.2f}, at most 1/2')
assert curvatures.min() > -1e-12 and curvatures.max() <= 0.5

# %% [markdown]
# ```{exercise} ★★ Never quite sure
# :label: cross_entropy-smoothing
# *Label smoothing* trains on $(1 - \varepsilon)\, \mathbf{y} + \varepsilon / q$ instead of the one-hot $\mathbf{y}$. By
# {eq}`dl.softmax-ce.gradient` the best logits are then finite. Write `smoothed_gap(eps, q)`: by how much the true logit
# exceeds the others, which are equal, at the minimum of the loss.
# ```

# %%
def smoothed_gap(eps, q):
    raise NotImplementedError('your turn')

# %%
def gap_by_search(eps, q):
    def loss(gap):
        o = torch.zeros(q)
        o[0] = gap
        return F.cross_entropy(o, torch.tensor(0), label_smoothing=eps).item()
    return minimize_scalar(loss, (0, 5)).x

smoothing_cases = [(0.1, 10), (0.1, 2), (0.3, 4)]
grade(smoothed_gap, gap_by_search, smoothing_cases, atol=1e-5)

# %% [markdown]
# ```{solution-start} cross_entropy-smoothing
# :class: dropdown
# ```
# The gradient vanishes where softmax equals the smoothed label: $1 - \varepsilon + \varepsilon / q$ for the true one,
# $\varepsilon / q$ for the others. Ratios of softmax values are exponentials of logit differences, so the gap is the
# logarithm of the ratio. The true label gets its share of $\varepsilon$, too.

# %% jupyter={"source_hidden": true}
def smoothed_gap_solution(eps, q):
    return np.log((1 - eps + eps / q) / (eps / q))

def among_the_others(eps, q):
    return np.log((1 - eps) / (eps / (q - 1)))

assert grade(smoothed_gap_solution, gap_by_search, smoothing_cases, atol=1e-5)
assert not grade(among_the_others, gap_by_search, smoothing_cases, atol=1e-5)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Softmax regression reads digits
#
# This section continues [Log-sum-exp](#log-sum-exp). The data are 1797 handwritten digits of $8 \times 8$ pixels, the
# model is linear: logits $\mathbf{O} = \mathbf{X} \mathbf{W}$, with a column of ones in $\mathbf{X}$ for the biases.
# Each example passes its guess minus truth on to the weights through its own pixels, so the mean loss has the gradient
# $\tfrac1n \mathbf{X}^\top (\mathbf{S} - \mathbf{Y})$, row by row softmax minus label. We add a small penalty
# $\tfrac{\lambda}{2} \|\mathbf{W}\|^2$ (biases excepted), which gives the objective a single best set of pixel weights.
# Ten random splits hold out 450 digits each; they are trained side by side as the first axis of each array. The mean
# picture that is subtracted comes from the training part alone.
#
# Everything random is drawn on the CPU and then moved to the accelerator, if there is one, so that the lines below read
# the same everywhere.

# %%
@dataclass(frozen=True)
class Training:
    splits: int = 10
    held_out: int = 450  # digits
    epochs: int = 60
    batch: int = 128  # digits a step
    step: float = 3.0  # learning rate in the first epoch
    decay: float = 0.05  # its relative fall an epoch
    penalty: float = 1e-3  # lambda

def load(config, device):
    generator = torch.Generator().manual_seed(0)
    order = torch.stack([torch.randperm(1797, generator=generator)
                         for _ in range(config.splits)])
    test, train = order[:, :config.held_out], order[:, config.held_out:]
    x, labels, _ = digits()
    x, Y = torch.tensor(x), F.one_hot(torch.tensor(labels), 10).double()
    mean = x[train].mean(1, keepdim=True)  # (R, 1, 64)
    centred = [x[train] - mean, x[test] - mean]
    X = [torch.cat([c, torch.ones_like(c[..., :1])], -1) for c in centred]
    return [t.to(device) for t in (X[0], Y[train], X[1], Y[test])], test

# %%
def objective(W, X, Y, config):  # (R, d, q), (R, n, d), (R, n, q) -> (R,)
    fit = softmax_cross_entropy(X @ W, Y).mean(-1)
    return fit + config.penalty / 2 * (W[:, :-1] ** 2).sum((-2, -1))

def gradient(W, X, Y, config):
    S = torch.softmax(X @ W, -1)  # (R, n, q)
    penalized = torch.cat([W[:, :-1], torch.zeros_like(W[:, -1:])], 1)
    return X.mT @ (S - Y) / X.shape[1] + config.penalty * penalized

def train(X, Y, config):  # -> weights after each epoch (epochs + 1, R, d, q)
    generator = torch.Generator().manual_seed(1)
    (R, n, d), q = X.shape, Y.shape[-1]
    split = torch.arange(R, device=X.device)[:, None]
    W = torch.zeros(R, d, q, device=X.device)
    history = [W]
    for epoch in range(config.epochs):
        orders = [torch.randperm(n, generator=generator) for _ in range(R)]
        eta = config.step / (1 + config.decay * epoch)
        for i in torch.stack(orders).to(X.device).split(config.batch, 1):
            W = W - eta * gradient(W, X[split, i], Y[split, i], config)
        history.append(W)
    return torch.stack(history)

# %%
config = Training()
(X, Y, X_test, Y_test), test = load(config, best())
W0 = torch.randn(10, 65, 10, generator=torch.Generator().manual_seed(2))
W0 = W0.to(X.device).requires_grad_()
slope, = torch.autograd.grad(objective(W0, X, Y, config).sum(), W0)
assert close(gradient(W0, X, Y, config).detach(), slope)

history = train(X, Y, config)  # (epochs + 1, R, d, q)
values = torch.stack([objective(W, X, Y, config) for W in history]).cpu()

def accuracy(scores, Y):  # (..., n, q) twice -> (...), on the CPU
    right = scores.argmax(-1) == Y.argmax(-1)
    return right.double().mean(-1).cpu()

learned = torch.stack([accuracy(X_test @ W, Y_test) for W in history])
assert close(values[0], torch.full((10,), np.log(10)))

# %% [markdown]
# At the start all weights are zero, every guess is $1/10$, and the objective is $\log 10$, as it must be. Three references
# stand beside the result: the most frequent label of the training part; the nearest of the ten mean pictures; and
# scikit-learn's `LogisticRegression`, which finds the minimum of the same objective to many digits by a quasi-Newton method.

# %%
def exact_minimum(X, Y, config):  # one split -> (d, q)
    model = LogisticRegression(
        C=1 / (len(X) * config.penalty), tol=1e-8, max_iter=1000)
    model.fit(X[:, :-1].cpu(), Y.argmax(-1).cpu())
    W = np.vstack([model.coef_.T, model.intercept_])
    return torch.tensor(W, device=X.device)

exactly = torch.stack([exact_minimum(X[r], Y[r], config) for r in range(10)])
floor = objective(exactly, X, Y, config).cpu()
means = Y.mT @ X / Y.sum(1)[..., None]  # (R, q, d)
counts = Y.sum(1).cpu().numpy()  # (R, q)
frequent = np.eye(10)[counts.argmax(-1)][:, None]  # the first, if two tie
results = {
    'most frequent label': accuracy(torch.tensor(frequent), Y_test.cpu()),
    'nearest mean picture': accuracy(-torch.cdist(X_test, means), Y_test),
    'softmax regression': learned[-1],
    'scikit-learn': accuracy(X_test @ exactly, Y_test),
}

# %%
for name, shares in results.items():
    print(f'{name:20} {shares.mean():.3f} ± {shares.std():.4f} '
          'of held-out digits')
gap = values[-1] / floor - 1
print(f'objective above its minimum by {100 * float(gap.min()):.2f} '
      f'to {100 * float(gap.max()):.2f} %')
better = results['softmax regression'] - results['nearest mean picture']
print(f'better than the nearest mean by {float(better.min()):.3f} or more')
assert (gap < 0.01).all() and (better > 0).all()

# %% [markdown]
# (The most frequent training label does worse than one in ten: a label that is over-represented in one part is scarce
# in the other.) The linear model gets within a percent of the best that any linear model can do on its training
# objective, and misreads about four digits in a hundred.

# %% mystnb={"figure": {"caption": "In all ten splits training comes within one percent of the least objective, and reads about 96 of 100 held-out digits, as many as the exact minimizer and more than the nearest mean."}, "image": {"alt": "Left: the training objective falls from the logarithm of ten towards the exact minimum, ten curves nearly on top of each other. Right: accuracy on held-out digits rises within a few epochs above the line of the nearest mean picture, to the level of scikit-learn."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
left.semilogy(values, color='C0', lw=0.8, alpha=0.6)
left.axhline(floor.mean(), color=GREY, ls='--', lw=1)
left.text(60, floor.mean() * 0.95, 'exact minimum', ha='right', va='top')
left.set(xlabel='epoch', title='Training objective', ylim=(0.2, 2.5))
left.set_yticks([0.25, 0.5, 1, 2], ['0.25', '0.5', '1', '2'])
left.minorticks_off()
right.fill_between(range(61), *np.quantile(learned, (0.1, 0.9), axis=1),
                   color='C0', alpha=0.25, lw=0)
right.plot(learned.mean(1))
for name, lift in ('nearest mean picture', 0.004), ('scikit-learn', 0.01):
    right.axhline(results[name].mean(), color=GREY, ls='--', lw=1)
    right.text(60, results[name].mean() + lift, name, ha='right')
right.set(xlabel='epoch', title='Accuracy on held-out digits',
          ylim=(0.85, 0.99));

# %% [markdown]
# What has it learned? The weights of each label form a picture: red pixels speak for the digit, blue ones against it.
# And here are the six held-out digits of the first split that cost most. The loss is a good guide to what deserves a
# second look.

# %%
W = history[-1, 0].cpu()  # first split
templates = W[:64].T.reshape(10, 8, 8)
logits = X_test[0].cpu() @ W
losses = softmax_cross_entropy(logits, Y_test[0].cpu())
costly = losses.topk(6).indices
pictures = digits().x[test[0, costly]].reshape(6, 8, 8)
truth = Y_test[0].cpu().argmax(-1)[costly]
said = logits.argmax(-1)[costly]
assert (truth != said).all()

# %% mystnb={"figure": {"caption": "The weights of a label form a picture of what speaks for it (red) and against it (blue): for 0, ink on a ring and ink in the middle."}, "image": {"alt": "Ten small weight pictures, one a digit; that of 0, for instance, is red along a ring and blue in the middle."}} tags=["hide-input"]
fig, axes = panels(5, 2, height=1.3)
for ax, digit, picture in zip(axes.flat, range(10), templates, strict=True):
    show_image(ax, picture, f'for {digit}', cmap='coolwarm',
               vmin=-1.5, vmax=1.5)

# %% mystnb={"figure": {"caption": "The six held-out digits of largest loss in one split are all misread: a high loss, here 1.7 to 4.5, points at examples that deserve a second look."}, "image": {"alt": "Six handwritten digits that the model misreads, each with its true label, the label it gave and the loss."}} tags=["hide-input"]
fig, axes = panels(6, height=1.5)
for ax, picture, k in zip(axes, pictures, range(6), strict=True):
    loss = losses[costly[k]]
    show_image(ax, picture, f'is {truth[k]}, said {said[k]}\nloss {loss:.1f}')
    ax.title.set_fontsize(8.5)

# %% [markdown]
# With two features the regions can be drawn. For the digits 0, 6 and 7, the ink in the middle of the picture and the
# surplus of ink in its upper half say nearly everything. Between two labels the border is where their logits are equal,
# $(\mathbf{w}_j - \mathbf{w}_k)^\top \mathbf{x} = 0$: a straight line.

# %%
def two_features(x):  # (n, 64) -> (n, 2)
    x = torch.tensor(x).reshape(-1, 8, 8)
    upper, lower = x[:, :4].mean((1, 2)), x[:, 4:].mean((1, 2))
    return torch.stack([x[:, 2:6, 3:5].mean((1, 2)), upper - lower], -1)

chosen = [0, 6, 7]
x, label, _ = digits()
ink = two_features(x[np.isin(label, chosen)])  # (n, 2)
kind = torch.tensor(np.searchsorted(chosen, label[np.isin(label, chosen)]))
order = torch.randperm(len(ink), generator=torch.Generator().manual_seed(3))
known, new = order[100:], order[:100]
centre, spread = ink[known].mean(0), ink[known].std(0)
ready = lambda v: F.pad((v - centre) / spread, (0, 1), value=1.0)  # (n, 3)
V = train(ready(ink[known])[None], F.one_hot(kind[known], 3).double()[None],
          Training(splits=1, held_out=100))[-1, 0]
right_ones = ((ready(ink[new]) @ V).argmax(-1) == kind[new]).sum()
print(f'right on {right_ones} of 100 held-out digits')
corner = torch.cartesian_prod(torch.linspace(-0.05, 1.0, 200),
                              torch.linspace(-0.35, 0.45, 200))  # (40000, 2)
regions = (ready(corner) @ V).argmax(-1).reshape(200, 200)

# %% mystnb={"figure": {"caption": "The borders between the labels of a linear classifier are straight. In the plane of these two features it is right on 99 of 100 held-out digits."}, "image": {"alt": "Three clouds of points, the digits 0, 6 and 7, in the plane of two ink measurements, each in a region of its own; the regions meet in straight borders."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5, 3.4))
u, v = corner.reshape(200, 200, 2).permute(2, 0, 1)
ax.contourf(u, v, regions, levels=[-0.5, 0.5, 1.5, 2.5],
            colors=['C0', 'C1', 'C2'], alpha=0.2)
for k, digit in enumerate(chosen):
    ax.plot(*ink[new][kind[new] == k].T, f'C{k}o', ms=4, label=str(digit))
ax.set(xlabel='ink in the middle', ylabel='ink above minus ink below')
ax.legend(title='held-out digits');

# %% [markdown]
# ```{exercise} ★★★ The longest safe step
# :label: cross_entropy-step
# Use {prf:ref}`thm-cross-entropy-convex` to show that without a penalty the mean loss, along any direction $\mathbf{V}$
# of the weights, has curvature at most $\tfrac12 \lambda_{\max}(\mathbf{X}^\top \mathbf{X} / n)\, \|\mathbf{V}\|^2$.
# Steps below twice the reciprocal of this constant can never raise the loss. Write `safe_step(X)`, the reciprocal
# itself. Then explore: by which factor can training exceed it before it breaks?
# ```

# %%
def safe_step(X):
    raise NotImplementedError('your turn')

# %%
def by_full_hessian(X):  # two labels and zero weights: there the bound is met
    Y = F.one_hot(torch.zeros(len(X), dtype=torch.long), 2).double()
    loss = lambda w: F.cross_entropy(X @ w.reshape(-1, 2), Y)
    hessian = torch.func.hessian(loss)(torch.zeros(2 * X.shape[1]))
    return 1 / torch.linalg.eigvalsh(hessian)[-1]

step_generator = torch.Generator().manual_seed(4)
step_cases = [(torch.randn(n, d, generator=step_generator),)
              for n, d in ((5, 2), (50, 4))]
grade(safe_step, by_full_hessian, step_cases)

# %% [markdown]
# ```{solution-start} cross_entropy-step
# :class: dropdown
# ```
# Along $\mathbf{V}$ the logits of example $i$ move by $\mathbf{V}^\top \mathbf{x}^{(i)}$, so the curvature is the mean of
# $(\mathbf{V}^\top \mathbf{x}^{(i)})^\top \mathbf{H}^{(i)} (\mathbf{V}^\top \mathbf{x}^{(i)}) \le \tfrac12 \|\mathbf{V}^\top
# \mathbf{x}^{(i)}\|^2$, and the mean of the right sides is $\tfrac12 \operatorname{tr}(\mathbf{V}^\top \tfrac1n
# \mathbf{X}^\top \mathbf{X} \mathbf{V}) \le \tfrac12 \lambda_{\max} \|\mathbf{V}\|^2$. The constant $\tfrac14$ belongs to
# logistic regression, where only *one* of the two logits moves.

# %% jupyter={"source_hidden": true}
def safe_step_solution(X):
    return 2 / torch.linalg.eigvalsh(X.T @ X / len(X))[-1]

def for_one_logit(X):
    return 4 / torch.linalg.eigvalsh(X.T @ X / len(X))[-1]

assert grade(safe_step_solution, by_full_hessian, step_cases)
assert not grade(for_one_logit, by_full_hessian, step_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Summary
#
# Cross-entropy is the negative logarithm of the probability that a model gave to what happened; it is smallest for honest
# probabilities, and in bits it is the length of a code. With softmax it becomes log-sum-exp minus the true logit, safe for
# all finite logits once the largest one is subtracted first, convex, and with gradient guess minus truth. Trained with it,
# a linear model reads about 96 of 100 new digits, six more than the nearest mean picture and as many as the exact
# minimizer, within the spread of the splits.
#
# **Further reading.** {cite}`cover2006elements`, chapters 2 and 5, on entropy and codes; {cite}`gneiting2007strictly`
# on scores that reward honesty; {cite}`bishop2006pattern`, section 4.3, on softmax regression;
# {cite}`blanchard2021accurately` on the rounding errors of log-sum-exp.
