# ---
# jupyter:
#   book:
#     functions:
#       scores: "scores(normal(5, 3), normal(3, 2), normal(2))"
#       separable: "separable(normal(6, 2), uniform(6).round() * 2 - 1)"
#       products: "products(normal(5, 3))"
#       with_corner: "with_corner(normal(5, 4))"
#     main: dl.mlp.single-affine
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Limitations of linear models
#
# A lamp on a staircase has two switches, one at each end. It is on if exactly one of them is up. There are only four
# cases, so you would expect a classifier to learn them at once. But logistic regression does not learn them: it answers
# "fifty-fifty" in all four cases. Why can no linear model learn when this lamp is on, and what helps?
#
# - **You need** the [softmax](../classification/softmax.ipynb),
#   [logistic regression](../classification/logistic_regression.ipynb) and
#   [convex sets](../optimization/convex_sets.ipynb).
# - **You build** a test that says whether any linear model can learn a table, features that help where none can, and an
#   experiment in which reversing the colours of handwritten digits ruins a linear model.
# - **Runs in** 9 seconds, in float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from functools import cache
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.optimize import linprog
from scipy.special import expit, logit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import PolynomialFeatures

from nbutils import data
from nbutils.cases import matrices, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.figures import GREY, panels, show_image
from nbutils.printed import of

plt.style.use('nbutils.book')

# %% [markdown]
# ## XOR: what no linear model can learn
#
# Each row of `X` is one position of the two switches, with 1 for up. We compare three lamps. The first is on if both
# switches are up (AND), the second if at least one is up (OR), and the third if exactly one is up. This third rule is
# called *exclusive or*, or **XOR**.

# %%
X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
lamps = {'AND': [0, 0, 0, 1], 'OR': [0, 1, 1, 1], 'XOR': [0, 1, 1, 0]}
for name, on_off in lamps.items():
    model = LogisticRegression(C=1000).fit(X, on_off)
    told = model.predict_proba(X)[:, 1]  # (4,) probability of "on"
    print(f'{name:3} lamp', on_off, ' model', *(f'{p:.2f}' for p in told))

# %% [markdown]
# The model learns AND and OR almost perfectly. For XOR it gives the probability one half to all four positions.

# %% mystnb={"image": {"alt": "Three squares of four dots. AND: one dot is filled, and a dashed line cuts it off. OR: three dots are filled, and a dashed line cuts off the empty one. XOR: two opposite corners are filled, there is no dashed line, and both diagonals cross in the middle."}} tags=["hide-input"]
fig, axes = panels(3, height=2.1)
for ax, (name, on_off) in zip(axes, lamps.items(), strict=True):
    full = np.array(on_off) == 1
    ax.plot(*X[full].T, 'o', color='C0', ms=11)
    ax.plot(*X[~full].T, 'o', color='C0', ms=11, mfc='none', mew=1.5)
    model = LogisticRegression(C=1000).fit(X, on_off)
    if name == 'XOR':
        ax.plot(X[[1, 2], 0], X[[1, 2], 1], '-', color='C0', lw=1)
        ax.plot(X[[0, 3], 0], X[[0, 3], 1], ':', color='C0', lw=1.5)
        ax.plot(0.5, 0.5, 'x', color='C1', ms=11, mew=2.5)
    else:
        (w_1, w_2), b = model.coef_[0], model.intercept_[0]
        across = np.array([-0.4, 1.4])
        ax.plot(across, -(b + w_1 * across) / w_2, '--', color='C1')
    ax.set(title=name, xlabel='switch 1', xlim=(-0.3, 1.3), ylim=(-0.3, 1.3), xticks=[0, 1], yticks=[0, 1], aspect='equal')
axes[0].set_ylabel('switch 2');

# %% [markdown] tags=["caption"]
# The four positions of the switches; the lamp is on at the filled dots. On the dashed lines the fitted model says one
# half. For XOR there is no such line. The filled and the empty dots of XOR have the same midpoint (cross).

# %% [markdown]
# ### One affine map
#
# Let the input be a row $\mathbf{x} = (x_1, \dots, x_d)$. Logistic and softmax regression multiply it by a matrix of
# weights $\mathbf{W}$ of shape $d \times q$, where $q$ is the number of classes, and add a row of $q$ biases
# $\mathbf{b}$. Such a map, a linear map plus a constant, is called **affine**. It gives each class a score, and the
# softmax turns the scores into probabilities:
#
# ```{math}
# :label: dl.mlp.single-affine
# \hat{\mathbf{y}} = \operatorname{softmax}(\mathbf{x}\mathbf{W} + \mathbf{b}) .
# ```
#
# Whenever we speak of a **linear model** below, we mean that its scores are one affine map of the inputs. We write an
# input as a row. A batch has one example in each row, so the same line of code serves both:

# %%
def scores(X, W, b):          # (n, d), (d, q), (q,) -> (n, q)
    return X @ W + b

# %% [markdown]
# The class with the largest score is the one that the model predicts. The softmax does not change which one is largest,
# so the affine map alone decides what a linear model can learn.
#
# ### Why no line separates XOR
#
# An affine map $f(\mathbf{x}) = \mathbf{x}\mathbf{W} + \mathbf{b}$ keeps weighted means. If we mix two inputs, the scores
# are mixed in the same way:
#
# ```{math}
# :label: dl.mlp.affine
# f(\lambda \mathbf{x} + (1 - \lambda) \mathbf{x}') = \lambda f(\mathbf{x}) + (1 - \lambda) f(\mathbf{x}') .
# ```
#
# For $\lambda = \frac12$ this says that the score at a midpoint is the mean of the scores at the two ends. Let
# $s(\mathbf{x})$ be the score of "on" minus the score of "off". For XOR it should be positive at $(0, 1)$ and $(1, 0)$,
# and therefore at their midpoint $(\frac12, \frac12)$. It should be negative at $(0, 0)$ and $(1, 1)$, and therefore at
# *their* midpoint. But this is the same point, so no weights can do both. The argument works for every table:
#
# ```{prf:theorem} When one affine score is enough
# :label: thm-limits-hulls
# Let $A$ and $B$ be finite sets of inputs. There is an affine score that is positive on $A$ and negative on $B$ if and
# only if no weighted mean of points of $A$ equals a weighted mean of points of $B$. (The weights are not negative and
# sum to one.)
# ```
#
# ````{prf:proof}
# :class: dropdown
# Let such a score exist. By {eq}`dl.mlp.affine` it is positive at every weighted mean of points of $A$ and negative at
# every weighted mean of points of $B$, so no point is both.
#
# Now let no point be both. The weighted means of $A$ form a convex set, those of $B$ another, and both are closed and
# bounded, because $A$ and $B$ are finite. So there are points $\mathbf{p}$ in the first and $\mathbf{r}$ in the second
# whose distance is smallest, and it is positive. The score
# $s(\mathbf{x}) = (\mathbf{x} - \frac{\mathbf{p} + \mathbf{r}}2) (\mathbf{p} - \mathbf{r})^\top$ is positive on $A$: as
# $\mathbf{p}$ is the nearest point to $\mathbf{r}$ in the first set, {prf:ref}`thm-obtuse-angle` gives
# $(\mathbf{x} - \mathbf{p})(\mathbf{p} - \mathbf{r})^\top \ge 0$ there, and $s(\mathbf{x})$ is larger than this by
# $\frac12 \|\mathbf{p} - \mathbf{r}\|^2$. In the same way it is negative on $B$.
# ````
#
# ### A test for any table
#
# Given $n$ inputs with labels $y_i = \pm 1$, is there a score $s(\mathbf{x}) = \mathbf{x}\mathbf{w} + b$ with
# $y_i\, s(\mathbf{x}_i) > 0$ for all $i$? If so, we can scale it until $y_i\, s(\mathbf{x}_i) \ge 1$. These are $n$
# linear inequalities in $\mathbf{w}$ and $b$. A **linear program** finds a solution, or says that there is none:

# %%
def separable(X, y):          # (n, d), (n,) with labels -1 and 1
    X_1 = np.column_stack([X, np.ones(len(X))])      # (n, d + 1)
    A, c = -y[:, None] * X_1, -np.ones(len(X))       # A @ (w, b) <= c
    unknown = np.zeros(X_1.shape[1])                 # nothing to minimize
    program = linprog(unknown, A_ub=A, b_ub=c, bounds=(None, None))
    return program.status == 0

# %% [markdown]
# A table of $d$ switches has $2^d$ rows, and each row can be on or off. We try all tables of two and of three switches:

# %%
def tables(d):                # all inputs, all ways to label them
    bits = np.array([*product([0.0, 1.0], repeat=d)])      # (2^d, d)
    return bits, np.array([*product([-1, 1], repeat=2**d)])

learnable = {}
for d in (2, 3):
    bits, labels = tables(d)
    learnable[d] = sum(separable(bits, y) for y in labels)
    print(f'{d} switches: {learnable[d]} of {len(labels)} tables')

# %% [markdown]
# With two switches only XOR and its opposite are out of reach. With three switches, more than half of the tables are.
#
# ```{exercise} ★★ Pencil: one position moves
# :label: limits-moved
# The lamp is off at $(0, 0)$ and on at $(0, 1)$ and $(1, 0)$, as in XOR. The fourth point, where it is off again, is not
# $(1, 1)$ but $(a, c)$. For which $a$ and $c$ can an affine score separate "on" from "off"? Derive a condition from
# {prf:ref}`thm-limits-hulls`, and write it as `can_be_learned(a, c)`.
# ```

# %%
def can_be_learned(a, c):
    """Whether an affine score separates the four points: bool.

    a and c are floats. can_be_learned(1.0, 1.0) is False: this is XOR.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_a_program(a, c):
    X_m = np.array([[0, 0], [0, 1], [1, 0], [a, c]])
    return bool(separable(X_m, np.array([-1, 1, 1, -1])))

moved = [(0.5, 0.5), (0.0, 1.0), (1.0, 0.0), (0.25, 0.75), (-0.5, 1.5), (0.0, 0.5), (3.0, 0.0), (-0.25, 3.0), (3.0, -0.25)]
plane = dict(a=on(0.0, 0.5, 1.0) | scalars(-2, 2), c=on(0.0, 0.5, 1.0) | scalars(-2, 2))
grade(can_be_learned, by_a_program, moved, tries=60, without=['scipy.optimize.linprog'], **plane)

# %% [markdown]
# ```{solution-start} limits-moved
# :class: dropdown
# ```
# The weighted means of the two "on" points form the segment from $(0, 1)$ to $(1, 0)$. Those of the two "off" points form
# the segment from $(0, 0)$ to $(a, c)$. They meet if and only if $(a, c)$ lies in the quarter plane $a \ge 0$, $c \ge 0$,
# and on or beyond the line $a + c = 1$. In all other cases a score exists. The wrong answers let a fourth point on the
# segment pass, forget the signs of $a$ and $c$, and look at $(1, 1)$ alone.

# %% jupyter={"source_hidden": true}
def can_be_learned_solution(a, c):
    return not (a >= 0 and c >= 0 and a + c >= 1)

def touching_is_allowed(a, c):
    return not (a >= 0 and c >= 0 and a + c > 1)

def signs_forgotten(a, c):
    return a + c < 1

def only_xor(a, c):
    return (a, c) != (1, 1)

assert grade(can_be_learned_solution, by_a_program, moved, tries=60, **plane)
assert not grade(touching_is_allowed, by_a_program, moved, tries=60, **plane)
assert not grade(signs_forgotten, by_a_program, moved, tries=60, **plane)
assert not grade(only_xor, by_a_program, moved, tries=60, **plane)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def in_torch(x, W, b):
    layer = torch.nn.Linear(*W.shape, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(W.T))
        layer.bias.copy_(torch.tensor(b).ravel())
        return layer(torch.tensor(x)).softmax(-1).numpy()

row = matrices(1, 3, -2, 2)
holds('dl.mlp.single-affine', x=row, W=matrices(3, 2, -2, 2), b=matrices(1, 2, -2, 2), y_hat=of(in_torch), softmax=softmax,
      tries=60)
holds('dl.mlp.affine', lambda_=scalars(-2, 2), x=row, x_prime=row, tries=60,
      f=[lambda x: scores(x, np.eye(3)[:, :2] - 2, np.ones(2))])

def shared(seed, d):  # points of A and of B with a common weighted mean, which they move apart by a gap
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, d + 1, d))
    a, b = rng.dirichlet(np.ones(d + 1), 2)
    return A, B + (a @ A - b @ B)

def decided(seed, d, gap, answer):
    A, B = shared(seed, d)
    y = np.repeat([1, -1], d + 1)
    apart = B + gap * np.eye(d)[0]
    return separable(np.vstack([A, apart]), y) == answer(gap)

verify(
    'the linear program says no where weighted means meet, and yes where a wide gap parts the sets',
    lambda seed, d, gap: decided(seed, d, gap, lambda gap: gap > 0),
    slip=('calls all sets separable', lambda seed, d, gap: decided(seed, d, gap, lambda gap: True)),
    seed=seeds(), d=[1, 2, 3], gap=[0, 100], tries=40,
)
known = {2: 14, 3: 104}  # numbers of threshold functions
verify(
    '14 tables of two switches and 104 of three can be learned; with two, all but XOR and its opposite',
    lambda d, counted: learnable[d] == counted[d] and not separable(X, np.array([-1, 1, 1, -1])),
    slip=('counts both XOR tables of two switches as well', lambda d, counted: learnable[d] == counted[d] + 2),
    d=[2, 3], counted=[known],
)
verify(
    'logistic regression says one half in all four cases of XOR',
    lambda C: close(LogisticRegression(C=C).fit(X, lamps['XOR']).predict_proba(X), np.full((4, 2), 0.5)),
    slip=('takes OR in place of XOR',
          lambda C: close(LogisticRegression(C=C).fit(X, lamps['OR']).predict_proba(X), np.full((4, 2), 0.5))),
    C=[1.0, 1000.0],
)

# %% [markdown]
# ## Monotonicity: more of an input always pushes the same way
#
# A linear model has a second limit. Take a single score $s(\mathbf{x}) = \mathbf{x}\mathbf{w} + b$,
# and raise input $j$ by $t$ ($\mathbf{e}_j$ is the row with a single 1, in place $j$):
#
# ```{math}
# :label: dl.limits.monotone
# s(\mathbf{x} + t\, \mathbf{e}_j) = s(\mathbf{x}) + t\, w_j .
# ```
#
# If $w_j$ is positive, more of this input always raises the score. If $w_j$ is negative, it always lowers the score. The
# other inputs have no say in it, and neither has the value that $x_j$ already has. This is called **monotonicity**, and
# often the world is not like that:
#
# - A body temperature of 35 °C is dangerous, and so is one of 41 °C. Warming helps the first patient and harms the second.
# - In the lamp with two switches, raising one switch turns the lamp on if the other one is down, and off if it is up.
#
# ### Monotone, but not linear: who pays back a loan?
#
# Even where more is always better, equal steps need not be worth the same. The data are credit scores of borrowers in
# the United States: a score from 0 to 100, and the share of the borrowers with this score who paid back without being
# 90 days late {cite}`hardt2016equality`. We take the largest of the four groups in the data, at the scores 0, 10, and
# so on up to 100.

# %%
credit = data.fico()
largest = credit['group'] == 'non-hispanic white'
here = largest & (credit['score'] % 10 == 0)
score = credit['score'][here]                    # (11,)
repaid = 1 - credit['default'][here]             # (11,)
paid = dict(zip(score, repaid, strict=True))
for low, high in ((10, 30), (40, 60), (80, 100)):
    print(f'score {low} to {high}: repaid {paid[low]:.1%} to {paid[high]:.1%},'
          f' gain {paid[high] - paid[low]:.1%}')

# %% [markdown]
# The share rises from each score to the next, but 20 points more are worth more than fifty times as much at the bottom
# as at the top. A straight line gives the same gain everywhere. The same is plausible for incomes. Let $p(s)$ be the
# probability that somebody with an income of $s$, in thousands of dollars a year, pays back. The first 50 should matter
# more than 50 on top of a much larger income:
#
# ```{math}
# :label: dl.limits.loan-increment
# p(50) - p(0) > p(1050) - p(1000) .
# ```
#
# So a linear *probability* does not fit. A remedy is to let a function of the probability be linear. Logistic regression takes the
# [log-odds](../classification/logistic_regression.ipynb):
#
# ```{math}
# :label: dl.limits.log-map
# \log \frac{p}{1 - p} = \mathbf{x}\mathbf{w} + b .
# ```
#
# How straight is each curve? We fit a line to the share $p$, to its logarithm and to its log-odds, and print $R^2$, the
# part of the variance that the line explains:

# %%
curves = {'p': repaid, 'log p': np.log(repaid), 'log-odds': logit(repaid)}
straight = {}
for name, curve in curves.items():
    straight[name] = np.corrcoef(score, curve)[0, 1] ** 2
    print(f'{name:8} R² = {straight[name]:.2f}')

# %% mystnb={"image": {"alt": "Dots rise in an S from almost 0 at score 0 to almost 1 at score 100, steepest in the first half. A straight line begins above the first dot and ends above 1. The curve of the logarithm stays low and leaves the frame at the top. The curve of the log-odds is an S near the dots."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.9))
ax.plot(score, repaid, 'o', color='C0', ms=4)
back = {'p': lambda v: v, 'log p': np.exp, 'log-odds': expit}
for i, (name, curve) in enumerate(curves.items(), 1):
    fine = np.linspace(0, 100, 101)
    ax.plot(fine, back[name](np.polyval(np.polyfit(score, curve, 1), fine)), color=f'C{i}', lw=1.5)
ax.axhline(1, color=GREY, ls='--', lw=0.8)
for words, spot, colour in (('line for p', (1, 0.4), 'C1'), ('line for log p', (64, 0.55), 'C2'),
                            ('line for the log-odds', (5, 0.72), 'C3'), ('data', (17, 0.08), 'C0')):
    ax.text(*spot, words, color=colour)
ax.set(xlabel='credit score', ylabel='share that paid back', ylim=(0, 1.3));

# %% [markdown] tags=["caption"]
# The share of borrowers who paid back (dots), and straight lines fitted to the share, to its logarithm and to its
# log-odds, each turned back into a share. Only the last one bends as the dots do and stays below 1.

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# "Take the logarithm" is often heard, but of what? The logarithm of the *probability* is less straight here than the
# probability itself ($R^2$ of 0.60 in place of 0.80), and its line promises shares above 1. The log-odds have 0.92. Where
# all probabilities are small, $1 - p \approx 1$, and only there the logarithm is nearly the same as the log-odds.
# :::

# %% tags=["checks"]
holds('dl.limits.monotone', tries=60, x=row, t=scalars(), w=vectors(3), b=scalars(), j=[1, 2, 3],
      e=[[*np.eye(3)[:, None]]], s=of(lambda w, b: lambda x: (x @ w + b).item()))

def pays_back(s, c, k):  # its log-odds are linear in log s
    return s**k / (s**k + c**k)

holds(
    'dl.limits.loan-increment',
    lambda c, k: pays_back(50, c, k) - pays_back(0, c, k) > pays_back(1050, c, k) - pays_back(1000, c, k),
    slip=('compares the likelihoods in place of their increases', lambda c, k: pays_back(50, c, k) > pays_back(1050, c, k)),
    c=[20, 100, 200], k=[0.5, 1, 2],
)
by_logistic = LogisticRegression(C=100).fit(score[:, None] / 100, repaid > 0.9)

def told_by_logistic(x):
    return by_logistic.predict_proba(np.reshape(x, (1, 1)))[0, 1]

holds('dl.limits.log-map', x=matrices(1, 1, 0, 1), w=[by_logistic.coef_[0]], b=[by_logistic.intercept_[0]],
      tries=60, p=of(told_by_logistic))

# %% tags=["checks"]
def r_squared(curve, s):
    return np.corrcoef(s, curve)[0, 1] ** 2

verify(
    'the log-odds of repayment are straighter than the share, and its logarithm is less straight',
    lambda s: r_squared(logit(repaid), s) > r_squared(repaid, s) + 0.1 > r_squared(np.log(repaid), s) + 0.2,
    slip=('takes the logarithm for the straighter one', lambda s: r_squared(np.log(repaid), s) > r_squared(repaid, s)),
    s=[score],
)
verify(
    'the share rises at every score, by far more at the bottom than at the top',
    lambda gain: bool((np.diff(repaid) > 0).all()) and paid[30] - paid[10] > gain * (paid[100] - paid[80]),
    slip=('exchanges the ends', lambda gain: paid[100] - paid[80] > gain * (paid[30] - paid[10])),
    gain=[50],
)

def straight_log(low):  # the logarithm of p, where the log-odds rise from low to low + 3
    s = np.linspace(0, 1, 50)
    return r_squared(np.log(expit(low + 3 * s)), s) > 0.999

verify(
    'where all probabilities are small, log p is as straight as the log-odds',
    lambda low: straight_log(low), slip=('says so of large ones as well', lambda low: straight_log(low + 8)), low=[-8, -7],
)

# %% [markdown]
# ## Features: products, distances, logarithms
#
# A **feature** is a number that we compute from the inputs before the linear model sees them. A good feature can repair
# what the model cannot do by itself. For body temperature $x$, take the distance $|x - 37|$: more of it is always
# worse. For incomes, take the logarithm. For the lamp, take the product $x_1 x_2$ as a third input, and one affine map
# is enough:

# %%
with_product = np.column_stack([X, X[:, 0] * X[:, 1]])     # (4, 3)
s = scores(with_product, np.array([1.0, 1.0, -2.0]), -0.5)  # (4,)
print('scores', s, ' should be', lamps['XOR'])

# %% [markdown]
# Products are enough for every table of switches. For $d = 2$ they are $1$, $x_1$, $x_2$ and $x_1 x_2$; in general there
# is one for each set of switches, so $2^d$ of them (the empty product is 1).
#
# ```{prf:theorem} Every table is linear in products
# :label: thm-limits-products
# Every function of $d$ inputs from $\{0, 1\}$ is a weighted sum of the $2^d$ products of distinct inputs, with exactly
# one choice of weights.
# ```
#
# ```{prf:proof}
# :class: dropdown
# For each row $\mathbf{a}$ of the table, the product over all $j$ of $x_j$ where $a_j = 1$ and of $1 - x_j$ where
# $a_j = 0$ is 1 on this row and 0 on all others. Multiplied out, it is a sum of products of distinct inputs. A function
# is the sum of these terms, each times its value on the row. So the $2^d$ products span the space of all functions on
# $2^d$ rows, which has the dimension $2^d$. Hence they are a basis, and the weights are unique.
# ```
#
# In scikit-learn, `PolynomialFeatures` makes the products. With `interaction_only=True` no input is multiplied by itself:

# %%
def products(X):              # (n, d) -> (n, 2^d)
    d = X.shape[1]
    make = PolynomialFeatures(degree=d, interaction_only=True)
    return make.fit_transform(X)

# %%
for d in (2, 3):
    bits, labels = tables(d)
    count = sum(separable(products(bits), y) for y in labels)
    print(f'{d} switches: {count} of {len(labels)} tables')

# %% [markdown]
# Now all tables can be learned. But the price is high. The number of products doubles with each input: 20 inputs have
# $2^{20} \approx 10^6$ of them. Products of only two inputs are fewer, but a picture of $28 \times 28$ pixels still has
# $\frac{784 \cdot 783}{2} \approx 307000$ of these. Somebody has to know which features help, or the model has to find
# them in the data.
#
# ```{exercise} ★★ Program: which weights?
# :label: limits-weights
# Write `in_products(y)`: the weights of the products for a table of $d$ switches. The rows of the table come in the
# order of the binary numbers, `00`, `01`, `10`, `11`, and the weights in the same order: the digits say which switches
# are in the product. (So for $d = 2$ the order is $1$, $x_2$, $x_1$, $x_1 x_2$.)
# ```

# %%
def in_products(y):
    """The weights of the products of a table: (2^d,) -> (2^d,), floats.

    y holds the values of the 2^d rows, d = 0, 1, 2, ...
    in_products(np.array([0.0, 1.0, 1.0, 0.0])) is [0, 1, 1, -2].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_solving(y):
    d = len(y).bit_length() - 1
    rows = np.array([*product([0, 1], repeat=d)]).reshape(len(y), d)
    inside = (rows[:, None] >= rows[None]).all(-1)  # a product is 1 on a row if the row has all its switches up
    return np.linalg.solve(inside * 1.0, y)

weight_cases = dict(y=on(1, 2, 4, 8, 16).flatmap(lambda n: vectors(n, edges=True)))
grade(in_products, by_solving, tries=60, **weight_cases)

# %% [markdown]
# ```{solution-start} limits-weights
# :class: dropdown
# ```
# With one switch, $y = y_0 + (y_1 - y_0)\, x$: the lower half of the table stays, and the upper half becomes a
# difference. Do this for each switch in turn. It takes $d\, 2^{d-1}$ subtractions. The wrong answers difference only
# the first switch, take the values of the table for the weights, and subtract the value at zero from all others.

# %% jupyter={"source_hidden": true}
def in_products_solution(y):
    d = len(y).bit_length() - 1
    c = y.reshape((2,) * d).copy()
    for switch in range(d):
        halves = np.moveaxis(c, switch, 0)  # a view of c
        halves[1] -= halves[0]
    return c.reshape(-1)

def one_switch_only(y):
    half = len(y) // 2
    return np.concatenate([y[:half], y[half:] - y[:half]]) if half else y.copy()

def values_as_weights(y):
    return y.copy()

def less_the_first(y):
    return np.append(y[:1], y[1:] - y[0])

assert grade(in_products_solution, by_solving, tries=60, **weight_cases)
assert not grade(one_switch_only, by_solving, tries=60, **weight_cases)
assert not grade(values_as_weights, by_solving, tries=60, **weight_cases)
assert not grade(less_the_first, by_solving, tries=60, **weight_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def is_unique_sum(d, features):
    bits, _ = tables(2) if d == 2 else tables(3)
    return np.linalg.matrix_rank(features(bits)) == 2**d

verify(
    'every table is a sum of products, with one choice of weights',
    lambda d: is_unique_sum(d, products),
    slip=('takes products of at most two inputs',
          lambda d: is_unique_sum(d, PolynomialFeatures(2, interaction_only=True).fit_transform)),
    d=[2, 3],
)
verify(
    'with the product, the score has the right sign for every position of the lamp',
    lambda weight: bool((np.sign(scores(with_product, np.array([1.0, 1.0, weight]), -0.5)) == [-1, 1, 1, -1]).all()),
    slip=('forgets to count the product twice', lambda weight: bool(
        (np.sign(scores(with_product, np.array([1.0, 1.0, weight / 2]), -0.5)) == [-1, 1, 1, -1]).all())),
    weight=[-2.0],
)

# %% [markdown]
# ## Where it matters: photographic negatives of digits
#
# In a photographic negative, black and white change places. You can read a digit in a negative as well as in the original.
# Can a linear model? We take handwritten digits {cite}`lecun1998gradient`, average them to $14 \times 14$ pixels, and
# subtract $\frac12$. Then paper is $-\frac12$, ink is $+\frac12$, and the negative of $\mathbf{x}$ is $-\mathbf{x}$:

# %%
def coarse(table):            # (n, 784) in [0, 1] -> (n, 196)
    blocks = table.x.reshape(-1, 14, 2, 14, 2)
    return blocks.mean((2, 4)).reshape(-1, 196) - 0.5

train, test = data.mnist('train'), data.mnist('test')
digits, test_digits = coarse(train), coarse(test)  # (4000, 196), (1000, 196)

# %%
def with_negatives(digits, share, seed):  # turn a share of them round
    rng = np.random.default_rng(seed)
    turned = rng.random(len(digits)) < share
    return np.where(turned[:, None], -digits, digits)

half = with_negatives(digits, 0.5, seed=0)         # (4000, 196)
pairs = np.concatenate([test_digits, -test_digits])  # (2000, 196)
pair_labels = np.concatenate([test.y, test.y])

# %% mystnb={"image": {"alt": "Ten coarse handwritten digits, 0 to 9. Some are white on black, the others black on white."}} tags=["hide-input"]
fig, axes = panels(10, height=0.75)
for ax, picture in zip(axes, half, strict=False):
    show_image(ax, picture.reshape(14, 14), vmin=-0.5, vmax=0.5)

# %% [markdown] tags=["caption"]
# The first ten digits of the training set; three of them have become negatives. A pixel alone does not say whether it is
# ink: it is ink if it *differs* from the paper, whose colour stands in the corner.

# %% [markdown]
# The answer follows from the midpoint argument. The midpoint of a digit and its negative is $\mathbf{0}$, whatever the
# digit:
#
# ```{prf:theorem} A digit and its negative
# :label: thm-limits-pairs
# A linear model predicts the class whose score in $\mathbf{x}\mathbf{W} + \mathbf{b}$ is larger than all others. If it
# is right on both $\mathbf{x}$ and $-\mathbf{x}$, which have the same label $k$, then $b_k$ is larger than all other
# biases. So if the test set consists of such pairs, and all $q$ classes are equally frequent, the model is right on at
# most $\frac12 + \frac1{2q}$ of it.
# ```
#
# ```{prf:proof}
# :class: dropdown
# The mean of the scores at $\mathbf{x}$ and $-\mathbf{x}$ is $\mathbf{b}$, by {eq}`dl.mlp.affine` or directly. If class
# $k$ has the largest score at both, its mean is the largest, too, so $b_k > b_j$ for all $j \ne k$. At most one class
# $k$ has this property. In all other classes at most one picture of each pair is right, so the share of right answers
# is at most $\frac1q \cdot 1 + \frac{q - 1}{q} \cdot \frac12 = \frac12 + \frac1{2q}$.
# ```
#
# For ten digits the bound is 0.55, however the model was trained. A *feature* repairs it: multiply each pixel by the
# pixel in the corner, which is always paper. Like the product in XOR, it says whether the two differ:

# %%
def with_corner(N):           # (n, 196) -> (n, 196)
    return -2 * N * N[:, :1]

turned_back = np.array_equal(with_corner(half), digits)
print('all negatives are turned back:', turned_back)

# %% [markdown]
# So with this feature, softmax regression is as good as if there were no negatives. We also train softmax regression on
# the pixels, for three random draws of the negatives. For each draw we try three values of `C` (a larger `C` means a
# weaker penalty) and report the best on the test pictures, which favours the linear model. The last model, `MLPClassifier`, has a *hidden layer*: 50 features
# that it finds itself. How it does this is the subject of the next section.

# %%
def right(model, inputs, test_inputs):  # share of right answers
    return model.fit(inputs, train.y).score(test_inputs, pair_labels)

def softmax_regression(inputs, test_inputs, Cs=(0.0001, 0.001, 0.01)):
    return max(right(LogisticRegression(C=C, max_iter=500),
                     inputs, test_inputs) for C in Cs)

def hidden_layer(inputs, seed):
    model = MLPClassifier(50, learning_rate_init=0.005, random_state=seed)
    for epoch in range(16):
        model.partial_fit(inputs, train.y, classes=range(10))
    return model.score(pairs, pair_labels)

# %%
draws = [with_negatives(digits, 0.5, seed) for seed in range(3)]
accuracy = {
    'pixels': [softmax_regression(N, pairs) for N in draws],
    'pixels times corner': [
        softmax_regression(with_corner(half), with_corner(pairs), [0.03])],
    'hidden layer': [hidden_layer(N, seed) for seed, N in enumerate(draws)],
}
for name, shares in accuracy.items():
    print(f'{name:19} {min(shares):.2f} to {max(shares):.2f}')
print(f'bound for pixels    {1 / 2 + 1 / 20:.2f}')

# %% mystnb={"image": {"alt": "Three rows of dots. Pixels: between 0.27 and 0.29, left of the dashed line at 0.55. Pixels times corner and hidden layer: near 0.9. A dotted line marks chance at 0.1."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 1.9))
for place, shares in enumerate(accuracy.values()):
    ax.plot(shares, [-place] * len(shares), 'o', color=f'C{place}', ms=7, alpha=0.7)
ax.axvline(0.1, color=GREY, ls=':', lw=1)
ax.axvline(0.55, color=GREY, ls='--', lw=1)
ax.text(0.11, 0.55, 'chance', color=GREY)
ax.text(0.56, 0.55, 'bound for linear models', color=GREY)
ax.set(xlim=(0, 1), ylim=(-2.6, 0.95), xlabel='share of the test pictures that are right', yticks=[0, -1, -2])
ax.set_yticklabels(accuracy);

# %% [markdown] tags=["caption"]
# Accuracy on the test digits and their negatives, for each draw of the training set (dots). No linear model of the
# pixels can pass the dashed line. The right feature, and a network that finds its features, pass it by far.

# %% [markdown]
# Softmax regression of the pixels is right on less than three tenths of the pictures, far below even the bound. The cause is
# the reversal and nothing else: if the feature undoes it, the same model is right on nearly nine tenths. The hidden
# layer was told nothing about corners, and it reaches as much.
#
# ```{exercise} ★★ Experiment: how many negatives does it take?
# :label: limits-share
# In training and test, a share of 0, 0.1, 0.5, 0.9 or 1 of the pictures is turned round at random. Predict the accuracy
# of softmax regression on the pixels for each share, to within 0.1, and return the five numbers. (You know the first
# and the third.) Then run the grader, and explain what you see.
# ```

# %%
def predicted_accuracies():
    """Accuracy for the shares 0, 0.1, 0.5, 0.9 and 1: five floats."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
@cache
def accuracy_at(share):
    model = LogisticRegression(C=0.01, max_iter=500).fit(with_negatives(digits[:2000], share, 0), train.y[:2000])
    return model.score(with_negatives(test_digits, share, 1), test.y)

shares_tried = (0, 0.1, 0.5, 0.9, 1)

def is_measured(said):
    measured = [accuracy_at(share) for share in shares_tried]
    if len(said) != 5:
        raise ValueError('give five numbers, one for each share')
    if off := [share for share, a, b in zip(shares_tried, said, measured, strict=True) if not abs(a - b) < 0.1]:
        raise ValueError(f'something else is measured at the share {off[0]}; try it')
    return True

grade(lambda: is_measured(predicted_accuracies()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} limits-share
# :class: dropdown
# ```
# With a tenth of negatives the model learns the originals and is wrong on nearly all negatives, so about a tenth of the
# accuracy is lost. The problem is symmetric: if all pictures are turned round, the model takes the opposite
# weights, and nothing is lost. So 0.9 is as good as 0.1, and 1 as good as 0. In between the accuracy falls to its lowest
# value at one half. The wrong answers expect a straight fall from 0 to 1, no loss at 0.1, and chance at one half.

# %% jupyter={"source_hidden": true}
right_shares = [accuracy_at(share) for share in shares_tried]
assert grade(lambda: is_measured(right_shares), lambda: True, [()])
assert not grade(lambda: is_measured([0.83, 0.74, 0.24, 0.1, 0.02]), lambda: True, [()])
assert not grade(lambda: is_measured([0.83, 0.95, 0.24, 0.95, 0.83]), lambda: True, [()])
assert not grade(lambda: is_measured([0.83, 0.74, 0.1, 0.74, 0.83]), lambda: True, [()])
for share in shares_tried:
    print(f'share {share}: accuracy {accuracy_at(share):.2f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def winners(x, W, b):  # the class that wins on x, and the one that wins on -x
    return int(scores(x, W, b).argmax()), int(scores(-x, W, b).argmax())

def is_bounded(seed, bound):  # q classes, one pair each; W is made for the pairs of most classes
    rng = np.random.default_rng(seed)
    q = int(rng.integers(2, 6))
    x, b = rng.normal(size=(q, q)), rng.normal(size=q) * 10.0 ** rng.integers(-2, 2)
    W = np.linalg.solve(x, np.diag(rng.uniform(0, 3, q) * (rng.random(q) < 0.8)))
    right = [(win == k) for k in range(q) for win in winners(x[k], W, b)]
    return bool(np.mean(right) <= bound(q) + 1e-12)

verify(
    'on pairs x, -x a linear model is right on at most 1/2 + 1/(2q)',
    lambda seed: is_bounded(seed, lambda q: 0.5 + 0.5 / q),
    slip=('forgets the class with the largest bias', lambda seed: is_bounded(seed, lambda q: 0.5)),
    seed=list(range(100)),
)

def wins_twice(x, W, b, extreme=np.argmax):
    first, second = winners(x, W, b)
    return first != second or first == int(extreme(b))

verify(
    'what wins on both has the largest bias',
    lambda x, W, b: wins_twice(x, W, b),
    slip=('takes the smallest bias', lambda x, W, b: wins_twice(x, W, b, np.argmin)),
    x=vectors(2), W=matrices(2, 3), b=on(*np.eye(3)) | vectors(3).filter(lambda b: len(set(b)) == 3),
)
verify(
    'pixels stay below the bound, the feature and the hidden layer pass it',
    lambda bound: (max(accuracy['pixels']) < bound < min(accuracy['pixels times corner'] + accuracy['hidden layer'])
                   and max(accuracy['pixels']) < 0.35 and min(accuracy['hidden layer']) > 0.85),
    slip=('exchanges the models', lambda bound: min(accuracy['pixels']) > bound > max(accuracy['hidden layer'])),
    bound=[0.55],
)

# %% [markdown]
# ## Summary
#
# A linear model computes one affine map of its inputs, which keeps weighted means; so it cannot learn XOR, nor any other
# table in which the two classes share a weighted mean. Each input pushes the score in one direction only, and by the same amount
# everywhere. Features such as products, distances and logarithms repair this, but somebody has to choose them, and the
# number of possible products doubles with each input; a hidden layer learns its features from the data.
#
# **Further reading.** {cite:t}`zhang2023dive`, section 5.1, motivates hidden layers by the examples of incomes and
# temperatures. {cite:t}`minsky1969perceptrons` is the famous book on what one layer cannot do, for readers who like
# geometry. {cite:t}`goodfellow2016deep`, section 6.1, solves XOR with two hidden units.
