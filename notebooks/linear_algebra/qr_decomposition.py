# ---
# jupyter:
#   book:
#     functions:
#       givens: givens(normal(5, 3))
#       gram_schmidt: gram_schmidt(normal(5, 3))
#       householder: householder(normal(5, 3))
#       least_squares: least_squares(normal(6, 3), normal(6))
#       length: length(normal(4))
#       modified_gram_schmidt: modified_gram_schmidt(normal(5, 3))
#       reflector: reflector(normal(4))
#       triangularize: triangularize(normal(5, 3))
#     main: qr-gram-schmidt
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # QR decomposition
#
# We fit 65 weights to the records of 442 patients, on a processor that computes with seven digits. One textbook method gets
# the sign of many weights wrong, and another gets all of them right. Both are exact on paper. The second method first
# replaces the columns of the data by perpendicular ones. How is this done, and why does it save the digits?
#
# - **You need** [projections](../linear_algebra/dot_products.ipynb),
#   [volumes](../linear_algebra/determinants.ipynb), and [triangular systems](../linear_algebra/lu_decomposition.ipynb).
# - **You build** Gram–Schmidt in two versions, Householder reflections, Givens rotations, and a solver for least
#   squares that keeps its digits.
# - **Runs in** 5 seconds, in float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from itertools import combinations_with_replacement

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
from numpy.linalg import cond, det, lstsq, norm
from scipy.linalg import solve_triangular

from nbutils.cases import integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import below, between, close, grade, holds, verify
from nbutils.data import diabetes
from nbutils.figures import GREY, label_lines, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## The Gram–Schmidt process: orthonormal columns, one after another
#
# Take the two columns $\mathbf{a}_1 = (1, 2, 2)$ and $\mathbf{a}_2 = (3, 0, 3)$. We look for two perpendicular vectors of
# length 1 that span the same plane. The first is easy: divide $\mathbf{a}_1$ by its length. For the second, subtract from
# $\mathbf{a}_2$ its projection onto the first, and divide what is left by its length:

# %%
a1, a2 = np.array([1.0, 2.0, 2.0]), np.array([3.0, 0.0, 3.0])
q1 = a1 / norm(a1)
v2 = a2 - (q1 @ a2) * q1
q2 = v2 / norm(v2)
print('lengths:', norm(a1), 'and', norm(v2).round(3),
      '  projection:', (q1 @ a2).round(3))
print('3 q1 =', (3 * q1).round(3), '  3 q2 =', (3 * q2).round(3))
print('q1 · q2 =', (q1 @ q2).round(12) + 0.0)

# %% mystnb={"image": {"alt": "Left: two arrows a1 and a2 that are not perpendicular; a dotted line leads from the tip of a2 straight down to its projection on a1, and the remainder v2 is perpendicular to a1. Right: the two perpendicular arrows q1 and q2 of length 1 on a circle."}} tags=["hide-input"]
def arrow(ax, end, colour, name, at, start=(0, 0)):
    ax.annotate('', end, start, arrowprops=dict(arrowstyle='-|>', color=colour, lw=1.8, shrinkA=0, shrinkB=0))
    ax.text(*at, name, color=colour, ha='center', va='center')

u, w = np.array([2.2, 0.5]), np.array([1.5, 1.7])
shadow_end = u * (u @ w) / (u @ u)
fig, (left, right) = panels(2, height=2.5)
left.plot(*np.stack([w, shadow_end], 1), ':', color=GREY)
arrow(left, u, 'C0', 'a₁', u + [0.18, 0])
arrow(left, w, 'C1', 'a₂', w + [0.15, 0.12])
arrow(left, w - shadow_end, 'C2', 'v₂', (w - shadow_end) + [-0.2, 0.1])
left.text(*(shadow_end + [0.1, -0.25]), 'projection', color=GREY, ha='center')
left.set(aspect='equal', xlim=(-0.8, 2.7), ylim=(-0.4, 2.1))
t = np.linspace(0, 2 * np.pi, 100)
right.plot(np.cos(t), np.sin(t), color=GREY, lw=0.8)
arrow(right, u / norm(u), 'C0', 'q₁', 1.22 * u / norm(u))
arrow(right, (w - shadow_end) / norm(w - shadow_end), 'C2', 'q₂', 1.22 * (w - shadow_end) / norm(w - shadow_end))
right.set(aspect='equal', xlim=(-1.9, 1.9), ylim=(-1.2, 1.5))
for ax in (left, right):
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False);

# %% [markdown] tags=["caption"]
# What is left of $\mathbf{a}_2$ without its projection onto $\mathbf{a}_1$ is perpendicular to $\mathbf{a}_1$ (left). Divided
# by their lengths, the two are orthonormal (right).

# %% [markdown]
# Vectors of length 1 that are perpendicular to each other are called **orthonormal**. With more columns we continue in the same
# way: from $\mathbf{a}_j$ we subtract its projections onto all $\mathbf{q}_i$ found so far. This is the **Gram–Schmidt process**:
#
# ```{math}
# :label: qr-gram-schmidt
# \begin{aligned}
# r_{ij} &= \mathbf{q}_i \cdot \mathbf{a}_j \quad (i < j), &
# \mathbf{v}_j &= \mathbf{a}_j - \sum_{i<j} r_{ij}\, \mathbf{q}_i, \\
# r_{jj} &= \|\mathbf{v}_j\|, & \mathbf{q}_j &= \mathbf{v}_j / r_{jj} .
# \end{aligned}
# ```
#
# It works as long as no $\mathbf{a}_j$ lies in the span of the columns before it, because then $\mathbf{v}_j \ne
# \mathbf{0}$. In the code, the dot products are written as sums of products. (The sums are always added in the same order,
# so that your rounding errors, which we study below, are those on this page.)

# %%
def length(x):
    return np.sqrt((x * x).sum())

def gram_schmidt(A):
    """Q (m, n) and R (n, n) with A = Q R, for independent columns."""
    Q, R = np.zeros_like(A), np.zeros_like(A[:A.shape[1]])
    for j in range(A.shape[1]):
        R[:j, j] = (Q[:, :j] * A[:, [j]]).sum(axis=0)  # q_i · a_j
        v = A[:, j] - (Q[:, :j] * R[:j, j]).sum(axis=1)
        R[j, j] = length(v)
        Q[:, j] = v / R[j, j]
    return Q, R

# %%
A = np.column_stack([a1, a2])
Q, R = gram_schmidt(A)
print('3 Q =\n', (3 * Q).round(3) + 0.0)
print('R =\n', R.round(3))
print('Q R =\n', (Q @ R).round(3) + 0.0)

# %% [markdown]
# Why is $\mathbf{Q}\mathbf{R}$ the matrix $\mathbf{A}$ again? Solve {eq}`qr-gram-schmidt` for the column:
# $\mathbf{a}_j = \sum_{i \le j} r_{ij}\, \mathbf{q}_i$. Column $j$ needs only the first $j$ columns of
# $\mathbf{Q}$, so $\mathbf{R}$ is upper triangular:
#
# ```{math}
# :label: la.qr.thin
# \mathbf{A}_{m \times n} = \mathbf{Q}_{m \times n} \mathbf{R}_{n \times n}, \qquad r_{ij} = 0 \quad (i > j)
# ```
#
# This is the **QR decomposition**. Entry $i, j$ of $\mathbf{Q}^\top\mathbf{Q}$ is $\mathbf{q}_i \cdot \mathbf{q}_j$, so
# orthonormal columns mean
#
# ```{math}
# :label: la.qr.orthonormal
# \mathbf{Q}^\top\mathbf{Q} = \mathbf{I}_n
# ```
#
# If $\mathbf{Q}$ is square, it is called an **orthogonal matrix**, and its transpose is its inverse.
#
# :::{admonition} A tempting mistake
# :class: tip
# For $m > n$ the other product, $\mathbf{Q}\mathbf{Q}^\top$, is *not* $\mathbf{I}_m$. In our example its trace is 2 and not 3. It maps each $\mathbf{b}$ to
# $\sum_j \mathbf{q}_j (\mathbf{q}_j \cdot \mathbf{b})$, the projection onto the space of the columns.
# :::

# %%
print('Q^T Q =\n', (Q.T @ Q).round(3) + 0.0)
print('9 Q Q^T =\n', (9 * Q @ Q.T).round(3))

# %% [markdown]
# ```{prf:theorem} One and only one
# :label: thm-qr-unique
# If the columns of $\mathbf{A}$ are independent, there is exactly one $\mathbf{Q}$ with orthonormal columns and exactly
# one upper triangular $\mathbf{R}$ with a positive diagonal such that $\mathbf{A} = \mathbf{Q}\mathbf{R}$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Gram–Schmidt produces such a pair. Conversely, let $\mathbf{A} = \mathbf{Q}\mathbf{R}$ be any such pair, and read its
# column $j$ as $r_{jj}\mathbf{q}_j = \mathbf{a}_j - \sum_{i<j} r_{ij}\mathbf{q}_i$. The dot product with $\mathbf{q}_i$,
# $i < j$, gives $r_{ij} = \mathbf{q}_i \cdot \mathbf{a}_j$. So once $\mathbf{q}_1, \dots, \mathbf{q}_{j-1}$ are known, the
# right side is known; $r_{jj} > 0$ must be its length and $\mathbf{q}_j$ its direction. By induction there was no choice
# anywhere.
# ```
#
# Without the condition on the diagonal, $\mathbf{q}_j$ and row $j$ of $\mathbf{R}$ may change their signs together. Libraries
# do not care about these signs:

# %%
Q_library, R_library = np.linalg.qr(A)
print(R_library.round(3))

# %% [markdown]
# ### The diagonal of R: heights and volumes
#
# The entry $r_{jj}$ is the distance of $\mathbf{a}_j$ from the span of the columns before it. We may call it a height, because
# the area of a parallelogram is its base times its height. For more columns, the volume of the box that they span is
# $r_{11} r_{22} \cdots r_{nn}$. In our example the area is $3 \cdot 3 = 9$, although the matrix is not square and has no determinant.
# We can also compute the volume without $\mathbf{Q}$, from the dot products of the columns. The matrix $\mathbf{A}^\top\mathbf{A}$
# of these dot products is the Gram matrix. Insert the decomposition:
#
# ```{math}
# :label: la.qr.gram-1
# \mathbf{A}^\top\mathbf{A} = (\mathbf{Q}\mathbf{R})^\top(\mathbf{Q}\mathbf{R})
# ```
#
# ```{math}
# :label: la.qr.gram-2
# (\mathbf{Q}\mathbf{R})^\top(\mathbf{Q}\mathbf{R}) = \mathbf{R}^\top\mathbf{Q}^\top\mathbf{Q}\mathbf{R}
# ```
#
# ```{math}
# :label: la.qr.gram-3
# \mathbf{R}^\top\mathbf{Q}^\top\mathbf{Q}\mathbf{R} = \mathbf{R}^\top\mathbf{R}
# ```
#
# So with a positive diagonal, $\mathbf{R}^\top$ is the Cholesky factor of the Gram matrix.
# The determinants of square matrices multiply, and transposing does not change them:
#
# ```{math}
# :label: la.qr.gram-det-1
# \det \mathbf{A}^\top\mathbf{A} = \det \mathbf{R}^\top\mathbf{R}
# ```
#
# ```{math}
# :label: la.qr.gram-det-2
# \det \mathbf{R}^\top\mathbf{R} = \det \mathbf{R}^\top \det \mathbf{R}
# ```
#
# ```{math}
# :label: la.qr.gram-det-3
# \det \mathbf{R}^\top \det \mathbf{R} = (\det \mathbf{R})^2 = (r_{11} r_{22} \cdots r_{nn})^2
# ```

# %%
print('Gram matrix:\n', A.T @ A)
print('root of its determinant:', np.sqrt(det(A.T @ A)).round(6))
print('|a1 x a2|:', norm(np.cross(a1, a2)))

# %% [markdown]
# No height exceeds the length of its column. So the volume is at most the product of the lengths,
# $\prod_j \|\mathbf{a}_j\|$, which is **Hadamard's inequality**. Here 9 is less than $3 \cdot \sqrt{18} \approx 12.7$.
#
# ```{exercise} ★ Program: how far from the others?
# :label: qr-distance
# Write `distance(A, j)`: how far column `j` of `A` is from the span of all *other* columns. If it is tiny, the column says
# nothing new.
# ```

# %%
def distance(A, j):
    """The distance of A[:, j] from the span of the other columns: a float.

    A: (m, n), 1 <= n <= m, with independent columns; 0 <= j < n.
    distance(np.array([[3.0, 0.0], [4.0, 1.0]]), 0) is 3.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def through_fit(A, j):
    others = np.delete(A, j, axis=1)
    return norm(others @ lstsq(others, A[:, j])[0] - A[:, j]) if others.size else norm(A[:, j])

def well_spread(A):
    return np.linalg.matrix_rank(A) == A.shape[1] and cond(A) < 1e4

sizes = integers(1, 4).flatmap(lambda n: matrices((n, 6), n, -4, 4, edges=True)).filter(well_spread)
cases = dict(A=sizes, j=lambda A: integers(0, A.shape[1] - 1))
grade(distance, through_fit, **cases)

# %% [markdown]
# ```{solution-start} qr-distance
# :class: dropdown
# ```
# Only for the last column are "the others" the same as "the ones before". So put the column last. The last diagonal entry
# of $\mathbf{R}$ is its height above all the others, up to the sign. Of the wrong answers, the first does not move the column, the
# second keeps the sign that the library happens to choose, and the third measures the distance from the nearest single column.

# %% jupyter={"source_hidden": true}
def distance_solution(A, j):
    last = np.column_stack([np.delete(A, j, axis=1), A[:, j]])
    return abs(np.linalg.qr(last, 'r')[-1, -1])

def unmoved(A, j):
    return abs(np.linalg.qr(A, 'r')[j, j])

def with_its_sign(A, j):
    last = np.column_stack([np.delete(A, j, axis=1), A[:, j]])
    return np.linalg.qr(last, 'r')[-1, -1]

def from_single_columns(A, j):
    parts = [norm(A[:, j] - (b @ A[:, j]) / (b @ b) * b) for b in np.delete(A, j, axis=1).T]
    return min(parts, default=norm(A[:, j]))

assert grade(distance_solution, through_fit, **cases)
assert not grade(unmoved, through_fit, **cases)
assert not grade(with_its_sign, through_fit, **cases)
assert not grade(from_single_columns, through_fit, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def with_signs(A):  # numpy's, with the signs of the theorem
    q, r = np.linalg.qr(A)
    sign = np.where(np.diag(r) < 0, -1, 1)
    return q * sign, r * sign[:, None]

def tall_matrices(m, n, rank):  # integers, of that rank
    def draw(seed):
        rng = np.random.default_rng(seed)
        a = rng.integers(-3, 4, (m, rank)) @ rng.integers(-3, 4, (rank, n))
        return a.astype(float)

    def good(a):
        return np.linalg.matrix_rank(a) == rank

    return seeds().map(draw).filter(good)

def is_a_factorization(a, q, r):
    return close(q @ r, a) and close(np.tril(r, -1), 0 * r)

def agrees(a):  # an algorithm and a library: one and only one
    (q1, r1), (q, r) = gram_schmidt(a), with_signs(a)
    return close(q1, q) and close(r1, r) and is_a_factorization(a, q1, r1)

holds(
    'la.qr.thin',
    agrees,
    slip=(
        'transposes R',
        lambda a: is_a_factorization(a, gram_schmidt(a)[0], gram_schmidt(a)[1].T),
    ),
    a=tall_matrices(5, 3, rank=3),
    tries=100,
)

def shadow(a):  # on the columns, without any Q: least squares
    return a @ np.linalg.lstsq(a, np.eye(len(a)))[0]

def corrected(a):
    q, _ = gram_schmidt(a)
    return close(q.T @ q, np.eye(3)) and close(q @ q.T, shadow(a))

holds(
    'la.qr.orthonormal',
    corrected,
    slip=(
        'says the same of the other product',
        lambda a: close(gram_schmidt(a)[0] @ gram_schmidt(a)[0].T, np.eye(5)),
    ),
    a=tall_matrices(5, 3, rank=3),
    tries=100,
)
assert close(np.trace(Q @ Q.T), 2) and close(3 * q2, [2, -2, 1]) and close(R, [[3, 3], [0, 3]])

# %% tags=["checks"]
def given_qr(check):  # a check of a, q and r as a check of a
    return lambda a: check(a, *gram_schmidt(a))

square, tall = tall_matrices(3, 3, rank=3), tall_matrices(5, 3, rank=3)
holds(
    'la.qr.gram-1',
    given_qr(lambda a, q, r: close(a.T @ a, (q @ r).T @ (q @ r))),
    slip=(
        'puts the transpose behind',
        given_qr(lambda a, q, r: close(a.T @ a, (q @ r) @ (q @ r).T)),
    ),
    a=square,
    tries=60,
)
holds(
    'la.qr.gram-2',
    given_qr(lambda a, q, r: close((q @ r).T @ q @ r, r.T @ q.T @ q @ r)),
    slip=(
        'keeps the order when it transposes',
        given_qr(lambda a, q, r: close((q @ r).T @ q @ r, q.T @ r.T @ q @ r)),
    ),
    a=square,
    tries=60,
)
holds(
    'la.qr.gram-3',
    given_qr(
        lambda a, q, r: (
            close(r.T @ q.T @ q @ r, r.T @ r)
            and close(np.linalg.cholesky(a.T @ a), r.T)
        )
    ),
    slip=(
        'puts R before its transpose',
        given_qr(lambda a, q, r: close(r.T @ q.T @ q @ r, r @ r.T)),
    ),
    a=tall,
    tries=60,
)

# %% tags=["checks"]
holds(
    'la.qr.gram-det-1',
    given_qr(lambda a, q, r: close(det(a.T @ a), det(r.T @ r))),
    slip=(
        'exchanges A and its transpose',
        given_qr(lambda a, q, r: close(det(a @ a.T), det(r.T @ r))),
    ),
    a=tall,
    tries=60,
)
holds(
    'la.qr.gram-det-2',
    given_qr(lambda a, q, r: close(det(r.T @ r), det(r.T) * det(r))),
    slip=(
        'takes only the first of the minors',
        given_qr(
            lambda a, q, r: close(det(a.T @ a), det(a[:3].T) * det(a[:3]))
        ),
    ),
    a=tall,
    tries=60,
)
holds(
    'la.qr.gram-det-3',
    given_qr(lambda a, q, r: close(det(r.T) * det(r), np.diag(r).prod() ** 2)),
    slip=(
        'forgets the square',
        given_qr(lambda a, q, r: close(det(r.T) * det(r), np.diag(r).prod())),
    ),
    a=tall,
    tries=60,
)

def area_is(seed, area):
    a = np.random.default_rng(seed).normal(size=(3, 2))
    return close(area(a), norm(np.cross(*a.T)))

verify('the product of the heights is the area, and at most the product of the lengths',
       lambda seed: area_is(seed, lambda a: min(np.diag(gram_schmidt(a)[1]).prod(), norm(a, axis=0).prod())),
       slip=('multiplies the lengths', lambda seed: area_is(seed, lambda a: norm(a, axis=0).prod())), seed=seeds())

# %% [markdown]
# ## Householder reflections and Givens rotations
#
# Gram–Schmidt changes the columns of $\mathbf{A}$ until they are orthonormal. We can also go the other way: apply
# orthogonal matrices to $\mathbf{A}$ until it is triangular {cite}`trefethen1997numerical`. The advantage is that reflections and rotations keep
# all lengths, those of rounding errors included, so no error is magnified. The column $\mathbf{x} = (3, 4)$, of
# length 5, shows what we want: a reflection, or a rotation, that moves it onto the first axis.
#
# ### Householder: a reflection clears a column
#
# The reflection in the plane perpendicular to a unit vector $\mathbf{v}$ reverses the part of $\mathbf{x}$
# along $\mathbf{v}$ {cite}`householder1958unitary`. So we subtract this part twice:
#
# ```{math}
# :label: qr-mirror
# \begin{gathered} \mathbf{H}\mathbf{x} = \mathbf{x} - 2\mathbf{v}(\mathbf{v} \cdot \mathbf{x}), \qquad \mathbf{H} =
# \mathbf{I} - 2\mathbf{v}\mathbf{v}^\top = \mathbf{H}^\top, \\ \mathbf{H}^2 = \mathbf{I} - 4\mathbf{v}\mathbf{v}^\top +
# 4\mathbf{v}(\mathbf{v}^\top\mathbf{v})\mathbf{v}^\top = \mathbf{I} . \end{gathered}
# ```
#
# Hence $\mathbf{H}^\top\mathbf{H} = \mathbf{I}$. Which reflection sends a given $\mathbf{x}$ to
# $\mathbf{y} = (\pm\|\mathbf{x}\|, 0, \dots, 0)$? The mirror must stand halfway between the two, so $\mathbf{v}$ has the direction of
# $\mathbf{x} - \mathbf{y}$. Since $\mathbf{x}$ and $\mathbf{y}$ are equally long, $\|\mathbf{x} - \mathbf{y}\|^2 =
# 2(\mathbf{x} - \mathbf{y})\cdot\mathbf{x}$, hence
#
# ```{math}
# :label: qr-mirror-choice
# \mathbf{H}\mathbf{x} = \mathbf{x} - 2\,\frac{(\mathbf{x} - \mathbf{y})\cdot\mathbf{x}}{\|\mathbf{x} -
# \mathbf{y}\|^2}\,(\mathbf{x} - \mathbf{y}) = \mathbf{x} - (\mathbf{x} - \mathbf{y}) = \mathbf{y} .
# ```
#
# Both signs are possible. We choose the one opposite to $x_1$, because then $x_1 - y_1$ adds two numbers of equal sign and no digits cancel.

# %%
def reflector(x):  # the unit normal v of the mirror
    v = x.copy()
    v[0] += np.copysign(norm(x), x[0])
    return v / (norm(v) or 1)

x = np.array([3.0, 4.0])
v = reflector(x)
print('v =', v.round(3), '  Hx =', (x - 2 * v * (v @ x)).round(3) + 0.0)

# %% [markdown]
# The first reflection clears column 1 below its top entry. The second acts on rows $2$ to $m$ and clears column 2 below the
# diagonal, while row 1 stays. After $n$ reflections
#
# ```{math}
# :label: qr-full
# \mathbf{H}_n \cdots \mathbf{H}_2 \mathbf{H}_1 \mathbf{A} = \begin{bmatrix} \mathbf{R} \\ \mathbf{0} \end{bmatrix}, \qquad
# \mathbf{A} = \mathbf{H}_1 \mathbf{H}_2 \cdots \mathbf{H}_n \begin{bmatrix} \mathbf{R} \\ \mathbf{0} \end{bmatrix} .
# ```
#
# The product of the reflections is an orthogonal $m \times m$ matrix. Its first $n$ columns are the $\mathbf{Q}$ of
# {eq}`la.qr.thin`. We never form a reflection as a matrix, because {eq}`qr-mirror` needs only a dot product and a subtraction for each
# column.

# %%
def triangularize(A):
    """The normals of the reflections, and the result (m, n)."""
    R, normals = A.copy(), []
    for j in range(min(len(A) - 1, A.shape[1])):
        v = reflector(R[j:, j])
        R[j:, j:] -= 2 * np.outer(v, v @ R[j:, j:])
        normals.append(v)
    return normals, np.triu(R)

def householder(A):
    normals, R = triangularize(A)
    Q = np.eye(*A.shape, dtype=A.dtype)
    for v in reversed(normals):
        Q[-len(v):] -= 2 * np.outer(v, v @ Q[-len(v):])
    return Q, R[:A.shape[1]]

# %% [markdown]
# ### Givens: a rotation clears an entry
#
# A rotation in the plane of two rows makes a single entry zero {cite}`givens1958computation`. With $c = x / h$, $s = y / h$ and
# $h = \sqrt{x^2 + y^2}$,
#
# ```{math}
# :label: qr-turn
# \begin{bmatrix} c & s \\ -s & c \end{bmatrix} \begin{bmatrix} x \\ y \end{bmatrix} = \begin{bmatrix} h \\ 0 \end{bmatrix} .
# ```
#
# We clear column after column from the bottom. For a full matrix this takes half as many operations again as reflections. But if most
# entries below the diagonal are zero already, only the others cost anything.

# %%
def givens(A):
    (m, n), R, Q = A.shape, A.copy(), np.eye(len(A), dtype=A.dtype)
    for j in range(n):
        for i in range(m - 1, j, -1):
            x, y = R[i - 1, j], R[i, j]
            h = np.hypot(x, y)
            if h > 0:
                G = np.array([[x, y], [-y, x]]) / h
                R[[i - 1, i]] = G @ R[[i - 1, i]]
                Q[[i - 1, i]] = G @ Q[[i - 1, i]]
    return Q[:n].T, np.triu(R[:n])

# %%
for method in (gram_schmidt, householder, givens):
    _, R = method(A)
    print(f'{method.__name__:13}', R.round(3).tolist())

# %% mystnb={"image": {"alt": "Two rows of five small heat maps of a matrix with 7 rows and 4 columns. Top: four reflections clear one column each below the diagonal. Bottom: rotations clear one entry after the other, from the bottom of each column upwards."}} tags=["hide-input"]
a = np.random.default_rng(1).normal(size=(7, 4))
mirrored, turned = [a], [a]
for j in range(4):
    step, normal = mirrored[-1].copy(), reflector(mirrored[-1][j:, j])
    step[j:, j:] -= 2 * np.outer(normal, normal @ step[j:, j:])
    mirrored.append(step)
for j in range(4):
    for i in range(6, j, -1):
        step = turned[-1].copy()
        c, s = step[i - 1:i + 1, j] / norm(step[i - 1:i + 1, j])
        step[[i - 1, i]] = np.array([[c, s], [-s, c]]) @ step[[i - 1, i]]
        turned.append(step)
fig, axes = panels(5, 2, height=1.75)
for row, steps, shown, name in (
    (axes[0], mirrored, (0, 1, 2, 3, 4), 'reflections'),
    (axes[1], turned, (0, 1, 4, 9, 18), 'rotations'),
):
    for ax, k in zip(row, shown, strict=True):
        full = np.where(abs(steps[k]) > 1e-9, abs(steps[k]), np.nan)
        title = f'{k} {name if k != 1 else name[:-1]}'
        show_image(ax, full, title, cmap='viridis', vmin=0, vmax=4)

# %% [markdown] tags=["caption"]
# A reflection clears a whole column below the diagonal, and a rotation clears a single entry. For a $7 \times 4$ matrix, four
# reflections do the work of 18 rotations. Empty places are zeros.

# %% [markdown]
# Gram–Schmidt divides by $r_{jj}$, which is zero if a column depends on those before it. Reflections and rotations never
# divide by it. For all $m \ge n$,
#
# ```{math}
# :label: la.qr.methods
# \mathbf{A} = \mathbf{Q}\mathbf{R} \text{ by } \begin{cases}
# \text{Householder or Givens} & \text{for every } \mathbf{A}, \\
# \text{Gram–Schmidt} & \text{for independent columns.} \end{cases}
# ```
#
# ### Loss of orthogonality in floating point
#
# On paper all methods agree. A computer rounds each result, with a relative error of up to $\varepsilon \approx 10^{-16}$. How perpendicular
# are the columns then? Läuchli's three columns are nearly parallel {cite}`lauchli1961jordan`:

# %%
lauchli = np.vstack([np.ones(3), 1e-9 * np.eye(3)])
Q, _ = gram_schmidt(lauchli)
print(lauchli)
degrees = np.degrees(np.arccos(Q[:, 1] @ Q[:, 2]))
print(f'q2 and q3 meet at {degrees:.0f} degrees')

# %% [markdown]
# The second and the third column should be perpendicular, but they meet at 60 degrees. What happened? The first two columns of
# $\mathbf{Q}$ are not exactly perpendicular, because of rounding. When we subtract from $\mathbf{a}_3$ its projections onto both, we subtract a small part twice.
#
# **Modified Gram–Schmidt** (MGS) changes only the order of the steps. As soon as $\mathbf{q}_j$ is known, it subtracts the projection onto it
# from *all* later columns. Each coefficient is then measured on what is left of the column, so earlier errors are
# noticed. On paper the result is the same.

# %%
def modified_gram_schmidt(A):
    Q, R = A.copy(), np.zeros_like(A[:A.shape[1]])
    for j in range(A.shape[1]):
        R[j, j] = length(Q[:, j])
        Q[:, j] /= R[j, j]
        R[j, j + 1:] = (Q[:, [j]] * Q[:, j + 1:]).sum(axis=0)
        Q[:, j + 1:] -= Q[:, [j]] * R[j, j + 1:]
    return Q, R

Q, _ = modified_gram_schmidt(lauchli)
degrees = np.degrees(np.arccos(Q[:, 1] @ Q[:, 2]))
print(f'q2 and q3 meet at {degrees:.0f} degrees')

# %% [markdown]
# How bad it gets depends on the condition number $\kappa = \sigma_1 / \sigma_n$, the
# largest factor by which $\mathbf{A}$ stretches a vector over the smallest. We take columns that differ from each other by random numbers of size $\delta$. The smaller $\delta$ is, the
# larger is $\kappa$:

# %%
def nearly_parallel(delta, seed, m=20, n=9):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, 1)) + delta * rng.normal(size=(m, n))

def loss(Q):  # ‖QᵀQ - I‖
    gram = (Q[:, :, None] * Q[:, None]).sum(axis=0)
    return length(gram - np.eye(len(gram)))

# %%
deltas = 10.0 ** -np.arange(0, 12)
methods = (gram_schmidt, modified_gram_schmidt, householder, givens)
kappas, losses = np.zeros((12, 20)), np.zeros((4, 12, 20))
for i, delta in enumerate(deltas):
    for seed in range(20):
        a = nearly_parallel(delta, seed)
        kappas[i, seed] = cond(a)
        losses[:, i, seed] = [loss(method(a)[0]) for method in methods]

# %%
typical = np.log10(losses).mean(axis=2)  # (4, 12)
steps = np.log10(kappas).mean(axis=1)
for k, name, upto in ((0, 'classical', 7), (1, 'modified', 12)):
    power = np.polyfit(steps[1:upto], typical[k, 1:upto], 1)[0]
    print(f'{name} Gram-Schmidt: loss grows like kappa^{power:.1f}')
print('reflections and rotations: loss', below(losses[2:].max(), 1e-14))

# %% mystnb={"image": {"alt": "Loss of orthogonality against condition number, both logarithmic. Classical Gram-Schmidt climbs along a line of slope two until the loss is about one; modified Gram-Schmidt climbs with slope one; a grey band near 10 to the minus 15 is marked reflections and rotations."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.2))
eps, across = np.finfo(float).eps, 10**steps
ax.loglog(across, 10 ** typical[0], 'o-', ms=3, label='classical')
ax.loglog(across, 10 ** typical[1], 'o-', ms=3, label='modified')
ax.loglog(across[:8], eps * across[:8] ** 2, ':', color=GREY)
ax.loglog(across, eps * across, ':', color=GREY)
ax.axhspan(1e-16, 1e-14, color='C2', alpha=0.25, lw=0)
ax.text(1e8, 1e-15, 'reflections and rotations', color='C2', va='center', ha='center')
ax.text(1e6, 1e-2, 'ε κ²', ha='right')
ax.text(1e10, 2e-8, 'ε κ')
ax.set(xlabel='condition number κ', ylabel='‖QᵀQ − I‖', ylim=(1e-17, 30))
label_lines(ax)

# %% [markdown] tags=["caption"]
# Rounding spoils right angles in proportion to $\varepsilon\kappa^2$ in classical Gram–Schmidt and to $\varepsilon\kappa$ in
# the modified process. Reflections and rotations keep them at every $\kappa$.

# %% [markdown]
# Beyond $\kappa = 1/\sqrt\varepsilon$, the columns of the classical process can be anything, and no warning is given. The proofs of these
# rates are in {cite}`higham2002accuracy` and {cite}`smoktunowicz2006note`; the idea is short.
#
# ````{admonition} Why κ² for classical and κ for modified Gram–Schmidt
# :class: dropdown
# The heights are not too small, because
#
# ```{math}
# :label: qr-height
# r_{jj} = \min_{\mathbf{c}} \Big\| \mathbf{a}_j - \sum_{i<j} c_i \mathbf{a}_i \Big\| \ge \min_{\|\mathbf{x}\| \ge 1}
# \|\mathbf{A}\mathbf{x}\| = \sigma_n .
# ```
#
# (The middle is $\|\mathbf{A}\mathbf{x}\|$ for an $\mathbf{x}$ with a 1 in place $j$.) *The second column.* The vector
# $\mathbf{v}_2 = \mathbf{a}_2 - r_{12}\mathbf{q}_1$ comes out with an error of about
# $\varepsilon\|\mathbf{a}_2\|$, some of it along $\mathbf{q}_1$. The division by $r_{22}$ magnifies it, so that
# $\delta = \mathbf{q}_1 \cdot \mathbf{q}_2 \approx \varepsilon\|\mathbf{a}_2\| / r_{22}$, up to
# $\varepsilon\kappa$. Both versions do the same here.
#
# *The third column.* From here on let us calculate exactly. The classical version takes both coefficients from
# $\mathbf{a}_3$ itself. Its $r_{23} = \mathbf{q}_2 \cdot \mathbf{a}_3$ contains a part that belongs to $\mathbf{q}_1$ and
# is subtracted a second time:
#
# ```{math}
# :label: qr-classical
# \begin{aligned} \mathbf{q}_2 \cdot \mathbf{v}_3 &= \mathbf{q}_2 \cdot \mathbf{a}_3 - r_{13}\, \mathbf{q}_2 \cdot
# \mathbf{q}_1 - r_{23} = -\delta\, r_{13}, \\
# |\mathbf{q}_2 \cdot \mathbf{q}_3| &\approx \varepsilon\, \frac{\|\mathbf{a}_2\|\, |r_{13}|}{r_{22}\, r_{33}} .
# \end{aligned}
# ```
#
# Two small denominators make up to $\varepsilon\kappa^2$. The modified version measures
# $r_{23} = \mathbf{q}_2 \cdot (\mathbf{a}_3 - r_{13}\mathbf{q}_1)$ after the first projection is gone. Now
# $\mathbf{q}_2 \cdot \mathbf{v}_3 = 0$, and what suffers is
#
# ```{math}
# :label: qr-modified
# \begin{aligned} \mathbf{q}_1 \cdot \mathbf{v}_3 &= \mathbf{q}_1 \cdot \mathbf{a}_3 - r_{13} - r_{23}\, \mathbf{q}_1
# \cdot \mathbf{q}_2 = -\delta\, r_{23}, \\
# |\mathbf{q}_1 \cdot \mathbf{q}_3| &\approx \varepsilon\, \|\mathbf{a}_2\|\, \frac{|r_{23}|}{r_{22}\, r_{33}} .
# \end{aligned}
# ```
#
# The fraction is, up to its sign, entry $2, 3$ of $\mathbf{R}^{-1}$, and no entry exceeds
# $\|\mathbf{R}^{-1}\| = 1/\sigma_n$. So the loss is at most about $\varepsilon\kappa$.
# ````
#
# ```{exercise} ★★ Program: one more row
# :label: qr-append
# A table $\mathbf{A}$ with a million rows has been reduced to its $n \times n$ factor $\mathbf{R}$, with a positive
# diagonal, and thrown away. Now one more row arrives. Show that $n$ rotations suffice to bring
# $\mathbf{R}$ up to date, and write `append(R, row)` without a library function for QR or Cholesky factors.
# ```

# %%
def append(R, row):
    """The factor of the table with one more row: (n, n), (n,) -> (n, n).

    R is upper triangular with a positive diagonal, and so is the result.
    n >= 1. append(np.array([[3.0]]), np.array([4.0])) is array([[5.]]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def from_the_longer_table(R, row):
    upper = np.linalg.qr(np.vstack([R, row]), 'r')
    return upper * np.where(np.diag(upper) < 0, -1, 1)[:, None]

def factor(A):
    return np.triu(A, 1) + np.diag(abs(np.diag(A)) + 0.1)

old = integers(1, 4).flatmap(lambda n: matrices(n, n, -4, 4, edges=True)).map(factor)
cases = dict(R=on(1.0, 1e-6, 1e6).flatmap(lambda size: old.map(lambda R: size * R)),
             row=lambda R: vectors(len(R), -4, 4, edges=True))
ready = ['numpy.linalg.qr', 'scipy.linalg.qr', 'numpy.linalg.cholesky', 'scipy.linalg.cholesky']
grade(append, from_the_longer_table, without=ready, **cases)

# %% [markdown]
# ```{solution-start} qr-append
# :class: dropdown
# ```
# With $\mathbf{A} = \mathbf{Q}\mathbf{R}$, the longer table is an orthonormal factor times $\mathbf{R}$ with
# the new row beneath, so it is enough to triangularize this small matrix. Rotate row $j$ of $\mathbf{R}$ against the
# new row, so that entry $j$ of the new row becomes zero. Both have only zeros before column $j$, and these stay. Since
# $h > 0$, the diagonal stays positive. Of the wrong answers, the first computes all angles from the row as it arrived, although
# each rotation changes it; the second forms the Gram matrix, which loses half of the digits; the third rotates the wrong way.

# %% jupyter={"source_hidden": true}
def append_solution(R, row):
    rows = np.vstack([R, row])
    for j in range(len(R)):
        x, y = rows[j, j], rows[-1, j]
        G = np.array([[x, y], [-y, x]]) / np.hypot(x, y)
        rows[[j, -1]] = G @ rows[[j, -1]]
    return np.triu(rows[:-1])

def stale_angles(R, row):
    rows = np.vstack([R, row])
    for j in range(len(R)):
        x, y = R[j, j], row[j]
        G = np.array([[x, y], [-y, x]]) / np.hypot(x, y)
        rows[[j, -1]] = G @ rows[[j, -1]]
    return np.triu(rows[:-1])

def by_the_gram_matrix(R, row):
    return np.linalg.cholesky(R.T @ R + np.outer(row, row)).T

def the_wrong_way(R, row):
    rows = np.vstack([R, row])
    for j in range(len(R)):
        x, y = rows[j, j], rows[-1, j]
        G = np.array([[x, -y], [y, x]]) / np.hypot(x, y)
        rows[[j, -1]] = G @ rows[[j, -1]]
    return np.triu(rows[:-1])

assert grade(append_solution, from_the_longer_table, without=ready, **cases)
assert not grade(stale_angles, from_the_longer_table, without=ready, **cases)
assert not grade(by_the_gram_matrix, from_the_longer_table, without=ready, **cases)
assert not grade(the_wrong_way, from_the_longer_table, without=ready, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: three more ways to make a Q
# :label: qr-powers
# Predict the exponent $p$ in the loss $\|\mathbf{Q}^\top\mathbf{Q} - \mathbf{I}\| \approx \varepsilon\kappa^p$ while
# $\varepsilon\kappa^2 < 1$, then measure it on `nearly_parallel` and explain. *Cholesky*: let $\mathbf{R}^\top$ be the Cholesky factor of
# $\mathbf{A}^\top\mathbf{A}$ and $\mathbf{Q} = \mathbf{A}\mathbf{R}^{-1}$. *Cholesky twice*: apply the same to this $\mathbf{Q}$. *Classical
# twice*: apply classical Gram–Schmidt to the $\mathbf{Q}$ of classical Gram–Schmidt.
# ```

# %%
def loss_exponent(way):
    """Your prediction: a number, right if it is off by less than 0.3.

    way: 'cholesky', 'cholesky twice' or 'classical twice'.
    For the ways of this page, 'classical' is 2 and 'modified' is 1.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_cholesky(a):
    return solve_triangular(np.linalg.cholesky(a.T @ a), a.T, lower=True).T

WAYS = {'classical': lambda a: gram_schmidt(a)[0], 'modified': lambda a: modified_gram_schmidt(a)[0],
        'cholesky': by_cholesky, 'cholesky twice': lambda a: by_cholesky(by_cholesky(a)),
        'classical twice': lambda a: gram_schmidt(gram_schmidt(a)[0])[0]}

def exponent_measured(way):
    tried = [[nearly_parallel(delta, seed) for seed in range(5)] for delta in (1e-1, 1e-3, 1e-5)]
    lost = [np.mean([np.log10(loss(WAYS[way](a))) for a in row]) for row in tried]
    return np.polyfit([np.mean([np.log10(cond(a)) for a in row]) for row in tried], lost, 1)[0]

cases = dict(way=['classical', 'modified', 'cholesky', 'cholesky twice', 'classical twice'])
grade(loss_exponent, exponent_measured, atol=0.3, rtol=0, **cases)

# %% [markdown]
# ```{solution-start} qr-powers
# :class: dropdown
# ```
# Forming $\mathbf{A}^\top\mathbf{A}$ rounds away what is smaller than $\varepsilon\sigma_1^2$. Compared with the smallest eigenvalue $\sigma_n^2$
# this is $\varepsilon\kappa^2$, so Cholesky has $p = 2$. But its $\mathbf{Q}$ spans the same space, and as long as
# $\varepsilon\kappa^2 < 1$ its condition number is close to 1. The second pass
# works on this harmless matrix, and $p = 0$. For the same reason, classical Gram–Schmidt applied twice has $p = 0$: "twice is enough"
# {cite}`giraud2005rounding`. Of the wrong answers, the first believes in Cholesky because a triangular solve is accurate, the
# second lets the errors of two passes add up, and the third lets each pass take one power of $\kappa$ off.

# %% jupyter={"source_hidden": true}
def loss_exponent_solution(way):
    return {'classical': 2, 'modified': 1, 'cholesky': 2}.get(way, 0)

def cholesky_trusted(way):
    return 1 if way == 'cholesky' else loss_exponent_solution(way)

def errors_add_up(way):
    return 2 if 'twice' in way else loss_exponent_solution(way)

def one_power_for_a_pass(way):
    return 1 if 'twice' in way else loss_exponent_solution(way)

assert grade(loss_exponent_solution, exponent_measured, atol=0.3, rtol=0, **cases)
assert not grade(cholesky_trusted, exponent_measured, atol=0.3, rtol=0, **cases)
assert not grade(errors_add_up, exponent_measured, atol=0.3, rtol=0, **cases)
assert not grade(one_power_for_a_pass, exponent_measured, atol=0.3, rtol=0, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def sound(method, a):
    with np.errstate(divide='ignore', invalid='ignore'):
        q, r = method(a)
    return is_a_factorization(a, q, r) and close(q.T @ q, np.eye(len(r)))

def independent(a):
    return np.linalg.matrix_rank(a) == a.shape[1]

always, sometimes = (householder, givens), (gram_schmidt, modified_gram_schmidt)
holds(
    'la.qr.methods',
    lambda a: all(
        sound(method, a)
        for method in (always + sometimes if independent(a) else always)
    ),
    slip=(
        'trusts all methods with dependent columns',
        lambda a: all(sound(f, a) for f in always + sometimes),
    ),
    a=tall_matrices(5, 3, rank=3) | tall_matrices(5, 3, rank=2),
    tries=100,
)

def as_numpy(method, seed):
    a = np.random.default_rng(seed).normal(size=(8, 5))
    q, r = method(a)
    sign = np.sign(np.diag(r))
    return close(q * sign, with_signs(a)[0]) and close(r * sign[:, None], with_signs(a)[1])

def subtracts_once(A):  # the part along the normal, which is a projection and no reflection
    R = A.copy()
    for j in range(A.shape[1]):
        v = reflector(R[j:, j])
        R[j:, j:] -= np.outer(v, v @ R[j:, j:])
    return np.eye(*A.shape), np.triu(R[:A.shape[1]])

verify('three more methods give the Q and R of numpy, up to signs',
       lambda k, seed: as_numpy((modified_gram_schmidt, householder, givens)[k], seed),
       slip=('subtracts the part along the normal once', lambda k, seed: as_numpy(subtracts_once, seed)),
       k=[0, 1, 2], seed=seeds(), tries=60)

def onto_the_axis(x, mirror):
    v = mirror(x)
    return close(x - 2 * v * (v @ x), np.eye(len(x))[0] * -np.copysign(norm(x), x[0]))

verify('the reflection sends x onto the first axis, to the side opposite to it',
       lambda x: onto_the_axis(x, reflector),
       slip=('takes the other sign', lambda x: onto_the_axis(x, lambda x: x - np.eye(len(x))[0] * norm(x))),
       x=vectors((1, 4)).filter(lambda x: norm(x) > 0.1))
assert close(Q[:, 1] @ Q[:, 2], 0) and np.polyfit(steps[1:7], typical[0, 1:7], 1)[0] > 1.8
assert 0.8 < np.polyfit(steps[1:], typical[1, 1:], 1)[0] < 1.2 and losses[2:].max() < 1e-14

# %% [markdown]
# ## Least squares by QR
#
# There are $m$ equations for $n < m$ unknowns, the columns of $\mathbf{A}$ are independent, and we want the $\mathbf{x}$ that makes
# $\|\mathbf{A}\mathbf{x} - \mathbf{b}\|$ smallest: the method of **least squares**. For example, a line $x_1 + x_2 t$ is to pass near the
# points $(0, 1)$, $(1, 3)$, $(2, 4)$. The usual way leads through the **normal equations**
# $\mathbf{A}^\top\mathbf{A}\mathbf{x} = \mathbf{A}^\top\mathbf{b}$:

# %%
A = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
b = np.array([1.0, 3.0, 4.0])
print('normal equations:', np.linalg.solve(A.T @ A, A.T @ b).round(3))

# %% [markdown]
# With reflections, there is a more accurate way. Orthogonal matrices keep lengths, so we may apply all reflections to both sides.
# They turn $\mathbf{b}$ into a list $(\mathbf{c}, \mathbf{d})$ of $n$ and $m - n$ entries, and by {eq}`qr-full`
#
# ```{math}
# :label: qr-least-squares
# \|\mathbf{A}\mathbf{x} - \mathbf{b}\|^2 = \left\| \begin{bmatrix} \mathbf{R} \\ \mathbf{0} \end{bmatrix} \mathbf{x} -
# \begin{bmatrix} \mathbf{c} \\ \mathbf{d} \end{bmatrix} \right\|^2 = \|\mathbf{R}\mathbf{x} - \mathbf{c}\|^2 +
# \|\mathbf{d}\|^2 .
# ```
#
# No $\mathbf{x}$ changes $\mathbf{d}$, and the solution of the triangular system $\mathbf{R}\mathbf{x} = \mathbf{c}$ makes the rest zero.
# The smallest residual is $\|\mathbf{d}\|$. To get $\mathbf{c}$ without $\mathbf{Q}$, put $\mathbf{b}$ beside
# $\mathbf{A}$ as one more column. The reflections that clear $\mathbf{A}$ leave $\mathbf{c}$ in it, and one more gathers
# $\pm\|\mathbf{d}\|$ below:

# %%
def least_squares(A, b):
    n = A.shape[1]
    _, R = triangularize(np.column_stack([A, b]))
    return solve_triangular(R[:n, :n], R[:n, n])

# %%
x = least_squares(A, b)
_, R = triangularize(np.column_stack([A, b]))
print('QR:', x.round(3), '  residual:', norm(A @ x - b).round(3),
      '  in R:', abs(R[2, 2]).round(3))

# %% [markdown]
# ### Why the normal equations lose digits
#
# The singular values of $\mathbf{A}^\top\mathbf{A}$ are the squares of those of $\mathbf{A}$, hence
#
# ```{math}
# :label: qr-squared
# \kappa(\mathbf{A}^\top\mathbf{A}) = \frac{\sigma_1^2}{\sigma_n^2} = \kappa(\mathbf{A})^2 .
# ```
#
# For Läuchli's columns, $\mathbf{A}^\top\mathbf{A}$ has $1 + e^2$ with $e = 10^{-9}$ on the diagonal and 1 elsewhere. The computer rounds this to
# nine ones. The stored matrix is singular, though the columns are independent:

# %%
b = lauchli @ np.ones(3)  # so that x = (1, 1, 1)
print('rank of the stored Gram matrix:',
      np.linalg.matrix_rank(lauchli.T @ lauchli))
print('x by QR:', least_squares(lauchli, b).round(3))

# %% [markdown]
# How much can any method promise? The data themselves are rounded. If $\mathbf{A}$ changes by $\varepsilon\|\mathbf{A}\|$, the
# solution $\mathbf{x}$ changes by $\boldsymbol\delta$. With the residual $\mathbf{r} = \mathbf{b} - \mathbf{A}\mathbf{x}$,
#
# ```{math}
# :label: qr-sensitivity
# \begin{gathered} \boldsymbol\delta = (\mathbf{A}^\top\mathbf{A})^{-1}\mathbf{E}^\top\mathbf{r} -
# (\mathbf{A}^\top\mathbf{A})^{-1}\mathbf{A}^\top\mathbf{E}\mathbf{x}, \\ \frac{\|\boldsymbol\delta\|}{\|\mathbf{x}\|}
# \le \varepsilon \left( \kappa^2\, \frac{\|\mathbf{r}\|}{\|\mathbf{A}\|\,\|\mathbf{x}\|} + \kappa \right),
# \end{gathered}
# ```
#
# to first order. (Differentiate the normal equations, and use
# $\|(\mathbf{A}^\top\mathbf{A})^{-1}\| = 1/\sigma_n^2$ and
# $\|(\mathbf{A}^\top\mathbf{A})^{-1}\mathbf{A}^\top\| = 1/\sigma_n$.)
# QR with reflections is **backward stable**: its answer is the
# exact one for data changed by a small multiple of $\varepsilon$ {cite}`higham2002accuracy`. So if the fit is good, it promises an error
# like $\varepsilon\kappa$, where the normal equations have $\varepsilon\kappa^2$. If the residual is large, $\kappa^2$ is in the problem itself. We measure both:

# %%
def problem(kappa, residual, seed, m=20, n=5):  # with |x| = 1
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.normal(size=(m, n + 1)))[0]
    V = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = U[:, :n] @ np.diag(np.geomspace(1, 1 / kappa, n)) @ V.T
    x = reflector(rng.normal(size=n))
    return A, A @ x + residual * U[:, n], x

# %%
def mean_error(solver, kappa, residual):  # as a power of ten
    errors = []
    for seed in range(20):
        A, b, x = problem(kappa, residual, seed)
        errors.append(np.log10(norm(solver(A, b) - x)))
    return np.mean(errors)

def normal_equations(A, b):
    return np.linalg.solve(A.T @ A, A.T @ b)

# %%
powers = np.arange(2, 7)  # of ten: the condition numbers
print('error grows about like kappa^p,   p:  exact fit   residual 1')
for solver in (normal_equations, least_squares):
    p = [np.polyfit(powers, [mean_error(solver, 10.0**k, residual)
                             for k in powers], 1)[0] for residual in (0, 1)]
    print(f'{solver.__name__:38} {round(p[0]):9} {round(p[1]):12}')

# %% [markdown]
# With an exact fit, QR saves half of the lost digits. With a large residual it cannot, and both methods follow $\kappa^2$.

# %% tags=["checks"]
def solves(solver, seed):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(12, 4)), rng.normal(size=12)
    return close(solver(A, b), lstsq(A, b)[0])

def of_first_rows(A, b):
    return np.linalg.solve(A[:A.shape[1]], b[:A.shape[1]])

verify('least squares by reflections are those of numpy', lambda seed: solves(least_squares, seed),
       slip=('solves only as many equations as there are unknowns', lambda seed: solves(of_first_rows, seed)),
       seed=seeds(), tries=60)

def corner_is_residual(seed, place):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(12, 4)), rng.normal(size=12)
    _, R = triangularize(np.column_stack([A, b]))
    return close(abs(R[place, 4]), norm(A @ lstsq(A, b)[0] - b))

verify('the last diagonal entry is the length of the residual', lambda seed: corner_is_residual(seed, 4),
       slip=('reads off the entry above', lambda seed: corner_is_residual(seed, 3)), seed=seeds(), tries=60)
assert (lauchli.T @ lauchli == 1).all() and close(least_squares(lauchli, lauchli @ np.ones(3)), np.ones(3), atol=1e-5)
exponents = [np.polyfit(powers, [mean_error(solver, 10.0**k, r) for k in powers], 1)[0]
             for solver in (normal_equations, least_squares) for r in (0, 1)]
assert close(exponents, [2, 2, 1, 2], atol=0.2)

# %% [markdown]
# ## Where it matters: least squares with ten measurements and all their products
#
# Of 442 patients with diabetes, ten numbers are known (age, sex, body mass index, blood pressure, six blood values), and
# how far the disease had come a year later {cite}`efron2004least`. Perhaps two of the numbers act together. So we take a constant,
# the ten numbers, and all 55 squares and products. These are 66 columns, each scaled to length 1.

# %%
x, y, names = diabetes()
pairs = list(combinations_with_replacement(range(10), 2))
columns = {'1': np.ones(len(x))} | dict(zip(names, x.T, strict=True))
columns |= {f'{names[i]} {names[j]}': x[:, i] * x[:, j] for i, j in pairs}
A = np.column_stack(list(columns.values()))
lengths = norm(A, axis=0)
A = A / lengths  # (442, 66)

# %% [markdown]
# Does each column say something new? A column that does not has the height zero in {eq}`qr-gram-schmidt`. But in which
# order should they come? *Pivoting* puts next, at each step, the column with the longest remainder. Then the heights fall,
# and the rank is where they drop to rounding errors. SciPy does this with one more argument:

# %%
R, order = scipy.linalg.qr(A, mode='r', pivoting=True)
heights = abs(np.diag(R))
print(f'rank {(heights > 1e-12 * heights[0]).sum()} of {len(heights)}')

# %%
relation = np.zeros(66)  # weights with A @ relation = 0
relation[order[:65]] = solve_triangular(R[:65, :65], -R[:65, 65])
relation[order[65]] = 1
relation = relation / lengths
relation = relation / relation[list(columns).index('sex sex')]
for name, c in zip(columns, relation, strict=True):
    if abs(c) > 1e-9:
        print(f'{c:+.3f} * {name}')

# %% [markdown]
# The sum of these three terms is zero for every patient. Indeed, sex is coded as 1 or 2, and
# $s^2 - 3s + 2 = (s - 1)(s - 2)$. We drop the square of sex and fit the weights of the remaining 65 columns in single
# precision, with 24 binary digits, as on a graphics card. The solution in double precision is our reference. A doctor may read the *signs* of the weights: does
# this product speed the disease up or slow it down?

# %%
keep = [k for k, name in enumerate(columns) if name != 'sex sex']
A65 = A[:, keep]

def by_qr(A, b):  # as libraries do it
    Q, R = np.linalg.qr(A)
    return solve_triangular(R, Q.T @ b)

# %%
weights = by_qr(A65, y)
single = A65.astype(np.float32), y.astype(np.float32)
wrong = {solver: (np.sign(solver(*single)) != np.sign(weights)).sum()
         for solver in (normal_equations, by_qr)}
kappa = cond(A65)
print(f'condition number {kappa:.1e}')
print(f'2^-24 kappa = {kappa / 2**24:.3f}, squared '
      f'2^-24 kappa^2 = {kappa**2 / 2**24:.2e}')
print('wrong signs of 65: normal equations',
      between(wrong[normal_equations], 6, 65), '  QR', wrong[by_qr])

# %% [markdown]
# The normal equations get many signs wrong, and the solver gives no warning. QR gets all of them right. With a residual as large as
# here, {eq}`qr-sensitivity` would have allowed QR to fail as well. But a backward stable answer is as good as if nothing but the table had been
# rounded, and we can measure that:

# %%
def off(w):  # relative error of the weights
    return norm(w - weights) / norm(weights)

rounded = [part.astype(float) for part in single]
unavoidable = off(by_qr(*rounded))  # the table rounded, nothing else
print('error of QR / error by rounding the table:',
      between(off(by_qr(*single)) / unavoidable, 0.1, 10))
print('error of the normal equations / the same:',
      between(off(normal_equations(*single)) / unavoidable, 50, 1e9))

# %% [markdown]
# In practice you call `np.linalg.lstsq`, which uses the singular values and also copes with dependent columns, or
# `torch.linalg.lstsq`, whose default on the processor is a QR decomposition with pivoting.
#
# ```{exercise} ★★★ Pencil: leave one out, for free
# :label: qr-loo
# To judge a fit by patients it has not seen, leave out patient $i$, fit the others, and take
# the error at $i$; and so for all 442. Let $h_i = \|\text{row } i \text{ of } \mathbf{Q}\|^2$ and let
# $r_i$ be the residual of the *one* fit to all. Derive a formula for the error from $r_i$ and $h_i$, and write
# `error_left_out(r, h)`.
# ```

# %%
def error_left_out(r, h):
    """What b_i is above the prediction of the fit without row i: a float.

    r: the residual b_i - (A x)_i of the fit to all rows; 0 <= h < 1.
    error_left_out(3.0, 0.0) is 3.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_refitting(r, h):  # a column (s, 1) whose first entry has the share h, and a b with the residual r there
    column = np.array([np.sqrt(h), np.sqrt(1 - h)])
    target = 2 * column + r / (1 - h) * (1 - h) * np.array([1, -np.sqrt(h / (1 - h))])
    return target[0] - column[0] * (target[1] / column[1])

cases = dict(r=scalars(), h=on(0.0, 0.5, 0.999) | scalars(0, 0.99))
grade(error_left_out, by_refitting, **cases)

# %% [markdown]
# ```{solution-start} qr-loo
# :class: dropdown
# ```
# Let $\tilde y_i$ be the prediction for $i$ of the fit without $i$. Replace $b_i$ by $\tilde y_i$. The fit without $i$ is
# now the best one for *all* rows: it is the best for the others, and at $i$ it makes no error at all. But fitting all rows
# is the projection $\mathbf{Q}\mathbf{Q}^\top$, which is linear: lowering $b_i$ by $b_i - \tilde y_i$ lowers prediction
# $i$ by $h_i (b_i - \tilde y_i)$, since $h_i$ is entry $i, i$ of $\mathbf{Q}\mathbf{Q}^\top$. So
# $\tilde y_i = \hat y_i - h_i (b_i - \tilde y_i)$, and therefore $(1 - h_i)(b_i - \tilde y_i) = b_i - \hat y_i = r_i$. The
# error is $r_i / (1 - h_i)$. Of the wrong answers, the first multiplies, the second takes the residual of the fit to all rows, and the third
# divides by the root. On the fitted patients the products win, on patients not seen they lose:

# %% jupyter={"source_hidden": true}
def error_left_out_solution(r, h):
    return r / (1 - h)

def multiplied(r, h):
    return r * (1 - h)

def of_the_fit_to_all(r, h):
    return r

def divided_by_the_root(r, h):
    return r / np.sqrt(1 - h)

assert grade(error_left_out_solution, by_refitting, **cases)
assert not grade(multiplied, by_refitting, **cases)
assert not grade(of_the_fit_to_all, by_refitting, **cases)
assert not grade(divided_by_the_root, by_refitting, **cases)
for name, a in (('11 columns', A[:, :11]), ('65 columns', A65)):
    q = np.linalg.qr(a)[0]
    r, h = y - q @ (q.T @ y), (q * q).sum(axis=1)
    seen, unseen = (np.sqrt(np.mean(e**2)) for e in (r, r / (1 - h)))
    print(f'{name}: error {seen:.1f} if seen, {unseen:.1f} if left out')
print(f'the mean as prediction: {np.sqrt(np.mean((y - y.mean()) ** 2)):.1f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
assert close(weights, lstsq(A65, y)[0]) and wrong[by_qr] == 0 and 5 < wrong[normal_equations] < 65
assert off(by_qr(*single)) < 10 * unavoidable < 0.1 < off(normal_equations(*single))
assert np.linalg.matrix_rank(A) == 65 and close(A @ (relation * lengths), np.zeros(442), atol=1e-6)

def leverages(seed, formula):  # by leaving each row out in turn
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(7, 3)), rng.normal(size=7)
    q = householder(a)[0]
    refits = [b[i] - a[i] @ lstsq(np.delete(a, i, 0), np.delete(b, i))[0] for i in range(7)]
    return close(formula(b - q @ (q.T @ b), (q * q).sum(axis=1)), refits)

verify('one fit gives the errors of all fits without one row', lambda seed: leverages(seed, error_left_out_solution),
       slip=('multiplies by 1 - h', lambda seed: leverages(seed, multiplied)), seed=seeds(), tries=40)

# %% [markdown]
# ## Summary
#
# Every matrix with at least as many rows as columns is a matrix with orthonormal columns times a triangular one. For
# independent columns and a positive diagonal the two are unique, and the diagonal holds heights whose product is a volume. On
# a computer the order of the steps decides: classical Gram–Schmidt loses right angles like $\varepsilon\kappa^2$, modified
# like $\varepsilon\kappa$, and reflections and rotations not at all. Least squares by reflections is as accurate as the data allow, while
# forming $\mathbf{A}^\top\mathbf{A}$ squares the condition number.
#
# **Further reading.** {cite}`trefethen1997numerical` teaches numerical linear algebra with QR at its centre, {cite}`golub2013matrix` has all
# variants with their operation counts, {cite}`higham2002accuracy` the proofs of stability, and
# {cite}`bjorck1996numerical` is the standard work on least squares.
