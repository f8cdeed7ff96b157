# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Kernels
#
# - **Question.** How can a linear method draw a curved boundary, in a space of features too large to be written down?
# - **You need** [ridge regression](../regression/ridge_regression.ipynb) with its dual form, the
#   [spectral theorem](../linear_algebra/eigendecomposition.ipynb),
#   [support vector machines](support_vector_machines.ipynb) and
#   [Hoeffding's inequality](../probability/concentration.ipynb).
# - **You build** kernels from kernels, the space of functions that belongs to one, kernel ridge regression, a support
#   vector machine with a curved boundary, and random features that stand in for all of it.
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
import matplotlib.pyplot as plt
import numpy as np
from numpy.linalg import eigh, eigvalsh, lstsq, matrix_rank, norm, solve
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist
from scipy.special import factorial
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

from nbutils.cases import scalars, seeds, vectors
from nbutils.checks import close, grade, verify
from nbutils.data import diabetes, digits
from nbutils.figures import GREY, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## Kernels: similarities that are dot products
#
# No straight line separates a ring from another one inside it. But give a linear method the products of the coordinates,
# by the *feature map* $\varphi(\mathbf{x}) = (x_1^2, \sqrt2\, x_1 x_2, x_2^2)$, and a plane in the space of features is an
# ellipse, a hyperbola or a pair of lines for whoever looks at $\mathbf{x}$. Least squares on the labels $\pm1$:

# %%
def quadratic_features(X):  # (n, d) -> (n, d (d + 1) / 2)
    i, j = np.triu_indices(X.shape[1])
    return np.where(i == j, 1, np.sqrt(2)) * X[:, i] * X[:, j]

rng = np.random.default_rng(0)
angle = np.sort(rng.uniform(0, 2 * np.pi, (2, 40)))
radius = np.array([[0.6], [1.3]]) + rng.normal(0, 0.08, (2, 40))
rings = np.stack([radius * np.cos(angle), radius * np.sin(angle)],
                 axis=-1).reshape(80, 2)
side = np.repeat([-1, 1], 40)
for name, F in (('coordinates', rings),
                ('their products', quadratic_features(rings))):
    A = np.column_stack([F, np.ones(80)])
    w = lstsq(A, side, rcond=None)[0]
    print(f'{name}: {np.mean(np.sign(A @ w) == side):.2f} right')

# %% mystnb={"image": {"alt": "Left: a small ring of points inside a larger ring. Right: the same points drawn with the squares of their coordinates as axes; the small ring becomes a short bar near the origin, the large ring a longer parallel bar, and a straight line runs between them."}} tags=["hide-input"]
fig, axes = panels(2, height=2.9)
for ax, P in zip(axes, (rings, quadratic_features(rings)[:, [0, 2]]),
                 strict=True):
    ax.scatter(*P[:40].T, s=14, color='C0')
    ax.scatter(*P[40:].T, s=14, color='C1', marker='s')
cut = np.array([0, -w[3] / w[0]])
axes[1].plot(cut, -(w[3] + w[0] * cut) / w[2], color=GREY)
axes[0].set(xlabel='x₁', ylabel='x₂', aspect='equal', title='the plane')
axes[1].set(xlabel='x₁²', ylabel='x₂²', aspect='equal',
            title='two of three features');

# %% [markdown] tags=["caption"]
# Two rings that no straight line parts in the plane lie on two sides of one once the squares of the coordinates are the
# axes.

# %% [markdown]
# The root of two has a reason. With it the dot product of two feature vectors is simple:
#
# ```{math}
# :label: kernels-square
# \varphi(\mathbf{x}) \cdot \varphi(\mathbf{z}) = x_1^2 z_1^2 + 2 x_1 x_2 z_1 z_2 + x_2^2 z_2^2
# = (\mathbf{x} \cdot \mathbf{z})^2 .
# ```
#
# The right side never looks at a feature. The same happens for the power $p$ of $\mathbf{x} \cdot \mathbf{z}$: its
# features are the monomials of degree $p$ times roots of multinomial coefficients. For the 64 pixels of a
# small picture and $p = 4$ there are $\binom{67}{4} = 766\,480$ of them; the kernel needs 66 multiplications. And by its
# [dual form](../regression/ridge_regression.ipynb) ridge regression needs only dot products. So turn the question around.
# Given a measure of similarity $k(\mathbf{x}, \mathbf{z})$, is it the dot product of some features?
#
# ```{prf:definition} Kernel
# :label: def-kernel
# A real function $k$ of two arguments from a set $\mathcal{X}$ is a *kernel* if it is symmetric and for all finite lists
# $x_1, \dots, x_n$ the *Gram matrix* $\mathbf{K}$, $K_{ij} = k(x_i, x_j)$, is positive semidefinite:
# $\sum_{i,j} c_i c_j\, k(x_i, x_j) \ge 0$ for all real $c_i$.
# ```
#
# ````{prf:theorem} Mercer's theorem for finitely many points
# :label: thm-finite-mercer
# A symmetric matrix $\mathbf{K}$ is positive semidefinite if and only if $K_{ij} = \varphi_i \cdot \varphi_j$ for some
# vectors $\varphi_1, \dots, \varphi_n$. They need no more than $\operatorname{rank} \mathbf{K}$ entries.
# ````
#
# ````{prf:proof}
# If $\mathbf{K} = \boldsymbol\Phi\boldsymbol\Phi^\top$ with rows $\varphi_i$, then $\mathbf{c}^\top\mathbf{K}\mathbf{c} =
# \|\boldsymbol\Phi^\top\mathbf{c}\|^2 \ge 0$. Conversely, by the spectral theorem $\mathbf{K} =
# \mathbf{V}\boldsymbol\Lambda\mathbf{V}^\top$ with $\lambda_j \ge 0$. Take $\boldsymbol\Phi =
# \mathbf{V}\boldsymbol\Lambda^{1/2}$ and drop the columns with $\lambda_j = 0$.
# ````
#
# So features make kernels, and a kernel has features at least on every finite set of points. (Mercer's own theorem is about
# continuous kernels on an interval, with eigenfunctions for eigenvectors.) The set $\mathcal{X}$ may hold vectors, words or
# trees: it need not have coordinates at all. For the squared dot products of the 80 points in the plane the proof finds
# three features, as many as $\varphi$ has:

# %%
def features_of(K):  # symmetric (n, n) -> (n, rank)
    s, V = eigh(K)
    keep = s > 1e-10 * s[-1]
    return V[:, keep] * np.sqrt(s[keep])

def semidefinite(K):
    return bool(eigvalsh(K)[0] > -1e-10 * norm(K))

F = features_of((rings @ rings.T) ** 2)
print(f'{F.shape[0]} points, {F.shape[1]} features')

# %% [markdown]
# ### New kernels from old
#
# ````{prf:theorem} Closure rules
# :label: thm-kernel-rules
# Let $k$ and $l$ be kernels on $\mathcal{X}$. Then so are
# (a) $\alpha k + \beta l$ for $\alpha, \beta \ge 0$, and every pointwise limit of kernels;
# (b) the product $k\,l$;
# (c) $f(x)\, k(x, z)\, f(z)$ for every function $f: \mathcal{X} \to \mathbb{R}$, and $k(g(x), g(z))$ for every map $g$
# into $\mathcal{X}$;
# (d) $\sum_{p \ge 0} c_p\, k^p$ with all $c_p \ge 0$, where it converges; in particular $e^k$.
# ````
#
# ````{prf:proof}
# (a) $\mathbf{c}^\top(\alpha\mathbf{K} + \beta\mathbf{L})\mathbf{c} = \alpha\,\mathbf{c}^\top\mathbf{K}\mathbf{c} +
# \beta\,\mathbf{c}^\top\mathbf{L}\mathbf{c} \ge 0$, and a limit of numbers $\ge 0$ is $\ge 0$. (b) By
# {prf:ref}`thm-finite-mercer`, $K_{ij} = \varphi_i \cdot \varphi_j$ and $L_{ij} = \psi_i \cdot \psi_j$, so
# $K_{ij}L_{ij} = \sum_{p,q} (\varphi_{ip}\psi_{iq})(\varphi_{jp}\psi_{jq})$: a dot product of all the products of two
# features. (c) $\sum_{i,j} c_i c_j f(x_i)\, k(x_i, x_j) f(x_j)$ is the sum of the definition with $c_i f(x_i)$ for
# $c_i$; the points $g(x_i)$ are points like others. (d) Powers are kernels by (b), the constant 1 too; then use (a).
# ````
#
# Two kernels that these rules give do most of the work in practice: the polynomial kernel $(\mathbf{x} \cdot \mathbf{z} +
# c)^p$ with $c \ge 0$ and $p = 1, 2, \dots$, whose features for $c > 0$ are all monomials up to degree $p$, and the
# *Gaussian kernel* or *RBF kernel*
#
# ```{math}
# :label: kernels-rbf
# k(\mathbf{x}, \mathbf{z}) = e^{-\gamma \|\mathbf{x} - \mathbf{z}\|^2}
# = e^{-\gamma \|\mathbf{x}\|^2} \; e^{2\gamma\, \mathbf{x} \cdot \mathbf{z}} \; e^{-\gamma \|\mathbf{z}\|^2} ,
# \qquad \gamma > 0 .
# ```
#
# The middle factor is a kernel by (d), the outer two are an $f$ as in (c). On the line the series even shows its features,
# infinitely many: $\varphi_j(x) = e^{-\gamma x^2} \sqrt{(2\gamma)^j / j!}\; x^j$, $j = 0, 1, 2, \dots$

# %%
def linear(X, Z):  # (n, d), (m, d) -> (n, m)
    return X @ Z.T

def polynomial(X, Z, degree, c):
    return (X @ Z.T + c) ** degree

def rbf(X, Z, gamma):
    return np.exp(-gamma * cdist(X, Z, 'sqeuclidean'))

# %% [markdown]
# What three kernels say about the 80 points of the rings, sorted by ring and then by angle: the linear kernel sees a cosine
# of the angle between two points, paler for the inner ring; the quadratic one squares it, so that $-\mathbf{x}$ is a twin
# of $\mathbf{x}$; the Gaussian one knows neighbours, and two neighbourhoods that are nearly strangers.

# %%
tables = {'linear': linear(rings, rings),
          'quadratic': polynomial(rings, rings, 2, 0),
          'Gaussian, γ = 3': rbf(rings, rings, 3)}
for name, K in tables.items():
    print(f'{name}: {(eigvalsh(K) > 0.01).sum()} eigenvalues above 0.01')

# %% mystnb={"image": {"alt": "Three heat maps of 80 by 80 similarities. Linear: in each of four blocks two broad waves, strongest for the outer ring. Quadratic: twice as many bands, all non-negative, bright only in the block of the outer ring. Gaussian: bright along the diagonal and in the corners of the inner ring's block; between the rings dark but for a faint band of points at the same angle."}} tags=["hide-input"]
fig, axes = panels(3, height=2.2)
for ax, (name, K) in zip(axes, tables.items(), strict=True):
    show_image(ax, K, name, cmap='viridis')

# %% [markdown] tags=["caption"]
# With $\gamma = 3$ each point resembles its neighbours on its own ring, and much less those on the other; the linear and the
# quadratic kernel see angle and radius instead.

# %% [markdown]
# ### Similarities that are not kernels
#
# Symmetric, positive, largest for equal arguments: is that not enough? No: three points expose
# "1 if $|x - z| \le 1$, else 0". Let $x$ and $z$ both be near $y$ but not near each other; then
# $(1, -\sqrt2, 1)$ gives $\mathbf{c}^\top\mathbf{K}\mathbf{c} = 4 - 4\sqrt2 < 0$. No vectors of length 1 can have these
# dot products: two of 1 force $x$, $y$ and $z$ onto one feature vector, so the third must be 1 too.
#
# Nor can the square in {eq}`kernels-rbf` be raised. Put $q$ for 2, and three points at distances $h, h, 2h$ have the
# entries $a = e^{-h^q}$, $a$ and $b = a^{2^q}$. With weights $(1, -2a, 1)$ the quadratic form is
#
# $$ 2 + 4a^2 + 2b - 8a^2 = 2\big(1 + a^{2^q} - 2a^2\big) . $$
#
# For $q = 2$ this is $2(1 - a^2)^2 \ge 0$. For $q > 2$ the bracket vanishes at $a = 1$, where its derivative $2^q - 4$ is
# positive, so it is negative for $a$ just below 1: for close points.

# %%
def least(k, points):
    x = np.array(points)
    return eigvalsh(k(x[:, None], x))[0]

suspects = {
    'near or not': (lambda x, z: 1. * (abs(x - z) <= 1), (0, 0.8, 1.6)),
    'exp(-|x - z|³)': (lambda x, z: np.exp(-abs(x - z) ** 3), (0, 0.5, 1)),
    'exp(-|x - z|²)': (lambda x, z: np.exp(-abs(x - z) ** 2), (0, 0.5, 1)),
    'minus distance': (lambda x, z: -abs(x - z), (0, 1)),
    'tanh(xz - 1)': (lambda x, z: np.tanh(x * z - 1), (0, 2)),
    'min(x, z)': (np.minimum, (0.5, 1, 2)),
}
for name, (k, points) in suspects.items():
    print(f'{name:14}  smallest eigenvalue {least(k, points):6.3f}')

# %% [markdown]
# Minus the distance fails with two points, and $\tanh(xz - 1)$, once borrowed from neural networks as a "sigmoid kernel",
# with one, as $k(0, 0) < 0$. A negative eigenvalue for one list of points is a proof. That none was found is not:
# $\min(x, z)$ for positive numbers, the last of the list, still has to show its features, and will.
#
# ```{exercise} ★ How far apart are features that nobody wrote down?
# :label: kernels-distance
# Given a Gram matrix $\mathbf{K}$, write `distances(K)`, the matrix of the distances $\|\varphi(x_i) - \varphi(x_j)\|$.
# ```

# %%
def distances(K):  # (n, n) -> (n, n)
    raise NotImplementedError('your turn')

# %%
def distances_by_features(K):
    s, V = np.linalg.eigh(K)
    F = V * np.sqrt(np.maximum(s, 0))
    return np.linalg.norm(F[:, None] - F, axis=2)

distance_rng = np.random.default_rng(1)
distance_cases = []
for n in (2, 5):
    root = distance_rng.normal(size=(n, n))
    distance_cases.append((root @ root.T,))
grade(distances, distances_by_features, distance_cases, atol=1e-6)

# %% [markdown]
# ```{solution-start} kernels-distance
# :class: dropdown
# ```
# Expand: $\|\varphi_i - \varphi_j\|^2 = K_{ii} - 2K_{ij} + K_{jj}$. Rounding may push a zero below zero, before
# the root. For the Gaussian kernel the distance is $\sqrt{2 - 2k(x, z)} < \sqrt2$: all its features lie on a sphere, closer
# together than a right angle. The wrong answer counts the mixed term once.

# %% jupyter={"source_hidden": true}
def distances_solution(K):
    own = np.diag(K)
    return np.sqrt(np.maximum(own[:, None] - 2 * K + own, 0))

def mixed_term_once(K):
    own = np.diag(K)
    return np.sqrt(np.maximum(own[:, None] - K + own, 0))

assert grade(distances_solution, distances_by_features, distance_cases,
             atol=1e-6)
assert not grade(mixed_term_once, distances_by_features, distance_cases,
                 atol=1e-6)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def square_is_dot(seed, features):
    X, Z = np.random.default_rng(seed).normal(size=(2, 4, 3))
    return close(features(X) @ features(Z).T, (X @ Z.T) ** 2, atol=1e-10)

def without_root(X):
    i, j = np.triu_indices(X.shape[1])
    return X[:, i] * X[:, j]

verify(
    'the squared dot product has d(d + 1)/2 features',
    lambda seed: square_is_dot(seed, quadratic_features),
    slip=(
        'leaves out the root of two',
        lambda seed: square_is_dot(seed, without_root),
    ),
    seed=seeds(),
)
def has_features(K):
    F = features_of(K)
    return (F.shape[1] == matrix_rank(K)
            and close(F @ F.T, K, atol=1e-10))

def gram(seed):
    A = np.random.default_rng(seed).normal(size=(5, 2))
    return A @ A.T

def looks_like_one(seed):  # no entry exceeds those on the diagonal
    B = np.random.default_rng(seed).uniform(0, 1, (5, 5))
    return (B + B.T) / 2 + np.diag(1 - np.diag(B))

verify(
    'a semidefinite matrix is made of as many features as its rank',
    lambda seed: has_features(gram(seed)),
    slip=(
        'asks only that no entry exceeds the diagonal',
        lambda seed: has_features(looks_like_one(seed)),
    ),
    seed=seeds(),
)

# %% tags=["checks"]
def stays(seed, rule):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    return semidefinite(rule(X @ X.T, Z @ Z.T, rng.normal(size=6)))

verify(
    'sums of kernels are kernels',
    lambda seed: stays(seed, lambda K, L, f: 2 * K + 3 * L),
    slip=(
        'subtracts a kernel',
        lambda seed: stays(seed, lambda K, L, f: 2 * K - L),
    ),
    seed=seeds(),
)
verify(
    'products of kernels are kernels',
    lambda seed: stays(seed, lambda K, L, f: K * L),
    slip=(
        'multiplies the Gram matrices as matrices',
        lambda seed: stays(seed, lambda K, L, f: K @ L + L @ K),
    ),
    seed=seeds(),
)
verify(
    'so is a kernel scaled by a function',
    lambda seed: stays(seed, lambda K, L, f: f[:, None] * K * f),
    slip=(
        'adds the function instead of multiplying by it',
        lambda seed: stays(seed, lambda K, L, f: f[:, None] + K + f),
    ),
    seed=seeds(),
)
verify(
    'and the exponential of a kernel',
    lambda seed: stays(seed, lambda K, L, f: np.exp(K)),
    slip=(
        'takes the exponential of minus the kernel',
        lambda seed: stays(seed, lambda K, L, f: np.exp(-K)),
    ),
    seed=seeds(),
)

# %% tags=["checks"]
def rbf_features(x, gamma, root):  # (n,) -> (n, 60)
    j = np.arange(60)
    powers = (np.sqrt(2 * gamma) * x[:, None]) ** j / root(factorial(j))
    return np.exp(-gamma * x[:, None] ** 2) * powers

def is_series(x, gamma, root):
    F = rbf_features(x, gamma, root)
    return close(F @ F.T, rbf(x[:, None], x[:, None], gamma), atol=1e-12)

def as_library(seed, c):
    X, Z = np.random.default_rng(seed).normal(size=(2, 4, 3))
    return close(rbf(X, Z, 0.7), rbf_kernel(X, Z, 0.7), atol=1e-12) and close(
        polynomial(X, Z, 3, c), polynomial_kernel(X, Z, 3, 1, 1.5), atol=1e-12
    )

verify(
    'on the line the Gaussian kernel is a dot product of series',
    lambda x, gamma: is_series(x, gamma, np.sqrt),
    slip=(
        'forgets the root of the factorial',
        lambda x, gamma: is_series(x, gamma, lambda fact: fact),
    ),
    x=vectors(4, -2, 2),
    gamma=scalars(0.1, 1),
)
verify(
    "both kernels are scikit-learn's",
    lambda seed: as_library(seed, 1.5),
    slip=(
        'takes another constant c in the polynomial',
        lambda seed: as_library(seed, 1),
    ),
    seed=seeds(),
    tries=50,
)

def bracket(a, q, square):
    weights = np.array([1, -2 * a, 1])
    h = (-np.log(a)) ** (1 / q)
    K = np.exp(-(abs(np.subtract.outer([0, h, 2 * h], [0, h, 2 * h])) ** q))
    return close(
        weights @ K @ weights, 2 * (1 + a**2**q - square * a**2), atol=1e-12
    )

verify(
    'three points and the power q',
    lambda a, q: bracket(a, q, 2),
    slip=('counts a² once in place of twice', lambda a, q: bracket(a, q, 1)),
    a=scalars(0.3, 0.95),
    q=scalars(0.5, 4),
)

# %% [markdown]
# ## The Hilbert space of a kernel, and kernel ridge regression
#
# This section continues [Kernels: similarities that are dot products](#kernels-similarities-that-are-dot-products). Where
# are the features for *all* points at once? A bold answer: the feature vector of $x$ is a function, $k_x = k(x, \cdot)$,
# its similarity to everything.
#
# ````{prf:theorem} Moore and Aronszajn
# :label: thm-rkhs
# For every kernel $k$ on $\mathcal{X}$ there is exactly one Hilbert space $\mathcal{H}$ of functions on $\mathcal{X}$ that
# contains all $k_x$ and has the *reproducing property*: for all $f \in \mathcal{H}$ and $x \in \mathcal{X}$
#
# ```{math}
# :label: kernels-reproducing
# f(x) = \langle f, k_x \rangle .
# ```
# ````
#
# It is the *reproducing kernel Hilbert space* of $k$. With $f = k_z$, $k(x, z) = \langle k_x, k_z \rangle$: the features
# are found.
#
# ````{prf:proof}
# :class: dropdown
#
# Let $\mathcal{H}_0$ be the finite sums $f = \sum_i a_i k_{x_i}$, and for $g = \sum_j b_j k_{z_j}$ put $\langle f, g
# \rangle = \sum_{i,j} a_i b_j k(x_i, z_j)$. This equals $\sum_j b_j f(z_j)$ and $\sum_i a_i g(x_i)$, so it depends on the
# functions, not on how they are written. It is bilinear and symmetric, $\langle f, f \rangle \ge 0$ as $k$ is a kernel, and
# {eq}`kernels-reproducing` holds by definition. Such a form obeys the Cauchy–Schwarz inequality, hence
#
# ```{math}
# :label: kernels-evaluation
# |f(x)| = |\langle f, k_x \rangle| \le \|f\| \sqrt{k(x, x)} ,
# ```
#
# and $\|f\| = 0$ only for $f = 0$. To complete $\mathcal{H}_0$, let $(f_n)$ be a Cauchy sequence. By
# {eq}`kernels-evaluation` it converges at each $x$; add the limit functions. Does a function stand for one limit only? If
# $f_n(x) \to 0$ for all $x$ and $\|f_n\| \le B$, choose $m$ with $\|f_n - f_m\| \le \epsilon$ for $n \ge m$. Then
# $\|f_n\|^2 = \langle f_n, f_n - f_m \rangle + \langle f_n, f_m \rangle \le B\epsilon + \langle f_n, f_m \rangle$, and the
# last term is a fixed finite sum of values of $f_n$, which tends to 0. So $\|f_n\| \to 0$. The inner product extends to the
# limits, and {eq}`kernels-reproducing` with it. Unique: every such space contains $\mathcal{H}_0$ with this inner
# product and the limits of its Cauchy sequences, and nothing else, as $f \perp k_x$ for all $x$ means $f = 0$.
# ````
#
# What does the norm measure? By {eq}`kernels-reproducing`, $|f(x) - f(z)| \le \|f\|\,\|k_x - k_z\|$: a function of small
# norm cannot tell apart what the kernel finds similar. For the Gaussian kernel
# $\|k_x - k_z\|^2 = 2 - 2e^{-\gamma\|x - z\|^2} \le 2\gamma\|x - z\|^2$, so that
#
# ```{math}
# :label: kernels-lipschitz
# |f(\mathbf{x}) - f(\mathbf{z})| \le \sqrt{2\gamma}\, \|f\| \, \|\mathbf{x} - \mathbf{z}\| .
# ```
#
# For $k(s, t) = \min(s, t)$ on $s, t \ge 0$ the space is an old friend: all $f(t) = \int_0^t f'$ with a square-integrable
# slope, and $\langle f, g \rangle = \int_0^\infty f'g'\,dt$. For the slope of $k_s$ is 1 up to $s$ and 0 from there on, so
# $\langle f, k_s \rangle = \int_0^s f' dt = f(s)$, and by the way $\min(s, t)$ is a kernel. The squared norm is the total
# squared slope, and the function of least norm through given points goes straight from one to the next. By the theorem that
# comes next it is $\sum_n a_n k_{x_n}$ with $\mathbf{a} = \mathbf{K}^{-1}\mathbf{y}$.
#
# ### The representer theorem
#
# To search all of $\mathcal{H}$ for the best function is to search infinitely many dimensions. But that is not necessary.
#
# ````{prf:theorem} Representer theorem
# :label: thm-representer
# Let $L: \mathbb{R}^N \to \mathbb{R} \cup \{\infty\}$ be any function and $\Omega: [0, \infty) \to \mathbb{R}$ strictly
# increasing. Every minimizer over $\mathcal{H}$ (of finite value) of
#
# $$ J(f) = L\big( f(x_1), \dots, f(x_N) \big) + \Omega(\|f\|) $$
#
# has the form $f = \sum_{n=1}^N a_n k_{x_n}$. If $\Omega$ is only non-decreasing and there is a minimizer, one of them has
# this form.
# ````
#
# ````{prf:proof}
# Split $f = g + h$ with $g$ in the span of $k_{x_1}, \dots, k_{x_N}$ and $h$ orthogonal to it; the span has finite
# dimension, so the projection exists. By {eq}`kernels-reproducing`,
# $f(x_n) = \langle g, k_{x_n} \rangle + \langle h, k_{x_n} \rangle = g(x_n)$: the data do not see $h$. But
# $\|f\|^2 = \|g\|^2 + \|h\|^2$, so $J(g) < J(f)$ unless $h = 0$, and $J(g) \le J(f)$ for non-decreasing $\Omega$.
# ````
#
# Nothing is asked of the loss, not even continuity, and a free bias may be hidden in it. But the price must be a function
# of *this* norm. With ten weights, four examples and the logistic loss, the minimizer has no part outside the span of the
# four; if another norm sets the price, it has.
#
# ### Kernel ridge regression
#
# ````{prf:theorem} Kernel ridge regression
# :label: thm-kernel-ridge
# Let $\alpha > 0$. The only minimizer of $\sum_n (y_n - f(x_n))^2 + \alpha\|f\|^2$ over $\mathcal{H}$ is
#
# ```{math}
# :label: kernels-ridge
# f(x) = \sum_{n=1}^N a_n\, k(x, x_n) , \qquad \mathbf{a} = (\mathbf{K} + \alpha\mathbf{I})^{-1} \mathbf{y} .
# ```
# ````
#
# ````{prf:proof}
# The proof of {prf:ref}`thm-representer` finds for each $f$ a $g$ in the span with $J(g) < J(f)$ unless $g = f$. So we may
# minimize $\|\mathbf{y} - \mathbf{K}\mathbf{a}\|^2 + \alpha\,\mathbf{a}^\top\mathbf{K}\mathbf{a}$ over $\mathbf{a}$. This
# is convex with gradient $2\mathbf{K} \big( (\mathbf{K} + \alpha\mathbf{I})\mathbf{a} - \mathbf{y} \big)$, which vanishes
# at the $\mathbf{a}$ stated. If it vanishes at $\mathbf{a}'$ too, then
# $(\mathbf{K} + \alpha\mathbf{I})\mathbf{K}(\mathbf{a} - \mathbf{a}') = \mathbf{0}$; the first factor is invertible, so
# $\mathbf{K}(\mathbf{a} - \mathbf{a}') = \mathbf{0}$ and the two functions have squared distance
# $(\mathbf{a} - \mathbf{a}')^\top\mathbf{K}(\mathbf{a} - \mathbf{a}') = 0$.
# ````
#
# With $\mathbf{K} = \mathbf{X}\mathbf{X}^\top$ this is the dual form of ridge regression. It is also the mean of a
# Gaussian process after $N$ noisy [observations](../probability/gaussian_distribution.ipynb), with $\alpha$ for the
# variance of the noise {cite}`rasmussen2006gaussian`.

# %%
def kernel_ridge(K, y, alpha):  # (N, N), (N,) or (N, c) -> like y
    return solve(K + alpha * np.eye(len(K)), y)

# %% [markdown]
# The fit is a sum of bumps, one on each example, and their width decides. Forty noisy values of a curve that is slow on the
# left and fast on the right:

# %%
curve = lambda x: np.sin(2 * np.pi * x**2)
rng = np.random.default_rng(3)
x = rng.uniform(0, 1.5, (40, 1))
y = curve(x[:, 0]) + rng.normal(0, 0.2, 40)
grid = np.linspace(0, 1.5, 301)[:, None]
fits = {}
for gamma in (0.5, 50, 2000):
    a = kernel_ridge(rbf(x, x, gamma), y, 0.1)
    fits[gamma] = rbf(grid, x, gamma) @ a
    off = np.sqrt(((fits[gamma] - curve(grid[:, 0])) ** 2).mean())
    seen = np.sqrt(((rbf(x, x, gamma) @ a - y) ** 2).mean())
    print(f'gamma = {gamma:4}: misses the data by {seen:.3f}, '
          f'the curve by {off:.3f}')

# %% mystnb={"image": {"alt": "Three panels with the same forty points and fits of Gaussian kernel ridge regression. Gamma 0.5: a flat line misses the fast swings. Gamma 50: the fit follows the curve. Gamma 2000: narrow spikes from zero to every single point."}} tags=["hide-input"]
fig, axes = panels(3, sharey=True, height=2.4)
for ax, (gamma, fit) in zip(axes, fits.items(), strict=True):
    ax.plot(grid[:, 0], curve(grid[:, 0]), color=GREY, lw=1)
    ax.plot(x[:, 0], y, 'C1.', ms=5)
    ax.plot(grid[:, 0], fit, 'C0')
    ax.set(title=f'γ = {gamma:g}', xlabel='x')
axes[0].set_ylabel('y');

# %% [markdown] tags=["caption"]
# The width of the bumps decides: at $\gamma = 0.5$ the fit misses the swings, at 50 it follows the curve, at 2000 it falls
# back to zero between the examples.

# %% [markdown]
# ```{exercise} ★★ A free bias, without seeing a feature
# :label: kernels-bias
# The bias should cost nothing: minimize
# $\|\mathbf{y} - \boldsymbol\Phi\mathbf{w} - b\mathbf{1}\|^2 + \alpha\|\mathbf{w}\|^2$, knowing only
# $\mathbf{K} = \boldsymbol\Phi\boldsymbol\Phi^\top$. Write `fitted(K, y, alpha)`, the fitted values at the examples.
# ```

# %%
def fitted(K, y, alpha):  # (N, N), (N,), () -> (N,)
    raise NotImplementedError('your turn')

# %%
def fitted_by_library(K, y, alpha):
    s, V = np.linalg.eigh(K)
    F = V * np.sqrt(np.maximum(s, 0))
    return Ridge(alpha, solver='svd').fit(F, y).predict(F)

bias_rng = np.random.default_rng(5)
bias_cases = []
for n, alpha in ((4, 0.5), (7, 2.0)):
    root = bias_rng.normal(1, 1, (n, 3))
    bias_cases.append((root @ root.T, bias_rng.normal(3, 1, n), alpha))
grade(fitted, fitted_by_library, bias_cases)

# %% [markdown]
# ```{solution-start} kernels-bias
# :class: dropdown
# ```
# As for ridge regression, centre the features and the targets. With $\mathbf{H} = \mathbf{I} - \frac1N
# \mathbf{1}\mathbf{1}^\top$ the centred features are $\mathbf{H}\boldsymbol\Phi$, and their Gram matrix is
# $\mathbf{H}\mathbf{K}\mathbf{H}$: subtract the mean of each column, then that of each row, which costs $N^2$ steps and
# not the $N^3$ of two matrix products. To centre only the targets, the wrong
# answer, still charges for the mean of the features.

# %% jupyter={"source_hidden": true}
def fitted_solution(K, y, alpha):
    I, t = np.eye(len(y)), y - y.mean()
    Kc = K - K.mean(axis=0)
    Kc = Kc - Kc.mean(axis=1, keepdims=True)
    return y.mean() + Kc @ np.linalg.solve(Kc + alpha * I, t)

def targets_only(K, y, alpha):
    I, t = np.eye(len(y)), y - y.mean()
    return y.mean() + K @ np.linalg.solve(K + alpha * I, t)

assert grade(fitted_solution, fitted_by_library, bias_cases)
assert not grade(targets_only, fitted_by_library, bias_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def interpolates(seed, energy):
    rng = np.random.default_rng(seed)
    s, y = rng.uniform(0.2, 1, 5).cumsum(), rng.normal(size=5)
    a = solve(np.minimum.outer(s, s), y)
    t = rng.uniform(0, s[-1] + 1, 20)
    knots, values = np.append(0, s), np.append(0, y)
    straight = np.interp(t, knots, values)
    return close(np.minimum.outer(t, s) @ a, straight) and close(
        a @ np.minimum.outer(s, s) @ a,
        energy(np.diff(values), np.diff(knots)).sum(),
    )

verify(
    'with min(s, t) the least norm goes straight from point to point',
    lambda seed: interpolates(seed, lambda rise, run: rise**2 / run),
    slip=(
        'does not divide by the length of the step',
        lambda seed: interpolates(seed, lambda rise, run: rise**2),
    ),
    seed=seeds(),
)

def within(seed, slope):
    rng = np.random.default_rng(seed)
    X, gamma = rng.normal(0, 0.2, (2, 3)), rng.uniform(0.3, 2)
    a = rng.normal([1, -1], 0.1)
    K = rbf(X, X, gamma)
    f, length = K @ a, np.sqrt(a @ K @ a)
    steep = abs(f[0] - f[1]) <= slope(gamma) * length * pdist(X)[0]
    return bool(steep and (abs(f) <= length).all())

verify(
    'values and slopes are bounded by the norm',
    lambda seed: within(seed, lambda gamma: np.sqrt(2 * gamma)),
    slip=(
        'drops the factor 2 before gamma',
        lambda seed: within(seed, np.sqrt),
    ),
    seed=seeds(),
)

# %% tags=["checks"]
def outside(seed, price):
    rng = np.random.default_rng(seed)
    F, y = rng.normal(size=(4, 10)), rng.choice([-1, 1], 4)
    loss = lambda w: np.logaddexp(0, -y * (F @ w)).sum() + price(w)
    w = minimize(loss, np.zeros(10), jac='3-point', tol=1e-9).x
    return norm(w - F.T @ solve(F @ F.T, F @ w))  # what the span lacks

uneven = np.linspace(0.7, 1.4, 10)
verify(
    'the minimizer is a combination of the examples',
    lambda seed: bool(outside(seed, lambda w: norm(w) ** 2) < 1e-4),
    slip=(
        'charges for another norm',
        lambda seed: bool(
            outside(seed, lambda w: norm(uneven * w) ** 2) < 1e-4
        ),
    ),
    seed=seeds(),
    tries=12,
)
def as_kernel_ridge(seed, kernel, fit):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(9, 3)), rng.normal(size=(4, 3))
    y = rng.normal(size=9)
    ours, options = {
        'linear': (linear, {}),
        'poly': (lambda X, Z: polynomial(X, Z, 2, 1.5),
                 dict(degree=2, coef0=1.5, gamma=1)),
        'rbf': (lambda X, Z: rbf(X, Z, 0.4), dict(gamma=0.4))}[kernel]
    model = KernelRidge(alpha=0.6, kernel=kernel, **options).fit(X, y)
    a = fit(ours(X, X), y, 0.6)
    return (close(a, model.dual_coef_, atol=1e-10, rtol=0)
            and close(ours(Z, X) @ a, model.predict(Z), atol=1e-10, rtol=0))

verify(
    "dual coefficients and predictions are scikit-learn's to 1e-10",
    lambda seed, kernel: as_kernel_ridge(seed, kernel, kernel_ridge),
    slip=(
        'takes nine times the penalty',
        lambda seed, kernel: as_kernel_ridge(
            seed, kernel, lambda K, y, alpha: kernel_ridge(K, y, 9 * alpha)
        ),
    ),
    seed=seeds(),
    kernel=['linear', 'poly', 'rbf'],
    tries=90,
)

# %% [markdown]
# ## Choosing the width, and kernel machines
#
# This section continues [The Hilbert space of a kernel, and kernel ridge
# regression](#the-hilbert-space-of-a-kernel-and-kernel-ridge-regression). Width and price must be chosen, and by the
# training part alone. Ridge regression has a shortcut for leaving out one example at a time, and on finitely many points a
# kernel is ridge regression with features: the error without example $n$ is $(y_n - \hat{y}_n) / (1 - H_{nn})$, where
# $\hat{\mathbf{y}} = \mathbf{H}\mathbf{y}$. Here $\mathbf{H} = \mathbf{K}(\mathbf{K} +
# \alpha\mathbf{I})^{-1} = \mathbf{I} - \alpha(\mathbf{K} + \alpha\mathbf{I})^{-1}$, so numerator and denominator both
# contain $\alpha$, and it cancels:
#
# ```{math}
# :label: kernels-loo
# y_n - \hat{y}_n^{(-n)} = \frac{a_n}{\big[ (\mathbf{K} + \alpha\mathbf{I})^{-1} \big]_{nn}} .
# ```

# %%
def left_out_errors(K, y, alphas):  # (N, N), (N, c) -> one (N, c) each
    s, V = eigh(K)  # (K + alpha I)^-1 = V diag(1 / (s + alpha)) V^T
    P = V.T @ y
    return [V / (s + alpha) @ P / (V**2 / (s + alpha)).sum(axis=1)[:, None]
            for alpha in alphas]

def choose(kernels, X, y, alphas):  # -> the kernel and price of least error
    tried = [((error**2).mean(), i, alpha)
             for i, k in enumerate(kernels) for alpha, error in
             zip(alphas, left_out_errors(k(X, X), y, alphas), strict=True)]
    _, i, alpha = min(tried)
    return kernels[i], alpha

# %% [markdown]
# Two data sets, and for each the mean of the training part as baseline, a linear and a Gaussian kernel. The digits are
# made a regression by ten columns of targets, 1 for the right digit and 0 for the others; the largest prediction wins.
# Scales, width and price come from the training part.

# %%
def prepare(X, seed, part, axis):
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[:part], order[part:]
    scaled = (X - X[train].mean(axis=0)) / X[train].std(axis=axis)
    return scaled, train, test

def families(d):  # lists of kernels for d features
    return [linear], [lambda X, Z, g=g: rbf(X, Z, g / d)
                      for g in (0.02, 0.1, 0.5, 2, 8)]

def compare(X, Y, part, axis, score, seed):  # -> scores of three predictors
    Z, train, test = prepare(X, seed, part, axis)
    mean = Y[train].mean(axis=0)
    T = Y[train] - mean
    scores = [score(np.tile(mean, (len(test), 1)), Y[test])]
    for kernels in families(X.shape[1]):
        k, alpha = choose(kernels, Z[train], T, np.logspace(-4, 2, 7))
        a = kernel_ridge(k(Z[train], Z[train]), T, alpha)
        scores.append(score(mean + k(Z[test], Z[train]) @ a, Y[test]))
    return scores

# %%
def miss(predicted, true):
    return np.sqrt(((predicted - true) ** 2).mean())

def percent(predicted, true):
    same = predicted.argmax(axis=1) == true.argmax(axis=1)
    return 100 * same.mean()

patients, pictures = diabetes(), digits()
results = {
    'diabetes, root mean squared error': [
        compare(patients.x, patients.y[:, None], 300, 0, miss, seed)
        for seed in range(10)],
    'digits, percent right': [
        compare(pictures.x, np.eye(10)[pictures.y], 400, None, percent, seed)
        for seed in range(5)]}
for title, scores in results.items():
    print(f'{title}, mean ± sd of {len(scores)} splits')
    for name, values in zip(('baseline', 'linear', 'Gaussian'),
                            np.transpose(scores), strict=True):
        print(f'  {name:8} {values.mean():4.1f} ± {values.std():#.3g}')

# %%
errors, shares = map(np.transpose, results.values())
gain = errors[1] - errors[2]
print(f'diabetes, linear minus Gaussian: {gain.mean():.3f} '
      f'± {gain.std():.3f}')
ahead = shares[2] - shares[1]
print(f'digits, Gaussian ahead in every split, by {ahead.min():.2f} points')

# %% [markdown]
# Ten summary features of a patient, chosen by doctors, leave nothing for a curve to find: the gain is lost in its spread.
# Sixty-four pixels, none of which means anything by itself, leave a great deal.
#
# ### Support vectors with a curved boundary
#
# The proof of the representer theorem was not about squares. The soft margin of
# [support vector machines](support_vector_machines.ipynb) is
#
# ```{math}
# :label: kernels-svm
# \min_{f \in \mathcal{H},\, b} \; \frac12 \|f\|^2 + C \sum_{n=1}^N \max\big( 0, \; 1 - y_n (f(x_n) + b) \big) ,
# ```
#
# a loss of the values and a price of the norm; so $f = \sum_n c_n k_{x_n}$. The dual with a free bias, which that section
# derives, reads in these coefficients
#
# $$ \max_{\mathbf{c}} \; \sum_n y_n c_n - \frac12\, \mathbf{c}^\top \mathbf{K}\, \mathbf{c}
# \qquad \text{subject to} \qquad 0 \le y_n c_n \le C , \quad \sum_n c_n = 0 : $$
#
# only $\mathbf{K}$ appears. Ridge regression uses all examples; here $c_n = 0$ for all that lie outside the margin on their
# side. scikit-learn's solver gets our Gram matrix and returns $\mathbf{c}$ and $b$. The sums $f(x) + b$ at new points are
# the decision values of its own Gaussian machine, and the two objectives meet, which proves both optimal, because no dual
# value exceeds a primal one.

# %%
def machine(K, y, C):  # -> c (N,), b ()
    model = SVC(C=C, kernel='precomputed', tol=1e-8).fit(K, y)
    c = np.zeros(len(y))
    c[model.support_] = model.dual_coef_[0]
    return c, model.intercept_[0]

# %% [markdown]
# Again the width decides. On two spiral arms, with $C = 10$:

# %%
rng = np.random.default_rng(4)
turn = np.repeat([0, 1], 50)
t = rng.uniform(0.5, 3.2, 100)
arms = (t * np.stack([np.cos(2 * t + np.pi * turn),
                      np.sin(2 * t + np.pi * turn)])).T
arms = arms + rng.normal(0, 0.15, (100, 2))
mesh = np.stack(np.meshgrid(*2 * [np.linspace(-4, 4, 121)]), axis=-1)
maps = {}
for gamma in (0.01, 1, 20):
    c, b = machine(rbf(arms, arms, gamma), 2 * turn - 1, 10)
    f = rbf(mesh.reshape(-1, 2), arms, gamma) @ c + b
    maps[gamma] = f.reshape(121, 121), abs(c) > 1e-6
    print(f'gamma = {gamma:4}: {(abs(c) > 1e-6).sum()} support vectors')

# %% mystnb={"image": {"alt": "Two spiral arms of points with the boundary of a Gaussian support vector machine in three panels. Gamma 0.01: one shallow arc cuts through both arms. Gamma 1: the boundary winds between the arms. Gamma 20: it closes into islands around pieces of one arm. Support vectors are circled."}} tags=["hide-input"]
fig, axes = panels(3, height=2.2, sharey=True)
for ax, (gamma, (f, used)) in zip(axes, maps.items(), strict=True):
    ax.contour(mesh[..., 0], mesh[..., 1], f, [0], colors=GREY)
    ax.scatter(*arms[turn == 0].T, s=8, color='C0')
    ax.scatter(*arms[turn == 1].T, s=8, color='C1', marker='s')
    ax.scatter(*arms[used].T, s=30, facecolors='none', edgecolors='C2', lw=0.7)
    ax.set(title=f'γ = {gamma:g}', aspect='equal', xticks=[], yticks=[]);

# %% [markdown] tags=["caption"]
# At $C = 10$ a wide kernel does not bend the boundary enough ($\gamma = 0.01$) and a narrow one closes it around groups of
# examples ($\gamma = 20$); of the three, $\gamma = 1$ has the fewest support vectors.

# %% [markdown]
# And the digits? The same five splits, with $C = 10$ and $\gamma = 1/d$ set beforehand:

# %%
def machines(seed):  # percent right, linear and Gaussian; share in use
    Z, train, test = prepare(pictures.x, seed, 400, None)
    row = []
    for k in linear, lambda X, Z: rbf(X, Z, 1 / 64):
        model = SVC(C=10, kernel='precomputed')
        model.fit(k(Z[train], Z[train]), pictures.y[train])
        predicted = model.predict(k(Z[test], Z[train]))
        row.append(100 * (predicted == pictures.y[test]).mean())
    return [*row, 100 * len(model.support_) / 400]

for name, values in zip(('linear', 'Gaussian', 'support vectors'),
                        np.transpose([machines(seed) for seed in range(5)]),
                        strict=True):
    print(f'{name:15} {values.mean():.1f} ± {values.std():#.3g} percent')

# %% [markdown]
# The linear machine, a vote among 45 of them, one for each pair of digits, beats linear regression on targets; the Gaussian
# one does about as well as kernel ridge regression, and needs two thirds of the examples. With the right kernel the loss
# hardly matters any more.

# %% tags=["checks"]
def by_refit(seed, errors):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(7, 2)), rng.normal(size=(7, 2))
    want = np.empty((2, 7, 2))
    for i, alpha in enumerate((0.3, 2)):
        model = KernelRidge(alpha=alpha, kernel='rbf', gamma=0.5)
        for n in range(7):
            keep = np.arange(7) != n
            model.fit(X[keep], y[keep])
            want[i, n] = y[n] - model.predict(X[[n]])[0]
    return close(errors(rbf(X, X, 0.5), y, (0.3, 2)), want)

def not_left_out(K, y, alphas):
    return [y - K @ kernel_ridge(K, y, alpha) for alpha in alphas]

verify(
    'the errors of all N fits without one example, from one fit',
    lambda seed: by_refit(seed, left_out_errors),
    slip=(
        'does not leave the example out',
        lambda seed: by_refit(seed, not_left_out),
    ),
    seed=seeds(),
    tries=20,
)
def gap(K, y, C, c, b):  # primal minus dual: two halves of c @ K @ c
    hinge = np.maximum(0, 1 - y * (K @ c + b)).sum()
    return c @ K @ c + C * hinge - y @ c

def as_machine(seed, gamma):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(30, 2)), rng.normal(size=(9, 2))
    y = rng.choice([-1, 1], 30)
    K = rbf(X, X, gamma(2))
    c, b = machine(K, y, 3)
    want = SVC(C=3, gamma=2, tol=1e-8).fit(X, y).decision_function(Z)
    legal = (y * c >= 0).all() and (y * c <= 3 + 1e-9).all()
    return (legal and close(c.sum(), 0)
            and close(gap(K, y, 3, c, b), 0, atol=1e-5)
            and close(rbf(Z, X, gamma(2)) @ c + b, want, atol=1e-6))

verify(
    "decision values are scikit-learn's, and there is no duality gap",
    lambda seed: as_machine(seed, lambda g: g),
    slip=(
        'takes gamma for the width of the bell',
        lambda seed: as_machine(seed, lambda g: 1 / (2 * g**2)),
    ),
    seed=seeds(),
    tries=60,
)

# %% [markdown]
# ## Random Fourier features
#
# This section continues [Choosing the width, and kernel machines](#choosing-the-width-and-kernel-machines). The bill for a
# kernel grows with the examples. For 60 000 of them $\mathbf{K}$ fills 29 gigabytes, solving with it takes about $60000^3/3
# \approx 7 \cdot 10^{13}$ multiplications, and every prediction asks all 60 000. Could a few hundred features do nearly the
# same? For kernels that depend on $\boldsymbol\delta = \mathbf{x} - \mathbf{z}$ alone an old theorem tells which.
#
# ````{prf:theorem} Bochner
# :label: thm-bochner
# Let $\kappa: \mathbb{R}^d \to \mathbb{R}$ be continuous with $\kappa(\mathbf{0}) = 1$. Then
# $\kappa(\mathbf{x} - \mathbf{z})$ is a kernel if and only if there is a random vector $\boldsymbol\omega$ such that
#
# ```{math}
# :label: kernels-bochner
# \kappa(\boldsymbol\delta) = \mathbb{E} \cos(\boldsymbol\omega \cdot \boldsymbol\delta) \quad
# \text{for all } \boldsymbol\delta \in \mathbb{R}^d .
# ```
# ````
#
# The "if" is two lines: $\cos(\boldsymbol\omega \cdot (\mathbf{x} - \mathbf{z})) = \cos(\boldsymbol\omega \cdot \mathbf{x})
# \cos(\boldsymbol\omega \cdot \mathbf{z}) + \sin(\boldsymbol\omega \cdot \mathbf{x}) \sin(\boldsymbol\omega \cdot
# \mathbf{z})$ is a kernel with two features, and an average of kernels has $\mathbf{c}^\top \mathbf{K}\mathbf{c} \ge 0$ as
# an average of such numbers. The "only if", which we do not prove {cite}`rudin1962fourier`, is the deep half: every such
# kernel is a mixture of waves with non-negative weights. If $\kappa$ is integrable and its Fourier transform is too, the
# transform is the density of $\boldsymbol\omega$ up to a constant, and one look at its sign tells whether $\kappa$ is a
# kernel. On the line the density is $p(\omega) = \frac1\pi \int_0^\infty \kappa(r) \cos(\omega r)\, dr$. To the eye
# $e^{-r^2}$ and $e^{-r^3}$ are alike, and the tent with its kink is different. The spectra say something else:

# %%
profiles = {'exp(-r²)': (lambda r: np.exp(-r**2), 7),
            'exp(-r³)': (lambda r: np.exp(-r**3), 4),
            'max(0, 1 - r)': (lambda r: 1 - r, 1)}  # and where it ends
omega = np.linspace(0, 12, 121)
spectra = {name: np.array([quad(kappa, 0, end, weight='cos', wvar=w)[0]
                           for w in omega]) / np.pi
           for name, (kappa, end) in profiles.items()}
assert close(spectra['exp(-r²)'],
             np.exp(-omega**2 / 4) / np.sqrt(4 * np.pi), atol=1e-10)
assert close(spectra['max(0, 1 - r)'],
             np.sinc(omega / 2 / np.pi) ** 2 / 2 / np.pi, atol=1e-10)
for name, p in spectra.items():
    print(f'{name:13} least weight {round(p.min() / p.max(), 3) + 0.0} '
          'of the largest')

# %% mystnb={"image": {"alt": "Left: three profiles that fall from one to zero with the distance: a Gaussian bell, the steeper exponential of minus the cube, and a straight line that reaches zero at one. Right: their spectra. The Gaussian's stays positive, that of the straight line only touches zero, that of the cube dips slightly below zero near 5."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.4)
r = np.linspace(0, 2.2, 221)
for (name, (kappa, end)), p in zip(profiles.items(), spectra.values(),
                                   strict=True):
    left.plot(r, np.where(r <= end, [kappa(v) for v in r], 0))
    right.plot(omega, p, label=name)
right.axhline(0, color=GREY, lw=0.8)
left.set(xlabel='distance r', ylabel='κ(r)')
right.set(xlabel='frequency ω', ylabel='weight p(ω)')
right.legend();

# %% [markdown] tags=["caption"]
# Profiles that look alike differ in their spectra: that of $e^{-r^3}$ dips below zero, so it is no kernel, while those of
# $e^{-r^2}$ and the tent never do.

# %% [markdown]
# For the Gaussian kernel {eq}`kernels-rbf`, $\boldsymbol\omega \sim \mathcal{N}(\mathbf{0}, 2\gamma\mathbf{I})$, since
# $\mathbb{E}\cos(\boldsymbol\omega \cdot \boldsymbol\delta) = e^{-\frac12 \cdot 2\gamma\|\boldsymbol\delta\|^2}$. And
# an expectation can be estimated: draw $D$ frequencies $\boldsymbol\omega_j$ and phases $b_j$, uniform on
# $[0, 2\pi]$, all independent, and use the features of Rahimi and Recht {cite}`rahimi2007random`
#
# ```{math}
# :label: kernels-random
# \zeta_j(\mathbf{x}) = \sqrt{\tfrac2D}\, \cos(\boldsymbol\omega_j \cdot \mathbf{x} + b_j) , \qquad
# \hat{k}(\mathbf{x}, \mathbf{z}) = \sum_{j=1}^D \zeta_j(\mathbf{x})\, \zeta_j(\mathbf{z}) .
# ```
#
# ````{prf:theorem} Random Fourier features
# :label: thm-random-features
# $\hat{k}(\mathbf{x}, \mathbf{z})$ has mean $\kappa(\boldsymbol\delta)$ and variance
#
# ```{math}
# :label: kernels-random-variance
# \frac1D \Big( 1 + \tfrac12 \kappa(2\boldsymbol\delta) - \kappa(\boldsymbol\delta)^2 \Big) .
# ```
#
# With probability at least $1 - \eta$ all entries of the Gram matrix of $N$ points are off by less than
# $\sqrt{\frac8D \ln\frac{N(N+1)}{\eta}}$ at once.
# ````
#
# ````{prf:proof}
# :class: dropdown
#
# Write $A = \boldsymbol\omega \cdot \mathbf{x} + b$ and $B = \boldsymbol\omega \cdot \mathbf{z} + b$. Each term is
# $\frac1D t$ with $t = 2\cos A \cos B = \cos(A - B) + \cos(A + B)$. In $A - B = \boldsymbol\omega \cdot
# \boldsymbol\delta$ the phase cancels; in $A + B$ it stands as $2b$, two full turns, so for every $\boldsymbol\omega$
# the second cosine averages to 0 over $b$, its square to $\frac12$, its product with the first to 0. Hence
# $\mathbb{E}\,t = \kappa(\boldsymbol\delta)$ and $\mathbb{E}\,t^2 = \mathbb{E}\cos^2(\boldsymbol\omega \cdot
# \boldsymbol\delta) + \frac12 = \frac12 (1 + \kappa(2\boldsymbol\delta)) + \frac12$; subtract
# $(\mathbb{E}\,t)^2$. As $|t| \le 2$, [Hoeffding's inequality](../probability/concentration.ipynb) bounds the chance of
# an error $\ge \epsilon$ in one entry by $2e^{-2D\epsilon^2/4^2}$; there are $N(N+1)/2$ different
# entries, and the probability that one of several things happens is at most the sum of theirs.
# ````

# %%
def draw(rng, d, D, gamma):  # -> frequencies (d, D), phases (D,)
    W = rng.normal(0, np.sqrt(2 * gamma), (d, D))
    return W, rng.uniform(0, 2 * np.pi, D)

def random_features(X, W, b):  # (n, d) -> (n, D)
    return np.sqrt(2 / len(b)) * np.cos(X @ W + b)

def terms(rng, X, D, gamma):  # the D terms t of one pair, unscaled
    F = random_features(X, *draw(rng, X.shape[1], D, gamma))
    return F[0] * F[1] * D

def variance(k, k2):
    return 1 + k2 / 2 - k**2

def pair(seed):
    rng = np.random.default_rng(seed)
    X, gamma = rng.normal(size=(2, 3)), rng.uniform(0.05, 0.4)
    k, k2 = (rbf(A, A, gamma)[0, 1] for A in (X, 2 * X))
    return rng, X, gamma, k, k2

# %% [markdown]
# A hundred times as many features are needed for one more digit: that is what the rate $1/\sqrt{D}$ means. We measure root
# mean square errors over 300 draws for $D$ from 16 to 1024, in units of the standard deviation of one term, which
# {eq}`kernels-random-variance` gives.

# %%
counts = 4 ** np.arange(2, 6)  # 16 to 1024

def rms_errors(seed):  # (4,), in units of the standard deviation of a term
    rng, X, gamma, k, k2 = pair(seed)
    means = [terms(rng, X, 300 * D, gamma).reshape(300, D).mean(axis=1)
             for D in counts]
    square = ((np.array(means) - k) ** 2).mean(axis=1)
    return np.sqrt(square / variance(k, k2))

# %% [markdown]
# On the digits (with $\gamma = 1/d$ and $\alpha = 0.01$), kernel ridge regression by random features is ridge regression
# with $D$ weights for each class. Its cost is of the order $ND^2$, and a prediction never looks back at the examples.

# %%
pictures = digits()

def by_random_features(seed, sizes):  # percent right: for each D, and exact
    Z, train, test = prepare(pictures.x, seed, 400, None)
    mean = np.eye(10)[pictures.y[train]].mean(axis=0)
    Y = np.eye(10)[pictures.y] - mean
    rng, scores = np.random.default_rng(seed), []
    for D in sizes:
        F = random_features(Z, *draw(rng, 64, D, 1 / 64))
        A = F[train].T @ F[train] + 0.01 * np.eye(D)
        scores.append(F[test] @ solve(A, F[train].T @ Y[train]))
    a = kernel_ridge(rbf(Z[train], Z[train], 1 / 64), Y[train], 0.01)
    scores.append(rbf(Z[test], Z[train], 1 / 64) @ a)
    return [100 * ((mean + f).argmax(axis=1) == pictures.y[test]).mean()
            for f in scores]

shares = np.array([by_random_features(seed, counts) for seed in range(5)])
for D, share in zip([*counts, 'exact'], shares.T, strict=True):
    print(f'D = {D:>5}: {share.mean():.1f} ± {share.std():#.3g} percent')

# %%
measured = np.array([rms_errors(seed) for seed in range(5)])  # (5, 4)
slopes = np.polyfit(np.log(counts), np.log(measured).T, 1)[0]
print('slopes of log error against log D, five seeds:',
      *(f'{slope:.2f}' for slope in slopes))

# %% mystnb={"image": {"alt": "Left: measured errors of random features against their number, both logarithmic; five seeds lie in a narrow band around the line of slope minus one half, far above the dotted line 1/D. Right: percent of digits right against the number of features, rising from 66 with 16 features to just below the dashed line of the exact kernel with 1024; five splits lie close together."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
band = np.array([[1 - 5 / np.sqrt(600)], [1 + 5 / np.sqrt(600)]]) / counts**0.5
left.fill_between(counts, *band, color='C0', alpha=0.25, lw=0)
left.loglog(counts, measured.T, '.', color='C0')
left.loglog(counts, counts**-0.5, color='C0', lw=1)
left.loglog(counts, 1 / counts, color='C1', ls=':')
left.text(60, 0.2, '1/√D', color='C0')
left.text(90, 0.006, '1/D', color='C1', ha='right')
left.set(xlabel='features D', ylabel='error / sd of one term')
right.semilogx(counts, shares[:, :4].T, '.', color='C0')
right.semilogx(counts, shares[:, :4].mean(axis=0), color='C0',
               label='random features')
right.axhline(shares[:, 4].mean(), color='C1', ls='--', label='exact kernel')
right.set(xlabel='features D', ylabel='digits right (percent)')
right.legend();

# %% [markdown] tags=["caption"]
# Left: the error of $D$ random features falls like $1/\sqrt{D}$. Right: with 1024 of them the digits come within one
# percentage point of the exact kernel.

# %% [markdown]
# ```{exercise} ★★★ Waves in pairs
# :label: kernels-paired
# Spend the $D$ features differently: $D/2$ frequencies, and for each the pair $\sqrt{2/D}\,(\cos(\boldsymbol\omega_j \cdot
# \mathbf{x}), \; \sin(\boldsymbol\omega_j \cdot \mathbf{x}))$, without phases. Is that better? Derive the variance of
# $\hat{k}$ for the Gaussian kernel and write it as `paired_variance(k, D)`, where $k = \kappa(\boldsymbol\delta)$.
# ```

# %%
def paired_variance(k, D):  # (), () -> ()
    raise NotImplementedError('your turn')

# %%
def variance_by_integral(k, D):  # on the line, with gamma = 1
    delta = np.sqrt(-np.log(k))
    density = lambda w: np.exp(-w**2 / 4) / np.sqrt(4 * np.pi)
    square = quad(lambda w: density(w) * (np.cos(w * delta) - k) ** 2, -30, 30)
    return square[0] / (D / 2)

paired_cases = [(0.9, 10), (0.5, 64), (0.05, 200)]
grade(paired_variance, variance_by_integral, paired_cases)

# %% [markdown]
# ```{solution-start} kernels-paired
# :class: dropdown
# ```
# The product of two pairs is $\frac2D \cos(\boldsymbol\omega_j \cdot \boldsymbol\delta)$, whose variance we know from the
# proof: $\frac{4}{D^2}\big( \frac12(1 + \kappa(2\boldsymbol\delta)) - \kappa(\boldsymbol\delta)^2 \big)$, and there are
# $D/2$ of them. For the Gaussian kernel $\kappa(2\boldsymbol\delta) = k^4$, so the sum is $(1 - k^2)^2/D$. The phases cost
# $(1 - k^2 + \frac12 k^4)/D$, never less, and for $\mathbf{x} = \mathbf{z}$ the pairs make no error at all: they are the
# better choice {cite}`sutherland2015error`. The wrong answer counts $D$ independent frequencies.

# %% jupyter={"source_hidden": true}
def paired_variance_solution(k, D):
    return (1 - k**2) ** 2 / D

def as_many_frequencies(k, D):
    return (1 - k**2) ** 2 / (2 * D)

assert grade(paired_variance_solution, variance_by_integral, paired_cases)
assert not grade(as_many_frequencies, variance_by_integral, paired_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def as_sampler(seed, phase):
    X = np.random.default_rng(seed).normal(size=(4, 3))
    sampler = RBFSampler(gamma=0.4, n_components=7, random_state=seed)
    want = sampler.fit_transform(X)
    return close(random_features(X, sampler.random_weights_,
                                 phase * sampler.random_offset_), want)

def unbiased(seed, stretch):
    rng, X, gamma, k, k2 = pair(seed)
    t = terms(rng, X, 20_000, stretch * gamma)
    return bool(abs(t.mean() - k) < 5 * np.sqrt(variance(k, k2) / t.size))

def spreads(seed, formula):
    rng, X, gamma, k, k2 = pair(seed)
    t = (terms(rng, X, 20_000, gamma) - k) ** 2
    return bool(abs(t.mean() - formula(k, k2)) < 5 * t.std() / t.size**0.5)

verify(
    "the features are scikit-learn's, given its draws",
    lambda seed: as_sampler(seed, 1),
    slip=('drops the random phases', lambda seed: as_sampler(seed, 0)),
    seed=seeds(),
    tries=10,
)
verify(
    'random features are right on average',
    lambda seed: unbiased(seed, 1),
    slip=(
        'draws the frequencies with half the gamma',
        lambda seed: unbiased(seed, 1 / 2),
    ),
    seed=seeds(),
    tries=40,
)
verify(
    'their variance',
    lambda seed: spreads(seed, variance),
    slip=(
        'writes 1 − κ²/2 for the variance',
        lambda seed: spreads(seed, lambda k, k2: 1 - k**2 / 2),
    ),
    seed=seeds(),
    tries=40,
)

# %% tags=["checks"]
def falls(seed, power):
    ratio = rms_errors(seed) * counts**power
    return bool((abs(ratio - 1) < 5 / np.sqrt(600)).all())

verify(
    'the error falls like 1/√D',
    lambda seed: falls(seed, 1 / 2),
    slip=('expects an error like 1/D', lambda seed: falls(seed, 1)),
    seed=seeds(),
    tries=12,
)
def all_within(seed, D, power):
    rng = np.random.default_rng(seed)
    X, gamma = rng.normal(size=(40, 3)), rng.uniform(0.2, 0.5)
    F = random_features(X, *draw(rng, 3, D, gamma))
    worst = abs(F @ F.T - rbf(X, X, gamma)).max()
    return bool(worst < np.sqrt(8 * np.log(40 * 41 / 0.001)) / D**power)

verify(
    'all 1600 entries keep within the bound',
    lambda seed, D: all_within(seed, D, 1 / 2),
    slip=(
        'lets the bound shrink like 1/D',
        lambda seed, D: all_within(seed, D, 1),
    ),
    seed=seeds(),
    D=[100, 1000],
    tries=30,
)

# %% [markdown]
# ## Summary
#
# A similarity is a dot product of features exactly when all its Gram matrices are positive semidefinite, and sums, products
# and power series of kernels are kernels again. Each kernel has one Hilbert space of functions, and whatever the loss, the
# best of them at a price on the norm is a combination of the kernel's bumps at the examples: $N$ numbers, found by
# a linear system for squares and a quadratic program for the hinge. Where examples are many, $D$ random waves replace the
# kernel with an error of the order $1/\sqrt{D}$.
#
# **Further reading.** {cite}`scholkopf2002learning` is the book on the subject; {cite}`aronszajn1950theory` the origin of
# the spaces, {cite}`kimeldorf1971some` of the representer theorem and {cite}`scholkopf2001generalized` of the general form
# given here. {cite}`rahimi2007random` for random features; {cite}`rasmussen2006gaussian` for the same formulas with error
# bars; {cite}`hastie2009elements`, sections 5.8 and 12.3.
