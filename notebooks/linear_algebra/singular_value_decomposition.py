# ---
# jupyter:
#   book:
#     functions:
#       svd: svd(normal(4, 3))[1]
#       turned: turned(normal(4), normal(4))
#       singular_values: singular_values(normal(5, 3))
#       pinv: pinv(normal(3, 5))
#     main: svd-formula
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Singular value decomposition and the pseudoinverse
#
# The matrix $\begin{pmatrix} 2 & 3 \\ 0 & 2 \end{pmatrix}$ makes the vector $(1, 2)$ four times as long, and it keeps the
# length of $(-2, 1)$. These two vectors are perpendicular, and the vectors to which the matrix maps them are perpendicular,
# too. Does every matrix have such vectors? And what do they tell us about its rank, its norms and its inverse?
#
# - **You need** [the rank and the norms of a matrix](../linear_algebra/norms.ipynb),
#   [orthogonal matrices](../linear_algebra/qr_decomposition.ipynb), and the
#   [eigenvectors of symmetric matrices](../linear_algebra/eigendecomposition.ipynb).
# - **You build** the singular value decomposition, the nearest orthogonal matrix, the pseudoinverse, and a sharp picture from a
#   blurred one.
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
from itertools import combinations

import matplotlib.pyplot as plt
import mpmath
import numpy as np
import scipy.linalg
from numpy.linalg import norm
from scipy.spatial.transform import Rotation

from nbutils.cases import matrices, on, scalars, seeds, vectors
from nbutils.checks import between, close, grade, verify
from nbutils.data import photograph
from nbutils.figures import GREY, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## U, Σ and V: how a circle becomes an ellipse
#
# We multiply four vectors by the matrix and measure how much longer they become.

# %%
A = np.array([[2, 3], [0, 2]])
for x in [1, 0], [0, 1], [1, 2], [-2, 1]:
    y = A @ x
    print(f'{x} goes to {y}, {norm(y) / norm(x):.2f} times as long')

# %% [markdown]
# The first two vectors are perpendicular, but their **images** $(2, 0)$ and $(3, 2)$, the vectors to which they are mapped,
# are not. The last two vectors are perpendicular, and so are their images $(8, 4)$ and $(-1, 2)$. We scale $(1, 2)$ and
# $(-2, 1)$ to length one, and call them $\mathbf{v}_1$ and $\mathbf{v}_2$. Their images then have the directions
# $\mathbf{u}_1 = (2, 1)/\sqrt5$ and $\mathbf{u}_2 = (-1, 2)/\sqrt5$ and the lengths $\sigma_1 = 4$ and $\sigma_2 = 1$:
#
# $$\mathbf{A}\mathbf{v}_1 = \sigma_1\mathbf{u}_1, \qquad \mathbf{A}\mathbf{v}_2 = \sigma_2\mathbf{u}_2 .$$
#
# All vectors of length one form a circle. Their images form an ellipse, whose axes have the directions $\mathbf{u}_i$ and
# the half lengths $\sigma_i$.

# %% mystnb={"image": {"alt": "Four panels. First a circle with a slanted square grid and two perpendicular arrows v1 and v2. Second, the same turned, so that the arrows lie on the axes. Third, the circle is stretched to a flat ellipse, with the half axes four and one. Fourth, the ellipse is turned so that its long axis points up to the right; the grid consists of rectangles."}} tags=["hide-input"]
U = np.array([[2, -1], [1, 2]]) / 5**0.5
V = np.array([[1, -2], [2, 1]]) / 5**0.5
stretch = np.diag([4.0, 1.0])
stages = {'unit vectors x': (np.eye(2), ('v₁', 'v₂')), 'turned: Vᵀx': (V.T, ('', '')),
          'stretched: ΣVᵀx': (stretch @ V.T, ('', '')), 'turned again: UΣVᵀx = Ax': (A, ('4 u₁', '1 u₂'))}
t = np.linspace(0, 2 * np.pi, 181)
circle = np.stack([np.cos(t), np.sin(t)])  # (2, 181)
ends = np.array([[[k, k], [-1, 1]] for k in (-1, -0.5, 0, 0.5, 1)])
lines = np.concatenate([ends, ends[:, ::-1]])  # (10, 2, 2): x, y of ends
fig, axes = panels(2, 2, height=2.0, sharex=True, sharey=True)
for ax, (title, (stage, names)) in zip(axes.flat, stages.items()):
    for line in lines:
        ax.plot(*(stage @ V @ line), color=GREY, lw=0.6)
    ax.fill(*(stage @ circle), color='C0', alpha=0.25)
    for v, name, colour in zip(V.T, names, ('C1', 'C2')):
        tip = stage @ v
        ax.annotate('', tip, (0, 0), arrowprops={'arrowstyle': '-|>', 'color': colour, 'lw': 1.8, 'shrinkA': 0,
                                                 'shrinkB': 0})
        ax.annotate(name, tip, xytext=(4, 5) if colour == 'C1' else (-3, 5), textcoords='offset points', color=colour,
                    ha='left' if colour == 'C1' else 'right')
    ax.set(aspect='equal', title=title, xlim=(-5.3, 5.3), ylim=(-3.1, 3.1), xticks=[-4, -2, 0, 2, 4], yticks=[-2, 0, 2])

# %% [markdown] tags=["caption"]
# The circle of vectors of length one, filled, on a grid, and what $\mathbf{A}$ does to it, in three steps. $\mathbf{V}^\top$ turns
# $\mathbf{v}_1$ and $\mathbf{v}_2$ onto the axes, $\boldsymbol\Sigma$ stretches along the axes by 4 and 1, and $\mathbf{U}$
# turns again.

# %% [markdown]
# We write the $\mathbf{v}_i$ as the columns of a matrix $\mathbf{V}$, the $\mathbf{u}_i$ as the columns of $\mathbf{U}$, and
# the $\sigma_i$ on the diagonal of $\boldsymbol\Sigma$. The two equations become $\mathbf{A}\mathbf{V} =
# \mathbf{U}\boldsymbol\Sigma$. The columns of $\mathbf{V}$ are perpendicular and have length one, so $\mathbf{V}$ is
# orthogonal and $\mathbf{V}\mathbf{V}^\top = \mathbf{I}$. We multiply by $\mathbf{V}^\top$ from the right, and obtain the
# **singular value decomposition**, SVD for short:
#
# ```{math}
# :label: svd-formula
# \mathbf{A} = \mathbf{U}\boldsymbol\Sigma\mathbf{V}^\top = \sum_{i=1}^{r} \sigma_i\,\mathbf{u}_i\mathbf{v}_i^\top .
# ```
#
# The numbers $\sigma_i$ are the **singular values**, sorted with the largest first. The first $r$ of them are positive, where $r$ is
# the rank of $\mathbf{A}$, and any others are zero. The $\mathbf{v}_i$ and the $\mathbf{u}_i$ are the right and left **singular vectors**.
#
# How do we find the $\mathbf{v}_i$? The columns of $\mathbf{U}$ are perpendicular, too, so $\mathbf{U}^\top\mathbf{U} =
# \mathbf{I}$ and $\mathbf{A}^\top\mathbf{A} = \mathbf{V}\boldsymbol\Sigma^2\mathbf{V}^\top$. So the $\mathbf{v}_i$ are
# eigenvectors of the symmetric matrix $\mathbf{A}^\top\mathbf{A}$, and the eigenvalues are $\sigma_i^2$. From
# $\mathbf{A}\mathbf{v}_i = \sigma_i\mathbf{u}_i$ we then obtain $\mathbf{u}_i = \mathbf{A}\mathbf{v}_i / \sigma_i$:

# %%
def svd(A):
    """U (m, n), sigma (n,) and Vt (n, n) of a matrix A (m, n) of rank n."""
    lam, V = np.linalg.eigh(A.T @ A)           # smallest eigenvalue first
    lam, V = lam[::-1], V[:, ::-1]             # largest first
    V = np.where(V[-1] < 0, -V, V)             # either sign will do
    sigma = np.sqrt(lam)
    U = A @ V / sigma                          # column i: A v_i / sigma_i
    return U, sigma, V.T

# %%
U, sigma, Vt = svd(A)
print('U\n', U.round(3))
print('sigma', sigma.round(3))
print('Vt\n', Vt.round(3))

# %% [markdown]
# These are the vectors from above, since $1/\sqrt5 \approx 0.447$. The sum in {eq}`svd-formula` has two terms here. Each
# term is a matrix of rank one, and their sum is $\mathbf{A}$:

# %%
print(sigma[0] * np.outer(U[:, 0], Vt[0]))
print(sigma[1] * np.outer(U[:, 1], Vt[1]))

# %% [markdown]
# Their spectral norms are 4 and 1. The [next
# section](low_rank_and_pca.ipynb) approximates a matrix by its largest terms alone.
#
# In practice you call the library, which is more accurate. With `full_matrices=False` it computes only the
# first $\min(m, n)$ columns of $\mathbf{U}$ and $\mathbf{V}$.

# %%
U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
print('U Sigma Vt\n', (U * sigma @ Vt).round(8) + 0.0)  # no -0

# %% [markdown]
# ### Every matrix has an SVD
#
# The symmetric matrix $\mathbf{A}^\top\mathbf{A}$ always has perpendicular eigenvectors. Their images are perpendicular,
# too: if $\mathbf{v}_j$ has the eigenvalue $\lambda_j$, then $(\mathbf{A}\mathbf{v}_i) \cdot (\mathbf{A}\mathbf{v}_j) =
# \mathbf{v}_i^\top \mathbf{A}^\top\mathbf{A}\, \mathbf{v}_j = \lambda_j\, \mathbf{v}_i \cdot \mathbf{v}_j = 0$ for $i \ne
# j$. So every matrix has an SVD:
#
# ```{prf:theorem} Singular value decomposition
# :label: thm-svd
# Let $\mathbf{A}$ be a real $m \times n$ matrix of rank $r$. There are orthogonal matrices $\mathbf{U}$ ($m \times m$) and
# $\mathbf{V}$ ($n \times n$) and numbers $\sigma_1 \ge \dots \ge \sigma_r > 0$ such that $\mathbf{A} =
# \mathbf{U}\boldsymbol\Sigma\mathbf{V}^\top$, where the $m \times n$ matrix $\boldsymbol\Sigma$ has the $\sigma_i$ on its
# diagonal and zeros elsewhere. The singular values are unique: their squares are the nonzero eigenvalues of
# $\mathbf{A}^\top\mathbf{A}$, and also of $\mathbf{A}\mathbf{A}^\top$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# $\mathbf{A}^\top\mathbf{A}$ is symmetric, so it has orthonormal eigenvectors $\mathbf{v}_1, \dots, \mathbf{v}_n$ with
# eigenvalues $\lambda_i$. Their images are perpendicular, and the eigenvalues are the squares of their lengths:
#
# $$(\mathbf{A}\mathbf{v}_i) \cdot (\mathbf{A}\mathbf{v}_j) = \mathbf{v}_i^\top \mathbf{A}^\top\mathbf{A}\, \mathbf{v}_j
# = \lambda_j\, \mathbf{v}_i \cdot \mathbf{v}_j , \qquad \|\mathbf{A}\mathbf{v}_i\|^2 = \lambda_i \ge 0 .$$
#
# Number them so that $\lambda_1 \ge \dots \ge \lambda_n$ and let $\sigma_i = \sqrt{\lambda_i} =
# \|\mathbf{A}\mathbf{v}_i\|$. The images with $\sigma_i > 0$ are a basis of the column space, so there are $r$ of them.
# Let $\mathbf{u}_i = \mathbf{A}\mathbf{v}_i / \sigma_i$ for $i \le r$ and complete these orthonormal vectors to a basis
# of $\mathbb{R}^m$. Then $\mathbf{A}\mathbf{v}_i = \sigma_i \mathbf{u}_i$ for $i \le r$ and $\mathbf{A}\mathbf{v}_i =
# \mathbf{0}$ for $i > r$. Column by column this says $\mathbf{A}\mathbf{V} = \mathbf{U}\boldsymbol\Sigma$. Multiply by
# $\mathbf{V}^\top = \mathbf{V}^{-1}$ from the right.
#
# *Uniqueness.* Any such factors give $\mathbf{A}^\top\mathbf{A} = \mathbf{V} (\boldsymbol\Sigma^\top\boldsymbol\Sigma)
# \mathbf{V}^\top$ and $\mathbf{A}\mathbf{A}^\top = \mathbf{U} (\boldsymbol\Sigma\boldsymbol\Sigma^\top) \mathbf{U}^\top$,
# with $\sigma_1^2, \dots, \sigma_r^2$ and zeros on the two diagonals.
# ```
#
# The singular vectors are not unique: you may replace $\mathbf{u}_i$ and $\mathbf{v}_i$ by $-\mathbf{u}_i$ and
# $-\mathbf{v}_i$.
#
# ```{exercise} ★ Pencil: an SVD by hand
# :label: svd-pencil
# Find the SVD of $\mathbf{A} = \begin{pmatrix} 2 & -2 \\ 1 & 2 \end{pmatrix}$ from the eigenvectors of
# $\mathbf{A}^\top\mathbf{A}$. Write $\mathbf{A}$ as a sum of two matrices of rank one.
# ```

# %%
def two_terms():
    """The terms of the SVD, larger singular value first: two 2 x 2 lists.

    For the matrix [[1, 0], [0, 3]] they would be
    [[0, 0], [0, 3]], [[1, 0], [0, 0]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def computed_terms():
    u, sigma, vt = np.linalg.svd([[2, -2], [1, 2]])
    return np.array([sigma[i] * np.outer(u[:, i], vt[i]) for i in (0, 1)])

grade(two_terms, computed_terms, [()])

# %% [markdown]
# ```{solution-start} svd-pencil
# :class: dropdown
# ```
# $\mathbf{A}^\top\mathbf{A} = \begin{pmatrix} 5 & -2 \\ -2 & 8 \end{pmatrix}$ has the eigenvalues 9 and 4, so $\sigma_1 =
# 3$ and $\sigma_2 = 2$. Eigenvectors are $(1, -2)$ and $(2, 1)$. Their images are $(6, -3) = 3\,(2, -1)$ and $(2, 4) =
# 2\,(1, 2)$. All four vectors have length $\sqrt5$, so
#
# $$\mathbf{A} = \frac35 \begin{pmatrix} 2 \\ -1 \end{pmatrix} \begin{pmatrix} 1 & -2 \end{pmatrix}
# + \frac25 \begin{pmatrix} 1 \\ 2 \end{pmatrix} \begin{pmatrix} 2 & 1 \end{pmatrix}
# = \begin{pmatrix} 1.2 & -2.4 \\ -0.6 & 1.2 \end{pmatrix} + \begin{pmatrix} 0.8 & 0.4 \\ 1.6 & 0.8 \end{pmatrix} .$$

# %% jupyter={"source_hidden": true}
first, second = [[1.2, -2.4], [-0.6, 1.2]], [[0.8, 0.4], [1.6, 0.8]]
assert grade(lambda: (first, second), computed_terms, [()])
assert not grade(lambda: (second, first), computed_terms, [()])
assert not grade(lambda: (np.transpose(first), np.transpose(second)), computed_terms, [()])
assert not grade(lambda: (np.multiply(first, 5), np.multiply(second, 5)), computed_terms, [()])

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
by_hand = 3 / 5 * np.outer([2, -1], [1, -2]) + 2 / 5 * np.outer([1, 2], [2, 1])
assert close(by_hand, [[2, -2], [1, 2]])

def extremes(A, ratio):
    """Whether the lengths of 720 images of unit vectors lie between the singular values, with `ratio` times the larger."""
    sigma = np.linalg.svd(A)[1]
    t = np.arange(720) * np.pi / 720
    lengths = norm(A @ [np.cos(t), np.sin(t)], axis=0)
    near = 1e-4 * sigma[0]  # between two directions lies an angle below 0.005, and 1 - cos 0.005 is about 1e-5
    inside = (lengths <= sigma[0] * (1 + 1e-9) + 1e-12).all() and (lengths >= sigma[1] * (1 - 1e-9) - 1e-12).all()
    return bool(inside and lengths.max() >= ratio * sigma[0] - near)

verify(
    'no direction is stretched by more than σ₁ or by less than σ₂',
    lambda A: extremes(A, 1),
    slip=('makes the longest image 1.4 times as long', lambda A: extremes(A, 1.4)),
    A=matrices(2, 2), tries=100,
)

def decomposes(seed, m, n, form):
    A = np.random.default_rng(seed).normal(size=(m, n))
    U, sigma, Vt = form(A)
    return (close(U * sigma @ Vt, A) and close(U.T @ U, np.eye(n)) and close(Vt @ Vt.T, np.eye(n))
            and close(sigma, np.linalg.svd(A)[1]))

def without_root(A):
    U, sigma, Vt = svd(A)
    return U / sigma, sigma**2, Vt

verify(
    'svd gives orthonormal vectors, and the singular values of the library',
    lambda seed, shape: decomposes(seed, *shape, svd),
    slip=('takes the eigenvalues for the singular values', lambda seed, shape: decomposes(seed, *shape, without_root)),
    seed=seeds(), shape=[(1, 1), (2, 2), (4, 2), (7, 3)], tries=60,
)

# %% [markdown]
# ## What the singular values say: rank, norms, condition number
#
# The next matrix is not square. Its third column is the sum of the first two, so it maps $(1, 1, -1)$ to zero, and its rank
# $r$ is only 2. Up to rounding, a library gives $r$ positive singular values, followed by zeros:

# %%
B = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 2], [2, 1, 3]])
U, sigma, Vt = np.linalg.svd(B)
lost = np.array([1, 1, -1]) / 3**0.5
print('B times (1, 1, -1):', B @ [1, 1, -1])
print('singular values', sigma.round(2))
print(f'|v_3 · (1, 1, -1)/√3| = {abs(Vt[2] @ lost):.3f}')

# %% [markdown]
# The third right singular vector is $(1, 1, -1)/\sqrt3$ up to its sign. In general, the columns of $\mathbf{V}$ and $\mathbf{U}$ are orthonormal bases of the **four subspaces** of a
# matrix:
#
# | vectors | they span | in |
# |---|---|---|
# | $\mathbf{v}_1, \dots, \mathbf{v}_r$ | the row space | $\mathbb{R}^n$ |
# | $\mathbf{v}_{r+1}, \dots, \mathbf{v}_n$ | the null space, where $\mathbf{A}\mathbf{x} = \mathbf{0}$ | $\mathbb{R}^n$ |
# | $\mathbf{u}_1, \dots, \mathbf{u}_r$ | the column space | $\mathbb{R}^m$ |
# | $\mathbf{u}_{r+1}, \dots, \mathbf{u}_m$ | the null space of $\mathbf{A}^\top$ | $\mathbb{R}^m$ |
#
# Three norms of a matrix follow from its singular values, too. The spectral norm $\|\mathbf{A}\|_2$ is $\sigma_1$, the
# Frobenius norm $\|\mathbf{A}\|_F$ is $\sqrt{\sum_i \sigma_i^2}$, and the **nuclear norm** $\|\mathbf{A}\|_{\text{nuc}}$ is
# $\sum_i
# \sigma_i$. For a square matrix $|\det \mathbf{A}| = \prod_i \sigma_i$, because orthogonal matrices keep volumes. An
# invertible matrix has the **condition number** $\kappa = \sigma_1 / \sigma_n$, the longest axis of the ellipse over the
# shortest. If $\mathbf{b}$ has a relative error, the solution of $\mathbf{A}\mathbf{x} = \mathbf{b}$ has a relative error
# that is at most $\kappa$ times as large. Our first matrix has these values:

# %%
print('spectral', norm(A, 2).round(3), ' Frobenius', norm(A).round(3),
      ' nuclear', norm(A, 'nuc').round(3))
print('determinant', np.linalg.det(A).round(3),
      ' condition number', np.linalg.cond(A).round(3))

# %% [markdown]
# ```{admonition} A tempting mistake
# :class: tip
# Singular values are the absolute values of the eigenvalues if the matrix is symmetric, but not in general. Our first matrix
# has the singular values 4 and 1, but both of its eigenvalues are 2.
# ```
#
# A small error of a matrix changes its singular values only a little. The eigenvalues may change much more. We put 0.01 in
# place of the zero of our first matrix:

# %%
E = np.array([[0, 0], [0.01, 0]])
sigma = np.linalg.svd(A + E)[1]
lam = np.sort(np.linalg.eigvals(A + E))[::-1]
print('singular values', sigma.round(4), 'change', (sigma - [4, 1]).round(4))
print('eigenvalues    ', lam.round(4), 'change', (lam - 2).round(4))

# %% [markdown]
# The spectral norm of the error is 0.01, and no singular value has changed by more. This is always so. Let
# $\sigma_i(\mathbf{A})$ be the $i$-th singular value of $\mathbf{A}$, and $\mathbf{E}$ the matrix of the errors:
#
# ```{prf:corollary} Weyl
# :label: cor-weyl
# $|\sigma_i(\mathbf{A} + \mathbf{E}) - \sigma_i(\mathbf{A})| \le \|\mathbf{E}\|_2$ for all $i$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Let $\mathbf{v}_1, \dots, \mathbf{v}_n$ be the right singular vectors of $\mathbf{A}$ and $\mathbf{w}_1, \dots,
# \mathbf{w}_n$ those of $\mathbf{A} + \mathbf{E}$. The spans of $\mathbf{v}_1, \dots, \mathbf{v}_i$ and of $\mathbf{w}_i,
# \dots, \mathbf{w}_n$ have the dimensions $i$ and $n - i + 1$. Together this is more than $n$, so they share a unit
# vector $\mathbf{z}$. In the first span no unit vector has an image shorter than $\sigma_i(\mathbf{A})$, and in the
# second none has one longer than $\sigma_i(\mathbf{A} + \mathbf{E})$. So
#
# $$\sigma_i(\mathbf{A}) \le \|\mathbf{A}\mathbf{z}\| \le \|(\mathbf{A} + \mathbf{E})\mathbf{z}\| + \|\mathbf{E}\mathbf{z}\|
# \le \sigma_i(\mathbf{A} + \mathbf{E}) + \|\mathbf{E}\|_2 .$$
#
# Exchange the roles of $\mathbf{A}$ and $\mathbf{A} + \mathbf{E}$.
# ```
#
# ### The nearest orthogonal matrix
#
# A rotation matrix that was spoilt by rounding or by training is no longer orthogonal. To repair it, we replace it by the
# nearest orthogonal matrix. The SVD of a square $\mathbf{A}$ gives us this matrix, if we insert $\mathbf{V}^\top\mathbf{V} = \mathbf{I}$:
#
# ```{math}
# :label: svd-polar
# \mathbf{A} = (\mathbf{U}\mathbf{V}^\top)(\mathbf{V}\boldsymbol\Sigma\mathbf{V}^\top) = \mathbf{Q}\mathbf{P}
# ```
#
# In this **polar decomposition** $\mathbf{Q} = \mathbf{U}\mathbf{V}^\top$ is orthogonal. The matrix
# $\mathbf{P} = \mathbf{V}\boldsymbol\Sigma\mathbf{V}^\top$ is symmetric, and stretches by $\sigma_i \ge 0$ along the
# perpendicular vectors $\mathbf{v}_i$. For our first matrix, $\mathbf{Q}$ is a rotation by an angle $\varphi$ with
# $\cos\varphi = 0.8$:

# %%
def polar(A):
    """Q and P, both (n, n), of a square A (n, n)."""
    U, sigma, Vt = np.linalg.svd(A)
    return U @ Vt, Vt.T * sigma @ Vt

Q, P = polar(A)
print('Q\n', Q.round(3))
print('P\n', P.round(3))

# %% [markdown]
# No orthogonal matrix is nearer to $\mathbf{A}$ in the Frobenius norm than $\mathbf{Q} = \mathbf{U}\mathbf{V}^\top$.
#
# :::{admonition} Why this orthogonal matrix is the nearest
# :class: dropdown
# For every orthogonal matrix $\mathbf{Q}$ with $n$ rows, $\|\mathbf{Q}\|_F^2 = n$, so
#
# $$\|\mathbf{A} - \mathbf{Q}\|_F^2 = \|\mathbf{A}\|_F^2 - 2\operatorname{tr}(\mathbf{Q}^\top\mathbf{A}) + n .$$
#
# The distance is smallest where the trace is largest. We insert the SVD of $\mathbf{A}$ into the trace. Since
# $\operatorname{tr}(\mathbf{Q}^\top\mathbf{u}_i\mathbf{v}_i^\top) = \mathbf{u}_i^\top\mathbf{Q}\,\mathbf{v}_i$, and since no
# such number exceeds 1 if $\|\mathbf{Q}\|_2 \le 1$, we obtain
#
# ```{math}
# :label: svd-nuclear
# \operatorname{tr}(\mathbf{Q}^\top\mathbf{A}) = \sum_{i=1}^r \sigma_i\, \mathbf{u}_i^\top \mathbf{Q}\, \mathbf{v}_i \le \sum_{i=1}^r \sigma_i .
# ```
#
# For $\mathbf{Q} = \mathbf{U}\mathbf{V}^\top$ each $\mathbf{u}_i^\top\mathbf{Q}\,\mathbf{v}_i$ is 1, so the two sides are
# equal.
# :::
#
# ```{exercise} ★★ Program: turn one molecule onto another
# :label: svd-kabsch
# The points $\mathbf{x}_1, \dots, \mathbf{x}_n \in \mathbb{R}^3$ of a molecule are measured again after it has turned. With
# errors, they are now at $\mathbf{y}_1, \dots, \mathbf{y}_n$. Which *rotation* $\mathbf{R}$ makes $\sum_i
# \|\mathbf{R}\mathbf{x}_i - \mathbf{y}_i\|^2$ smallest?
# Derive it from {eq}`svd-nuclear` and write `align(x, y)`, where the points are the rows of two arrays of shape $(n, 3)$.
# A mirror image is not allowed: $\det\mathbf{R}$ must be $+1$.
# ```

# %%
def align(x, y):
    """The rotation that turns the rows of x onto those of y, both (n, 3).

    A float array (3, 3) R with R.T @ R = I and det R = 1. The points may
    lie in a plane or be mirror images, but there is only one best R.
    Rotation.align_vectors is not allowed.
    For x = np.eye(3) and y = x[[1, 2, 0]], R is y.T.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_quaternions(x, y):  # the trace is a quadratic form of the quaternion: the largest eigenvector
    M = y.T @ x
    odd = np.array([M[2, 1] - M[1, 2], M[0, 2] - M[2, 0], M[1, 0] - M[0, 1]])
    form = np.block([[M.trace(), odd], [odd[:, None], M + M.T - M.trace() * np.eye(3)]])
    w, *v = np.linalg.eigh(form)[1][:, -1]
    return Rotation.from_quat([*v, w]).as_matrix()

def only_one(x, y):  # whether the best rotation is far from all that are as good
    u, sigma, vt = np.linalg.svd(y.T @ x)
    return sigma[1] + np.linalg.det(u @ vt) * sigma[2] > 0.01 * sigma[0] > 0

def measured_again(x):  # another molecule of this size, or this one turned by the vector v, and perhaps mirrored
    turned = vectors(3, -3, 3).map(lambda v: x @ Rotation.from_rotvec(v).as_matrix().T)
    return (matrices(len(x), 3) | turned | turned.map(np.negative)).filter(lambda y: only_one(x, y))

cases = dict(
    x=matrices((2, 6), 3, edges=True).filter(lambda x: np.linalg.matrix_rank(x, 1) > 1),
    y=measured_again,
    without=['scipy.spatial.transform.Rotation.align_vectors'],
)
grade(align, by_quaternions, **cases)

# %% [markdown]
# ```{solution-start} svd-kabsch
# :class: dropdown
# ```
# The squares of $\mathbf{R}\mathbf{x}_i$ and $\mathbf{y}_i$ do not depend on $\mathbf{R}$, so we want the largest $\sum_i
# \mathbf{y}_i^\top\mathbf{R}\mathbf{x}_i = \operatorname{tr}(\mathbf{R}^\top\mathbf{M})$ with $\mathbf{M} = \sum_i
# \mathbf{y}_i\mathbf{x}_i^\top = \mathbf{U}\boldsymbol\Sigma\mathbf{V}^\top$. It equals $\sum_i \sigma_i z_{ii}$ for the
# orthogonal $\mathbf{Z} = \mathbf{U}^\top\mathbf{R}\mathbf{V}$. If $\det(\mathbf{U}\mathbf{V}^\top) = 1$, we take
# $\mathbf{Z} =
# \mathbf{I}$. Otherwise $\det\mathbf{Z}$ must be $-1$. Then $-1$ is an eigenvalue of $\mathbf{Z}$, so
# $\operatorname{tr}\mathbf{Z} \le 3 - 2$: the $z_{ii} \le 1$ fall short of 3 by at least 2 in all. The sum $\sum_i
# \sigma_i z_{ii}$ loses least if the whole gap is at the smallest $\sigma_i$. So $\mathbf{Z} = \operatorname{diag}(1, 1, -1)$ {cite}`kabsch1976solution`. The tempting
# answer $\mathbf{U}\mathbf{V}^\top$ ignores the determinant and may give a mirror image. Two other wrong answers
# change the sign at the largest $\sigma_i$, or turn $\mathbf{y}$ onto $\mathbf{x}$. The last one calls the library.

# %% jupyter={"source_hidden": true}
def align_solution(x, y):
    u, _, vt = np.linalg.svd(y.T @ x)
    return u * [1, 1, np.linalg.det(u @ vt)] @ vt

def perhaps_mirrored(x, y):
    u, _, vt = np.linalg.svd(y.T @ x)
    return u @ vt

def sign_changed_first(x, y):
    u, _, vt = np.linalg.svd(y.T @ x)
    return u * [np.linalg.det(u @ vt), 1, 1] @ vt

def turns_back(x, y):
    return align_solution(y, x)

def by_the_library(x, y):
    return Rotation.align_vectors(y, x)[0].as_matrix()

assert grade(align_solution, by_quaternions, **cases)
assert not grade(perhaps_mirrored, by_quaternions, **cases)
assert not grade(sign_changed_first, by_quaternions, **cases)
assert not grade(turns_back, by_quaternions, **cases)
assert not grade(by_the_library, by_quaternions, **cases)

# %% [markdown]
# ```{solution-end}
# ```
#
# ### How to compute singular values, and how not to
#
# Our function `svd` uses $\mathbf{A}^\top\mathbf{A}$. This is right on paper, but rounding destroys the small singular
# values. The next matrix $\mathbf{G}$ has the singular values $\sqrt{2 + \delta^2}$ and $\delta$, with $\delta = 10^{-9}$:

# %%
delta = 1e-9
G = np.array([[1, 1], [delta, 0], [0, delta]])
print('G^T G\n', G.T @ G)
print('eigenvalues', np.linalg.eigvalsh(G.T @ G).round(6) + 0.0)
print(f'second singular value by numpy: {np.linalg.svd(G)[1][1]:.3e}')

# %% [markdown]
# The exact product has $1 + \delta^2$ on its diagonal. Since $\delta^2 = (10^{-9})^2 = 10^{-18}$, the computer rounds
# $1 + \delta^2$ to 1, and $\delta$ is lost. The library works with $\mathbf{G}$ itself. **Jacobi's method**
# {cite}`hestenes1958inversion` avoids the product in another way: it replaces two columns by perpendicular combinations,
# pair by pair, until all columns are perpendicular. Their lengths are then the singular values.
#
# :::{admonition} How Jacobi's method turns two columns
# :class: dropdown
# The method turns two columns $\mathbf{x}$ and $\mathbf{y}$ by an angle with cosine $c$ and sine $s$. They become
# $c\,\mathbf{x} - s\,\mathbf{y}$ and $s\,\mathbf{x} + c\,\mathbf{y}$. This multiplies $\mathbf{A}$ by an orthogonal matrix
# from the right, so it does not change the singular values. Let $\alpha = \mathbf{x}\cdot\mathbf{x}$, $\beta =
# \mathbf{y}\cdot\mathbf{y}$, $\gamma = \mathbf{x}\cdot\mathbf{y}$ and $d = \beta - \alpha$. The new columns are
# perpendicular if $t = s/c$ satisfies $\gamma t^2 + d\,t - \gamma = 0$. We take the root with $|t| \le 1$, written so that
# nothing cancels.
#
# A turn disturbs the pairs that were perpendicular before. But it makes the sum of $(\mathbf{w}_i \cdot \mathbf{w}_j)^2$
# over all columns $\mathbf{w}_i$, $\mathbf{w}_j$ with $i \ne j$ smaller by $2\gamma^2$. After a few sweeps over all pairs
# all columns are perpendicular {cite}`forsythe1960cyclic`.
# :::

# %% tags=["hide-input"]
def turned(x, y):
    """Two columns (m,), turned into perpendicular ones; x @ y is not 0."""
    alpha, beta, gamma = x @ x, y @ y, x @ y
    d = beta - alpha
    t = 2 * gamma / (d + np.copysign(np.hypot(d, 2 * gamma), d))
    c = 1 / np.hypot(1, t)
    s = c * t
    return c * x - s * y, s * x + c * y

def singular_values(A, sweeps=12):
    """The singular values (n,) of A (m, n), by turning its columns."""
    W = A.copy()
    eps = np.finfo(A.dtype).eps
    for _ in range(sweeps):
        for i, j in combinations(range(A.shape[1]), 2):
            x, y = W[:, i], W[:, j]
            if abs(x @ y) > eps * len(x) * norm(x) * norm(y):
                W[:, i], W[:, j] = turned(x, y)
    return np.sort(norm(W, axis=0))[::-1]

# %% [markdown]
# Jacobi's method can be more accurate than the library {cite}`demmel1992jacobi`. We compare the two on a matrix whose 7
# columns have lengths of very different orders of magnitude. The exact singular values are computed with 60 digits:

# %% tags=["hide-input"]
rng = np.random.default_rng(7)
G = rng.normal(size=(20, 7)) * 10.0 ** np.linspace(-18, 0, 7)
with mpmath.workdps(60):
    exact = mpmath.svd_r(mpmath.matrix(G.tolist()), compute_uv=False)
exact = np.array([float(s) for s in exact])
routes = {'library': np.linalg.svd(G)[1], 'Jacobi': singular_values(G)}
for name, found in routes.items():
    right = (abs(found / exact - 1) < 1e-6).sum()
    print(f'{name}: {right} of 7 singular values have 6 right digits')

# %% tags=["checks"]
def rank_two(seed):  # (5, 4)
    rng = np.random.default_rng(seed)
    return rng.normal(size=(5, 2)) @ rng.normal(size=(2, 4))

def subspaces(seed, r):  # as if the rank were r
    A = rank_two(seed)
    u, _, vt = np.linalg.svd(A)
    row, null, column, left = vt[:r].T, vt[r:].T, u[:, :r], u[:, r:]
    return (close(A @ null, np.zeros((5, 4 - r))) and close(A.T @ left, np.zeros((4, 5 - r)))
            and close(A @ row @ row.T, A) and close(column @ column.T @ A, A))

verify('the singular vectors span the four subspaces', lambda seed: subspaces(seed, 2),
       slip=('takes the rank to be 1', lambda seed: subspaces(seed, 1)), seed=seeds(), tries=100)

def sizes_of(seed, frobenius, nuclear):  # of a square matrix, from its singular values
    A = np.random.default_rng(seed).normal(size=(4, 4))
    sigma = np.sqrt(np.linalg.eigvalsh(A @ A.T)[::-1])
    return close([sigma[0], frobenius(sigma), nuclear(sigma), sigma.prod(), sigma[0] / sigma[-1]],
                 [norm(A, 2), norm(A), norm(A, 'nuc'), abs(np.linalg.det(A)), np.linalg.cond(A)])

verify('three norms, determinant and condition number from the singular values',
       lambda seed: sizes_of(seed, norm, np.sum),
       slip=('exchanges Frobenius and nuclear norm', lambda seed: sizes_of(seed, np.sum, norm)), seed=seeds(), tries=100)

def shifts(seed, size, values):
    A, E = np.random.default_rng(seed).normal(size=(2, 5, 5))
    moved = abs(values(A + size * E) - values(A)).max()
    return moved <= norm(size * E, 2) * (1 + 1e-9)

def eigenvalues(A):
    return np.sort(abs(np.linalg.eigvals(A)))

verify('singular values move by at most the norm of the error',
       lambda seed, size: shifts(seed, size, lambda A: np.linalg.svd(A)[1]),
       slip=('says so of the sizes of eigenvalues', lambda seed, size: shifts(seed, size, eigenvalues)),
       seed=seeds(), size=[1e-3, 0.1, 10], tries=150)

def tight(E, factor):  # equality for a multiple of the matrix
    A = np.diag([3.0, 1.0])
    return close(np.linalg.svd(A + E * A)[1][0] - 3, factor * norm(E * A, 2))

verify("Weyl's bound is attained", lambda E: tight(E, 1),
       slip=('halves the bound', lambda E: tight(E, 0.5)), E=[0.1, 1.0, 2.0])

def dual(seed, size):  # tr QᵀA against |Q|₂ times the size of A, with equality for one Q
    A, Q = rank_two(seed), np.random.default_rng(seed).normal(size=(5, 4))
    u, sigma, vt = np.linalg.svd(A)
    best = np.trace((u[:, :2] @ vt[:2]).T @ A)
    return abs(np.trace(Q.T @ A)) <= norm(Q, 2) * size(sigma) and close(best, size(sigma))

verify('spectral and nuclear norm are dual', lambda seed: dual(seed, np.sum),
       slip=('takes the Frobenius norm', lambda seed: dual(seed, norm)), seed=seeds(), tries=100)

# %% tags=["checks"]
def nearest(seed, orthogonal):  # nearer than 200 turned and 4 mirrored ones?
    A = np.random.default_rng(seed).normal(size=(4, 4))
    S = np.random.default_rng(seed + 1).normal(size=(200, 4, 4)) / 3
    Q = orthogonal(A)
    turned_ones = Q @ scipy.linalg.expm(S - S.swapaxes(1, 2))  # (200, 4, 4)
    axes = np.linalg.eigh(Q.T @ A + A.T @ Q)[1].T
    mirrored = [Q - 2 * np.outer(Q @ axis, axis) for axis in axes]
    others = np.concatenate([turned_ones, mirrored])
    gaps = norm(A - others, axis=(1, 2))
    return norm(A - Q) < gaps.min() and close(polar(A), scipy.linalg.polar(A))

verify('U Vᵀ is the nearest orthogonal matrix', lambda seed: nearest(seed, lambda A: polar(A)[0]),
       slip=('takes the Q of the QR decomposition', lambda seed: nearest(seed, lambda A: np.linalg.qr(A)[0])),
       seed=seeds(), tries=50)

def cosine(seed, turn):  # of two columns after one turn
    x, y = turn(*np.random.default_rng(seed).normal(size=(2, 3)))
    return x @ y / np.sqrt(x @ x * (y @ y))

def first_order(x, y):
    t = x @ y / (y @ y - x @ x)
    c = 1 / np.hypot(1, t)
    return c * x - c * t * y, c * t * x + c * y

verify('one turn makes two columns perpendicular', lambda seed: abs(cosine(seed, turned)) < 1e-14,
       slip=('divides by the difference of the squares', lambda seed: abs(cosine(seed, first_order)) < 1e-14),
       seed=seeds(), tries=100)

def falls_by(seed, times):  # in units of γ²
    a = np.random.default_rng(seed).normal(size=(6, 4))

    def off(w):
        return ((w.T @ w) ** 2).sum() - (np.diag(w.T @ w) ** 2).sum()

    b = a.copy()
    b[:, [1, 3]] = np.transpose(turned(a[:, 1], a[:, 3]))
    return close(off(a) - off(b), times * (a[:, 1] @ a[:, 3]) ** 2)

verify('a turn takes 2γ² from the squares off the diagonal', lambda seed: falls_by(seed, 2),
       slip=('takes γ² only', lambda seed: falls_by(seed, 1)), tries=100, seed=seeds())

def agrees(seed, shape, sweeps):
    A = np.random.default_rng(seed).normal(size=shape)
    return close(singular_values(A, sweeps), np.linalg.svd(A)[1])

verify('Jacobi finds the singular values of the library', lambda seed, shape: agrees(seed, shape, 12),
       slip=('stops after one sweep', lambda seed, shape: agrees(seed, shape, 1)),
       seed=seeds(), shape=[(1, 1), (2, 2), (5, 4), (9, 6)], tries=40)
verify('Jacobi keeps 12 digits of all 7 values, where the columns have very different units',
       lambda name, most: (abs(routes[name] / exact - 1) < most).all() == (name == 'Jacobi'),
       slip=('trusts the library as much',
             lambda name, most: (abs(routes[name] / exact - 1) < most).all() == (name in routes)),
       name=list(routes), most=[1e-6, 1e-12])

# %% [markdown]
# ## The pseudoinverse: least squares with the SVD
#
# We want to solve $\mathbf{A}\mathbf{x} = \mathbf{b}$, but $\mathbf{A}$ has no inverse. For example:
#
# $$\begin{aligned} x_1 + 2 x_2 &= 3 \\ 2 x_1 + 4 x_2 &= 1 \end{aligned}$$
#
# The left side of the second equation is twice that of the first, but the right side is not, so there is no solution. We
# look for an $\mathbf{x}$ that makes the error $\|\mathbf{A}\mathbf{x} - \mathbf{b}\|$ as small as possible. If there are
# several, we want the shortest of them. Along the singular vectors this is easy. We write $\mathbf{x} =
# \mathbf{V}\mathbf{y}$ and $\mathbf{b} = \mathbf{U}\mathbf{c}$. Orthogonal matrices keep lengths, so
#
# ```{math}
# :label: pinv-split
# \|\mathbf{A}\mathbf{x} - \mathbf{b}\|^2 = \|\boldsymbol\Sigma\mathbf{y} - \mathbf{c}\|^2
# = \sum_{i \le r} (\sigma_i y_i - c_i)^2 + \sum_{i > r} c_i^2 ,
# ```
#
# The second sum does not depend on $\mathbf{x}$: it comes from the part of $\mathbf{b}$ that is perpendicular to the column
# space. The first sum becomes zero for $y_i = c_i / \sigma_i$, $i \le r$. The $y_i$ with $i > r$ do not occur in the
# error. We set them to zero, because $\|\mathbf{x}\|^2 = \sum_i y_i^2$ and we want the shortest $\mathbf{x}$. So the
# solution is $\mathbf{x} = \mathbf{A}^+\mathbf{b}$ with the **pseudoinverse**
#
# ```{math}
# :label: pinv-def
# \mathbf{A}^+ = \sum_{i=1}^{r} \frac{1}{\sigma_i}\, \mathbf{v}_i \mathbf{u}_i^\top = \mathbf{V}\boldsymbol\Sigma^+\mathbf{U}^\top .
# ```
#
# The $n \times m$ matrix $\boldsymbol\Sigma^+$ has $1/\sigma_1, \dots, 1/\sigma_r$ on its diagonal and zeros elsewhere.
#
# In code we need a cutoff, because rounding turns a singular value that should be zero into a tiny number. By
# {prf:ref}`cor-weyl`, this number is at most the norm of the rounding errors. The usual cutoff is $\max(m,
# n)\,\varepsilon\,\sigma_1$, where $\varepsilon$ is the distance from 1 to the next float:

# %%
def pinv(A):
    """The pseudoinverse (n, m) of A (m, n)."""
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    cutoff = max(A.shape) * np.finfo(sigma.dtype).eps * sigma.max()
    keep = sigma > cutoff
    return Vt[keep].T / sigma[keep] @ U[:, keep].T

# %%
C, b = np.array([[1, 2], [2, 4]]), np.array([3, 1])
x = pinv(C) @ b
print('pinv\n', pinv(C).round(3))
print('x =', x.round(3), ' Cx =', (C @ x).round(3), ' b =', b)

# %% [markdown]
# $\mathbf{C}\mathbf{x}$ is $(1, 2)$, as near to $\mathbf{b} = (3, 1)$ as possible. In practice you call `np.linalg.pinv`, or
# `np.linalg.lstsq` if you need only $\mathbf{x}$. In float32 give `rtol=None` to `np.linalg.pinv`, because its default cutoff
# lies below the rounding errors. Both functions agree, because there is only one shortest best solution:

# %%
print('pinv ', (np.linalg.pinv(C) @ b).round(3))
print('lstsq', np.linalg.lstsq(C, b)[0].round(3))

# %% [markdown]
# If the columns of $\mathbf{A}$ are independent, $\mathbf{A}^+ = (\mathbf{A}^\top\mathbf{A})^{-1}\mathbf{A}^\top$. If the
# rows are independent, $\mathbf{A}^+ = \mathbf{A}^\top(\mathbf{A}\mathbf{A}^\top)^{-1}$. In our example neither is the case,
# and $\mathbf{A}^\top\mathbf{A}$ has no inverse. But $\mathbf{A}^\top\mathbf{A} + \delta\mathbf{I}$ has one for
# each $\delta > 0$, and in the limit we obtain $\mathbf{A}^+$ for every matrix:
#
# ```{math}
# :label: pinv-tikhonov
# \mathbf{A}^+ = \lim_{\delta \to 0^+} (\mathbf{A}^\top\mathbf{A} + \delta\mathbf{I})^{-1}\mathbf{A}^\top .
# ```
#
# With $\delta > 0$, the factor $1/\sigma_i$ in {eq}`pinv-def` becomes $\sigma_i/(\sigma_i^2 + \delta)$. It is smaller than $1/\sigma_i$
# by the fraction $\delta/(\sigma_i^2 + \delta)$, which tends to zero with $\delta$. If $\delta$ is not small, the
# same formula is ridge regression.

# %% mystnb={"image": {"alt": "Left: the plane with a slanted line of all best solutions, a circle around the origin that touches it, and the touching point marked A⁺b; the dashed line of the row space goes through it. Right: the share that is missing against delta on logarithmic scales, three curves for three smallest singular values, each with slope one once delta is below the square of the singular value."}} tags=["hide-input"]
null = np.array([2, -1]) / 5**0.5
fig, (left, right) = panels(2, height=2.7)
left.plot(*(x[:, None] + null[:, None] * [-0.9, 0.8]), color='C0')
left.plot(*(norm(x) * circle), color=GREY, lw=1)
left.plot([0, 0.5], [0, 1], '--', color='C2', lw=1.2)
left.plot(*x, 'o', color='C1')
left.annotate('A⁺b', x, xytext=(-1, 15), textcoords='offset points', color='C1', ha='right')
left.annotate('all best\nsolutions', x + 0.5 * null, xytext=(3, 7), textcoords='offset points', color='C0')
left.annotate('row space', (0.5, 1), xytext=(0, 3), textcoords='offset points', color='C2', ha='center')
left.set(aspect='equal', xlabel='x₁', ylabel='x₂', xlim=(-0.75, 1.3), ylim=(-0.6, 1.25), xticks=[-0.5, 0, 0.5, 1],
         yticks=[-0.5, 0, 0.5, 1], title='A = (1 2; 2 4), b = (3, 1)')
delta = 10.0 ** np.linspace(-9, 0, 100)
for small, colour in (1, 'C0'), (0.1, 'C1'), (0.01, 'C2'):
    right.loglog(delta, delta / (small**2 + delta), color=colour)
    right.text(1e-9, 2.2e-9 / small**2, f'σᵣ = {small:g}', color=colour, rotation=38, rotation_mode='anchor')
right.set(xlabel='δ', title='share missing from A⁺', ylim=(1e-10, 5))
right.set(xticks=[1e-9, 1e-6, 1e-3, 1], yticks=[1e-9, 1e-6, 1e-3, 1]);

# %% [markdown] tags=["caption"]
# Left: all $\mathbf{x}$ with the smallest error lie on a line. $\mathbf{A}^+\mathbf{b}$ is the one nearest to the origin.
# Right: the share of $1/\sigma_r$ that is missing if $\delta\mathbf{I}$ is added. It is small only for $\delta$ far below
# $\sigma_r^2$.

# %% [markdown]
# The pseudoinverse can also be defined without the SVD, by four rules that need only products.
#
# ````{prf:theorem} Penrose
# :label: thm-penrose
# :class: dropdown
# For every $\mathbf{A}$ exactly one matrix $\mathbf{X}$ obeys four rules,
#
# ```{math}
# :label: pinv-penrose
# \begin{aligned}
# \mathbf{A}\mathbf{X}\mathbf{A} &= \mathbf{A}, \\
# \mathbf{X}\mathbf{A}\mathbf{X} &= \mathbf{X}, \\
# (\mathbf{A}\mathbf{X})^\top &= \mathbf{A}\mathbf{X}, \\
# (\mathbf{X}\mathbf{A})^\top &= \mathbf{X}\mathbf{A} ,
# \end{aligned}
# ```
#
# namely $\mathbf{X} = \mathbf{A}^+$.
# ````
#
# ```{prf:proof}
# :class: dropdown
# *Existence.* The vectors in {eq}`pinv-def` are orthonormal, so $\mathbf{A}\mathbf{A}^+ = \sum_{i \le r}
# \mathbf{u}_i\mathbf{u}_i^\top$ and $\mathbf{A}^+\mathbf{A} = \sum_{i \le r} \mathbf{v}_i\mathbf{v}_i^\top$. Both are
# symmetric, the projectors onto the column space and the row space, and they change neither the columns nor the rows of
# $\mathbf{A}$ and of $\mathbf{A}^+$.
#
# *Uniqueness.* Let $\mathbf{X}$ and $\mathbf{Y}$ obey all four. By the first rule for $\mathbf{Y}$, $\mathbf{A}\mathbf{X} =
# (\mathbf{A}\mathbf{Y}\mathbf{A})\mathbf{X} = (\mathbf{A}\mathbf{Y})(\mathbf{A}\mathbf{X})$. Transpose: by the third rule
# both factors are symmetric, so $\mathbf{A}\mathbf{X} = (\mathbf{A}\mathbf{X})(\mathbf{A}\mathbf{Y}) =
# (\mathbf{A}\mathbf{X}\mathbf{A})\mathbf{Y} = \mathbf{A}\mathbf{Y}$ by the first rule for $\mathbf{X}$. In the same way the
# first and the fourth rule give $\mathbf{X}\mathbf{A} = \mathbf{Y}\mathbf{A}$. Now the second rule, twice: $\mathbf{X} =
# \mathbf{X}\mathbf{A}\mathbf{X} = \mathbf{Y}\mathbf{A}\mathbf{X} = \mathbf{Y}\mathbf{A}\mathbf{Y} = \mathbf{Y}$.
#
# *No rule follows from the others.* If $\mathbf{A}$ has a rank $r \ge 1$ below $m$ and $n$, each of four changes of
# $\mathbf{A}^+$ breaks one rule and no other. Subtracting $\mathbf{v}_1\mathbf{u}_1^\top / \sigma_1$ breaks the first rule.
# Adding $\mathbf{v}_n\mathbf{u}_m^\top$ breaks the second, $\mathbf{v}_1\mathbf{u}_m^\top$ the third, and
# $\mathbf{v}_n\mathbf{u}_1^\top$ the fourth.
# ```
#
# ```{exercise} ★★ Pencil: the pseudoinverse of a product
# :label: pinv-factors
# For inverses $(\mathbf{B}\mathbf{C})^{-1} = \mathbf{C}^{-1}\mathbf{B}^{-1}$. Show with $\mathbf{B} = (1, 1)$ and
# $\mathbf{C} = (1, 0)^\top$ that this rule fails for pseudoinverses. Then show with {prf:ref}`thm-penrose` that it holds
# if the columns of $\mathbf{B}$ and the rows of $\mathbf{C}$ are independent.
# ```
#
# ```{solution-start} pinv-factors
# :class: dropdown
# ```
# $\mathbf{B}\mathbf{C} = 1$ is its own pseudoinverse. But $\mathbf{C}^+\mathbf{B}^+ = (1, 0) \cdot (\tfrac12, \tfrac12) =
# \tfrac12$. If the columns of $\mathbf{B}$ and the rows of $\mathbf{C}$ are independent, $\mathbf{B}^+\mathbf{B} =
# \mathbf{I} = \mathbf{C}\mathbf{C}^+$. So for $\mathbf{A} = \mathbf{B}\mathbf{C}$ and $\mathbf{X} =
# \mathbf{C}^+\mathbf{B}^+$ the products $\mathbf{A}\mathbf{X} = \mathbf{B}\mathbf{B}^+$ and $\mathbf{X}\mathbf{A} =
# \mathbf{C}^+\mathbf{C}$ are symmetric, and $\mathbf{A}\mathbf{X}\mathbf{A} = \mathbf{B}\mathbf{B}^+\mathbf{B}\mathbf{C}
# = \mathbf{A}$, likewise $\mathbf{X}\mathbf{A}\mathbf{X} = \mathbf{X}$.
# ```{solution-end}
# ```

# %% tags=["checks"]
sizes = {'tall': (6, 3, 3), 'wide': (3, 6, 3), 'square': (4, 4, 4), 'deficient': (6, 5, 2), 'zero': (3, 2, 0)}  # m, n, rank
examples = dict(kind=list(sizes), seed=seeds())

def example(kind, seed):
    m, n, rank = sizes[kind]
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))

def without_cutoff(a):
    u, sigma, vt = np.linalg.svd(a, full_matrices=False)
    keep = sigma > 0
    return vt[keep].T / sigma[keep] @ u[:, keep].T

def as_library(kind, seed, inverse):
    a = example(kind, seed)
    b = np.random.default_rng(seed + 1).normal(size=len(a))
    return (close(inverse(a), np.linalg.pinv(a)) and close(inverse(a), scipy.linalg.pinv(a))
            and close(inverse(a) @ b, np.linalg.lstsq(a, b)[0]))

verify('pinv is the pseudoinverse of numpy and scipy, and solves least squares',
       lambda kind, seed: as_library(kind, seed, pinv), **examples,
       slip=('inverts every singular value', lambda kind, seed: as_library(kind, seed, without_cutoff)))

def in_float32(kind, seed, library):
    a = example(kind, seed).astype(np.float32)
    return close(library(a), pinv(a), rtol=1e-3, atol=1e-3 * norm(pinv(a), 2))

verify('in float32 pinv is np.linalg.pinv with rtol=None',
       lambda kind, seed: in_float32(kind, seed, lambda a: np.linalg.pinv(a, rtol=None)),
       slip=('leaves the default cutoff', lambda kind, seed: in_float32(kind, seed, np.linalg.pinv)),
       kind=['tall', 'wide', 'deficient'], seed=seeds(), tries=60)

def special(kind, seed, form):
    a = example(kind, seed)
    return close(form(a), pinv(a))

def from_columns(a):
    return np.linalg.solve(a.T @ a, a.T)

def from_rows(a):
    return np.linalg.solve(a @ a.T, a).T

verify('independent columns or rows give the pseudoinverse by one inverse',
       lambda kind, seed: special(kind, seed, from_rows if kind == 'wide' else from_columns),
       slip=('divides by the trace', lambda kind, seed: special(kind, seed, lambda a: a.T / np.trace(a @ a.T))),
       kind=['tall', 'wide', 'square'], seed=seeds(), tries=60)

def is_shortest(seed, solution):  # among those that differ in the null space
    a, rng = example('deficient', seed), np.random.default_rng(seed + 2)
    steps = rng.normal(size=(50, 3)) @ np.linalg.svd(a)[2][2:]  # (50, 5)
    found = solution(a, rng.normal(size=6))
    return all(norm(found) < norm(found + step) for step in steps)

verify('A⁺b is the shortest of the best solutions',
       lambda seed: is_shortest(seed, lambda a, b: pinv(a) @ b), seed=seeds(),
       slip=('uses the first two columns alone',
             lambda seed: is_shortest(seed, lambda a, b: np.append(pinv(a[:, :2]) @ b, [0, 0, 0]))))

# %% tags=["checks"]
def broken(a, x):  # the numbers of the Penrose rules that x breaks
    pairs = (a @ x @ a, a), (x @ a @ x, x), (a @ x, (a @ x).T), (x @ a, (x @ a).T)
    return [i for i, pair in enumerate(pairs, 1) if not close(*pair)]

rng = np.random.default_rng(11)
D = rng.normal(size=(6, 2)) @ rng.normal(size=(2, 5))  # of rank 2
U, sigma, Vt = np.linalg.svd(D)
terms = {
    'A+': 0, 'A+ - v_1 u_1^T / sigma_1': np.outer(Vt[0], -U[:, 0] / sigma[0]),
    'A+ + v_5 u_6^T': np.outer(Vt[-1], U[:, -1]),
    'A+ + v_1 u_6^T': np.outer(Vt[0], U[:, -1]),
    'A+ + v_5 u_1^T': np.outer(Vt[-1], U[:, 0]),
}

def damped(a, delta):
    return np.linalg.solve(a.T @ a + delta * np.eye(a.shape[1]), a.T)

verify('A⁺ obeys all four rules',
       lambda kind, seed: not broken(example(kind, seed), pinv(example(kind, seed))), **examples,
       slip=('adds 0.001 to each squared singular value',
             lambda kind, seed: not broken(example(kind, seed), damped(example(kind, seed), 1e-3))))
verify('each of the four terms breaks the rule of its number and no other',
       lambda name, number: (broken(D, pinv(D) + terms[name]) == [number]) == (list(terms).index(name) == number),
       slip=('expects every rule to break', lambda name, number: (broken(D, pinv(D) + terms[name]) == [1, 2, 3, 4])
             == (list(terms).index(name) == number)),
       name=list(terms)[1:], number=[1, 2, 3, 4])

def falls_short(small, delta, share):  # relative, by how much
    G = np.outer(U[:, 0], Vt[0]) + small * np.outer(U[:, 1], Vt[1])  # (6, 5)
    error = norm(damped(G, delta) - pinv(G), 2) * small
    return close(error, share(small, delta))

verify('the damped inverse falls short by δ / (σ² + δ)',
       lambda small, delta: falls_short(small, delta, lambda s, d: d / (s**2 + d)),
       slip=('forgets to square', lambda small, delta: falls_short(small, delta, lambda s, d: d / (s + d))),
       small=[1, 0.1, 0.01], delta=[1e-1, 1e-3, 1e-5])

def product_rule(seed, m, rank, n):
    rng = np.random.default_rng(seed)
    B, C = rng.normal(size=(m, rank)), rng.normal(size=(rank, n))
    return close(pinv(B @ C), pinv(C) @ pinv(B))

verify('(BC)⁺ = C⁺B⁺ for independent columns of B and rows of C',
       lambda seed: product_rule(seed, 4, 2, 5),
       slip=('says so of independent rows of B and columns of C', lambda seed: product_rule(seed, 2, 4, 3)),
       seed=seeds(), tries=60)

# %% [markdown]
# ## Where it matters: sharpening a blurred photograph
#
# The inverse depends smoothly on the matrix, but the pseudoinverse can jump. For $e > 0$, the pseudoinverse of
# $\operatorname{diag}(1, e)$ is $\operatorname{diag}(1, 1/e)$. For $e = 0$, it is $\operatorname{diag}(1, 0)$. Such a jump
# occurs whenever an error raises the rank. The smaller the error, the larger the jump must be:
#
# ```{prf:theorem} The jump of the pseudoinverse
# :label: thm-pinv-jump
# If $\operatorname{rank}(\mathbf{A} + \mathbf{E}) > \operatorname{rank} \mathbf{A}$, then
# $\|(\mathbf{A} + \mathbf{E})^+\|_2 \ge 1 / \|\mathbf{E}\|_2$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# The row space of $\mathbf{A} + \mathbf{E}$ and the null space of $\mathbf{A}$ have dimensions whose sum exceeds $n$, so
# they share a unit vector $\mathbf{z}$. Then $(\mathbf{A} + \mathbf{E})\mathbf{z} = \mathbf{E}\mathbf{z}$. As $\mathbf{z}$
# lies in the row space, $\mathbf{z} = (\mathbf{A} + \mathbf{E})^+(\mathbf{A} + \mathbf{E})\mathbf{z} = (\mathbf{A} +
# \mathbf{E})^+\mathbf{E}\mathbf{z}$, and $1 \le \|(\mathbf{A} + \mathbf{E})^+\|_2\, \|\mathbf{E}\|_2$.
# ```
#
# So the choice of the cutoff can change the computed pseudoinverse completely. The usual cutoff allows only for rounding errors.
# Suppose that the entries of an $m \times n$ matrix were measured with independent errors of standard deviation $s$. The
# spectral norm of the matrix of errors is then near $s(\sqrt m + \sqrt n)$ for large $m$ and $n$. By {prf:ref}`cor-weyl`, a singular value that
# should be zero may be as large as this norm. So we put the cutoff a little above it:

# %%
rng = np.random.default_rng(15)
m, n, s = 60, 40, 0.01
low = rng.normal(size=(m, 5)) @ rng.normal(size=(5, n))  # rank 5
measured = low + s * rng.normal(size=(m, n))
sigma = np.linalg.svd(measured)[1]
cutoff = 1.1 * s * (m**0.5 + n**0.5)                    # 10 % above the norm
print('rank by the usual cutoff:', np.linalg.matrix_rank(measured))
print('rank by the new cutoff:', (sigma > cutoff).sum())

# %% [markdown]
# We put a photograph $\mathbf{X}$ out of focus, and try to sharpen it with the pseudoinverse. The blur replaces each
# pixel by a sum of itself and its neighbours with Gaussian weights. A matrix $\mathbf{K}$ takes these sums along the columns of the
# picture, and a matrix $\mathbf{L}$ along its rows, which gives $\mathbf{K}\mathbf{X}\mathbf{L}^\top$. The camera rounds
# this to $2^8 = 256$ levels of grey, and stores the result $\mathbf{B}$:

# %%
def blur(n, width):
    """The weights (n, n) of a blur of n pixels, width in pixels."""
    i = np.arange(n)
    weights = np.exp(-(i[:, None] - i) ** 2 / (2 * width**2))
    return weights / (width * np.sqrt(2 * np.pi))

X = photograph('flower').mean(2)[60:380, 60:540]
X = X.reshape(160, 2, 240, 2).mean((1, 3))           # half the size
K, L = blur(160, 1.5), blur(240, 1.5)
B = np.round(255 * K @ X @ L.T) / 255                # stored in 8 bits

# %% [markdown]
# As a map of all $160 \cdot 240 = 38\,400$ pixels, the blur is a matrix with more than a billion entries. We need not form
# it. If $\mathbf{K}\mathbf{v} = \sigma\mathbf{u}$ and $\mathbf{L}\mathbf{v}' = \sigma'\mathbf{u}'$, the blur maps the
# picture $\mathbf{v}\mathbf{v}'^\top$ to $\sigma\sigma'\,\mathbf{u}\mathbf{u}'^\top$. So its singular values are the
# products $\sigma\sigma'$. We divide coordinates by those above a cutoff $\tau$ and set the others to zero:

# %%
U_K, sigma_K, Vt_K = np.linalg.svd(K)
U_L, sigma_L, Vt_L = np.linalg.svd(L)
stretch = np.outer(sigma_K, sigma_L)                 # all products (160, 240)
c = U_K.T @ B @ U_L                                  # coordinates of B

def sharpen(tau):
    y = np.where(stretch > tau, c / stretch, 0)
    return Vt_K.T @ y @ Vt_L

def error(picture):                                  # root of the mean square
    return 255 * np.sqrt(((picture - X) ** 2).mean())

# %% [markdown]
# We try 60 cutoffs, and compare each result with the true picture:

# %%
taus = np.geomspace(1e-5, 0.5, 60)
errors = np.array([error(sharpen(tau)) for tau in taus])
best = taus[errors.argmin()]
print(f'blurred: error {error(B):.1f} grey levels')
print('no cutoff: error', between(error(sharpen(0)), 1e6, 1e12))
print(f'best cutoff {best:.3f}: error {errors.min():.2f},',
      f'keeps {(stretch > best).mean():.0%} of the singular values')

# %% mystnb={"image": {"alt": "Four pictures of a dahlia: blurred; restored without a cutoff, nothing but a grey pattern with black and white dots; restored with the best cutoff, its petals clear again, with a faint ripple; the true photograph, a little sharper and without the ripple."}} tags=["hide-input"]
fig, axes = panels(2, 2, height=2.1)
pictures = {'blurred, 8 bits': B, 'all σ inverted': sharpen(0),
            f'σ > {best:.3f} inverted': sharpen(best), 'the true picture': X}
for ax, (name, picture) in zip(axes.flat, pictures.items(), strict=True):
    show_image(ax, picture.clip(0, 1), name, vmin=0, vmax=1)

# %% [markdown] tags=["caption"]
# The blurred photograph, sharpened by pseudoinverses without and with cutoff. If every singular value is
# inverted, the rounding to 256 levels becomes noise that covers the picture. If only those above 0.022 are inverted, the
# flower is nearly as sharp as it truly is.

# %% [markdown]
# Why is some cutoff best? Rounding to whole levels of grey adds noise with the variance $\int_{-1/2}^{1/2} e^2\,de = 1/12$. If we keep a singular value
# $\sigma_i$, this noise comes into the result, with its variance divided by $\sigma_i^2$. If we drop $\sigma_i$, we lose the
# coordinate $y_i$ of the true picture. So the expected squared error is the sum of $y_i^2$ over what we drop, plus the sum
# of $1/(12
# \sigma_i^2)$ over what we keep. We compare this formula with the measured errors:

# %%
y = Vt_K @ X @ Vt_L.T                                # true coordinates
noise = 1 / 12 / 255**2 / stretch**2
dropped = [(y[stretch <= tau] ** 2).sum() for tau in taus]
brought = [noise[stretch > tau].sum() for tau in taus]
formula = 255 * np.sqrt(np.add(dropped, brought) / X.size)
print(f'largest difference: {abs(formula / errors - 1).max():.1%}')
worse = taus[(errors > error(B)) & (taus < best)].max()
print(f'worse than the blurred picture: cutoffs up to {worse:.4f}')

# %% mystnb={"image": {"alt": "Error in grey levels against the cutoff, both logarithmic: a valley at a cutoff of about 0.02; to the left the error grows along a straight line, to the right it rises slowly and ends just above the level of the blurred picture. A thin dashed line, the formula, lies on the measured line."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.6))
ax.loglog(taus, errors, lw=3)
ax.loglog(taus, formula, '--', lw=1.2)
ax.axhline(error(B), color=GREY, ls=':', lw=1)
ax.text(1.2e-5, 0.55 * error(B), 'error of the blurred picture', color=GREY)
ax.text(3e-4, 900, 'measured', color='C0')
ax.text(3e-4, 350, 'and by the formula', color='C1')
ax.set(xlabel='cutoff τ', ylabel='error in grey levels', ylim=(3, None));

# %% [markdown] tags=["caption"]
# The error of the sharpened picture for each cutoff. A cutoff near 0.02 is best. Lower cutoffs let in more noise, and below
# about
# 0.005 the result is worse than the blurred picture. Higher cutoffs lose more detail, and the highest are worse, too.

# %% [markdown]
# ```{exercise} ★★ Program: a cutoff without the truth
# :label: pinv-discrepancy
# We found the best cutoff with the true picture. Without it, the size of the noise helps: a solution that fits the data
# better than the noise allows has fitted the noise. Write `careful(a, b, s)`. It tries the solutions with the $k$ largest
# singular values, $k = 0, 1, \dots$, and returns the first with $\|\mathbf{A}\mathbf{x} - \mathbf{b}\|^2 \le m s^2$, where
# $s$ is the standard deviation of the noise in each of the $m$ entries of $\mathbf{b}$. If there is none, it returns the
# last.
# ```

# %%
def careful(a, b, s):
    """The solution for a (m, n) and b (m,) with noise s >= 0: an (n,) array.

    The positive singular values of a are different; a may have any rank,
    and after its last positive singular value k ends.
    careful(np.diag([2., 1.]), np.array([4., 1.]), 1.0) is [2, 0].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_trying(a, b, s):  # least squares among the combinations of the first k right singular vectors
    v = np.linalg.svd(a)[2].T
    for k in range(np.linalg.matrix_rank(a) + 1):
        x = v[:, :k] @ np.linalg.lstsq(a @ v[:, :k], b)[0]
        if ((a @ x - b) ** 2).sum() <= len(b) * s**2:
            break
    return x

def apart(a):  # whether the singular values are clearly different or zero
    sigma = np.append(np.linalg.svd(a)[1], 0)
    gaps = -np.diff(sigma[:np.linalg.matrix_rank(a) + 1])
    return (gaps > 1e-3 * sigma[0]).all()

def clear_noise(a, b):  # such that no residual equals its bound up to rounding
    if len(b) == 1:  # then the first residual can equal it without rounding
        return on(abs(float(b[0]))) | scalars(0, 10)
    u, sigma, _ = np.linalg.svd(a)
    squares = (u.T @ b) ** 2
    residuals = np.array([squares[k:].sum() for k in range(len(sigma) + 1)])
    return scalars(0, 10).filter(lambda s: s == 0 or (abs(residuals - len(b) * s**2) > 1e-9 * (1 + b @ b)).all())

cases = dict(
    a=matrices((1, 5), (1, 4), edges=True).filter(apart),
    b=lambda a: vectors(len(a), edges=True),
    s=clear_noise,
)
grade(careful, by_trying, **cases)

# %% [markdown]
# ```{solution-start} pinv-discrepancy
# :class: dropdown
# ```
# By {eq}`pinv-split`, after $k$ terms the squared residual is $\|\mathbf{b}\|^2 - c_1^2 - \dots - c_k^2$, so we need no
# solution to choose $k$. The code adds it up from its other end, $c_m^2 + \dots + c_{k+1}^2$, since a difference of large
# numbers loses digits. This is Morozov's discrepancy principle {cite}`hansen2010discrete`. The tempting wrong answer
# forgets the factor $m$ and fits the noise. Another one never tries $k = 0$, one forgets the noise and takes all terms, and
# one compares with $s$ in place of $s^2$. On the photograph the principle comes within a tenth of the smallest error.

# %% jupyter={"source_hidden": true}
def careful_solution(a, b, s):
    u, sigma, vt = np.linalg.svd(a)
    c = u.T @ b
    r = np.linalg.matrix_rank(a)
    residual = (c[::-1] ** 2).cumsum()[::-1][:r]
    enough = residual <= len(b) * s**2
    k = enough.argmax() if enough.any() else r
    return vt[:k].T @ (c[:k] / sigma[:k])

def fits_the_noise(a, b, s):
    return careful_solution(a, b, s / len(b) ** 0.5)

def without_squares(a, b, s):
    return careful_solution(a, b, s**0.5)

def all_terms(a, b, s):
    return np.linalg.pinv(a) @ b

def at_least_one_term(a, b, s):
    u, sigma, vt = np.linalg.svd(a)
    x = np.zeros(a.shape[1])
    for k in range(np.linalg.matrix_rank(a)):
        x = x + vt[k] * (u[:, k] @ b) / sigma[k]
        if ((a @ x - b) ** 2).sum() <= len(b) * s**2:
            break
    return x

assert grade(careful_solution, by_trying, **cases)
assert not grade(fits_the_noise, by_trying, **cases)
assert not grade(without_squares, by_trying, **cases)
assert not grade(all_terms, by_trying, **cases)
assert not grade(at_least_one_term, by_trying, **cases)

# %% jupyter={"source_hidden": true}
order = np.argsort(-stretch.ravel(), kind='stable')
residual = (c**2).sum() - np.append(0, c.ravel()[order] ** 2).cumsum()
k = np.argmax(residual <= X.size / (255**2 * 12))
found = error(sharpen(stretch.ravel()[order[k]]))
print(f'photograph: error {found:.2f}, the best {errors.min():.2f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ````{exercise} ★★ Experiment: an inverse by products alone
# :label: svd-newton
# Newton's iteration for the inverse of $\mathbf{A}$ needs only products:
#
# ```{math}
# :label: pinv-newton
# \mathbf{X}_{t+1} = \mathbf{X}_t (2\mathbf{I} - \mathbf{A}\mathbf{X}_t), \qquad \mathbf{X}_0 = \mathbf{A}^\top /
# \|\mathbf{A}\|_2^2 ,
# ```
#
# With the singular vectors of $\mathbf{A}$, each $\mathbf{X}_t$ is a sum of terms $x_i\mathbf{v}_i\mathbf{u}_i^\top$, whose numbers $x_i$ change
# from step to step. What does a step do to $1 - \sigma_i x_i$?
# Take two $6 \times 5$ matrices: $\mathbf{A}_5$ of rank 5 with $\kappa = 30$, and $\mathbf{A}_4$ of rank 4, with positive
# singular values between 1 and 1/3. Predict for each, after 20 and after 100 steps, whether the error of $\mathbf{X}_t$
# relative to $\mathbf{A}^+$ is below one percent. Return four truth values: $\mathbf{A}_5$ after 20 steps and after 100,
# $\mathbf{A}_4$ after 20 and after 100. Then run it and explain.
# ````

# %%
def predicted_small():
    """Whether the relative error is below 0.01: a list of four bools.

    In the order A_5 after 20 steps, A_5 after 100, A_4 after 20, A_4
    after 100; [True, True, True, True] says that all errors are small.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def newton(a, steps):
    """The relative error of each iterate, in the spectral norm."""
    x, true, found = a.T / norm(a, 2) ** 2, pinv(a), []
    for _ in range(steps + 1):
        found.append(norm(x - true, 2) / norm(true, 2))
        x = x @ (2 * np.eye(len(a)) - a @ x)
    return np.array(found)

rng = np.random.default_rng(13)
left_vectors, right_vectors = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (6, 5))
A_5 = left_vectors[:, :5] * np.geomspace(1, 1 / 30, 5) @ right_vectors.T
A_4 = left_vectors[:, :4] * [1, 0.7, 0.5, 1 / 3] @ right_vectors[:, :4].T

def measured_small():
    return [newton(a, 100)[t] < 0.01 for a in (A_5, A_4) for t in (20, 100)]

grade(predicted_small, measured_small, [()])

# %% [markdown]
# ```{solution-start} svd-newton
# :class: dropdown
# ```
# The number $e_i = 1 - \sigma_i x_i$ becomes $1 - \sigma_i x_i (2 - \sigma_i x_i) = e_i^2$. It starts at $1 -
# \sigma_i^2/\sigma_1^2 < 1$, so for about $2\log_2\kappa$ steps little happens, and then the number of right digits
# doubles with each step. But for $\sigma_i = 0$ a step makes $x_i(2 - 0) = 2x_i$. In exact arithmetic $x_i$ is zero there
# and stays zero. On a computer it is a rounding error of about $10^{-16}$, and it *doubles* in every step. After 20 steps
# it is still tiny, and after 100 it has grown by $2^{80}$ more. An iteration has a cutoff, too: the number of its steps.

# %% jupyter={"source_hidden": true}
assert grade(lambda: [True, True, True, False], measured_small, [()])
for wrong in (
    [True] * 4,
    [True, True, False, False],
    [False, True, True, True],
    [True, False, True, False],
):
    assert not grade(lambda: wrong, measured_small, [()])
regular, deficient = newton(A_5, 100), newton(A_4, 100)
first = np.argmax(regular < 0.01)
print(
    f'rank 5: an error of {regular[first]:.2e} '
    f'after {first} steps, then {regular[first + 1]:.2e}'
)
print(
    'rank 4: error',
    between(deficient[20], 0, 1e-6),
    'after 20 steps,',
    between(deficient[100], 1e3, 1e20),
    'after 100',
)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def jumps(seed, rank, factor):  # (6, 5), disturbed by a little noise
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, rank)) @ rng.normal(size=(rank, 5))
    E = 1e-3 * rng.normal(size=(6, 5))
    return norm(pinv(A + E), 2) >= factor / norm(E, 2)

verify('the pseudoinverse jumps where the rank rises', lambda seed, rank: jumps(seed, rank, 1),
       slip=('says so where the rank stays', lambda seed, rank: jumps(seed, rank + 5, 1)), seed=seeds(), rank=[0, 1, 3, 4])
verify('the bound of the jump is attained',
       lambda e: close(norm(pinv(np.diag([1, 0]) + np.diag([0, e])), 2), 1 / e),
       slip=('makes it twice as large', lambda e: close(norm(pinv(np.diag([1, 0]) + np.diag([0, e])), 2), 2 / e)),
       e=[0.5, 1e-2, 1e-6])

def norm_of_noise(seed, factor):  # between 0.85 and 1.1 times; factor 1.4 or 0.7 is out
    E = np.random.default_rng(seed).normal(size=(60, 40))
    return bool(0.85 < norm(E, 2) / (factor * (60**0.5 + 40**0.5)) < 1.1)

verify('the norm of a noise matrix is near s (√m + √n)', lambda seed: norm_of_noise(seed, 1),
       slip=('takes 1.4 times as much', lambda seed: norm_of_noise(seed, 1.4)), seed=seeds(), tries=60)

def blurs_as(seed, sides):  # 12 of the products are singular values of the whole map, with their vectors
    i, j = np.random.default_rng(seed).integers(0, 40, 2)
    x = np.outer(Vt_K[i], Vt_L[j])
    return close(K @ x @ L.T, sides(sigma_K[i], sigma_L[j]) * np.outer(U_K[:, i], U_L[:, j]))

verify('the singular values of the blur are the products', lambda seed: blurs_as(seed, lambda a, b: a * b),
       slip=('adds the two factors', lambda seed: blurs_as(seed, lambda a, b: a + b)), seed=seeds(), tries=30)

def predicts(share, levels):  # of the variance of a rounding error
    again = 255 * np.sqrt((np.array(dropped) + share * 12 * np.array(brought)) / X.size)
    return bool(abs(again / errors - 1).max() < levels)

verify('the error of each cutoff is the sum of lost detail and noise', lambda levels: predicts(1 / 12, levels),
       slip=('takes 1/6 for the variance of rounding', lambda levels: predicts(1 / 6, levels)), levels=[0.04, 0.1])

def squares(t, power):  # the misfit of the smallest singular value of A_5, read off the error
    found = newton(A_5, 12)
    return close(found[t + 1], found[t] ** power, rtol=1e-6)

verify('a step of Newton squares the error', lambda t: squares(t, 2),
       slip=('says that it halves the digits that are missing', lambda t: squares(t, 1.5)), t=[4, 8, 11])

# %% [markdown]
# ## Summary
#
# Every matrix maps some perpendicular unit vectors $\mathbf{v}_i$ to perpendicular vectors $\sigma_i\mathbf{u}_i$, so it
# turns or mirrors, stretches, and turns or mirrors again: $\mathbf{A} = \mathbf{U}\boldsymbol\Sigma\mathbf{V}^\top$. The singular values show
# its rank, three of its norms and its condition number, and small errors of the matrix change them little. The pseudoinverse
# divides by the singular values above a cutoff, and gives the shortest least-squares solution; with measured data, the
# cutoff must follow from the size of the noise.
#
# **Further reading.** {cite}`trefethen1997numerical`, lectures 4 and 5, is the clearest introduction.
# {cite}`golub2013matrix` is the reference for algorithms, and {cite}`stewart1993early` tells the history.
# {cite}`penrose1955generalized` is short. {cite}`stewart1977perturbation` treats errors of pseudoinverses,
# and {cite}`hansen2010discrete` is for readers who want to solve problems like the blurred photograph.
