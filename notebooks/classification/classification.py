# ---
# jupyter:
#   book:
#     functions:
#       scores: scores(normal(3, 4), normal(3), normal(6, 4))
#       one_hot: one_hot([0, 2, 1, 2], 3)
#       least_squares: least_squares(normal(12, 3), normal(12, 2))
#     main: dl.linear-model.outputs
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Linear classifiers: from labels to scores
#
# A picture shows a cat, a chicken or a dog. A computer sees four numbers, the brightness of four pixels, and it can only
# calculate. How does it get from these numbers to a name? And can linear regression, which predicts numbers, learn to do it?
#
# - **You need** [linear regression](../regression/linear_regression.ipynb),
#   [least squares](../regression/least_squares.ipynb) and [expectations](../probability/expectations.ipynb).
# - **You build** a linear classifier that reads more than nine in ten handwritten digits, and two small data sets on which
#   least squares fails although a linear classifier can solve them.
# - **Runs in** 8 seconds, in float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from itertools import permutations

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_wine
from sklearn.linear_model import LinearRegression, RidgeClassifier
from torch import tensor
from torch.nn import functional

from nbutils.cases import counts, integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.data import digits
from nbutils.figures import GREY, label_lines, panels, show_image
from nbutils.printed import of

plt.style.use('nbutils.book')

# %% [markdown]
# ## A linear classifier: one score for each class
#
# Our pictures have $2 \times 2$ grey pixels. Row by row they make a vector of four **features**, $\mathbf{x} = (x_1, x_2,
# x_3, x_4)^\top$. In this small world cats are bright at the top, chickens on the left and dogs at the bottom. For
# each **class** we choose four weights: 1 for the pixels that are bright in this class, and −1 for the others. We also choose
# a **bias** for each class. This is a number that is added, and it does not depend on the picture.

# %%
animals = ['cat', 'chicken', 'dog']
#             x1  x2  x3  x4
W = np.array([[1, 1, -1, -1],         # cat: bright at the top
              [1, -1, 1, -1],         # chicken: bright on the left
              [-1, -1, 1, 1]])        # dog: bright at the bottom
b = np.array([0.0, 0.2, 0.0])         # chickens are common here
x = np.array([0.7, 0.8, 0.3, 0.1])    # a new picture

# %%
o = W @ x + b
for animal, score in zip(animals, o):
    print(f'{animal:7} score {score:5.2f}')
print('answer:', animals[o.argmax()])

# %% [markdown]
# The cat has the largest score, so the answer is *cat*. This is a whole **classifier**: it computes one score for each class
# and answers with the class whose score is largest. With weights $w_{jk}$ for class $j$ and feature $k$, the scores are
#
# ```{math}
# :label: dl.linear-model.outputs
# o_j = \sum_{k=1}^{4} x_k w_{jk} + b_j \quad (j = 1, 2, 3), \qquad \text{that is,} \quad \mathbf{o} = \mathbf{W} \mathbf{x} + \mathbf{b}
# ```
#
# with $\mathbf{W} \in \mathbb{R}^{3 \times 4}$. In general there are $q$ classes and $d$ features. The following function
# computes the scores of $n$ pictures at once. The pictures are the rows of $\mathbf{X}$:

# %%
def scores(W, b, X):
    """One score for each example and class."""
    return X @ W.T + b        # (n, d) @ (d, q) + (q,) = (n, q)

def classify(W, b, X):
    return scores(W, b, X).argmax(1)  # (n,) numbers of classes

# %%
album = np.array([[0.9, 0.8, 0.1, 0.3], [0.7, 0.1, 0.8, 0.2],
                  [0.1, 0.2, 0.9, 0.7]])
print(scores(W, b, album).round(1))
print([animals[j] for j in classify(W, b, album)])

# %% mystnb={"image": {"alt": "Left: a picture of two by two pixels with the brightness 0.7, 0.8, 0.3 and 0.1. It leads to a network: four dots for the features, each joined by a blue or orange line to each of three dots, which carry the scores cat 1.10, chicken 0.30 and dog minus 1.10."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.3, width_ratios=[1, 2.2])
show_image(left, x.reshape(2, 2), 'a new picture', vmin=0, vmax=1)
for k in range(4):
    left.text(k % 2, k // 2, f'{x[k]}', ha='center', va='center', color='black' if x[k] > 0.5 else 'white')
for k in range(4):
    for j in range(3):
        right.plot([0, 1], [3 - k, 2.5 - j], color='C0' if W[j, k] > 0 else 'C1', lw=1.2)
    right.text(-0.08, 3 - k, f'$x_{k + 1} = {x[k]}$', ha='right', va='center')
for j, animal in enumerate(animals):
    right.text(1.08, 2.5 - j, f'$o_{j + 1} = {o[j]:.2f}$  {animal}', va='center', weight='bold' if j == o.argmax() else None)
right.plot(np.zeros(4), range(4), 'o', ms=10, color=GREY)
right.plot(np.ones(3), [0.5, 1.5, 2.5], 'o', ms=10, color=GREY)
right.set(xlim=(-0.6, 2), ylim=(-0.5, 3.5))
right.axis('off');

# %% [markdown] tags=["caption"]
# A linear classifier is a layer in which each score looks at each feature. Blue lines are weights of $+1$, orange lines
# weights of $-1$; the largest score gives the answer.

# %% [markdown]
# Because each score looks at each feature, such a layer is called **fully connected**. In PyTorch it is `nn.Linear(4, 3)`. Only
# the differences between the scores count: if you add the same number to all scores, the answer stays the same.
#
# We chose these weights by looking at the pictures. From here on we learn them from examples.

# %% tags=["checks"]
holds(
    'dl.linear-model.outputs',
    x=vectors(4), W=matrices(3, 4), b=vectors(3), o=of(lambda x, W, b: functional.linear(tensor(x), tensor(W), tensor(b))),
    tries=60,
)
verify(
    'the function gives the scores of torch for many examples',
    lambda W, b, X: close(scores(W, b, X), functional.linear(tensor(X), tensor(W), tensor(b))),
    slip=('adds the bias of the next class',
          lambda W, b, X: close(scores(W, np.roll(b, 1), X), functional.linear(tensor(X), tensor(W), tensor(b)))),
    W=matrices(3, 2), b=vectors(3), X=matrices(5, 2), tries=40,
)

# %% [markdown]
# ## One-hot labels: training a classifier by least squares
#
# Here are 178 wines from three growers A, B and C {cite}`aeberhard1994comparative`. We use two measurements of each wine. To
# train by regression, the labels must be numbers, too. The first idea is to number the growers 0, 1 and 2, to fit a
# linear function to these numbers, and to round what it predicts. But which grower is number 0? We try three numberings and
# count the right answers:

# %%
wine = load_wine()
taste = wine.data[:, [6, 9]]   # (178, 2): flavanoids, colour intensity
grower = wine.target           # (178,): 0 is A, 1 is B, 2 is C

def right_by_numbers(number):  # number[j]: the number of grower j
    target = np.array(number)[grower]
    line = LinearRegression().fit(taste, target)
    answer = line.predict(taste).round().clip(0, 2)
    return (answer == target).sum()

# %%
print('always the commonest grower:', np.bincount(grower).max(), 'right')
for number in ([0, 1, 2], [0, 2, 1], [1, 0, 2]):
    print('A, B, C =', number, 'gives', right_by_numbers(number), 'right')

# %% [markdown]
# The result depends on the numbering. The reason is that numbers have an order. If A is 0 and C is 2, the prediction for a wine
# half-way between A and C is 1, even if the wine has nothing to do with the grower who is number 1. Growers have no such
# order, and neither have cats, chickens and dogs. So we need a code that treats all classes alike. It gives each of the $q$
# classes its own axis:
#
# ````{prf:definition} One-hot code
# :label: def-one-hot
# The **one-hot** vector of class $j$ among $q$ is the unit vector $\mathbf{e}_j \in \mathbb{R}^q$, with the entries
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

# %%
def one_hot(labels, q):
    """Each label as a row with a single one."""
    return np.eye(q, dtype=int)[labels]        # (n,) -> (n, q)

print(one_hot(grower, 3)[[0, 60, 177]])        # a wine of A, of B, of C

# %% [markdown]
# We look for the weights and biases whose scores are as near as possible to the one-hot labels of all $n$ examples:
#
# ```{math}
# :label: dl.linear-model.difference
# \min_{\mathbf{W}, \mathbf{b}} \ \sum_{i=1}^n \big\| \mathbf{o}^{(i)} - \mathbf{y}^{(i)} \big\|^2 .
# ```
#
# This is least squares with one target column for each class. A column of ones beside $\mathbf{X}$ supplies the biases.

# %%
def least_squares(X, Y):
    """Weights (q, d) and biases (q,) that bring the scores near Y."""
    ones = np.ones_like(X[:, :1])                  # (n, 1)
    B = np.linalg.lstsq(np.hstack([ones, X]), Y)[0]  # (1 + d, q)
    return B[1:].T, B[0]

# %%
W, b = least_squares(taste, one_hot(grower, 3))
print('least squares on one-hot labels:',
      (classify(W, b, taste) == grower).sum(), 'of 178 right')
model = RidgeClassifier(alpha=1e-10).fit(taste, grower)
print('different answers of scikit-learn:',
      (model.predict(taste) != classify(W, b, taste)).sum())

# %% [markdown]
# This is better than each of the numberings. If the growers are listed in another order, the answers stay the same.
# scikit-learn's `RidgeClassifier` does the same fit with a penalty, which we have set almost to zero.
#
# ### Does it read handwritten digits?
#
# There are 1797 pictures of handwritten digits, with 64 pixels and ten classes. Ten times we draw 450 of them for testing and
# train on the others. We compare least squares on one-hot labels with three other methods: the commonest class of the training
# part, the class whose mean picture is nearest, and least squares on the numbers 0 to 9.

# %%
def commonest(X, y, new):
    return np.full(len(new), np.bincount(y).argmax())

def nearest_mean(X, y, new):
    means = np.array([X[y == j].mean(0) for j in range(y.max() + 1)])
    squared = ((new[:, None] - means) ** 2).sum(2)  # (n, q)
    return squared.argmin(1)

# %%
def on_numbers(X, y, new):
    line = LinearRegression().fit(X, y)
    return line.predict(new).round().clip(0, 9)

def on_one_hot(X, y, new):
    W, b = least_squares(X, one_hot(y, y.max() + 1))
    return classify(W, b, new)

# %%
pixels, digit, _ = digits()

def share_right(method, seed):
    order = np.random.default_rng(seed).permutation(1797)
    test, train = order[:450], order[450:]
    answers = method(pixels[train], digit[train], pixels[test])
    return (answers == digit[test]).mean()

# %%
share = {}
for method in (commonest, on_numbers, nearest_mean, on_one_hot):
    tried = [share_right(method, seed) for seed in range(10)]
    share[method.__name__] = np.array(tried)
    print(f'{method.__name__:12} right: {np.mean(tried):.3f}'
          f'   from {min(tried):.3f} to {max(tried):.3f}')

# %% [markdown]
# Treating classification as a regression with ten outputs works surprisingly well: in each of the ten splits, one-hot
# labels are better than the nearest mean. On the numbers 0 to 9 the same method is right for less than a quarter of the
# pictures. Only the code of the labels is different. One-hot labels have ten columns in place of one, but all ten are fitted by
# one call of `lstsq`.
#
# ```{exercise} ★★ Program: other numbers for yes and no
# :label: clf-recoded
# Suppose that the true class is coded by $\alpha$ and the others by $\beta$, for example by $1$ and $-1$. Write
# `recoded(o, alpha, beta)`. It returns the scores `(n, q)` of the least-squares fit to this code, computed only from the
# scores `o` of the fit to one-hot labels. When are the answers the same?
# ```

# %%
def recoded(o, alpha, beta):
    """The scores (n, q) of the fit to the code alpha, beta: an array.

    o (n, q) has the scores of the fit to 1 and 0; alpha and beta are floats,
    alpha may be the smaller one. For alpha 0 and beta 1 the scores
    np.array([[0.25, 0.75]]) become [[0.75, 0.25]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def on_fit(answer):
    return lambda X, labels, alpha, beta: answer(scores(*least_squares(X, one_hot(labels, 3)), X), alpha, beta)

def refitted(X, labels, alpha, beta):
    return LinearRegression().fit(X, np.where(one_hot(labels, 3) == 1, alpha, beta)).predict(X)

codes = dict(
    X=matrices((2, 8), (1, 3)), labels=lambda X: counts(len(X), 0, 2),
    alpha=on(1.0, 0.0, -1.0) | scalars(), beta=on(0.0, -1.0, 1.0) | scalars(),
)
grade(on_fit(recoded), refitted, **codes)

# %% [markdown]
# ```{solution-start} clf-recoded
# :class: dropdown
# ```
# The new label is $\beta + (\alpha - \beta) \mathbf{y}$. A least-squares fit is linear in the labels, and it reproduces
# constants because it has biases. So the new scores are $\beta + (\alpha - \beta) \mathbf{o}$. For $\alpha > \beta$ the
# same score is largest, and the answers are the same. A tempting mistake is to forget the offset $\beta$: this fits the
# code $\alpha - \beta$ and $0$. Another is to forget $\beta$ altogether. To write the codes of the answers in place of the
# scores is a third.

# %% jupyter={"source_hidden": true}
def recoded_solution(o, alpha, beta):
    return beta + (alpha - beta) * o

def without_offset(o, alpha, beta):
    return (alpha - beta) * o

def scaled_only(o, alpha, beta):
    return alpha * o

def as_if_binary(o, alpha, beta):
    return np.where(o == o.max(1, keepdims=True), alpha, beta)

assert grade(on_fit(recoded_solution), refitted, **codes)
assert not grade(on_fit(without_offset), refitted, **codes)
assert not grade(on_fit(scaled_only), refitted, **codes)
assert not grade(on_fit(as_if_binary), refitted, **codes)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★ Pencil: does one-hot treat all classes alike?
# :label: clf-simplex
# How far apart are the one-hot vectors of two different classes? Could three classes also be coded by points of the plane
# that are all equally far from each other? And four? How many dimensions do $q$ classes need? Write `corners(q)`, such
# points in as few dimensions as possible.
# ```

# %%
def corners(q):
    """Points, one in each row, whose distances are all sqrt(2): (q, n).

    q is an int, at least 2; the number n of dimensions is the least possible.
    corners(2) is, for example, np.array([[0.], [2**0.5]]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def dimensions_and_distances(answer):
    def measured(q):
        points = np.asarray(answer(q), float)
        return points.shape[1], np.linalg.norm(points[:, None] - points, axis=2)
    return measured

def all_alike(q):
    return q - 1, 2**0.5 * (1 - np.eye(q))

classes = dict(q=integers(2, 9))
grade(dimensions_and_distances(corners), all_alike, **classes)

# %% [markdown]
# ```{solution-start} clf-simplex
# :class: dropdown
# ```
# $\|\mathbf{e}_j - \mathbf{e}_k\|^2 = 1^2 + 1^2$, so all pairs are $\sqrt2$ apart. Three points of the plane can be the
# corners of an equilateral triangle, but a fourth point at the same distance from all three does not exist in the plane:
# four classes need a tetrahedron in space. In general $q - 1$ dimensions are enough and necessary. The one-hot vectors
# themselves lie in the hyperplane $\sum_j y_j = 1$, which has $q - 1$ dimensions; the solution takes coordinates in it.
# As they stand, they use one dimension too many. Leaving out one coordinate ("neither
# chicken nor dog, so it is a cat") does not keep the distances: the class left out moves to the origin, at the distance 1
# from the others. Points on a line are equally far from their neighbours alone.

# %% jupyter={"source_hidden": true}
def corners_solution(q):
    within = np.linalg.svd(np.ones((1, q)))[2][1:]  # an orthonormal basis of the plane
    return within.T

def one_hot_as_it_is(q):
    return np.eye(q)

def one_left_out(q):
    return np.eye(q)[:, 1:]

def on_a_straight_line(q):
    return 2**0.5 * np.arange(q)[:, None] * np.eye(1, q - 1)

assert grade(dimensions_and_distances(corners_solution), all_alike, **classes)
assert not grade(dimensions_and_distances(one_hot_as_it_is), all_alike, **classes)
assert not grade(dimensions_and_distances(one_left_out), all_alike, **classes)
assert not grade(dimensions_and_distances(on_a_straight_line), all_alike, **classes)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def some_classes(seed, n=40, d=3, q=3):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % q)
    means = 2 * rng.normal(size=(q, d))
    return means[labels] + rng.normal(size=(n, d)), one_hot(labels, q)

holds('dl.classification.one-hot', j=[1, 2, 3, 4], y=of(lambda j: functional.one_hot(tensor(j - 1), 4)))

def label_code(name):
    return functional.one_hot(tensor(sorted(animals).index(name)), 3).numpy()

holds(
    'dl.classification.cat-chicken-dog',
    y_cat=[label_code('cat')], y_chicken=[label_code('chicken')], y_dog=[label_code('dog')],
)
verify(
    'the function gives the one-hot code of torch',
    lambda labels: close(one_hot(labels.astype(int), 5), functional.one_hot(tensor(labels).long(), 5)),
    slip=('begins to count at one', lambda labels: close(
        one_hot((labels.astype(int) + 1) % 5, 5), functional.one_hot(tensor(labels).long(), 5))),
    labels=vectors(6, 0, 4).map(np.round), tries=40,
)

def loss(X, Y, W, b):
    return ((scores(W, b, X) - Y) ** 2).sum()

def is_lowest(seed, fit):  # no step in any of many directions makes the loss smaller
    X, Y = some_classes(seed)
    W, b = fit(X, Y)
    rng = np.random.default_rng(seed + 1)
    moves = [(rng.normal(size=W.shape), rng.normal(size=b.shape)) for _ in range(20)]
    return all(loss(X, Y, W + t * V, b + t * c) > loss(X, Y, W, b) for V, c in moves for t in (1e-3, -1e-3))

def without_biases(X, Y):
    return np.linalg.lstsq(X, Y)[0].T, np.zeros(Y.shape[1])

holds(
    'dl.linear-model.difference',
    lambda seed: is_lowest(seed, least_squares),
    slip=('fits without biases', lambda seed: is_lowest(seed, without_biases)),
    seed=seeds(), tries=30,
)

# %% tags=["checks"]
def may_rename(guess, seed, order):  # new names for the classes rename the answers and change nothing else
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(20, 3)), rng.permutation(np.arange(20) % 3)
    return (guess(X, np.array(order)[labels]) == np.array(order)[guess(X, labels).astype(int)]).all()

verify(
    'one-hot labels do not depend on the numbers of the classes',
    lambda seed, order: may_rename(lambda X, y: on_one_hot(X, y, X), seed, order),
    slip=('fits the numbers themselves', lambda seed, order: may_rename(
        lambda X, y: LinearRegression().fit(X, y).predict(X).round().clip(0, 2), seed, order)),
    seed=seeds(), order=list(permutations(range(3))), tries=60,
)
verify(
    'on the digits one-hot labels beat the references in each split',
    lambda better, worse: (share[better] > share[worse]).all(),
    slip=('expects the reverse', lambda better, worse: (share[worse] > share[better]).all()),
    better=['on_one_hot'], worse=['nearest_mean', 'on_numbers', 'commonest'],
)

verify(
    'a line on the numbers of the classes depends only on which class is in the middle',
    lambda number: right_by_numbers(number) == right_by_numbers([2 - n for n in number]),
    slip=('says so of every other numbering', lambda number: right_by_numbers(number) == right_by_numbers(
        [(n + 1) % 3 for n in number])),
    number=[[0, 1, 2], [0, 2, 1], [1, 0, 2]],
)

# %% [markdown]
# ## Decision boundaries, and scores that are not probabilities
#
# Where in the plane does the classifier of the wines answer "B"? It does where $o_2 \ge o_1$ and $o_2 \ge o_3$. Each of these
# two conditions is a linear inequality, so it is satisfied on one side of a straight line. The line between the answers A
# and B is
#
# ```{math}
# (\mathbf{w}_2 - \mathbf{w}_1)^\top \mathbf{x} + b_2 - b_1 = 0 ,
# ```
#
# where $\mathbf{w}_j$ is row $j$ of $\mathbf{W}$. Such a line is a **decision boundary**. With more than two features it
# is a plane or a hyperplane.

# %% mystnb={"image": {"alt": "The wines of the growers A, B and C as points in the plane of flavanoids and colour intensity. Three shaded regions meet in one point along straight lines: A on the right, B at the bottom, C at the upper left. Most points lie in the region of their grower."}} tags=["hide-input"]
u1, u2 = np.meshgrid(np.linspace(0, 5.5, 300), np.linspace(0, 14, 300))
regions = classify(W, b, np.stack([u1.ravel(), u2.ravel()], 1)).reshape(u1.shape)
fig, ax = plt.subplots(figsize=(5, 3.2))
ax.contourf(u1, u2, regions, [-0.5, 0.5, 1.5, 2.5], colors=['C0', 'C1', 'C2'], alpha=0.2)
for j, (name, place) in enumerate({'A': (4.6, 8), 'B': (3.2, 0.8), 'C': (0.4, 12)}.items()):
    ax.plot(*taste[grower == j].T, f'C{j}o', ms=3.5)
    ax.text(*place, f'grower {name}', color=f'C{j}', fontsize=11)
ax.set(xlabel='flavanoids', ylabel='colour intensity', xlim=(0, 5.5), ylim=(0, 14));

# %% [markdown] tags=["caption"]
# The plane of two measurements is divided by straight decision boundaries, which meet in one point. Most wines lie in the
# region of their grower.

# %% [markdown]
# ```{prf:theorem} Regions of a linear classifier
# :label: thm-clf-regions
# The set of inputs to which a linear classifier gives class $j$ is convex, and an intersection of $q - 1$ half-spaces if no
# two rows of $\mathbf{W}$ are equal. If the same vector is added to all rows of $\mathbf{W}$, or the same number to all of
# $\mathbf{b}$, the regions stay the same.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Class $j$ wins where $o_j - o_k \ge 0$ for each of the $q - 1$ other classes $k$. Each of these functions is linear plus
# a constant, so each inequality describes a half-space, and half-spaces and their intersections are convex. (Where two
# scores are equal, a rule decides, such as `argmax`, which takes the first class; with this rule some of the inequalities
# are strict.) What is added to all scores cancels in the differences.
# ```
#
# So if two inputs are chickens, all inputs between them are chickens. The region of one class cannot surround the region of
# another, and no class can have two separate regions.
#
# ### What the scores mean
#
# If you average the one-hot vectors of many examples, entry $j$ is the share of class $j$. In the same way, the mean of
# $\mathbf{y}$ for given features $\mathbf{x}$ is the vector of the probabilities of the classes,
# $\mathbf{p}(\mathbf{x}) = \mathbb{E}[\mathbf{y} \mid \mathbf{x}]$. What does this have to do with least squares? For any
# function $\mathbf{f}$ we have
#
# ```{math}
# :label: clf-two-parts
# \mathbb{E} \, \|\mathbf{f}(\mathbf{x}) - \mathbf{y}\|^2
# = \mathbb{E} \, \|\mathbf{f}(\mathbf{x}) - \mathbf{p}(\mathbf{x})\|^2 + \mathbb{E} \, \|\mathbf{p}(\mathbf{x}) - \mathbf{y}\|^2 ,
# ```
#
# because the mixed term $2 \, \mathbb{E} \big[ (\mathbf{f} - \mathbf{p})^\top (\mathbf{p} - \mathbf{y}) \big]$ is zero:
# given $\mathbf{x}$, the first factor is fixed and the second has mean zero. Only the first part depends on $\mathbf{f}$.
# So least squares looks for the linear function that is nearest to the probabilities. Are its scores probabilities, then? We
# look at the scores of five wines:

# %%
o = scores(W, b, taste)            # (178, 3)
print('    A     B     C   sum   grower')
for i in (0, 5, 100, 140, 159):
    print(*(f'{score:5.2f}' for score in o[i]), f' {o[i].sum():.2f}',
          '  ', 'ABC'[grower[i]])
outside = ((o < 0) | (o > 1)).any(1)
print(f'wines with a score below 0 or above 1: {outside.mean():.2f}')

# %% [markdown]
# The rows sum to one, but many scores are negative.
#
# (dl.linear-model.sum-to-one)=
# **The sum.** In general nothing makes the scores $o_1, \dots, o_q$ of a linear model sum to one. For example, they do not if
# the model has no biases, or if its training stopped early. But the scores of the exact fit with biases do:
#
# ```{prf:theorem} Least squares keeps sums
# :label: thm-clf-sum-one
# Let the columns of $\mathbf{X}$ and the column of ones be linearly independent. The scores of the least-squares fit
# with biases to one-hot labels sum to one for *every* input $\mathbf{x}$, seen or not.
# ```
#
# ```{prf:proof}
# :class: dropdown
# The fit is linear in the labels: the sum of the $q$ fits is the fit to the sum of the $q$ label columns. That sum is
# 1 for each example. The fit to the constant 1 is the constant 1, with bias 1 and weights 0: its error is zero, so
# nothing is better, and by independence no other weights have error zero.
# ```
#
# (dl.linear-model.nonneg)=
# **The range.** Even if they sum to one, scores can be negative or exceed one. If $\mathbf{w}_j$ is not zero, $o_j$ grows beyond 1
# far out in the direction of $\mathbf{w}_j$, and it falls below 0 far out in the opposite direction. The
# [softmax](softmax.ipynb) will turn scores into numbers that are positive and sum to one.

# %% tags=["checks"]
def stays_between(seed, score):
    rng = np.random.default_rng(seed)
    W, b = rng.normal(size=(3, 2)), rng.normal(size=3)
    ends, t = rng.normal(size=(2, 40, 2)) * 3, rng.random((40, 1))
    answers = [score(scores(W, b, X)).argmax(1) for X in (*ends, t * ends[0] + (1 - t) * ends[1])]
    same = answers[0] == answers[1]
    return (answers[2] == answers[0])[same].all()

def same_regions(seed, u, c):
    rng = np.random.default_rng(seed)
    W, b, X = (rng.normal(size=size) for size in ((3, 2), 3, (80, 2)))
    return (classify(W + u(rng), b + c(rng), X) == classify(W, b, X)).all()

verify(
    'what lies between two points of a class belongs to it',
    lambda seed: stays_between(seed, lambda o: o),
    slip=('squares the scores', lambda seed: stays_between(seed, lambda o: o**2)),
    seed=seeds(), tries=60,
)
verify(
    'the same vector added to all rows and the same number to all biases leave the regions as they are',
    lambda seed: same_regions(seed, lambda rng: rng.normal(size=2), lambda rng: rng.normal()),
    slip=('adds another number to each row',
          lambda seed: same_regions(seed, lambda rng: rng.normal(size=(3, 1)), lambda rng: rng.normal())),
    seed=seeds(), tries=60,
)

# %% tags=["checks"]
def misses_one(fit, seed):  # the scores of some input do not sum to one
    X, Y = some_classes(seed)
    total = scores(*fit(X, Y), np.array([[0.3, -1, 2]])).sum()
    return not close(total, 1.0)

def half_trained(X, Y):  # three steps of gradient descent from zero
    W, b = np.zeros((3, 3)), np.zeros(3)
    for _ in range(3):
        wrong = scores(W, b, X) - Y
        W, b = W - 0.05 * wrong.T @ X / len(X), b - 0.05 * wrong.mean(0)
    return W, b

holds(
    'dl.linear-model.sum-to-one',
    lambda seed: misses_one(half_trained, seed) and misses_one(without_biases, seed),
    slip=('says it of the exact fit with biases', lambda seed: misses_one(least_squares, seed)),
    seed=seeds(), tries=30,
)

def leaves_interval(seed, squash):
    W, b = least_squares(*some_classes(seed))
    far = 10 * W[0] / (W[0] @ W[0])  # moves the first score by 10
    o = squash(scores(W, b, np.array([far, -far])))
    return close(o.sum(1), [1, 1]) and o[0, 0] > 1 and o[1, 0] < 0

holds(
    'dl.linear-model.nonneg',
    lambda seed: leaves_interval(seed, lambda o: o),
    slip=('says it of the shares of exponentials',
          lambda seed: leaves_interval(seed, lambda o: functional.softmax(tensor(o), 1).numpy())),
    seed=seeds(), tries=30,
)

# %% [markdown]
# ## Why not regression: masked classes and points that are too right
#
# Least squares looks for a linear function near the probabilities. But for a good classifier it is enough that the right
# score is the largest. These are two different aims. We look at two data sets on which a linear classifier can be good, but the
# one that least squares finds is not.
#
# ### Masking: a class in the middle is never found
#
# Three groups of 100 points stand in a row, at $-4$, $0$ and $4$, with a standard deviation of 0.5, so nobody would
# confuse them. We compare the three lines of least squares with three lines chosen by hand. For both we print the lines, and
# which share of each group is found:

# %%
def three_groups(seed, counts=(100, 100, 100)):
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1, 2], counts)
    x = 4.0 * (group - 1) + 0.5 * rng.normal(size=len(group))
    return x[:, None], group

x_row, group = three_groups(0)
W_fit, b_fit = least_squares(x_row, one_hot(group, 3))
W_hand, b_hand = np.array([[-1.0], [0.0], [1.0]]), np.array([-2.0, 0, -2])

# %%
for name, W, b in (('fitted', W_fit, b_fit), ('by hand', W_hand, b_hand)):
    lines = '  '.join(f'{b[j]:5.2f} {W[j, 0]:+.2f} x' for j in range(3))
    answers = classify(W, b, x_row)
    found = [(answers[group == j] == j).mean() for j in range(3)]
    print(f'{name:8}{lines}   found', *(f'{part:.2f}' for part in found))

# %% mystnb={"image": {"alt": "Two panels over the same three groups of points in a row. Left, fitted lines: one falls, one is flat at one third, one rises, and all three cross in one point at zero. Right, lines by hand: the flat line is highest between minus 2 and 2, where the middle group lies."}} tags=["hide-input"]
fig, axes = panels(2, height=2.5)
axis = np.linspace(-6, 6, 101)[:, None]
for ax, W, b, title in ((axes[0], W_fit, b_fit, 'least squares'), (axes[1], W_hand, b_hand, 'chosen by hand')):
    for j, curve in enumerate(scores(W, b, axis).T):
        ax.plot(axis, curve, color=f'C{j}', label=f'$o_{j + 1}$')
        low = ax.get_ylim()[0]
    low, high = scores(W, b, axis).min(), scores(W, b, axis).max()
    for j in range(3):
        ax.plot(x_row[group == j], np.full(100, low - 0.08 * (high - low)), '|', ms=7, color=f'C{j}')
    ax.set(xlabel='x', title=title)
    label_lines(ax)
axes[0].set_ylabel('score');

# %% [markdown] tags=["caption"]
# Left: least squares fits a flat line to the middle class, and one of the other two lines lies above it nearly everywhere.
# Right: three lines chosen by hand separate the same points without an error.

# %% [markdown]
# Least squares never finds the middle class: its flat line is **masked** by the other two. Along the row, the probability of
# the middle class first rises and then falls. The straight line that is nearest to such a curve is flat. More data do not
# help, and more distance between the groups does not help, either. This follows from an exact formula:
#
# ````{prf:theorem} What least squares sees
# :label: thm-clf-ls-scores
# Let class $j$ have the share $\pi_j$ of the examples and the mean $\boldsymbol\mu_j$. Let $\bar{\mathbf{x}}$ be the mean of all
# inputs and $\boldsymbol\Sigma_T$ their covariance (divided by $n$). Let $\boldsymbol\Sigma_T$ be invertible. The
# least-squares fit with biases to one-hot labels is
#
# ```{math}
# :label: clf-ls-scores
# o_j(\mathbf{x}) = \pi_j \big( 1 + (\boldsymbol\mu_j - \bar{\mathbf{x}})^\top \boldsymbol\Sigma_T^{-1} (\mathbf{x} - \bar{\mathbf{x}}) \big) .
# ```
# ````
#
# ````{prf:proof}
# :class: dropdown
# A linear fit passes through the means, $o_j = \pi_j + \mathbf{w}^\top (\mathbf{x} - \bar{\mathbf{x}})$, and
# $\mathbf{w} = \boldsymbol\Sigma_T^{-1} \mathbf{c}$, where $\mathbf{c}$ is the covariance of inputs and label $y_j$:
# $\mathbf{c} = \frac1n \sum_i (\mathbf{x}^{(i)} - \bar{\mathbf{x}}) \, y_j^{(i)} = \pi_j (\boldsymbol\mu_j -
# \bar{\mathbf{x}})$, because only the examples of class $j$ count.
# ````
#
# So of each class, only its share and its mean decide. If the mean of a class is the mean of all
# inputs, its score is the constant $\pi_j$. A remedy is a further feature that can make a hill, such as $x^2$:

# %%
middle = {'x': [], 'x and x²': []}
for seed in range(20):
    x, y = three_groups(seed)
    features = {'x': x, 'x and x²': np.hstack([x, x**2])}
    for name, X in features.items():
        answers = on_one_hot(X, y, X)
        middle[name].append((answers[y == 1] == 1).mean())
for name, shares in middle.items():
    print(f'middle class found in 20 draws with {name}:'
          f' {min(shares):.2f} to {max(shares):.2f}')

# %% [markdown]
# ```{exercise} ★★ Experiment: a larger class in the middle
# :label: clf-middle
# Give the middle group 100, 110, 125 and 200 points, the outer groups 100 each. First predict with {eq}`clf-ls-scores`:
# for which of these counts does least squares find more than half of the middle class? Return four truth values. Then try
# it with `three_groups(seed, (100, count, 100))`.
# ```

# %%
def more_than_half_found():
    """Four truth values, for 100, 110, 125 and 200 points in the middle.

    [True, True, True, True], for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
sizes = 100, 110, 125, 200

def middle_found(count):
    shares = []
    for seed in range(20):
        x, y = three_groups(seed, (100, count, 100))
        shares.append((on_one_hot(x, y, x)[y == 1] == 1).mean())
    return np.mean(shares)

measured = [middle_found(count) for count in sizes]

def is_measured(answers):
    if len(answers) != len(sizes) or not all(answer in (True, False) for answer in answers):
        raise ValueError('give four truth values')
    if list(answers) != [share > 0.5 for share in measured]:
        raise ValueError('something else is measured; try the four counts and compare')
    return True

grade(lambda: is_measured(more_than_half_found()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} clf-middle
# :class: dropdown
# ```
# By symmetry $\bar x$ is close to 0, so $o_2 = \pi_2$ is constant and $o_3 = \pi_3 (1 + 4 x / s^2)$, where $s^2 = 0.5^2 +
# 16 (1 - \pi_2)$ is the total variance. The middle class wins for $|x| < \frac{s^2}{4} \big( \frac{\pi_2}{\pi_3} - 1
# \big)$. With 100 points this bound is zero. With 110 points it is 0.26, about half a standard deviation of the group, so
# less than half is found; with 125 it is 0.63, and with 200 it is 2.06. The fit finds the class because it is common, not
# because of where it lies.

# %% jupyter={"source_hidden": true}
assert grade(
    lambda: is_measured([False, False, True, True]), lambda: True, [()]
)
for wrong in (
    [False] * 4,
    [True] * 4,
    [False, True, True, True],
    [False, False, False, True],
    [],
    None,
):
    assert not grade(lambda: is_measured(wrong), lambda: True, [()])
for count, share_found in zip(sizes, measured):
    pi = np.array([100, count, 100]) / (200 + count)
    bound = (0.25 + 16 * (1 - pi[1])) / 4 * (pi[1] / pi[2] - 1)
    print(
        f'{count} points: wins for |x| < {bound:.2f}, found {share_found:.2f}'
    )

# %% [markdown]
# ```{solution-end}
# ```
#
# ### Squared loss punishes answers that are too right
#
# With two classes there is no middle, but there is a second weakness. Label the classes $y = 1$ and $y = -1$, and let the
# sign of one score $g$ be the answer. The **margin** $m = y g$ is positive if the answer is right, and large if it is
# right by far. Because $y^2 = 1$, the squared loss depends only on the margin: $(g - y)^2 = (1 - m)^2$. At $m = 3$ it is
# 4, as much as for the wrong answer at $m = -1$. So least squares moves its border to lower the loss of points that are
# right already. To see this, we take two clouds of points, and then add 15 points to one class, far from the border:

# %%
def two_clouds(rng, n):
    y = np.repeat([0, 1], n)
    X = rng.normal(size=(2 * n, 2))
    X[:, 0] += 3.0 * y - 1.5       # centres at -1.5 and 1.5
    return X, y

def with_far_points(X, y, rng):
    far = [14.0, 0.0] + rng.normal(size=(15, 2))
    return np.vstack([X, far]), np.append(y, np.ones(15, int))

# %%
errors = []
for seed in range(20):
    rng = np.random.default_rng(seed)
    X, y = two_clouds(rng, 50)
    X_far, y_far = with_far_points(X, y, rng)
    new, truth = two_clouds(rng, 2000)
    answers = (on_one_hot(X, y, new), on_one_hot(X_far, y_far, new),
               new[:, 0] > 0)
    errors.append([(answer != truth).mean() for answer in answers])

# %%
errors = np.array(errors)                             # (20, 3)
names = 'two clouds', 'with 15 far points', 'the line between the clouds'
for name, error in zip(names, errors.T):
    print(f'{name:28} error {error.mean():.3f},'
          f' from {error.min():.3f} to {error.max():.3f}')

# %% mystnb={"image": {"alt": "Left: four losses against the margin: the zero-one step, and above it the hinge, the logistic curve and the square, which rises again beyond margin one. Right: two clouds of points and a third group far to the right; a dotted line passes between the clouds, a solid line cuts through the second cloud."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
m = np.linspace(-1.5, 3, 271)
left.plot(m, np.where(m <= 0, 1.0, 0.0), color=GREY)
left.plot(m, (1 - m) ** 2, color='C0')
left.plot(m, np.maximum(0, 1 - m), color='C1')
left.plot(m, np.logaddexp(0, -m) / np.log(2), color='C2')
for place, name, colour in (((1.25, 2.6), 'square', 'C0'), ((-1.48, 2.72), 'hinge', 'C1'), ((2.05, 0.28), 'logistic', 'C2'),
                            ((-1.4, 0.65), 'zero-one', GREY)):
    left.text(*place, name, color=colour)
left.set(xlabel='margin m', ylabel='loss', ylim=(-0.1, 4))
rng = np.random.default_rng(0)
X, y = two_clouds(rng, 50)
X_far, y_far = with_far_points(X, y, rng)
for j, colour in enumerate(('C3', 'C4')):
    right.plot(*X_far[y_far == j].T, 'o', ms=2.5, color=colour)
at = np.array([-3.5, 3.5])
for points, labels, style in ((X, y, ':'), (X_far, y_far, '-')):
    W, b = least_squares(points, one_hot(labels, 2))
    v, c = W[1] - W[0], b[1] - b[0]
    right.plot(-(c + v[1] * at) / v[0], at, style, color='C0')
right.text(-4.8, -4.3, 'class −1', color='C3')
right.text(2.9, -4.3, 'class 1', color='C4')
right.text(12, -4.3, 'class 1', color='C4')
right.set(xlabel='$x_1$', ylabel='$x_2$', xlim=(-5, 17), ylim=(-4.8, 4));

# %% [markdown] tags=["caption"]
# Left: squared loss grows again beyond the margin $1$; hinge and logistic loss do not. Right: 15 easy points drag the border
# of least squares from the dotted to the solid line, into the right cloud.

# %% [markdown]
# We only added points that any reasonable border gets right, and on average the error nearly doubled.
#
# What we would like to make small is the number of errors, that is, the sum of the zero-one losses. Gradient descent cannot do
# this, because the slope of the zero-one loss is zero wherever it exists. Instead one takes a **surrogate loss**, a convex
# function of the margin that lies above the zero-one loss. If the surrogate loss is small, there are few errors:
#
# ```{math}
# :label: clf-surrogates
# \begin{aligned}
# \text{zero-one} \quad & \mathbb{1}[m \le 0] , \qquad & \text{square} \quad & (1 - m)^2 , \\
# \text{hinge} \quad & \max(0, 1 - m) , & \text{logistic} \quad & \log_2 (1 + e^{-m}) .
# \end{aligned}
# ```
#
# All three surrogates $\psi(m)$ pass one more test. Let class 1 have the probability $\eta \ne \frac12$ at some input. Then the
# score $g$ that minimizes the expected loss $\eta \, \psi(g) + (1 - \eta) \, \psi(-g)$ has the right sign
# {cite}`bartlett2006convexity`. So with enough data and a model that can represent everything, each of them leads to the
# likelier class. But a *linear* model cannot represent everything, and then it matters which loss grows again. The hinge and
# the logistic loss do not. They are the subjects of [support vector machines](support_vector_machines.ipynb) and
# [logistic regression](logistic_regression.ipynb).
#
# ```{exercise} ★★ Pencil: the exponential loss
# :label: clf-exponential
# Boosting, a way to combine many weak classifiers, uses $\psi(m) = e^{-m}$. Which score $g$ minimizes $\eta \, \psi(g) +
# (1 - \eta) \, \psi(-g)$? What does it tell about the probability? How much does a margin of $-10$ cost, compared with
# the logistic loss $\log(1 + e^{-m})$? Write `best_score(eta)` and `probability(g)`.
# ```

# %%
def best_score(eta):
    """The score with the least expected exponential loss: a float.

    eta, the probability of class 1, is a float strictly between 0 and 1.
    best_score(0.5) is 0.0.
    """
    raise NotImplementedError('your turn')

def probability(g):
    """The probability of class 1 for which g, a float, is the best score.

    probability(0.0) is 0.5.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_descent(eta):
    return minimize_scalar(lambda g: np.log(eta * np.exp(-g) + (1 - eta) * np.exp(g)), bracket=(-1, 1), tol=1e-12).x

def by_slopes(g, h=1e-5):  # where the slopes of both terms cancel
    here, opposite = (np.exp(-m - h) - np.exp(-m + h) for m in (g, -g))
    return opposite / (here + opposite)

shares, answers = dict(eta=scalars(0.001, 0.999), atol=1e-5), dict(g=scalars(-5, 5), atol=1e-7)
print('best_score: ', grade(best_score, by_descent, **shares))
print('probability:', grade(probability, by_slopes, **answers))

# %% [markdown]
# ```{solution-start} clf-exponential
# :class: dropdown
# ```
# The derivative $-\eta e^{-g} + (1 - \eta) e^{g}$ is zero for $e^{2g} = \eta / (1 - \eta)$, so $g = \frac12 \log
# \frac{\eta}{1 - \eta}$, half the logarithm of the odds. So the probability can be computed from the score, $\eta = 1 /
# (1 + e^{-2g})$. The hinge loss does not allow this: its best score is 1 or $-1$ whatever $\eta$ is. But a margin of
# $-10$ costs $e^{10} \approx 22026$, and with the logistic loss only $\log(1 + e^{10}) \approx 10$. A few wrong labels
# can therefore dominate the exponential loss. Wrong answers forget the half, give the best score of the hinge loss, or
# read a probability as after the logistic or the square loss.

# %% jupyter={"source_hidden": true}
def best_score_solution(eta):
    return np.log(eta / (1 - eta)) / 2

def probability_solution(g):
    return 1 / (1 + np.exp(-2 * g))

def log_odds(eta):
    return np.log(eta / (1 - eta))

def of_the_hinge(eta):
    return np.sign(eta - 0.5)

def of_the_logistic_loss(g):
    return 1 / (1 + np.exp(-g))

def of_the_square_loss(g):
    return np.clip((1 + g) / 2, 0, 1)

assert grade(best_score_solution, by_descent, **shares)
assert grade(probability_solution, by_slopes, **answers)
assert not grade(log_odds, by_descent, **shares)
assert not grade(of_the_hinge, by_descent, **shares)
assert not grade(of_the_logistic_loss, by_slopes, **answers)
assert not grade(of_the_square_loss, by_slopes, **answers)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
surrogates = {  # the loss, and its best score for the probability eta
    'square': (lambda m: (1 - m) ** 2, lambda eta: 2 * eta - 1),
    'hinge': (lambda m: np.maximum(0, 1 - m), lambda eta: np.sign(2 * eta - 1)),
    'logistic': (lambda m: np.logaddexp(0, -m) / np.log(2), lambda eta: np.log(eta / (1 - eta))),
    'exponential': (lambda m: np.exp(-m), lambda eta: np.log(eta / (1 - eta)) / 2),
}

def leads_right(psi, best, m, u, t, eta):
    def risk(g):
        return eta * psi(g) + (1 - eta) * psi(-g)
    above = psi(m) >= (m <= 0)
    chord = psi((1 - t) * m + t * u) <= (1 - t) * psi(m) + t * psi(u) + 1e-9
    found = minimize_scalar(risk, bounds=(-4, 4), method='bounded').x
    lowest = abs(risk(found) - risk(best(eta))) < 1e-6
    return above and chord and lowest and best(eta) * (2 * eta - 1) > 0

verify(
    'the surrogates are convex, lie above the zero-one loss and lead to the likelier class',
    lambda name, m, u, t, eta: leads_right(*surrogates[name], m, u, t, eta),
    slip=('takes the negative margin as a loss',
          lambda name, m, u, t, eta: leads_right(lambda m: -m, surrogates[name][1], m, u, t, eta)),
    name=list(surrogates), m=scalars(-5, 5), u=scalars(-5, 5), t=scalars(0, 1),
    eta=scalars(0.05, 0.95).filter(lambda eta: abs(eta - 0.5) > 0.01), tries=100,
)
verify(
    'in each of 20 draws the far points raise the error by a fifth or more',
    lambda far, near: (errors[:, far] > 1.2 * errors[:, near]).all(),
    slip=('says that they lower it', lambda far, near: (errors[:, near] > 1.2 * errors[:, far]).all()),
    far=[1], near=[0, 2],
)
verify(
    'the middle class is found rarely with x, always with its square',
    lambda rare, common: max(middle[rare]) < 0.1 and min(middle[common]) > 0.99,
    slip=('exchanges the two', lambda rare, common: max(middle[common]) < 0.1 and min(middle[rare]) > 0.99),
    rare=['x'], common=['x and x²'],
)

# %% [markdown]
# ## Summary
#
# A linear classifier computes one linear score for each class and answers with the largest, so its decision boundaries
# are straight. One-hot labels treat all classes alike, and least squares on them already reads more than nine in ten
# digits, but its scores are not probabilities. Squared loss also hides classes that lie between others and lets easy
# points move the border, so the next sections change the loss and not the linear scores.
#
# **Further reading.** {cite:t}`hastie2009elements`, section 4.2, shows masking with more classes, where powers up to $q -
# 1$ may be needed; {cite:t}`zhang2023dive`, chapter 4, is a gentle way in; {cite:t}`bartlett2006convexity` is for readers
# who want to know what a small surrogate loss guarantees.
