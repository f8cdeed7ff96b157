# ---
# jupyter:
#   book:
#     functions:
#       determinant: determinant(normal(4, 4))
#       eliminate: eliminate(normal(4, 4))
#       leibniz: leibniz(normal(4, 4))
#       slogdet: slogdet(normal(4, 4))
#     main: det-leibniz
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Determinants
#
# A drawing program shears and stretches a logo by a $2 \times 2$ matrix. How much more ink does
# the new logo need? One number, computed from the matrix, gives the answer for every logo: the determinant. It also says whether
# a system of equations has a unique solution, and how a probability density changes under a map.
#
# - **You need** linear maps and independence ([norms](../linear_algebra/norms.ipynb)) and the
#   [product of matrices](../linear_algebra/matrix_multiplication.ipynb).
# - **You build** the determinant in $n!$ and in $n^3$ operations, its logarithm, and a program that unmixes photographs.
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
import math
from fractions import Fraction
from itertools import combinations, permutations

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from matplotlib.cbook import get_sample_data
from scipy.optimize import minimize
from scipy.special import gammaln, psi
from scipy.stats import multivariate_normal, norm
from sklearn.decomposition import FastICA

from nbutils.cases import integers, lists, matrices, on, scalars, seeds, square_matrices, vectors
from nbutils.checks import below, close, grade, verify
from nbutils.data import photograph
from nbutils.figures import GREY, label_lines, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## The determinant: areas with a sign, and the sum over permutations
#
# The logo is a letter F, a polygon with ten corners. The area of a polygon can be computed from its corners, by the shoelace
# formula. We compare it before and after the map:

# %%
logo = np.array([[2, 2, 7, 7, 4, 4, 6, 6, 4, 4],
                 [1, 9, 9, 7, 7, 6, 6, 4, 4, 1]]) / 10  # corners, (2, 10)

def area(corners):  # shoelace formula
    x, y = corners
    return abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2

A = np.array([[1.2, 0.7], [-0.3, 1.0]])
print(f'area {area(logo):.3f}, after the map {area(A @ logo):.3f},',
      f'quotient {area(A @ logo) / area(logo):.3f}')
print('1.2 · 1.0 - 0.7 · (-0.3) =', round(1.2 * 1.0 - 0.7 * -0.3, 3))

# %% [markdown]
# The quotient is the same for every polygon. For a $2 \times 2$ matrix it is the absolute value of the number $a_{11}a_{22} - a_{12}a_{21}$, which is called
# the **determinant**, and we shall see why. The determinant can be negative: then the map also mirrors the logo.

# %% mystnb={"image": {"alt": "A letter F in the unit square and four images of it, as the second column turns towards the first and past it. The determinant in the titles goes from 1.37 over 0.77 to 0, where the picture is a line, and to minus 0.79, where the F is mirrored."}} tags=["hide-input"]
square = np.array([[0, 1, 1, 0], [0, 0, 1, 1]])
first = np.array([1.1, 0.5])
fig, axes = panels(5, height=1.6, sharey=True)
for ax, angle in zip(axes, (None, 105, 58, 24.444, -10), strict=True):
    theta = np.radians(angle or 0)
    second = 1.15 * np.array([np.cos(theta), np.sin(theta)])
    B = np.stack([first, second], 1) if angle else np.eye(2)
    value = B[0, 0] * B[1, 1] - B[0, 1] * B[1, 0]
    ax.fill(*B @ square, color=GREY, alpha=0.25, lw=0)
    ax.fill(*B @ logo, color='C0' if value >= 0 else 'C1', lw=0.8,
            ec='C0' if value >= 0 else 'C1')
    for vector, color in ((B[:, 0], 'C4'), (B[:, 1], 'C2')):
        ax.annotate('', vector, (0, 0), arrowprops=dict(
            arrowstyle='-|>', color=color, lw=1.4, shrinkA=0, shrinkB=0))
    title = f'{value + 0.0:.2f}'.replace('-', '−').replace('−0.00', '0.00')
    ax.set_title(f'det = {title}' if angle else 'det = 1')
    ax.set(aspect='equal', xlim=(-0.4, 2.35), ylim=(-0.3, 1.75))
    ax.axis('off');

# %% [markdown] tags=["caption"]
# As the second column turns past the first, the determinant falls through zero, where the picture is flat, and is negative
# where the letter is mirrored.

# %% [markdown]
# ### Three rules
#
# The unit square becomes the parallelogram whose edges are the columns of $\mathbf{A}$. How does its area depend on them? Slide the end of $\mathbf{b}$
# parallel to $\mathbf{a}$: what is cut off on one side is gained on the other, and the area stays (left). Put
# $\mathbf{b} + \mathbf{c}$ in place of $\mathbf{b}$: the base is still $\mathbf{a}$, and the heights add (middle). But if
# $\mathbf{c}$ points below the base, they add only if a height below the base counts as negative (right).

# %% mystnb={"image": {"alt": "Three panels over the same base vector a. Left: two parallelograms of the same height, one slid along a. Middle: the heights of b and c, both above a, add to the height of b plus c. Right: c points below a, and the height of b plus c is the height of b less that of c."}} tags=["hide-input"]
fig, axes = panels(3, height=2.1, sharey=True)
a, b = np.array([2.2, 0]), np.array([0.4, 1.2])

def edge(ax, start, v, color, label='', shift=(0, 0)):
    ax.fill(*np.stack([start, start + a, start + a + v, start + v], 1),
            color=color, alpha=0.3, lw=0)
    ax.annotate('', start + v, start, arrowprops=dict(
        arrowstyle='-|>', color=color, lw=1.6, shrinkA=0, shrinkB=0))
    ax.text(*(start + v / 2 + shift), label, color=color, ha='center')

edge(axes[0], 0 * a, b, 'C0')
edge(axes[0], 0 * a, b + [0.9, 0], 'C1')
for ax, c in ((axes[1], np.array([0.5, 0.8])), (axes[2], [0.5, -0.8])):
    edge(ax, 0 * a, b, 'C0', 'b', (-0.25, 0))
    edge(ax, b, np.array(c), 'C1', 'c', (-0.25 if c[1] > 0 else 0.2, 0))
    way = np.stack([0 * a, b + c, b + c + a, a], 1)
    ax.plot(*way, color='C2', lw=1.4)
    ax.text(*(b + c + a + [0.08, -0.1]), 'b + c', color='C2')
for ax, title in zip(axes, ('Slide: same area', 'Above the base: add',
                            'Below: subtract'), strict=True):
    ax.plot([0, 2.2], [0, 0], color=GREY, lw=2.4)
    ax.text(1.0, -0.36, 'a')
    ax.set(aspect='equal', xlim=(-0.4, 4), ylim=(-0.4, 2.2), title=title)
    ax.axis('off');

# %% [markdown] tags=["caption"]
# Area is linear in each edge only if it has a sign. To slide $\mathbf{b}$ along $\mathbf{a}$ changes nothing, a $\mathbf{c}$
# above the base adds, and one below it subtracts.

# %% [markdown]
# ```{prf:definition} Determinant
# :label: def-det
# The *determinant* is the function of the columns of an $n \times n$ matrix that is (1) linear in each column while the
# others are held fixed, (2) zero if two columns are equal, and (3) one for the identity.
# ```
#
# Rules 1 and 2 give the sign. Put $\mathbf{a} + \mathbf{b}$ into two places:
#
# $$0 = \det[\mathbf{a} + \mathbf{b}, \mathbf{a} + \mathbf{b}] =
# \underbrace{\det[\mathbf{a}, \mathbf{a}]}_0 + \det[\mathbf{a}, \mathbf{b}] + \det[\mathbf{b}, \mathbf{a}] +
# \underbrace{\det[\mathbf{b}, \mathbf{b}]}_0 .$$
#
# So an exchange of two columns changes the sign. And if we add a multiple of one column to another, nothing changes, because the
# extra term has two proportional columns.
#
# The rules also give a formula. Write each column as $\mathbf{a}_j = \sum_i a_{ij} \mathbf{e}_i$ and expand by rule 1. All terms in which a unit vector
# $\mathbf{e}_i$ comes twice are zero. What remains are the permutations $\sigma$ of the unit vectors, and exchanges bring each of them back to the identity:
#
# ```{math}
# :label: det-leibniz
# \det \mathbf{A} = \sum_{\sigma} \operatorname{sgn}(\sigma)\, a_{\sigma(1)1}\, a_{\sigma(2)2} \cdots a_{\sigma(n)n}
# ```
#
# Here $\operatorname{sgn}(\sigma)$ is $-1$ if the number of exchanges is odd. It can be counted by *inversions*, the pairs that stand in the wrong
# order. For $n = 2$ there are two permutations, and the sum is $a_{11}a_{22} - a_{21}a_{12}$.

# %%
def leibniz(a, sign=-1):  # a (..., n, n) -> (...)
    n = a.shape[-1]
    rows = np.array(list(permutations(range(n))))  # (n!, n)
    i, j = np.triu_indices(n, 1)
    signs = sign ** (rows[:, i] > rows[:, j]).sum(-1)  # (n!,)
    return (signs * a[..., rows, range(n)].prod(-1)).sum(-1)

# %%
a = np.array([[1, 2], [3, 4]])
print('determinant', leibniz(a), '  without signs', leibniz(a, sign=1))
print('determinant of the map of the logo', leibniz(A).round(3))

# %% [markdown]
# (The sum without signs is called the *permanent*.)
#
# ```{prf:theorem} Existence and uniqueness
# :label: thm-det
# The sum {eq}`det-leibniz` obeys the three rules, and nothing else does. A function $D$ that obeys only the first two is a
# multiple of it: $D(\mathbf{A}) = D(\mathbf{I}) \det \mathbf{A}$. Moreover $\det \mathbf{A}^\top = \det \mathbf{A}$, so rows
# obey the rules as columns do.
# ```
#
# ```{prf:proof}
# :class: dropdown
# *Signs.* Could one way of sorting take an odd number of exchanges and
# another an even one? An exchange of neighbours changes the number of inversions by exactly one. To exchange two entries with $d$ others between
# them, move one past $d + 1$ neighbours and the other back past $d$: an odd number of steps. So each exchange changes the parity of the inversions, and
# $\operatorname{sgn}(\sigma) = (-1)^{\text{inversions}}$ whichever way we sort.
#
# The expansion used rule 3 only for the value at $\mathbf{I}$; this is the statement about $D$, and uniqueness. *Existence.*
# Each term of the sum has one factor from each column, which is rule 1. For $\mathbf{I}$ only the identical permutation
# contributes: rule 3. If columns $p$ and $q$ are equal, pair each $\sigma$ with the one that exchanges $\sigma(p)$ and
# $\sigma(q)$: the product is the same, the sign opposite, and all cancels: rule 2. *Transpose.* Ordered by rows, the factors
# of a term are $a_{i\,\sigma^{-1}(i)}$. The pair $p < q$ is an inversion of $\sigma$ exactly if the pair
# $\sigma(q) < \sigma(p)$ is one of $\sigma^{-1}$, so both have the same sign.
# ```
#
# ### Product rule, inverses and eigenvalues
#
# ```{prf:theorem} Product rule
# :label: thm-det-product
# $\det(\mathbf{A}\mathbf{B}) = \det \mathbf{A} \, \det \mathbf{B}$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Hold $\mathbf{A}$ fixed. Column $j$ of $\mathbf{A}\mathbf{B}$ is $\mathbf{A}\mathbf{b}_j$. So
# $D(\mathbf{B}) = \det(\mathbf{A}\mathbf{B})$ is linear in each column $\mathbf{b}_j$, and zero if two of them are equal. By
# {prf:ref}`thm-det`, $D(\mathbf{B}) = D(\mathbf{I}) \det \mathbf{B} = \det \mathbf{A} \, \det \mathbf{B}$.
# ```
#
# Much follows from it.
#
# - $\mathbf{A}$ is invertible exactly if $\det \mathbf{A} \ne 0$, and then $\det \mathbf{A}^{-1} = 1 / \det \mathbf{A}$, because the product
#   of the two is $\det \mathbf{I} = 1$. If $\mathbf{A}$ is not invertible, one column is a combination of the others, and rules 1 and 2 give zero.
# - $\det(\mathbf{S}^{-1}\mathbf{A}\mathbf{S}) = \det \mathbf{A}$: the determinant belongs to the map and does not depend on the basis.
# - A triangular matrix has the product of its diagonal as determinant, because all other permutations meet a zero.
# - An eigenvalue is a number $\lambda$ for which $\lambda\mathbf{I} - \mathbf{A}$ is not invertible. So the eigenvalues are the zeros of the polynomial
#   $\det(\lambda\mathbf{I} - \mathbf{A}) = \prod_i (\lambda - \lambda_i)$, and $\lambda = 0$ gives $\det \mathbf{A} = \lambda_1 \cdots \lambda_n$.
#
# For sums there is no such rule.
#
# :::{admonition} A tempting mistake
# :class: tip
# A factor comes out of *each* column, so $\det(3\mathbf{A})$ is $3^n \det \mathbf{A}$, not $3 \det \mathbf{A}$. For the
# $2 \times 2$ matrix with the determinant $-2$ above it is $9 \cdot (-2) = -18$.
# :::
#
# ```{exercise} ★★ Program: Cramer's rule
# :label: det-cramer
# Let $\mathbf{A}\mathbf{x} = \mathbf{b}$, that is, $\mathbf{b} = \sum_j x_j \mathbf{a}_j$. Put $\mathbf{b}$ in place of
# column $i$ of $\mathbf{A}$, and find what the determinant becomes. Write `cramer(a, b)`, which solves the system by
# quotients of determinants, for whole numbers `a`.
# ```

# %%
def cramer(a, b):
    """The solution x of a @ x = b, by quotients of determinants: (n,).

    The arrays a (n, n) and b (n,) hold ints from -9 to 9, n is at
    most 4, and det a is not 0. No solver of numpy is allowed.
    cramer(np.array([[2, 0], [0, 4]]), np.array([2, 6])) is [1, 1.5].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_elimination(a, b):
    return np.linalg.solve(a, b)

def as_ints(a):
    return a.round().astype(int)

def has_inverse(a):
    return round(np.linalg.det(a)) != 0

cases = dict(
    a=square_matrices((1, 4), -9, 9, edges=True).map(as_ints).filter(has_inverse),
    b=lambda a: vectors(len(a), -9, 9, edges=True).map(as_ints),
    without=[f'numpy.linalg.{name}' for name in ('solve', 'inv', 'lstsq', 'pinv', 'qr', 'svd')],
)
grade(cramer, by_elimination, **cases)

# %% [markdown]
# ```{solution-start} det-cramer
# :class: dropdown
# ```
# Linear in column $i$, the new determinant is $\sum_j x_j \det[\dots, \mathbf{a}_j, \dots]$, and all terms but $j = i$ have
# a column twice. So it is $x_i \det \mathbf{A}$. With $\mathbf{b} = \mathbf{e}_j$ the rule gives column $j$ of the inverse:
# $(\mathbf{A}^{-1})_{ij} = C_{ji} / \det \mathbf{A}$, where the *cofactor* $C_{ji}$ is the determinant of $\mathbf{A}$ with
# $\mathbf{e}_j$ in column $i$. (The matrix of the $C_{ji}$ is the *adjugate*.) The wrong answers replace rows, forget to
# divide, or multiply by the inverse of the library.

# %% jupyter={"source_hidden": true}
def cramer_solution(a, b):
    replaced = np.repeat(a[None], len(b), 0)
    for i in range(len(b)):
        replaced[i, :, i] = b
    return leibniz(replaced) / leibniz(a)

def rows_replaced(a, b):
    return cramer_solution(a.T, b)

def without_division(a, b):
    return cramer_solution(a, b) * leibniz(a)

def by_the_inverse(a, b):
    return np.linalg.inv(a) @ b

assert grade(cramer_solution, by_elimination, **cases)
assert not grade(rows_replaced, by_elimination, **cases)
assert not grade(without_division, by_elimination, **cases)
assert not grade(by_the_inverse, by_elimination, **cases)
unit = np.eye(3, dtype=int)
for a in np.random.default_rng(2).integers(-9, 10, (6, 3, 3)):
    inverse = np.stack([cramer_solution(a, e) for e in unit], 1)
    assert close(inverse, np.linalg.inv(a))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def whole(seed, *shape):  # numbers from -9 to 9
    return np.random.default_rng(seed).integers(-9, 10, shape)


verify(
    'the signed sum over permutations is the determinant',
    lambda n, seed: (
        leibniz(whole(seed, n, n)) == sp.Matrix(whole(seed, n, n)).det()
    ),
    slip=(
        'forgets the signs',
        lambda n, seed: (
            leibniz(whole(seed, n, n), sign=1)
            == sp.Matrix(whole(seed, n, n)).det()
        ),
    ),
    n=integers(1, 6),
    seed=seeds(),
)

# %% tags=["checks"]
det = leibniz
double = np.array([[2, 0, 5], [0, 1, 0], [0, 0, 1]])
shear = double - np.diag([1, 0, 0])  # 5 times column 1 added to column 3
laws = {  # a law, a slip, and words for it
    'det AB = det A det B': (lambda A, B: det(A @ B) == det(A) * det(B),
                             lambda A, B: det(A + B) == det(A) + det(B),
                             'takes a sum for a product'),
    'det Aᵀ = det A': (lambda A, B: det(A.T) == det(A),
                       lambda A, B: det(np.rot90(A)) == det(A),
                       'turns the matrix by 90 degrees'),
    'det 3A = 27 det A, n = 3': (lambda A, B: det(3 * A) == 27 * det(A),
                                 lambda A, B: det(3 * A) == 3 * det(A),
                                 'takes the factor out only once'),
    'two columns exchanged change the sign': (
        lambda A, B: det(A[:, [1, 0, 2]]) == -det(A),
        lambda A, B: det(A[:, [1, 2, 0]]) == -det(A),
        'moves all three columns on by one'),
    'a multiple added to another column': (
        lambda A, B: det(A @ shear) == det(A),
        lambda A, B: det(A @ double) == det(A),
        'doubles a column as well'),
    'det A is the product of the eigenvalues': (
        lambda A, B: close(np.linalg.eigvals(A).prod(), det(A), atol=1e-6),
        lambda A, B: close(np.linalg.norm(A, axis=0).prod(), det(A)),
        'multiplies the lengths of the columns'),
}

# %% tags=["checks"]
for name, (law, wrong, words) in laws.items():
    verify(
        name,
        lambda seed: law(*whole(seed, 2, 3, 3)),
        tries=100,
        slip=(words, lambda seed: wrong(*whole(seed, 2, 3, 3))),
        seed=seeds(),
    )

# %% tags=["checks"]
corner = np.array([[1.2, 0.7], [-0.3, 1.0]])

def area_quotient(seed, factor):  # of a random triangle
    triangle = np.random.default_rng(seed).normal(size=(2, 3))
    return close(area(corner @ triangle) / area(triangle), factor(corner))

verify('the area of each triangle is multiplied by the determinant', lambda seed: area_quotient(seed, leibniz),
       slip=('adds the two products', lambda seed: area_quotient(seed, lambda a: leibniz(a, sign=1))), seed=seeds())
assert leibniz(3 * np.array([[1, 2], [3, 4]])) == -18 and close(leibniz(corner), 1.41)

# %% [markdown]
# ```{exercise} ★ Experiment: the determinant of coin tosses
# :label: det-coins
# Each entry of an $n \times n$ matrix is $1$ or $-1$, as a coin falls. Predict the mean of $(\det \mathbf{A})^2$ over all
# $2^{n^2}$ such matrices, for $n = 2, 3, 4$. Then count, and explain.
# ```

# %%
def predicted_means():
    """The means for n = 2, 3, 4: a list of three ints.

    If all these determinants were 1 or -1, it would be [1, 1, 1].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def counted_means():
    means = []
    for n in (2, 3, 4):
        bits = np.arange(2 ** (n * n))[:, None] >> np.arange(n * n) & 1
        det = np.linalg.det((1.0 - 2 * bits).reshape(-1, n, n))
        means.append(round(np.mean(det**2)))
    return means

grade(predicted_means, counted_means, [()])

# %% [markdown]
# ```{solution-start} det-coins
# :class: dropdown
# ```
# Square the sum over all permutations {eq}`det-leibniz`. A product of two different terms contains some entry once only, so
# its mean is 0. The square of each of the $n!$ terms is 1. Therefore the mean is $n!$. The wrong answers take the columns to be
# orthogonal, count the term of the diagonal alone, or let all terms cancel, which is true for the mean of $\det \mathbf{A}$
# and not for the mean of its square.

# %% jupyter={"source_hidden": true}
def predicted_means_solution():
    return [2, 6, 24]

def orthogonal_columns():
    return [4, 27, 256]

def diagonal_alone():
    return [1, 1, 1]

def all_cancel():
    return [0, 0, 0]

assert grade(predicted_means_solution, counted_means, [()])
assert not grade(orthogonal_columns, counted_means, [()])
assert not grade(diagonal_alone, counted_means, [()])
assert not grade(all_cancel, counted_means, [()])
print('counted for n = 2, 3, 4:', *counted_means())

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Determinants as factors of volumes: densities and heights
#
# In space, three columns span a slanted box, and the determinant is its volume with a sign. But what about a shape that is no box?
#
# ```{prf:theorem} The factor of volumes
# :label: thm-det-volume
# A linear map multiplies the volume of every region by $|\det \mathbf{A}|$. (A region: bounded, and its boundary has volume
# zero.)
# ```
#
# ```{prf:proof}
# :class: dropdown
# Cut space into small equal cubes. They are translates of each other, so their images are too, and each cube has its volume
# multiplied by the same number $c(\mathbf{A})$, whatever its size: a cube cut into $m^n$ equal parts shows that. The region
# contains some cubes and meets some others at its boundary, whose total volume tends to zero as they shrink. So its volume,
# too, is multiplied by $c(\mathbf{A})$. First $\mathbf{B}$, then $\mathbf{A}$ multiplies it by
# $c(\mathbf{A}\mathbf{B}) = c(\mathbf{A})\, c(\mathbf{B})$.
#
# *Simple maps.* To exchange two axes changes no volume; to stretch one axis by $t$ multiplies all volumes by $|t|$; a
# *shear*, which adds to one coordinate a multiple of another, only slides the slices of a region along themselves and
# changes no volume. In each case $c = |\det|$. *All maps.* Elimination turns an invertible $\mathbf{A}$ into $\mathbf{I}$ by
# exchanges of rows, stretches and shears. Read backwards, $\mathbf{A}$ is a product of simple matrices, and $c$ and $|\det|$
# obey the same product rule. If $\mathbf{A}$ is not invertible, everything is flattened into a hyperplane, and both are
# zero.
# ```
#
# The formula $\int f(\mathbf{A}\mathbf{x})\, |\det\mathbf{A}|\, d\mathbf{x} = \int f(\mathbf{y})\, d\mathbf{y}$ for substitutions is the same statement. It is
# the reason why determinants stand in so many densities.
#
# ### Densities: the change of variables
#
# If $\mathbf{x}$ is random with the density $p$,
# then $\mathbf{y} = \mathbf{A}\mathbf{x}$ with an invertible $\mathbf{A}$ has the density
#
# ```{math}
# :label: det-density
# p_{\mathbf{y}}(\mathbf{y}) = \frac{p(\mathbf{A}^{-1}\mathbf{y})}{|\det \mathbf{A}|} ,
# ```
#
# because the probability of a small region is density times volume. The map carries the probability along and multiplies the volume by $|\det\mathbf{A}|$. For
# standard normal $\mathbf{x}$ this is the normal density with covariance $\mathbf{A}\mathbf{A}^\top$:

# %%
y = np.array([1.0, 2.0])
x = np.linalg.solve(A, y)
print(f'by the formula: {norm.pdf(x).prod() / leibniz(A):.6f}')
print(f'by scipy:       {multivariate_normal(cov=A @ A.T).pdf(y):.6f}')

# %% [markdown]
# The same is true of a smooth map near a point, where its matrix is the [Jacobian](../calculus/jacobians.ipynb).
#
# ### Base times height
#
# Subtract from each column its projection on the earlier ones. By the rules this does not change the determinant. What is left of column $j$ is perpendicular to the others, and its length $h_j$ is the height of $\mathbf{a}_j$
# over the span of the earlier columns. For perpendicular columns $\mathbf{B}^\top\mathbf{B}$ is diagonal, so
# $(\det \mathbf{B})^2 = \det(\mathbf{B}^\top\mathbf{B}) = \prod_j h_j^2$, and
#
# ```{math}
# :label: det-heights
# |\det \mathbf{A}| = h_1 h_2 \cdots h_n \le \|\mathbf{a}_1\| \, \|\mathbf{a}_2\| \cdots \|\mathbf{a}_n\| .
# ```
#
# The inequality is Hadamard's: of all boxes with given lengths of the edges, the upright one is the largest. The formula also measures a
# parallelogram in space: $k$ vectors in $\mathbb{R}^n$ span the
# volume $\sqrt{\det(\mathbf{A}^\top\mathbf{A})}$, the product of their heights.

# %%
def lengths(a):
    return np.linalg.norm(a, axis=0)

def heights(a):  # over the span of the earlier columns
    return abs(np.diag(np.linalg.qr(a).R))

a = np.array([[3, 1], [0, 2], [4, 2]])  # two vectors in space
print(f'area {np.sqrt(np.linalg.det(a.T @ a)):.3f},',
      f'product of the heights {heights(a).prod():.3f},',
      f'of the lengths {lengths(a).prod():.3f}')

# %% [markdown]
# ```{exercise} ★★ Program: Pythagoras for areas
# :label: det-pythagoras
# The square of a length is the sum of the squares of its projections on the axes. Show that the same holds for areas and
# volumes: $\det(\mathbf{A}^\top\mathbf{A})$ is the sum of $(\det \mathbf{A}_S)^2$ over all choices $S$ of $k$ of the $n$
# rows. Hint: expand $\det(\mathbf{B}\mathbf{A})$, $\mathbf{B}$ of shape $k \times n$, in its columns
# $\sum_i a_{ij} \mathbf{b}_i$. Write `volume(a)` in this way.
# ```

# %%
def volume(a):
    """The k-dimensional volume that the columns of a (n, k) span: a float.

    1 <= k <= n. It is 0 for dependent columns, and right to six digits
    for nearly dependent ones, where the determinant of a.T @ a is only a
    rounding error. No factorization of numpy is allowed.
    volume(np.array([[3.], [4.]])) is 5.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_heights(a):  # of each column over those before
    return abs(np.diag(np.linalg.qr(a)[1])).prod()

def nearly_dependent(pair):
    return np.stack([pair[0], pair[0] + 1e-6 * pair[1]], 1)

narrow = integers(2, 5).flatmap(lambda n: matrices(2, n)).map(nearly_dependent)
plain = integers(1, 4).flatmap(lambda k: matrices((k, 6), k, edges=True))
cases = dict(
    a=plain | narrow,
    without=[f'numpy.linalg.{name}' for name in ('qr', 'svd', 'svdvals', 'eigvalsh', 'eigh', 'cholesky')],
    atol=1e-10,
)
grade(volume, by_heights, **cases)

# %% [markdown]
# ```{solution-start} det-pythagoras
# :class: dropdown
# ```
# By rule 1, $\det(\mathbf{B}\mathbf{A})$ is the sum over all $i_1, \dots, i_k$ of
# $a_{i_1 1} \cdots a_{i_k k} \det[\mathbf{b}_{i_1}, \dots, \mathbf{b}_{i_k}]$. A repeated index gives zero. Collect the
# terms whose indices are a given set $S$: sorting the columns gives a sign, and what remains is
# $\det \mathbf{B}_S \det \mathbf{A}_S$. So $\det(\mathbf{B}\mathbf{A}) = \sum_S \det \mathbf{B}_S \det \mathbf{A}_S$, the
# *Cauchy-Binet formula*; for $k = n$ it is the product rule. Put $\mathbf{B} = \mathbf{A}^\top$. The wrong answers add the
# areas without squaring them, take only projections on neighbouring axes, or take the root of $\det \mathbf{A}^\top
# \mathbf{A}$, which loses its digits where the columns are nearly dependent.

# %% jupyter={"source_hidden": true}
def projections(a):
    n, k = a.shape
    chosen = [a[list(S)] for S in combinations(range(n), k)]
    return np.linalg.det(np.array(chosen))

def volume_solution(a):
    return np.sqrt((projections(a) ** 2).sum())

def without_squares(a):
    return abs(projections(a)).sum()

def of_neighbours(a):
    n, k = a.shape
    return np.linalg.norm([np.linalg.det(a[i:i + k]) for i in range(n - k + 1)])

def by_gram(a):
    return np.sqrt(max(np.linalg.det(a.T @ a), 0))

assert grade(volume_solution, by_heights, **cases)
assert not grade(without_squares, by_heights, **cases)
assert not grade(of_neighbours, by_heights, **cases)
assert not grade(by_gram, by_heights, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def carried(n, seed, power):
    rng = np.random.default_rng(seed)
    A, y = rng.normal(size=(n, n)), rng.normal(size=(10, n))
    before = norm.pdf(np.linalg.solve(A, y.T).T).prod(-1)  # (10,)
    known = multivariate_normal(cov=A @ A.T).pdf(y)
    return close(before * abs(np.linalg.det(A)) ** power, known)

verify(
    'the density is divided by |det A|',
    lambda n, seed: carried(n, seed, -1),
    tries=50,
    slip=(
        'multiplies the density by the determinant',
        lambda n, seed: carried(n, seed, 1),
    ),
    n=[1, 2, 3],
    seed=seeds(),
)

def volume_is(seed, product):  # four vectors in six dimensions
    a = np.random.default_rng(seed).normal(size=(6, 4))
    root = np.sqrt(np.linalg.det(a.T @ a))
    return close(root, product(a)) and root <= lengths(a).prod()

verify(
    'the volume is the product of the heights, at most of the lengths',
    lambda seed: volume_is(seed, lambda a: heights(a).prod()),
    slip=(
        'multiplies the lengths of the edges',
        lambda seed: volume_is(seed, lambda a: lengths(a).prod()),
    ),
    seed=seeds(),
)

# %% [markdown]
# ## Computing determinants: elimination, blocks and the logarithm
#
# The sum over permutations has $n!$ terms. There is a shorter way. Adding a multiple of one row to another changes nothing, an exchange of rows changes the sign, and a triangular
# matrix has its determinant on the diagonal. So we eliminate below the diagonal, as in solving equations, and multiply
# the *pivots* that appear there. As pivot we take the largest entry that is left in the column ([LU decomposition](../linear_algebra/lu_decomposition.ipynb) explains why).

# %%
def eliminate(a):  # a (n, n) -> the pivots, the sign of the exchanges
    a, sign = a.copy(), 1
    for k in range(len(a)):
        p = k + abs(a[k:, k]).argmax()
        if p != k:
            a[[k, p]], sign = a[[p, k]], -sign
        if a[k, k] != 0:
            factors = a[k + 1:, k] / a[k, k]
            a[k + 1:, k + 1:] -= np.outer(factors, a[k, k + 1:])
    return a.diagonal(), sign

# %%
def determinant(a):
    pivots, sign = eliminate(a)
    return sign * pivots.prod()

a = np.array([[2.0, 1.0, 1.0], [4.0, 5.0, 3.0], [-2.0, 5.0, 6.0]])
print('pivots', eliminate(a)[0].round(3), '  determinant',
      determinant(a).round(6), '  sum over permutations', leibniz(a))

# %% [markdown]
# With $m$ rows below the pivot, a step takes $m + m^2$ products and quotients. With $n - 1$ products at the end this makes $(n^3 + 2n - 3)/3$. The plain sum needs
# $(n - 1)\, n!$. The *cofactor expansion*, which is often taught first, collects the terms by their factor from the first column, and still needs about $(e - 1)\, n!$:

# %%
for n in (3, 7, 20):
    print(f'n = {n:2}: permutations {(n - 1) * math.factorial(n):.2e},',
          f'elimination {(n**3 + 2 * n - 3) // 3}')

# %% mystnb={"image": {"alt": "Number of products against n, logarithmic. The permutation sum and the cofactor expansion rise together and cross the age of the universe, at a thousand million products a second, near n = 25. Elimination stays below ten thousand."}} tags=["hide-input"]
n = np.arange(2, 31)
factorial = np.exp(gammaln(n + 1.0))
fig, ax = plt.subplots(figsize=(6, 3))
lines = (((n - 1) * factorial, 'permutation sum'), ((np.e - 1) * factorial, 'cofactors'),
         ((n**3 + 2 * n - 3) / 3, 'elimination'))
for k, (line, label) in enumerate(lines):
    ax.semilogy(n, line, color=f'C{k}', label=label)
for duration, name in ((1, 'a second'), (3.2e7, 'a year'), (4.4e17, 'the age of the universe')):
    ax.axhline(1e9 * duration, color=GREY, lw=0.8, ls='--')
    ax.text(1.3, 2e9 * duration, name, fontsize=8.5)
ax.set(xlabel='n', ylabel='products', xlim=(1, 30), ylim=(1, 1e36))
ax.set_title('At a thousand million products a second')
label_lines(ax);

# %% [markdown] tags=["caption"]
# Elimination needs fewer than ten thousand products up to $n = 30$. For the permutation sum or cofactors, the age of the
# universe is too short from about $n = 25$ on.

# %% [markdown]
# ### Blocks and the matrix determinant lemma
#
# Elimination also works with blocks. If $\mathbf{A}$ is invertible, subtract $\mathbf{C}\mathbf{A}^{-1}$ times
# the upper rows from the lower ones:
#
# $$\det \begin{bmatrix} \mathbf{A} & \mathbf{B} \\ \mathbf{C} & \mathbf{D} \end{bmatrix}
# = \det \begin{bmatrix} \mathbf{A} & \mathbf{B} \\ \mathbf{0} & \mathbf{D} - \mathbf{C}\mathbf{A}^{-1}\mathbf{B}
# \end{bmatrix} = \det \mathbf{A} \; \det(\mathbf{D} - \mathbf{C}\mathbf{A}^{-1}\mathbf{B}) .$$
#
# Now take one matrix and eliminate in both directions, first downwards from $\mathbf{I}_k$, then upwards from
# $\mathbf{I}_n$:
#
# ```{math}
# :label: det-sylvester
# \det \begin{bmatrix} \mathbf{I}_k & -\mathbf{V} \\ \mathbf{U} & \mathbf{I}_n \end{bmatrix}
# = \det(\mathbf{I}_n + \mathbf{U}\mathbf{V}) = \det(\mathbf{I}_k + \mathbf{V}\mathbf{U})
# ```
#
# A determinant of size $n$ has become one of size $k$. For $k = 1$, and with $\det \mathbf{A}$ taken out of
# $\mathbf{A} + \mathbf{u}\mathbf{v}^\top$ first, this is the **matrix determinant lemma**
#
# ```{math}
# :label: det-lemma
# \det(\mathbf{A} + \mathbf{u}\mathbf{v}^\top) = \det \mathbf{A} \; (1 + \mathbf{v}^\top\mathbf{A}^{-1}\mathbf{u}) .
# ```
#
# For $\mathbf{A} = \mathbf{I}$, a change of rank one costs one dot product. *Normalizing flows* need the determinant of a
# Jacobian for every training example. Their layers are therefore chosen such that it is cheap, for example as the
# identity plus a matrix of rank one {cite}`rezende2015variational`.

# %% tags=["checks"]
def sylvester(seed, sign):  # in whole numbers
    rng = np.random.default_rng(seed)
    U, V = rng.integers(-3, 4, (5, 2)), rng.integers(-3, 4, (2, 5))
    big = leibniz(np.eye(5, dtype=int) + sign * U @ V)
    return big == leibniz(np.eye(2, dtype=int) + V @ U)

def lemma(seed, order):
    u, v, *A = np.random.default_rng(seed).normal(size=(7, 5))
    x, y = (u, v)[::order]
    updated = determinant(np.array(A)) * (1 + y @ np.linalg.solve(A, x))
    return close(updated, np.linalg.det(A + np.outer(u, v)))

def blocks(seed, formula):
    M = np.random.default_rng(seed).normal(size=(4, 4))
    return close(formula(M[:2, :2], M[:2, 2:], M[2:, :2], M[2:, 2:]),
                 np.linalg.det(M))

def schur(A, B, C, D):
    return determinant(A) * determinant(D - C @ np.linalg.solve(A, B))

def as_if_numbers(A, B, C, D):
    return determinant(A) * determinant(D) - determinant(B) * determinant(C)

# %% [markdown]
# ```{exercise} ★★★ Program: whole numbers all the way
# :label: det-bareiss
# The determinant of whole numbers is whole, but elimination wanders through fractions. Multiply instead of dividing, and
# replace $a_{ij}$ by $a_{kk} a_{ij} - a_{ik} a_{kj}$ in step $k$: the entries stay whole, but their digits double with every
# step. Yet each can be divided, without a remainder, by the pivot of the step before. Write `bareiss(a)`, in whole numbers
# only, and explain the division. (Python's whole numbers have no limit, so let `a` be an array of them with `dtype=object`.)
# ```

# %%
def bareiss(a):
    """The determinant of the ints in a (n, n), exactly: an int, n >= 1.

    a is an array of Python's ints, which have no limit, with dtype=object.
    bareiss(np.array([[10**20, 1], [1, 1]], object)) is 10**20 - 1.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_fractions(a):
    a, det = [[Fraction(v) for v in row] for row in a], Fraction(1)
    for k in range(len(a)):
        found = next((i for i in range(k, len(a)) if a[i][k]), None)
        if found is None:
            return 0
        if found != k:
            a[k], a[found], det = a[found], a[k], -det
        det *= a[k][k]
        for i in range(k + 1, len(a)):
            a[i] = [x - a[i][k] / a[k][k] * y for x, y in zip(a[i], a[k], strict=True)]
    return int(det)

def wholes(n):  # small ones give pivots of zero
    entries = integers(-3, 3) | integers(-10**12, 10**12)
    return (lists(integers(-1, 1), n * n, n * n) | lists(entries, n * n, n * n)).map(
        lambda entries: np.array(entries, object).reshape(n, n))

def same_int(got, want):
    return isinstance(got, int) and got == want

zeros = on(np.zeros((2, 2), int).astype(object))
cases = dict(a=integers(1, 5).flatmap(wholes) | zeros, same=same_int)
grade(bareiss, by_fractions, **cases)

# %% [markdown]
# ```{solution-start} det-bareiss
# :class: dropdown
# ```
# Let $d_k$ be the determinant of the upper left $k \times k$ block and $b_{ij}$ the one of size $k$ made of the first
# $k - 1$ rows and row $i$, and the first $k - 1$ columns and column $j$. Elimination with fractions has, before step $k$,
# the entry $b_{ij}/d_{k-1}$ in place $(i, j)$, since it does not change these determinants and the first $k - 1$ pivots
# multiply to $d_{k-1}$. So its step reads $b'_{ij}/d_k = b_{ij}/d_{k-1} - b_{ik} b_{kj} / (d_{k-1} b_{kk})$. With
# $b_{kk} = d_k$ this is $b'_{ij} = (b_{kk} b_{ij} - b_{ik} b_{kj}) / d_{k-1}$, and both $b$ and $b'$ are determinants of
# whole numbers {cite}`bareiss1968sylvester`. So no entry is larger than {eq}`det-heights` allows a determinant to be. The
# wrong answers divide by the present pivot, give up at a pivot of zero without looking for another row, or round the
# determinant of the library.

# %% jupyter={"source_hidden": true}
def bareiss_solution(a):
    a, sign, before = np.array(a), 1, 1
    for k in range(len(a) - 1):
        rows = np.flatnonzero(a[k:, k])
        if not rows.size:
            return 0
        if rows[0]:
            a[[k, k + rows[0]]], sign = a[[k + rows[0], k]], -sign
        cross = a[k, k] * a[k + 1:, k + 1:]
        cross = cross - np.outer(a[k + 1:, k], a[k, k + 1:])
        a[k + 1:, k + 1:] = cross // before
        before = a[k, k]
    return sign * a[-1, -1]

def by_the_present_pivot(a):
    a = a.copy()
    for k in range(len(a) - 1):
        if a[k, k] == 0:
            return 0
        cross = a[k, k] * a[k + 1:, k + 1:] - np.outer(a[k + 1:, k], a[k, k + 1:])
        a[k + 1:, k + 1:] = cross // a[k, k]
    return a[-1, -1]

def without_exchange(a):
    a, before = a.copy(), 1
    for k in range(len(a) - 1):
        if a[k, k] == 0:
            return 0
        cross = a[k, k] * a[k + 1:, k + 1:] - np.outer(a[k + 1:, k], a[k, k + 1:])
        a[k + 1:, k + 1:], before = cross // before, a[k, k]
    return a[-1, -1]

def rounded(a):
    return round(np.linalg.det(a.astype(float)))

assert grade(bareiss_solution, by_fractions, **cases)
assert not grade(by_the_present_pivot, by_fractions, **cases)
assert not grade(without_exchange, by_fractions, **cases)
assert not grade(rounded, by_fractions, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def in_fractions(n, seed, by):
    return by(whole(seed, n, n) * Fraction(1)) == leibniz(whole(seed, n, n))

verify(
    'elimination gives the sum over permutations, exactly',
    lambda n, seed: in_fractions(n, seed, determinant),
    slip=(
        'forgets the sign of the exchanges',
        lambda n, seed: in_fractions(
            n, seed, lambda a: eliminate(a)[0].prod()
        ),
    ),
    n=integers(1, 5),
    seed=seeds(),
    tries=100,
)
verify(
    'det(I + UV) = det(I + VU)',
    lambda seed: sylvester(seed, 1),
    slip=('changes one sign of the two', lambda seed: sylvester(seed, -1)),
    seed=seeds(),
)
verify(
    'det(A + uvᵀ) = det A (1 + vᵀ A⁻¹ u)',
    lambda seed: lemma(seed, 1),
    slip=('exchanges u and v', lambda seed: lemma(seed, -1)),
    seed=seeds(),
)
verify(
    'a determinant in blocks',
    lambda seed: blocks(seed, schur),
    slip=(
        'takes the blocks for numbers',
        lambda seed: blocks(seed, as_if_numbers),
    ),
    seed=seeds(),
)

# %% [markdown]
# ### Overflow, and the logarithm of the determinant
#
# Volume depends on units: from metres to
# millimetres, it is multiplied by $1000^n$. In a hundred dimensions that is $1000^{100} = 10^{300}$, and a double ends
# at $1.8 \cdot 10^{308}$. No choice of units helps for all $n$:
#
# ```{prf:theorem} A random determinant
# :label: thm-det-random
# Let the entries of $\mathbf{A}$ be independent with mean 0 and variance 1. Then $\mathbb{E}[(\det \mathbf{A})^2] = n!$. If
# they are normal, $(\det \mathbf{A})^2$ is distributed as a product $q_1 q_2 \cdots q_n$ of independent variables, $q_k$
# having the $\chi^2$ distribution with $k$ degrees of freedom.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Square the sum {eq}`det-leibniz`. The product of the terms of $\sigma$ and $\tau \ne \sigma$ contains some entry of
# $\mathbf{A}$ just once; it is independent of all other factors and has mean zero, so the product has mean zero. The $n!$
# squares have mean 1. For the second part use {eq}`det-heights`. Given the earlier columns, $h_j$ is the length of the
# projection of $\mathbf{a}_j$ on the space perpendicular to them, which has the dimension $k = n - j + 1$. In an orthonormal
# basis a standard normal vector has again standard normal coordinates, so $h_j^2$ is a sum of $k$ squares of them, whatever
# the earlier columns are.
# ```
#
# The root mean square is $\sqrt{n!}$, which grows faster than $c^n$ for every $c$. If we divide the entries by $\sqrt{n}$, as one does with the weights of a network, the
# determinant soon becomes too small instead. What stays moderate is the logarithm, because products become sums:
#
# ```{math}
# :label: det-log
# \log |\det \mathbf{A}| = \sum_k \log |u_{kk}|, \qquad \operatorname{sign} \det \mathbf{A} = (-1)^s \prod_k
# \operatorname{sign} u_{kk}
# ```
#
# with the pivots $u_{kk}$ after $s$ exchanges of rows. In NumPy and PyTorch the function is called `slogdet`:

# %%
def slogdet(a):  # sign and logarithm of the absolute value
    pivots, sign = eliminate(a)
    return sign * np.sign(pivots).prod(), np.log(abs(pivots)).sum()

a = np.random.default_rng(11).normal(size=(500, 500))
with np.errstate(over='ignore', under='ignore'):
    print('det A:          ', determinant(a))
    print('det A/100:      ', determinant(a / 100))
print(f'log |det A|:     {slogdet(a)[1]:.3f}')
print(f'log |det A/100|: {slogdet(a / 100)[1]:.3f}')

# %% [markdown]
# ```{admonition} A tempting mistake
# :class: tip
# "The determinant is tiny, so the matrix is nearly singular." The matrix $\mathbf{I}/10$ is as far from singular as a matrix of its norm can be, and its determinant is $10^{-n}$. On the other
# side, the matrix $\mathbf{T}$ below has the determinant 1, but the tiny change of one entry that is printed makes it singular. The smallest
# [singular value](../linear_algebra/singular_value_decomposition.ipynb) tells how near the next singular matrix is.
# ```

# %%
n = 40
T = np.eye(n) - np.triu(np.ones((n, n)), 1)  # 1 and, above, -1
changed = T.copy()
changed[-1, 0] -= 2.0 ** (2 - n)  # nothing is rounded
print(f'changed by {2.0 ** (2 - n):.2e}: the determinant falls from '
      f'{determinant(T):g} to {determinant(changed):g}')

# %% [markdown]
# ```{exercise} ★★ Pencil: a long memory
# :label: det-ar
# A series in which each value remembers the one before, with correlation $\rho$, has the covariance matrix with the entries
# $\rho^{|i - j|}$. Eliminate it by hand (subtract $\rho$ times each row from the next one, starting at the bottom) and write
# `log_det_ar(rho, n)`.
# ```

# %%
def log_det_ar(rho, n):
    """The logarithm of the determinant of the n x n matrix: a float.

    rho is a float with -1 < rho < 1, and n >= 1 an int. No determinant of
    numpy is allowed. log_det_ar(0.0, 3) is 0.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_numpy(rho, n):
    i = np.arange(n)
    return np.linalg.slogdet(rho ** abs(i[:, None] - i))[1]

cases = dict(
    rho=scalars(-0.99, 0.99),
    n=integers(1, 12) | on(400),
    without=['numpy.linalg.slogdet', 'numpy.linalg.det', 'numpy.linalg.cholesky', 'numpy.linalg.eigvalsh'],
    tries=50,
)
grade(log_det_ar, by_numpy, **cases)

# %% [markdown]
# ```{solution-start} det-ar
# :class: dropdown
# ```
# In row $i$ the entry of column $j \le i - 1$ becomes $\rho^{i - j} - \rho\,\rho^{i - 1 - j} = 0$, and the diagonal one
# $1 - \rho^2$. Row 1 is left as it is, with 1 on the diagonal. So $\det = (1 - \rho^2)^{n - 1}$: each new value brings
# as a factor the variance that the one before does not explain. For $\rho = 0.99$ and $n = 400$ its logarithm to base
# ten is $399 \ln(1 - 0.99^2) / \ln 10 = -678.8$, out of the range of doubles. The wrong answers count $n$ factors, forget
# the square, form the power before its logarithm, or call the library.

# %% jupyter={"source_hidden": true}
def log_det_ar_solution(rho, n):
    return (n - 1) * math.log(1 - rho ** 2)

def one_too_many(rho, n):
    return n * math.log(1 - rho ** 2)

def without_square(rho, n):
    return (n - 1) * math.log(1 - abs(rho))

def power_first(rho, n):
    return math.log((1 - rho ** 2) ** (n - 1))

def by_the_library(rho, n):
    i = np.arange(n)
    return np.linalg.slogdet(rho ** abs(i[:, None] - i))[1]

assert grade(log_det_ar_solution, by_numpy, **cases)
assert not grade(one_too_many, by_numpy, **cases)
assert not grade(without_square, by_numpy, **cases)
assert not grade(power_first, by_numpy, **cases)
assert not grade(by_the_library, by_numpy, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def mean_square(value, n=4, draws=40000):  # of signs, not normal
    signs = np.random.default_rng(17).choice([-1, 1], (draws, n, n))
    squares = np.linalg.det(signs) ** 2
    error = squares.std() / np.sqrt(draws)
    return abs(squares.mean() - value) < 5 * error


verify(
    'E (det A)² = n!',
    lambda: mean_square(math.factorial(4)),
    slip=('takes n to the power n', lambda: mean_square(4**4)),
)

# %% tags=["checks"]
def mean_log(n, mean, draws=2000):  # within five standard errors
    logs = np.linalg.slogdet(np.random.default_rng(12).normal(size=(draws, n, n)))[1]
    return bool(abs(logs.mean() - mean) < 5 * logs.std() / np.sqrt(draws))

def of_chi_squares(n):  # the mean of log q_k is psi(k / 2) + log 2
    return (psi(np.arange(1, n + 1) / 2) + math.log(2)).sum() / 2

verify('the mean of log |det A| is that of the theorem', lambda n: mean_log(n, of_chi_squares(n)),
       slip=('takes half the logarithm of n!', lambda n: mean_log(n, gammaln(n + 1) / 2)), n=[5, 20])

# %% tags=["checks"]
def with_sign(seed, sign):
    a = np.random.default_rng(seed).normal(size=(40, 40))
    return close([sign(a), slogdet(a)[1]], np.linalg.slogdet(a))


verify(
    'sign and logarithm from the pivots and the exchanges',
    lambda seed: with_sign(seed, lambda a: slogdet(a)[0]),
    tries=50,
    slip=(
        'forgets the sign of the exchanges',
        lambda seed: with_sign(
            seed, lambda a: np.sign(eliminate(a)[0]).prod()
        ),
    ),
    seed=seeds(),
)

# %% tags=["checks"]
x = np.append(2.0 ** np.arange(n - 2, -1, -1), 1)
assert (T @ x == np.eye(n)[-1]).all() and not (changed @ x).any()
assert close(slogdet(a)[1] - slogdet(a / 100)[1], 500 * math.log(100))

# %% [markdown]
# ## Where it matters: unmixing three photographs
#
# Three photographs were exposed on three films, each time with other strengths. Pixel by pixel, the films are
# $\mathbf{x} = \mathbf{A}\mathbf{s}$, where $\mathbf{s}$ holds the grey values of the three photographs. Neither
# $\mathbf{A}$ nor $\mathbf{s}$ is known. Can the films be unmixed? We try it on six random mixtures:

# %%
def small(picture, n=100, step=4):  # the middle, in n x n blocks, in grey
    grey = picture[..., :3].mean(-1)
    i, j = ((size - n * step) // 2 for size in grey.shape)
    grey = grey[i:i + n * step, j:j + n * step]
    return grey.reshape(n, step, n, step).mean((1, 3))

with get_sample_data('grace_hopper.jpg') as file:
    portrait = plt.imread(file) / 255
pictures = (photograph('china'), photograph('flower'), portrait)
s = np.stack([small(picture) for picture in pictures])  # (3, 100, 100)
mixing = np.random.default_rng(13).uniform(0.3, 1, (6, 3, 3))  # six times
films = np.einsum('tij,jhw->tihw', mixing, s)

# %% [markdown]
# We look at the *differences* of neighbouring pixels. They are mixed by the same $\mathbf{A}$. They are small nearly everywhere and
# large at edges, and the edges of different photographs are independent of each other. A density with such a peak and
# such tails is $p(s) = 1/(\pi \cosh s)$. With $\mathbf{W} = \mathbf{A}^{-1}$ and its
# rows $\mathbf{w}_i$, {eq}`det-density` gives the density of the films,
#
# ```{math}
# :label: det-unmix
# \log p(\mathbf{x}) = \log |\det \mathbf{W}| - \sum_{i=1}^{3} \log\big( \pi \cosh(\mathbf{w}_i \cdot \mathbf{x}) \big) ,
# ```
#
# and we choose the $\mathbf{W}$ that makes the observed differences most likely {cite}`bell1995information`. The sum alone
# would make all weights zero. The determinant forbids this, and it also forbids two rows to find the same photograph, because then the volume would be zero. To see what it contributes, we also
# leave it out: once entirely, and once with the rows of $\mathbf{W}$ held to length 1 instead.

# %%
def logcosh(t):  # safe for large t
    return np.logaddexp(t, -t) - math.log(2)

def charged(w, x):  # x (3, number of differences)
    W = w.reshape(3, 3)
    return logcosh(W @ x).mean(1).sum() - np.linalg.slogdet(W)[1]

def free(w, x):
    return logcosh(w.reshape(3, 3) @ x).mean(1).sum()

def unit_rows(w):
    W = w.reshape(3, 3)
    return W / np.linalg.norm(W, axis=1, keepdims=True)

def held(w, x):
    return free(unit_rows(w), x)

# %%
def differences(films):  # (3, 100, 100) -> (3, 2475): every fourth one
    return 10 * np.diff(films, axis=2).reshape(3, -1)[:, ::4]

def unmix(loss, x, start):  # slopes by central differences
    return minimize(loss, start.ravel(), (x,), 'BFGS', '3-point').x

# %%
x = [differences(f) for f in films]
start = np.random.default_rng(14).normal(size=(3, 3))
W = [unmix(charged, one, np.eye(3)).reshape(3, 3) for one in x]
found = np.array([w @ a for w, a in zip(W, mixing, strict=True)])
squeezed = abs(unmix(free, x[0], np.eye(3))).max()
alike = unit_rows(unmix(held, x[0], start))
print('without the determinant all weights are', below(squeezed, 0.01))
print('with unit rows instead, cosines of the three rows: at least',
      f'{abs(alike @ alike.T).min():.3f} in size')

# %% [markdown]
# Without the determinant, all weights vanish, or all three rows find the same photograph. With it, how well does the method do? For each photograph we take the best correlation with one of the three results. Two references
# are the films themselves and a library method made for this problem.

# %%
def best_match(results):  # (3, 100, 100) -> three correlations
    both = np.corrcoef(results.reshape(3, -1), s.reshape(3, -1))
    return abs(both[:3, 3:]).max(0)

# %%
fast = FastICA(whiten='unit-variance', random_state=0).fit(x[0].T)
rows = {
    'films, the best of six': max(map(best_match, films), key=min),
    'FastICA, the first of six':
        best_match(np.tensordot(fast.components_, films[0], 1)),
    'likelihood, the worst of six': min(
        (best_match(np.tensordot(w, f, 1))
         for w, f in zip(W, films, strict=True)), key=min),
}
for name, match in rows.items():
    print(f'{name:30}', *(f'{m:.3f}' for m in match))

# %% mystnb={"image": {"alt": "Top: three films, each a jumble of a temple, a flower and a portrait. Bottom: the three results, in which temple, flower and portrait are cleanly separated."}} tags=["hide-input"]
order = abs(found).argmax(2).argsort(1, kind='stable')  # (6, 3)
sorted_found = np.take_along_axis(found, order[:, :, None], 1)
diagonal = np.einsum('tii->ti', sorted_found)
fig, axes = panels(3, 2, height=2.0)
results = np.tensordot(W[0], films[0], 1)[order[0]]
results = results * np.sign(diagonal[0])[:, None, None]
for ax, film, k in zip(axes[0], films[0], '123', strict=True):
    show_image(ax, film, f'film {k}')
for ax, result in zip(axes[1], results, strict=True):
    show_image(ax, result)
axes[1, 0].set_title('unmixed');

# %% [markdown] tags=["caption"]
# Maximum likelihood unmixes three films without knowing how they were mixed. The log-determinant keeps the weights from
# shrinking and any two rows from finding the same photograph.

# %% [markdown]
# Every model that learns a density by a change of variables has this term. Its derivative, $\mathbf{W}^{-\top}$, is
# derived in [matrix derivatives](../calculus/matrix_derivatives.ipynb).
#
# ```{exercise} ★ Program: the price of volume
# :label: det-normal
# Write `log_normal(x, mean, L)`: the logarithm of the density of $\mathbf{m} + \mathbf{L}\mathbf{z}$ at $\mathbf{x}$, where
# $\mathbf{z}$ is standard normal and $\mathbf{L}$ lower triangular, for any $n$, without forming a determinant.
# ```

# %%
def log_normal(x, mean, L):
    """The logarithm of the density at x (n,): a float.

    mean (n,) and the lower triangular L (n, n) are arrays of floats. The
    diagonal of L has no zeros, but may be negative or so small that its
    product is not a double. No determinant of numpy is allowed.
    log_normal(np.zeros(1), np.zeros(1), np.eye(1)) is -0.9189.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_scipy(x, mean, L):
    return multivariate_normal(mean, L @ L.T).logpdf(x)

def lower(a):  # with the diagonal away from zero
    return np.tril(a, -1) + np.diag(np.where(np.diag(a) < 0, np.diag(a) - 1, np.diag(a) + 1))

def large(seed):
    return 1e-3 * (np.tril(np.random.default_rng(seed).normal(size=(300, 300)), -1) / 300 + 2 * np.eye(300))

cases = dict(
    x=lambda L: vectors(len(L)) if len(L) < 300 else on(np.arange(300) / 3e5),
    mean=lambda L: vectors(len(L)) if len(L) < 300 else on(np.full(300, 0.002)),
    L=square_matrices((1, 4), -3, 3, edges=True).map(lower) | seeds().map(large),
    without=['numpy.linalg.det', 'numpy.linalg.slogdet'],
    tries=40,
)
grade(log_normal, by_scipy, **cases)

# %% [markdown]
# ```{solution-start} det-normal
# :class: dropdown
# ```
# By {eq}`det-density`, $\log p(\mathbf{x}) = -\tfrac12 \|\mathbf{z}\|^2 - \tfrac n2 \log 2\pi - \log |\det \mathbf{L}|$ with
# $\mathbf{z} = \mathbf{L}^{-1}(\mathbf{x} - \mathbf{m})$, and the last term is $\sum_i \log |l_{ii}|$. With the covariance
# $\boldsymbol\Sigma = \mathbf{L}\mathbf{L}^\top$ it is $\tfrac12 \log \det \boldsymbol\Sigma$. The wrong answers take the
# determinant of $\boldsymbol\Sigma$ without the half, forget that the diagonal may be negative, multiply it before taking
# the logarithm, or call the determinant of the library.

# %% jupyter={"source_hidden": true}
def log_normal_solution(x, mean, L):
    z = np.linalg.solve(L, x - mean)
    return -z @ z / 2 - len(z) / 2 * math.log(2 * math.pi) - np.log(abs(np.diag(L))).sum()

def without_half(x, mean, L):
    return log_normal_solution(x, mean, L) - np.log(abs(np.diag(L))).sum()

def positive_diagonal(x, mean, L):
    return log_normal_solution(x, mean, L) + np.log(abs(np.diag(L))).sum() - np.log(np.diag(L)).sum()

def product_first(x, mean, L):
    return log_normal_solution(x, mean, L) + np.log(abs(np.diag(L))).sum() - np.log(abs(np.diag(L).prod()))

def by_the_library(x, mean, L):
    z = np.linalg.solve(L, x - mean)
    return -z @ z / 2 - len(z) / 2 * math.log(2 * math.pi) - np.linalg.slogdet(L)[1]

assert grade(log_normal_solution, by_scipy, **cases)
assert not grade(without_half, by_scipy, **cases)
assert not grade(positive_diagonal, by_scipy, **cases)
assert not grade(product_first, by_scipy, **cases)
assert not grade(by_the_library, by_scipy, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
same = sorted_found * np.sign(diagonal)[:, :, None]
assert abs(same - same[0]).max() < 0.02  # up to order and sign, W A is the same for all six mixtures
assert squeezed < 0.01 and (abs(alike @ alike.T) > 0.999).all()
assert min(rows['likelihood, the worst of six']) > 0.99 > max(min(rows['films, the best of six']), 0)

def is_log_density(seed, power):
    rng = np.random.default_rng(seed)
    W, x = rng.normal(size=(3, 3)), rng.normal(size=(3, 7))
    each = np.log(1 / (np.pi * np.cosh(W @ x))).sum(axis=0) + power * np.log(abs(np.linalg.det(W)))
    return close(-charged(W.ravel(), x) - 3 * math.log(math.pi), each.mean())

verify('the loss is the negative mean log-density, up to a constant', lambda seed: is_log_density(seed, 1),
       slip=('divides by the determinant of W', lambda seed: is_log_density(seed, -1)), seed=seeds(), tries=50)

# %% [markdown]
# ## Summary
#
# Three rules, linear in each column, zero for equal columns, one for the identity, determine a single function. The determinant of a product is the product of the determinants, and its size is the factor by which a map
# multiplies volumes; it is negative if the map mirrors.
# Elimination finds it in about $n^3/3$ products, where the defining sum needs $n!$, and blocks reduce a change of low rank to a
# small determinant. It leaves every floating-point format as $n$ grows, so compute its logarithm, which is what densities need anyway.
#
# **Further reading.** {cite}`axler2015linear` develops linear algebra as far as possible without determinants;
# {cite}`horn2013matrix` collects the identities, {cite}`higham2002accuracy` treats their computation and its
# errors, and {cite}`papamakarios2021normalizing` the densities that are built on them.
