# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # LU decomposition
#
# - **Question.** How does a computer solve a thousand equations in a thousand unknowns, and how far can the answer be trusted?
# - **You need** elimination and the norms of matrices ([Norms](../linear_algebra/norms.ipynb)), and
#   [Determinants](../linear_algebra/determinants.ipynb).
# - **You build** LU with and without pivoting and in blocks, Cholesky, a measurement of their errors, and a program that names 1797
#   digits after seeing ten.
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
from fractions import Fraction
from functools import reduce

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
import scipy.sparse.csgraph
import sympy as sp
from matplotlib.colors import to_rgb

from nbutils.cases import integers, seeds
from nbutils.checks import below, between, close, grade, verify
from nbutils.data import digits
from nbutils.figures import GREY, label_lines, panels, show_image
from nbutils.timing import seconds

plt.style.use('nbutils.book')

# %% [markdown]
# Some results on this page are times. The clock, `seconds`, counts the processor's time, which other programs disturb least,
# and takes the best of several rounds.

# %% [markdown]
# ## Matrix decompositions: what they are for
#
# Three kinds of matrices are easy. A *diagonal* one acts on each coordinate by itself. A *triangular* system is solved one
# unknown after the other. An *orthogonal* one is inverted by transposing it. A decomposition writes a matrix that is not
# easy as a product of easy ones. It is paid for once, and then every question about the matrix, a solution, a determinant, a
# power, is a series of easy questions. These are the ones that matter, for an $n \times n$ matrix $\mathbf{A}$, and a
# symmetric one $\mathbf{S}$:
#
# | form | for | costs about | unique | made for |
# |---|---|---|---|---|
# | $\mathbf{P}\mathbf{A} = \mathbf{L}\mathbf{U}$ | all $\mathbf{A}$ | $\tfrac23 n^3$ | given $\mathbf{P}$, if $\mathbf{A}$ is invertible | equations, determinants |
# | $\mathbf{S} = \mathbf{L}\mathbf{L}^\top$ (Cholesky) | positive definite | $\tfrac13 n^3$ | yes, with $l_{ii} > 0$ | the same; normal distributions |
# | $\mathbf{S} = \mathbf{L}\mathbf{D}\mathbf{L}^\top$ | symmetric, nonzero leading minors | $\tfrac13 n^3$ | yes | signs of eigenvalues |
# | $\mathbf{A} = \mathbf{Q}\mathbf{R}$ | all, also $m \ge n$ rows | $\tfrac43 n^3$ | if invertible, with $r_{ii} > 0$ | least squares |
# | $\mathbf{S} = \mathbf{Q}\boldsymbol\Lambda\mathbf{Q}^\top$ | symmetric | $9 n^3$ | up to choices of eigenvectors | powers, quadratic forms |
# | $\mathbf{A} = \mathbf{Z}\mathbf{T}\mathbf{Z}^\top$ (Schur) | all | $25 n^3$ | no | eigenvalues |
# | $\mathbf{A} = \mathbf{U}\boldsymbol\Sigma\mathbf{V}^\top$ | all, all shapes | $20 n^3$ | $\boldsymbol\Sigma$ is | rank, distances, approximation |
# | $\mathbf{A} = \mathbf{U}\mathbf{H}$ (polar) | all | by $\mathbf{U}\boldsymbol\Sigma\mathbf{V}^\top$ | if invertible | the nearest orthogonal matrix |
#
# (Costs are additions and multiplications together, from {cite}`golub2013matrix`. The orthogonal factors are included, but
# for $\mathbf{Q}\mathbf{R}$, which can mostly do without.) The first three are the subject of this section. The others have
# their own: [QR](../linear_algebra/qr_decomposition.ipynb), [eigenvalues](../linear_algebra/eigendecomposition.ipynb) and
# [singular values](../linear_algebra/singular_value_decomposition.ipynb). In all of them the product gives the matrix back,
# and each factor has the promised form. The library has a function for each:

# %%
rng = np.random.default_rng(0)
A = rng.normal(size=(8, 8))
S = A @ A.T / 8 + 0.2 * np.eye(8)
p, l, u = scipy.linalg.lu(A)
c, (m, d, _) = np.linalg.cholesky(S), scipy.linalg.ldl(S)
(q, r), (t, z) = np.linalg.qr(A), scipy.linalg.schur(A)
(lam, v), (w, sigma, y) = np.linalg.eigh(S), np.linalg.svd(A)
h, k = scipy.linalg.polar(A)
forms = {
    'A = PᵀLU': (A, 'orthogonal lower upper', p, l, u),
    'S = LLᵀ': (S, 'lower upper', c, c.T),
    'S = LDLᵀ': (S, 'lower diagonal upper', m, d, m.T),
    'A = QR': (A, 'orthogonal upper', q, r),
    'S = QΛQᵀ': (S, 'orthogonal diagonal orthogonal', v, np.diag(lam), v.T),
    'A = ZTZᵀ': (A, 'orthogonal almost-upper orthogonal', z, t, z.T),
    'A = UΣVᵀ': (A, 'orthogonal diagonal orthogonal', w, np.diag(sigma), y),
    'A = UH': (A, 'orthogonal symmetric', h, k),
}

# %%
for name, (a, _, *factors) in forms.items():
    error = np.linalg.norm(a - reduce(np.matmul, factors))
    print(f'{name:9} relative error', below(error / np.linalg.norm(a), 1e-13))
assert close(h, w @ y) and close(k, y.T * sigma @ y)  # polar by way of SVD

# %% mystnb={"image": {"alt": "The factors of eight decompositions of 8 by 8 matrices as small squares. Triangular factors fill half of their square, diagonal ones a line, orthogonal and symmetric ones the whole; the permutation has one dot a row; the Schur factor is triangular but for single dots below the diagonal."}} tags=["hide-input"]
fig, axes = panels(7, 4, height=1.0, layout='none',
                   width_ratios=[1, 1, 1, 0.3, 1, 1, 1])
fig.subplots_adjust(0, 0, 1, 0.95, wspace=0.08, hspace=0.4)
for ax in axes.flat:
    ax.axis('off')
for place, (name, (_, _, *factors)) in enumerate(forms.items()):
    row, column = place // 2, 4 * (place % 2)
    for k, m in enumerate(factors):
        ax = axes[row, column + k]
        shade = np.sqrt(abs(m) / abs(m).max()) * (abs(m) > 1e-12)
        colour = np.broadcast_to(to_rgb('C0'), (8, 8, 3))
        ax.imshow(np.dstack([colour, shade]))
        ax.add_patch(plt.Rectangle((-0.5, -0.5), 8, 8, fill=False,
                                   ec=GREY, lw=0.8, clip_on=False))
    axes[row, column].set_title(name);

# %% [markdown] tags=["caption"]
# Nearly every factor of these eight decompositions of $8 \times 8$ matrices is easy to solve with: triangular, diagonal or
# orthogonal.

# %% [markdown]
# Our clock sees the differences too. So one takes the cheapest decomposition that answers the question.

# %%
A = np.random.default_rng(1).normal(size=(300, 300))
lu_time, svd_time, eig_time = seconds(
    lambda: scipy.linalg.lu_factor(A), lambda: np.linalg.svd(A),
    lambda: np.linalg.eig(A), rounds=3)
print('singular values cost more than 4 times LU:', svd_time > 4 * lu_time)
print('eigenvalues cost more than 10 times LU:', eig_time > 10 * lu_time)
assert svd_time > 4 * lu_time and eig_time > 10 * lu_time

# %% tags=["checks"]
kinds = {
    'lower': lambda m: close(m, np.tril(m)),
    'upper': lambda m: close(m, np.triu(m)),
    'almost-upper': lambda m: close(m, np.triu(m, -1)),
    'diagonal': lambda m: close(m, np.diag(m.diagonal())),
    'orthogonal': lambda m: close(m.T @ m, np.eye(len(m))),
    'symmetric': lambda m: close(m, m.T),
}

def sound(a, factors):  # factors: pairs of a kind and a matrix
    product = reduce(np.matmul, [m for _, m in factors])
    near = np.linalg.norm(a - product) < 1e-12 * np.linalg.norm(a)
    return near and all(kinds[kind](m) for kind, m in factors)

def all_damage_found(a, factors, size=1e-6):
    for k, (kind, m) in enumerate(factors):
        for i in np.ndindex(m.shape):
            spoilt = m.copy()
            copies = factors[:k] + [(kind, spoilt)] + factors[k + 1:]
            whole = sound(a, copies)
            spoilt[i] += size
            if not whole or sound(a, copies):
                return False
    return True

def pairs(name, turn=np.asarray):  # turn: applied to the last factor
    a, words, *factors = forms[name]
    factors[-1] = turn(factors[-1])
    return a, list(zip(words.split(), factors, strict=True))

verify(
    'eight decompositions are sound, and every spoilt entry is found',
    lambda name: sound(*pairs(name)) and all_damage_found(*pairs(name)),
    slip=(
        'transposes the last factor',
        lambda name: sound(*pairs(name, np.transpose)),
    ),
    name=list(forms),
)

# %% [markdown]
# ## LU decomposition by elimination
#
# Eliminate by hand: subtract row 1 twice from row 2 and $-1$ times from row 3, then row 2 twice from row 3. And keep the
# multipliers instead of throwing them away:
#
# $$\begin{bmatrix} 2 & 1 & 1 \\ 4 & 5 & 3 \\ -2 & 5 & 6 \end{bmatrix}
# \to
# \begin{bmatrix} 2 & 1 & 1 \\ 0 & 3 & 1 \\ 0 & 6 & 7 \end{bmatrix}
# \to
# \begin{bmatrix} 2 & 1 & 1 \\ 0 & 3 & 1 \\ 0 & 0 & 5 \end{bmatrix} = \mathbf{U},
# \quad \mathbf{L} = \begin{bmatrix} 1 & & \\ 2 & 1 & \\ -1 & 2 & 1 \end{bmatrix}$$
#
# Row $i$ ends as row $\mathbf{u}_i$ of $\mathbf{U}$, after $l_{ik}$ times the finished row $\mathbf{u}_k$ was subtracted for
# each $k < i$. Turn this round, and row $i$ of $\mathbf{A}$ is $\mathbf{u}_i + \sum_{k<i} l_{ik} \mathbf{u}_k$. That is the
# whole theory: with ones on the diagonal of $\mathbf{L}$,
#
# ```{math}
# :label: lu-product
# \mathbf{A} = \mathbf{L}\mathbf{U} .
# ```
#
# It works as long as no *pivot* $u_{kk}$, by which we divide, is zero. When is that?
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
# The loop over $k$ remains; the two loops over rows and columns become one outer product. The same code runs on floats and
# on exact fractions.

# %%
def lu(a):  # a (n, n) -> L, U
    l, u = np.eye(len(a), dtype=a.dtype), a.copy()
    for k in range(len(a) - 1):
        l[k + 1:, k] = u[k + 1:, k] / u[k, k]
        u[k + 1:, k + 1:] -= np.outer(l[k + 1:, k], u[k, k + 1:])
    return l, np.triu(u)
print(*lu(np.array([[2., 1, 1], [4, 5, 3], [-2, 5, 6]])), sep='\n')

# %% [markdown]
# Invertible is not enough. The simplest exchange has the leading minor 0, and no triangular factors:

# %%
try:
    lu(np.array([[0, 1], [1, 0]]) * Fraction(1))
except ZeroDivisionError:
    print('[[0, 1], [1, 0]]: division by zero')

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
# Each step of elimination finishes one row of $\mathbf{U}$ and one column of $\mathbf{L}$, and the multipliers fit exactly
# where zeros would stand.

# %% [markdown]
# **Solving.** With $\mathbf{A} = \mathbf{L}\mathbf{U}$ the system $\mathbf{A}\mathbf{x} = \mathbf{b}$ is
# $\mathbf{L}\mathbf{y} = \mathbf{b}$ and then $\mathbf{U}\mathbf{x} = \mathbf{y}$. In the first, row 1 contains only $y_1$.
# As soon as an unknown is found, its column is moved to the right side, and the next row contains only one unknown. In the
# second it goes from below. If `b` has several columns, all are solved together.

# %%
def forward(l, b):  # l (n, n), b (n,) or (n, m)
    y = b.copy()
    for j in range(len(l)):
        y[j] = y[j] / l[j, j]
        y[j + 1:] -= np.multiply.outer(l[j + 1:, j], y[j])
    return y

def back(u, y):
    x = y.copy()
    for j in reversed(range(len(u))):
        x[j] = x[j] / u[j, j]
        x[:j] -= np.multiply.outer(u[:j, j], x[j])
    return x

def solve(a, b):
    l, u = lu(a)
    return back(u, forward(l, b))

# %% [markdown]
# **Cost.** With $m = n - k$ rows below pivot $k$ there are $m$ quotients, and $m^2$ products with as many differences.
# Forward substitution takes $n(n-1)/2$ products and as many differences, backward substitution the same and $n$
# quotients. Since $\sum_{m<n} m^2 = (n-1)n(2n-1)/6$ and $\sum_{m<n} m = n(n-1)/2$, the factors, and then each right
# side, cost
#
# ```{math}
# :label: lu-cost
# \begin{gathered}
# \sum_{m=1}^{n-1} (2m^2 + m) = \frac{4n^3 - 3n^2 - n}{6} \approx \tfrac23 n^3, \\
# 4\,\frac{n(n-1)}{2} + n = 2n^2 - n \approx 2 n^2
# \end{gathered}
# ```
#
# operations. To count them, we compute with numbers that count what is done to them.

# %%
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

# %%
def costs(n):  # to factor, and for each right side
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(n, n)) + n * np.eye(n), rng.normal(size=n)
    factor, (l, u) = operations(lu, a)
    each, x = operations(lambda b: back(u, forward(l, b)), b)
    assert close(x.astype(float), np.linalg.solve(a, b))
    return factor, each
factor, each = costs(40)
print(f'n = 40: {factor} operations to factor, {each} for each right side')

# %% [markdown]
# So the factorization is the price, and right sides are cheap. A solver that is asked the same $\mathbf{A}$ again and again,
# in every step of a simulation, for every user, for every class, should factor once. Measured with the library, for twenty
# right sides that come one after the other:

# %%
rng = np.random.default_rng(6)
A, B = rng.normal(size=(500, 500)), rng.normal(size=(20, 500))

def factor_once():
    factors = scipy.linalg.lu_factor(A)
    return [scipy.linalg.lu_solve(factors, b) for b in B]

def start_afresh():
    return [np.linalg.solve(A, b) for b in B]

assert close(factor_once(), start_afresh())
once, afresh = seconds(factor_once, start_afresh, rounds=3)
print('factoring once is more than 4 times faster:', afresh > 4 * once)
assert afresh > 4 * once

# %% [markdown]
# The inverse is the solution for the $n$ right sides $\mathbf{e}_1, \dots, \mathbf{e}_n$, altogether $\tfrac23 n^3 + 2n^3$
# operations, or $2n^3$ if one skips the zeros. Since $\mathbf{A}^{-1}\mathbf{b}$ then costs another $2n^2$, as much as two
# triangles, nothing has been gained. Formulas have inverses, programs have factorizations.
#
# ```{exercise} ★ Neighbours only
# :label: lu-tridiagonal
# In splines, diffusion and time series each unknown meets only its two neighbours: $\mathbf{A}$ has a diagonal $\mathbf{d}$,
# entries $\mathbf{e}$ below and $\mathbf{f}$ above it, and zeros elsewhere. Write `tridiagonal(e, d, f, b)`, which solves
# such a system in about $8n$ operations.
# ```

# %%
def tridiagonal(e, d, f, b):  # e (n-1,), d (n,), f (n-1,), b (n,)
    raise NotImplementedError('your turn')

# %%
def by_full_matrix(e, d, f, b):
    a = np.diag(e, -1) + np.diag(d) + np.diag(f, 1)
    return np.linalg.solve(a, b)

rng = np.random.default_rng(7)
cases = [(*rng.normal(size=(2, n)), rng.normal(size=n)) for n in (1, 4, 60)]
cases = [(e[1:], 4 + b, e[:-1] / 2, b) for e, d, b in cases]
grade(tridiagonal, by_full_matrix, cases)

# %% [markdown]
# ```{solution-start} lu-tridiagonal
# :class: dropdown
# ```
# Elimination meets one multiplier per step, $l_k = e_k / u_k$, and changes only the next diagonal entry,
# $u_{k+1} = d_{k+1} - l_k f_k$. So $\mathbf{L}$ and $\mathbf{U}$ have two diagonals each. The wrong answer divides by the
# original diagonal instead of the pivots.

# %% jupyter={"source_hidden": true}
def tridiagonal_solution(e, d, f, b, keep=False):
    u, x = d.copy(), b.copy()
    for k in range(len(d) - 1):
        factor = e[k] / (d[k] if keep else u[k])
        u[k + 1] -= factor * f[k]
        x[k + 1] -= factor * x[k]
    x[-1] /= u[-1]
    for k in reversed(range(len(d) - 1)):
        x[k] = (x[k] - f[k] * x[k + 1]) / u[k]
    return x

def original_diagonal(*case):
    return tridiagonal_solution(*case, keep=True)

assert grade(tridiagonal_solution, by_full_matrix, cases)
assert not grade(original_diagonal, by_full_matrix, cases)

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

def wrong_order(a, b):
    l, u = lu(a)
    return forward(l, back(u, b))

def solves(seed, columns, solver):  # columns: () or (m,)
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(20, 20)) + 10 * np.eye(20)
    b = rng.normal(size=(20, *columns))
    return close(solver(a, b), np.linalg.solve(a, b))

verify(
    'first forward, then back, for one right side or several',
    lambda seed, columns: solves(seed, columns, solve),
    slip=(
        'goes backward first, then forward',
        lambda seed, columns: solves(seed, columns, wrong_order),
    ),
    seed=seeds(),
    columns=[(), (7,)],
    tries=50,
)
verify(
    'the operations, counted',
    lambda n: costs(n) == ((4 * n**3 - 3 * n**2 - n) // 6, 2 * n**2 - n),
    slip=(
        'keeps only the leading terms',
        lambda n: costs(n) == (2 * n**3 // 3, 2 * n**2),
    ),
    n=[2, 5, 20, 40],
)

# %% [markdown]
# ## Partial pivoting: the choice of the pivot
#
# This section continues [LU decomposition by elimination](#lu-decomposition-by-elimination). A pivot that is zero
# stops elimination. One that is nearly zero is worse: it goes on. Solve
#
# $$\begin{bmatrix} \varepsilon & 1 \\ 1 & 1 \end{bmatrix} \begin{bmatrix} x_1 \\ x_2 \end{bmatrix} = \begin{bmatrix} 1 \\ 2 \end{bmatrix},
# \qquad \varepsilon = 10^{-20},$$
#
# whose solution is $x_1 = 1/(1 - \varepsilon)$, $x_2 = 1 - \varepsilon x_1$, both 1 to twenty digits:

# %%
A, b = np.array([[1e-20, 1], [1, 1]]), np.array([1., 2.])
print('as it stands:  ', solve(A, b))
print('rows exchanged:', solve(A[::-1], b[::-1]))
l, u = lu(A)
print('L U, lower right:', (l @ u)[1, 1])
other = lu(A + [[0, 0], [0, 4]])
print('same L and U with 5 in that corner:', np.array_equal((l, u), other))

# %% [markdown]
# The problem is harmless, a tiny change of its data changes the solution little. It is the *method* that has spoilt it.
# The multiplier is $1/10^{-20} = 10^{20}$, and $u_{22} = 1 - 10^{20}$ is rounded to $-10^{20}$: the 1 that stood in the
# lower right corner is gone. As the last two lines show, the product of the factors has 0 there, and with 5 in its
# place the factors would have been the same. Exchange the rows, and the multiplier is $10^{-20}$. So what must be
# avoided is large multipliers, which blow up rows and drown others in them. *Partial pivoting* brings the largest entry
# of the column to the diagonal, before each step. Then all $|l_{ij}| \le 1$.
#
# ```{prf:theorem} LU with exchanges
# :label: thm-palu
# For every square matrix there is an order of its rows, $\mathbf{P}\mathbf{A}$ with a permutation matrix $\mathbf{P}$, such
# that $\mathbf{P}\mathbf{A} = \mathbf{L}\mathbf{U}$ with all $|l_{ij}| \le 1$.
# ```
#
# ```{prf:proof}
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
# The last line says what a program has to do with the multipliers that it has found already: $\mathbf{P}'\mathbf{m}$, they
# are exchanged along with their rows. If they are stored below the diagonal, in the place of the zeros, whole rows are
# exchanged and it happens by itself. (With `along=False` the function below makes the mistake of leaving the multipliers
# where they are.)

# %%
def lu_pivot(a, along=True):  # -> L and U in one matrix, order of rows
    a, order = a.copy(), np.arange(len(a))
    for k in range(len(a)):
        p, first = k + abs(a[k:, k]).argmax(), 0 if along else k
        a[[k, p], first:] = a[[p, k], first:]
        order[[k, p]] = order[[p, k]]
        if a[k, k] != 0:
            a[k + 1:, k] /= a[k, k]
            a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])
    return a, order

def unpack(packed):
    unit = np.eye(len(packed), dtype=packed.dtype)
    return np.tril(packed, -1) + unit, np.triu(packed)

def solve_pivot(a, b):
    packed, order = lu_pivot(a)
    l, u = unpack(packed)
    return back(u, forward(l, b[order]))

# %%
singular = np.array([[1., 2, 3], [2, 4, 6], [1, 1, 1]])
l, u = unpack(lu_pivot(singular)[0])
print('a singular matrix has a zero pivot:', u[-1, -1] == 0)

# %% [markdown]
# Now many matrices, and a pivot of every size. We take twenty random $20 \times 20$ matrices whose entries are multiples of
# $1/64$, replace the first entry by a power of two, $\varepsilon$, and choose $\mathbf{x}$ of plus and minus ones. Then
# $\mathbf{b} = \mathbf{A}\mathbf{x}$ is computed without rounding, and we know the true solution.

# %%
sizes = 0.5 ** np.arange(0, 46, 3)
errors = np.empty((2, 16, 20))  # method, pivot, matrix
rng = np.random.default_rng(22)
for j in range(20):
    a = np.round(64 * rng.normal(size=(20, 20))) / 64
    x = rng.choice([-1.0, 1.0], 20)
    for i, epsilon in enumerate(sizes):
        a[0, 0] = epsilon
        for k, method in enumerate((solve, solve_pivot)):
            errors[k, i, j] = np.linalg.norm(method(a, a @ x) - x) / 20 ** 0.5
lost = np.log10(np.median(errors, axis=2))  # (2, 16)
slope = -np.polyfit(np.log10(sizes[4:]), lost[0, 4:], 1)[0]
print(f'digits lost per digit of smallness: {slope:.2f}')
print(f'digits left at the smallest pivot: {-lost[0, -1]:.1f} without '
      f'pivoting, {-lost[1, -1]:.1f} with it')
assert (lost[1] < -12).all() and 0.8 < slope < 1.2

# %% mystnb={"image": {"alt": "Relative error of the solution against the size of the pivot, both logarithmic. Without pivoting the error rises in proportion to one over the pivot, until 1.8 digits are left. With pivoting about 14.6 are left throughout."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.8))
for k, label in enumerate(('without pivoting', 'with pivoting')):
    low, middle, high = np.quantile(errors[k], [0.1, 0.5, 0.9], axis=1)
    ax.fill_between(sizes, low, high, color=f'C{k}', alpha=0.2, lw=0)
    ax.loglog(sizes, middle, 'o-', color=f'C{k}', label=label)
ax.invert_xaxis()
ax.set(xlabel='first pivot ε', ylabel='relative error', ylim=(1e-17, 10))
label_lines(ax);

# %% [markdown] tags=["caption"]
# Without pivoting, each digit by which the first pivot gets smaller costs one digit of the solution; with partial pivoting
# it costs none ($n = 20$).

# %% [markdown]
# **Blocks.** The loop above does the minimum of arithmetic, but each step reads and writes the whole remaining square for
# one product per entry, and memory is slow. Group the columns in panels of 32. Inside a panel an entry is corrected only
# when its turn comes, by all earlier steps of the panel at once; the square to the right waits, and gets all 32 corrections
# as *one product of matrices*, the operation that computers do best ([Matrix
# multiplication](../linear_algebra/matrix_multiplication.ipynb)). The same numbers, in another order:

# %%
def lu_blocked(a, width=32):
    a, order = a.copy(), np.arange(len(a))
    for k in range(0, len(a), width):
        e = min(k + width, len(a))
        for j in range(k, e):
            a[j:, j] -= a[j:, k:j] @ a[k:j, j]
            p = j + abs(a[j:, j]).argmax()
            if p != j:
                a[[j, p]], order[[j, p]] = a[[p, j]], order[[p, j]]
            if a[j, j] != 0:
                a[j + 1:, j] /= a[j, j]
            a[j, j + 1:] -= a[j, k:j] @ a[k:j, j + 1:]
        a[e:, e:] -= a[e:, k:e] @ a[k:e, e:]
    return a, order

def lu_loops(a):  # a list of lists; no exchanges
    a, n = [list(row) for row in a], len(a)
    for k in range(n):
        for i in range(k + 1, n):
            a[i][k] /= a[k][k]
            for j in range(k + 1, n):
                a[i][j] -= a[i][k] * a[k][j]
    return a

# %%
A = np.random.default_rng(9).normal(size=(512, 512))
small = A[:100, :100] + 20 * np.eye(100)
assert close(lu_loops(small.tolist()), lu_pivot(small)[0])
assert close(lu_blocked(A)[0], lu_pivot(A)[0])
loops, steps = seconds(lambda: lu_loops(small.tolist()),
                       lambda: lu_pivot(small))
print('outer products beat loops by more than 5:', loops > 5 * steps)
assert loops > 5 * steps
wins = {}
for n in (64, 512):
    a = A[:n, :n].copy()
    steps, blocks, library = seconds(
        lambda: lu_pivot(a), lambda: lu_blocked(a),
        lambda: scipy.linalg.lu_factor(a), rounds=3)
    wins[n] = steps > 2 * blocks
    print(f'n = {n}: blocks more than 2 times faster than outer products:',
          wins[n])
print('n = 512: the library is less than 10 times faster:',
      blocks < 10 * library)
assert wins[512] and not wins[64] and blocks < 10 * library

# %% [markdown]
# ```{exercise} ★★ The transposed system, for free
# :label: lu-transposed
# Backpropagation through a linear solver needs $\mathbf{A}^\top\mathbf{x} = \mathbf{b}$ after $\mathbf{A}$ has been
# factored. Write `solve_transposed(packed, order, b)`, which uses what `lu_pivot(a)` returned and no other factorization.
# ```

# %%
def solve_transposed(packed, order, b):
    raise NotImplementedError('your turn')

# %%
def by_library(packed, order, b):
    l = np.tril(packed, -1) + np.eye(len(b))
    a = np.empty_like(l)
    a[order] = l @ np.triu(packed)
    return np.linalg.solve(a.T, b)

rng = np.random.default_rng(10)
cases = [(*lu_pivot(rng.normal(size=(n, n))), rng.normal(size=n))
         for n in (1, 3, 10)]
grade(solve_transposed, by_library, cases)

# %% [markdown]
# ```{solution-start} lu-transposed
# :class: dropdown
# ```
# From $\mathbf{A} = \mathbf{P}^\top\mathbf{L}\mathbf{U}$ follows
# $\mathbf{A}^\top = \mathbf{U}^\top\mathbf{L}^\top\mathbf{P}$. So solve with $\mathbf{U}^\top$, which is lower
# triangular, then with $\mathbf{L}^\top$, which is upper triangular, and at the end undo the order:
# $\mathbf{x} = \mathbf{P}^\top\mathbf{z}$, entry $k$ of $\mathbf{z}$ goes to place `order[k]`. The wrong answer permutes
# $\mathbf{b}$, as for $\mathbf{A}$ itself.

# %% jupyter={"source_hidden": true}
def solve_transposed_solution(packed, order, b):
    l, u = unpack(packed)
    x = np.empty_like(b)
    x[order] = back(l.T, forward(u.T, b))
    return x

def order_first(packed, order, b):
    l, u = unpack(packed)
    return back(l.T, forward(u.T, b[order]))

assert grade(solve_transposed_solution, by_library, cases)
assert not grade(order_first, by_library, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def as_scipy(n, seed, along):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(n, n)), rng.normal(size=(n, 3))
    packed, order = lu_pivot(a, along)
    (l, u), (p, l_known, u_known) = unpack(packed), scipy.linalg.lu(a)
    return (
        close(l, l_known)
        and close(u, u_known)
        and abs(l).max() <= 1
        and (p.T @ a == a[order]).all()
        and close(l @ u, a[order])
        and close(solve_pivot(a, b), np.linalg.solve(a, b))
    )

verify(
    'P A = L U, the same as by scipy',
    lambda n, seed: as_scipy(n, seed, along=True),
    tries=100,
    slip=(
        'leaves the multipliers in their old rows',
        lambda n, seed: as_scipy(n, seed, along=False),
    ),
    n=[1, 2, 5, 20],
    seed=seeds(),
)

# %% [markdown]
# ## Backward error and condition: how far to trust the answer
#
# This section continues [Partial pivoting: the choice of the pivot](#partial-pivoting-the-choice-of-the-pivot). A
# program returns $\hat{\mathbf{x}}$ and the true $\mathbf{x}$ is not known. What can be said? Turn the question round:
# of which system is $\hat{\mathbf{x}}$ the *exact* solution? If of one that differs from ours in the sixteenth digit,
# the program has done all that could be asked, for the data were no better. The norms are Euclidean, that of a matrix
# the largest singular value.
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
# The equation says $\mathbf{E}\hat{\mathbf{x}} = \mathbf{r}$, so $\|\mathbf{r}\| \le \|\mathbf{E}\| \|\hat{\mathbf{x}}\|$.
# The matrix $\mathbf{E} = \mathbf{r}\hat{\mathbf{x}}^\top / \|\hat{\mathbf{x}}\|^2$ fulfils the equation and attains the
# bound, since $\|\mathbf{r}\hat{\mathbf{x}}^\top\mathbf{z}\| \le \|\mathbf{r}\| \|\hat{\mathbf{x}}\| \|\mathbf{z}\|$. For
# the second part, $\mathbf{x} - \hat{\mathbf{x}} = \mathbf{A}^{-1}\mathbf{r}$, so $\|\mathbf{x} - \hat{\mathbf{x}}\| \le
# \|\mathbf{A}^{-1}\| \|\mathbf{r}\| = \|\mathbf{A}^{-1}\| \, \eta \, \|\mathbf{A}\| \|\hat{\mathbf{x}}\|$.
# ```
#
# So the error is at most the product of two numbers of different origin. The *condition number* $\kappa$ belongs to the
# problem: it says how much a change of the data can be magnified, and no program can help it. The backward error $\eta$
# belongs to the method, and it can be computed from the answer. We measure both on random $8 \times 8$ matrices, made as
# $\mathbf{F}\mathbf{D}\mathbf{G}$ with smaller and smaller entries in the diagonal $\mathbf{D}$, and on Hilbert's matrices
# $h_{ij} = 1/(i + j - 1)$. The true solution of the system *as stored* comes from the same elimination in fractions.

# %%
exact = np.vectorize(Fraction, otypes=[object])

def measure(a, x, b):  # condition, relative error, backward error
    size, norm = np.linalg.norm(x), np.linalg.norm(a, 2)
    a, x, b = exact(a), exact(x), exact(b)
    right = np.column_stack([exact(np.eye(len(b))), b])
    inverse, truth = np.split(solve_pivot(a, right), [-1], axis=1)
    kappa = norm * np.linalg.norm(inverse.astype(float), 2)
    error = np.linalg.norm((x - truth[:, 0]).astype(float))
    residual = np.linalg.norm((b - a @ x).astype(float))
    return kappa, error / size, residual / (norm * size)

# %%
rng = np.random.default_rng(11)
systems = [scipy.linalg.hilbert(n) for n in range(2, 12)]
for bits in range(0, 40):  # whole numbers times powers of two: exact
    f, g = rng.integers(-3, 4, (2, 8, 8))
    d = 2.0 ** -np.round(np.linspace(0, bits, 8))
    systems.append(f * d @ g)
rights = [rng.normal(size=len(a)) for a in systems]
record = [measure(a, solve_pivot(a, b), b)
          for a, b in zip(systems, rights, strict=True)]
kappa, error, eta = np.array(record).T
print('all backward errors are', below(eta, 2e-16))
print('largest error is', between(error.max(), 1e-4, 1))

# %% [markdown]
# All backward errors are as small as rounding allows, and yet some answers have fewer than four right digits.
#
# **Does elimination always have a small backward error?** An entry of the remaining square is replaced by $a' = a - l\,u$,
# and the computer rounds the product and the difference, each with a relative error of at most $\delta = 2^{-53}$:
# $a' = (a - l\,u\,(1 + \delta_1))(1 + \delta_2)$. Solved for $a$,
#
# $$a = a' + l\,u + \Big( l\,u\,\delta_1 - a'\,\frac{\delta_2}{1 + \delta_2} \Big) .$$
#
# If all numbers in all stages are at most $\rho \max_{ij} |a_{ij}|$, and $|l| \le 1$, the bracket is at most
# $2 \rho\, \delta \max_{ij} |a_{ij}|$, up to terms in $\delta^2$. Add up all steps in which an entry takes part, fewer than
# $n$, and the last one, in which it is divided to become a multiplier, with an error of at most $\delta\,|l\,u|$. The $a'$
# cancel in the sum, and what stays is Wilkinson's result {cite}`wilkinson1961error`: for the *computed* factors
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
# The two substitutions are stable in the same sense, and altogether $\eta$ is at most of the order $n^3 \rho\, \delta$, and
# in practice near $\rho\, \delta$ or less {cite}`higham2002accuracy`. Everything hangs on the *growth factor* $\rho$.
# Without pivoting it has no bound; that was the catastrophe above. With partial pivoting $|a'| \le |a| + |u|$, so the
# largest entry at most doubles in each step, and $\rho \le 2^{n-1}$. Wilkinson also gave the matrix that attains the bound:
# ones on the diagonal and in the last column, $-1$ below the diagonal. No exchange is needed, each step adds the pivot row
# to all rows below, and in the last column 1 becomes 2, 4, 8. What is its place among other matrices? We eliminate many
# random ones at the same time.

# %%
def growth(a):  # a (..., n, n) -> (...), with partial pivoting
    a = a.reshape(-1, *a.shape[-2:]).copy()  # (B, n, n)
    start = top = abs(a).max((1, 2))
    every = np.arange(len(a))
    for k in range(a.shape[1] - 1):
        p = k + abs(a[:, k:, k]).argmax(1)
        pivot_row = a[every, p]  # (B, n)
        a[every, p] = a[:, k]
        factors = a[:, k + 1:, k] / pivot_row[:, k, None]
        rest = a[:, k + 1:, k + 1:]
        rest -= factors[:, :, None] * pivot_row[:, None, k + 1:]
        top = np.maximum(top, abs(rest).max((1, 2)))
    return top / start

def wilkinson(n):
    w = np.eye(n) - np.tril(np.ones((n, n)), -1)
    w[:, -1] = 1
    return w

# %%
rng = np.random.default_rng(13)
orders = np.array([4, 8, 16, 32, 64, 128, 192])
batches = [max(12, 2000 // n) for n in orders]
sample = [growth(rng.uniform(-1, 1, (m, n, n)))
          for m, n in zip(batches, orders, strict=True)]
mean = np.array([rho.mean() for rho in sample])
spread = np.array([rho.std() / len(rho) ** 0.5 for rho in sample])

def slope(values):  # of log values against log n, from n = 8 on
    return np.polyfit(np.log(orders[1:]), np.log(values[1:]), 1)[0]
rng = np.random.default_rng(14)
again = [slope(mean + spread * rng.normal(size=7)) for _ in range(500)]
print(f'exponent {slope(mean):.2f}, standard error {np.std(again):.4f}')

# %% mystnb={"image": {"alt": "Left: relative error and backward error against the condition number, both logarithmic. The error follows a line of slope one, 2⁻⁵³ times the condition number; the backward error stays below the unit of rounding. Right: growth factor against n, logarithmic. That of Wilkinson's matrix shoots up like an exponential, that of random matrices runs parallel to a dashed line of slope two thirds and stays below 25."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
shapes = np.where(np.arange(len(kappa)) < 10, 's', 'o')  # Hilbert first
for shape in 'os':
    kind = shapes == shape
    left.loglog(kappa[kind], error[kind], shape, color='C1', ms=3.5)
    left.loglog(kappa[kind], eta[kind], shape, color='C0', ms=3.5)
left.plot([1, 1e15], [2 ** -53, 1e15 / 2 ** 53], color=GREY, lw=1, ls='--')
left.text(1e6, 1e-7, 'error', color='C1', ha='right')
left.text(1e5, 1e-20, 'backward error', color='C0')
left.text(4e11, 3e-3, '2⁻⁵³ κ', ha='right')
left.set(xlabel='condition number κ', ylim=(1e-21, 1))
left.set_title('Hilbert (squares), random (dots)')
right.loglog(orders, mean, 'o-', color='C0', ms=4)
n = np.arange(3, 200)
right.plot(n, 1.3 * n ** (2 / 3), '--', color=GREY, lw=1)
right.plot(n[:60], 2.0 ** (n[:60] - 1), color='C1')
right.text(26, 1e9, "Wilkinson's\nmatrix", color='C1', ha='right')
right.text(27, 110, 'random matrices', color='C0')
right.text(18, 0.35, 'dashed: slope 2/3')
right.set(xlabel='n', ylim=(0.1, 1e12), title='growth factor ρ');

# %% [markdown] tags=["caption"]
# Left: the backward error is tiny at every condition number $\kappa$; the error of the solution grows with $\kappa$. Right:
# growth is slow on random matrices, exponential on Wilkinson's.

# %% [markdown]
# Random matrices grow with a small power of $n$. Our exponent is near the $\tfrac23$ by which the classical experiments up
# to $n = 1024$ were summed up {cite}`trefethen1990average`; that for normal matrices it is at most *some* power, with
# probability near one, was proved only decades later {cite}`huang2022average`. At Wilkinson's matrix, though, partial
# pivoting fails, with a perfectly harmless $\kappa$:

# %%
W = wilkinson(60)
rng = np.random.default_rng(15)
b = rng.normal(size=60)
q, r = np.linalg.qr(W)
answers = {'LU': solve_pivot(W, b), 'QR': back(r, q.T @ b)}
etas = {name: np.linalg.norm(b - W @ x)
        / (np.linalg.norm(W, 2) * np.linalg.norm(x))
        for name, x in answers.items()}
print(f'kappa {np.linalg.cond(W):.1f}')
print('backward error of LU is', between(etas['LU'], 1e-4, 1))
print('backward error of QR is', below(etas['QR'], 1e-15))
assert np.linalg.cond(W) < 30 and etas['LU'] > 1e-4 and etas['QR'] < 1e-15
strong = W + 0.01 * np.eye(60)  # no ties between possible pivots
noisy = strong + 0.01 * rng.normal(size=(20, 60, 60))
print(f'growth without noise {growth(strong)[0]:.2e}')
print(f'growth with noise of 1% {growth(noisy).max():.2f} at most')
assert growth(strong)[0] > 1e12 and growth(noisy).max() < 4

# %% [markdown]
# One per cent of noise, and the disaster is gone: it needs the exact conspiracy of all rows. That is why LU with partial
# pivoting is the standard method in spite of a bound of $2^{n-1}$. Where one wants to be sure there is QR at twice the
# cost, and everywhere the backward error, which tells whether this system was the exception. Its residual costs $2n^2$, and
# so does the Frobenius norm, which may stand for $\|\mathbf{A}\|$: it is larger by a factor of at most $\sqrt n$.
#
# ```{exercise} ★★★ Half the bits, all the digits
# :label: lu-refinement
# Factoring in single precision is faster, on graphics processors many times. Write `refine(factors, a, b)`, where `factors`
# is what `scipy.linalg.lu_factor(a.astype(np.float32))` returned: a solution right to ten digits and more, with no other
# factorization. Hint: what does $\mathbf{x} - \hat{\mathbf{x}}$ solve? When will your method not converge?
# ```

# %%
def refine(factors, a, b):
    raise NotImplementedError('your turn')

# %%
def in_double(factors, a, b):
    return np.linalg.solve(a, b)

def system(n, kappa, rng):
    u, v = (np.linalg.qr(m).Q for m in rng.normal(size=(2, n, n)))
    a = u * np.logspace(0, -np.log10(kappa), n) @ v
    return scipy.linalg.lu_factor(a.astype(np.float32)), a, rng.normal(size=n)

rng = np.random.default_rng(16)
cases = [system(n, kappa, rng) for n, kappa in ((5, 10), (50, 1e3))]
grade(refine, in_double, cases, rtol=1e-10, atol=0)

# %% [markdown]
# ```{solution-start} lu-refinement
# :class: dropdown
# ```
# The error $\mathbf{d} = \mathbf{x} - \hat{\mathbf{x}}$ solves $\mathbf{A}\mathbf{d} = \mathbf{r}$ with the residual
# $\mathbf{r} = \mathbf{b} - \mathbf{A}\hat{\mathbf{x}}$. Solved with the factors in single precision, $\mathbf{d}$ has the
# relative error $\theta \approx \kappa\, 2^{-24}$, times a modest factor. After
# $\hat{\mathbf{x}} \leftarrow \hat{\mathbf{x}} + \mathbf{d}$ the error is $\theta$ times what it was, as long as the
# residual is right: $\mathbf{b}$ and $\mathbf{A}\hat{\mathbf{x}}$ agree in almost all digits, so it must be computed in
# double precision. For $\kappa$ above about $10^7$ nothing is gained {cite}`carson2018accelerating`. The wrong answer
# computes the residual in single precision.

# %% jupyter={"source_hidden": true}
def refine_solution(factors, a, b, kind=np.float64):
    x = np.zeros_like(b)
    for _ in range(12):
        r = b.astype(kind) - a.astype(kind) @ x.astype(kind)
        x += scipy.linalg.lu_solve(factors, r.astype(np.float32))
    return x

def single_residual(factors, a, b):
    return refine_solution(factors, a, b, np.float32)

assert grade(refine_solution, in_double, cases, rtol=1e-10, atol=0)
assert not grade(single_residual, in_double, cases, rtol=1e-10, atol=0)

# %% [markdown]
# ```{solution-end}
# ```

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
verify(
    'relative error at most κ η',
    lambda i: error[i] <= (1 + 1e-9) * kappa[i] * eta[i],
    slip=('forgets the condition number', lambda i: error[i] <= 10 * eta[i]),
    i=list(range(50)),
)

def bounded(n, steps):  # of Wilkinson's matrix, and of five random ones
    a = np.random.default_rng(n).normal(size=(5, n, n))
    last = [abs(lu_pivot(one)[0]).max() / abs(one).max() for one in a]
    return (
        growth(wilkinson(n))[0] == 2.0**steps
        and (last <= growth(a)).all()
        and (growth(a) <= 2.0**steps).all()
    )

verify(
    'growth at most 2ⁿ⁻¹, attained',
    lambda n: bounded(n, n - 1),
    slip=('doubles once more', lambda n: bounded(n, n)),
    n=integers(2, 50),
    tries=30,
)

# %% [markdown]
# ## Cholesky decomposition of positive definite matrices
#
# This section continues [LU decomposition by elimination](#lu-decomposition-by-elimination). Complete the square in a
# quadratic form of two variables:
#
# $$4 x_1^2 + 12 x_1 x_2 + 10 x_2^2 = (2x_1 + 3x_2)^2 + x_2^2 .$$
#
# It is positive for all $\mathbf{x} \ne \mathbf{0}$, now visibly so. A symmetric $\mathbf{A}$ with
# $\mathbf{x}^\top\mathbf{A}\mathbf{x} > 0$ for all $\mathbf{x} \ne \mathbf{0}$ is *positive definite*. Such matrices are
# everywhere: $\mathbf{B}^\top\mathbf{B}$ with independent columns, hence the covariances of variables of which none is a
# combination of the others and a constant, and the second derivatives at a minimum that is flat in no direction. And
# completing the square is elimination. With
# $\mathbf{A} = \begin{bmatrix} \alpha & \mathbf{c}^\top \\ \mathbf{c} & \mathbf{B} \end{bmatrix}$ and
# $\mathbf{x} = (x_1, \mathbf{z})$,
#
# ```{math}
# :label: lu-square
# \mathbf{x}^\top\mathbf{A}\mathbf{x} = \big( \sqrt{\alpha}\, x_1 + \mathbf{c}^\top\mathbf{z} / \sqrt{\alpha} \big)^2
# + \mathbf{z}^\top \Big( \mathbf{B} - \frac{\mathbf{c}\,\mathbf{c}^\top}{\alpha} \Big) \mathbf{z} ,
# ```
#
# where the last bracket is the Schur complement that elimination leaves.
#
# ```{prf:theorem} Cholesky
# :label: thm-cholesky
# For a symmetric matrix $\mathbf{A}$ these are equivalent: (a) it is positive definite; (b) elimination without exchanges
# finds only positive pivots; (c) $\mathbf{A} = \mathbf{L}\mathbf{L}^\top$ with a lower triangular $\mathbf{L}$ whose
# diagonal is positive; (d) all leading minors are positive. The $\mathbf{L}$ in (c) is unique.
# ```
#
# ```{prf:proof}
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
# Half the matrix suffices, so half the work, $\tfrac13 n^3$. And nothing can grow: row $i$ of
# $\mathbf{L}\mathbf{L}^\top = \mathbf{A}$ says $\sum_j l_{ij}^2 = a_{ii}$, so $|l_{ij}| \le \sqrt{a_{ii}}$. Cholesky is
# backward stable for every positive definite matrix, without looking for pivots {cite}`higham2002accuracy`. Column $j$ of
# $\mathbf{A} = \mathbf{L}\mathbf{L}^\top$, solved for column $j$ of $\mathbf{L}$, is the program:

# %%
def cholesky(a):
    l = np.zeros_like(a)
    for j in range(len(a)):
        column = a[j:, j] - l[j:, :j] @ l[j, :j]
        if not column[0] > 0:
            raise np.linalg.LinAlgError(f'pivot {j} is not positive')
        l[j:, j] = column / column[0] ** 0.5
    return l

def positive_definite(a):
    try:
        cholesky(a)
        return True
    except np.linalg.LinAlgError:
        return False

# %%
n = 40
b = np.random.default_rng(18).normal(size=(n, n))
count, _ = operations(cholesky, b @ b.T + np.eye(n))
whole, _ = operations(lu, b @ b.T + np.eye(n))
assert count == (n ** 3 - n) // 3 + n * (n + 1) // 2 + n
print(f'n = {n}: {count} operations, LU takes {whole}')

# %% [markdown]
# The factor has other uses. If $\mathbf{z}$ is standard normal, $\mathbf{L}\mathbf{z}$ has the covariance
# $\mathbf{L}\mathbf{L}^\top = \mathbf{A}$; and $\log \det \mathbf{A} = 2 \sum_i \log l_{ii}$, the safe way of
# [Determinants](../linear_algebra/determinants.ipynb). Where does it break? A matrix that is positive definite on paper may
# not be so after its entries were rounded, if its smallest eigenvalue is below about $2^{-53}$ of the largest. The
# covariances of a smooth function at close points are of that kind. The remedy is a little noise on the diagonal, which
# raises all eigenvalues by the same amount:

# %%
t = np.linspace(0, 1, 30)
smooth = np.exp(-(t[:, None] - t) ** 2 / (2 * 0.3 ** 2))
print('positive definite in floats:     ', positive_definite(smooth))
print('with 1e-10 added on the diagonal:',
      positive_definite(smooth + 1e-10 * np.eye(30)))

# %% [markdown]
# **Signs.** A symmetric matrix with nonzero leading minors, definite or not, is
# $\mathbf{A} = \mathbf{L}\mathbf{D}\mathbf{L}^\top$ with $\mathbf{L}$ unit lower triangular and the pivots in $\mathbf{D}$:
# write $\mathbf{U} = \mathbf{D}\mathbf{M}$ with $\mathbf{M}$ unit upper triangular; then
# $\mathbf{A} = \mathbf{A}^\top = \mathbf{M}^\top(\mathbf{D}\mathbf{L}^\top)$ is a second LU decomposition, so
# $\mathbf{M} = \mathbf{L}^\top$. The pivots are not the eigenvalues. But their signs are the same in number.
#
# ```{prf:theorem} Law of inertia
# :label: thm-inertia
# $\mathbf{A} = \mathbf{L}\mathbf{D}\mathbf{L}^\top$, invertible, has as many negative eigenvalues as negative pivots.
# ```
#
# ```{prf:proof}
# $\mathbf{x}^\top\mathbf{A}\mathbf{x} = \sum_k d_k y_k^2$ with $\mathbf{y} = \mathbf{L}^\top\mathbf{x}$. This is negative
# on the space, without $\mathbf{0}$, where $y_k = 0$ for all $d_k > 0$; its dimension is the number $p$ of negative pivots.
# Let $m$ be the number of negative eigenvalues. On the span of the eigenvectors with positive ones, of dimension $n - m$, it
# is positive. The two spaces have only $\mathbf{0}$ in common, so $p + (n - m) \le n$, that is, $p \le m$: there are at
# least as many negative eigenvalues as negative pivots. The same argument for $-\mathbf{A}$ says it of the positive ones,
# and both add up to $n$.
# ```
#
# ```{exercise} ★★ Eigenvalues by elimination
# :label: lu-inertia
# How many eigenvalues of a symmetric $\mathbf{A}$ lie below $t$? Let elimination answer, and find the $k$-th smallest
# eigenvalue by bisection: write `kth(a, k)`, $k = 1, 2, \dots$, right to ten digits.
# ```

# %%
def kth(a, k):
    raise NotImplementedError('your turn')

# %%
def by_eigvalsh(a, k):
    return np.linalg.eigvalsh(a)[k - 1]

rng = np.random.default_rng(19)
cases = [(b + b.T, k) for n, k in ((2, 1), (5, 2), (12, 9))
         for b in rng.normal(size=(2, n, n))]
grade(kth, by_eigvalsh, cases, rtol=1e-10)

# %% [markdown]
# ```{solution-start} lu-inertia
# :class: dropdown
# ```
# The eigenvalues of $\mathbf{A} - t\mathbf{I}$ are those of $\mathbf{A}$ less $t$. So the number below $t$ is the number of
# negative pivots of $\mathbf{A} - t\mathbf{I}$. All lie within $\pm\|\mathbf{A}\|_F$. The wrong answer takes the sorted
# pivots themselves for eigenvalues. (A pivot that is exactly zero needs $t$ in one of finitely many places; bisection does
# not meet them here.)

# %% jupyter={"source_hidden": true}
def below(a, t):
    return (lu(a - t * np.eye(len(a)))[1].diagonal() < 0).sum()

def kth_solution(a, k):
    high = np.linalg.norm(a) + 1e-3
    low = -high
    for _ in range(60):
        t = (low + high) / 2
        low, high = (low, t) if below(a, t) >= k else (t, high)
    return t

def sorted_pivots(a, k):
    return np.sort(lu(a)[1].diagonal())[k - 1]

assert grade(kth_solution, by_eigvalsh, cases, rtol=1e-10)
assert not grade(sorted_pivots, by_eigvalsh, cases, rtol=1e-10)

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

# %% [markdown]
# ## Where it matters: ten names for 1797 digits
#
# This section continues [Cholesky decomposition of positive definite
# matrices](#cholesky-decomposition-of-positive-definite-matrices). Somebody has named ten handwritten digits, one of
# each kind. Can the names spread to the other $1797 - 10 = 1787$? Join each picture to the eight most similar ones, and
# let $w_{ij} = 1$ if $i$ or $j$ chose the other, else 0. We look for a function $f$ on the pictures that is near 1 at
# the example of, say, the digit 3, near 0 at the other examples, and changes little along the edges. Let $y_i = 1$ at
# that example, else 0, and
#
# $$\text{minimize}\quad \lambda \sum_i (f_i - y_i)^2 + \tfrac12 \sum_{i,j} w_{ij} (f_i - f_j)^2
# = \lambda \|\mathbf{f} - \mathbf{y}\|^2 + \mathbf{f}^\top(\mathbf{D} - \mathbf{W})\,\mathbf{f}$$
#
# with the degrees $d_i = \sum_j w_{ij}$ on the diagonal of $\mathbf{D}$. (Multiply out the square; each $f_i^2$ comes $d_i$
# times.) The minimum of a quadratic form is where completing the square leaves nothing: with
# $\mathbf{M} = \lambda\mathbf{I} + \mathbf{D} - \mathbf{W}$ the sum is
# $(\mathbf{f} - \mathbf{g})^\top\mathbf{M}(\mathbf{f} - \mathbf{g})$ plus a constant exactly if
#
# ```{math}
# :label: lu-spread
# \mathbf{M}\,\mathbf{g} = \lambda\,\mathbf{y} .
# ```
#
# $\mathbf{M}$ is positive definite, since the sum is positive for $\mathbf{y} = \mathbf{0}$, $\mathbf{f} \ne \mathbf{0}$. It
# does not know the examples; those are in the right side. Ten digits give ten right sides, and fifty choices of the examples
# give five hundred, all with one Cholesky factor {cite}`zhou2004learning`. (The factor $\lambda$ on the right can be
# dropped; the largest of the ten $g_i$ gives the name.)

# %%
x, y, _ = digits()
n, lam = len(x), 0.1
square = (x ** 2).sum(1)
distance = square[:, None] + square - 2 * x @ x.T + 1e9 * np.eye(n)
nearest = distance.argsort(1, kind='stable')[:, :8]  # (1797, 8)
edges = np.zeros((n, n))
np.put_along_axis(edges, nearest, 1, axis=1)
edges = np.maximum(edges, edges.T)
M = np.diag(lam + edges.sum(1)) - edges

rng = np.random.default_rng(20)
shown = np.array([[rng.choice(np.flatnonzero(y == k)) for k in range(10)]
                  for _ in range(50)])  # (50, 10)
Y = np.zeros((n, 50, 10))
Y[shown, np.arange(50)[:, None], range(10)] = 1

# %% [markdown]
# The factor comes from the program above, the substitutions for $50 \cdot 10 = 500$ columns from the library. With
# {eq}`lu-cost`, halved for Cholesky, that is $1797^3/3 \approx 2 \cdot 10^9$ operations for the factor,
# $500 \cdot 2 \cdot 1797^2 \approx 3 \cdot 10^9$ for all right sides, instead of $50 \cdot 2 \cdot 10^9 = 10^{11}$ for
# fifty factorizations. Beside it stand two references: the name of the most similar of the ten examples, and one who
# always gives the commonest name.

# %%
L = cholesky(M)
half = scipy.linalg.solve_triangular(L, Y.reshape(n, -1), lower=True)
g = scipy.linalg.solve_triangular(L.T, half).reshape(n, 50, 10)
assert close(M @ g[:, 0], Y[:, 0])

hidden = np.ones((n, 50), dtype=bool)
hidden[shown, np.arange(50)[:, None]] = False

def share_right(names):  # (1797, 50) -> (50,)
    return ((names == y[:, None]) & hidden).sum(0) / hidden.sum(0)

spread, similar = g.argmax(2), distance[:, shown].argmin(2)
shares = {'spread along edges': share_right(spread),
          'most similar': share_right(similar)}
for name, share in shares.items():
    print(f'{name:20} {share.mean():.3f} +- {share.std():.3f}')
print(f'{"always the same":20} {np.bincount(y).max() / n:.3f}')
better = np.subtract(*shares.values())
print(f'in each of fifty draws better by {better.min():.3f} or more')
assert (better > 0.05).all()

# %% [markdown]
# Why is the detour along the edges better than the direct comparison? Take digits that look more like the example of another
# digit, and yet got the right name. A chain of small steps leads from their own example to them, each picture a neighbour of
# the one before.

# %%
wrong = (similar[:, 0] != y) & (spread[:, 0] == y)
steps, previous = scipy.sparse.csgraph.shortest_path(  # (10, 1797)
    edges, unweighted=True, indices=shown[0], return_predecessors=True)
chains = []
for digit in (1, 4, 5):
    ends = np.flatnonzero(wrong & (y == digit) & (steps[digit] == 5))
    chain = [ends[0]]
    while chain[-1] != shown[0, digit]:
        chain.append(previous[digit, chain[-1]])
    chains.append(chain[::-1])
    misled = similar[ends[0], 0]
    print(f'a {digit}, more like the example of a {misled}')

# %% mystnb={"image": {"alt": "Left: for fifty choices of the examples, the share of digits named rightly by spreading against the share by similarity; all fifty points lie above the diagonal. Right: three chains of six digits each, a one, a four and a five, that change slowly from the example on the left to a quite different handwriting on the right."}} tags=["hide-input"]
fig = plt.figure(figsize=(6, 2.6))
left, right = fig.subfigures(1, 2, width_ratios=[1, 1.45])
for part in (fig, left, right):
    part.patch.set_alpha(0)
ax = left.subplots()
ax.plot(shares['most similar'], shares['spread along edges'], 'o', ms=3.5)
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
# Left: names that spread along edges beat direct similarity for all fifty choices of the ten examples. Right: small steps
# lead from an example to a very different hand.

# %% [markdown]
# ## Summary
#
# Elimination with its multipliers kept is the factorization $\mathbf{L}\mathbf{U}$, which exists when no leading minor
# vanishes and, after an exchange of rows, always; it costs $\tfrac23 n^3$ operations once and $2n^2$ for each right side.
# The computed answer solves a nearby system exactly, as near as the growth of the numbers allows, which pivoting keeps small
# in practice though not in the worst case, and the condition number says what that is worth for the solution. If the matrix
# is positive definite, Cholesky does it in half the time, needs no pivots, and doubles as the test.
#
# **Further reading.** {cite}`golub2013matrix` is the reference for the algorithms and {cite}`higham2002accuracy` for their
# errors; {cite}`trefethen1997numerical` tells the story of stability in short lectures, the riddle of the growth factor
# among them.
