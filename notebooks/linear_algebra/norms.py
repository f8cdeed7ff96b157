# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Norms
#
# - **Question.** How long is a vector, how large is a matrix, and why does the answer depend on who asks?
# - **You need** sums, roots, systems of linear equations and the arrays of Tensors and shapes.
# - **You build** rank by elimination, every $\ell_p$ norm safe from overflow, dual norms, and the norms of a matrix.
# - **Time** 5 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/heads/main.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %%
import math
from dataclasses import dataclass
from functools import reduce
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.optimize import linprog
from sklearn.svm import SVC

from nbutils.cases import integers, scalars, vectors
from nbutils.checks import close, erratum, grade, holds
from nbutils.data import digits
from nbutils.figures import GREY, label_lines, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## Before length: vectors, bases, maps
#
# A list of numbers becomes a *vector* once two things can be done with it: add another one to it, and multiply it by a
# number. The definition asks for nothing else, and in particular not for a length.
#
# ```{prf:definition} Vector space
# :label: def-vector-space
# A set with a sum $\mathbf{x} + \mathbf{y}$ and multiples $\alpha \mathbf{x}$, $\alpha \in \mathbb{R}$, is a (real)
# *vector space* if for all its elements and all numbers $\mathbf{x} + \mathbf{y} = \mathbf{y} + \mathbf{x}$ and
# $(\mathbf{x} + \mathbf{y}) + \mathbf{z} = \mathbf{x} + (\mathbf{y} + \mathbf{z})$; there is a $\mathbf{0}$ with
# $\mathbf{x} + \mathbf{0} = \mathbf{x}$, and to each $\mathbf{x}$ a $-\mathbf{x}$ with
# $\mathbf{x} + (-\mathbf{x}) = \mathbf{0}$; and
# $\alpha(\mathbf{x} + \mathbf{y}) = \alpha\mathbf{x} + \alpha\mathbf{y}$,
# $(\alpha + \beta)\mathbf{x} = \alpha\mathbf{x} + \beta\mathbf{x}$,
# $\alpha(\beta\mathbf{x}) = (\alpha\beta)\mathbf{x}$, $1\,\mathbf{x} = \mathbf{x}$.
# ```
#
# Arrows, photographs, polynomials and the parameters of a network are all vectors in this sense, so whatever is proved
# from the rules holds for all of them. For the numbers inside a computer the rules hold only nearly: beside
# $10^{16}$, whose neighbours lie 2 apart, a 1 is lost, and then it matters which sum comes first.

# %%
x, y, z = 1.0, 1e16, -1e16
print('(x + y) + z equals x + (y + z):', (x + y) + z == x + (y + z))

# %% [markdown]
# With sums and multiples alone we can form *linear combinations*
# $c_1\mathbf{b}_1 + \dots + c_k\mathbf{b}_k = \mathbf{B}\mathbf{c}$, where the $\mathbf{b}_j$ are the columns of
# $\mathbf{B}$. All of them together are the *span* of the $\mathbf{b}_j$. The $\mathbf{b}_j$ are *linearly independent*
# if only $\mathbf{c} = \mathbf{0}$ gives $\mathbf{B}\mathbf{c} = \mathbf{0}$. A *basis* is independent and spans
# everything. Then each $\mathbf{x}$ has exactly one list $\mathbf{c}$ of *coordinates*, for
# $\mathbf{B}\mathbf{c} = \mathbf{B}\mathbf{c}'$ means $\mathbf{B}(\mathbf{c} - \mathbf{c}') = \mathbf{0}$.
#
# ```{prf:theorem} Dimension
# :label: thm-dimension
# No independent family is larger than a spanning one. Hence all bases have equally many elements; their number
# is the *dimension*.
# ```
#
# ```{prf:proof}
# Let $\mathbf{b}_1, \dots, \mathbf{b}_n$ span, and let $\mathbf{v}_j = \sum_i a_{ij} \mathbf{b}_i$ for
# $j = 1, \dots, m$ with $m > n$. The system $\mathbf{A}\mathbf{d} = \mathbf{0}$ has fewer equations than unknowns. Each
# equation settles at most one unknown, so one stays free and some $\mathbf{d} \ne \mathbf{0}$ solves it. Then
# $\sum_j d_j \mathbf{v}_j = \sum_i (\mathbf{A}\mathbf{d})_i \mathbf{b}_i = \mathbf{0}$: the $\mathbf{v}_j$ are
# dependent. Of two bases, each is independent and the other spans, so neither is the larger.
# ```
#
# Settling one unknown per equation is an algorithm, *elimination*. Swapping rows and subtracting a multiple of one row
# from another change neither the span of the rows nor the solutions of $\mathbf{A}\mathbf{d} = \mathbf{0}$, that is, the
# dependencies among the columns. At the end the rows form a staircase, the nonzero ones are independent, and their number,
# the *rank*, is the dimension spanned by the rows and by the columns alike. As pivot we take the largest entry of a column,
# so that rounding errors are never multiplied by large factors.

# %%
def rank(a, tol=1e-9):  # a (m, n)
    a, r = a.astype(float), 0
    for j in range(a.shape[1]):
        if r < len(a):
            i = r + abs(a[r:, j]).argmax()
            if abs(a[i, j]) > tol:
                a[[r, i]] = a[[i, r]]
                a[r + 1:] -= np.outer(a[r + 1:, j] / a[r, j], a[r])
                r += 1
    return r

# %%
rng = np.random.default_rng(0)
thin = [rng.integers(-3, 4, (5, k)) @ rng.integers(-3, 4, (k, 6)) for k in (1, 2, 3, 4, 5) * 4]
assert all(rank(a) == np.linalg.matrix_rank(a) == sp.Matrix(a).rank() for a in thin)
print('rank agrees with numpy and with exact fractions:', True)

# %% [markdown]
# A map $f$ that respects sums and multiples is *linear*, and it is known as soon as it is known on a basis:
# $f(\mathbf{x}) = f(\sum_j x_j \mathbf{e}_j) = \sum_j x_j f(\mathbf{e}_j) = \mathbf{A}\mathbf{x}$, where the columns
# $\mathbf{a}_j$ of $\mathbf{A}$ are the images $f(\mathbf{e}_j)$. Doing $\mathbf{B}$ first and then $\mathbf{A}$ is
# linear too. Its $j$-th column is $\mathbf{A}(\mathbf{B}\mathbf{e}_j) = \sum_k b_{kj} \mathbf{a}_k$, and that is why matrices
# are multiplied the way they are:
#
# ```{math}
# :label: norms-product
# (\mathbf{A}\mathbf{B})_{ij} = \sum_k a_{ik} b_{kj}
# ```
#
# The *transpose* moves a matrix to the other side of a dot product $\mathbf{x} \cdot \mathbf{y} = \sum_i x_i y_i$:
# $(\mathbf{A}\mathbf{x}) \cdot \mathbf{y} = \sum_{i,j} a_{ij} x_j y_i = \mathbf{x} \cdot (\mathbf{A}^\mathsf{T}\mathbf{y})$.
# Moving first $\mathbf{A}$ and then $\mathbf{B}$ gives $(\mathbf{A}\mathbf{B})^\mathsf{T} =
# \mathbf{B}^\mathsf{T}\mathbf{A}^\mathsf{T}$.

# %%
def matmul(a, b):  # a (m, r), b (r, n) -> (m, n)
    c = np.zeros((a.shape[0], b.shape[1]))
    for i, k, j in np.ndindex(*a.shape, b.shape[1]):
        c[i, j] += a[i, k] * b[k, j]
    return c

rng = np.random.default_rng(1)
a, b = rng.normal(size=(4, 5)), rng.normal(size=(5, 3))
assert close(matmul(a, b), a @ b) and close(a @ b, np.einsum('ik,kj->ij', a, b))
assert close((a @ b).T, b.T @ a.T)
print('loops, @ and einsum agree, and (AB)^T = B^T A^T:', True)

# %% mystnb={"image": {"alt": "Left: one arrow with its coordinates in the standard basis, 2.5 and 3, and in a skewed basis, 1.5 and 1. Right: the unit square and the parallelogram that a matrix makes of it, spanned by the columns of the matrix."}} tags=["hide-input"]
basis, c = np.array([[2, -0.5], [1, 1.5]]), np.array([1.5, 1])

def arrow(ax, start, end, color):
    ax.annotate('', end, start, arrowprops=dict(arrowstyle='-|>', color=color, lw=1.8, shrinkA=0, shrinkB=0))

fig, (left, right) = panels(2, height=2.9)
for k, name in enumerate(('b₁', 'b₂')):
    arrow(left, (0, 0), basis[:, k], 'C1')
    left.text(*(basis[:, k] + [0.1, -0.3]), name, color='C1')
corner = c[0] * basis[:, 0]
left.plot(*np.stack([[0, 0], corner, basis @ c, c[1] * basis[:, 1]], 1), '--', color='C1', lw=1)
left.plot([0, 2.5, 2.5], [0, 0, 3], ':', color=GREY)
arrow(left, (0, 0), basis @ c, 'C0')
left.text(1.0, 3.35, 'x = (2.5, 3)\n   = 1.5 b₁ + 1 b₂', color='C0')
left.set(xlim=(-1, 4), ylim=(-0.6, 4.4), aspect='equal', title='One vector, two bases')
square = np.array([[0, 1, 1, 0], [0, 0, 1, 1]])
right.fill(*square, color=GREY, alpha=0.35)
right.fill(*basis @ square, color='C0', alpha=0.25)
for k, name in enumerate(('A e₁', 'A e₂')):
    arrow(right, (0, 0), basis[:, k], 'C0')
    right.text(*(basis[:, k] + [[0.1, -0.3], [-0.75, 0.1]][k]), name, color='C0')
right.set(xlim=(-1.5, 3.5), ylim=(-0.6, 4.4), aspect='equal', title='A linear map of the unit square');

# %% [markdown]
# The left picture holds the reason for this whole section. The arrow is the same in both bases, its coordinates are not,
# and $\sqrt{2.5^2 + 3^2} \ne \sqrt{1.5^2 + 1^2}$. If the length is the one of school, and $\mathbf{x} = \mathbf{B}\mathbf{c}$,
# then
#
# $$\mathbf{x} \cdot \mathbf{x} = (\mathbf{B}\mathbf{c}) \cdot (\mathbf{B}\mathbf{c})
# = \mathbf{c} \cdot (\mathbf{B}^\mathsf{T}\mathbf{B}\,\mathbf{c}) = \mathbf{c}^\mathsf{T}\mathbf{G}\,\mathbf{c},
# \qquad \mathbf{G} = \mathbf{B}^\mathsf{T}\mathbf{B},$$
#
# and the *Gram matrix* $\mathbf{G}$ is the identity only if the basis is orthonormal. A vector space by itself does not know
# how long its vectors are. Length has to be agreed upon, and the next part says what may be agreed.
#
# ```{exercise} ★ Length in a skewed basis
# :label: norms-gram
# Write `length(c, gram)`: the school length of the vector with coordinates `c` in a basis whose Gram matrix is `gram`.
# ```

# %%
def length(c, gram):
    raise NotImplementedError('your turn')

# %%
def by_triangular_basis(c, gram):  # another basis with the same Gram matrix: the transposed Cholesky factor
    return np.linalg.norm(np.linalg.cholesky(gram).T @ c)

gram = np.array([[5., 0.5], [0.5, 2.5]])
cases = [(np.array([1.5, 1.]), gram), (np.array([1., -2.]), gram), (np.array([1., 2.]), np.eye(2))]
grade(length, by_triangular_basis, cases)

# %% [markdown]
# ```{solution-start} norms-gram
# :class: dropdown
# ```
# The squared length is $\mathbf{c}^\mathsf{T}\mathbf{G}\mathbf{c}$; what is left is the root. The wrong answer that the
# grader rejects adds the squares of the coordinates, as if every basis were orthonormal.

# %% jupyter={"source_hidden": true}
def length_solution(c, gram):
    return np.sqrt(c @ gram @ c)

assert grade(length_solution, by_triangular_basis, cases)
assert not grade(lambda c, gram: np.sqrt(c @ c), by_triangular_basis, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Three rules make a norm
#
# Stretch a vector, and its length stretches with it. A detour is never shorter than the straight way. Only the zero vector
# has no length. Whatever obeys these three rules may be called a length.
#
# ````{prf:definition} Norm
# :label: def-norm
# A *norm* gives each vector $\mathbf{x}$ a number $\|\mathbf{x}\|$ such that for all vectors and all
# $\alpha \in \mathbb{R}$
#
# ```{math}
# :label: dl.norms.homog
# \|\alpha \mathbf{x}\| = |\alpha| \, \|\mathbf{x}\|
# ```
#
# ```{math}
# :label: dl.norms.triangle
# \|\mathbf{x} + \mathbf{y}\| \le \|\mathbf{x}\| + \|\mathbf{y}\|
# ```
#
# ```{math}
# :label: dl.norms.definite
# \|\mathbf{x}\| > 0 \iff \mathbf{x} \ne \mathbf{0}
# ```
# ````
#
# A norm is never negative, for $0 = \|\mathbf{x} - \mathbf{x}\| \le \|\mathbf{x}\| + \|{-\mathbf{x}}\| =
# 2\|\mathbf{x}\|$. The best known one is Pythagoras, applied $n - 1$ times: the part of $\mathbf{x}$ along the first $k$ axes is
# perpendicular to the next axis, so each coordinate adds its square. The second norm is the way of a taxi through streets
# that run north and east:
#
# ```{math}
# :label: dl.norms.l2
# \|\mathbf{x}\|_2 = \sqrt{\sum_{i=1}^n x_i^2}
# ```
#
# ```{math}
# :label: dl.norms.l1
# \|\mathbf{x}\|_1 = \sum_{i=1}^n |x_i|
# ```
#
# Each check below tries a statement on generated vectors. Beside it stands a *control*, the same statement as a careless author
# might have written it, and the check counts only if it rejects its control. The other side of each comparison is computed in
# another way: $\ell_2$ by one hypotenuse after the other, $\ell_1$ as the largest of all sums $\pm x_1 \pm x_2 \pm x_3$.

# %%
holds(
    'dl.norms.l2',
    lambda x: close(np.sqrt((x ** 2).sum()), reduce(math.hypot, x)),
    control=lambda x: close((x ** 2).sum(), reduce(math.hypot, x)),
    x=vectors(4),
)
holds(
    'dl.norms.l1',
    lambda x: close(abs(x).sum(), max(s @ x for s in product([-1, 1], repeat=3))),
    control=lambda x: close(abs(x.sum()), max(s @ x for s in product([-1, 1], repeat=3))),
    x=vectors(3),
)

# %% [markdown]
# Every norm gives a distance $d(\mathbf{x}, \mathbf{y}) = \|\mathbf{x} - \mathbf{y}\|$. The one of $\ell_1$ is called the
# *Manhattan distance*,
#
# ```{math}
# :label: dl.norms.manhattan
# d(\mathbf{x}, \mathbf{y}) = \|\mathbf{x} - \mathbf{y}\|_1 = \sum_{i=1}^n |x_i - y_i|,
# ```
#
# and the name can be tested literally: flood a street map from one crossing, a block per step, and count the steps until the other
# crossing is reached.

# %%
def blocks(start, goal):  # crossings as pairs of integers
    reached, steps = {start}, 0
    while goal not in reached:
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            reached = reached | {(i + dx, j + dy) for i, j in reached}
        steps += 1
    return steps

# %% [markdown]
# Both norms belong to one family, which is what machine learning means by "the norms" most of the time:
#
# ```{math}
# :label: dl.norms.lp
# \|\mathbf{x}\|_p = \Big( \sum_{i=1}^{n} |x_i|^p \Big)^{1/p}, \quad p \ge 1,
# \qquad \|\mathbf{x}\|_\infty = \max_i |x_i|
# ```

# %%
def lp_norm(x, p):  # over the last axis of x
    x = abs(x)
    return x.max(-1) if p == np.inf else (x ** p).sum(-1) ** (1 / p)
