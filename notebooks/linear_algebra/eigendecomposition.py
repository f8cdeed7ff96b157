# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Eigenvalue decomposition
#
# - **Question.** Which directions does a matrix merely stretch, how are they found, and when can they not be trusted?
# - **You need** determinants ([Determinants](../linear_algebra/determinants.ipynb)), orthogonal matrices
#   ([QR decomposition](../linear_algebra/qr_decomposition.ipynb)) and the norm of a matrix
#   ([Norms](../linear_algebra/norms.ipynb)).
# - **You build** Jacobi's rotations, power, inverse and Rayleigh iteration, the QR algorithm with shifts, and a machine
#   that finds the vowels of a language that it does not know.
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
import re
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
import sympy as sp
from scipy.optimize import linear_sum_assignment
from sklearn import datasets

from nbutils.cases import integers, scalars, seeds
from nbutils.checks import below, between, close, grade, holds
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')

# %% [markdown]
# Eigenvalues come without an order, and complex ones make sorting treacherous. Two lists are therefore compared by their
# best pairing. Eigenvectors come without a sign, so it is projectors $\mathbf{v}\mathbf{v}^\top$ that we compare.

# %%
def distance(values, others):  # between two spectra
    cost = abs(np.subtract.outer(values, others))
    return cost[linear_sum_assignment(cost)].max()

# %% [markdown]
# ## Directions that survive
#
# A matrix sends most arrows somewhere else. A few only become longer or shorter, and along these the matrix is as simple
# as a number.
#
# ```{prf:definition} Eigenvalue and eigenvector
# :label: def-eigen
# $\mathbf{x} \ne \mathbf{0}$ is an *eigenvector* of the square matrix $\mathbf{A}$ with the *eigenvalue* $\lambda$ if
# $\mathbf{A}\mathbf{x} = \lambda\mathbf{x}$. Both may be complex, even if $\mathbf{A}$ is real.
# ```

# %% mystnb={"image": {"alt": "Left: arrows from the unit circle to their images on an ellipse; along two lines the arrows point straight outwards or vanish. Right: the angle between an arrow and its image against the direction of the arrow; it crosses zero at four directions, two of each line."}} tags=["hide-input"]
M = np.array([[2, 1], [0.5, 1.5]])  # eigenvalues 2.5 and 1
t = np.linspace(0, 2 * np.pi, 361)
circle = np.stack([np.cos(t), np.sin(t)])  # (2, 361)
image = M @ circle
fig, (left, right) = panels(2, height=2.6)
left.plot(*circle, color=GREY, lw=1)
left.plot(*image, color='C0')
for k in range(0, 360, 12):
    left.plot(*np.stack([circle[:, k], image[:, k]], 1), color='C0', lw=0.6)
for v, color in (((2, 1), 'C1'), ((1, -1), 'C2')):
    v = np.array(v) / np.hypot(*v)
    left.plot(*np.stack([-2.7 * v, 2.7 * v], 1), '--', color=color, lw=1.2)
    angle = np.degrees(np.arctan2(v[1], v[0])) % 180
    for at in (angle, angle + 180):
        right.axvline(at, ls='--', color=color, lw=1.2)
turned = np.arctan2(image[1], image[0]) - t
right.plot(np.degrees(t), np.degrees((turned + np.pi) % (2 * np.pi) - np.pi))
right.axhline(0, color=GREY, lw=0.6)
left.set(aspect='equal', title='x and Ax', xlim=(-2.7, 2.7), ylim=(-2.2, 2.2))
right.set(xticks=[0, 90, 180, 270, 360], title='Turned by (degrees)')
right.set_xlabel('direction of x (degrees)');

# %% [markdown] tags=["caption"]
# Only along two lines, those of the eigenvectors, does $\mathbf{A}\mathbf{x}$ keep the line of $\mathbf{x}$; every other
# direction is turned, here by up to about 35 degrees.

# %% [markdown]
# Where the right curve is zero, $\mathbf{x}$ keeps its line. To find such lines without drawing, write the equation as
# $(\mathbf{A} - \lambda\mathbf{I})\mathbf{x} = \mathbf{0}$. A square matrix sends some $\mathbf{x} \ne \mathbf{0}$ to zero
# exactly if it flattens space, that is, if its determinant is zero:
#
# ```{math}
# :label: la.evd.charpoly
# \det(\mathbf{A} - \lambda\mathbf{I}) = 0 \iff \lambda \text{ is an eigenvalue of } \mathbf{A}
# ```
#
# The left side is a polynomial of degree $n$ in $\lambda$, and its zeros are the eigenvalues.
#
# :::{admonition} A tempting mistake
# :class: warning
# In numpy `A - lam` subtracts $\lambda$ from *every* entry. For $\mathbf{A} = \mathbf{I}_2$ and $\lambda = 1$ it gives a
# matrix with the determinant $-1$, although 1 is an eigenvalue. Write `A - lam * np.eye(n)`.
# :::
#
# Over the complex numbers the polynomial splits into factors,
# $\det(\mathbf{A} - \lambda\mathbf{I}) = \prod_i (\lambda_i - \lambda)$, and two of its coefficients can be read off. At
# $\lambda = 0$ it gives the determinant. The power $(-\lambda)^{n-1}$ comes only from the product of the diagonal, since
# any other product of the determinant misses at least two diagonal entries. So
#
# ```{math}
# :label: evd-trace-det
# \det\mathbf{A} = \prod_i \lambda_i, \qquad \operatorname{tr}\mathbf{A} = \sum_i \lambda_i .
# ```
#
# The polynomial is for thinking. For computing it is a disaster, because its coefficients mix numbers of very different
# size. A symmetric $20 \times 20$ matrix with the eigenvalues $1, 2, \dots, 20$ is as harmless as can be
# {cite}`wilkinson1959evaluation`. Small polynomials we find from values of the determinant. For this one numpy multiplies
# out $(\lambda - 1) \cdots (\lambda - 20)$ and can only round the coefficients, in the sixteenth digit.

# %%
def characteristic_polynomial(A):  # from its values at n + 1 points
    points = np.arange(len(A) + 1) - len(A) / 2
    values = [np.linalg.det(A - t * np.eye(len(A))) for t in points]
    return np.linalg.solve(np.vander(points), values)

for A in np.random.default_rng(0).normal(size=(20, 4, 4)):
    values, p = np.linalg.eigvals(A), characteristic_polynomial(A)
    assert close(p, np.poly(A))  # (-1)^4 = 1
    assert distance(np.roots(p), values) < 1e-12  # rounding
    assert close(values.sum(), np.trace(A) + 0j)
    assert close(values.prod(), np.linalg.det(A) + 0j)

known = np.arange(1, 21)
Q, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(20, 20)))
A = Q * known @ Q.T
by_polynomial = distance(np.roots(np.poly(known)), known)
assert by_polynomial > 0.01 > 1e-12 > distance(np.linalg.eigvalsh(A), known)
print('by the polynomial the eigenvalues are off by',
      between(by_polynomial, 0.01, 1))
print('by a solver for symmetric matrices by something',
      below(distance(np.linalg.eigvalsh(A), known)))

# %% [markdown]
# There is an irony in this: `np.roots` itself finds the roots of a polynomial as the eigenvalues of a matrix. Every
# polynomial is the characteristic polynomial of a matrix, and for degree five and more no formula with roots gives the
# zeros (Abel). So none can give eigenvalues. *All methods must iterate.*
#
# **The same map in other coordinates.** Let the columns of $\mathbf{S}$ be a new basis. Then $\mathbf{S}^{-1}\mathbf{x}$
# are the new coordinates of $\mathbf{x}$; let $\mathbf{A}_2$ act on them and translate back with $\mathbf{S}$:
#
# ```{math}
# :label: la.evd.similar-definition
# \mathbf{A}_1 \sim \mathbf{A}_2 \quad\text{means}\quad \mathbf{A}_1 = \mathbf{S}\mathbf{A}_2\mathbf{S}^{-1} \text{ for some invertible } \mathbf{S}
# ```
#
# This is an equivalence: $\mathbf{S} = \mathbf{I}$ relates $\mathbf{A}$ to itself, $\mathbf{S}^{-1}$ leads back, and two
# steps make one, $\mathbf{S}(\mathbf{T}\mathbf{A}_3\mathbf{T}^{-1})\mathbf{S}^{-1} =
# (\mathbf{S}\mathbf{T})\mathbf{A}_3(\mathbf{S}\mathbf{T})^{-1}$. What a map does to directions cannot depend on the
# coordinates in which it is written down, so *similar* matrices should have the same eigenvalues. Indeed,
# $\mathbf{I} = \mathbf{S}\mathbf{I}\mathbf{S}^{-1}$ and
#
# ```{math}
# :label: la.evd.similar-shift-1
# \mathbf{A}_1 - \lambda\mathbf{I} = \mathbf{S}\mathbf{A}_2\mathbf{S}^{-1} - \lambda\mathbf{I}
# ```
#
# ```{math}
# :label: la.evd.similar-shift-2
# \mathbf{S}\mathbf{A}_2\mathbf{S}^{-1} - \lambda\mathbf{I} = \mathbf{S}(\mathbf{A}_2 - \lambda\mathbf{I})\mathbf{S}^{-1}
# ```
#
# Determinants of square matrices multiply, and $\det\mathbf{S}\,\det\mathbf{S}^{-1} = \det\mathbf{I} = 1$:
#
# ```{math}
# :label: la.evd.similar-det-1
# \det(\mathbf{A}_1 - \lambda\mathbf{I}) = \det(\mathbf{S})\det(\mathbf{A}_2 - \lambda\mathbf{I})\det(\mathbf{S}^{-1})
# ```
#
# ```{math}
# :label: la.evd.similar-det-2
# \det(\mathbf{S})\det(\mathbf{A}_2 - \lambda\mathbf{I})\det(\mathbf{S}^{-1}) = \det(\mathbf{A}_2 - \lambda\mathbf{I})
# ```
#
# The inverse cannot be replaced by $\mathbf{S}^\top$: $\mathbf{S}\mathbf{A}\mathbf{S}^\top$ belongs to another change of
# coordinates, that of quadratic forms, and has other eigenvalues in general.
#
# The converse fails. The identity and the shear $\begin{bmatrix} 1 & 1 \\ 0 & 1 \end{bmatrix}$ have the same polynomial,
# but $\mathbf{S}\mathbf{I}\mathbf{S}^{-1} = \mathbf{I}$ for every $\mathbf{S}$: the identity is similar to itself alone.
# With exact fractions, sympy shows both.

# %%
S = sp.Matrix([[2, 1, 0], [1, 3, 1], [0, 1, 1]])
A = sp.Matrix([[1, 2, 0], [-1, 3, 5], [4, 0, 2]])
assert (S * A * S.inv()).charpoly() == A.charpoly()
shear = sp.Matrix([[1, 1], [0, 1]])
assert shear.charpoly() == sp.eye(2).charpoly()
print('eigenvectors of the identity:', len(sp.eye(2).eigenvects()[0][2]))
print('eigenvectors of the shear:   ', len(shear.eigenvects()[0][2]))

# %% [markdown]
# **The decomposition.** In the best coordinates the map is diagonal. Put eigenvectors into the columns of $\mathbf{V}$ and
# eigenvalues on the diagonal of $\boldsymbol\Lambda$. Then $\mathbf{A}\mathbf{V} = \mathbf{V}\boldsymbol\Lambda$, and if
# the eigenvectors are independent,
#
# ```{math}
# :label: evd-decomposition
# \mathbf{A} = \mathbf{V}\boldsymbol\Lambda\mathbf{V}^{-1}, \qquad
# f(\mathbf{A}) = \mathbf{V} f(\boldsymbol\Lambda) \mathbf{V}^{-1} .
# ```
#
# The second formula holds for $f(\lambda) = \lambda^k$, since between the factors $\mathbf{V}^{-1}\mathbf{V}$ cancels,
# hence for polynomials, and for power series that converge at the eigenvalues. For others, such as the root, it is a
# definition.
#
# ```{prf:theorem} Distinct eigenvalues
# :label: thm-distinct
# Eigenvectors with different eigenvalues are independent. So a matrix with $n$ different eigenvalues has a decomposition
# {eq}`evd-decomposition`.
# ```
#
# ```{prf:proof}
# Suppose not, and take a dependency $\sum_{i=1}^k c_i \mathbf{v}_i = \mathbf{0}$ with as few terms as possible, all
# $c_i \ne 0$. It has at least two terms, as no eigenvector is zero. Apply $\mathbf{A} - \lambda_k\mathbf{I}$: the last
# term vanishes, and $\sum_{i<k} c_i(\lambda_i - \lambda_k)\mathbf{v}_i = \mathbf{0}$ is a shorter dependency with nonzero
# coefficients, a contradiction.
# ```

# %%
def apply_function(f, A):
    values, V = np.linalg.eig(A)
    return V * f(values) @ np.linalg.inv(V)

gaps = []
for A in np.random.default_rng(2).normal(size=(20, 4, 4)):
    B = A @ A.T + np.eye(4)  # with positive eigenvalues
    for ours, library in (
            (apply_function(np.exp, A), scipy.linalg.expm(A)),
            (apply_function(lambda v: v ** 5, A),
             np.linalg.matrix_power(A, 5)),
            (apply_function(np.sqrt, B), scipy.linalg.sqrtm(B))):
        assert close(ours, library + 0j)
        gaps.append(np.linalg.norm(ours - library) / np.linalg.norm(library))
print('exp, fifth power and root, relative gap to scipy:', below(gaps, 1e-10))

# %% [markdown]
# ```{exercise} ★ Half a step
# :label: evd-half
# Each year a share of the people in town, country and abroad moves, $\mathbf{x} \mapsto \mathbf{A}\mathbf{x}$. What
# happens in half a year, or in a third? Write `part(A, t)`, the matrix of $t$ years, for real $t$.
# ```

# %%
def part(A, t):
    raise NotImplementedError('your turn')

# %%
def by_logarithm(A, t):
    return scipy.linalg.expm(t * scipy.linalg.logm(A))

moves = np.array([[0.9, 0.05, 0.1], [0.08, 0.9, 0.1], [0.02, 0.05, 0.8]])
part_cases = [(moves, t) for t in (0.5, 1 / 3, 2.0)]
grade(part, by_logarithm, part_cases)

# %% [markdown]
# ```{solution-start} evd-half
# :class: dropdown
# ```
# Two half years must make one year: a root of $\mathbf{A}$ is wanted, not the roots of its entries. By
# {eq}`evd-decomposition` the eigenvalues get the power $t$. The wrong answer takes the power entry by entry.

# %% jupyter={"source_hidden": true}
def part_solution(A, t):
    values, V = np.linalg.eig(A)
    return V * values ** t @ np.linalg.inv(V)

assert grade(part_solution, by_logarithm, part_cases)
assert not grade(lambda A, t: A ** t, by_logarithm, part_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def shears(seed, n=3):  # integers with determinant 1, so has the inverse
    rng = np.random.default_rng(seed)
    low, high = rng.integers(-1, 2, (2, n, n))
    one = np.eye(n)
    return (one + np.tril(low, -1)) @ (one + np.triu(high, 1))

def integer_matrix(seed):  # with eigenvalues between -3 and 3
    S = shears(seed)
    values = np.random.default_rng(seed).integers(-3, 4, 3)
    return (S * values @ np.linalg.inv(S)).round()

holds(
    'la.evd.charpoly',
    lambda A, lam: (
        close(np.linalg.det(A - lam * np.eye(3)), 0)
        == (np.linalg.matrix_rank(A - lam * np.eye(3)) < 3)
    ),
    slip=(
        'subtracts the number from every entry',
        lambda A, lam: (
            close(np.linalg.det(A - lam), 0)
            == (np.linalg.matrix_rank(A - lam * np.eye(3)) < 3)
        ),
    ),
    A=seeds().map(integer_matrix),
    lam=integers(-4, 4),
)

def basis(seed):  # invertible, with determinant 2 and small integers
    return shears(seed) * np.array([1, 2, 1])

def any_matrix(seed):
    return np.random.default_rng(seed).integers(-3, 4, (3, 3)).astype(float)

def conjugate(S, A):  # S A S^-1
    return np.linalg.solve(S.T, (S @ A).T).T

def equivalence(S, T, A3, both):
    A2 = conjugate(T, A3)
    A1 = conjugate(S, A2)
    reflexive = close(conjugate(np.eye(3), A1), A1)
    symmetric = close(conjugate(np.linalg.inv(S), A1), A2)
    return reflexive and symmetric and close(conjugate(both, A3), A1)

bases, any_matrices = seeds().map(basis), seeds().map(any_matrix)
holds(
    'la.evd.similar-definition',
    lambda S, T, A3: equivalence(S, T, A3, both=S @ T),
    slip=(
        'multiplies S and T in the wrong order',
        lambda S, T, A3: equivalence(S, T, A3, both=T @ S),
    ),
    S=bases,
    T=bases,
    A3=any_matrices,
    tries=100,
)

# %% tags=["checks"]
one, det, inv = np.eye(3), np.linalg.det, np.linalg.inv

def what_is_left(A, lam):  # of A x - lambda x, for x = e_1, e_2, e_3
    return np.stack([A @ x - lam * x for x in one], axis=1)

cases = dict(S=bases, A2=any_matrices, lam=scalars(), tries=100)
holds(
    'la.evd.similar-shift-1',
    lambda S, A2, lam: close(
        what_is_left(conjugate(S, A2), lam), S @ A2 @ inv(S) - lam * one
    ),
    slip=(
        'subtracts a multiple of S',
        lambda S, A2, lam: close(
            what_is_left(conjugate(S, A2), lam), S @ A2 @ inv(S) - lam * S
        ),
    ),
    **cases,
)
holds(
    'la.evd.similar-shift-2',
    lambda S, A2, lam: close(
        S @ A2 @ inv(S) - lam * one, S @ (A2 - lam * one) @ inv(S)
    ),
    slip=(
        'transposes in place of inverting',
        lambda S, A2, lam: close(
            S @ A2 @ S.T - lam * one, S @ (A2 - lam * one) @ S.T
        ),
    ),
    **cases,
)

# %% tags=["checks"]
def on_both_sides(S, A2, lam, last):  # det S det(A_2 - lambda I) det last
    return det(S) * det(A2 - lam * one) * det(last)

holds(
    'la.evd.similar-det-1',
    lambda S, A2, lam: close(
        det(conjugate(S, A2) - lam * one), on_both_sides(S, A2, lam, inv(S))
    ),
    slip=(
        'multiplies by S twice',
        lambda S, A2, lam: close(
            det(conjugate(S, A2) - lam * one), on_both_sides(S, A2, lam, S)
        ),
    ),
    **cases,
)
holds(
    'la.evd.similar-det-2',
    lambda S, A2, lam: close(
        on_both_sides(S, A2, lam, inv(S)), det(A2 - lam * one)
    ),
    slip=(
        'transposes in place of inverting',
        lambda S, A2, lam: close(
            on_both_sides(S, A2, lam, S.T), det(A2 - lam * one)
        ),
    ),
    **cases,
)

# %% [markdown]
# ## Symmetric matrices have everything
#
# If $\mathbf{A} = \mathbf{A}^\top$ and real, nothing can go wrong: all eigenvalues are real, there are $n$
# eigenvectors, and they are perpendicular.
#
# ```{prf:theorem} Spectral theorem
# :label: thm-spectral
# For every real symmetric $\mathbf{A}$ there are an orthogonal $\mathbf{Q}$ and a real diagonal $\boldsymbol\Lambda$ with
#
# $$\mathbf{A} = \mathbf{Q}\boldsymbol\Lambda\mathbf{Q}^\top = \sum_i \lambda_i\, \mathbf{q}_i\mathbf{q}_i^\top .$$
# ```
#
# ```{prf:proof}
# By induction on $n$; for $n = 1$ there is nothing to show. The unit sphere is closed and bounded, so the continuous
# function $\mathbf{x}^\top\mathbf{A}\mathbf{x}$ has a largest value on it, at $\mathbf{q}_1$ say. Let $\mathbf{w}$
# be any unit vector perpendicular to $\mathbf{q}_1$, and walk on the sphere in its direction:
# $\mathbf{x}(t) = \cos t\; \mathbf{q}_1 + \sin t\; \mathbf{w}$. As $\mathbf{A}$ is symmetric,
#
# $$\mathbf{x}(t)^\top\mathbf{A}\,\mathbf{x}(t) = \cos^2 t\; \mathbf{q}_1^\top\mathbf{A}\mathbf{q}_1 + 2 \sin t \cos t\; \mathbf{w}^\top\mathbf{A}\mathbf{q}_1
# + \sin^2 t\; \mathbf{w}^\top\mathbf{A}\mathbf{w} .$$
#
# At the maximum $t = 0$ the derivative $2\mathbf{w}^\top\mathbf{A}\mathbf{q}_1$ is zero. So $\mathbf{A}\mathbf{q}_1$ is
# perpendicular to everything that is perpendicular to $\mathbf{q}_1$: it is a multiple $\lambda_1\mathbf{q}_1$. Now let
# $\mathbf{w}$ be perpendicular to $\mathbf{q}_1$. So is $\mathbf{A}\mathbf{w}$, because
# $\mathbf{q}_1^\top\mathbf{A}\mathbf{w} = (\mathbf{A}\mathbf{q}_1)^\top\mathbf{w} = \lambda_1\mathbf{q}_1^\top\mathbf{w} =
# 0$. Thus $\mathbf{A}$ maps the space perpendicular to $\mathbf{q}_1$, of dimension $n - 1$, into itself, and in an
# orthonormal basis of that space it is again a symmetric matrix. By induction it has perpendicular eigenvectors there.
# ```
#
# The function that was maximized deserves a name, the *Rayleigh quotient*
#
# ```{math}
# :label: evd-rayleigh
# \rho(\mathbf{x}) = \frac{\mathbf{x}^\top\mathbf{A}\mathbf{x}}{\mathbf{x}^\top\mathbf{x}} = \sum_i \lambda_i c_i^2 \quad\text{for}\quad
# \mathbf{x} = \sum_i c_i\mathbf{q}_i,\ \|\mathbf{x}\| = 1 .
# ```
#
# It is an average of the eigenvalues with the weights $c_i^2$, so $\lambda_{\min} \le \rho \le \lambda_{\max}$. If
# $\mathbf{x}$ misses $\mathbf{q}_1$ by a small angle $\theta$, the wrong weights add up to $\sin^2\theta$: from a
# direction with three digits, $\rho$ makes an eigenvalue with six.
#
# **Jacobi's method** turns the theorem into an algorithm {cite}`jacobi1846leichtes`. Rotate in the plane of two axes $p$
# and $q$, so that the entry $a_{pq}$ becomes zero. On the $2 \times 2$ block
#
# $$\begin{gathered}
# \begin{bmatrix} c & -s \\ s & c \end{bmatrix} \begin{bmatrix} a & b \\ b & d \end{bmatrix}
# \begin{bmatrix} c & s \\ -s & c \end{bmatrix}
# = \begin{bmatrix} \cdot & \tfrac12 (a - d) \sin 2\theta + b\cos 2\theta \\ \cdot & \cdot \end{bmatrix}, \\
# \tan 2\theta = \frac{2b}{d - a} ,
# \end{gathered}$$
#
# where $|\theta| \le 45°$ can be had, and is wanted: larger angles would only exchange axes. Later rotations fill the zero
# again. Why does it help all the same? Rotations do not change the sum of all squares, neither of the block nor of the
# whole matrix. In the block, $2b^2$ moves from off the diagonal onto it; no other diagonal entry changes. So *the sum of
# squares off the diagonal falls by exactly* $2b^2$. If $b$ is the largest of the $n(n-1)$ entries off the diagonal, the
# sum is at most $n(n-1)b^2$. So each rotation leaves at most the part $1 - \tfrac{2}{n(n-1)}$ of it, and it goes to zero.
# In practice one simply takes all pairs in turn.

# %%
def jacobi(A, sweeps=6):  # -> eigenvalues, eigenvectors as columns
    A, Q = A.copy(), np.eye(len(A))
    for _ in range(sweeps):
        for p, q in combinations(range(len(A)), 2):
            pq = [p, q]
            b, gap = A[p, q], A[q, q] - A[p, p]
            theta = np.arctan2(np.copysign(2, gap) * b, abs(gap)) / 2
            c, s = np.cos(theta), np.sin(theta)
            G = np.array([[c, s], [-s, c]])
            A[:, pq] = A[:, pq] @ G
            A[pq] = G.T @ A[pq]
            Q[:, pq] = Q[:, pq] @ G
    return np.diag(A), Q

def off_diagonal(A):  # root of the sum of squares
    return np.linalg.norm(A - np.diag(np.diag(A)))

# %%
B = np.random.default_rng(3).normal(size=(12, 12))
A = B + B.T
values, Q = jacobi(A)
order = values.argsort()
values, Q = values[order], Q[:, order]
true_values, true_Q = np.linalg.eigh(A)
assert close(values, true_values) and close(Q.T @ Q, np.eye(12))
for k in range(12):
    assert close(np.outer(Q[:, k], Q[:, k]),
                 np.outer(true_Q[:, k], true_Q[:, k]))
x = np.random.default_rng(4).normal(size=(12, 1000))
rho = (x * (A @ x)).sum(0) / (x * x).sum(0)
assert values[0] <= rho.min() and rho.max() <= values[-1]
left = []
for sweeps in range(7):
    _, Q = jacobi(A, sweeps)
    left.append(off_diagonal(Q.T @ A @ Q) / off_diagonal(A))
print('agrees with numpy: eigenvalues, projectors, Rayleigh bounds')
print('left after 2, 3, 4, 5 sweeps:', *(f'{v:.2e}' for v in left[2:6]))
assert left[6] < 1e-12

# %% [markdown]
# At the end each sweep squares what is left, and more. Perpendicular eigenvectors are also what makes symmetric problems
# safe: $\mathbf{Q}$ keeps lengths, so it cannot magnify errors. What happens without that is told in [the last
# part](#when-eigenvalues-deceive).
#
# ```{exercise} ★★ Two matrices at once
# :label: evd-generalized
# A building with the stiffness $\mathbf{K}$ and the masses $\mathbf{M}$, both symmetric, $\mathbf{M}$ with positive
# eigenvalues, vibrates with the frequencies $\sqrt{\lambda}$ for which
# $\mathbf{K}\mathbf{x} = \lambda\mathbf{M}\mathbf{x}$ has a solution $\mathbf{x} \ne \mathbf{0}$. Show that all such
# $\lambda$ are real, and write `generalized(K, M)`, which gives them in ascending order, using only the eigenvalues of a
# *symmetric* matrix (`np.linalg.eigvalsh`).
# ```

# %%
def generalized(K, M):
    raise NotImplementedError('your turn')

# %%
def by_lapack(K, M):
    return scipy.linalg.eigh(K, M, eigvals_only=True)

generalized_cases = []
for b, m in np.random.default_rng(5).normal(size=(3, 2, 4, 4)):
    generalized_cases.append((b + b.T, m @ m.T + np.eye(4)))
grade(generalized, by_lapack, generalized_cases)

# %% [markdown]
# ```{solution-start} evd-generalized
# :class: dropdown
# ```
# $\mathbf{M}^{-1}\mathbf{K}$ has the right eigenvalues but is not symmetric; the wrong answer gives it to a solver that
# looks at one triangle only and believes the rest. Split $\mathbf{M} = \mathbf{L}\mathbf{L}^\top$ (Cholesky) and put
# $\mathbf{y} = \mathbf{L}^\top\mathbf{x}$. Multiplied by $\mathbf{L}^{-1}$, the equation reads
# $\mathbf{L}^{-1}\mathbf{K}\mathbf{L}^{-\top}\mathbf{y} = \lambda\mathbf{y}$, and this matrix is symmetric and
# similar to $\mathbf{M}^{-1}\mathbf{K}$. By {prf:ref}`thm-spectral` its eigenvalues are real.

# %% jupyter={"source_hidden": true}
def generalized_solution(K, M):
    inverse = np.linalg.inv(np.linalg.cholesky(M))
    return np.linalg.eigvalsh(inverse @ K @ inverse.T)

def taken_for_symmetric(K, M):
    return np.linalg.eigvalsh(np.linalg.solve(M, K))

assert grade(generalized_solution, by_lapack, generalized_cases)
assert not grade(taken_for_symmetric, by_lapack, generalized_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## From multiplying to the QR algorithm
#
# **Power iteration.** Let $\mathbf{A}$ have $n$ independent eigenvectors. Take any $\mathbf{x} = \sum_i c_i\mathbf{v}_i$
# and multiply by $\mathbf{A}$ again and again:
#
# ```{math}
# :label: evd-power
# \mathbf{A}^k\mathbf{x} = \sum_i c_i\lambda_i^k\,\mathbf{v}_i
# = \lambda_1^k \Big( c_1\mathbf{v}_1 + \sum_{i>1} c_i \Big(\frac{\lambda_i}{\lambda_1}\Big)^k \mathbf{v}_i \Big) .
# ```
#
# If $|\lambda_1| > |\lambda_2| \ge \dots$ and $c_1 \ne 0$, the direction tends to $\mathbf{v}_1$, and each step divides
# the error by $|\lambda_1/\lambda_2|$.
#
# **Inverse iteration.** $(\mathbf{A} - \sigma\mathbf{I})^{-1}$ has the same eigenvectors, with the eigenvalues
# $1/(\lambda_i - \sigma)$. The $\lambda_i$ nearest to $\sigma$ now has the largest one, so power iteration with this
# matrix finds *any* eigenvector, and the faster, the better $\sigma$ is. That the system is nearly singular for a good
# $\sigma$ does no harm: the solution is then inaccurate mostly in its length, along the very eigenvector that is wanted.
#
# **Rayleigh iteration.** Let $\sigma = \rho(\mathbf{x})$ in each step. For symmetric $\mathbf{A}$, if $\mathbf{x}$ is
# wrong by $\varepsilon$, then $\sigma$ is wrong by $O(\varepsilon^2)$, by {eq}`evd-rayleigh`. A step of inverse iteration
# multiplies the error by $|\lambda - \sigma| / |\lambda_{\text{next}} - \sigma| = O(\varepsilon^2)$. What remains is
# $O(\varepsilon^3)$: *the number of digits triples*.

# %%
def power_step(A, x, sigma=None):
    return A @ x

def inverse_step(A, x, sigma):
    return np.linalg.solve(A - sigma * np.eye(len(A)), x)

def rayleigh_step(A, x, sigma=None):
    return inverse_step(A, x, x @ A @ x)

def directions(step, A, x, steps, sigma=None):  # (steps + 1, n)
    found = [x / np.linalg.norm(x)]
    for _ in range(steps):
        x = step(A, found[-1], sigma)
        found.append(x / np.linalg.norm(x))
    return np.array(found)

def sine(x, v):  # of the angle between x (..., n) and v (n,)
    return np.linalg.norm(x - np.multiply.outer(x @ v, v), axis=-1)

# %%
known = np.array([10., 8, 5, 3, 2, 1])
Q, _ = np.linalg.qr(np.random.default_rng(6).normal(size=(6, 6)))
A = Q * known @ Q.T
start = Q @ np.array([1, 0.3, 0.1, 0.1, 0.1, 0.1])
errors = {
    'power': sine(directions(power_step, A, start, 40), Q[:, 0]),
    'inverse, σ = 9.5': sine(
        directions(inverse_step, A, start, 40, sigma=9.5), Q[:, 0]),
    'Rayleigh': sine(directions(rayleigh_step, A, start, 3), Q[:, 0]),
}
for (name, error), rate in zip(
    errors.items(), (10 / 8, 1.5 / 0.5), strict=False,
):
    print(f'{name:16} divides the error by {error[11] / error[12]:.2f},',
          f'theory {rate:.2f}')
small = 10.0 ** np.array([-2, -2.5, -3, -3.5])
after = [sine(directions(rayleigh_step, A, Q @ [1, e, e, e, e, e], 1)[1],
              Q[:, 0]) for e in small]
order = np.polyfit(np.log(small), np.log(after), 1)[0]
print(f'Rayleigh iteration: the error gets the exponent {order:.1f}')

# %% [markdown]
# **All eigenvectors at once.** Give power iteration $n$ vectors, the columns of a matrix. Left alone they would all tend
# to $\mathbf{v}_1$, so make them perpendicular after each step, by a QR decomposition. Seen from the moving basis, and
# with $\mathbf{A}_1 = \mathbf{A}$, this becomes two lines {cite}`francis1961qr`:
#
# ```{math}
# :label: evd-qr-step
# \mathbf{A}_k = \hat{\mathbf{Q}}_k\hat{\mathbf{R}}_k, \qquad
# \mathbf{A}_{k+1} = \hat{\mathbf{R}}_k\hat{\mathbf{Q}}_k = \hat{\mathbf{Q}}_k^\top\mathbf{A}_k\hat{\mathbf{Q}}_k .
# ```
#
# Factorize, multiply in the wrong order, repeat. All $\mathbf{A}_k$ are similar, so they have the same eigenvalues, and as
# a rule they become triangular, with the eigenvalues on the diagonal. The reason lies in a short formula.
#
# ```{prf:theorem} What QR iteration does
# :label: thm-qr-iteration
# Let $\mathbf{Q}_k = \hat{\mathbf{Q}}_1 \cdots \hat{\mathbf{Q}}_k$ and
# $\mathbf{R}_k = \hat{\mathbf{R}}_k \cdots \hat{\mathbf{R}}_1$. Then $\mathbf{A}^k = \mathbf{Q}_k\mathbf{R}_k$.
# ```
#
# ```{prf:proof}
# By {eq}`evd-qr-step`, $\mathbf{A}_k = \mathbf{Q}_{k-1}^\top\mathbf{A}\mathbf{Q}_{k-1}$, that is,
# $\mathbf{A}\mathbf{Q}_{k-1} = \mathbf{Q}_{k-1}\mathbf{A}_k$. By induction $\mathbf{A}^k =
# \mathbf{A}\,\mathbf{Q}_{k-1}\mathbf{R}_{k-1} = \mathbf{Q}_{k-1}\mathbf{A}_k\mathbf{R}_{k-1} =
# \mathbf{Q}_{k-1}\hat{\mathbf{Q}}_k\hat{\mathbf{R}}_k\mathbf{R}_{k-1} = \mathbf{Q}_k\mathbf{R}_k$.
# ```
#
# The first column of $\mathbf{A}^k = \mathbf{Q}_k\mathbf{R}_k$ says that $\mathbf{q}_1$ has the direction of
# $\mathbf{A}^k\mathbf{e}_1$: *power iteration, in front*. Inverted and transposed it reads
# $(\mathbf{A}^{-k})^\top = \mathbf{Q}_k(\mathbf{R}_k^{-1})^\top$, now with a lower triangular factor, whose
# last column has one entry. So $\mathbf{q}_n$ has the direction of $(\mathbf{A}^\top)^{-k}\mathbf{e}_n$: *inverse
# iteration, at the back*. In between, the first $i$ columns follow a space of dimension $i$, and if all $|\lambda_i|$
# differ, entry $i + 1, i$ shrinks like $|\lambda_{i+1}/\lambda_i|^k$ {cite}`golub2013matrix`. And inverse iteration can be
# shifted. Factorize $\mathbf{A}_k - \mu\mathbf{I} = \hat{\mathbf{Q}}\hat{\mathbf{R}}$ and let
# $\mathbf{A}_{k+1} = \hat{\mathbf{R}}\hat{\mathbf{Q}} + \mu\mathbf{I}$, still similar. The best guess for $\mu$ is the
# last diagonal entry, which is the Rayleigh quotient of $\mathbf{q}_n$. Then the last row converges as fast as Rayleigh
# iteration does, for symmetric $\mathbf{A}$ with triple the digits in each step.

# %%
def qr_iteration(A, steps, shifted):  # |a_{i+1,i}| after each step
    found, one = [], np.eye(len(A))
    for _ in range(steps):
        mu = A[-1, -1] if shifted else 0
        Q, R = np.linalg.qr(A - mu * one)
        A = R @ Q + mu * one
        found.append(abs(np.diag(A, -1)))
    return np.array(found)  # (steps, n - 1)

plain = qr_iteration(A, 40, shifted=False)
shifted = qr_iteration(A, 6, shifted=True)
print('entry below the diagonal per step:', (plain[-1] / plain[-2]).round(2))
print('ratios of eigenvalues:            ', (known[1:] / known[:-1]).round(2))

# %% mystnb={"image": {"alt": "Left: errors of the direction against the step; power iteration falls slowly along a straight line, inverse iteration along a steeper one, Rayleigh iteration plunges in three steps. Right: the last entry below the diagonal under QR iteration; straight without shifts, plunging after a few steps with them."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7, sharey=True)
places = ((22, 2e-2), (16, 1e-6), (4, 1e-11))
for (name, error), at, color in zip(
    errors.items(), places, ('C0', 'C1', 'C2'), strict=True,
):
    left.semilogy(np.maximum(error, 1e-12), color=color)
    left.text(*at, name, color=color)
right.semilogy(range(1, 41), plain[:, -1], color='C0')
right.text(22, 1e-5, 'no shift', color='C0')
right.semilogy(range(1, 7), np.maximum(shifted[:, -1], 1e-12), color='C2')
right.text(6, 1e-11, 'shifted', color='C2')
left.set(xlabel='step', title='Error of the direction', ylim=(1e-13, 3))
right.set(xlabel='step', title='Last entry below the diagonal');

# %% [markdown] tags=["caption"]
# Left: power and inverse iteration gain digits at a steady rate, Rayleigh iteration triples them in each step. Right: shifts
# do the same for QR iteration on a symmetric matrix.

# %% [markdown]
# Three things turn the iteration into the algorithm that libraries run {cite}`golub2013matrix`.
#
# *Hessenberg form.* A full step costs $O(n^3)$. So first make all entries below the first subdiagonal zero, once, by
# mirrors from both sides. QR steps keep this form, and with $n - 1$ Givens turns they cost $O(n^2)$. *Deflation.* When the
# last subdiagonal entry is lost beside its neighbours, the last diagonal entry is an eigenvalue, and the rest is a problem
# of size $n - 1$. *A better shift.* A real matrix with complex eigenvalues never converges with real shifts. Wilkinson's
# shift is the eigenvalue of the last $2 \times 2$ block that is nearer to its corner; it may be complex.

# %%
def hessenberg(A):
    H = A.copy()
    for j in range(len(H) - 2):
        v = H[j + 1:, j].copy()
        v[0] += np.copysign(np.linalg.norm(v), v[0])
        v /= np.linalg.norm(v) or 1
        H[j + 1:] -= 2 * np.outer(v, v @ H[j + 1:])
        H[:, j + 1:] -= 2 * np.outer(H[:, j + 1:] @ v, v)
    return np.triu(H, -1)

def wilkinson(block):
    (a, b), (c, d) = block
    mean, root = (a + d) / 2, np.sqrt((a - d) ** 2 / 4 + b * c + 0j)
    return min(mean + root, mean - root, key=lambda value: abs(value - d))

def qr_step(H, mu):  # H Hessenberg, complex
    H, turns = H - mu * np.eye(len(H)), []
    for k in range(len(H) - 1):
        x, y = H[k:k + 2, k]
        turn = np.array([[x.conj(), y.conj()], [-y, x]])
        turns.append(turn / (np.hypot(abs(x), abs(y)) or 1))
        H[k:k + 2, k:] = turns[-1] @ H[k:k + 2, k:]
    for k, turn in enumerate(turns):
        H[:k + 2, k:k + 2] = H[:k + 2, k:k + 2] @ turn.conj().T
    return H + mu * np.eye(len(H))

# %%
def eigenvalues(A):  # -> eigenvalues, number of QR steps
    H, steps = hessenberg(A).astype(complex), 0
    for m in range(len(H), 1, -1):
        tries = 0
        while abs(H[m - 1, m - 2]) > np.finfo(float).eps * (
            abs(H[m - 2, m - 2]) + abs(H[m - 1, m - 1])
        ):
            tries += 1
            mu = wilkinson(H[m - 2:m, m - 2:m])
            if tries % 10 == 0:  # stuck: another shift
                mu += abs(H[m - 1, m - 2])
            H[:m, :m] = qr_step(H[:m, :m], mu)
        steps += tries
    return np.diag(H), steps

for n in (2, 3, 5, 10, 20, 40):
    A = np.random.default_rng(n).normal(size=(n, n))
    values, steps = eigenvalues(A)
    gap = distance(values, np.linalg.eigvals(A))
    assert gap < 1e-11 and steps < 5 * n
    print(f'n = {n:2}: gap to numpy {below(gap, 1e-11)}, '
          f'{steps / n:.1f} steps for an eigenvalue')
circulant = np.roll(np.eye(5), 1, axis=0)
roots_of_one = np.exp(2j * np.pi * np.arange(5) / 5)
assert distance(eigenvalues(circulant)[0], roots_of_one) < 1e-12

# %% [markdown]
# The last matrix moves all coordinates by one place. Its first shift is zero, and a QR step with this shift gives it back
# unchanged: without another shift now and then it would go on for ever. No choice of shifts is known to be both simple and
# safe for every matrix. The algorithm is one of the great successes of numerical mathematics all the same, with about
# three steps for an eigenvalue.
#
# ```{exercise} ★★ The nearest one
# :label: evd-nearest
# Write `nearest(A, sigma)`: the eigenvalue of the symmetric matrix `A` that is nearest to `sigma`, without computing any
# other.
# ```

# %%
def nearest(A, sigma):
    raise NotImplementedError('your turn')

# %%
def from_all(A, sigma):
    values = np.linalg.eigvalsh(A)
    return values[abs(values - sigma).argmin()]

b = np.random.default_rng(7).normal(size=(8, 8))
nearest_cases = [(b + b.T, sigma) for sigma in (-7.0, -1.0, 0.5, 3.0)]
grade(nearest, from_all, nearest_cases)

# %% [markdown]
# ```{solution-start} evd-nearest
# :class: dropdown
# ```
# Inverse iteration with the fixed shift $\sigma$, from a random start; at the end the Rayleigh quotient, whose error is
# the square of that of the direction. (With moving shifts one may end up at another eigenvalue.) The wrong answer forgets
# the inverse: power iteration with $\mathbf{A} - \sigma\mathbf{I}$ finds the eigenvalue *farthest* from $\sigma$.

# %% jupyter={"source_hidden": true}
def iterate(B, A):
    x = np.random.default_rng(0).normal(size=len(A))
    for _ in range(200):
        x = B @ x
        x /= np.linalg.norm(x)
    return x @ A @ x

def nearest_solution(A, sigma):
    return iterate(np.linalg.inv(A - sigma * np.eye(len(A))), A)

def farthest(A, sigma):
    return iterate(A - sigma * np.eye(len(A)), A)

assert grade(nearest_solution, from_all, nearest_cases)
assert not grade(farthest, from_all, nearest_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Where it matters: finding the vowels
#
# This section continues [From multiplying to the QR algorithm](#from-multiplying-to-the-qr-algorithm), whose algorithms
# now read a text. It is English, but that they are not told: to them it is a sequence of 27 signs, letters and the blank.
# (It is made of the descriptions that scikit-learn gives of six of its data sets.) Count how often sign $j$ follows sign
# $i$, with the last sign followed by the first, and divide by the number of $i$'s: $p_{ij}$ is the share of $j$ among the
# successors of $i$.

# %%
ALPHABET = ' abcdefghijklmnopqrstuvwxyz'
loaders = (datasets.load_iris, datasets.load_wine, datasets.load_diabetes,
           datasets.load_breast_cancer, datasets.load_digits,
           datasets.load_linnerud)
text = ' '.join(load().DESCR.lower() for load in loaders)
text = re.sub('[^a-z]+', ' ', text).strip() + ' '
signs = np.array([ALPHABET.index(c) for c in text])

def transitions(signs):  # (27, 27), rows sum to one
    counts = np.zeros((27, 27))
    np.add.at(counts, (signs, np.roll(signs, -1)), 1)
    return counts / counts.sum(1, keepdims=True)

P = transitions(signs)
frequency = np.bincount(signs) / len(signs)
print(f'{len(signs)} signs; {text[:48]}...')

# %% [markdown]
# Every row sums to one, so $\mathbf{P}\mathbf{1} = \mathbf{1}$: an eigenvalue 1. No eigenvalue is larger in absolute
# value, since averaging cannot increase the largest entry of a vector, $\max_i |\sum_j p_{ij}x_j| \le \max_j |x_j|$. From
# the left, the eigenvector of 1 is the vector $\boldsymbol\pi$ of frequencies: $\sum_i \pi_i p_{ij}$ counts each $j$ by
# what came before it. So power iteration with $\mathbf{P}^\top$, started from any shares, must arrive at the
# frequencies, if no other eigenvalue has the absolute value 1. The error shrinks by $|\lambda_2|$ in each step.

# %%
x = np.full(27, 1 / 27)
for step in range(60):
    x = P.T @ x
assert close(x, frequency)
print('most frequent:', *(repr(ALPHABET[i]) for i in (-x).argsort()[:6]))

values, _ = eigenvalues(P)
assert distance(values, np.linalg.eigvals(P)) < 1e-10
values = values[(-abs(values)).argsort()]
print(f'largest eigenvalues: {abs(values[0]):.3f} {values[1].real:.3f}')
print('others at most:', abs(values[2:]).max().round(3))

# %% [markdown]
# The second eigenvalue is real and *negative*. What does that mean? Imagine a language in which vowels and consonants
# strictly alternate. Let $x_i = -1$ for vowels and $x_i = 1$ for consonants. The average of $x$ over the successors of a
# vowel is then 1, over those of a consonant $-1$: $\mathbf{P}\mathbf{x} = -\mathbf{x}$, with the eigenvalue $-1$. English
# alternates only on average, and the eigenvalue is about $-0.4$. But its eigenvector should still remember the two
# classes. One step of inverse iteration fetches it.

# %%
lam = values[1].real
x = np.linalg.solve(P - (lam + 1e-10) * np.eye(27), np.ones(27) + frequency)
x *= np.sign(x[ALPHABET.index('t')]) / abs(x).max()
assert abs(P @ x - lam * x).max() < 1e-8
low = ''.join(sorted(c for c, v in zip(ALPHABET, x, strict=True) if v < 0))
high = ''.join(sorted(c for c, v in zip(ALPHABET, x, strict=True) if v > 0))
print(f'one class: {low!r}\nthe other: {high!r}')
assert low == ' aeiou'

shuffled = [np.random.default_rng(s).permutation(signs) for s in range(20)]
lowest = [np.linalg.eigvals(transitions(s)).real.min() for s in shuffled]
assert lam < min(lowest)
print(f'most negative real part {lam:.3f};',
      f'in 20 shuffled texts never below {min(lowest):.3f}')

# %% [markdown]
# The five vowels, and the blank, which keeps company with them. Nobody said what a vowel is. Markov counted vowels and
# consonants in *Eugene Onegin* by hand {cite}`markov1913example`; that the classes themselves come out of the counts was
# noticed much later {cite}`moler1983singular`. The algebra of words is no different: methods that place words near each
# other begin with such tables.

# %% mystnb={"image": {"alt": "A bar for each of the 27 signs, sorted by its entry in the second eigenvector. The bars of u, o, a, the blank, i and e point down, those of all consonants up, longest for q and j."}} tags=["hide-input"]
order = x.argsort()
names = [ALPHABET[i].replace(' ', '␣') for i in order]
fig, ax = plt.subplots(figsize=(6, 2.2))
ax.bar(names, x[order], color=np.where(x[order] < 0, 'C1', 'C0'))
ax.axhline(0, color=GREY, lw=0.8)
ax.tick_params(axis='x', length=0)
ax.spines['bottom'].set_visible(False)
ax.set(ylabel='entry', xlim=(-0.6, 26.6), title='The second eigenvector');

# %% [markdown] tags=["caption"]
# The signs in the eigenvector of the second eigenvalue separate the five vowels and the blank from all consonants, by counts
# of neighbours alone.

# %% [markdown]
# ```{exercise} ★★★ The random surfer
# :label: evd-damping
# A surfer follows a random link with probability $d$ and else jumps to a random page, drawn with the probabilities
# $\mathbf{v}$. Pages are ranked by the left eigenvector of $d\,\mathbf{P} + (1 - d)\,\mathbf{1}\mathbf{v}^\top$ for the
# eigenvalue 1. Show that its other eigenvalues are $d$ times the other eigenvalues of $\mathbf{P}$, whatever $\mathbf{v}$
# is: apart from the 1, none exceeds $d$, which is what power iteration needs. Write `second(P, d)`, the largest absolute
# value among these others. Then explore: on a ring of pages, how many steps does power iteration need for
# $d = 0.5, 0.85, 0.99$?
# ```

# %%
def second(P, d):
    raise NotImplementedError('your turn')

# %%
def of_the_surfer(P, d):
    v = np.random.default_rng(0).dirichlet(np.ones(len(P)))
    values = np.linalg.eigvals(d * P + (1 - d) * v)  # v in every row
    return np.sort(abs(values))[-2]

surfer_rng = np.random.default_rng(8)
links = [surfer_rng.dirichlet(np.ones(n), size=n) for n in (3, 3, 6)]
islands = scipy.linalg.block_diag(*links[:2])
second_cases = [(P, d) for P in (*links, islands) for d in (0.5, 0.85)]
grade(second, of_the_surfer, second_cases)

# %% [markdown]
# ```{solution-start} evd-damping
# :class: dropdown
# ```
# Take a basis $\mathbf{S}$ that begins with $\mathbf{1}$. As $\mathbf{P}\mathbf{1} = \mathbf{1}$,
# $\mathbf{S}^{-1}\mathbf{P}\mathbf{S} = \begin{bmatrix} 1 & * \\ \mathbf{0} & \mathbf{B} \end{bmatrix}$, where
# $\mathbf{B}$ has the other eigenvalues of $\mathbf{P}$. And
# $\mathbf{S}^{-1}\mathbf{1}\,\mathbf{v}^\top\mathbf{S} = \mathbf{e}_1\mathbf{v}^\top\mathbf{S}$ has a first
# row only, beginning with $\mathbf{v}^\top\mathbf{1} = 1$. The sum is
# $\begin{bmatrix} 1 & * \\ \mathbf{0} & d\,\mathbf{B} \end{bmatrix}$. The wrong answer takes the bound $d$ for the value;
# that is right only where $\mathbf{P}$ has more eigenvalues of absolute value 1, as with two islands. On the ring the
# second eigenvalue of $\mathbf{P}$ is nearly 1, so no more than about $\log 10^{-8} / \log d$ steps are needed:

# %% jupyter={"source_hidden": true}
def second_solution(P, d):
    return d * np.sort(abs(np.linalg.eigvals(P)))[-2]

assert grade(second_solution, of_the_surfer, second_cases)
assert not grade(lambda P, d: d, of_the_surfer, second_cases)
one, v = np.eye(101), np.arange(101) / 5050
ring = (np.roll(one, 1, 0) + np.roll(one, -1, 0)) / 2
for d in (0.5, 0.85, 0.99):
    rank, steps, change = v, 0, 1.0
    while change > 1e-8:
        new = d * ring.T @ rank + (1 - d) * v
        change, rank, steps = abs(new - rank).sum(), new, steps + 1
    print(f'd = {d:.2f}: {steps} steps')

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## When eigenvalues deceive
#
# The shear $\begin{bmatrix} 1 & 1 \\ 0 & 1 \end{bmatrix}$ had one eigenvector where the identity has two. The *algebraic
# multiplicity* of an eigenvalue is its multiplicity as a zero of the polynomial, the *geometric* one the number of its
# independent eigenvectors. Where the second is smaller the matrix is *defective*, and no invertible $\mathbf{V}$ exists.
# What can be had instead is the *Jordan form* $\mathbf{A} = \mathbf{S}\mathbf{J}\mathbf{S}^{-1}$: eigenvalues on the
# diagonal of $\mathbf{J}$, some ones directly above it, zeros elsewhere {cite}`horn2013matrix`. It exists for every
# matrix, and it is an algebraist's tool: nothing is more fragile. Put a small $\delta$ into the corner of the shear. Now
#
# ```{math}
# :label: evd-split
# \begin{bmatrix} 1 & 1 \\ \delta & 1 \end{bmatrix} \begin{bmatrix} 1 & 1 \\ \sqrt\delta & -\sqrt\delta \end{bmatrix}
# = \begin{bmatrix} 1 & 1 \\ \sqrt\delta & -\sqrt\delta \end{bmatrix}
# \begin{bmatrix} 1 + \sqrt\delta & \\ & 1 - \sqrt\delta \end{bmatrix} .
# ```
#
# There are two eigenvalues and two eigenvectors, for whatever $\delta > 0$. But
# $\mathbf{V}\mathbf{V}^\top = \operatorname{diag}(2, 2\delta)$, so the condition number of $\mathbf{V}$ is
# $1/\sqrt\delta$, and a change of $10^{-16}$ has moved the eigenvalues by $10^{-8}$. In a chain of size $n$, with ones above
# the diagonal and $\delta$ in the corner, $(\lambda - 1)^n = \delta$: the eigenvalues jump to a circle of radius
# $\delta^{1/n}$.

# %%
J = sp.Matrix([[5, 4, 2, 1], [0, 1, -1, -1], [-1, -1, 3, 0], [1, 1, -1, 2]])
S, jordan = J.jordan_form()
assert S * jordan * S.inv() == J
print(jordan)
for n in (2, 4, 8, 16):
    A = np.eye(n) + np.eye(n, k=1)
    A[-1, 0] = 1e-8
    values, V = np.linalg.eig(A)
    # rounding of 1e-16 changes the corner's 1e-8 by the share 1e-8
    assert abs(abs(values - 1) - 1e-8 ** (1 / n)).max() < 1e-8
    print(f'n = {n:2}: 1e-8 in the corner moves the eigenvalues by',
          f'{1e-8 ** (1 / n):.0e}, condition of V {np.linalg.cond(V):.2e}')

# %% [markdown]
# So $\kappa(\mathbf{V}) = \|\mathbf{V}\|\|\mathbf{V}^{-1}\|$ is the number to watch {cite}`bauer1960norms`.
#
# ```{prf:theorem} Bauer and Fike
# :label: thm-bauer-fike
# Let $\mathbf{A} = \mathbf{V}\boldsymbol\Lambda\mathbf{V}^{-1}$. Every eigenvalue $\mu$ of $\mathbf{A} + \mathbf{E}$ lies
# within $\kappa(\mathbf{V})\,\|\mathbf{E}\|$ of an eigenvalue of $\mathbf{A}$.
# ```
#
# ```{prf:proof}
# Let $(\mathbf{A} + \mathbf{E})\mathbf{x} = \mu\mathbf{x}$, $\mathbf{x} \ne \mathbf{0}$, and let $\mu$ be no eigenvalue of
# $\mathbf{A}$. With $\mathbf{y} = \mathbf{V}^{-1}\mathbf{x}$, multiplying
# $(\mathbf{A} - \mu\mathbf{I})\mathbf{x} = -\mathbf{E}\mathbf{x}$ by $\mathbf{V}^{-1}$ gives
# $(\boldsymbol\Lambda - \mu\mathbf{I})\mathbf{y} = -\mathbf{V}^{-1}\mathbf{E}\mathbf{V}\mathbf{y}$. Divide by the diagonal
# matrix and take norms:
# $\|\mathbf{y}\| \le \max_i |\lambda_i - \mu|^{-1}\, \kappa(\mathbf{V})\, \|\mathbf{E}\|\, \|\mathbf{y}\|$. Cancel
# $\|\mathbf{y}\| > 0$.
# ```
#
# For symmetric matrices $\kappa(\mathbf{Q}) = 1$: eigenvalues move no farther than the matrix. The same is true of all
# *normal* matrices, those with perpendicular eigenvectors, complex ones admitted. For a single eigenvalue there is a
# sharper number. Let $\lambda$ be a simple zero of the polynomial, so that it and its eigenvector depend smoothly on the
# matrix, and let $\mathbf{y}^*\mathbf{A} = \lambda\mathbf{y}^*$ be the eigenvector from the left ($^*$ is the conjugate
# transpose). Differentiate $\mathbf{A}\mathbf{x} = \lambda\mathbf{x}$ along $\mathbf{A} + t\mathbf{E}$,
# $\mathbf{E}\mathbf{x} + \mathbf{A}\dot{\mathbf{x}} = \dot\lambda\mathbf{x} + \lambda\dot{\mathbf{x}}$, and multiply by
# $\mathbf{y}^*$. The terms with $\dot{\mathbf{x}}$ cancel. And $\mathbf{y}^*\mathbf{x} \ne 0$: otherwise $\mathbf{x}$,
# perpendicular to $\mathbf{y}$, would be of the form $(\mathbf{A} - \lambda\mathbf{I})\mathbf{z}$, as this range is all
# that is perpendicular to $\mathbf{y}$; then $(\mathbf{A} - \lambda\mathbf{I})^2\mathbf{z} = \mathbf{0} \ne (\mathbf{A} -
# \lambda\mathbf{I})\mathbf{z}$, and $\lambda$ would not be simple. So
#
# ```{math}
# :label: evd-sensitivity
# \dot\lambda = \frac{\mathbf{y}^*\mathbf{E}\mathbf{x}}{\mathbf{y}^*\mathbf{x}}, \qquad
# |\dot\lambda| \le \frac{\|\mathbf{y}\|\,\|\mathbf{x}\|}{|\mathbf{y}^*\mathbf{x}|}\,\|\mathbf{E}\| .
# ```
#
# An eigenvalue is in danger if its left and right eigenvectors are nearly perpendicular. And if all one has is the matrix
# itself?
#
# ```{prf:theorem} Gershgorin
# :label: thm-gershgorin
# Every eigenvalue lies in one of the discs with centre $a_{ii}$ and radius $\sum_{j \ne i} |a_{ij}|$.
# ```
#
# ```{prf:proof}
# Let $\mathbf{A}\mathbf{x} = \lambda\mathbf{x}$ and let $x_i$ be the largest entry of $\mathbf{x}$ in absolute value. Row
# $i$ says $(\lambda - a_{ii})x_i = \sum_{j \ne i} a_{ij}x_j$. Divide by $x_i$; all $|x_j / x_i| \le 1$.
# ```

# %%
def gershgorin(A):  # centres, radii
    return np.diag(A), abs(A).sum(1) - abs(np.diag(A))

rng = np.random.default_rng(9)
shares, gaps = [], []
for _ in range(50):
    A, E = rng.normal(size=(2, 5, 5))
    values, V = np.linalg.eig(A)
    centres, radii = gershgorin(A)
    assert (abs(np.subtract.outer(values, centres)) <= radii).any(1).all()
    D = 0.1 * E
    moved = np.linalg.eigvals(A + D)
    away = abs(np.subtract.outer(moved, values)).min(1).max()
    shares.append(away / np.linalg.cond(V) / np.linalg.norm(D, 2))
    left = np.linalg.inv(V)  # rows y*, with y* x = 1
    slope = np.einsum('ki,ij,jk->k', left, E, V)
    there, back = (np.linalg.eigvals(A + t * E) for t in (1e-6, -1e-6))
    measured = [(there[abs(there - v - 1e-6 * k).argmin()]
                 - back[abs(back - v + 1e-6 * k).argmin()]) / 2e-6
                for v, k in zip(values, slope, strict=True)]
    gaps.append(abs(measured - slope).max() / abs(slope).max())
assert max(shares) <= 1 and max(gaps) < 1e-6  # rounding of 1e-16 over 1e-6
print(f'moves: at most {max(shares):.2f} of the bound of Bauer and Fike; '
      f'relative gap to the derivative {below(gaps, 1e-6)}')

# %%
spread = np.array([-2., -1, 0, 1, 2])
tilted = np.diag(spread) + 4 * np.triu(np.ones((5, 5)), 1)
Q, _ = np.linalg.qr(rng.normal(size=(5, 5)))
symmetric = Q * spread @ Q.T
E = rng.normal(size=(600, 5, 5)) + 1j * rng.normal(size=(600, 5, 5))
E *= 0.01 / np.linalg.norm(E, 2, axis=(1, 2))[:, None, None]
clouds = [np.linalg.eigvals(A + E).ravel() for A in (symmetric, tilted)]
for name, A, cloud in zip(
    ('symmetric', 'tilted'), (symmetric, tilted), clouds, strict=True,
):
    away = abs(np.subtract.outer(cloud, spread)).min(1).max()
    condition = np.linalg.cond(np.linalg.eig(A)[1])
    assert away <= 0.01 * condition * (1 + 1e-9)
    print(f'{name:9} condition of V {condition:3.0f}, E of norm 0.01',
          f'moves eigenvalues by {away:.4f}')

# %% mystnb={"image": {"alt": "Left: five discs in the complex plane with five eigenvalues inside their union. Middle: a symmetric matrix; under 600 small perturbations its five eigenvalues remain five dots. Right: another matrix with the same eigenvalues; under perturbations of the same size the middle ones smear out into large merging clouds, while −2 remains a dot."}} tags=["hide-input"]
G = np.array([[4, 0.6, -0.4, 0, 0.3], [0.5, -1, -1.2, 0.4, 0],
              [-0.3, 1.1, -1.2, 0, 0.5], [0.4, 0, 0.7, 1.5, -0.8],
              [0, 0.3, 0, 0.9, 1.8]])
t = np.linspace(0, 2 * np.pi, 181)
fig, axes = panels(3, height=2.3)
for centre, radius in zip(*gershgorin(G), strict=True):
    axes[0].fill(centre + radius * np.cos(t), radius * np.sin(t),
                 color='C0', alpha=0.25, lw=0)
values = np.linalg.eigvals(G)
axes[0].plot(values.real, values.imag, 'o', color='C1', ms=4)
axes[0].set(title='Gershgorin’s discs', aspect='equal', ylim=(-4.4, 4.4))
for ax, cloud, name in zip(axes[1:], clouds, ('Symmetric', 'Tilted'),
                           strict=True):
    ax.plot(cloud.real, cloud.imag, '.', color='C0', ms=1.5, rasterized=True)
    ax.plot(spread, 0 * spread, 'o', color='C1', ms=3)
    ax.set(xlim=(-3, 3), ylim=(-3, 3), aspect='equal', title=name)
for ax in axes:
    ax.set_xlabel('real part')
axes[0].set_ylabel('imaginary part');

# %% [markdown] tags=["caption"]
# Left: the eigenvalues lie within Gershgorin's discs. Middle and right: errors of norm 0.01 hardly move those of a symmetric
# matrix, but smear out most of the same ones of a tilted matrix.

# %% [markdown]
# **The end and the way there.** A recurrent network multiplies its state by the same matrix $\mathbf{W}$ in every step,
# and gradients by $\mathbf{W}^\top$ on the way back. Whether they die out or explode in the long run is decided by
# the *spectral radius*, the largest $|\lambda_i|$: by {eq}`evd-decomposition`,
# $\varrho^t \le \|\mathbf{W}^t\| \le \kappa(\mathbf{V})\,\varrho^t$. What do random weights do? If the $n^2$ entries are
# drawn independently from one distribution with mean 0 and variance $1/n$, the eigenvalues fill the unit disc evenly as
# $n$ grows (the *circular law*); a symmetric matrix of such entries has its eigenvalues in $[-2, 2]$, with a density whose
# graph is half an ellipse (the *semicircle law*) {cite}`tao2012topics`. That is one reason to initialize weights with a
# variance of about $1/n$: the spectral radius is then about one.
#
# But $\kappa(\mathbf{V})$ leaves room. Take three networks, all with the spectral radius $0.9$: one symmetric, one with
# independent entries, and a *chain*, triangular, in which signals mostly run one way.

# %%
n, rng = 200, np.random.default_rng(10)
W = rng.normal(size=(n, n)) / np.sqrt(n)
half = (W + W.T) / np.sqrt(2)
disc, line = np.sort(np.linalg.eigvals(W)), np.linalg.eigvalsh(half)
inside = (abs(disc) < np.sqrt(0.5)).mean()
assert abs(inside - 0.5) < 0.05 and abs(abs(disc).max() - 1) < 0.1
assert abs(abs(line).max() - 2) < 0.1
print(f'in the disc of half the area: {inside:.2f} of the eigenvalues')

m = 100
chain_net = 2 * np.triu(W[:m, :m], 1) * np.sqrt(n / m)
chain_net += np.diag(np.linspace(-1, 1, m))
nets = {'symmetric': half[:m, :m], 'independent': W[:m, :m],
        'chain': chain_net}
growth = {}
for name, A in nets.items():
    A = 0.9 * A / abs(np.linalg.eigvals(A)).max()
    powers = [np.eye(m)]
    for _ in range(100):
        powers.append(A @ powers[-1])
    growth[name] = np.linalg.norm(powers, 2, axis=(1, 2))
    assert (growth[name] >= 0.9 ** np.arange(101) * (1 - 1e-9)).all()
    print(f'{name:12} largest ‖Wᵗ‖ = {growth[name].max():.2f}')

# %% mystnb={"image": {"alt": "Left: 200 eigenvalues of a random matrix fill the unit disc. Middle: a histogram of the eigenvalues of a symmetric random matrix follows a half ellipse from -2 to 2. Right: norms of matrix powers; the symmetric network decays from the start, the independent one rises a little first, the chain rises to about seventy before it decays."}} tags=["hide-input"]
t = np.linspace(0, 2 * np.pi, 181)
fig, (left, middle, right) = panels(3, height=2.3)
left.plot(disc.real, disc.imag, '.', color='C0', ms=3)
left.plot(np.cos(t), np.sin(t), color='C1', lw=1)
left.set(aspect='equal', title='Independent entries', xlabel='real part')
left.set(ylabel='imaginary part', xticks=[-1, 0, 1], yticks=[-1, 0, 1])
middle.hist(line, bins=16, range=(-2.1, 2.1), density=True, alpha=0.5)
s = np.linspace(-2, 2, 201)
middle.plot(s, np.sqrt(4 - s ** 2) / (2 * np.pi), color='C1')
middle.set(title='Symmetric', xlabel='eigenvalue', ylabel='density')
places = ((4, 1e-4), (44, 8e-2), (62, 6e1))
for (name, norm), at, color in zip(
    growth.items(), places, ('C0', 'C1', 'C2'), strict=True,
):
    right.semilogy(norm, color=color)
    right.text(*at, name, color=color)
right.set(title='‖Wᵗ‖, all ϱ = 0.9', xlabel='steps t', ylim=(1e-5, 1e3));

# %% [markdown] tags=["caption"]
# Eigenvalues of random weights fill the unit disc, or follow the semicircle law if symmetric ($n = 200$). Right: at spectral
# radius 0.9 a chain still amplifies more than seventyfold before it decays.

# %% [markdown]
# All three must end the same way. On the way, the chain amplifies a signal by a factor of more than seventy, though every
# eigenvalue says "decay". Eigenvalues describe the end; for the way there look at norms, or at singular values
# {cite}`trefethen2005spectra`.
#
# ```{exercise} ★★ Which eigenvalue is in danger?
# :label: evd-condition
# Write `sensitivity(A)`: for each eigenvalue, in the order of `np.linalg.eig`, the best constant in {eq}`evd-sensitivity`,
# by how much it can move for each unit of $\|\mathbf{E}\|$.
# ```

# %%
def sensitivity(A):
    raise NotImplementedError('your turn')

# %%
def by_worst_direction(A):  # step along E = y x*, the worst of norm 1
    values, x = np.linalg.eig(A)
    moved = []
    for k, value in enumerate(values):
        y = scipy.linalg.null_space(
            (A - value * np.eye(len(A))).conj().T, rcond=1e-9)[:, 0]
        E = 1e-7 * np.outer(y, x[:, k].conj())
        new = np.linalg.eigvals(A + E) - value
        old = np.linalg.eigvals(A - E) - value
        moved.append((abs(new).min() + abs(old).min()) / 2e-7)
    return np.array(moved)

sensitivity_cases = [(np.array(A),) for A in (
    [[1., 10], [0, 2]], [[2., 1], [1, 3]], [[0., 1], [-1, 0]],
    [[1., 5, 9], [0, 2, 7], [0, 0, 4]],
)]
grade(sensitivity, by_worst_direction, sensitivity_cases, rtol=1e-4)

# %% [markdown]
# ```{solution-start} evd-condition
# :class: dropdown
# ```
# $|\mathbf{y}^*\mathbf{E}\mathbf{x}| \le \|\mathbf{y}\|\|\mathbf{E}\|\|\mathbf{x}\|$, with equality for
# $\mathbf{E} = \mathbf{y}\mathbf{x}^*$. From $\mathbf{V}^{-1}\mathbf{A} = \boldsymbol\Lambda\mathbf{V}^{-1}$ one sees that
# the rows of $\mathbf{V}^{-1}$ are left eigenvectors, already with $\mathbf{y}^*\mathbf{x} = 1$. So the constant is the
# length of the row of $\mathbf{V}^{-1}$ times that of the column of $\mathbf{V}$. The wrong answer takes the right
# eigenvectors for the left ones, as one may for symmetric matrices, and sees no danger anywhere.

# %% jupyter={"source_hidden": true}
def sensitivity_solution(A):
    _, V = np.linalg.eig(A)
    rows = np.linalg.inv(V)
    return np.linalg.norm(rows, axis=1) * np.linalg.norm(V, axis=0)

def as_if_symmetric(A):
    _, V = np.linalg.eig(A)
    lengths = np.linalg.norm(V, axis=0)
    return lengths ** 2 / abs((V.conj() * V).sum(0))

assert grade(sensitivity_solution, by_worst_direction, sensitivity_cases,
             rtol=1e-4)
assert not grade(as_if_symmetric, by_worst_direction, sensitivity_cases,
                 rtol=1e-4)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Summary
#
# Eigenvectors are the directions that a matrix only stretches; similar matrices share the eigenvalues, and with $n$
# independent eigenvectors the matrix is diagonal in their coordinates, which turns powers, roots and exponentials into
# ordinary ones. For symmetric matrices this always works, with perpendicular eigenvectors and errors that never grow; for
# the others the QR algorithm with shifts, which is power and inverse iteration in one, finds all eigenvalues in a few
# steps each. Where eigenvectors are nearly dependent, eigenvalues are sensitive, and they foretell only the end of a long
# multiplication, not the way there.
#
# **Further reading.** {cite}`trefethen1997numerical` and {cite}`golub2013matrix` for the algorithms,
# {cite}`horn2013matrix` for the theory, {cite}`trefethen2005spectra` for what eigenvalues hide.
