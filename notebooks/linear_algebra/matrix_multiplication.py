# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Matrix multiplication
#
# - **Question.** Why are tables of numbers multiplied in such a strange way, and why does the order of the steps matter?
# - **You need** linear maps ([Norms](../linear_algebra/norms.ipynb)) and [dot products](../linear_algebra/dot_products.ipynb).
# - **You build** the product in four ways and in blocks, the cheapest order of many factors, and a model of a cache.
# - **Time** 9 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from collections import Counter, OrderedDict
from itertools import product
from math import comb, prod

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
import torch
from scipy.fft import dct
from scipy.linalg import expm

from nbutils.cases import counted, integers, lists, matrices, on, scalars, seeds, vectors
from nbutils.checks import below, close, erratum, grade, holds
from nbutils.data import photograph
from nbutils.figures import GREY, label_lines, panels, show_image
from nbutils.timing import seconds

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## The matrix product: dot products, columns, rows, outer products
#
# The product $\mathbf{A}\mathbf{B}$ is the linear map that applies first $\mathbf{B}$ and then $\mathbf{A}$. The columns
# of a matrix are what its map makes of the unit vectors. The unit vector $\mathbf{e}_j$ goes to column
# $j$ of $\mathbf{B}$, which $\mathbf{A}$ turns into $\sum_k b_{kj}\,\mathbf{a}_k$. Entry $i$ of this vector leaves no
# choice:
#
# ```{math}
# :label: la.matmul.entry
# c_{ij} = \sum_{k=1}^n a_{ik}\, b_{kj}, \qquad \mathbf{A} \in \mathbb{R}^{m \times n},\quad \mathbf{B} \in
# \mathbb{R}^{n \times p},\quad \mathbf{C} = \mathbf{A}\mathbf{B} \in \mathbb{R}^{m \times p}
# ```
#
# Written down as it stands, this is three loops and $mnp$ multiplications. Nothing says in which order.

# %%
def by_loops(A, B):
    m, n, p = *A.shape, B.shape[1]
    assert len(B) == n, 'the inner sizes must agree'
    A, B = A.tolist(), B.tolist()  # lists, whose entries Python reads faster
    C = [[0.0] * p for _ in range(m)]
    for i in range(m):
        for j in range(p):
            for k in range(n):
                C[i][j] += A[i][k] * B[k][j]
    return np.array(C)

# %% [markdown]
# **Dots.** With $i$ and $j$ outside, the inner loop is the [dot product](../linear_algebra/dot_products.ipynb) of a row
# and a column. A row times a column, $1 \times n$ by $n \times 1$, *is* the dot product, so matrix multiplication
# generalizes it: all rows of $\mathbf{A}$ with all columns of $\mathbf{B}$, dot products in batch.
#
# ```{math}
# :label: la.matmul.generalises-dot
# \mathbf{A}\mathbf{B} = \begin{bmatrix} \mathbf{a}_1^\top \\ \vdots \\ \mathbf{a}_m^\top \end{bmatrix}
# \begin{bmatrix} \mathbf{b}_1 & \cdots & \mathbf{b}_p \end{bmatrix}
# = \begin{bmatrix} \mathbf{a}_1 \cdot \mathbf{b}_1 & \cdots & \mathbf{a}_1 \cdot \mathbf{b}_p \\ \vdots & & \vdots \\
# \mathbf{a}_m \cdot \mathbf{b}_1 & \cdots & \mathbf{a}_m \cdot \mathbf{b}_p \end{bmatrix}
# ```
#
# (aw.mat-ops.row-col)=
# Entry $(i, j)$ of $\mathbf{Z} = \mathbf{X}\mathbf{Y}$ is the dot product of the $i$-th row of $\mathbf{X}$ and the
# $j$-th column of $\mathbf{Y}$. With colons for whole rows and columns,
#
# ```{math}
# :label: aw.mat-ops.matmul
# z_{ij} = \mathbf{X}_{i,:}\, \mathbf{Y}_{:,j} = \sum_k x_{ik}\, y_{kj}
# ```
#
# In code `X[i]` and `Y[j]` are both *rows*. Their dot products form $\mathbf{X}\mathbf{Y}^\top$, the table of all
# similarities between rows that attention begins with.

# %%
def by_dots(A, B):
    return np.array([[a @ b for b in B.T] for a in A])

# %% [markdown]
# **Columns and rows.** With $j$ outside, column $j$ of the product is $\mathbf{A}\mathbf{b}_j$, a mixture of the
# columns of $\mathbf{A}$. With $i$ outside, row $i$ is $\sum_k a_{ik}\,(\text{row } k \text{ of } \mathbf{B})$, a
# mixture of the rows of $\mathbf{B}$. Multiplying from the left acts on rows, from the right on columns.
#
# **Outer products.** With $k$ outside, step $k$ adds one number $a_{ik} b_{kj}$ to *every* entry. It adds the whole
# multiplication table of a column of $\mathbf{A}$ and a row of $\mathbf{B}$. Such a table is called an *outer product*,
#
# ```{math}
# :label: la.matmul.outer
# \mathbf{u} \otimes \mathbf{v} = \mathbf{u}\mathbf{v}^\top = \begin{bmatrix} u_1 v_1 & \cdots & u_1 v_n \\ \vdots & &
# \vdots \\ u_m v_1 & \cdots & u_m v_n \end{bmatrix},
# ```
#
# and if neither factor is zero it has rank one, since all its rows are multiples of $\mathbf{v}^\top$. So every
# product is a sum of tables of rank one:
#
# ```{math}
# :label: la.matmul.sum-of-outer
# \mathbf{A}_{m \times n} \mathbf{B}_{n \times p} = \sum_{k=1}^n \mathbf{A}_{(:,k)} \mathbf{B}_{(k,:)}
# ```

# %%
def by_columns(A, B):
    return np.stack([A @ b for b in B.T], axis=1)

def by_rows(A, B):
    return np.stack([a @ B for a in A])

def by_outer(A, B):
    C = np.zeros((A.shape[0], B.shape[1]))
    for u, v in zip(A.T, B, strict=True):
        C += u[:, None] * v
    return C

rng = np.random.default_rng(0)
gaps = []
for m, n, p in rng.integers(1, 9, (50, 3)):
    A, B = rng.normal(size=(m, n)), rng.normal(size=(n, p))
    for way in (by_loops, by_dots, by_columns, by_rows, by_outer):
        assert close(way(A, B), A @ B)
        gaps.append(abs(way(A, B) - A @ B).max())
    partial = by_outer(A[:, :2], B[:2])
    assert np.linalg.matrix_rank(partial) <= 2
print('five programs for the same product: gap', below(gaps))

# %% mystnb={"image": {"alt": "Four diagrams of A times B with A at the lower left, B at the upper right and the product at the lower right. Dots: a row of A and a column of B give one entry. Columns: all of A and a column of B give a column. Rows: a row of A and all of B give a row. Outer: a column of A and a row of B give a faint contribution to every entry."}} tags=["hide-input"]
every = slice(None)
views = {  # marked part of A, of B, of the product
    'dots': ((1, every), (every, 3), (1, 3)),
    'columns': ((every, every), (every, 3), (every, 3)),
    'rows': ((1, every), (every, every), (1, every)),
    'outer': ((every, 1), (1, every), (every, every)),
}
fig, axes = panels(4, height=2.0)
for ax, (name, parts) in zip(axes, views.items(), strict=True):
    faint = 0.5 if name == 'outer' else 0.95
    for part, x, y, columns, letter, label, color, dark in (
        (parts[0], 0, 0, 3, 'A', -1, 'C0', 0.95),
        (parts[1], 4, 4, 5, 'B', 3.2, 'C1', 0.95),
        (parts[2], 4, 0, 5, 'AB', -1, 'C2', faint),
    ):
        alpha = np.full((3, columns), 0.18)
        alpha[part] = dark
        for i, j in np.ndindex(alpha.shape):
            ax.add_patch(plt.Rectangle((x + j, y + 2 - i), 0.9, 0.9, lw=0,
                                       color=color, alpha=alpha[i, j]))
        ax.text(x + columns / 2, y + label, letter, color=color, ha='center')
    ax.set(title=name, aspect='equal', xlim=(-0.2, 9.2), ylim=(-1.1, 8.2))
    ax.axis('off')

# %% [markdown] tags=["caption"]
# The same multiplications in four groups: they make one entry of $\mathbf{A}\mathbf{B}$ at a time, one column, one row, or a
# thin layer of all entries at once.

# %% [markdown]
# What is the last view good for? It lets one stop early. If the terms come with the large ones first, a few of them are
# nearly the product. And a matrix can be *written* as a product in many ways. Here is a photograph $\mathbf{M}$ of 213
# by 320 pixels, three times. As $\mathbf{I}\,\mathbf{M}$, term $k$ is row $k$ of the picture. As
# $\mathbf{D}^\top (\mathbf{D}\mathbf{M})$, where the rows of the orthogonal $\mathbf{D}$ are cosine waves from
# slow to fast (so $\mathbf{D}^\top\mathbf{D} = \mathbf{I}$), term $k$ is a wave up and down times an outline from
# left to right. And as $(\mathbf{U}\boldsymbol{\Sigma}) \mathbf{V}^\top$, the [singular value
# decomposition](../linear_algebra/singular_value_decomposition.ipynb), the waves are chosen to suit this picture. In
# all three the columns on the left are orthogonal. Then terms $k \ne l$ are perpendicular as vectors of pixels,
# $\sum_{i,j} u_{ik} v_{kj}\, u_{il} v_{lj} = (\mathbf{u}_k \cdot \mathbf{u}_l)(\mathbf{v}_k \cdot \mathbf{v}_l) = 0$,
# so by Pythagoras the squared error after $K$ terms is the sum of $\|\mathbf{u}_k\|^2 \|\mathbf{v}_k\|^2$ over the
# terms left out.

# %%
M = photograph('china')[:426].mean(-1).reshape(213, 2, 320, 2).mean((1, 3))
D = dct(np.eye(213), axis=0, norm='ortho')
U, sigma, Vt = np.linalg.svd(M, full_matrices=False)
factors = {
    'row by row': (np.eye(213), M), 'cosine waves': (D.T, D @ M),
    'singular vectors': (U * sigma, Vt),
}
error = {}
for name, (left, right) in factors.items():
    size = (left ** 2).sum(0) * (right ** 2).sum(1)  # of every term, squared
    rest = np.cumsum(size[::-1])[::-1]
    error[name] = np.sqrt(rest / size.sum())  # with terms 0 .. K - 1
    assert close(left @ right, M)
    direct = np.linalg.norm(M - by_outer(left[:, :20], right[:20]))
    assert close(error[name][20], direct / np.linalg.norm(M))
    print(f'{name:17} error after 20 of 213 terms: {error[name][20]:.3f}')

# %% mystnb={"image": {"alt": "Top: a photograph of a temple after 20 terms of three sums of outer products. Row by row shows only a strip of sky; cosine waves show the temple blurred up and down; singular vectors show it with stripes. Bottom: relative error against the number of terms, slow for row by row, fast for the other two, the singular vectors lowest."}} tags=["hide-input"]
fig = plt.figure(figsize=(6, 4.1))
grid = fig.add_gridspec(2, 3, height_ratios=[1, 1.5])
for column, (name, (left, right)) in enumerate(factors.items()):
    ax = fig.add_subplot(grid[0, column])
    show_image(ax, left[:, :20] @ right[:20], name, vmin=0, vmax=1)
ax = fig.add_subplot(grid[1, :])
for name, values in error.items():
    ax.plot(values, label=name)
ax.axvline(20, color=GREY, ls=':', lw=1)
ax.set(xlim=(0, 213), ylim=(0, 1), xlabel='terms', ylabel='relative error')
ax.legend(loc='center right');

# %% [markdown] tags=["caption"]
# One photograph as three sums of outer products: after 20 of 213 terms the relative error is 0.905 row by row, 0.125 with
# cosine waves and 0.097 with singular vectors.

# %% [markdown]
# The product and the cost are the same in all three; only the terms differ. No sum of $K$ tables of rank one comes nearer
# than the third, which is proved with the singular value decomposition.
#
# **One notation for all.** In {eq}`la.matmul.entry` the letter $k$ appears on the right and not on the left, and is
# summed. Let that be the rule, and every sum of products can be written by its letters: this is `einsum`. Its meaning
# fits in a dozen lines, and every product of this page is a string of letters.

# %%
def einsum(letters, *arrays):
    terms, out = letters.split('->')
    terms = terms.split(',')
    size = {letter: n for term, array in zip(terms, arrays, strict=True)
            for letter, n in zip(term, array.shape, strict=True)}
    result = np.zeros([size[letter] for letter in out])
    for values in product(*map(range, size.values())):
        at = dict(zip(size, values, strict=True))
        result[tuple(at[x] for x in out)] += prod(
            array[tuple(at[x] for x in term)]
            for term, array in zip(terms, arrays, strict=True))
    return result

# %%
rng = np.random.default_rng(1)
a, b = rng.normal(size=(2, 3))
A, B = rng.normal(size=(2, 3, 3))
X, Y = rng.normal(size=(4, 2, 3)), rng.normal(size=(4, 3, 5))
dictionary = {
    'dot product': ('i,i->', (a, b), a @ b),
    'outer product': ('i,j->ij', (a, b), np.outer(a, b)),
    'trace': ('ii->', (A,), np.trace(A)),
    'transpose': ('ij->ji', (A,), A.T),
    'matrix times vector': ('ij,j->i', (A, a), A @ a),
    'matrix product': ('ik,kj->ij', (A, B), A @ B),
    'bilinear form': ('i,ij,j->', (a, A, b), a @ A @ b),
    'entry by entry': ('ij,ij->ij', (A, B), A * B),
    'batch of products': ('bik,bkj->bij', (X, Y), X @ Y),
}
for name, (letters, arrays, value) in dictionary.items():
    tensors = [torch.tensor(array) for array in arrays]
    assert close(einsum(letters, *arrays), value)
    assert close(torch.einsum(letters, *tensors), value)
    print(f'{letters:14} {name}')
assert close(torch.bmm(torch.tensor(X), torch.tensor(Y)), X @ Y)

# %% [markdown]
# ```{exercise} ★ Walks through a town
# :label: matmul-walks
# A town has one-way streets: `A[i, j]` is 1 if one leads from crossing `i` to crossing `j`, else 0. Show that entry
# $(i, j)$ of $\mathbf{A}^k$ is the number of walks of $k$ streets from $i$ to $j$. Write `walks(A, k)`, with about
# $2 \log_2 k$ products rather than $k$.
# ```

# %%
def walks(A, k):
    """The number of walks of k streets from i to j: an int array (n, n).

    A (n, n) is an array of ints 0 and 1, and k >= 1 may be a million. No
    number of the result is above 10**15. numpy.linalg.matrix_power is not
    allowed. walks(np.array([[1, 1], [0, 1]]), 5) is [[1, 5], [0, 1]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_walking(A, k):  # one street after the other
    after = k if k < 120 else 60 + k % 60  # from then on one-way towns repeat themselves every 60 streets
    count = [[int(i == j) for j in range(len(A))] for i in range(len(A))]
    for _ in range(after):
        count = [[sum(row[i] for i in range(len(A)) if A[i, j]) for j in range(len(A))] for row in count]
    return np.array(count)

def one_way(goals):  # a town where one street leaves each crossing, or none
    return np.array([[int(j == goal) for j in range(len(goals))] for goal in goals])

streets = integers(1, 5).flatmap(lambda n: matrices(n, n, -1, 1)).map(lambda A: (A > 0).astype(int))
single = integers(1, 5).flatmap(lambda n: lists(integers(0, n), n, n)).map(one_way)
cases = dict(
    A=streets | single,
    k=lambda A: integers(1, 20) if A.sum(1).max() > 1 else integers(1, 10**6),
    lines=lambda A, k: 40 + 30 * int(k).bit_length(),
    without=['numpy.linalg.matrix_power'],
)
grade(walks, by_walking, **cases)

# %% [markdown]
# ```{solution-start} matmul-walks
# :class: dropdown
# ```
# A walk of $k + 1$ streets is a walk of $k$ streets to some crossing $l$ and one more street:
# $\sum_l (\mathbf{A}^k)_{il}\, a_{lj}$. Squaring doubles $k$, and an odd $k$ costs one product more. A wrong answer
# is `A ** k`, which takes the power of every entry. Others forget the product for an odd $k$, or need $k$ products.

# %% jupyter={"source_hidden": true}
def walks_solution(A, k):
    if k == 1:
        return A
    half = walks_solution(A, k // 2)
    return half @ half @ A if k % 2 else half @ half

def power_of_entries(A, k):
    return A ** k

def as_if_even(A, k):
    half = A if k < 4 else as_if_even(A, k // 2)
    return half @ half if k > 1 else A

def street_by_street(A, k):
    power = A
    for _ in range(k - 1):
        power = power @ A
    return power

assert grade(walks_solution, by_walking, **cases)
assert not grade(power_of_entries, by_walking, **cases)
assert not grade(as_if_even, by_walking, **cases)
assert not grade(street_by_street, by_walking, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
holds(
    'la.matmul.entry',
    lambda A, B: close(by_loops(A, B), torch.tensor(A) @ torch.tensor(B)),
    slip=(
        'takes rows of B in place of columns',
        lambda A, B: close(
            by_loops(A, B.T),  # b_jk for b_kj
            torch.tensor(A) @ torch.tensor(B),
        ),
    ),
    A=matrices(3, 3),
    B=matrices(3, 3),
    tries=60,
)
holds(
    'la.matmul.generalises-dot',
    lambda a, b: close(a[None, :] @ b[:, None], [[np.dot(a, b)]]),
    slip=(
        'multiplies a column by a row',
        lambda a, b: (a[:, None] @ b[None, :]).shape == (1, 1),
    ),
    a=vectors(3),
    b=vectors(3),
    tries=60,
)
holds(
    'aw.mat-ops.matmul',
    lambda X, Y: close(by_dots(X, Y), torch.tensor(X) @ torch.tensor(Y)),
    slip=(
        'multiplies rows by rows',
        lambda X, Y: close([[x @ y for y in Y] for x in X], X @ Y),
    ),
    X=matrices(3, 3),
    Y=matrices(3, 3),
    tries=60,
)
pairs = list(product(range(3), repeat=2))
holds(
    'aw.mat-ops.row-col',
    lambda X, Y: all(close((X @ Y)[i, j], X[i] @ Y[:, j]) for i, j in pairs),
    slip=(
        'exchanges the two indices',
        lambda X, Y: all(
            close((X @ Y)[i, j], X[j] @ Y[:, i]) for i, j in pairs
        ),
    ),
    X=matrices(3, 3),
    Y=matrices(3, 3),
    tries=60,
)

# %% tags=["checks"]
def is_table(table, u, v):
    return table.shape == (len(u), len(v)) and all(
        table[i, j] == u[i] * v[j] for i, j in np.ndindex(table.shape)
    )

holds(
    'la.matmul.outer',
    lambda u, v: is_table(u[:, None] @ v[None, :], u, v),
    slip=(
        'exchanges u and v',
        lambda u, v: is_table(v[:, None] @ u[None, :], u, v),
    ),
    u=vectors(2),
    v=vectors(3),
    tries=60,
)
holds(
    'la.matmul.sum-of-outer',
    lambda A, B: close(sum(np.outer(A[:, k], B[k]) for k in range(3)), A @ B),
    slip=(
        'leaves out the last outer product',
        lambda A, B: close(
            sum(np.outer(A[:, k], B[k]) for k in range(3 - 1)), A @ B
        ),
    ),
    A=matrices(2, 3),
    B=matrices(3, 4),
    tries=60,
)

# %% [markdown]
# ## Associativity and the cheapest order of a chain
#
# Maps are carried out one after the other, and it makes no sense to ask which pair was joined first. So brackets do not
# matter:
#
# ```{math}
# :label: matmul-associative
# \begin{aligned}
# \big( (\mathbf{A}\mathbf{B})\,\mathbf{C} \big)_{ij} &= \sum_l \Big( \sum_k a_{ik} b_{kl} \Big) c_{lj} \\
# &= \sum_k a_{ik} \Big( \sum_l b_{kl} c_{lj} \Big) = \big( \mathbf{A}\,(\mathbf{B}\mathbf{C}) \big)_{ij}
# \end{aligned}
# ```
#
# Other rules for numbers do not carry over. Order matters: first turn, then mirror is not first mirror, then turn. Zero has
# divisors, so a factor cannot be cancelled just because it is not zero. And transposing reverses the order,
# $(\mathbf{A}\mathbf{B})^\top = \mathbf{B}^\top\mathbf{A}^\top$, because rows and columns change places.

# %%
turn, mirror = np.array([[0, -1], [1, 0]]), np.array([[1, 0], [0, -1]])
shift = np.array([[0, 1], [0, 0]])
print('turn and mirror commute:', close(turn @ mirror, mirror @ turn))
vanishes = not (shift @ shift).any()
print('a product of nonzero matrices can vanish:', vanishes)
A, B, C = np.random.default_rng(2).normal(size=(3, 4, 4))
assert close((A @ B) @ C, A @ (B @ C))
assert close((A @ B).T, B.T @ A.T) and not close((A @ B).T, A.T @ B.T)

# %% [markdown]
# The *result* does not depend on the brackets; the *work* does. An $m \times n$ times an $n \times p$ matrix takes
# $mnp$ multiplications. So $(\mathbf{A}\mathbf{B})\,\mathbf{x}$ with square matrices takes $n^3 + n^2$, and
# $\mathbf{A}\,(\mathbf{B}\mathbf{x})$ only $2n^2$. (Projecting by $\mathbf{a}\,(\mathbf{a}^\top\mathbf{b})$
# rather than by $(\mathbf{a}\mathbf{a}^\top)\,\mathbf{b}$ saves in the same way.)

# %%
A, B, X = np.random.default_rng(3).normal(size=(3, 600, 600))
x = X[0]
assert close((A @ B) @ x, A @ (B @ x), atol=1e-10, rtol=0)  # rounding
slow, fast = seconds(lambda: (A @ B) @ x, lambda: A @ (B @ x))
saved = slow > 5 * fast
assert saved
print('A (B x) is more than 5 times faster than (A B) x:', saved)

# %% [markdown]
# For a chain of matrices of sizes $d_0 \times d_1,\ d_1 \times d_2,\ \dots,\ d_{L-1} \times d_L$ there are many ways to set
# brackets: 14 for five factors, and more than a billion for twenty. Still the best is easily found. Whatever it is, *some*
# product is the last, and it joins factors $i + 1, \dots, k$ to factors $k + 1, \dots, j$. Both groups must have been
# multiplied in their own cheapest way, or we could improve on it. So the least cost obeys
#
# ```{math}
# :label: matmul-chain
# c_{ij} = \min_{i < k < j} \big( c_{ik} + c_{kj} + d_i\, d_k\, d_j \big) \quad (i + 1 < j), \qquad c_{i,i+1} = 0,
# ```
#
# and is computed from short groups to long ones, in about $L^3/6$ steps. Such a recursion over best parts is called *dynamic
# programming*. We compare it with all bracketings.

# %%
def cheapest(d):  # (cost, brackets); factor t is d[t] x d[t + 1]
    last = len(d) - 1
    best = {(i, i + 1): (0, 'ABCDEFGH'[i]) for i in range(last)}
    for width in range(2, last + 1):
        for i in range(last - width + 1):
            j = i + width
            best[i, j] = min(
                (best[i, k][0] + best[k, j][0] + d[i] * d[k] * d[j],
                 f'({best[i, k][1]} {best[k, j][1]})')
                for k in range(i + 1, j))
    return best[0, last]

def every_cost(d):  # of all bracketings
    if len(d) == 2:
        return [0]
    return [left + right + d[0] * d[k] * d[-1] for k in range(1, len(d) - 1)
            for left in every_cost(d[:k + 1]) for right in every_cost(d[k:])]

# %%
rng = np.random.default_rng(4)
found = []
for d in rng.integers(1, 30, (100, 7)):
    costs = every_cost(d)
    assert len(costs) == comb(10, 5) // 6  # the Catalan number
    assert cheapest(d)[0] == min(costs)
    found.append(cheapest(d)[0] == min(costs))
d = [3, 30, 2, 25, 4]
chain = [rng.normal(size=shape) for shape in zip(d, d[1:], strict=False)]
A, B, C, D = chain
assert cheapest(d)[1] == '((A B) (C D))'
assert close((A @ B) @ (C @ D), np.linalg.multi_dot(chain))
print(f'the least of all {len(costs)} bracketings: {sum(found)} times of 100')

# %% [markdown]
# **Why backpropagation goes backward.** A network is a chain of maps, and the derivative of a chain is the product of
# the derivatives, matrices again ([Jacobians](../calculus/jacobians.ipynb)). A classifier of handwritten digits may
# have the widths 784, 500, 300, 10, and then one number, its loss. The factor nearest to the loss comes first, so the
# sizes are $1, 10, 300, 500, 784$. The order in which the network computes is from right to left.

# %%
def one_side(d):  # always multiplied on to the left end
    return sum(d[0] * d[k] * d[k + 1] for k in range(1, len(d) - 1))

networks = {
    'many inputs, one loss': [1, 10, 300, 500, 784],
    'one input, many outputs': [784, 500, 300, 10, 1],
    'a narrow waist': [784, 300, 30, 300, 784],
}
print(f'{"multiplications (million)":27}forward  backward     best')
for name, d in networks.items():
    least, brackets = cheapest(d)
    backward, forward = one_side(d), one_side(d[::-1])
    print(f'{name:25}{forward / 1e6:9.2f} {backward / 1e6:9.2f} '
          f'{least / 1e6:8.2f}  {brackets}')
d = networks['many inputs, one loss']
print(f'one loss: forward over backward {one_side(d[::-1]) / one_side(d):.0f}')

# %% [markdown]
# Backward is 220 times cheaper than forward, and for one loss it is the optimum: from the left every product is a
# vector times a matrix. With one input and many outputs it is the other way round. Nothing about derivatives decides
# this, only {eq}`matmul-chain`. (See [Automatic differentiation](../calculus/automatic_differentiation.ipynb).)
#
# ```{exercise} ★★ Attention without the table
# :label: matmul-linear
# Attention without its softmax computes $(\mathbf{Q}\mathbf{K}^\top)\mathbf{V}$ for matrices of shape $(T, d)$
# with $T$ much larger than $d$. Other brackets, $\mathbf{Q}(\mathbf{K}^\top\mathbf{V})$, take $2Td^2$
# multiplications in place of $2T^2 d$. But a language model must not look ahead: row $t$ of the result is
# $\sum_{s \le t} (\mathbf{q}_t \cdot \mathbf{k}_s)\, \mathbf{v}_s$. Write `causal(Q, K, V)` so that the work still
# grows like $T$, not like $T^2$.
# ```

# %%
def causal(Q, K, V):
    """The rows sum over s <= t of (q_t . k_s) v_s: an array (T, e).

    Q and K are arrays (T, d), V is (T, e), T >= 1. An array of T x T
    numbers is refused, and so is work that grows like T^2 in any other
    way. For Q = np.ones((2, 1)) and K = V = Q it is [[1], [2]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
class Weighed(np.ndarray):  # counts the numbers in all arrays that are made or cut out of it
    def __array_finalize__(self, source):
        self.seen = getattr(source, 'seen', None)
        if self.seen is not None:
            self.seen[0] += self.size
            if self.seen[0] > self.seen[1]:
                raise ValueError(f'more than {self.seen[1]} numbers in the arrays made from one argument')

    def __deepcopy__(self, memo):
        return weighed(self)

def weighed(a):
    copy = np.array(a).view(Weighed)
    copy.seen = [0, 300 * len(a)] if len(a) > 100 else None
    return copy

def by_table(Q, K, V):
    Q, K, V = map(np.array, (Q, K, V))
    return np.tril(Q @ K.T) @ V

def some_rows(T, d):
    if T > 100:
        return seeds().map(lambda seed: weighed(np.random.default_rng(seed).integers(-3, 4, (T, d)) * 1.0))
    return matrices(T, d, edges=True)

lengths = integers(1, 6) | on(2000)
cases = dict(
    Q=lambda K: some_rows(*K.shape),
    K=lengths.flatmap(lambda T: integers(1, 3).flatmap(lambda d: some_rows(T, d))),
    V=lambda K: integers(1, 3).flatmap(lambda e: some_rows(len(K), e)),
    lines=lambda Q, K, V: 100 + 50 * len(Q),
    tries=25,
)
grade(causal, by_table, **cases)

# %% [markdown]
# ```{solution-start} matmul-linear
# :class: dropdown
# ```
# The mask stands between the two products, so the brackets cannot move past it. The view by outer products helps:
# $\sum_{s \le t} (\mathbf{q}_t \cdot \mathbf{k}_s)\, \mathbf{v}_s^\top = \mathbf{q}_t^\top \sum_{s \le t}
# \mathbf{k}_s \mathbf{v}_s^\top$, and the last sum, a $d \times d$ matrix, grows by one term per step
# {cite}`katharopoulos2020transformers`. The wrong answers forget the mask, hide the present as well as the future, make
# the table, or go through all earlier rows for each row.

# %% jupyter={"source_hidden": true}
def causal_solution(Q, K, V):
    state, rows = np.zeros((K.shape[1], V.shape[1])), []
    for q, k, v in zip(Q, K, V, strict=True):
        state = state + np.outer(k, v)
        rows.append(q @ state)
    return np.stack(rows)

def without_mask(Q, K, V):
    return Q @ (K.T @ V)

def without_the_present(Q, K, V):
    return causal_solution(Q, K, V) - (Q * K).sum(1)[:, None] * V

def with_the_table(Q, K, V):
    return np.tril(Q @ K.T) @ V

def all_earlier_rows(Q, K, V):
    return np.stack([Q[t] @ K[:t + 1].T @ V[:t + 1] for t in range(len(Q))])

assert grade(causal_solution, by_table, **cases)
assert not grade(without_mask, by_table, **cases)
assert not grade(without_the_present, by_table, **cases)
assert not grade(with_the_table, by_table, **cases)
assert not grade(all_earlier_rows, by_table, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Block matrices and Strassen's algorithm
#
# Cut $\mathbf{A}$ into four blocks, and name each by the number of its rows and columns: $\mathbf{M}_{ra}$ has $r$ rows
# and $a$ columns. Cut $\mathbf{B}$ likewise, its rows at the same place where the columns of $\mathbf{A}$ are cut,
# after $a$ of them:
#
# ```{math}
# :label: la.matmul.block-partition
# \mathbf{A} = \begin{bmatrix} \mathbf{M}_{ra} & \mathbf{M}_{rb} \\ \mathbf{M}_{sa} & \mathbf{M}_{sb} \end{bmatrix}, \qquad
# \mathbf{B} = \begin{bmatrix} \mathbf{M}_{at} & \mathbf{M}_{au} \\ \mathbf{M}_{bt} & \mathbf{M}_{bu} \end{bmatrix}
# ```
#
# Then the blocks are multiplied as if they were numbers, the left factor always on the left:
#
# ```{math}
# :label: la.matmul.block-product
# \mathbf{A}\mathbf{B} = \begin{bmatrix} \mathbf{M}_{ra}\mathbf{M}_{at} + \mathbf{M}_{rb}\mathbf{M}_{bt} &
# \mathbf{M}_{ra}\mathbf{M}_{au} + \mathbf{M}_{rb}\mathbf{M}_{bu} \\ \mathbf{M}_{sa}\mathbf{M}_{at} +
# \mathbf{M}_{sb}\mathbf{M}_{bt} & \mathbf{M}_{sa}\mathbf{M}_{au} + \mathbf{M}_{sb}\mathbf{M}_{bu} \end{bmatrix}
# ```
#
# To prove it, split the sum in {eq}`la.matmul.entry`: $\sum_{k=1}^{a+b} = \sum_{k=1}^{a} + \sum_{k=a+1}^{a+b}$. For
# an entry in the first $r$ rows and $t$ columns, the first part is an entry of $\mathbf{M}_{ra}\mathbf{M}_{at}$, the
# second of $\mathbf{M}_{rb}\mathbf{M}_{bt}$. The names tell the sizes of the result, since the inner letters cancel:
#
# ```{math}
# :label: la.matmul.block-names
# \mathbf{A}\mathbf{B} = \begin{bmatrix} \mathbf{M}_{rt} & \mathbf{M}_{ru} \\ \mathbf{M}_{st} & \mathbf{M}_{su} \end{bmatrix}
# ```
#
# (The letters name places. $\mathbf{M}_{ra}$ and $\mathbf{M}_{rt}$ stay different when $a$ and $t$ happen to be equal.)
#
# :::{admonition} A tempting mistake
# :class: warning
# Blocks are not numbers, so two factors must not be exchanged. If all blocks are square, $\mathbf{M}_{bt}\mathbf{M}_{rb}$
# in place of $\mathbf{M}_{rb}\mathbf{M}_{bt}$ has the right shape and the wrong entries:
# :::

# %%
def cut(M, row, column):
    return [[M[:row, :column], M[:row, column:]],
            [M[row:, :column], M[row:, column:]]]

def block_product(P, Q):
    return [[P[i][0] @ Q[0][j] + P[i][1] @ Q[1][j] for j in (0, 1)]
            for i in (0, 1)]

def exchanged(P, Q):
    return [[P[i][0] @ Q[0][j] + Q[1][j] @ P[i][1] for j in (0, 1)]
            for i in (0, 1)]

A = np.arange(16).reshape(4, 4)
B = A % 3
P, Q = cut(A, 2, 2), cut(B, 2, 2)
for rule in (block_product, exchanged):
    wrong = (np.block(rule(P, Q)) != A @ B).sum()
    print(f'{rule.__name__}: {wrong} of 16 entries are wrong')


# %% [markdown]
# Nothing stops at two by two. Cut at $b, 2b, 3b, \dots$ instead, and the same formula, with a longer sum, is a program;
# the last blocks may be smaller.

# %%
def by_blocks(A, B, b):
    C = np.zeros((A.shape[0], B.shape[1]))
    for i, k, j in product(*(range(0, n, b) for n in (*A.shape, B.shape[1]))):
        C[i:i + b, j:j + b] += A[i:i + b, k:k + b] @ B[k:k + b, j:j + b]
    return C

A, B = np.random.default_rng(12).normal(size=(2, 30, 30))
for b in (1, 7, 16, 30):
    assert close(by_blocks(A[:20], B[:, :25], b), A[:20] @ B[:, :25])

# %% [markdown]
# The four views are blocks too: rows of $\mathbf{A}$ times columns of $\mathbf{B}$ are blocks of one row and one
# column, outer products blocks of one column and one row.
#
# **Seven instead of eight.** {eq}`la.matmul.block-product` takes eight products of blocks, and so eight half as large
# ones each, down to $8^{\log_2 n} = n^3$ multiplications of numbers. For more than a century matrices were multiplied
# in this way. In 1969 Strassen found that seven will do {cite}`strassen1969gaussian`:
#
# ```{math}
# :label: matmul-strassen
# \begin{gathered} \begin{aligned} \mathbf{P}_1 &= (\mathbf{A}_{11} + \mathbf{A}_{22})(\mathbf{B}_{11} +
# \mathbf{B}_{22}) \\ \mathbf{P}_2 &= (\mathbf{A}_{21} + \mathbf{A}_{22})\,\mathbf{B}_{11} \\ \mathbf{P}_3 &=
# \mathbf{A}_{11}(\mathbf{B}_{12} - \mathbf{B}_{22}) \\ \mathbf{P}_4 &= \mathbf{A}_{22}(\mathbf{B}_{21} -
# \mathbf{B}_{11}) \\ \mathbf{P}_5 &= (\mathbf{A}_{11} + \mathbf{A}_{12})\,\mathbf{B}_{22} \\ \mathbf{P}_6 &=
# (\mathbf{A}_{21} - \mathbf{A}_{11})(\mathbf{B}_{11} + \mathbf{B}_{12}) \\ \mathbf{P}_7 &= (\mathbf{A}_{12} -
# \mathbf{A}_{22})(\mathbf{B}_{21} + \mathbf{B}_{22}) \end{aligned} \\ \mathbf{A}\mathbf{B} = \begin{bmatrix}
# \mathbf{P}_1 + \mathbf{P}_4 - \mathbf{P}_5 + \mathbf{P}_7 & \mathbf{P}_3 + \mathbf{P}_5 \\ \mathbf{P}_2 + \mathbf{P}_4
# & \mathbf{P}_1 - \mathbf{P}_2 + \mathbf{P}_3 + \mathbf{P}_6 \end{bmatrix} \end{gathered}
# ```
#
# For example $\mathbf{P}_3 + \mathbf{P}_5 = \mathbf{A}_{11}\mathbf{B}_{12} - \mathbf{A}_{11}\mathbf{B}_{22} +
# \mathbf{A}_{11}\mathbf{B}_{22} + \mathbf{A}_{12}\mathbf{B}_{22}$. The factors never change sides, so the formulas hold
# for blocks, and can be used again on each $\mathbf{P}_i$. We prove them with symbols that do not commute, and count
# with numbers that keep a tally.

# %%
def strassen(A, B, smallest, multiply):
    n = len(A)
    if n <= smallest:
        return multiply(A, B)
    (a11, a12), (a21, a22) = cut(A, n // 2, n // 2)
    (b11, b12), (b21, b22) = cut(B, n // 2, n // 2)
    p1, p2, p3, p4, p5, p6, p7 = (
        strassen(x, y, smallest, multiply) for x, y in (
            (a11 + a22, b11 + b22), (a21 + a22, b11), (a11, b12 - b22),
            (a22, b21 - b11), (a11 + a12, b22), (a21 - a11, b11 + b12),
            (a12 - a22, b21 + b22)))
    return np.block([[p1 + p4 - p5 + p7, p3 + p5],
                     [p2 + p4, p1 - p2 + p3 + p6]])

A, B = (np.array(sp.symbols(f'{v}1:5', commutative=False)).reshape(2, 2)
        for v in 'ab')
difference = strassen(A, B, 1, lambda x, y: x * y) - A @ B
assert not any(sp.expand(entry) for entry in difference.flat)
left = sum(sp.expand(entry) != 0 for entry in difference.flat)
print('blocks that do not commute: entries that differ:', left)

# %%
tally = Counter()

class Counted:  # a number that counts what is done with it
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        tally['+'] += 1
        return Counted(self.value + other.value)

    def __sub__(self, other):
        tally['+'] += 1
        return Counted(self.value - other.value)

    def __mul__(self, other):
        tally['*'] += 1
        return Counted(self.value * other.value)

def counts(multiply, n):
    tally.clear()
    M = np.array([Counted(v) for v in range(n * n)]).reshape(n, n)
    multiply(M, M)
    return tally['*'], tally['+']

# %%
def seven(A, B):
    return strassen(A, B, 1, lambda x, y: x * y)

print('   n   by the definition   Strassen      (multiplications, additions)')
for n in (2, 4, 8, 16):
    usual, fast = counts(np.matmul, n), counts(seven, n)
    assert usual == (n ** 3, n ** 3 - n ** 2)
    k = n.bit_length() - 1  # n = 2^k
    assert fast == (7 ** k, 6 * (7 ** k - 4 ** k))
    print(f'{n:4} {usual[0]:9} {usual[1]:9} {fast[0]:9} {fast[1]:9}')

# %% [markdown]
# With $7^{\log_2 n} = n^{\log_2 7} \approx n^{2.81}$ multiplications the cubic law was broken. (How small the exponent
# can get, nobody knows.) The 18 additions of blocks have to be earned back, though. One step saves if
# $7\,\big(2(\tfrac n2)^3 - (\tfrac n2)^2\big) + 18\,(\tfrac n2)^2 < 2n^3 - n^2$, that is, if
# $\tfrac{n^3}{4} > \tfrac{15 n^2}{4}$, for $n > 15$. Below that one should stop.
#
# The other price is hidden. By the definition, an entry computed in floating point obeys the bound of a [dot
# product](../linear_algebra/dot_products.ipynb): *each* $c_{ij}$ is right up to $n u \sum_k |a_{ik}||b_{kj}|$ (to first
# order), with $u = 2^{-53}$. Strassen adds blocks that do not belong together. If the lower rows of $\mathbf{A}$ are
# tiny, so are the lower rows of the product; but of the four terms of $\mathbf{C}_{22}$ three contain the large
# $\mathbf{A}_{11}$. It cancels, its rounding errors do not. Strassen is accurate compared with the largest entries, not
# entry by entry {cite}`higham2002accuracy`. We measure it against exact integers; scaling rows by powers of two rounds
# nothing.

# %%
def plain(A, B):  # by outer products
    return sum(A[:, k, None] * B[k] for k in range(len(B)))

def entry_error(A, B, scale, smallest):
    rows = np.where(np.arange(len(A)) < len(A) // 2, 1.0, scale)[:, None]
    C = strassen(rows * A.astype(float), B.astype(float), smallest, plain)
    exactly = A @ B  # integers: no rounding below 2^63
    size = abs(A).astype(float) @ abs(B).astype(float)
    return (abs(C / rows - exactly) / size).max()

# %%
n, stop = 32, {'definition': 32, 'one step': 16, 'three steps': 4}
A, B = np.random.default_rng(6).integers(-2 ** 27, 2 ** 27, (2, n, n))
scales = 2.0 ** -np.arange(0, 41, 4)
error = {
    name: [entry_error(A, B, scale, smallest) for scale in scales]
    for name, smallest in stop.items()
}
assert max(error['definition']) < n * 2.0 ** -53
assert error['one step'][-1] > 1e10 * max(error['definition'])

def operations(n, smallest):  # multiplications and additions
    if n <= smallest:
        return 2 * n ** 3 - n ** 2
    half = n // 2
    return 7 * operations(half, smallest) + 18 * half ** 2

sizes = [2 ** k for k in range(1, 14)]
ratio = {
    name: [operations(n, smallest) / operations(n, n) for n in sizes]
    for name, smallest in (('down to numbers', 1), ('down to 16', 16))
}

# %% mystnb={"image": {"alt": "Left: operations of Strassen's method divided by those of the definition, against size up to 8192. Recursion down to single numbers more than doubles the work for small sizes and falls below one only at 1024; stopping at blocks of 16 falls from one to a third. Right: largest entrywise error against the factor by which half of the rows are smaller; flat at 1e-16 for the definition, growing in proportion to the factor for Strassen."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
for name, values in ratio.items():
    left.semilogx(sizes, values, 'o-', ms=3, label=name, base=2)
left.axhline(1, color=GREY, ls='--', lw=1)
left.set(xlabel='n', ylim=(0, 2.6), xticks=[2, 16, 128, 1024, 8192])
left.set_xticklabels(['2', '16', '128', '1024', '8192'])
left.set_title('operations, definition = 1')
left.legend(loc='upper right')
for name, values in error.items():
    right.loglog(1 / scales, values, label=name)
right.set(xlabel='lower rows smaller by', ylim=(3e-17, 3))
right.set_yticks([1e-16, 1e-12, 1e-8, 1e-4, 1])
right.set_title('largest error of an entry')
right.legend(loc='upper left');

# %% [markdown] tags=["caption"]
# Left: stopped at blocks of 16, Strassen's method saves two thirds of the operations at $n = 8192$. Right: its error in
# small rows grows with the factor between the rows; the definition's does not.

# %% [markdown]
# Both halves of the picture are the truth about fast multiplication: at $n = 8192$ it saves two thirds of the work, and
# a factor of a million between the rows costs six digits in the small ones. Libraries use the definition unless told
# otherwise.
#
# ```{exercise} ★★ Three instead of four
# :label: matmul-gauss
# A complex product, $(\mathbf{A} + i\mathbf{B})(\mathbf{C} + i\mathbf{D}) = (\mathbf{A}\mathbf{C} -
# \mathbf{B}\mathbf{D}) + i\,(\mathbf{A}\mathbf{D} + \mathbf{B}\mathbf{C})$, seems to take four real products. Do it
# with three: write `complex_product(multiply, A, B, C, D)`, which returns the stacked real and imaginary part and calls
# `multiply` three times. The grader counts.
# ```

# %%
def complex_product(multiply, A, B, C, D):
    """Real and imaginary part of (A + iB)(C + iD): an array (2, m, n).

    A and B are arrays (m, l), C and D (l, n). multiply(X, Y) is the
    product of two arrays and may be called three times; they do not know
    the operator @. For the 1 x 1 arrays of 0, 1, 0, 1 it is
    [[[-1]], [[0]]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
class Factor(np.ndarray):  # an array without the operator @
    def __matmul__(self, other):
        raise ValueError('use multiply in place of @')
    __rmatmul__ = dot = __matmul__

def by_complex_numbers(multiply, A, B, C, D):
    Z = (A + 1j * B).view(np.ndarray) @ (C + 1j * D).view(np.ndarray)
    return np.stack([Z.real, Z.imag])

def without_operator(m, n):
    return matrices(m, n, edges=True).map(lambda a: a.view(Factor))

cases = dict(
    multiply=on(counted(np.matmul, 3)),
    A=without_operator((1, 3), (1, 3)),
    B=lambda A: without_operator(*A.shape),
    C=lambda A: without_operator(A.shape[1], (1, 3)),
    D=lambda C: without_operator(*C.shape),
    without=['numpy.matmul', 'numpy.dot', 'numpy.einsum', 'numpy.tensordot', 'numpy.inner'],
)
grade(complex_product, by_complex_numbers, **cases)

# %% [markdown]
# ```{solution-start} matmul-gauss
# :class: dropdown
# ```
# With $\mathbf{P} = \mathbf{A}\mathbf{C}$, $\mathbf{Q} = \mathbf{B}\mathbf{D}$ and
# $\mathbf{R} = (\mathbf{A} + \mathbf{B})(\mathbf{C} + \mathbf{D})$ the parts are $\mathbf{P} - \mathbf{Q}$ and
# $\mathbf{R} - \mathbf{P} - \mathbf{Q}$. Here, too, additions replace a multiplication, and a small imaginary part
# beside a large real one loses digits. Matrices do not commute, but no factor changes sides. One wrong answer is the
# usual four products. Others take the sum of $\mathbf{P}$ and $\mathbf{Q}$ as the real part, take
# $\mathbf{R}$ alone as the imaginary part, or multiply without `multiply`.

# %% jupyter={"source_hidden": true}
def complex_product_solution(multiply, A, B, C, D):
    P, Q = multiply(A, C), multiply(B, D)
    return np.stack([P - Q, multiply(A + B, C + D) - P - Q])

def four_products(multiply, A, B, C, D):
    return np.stack([multiply(A, C) - multiply(B, D),
                     multiply(A, D) + multiply(B, C)])

def as_if_i_squared_were_one(multiply, A, B, C, D):
    P, Q = multiply(A, C), multiply(B, D)
    return np.stack([P + Q, multiply(A + B, C + D) - P - Q])

def without_the_others(multiply, A, B, C, D):
    return np.stack([multiply(A, C) - multiply(B, D), multiply(A + B, C + D)])

def with_the_operator(multiply, A, B, C, D):
    return np.stack([A @ C - B @ D, A @ D + B @ C])

assert grade(complex_product_solution, by_complex_numbers, **cases)
assert not grade(four_products, by_complex_numbers, **cases)
assert not grade(as_if_i_squared_were_one, by_complex_numbers, **cases)
assert not grade(without_the_others, by_complex_numbers, **cases)
assert not grade(with_the_operator, by_complex_numbers, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def drawn(seed, equal=False):  # sizes r, s, a, b, t, u and two matrices
    rng = np.random.default_rng(seed)
    r, s, a, b, t, u = [2] * 6 if equal else rng.permutation(np.arange(1, 7))
    A, B = rng.normal(size=(r + s, a + b)), rng.normal(size=(a + b, t + u))
    return (r, s, a, b, t, u), A, B

def shapes(blocks):
    return [[block.shape for block in row] for row in blocks]

def is_partition(seed, row):  # are the names of the blocks their sizes?
    (r, s, a, b, t, u), A, B = drawn(seed)
    P, Q = cut(A, r, a), cut(B, a if row == 'a' else r, t)
    return (
        shapes(P) == [[(r, a), (r, b)], [(s, a), (s, b)]]
        and shapes(Q) == [[(a, t), (a, u)], [(b, t), (b, u)]]
        and close(np.block(P), A)
        and close(np.block(Q), B)
    )

def multiplies(seed, rule, equal=False):
    (r, s, a, b, t, u), A, B = drawn(seed, equal)
    return close(np.block(rule(cut(A, r, a), cut(B, a, t))), A @ B)

def is_named(seed, order):
    (r, s, a, b, t, u), A, B = drawn(seed)
    parts = cut(A @ B, *((r, t) if order == 'rows first' else (t, r)))
    sums = block_product(cut(A, r, a), cut(B, a, t))
    return shapes(parts) == [[(r, t), (r, u)], [(s, t), (s, u)]] and all(
        close(parts[i][j], sums[i][j]) for i, j in np.ndindex(2, 2)
    )

holds(
    'la.matmul.block-partition',
    lambda seed: is_partition(seed, 'a'),
    slip=(
        'cuts B where the rows of A are cut',
        lambda seed: is_partition(seed, 'r'),
    ),
    seed=seeds(),
)
holds(
    'la.matmul.block-product',
    lambda seed: multiplies(seed, block_product),
    slip=(
        'exchanges the factors of one product',
        lambda seed: multiplies(seed, exchanged, equal=True),
    ),
    seed=seeds(),
)
holds(
    'la.matmul.block-names',
    lambda seed: is_named(seed, 'rows first'),
    slip=(
        'counts the columns before the rows',
        lambda seed: is_named(seed, 'columns first'),
    ),
    seed=seeds(),
)

# %% [markdown]
# ## From the triple loop to BLAS
#
# This section continues [The matrix product: dot products, columns, rows, outer
# products](#the-matrix-product-dot-products-columns-rows-outer-products). All its functions do the same
# multiplications. Do they take the same time? BLAS, the *basic linear algebra subprograms*, is the library behind `@`
# for matrices of floating-point numbers. The rungs of the ladder lead from the loops to it, and each hands a larger
# piece to compiled code: a number, a dot product, a product with a vector, everything. We measure the time per
# multiplication, each rung at a size that takes a moment, and print only what holds on any machine.

# %%
def per_multiplication(**ways):  # seconds; each way has its own n
    A, B = np.random.default_rng(8).normal(size=(2, 700, 700))
    factors = {n: (A[:n, :n].copy(), B[:n, :n].copy())
               for _, n in ways.values()}
    times = seconds(*(lambda way=way, n=n: way(*factors[n])
                      for way, n in ways.values()))
    sizes = np.array([n for _, n in ways.values()])
    return dict(zip(ways, times / sizes ** 3, strict=True))

cost = per_multiplication(loop=(by_loops, 40), dots=(by_dots, 200),
                          rows=(by_rows, 700), BLAS=(np.matmul, 700))
for slower, faster, least in (
        ('loop', 'dots', 3), ('dots', 'rows', 3), ('rows', 'BLAS', 1.2),
        ('loop', 'BLAS', 100)):
    climbs = cost[slower] > least * cost[faster]
    assert climbs
    rung = f'{faster:4} more than {least:4g} times as fast as {slower}'
    print(f'{rung}: {climbs}')

# %%
cost = per_multiplication(rows=(by_rows, 256), BLAS=(np.matmul, 256))
near = cost['rows'] < 10 * cost['BLAS']
cost = per_multiplication(loop=(by_loops, 4), dots=(by_dots, 4))
turned = cost['loop'] < cost['dots']
assert near and turned
print('at n = 256, rows times matrix is within 10 times of @:', near)
print('at n = 4, the loops are faster than dot products:', turned)

# %% [markdown]
# The ladder holds for large matrices. To start a dot product in compiled code costs as much as ten or twenty turns of a
# loop in Python, so in small matrices the first rung leads down.
#
# A trap lies beside the ladder. BLAS knows floating-point numbers only, so an innocent product of *integer* matrices
# goes through plain loops.

# %%
def integer_product(A, B):
    return (1000 * A).astype(int) @ (1000 * B).astype(int)

cost = per_multiplication(int=(integer_product, 256), float=(np.matmul, 256))
slower = cost['int'] > 3 * cost['float']
assert slower
print('integers take more than 3 times as long as floats:', slower)

# %% [markdown]
# **Why the order matters.** The first rung is explained by Python: for each multiplication it looks up entries in
# lists, asks for their types and makes new numbers, while compiled code does several at once. But the last step, from
# rows to everything, happens between two compiled programs with the same multiplications. What differs is where the
# numbers come from. A processor multiplies faster than the memory delivers. So it keeps what was used lately in a
# small, fast *cache*, and what is not there must be fetched, in *lines* of several neighbours. A numpy array lies row
# after row: along a row one fetch serves eight numbers, down a column it serves one. Here is the whole model: 32 lines
# of 8 numbers; if a line is missing, fetch it and forget the one not used for longest.

# %%
def misses(order, lines=32, width=8):  # of all steps c[i,j] += a[i,k] b[k,j]
    cache, count = OrderedDict(), 0
    for i, j, k in order:
        for line in (('a', i, k // width), ('b', k, j // width),
                     ('c', i, j // width)):
            if line not in cache:
                count += 1
            cache[line] = None
            cache.move_to_end(line)
            if len(cache) > lines:
                cache.popitem(last=False)
    return count

# %%
def dots_order(n):
    return product(range(n), repeat=3)  # k inside

def rows_order(n):
    return ((i, j, k) for i, k, j in product(range(n), repeat=3))

def columns_order(n):
    return ((i, j, k) for j, k, i in product(range(n), repeat=3))

def blocks_order(n, b=8):  # b divides n
    for i, j, k in product(range(0, n, b), repeat=3):
        for r, a, t in product(range(b), repeat=3):
            yield i + r, j + t, k + a

# %% [markdown]
# What should come out? If a column of $\mathbf{B}$ needs more lines than the cache has, every step of a dot product
# misses in $\mathbf{B}$: one miss per multiplication. Row by row, all three matrices are read along rows, and one miss
# serves eight multiplications. Column by column, $\mathbf{A}$ and $\mathbf{C}$ are both walked down: two misses. And
# blocks of size $b$, three of which fit, are the way out: to fetch two blocks costs $2b^2/8$ misses and feeds $b^3$
# multiplications, which is $1/(4b)$ each. How far can one go?
#
# ```{prf:theorem} No order does better
# :label: thm-traffic
# Let a step $c_{ij} \leftarrow c_{ij} + a_{ik} b_{kj}$ need its three numbers in a cache of $M$ numbers. Then every
# order of the $n^3$ steps fetches at least $\dfrac{n^3}{2\sqrt{2M}} - M$ numbers.
# ```
#
# ```{prf:proof}
# *First*, let $T$ be a set of triples $(i, j, k)$ that uses $N_A$ different entries of $\mathbf{A}$, $N_B$ of
# $\mathbf{B}$ and $N_C$ of $\mathbf{C}$. Then $|T|^2 \le N_A N_B N_C$. For let $n_{ij}$ be the number of $k$ with
# $(i, j, k) \in T$. It is positive for $N_C$ pairs, so by [Cauchy–Schwarz](../linear_algebra/dot_products.ipynb)
# $|T|^2 = \big( \sum_{ij} 1 \cdot n_{ij} \big)^2 \le N_C \sum_{ij} n_{ij}^2$. And $n_{ij}^2$ counts the pairs $k, k'$
# with $(i, j, k)$ and $(i, j, k')$ in $T$, for which $a_{ik}$ and $b_{k'j}$ are used. Each pair of a used $a_{ik}$ and
# a used $b_{k'j}$ belongs to one $(i, j)$ only, so $\sum_{ij} n_{ij}^2 \le N_A N_B$ (Loomis and Whitney).
#
# *Second*, cut the work into phases of $M$ fetched numbers each; the last may be shorter. In a phase at most $2M$
# numbers are ever in the cache: those there at its beginning and those fetched. So it has at most $\sqrt{(2M)^3}$
# steps. There are at least $n^3/(2M)^{3/2}$ phases, all but one of them full, which makes at least
# $M \big( n^3/(2M)^{3/2} - 1 \big)$ fetched numbers.
# ```
#
# A line brings eight numbers, so at least an eighth of this in misses {cite}`irony2004communication`. Blocks with
# $3b^2 = M$ need $2n^3/b = 2\sqrt3\, n^3/\sqrt{M}$ numbers: up to a constant, nothing is left to gain.

# %%
orders = {'columns': columns_order, 'dots': dots_order,
          'rows': rows_order, 'blocks of 8': blocks_order}
sizes = np.arange(8, 49, 8)
per_step = {name: [misses(order(int(n))) / n ** 3 for n in sizes]
            for name, order in orders.items()}
M = 32 * 8
bound = (sizes ** 3 / (2 * np.sqrt(2 * M)) - M) / 8 / sizes ** 3
for name, values in per_step.items():
    assert (np.array(values) >= bound).all()
    print(f'{name:12} {values[-1]:.3f} misses per multiplication, n = 48')

# %% mystnb={"image": {"alt": "Misses per multiplication against matrix size, logarithmic. Columns near 2 from size 16 on; dots near 0.1 and jumping above 1 at size 32; rows near 0.13; blocks of 8 fall slowly to 0.034; the lower bound lies at a few thousandths."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5, 2.9))
for name, values in per_step.items():
    ax.semilogy(sizes, values, 'o-', ms=4, label=name)
positive = bound > 0
ax.semilogy(sizes[positive], bound[positive], '--', color=GREY,
            label='no order is below')
ax.set(xlabel='n', ylabel='misses per multiplication')
ax.set(xticks=sizes, xlim=(6, 49))
ax.set_yticks([1e-3, 1e-2, 1e-1, 1, 2], ['0.001', '0.01', '0.1', '1', '2'])
label_lines(ax)

# %% [markdown] tags=["caption"]
# In a cache of 32 lines of 8 numbers the order of the same multiplications decides: at $n = 48$, columns miss twice per
# multiplication, blocks of 8 about once in 30.

# %% [markdown]
# The model is crude, and right about what it is for. A real machine agrees: to add up an array row by row, or column by
# column, is the same work. It takes the same time while the array fits into the cache, and another when it does not. (At
# $n = 2048$ there is more to it: in a cache, addresses at a distance of a power of two compete for the same few places.)

# %%
slower = {}
for n in (64, 2048):
    a = np.random.default_rng(9).normal(size=(n, n))
    by_row, by_column = seconds(
        lambda: [r.sum() for r in a], lambda: [c.sum() for c in a.T])
    slower[n] = by_column > 2 * by_row
    print(f'n = {n}: columns take more than 2 times as long as rows:',
          slower[n])
assert slower[2048] and not slower[64]

# %% [markdown]
# BLAS is {eq}`la.matmul.block-product` three times over: blocks for each level of the cache, and in the innermost a few
# outer products that never leave the processor {cite}`goto2008anatomy`. A GPU does the same with its own small
# memories.
#
# ```{exercise} ★★★ A block size for every cache
# :label: matmul-oblivious
# Blocks of 8 suit a cache of 256 numbers. A program that must run well with any cache, and does not know it, can cut
# each matrix into four, and each quarter again, down to single numbers. Write `quarters(n)`, which yields the $n^3$
# triples $(i, j, k)$ in such an order, for $n$ a power of two. The grader wants at most 1.25 times the misses of blocks
# of 8. Then explore: give `misses` other numbers of lines, and see who wins.
# ```

# %%
def quarters(n):
    """Yields the n^3 triples (i, j, k) of ints from 0 to n - 1, each once.

    n is a power of two, 1 included. The order has at most 1.25 times the
    misses of blocks_order(n) where n is 8 or more.
    list(quarters(1)) is [(0, 0, 0)].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_bits(n):  # in the order of the numbers whose digits are the first bits of i, j and k, then the second, ...
    return sorted(dots_order(n), key=lambda triple: [[v >> bit & 1 for v in triple] for bit in range(9, -1, -1)])

def listed(order):
    return lambda n: list(order(n))

def thrifty(steps, right):  # complete, and with few misses
    n = round(len(right) ** (1 / 3))
    return sorted(steps) == sorted(right) and (n < 8 or misses(steps) <= 1.25 * misses(blocks_order(n)))

cases = dict(n=[1, 2, 4, 8, 16, 32], same=thrifty)
grade(listed(quarters), by_bits, **cases)

# %% [markdown]
# ```{solution-start} matmul-oblivious
# :class: dropdown
# ```
# Eight products of quarters, one after the other, each done in the same way. However small a cache is, from some depth
# on three quarters fit into it, and for these the count of {prf:ref}`thm-traffic` is reached up to a constant. Such
# programs are called cache-oblivious {cite}`frigo2012cache`. The wrong answers are the triple loop, which is complete and
# wasteful, the same loop with its blocks cut only once, and the recursion without a case for $n = 1$ of its own.

# %% jupyter={"source_hidden": true}
def quarters_solution(n):
    if n == 1:
        yield 0, 0, 0
        return
    h = n // 2
    for i, j, k in product((0, h), repeat=3):
        for r, t, a in quarters_solution(h):
            yield i + r, j + t, k + a

def cut_once(n):
    h = max(n // 2, 1)
    for i, j, k in product(range(0, n, h), repeat=3):
        for r, t, a in dots_order(h):
            yield i + r, j + t, k + a

def from_two_on(n):
    for i, j, k in product((0, n // 2), repeat=3):
        for r, t, a in from_two_on(n // 2) if n > 2 else [(0, 0, 0)]:
            yield i + r, j + t, k + a

assert grade(listed(quarters_solution), by_bits, **cases)
assert not grade(listed(dots_order), by_bits, **cases)
assert not grade(listed(cut_once), by_bits, **cases)
assert not grade(listed(from_two_on), by_bits, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The Hadamard product, and functions of matrices
#
# The *Hadamard product* multiplies two matrices entry by entry:
#
# ```{math}
# :label: aw.mat-ops.hadamard
# z_{ij} = x_{ij}\, y_{ij}, \qquad \mathbf{Z} = \mathbf{X} \odot \mathbf{Y}
# ```
#
# In code it is `X * Y`. Its main use is *masking*. A matrix of zeros and ones erases some entries and keeps the others,
# and other numbers scale:
#
# ```{math}
# :label: aw.mat-ops.mask
# (\mathbf{M} \odot \mathbf{X})_{ij} = \begin{cases} X_{ij} & \text{if } M_{ij} = 1 \\ 0 & \text{if } M_{ij} = 0, \end{cases}
# \qquad (c\,\mathbf{1}\mathbf{1}^\top) \odot \mathbf{X} = c\,\mathbf{X}
# ```

# %% mystnb={"image": {"alt": "Three pictures: a photograph of a dahlia, a mask that is white in a disc and fades to black outside, and their product, the flower alone with dark surroundings."}} tags=["hide-input"]
flower = photograph('flower')[60:380:2, 150:470:2]
row, column = np.indices((160, 160))
radius = np.hypot(row - 79, column - 79)
mask = np.clip((75 - radius) / 6, 0, 1)  # soft at the rim
fig, axes = panels(3, height=2.1)
show_image(axes[0], flower, 'X')
show_image(axes[1], mask, 'M')
show_image(axes[2], mask[:, :, None] * flower, 'M ⊙ X');

# %% [markdown] tags=["caption"]
# Entry by entry, a mask keeps a picture where it is one, erases it where it is zero and dims it in between; for a fixed mask
# this is a linear map.

# %% [markdown]
# For a fixed $\mathbf{A}$, the map $\mathbf{X} \mapsto \mathbf{A} \odot \mathbf{X}$ is linear:
#
# ```{math}
# :label: aw.mat-ops.not-linear
# \begin{gathered} \mathbf{A} \odot (\alpha\mathbf{X} + \beta\mathbf{Y}) = \alpha\,(\mathbf{A} \odot \mathbf{X}) +
# \beta\,(\mathbf{A} \odot \mathbf{Y}) \\ \operatorname{vec}(\mathbf{A} \odot \mathbf{X}) =
# \operatorname{diag}(\operatorname{vec} \mathbf{A})\, \operatorname{vec} \mathbf{X} \end{gathered}
# ```
#
# On the matrix written as one long vector, $\operatorname{vec}\mathbf{X}$, masking is multiplication by a diagonal
# matrix.
#
# :::{admonition} A tempting mistake
# :class: warning
# It is easy to conclude from $\mathbf{X} \odot \mathbf{X}$, which is not linear in $\mathbf{X}$, that the Hadamard product
# does not preserve linearity. But $\mathbf{X}\mathbf{X}$ is not linear either. Both products are linear in each factor,
# and not in both together: with the matrices of the next cell, $(\mathbf{A} + \mathbf{B}) \odot (\mathbf{A} + \mathbf{B})$
# and $\mathbf{A} \odot \mathbf{A} + \mathbf{B} \odot \mathbf{B}$ differ.
# :::
#
# Maps that act entry by entry are composed like all others, and the chain rule applies to them. The gates of an LSTM and
# the masks of dropout are examples:
#
# ```{math}
# :label: aw.mat-ops.no-composition
# \begin{gathered} \mathbf{A} \odot (\mathbf{B} \odot \mathbf{X}) = (\mathbf{A} \odot \mathbf{B}) \odot \mathbf{X} \\
# \frac{\partial}{\partial X_{ij}} f(\mathbf{A} \odot \mathbf{X}) = A_{ij}\, \frac{\partial f}{\partial Z_{ij}}, \qquad
# \mathbf{Z} = \mathbf{A} \odot \mathbf{X} \end{gathered}
# ```
#
# But the matrix product *is* the composition of two linear maps, and the Hadamard product is not: in general
# $(\mathbf{A} \odot \mathbf{B})\,\mathbf{x} \ne \mathbf{A}(\mathbf{B}\mathbf{x})$.

# %%
A, B = np.array([[1, 2], [3, 4]]), np.array([[0, 1], [1, 0]])
x = np.array([1, 1])
print('(A * B) x =', (A * B) @ x, '  A (B x) =', A @ (B @ x))
print('(A + B) * (A + B):', ((A + B) * (A + B)).tolist())
print('A * A + B * B:    ', (A * A + B * B).tolist())

# %% [markdown]
# **Every function twice.** Many operations exist in both worlds, and PyTorch has both: `*` and `@`, `A ** k` and
# `torch.linalg.matrix_power`, `1 / A` and `torch.linalg.inv`, `torch.exp` and `torch.matrix_exp`. The last pair shows
# the difference best. The *matrix exponential* is the power series with matrix products,
#
# ```{math}
# :label: aw.mat-ops.both-kinds
# e^{\mathbf{A}} = \sum_{k=0}^\infty \frac{\mathbf{A}^k}{k!}, \qquad\text{but}\qquad \exp(\mathbf{A})_{ij} = e^{a_{ij}} .
# ```
#
# Differentiating term by term, $\frac{d}{dt} e^{t\mathbf{A}} = \mathbf{A} e^{t\mathbf{A}}$: so
# $\mathbf{x}(t) = e^{t\mathbf{A}}\mathbf{x}_0$ solves $\dot{\mathbf{x}} = \mathbf{A}\mathbf{x}$, the flow of a linear
# system. The other one solves nothing of the kind, and does not even start at $\mathbf{x}_0$. For a diagonal matrix
# they agree on the diagonal, but not beside it, where the other has $e^0 = 1$. To compute the series, halve the matrix
# until it is small, so that a few terms suffice, and square the result as often:
# $e^{\mathbf{A}} = (e^{\mathbf{A}/2^s})^{2^s}$.

# %%
def matrix_exponential(A, terms=18):
    s = 1 + int(np.ceil(np.log2(1 + abs(A).sum(0).max())))
    A = A / 2 ** s  # norm below 1/2
    total = term = np.eye(len(A))
    for k in range(1, terms):
        term = term @ A / k
        total = total + term
    for _ in range(s):
        total = total @ total
    return total

# %%
D = np.diag([1., 2.])
print(expm(D).round(2).tolist(), np.exp(D).round(2).tolist())

# %% mystnb={"image": {"alt": "Left: two paths. That of the matrix exponential starts at the marked point and spirals towards the origin; that of the entrywise exponential starts elsewhere and runs away. Middle and right: the matrix exponential of a shift matrix of size six, with falling diagonals above the main one and zeros below, and its entrywise exponential, with one bright diagonal on an even grey."}} tags=["hide-input"]
A, start = np.array([[-0.2, -1.0], [1.0, -0.2]]), np.array([1.0, 0.5])
times = np.linspace(0, 2 * np.pi, 60)
fig, axes = panels(3, height=2.2)
spiral = np.array([expm(t * A) @ start for t in times])
wrong = np.array([np.exp(t * A) @ start for t in times if t < 0.9])
axes[0].plot(*spiral.T, label='matrix')
axes[0].plot(*wrong.T, label='entries')
axes[0].plot(*start, 'o', color=GREY)
axes[0].plot(*wrong[0], 'o', color='C1')
axes[0].set(aspect='equal', xlim=(-1.2, 2), ylim=(-1, 3.4))
axes[0].set_title('exp(t A) x₀')
axes[0].legend(fontsize=8, loc='upper left')
shift = np.eye(6, k=1)
for ax, image, name in ((axes[1], expm(shift), 'matrix exponential'),
                        (axes[2], np.exp(shift), 'entry by entry')):
    show_image(ax, image, name, cmap='viridis', vmin=0, vmax=np.e)

# %% [markdown] tags=["caption"]
# Only the matrix exponential follows the flow of $\dot{\mathbf{x}} = \mathbf{A}\mathbf{x}$ from its starting point and keeps
# the zeros below the diagonal; the exponential of the entries does neither.

# %% [markdown]
# **A bridge between the two products.** Let $\mathbf{A}$ and $\mathbf{B}$ be symmetric with
# $\mathbf{x}^\top\mathbf{A}\mathbf{x} \ge 0$ and $\mathbf{x}^\top\mathbf{B}\mathbf{x} \ge 0$ for all
# $\mathbf{x}$, *positive semidefinite*, like every matrix of dot products.
#
# ```{prf:theorem} Schur
# :label: thm-schur
# If $\mathbf{A}$ and $\mathbf{B}$ are positive semidefinite, so is $\mathbf{A} \odot \mathbf{B}$. And for any two
# matrices, the rank of $\mathbf{A} \odot \mathbf{B}$ is at most the product of their ranks.
# ```
#
# ```{prf:proof}
# Write both as sums of outer products, $\mathbf{A} = \sum_p \mathbf{u}_p \mathbf{u}_p^\top$ and
# $\mathbf{B} = \sum_q \mathbf{v}_q \mathbf{v}_q^\top$ (for instance with eigenvectors times the roots of their
# eigenvalues). The Hadamard product distributes over sums, and $(\mathbf{u}\mathbf{u}^\top) \odot
# (\mathbf{v}\mathbf{v}^\top) = (\mathbf{u} \odot \mathbf{v})(\mathbf{u} \odot \mathbf{v})^\top$, since
# entry $(i, j)$ of both is $u_i u_j v_i v_j$. So $\mathbf{A} \odot \mathbf{B} = \sum_{p,q} (\mathbf{u}_p \odot
# \mathbf{v}_q)(\mathbf{u}_p \odot \mathbf{v}_q)^\top$, and $\mathbf{x}^\top(\mathbf{A} \odot
# \mathbf{B})\,\mathbf{x} = \sum_{p,q} \big( \mathbf{x} \cdot (\mathbf{u}_p \odot \mathbf{v}_q) \big)^2 \ge 0$. With
# different vectors on the two sides the same sum has
# $\operatorname{rank}\mathbf{A} \cdot \operatorname{rank}\mathbf{B}$ terms of rank at most one.
# ```

# %%
rng = np.random.default_rng(10)
lowest, ranks = [], []
for _ in range(100):
    U, V = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    A, B = U @ U.T, V @ V.T  # rank 2
    lowest.append(np.linalg.eigvalsh(A * B)[0])
    ranks.append(np.linalg.matrix_rank(A * B))
assert min(lowest) > -1e-12 and set(ranks) == {4}
print('with a negative eigenvalue:', sum(v < -1e-12 for v in lowest),
      'of 100; rank 2 and rank 2 give rank', *set(ranks))

# %% [markdown]
# This is how one makes new measures of similarity out of old ones, the *kernels* of machine learning: a table of
# similarities that comes from dot products of some features keeps this property when its entries are multiplied by
# those of another.
#
# ```{exercise} ★★ The features of a square
# :label: matmul-kernel
# Let $\mathbf{X}$ have the rows $\mathbf{x}_i$. The table $\mathbf{K} = \mathbf{X}\mathbf{X}^\top$ has the
# entries $\mathbf{x}_i \cdot \mathbf{x}_j$, and $\mathbf{K} \odot \mathbf{K}$ their squares. By {prf:ref}`thm-schur`
# these are dot products too. Of what? Find a map $\varphi$ with
# $\varphi(\mathbf{x}) \cdot \varphi(\mathbf{y}) = (\mathbf{x} \cdot \mathbf{y})^2$ and write `features(X)`, which
# applies it to each row.
# ```

# %%
def features(X):
    """The features of each row of X (n, d): an array (n, f), f is free.

    A row of the result may depend on the same row of X only. The dot
    product of two rows of features is the square of that of the rows.
    features(np.array([[3.]])) is [[9.]] or [[-9.]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def similarities(solution):  # between the rows of two arrays, whose features are found apart
    return lambda X, Y: solution(X) @ solution(Y).T

def squared(X, Y):
    return (X @ Y.T) ** 2

cases = dict(X=matrices((1, 4), (1, 4), edges=True), Y=lambda X: matrices((1, 4), X.shape[1], edges=True))
grade(similarities(features), squared, **cases)

# %% [markdown]
# ```{solution-start} matmul-kernel
# :class: dropdown
# ```
# The proof tells: the features are the products $\mathbf{u}_p \odot \mathbf{v}_q$, here
# $\varphi(\mathbf{x}) = \operatorname{vec}(\mathbf{x}\mathbf{x}^\top)$, all $d^2$ products $x_p x_q$. Check:
# $\sum_{p,q} x_p x_q\, y_p y_q = \sum_p x_p y_p \sum_q x_q y_q$. To compute $(\mathbf{x} \cdot \mathbf{y})^2$ takes
# $d + 1$ multiplications, so one never writes the features down. The wrong answers square the entries and forget the
# mixed products, count each mixed product once, or factorize the table of all rows, so that there is no map $\varphi$.

# %% jupyter={"source_hidden": true}
def features_solution(X):
    return (X[:, :, None] * X[:, None, :]).reshape(len(X), -1)

def squares_only(X):
    return X**2

def mixed_once(X):
    i, j = np.triu_indices(X.shape[1])
    return X[:, i] * X[:, j]

def of_the_whole_table(X):
    values, vectors = np.linalg.eigh((X @ X.T) ** 2)
    return vectors * np.sqrt(np.maximum(values, 0))

assert grade(similarities(features_solution), squared, **cases)
assert not grade(similarities(squares_only), squared, **cases)
assert not grade(similarities(mixed_once), squared, **cases)
assert not grade(similarities(of_the_whole_table), squared, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def entry_by_entry(X, Y):
    Z = np.zeros(X.shape)
    for i, j in np.ndindex(X.shape):
        Z[i, j] = X[i, j] * Y[i, j]
    return Z

def masks(multiply, X, seed):
    M = np.random.default_rng(seed).integers(0, 2, X.shape)
    Z, scaled = multiply(M, X), multiply(np.full(X.shape, 3.0), X)
    return (close(Z[M == 1], X[M == 1]) and close(Z[M == 0], 0 * X[M == 0])
            and close(scaled, 3 * X))

holds(
    'aw.mat-ops.hadamard',
    lambda X, Y: close(
        torch.tensor(X) * torch.tensor(Y), entry_by_entry(X, Y)
    ),
    slip=(
        'takes the matrix product',
        lambda X, Y: close(
            torch.tensor(X) @ torch.tensor(Y), entry_by_entry(X, Y)
        ),
    ),
    X=matrices(2, 2),
    Y=matrices(2, 2),
    tries=100,
)
holds(
    'aw.mat-ops.mask',
    lambda X, seed: masks(np.multiply, X, seed),
    slip=(
        'masks by a matrix product',
        lambda X, seed: masks(np.matmul, X, seed),
    ),
    X=matrices(3, 3),
    seed=seeds(),
    tries=100,
)

# %% tags=["checks"]
def is_linear(A, X, Y, s, t):
    return (close(A * (s * X + t * Y), s * (A * X) + t * (A * Y))
            and close(np.diag(A.ravel()) @ X.ravel(), (A * X).ravel()))

def composes(A, B, X):  # f(Z) = sum of tanh, and its gradient
    z = torch.tensor(X, requires_grad=True)
    torch.tanh(torch.tensor(A) * (torch.tensor(B) * z)).sum().backward()
    chain_rule = (1 - np.tanh(A * B * X) ** 2) * A * B
    return close(A * (B * X), (A * B) * X) and close(z.grad, chain_rule)

two = matrices(2, 2, 0.5, 2)  # no zeros, where anything holds
erratum(
    'aw.mat-ops.not-linear',
    printed=lambda A, X, Y, s, t: not is_linear(A, X, Y, s, t),
    corrected=is_linear,
    tries=60,
    A=two,
    X=two,
    Y=two,
    s=scalars(1, 9),
    t=scalars(1, 9),
)
erratum(
    'aw.mat-ops.no-composition',
    printed=lambda A, B, X: not composes(A, B, X),
    corrected=composes,
    A=two,
    B=two,
    X=two,
    tries=60,
)

# %% tags=["checks"]
def both_kinds(A, exponential):
    t = torch.tensor(A)
    return (
        close(exponential(t), expm(A))
        and close(matrix_exponential(A), expm(A))
        and close(torch.exp(t), np.exp(A))
        and close(torch.linalg.matrix_power(t, 3), A @ A @ A)
        and close(t**3, A * A * A)
    )

holds(
    'aw.mat-ops.both-kinds',
    lambda A: both_kinds(A, torch.matrix_exp),
    slip=(
        'takes the exponential of each entry',
        lambda A: both_kinds(A, torch.exp),
    ),
    A=matrices(3, 3, -2, 2),
    tries=40,
)

# %% [markdown]
# ## Summary
#
# A matrix product is forced on us by composition, and its $mnp$ multiplications may be read as dot products, as
# mixtures of columns or rows, as a sum of outer products, or as the same thing in blocks. Brackets do not change the
# result but decide the work, which is why backpropagation goes backward; the order of the loops decides the traffic
# with memory, which is why BLAS works in blocks. The Hadamard product is linear and composes like any map, but it is
# not composition, and a function of a matrix is not the function of its entries.
#
# **Further reading.** {cite}`golub2013matrix` begins with the views and blocks of this section and goes on to
# everything that can be built of them; {cite}`higham2002accuracy` weighs fast multiplication against rounding;
# {cite}`goto2008anatomy` opens up BLAS; {cite}`horn1991topics` has a chapter on the Hadamard product and one on
# functions of matrices.
