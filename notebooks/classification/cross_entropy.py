# ---
# jupyter:
#   book:
#     functions:
#       cross_entropy: cross_entropy(torch.softmax(normal(5, 4), -1), torch.softmax(normal(5, 4), -1))
#       softmax_cross_entropy: softmax_cross_entropy(30 * normal(5, 4), torch.softmax(normal(5, 4), -1))
#       logit_gradient: logit_gradient(normal(5, 4), torch.softmax(normal(5, 4), -1))
#     main: dl.loglik.cross-entropy
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Cross-entropy
#
# Each morning two forecasters announce a probability of rain, and each evening you see whether it rained. Anna announces
# moderate probabilities, such as 0.7. Ben announces probabilities near 0 and 1 and is nearly always right. But one day he
# is nearly certain of rain, and it stays dry. Who is the better forecaster? A classifier announces probabilities, too. By
# which number should we measure how good they are?
#
# - **You need** the [softmax](softmax.ipynb), [maximum likelihood](../probability/maximum_likelihood.ipynb) and
#   [gradient descent](../optimization/gradient_descent.ipynb).
# - **You build** the loss with which classifiers are trained, its gradient, and a classifier that reads handwritten
#   digits.
# - **Runs in** 9 seconds. The digits are read in float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
import heapq

import matplotlib.pyplot as plt
import mpmath
import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import minimize_scalar
from scipy.stats import entropy as scipy_entropy
from scipy.stats import gmean
from sklearn.linear_model import LogisticRegression

from nbutils.cases import counts, integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.data import digits
from nbutils.figures import GREY, label_lines, panels, show_image

plt.style.use('nbutils.book')
torch.set_printoptions(precision=3, sci_mode=False)

# %% [markdown]
# ## Cross-entropy: minus the logarithm of the probability of what happened
#
# Let $p$ be the announced probability of rain. If it rained, the forecaster gave the probability $p$ to what happened. If it
# stayed dry, the forecaster gave it the probability $1 - p$. The loss of a day is minus the logarithm of this probability.
# Here are five days:

# %%
rain = torch.tensor([1, 1, 0, 1, 0])
said = {'Anna': torch.tensor([0.7, 0.6, 0.3, 0.8, 0.2]),
        'Ben': torch.tensor([0.95, 0.9, 0.05, 0.99, 0.9])}
for name, p in said.items():
    happened = torch.where(rain == 1, p, 1 - p)
    loss = -happened.log()
    print(f'{name:4} probabilities {happened.numpy().round(2)}')
    print('     losses', loss.numpy().round(3), f'  mean {loss.mean():.3f}')

# %% [markdown]
# On four days Ben has the smaller loss. But on the last day he gave only the probability 0.1 to what happened, and his loss is
# 2.30. This is more than the sum of Anna's five losses. So Anna's mean loss is smaller.

# %% mystnb={"image": {"alt": "The curve of minus log p for p between 0 and 1: it falls from infinity at zero to zero at one, steeply at first. Dots mark the probabilities 0.01, 0.1 and 0.7."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.6))
p = np.linspace(0.002, 1, 500)
ax.plot(p, -np.log(p))
for q in (0.01, 0.1, 0.7):
    ax.plot(q, -np.log(q), 'C1o')
    ax.annotate(f'p = {q}: loss {-np.log(q):.2f}', (q, -np.log(q)), xytext=(8, 2), textcoords='offset points')
ax.set(xlabel='probability p given to what happened', ylabel='loss −log p');

# %% [markdown] tags=["caption"]
# The loss $-\log p$ for the probability $p$ of what happened. It is zero for $p = 1$ and grows without bound when $p$ goes to
# zero.

# %% [markdown]
# ### Why a logarithm: likelihood
#
# We measure a classifier in the same way. For each input $\mathbf{x}^{(i)}$ of $n$ examples it gives a probability
# $P(\mathbf{y}^{(i)} \mid \mathbf{x}^{(i)})$ to the true label $\mathbf{y}^{(i)}$. If the examples are independent, the
# probability of all true labels $\mathbf{Y}$ together is a product:
#
# ```{math}
# :label: dl.loglik.product
# P(\mathbf{Y} \mid \mathbf{X}) = \prod_{i=1}^{n} P\big(\mathbf{y}^{(i)} \mid \mathbf{x}^{(i)}\big) .
# ```
#
# This is the **likelihood** of the model. The logarithm turns the product into a sum, so the likelihood is the exponential
# of minus the total loss. Therefore a *small* loss is the same as a *large* likelihood. Training with this loss is
# [maximum likelihood](../probability/maximum_likelihood.ipynb):

# %%
for name, p in said.items():
    happened = torch.where(rain == 1, p, 1 - p)
    total = -happened.log().sum()
    print(f'{name:4} product {happened.prod():.3f}'
          f'   exp(-total loss) {(-total).exp():.3f}')

# %% [markdown]
# A computer should use the sum. The product of 2000 factors $\frac12$ is so small that it is rounded to zero. The sum of the
# logarithms is not:

# %%
half = torch.full((2000,), 0.5)
print('product:', half.prod().item())
print(f'sum of logarithms: {half.log().sum():.1f}')

# %% [markdown]
# ### The formula and its code
#
# Let the classifier give the probabilities $\hat{\mathbf{y}} = (\hat{y}_1, \dots, \hat{y}_q)$ to $q$ labels. We write the
# true label as a **one-hot** vector $\mathbf{y}$, which has a one at this label and zeros elsewhere. The
# **cross-entropy** is
#
# ```{math}
# :label: dl.loglik.cross-entropy
# l(\mathbf{y}, \hat{\mathbf{y}}) = - \sum_{j=1}^{q} y_j \log \hat{y}_j .
# ```

# %%
def cross_entropy(y, y_hat):
    """The loss of each row of probabilities y_hat, for true ones y."""
    return -torch.xlogy(y, y_hat).sum(-1)    # (...); 0 log 0 is 0

# %% [markdown]
# Because $\mathbf{y}$ is zero except at the true label, the sum has a single term: minus the logarithm of the probability of
# the true label. So the loss is never negative. It is zero only if the true label has probability one. The formula also
# works if $\mathbf{y}$ is any vector of probabilities, a *soft* label. In PyTorch, `F.nll_loss` takes the logarithms of the
# probabilities and the number of the true label:

# %%
y_hat = torch.tensor([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.5, 0.1, 0.4]])
label = torch.tensor([0, 1, 1])
y = F.one_hot(label, 3).float()
print('ours: ', cross_entropy(y, y_hat))
print('torch:', F.nll_loss(y_hat.log(), label, reduction='none'))

# %% [markdown]
# ```{exercise} ★ Program: perplexity
# :label: cross_entropy-perplexity
#
# The **perplexity** of a model is $e^{\bar l}$ with the mean loss $\bar l$ over the examples. A model that chooses among
# $k$ equally likely labels has perplexity $k$. Write `perplexity(y_hat, labels)`.
# ```

# %%
def perplexity(y_hat, labels):
    """The perplexity, a number.

    y_hat: tensor (n, q), n >= 1, rows of probabilities of q labels, none 0.
    labels: tensor (n,) of integers from 0 to q - 1, what happened.
    For rows of q equal probabilities it is q.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_geometric_mean(y_hat, labels):
    return 1 / gmean(y_hat[range(len(labels)), labels].double().numpy())

def as_probabilities(a):
    return torch.tensor(a / a.sum(1, keepdims=True))

cases = dict(
    y_hat=matrices((1, 5), (2, 4), 0.01, 1, edges=True).map(as_probabilities),
    labels=lambda y_hat: counts(len(y_hat), 0, y_hat.shape[1] - 1).map(torch.tensor),
)
many = [(torch.full((2000, 2), 0.5), torch.ones(2000, dtype=torch.long))]
grade(perplexity, by_geometric_mean, many, **cases)

# %% [markdown]
# ```{solution-start} cross_entropy-perplexity
# :class: dropdown
# ```
# Pick the probabilities, average their negative logarithms, exponentiate. This is the reciprocal of their *geometric*
# mean. The reciprocal of the ordinary mean is something else: it forgives a single bad miss. And the product of all
# probabilities underflows where there are many examples. The third wrong answer does not look at the labels at all.

# %% jupyter={"source_hidden": true}
def perplexity_solution(y_hat, labels):
    p = y_hat[torch.arange(len(labels)), labels]
    return (-p.log()).mean().exp()

def by_the_mean(y_hat, labels):
    return 1 / y_hat[torch.arange(len(labels)), labels].mean()

def by_the_product(y_hat, labels):
    p = y_hat[torch.arange(len(labels)), labels]
    return p.prod() ** (-1 / len(labels))

def of_the_most_likely(y_hat, labels):
    return (-y_hat.amax(-1).log()).mean().exp()

assert grade(perplexity_solution, by_geometric_mean, many, **cases)
assert not grade(by_the_mean, by_geometric_mean, many, **cases)
assert not grade(by_the_product, by_geometric_mean, many, **cases)
assert not grade(of_the_most_likely, by_geometric_mean, many, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def worst_outcome(seed, copied):  # in standard errors, among the nine outcomes of two labels
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([4, 4, 4])
    a, b = rng.choice(3, p=p, size=(2, 20_000))
    counts = np.bincount(3 * a + (a if copied else b), minlength=9)
    joint = np.outer(p, p).ravel()
    return abs((counts - a.size * joint) / np.sqrt(a.size * joint * (1 - joint))).max()

holds(
    'dl.loglik.product',
    lambda seed: worst_outcome(seed, copied=False) < 5,
    slip=('has the same photograph twice in the data', lambda seed: worst_outcome(seed, copied=True) < 5),
    seed=seeds(), tries=40,
)

def double(values):
    return torch.tensor(values, dtype=torch.float64)

def agrees(form, o, z, k):
    o, soft, hard = double(o), double(z).softmax(0), F.one_hot(torch.tensor(k), 4).double()
    y_hat = o.softmax(0)
    return close(form(soft, y_hat), F.cross_entropy(o, soft)) and close(form(hard, y_hat), -y_hat[k].log())

holds(
    'dl.loglik.cross-entropy',
    lambda o, z, k: agrees(cross_entropy, o, z, k),
    slip=('swaps the two arguments', lambda o, z, k: agrees(lambda y, y_hat: cross_entropy(y_hat, y), o, z, k)),
    o=vectors(4, -5, 5), z=vectors(4, -5, 5), k=integers(0, 3),
)

def at_the_edges(form, k):  # a sure and right answer costs nothing, a sure and wrong one infinity
    sure = torch.eye(3)
    return close(form(sure[k].expand(3, 3), sure), [0 if j == k else np.inf for j in range(3)])

verify(
    'a probability of zero costs infinity, but only for what happened',
    lambda k: at_the_edges(cross_entropy, k),
    slip=('multiplies zero by an infinite logarithm',
          lambda k: at_the_edges(lambda y, y_hat: -(y * y_hat.log()).sum(-1), k)),
    k=[0, 1, 2],
)

# %% [markdown]
# ## Entropy, surprise and KL divergence
#
# Why is the logarithm the right function? Let $s(p)$ be the **surprise** at an event of probability $p$: the less likely the
# event, the larger the surprise. Two independent events with probabilities $p$ and $r$ happen together with probability
# $p\,r$. Their surprises should add: $s(p\,r) = s(p) + s(r)$. The only decreasing functions with this property are
# $s(p) = -c \log p$ with $c > 0$. The constant $c$ sets the unit. With $c = 1$ the surprise is measured in *nats*. With
# $c = 1/\log 2$ it is measured in *bits*, and the result of a fair coin has a surprise of one bit.
#
# Now let labels be drawn with the probabilities $\mathbf{y}$. Someone who expects the probabilities $\hat{\mathbf{y}}$ has
# the mean surprise $l(\mathbf{y}, \hat{\mathbf{y}})$, the cross-entropy. Someone who expects the true probabilities
# $\mathbf{y}$ has the mean surprise $H(\mathbf{y}) = -\sum_j y_j \log y_j$. This number is the **entropy** of $\mathbf{y}$. No
# mean surprise is smaller than the entropy:
#
# ````{prf:theorem} Gibbs' inequality
# :label: thm-gibbs
# For distributions $\mathbf{y}$ and $\hat{\mathbf{y}}$ on $q$ labels,
# $l(\mathbf{y}, \hat{\mathbf{y}}) \ge H(\mathbf{y})$, with equality only for $\hat{\mathbf{y}} = \mathbf{y}$.
# ````
#
# ````{prf:proof}
# :class: dropdown
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
# The difference $D(\mathbf{y} \,\|\, \hat{\mathbf{y}}) = l(\mathbf{y}, \hat{\mathbf{y}}) - H(\mathbf{y})$ is called the
# **Kullback-Leibler divergence** (KL divergence). It measures how far the expected probabilities are from the true ones.
#
# ### Proper scores: the best announcement is the true belief
#
# Suppose that a forecaster believes that it will rain with probability 0.7. Which probability should she announce? By the
# theorem, her expected cross-entropy is least if she announces 0.7. Not every loss has this property. For example,
# take one minus the probability of what happened. We compute the expected value of both losses for 99 possible
# announcements, and print the announcement with the least expected loss:

# %%
announced = np.linspace(0.01, 0.99, 99)
belief = np.array([0.7, 0.3])                            # rain, dry
y_hats = np.stack([announced, 1 - announced], -1)        # (99, 2)
expected = {'one minus p': (1 - y_hats) @ belief,
            'cross-entropy': -np.log(y_hats) @ belief}
for name, score in expected.items():
    print(f'{name:13} least for {announced[score.argmin()]:.2f}')

# %% mystnb={"image": {"alt": "Expected score against the announced probability when the truth is 0.7. Cross-entropy is a valley with its bottom at 0.7 on the level of the entropy; one minus p is a straight line that falls towards announcing 1."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.7))
for name, score in expected.items():
    line, = ax.plot(announced, score, label=name)
    ax.plot(announced[score.argmin()], score.min(), 'o', color=line.get_color())
ax.axhline(scipy_entropy(belief), color=GREY, lw=0.9, ls=':')
ax.text(0.01, scipy_entropy(belief) - 0.03, 'entropy', va='top', color=GREY)
ax.set(xlabel='announced probability', ylabel='expected score', ylim=(0, 2))
label_lines(ax, dx=8);

# %% [markdown] tags=["caption"]
# The expected value of two losses, if rain has probability 0.7. Cross-entropy is least if 0.7 is announced, and there it equals
# the entropy. The expected value of one minus $p$ is least at the largest announcement.

# %% [markdown]
# ### In bits, cross-entropy is a file size
#
# A file stores symbols, for example grey levels, by a code: symbol $j$ is written with $L_j$ bits. Let $y_j$ be the share of
# symbol $j$ in the file. Then the mean length is $\sum_j y_j L_j$ bits a symbol. This is the cross-entropy in bits, if we set
# $\hat{y}_j = 2^{-L_j}$. Conversely, if we
# expect the shares $\hat{y}_j$, we write symbol $j$ with about $-\log_2 \hat{y}_j$ bits, and the mean length is least if $\hat{\mathbf{y}} = \mathbf{y}$.
#
# Huffman's code {cite}`cover2006elements` finds good lengths. It starts with one group for each symbol, and joins the two groups
# with the smallest shares, until a single group is left. Each join adds one bit to all symbols of the two groups. We build
# such a code from the 17 grey levels in 1347 images of handwritten digits, and then encode the other images with it:

# %%
def code_lengths(y):
    """The bits that Huffman's code spends on each symbol."""
    lengths = np.zeros(len(y), int)
    heap = [(p, [j]) for j, p in enumerate(y)]
    heapq.heapify(heap)
    while len(heap) > 1:
        p, below = heapq.heappop(heap)
        r, others = heapq.heappop(heap)
        lengths[below + others] += 1
        heapq.heappush(heap, (p + r, below + others))
    return lengths

# %%
levels = (digits().x * 16).astype(int)                   # (1797, 64), 0 to 16

def shares(images):
    return np.bincount(images.ravel(), minlength=17) / images.size

known, sent = shares(levels[:1347]), shares(levels[1347:])
L = code_lengths(known)
bits = {'all levels equally likely': np.log2(17), 'Huffman code': sent @ L,
        'shares of the known images': -sent @ np.log2(known),
        'entropy of what was sent': scipy_entropy(sent, base=2)}
for name, length in bits.items():
    print(f'{length:.3f} bits a pixel: {name}')

# %% [markdown]
# Huffman's code needs 2.968 bits a pixel, little more than the entropy of the images that were sent, 2.947 bits. No code
# that is built by such joins needs less than the entropy. The third line allows lengths $L_j$ that are not integers. It is the
# cross-entropy for the shares in the first 1347 images.
#
# ````{admonition} Why no code needs less than the entropy
# :class: dropdown
# For a single symbol with no bits, $2^{-L_j} = 2^0 = 1$. When two groups are joined, each symbol gets one bit more, so each
# $2^{-L_j}$ is halved. If the numbers $2^{-L_j}$ sum to one in both groups before, they sum to $\frac12 + \frac12 = 1$ in the
# joined group. So at the end the $\hat{y}_j = 2^{-L_j}$ of all symbols sum to one, and {prf:ref}`thm-gibbs` applies.
# ````
#
# ```{exercise} ★★ Pencil: another honest score
# :label: cross_entropy-brier
#
# For rain with probability $r$, find the announcement $p$ with the least expected score (a) if the score is $(1 - p)^2$
# for rain and $p^2$ for a dry day, (b) if it is $1 - p$ and $p$. Call a score honest if the true belief is the best announcement. Which one is? What is the
# largest score that it can give, and why may that be an advantage, or a drawback?
# ```
#
# ```{solution-start} cross_entropy-brier
# :class: dropdown
# ```
# (a) The expected score $r (1 - p)^2 + (1 - r) p^2$ has the derivative $2(p - r)$, so it is least for $p = r$: this
# **Brier score** is honest. (b) The expected score $r + p\,(1 - 2 r)$ is linear in $p$, so it is least for $p = 1$ if
# $r > \frac12$ and for $p = 0$ if $r < \frac12$: it rewards exaggeration. The Brier score charges at most 1, so a
# single mistake cannot ruin a forecaster. But it hardly distinguishes between a probability of one in a hundred and one
# in a million for what happened, and the slope with which it corrects a network is small there.

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def pays(y, y_hat, base):  # the excess of the mean surprise is the divergence, as scipy computes it
    excess = cross_entropy(double(y), double(y_hat)) - base(y)
    return close(excess, scipy_entropy(y, y_hat)) and bool(excess >= -1e-12)

laws = vectors(4, 0.01, 1).map(lambda v: v / v.sum())
verify(
    'the cross-entropy exceeds the entropy by the divergence, which is never negative',
    lambda y, y_hat: pays(y, y_hat, scipy_entropy),
    slip=('subtracts the entropy of a uniform distribution', lambda y, y_hat: pays(y, y_hat, lambda y: np.log(len(y)))),
    y=laws, y_hat=laws,
)

def best_announcement(r, score):  # on a grid of thousandths; score(p) for rain, score(1 - p) for a dry day
    p = np.linspace(0.001, 0.999, 999)
    return p[(r * score(p) + (1 - r) * score(1 - p)).argmin()]

beliefs = scalars(0.01, 0.99).map(lambda r: round(r, 2))
verify(
    'cross-entropy and the Brier score are least for the belief itself',
    lambda r: close([best_announcement(r, lambda p: -np.log(p)), best_announcement(r, lambda p: (1 - p) ** 2)], [r, r]),
    slip=('says so of one minus p', lambda r: close(best_announcement(r, lambda p: 1 - p), r)),
    r=beliefs,
)

def is_complete(lengths, y):  # the beliefs sum to one, and the code costs at most a bit more than the entropy
    y = np.sort(y)[::-1]
    L = lengths(y)
    return close((2.0 ** -L).sum(), 1) and scipy_entropy(y, base=2) <= y @ L + 1e-12 < scipy_entropy(y, base=2) + 1

verify(
    'the beliefs of a Huffman code sum to one, and it costs less than one bit more than the entropy',
    lambda y: is_complete(code_lengths, y),
    slip=('gives the rarest symbols the shortest words',
          lambda y: is_complete(lambda y: np.r_[1:len(y), len(y) - 1][::-1], y)),
    y=vectors(5, 0.01, 1).map(lambda v: v / v.sum()),
)

verify(
    'a belief costs its divergence from the truth more than the entropy',
    lambda: close(bits['shares of the known images'] - bits['entropy of what was sent'], scipy_entropy(sent, known, base=2)),
    slip=('exchanges belief and truth', lambda: close(
        bits['shares of the known images'] - bits['entropy of what was sent'], scipy_entropy(known, sent, base=2))),
)

# %% [markdown]
# ## Softmax cross-entropy: the loss from scores, and its gradient
#
# A classifier computes scores $\mathbf{o}$, the logits. The [softmax](softmax.ipynb) turns these scores into the probabilities
# $\hat{\mathbf{y}}$. If we put the formula of the softmax into the loss, we have
#
# ```{math}
# :label: dl.softmax-ce.substituted
# l = - \sum_{j=1}^{q} y_j \log \frac{\exp(o_j)}{\sum_{k=1}^{q} \exp(o_k)} .
# ```
#
# The logarithm of a quotient is a difference, and $\log \exp(o_j) = o_j$:
#
# ```{math}
# :label: dl.softmax-ce.expanded
# l = \sum_{j=1}^{q} y_j \log \sum_{k=1}^{q} \exp(o_k) - \sum_{j=1}^{q} y_j o_j .
# ```
#
# The logarithm in the first term does not depend on $j$, so we can take it out of the sum over $j$. The factor that remains is
# $\sum_j y_j = 1$:
#
# ```{math}
# :label: dl.softmax-ce.logsumexp
# l = \log \sum_{k=1}^{q} \exp(o_k) - \sum_{j=1}^{q} y_j o_j .
# ```
#
# The first term is the log-sum-exp of the scores, which exceeds the largest score by at most
# $\log q$. In code:

# %%
def softmax_cross_entropy(o, y):
    """The loss of each row of scores o, for true probabilities y."""
    return torch.logsumexp(o, -1) - (y * o).sum(-1)    # (...)

# %%
o = torch.tensor([[2.0, 1.0, -1.0, 0.5], [1000.0, 0.0, 0.0, 0.0]])
label = torch.tensor([2, 1])
y = F.one_hot(label, 4).float()
print('from scores:       ', softmax_cross_entropy(o, y))
print('torch:             ', F.cross_entropy(o, label, reduction='none'))
print('from probabilities:', cross_entropy(y, o.softmax(-1)))

# %% [markdown]
# The last line shows why we compute the loss from the scores. In the second example, the probability of the true label
# is rounded to zero, and its logarithm is minus infinity. In practice you call `F.cross_entropy`. It takes *scores*, and
# either the numbers of the true labels or soft labels.
#
# ```{admonition} A tempting mistake
# :class: tip
# You could end a network with a softmax layer and pass its probabilities to `F.cross_entropy`. There is no error
# message, but the softmax is taken twice. The inputs of the second softmax lie between 0 and 1. Therefore even the loss of
# a right answer with probability near 1 is not near zero:
# ```

# %%
sure = torch.tensor([10.0, 0.0, 0.0])
print(f'scores:        {F.cross_entropy(sure, torch.tensor(0)):.4f}')
twice = F.cross_entropy(sure.softmax(-1), torch.tensor(0))
print(f'probabilities: {twice:.4f}')

# %% [markdown]
# ### The gradient: predicted minus true probabilities
#
# The gradient of the log-sum-exp is the softmax. The derivative of $\sum_k y_k o_k$ with respect to $o_j$ is $y_j$. Therefore
#
# ```{math}
# :label: dl.softmax-ce.gradient
# \partial_{o_j} l = \operatorname{softmax}(\mathbf{o})_j - y_j .
# ```

# %%
def logit_gradient(o, y):
    """The gradient of softmax_cross_entropy with respect to o."""
    return o.softmax(-1) - y                           # (..., q)

print(logit_gradient(o[0], y[0]))
print(torch.func.grad(softmax_cross_entropy)(o[0], y[0]))

# %% [markdown]
# The gradient is the vector of predicted probabilities minus the true ones. (In
# [linear regression](../regression/linear_regression.ipynb) the derivative of the squared loss is the prediction minus the
# target, too.) In a step of gradient descent, the score of the true label rises, and all other scores fall.
#
# If the model gives the true label a probability near zero, the derivative for this label is near −1. So a confident mistake
# is corrected strongly. Another natural loss is the squared error $\|\hat{\mathbf{y}} - \mathbf{y}\|^2$ of the
# *probabilities*. But its gradient contains the Jacobian of the softmax. This matrix is nearly zero if one probability is
# near 1, even if the answer is wrong. The last part of this page shows what this does to training.

# %% mystnb={"image": {"alt": "Left: the gradient for four labels as bars, negative for the true label, number 2, positive for the others. Right: minus the derivative of the loss with respect to the true score, against its lead over one other score. That of cross-entropy is near one for leads below minus five and falls to zero; that of squared error is zero at both ends and highest, about 0.6, in between."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
pushes = logit_gradient(o[0], y[0])
left.bar(range(4), pushes, color=['C0' if v < 0 else 'C1' for v in pushes])
left.axhline(0, color=GREY, lw=0.8)
left.set(xticks=range(4), xticklabels=['0', '1', '2 (true)', '3'], xlabel='label', title='predicted minus true')
lead = torch.linspace(-8, 8, 161)
trust = torch.sigmoid(lead)                            # the softmax of two labels
right.plot(lead, 1 - trust, color='C0')
right.plot(lead, 4 * trust * (1 - trust) ** 2, color='C1')
right.text(-7.9, 0.62, 'cross-entropy', color='C0')
right.text(1.3, 0.42, 'squared error', color='C1')
right.set(xlabel='true score minus the other', title='− derivative by true score');

# %% [markdown] tags=["caption"]
# Left: the gradient in the first example, negative for the true label alone. Right: how strongly two losses push the
# true score up. After a confident mistake, at the left end, it is near 1 for cross-entropy and near 0 for the squared error.

# %% [markdown]
# ### The loss is convex in the scores
#
# We differentiate once more. The Hessian of the loss with respect to the scores is the Jacobian of the softmax,
# $\operatorname{diag}(\mathbf{s}) - \mathbf{s} \mathbf{s}^\top$ with $\mathbf{s} = \operatorname{softmax}(\mathbf{o})$. It is
# positive semidefinite, so the loss is convex:
#
# ````{prf:theorem} Cross-entropy is convex in the logits
# :label: thm-cross-entropy-convex
# For every $\mathbf{v} \in \mathbb{R}^q$, $\; 0 \le \mathbf{v}^\top \big(\operatorname{diag}(\mathbf{s}) - \mathbf{s}
# \mathbf{s}^\top\big) \mathbf{v} \le \tfrac12 \|\mathbf{v}\|^2$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# The middle is $\sum_j s_j v_j^2 - \big(\sum_j s_j v_j\big)^2$, the *variance* of $v_J$ when the label $J$ is drawn
# from $\mathbf{s}$. A variance is never negative. It is the mean squared distance to the mean, and the mean squared
# distance to any other point is at least as large. Take the midpoint of the largest entry $v_a$ and the smallest entry
# $v_b$: no entry is farther from it than $(v_a - v_b)/2$. If they differ, the variance is thus at most
# $(v_a - v_b)^2 / 4 \le (v_a^2 + v_b^2) / 2 \le \|\mathbf{v}\|^2 / 2$.
# ````
#
# The scores of a linear classifier are linear in its weights, so its loss is convex in the weights, too. Therefore each local
# minimum of this loss is a global one.
#
# ```{exercise} ★★ Pencil: label smoothing
# :label: cross_entropy-smoothing
#
# **Label smoothing** trains on $(1 - \varepsilon)\, \mathbf{y} + \varepsilon / q$ in place of the one-hot $\mathbf{y}$. Where the
# loss of one example is least, all scores except the true one are equal. By how much does the true score exceed them? Write
# it as `lead(q, epsilon)`, and compare with training on $\mathbf{y}$.
# ```

# %%
def lead(q, epsilon):
    """The true score minus any other, where the smoothed loss is least.

    q: int >= 2, how many labels there are. epsilon: float, 0 < epsilon <= 1.
    lead(2, 1.0) is 0.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def lead_by_search(q, epsilon):
    def loss(score):
        o, first = F.pad(double([score]), (0, q - 1)), torch.tensor(0)
        return F.cross_entropy(o, first, label_smoothing=epsilon).item()
    return minimize_scalar(loss, bounds=(-1, 20), options={'xatol': 1e-9}).x

cases = dict(q=on(2, 3, 10) | integers(2, 50), epsilon=on(0.1, 0.5, 1.0) | scalars(0.01, 1))
grade(lead, lead_by_search, **cases, tries=50, atol=1e-5)

# %% [markdown]
# ```{solution-start} cross_entropy-smoothing
# :class: dropdown
# ```
# The gradient vanishes where the softmax equals the smoothed label: $1 - \varepsilon + \varepsilon / q$ for the true
# label and $\varepsilon / q$ for the others. A ratio of probabilities is the exponential of a difference of scores, so
# the lead is $\log \big( q\,(1 - \varepsilon) / \varepsilon + 1 \big)$, for $\varepsilon = \frac1{10}$ and $q = 10$ about
# $\log 91 \approx 4.51$. With $\varepsilon = 0$ there is no minimum: the loss falls for ever while the lead grows, and with it
# the weights. Of the wrong answers, the first forgets that the true label gets its share of $\varepsilon$, too. The second
# divides $\varepsilon$ among the other labels only, and the third forgets the logarithm.

# %% jupyter={"source_hidden": true}
def lead_solution(q, epsilon):
    return np.log(q * (1 - epsilon) / epsilon + 1)

def without_its_share(q, epsilon):
    return np.log(max(q * (1 - epsilon) / epsilon, 1e-9))

def shared_by_the_others(q, epsilon):
    return np.log(max((q - 1) * (1 - epsilon) / epsilon, 1e-9))

def ratio_of_probabilities(q, epsilon):
    return q * (1 - epsilon) / epsilon + 1

assert grade(lead_solution, lead_by_search, **cases, tries=50, atol=1e-5)
assert not grade(without_its_share, lead_by_search, **cases, tries=50, atol=1e-5)
assert not grade(shared_by_the_others, lead_by_search, **cases, tries=50, atol=1e-5)
assert not grade(ratio_of_probabilities, lead_by_search, **cases, tries=50, atol=1e-5)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★★ Program: the last digits of a small loss
# :label: cross_entropy-small
#
# For $\mathbf{o} = (0, -40)$ and the first label the loss is about $e^{-40} \approx 4 \cdot 10^{-18}$, but
# `F.cross_entropy` returns 0 in float64, because $1 + e^{-40}$ rounds to 1. Write `small_loss(o, label)`, which keeps twelve
# digits. Hint: write the loss as $\log(1 + e^{t})$, and look up `torch.logaddexp`.
# ```

# %%
def small_loss(o, label):
    """The loss of the scores o, with a relative error below 1e-12.

    o: tensor (q,) in float64, q >= 2, all entries finite. label: int from
    0 to q - 1. For o = (0, 0) and label 0 it is log 2. Only losses below
    1e-300 may be wrong.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def with_many_digits(o, label):
    with mpmath.workdps(700):
        total = mpmath.fsum(mpmath.exp(v) for v in o.tolist())
        return float(mpmath.log(total) - o[label].item())

def scaled_scores(size):
    return vectors((2, 5), -50, 50, edges=True).map(lambda o: double(size * o))

cases = dict(
    o=on(1.0, 0.01, 20.0, 1e13).flatmap(scaled_scores),
    label=lambda o: integers(0, len(o) - 1),
)
strict = dict(atol=1e-300, rtol=1e-12)
grade(small_loss, with_many_digits, [(double((0, -40)), 0)], **cases, **strict)

# %% [markdown]
# ```{solution-start} cross_entropy-small
# :class: dropdown
# ```
# Divide the sum inside the logarithm by $e^{o_{\text{true}}}$. The true term becomes 1, and the others add up to $e^t$
# with $t = \operatorname{LSE}_{k \ne \text{true}}(o_k - o_{\text{true}})$. `logaddexp(0, t)` is $\log(e^0 + e^t)$,
# computed by `log1p`, which knows $\log(1 + x)$ for $x$ far below the spacing of floats near 1. Subtract
# $o_{\text{true}}$ first; after the logarithm of the sum its digits are gone, as the second wrong answer shows. The first is
# the library's, and the third overflows where another score is much larger.

# %% jupyter={"source_hidden": true}
def small_loss_solution(o, label):
    others = torch.cat([o[:label], o[label + 1:]]) - o[label]
    return torch.logaddexp(o.new_zeros(()), others.logsumexp(0))

def library_loss(o, label):
    return F.cross_entropy(o, torch.tensor(label))

def subtracts_late(o, label):
    others = torch.cat([o[:label], o[label + 1:]]).logsumexp(0)
    return torch.logaddexp(o.new_zeros(()), others - o[label])

def plain_log1p(o, label):
    others = torch.cat([o[:label], o[label + 1:]]) - o[label]
    return others.exp().sum().log1p()

assert grade(small_loss_solution, with_many_digits, **cases, **strict)
assert not grade(library_loss, with_many_digits, **cases, **strict)
assert not grade(subtracts_late, with_many_digits, **cases, **strict)
assert not grade(plain_log1p, with_many_digits, **cases, **strict)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def substituted(o, y):
    return -(y * np.log(np.exp(o) / np.exp(o).sum())).sum()

def expanded(o, y, sign=-1):
    return (y * np.log(np.exp(o).sum())).sum() + sign * (y * o).sum()

def ours(o, y):
    return softmax_cross_entropy(double(o), double(y))

def theirs(o, y):
    return F.cross_entropy(double(o), double(y))

cases = dict(o=vectors(3), y=vectors(3, 0, 1).filter(np.any))
holds(
    'dl.softmax-ce.substituted',
    lambda o, y: close(substituted(o, y), theirs(o, y)),
    slip=('loses the minus sign', lambda o, y: close(-substituted(o, y), theirs(o, y))),
    **cases,
)
holds(
    'dl.softmax-ce.expanded',
    lambda o, y: close(expanded(o, y), theirs(o, y)),
    slip=('adds the scores', lambda o, y: close(expanded(o, y, sign=1), theirs(o, y))),
    **cases,
)
holds(
    'dl.softmax-ce.logsumexp',
    lambda o, y: close(ours(o, y / y.sum()), theirs(o, y / y.sum())),
    slip=('forgets that the labels must sum to one', lambda o, y: close(ours(o, y), theirs(o, y))),
    **cases,
)

# %% tags=["checks"]
def is_gradient(form, o, z):
    o, y = double(o), double(z).softmax(0)
    h = 1e-5 * torch.eye(len(o), dtype=torch.float64)
    central = torch.stack([F.cross_entropy(o + e, y) - F.cross_entropy(o - e, y) for e in h]) / 2e-5
    exact = torch.func.grad(lambda o: F.cross_entropy(o, y))(o)
    return close(form(o, y), exact) and close(form(o, y), central, atol=1e-6)

holds(
    'dl.softmax-ce.gradient',
    lambda o, z: is_gradient(logit_gradient, o, z),
    slip=('subtracts the guess from the truth', lambda o, z: is_gradient(lambda o, y: -logit_gradient(o, y), o, z)),
    o=vectors(4), z=vectors(4, -5, 5), tries=60,
)

def curvatures(o, low, high):
    H = torch.func.hessian(lambda o: F.cross_entropy(o, torch.tensor(0)))(double(o))
    s = double(o).softmax(0)
    lam = torch.linalg.eigvalsh(H)
    return close(H, torch.diag(s) - torch.outer(s, s)) and bool(low - 1e-12 <= lam[0] and lam[-1] <= high + 1e-12)

verify(
    'the Hessian is the Jacobian of the softmax, with eigenvalues between 0 and 1/2',
    lambda o: curvatures(o, 0, 0.5),
    slip=('takes 1/4 for the largest, as for one score alone', lambda o: curvatures(o, 0, 0.25)),
    o=vectors(3, -3, 3), tries=60,
)

def squared_pull(lead, factor):  # on the true score of two
    def loss(score):
        return (torch.stack([score, score.new_zeros(())]).softmax(0) - double([1, 0])).square().sum()
    p = torch.sigmoid(double(lead))
    return close(-torch.func.grad(loss)(double(lead)), factor * p * (1 - p) ** 2)

verify(
    'the pull of the squared error contains the slope of the softmax',
    lambda lead: squared_pull(lead, 4),
    slip=('counts one of the two probabilities', lambda lead: squared_pull(lead, 2)),
    lead=scalars(-8, 8),
)

def best_lead(eps, q):
    def loss(lead):
        o = torch.zeros(q, dtype=torch.float64)
        o[0] = lead
        return F.cross_entropy(o, torch.tensor(0), label_smoothing=eps).item()
    return minimize_scalar(loss, (0, 5)).x

verify(
    'with smoothed labels the best lead is log(q (1 - eps) / eps + 1)',
    lambda eps, q: close(best_lead(eps, q), np.log(q * (1 - eps) / eps + 1), atol=1e-5),
    slip=('divides eps among the other labels alone',
          lambda eps, q: close(best_lead(eps, q), np.log((q - 1) * (1 - eps) / eps), atol=1e-5)),
    eps=[0.05, 0.1, 0.3], q=[2, 4, 10],
)

# %% [markdown]
# ## Softmax regression on handwritten digits
#
# **Softmax regression** (multinomial logistic regression) is a linear classifier trained with cross-entropy. The data
# are 1797 images of handwritten digits, with $8 \times 8$ pixels each. The scores are $\mathbf{O} = \mathbf{X} \mathbf{W}$. The
# matrix $\mathbf{X}$ has one row for each image, and a column of ones for the biases. The matrix $\mathbf{W}$ has one column
# of weights for each digit.
#
# Let the rows of $\mathbf{S}$ be the softmax of the rows of $\mathbf{O}$, and those of $\mathbf{Y}$ the one-hot labels. By the
# chain rule, the mean loss over $n$ images has the gradient $\tfrac1n \mathbf{X}^\top (\mathbf{S} - \mathbf{Y})$. A small
# penalty $\tfrac{\lambda}{2} \|\mathbf{W}\|^2$ makes the best weights unique. The loss plus the penalty is the *objective*.

# %%
x, y, _ = digits()
x, y = torch.tensor(x), torch.tensor(y)

def split(seed):
    """X and one-hot Y of 1347 images to train on, and of 450 others."""
    g = torch.Generator().manual_seed(seed)
    test, train = torch.randperm(1797, generator=g).split([450, 1347])
    X = torch.cat([x - x[train].mean(0), torch.ones(1797, 1)], 1)
    Y = F.one_hot(y, 10).double()
    return X[train], Y[train], X[test], Y[test]

# %% [markdown]
# We divide the images at random in five ways, and train on all five splits at once. The first axis of each array counts the
# splits. The program prints the objective and the share of right answers on new images, for the first split:

# %%
X, Y, X_test, Y_test = map(torch.stack, zip(*map(split, range(5))))
lam = 1e-3

def objective(W):
    loss = softmax_cross_entropy(X @ W, Y).mean(-1)            # (5,)
    return loss + lam / 2 * W.square().sum((-2, -1))

def gradient(W):
    return X.mT @ logit_gradient(X @ W, Y) / X.shape[1] + lam * W

def accuracy(O, Y):
    return (O.argmax(-1) == Y.argmax(-1)).double().mean(-1)

# %%
W = torch.zeros(5, 65, 10, dtype=torch.float64)
history = [W]
for step in range(300):
    W = W - 3.0 * gradient(W)
    history.append(W)
for step in (0, 1, 10, 100, 300):
    O = X_test @ history[step]
    print(f'step {step:3}: objective {objective(history[step])[0]:.3f}'
          f'   right {accuracy(O, Y_test)[0]:.3f}')

# %% [markdown]
# With zero weights all ten probabilities are $1/10$, so the loss is $\log 10 \approx 2.30$. How good is the result? We compare it
# with three other methods. The first always answers with the most frequent digit of the training images. The second
# computes the mean image of each digit and answers with the nearest one. The third is scikit-learn's `LogisticRegression`,
# which finds the minimum of the same objective. The program prints the mean share of right answers on new images ± its
# standard deviation over the five splits:

# %%
def library_weights(X, Y):
    model = LogisticRegression(C=1 / (len(X) * lam), solver='newton-cg',
                               tol=1e-10, fit_intercept=False)
    return torch.tensor(model.fit(X, Y.argmax(-1)).coef_.T)    # (65, 10)

best = torch.stack([library_weights(*part) for part in zip(X, Y)])
means = Y.mT @ X / Y.sum(1)[..., None]                         # (5, 10, 65)
results = {
    'most frequent digit': accuracy(Y.sum(1, keepdim=True), Y_test),
    'nearest mean picture': accuracy(-torch.cdist(X_test, means), Y_test),
    'softmax regression': accuracy(X_test @ W, Y_test),
    'scikit-learn': accuracy(X_test @ best, Y_test)}

# %%
for name, right in results.items():
    print(f'{name:20} {right.mean():.3f} ± {right.std():.4f}')
gap = objective(W) / objective(best) - 1
print(f'objective above its minimum: {gap.min():.2%} to {gap.max():.2%}')

# %% mystnb={"image": {"alt": "Left: the training objective against the step on logarithmic axes, five curves nearly on top of each other that fall to the line of the exact minimum. Right: the share of new digits read right rises within a few steps, passes the line of the nearest mean picture, and reaches that of scikit-learn."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
values = torch.stack([objective(W) for W in history])          # (301, 5)
learned = torch.stack([accuracy(X_test @ W, Y_test) for W in history])
left.loglog(range(1, 301), values[1:], color='C0', lw=0.9)
left.axhline(objective(best).mean(), color=GREY, ls='--', lw=1)
left.text(1, objective(best).mean() * 0.93, 'exact minimum', va='top', color=GREY)
left.set(xlabel='step', title='training objective', ylim=(0.18, 2.6), yticks=[0.25, 0.5, 1, 2],
         yticklabels=['0.25', '0.5', '1', '2'])
right.semilogx(range(1, 301), learned[1:], color='C0', lw=0.9)
for name, place, lift in ('nearest mean picture', 9, -0.03), ('scikit-learn', 1, 0.005):
    right.axhline(results[name].mean(), color=GREY, ls='--', lw=1)
    right.text(place, results[name].mean() + lift, name, color=GREY)
right.set(xlabel='step', title='share of new digits read right', ylim=(0.75, 1.0))
for ax in (left, right):
    ax.set(xticks=[1, 10, 100], xticklabels=['1', '10', '100'])
    ax.minorticks_off()

# %% [markdown] tags=["caption"]
# Training in the five splits. Left: the objective comes within one percent of its minimum. Right: the model reads about 95 of
# 100 new digits right. This is as many as with the exact minimum, and more than with the nearest mean image.

# %% [markdown]
# The weights of each digit have the shape of an image, so we can look at them:

# %% mystnb={"image": {"alt": "Ten small weight pictures, one for each digit; that of 0, for instance, is red along a ring and blue in the middle."}} tags=["hide-input"]
fig, axes = panels(5, 2, height=1.3)
for ax, digit, picture in zip(axes.flat, range(10), W[0, :64].T.reshape(10, 8, 8), strict=True):
    show_image(ax, picture, f'for {digit}', cmap='coolwarm', vmin=-1.5, vmax=1.5)

# %% [markdown] tags=["caption"]
# The weights of the ten digits, positive in red and negative in blue. Ink on a red pixel raises the score of the digit, and
# ink on a blue pixel lowers it. For example, ink in the middle lowers the score of 0.

# %% [markdown]
# ### A large loss points at strange examples
#
# Which new images have the largest loss? The answers for the six worst ones are all wrong. If you search for wrong labels in your
# own data, look at such examples first:

# %%
O = X_test[0] @ W[0]
losses = softmax_cross_entropy(O, Y_test[0])                   # (450,)
worst = losses.topk(6).indices
truth, answer = Y_test[0, worst].argmax(-1), O[worst].argmax(-1)
for k, true, said_digit in zip(worst, truth, answer):
    print(f'a {true} read as {said_digit}: loss {losses[k]:.2f}')

# %% mystnb={"image": {"alt": "Six coarse pictures of handwritten digits, each with its true digit, the digit that the model read, and the loss."}} tags=["hide-input"]
fig, axes = panels(6, height=1.5)
for ax, k, true, said_digit in zip(axes, worst, truth, answer):
    picture = (X_test[0, k, :64] - X_test[0, :, :64].min(0).values).reshape(8, 8)
    show_image(ax, picture, f'is {true}, read {said_digit}\nloss {losses[k]:.1f}')
    ax.title.set_fontsize(8.5)

# %% [markdown] tags=["caption"]
# The six new digits with the largest loss in one split, all misread. Several are hard for us, too.

# %% [markdown]
# ### Squared error is slow to unlearn a confident mistake
#
# We now train a model on wrong labels: each 0 is labelled 1, each 1 is labelled 2, and so on to each 9, which is labelled 0. Then we double the weights, so that the
# model is confident of its mistakes. Which loss corrects these mistakes faster? We first compare the gradients of the two
# losses with the right labels:

# %%
def descend(W, slopes, Y, eta, steps):
    for _ in range(steps):
        W = W - eta * X.mT @ slopes(X @ W, Y) / X.shape[1]
    return W

def squared_gradient(o, y):
    p = o.softmax(-1)
    g = 2 * (p - y)
    return p * (g - (p * g).sum(-1, keepdim=True))             # the Jacobian

start = torch.zeros_like(W)
wrong = 2 * descend(start, logit_gradient, Y.roll(1, -1), 3.0, 200)
confidence = (X_test @ wrong).softmax(-1).amax(-1).mean()
print(f'confidence {confidence:.3f},'
      f' right {accuracy(X_test @ wrong, Y_test).mean():.3f}')
for slopes in logit_gradient, squared_gradient:
    G = X.mT @ slopes(X @ wrong, Y) / X.shape[1]               # (5, 65, 10)
    print(f'{slopes.__name__:16} norm {G.norm(dim=(1, 2)).mean():.3f}')

# %% [markdown]
# At the start, the gradient of the squared error is many times smaller, because the softmax is saturated. Now we take 50 steps
# with each loss, for four learning rates. The program prints the share of right answers on new images, as mean ± standard
# deviation over the five splits:

# %%
losses_by_name = {'cross-entropy': logit_gradient,
                  'squared error': squared_gradient}
relearned = {}
for eta in (3, 10, 30, 100):
    for name, slopes in losses_by_name.items():
        O = X_test @ descend(wrong, slopes, Y, eta, 50)
        relearned[name, eta] = accuracy(O, Y_test)             # (5,)
    print(f'learning rate {eta:3}:', ', '.join(
        f'{name} {relearned[name, eta].mean():.3f}'
        f' ± {relearned[name, eta].std():.3f}' for name in losses_by_name))

# %% [markdown]
# At each of the four learning rates, the model with cross-entropy reads far more digits right. A larger learning rate narrows
# the gap, but does not close it here. It makes the whole step longer, but the images on which the model is most confident
# still have the smallest share in the gradient of the squared error.
#
# ```{exercise} ★★ Experiment: and without a mistake to unlearn?
# :label: cross_entropy-from-zero
#
# Now start from zero weights (`start`), with nothing to unlearn. Which loss reads more new digits after 50 steps, each
# with its best learning rate among 10, 30 and 100? Return your prediction, `'cross-entropy'`, `'squared error'`, or
# `'neither'` if the means differ by less than 0.01. Then use `descend`, look, and explain.
# ```

# %%
def predicted_winner():
    """'cross-entropy', 'squared error' or 'neither'."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
from_zero = {name: max(accuracy(X_test @ descend(start, slopes, Y, eta, 50), Y_test).mean().item() for eta in (10, 30, 100))
             for name, slopes in losses_by_name.items()}
ahead = from_zero['cross-entropy'] - from_zero['squared error']
measured = 'neither' if abs(ahead) < 0.01 else 'cross-entropy' if ahead > 0 else 'squared error'

def is_measured(name):
    if name not in ('cross-entropy', 'squared error', 'neither'):
        raise ValueError("answer 'cross-entropy', 'squared error' or 'neither'")
    if name != measured:
        raise ValueError('something else is measured; train with both losses and compare')
    return True

grade(lambda: is_measured(predicted_winner()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} cross_entropy-from-zero
# :class: dropdown
# ```
# Neither. With zero weights all probabilities are $1/10$, so the softmax is far from saturated, and the squared error
# has a useful gradient, though a smaller one, which a larger learning rate makes up for. So the squared error of
# probabilities is no bad measure; what fails is its gradient at confident mistakes.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured('neither'), lambda: True, [()])
assert not grade(lambda: is_measured('cross-entropy'), lambda: True, [()])
assert not grade(lambda: is_measured('squared error'), lambda: True, [()])
assert not grade(lambda: is_measured(None), lambda: True, [()])
print(', '.join(f'{name} {right:.3f}' for name, right in from_zero.items()))

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★★ Pencil: the longest safe step
# :label: cross_entropy-step
#
# Use {prf:ref}`thm-cross-entropy-convex` to show that without a penalty the mean loss, along any direction $\mathbf{V}$
# of the weights, has curvature at most $\tfrac12 \lambda_{\max}(\mathbf{X}^\top \mathbf{X} / n)\, \|\mathbf{V}\|^2$.
# Which steps can therefore never raise the loss? Write the longest one that this promises, `safe_step(X)`. For our images
# $\lambda_{\max} = 1$. Is the learning rate 3 safe? Why do much larger ones work, too?
# ```

# %%
def safe_step(X):
    """The longest step that the bound on the curvature allows: a number.

    X: tensor (n, d), n >= 1, not zero, in float64.
    safe_step(torch.eye(2)) is 8.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def step_by_eigenvalue(X):
    curvature = torch.linalg.eigvalsh(X.mT @ X / len(X))[-1] / 2
    return 2 / curvature

cases = dict(X=matrices((1, 4), (1, 3), edges=True).filter(lambda X: abs(X).max() > 0.1).map(torch.tensor))
grade(safe_step, step_by_eigenvalue, **cases)

# %% [markdown]
# ```{solution-start} cross_entropy-step
# :class: dropdown
# ```
# Along $\mathbf{V}$ the scores of example $i$ move by $\mathbf{V}^\top \mathbf{x}^{(i)}$, so the curvature is the mean of
# $(\mathbf{V}^\top \mathbf{x}^{(i)})^\top \mathbf{H}^{(i)} (\mathbf{V}^\top \mathbf{x}^{(i)}) \le \tfrac12
# \|\mathbf{V}^\top \mathbf{x}^{(i)}\|^2$, and the mean of the right sides is $\tfrac12
# \operatorname{tr}(\mathbf{V}^\top \tfrac1n \mathbf{X}^\top \mathbf{X} \mathbf{V}) \le \tfrac12 \lambda_{\max}
# \|\mathbf{V}\|^2$. Gradient descent never raises a loss whose curvature is at most $c$, if its steps are at most $2/c$
# long: here $4 / \lambda_{\max} = 4$, so 3 is safe. (The penalty adds only $\lambda$, one thousandth, to the
# curvature.) But the bound counts on the worst case, two labels with probability $\frac12$ each for all images, and on
# the direction of the biases, which alone has $\lambda_{\max} = 1$: the pixels vary less. So the true curvature is much
# smaller. Of the wrong answers, the first forgets the $\frac12$ in the curvature, the second the $\frac1n$, and the third
# takes the sum of the eigenvalues for the largest.

# %% jupyter={"source_hidden": true}
def safe_step_solution(X):
    return 4 * len(X) / torch.linalg.matrix_norm(X, 2) ** 2

def without_the_half(X):
    return 2 * len(X) / torch.linalg.matrix_norm(X, 2) ** 2

def sum_for_mean(X):
    return 4 / torch.linalg.matrix_norm(X, 2) ** 2

def with_the_trace(X):
    return 4 * len(X) / torch.linalg.matrix_norm(X) ** 2

assert grade(safe_step_solution, step_by_eigenvalue, **cases)
assert not grade(without_the_half, step_by_eigenvalue, **cases)
assert not grade(sum_for_mean, step_by_eigenvalue, **cases)
assert not grade(with_the_trace, step_by_eigenvalue, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def gradient_agrees(seed, form):
    W = torch.randn(5, 65, 10, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).requires_grad_()
    slope, = torch.autograd.grad(objective(W).sum(), W)
    return close(form(W.detach()), slope)

verify(
    'the gradient with respect to the weights is that of autograd',
    lambda seed: gradient_agrees(seed, gradient),
    slip=('forgets the penalty', lambda seed: gradient_agrees(seed, lambda W: gradient(W) - lam * W)),
    seed=[0, 1, 2],
)
verify(
    'training comes within one percent of the least objective',
    lambda k: -1e-9 < gap[k] < 0.01,
    slip=('stops after 100 steps', lambda k: objective(history[100])[k] / objective(best)[k] - 1 < 0.01),
    k=list(range(5)),
)
def reads_more(name, other):
    d = results[name] - results[other]
    return bool(d.mean() > 2 * d.std() / 5**0.5)

verify(
    'softmax regression reads more new digits than the nearest mean picture, by more than two standard errors',
    lambda name: reads_more(name, 'nearest mean picture'),
    slip=('turns the comparison round', lambda name: reads_more('nearest mean picture', name)),
    name=['softmax regression', 'scikit-learn'],
)
verify(
    'after 50 steps cross-entropy is ahead of the squared error at every learning rate, in each split',
    lambda eta, k: relearned['cross-entropy', eta][k] > relearned['squared error', eta][k] + 0.2,
    slip=('expects the squared error to be ahead',
          lambda eta, k: relearned['squared error', eta][k] > relearned['cross-entropy', eta][k]),
    eta=[3, 10, 30, 100], k=list(range(5)),
)

def squared_is_right(seed, form):
    g = torch.Generator().manual_seed(seed)
    o, y = torch.randn(4, 10, generator=g, dtype=torch.float64), F.one_hot(torch.arange(4), 10).double()
    return close(form(o, y), torch.func.grad(lambda o: (o.softmax(-1) - y).square().sum())(o))

verify(
    'the gradient of the squared error of probabilities',
    lambda seed: squared_is_right(seed, squared_gradient),
    slip=('leaves the Jacobian of the softmax out',
          lambda seed: squared_is_right(seed, lambda o, y: 2 * (o.softmax(-1) - y))),
    seed=seeds(), tries=20,
)

def sharpest(n, d, seed, factor):  # two labels and zero weights reach the bound
    X = torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    Y = torch.zeros(n, dtype=torch.long)
    hessian = torch.func.hessian(lambda w: F.cross_entropy(X @ w.reshape(-1, 2), Y))(torch.zeros(2 * d, dtype=torch.float64))
    return close(torch.linalg.eigvalsh(hessian)[-1], factor * torch.linalg.eigvalsh(X.T @ X / n)[-1])

verify(
    'half the largest eigenvalue of XᵀX/n is the largest curvature, reached for two labels at zero weights',
    lambda **case: sharpest(factor=0.5, **case),
    slip=('takes a quarter, as if one score moved alone', lambda **case: sharpest(factor=0.25, **case)),
    n=integers(3, 20), d=integers(1, 4), seed=seeds(), tries=20,
)

# %% tags=["checks"]
def sure_ones_count_less(slopes, k):  # the mean gradient of the surest quarter of the images, beside the least sure one
    O = X[k] @ wrong[k]
    size = slopes(O, Y[k]).norm(dim=-1)[O.softmax(-1).amax(-1).argsort(stable=True)]
    quarter = len(size) // 4
    return bool(size[-quarter:].mean() < 0.1 * size[:quarter].mean())

verify(
    'with the squared error the images on which the model is most sure count least',
    lambda k: sure_ones_count_less(squared_gradient, k),
    slip=('says so of cross-entropy', lambda k: sure_ones_count_less(logit_gradient, k)),
    k=list(range(5)),
)

def largest_eigenvalue(X):
    return torch.linalg.eigvalsh(X.T @ X / len(X))[-1]

verify(
    'the column of ones alone has the eigenvalue 1, the pixels less than that',
    lambda k: close(largest_eigenvalue(X[k]), 1) and bool(largest_eigenvalue(X[k][:, :64]) < 1),
    slip=('says that the pixels reach it', lambda k: close(largest_eigenvalue(X[k][:, :64]), 1)),
    k=list(range(5)),
)

# %% [markdown]
# ## Summary
#
# Cross-entropy is minus the logarithm of the probability that a model gave to the true label. Its expected value is least for
# the true probabilities. Computed from scores, it is the log-sum-exp minus the score of the true label. This loss is convex, and
# its gradient is the predicted minus the true probabilities. Therefore it corrects confident mistakes, and the squared
# error of probabilities hardly does. A linear model trained with cross-entropy reads about 95 of 100 new digits.
#
# **Further reading.** {cite}`cover2006elements`, chapters 2 and 5, is the standard work on entropy and codes.
# {cite}`gneiting2007strictly` surveys proper scores. {cite}`bishop2006pattern`, section 4.3, and
# {cite}`zhang2023dive`, chapter 4, treat softmax regression, the first for readers who want proofs, the second with code.
