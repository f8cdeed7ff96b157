# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # From labels to vectors
#
# - **Question.** How does a machine that computes numbers say "chicken"? And once it has said so: how good was it, and how
#   good could anybody be?
# - **You need** [Linear regression](../regression/linear_regression.ipynb),
#   [Bayes' theorem](../probability/bayes_theorem.ipynb), and the
#   [Gaussian in many dimensions](../probability/gaussian_distribution.ipynb).
# - **You build** one-hot labels, a linear classifier by least squares and a case in which it is blind, the classifier that
#   nobody can beat, two that approach it, and confusion matrices and ROC curves, each beside scikit-learn.
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
from itertools import permutations, product

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from numpy.linalg import cholesky, inv, lstsq, slogdet, solve
from scipy import stats
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import pdist
from sklearn import discriminant_analysis, metrics
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.preprocessing import OneHotEncoder

from nbutils.cases import matrices, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.data import digits
from nbutils.figures import GREY, panels, show_image

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Names as vectors
#
# A picture of $2 \times 2$ grey pixels shows a cat, a chicken or a dog; which? Both question and answer must become
# numbers first. For the picture that is easy. It is a table of four brightnesses, and read row by row a vector of
# four *features*:
#
# ```{math}
# :label: dl.classification.four-features
# \begin{pmatrix} x_1 & x_2 \\ x_3 & x_4 \end{pmatrix} \quad \longleftrightarrow \quad
# \mathbf{x} = (x_1, x_2, x_3, x_4)^\top
# ```
#
# Nothing is lost, provided that one reads and writes in the same order. The control writes columns where it has read
# rows.

# %%
holds(
    'dl.classification.four-features',
    lambda pixels: close(pixels.reshape(4).reshape(2, 2), pixels),
    control=lambda pixels:
    close(pixels.reshape(4).reshape(2, 2, order='F'), pixels),
    pixels=matrices(2, 2, 0, 1),
)
assert np.zeros((2, 2, 3)).reshape(-1).shape == (12,)  # three colours

# %% [markdown]
# The answer is harder. We could number the animals: cat 0, chicken 1, dog 2. A machine that fits numbers then
# believes that a dog is twice as far from a cat as a chicken is, and that half-way between cat and dog there is a
# chicken. A list of names has no such order, and the names might as well have been listed otherwise. So we ask for a
# code that treats all names alike. Give each of the $q$ names an axis of its own:
#
# ````{prf:definition} One-hot code
# :label: def-one-hot
# The *one-hot* vector of name $j$ among $q$ is the unit vector $\mathbf{e}_j \in \mathbb{R}^q$, with the entries
#
# ```{math}
# :label: dl.classification.one-hot
# y_j = 1, \qquad y_k = 0 \quad (k \ne j) .
# ```
# ````
#
# For our three animals these are
#
# ```{math}
# :label: dl.classification.cat-chicken-dog
# \mathbf{y}_{\text{cat}} = (1, 0, 0), \qquad \mathbf{y}_{\text{chicken}} = (0, 1, 0), \qquad \mathbf{y}_{\text{dog}} = (0, 0, 1) .
# ```
#
# In code, compare each label with each name. PyTorch and scikit-learn are the oracles; one control begins to count at
# 1, the other gives out numbers in the order in which the animals happen to appear. In the figure below them each
# picture has its features and its label under it; beside them stands the machine that is to lead from the one to the
# other, our subject from the next section on.

# %%
def one_hot(labels, q):  # (n,) ints -> (n, q)
    return (np.asarray(labels)[:, None] == np.arange(q)) * 1.0

def is_one_hot(y, labels):
    oracle = F.one_hot(torch.tensor(labels), 5)
    binary = ((y == 0) | (y == 1)).all() and (y.sum(1) == 1).all()
    return binary and (y.argmax(1) == labels).all() and close(y, oracle)

animals = ['cat', 'chicken', 'dog']

def coded(seen, names):
    return one_hot([names.index(name) for name in seen], len(names))

def by_encoder(seen):
    encoder = OneHotEncoder(categories=[animals], sparse_output=False)
    return encoder.fit_transform(np.array(seen)[:, None])

# %% tags=["hide-input"]
label_lists = vectors(6, 0, 4).map(lambda v: v.astype(int))
holds(
    'dl.classification.one-hot',
    lambda labels: is_one_hot(one_hot(labels, 5), labels),
    control=lambda labels: is_one_hot(one_hot(labels - 1, 5), labels),
    labels=label_lists, tries=60,
)
walks = [list(walk) for walk in permutations(animals)]
holds(
    'dl.classification.cat-chicken-dog',
    lambda seen: close(coded(seen, animals), by_encoder(seen)),
    control=lambda seen: close(coded(seen, seen), by_encoder(seen)),
    seen=walks, tries=20,
)
assert close(coded(animals, animals), np.eye(3))

# %% mystnb={"figure": {"caption": "Each name gets an axis of its own: four features go in, one score for each name comes out, and the one-hot label says which of the scores should be $1$."}, "image": {"alt": "Left: three small pictures of two by two grey pixels, under each its four features and its one-hot label. Right: a network of four input dots, each joined by a line to each of three output dots for cat, chicken and dog."}} tags=["hide-input"]
fig = plt.figure(figsize=(6, 2.5))
grid = fig.add_gridspec(2, 6, height_ratios=[2, 1.1])
pixels = np.array([[0.9, 0.9, 0.2, 0.2], [0.1, 0.8, 0.8, 0.1],
                   [0.7, 0.2, 0.7, 0.9]])
for i, (x, name) in enumerate(zip(pixels, animals, strict=True)):
    ax = fig.add_subplot(grid[0, i])
    show_image(ax, x.reshape(2, 2), name, vmin=0, vmax=1)
    code = ' '.join(f'{v:.0f}' for v in coded([name], animals)[0])
    ax.set_xlabel('\n'.join(f'{v}' for v in x) + f'\n\n{code}', fontsize=8)
ax = fig.add_subplot(grid[:, 3:])
ax.set(xlim=(-0.25, 1.6), ylim=(-0.5, 3.5), xticks=[], yticks=[])
ax.spines[:].set_visible(False)
for k, j in product(range(4), range(3)):
    ax.plot([0, 1], [3 - k, 2.5 - j], color=GREY, lw=0.8)
ax.plot(np.zeros(4), range(4), 'o', ms=11)
ax.plot(np.ones(3), [0.5, 1.5, 2.5], 'o', ms=11)
for k in range(4):
    ax.text(-0.1, 3 - k, f'x{"₁₂₃₄"[k]}', ha='right', va='center')
for j, name in enumerate(animals):
    ax.text(1.1, 2.5 - j, f'o{"₁₂₃"[j]} {name}', va='center')

# %% [markdown]
# All pairs of codes are $\|\mathbf{e}_j - \mathbf{e}_k\| = \sqrt2$ apart. Does it matter? A method that respects that
# names have no order must not change its mind when the names are listed in another one: rename, and its answers are
# renamed, nothing else. For the answer to $\mathbf{x}$ that was learned from the labels $\mathbf{c}$, and permutations
# $\pi$ of the names,
#
# ```{math}
# :label: dl.classification.no-order
# \operatorname{guess}\big(\mathbf{x}; \pi(\mathbf{c})\big) = \pi\big( \operatorname{guess}(\mathbf{x}; \mathbf{c}) \big)
# \qquad \text{for all } \pi .
# ```
#
# A linear fit to one-hot labels has this property, as a permutation of the code merely permutes the columns of the
# fit. A linear fit to the numbers $0, 1, 2$, rounded to the nearest one, is the control.

# %%
def guess_by_codes(X, labels):
    return (X @ lstsq(X, one_hot(labels, 3))[0]).argmax(1)

def guess_by_numbers(X, labels):
    return np.clip(np.rint(X @ lstsq(X, labels)[0]), 0, 2)

def may_rename(guess, seed, order):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(20, 3)), rng.integers(0, 3, size=20)
    order = np.array(order)
    renamed = guess(X, order[labels])
    return (renamed == order[guess(X, labels).astype(int)]).all()

holds(
    'dl.classification.no-order',
    lambda seed, order: may_rename(guess_by_codes, seed, order),
    control=lambda seed, order: may_rename(guess_by_numbers, seed, order),
    seed=seeds(), order=list(permutations(range(3))), tries=60,
)
assert close(pdist(np.eye(5)), np.full(10, np.sqrt(2)))
assert close(one_hot([0, 2, 2, 1], 3).mean(0), [1 / 4, 1 / 4, 1 / 2])

# %% [markdown]
# There is a deeper reason for these zeros and ones. The *average* of one-hot vectors is the vector of the shares of
# the names, and in the limit that of their probabilities:
# $\mathbb{E}[\mathbf{y} \mid \mathbf{x}] = \big( P(1 \mid \mathbf{x}), \dots, P(q \mid \mathbf{x}) \big)$. Whatever
# estimates averages, as regression does, will estimate probabilities, without having been told so.
#
# ```{exercise} ★★ One dimension less
# :label: clf-simplex
# Three points at equal distances fit into a plane, four into space. Write `simplex(q)`, an array `(q, q - 1)` whose
# rows have all distances $\sqrt2$. The grader looks at the distances only.
# ```

# %%
def simplex(q):
    raise NotImplementedError('your turn')

# %%
def all_root_two(q):
    return np.full(q * (q - 1) // 2, np.sqrt(2))

grade(lambda q: pdist(simplex(q).reshape(q, q - 1)), all_root_two,
      [(2,), (3,), (6,)])

# %% [markdown]
# ```{solution-start} clf-simplex
# :class: dropdown
# ```
# The one-hot vectors lie in the hyperplane $\sum_j y_j = 1$, which has dimension $q - 1$. Coordinates in it, in any
# orthonormal basis of the directions that are orthogonal to $(1, \dots, 1)$, keep all distances. Such a basis comes
# from a QR decomposition whose first column is $(1, \dots, 1)$. To leave out one coordinate instead ("if it is
# neither chicken nor dog it must be a cat") puts the name left out at the origin, at distance 1 from the others.

# %% jupyter={"source_hidden": true}
def simplex_solution(q):
    basis, _ = np.linalg.qr(np.column_stack([np.ones(q), np.eye(q)[:, 1:]]))
    return basis[:, 1:]  # row j: coordinates of e_j

def left_out(q):
    return np.eye(q)[:, 1:]

sizes = [(2,), (3,), (6,)]
assert grade(lambda q: pdist(simplex_solution(q)), all_root_two, sizes)
assert not grade(lambda q: pdist(left_out(q)), all_root_two, sizes)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## A score for each name
#
# The simplest machine gives each name a score of its own, each a linear function of the features:
#
# ```{math}
# :label: dl.linear-model.outputs
# o_j = \sum_{k=1}^{4} x_k w_{jk} + b_j \quad (j = 1, 2, 3), \qquad \text{that is,} \quad \mathbf{o} = \mathbf{W} \mathbf{x} + \mathbf{b}
# ```
#
# with $\mathbf{W} \sim (3, 4)$: twelve weights and three biases, one for each line and each right-hand dot of the
# network above. Every output looks at every input, so the layer is called *fully connected*; PyTorch's is
# `nn.Linear`. The control has the indices of $w$ exchanged, as happens to everybody once.

# %%
def scores(W, b, X):  # (q, d), (q,), (n, d) -> (n, q)
    return X @ W.T + b

def by_sums(w, b, x, swapped=False):
    w = w.T.reshape(w.shape) if swapped else w
    return [sum(x[k] * w[j, k] for k in range(4)) + b[j] for j in range(3)]

def layer(W, b, x):
    linear = torch.nn.Linear(4, 3)
    linear.load_state_dict(
        {'weight': torch.tensor(W), 'bias': torch.tensor(b)})
    return linear(torch.tensor(x))

holds(
    'dl.linear-model.outputs',
    lambda W, b, x: close(by_sums(W, b, x), layer(W, b, x))
    and close(scores(W, b, x[None])[0], layer(W, b, x)),
    control=lambda W, b, x:
    close(by_sums(W, b, x, swapped=True), layer(W, b, x)),
    W=matrices(3, 4, -2, 2), b=vectors(3, -2, 2), x=vectors(4, 0, 1),
    tries=60,
)

# %% [markdown]
# The machine says the name with the largest score. Where does it say "chicken"? Where $o_2 \ge o_1$ and
# $o_2 \ge o_3$. Each of these is one linear inequality, a half-space with the border
# $(\mathbf{w}_2 - \mathbf{w}_k)^\top \mathbf{x} + b_2 - b_k = 0$; and an intersection of half-spaces is convex.
#
# ```{prf:theorem} Regions of a linear classifier
# :label: thm-clf-regions
# The set of inputs to which a linear classifier gives name $j$ is convex, and an intersection of $q - 1$ half-spaces if no
# two rows of $\mathbf{W}$ are equal. If the same vector is added to all rows of $\mathbf{W}$, or the same number to all of
# $\mathbf{b}$, the regions stay the same.
# ```
#
# So a linear classifier cannot draw an island around one name in the sea of another, nor two islands of one name. The first
# control squares the scores; the second adds to each row a number of its own.

# %%
def stays_between(seed, score):
    rng = np.random.default_rng(seed)
    W, b = rng.normal(size=(3, 2)), rng.normal(size=3)
    ends = rng.normal(size=(2, 40, 2)) * 3
    t = rng.random((40, 1))
    name = lambda X: score(scores(W, b, X)).argmax(1)
    same = name(ends[0]) == name(ends[1])
    inner = name(t * ends[0] + (1 - t) * ends[1])
    return (inner == name(ends[0]))[same].all()

def same_regions(seed, u, c):
    rng = np.random.default_rng(seed)
    W, b, X = (rng.normal(size=size) for size in ((3, 2), 3, (80, 2)))
    return (scores(W + u(rng), b + c(rng), X).argmax(1)
            == scores(W, b, X).argmax(1)).all()

# %% tags=["hide-input"]
verify(
    'what lies between two chickens is a chicken',
    lambda seed: stays_between(seed, lambda o: o),
    control=lambda seed: stays_between(seed, lambda o: o**2),
    seed=seeds(), tries=60,
)
verify(
    'the same added to all rows and to all biases: the same regions',
    lambda seed: same_regions(
        seed, lambda rng: rng.normal(size=2), lambda rng: rng.normal()),
    control=lambda seed: same_regions(
        seed, lambda rng: rng.normal(size=(3, 1)), lambda rng: rng.normal()),
    seed=seeds(), tries=60,
)

# %% [markdown]
# How should the weights be chosen? The first idea is to treat it as a regression with $q$ outputs. The notes say
# "minimize the difference between … and the labels …", and both symbols are lost; what is meant is
#
# ```{math}
# :label: dl.linear-model.difference
# \min_{\mathbf{W}, \mathbf{b}} \ \sum_{i=1}^n \big\| \mathbf{o}^{(i)} - \mathbf{y}^{(i)} \big\|^2 .
# ```
#
# With a column of ones beside $\mathbf{X}$ for the biases this is
# [least squares](../regression/linear_regression.ipynb) with a matrix on the right, one fit for each name, and
# `lstsq` solves them all at once. At the solution every slope must vanish, says autograd. The control fits without
# the ones.

# %%
def with_ones(X):
    return np.column_stack([np.ones(len(X)), X])

def least_squares(X, Y):  # (n, d), (n, q) -> W (q, d), b (q,)
    B = lstsq(with_ones(X), Y)[0]  # (1 + d, q)
    return B[1:].T, B[0]

def some_classes(seed, n=40, d=3, q=3):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % q)
    means = 2 * rng.normal(size=(q, d))
    return means[labels] + rng.normal(size=(n, d)), np.eye(q)[labels]

def is_flat(X, Y, W, b):
    X, Y = torch.tensor(X), torch.tensor(Y)
    loss = lambda W, b: ((X @ W.T + b - Y) ** 2).sum()
    slopes = torch.func.grad(loss, (0, 1))(torch.tensor(W), torch.tensor(b))
    return all(close(g, 0 * g, atol=1e-9) for g in slopes)

def without_ones(X, Y):
    return lstsq(X, Y)[0].T, np.zeros(Y.shape[1])

# %%
holds(
    'dl.linear-model.difference',
    lambda seed: is_flat(*some_classes(seed),
                         *least_squares(*some_classes(seed))),
    control=lambda seed: is_flat(*some_classes(seed),
                                 *without_ones(*some_classes(seed))),
    seed=seeds(), tries=30,
)

# %% [markdown]
# It works, the notes say, "surprisingly well". On handwritten digits, ten splits, 450 pictures held out in each, the
# references are the commonest name in the training part, the nearest class mean, and softmax regression from
# [Cross-entropy](cross_entropy.ipynb), with scikit-learn's default penalty and on three of the splits. The control is
# least squares on the *numbers* 0 to 9, rounded: for a machine that has to read digits, an instructive failure, as a
# nine is no larger than a zero.

# %%
x, label, _ = digits()
orders = [np.random.default_rng(s).permutation(1797) for s in range(10)]

def rates(guess):  # share of right names in each split
    return np.array([
        (guess(x[o[450:]], label[o[450:]], x[o[:450]]) == label[o[:450]])
        .mean() for o in orders])

def commonest(X, y, new):
    return np.full(len(new), np.bincount(y).argmax())

def nearest_mean(X, y, new):
    means = np.array([X[y == j].mean(0) for j in range(y.max() + 1)])
    return ((new[:, None] - means) ** 2).sum(2).argmin(1)

# %%
def squares(X, y, new):
    codes = np.eye(y.max() + 1)[y]  # one-hot
    return scores(*least_squares(X, codes), new).argmax(1)

def softmax_regression(X, y, new, solver='newton-cholesky'):
    model = LogisticRegression(solver=solver, max_iter=500)
    return model.fit(X, y).predict(new)

def squares_on_numbers(X, y, new):
    W, b = least_squares(X, y[:, None] * 1.0)
    return np.clip(np.rint(scores(W, b, new)[:, 0]), 0, 9)

# %%
shares = {method.__name__: rates(method) for method in (
    commonest, nearest_mean, squares_on_numbers, squares)}
shares['softmax_regression'] = np.array([
    (softmax_regression(x[o[450:]], label[o[450:]], x[o[:450]], 'lbfgs')
     == label[o[:450]]).mean() for o in orders[:3]])
for name, share in shares.items():
    print(f'{name:18} {share.mean():.3f} ± {share.std():.4f}')

def works_well(method):
    return (shares[method] > shares['nearest_mean']).all() and (
        shares[method] > 0.9).all()

holds(
    'dl.linear-model.works-well', lambda: works_well('squares'),
    control=lambda: works_well('squares_on_numbers'),
)

# %% [markdown]
# So far so good. The notes go on to two complaints. (Both have $\sigma_i$ in the scan, which nothing defines; the
# outputs $o_i$ are meant.) The first is that
#
# ```{math}
# :label: dl.linear-model.sum-to-one
# o_1 + \dots + o_q = 1 \quad \text{is not guaranteed,}
# ```
#
# as we expect of probabilities. For a linear model in general that is so, and for one that is half-trained, or has no
# biases. But the *exact* fit with biases surprises:
#
# ```{prf:theorem} Least squares keeps sums
# :label: thm-clf-sum-one
# Let the columns of $\mathbf{X}$ and the column of ones be linearly independent. The outputs of the least-squares fit
# with biases to one-hot labels sum to one for *every* input $\mathbf{x}$, seen or not.
# ```
#
# ```{prf:proof}
# The fit is linear in the labels: the sum of the $q$ fits is the fit to the sum of the $q$ label columns. That sum is
# 1 for each example. The fit to the constant 1 is the constant 1, with bias 1 and weights 0: its error is zero, so
# nothing is better, and by independence no other weights have error zero.
# ```
#
# The second complaint remains: even if they sum to one, outputs may be negative or exceed one,
#
# ```{math}
# :label: dl.linear-model.nonneg
# 0 \le o_i \le 1 \quad \text{is not guaranteed, even if } \textstyle\sum_i o_i = 1 .
# ```
#
# More than that: a linear function that stays in $[0, 1]$ everywhere is constant. Walk far enough along
# $\mathbf{w}_i$ and $o_i$ passes 1; turn round, and it passes 0. Softmax, the cure, is the control: its outputs never
# leave the interval. In the first check the control is the exact fit, which does keep the sum.

# %%
def off_one(fit, seed):  # do the outputs fail to sum to one?
    X, Y = some_classes(seed)
    total = scores(*fit(X, Y), np.array([[0.3, -1, 2]])).sum()
    return not close(total, 1.0)

def half_trained(X, Y):  # three steps of descent from zero
    W, b = np.zeros((3, 3)), np.zeros(3)
    for _ in range(3):
        wrong = scores(W, b, X) - Y
        W, b = W - 0.05 * wrong.T @ X / len(X), b - 0.05 * wrong.mean(0)
    return W, b

def leaves_interval(seed, squash):
    W, b = least_squares(*some_classes(seed))
    far = 10 * W[0] / (W[0] @ W[0])  # moves the first score by 10
    o = squash(scores(W, b, np.array([far, -far])))
    assert close(o.sum(1), [1, 1])
    return o[0, 0] > 1 and o[1, 0] < 0

# %% tags=["hide-input"]
holds(
    'dl.linear-model.sum-to-one',
    lambda seed: off_one(half_trained, seed) and off_one(without_ones, seed),
    control=lambda seed: off_one(least_squares, seed),
    seed=seeds(), tries=30,
)
holds(
    'dl.linear-model.nonneg',
    lambda seed: leaves_interval(seed, lambda o: o),
    control=lambda seed: leaves_interval(
        seed, lambda o: torch.softmax(torch.tensor(o), 1).numpy()),
    seed=seeds(), tries=30,
)

# %% [markdown]
# Nor is it a matter of far-away inputs only. Here are 178 wines from three growers of one region, in the plane of two
# of their thirteen measurements; scikit-learn's `RidgeClassifier` without penalty agrees on every decision. (It fits
# codes of $\pm 1$; the exercise below says why that is the same.)

# %%
wine = load_wine()
taste = wine.data[:, [6, 9]]  # flavanoids, colour intensity
W, b = least_squares(taste, np.eye(3)[wine.target])
outputs = scores(W, b, taste)  # (178, 3)
ridge = RidgeClassifier(alpha=1e-10).fit(taste, wine.target)
assert (ridge.predict(taste) == outputs.argmax(1)).all()
assert close(outputs.sum(1), np.ones(178))
right = (outputs.argmax(1) == wine.target).mean()
outside = ((outputs < 0) | (outputs > 1)).any(1).mean()
print(f'outputs from {outputs.min():.2f} to {outputs.max():.2f}; '
      f'{outside:.2f} of the wines have one outside [0, 1]')
print(f'right on {right:.2f} of the wines it was fitted to')
u1, u2 = np.meshgrid(np.linspace(0, 5.5, 200), np.linspace(0, 14, 200))
plane = scores(W, b, np.stack([u1.ravel(), u2.ravel()], 1))
regions = plane.argmax(1).reshape(u1.shape)

# %% mystnb={"figure": {"caption": "Least squares on one-hot labels divides the plane by straight borders and is right on 0.88 of these wines, although many of its outputs lie outside $[0, 1]$ and are no probabilities."}, "image": {"alt": "Left: 178 wines of three growers in the plane of flavanoids and colour, on three regions that meet in one point along straight borders. Right: the three outputs for every wine as dots; many lie below zero, some above one."}} tags=["hide-input"]
fig, (left, middle) = panels(2, height=2.9)
left.contourf(u1, u2, regions, [-0.5, 0.5, 1.5, 2.5],
              colors=['C0', 'C1', 'C2'], alpha=0.2)
for j in range(3):
    left.plot(*taste[wine.target == j].T, f'C{j}o', ms=3)
    middle.plot(outputs[:, j], '.', color=f'C{j}', ms=4,
                label=f'o{"₁₂₃"[j]}')
left.set(xlabel='flavanoids', ylabel='colour intensity')
for level in (0, 1):
    middle.axhline(level, color=GREY, lw=1)
middle.set(xlabel='wine, sorted by grower', title='Outputs of least squares',
           ylim=(-0.9, 2.0))
middle.legend(ncols=3, loc='upper right', fontsize=8);

# %% [markdown]
# ```{exercise} ★★ Other numbers for yes and no
# :label: clf-recoded
# Someone codes the true name by $\alpha$ and the others by $\beta$, say 1 and $-1$. Write `recoded(o, alpha, beta)`:
# the outputs of the least-squares fit with biases to this code, computed from the outputs $\mathbf{o}$ of the fit to
# one-hot labels. When are the decisions the same?
# ```

# %%
def recoded(o, alpha, beta):
    raise NotImplementedError('your turn')

# %%
X_code, Y_code = some_classes(5)

def refitted(o, alpha, beta):
    codes = np.where(Y_code == 1, alpha, beta)
    return scores(*least_squares(X_code, codes), X_code)

plain_code = scores(*least_squares(X_code, Y_code), X_code)
codes = [(plain_code, 1, -1), (plain_code, 1, 0), (plain_code, -2, 3.5)]
grade(recoded, refitted, codes)

# %% [markdown]
# ```{solution-start} clf-recoded
# :class: dropdown
# ```
# The new label is $\beta + (\alpha - \beta) \mathbf{y}$, and the fit is linear in the labels and reproduces
# constants. So the new outputs are $\beta + (\alpha - \beta) \mathbf{o}$, and for $\alpha > \beta$ the same one is
# largest. Without the offset one gets the code $\alpha - \beta$ and 0.

# %% jupyter={"source_hidden": true}
def recoded_solution(o, alpha, beta):
    return beta + (alpha - beta) * o

def without_offset(o, alpha, beta):
    return (alpha - beta) * o

assert grade(recoded_solution, refitted, codes)
assert not grade(without_offset, refitted, codes)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Where squared loss is blind
#
# This section continues [A score for each name](#a-score-for-each-name), with its fits. Is squared loss wrong for
# probabilities? Not at all, says a short computation. Let
# $\mathbf{p}(\mathbf{x}) = \mathbb{E}[\mathbf{y} \mid \mathbf{x}]$ be the vector of true probabilities. For any
# function $\mathbf{f}$,
#
# ```{math}
# :label: clf-two-parts
# \mathbb{E} \, \|\mathbf{f}(\mathbf{x}) - \mathbf{y}\|^2
# = \mathbb{E} \, \|\mathbf{f}(\mathbf{x}) - \mathbf{p}(\mathbf{x})\|^2 + \mathbb{E} \, \|\mathbf{p}(\mathbf{x}) - \mathbf{y}\|^2 ,
# ```
#
# because the mixed term $2 \, \mathbb{E} \big[ (\mathbf{f} - \mathbf{p})^\top (\mathbf{p} - \mathbf{y}) \big]$
# vanishes: given $\mathbf{x}$, the first factor is fixed and the second has mean zero. Only the first part depends on
# $\mathbf{f}$, so among *all* functions the true probabilities are best. Among linear ones, least squares finds the
# best linear picture of $\mathbf{p}$. Here lies the trouble. Take three classes side by side on a line. The
# probability of the middle one is a hill, up and down, and the best straight line for a hill is flat.
#
# ````{prf:theorem} What least squares sees
# :label: thm-clf-ls-scores
# Let class $j$ have the share $\pi_j$ of the examples and the mean $\boldsymbol\mu_j$, and let $\boldsymbol\Sigma_T$
# be the covariance (divided by $n$) of all inputs about their common mean $\bar{\mathbf{x}}$, and invertible. The
# least-squares fit with biases to one-hot labels is
#
# ```{math}
# :label: clf-ls-scores
# o_j(\mathbf{x}) = \pi_j \big( 1 + (\boldsymbol\mu_j - \bar{\mathbf{x}})^\top \boldsymbol\Sigma_T^{-1} (\mathbf{x} - \bar{\mathbf{x}}) \big) .
# ```
# ````
#
# ````{prf:proof}
# A linear fit passes through the means, $o_j = \pi_j + \mathbf{w}^\top (\mathbf{x} - \bar{\mathbf{x}})$, and
# $\mathbf{w} = \boldsymbol\Sigma_T^{-1} \mathbf{c}$, where $\mathbf{c}$ is the covariance of inputs and label $y_j$:
# $\mathbf{c} = \frac1n \sum_i (\mathbf{x}^{(i)} - \bar{\mathbf{x}}) \, y_j^{(i)} = \pi_j (\boldsymbol\mu_j -
# \bar{\mathbf{x}})$, for only the examples of class $j$ count.
# ````
#
# Least squares knows a class by its share and its mean, and nothing else. And it is linear in
# $\boldsymbol\mu_j - \bar{\mathbf{x}}$: a class in the middle of the others, with
# $\boldsymbol\mu_j = \bar{\mathbf{x}}$, has the constant score $\pi_j$. With three equal classes at $-m$, $0$ and $m$
# the scores are $\frac13$ and $\frac13 \pm \frac{m}{3 s^2} x$ with $s^2$ the total variance: at every $x \ne 0$ one
# of the outer ones beats $\frac13$. The middle class is *masked*, and no amount of data, nor of distance between the
# classes, will help it. The control puts the covariance within the classes in place of the total one.

# %%
def closed_form(X, Y, within=False):  # -> outputs at the rows of X
    pi, means = Y.mean(0), (Y.T @ X) / Y.sum(0)[:, None]
    middle = X - (Y @ means if within else X.mean(0))
    S = middle.T @ middle / len(X)
    return pi * (1 + (X - X.mean(0)) @ solve(S, (means - X.mean(0)).T))

verify(
    'least squares knows a class by its share and its mean',
    lambda seed: close(
        scores(*least_squares(*some_classes(seed)), some_classes(seed)[0]),
        closed_form(*some_classes(seed))),
    control=lambda seed: close(
        scores(*least_squares(*some_classes(seed)), some_classes(seed)[0]),
        closed_form(*some_classes(seed), within=True)),
    seed=seeds(), tries=40,
)

# %% [markdown]
# Three classes of 100 points each, 4 apart, with spread 0.5: nobody could confuse them. Softmax regression, which is
# linear as well, has no trouble: it needs the middle score to be largest in the middle, not to be a picture of the
# probability; three straight lines of different slope can do that. Squares of $x$ among the features would help least
# squares, too, since a parabola can be a hill. (With $q$ classes in a row one may need powers up to $q - 1$
# {cite}`hastie2009elements`.) Twenty draws:

# %%
def in_a_row(seed, gap=4.0, spread=0.5):
    rng = np.random.default_rng(seed)
    label = np.repeat([0, 1, 2], 100)
    return (label - 1) * gap + spread * rng.normal(size=300), label

def middle_found(seed):  # share of the middle class that is recognized
    x, label = in_a_row(seed)
    square = np.stack([x, x**2], 1)
    guesses = squares(x[:, None], label, x[:, None]), squares(
        square, label, square), softmax_regression(
        x[:, None], label, x[:, None])
    return [(guess[label == 1] == 1).mean() for guess in guesses]

names = 'squared loss', 'with x²', 'softmax'
found = np.array([middle_found(seed) for seed in range(20)])  # (20, 3)
for name, share in zip(names, found.T, strict=True):
    print(f'{name:12} finds {share.mean():.2f} of the middle class, '
          f'at least {share.min():.2f}')

# %%
x_row, label_row = in_a_row(0)
axis = np.linspace(-6, 6, 241)[:, None]
lines = scores(*least_squares(x_row[:, None], np.eye(3)[label_row]), axis)
hills = scores(*least_squares(
    np.stack([x_row, x_row**2], 1), np.eye(3)[label_row]),
    np.hstack([axis, axis**2]))
model = LogisticRegression(max_iter=500).fit(x_row[:, None], label_row)
soft = model.predict_proba(axis)

# %% mystnb={"figure": {"caption": "Squared loss is blind to a class in the middle: the straight line for it is flat and almost never the largest. With $x^2$, or with softmax, the middle class is found."}, "image": {"alt": "Three panels over the same three groups of points in a row. Least squares: a falling, a flat and a rising line that cross in one point, the flat one never on top. With x squared: the middle score is a hill above the others in the middle. Softmax: probabilities that switch from 0 to 1."}} tags=["hide-input"]
fig, axes = panels(3, height=2.3, sharey=True)
titles = 'squared loss', 'squared loss, with x²', 'softmax regression'
for ax, curves, title in zip(axes, (lines, hills, soft), titles, strict=True):
    for j in range(3):
        ax.plot(axis, curves[:, j])
        ax.plot(x_row[label_row == j], np.full(100, -0.35), '|', ms=7,
                color=f'C{j}')
    ax.set(xlabel='x', ylim=(-0.5, 1.4))
    ax.set_title(title, fontsize=9)
axes[0].set(ylabel='output');

# %% [markdown]
# **Punished for being right.** With two classes there is no middle, yet squared loss has a second weakness. Code them
# by $y = \pm 1$ and classify by the sign of a score $g$. Whether this is right, the *margin* $m = y \, g$ tells, and
# as $y^2 = 1$, $(g - y)^2 = (1 - m)^2$. Beyond $m = 1$ this grows again: an example far on the *right* side of the
# border costs as much as one on the wrong side. Compare
#
# ```{math}
# :label: clf-surrogates
# \begin{aligned}
# \text{zero-one} \quad & \mathbb{1}[m \le 0] , \qquad & \text{square} \quad & (1 - m)^2 , \\
# \text{hinge} \quad & \max(0, 1 - m) , & \text{logistic} \quad & \log_2 (1 + e^{-m}) .
# \end{aligned}
# ```
#
# What we would like to make small is the first, but it is flat almost everywhere and has no useful slope. The others are
# convex and lie above it, so making them small makes it small. And in the limit of endless data and all functions they are
# honest: if class 1 has probability $\eta$ at some $\mathbf{x}$, neither 0 nor $\frac12$ nor 1, a score that minimizes
# $\eta \, \psi(g) + (1 - \eta) \, \psi(-g)$ has the sign of $2\eta - 1$ {cite}`bartlett2006convexity`. The control is a
# loss that someone might call natural, $-m$.

# %%
surrogates = {
    'square': lambda m: (1 - m) ** 2,
    'hinge': lambda m: np.maximum(0, 1 - m),
    'logistic': lambda m: np.logaddexp(0, -m) / np.log(2),
}
best_scores = {  # for probability eta
    'square': lambda eta: 2 * eta - 1,
    'hinge': lambda eta: np.sign(2 * eta - 1),
    'logistic': lambda eta: np.log(eta / (1 - eta)),
}

def is_honest(psi, best, m, u, t, eta):
    above = psi(m) >= (m <= 0)
    chord = psi((1 - t) * m + t * u) <= (1 - t) * psi(m) + t * psi(u) + 1e-12
    risk = lambda g: eta * psi(g) + (1 - eta) * psi(-g)
    found = minimize_scalar(risk, bounds=(-4, 4), method='bounded').x
    lowest = abs(risk(found) - risk(best(eta))) < 1e-6
    return above and chord and lowest and best(eta) * (2 * eta - 1) > 0

# %%
verify(
    'convex, above the zero-one loss, and on the side of the likelier class',
    lambda name, m, u, t, eta: is_honest(
        surrogates[name], best_scores[name], m, u, t, eta),
    control=lambda name, m, u, t, eta: is_honest(
        lambda m: -m, best_scores[name], m, u, t, eta),
    name=list(surrogates), m=scalars(), u=scalars(), t=scalars(0, 1),
    eta=scalars(0.05, 0.95).filter(lambda eta: abs(eta - 0.5) > 0.01),
    tries=100,
)

# %% [markdown]
# Now two clouds of 50 points and, far out on the right side of the border, 15 more points of the second class. They
# are the easiest of all. We count the errors on fresh points from the two clouds, in twenty draws.

# %%
def clouds(rng, n):
    y = np.repeat([0, 1], n)
    X = rng.normal(size=(2 * n, 2))
    X[:, 0] += 3.0 * y - 1.5
    return X, y

def dragged(seed):  # error rates, without and with the far points
    rng = np.random.default_rng(seed)
    X, y = clouds(rng, 50)
    far = np.array([14.0, 0]) + rng.normal(size=(15, 2))
    more = np.vstack([X, far]), np.append(y, np.ones(15, int))
    new, truth = clouds(rng, 2000)
    return [[(method(*data, new) != truth).mean()
             for data in ((X, y), more)]
            for method in (squares, softmax_regression)], more

# %%
wrong = np.array([dragged(seed)[0] for seed in range(20)])  # (20, 2, 2)
for name, rate in zip(('squared loss', 'logistic'), wrong.mean(0),
                      strict=True):
    print(f'{name:12} errors {rate[0]:.3f}; with the far points {rate[1]:.3f}')
rise = wrong[..., 1] - wrong[..., 0]  # (20, 2)
print('squared loss suffers in', (rise[:, 0] > 0.02).sum(), 'of 20 draws,',
      'logistic in', (rise[:, 1] > 0.02).sum())
X_far, y_far = dragged(0)[1]
at = np.array([-4.0, 4.0])
borders = {}
for name, data in (('without', slice(100)), ('with', slice(None))):
    W, b = least_squares(X_far[data], np.eye(2)[y_far[data]])
    v, c = W[1] - W[0], b[1] - b[0]
    borders['squared loss', name] = -(c + v[1] * at) / v[0]
model = LogisticRegression().fit(X_far, y_far)
(v,), (c,) = model.coef_, model.intercept_
borders['logistic', 'with'] = -(c + v[1] * at) / v[0]

# %% mystnb={"figure": {"caption": "Squared loss grows again beyond margin $1$, so examples far on the right side cost much. Fifteen of them drag its border into a class, while that of logistic regression stays."}, "image": {"alt": "Left: four losses against the margin; the zero-one step, and above it the hinge, the logistic curve and the square, which rises again beyond margin one. Right: two clouds and a few far points; the border of least squares is dragged from between the clouds into the second one, that of logistic regression stays."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
m = np.linspace(-2.2, 3.2, 271)
left.plot(m, np.where(m <= 0, 1.0, 0.0), color=GREY, label='zero-one')
for name, psi in surrogates.items():
    left.plot(m, psi(m), label=name)
left.set(xlabel='margin', ylabel='loss', ylim=(-0.1, 4.2))
left.legend(fontsize=8)
for j, colour in enumerate(('C3', 'C4')):
    right.plot(*X_far[y_far == j].T, 'o', ms=2.5, color=colour, alpha=0.7)
for (name, points), colour, style in zip(
        borders, ('C0', 'C0', 'C2'), (':', '-', '-'), strict=True):
    right.plot(borders[name, points], at, style, color=colour)
right.text(3.1, 3.2, 'squares', color='C0')
right.text(-0.6, 3.2, 'logistic', color='C2', ha='right')
right.set(xlabel='x₁', ylabel='x₂', xlim=(-5, 17))
right.set_title('dotted: squares without far points', fontsize=9);

# %% [markdown]
# ```{exercise} ★★ The exponential loss
# :label: clf-exponential
# Boosting uses $\psi(m) = e^{-m}$. Write `best_score(eta)`, the $g$ that minimizes
# $\eta \, \psi(g) + (1 - \eta) \, \psi(-g)$. What does it tell about the probability?
# ```

# %%
def best_score(eta):
    raise NotImplementedError('your turn')

# %%
def score_by_search(eta):
    risk = lambda g: eta * np.exp(-g) + (1 - eta) * np.exp(g)
    return minimize_scalar(risk, bracket=(-1, 1), tol=1e-12).x

chances = [(0.5,), (0.9,), (0.2,), (0.01,)]
grade(best_score, score_by_search, chances, atol=1e-6)

# %% [markdown]
# ```{solution-start} clf-exponential
# :class: dropdown
# ```
# $-\eta e^{-g} + (1 - \eta) e^{g} = 0$ gives $e^{2g} = \eta / (1 - \eta)$: *half* the log-odds. Like the logistic
# loss, and unlike the hinge, it keeps the whole probability; but it pays for a margin of $-10$ with $e^{10}$, where
# the logistic loss pays about 14.

# %% jupyter={"source_hidden": true}
def best_score_solution(eta):
    return np.log(eta / (1 - eta)) / 2

def whole_log_odds(eta):
    return np.log(eta / (1 - eta))

assert grade(best_score_solution, score_by_search, chances, atol=1e-6)
assert not grade(whole_log_odds, score_by_search, chances, atol=1e-6)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The best anybody can do
#
# This section continues [Where squared loss is blind](#where-squared-loss-is-blind), for one comparison at its end.
# Enough of fitting. Suppose that we *knew* the law of inputs and names. What is the best rule, and how often is it
# wrong? Write $p_j(\mathbf{x}) = P(j \mid \mathbf{x})$ and $R(f) = P(f(\mathbf{x}) \ne \text{name})$ for the *risk*
# of a classifier $f$. Given $\mathbf{x}$, the answer $f(\mathbf{x})$ is right with probability
# $p_{f(\mathbf{x})}(\mathbf{x})$, so $R(f) = \mathbb{E}[1 - p_{f(\mathbf{x})}(\mathbf{x})]$. Nothing beats the answer
# of largest probability, the [Bayes classifier](../probability/bayes_theorem.ipynb) $f^*$, at any $\mathbf{x}$. What
# more can be said is how much others lose.
#
# ````{prf:theorem} Bayes risk and excess risk
# :label: thm-clf-bayes
# The least risk is $R^* = \mathbb{E}\big[ 1 - \max_j p_j(\mathbf{x}) \big]$, with two classes and $\eta = p_1$ equal
# to $\mathbb{E}[\min(\eta, 1 - \eta)]$. Every other classifier has the excess
# $R(f) - R^* = \mathbb{E}\big[ \max_j p_j(\mathbf{x}) - p_{f(\mathbf{x})}(\mathbf{x}) \big]$, with two classes
#
# ```{math}
# :label: clf-excess
# R(f) - R^* = \mathbb{E}\big[ \, |2 \eta(\mathbf{x}) - 1| \; \mathbb{1}[f(\mathbf{x}) \ne f^*(\mathbf{x})] \, \big] .
# ```
#
# If $f$ decides as if $\hat\eta$ were $\eta$, then $R(f) - R^* \le 2 \, \mathbb{E} \, |\hat\eta - \eta|$.
# ````
#
# ````{prf:proof}
# The first lines restate $R(f) = \mathbb{E}[1 - p_f]$. With two classes the bracket is zero where $f = f^*$, and the
# difference of the two probabilities, $|2\eta - 1|$, where not. And where $f \ne f^*$, the numbers $\eta$ and
# $\hat\eta$ lie on different sides of $\frac12$ (or on it), so that $|\hat\eta - \eta| \ge |\eta - \tfrac12|$, half
# of what is lost there.
# ````
#
# Two messages. A wrong decision is expensive only where the case is clear; near the border it costs little. And good
# probabilities make good decisions, but not the other way round: a poor $\hat\eta$ on the right side of $\frac12$ is
# good enough. (Squared loss masks a class because its $\hat\eta$ is on the wrong side.) On a domain of six points
# there are $2^6 = 64$ classifiers, and we can ask them all. The control has the risk of the nearest neighbour in
# place of the least one: $\mathbb{E}[2\eta(1 - \eta)]$ is what copying the name of a twin with the same $\mathbf{x}$
# would cost.

# %%
def finite_world(seed):  # six inputs: their law, eta, an estimate of it
    rng = np.random.default_rng(seed)
    eta = rng.random(6)
    return rng.dirichlet(np.ones(6)), eta, np.clip(
        eta + 0.3 * rng.normal(size=6), 0, 1)

rules = np.array(list(product([0, 1], repeat=6)))  # (64, 6)

def risks(p_x, eta):  # of all 64
    return np.where(rules == 1, 1 - eta, eta) @ p_x

def best_of_all(seed, formula):
    p_x, eta, _ = finite_world(seed)
    return close(risks(p_x, eta).min(), p_x @ formula(eta))

def excess_agrees(seed, loss):
    p_x, eta, _ = finite_world(seed)
    excess = risks(p_x, eta) - risks(p_x, eta).min()
    other = rules != (eta > 0.5)
    return close(excess, other @ (p_x * loss(eta)))

# %%
def bounded(seed, factor):
    p_x, eta, guess = finite_world(seed)
    excess = risks(p_x, eta) - risks(p_x, eta).min()
    mine = excess[(rules == (guess > 0.5)).all(1)][0]
    return mine <= factor * p_x @ abs(guess - eta) + 1e-12

# %% tags=["hide-input"]
verify(
    'the least risk of all 64 classifiers is E[min(eta, 1 - eta)]',
    lambda seed: best_of_all(seed, lambda eta: np.minimum(eta, 1 - eta)),
    control=lambda seed: best_of_all(seed, lambda eta: 2 * eta * (1 - eta)),
    seed=seeds(), tries=60,
)
verify(
    'a wrong decision costs |2 eta - 1|',
    lambda seed: excess_agrees(seed, lambda eta: abs(2 * eta - 1)),
    control=lambda seed: excess_agrees(seed, lambda eta: abs(eta - 0.5)),
    seed=seeds(), tries=60,
)
verify(
    'good probabilities lose at most twice their mean error',
    lambda seed: bounded(seed, 2), control=lambda seed: bounded(seed, 1),
    seed=seeds(), tries=60,
)

# %% [markdown]
# **Two Gaussian clouds.** For two Gaussian classes with means $\boldsymbol\mu_0, \boldsymbol\mu_1$ and a common covariance
# $\boldsymbol\Sigma$ the log-odds are linear, $g(\mathbf{x}) = \log \frac{\pi_1}{\pi_0} + \mathbf{v}^\top \big(\mathbf{x} -
# \tfrac12 (\boldsymbol\mu_0 + \boldsymbol\mu_1)\big)$ with $\mathbf{v} = \boldsymbol\Sigma^{-1} (\boldsymbol\mu_1 -
# \boldsymbol\mu_0)$ ({prf:ref}`thm-logreg-gaussian`), and the Bayes classifier asks for their sign. How often is it wrong?
# Let $\Delta^2 = (\boldsymbol\mu_1 - \boldsymbol\mu_0)^\top \boldsymbol\Sigma^{-1} (\boldsymbol\mu_1 - \boldsymbol\mu_0)$,
# the squared distance of the means in units of the spread. In class 1 the number $\mathbf{v}^\top(\mathbf{x} - \dots)$ is
# Gaussian with mean $\frac12 \Delta^2$ and variance $\mathbf{v}^\top \boldsymbol\Sigma \mathbf{v} = \Delta^2$, in class 0
# with mean $-\frac12 \Delta^2$ and the same variance. With $\tau = \log(\pi_0 / \pi_1)$, an error in class 1 means to stay
# below $\tau$, and in class 0 to exceed it:
#
# ```{math}
# :label: clf-gauss-risk
# R^* = \pi_1 \, \Phi\Big( \frac{\tau}{\Delta} - \frac\Delta2 \Big) + \pi_0 \, \Phi\Big( {-\frac{\tau}{\Delta}} - \frac\Delta2 \Big) .
# ```
#
# For equal shares this is $\Phi(-\Delta / 2)$. Simulation agrees within five standard errors; the control ignores the
# shares and always asks whether $\tau = 0$ is exceeded.

# %%
def bayes_risk(means, S, share):  # of class 1
    gap = means[1] - means[0]
    D = np.sqrt(gap @ solve(S, gap))
    tau = np.log(1 / share - 1)
    low, high = stats.norm.cdf([tau / D - D / 2, -tau / D - D / 2])
    return share * low + (1 - share) * high

def draw(rng, means, covs, y):  # (q, d), (q, d, d), (n,) -> (n, d)
    noise = rng.normal(size=(len(y), means.shape[1], 1))
    return means[y] + (cholesky(covs)[y] @ noise)[..., 0]

def log_odds(X, means, covs, share):
    a, b = (stats.multivariate_normal(m, S).logpdf(X)
            for m, S in zip(means, covs, strict=True))
    return b - a + np.log(share / (1 - share))

# %%
def simulated_risk(seed, trust_share, n=20_000):
    rng = np.random.default_rng(seed)
    means, A = rng.normal(size=(2, 2)), rng.normal(size=(2, 2))
    S, share = A @ A.T + np.eye(2) / 2, rng.uniform(0.05, 0.3)
    y = (rng.random(n) < share) * 1
    X = draw(rng, means, np.array([S, S]), y)
    z = log_odds(X, means, (S, S), share if trust_share else 0.5)
    rate, R = ((z > 0) != y).mean(), bayes_risk(means, S, share)
    return abs(rate - R) < 5 * np.sqrt(R * (1 - R) / n)

verify(
    'the Bayes classifier of two Gaussian clouds has the risk computed',
    lambda seed: simulated_risk(seed, True),
    control=lambda seed: simulated_risk(seed, False),
    seed=seeds(), tries=15,
)

# %% [markdown]
# **From the law to data.** In practice nobody knows the law. *Discriminant analysis* {cite}`fisher1936use` estimates
# shares, means and covariances, and then acts as if the estimates were true. Class $j$ has the score
#
# ```{math}
# :label: clf-qda
# \log \pi_j - \tfrac12 \log \det \boldsymbol\Sigma_j - \tfrac12 (\mathbf{x} - \boldsymbol\mu_j)^\top \boldsymbol\Sigma_j^{-1} (\mathbf{x} - \boldsymbol\mu_j) ,
# ```
#
# the logarithm of share times density but for a constant. With a covariance for each class the borders are quadratic,
# in the plane conic sections: *quadratic* discriminant analysis, QDA. If one pooled covariance serves all classes,
# the quadratic terms cancel, and the borders are straight: LDA. scikit-learn's probabilities judge LDA. For QDA,
# where its versions differ ($n_j$ or $n_j - 1$ in the covariance), scipy's Gaussian densities do; we take $n_j$. The
# control of LDA pools about the common mean, the control of QDA forgets the determinant.

# %%
def estimate(X, y, pooled):  # -> shares (q,), means (q, d), covs (q, d, d)
    q = y.max() + 1
    parts = [X[y == j] for j in range(q)]
    shares = np.array([len(part) for part in parts]) / len(X)
    means = np.array([part.mean(0) for part in parts])
    covs = np.array([np.cov(part.T, bias=True) for part in parts])
    if pooled:
        covs = np.tile(np.tensordot(shares, covs, 1), (q, 1, 1))
    return shares, means, covs

def gauss_scores(X, shares, means, covs, volume=True):  # -> (n, q)
    D = X[:, None] - means  # (n, q, d)
    forms = (np.einsum('nqd,qde->nqe', D, inv(covs)) * D).sum(-1)
    return np.log(shares) - forms / 2 - volume * slogdet(covs)[1] / 2

# %%
def lda(X, y, new):
    return gauss_scores(new, *estimate(X, y, True)).argmax(1)

def qda(X, y, new):
    return gauss_scores(new, *estimate(X, y, False)).argmax(1)

# %%
def three_clouds(seed, n=60):
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(9) % 3, rng.choice(3, n, p=[0.5, 0.3, 0.2]))
    A = rng.normal(size=(3, 2, 2))
    return (A[y] @ rng.normal(size=(n + 9, 2, 1)))[..., 0] + y[:, None], y

def is_lda(seed, pool):
    X, y = three_clouds(seed)
    shares, means, covs = estimate(X, y, True)
    model = discriminant_analysis.LinearDiscriminantAnalysis('lsqr')
    scores = gauss_scores(X, shares, means, pool(X, covs))
    p = torch.softmax(torch.tensor(scores), 1)
    return close(p, model.fit(X, y).predict_proba(X))

def is_qda(seed, volume):
    X, y = three_clouds(seed)
    parts = [X[y == j] for j in range(3)]
    joint = [len(part) * stats.multivariate_normal(
        part.mean(0), np.cov(part.T, bias=True)).pdf(X) for part in parts]
    scores = gauss_scores(X, *estimate(X, y, False), volume)
    p = torch.softmax(torch.tensor(scores), 1)
    return close(p, (joint / np.sum(joint, 0)).T)

# %% tags=["hide-input"]
verify(
    'LDA is that of scikit-learn',
    lambda seed: is_lda(seed, lambda X, covs: covs),
    control=lambda seed: is_lda(
        seed, lambda X, covs: np.array([np.cov(X.T, bias=True)] * 3)),
    seed=seeds(), tries=20,
)
verify(
    'QDA compares Gaussian densities',
    lambda seed: is_qda(seed, True), control=lambda seed: is_qda(seed, False),
    seed=seeds(), tries=20,
)
X, y = three_clouds(0)
model = discriminant_analysis.QuadraticDiscriminantAnalysis()
theirs = model.fit(X, y).predict(X)
agree = [(method(X, y, X) == theirs).mean() for method in (lda, qda)]
assert agree[1] > 0.95 > agree[0]

# %% [markdown]
# And least squares? By {prf:ref}`thm-clf-ls-scores` it asks, for two classes of equal size, for the sign of
# $\boldsymbol\delta^\top \boldsymbol\Sigma_T^{-1} (\mathbf{x} - \bar{\mathbf{x}})$ with
# $\boldsymbol\delta = \boldsymbol\mu_1 - \boldsymbol\mu_0$, and the total covariance is the pooled one plus the
# spread of the means, $\boldsymbol\Sigma_T = \boldsymbol\Sigma + \frac14 \boldsymbol\delta \boldsymbol\delta^\top$.
# Since $\boldsymbol\Sigma_T \boldsymbol\Sigma^{-1} \boldsymbol\delta = (1 + \frac14 \Delta^2) \, \boldsymbol\delta$
# with $\Delta^2 = \boldsymbol\delta^\top \boldsymbol\Sigma^{-1} \boldsymbol\delta$, the vector
# $\boldsymbol\Sigma^{-1} \boldsymbol\delta = (1 + \frac14 \Delta^2) \, \boldsymbol\Sigma_T^{-1} \boldsymbol\delta$ of
# LDA points the same way, and both borders pass through the middle. Least squares *is* LDA there. The control drops
# "of equal size": the direction stays, the border shifts.

# %%
def same_border(seed, ones):
    rng = np.random.default_rng(seed)
    y = (np.arange(60) < ones) * 1
    X = rng.normal(size=(60, 3)) + y[:, None] * rng.normal(size=3)
    new = 2 * rng.normal(size=(200, 3))
    return (squares(X, y, new) == lda(X, y, new)).all()

verify(
    'for two classes of equal size least squares is LDA',
    lambda seed: same_border(seed, 30),
    control=lambda seed: same_border(seed, 15), seed=seeds(), tries=40,
)

# %% [markdown]
# Now we can watch estimates approach the limit, in two worlds with known laws in five dimensions. In one the clouds share
# their shape, and {eq}`clf-gauss-risk` tells the limit, 0.251; in the other one cloud is narrow and the other wide. Twenty
# training sets of each size; risks on 4000 fresh points, the same for LDA, QDA and the best classifier. Its risk on *these*
# points is the grey line, in the first world 0.240, less than two standard errors of 4000 points below the limit, and the
# excess is counted from there.

# %%
def world(d, spreads):  # means and covariances
    covs = np.array([np.eye(d) * spread for spread in spreads])
    return np.array([np.zeros(d), np.full(d, 0.6)]), covs

def learning_curves(spreads, sizes, runs=20):
    rng = np.random.default_rng(1)
    means, covs = world(5, spreads)
    truth = np.arange(4000) % 2
    new = draw(rng, means, covs, truth)
    bayes = ((log_odds(new, means, covs, 0.5) > 0) != truth).mean()
    risk = np.zeros((2, len(sizes), runs))
    for i, run in np.ndindex(len(sizes), runs):
        y = np.arange(sizes[i]) % 2
        X = draw(rng, means, covs, y)
        risk[:, i, run] = [(f(X, y, new) != truth).mean() for f in (lda, qda)]
    return bayes, risk

# %%
sizes = np.array([16, 24, 40, 80, 160, 400, 1000])
curves = {'one shape': learning_curves((1, 1), sizes),
          'two shapes': learning_curves((0.4, 1.6), sizes)}
R = bayes_risk(*world(5, (1, 1))[:1], np.eye(5), 0.5)
assert abs(curves['one shape'][0] - R) < 5 * np.sqrt(R * (1 - R) / 4000)
print(f'Bayes risk of one shape: {R:.3f},'
      f' on these 4000 points {curves["one shape"][0]:.3f}')
for name, (bayes, risk) in curves.items():
    excess = risk[:, -1].mean(1) - bayes
    print(f'{name:10} excess with 1000 examples: LDA {excess[0]:.4f}, '
          f'QDA {excess[1]:.4f}')
    wins = (risk[0] < risk[1]).mean(1)  # (sizes,)
    print(f'{"":10} LDA better in {wins[1]:.2f} of the sets of 24, '
          f'{wins[-1]:.2f} of 1000')

# %% [markdown]
# And for the eye the same two worlds in the plane, with sixty examples, the coordinates of the means twice as far apart,
# and the borders that Bayes, LDA and QDA draw:

# %%
maps = {}
u1, u2 = np.meshgrid(np.linspace(-3.5, 4.5, 121), np.linspace(-3.5, 4.5, 121))
plane = np.stack([u1.ravel(), u2.ravel()], 1)
for name, spreads in (('one shape', (1, 1)), ('two shapes', (0.4, 1.6))):
    means, covs = world(2, spreads)
    y = np.arange(60) % 2
    X = draw(np.random.default_rng(2), means * 2, covs, y)
    fits = [gauss_scores(plane, *estimate(X, y, pooled))
            for pooled in (True, False)]
    heights = [log_odds(plane, means * 2, covs, 0.5)] + [
        fit[:, 1] - fit[:, 0] for fit in fits]
    maps[name] = X, y, [h.reshape(u1.shape) for h in heights]

# %% mystnb={"figure": {"caption": "Left: if the classes share a shape, LDA nears the Bayes risk with fewer examples. Right: if not, only QDA reaches it. Above: borders in the plane; below: risks in five dimensions."}, "image": {"alt": "Above: two maps with sixty points of two classes and three borders, the Bayes border, LDA's and QDA's. With one shape the Bayes border and LDA's are straight, QDA's is bent; with two shapes the Bayes border is a circle around the narrow class, and only QDA's follows it. Below: risk against the number of training examples with bands. With one shape LDA comes down to the Bayes risk first; with two shapes QDA comes down to it and LDA stays far above."}} tags=["hide-input"]
fig, axes = panels(2, rows=2, height=2.7)
styles = ('Bayes', GREY, '-'), ('LDA', 'C2', '--'), ('QDA', 'C1', '-')
for (top, below), name in zip(axes.T, maps, strict=True):
    X, y, heights = maps[name]
    for j, colour in enumerate(('C3', 'C4')):
        top.plot(*X[y == j].T, 'o', ms=3, color=colour, alpha=0.7)
    for height, (_, colour, line) in zip(heights, styles, strict=True):
        top.contour(u1, u2, height, [0], colors=colour, linestyles=line)
    top.set(title=name, xlabel='x₁', ylabel='x₂')
    bayes, risk = curves[name]
    below.axhline(bayes, color=GREY, label='Bayes')
    for values, (method, colour, line) in zip(risk, styles[1:], strict=True):
        middle, spread = values.mean(1), values.std(1)
        below.plot(sizes, middle, line, color=colour, label=method)
        below.fill_between(sizes, middle - spread, middle + spread,
                           color=colour, alpha=0.2, lw=0)
    below.set(xscale='log', xlabel='training examples', ylim=(0.05, 0.5))
    below.text(1000, bayes - 0.01, 'Bayes', ha='right', va='top')
axes[1, 0].set(ylabel='risk')
axes[0, 1].legend(*axes[1, 1].get_legend_handles_labels(), loc='upper right',
                  fontsize=8);

# %% [markdown]
# QDA estimates twice as many entries of covariances. Where the shapes are the same it pays for them, above all while
# examples are few; where they differ it gets its money back. LDA converges in both worlds, in the second one to the
# wrong rule. More data cure variance, not a wrong model.
#
# ```{exercise} ★ The right to say "I do not know"
# :label: clf-doubt
# An error costs 1, and "I do not know" costs $c$. Given the probabilities of the classes, what is the best answer?
# Write `with_doubt(p, c)` for `p` of shape `(n, q)`: an array of $n$ answers, $-1$ for doubt (also where both cost
# the same).
# ```

# %%
def with_doubt(p, c):
    raise NotImplementedError('your turn')

# %%
def cheapest(p, c):  # expected cost of each answer, doubt first
    costs = np.column_stack([np.full(len(p), c), 1 - p])
    return costs.argmin(1) - 1

rng = np.random.default_rng(3)
doubts = [(rng.dirichlet(np.ones(q), size=30), c)
          for q, c in ((2, 0.3), (3, 0.4), (4, 0.1))]
doubts.append((np.array([[0.75, 0.25], [0.5, 0.5], [0.2, 0.8]]), 0.25))
grade(with_doubt, cheapest, doubts)

# %% [markdown]
# ```{solution-start} clf-doubt
# :class: dropdown
# ```
# The best name costs $1 - \max_j p_j$ in expectation. Doubt is cheaper if $\max_j p_j < 1 - c$
# {cite}`chow1970optimum`. To compare with $c$ instead mistakes the chance of being right for the chance of being
# wrong.

# %% jupyter={"source_hidden": true}
def with_doubt_solution(p, c):
    return np.where(p.max(1) > 1 - c, p.argmax(1), -1)

def compared_with_c(p, c):
    return np.where(p.max(1) > c, p.argmax(1), -1)

assert grade(with_doubt_solution, cheapest, doubts)
assert not grade(compared_with_c, cheapest, doubts)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Counting the errors
#
# One number, the share of errors, hides which name was taken for which. The *confusion matrix* has the true names as
# rows and the answers as columns: $C_{jk}$ counts the examples of class $j$ that were called $k$. With one-hot codes
# it is a matrix product, since $\sum_i y^{(i)}_j \hat y^{(i)}_k$ counts exactly the $i$ for which both are one:
#
# ```{math}
# :label: clf-confusion
# \mathbf{C} = \mathbf{Y}^\top \hat{\mathbf{Y}} .
# ```
#
# For one class against the rest four counts remain: *true positives* $\mathrm{TP}$, *false positives* $\mathrm{FP}$,
# *false negatives* $\mathrm{FN}$ and *true negatives* $\mathrm{TN}$. From them one forms the *recall*
# $\frac{\mathrm{TP}}{\mathrm{TP} + \mathrm{FN}}$ (what share of the eights was found?), the *precision*
# $\frac{\mathrm{TP}}{\mathrm{TP} + \mathrm{FP}}$ (what share of the "eights" are eights?) and their harmonic mean,
# the score $F_1 = \frac{2 \mathrm{TP}}{2 \mathrm{TP} + \mathrm{FP} + \mathrm{FN}}$. Recall divides by a row sum of
# $\mathbf{C}$, precision by a column sum; the controls transpose, which exchanges the two.

# %%
def confusion(y, guess, q):
    return np.eye(q, dtype=int)[y].T @ np.eye(q, dtype=int)[guess]

def recall_precision_f1(C):  # each (q,)
    hits = np.diag(C)
    recall, precision = hits / C.sum(1), hits / C.sum(0)
    return recall, precision, 2 * hits / (C.sum(0) + C.sum(1))

def named(seed, q=4):  # true names and answers, each name in both
    rng = np.random.default_rng(seed)
    y, guess = rng.integers(0, q, size=(2, 30))
    return np.append(np.arange(q), y), np.append(np.arange(q), guess)

def three_scores(y, guess):
    p, r, f, _ = metrics.precision_recall_fscore_support(y, guess)
    return r, p, f

# %% tags=["hide-input"]
verify(
    'the confusion matrix is a product of one-hot codes',
    lambda seed: close(confusion(*named(seed), 4),
                       metrics.confusion_matrix(*named(seed))),
    control=lambda seed: close(confusion(*named(seed)[::-1], 4),
                               metrics.confusion_matrix(*named(seed))),
    seed=seeds(), tries=40,
)
verify(
    'recall by rows, precision by columns',
    lambda seed: close(recall_precision_f1(confusion(*named(seed), 4)),
                       three_scores(*named(seed))),
    control=lambda seed: close(recall_precision_f1(confusion(
        *named(seed), 4).T), three_scores(*named(seed))),
    seed=seeds(), tries=40,
)

# %% [markdown]
# Most classifiers have a score inside and say "yes" above a threshold. Which threshold? Moved down, it finds more of
# what is there, and more of what is not. The *ROC curve* shows all of them at once: the true positive rate (recall)
# against the false positive rate $\frac{\mathrm{FP}}{\mathrm{FP} + \mathrm{TN}}$. Sort by falling score and walk
# through the list, one step up for each positive, one to the right for each negative; examples of equal score are one
# step together. The area under this staircase is a probability:
#
# ```{prf:theorem} What the area under the curve means
# :label: thm-clf-auc
# The area under the ROC curve is the probability that a random positive has a larger score than a random negative,
# plus half the probability of a tie.
# ```
#
# ```{prf:proof}
# Without ties: over the step to the right that belongs to one negative, of width one over the number of negatives,
# the curve has the height of the positives already passed, those with larger score, divided by the number of
# positives. So the area is the share of all pairs (positive, negative) in the right order. A group of $a$ positives
# and $b$ negatives of equal score makes one slanted step. Below it lies, beside the part of those passed before, a
# triangle of half the rectangle of $ab$ pairs.
# ```
#
# The area does not change if the score is replaced by any strictly increasing function of it, nor with the share of
# positives. For two Gaussian scores with equal spread whose means are $\Delta$ spreads apart, the difference of a positive
# and a negative score is Gaussian with mean $\Delta$ and variance 2; so the area is $\Phi(\Delta / \sqrt2)$.

# %%
def roc(score, y):  # -> false and true positive rate, from (0, 0) to (1, 1)
    order = np.argsort(-score, kind='stable')
    last = np.append(np.diff(score[order]) != 0, True)  # of equal scores
    up, right = np.cumsum(y[order])[last], np.cumsum(1 - y[order])[last]
    return np.append(0, right / right[-1]), np.append(0, up / up[-1])

def area(fpr, tpr):  # under straight pieces
    return (np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2).sum()

def pairs_in_order(score, y, tie):
    gap = score[y == 1][:, None] - score[y == 0]  # all pairs
    return ((gap > 0) + tie * (gap == 0)).mean()

def scored(seed):  # rounded, so that there are ties
    rng = np.random.default_rng(seed)
    y = np.append([0, 1], rng.random(40) < 0.3) * 1
    return np.round(rng.normal(size=42), seed % 2), y

def roc_agrees(seed, tie):
    score, y = scored(seed)
    mine = roc(score, y)
    theirs = metrics.roc_curve(y, score, drop_intermediate=False)[:2]
    return close(mine, theirs) and close(area(*mine), metrics.roc_auc_score(
        y, score)) and close(area(*mine), pairs_in_order(score, y, tie))

# %% tags=["hide-input"]
verify(
    'the area counts pairs in the right order, ties by one half',
    lambda seed: roc_agrees(seed, 0.5),
    control=lambda seed: roc_agrees(seed, 0),
    seed=seeds(), tries=40,
)
rng = np.random.default_rng(0)
for gap in (0, 1, 2):
    score, y = rng.normal(size=20_000), np.arange(20_000) % 2
    got, want = area(*roc(score + gap * y, y)), stats.norm.cdf(gap / 2**0.5)
    assert abs(got - want) < 5 * np.sqrt(want * (1 - want) / 10_000)
    print(f'spreads apart: {gap}, area {got:.2f}, derived {want:.2f}')

# %% [markdown]
# (The band: with $n$ examples of each kind, match each positive with one negative. The share of matches in the right
# order has variance $\frac1n A (1 - A)$. The area is the average of this share over all ways to match, and an average
# varies no more than its parts.)
#
# **What the curve does not show.** Precision asks a question in the other direction, and by Bayes' theorem the answer
# depends on how common positives are, on their *base rate* $\pi$:
#
# ```{math}
# :label: clf-precision
# \text{precision} = \frac{\pi \cdot \mathrm{TPR}}{\pi \cdot \mathrm{TPR} + (1 - \pi) \cdot \mathrm{FPR}} .
# ```
#
# Take the eights among the digits, and the least-squares score of "eight or not", fitted to one half of the pictures
# and computed for the other, both ways round. The same scores are judged three times: as they are, with one negative
# in ten, and with one positive in ten, chosen at random, a hundred times. The area under the ROC curve does not care.

# %%
x, label, _ = digits()
design = np.column_stack([np.ones(1797), x])
truth, halves = (label == 8) * 1, np.arange(1797) % 2
score = np.zeros(1797)
for half in (0, 1):
    rest = halves != half
    weights = lstsq(design[rest], truth[rest])[0]
    score[~rest] = design[~rest] @ weights
yes = score > 0.5
print(f'accuracy: always "no" {1 - truth.mean():.3f}, '
      f'threshold 1/2 {(yes == truth).mean():.3f}')
print(f'recall {yes[truth == 1].mean():.2f}, '
      f'precision {truth[yes].mean():.2f}')

# %%
def precision_at(score, y, threshold):  # by Bayes, from the rates
    fpr, tpr = ((score > threshold)[y == v].mean() for v in (0, 1))
    pi = y.mean()
    return pi * tpr / (pi * tpr + (1 - pi) * fpr)

rng = np.random.default_rng(0)
kept = rng.random((100, 1797)) < 0.1
samples = {'few negatives': kept | (truth == 1), 'as it is': kept[:1] | True,
           'few positives': kept | (truth == 0)}  # each (runs, n)
for name, parts in samples.items():
    areas, exact = np.array([
        (area(*roc(score[p], truth[p])), precision_at(score[p], truth[p], 0.3))
        for p in parts]).T
    counted = [truth[p][score[p] > 0.3].mean() for p in parts]
    assert close(exact, counted)
    share = np.mean([truth[p].mean() for p in parts])
    print(f'{name:13} share {share:.4f}, area {areas.mean():.3f}, '
          f'precision {exact.mean():.3f} at threshold 0.3')

# %% mystnb={"figure": {"caption": "The ROC curve hardly depends on how common the positives are, precision does: with the same scores and at the same recall it is lower when positives are rarer."}, "image": {"alt": "Left: three ROC staircases, for few negatives, the sample as it is and few positives, lie close together near the upper left corner. Right: precision against recall for the same three samples; the curves are far apart, with few positives precision is lowest."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
for name, parts in samples.items():
    fpr, tpr = roc(score[parts[0]], truth[parts[0]])
    left.plot(fpr, tpr, label=name)
    pi = truth[parts[0]].mean()
    found, false = pi * tpr[1:], (1 - pi) * fpr[1:]
    right.plot(tpr[1:], found / (found + false))
left.plot([0, 1], [0, 1], ':', color=GREY)
left.set(xlabel='false positive rate', ylabel='true positive rate')
left.legend(loc='lower right', fontsize=8)
right.set(xlabel='recall', ylabel='precision', ylim=(0, 1.05));

# %% [markdown]
# And accuracy? Whoever says "never an eight" is right nine times in ten. A score means something only beside the
# score of such a trivial answer.
#
# ```{exercise} ★★ From the clinic to the street
# :label: clf-prevalence
# A test was tried in a clinic, on as many patients as the confusion matrix `C` has (rows: healthy, ill; columns: test
# negative, positive). It is now used in a population where the share `pi` is ill. Write `precision_elsewhere(C, pi)`:
# what share of the people with a positive test is ill there?
# ```

# %%
def precision_elsewhere(C, pi):
    raise NotImplementedError('your turn')

# %%
def by_counting_people(C, pi, people=10**6):
    ill, healthy = pi * people, (1 - pi) * people
    true_alarms = ill * C[1, 1] / (C[1, 0] + C[1, 1])
    false_alarms = healthy * C[0, 1] / (C[0, 0] + C[0, 1])
    return true_alarms / (true_alarms + false_alarms)

clinics = [(np.array([[90, 10], [5, 95]]), 0.01),
           (np.array([[400, 4], [30, 70]]), 0.001),
           (np.array([[10, 10], [1, 99]]), 0.5)]
grade(precision_elsewhere, by_counting_people, clinics)

# %% [markdown]
# ```{solution-start} clf-prevalence
# :class: dropdown
# ```
# The rates of a *row* belong to the test, and travel; the shares of a *column* belong to the mixture of people, and do
# not. So take the true and the false positive rate from the rows and put them into {eq}`clf-precision` with the new
# $\pi$. With 95 % and 10 % and one ill person in a hundred, the precision falls from $0.95/(0.95 + 0.1) = 0.90$ to
# $0.0095/(0.0095 + 0.099) = 0.088$.

# %% jupyter={"source_hidden": true}
def precision_elsewhere_solution(C, pi):
    fpr, tpr = C[:, 1] / C.sum(1)
    return pi * tpr / (pi * tpr + (1 - pi) * fpr)

def of_the_clinic(C, pi):
    return C[1, 1] / C[:, 1].sum()

assert grade(precision_elsewhere_solution, by_counting_people, clinics)
assert not grade(of_the_clinic, by_counting_people, clinics)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Where it matters: whose wine is it?
#
# This section continues [The best anybody can do](#the-best-anybody-can-do), with the classifiers of this page.
# Thirteen measurements of 178 wines, three growers {cite}`aeberhard1994comparative`. Twenty times we draw 36 wines of
# each grower for training, of which 15, 20, 27 or all 36 are used; the other 70 are held out. Standard deviations for
# scaling come from the training wines alone (a shift of the data would change no answer). Which classifier would you
# buy?

# %%
wine = load_wine()
methods = commonest, nearest_mean, squares, lda, qda, softmax_regression
per_grower = 15, 20, 27, 36

def one_draw(seed):  # errors (sizes, methods), confusion of the last QDA
    order = np.random.default_rng(seed).permutation(178)
    x, y = wine.data[order], wine.target[order]
    rank = np.tril(y[:, None] == y).sum(1)  # first of its grower: 1
    new, errors = rank > 36, []
    for n in per_grower:
        X = x / x[rank <= n].std(0)
        guesses = [f(X[rank <= n], y[rank <= n], X[new]) for f in methods]
        errors.append([(guess != y[new]).mean() for guess in guesses])
    table = np.eye(3)[y[new]].T @ np.eye(3)[guesses[4]]
    return np.array(errors), table

draws = [one_draw(seed) for seed in range(20)]
errors = np.array([e for e, _ in draws])  # (20, sizes, methods)
tables = sum(t for _, t in draws).astype(int)
assert tables.sum() == 20 * 70

# %%
print('training wines a grower:', *per_grower)
for i, f in enumerate(methods):
    print(f'{f.__name__:18}', *(f'{e.mean():.3f} ± {e.std():.4f}'
                                for e in errors[:, :, i].T))
for i in (2, 3, 5):
    worse = (errors[:, 0, 4] > errors[:, 0, i]).sum()
    better = (errors[:, -1, 4] < errors[:, -1, i]).sum()
    behind = (errors[:, -1, 4] > errors[:, -1, i]).sum()
    print(f'QDA against {methods[i].__name__}: worse in {worse} of 20 draws '
          f'with 15, better in {better} and worse in {behind} with 36')
share = tables / tables.sum(1, keepdims=True)
print('QDA with 36, recall of A, B, C:',
      *(f'{recall:.3f}' for recall in share.diagonal()))

# %% mystnb={"figure": {"caption": "Left: of the four methods QDA errs most with 15 training wines of each grower, and least on average with 36. Right: it then never takes A for C or C for A."}, "image": {"alt": "Left: error rate against training wines of each grower with bands. QDA starts at one quarter and falls to the lowest error at 36; least squares, LDA and softmax lie close together and fall slowly; the trivial answer is at two thirds, outside. Right: confusion matrix of QDA over all draws; errors occur only between the middle grower and the two others."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
names = {2: 'least squares', 3: 'LDA', 4: 'QDA', 5: 'softmax'}
for colour, (i, name) in enumerate(names.items()):
    middle, spread = errors[:, :, i].mean(0), errors[:, :, i].std(0)
    left.plot(per_grower, middle, 'o-', color=f'C{colour}', label=name)
    left.fill_between(per_grower, middle - spread, middle + spread,
                      color=f'C{colour}', alpha=0.15, lw=0)
left.set(xlabel='training wines of each grower', ylabel='share of errors',
         ylim=(0, 0.42))
left.legend(fontsize=8)
right.imshow(share, cmap='Blues', vmin=0, vmax=1.6, alpha=0.5 * share)
for j, k in np.ndindex(3, 3):
    right.text(k, j, tables[j, k], ha='center', va='center', fontsize=11)
right.set(xlabel='answer', ylabel='grower', title='QDA, 36 wines, all draws')
right.set_xticks(range(3), ['A', 'B', 'C'])
right.set_yticks(range(3), ['A', 'B', 'C']);

# %% [markdown]
# With 15 wines a grower the covariance of thirteen measurements has hardly more examples than dimensions, and QDA, which
# needs its inverse, is worse than each of the other three in the figure in every draw; with 36 it is better than each of
# them in more than half. Those three stay within one another's spread, and the old trick of least squares on one-hot labels
# need not hide. (By the trivial answer two wines in three are wrong.) With 36 wines a grower QDA never takes a wine of A
# for one of C or the other way round: who errs then, errs to or from the middle one. What to buy depends on how many
# bottles you can afford to open.

# %% [markdown]
# ## Summary
#
# Names become vectors by the one-hot code, which treats all alike and whose average is a vector of probabilities; a
# linear score for each name and least squares make a classifier that often works, but it knows a class only by its
# share and its mean, and is blind to one in the middle. The best classifier for a known law says the likeliest name,
# its risk is $\mathbb{E}[1 - \max_j p_j]$, and LDA and QDA approach it where their assumption holds and data suffice.
# Confusion matrices, precision and recall count errors by kind, ROC curves do so for all thresholds; none of them
# says anything without a trivial reference and the base rate.
#
# **Further reading.** {cite:t}`hastie2009elements`, chapter 4, on masking and discriminant analysis;
# {cite:t}`devroye1996probabilistic` on the Bayes risk and all that can be proved about it;
# {cite:t}`bartlett2006convexity` on surrogate losses; {cite:t}`fawcett2006introduction` on ROC curves;
# {cite:t}`zhang2023dive`, chapter 4, for the example of cat, chicken and dog.
