# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Singular value decomposition and the pseudoinverse
#
# - **Question.** What does a matrix do when it is watched along the right axes, and how much of it can be undone?
# - **You need** orthonormal bases and rank from [Norms](../linear_algebra/norms.ipynb), and one theorem: a symmetric matrix
#   has an orthonormal basis of eigenvectors, from [Eigenvalue decomposition](../linear_algebra/eigendecomposition.ipynb).
# - **You build** an SVD out of plane rotations, the best approximation of every rank, principal components, the
#   pseudoinverse, and a photograph sharpened by it.
# - **Time** 8 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %%

import matplotlib.pyplot as plt
import mpmath
import numpy as np
import scipy.linalg
from scipy.fft import dctn
from scipy.spatial.transform import Rotation
from sklearn.decomposition import PCA

from nbutils.cases import seeds
from nbutils.checks import below, between, close, grade, verify
from nbutils.data import digits, photograph
from nbutils.figures import GREY, label_lines, panels, show_image
from nbutils.timing import seconds

plt.style.use('nbutils.book')

# %% [markdown]
# ## The grid that stays square
#
# Print a grid of squares on a sheet of rubber and pull. The lines stay straight, but the squares become slanted. Turn the
# sheet before printing and pull in the same way, and the slant is another one. After a turn by 90 degrees the two families
# of lines have changed places, and the slant has changed its sign. So somewhere on the way it was zero: one grid of squares
# becomes a grid of *rectangles*. Watched along this grid, the map does nothing but stretch. That such a grid exists for
# every linear map, in every dimension, is the most useful theorem of this chapter.
#
# ```{prf:theorem} Singular value decomposition
# :label: thm-svd
# Let $\mathbf{A}$ be a real $m \times n$ matrix of rank $r$. There are orthogonal matrices $\mathbf{U}$ ($m \times m$) and
# $\mathbf{V}$ ($n \times n$) and numbers $\sigma_1 \ge \dots \ge \sigma_r > 0$ such that
#
# $$\mathbf{A} = \mathbf{U} \boldsymbol{\Sigma} \mathbf{V}^\top = \sum_{i=1}^{r} \sigma_i \mathbf{u}_i \mathbf{v}_i^\top ,$$
#
# where the $m \times n$ matrix $\boldsymbol\Sigma$ has the $\sigma_i$ on its diagonal and zeros elsewhere. These *singular
# values* are unique: their squares are the nonzero eigenvalues of $\mathbf{A}^\top\mathbf{A}$, and also of
# $\mathbf{A}\mathbf{A}^\top$.
# ```
#
# ```{prf:proof}
# $\mathbf{A}^\top\mathbf{A}$ is symmetric, so it has orthonormal eigenvectors $\mathbf{v}_1, \dots, \mathbf{v}_n$ with
# eigenvalues $\lambda_i$. Their images are at right angles, and the eigenvalues are the squares of their lengths:
#
# $$(\mathbf{A}\mathbf{v}_i) \cdot (\mathbf{A}\mathbf{v}_j) = \mathbf{v}_i^\top \mathbf{A}^\top\mathbf{A}\, \mathbf{v}_j
# = \lambda_j\, \mathbf{v}_i \cdot \mathbf{v}_j , \qquad \|\mathbf{A}\mathbf{v}_i\|^2 = \lambda_i \ge 0 .$$
#
# Number them so that $\lambda_1 \ge \dots \ge \lambda_n$ and put
# $\sigma_i = \sqrt{\lambda_i} = \|\mathbf{A}\mathbf{v}_i\|$. The images with $\sigma_i > 0$ are a basis of the column
# space, so there are $r$ of them. Let $\mathbf{u}_i = \mathbf{A}\mathbf{v}_i / \sigma_i$ for $i \le r$ and complete these
# orthonormal vectors to a basis of $\mathbb{R}^m$. Then $\mathbf{A}\mathbf{v}_i = \sigma_i \mathbf{u}_i$ for $i \le r$ and
# $\mathbf{A}\mathbf{v}_i = \mathbf{0}$ for $i > r$. Column by column this says
# $\mathbf{A}\mathbf{V} = \mathbf{U}\boldsymbol\Sigma$; multiply by $\mathbf{V}^\top = \mathbf{V}^{-1}$ from the right.
#
# *Uniqueness.* Any such factors give $\mathbf{A}^\top\mathbf{A} = \mathbf{V} (\boldsymbol\Sigma^\top\boldsymbol\Sigma)
# \mathbf{V}^\top$ and $\mathbf{A}\mathbf{A}^\top = \mathbf{U} (\boldsymbol\Sigma\boldsymbol\Sigma^\top) \mathbf{U}^\top$,
# with $\sigma_1^2, \dots, \sigma_r^2$ and zeros on the two diagonals.
# ```
#
# The vectors are less unique: $(\mathbf{u}_i, \mathbf{v}_i)$ may be replaced by $(-\mathbf{u}_i, -\mathbf{v}_i)$, and where
# singular values coincide, by any rotation of their space. Libraries choose the signs as they like, so before we draw
# anything we choose our own.

# %%
def with_signs(u, sigma, vt):  # the largest entry of each v_i positive
    rows = np.arange(len(sigma))
    sign = np.sign(vt[rows, abs(vt[rows]).argmax(1)])
    return u[:, rows] * sign, sigma, vt[rows] * sign[:, None]

for A in np.random.default_rng(16).normal(size=(9, 5, 4)):
    u, sigma, vt = with_signs(*np.linalg.svd(A))
    assert close(u * sigma @ vt, A) and (vt.max(1) > -vt.min(1)).all()
M = np.array([[1.2, 0.2], [1.0, 1.1]])
u, sigma, vt = with_signs(*np.linalg.svd(M))
stages = [np.eye(2), vt, np.diag(sigma) @ vt, u @ np.diag(sigma) @ vt]
print('turn, stretch, turn is the matrix:', close(stages[-1], M))
print(f'det V = {np.linalg.det(vt):.0f}, det U = {np.linalg.det(u):.0f}')

# %% mystnb={"figure": {"caption": "A linear map turns one grid of squares, along the $\\mathbf{v}_i$, into a grid of rectangles along the $\\mathbf{u}_i$: a turn, a stretch by the $\\sigma_i$, and a turn."}, "image": {"alt": "Four panels. A circle with a slanted square grid; the same turned upright; stretched to an ellipse with a grid of rectangles; the ellipse and its rectangles turned again."}} tags=["hide-input"]
t = np.linspace(0, 2 * np.pi, 361)
circle = np.stack([np.cos(t), np.sin(t)])  # (2, 361)
ends = np.array([[[k, k], [-1.5, 1.5]] for k in (-1, 0, 1)])  # (3, 2, 2)
lines = np.concatenate([ends, ends[:, ::-1]])  # (6, 2, 2): x, y of ends
titles = ('before', 'Vᵀ turns', 'Σ stretches', 'U turns')
fig, axes = panels(4, height=1.9, sharex=True, sharey=True)
for ax, stage, title in zip(axes, stages, titles, strict=True):
    for line in lines:
        ax.plot(*(stage @ vt.T @ line), color=GREY, lw=0.6, alpha=0.7)
    ax.fill(*(stage @ circle), color='C0', alpha=0.25)
    for v, color in zip(vt, ('C1', 'C2'), strict=True):
        ax.annotate('', stage @ v, (0, 0), arrowprops=dict(
            arrowstyle='-|>', color=color, lw=1.8, shrinkA=0, shrinkB=0))
    ax.set(aspect='equal', title=title, xlim=(-2.6, 2.6), ylim=(-2.6, 2.6))
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)

# %% [markdown]
# Nearly everything one may ask about a matrix can now be read off.
#
# - **Four subspaces.** $\mathbf{u}_1, \dots, \mathbf{u}_r$ span the column space and $\mathbf{v}_1, \dots, \mathbf{v}_r$
#   the row space. The other $\mathbf{v}_i$ span the null space of $\mathbf{A}$ and the other $\mathbf{u}_i$ that of
#   $\mathbf{A}^\top$. In each of the two spaces $\mathbb{R}^n$ and $\mathbb{R}^m$ the two are at right angles and together
#   fill it.
# - **Sizes.** $\|\mathbf{A}\|_2 = \sigma_1$, and $\|\mathbf{A}\|_F^2 = \operatorname{tr}\mathbf{A}^\top\mathbf{A} = \sum_i
#   \sigma_i^2$. If $m = n$, $|\det\mathbf{A}| = \prod_i \sigma_i$, the factor of volumes. The condition number is
#   $\kappa = \sigma_1 / \sigma_n$, the longest axis of the ellipse over the shortest.
# - **The nuclear norm** $\|\mathbf{A}\|_{\text{nuc}} = \sum_i \sigma_i$ obeys the triangle rule, as Norms promised. For
#   every $\mathbf{Q}$ with $\|\mathbf{Q}\|_2 \le 1$, since $\mathbf{u}_i^\top\mathbf{Q}\mathbf{v}_i \le 1$,
#
# ```{math}
# :label: svd-nuclear
# \operatorname{tr}(\mathbf{Q}^\top\mathbf{A}) = \sum_{i=1}^r \sigma_i\, \mathbf{u}_i^\top \mathbf{Q}\, \mathbf{v}_i \le \sum_{i=1}^r \sigma_i ,
# ```
#
# with equality at $\mathbf{Q} = \sum_{i \le r} \mathbf{u}_i\mathbf{v}_i^\top$, whose norm is 1. So
# $\|\mathbf{A}\|_{\text{nuc}}$ is the maximum over $\mathbf{Q}$ of functions linear in $\mathbf{A}$, and the maximum of a
# sum is at most the sum of the maxima. In the language of Norms, nuclear and spectral norm are dual to each other, as
# $\ell_1$ and $\ell_\infty$ are.

# %%
def rank_two(seed):  # (5, 4)
    rng = np.random.default_rng(seed)
    return rng.normal(size=(5, 2)) @ rng.normal(size=(2, 4))

def subspaces(seed, r):  # as if the rank were r
    A = rank_two(seed)
    u, _, vt = np.linalg.svd(A)
    row, null, column, left = vt[:r].T, vt[r:].T, u[:, :r], u[:, r:]
    return (close(A @ null, np.zeros((5, 4 - r)))
            and close(A.T @ left, np.zeros((4, 5 - r)))
            and close(A @ row @ row.T, A) and close(column @ column.T @ A, A))

def dual(seed, norm):  # tr QᵀA against |Q|₂ |A|, with equality for one Q
    A, Q = rank_two(seed), np.random.default_rng(seed).normal(size=(5, 4))
    u, sigma, vt = np.linalg.svd(A)
    best = np.trace((u[:, :2] @ vt[:2]).T @ A)
    return (abs(np.trace(Q.T @ A)) <= np.linalg.norm(Q, 2) * norm(sigma)
            and close(best, norm(sigma)))

verify('four subspaces', lambda seed: subspaces(seed, 2),
       control=lambda seed: subspaces(seed, 1), seed=seeds())
verify('spectral and nuclear norm are dual', lambda seed: dual(seed, np.sum),
       control=lambda seed: dual(seed, np.linalg.norm), seed=seeds())

# %%
def sizes_of(seed, norm):  # of a square matrix, from its singular values
    A = np.random.default_rng(seed).normal(size=(4, 4))
    sigma = np.sqrt(np.linalg.eigvalsh(A @ A.T)[::-1])
    return close([sigma[0], norm(sigma), sigma.prod(), sigma[0] / sigma[-1]],
                 [np.linalg.norm(A, 2), np.linalg.norm(A),
                  abs(np.linalg.det(A)), np.linalg.cond(A)])

verify('two norms, determinant and condition number from the σᵢ',
       lambda seed: sizes_of(seed, np.linalg.norm), tries=100,
       control=lambda seed: sizes_of(seed, np.sum), seed=seeds())

# %% [markdown]
# For a square matrix, {eq}`svd-nuclear` has a geometric twin. Insert $\mathbf{V}^\top\mathbf{V}$ between the factors:
#
# ```{math}
# :label: svd-polar
# \mathbf{A} = (\mathbf{U}\mathbf{V}^\top)(\mathbf{V}\boldsymbol\Sigma\mathbf{V}^\top) = \mathbf{Q}\mathbf{P}
# ```
#
# This *polar decomposition* is the matrix version of $z = e^{i\varphi} |z|$: first a stretch along perpendicular axes,
# $\mathbf{P}$ symmetric with eigenvalues $\sigma_i \ge 0$, then an orthogonal $\mathbf{Q}$. And $\mathbf{Q}$ is the
# *nearest* orthogonal matrix: for any orthogonal $\mathbf{Q}'$, $\|\mathbf{A} - \mathbf{Q}'\|_F^2 = \|\mathbf{A}\|_F^2 -
# 2\operatorname{tr}(\mathbf{Q}'^\top\mathbf{A}) + n$, and the trace is largest at $\mathbf{U}\mathbf{V}^\top$. That is how
# a rotation matrix spoilt by rounding or by training is repaired.

# %%
def polar(A):
    u, sigma, vt = np.linalg.svd(A)
    return u @ vt, vt.T * sigma @ vt

def nearest(seed, orthogonal):  # nearer than 200 turned and 4 mirrored ones?
    A = np.random.default_rng(seed).normal(size=(4, 4))
    S = np.random.default_rng(seed + 1).normal(size=(200, 4, 4)) / 3
    Q = orthogonal(A)
    turned_ones = Q @ scipy.linalg.expm(S - S.swapaxes(1, 2))  # (200, 4, 4)
    axes = np.linalg.eigh(Q.T @ A + A.T @ Q)[1].T
    mirrored = [Q - 2 * np.outer(Q @ axis, axis) for axis in axes]
    others = np.concatenate([turned_ones, mirrored])
    gaps = np.linalg.norm(A - others, axis=(1, 2))
    return np.linalg.norm(A - Q) < gaps.min()

A = np.random.default_rng(1).normal(size=(4, 4))
assert close(polar(A), scipy.linalg.polar(A))
verify('U Vᵀ is the nearest orthogonal matrix',
       lambda seed: nearest(seed, lambda A: polar(A)[0]), tries=50,
       control=lambda seed: nearest(seed, lambda A: np.linalg.qr(A)[0]),
       seed=seeds())

# %% [markdown]
# ```{exercise} ★★ Turn one cloud onto another
# :label: svd-kabsch
# Points $\mathbf{x}_i$ of a molecule were measured again, turned and with errors, as $\mathbf{y}_i$, $i = 1, \dots, n$ in
# $\mathbb{R}^3$. Which *rotation* $\mathbf{R}$ makes $\sum_i \|\mathbf{R}\mathbf{x}_i - \mathbf{y}_i\|^2$ least? Derive it
# from {eq}`svd-nuclear` and write `align(x, y)`, where the points are rows. A mirror image is no answer:
# $\det\mathbf{R} = +1$.
# ```

# %%
def align(x, y):  # (n, 3), (n, 3) -> (3, 3)
    raise NotImplementedError('your turn')

# %%
def by_scipy(x, y):
    return Rotation.align_vectors(y, x)[0].as_matrix()

rng = np.random.default_rng(3)
turns = Rotation.random(3, rng=4).as_matrix()
clouds = rng.normal(size=(3, 7, 3))  # (cases, n, 3)
mirror = ([1, 1, 1], [1, 1, 1], [1, 1, -1])
cases = [(x, x * flip @ turn.T + 0.1 * rng.normal(size=x.shape))
         for x, turn, flip in zip(clouds, turns, mirror, strict=True)]
grade(align, by_scipy, cases)

# %% [markdown]
# ```{solution-start} svd-kabsch
# :class: dropdown
# ```
# The squares of $\mathbf{R}\mathbf{x}_i$ and $\mathbf{y}_i$ do not depend on $\mathbf{R}$, so $\sum_i
# \mathbf{y}_i^\top\mathbf{R}\mathbf{x}_i = \operatorname{tr}(\mathbf{R}^\top\mathbf{M})$ with $\mathbf{M} = \sum_i
# \mathbf{y}_i\mathbf{x}_i^\top = \mathbf{U}\boldsymbol\Sigma\mathbf{V}^\top$ is to be largest. It equals
# $\sum_i \sigma_i z_{ii}$ for the orthogonal $\mathbf{Z} = \mathbf{U}^\top\mathbf{R}\mathbf{V}$. If
# $\det(\mathbf{U}\mathbf{V}^\top) = 1$, take $\mathbf{Z} = \mathbf{I}$. Otherwise $\det\mathbf{Z}$ must be $-1$. Then $-1$
# is an eigenvalue of $\mathbf{Z}$, so $\operatorname{tr}\mathbf{Z} \le 3 - 2$: the $z_{ii} \le 1$ fall short of 1 by at
# least 2 together, and this costs least at the smallest $\sigma_i$. So $\mathbf{Z} = \operatorname{diag}(1, 1, -1)$
# {cite}`kabsch1976solution`. The wrong answer $\mathbf{U}\mathbf{V}^\top$ does not look at the determinant and turns the
# third molecule into its mirror image.

# %% jupyter={"source_hidden": true}
def align_solution(x, y):
    u, _, vt = np.linalg.svd(y.T @ x)
    return u * [1, 1, np.linalg.det(u @ vt)] @ vt

def perhaps_mirrored(x, y):
    u, _, vt = np.linalg.svd(y.T @ x)
    return u @ vt

assert grade(align_solution, by_scipy, cases)
assert not grade(perhaps_mirrored, by_scipy, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Turning columns until they are orthogonal
#
# The proof seems to be an algorithm: form $\mathbf{A}^\top\mathbf{A}$, find its eigenvectors, take roots. It is a bad one.
# Take
#
# $$\mathbf{A} = \begin{pmatrix} 1 & 1 \\ \delta & 0 \\ 0 & \delta \end{pmatrix}, \qquad
# \mathbf{A}^\top\mathbf{A} = \begin{pmatrix} 1 + \delta^2 & 1 \\ 1 & 1 + \delta^2 \end{pmatrix}, \qquad
# \sigma_1 = \sqrt{2 + \delta^2}, \quad \sigma_2 = \delta .$$
#
# With $\delta = 10^{-9}$ every entry of $\mathbf{A}$ is exact to 16 digits and $\sigma_2$ is millions of times larger
# than a rounding error. But $(10^{-9})^2 = 10^{-18}$ and $1 + 10^{-18}$ is stored as 1, and the product has no memory
# of $\delta$:

# %%
delta = 1e-9
A = np.array([[1, 1], [delta, 0], [0, delta]])
print('A^T A is stored as all ones:', (A.T @ A == np.ones((2, 2))).all())

# %% [markdown]
# The product squares the ratio $\sigma_1 / \sigma_n$, so half of the digits are gone before the eigenvalues are even asked
# for. The remedy, of 1958 {cite}`hestenes1958inversion`, is almost naive: never form the product, turn the *columns* of
# $\mathbf{A}$ itself. If we find an orthogonal $\mathbf{V}$ such that the columns of $\mathbf{W} = \mathbf{A}\mathbf{V}$
# are at right angles, we are done: their lengths are the $\sigma_i$, their directions the $\mathbf{u}_i$, and
# $\mathbf{A} = \mathbf{W}\mathbf{V}^\top$. Two columns at a time that is school geometry. Turn $\mathbf{x}$ and
# $\mathbf{y}$ by an angle with cosine $c$ and sine $s$,
#
# $$\mathbf{x}' = c\,\mathbf{x} - s\,\mathbf{y}, \qquad \mathbf{y}' = s\,\mathbf{x} + c\,\mathbf{y},$$
#
# and write $\alpha = \mathbf{x}\cdot\mathbf{x}$, $\beta = \mathbf{y}\cdot\mathbf{y}$, $\gamma = \mathbf{x}\cdot\mathbf{y}$.
# Then $\mathbf{x}' \cdot \mathbf{y}' = (c^2 - s^2)\gamma + cs(\alpha - \beta)$. With $t = s/c$ and $d = \beta - \alpha$
# this vanishes if
#
# $$\gamma t^2 + d\,t - \gamma = 0, \qquad\text{that is, for } \gamma \ne 0, \qquad
# t = \frac{2\gamma}{d + \operatorname{sign}(d)\sqrt{d^2 + 4\gamma^2}} .$$
#
# The formula is the one for the root of smaller size, $|t| \le 1$, and is written so that nothing cancels: the two terms
# below the line have the same sign. For $d = 0$ either sign will do (an angle of 45 degrees), but it must be one of them; a
# function with $\operatorname{sign}(0) = 0$ would divide by zero.

# %%
EPS = np.finfo(float).eps  # 2^-52

def rotations(gram):  # (pairs, 2, 2), all [alpha, gamma; gamma, beta]
    alpha, gamma, beta = gram[:, 0, 0], gram[:, 0, 1], gram[:, 1, 1]
    d = beta - alpha
    t = 2 * gamma / (d + np.copysign(np.hypot(d, 2 * gamma), d))
    c = 1 / np.hypot(1, t)
    s = c * t
    return np.stack([c, -s, s, c], 1).reshape(-1, 2, 2)

def turned(x, y, turn=np.asarray):  # (m,), (m,) -> both of them, (2, m)
    gram = np.array([[[x @ x, x @ y], [x @ y, y @ y]]])
    return turn(rotations(gram)[0]) @ [x, y]

def cosine(seed, turn=np.asarray):  # of two columns after one rotation
    x, y = turned(*np.random.default_rng(seed).normal(size=(2, 3)), turn)
    return x @ y / np.sqrt(x @ x * (y @ y))

verify('one rotation makes two columns orthogonal',
       lambda seed: abs(cosine(seed)) < 1e-14,
       control=lambda seed: abs(cosine(seed, np.transpose)) < 1e-14,
       seed=seeds(), tries=100)

# %% [markdown]
# Turning one pair disturbs the others, so why should this end? Let $\mathbf{G} = \mathbf{W}^\top\mathbf{W}$ hold all dot
# products. A rotation of columns $p$ and $q$ makes $g_{pq} = \gamma$ zero. In each other row $i$ it rotates the pair
# $(g_{ip}, g_{iq})$, which keeps $g_{ip}^2 + g_{iq}^2$. So the sum of the squares off the diagonal falls by exactly
# $2\gamma^2$ and can never grow back. A *sweep* visits every pair once. That sweeps taken row by row with $|t| \le 1$ bring
# *all* dot products to zero is a theorem {cite}`forsythe1960cyclic`; at the end, if the singular values are distinct, the
# number of correct digits doubles with every sweep.
#
# Pairs without a common column do not disturb each other and can be turned at the same time. Let round $k$ take all pairs
# $i < j$ with $i + j \equiv k \pmod n$. Since $i$ determines $j$, no column is asked for twice, and every pair has exactly
# one round. So $n$ array operations do the work of $n(n-1)/2$ single rotations. And the theorem still applies
# {cite}`luk1989parallel`. Two pairs that share a column meet in the order of $i + j$, which is also their order row by row.
# Of the two sums in round $k$, pairs with $i + j = k + n$ use only columns beyond $k$, those with $i + j = k$ only columns
# up to $k$: a new sweep begins in the columns with which the old one has finished.

# %%
def rounds(n):
    i = np.arange(n)
    for k in range(n):
        j = (k - i) % n
        yield np.stack([i, j], 1)[i < j]  # (pairs, 2)

met = np.concatenate(list(rounds(7)))
print('of 21 pairs, met exactly once:', len(np.unique(met, axis=0)))
print('columns used twice in a round:',
      sum(len(p.ravel()) - len(np.unique(p)) for p in rounds(7)))

def falls_by(seed, times):  # in units of γ²
    a = np.random.default_rng(seed).normal(size=(6, 4))
    off = lambda w: ((w.T @ w)**2).sum() - (np.diag(w.T @ w)**2).sum()
    b = a.copy()
    b[:, [1, 3]] = turned(a[:, 1], a[:, 3]).T
    return close(off(a) - off(b), times * (a[:, 1] @ a[:, 3])**2)

verify('a rotation takes 2γ² from the squares off the diagonal',
       lambda seed: falls_by(seed, 2), tries=100, seed=seeds(),
       control=lambda seed: falls_by(seed, 1))

# %% [markdown]
# One array carries both factors: row $j$ of `w` is column $j$ of $\mathbf{W}$, followed by column $j$ of $\mathbf{V}$. When
# is a pair orthogonal enough? A dot product of length $m$ and the rotation before it carry rounding errors up to about
# $(m + 10)\,\varepsilon\,\|\mathbf{x}\|\|\mathbf{y}\|$, so a smaller $|\gamma|$ cannot be told from zero. Note that the
# bound is relative to the *two* columns, however short they are. A column of zeros has $\sigma = 0$ and is dropped: the
# function returns the $r$ terms of the sum in {prf:ref}`thm-svd`.

# %%
def sweep(w, m):  # turns the rows of w (n, m + n); gives the largest |cos|
    worst = 0.0
    for pairs in rounds(len(w)):
        z = w[pairs]  # (pairs, 2, m + n)
        gram = z[..., :m] @ z[..., :m].swapaxes(1, 2)  # (pairs, 2, 2)
        lengths = np.sqrt(gram[:, 0, 0]) * np.sqrt(gram[:, 1, 1])
        slant = abs(gram[:, 0, 1])
        turn = slant > (m + 10) * EPS * lengths
        if turn.any():
            worst = max(worst, (slant[turn] / lengths[turn]).max())
            w[pairs[turn]] = rotations(gram[turn]) @ z[turn]
    return worst

def jacobi_svd(a, sweeps=60):  # (m, n) -> u (m, r), sigma (r,), v (n, r)
    if a.shape[0] < a.shape[1]:
        return jacobi_svd(a.T, sweeps)[::-1]
    m, n = a.shape
    w = np.hstack([a.T, np.eye(n)])
    for _ in range(sweeps):  # ten are enough for most
        if sweep(w, m) == 0:
            break
    sigma = np.linalg.norm(w[:, :m], axis=1)
    order = np.argsort(-sigma)[:np.count_nonzero(sigma)]
    return w[order, :m].T / sigma[order], sigma[order], w[order, m:].T

# %%
def random_matrix(seed, shape, rank=12):  # of rank at most 12
    rng = np.random.default_rng(seed)
    left, right = (rng.normal(size=(n, rank)) for n in shape)
    return left @ right.T

def as_numpy(a, sweeps):
    u, sigma, v = jacobi_svd(a, sweeps)
    library, one = np.linalg.svd(a)[1][:len(sigma)], np.eye(len(sigma))
    return (close(u * sigma @ v.T, a) and close(sigma, library, atol=1e-12)
            and close(v.T @ v, one) and close(u.T @ u, one))

verify('own A = U Σ Vᵀ with orthonormal factors, Σ as by numpy',
       lambda shape, seed: as_numpy(random_matrix(seed, shape), 60),
       control=lambda shape, seed: as_numpy(random_matrix(seed, shape), 2),
       shape=[(1, 1), (2, 2), (7, 4), (4, 9), (12, 12), (25, 14)],
       seed=seeds(), tries=60)
assert as_numpy(np.ones((6, 4)), 60)

# %% [markdown]
# (The largest ones have rank 12. Their other columns shrink to the size of rounding errors, and there they stay; as
# directions they mean nothing, and to call them zero is a decision, to which the last section comes back.) Now the price.
# We time one sweep over a $64 \times 64$ matrix, pair after pair in Python and round after round in arrays, and a whole SVD
# by LAPACK, the library under numpy:

# %%
def sweep_by_pairs(w, m):
    for i in range(len(w)):
        for j in range(i + 1, len(w)):
            z = w[[i, j]]
            gram = z[:, :m] @ z[:, :m].T
            w[[i, j]] = rotations(gram[None])[0] @ z

n = 64
a = np.random.default_rng(6).normal(size=(n, n))
w = np.hstack([a[:8, :6].T, np.eye(6)])
for _ in range(8):
    sweep_by_pairs(w, 8)
by_pairs = np.sort(np.linalg.norm(w[:, :8], axis=1))[::-1]
assert close(by_pairs, np.linalg.svd(a[:8, :6])[1])
w = np.hstack([a.T, np.eye(n)])
slow = seconds(lambda: sweep_by_pairs(w.copy(), n), rounds=3)
fast = seconds(lambda: sweep(w.copy(), n))
whole = seconds(lambda: jacobi_svd(a), rounds=3)
lapack = seconds(lambda: np.linalg.svd(a))
print('by rounds, more than 5 times faster than by pairs:', slow > 5 * fast)
print('LAPACK, more than 20 times faster:', whole > 20 * lapack)
assert slow > 5 * fast and whole > 20 * lapack

# %% [markdown]
# Jacobi's method loses the race, by far, and no array trick changes that. It makes about ten sweeps of $O(n^3)$ each, where
# LAPACK reduces the matrix to two diagonals once and has little left to do. It wins on another field. LAPACK promises each
# $\sigma_i$ up to an error near $\varepsilon\sigma_1$, so the tiny ones drown in the rounding of the large ones. One-sided
# Jacobi compares columns only relative to their own lengths. If $\mathbf{A} = \mathbf{B}\mathbf{D}$ with $\mathbf{D}$
# diagonal, columns in wildly different units, it finds *every* singular value with a relative error near
# $\varepsilon\,\kappa(\mathbf{B})$, whatever $\mathbf{D}$ is {cite}`demmel1992jacobi`. (To be exact, $\kappa$ is the worst
# that columns scaled to length one have on the way; in practice it hardly grows.) We let the units run over 18 orders of
# magnitude and compute the truth with 60 digits:

# %%
rng = np.random.default_rng(7)
B, unit = rng.normal(size=(20, 16)), 10.0 ** np.linspace(-18, 0, 16)
A = B * unit
with mpmath.workdps(60):
    exact = mpmath.svd_r(mpmath.matrix(A.tolist()), compute_uv=False)
    exact = np.array([float(s) for s in exact])
lam = np.linalg.eigvalsh(A.T @ A)[::-1]  # ascending -> descending
routes = {
    'roots of the eigenvalues of A^T A': np.sqrt(np.maximum(lam, 0)),
    'LAPACK': np.linalg.svd(A)[1],
    'Jacobi': jacobi_svd(A)[1],
}
for name, sigma in routes.items():
    right = abs(sigma / exact - 1) < 1e-12
    print(f'{name:34} all 16 to 12 digits: {right.all()}')
assert close(routes['Jacobi'], exact, rtol=1e-13, atol=0)

# %%
def largest_cosines(a):  # one for every sweep that found work
    w = np.hstack([a.T, np.eye(a.shape[1])])
    values = np.array(list(iter(lambda: sweep(w, len(a)), 0.0)))
    return values[values > 1e-12]  # below, rounding takes over

cosines = {n: largest_cosines(np.random.default_rng(n).normal(size=(n, n)))
           for n in (8, 32, 128)}
delta = 10 ** np.linspace(-10, -2, 300)
product = (1 + delta**2) - 1  # smallest eigenvalue of the stored A^T A
by_product = abs(np.sqrt(product) / delta - 1)
turned_out = np.array([
    jacobi_svd(np.array([[1, 1], [x, 0], [0, x]]))[1][1] for x in delta])
by_turning = abs(turned_out / delta - 1)
assert (by_turning < 1e-14).all()
drawn = [np.maximum(error, 1e-15) for error in (by_product, by_turning)]

# %% mystnb={"figure": {"caption": "Left: once the columns are nearly orthogonal, each Jacobi sweep about squares the largest cosine. Right: the product $\\mathbf{A}^\\top\\mathbf{A}$ loses $\\sigma_2 = \\delta$ from about $\\sqrt{10^{-16}} = 10^{-8}$ down; Jacobi keeps it."}, "image": {"alt": "Left: the largest cosine between two columns after each sweep, for three sizes; it falls slowly for some sweeps, then plunges within two sweeps. Right: the relative error of the small singular value delta; for the product it grows along the line epsilon over delta squared to one at a delta of one in a hundred million, for Jacobi it stays at the bottom."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
for n, values in cosines.items():
    left.plot(values, '-o', ms=3, label=f'n = {n}')
left.set(yscale='log', xlabel='sweeps done', ylim=(1e-9, 2))
left.set_title('Largest cosine of two columns')
left.legend(loc='lower left')
right.loglog(delta, drawn[0], lw=1, label='by AᵀA')
right.loglog(delta, drawn[1], label='Jacobi', lw=3)
right.loglog(delta, np.minimum(EPS / delta**2, 3), '--', color=GREY, lw=1)
right.text(4e-5, 1e-6, 'ε / δ²')
right.set(xlabel='δ', title='Relative error of σ₂ = δ', ylim=(3e-16, 10))
right.legend(loc='upper right');

# %% [markdown]
# On the left, the sudden plunge: once the cosines are small, a sweep squares them. On the right, the matrix with which
# this section began (errors below $10^{-15}$ are drawn as $10^{-15}$). By the product, $\sigma_2$ is wrong by about
# $\varepsilon/\delta^2$ and lost at $\delta \approx \sqrt{10^{-16}} = 10^{-8}$. Turning the columns it comes out right
# down to the last digit.
#
# ```{exercise} ★ One rotation
# :label: svd-two
# A matrix with two columns needs one rotation. Write `two_values(x, y)`: both singular values of the matrix with the
# columns `x` and `y`, the larger first, from one turn, without the eigenvalues of $\mathbf{A}^\top\mathbf{A}$.
# ```

# %%
def two_values(x, y):
    raise NotImplementedError('your turn')

# %%
def by_lapack(x, y):
    return np.linalg.svd(np.stack([x, y], 1))[1]

cases = [(np.array(x), np.array(y)) for x, y in (
    ([1., 2., 2.], [0., 1., 1.]), ([1., 1e-9, 0.], [1., 0., 1e-9]),
    ([3., 0.], [0., -5.]), ([2., 1.], [-4., -2.]),
)]
grade(two_values, by_lapack, cases, atol=1e-14)

# %% [markdown]
# ```{solution-start} svd-two
# :class: dropdown
# ```
# Turn, then measure the lengths. The second case is the matrix with $\delta = 10^{-9}$. The wrong answer uses the quadratic
# formula for the eigenvalues of $\mathbf{A}^\top\mathbf{A}$. That is right on paper, but the difference
# $\textit{middle} - \textit{root}$ cancels, and in place of $10^{-9}$ it returns 0.

# %% jupyter={"source_hidden": true}
def two_values_solution(x, y):
    pair = turned(x, y) if x @ y else [x, y]
    return np.sort(np.linalg.norm(pair, axis=1))[::-1]

def by_product(x, y):
    middle, gap = (x @ x + y @ y) / 2, (x @ x - y @ y) / 2
    root = np.hypot(gap, x @ y)
    return np.sqrt(np.maximum([middle + root, middle - root], 0))

assert grade(two_values_solution, by_lapack, cases, atol=1e-14)
assert not grade(by_product, by_lapack, cases, atol=1e-14)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The best approximation of every rank
#
# The sum $\sum_i \sigma_i \mathbf{u}_i \mathbf{v}_i^\top$ writes a matrix as a pile of sheets of rank one, the largest
# first. Keep the first $k$ of them, $\mathbf{A}_k = \sum_{i \le k} \sigma_i \mathbf{u}_i\mathbf{v}_i^\top$, and
# $k(m + n + 1)$ numbers do duty for $mn$. Could another matrix of rank $k$ do better?
#
# ```{prf:theorem} Eckart–Young–Mirsky
# :label: thm-eckart-young
# Let $\mathbf{B}$ have rank at most $k$, and let $\sigma_i(\cdot)$ be the $i$-th singular value, zero beyond the rank. Then
# for all $i \ge 1$
#
# $$\sigma_i(\mathbf{A} - \mathbf{B}) \ge \sigma_{k+i}(\mathbf{A}) .$$
#
# In particular $\|\mathbf{A} - \mathbf{B}\|_2 \ge \sigma_{k+1} = \|\mathbf{A} - \mathbf{A}_k\|_2$ and $\|\mathbf{A} -
# \mathbf{B}\|_F^2 \ge \sum_{i>k}\sigma_i^2 = \|\mathbf{A} - \mathbf{A}_k\|_F^2$.
# ```
#
# ```{prf:proof}
# *The spectral norm*, $i = 1$. Let $\sigma_{k+1} > 0$; otherwise there is nothing to show. The null space of $\mathbf{B}$
# has at least dimension $n - k$, the span of $\mathbf{v}_1, \dots, \mathbf{v}_{k+1}$ has dimension $k + 1$. Together that
# is more than $n$, so they share a unit vector $\mathbf{z} = \sum_{j \le k+1} c_j \mathbf{v}_j$, and
#
# $$\|\mathbf{A} - \mathbf{B}\|_2^2 \ge \|(\mathbf{A} - \mathbf{B})\mathbf{z}\|^2 = \|\mathbf{A}\mathbf{z}\|^2
# = \sum_{j \le k+1} \sigma_j^2 c_j^2 \ge \sigma_{k+1}^2 .$$
#
# *All $i$.* Let $\mathbf{C}$ be the sum of the first $i - 1$ sheets of $\mathbf{A} - \mathbf{B}$; what is left has the norm
# $\|\mathbf{A} - \mathbf{B} - \mathbf{C}\|_2 = \sigma_i(\mathbf{A} - \mathbf{B})$. But $\mathbf{B} + \mathbf{C}$ has rank
# at most $k + i - 1$, so by the first part this norm is at least $\sigma_{k+i}(\mathbf{A})$. Squared and summed over $i$
# this is the claim about the Frobenius norm.
# ```
#
# ```{prf:corollary} Weyl
# :label: cor-weyl
# $|\sigma_i(\mathbf{A} + \mathbf{E}) - \sigma_i(\mathbf{A})| \le \|\mathbf{E}\|_2$ for all $i$: a small error in the matrix
# is a small error in its singular values.
# ```
#
# ```{prf:proof}
# Take $\mathbf{B} = \mathbf{A}_{i-1}$ as an approximation of $\mathbf{A} + \mathbf{E}$: $\sigma_i(\mathbf{A} + \mathbf{E})
# \le \|\mathbf{A} + \mathbf{E} - \mathbf{A}_{i-1}\|_2 \le \sigma_i(\mathbf{A}) + \|\mathbf{E}\|_2$. Exchange the roles of
# $\mathbf{A}$ and $\mathbf{A} + \mathbf{E}$.
# ```
#
# The strength of the theorem is the word *every*. Against each of 200 matrices stand twenty candidates, each with a random
# column space and the best matrix within it, and against one of them a serious rival that knows no SVD. *Alternating least
# squares* writes $\mathbf{B} = \mathbf{L}\mathbf{R}$, solves for the best $\mathbf{R}$ with $\mathbf{L}$ fixed, then the
# other way round, and so on.

# %%
def alternate(a, k, turns, rng):  # every error on the way
    left, errors = rng.normal(size=(len(a), k)), []
    for _ in range(turns):
        right = np.linalg.lstsq(left, a)[0]
        left = np.linalg.lstsq(right.T, a.T)[0].T
        errors.append(np.linalg.norm(a - left @ right))
    return np.array(errors)

def candidates(seed, k=2):  # σ of A, and of what 20 of rank k leave over
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(8, 6))
    Q = np.linalg.qr(rng.normal(size=(20, 8, k)))[0]
    rest = A - Q @ Q.swapaxes(1, 2) @ A  # (20, 8, 6)
    return np.linalg.svd(A)[1], np.linalg.svd(rest)[1]

def bounded(seed, k):
    sigma, tails = candidates(seed)  # (6,), (20, 6)
    return (tails[:, :6 - k] >= sigma[k:] - 1e-12).all()

verify('σᵢ(A - B) ≥ σₖ₊ᵢ(A) for B of rank k',
       lambda seed: bounded(seed, 2), control=lambda seed: bounded(seed, 1),
       seed=seeds())

# %%
sigma, tails = candidates(8)
best = np.sqrt((sigma[2:] ** 2).sum())
rival = np.sqrt((tails ** 2).sum(1)).min()
rng = np.random.default_rng(8)
errors = alternate(rng.normal(size=(8, 6)), 2, 300, rng)
assert (errors > best - 1e-12).all() and close(errors[-1], best)
print(f'the best of 20 is {rival / best - 1:.0%} worse than A_k')
print(f'alternating: {errors[0] / best - 1:.0%} worse at first')
print('alternating in the end: above the error of A_k by something',
      below(errors[-1] - best))

def shifts(seed, values):
    A, E = np.random.default_rng(seed).normal(size=(2, 5, 5))
    moved = abs(values(A + E / 9) - values(A)).max()
    return moved <= np.linalg.norm(E / 9, 2) * (1 + 1e-9)

verify('singular values move by at most |E|₂, eigenvalues farther',
       lambda seed: shifts(seed, lambda A: np.linalg.svd(A)[1]),
       control=lambda seed: shifts(
           seed, lambda A: np.sort(abs(np.linalg.eigvals(A)))), seed=seeds())

# %% [markdown]
# Now a real matrix: a photograph in grey, one number per pixel. Beside the SVD we set a code of another kind. The discrete
# cosine transform, on which JPEG is built, expands every picture in the *same* fixed waves; we keep its largest
# coefficients. Each costs two numbers, value and place. The transform is orthogonal, so the squared error of both codes is
# the sum of the squares that they drop.

# %%
A = photograph('china').mean(2)  # (427, 640)
u, sigma, vt = np.linalg.svd(A, full_matrices=False)
m, n = A.shape
waves = np.sort(abs(dctn(A, norm='ortho')).ravel())[::-1]

def left_over(values):  # entry k: error, relative to A, after k values
    squares = np.append(values, 0) ** 2
    return np.sqrt(squares[::-1].cumsum()[::-1] / squares.sum())

ranks = np.arange(1, 201)
numbers = ranks * (m + n + 1)  # stored for each rank
errors = {'SVD': left_over(sigma)[ranks],
          'cosines': left_over(waves)[numbers // 2]}
print('rank  stored  error: SVD  cosines')
for k in (5, 20, 80, 160):
    A_k = u[:, :k] * sigma[:k] @ vt[:k]
    measured = np.linalg.norm(A - A_k) / np.linalg.norm(A)
    assert close(measured, errors['SVD'][k - 1])
    print(f'{k:4} {numbers[k - 1] / A.size:7.0%} {measured:11.3f}'
          f' {errors["cosines"][k - 1]:8.3f}')

# %% mystnb={"figure": {"caption": "The best matrix of rank 5 shows only upright and level stripes; at rank 40 of 427 the picture can be recognized."}, "image": {"alt": "Three pictures of a temple: of rank 5, a plaid of blurred stripes; of rank 40, recognizable with a faint plaid; and the original."}} tags=["hide-input"]
fig, axes = panels(3, height=1.6)
for ax, k in zip(axes, (5, 40, min(m, n)), strict=True):
    title = f'rank {k}' + (': the original' if k == min(m, n) else '')
    A_k = u[:, :k] * sigma[:k] @ vt[:k]
    show_image(ax, A_k[::2, ::2], title, vmin=0, vmax=1, interpolation='none')

# %% mystnb={"figure": {"caption": "Fixed cosine waves beat the SVD until about half of the numbers are stored: best among matrices of its rank is not best among all codes."}, "image": {"alt": "Relative error against the share of numbers stored, on a logarithmic scale, for the SVD and for cosine waves. Both fall together; the waves are slightly better for small shares, the SVD for large ones."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.6))
for name, error in errors.items():
    ax.plot(numbers / A.size, error, label=name)
ax.set(yscale='log', ylabel='relative error')
ax.set(xlabel='numbers stored / number of pixels')
ax.set(yticks=[0.05, 0.1, 0.2], yticklabels=['5 %', '10 %', '20 %'])
ax.minorticks_off()
label_lines(ax)

# %% [markdown]
# A twelfth of the numbers keeps the picture up to an error of 14 %. Yet the waves are better wherever much is to be saved.
# There is no contradiction: the theorem says best *among matrices of that rank*, not best among all codes. The SVD has to
# store its own vectors; the waves cost nothing, as everybody knows them. And edges that are neither upright nor level need
# many sheets: stripes and plaids are what rank is about.
#
# One need not compute all sheets to get the first twenty. Multiply $\mathbf{A}$ by a few more random vectors than sheets
# wanted, $\mathbf{Y} = \mathbf{A}\boldsymbol\Omega$. Each column, $\sum_i \sigma_i (\mathbf{v}_i \cdot \boldsymbol\omega)\,
# \mathbf{u}_i$, leans towards the leading $\mathbf{u}_i$, so an orthonormal basis $\mathbf{Q}$ of the columns nearly
# contains these, and the small matrix $\mathbf{Q}^\top\mathbf{A}$ has nearly the same leading SVD {cite}`halko2011finding`.
# One more pass through $\mathbf{A}\mathbf{A}^\top$ weights the $\mathbf{u}_i$ with $\sigma_i^3$ and sharpens the sketch.

# %%
def sketched_svd(a, k, passes, rng, extra=8):
    q = np.linalg.qr(a @ rng.normal(size=(a.shape[1], k + extra)))[0]
    for _ in range(passes):
        q = np.linalg.qr(a.T @ q)[0]
        q = np.linalg.qr(a @ q)[0]  # (m, k + extra)
    u, sigma, vt = np.linalg.svd(q.T @ a, full_matrices=False)
    return q @ u[:, :k], sigma[:k], vt[:k]

best = left_over(sigma)[20] * np.linalg.norm(A)
for passes in (0, 1, 2):
    u_k, s_k, vt_k = sketched_svd(A, 20, passes, np.random.default_rng(9))
    error = np.linalg.norm(A - u_k * s_k @ vt_k)
    print(f'passes: {passes}, error {error / best - 1:.2%} above the least')
work = {'sketch': lambda: sketched_svd(A, 20, 1, np.random.default_rng(9)),
        'full': lambda: np.linalg.svd(A, full_matrices=False)}
quick = seconds(work['sketch'])
full = seconds(work['full'], rounds=3)
print('one pass, more than 3 times faster than all:', full > 3 * quick)
assert full > 3 * quick

# %% [markdown]
# ```{exercise} ★★★ Holes in a matrix
# :label: svd-holes
# The entries of a matrix of rank one are known only where the mask `known` is true. {prf:ref}`thm-eckart-young` has no
# formula for that, but it gives an algorithm: fill the holes with some guess, take the best matrix of rank one, put its
# entries into the holes, and so on. Show that the misfit on the known entries never grows. Write `fill_in(a, known)`, which
# returns the completed matrix, and explore: how many holes may there be?
# ```

# %%
def fill_in(a, known):  # (m, n), boolean (m, n) -> (m, n)
    raise NotImplementedError('your turn')

# %%
def by_proportion(a, known):  # a_ij = a_iq a_pj / a_pq for rank one
    full = a.copy()
    for i, j in np.argwhere(~known):
        rows, columns = np.where(known[:, j])[0], np.where(known[i])[0]
        p, q = next((p, q) for p in rows for q in columns if known[p, q])
        full[i, j] = a[i, q] * a[p, j] / a[p, q]
    return full

rng = np.random.default_rng(10)
cases = []
for shape in ((3, 4), (6, 5), (8, 8)):
    known = rng.random(shape) < 0.8
    a = np.outer(*(rng.uniform(1, 3, size) for size in shape))
    cases.append((np.where(known, a, 0), known))
grade(fill_in, by_proportion, cases, rtol=1e-5)

# %% [markdown]
# ```{solution-start} svd-holes
# :class: dropdown
# ```
# Let $\mathbf{B}_t$ be the approximation in round $t$. The filled matrix agrees with $\mathbf{B}_t$ in the holes, so its
# distance to $\mathbf{B}_t$ is the misfit of $\mathbf{B}_t$ on the known entries. $\mathbf{B}_{t+1}$ is at most as far from
# the filled matrix, and its misfit on the known entries is only a part of that distance. (There may be local minima; and if
# row $i$ has no known entry, nothing can determine it.) The wrong answer stops after one round, when the zeros in the holes
# still pull everything down.

# %% jupyter={"source_hidden": true}
def fill_in_solution(a, known, steps=1000):
    full = np.where(known, a, 0)
    for _ in range(steps):
        u, sigma, vt = np.linalg.svd(full, full_matrices=False)
        full = np.where(known, a, sigma[0] * np.outer(u[:, 0], vt[0]))
    return full

def one_round(a, known):
    return fill_in_solution(a, known, steps=1)

assert grade(fill_in_solution, by_proportion, cases, rtol=1e-5)
assert not grade(one_round, by_proportion, cases, rtol=1e-5)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Principal components
#
# Let the rows of $\mathbf{X}$ ($N \times D$) be measurements: $N$ points in a space of $D$ dimensions. Which plane of
# dimension $k$ lies closest to them? Whatever its directions are, the best one with these directions goes through the mean
# $\hat{\boldsymbol\mu}$, since the mean minimizes the sum of squares in every direction at right angles to it. So subtract
# the mean from every row: from here on $\mathbf{X}$ is *centred*. Projecting its rows on a subspace with the orthonormal
# basis $\mathbf{P}$ ($D \times k$) gives $\mathbf{X}\mathbf{P}\mathbf{P}^\top$, a matrix of rank at most $k$, and by
# {prf:ref}`thm-eckart-young`
#
# ```{math}
# :label: svd-pca
# \frac1N \|\mathbf{X} - \mathbf{X}\mathbf{P}\mathbf{P}^\top\|_F^2 \;\ge\; \sum_{i > k} \lambda_i , \qquad \lambda_i = \frac{\sigma_i^2}{N},
# ```
#
# with equality for $\mathbf{P} = (\mathbf{v}_1, \dots, \mathbf{v}_k)$. The $\mathbf{v}_i$ are the *principal directions*.
# Along $\mathbf{v}_1$ the data vary most: the variance along a unit vector $\mathbf{w}$ is
# $\|\mathbf{X}\mathbf{w}\|^2 / N \le \sigma_1^2 / N = \lambda_1$. The coordinates
# $\mathbf{X}\mathbf{V} = \mathbf{U}\boldsymbol\Sigma$ are uncorrelated, since their dot products are those of orthogonal
# columns. The $\lambda_i$ are the eigenvalues of the covariance matrix $\mathbf{X}^\top\mathbf{X}/N$, which one need not
# and should not form: it has the square of the condition number.

# %%
def principal(x, k):  # (N, D) -> mean (D,), directions (D, k), lam (D,)
    mu = x.mean(0)
    _, sigma, vt = np.linalg.svd(x - mu, full_matrices=False)
    return mu, vt[:k].T, sigma ** 2 / len(x)

def uncentred(x, k):
    _, sigma, vt = np.linalg.svd(x)
    return 0, vt[:k].T, sigma ** 2 / len(x)

def as_sklearn(seed, method):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(30, 5)) @ rng.normal(size=(5, 5)) + 3
    (_, P, lam), library = method(x, 3), PCA(3, svd_solver='full').fit(x)
    return (close(abs(P.T @ library.components_.T), np.eye(3), atol=1e-6)
            and close(lam[:3], library.explained_variance_ * 29 / 30))

verify('principal directions and variances as by scikit-learn',
       lambda seed: as_sklearn(seed, principal), tries=30,
       control=lambda seed: as_sklearn(seed, uncentred), seed=seeds())
X = digits().x  # (1797, 64)
mu, P, lam = principal(X, 10)
print(f'10 of 64 directions hold {lam[:10].sum() / lam.sum():.0%}')
first = uncentred(X, 1)[1][:, 0] @ mu / np.linalg.norm(mu)
print(f'without centring, |cos(v_1, mean)| = {abs(first):.3f}')

# %% [markdown]
# The last line is the classic slip: without centring, the first direction only points from the origin to the mean.
# (scikit-learn divides by $N - 1$.)
#
# How many components should one keep? If the rest is *noise*, there is an answer. Suppose we see
# $\mathbf{y} = \mathbf{x} + \boldsymbol\varepsilon$ with independent noise of variance $s^2$ in each coordinate, and
# project on the first $k$ principal directions of the clean data. Then the part of $\mathbf{x}$ outside is lost, and the
# noise inside stays:
#
# ```{math}
# :label: svd-denoise
# \mathbb{E}\,\|\hat{\mathbf{x}}_k - \mathbf{x}\|^2 = \sum_{i > k} \lambda_i + k\, s^2 .
# ```
#
# One more direction pays as long as $\lambda_i > s^2$. The clean directions are unknown, but the noisy data have nearly the
# same ones, with $\lambda_i + s^2$ for $\lambda_i$; so keep the directions in which the noisy data have more than $2s^2$.
# We try it on the digits, with ten draws of noise and three lines of reference: to do nothing costs $D s^2$; the mean digit
# alone, $\sum_i \lambda_i$; and the best linear method of all, which knows the clean directions and shrinks coordinate $i$
# by $\lambda_i / (\lambda_i + s^2)$, costs $\sum_i \lambda_i s^2 / (\lambda_i + s^2)$.

# %%
s, (N, D) = 0.25, X.shape  # of the noise; pixels go from 0 to 1
expected = np.append(lam[::-1].cumsum()[::-1], 0) + s**2 * np.arange(D + 1)
measured, chosen = [], []
for seed in range(10):
    noise = s * np.random.default_rng(seed).normal(size=X.shape)
    mean, V, noisy = principal(X + noise, D)
    inside = ((noise @ V) ** 2).mean(0).cumsum()  # V is orthogonal
    outside = (((X - mean) @ V) ** 2).mean(0)[::-1].cumsum()[::-1]
    measured.append(np.append(outside, 0) + np.append(0, inside))
    chosen.append((noisy > 2 * s**2).sum())
measured = np.array(measured)  # (10, D + 1)
shrunk = (lam * s**2 / (lam + s**2)).sum()
picked = measured[np.arange(10), chosen]
assert (picked < 1.02 * measured.min(1)).all()
print('noisy', D * s**2, ' mean digit', lam.sum().round(2),
      f' shrunk {shrunk:.2f}')
print(f'projected: {picked.mean():.2f} +- {picked.std():.4f}',
      f'(formula {expected.min():.2f}), k from {min(chosen)} to {max(chosen)}')

# %%
directions = principal(X, D)[1]

def brought_in(k, each):  # by the last noise, in k clean directions
    inside = ((noise @ directions[:, :k]) ** 2).sum(1).mean()
    error = s**2 * np.sqrt(2 * k / N)  # s² times a mean of N chi-squares
    return abs(inside - k * each) < 5 * error

verify('each direction kept brings in s²', lambda k: brought_in(k, s**2),
       control=lambda k: brought_in(k, s), k=[5, 15, 64])

# %% mystnb={"figure": {"caption": "Left: about 16 of 64 directions vary more than the noise. Right: projecting on about as many gives the least error, less than half that of the noisy digits."}, "image": {"alt": "Left: the variances of the first 61 directions on a logarithmic scale (the last three are zero), falling steeply, crossing the dashed line of the noise near 16. Right: the error against the number of directions kept, measured and by the formula, with a minimum near 15 well below the lines for the noisy pictures and for the mean digit and above the line for shrinking."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.6)
left.semilogy(np.arange(1, 62), lam[:61], '.', ms=4)
left.axhline(s**2, color=GREY, ls='--', lw=1)
left.text(38, 1.3 * s**2, 'noise s²')
left.set(xlabel='direction i', title='Variance λ of the clean digits')
left.set_ylim(1e-6, 2)
right.plot(measured.mean(0))
right.plot(expected, '--', lw=1.2)
levels = {'noisy': D * s**2, 'mean digit': lam.sum(), 'shrunk': shrunk}
for name, level in levels.items():
    right.axhline(level, color=GREY, ls=':', lw=1)
    right.text(20, level + 0.07, name, fontsize=8)
right.set(xlabel='directions kept k', title='Squared error per digit')
right.set_ylim(0.9, 5.2)
right.text(36, 2.8, 'measured', color='C0', ha='right')
right.text(43, 2.2, 'formula', color='C1');

# %% mystnb={"figure": {"caption": "Projected on the 15 leading directions of the noisy data, the digits lose most of the noise ($s = 0.25$) and some of their detail."}, "image": {"alt": "Three rows of eight digits: clean, under noise, and projected on 15 directions, with smooth strokes again."}} tags=["hide-input"]
noisy = X + noise
kept = mean + (noisy - mean) @ V[:, :15] @ V[:, :15].T
fig, axes = panels(8, 3, height=0.72)
rows = {'clean': X, 'noisy': noisy, 'k = 15': kept}
for row, (name, pixels) in zip(axes, rows.items(), strict=True):
    for ax, digit in zip(row, pixels, strict=False):
        show_image(ax, digit.reshape(8, 8), vmin=0, vmax=1)
    row[0].set_ylabel(name);

# %% [markdown]
# The rule finds a good $k$ without having seen a clean digit: in all ten draws its error is within 2 % of the least one
# possible. The measured curve runs a little above the formula, since directions found in noisy data follow some of the
# noise.

# %% [markdown]
# ## Undoing what can be undone
#
# The system $\mathbf{A}\mathbf{x} = \mathbf{b}$ may have no solution, or a whole line of them. Along the right axes both
# troubles separate. Put $\mathbf{x} = \mathbf{V}\mathbf{y}$ and $\mathbf{b} = \mathbf{U}\mathbf{c}$; orthogonal matrices
# keep lengths, so
#
# ```{math}
# :label: pinv-split
# \|\mathbf{A}\mathbf{x} - \mathbf{b}\|^2 = \|\boldsymbol\Sigma\mathbf{y} - \mathbf{c}\|^2
# = \sum_{i \le r} (\sigma_i y_i - c_i)^2 + \sum_{i > r} c_i^2 .
# ```
#
# The second sum cannot be helped: that part of $\mathbf{b}$ lies outside of the column space. The first sum can be made
# zero, by $y_i = c_i / \sigma_i$. And $y_i$ with $i > r$ does not occur: $\mathbf{x}$ may move freely in the null space.
# Since $\|\mathbf{x}\|^2 = \sum_i y_i^2$, the *shortest* of all best solutions has $y_i = 0$ there, and only that one. It
# is $\mathbf{x} = \mathbf{A}^+\mathbf{b}$ with the *pseudoinverse*
#
# ```{math}
# :label: pinv-def
# \mathbf{A}^+ = \sum_{i=1}^{r} \frac{1}{\sigma_i}\, \mathbf{v}_i \mathbf{u}_i^\top = \mathbf{V}\boldsymbol\Sigma^+\mathbf{U}^\top .
# ```
#
# Invert what was stretched, leave at zero what was lost. The only decision is hidden in $r$: which computed $\sigma_i$
# count as zero? By {prf:ref}`cor-weyl`, rounding $\mathbf{A}$ moves them by about $\varepsilon\,\sigma_1$ times a modest
# factor, for which $\max(m, n)$ is the usual choice.

# %%
EPS = np.finfo(float).eps

def pinv(a, rtol=None):  # (m, n) -> (n, m)
    u, sigma, vt = np.linalg.svd(a, full_matrices=False)
    rtol = max(a.shape) * EPS if rtol is None else rtol
    keep = sigma > rtol * sigma.max()
    return vt[keep].T / sigma[keep] @ u[:, keep].T

sizes = {'tall': (6, 3, 3), 'wide': (3, 6, 3), 'square': (4, 4, 4),
         'deficient': (6, 5, 2), 'zero': (3, 2, 0)}  # m, n, rank

def example(kind, seed):
    m, n, rank = sizes[kind]
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))

def as_library(kind, seed, inverse):
    a = example(kind, seed)
    b = np.random.default_rng(seed + 1).normal(size=len(a))
    return (close(inverse(a), np.linalg.pinv(a), rtol=1e-5)
            and close(inverse(a), scipy.linalg.pinv(a), rtol=1e-5)
            and close(inverse(a) @ b, np.linalg.lstsq(a, b)[0], rtol=1e-5))

# %%
examples = dict(kind=list(sizes), seed=seeds())
verify('A⁺ as by numpy and scipy, A⁺b as by least squares',
       lambda kind, seed: as_library(kind, seed, pinv), **examples,
       control=lambda kind, seed: as_library(
           kind, seed, lambda a: pinv(a, rtol=0)))
tall, wide, deficient = (
    example(kind, 11) for kind in ('tall', 'wide', 'deficient'))
assert close(pinv(tall), np.linalg.solve(tall.T @ tall, tall.T))
assert close(pinv(wide), np.linalg.solve(wide @ wide.T, wide).T)

def is_shortest(seed, solution):  # among those that differ in the null space
    a, rng = example('deficient', seed), np.random.default_rng(seed + 2)
    steps = rng.normal(size=(50, 3)) @ np.linalg.svd(a)[2][2:]  # (50, 5)
    x = solution(a, rng.normal(size=6))
    return (np.linalg.norm(x) < np.linalg.norm(x + steps, axis=1)).all()

verify('A⁺b is the shortest of the best solutions',
       lambda seed: is_shortest(seed, lambda a, b: pinv(a) @ b), seed=seeds(),
       control=lambda seed: is_shortest(  # the best with two columns alone
           seed, lambda a, b: np.append(pinv(a[:, :2]) @ b, [0, 0, 0])))

# %% [markdown]
# Two special cases are checked there as well. If the columns are independent,
# $\mathbf{A}^+ = (\mathbf{A}^\top\mathbf{A})^{-1}\mathbf{A}^\top$; if the rows are,
# $\mathbf{A}^+ = \mathbf{A}^\top(\mathbf{A}\mathbf{A}^\top)^{-1}$. (Both follow by inserting the SVD.) As definitions they
# do not reach far enough, and the SVD is a heavy tool for a definition. E. H. Moore (1920) and R. Penrose found better
# ones. Penrose's needs nothing but products:
#
# ````{prf:theorem} Penrose
# :label: thm-penrose
# For every $\mathbf{A}$ there is exactly one matrix $\mathbf{X}$ that obeys four rules, 1 and 2 on the left, 3 and 4 on the
# right,
#
# ```{math}
# :label: pinv-penrose
# \begin{aligned}
# \mathbf{A}\mathbf{X}\mathbf{A} &= \mathbf{A}, & (\mathbf{A}\mathbf{X})^\top &= \mathbf{A}\mathbf{X}, \\
# \mathbf{X}\mathbf{A}\mathbf{X} &= \mathbf{X}, & (\mathbf{X}\mathbf{A})^\top &= \mathbf{X}\mathbf{A} ,
# \end{aligned}
# ```
#
# and this is $\mathbf{A}^+$.
# ````
#
# ```{prf:proof}
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
# ```
#
# Is each of the four needed? Take $r \ge 1$ smaller than $m$ and $n$, so that there is a unit vector $\mathbf{u}_m$ at
# right angles to all columns and $\mathbf{v}_n$ at right angles to all rows, and add one sheet to $\mathbf{A}^+$, or take
# one away:

# %%
def broken(a, x):  # the numbers of the Penrose rules that x breaks
    pairs = (a @ x @ a, a), (x @ a @ x, x), (a @ x, (a @ x).T), (
        x @ a, (x @ a).T)
    return [i for i, pair in enumerate(pairs, 1) if not close(*pair)]

def damped(a, delta=1e-3):
    return np.linalg.solve(a.T @ a + delta * np.eye(a.shape[1]), a.T)

verify('A⁺ obeys all four rules',
       lambda kind, seed: not broken(example(kind, seed),
                                     pinv(example(kind, seed))), **examples,
       control=lambda kind, seed: not broken(example(kind, seed),
                                             damped(example(kind, seed))))

# %%
u, sigma, vt = np.linalg.svd(deficient)
sheets = {
    'A+': 0, 'A+ - v_1 u_1^T / sigma_1': np.outer(vt[0], -u[:, 0] / sigma[0]),
    'A+ + v_n u_m^T': np.outer(vt[-1], u[:, -1]),
    'A+ + v_1 u_m^T': np.outer(vt[0], u[:, -1]),
    'A+ + v_n u_1^T': np.outer(vt[-1], u[:, 0]),
}
for name, sheet in sheets.items():
    rules = broken(deficient, pinv(deficient) + sheet)
    print(f'{name:26} breaks', *(rules or ['none']))

# %% [markdown]
# Each breaks exactly one rule, so none of the four follows from the other three. Whoever breaks only the third still solves
# every solvable system, but no longer finds the nearest point for the others.
#
# One rule of inverses is lost. $(\mathbf{A}\mathbf{B})^{-1} = \mathbf{B}^{-1}\mathbf{A}^{-1}$ has no counterpart: with
# $\mathbf{A} = (1, 1)$ and $\mathbf{B} = (1, 0)^\top$ the product is the number 1, its own pseudoinverse, but
# $\mathbf{B}^+\mathbf{A}^+ = (1, 0) \cdot (\tfrac12, \tfrac12) = \tfrac12$. The projector of one factor does not fit the
# space of the other. If it fits, the rule holds, as the exercise shows.

# %%
one, other = np.array([[1., 1.]]), np.array([[1.], [0.]])
print(f'(AB)+ = {pinv(one @ other).item():.2f},',
      f'B+ A+ = {(pinv(other) @ pinv(one)).item():.2f}')

# %% mystnb={"figure": {"caption": "Left: the shortest best solution $\\mathbf{A}^+\\mathbf{b}$ is the one in the row space. Right: for $\\delta \\ll \\sigma_r^2$ the damped inverse misses $\\mathbf{A}^+$ in proportion to $\\delta$."}, "image": {"alt": "Left: the plane with a slanted line of all least-squares solutions, a circle around the origin that touches it, and the touching point marked as the shortest one; the direction of the row space goes through it. Right: relative error of the regularized inverse against delta on logarithmic scales, three curves for three smallest singular values, each falling with slope one once delta is below the square of the singular value."}} tags=["hide-input"]
A, b = np.array([[1., 2.], [2., 4.]]), np.array([3., 1.])
shortest = pinv(A) @ b
null = np.array([2, -1]) / np.sqrt(5)
t = np.linspace(0, 2 * np.pi, 361)
fig, (left, right) = panels(2, height=2.7)
circle = np.linalg.norm(shortest) * np.array([np.cos(t), np.sin(t)])
line = shortest[:, None] + null[:, None] * [-0.9, 0.9]
left.plot(*line, label='all best solutions')
left.plot(*circle, color=GREY, lw=1)
row_space = np.stack([0 * shortest, 2 * shortest], 1)
left.plot(*row_space, '--', color='C2', lw=1.2, label='row space')
left.plot(*shortest, 'o', color='C1', label='A⁺b')
left.set(aspect='equal', xlabel='x₁', ylabel='x₂', ylim=(-0.55, 1.5))
left.set_title('A = (1 2; 2 4), b = (3, 1)')
left.legend(loc='upper right', fontsize=8)
delta = 10.0 ** np.linspace(-9, 0, 100)
for small in (1, 0.1, 0.01):
    right.loglog(delta, delta / (small**2 + delta), label=f'σᵣ = {small:g}')
right.set(xlabel='δ', title='Relative error of the limit', ylim=(1e-9, 3))
right.legend(loc='lower right');

# %% [markdown]
# On the left, one line of best solutions: the shortest is where a growing circle touches the line, at right angles, in the
# row space. On the right, a way to $\mathbf{A}^+$ without deciding any rank, *Tikhonov's limit*
#
# ```{math}
# :label: pinv-tikhonov
# \mathbf{A}^+ = \lim_{\delta \to 0^+} (\mathbf{A}^\top\mathbf{A} + \delta\mathbf{I})^{-1}\mathbf{A}^\top ,
# ```
#
# which makes the system invertible by force. With the SVD inserted, each $1/\sigma_i$ becomes
# $\sigma_i / (\sigma_i^2 + \delta)$. For $\sigma_i = 0$ this is zero for every $\delta$, and otherwise it falls short by
# the share $\delta / (\sigma_i^2 + \delta)$, the curves in the picture. The same formula under another name is ridge
# regression.

# %%
def falls_short(small, delta, share):  # relative, by how much
    A = np.outer(u[:, 0], vt[0]) + small * np.outer(u[:, 1], vt[1])  # (6, 5)
    error = np.linalg.norm(damped(A, delta) - pinv(A), 2) * small
    return close(error, share(small, delta), rtol=1e-5)

verify('the damped inverse falls short by δ / (σ² + δ)',
       lambda small, delta: falls_short(
           small, delta, lambda s, d: d / (s**2 + d)),
       control=lambda small, delta: falls_short(
           small, delta, lambda s, d: d / (s + d)),
       small=[1, 0.1, 0.01], delta=[1e-1, 1e-3, 1e-5])

# %% [markdown]
# ```{exercise} ★★ From two factors
# :label: pinv-factors
# Let $\mathbf{A} = \mathbf{B}\mathbf{C}$ with independent columns in $\mathbf{B}$ and independent rows in $\mathbf{C}$.
# (Every matrix has such factors.) Show by the Penrose rules that here $\mathbf{A}^+ = \mathbf{C}^+\mathbf{B}^+$, and write
# `from_factors(b, c)` without an SVD.
# ```

# %%
def from_factors(b, c):  # (m, r), (r, n) -> (n, m)
    raise NotImplementedError('your turn')

# %%
def by_library(b, c):
    return np.linalg.pinv(b @ c)

rng = np.random.default_rng(12)
cases = [(rng.normal(size=(m, r)), rng.normal(size=(r, n)))
         for m, r, n in ((4, 2, 4), (5, 1, 3), (3, 3, 3), (6, 2, 7))]
grade(from_factors, by_library, cases)

# %% [markdown]
# ```{solution-start} pinv-factors
# :class: dropdown
# ```
# $\mathbf{B}^+\mathbf{B} = \mathbf{I} = \mathbf{C}\mathbf{C}^+$. So for $\mathbf{X} = \mathbf{C}^+\mathbf{B}^+$ the
# products $\mathbf{A}\mathbf{X} = \mathbf{B}\mathbf{B}^+$ and $\mathbf{X}\mathbf{A} = \mathbf{C}^+\mathbf{C}$ are
# symmetric, and $\mathbf{A}\mathbf{X}\mathbf{A} = \mathbf{B}\mathbf{B}^+\mathbf{B}\mathbf{C} = \mathbf{A}$, likewise
# $\mathbf{X}\mathbf{A}\mathbf{X} = \mathbf{X}$. Insert the two special cases. The wrong answer forgets
# $(\mathbf{C}\mathbf{C}^\top)^{-1}$, which is harmless only for orthonormal rows.

# %% jupyter={"source_hidden": true}
def from_factors_solution(b, c):
    left = np.linalg.solve(b.T @ b, b.T)  # (r, m)
    return c.T @ np.linalg.solve(c @ c.T, left)

def as_if_orthonormal(b, c):
    return c.T @ np.linalg.solve(b.T @ b, b.T)

assert grade(from_factors_solution, by_library, cases)
assert not grade(as_if_orthonormal, by_library, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Where the pseudoinverse breaks
#
# This section continues [Undoing what can be undone](#undoing-what-can-be-undone). An inverse depends smoothly on its
# matrix. The pseudoinverse of $\operatorname{diag}(1, \epsilon)$ is $\operatorname{diag}(1, 1/\epsilon)$, larger and larger
# as $\epsilon \to 0$, and at $\epsilon = 0$ it is suddenly $\operatorname{diag}(1, 0)$. That is no accident of the example:
#
# ```{prf:theorem} The smaller the error, the larger the jump
# :label: thm-pinv-jump
# If $\operatorname{rank}(\mathbf{A} + \mathbf{E}) > \operatorname{rank} \mathbf{A}$, then
# $\|(\mathbf{A} + \mathbf{E})^+\|_2 \ge 1 / \|\mathbf{E}\|_2$.
# ```
#
# ```{prf:proof}
# The row space of $\mathbf{A} + \mathbf{E}$ and the null space of $\mathbf{A}$ have dimensions whose sum exceeds $n$, so
# they share a unit vector $\mathbf{z}$. Then $(\mathbf{A} + \mathbf{E})\mathbf{z} = \mathbf{E}\mathbf{z}$. As $\mathbf{z}$
# lies in the row space, $\mathbf{z} = (\mathbf{A} + \mathbf{E})^+(\mathbf{A} + \mathbf{E})\mathbf{z} = (\mathbf{A} +
# \mathbf{E})^+\mathbf{E}\mathbf{z}$, and $1 \le \|(\mathbf{A} + \mathbf{E})^+\|_2\, \|\mathbf{E}\|_2$.
# ```
#
# A computed matrix of low rank hardly ever has exactly that rank. So without a decision "these $\sigma_i$ are zero" the
# answer would consist of rounding errors, magnified by as much as $1/\varepsilon$. The decision is an opinion about the
# matrix, and libraries differ:

# %%
def jumps(seed, rank):  # (6, 5), disturbed by a little noise
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, rank)) @ rng.normal(size=(rank, 5))
    E = 1e-3 * rng.normal(size=(6, 5))
    return np.linalg.norm(pinv(A + E), 2) >= 1 / np.linalg.norm(E, 2)

verify('the pseudoinverse jumps where the rank rises',
       lambda seed: jumps(seed, 3), control=lambda seed: jumps(seed, 5),
       seed=seeds())
A = np.zeros((100, 100))
A[0, 0], A[1, 1] = 1, 3e-15
for name, library in (('numpy', np.linalg.pinv), ('scipy', scipy.linalg.pinv)):
    print(f'{name}: largest entry of the pseudoinverse {library(A).max():.2g}')

# %% [markdown]
# By default numpy's `pinv` cuts below $10^{-15}\sigma_1$ and scipy's below $\max(m, n)\,\varepsilon\,\sigma_1$; between the
# two lie 14 powers of ten in the answer. Iterations decide too, without saying so. Newton's method for the inverse,
#
# ```{math}
# :label: pinv-newton
# \mathbf{X}_{t+1} = \mathbf{X}_t (2\mathbf{I} - \mathbf{A}\mathbf{X}_t), \qquad \mathbf{X}_0 = \mathbf{A}^\top / \|\mathbf{A}\|_2^2 ,
# ```
#
# needs products only, which is what accelerators are good at. All $\mathbf{X}_t$ have the form
# $\sum_i x_i \mathbf{v}_i\mathbf{u}_i^\top$, and the misfit $e_i = 1 - \sigma_i x_i$ becomes
# $1 - \sigma_i x_i (2 - \sigma_i x_i) = (1 - \sigma_i x_i)^2 = e_i^2$. It starts at $1 - \sigma_i^2/\sigma_1^2 < 1$ and is
# squared in every step: about $2\log_2\kappa$ steps of nothing, while $x_i$ doubles, then twice as many digits with each
# step. In exact arithmetic $x_i$ stays zero where $\sigma_i = 0$. But let a fault of $10^{-10}$ get into the null space:
# there too $x_i$ *doubles* in every step, since $x_i(2 - 0) = 2x_i$, and nothing ever stops it. Rounding does the same
# without our help, starting from $10^{-16}$.

# %%
def newton(a, steps, fault=0):  # error of each iterate
    x = a.T / np.linalg.norm(a, 2) ** 2 + fault
    true, errors = pinv(a), []
    for _ in range(steps):
        errors.append(np.linalg.norm(x - true, 2) / np.linalg.norm(true, 2))
        x = x @ (2 * np.eye(len(a)) - a @ x)
    return np.array(errors)

rng = np.random.default_rng(13)
u, v = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (6, 5))
runs = {}
for kappa in (3, 30, 300):
    full = u[:, :5] * np.geomspace(1, 1 / kappa, 5) @ v.T
    runs[kappa] = newton(full, 40)
    k = np.argmax(runs[kappa] < 0.01)  # the first small error
    assert close(runs[kappa][k + 1], runs[kappa][k] ** 2, rtol=1e-3)
    print(f'kappa = {kappa}: after an error of {runs[kappa][k]:.2e}',
          f'comes one of {runs[kappa][k + 1]:.2e}')

# %%
deficient = u[:, :4] * [1, 0.7, 0.5, 1 / 3] @ v[:, :4].T  # rank 4 of 5
fault = 1e-10 * np.outer(v[:, 4], u[:, 5])
doubling = newton(deficient, 40, fault)
assert close(doubling[20:] / doubling[19:-1], np.full(20, 2), rtol=1e-3)
grows = doubling[20:] / doubling[19:-1]
print(f'a fault in the null space grows by factors from {grows.min():.3f} '
      f'to {grows.max():.3f} in a step')
late = newton(deficient, 100)[[20, -1]]
print('without it: error', below(late[0], 1e-6), 'after 20 steps,',
      between(late[1], 1e3, 1e20), 'after 100')

# %% mystnb={"figure": {"caption": "Left: the cutoff decides where $\\|\\mathbf{A}^+\\|$ falls from $1/\\epsilon$ to 1. Right: Newton's iteration starts to converge later as $\\kappa$ grows, and a fault in the null space doubles in each step."}, "image": {"alt": "Left: norm of the pseudoinverse of diag(1, epsilon) against epsilon; without a cutoff it grows like one over epsilon, with a cutoff it drops to one below it. Right: error of Newton's iteration against the steps; flat, then plunging, later for worse condition numbers; with a fault in the null space it falls and then climbs along a straight line to above one."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
eps = np.geomspace(1e-9, 1, 400)
left.loglog(eps, 1 / eps, color=GREY, ls='--', lw=1, label='no cutoff')
for power in (-2, -6):
    cut = np.where(eps > 10.0**power, 1 / eps, 1)
    left.loglog(eps, cut, label=f'cutoff $10^{{{power}}}$')
left.set(xlabel='ε', title='‖A⁺‖ for A = diag(1, ε)')
left.legend()
for kappa, errors in runs.items():
    right.semilogy(np.maximum(errors, 1e-12), label=f'κ = {kappa}')
right.semilogy(doubling, '--', label='rank 4 + fault', color='C4')
right.set(xlabel='steps', title="Error of Newton's iteration")
right.set_ylim(1e-12, 1e3)
right.legend(fontsize=8, loc='lower right', handlelength=1);

# %% [markdown]
# ### A cutoff from the noise
#
# Rounding is the smallest of troubles. Data come with errors that are millions of times larger, and then the default
# cutoffs are far too low. Whoever knows the size of the errors knows the cutoff. If $\mathbf{A}$ was observed with an error
# $\mathbf{E}$, {prf:ref}`cor-weyl` calls every $\sigma_i \le \|\mathbf{E}\|_2$ indistinguishable from zero. For independent
# noise of standard deviation $s$ in $m \times n$ entries, $\|\mathbf{E}\|_2$ is near $s(\sqrt{m} + \sqrt{n})$, and hardly
# ever above it by much. Below, a matrix of rank 5 is observed:

# %%
rng = np.random.default_rng(15)
m, n = 60, 40
A = rng.normal(size=(m, 5)) @ rng.normal(size=(5, n))
for s in (1e-8, 1e-4, 1e-1):
    E = s * rng.normal(size=(m, n))
    sigma = np.linalg.svd(A + E)[1]
    shift = abs(sigma - np.linalg.svd(A)[1]).max()
    assert shift <= np.linalg.norm(E, 2) * (1 + 1e-6)  # Weyl
    noise = s * (np.sqrt(m) + np.sqrt(n))
    assert 0.8 * noise < np.linalg.norm(E, 2) < 1.1 * noise
    by_default = np.linalg.matrix_rank(A + E)
    print(f's = {s:5.0e}: rank by default {by_default}, by the noise',
          (sigma > 1.1 * noise).sum())

# %% [markdown]
# If it is $\mathbf{b}$ that is noisy, {eq}`pinv-split` tells what each term brings in: with $c_i + \eta_i$ in place of
# $c_i$, keeping it costs the noise $s^2/\sigma_i^2$, dropping it costs the signal $y_i^2$.
#
# Here is the classic case. A photograph is out of focus: each pixel is a mean of its neighbours with Gaussian weights,
# and the camera stores it in $2^8 = 256$ grey levels. The blur acts on columns and rows,
# $\mathbf{B} = \mathbf{K}\mathbf{X}\mathbf{L}^\top$. As a map of all $160 \cdot 240 = 38\,400$ pixels it would be a
# matrix with more than a billion entries. Its singular values are simply the products
# $\sigma_i(\mathbf{K})\,\sigma_j(\mathbf{L})$, its singular vectors the products $\mathbf{u}_i\mathbf{p}_j^\top$ of
# those of $\mathbf{K}$ and $\mathbf{L}$, so we never need it.

# %%
def blur(n, width):  # n pixels, standard deviation in pixels -> (n, n)
    i = np.arange(n)
    weights = np.exp(-(i[:, None] - i) ** 2 / (2 * width**2))
    return weights / (width * np.sqrt(2 * np.pi))

X = photograph('flower').mean(2)[60:380, 60:540]
X = X.reshape(160, 2, 240, 2).mean((1, 3))  # half the size
K, L = blur(160, 1.5), blur(240, 1.5)
B = np.round(255 * K @ X @ L.T) / 255  # stored in 8 bits
(u, s_K, vt), (p, s_L, qt) = np.linalg.svd(K), np.linalg.svd(L)
stretch = np.outer(s_K, s_L)  # (160, 240), all singular values
c = u.T @ B @ p

def sharpen(tau):  # keep what is stretched by more than tau
    return vt.T @ np.where(stretch > tau, c / stretch, 0) @ qt

def error(picture):  # root mean square, in grey levels of 255
    return 255 * np.sqrt(((picture - X) ** 2).mean())

# %%
taus = np.geomspace(1e-5, 0.5, 60)
measured = np.array([error(sharpen(tau)) for tau in taus])
best = taus[measured.argmin()]
cutoff = X.size * np.finfo(float).eps * stretch.max()  # of scipy's pinv
assert stretch.min() > 50 * cutoff
print(f'blurred {error(B):.0f},',
      'with no cutoff', between(error(sharpen(0)), 1e6, 1e12))
print(f'cutoff {best:.3f} keeps {(stretch > best).mean():.0%}:',
      f'error {measured.min():.1f} grey levels')
near = max(error(sharpen(best / 2)), error(sharpen(2 * best)))
print(f'half or twice the cutoff: at most {near:.1f}')
low = taus < best
worse = np.interp(-error(B), -measured[low], taus[low])
print(f'worse than the blur: cutoffs below {worse:.4f}')

# %% [markdown]
# The rounding to grey levels is noise of variance $1/12$ in units of one level. Both parts of the error can be computed
# beforehand, term by term, if the true picture is known:

# %%
y = vt @ X @ qt.T  # (160, 240), the true coordinates
noise = 1 / (255**2 * 12) / stretch**2
dropped = np.array([(y[stretch <= tau] ** 2).sum() for tau in taus])
brought = np.array([noise[stretch > tau].sum() for tau in taus])
formula = 255 * np.sqrt((dropped + brought) / X.size)
print(f'formula and measurement differ by at most '
      f'{abs(formula / measured - 1).max():.0%}')

# %% mystnb={"figure": {"caption": "Inverting every singular value turns the rounding to 256 grey levels into a picture of nothing but noise; inverting only those above 0.022 restores the dahlia."}, "image": {"alt": "Three pictures of a dahlia: blurred; restored without a cutoff, nothing but a pattern of black and white dots; restored with the best cutoff, nearly sharp with a faint ripple."}} tags=["hide-input"]
fig, axes = panels(3, height=1.6)
pictures = {'blurred, 8 bits': B, 'all σ inverted': sharpen(0),
            f'σ > {best:.3f} inverted': sharpen(best)}
for ax, (name, picture) in zip(axes, pictures.items(), strict=True):
    show_image(ax, picture.clip(0, 1), name, vmin=0, vmax=1)

# %% mystnb={"figure": {"caption": "A cutoff near 0.02 balances noise against lost detail; a cutoff below about 0.005 makes the picture worse than the blur did."}, "image": {"alt": "Error in grey levels against the cutoff, both logarithmic: a valley at a cutoff of about 0.02; to the left the noise grows along a straight line, to the right the lost detail rises slowly to the level of the blurred picture."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.6))
ax.loglog(taus, measured, label='measured', lw=3)
ax.loglog(taus, formula, '--', label='formula', lw=1.2)
ax.axhline(error(B), color=GREY, ls=':', lw=1)
ax.text(1e-5, 0.55 * error(B), 'error of the blurred picture')
ax.set(xlabel='cutoff τ', ylabel='error in grey levels', ylim=(3, None))
ax.legend();

# %% [markdown]
# Three quarters of the directions have to be given up, and the picture gains by it. The default cutoffs give up none, and
# the noise of half a grey level comes back as ten million. In between lies a wide valley: half or twice the best cutoff is
# nearly as good.
#
# ```{exercise} ★★★ A cutoff without the truth
# :label: pinv-discrepancy
# The best cutoff above was found with the true picture in hand. Without it, one can still demand that the solution explain
# the data *no better than the noise allows*. Write `careful(a, b, s)`: among the solutions with the $k$ largest singular
# values, $k = 0, 1, \dots$, return the first with $\|\mathbf{A}\mathbf{x} - \mathbf{b}\|^2 \le m s^2$, where $s$ is the
# standard deviation of the noise in each of the $m$ entries of $\mathbf{b}$. Then try the principle on the photograph: how
# close to the best does it come?
# ```

# %%
def careful(a, b, s):  # (m, n), (m,), () -> (n,)
    raise NotImplementedError('your turn')

# %%
def by_trying(a, b, s):
    sigma = np.linalg.svd(a)[1]
    between = np.sqrt(sigma * np.append(sigma[1:], 0))  # cutoffs
    x = np.zeros(a.shape[1])
    for tau in between:
        if ((a @ x - b) ** 2).sum() <= len(b) * s**2:
            break
        x = np.linalg.pinv(a, tau / sigma[0]) @ b
    return x

rng = np.random.default_rng(14)
smooth = np.sin(np.linspace(0, 3, 12))
cases = [(blur(12, w), blur(12, w) @ smooth + s * rng.normal(size=12), s)
         for w, s in ((1, 0.01), (1, 0.1), (2, 0.001), (2, 3.0))]
grade(careful, by_trying, cases)

# %% [markdown]
# ```{solution-start} pinv-discrepancy
# :class: dropdown
# ```
# By {eq}`pinv-split`, after $k$ terms the squared residual is $\|\mathbf{b}\|^2 - c_1^2 - \dots - c_k^2$: no solution need
# be formed to choose $k$. This is Morozov's discrepancy principle {cite}`hansen2010discrete`. The wrong answer forgets the
# factor $m$ and fits the noise. On the photograph the principle comes within a tenth of the least error.

# %% jupyter={"source_hidden": true}
def careful_solution(a, b, s, m=None):
    u, sigma, vt = np.linalg.svd(a)
    c = u.T[:len(sigma)] @ b
    residual = b @ b - np.append(0, (c ** 2).cumsum())
    k = np.argmax(residual <= (m or len(b)) * s**2)
    return vt[:k].T @ (c[:k] / sigma[:k])

def fits_the_noise(a, b, s):
    return careful_solution(a, b, s, m=1)

assert grade(careful_solution, by_trying, cases)
assert not grade(fits_the_noise, by_trying, cases)
order = np.argsort(-stretch.ravel())
residual = (c ** 2).sum() - np.append(0, c.ravel()[order] ** 2).cumsum()
k = np.argmax(residual <= X.size / (255**2 * 12))
chosen = sharpen(stretch.ravel()[order[k]])
print(f'error {error(chosen):.1f}, the best {measured.min():.1f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Summary
#
# Every matrix maps one orthonormal basis to orthogonal vectors, and their lengths, the singular values, hold its rank, its
# norms, its distance to every lower rank and the shape of every cloud of data. One-sided Jacobi finds them by turning
# columns and keeps the small ones that the product $\mathbf{A}^\top\mathbf{A}$ forgets. The pseudoinverse divides by them,
# which makes it the best answer to every linear system and a magnifier of noise: what counts as zero must be decided, by
# the size of the errors and not by a default.
#
# **Further reading.** {cite}`golub2013matrix` for algorithms, {cite}`trefethen1997numerical` for the clearest introduction.
# The theorems are in {cite}`eckart1936approximation`, {cite}`mirsky1960symmetric` and {cite}`penrose1955generalized`, their
# history in {cite}`stewart1993early`; {cite}`stewart1977perturbation` treats the perturbation of pseudoinverses, and
# {cite}`hansen2010discrete` inverse problems such as the blurred photograph.
