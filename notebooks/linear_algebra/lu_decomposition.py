# ---
# jupyter:
#   book:
#     functions:
#       back: back(np.triu(normal(4, 4)) + 3 * np.eye(4, dtype='float32'), normal(4))
#       cholesky: "(lambda b: cholesky(b @ b.T))(normal(3, 6))"
#       forward: forward(np.tril(normal(4, 4)) + 3 * np.eye(4, dtype='float32'), normal(4))
#       growth: growth(normal(4, 4))
#       lu: lu(normal(4, 4) + 4 * np.eye(4, dtype='float32'))
#       lu_pivot: lu_pivot(normal(4, 4))
#     main: lu-product
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # LU decomposition
#
# Of 1797 handwritten digits, ten have been given a name. We want to spread the names to all others, and this leads to 1797 equations
# for 1797 unknowns, with hundreds of different right sides. How does a computer solve so many equations, what can it reuse from
# one right side to the next, and how many digits of the answer are right?
#
# - **You need** the [norms of matrices](../linear_algebra/norms.ipynb) and [determinants](../linear_algebra/determinants.ipynb).
# - **You build** the LU decomposition with and without pivoting, the Cholesky decomposition, a measurement of their
#   errors, and a program that names 1787 digits after seeing ten.
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
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
import scipy.sparse.csgraph
import sympy as sp
from matplotlib.colors import to_rgb
from numpy.linalg import cond, norm

from nbutils.cases import integers, on, seeds, vectors
from nbutils.checks import below, between, close, grade, verify
from nbutils.data import digits
from nbutils.figures import GREY, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## LU decomposition by elimination
#
# Three equations for three unknowns, $\mathbf{A}\mathbf{x} = \mathbf{b}$:
#
# $$ \begin{bmatrix} 2 & 1 & 1 \\ 4 & 5 & 3 \\ -2 & 5 & 6 \end{bmatrix} \mathbf{x} = \begin{bmatrix} 7 \\ 23 \\ 26 \end{bmatrix} $$
#
# We eliminate as by hand: subtract 2 times row 1 from row 2, and $-1$ times row 1 from row 3. Then subtract 2 times the new row 2 from
# row 3. This time we keep the three multipliers, in a matrix $\mathbf{L}$ with ones on the diagonal:

# %%
A = np.array([[2.0, 1.0, 1.0], [4.0, 5.0, 3.0], [-2.0, 5.0, 6.0]])
L, U = np.eye(3), A.copy()
for row, pivot_row in ((1, 0), (2, 0), (2, 1)):
    L[row, pivot_row] = U[row, pivot_row] / U[pivot_row, pivot_row]
    U[row] = U[row] - L[row, pivot_row] * U[pivot_row]
print('L =\n', L, '\nU =\n', U, '\nL U =\n', L @ U)

# %% [markdown]
# The product of the multipliers and the result is the matrix with which we began. Why? Row $i$ ends as row $\mathbf{u}_i$ of $\mathbf{U}$, after
# $l_{ik}$ times the finished row $\mathbf{u}_k$ was subtracted for
# each $k < i$. So row $i$ of $\mathbf{A}$ was $\mathbf{u}_i + \sum_{k<i} l_{ik} \mathbf{u}_k$, and this is row $i$ of a product:
#
# ```{math}
# :label: lu-product
# \mathbf{A} = \mathbf{L}\mathbf{U} .
# ```
#
# Both factors are **triangular**: $\mathbf{L}$ has zeros above the diagonal, and $\mathbf{U}$ below it. The numbers $u_{kk}$ by which we divide
# are called **pivots**. For any size, one step subtracts an outer product, the multipliers times the pivot row:

# %%
def lu(A):
    L, U = np.eye(len(A), dtype=A.dtype), A.copy()
    for k in range(len(A) - 1):
        L[k + 1:, k] = U[k + 1:, k] / U[k, k]
        U[k + 1:, k + 1:] -= np.outer(L[k + 1:, k], U[k, k + 1:])
    return L, np.triu(U)

# %% mystnb={"image": {"alt": "Five stages of elimination on a 16 by 16 matrix. The finished rows of U grow from above, the multipliers of L from the left, and the square that is still being worked on shrinks towards the lower right corner."}} tags=["hide-input"]
a = np.random.default_rng(3).normal(size=(16, 16)) + 6 * np.eye(16)
row, column = np.indices(a.shape)
fig, axes = panels(5, height=1.5)
for k in range(16):
    if k in (0, 4, 8, 12, 15):
        ax = axes[k // 4 + (k == 15)]
        colour = np.where((row < k)[..., None], to_rgb('C0'), to_rgb('C2'))
        multiplier = (column < k) & (column < row)
        colour = np.where(multiplier[..., None], to_rgb('C1'), colour)
        shade = abs(a) / np.where(multiplier, 0.6, 6)
        ax.imshow(np.dstack([colour, np.clip(0.15 + shade, 0, 1)]))
        ax.set(title=f'{k} steps', xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    a[k + 1:, k] /= a[k, k]
    a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])
for k, word in enumerate(('U: finished', 'L: multipliers', 'still to do')):
    fig.text(0.01 + 0.2 * k, -0.06, word, color=f'C{k}');

# %% [markdown] tags=["caption"]
# Each step of elimination finishes one row of $\mathbf{U}$ and one column of $\mathbf{L}$. The multipliers fit exactly
# where the zeros would stand.

# %% [markdown]
# ### Solving: forward and back substitution
#
# With $\mathbf{A} = \mathbf{L}\mathbf{U}$, the system $\mathbf{A}\mathbf{x} = \mathbf{b}$ becomes two easy ones:
# $\mathbf{L}\mathbf{y} = \mathbf{b}$, and then $\mathbf{U}\mathbf{x} = \mathbf{y}$. In the first, row 1 contains only $y_1$.
# As soon as an unknown is found, we move its terms to the right side, and the next row contains only one unknown. In the
# second we begin from below.

# %%
def forward(L, b):
    y = b.copy()
    for j in range(len(L)):
        y[j] = y[j] / L[j, j]
        y[j + 1:] -= L[j + 1:, j] * y[j]
    return y

def back(U, y):
    x = y.copy()
    for j in reversed(range(len(U))):
        x[j] = x[j] / U[j, j]
        x[:j] -= U[:j, j] * x[j]
    return x

# %%
L, U = lu(A)
b = np.array([7.0, 23.0, 26.0])
y = forward(L, b)
print('y =', y, '  x =', back(U, y))

# %% [markdown]
# What does it cost? With $m$ rows below the pivot, a step takes $m$ quotients, $m^2$ products and as many differences. The factorization, and
# then each right side, cost
#
# ```{math}
# :label: lu-cost
# \begin{gathered}
# \sum_{m=1}^{n-1} (2m^2 + m) = \frac{4n^3 - 3n^2 - n}{6} \approx \tfrac23 n^3, \\
# 4\,\frac{n(n-1)}{2} + n = 2n^2 - n \approx 2 n^2
# \end{gathered}
# ```
#
# operations:

# %%
for n in (3, 100, 1797):
    factor, side = (4 * n**3 - 3 * n**2 - n) // 6, 2 * n**2 - n
    print(f'n = {n:4}: factorization {factor:10}, '
          f'each right side {side:7}, quotient {factor / side:.0f}')

# %% [markdown]
# For 1797 equations, a further right side costs 599 times less than the factorization. So a solver that meets the same matrix again and again
# should factor it once. In SciPy you write `factors = scipy.linalg.lu_factor(A)` and then `scipy.linalg.lu_solve(factors, b)`
# for each $\mathbf{b}$. The inverse would cost $2n^3$ operations and then another $2n^2$ for each product
# $\mathbf{A}^{-1}\mathbf{b}$, so it saves nothing.
#
# ### When does the LU decomposition exist?
#
# Being invertible is not enough. The matrix $\begin{bmatrix} 0 & 1 \\ 1 & 0 \end{bmatrix}$ is invertible, but its first pivot is zero.
# The determinants of the upper left blocks decide, the **leading minors**:
#
# ```{prf:theorem} Existence and uniqueness
# :label: thm-lu
# Let $\mathbf{A}$ be invertible, and $\mathbf{A}_k$ its upper left $k \times k$ block. Then
# $\mathbf{A} = \mathbf{L}\mathbf{U}$ with a unit lower triangular $\mathbf{L}$ and an upper triangular $\mathbf{U}$ exists
# exactly if all *leading minors* $\det \mathbf{A}_1, \dots, \det \mathbf{A}_n$ are nonzero. It is unique, elimination finds
# it, and $u_{kk} = \det \mathbf{A}_k / \det \mathbf{A}_{k-1}$ (with $\det \mathbf{A}_0 = 1$).
# ```
#
# ```{prf:proof}
# :class: dropdown
# *Necessary.* The upper left block of a product of triangular matrices is the product of the upper left blocks,
# $\mathbf{A}_k = \mathbf{L}_k \mathbf{U}_k$. So $\det \mathbf{A}_k = u_{11} \cdots u_{kk}$, which gives the formula, and
# none of these is zero since $\det \mathbf{A} = u_{11} \cdots u_{nn}$ is not. *Sufficient.* Let the first $k - 1$ pivots be
# nonzero. Elimination has until then added multiples of rows to lower ones. This did not change $\det \mathbf{A}_k$, and the
# block is now triangular with the first $k$ pivots on its diagonal. So pivot $k$ is
# $\det \mathbf{A}_k / \det \mathbf{A}_{k-1} \ne 0$, and elimination goes on. *Unique.* From
# $\mathbf{L}\mathbf{U} = \mathbf{L}'\mathbf{U}'$ follows $\mathbf{L}'^{-1}\mathbf{L} = \mathbf{U}'\mathbf{U}^{-1}$. The left
# side is unit lower triangular, the right side upper, so both are $\mathbf{I}$.
# ```
#
# :::{admonition} Which decomposition for which question?
# :class: dropdown
# LU is one of several ways to write a matrix as a product of easy ones: triangular, diagonal or orthogonal. These are the most
# important, for an $n \times n$ matrix $\mathbf{A}$ and a symmetric $\mathbf{S}$, with their costs from {cite}`golub2013matrix`:
#
# | form | for | operations | made for |
# |---|---|---|---|
# | $\mathbf{P}\mathbf{A} = \mathbf{L}\mathbf{U}$ | all $\mathbf{A}$ | $\tfrac23 n^3$ | equations, determinants |
# | $\mathbf{S} = \mathbf{L}\mathbf{L}^\top$ (Cholesky) | positive definite | $\tfrac13 n^3$ | the same; normal distributions |
# | $\mathbf{A} = \mathbf{Q}\mathbf{R}$ ([QR](../linear_algebra/qr_decomposition.ipynb)) | all, also $m \ge n$ rows | $\tfrac43 n^3$ | least squares |
# | $\mathbf{S} = \mathbf{Q}\boldsymbol\Lambda\mathbf{Q}^\top$ ([eigenvalues](../linear_algebra/eigendecomposition.ipynb)) | symmetric | $9 n^3$ | powers, quadratic forms |
# | $\mathbf{A} = \mathbf{U}\boldsymbol\Sigma\mathbf{V}^\top$ ([singular values](../linear_algebra/singular_value_decomposition.ipynb)) | all, all shapes | $20 n^3$ | rank, distances, approximation |
# :::
#
# ```{exercise} ★ Program: neighbours only
# :label: lu-tridiagonal
# In splines, diffusion and time series, each unknown meets only its two neighbours. Then $\mathbf{A}$ has a diagonal $\mathbf{d}$,
# entries $\mathbf{e}$ below and $\mathbf{f}$ above it, and zeros elsewhere. Write `tridiagonal(e, d, f, b)`, which solves
# such a system without a library solver, in about $8n$ operations.
# ```

# %%
def tridiagonal(e, d, f, b):
    """The solution x: e (n-1,), d (n,), f (n-1,), b (n,) -> (n,).

    n >= 1. No pivot is zero, because |d_i| > |e_{i-1}| + |f_i| in each row.
    tridiagonal(np.array([]), np.array([2.0]), np.array([]),
                np.array([6.0])) is array([3.]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def with_full_matrix(e, d, f, b):
    return np.linalg.solve(np.diag(e, -1) + np.diag(d) + np.diag(f, 1), b)

cases = dict(
    e=on(0, 1, 2, 5).flatmap(lambda m: vectors(m, -3, 3)),
    d=lambda e: vectors(len(e) + 1, 7, 9).flatmap(lambda d: on(1, -1).map(lambda sign: sign * d)),
    f=lambda e: vectors(len(e), -3, 3), b=lambda e: vectors(len(e) + 1))
forbidden = ['numpy.linalg.solve', 'numpy.linalg.inv', 'scipy.linalg.solve', 'scipy.linalg.solve_banded']
grade(tridiagonal, with_full_matrix, without=forbidden, **cases)

# %% [markdown]
# ```{solution-start} lu-tridiagonal
# :class: dropdown
# ```
# Elimination meets one multiplier per step, $l_k = e_k / u_k$, and changes only the next diagonal entry,
# $u_{k+1} = d_{k+1} - l_k f_k$. So $\mathbf{L}$ and $\mathbf{U}$ have two diagonals each. Of the wrong answers, the first divides by the
# original diagonal instead of the pivots, the second exchanges the entries below and above the diagonal, and the third fills a whole matrix and leaves the work to the library.

# %% jupyter={"source_hidden": true}
def tridiagonal_solution(e, d, f, b):
    u, x = d.copy(), b.copy()
    for k in range(len(d) - 1):
        factor = e[k] / u[k]
        u[k + 1] -= factor * f[k]
        x[k + 1] -= factor * x[k]
    x[-1] /= u[-1]
    for k in reversed(range(len(d) - 1)):
        x[k] = (x[k] - f[k] * x[k + 1]) / u[k]
    return x

def original_diagonal(e, d, f, b):
    x = b.copy()
    for k in range(len(d) - 1):
        x[k + 1] -= e[k] / d[k] * x[k]
    x[-1] /= d[-1]
    for k in reversed(range(len(d) - 1)):
        x[k] = (x[k] - f[k] * x[k + 1]) / d[k]
    return x

def exchanged(e, d, f, b):
    return tridiagonal_solution(f, d, e, b)

def all_of_the_matrix(e, d, f, b):
    return np.linalg.solve(np.diag(e, -1) + np.diag(d) + np.diag(f, 1), b)

assert grade(tridiagonal_solution, with_full_matrix, without=forbidden, **cases)
assert not grade(original_diagonal, with_full_matrix, without=forbidden, **cases)
assert not grade(exchanged, with_full_matrix, without=forbidden, **cases)
assert not grade(all_of_the_matrix, with_full_matrix, without=forbidden, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def minors(a):  # 1 and the leading ones
    return [Fraction(int(sp.Matrix(a[:k, :k]).det())) for k in range(5)]

def factored(seed, pivots):  # in fractions, from the minors
    a = np.random.default_rng(seed).integers(-9, 10, (4, 4))
    a += np.diag([40] * 4)  # now no minor is zero
    l, u = lu(a * Fraction(1))
    return (
        (l @ u == a).all()
        and (l == np.tril(l)).all()
        and list(u.diagonal()) == pivots(minors(a))
    )

verify(
    'A = LU, and pivots are quotients of leading minors',
    lambda seed: factored(seed, lambda d: [d[k + 1] / d[k] for k in range(4)]),
    tries=30,
    slip=(
        'takes the minors for the pivots',
        lambda seed: factored(seed, lambda d: d[1:]),
    ),
    seed=seeds(),
)

def solve(a, b):
    l, u = lu(a)
    return back(u, forward(l, b))

def wrong_order(a, b):
    l, u = lu(a)
    return forward(l, back(u, b))

def solves(seed, n, solver):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, n)) + 10 * np.eye(n)
    b = rng.normal(size=n)
    return close(solver(a, b), np.linalg.solve(a, b))

verify(
    'first forward, then back',
    lambda seed, n: solves(seed, n, solve),
    slip=(
        'goes backward first, then forward',
        lambda seed, n: solves(seed, n, wrong_order),
    ),
    seed=seeds(),
    n=[1, 2, 20],
    tries=50,
)

# %% tags=["checks"]
class Counted(float):
    """A number that counts the operations made with it."""

    done = 0

def counting(name):
    def operation(self, other):
        Counted.done += not isinstance(other, int)  # the fixed 0 and 1
        return Counted(getattr(float, name)(self, other))
    return operation

for name in ('__add__', '__sub__', '__mul__', '__truediv__', '__pow__'):
    setattr(Counted, name, counting(name))

counted = np.vectorize(Counted, otypes=[object])

def operations(work, *arrays):
    Counted.done = 0
    result = work(*map(counted, arrays))
    return Counted.done, result

def costs(n):  # to factor, and for each right side
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(n, n)) + n * np.eye(n), rng.normal(size=n)
    factor, (l, u) = operations(lu, a)
    each, x = operations(lambda b: back(u, forward(l, b)), b)
    assert close(x.astype(float), np.linalg.solve(a, b))
    return factor, each

verify(
    'the operations, counted',
    lambda n: costs(n) == ((4 * n**3 - 3 * n**2 - n) // 6, 2 * n**2 - n),
    slip=(
        'keeps only the leading terms',
        lambda n: costs(n) == (2 * n**3 // 3, 2 * n**2),
    ),
    n=[2, 5, 20, 40],
)
assert close(L, [[1, 0, 0], [2, 1, 0], [-1, 2, 1]]) and close(back(U, forward(L, b)), np.linalg.solve(A, b))

# %% [markdown]
# ## Partial pivoting, backward error and the condition number
#
# A pivot that is zero stops elimination. One that is nearly zero is worse, because elimination goes on. Consider
#
# $$\begin{bmatrix} \varepsilon & 1 \\ 1 & 1 \end{bmatrix} \begin{bmatrix} x_1 \\ x_2 \end{bmatrix} = \begin{bmatrix} 1 \\ 2 \end{bmatrix},
# \qquad \varepsilon = 10^{-20},$$
#
# whose solution is $x_1 = x_2 = 1$ to twenty digits:

# %%
A, b = np.array([[1e-20, 1.0], [1.0, 1.0]]), np.array([1.0, 2.0])
L, U = lu(A)
print('as it stands:  ', back(U, forward(L, b)))
print('U =\n', U, '\nL U =\n', L @ U)
L, U = lu(A[::-1])
print('rows exchanged:', back(U, forward(L, b[::-1])))

# %% [markdown]
# The first unknown is 0 instead of 1. The multiplier was $1/\varepsilon$, and $u_{22} = 1 - 1/\varepsilon$ was rounded to $-1/\varepsilon$. The 1 that stood in the
# lower right corner of $\mathbf{A}$ is lost: in the product of the factors, that entry is 0. After an exchange of the rows, the multiplier is
# $\varepsilon$, and the answer is right. So we must avoid large multipliers. **Partial pivoting** exchanges rows before each step, so that the largest entry
# of the column becomes the pivot. Then all $|l_{ij}| \le 1$, and no matrix stops it:
#
# ```{prf:theorem} LU with exchanges
# :label: thm-palu
# For every square matrix there is an order of its rows, $\mathbf{P}\mathbf{A}$ with a permutation matrix $\mathbf{P}$, such
# that $\mathbf{P}\mathbf{A} = \mathbf{L}\mathbf{U}$ with all $|l_{ij}| \le 1$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# By induction on $n$. Bring the largest entry of the first column to the top, and call the result
# $\mathbf{P}_1\mathbf{A} = \begin{bmatrix} \alpha & \mathbf{r} \\ \mathbf{c} & \mathbf{B} \end{bmatrix}$. Let
# $\mathbf{m} = \mathbf{c}/\alpha$, whose entries are at most 1 in size; if $\alpha = 0$, then $\mathbf{c} = \mathbf{0}$, and
# let $\mathbf{m} = \mathbf{0}$. What elimination leaves is the *Schur complement* $\mathbf{B} - \mathbf{m}\mathbf{r}$. It
# has size $n - 1$, so $\mathbf{P}'(\mathbf{B} - \mathbf{m}\mathbf{r}) = \mathbf{L}'\mathbf{U}'$, and therefore
#
# $$\begin{bmatrix} 1 & \\ & \mathbf{P}' \end{bmatrix} \mathbf{P}_1 \mathbf{A}
# = \begin{bmatrix} \alpha & \mathbf{r} \\ \mathbf{P}'\mathbf{c} & \mathbf{P}'\mathbf{B} \end{bmatrix} = \begin{bmatrix}
# 1 & \\ \mathbf{P}'\mathbf{m} & \mathbf{L}' \end{bmatrix} \begin{bmatrix} \alpha & \mathbf{r} \\ & \mathbf{U}'
# \end{bmatrix} .$$
# ```
#
# In the program, the multipliers are stored in the place of the zeros below the diagonal. So they move along when whole rows are exchanged:

# %%
def lu_pivot(A):
    """L below the diagonal and U above, in one matrix; the order of rows."""
    A, order = A.copy(), np.arange(len(A))
    for k in range(len(A)):
        p = k + abs(A[k:, k]).argmax()
        A[[k, p]], order[[k, p]] = A[[p, k]], order[[p, k]]
        if A[k, k] != 0:
            A[k + 1:, k] /= A[k, k]
            A[k + 1:, k + 1:] -= np.outer(A[k + 1:, k], A[k, k + 1:])
    return A, order

def solve_pivot(A, b):
    LU, order = lu_pivot(A)
    L = np.tril(LU, -1) + np.eye(len(A))
    return back(np.triu(LU), forward(L, b[order]))

# %% [markdown]
# ### How far can the answer be trusted?
#
# A program returns $\hat{\mathbf{x}}$, and we do not know the true $\mathbf{x}$. But we can compute the residual
# $\mathbf{r} = \mathbf{b} - \mathbf{A}\hat{\mathbf{x}}$, and ask: of which system is $\hat{\mathbf{x}}$ the *exact* solution? If that system
# differs from ours in the sixteenth digit, the program has done all that we can ask, because the data were no better.
#
# ```{prf:theorem} Backward error
# :label: thm-backward
# Let $\mathbf{r} = \mathbf{b} - \mathbf{A}\hat{\mathbf{x}}$ and $\hat{\mathbf{x}} \ne \mathbf{0}$. The smallest $\mathbf{E}$
# with $(\mathbf{A} + \mathbf{E})\hat{\mathbf{x}} = \mathbf{b}$ has the relative size $\displaystyle \eta =
# \frac{\|\mathbf{E}\|}{\|\mathbf{A}\|} = \frac{\|\mathbf{r}\|}{\|\mathbf{A}\| \, \|\hat{\mathbf{x}}\|}$, the *backward
# error*. And if $\mathbf{A}$ is invertible,
#
# $$\frac{\|\hat{\mathbf{x}} - \mathbf{x}\|}{\|\hat{\mathbf{x}}\|} \le \kappa \, \eta,
# \qquad \kappa = \|\mathbf{A}\| \, \|\mathbf{A}^{-1}\| .$$
# ```
#
# ```{prf:proof}
# :class: dropdown
# The norms are Euclidean, that of a matrix the largest singular value.
# The equation says $\mathbf{E}\hat{\mathbf{x}} = \mathbf{r}$, so $\|\mathbf{r}\| \le \|\mathbf{E}\| \|\hat{\mathbf{x}}\|$.
# The matrix $\mathbf{E} = \mathbf{r}\hat{\mathbf{x}}^\top / \|\hat{\mathbf{x}}\|^2$ fulfils the equation and attains the
# bound, since $\|\mathbf{r}\hat{\mathbf{x}}^\top\mathbf{z}\| \le \|\mathbf{r}\| \|\hat{\mathbf{x}}\| \|\mathbf{z}\|$. For
# the second part, $\mathbf{x} - \hat{\mathbf{x}} = \mathbf{A}^{-1}\mathbf{r}$, so $\|\mathbf{x} - \hat{\mathbf{x}}\| \le
# \|\mathbf{A}^{-1}\| \|\mathbf{r}\| = \|\mathbf{A}^{-1}\| \, \eta \, \|\mathbf{A}\| \|\hat{\mathbf{x}}\|$.
# ```
#
# The error is at most a product of two numbers. The **condition number** $\kappa$ belongs to the
# problem: it says how much a change of the data can be magnified, and no program can help it. The **backward error** $\eta$
# belongs to the method. We measure both on systems with known solutions: whole numbers times powers of two, so that
# $\mathbf{A}$ and $\mathbf{b} = \mathbf{A}\mathbf{x}$ are stored without rounding.

# %%
rng = np.random.default_rng(11)
kappa, error, eta = np.zeros((3, 40))
for bits in range(40):
    f, g = rng.integers(-3, 4, (2, 8, 8))
    A = (f * 2.0 ** -np.round(np.linspace(0, bits, 8))) @ g
    x = rng.choice([-1.0, 1.0], 8)
    computed = solve_pivot(A, A @ x)
    residual = A @ x - (A * computed).sum(axis=1)
    kappa[bits] = cond(A)
    error[bits] = norm(computed - x) / norm(computed)
    eta[bits] = norm(residual) / (norm(A, 2) * norm(computed))
print('backward errors are', below(eta, 1e-15))
print('the largest error is', between(error.max(), 1e-7, 1))

# %% mystnb={"image": {"alt": "Relative error and backward error against the condition number, both axes logarithmic. The errors follow a dashed line of slope one and reach about one millionth; the backward errors stay below the unit of rounding at every condition number."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.8))
ax.loglog(kappa, error, 'o', color='C1', ms=3.5)
ax.loglog(kappa, np.maximum(eta, 1e-18), 'o', color='C0', ms=3.5)
ax.plot([1e1, 1e14], [1e1 / 2**53, 1e14 / 2**53], color=GREY, lw=1, ls='--')
ax.text(2e5, 2e-8, 'error', color='C1', ha='right')
ax.text(3e9, 3e-15, 'backward error', color='C0')
ax.text(4e12, 2e-2, '2⁻⁵³ κ', ha='right')
ax.set(xlabel='condition number κ', ylabel='relative size', ylim=(1e-18, 1));

# %% [markdown] tags=["caption"]
# Elimination with pivoting always solves a nearby system: the backward error is tiny at every condition number. The error of the solution
# grows with the condition number $\kappa$.

# %% [markdown]
# Is the backward error of elimination always so small? Rounding errors are relative to the numbers that appear on the way. So what counts is
# the **growth factor** $\rho$, the largest entry in any stage over the largest of $\mathbf{A}$. Wilkinson proved for the *computed* factors
# {cite}`wilkinson1961error`, with $\delta = 2^{-53}$,
#
# ```{math}
# :label: lu-wilkinson
# \begin{gathered}
# \hat{\mathbf{L}}\hat{\mathbf{U}} = \mathbf{P}\mathbf{A} + \mathbf{E}, \qquad
# |e_{ij}| \le 2 n \, \rho \, \delta \, \max_{ij} |a_{ij}| + O(\delta^2), \\
# \rho = \frac{\text{largest entry in any stage}}{\max_{ij} |a_{ij}|} .
# \end{gathered}
# ```
#
# Without pivoting, $\rho$ has no bound. With partial pivoting $|l| \le 1$, so the
# largest entry at most doubles in each step, and $\rho \le 2^{n-1}$. Wilkinson's matrix attains this bound, with
# ones on the diagonal and in the last column, and $-1$ below the diagonal:

# %%
def growth(A):
    A, top = A.copy(), abs(A).max()
    start = top
    for k in range(len(A) - 1):
        p = k + abs(A[k:, k]).argmax()
        A[[k, p]] = A[[p, k]]
        A[k + 1:, k] /= A[k, k]
        A[k + 1:, k + 1:] -= np.outer(A[k + 1:, k], A[k, k + 1:])
        top = max(top, abs(A[k + 1:, k + 1:]).max())
    return top / start

def wilkinson(n):
    A = np.eye(n) - np.tril(np.ones((n, n)), -1)
    A[:, -1] = 1
    return A

# %%
rng = np.random.default_rng(13)
for n in (8, 16, 32, 64):
    mean = np.mean([growth(rng.normal(size=(n, n))) for _ in range(50)])
    print(f'n = {n:2}   random: {mean:.2f}   '
          f'Wilkinson: {growth(wilkinson(n)):.1e}')

# %% [markdown]
# On random matrices the growth is slow {cite}`huang2022average`, and this is why LU with partial pivoting is the standard method. If you
# want to be sure, compute the backward error. It costs $2n^2$ operations and tells whether your system is an exception.
#
# ```{exercise} ★★ Experiment: how fragile is the worst case?
# :label: lu-fragile
# Take `A = wilkinson(40) + 0.01 * np.eye(40)`, whose growth factor is enormous. Which of these changes keep it above 1000? (a) *transposed*;
# (b) *columns reversed*; (c) *columns with signs*, each column multiplied by 1 or $-1$ at random; (d) *noise*, normal numbers with the standard deviation 0.01 added to all
# entries. Predict, measure with `growth`, and explain.
# ```

# %%
def explodes(change):
    """Your prediction: True if the growth factor stays above 1000.

    change: 'transposed', 'columns reversed', 'columns with signs', 'noise'.
    Without a change, explodes('nothing') is True.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def explosion_measured(change):
    A, rng = wilkinson(40) + 0.01 * np.eye(40), np.random.default_rng(0)
    changed = {'nothing': A, 'transposed': A.T, 'columns reversed': A[:, ::-1],
               'columns with signs': A * rng.choice([-1.0, 1.0], 40), 'noise': A + 0.01 * rng.normal(size=(40, 40))}
    return bool(growth(changed[change]) > 1000)

cases = dict(change=['nothing', 'transposed', 'columns reversed', 'columns with signs', 'noise'])
grade(explodes, explosion_measured, **cases)

# %% [markdown]
# ```{solution-start} lu-fragile
# :class: dropdown
# ```
# The doubling happens in the last column, where each step adds the pivot row to all rows below. A change of signs of columns changes only signs of
# entries, so the sizes still double. If the columns are reversed, the column of ones comes first, and after one step all rows below have become differences of rows,
# with entries of moderate size. In the transposed matrix the last *row* is full of ones, and each step only subtracts multiples of short rows from it. Noise of one per cent makes other entries the largest of
# their columns. Then rows are exchanged, and the pattern is broken. So the worst case needs an exact agreement of all rows. Of the wrong answers, the first
# trusts no matrix that comes from Wilkinson's, the second thinks that signs break the pattern, and the third that noise is too small to matter.

# %% jupyter={"source_hidden": true}
def explodes_solution(change):
    return change in ('nothing', 'columns with signs')

def always_explodes(change):
    return True

def signs_break_it(change):
    return change == 'nothing'

def noise_is_too_small(change):
    return change in ('nothing', 'columns with signs', 'noise')

assert grade(explodes_solution, explosion_measured, **cases)
assert not grade(always_explodes, explosion_measured, **cases)
assert not grade(signs_break_it, explosion_measured, **cases)
assert not grade(noise_is_too_small, explosion_measured, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★★ Program: half the bits, all the digits
# :label: lu-refinement
# Factoring in single precision is faster, on graphics processors many times. Write `refine(A, factors, b)`, where `factors`
# is what `scipy.linalg.lu_factor(A.astype(np.float32))` returned: a solution right to ten digits, with no other
# factorization. Hint: what does $\mathbf{x} - \hat{\mathbf{x}}$ solve? When will your method not converge?
# ```

# %%
def refine(A, factors, b):
    """The solution of A x = b in float64, to a relative error of 1e-10.

    A: (n, n), b: (n,), both float64, n >= 1, with cond(A) <= 1e4.
    refine(np.array([[3.0]]), lu_factor(np.float32([[3.0]])),
           np.array([1.0])) is array([0.33333333]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def in_double(A, factors, b):
    return np.linalg.solve(A, b)

def near(got, want):
    return np.shape(got) == np.shape(want) and bool(norm(got - want) <= 1e-10 * norm(want))

def system(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 2, 5, 30]))
    left, right = (np.linalg.qr(m)[0] for m in rng.normal(size=(2, n, n)))
    return left * np.geomspace(1, 1 / rng.choice([1.0, 10.0, 9000.0]), n) @ right * rng.choice([1e-3, 1.0, 1e3])

cases = dict(A=seeds().map(system), factors=lambda A: on(scipy.linalg.lu_factor(A.astype(np.float32))),
             b=lambda A: vectors(len(A), 1, 9))
again = [f'{m}.{f}' for m in ('numpy.linalg', 'scipy.linalg') for f in ('solve', 'inv', 'lstsq')]
again += ['scipy.linalg.lu_factor']
grade(refine, in_double, same=near, without=again, tries=40, **cases)

# %% [markdown]
# ```{solution-start} lu-refinement
# :class: dropdown
# ```
# The error $\mathbf{d} = \mathbf{x} - \hat{\mathbf{x}}$ solves $\mathbf{A}\mathbf{d} = \mathbf{r}$ with the residual
# $\mathbf{r} = \mathbf{b} - \mathbf{A}\hat{\mathbf{x}}$. Solved with the factors in single precision, $\mathbf{d}$ has the
# relative error $\theta \approx \kappa\, 2^{-24}$, times a modest factor. After
# $\hat{\mathbf{x}} \leftarrow \hat{\mathbf{x}} + \mathbf{d}$ the error is $\theta$ times what it was, as long as the
# residual is right: $\mathbf{b}$ and $\mathbf{A}\hat{\mathbf{x}}$ agree in almost all digits, so it must be computed in
# double precision. For $\kappa$ above about $10^7$ nothing is gained {cite}`carson2018accelerating`. Of the wrong answers, the first
# computes the residual in single precision, the second stops after one correction, and the third does not correct at all.

# %% jupyter={"source_hidden": true}
def refine_solution(A, factors, b):
    x = np.zeros_like(b)
    for _ in range(12):
        r = b - A @ x
        x = x + scipy.linalg.lu_solve(factors, r.astype(np.float32))
    return x

def single_residual(A, factors, b):
    x = np.zeros_like(b)
    for _ in range(12):
        r = b.astype(np.float32) - A.astype(np.float32) @ x.astype(np.float32)
        x = x + scipy.linalg.lu_solve(factors, r)
    return x

def one_correction(A, factors, b):
    x = scipy.linalg.lu_solve(factors, b.astype(np.float32)).astype(float)
    return x + scipy.linalg.lu_solve(factors, (b - A @ x).astype(np.float32))

def uncorrected(A, factors, b):
    return scipy.linalg.lu_solve(factors, b.astype(np.float32)).astype(float)

assert grade(refine_solution, in_double, same=near, without=again, tries=40, **cases)
assert not grade(single_residual, in_double, same=near, without=again, tries=40, **cases)
assert not grade(one_correction, in_double, same=near, without=again, tries=40, **cases)
assert not grade(uncorrected, in_double, same=near, without=again, tries=40, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def multipliers_stay(A):  # exchanges what is left of the rows, but not their multipliers
    A, order = A.copy(), np.arange(len(A))
    for k in range(len(A)):
        p = k + abs(A[k:, k]).argmax()
        A[[k, p], k:], order[[k, p]] = A[[p, k], k:], order[[p, k]]
        A[k + 1:, k] /= A[k, k]
        A[k + 1:, k + 1:] -= np.outer(A[k + 1:, k], A[k, k + 1:])
    return A, order

def as_scipy(n, seed, method):
    a = np.random.default_rng(seed).normal(size=(n, n))
    (packed, order), (p, l_known, u_known) = method(a), scipy.linalg.lu(a)
    l, u = np.tril(packed, -1) + np.eye(n), np.triu(packed)
    return (close(l, l_known) and close(u, u_known) and abs(l).max() <= 1
            and bool((p.T @ a == a[order]).all()) and close(l @ u, a[order]))

verify(
    'P A = L U, the same as by scipy',
    lambda n, seed: as_scipy(n, seed, lu_pivot),
    tries=100,
    slip=(
        'leaves the multipliers in their old rows',
        lambda n, seed: as_scipy(n, seed, multipliers_stay),
    ),
    n=[1, 2, 5, 20],
    seed=seeds(),
)
packed, order = lu_pivot(np.array([[1.0, 2, 3], [2, 4, 6], [1, 1, 1]]))
assert packed[2, 2] == 0 and close(solve_pivot(np.array([[0.0, 1], [1, 0]]), np.array([2.0, 3.0])), [3, 2])

# %% tags=["checks"]
def smallest_change(seed, extra):  # E x = r, against another that does it
    rng = np.random.default_rng(seed)
    r, x, *rest = rng.normal(size=(8, 6))
    rest -= np.outer(rest @ x, x) / (x @ x)  # now rest x = 0
    least = np.outer(r, x) / (x @ x)
    E, other = least + extra * rest, least + rest
    fulfil = close(E @ x, r) and close(other @ x, r)
    return fulfil and np.linalg.norm(E, 2) <= np.linalg.norm(other, 2)

verify(
    'r xᵀ / |x|² is the smallest E with E x = r',
    lambda seed: smallest_change(seed, 0),
    slip=(
        'adds twice what leaves x alone',
        lambda seed: smallest_change(seed, 2),
    ),
    seed=seeds(),
)
# the residual is computed with a relative rounding error of some 1e-16 of |A| |x|
verify(
    'relative error at most κ η',
    lambda i: error[i] <= (1 + 1e-9) * kappa[i] * (eta[i] + 1e-15),
    slip=('forgets the condition number', lambda i: error[i] <= 10 * (eta[i] + 1e-15)),
    i=list(range(40)),
)

def bounded(n, steps):  # of Wilkinson's matrix, and of random ones
    a = np.random.default_rng(n).normal(size=(n, n))
    last = abs(np.triu(scipy.linalg.lu(a)[2])).max() / abs(a).max()
    return growth(wilkinson(n)) == 2.0**steps and last <= growth(a) * (1 + 1e-9) <= 2.0**steps * (1 + 1e-9)

verify(
    'growth at most 2ⁿ⁻¹, attained',
    lambda n: bool(bounded(n, n - 1)),
    slip=('doubles once more', lambda n: bool(bounded(n, n))),
    n=integers(2, 50),
    tries=30,
)

# %% [markdown]
# ## Cholesky decomposition of positive definite matrices
#
# Is $4 x_1^2 + 12 x_1 x_2 + 10 x_2^2$ positive for all $x_1, x_2$ that are not both zero? Complete the square:
#
# $$4 x_1^2 + 12 x_1 x_2 + 10 x_2^2 = (2x_1 + 3x_2)^2 + x_2^2 .$$
#
# Yes, because a sum of squares is positive. A symmetric $\mathbf{A}$ with
# $\mathbf{x}^\top\mathbf{A}\mathbf{x} > 0$ for all $\mathbf{x} \ne \mathbf{0}$ is called *positive definite*. Covariance matrices are
# of this kind, if no variable is a combination of the others, and so are the second derivatives at most minima. Completing the
# square is elimination. With
# $\mathbf{A} = \begin{bmatrix} \alpha & \mathbf{c}^\top \\ \mathbf{c} & \mathbf{B} \end{bmatrix}$ and
# $\mathbf{x} = (x_1, \mathbf{z})$,
#
# ```{math}
# :label: lu-square
# \mathbf{x}^\top\mathbf{A}\mathbf{x} = \big( \sqrt{\alpha}\, x_1 + \mathbf{c}^\top\mathbf{z} / \sqrt{\alpha} \big)^2
# + \mathbf{z}^\top \Big( \mathbf{B} - \frac{\mathbf{c}\,\mathbf{c}^\top}{\alpha} \Big) \mathbf{z} .
# ```
#
# The last bracket is what elimination leaves of $\mathbf{B}$. It is called the **Schur complement**.
#
# ```{prf:theorem} Cholesky
# :label: thm-cholesky
# For a symmetric matrix $\mathbf{A}$ these are equivalent: (a) it is positive definite; (b) elimination without exchanges
# finds only positive pivots; (c) $\mathbf{A} = \mathbf{L}\mathbf{L}^\top$ with a lower triangular $\mathbf{L}$ whose
# diagonal is positive; (d) all leading minors are positive. The $\mathbf{L}$ in (c) is unique.
# ```
#
# ```{prf:proof}
# :class: dropdown
# *From (a) to (b).* The first pivot is $\alpha = \mathbf{e}_1^\top\mathbf{A}\mathbf{e}_1 > 0$. For any
# $\mathbf{z} \ne \mathbf{0}$ choose $x_1$ so that the square in {eq}`lu-square` vanishes: the Schur complement is positive
# definite too, and so on. *From (b) to (c).* The coefficients of the first square, $\sqrt{\alpha}$ and
# $\mathbf{c}/\sqrt{\alpha}$, are the first column of $\mathbf{L}$; the rest is the $\mathbf{L}'$ of the Schur complement:
# $\begin{bmatrix} \sqrt{\alpha} & \\ \mathbf{c}/\sqrt{\alpha} & \mathbf{L}' \end{bmatrix} \begin{bmatrix} \sqrt{\alpha} &
# \mathbf{c}^\top/\sqrt{\alpha} \\ & \mathbf{L}'^\top \end{bmatrix} = \mathbf{A}$. *From (c) to (a).*
# $\mathbf{x}^\top\mathbf{L}\mathbf{L}^\top\mathbf{x} = \|\mathbf{L}^\top\mathbf{x}\|^2 > 0$, as $\mathbf{L}$ is invertible.
# *(b) and (d)* say the same, because pivots are quotients of leading minors (proof of {prf:ref}`thm-lu`). *Unique:* $\alpha$
# and $\mathbf{c}$ determine the first column of $\mathbf{L}$, the Schur complement the second, and so on.
# ```
#
# Column $j$ of $\mathbf{A} = \mathbf{L}\mathbf{L}^\top$, solved for column $j$ of $\mathbf{L}$, is the program:

# %%
def cholesky(A):
    L = np.zeros_like(A)
    for j in range(len(A)):
        column = A[j:, j] - L[j:, :j] @ L[j, :j]
        if not column[0] > 0:
            raise np.linalg.LinAlgError(f'pivot {j} is not positive')
        L[j:, j] = column / np.sqrt(column[0])
    return L

# %%
print(cholesky(np.array([[4.0, 6.0], [6.0, 10.0]])))

# %% [markdown]
# The columns are the coefficients of the two squares above. Half of the matrix suffices, so Cholesky needs half the work of LU, about
# $\tfrac13 n^3$ operations. It needs no pivoting, because row $i$ of
# $\mathbf{L}\mathbf{L}^\top = \mathbf{A}$ says $\sum_j l_{ij}^2 = a_{ii}$, and no entry can grow. And it is the usual test for positive
# definiteness. (The factor also makes random vectors: if $\mathbf{z}$ is standard normal, $\mathbf{L}\mathbf{z}$ has the covariance $\mathbf{A}$.)
#
# The test can fail for a matrix that is positive definite on paper. Its smallest eigenvalue may be lost
# when the entries are rounded. The covariances of a smooth function at close points are of that kind. A
# little noise on the diagonal raises all eigenvalues by the same amount and helps:

# %%
def positive_definite(A):
    try:
        cholesky(A)
        return True
    except np.linalg.LinAlgError:
        return False

t = np.linspace(0, 1, 30)
smooth = np.exp(-(t[:, None] - t) ** 2 / (2 * 0.3**2))
print('positive definite in floats:     ', positive_definite(smooth))
print('with 1e-10 added on the diagonal:',
      positive_definite(smooth + 1e-10 * np.eye(30)))

# %% [markdown]
# ### Signs of eigenvalues by elimination
#
# If a symmetric matrix has negative pivots, there is no Cholesky factor. But with the pivots in a diagonal matrix
# $\mathbf{D}$, it is still $\mathbf{A} = \mathbf{L}\mathbf{D}\mathbf{L}^\top$. The pivots are not the eigenvalues, but they have the same signs:
#
# ```{prf:theorem} Law of inertia
# :label: thm-inertia
# $\mathbf{A} = \mathbf{L}\mathbf{D}\mathbf{L}^\top$, invertible, has as many negative eigenvalues as negative pivots.
# ```
#
# ```{prf:proof}
# :class: dropdown
# $\mathbf{x}^\top\mathbf{A}\mathbf{x} = \sum_k d_k y_k^2$ with $\mathbf{y} = \mathbf{L}^\top\mathbf{x}$. This is negative
# on the space, without $\mathbf{0}$, where $y_k = 0$ for all $d_k > 0$; its dimension is the number $p$ of negative pivots.
# Let $m$ be the number of negative eigenvalues. On the span of the eigenvectors with positive ones, of dimension $n - m$, it
# is positive. The two spaces have only $\mathbf{0}$ in common, so $p + (n - m) \le n$, that is, $p \le m$: there are at
# least as many negative eigenvalues as negative pivots. The same argument for $-\mathbf{A}$ says it of the positive ones,
# and both add up to $n$.
# ```

# %%
A = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 3.0], [0.0, 3.0, -1.0]])
print('pivots:     ', np.sort(lu(A)[1].diagonal()))
print('eigenvalues:', np.linalg.eigvalsh(A).round(3))

# %% [markdown]
# ```{exercise} ★★ Pencil: half the work, exactly
# :label: lu-half
# How many additions, subtractions, multiplications, divisions and roots does `cholesky` take for an $n \times n$ matrix? A dot product of length $j$ counts
# $j$ multiplications and $j - 1$ additions for $j \ge 1$, and subtracting it is one operation more. The root is computed once for each column, and all
# entries of the column are divided by it. Write `cholesky_operations(n)` without a loop.
# ```

# %%
def cholesky_operations(n):
    """The number of operations, an int, for an int n >= 1.

    cholesky_operations(1) is 2: a root and a division.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def entry_after_entry(n):
    count = 0
    for j in range(n):
        count += (n - j) * 2 * j  # j products, j - 1 sums and a difference, if j > 0
        count += 1 + (n - j)  # a root, and quotients
    return count

cases = dict(n=on(1, 2, 3, 100) | integers(1, 60))
grade(cholesky_operations, entry_after_entry, lines=20, **cases)

# %% [markdown]
# ```{solution-start} lu-half
# :class: dropdown
# ```
# Column $j = 0, \dots, n - 1$ has $n - j$ entries, each with $2j$ operations before the division, so there are
# $\sum_j 2j(n - j) = (n^3 - n)/3$. Add $n(n+1)/2$ divisions and $n$ roots. Of the wrong answers, the first keeps only the leading term, the second forgets
# the roots, and the third counts all rows for each column.

# %% jupyter={"source_hidden": true}
def cholesky_operations_solution(n):
    return (n**3 - n) // 3 + n * (n + 1) // 2 + n

def leading_term(n):
    return n**3 // 3

def without_roots(n):
    return (n**3 - n) // 3 + n * (n + 1) // 2

def all_rows(n):
    return n**2 * (n - 1) + n**2 + n

assert grade(cholesky_operations_solution, entry_after_entry, lines=20, **cases)
assert not grade(leading_term, entry_after_entry, lines=20, **cases)
assert not grade(without_roots, entry_after_entry, lines=20, **cases)
assert not grade(all_rows, entry_after_entry, lines=20, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def shifted(seed):  # symmetric, with a positive diagonal; definite or not
    b = np.random.default_rng(seed).normal(size=(4, 4))
    return b + b.T + np.diag(2 + 2 * abs(b.diagonal()))

def tells(seed, verdict):
    a = shifted(seed)
    definite = bool((np.linalg.eigvalsh(a) > 0).all())
    if definite:
        assert close(cholesky(a), scipy.linalg.cholesky(a, lower=True))
    return verdict(a) == definite

verify(
    'Cholesky succeeds exactly if all eigenvalues are positive',
    lambda seed: tells(seed, positive_definite),
    slip=(
        'looks only at the diagonal',
        lambda seed: tells(seed, lambda a: (a.diagonal() > 0).all()),
    ),
    seed=seeds(),
)

def inertia(seed, compare):
    b = np.random.default_rng(seed).normal(size=(6, 6))
    l, u = lu(b + b.T)
    pivots = u.diagonal()
    # rounding of 1e-16, times the growth of entries without row exchanges
    recovered = close(l * pivots @ l.T, b + b.T, atol=1e-10, rtol=0)
    return recovered and compare(np.sort(pivots), np.linalg.eigvalsh(b + b.T))

verify(
    'A = L D Lᵀ, with as many negative pivots as negative eigenvalues',
    lambda seed: inertia(
        seed, lambda d, lam: (d < 0).sum() == (lam < 0).sum()
    ),
    slip=(
        'takes the pivots for the eigenvalues',
        lambda seed: inertia(seed, close),
    ),
    seed=seeds(),
)

def cholesky_counted(n):  # the loop of the program, with numbers that count
    b = np.random.default_rng(n).normal(size=(n, n))
    return operations(cholesky, b @ b.T + np.eye(n))[0]

def squares_agree(x):
    both = (2 * x[0] + 3 * x[1]) ** 2 + x[1] ** 2
    return close(x @ np.array([[4.0, 6.0], [6.0, 10.0]]) @ x, both)

assert all(squares_agree(x) for x in np.random.default_rng(0).normal(size=(20, 2)))
assert not positive_definite(smooth) and positive_definite(smooth + 1e-10 * np.eye(30))
assert np.linalg.eigvalsh(smooth).min() < 1e-14

# %% [markdown]
# ## Where it matters: ten names for 1797 digits
#
# Somebody has named ten handwritten digits, one of
# each kind. Can the names spread to the other $1797 - 10 = 1787$? We join each picture to the eight most similar ones. Let $w_{ij} = 1$ if one of the pictures $i$ and $j$
# chose the other, and 0 otherwise. We look for a function $f$ on the pictures that is near 1 at
# the example of, say, the digit 3, near 0 at the other examples, and changes little along the edges. Let $y_i = 1$ at
# that example, and 0 at all other pictures, and
#
# $$\text{minimize}\quad \lambda \sum_i (f_i - y_i)^2 + \tfrac12 \sum_{i,j} w_{ij} (f_i - f_j)^2
# = \lambda \|\mathbf{f} - \mathbf{y}\|^2 + \mathbf{f}^\top(\mathbf{D} - \mathbf{W})\,\mathbf{f} ,$$
#
# where the number of edges at each picture, $d_i = \sum_j w_{ij}$, stands on the diagonal of $\mathbf{D}$. At the minimum $\mathbf{g}$ the gradient is zero.
# With $\mathbf{M} = \lambda\mathbf{I} + \mathbf{D} - \mathbf{W}$, this means
#
# ```{math}
# :label: lu-spread
# \mathbf{M}\,\mathbf{g} = \lambda\,\mathbf{y} .
# ```
#
# $\mathbf{M}$ is positive definite, because the sum is positive for $\mathbf{y} = \mathbf{0}$ and $\mathbf{f} \ne \mathbf{0}$. The
# examples appear only in the right side. Ten digits give ten right sides, and fifty choices of the examples
# give five hundred, all with one Cholesky factor {cite}`zhou2004learning`. The largest of the ten $g_i$ gives the name.

# %%
x, y, _ = digits()
square = (x**2).sum(axis=1)
distance = square[:, None] + square - 2 * x @ x.T + 1e9 * np.eye(1797)
nearest = distance.argsort(axis=1, kind='stable')[:, :8]  # (1797, 8)
W = np.zeros((1797, 1797))
np.put_along_axis(W, nearest, 1, axis=1)
W = np.maximum(W, W.T)
M = np.diag(0.1 + W.sum(axis=1)) - W

# %%
rng = np.random.default_rng(20)
shown = np.array([[rng.choice(np.flatnonzero(y == k)) for k in range(10)]
                  for _ in range(50)])  # (50, 10)
Y = np.zeros((1797, 50, 10))
Y[shown, np.arange(50)[:, None], range(10)] = 1
factor = scipy.linalg.cho_factor(M)  # once
g = scipy.linalg.cho_solve(factor, Y.reshape(1797, 500))
names = g.reshape(1797, 50, 10).argmax(axis=2)  # (1797, 50)

# %% [markdown]
# There are two references: the name of the most similar of the ten examples, and one that
# always gives the most frequent digit. We count only the digits whose names were hidden.

# %%
def share_right(names):  # (1797, 50) -> (50,)
    hidden = np.ones((1797, 50), dtype=bool)
    hidden[shown, np.arange(50)[:, None]] = False
    return ((names == y[:, None]) & hidden).sum(axis=0) / 1787

similar = distance[:, shown].argmin(axis=2)
spread, direct = share_right(names), share_right(similar)
print(f'spread along edges  {spread.mean():.3f} ± {spread.std():.3f}')
print(f'most similar        {direct.mean():.3f} ± {direct.std():.3f}')
print(f'always the same     {np.bincount(y).max() / 1797:.3f}')
print(f'least advantage of spreading: {(spread - direct).min():.3f}')

# %% mystnb={"image": {"alt": "Left: for fifty choices of the examples, the share of digits named rightly by spreading against the share by similarity; all fifty points lie above the diagonal. Right: three chains of six digits each, a one, a four and a five, that change slowly from the example on the left to a quite different handwriting on the right."}} tags=["hide-input"]
wrong = (similar[:, 0] != y) & (names[:, 0] == y)
steps, previous = scipy.sparse.csgraph.shortest_path(  # (10, 1797)
    W, unweighted=True, indices=shown[0], return_predecessors=True)
chains = []
for digit in (1, 4, 5):
    chain = [np.flatnonzero(wrong & (y == digit) & (steps[digit] == 5))[0]]
    while chain[-1] != shown[0, digit]:
        chain.append(previous[digit, chain[-1]])
    chains.append(chain[::-1])
fig = plt.figure(figsize=(6, 2.6))
left, right = fig.subfigures(1, 2, width_ratios=[1, 1.45])
for part in (fig, left, right):
    part.patch.set_alpha(0)
ax = left.subplots()
ax.plot(direct, spread, 'o', ms=3.5)
ax.plot([0.4, 1], [0.4, 1], '--', color=GREY, lw=1)
ax.set(aspect='equal', xlim=(0.45, 1), ylim=(0.45, 1))
ax.set(xlabel='right by similarity', ylabel='right by spreading')
axes = right.subplots(3, 6)
for row, chain in zip(axes, chains, strict=True):
    for ax, k in zip(row, chain, strict=True):
        show_image(ax, x[k].reshape(8, 8))
axes[0, 0].set_title('example')
axes[0, 5].set_title('end');

# %% [markdown] tags=["caption"]
# Left: names that spread along edges are right more often than direct similarity, for all fifty choices of the ten examples. Right: small steps
# lead from an example to a very different handwriting.

# %% [markdown]
# The right side of the figure shows digits that look more like the example of another digit, and yet got the right name. A chain of small steps
# leads to each of them from its own example. By {eq}`lu-cost`, halved for Cholesky, the factor took $1797^3/3 \approx 2 \cdot 10^9$ operations, and the
# 500 right sides together $500 \cdot 2 \cdot 1797^2 \approx 3 \cdot 10^9$. Fifty factorizations would have taken $50 \cdot 2 \cdot 10^9 = 10^{11}$.

# %% tags=["checks"]
def spread_by_gradient(seed, scale):  # on 30 pictures: the function, and its gradient at the solution
    rows = np.random.default_rng(seed).choice(1797, 30, replace=False)
    w, target = W[np.ix_(rows, rows)], np.eye(30)[0]
    m = np.diag(0.1 + w.sum(axis=1)) - w
    f = np.linalg.solve(m, scale * target)
    slopes = 0.2 * (f - target) + 2 * (w * (f[:, None] - f)).sum(axis=1)
    return close(slopes, np.zeros(30))

verify('the minimum solves M g = λ y', lambda seed: spread_by_gradient(seed, 0.1),
       slip=('forgets the factor λ', lambda seed: spread_by_gradient(seed, 1.0)), seed=seeds(), tries=30)
assert (spread - direct > 0.05).all() and spread.mean() > 0.85 > direct.mean() and close(M @ g[:, :3], Y[:, 0, :3])
assert np.linalg.eigvalsh(M)[0] > 0.09

# %% [markdown]
# ## Summary
#
# Elimination with its multipliers kept is the factorization $\mathbf{L}\mathbf{U}$. It exists if no leading minor
# vanishes and, after an exchange of rows, always; it costs $\tfrac23 n^3$ operations once and $2n^2$ for each right side.
# The computed answer solves a nearby system exactly, and the condition number says what that is worth for the solution; pivoting keeps the numbers from growing, in practice though
# not in the worst case. If the matrix
# is positive definite, Cholesky needs half the work and no pivots, and it is also the test of definiteness.
#
# **Further reading.** {cite}`golub2013matrix` is the reference for the algorithms and {cite}`higham2002accuracy` for their
# errors; {cite}`trefethen1997numerical` explains stability in short lectures, and {cite}`trefethen1990average` studies the growth factor of random matrices.
