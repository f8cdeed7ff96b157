# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Determinants
#
# - **Question.** By what factor does a linear map change volumes, and why should a computer never be asked for that number itself?
# - **You need** linear maps and independence ([Norms](../linear_algebra/norms.ipynb)) and the product of matrices
#   ([Matrix multiplication](../linear_algebra/matrix_multiplication.ipynb)).
# - **You build** the determinant from three rules, in $n!$ and in $n^3$ operations, its logarithm, and a program that unmixes photographs.
# - **Time** 8 s.

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
from scipy.special import gammaln, polygamma, psi
from scipy.stats import multivariate_normal, norm
from sklearn.decomposition import FastICA

from nbutils.cases import integers, lists, matrices, on, scalars, seeds, square_matrices, vectors
from nbutils.checks import below, close, grade, verify
from nbutils.data import photograph
from nbutils.figures import GREY, label_lines, panels, show_image
from nbutils.timing import seconds

plt.style.use('nbutils.book')

# %% [markdown]
# ## The determinant: three rules for a signed volume
#
# Two vectors span a parallelogram, three a slanted box. How does its volume depend on them? Slide the end of $\mathbf{b}$
# parallel to $\mathbf{a}$: what is cut off on one side is gained on the other, and the area stays (left). Put
# $\mathbf{b} + \mathbf{c}$ in place of $\mathbf{b}$: the base is still $\mathbf{a}$, and the heights add (middle). But if
# $\mathbf{c}$ points below the base, the heights add only if below counts as negative (right). So the sign of a volume is no
# decoration. Only with it is volume *linear* in each edge.

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
# Area is linear in each edge only if it has a sign: to slide $\mathbf{b}$ along $\mathbf{a}$ changes nothing, a $\mathbf{c}$
# above the base adds, and one below it subtracts.

# %% [markdown]
# ```{prf:definition} Determinant
# :label: def-det
# The *determinant* is the function of the columns of an $n \times n$ matrix that is (1) linear in each column while the
# others are held fixed, (2) zero if two columns are equal, and (3) one for the identity.
# ```
#
# "The" function: there must be one, and only one. Rule 2 looks weak, but with rule 1 it gives the sign. Put
# $\mathbf{a} + \mathbf{b}$ into two places, and
#
# $$0 = \det[\mathbf{a} + \mathbf{b}, \mathbf{a} + \mathbf{b}] =
# \underbrace{\det[\mathbf{a}, \mathbf{a}]}_0 + \det[\mathbf{a}, \mathbf{b}] + \det[\mathbf{b}, \mathbf{a}] +
# \underbrace{\det[\mathbf{b}, \mathbf{b}]}_0 :$$
#
# an exchange of two columns changes the sign. And to add a multiple of one column to another changes nothing, since the
# extra term has two proportional columns. That is the slide, in algebra. (In space, the three rules are those from which
# [The cross product](../linear_algebra/cross_product.ipynb) was built.)
#
# Now write every column as $\mathbf{a}_j = \sum_i a_{ij} \mathbf{e}_i$ and expand by rule 1, one column after the other. Of
# the $n^n$ terms $a_{i_1 1} \cdots a_{i_n n} \det[\mathbf{e}_{i_1}, \dots, \mathbf{e}_{i_n}]$ all with an index twice are
# zero. There remain the permutations $i_j = \sigma(j)$, and exchanges sort
# $\mathbf{e}_{\sigma(1)}, \dots, \mathbf{e}_{\sigma(n)}$ into the identity:
#
# ```{math}
# :label: det-leibniz
# \det \mathbf{A} = \sum_{\sigma} \operatorname{sgn}(\sigma)\, a_{\sigma(1)1}\, a_{\sigma(2)2} \cdots a_{\sigma(n)n}
# ```
#
# with $\operatorname{sgn}(\sigma) = -1$ if the number of exchanges is odd. Could one way of sorting take an odd number and
# another an even one? Count the *inversions*, pairs that stand in the wrong order. An exchange of neighbours changes their
# number by exactly one. To exchange two entries with $d$ others between them, move one past $d + 1$ neighbours and the other
# back past $d$: an odd number of steps. So each exchange changes the parity of the inversions, sorted order has none, and
# $\operatorname{sgn}(\sigma) = (-1)^{\text{inversions}}$ whichever way we sort.
#
# ```{prf:theorem} Existence and uniqueness
# :label: thm-det
# The sum {eq}`det-leibniz` obeys the three rules, and nothing else does. A function $D$ that obeys only the first two is a
# multiple of it: $D(\mathbf{A}) = D(\mathbf{I}) \det \mathbf{A}$. Moreover $\det \mathbf{A}^\top = \det \mathbf{A}$, so rows
# obey the rules as columns do.
# ```
#
# ```{prf:proof}
# The expansion used rule 3 only for the value at $\mathbf{I}$; this is the statement about $D$, and uniqueness. *Existence.*
# Each term of the sum has one factor from each column, which is rule 1. For $\mathbf{I}$ only the identical permutation
# contributes: rule 3. If columns $p$ and $q$ are equal, pair each $\sigma$ with the one that exchanges $\sigma(p)$ and
# $\sigma(q)$: the product is the same, the sign opposite, and all cancels: rule 2. *Transpose.* Ordered by rows, the factors
# of a term are $a_{i\,\sigma^{-1}(i)}$. The pair $p < q$ is an inversion of $\sigma$ exactly if the pair
# $\sigma(q) < \sigma(p)$ is one of $\sigma^{-1}$, so both have the same sign.
# ```
#
# In code the permutations are the rows of a table, and all products are taken at once, for a whole stack of matrices.
# Without the signs the sum is called the *permanent*.

# %%
def leibniz(a, sign=-1):  # a (..., n, n) -> (...)
    n = a.shape[-1]
    rows = np.array(list(permutations(range(n))))  # (n!, n)
    i, j = np.triu_indices(n, 1)
    signs = sign ** (rows[:, i] > rows[:, j]).sum(-1)  # (n!,)
    return (signs * a[..., rows, range(n)].prod(-1)).sum(-1)

a = np.array([[1, 2], [3, 4]])
print('determinant', leibniz(a), 'permanent', leibniz(a, sign=1))

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

# %% [markdown]
# With the definition by rules, calculations with $n!$ terms become one line.
#
# ```{prf:theorem} Product rule
# :label: thm-det-product
# $\det(\mathbf{A}\mathbf{B}) = \det \mathbf{A} \, \det \mathbf{B}$.
# ```
#
# ```{prf:proof}
# Hold $\mathbf{A}$ fixed. Column $j$ of $\mathbf{A}\mathbf{B}$ is $\mathbf{A}\mathbf{b}_j$. So
# $D(\mathbf{B}) = \det(\mathbf{A}\mathbf{B})$ is linear in each column $\mathbf{b}_j$, and zero if two of them are equal. By
# {prf:ref}`thm-det`, $D(\mathbf{B}) = D(\mathbf{I}) \det \mathbf{B} = \det \mathbf{A} \, \det \mathbf{B}$.
# ```
#
# Much follows at once.
#
# - $\mathbf{A}$ is invertible exactly if $\det \mathbf{A} \ne 0$, and then $\det \mathbf{A}^{-1} = 1 / \det \mathbf{A}$: the product
# of the two is $\det \mathbf{I} = 1$. If $\mathbf{A}$ is not invertible, one column is a combination of the others;
# expand it, and every term has two equal columns.
# - $\det(\mathbf{S}^{-1}\mathbf{A}\mathbf{S}) = \det \mathbf{A}$: the determinant belongs to the map, not to the basis.
# - $\det(c\,\mathbf{A}) = c^n \det \mathbf{A}$, a factor $c$ for each column.
# - A triangular matrix has the product of its diagonal as determinant. In an upper one a term is zero unless $\sigma(j) \le j$ for all
#   $j$, so $\sigma(1) = 1$, hence $\sigma(2) = 2$, and so on; a lower one is the transpose of an upper one.
# - An eigenvalue is a number $\lambda$ for which $\lambda\mathbf{I} - \mathbf{A}$ is not invertible, that is, a zero of
# $\det(\lambda\mathbf{I} - \mathbf{A})$. This is a polynomial in $\lambda$ of degree $n$ with first coefficient 1,
# because only the identical permutation collects $n$ factors $\lambda$. So it equals $\prod_i (\lambda - \lambda_i)$
# with its $n$ complex zeros, and $\lambda = 0$ gives $\det \mathbf{A} = \lambda_1 \cdots \lambda_n$.
#
# Sums have no such rule: $\det(\mathbf{A} + \mathbf{B})$ is not $\det \mathbf{A} + \det \mathbf{B}$ in general.
#
# :::{admonition} A tempting mistake
# :class: warning
# The factor comes out of each column, so $\det(3\mathbf{A})$ is $3^n \det \mathbf{A}$, not $3 \det \mathbf{A}$. For the
# $2 \times 2$ matrix above it is $9 \cdot (-2) = -18$.
# :::

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

# %% [markdown]
# ```{exercise} ★★ Cramer's rule
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

# %% [markdown]
# ## The determinant as the factor of volumes
#
# Boxes are special. What happens to the area of a leaf, a face, a country, when the map
# $\mathbf{x} \mapsto \mathbf{A}\mathbf{x}$ is applied to it?
#
# ```{prf:theorem} The factor of volumes
# :label: thm-det-volume
# A linear map multiplies the volume of every region by $|\det \mathbf{A}|$. (A region: bounded, and its boundary has volume
# zero.)
# ```
#
# ```{prf:proof}
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
# The sign has its meaning too. Turn the second column past the first. The area falls to zero and comes back with the letter
# reversed, as in a mirror. The determinant is continuous, so it cannot change its sign in any other way than through a flat
# picture.

# %% mystnb={"image": {"alt": "A letter F in the unit square and four images of it, as the second column turns towards the first and past it. The determinant in the titles goes from 1.37 over 0.77 to 0, where the picture is a line, and to minus 0.79, where the F is mirrored."}} tags=["hide-input"]
F = np.array([[2, 2, 7, 7, 4, 4, 6, 6, 4, 4],
              [1, 9, 9, 7, 7, 6, 6, 4, 4, 1]]) / 10
square = np.array([[0, 1, 1, 0], [0, 0, 1, 1]])
first = np.array([1.1, 0.5])
fig, axes = panels(5, height=1.6, sharey=True)
for ax, angle in zip(axes, (None, 105, 58, 24.444, -10), strict=True):
    theta = np.radians(angle or 0)
    second = 1.15 * np.array([np.cos(theta), np.sin(theta)])
    A = np.stack([first, second], 1) if angle else np.eye(2)
    det = A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
    ax.fill(*A @ square, color=GREY, alpha=0.25, lw=0)
    ax.fill(*A @ F, color='C0' if det >= 0 else 'C1', lw=0.8,
            ec='C0' if det >= 0 else 'C1')
    for vector, color in ((A[:, 0], 'C4'), (A[:, 1], 'C2')):
        ax.annotate('', vector, (0, 0), arrowprops=dict(
            arrowstyle='-|>', color=color, lw=1.4, shrinkA=0, shrinkB=0))
    title = f'{det + 0.0:.2f}'.replace('-', '−').replace('−0.00', '0.00')
    ax.set_title(f'det = {title}' if angle else 'det = 1')
    ax.set(aspect='equal', xlim=(-0.4, 2.35), ylim=(-0.3, 1.75))
    ax.axis('off');

# %% [markdown] tags=["caption"]
# As the second column turns past the first, the determinant falls through zero, where the picture is flat, and is negative
# where the letter is mirrored.

# %% [markdown]
# The theorem can be put to the test by counting. A flower with the outline $r(\theta) = 1 + 0.4 \cos 5\theta$ has the
# area $\tfrac12 \int_0^{2\pi} r^2 \, d\theta = \pi\,(1 + \tfrac12 \cdot 0.4^2)$. We throw 2000 darts at a rectangle
# around its image and see how many hit. A dart $\mathbf{y}$ hits if $\mathbf{A}^{-1}\mathbf{y}$ lies in the flower. The
# share of hits times the area of the rectangle, divided by the area of the flower, estimates $|\det \mathbf{A}|$; if
# hits have the probability $p$, its relative standard error is $\sqrt{(1 - p)/(2000\,p)}$.

# %%
A = np.array([[1.2, 0.7], [-0.3, 1.0]])
area, factor = math.pi * 1.08, 1.2 * 1.0 + 0.7 * 0.3
frame = 1.4 * np.linalg.norm(A, axis=1)  # the image lies within +- frame
p = factor * area / (2 * frame).prod()
error = factor * np.sqrt((1 - p) / (2000 * p))
rng = np.random.default_rng(3)
darts = rng.uniform(-frame, frame, (1000, 2000, 2))  # 1000 games
x, y = np.moveaxis(darts @ np.linalg.inv(A).T, -1, 0)
hit = np.hypot(x, y) <= 1 + 0.4 * np.cos(5 * np.arctan2(y, x))
ratio = hit.mean(1) * (2 * frame).prod() / area  # (1000,)
assert 0.9 < ratio.std() / error < 1.1  # 4.5 standard errors of a deviation
print(f'|det A| = {factor:.3f}, mean of 1000 games {ratio.mean():.3f}')

# %% mystnb={"image": {"alt": "Left: darts in a rectangle; those that hit the image of a five-petalled flower are blue. Right: histogram of a thousand estimates of the ratio of areas, a bell around 1.41 that follows the normal curve drawn over it."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.5, width_ratios=[1, 1.2])
t = np.linspace(0, 2 * np.pi, 400)
flower = (1 + 0.4 * np.cos(5 * t)) * np.stack([np.cos(t), np.sin(t)])
left.plot(*A @ flower, color='C1')
for kind, color in ((hit[0], 'C0'), (~hit[0], GREY)):
    left.plot(*darts[0, kind][:500].T, '.', ms=2, color=color)
left.set(aspect='equal', xticks=[-1, 0, 1], yticks=[-1, 0, 1])
left.set_title('One game')
right.hist(ratio, 30, density=True, color='C0', alpha=0.6)
grid = factor + error * np.linspace(-3.5, 3.5, 100)
right.plot(grid, norm.pdf(grid, factor, error), color='C1')
right.axvline(factor, color=GREY, ls='--', lw=1)
right.set(xlabel='area of the image / area of the flower', yticks=[])
right.set_title('A thousand games');

# %% [markdown] tags=["caption"]
# A map with $|\det\mathbf{A}| = 1.41$ multiplies the area of a flower by that number: a thousand counts of 2000 darts
# scatter around it as the theory predicts.

# %% [markdown]
# **Densities.** Probability is carried along by the map but spread over another volume. If $\mathbf{x}$ has the density $p$,
# then $\mathbf{y} = \mathbf{A}\mathbf{x}$ with an invertible $\mathbf{A}$ has
#
# ```{math}
# :label: det-density
# p_{\mathbf{y}}(\mathbf{y}) = \frac{p(\mathbf{A}^{-1}\mathbf{y})}{|\det \mathbf{A}|},
# ```
#
# because the probability of a small region is density times volume, the same before and after. The same is true of a smooth
# map near a point, where it looks linear; its matrix is then the one of [Jacobians](../calculus/jacobians.ipynb). For
# standard normal $\mathbf{x}$ this is the normal density with covariance $\mathbf{A}\mathbf{A}^\top$.
#
# **Base times height.** Subtract from each column its projection on the earlier ones. These are slides; the determinant
# stays. What is left of column $j$ is perpendicular to all the others and has as length $h_j$ the height of $\mathbf{a}_j$
# over the span of the earlier columns. For perpendicular columns $\mathbf{B}^\top\mathbf{B}$ is diagonal, so
# $(\det \mathbf{B})^2 = \det(\mathbf{B}^\top\mathbf{B}) = \prod_j h_j^2$, and we have
#
# ```{math}
# :label: det-heights
# |\det \mathbf{A}| = h_1 h_2 \cdots h_n \le \|\mathbf{a}_1\| \, \|\mathbf{a}_2\| \cdots \|\mathbf{a}_n\| .
# ```
#
# The inequality is Hadamard's: of all boxes with given edges, the upright one is the largest. It also measures a
# parallelogram in space, for which there is no determinant of $\mathbf{A}$ itself: $k$ vectors in $\mathbb{R}^n$ span the
# volume $\sqrt{\det(\mathbf{A}^\top\mathbf{A})}$, the product of their heights.

# %%
def lengths(a):
    return np.linalg.norm(a, axis=0)

def heights(a):  # over the span of the earlier columns
    return abs(np.diag(np.linalg.qr(a).R))

a = np.array([[3, 1], [0, 2], [4, 2]])  # two vectors in space
print('lengths', lengths(a).round(3), 'heights', heights(a).round(3))
print(f'area {np.sqrt(np.linalg.det(a.T @ a)):.3f},',
      f'product of the heights {heights(a).prod():.3f},',
      f'of the lengths {lengths(a).prod():.3f}')

# %% [markdown]
# ```{exercise} ★★ Pythagoras for areas
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
def counted(factor):  # within five standard errors of the mean
    return abs(ratio.mean() - factor) < 5 * error / np.sqrt(1000)

verify(
    'counted: areas are multiplied by |det A|',
    lambda: counted(factor),
    slip=(
        'multiplies the lengths of the columns',
        lambda: counted(np.linalg.norm(A, axis=0).prod()),
    ),
)

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
# ## Computing determinants by elimination and by blocks
#
# This section continues [The determinant: three rules for a signed
# volume](#the-determinant-three-rules-for-a-signed-volume). The sum over permutations has $n!$ terms. The rules know a
# shorter way: adding a multiple of one row to another changes nothing, an exchange changes the sign, and a triangular
# matrix shows its determinant on the diagonal. So eliminate below the diagonal, as in solving equations, and multiply
# the *pivots* that appear there. As pivot we take the largest entry of the column that is left; why is told in [LU
# decomposition](../linear_algebra/lu_decomposition.ipynb).

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

def determinant(a):
    pivots, sign = eliminate(a)
    return sign * pivots.prod()
a = np.random.default_rng(7).normal(size=(200, 200))
assert close(determinant(a) / np.linalg.det(a), 1)

# %% [markdown]
# A word about the method that is taught first. Collect the terms of {eq}`det-leibniz` by their factor from the first
# column, and what multiplies $a_{i1}$ is, up to the sign $(-1)^{i+1}$, again a determinant, of size $n - 1$. This *cofactor
# expansion* needs $M(n) = n\,(M(n - 1) + 1)$ products. Divided by $n!$ that is $M(n)/n! = M(n-1)/(n-1)! + 1/(n-1)!$, so
# $M(n) \approx (e - 1)\, n!$, less than the $(n - 1)\, n!$ of the plain sum, but a factorial still. Elimination needs, with
# $m = n - k$ rows below pivot $k$, just $m + m^2$, and $n - 1$ products at the end: altogether $(n^3 + 2n - 3)/3$. We let
# numbers count what is done to them.

# %%
class Counted(float):
    """A number that counts the products and quotients made with it."""

    made = 0

def counting(name, cost):
    def operation(self, other):
        Counted.made += cost
        return Counted(getattr(float, name)(self, other))
    return operation

# __rmul__ is reached only by the signs, which cost nothing
costs = dict(add=0, radd=0, sub=0, rsub=0, rmul=0, mul=1, truediv=1)
for name, cost in costs.items():
    setattr(Counted, f'__{name}__', counting(f'__{name}__', cost))

def cofactors(a):
    if len(a) == 1:
        return a[0, 0]
    minors = [np.delete(a[:, 1:], i, 0) for i in range(len(a))]
    return sum((-1) ** i * (a[i, 0] * cofactors(minor))
               for i, minor in enumerate(minors))

# %%
def products(method, n):
    a = np.random.default_rng(n).normal(size=(n, n))
    Counted.made = 0
    value = method(np.vectorize(Counted, otypes=[object])(a))
    assert close(float(value), np.linalg.det(a))
    return Counted.made

sizes = range(1, 8)
counts = {m: [products(m, n) for n in sizes]
          for m in (leibniz, cofactors, determinant)}
for n, count in zip(sizes, zip(*counts.values(), strict=True), strict=True):
    expansion = sum(math.factorial(n) // math.factorial(k)
                    for k in range(1, n))
    assert count[0] == (n - 1) * math.factorial(n)
    assert count[1] == expansion
    assert count[2] == (n ** 3 + 2 * n - 3) // 3
print('products for 7 x 7:', *(count[-1] for count in counts.values()))

# %% mystnb={"image": {"alt": "Number of products against n, logarithmic. The permutation sum and the cofactor expansion rise together and cross the age of the universe, at a thousand million products a second, near n = 25. Elimination stays below ten thousand. Dots, the counted numbers, lie on the curves."}} tags=["hide-input"]
n = np.arange(2, 31)
factorial = np.exp(gammaln(n + 1.0))
fig, ax = plt.subplots(figsize=(6, 3))
lines = ((leibniz, (n - 1) * factorial, 'permutation sum'),
         (cofactors, (np.e - 1) * factorial, 'cofactors'),
         (determinant, (n ** 3 + 2 * n - 3) / 3, 'elimination'))
for k, (method, line, label) in enumerate(lines):
    ax.semilogy(n, line, color=f'C{k}', label=label)
    ax.plot(sizes[1:], counts[method][1:], 'o', color=f'C{k}')
for duration, name in ((1, 'a second'), (3.2e7, 'a year'),
                       (4.4e17, 'the age of the universe')):
    ax.axhline(1e9 * duration, color=GREY, lw=0.8, ls='--')
    ax.text(1.3, 2e9 * duration, name, fontsize=8.5)
ax.set(xlabel='n', ylabel='products', xlim=(1, 30), ylim=(1, 1e36))
ax.set_title('At a thousand million products a second')
label_lines(ax);

# %% [markdown] tags=["caption"]
# Elimination needs fewer than ten thousand products up to $n = 30$; with the permutation sum or cofactors the age of the
# universe is too short from about $n = 25$ on.

# %% [markdown]
# So leave the expansion to paper. The clock agrees, although the sum is written in whole arrays and elimination has a loop:

# %%
a = np.random.default_rng(8).normal(size=(8, 8))
by_sum, by_pivots = seconds(lambda: leibniz(a), lambda: determinant(a))
print('8 x 8, more than 10 times faster:', by_sum > 10 * by_pivots)
assert by_sum > 10 * by_pivots

# %% [markdown]
# **Blocks.** Elimination also works with blocks. If $\mathbf{A}$ is invertible, subtract $\mathbf{C}\mathbf{A}^{-1}$ times
# the upper rows from the lower ones:
#
# $$\det \begin{bmatrix} \mathbf{A} & \mathbf{B} \\ \mathbf{C} & \mathbf{D} \end{bmatrix}
# = \det \begin{bmatrix} \mathbf{A} & \mathbf{B} \\ \mathbf{0} & \mathbf{D} - \mathbf{C}\mathbf{A}^{-1}\mathbf{B}
# \end{bmatrix} = \det \mathbf{A} \; \det(\mathbf{D} - \mathbf{C}\mathbf{A}^{-1}\mathbf{B}) .$$
#
# (The last step is {prf:ref}`thm-det` again. Hold the lower right block fixed, whatever it is. As a function of the columns
# of the upper left block alone the middle determinant obeys the first two rules, so it is $\det\mathbf{A}$ times its value
# with $\mathbf{I}$ in place of $\mathbf{A}$. That value, as a function of the rows of the lower right block, obeys them as
# well.) Now take one matrix and eliminate in both directions, first downwards from $\mathbf{I}_k$, then upwards from
# $\mathbf{I}_n$:
#
# ```{math}
# :label: det-sylvester
# \det \begin{bmatrix} \mathbf{I}_k & -\mathbf{V} \\ \mathbf{U} & \mathbf{I}_n \end{bmatrix}
# = \det(\mathbf{I}_n + \mathbf{U}\mathbf{V}) = \det(\mathbf{I}_k + \mathbf{V}\mathbf{U})
# ```
#
# A determinant of size $n$ has become one of size $k$. For $k = 1$, and with $\det \mathbf{A}$ taken out of
# $\mathbf{A} + \mathbf{u}\mathbf{v}^\top$ first, this is the *matrix determinant lemma*
#
# ```{math}
# :label: det-lemma
# \det(\mathbf{A} + \mathbf{u}\mathbf{v}^\top) = \det \mathbf{A} \; (1 + \mathbf{v}^\top\mathbf{A}^{-1}\mathbf{u}) .
# ```
#
# For $\mathbf{A} = \mathbf{I}$ a change of rank one costs one dot product. *Normalizing flows* need the determinant of a
# Jacobian for every training example; an early kind, the *planar flows*, therefore have layers whose Jacobian is the
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
# ```{exercise} ★★★ Whole numbers all the way
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

def wholes(n):
    return lists(integers(-3, 3) | integers(-10**12, 10**12), n * n, n * n).map(
        lambda entries: np.array(entries, object).reshape(n, n))

def same_int(got, want):
    return isinstance(got, int) and got == want

cases = dict(a=integers(1, 5).flatmap(wholes), same=same_int)
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
# ## Overflow, and the logarithm of the determinant
#
# This section continues [Computing determinants by elimination and by
# blocks](#computing-determinants-by-elimination-and-by-blocks). Volume is a matter of units: from metres to
# millimetres, it is multiplied by $1000^n$. In a hundred dimensions that is $1000^{100} = 10^{300}$, and a double ends
# at $1.8 \cdot 10^{308}$. But could one not just choose the unit well? Let us see how large the determinant of a random
# matrix is.
#
# ```{prf:theorem} A random determinant
# :label: thm-det-random
# Let the entries of $\mathbf{A}$ be independent with mean 0 and variance 1. Then $\mathbb{E}[(\det \mathbf{A})^2] = n!$. If
# they are normal, $(\det \mathbf{A})^2$ is distributed as a product $q_1 q_2 \cdots q_n$ of independent variables, $q_k$
# having the $\chi^2$ distribution with $k$ degrees of freedom.
# ```
#
# ```{prf:proof}
# Square the sum {eq}`det-leibniz`. The product of the terms of $\sigma$ and $\tau \ne \sigma$ contains some entry of
# $\mathbf{A}$ just once; it is independent of all other factors and has mean zero, so the product has mean zero. The $n!$
# squares have mean 1. For the second part use {eq}`det-heights`. Given the earlier columns, $h_j$ is the length of the
# projection of $\mathbf{a}_j$ on the space perpendicular to them, which has the dimension $k = n - j + 1$. In an orthonormal
# basis a standard normal vector has again standard normal coordinates, so $h_j^2$ is a sum of $k$ squares of them, whatever
# the earlier columns are.
# ```
#
# The typical size is $\sqrt{n!}$, which in the end is larger than $c^n$ for every $c$. Where does it pass the largest number
# of the usual formats?

# %%
log_root = np.array([gammaln(n + 1.0) / 2 for n in range(400)])
for kind in (np.float16, np.float32, np.float64):
    limit = np.finfo(kind)
    n = (log_root > np.log(float(limit.max))).argmax()
    print(f'{limit.bits} bits: sqrt(n!) is too large from n = {n}')

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

# %% [markdown]
# Divide the entries by $\sqrt{n}$, as one does with the weights of a network, and by Stirling's formula
# $\sqrt{n!/n^n} \approx (2\pi n)^{1/4} e^{-n/2}$: now it vanishes. No unit serves all $n$. What serves is the logarithm, for
# products become sums:
#
# ```{math}
# :label: det-log
# \log |\det \mathbf{A}| = \sum_k \log |u_{kk}|, \qquad \operatorname{sign} \det \mathbf{A} = (-1)^s \prod_k
# \operatorname{sign} u_{kk}
# ```
#
# with the pivots $u_{kk}$ after $s$ exchanges of rows.

# %%
def slogdet(a):  # sign and logarithm of the absolute value
    pivots, sign = eliminate(a)
    return sign * np.sign(pivots).prod(), np.log(abs(pivots)).sum()

a = np.random.default_rng(11).normal(size=(500, 500))
log = slogdet(a)[1]
with np.errstate(over='ignore', under='ignore'):
    print('det A:                   ', np.linalg.det(a))
    print('det A/100:               ', np.linalg.det(a / 100))
print(f'log |det A|:              {log:.3f}')
print(f'log |det A/100|:          {slogdet(a / 100)[1]:.3f}')
steps = (log - slogdet(a / 100)[1]) / math.log(100)
print(f'difference / log 100:     {steps:.3f}')

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

# %% [markdown]
# The logarithm is not only safe, it is well-behaved. By {prf:ref}`thm-det-random` its mean is half the sum of the means of
# $\log q_k$, which are $\psi(k/2) + \log 2$ with the digamma function $\psi$. Its variance is a quarter of
# $\sum_k \psi'(k/2) \approx 2 \log n$, so the standard deviation grows like $\sqrt{\tfrac12 \log n}$: next to nothing beside
# a mean of the order $n \log n$. The mean of the logarithm is not the logarithm of the root mean square, $\tfrac12 \log n!$.
# It is a little smaller.

# %%
def log_det_moments(n):  # of a matrix of standard normal entries
    half = np.arange(1, n + 1) / 2
    mean = (psi(half) + math.log(2)).sum() / 2
    return mean, np.sqrt(polygamma(1, half).sum()) / 2
rng = np.random.default_rng(12)
sizes = (5, 20, 60, 120, 240, 400, 600)
logs = {n: np.linalg.slogdet(
    rng.normal(size=(2000 if n < 100 else 8, n, n)))[1] for n in sizes}
for n in (5, 20, 60):  # 2000 draws: five standard errors are 0.08
    assert abs(logs[n].std() / log_det_moments(n)[1] - 1) < 0.1
print(f'standard deviation at n = 600: {log_det_moments(600)[1]:.2f}')

# %% tags=["checks"]
def has_mean(n, mean):
    error = log_det_moments(n)[1] / np.sqrt(len(logs[n]))
    return abs(logs[n].mean() - mean) < 5 * error


verify(
    'the mean of log |det A| is that of the theorem',
    lambda n: has_mean(n, log_det_moments(n)[0]),
    n=list(sizes),
    slip=(
        'takes half the logarithm of n!',
        lambda n: has_mean(n, gammaln(n + 1) / 2),
    ),
)

# %%
n = np.arange(2, 1700)
half = np.arange(1, 1700) / 2
mean = (np.cumsum(psi(half) + math.log(2)) / 2)[1:] / math.log(10)
shrunk = mean - n * np.log10(n) / 2  # entries divided by the root of n
largest, least = np.log10(np.finfo(float).max), np.log10(5e-324)
print('out of the range of doubles: normal entries from',
      f'n = {n[mean > largest][0]} on, divided by the root of n from',
      f'n = {n[shrunk < least][0]} on, 0.1 I from n = {n[-n < least][0]} on')

# %% mystnb={"image": {"alt": "Base-ten logarithm of the absolute determinant against n. For standard normal entries it rises out of the range of doubles at n = 303; for entries divided by the root of n it falls out of the range at 1486; for the tenth of an identity it falls in a straight line and leaves at 324. Dots, determinants of random matrices, lie on the first two curves."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
ax.plot(n, mean, label='normal entries')
ax.plot(n, shrunk, label='… divided by √n')
ax.plot(n, -n, label='0.1 I')
for k, scale in ((0, 0), (1, 0.5)):
    for size in sizes:
        value = logs[size][:8] / math.log(10) - scale * size * np.log10(size)
        ax.plot(np.full(8, size), value, '.', color=f'C{k}')
ax.axhspan(308.25, 600, color=GREY, alpha=0.2, lw=0)
ax.axhspan(-600, -323.3, color=GREY, alpha=0.2, lw=0)
ax.text(900, 380, 'a double is inf', fontsize=9)
ax.text(900, -450, 'a double is 0', fontsize=9)
ax.text(265, 200, 'normal entries', color='C0')
ax.text(760, -110, 'normal entries / √n', color='C1')
ax.text(330, -290, '0.1 I', color='C2')
ax.set(xlabel='n', ylabel='log₁₀ |det|', xlim=(0, 1700), ylim=(-550, 550));

# %% [markdown] tags=["caption"]
# With growing $n$ the determinant of normal entries leaves the range of doubles above, from $n = 303$ on, and that of
# $0.1\,\mathbf{I}$, far from singular, leaves it below; the logarithm stays moderate.

# %% [markdown]
# The figure also disposes of a popular misuse. Does a tiny determinant mean that a matrix is nearly singular?
# $0.1\,\mathbf{I}$ is as far from singular as a matrix of its size can be, and its determinant $10^{-n}$ is as small as you
# please. On the other side take $\mathbf{T}$ with ones on the diagonal and $-1$ everywhere above. It is triangular,
# $\det \mathbf{T} = 1$. But $\mathbf{x} = (2^{n-2}, 2^{n-3}, \dots, 2, 1, 1)$ is mapped to $\mathbf{e}_n$, as each entry but
# the last is the sum of all that follow it. So one single entry, number $(n, 1)$, has to be lowered by $2^{2-n}$ to make
# $\mathbf{x}$ a vector that is mapped to zero.

# %%
n = 40
T = np.eye(n) - np.triu(np.ones((n, n)), 1)
changed = T.copy()
changed[-1, 0] -= 2.0 ** (2 - n)  # a power of two: nothing is rounded
x = np.append(2.0 ** np.arange(n - 2, -1, -1), 1)
assert (T @ x == np.eye(n)[-1]).all() and not (changed @ x).any()
print(f'det T: {determinant(T):g}  after the change: {determinant(changed):g}')
print(f'changed was one entry, by {2.0 ** (2 - n):.0e}')

# %% [markdown]
# How near a matrix is to a singular one is told by its smallest singular value ([Singular value
# decomposition](../linear_algebra/singular_value_decomposition.ipynb)). Nor can a computed zero be trusted, or a computed
# nonzero: the determinant found in floats is that of a matrix some roundings away, and next to a singular matrix there are
# always regular ones.

# %%
rows = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])  # first + third = 2 second
print('in fractions:', determinant(rows * Fraction(1)))
print('in floats zero:', determinant(rows / 1) == 0)

# %% [markdown]
# ```{exercise} ★★ A long memory
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

# %% [markdown]
# ## Where it matters: unmixing three photographs
#
# Three photographs were exposed on three films, each time with other strengths. Pixel by pixel, the films are
# $\mathbf{x} = \mathbf{A}\mathbf{s}$, where $\mathbf{s}$ holds the grey values of the three photographs. Neither
# $\mathbf{A}$ nor $\mathbf{s}$ is known. Can the films be unmixed?

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
# Look at the *difference* of neighbouring pixels. It is mixed by the same $\mathbf{A}$, it is small nearly everywhere and
# large at edges, and edges of different photographs have nothing to do with each other. As a density with such a peak and
# such tails take $p(s) = 1/(\pi \cosh s)$, for each photograph independently. With $\mathbf{W} = \mathbf{A}^{-1}$ and its
# rows $\mathbf{w}_i$, {eq}`det-density` gives the density of the films,
#
# ```{math}
# :label: det-unmix
# \log p(\mathbf{x}) = \log |\det \mathbf{W}| - \sum_{i=1}^{3} \log\big( \pi \cosh(\mathbf{w}_i \cdot \mathbf{x}) \big) ,
# ```
#
# and we choose the $\mathbf{W}$ that makes the observed differences most likely {cite}`bell1995information`. The sum alone
# wants all $\mathbf{w}_i \cdot \mathbf{x}$ small. It is the determinant that forbids to squeeze everything into a point, and
# also forbids two rows to find the same photograph, for then the volume would be zero. To see what it is worth, we also
# leave it out: once entirely, once with the rows held to length one instead.

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

x = [differences(f) for f in films]
start = np.random.default_rng(14).normal(size=(3, 3))
W = [unmix(charged, one, np.eye(3)).reshape(3, 3) for one in x]
found = np.array([w @ a for w, a in zip(W, mixing, strict=True)])
squeezed = abs(unmix(free, x[0], np.eye(3))).max()
alike = unit_rows(unmix(held, x[0], start))
print('without the determinant all weights are', below(squeezed, 0.01))
print('with unit rows instead, cosines of the three rows: at least',
      f'{abs(alike @ alike.T).min():.3f} in size')
assert squeezed < 0.01 and (abs(alike @ alike.T) > 0.999).all()

# %% [markdown]
# With the determinant, how well does it go? For each photograph we take the best correlation with one of the three results,
# over the whole picture. Beside it stand the films themselves and a library method made for this problem.

# %%
def best_match(results):  # (3, 100, 100) -> three correlations
    both = np.corrcoef(results.reshape(3, -1), s.reshape(3, -1))
    return abs(both[:3, 3:]).max(0)

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
assert min(rows['likelihood, the worst of six']) > 0.99

# %% [markdown]
# The six mixtures, different as they are, came out equally well, and that is no accident. If $\mathbf{M}$ mixes the films
# once more, $\mathbf{W}\mathbf{M}^{-1}$ does for them what $\mathbf{W}$ did before, and
# $\log |\det(\mathbf{W}\mathbf{M}^{-1})| = \log |\det \mathbf{W}| - \log |\det \mathbf{M}|$ differs by a constant. By the
# product rule, the answer cannot depend on how the pictures were mixed, only on the pictures. In numbers: up to order and
# sign, $\mathbf{W}\mathbf{A}$ is the same for all six.

# %%
order = abs(found).argmax(2).argsort(1)  # (6, 3)
sorted_found = np.take_along_axis(found, order[:, :, None], 1)
diagonal = np.einsum('tii->ti', sorted_found)
same = sorted_found * np.sign(diagonal)[:, :, None]
print(f'all six differ by at most {abs(same - same[0]).max():.4f}')
assert abs(same - same[0]).max() < 0.02

# %% mystnb={"image": {"alt": "Top: three films, each a jumble of a temple, a flower and a portrait. Bottom: the three results, in which temple, flower and portrait are cleanly separated."}} tags=["hide-input"]
fig, axes = panels(3, 2, height=2.0)
results = np.tensordot(W[0], films[0], 1)[order[0]]
results = results * np.sign(diagonal[0])[:, None, None]
for ax, film, k in zip(axes[0], films[0], '123', strict=True):
    show_image(ax, film, f'film {k}')
for ax, result in zip(axes[1], results, strict=True):
    show_image(ax, result)
axes[1, 0].set_title('unmixed');

# %% [markdown] tags=["caption"]
# Maximum likelihood unmixes three films without knowing how they were mixed; the log-determinant keeps the weights from
# shrinking and any two rows from finding the same photograph.

# %% [markdown]
# The same term keeps every model honest that learns a density by a change of variables. It is the reason why the
# log-determinant, not the determinant, is what libraries offer and training needs; its derivative, $\mathbf{W}^{-\top}$, is
# derived in [Matrix derivatives](../calculus/matrix_derivatives.ipynb).
#
# ```{exercise} ★ The price of volume
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

# %% [markdown]
# ## Summary
#
# Three rules, linear in each column, zero for equal columns, one for the identity, leave room for a single function; it
# multiplies with the maps, and it is the factor by which each of them changes volumes, negative where it mirrors.
# Elimination finds it in $n^3/3$ products where the defining sum needs $n!$, and blocks reduce a change of low rank to a
# small determinant. Its size leaves every floating-point format as $n$ grows and says nothing about how near a matrix is to
# a singular one, so compute its logarithm, which is what the densities of statistics ask for anyway.
#
# **Further reading.** {cite}`axler2015linear` develops linear algebra as far as possible without determinants, a useful
# counterpoint; {cite}`horn2013matrix` collects the identities, {cite}`higham2002accuracy` treats their computation and its
# errors, and {cite}`papamakarios2021normalizing` the densities that are built on them.
