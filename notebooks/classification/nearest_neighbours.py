# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Nearest neighbours
#
# - **Question.** The simplest rule of all copies the answer of the most similar example. How good can it be, what does it
#   cost to find that example, and what if even the nearest is far away?
# - **You need** [Discriminant analysis](discriminant_analysis.ipynb) for the Bayes risk,
#   [Concentration](../probability/concentration.ipynb), and [Jensen's
# inequality](../optimization/jensens_inequality.ipynb).
# - **You build** a blocked search that cancellation cannot fool, a k-d tree, and the rule itself, each beside scipy or
#   scikit-learn; the bound of Cover and Hart, measured; and two ways to see the curse of dimensionality.
# - **Time** 10 s.

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
from sklearn.datasets import load_wine
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nbutils.cases import scalars, seeds
from nbutils.checks import close, grade, verify
from nbutils.data import digits
from nbutils.figures import GREY, panels
from nbutils.timing import seconds

plt.style.use('nbutils.book')

# %% [markdown]
# ## Finding the neighbours: brute force and the k-d tree
#
# Keep all $n$ examples. Asked about $\mathbf{x}$, look for those that resemble it most, and say what they say.
#
# ```{prf:definition} Nearest neighbours
# :label: def-knn
# The *nearest neighbours* of $\mathbf{x}$ are the $k$ indices $i$ with the least distances
# $\|\mathbf{x} - \mathbf{x}^{(i)}\|$; of equal distances the lower index comes first. The *classifier* gives their
# most frequent label (of equally frequent ones the smallest), the *regression* the mean of their targets.
# ```
#
# Nothing is fitted {cite}`fix1951discriminatory`. All the work is in the answer: $nd$ differences for every question.
# For many questions at once the array of all differences is large. So we expand the square,
#
# ```{math}
# :label: knn-expanded
# \|\mathbf{a} - \mathbf{x}\|^2 = \|\mathbf{a}\|^2 - 2 \, \mathbf{a}^\top \mathbf{x} + \|\mathbf{x}\|^2 ,
# ```
#
# and one matrix product does the work, for a block of questions at a time. But here numbers that may be huge are to
# leave a small one. How wrong can it be?
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
# Written out, the right-hand side of {eq}`knn-expanded` is a sum of $3d$ products. Each goes through at most $d + 2$
# roundings: its own, at most $d - 1$ in its dot product, and the last two additions (doubling is exact). Its relative
# error is then at most $\gamma_{d+2}$ {cite}`higham2002accuracy`, and the absolute values of the products add up to
# $\|\mathbf{a}\|^2 + 2 \sum_j |a_j x_j| + \|\mathbf{x}\|^2 \le (\|\mathbf{a}\| + \|\mathbf{x}\|)^2$ by Cauchy and
# Schwarz.
# ````
#
# The bound measures from the *origin*, not from each other: in space, for points $10^8$ from the origin, the bound is
# $5 \cdot 2^{-53} (10^8 + 10^8)^2 \approx 22$, however near they are to one another. Squares of differences have no
# such trouble (the same count of roundings gives $\gamma_{d+2} \|\mathbf{a} - \mathbf{x}\|^2$), but they cost more. So
# use both. Let $\tilde D_i$ be the expanded value, $E$ the bound on its error for the longest $\mathbf{x}^{(i)}$, hence
# for all of them, and $C$ the $k$-th smallest of the numbers $\tilde D_i + E$. Keep the candidates
#
# ```{math}
# :label: knn-candidates
# \tilde D_i - E \le C ,
# ```
#
# and order these few by their differences. No neighbour is lost: at least $k$ examples have a true squared distance
# $D \le \tilde D + E \le C$; so a neighbour has $D_i \le C$, and $\tilde D_i - E \le D_i$.

# %%
EPS = np.finfo(float).eps  # 2u: the factor 2 covers gamma's denominator
                           # and the rounding of the bound itself

def expanded(A, X):  # (m, d), (n, d) -> squared distances (m, n)
    return (A**2).sum(1)[:, None] - 2 * A @ X.T + (X**2).sum(1)

def doubt(A, X):  # how wrong these can be, one bound a question (m, 1)
    lengths = norm(A, axis=1, keepdims=True) + norm(X, axis=1).max()
    return EPS * (X.shape[1] + 2) * lengths**2

def candidates(A, X, k):  # (m, n) bools
    D, E = expanded(A, X), doubt(A, X)
    C = np.partition(D, k - 1)[:, k - 1:k] + E  # (m, 1)
    return D - E <= C

# %%
def nearest(A, X, k, size):  # -> (m, k) indices, the nearest first
    found = []
    for start in range(0, len(A), size):
        block = A[start:start + size]
        for a, kept in zip(block, candidates(block, X, k), strict=True):
            i = np.flatnonzero(kept)
            D = ((X[i] - a)**2).sum(1)
            found.append(i[D.argsort(kind='stable')[:k]])
    return np.array(found)

# %% [markdown]
# In {eq}`knn-expanded` we could leave out $\|\mathbf{a}\|^2$, which is the same for all examples. Without
# $\|\mathbf{x}\|^2$, on the other hand, we would find the largest dot product and not the nearest example.

# %%
def questions(seed, m=23, n=60, d=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, d)), rng.normal(size=(n, d))

# %% [markdown]
# Now move 400 points and 100 questions far away from the origin, where no distance between them changes but for the
# rounding of the coordinates. Five neighbours each:

# %%
A, X = questions(0, m=100, n=400)
for shift in (0, 1e4, 1e8):
    A_far, X_far = A + shift, X + shift
    truth = cKDTree(X_far).query(A_far, 5)[1]
    brute = NearestNeighbors(n_neighbors=5, algorithm='brute').fit(X_far)
    routes = (expanded(A_far, X_far).argsort(1)[:, :5],
              brute.kneighbors(A_far)[1], nearest(A_far, X_far, 5, 64))
    right = [(route == truth).all(1).mean() for route in routes]
    kept = candidates(A_far, X_far, 5).sum(1).mean()
    print(f'shift {shift:7.0e}: right for all questions: expansion '
          f'{right[0] == 1}, scikit-learn by brute force {right[1] == 1}, '
          f'with candidates {right[2] == 1} ({kept:.0f} each)')
middle = X_far.mean(0)
near = expanded(A_far - middle, X_far - middle).argsort(1)[:, :5]
assert (near == truth).all()

# %% [markdown]
# With `algorithm='brute'` scikit-learn expands as well and goes wrong as well. Our candidates become all 400 examples: the
# search turns slow, not wrong. (To subtract the mean first is a cure here, but not for tight groups far from one
# another.) The two rules themselves are now short.

# %%
def classify(X, y, new, k):  # labels 0, 1, ... -> (m,)
    votes = y[nearest(new, X, k, 200)]  # (m, k)
    return (votes[:, :, None] == np.arange(y.max() + 1)).sum(1).argmax(1)

def regress(X, y, new, k):
    return y[nearest(new, X, k, 200)].mean(1)

# %% [markdown]
# **The k-d tree.** If you have found an example at distance 1, you need not look at a region at distance 10. A *k-d tree*
# {cite}`bentley1975multidimensional` cuts the examples in two halves at the median of the coordinate in which they spread
# most, each half again, and so on down to leaves of at most eight. Every node owns a box, a product of intervals, some of
# them infinite. How far is a question $\mathbf{a}$ from a box? In each coordinate by some gap $g_j$, zero if $a_j$ lies in
# the interval; so no point of the box is nearer than $\|\mathbf{g}\|$. One step down, the half on $\mathbf{a}$'s side of
# the cut keeps the gaps, and for the other half one gap becomes the distance from the cut.
#
# ```{prf:theorem} The tree forgets nobody
# :label: thm-knn-tree
# Visit the nearer half first, and skip a box if $k$ examples have been found and the farthest of them is at a distance
# *less* than $\|\mathbf{g}\|$ from $\mathbf{a}$. In exact arithmetic the search ends with the neighbours of
# {prf:ref}`def-knn`, ties included.
# ```
#
# ```{prf:proof}
# Let $t$ be the final distance of the $k$-th found. During the search this distance only falls, so a box was skipped
# only if $\|\mathbf{g}\| > t$: its points are all farther than $t$, and none of them is a neighbour. All points not
# farther than $t$ were seen, and the best of those seen are kept, the lower index first.
# ```

# %%
def build(X, rows, leaf):
    if len(rows) <= leaf:
        return rows
    axis = np.ptp(X[rows], axis=0).argmax()  # the widest
    rows = rows[X[rows, axis].argsort(kind='stable')]
    half = len(rows) // 2
    return (axis, X[rows[half], axis],
            build(X, rows[:half], leaf), build(X, rows[half:], leaf))

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
        side = int(a[axis] >= cut)
        visit(halves[side], gaps)
        visit(halves[1 - side],
              np.where(np.arange(len(a)) == axis, a[axis] - cut, gaps))
    visit(tree, np.zeros(len(a)))
    return [i for _, i in best], opened

# %% [markdown]
# A picture of one search, among 128 examples in 16 leaves:

# %%
def boxes(node, low, high):  # -> [(leaf, low, high), ...]
    if isinstance(node, np.ndarray):
        return [(node, low, high)]
    axis, cut, left, right = node
    here = np.arange(len(low)) == axis
    return [*boxes(left, low, np.where(here, cut, high)),
            *boxes(right, np.where(here, cut, low), high)]

X_small = np.random.default_rng(3).random((128, 2))
a_small = np.array([0.48, 0.23])
tree = build(X_small, np.arange(128), 8)
(winner,), opened = search(tree, X_small, a_small, 1)
leaves = boxes(tree, np.zeros(2), np.ones(2))
assert close(sum((high - low).prod() for _, low, high in leaves), 1)
assert all((low <= X_small[i]).all() and (X_small[i] <= high).all()
           for i, low, high in leaves)
print(len(opened), 'of', len(leaves), 'leaves opened')

# %% mystnb={"image": {"alt": "A square cut into sixteen boxes of eight points each. Around a star, the question, a circle through the nearest point reaches into three boxes, which are shaded."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(3.6, 3.6))
for i, low, high in leaves:
    seen = any(i is leaf for leaf in opened)
    ax.add_patch(plt.Rectangle(low, *(high - low), ec=GREY, lw=0.8,
                               fc='C1' if seen else 'none', alpha=0.3))
ax.plot(*X_small.T, 'o', ms=3)
ax.plot(*a_small, '*', ms=10, color='C4')
ax.add_patch(plt.Circle(a_small, norm(X_small[winner] - a_small), fill=False,
                        ec='C4'))
ax.set(aspect='equal', xlabel='x₁', ylabel='x₂', xlim=(-0.01, 1.01),
       ylim=(-0.01, 1.01), xticks=[0, 1], yticks=[0, 1]);

# %% [markdown] tags=["caption"]
# To find the nearest of 128 points the tree opens 3 of its 16 leaves: all other boxes lie outside the circle through that
# point.

# %% [markdown]
# How much does it save? We count leaves, which, unlike seconds, are the same on every machine:

# %%
def leaves_opened(X, A):  # mean number, for one neighbour
    tree = build(X, np.arange(len(X)), 8)
    return np.mean([len(search(tree, X, a, 1)[1]) for a in A])

rng = np.random.default_rng(0)
for n in (1024, 4096, 16384):
    opened = leaves_opened(rng.random((n, 2)), rng.random((100, 2)))
    print(f'{n:5} examples in the plane, {n // 8:4} leaves: '
          f'{opened:.2f} opened')

# %% [markdown]
# Sixteen times as many examples, and still about two leaves: in the plane, a question costs a walk of $\log_2 n$ steps
# down the tree and little else {cite}`friedman1977algorithm`. We shall see how that ends. And seconds? The walk is made in
# Python, the blocked search in compiled code:

# %%
def tree_wins(X, A):  # in seconds, without the time of building it
    tree = build(X, np.arange(len(X)), 8)
    blocked, searched = seconds(
        lambda: nearest(A, X, 1, 100),
        lambda: [search(tree, X, a, 1) for a in A], rounds=2)
    return searched < blocked

for n in (1024, 65536):
    faster = tree_wins(rng.random((n, 2)), rng.random((100, 2)))
    print(f'{n:5} examples, 100 questions: the tree is faster: {faster}')

# %% [markdown]
# For a thousand examples the blocked search is faster, though it computes every distance. Its work grows with $n$, that of
# the tree hardly, so with many examples the tree wins. Building it costs time as well, but only once: it pays when many
# questions are asked.
#
# ```{exercise} ★ Who is nearer says more
# :label: knn-weighted
# Give each of the $k$ neighbours a weight inversely proportional to its distance, and return the weighted mean of
# their targets: `weighted(X, y, a, k)` for one question `a`.
# ```

# %%
def weighted(X, y, a, k):
    raise NotImplementedError('your turn')

# %%
def by_sklearn(X, y, a, k):
    model = KNeighborsRegressor(k, weights='distance').fit(X, y)
    return model.predict(a[None])[0]

rng = np.random.default_rng(1)
weighings = [(rng.normal(size=(30, d)), rng.normal(size=30),
              rng.normal(size=d), k) for d, k in ((1, 1), (2, 3), (4, 10))]
grade(weighted, by_sklearn, weighings)

# %% [markdown]
# ```{solution-start} knn-weighted
# :class: dropdown
# ```
# Order by distance, cut, weigh, and divide by the sum of the weights. The search works with *squared* distances; who
# forgets the root weighs by $1/D$. (At distance zero one would give all the weight to that example.)

# %% jupyter={"source_hidden": true}
def weighted_solution(X, y, a, k):
    distances = norm(X - a, axis=1)
    near = distances.argsort()[:k]
    weights = 1 / distances[near]
    return weights @ y[near] / weights.sum()

def without_root(X, y, a, k):
    D = ((X - a)**2).sum(1)
    near = D.argsort()[:k]
    return (y[near] / D[near]).sum() / (1 / D[near]).sum()

assert grade(weighted_solution, by_sklearn, weighings)
assert not grade(without_root, by_sklearn, weighings)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def rounding_bounded(seed, shift, bound):
    a, x = shift + np.random.default_rng(seed).normal(size=(2, 1, 5))
    exact = sum((Fraction(s) - Fraction(t))**2
                for s, t in zip(a[0], x[0], strict=True))
    error = abs(Fraction(expanded(a, x).item()) - exact)
    return float(error) <= bound(a, x).item()

def finds(search, seed, k, shift=0):
    A, X = (points + shift for points in questions(seed))
    return (search(A, X, k) == cKDTree(X).query(A, range(1, k + 1))[1]).all()
verify(
    'the expansion errs at most by the bound',
    lambda seed, shift: rounding_bounded(seed, shift, doubt),
    slip=(
        'measures the error by the distance between the points',
        lambda seed, shift: rounding_bounded(
            seed, shift, lambda a, x: EPS * 7 * norm(a - x) ** 2
        ),
    ),
    seed=seeds(),
    shift=[0, 1e3, 1e8],
    tries=60,
)
verify(
    'the blocked search finds the neighbours that scipy finds',
    lambda seed, k, size, shift: finds(
        lambda A, X, k: nearest(A, X, k, size), seed, k, shift
    ),
    slip=(
        'forgets the squared length of the example',
        lambda seed, k, size, shift: finds(
            lambda A, X, k: (-A @ X.T).argsort(1)[:, :k], seed, k, shift
        ),
    ),
    seed=seeds(),
    k=[1, 2, 7],
    size=[1, 5, 100],
    shift=[0, 1e8],
    tries=40,
)

def predicts(rule, oracle, seed, k, off):
    A, X = questions(seed)
    y = np.floor(1.5 * abs(X @ [1, -1, 2])).astype(int)
    got = rule(X, y, A, k + off)
    return close(got, oracle(k).fit(X, y).predict(A))
verify(
    'the vote is that of scikit-learn',
    lambda seed, k: predicts(classify, KNeighborsClassifier, seed, k, 0),
    slip=(
        'asks one neighbour more',
        lambda seed, k: predicts(classify, KNeighborsClassifier, seed, k, 1),
    ),
    seed=seeds(),
    k=[1, 4, 9],
    tries=30,
)

# %% tags=["checks"]
verify(
    'the mean is that of scikit-learn',
    lambda seed, k: predicts(regress, KNeighborsRegressor, seed, k, 0),
    slip=(
        'averages over one neighbour more',
        lambda seed, k: predicts(regress, KNeighborsRegressor, seed, k, 1),
    ),
    seed=seeds(),
    k=[1, 4, 9],
    tries=30,
)

# %% tags=["checks"]
def by_sorting(A, X, k):
    D = ((A[:, None] - X)**2).sum(2)
    return D.argsort(1, kind='stable')[:, :k]

def agrees_on_lattice(seed, k, **options):
    rng = np.random.default_rng(seed)
    A, X = rng.integers(0, 9, (9, 3)) / 2, rng.integers(0, 4, (70, 3)) * 1.0
    tree = build(X, np.arange(70), 4)
    got = [search(tree, X, a, k, **options)[0] for a in A]
    truth = by_sorting(A, X, k)
    return (got == truth).all() and (nearest(A, X, k, 4) == truth).all()

def by_tree(A, X, k, **options):
    tree = build(X, np.arange(len(X)), 8)
    return [search(tree, X, a, k, **options)[0] for a in A]

verify(
    'the tree finds the neighbours that scipy finds',
    lambda seed, k: finds(by_tree, seed, k),
    slip=(
        'compares gaps with squared distances',
        lambda seed, k: finds(
            lambda A, X, k: by_tree(
                A, X, k, bound=lambda gaps: abs(gaps).sum()
            ),
            seed,
            k,
        ),
    ),
    seed=seeds(),
    k=[1, 3, 8],
    tries=30,
)
verify(
    'the tree and the blocked search agree on ties',
    agrees_on_lattice,
    slip=(
        'skips a box at equal distance',
        lambda seed, k: agrees_on_lattice(
            seed, k, bound=lambda gaps: gaps @ gaps + 1e-9
        ),
    ),
    seed=seeds(),
    k=[1, 3, 8],
    tries=30,
)

# %% [markdown]
# ## The risk of nearest neighbours: Cover and Hart, and the choice of k
#
# This section continues [Finding the neighbours: brute force and the k-d
# tree](#finding-the-neighbours-brute-force-and-the-k-d-tree), with its classifier. One neighbour looks naive: out of a
# million examples it believes a single one, however noisy. How much does it lose to the [best
# possible](discriminant_analysis.ipynb) classifier, which knows the probabilities $p_j(\mathbf{x})$ of all $q$ labels and
# has the risk $R^* = \mathbb{E}[1 - \max_j p_j(\mathbf{x})]$? With endless data, at most a factor of two:
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
# So half of what endless data could tell about a label sits in the single nearest example {cite}`cover1967nearest`. Where
# noise is rare, copying costs twice the noise: my label may be odd, or my twin's. Continuity makes the proof short; the
# theorem holds without it {cite}`stone1977consistent`, which we do not prove.
#
# **An exact answer on the circle.** How many examples does the limit need? On a circle of circumference 1 let $x$ be
# uniform and $\eta(x) = P(y = 1 \mid x) = \frac12 + a \cos 2 \pi x$. The neighbour is at $x \pm D$, both signs equally
# likely, and $D > t/2$ if all $n$ examples avoid an arc of length $t$: $P(2D > t) = (1 - t)^n$, wherever $x$ is. Copying
# errs with probability $\eta (1 - \eta') + (1 - \eta) \eta' = \frac12 - 2 (\eta - \frac12)(\eta' - \frac12)$, and for given
# $D$ the mean of $\cos(2 \pi x) \cos(2 \pi (x \pm D))$ over the circle is $\frac12 \cos 2 \pi D$. So for *every* $n$
#
# ```{math}
# :label: knn-circle
# R_n = \frac12 - a^2 \int_0^1 \cos(\pi t) \; n (1 - t)^{n - 1} \, dt .
# ```
#
# With more and more examples this tends to $\frac12 - a^2$. The limit is
# $R_{\text{NN}} = \mathbb{E}[2 \eta (1 - \eta)]$, as {eq}`knn-limit` demands, while
# $R^* = \mathbb{E}[\frac12 - |\eta - \frac12|] = \frac12 - \frac{2a}{\pi}$. Twenty thousand fresh training sets for
# each $n$, each asked one question, show how fast the limit is reached:

# %%
def circle(rng, eta, n, runs):  # gaps (runs, n), their labels, truth (runs, 1)
    x, x_new = rng.random((runs, n)), rng.random((runs, 1))
    gap = abs(x - x_new)
    return (np.minimum(gap, 1 - gap), rng.random((runs, n)) < eta(x),
            rng.random((runs, 1)) < eta(x_new))

def copying(seed, eta, n, runs=20_000):  # measured risk of one neighbour
    gap, y, truth = circle(np.random.default_rng(seed), eta, n, runs)
    return (np.take_along_axis(y, gap.argmin(1)[:, None], 1) != truth).mean()

def wave(a):
    return lambda x: 0.5 + a * np.cos(2 * np.pi * x)

def five_errors(R, runs=20_000):
    return 5 * np.sqrt(R * (1 - R) / runs)

def by_integral(a, n, angle=np.pi):
    wave_mean = quad(lambda t: np.cos(angle * t) * n * (1 - t)**(n - 1), 0, 1)
    return 0.5 - a**2 * wave_mean[0]

for n in (1, 2, 5, 40):
    print(f'{n:2} examples: measured {copying(0, wave(0.4), n):.3f}, '
          f'integral {by_integral(0.4, n):.3f}')

# %% [markdown]
# Both ends of {eq}`knn-cover-hart` can occur. If $\eta$ is constant, $r$ is, Jensen's step loses nothing, and
# $R_{\text{NN}} = 2 R^* (1 - R^*)$. If each case is either certain or a fair coin, $\eta \in \{0, \frac12\}$, copying is as
# good as the best. Here are three families of laws on the circle, with $n = 100$. The bands of the figure have two parts:
# five standard errors, and $|R_n - R_{\text{NN}}| \le \frac{1}{n + 1}$. (In the first family the difference is zero; in the
# second at most half the probability that the neighbour is across one of two borders, which is $2 \, \mathbb{E}[D] =
# \frac{1}{n + 1}$; in the third at most $a^2 \pi^2 / n^2$, by {eq}`knn-circle`.)

# %%
def arc(s):  # a coin on an arc of length s, certainty elsewhere
    return lambda x: 0.5 * (x < s)

laws = {  # family: (eta, R*, E[2 eta (1 - eta)]) for each member
    'constant': [(lambda x, c=c: c + 0 * x, c, 2 * c * (1 - c))
                 for c in (0.1, 0.2, 0.35)],
    'coin or certain': [(arc(s), s / 2, s / 2) for s in (0.25, 0.5, 0.75)],
    'wave': [(wave(a), 0.5 - 2 * a / np.pi, 0.5 - a**2)
             for a in (0.25, 0.4, 0.5)],
}
measured = {(name, i): copying(i, eta, 100) for name, family in laws.items()
            for i, (eta, _, _) in enumerate(family)}

# %% mystnb={"image": {"alt": "Risk of one neighbour against Bayes risk. Between the line of equal risk below and the curve 2R(1-R) above lies a shaded lens. Dots of the constant law lie on the curve, those of coin or certain on the line, those of the wave between, nearer to the curve."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
R = np.linspace(0, 0.5, 101)
ax.fill_between(R, R, 2 * R * (1 - R), color=GREY, alpha=0.15, lw=0)
ax.plot(R, 2 * R * (1 - R), color=GREY, lw=1)
ax.plot(R, R, color=GREY, lw=1)
for name, family in laws.items():
    risk = np.array([measured[name, i] for i in range(3)])
    ax.errorbar([best for _, best, _ in family], risk,
                yerr=five_errors(risk) + 1 / 101, fmt='o', capsize=3,
                label=name)
ax.text(0.2, 0.37, '2R*(1 − R*)', ha='right')
ax.text(0.22, 0.18, 'R*')
ax.set(xlabel='Bayes risk R*', ylabel='risk of one neighbour',
       xlim=(0, 0.52), ylim=(0, 0.55))
ax.legend(loc='lower right');

# %% [markdown] tags=["caption"]
# Both ends of the bound of Cover and Hart occur, here with $n = 100$: a constant law costs $2R^*(1 - R^*)$, coin or
# certainty no more than $R^*$.

# %% [markdown]
# **More neighbours.** To get below $R_{\text{NN}}$, ask several. Let there be two classes and $k$ be odd, so that no
# vote is tied. Endless data provide $k$ twins, whose labels are $k$ tosses of the same coin:
#
# ````{prf:theorem} A vote of twins
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

# %%
def rho(k, r):
    return r + (1 - 2 * r) * stats.binom.sf(k / 2, k, r)

# %% [markdown]
# So should $k$ be large? With endless data, yes. With $n$ examples the outer ones of $k$ neighbours are no twins, and
# for $k = n$ everybody gets the same answer. For regression one can read off the price exactly. If
# $y^{(i)} = f(\mathbf{x}^{(i)}) + $ independent noise of mean 0 and variance $\sigma^2$, then, given the places,
#
# ```{math}
# :label: knn-bias-variance
# \mathbb{E} \Big[ \big( \hat f_k(\mathbf{x}) - f(\mathbf{x}) \big)^2 \Big]
# = \Big( \frac1k \sum_{i \in N_k} f(\mathbf{x}^{(i)}) - f(\mathbf{x}) \Big)^2 + \frac{\sigma^2}{k} ,
# ```
#
# where $N_k$ are the neighbours: given the places the bracket is fixed, and the mean of $k$ independent noises has mean 0
# and variance $\sigma^2 / k$. The second part falls with $k$, the first tends to grow as the neighbours get farther. For
# continuous $f$ and a possible $\mathbf{x}$ both vanish if $k \to \infty$ but $k/n \to 0$. The same makes the risk of the
# classifier converge to $R^*$, for *every* law {cite}`stone1977consistent`, which we do not prove. Now the circle with $a =
# 0.4$: all odd $k$ at once, by running totals of the votes.

# %%
def vote_risks(seed, n, runs=8000):  # risks for k = 1, 3, 5, ...
    gap, y, truth = circle(np.random.default_rng(seed), wave(0.4), n, runs)
    ones = np.take_along_axis(y, gap.argsort(1), 1).cumsum(1)[:, ::2]
    return ((2 * ones > np.arange(1, n + 1, 2)) != truth).mean(0)

def limit(k):
    return 4 * quad(lambda x: rho(k, 0.5 - 0.4 * np.cos(2 * np.pi * x)),
                    0, 0.25)[0]

curves = {n: vote_risks(0, n) for n in (51, 201, 801)}
for n, risk in curves.items():
    print(f'{n:3} examples: one neighbour {risk[0]:.2f}, three '
          f'{risk[1]:.2f}, 21 {risk[10]:.2f}, all {risk[-1]:.2f}')
print(f'limit of one {limit(1):.2f}, of three {limit(3):.2f}; '
      f'Bayes {0.5 - 0.8 / np.pi:.2f}')

# %% mystnb={"image": {"alt": "Risk against the number of neighbours on a logarithmic axis, for 51, 201 and 801 examples with bands. All curves begin near 0.34, fall toward the dotted Bayes risk at 0.25, the lower and the longer the more examples there are, and rise to one half when all examples vote. A dashed curve, the limit, falls on."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
for n, risk in curves.items():
    k, width = np.arange(1, n + 1, 2), 0.4 * five_errors(risk, 8000)
    ax.plot(k, risk, label=f'n = {n}')
    ax.fill_between(k, risk - width, risk + width, alpha=0.2, lw=0)
k = np.arange(1, 202, 2)
ax.plot(k, [limit(j) for j in k], '--', color=GREY, label='limit')
ax.axhline(0.5 - 0.8 / np.pi, color=GREY, ls=':')
ax.text(1, 0.238, 'Bayes', va='top')
ax.set(xscale='log', xlabel='neighbours k', ylabel='risk', ylim=(0.21, 0.54))
ax.legend(loc='upper left');

# %% [markdown] tags=["caption"]
# More votes lower the risk from 0.34 toward the Bayes risk until $k$ is a large part of $n$; when all examples vote, it is
# one half.

# %% [markdown]
# In the plane one sees what $k$ does to the border. The label is 1 with probability 0.85 above a curve and 0.15 below it:
# the best risk is 0.15, the limit for one neighbour $2 \cdot 0.15 \cdot 0.85 = 0.255$. With 121 examples it is a little
# more, for some neighbours lie across the border.

# %%
def plane(rng, n):
    x = rng.random((n, 2))
    above = x[:, 1] > 0.5 + 0.25 * np.sin(2 * np.pi * x[:, 0])
    return x, (rng.random(n) < np.where(above, 0.85, 0.15)).astype(int)

def plane_errors(seed):
    rng = np.random.default_rng(seed)
    (X, y), (new, truth) = plane(rng, 121), plane(rng, 1000)
    return [(classify(X, y, new, k) != truth).mean() for k in (1, 15, 121)]

# %%
errors = np.array([plane_errors(seed) for seed in range(10)])  # (10, 3)
for k, mean, spread in zip((1, 15, 121), errors.mean(0), errors.std(0),
                           strict=True):
    print(f'k = {k:3}: error {mean:.3f} ± {spread:.4f}')
X_plane, y_plane = plane(np.random.default_rng(0), 121)
u = (np.arange(60) + 0.5) / 60
grid = np.stack(np.meshgrid(u, u), 2).reshape(-1, 2)
maps = {k: classify(X_plane, y_plane, grid, k).reshape(60, 60)
        for k in (1, 15, 121)}

# %% mystnb={"image": {"alt": "Three maps of a square with 121 points of two classes and a wave as Bayes border. One neighbour: a patchwork with islands around odd points. Fifteen: a border near the wave. All 121: one colour everywhere."}} tags=["hide-input"]
fig, axes = panels(3, height=2.3, sharey=True)
for ax, (k, regions) in zip(axes, maps.items(), strict=True):
    ax.contourf(u, u, regions, [-0.5, 0.5, 1.5], colors=['C0', 'C1'],
                alpha=0.25)
    for j in (0, 1):
        ax.plot(*X_plane[y_plane == j].T, 'o', ms=2.5, color=f'C{j}')
    ax.plot(u, 0.5 + 0.25 * np.sin(2 * np.pi * u), '--', color=GREY)
    ax.set(title=f'k = {k}', aspect='equal', xlabel='x₁', xlim=(0, 1),
           ylim=(0, 1), xticks=[0, 1], yticks=[0, 1])
axes[0].set(ylabel='x₂');

# %% [markdown] tags=["caption"]
# Of 121 examples, one neighbour draws islands around odd labels, fifteen come near the Bayes border (dashed), and all of
# them know only the commonest label.

# %% [markdown]
# ```{exercise} ★★ An even number
# :label: knn-even
# Endless data, two classes, and an *even* number $k$ of neighbours; a tie is decided by a fair coin. Write
# `even_risk(k, eta)`, the probability of an error at an input with $P(y = 1) = \eta$. What is the second of two
# neighbours good for?
# ```

# %%
def even_risk(k, eta):
    raise NotImplementedError('your turn')

# %%
def by_all_votes(k, eta):
    votes = np.array(list(product([0, 1], repeat=k)))  # (2^k, k)
    chance = np.where(votes == 1, eta, 1 - eta).prod(1)
    says_one = (np.sign(votes.mean(1) - 0.5) + 1) / 2  # a tie: 1/2
    return chance @ (says_one * (1 - eta) + (1 - says_one) * eta)

evens = [(2, 0.3), (4, 0.1), (6, 0.8), (8, 0.45)]
grade(even_risk, by_all_votes, evens)

# %% [markdown]
# ```{solution-start} knn-even
# :class: dropdown
# ```
# Let the $k$-th neighbour vote last, $k = 2m$. It changes something only if it makes a tie. A lead of one for the wrong
# label and then a tie has the probability $\binom{k-1}{m} r^m (1 - r)^m$, and so has a lead of one for the right label and
# then a tie. The coin turns round half of either, and the two cancel: $\rho_k = \rho_{k-1}$. The second neighbour is
# good for nothing. Who lets a tie always say 0 gets another number.

# %% jupyter={"source_hidden": true}
def even_risk_solution(k, eta):
    return rho(k - 1, min(eta, 1 - eta))

def tie_says_no(k, eta):
    says_one = stats.binom.sf(k / 2, k, eta)
    return says_one * (1 - eta) + (1 - says_one) * eta

assert grade(even_risk_solution, by_all_votes, evens)
assert not grade(tie_says_no, by_all_votes, evens)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def locally_bounded(seed, q, factor):
    p = np.random.default_rng(seed).dirichlet(np.ones(q))
    r, copied = 1 - p.max(), 1 - (p**2).sum()
    return r <= copied <= 2 * r - factor(q) * r**2 + 1e-12
verify(
    'at every input, copying a twin errs at most 2r - q r²/(q - 1)',
    lambda seed, q: locally_bounded(seed, q, lambda q: q / (q - 1)),
    slip=(
        'takes the bound of two classes for all',
        lambda seed, q: locally_bounded(seed, q, lambda q: 2),
    ),
    seed=seeds(),
    q=[2, 3, 10],
)

def as_derived(seed, a, n, angle):
    R = by_integral(a, n, angle)
    return abs(copying(seed, wave(a), n) - R) < five_errors(R)
verify(
    'the risk of one neighbour on the circle is the integral',
    lambda seed, a, n: as_derived(seed, a, n, np.pi),
    slip=(
        'takes the arc for the distance',
        lambda seed, a, n: as_derived(seed, a, n, 2 * np.pi),
    ),
    seed=[0, 1],
    a=[0.3, 0.5],
    n=[1, 2, 5, 40],
    tries=12,
)

def near_limit(name, i, formula):
    _, best, limit = laws[name][i]
    want = formula(best, limit)
    return abs(measured[name, i] - want) < five_errors(want) + 1 / 101
verify(
    'with 100 examples the risk is near the limit of Cover and Hart',
    lambda name, i: near_limit(name, i, lambda best, limit: limit),
    slip=(
        'takes the upper bound for the limit',
        lambda name, i: near_limit(
            name, i, lambda best, limit: 2 * best * (1 - best)
        ),
    ),
    name=list(laws),
    i=[0, 1, 2],
    tries=30,
)

# %% tags=["checks"]
def votes_help(k, r, bound):
    return r <= rho(k + 2, r) <= rho(k, r) + 1e-12 and (
        rho(k, r) - r <= bound(k)
    )
verify(
    'two more voters never hurt, and k of them err at most 1/√k too often',
    lambda k, r: votes_help(k, r, lambda k: 1 / np.sqrt(k)),
    slip=(
        'lets the excess fall like 1/k',
        lambda k, r: votes_help(k, r, lambda k: 1 / k),
    ),
    k=[1, 3, 9, 201],
    r=scalars(0, 0.5),
)

# %% tags=["checks"]
def close_to_limit(k, vote):  # 801 examples
    far = 0.8 * np.pi * k * (k + 1) / (4 * 802)
    band = five_errors(limit(vote(k)), 8000) + far
    return abs(curves[801][k // 2] - limit(vote(k))) < band

verify(
    'the votes of one and three neighbours have the limits derived',
    lambda k: close_to_limit(k, lambda k: k),
    slip=(
        'takes the limit of one neighbour for three',
        lambda k: close_to_limit(k, lambda k: 1),
    ),
    k=[1, 3],
)

def squared_error(seed, k, sigma=0.7, runs=5000):
    rng = np.random.default_rng(seed)
    X, a = rng.normal(size=(40, 2)), np.array([[0.3, -0.2]])
    f = lambda X: np.sin(2 * X[:, 0]) + X[:, 1]
    y = f(X)[:, None] + sigma * rng.normal(size=(40, runs))
    errors = (regress(X, y, a, k) - f(a)) ** 2  # (1, runs)
    return errors, (regress(X, f(X), a, k) - f(a))[0] ** 2, sigma**2

def splits_in_two(seed, k, share):
    errors, bias, noise = squared_error(seed, k)
    band = 5 * errors.std() / np.sqrt(errors.size)
    return abs(errors.mean() - bias - share * noise) < band

verify(
    'bias and noise add up, and of the noise a k-th part is left',
    lambda seed, k: splits_in_two(seed, k, 1 / k),
    slip=(
        'divides the noise by k²',
        lambda seed, k: splits_in_two(seed, k, 1 / k**2),
    ),
    seed=seeds(),
    k=[1, 3, 10],
    tries=30,
)

# %% [markdown]
# ## The curse of dimensionality
#
# This section continues [Finding the neighbours: brute force and the k-d
# tree](#finding-the-neighbours-brute-force-and-the-k-d-tree), with its tree. The theorems above wait for the neighbour to
# arrive. How long? A cube that holds the share $\alpha$ of a unit cube's volume has edges of length $\alpha^{1/d}$. In ten
# dimensions one percent of uniform examples need a cube with edges of 0.63: hardly a neighbourhood.
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
# With two classes the risk $R_n$ of one neighbour differs from its limit by
# $\mathbb{E} \big[ (\eta' - \eta) (1 - 2 \eta) \big]$, where $\eta' = \eta(\mathbf{x}')$. If $|\eta(\mathbf{x}) -
# \eta(\mathbf{z})| \le c \, \|\mathbf{x} - \mathbf{z}\|$, then by {eq}`knn-cover-hart`
#
# ```{math}
# :label: knn-finite
# R_n \le 2 R^* (1 - R^*) + 3 c \sqrt d \; n^{-1/d} \qquad (d \ge 2) ,
# ```
#
# a bound for every $n$ (with the exponent $-\frac{1}{d + 1}$ in {cite}`shalev2014understanding`). And the lower bound says
# that for the *distance* no proof can improve the exponent; the risk may fall faster, as it did on the circle.

# %%
def ball(d):
    return np.pi**(d / 2) / special.gamma(d / 2 + 1)

# %%
for d in (2, 5, 10, 20):
    edge, needed = 0.01**(1 / d), (d / (d + 1) / 0.1)**d / ball(d)
    assert close(edge**d, 0.01)
    print(f'{d:2} dimensions: one percent needs edges of {edge:.3f}; '
          f'mean distance 0.1 needs at least {needed:.3g} examples')

# %% [markdown]
# At the same time "nearest" loses its meaning. Let the coordinates of all points be independent and of one law. A
# squared distance is then a sum of $d$ independent terms of one law, say with mean $\mu > 0$ and finite variance $v$.
# Such a sum [concentrates](../probability/concentration.ipynb):
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
# $D_i$ has mean $d \mu$ and variance $d v$, so by Chebyshev's inequality it is off by more than $\varepsilon d \mu$ with
# probability at most $d v / (\varepsilon d \mu)^2$, and one of $n$ is with at most $n$ times this probability. If none is,
# the ratio is at most that of $(1 + \varepsilon) d \mu$ and $(1 - \varepsilon) d \mu$.
# ````
#
# For uniform coordinates $\mu = \frac16$ and $v = \frac1{15} - \frac1{36}$, so $v / \mu^2 = \frac75$: relative to its mean
# a squared distance has the variance $\frac{7}{5d}$. (Weaker hypotheses do, too {cite}`beyer1999nearest`.) So the gap
# between the farthest and the nearest of ten, relative to the mean, should shrink as $1 / \sqrt d$.

# %%
def spread(seed, d, runs=300, n=10):  # (farthest - nearest) / mean, error
    rng = np.random.default_rng(seed)
    D = ((rng.random((runs, n, d)) - rng.random((runs, 1, d)))**2).sum(2)
    gap = np.ptp(D, axis=1) / (d / 6)
    return gap.mean(), gap.std() / np.sqrt(runs)

for d in (2, 50, 800):
    gap, _ = spread(0, d)
    print(f'{d:3} dimensions: (farthest - nearest) / mean {gap:.2f}')

# %% [markdown]
# Our tree suffers the same fate. The ball around the question that reaches to the nearest example no longer fits into a
# few boxes; it cuts them all. We count leaves again, for 4096 examples, and put beside the uniform cube a second kind
# of data: points of a *plane*, turned at random into $d$ dimensions. Their distances are those in the plane.

# %%
def cube(rng, n, d):
    return rng.random((n, d))

def tilted_plane(rng, n, d):
    frame = np.linalg.qr(np.random.default_rng(d).normal(size=(d, 2)))[0]
    return rng.random((n, 2)) @ frame.T  # (n, d)

def near_to_far(X, A):  # mean ratio of nearest and farthest distance
    D = ((A[:, None] - X)**2).sum(2)
    return np.sqrt(D.min(1) / D.max(1)).mean()

dims = 2, 4, 6, 8, 10, 12, 16, 20
ratios, shares = {}, {}
for kind in (cube, tilted_plane):
    rng = np.random.default_rng(0)
    sets = [(kind(rng, 4096, d), kind(rng, 25, d)) for d in dims]
    ratios[kind] = [near_to_far(*pair) for pair in sets]
    shares[kind] = [leaves_opened(*pair) / 512 for pair in sets]
    print(f'{kind.__name__:12} nearest / farthest in 2 and 20 dimensions: '
          f'{ratios[kind][0]:.4f}, {ratios[kind][-1]:.4f}; '
          f'leaves opened: {shares[kind][0]:.4f}, {shares[kind][-1]:.4f}')

# %% mystnb={"image": {"alt": "Left: ratio of nearest to farthest distance against dimension. For the cube it rises from near zero to above one third, for the tilted plane it stays near zero. Right: share of the leaves opened; for the cube it rises from near zero to nearly all, for the plane it stays near zero."}} tags=["hide-input"]
fig, axes = panels(2, height=2.6)
for ax, values in zip(axes, (ratios, shares), strict=True):
    for kind, name in ((cube, 'uniform cube'), (tilted_plane, 'tilted plane')):
        ax.plot(dims, values[kind], 'o-', label=name)
    ax.set(xlabel='dimension d', xlim=(0, 21))
axes[0].set(ylabel='nearest / farthest', ylim=(0, 0.6))
axes[1].set(ylabel='share of leaves opened', ylim=(0, 1.03))
axes[0].legend(loc='upper left');

# %% [markdown] tags=["caption"]
# In a uniform cube of 20 dimensions the nearest of 4096 points is more than a third as far as the farthest, and the tree
# opens nearly every leaf; a tilted plane stays easy.

# %% [markdown]
# In twenty dimensions the tree opens nearly every leaf and saves nothing. But in the tilted plane nothing changes,
# however many coordinates are written down. What counts is not how many numbers describe a point but in how many
# directions the data really spread. How do real pictures fare, 64 pixels each? We compare the digits with a fake: each
# pixel is shuffled among the pictures, so that it keeps its values but knows nothing of the other pixels.

# %%
x, label, _ = digits()
rng = np.random.default_rng(0)
fake = rng.permuted(x, axis=0)
for name, pictures in (('digits', x), ('shuffled pixels', fake)):
    order = np.random.default_rng(1).permutation(1797)
    A, X = pictures[order[:50]], pictures[order[50:]]
    print(f'{name:15} nearest / farthest {near_to_far(X, A):.2f}, '
          f'leaves opened {leaves_opened(X, A) / 256:.2f}')

# %% [markdown]
# Relative to the farthest, the nearest picture is twice as near as it would be without structure: there is a
# neighbourhood. But the tree must open most of its leaves: the dimension hurts the search before it hurts the rule.
#
# ```{exercise} ★★ An empty middle
# :label: knn-ball
# $n$ examples are uniform in the unit ball of $\mathbb{R}^d$, and you ask at its centre. Write `median_distance(n, d)`,
# the median of the distance to the nearest one. What is it for 500 examples in ten dimensions?
# ```

# %%
def median_distance(n, d):
    raise NotImplementedError('your turn')

# %%
def by_order_statistics(n, d):  # the least of n uniform volumes is a beta
    return stats.beta(1, n).median()**(1 / d)

balls = [(500, 10), (1, 1), (20, 3), (10, 50)]
grade(median_distance, by_order_statistics, balls)

# %% [markdown]
# ```{solution-start} knn-ball
# :class: dropdown
# ```
# One example is farther than $t$ with probability $1 - t^d$, all are with $(1 - t^d)^n = \frac12$, so
# $t = (1 - 2^{-1/n})^{1/d}$. For 500 examples in ten dimensions that is 0.52: the nearest is already farther from the
# centre than from the surface {cite}`hastie2009elements`. The wrong answer spreads the volume evenly, each example its
# $n$-th part.

# %% jupyter={"source_hidden": true}
def median_distance_solution(n, d):
    return (1 - 0.5**(1 / n))**(1 / d)

def even_parts(n, d):
    return (1 / n)**(1 / d)

print(f'{median_distance_solution(500, 10):.2f}')
assert grade(median_distance_solution, by_order_statistics, balls)
assert not grade(even_parts, by_order_statistics, balls)

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
    slip=(
        'lets the distance fall like 1/√n in every dimension',
        lambda seed, d, n: arrives(seed, d, n, n ** (-1 / 2)),
    ),
    seed=[0, 1],
    d=[2, 3, 6, 10],
    n=[20, 200, 1000],
    tries=20,
)

def finite_risk(seed, d, n, c, runs=3000):
    rng = np.random.default_rng(seed)
    eta = lambda x: 0.5 + 0.5 * np.cos(2 * np.pi * x[..., 0])
    x, x_new = rng.random((runs, n, d)), rng.random((runs, d))
    D = ((x - x_new[:, None])**2).sum(2)
    near = x[np.arange(runs), D.argmin(1)]  # (runs, d)
    wrong = (rng.random(runs) < eta(near)) != (rng.random(runs) < eta(x_new))
    best = 0.5 - 1 / np.pi
    bound = 2 * best * (1 - best) + c * np.sqrt(D.min(1)).mean()
    return wrong.mean() < bound + 2.5 / np.sqrt(runs)  # five errors
verify(
    'the risk exceeds 2R*(1 - R*) by at most c times the mean distance',
    lambda seed, d, n: finite_risk(seed, d, n, np.pi),
    slip=(
        'forgets the term with the distance',
        lambda seed, d, n: finite_risk(seed, d, n, 0),
    ),
    seed=[0, 1],
    d=[2, 6],
    n=[20, 100],
    tries=8,
)

# %% tags=["checks"]
def relative_variance(seed, d, power):
    rng = np.random.default_rng(seed)
    D = ((rng.random((4000, d)) - rng.random((4000, d)))**2).sum(1)
    square = (6 * D / d - 1)**2
    band = 5 * square.std() / np.sqrt(4000)
    return abs(square.mean() - 7 / 5 / d**power) < band
verify(
    'relative to its mean a squared distance has variance 7/(5d)',
    lambda seed, d: relative_variance(seed, d, 1),
    slip=(
        'divides by the square of the dimension',
        lambda seed, d: relative_variance(seed, d, 2),
    ),
    seed=seeds(),
    d=[1, 3, 30],
    tries=30,
)

def shrinks(seed, rate):
    (near, a), (far, b) = spread(seed, 50), spread(seed, 800)
    return abs(near - 16**rate * far) < 5 * (a + 16**rate * b)
verify(
    'the gap between farthest and nearest shrinks as 1/√d',
    lambda seed: shrinks(seed, 1 / 2),
    slip=('lets the gap shrink like 1/d', lambda seed: shrinks(seed, 1)),
    seed=[0, 1, 2],
)

# %% [markdown]
# ## Scaling the features and choosing k by leave-one-out
#
# This section continues [Finding the neighbours: brute force and the k-d
# tree](#finding-the-neighbours-brute-force-and-the-k-d-tree), with its classifier. Distance adds up the coordinates'
# squares as if they had one unit. The 178 wines of three growers {cite}`aeberhard1994comparative` are described by thirteen
# measurements, of which one, proline, runs from 278 to 1680:

# %%
wine = load_wine()
variance = wine.data.var(0)
share = variance[wine.feature_names.index('proline')] / variance.sum()
print(f'share of proline in the mean squared distance: {share:.3f}')

# %% [markdown]
# (The mean squared distance between two of the wines is twice the sum of the variances.) So the nearest wine is the one
# with nearly the same proline, and twelve measurements are wasted. The cure is to divide each by its standard deviation,
# *as found in the training part*: with those of all the data, the test examples would have had a say in how they are to be
# judged. scikit-learn's pipeline does the same, and agrees on every wine. We take twenty splits, 120 wines for training;
# the reference is the commonest grower of the training part.

# %%
def commonest(X, y, new, k):
    return np.full(len(new), np.bincount(y).argmax())

def scaled(X, y, new, k):
    unit = X.std(0)
    return classify(X / unit, y, new / unit, k)

def pipeline(X, y, new, k):
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(k))
    return model.fit(X, y).predict(new)

def split(data, truth, n, seed):  # n for training -> X, y, new, its labels
    order = np.random.default_rng(seed).permutation(len(data))
    old, held = order[:n], order[n:]
    return data[old], truth[old], data[held], truth[held]

# %%
ks, growers = (1, 5, 15, 45, 75, 105), {}
splits = [split(wine.data, wine.target, 120, seed) for seed in range(20)]
for name, rule in (('commonest', commonest), ('raw', classify),
                   ('scaled', scaled)):
    growers[name] = np.array([
        [(rule(X, y, new, k) == truth).mean() for k in ks]
        for X, y, new, truth in splits])  # (20, 6)
    right = growers[name][:, 1]
    print(f'{name:9} {right.mean():.3f} ± {right.std():.4f}')
for X, y, new, truth in splits:
    assert (scaled(X, y, new, 5) == pipeline(X, y, new, 5)).all()
wins = (growers['scaled'] > growers['raw'])[:, 1].sum()
print(f'scaled beats raw with 5 neighbours in {wins} of 20 splits')

# %% [markdown]
# And $k$? It must be chosen without the held-out examples as well. Nearest neighbours offer a bargain here: to *leave one
# out*, no fit has to be repeated. Find the $k + 1$ nearest of each training example among the training examples, strike out
# itself, and let the others vote. One search serves all $k$. If you forget to strike it out, one neighbour is always right.

# %%
def winners(y, near, ks):  # (m, k) neighbours -> (m, len(ks)) labels
    counts = np.eye(y.max() + 1)[y[near]].cumsum(1)  # (m, k, labels)
    return counts[:, np.array(ks) - 1].argmax(2)

def left_out(X, y, ks, strike=True):  # share of right votes for each k
    near = nearest(X, X, max(ks) + 1, 200)
    itself = near == np.arange(len(X))[:, None]
    if strike:
        near = near[~itself].reshape(len(X), -1)
    return (winners(y, near, ks) == y[:, None]).mean(0)

# %% [markdown]
# The digits, ten splits, $1797 - 1347 = 450$ pictures held out, $k$ chosen by leaving one out in the training part.
# Pixels have one unit; nothing is scaled. Beside the commonest digit stands the nearest *mean* picture, one neighbour
# among ten.

# %%
x, label, _ = digits()
ks_digits = 1, 3, 5, 9, 17, 33, 65
inside, held, references = [], [], []
for seed in range(10):
    X, y, new, truth = split(x, label, 1347, seed)
    means = np.array([X[y == j].mean(0) for j in range(10)])
    inside.append(left_out(X, y, ks_digits))
    near = nearest(new, X, max(ks_digits), 200)
    held.append((winners(y, near, ks_digits) == truth[:, None]).mean(0))
    references.append([
        (commonest(X, y, new, 1) == truth).mean(),
        (classify(means, np.arange(10), new, 1) == truth).mean()])
inside, held, references = map(np.array, (inside, held, references))
chosen = held[np.arange(10), inside.argmax(1)]

# %%
named = {'commonest': references[:, 0], 'nearest mean': references[:, 1],
         'k chosen': chosen, 'k = 65': held[:, -1]}
for name, right in named.items():
    print(f'{name:12} {right.mean():.3f} ± {right.std():.4f}')
errors = 1 - held.mean(0)
print(f'held-out errors: {errors[0]:.3f} at k = 1, {errors[-1]:.3f} at k = 65')
print('chosen k at most', max(ks_digits[i] for i in inside.argmax(1)))

# %% mystnb={"image": {"alt": "Left: share of right answers on wines against k with bands. Scaled, 0.947 at 5, stays on that level until 45 and then falls toward the commonest grower's 0.396; raw, 0.679 at 5, is nearly level until it falls a little at the end. Right: digits, share of errors against k for held-out pictures and for leaving one out; both curves run close together and rise from 0.014 at one neighbour to 0.070 at 65."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
for name in ('scaled', 'raw', 'commonest'):
    middle, spread = growers[name].mean(0), growers[name].std(0)
    left.plot(ks, middle, 'o-', label=name)
    left.fill_between(ks, middle - spread, middle + spread, alpha=0.2, lw=0)
left.set(xlabel='neighbours k', ylabel='share of right answers',
         title='Wines', ylim=(0, 1.02))
left.legend(loc='lower left', fontsize=8)
for shares_right, name in ((held, 'held out'), (inside, 'left one out')):
    middle, spread = 1 - shares_right.mean(0), shares_right.std(0)
    right.plot(ks_digits, middle, 'o-', label=name)
    right.fill_between(ks_digits, middle - spread, middle + spread,
                       alpha=0.2, lw=0)
right.set(xscale='log', xlabel='neighbours k', ylabel='share of errors',
          title='Digits', ylim=(0, 0.09))
right.set_xticks(ks_digits, ks_digits)
right.minorticks_off()
right.legend(loc='upper left', fontsize=8);

# %% [markdown] tags=["caption"]
# Left: with $k$ up to 45, wines are told apart far better if each measurement is scaled. Right: leaving one out in the
# training part follows the held-out error closely.

# %% [markdown]
# With a unit for each measurement the rule knows wines well, and it reads handwriting almost without fault, though it
# has never heard of strokes: among 1347 examples there is one that looks alike. Few neighbours are best here, as digits
# are hardly ever ambiguous: the Bayes risk is small, and twice little is little.
#
# ```{exercise} ★★★ What one may forget
# :label: knn-condense
# Most examples never decide anything. Hart's rule {cite}`hart1968condensed` keeps a *store*: it begins with the first
# example, walks through the others in order, adds each that its one nearest neighbour *in the store* gets wrong, and
# repeats the walk until nothing is added. Write `condensed(X, y)`, the sorted indices of the store. How many of the
# digits are enough to name all 1347 of a training part, and what does it cost on the others?
# ```

# %%
def condensed(X, y):
    raise NotImplementedError('your turn')

# %%
def by_refitting(X, y):
    store, before = [0], 0
    while len(store) > before:
        before = len(store)
        for i in range(len(X)):
            model = KNeighborsClassifier(1).fit(X[store], y[store])
            if model.predict(X[i:i + 1])[0] != y[i]:
                store.append(i)
    return sorted(store)

def three_groups(seed, n=30):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 3)
    return rng.normal(size=(n, 2)) + 1.2 * y[:, None], y

groups = [three_groups(seed) for seed in range(3)]

def marks(rule):  # of those who are in the store
    return lambda X, y: np.isin(np.arange(len(X)), rule(X, y))

grade(marks(condensed), marks(by_refitting), groups)

# %% [markdown]
# ```{solution-start} knn-condense
# :class: dropdown
# ```
# A loop in a loop; an example of the store is its own nearest neighbour and is not added again. For the distances to
# the store, those to the last example added are enough: keep for each example the nearest so far. The digits need
# about one picture in ten. All of the training part is then named correctly, by construction, and the held-out pictures
# lose a few percent: the store is made of odd ones at the borders. Who walks only once leaves errors behind.

# %% jupyter={"source_hidden": true}
def condensed_solution(X, y, walks=100):
    near, label = norm(X - X[0], axis=1), np.full(len(X), y[0])
    store = [0]
    for _ in range(walks):
        before = len(store)
        for i in range(len(X)):
            if label[i] != y[i]:
                store.append(i)
                distance = norm(X - X[i], axis=1)
                label[distance < near] = y[i]
                near = np.minimum(near, distance)
        if len(store) == before:
            break
    return sorted(store)

def walk_once(X, y):
    return condensed_solution(X, y, walks=1)

assert grade(marks(condensed_solution), marks(by_refitting), groups)
assert not grade(marks(walk_once), marks(by_refitting), groups)

# %% jupyter={"source_hidden": true}
X, y, new, truth = split(x, label, 1347, 0)
store = condensed_solution(X, y)
right = (classify(X[store], y[store], new, 1) == truth).mean()
assert (classify(X[store], y[store], X, 1) == y).all()
print(f'{len(store) / 1347:.3f} of the pictures kept; held out: '
      f'{right:.3f} right, with all {held[0, 0]:.3f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def left_out_slowly(X, y, ks):
    rest = ~np.eye(len(X), dtype=bool)
    return [np.mean([classify(X[r], y[r], a[None], k)[0] == b
                     for r, a, b in zip(rest, X, y, strict=True)])
            for k in ks]

def shortcut(seed, **options):
    X, y = questions(seed)[1][:25], np.arange(25) % 3
    return close(left_out(X, y, (1, 4), **options),
                 left_out_slowly(X, y, (1, 4)))

verify(
    'one search leaves out each example in turn',
    shortcut,
    slip=(
        'lets each example vote for itself',
        lambda seed: shortcut(seed, strike=False),
    ),
    seed=seeds(),
    tries=20,
)

# %% [markdown]
# ## Summary
#
# Nearest neighbours learn nothing and look everything up: quickly by expanding squares, safely if the expansion only
# proposes candidates and differences decide, and with a tree that opens two leaves in the plane but nearly all of them in
# twenty dimensions. With endless data and two classes the risk of one neighbour is at most $2 R^* (1 - R^*)$, and $k$
# neighbours approach $R^*$ if $k$ grows, but more slowly than $n$; yet where data fill $d$ dimensions, the nearest arrives
# only at the rate $n^{-1/d}$. What saves the rule in practice is that data fill fewer dimensions than they have
# coordinates, and that somebody chose good units.
#
# **Further reading.** {cite:t}`cover1967nearest`, six pages and a classic; {cite:t}`devroye1996probabilistic`, chapters
# 5, 6 and 11, for all that can be proved; {cite:t}`shalev2014understanding`, chapter 19; {cite:t}`hastie2009elements`,
# sections 2.5 and 13.3; {cite:t}`friedman1977algorithm` for the k-d tree.
