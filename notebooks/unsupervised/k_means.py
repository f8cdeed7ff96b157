# ---
# jupyter:
#   book:
#     functions:
#       cost: cost(normal(9, 2), np.arange(9) % 3, normal(3, 2))
#       assign: assign(normal(9, 2), normal(3, 2))
#       update: update(normal(9, 2), np.arange(9) % 3, normal(3, 2))
#       lloyd: lloyd(normal(30, 2), normal(3, 2))
#       plus_plus: plus_plus(normal(9, 2), 3, np.random.default_rng(0))
#     main: ml.kmeans.objective
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # K-means
#
# A photograph has 273,280 pixels, each with its own colour, and we may use only sixteen colours. Which sixteen? We want
# sixteen points in the space of colours such that each pixel is near one of them. The same method finds groups of similar
# pictures or wines that nobody has labelled. How does it work, when does it fail, and how many groups are there?
#
# - **You need** means, squared distances ([norms](../linear_algebra/norms.ipynb)), and for one paragraph
#   [maximum likelihood](../probability/maximum_likelihood.ipynb).
# - **You build** K-means, equal to scikit-learn's, the start of k-means++ with its guarantee, a palette for a photograph, and the
#   elbow and silhouette methods for the number of groups.
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
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score, silhouette_score

from nbutils.cases import counts, integers, matrices, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.data import digits, photograph
from nbutils.figures import GREY, label_lines, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## K-means clustering: Lloyd's algorithm
#
# Our first points are 160 in the plane, around four centres. The algorithm does not know the centres. It represents each
# group by one point, its **prototype** or **centroid**, and starts with four prototypes that we put close together. So the
# points are divided very unevenly at first:

# %%
rng = np.random.default_rng(0)
centres = np.array([[0, 0], [4, 1], [1, 4], [5, 5]])
x = np.concatenate([c + rng.normal(size=(40, 2)) for c in centres])  # (160, 2)
start = np.array([[2.5, 5.5], [3.5, 5], [4.5, 5.5], [5.5, 6.5]])     # (4, 2)
print('points that are nearest to each prototype:',
      np.bincount(cdist(x, start).argmin(1)).tolist())

# %% [markdown]
# Let $\mathbf{x}_1, \dots, \mathbf{x}_N$ be the points and $\boldsymbol\mu_1, \dots, \boldsymbol\mu_K$ the prototypes. We
# write $z_{nk} = 1$ if point $n$ belongs to group $k$, and 0 otherwise. K-means looks for the groups and prototypes with the
# least sum of squared distances:
#
# ```{math}
# :label: ml.kmeans.objective
# \min_{z,\, \boldsymbol{\mu}} \mathcal{L}(z, \boldsymbol{\mu}), \qquad
# \mathcal{L}(z, \boldsymbol{\mu}) = \sum_{n=1}^{N} \sum_{k=1}^{K} z_{nk} \|\mathbf{x}_n - \boldsymbol{\mu}_k\|_2^2
# ```
#
# In code, the array `z` holds for each point the number of its group:

# %%
def cost(x, z, mu):  # (N, D), (N,), (K, D)
    return ((x - mu[z]) ** 2).sum()

# %% [markdown]
# To find both unknowns at once is hard, but each is easy to find if the other is fixed.
#
# *Prototypes fixed.* Each point chooses its nearest prototype.
#
# *Groups fixed.* The best prototype of a group is its mean.
#
# Each point must belong to exactly one group, because a point in no group would cost nothing. So with the constraint
#
# ```{math}
# :label: ml.kmeans.constraint
# z_{nk} \in \{0, 1\}, \quad \sum_{k} z_{nk} = 1; \qquad \text{for fixed } z: \quad
# \boldsymbol{\mu}_k = \frac{\sum_n z_{nk}\, \mathbf{x}_n}{\sum_n z_{nk}}
# ```
#
# Why the mean? Let $\bar{\mathbf{x}}$ be the mean of the $|C|$ points of a group $C$. Split $\mathbf{x}_n - \boldsymbol{\mu} =
# (\mathbf{x}_n - \bar{\mathbf{x}}) + (\bar{\mathbf{x}} - \boldsymbol{\mu})$. In the sum of the squares the mixed term vanishes,
# because $\sum_{n \in C} (\mathbf{x}_n - \bar{\mathbf{x}}) = \mathbf{0}$, and what remains is
#
# ```{math}
# :label: k-means-pythagoras
# \sum_{n \in C} \|\mathbf{x}_n - \boldsymbol{\mu}\|_2^2
# = \sum_{n \in C} \|\mathbf{x}_n - \bar{\mathbf{x}}\|_2^2 + |C|\, \|\bar{\mathbf{x}} - \boldsymbol{\mu}\|_2^2 .
# ```
#
# The last term is least, zero, for $\boldsymbol\mu = \bar{\mathbf{x}}$. **Lloyd's algorithm** repeats the two steps
# {cite}`lloyd1982least`:

# %%
def assign(x, mu):  # (N, D), (K, D) -> (N,)
    return cdist(x, mu, 'sqeuclidean').argmin(1)

def update(x, z, mu):  # an empty group keeps its prototype
    return np.array([
        x[z == k].mean(0) if (z == k).any() else mu[k] for k in range(len(mu))
    ])

# %%
def lloyd(x, mu):  # -> z, mu, the cost after each assignment
    z, costs = assign(x, mu), []
    while True:
        costs.append(cost(x, z, mu))
        mu = update(x, z, mu)
        old, z = z, assign(x, mu)
        if (z == old).all():
            return z, mu, [*costs, cost(x, z, mu)]

# %%
z, mu, costs = lloyd(x, start)
for r in (0, 1, 2, 5, len(costs) - 1):
    print(f'after {r:2} rounds: cost {costs[r]:6.0f}')
print('prototypes:', mu.round(1).tolist())

# %% mystnb={"image": {"alt": "Four panels of the same 160 points: unlabelled, with four prototypes bunched at the top; coloured after the first assignment; after three rounds; and at the end, with one prototype in the middle of each of the four groups."}} tags=["hide-input"]
rounds, moving = [], start
for _ in range(len(costs)):
    rounds.append((assign(x, moving), moving))
    moving = update(x, rounds[-1][0], moving)
fig, axes = panels(4, height=1.9, sharex=True, sharey=True)
axes[0].scatter(*x.T, s=5, color=GREY)
axes[0].scatter(*start.T, marker='X', s=60, c=['C0', 'C1', 'C2', 'C3'])
axes[0].set_title('start')
for ax, r in zip(axes[1:], (0, 2, len(rounds) - 1), strict=True):
    labels, prototypes = rounds[r]
    for k, colour in enumerate(('C0', 'C1', 'C2', 'C3')):
        ax.scatter(*x[labels == k].T, s=5, color=colour, alpha=0.6)
        ax.scatter(*prototypes[k], marker='X', s=60, color=colour)
    ax.set_title('end' if r == len(rounds) - 1 else f'round {r + 1}')
for ax in axes:
    ax.set(xticks=[], yticks=[], aspect='equal')
    ax.spines[:].set_visible(False)

# %% [markdown] tags=["caption"]
# Four prototypes that start close together find all four groups. In each round, points choose the nearest prototype, and
# prototypes move to the mean of their points.

# %% [markdown]
# The cost falls in every round. A method that minimizes over some variables with the others fixed, in turn, is called
# **coordinate descent**. Does it always come to an end?
#
# ```{prf:theorem} K-means stops
# :label: thm-lloyd
# Let ties between prototypes be broken by a fixed rule (here: the first one). Then the cost never rises, and after
# finitely many rounds assignments and prototypes change no more.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Either half of a round minimises $\mathcal{L}$ over one block, so the cost cannot rise. After an update, the cost is a
# function of the assignment alone (an empty group contributes nothing), and there are at most $K^N$ assignments. So
# it can fall only finitely often. In a round in which it does not fall, the update gained nothing, and since the mean is
# the *only* best point {eq}`k-means-pythagoras`, it moved no prototype. Equal prototypes give, by the fixed rule, equal
# assignments in the next round, and the algorithm stops.
# ```
#
# For points made to be difficult the number of rounds can be exponential in $N$ {cite}`vattani2011kmeans`. On real data it
# is small. Here are 1797 pictures of handwritten digits, with the first ten as prototypes, beside scikit-learn:

# %%
pictures = digits().x  # (1797, 64)
z, mu, costs = lloyd(pictures, pictures[:10])
library = KMeans(10, init=pictures[:10], n_init=1, tol=0).fit(pictures)
print(f'{len(costs) - 1} rounds, cost {costs[-1]:.1f}')
print(f'scikit-learn: cost {library.inertia_:.1f},'
      f' same groups: {(z == library.labels_).all()}')

# %% mystnb={"image": {"alt": "Ten blurred pictures of eight by eight pixels, the prototypes; most can be read as a digit."}} tags=["hide-input"]
fig, axes = panels(10, height=0.7)
for ax, prototype in zip(axes, mu, strict=True):
    show_image(ax, prototype.reshape(8, 8))

# %% [markdown] tags=["caption"]
# The ten prototypes of the digits, each a mean of similar pictures. Most can be read, although the algorithm has seen no
# label.

# %% [markdown]
# ````{admonition} Two other views: a matrix factorization and a likelihood
# :class: dropdown
# With the points as rows of $\mathbf{X}$, the one-hot rows in $\mathbf{Z}$ (N, K) and the prototypes as columns of $\mathbf{M}$
# (D, K), the cost is $\|\mathbf{X}^\top - \mathbf{M}\mathbf{Z}^\top\|_F^2$, a *matrix factorization*. It is not jointly convex
# in $\mathbf{M}$ and $\mathbf{Z}$, and its minimum does not determine them. For any invertible matrix $\mathbf{B}$,
#
# ```{math}
# :label: ml.kmeans.stray-mf
# \mathbf{M}\mathbf{Z}^\top = (\mathbf{M}\mathbf{B})\, (\mathbf{Z}\mathbf{B}^{-\top})^\top,
# \qquad (\mathbf{M}, \mathbf{Z}) \Leftrightarrow (\mathbf{M}\mathbf{B},\, \mathbf{Z}\mathbf{B}^{-\top})
# ```
#
# cost the same. If no group is empty and $\mathbf{Z}\mathbf{B}^{-\top}$ is to be one-hot too, $\mathbf{B}$ is a permutation:
# all it can do is rename the groups. Halfway between a solution and a renamed copy, for $K = 2$, each point belongs half to
# each of two equal prototypes, and this costs more; so the cost is not convex.
#
# As a *likelihood*: if $\mathbf{x}_n$ is Gaussian with mean $\boldsymbol{\mu}_{z_n}$ and covariance $\mathbf{I}$, the
# negative logarithm of the joint density is $\frac{1}{2} \mathcal{L} + \frac{ND}{2} \ln 2\pi$. So K-means is maximum
# likelihood if each point belongs to exactly one of $K$ round Gaussians.
# ````
#
# ```{exercise} ★★ Pencil: only distances are known
# :label: k-means-distances
# Suppose that you know the *squared* distances $d_{nm} = \|\mathbf{x}_n - \mathbf{x}_m\|_2^2$ and the groups, but no
# coordinates, hence no means. Derive the cost of the groups with their best prototypes, and write it as `cost_of(d2, z)`.
# (Apply {eq}`k-means-pythagoras` with $\boldsymbol{\mu} = \mathbf{x}_m$ and sum over $m$.)
# ```

# %%
def cost_of(d2, z):
    """The cost of the groups with their best prototypes: a float.

    d2 (N, N) are squared distances, z (N,) ints from 0; some numbers below
    the largest may not occur.
    For d2 = [[0.0, 4.0], [4.0, 0.0]], z = [0, 0] it is 2.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_coordinates(d2, z):  # points with these distances, from eigenvectors
    J = np.eye(len(d2)) - 1 / len(d2)
    values, vectors_of = np.linalg.eigh(-J @ d2 @ J / 2)
    points = vectors_of * np.sqrt(values.clip(0))
    return sum(((points[z == k] - points[z == k].mean(0)) ** 2).sum() for k in set(z.tolist()))

def squared_distances(points):
    return cdist(points, points, 'sqeuclidean')

cases = dict(d2=matrices((1, 7), 3, -3, 3, edges=True).map(squared_distances), z=lambda d2: counts(len(d2), 0, 3))
grade(cost_of, by_coordinates, atol=1e-6, **cases)

# %% [markdown]
# ```{solution-start} k-means-distances
# :class: dropdown
# ```
# With $S = \sum_n \|\mathbf{x}_n - \bar{\mathbf{x}}\|_2^2$ the sum over $m \in C$ of {eq}`k-means-pythagoras` is
# $\sum_{n,m} d_{nm} = |C|\, S + |C|\, S$, so $S = \frac{1}{2|C|} \sum_{n,m \in C} d_{nm}$. In words: between two members
# drawn at random, the same one twice allowed, the mean squared distance is twice that to the centre. The wrong answers
# forget that each pair is counted twice, divide by $|C| - 1$, and divide by an empty group's size.

# %% jupyter={"source_hidden": true}
def cost_of_solution(d2, z):
    same = z[:, None] == z
    return (d2 * same / same.sum(1)).sum() / 2

def pairs_counted_twice(d2, z):
    return 2 * cost_of_solution(d2, z)

def one_less(d2, z):
    same = z[:, None] == z
    return (d2 * same / np.maximum(same.sum(1) - 1, 1)).sum() / 2

def empty_groups_count(d2, z):
    onehot = np.eye(z.max() + 1)[z]
    if not onehot.any(0).all():
        return np.nan
    return ((onehot.T @ d2 @ onehot).diagonal() / onehot.sum(0)).sum() / 2

assert grade(cost_of_solution, by_coordinates, atol=1e-6, **cases)
assert not grade(pairs_counted_twice, by_coordinates, atol=1e-6, **cases)
assert not grade(one_less, by_coordinates, atol=1e-6, **cases)
assert not grade(empty_groups_count, by_coordinates, atol=1e-6, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def as_library(seed, steps):
    points = np.random.default_rng(seed).normal(size=(40, 3))
    z, mu, costs = lloyd(points, points[:3])
    theirs = KMeans(3, init=points[:3], n_init=1, tol=0, max_iter=steps).fit(points)
    falls = (np.diff(costs) <= 1e-9).all() and (assign(points, mu) == z).all() and close(update(points, z, mu), mu)
    return falls and close(cost(points, z, mu), theirs.inertia_) and close(mu, theirs.cluster_centers_)

verify(
    "Lloyd's algorithm ends where scikit-learn's ends, and the cost never rises",
    lambda seed: as_library(seed, 300),
    slip=('stops after the first round', lambda seed: as_library(seed, 1)), seed=list(range(20)),
)

def onehot_sum(seed, power):
    points = np.random.default_rng(seed).normal(size=(40, 3))
    z, mu, _ = lloyd(points, points[:3])
    library = KMeans(3, init=points[:3], n_init=1, tol=0).fit(points)
    return close((np.eye(3)[z] * cdist(points, mu)**power).sum(), library.inertia_)

holds(
    'ml.kmeans.objective',
    lambda seed: onehot_sum(seed, 2),
    slip=('forgets to square the distances', lambda seed: onehot_sum(seed, 1)),
    seed=seeds(), tries=20,
)

def price(x, detour, sizes, divisor):
    z = np.repeat([0, 1], sizes)
    mu = np.array([x[z == k].sum(0) / divisor[k] for k in (0, 1)])
    extra = cost(x, z, mu + detour) - cost(x, z, mu)
    return close(extra, sizes @ (detour**2).sum(1), atol=1e-6)

holds(
    'ml.kmeans.constraint',
    lambda x, d: price(x, d, np.array([2, 4]), (2, 4)),
    slip=('divides by N in place of the size of the group', lambda x, d: price(x, d, np.array([2, 4]), (6, 6))),
    x=matrices(6, 2), d=matrices(2, 2),
)

# %% tags=["checks"]

def same_cost(seed, sign):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(12, 3))
    z, mu, _ = lloyd(points, points[:2])
    M, Z = mu.T, np.eye(2)[z]
    B = 3 * np.eye(2) + rng.normal(size=(2, 2))

    def f(M, Z):
        return ((points.T - M @ Z.T) ** 2).sum()

    swap = np.array([[0, 1], [1, 0]])
    halfway = f((M + M @ swap) / 2, (Z + Z @ swap) / 2)
    equal = close(f(M @ B, sign * Z @ np.linalg.inv(B).T), f(M, Z))
    return equal and close(f(M, Z), cost(points, z, mu)) and close(f(M @ swap, Z @ swap), f(M, Z)) and halfway > f(M, Z)

holds(
    'ml.kmeans.stray-mf',
    lambda seed: same_cost(seed, +1),
    slip=('puts a minus sign before the inverse', lambda seed: same_cost(seed, -1)),
    seed=seeds(), tries=50,
)

def as_likelihood(seed, half):
    points = np.random.default_rng(seed).normal(size=(12, 3))
    z, mu, _ = lloyd(points, points[:2])
    density = sum(multivariate_normal(m).logpdf(points[z == k]).sum() for k, m in enumerate(mu))
    return close(-density, half * cost(points, z, mu) + 36 / 2 * np.log(2 * np.pi))

verify(
    'half the cost is the negative logarithm of the likelihood of round Gaussians',
    lambda seed: as_likelihood(seed, 1 / 2),
    slip=('forgets the half', lambda seed: as_likelihood(seed, 1)), seed=seeds(), tries=20,
)

# %% [markdown]
# ## k-means++: a good start against bad local minima
#
# The algorithm stops where neither step alone can improve the cost. How bad can this be? Put four points at $(\pm 10, \pm
# 1)$, and let $K = 2$:

# %%
corners = np.array([[10.0, 1], [10, -1], [-10, 1], [-10, -1]])
for start in ([[10.0, 0], [-10, 0]], [[0.0, 1], [0, -1]]):
    z, mu, costs = lloyd(corners, np.array(start))
    print('groups', z, ' cost', costs[-1])

# %% [markdown]
# The second start puts the two upper points into one group and the two lower ones into the other. Each point is nearest to
# its own prototype, so nothing changes any more, at a hundred times the least cost. With points at $(\pm a, \pm 1)$ the
# factor is $a^2$: Lloyd's algorithm alone guarantees nothing. To find the minimum for certain is NP-hard, even for $K = 2$
# {cite}`aloise2009np`.
#
# The usual remedy is a better start. **k-means++** {cite}`arthur2007kmeans` chooses the first prototype among the points at
# random, and each further one among the points with a probability proportional to its squared distance from the nearest
# prototype chosen so far:

# %%
def anywhere(x, K, rng):  # K different points, all equally likely
    return x[rng.choice(len(x), K, replace=False)]

def plus_plus(x, K, rng):
    chosen = [rng.integers(len(x))]
    while len(chosen) < K:
        d2 = cdist(x, x[chosen], 'sqeuclidean').min(1)
        chosen.append(rng.choice(len(x), p=d2 / d2.sum()))
    return x[chosen]

# %% [markdown]
# A group without a prototype is far away, so it probably gets the next one. (If we took the farthest point instead, outliers
# would be chosen.) We try both starts on three groups in a row, two of them closer together, two hundred times each:

# %%
planted = np.repeat([0, 1, 2], 12)
scatter = np.random.default_rng(3).normal(size=(36, 2))
x = 30 * np.array([[0, 0], [1, 0], [4, 0]])[planted] + scatter
least = cost(x, planted, update(x, planted, np.zeros((3, 2))))
rng = np.random.default_rng(4)
runs = {start: [lloyd(x, start(x, 3, rng)) for _ in range(200)]
        for start in (anywhere, plus_plus)}

# %%
for start, results in runs.items():
    ends = np.array([costs[-1] for _, _, costs in results]) / least
    print(f'{start.__name__:9}: {(ends < 1.001).mean():.3f} reach the minimum,'
          f' the worst costs {ends.max():.1f} times as much')

# %% mystnb={"image": {"alt": "The same three groups of points in a row, twice. Above, stuck: the two groups on the left share one colour, with its prototype in the empty space between them, while two prototypes divide the group on the right. Below, the minimum: each group has its own colour."}} tags=["hide-input"]
fig, axes = panels(1, 2, height=1)
worst, best = (pick(runs[anywhere], key=lambda run: run[2][-1]) for pick in (max, min))
for ax, (z, mu, _) in zip(axes, (worst, best), strict=True):
    for k, colour in enumerate(('C0', 'C1', 'C2')):
        ax.scatter(*x[z == k].T, s=12, color=colour)
        ax.scatter(*mu[k], marker='X', s=80, color=colour, alpha=0.5)
    ax.set(xticks=[], yticks=[], ylim=(-5, 5))
    ax.spines[:].set_visible(False)
axes[0].set_title('stuck in a local minimum')
axes[1].set_title('the least cost');

# %% [markdown] tags=["caption"]
# Lloyd's algorithm does not repair every start. With one prototype between two groups and two in the third, nothing changes
# any more.

# %% [markdown]
# How do we know the minimum here? A group that contains two points at the distance $g$ costs at least $g^2/2$, because the
# best place for these two is the middle between them. Let $g$ be the least distance between points of different planted
# groups. If the planted groups together cost less than $g^2/2$, they are the minimum, because all other groups put points of
# two planted groups together.
#
# ```{prf:theorem} Arthur and Vassilvitskii
# :label: thm-kmeans-plus-plus
# Take any finite set of points in $\mathbb{R}^D$ and any $K$ not above the number of distinct points. On average over
# its random choices, k-means++ finds prototypes whose cost, with each point assigned to the nearest, is
# $\mathbb{E}\, \mathcal{L} \le 8\, (\ln K + 2)\, \mathcal{L}_{\min}$.
# ```
#
# Nothing is assumed about the points, and Lloyd's algorithm can only improve on it. The proof is in the paper. The case $K =
# 1$ follows from {eq}`k-means-pythagoras`: with $\boldsymbol{\mu} = \mathbf{x}_m$ and $m$ uniform, the expected cost is
# $\mathcal{L}_{\min} + N \cdot \frac{1}{N} \mathcal{L}_{\min} = 2 \mathcal{L}_{\min}$, so a random member costs just twice
# as much as the mean. scikit-learn's `KMeans` starts with k-means++ by default; it tries several candidates for each
# prototype, and `n_init` says from how many starts the best result is taken.
#
# ```{exercise} ★★★ Program: on a line the minimum is within reach
# :label: k-means-line
# Let the points be numbers. Show that in a best solution each group is an interval of the sorted points. So the
# last group of the first $n$ points begins somewhere, and before it stands a best solution with $K - 1$ groups.
# Write `least_cost(x, K)`. It must manage 60 points, so trying all groups is too slow.
# ```

# %%
def least_cost(x, K):
    """The least cost of K groups: a float.

    x (N,) are floats, N up to 60, and K an int, 1 <= K <= N.
    least_cost(np.array([0.0, 2.0, 9.0]), 2) is 2.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_intervals(x, K):  # all borders, for few points; more groups of few values for many
    values, sizes = np.unique(x, return_counts=True)
    if K >= len(values):
        return 0.0
    costs = {}
    for size in product([0, 1], repeat=len(values) - 1):
        if sum(size) == K - 1:
            part = np.r_[0, np.cumsum(size)]
            means = np.bincount(part, values * sizes) / np.bincount(part, sizes)
            costs[size] = (sizes * (values - means[part]) ** 2).sum()
    return min(costs.values())

few = vectors((1, 7), -9, 9, edges=True)
many = vectors(6, -9, 9).map(lambda values: np.repeat(values, 10)[np.arange(60) * 7 % 60])
cases = dict(x=few | many | few.map(lambda v: v + 1e6), K=lambda x: integers(1, min(len(x), 7)))
grade(least_cost, by_intervals, tries=50, lines=100_000, rtol=1e-5, atol=1e-5, **cases)

# %% [markdown]
# ```{solution-start} k-means-line
# :class: dropdown
# ```
# Each point belongs to its nearest prototype, and on a line the points nearest to one of several prototypes form an
# interval. With $W(i, n)$ the cost of the sorted points $i, \dots, n - 1$ around their mean, the least cost of the first $n$
# in $k$ groups is $L_k(n) = \min_i \{ L_{k-1}(i) + W(i, n) \}$, and $L_1(n) = W(0, n)$: *dynamic programming*
# {cite}`wang2011ckmeans`. Running sums give $W$ without a further loop, as a sum of squares minus the squared sum over the
# length. (The sums cancel badly far from zero, so the points are centred first.) The wrong answers cut at the widest gaps,
# take the best of some random starts, and do not sort.

# %% jupyter={"source_hidden": true}
def interval_costs(x):  # W (N + 1, N + 1), for points in the order given
    x = x - x.mean()
    s1, s2 = np.r_[0, x.cumsum()], np.r_[0, (x ** 2).cumsum()]
    i, n = np.indices((len(x) + 1, len(x) + 1))
    W = s2[n] - s2[i] - (s1[n] - s1[i]) ** 2 / np.maximum(n - i, 1)
    return np.where(i <= n, W.clip(0), np.inf)

def least_cost_solution(x, K):
    W = interval_costs(np.sort(x))
    L = W[0]
    for _ in range(K - 1):
        L = (L[:, None] + W).min(0)
    return L[-1]

def widest_gaps(x, K):
    x = np.sort(x)
    cuts = np.sort(np.diff(x).argsort(kind='stable')[len(x) - K:]) + 1
    return sum(((p - p.mean()) ** 2).sum() for p in np.split(x, cuts))

def some_starts(x, K):
    rng = np.random.default_rng(0)
    return min(lloyd(x[:, None], anywhere(x[:, None], K, rng))[2][-1] for _ in range(2))

def not_sorted(x, K):
    W = interval_costs(x)
    L = W[0]
    for _ in range(K - 1):
        L = (L[:, None] + W).min(0)
    return L[-1]

options = dict(tries=50, lines=100_000, rtol=1e-5, atol=1e-5, **cases)
assert grade(least_cost_solution, by_intervals, **options)
assert not grade(widest_gaps, by_intervals, **options)
assert not grade(some_starts, by_intervals, **options)
assert not grade(not_sorted, by_intervals, **options)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def corner_cost(a, start):
    points = np.array([[a, 1.0], [a, -1], [-a, 1], [-a, -1]])
    return lloyd(points, np.array(start, dtype=float))[2][-1]

verify(
    'with points at (±a, ±1) the bad start costs a² times as much as the good one',
    lambda a: close(corner_cost(a, [[0, 1], [0, -1]]), a**2 * corner_cost(a, [[a, 0], [-a, 0]])),
    slip=('says a times as much', lambda a: close(corner_cost(a, [[0, 1], [0, -1]]), a * corner_cost(a, [[a, 0], [-a, 0]]))),
    a=[2.0, 10.0, 30.0],
)

def certified(places, factor):  # the planted groups cost less than g² / 2
    points = 30 * np.array(places)[planted] + factor * scatter
    between = cdist(points, points, 'sqeuclidean')[planted[:, None] != planted]
    return cost(points, planted, update(points, planted, np.zeros((3, 2)))) < between.min() / 2

verify(
    'the planted groups are the minimum',
    lambda factor: certified([[0, 0], [1, 0], [4, 0]], factor),
    slip=('spreads them four times as far', lambda factor: certified([[0, 0], [1, 0], [4, 0]], 4 * factor)), factor=[1],
)

def expected_cost(x, weight):  # K = 3, as a sum over all choices; chances in proportion to weight(d2)
    d2 = cdist(x, x, 'sqeuclidean')
    second = weight(d2) / weight(d2).sum(1, keepdims=True)
    pair = np.minimum(d2[:, None], d2)  # (N, N, N): to the nearer of two
    third = weight(pair)
    third = third / third.sum(-1, keepdims=True)
    costs = np.minimum(pair[:, :, None], d2).sum(-1)  # (N, N, N)
    return (second[:, :, None] * third * costs).sum() / len(x)

def below_the_bound(gap, weight):
    triangle = np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])
    points = gap * triangle[planted] + scatter
    optimum = cost(points, planted, update(points, planted, np.zeros((3, 2))))
    return expected_cost(points, weight) < 8 * (np.log(3) + 2) * optimum

verify(
    'on average k-means++ keeps within the bound, whatever the gap between three groups',
    lambda gap: below_the_bound(gap, lambda d2: d2),
    slip=('starts anywhere', lambda gap: below_the_bound(gap, lambda d2: d2 > 0)), gap=[30, 100, 1000],
)

near_groups = 6 * np.array([[0, 0], [1, 0], [0.5, 1]])[planted] + scatter

def starts_as(start):  # the mean cost of 300 starts, within five standard errors of the exact expectation
    rng = np.random.default_rng(4)
    costs = [cdist(near_groups, start(near_groups, 3, rng), 'sqeuclidean').min(1).sum() for _ in range(300)]
    return abs(np.mean(costs) - expected_cost(near_groups, lambda d2: d2)) < 5 * np.std(costs) / 300**0.5

def of_the_library(x, K, rng):
    return kmeans_plusplus(x, K, random_state=int(rng.integers(2**31)), n_local_trials=1)[0]

# %% tags=["checks"]
verify(
    "our starts have the expected cost, and so have scikit-learn's",
    lambda name: starts_as({'ours': plus_plus, 'theirs': of_the_library}[name]),
    slip=('starts anywhere', lambda name: starts_as({'ours': anywhere, 'theirs': anywhere}[name])), name=['ours', 'theirs'],
)
reached = {start: np.mean([costs[-1] < 1.001 * least for _, _, costs in results]) for start, results in runs.items()}
verify(
    'k-means++ reaches the minimum far more often than a uniform start',
    lambda share: reached[plus_plus] > share > 0.8 > reached[anywhere],
    slip=('exchanges the two', lambda share: reached[anywhere] > share), share=[0.9],
)

# %% [markdown]
# ## Vector quantization: a photograph in sixteen colours
#
# A colour is a point in the cube of red, green and blue. A photograph is a cloud of such points, and the prototypes of
# K-means are a palette. With $K = 16$ a pixel needs only the number of its colour, 4 bits in place of 24. We find the
# palettes from a sample of the pixels:

# %%
flower = photograph('flower')  # (427, 640, 3)
pixels = flower.reshape(-1, 3)
rng = np.random.default_rng(6)
sample = pixels[rng.choice(len(pixels), 4000, replace=False)]
palettes = {
    K: KMeans(K, n_init=4, random_state=0).fit(sample).cluster_centers_
    for K in (4, 8, 16)
}

# %% mystnb={"image": {"alt": "The photograph of an orange dahlia before dark green leaves, in all its colours, with four and with sixteen; with four the petals are flat and the leaves two shades, with sixteen the picture looks nearly complete. A strip below each shows its colours."}} tags=["hide-input"]
fig, axes = panels(3, height=2.3)
crop = flower[80:360:2, 165:445:2]  # (140, 140, 3)
colours = crop.reshape(-1, 3)
for ax, mu in zip(axes, (colours, palettes[4], palettes[16]), strict=True):
    mu = mu[mu.sum(1).argsort(kind='stable')]
    painted = mu[assign(colours, mu)] if len(mu) < 99 else colours
    strip = mu[np.arange(140) * len(mu) // 140][None].repeat(14, 0)
    show_image(ax, np.concatenate([painted.reshape(crop.shape), strip]))
    ax.set_title('original' if len(mu) > 99 else f'{len(mu)} colours')

# %% [markdown] tags=["caption"]
# Sixteen colours chosen by K-means come close to the original; with four the petals are flat.

# %% [markdown]
# Is this good? We compare with two other palettes of eight colours: the grid with two levels for each of red, green and
# blue, and eight pixels drawn at random. The error is the root mean squared distance of a pixel from its colour, over all
# pixels.

# %%
def error(mu):
    return np.sqrt(((pixels - mu[assign(pixels, mu)]) ** 2).sum(1).mean())

grid = np.array(list(product([0.25, 0.75], repeat=3)))
drawn = [error(sample[rng.choice(4000, 8, replace=False)]) for _ in range(20)]
print(f'grid          {error(grid):.3f}')
print(f'random pixels {np.mean(drawn):.3f}, at best {min(drawn):.3f}')
for K, palette in palettes.items():
    print(f'K-means, {K:2} colours {error(palette):.3f}')

# %% [markdown]
# With eight colours K-means has less than a third of the error of the grid, and less than the best of the twenty random
# palettes.
#
# ```{exercise} ★★ Experiment: twice as many colours
# :label: k-means-rate
# For evenly spread points in three dimensions, $K$ prototypes cut the space into cells of a width proportional to $K^{-1/3}$. By
# which factor should the mean *squared* error change if $K$ grows eightfold? And does the photograph behave like this from 4 to
# 32 colours: is its factor smaller, about the same (within a fifth), or larger? Return both, then run
# `KMeans(K, n_init=4, random_state=0)` on the sample.
# ```

# %%
def eightfold():
    """The factor, and 'smaller', 'same' or 'larger': a tuple (float, str)."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def measured_factor():
    few, many_colours = (KMeans(K, n_init=4, random_state=0).fit(sample).inertia_ for K in (4, 32))
    return many_colours / few

def is_predicted(said):
    theory, words = said
    width = 8 ** (-1 / 3)
    seen = measured_factor() / width**2
    word = 'same' if 0.8 < seen < 1.25 else 'smaller' if seen < 1 else 'larger'
    if not close(float(theory), width**2) or words != word:
        raise ValueError('one of the two is something else; compute the first, and run the second')
    return True

grade(lambda: is_predicted(eightfold()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} k-means-rate
# :class: dropdown
# ```
# The width of a cell becomes half as large, so the squared error should become a quarter. The photograph gains more than
# that from 4 to 32 colours, because its colours do not fill the cube: they lie near a few surfaces and curves, which few
# prototypes can follow. The wrong answers forget the square, expect the rate of evenly spread points, and expect a smaller
# gain.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_predicted((1 / 4, 'smaller')), lambda: True, [()])
assert not grade(lambda: is_predicted((1 / 2, 'smaller')), lambda: True, [()])
assert not grade(lambda: is_predicted((1 / 4, 'same')), lambda: True, [()])
assert not grade(lambda: is_predicted((1 / 4, 'larger')), lambda: True, [()])
print(f'measured factor {measured_factor():.3f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def errors_of(K):
    return [error(palettes[K]), min(drawn), error(grid)]

verify(
    'eight colours of K-means are better than twenty draws and less than a third as wrong as the grid',
    lambda K: errors_of(K)[0] < errors_of(K)[1] and 3 * errors_of(K)[0] < errors_of(K)[2],
    slip=('takes four colours', lambda K: 3 * errors_of(K // 2)[0] < errors_of(K)[2]),
    K=[8],
)

# %% [markdown]
# ## How many clusters? The elbow method and the silhouette score
#
# So far $K$ was given. The least cost cannot choose it, because it falls with every further prototype until it is zero. One
# looks for the place where it stops falling fast, the **elbow**. Two hundred points in four blobs have one at $K = 4$:

# %%
rng = np.random.default_rng(8)
square = 5 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
four = np.repeat(square, 50, axis=0) + 0.8 * rng.normal(size=(200, 2))

def fitted(x, K):
    return KMeans(K, n_init=5, random_state=0).fit(x)

blob_costs = np.array([fitted(four, K).inertia_ for K in range(1, 11)])
print('costs for K = 1, ..., 6:', blob_costs[:6].round(0))

# %% [markdown]
# Many data have no elbow. If points fill a region of $\mathbb{R}^D$ evenly, the mean squared distance goes like $K^{-2/D}$
# {cite}`gray1998quantization`. A power law has no elbow: to double $K$ always divides the cost by the same number.
#
# ### The silhouette
#
# Another answer compares distances. **Clusters** are groups whose members are close to each other, compared with their
# distances to points outside the group. For a point $\mathbf{x}_n$ in the group $C_n$ we take two averages: the distance to
# the others of its own group, and the distance to the members of the nearest other group. In a good grouping
#
# ```{math}
# :label: ml.clustering.clusters
# \begin{aligned}
# a_n &= \frac{1}{|C_n| - 1} \sum_{\substack{m \in C_n \\ m \ne n}} \|\mathbf{x}_n - \mathbf{x}_m\|_2 \\
# \ll \quad b_n &= \min_{C \ne C_n} \frac{1}{|C|} \sum_{m \in C} \|\mathbf{x}_n - \mathbf{x}_m\|_2
# \end{aligned}
# ```
#
# The **silhouette** {cite}`rousseeuw1987silhouettes` is $s_n = (b_n - a_n) / \max(a_n, b_n)$. It is close to 1 for a point
# that fits well into its group, 0 on the border between two groups, and negative for a point in the wrong one. A point alone
# in its group gets 0. scikit-learn has it as `silhouette_score`:

# %%
def silhouettes(x, z):  # (N, D), (N,) in 0..K-1 -> (N,)
    n, onehot = np.arange(len(x)), np.eye(z.max() + 1)[z]  # (N, K)
    sums, sizes = cdist(x, x) @ onehot, onehot.sum(0)      # (N, K), (K,)
    a = sums[n, z] / np.maximum(sizes[z] - 1, 1)
    mean = sums / sizes
    mean[n, z] = np.inf
    b = mean.min(1)
    return np.where(sizes[z] > 1, (b - a) / np.maximum(a, b), 0)

# %%
z = fitted(four, 4).labels_
print(f'four blobs: ours {silhouettes(four, z).mean():.3f},'
      f' scikit-learn {silhouette_score(four, z):.3f}')

# %% [markdown]
# ### Real data: three sorts of wine
#
# We try the silhouette on 178 wines with 13 chemical measurements. They are of three sorts, which we hold back until the
# end. Some measurements are numbers in the hundreds, others are near 1. So we take the wines once raw and once with each
# column divided by its standard deviation. For comparison we add points without any groups, spread evenly over a square. The
# *adjusted Rand index* compares the groups found with the three sorts; it is 1 for equal groups and about 0 for random ones.

# %%
wine, sort = load_wine(return_X_y=True)
even = np.random.default_rng(9).uniform(size=(200, 2))  # no groups at all
tables = {'blobs': four, 'wine, raw': wine,
          'wine, scaled': (wine - wine.mean(0)) / wine.std(0), 'even': even}
scores = {
    name: [silhouette_score(x, fitted(x, K).labels_) for K in range(2, 9)]
    for name, x in tables.items()
}

# %%
for name, score in scores.items():
    print(f'{name:12}: best K {np.argmax(score) + 2},'
          f' mean silhouette {max(score):.2f}')
for name in ('wine, raw', 'wine, scaled'):
    found = fitted(tables[name], 3).labels_
    print(f'{name:12}: three groups against the sorts, adjusted Rand index'
          f' {adjusted_rand_score(sort, found):.2f}')

# %% mystnb={"image": {"alt": "Left: the cost of four blobs against K falls steeply to four prototypes and hardly after. Right: mean silhouette against K from 2 to 8 for four data sets. Blobs peak at 4, raw wine is highest at 2 and falls, evenly spread points are nearly flat, scaled wine lies lowest and peaks at 3."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
left.plot(range(1, 11), blob_costs / blob_costs[0], 'o-', ms=4)
left.set(title='four blobs', xlabel='K', ylabel='cost / cost for K = 1', ylim=(0, None))
for name, score in scores.items():
    right.plot(range(2, 9), score, 'o-', ms=4, label=name)
right.set(title='silhouette', xlabel='K', ylabel='mean silhouette', ylim=(0, 0.75))
label_lines(right);

# %% [markdown] tags=["caption"]
# Left: the cost of four blobs has an elbow at $K = 4$. Right: the silhouette finds the four blobs, but even points without
# groups have a higher one than the scaled wines, and the raw wines a still higher one.

# %% [markdown]
# Scaled, the wines fall into three groups, and these are very nearly the three sorts. Raw, the silhouette is *higher* and
# the groups are worse, because the squares of one measurement outweigh all others. So the choice of units decides what
# K-means finds, and silhouettes in different units cannot be compared. And the evenly spread points, which have no groups,
# have a better silhouette than the scaled wines. K-means returns $K$ groups for any points; whether they mean something must
# be decided with other knowledge.
#
# ```{exercise} ★ Program: well separated groups
# :label: k-means-strict
# Clusters can also be defined without averages: *every* distance within a group is smaller than *every* distance between
# points of different groups. Write `well_separated(x, z)`, which says whether this is so, without a loop over pairs.
# ```

# %%
def well_separated(x, z):
    """Whether distances within groups are below all others: a bool.

    x (N, D) are floats, z (N,) ints, with at least two groups. A group may
    have one point, whose distance from itself, 0, counts as within.
    For x = [[0.0], [1.0], [5.0]], z = [0, 0, 1] it is True.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_pairs(x, z):
    within, between = [], []
    for n, m in product(range(len(x)), repeat=2):
        (within if z[n] == z[m] else between).append(np.linalg.norm(x[n] - x[m]))
    return bool(max(within) < min(between))

def grid_points(v):  # small whole numbers, so that distances tie
    return v.round()[:, None]

cases = dict(x=vectors((2, 6), -9, 9, edges=True).map(grid_points) | matrices((2, 5), 2, -3, 3, edges=True),
             z=lambda x: counts(len(x), 0, 2).filter(np.ptp))
grade(well_separated, by_pairs, lines=10, **cases)

# %% [markdown]
# ```{solution-start} k-means-strict
# :class: dropdown
# ```
# Compare all pairs at once; `z[:, None] == z` says which pairs share a group. On the line 0, 1, 2, 4, 5 the groups
# {0, 1, 2} and {4, 5} look obvious, and yet 2 is as far from 0 as from 4. Such strict separation is rare in real data, which
# is why averages are compared instead. The wrong answers compare averages, let equal distances pass, and look only at the
# nearest neighbour of each point.

# %% jupyter={"source_hidden": true}
def well_separated_solution(x, z):
    d = cdist(x, x)
    same = z[:, None] == z
    return bool(d[same].max() < d[~same].min())

def on_average(x, z):
    d = cdist(x, x)
    same = z[:, None] == z
    return bool(d[same].mean() < d[~same].mean())

def equal_passes(x, z):
    d = cdist(x, x)
    same = z[:, None] == z
    return bool(d[same].max() <= d[~same].min())

def nearest_only(x, z):
    d = cdist(x, x)
    np.fill_diagonal(d, np.inf)
    return bool((z[d.argmin(1)] == z).all())

assert grade(well_separated_solution, by_pairs, lines=10, **cases)
assert not grade(on_average, by_pairs, lines=10, **cases)
assert not grade(equal_passes, by_pairs, lines=10, **cases)
assert not grade(nearest_only, by_pairs, lines=10, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def three_blobs(seed):  # -> (45, 2)
    rng = np.random.default_rng(seed)
    return np.concatenate([c + rng.normal(size=(15, 2)) for c in np.array([[0, 0], [8, 0], [4, 7]])])

def well_grouped(seed, z):
    points = three_blobs(seed)
    s = silhouettes(points, z).mean()
    return s > 0.5 and close(s, silhouette_score(points, z))

verify(
    'planted groups are nearer to each other than to the rest',
    lambda seed: well_grouped(seed, np.repeat([0, 1, 2], 15)),
    slip=('cuts one blob in two and merges the others', lambda seed: well_grouped(seed, np.repeat([0, 1, 2], [7, 8, 30]))),
    seed=seeds(), tries=40,
)
verify(
    'the cost falls with K, and its largest drop leads to four blobs',
    lambda K: (np.diff(blob_costs) < 0).all() and np.argmax(blob_costs[:-1] / blob_costs[1:]) + 2 == K,
    slip=('expects it at three', lambda K: np.argmax(blob_costs[:-1] / blob_costs[1:]) + 2 == K - 1), K=[4],
)

def rand_index(name):
    return adjusted_rand_score(sort, fitted(tables[name], 3).labels_)

verify(
    'three groups of the scaled wines are near the sorts, of raw ones not, and points without groups score higher',
    lambda name: (np.argmax(scores[name]) + 2 == 3 and rand_index(name) > 0.8 > 0.5 > rand_index('wine, raw')
                  and max(scores['wine, raw']) > max(scores['even']) > max(scores[name])),
    slip=('takes the raw wines', lambda name: rand_index(name.replace('scaled', 'raw')) > 0.8), name=['wine, scaled'],
)

# %% [markdown]
# ## Summary
#
# K-means describes points by $K$ prototypes. Lloyd's algorithm finds them in turns: each point chooses the nearest
# prototype, and each prototype moves to the mean of its points; the cost never rises, and the algorithm stops. How good the
# end is depends on the start: a uniform one guarantees nothing, k-means++ keeps on average within a factor of $8(\ln K + 2)$
# of the least cost. The elbow and the silhouette suggest a number of groups, but the units of the data decide as much as the
# algorithm.
#
# **Further reading.** {cite:t}`bishop2006pattern`, section 9.1, and {cite:t}`hastie2009elements`, section 14.3, introduce
# K-means and the choice of $K$; {cite:t}`arthur2007kmeans` prove the guarantee.
