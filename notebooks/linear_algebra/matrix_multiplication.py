# ---
# jupyter:
#   book:
#     functions:
#       block_product: "block_product(cut(normal(4, 4), 2, 1), cut(normal(4, 3), 1, 2))"
#       by_blocks: by_blocks(normal(5, 4), normal(4, 3), 2)
#       by_columns: by_columns(normal(2, 3), normal(3, 4))
#       by_loops: by_loops(normal(2, 3), normal(3, 4))
#       by_outer: by_outer(normal(2, 3), normal(3, 4))
#       by_rows: by_rows(normal(2, 3), normal(3, 4))
#       cheapest: "cheapest([3, 30, 2, 25, 4])[0]"
#       cut: "cut(normal(4, 4), 1, 2)"
#       matrix_exponential: matrix_exponential(uniform(3, 3))
#       strassen: "strassen(normal(4, 4), normal(4, 4))"
#     main: la.matmul.entry
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Matrix multiplication
#
# A bakery sells bread and cakes to three cafés. One table says how many of each a café orders. Another table says how
# much flour, butter and how many eggs each product needs. The product of the two tables says what the bakery needs for
# each café. Why are rows multiplied by columns for this, and why can a change of the order of several products save
# nearly all the work, without changing the result?
#
# - **You need** linear maps ([Norms](../linear_algebra/norms.ipynb)) and [dot
#   products](../linear_algebra/dot_products.ipynb).
# - **You build** the matrix product in five ways, the cheapest order of a chain of products, Strassen's algorithm, and the
#   matrix exponential.
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
from importlib import import_module
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.fft import dct
from scipy.linalg import expm

from nbutils.cases import counted, integers, lists, matrices, on, scalars, seeds, vectors
from nbutils.checks import close, erratum, grade, holds, verify
from nbutils.data import photograph
from nbutils.figures import GREY, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## The matrix product: dot products, columns, rows, outer products
#
# The first café orders 10 loaves of bread and 2 cakes. A loaf needs 500 g of flour, 10 g of butter and no egg, and a cake
# 300 g, 200 g and 4 eggs:

# %%
orders = np.array([[10, 2], [0, 5], [4, 4]])  # café, product
recipes = np.array([[500, 10, 0], [300, 200, 4]])  # product, ingredient
needs = orders @ recipes  # café, ingredient
print(needs)
print('flour for the first café:', 10 * 500 + 2 * 300)

# %% [markdown]
# Each entry of the result is a sum over the products: number ordered times amount needed. In general, for $\mathbf{A} \in
# \mathbb{R}^{m \times n}$ and $\mathbf{B} \in \mathbb{R}^{n \times p}$, the **matrix product** $\mathbf{C} =
# \mathbf{A}\mathbf{B}$ is
#
# ```{math}
# :label: la.matmul.entry
# c_{ij} = \sum_{k=1}^n a_{ik}\, b_{kj}, \qquad \mathbf{A} \in \mathbb{R}^{m \times n},\quad \mathbf{B} \in
# \mathbb{R}^{n \times p},\quad \mathbf{C} = \mathbf{A}\mathbf{B} \in \mathbb{R}^{m \times p}
# ```

# %%
def by_loops(A, B):
    (m, n), p = A.shape, B.shape[1]
    C = np.zeros((m, p), A.dtype)
    for i in range(m):
        for j in range(p):
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]
    return C

print(by_loops(orders, recipes))

# %% [markdown]
# These are $mnp$ multiplications. In practice we type `A @ B`, in numpy and in PyTorch.
#
# Why this rule? Because it makes $(\mathbf{A}\mathbf{B})\,\mathbf{x} = \mathbf{A}\,(\mathbf{B}\mathbf{x})$: the product
# is the linear map that applies first $\mathbf{B}$ and then $\mathbf{A}$. For example, let $\mathbf{x}$ be the prices of
# the ingredients. We can price what each café needs, or first price each product, and get the same bill:

# %%
prices = np.array([0.001, 0.01, 0.3])  # per g, g and egg
print('price of what they need:', (orders @ recipes) @ prices)
print('priced products ordered:', orders @ (recipes @ prices))

# %% [markdown]
# ### Four ways to see a matrix product
#
# The three loops can stand in any order. Each order shows the product in another way.
#
# **Dot products.** Entry $(i, j)$ is the dot product of row $i$ of $\mathbf{A}$ and column $j$ of $\mathbf{B}$, so a matrix
# product is a table of dot products:
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
# **Columns and rows.** Column $j$ of the product is $\mathbf{A}\mathbf{b}_j$, a linear combination of the columns of
# $\mathbf{A}$. Row $i$ is a linear combination of the rows of $\mathbf{B}$.
#
# **Outer products.** The **outer product** of two vectors is the table of all products of their entries:
#
# ```{math}
# :label: la.matmul.outer
# \mathbf{u} \otimes \mathbf{v} = \mathbf{u}\mathbf{v}^\top = \begin{bmatrix} u_1 v_1 & \cdots & u_1 v_n \\ \vdots & &
# \vdots \\ u_m v_1 & \cdots & u_m v_n \end{bmatrix}
# ```
#
# Its rows are multiples of $\mathbf{v}^\top$, so it has rank one, unless a factor is zero. If the loop over $k$ is the
# outermost, each of its steps adds an outer product:
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
    return sum(np.outer(a, b) for a, b in zip(A.T, B, strict=True))

# %%
first = np.outer(orders[:, 0], recipes[0])
second = np.outer(orders[:, 1], recipes[1])
print('for the bread:', first.tolist())
print('for the cakes:', second.tolist())
print('together:     ', (first + second).tolist())

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
# The same multiplications in four groups: they make one entry of $\mathbf{A}\mathbf{B}$ at a time, one column, one row,
# or a contribution to all entries at once.

# %% [markdown]
# ### A photograph as a sum of outer products
#
# If the largest terms come first, we can stop early. We write a photograph $\mathbf{M}$ of 213 by 320 pixels as a matrix
# product in three ways. In $\mathbf{I}\,\mathbf{M}$, term $k$ is row $k$ of the picture. In $\mathbf{D}^\top
# (\mathbf{D}\mathbf{M})$, the rows of $\mathbf{D}$ are cosine waves from slow to fast, with $\mathbf{D}^\top\mathbf{D} =
# \mathbf{I}$. In $(\mathbf{U}\boldsymbol{\Sigma}) \mathbf{V}^\top$, the [singular value
# decomposition](../linear_algebra/singular_value_decomposition.ipynb), the waves are chosen to suit this picture.

# %%
M = photograph('china')[:426].mean(axis=-1)
M = M.reshape(213, 2, 320, 2).mean(axis=(1, 3))
D = dct(np.eye(213), axis=0, norm='ortho')
U, sigma, Vt = np.linalg.svd(M, full_matrices=False)
factors = {'row by row': (np.eye(213), M), 'cosine waves': (D.T, D @ M),
           'singular vectors': (U * sigma, Vt)}

# %%
def relative_error(left, right, terms):
    partial = left[:, :terms] @ right[:terms]
    return np.linalg.norm(M - partial) / np.linalg.norm(M)

for name, (left, right) in factors.items():
    print(f'{name:17} error after 20 of 213 terms:'
          f' {relative_error(left, right, 20):.3f}')

# %% mystnb={"image": {"alt": "Top: a photograph of a temple after 20 terms of three sums of outer products. Row by row shows only a strip of sky; cosine waves show the temple blurred up and down; singular vectors show it with stripes. Bottom: relative error against the number of terms, slow for row by row, fast for the other two, the singular vectors lowest."}} tags=["hide-input"]
fig = plt.figure(figsize=(6, 4.1))
grid = fig.add_gridspec(2, 3, height_ratios=[1, 1.5])
for column, (name, (left, right)) in enumerate(factors.items()):
    ax = fig.add_subplot(grid[0, column])
    show_image(ax, left[:, :20] @ right[:20], name, vmin=0, vmax=1)
ax = fig.add_subplot(grid[1, :])
terms = np.append(np.arange(0, 213, 6), 213)
for name, (left, right) in factors.items():
    ax.plot(terms, [relative_error(left, right, k) for k in terms], label=name)
ax.axvline(20, color=GREY, ls=':', lw=1)
ax.set(xlim=(0, 213), ylim=(0, 1), xlabel='terms', ylabel='relative error')
ax.legend(loc='center right');

# %% [markdown] tags=["caption"]
# One photograph as three sums of outer products: after 20 of 213 terms the relative error is 0.905 row by row, 0.125 with
# cosine waves and 0.097 with singular vectors.

# %% [markdown]
# The full product is the same in all three, and only the terms differ. No sum of 20 matrices of rank one comes nearer to
# the photograph than the third.
#
# ```{exercise} ★ Program: walks through a town
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
    lambda A, B: close(by_loops(A, B), np.tensordot(A, B, 1)),
    slip=('takes rows of B in place of columns', lambda A, B: close(by_loops(A, B.T), np.tensordot(A, B, 1))),
    A=matrices(3, 3), B=matrices(3, 3), tries=60,
)
holds(
    'la.matmul.generalises-dot',
    lambda a, b: close(a[None, :] @ b[:, None], [[np.dot(a, b)]]),
    slip=('multiplies a column by a row', lambda a, b: (a[:, None] @ b[None, :]).shape == (1, 1)),
    a=vectors(3), b=vectors(3), tries=60,
)
pairs = list(product(range(3), repeat=2))
holds(
    'aw.mat-ops.matmul',
    lambda X, Y: close([[X[i] @ Y[:, j] for j in range(3)] for i in range(3)], np.tensordot(X, Y, 1)),
    slip=('multiplies rows by rows', lambda X, Y: close([[x @ y for y in Y] for x in X], np.tensordot(X, Y, 1))),
    X=matrices(3, 3), Y=matrices(3, 3), tries=60,
)
holds(
    'aw.mat-ops.row-col',
    lambda X, Y: all(close((X @ Y)[i, j], X[i] @ Y[:, j]) for i, j in pairs),
    slip=('exchanges the two indices', lambda X, Y: all(close((X @ Y)[i, j], X[j] @ Y[:, i]) for i, j in pairs)),
    X=matrices(3, 3), Y=matrices(3, 3), tries=60,
)

def is_table(table, u, v):
    return table.shape == (len(u), len(v)) and all(table[i, j] == u[i] * v[j] for i, j in np.ndindex(table.shape))

holds(
    'la.matmul.outer',
    lambda u, v: is_table(u[:, None] @ v[None, :], u, v),
    slip=('exchanges u and v', lambda u, v: is_table(v[:, None] @ u[None, :], u, v)),
    u=vectors(2), v=vectors(3), tries=60,
)

# %% tags=["checks"]
def first_terms(A, B, n):
    return sum(np.outer(A[:, k], B[k]) for k in range(n))

holds(
    'la.matmul.sum-of-outer',
    lambda A, B: close(first_terms(A, B, 3), A @ B),
    slip=('leaves out the last outer product', lambda A, B: close(first_terms(A, B, 2), A @ B)),
    A=matrices(2, 3), B=matrices(3, 4), tries=60,
)
verify(
    'five programs compute the same product',
    lambda A, B: all(close(way(A, B), np.einsum('ik,kj->ij', A, B)) for way in (by_loops, by_columns, by_rows, by_outer)),
    slip=('leaves out the last outer product', lambda A, B: close(by_outer(A[:, :2], B[:2]), np.einsum('ik,kj->ij', A, B))),
    A=matrices((1, 3), 3, edges=True), B=matrices(3, (1, 4), edges=True), tries=60,
)
assert needs[0, 0] == 5600 and (first + second == needs).all()
assert close((orders @ recipes) @ prices, orders @ (recipes @ prices))

def squared_rest(left, right, terms):  # the terms are orthogonal: their squared lengths add up
    sizes = (left**2).sum(axis=0) * (right**2).sum(axis=1)
    return np.sqrt(sizes[terms:].sum() / sizes.sum())

assert all(close(relative_error(*pair, k), squared_rest(*pair, k)) for pair in factors.values() for k in (1, 20, 100))
assert all(relative_error(*factors['singular vectors'], k) < relative_error(*factors['cosine waves'], k)
           < relative_error(*factors['row by row'], k) for k in range(1, 200))

# %% [markdown]
# ## Associativity: the cheapest order of a chain of matrix products
#
# Brackets do not change a product of matrices:
#
# ```{math}
# :label: matmul-associative
# \begin{aligned}
# \big( (\mathbf{A}\mathbf{B})\,\mathbf{C} \big)_{ij} &= \sum_l \Big( \sum_k a_{ik} b_{kl} \Big) c_{lj} \\
# &= \sum_k a_{ik} \Big( \sum_l b_{kl} c_{lj} \Big) = \big( \mathbf{A}\,(\mathbf{B}\mathbf{C}) \big)_{ij}
# \end{aligned}
# ```
#
# Other rules for numbers do not carry over. The order of the factors matters, a product of nonzero matrices can be zero,
# and a transposed product reverses its factors, $(\mathbf{A}\mathbf{B})^\top = \mathbf{B}^\top\mathbf{A}^\top$:

# %%
turn, mirror = np.array([[0, -1], [1, 0]]), np.array([[1, 0], [0, -1]])
shift = np.array([[0, 1], [0, 0]])
print('turn after mirror:', (turn @ mirror).tolist())
print('mirror after turn:', (mirror @ turn).tolist())
print('shift twice:      ', (shift @ shift).tolist())

# %% [markdown]
# Brackets change the work, however. The product of an $m \times n$ and an $n \times p$ matrix takes $mnp$
# multiplications. For $600 \times 600$ matrices and a vector:

# %%
n = 600
print('(A B) x:', n**3 + n**2, 'multiplications')
print('A (B x):', 2 * n**2, 'multiplications')

# %% [markdown]
# For a chain of matrices of sizes $d_0 \times d_1,\ d_1 \times d_2,\ \dots,\ d_{L-1} \times d_L$ there are many ways to set
# brackets: 14 for five factors, and more than a billion for twenty. Yet the cheapest is easily found. *Some*
# product is the last one. It joins factors $i + 1, \dots, k$ to factors $k + 1, \dots, j$, and both groups must have been
# multiplied in their own cheapest way. So the least cost obeys
#
# ```{math}
# :label: matmul-chain
# c_{ij} = \min_{i < k < j} \big( c_{ik} + c_{kj} + d_i\, d_k\, d_j \big) \quad (i + 1 < j), \qquad c_{i,i+1} = 0 .
# ```
#
# We compute it from short groups to long ones. Such a recursion over best parts is called **dynamic programming**.

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

print(cheapest([3, 30, 2, 25, 4]))

# %% [markdown]
# numpy's `np.linalg.multi_dot` and PyTorch's `torch.linalg.multi_dot` choose the brackets in this way.
#
# ### Why backpropagation goes backward
#
# The derivative of a chain of layers is the product of the derivatives of the layers, which are matrices
# ([Jacobians](../calculus/jacobians.ipynb)). A classifier of handwritten digits may have the widths 784, 500, 300 and 10, and
# then one number, its loss. The factor nearest to the loss comes first, so the sizes are $1, 10, 300, 500, 784$. *Forward*,
# in the order in which the network computes, we multiply from right to left. *Backward* we multiply from left to right.

# %%
def backward(d):
    return sum(d[0] * d[k] * d[k + 1] for k in range(1, len(d) - 1))

def forward(d):
    return backward(d[::-1])

# %%
networks = {
    'many inputs, one loss': [1, 10, 300, 500, 784],
    'one input, many outputs': [784, 500, 300, 10, 1],
    'a narrow waist': [784, 300, 30, 300, 784],
}
print(f'{"multiplications (million)":27}forward  backward     best')
for name, d in networks.items():
    least, brackets = cheapest(d)
    print(f'{name:25}{forward(d) / 1e6:9.2f} {backward(d) / 1e6:9.2f} '
          f'{least / 1e6:8.2f}  {brackets}')
d = networks['many inputs, one loss']
print(f'one loss: forward over backward {forward(d) / backward(d):.0f}')

# %% [markdown]
# For one loss, backward is 220 times cheaper than forward, and it is the cheapest order: from the left, every product is a
# vector times a matrix. This is why networks are trained by backpropagation, see [Automatic
# differentiation](../calculus/automatic_differentiation.ipynb). With one input and many outputs it is the other way round.
#
# ```{exercise} ★ Experiment: forward, backward or neither?
# :label: matmul-direction
#
# Which order is the cheapest for the sizes (a) $1, 784, 32, 784$, the loss of an autoencoder, (b) $784, 300, 100, 2$,
# pictures made from two numbers, (c) $500, 10, 500, 10, 500$? Predict `'forward'`, `'backward'` or `'neither'` for each.
# Then compute `forward(d)`, `backward(d)` and `cheapest(d)`, and explain.
# ```

# %%
def predicted_directions():
    """Three words in a list, for (a), (b) and (c).

    Each is 'forward', 'backward' or 'neither':
    ['forward', 'forward', 'forward'], for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def all_costs(d):  # of all bracketings
    if len(d) == 2:
        return [0]
    return [left + right + d[0] * d[k] * d[-1] for k in range(1, len(d) - 1)
            for left in all_costs(d[:k + 1]) for right in all_costs(d[k:])]

def from_left(d):
    return sum(d[0] * a * b for a, b in zip(d[1:], d[2:]))

def measured_directions():
    words = []
    for d in ([1, 784, 32, 784], [784, 300, 100, 2], [500, 10, 500, 10, 500]):
        least = min(all_costs(d))
        words.append({from_left(d): 'backward', from_left(d[::-1]): 'forward'}.get(least, 'neither'))
    return words

grade(predicted_directions, measured_directions, [()])

# %% [markdown]
# ```{solution-start} matmul-direction
# :class: dropdown
# ```
# In (a) the left end is a single number, so every product from the left is a vector times a matrix. In (b) the right end
# is small, so every product from the right is a matrix with two columns. In (c) both ends are large. It is cheapest to
# multiply the two matrices in the middle first, which gives a $10 \times 10$ matrix. The wrong answers always go
# backward, always go forward, and take each narrow size in the middle for a reason to begin there.

# %% jupyter={"source_hidden": true}
def predicted_directions_solution():
    return ['backward', 'forward', 'neither']

def always_backward():
    return ['backward', 'backward', 'backward']

def always_forward():
    return ['forward', 'forward', 'forward']

def the_waist_decides():
    return ['neither', 'forward', 'neither']

assert grade(predicted_directions_solution, measured_directions, [()])
assert not grade(always_backward, measured_directions, [()])
assert not grade(always_forward, measured_directions, [()])
assert not grade(the_waist_decides, measured_directions, [()])

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Program: attention without the table
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

# %% tags=["checks"]
def every_cost(d):  # of all bracketings
    if len(d) == 2:
        return [0]
    return [left + right + d[0] * d[k] * d[-1] for k in range(1, len(d) - 1)
            for left in every_cost(d[:k + 1]) for right in every_cost(d[k:])]

def sizes_of(seed):
    return np.random.default_rng(seed).integers(1, 30, 7).tolist()

verify(
    'dynamic programming finds the least cost of all bracketings',
    lambda seed: cheapest(sizes_of(seed))[0] == min(every_cost(sizes_of(seed))),
    slip=('always multiplies from the left', lambda seed: backward(sizes_of(seed)) == min(every_cost(sizes_of(seed)))),
    seed=seeds(), tries=60,
)

def tracked(d, from_left):  # the work of really multiplying, shape by shape
    shapes, work = list(zip(d, d[1:])), 0
    while len(shapes) > 1:
        at = 0 if from_left else len(shapes) - 2
        (a, b), (_, c) = shapes[at:at + 2]
        shapes[at:at + 2], work = [(a, c)], work + a * b * c
    return work

verify(
    'backward and forward count the multiplications from the left and from the right',
    lambda seed: backward(sizes_of(seed)) == tracked(sizes_of(seed), True)
    and forward(sizes_of(seed)) == tracked(sizes_of(seed), False),
    slip=('exchanges the two', lambda seed: forward(sizes_of(seed)) == tracked(sizes_of(seed), True)),
    seed=seeds(), tries=60,
)
assert len(every_cost([1] * 6)) == 14 and cheapest([3, 30, 2, 25, 4])[1] == '((A B) (C D))'
loss, many, waist = networks.values()
assert backward(loss) == cheapest(loss)[0] and forward(many) == cheapest(many)[0]
assert cheapest(waist)[0] < min(backward(waist), forward(waist)) and round(forward(loss) / backward(loss)) == 220
assert (turn @ mirror != mirror @ turn).any() and not (shift @ shift).any()

# %% [markdown]
# ## Block matrix multiplication and Strassen's algorithm
#
# We cut $\mathbf{A}$ into four blocks and name each by the number of its rows and columns: $\mathbf{M}_{ra}$ has $r$ rows
# and $a$ columns. $\mathbf{B}$ is cut likewise. Its rows are cut where the columns of $\mathbf{A}$ are cut, after $a$ of
# them:
#
# ```{math}
# :label: la.matmul.block-partition
# \mathbf{A} = \begin{bmatrix} \mathbf{M}_{ra} & \mathbf{M}_{rb} \\ \mathbf{M}_{sa} & \mathbf{M}_{sb} \end{bmatrix}, \qquad
# \mathbf{B} = \begin{bmatrix} \mathbf{M}_{at} & \mathbf{M}_{au} \\ \mathbf{M}_{bt} & \mathbf{M}_{bu} \end{bmatrix}
# ```
#
# Then the blocks are multiplied as if they were numbers:
#
# ```{math}
# :label: la.matmul.block-product
# \mathbf{A}\mathbf{B} = \begin{bmatrix} \mathbf{M}_{ra}\mathbf{M}_{at} + \mathbf{M}_{rb}\mathbf{M}_{bt} &
# \mathbf{M}_{ra}\mathbf{M}_{au} + \mathbf{M}_{rb}\mathbf{M}_{bu} \\ \mathbf{M}_{sa}\mathbf{M}_{at} +
# \mathbf{M}_{sb}\mathbf{M}_{bt} & \mathbf{M}_{sa}\mathbf{M}_{au} + \mathbf{M}_{sb}\mathbf{M}_{bu} \end{bmatrix}
# ```
#
# To see this, split the sum in {eq}`la.matmul.entry` after $a$ terms. For an entry in the first $r$ rows and $t$ columns,
# the first part is an entry of $\mathbf{M}_{ra}\mathbf{M}_{at}$, the second of $\mathbf{M}_{rb}\mathbf{M}_{bt}$. The
# names also tell the sizes of the result, because the inner letters cancel:
#
# ```{math}
# :label: la.matmul.block-names
# \mathbf{A}\mathbf{B} = \begin{bmatrix} \mathbf{M}_{rt} & \mathbf{M}_{ru} \\ \mathbf{M}_{st} & \mathbf{M}_{su} \end{bmatrix}
# ```

# %%
def cut(M, row, column):
    return [[M[:row, :column], M[:row, column:]],
            [M[row:, :column], M[row:, column:]]]

def block_product(P, Q):
    return [[P[i][0] @ Q[0][j] + P[i][1] @ Q[1][j] for j in (0, 1)]
            for i in (0, 1)]

# %%
A = np.arange(16).reshape(4, 4)
B = A % 3
P, Q = cut(A, 2, 2), cut(B, 2, 2)
print('equal to A @ B:', (np.block(block_product(P, Q)) == A @ B).all())
exchanged = P[0][0] @ Q[0][0] + Q[1][0] @ P[0][1]
print('first block:            ', (A @ B)[:2, :2].tolist())
print('with exchanged factors: ', exchanged.tolist())

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# Blocks are not numbers, so their order matters. If all blocks are square, $\mathbf{M}_{bt}\mathbf{M}_{rb}$
# in place of $\mathbf{M}_{rb}\mathbf{M}_{bt}$ has the right shape and the wrong entries, as the last line above shows.
# :::
#
# With more cuts, the same formula is a program. Libraries compute `A @ B` in such blocks, because three small blocks fit
# into the fast memory next to the processor {cite}`goto2008anatomy`:

# %%
def by_blocks(A, B, b):
    (m, n), p = A.shape, B.shape[1]
    C = np.zeros((m, p), A.dtype)
    for i, k, j in product(range(0, m, b), range(0, n, b), range(0, p, b)):
        C[i:i + b, j:j + b] += A[i:i + b, k:k + b] @ B[k:k + b, j:j + b]
    return C

# %% [markdown]
# ### Strassen's algorithm: seven products instead of eight
#
# {eq}`la.matmul.block-product` takes eight products of blocks. If each of them is computed from eight smaller ones, and
# so on, we get $8^{\log_2 n} = n^3$ multiplications of numbers. In 1969 Strassen found that seven products are enough
# {cite}`strassen1969gaussian`:
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

# %%
def strassen(A, B):
    if len(A) == 1:
        return A * B
    (a11, a12), (a21, a22) = cut(A, len(A) // 2, len(A) // 2)
    (b11, b12), (b21, b22) = cut(B, len(A) // 2, len(A) // 2)
    p1, p2, p3 = (strassen(a11 + a22, b11 + b22), strassen(a21 + a22, b11),
                  strassen(a11, b12 - b22))
    p4, p5 = strassen(a22, b21 - b11), strassen(a11 + a12, b22)
    p6, p7 = (strassen(a21 - a11, b11 + b12),
              strassen(a12 - a22, b21 + b22))
    return np.block([[p1 + p4 - p5 + p7, p3 + p5],
                     [p2 + p4, p1 - p2 + p3 + p6]])

# %%
print('equal to A @ B:', (strassen(A, B) == A @ B).all())
print('    n     definition  Strassen   (multiplications)')
for k in (1, 4, 7, 10):
    print(f'{2**k:5} {8**k:14} {7**k:9}   {7**k / 8**k:.2f}')

# %% [markdown]
# The factors never change sides, so the formulas hold for blocks and can be used again for each $\mathbf{P}_i$. This
# takes $7^{\log_2 n} = n^{\log_2 7} \approx n^{2.81}$ multiplications, but 18 additions of blocks at each step. In
# floating point, the small entries of the product can lose digits, because Strassen adds and subtracts blocks that do not
# belong together {cite}`higham2002accuracy`. So libraries use the definition.
#
# ```{exercise} ★★ Program: three instead of four
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
    return (shapes(P) == [[(r, a), (r, b)], [(s, a), (s, b)]] and shapes(Q) == [[(a, t), (a, u)], [(b, t), (b, u)]]
            and close(np.block(P), A) and close(np.block(Q), B))

def with_exchanged_factors(P, Q):
    return [[P[i][0] @ Q[0][j] + Q[1][j] @ P[i][1] for j in (0, 1)] for i in (0, 1)]

def multiplies(seed, rule, equal=False):
    (r, s, a, b, t, u), A, B = drawn(seed, equal)
    return close(np.block(rule(cut(A, r, a), cut(B, a, t))), A @ B)

def is_named(seed, order):
    (r, s, a, b, t, u), A, B = drawn(seed)
    parts = cut(A @ B, *((r, t) if order == 'rows first' else (t, r)))
    sums = block_product(cut(A, r, a), cut(B, a, t))
    return shapes(parts) == [[(r, t), (r, u)], [(s, t), (s, u)]] and all(
        close(parts[i][j], sums[i][j]) for i, j in np.ndindex(2, 2))

holds(
    'la.matmul.block-partition',
    lambda seed: is_partition(seed, 'a'),
    slip=('cuts B where the rows of A are cut', lambda seed: is_partition(seed, 'r')),
    seed=seeds(),
)
holds(
    'la.matmul.block-product',
    lambda seed: multiplies(seed, block_product),
    slip=('exchanges the factors of one product', lambda seed: multiplies(seed, with_exchanged_factors, equal=True)),
    seed=seeds(),
)

# %% tags=["checks"]
holds(
    'la.matmul.block-names',
    lambda seed: is_named(seed, 'rows first'),
    slip=('counts the columns before the rows', lambda seed: is_named(seed, 'columns first')),
    seed=seeds(),
)
verify(
    'the product by blocks is the product, for every size of the blocks',
    lambda A, B, b: close(by_blocks(A, B, b), np.tensordot(A, B, 1)),
    slip=('leaves out what is beyond the last full block',
          lambda A, B, b: close(by_blocks(A[:, :5 // b * b], B[:5 // b * b], b), np.tensordot(A, B, 1))),
    A=matrices(3, 5), B=matrices(5, 4), b=[1, 2, 3, 5, 7], tries=60,
)
letters_a, letters_b = (np.array(sp.symbols(f'{v}1:5', commutative=False)).reshape(2, 2) for v in 'ab')
by_letters = strassen(letters_a, letters_b) - letters_a @ letters_b
assert not any(sp.expand(entry) for entry in by_letters.flat)  # holds for blocks, which do not commute

def of_whole_numbers(seed, k):
    return np.random.default_rng(seed).integers(-99, 100, (2, 2**k, 2**k))

def counting(seed, k, most):  # the multiplications of numbers that strassen makes
    count = []

    class Tallied(np.ndarray):
        def __mul__(self, other):
            count.append(1)
            return super().__mul__(other)

    C = strassen(*of_whole_numbers(seed, k).view(Tallied))
    return bool(np.array_equal(C, np.matmul(*of_whole_numbers(seed, k))) and len(count) == most(k))

verify(
    'Strassen multiplies exactly with 7 to the power log n multiplications',
    lambda seed, k: counting(seed, k, lambda k: 7**k),
    slip=('takes eight products', lambda seed, k: counting(seed, k, lambda k: 8**k)),
    seed=seeds(), k=[0, 1, 2, 3], tries=12,
)

# %% [markdown]
# ## The Hadamard product, and functions of matrices
#
# A photograph, a mask that is 1 inside a disc and 0 outside, and their product, entry by entry:

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
# Entry by entry, a mask keeps a picture where it is one, erases it where it is zero and dims it in between.

# %% [markdown]
# The **Hadamard product** multiplies two matrices entry by entry. In code it is `X * Y`:
#
# ```{math}
# :label: aw.mat-ops.hadamard
# z_{ij} = x_{ij}\, y_{ij}, \qquad \mathbf{Z} = \mathbf{X} \odot \mathbf{Y}
# ```
#
# Its main use is *masking*. A matrix of zeros and ones erases some entries and keeps the others, and a constant matrix
# scales:
#
# ```{math}
# :label: aw.mat-ops.mask
# (\mathbf{M} \odot \mathbf{X})_{ij} = \begin{cases} X_{ij} & \text{if } M_{ij} = 1 \\ 0 & \text{if } M_{ij} = 0, \end{cases}
# \qquad (c\,\mathbf{1}\mathbf{1}^\top) \odot \mathbf{X} = c\,\mathbf{X}
# ```
#
# For a fixed $\mathbf{A}$, the map $\mathbf{X} \mapsto \mathbf{A} \odot \mathbf{X}$ is linear. On the matrix written as
# one long vector, $\operatorname{vec}\mathbf{X}$, it is multiplication by a diagonal matrix:
#
# ```{math}
# :label: aw.mat-ops.not-linear
# \begin{gathered} \mathbf{A} \odot (\alpha\mathbf{X} + \beta\mathbf{Y}) = \alpha\,(\mathbf{A} \odot \mathbf{X}) +
# \beta\,(\mathbf{A} \odot \mathbf{Y}) \\ \operatorname{vec}(\mathbf{A} \odot \mathbf{X}) =
# \operatorname{diag}(\operatorname{vec} \mathbf{A})\, \operatorname{vec} \mathbf{X} \end{gathered}
# ```
#
# Maps that act entry by entry are composed like all others, and the chain rule applies to them:
#
# ```{math}
# :label: aw.mat-ops.no-composition
# \begin{gathered} \mathbf{A} \odot (\mathbf{B} \odot \mathbf{X}) = (\mathbf{A} \odot \mathbf{B}) \odot \mathbf{X} \\
# \frac{\partial}{\partial X_{ij}} f(\mathbf{A} \odot \mathbf{X}) = A_{ij}\, \frac{\partial f}{\partial Z_{ij}}, \qquad
# \mathbf{Z} = \mathbf{A} \odot \mathbf{X} \end{gathered}
# ```

# %%
A, B = np.array([[1, 2], [3, 4]]), np.array([[0, 1], [1, 0]])
x = np.array([1, 1])
print('(A B) x =', (A @ B) @ x, '  A (B x) =', A @ (B @ x),
      '  (A * B) x =', (A * B) @ x)
print('A * B:', (A * B).tolist(), '  A B:', (A @ B).tolist())

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# In numpy and PyTorch, `A * B` is not the matrix product but the Hadamard product. Only the matrix product composes two
# linear maps: above, $(\mathbf{A} \odot \mathbf{B})\,\mathbf{x}$ is $(2, 3)$ and not $\mathbf{A}(\mathbf{B}\mathbf{x}) =
# (3, 7)$.
# :::
#
# ### The matrix exponential
#
# Many functions exist in both forms, entry by entry and for the whole matrix: `A ** k` and `matrix_power(A, k)`, `1 / A`
# and `inv(A)`, in PyTorch `torch.exp` and `torch.matrix_exp`. The **matrix exponential** is the power series with matrix
# products:
#
# ```{math}
# :label: aw.mat-ops.both-kinds
# e^{\mathbf{A}} = \sum_{k=0}^\infty \frac{\mathbf{A}^k}{k!}, \qquad\text{but}\qquad \exp(\mathbf{A})_{ij} = e^{a_{ij}} .
# ```
#
# To compute the series, we halve the matrix until it is small, so that a few terms suffice. Then we square the result as
# often: $e^{\mathbf{A}} = (e^{\mathbf{A}/2^s})^{2^s}$.

# %%
def matrix_exponential(A, terms=18):
    s = 1 + int(np.ceil(np.log2(1 + abs(A).sum(axis=0).max())))
    term = np.eye(len(A), dtype=A.dtype)
    total = term
    for k in range(1, terms):
        term = term @ A / (2**s * k)
        total = total + term
    for _ in range(s):
        total = total @ total
    return total

# %%
D = np.diag([1., 2.])
print(matrix_exponential(D).round(2).tolist(), np.exp(D).round(2).tolist())

# %% [markdown]
# If $\dot{\mathbf{x}} = \mathbf{A}\mathbf{x}$ describes how a state changes with time, then
# $\mathbf{x}(t) = e^{t\mathbf{A}}\mathbf{x}_0$ is the state at time $t$: differentiating the series term by term gives
# $\frac{d}{dt} e^{t\mathbf{A}} = \mathbf{A} e^{t\mathbf{A}}$.

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
# Only the matrix exponential follows the flow of $\dot{\mathbf{x}} = \mathbf{A}\mathbf{x}$ from its starting point and
# keeps the zeros below the diagonal; the exponential of the entries does neither.

# %% [markdown]
# ### Schur's theorem: products of similarities
#
# A symmetric matrix is called **positive semidefinite** if $\mathbf{x}^\top\mathbf{A}\mathbf{x} \ge 0$ for all
# $\mathbf{x}$. Every table of dot products is an example.
#
# ```{prf:theorem} Schur
# :label: thm-schur
# If $\mathbf{A}$ and $\mathbf{B}$ are positive semidefinite, so is $\mathbf{A} \odot \mathbf{B}$. And for any two
# matrices, the rank of $\mathbf{A} \odot \mathbf{B}$ is at most the product of their ranks.
# ```
#
# ```{prf:proof}
# :class: dropdown
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
#
# So if two tables of similarities come from dot products of some features, their entrywise product does, too. This is how
# new *kernels* are made from old ones in machine learning.
#
# ```{exercise} ★★ Pencil: the features of a square
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
    return close(Z[M == 1], X[M == 1]) and close(Z[M == 0], 0 * X[M == 0]) and close(scaled, 3 * X)

holds(
    'aw.mat-ops.hadamard',
    lambda X, Y: close(X * Y, entry_by_entry(X, Y)),
    slip=('takes the matrix product', lambda X, Y: close(X @ Y, entry_by_entry(X, Y))),
    X=matrices(2, 2), Y=matrices(2, 2), tries=100,
)
verify(
    'the Hadamard product masks and scales',
    lambda X, seed: masks(np.multiply, X, seed),
    slip=('masks by a matrix product', lambda X, seed: masks(np.matmul, X, seed)),
    X=matrices(3, 3), seed=seeds(), tries=100,
)

def is_linear(A, X, Y, s, t):
    return (close(A * (s * X + t * Y), s * (A * X) + t * (A * Y))
            and close(np.diag(A.ravel()) @ X.ravel(), (A * X).ravel()))

torch = import_module('torch')

def composes(A, B, X):  # f(Z) = sum of tanh, and its gradient
    z = torch.tensor(X, requires_grad=True)
    torch.tanh(torch.tensor(A) * (torch.tensor(B) * z)).sum().backward()
    chain_rule = (1 - np.tanh(A * B * X) ** 2) * A * B
    return close(A * (B * X), (A * B) * X) and close(z.grad, chain_rule)

two = matrices(2, 2, 0.5, 2)  # no zeros, where anything holds
erratum(
    'aw.mat-ops.not-linear',
    printed=lambda A, X, Y, s, t: not is_linear(A, X, Y, s, t), corrected=is_linear,
    tries=60, A=two, X=two, Y=two, s=scalars(1, 9), t=scalars(1, 9),
)
erratum(
    'aw.mat-ops.no-composition',
    printed=lambda A, B, X: not composes(A, B, X), corrected=composes,
    A=two, B=two, X=two, tries=60,
)

# %% tags=["checks"]
def both_kinds(A, exponential):
    t = torch.tensor(A)
    return (close(exponential(t), expm(A)) and close(matrix_exponential(A), expm(A)) and close(torch.exp(t), np.exp(A))
            and close(torch.linalg.matrix_power(t, 3), A @ A @ A) and close(t**3, A * A * A))

holds(
    'aw.mat-ops.both-kinds',
    lambda A: both_kinds(A, torch.matrix_exp),
    slip=('takes the exponential of each entry', lambda A: both_kinds(A, torch.exp)),
    A=matrices(3, 3, -2, 2), tries=40,
)

def of_rank_two(seed):
    U, V = np.random.default_rng(seed).normal(size=(2, 6, 2))
    return U @ U.T, V @ V.T

def schur(seed, combine, rank):
    product_of = combine(*of_rank_two(seed))
    return bool(np.linalg.eigvalsh(product_of)[0] > -1e-9 and np.linalg.matrix_rank(product_of) == rank)

verify(
    "a Hadamard product of two semidefinite matrices of rank 2 is semidefinite of rank 4",
    lambda seed: schur(seed, np.multiply, 4),
    slip=('takes the difference', lambda seed: schur(seed, np.subtract, 4)),
    seed=seeds(), tries=60,
)

# %% [markdown]
# ## Summary
#
# The matrix product is composition of linear maps, and its $mnp$ multiplications can be seen as dot products, as linear
# combinations of columns or rows, as a sum of outer products, or in blocks. Brackets do not change the result but decide
# the work, and this is why backpropagation goes backward. The Hadamard product multiplies entry by entry, and a function
# of a matrix is not the function of its entries.
#
# **Further reading.** {cite}`golub2013matrix` begins with the views and blocks of this section and goes on to everything
# that can be built of them; {cite}`higham2002accuracy` weighs fast multiplication against rounding;
# {cite}`goto2008anatomy` explains how libraries multiply matrices fast; {cite}`horn1991topics` has a chapter on the
# Hadamard product and one on functions of matrices.
