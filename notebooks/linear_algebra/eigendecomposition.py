# ---
# jupyter:
#   book:
#     functions:
#       inverse_iteration: inverse_iteration(normal(3, 3), 0.2, normal(3), 4)
#       matrix_function: matrix_function(np.exp, normal(3, 3))
#       power_iteration: power_iteration(normal(3, 3), normal(3), 4)
#       qr_iteration: qr_iteration(normal(3, 3), 3)
#       rayleigh_iteration: rayleigh_iteration(normal(3, 3), normal(3), 2)
#     main: evd-decomposition
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Eigenvalue decomposition
#
# A city lends 90 bicycles at two stations. Each day, one tenth of the bicycles at the harbour end up at the market, and one
# fifth of those at the market end up at the harbour. On the first day all 90 stand at the harbour. Where will they be after
# a year, and how soon do they settle there?
#
# - **You need** [determinants](../linear_algebra/determinants.ipynb),
#   [orthogonal matrices](../linear_algebra/qr_decomposition.ipynb) and the
#   [norm of a matrix](../linear_algebra/norms.ipynb).
# - **You build** powers and roots of a matrix, power iteration, inverse iteration and the QR algorithm, and a program that
#   finds the vowels of a language that it does not know.
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
import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
from numpy.linalg import matrix_power, norm

from nbutils import data
from nbutils.cases import integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import below, between, close, grade, holds, verify
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## Eigenvalues and eigenvectors: the directions that a matrix only stretches
#
# Let $\mathbf{x}$ hold the numbers of bicycles at the harbour and at the market. One day later they are $\mathbf{A}\mathbf{x}$:

# %%
A = np.array([[0.9, 0.2],   # at the harbour tomorrow
              [0.1, 0.8]])  # at the market tomorrow
x = np.array([90.0, 0.0])
for day in (0, 1, 2, 5, 10, 20, 365):
    print(f'day {day:3}:', (matrix_power(A, day) @ x).round(2))

# %% [markdown]
# Two vectors explain how the numbers approach 60 and 30:

# %%
print('A (2, 1)  =', A @ [2, 1])
print('A (1, -1) =', A @ [1, -1])

# %% [markdown]
# The first vector does not change. The second becomes 0.7 times itself. Every other vector is a sum of multiples of the two. Our
# first day is $(90, 0) = 30\,(2, 1) + 30\,(1, -1)$, so after $k$ days the numbers are
#
# $$ 30 \begin{bmatrix} 2 \\ 1 \end{bmatrix} + 0.7^k \cdot 30 \begin{bmatrix} 1 \\ -1 \end{bmatrix} . $$
#
# After 10 days the second term is $30 \cdot 0.7^{10} \approx 0.85$, less than one
# bicycle.
#
# ```{prf:definition} Eigenvalue and eigenvector
# :label: def-eigen
# A vector $\mathbf{v} \ne \mathbf{0}$ is an *eigenvector* of the square matrix $\mathbf{A}$ with the *eigenvalue* $\lambda$
# if $\mathbf{A}\mathbf{v} = \lambda\mathbf{v}$. Both may be complex, even if $\mathbf{A}$ is real.
# ```

# %% mystnb={"image": {"alt": "Left: the number of bicycles at each station against the day; one curve falls from 90 to 60, the other rises from 0 to 30. Right: arrows from points x to their images Ax. All arrows are parallel to the dashed line of the second eigenvector and point towards the dashed line of the first."}} tags=["hide-input"]
days = np.arange(16)
bikes = np.array([matrix_power(A, day) @ x for day in days])
fig, (left, right) = panels(2, height=2.8)
left.plot(days, bikes, 'o-', ms=3, lw=1)
left.text(7, 70, 'harbour', color='C0')
left.text(7, 14, 'market', color='C1')
left.set(xlabel='day', ylabel='bicycles', ylim=(0, 95))
u, v = (g.ravel() for g in np.meshgrid(np.linspace(-2, 2, 7), np.linspace(-2, 2, 7)))
moves = A @ [u, v] - [u, v]
right.quiver(u, v, *moves, angles='xy', scale_units='xy', scale=1, color='C0', width=0.008)
for (p, q), colour in (((2, 1), 'C1'), ((1, -1), 'C2')):
    right.plot([-3 * p, 3 * p], [-3 * q, 3 * q], '--', color=colour, lw=1.2)
right.text(2.9, 1.75, 'λ = 1', color='C1', ha='right')
right.text(-2.1, 2.25, 'λ = 0.7', color='C2')
right.set(aspect='equal', xlim=(-3, 3), ylim=(-2.6, 2.6), xlabel='first coordinate', ylabel='second coordinate');

# %% [markdown] tags=["caption"]
# Left: the bicycles settle. Right: each arrow leads from a vector to its image. The part along $(2, 1)$ stays, and the part
# along $(1, -1)$ shrinks to 0.7 of itself, so all arrows are parallel to $(1, -1)$.

# %% [markdown]
# ### The decomposition, and functions of a matrix
#
# Put $n$ eigenvectors into the columns of $\mathbf{V}$ and their eigenvalues on the diagonal of $\boldsymbol\Lambda$. Then
# $\mathbf{A}\mathbf{V} = \mathbf{V}\boldsymbol\Lambda$. If the eigenvectors are linearly independent, $\mathbf{V}$ has an
# inverse, and
#
# ```{math}
# :label: evd-decomposition
# \mathbf{A} = \mathbf{V}\boldsymbol\Lambda\mathbf{V}^{-1}, \qquad
# f(\mathbf{A}) = \mathbf{V} f(\boldsymbol\Lambda) \mathbf{V}^{-1} .
# ```
#
# Here $f(\boldsymbol\Lambda)$ applies $f$ to each eigenvalue. For $f(\lambda) = \lambda^2$ the second formula follows from
# the first, because $\mathbf{V}\boldsymbol\Lambda\mathbf{V}^{-1}\mathbf{V}\boldsymbol\Lambda\mathbf{V}^{-1} =
# \mathbf{V}\boldsymbol\Lambda^2\mathbf{V}^{-1}$. All powers and all polynomials work in the same way. For other functions,
# such as the root, the formula is a definition.

# %%
def matrix_function(f, A):
    lam, V = np.linalg.eig(A)
    return V @ np.diag(f(lam)) @ np.linalg.inv(V)

# %%
half_day = matrix_function(np.sqrt, A)
print('in a year:\n', matrix_function(lambda lam: lam**365, A).round(3))
print('in half a day:\n', half_day.round(3))
print('two half days:\n', (half_day @ half_day).round(3))

# %% [markdown]
# Are there always enough eigenvectors? One condition suffices.
#
# ```{prf:theorem} Distinct eigenvalues
# :label: thm-distinct
# Eigenvectors with different eigenvalues are independent. So a matrix with $n$ different eigenvalues has a decomposition
# {eq}`evd-decomposition`.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Suppose not, and take a dependency $\sum_{i=1}^k c_i \mathbf{v}_i = \mathbf{0}$ with as few terms as possible, all
# $c_i \ne 0$. It has at least two terms, as no eigenvector is zero. Apply $\mathbf{A} - \lambda_k\mathbf{I}$: the last
# term vanishes, and $\sum_{i<k} c_i(\lambda_i - \lambda_k)\mathbf{v}_i = \mathbf{0}$ is a shorter dependency with nonzero
# coefficients, a contradiction.
# ```
#
# ### The characteristic polynomial
#
# How do we find eigenvalues without guessing? Write the equation as
# $(\mathbf{A} - \lambda\mathbf{I})\mathbf{v} = \mathbf{0}$. A square matrix sends some $\mathbf{v} \ne \mathbf{0}$ to zero
# exactly if its determinant is zero:
#
# ```{math}
# :label: la.evd.charpoly
# \det(\mathbf{A} - \lambda\mathbf{I}) = 0 \iff \lambda \text{ is an eigenvalue of } \mathbf{A}
# ```
#
# The left side is the **characteristic polynomial**, of degree $n$ in $\lambda$. For the bicycles it is
# $(0.9 - \lambda)(0.8 - \lambda) - 0.2 \cdot 0.1 = (\lambda - 1)(\lambda - 0.7)$. Over the complex numbers every such polynomial is a product
# $\prod_i (\lambda_i - \lambda)$. At $\lambda = 0$ we read off the determinant, and from the coefficient of
# $(-\lambda)^{n-1}$ the sum of the diagonal:
#
# ```{math}
# :label: evd-trace-det
# \det\mathbf{A} = \prod_i \lambda_i, \qquad \operatorname{tr}\mathbf{A} = \sum_i \lambda_i .
# ```
#
# A quarter turn of the
# plane keeps no real direction, and its eigenvalues are complex:

# %%
turn = np.array([[0.0, -1.0], [1.0, 0.0]])
print('quarter turn: i times', np.sort(np.linalg.eigvals(turn).imag))
shear = np.array([[1.0, 1.0], [0.0, 1.0]])
print('shear:', np.linalg.eigvals(shear), 'with',
      2 - np.linalg.matrix_rank(shear - np.eye(2)), 'eigenvector')
print('its square:\n', shear @ shear)
print('by matrix_function:\n', matrix_function(np.square, shear).round(3))

# %% [markdown]
# The shear has the eigenvalue 1 twice, as a double root of $(1 - \lambda)^2$, which is its **algebraic multiplicity**. But only
# multiples of $(1, 0)$ are eigenvectors: its **geometric multiplicity** is 1. A matrix with fewer than $n$ independent eigenvectors is
# called **defective**. It has no decomposition {eq}`evd-decomposition`, and `matrix_function` is wrong without a warning.
#
# :::{admonition} A tempting mistake
# :class: tip
# In NumPy `A - lam` subtracts $\lambda$ from *every* entry. For $\mathbf{A} = \mathbf{I}_2$ and $\lambda = 1$ it gives a
# matrix with the determinant $-1$, although 1 is an eigenvalue. Write `A - lam * np.eye(n)`.
# :::
#
# ### Similar matrices have the same eigenvalues
#
# We could also describe the bicycles by their total and the number at the market. This changes the matrix
# but not the motion. Two matrices are **similar** if they describe the same map in two bases:
#
# ```{math}
# :label: la.evd.similar-definition
# \mathbf{A}_1 \sim \mathbf{A}_2 \quad\text{means}\quad \mathbf{A}_1 = \mathbf{S}\mathbf{A}_2\mathbf{S}^{-1} \text{ for some invertible } \mathbf{S}
# ```

# %%
S = np.array([[1.0, -1.0], [0.0, 1.0]])  # (total, market) -> (harbour, market)
other = np.linalg.inv(S) @ A @ S
print(other.round(3) + 0.0)
print('eigenvalues:', np.sort(np.linalg.eigvals(other)).round(3))

# %% [markdown]
# Similar matrices have the same characteristic polynomial and so the same eigenvalues. The converse fails: the shear and
# $\mathbf{I}$ have the same polynomial, but $\mathbf{S}\mathbf{I}\mathbf{S}^{-1} = \mathbf{I}$ for every $\mathbf{S}$.
#
# ````{admonition} Why similar matrices have the same polynomial
# :class: dropdown
# Since $\mathbf{S}\mathbf{I}\mathbf{S}^{-1} = \mathbf{I}$,
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
# \begin{aligned}
# &\det(\mathbf{S})\det(\mathbf{A}_2 - \lambda\mathbf{I})\det(\mathbf{S}^{-1}) \\
# &= \det(\mathbf{A}_2 - \lambda\mathbf{I})
# \end{aligned}
# ```
# ````
#
# ```{exercise} ★ Program: part of a year
# :label: evd-half
# Each year a share of the people in some regions moves, $\mathbf{x} \mapsto \mathbf{A}\mathbf{x}$. What happens in half a
# year, or in a third? Write `part(A, t)`, the matrix of $t$ years. All eigenvalues of `A` are positive and different.
# ```

# %%
def part(A, t):
    """The matrix of t years: (n, n), n >= 1, and a float t -> (n, n), real.

    The eigenvalues of A are positive and different. t may be 0 or negative.
    part(np.array([[4.0]]), 0.5) is array([[2.]]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def through_logarithm(A, t):
    return scipy.linalg.expm(t * scipy.linalg.logm(A)).real

def with_positive_eigenvalues(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 5)
    S = np.eye(n) + 0.3 * rng.uniform(-1, 1, (n, n))
    return S * rng.permutation(np.arange(1, n + 1) / 2) @ np.linalg.inv(S)

cases = dict(A=seeds().map(with_positive_eigenvalues), t=on(0.0, 1.0, 0.5, -1.0, 2.0) | scalars(-3, 3))
grade(part, through_logarithm, **cases)

# %% [markdown]
# ```{solution-start} evd-half
# :class: dropdown
# ```
# Two half years must make one year, so we want a root of $\mathbf{A}$ and not the roots of its entries. By
# {eq}`evd-decomposition`, each eigenvalue gets the power $t$. Of the wrong answers, the first takes the power of each entry, the
# second interpolates between $\mathbf{I}$ and $\mathbf{A}$ on a straight line, and the third always takes half a year.

# %% jupyter={"source_hidden": true}
def part_solution(A, t):
    lam, V = np.linalg.eig(A)
    return V @ np.diag(lam**t) @ np.linalg.inv(V)

def entry_by_entry(A, t):
    return np.sign(A) * abs(A) ** t

def on_a_straight_line(A, t):
    return (1 - t) * np.eye(len(A)) + t * A

def half_a_year(A, t):
    return scipy.linalg.sqrtm(A)

assert grade(part_solution, through_logarithm, **cases)
assert not grade(entry_by_entry, through_logarithm, **cases)
assert not grade(on_a_straight_line, through_logarithm, **cases)
assert not grade(half_a_year, through_logarithm, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def functions_agree(f, library, seed, apply):
    A = with_positive_eigenvalues(seed)
    return close(apply(f, A), library(A))

named = {'exp': (np.exp, scipy.linalg.expm), 'root': (np.sqrt, scipy.linalg.sqrtm),
         'fifth power': (lambda v: v**5, lambda A: matrix_power(A, 5))}
verify('functions of a matrix are those of scipy',
       lambda name, seed: functions_agree(*named[name], seed, matrix_function),
       slip=('applies the function to each entry',
             lambda name, seed: functions_agree(*named[name], seed, lambda f, A: f(abs(A)))),
       name=list(named), seed=seeds(), tries=60)

def spoken(day, fading):
    return 30 * np.array([2, 1]) + fading**day * 30 * np.array([1, -1])

verify('the bicycles are 30 (2, 1) + 0.7ᵏ 30 (1, -1)',
       lambda day: close(matrix_power(A, day) @ [90, 0], spoken(day, 0.7)),
       slip=('takes the diagonal entry 0.8 for the second eigenvalue',
             lambda day: close(matrix_power(A, day) @ [90, 0], spoken(day, 0.8))),
       day=integers(0, 400))

assert close(half_day @ half_day, A) and norm(matrix_power(A, 365) @ [90, 0] - [60, 30]) < 0.005
assert close(np.linalg.det(np.eye(2) - 1), -1)

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
        'takes the entries of the diagonal for the eigenvalues',
        lambda A, lam: (
            (lam in A.diagonal())
            == bool(np.linalg.matrix_rank(A - lam * np.eye(3)) < 3)
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
    defined = close(A1, S @ A2 @ matrix_power(S, -1))
    reflexive = close(conjugate(np.eye(3), A1), A1)
    symmetric = close(conjugate(np.linalg.inv(S), A1), A2)
    transitive = close(conjugate(both, A3), A1)
    return defined and reflexive and symmetric and transitive

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
# ## The spectral theorem: symmetric matrices have perpendicular eigenvectors
#
# Three carts stand in a row. A spring joins each to the next, and a stiffer one joins the first to the wall. If the carts are displaced
# by $\mathbf{x}$, the springs pull back with the forces $\mathbf{K}\mathbf{x}$. The matrix is symmetric, because each
# spring pulls equally on both carts.

# %%
K = np.array([[3.0, -1.0, 0.0],
              [-1.0, 2.0, -1.0],
              [0.0, -1.0, 1.0]])
lam, Q = np.linalg.eigh(K)
print('eigenvalues:', lam.round(3))
print('dot products of the eigenvectors:\n', abs(Q.T @ Q).round(6))

# %% [markdown]
# The eigenvectors are the shapes in which carts of mass 1 can vibrate together, and the eigenvalues are the squares of their angular
# frequencies. All eigenvalues are real, and the eigenvectors are perpendicular. Every real symmetric matrix has such eigenvectors:
#
# ```{prf:theorem} Spectral theorem
# :label: thm-spectral
# For every real symmetric $\mathbf{A}$ there are an orthogonal $\mathbf{Q}$ and a real diagonal $\boldsymbol\Lambda$ with
#
# $$\mathbf{A} = \mathbf{Q}\boldsymbol\Lambda\mathbf{Q}^\top = \sum_i \lambda_i\, \mathbf{q}_i\mathbf{q}_i^\top .$$
# ```
#
# The idea of the proof: on the unit sphere, $\mathbf{x}^\top\mathbf{A}\mathbf{x}$ is largest at some $\mathbf{q}_1$. No step
# to the side increases it, and this makes $\mathbf{q}_1$ an eigenvector. The vectors perpendicular to $\mathbf{q}_1$ are mapped to such
# vectors again, so we can repeat the argument there.
#
# ```{prf:proof}
# :class: dropdown
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
# The function in this proof, for vectors of any length, is the **Rayleigh quotient**
#
# ```{math}
# :label: evd-rayleigh
# \rho(\mathbf{x}) = \frac{\mathbf{x}^\top\mathbf{A}\mathbf{x}}{\mathbf{x}^\top\mathbf{x}} = \sum_i \lambda_i c_i^2 \quad\text{for}\quad
# \mathbf{x} = \sum_i c_i\mathbf{q}_i,\ \|\mathbf{x}\| = 1 .
# ```
#
# It is an average of the eigenvalues with the weights $c_i^2$, so it lies between the least and the largest. It
# also turns a rough eigenvector into a good eigenvalue. We tilt the last eigenvector by a small angle:

# %%
for angle in (0.1, 0.01, 0.001):
    x = np.cos(angle) * Q[:, 2] + np.sin(angle) * Q[:, 0]
    print(f'angle {angle:5}: eigenvalue off by {lam[2] - x @ K @ x:.1e}')

# %% [markdown]
# A tenth of the angle gives a hundredth of the error, because the wrong eigenvalues have the weight $\sin^2$ of the angle.
#
# ### What is lost without symmetry: sensitive eigenvalues
#
# If a symmetric matrix changes by $\mathbf{E}$, each new eigenvalue lies within
# $\|\mathbf{E}\|$ of an old one. A defective matrix is far more sensitive. Let us put a small $\delta > 0$ into the corner of the shear:
#
# ```{math}
# :label: evd-split
# \begin{bmatrix} 1 & 1 \\ \delta & 1 \end{bmatrix} \begin{bmatrix} 1 & 1 \\ \sqrt\delta & -\sqrt\delta \end{bmatrix}
# = \begin{bmatrix} 1 & 1 \\ \sqrt\delta & -\sqrt\delta \end{bmatrix}
# \begin{bmatrix} 1 + \sqrt\delta & \\ & 1 - \sqrt\delta \end{bmatrix} .
# ```
#
# The two eigenvectors are nearly parallel, and the eigenvalues have moved by $\sqrt\delta$. A larger
# matrix with ones on the diagonal and just above it is even worse, because $(\lambda - 1)^n = \delta$:

# %%
for n in (2, 4, 8):
    chain = np.eye(n) + np.eye(n, k=1)
    chain[-1, 0] = 1e-8
    lam_chain, V = np.linalg.eig(chain)
    print(f'n = {n}: 1e-8 moves the eigenvalues by',
          f'{abs(lam_chain - 1).max():.2e}, cond(V) = {np.linalg.cond(V):.2e}')

# %% [markdown]
# The condition number of the matrix of eigenvectors,
# $\kappa(\mathbf{V}) = \|\mathbf{V}\|\,\|\mathbf{V}^{-1}\|$, bounds how much an error grows {cite}`bauer1960norms`. An orthogonal matrix has $\kappa = 1$.
#
# ```{prf:theorem} Bauer and Fike
# :label: thm-bauer-fike
# Let $\mathbf{A} = \mathbf{V}\boldsymbol\Lambda\mathbf{V}^{-1}$. Every eigenvalue $\mu$ of $\mathbf{A} + \mathbf{E}$ lies
# within $\kappa(\mathbf{V})\,\|\mathbf{E}\|$ of an eigenvalue of $\mathbf{A}$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Let $(\mathbf{A} + \mathbf{E})\mathbf{x} = \mu\mathbf{x}$, $\mathbf{x} \ne \mathbf{0}$, and let $\mu$ be no eigenvalue of
# $\mathbf{A}$. With $\mathbf{y} = \mathbf{V}^{-1}\mathbf{x}$, multiplying
# $(\mathbf{A} - \mu\mathbf{I})\mathbf{x} = -\mathbf{E}\mathbf{x}$ by $\mathbf{V}^{-1}$ gives
# $(\boldsymbol\Lambda - \mu\mathbf{I})\mathbf{y} = -\mathbf{V}^{-1}\mathbf{E}\mathbf{V}\mathbf{y}$. Divide by the diagonal
# matrix and take norms:
# $\|\mathbf{y}\| \le \max_i |\lambda_i - \mu|^{-1}\, \kappa(\mathbf{V})\, \|\mathbf{E}\|\, \|\mathbf{y}\|$. Cancel
# $\|\mathbf{y}\| > 0$.
# ```
#
# We compare two matrices with the eigenvalues $-2, -1, 0, 1, 2$. One is symmetric, the other has fours above the diagonal. Each is
# changed 600 times by a random complex matrix of norm 0.01:

# %%
rng = np.random.default_rng(9)
known = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
tilted = np.diag(known) + 4 * np.triu(np.ones((5, 5)), 1)
turned, _ = np.linalg.qr(rng.normal(size=(5, 5)))
symmetric = turned @ np.diag(known) @ turned.T
E = rng.normal(size=(600, 5, 5)) + 1j * rng.normal(size=(600, 5, 5))
E = 0.01 * E / norm(E, 2, axis=(1, 2), keepdims=True)

# %%
def farthest_move(A):  # of an eigenvalue from the nearest old one
    moved = np.linalg.eigvals(A + E)  # (600, 5)
    return abs(moved[:, :, None] - known).min(axis=2).max()

for name, B in (('symmetric', symmetric), ('tilted', tilted)):
    bound = 0.01 * np.linalg.cond(np.linalg.eig(B)[1])
    print(f'{name:9}  moved by {farthest_move(B):.4f}, bound {bound:.3f}')

# %% mystnb={"image": {"alt": "Two panels in the complex plane. Left: under 600 small changes the five eigenvalues of a symmetric matrix remain five dots. Right: those of another matrix with the same eigenvalues smear out into large clouds around −1, 0, 1 and 2, which merge in the middle."}} tags=["hide-input"]
fig, axes = panels(2, height=2.9, sharey=True)
for ax, B, name in zip(axes, (symmetric, tilted), ('symmetric', 'fours above the diagonal'), strict=True):
    cloud = np.linalg.eigvals(B + E).ravel()
    ax.plot(cloud.real, cloud.imag, '.', color='C0', ms=1.5, rasterized=True)
    ax.plot(known, 0 * known, 'o', color='C1', ms=3)
    ax.set(xlim=(-3, 3), ylim=(-2.2, 2.2), aspect='equal', xlabel='real part')
    ax.set_title(name)
axes[0].set_ylabel('imaginary part');

# %% [markdown] tags=["caption"]
# Errors of norm 0.01 hardly move the eigenvalues (orange) of the symmetric matrix, but they smear out those of the other matrix (blue).

# %% [markdown]
# A rough bound needs only the entries:
#
# ```{prf:theorem} Gershgorin
# :label: thm-gershgorin
# Every eigenvalue lies in one of the discs with centre $a_{ii}$ and radius $\sum_{j \ne i} |a_{ij}|$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Let $\mathbf{A}\mathbf{x} = \lambda\mathbf{x}$ and let $x_i$ be the largest entry of $\mathbf{x}$ in absolute value. Row
# $i$ says $(\lambda - a_{ii})x_i = \sum_{j \ne i} a_{ij}x_j$. Divide by $x_i$; all $|x_j / x_i| \le 1$.
# ```
#
# The rows of $\mathbf{K}$ give the intervals $3 \pm 1$, $2 \pm 2$ and $1 \pm 1$. So its eigenvalues lie between 0 and 4.
#
# ```{exercise} ★★ Program: carts with different masses
# :label: evd-generalized
# If the masses of the carts are the entries of a diagonal matrix $\mathbf{M}$, the squared frequencies are the $\lambda$ for which
# $\mathbf{K}\mathbf{x} = \lambda\mathbf{M}\mathbf{x}$ has a solution $\mathbf{x} \ne \mathbf{0}$. Let $\mathbf{K}$ be symmetric and
# $\mathbf{M}$ symmetric with positive eigenvalues, diagonal or not. Show that all such $\lambda$ are real, and write
# `generalized(K, M)`, which gives them in ascending order, by `np.linalg.eigvalsh` of a symmetric matrix.
# ```

# %%
def generalized(K, M):
    """The n numbers lambda with K x = lambda M x for some x != 0, ascending.

    K, M: (n, n), symmetric, n >= 1; the eigenvalues of M are positive.
    generalized(np.array([[6.0]]), np.array([[2.0]])) is array([3.]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_lapack(K, M):
    return scipy.linalg.eigh(K, M, eigvals_only=True)

def masses(K):
    n = len(K)
    return matrices(n, n, -2, 2, edges=True).map(lambda m: m @ m.T + np.diag(np.arange(1.0, n + 1)))

stiffness = integers(1, 4).flatmap(lambda n: matrices(n, n, -4, 4, edges=True)).map(lambda B: B + B.T)
cases = dict(K=stiffness, M=masses)
general = ['numpy.linalg.eig', 'numpy.linalg.eigvals', 'scipy.linalg.eig', 'scipy.linalg.eigvals', 'scipy.linalg.eigh',
           'scipy.linalg.eigvalsh', 'scipy.linalg.schur', 'numpy.roots']
grade(generalized, by_lapack, without=general, **cases)

# %% [markdown]
# ```{solution-start} evd-generalized
# :class: dropdown
# ```
# $\mathbf{M}^{-1}\mathbf{K}$ has the right eigenvalues, but it is not symmetric. Split
# $\mathbf{M} = \mathbf{L}\mathbf{L}^\top$ (Cholesky) and put
# $\mathbf{y} = \mathbf{L}^\top\mathbf{x}$. Multiplied by $\mathbf{L}^{-1}$, the equation reads
# $\mathbf{L}^{-1}\mathbf{K}\mathbf{L}^{-\top}\mathbf{y} = \lambda\mathbf{y}$, and this matrix is symmetric and
# similar to $\mathbf{M}^{-1}\mathbf{K}$. By {prf:ref}`thm-spectral` its eigenvalues are real. Of the wrong answers, the first
# gives $\mathbf{M}^{-1}\mathbf{K}$ to a solver that reads one triangle and takes the other for its mirror image, the second forgets the masses,
# and the third uses a solver for general matrices.

# %% jupyter={"source_hidden": true}
def generalized_solution(K, M):
    inverse = np.linalg.inv(np.linalg.cholesky(M))
    return np.linalg.eigvalsh(inverse @ K @ inverse.T)

def taken_for_symmetric(K, M):
    return np.linalg.eigvalsh(np.linalg.solve(M, K))

def without_masses(K, M):
    return np.linalg.eigvalsh(K)

def by_a_general_solver(K, M):
    return np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real)

assert grade(generalized_solution, by_lapack, without=general, **cases)
assert not grade(taken_for_symmetric, by_lapack, without=general, **cases)
assert not grade(without_masses, by_lapack, without=general, **cases)
assert not grade(by_a_general_solver, by_lapack, without=general, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def symmetric_matrix(seed, n=4):
    B = np.random.default_rng(seed).normal(size=(n, n))
    return B + B.T

def quotient_errors(seed, angles):
    lam, Q = np.linalg.eigh(symmetric_matrix(seed))
    A = Q @ np.diag(lam) @ Q.T
    x = np.outer(np.cos(angles), Q[:, 3]) + np.outer(np.sin(angles), Q[:, 0])
    return lam[3] - ((x @ A) * x).sum(1)

def falls_with_power(seed, power):
    errors = quotient_errors(seed, np.array([1e-2, 1e-3]))
    return close(errors[0] / errors[1], 10**power, rtol=1e-3)  # sin² is the square up to 1e-4

verify('a tenth of the angle gives a hundredth of the error of the eigenvalue',
       lambda seed: falls_with_power(seed, 2),
       slip=('expects a tenth of the error', lambda seed: falls_with_power(seed, 1)), seed=seeds(), tries=50)

def moves(seed, size, kind):  # the largest move, and the bound of Bauer and Fike
    rng = np.random.default_rng(seed)
    A, E = rng.normal(size=(2, 4, 4))
    A = A + A.T if kind == 'symmetric' else A
    values, V = np.linalg.eig(A)
    away = abs(np.subtract.outer(np.linalg.eigvals(A + size * E), values)).min(axis=1).max()
    return away, size * norm(E, 2), np.linalg.cond(V)

def within(seed, size, kind, amplified):
    away, change, kappa = moves(seed, size, kind)
    return bool(away <= (kappa if amplified else 1) * change * (1 + 1e-9) + 1e-12)

verify('each new eigenvalue lies within κ(V) ‖E‖ of an old one',
       lambda seed, size: within(seed, size, 'general', True),
       slip=('forgets the condition of V', lambda seed, size: within(seed, size, 'general', False)),
       seed=seeds(), size=[1e-4, 0.01, 0.3])

verify('each new eigenvalue of a symmetric matrix lies within ‖E‖ of an old one',
       lambda seed, size: within(seed, size, 'symmetric', False),
       slip=('says it of all matrices', lambda seed, size: within(seed, size, 'general', False)),
       seed=seeds(), size=[1e-4, 0.01, 0.3])

def in_a_disc(A, radii):
    away = abs(np.subtract.outer(np.linalg.eigvals(A), np.diag(A)))
    return bool((away <= radii(A) * (1 + 1e-9) + 1e-9).any(axis=1).all())

def of_rows(A):
    return abs(A).sum(axis=1) - abs(np.diag(A))

def normal_or_signs(seed, kind):  # eigenvalues of two rows of signs lie on the circles
    rng = np.random.default_rng(seed)
    return rng.normal(size=(4, 4)) if kind == 'normal' else rng.choice([-1.0, 1.0], (2, 2))

verify("every eigenvalue lies in one of Gershgorin's discs",
       lambda seed, kind: in_a_disc(normal_or_signs(seed, kind), of_rows),
       slip=('takes the largest entry of a row for the sum of the row',
             lambda seed, kind: in_a_disc(normal_or_signs(seed, kind),
                                          lambda A: abs(A - np.diag(np.diag(A))).max(axis=1))),
       seed=seeds(), kind=['normal', 'signs'])

# %% tags=["checks"]
def moved_by(n, delta):
    chain = np.eye(n) + np.eye(n, k=1)
    chain[-1, 0] = delta
    return abs(np.linalg.eigvals(chain) - 1)

verify('a corner δ moves the eigenvalues of the chain by the nth root of δ',
       lambda n, delta: close(moved_by(n, delta), np.full(n, delta ** (1 / n)), rtol=1e-5),
       slip=('takes the square root for all n',
             lambda n, delta: close(moved_by(n, delta), np.full(n, delta**0.5), rtol=1e-5)),
       n=[2, 4, 8], delta=[1e-8, 1e-4])

assert close(lam, [2 - 3**0.5, 2, 2 + 3**0.5]) and farthest_move(symmetric) <= 0.01 < 0.3 < farthest_move(tilted)

# %% [markdown]
# ## Power iteration and the QR algorithm: how eigenvalues are computed
#
# Why not compute the roots of the characteristic polynomial? Because rounding can move them far. A
# symmetric $20 \times 20$ matrix with the eigenvalues $1, 2, \dots, 20$ is harmless, but its polynomial is not
# {cite}`wilkinson1959evaluation`. In float64 we compute the coefficients of $(\lambda - 1) \cdots (\lambda - 20)$, and from them
# the roots:

# %%
whole = np.arange(1.0, 21.0)
by_polynomial = np.sort(np.roots(np.poly(whole)).real)
rotation, _ = np.linalg.qr(rng.normal(size=(20, 20)))
by_matrix = np.linalg.eigvalsh(rotation @ np.diag(whole) @ rotation.T)
print('from the polynomial, off by',
      between(abs(by_polynomial - whole).max(), 0.001, 1))
print('from the matrix, off by', below(abs(by_matrix - whole).max()))

# %% [markdown]
# From degree five on, no formula with roots gives the zeros of all polynomials, so every method for eigenvalues iterates.
#
# ### Power iteration: multiply again and again
#
# Write $\mathbf{x} = \sum_i c_i\mathbf{v}_i$ with independent eigenvectors,
# and multiply by $\mathbf{A}$ $k$ times:
#
# ```{math}
# :label: evd-power
# \mathbf{A}^k\mathbf{x} = \sum_i c_i\lambda_i^k\,\mathbf{v}_i
# = \lambda_1^k \Big( c_1\mathbf{v}_1 + \sum_{i>1} c_i \Big(\frac{\lambda_i}{\lambda_1}\Big)^k \mathbf{v}_i \Big) .
# ```
#
# If $|\lambda_1| > |\lambda_2| \ge \dots$ and $c_1 \ne 0$, the direction tends to that of $\mathbf{v}_1$, up to its sign. Each step multiplies the error
# by about $|\lambda_2/\lambda_1|$. We scale to length 1 after each step, so that no number overflows:

# %%
def power_iteration(A, x, steps):
    """The directions x_0, ..., x_steps, of length 1: (steps + 1, n)."""
    path = [x / norm(x)]
    for _ in range(steps):
        x = A @ path[-1]
        path.append(x / norm(x))
    return np.array(path)

# %% [markdown]
# **Inverse iteration** is power iteration with $(\mathbf{A} - \sigma\mathbf{I})^{-1}$. This matrix has the same eigenvectors,
# with the eigenvalues $1/(\lambda_i - \sigma)$. The largest of them belongs to the $\lambda_i$ nearest to the shift $\sigma$. So
# we can find *any* eigenvector, and the better $\sigma$ is, the faster. **Rayleigh iteration** takes the Rayleigh quotient of the present
# $\mathbf{x}$ as the shift:

# %%
def inverse_iteration(A, sigma, x, steps):
    B = np.linalg.inv(A - sigma * np.eye(len(A), dtype=A.dtype))
    return power_iteration(B, x, steps)

def rayleigh_iteration(A, x, steps):
    path = [x / norm(x)]
    for _ in range(steps):
        x = path[-1]
        path.append(inverse_iteration(A, x @ A @ x, x, 1)[-1])
    return np.array(path)

# %% [markdown]
# We look for the fastest vibration, with $\lambda \approx 3.73$:

# %%
def sine(x, v):  # of the angle between the rows of x (..., n) and v (n,)
    return norm(x - np.outer(x @ v, v), axis=-1)

x, v = np.array([1.0, -1.0, 1.0]), Q[:, 2]
errors = {'power': sine(power_iteration(K, x, 24), v),
          'inverse, σ = 3.5': sine(inverse_iteration(K, 3.5, x, 12), v),
          'Rayleigh': sine(rayleigh_iteration(K, x, 3), v)}
for name, error in errors.items():
    print(f'{name:16}', '  '.join(f'{e:.2e}' for e in error[:4]))

# %% [markdown]
# Power iteration multiplies the error by $2 / 3.73 \approx 0.54$, and inverse iteration by about $0.23 / 1.5 \approx 0.15$,
# the quotient of the distances from $\sigma$ to the two nearest eigenvalues. In Rayleigh iteration with a symmetric matrix, an error $\varepsilon$ of the vector
# gives an error of order $\varepsilon^2$ of the shift, as we saw above, and the step multiplies $\varepsilon$ by this. What
# remains is of order $\varepsilon^3$: near the end *the number of correct digits triples*. Once the shift is
# exact, `inv` may raise an error: stop in time.
#
# ### The QR algorithm: all eigenvalues at once
#
# Let us give power iteration $n$ vectors, the columns of a matrix. Left alone, they would all tend to $\mathbf{v}_1$. So we make
# them orthonormal after each step, by a QR decomposition. The method becomes short if we write $\mathbf{A}$ in the basis of these
# vectors. We begin with $\mathbf{A}_1 = \mathbf{A}$, factorize, and multiply in the other order {cite}`francis1961qr`:
#
# ```{math}
# :label: evd-qr-step
# \mathbf{A}_k = \hat{\mathbf{Q}}_k\hat{\mathbf{R}}_k, \qquad
# \mathbf{A}_{k+1} = \hat{\mathbf{R}}_k\hat{\mathbf{Q}}_k = \hat{\mathbf{Q}}_k^\top\mathbf{A}_k\hat{\mathbf{Q}}_k .
# ```

# %%
def qr_iteration(A, steps, shifted=False):
    """The matrices A_1, ..., similar to A: (steps + 1, n, n)."""
    path = [A]
    for _ in range(steps):
        mu = A[-1, -1] if shifted else 0
        shift = mu * np.eye(len(A), dtype=A.dtype)
        Q, R = np.linalg.qr(A - shift)
        A = R @ Q + shift
        path.append(A)
    return np.array(path)

# %%
plain = qr_iteration(K, 24)
for k in (0, 1, 2, 8):
    print(f'diagonal after {k} steps:', plain[k].diagonal().round(3))
print('eigenvalues:           ', lam[::-1].round(3))

# %% [markdown]
# All $\mathbf{A}_k$ are similar and have the same eigenvalues. If no two of these have the same absolute
# value, the $\mathbf{A}_k$ become triangular as a rule, with the eigenvalues on the diagonal. Complex pairs keep $2 \times 2$ blocks.
#
# ```{prf:theorem} What QR iteration does
# :label: thm-qr-iteration
# Let $\mathbf{Q}_k = \hat{\mathbf{Q}}_1 \cdots \hat{\mathbf{Q}}_k$ and
# $\mathbf{R}_k = \hat{\mathbf{R}}_k \cdots \hat{\mathbf{R}}_1$. Then $\mathbf{A}^k = \mathbf{Q}_k\mathbf{R}_k$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# By {eq}`evd-qr-step`, $\mathbf{A}_k = \mathbf{Q}_{k-1}^\top\mathbf{A}\mathbf{Q}_{k-1}$, that is,
# $\mathbf{A}\mathbf{Q}_{k-1} = \mathbf{Q}_{k-1}\mathbf{A}_k$. By induction $\mathbf{A}^k =
# \mathbf{A}\,\mathbf{Q}_{k-1}\mathbf{R}_{k-1} = \mathbf{Q}_{k-1}\mathbf{A}_k\mathbf{R}_{k-1} =
# \mathbf{Q}_{k-1}\hat{\mathbf{Q}}_k\hat{\mathbf{R}}_k\mathbf{R}_{k-1} = \mathbf{Q}_k\mathbf{R}_k$.
# ```
#
# The first column says that $\mathbf{q}_1$ has the direction of $\mathbf{A}^k\mathbf{e}_1$, so it follows power iteration. Inverted and
# transposed, the identity says that the last column $\mathbf{q}_n$ has the direction of
# $(\mathbf{A}^\top)^{-k}\mathbf{e}_n$, so it follows inverse iteration with the shift 0. We can also shift: factorize
# $\mathbf{A}_k - \mu\mathbf{I}$, multiply in the other order, and add $\mu\mathbf{I}$ again. The last diagonal entry is the
# Rayleigh quotient of $\mathbf{q}_n$. With this shift $\mu$, the last row follows Rayleigh iteration. For
# $\begin{bmatrix} 0 & 1 \\ 1 & 0 \end{bmatrix}$ it stands still, so libraries shift by an eigenvalue of the last $2 \times 2$ block.

# %% mystnb={"image": {"alt": "Left: errors of the direction against the step, on a logarithmic scale. Power iteration falls along a straight line, inverse iteration along a steeper one, and Rayleigh iteration plunges within three steps. Right: the last entry below the diagonal in QR iteration falls along a straight line without shifts and plunges within five steps with shifts."}} tags=["hide-input"]
shifted = qr_iteration(K, 5, shifted=True)
fig, (left, right) = panels(2, height=2.7, sharey=True)
places = ((10, 3e-2), (10, 1e-8), (3.3, 3e-12))
for (name, error), at, colour in zip(errors.items(), places, ('C0', 'C1', 'C2'), strict=True):
    left.semilogy(np.maximum(error, 1e-12), color=colour)
    left.text(*at, name, color=colour)
right.semilogy(np.maximum(abs(plain[:, 2, 1]), 1e-12), color='C0')
right.text(10, 1e-6, 'no shift', color='C0')
right.semilogy(np.maximum(abs(shifted[:, 2, 1]), 1e-12), color='C2')
right.text(5.3, 3e-12, 'shifted', color='C2')
left.set(xlabel='step', title='error of the direction', ylim=(3e-13, 3))
right.set(xlabel='step', title='last entry below the diagonal');

# %% [markdown] tags=["caption"]
# Left: power and inverse iteration gain digits at a steady rate, while Rayleigh iteration triples them in each step. Right: shifts
# have the same effect on QR iteration. Values below $10^{-12}$ are drawn at $10^{-12}$.

# %% [markdown]
# Libraries first bring $\mathbf{A}$ to **Hessenberg form**, with zeros below the
# first subdiagonal {cite}`golub2013matrix`. QR steps keep this form, and each then costs $O(n^2)$ instead of $O(n^3)$. Once the last
# subdiagonal entry is negligible, they split off an eigenvalue and go on with a smaller matrix. Call `np.linalg.eigh` for symmetric
# matrices and `np.linalg.eig` for others. For a few eigenvalues of a huge sparse symmetric matrix, `scipy.sparse.linalg.eigsh` refines power
# iteration.
#
# ### Spectral radius: what eigenvalues say about long products
#
# The **spectral radius** is the largest $|\lambda_i|$. Powers of $\mathbf{A}$ tend to zero exactly if it is below 1. A linear recurrent network multiplies
# its state by one matrix at every step, so the spectral radius decides whether signals die out in the long run. But what
# happens before?

# %%
W = np.array([[0.9, 10.0], [0.0, 0.8]])
for step in (0, 1, 2, 5, 10, 40, 80):
    print(f'step {step:2}: length {norm(matrix_power(W, step) @ [0, 1]):6.2f}')

# %% [markdown]
# ```{admonition} A tempting mistake
# :class: tip
# "The spectral radius is 0.9, so each step shrinks the signal." Here it first grows from 1 to more than 26. The
# eigenvalues describe the limit only. The norm $\|\mathbf{W}\|$, here about 10, says how far one step can stretch.
# ```
#
# ```{exercise} ★★ Program: the nearest eigenvalue
# :label: evd-nearest
# Write `nearest(A, sigma)`: the eigenvalue of the symmetric matrix `A` that is nearest to `sigma`, without a library function
# for eigenvalues or singular values.
# ```

# %%
def nearest(A, sigma):
    """The eigenvalue of A that is nearest to sigma, as a float.

    A: (n, n), symmetric, n >= 1. sigma is no eigenvalue, and the second
    nearest eigenvalue is at least twice as far from it as the nearest.
    nearest(np.array([[2.0, 1.0], [1.0, 2.0]]), 0.8) is 1.0 up to rounding.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def from_all(A, sigma):
    values = np.linalg.eigvalsh(A)
    return values[abs(values - sigma).argmin()]

def spectrum(seed):
    generator = np.random.default_rng(seed)
    n = generator.integers(1, 7)
    basis = np.linalg.qr(generator.normal(size=(n, n)))[0]
    return basis @ np.diag((generator.permutation(13)[:n] - 6) * generator.uniform(1, 1.5)) @ basis.T

def beside(A):
    return on(*(float(v.round(6)) + d for v in np.linalg.eigvalsh(A) for d in (-0.3, 0.01, 0.3)))

solvers = [f'{m}.{f}' for m in ('numpy.linalg', 'scipy.linalg') for f in ('eig', 'eigvals', 'eigh', 'eigvalsh', 'svd')]
solvers += ['numpy.roots', 'scipy.linalg.schur']
known_ones = on(np.array([[2.0, 1.0], [1.0, 2.0]]), np.diag([1.5, -2.0, 0.0]))
cases = dict(A=known_ones | seeds().map(spectrum), sigma=beside)
grade(nearest, from_all, without=solvers, tries=50, **cases)

# %% [markdown]
# ```{solution-start} evd-nearest
# :class: dropdown
# ```
# Inverse iteration with the fixed shift $\sigma$, from a random start, and the Rayleigh quotient at the end, whose error is
# the square of that of the direction. With the shifts of Rayleigh iteration we might end at another eigenvalue. Of the wrong answers,
# the first forgets the inverse and finds the eigenvalue *farthest* from $\sigma$, the second forgets the shift, and the third
# returns the eigenvalue of the inverse.

# %% jupyter={"source_hidden": true}
def end_of_iteration(B):
    start = np.random.default_rng(0).normal(size=len(B))
    return power_iteration(B, start, 60)[-1]

def nearest_solution(A, sigma):
    x = end_of_iteration(np.linalg.inv(A - sigma * np.eye(len(A))))
    return x @ A @ x

def farthest(A, sigma):
    x = end_of_iteration(A - sigma * np.eye(len(A)))
    return x @ A @ x

def without_shift(A, sigma):
    x = end_of_iteration(A)
    return x @ A @ x

def of_the_inverse(A, sigma):
    B = np.linalg.inv(A - sigma * np.eye(len(A)))
    x = end_of_iteration(B)
    return x @ B @ x

assert grade(nearest_solution, from_all, without=solvers, tries=50, **cases)
assert not grade(farthest, from_all, without=solvers, tries=50, **cases)
assert not grade(without_shift, from_all, without=solvers, tries=50, **cases)
assert not grade(of_the_inverse, from_all, without=solvers, tries=50, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def rate_is(seed, steps, ratio):  # of a matrix with the eigenvalues 4, 2, 1, and the eigenvectors of a random one
    _, basis = np.linalg.eigh(symmetric_matrix(seed, 3))
    A = basis @ np.diag([1.0, 2.0, 4.0]) @ basis.T
    error = sine(steps(A, basis @ [1, 1, 1]), basis[:, 2])
    return close(error[-1] / error[-2], ratio, rtol=1e-3)

verify('power iteration multiplies the error by |λ₂ / λ₁|',
       lambda seed: rate_is(seed, lambda A, x: power_iteration(A, x, 15), 2 / 4),
       slip=('takes the square, which is the rate of the Rayleigh quotient',
             lambda seed: rate_is(seed, lambda A, x: power_iteration(A, x, 15), 4 / 16)), seed=seeds(), tries=50)

verify('inverse iteration multiplies it by the quotient of the two least distances from the shift',
       lambda seed: rate_is(seed, lambda A, x: inverse_iteration(A, 3.5, x, 7), 0.5 / 1.5),
       slip=('does not shift', lambda seed: rate_is(seed, lambda A, x: inverse_iteration(A, 0, x, 7), 0.5 / 1.5)),
       seed=seeds(), tries=50)

def exponent(seed, step):  # of the error after one step, from errors 1e-2 and 1e-3
    _, basis = np.linalg.eigh(symmetric_matrix(seed, 3))
    A = basis @ np.diag([1.0, 2.0, 4.0]) @ basis.T
    after = [sine(step(A, basis @ [e, e, 1])[1:], basis[:, 2])[0] for e in (1e-2, 1e-3)]
    return np.log10(after[0] / after[1])

verify('Rayleigh iteration cubes the error',
       lambda seed: close(exponent(seed, lambda A, x: rayleigh_iteration(A, x, 1)), 3, rtol=0.01),
       slip=('keeps the shift 3.5',
             lambda seed: close(exponent(seed, lambda A, x: inverse_iteration(A, 3.5, x, 1)), 3, rtol=0.01)),
       seed=seeds(), tries=50)

def factors(A, steps, order):  # Q_k and R_k from the steps of QR iteration
    total_q, total_r = np.eye(len(A)), np.eye(len(A))
    for B in qr_iteration(A, steps)[:-1]:
        q, r = np.linalg.qr(B)
        total_q, total_r = total_q @ q, (r @ total_r if order == 'last first' else total_r @ r)
    return total_q @ total_r

def powers_agree(seed, k, order):
    A = np.random.default_rng(seed).normal(size=(4, 4))
    return close(factors(A, k, order), matrix_power(A, k))

verify('QR iteration factorizes the powers of A',
       lambda seed, k: powers_agree(seed, k, 'last first'),
       slip=('multiplies the R in the order of the Q', lambda seed, k: powers_agree(seed, k, 'first first')),
       seed=seeds(), k=[1, 2, 3], tries=60)

# %% tags=["checks"]
def same_spectrum(seed, path):
    A = symmetric_matrix(seed)
    return close(np.linalg.eigvalsh(path(A)[-1]), np.linalg.eigvalsh(A))

def without_shifting_back(A):
    mu = A[-1, -1] * np.eye(len(A))
    q, r = np.linalg.qr(A - mu)
    return [r @ q]

verify('the matrices of shifted QR iteration have the eigenvalues of A',
       lambda seed: same_spectrum(seed, lambda A: qr_iteration(A, 5, shifted=True)),
       slip=('forgets to add the shift again', lambda seed: same_spectrum(seed, without_shifting_back)),
       seed=seeds(), tries=50)

lengths = [norm(matrix_power(W, step) @ [0, 1]) for step in range(400)]
assert max(lengths) > 26 and lengths[80] < 1 and lengths[-1] < 1e-12 and close(norm(W, 2), 10, rtol=0.02)
assert abs(shifted[5, 2, 1]) < 1e-12 < 1e-6 < abs(plain[5, 2, 1]) and close(plain[8].diagonal(), lam[::-1], atol=1e-3)

# %% [markdown]
# ## Where it matters: finding the vowels
#
# A program is given 22919 English words from a pronouncing dictionary, separated by blanks: a sequence of 27 symbols.
# Can eigenvectors tell vowels from consonants?

# %%
ALPHABET = ' abcdefghijklmnopqrstuvwxyz'
words = data.pronunciations()['word']
text = ' '.join(words) + ' '
symbols = np.array([ALPHABET.index(letter) for letter in text])
print(len(words), 'words,', len(symbols), 'symbols')

# %% [markdown]
# We count how often symbol $j$ follows symbol $i$, where the first follows the last. Then $p_{ij}$ is the share of $j$ among
# the successors of $i$:

# %%
def transitions(symbols):
    counts = np.zeros((27, 27))
    np.add.at(counts, (symbols, np.roll(symbols, -1)), 1)
    return counts / counts.sum(axis=1, keepdims=True)

P = transitions(symbols)
q, u, e, t = (ALPHABET.index(letter) for letter in 'quet')
print(f'after q comes u: {P[q, u]:.2f}, after t comes e: {P[t, e]:.2f}')

# %% [markdown]
# Each row sums to 1, so $\mathbf{P}\mathbf{1} = \mathbf{1}$, and 1 is an eigenvalue. No eigenvalue is larger in absolute value,
# because an average is never larger than the largest of its terms. The columns of $\mathbf{P}^\top$ sum to 1, as those of the
# bicycles did. Its power iteration settles at the frequencies of the symbols:

# %%
frequency = np.bincount(symbols) / len(symbols)
x = power_iteration(P.T, np.ones(27), 60)[-1]
print('largest difference:', below(abs(x / x.sum() - frequency).max()))

# %%
lam, V = np.linalg.eig(P)
order = np.argsort(-abs(lam), kind='stable')
second = order[1]
print('largest eigenvalues:', lam[order[:3]].real.round(3))

# %% [markdown]
# The eigenvalue that is second in absolute value is *negative*. Imagine a language in which vowels and consonants strictly
# alternate. Let $x_i = -1$ for vowels and $x_i = 1$ for consonants. After a vowel, the average of $x$ is then 1, and after a consonant it is
# $-1$. So $\mathbf{P}\mathbf{x} = -\mathbf{x}$, and $-1$ is an eigenvalue. English alternates only roughly, but
# the sign in the second eigenvector may still tell the classes apart:

# %%
x = V[:, second].real
x = x / abs(x).max() * np.sign(x[t])  # positive for t
print('negative:', repr(''.join(np.array(list(ALPHABET))[x < 0])))
print('positive:', repr(''.join(np.array(list(ALPHABET))[x > 0])))

# %% [markdown]
# The negative class holds the five vowels, the blank, and c, whose entry is close to zero. To see that order matters, we shuffle
# the symbols 20 times, which keeps all frequencies:

# %%
largest = []
for seed in range(20):
    shuffled = np.random.default_rng(seed).permutation(symbols)
    values = np.linalg.eigvals(transitions(shuffled))
    largest.append(np.sort(abs(values))[-2])
print(f'second largest |eigenvalue|: {abs(lam[second]):.3f};',
      f'shuffled at most {max(largest):.3f}')

# %% mystnb={"image": {"alt": "A bar for each of the 27 symbols, sorted by its entry in the second eigenvector. The bars of the blank, u, a, e, o, i and, barely, c point down, those of all other consonants up, longest for q."}} tags=["hide-input"]
rising = np.argsort(x, kind='stable')
names = [ALPHABET[i].replace(' ', '␣') for i in rising]
fig, ax = plt.subplots(figsize=(6, 2.2))
ax.bar(names, x[rising], color=np.where(x[rising] < 0, 'C1', 'C0'))
ax.axhline(0, color=GREY, lw=0.8)
ax.tick_params(axis='x', length=0)
ax.spines['bottom'].set_visible(False)
ax.set(ylabel='entry', xlim=(-0.6, 26.6));

# %% [markdown] tags=["caption"]
# The second eigenvector of the counts separates the five vowels and the blank (␣) from all consonants except c.

# %% [markdown]
# Markov counted vowels and consonants in *Eugene Onegin* by hand {cite}`markov1913example`. Counts of pairs alone can
# tell them apart {cite}`moler1983singular`.
#
# ```{exercise} ★★ Experiment: other texts
# :label: evd-texts
# The least real part of an eigenvalue of $\mathbf{P}$ is $-0.42$. Predict it for these texts, then measure and explain: the
# symbols in *reversed* order; each letter *renamed* to the next of the alphabet (and z to a); each symbol *doubled*, as in
# `aabbcc`; the symbols *shuffled*.
# ```

# %%
def least_eigenvalue(change):
    """Your prediction: a float, right if it is off by less than 0.1.

    change: 'reversed', 'renamed', 'doubled' or 'shuffled'.
    For the unchanged text, 'nothing', least_eigenvalue('nothing') is -0.42.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def measured_least(change):
    changed = {'nothing': symbols, 'reversed': symbols[::-1], 'renamed': np.where(symbols > 0, symbols % 26 + 1, 0),
               'doubled': np.repeat(symbols, 2), 'shuffled': np.random.default_rng(0).permutation(symbols)}
    return np.linalg.eigvals(transitions(changed[change])).real.min()

cases = dict(change=['nothing', 'reversed', 'renamed', 'doubled', 'shuffled'])
grade(least_eigenvalue, measured_least, atol=0.1, **cases)

# %% [markdown]
# ```{solution-start} evd-texts
# :class: dropdown
# ```
# New names only exchange rows and columns, which is a change of basis by a permutation: a similar matrix. Reversed, the counts
# $\mathbf{C}$ become $\mathbf{C}^\top$. With the frequencies on the diagonal of $\mathbf{D}$, $\mathbf{P} = \mathbf{D}^{-1}\mathbf{C}$ becomes
# $\mathbf{D}^{-1}\mathbf{C}^\top$. This is similar to $\mathbf{C}^\top\mathbf{D}^{-1} = \mathbf{P}^\top$, which has the eigenvalues of
# $\mathbf{P}$. So both leave $-0.42$. In the doubled text, half of the time a symbol is followed by itself. The matrix is
# $(\mathbf{I} + \mathbf{P})/2$, and the eigenvalue becomes $(1 - 0.42)/2 = 0.29$. In the shuffled text the next symbol does not depend on this one, and all
# eigenvalues except the 1 are nearly 0. Of the wrong answers, the first lets reading backwards change the sign, the second overlooks the
# pairs in the doubled text, and the third believes that frequencies alone make the eigenvalue.

# %% jupyter={"source_hidden": true}
def least_eigenvalue_solution(change):
    return {'doubled': 0.29, 'shuffled': 0.0}.get(change, -0.42)

def backwards_turns_the_sign(change):
    return 0.42 if change == 'reversed' else least_eigenvalue_solution(change)

def pairs_overlooked(change):
    return -0.42 if change == 'doubled' else least_eigenvalue_solution(change)

def frequencies_alone(change):
    return -0.42 if change == 'shuffled' else least_eigenvalue_solution(change)

assert grade(least_eigenvalue_solution, measured_least, atol=0.1, **cases)
assert not grade(backwards_turns_the_sign, measured_least, atol=0.1, **cases)
assert not grade(pairs_overlooked, measured_least, atol=0.1, **cases)
assert not grade(frequencies_alone, measured_least, atol=0.1, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★★ Pencil: the random surfer
# :label: evd-damping
# A surfer follows a random link with probability $d$ and otherwise jumps to a random page, drawn with the probabilities
# $\mathbf{v}$. Pages are ranked by the left eigenvector of $d\,\mathbf{P} + (1 - d)\,\mathbf{1}\mathbf{v}^\top$ for the
# eigenvalue 1. Show that its other eigenvalues are $d$ times the other eigenvalues of $\mathbf{P}$, whatever $\mathbf{v}$
# is. Write `second_of_surfer(values, d)`, the largest absolute value among these others.
# ```

# %%
def second_of_surfer(values, d):
    """From the eigenvalues of P, (n,), real, in any order, and d.

    One of the values is 1 and none is larger in absolute value, n >= 2,
    0 <= d <= 1. The result is a float >= 0.
    second_of_surfer(np.array([0.4, 1.0]), 0.5) is 0.2.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def surfer(values, d):  # P = S diag(values) S^-1 with a first column of ones has rows with the sum 1
    generator = np.random.default_rng(len(values))
    n, values = len(values), np.roll(values, -int(abs(values - 1).argmin()))
    S = np.column_stack([np.ones(n), generator.normal(size=(n, n - 1))])
    P = S @ np.diag(values) @ np.linalg.inv(S)
    damped = d * P + (1 - d) * generator.dirichlet(np.ones(n))
    return np.sort(abs(np.linalg.eigvals(damped)))[-2]

def with_a_one(others):
    return integers(0, len(others)).map(lambda place: np.insert(others, place, 1.0))

cases = dict(values=vectors((1, 4), -1, 1, edges=True).flatmap(with_a_one), d=on(0.0, 1.0, 0.85) | scalars(0, 1))
grade(second_of_surfer, surfer, atol=1e-6, **cases)

# %% [markdown]
# ```{solution-start} evd-damping
# :class: dropdown
# ```
# Take a basis $\mathbf{S}$ that begins with $\mathbf{1}$. As $\mathbf{P}\mathbf{1} = \mathbf{1}$,
# $\mathbf{S}^{-1}\mathbf{P}\mathbf{S} = \begin{bmatrix} 1 & * \\ \mathbf{0} & \mathbf{B} \end{bmatrix}$, where
# $\mathbf{B}$ has the other eigenvalues of $\mathbf{P}$. And
# $\mathbf{S}^{-1}\mathbf{1}\,\mathbf{v}^\top\mathbf{S} = \mathbf{e}_1\mathbf{v}^\top\mathbf{S}$ has a first
# row only, beginning with $\mathbf{v}^\top\mathbf{1} = 1$. The sum is
# $\begin{bmatrix} 1 & * \\ \mathbf{0} & d\,\mathbf{B} \end{bmatrix}$. So the error of power
# iteration falls at least like $d^k$, however large the web is. Of the wrong answers, the first takes the bound $d$
# for the value, the second forgets $d$, and the third overlooks negative eigenvalues.

# %% jupyter={"source_hidden": true}
def second_of_surfer_solution(values, d):
    return d * np.sort(abs(values))[-2]

def only_the_bound(values, d):
    return d

def without_damping(values, d):
    return np.sort(abs(values))[-2]

def positive_ones_only(values, d):
    return d * abs(np.sort(values)[-2])

assert grade(second_of_surfer_solution, surfer, atol=1e-6, **cases)
assert not grade(only_the_bound, surfer, atol=1e-6, **cases)
assert not grade(without_damping, surfer, atol=1e-6, **cases)
assert not grade(positive_ones_only, surfer, atol=1e-6, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def counted(text):  # by a loop over pairs of letters
    follows = {}
    for first, then in zip(text, text[1:] + text[0], strict=True):
        follows.setdefault(first, []).append(then)
    return np.array([[follows[a].count(b) / len(follows[a]) if a in follows else 0.0 for b in ALPHABET] for a in ALPHABET])

def shares_are(seed, matrix):
    some = np.random.default_rng(seed).choice(list(ALPHABET), 200)
    there = np.isin(list(ALPHABET), some)
    return close(matrix(np.array([ALPHABET.index(c) for c in some]))[there], counted(''.join(some))[there])

def with_totals_of_columns(symbols):
    counts = np.zeros((27, 27))
    np.add.at(counts, (symbols, np.roll(symbols, -1)), 1)
    return counts / np.maximum(counts.sum(axis=0, keepdims=True), 1)

def transitions_of_any(symbols):
    with np.errstate(invalid='ignore'):  # a symbol that does not occur has no successors
        return transitions(symbols)

verify('p_ij is the share of j among the successors of i',
       lambda seed: shares_are(seed, transitions_of_any),
       slip=('divides by the number of js', lambda seed: shares_are(seed, with_totals_of_columns)),
       seed=seeds(), tries=30)

negative = {ALPHABET[i] for i in np.flatnonzero(x < 0)}
assert negative == set(' aeiouc') and abs(x[ALPHABET.index('c')]) < 0.1 < min(abs(x[ALPHABET.index(v)]) for v in ' aeiou')
assert abs(lam[second].imag) < 1e-12 and lam[second].real < -0.4 < -5 * max(largest)
assert close(P @ V[:, second], lam[second] * V[:, second])

# %% [markdown]
# ## Summary
#
# An eigenvector is a direction that a matrix only stretches, by its eigenvalue. With $n$ independent eigenvectors
# $\mathbf{A} = \mathbf{V}\boldsymbol\Lambda\mathbf{V}^{-1}$, so powers, roots and other functions act on each eigenvalue
# separately; similar matrices share the eigenvalues. Every symmetric matrix has $n$ perpendicular eigenvectors, and
# errors hardly move its eigenvalues; those of other matrices can be very sensitive and describe only the end of a long product. Libraries compute eigenvalues by the
# QR algorithm, which is power iteration and shifted inverse iteration in one.
#
# **Further reading.** {cite}`trefethen1997numerical` explains the algorithms in short lectures, and {cite}`golub2013matrix`
# in all details; {cite}`horn2013matrix` has the theory, {cite}`trefethen2005spectra` what eigenvalues hide.
