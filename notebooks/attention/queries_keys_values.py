# ---
# jupyter:
#   book:
#     functions:
#       soft_lookup: soft_lookup(normal(3, 4), normal(5, 4), normal(5, 2), 0.7)
#     main: dl.qkv.attention
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Queries, keys and values
#
# A table lists the number of sunspots for each year, and one year is missing. The years before and after it are there, so a mean of
# their numbers is a good guess. In such a mean, how much should each year of the table count? And can this be learned from data?
#
# - **You need** the [softmax](../classification/softmax.ipynb), [cross-validation](../regression/cross_validation.ipynb),
#   [nearest neighbours](../classification/nearest_neighbours.ipynb) and, for the last part,
#   [training by gradient descent](../regression/minibatch_training.ipynb).
# - **You build** a soft lookup with queries, keys and values, which is Nadaraya-Watson regression, choose its bandwidth, and
#   learn its keys.
# - **Runs in** 12 seconds. All tensors are float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.optimize import linprog, nnls
from scipy.special import softmax
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from nbutils import data
from nbutils.cases import integers, matrices, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.figures import GREY, label_lines, panels
from nbutils.printed import of

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the matrices are small: a second thread would mostly wait
torch.set_printoptions(precision=3, sci_mode=False)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Soft lookup: a query, keys and values
#
# A Python dictionary answers only if the key is in the table. Here the year 1997 is missing. A soft lookup compares the
# year that we ask for, the **query**, with each year in the table, the **keys**. Near keys get large
# weights. The answer is the weighted mean of the numbers in the table, the **values**.

# %%
spots = data.sunspots()
rows = zip(spots['year'].tolist(), spots['number'].tolist())
table = {year: count for year, count in rows if 1994 <= year <= 1999}
truth = table.pop(1997)                               # we hide it
print(table)
print('hard lookup of 1997:', table.get(1997))

# %% [markdown]
# First, each key gets a **score**, which says how well it fits the query. We take the squared distance from the query, and
# give it a minus sign, so that near keys have the largest scores. We also divide it by 2. The
# [softmax](../classification/softmax.ipynb) then turns the scores into positive weights with sum one:

# %%
k = torch.tensor(list(table), dtype=torch.float64)    # (5,) keys
v = torch.tensor(list(table.values()))                # (5,) values
scores = -(1997 - k) ** 2 / 2                         # (5,)
weights = scores.softmax(0)                           # (5,)
for year, score, weight in zip(table, scores, weights):
    print(f'{year}  score {score:5.2f}  weight {weight:.3f}')
print(f'soft lookup of 1997: {weights @ v:.1f}, hidden number: {truth}')

# %% [markdown]
# The years 1996 and 1998 are equally near, so they get the same weight, 0.406. The answer 39.8 is a little above the mean of their two
# values, $(8.6 + 64.3) / 2 = 36.45$. The hidden number was 21.5, so this guess is too high.
#
# Now let keys and values be vectors, and call the table $\mathcal{D} = \{(\mathbf{k}_1, \mathbf{v}_1), \dots, (\mathbf{k}_m,
# \mathbf{v}_m)\}$. For a query $\mathbf{q}$, **attention** is the sum
#
# ```{math}
# :label: dl.qkv.attention
# \operatorname{Attention}(\mathbf{q}, \mathcal{D}) = \sum_{i=1}^m \alpha(\mathbf{q}, \mathbf{k}_i)\, \mathbf{v}_i .
# ```
#
# The weights $\alpha$ come from the scores $a(\mathbf{q}, \mathbf{k}_i)$ by a softmax. The scores may be any numbers:
#
# ```{math}
# :label: dl.qkv.softmax-weights
# \alpha(\mathbf{q}, \mathbf{k}_i) = \frac{\exp(a(\mathbf{q}, \mathbf{k}_i))}{\sum_{j=1}^m \exp(a(\mathbf{q}, \mathbf{k}_j))} .
# ```
#
# In the example, $a(\mathbf{q}, \mathbf{k}) = -\lVert\mathbf{q} - \mathbf{k}\rVert^2 / (2 h^2)$ with $h = 1$. The number
# $h > 0$ is the **bandwidth**. Compared with a key at the query itself, a key at the
# distance $h$ counts $e^{-1/2} = 0.61$ times as much, and a key at the distance $3h$ only $e^{-9/2} = 0.011$ times. In code, for $n$ queries at once, the rows of a matrix $\mathbf{Q}$:

# %%
def soft_lookup(Q, K, V, h):
    """For each query the weighted mean of the values, and the weights."""
    distances = torch.cdist(Q, K)         # (n, m)
    S = -distances**2 / (2 * h**2)        # (n, m) scores
    A = S.softmax(-1)                     # (n, m) each row sums to one
    return A @ V, A                       # (n, d_v), (n, m)

# %% mystnb={"image": {"alt": "From left to right: a bar q with 2 cells and a grid K with 5 rows and 2 columns lead by an arrow marked score and softmax to a column of 5 weights, dark for rows 2 and 3; this column and a grid V with 5 rows and 3 columns lead by an arrow marked weighted sum to a bar z with 3 cells."}} tags=["hide-input"]
fig, ax = panels(1, height=1.9)
def grid(left, shades, name, shape):
    for i, row in enumerate(shades):
        for j, shade in enumerate(row):
            ax.add_patch(plt.Rectangle((left + j, len(shades) / 2 - i - 1), 1, 1, fc='C0', alpha=shade, lw=0))
            ax.add_patch(plt.Rectangle((left + j, len(shades) / 2 - i - 1), 1, 1, fc='none', ec=GREY, lw=0.6))
    middle = left + len(shades[0]) / 2
    ax.text(middle, len(shades) / 2 + 0.3, name, ha='center', va='bottom', fontsize=10)
    ax.text(middle, -len(shades) / 2 - 0.3, shape, ha='center', va='top', fontsize=8.5)
grid(0, [[0.3, 0.3]], 'query $\\mathbf{q}$', '$d_k$')
grid(4.3, [[0.3, 0.3]] * 5, 'keys $\\mathbf{K}$', '$m \\times d_k$')
grid(12, [[0.1], [0.6], [0.8], [0.2], [0.05]], 'weights', '$m$')
grid(16, [[a] * 3 for a in (0.1, 0.6, 0.8, 0.2, 0.05)], 'values $\\mathbf{V}$', '$m \\times d_v$')
grid(25, [[0.45] * 3], 'result $\\mathbf{z}$', '$d_v$')
for start, stop, words in ((6.6, 11.7, 'scores,\nsoftmax'), (19.3, 24.7, 'weighted\nsum')):
    ax.annotate('', (stop, 0), (start, 0), arrowprops={'arrowstyle': '->', 'color': GREY})
    ax.text((start + stop) / 2, 0.3, words, ha='center', va='bottom', fontsize=8.5)
ax.text(3.2, 0, 'with', ha='center', va='center', fontsize=8.5)
ax.text(14.5, 0, 'with', ha='center', va='center', fontsize=8.5)
ax.set(xlim=(-0.6, 28.6), ylim=(-3.6, 3.8), aspect='equal')
ax.axis('off');

# %% [markdown] tags=["caption"]
# The flow of shapes for one query. Each of the $m$ keys has one weight and one value. The query and the keys have $d_k$ components.
# The values and the result have $d_v$.

# %% [markdown]
# ### The bandwidth is a temperature
#
# (dl.qkv.one-hot)=
# **Hard lookup.** If one weight is 1 and all others are 0, the result is the value of that key, as in a database. This is
# the limit $h \to 0$ if a single key is nearest.
#
# (dl.qkv.average)=
# **Average pooling.** If all weights are $1/m$, the result is the mean of all values, whatever the query. This is the
# limit $h \to \infty$.
#
# Between these two limits, $h^2$ acts as a **temperature**. This is the name for a number that divides all scores before the softmax: the higher it
# is, the more equal are the weights. We ask for $q = 1996.2$, a little after 1996, with five bandwidths:

# %%
K = k[:, None]                            # (5, 1)
q = torch.tensor([[1996.2]])              # (1, 1)
for h in (0.1, 0.5, 2, 3, 100):
    z, A = soft_lookup(q, K, v, h)        # (1,), (1, 5)
    print(f'h = {h:5}  weights {A[0]}  sunspots {z[0]:.1f}')

# %% [markdown]
# For $h = 0.1$ nearly all weight lies on 1996. For $h = 100$ the five weights are nearly equal, and the result is nearly the
# mean of the five values.
#
# ```{exercise} ★ Pencil: two keys
# :label: qkv-two
#
# The table has two keys, $k_1 = 0$ and $k_2 = 1$, and the query is a number $q$. Show that the weight of $k_2$ is the
# logistic function $\sigma(t) = 1/(1 + e^{-t})$ of $t = (q - \frac12)/h^2$. For which $q$ does this weight grow fastest?
# ```
#
# ```{solution-start} qkv-two
# :class: dropdown
# ```
# Let $s_1$ and $s_2$ be the scores. The weight is $e^{s_2}/(e^{s_1} + e^{s_2}) = \sigma(s_2 - s_1)$. The difference of the scores is
# $(q^2 - (q - 1)^2)/(2h^2) = (2q - 1)/(2h^2)$, which is $t$. The weight grows fastest at $t = 0$, that is, at $q = \frac12$.
# There its slope with respect to $q$ is $1/(4h^2)$. So a soft lookup with a small bandwidth changes suddenly, halfway between the keys.
# ```{solution-end}
# ```

# %% tags=["checks"]
keys, width = np.array([[0.0, 1.0], [1.0, -1.0], [-0.5, 0.3]]), 0.8

def alpha(q, key):  # by scipy, for the key that is asked for
    weights = softmax(-((keys - q) ** 2).sum(1) / (2 * width**2))
    return weights[(keys == key).all(1).argmax()]

def by_torch(q, D):  # D: the values of the table
    return soft_lookup(torch.tensor(q)[None], torch.tensor(keys), torch.tensor(D), width)[0][0].numpy()

drawn = dict(m=3, q=vectors(2, -2, 2), k=[list(keys)], alpha=alpha, tries=30)
holds('dl.qkv.attention', Attention=by_torch, D=matrices(3, 2, -3, 3), v=of(lambda D: list(D)), **drawn)
holds(
    'dl.qkv.softmax-weights', **drawn, i=range(1, 4),
    a=lambda q, key: -((q - key) ** 2).sum() / (2 * width**2),
)

def lookup_gives(seed, m, h, want):
    g = torch.Generator().manual_seed(seed)
    K, V = torch.arange(m)[:, None] + 0.3 * torch.rand(m, 1, generator=g), torch.randn(m, 2, generator=g)
    return close(soft_lookup(K, K, V, h)[0], want(V), atol=1e-6)

holds(
    'dl.qkv.one-hot',
    lambda seed, m: lookup_gives(seed, m, 0.01, lambda V: 1 * V),
    slip=('keeps a wide bandwidth', lambda seed, m: lookup_gives(seed, m, 1.0, lambda V: V)),
    seed=seeds(), m=integers(1, 6), tries=30,
)
holds(
    'dl.qkv.average',
    lambda seed, m: lookup_gives(seed, m, 1e5, lambda V: (1 / m * V.sum(0)).expand(m, 2)),
    slip=('takes the sum of the values', lambda seed, m: lookup_gives(seed, m, 1e5, lambda V: V.sum(0).expand(m, 2))),
    seed=seeds(), m=integers(1, 6), tries=30,
)

# %% [markdown]
# ## Which values can come out: linear combination, cone and convex hull
#
# (dl.qkv.linear-comb)=
# Attention returns a **linear combination** of the values in the table: it cannot leave the space that they span. If we know more about the
# weights, we know more about the result. We take three values in the plane and five kinds of weights:

# %%
V = np.array([[3.0, 0.0], [1.0, 1.0], [1.0, 3.0]])    # one value a row
kinds = {
    'selection':   [0.0, 1.0, 0.0],
    'mean':        [1 / 3, 1 / 3, 1 / 3],
    'convex':      [0.5, 0.2, 0.3],
    'nonnegative': [0.9, 0.2, 0.8],
    'signed':      [0.8, 0.2, -0.5],
}
results = {name: np.array(a) @ V for name, a in kinds.items()}
for name, z in results.items():
    print(f'{name:12} sum {sum(kinds[name]):.2f}',
          f' result ({z[0]:.2f}, {z[1]:.2f})')

# %% mystnb={"image": {"alt": "The plane with a wide shaded wedge from the origin, whose lower edge is the horizontal axis, and in it a darker triangle with three values as corners. The points selection, at a corner, mean and convex lie in the triangle, nonnegative lies in the wedge beyond the triangle, signed lies below the wedge."}} tags=["hide-input"]
fig, ax = panels(1, height=3)
ax.fill([0, 9, 9, 4.2 / 3], [0, 0, 4.2, 4.2], color=GREY, alpha=0.13, lw=0)
ax.fill(*V.T, color='C0', alpha=0.25, lw=0)
ax.plot(*V.T, 'o', color='C0', ms=5)
for i, (x, y) in enumerate(V):
    ax.annotate(f'$\\mathbf{{v}}_{i + 1}$', (x, y), xytext=[(7, 5), (-17, -3), (-17, 0)][i],
                textcoords='offset points', color='C0')
for (name, z), shift in zip(results.items(), [(-14, -15), (4, 9), (9, -4), (8, -4), (8, -4)]):
    ax.plot(*z, '*', color='C1', ms=9)
    ax.annotate(name, z, xytext=shift, textcoords='offset points', color='C1', fontsize=9)
ax.text(4.6, 1.1, 'cone', color=GREY)
ax.set(xlim=(-0.3, 6), ylim=(-1.7, 4.2), aspect='equal');

# %% [markdown] tags=["caption"]
# Three values, their convex hull (the triangle) and their cone (the wedge). Nonnegative weights with sum one stay in the
# triangle. With another sum they can leave the triangle, but not the wedge. Only a negative weight can lead out of the wedge.

# %% [markdown]
# (dl.qkv.cone)=
# **Nonnegative weights: the cone.** If $\alpha(\mathbf{q}, \mathbf{k}_i) \ge 0$ for all $i$, the result lies in the convex
# cone of the values. This is the set of all sums of values with nonnegative factors.
#
# (dl.qkv.convex-comb)=
# **Nonnegative weights that sum to one: the convex hull.** The softmax makes such weights, so with it the result lies in the convex hull. Each component of the result lies between the smallest and the
# largest that this component has among the values.
#
# To test whether a point lies in the cone, we look for the nearest point of the cone. This is *nonnegative least squares*: least squares
# whose weights must not be negative. The point lies in the cone if the distance to its nearest point is zero. For the hull, a solver for linear programs looks for weights that are not negative, have
# sum one, and give the point as their weighted sum of the values. It finds such weights, or says that there are none:

# %%
def distance_to_cone(z, V):
    return nnls(V.T, z)[1]

def in_hull(z, V):
    equations = np.vstack([V.T, np.ones(len(V))])     # sum a v = z, sum a = 1
    found = linprog(np.zeros(len(V)), A_eq=equations, b_eq=[*z, 1])
    return found.status == 0                          # weights are >= 0

for name, z in results.items():
    print(f'{name:12} distance to the cone {distance_to_cone(z, V):.2f}',
          ' in the hull' if in_hull(z, V) else ' not in the hull')

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# "One weight is negative, so the result lies outside the cone." This is true if the values are linearly independent, because
# then no other weights give the same result. Three vectors in the plane are never independent, and we find a counterexample.
# :::

# %%
a = np.array([1.0, -0.5, 1.0])
z = a @ V
print('result', z, f'distance to the cone {distance_to_cone(z, V):.2f}')
print('other weights:', nnls(V.T, z)[0].round(2))

# %% [markdown]
# The same point has a second set of weights, without a minus sign.
#
# ```{exercise} ★★ Program: look at the nearest keys alone
# :label: qkv-nearest
#
# Give the weight $1/r$ to each of the $r$ keys nearest to the query, and 0 to the others. Write
# `nearest_lookup(q, K, V, r)`. If keys are equally near, the one that stands earlier in the table is taken first.
# ```

# %%
def nearest_lookup(q, K, V, r):
    """The mean value of the r nearest keys.

    Arrays (d,), (m, d), (m, e), int from 1 to m -> array (e,).
    For q = [0.], K = [[5.], [1.], [2.]], V = [[7.], [1.], [3.]], r = 2
    it is [2.].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_sorting(q, K, V, r):
    order = sorted(range(len(K)), key=lambda i: ((K[i] - q) ** 2).sum())
    return sum(V[i] for i in order[:r]) / r

tables = dict(
    q=vectors((1, 3), -3, 3), K=lambda q: matrices((1, 40), len(q), -3, 3), V=lambda K: matrices(len(K), 3, -5, 5),
    r=lambda K: integers(1, len(K)),
)
grade(nearest_lookup, by_sorting, **tables)

# %% [markdown]
# ```{solution-start} qkv-nearest
# :class: dropdown
# ```
# Sort the keys by their distance to the query with a stable sort, and average the values of the first $r$. The weights are
# nonnegative with sum one, so the result lies in the convex hull. It is a mistake to sum without dividing, to average all
# values, and to sort by the inner product, which prefers long keys to near ones.

# %% jupyter={"source_hidden": true}
def nearest_lookup_solution(q, K, V, r):
    order = ((K - q) ** 2).sum(1).argsort(kind='stable')
    return V[order[:r]].mean(0)

def sum_of_the_nearest(q, K, V, r):
    return r * nearest_lookup_solution(q, K, V, r)

def ignores_r(q, K, V, r):
    return V.mean(0)

def by_inner_product(q, K, V, r):
    return V[(-K @ q).argsort(kind='stable')[:r]].mean(0)

assert grade(nearest_lookup_solution, by_sorting, **tables)
assert not grade(sum_of_the_nearest, by_sorting, **tables)
assert not grade(ignores_r, by_sorting, **tables)
assert not grade(by_inner_product, by_sorting, **tables)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def drawn_values(seed, m, d):
    g = np.random.default_rng(seed)
    return g, g.normal(size=(m, d))

def outside_span(seed, m, d, move):
    g, V = drawn_values(seed, m, d)
    z = g.normal(size=m) @ V + move * np.linalg.svd(V)[2][-1]  # the last direction is orthogonal to all m < d values
    return np.linalg.norm(V.T @ np.linalg.lstsq(V.T, z, rcond=None)[0] - z)

holds(
    'dl.qkv.linear-comb',
    lambda seed, m: outside_span(seed, m, 6, 0) < 1e-9,
    slip=('adds a vector that no value contains', lambda seed, m: outside_span(seed, m, 6, 1) < 1e-9),
    seed=seeds(), m=integers(1, 5), tries=40,
)

def cone_residual(seed, m, sign):
    g, V = drawn_values(seed, m, 6)                   # m <= 5 values in R^6 are independent
    weights = g.uniform(0.5, 2, size=m)
    weights[0] *= sign
    return distance_to_cone(weights @ V, V)

holds(
    'dl.qkv.cone',
    lambda seed, m: cone_residual(seed, m, 1) < 1e-9,
    slip=('lets one weight be negative', lambda seed, m: cone_residual(seed, m, -1) < 1e-9),
    seed=seeds(), m=integers(1, 5), tries=40,
)
verify(
    'one negative weight on independent values leads out of the cone',
    lambda seed, m: cone_residual(seed, m, -1) > 1e-6,
    slip=('says so of a zero weight', lambda seed, m: cone_residual(seed, m, 0) > 1e-6),
    seed=seeds(), m=integers(1, 5), tries=40,
)

def hull_contains(seed, m, total):
    g, V = drawn_values(seed, m, 6)
    return in_hull(total * g.dirichlet(np.ones(m)) @ V, V)

holds(
    'dl.qkv.convex-comb',
    lambda seed, m: hull_contains(seed, m, 1),
    slip=('lets the weights sum to 1.4', lambda seed, m: hull_contains(seed, m, 1.4)),
    seed=seeds(), m=integers(1, 5), tries=25,
)

# %% [markdown]
# ## Nadaraya-Watson regression: choose the bandwidth, then learn the keys
#
# With scalar values and the score above, our soft lookup is **Nadaraya-Watson regression**
# {cite}`nadaraya1964estimating,watson1964smooth`. A key at the distance $d$ has the weight $\exp(-d^2 / (2h^2))$, divided by the sum of
# all these numbers. This bell curve is called the **kernel**. Nothing is trained. We fill gaps in
# the whole table of sunspots, 309 years. In cross-validation, each fifth of the years is hidden once and predicted from the others. We
# repeat this with three random divisions into fifths. For comparison, we predict each hidden year by the mean of all known years, by a straight line, and by the mean of the
# two nearest years.

# %%
spots = data.sunspots()
years = torch.tensor(spots['year'], dtype=torch.float64)[:, None]
number = torch.tensor(spots['number'])                # (309,)
widths = [0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 30, 100]

def library_errors(model, x, y, new, truth):
    return (torch.tensor(model.fit(x, y).predict(new)) - truth) ** 2

def folds(n, seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randperm(n, generator=g) % 5         # (n,)

# %%
lines = {'mean': DummyRegressor(), 'straight line': LinearRegression(),
         'two nearest': KNeighborsRegressor(2)}
squares = torch.zeros(3, len(widths), 309)            # seeds, widths, years
references = torch.zeros(3, len(lines), 309)
for seed in range(3):
    fold = folds(309, seed)
    for part in range(5):
        old, new = fold != part, fold == part
        known, asked = (years[old], number[old]), (years[new], number[new])
        for j, h in enumerate(widths):
            guess = soft_lookup(asked[0], *known, h)[0]
            squares[seed, j, new] = (guess - asked[1]) ** 2
        for j, model in enumerate(lines.values()):
            references[seed, j, new] = library_errors(model, *known, *asked)

# %% [markdown]
# Here are the root mean squared errors on the hidden years, one for each division:

# %%
curves = squares.mean(-1).sqrt()                      # (3, 11)
for j, h in enumerate(widths):
    print(f'h = {h:6.2f}   errors', curves[:, j])
for j, name in enumerate(lines):
    print(f'{name:13} ', references.mean(-1).sqrt()[:, j])

# %% [markdown]
# For each division, the best bandwidth is below one year. Below 0.5 the errors hardly change, because the nearest years already
# have almost all the weight. From 1 to 5 years they grow, because the weighted mean flattens the peaks. Beyond 5 years they change
# little and come close to the error of the mean of the whole table.

# %% mystnb={"image": {"alt": "Left: dots of sunspot numbers from 1950 to 2008 with five peaks; the curve for h = 1 follows the dots, the curve for h = 3 has lower peaks, the curve for h = 30 is nearly flat. Right: the error against the bandwidth on a logarithmic axis, three curves flat between 15 and 20 up to h = 1, then rising to a dashed line near 40, the mean; another dashed line for the two nearest years lies near 20."}} tags=["hide-input"]
fig, axes = panels(2, height=2.7, width_ratios=[1.25, 1])
late = years[:, 0] >= 1950
axes[0].plot(years[late], number[late], 'o', color=GREY, ms=3)
fine = torch.linspace(1950, 2008, 300)[:, None]
for h, colour in ((1, 'C0'), (3, 'C1'), (30, 'C2')):
    axes[0].plot(fine, soft_lookup(fine, years, number, h)[0], color=colour, lw=1.4, label=f'h = {h}')
axes[0].set(xlabel='year', ylabel='sunspots', xlim=(1949, 2009))
label_lines(axes[0])
for curve in curves:
    axes[1].plot(widths, curve, 'o-', color='C0', ms=3, lw=1)
for j, name in (0, 'mean'), (2, 'two nearest'):
    height = references[:, j].mean().sqrt()
    axes[1].axhline(height, color=GREY, lw=1, ls='--')
    axes[1].annotate(name, (100, height), xytext=(0, 3), textcoords='offset points', ha='right', color=GREY, fontsize=9)
axes[1].set(xscale='log', xlabel='bandwidth h in years', ylabel='error', ylim=(0, 46));

# %% [markdown] tags=["caption"]
# Left: a part of the table (dots), and the lookup in the whole table with three bandwidths. Right: root mean squared errors on the
# hidden years, for three divisions. A bandwidth below one year is best; very wide ones are hardly better than the mean.

# %% [markdown]
# Is the soft lookup better than the two nearest years? We take the bandwidth of one year. This does
# not favour the lookup, because smaller bandwidths have smaller mean errors. We compare the squared errors on the same years. The errors of
# neighbouring years may be similar, so they are not independent. Therefore we average the differences over blocks of 11
# years, about one cycle of the sun, before we estimate the standard error.

# %%
def paired(a, b):
    gap = (a - b).mean(0)                 # mean over the seeds first
    return gap.mean(), 2 * gap.std() / len(gap) ** 0.5

def blocks(errors):                       # (3, 309) -> (3, 28)
    return errors[:, :308].reshape(3, 28, 11).mean(-1)

ours = blocks(squares[:, widths.index(1)])
for j, name in enumerate(lines):
    gap, error = paired(blocks(references[:, j]), ours)
    print(f'{name:13} minus h = 1: {gap:7.1f} ± {error:.1f}')

# %% [markdown]
# The margin behind ± is two standard errors over the 28 blocks. All three gaps are larger than their margins, so the lookup is better than each
# of the three simple predictions.
#
# ### Learned queries and keys
#
# For sunspots we knew what to compare. Which patients are similar? The `diabetes` data have ten columns in mixed units, such as
# age in years, body mass index in kg/m² and blood values in mg/dl. The value is a number for the progress of the disease in one
# year. In raw units, the columns with the largest variance contribute most to the distance. So we first make queries and keys from the raw columns:
# column $l$ is multiplied by a number $w_l$, in the query and in each key. We learn the ten numbers by gradient descent.
# The score is $-\frac12\lVert\mathbf{q} - \mathbf{k}\rVert^2 = \mathbf{q}^\top\mathbf{k} - \frac12\lVert\mathbf{k}\rVert^2 -
# \frac12\lVert\mathbf{q}\rVert^2$. The last term is the same for all keys, so the softmax cancels it, and the code leaves it out.
# While we learn, each training patient asks all others, but not itself, because it would find its own value.

# %%
def leave_one_out(X, y, w):
    K = X * w                                             # keys and queries
    S = K @ K.T - (K**2).sum(1) / 2                       # (n, n), h = 1
    S.fill_diagonal_(-torch.inf)                          # not itself
    return ((S.softmax(-1) @ y - y) ** 2).mean()

def one_number(X, y):
    grid = torch.logspace(-2.4, 0.6, 31)                  # w = 1 / h
    errors = torch.stack([leave_one_out(X, y, w) for w in grid])
    return grid[errors.argmin()]

# %%
def ten_numbers(X, y, start, steps=40):
    log_w = start.log().repeat(10).requires_grad_()       # so that w > 0
    optimizer = torch.optim.Adam([log_w], lr=0.15)
    for _ in range(steps):
        optimizer.zero_grad()
        leave_one_out(X, y, log_w.exp()).backward()
        optimizer.step()
    return log_w.detach().exp()

# %% [markdown]
# We compare ten learned numbers with a single number for all columns, $1/h$ for a bandwidth $h$. From a list of 31 numbers we take
# that with the smallest training error. If ten numbers help only because of the mixed units, they should not
# help once all columns have the same variance. So we repeat all with **standardized** columns, of mean 0 and variance 1.

# %%
patients = data.diabetes()
X, y = torch.tensor(patients.x), torch.tensor(patients.y)  # (442, 10), (442,)
names = ('mean', 'linear model', 'raw, one', 'raw, ten',
         'standardized, one', 'standardized, ten')
errors = {name: torch.zeros(3, 442) for name in names}
for seed in range(3):
    fold = folds(442, seed)
    for part in range(5):
        old, new = fold != part, fold == part
        errors['mean'][seed, new] = (y[new] - y[old].mean()) ** 2
        errors['linear model'][seed, new] = library_errors(
            LinearRegression(), X[old], y[old], X[new], y[new])
        scaled = (X - X[old].mean(0)) / X[old].std(0)
        for kind, x in ('raw', X), ('standardized', scaled):
            one = one_number(x[old], y[old])
            ten = ten_numbers(x[old], y[old], one)
            for how, w in ('one', one), ('ten', ten):
                guess = soft_lookup(x[new] * w, x[old] * w, y[old], 1)[0]
                errors[f'{kind}, {how}'][seed, new] = (guess - y[new]) ** 2

# %%
for name, squared in errors.items():
    print(f'{name:18}', squared.mean(-1).sqrt())
for kind in 'raw', 'standardized':
    gap, error = paired(errors[f'{kind}, one'], errors[f'{kind}, ten'])
    print(f'{kind}: one minus ten, squared: {gap:.0f} ± {error:.0f}')
    gap, error = paired(errors[f'{kind}, ten'], errors['linear model'])
    print(f'{kind}: ten minus linear model, squared: {gap:.0f} ± {error:.0f}')

# %% mystnb={"image": {"alt": "Four rows of three dots each, error on the horizontal axis. Raw units, one number: near 66. Raw units, ten numbers: near 57. Standardized, one number and ten numbers: both near 57. Dashed vertical lines at 55, the linear model, and 77, the mean."}} tags=["hide-input"]
fig, ax = panels(1, height=2.1)
for row, (name, colour) in enumerate(zip(names[2:], ('C1', 'C0', 'C1', 'C0'))):
    ax.plot(errors[name].mean(-1).sqrt(), [row] * 3, 'o', color=colour, ms=5, alpha=0.7)
for name in names[:2]:
    place = errors[name].mean().sqrt()
    ax.axvline(place, color=GREY, lw=1, ls='--')
    ax.annotate(name, (place, -0.75), xytext=(4, 0), textcoords='offset points', color=GREY, fontsize=9)
ax.set(yticks=range(4), yticklabels=names[2:], ylim=(3.5, -1), xlim=(52, 82), xlabel='error on hidden patients');

# %% [markdown] tags=["caption"]
# Root mean squared errors for three random divisions. Ten learned numbers help much in raw units. On standardized columns they
# do not help visibly.

# %% [markdown]
# In raw units the ten learned numbers reduce the error from about 66 to about 57. After standardizing, the gap between one
# number and ten is smaller than its margin, two standard errors over the patients. So most of the gain came from the mixed units: ten learned numbers
# in raw units do about as well as standardizing. The linear model still has the
# smallest error, by more than the margins.
#
# Here the same map makes the queries and the keys. In
# [scaled dot-product attention](scaled_dot_product_attention.ipynb) queries, keys and values each have their own learned map,
# and the score is an inner product. If all keys have the same length, the softmax
# cancels $\frac12\lVert\mathbf{k}\rVert^2$, too, and only the inner product is left.
#
# ```{exercise} ★★ Experiment: learn a whole matrix
# :label: qkv-matrix
#
# Replace the ten numbers by a matrix: queries and keys are the rows of $\mathbf{X}\mathbf{W}$ with $\mathbf{W} \in
# \mathbb{R}^{10 \times 10}$, for standardized columns. It starts at a multiple of the identity and is trained by 60
# steps of Adam with learning rate 0.02. Predict two things, on average over three divisions. Does the training error (leave-one-out) fall or rise from the start to the end of
# the training? Does the error on the hidden fifth of the patients fall or rise? Return two words, each `'falls'` or
# `'rises'`. Then train, look, and explain.
# ```

# %%
def predicted_changes():
    """Two words: for the training error, and for the error on the hidden.

    ('rises', 'rises'), for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"]
def matrix_run(seed):
    old, new = folds(442, seed) != 0, folds(442, seed) == 0
    x = (X - X[old].mean(0)) / X[old].std(0)
    start = one_number(x[old], y[old]) * torch.eye(10)
    W = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([W], lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        leave_one_out(x[old] @ W, y[old], 1).backward()
        optimizer.step()
    table = []
    for M in start, W.detach():
        keys = x[old] @ M
        guess = soft_lookup(x[new] @ M, keys, y[old], 1)[0]
        table.append([leave_one_out(keys, y[old], 1), ((guess - y[new]) ** 2).mean()])
    return torch.tensor(table).sqrt()     # start and end; training and hidden

matrix_errors = torch.stack([matrix_run(seed) for seed in range(3)])

def is_measured(words):
    if len(words) != 2 or not set(words) <= {'falls', 'rises'}:
        raise ValueError("return two words, each 'falls' or 'rises'")
    start, end = matrix_errors.mean(0)
    return tuple(words) == tuple('falls' if b < a else 'rises' for a, b in zip(start, end))

grade(lambda: is_measured(predicted_changes()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} qkv-matrix
# :class: dropdown
# ```
# The training error falls for each of the three divisions. The error on the hidden patients rises on average, though for one
# division it hardly changes. With a whole matrix instead of one number, the map overfits the training patients.

# %% tags=["hide-input"]
assert grade(lambda: is_measured(('falls', 'rises')), lambda: True, [()])
for wrong in ('falls', 'falls'), ('rises', 'rises'), ('rises', 'falls'):
    assert not grade(lambda: is_measured(wrong), lambda: True, [()])
for name, column in ('training', 0), ('hidden', 1):
    start, end = matrix_errors[:, :, column].T
    print(f'{name:8} at the start {start}, at the end {end}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def by_formula(seed, power):  # Nadaraya and Watson's quotient, term by term
    g = np.random.default_rng(seed)
    K, values, q, h = g.normal(size=(6, 2)), g.normal(size=6), g.normal(size=2), g.uniform(0.3, 3)
    bells = [np.exp(-sum((q - key) ** 2) / (2 * h**power)) for key in K]
    got = soft_lookup(*(torch.tensor(a) for a in (q[None], K, values)), h)[0][0]
    return close(got, sum(b * value for b, value in zip(bells, values)) / sum(bells))

verify(
    'the soft lookup is the quotient of Nadaraya and Watson',
    lambda seed: by_formula(seed, 2),
    slip=('forgets to square the bandwidth', lambda seed: by_formula(seed, 1)),
    seed=seeds(), tries=20,
)
verify(
    'the best bandwidth for the sunspots is below one year',
    lambda j: widths[curves[j].argmin()] < 1,
    slip=('expects one year or more', lambda j: widths[curves[j].argmin()] >= 1),
    j=[0, 1, 2],
)
def exceeds_margin(a, b):
    gap, error = paired(a, b)
    return bool(gap > error)

verify(
    'one year is better than each reference line by more than two standard errors',
    lambda j: exceeds_margin(blocks(references[:, j]), ours),
    slip=('says so of 100 years', lambda j: exceeds_margin(blocks(references[:, j]), blocks(squares[:, -1]))),
    j=[0, 1, 2],
)
verify(
    'ten learned numbers help in raw units and not after standardizing',
    lambda ten, one: exceeds_margin(errors[f'raw, {one}'], errors[f'raw, {ten}'])
    and not exceeds_margin(errors[f'standardized, {one}'], errors[f'standardized, {ten}']),
    slip=('exchanges the two', lambda ten, one: exceeds_margin(errors[f'raw, {ten}'], errors[f'raw, {one}'])),
    ten=['ten'], one=['one'],
)

verify(
    'the linear model is better than the lookup with ten learned numbers by more than two standard errors',
    lambda kind, other: exceeds_margin(errors[f'{kind}, ten'], errors[other]),
    slip=('says so of the mean', lambda kind, other: exceeds_margin(errors[f'{kind}, ten'], errors['mean'])),
    kind=['raw', 'standardized'], other=['linear model'],
)

def without_self(seed, keep):  # one patient at a time, on the others alone
    g = torch.Generator().manual_seed(seed)
    X, y, w = torch.randn(7, 3, generator=g), torch.randn(7, generator=g), torch.rand(3, generator=g)
    total = 0
    for i in range(7):
        rest = torch.arange(7) != (-1 if keep else i)
        total += (soft_lookup(X[i:i + 1] * w, X[rest] * w, y[rest], 1)[0] - y[i]) ** 2
    return close(leave_one_out(X, y, w), total[0] / 7)

verify(
    'the training error leaves out the patient who asks',
    lambda seed: without_self(seed, False),
    slip=('lets the patient see its own value', lambda seed: without_self(seed, True)),
    seed=seeds(), tries=20,
)

# %% [markdown]
# ## Summary
#
# Attention answers a query by a weighted sum of values, whose weights say how well the keys fit the query. The softmax
# makes positive weights with sum one, so the result is a weighted mean in the convex hull of the values: nearly a hard lookup
# for a small bandwidth, nearly the mean of all values for a large one. What makes two keys similar can be learned by
# gradient descent.
#
# **Further reading.** {cite}`zhang2023dive`, sections 11.1 and 11.2, introduces queries, keys and values and the same
# regression, for beginners. {cite}`nadaraya1964estimating` and {cite}`watson1964smooth` are the short originals.
