# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # QR decomposition
#
# - **Question.** How are slanted directions made perpendicular without losing what they span, and why do right angles
#   decay inside a computer?
# - **You need** shadows ([Dot products](../linear_algebra/dot_products.ipynb)), volumes
#   ([Determinants](../linear_algebra/determinants.ipynb)) and triangular systems
#   ([LU decomposition](../linear_algebra/lu_decomposition.ipynb)).
# - **You build** Gram–Schmidt in two versions, Householder's mirrors, Givens's turns, a least-squares solver that keeps
#   its digits, and a detector of columns that say nothing new.
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
from itertools import combinations, combinations_with_replacement

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
from numpy.polynomial import legendre

from nbutils.cases import seeds
from nbutils.checks import below, between, close, erratum, grade, holds
from nbutils.data import diabetes
from nbutils.figures import GREY, label_lines, panels, show_image
from nbutils.timing import seconds

plt.style.use('nbutils.book')

# %% [markdown]
# Everything on this page happens to the columns of a matrix. Their lengths and dot products are written as sums over the
# rows, `.sum(0)`, so that the same lines also serve a whole stack of matrices, kept in an array of shape `(m, n, N)`.

# %%
def length(x):  # x (m, ...) -> (...)
    return np.sqrt((x * x).sum(0))

# %% [markdown]
# ## Gram–Schmidt: one projection after another
#
# Take two arrows $\mathbf{a}_1$ and $\mathbf{a}_2$ that are not parallel. Subtract from $\mathbf{a}_2$ its shadow on
# $\mathbf{a}_1$, and what is left stands at a right angle to $\mathbf{a}_1$, while the plane that the two span is still
# the same. A third arrow gives up two shadows, one on each of the directions already made, and so on. That is the whole of
# the *Gram–Schmidt process*. In symbols: when unit vectors $\mathbf{q}_1, \dots, \mathbf{q}_{j-1}$, perpendicular to each
# other, span the same as $\mathbf{a}_1, \dots, \mathbf{a}_{j-1}$, put
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
# Then $\mathbf{q}_k \cdot \mathbf{v}_j = r_{kj} - r_{kj} = 0$ for all $k < j$, and $\mathbf{v}_j \ne \mathbf{0}$ as long
# as $\mathbf{a}_j$ does not lie in the span of its predecessors. Now read {eq}`qr-gram-schmidt` backwards:
# $\mathbf{a}_j = \sum_{i \le j} r_{ij}\, \mathbf{q}_i$. Column $j$ of $\mathbf{A}$ needs only the first $j$ columns of
# $\mathbf{Q}$, so the coefficients form an upper triangular ("triu") matrix:
#
# ```{math}
# :label: la.qr.thin
# \mathbf{A}_{m \times n} = \mathbf{Q}_{m \times n} \mathbf{R}_{n \times n}, \qquad r_{ij} = 0 \quad (i > j)
# ```
#
# That the columns of $\mathbf{Q}$ are *orthonormal*, of length one and perpendicular to each other, is one equation
# between matrices, since entry $i, j$ of $\mathbf{Q}^\top\mathbf{Q}$ is $\mathbf{q}_i \cdot \mathbf{q}_j$:
#
# ```{math}
# :label: la.qr.orthonormal
# \mathbf{Q}^\top\mathbf{Q} = \mathbf{I}_n
# ```
#
# ```{prf:theorem} One and only one
# :label: thm-qr-unique
# If the columns of $\mathbf{A}$ are independent, there is exactly one $\mathbf{Q}$ with orthonormal columns and exactly
# one upper triangular $\mathbf{R}$ with a positive diagonal such that $\mathbf{A} = \mathbf{Q}\mathbf{R}$.
# ```
#
# ```{prf:proof}
# Gram–Schmidt produces such a pair. Conversely, let $\mathbf{A} = \mathbf{Q}\mathbf{R}$ be any such pair, and read its
# column $j$ as $r_{jj}\mathbf{q}_j = \mathbf{a}_j - \sum_{i<j} r_{ij}\mathbf{q}_i$. The dot product with $\mathbf{q}_i$,
# $i < j$, gives $r_{ij} = \mathbf{q}_i \cdot \mathbf{a}_j$. So once $\mathbf{q}_1, \dots, \mathbf{q}_{j-1}$ are known, the
# right side is known; $r_{jj} > 0$ must be its length and $\mathbf{q}_j$ its direction. By induction there was no choice
# anywhere.
# ```
#
# Without the condition on the diagonal, $\mathbf{q}_j$ and row $j$ of $\mathbf{R}$ may change their signs together, and
# libraries leave them as they fall. In the code {eq}`qr-gram-schmidt` takes four lines.

# %%
def cgs(a):  # classical Gram-Schmidt: a (m, n, ...) -> q, r
    q, r = np.zeros_like(a), np.zeros((a.shape[1], *a.shape[1:]))
    for j in range(a.shape[1]):
        r[:j, j] = (q[:, :j] * a[:, [j]]).sum(0)
        v = a[:, j] - (q[:, :j] * r[:j, j]).sum(1)
        r[j, j] = length(v)
        q[:, j] = v / r[j, j]
    return q, r

def library(a):  # numpy's, with the signs of the theorem
    q, r = np.linalg.qr(a)
    sign = np.where(np.diag(r) < 0, -1, 1)
    return q * sign, r * sign[:, None]

# %% [markdown]
# A small change of the loop turns out to matter. As soon as $\mathbf{q}_j$ is known, take its shadow out of *all* later
# columns at once. Each coefficient is then measured on what is left of the column, not on the column itself. In exact
# arithmetic this is the same, for
# $\mathbf{q}_i \cdot (\mathbf{a}_j - \sum_{k<i} r_{kj}\mathbf{q}_k) = \mathbf{q}_i \cdot \mathbf{a}_j$. This is *modified
# Gram–Schmidt*, MGS for short.

# %%
def mgs(a):  # modified Gram-Schmidt: a (m, n, ...) -> q, r
    q, r = a.copy(), np.zeros((a.shape[1], *a.shape[1:]))
    for j in range(a.shape[1]):
        r[j, j] = length(q[:, j])
        q[:, j] /= r[j, j]
        r[j, j + 1:] = (q[:, [j]] * q[:, j + 1:]).sum(0)
        q[:, j + 1:] -= q[:, [j]] * r[j, j + 1:]
    return q, r

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# In {eq}`la.qr.orthonormal` the factors must not change places: for
# $m > n$ the other product $\mathbf{Q}\mathbf{Q}^\top$ is not $\mathbf{I}_m$. It maps each $\mathbf{b}$ to
# $\sum_j \mathbf{q}_j (\mathbf{q}_j \cdot \mathbf{b})$, its shadow on the column space.
# :::

# %%
q, r = mgs(np.array([[1.0, 1], [2, 0], [2, 3]]))
print('Q^T Q: distance from the identity', below(q.T @ q - np.eye(2)))
print('Q Q^T:', *(q @ q.T).round(3).tolist(), sep='\n  ')

# %% [markdown]
# Nothing in this asks the columns to be arrows. Let them be the functions $1, x, x^2, \dots$ on $[-1, 1]$ and let
# $\int f g$ be the dot product. At Gauss's points $x_i$ with weights $w_i$ the integral is the sum
# $\sum_i w_i f(x_i) g(x_i)$, exact for all products that occur here. So we orthogonalize the columns $\sqrt{w_i}\, x_i^k$.
# What must come out are the normalized Legendre polynomials, which numpy knows by their recurrence.

# %%
x, w = legendre.leggauss(200)
powers = np.vander(x, 6, increasing=True)  # (200, 6)
q, _ = mgs(np.sqrt(w)[:, None] * powers)
polynomials = q / np.sqrt(w)[:, None]
norms = np.sqrt(2 / (2 * np.arange(6) + 1))  # of the Legendre polynomials
assert close(polynomials, legendre.legvander(x, 5) / norms)
print('Gram-Schmidt on the powers, Legendre polynomials: gap',
      below(polynomials - legendre.legvander(x, 5) / norms))

# %% mystnb={"image": {"alt": "Left: the powers 1 to x to the fifth on the interval from -1 to 1, which crowd together, the even ones and the odd ones. Right: the six orthonormal polynomials made of them, each with one more zero than the one before, clearly apart."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
for ax, curves in ((left, powers), (right, polynomials)):
    for k in range(6):
        style = dict(color=GREY, ls='--') if k == 5 else {}
        ax.plot(x, curves[:, k], label=f'{k}', lw=1.4, **style)
    ax.set(xlabel='x', xticks=[-1, 0, 1])
left.set(title='Powers of x', ylim=(-1.1, 1.1))
right.set(title='After Gram–Schmidt')
right.legend(title='degree', loc='center left', bbox_to_anchor=(1, 0.5));

# %% [markdown] tags=["caption"]
# Gram–Schmidt makes Legendre's polynomials of the crowded powers of $x$: orthonormal on $[-1, 1]$, each with one more zero
# than the one before.

# %% [markdown]
# **The volume on the diagonal.** The length $r_{jj}$ is the height of $\mathbf{a}_j$ above the span of
# $\mathbf{a}_1, \dots, \mathbf{a}_{j-1}$. A parallelogram has the area base times height, a slanted box the volume base
# times height once more, and so $r_{11} r_{22} \cdots r_{nn}$ is the $n$-dimensional volume that the columns span. It can
# be had without $\mathbf{Q}$. The transpose of a product is the product of the transposes in reverse order, so
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
# by {eq}`la.qr.orthonormal`: with a positive diagonal, $\mathbf{R}$ is the Cholesky factor of the Gram matrix.
# Determinants of *square* matrices multiply, and transposing does not change them:
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
#
# It is $\mathbf{R}$ that makes the last two lines possible. A tall $\mathbf{A}$ has no determinant, and
# $\det\mathbf{A}^\top\mathbf{A}$ is not the square of one: it is the sum of the squares of *all* its $n \times n$
# minors (Cauchy and Binet).

# %% tags=["hide-input"]
det = np.linalg.det

# %% [markdown]
# No height exceeds the length of its column, $r_{jj} \le \|\mathbf{a}_j\|$. So the volume is at most
# $\prod_j \|\mathbf{a}_j\|$, the one of an upright box: *Hadamard's inequality*, for free.

# %%
rng = np.random.default_rng(0)
gaps, shares = [], []
for a in rng.normal(size=(50, 3, 2)):
    area = np.diag(cgs(a)[1]).prod()
    assert close(area, length(np.cross(*a.T)))
    minors = [det(a[list(rows)]) for rows in combinations(range(3), 2)]
    assert close(area ** 2, np.square(minors).sum())
    assert area <= length(a).prod()
    gaps += [area - length(np.cross(*a.T)), area**2 - np.square(minors).sum()]
    shares.append(area / length(a).prod())
print('area against |a x b|, its square against the minors: gap', below(gaps))
print(f'area: from {min(shares):.2f} to {max(shares):.2f} of |a| |b|')

# %% [markdown]
# ```{exercise} ★ How far from the others?
# :label: qr-distance
# Write `distance(a, j)`: how far column `j` of `a` is from the span of all *other* columns. If it is tiny, the column says
# nothing new.
# ```

# %%
def distance(a, j):
    raise NotImplementedError('your turn')

# %%
def by_least_squares(a, j):
    others = np.delete(a, j, axis=1)
    best = np.linalg.lstsq(others, a[:, j])[0]
    return np.linalg.norm(others @ best - a[:, j])

distance_cases = [
    (np.array([[2., 1, 0], [0, 1, 3], [1, 1, 1], [0, 2, 1]]), j)
    for j in range(3)
]
grade(distance, by_least_squares, distance_cases)

# %% [markdown]
# ```{solution-start} qr-distance
# :class: dropdown
# ```
# Only for the last column are "the others" the same as "the ones before". So put the column last; the last diagonal entry
# of $\mathbf{R}$ is its height above all the rest. The wrong answer reads off $r_{jj}$ without moving the column.

# %% jupyter={"source_hidden": true}
def distance_solution(a, j):
    last = np.c_[np.delete(a, j, axis=1), a[:, j]]
    return abs(np.linalg.qr(last, 'r')[-1, -1])

def unmoved(a, j):
    return abs(np.linalg.qr(a, 'r')[j, j])

assert grade(distance_solution, by_least_squares, distance_cases)
assert not grade(unmoved, by_least_squares, distance_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
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

def agrees(a):  # two algorithms and a library: one and only one
    (q1, r1), (q2, r2), (q, r) = cgs(a), mgs(a), library(a)
    same = close(q1, q) and close(r1, r) and close(q2, q) and close(r2, r)
    return same and is_a_factorization(a, q1, r1)

holds(
    'la.qr.thin',
    agrees,
    slip=(
        'transposes R',
        lambda a: is_a_factorization(a, cgs(a)[0], cgs(a)[1].T),
    ),
    a=tall_matrices(5, 3, rank=3),
    tries=100,
)

def shadow(a):  # on the columns, without any Q: least squares
    return a @ np.linalg.lstsq(a, np.eye(len(a)))[0]

def corrected(a):
    q, _ = mgs(a)
    return close(q.T @ q, np.eye(3)) and close(q @ q.T, shadow(a))

erratum(
    'la.qr.orthonormal',
    printed=lambda a: any(
        np.array_equal(cgs(a)[0].T @ cgs(a)[0], element)
        for element in np.eye(3)
    ),
    corrected=corrected,
    a=tall_matrices(5, 3, rank=3),
    tries=100,
)

# %% tags=["checks"]
def given_qr(check):  # a check of a, q and r as a check of a
    return lambda a: check(a, *mgs(a))

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

# %% [markdown]
# ## Householder reflections and Givens rotations
#
# This section continues [Gram–Schmidt: one projection after another](#gramschmidt-one-projection-after-another).
# Gram–Schmidt works on $\mathbf{A}$ with triangular operations until it is orthonormal. One can also do it the other way
# round: work on $\mathbf{A}$ with orthogonal operations until it is triangular {cite}`trefethen1997numerical`. The
# attraction is that mirrors and rotations keep all lengths, those of rounding errors included: an error once made is never
# magnified.
#
# **Mirrors.** Householder reflects {cite}`householder1958unitary`. The mirror with the unit normal $\mathbf{v}$ takes away
# the part of $\mathbf{x}$ along $\mathbf{v}$ twice, once to reach the mirror and once more to get behind it:
#
# ```{math}
# :label: qr-mirror
# \begin{gathered} \mathbf{H}\mathbf{x} = \mathbf{x} - 2\mathbf{v}(\mathbf{v} \cdot \mathbf{x}), \qquad \mathbf{H} =
# \mathbf{I} - 2\mathbf{v}\mathbf{v}^\top = \mathbf{H}^\top, \\ \mathbf{H}^2 = \mathbf{I} - 4\mathbf{v}\mathbf{v}^\top +
# 4\mathbf{v}(\mathbf{v}^\top\mathbf{v})\mathbf{v}^\top = \mathbf{I} . \end{gathered}
# ```
#
# So $\mathbf{H}^\top\mathbf{H} = \mathbf{I}$. Which mirror sends a given $\mathbf{x}$ to
# $\mathbf{y} = (\pm\|\mathbf{x}\|, 0, \dots, 0)$? The mirror must stand halfway, so $\mathbf{v}$ has the direction of
# $\mathbf{x} - \mathbf{y}$. Indeed, since $\mathbf{x}$ and $\mathbf{y}$ are equally long, $\|\mathbf{x} - \mathbf{y}\|^2 =
# 2\,\mathbf{x}\cdot\mathbf{x} - 2\,\mathbf{x}\cdot\mathbf{y} = 2(\mathbf{x} - \mathbf{y})\cdot\mathbf{x}$, hence
#
# ```{math}
# :label: qr-mirror-choice
# \mathbf{H}\mathbf{x} = \mathbf{x} - 2\,\frac{(\mathbf{x} - \mathbf{y})\cdot\mathbf{x}}{\|\mathbf{x} -
# \mathbf{y}\|^2}\,(\mathbf{x} - \mathbf{y}) = \mathbf{x} - (\mathbf{x} - \mathbf{y}) = \mathbf{y} .
# ```
#
# Of the two signs take the one opposite to $x_1$. Then $x_1 - y_1$ adds two numbers of equal sign. With the other choice
# nearly equal numbers are subtracted: for $\mathbf{x} = (1, 10^{-9})$ the length rounds to 1, the normal to $(0, 1)$, and
# the mirror returns $(1, -10^{-9})$, without a zero.
#
# The first mirror clears column 1 below its top entry. The second acts on rows $2$ to $m$ and clears column 2 below the
# diagonal; row 1 and the zeros below it stay. After $n$ mirrors
#
# ```{math}
# :label: qr-full
# \mathbf{H}_n \cdots \mathbf{H}_2 \mathbf{H}_1 \mathbf{A} = \begin{bmatrix} \mathbf{R} \\ \mathbf{0} \end{bmatrix}, \qquad
# \mathbf{A} = \mathbf{H}_1 \mathbf{H}_2 \cdots \mathbf{H}_n \begin{bmatrix} \mathbf{R} \\ \mathbf{0} \end{bmatrix} .
# ```
#
# The product of the mirrors is an orthogonal $m \times m$ matrix; its first $n$ columns are the $\mathbf{Q}$ of
# {eq}`la.qr.thin`. Never form a mirror as a matrix. By {eq}`qr-mirror` it costs $4$ operations per entry, together
# $\sum_j 4(m - j)(n - j) \approx 2mn^2 - \tfrac23 n^3$.

# %%
def reflector(x):  # x (m, ...) -> the unit normal v
    v = x.copy()
    v[0] += np.copysign(length(x), x[0])
    size = length(v)
    return v / np.where(size > 0, size, 1)

def reflect(v, a):  # v (m, ...), a (m, n, ...)
    dots = np.einsum('i...,ij...->j...', v, a)  # of v with each column
    return a - 2 * v[:, None] * dots

def triangularize(a):  # -> the mirrors, r (m, n, ...)
    mirrors, r = [], a.copy()
    for j in range(min(len(a) - 1, a.shape[1])):
        v = reflector(r[j:, j])
        r[j:, j:] = reflect(v, r[j:, j:])
        r[j + 1:, j] = 0  # as they are up to rounding
        mirrors.append(v)
    return mirrors, r

# %%
def first_columns_of_identity(a):
    q = np.zeros_like(a)
    q[range(a.shape[1]), range(a.shape[1])] = 1
    return q

def householder(a):  # -> q (m, n, ...), r (n, n, ...)
    mirrors, r = triangularize(a)
    q = first_columns_of_identity(a)
    for v in reversed(mirrors):
        top = len(q) - len(v)
        q[top:] = reflect(v, q[top:])
    return q, r[:a.shape[1]]

# %% [markdown]
# **Turns.** Givens rotates in the plane of two rows {cite}`givens1958computation`. With $c = x / h$, $s = y / h$ and
# $h = \sqrt{x^2 + y^2}$,
#
# ```{math}
# :label: qr-turn
# \begin{bmatrix} c & s \\ -s & c \end{bmatrix} \begin{bmatrix} x \\ y \end{bmatrix} = \begin{bmatrix} h \\ 0 \end{bmatrix} .
# ```
#
# One zero at a time, column by column from the bottom, each turn using the row above. Six operations per entry make
# $\sum_j 6(m - j)(n - j) \approx 3mn^2 - n^3$, half as many again as with mirrors. But where most entries below the
# diagonal are zero already, only the others cost anything.

# %%
def angle(x, y):  # -> c, s
    h = np.sqrt(x * x + y * y)
    at = np.where(h > 0, h, 1)
    return np.where(h > 0, x, 1) / at, y / at

def rotate(pair, c, s):  # pair (2, n, ...), two rows
    return np.stack([c * pair[0] + s * pair[1], c * pair[1] - s * pair[0]])

def givens(a):
    r, turns = a.copy(), []
    for j in range(a.shape[1]):
        for i in range(len(a) - 1, j, -1):
            c, s = angle(r[i - 1, j], r[i, j])
            r[[i - 1, i]] = rotate(r[[i - 1, i]], c, s)
            r[i, j] = 0
            turns.append((i, c, s))
    q = first_columns_of_identity(a)
    for i, c, s in reversed(turns):
        q[[i - 1, i]] = rotate(q[[i - 1, i]], c, -s)
    return q, r[:a.shape[1]]

# %% mystnb={"image": {"alt": "Left: an arrow x, a dashed mirror line, and the mirror image of x, which points along the negative first axis; the normal v of the mirror joins the directions. Right: the same arrow turned along an arc of a circle onto the positive first axis."}} tags=["hide-input"]
def arrow(ax, end, color, name, at):
    style = dict(arrowstyle='-|>', color=color, lw=1.8, shrinkA=0, shrinkB=0)
    ax.annotate('', end, (0, 0), arrowprops=style)
    ax.text(*at, name, color=color)

x = np.array([1.2, 0.9])  # of length 1.5
v = reflector(x)
along = np.array([-v[1], v[0]])
fig, axes = panels(2, height=2.3, sharey=True)
for ax in axes:
    ax.axhline(0, color=GREY, lw=0.6)
    ax.axvline(0, color=GREY, lw=0.6)
    arrow(ax, x, 'C0', 'x', x + [0.06, 0.02])
    ax.set(xlim=(-1.9, 1.9), ylim=(-0.75, 1.55), aspect='equal')
    ax.set(xticks=[-1, 0, 1], yticks=[0, 1])
left, right = axes
left.plot(*np.stack([-0.8 * along, 1.55 * along], 1), '--', color=GREY)
left.plot(*np.stack([x, [-1.5, 0]], 1), ':', color='C0', lw=1.2)
arrow(left, (-1.5, 0), 'C1', 'Hx', (-1.75, -0.32))
arrow(left, v, 'C2', 'v', v + [0.05, -0.2])
left.set_title('A mirror')
t = np.linspace(0, np.arctan2(x[1], x[0]))
right.plot(1.5 * np.cos(t), 1.5 * np.sin(t), ':', color='C0', lw=1.2)
arrow(right, (1.5, 0), 'C1', 'Gx', (1.4, -0.32))
right.set_title('A turn');

# %% [markdown] tags=["caption"]
# Both lay $\mathbf{x}$ on the first axis and keep its length. Left: the mirror picks the far end, so that no digits cancel.
# Right: the turn takes the near end.

# %% mystnb={"image": {"alt": "Two rows of five small heat maps of a matrix with 7 rows and 4 columns. Top: four mirrors clear one column each below the diagonal. Bottom: turns clear one entry after the other, from the bottom of each column upwards."}} tags=["hide-input"]
a = np.random.default_rng(1).normal(size=(7, 4))
mirrored, turned = [a], [a]
for j in range(4):
    step = mirrored[-1].copy()
    step[j:, j:] = reflect(reflector(step[j:, j]), step[j:, j:])
    mirrored.append(step)
for j in range(4):
    for i in range(6, j, -1):
        step = turned[-1].copy()
        c, s = angle(step[i - 1, j], step[i, j])
        step[[i - 1, i]] = rotate(step[[i - 1, i]], c, s)
        turned.append(step)
fig, axes = panels(5, 2, height=1.75)
for row, steps, shown, name in (
    (axes[0], mirrored, (0, 1, 2, 3, 4), 'mirrors'),
    (axes[1], turned, (0, 1, 4, 9, 18), 'turns'),
):
    for ax, k in zip(row, shown, strict=True):
        full = np.where(abs(steps[k]) > 1e-9, abs(steps[k]), np.nan)
        title = f'{k} {name if k != 1 else name[:-1]}'
        show_image(ax, full, title, cmap='viridis', vmin=0, vmax=4)

# %% [markdown] tags=["caption"]
# A mirror clears a whole column below the diagonal, a turn a single entry: for a $7 \times 4$ matrix four mirrors do the
# work of 18 turns.

# %% [markdown]
# Dividing by $r_{jj}$ is something only Gram–Schmidt does. A column that depends on its predecessors leaves it
# $\mathbf{v}_j = \mathbf{0}$, or rounding errors, which it blows up to unit length. A mirror does not mind. For all $m
# \ge n$,
#
# ```{math}
# :label: la.qr.methods
# \mathbf{A} = \mathbf{Q}\mathbf{R} \text{ by } \begin{cases}
# \text{Householder or Givens} & \text{for every } \mathbf{A}, \\
# \text{Gram–Schmidt} & \text{for independent columns.} \end{cases}
# ```

# %%
gaps = []
for a in np.random.default_rng(2).normal(size=(20, 8, 5)):
    for method in (cgs, mgs, householder, givens):
        q, r = method(a)
        sign = np.sign(np.diag(r))
        assert close(q * sign, library(a)[0])
        assert close(r * sign[:, None], library(a)[1])
        gaps.append(abs(q * sign - library(a)[0]).max())
    whole = np.eye(8)
    for v in reversed(triangularize(a)[0]):
        whole[-len(v):] = reflect(v, whole[-len(v):])
    assert close(whole, scipy.linalg.qr(a)[0])  # all 8 columns of Q
    gaps.append(abs(whole - scipy.linalg.qr(a)[0]).max())
print('Q by four ways against numpy, of mirrors in full against scipy: gap',
      below(gaps))

# %% [markdown]
# **Mirrors in bulk.** One mirror after the other reads the whole matrix for each column. Processors prefer products of
# matrices, and several mirrors together are one. If $\mathbf{V}$ has the normals as columns,
#
# ```{math}
# :label: qr-bulk
# \mathbf{H}_1 \cdots \mathbf{H}_k = \mathbf{I} - \mathbf{V}\mathbf{T}\mathbf{V}^\top, \qquad t_{ij} = 0 \quad (i > j)
# ```
#
# with an upper triangular $\mathbf{T}$, for $(\mathbf{I} - \mathbf{V}\mathbf{T}\mathbf{V}^\top)(\mathbf{I} -
# 2\mathbf{v}\mathbf{v}^\top)$ has the same form, with $\mathbf{v}$ as a new column of $\mathbf{V}$ and
# $(-2\mathbf{T}\mathbf{V}^\top\mathbf{v}, 2)$ as a new one of $\mathbf{T}$. And $\mathbf{T}$ need not be built up: the
# product is orthogonal, that is, $\mathbf{V}(\mathbf{T} + \mathbf{T}^\top -
# \mathbf{T}^\top\mathbf{V}^\top\mathbf{V}\mathbf{T})\mathbf{V}^\top = \mathbf{0}$. The normals are independent, for
# each begins one row later than the one before, so the bracket is zero. Multiplied by $\mathbf{T}^{-\top}$ and
# $\mathbf{T}^{-1}$ it says $\mathbf{T}^{-1} + \mathbf{T}^{-\top} = \mathbf{V}^\top\mathbf{V}$, so $\mathbf{T}^{-1}$ is
# the part of $\mathbf{V}^\top\mathbf{V}$ above the diagonal, with $\tfrac12$ on it {cite}`puglisi1992modification`.
# Thirty-two columns at a time:

# %%
def in_bulk(a, width=32):
    blocks, r, n = [], a.copy(), a.shape[1]
    for s in range(0, n, width):
        now, later = slice(s, s + width), slice(s + width, n)
        mirrors, r[s:, now] = triangularize(r[s:, now])
        V = np.zeros((len(a) - s, len(mirrors)))
        for j, v in enumerate(mirrors):
            V[j:, j] = v
        T = np.linalg.inv(np.triu(V.T @ V, 1) + np.eye(len(mirrors)) / 2)
        r[s:, later] -= V @ (T.T @ (V.T @ r[s:, later]))
        blocks.append((s, V, T))
    q = np.eye(*a.shape)
    for s, V, T in reversed(blocks):
        q[s:] -= V @ (T @ (V.T @ q[s:]))
    return q, r[:n]

# %%
wins = {}
for n in (32, 384):
    a = np.random.default_rng(3).normal(size=(n, n))
    for one, other in zip(in_bulk(a), householder(a), strict=True):
        assert close(one, other)
    singly, bulk, lapack = seconds(
        lambda: householder(a), lambda: in_bulk(a),
        lambda: np.linalg.qr(a), rounds=2)
    wins[n] = singly > 2 * bulk
    print(f'n = {n}: bulk more than 2 times faster than one by one: {wins[n]}')
print('n = 384: bulk within 10 times of the compiled library:',
      bulk < 10 * lapack)
assert wins[384] and not wins[32] and bulk < 10 * lapack

# %% [markdown]
# ```{exercise} ★★ One more row
# :label: qr-append
# A table $\mathbf{A}$ with a million rows has been reduced to its $n \times n$ factor $\mathbf{R}$, with a positive
# diagonal, and thrown away. Now one more row $\mathbf{a}^\top$ arrives. Show that $n$ turns suffice to bring
# $\mathbf{R}$ up to date, in $3n^2$ operations, and write `append(r, row)`.
# ```

# %%
def append(r, row):
    raise NotImplementedError('your turn')

# %%
def from_gram(r, row):
    return np.linalg.cholesky(r.T @ r + np.outer(row, row)).T

append_rng = np.random.default_rng(4)
append_cases = [
    (np.linalg.cholesky(b.T @ b).T, append_rng.normal(size=n))
    for n in (1, 2, 5) for b in [append_rng.normal(size=(9, n))]
]
grade(append, from_gram, append_cases)

# %% [markdown]
# ```{solution-start} qr-append
# :class: dropdown
# ```
# With $\mathbf{A} = \mathbf{Q}\mathbf{R}$, the longer table is an orthonormal factor times $\mathbf{R}$ with
# $\mathbf{a}^\top$ beneath, so it is enough to triangularize the latter. Turn row $j$ of $\mathbf{R}$ against the
# new row, so that entry $j$ of the new row becomes zero. Both have only zeros before column $j$, and these stay. Since
# $h > 0$, the diagonal stays positive. The wrong answer computes all angles from the row as it arrived, although each turn
# changes it.

# %% jupyter={"source_hidden": true}
def append_solution(r, row):
    r, row = r.copy(), row.copy()
    for j in range(len(r)):
        c, s = angle(r[j, j], row[j])
        r[j], row = rotate(np.stack([r[j], row]), c, s)
    return np.triu(r)

def stale_angles(r, row):
    r, row, arrived = r.copy(), row.copy(), row
    for j in range(len(r)):
        c, s = angle(r[j, j], arrived[j])
        r[j], row = rotate(np.stack([r[j], row]), c, s)
    return np.triu(r)

assert grade(append_solution, from_gram, append_cases)
assert not grade(stale_angles, from_gram, append_cases)

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

always, sometimes = (householder, givens), (cgs, mgs)
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

# %% [markdown]
# ## Loss of orthogonality in floating point
#
# This section continues
# [Householder reflections and Givens rotations](#householder-reflections-and-givens-rotations). It takes all four methods
# to their limits. In exact
# arithmetic they agree. A computer rounds each result, with a relative error of up to $\varepsilon \approx 10^{-16}$, and
# there they part. How badly can it go? The measure of danger is the *condition number* $\kappa = \sigma_1 / \sigma_n$, the
# largest factor by which $\mathbf{A}$ stretches a vector over the smallest. Since
#
# ```{math}
# :label: qr-height
# r_{jj} = \min_{\mathbf{c}} \Big\| \mathbf{a}_j - \sum_{i<j} c_i \mathbf{a}_i \Big\| \ge \min_{\|\mathbf{x}\| \ge 1}
# \|\mathbf{A}\mathbf{x}\| = \sigma_n ,
# ```
#
# (the middle is $\|\mathbf{A}\mathbf{x}\|$ for an $\mathbf{x}$ with a 1 in place $j$), no height is below $\sigma_n$,
# while the columns may be as long as $\sigma_1$.
#
# *The second column.* $\mathbf{v}_2 = \mathbf{a}_2 - r_{12}\mathbf{q}_1$ comes out with an error of about
# $\varepsilon\|\mathbf{a}_2\|$, some of it along $\mathbf{q}_1$. If $\mathbf{a}_2$ is almost parallel to $\mathbf{a}_1$,
# little is left of it, and the division by $r_{22}$ magnifies the error. So a slant
# $\delta = \mathbf{q}_1 \cdot \mathbf{q}_2 \approx \varepsilon\|\mathbf{a}_2\| / r_{22}$ remains, up to
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
# Two small denominators and nothing to balance them: up to $\varepsilon\kappa^2$. The modified version measures
# $r_{23} = \mathbf{q}_2 \cdot (\mathbf{a}_3 - r_{13}\mathbf{q}_1)$ after the first shadow is gone. Now
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
# $\|\mathbf{R}^{-1}\| = 1/\sigma_n$. So the loss is at most about $\varepsilon\kappa$. One $\kappa$, gained by the order
# of the steps.
#
# Läuchli gave three columns on which this can be followed by hand {cite}`lauchli1961jordan`, with $e$ so small that
# $1 + e^2$ rounds to 1:
#
# $$\mathbf{A} = \begin{bmatrix} 1 & 1 & 1 \\ e & & \\ & e & \\ & & e \end{bmatrix}, \quad
# \mathbf{q}_1 = \begin{bmatrix} 1 \\ e \\ 0 \\ 0 \end{bmatrix}, \quad
# \mathbf{q}_2 \sim \begin{bmatrix} 0 \\ -1 \\ 1 \\ 0 \end{bmatrix}, \quad
# \mathbf{q}_3 \sim \begin{bmatrix} 0 \\ -1 \\ 0 \\ 1 \end{bmatrix} \text{ or }
# \begin{bmatrix} 0 \\ -1 \\ -1 \\ 2 \end{bmatrix} .$$
#
# (The directions $\sim$ still have to be divided by their lengths.) The classical
# $r_{23} = \mathbf{q}_2 \cdot \mathbf{a}_3$ is 0, so $\mathbf{q}_3$ becomes the first of the two, with
# $\mathbf{q}_2 \cdot \mathbf{q}_3 = \tfrac12$. The modified one,
# $\mathbf{q}_2 \cdot (\mathbf{a}_3 - \mathbf{q}_1) = e/\sqrt2$, leads to the second, and the worst slant is
# $\mathbf{q}_1 \cdot \mathbf{q}_2 = -e/\sqrt2$.

# %%
def lauchli(e):
    return np.vstack([np.ones(3), e * np.eye(3)])

for name, method in (('classical', cgs), ('modified', mgs)):
    q, _ = method(lauchli(1e-9))
    angle_23 = np.degrees(np.arccos(q[:, 1] @ q[:, 2]))
    print(f'{name:9} Gram-Schmidt: q2 and q3 meet at {angle_23:.0f} degrees')

# %% [markdown]
# A single example is no law. Next come stacks of 50 random matrices
# $\mathbf{A} = \sum_k \sigma_k \mathbf{u}_k \mathbf{v}_k^\top$ whose singular values fall evenly, on a logarithmic
# scale, from 1 to $1/\kappa$, for growing $\kappa$. (Only $+$, $-$, $\times$, $/$ and roots are used, in a fixed order.
# Their rounding is prescribed by a standard, so the errors themselves are reproducible.)

# %%
def graded(kappa, m=20, n=9, N=50):  # (m, n, N), condition kappa
    rng = np.random.default_rng(5)
    u, _ = householder(rng.normal(size=(m, n, N)))
    v, _ = householder(rng.normal(size=(n, n, N)))
    step = np.sqrt(np.sqrt(np.sqrt(kappa)))  # kappa = step^8
    sigma = 1 / np.cumprod([1, *[step] * (n - 1)])
    return sum(s * u[:, k, None] * v[:, k] for k, s in enumerate(sigma))

def loss(q):  # |Q^T Q - I| in the Frobenius norm, (N,)
    gram = (q[:, :, None] * q[:, None]).sum(0)  # (n, n, N)
    difference = gram - np.eye(len(gram))[..., None]
    return np.sqrt((difference ** 2).sum((0, 1)))

methods = {'classical': cgs, 'modified': mgs,
           'mirrors': householder, 'turns': givens}
kappas = 10.0 ** np.arange(0, 15)
losses = {name: np.array([loss(method(graded(k))[0]) for k in kappas])
          for name, method in methods.items()}  # each (15, 50)

# %%
typical = {name: np.log10(l).mean(1) for name, l in losses.items()}
for name, upto in (('classical', 8), ('modified', 15)):
    slope = np.polyfit(np.arange(1, upto), typical[name][1:upto], 1)[0]
    print(f'{name:9} Gram-Schmidt: loss grows like kappa^{slope:.2f}')
most = max(losses['mirrors'].max(), losses['turns'].max())
assert most < 1e-14
print('mirrors and turns: loss', below(most, 1e-14), 'for every matrix')

# %% mystnb={"image": {"alt": "Loss of orthogonality against condition number, both logarithmic. The classical process climbs along a line of slope two and reaches one near condition number 10 to the 8; the modified climbs with slope one; mirrors and turns stay flat near 10 to the minus 15."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.4))
for name, values in losses.items():
    line, = ax.loglog(kappas, 10 ** typical[name], label=name)
    ax.fill_between(kappas, values.min(1), values.max(1),
                    color=line.get_color(), alpha=0.2, lw=0)
eps = np.finfo(float).eps
for power, upto in ((1, 15), (2, 9)):
    ax.loglog(kappas[:upto], eps * kappas[:upto] ** power, ':', color=GREY)
ax.text(2e5, 4e-3, 'ε κ²', ha='right')
ax.text(1e11, 7e-4, 'ε κ', ha='right')
ax.set(xlabel='condition number κ', ylabel='‖QᵀQ − I‖', ylim=(1e-17, 30))
label_lines(ax)

# %% [markdown] tags=["caption"]
# Rounding spoils right angles in proportion to $\varepsilon\kappa^2$ in classical Gram–Schmidt and to $\varepsilon\kappa$ in
# the modified process; mirrors and turns keep them at every $\kappa$.

# %% [markdown]
# The lines are averages, the bands hold all 50 matrices. For the modified process $\varepsilon\kappa$ (with a modest
# factor) is a theorem {cite}`bjorck1967solving`; for mirrors and turns $\varepsilon$ is one, whatever the matrix
# {cite}`higham2002accuracy`. For the classical process $\varepsilon\kappa^2$ is one if $\varepsilon\kappa^2$ is small
# and $r_{jj}$ is computed with a little more care {cite}`smoktunowicz2006note`. Beyond
# $\kappa = 1/\sqrt{10^{-16}} = 10^8$ its columns may end up parallel, and no warning is given.
#
# ```{exercise} ★★ Twice is enough
# :label: qr-twice
# The classical process has one advantage: all shadows of a column are taken in one go, by one product with a matrix. Keep
# that, and repeat it: subtract from $\mathbf{v}_j$ its remaining shadows on $\mathbf{q}_1, \dots, \mathbf{q}_{j-1}$ before
# it is normalized. Why is once more enough, as long as $\varepsilon\kappa \ll 1$? Write `twice(a)`, which returns only
# `q`, for one matrix.
# ```

# %%
def twice(a):
    raise NotImplementedError('your turn')

# %%
def faults(method):  # loss of right angles, and of the span
    def of(a):
        q = method(a)
        lost = np.linalg.norm(q.T @ q - np.eye(a.shape[1]))
        return np.array([lost, np.linalg.norm(a - q @ (q.T @ a))])
    return of

def none(a):
    return np.zeros(2)

twice_cases = [(graded(10.0 ** k, N=1)[..., 0],) for k in (1, 6, 9, 12)]
grade(faults(twice), none, twice_cases, atol=1e-13)

# %% [markdown]
# ```{solution-start} qr-twice
# :class: dropdown
# ```
# Let $\mathbf{q}_1, \dots, \mathbf{q}_{j-1}$ be orthonormal up to rounding. The first pass leaves errors of size
# $\varepsilon\|\mathbf{a}_j\|$ along them, which look large only beside a short $\mathbf{v}_j$ of length $r_{jj}$. But
# $\|\mathbf{a}_j\| / r_{jj} \le \kappa$ by {eq}`qr-height`, so with respect to $\mathbf{v}_j$ they are of size
# $\varepsilon\kappa \ll 1$: almost nothing is left to subtract, the second pass hardly shortens $\mathbf{v}_j$, and its
# own errors, $\varepsilon\|\mathbf{v}_j\|$, are not magnified {cite}`giraud2005rounding`. The wrong answer is the modified
# process: better than the classical one, but not enough.

# %% jupyter={"source_hidden": true}
def twice_solution(a):
    q = np.zeros_like(a)
    for j in range(a.shape[1]):
        v = a[:, j]
        for _ in range(2):
            v = v - q[:, :j] @ (q[:, :j].T @ v)
        q[:, j] = v / np.linalg.norm(v)
    return q

def modified_only(a):
    return mgs(a)[0]

assert grade(faults(twice_solution), none, twice_cases, atol=1e-13)
assert not grade(faults(modified_only), none, twice_cases, atol=1e-13)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Least squares by QR
#
# This section continues
# [Householder reflections and Givens rotations](#householder-reflections-and-givens-rotations). There are $m$
# equations for $n < m$ unknowns, the columns of $\mathbf{A}$ are independent, and we want the $\mathbf{x}$ that makes
# $\|\mathbf{A}\mathbf{x} - \mathbf{b}\|$ smallest. Orthogonal matrices keep lengths, so apply all mirrors to both sides.
# They turn $\mathbf{b}$ into a list $(\mathbf{c}, \mathbf{d})$ of $n$ and $m - n$ entries, and by {eq}`qr-full`
#
# ```{math}
# :label: qr-least-squares
# \|\mathbf{A}\mathbf{x} - \mathbf{b}\|^2 = \left\| \begin{bmatrix} \mathbf{R} \\ \mathbf{0} \end{bmatrix} \mathbf{x} -
# \begin{bmatrix} \mathbf{c} \\ \mathbf{d} \end{bmatrix} \right\|^2 = \|\mathbf{R}\mathbf{x} - \mathbf{c}\|^2 +
# \|\mathbf{d}\|^2 .
# ```
#
# No $\mathbf{x}$ can do anything about $\mathbf{d}$, and $\mathbf{R}\mathbf{x} = \mathbf{c}$ makes the rest zero. So:
# solve a triangular system; the smallest residual is $\|\mathbf{d}\|$. No $\mathbf{Q}$ is needed. Put $\mathbf{b}$ beside
# $\mathbf{A}$ as one more column, and the mirrors that clear $\mathbf{A}$ leave $\mathbf{c}$ in it; the next one gathers
# $\pm\|\mathbf{d}\|$ below.

# %%
def back_substitute(r, c):  # r (n, n, ...), c (n, ...)
    x = np.zeros_like(c)
    for j in reversed(range(len(c))):
        x[j] = (c[j] - (r[j, j + 1:] * x[j + 1:]).sum(0)) / r[j, j]
    return x

def solve_with(factorize, a, b):  # least |a x - b|
    n = a.shape[1]
    _, r = factorize(np.concatenate([a, b[:, None]], axis=1))
    return back_substitute(r[:n, :n], r[:n, n])

rng = np.random.default_rng(6)
a, b = rng.normal(size=(12, 4)), rng.normal(size=12)
x = solve_with(triangularize, a, b)
assert close(x, np.linalg.lstsq(a, b)[0])
_, r = triangularize(np.c_[a, b])
assert close(abs(r[4, 4]), np.linalg.norm(a @ x - b))
print('solution against numpy: gap', below(x - np.linalg.lstsq(a, b)[0]))
print(f'on the diagonal {abs(r[4, 4]):.3f},',
      f'residual {np.linalg.norm(a @ x - b):.3f}')

# %% [markdown]
# The way that everybody knows leads through the *normal equations*
# $\mathbf{A}^\top\mathbf{A}\mathbf{x} = \mathbf{A}^\top\mathbf{b}$. It is about half the work, and it pays for
# it with digits. The singular values of $\mathbf{A}^\top\mathbf{A}$ are the squares of those of $\mathbf{A}$, hence
#
# ```{math}
# :label: qr-squared
# \kappa(\mathbf{A}^\top\mathbf{A}) = \frac{\sigma_1^2}{\sigma_n^2} = \kappa(\mathbf{A})^2 .
# ```
#
# What sits in the lower half of the digits is rounded away before any solver sees it. For the three columns of Läuchli,
# $\mathbf{A}^\top\mathbf{A}$ has $1 + e^2$ on the diagonal and 1 elsewhere. With $e = 10^{-9}$ the computer stores
# nine ones, a singular matrix, though the columns are independent, and nothing that happens afterwards can help.

# %%
a = np.vstack([np.ones(3), 1e-9 * np.eye(3)])
b = a @ np.ones(3)  # so that x = (1, 1, 1)
assert (a.T @ a == 1).all()
print('A^T A as stored has rank', np.linalg.matrix_rank(a.T @ a))
print('x by mirrors:', solve_with(triangularize, a, b).round(3))

# %% [markdown]
# **How much can any method promise?** The data themselves are rounded. Change $\mathbf{A}$ by a small $\mathbf{E}$ with
# $\|\mathbf{E}\| \le \varepsilon\|\mathbf{A}\|$, and let $\mathbf{x}$ answer with $\boldsymbol\delta$. To first order the
# normal equations change by $\mathbf{E}^\top(\mathbf{b} - \mathbf{A}\mathbf{x}) - \mathbf{A}^\top\mathbf{E}\mathbf{x} =
# \mathbf{A}^\top\mathbf{A}\,\boldsymbol\delta$. With $\mathbf{r} = \mathbf{b} - \mathbf{A}\mathbf{x}$,
#
# ```{math}
# :label: qr-sensitivity
# \begin{gathered} \boldsymbol\delta = (\mathbf{A}^\top\mathbf{A})^{-1}\mathbf{E}^\top\mathbf{r} -
# (\mathbf{A}^\top\mathbf{A})^{-1}\mathbf{A}^\top\mathbf{E}\mathbf{x}, \\ \frac{\|\boldsymbol\delta\|}{\|\mathbf{x}\|}
# \le \varepsilon \left( \kappa^2\, \frac{\|\mathbf{r}\|}{\|\mathbf{A}\|\,\|\mathbf{x}\|} + \kappa \right),
# \end{gathered}
# ```
#
# because $\|(\mathbf{A}^\top\mathbf{A})^{-1}\| = 1/\sigma_n^2$ and
# $\|(\mathbf{A}^\top\mathbf{A})^{-1}\mathbf{A}^\top\| = \|\mathbf{R}^{-1}\mathbf{Q}^\top\| = 1/\sigma_n$.
# (A change of $\mathbf{b}$ by $\varepsilon\|\mathbf{b}\|$ adds
# $\varepsilon\kappa\|\mathbf{b}\| / (\|\mathbf{A}\|\|\mathbf{x}\|)$.) Mirrors are *backward stable*: their answer is the
# exact one for data changed by a modest multiple of $\varepsilon$ {cite}`higham2002accuracy`. So they promise
# {eq}`qr-sensitivity` and no more. The factor $\kappa^2$ is in there too, but it is multiplied by the residual. If the fit
# is good, mirrors save half of the digits; if it is bad, the digits are not to be had. We measure both.
#
# Gram–Schmidt joins in twice: with $\mathbf{c} = \mathbf{Q}^\top\mathbf{b}$, and with $\mathbf{b}$ as one more
# column of the process. Only the first trusts in $\mathbf{Q}^\top\mathbf{Q} = \mathbf{I}$.

# %%
def normal_equations(a, b):
    gram = (a[:, :, None] * a[:, None]).sum(0)  # (n, n, N)
    return solve_with(triangularize, gram, (a * b[:, None]).sum(0))

def trusting(a, b):
    q, r = mgs(a)
    return back_substitute(r, (q * b[:, None]).sum(0))

def errors(solve, kappa, residual, m=20, n=5, N=50):  # (N,)
    rng = np.random.default_rng(7)
    u, _ = householder(rng.normal(size=(m, n + 1, N)))
    v, _ = householder(rng.normal(size=(n, n, N)))
    step = np.sqrt(np.sqrt(kappa))  # kappa = step^4
    sigma = 1 / np.cumprod([1, *[step] * (n - 1)])
    a = sum(s * u[:, k, None] * v[:, k] for k, s in enumerate(sigma))
    x = reflector(rng.normal(size=(n, N)))  # of length 1
    b = (a * x).sum(1) + residual * u[:, n]
    return length(solve(a, b) - x)

solvers = {
    'normal equations': normal_equations,
    'modified, QᵀQ = I trusted': trusting,
    'modified, b as a column': lambda a, b: solve_with(mgs, a, b),
    'mirrors': lambda a, b: solve_with(triangularize, a, b),
}

# %%
kappas = 10.0 ** np.arange(0, 15)
typical = {
    (name, residual): np.array([
        np.log10(errors(solve, k, residual)).mean() for k in kappas])
    for name, solve in solvers.items() for residual in (0, 1)
}
print('error grows like kappa^p; p for residual 0 and 1:')
for name in ('normal equations', 'mirrors'):
    p = [np.polyfit(range(2, 8), typical[name, r][2:8], 1)[0] for r in (0, 1)]
    print(f'{name:17} {p[0]:.2f} {p[1]:.2f}')

# %% mystnb={"image": {"alt": "Error of the solution against condition number for residual 0, left, and 1, right. Left: the normal equations and Gram-Schmidt with Q trusted climb with slope two, mirrors and Gram-Schmidt with b as a column with slope one. Right: all four climb together with slope two."}} tags=["hide-input"]
fig, axes = panels(2, height=3.1, sharey=True)
styles = ('-', '--', '--', '-')
for ax, residual in zip(axes, (0, 1), strict=True):
    for (name, style) in zip(solvers, styles, strict=True):
        ax.loglog(kappas, 10 ** typical[name, residual], style, label=name)
    ax.set(xlabel='condition number κ', ylim=(1e-17, 30))
    ax.set_title('exact fit' if residual == 0 else 'residual of length 1')
    eps = np.finfo(float).eps
    ax.loglog(kappas, eps * kappas ** 2, ':', color=GREY)
    ax.loglog(kappas, eps * kappas, ':', color=GREY)
axes[0].set_ylabel('error of x')
axes[0].text(2e6, 2, 'ε κ²', ha='right')
axes[0].text(1e9, 1e-5, 'ε κ', ha='right')
fig.legend(*axes[0].get_legend_handles_labels(), ncols=2,
           loc='outside lower center');

# %% [markdown] tags=["caption"]
# Left: with an exact fit, only mirrors and Gram–Schmidt with $\mathbf{b}$ as a column keep the error near
# $\varepsilon\kappa$. Right: with a residual of length 1 all four methods follow $\varepsilon\kappa^2$.

# %% [markdown]
# With $\mathbf{b}$ as a column, Gram–Schmidt is as good as mirrors, in spite of its slanted $\mathbf{Q}$. That is no
# accident: with rounding and all, the modified process does what mirrors do on $\mathbf{A}$ with $n$ rows of zeros on top
# {cite}`bjorck1992loss`.
#
# ```{exercise} ★★ A penalty without a Gram matrix
# :label: qr-ridge
# Weight decay minimizes $\|\mathbf{A}\mathbf{x} - \mathbf{b}\|^2 + \lambda \|\mathbf{x}\|^2$. The textbook solves
# $(\mathbf{A}^\top\mathbf{A} + \lambda\mathbf{I})\mathbf{x} = \mathbf{A}^\top\mathbf{b}$. Write
# `ridge(a, b, lam)` that never forms $\mathbf{A}^\top\mathbf{A}$.
# ```

# %%
def ridge(a, b, lam):
    raise NotImplementedError('your turn')

# %%
def textbook(a, b, lam):
    return np.linalg.solve(a.T @ a + lam * np.eye(a.shape[1]), a.T @ b)

ridge_rng = np.random.default_rng(8)
ridge_cases = [
    (ridge_rng.normal(size=(9, 3)), ridge_rng.normal(size=9), lam)
    for lam in (0.0, 0.1, 5.0)
]
grade(ridge, textbook, ridge_cases)

# %% [markdown]
# ```{solution-start} qr-ridge
# :class: dropdown
# ```
# The sum of two squared lengths is one squared length: of $\mathbf{A}\mathbf{x} - \mathbf{b}$ with
# $\sqrt\lambda\,\mathbf{x} - \mathbf{0}$ underneath. So append $n$ rows $\sqrt\lambda\,\mathbf{I}$ to $\mathbf{A}$, $n$
# zeros to $\mathbf{b}$, and solve an ordinary least-squares problem. The wrong answer forgets the root.

# %% jupyter={"source_hidden": true}
def stacked(a, b, weight):
    rows = np.vstack([a, weight * np.eye(a.shape[1])])
    return solve_with(triangularize, rows, np.r_[b, np.zeros(a.shape[1])])

def ridge_solution(a, b, lam):
    return stacked(a, b, np.sqrt(lam))

assert grade(ridge_solution, textbook, ridge_cases)
assert not grade(stacked, textbook, ridge_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Where it matters: ten measurements and all their products
#
# Of 442 patients with diabetes, ten numbers are known (age, sex, body mass index, blood pressure, six blood values), and
# how far the disease had come a year later {cite}`efron2004least`. Perhaps two numbers act together. So take a constant,
# the ten, and all 55 squares and products: 66 columns, each scaled to length one.

# %%
x, y, names = diabetes()
pairs = list(combinations_with_replacement(range(10), 2))
columns = {'1': np.ones(len(x))} | dict(zip(names, x.T, strict=True))
columns |= {f'{names[i]} {names[j]}': x[:, i] * x[:, j] for i, j in pairs}
A = np.stack(list(columns.values()), 1)
scale = np.linalg.norm(A, axis=0)
A /= scale  # (442, 66)

# %% [markdown]
# Does each column say something new? In {eq}`qr-height` a column that does not would have the height zero, but in which
# order should they come? *Pivoting* puts, at each step, the column with the longest remainder next. Then
# $|r_{11}| \ge |r_{22}| \ge \dots$, and the rank is where this sequence drops to rounding errors.

# %%
def pivoted(a):  # -> order, r with a[:, order] = q r
    r, order = a.copy(), np.arange(a.shape[1])
    for j in range(min(a.shape)):
        k = j + np.linalg.norm(r[j:, j:], axis=0).argmax()
        r[:, [j, k]], order[[j, k]] = r[:, [k, j]], order[[k, j]]
        v = r[j:, j].copy()
        v[0] += np.copysign(np.linalg.norm(v), v[0])
        v /= np.linalg.norm(v) or 1
        r[j:, j:] -= 2 * np.outer(v, v @ r[j:, j:])
    return order, np.triu(r[:a.shape[1]])

rng = np.random.default_rng(9)
for _ in range(20):
    a = rng.normal(size=(12, 5)) @ rng.normal(size=(5, 8))  # rank 5
    (order, r), (r_scipy, p) = pivoted(a), scipy.linalg.qr(
        a, mode='r', pivoting=True)
    assert (order[:5] == p[:5]).all()
    assert close(abs(r[:5]), abs(r_scipy[:5][:, np.argsort(p)][:, order]))
    assert (abs(np.diag(r)) > 1e-12 * abs(r[0, 0])).sum() == 5

# %%
order, r = pivoted(A)
heights = abs(np.diag(r))
rank = (heights > 1e-12 * heights[0]).sum()
print(f'{A.shape[1]} columns, rank {rank}')
dependency = np.zeros(66)
dependency[order[:65]] = np.linalg.solve(r[:65, :65], -r[:65, 65])
dependency[order[65]] = 1
dependency /= scale
dependency /= dependency[list(columns).index('sex sex')]
for name, c in zip(columns, dependency, strict=True):
    if abs(c) > 1e-9:
        print(f'{c:+.3f} * {name}')

# %% [markdown]
# The sum of these three is zero, for every patient. Of course: sex is coded as 1 or 2, and
# $s^2 - 3s + 2 = (s - 1)(s - 2)$. It is easily overlooked, and the last pivot finds it. (Pivoting is not infallible: for
# some matrices, found by Kahan, the last $r_{jj}$ stays far above $\sigma_n$. They hardly ever come up
# {cite}`golub2013matrix`.)
#
# We drop the square of sex and fit the weights of the remaining 65 columns, in double and then in single precision, as
# on a graphics card, where $\varepsilon = 2^{-24} \approx 6 \cdot 10^{-8}$. What remains is
# $\kappa \approx 2 \cdot 10^5$, so $\varepsilon\kappa \approx 2^{-24} \cdot 2.1 \cdot 10^5 \approx 0.013$, but
# $\varepsilon\kappa^2 \approx 2^{-24} (2.1 \cdot 10^5)^2 \approx 2600$. A doctor reads the *signs* of the weights: does
# this product speed the disease up or slow it down?

# %%
keep = [k for k, name in enumerate(columns) if name != 'sex sex']
A65 = A[:, keep]

def by_mirrors(a, b):
    q, r = np.linalg.qr(a)  # numpy's mirrors
    return np.linalg.solve(r, q.T @ b)

def by_gram(a, b):
    return np.linalg.solve(a.T @ a, a.T @ b)

weights = by_mirrors(A65, y)
assert close(weights, np.linalg.lstsq(A65, y)[0])
single = A65.astype(np.float32), y.astype(np.float32)
wrong = {solve: (np.sign(solve(*single)) != np.sign(weights)).sum()
         for solve in (by_gram, by_mirrors)}
print(f'condition number {np.linalg.cond(A65):.1e}')
print('single precision, wrong signs of 65: normal equations',
      between(wrong[by_gram], 6, 65), 'and mirrors', wrong[by_mirrors])

# %%
def off(w):  # relative error of the weights
    return np.linalg.norm(w - weights) / np.linalg.norm(weights)

rounded = [part.astype(float) for part in single]
unavoidable = off(by_mirrors(*rounded))  # the table rounded, nothing else
assert wrong[by_mirrors] == 0 and wrong[by_gram] > 5
assert off(by_mirrors(*single)) < 10 * unavoidable < 0.1
print('mirrors: all signs right:', wrong[by_mirrors] == 0)
print('mirrors: error in units of that of rounding the table is',
      between(off(by_mirrors(*single)) / unavoidable, 0.1, 10))
stored = (single[0].T @ single[0]).astype(float)
print('the Gram matrix as stored has an eigenvalue below zero:',
      np.linalg.eigvalsh(stored)[0] < 0)

# %% [markdown]
# Half the price, a table of weights with many a wrong sign, and no warning from the solver. With a residual as large as
# here, {eq}`qr-sensitivity` would have allowed the mirrors to err as well. But backward stability means that their answer
# is as good as if nothing but the table had been rounded, and to that these weights are not so sensitive.
#
# ```{exercise} ★★★ Leave one out, for free
# :label: qr-loo
# Are the products worth having? To judge a fit by patients it has not seen, leave out patient $i$, fit the others, and take
# the error at $i$; and so for all 442. Show that with $h_i = \|\text{row } i \text{ of } \mathbf{Q}\|^2$ and the residual
# $r_i$ of the *one* fit to all, that error is $r_i / (1 - h_i)$, provided that $h_i < 1$. Write `leave_one_out(a, b)`,
# which gives all $m$ errors, and compare the 11 columns without products to all 65.
# ```

# %%
def leave_one_out(a, b):
    raise NotImplementedError('your turn')

# %%
def by_refitting(a, b):
    fits = [np.linalg.lstsq(np.delete(a, i, 0), np.delete(b, i))[0]
            for i in range(len(a))]
    return b - (a * np.array(fits)).sum(1)

loo_rng = np.random.default_rng(10)
loo_cases = [(loo_rng.normal(size=(m, n)), loo_rng.normal(size=m))
             for m, n in ((5, 1), (9, 3), (30, 6))]
grade(leave_one_out, by_refitting, loo_cases)

# %% [markdown]
# ```{solution-start} qr-loo
# :class: dropdown
# ```
# Let $\tilde y_i$ be the prediction for $i$ of the fit without $i$. Replace $b_i$ by $\tilde y_i$. The fit without $i$ is
# now the best one for *all* rows: it is the best for the others, and at $i$ it makes no error at all. But fitting all rows
# is the shadow $\mathbf{Q}\mathbf{Q}^\top$, which is linear: lowering $b_i$ by $b_i - \tilde y_i$ lowers prediction
# $i$ by $h_i (b_i - \tilde y_i)$, since $h_i$ is entry $i, i$ of $\mathbf{Q}\mathbf{Q}^\top$. So
# $\tilde y_i = \hat y_i - h_i (b_i - \tilde y_i)$, and therefore $(1 - h_i)(b_i - \tilde y_i) = b_i - \hat y_i = r_i$. The
# wrong answer multiplies by $1 - h_i$. On the fitted patients the products win, on patients not seen they lose:

# %% jupyter={"source_hidden": true}
def leave_one_out_solution(a, b, power=-1):
    q, _ = np.linalg.qr(a)
    h = (q * q).sum(1)
    return (b - q @ (q.T @ b)) * (1 - h) ** power

def times(a, b):
    return leave_one_out_solution(a, b, power=1)

assert grade(leave_one_out_solution, by_refitting, loo_cases)
assert not grade(times, by_refitting, loo_cases)
for name, a in (('11 columns', A[:, :11]), ('65 columns', A65)):
    seen, unseen = (np.sqrt(np.mean(leave_one_out_solution(a, y, p) ** 2))
                    for p in (0, -1))
    print(f'{name}: error {seen:.1f} if seen, {unseen:.1f} if left out')
constant = np.sqrt(np.mean((y - y.mean()) ** 2))
print(f'the mean as prediction: {constant:.1f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Summary
#
# Every matrix with at least as many rows as columns is a matrix with orthonormal columns times a triangular one; for
# independent columns and a positive diagonal the two are unique, the diagonal holds heights, and its product is a volume. On
# a computer the order of the steps decides: classical Gram–Schmidt loses right angles like $\varepsilon\kappa^2$, modified
# like $\varepsilon\kappa$, mirrors and turns not at all. Least squares by mirrors is as accurate as the data allow, while
# forming $\mathbf{A}^\top\mathbf{A}$ squares the condition number and can cost all digits of the answer.
#
# **Further reading.** {cite}`trefethen1997numerical` for the view that everything is QR, {cite}`golub2013matrix` for all
# variants with their operation counts, {cite}`higham2002accuracy` for the proofs of stability, and
# {cite}`bjorck1996numerical` for least squares.
