# ---
# jupyter:
#   book:
#     functions:
#       interpolate: "interpolate(normal(6, 3), normal(6, 2), normal(3))"
#       second_weights: "second_weights(torch.linalg.svd(normal(5, 3), full_matrices=False), normal(5, 2), 0.1)"
#     main: gen-dl-interpolant
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Generalization in deep learning
#
# A network with 32 hidden units has 25,450 parameters. We train it on 500 handwritten digits until it is right on all of
# them, and it is also right on about 84 % of a thousand new digits. Then we replace the 500 labels by random ones and train
# again. Again the network becomes right on all 500. So it can learn labels by heart that have nothing to do with the
# pictures. Why is it right on new digits, what do more units change, and what helps if some labels are wrong?
#
# - **You need** [hidden layers](hidden_layers.ipynb), [training and validation error](../regression/generalization.ipynb),
#   the [singular value decomposition](../linear_algebra/singular_value_decomposition.ipynb) and
#   [ridge regression](../regression/ridge_regression.ipynb).
# - **You build** a network that stores any labels without training, the curve of double descent with its cure, and a training
#   loop with early stopping.
# - **Runs in** 8 seconds. All floats are float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
import copy
from functools import cache
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from sklearn.linear_model import Ridge
from torch import nn

from nbutils import data
from nbutils.cases import integers, lists, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.figures import GREY, panels
from nbutils.training import batches

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the matrices are small: a second thread would mostly wait
plt.style.use('nbutils.book')

# %% [markdown]
# ## Fitting random labels: a network can store any training set
#
# We take 500 digits of $28 \times 28$ pixels for training and 1,000 new ones for the test, and subtract the mean picture of the
# 500 from all of them. `redraw` replaces each label with probability `share` by a random digit. One random digit in ten is
# the right one by chance, so if a fifth of the labels are redrawn, a little less than a fifth are wrong. If all are redrawn, a
# label says nothing about its picture.

# %%
train, test = data.mnist('train'), data.mnist('test')
n = 500
X_all, y_all = torch.tensor(train.x), torch.tensor(train.y)
mean = X_all[:n].mean(0)                      # (784,)
X, y = X_all[:n] - mean, y_all[:n]            # (500, 784), (500,)
X_test, y_test = torch.tensor(test.x) - mean, torch.tensor(test.y)
print(len(X), 'digits for training,', len(X_test), 'new ones for the test')

# %%
def redraw(labels, share, g):          # g is a random generator
    chosen = torch.rand(len(labels), generator=g) < share
    new = torch.randint(10, labels.shape, generator=g)
    return torch.where(chosen, new, labels)

def right(o, labels):                  # share of the rows that are right
    return (o.argmax(1) == labels).double().mean().item()

# %% [markdown]
# How much can a network store? We first build one by hand. A random column $\mathbf{v}$ of 784 numbers turns each digit
# $\mathbf{x}$ into a single number $\mathbf{x}\mathbf{v}$. Let $t_1 < t_2 < \dots < t_n$ be the $n$ numbers in order, and
# let $y_k$ be the answer that we want at $t_k$. We join the points $(t_k, y_k)$ by a broken line, whose slope from
# $t_k$ to $t_{k+1}$ is $s_k = (y_{k+1} - y_k) / (t_{k+1} - t_k)$. As in [hidden layers](hidden_layers.ipynb), each ReLU
# unit changes the slope at one place:
#
# ```{math}
# :label: gen-dl-interpolant
# f(\mathbf{x}) = y_1 + s_1 \operatorname{relu}(\mathbf{x}\mathbf{v} - t_1)
# + \sum_{k=2}^{n-1} (s_k - s_{k-1}) \operatorname{relu}(\mathbf{x}\mathbf{v} - t_k) .
# ```
#
# This is a network with $n - 1$ hidden units. All of them have the first weights $\mathbf{v}$, and the biases are $-t_k$.
# For ten classes we take a one-hot row for each $y_k$. Then the slopes are rows of ten numbers, too, and the network has ten
# outputs. Its answer is the class with the largest output.

# %%
def interpolate(X, Y, v):                             # (n, d), (n, q), (d,)
    t, order = (X @ v).sort(stable=True)              # (n,)
    Y = Y[order]
    s = Y.diff(dim=0) / t.diff()[:, None]             # (n - 1, q)
    change = s.diff(dim=0, prepend=torch.zeros_like(s[:1]))
    W_1 = v[:, None].expand(-1, len(s))               # (d, n - 1)
    return W_1, -t[:-1], change, Y[0]

def mlp(x, W_1, b_1, W_2, b_2):
    return F.relu(x @ W_1 + b_1) @ W_2 + b_2

# %%
g = torch.Generator().manual_seed(0)
v = torch.randn(784, generator=g)
for name, labels in ('true', y), ('random', redraw(y, 1, g)):
    net = interpolate(X, F.one_hot(labels, 10).double(), v)
    print(f'{name:6} labels: right on the training digits'
          f' {right(mlp(X, *net), labels):.2f},'
          f' on new ones {right(mlp(X_test, *net), y_test):.3f}')

# %% mystnb={"image": {"alt": "Left: three columns of circles with dots between them, 784 inputs, m hidden units and ten outputs, joined by arrows. Right: a broken line that jumps between zero and one without order through a hundred dots at the heights zero and one."}} tags=["hide-input"]
fig, (left, axis) = panels(2, height=2.5, width_ratios=[1.3, 1])
columns = [('$\\mathbf{x}$: 1 × 784', 3), ('$\\mathbf{h}$: 1 × m', 3), ('$\\mathbf{o}$: 1 × 10', 3)]
spots = [[(3 * i, h) for h in (1.1, 0.3, -1.1)] for i in range(3)]
for (shape, _), places in zip(columns, spots, strict=True):
    for x, h in places:
        left.add_patch(plt.Circle((x, h), 0.24, fc='none', ec='C0', lw=1.5))
    left.text(places[0][0], -0.42, '⋮', ha='center', va='center')
    left.text(places[0][0], -1.95, shape, ha='center', fontsize=9)
for i, words in enumerate(('$\\mathbf{W}^{(1)}$: 784 × m', '$\\mathbf{W}^{(2)}$: m × 10')):
    for (x, h), (u, w) in product(spots[i], spots[i + 1]):
        away = 0.27 * np.array([u - x, w - h]) / np.hypot(u - x, w - h)
        left.annotate('', (u - away[0], w - away[1]), (x + away[0], h + away[1]),
                      arrowprops={'arrowstyle': '->', 'color': GREY, 'lw': 0.8})
    left.text(3 * i + 1.5, 1.6, words, ha='center', fontsize=9)
left.set(xlim=(-1.2, 7.2), ylim=(-2.2, 2), aspect='equal')
left.axis('off')
t, order = (X @ v).sort(stable=True)
shown = slice(200, 300)
axis.plot(t[shown], (y[order] == 3)[shown].double(), 'C0.-', lw=0.9, ms=4)
axis.set(xlabel='xv', title="Output for the digit 3", yticks=[0, 1]);

# %% [markdown] tags=["caption"]
# Left: every network of this page, with $m$ hidden units. Right: the network that we have built, for the
# digit 3, between a hundred of its training digits (dots). It goes through all dots, but neighbours have little in common.

# %% [markdown]
# In float64 this network is right on all training digits; in float32, two numbers $\mathbf{x}\mathbf{v}$ that nearly agree can spoil this.
# On new digits it is hardly better than guessing, which gives 0.10, even if it was built from the true labels.
# Nothing about this construction is special to digits:
#
# (dl.gen-dl.fit-all)=
#
# ```{prf:theorem} A network that stores any labels
# :label: thm-gen-dl-store
# Let $\mathbf{x}_1, \dots, \mathbf{x}_n$ be distinct rows of $d$ numbers, $n \ge 2$, and let $y_1, \dots, y_n$ be any
# numbers. Then there is a network with one hidden layer of $n - 1$ ReLU units whose output at $\mathbf{x}_i$ is $y_i$,
# for all $i$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# For two distinct rows, the columns $\mathbf{v}$ with $(\mathbf{x}_i - \mathbf{x}_j)\mathbf{v} = 0$ form a hyperplane.
# Finitely many hyperplanes do not fill the space, so some $\mathbf{v}$ gives $n$ different numbers
# $\mathbf{x}_i\mathbf{v}$. Sort them, and sort the $y_i$ along. At $t_1$ all units of $f$ are zero, so $f = y_1$. From $t_k$ to $t_{k+1}$
# only the units $1, \dots, k$ act. Their weights add up to the slope $s_k$, so $f$ rises by $y_{k+1} - y_k$.
# ```
#
# Distinct rows are needed: if the same picture occurs twice, with two different labels, no function of the picture fits
# both.
#
# ### Trained on true labels and on random labels
#
# Now we train a network with 32 hidden units by Adam, with all 500 digits in each step, from three random starts:

# %%
def new_model(seed, lr):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))
    return model, torch.optim.Adam(model.parameters(), lr=lr)

def fit_all(labels, seed):
    model, optimizer = new_model(seed, lr=0.02)
    shares = []
    for _ in range(30):
        o = model(X)                                   # (500, 10)
        shares.append(right(o, labels))
        optimizer.zero_grad()
        F.cross_entropy(o, labels).backward()
        optimizer.step()
    with torch.no_grad():
        return shares, right(model(X_test), y_test)

# %%
fits = {'true': [], 'random': []}
for seed in range(3):
    g = torch.Generator().manual_seed(seed)
    fits['true'].append(fit_all(y, seed))
    fits['random'].append(fit_all(redraw(y, 1, g), seed))
for name, runs in fits.items():
    known = np.mean([shares[-1] for shares, _ in runs])
    new = np.mean([share for _, share in runs])
    print(f'{name:6} labels: right on the training digits {known:.2f},'
          f' on new ones {new:.3f}')
model, _ = new_model(seed=0, lr=0.02)
print('parameters:', sum(p.numel() for p in model.parameters()))

# %% mystnb={"image": {"alt": "Two rising lines from one tenth to one. The line of the true labels is steeper and reaches nine tenths after few steps, the line of the random labels needs about twice as many. A dashed line at one tenth."}} tags=["hide-input"]
fig, axis = panels(1, height=2.4)
for name, runs in fits.items():
    axis.plot(np.mean([shares for shares, _ in runs], axis=0), '.-', label=f'{name} labels')
axis.axhline(0.1, color=GREY, ls='--', lw=1)
axis.set(xlabel='steps', ylabel='right on training digits', ylim=(0, 1.05))
axis.legend();

# %% [markdown] tags=["caption"]
# The share of the training digits that are right, the mean of three runs; the dashed line is guessing. Random labels are
# fitted more slowly, but in the end all of them are.

# %% [markdown]
# This experiment became famous with large networks and a million photographs {cite}`zhang2017understanding`. We now have
# three networks that make no training error:
#
# | network | labels | right on new digits |
# |---|---|---|
# | trained, 32 units | true | 0.84 |
# | built by hand, $n - 1$ units | true | little more than chance |
# | trained, 32 units | random | 0.10, which is chance |
#
# The training error cannot tell them apart, and the same number of parameters served in the first row and in the last one.
# The networks differ in the labels, in the number of units, and in how weights that fit were found. Many weights fit 500
# digits. Training started with small random weights, and found some that
# also do well on new digits. There is no complete theory of why this happens. But there is a case in which we can compute the weights.

# %% tags=["checks"]
def stored(seed, n, d, units, twins):  # does a network with so many units, built from n random rows, fit them all?
    g = torch.Generator().manual_seed(seed)
    rows, labels = torch.randn(n, d, generator=g), torch.randn(n, 2, generator=g)
    if twins:
        rows[1] = rows[0]
    W_1, b_1, W_2, b_2 = interpolate(rows, labels, torch.randn(d, generator=g))
    o = mlp(rows, W_1[:, :units], b_1[:units], W_2[:units], b_2)
    return bool((o - labels).abs().max() < 1e-6)  # sums of up to 11 slopes, which rounding hits at 1e-16 each

holds(
    'dl.gen-dl.fit-all',
    lambda seed, n, d: stored(seed, n, d, n - 1, twins=False),
    slip=('allows two equal rows with different labels', lambda seed, n, d: stored(seed, n, d, n - 1, twins=True)),
    seed=seeds(), n=integers(2, 12), d=integers(1, 5), tries=40,
)

def built(labels, direction_seed):
    g = torch.Generator().manual_seed(direction_seed)
    net = interpolate(X, F.one_hot(labels, 10).double(), torch.randn(784, generator=g))
    return right(mlp(X, *net), labels), right(mlp(X_test, *net), y_test)

verify(
    'the network that is built is right on all training digits, and on less than a fifth of the new ones',
    lambda seed: built(y, seed)[0] == 1 and built(y, seed)[1] < 0.2,
    slip=('expects what training reaches', lambda seed: built(y, seed)[1] > 0.8),
    seed=[0, 1],
)

def taught(name, low, high):
    return all(shares[-1] == 1 for shares, _ in fits[name]) and low < np.mean([share for _, share in fits[name]]) < high

verify(
    'the trained networks fit all labels; on new digits true ones give more than 0.8, random ones 0.05 to 0.15, on the mean',
    lambda first, second: taught(first, 0.8, 1) and taught(second, 0.05, 0.15),
    slip=('mixes the two up', lambda first, second: taught(second, 0.8, 1) and taught(first, 0.05, 0.15)),
    first=['true'], second=['random'],
)

# %% [markdown]
# ## Double descent: worst at as many units as examples, and ridge as the cure
#
# The case is called **random features**: the first weights are random and stay as they are, and only the second weights
# are fitted. Let row $i$ of $\mathbf{H}$ be the hidden layer of training digit $i$, so $\mathbf{H}$ is $n \times m$, and
# row $i$ of $\mathbf{Y}$ its one-hot label. We choose the $m \times 10$ weights that make the squared error of
# $\mathbf{H}\mathbf{W}$ smallest. If $m > n$ and the rows of $\mathbf{H}$ are linearly independent, many weights make this error zero,
# and we take the shortest ones, those of the smallest norm. Gradient descent from zero would
# [find the same](../regression/least_squares.ipynb) if the learning rate is small enough. Ridge regression adds the penalty
# $\lambda \|\mathbf{W}\|^2$.
#
# Let $\sigma_1 \ge \dots \ge \sigma_r > 0$ be the singular values of $\mathbf{H}$, and let the columns
# $\mathbf{u}_i$ and $\mathbf{v}_i$ be its singular vectors. One formula gives ridge regression for $\lambda > 0$ and, for
# $\lambda = 0$, the shortest of the weights with the smallest error. Zero singular values are left out. Our
# $\mathbf{H}$ has none, so the code takes all:
#
# ```{math}
# :label: gen-dl-weights
# \mathbf{W}_\lambda = \sum_{i=1}^{r} \frac{\sigma_i}{\sigma_i^2 + \lambda} \, \mathbf{v}_i \mathbf{u}_i^\top \mathbf{Y} .
# ```

# %%
def second_weights(svd, Y, lam):
    U, sigma, Vt = svd                     # (n, r), (r,), (r, m)
    factor = sigma / (sigma**2 + lam)
    return Vt.T @ (factor[:, None] * (U.T @ Y))

# %% [markdown]
# We redraw a fifth of the 500 labels and try networks with 50 to 1,500 units. For comparison we also fit the true labels.

# %%
def features(seed, m=1500):
    g = torch.Generator().manual_seed(seed)
    W_1 = torch.randn(784, m, generator=g) * (2 / 784) ** 0.5
    return F.relu(X @ W_1), F.relu(X_test @ W_1), redraw(y, 0.2, g)

def one_hot(labels):
    return F.one_hot(labels, 10).double()

# %%
widths = [50, 100, 200, 350, 450, 500, 550, 750, 1500]
accuracy = np.zeros((3, 9, 3))            # (seeds, widths, ways to fit)
sizes = np.zeros((3, 9, 2))               # smallest sigma, norm of W
peak = []                                  # all about m = 500, for later
for seed in range(3):
    H, H_test, labels = features(seed)
    for j, m in enumerate(widths):
        svd = torch.linalg.svd(H[:, :m], full_matrices=False)
        W = [second_weights(svd, one_hot(labels), 0),
             second_weights(svd, one_hot(y), 0),
             second_weights(svd, one_hot(labels), 10)]
        accuracy[seed, j] = [right(H_test[:, :m] @ w, y_test) for w in W]
        sizes[seed, j] = svd[1][-1], W[0].norm()
        if m == 500:
            peak.append((svd, H_test[:, :m], labels))

# %%
print('right on new digits: shortest  true labels  ridge')
for j in (1, 5, 8):
    a, b, c = accuracy.mean(0)[j]
    print(f'{widths[j]:13} units:{a:9.3f}{b:13.3f}{c:7.3f}')

# %% mystnb={"image": {"alt": "Left: three lines against the number of units, logarithmic. Shortest weights: up to two thirds at 100 units, steeply down to one tenth at 500, where a dotted vertical line stands, and up to two thirds again. True labels: the same dip, and in the end 0.84. Ridge: up to 0.78 without a dip. Right: the norm of the weights has a sharp peak at 500 units, and the smallest singular value a sharp minimum."}} tags=["hide-input"]
fig, (axis, other) = panels(2, height=3)
for k, name in enumerate(('shortest', 'true labels', 'ridge')):
    axis.semilogx(widths, accuracy.mean(0)[:, k], '.-', label=name)
axis.set(xlabel='units m', ylabel='right on new digits', ylim=(0, 1))
axis.legend(fontsize=8, loc='lower left')
for k, name in enumerate(('smallest singular value', 'norm of the weights')):
    other.loglog(widths, np.median(sizes, axis=0)[:, k], f'C{k + 3}.-', label=name)
other.set(xlabel='units m', ylim=(1e-3, 1e4))
other.legend(fontsize=8, loc='upper left')
for ax in (axis, other):
    ax.axvline(500, color=GREY, ls=':', lw=1)
    ax.set_xticks([50, 200, 500, 1500], [50, 200, 500, 1500])
    ax.minorticks_off();

# %% [markdown] tags=["caption"]
# Left: means of three runs, with shortest weights for true and redrawn labels, and ridge. Without ridge, as many units as training digits
# (dotted) are worst. Right, for redrawn labels: there the smallest singular value is tiny, and the weights are huge (medians).

# %% [markdown]
# From 100 to 500 units the accuracy of the shortest weights falls to about that of guessing, and then it rises
# again. The error, 1 minus the accuracy, falls twice: **double descent** {cite}`belkin2019reconciling`. The peak of the error is at the
# [interpolation threshold](../regression/polynomial_curve_fitting.ipynb), where the network just becomes able to fit all labels. Deep networks
# can show such a peak as well {cite}`nakkiran2020deep`.
#
# ### Why the error peaks: tiny singular values
#
# In $\mathbf{W}_0$ the term number $i$ is multiplied by $1/\sigma_i$. The $\mathbf{v}_i$ are orthonormal, so the squared norm
# of the weights is $\sum_i \|\mathbf{u}_i^\top\mathbf{Y}\|^2 / \sigma_i^2$, and a tiny singular value can make it huge. With
# huge weights, a small change of the hidden layer can change the outputs a lot.
#
# Is this the cause of the peak? First we compute how much of the squared norm comes from the ten smallest of the 500 singular values. Then
# we leave out these ten terms, or all terms with $\sigma_i < 1$. For comparison we also leave out
# as many terms at random.

# %%
def without(terms, svd, Y):               # terms: what to leave out
    U, sigma, Vt = svd
    keep = torch.ones(len(sigma), dtype=torch.bool)
    keep[terms] = False
    return second_weights((U[:, keep], sigma[keep], Vt[keep]), Y, 0)

# %%
ten, g = torch.arange(490, 500), torch.Generator().manual_seed(0)
print('ten smallest:    right on new digits without')
print('share of norm²   these ten  all below 1  as many at random')
for svd, H_test, labels in peak:
    parts = (svd[0].T @ one_hot(labels)).square().sum(1) / svd[1]**2  # (500,)
    small, mixed = torch.where(svd[1] < 1)[0], torch.randperm(500, generator=g)
    shares = [right(H_test @ without(terms, svd, one_hot(labels)), y_test)
              for terms in (ten, small, mixed[:len(small)])]
    print(f'{parts[ten].sum() / parts.sum():9.2f}',
          '{:16.3f}{:12.3f}{:14.3f}'.format(*shares))

# %% [markdown]
# Ten terms of 500 make more than nine tenths of the squared norm. Without them the accuracy is still low, but without all the
# small singular values it is back at about 0.6. If as many random terms are left out, hardly anything is gained. So the small singular
# values are the cause here.
#
# At $m = n$ the matrix $\mathbf{H}$ is square, and a random square matrix is usually close to a singular one. With
# more units the rows of $\mathbf{H}$ have more entries in which they can differ, and the smallest singular value grows again. For Gaussian features a [theorem](../regression/polynomial_curve_fitting.ipynb) gives the whole curve.
#
# Ridge does the same in a smooth way. Its factor $\sigma_i/(\sigma_i^2 + \lambda)$ is nearly $1/\sigma_i$ where
# $\sigma_i^2$ is much larger than $\lambda$, and is never larger than $1/(2\sqrt\lambda)$. With $\lambda = 10$ nothing is left of the dip.
#
# With true labels the dip is there, too. But wrong labels matter for the second descent. With
# 1,500 units the shortest weights reach 0.84 with true labels, far more than with 100 units. With a fifth of the labels redrawn, they only come
# back to about their accuracy with 100 units.
#
# The library has this as `Ridge`; `fit_intercept=False` means without a bias:

# %%
svd, H_test, labels = peak[0]
H = features(0)[0][:, :500]
ridge = Ridge(alpha=10, fit_intercept=False).fit(H, one_hot(labels))
share = right(torch.tensor(ridge.predict(H_test)), y_test)
print(f'scikit-learn {share:.2f}, our formula {accuracy[0, 5, 2]:.2f}')

# %% [markdown]
# ```{exercise} ★★ Pencil: two digits that are nearly alike
# :label: gen-dl-twins
# Two training digits have the hidden layers $(1, \mathbf{u})$ and $(1, -\mathbf{u})$, where $\mathbf{u} \ne \mathbf{0}$ is a row of
# $m - 1$ numbers. Their labels are the numbers $a + \delta$ and $a - \delta$. Find the shortest weights that fit both
# labels, and give their norm as `shortest_norm(a, delta, u)`. What happens if $\mathbf{u}$ is short, and what do more units
# change?
# ```

# %%
def shortest_norm(a, delta, u):
    """The norm of the shortest weights: float, float, array (m - 1,) -> float.

    shortest_norm(3.0, 4.0, np.array([1.0])) is 5.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_lstsq(a, delta, u):
    rows = np.array([[1, *u], [1, *-u]])
    return np.linalg.norm(np.linalg.lstsq(rows, np.array([a + delta, a - delta]))[0])

twin_cases = dict(a=on(0.0) | scalars(-3, 3), delta=on(0.0) | scalars(-3, 3),
                  u=vectors((1, 5), -2, 2, edges=True).filter(lambda u: abs(u).max() > 0.01), tries=60)
grade(shortest_norm, by_lstsq, [(3.0, 4.0, np.array([1.0]))], **twin_cases)

# %% [markdown]
# ```{solution-start} gen-dl-twins
# :class: dropdown
# ```
# Let the weights be $(c, \mathbf{w})$. The sum and the difference of the two equations are $c = a$ and
# $\mathbf{u}\mathbf{w} = \delta$. The shortest such $\mathbf{w}$ points along $\mathbf{u}$ and has the norm
# $|\delta| / \|\mathbf{u}\|$. So the norm of all weights is $\sqrt{a^2 + \delta^2/\|\mathbf{u}\|^2}$. If the digits are
# nearly alike, but $\delta \ne 0$, $\mathbf{u}$ is short and the weights are large. Then every further unit that tells the digits
# apart makes $\mathbf{u}$ longer and the weights shorter. The wrong answers forget to divide, divide by the norm and not by its
# square, and forget the first weight.

# %% jupyter={"source_hidden": true}
def shortest_norm_solution(a, delta, u):
    return np.sqrt(a**2 + delta**2 / (u @ u))

def undivided(a, delta, u):
    return np.sqrt(a**2 + delta**2)

def by_the_norm(a, delta, u):
    return np.sqrt(a**2 + delta**2 / np.sqrt(u @ u))

def difference_only(a, delta, u):
    return abs(delta) / np.sqrt(u @ u)

assert grade(shortest_norm_solution, by_lstsq, **twin_cases)
assert not grade(undivided, by_lstsq, **twin_cases)
assert not grade(by_the_norm, by_lstsq, **twin_cases)
assert not grade(difference_only, by_lstsq, **twin_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: do more digits always help?
# :label: gen-dl-more-data
# Keep $m = 500$ random features and the shortest weights, with a fifth of the labels redrawn, and train with 250, 500 or
# 1,000 digits. Sort these three numbers by the accuracy on new digits, the best first: predict, then run the grader.
# ```

# %%
def order_of_sizes():
    """The numbers 250, 500 and 1000, the most accurate first: a list.

    For example [250, 500, 1000].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
@cache
def accuracy_with(size):
    found = []
    for seed in range(3):
        g = torch.Generator().manual_seed(seed)
        W_1 = torch.randn(784, 500, generator=g) * (2 / 784) ** 0.5
        labels = one_hot(redraw(y_all, 0.2, g)[:size])
        W = torch.linalg.lstsq(F.relu((X_all[:size] - mean) @ W_1), labels).solution
        found.append(right(F.relu(X_test @ W_1) @ W, y_test))
    return np.mean(found)

def is_measured(order):
    if sorted(order) != [250, 500, 1000]:
        raise ValueError('give the numbers 250, 500 and 1000 in some order')
    if list(order) != sorted(order, key=accuracy_with, reverse=True):
        raise ValueError('another order is measured; try it')
    return True

grade(lambda: is_measured(order_of_sizes()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} gen-dl-more-data
# :class: dropdown
# ```
# With 500 digits there are as many digits as units, so this is the peak of the error. Half of the digits do better: with
# 250 of them, the same 500 units are twice as many as needed. With 1,000 digits the labels cannot all be fitted any more, and the
# squared error averages over the wrong ones. The wrong answers expect that more is always better, and that more is
# always worse.

# %% jupyter={"source_hidden": true}
for size in (250, 500, 1000):
    print(f'{size:4} digits: {accuracy_with(size):.3f}')
assert grade(lambda: is_measured([1000, 250, 500]), lambda: True, [()])
assert not grade(lambda: is_measured([1000, 500, 250]), lambda: True, [()])
assert not grade(lambda: is_measured([250, 500, 1000]), lambda: True, [()])
assert not grade(lambda: is_measured([250, 1000, 500]), lambda: True, [()])

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def random_problem(seed, n, m):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(n, m, generator=g), torch.randn(n, 3, generator=g)

def by_svd(H, Y, lam):
    return second_weights(torch.linalg.svd(H, full_matrices=False), Y, lam)

def is_lstsq(seed, n, m, lam):
    H, Y = random_problem(seed, n, m)
    return close(by_svd(H, Y, lam), np.linalg.lstsq(H.numpy(), Y.numpy())[0], atol=1e-6, rtol=1e-5)

def is_ridge(seed, n, m, lam, factor):
    H, Y = random_problem(seed, n, m)
    library = Ridge(alpha=lam, fit_intercept=False).fit(H, Y)
    return close(by_svd(H, Y, factor * lam), library.coef_.T)

verify(
    'without a penalty the weights are those of numpy.linalg.lstsq',
    lambda seed, n, m: is_lstsq(seed, n, m, 0),
    slip=('leaves a small penalty in', lambda seed, n, m: is_lstsq(seed, n, m, 0.01)),
    seed=integers(0, 10**6), n=integers(1, 7), m=integers(9, 12), tries=30,
)
verify(
    'with a penalty the weights are those of Ridge in scikit-learn',
    lambda seed, n, m, lam: is_ridge(seed, n, m, lam, 1),
    slip=('halves the penalty', lambda seed, n, m, lam: is_ridge(seed, n, m, lam, 0.5)),
    seed=integers(0, 10**6), n=integers(1, 7), m=integers(1, 12), lam=scalars(0.1, 10), tries=30,
)

# %% tags=["checks"]
ERROR = 2 * (2 * 0.25 / 1000) ** 0.5  # two standard errors of a difference of two shares of 1,000 digits

def dips(way):  # in each run, at 500 units against 100 and 1500
    return bool((accuracy[:, 5, way] < accuracy[:, [1, 8], way].min(1) - ERROR).all())

verify(
    'in each run the shortest weights dip at 500 units, with redrawn and with true labels, and ridge does not',
    lambda shortest, true, ridge: dips(shortest) and dips(true) and not dips(ridge),
    slip=('sees the dip in ridge', lambda shortest, true, ridge: dips(ridge)),
    shortest=[0], true=[1], ridge=[2],
)

def gains(way):  # from 100 to 1500 units, in each run
    return bool((accuracy[:, 8, way] > accuracy[:, 1, way] + ERROR).all())

verify(
    'with true labels 1500 units beat 100 units by more than two standard errors, with redrawn ones they do not',
    lambda true, redrawn: gains(true) and not gains(redrawn),
    slip=('says so of redrawn labels', lambda true, redrawn: gains(redrawn)),
    true=[1], redrawn=[0],
)

def share_of(count):  # of the squared norm, in the run where it is least
    return min(float((p := (svd[0].T @ one_hot(labels)).square().sum(1) / svd[1] ** 2)[-count:].sum() / p.sum())
               for svd, _, labels in peak)

def left_out(which):  # the least and the largest share of right answers without these terms, over the runs
    found = [right(H_test @ without(which(svd[1]), svd, one_hot(labels)), y_test) for svd, H_test, labels in peak]
    return min(found), max(found)

def at_random(sigma):
    return torch.randperm(500, generator=torch.Generator().manual_seed(1))[:int((sigma < 1).sum())]

verify(
    'ten of 500 directions make nine tenths of the squared norm at 500 units; '
    'the dip is gone without all that are smaller than 1, and stays without those ten, and without as many at random',
    lambda count, bound: share_of(count) > 0.9 and left_out(lambda sigma: sigma < bound)[0] > 0.5
    and left_out(lambda sigma: sigma <= sigma[-count])[1] < 0.4 and left_out(at_random)[1] < 0.4,
    slip=('says that the dip is gone without those ten',
          lambda count, bound: left_out(lambda sigma: sigma <= sigma[-count])[0] > 0.5),
    count=[10], bound=[1],
)
verify(
    'the factor of ridge is at most 1/(2√λ), and reaches it',
    lambda lam: close((np.geomspace(1e-3, 1e3, 6001) / (np.geomspace(1e-3, 1e3, 6001) ** 2 + lam)).max(),
                      1 / (2 * lam**0.5), rtol=1e-5),
    slip=('leaves the 2 out', lambda lam: close((np.geomspace(1e-3, 1e3, 6001) / (
        np.geomspace(1e-3, 1e3, 6001) ** 2 + lam)).max(), 1 / lam**0.5, rtol=1e-5)),
    lam=scalars(0.1, 100), tries=20,
)

# %% [markdown]
# ## Early stopping: keep the weights with the lowest validation loss
#
# Ridge keeps the weights small. Another cure is to stop training before the network has learned the wrong labels. Now 40 % of the training labels are redrawn. We keep as many further digits as a
# [validation set](../regression/generalization.ipynb). In practice their labels would be wrong as often as those for
# training, so we redraw 40 % of them, too. The network has 32 hidden units, as before, but the digits now come in batches of 100. After each pass
# through the training digits, called an epoch, we measure the loss on the validation set.
#
# Most programs contain two functions like these. `model.train()` and `model.eval()` switch some kinds of layers
# between training and use; ours behave the same in both. `optimizer.zero_grad()` forgets the gradients of the last
# batch, and under `torch.no_grad()` none are recorded.

# %%
def train_epoch(model, optimizer, X, labels, g):
    model.train()
    for X_b, y_b in batches(g, 100, X, labels):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(X_b), y_b)
        loss.backward()
        optimizer.step()

def evaluate(model, X, labels):
    model.eval()
    with torch.no_grad():
        o = model(X)
    return F.cross_entropy(o, labels).item(), right(o, labels)

# %% [markdown]
# `model.state_dict()` is a dictionary of all parameters by name. Whenever the validation loss is lower than ever before, we keep a
# copy of it. At the end, `model.load_state_dict(kept)` puts the kept parameters back. This is **early stopping**. To save time, many programs also
# stop when the loss has not been lowest for some epochs, a number called the **patience**.

# %%
X_val, y_val = X_all[n:2 * n] - mean, y_all[n:2 * n]

def watch(share, seed, keep=copy.deepcopy):
    g = torch.Generator().manual_seed(seed)
    labels, labels_val = redraw(y, share, g), redraw(y_val, share, g)
    wrong = labels != y
    model, optimizer = new_model(seed, lr=0.005)
    lowest, curve = float('inf'), []
    for epoch in range(20):
        train_epoch(model, optimizer, X, labels, g)
        loss, _ = evaluate(model, X_val, labels_val)
        curve.append((loss, evaluate(model, X_test, y_test)[1],
                      evaluate(model, X[wrong], labels[wrong])[1]))
        if loss < lowest:
            lowest, kept = loss, keep(model.state_dict())
    model.load_state_dict(kept)
    return np.array(curve), evaluate(model, X_test, y_test)[1]

# %%
watched = {share: [watch(share, seed) for seed in range(3)]
           for share in (0.4, 0.0)}
for share, runs in watched.items():
    for curve, kept in runs:
        print(f'{share:.0%} redrawn: right on new digits {kept:.2f} kept,'
              f' {curve[-1, 1]:.2f} at the end')

# %%
wrong_learned = np.array([curve[[curve[:, 0].argmin(), -1], 2]
                          for curve, _ in watched[0.4]]).mean(0)
print('wrong training labels learned:'
      ' {:.3f} kept, {:.3f} at the end'.format(*wrong_learned))

# %% mystnb={"image": {"alt": "Left: validation loss against epochs. With 40 percent redrawn, a shallow minimum after about four epochs, then a steady rise; with true labels a fall to about 0.6, nearly level afterwards. Right: accuracy on new digits. With 40 percent redrawn it rises to nearly three quarters and falls to about two thirds; with true labels it rises to 0.85 and stays. A third line, wrong labels learned, rises from one tenth to about eight tenths."}} tags=["hide-input"]
fig, (axis, other) = panels(2, height=2.9)
epochs = np.arange(1, 21)
for share, color, name in ((0.4, 'C0', '40 % redrawn'), (0.0, 'C1', 'true labels')):
    curves = np.mean([curve for curve, _ in watched[share]], axis=0)       # (20, 3)
    axis.plot(epochs, curves[:, 0], color + '.-', label=name)
    other.plot(epochs, curves[:, 1], color + '.-')
    if share:
        other.plot(epochs, curves[:, 2], color + '--', label='wrong labels learned')
axis.set(xlabel='epochs', ylabel='validation loss', ylim=(0, 3), xticks=[1, 5, 10, 15, 20])
other.set(xlabel='epochs', ylabel='right on new digits', ylim=(0, 1), xticks=[1, 5, 10, 15, 20])
axis.legend(fontsize=8, loc='upper left')
other.legend(fontsize=8, loc='lower right');

# %% [markdown] tags=["caption"]
# Means of three runs. Left: the loss on the validation set. Right, with the same colours: the accuracy on new digits, and
# (dashed) the share of the wrong training labels that the network gives. From epoch 6 on,
# this share rises and the accuracy falls.

# %% [markdown]
# With redrawn labels the kept weights are better than the last ones in each run, although the validation labels are wrong
# as often as the training labels. The kept weights give about a tenth of the wrong labels, as guessing would, and the last ones most of them.
# This fits what we saw above, where true labels were fitted faster than random ones. With true labels, early stopping gains nothing here: the validation loss rises a little, but the accuracy does not fall.
#
# :::{admonition} A tempting mistake
# :class: warning
# `kept = model.state_dict()` looks like a copy. But the dictionary refers to the parameters of the model, and the
# optimizer goes on changing them. At the end `kept` holds the last weights:
# :::

# %%
print(f'copied     {watched[0.4][0][1]:.2f}')
print(f'not copied {watch(0.4, 0, keep=dict)[1]:.2f}')  # same tensors

# %% [markdown]
# ```{exercise} ★★ Program: patience
# :label: gen-dl-patience
# Write `stop(losses, patience)` for a list of validation losses, one for each epoch that could be run. Training ends as soon as
# the lowest loss so far is `patience` epochs old, or after the last epoch. Return the epoch whose weights are kept, and the number of epochs that are run. Epochs
# are counted from 0, and a loss that is only equal to the lowest one is no improvement.
# ```

# %%
def stop(losses, patience):
    """The kept epoch and the number of epochs that are run: two ints.

    losses is a list of floats, not empty, and patience an int >= 1.
    stop([3.0, 2.0, 2.5, 2.5, 1.0], 2) is (1, 4).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_ages(losses, patience):
    lowest = [int(np.argmin(losses[:e + 1])) for e in range(len(losses))]
    old = [e - k >= patience for e, k in enumerate(lowest)] + [True]
    ran = min(old.index(True) + 1, len(losses))
    return lowest[ran - 1], ran

patience_cases = dict(losses=lists(on(1.0, 2.0, 1.999999, 3.0) | scalars(0, 4), 1, 9), patience=integers(1, 4), tries=80)
grade(stop, by_ages, [([3.0, 2.0, 2.5, 2.5, 1.0], 2)], **patience_cases)

# %% [markdown]
# ```{solution-start} gen-dl-patience
# :class: dropdown
# ```
# Remember the kept epoch, and compare its age with the patience after each epoch. The wrong answers look at epochs that
# would not have been run, count an equal loss as an improvement, and wait one epoch too long.

# %% jupyter={"source_hidden": true}
def stop_solution(losses, patience):
    kept = 0
    for e, loss in enumerate(losses):
        if loss < losses[kept]:
            kept = e
        if e - kept == patience:
            break
    return kept, e + 1

def looks_ahead(losses, patience):
    kept = int(np.argmin(losses))
    return kept, min(kept + patience + 1, len(losses))

def equal_is_better(losses, patience):
    kept = 0
    for e, loss in enumerate(losses):
        if loss <= losses[kept]:
            kept = e
        if e - kept == patience:
            break
    return kept, e + 1

def too_patient(losses, patience):
    return stop_solution(losses, patience + 1)

assert grade(stop_solution, by_ages, **patience_cases)
assert not grade(looks_ahead, by_ages, **patience_cases)
assert not grade(equal_is_better, by_ages, **patience_cases)
assert not grade(too_patient, by_ages, **patience_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def gain(share):  # of the kept weights over the last ones, in each run
    return np.array([kept - curve[-1, 1] for curve, kept in watched[share]])

verify(
    'with 40 % of the labels redrawn the kept weights beat the last ones in each run, on the mean by two standard errors, '
    'and with true labels they do not',
    lambda redrawn, true: gain(redrawn).min() > 0 and gain(redrawn).mean() > ERROR and gain(true).mean() <= 0,
    slip=('says so of true labels', lambda redrawn, true: gain(true).mean() > ERROR),
    redrawn=[0.4], true=[0.0],
)

def is_of_lowest(share, seed, epoch):  # is the model that is given back that of this epoch?
    curve, kept = watched[share][seed]
    return bool(kept == curve[epoch(curve[:, 0]), 1])

verify(
    'the weights that are put back are those of the epoch with the lowest validation loss',
    lambda share, seed: is_of_lowest(share, seed, np.argmin),
    slip=('puts back the last ones', lambda share, seed: is_of_lowest(share, seed, lambda losses: -1)),
    share=[0.4, 0.0], seed=[0, 1, 2],
)

# %% [markdown]
# ## Summary
#
# A network with enough units can fit any labels of distinct inputs, so from a training error of zero alone nothing follows for new
# inputs. With as many random features as examples and no penalty, tiny singular values make the weights huge and the error
# peaks; more features or enough ridge make the weights short again. With wrong labels, early stopping keeps the weights of the epoch
# with the lowest validation loss, in a copy.
#
# **Further reading.** {cite:t}`zhang2017understanding` is the paper on random labels, short and easy to read.
# {cite:t}`belkin2019reconciling` named double descent. {cite:t}`prince2023understanding`, chapters 8 and 9, treats double descent and early
# stopping with many pictures, for everybody who wants more experiments. {cite:t}`hastie2022surprises` compute the curve of the shortest
# weights exactly, for readers who like proofs.
