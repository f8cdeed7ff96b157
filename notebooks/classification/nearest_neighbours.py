# ---
# jupyter:
#   book:
#     functions:
#       nearest: nearest(normal(4, 3), normal(9, 3), 2)
#       classify: classify(normal(9, 3), np.arange(9) % 3, normal(4, 3), 3)
#       regress: regress(normal(9, 3), normal(9), normal(4, 3), 3)
#       expanded: expanded(normal(4, 3), normal(9, 3))
#     main: knn-classifier
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Nearest neighbours
#
# Thirteen measurements of a wine are known, and we want to know which of three growers made it. We look for the five wines
# in our list that resemble it most, and let them vote. Nothing is trained. How good can such a rule be, how do we find the
# most similar examples among many, and what happens if even they are not similar?
#
# - **You need** [discriminant analysis](discriminant_analysis.ipynb) for the Bayes risk,
#   [concentration](../probability/concentration.ipynb), and
#   [Jensen's inequality](../optimization/jensens_inequality.ipynb).
# - **You build** the $k$-nearest-neighbour rule, a k-d tree, the risk of copying one neighbour, and two experiments that
#   show the curse of dimensionality.
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
from fractions import Fraction
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from numpy.linalg import norm
from scipy import special, stats
from scipy.integrate import quad
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nbutils.cases import integers, on, scalars, seeds, vectors
from nbutils.checks import close, grade, verify
from nbutils.data import digits
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## k-nearest neighbours: a vote of the most similar examples
#
# Our list has 120 wines, and the other 58 are to be classified {cite}`aeberhard1994comparative`. Each wine is a vector of thirteen
# numbers. How far is the first wine that is to be classified from the first wines of our list?

# %%
def split(data, truth, n, seed):  # n for training -> X, y, new, its labels
    order = np.random.default_rng(seed).permutation(len(data))
    old, held = order[:n], order[n:]
    return data[old], truth[old], data[held], truth[held]

# %%
wine = load_wine()
X, y, new, truth = split(wine.data, wine.target, 120, seed=0)
for features, grower in zip(X[:4], y):
    distance = norm(features - new[0])
    print(f'a wine of grower {grower}: distance {distance:.1f}')

# %% [markdown]
# We look for those with the least distances:
#
# ```{prf:definition} Nearest neighbours
# :label: def-knn
# The *nearest neighbours* of $\mathbf{x}$ are the $k$ indices $i$ with the least distances
# $\|\mathbf{x} - \mathbf{x}^{(i)}\|$; of equal distances the lower index comes first.
# ```
#
# Let $N_k(\mathbf{x})$ be the set of these indices. The **classifier** gives the label $y^{(i)}$ that is most frequent among
# them (of equally frequent ones the smallest):
#
# ```{math}
# :label: knn-classifier
# \hat y(\mathbf{x}) = \operatorname*{arg\,max}_j \ \#\{ i \in N_k(\mathbf{x}) : y^{(i)} = j \} .
# ```
#
# The **regression** gives the mean of their targets {cite}`fix1951discriminatory`.

# %%
def nearest(A, X, k):  # (m, d), (n, d) -> indices (m, k), the nearest first
    return cdist(A, X).argsort(axis=1, kind='stable')[:, :k]

def classify(X, y, new, k):  # labels 0, 1, ... -> (m,)
    votes = y[nearest(new, X, k)]                # (m, k)
    numbers = np.eye(y.max() + 1)[votes].sum(1)  # (m, labels)
    return numbers.argmax(1)

def regress(X, y, new, k):
    return y[nearest(new, X, k)].mean(1)

# %% [markdown]
# Here are the five neighbours of the new wine:

# %%
near = nearest(new[:1], X, 5)[0]
proline = wine.feature_names.index('proline')
print('grower of the new wine:', truth[0], ' proline:', new[0, proline])
print('growers of its neighbours:', y[near], ' proline:', X[near, proline])

# %% [markdown]
# The neighbours have nearly the same proline as the new wine, but what about the twelve other measurements? The distance
# adds up the squared differences of all coordinates as if they had one unit, and proline runs from 278 to 1680:

# %%
variance = wine.data.var(0)
print(f'share of proline in the mean squared distance:'
      f' {variance[proline] / variance.sum():.3f}')

# %% [markdown]
# ### Scale the features first
#
# So twelve measurements are practically ignored. The remedy is to divide each measurement by its standard deviation *in the
# training part*; otherwise the test examples would influence how they are judged. We compare on twenty splits, with $k = 5$.
# The reference is the most frequent grower of the training part.

# %%
def most_frequent(X, y, new, k):
    return np.full(len(new), np.bincount(y).argmax())

def scaled(X, y, new, k):
    return classify(X / X.std(0), y, new / X.std(0), k)

ks = (1, 5, 15, 45, 75, 105)
splits = [split(wine.data, wine.target, 120, seed) for seed in range(20)]

# %%
growers = {rule: np.array([[(rule(X, y, new, k) == truth).mean() for k in ks]
                           for X, y, new, truth in splits])
           for rule in (most_frequent, classify, scaled)}  # (20, 6) each
for rule, right in growers.items():
    print(f'{rule.__name__:13} {right[:, 1].mean():.3f}'
          f' ± {right[:, 1].std():.3f} right')

# %% [markdown]
# With scikit-learn this is a pipeline:

# %%
model = make_pipeline(StandardScaler(), KNeighborsClassifier(5))
right = [model.fit(X, y).score(new, truth) for X, y, new, truth in splits]
print(f'pipeline      {np.mean(right):.3f} ± {np.std(right):.3f} right')

# %% mystnb={"image": {"alt": "Share of right answers on wines against k with bands. With scaled features it is near 0.95 for k up to 45 and then falls toward the most frequent grower's level of about 0.4; with raw features it is near 0.7 for k up to 75 and falls a little at the end."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.9))
for (rule, right), words, height in zip(growers.items(), ('most frequent grower', 'raw', 'scaled'), (0.33, 0.6, 0.87)):
    middle, spread = right.mean(0), right.std(0)
    line, = ax.plot(ks, middle, 'o-')
    ax.fill_between(ks, middle - spread, middle + spread, alpha=0.2, lw=0)
    ax.text(2, height, words, color=line.get_color())
ax.set(xlabel='neighbours k', ylabel='share of right answers', ylim=(0.2, 1.02));

# %% [markdown] tags=["caption"]
# With scaled features nearly all wines are classified correctly, for every $k$ up to 45. If $k$ is near the number of
# examples, only the most frequent growers count.

# %% [markdown]
# ```{exercise} ★ Program: nearer neighbours count more
# :label: knn-weighted
# Give each of the $k$ neighbours a weight inversely proportional to its distance, and return the weighted mean of their
# targets. If some of the $k$ neighbours are at the distance zero, only these count.
# ```

# %%
def weighted(X, y, a, k):
    """The weighted mean of the targets: a float.

    X (n, d), y (n,) and the question a (d,) are floats, 1 <= k <= n. No two
    distances from a are equal, except that several may be zero.
    For X = [[1.0], [3.0]], y = [0.0, 1.0], a = [0.0], k = 2 it is 0.25.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_the_library(X, y, a, k):
    return KNeighborsRegressor(k, weights='distance', algorithm='brute').fit(X, y).predict(a[None])[0]

def on_a_ray(steps):  # examples at distances that are all different, or zero
    lengths = np.cumsum(abs(steps) + 0.1) - abs(steps[0]) - 0.1
    return np.column_stack([lengths, -lengths])[::-1] / 2**0.5

def around(a):  # examples on a ray from a, or beside it, or two of them at a
    steps = vectors((1, 7), -3, 3).map(on_a_ray)
    return (steps | steps.map(lambda R: R + [0.25, -0.25]) | steps.map(lambda R: np.vstack([R, R[-1]]))).map(lambda R: R + a)

cases = dict(X=around, y=lambda X: vectors(len(X), -5, 5, edges=True), a=vectors(2, -4, 4, edges=True).map(np.round),
             k=lambda X: integers(1, len(X)))
grade(weighted, by_the_library, **cases)

# %% [markdown]
# ```{solution-start} knn-weighted
# :class: dropdown
# ```
# Sort by distance, take the first $k$, weigh, and divide by the sum of the weights. If the least distance is zero, we take
# the mean over those at distance zero. The first wrong answer divides by zero there, the second weighs by the *squared*
# distance, and the third uses all examples whatever $k$ is.

# %% jupyter={"source_hidden": true}
def weighted_solution(X, y, a, k):
    distances = norm(X - a, axis=1)
    near = distances.argsort(kind='stable')[:k]
    if distances[near[0]] == 0:
        weights = distances[near] == 0
    else:
        weights = 1 / distances[near]
    return weights @ y[near] / weights.sum()

def divides_by_zero(X, y, a, k):
    distances = norm(X - a, axis=1) + 1e-300
    near = distances.argsort(kind='stable')[:k]
    return (y[near] / distances[near]).sum() / (1 / distances[near]).sum() if distances[near[0]] > 1e-200 else np.nan

def by_squared_distances(X, y, a, k):
    D = np.maximum(((X - a) ** 2).sum(1), 1e-20)
    near = D.argsort(kind='stable')[:k]
    return (y[near] / D[near]).sum() / (1 / D[near]).sum()

def all_of_them(X, y, a, k):
    return weighted_solution(X, y, a, len(X))

assert grade(weighted_solution, by_the_library, **cases)
assert not grade(divides_by_zero, by_the_library, **cases)
assert not grade(by_squared_distances, by_the_library, **cases)
assert not grade(all_of_them, by_the_library, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: other units
# :label: knn-units
# Somebody gives (a) proline in grams in place of milligrams, (b) all measurements in units a thousand times as small, (c)
# each measurement minus its mean. For each of the three: does the number of right answers of `classify` (raw, $k = 5$) rise,
# fall or stay? And that of `scaled`? First predict, then run on the twenty splits.
# ```

# %%
def changes():
    """Six words 'rises', 'falls' or 'stays': those of classify for (a), (b)
    and (c), then those of scaled: a list of str."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def right_answers(rule, change):
    return sum((rule(change(X, X), y, change(new, X), 5) == truth).sum() for X, y, new, truth in splits)

def words_of_the_experiment():
    in_grams = np.where(np.arange(13) == proline, 1e-3, 1)
    three = lambda Z, X: Z * in_grams, lambda Z, X: 1000 * Z, lambda Z, X: Z - X.mean(0)
    words = []
    for rule in classify, scaled:
        before = right_answers(rule, lambda Z, X: Z)
        words += [('stays', 'rises', 'falls')[int(np.sign(right_answers(rule, change) - before))] for change in three]
    return words

def compared(said):
    if len(said) != 6 or set(said) - {'rises', 'falls', 'stays'}:
        raise ValueError("six words, each 'rises', 'falls' or 'stays'")
    if list(said) != words_of_the_experiment():
        raise ValueError('something else is measured; run it and compare')
    return True

grade(lambda: compared(changes()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} knn-units
# :class: dropdown
# ```
# In grams proline no longer dominates, so other measurements count and more answers are right. If all units change by one
# factor, or all examples are shifted, the order of the distances stays. `scaled` does not see units at all. The wrong
# answers expect that one factor for all matters, that a shift matters, and that scaled features depend on a unit.

# %% jupyter={"source_hidden": true}
assert grade(lambda: compared(['rises', *5 * ['stays']]), lambda: True, [()])
assert not grade(lambda: compared(['rises', 'rises', *4 * ['stays']]), lambda: True, [()])
assert not grade(lambda: compared(['rises', 'stays', 'falls', *3 * ['stays']]), lambda: True, [()])
assert not grade(lambda: compared(['rises', 'stays', 'stays', 'rises', 'stays', 'stays']), lambda: True, [()])

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def questions(seed, m=23, n=60, d=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, d)), rng.normal(size=(n, d))

def finds(search, seed, k, shift=0):
    A, X = (points + shift for points in questions(seed))
    return (search(A, X, k) == cKDTree(X).query(A, range(1, k + 1))[1]).all()

verify(
    'the search finds the neighbours that scipy finds',
    lambda seed, k, shift: finds(nearest, seed, k, shift),
    slip=('takes the largest dot products', lambda seed, k, shift: finds(
        lambda A, X, k: (-A @ X.T).argsort(1, kind='stable')[:, :k], seed, k, shift)),
    seed=seeds(), k=[1, 2, 7], shift=[0, 1e8], tries=40,
)

def predicts(rule, oracle, seed, k, off):
    A, X = questions(seed)
    y = np.floor(1.5 * abs(X @ [1, -1, 2])).astype(int)
    return close(rule(X, y, A, k + off), oracle(k).fit(X, y).predict(A))

verify(
    'the vote is that of scikit-learn',
    lambda seed, k: predicts(classify, KNeighborsClassifier, seed, k, 0),
    slip=('asks one neighbour more', lambda seed, k: predicts(classify, KNeighborsClassifier, seed, k, 1)),
    seed=seeds(), k=[1, 4, 9], tries=30,
)
verify(
    'the mean is that of scikit-learn',
    lambda seed, k: predicts(regress, KNeighborsRegressor, seed, k, 0),
    slip=('averages over one neighbour more', lambda seed, k: predicts(regress, KNeighborsRegressor, seed, k, 1)),
    seed=seeds(), k=[1, 4, 9], tries=30,
)

def as_pipeline(seed, rule):
    X, y, new, _ = splits[seed]
    return (rule(X, y, new, 5) == model.fit(X, y).predict(new)).all()

verify(
    'scaling and voting are the pipeline of scikit-learn',
    lambda seed: as_pipeline(seed, scaled),
    slip=('forgets to scale', lambda seed: as_pipeline(seed, classify)), seed=list(range(20)),
)
verify(
    'scaled features beat raw ones in all splits, and these the most frequent grower',
    lambda i: (growers[scaled][:, i] > growers[classify][:, i]).all() and (
        growers[classify][:, i] > growers[most_frequent][:, i]).all(),
    slip=('asks it of 105 neighbours', lambda i: (growers[classify][:, i + 4] > growers[scaled][:, i + 4]).all()), i=[1],
)

# %% [markdown]
# ## Finding the neighbours: brute force and the k-d tree
#
# Each question costs $n$ distances in $d$ dimensions. For many questions at once a matrix product is the fastest way,
# because
#
# ```{math}
# :label: knn-expanded
# \|\mathbf{a} - \mathbf{x}\|^2 = \|\mathbf{a}\|^2 - 2 \, \mathbf{a}^\top \mathbf{x} + \|\mathbf{x}\|^2 .
# ```
#
# But this formula has a danger: a small difference is left over from numbers that may be large. We move 400 points and 100
# questions away from the origin, which changes no distance, and look for five neighbours each:

# %%
def expanded(A, X):  # (m, d), (n, d) -> squared distances (m, n)
    return (A**2).sum(1)[:, None] - 2 * A @ X.T + (X**2).sum(1)

rng = np.random.default_rng(0)
A, X = rng.normal(size=(100, 3)), rng.normal(size=(400, 3))
for shift in (0, 1e4, 1e8):
    A_far, X_far = A + shift, X + shift
    found = expanded(A_far, X_far).argsort(1, kind='stable')[:, :5]
    right = (found == nearest(A_far, X_far, 5)).all(1).sum()
    print(f'shift {shift:7.0e}: all right for {right:3} of 100 questions')

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# The expanded formula is fast, and scikit-learn uses it for `algorithm='brute'`. For points far from the origin, for example
# times in seconds since 1970, it can find wrong neighbours. Subtract the mean of the features first.
# :::
#
# ````{prf:theorem} What the expansion may lose
# :label: thm-knn-rounding
# Let {eq}`knn-expanded` be computed in floating point with unit of rounding $u$, sums in any order, without overflow
# or underflow, in $d$ dimensions. Then
#
# ```{math}
# :label: knn-gamma
# \text{error} \le \gamma_{d+2} \, \big( \|\mathbf{a}\| + \|\mathbf{x}\| \big)^2 , \qquad \gamma_m = \frac{m u}{1 - m u} .
# ```
# ````
#
# ````{prf:proof}
# :class: dropdown
# Written out, the right-hand side of {eq}`knn-expanded` is a sum of $3d$ products. Each goes through at most $d + 2$
# roundings: its own, at most $d - 1$ in its dot product, and the last two additions (doubling is exact). Its relative
# error is then at most $\gamma_{d+2}$ {cite}`higham2002accuracy`, and the absolute values of the products add up to
# $\|\mathbf{a}\|^2 + 2 \sum_j |a_j x_j| + \|\mathbf{x}\|^2 \le (\|\mathbf{a}\| + \|\mathbf{x}\|)^2$ by Cauchy and
# Schwarz.
# ````
#
# So the error depends on the distance from the *origin*. If we square differences instead, as `cdist` does, it depends on
# the distance of the two points.
#
# ### The k-d tree
#
# If we have found an example at distance 1, we need not look at a region at distance 10. A **k-d tree**
# {cite}`bentley1975multidimensional` uses this. It cuts the examples into two halves at the median of the coordinate in
# which they spread most, each half again, and so on down to leaves of at most eight examples:

# %%
def build(X, rows, leaf):
    if len(rows) <= leaf:
        return rows
    axis = np.ptp(X[rows], axis=0).argmax()  # the widest
    rows = rows[X[rows, axis].argsort(kind='stable')]
    half = len(rows) // 2
    return (axis, X[rows[half], axis],
            build(X, rows[:half], leaf), build(X, rows[half:], leaf))

# %% [markdown]
# Each part of the tree lies in a box. In each coordinate, the question $\mathbf{a}$ has some gap $g_j$ to the box, zero if
# $a_j$ lies in its interval. So no point of the box is nearer than $\|\mathbf{g}\|$. One step down, the half on
# $\mathbf{a}$'s side of the cut keeps the gaps; for the other half, one gap becomes the distance from the cut.

# %%
def search(tree, X, a, k, bound=lambda gaps: gaps @ gaps):
    best, opened = [], []  # (squared distance, index); leaves looked into

    def visit(node, gaps):
        nonlocal best
        if len(best) == k and bound(gaps) > best[-1][0]:
            return
        if isinstance(node, np.ndarray):
            opened.append(node)
            D = ((X[node] - a)**2).sum(1)
            best = sorted([*best, *zip(D, node, strict=True)])[:k]
            return
        axis, cut, *halves = node
        side, beyond = int(a[axis] >= cut), gaps.copy()
        beyond[axis] = a[axis] - cut
        visit(halves[side], gaps)
        visit(halves[1 - side], beyond)
    visit(tree, np.zeros(len(a)))
    return [i for _, i in best], opened

# %% [markdown]
# ```{prf:theorem} The tree finds all neighbours
# :label: thm-knn-tree
# Visit the nearer half first, and skip a box if $k$ examples have been found and the farthest of them is at a distance
# *less* than $\|\mathbf{g}\|$ from $\mathbf{a}$. In exact arithmetic the search ends with the neighbours of
# {prf:ref}`def-knn`, ties included.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Let $t$ be the final distance of the $k$-th found. During the search this distance only falls, so a box was skipped
# only if $\|\mathbf{g}\| > t$: its points are all farther than $t$, and none of them is a neighbour. All points not
# farther than $t$ were seen, and the best of those seen are kept, the lower index first.
# ```

# %% mystnb={"image": {"alt": "A square cut into sixteen boxes of eight points each. Around a star, the question, a circle through the nearest point reaches into three boxes, which are shaded."}} tags=["hide-input"]
def boxes(node, low, high):  # -> [(leaf, low, high), ...]
    if isinstance(node, np.ndarray):
        return [(node, low, high)]
    axis, cut, left, right = node
    here = np.arange(len(low)) == axis
    return [*boxes(left, low, np.where(here, cut, high)), *boxes(right, np.where(here, cut, low), high)]

X_small = np.random.default_rng(3).random((128, 2))
a_small = np.array([0.48, 0.23])
tree = build(X_small, np.arange(128), 8)
(winner,), opened = search(tree, X_small, a_small, 1)
fig, ax = plt.subplots(figsize=(3.6, 3.6))
for i, low, high in boxes(tree, np.zeros(2), np.ones(2)):
    seen = any(i is leaf for leaf in opened)
    ax.add_patch(plt.Rectangle(low, *(high - low), ec=GREY, lw=0.8, fc='C1' if seen else 'none', alpha=0.3))
ax.plot(*X_small.T, 'o', ms=3)
ax.plot(*a_small, '*', ms=10, color='C4')
ax.add_patch(plt.Circle(a_small, norm(X_small[winner] - a_small), fill=False, ec='C4'))
ax.set(aspect='equal', xlabel='x₁', ylabel='x₂', xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), xticks=[0, 1], yticks=[0, 1]);

# %% [markdown] tags=["caption"]
# To find the nearest of 128 points the tree opens 3 of its 16 leaves. All other boxes lie outside the circle through that
# point.

# %%
def leaves_opened(X, A):  # mean number, for one neighbour
    tree = build(X, np.arange(len(X)), 8)
    return np.mean([len(search(tree, X, a, 1)[1]) for a in A])

rng = np.random.default_rng(0)
for n in (1024, 4096, 16384):
    mean = leaves_opened(rng.random((n, 2)), rng.random((100, 2)))
    print(f'{n:5} examples in the plane, {n // 8:4} leaves: {mean:.2f} opened')

# %% [markdown]
# With sixteen times as many examples the search still opens about two leaves. In the plane, a question costs about $\log_2
# n$ steps down the tree and little else {cite}`friedman1977algorithm`. The last part shows what happens in more dimensions.

# %% tags=["checks"]
EPS = np.finfo(float).eps  # 2u: the factor 2 covers gamma's denominator, and the rounding of the bound itself

def doubt(A, X):  # how wrong the expansion can be, one bound a question (m, 1)
    lengths = norm(A, axis=1, keepdims=True) + norm(X, axis=1).max()
    return EPS * (X.shape[1] + 2) * lengths**2

def rounding_bounded(seed, shift, bound):
    a, x = shift + np.random.default_rng(seed).normal(size=(2, 1, 5))
    exact = sum((Fraction(s) - Fraction(t))**2 for s, t in zip(a[0], x[0], strict=True))
    error = abs(Fraction(expanded(a, x).item()) - exact)
    return float(error) <= bound(a, x).item()

verify(
    'the expansion errs at most by the bound',
    lambda seed, shift: rounding_bounded(seed, shift, doubt),
    slip=('measures the error by the distance between the points',
          lambda seed, shift: rounding_bounded(seed, shift, lambda a, x: EPS * 7 * norm(a - x) ** 2)),
    seed=seeds(), shift=[0, 1e3, 1e8], tries=60,
)

def right_far_away(shift, centre):  # all questions
    A, X = (points + shift for points in questions(0, m=100, n=400))
    middle = centre(X)
    return (expanded(A - middle, X - middle).argsort(1, kind='stable')[:, :5] == nearest(A, X, 5)).all()

verify(
    'after subtracting the mean the expansion finds the neighbours far from the origin',
    lambda shift: right_far_away(shift, lambda X: X.mean(0)),
    slip=('leaves the points where they are', lambda shift: right_far_away(shift, lambda X: 0 * X[0])), shift=[0, 1e8],
)

def agrees_on_lattice(seed, k, **options):
    rng = np.random.default_rng(seed)
    A, X = rng.integers(0, 9, (9, 3)) / 2, rng.integers(0, 4, (70, 3)) * 1.0
    tree = build(X, np.arange(70), 4)
    return ([search(tree, X, a, k, **options)[0] for a in A] == nearest(A, X, k)).all()

def by_tree(A, X, k, **options):
    tree = build(X, np.arange(len(X)), 8)
    return [search(tree, X, a, k, **options)[0] for a in A]

verify(
    'the tree finds the neighbours that scipy finds',
    lambda seed, k: finds(by_tree, seed, k),
    slip=('compares gaps with squared distances',
          lambda seed, k: finds(lambda A, X, k: by_tree(A, X, k, bound=lambda gaps: abs(gaps).sum()), seed, k)),
    seed=seeds(), k=[1, 3, 8], tries=30,
)

# %% tags=["checks"]
verify(
    'the tree and the blocked search agree on ties',
    agrees_on_lattice,
    slip=('skips a box at equal distance',
          lambda seed, k: agrees_on_lattice(seed, k, bound=lambda gaps: gaps @ gaps + 1e-9)),
    seed=seeds(), k=[1, 3, 8], tries=30,
)

def few_opened(n, d):
    rng = np.random.default_rng(0)
    return leaves_opened(rng.random((n, d)), rng.random((40, d))) < 3

verify(
    'in the plane the tree opens less than three leaves on average',
    lambda n: few_opened(n, 2),
    slip=('asks it in ten dimensions', lambda n: few_opened(n, 10)), n=[1024, 4096],
)

# %% [markdown]
# ## How good are nearest neighbours? Cover and Hart, and the choice of k
#
# To copy the label of a single example looks naive, because this label may be an exception. How much do we lose against the
# [best possible](discriminant_analysis.ipynb) classifier, which knows the probabilities $p_j(\mathbf{x})$ of all $q$ labels
# and has the risk $R^* = \mathbb{E}[1 - \max_j p_j(\mathbf{x})]$? We try it on a circle of circumference 1: $x$ is uniform,
# and the label is 1 with probability $\eta(x) = \frac12 + 0.4 \cos 2 \pi x$. For each $n$, twenty thousand training sets
# answer one question each:

# %%
def circle(rng, eta, n, runs):  # gaps (runs, n), their labels, truth (runs, 1)
    x, x_new = rng.random((runs, n)), rng.random((runs, 1))
    gap = abs(x - x_new)
    return (np.minimum(gap, 1 - gap), rng.random((runs, n)) < eta(x),
            rng.random((runs, 1)) < eta(x_new))

def wave(a):
    return lambda x: 0.5 + a * np.cos(2 * np.pi * x)

def copying(seed, eta, n, runs=20_000):  # measured risk of one neighbour
    gap, y, truth = circle(np.random.default_rng(seed), eta, n, runs)
    return (np.take_along_axis(y, gap.argmin(1)[:, None], 1) != truth).mean()

# %%
best = 0.5 - 0.8 / np.pi
for n in (1, 2, 5, 40):
    risk = copying(0, wave(0.4), n)
    print(f'{n:2} examples: risk of one neighbour {risk:.3f}')
print(f'best possible {best:.3f}, and 2R*(1 - R*) ='
      f' {2 * best * (1 - best):.3f}')

# %% [markdown]
# With 40 examples one neighbour errs in about 34 % of all cases, the best rule in 25 %. For unlimited data the loss is at
# most a factor of two:
#
# ````{prf:theorem} Cover and Hart
# :label: thm-knn-cover-hart
# Let $(\mathbf{x}, y)$ and the examples $(\mathbf{x}^{(i)}, y^{(i)})$ be independent and of one law on
# $\mathbb{R}^d \times \{1, \dots, q\}$, and let with probability one all $p_j$ be continuous at $\mathbf{x}$. The risk
# $R_n$ of one nearest neighbour then converges to
#
# ```{math}
# :label: knn-limit
# R_{\text{NN}} = \mathbb{E} \Big[ 1 - \sum_{j=1}^q p_j(\mathbf{x})^2 \Big] ,
# ```
#
# ```{math}
# :label: knn-cover-hart
# R^* \le R_{\text{NN}} \le R^* \Big( 2 - \frac{q}{q - 1} R^* \Big) .
# ```
#
# With two classes the right-hand side is $2 R^* (1 - R^*)$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# *The neighbour arrives.* Call $\mathbf{x}$ possible if every ball around it has positive probability. With
# probability one $\mathbf{x}$ is possible: an impossible point lies in a ball of rational centre and radius that has
# probability zero, and there are only countably many of these. Around a possible point the ball $B$ of radius
# $\varepsilon$ stays empty with probability $(1 - P(B))^n \to 0$. So the nearest example $\mathbf{x}'$ converges to
# $\mathbf{x}$, and with probability one, since more examples only bring it nearer.
#
# *It is a twin.* The neighbour is chosen by places alone. Given the places, its label and the true one are therefore
# independent, with the probabilities $p_j(\mathbf{x}')$ and $p_j(\mathbf{x})$, and differ with probability
# $1 - \sum_j p_j(\mathbf{x}) \, p_j(\mathbf{x}') \to 1 - \sum_j p_j(\mathbf{x})^2$ by continuity. All of this is at most
# one, so the expectations converge too (dominated convergence).
#
# *Twins compared.* At one $\mathbf{x}$ let $r = 1 - \max_j p_j$, with $\mathbb{E}[r] = R^*$. On the one hand
# $\sum_j p_j^2 \le \max_j p_j \sum_j p_j = 1 - r$. On the other hand, the $q - 1$ smaller probabilities have the sum
# $r$, so their squares have at least the sum $r^2 / (q - 1)$ (Cauchy and Schwarz). Hence
#
# ```{math}
# :label: knn-local
# r \le 1 - \sum_j p_j^2 \le 1 - (1 - r)^2 - \frac{r^2}{q - 1} = 2r - \frac{q}{q - 1} r^2 .
# ```
#
# Take expectations, and use $\mathbb{E}[r^2] \ge (\mathbb{E}[r])^2$ on the right.
# ````
#
# The idea of the proof: with many examples the nearest one is so near that it has practically the same probabilities. Its
# label and the true one are then like two tosses of the same coin, and they differ more often than a toss differs from the
# likelier side, but at most twice as often {cite}`cover1967nearest`. (The limit holds without continuity, too
# {cite}`stone1977consistent`.)
#
# ````{admonition} An exact formula on the circle
# :class: dropdown
# Let $\eta(x) = \frac12 + a \cos 2 \pi x$. The neighbour is at $x \pm D$, both signs equally
# likely, and $D > t/2$ if all $n$ examples avoid an arc of length $t$: $P(2D > t) = (1 - t)^n$, wherever $x$ is. Copying
# errs with probability $\eta (1 - \eta') + (1 - \eta) \eta' = \frac12 - 2 (\eta - \frac12)(\eta' - \frac12)$, and for given
# $D$ the mean of $\cos(2 \pi x) \cos(2 \pi (x \pm D))$ over the circle is $\frac12 \cos 2 \pi D$. So for *every* $n$
#
# ```{math}
# :label: knn-circle
# R_n = \frac12 - a^2 \int_0^1 \cos(\pi t) \; n (1 - t)^{n - 1} \, dt .
# ```
#
# With more and more examples this tends to $\frac12 - a^2 = R_{\text{NN}}$.
# ````
#
# ### More neighbours
#
# A vote of several neighbours comes closer to $R^*$. Let there be two classes and $k$ be odd, so that no vote is tied. With
# unlimited data, the $k$ labels are $k$ tosses of the same coin:
#
# ````{prf:theorem} The risk of k neighbours
# :label: thm-knn-vote
# Under the hypotheses of {prf:ref}`thm-knn-cover-hart`, for fixed odd $k$ the risk converges to
# $R_{(k)} = \mathbb{E}[\rho_k(r)]$ with $r = \min(\eta, 1 - \eta)$ and, for $B \sim \operatorname{Bin}(k, r)$,
#
# ```{math}
# :label: knn-vote
# \rho_k(r) = r + (1 - 2r) \; P\big( B > \tfrac{k}{2} \big) .
# ```
#
# Moreover $R_{\text{NN}} = R_{(1)} \ge R_{(3)} \ge R_{(5)} \ge \dots$, and $R_{(k)} - R^* \le 1 / \sqrt{k}$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# All $k$ neighbours arrive, as one does. Against the likelier label vote $B$ of them; if they
# win, the error is $1 - r$ instead of $r$.
#
# Let $k = 2m + 1$ and let two more vote. They make the less likely label win if it had $m$ votes and gets both, and
# make it lose if it had $m + 1$ and gets none. The difference of the probabilities is
# $\binom{k}{m} r^m (1 - r)^{m+1} r^2 - \binom{k}{m+1} r^{m+1} (1 - r)^m (1 - r)^2$. As both coefficients are equal,
# this is $\binom{k}{m} r^{m+1} (1 - r)^{m+1} (2r - 1) \le 0$.
#
# Last, the vote decides as if the share $\hat\eta$ of ones among the $k$ labels were $\eta$. By {prf:ref}`thm-clf-bayes`
# this costs at most $2 \, \mathbb{E} |\hat\eta - \eta| \le 2 \sqrt{\eta (1 - \eta) / k} \le 1 / \sqrt{k}$.
# ````
#
# So should $k$ be large? With $n$ examples the farther ones of $k$ neighbours have other probabilities, and for $k = n$
# every question gets the same answer. For regression the price has a formula. If $y^{(i)} = f(\mathbf{x}^{(i)}) + $
# independent noise of mean 0 and variance $\sigma^2$, then for given inputs
#
# ```{math}
# :label: knn-bias-variance
# \mathbb{E} \Big[ \big( \hat f_k(\mathbf{x}) - f(\mathbf{x}) \big)^2 \Big]
# = \Big( \frac1k \sum_{i \in N_k} f(\mathbf{x}^{(i)}) - f(\mathbf{x}) \Big)^2 + \frac{\sigma^2}{k} .
# ```
#
# The second term, the variance, falls with $k$. The first, the squared bias, tends to grow, because the neighbours get
# farther away. In the plane we see both. The label is 1 with probability 0.85 above a curve and 0.15 below it:

# %%
def plane(rng, n):
    x = rng.random((n, 2))
    above = x[:, 1] > 0.5 + 0.25 * np.sin(2 * np.pi * x[:, 0])
    return x, (rng.random(n) < np.where(above, 0.85, 0.15)).astype(int)

errors = {k: [] for k in (1, 15, 121)}
for seed in range(10):
    rng = np.random.default_rng(seed)
    (X, y), (new, truth) = plane(rng, 121), plane(rng, 1000)
    for k in errors:
        errors[k].append((classify(X, y, new, k) != truth).mean())

# %%
for k, values in errors.items():
    print(f'k = {k:3}: error {np.mean(values):.3f} ± {np.std(values):.3f}')
print(f'best possible 0.150, limit for one neighbour {2 * 0.15 * 0.85:.3f}')

# %% mystnb={"image": {"alt": "Three maps of a square with 121 points of two classes and a wave as the best border. One neighbour: a patchwork with islands around odd points. Fifteen: a border near the wave. All 121: one colour everywhere."}} tags=["hide-input"]
X_plane, y_plane = plane(np.random.default_rng(0), 121)
u = (np.arange(60) + 0.5) / 60
grid = np.stack(np.meshgrid(u, u), 2).reshape(-1, 2)
fig, axes = panels(3, height=2.3, sharey=True)
for ax, k in zip(axes, errors, strict=True):
    ax.contourf(u, u, classify(X_plane, y_plane, grid, k).reshape(60, 60), [-0.5, 0.5, 1.5], colors=['C0', 'C1'], alpha=0.25)
    for j in (0, 1):
        ax.plot(*X_plane[y_plane == j].T, 'o', ms=2.5, color=f'C{j}')
    ax.plot(u, 0.5 + 0.25 * np.sin(2 * np.pi * u), '--', color=GREY)
    ax.set(title=f'k = {k}', aspect='equal', xlabel='x₁', xlim=(0, 1), ylim=(0, 1), xticks=[0, 1], yticks=[0, 1])
axes[0].set(ylabel='x₂');

# %% [markdown] tags=["caption"]
# One neighbour draws islands around exceptional labels (variance). Fifteen come near the best border (dashed). All 121 know
# only the more frequent label (bias).

# %% [markdown]
# ### Choosing k by leaving one out
#
# $k$ must be chosen without the test examples. For nearest neighbours this is cheap: find the $k + 1$ nearest of each
# training example among the training examples, remove the example itself, and let the others vote. One search serves all
# $k$. If you forget to remove the example itself, one neighbour is always right.

# %%
def winners(y, near, ks):  # neighbours (m, max(ks)) -> labels (m, len(ks))
    numbers = np.eye(y.max() + 1)[y[near]].cumsum(1)
    return numbers[:, np.array(ks) - 1].argmax(2)

def left_out(X, y, ks):  # share of right votes for each k
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)  # itself comes last
    near = D.argsort(1, kind='stable')[:, :max(ks)]
    return (winners(y, near, ks) == y[:, None]).mean(0)

# %%
x, label, _ = digits()  # (1797, 64), (1797,)
ks_digits, rows = (1, 3, 5, 9, 17, 33, 65), []
for seed in range(5):
    X, y, new, truth = split(x, label, 1347, seed)
    inside = left_out(X, y, ks_digits)
    votes = winners(y, nearest(new, X, 65), ks_digits)
    held = (votes == truth[:, None]).mean(0)
    means = np.array([X[y == j].mean(0) for j in range(10)])
    by_means = (classify(means, np.arange(10), new, 1) == truth).mean()
    rows.append([held[inside.argmax()], held[-1], by_means])

# %%
rows = np.array(rows)  # (5, 3)
for name, right in zip(('k chosen', 'k = 65', 'nearest mean'), rows.T):
    print(f'{name:12} {right.mean():.3f} ± {right.std():.3f} right')

# %% [markdown]
# The rule that has learned nothing reads the held-out digits almost without mistakes: among 1347 examples there is one that
# looks alike. The reference, the nearest of ten mean pictures, is wrong in one case out of ten.
#
# ```{exercise} ★★ Pencil: an even number of neighbours
# :label: knn-even
# Unlimited data, two classes, and an *even* number $k$ of neighbours; a tie is decided by a fair coin. Derive
# `even_risk(k, eta)`, the probability of an error at an input with $P(y = 1) = \eta$. What is the second of two
# neighbours good for?
# ```

# %%
def even_risk(k, eta):
    """The probability of an error: a float.

    k is an even int from 2 to 10, eta a float from 0 to 1.
    even_risk(2, 0.5) is 0.5.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_all_votes(k, eta):
    votes = np.array(list(product([0, 1], repeat=k)))  # (2^k, k)
    chance = np.where(votes == 1, eta, 1 - eta).prod(1)
    says_one = (np.sign(votes.mean(1) - 0.5) + 1) / 2  # a tie: 1/2
    return chance @ (says_one * (1 - eta) + (1 - says_one) * eta)

cases = dict(k=[2, 4, 6, 8, 10], eta=on(0.0, 0.5, 1.0) | scalars(0, 1))
grade(even_risk, by_all_votes, tries=60, **cases)

# %% [markdown]
# ```{solution-start} knn-even
# :class: dropdown
# ```
# Let the $k$-th neighbour vote last, $k = 2m$. It changes something only if it makes a tie. A lead of one for the wrong
# label and then a tie has the probability $\binom{k-1}{m} r^m (1 - r)^m$, and so has a lead of one for the right label and
# then a tie. The coin turns round half of either, and the two cancel: $\rho_k = \rho_{k-1}$. The second neighbour is
# good for nothing. The wrong answers let a tie always say 0, count a tie as a mistake, and take $\eta$ for the smaller
# probability.

# %% jupyter={"source_hidden": true}
def even_risk_solution(k, eta):
    return eta + (1 - 2 * eta) * stats.binom.sf(k / 2 - 1, k - 1, eta)

def tie_says_no(k, eta):
    says_one = stats.binom.sf(k / 2, k, eta)
    return says_one * (1 - eta) + (1 - says_one) * eta

def tie_is_a_mistake(k, eta):
    r = min(eta, 1 - eta)
    return r + (1 - 2 * r) * stats.binom.sf(k / 2 - 1, k, r)

def of_one_neighbour(k, eta):
    return 2 * eta * (1 - eta)

assert grade(even_risk_solution, by_all_votes, tries=60, **cases)
assert not grade(tie_says_no, by_all_votes, tries=60, **cases)
assert not grade(tie_is_a_mistake, by_all_votes, tries=60, **cases)
assert not grade(of_one_neighbour, by_all_votes, tries=60, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def five_errors(R, runs=20_000):
    return 5 * np.sqrt(R * (1 - R) / runs)

def by_integral(a, n, angle=np.pi):
    return 0.5 - a**2 * quad(lambda t: np.cos(angle * t) * n * (1 - t)**(n - 1), 0, 1)[0]

def locally_bounded(seed, q, factor):
    p = np.random.default_rng(seed).dirichlet(np.ones(q))
    r, copied = 1 - p.max(), 1 - (p**2).sum()
    return r <= copied <= 2 * r - factor(q) * r**2 + 1e-12

verify(
    'at every input, copying a twin errs at most 2r - q r²/(q - 1)',
    lambda seed, q: locally_bounded(seed, q, lambda q: q / (q - 1)),
    slip=('takes the bound of two classes for all', lambda seed, q: locally_bounded(seed, q, lambda q: 2)),
    seed=seeds(), q=[2, 3, 10],
)

def as_derived(seed, a, n, angle):
    R = by_integral(a, n, angle)
    return abs(copying(seed, wave(a), n) - R) < five_errors(R)

verify(
    'the risk of one neighbour on the circle is the integral',
    lambda seed, a, n: as_derived(seed, a, n, np.pi),
    slip=('takes the arc for the distance', lambda seed, a, n: as_derived(seed, a, n, 2 * np.pi)),
    seed=[0, 1], a=[0.3, 0.5], n=[1, 2, 5, 40], tries=12,
)
laws = {  # family: (eta, R*, E[2 eta (1 - eta)]) for each member
    'constant': [(lambda x, c=c: c + 0 * x, c, 2 * c * (1 - c)) for c in (0.1, 0.2, 0.35)],
    'coin or certain': [(lambda x, s=s: 0.5 * (x < s), s / 2, s / 2) for s in (0.25, 0.5, 0.75)],
    'wave': [(wave(a), 0.5 - 2 * a / np.pi, 0.5 - a**2) for a in (0.25, 0.4, 0.5)],
}

def near_limit(name, i, formula):  # |R_n - R_NN| is at most 1/(n + 1) for these laws
    eta, best, limit = laws[name][i]
    want = formula(best, limit)
    return abs(copying(i, eta, 100) - want) < five_errors(want) + 1 / 101

verify(
    'with 100 examples the risk is near the limit of Cover and Hart',
    lambda name, i: near_limit(name, i, lambda best, limit: limit),
    slip=('takes the upper bound for the limit',
          lambda name, i: near_limit(name, i, lambda best, limit: 2 * best * (1 - best))),
    name=list(laws), i=[0, 1, 2], tries=9,
)

def rho(k, r):
    return r + (1 - 2 * r) * stats.binom.sf(k / 2, k, r)

def votes_help(k, r, bound):
    return r <= rho(k + 2, r) <= rho(k, r) + 1e-12 and rho(k, r) - r <= bound(k)

# %% tags=["checks"]
verify(
    'two more voters never hurt, and k of them err at most 1/√k too often',
    lambda k, r: votes_help(k, r, lambda k: 1 / np.sqrt(k)),
    slip=('lets the excess fall like 1/k', lambda k, r: votes_help(k, r, lambda k: 1 / k)),
    k=[1, 3, 9, 201], r=scalars(0, 0.5),
)

def limit_of(k):
    return 4 * quad(lambda x: rho(k, 0.5 - 0.4 * np.cos(2 * np.pi * x)), 0, 0.25)[0]

gap_801, y_801, truth_801 = circle(np.random.default_rng(0), wave(0.4), 801, 4000)
ones = np.take_along_axis(y_801, gap_801.argsort(1, kind='stable')[:, :3], 1).cumsum(1)

def close_to_limit(k, vote):  # 801 examples
    risk = ((2 * ones[:, k - 1] > k) != truth_801[:, 0]).mean()
    far = 0.8 * np.pi * k * (k + 1) / (4 * 802)
    return abs(risk - limit_of(vote(k))) < five_errors(limit_of(vote(k)), 4000) / 5 * 4 + far

verify(
    'the votes of one and three neighbours have the limits derived',
    lambda k: close_to_limit(k, lambda k: k),
    slip=('takes one neighbour more than 200 for three', lambda k: close_to_limit(k, lambda k: 201)),
    k=[1, 3],
)

def splits_in_two(seed, k, share, sigma=0.7, runs=5000):
    rng = np.random.default_rng(seed)
    X, a = rng.normal(size=(40, 2)), np.array([[0.3, -0.2]])
    f = lambda X: np.sin(2 * X[:, 0]) + X[:, 1]
    squares = (regress(X, f(X)[:, None] + sigma * rng.normal(size=(40, runs)), a, k) - f(a)) ** 2  # (1, runs)
    bias = (regress(X, f(X), a, k) - f(a))[0] ** 2
    return abs(squares.mean() - bias - share * sigma**2) < 5 * squares.std() / np.sqrt(runs)

verify(
    'bias and noise add up, and of the noise a k-th part is left',
    lambda seed, k: splits_in_two(seed, k, 1 / k),
    slip=('divides the noise by k²', lambda seed, k: splits_in_two(seed, k, 1 / k**2)),
    seed=seeds(), k=[1, 3, 10], tries=30,
)

def left_out_slowly(X, y, ks, strike):
    rest = ~np.eye(len(X), dtype=bool) if strike else np.ones((len(X), len(X)), dtype=bool)
    return [np.mean([classify(X[r], y[r], a[None], k)[0] == b for r, a, b in zip(rest, X, y, strict=True)]) for k in ks]

def shortcut(seed, strike):
    X, y = questions(seed)[1][:25], np.arange(25) % 3
    return close(left_out(X, y, (1, 4)), left_out_slowly(X, y, (1, 4), strike))

# %% tags=["checks"]
verify(
    'one search leaves out each example in turn',
    lambda seed: shortcut(seed, True),
    slip=('lets each example vote for itself', lambda seed: shortcut(seed, False)), seed=seeds(), tries=15,
)
verify(
    'in the plane fifteen neighbours are better than one and than all',
    lambda k: all(np.mean(errors[k]) < np.mean(errors[other]) - 0.03 for other in errors if other != k),
    slip=('expects this of one neighbour', lambda k: all(
        np.mean(errors[k - 14]) < np.mean(errors[other]) for other in errors if other != k - 14)), k=[15],
)
verify(
    'on the digits the chosen k beats k = 65 and the nearest mean in all splits',
    lambda one: (rows[:, 0] > rows[:, one]).all() and (rows[:, one] > rows[:, 2]).all(),
    slip=('expects the nearest mean to beat k = 65', lambda one: (rows[:, 2] > rows[:, one]).all()), one=[1],
)

# %% [markdown]
# ## The curse of dimensionality
#
# The theorems above need the neighbour to be near. How many examples does this take? A cube that holds one percent of the
# volume of a unit cube has edges of length $0.01^{1/d}$ in $d$ dimensions. And how far is the nearest of $n$ uniform
# examples? The following numbers come from the theorem below:

# %%
def ball(d):  # volume of the unit ball
    return np.pi**(d / 2) / special.gamma(d / 2 + 1)

for d in (2, 5, 10, 20):
    needed = (d / (d + 1) / 0.1)**d / ball(d)
    print(f'{d:2} dimensions: one percent needs edges of {0.01**(1 / d):.3f};'
          f' mean distance 0.1 needs at least {needed:.3g} examples')

# %% [markdown]
# In ten dimensions, one percent of the examples fill a cube with edges of 0.631. That is hardly a neighbourhood. This is one
# side of the **curse of dimensionality**:
#
# ````{prf:theorem} How near is the nearest?
# :label: thm-knn-nearest
# Let $\mathbf{x}$ and $n$ examples be independent, of any one law on $[0, 1]^d$, $d \ge 2$, and $\mathbf{x}'$ the nearest
# example. Then
#
# ```{math}
# :label: knn-arrival
# \mathbb{E} \|\mathbf{x} - \mathbf{x}'\| \le 2 \sqrt d \, \Big( 1 + \frac{1}{e (d - 1)} \Big) \, n^{-1/d} .
# ```
#
# If the law is uniform, also
# $\mathbb{E} \|\mathbf{x} - \mathbf{x}'\| \ge \frac{d}{d + 1} \, (V_d \, n)^{-1/d}$ with the volume
# $V_d = \pi^{d/2} / \Gamma(\frac d2 + 1)$ of the unit ball.
# ````
#
# ````{prf:proof}
# :class: dropdown
# *Above.* Let $0 < s \le r \le \sqrt d$ and cut the cube into $T^d$ equal boxes, $T = \lceil \sqrt d / r \rceil$, of
# diameter at most $r$. If the nearest example is farther than $r$, the box of $\mathbf{x}$ has no example. A
# box of probability $p$ contributes $p (1 - p)^n \le p \, e^{-pn} \le \frac{1}{en}$ to the probability of that, so
#
# ```{math}
# P \big( \|\mathbf{x} - \mathbf{x}'\| > r \big) \le \frac{T^d}{e n} \le \frac{1}{en} \Big( \frac{2 \sqrt d}{r} \Big)^d .
# ```
#
# The expectation is the integral of this probability over $r$. Take 1 for it up to $s$ and the bound from there on:
# $s + \frac{1}{en} (2 \sqrt d)^d \, \frac{s^{1 - d}}{d - 1}$. With $s = 2 \sqrt d \, n^{-1/d}$ this is {eq}`knn-arrival`.
# (If this $s$ exceeds $\sqrt d$, there is nothing to prove.)
#
# *Below.* A ball of radius $r$ has at most the probability $V_d r^d$, so one of $n$ examples is in it with
# probability at most $n V_d r^d$. Integrate $1 - n V_d r^d$ up to its zero at $(V_d n)^{-1/d}$.
# ````
#
# With two classes and $|\eta(\mathbf{x}) - \eta(\mathbf{z})| \le c \, \|\mathbf{x} - \mathbf{z}\|$, this gives a bound for
# every $n$ {cite}`shalev2014understanding`:
#
# ```{math}
# :label: knn-finite
# R_n \le 2 R^* (1 - R^*) + 3 c \sqrt d \; n^{-1/d} \qquad (d \ge 2) .
# ```
#
# ### All distances become equal
#
# The other side of the curse: in many dimensions "nearest" hardly differs from "farthest". Let the coordinates of all points
# be independent and of one law. A squared distance is then a sum of $d$ independent terms of one law, with mean $\mu > 0$
# and finite variance $v$, and such a sum [concentrates](../probability/concentration.ipynb):
#
# ````{prf:theorem} All are equally far
# :label: thm-knn-concentration
# For the squared distances $D_i$ from one question to $n$ examples, and $0 < \varepsilon < 1$,
#
# ```{math}
# :label: knn-concentrate
# P \bigg( \frac{\max_i D_i}{\min_i D_i} > \frac{1 + \varepsilon}{1 - \varepsilon} \bigg) \le \frac{n v}{d \, \mu^2
# \varepsilon^2} .
# ```
# ````
#
# ````{prf:proof}
# :class: dropdown
# $D_i$ has mean $d \mu$ and variance $d v$, so by Chebyshev's inequality it is off by more than $\varepsilon d \mu$ with
# probability at most $d v / (\varepsilon d \mu)^2$, and one of $n$ is with at most $n$ times this probability. If none is,
# the ratio is at most that of $(1 + \varepsilon) d \mu$ and $(1 - \varepsilon) d \mu$.
# ````
#
# We measure the ratio of the nearest to the farthest distance, and the share of leaves that our tree opens, for 4096
# examples in a cube. Beside it we put points of a *plane* that is turned at random into $d$ dimensions. Last come real data,
# the digits with 64 pixels, and the same pictures with each pixel shuffled among the pictures.

# %%
def cube(rng, n, d):
    return rng.random((n, d))

def tilted_plane(rng, n, d):
    frame = np.linalg.qr(np.random.default_rng(d).normal(size=(d, 2)))[0]
    return rng.random((n, 2)) @ frame.T  # (n, d)

def near_to_far(X, A):  # mean ratio of nearest and farthest distance
    D = cdist(A, X)
    return (D.min(1) / D.max(1)).mean()

# %%
dims, ratios, shares = (2, 4, 6, 8, 10, 12, 16, 20), {}, {}
for kind in (cube, tilted_plane):
    rng = np.random.default_rng(0)
    sets = [(kind(rng, 4096, d), kind(rng, 25, d)) for d in dims]
    ratios[kind] = [near_to_far(*pair) for pair in sets]
    shares[kind] = [leaves_opened(*pair) / 512 for pair in sets]
    print(f'{kind.__name__:12} nearest / farthest for d = 2 and 20:'
          f' {ratios[kind][0]:.4f}, {ratios[kind][-1]:.4f};'
          f' leaves opened: {shares[kind][0]:.4f}, {shares[kind][-1]:.4f}')

# %%
shuffled = np.random.default_rng(0).permuted(x, axis=0)
order = np.random.default_rng(1).permutation(1797)
for name, pictures in ('digits', x), ('shuffled pixels', shuffled):
    A, X = pictures[order[:50]], pictures[order[50:]]
    print(f'{name:15} nearest / farthest {near_to_far(X, A):.2f},'
          f' leaves opened {leaves_opened(X, A) / 256:.2f}')

# %% mystnb={"image": {"alt": "Left: ratio of nearest to farthest distance against dimension. For the cube it rises from near zero to above one third, for the tilted plane it stays near zero. Right: share of the leaves opened; for the cube it rises from near zero to nearly all, for the plane it stays near zero."}} tags=["hide-input"]
fig, axes = panels(2, height=2.6)
for ax, values in zip(axes, (ratios, shares), strict=True):
    for kind, name, colour in ((cube, 'uniform cube', 'C0'), (tilted_plane, 'tilted plane', 'C1')):
        ax.plot(dims, values[kind], 'o-', color=colour)
        if kind is cube:
            ax.text(2, 0.36, name, color=colour)
        else:
            ax.text(20, 0.03, name, color=colour, ha='right')
    ax.set(xlabel='dimension d', xlim=(0, 21))
axes[0].set(ylabel='nearest / farthest', ylim=(0, 0.6))
axes[1].set(ylabel='share of leaves opened', ylim=(0, 1.03));

# %% [markdown] tags=["caption"]
# In a uniform cube of 20 dimensions the nearest of 4096 points is more than a third as far as the farthest, and the tree
# opens nearly every leaf. A tilted plane stays easy in any number of dimensions.

# %% [markdown]
# For the tilted plane nothing changes, although it has as many coordinates. What counts is in how many directions the data
# really spread, not how many numbers describe a point. The digits lie between the two: the nearest picture is clearly nearer
# than it would be without structure, so the rule works. But the tree opens most of its leaves.
#
# ```{exercise} ★★ Pencil: an empty middle
# :label: knn-ball
# $n$ examples are uniform in the unit ball of $\mathbb{R}^d$, and you ask at its centre. Derive `median_distance(n, d)`, the
# median of the distance to the nearest one. What is it for 500 examples in ten dimensions?
# ```

# %%
def median_distance(n, d):
    """The median distance: a float.

    n and d are ints of at least 1. median_distance(1, 1) is 0.5.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_order_statistics(n, d):  # the least of n uniform volumes is a beta
    return stats.beta(1, n).median()**(1 / d)

cases = dict(n=on(1, 2, 500) | integers(1, 1000), d=on(1, 10) | integers(1, 50))
grade(median_distance, by_order_statistics, tries=60, **cases)

# %% [markdown]
# ```{solution-start} knn-ball
# :class: dropdown
# ```
# One example is farther than $t$ with probability $1 - t^d$, all are with $(1 - t^d)^n = \frac12$, so
# $t = (1 - 2^{-1/n})^{1/d}$. For 500 examples in ten dimensions that is 0.52: the nearest is already farther from the
# centre than from the surface {cite}`hastie2009elements`. The wrong answers give each example its $n$-th part of the volume,
# forget the dimension, and forget that all examples must be farther.

# %% jupyter={"source_hidden": true}
def median_distance_solution(n, d):
    return (1 - 0.5**(1 / n))**(1 / d)

def even_parts(n, d):
    return (1 / n)**(1 / d)

def on_a_line(n, d):
    return 1 - 0.5**(1 / n)

def of_one_example(n, d):
    return 0.5**(1 / d)

print(f'{median_distance_solution(500, 10):.2f}')
assert grade(median_distance_solution, by_order_statistics, tries=60, **cases)
assert not grade(even_parts, by_order_statistics, tries=60, **cases)
assert not grade(on_a_line, by_order_statistics, tries=60, **cases)
assert not grade(of_one_example, by_order_statistics, tries=60, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def nearest_distances(seed, d, n, m=400):
    rng = np.random.default_rng(seed)
    return cKDTree(rng.random((n, d))).query(rng.random((m, d)))[0]

def arrives(seed, d, n, rate):
    runs = [nearest_distances([seed, i], d, n).mean() for i in range(6)]
    slack = 5 * np.std(runs, ddof=1) / np.sqrt(6)
    low = d / (d + 1) * ball(d)**(-1 / d) * rate
    high = 2 * np.sqrt(d) * (1 + 1 / (np.e * (d - 1))) * rate
    return low - slack < np.mean(runs) < high + slack

verify(
    'the mean distance lies between the bounds',
    lambda seed, d, n: arrives(seed, d, n, n ** (-1 / d)),
    slip=('lets the distance fall like 1/√n in every dimension', lambda seed, d, n: arrives(seed, d, n, n ** (-1 / 2))),
    seed=[0, 1], d=[2, 3, 6, 10], n=[20, 200, 1000], tries=12,
)

def finite_risk(seed, d, n, c, runs=2000):
    rng = np.random.default_rng(seed)
    eta = lambda x: 0.5 + 0.5 * np.cos(2 * np.pi * x[..., 0])
    X, X_new = rng.random((runs, n, d)), rng.random((runs, d))
    D = ((X - X_new[:, None])**2).sum(2)
    near = X[np.arange(runs), D.argmin(1)]  # (runs, d)
    wrong = (rng.random(runs) < eta(near)) != (rng.random(runs) < eta(X_new))
    best = 0.5 - 1 / np.pi
    bound = 2 * best * (1 - best) + c * np.sqrt(D.min(1)).mean()
    return wrong.mean() < bound + 2.5 / np.sqrt(runs)  # five errors

verify(
    'the risk exceeds 2R*(1 - R*) by at most c times the mean distance',
    lambda seed, d, n: finite_risk(seed, d, n, np.pi),
    slip=('forgets the term with the distance', lambda seed, d, n: finite_risk(seed, d, n, 0)),
    seed=[0, 1], d=[2, 6], n=[20, 100], tries=8,
)

def relative_variance(seed, d, power):
    rng = np.random.default_rng(seed)
    D = ((rng.random((4000, d)) - rng.random((4000, d)))**2).sum(1)
    square = (6 * D / d - 1)**2
    return abs(square.mean() - 7 / 5 / d**power) < 5 * square.std() / np.sqrt(4000)

verify(
    'relative to its mean a squared distance has variance 7/(5d)',
    lambda seed, d: relative_variance(seed, d, 1),
    slip=('divides by the square of the dimension', lambda seed, d: relative_variance(seed, d, 2)),
    seed=seeds(), d=[1, 3, 30], tries=30,
)

# %% tags=["checks"]

def spread(seed, d, runs=300, n=10):  # (farthest - nearest) / mean, error
    rng = np.random.default_rng(seed)
    D = ((rng.random((runs, n, d)) - rng.random((runs, 1, d)))**2).sum(2)
    gap = np.ptp(D, axis=1) / (d / 6)
    return gap.mean(), gap.std() / np.sqrt(runs)

def shrinks(seed, rate):
    (near, a), (far, b) = spread(seed, 50), spread(seed, 800)
    return abs(near - 16**rate * far) < 5 * (a + 16**rate * b)

verify(
    'the gap between farthest and nearest shrinks as 1/√d',
    lambda seed: shrinks(seed, 1 / 2),
    slip=('lets the gap shrink like 1/d', lambda seed: shrinks(seed, 1)), seed=[0, 1, 2],
)
verify(
    'in the cube the ratio and the leaves grow with the dimension, in the plane they stay',
    lambda share: (np.diff(ratios[cube]) > 0).all() and shares[cube][-1] > share and max(shares[tilted_plane]) < 0.02,
    slip=('expects it of the tilted plane', lambda share: shares[tilted_plane][-1] > share), share=[0.9],
)

def of_pictures(pictures):
    A, X = pictures[order[:50]], pictures[order[50:]]
    return near_to_far(X, A), leaves_opened(X, A) / 256

verify(
    'the nearest picture is nearer than among shuffled pixels, and the tree opens most leaves',
    lambda factor: of_pictures(x)[0] < factor * of_pictures(shuffled)[0] and of_pictures(x)[1] > 0.5,
    slip=('exchanges the two', lambda factor: of_pictures(shuffled)[0] < factor * of_pictures(x)[0]), factor=[0.7],
)

# %% [markdown]
# ## Summary
#
# Nearest neighbours learn nothing: they look up the most similar examples and let them vote. Scaling the features decides
# what "similar" means. A k-d tree finds the neighbours quickly in few dimensions, but not in many. With unlimited data and
# two classes the risk of one neighbour is at most $2 R^* (1 - R^*)$, and larger $k$ trades variance for bias. If data fill
# $d$ dimensions, the nearest example comes nearer only like $n^{-1/d}$; the rule works in practice because data fill fewer
# dimensions than they have coordinates.
#
# **Further reading.** {cite:t}`cover1967nearest` is a classic of six pages; {cite:t}`devroye1996probabilistic`, chapters
# 5, 6 and 11, prove all that is known; {cite:t}`shalev2014understanding`, chapter 19, and {cite:t}`hastie2009elements`,
# sections 2.5 and 13.3, are introductions; {cite:t}`friedman1977algorithm` analyse the k-d tree, and
# {cite:t}`hart1968condensed` reduces the list of examples.
