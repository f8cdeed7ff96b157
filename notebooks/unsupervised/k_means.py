# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # K-means
#
# - **Question.** Can a machine find groups among points that nobody has labelled, and how good are the groups it finds?
# - **You need** means, squared distances ([Norms](../linear_algebra/norms.ipynb)), and for one paragraph
#   [maximum likelihood](../probability/maximum_likelihood.ipynb).
# - **You build** K-means and the start that comes with a guarantee, a palette of sixteen colours for a photograph, and
#   two ways to ask how many groups there are.
# - **Time** 6 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.datasets import load_wine
from sklearn.metrics import (
    adjusted_rand_score,
    pairwise_distances_argmin,
    silhouette_score,
)

from nbutils.cases import matrices, seeds
from nbutils.checks import close, grade, holds, verify
from nbutils.data import digits, photograph
from nbutils.figures import GREY, label_lines, panels, show_image
from nbutils.timing import seconds

plt.style.use('nbutils.book')

# %% [markdown]
# ## What a cluster is
#
# Nobody told us what belongs together; all we have are the points $\mathbf{x}_1, \dots, \mathbf{x}_N \in \mathbb{R}^D$
# and the distances between them. *Clusters* are groups whose members are close to each other, compared with their
# distances to points outside the group. To judge a proposed grouping we must say which distances. Take a point
# $\mathbf{x}_n$ and its group $C_n$, and compare two averages: how far the others of its own group are, and how
# far the members of the nearest other group.
#
# ```{math}
# :label: ml.clustering.clusters
# \begin{aligned}
# a_n &= \frac{1}{|C_n| - 1} \sum_{\substack{m \in C_n \\ m \ne n}} \|\mathbf{x}_n - \mathbf{x}_m\|_2 \\
# \ll \quad b_n &= \min_{C \ne C_n} \frac{1}{|C|} \sum_{m \in C} \|\mathbf{x}_n - \mathbf{x}_m\|_2
# \end{aligned}
# ```
#
# The *silhouette* {cite}`rousseeuw1987silhouettes` turns the comparison into a number,
# $s_n = (b_n - a_n) / \max(a_n, b_n)$. It is close to 1 for a point that sits well, 0 on the border between two groups,
# and negative for a point in the wrong one; a point alone in its group gets 0. All sums of distances to all
# groups are one matrix product, of the distances with the *one-hot* matrix that has $z_{nk} = 1$ if point $n$ is in
# group $k$ and 0 otherwise.

# %%
def silhouettes(x, z):  # x (N, D), z (N,) in 0..K-1 -> (N,)
    n, onehot = np.arange(len(x)), np.eye(z.max() + 1)[z]  # (N, K)
    sums = cdist(x, x) @ onehot  # (N, N) @ (N, K)
    sizes = onehot.sum(0)
    a = sums[n, z] / np.maximum(sizes[z] - 1, 1)
    mean = sums / sizes
    mean[n, z] = np.inf
    b = mean.min(1)
    return np.where(sizes[z] > 1, (b - a) / np.maximum(a, b), 0)

# %% [markdown]
# Here are three round blobs, and a grouping that we shall meet again: the number of groups is right, but one blob is cut in
# two and the other two are thrown together.

# %%
def three_blobs(seed):  # -> (45, 2)
    rng = np.random.default_rng(seed)
    centres = np.array([[0, 0], [8, 0], [4, 7]])
    return np.concatenate([c + rng.normal(size=(15, 2)) for c in centres])

planted = np.repeat([0, 1, 2], 15)
cut_and_merged = np.repeat([0, 1, 2], [7, 8, 30])
for name, z in (('blobs', planted), ('cut and merged', cut_and_merged)):
    s = silhouettes(three_blobs(0), z)
    print(f'{name:14}  mean silhouette {s.mean():.2f}')

# %% [markdown]
# ```{exercise} ★ The strict reading
# :label: k-means-strict
# One can also read the definition without averages: *every* distance within a group is smaller than *every* distance
# between points of different groups. Write `well_separated(x, z)` that says whether this is so.
# ```

# %%
def well_separated(x, z):
    raise NotImplementedError('your turn')

# %%
def by_pairs(x, z):
    within, between = [], []
    for n, m in product(range(len(x)), repeat=2):
        same = z[n] == z[m]
        (within if same else between).append(np.linalg.norm(x[n] - x[m]))
    return max(within) < min(between)

line = np.array([[0.], [1], [2], [3.5], [4]])
cases = [
    (line, np.array([0, 0, 0, 1, 1])), (line, np.array([1, 1, 0, 0, 0])),
    (np.array([[0.], [1], [5], [6]]), np.array([0, 0, 1, 1])),
    (np.array([[0.], [1], [2], [3]]), np.array([0, 0, 1, 1])),
    (np.array([[0., 0], [0, 3], [1, 0], [1, 3]]), np.array([0, 0, 1, 1])),
    (np.array([[0.], [1], [4], [5], [20], [28]]), np.repeat([0, 1, 2], 2)),
]
grade(well_separated, by_pairs, cases)

# %% [markdown]
# ```{solution-start} k-means-strict
# :class: dropdown
# ```
# Compare all pairs at once; `z[:, None] == z` says which pairs share a group. On the line 0, 1, 2, 3.5, 4 the groups
# {0, 1, 2} and {3.5, 4} look obvious, and yet 0 is farther from 2 than 3.5 is. Strict separation is rare in real
# data, which is why averages are compared instead.

# %% jupyter={"source_hidden": true}
def well_separated_solution(x, z):
    d = cdist(x, x)
    same = z[:, None] == z
    return d[same].max() < d[~same].min()

def on_average(x, z):
    d = cdist(x, x)
    same = z[:, None] == z
    return d[same].mean() < d[~same].mean()

assert grade(well_separated_solution, by_pairs, cases)
assert not grade(on_average, by_pairs, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def well_grouped(seed, z):
    x = three_blobs(seed)
    s = silhouettes(x, z).mean()
    return s > 0.5 and close(s, silhouette_score(x, z))

holds(
    'ml.clustering.clusters',
    lambda seed: well_grouped(seed, planted),
    slip=(
        'cuts one blob in two and merges the others',
        lambda seed: well_grouped(seed, cut_and_merged),
    ),
    seed=seeds(),
    tries=40,
)

# %% [markdown]
# ## Lloyd's algorithm: assign, then average
#
# Comparing all pairs is costly, and it judges a grouping without finding one. K-means lets each group speak through one
# point, its *prototype*. Given $K$, find
#
# $$ \boldsymbol{\mu}_1, \dots, \boldsymbol{\mu}_K \in \mathbb{R}^D \quad \text{and} \quad z_1, \dots, z_N \in
# \{1, \dots, K\} $$
#
# such that points are close to their prototypes. With the assignment written one-hot, $z_{nk} = 1$ if $z_n = k$ and 0
# otherwise, we minimize the sum of squared distances:
#
# ```{math}
# :label: ml.kmeans.objective
# \min_{z,\, \boldsymbol{\mu}} \mathcal{L}(z, \boldsymbol{\mu}), \qquad
# \mathcal{L}(z, \boldsymbol{\mu}) = \sum_{n=1}^{N} \sum_{k=1}^{K} z_{nk} \|\mathbf{x}_n - \boldsymbol{\mu}_k\|_2^2
# ```
#
# The assignment has a constraint: every point belongs to exactly one group. Without $\sum_k z_{nk} = 1$, $z = 0$ would win
# with cost zero. The prototypes are free, and for a given assignment the best ones have a formula:
#
# ```{math}
# :label: ml.kmeans.constraint
# z_{nk} \in \{0, 1\}, \quad \sum_{k} z_{nk} = 1; \qquad \text{for fixed } z: \quad
# \boldsymbol{\mu}_k = \frac{\sum_n z_{nk}\, \mathbf{x}_n}{\sum_n z_{nk}}
# ```
#
# Finding both unknowns at once is hard. Finding one while the other is held fixed is easy.
#
# *Prototypes fixed.* Every point pays for itself alone, and it pays least at its nearest prototype.
#
# *Assignments fixed.* Every group pays for itself alone. Let $\bar{\mathbf{x}}$ be the mean of the $|C|$ points
# of a group $C$. Split $\mathbf{x}_n - \boldsymbol{\mu} = (\mathbf{x}_n - \bar{\mathbf{x}}) + (\bar{\mathbf{x}} -
# \boldsymbol{\mu})$; in the sum of the squares the mixed term vanishes, because $\sum_n (\mathbf{x}_n - \bar{\mathbf{x}}) =
# \mathbf{0}$, and
#
# ```{math}
# :label: k-means-pythagoras
# \sum_{n \in C} \|\mathbf{x}_n - \boldsymbol{\mu}\|_2^2
# = \sum_{n \in C} \|\mathbf{x}_n - \bar{\mathbf{x}}\|_2^2 + |C|\, \|\bar{\mathbf{x}} - \boldsymbol{\mu}\|_2^2
# ```
#
# remains: the mean is best, no other point is as good, and the price of a detour is known exactly.
#
# In code, `cdist` gives all distances between two sets of points, and takes the differences pair by pair. In numpy,
# `x[:, None] - mu` would store all $NKD$ of them at once.

# %%
def squared(x, y):  # (N, D), (M, D) -> (N, M)
    return cdist(x, y, 'sqeuclidean')

def assign(x, mu):  # -> (N,)
    return squared(x, mu).argmin(1)

def update(x, z, mu):  # an empty group keeps its prototype
    return np.array([
        x[z == k].mean(0) if (z == k).any() else mu[k] for k in range(len(mu))
    ])

def cost(x, z, mu):
    return ((x - mu[z]) ** 2).sum()

def lloyd(x, mu):  # -> z, mu, the costs after every half round
    z, costs = np.full(len(x), -1), []
    while True:
        old, z = z, assign(x, mu)
        costs.append(cost(x, z, mu))
        if (z == old).all():
            return z, mu, costs
        mu = update(x, z, mu)
        costs.append(cost(x, z, mu))

# %% [markdown]
# This is *coordinate descent* with two blocks of coordinates, known as Lloyd's algorithm {cite}`lloyd1982least`.
#
# ```{prf:theorem} K-means stops
# :label: thm-lloyd
# Let ties between prototypes be broken by a fixed rule (here: the first one). Then the cost never rises, and after
# finitely many rounds assignments and prototypes change no more.
# ```
#
# ```{prf:proof}
# Either half of a round minimises $\mathcal{L}$ over one block, so the cost cannot rise. After an update, the cost is a
# function of the assignment alone (an empty group contributes nothing), and there are at most $K^N$ assignments. So
# it can fall only finitely often. In a round in which it does not fall, the update gained nothing, and since the mean is
# the *only* best point {eq}`k-means-pythagoras`, it moved no prototype. Equal prototypes give, by the fixed rule, equal
# assignments in the next round, and the algorithm stops.
# ```
#
# The number of rounds can be exponential in $N$ for points made to be difficult {cite}`vattani2011kmeans`. On real data
# it is small, as we see below.

# %%
rng = np.random.default_rng(0)
centres = np.array([[0, 0], [4, 1], [1, 4], [5, 5]])
x = np.concatenate([c + rng.normal(size=(40, 2)) for c in centres])
start = np.array([[2.5, 5.5], [3.5, 5], [4.5, 5.5], [5.5, 6.5]])
z, mu, costs = lloyd(x, start)
assert (np.diff(costs) <= 1e-9).all()
rounds, moving = [], start
for _ in range(len(costs) // 2):
    rounds.append((assign(x, moving), moving))
    moving = update(x, rounds[-1][0], moving)
print(f'rounds: {len(rounds)}, cost {costs[0]:.0f} to {costs[-1]:.0f}')

# %% mystnb={"image": {"alt": "Four panels of the same 160 points: unlabelled, with four prototypes bunched at the top; coloured after the first assignment; after three rounds; and at the end, with one prototype in the middle of each of the four groups."}} tags=["hide-input"]
fig, axes = panels(4, height=1.9, sharex=True, sharey=True)
axes[0].scatter(*x.T, s=5, color=GREY)
axes[0].scatter(*start.T, marker='X', s=60, c=['C0', 'C1', 'C2', 'C3'])
axes[0].set_title('start')
for ax, r in zip(axes[1:], (0, 3, len(rounds) - 1), strict=True):
    labels, prototypes = rounds[r]
    for k, colour in enumerate(('C0', 'C1', 'C2', 'C3')):
        ax.scatter(*x[labels == k].T, s=5, color=colour, alpha=0.6)
        ax.scatter(*prototypes[k], marker='X', s=60, color=colour)
    ax.set_title('end' if r == len(rounds) - 1 else f'round {r + 1}')
for ax in axes:
    ax.set(xticks=[], yticks=[], aspect='equal')
    ax.spines[:].set_visible(False)

# %% [markdown] tags=["caption"]
# From four prototypes bunched at the top, ten rounds of assigning and averaging find all four groups and lower the cost from
# 2494 to 307.

# %% [markdown]
# The algorithm needs prototypes to begin with. The simplest choice is $K$ different points, drawn at random:

# %%
def anywhere(x, K, rng):  # K different points
    return x[rng.choice(len(x), K, replace=False)]

# %% [markdown]
# On the 1797 handwritten digits, with the first ten pictures as prototypes, ours and the library's
# algorithm agree in every assignment. What comes out are averages of similar pictures, and most are legible: without a
# single label, strokes have become digits.

# %%
pictures = digits().x  # (1797, 64)
z, mu, costs = lloyd(pictures, pictures[:10])
library = KMeans(10, init=pictures[:10], n_init=1, tol=0).fit(pictures)
same = (z == library.labels_).all() and close(mu, library.cluster_centers_)
assert same and (np.diff(costs) <= 1e-9).all()
print(f'same as scikit-learn: {same}, in {len(costs) // 2} rounds')

# %% mystnb={"image": {"alt": "Ten blurred pictures of eight by eight pixels, the prototypes; most can be read as a digit."}} tags=["hide-input"]
fig, axes = panels(10, height=0.7)
for ax, prototype in zip(axes, mu, strict=True):
    show_image(ax, prototype.reshape(8, 8))

# %% [markdown] tags=["caption"]
# Of the ten prototypes found among 1797 digits without a single label, each a mean of similar pictures, most can be read as
# digits.

# %% [markdown]
# Two other readings of the objective will return in later sections. As a *matrix factorization*: with the points as
# rows of $\mathbf{X}$, the one-hot rows in $\mathbf{Z}$ (N, K) and the prototypes as columns of $\mathbf{M}$ (D, K), it
# is $\|\mathbf{X}^\top - \mathbf{M}\mathbf{Z}^\top\|_F^2$. As a *likelihood*: if $\mathbf{x}_n$ is normal with mean
# $\boldsymbol{\mu}_{z_n}$ and covariance $\mathbf{I}$, the negative logarithm of the joint density is
# $\frac{1}{2} \mathcal{L} + \frac{ND}{2} \ln 2\pi$. So K-means is maximum likelihood when every point belongs to exactly
# one of $K$ round Gaussians; letting it belong to several, by degrees, leads to Gaussian mixtures.

# %%
Z, M = np.eye(10)[z], mu.T
assert close(((pictures.T - M @ Z.T) ** 2).sum(), cost(pictures, z, mu))
density = sum(
    multivariate_normal(m).logpdf(pictures[z == k]).sum()
    for k, m in enumerate(mu)
)
constant = len(pictures) * 64 / 2 * np.log(2 * np.pi)
assert close(-density, cost(pictures, z, mu) / 2 + constant)

# %% [markdown]
# The matrix form shows that the problem is harder than least squares: the cost is not jointly convex in $\mathbf{M}$ and
# $\mathbf{Z}$, and its minimum does not determine them. For any invertible matrix $\mathbf{B}$,
#
# ```{math}
# :label: ml.kmeans.stray-mf
# \mathbf{M}\mathbf{Z}^\top = (\mathbf{M}\mathbf{B})\, (\mathbf{Z}\mathbf{B}^{-\top})^\top,
# \qquad (\mathbf{M}, \mathbf{Z}) \Leftrightarrow (\mathbf{M}\mathbf{B},\, \mathbf{Z}\mathbf{B}^{-\top})
# ```
#
# cost the same. If no group is empty and $\mathbf{Z}\mathbf{B}^{-\top}$ is to be one-hot too, all rows of
# $\mathbf{B}^{-\top}$ must be one-hot, so $\mathbf{B}$ is a permutation: all it can do is rename the groups. A solution
# and its renamed copy also show that the cost, as a function of two real matrices, is not convex. Halfway between them,
# for $K = 2$, every point is served half by each prototype, each of which is $(\boldsymbol{\mu}_1 + \boldsymbol{\mu}_2)/2$,
# and that costs more.
#
# ```{exercise} ★★ Only distances are known
# :label: k-means-distances
# Suppose you are given the *squared* distances $d_{nm} = \|\mathbf{x}_n - \mathbf{x}_m\|_2^2$ in a matrix `d2` (N, N) and
# an assignment `z` (N,), but no coordinates, hence no means. Derive the cost of the assignment with its best prototypes,
# and write `cost_of(d2, z)`. (Apply {eq}`k-means-pythagoras` with $\boldsymbol{\mu} = \mathbf{x}_m$ and sum over $m$.)
# ```

# %%
def cost_of(d2, z):
    raise NotImplementedError('your turn')

# %%
def by_coordinates(d2, z):  # points with these distances, from eigenvectors
    J = np.eye(len(d2)) - 1 / len(d2)
    values, vectors = np.linalg.eigh(-J @ d2 @ J / 2)
    x = vectors * np.sqrt(values.clip(0))
    return sum(((x[z == k] - x[z == k].mean(0)) ** 2).sum() for k in set(z))

rng = np.random.default_rng(1)
points = [rng.normal(size=(N, 3)) for N in (3, 5, 9)]
cases = [(squared(p, p), np.arange(len(p)) % 3) for p in points]
grade(cost_of, by_coordinates, cases)

# %% [markdown]
# ```{solution-start} k-means-distances
# :class: dropdown
# ```
# With $S = \sum_n \|\mathbf{x}_n - \bar{\mathbf{x}}\|_2^2$ the sum over $m \in C$ of {eq}`k-means-pythagoras` is
# $\sum_{n,m} d_{nm} = |C|\, S + |C|\, S$, so $S = \frac{1}{2|C|} \sum_{n,m \in C} d_{nm}$. In words: between two members
# drawn at random, the same one twice allowed, the mean squared distance is twice that to the centre. Forgetting that
# every pair is counted twice doubles the result.

# %% jupyter={"source_hidden": true}
def cost_of_solution(d2, z):
    onehot = np.eye(z.max() + 1)[z]
    return ((onehot.T @ d2 @ onehot).diagonal() / onehot.sum(0)).sum() / 2

def pairs_counted_twice(d2, z):
    return 2 * cost_of_solution(d2, z)

assert grade(cost_of_solution, by_coordinates, cases)
assert not grade(pairs_counted_twice, by_coordinates, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def onehot_sum(seed, power):
    x = np.random.default_rng(seed).normal(size=(40, 3))
    z, mu, _ = lloyd(x, x[:3])
    distances = np.sqrt(squared(x, mu))
    library = KMeans(3, init=x[:3], n_init=1, tol=0).fit(x)
    return close((np.eye(3)[z] * distances**power).sum(), library.inertia_)

def price(x, detour, sizes, divisor):
    z = np.repeat([0, 1], sizes)
    mu = np.array([x[z == k].sum(0) / divisor[k] for k in (0, 1)])
    extra = cost(x, z, mu + detour) - cost(x, z, mu)
    return close(extra, sizes @ (detour**2).sum(1), atol=1e-6)

holds(
    'ml.kmeans.objective',
    lambda seed: onehot_sum(seed, 2),
    slip=('forgets to square the distances', lambda seed: onehot_sum(seed, 1)),
    seed=seeds(),
    tries=20,
)
holds(
    'ml.kmeans.constraint',
    lambda x, d: price(x, d, np.array([2, 4]), (2, 4)),
    slip=(
        'divides by N in place of the size of the group',
        lambda x, d: price(x, d, np.array([2, 4]), (6, 6)),
    ),
    x=matrices(6, 2),
    d=matrices(2, 2),
)

def finds_blobs(seed, starts):
    rng = np.random.default_rng(seed)
    planted = np.repeat([0, 1, 2], 15)
    x = 9 * np.array([[0, 0], [1, 0], [0.5, 1]])[planted]
    x = x + rng.normal(size=(45, 2))
    runs = [lloyd(x, anywhere(x, 3, rng)) for _ in range(starts)]
    z, mu, _ = min(runs, key=lambda run: run[2][-1])
    shapes = mu.shape == (3, 2) and z.shape == (45,) and set(z) <= {0, 1, 2}
    return shapes and adjusted_rand_score(planted, z) == 1

verify(
    'the cheapest of twenty random starts finds planted blobs again',
    lambda seed: finds_blobs(seed, 20),
    slip=(
        'is content with one random start',
        lambda seed: finds_blobs(seed, 1),
    ),
    seed=seeds(),
    tries=20,
)

# %% tags=["checks"]
def same_cost(seed, sign):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(12, 3))
    z, mu, _ = lloyd(x, x[:2])
    M, Z = mu.T, np.eye(2)[z]
    B = 3 * np.eye(2) + rng.normal(size=(2, 2))

    def f(M, Z):
        return ((x.T - M @ Z.T) ** 2).sum()

    swap = np.array([[0, 1], [1, 0]])
    halfway = f((M + M @ swap) / 2, (Z + Z @ swap) / 2)
    equal = close(f(M @ B, sign * Z @ np.linalg.inv(B).T), f(M, Z))
    renamed = close(f(M @ swap, Z @ swap), f(M, Z))
    return equal and renamed and halfway > f(M, Z)

holds(
    'ml.kmeans.stray-mf',
    lambda seed: same_cost(seed, +1),
    slip=(
        'puts a minus sign before the inverse',
        lambda seed: same_cost(seed, -1),
    ),
    seed=seeds(),
    tries=50,
)

# %% [markdown]
# ## Bad local minima, and the start of k-means++
#
# This section continues [Lloyd's algorithm: assign, then average](#lloyds-algorithm-assign-then-average). Coordinate descent stops where neither
# block alone can improve. How bad can such a place be? Put four points at $(\pm a, \pm b)$ with $a > b > 0$, and let
# $K = 2$. The best split is left against right, with prototypes $(\pm a, 0)$ and cost $4b^2$. But top against bottom,
# with prototypes $(0, \pm b)$, is stable too, since each point is nearer to its own prototype. It costs $4a^2$. The
# ratio $(a/b)^2$ is as large as we like: *Lloyd's algorithm alone guarantees nothing*. For eight points we can try all
# $2^8$ assignments:

# %%
a, b = 10, 1
corners = np.array([[a, b], [a, -b], [-a, b], [-a, -b]], dtype=float)
good = lloyd(corners, np.array([[a, 0.], [-a, 0]]))[2][-1]
bad = lloyd(corners, np.array([[0., b], [0, -b]]))[2][-1]
assert close([good, bad], [4 * b ** 2, 4 * a ** 2])

def brute_force(x, K):
    tries = (np.array(z) for z in product(range(K), repeat=len(x)))
    return min(cost(x, z, update(x, z, x[:K])) for z in tries)

eight = np.random.default_rng(2).normal(size=(8, 2))
pairs = [eight[[i, j]] for i in range(8) for j in range(i)]
ends = np.array([lloyd(eight, pair)[2][-1] for pair in pairs])
least = brute_force(eight, 2)
assert (ends >= least - 1e-9).all()
print(f'cost of the bad start / of the good one: {bad / good:.0f}')
print(f'eight points: {(ends > least + 1e-9).sum()} of 28 starts get stuck')

# %% [markdown]
# For large $N$ nobody can try all assignments; if $N$ and $D$ may grow, finding the minimum is NP-hard even for $K = 2$
# {cite}`aloise2009np`. To see how far from it we end, we need points whose minimum is known, and there is a
# certificate. A group that contains two points at distance $g$ costs at least $g^2/2$, wherever its prototype is: the
# best place for these two is the middle between them. Now let $g$ be the smallest distance between points of different
# planted groups. If the $K$ planted groups cost less than $g^2/2$ together, they *are* the minimum, because every other
# assignment to $K$ groups puts points of two planted groups together.

# %%
planted = np.repeat([0, 1, 2], 12)
triangle = np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])  # equal sides
scatter = np.random.default_rng(3).normal(size=(36, 2))

def blobs(gap, places):  # -> points and the least possible cost, certified
    x = gap * places[planted] + scatter
    least = cost(x, planted, update(x, planted, places))
    between = squared(x, x)[planted[:, None] != planted]
    assert least < between.min() / 2
    return x, least

# %% [markdown]
# Now for a better start. This is *k-means++* {cite}`arthur2007kmeans`: choose the first prototype among the points at
# random, and each further one among the points with a probability proportional to its squared distance from the nearest
# prototype chosen so far. A group that has none yet is far away, carries most of the squared distances and is likely to be
# served next. A single outlier at the same distance is less likely, by as many times as that group has members; if we
# simply took the farthest point, an outlier would be taken as soon as it lies farthest.

# %%
def spread(x, K, rng):
    chosen = [rng.integers(len(x))]
    while len(chosen) < K:
        d2 = squared(x, x[chosen]).min(1)
        chosen.append(rng.choice(len(x), p=d2 / d2.sum()))
    return x[chosen]

# %% [markdown]
# ```{prf:theorem} Arthur and Vassilvitskii
# :label: thm-kmeans-plus-plus
# Take any finite set of points in $\mathbb{R}^D$ and any $K$ not above the number of distinct points. On average over
# its random choices, k-means++ finds prototypes whose cost, with each point assigned to the nearest, is
# $\mathbb{E}\, \mathcal{L} \le 8\, (\ln K + 2)\, \mathcal{L}_{\min}$.
# ```
#
# Nothing is assumed about the points, and Lloyd's algorithm can only improve on it afterwards. The proof is in the
# paper; its seed is the case $K = 1$, for which we have all that is needed. Average {eq}`k-means-pythagoras` over
# $\boldsymbol{\mu} = \mathbf{x}_m$, with $m$ uniform: the expected cost is $\mathcal{L}_{\min} + N \cdot \frac{1}{N}
# \mathcal{L}_{\min} = 2 \mathcal{L}_{\min}$. *A random member costs just twice what the mean does.*
#
# Where $K$ groups of equal size lie very far apart, at equal distances, we can go further. If every group is hit, the
# cost is about $2\mathcal{L}_{\min}$ on average. But a miss is possible. After $j$ hits, the served groups carry squared
# distances of about $\frac{2j}{K} \mathcal{L}_{\min}$ in all, and each of the $K - j$ others a huge $G$. So the next
# choice misses with a probability of about $\frac{2j}{K} \mathcal{L}_{\min} / ((K - j)\, G)$. Then one group is still
# unserved at the end and costs $G$. In the product $G$ cancels! Rare as they are, misses add
# $\frac{2j}{K(K - j)} \mathcal{L}_{\min}$ to the mean, and summing over $j = K - i$,
#
# $$\begin{aligned}
# \frac{\mathbb{E}\, \mathcal{L}}{\mathcal{L}_{\min}} \to 2 + \sum_{i=1}^{K-1} \frac{2 (K - i)}{K i}
#   &= 2 + 2 \sum_{i=1}^{K-1} \frac{1}{i} - \frac{2(K - 1)}{K} \\
#   &= 2 \Big( 1 + \frac{1}{2} + \dots + \frac{1}{K} \Big).
# \end{aligned}$$
#
# So the logarithm in the theorem is real. For $K = 3$ the limit is $11/3$, and the bound 24.8. With 36 points the
# expectation can be computed *exactly*, as a sum over all $36^3$ choices. A sample of some hundred starts would hardly
# ever see a miss, and the average would come out too low.

# %%
def expected_cost(x, weight):  # K = 3; chances in proportion to weight(d2)
    d2 = squared(x, x)  # (N, N)
    second = weight(d2) / weight(d2).sum(1, keepdims=True)
    pair = np.minimum(d2[:, None], d2)  # (N, N, N): to the nearer of two
    third = weight(pair)
    third = third / third.sum(-1, keepdims=True)
    costs = np.minimum(pair[:, :, None], d2).sum(-1)  # (N, N, N)
    return (second[:, :, None] * third * costs).sum() / len(x)

gaps = np.array([30, 100, 300, 1000])
weights = {'uniform start': lambda d2: d2 > 0, 'k-means++': lambda d2: d2}
ratios = {name: [] for name in weights}
for gap, (name, weight) in product(gaps, weights.items()):
    x, least = blobs(gap, triangle)
    ratios[name].append(expected_cost(x, weight) / least)
bound = 8 * (np.log(3) + 2)
assert max(ratios['k-means++']) < bound < min(ratios['uniform start'])
print(f'bound {bound:.1f}, largest gap: {ratios["k-means++"][-1]:.2f}')

# %% mystnb={"image": {"alt": "Expected cost over least cost against the gap between groups, both axes logarithmic: with a uniform start it rises in a straight line from a hundred to a hundred thousand; with k-means++ it stays flat below four, well under the dashed bound."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.7))
for name, values in ratios.items():
    ax.loglog(gaps, values, 'o-', label=name)
ax.axhline(bound, ls='--', lw=1.2, color=GREY)
ax.text(30, bound * 1.3, 'bound of the theorem')
ax.set(xlabel='gap (standard deviations of a group)')
ax.set(ylabel='expected / least cost', ylim=(1, None))
label_lines(ax);

# %% [markdown] tags=["caption"]
# For $K = 3$ groups the expected cost of a uniform start grows like the square of their gap; that of k-means++ stays below
# four times the least cost.

# %% [markdown]
# Without gaps no rare event matters, and for 36 such points the mean cost of 300 starts is close to the exact expectation,
# for our starts and for scikit-learn's. (By default scikit-learn tries several candidates for each prototype and keeps the
# best, which is another algorithm; `n_local_trials=1` is the one of the theorem.) Last, can Lloyd's algorithm repair a bad start? Three groups in a row,
# two of them closer together, and 200 runs from either start:

# %%
rng, samples = np.random.default_rng(4), {'ours': [], 'theirs': []}
for seed in range(300):
    theirs = kmeans_plusplus(scatter, 3, random_state=seed, n_local_trials=1)
    for name, mu in (('ours', spread(scatter, 3, rng)), ('theirs', theirs[0])):
        samples[name].append(squared(scatter, mu).min(1).sum())
exact = expected_cost(scatter, weights['k-means++'])
for name, sample in samples.items():
    off = (np.mean(sample) - exact) / (np.std(sample) / np.sqrt(300))
    assert abs(off) < 5
    print(f'{name}: {np.mean(sample):.1f}, expected {exact:.1f}')

# %%
x, least = blobs(30, np.array([[0, 0], [1, 0], [4, 0]]))
starts = {'uniform start': anywhere, 'k-means++': spread}
for name, start in starts.items():
    runs = [lloyd(x, start(x, 3, rng)) for _ in range(200)]
    reached = np.mean([costs[-1] < 1.001 * least for _, _, costs in runs])
    print(f'{name}: {reached:.0%} of the runs reach the minimum')
    if name == 'uniform start':
        worst = max(runs, key=lambda run: run[2][-1])

# %% mystnb={"image": {"alt": "The same three groups of points in a row, twice. Above, stuck: the two groups on the left share one colour, with its prototype in the empty space between them, while two prototypes divide the group on the right. Below, the minimum: each group has its own colour."}} tags=["hide-input"]
fig, axes = panels(1, 2, height=1)
for ax, (z, mu, _) in zip(axes, (worst, runs[0]), strict=True):
    for k, colour in enumerate(('C0', 'C1', 'C2')):
        ax.scatter(*x[z == k].T, s=12, color=colour)
        ax.scatter(*mu[k], marker='X', s=80, color=colour, alpha=0.5)
    ax.set(xticks=[], yticks=[], ylim=(-5, 5))
    ax.spines[:].set_visible(False)
axes[0].set_title(f'stuck: {worst[2][-1] / least:.0f} times the least cost')
axes[1].set_title('the least cost');

# %% [markdown] tags=["caption"]
# Lloyd's algorithm does not repair every start: with one prototype between two groups and two in the third it stops at 66
# times the least cost.

# %% [markdown]
# ```{exercise} ★★★ On a line the minimum is within reach
# :label: k-means-line
# Let the points be numbers. Show that in a best assignment each group is an interval of the sorted points. So the
# last group of the first $n$ points begins somewhere, and what comes before it is a best assignment to $K - 1$ groups.
# Write `least_cost(x, K)` for `x` (N,) with at most $K N^2$ steps, so that 200 points and $K = 5$ take a moment
# and not the age of the universe.
# ```

# %%
def least_cost(x, K):
    raise NotImplementedError('your turn')

# %%
def by_brute_force(x, K):
    return brute_force(x[:, None], K)

rng = np.random.default_rng(5)
sizes = ((4, 2), (6, 3), (7, 2), (5, 4))
cases = [(rng.normal(size=N).round(2), K) for N, K in sizes]
cases.append((np.array([0.0, 0.9, 2.0, 6.0]), 2))
cases.append((np.array([0.0, 3, 4, 6, 8, 11]), 3))
grade(least_cost, by_brute_force, cases)

# %% [markdown]
# ```{solution-start} k-means-line
# :class: dropdown
# ```
# Each point belongs to its nearest prototype, and on a line the points nearest to one of several prototypes form an
# interval. With $W(i, n)$ the cost of the sorted points $i, \dots, n - 1$ around their mean, the least cost of the
# first $n$ in $k$ groups is $L_k(n) = \min_i \{ L_{k-1}(i) + W(i, n) \}$, and $L_1(n) = W(0, n)$: *dynamic programming*
# {cite}`wang2011ckmeans`. Running sums give $W$ without a further loop, as a sum of squares minus the squared sum over
# the length. (The sums cancel badly far from zero, so the points are centred first.) Cutting at the widest gaps is
# tempting and wrong.

# %% jupyter={"source_hidden": true}
def least_cost_solution(x, K):
    x = np.sort(x) - x.mean()
    s1, s2 = np.r_[0, x.cumsum()], np.r_[0, (x ** 2).cumsum()]
    i, n = np.indices((len(x) + 1, len(x) + 1))
    W = s2[n] - s2[i] - (s1[n] - s1[i]) ** 2 / np.maximum(n - i, 1)
    W = np.where(i <= n, W.clip(0), np.inf)  # (N + 1, N + 1)
    L = W[0]
    for _ in range(K - 1):
        L = (L[:, None] + W).min(0)
    return L[-1]

def widest_gaps(x, K):
    x = np.sort(x)
    cuts = np.sort(np.diff(x).argsort()[len(x) - K:]) + 1
    return sum(((p - p.mean()) ** 2).sum() for p in np.split(x, cuts))

assert grade(least_cost_solution, by_brute_force, cases)
assert not grade(widest_gaps, by_brute_force, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## A photograph in sixteen colours
#
# A colour is a point in the cube of red, green and blue, and a photograph is a cloud of such points. Its prototypes are
# a palette. With $K = 16$ a pixel needs the number of its colour, 4 bits, in place of 24.
#
# There are 273,280 pixels, so the assignment must be fast. One way is to take the differences in compiled code, as `cdist`
# does. Another is to write $\|\mathbf{x} - \boldsymbol{\mu}\|_2^2 = \|\mathbf{x}\|_2^2 -
# 2\, \mathbf{x}^\top \boldsymbol{\mu} + \|\boldsymbol{\mu}\|_2^2$. The first term is the same for all prototypes and
# decides nothing; the second, for all pixels and prototypes, is one matrix product.

# %%
flower = photograph('flower')  # (427, 640, 3)
pixels = flower.reshape(-1, 3)
rng = np.random.default_rng(6)
sample = pixels[rng.choice(len(pixels), 4000, replace=False)]
palettes = {
    K: KMeans(K, n_init=4, random_state=0).fit(sample).cluster_centers_
    for K in (4, 8, 16)
}

def nearest(x, mu):
    return ((mu ** 2).sum(1) - 2 * x @ mu.T).argmin(1)

def by_cdist(x, mu):
    return cdist(x, mu, 'sqeuclidean').argmin(1)

def nearest_in_a_loop(x, mu):
    z = np.zeros(len(x), dtype=int)
    for n in range(len(x)):
        z[n] = np.argmin([((x[n] - m) ** 2).sum() for m in mu])
    return z

# %%
some, palette = pixels[:2000], palettes[16]
loop = seconds(lambda: nearest_in_a_loop(some, palette))
for run in (nearest, by_cdist, pairwise_distances_argmin):  # scikit-learn's
    assert (run(some, palette) == nearest_in_a_loop(some, palette)).all()
    faster = loop > 20 * seconds(lambda: run(some, palette))
    assert faster
    print(f'{run.__name__}: more than 20 times faster: {faster}')

# %% [markdown]
# Is the product faster than compiled differences? For the photograph hardly, since in three coordinates there is little to
# multiply. It is for 2000 points of 784 coordinates, like pictures of $28 \times 28$ pixels, with 100 prototypes.
# There `lloyd` could use it, too, if rounding is no danger (see the exercise below).

# %%
many = np.random.default_rng(10).random((2000, 784))
sizes = {'3 coordinates': (pixels, palette),
         '784 coordinates': (many, many[:100])}
for name, (x, mu) in sizes.items():
    by_product, by_differences = seconds(
        lambda: nearest(x, mu), lambda: by_cdist(x, mu))
    wins = by_differences > 1.5 * by_product
    print(f'{name}: product more than 1.5 times faster: {wins}')

# %% mystnb={"image": {"alt": "The photograph of an orange dahlia before dark green leaves, in all its colours, with four and with sixteen; with four the petals are flat and the leaves two shades, with sixteen the picture looks nearly complete. A strip below each shows its colours."}} tags=["hide-input"]
fig, axes = panels(3, height=2.3)
crop = flower[80:360:2, 165:445:2]  # (140, 140, 3)
colours = crop.reshape(-1, 3)
for ax, mu in zip(axes, (colours, palettes[4], palettes[16]), strict=True):
    mu = mu[mu.sum(1).argsort(kind='stable')]
    painted = mu[nearest(colours, mu)] if len(mu) < 99 else colours
    strip = mu[np.arange(140) * len(mu) // 140][None].repeat(14, 0)
    show_image(ax, np.concatenate([painted.reshape(crop.shape), strip]))
    ax.set_title('original' if len(mu) > 99 else f'{len(mu)} colours')

# %% [markdown] tags=["caption"]
# Sixteen colours chosen by K-means, 4 bits a pixel in place of 24, come close to the original; four leave the petals flat.

# %% [markdown]
# Is this good? A number means little without a reference. Two other palettes of eight colours: the even grid with two
# levels for each of red, green and blue, and eight pixels drawn at random. And does the start matter here, where
# no gaps separate the colours? Forty runs from either start, with $K = 16$:

# %%
def error(mu):  # root mean squared distance of a pixel from its colour
    return np.sqrt(((pixels - mu[nearest(pixels, mu)]) ** 2).sum(1).mean())

grid = np.array(list(product([0.25, 0.75], repeat=3)))
eights = [rng.choice(4000, 8, replace=False) for _ in range(20)]
drawn = [error(sample[e]) for e in eights]
print(f'even grid {error(grid):.3f}, random pixels {np.mean(drawn):.3f}')
print(f'K-means {error(palettes[8]):.3f}')
assert error(palettes[8]) < min(drawn)

# %%
def final_cost(start):
    return KMeans(16, init=start, n_init=1).fit(sample).inertia_

uniform, plus = [], []
for seed in range(40):
    drawn = np.random.default_rng(seed).choice(4000, 16, replace=False)
    uniform.append(final_cost(sample[drawn]))
    start, _ = kmeans_plusplus(sample, 16, random_state=seed, n_local_trials=1)
    plus.append(final_cost(start))
margin = np.mean(uniform) - np.mean(plus)
errors = margin / np.sqrt((np.var(uniform) + np.var(plus)) / 40)
assert errors > 5
print(f'k-means++ ends lower, by {errors:.1f} standard errors')

# %% [markdown]
# ```{exercise} ★★ Far from zero
# :label: k-means-far
# `nearest` has a weakness. Shift all points and prototypes by $10^8$: nothing changes for the distances, but
# $\|\boldsymbol{\mu}\|_2^2$ is then about $10^{16}$, where neighbouring floating-point numbers are 2 apart. Write
# `nearest_anywhere(x, mu)` that still uses one matrix product, and is right.
# ```

# %%
def nearest_anywhere(x, mu):
    raise NotImplementedError('your turn')

# %%
def by_differences(x, mu):
    return ((x[:, None] - mu) ** 2).sum(-1).argmin(1)

rng = np.random.default_rng(7)
cases = [
    (offset + rng.normal(size=(50, 3)), offset + rng.normal(size=(5, 3)))
    for offset in (0, 1e4, 1e8, np.array([1e8, 0, -1e8]))
]
grade(nearest_anywhere, by_differences, cases)

# %% [markdown]
# ```{solution-start} k-means-far
# :class: dropdown
# ```
# Distances do not change when everything is shifted, so shift back: subtract the mean of the prototypes from both.
# What then remains is as large as the distances themselves. Large squares whose difference is small are the classical
# case of *cancellation*. (scikit-learn's K-means centres the data before it starts, too.)

# %% jupyter={"source_hidden": true}
def nearest_anywhere_solution(x, mu):
    centre = mu.mean(0)
    x, mu = x - centre, mu - centre
    return ((mu ** 2).sum(1) - 2 * x @ mu.T).argmin(1)

def not_centred(x, mu):
    return ((mu ** 2).sum(1) - 2 * x @ mu.T).argmin(1)

assert grade(nearest_anywhere_solution, by_differences, cases)
assert not grade(not_centred, by_differences, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## How many groups? The elbow and the silhouette
#
# So far $K$ was given. The objective cannot choose it, because *the least cost falls with every further prototype, until it
# is zero*: while it is not zero, some point is not at its prototype; give it one of its own, and the cost falls before
# anything else has moved. So one looks for the place where the cost stops falling fast, the *elbow*. Two hundred points in four blobs have one at $K = 4$.
#
# But what should we expect without groups? If points fill a region of $\mathbb{R}^D$ evenly, $K$ prototypes cut it into
# cells of a width proportional to $K^{-1/D}$, so the mean squared distance goes like $K^{-2/D}$. The theory of
# quantization has this rate, as $K$ grows, for every density on a bounded region {cite}`gray1998quantization`. A power
# law has no elbow: doubling $K$ always divides the cost by the same number. With plain axes it merely looks as if it
# had one, at a place that depends on how far the axis goes. The colours of a photograph, with $D = 3$, come close to
# this from about $K = 16$ on:

# %%
rng = np.random.default_rng(8)
square = 5 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
four = np.repeat(square, 50, axis=0) + 0.8 * rng.normal(size=(200, 2))
pixels = photograph('flower').reshape(-1, 3)
sample = pixels[rng.choice(len(pixels), 4000, replace=False)]
test = pixels[rng.choice(len(pixels), 20000, replace=False)]

def fitted(x, K):
    return KMeans(K, n_init=5, random_state=0).fit(x)

blob_costs = np.array([fitted(four, K).inertia_ for K in range(1, 11)])
many = 2 ** np.arange(1, 9)  # 2, 4, ..., 256
colour_costs = [-fitted(sample, K).score(test) / len(test) for K in many]
rate = np.polyfit(np.log(many[3:]), np.log(colour_costs[3:]), 1)[0]
drops = blob_costs[:-1] / blob_costs[1:]
assert (np.diff(blob_costs) < 0).all()
print(f'four blobs: largest drop to K = {drops.argmax() + 2}')
print(f'photograph, K from 16 to 256: the cost goes like K to the {rate:.2f}')

# %% mystnb={"image": {"alt": "Left, plain axes: the cost of four blobs falls steeply to four prototypes and hardly after. Right, logarithmic axes: the cost for the photograph falls steeply at first and from sixteen on along a straight line parallel to a dashed power law."}} tags=["hide-input"]
fig, axes = panels(2, height=2.6)
axes[0].plot(range(1, 11), blob_costs / blob_costs[0], 'o-', ms=4)
axes[0].set(title='four blobs', ylabel='cost / cost for K = 1', ylim=(0, None))
axes[1].loglog(many, colour_costs, 'o-', ms=4, base=2)
law = 1.5 * colour_costs[-1] * (many / 256) ** (-2 / 3)
axes[1].loglog(many, law, '--', color=GREY, lw=1.2, base=2)
axes[1].text(40, law[4] * 1.15, r'$K^{-2/3}$')
axes[1].set(title='photograph', ylabel='mean squared distance')
for ax in axes:
    ax.set_xlabel('K')

# %% [markdown] tags=["caption"]
# Left: the cost of four blobs has an elbow at $K = 4$. Right: the colours of a photograph have none from $K = 16$ on, where
# the cost falls about like $K^{-2/3}$.

# %% [markdown]
# The mean silhouette of [the first section](#what-a-cluster-is) can rise and fall, so one may take the $K$ where it is
# highest. Try it on 178 wines, described by 13 chemical measurements. They are of three sorts, which we hold back until
# the end. The measurements have units, and some come in hundreds where others are near 1. K-means adds up squares, so
# on the raw numbers one measurement has nearly all the say. Dividing each column by its standard deviation makes them
# equals.

# %%
wine, sort = load_wine(return_X_y=True)
scaled = (wine - wine.mean(0)) / wine.std(0)
even = np.random.default_rng(9).uniform(size=(200, 2))  # no groups at all
means, share = wine.mean(0), wine.var(0).max() / wine.var(0).sum()
print(f'means from {means.min():.2f} to {means.max():.0f}')
print(f'share of one measurement in the squares: {share:.3f}')

tables = {
    'blobs': four, 'wine, raw': wine, 'wine, scaled': scaled, 'even': even,
}
scores = {
    name: [silhouette_score(x, fitted(x, K).labels_) for K in range(2, 9)]
    for name, x in tables.items()
}
for name, score in scores.items():
    best = np.argmax(score) + 2
    print(f'{name}: best K {best}, mean silhouette {max(score):.2f}')
for name in ('wine, raw', 'wine, scaled'):
    found = fitted(tables[name], 3).labels_
    agreement = adjusted_rand_score(sort, found)
    print(f'{name}: adjusted Rand index of three groups {agreement:.2f}')

# %% mystnb={"image": {"alt": "Mean silhouette against K from 2 to 8 for four data sets: blobs peak at 4, raw wine is highest at 2 and stays above 0.5, evenly spread points are flat near 0.4, scaled wine lies lowest and peaks at 3."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.9))
for name, score in scores.items():
    ax.plot(range(2, 9), score, 'o-', ms=4, label=name)
ax.set(xlabel='K', ylabel='mean silhouette', ylim=(0, 0.75))
label_lines(ax);

# %% [markdown] tags=["caption"]
# The mean silhouette finds the four blobs, but even points without groups score higher than the scaled wines, and the raw
# wines higher still.

# %% [markdown]
# Three lessons. Scaled, the wines fall into three groups, and these are very nearly the three sorts: the structure was
# there, without a single label. Raw, the silhouette is *higher* and the grouping worse; so the choice of units is part of
# what we call a cluster, and silhouettes in different units cannot be compared. And points without any groups get an answer
# too, with a better silhouette than the scaled wines. K-means returns $K$ prototypes for any points. Whether they mean
# something is a question for a second sample, or for someone who knows wine.

# %% [markdown]
# ## Summary
#
# K-means describes points by $K$ prototypes, which it finds by coordinate descent: nearest prototype, mean, and again,
# at a cost that never rises and with an end after finitely many rounds. How good the end is depends on the start: a
# uniform one guarantees nothing, k-means++ stays on average within a factor of $8(\ln K + 2)$ of the least cost. It
# compresses a photograph with or without groups; whether there are groups, and how many, it does not say, and the
# units of the data have as much to say as the algorithm.
#
# **Further reading.** {cite:t}`bishop2006pattern`, section 9.1, and {cite:t}`hastie2009elements`, section 14.3, on
# K-means and the choice of $K$; {cite:t}`arthur2007kmeans` for the proof of the guarantee.
