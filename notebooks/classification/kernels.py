# ---
# jupyter:
#   book:
#     functions:
#       phi: phi(normal(5, 2))
#       polynomial: polynomial(normal(5, 3), normal(4, 3), 2, 1.0)
#       rbf: rbf(normal(5, 3), normal(4, 3), 0.4)
#       kernel_ridge: kernel_ridge(rbf(normal(5, 3), normal(5, 3), 0.0) + 0 * uniform(5), normal(5), 0.5)
#       left_out_errors: left_out_errors(normal(1, 1)**2 + 0 * normal(5, 5), normal(5, 2), [0.3, 2.0])
#       random_features: random_features(normal(5, 3), normal(3, 7), uniform(7))
#     main: kernels-square
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Kernels
#
# Eighty points lie on two rings, a small one inside a large one. No straight line separates them. But if we give a linear
# method the squares and the product of the coordinates, its straight cut is an ellipse in the plane, and all 80 points
# are right. Pictures of 64 pixels have hundreds of thousands of products of four. Can we use them all without computing
# any?
#
# - **You need** [ridge regression](../regression/ridge_regression.ipynb) with its dual form, the
#   [spectral theorem](../linear_algebra/eigendecomposition.ipynb),
#   [support vector machines](support_vector_machines.ipynb) and
#   [Hoeffding's inequality](../probability/concentration.ipynb).
# - **You build** kernels from kernels, kernel ridge regression with the error of leaving out each example, and random features
#   that replace a kernel.
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
import matplotlib.pyplot as plt
import numpy as np
from numpy.linalg import eigh, eigvalsh, lstsq, matrix_rank, norm, solve
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist
from scipy.special import factorial
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

from nbutils.cases import integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import close, grade, verify
from nbutils.data import diabetes, digits
from nbutils.figures import GREY, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## The kernel trick: from a feature map to a kernel
#
# Here are the two rings, and a **feature map** $\varphi(\mathbf{x}) = (x_1^2, \sqrt2\, x_1 x_2, x_2^2)$ from the plane to
# three features. We fit the labels $\pm1$ by least squares, once on the coordinates and once on the features:

# %%
rng = np.random.default_rng(0)
angle = np.sort(rng.uniform(0, 2 * np.pi, (2, 40)))
radius = np.array([[0.6], [1.3]]) + rng.normal(0, 0.08, (2, 40))
rings = np.stack([radius * np.cos(angle), radius * np.sin(angle)],
                 axis=-1).reshape(80, 2)
side = np.repeat([-1, 1], 40)

# %%
def phi(X):  # (n, 2) -> (n, 3)
    x1, x2 = X.T
    return np.column_stack([x1**2, 2**0.5 * x1 * x2, x2**2])

for name, F in ('coordinates', rings), ('features', phi(rings)):
    A = np.column_stack([F, np.ones(80)])
    w = lstsq(A, side, rcond=None)[0]
    print(f'{name:11}: {(np.sign(A @ w) == side).sum()} of 80 right')

# %% mystnb={"image": {"alt": "Left: a small ring of points inside a larger ring. Right: the same points drawn with the squares of their coordinates as axes; the small ring becomes a short bar near the origin, the large ring a longer parallel bar, and a straight line runs between them."}} tags=["hide-input"]
fig, axes = panels(2, height=2.9)
for ax, P in zip(axes, (rings, phi(rings)[:, [0, 2]]), strict=True):
    ax.scatter(*P[:40].T, s=14, color='C0')
    ax.scatter(*P[40:].T, s=14, color='C1', marker='s')
cut = np.array([0, -w[3] / w[0]])
axes[1].plot(cut, -(w[3] + w[0] * cut) / w[2], color=GREY)
axes[0].set(xlabel='x₁', ylabel='x₂', aspect='equal', title='the plane')
axes[1].set(xlabel='x₁²', ylabel='x₂²', aspect='equal', title='two of the three features');

# %% [markdown] tags=["caption"]
# No straight line separates the two rings in the plane. If the squares of the coordinates are the axes, one does.

# %% [markdown]
# The dot product of two feature vectors is surprisingly simple:
#
# ```{math}
# :label: kernels-square
# \varphi(\mathbf{x}) \cdot \varphi(\mathbf{z}) = x_1^2 z_1^2 + 2 x_1 x_2 z_1 z_2 + x_2^2 z_2^2
# = (\mathbf{x} \cdot \mathbf{z})^2 .
# ```

# %%
F = phi(rings[:2])
print('from the features:', (F @ F.T).round(4).tolist())
print('from the points:  ', ((rings[:2] @ rings[:2].T) ** 2).round(4).tolist())

# %% [markdown]
# The right side contains no feature. The same happens with higher whole powers: $(\mathbf{x} \cdot \mathbf{z})^p$ is the
# dot product of all monomials of degree $p$, times constants. For a picture of 64 pixels and $p = 4$ there are
# $\binom{67}{4} = 766\,480$ of them, but the power needs only 66 multiplications. Many linear methods use their inputs
# only in dot products, for example ridge regression in its [dual form](../regression/ridge_regression.ipynb). If we
# replace each dot product by $k(\mathbf{x}, \mathbf{z}) = (\mathbf{x} \cdot \mathbf{z})^p$, the method works with all
# these features and never computes one. This is the **kernel trick**.
#
# ### What is a kernel?
#
# Which functions $k$ are dot products of features? The following condition can be tested without knowing the features:
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
# :class: dropdown
# If $\mathbf{K} = \boldsymbol\Phi\boldsymbol\Phi^\top$ with rows $\varphi_i$, then $\mathbf{c}^\top\mathbf{K}\mathbf{c} =
# \|\boldsymbol\Phi^\top\mathbf{c}\|^2 \ge 0$. Conversely, by the spectral theorem $\mathbf{K} =
# \mathbf{V}\boldsymbol\Lambda\mathbf{V}^\top$ with $\lambda_j \ge 0$. Take $\boldsymbol\Phi =
# \mathbf{V}\boldsymbol\Lambda^{1/2}$ and drop the columns with $\lambda_j = 0$.
# ````
#
# The proof computes features from any Gram matrix. From the squared dot products of the 80 points it finds three features,
# as many as $\varphi$ has:

# %%
def features_of(K):  # symmetric (n, n) -> (n, rank)
    s, V = eigh(K)
    keep = s > len(s) * np.finfo(s.dtype).eps * s[-1]
    return V[:, keep] * np.sqrt(s[keep])

print('features:', features_of((rings @ rings.T) ** 2).shape[1])

# %% [markdown]
# The inputs may be words or trees. New kernels are made from old ones:
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
# :class: dropdown
# (a) $\mathbf{c}^\top(\alpha\mathbf{K} + \beta\mathbf{L})\mathbf{c} = \alpha\,\mathbf{c}^\top\mathbf{K}\mathbf{c} +
# \beta\,\mathbf{c}^\top\mathbf{L}\mathbf{c} \ge 0$, and a limit of numbers $\ge 0$ is $\ge 0$. (b) By
# {prf:ref}`thm-finite-mercer`, $K_{ij} = \varphi_i \cdot \varphi_j$ and $L_{ij} = \psi_i \cdot \psi_j$, so
# $K_{ij}L_{ij} = \sum_{p,q} (\varphi_{ip}\psi_{iq})(\varphi_{jp}\psi_{jq})$: a dot product of all the products of two
# features. (c) $\sum_{i,j} c_i c_j f(x_i)\, k(x_i, x_j) f(x_j)$ is the sum of the definition with $c_i f(x_i)$ for
# $c_i$; the points $g(x_i)$ are points like others. (d) Powers are kernels by (b), the constant 1 too; then use (a).
# ````
#
# In practice two kernels are used most. The **polynomial kernel** $(\mathbf{x} \cdot \mathbf{z} + c)^p$ with $c > 0$ has
# all monomials up to degree $p$ as features. The **Gaussian kernel** or **RBF kernel** is
#
# ```{math}
# :label: kernels-rbf
# k(\mathbf{x}, \mathbf{z}) = e^{-\gamma \|\mathbf{x} - \mathbf{z}\|^2}
# = e^{-\gamma \|\mathbf{x}\|^2} \; e^{2\gamma\, \mathbf{x} \cdot \mathbf{z}} \; e^{-\gamma \|\mathbf{z}\|^2} ,
# \qquad \gamma > 0 .
# ```
#
# It is 1 for equal points and nearly 0 for distant ones. On the right, the middle factor is a kernel by (d), and the
# outer two are $f(\mathbf{x})$ and $f(\mathbf{z})$ in (c). The Gaussian kernel has infinitely many features. On the line
# they are $\varphi_j(x) = e^{-\gamma x^2} \sqrt{(2\gamma)^j / j!}\; x^j$, $j = 0, 1, 2, \dots$

# %%
def polynomial(X, Z, degree, c):  # (n, d), (m, d) -> (n, m)
    return (X @ Z.T + c) ** degree

def rbf(X, Z, gamma):
    squared = (X**2).sum(1)[:, None] - 2 * X @ Z.T + (Z**2).sum(1)
    return np.exp(-gamma * squared)

# %% mystnb={"image": {"alt": "Three heat maps of 80 by 80 similarities. Linear: in each of four blocks two broad waves, strongest for the outer ring. Quadratic: twice as many bands, all non-negative, bright only in the block of the outer ring. Gaussian: bright along the diagonal and in the corners of the inner ring's block; between the rings dark but for a faint band of points at the same angle."}} tags=["hide-input"]
fig, axes = panels(3, height=2.2)
tables = {'linear': polynomial(rings, rings, 1, 0), 'quadratic': polynomial(rings, rings, 2, 0),
          'Gaussian, γ = 3': rbf(rings, rings, 3)}
for ax, (name, K) in zip(axes, tables.items(), strict=True):
    show_image(ax, K, name, cmap='viridis')

# %% [markdown] tags=["caption"]
# Gram matrices of the points, sorted by ring and then by angle. For the Gaussian kernel a point is similar to its
# neighbours on its own ring. The other two are strongest on the outer ring; for the quadratic, opposite points are
# similar, too.

# %% [markdown]
# ### Similarities that are not kernels
#
# Is every symmetric measure of similarity a kernel? No. Take "1 if $|x - z| \le 1$, else 0", and three points of which
# the first and the last are both near the middle one, but not near each other. With $c = (1, -\sqrt2, 1)$ the sum in the
# definition is $4 - 4\sqrt2 < 0$. A negative eigenvalue of one Gram matrix proves that a function is no kernel:

# %%
suspects = {
    'near or not': (lambda x, z: 1. * (abs(x - z) <= 1), (0, 0.8, 1.6)),
    'exp(-|x - z|³)': (lambda x, z: np.exp(-abs(x - z) ** 3), (0, 0.5, 1)),
    'exp(-|x - z|²)': (lambda x, z: np.exp(-abs(x - z) ** 2), (0, 0.5, 1)),
    'tanh(xz - 1)': (lambda x, z: np.tanh(x * z - 1), (0, 2)),
}
for name, (k, points) in suspects.items():
    x = np.array(points)
    print(f'{name:14}: least eigenvalue {eigvalsh(k(x[:, None], x))[0]:6.3f}')

# %% [markdown]
# $\tanh(xz - 1)$, once borrowed from neural networks as a "sigmoid kernel", is none. Nor may the square in
# {eq}`kernels-rbf` be replaced by a third power. If no negative eigenvalue is found, that proves nothing; the proof for the
# Gaussian kernel is {prf:ref}`thm-kernel-rules`.
#
# ```{exercise} ★ Program: distances between features
# :label: kernels-distance
# Given a Gram matrix $\mathbf{K}$, write `distances(K)`, the matrix of the distances $\|\varphi(x_i) - \varphi(x_j)\|$,
# without computing features (no eigenvalues).
# ```

# %%
def distances(K):
    """All distances between feature vectors: an array (n, n) without nan.

    K (n, n) is a Gram matrix, positive semidefinite up to rounding, n >= 1.
    distances(np.eye(2)) is [[0, 1.414...], [1.414..., 0]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_their_features(K):
    s, V = eigh(K)
    F = V * np.sqrt(np.maximum(s, 0))
    return cdist(F, F)

roots = matrices((1, 5), 3, -2, 2, edges=True)
nearly_equal = np.array([0.7, 0.7 + 1e-9])[:, None]  # rounding makes a squared distance negative
cases = dict(K=on(*(scale * nearly_equal @ nearly_equal.T for scale in (1, 2, 4))) | roots.map(lambda F: F @ F.T))
features = ('numpy.linalg.eigh', 'numpy.linalg.eig', 'numpy.linalg.svd')
grade(distances, by_their_features, atol=1e-5, without=features, **cases)

# %% [markdown]
# ```{solution-start} kernels-distance
# :class: dropdown
# ```
# Expand: $\|\varphi_i - \varphi_j\|^2 = K_{ii} - 2K_{ij} + K_{jj}$. Rounding may push a zero below zero, so we cut there
# before the root. For the Gaussian kernel the distance is $\sqrt{2 - 2k(x, z)} < \sqrt2$: all its features lie on a
# sphere, and any two of them make less than a right angle. The wrong answers count the mixed term once, forget the root,
# and take all points to have length 1.

# %% jupyter={"source_hidden": true}
def distances_solution(K):
    own = np.diag(K)
    return np.sqrt(np.maximum(own[:, None] - 2 * K + own, 0))

def mixed_term_once(K):
    own = np.diag(K)
    return np.sqrt(np.maximum(own[:, None] - K + own, 0))

def squared_distances(K):
    own = np.diag(K)
    return np.maximum(own[:, None] - 2 * K + own, 0)

def all_of_length_one(K):
    return np.sqrt(np.maximum(2 - 2 * K, 0))

options = dict(atol=1e-5, without=features, **cases)
assert grade(distances_solution, by_their_features, **options)
assert not grade(mixed_term_once, by_their_features, **options)
assert not grade(squared_distances, by_their_features, **options)
assert not grade(all_of_length_one, by_their_features, **options)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def square_is_dot(seed, features):
    X, Z = np.random.default_rng(seed).normal(size=(2, 4, 2))
    return close(features(X) @ features(Z).T, (X @ Z.T) ** 2, atol=1e-10)

def without_root(X):
    return np.column_stack([X[:, 0] ** 2, X[:, 0] * X[:, 1], X[:, 1] ** 2])

verify(
    'the squared dot product is a dot product of three features',
    lambda seed: square_is_dot(seed, phi),
    slip=('leaves out the root of two', lambda seed: square_is_dot(seed, without_root)),
    seed=seeds(),
)

def right(F):
    A = np.column_stack([F, np.ones(80)])
    return (np.sign(A @ lstsq(A, side, rcond=None)[0]) == side).sum()

verify(
    'on the features all 80 points are right',
    lambda n: right(phi(rings)) == n,
    slip=('fits the coordinates', lambda n: right(rings) == n), n=[80],
)

def has_features(K):
    F = features_of(K)
    return F.shape[1] == matrix_rank(K) and close(F @ F.T, K, atol=1e-10)

def gram(seed):
    A = np.random.default_rng(seed).normal(size=(5, 2))
    return A @ A.T

def looks_like_one(seed):  # no entry exceeds those on the diagonal
    B = np.random.default_rng(seed).uniform(0, 1, (5, 5))
    return (B + B.T) / 2 + np.diag(1 - np.diag(B))

verify(
    'a semidefinite matrix is made of as many features as its rank',
    lambda seed: has_features(gram(seed)),
    slip=('asks only that no entry exceeds the diagonal', lambda seed: has_features(looks_like_one(seed))),
    seed=seeds(),
)

def semidefinite(K):
    return bool(eigvalsh(K)[0] > -1e-10 * norm(K))

def stays(seed, rule):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    return semidefinite(rule(X @ X.T, Z @ Z.T, rng.normal(size=6)))

# %% tags=["checks"]
verify(
    'sums of kernels are kernels',
    lambda seed: stays(seed, lambda K, L, f: 2 * K + 3 * L),
    slip=('subtracts a kernel', lambda seed: stays(seed, lambda K, L, f: 2 * K - L)),
    seed=seeds(),
)
verify(
    'products of kernels are kernels',
    lambda seed: stays(seed, lambda K, L, f: K * L),
    slip=('multiplies the Gram matrices as matrices', lambda seed: stays(seed, lambda K, L, f: K @ L + L @ K)),
    seed=seeds(),
)
verify(
    'so is a kernel scaled by a function',
    lambda seed: stays(seed, lambda K, L, f: f[:, None] * K * f),
    slip=('adds the function instead of multiplying by it', lambda seed: stays(seed, lambda K, L, f: f[:, None] + K + f)),
    seed=seeds(),
)
verify(
    'and the exponential of a kernel',
    lambda seed: stays(seed, lambda K, L, f: np.exp(K)),
    slip=('takes the exponential of minus the kernel', lambda seed: stays(seed, lambda K, L, f: np.exp(-K))),
    seed=seeds(),
)

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
        polynomial(X, Z, 3, c), polynomial_kernel(X, Z, 3, 1, 1.5), atol=1e-12)

verify(
    'on the line the Gaussian kernel is a dot product of series',
    lambda x, gamma: is_series(x, gamma, np.sqrt),
    slip=('forgets the root of the factorial', lambda x, gamma: is_series(x, gamma, lambda fact: fact)),
    x=vectors(4, -2, 2), gamma=scalars(0.1, 1),
)

# %% tags=["checks"]
verify(
    "both kernels are scikit-learn's",
    lambda seed: as_library(seed, 1.5),
    slip=('takes another constant c in the polynomial', lambda seed: as_library(seed, 1)),
    seed=seeds(), tries=50,
)

def least(name, points):
    x = np.array(points)
    return eigvalsh(suspects[name][0](x[:, None], x))[0]

verify(
    'of the four suspects, the Gaussian kernel alone has no negative eigenvalue',
    lambda bound: [name for name, (_, points) in suspects.items() if least(name, points) > bound] == ['exp(-|x - z|²)'],
    slip=('tries a single point', lambda bound: len([name for name in suspects if least(name, (0.5,)) > bound]) == 1),
    bound=[-0.005],
)

# %% [markdown]
# ## Kernel ridge regression and the representer theorem
#
# We apply the kernel trick to ridge regression. Forty noisy values of a curve that is slow on the left and fast on the
# right are fitted by a sum of bumps, $f(x) = \sum_n a_n\, k(x, x_n)$, one on each example:

# %%
def curve(x):
    return np.sin(2 * np.pi * x**2)

rng = np.random.default_rng(3)
x = rng.uniform(0, 1.5, (40, 1))
y = curve(x[:, 0]) + rng.normal(0, 0.2, 40)

# %%
def kernel_ridge(K, y, alpha):  # (N, N), (N,) or (N, c) -> like y
    return solve(K + alpha * np.eye(len(K), dtype=K.dtype), y)

# %%
grid = np.linspace(0, 1.5, 301)[:, None]
fits = {}
for gamma in (0.5, 50, 2000):
    a = kernel_ridge(rbf(x, x, gamma), y, 0.1)
    fits[gamma] = rbf(grid, x, gamma) @ a
    off = np.sqrt(((fits[gamma] - curve(grid[:, 0])) ** 2).mean())
    seen = np.sqrt(((rbf(x, x, gamma) @ a - y) ** 2).mean())
    print(f'gamma = {gamma:4}: error on the data {seen:.3f},'
          f' error of the curve {off:.3f}')

# %% mystnb={"image": {"alt": "Three panels with the same forty points and fits of Gaussian kernel ridge regression. Gamma 0.5: a nearly flat line misses all swings. Gamma 50: the fit follows the curve, but not to the bottom of its last trough. Gamma 2000: narrow spikes towards the points."}} tags=["hide-input"]
fig, axes = panels(3, sharey=True, height=2.4)
for ax, (gamma, fitted_curve) in zip(axes, fits.items(), strict=True):
    ax.plot(grid[:, 0], curve(grid[:, 0]), color=GREY, lw=1)
    ax.plot(x[:, 0], y, 'C1.', ms=5)
    ax.plot(grid[:, 0], fitted_curve, 'C0')
    ax.set(title=f'γ = {gamma:g}', xlabel='x')
axes[0].set_ylabel('y');

# %% [markdown] tags=["caption"]
# The same penalty, three widths of the bumps. With $\gamma = 0.5$ the fit misses the swings, with 50 it follows the curve
# (grey), with 2000 it falls back towards zero between the examples.

# %% [markdown]
# Why is a sum of bumps the right form, and why are the coefficients $(\mathbf{K} + \alpha\mathbf{I})^{-1} \mathbf{y}$? For
# this we need a space of functions with a norm. It belongs to the kernel:
#
# ````{prf:theorem} The space of a kernel (Moore and Aronszajn)
# :label: thm-rkhs
# For every kernel $k$ on $\mathcal{X}$ there is exactly one Hilbert space $\mathcal{H}$ of functions on $\mathcal{X}$ that
# contains all $k_x = k(x, \cdot)$ and has the *reproducing property*: for all $f \in \mathcal{H}$ and $x \in \mathcal{X}$
#
# ```{math}
# :label: kernels-reproducing
# f(x) = \langle f, k_x \rangle .
# ```
# ````
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
# {eq}`kernels-evaluation` it converges at each $x$; add the limit functions. A function must not stand for two limits:
# let the difference of two Cauchy sequences, again a Cauchy sequence $(f_n)$, have $f_n(x) \to 0$ for all $x$, and let
# $\|f_n\| \le B$. Choose $m$ with $\|f_n - f_m\| \le \epsilon$ for $n \ge m$. Then $\|f_n\|^2 = \langle f_n, f_n - f_m
# \rangle + \langle f_n, f_m \rangle \le B\epsilon + \langle f_n, f_m \rangle$, and the last term is a fixed finite sum of
# values of $f_n$, which tends to 0. So $\|f_n\| \to 0$. The inner product extends to the limits, and
# {eq}`kernels-reproducing` with it. Unique: every such space contains $\mathcal{H}_0$ with this inner product and the
# limits of its Cauchy sequences, and nothing else, as $f \perp k_x$ for all $x$ means $f = 0$.
# ````
#
# $\mathcal{H}$ is called the **reproducing kernel Hilbert space** of $k$. If we insert $f = k_z$, we get $k(x, z) =
# \langle k_x, k_z \rangle$. So $x \mapsto k_x$ is a feature map for all points at once. What does the norm measure? For
# the Gaussian kernel $\|k_x - k_z\|^2 = 2 - 2e^{-\gamma\|x - z\|^2} \le 2\gamma\|x - z\|^2$. Together with
# {eq}`kernels-reproducing` this gives
#
# ```{math}
# :label: kernels-lipschitz
# |f(\mathbf{x}) - f(\mathbf{z})| \le \sqrt{2\gamma}\, \|f\| \, \|\mathbf{x} - \mathbf{z}\| .
# ```
#
# So a function with a small norm varies slowly. For $k(s, t) = \min(s, t)$ with $s, t \ge 0$, the function of least norm
# through given points joins them by straight lines. We look in $\mathcal{H}$ for a function of small norm that fits the
# data. $\mathcal{H}$ may have infinitely many dimensions, but $N$ numbers suffice:
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
# :class: dropdown
# Split $f = g + h$ with $g$ in the span of $k_{x_1}, \dots, k_{x_N}$ and $h$ orthogonal to it; the span has finite
# dimension, so the projection exists. By {eq}`kernels-reproducing`,
# $f(x_n) = \langle g, k_{x_n} \rangle + \langle h, k_{x_n} \rangle = g(x_n)$: the data do not see $h$. But
# $\|f\|^2 = \|g\|^2 + \|h\|^2$, so $J(g) < J(f)$ unless $h = 0$, and $J(g) \le J(f)$ for non-decreasing $\Omega$.
# ````
#
# For squared errors the coefficients have a formula:
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
# :class: dropdown
# By the proof of {prf:ref}`thm-representer`, each $f$ outside the span has a $g$ in the span with $J(g) < J(f)$. So we
# may minimize $\|\mathbf{y} - \mathbf{K}\mathbf{a}\|^2 + \alpha\,\mathbf{a}^\top\mathbf{K}\mathbf{a}$ over $\mathbf{a}$.
# This is convex with gradient $2\mathbf{K} \big( (\mathbf{K} + \alpha\mathbf{I})\mathbf{a} - \mathbf{y} \big)$, which
# vanishes at the $\mathbf{a}$ stated. If it vanishes at $\mathbf{a}'$ too, then $(\mathbf{K} +
# \alpha\mathbf{I})\mathbf{K}(\mathbf{a} - \mathbf{a}') = \mathbf{0}$; the first factor is invertible, so
# $\mathbf{K}(\mathbf{a} - \mathbf{a}') = \mathbf{0}$ and the two functions have squared distance $(\mathbf{a} -
# \mathbf{a}')^\top\mathbf{K}(\mathbf{a} - \mathbf{a}') = 0$.
# ````
#
# With $\mathbf{K} = \mathbf{X}\mathbf{X}^\top$ this is the dual form of ridge regression. scikit-learn calls the method
# `KernelRidge`:

# %%
library = KernelRidge(kernel='rbf', gamma=50, alpha=0.1).fit(x, y)
some = [100, 200, 280]  # x = 0.5, 1, 1.4
print('ours:        ', fits[50][some].round(4))
print('scikit-learn:', library.predict(grid[some]).round(4))

# %% [markdown]
# ```{exercise} ★★ Program: a bias without a penalty
# :label: kernels-bias
# The bias should not be penalized: minimize
# $\|\mathbf{y} - \boldsymbol\Phi\mathbf{w} - b\mathbf{1}\|^2 + \alpha\|\mathbf{w}\|^2$, knowing only
# $\mathbf{K} = \boldsymbol\Phi\boldsymbol\Phi^\top$. Write `fitted(K, y, alpha)`, without computing features.
# ```

# %%
def fitted(K, y, alpha):
    """The fitted values at the examples: an array (N,).

    K (N, N) is a Gram matrix, y (N,) floats, alpha from 0.1 to 10, N >= 1.
    fitted(np.zeros((2, 2)), np.array([1.0, 3.0]), 1.0) is [2.0, 2.0].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_the_features(K, y, alpha):
    s, V = eigh(K)
    F = V * np.sqrt(np.maximum(s, 0))
    return Ridge(alpha, solver='svd').fit(F, y).predict(F)

cases = dict(K=matrices((1, 5), 3, -2, 2, edges=True).map(lambda F: F @ F.T),
             y=lambda K: vectors(len(K), -4, 4, edges=True), alpha=on(1.0, 0.1) | scalars(0.1, 10))
options = dict(without=('numpy.linalg.eigh', 'numpy.linalg.svd'), tries=60, **cases)
grade(fitted, by_the_features, **options)

# %% [markdown]
# ```{solution-start} kernels-bias
# :class: dropdown
# ```
# As for ridge regression, centre the features and the targets. With $\mathbf{H} = \mathbf{I} - \frac1N
# \mathbf{1}\mathbf{1}^\top$ the centred features are $\mathbf{H}\boldsymbol\Phi$, and their Gram matrix is
# $\mathbf{H}\mathbf{K}\mathbf{H}$: subtract the mean of each column, then that of each row, which costs $N^2$ steps and
# not the $N^3$ of two matrix products. The mean of the targets need not be subtracted, because this matrix maps
# $\mathbf{1}$ to zero; it is only added at the end. The first wrong answer centres only the targets, so that the mean of
# the features is still penalized. The second has no bias at all, and the third forgets to add the mean of the targets.

# %% jupyter={"source_hidden": true}
def fitted_solution(K, y, alpha):
    Kc = K - K.mean(axis=0)
    Kc = Kc - Kc.mean(axis=1, keepdims=True)
    return y.mean() + Kc @ kernel_ridge(Kc, y, alpha)

def targets_only(K, y, alpha):
    return y.mean() + K @ kernel_ridge(K, y - y.mean(), alpha)

def without_a_bias(K, y, alpha):
    return K @ kernel_ridge(K, y, alpha)

def mean_forgotten(K, y, alpha):
    return fitted_solution(K, y, alpha) - y.mean()

assert grade(fitted_solution, by_the_features, **options)
assert not grade(targets_only, by_the_features, **options)
assert not grade(without_a_bias, by_the_features, **options)
assert not grade(mean_forgotten, by_the_features, **options)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def interpolates(seed, energy):  # the space of min(s, t): functions with a square-integrable slope
    rng = np.random.default_rng(seed)
    s, y = rng.uniform(0.2, 1, 5).cumsum(), rng.normal(size=5)
    a = solve(np.minimum.outer(s, s), y)
    t = rng.uniform(0, s[-1] + 1, 20)
    knots, values = np.append(0, s), np.append(0, y)
    return close(np.minimum.outer(t, s) @ a, np.interp(t, knots, values)) and close(
        a @ np.minimum.outer(s, s) @ a, energy(np.diff(values), np.diff(knots)).sum())

verify(
    'with min(s, t) the least norm goes straight from point to point',
    lambda seed: interpolates(seed, lambda rise, run: rise**2 / run),
    slip=('does not divide by the length of the step', lambda seed: interpolates(seed, lambda rise, run: rise**2)),
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
    slip=('drops the factor 2 before gamma', lambda seed: within(seed, np.sqrt)),
    seed=seeds(),
)

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
    slip=('penalizes another norm', lambda seed: bool(outside(seed, lambda w: norm(uneven * w) ** 2) < 1e-4)),
    seed=seeds(), tries=12,
)

# %% tags=["checks"]

def as_kernel_ridge(seed, kernel, fit):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(9, 3)), rng.normal(size=(4, 3))
    y = rng.normal(size=9)
    ours, options = {
        'linear': (lambda X, Z: polynomial(X, Z, 1, 0), {}),
        'poly': (lambda X, Z: polynomial(X, Z, 2, 1.5), dict(degree=2, coef0=1.5, gamma=1)),
        'rbf': (lambda X, Z: rbf(X, Z, 0.4), dict(gamma=0.4))}[kernel]
    model = KernelRidge(alpha=0.6, kernel=kernel, **options).fit(X, y)
    a = fit(ours(X, X), y, 0.6)
    return close(a, model.dual_coef_, atol=1e-10, rtol=0) and close(ours(Z, X) @ a, model.predict(Z), atol=1e-10, rtol=0)

verify(
    "dual coefficients and predictions are scikit-learn's to 1e-10",
    lambda seed, kernel: as_kernel_ridge(seed, kernel, kernel_ridge),
    slip=('takes nine times the penalty',
          lambda seed, kernel: as_kernel_ridge(seed, kernel, lambda K, y, alpha: kernel_ridge(K, y, 9 * alpha))),
    seed=seeds(), kernel=['linear', 'poly', 'rbf'], tries=90,
)

def misses(gammas):  # the data, and the curve
    return [[norm(rbf(z, x, g) @ kernel_ridge(rbf(x, x, g), y, 0.1) - t) / len(t) ** 0.5 for g in gammas]
            for z, t in ((x, y), (grid, curve(grid[:, 0])))]

verify(
    'a narrower kernel fits the data better, but of the three widths the middle one fits the curve best',
    lambda gammas: (np.diff(misses(gammas)[0]) < 0).all() and np.argmin(misses(gammas)[1]) == 1,
    slip=('expects the best fit of the data to be the best fit of the curve',
          lambda gammas: np.argmin(misses(gammas)[1]) == np.argmin(misses(gammas)[0])),
    gammas=[[0.5, 50, 2000]],
)

# %% [markdown]
# ## Choosing an RBF kernel by leave-one-out errors
#
# How do we choose $\gamma$ and $\alpha$? We leave out one example, fit the others, and see by how much the fit misses the
# one that was left out; then we do the same for every example. For kernel ridge regression we need not fit $N$ times,
# because this is ridge regression on features, and the [formula for ridge
# regression](../regression/ridge_regression.ipynb) carries over:
#
# ```{math}
# :label: kernels-loo
# y_n - \hat{y}_n^{(-n)} = \frac{a_n}{\big[ (\mathbf{K} + \alpha\mathbf{I})^{-1} \big]_{nn}} .
# ```
#
# Here $\hat{y}_n^{(-n)}$ is the prediction for example $n$ by the fit without it. One eigendecomposition serves all values
# of $\alpha$:

# %%
def left_out_errors(K, y, alphas):  # (N, N), (N, c) -> one (N, c) each
    s, V = eigh(K)  # (K + alpha I)^-1 = V diag(1 / (s + alpha)) V^T
    P = V.T @ y
    return [V / (s + alpha) @ P / (V**2 / (s + alpha)).sum(axis=1)[:, None]
            for alpha in alphas]

# %%
for gamma in (0.5, 5, 50, 500):
    K = rbf(x, x, gamma)
    errors = left_out_errors(K, y[:, None], (0.1,))[0]
    print(f'gamma = {gamma:5}: leave-one-out error'
          f' {np.sqrt((errors**2).mean()):.3f}')

# %% [markdown]
# On the forty values the leave-one-out error chooses $\gamma = 50$, without knowing the curve.
#
# ### Where a kernel helps, and where it does not
#
# We compare three predictors on two data sets: the mean of the training part, ridge regression (with a linear kernel) and
# kernel ridge regression with a Gaussian kernel. The first data are the ten measurements of 442 diabetes patients. The
# second are pictures of handwritten digits with 64 pixels, turned into a regression with ten targets, 1 for the right
# digit and 0 for the others. The mean of the targets is subtracted first. $\gamma$ and $\alpha$ are chosen by
# leave-one-out errors on the training part.

# %%
def prepare(X, seed, part, axis):  # -> scaled by the training part
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[:part], order[part:]
    scaled = (X - X[train].mean(axis=0)) / X[train].std(axis=axis)
    return scaled[train], scaled[test], train, test

def predict(kernels, X, T, Z):  # by the best of some kernels and alphas
    tried = []
    for i, k in enumerate(kernels):
        errors = left_out_errors(k(X, X), T, alphas)
        tried += [((e**2).mean(), i, a) for e, a in zip(errors, alphas)]
    _, i, alpha = min(tried)
    k = kernels[i]
    return k(Z, X) @ kernel_ridge(k(X, X), T, alpha)

# %%
def linear(X, Z):
    return X @ Z.T

alphas = np.logspace(-4, 2, 7).tolist()

def bells(d):  # Gaussian kernels for d features
    return [lambda X, Z, g=g: rbf(X, Z, g / d) for g in (0.02, 0.1, 0.5, 2, 8)]

def compare(X, Y, part, axis, score, seed):  # three scores
    A, B, train, test = prepare(X, seed, part, axis)
    mean = Y[train].mean(axis=0)
    T = Y[train] - mean
    return [score(mean + f, Y[test]) for f in (
        np.zeros((len(B), Y.shape[1])), predict([linear], A, T, B),
        predict(bells(X.shape[1]), A, T, B))]

# %%
def miss(predicted, true):
    return np.sqrt(((predicted - true) ** 2).mean())

def percent(predicted, true):
    return 100 * (predicted.argmax(1) == true.argmax(1)).mean()

patients, pictures = diabetes(), digits()
results = {
    'diabetes, root mean squared error': np.array([
        compare(patients.x, patients.y[:, None], 300, 0, miss, seed)
        for seed in range(10)]),
    'digits, percent right': np.array([
        compare(pictures.x, np.eye(10)[pictures.y], 400, None, percent, seed)
        for seed in range(5)])}

# %%
for title, scores in results.items():
    print(f'{title}, mean ± sd of {len(scores)} splits')
    for name, values in zip(('mean', 'linear', 'Gaussian'), scores.T):
        print(f'  {name:8} {values.mean():4.1f} ± {values.std():.2f}')
patients_gain = -np.diff(results['diabetes, root mean squared error'])[:, 1]
pictures_gain = np.diff(results['digits, percent right'])[:, 1]
print(f'diabetes, linear minus Gaussian: {patients_gain.mean():.2f}'
      f' ± {patients_gain.std():.2f}')
print(f'digits, Gaussian ahead in every split, by {pictures_gain.min():.1f}'
      ' points or more')

# %% [markdown]
# For the patients the mean gain is smaller than its spread over the splits. On the digits the kernel gains about six
# points. A linear method adds up what each pixel says by itself; the kernel's features contain products, which tell
# whether pixels are dark together.
#
# The representer theorem also covers the hinge loss, so a [support vector machine](support_vector_machines.ipynb) can use
# the same kernel. It is the default of scikit-learn's `SVC`, which with $C$ and $\gamma$ set by hand is about as good on
# the digits:

# %%
shares = []
for seed in range(5):
    A, B, train, test = prepare(pictures.x, seed, 400, None)
    machine = SVC(kernel='rbf', C=10, gamma=1 / 64)
    machine.fit(A, pictures.y[train])
    shares.append(100 * machine.score(B, pictures.y[test]))
print(f'SVC: {np.mean(shares):.1f} ± {np.std(shares):.2f} percent right')

# %% [markdown]
# ```{exercise} ★★ Experiment: too wide, too narrow
# :label: kernels-width
# Fit the digits of seed 0 (`prepare(pictures.x, 0, 400, None)`) by kernel ridge regression with $\alpha = 0.01$ and
# $\gamma = c/64$ for $c = 0.01, 1, 100$. First predict: sort the three $c$ by the root mean squared error on the *training* part
# and by that on the *test* part, least first. Then run. How many test digits does $c = 100$ get right, and why?
# ```

# %%
def orders():
    """Two lists of the factors 0.01, 1 and 100: a tuple (training, test)."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
factors = [0.01, 1, 100]

def width_scores():  # errors in training and test, percent right in the test
    A, B, train, test = prepare(pictures.x, 0, 400, None)
    Y = np.eye(10)[pictures.y]
    fits = {c: kernel_ridge(rbf(A, A, c / 64), Y[train], 0.01) for c in factors}
    return ({c: miss(rbf(A, A, c / 64) @ a, Y[train]) for c, a in fits.items()},
            {c: miss(rbf(B, A, c / 64) @ a, Y[test]) for c, a in fits.items()},
            {c: percent(rbf(B, A, c / 64) @ a, Y[test]) for c, a in fits.items()})

def as_measured(said):
    training, test, _ = width_scores()
    if [sorted(part) for part in said] != [factors, factors]:
        raise ValueError('name each of the factors 0.01, 1 and 100 once in both lists')
    if list(said[0]) != sorted(factors, key=training.get) or list(said[1]) != sorted(factors, key=test.get):
        raise ValueError('another order is measured; run the three and compare')
    return True

grade(lambda: as_measured(orders()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} kernels-width
# :class: dropdown
# ```
# The narrower the kernel, the better the fit of the training part: with $c = 100$, $\mathbf{K}$ is nearly the identity, and each
# example has a bump of its own. But a test picture is far from all of them, so that all ten predictions are nearly zero,
# and the error is that of predicting zeros. With $c = 0.01$ the kernel is nearly linear. The best test error has $c = 1$.
# Nevertheless $c = 100$ gets nearly all test digits right: among ten tiny numbers the largest belongs to the label of
# the *nearest* example, which is a good rule here. The wrong answers take the training order for the test order, the wider
# kernel for the better fit, and the widest for the worst in the test.

# %% jupyter={"source_hidden": true}
assert grade(lambda: as_measured(([100, 1, 0.01], [1, 0.01, 100])), lambda: True, [()])
assert not grade(lambda: as_measured(([100, 1, 0.01], [100, 1, 0.01])), lambda: True, [()])
assert not grade(lambda: as_measured(([0.01, 1, 100], [1, 0.01, 100])), lambda: True, [()])
assert not grade(lambda: as_measured(([100, 1, 0.01], [1, 100, 0.01])), lambda: True, [()])
for part, values in zip(('training error', 'test error', 'percent right'), width_scores(), strict=True):
    print(part, *(f'c = {c}: {value:.3g};' for c, value in values.items()))

# %% [markdown]
# ```{solution-end}
# ```

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
    slip=('does not leave the example out', lambda seed: by_refit(seed, not_left_out)),
    seed=seeds(), tries=20,
)

def chosen(gammas):
    losses = [(left_out_errors(rbf(x, x, g), y[:, None], [0.1])[0] ** 2).mean() for g in gammas]
    return gammas[np.argmin(losses)]

verify(
    'the leave-one-out error chooses gamma = 50',
    lambda gammas: chosen(gammas) == 50,
    slip=('looks at the errors on the data themselves',
          lambda gammas: min(gammas, key=lambda g: norm(not_left_out(rbf(x, x, g), y[:, None], [0.1])[0])) == 50),
    gammas=[[0.5, 5, 50, 500]],
)

def errors_of(values):  # the mean in standard errors
    return values.mean() / (values.std() / len(values) ** 0.5)

verify(
    'the kernel gains on the digits, in every split, and its gain on the patients is within its spread',
    lambda points: pictures_gain.min() > points and abs(patients_gain.mean()) < patients_gain.std(),
    slip=('expects the gain on the digits for the patients', lambda points: patients_gain.min() > points), points=[4],
)
verify(
    'both methods beat the mean, and SVC is within two points of kernel ridge regression',
    lambda points: ((results['digits, percent right'][:, 1:].min(1) > 3 * results['digits, percent right'][:, 0]).all()
                    and (np.diff(results['diabetes, root mean squared error'])[:, 0] < -10).all()
                    and abs(np.mean(shares) - results['digits, percent right'][:, 2].mean()) < points),
    slip=('compares with the linear kernel',
          lambda points: abs(np.mean(shares) - results['digits, percent right'][:, 1].mean()) < points), points=[2],
)

# %% [markdown]
# ## Random Fourier features
#
# A kernel method becomes expensive as the examples become many. For $N$ examples $\mathbf{K}$ has $N^2$ entries, and each
# prediction needs the kernel with all examples. The linear system takes $N^3$ steps. Could $D$ features do nearly the
# same? For kernels that depend on $\boldsymbol\delta = \mathbf{x} - \mathbf{z}$ alone, a theorem says which:
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
# ````{prf:proof}
# :class: dropdown
# *If.* $\cos(\boldsymbol\omega \cdot (\mathbf{x} - \mathbf{z})) = \cos(\boldsymbol\omega \cdot \mathbf{x})
# \cos(\boldsymbol\omega \cdot \mathbf{z}) + \sin(\boldsymbol\omega \cdot \mathbf{x}) \sin(\boldsymbol\omega \cdot
# \mathbf{z})$ is a kernel with two features, and an average of kernels has $\mathbf{c}^\top \mathbf{K}\mathbf{c} \ge 0$ as
# an average of such numbers. *Only if* is the deep half, which we do not prove {cite}`rudin1962fourier`.
# ````
#
# So such a kernel is an average of waves. For the Gaussian kernel {eq}`kernels-rbf`, $\boldsymbol\omega \sim
# \mathcal{N}(\mathbf{0}, 2\gamma\mathbf{I})$. We estimate the average by $D$ random waves: draw $D$ frequencies
# $\boldsymbol\omega_j$ and phases $b_j$, uniform on $[0, 2\pi]$, all independent, and use the features
# {cite}`rahimi2007random`
#
# ```{math}
# :label: kernels-random
# \zeta_j(\mathbf{x}) = \sqrt{\tfrac2D}\, \cos(\boldsymbol\omega_j \cdot \mathbf{x} + b_j) , \qquad
# \hat{k}(\mathbf{x}, \mathbf{z}) = \sum_{j=1}^D \zeta_j(\mathbf{x})\, \zeta_j(\mathbf{z}) .
# ```

# %%
def random_features(X, W, b):  # (n, d), (d, D), (D,) -> (n, D)
    return (2 / len(b)) ** 0.5 * np.cos(X @ W + b)

def draw(rng, d, D, gamma):  # -> frequencies (d, D), phases (D,)
    W = rng.normal(0, np.sqrt(2 * gamma), (d, D))
    return W, rng.uniform(0, 2 * np.pi, D)

# %%
rng = np.random.default_rng(0)
exact = rbf(rings, rings, 3)
for D in (10, 100, 1000, 10_000):
    F = random_features(rings, *draw(rng, 2, D, 3))
    error = np.sqrt(((F @ F.T - exact) ** 2).mean())
    print(f'D = {D:6}: root mean squared error of all entries {error:.4f}')

# %% [markdown]
# A hundred times as many features make the error about ten times as small. The next theorem explains this rate:
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
# \boldsymbol\delta$ the phase cancels; in $A + B$ it stands as $2b$ and makes two full turns. So for every
# $\boldsymbol\omega$ the mean over $b$ is 0 for the second cosine, $\frac12$ for its square, and 0 for its product with
# the first. Hence $\mathbb{E}\,t = \kappa(\boldsymbol\delta)$ and $\mathbb{E}\,t^2 = \mathbb{E}\cos^2(\boldsymbol\omega
# \cdot \boldsymbol\delta) + \frac12 = \frac12 (1 + \kappa(2\boldsymbol\delta)) + \frac12$; subtract $(\mathbb{E}\,t)^2$.
# As $|t| \le 2$, [Hoeffding's inequality](../probability/concentration.ipynb) bounds the chance of an error $\ge
# \epsilon$ in one entry by $2e^{-2D\epsilon^2/4^2}$; there are $N(N+1)/2$ different entries, and the probability of an
# error in at least one of them is at most the sum of their probabilities.
# ````
#
# On the digits, kernel ridge regression with $\gamma = 1/64$ becomes ridge regression on the random features. The cost is
# of the order $ND^2 + D^3$, and a prediction needs no example any more. (scikit-learn has these features as
# `RBFSampler`.) Is it as good as the exact kernel?

# %%
counts_D = [16, 64, 256, 1024]

def with_random_features(seed):  # percent right for each D, and exact
    A, B, train, test = prepare(pictures.x, seed, 400, None)
    Y, true = np.eye(10)[pictures.y[train]], np.eye(10)[pictures.y[test]]
    mean, rng, scores = Y.mean(axis=0), np.random.default_rng(seed), []
    for D in counts_D:
        W, b = draw(rng, 64, D, 1 / 64)
        F, G = random_features(A, W, b), random_features(B, W, b)
        w = solve(F.T @ F + 0.01 * np.eye(D), F.T @ (Y - mean))
        scores.append(percent(mean + G @ w, true))
    a = kernel_ridge(rbf(A, A, 1 / 64), Y - mean, 0.01)
    return [*scores, percent(mean + rbf(B, A, 1 / 64) @ a, true)]

# %%
by_waves = np.array([with_random_features(seed) for seed in range(5)])
for D, share in zip([*counts_D, 'exact'], by_waves.T, strict=True):
    print(f'D = {D:>5}: {share.mean():.1f} ± {share.std():.2f} percent right')

# %% mystnb={"image": {"alt": "Percent of digits right against the number of random features on a logarithmic axis. The line of the means of five splits rises steeply from 16 to 64 features, then slowly, and ends just below the dashed line of the exact kernel at 1024. The five dots spread over eight points at 16 features and over less than three from 64 on."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.4, 2.8))
ax.semilogx(counts_D, by_waves[:, :4].T, '.', color='C0')
ax.semilogx(counts_D, by_waves[:, :4].mean(axis=0), color='C0')
ax.axhline(by_waves[:, 4].mean(), color='C1', ls='--')
ax.text(16, by_waves[:, 4].mean() - 0.8, 'exact kernel', color='C1', va='top')
ax.text(90, 82, 'random features', color='C0')
ax.set(xlabel='features D', ylabel='digits right (percent)', xticks=counts_D, xticklabels=counts_D)
ax.minorticks_off();

# %% [markdown] tags=["caption"]
# With 1024 random features the digits come within one percentage point of the exact kernel. That saves no time with 400
# examples, only with many more.

# %% [markdown]
# ```{exercise} ★★★ Pencil: waves in pairs
# :label: kernels-paired
# Use the $D$ features differently: $D/2$ frequencies, and for each the pair $\sqrt{2/D}\,(\cos(\boldsymbol\omega_j \cdot
# \mathbf{x}), \; \sin(\boldsymbol\omega_j \cdot \mathbf{x}))$, without phases. Is that better? Derive the variance of
# $\hat{k}$ for the Gaussian kernel and write it as `paired_variance(k, D)`, where $k = \kappa(\boldsymbol\delta)$.
# ```

# %%
def paired_variance(k, D):
    """The variance of the estimate of a kernel value k: a float.

    k is a float with 0 < k <= 1, D an even int of at least 2.
    paired_variance(1.0, 2) is 0.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_an_integral(k, D):  # on the line, with gamma = 1, by Gauss-Hermite quadrature
    nodes, shares = np.polynomial.hermite_e.hermegauss(120)
    values = np.cos(2**0.5 * nodes * np.sqrt(-np.log(k)))
    shares = shares / shares.sum()
    return (shares @ values**2 - (shares @ values) ** 2) / (D / 2)

cases = dict(k=on(1.0, 0.5) | scalars(0.05, 1), D=integers(1, 100).map(lambda half: 2 * half))
grade(paired_variance, by_an_integral, **cases)

# %% [markdown]
# ```{solution-start} kernels-paired
# :class: dropdown
# ```
# The product of two pairs is $\frac2D \cos(\boldsymbol\omega_j \cdot \boldsymbol\delta)$, whose variance we know from the
# proof: $\frac{4}{D^2}\big( \frac12(1 + \kappa(2\boldsymbol\delta)) - \kappa(\boldsymbol\delta)^2 \big)$, and there are
# $D/2$ of them. For the Gaussian kernel $\kappa(2\boldsymbol\delta) = k^4$, so the sum is $(1 - k^2)^2/D$. With the phases
# it is $(1 - k^2 + \frac12 k^4)/D$, never less, and for $\mathbf{x} = \mathbf{z}$ the pairs make no error at all: they are
# the better choice {cite}`sutherland2015error`. The wrong answers count $D$ independent frequencies, give the variance with
# the phases, and take $k^2$ for $\kappa(2\boldsymbol\delta)$.

# %% jupyter={"source_hidden": true}
def paired_variance_solution(k, D):
    return (1 - k**2) ** 2 / D

def as_many_frequencies(k, D):
    return (1 - k**2) ** 2 / (2 * D)

def with_phases(k, D):
    return (1 + k**4 / 2 - k**2) / D

def another_distance(k, D):
    return (1 + k**2 - 2 * k**2) / D

assert grade(paired_variance_solution, by_an_integral, **cases)
assert not grade(as_many_frequencies, by_an_integral, **cases)
assert not grade(with_phases, by_an_integral, **cases)
assert not grade(another_distance, by_an_integral, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def as_sampler(seed, phase):
    X = np.random.default_rng(seed).normal(size=(4, 3))
    sampler = RBFSampler(gamma=0.4, n_components=7, random_state=seed)
    want = sampler.fit_transform(X)
    return close(random_features(X, sampler.random_weights_, phase * sampler.random_offset_), want)

def pair(seed):
    rng = np.random.default_rng(seed)
    X, gamma = rng.normal(size=(2, 3)), rng.uniform(0.05, 0.4)
    k, k2 = (rbf(A, A, gamma)[0, 1] for A in (X, 2 * X))
    return rng, X, gamma, k, k2

def terms(rng, X, D, gamma):  # the D terms t of one pair, unscaled
    F = random_features(X, *draw(rng, X.shape[1], D, gamma))
    return F[0] * F[1] * D

def variance(k, k2):
    return 1 + k2 / 2 - k**2

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
    seed=seeds(), tries=10,
)
verify(
    'random features are right on average',
    lambda seed: unbiased(seed, 1),
    slip=('draws the frequencies with half the gamma', lambda seed: unbiased(seed, 1 / 2)),
    seed=seeds(), tries=40,
)
verify(
    'their variance',
    lambda seed: spreads(seed, variance),
    slip=('writes 1 − κ²/2 for the variance', lambda seed: spreads(seed, lambda k, k2: 1 - k**2 / 2)),
    seed=seeds(), tries=40,
)

def rms_errors(seed):  # for D from 16 to 1024, in units of the standard deviation of a term
    rng, X, gamma, k, k2 = pair(seed)
    means = [terms(rng, X, 300 * D, gamma).reshape(300, D).mean(axis=1) for D in counts_D]
    return np.sqrt(((np.array(means) - k) ** 2).mean(axis=1) / variance(k, k2))

# %% tags=["checks"]
def falls(seed, power):  # five standard errors of a variance from 300 draws
    ratio = rms_errors(seed) * np.array(counts_D) ** power
    return bool((abs(ratio - 1) < 5 / np.sqrt(600)).all())

verify(
    'the error falls like 1/√D',
    lambda seed: falls(seed, 1 / 2),
    slip=('expects an error like 1/D', lambda seed: falls(seed, 1)),
    seed=seeds(), tries=12,
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
    slip=('lets the bound shrink like 1/D', lambda seed, D: all_within(seed, D, 1)),
    seed=seeds(), D=[100, 1000], tries=30,
)
verify(
    'more random features are better, and 1024 come within one point of the exact kernel',
    lambda points: (np.diff(by_waves[:, :4].mean(0)) > 0).all() and by_waves[:, 4].mean() - by_waves[:, 3].mean() < points,
    slip=('expects this of 256', lambda points: by_waves[:, 4].mean() - by_waves[:, 2].mean() < points), points=[1],
)

# %% [markdown]
# ## Summary
#
# A kernel is a dot product of features. A symmetric function is a kernel exactly if all its Gram matrices are positive
# semidefinite. If a kernel replaces the dot products in a linear method, its boundaries become curved; by the representer
# theorem its solution is a sum of kernels at the examples, and for squared errors a linear system gives the coefficients.
# If there are many examples, $D$ random waves replace the kernel with an error of the order $1/\sqrt{D}$.
#
# **Further reading.** {cite}`scholkopf2002learning` is the book on the subject; {cite}`aronszajn1950theory` introduced the
# spaces, {cite}`kimeldorf1971some` the representer theorem and {cite}`scholkopf2001generalized` its general form.
# {cite}`rasmussen2006gaussian` derive the same formulas with error bars, and {cite}`hastie2009elements`, sections 5.8 and
# 12.3, connect them to splines and support vector machines.
