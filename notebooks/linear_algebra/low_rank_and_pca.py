# ---
# jupyter:
#   book:
#     functions:
#       low_rank: low_rank(normal(5, 4), 2)
#       randomized_svd: randomized_svd(normal(9, 7), 2, 2, np.random.default_rng(0))[1]
#       pca: pca(normal(9, 3), 2)[2]
#     main: low-rank-sum
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Low rank and principal components
#
# A grey photograph is a matrix of $427 \cdot 640 = 273\,280$ numbers. With $20 \cdot (427 + 640 + 1) = 21\,360$ numbers we
# can draw it so that everybody recognizes what it shows. From ten numbers in place of the 64 pixels of a handwritten digit,
# we can nearly always tell which digit it is. How do we find the few numbers that keep most of what is there?
#
# - **You need** the [singular value decomposition](singular_value_decomposition.ipynb), the
#   [Frobenius norm](norms.ipynb), and [projections](dot_products.ipynb).
# - **You build** the best approximation of every rank, a compressed picture, principal components, a map of 600 digits,
#   and a filter that removes noise.
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
from numpy.linalg import norm
from scipy.fft import dctn
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA

from nbutils.cases import on, scalars, seeds, vectors
from nbutils.checks import close, grade, verify
from nbutils.data import diabetes, digits, photograph
from nbutils.figures import GREY, label_lines, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## Low-rank approximation: the Eckart–Young theorem
#
# Five people rate four films from 1 to 5. The first two films are thrillers, the last two are love stories. How many
# different tastes are there?

# %%
ratings = np.array([[5, 4, 1, 1],   # Ann
                    [4, 5, 2, 1],   # Ben
                    [5, 5, 1, 2],   # Cleo
                    [1, 1, 5, 4],   # Dan
                    [2, 1, 4, 5]])  # Eve
U, sigma, Vt = np.linalg.svd(ratings, full_matrices=False)
print('singular values', sigma.round(2))

# %%
signs = np.sign(Vt[:, :1])                     # the first entries positive
print('v_1', (signs * Vt)[0].round(2))
print('v_2', (signs * Vt)[1].round(2))

# %% [markdown]
# Two singular values are large and two are small. All entries of $\mathbf{v}_1$ are positive, so the first term says how
# high a person rates all films. The vector $\mathbf{v}_2$ is positive for the thrillers and negative for the love stories,
# so the second term separates the two tastes. The SVD writes a matrix of rank $r$, here 4, as a sum of $r$ terms
# $\sigma_i\mathbf{u}_i\mathbf{v}_i^\top$, and we keep only the first $k$:
#
# ```{math}
# :label: low-rank-sum
# \mathbf{A}_k = \sum_{i=1}^{k} \sigma_i\,\mathbf{u}_i\mathbf{v}_i^\top, \qquad
# \|\mathbf{A} - \mathbf{A}_k\|_F^2 = \sum_{i=k+1}^{r} \sigma_i^2 .
# ```
#
# The squared error on the right follows from Pythagoras' theorem, because the terms, read as vectors with $mn$ entries, are
# perpendicular.

# %%
def low_rank(A, k):
    """The sum of the first k terms of the SVD of A (m, n)."""
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    return U[:, :k] * sigma[:k] @ Vt[:k]

# %%
for k in (1, 2):
    A_k = low_rank(ratings, k)
    print(f'rank {k}, error {norm(ratings - A_k):.3f} =',
          f'{norm(sigma[k:]):.3f}')
    print(A_k.round(2))

# %% [markdown]
# With rank 1, every row is a multiple of the same row, so the approximation gives Dan the same taste as Ann. With rank 2 no
# rating is off by more than one. It takes $2 \cdot (5 + 4 + 1) = 20$ numbers to store 20 ratings, so nothing is saved yet.
# In general, $k(m + n + 1)$ numbers replace $mn$. For 10,000 people and 1000 films, $\mathbf{A}_{20}$ needs $20 \cdot
# (10\,000 + 1000 + 1) = 220\,020$ numbers in place of ten million.
#
# Could another matrix of rank 2 do better? First, we draw 10,000 random planes in $\mathbb{R}^5$. For each plane we take the
# matrix nearest to the ratings among those whose columns lie in the plane. Second, we try **alternating least squares**. It
# writes the matrix as $\mathbf{L}\mathbf{R}$, where $\mathbf{L}$ has two columns. It solves for the best $\mathbf{R}$ with
# $\mathbf{L}$ fixed, then for the best $\mathbf{L}$ with $\mathbf{R}$ fixed, and so on.

# %%
rng = np.random.default_rng(0)
Q = np.linalg.qr(rng.normal(size=(10_000, 5, 2)))[0]  # random planes
rest = ratings - Q @ Q.mT @ ratings                   # (10000, 5, 4)
print(f'best of 10,000 planes: {norm(rest, axis=(1, 2)).min():.3f}')

L = rng.normal(size=(5, 2))
for step in range(1, 51):
    R = np.linalg.lstsq(L, ratings)[0]                # (2, 4)
    L = np.linalg.lstsq(R.T, ratings.T)[0].T          # (5, 2)
    if step in (1, 2, 50):
        print(f'alternating, step {step}: {norm(ratings - L @ R):.3f}')

# %% [markdown]
# The random planes do not reach the error 1.817 of $\mathbf{A}_2$. Alternating least squares ends at just this error. No
# matrix of rank 2 has a smaller one:
#
# ```{prf:theorem} Eckart, Young, Mirsky
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
# Why? A matrix $\mathbf{B}$ of rank $k$ maps a space of dimension $n - k$ to zero. This space is so large that it contains a
# combination of the $k + 1$ vectors $\mathbf{v}_1, \dots, \mathbf{v}_{k+1}$. But $\mathbf{A}$ stretches each such
# combination by at least $\sigma_{k+1}$. So its images under the two matrices differ by at least $\sigma_{k+1}$ times its
# length.
#
# ```{prf:proof}
# :class: dropdown
# *The spectral norm*, $i = 1$. Let $\sigma_{k+1} > 0$; otherwise there is nothing to show. The null space of $\mathbf{B}$
# has at least dimension $n - k$, the span of $\mathbf{v}_1, \dots, \mathbf{v}_{k+1}$ has dimension $k + 1$. Together that
# is more than $n$, so they share a unit vector $\mathbf{z} = \sum_{j \le k+1} c_j \mathbf{v}_j$, and
#
# $$\|\mathbf{A} - \mathbf{B}\|_2^2 \ge \|(\mathbf{A} - \mathbf{B})\mathbf{z}\|^2 = \|\mathbf{A}\mathbf{z}\|^2
# = \sum_{j \le k+1} \sigma_j^2 c_j^2 \ge \sigma_{k+1}^2 .$$
#
# *All $i$.* Let $\mathbf{C}$ be the sum of the first $i - 1$ terms of the SVD of $\mathbf{A} - \mathbf{B}$. The remainder
# has the norm $\|\mathbf{A} - \mathbf{B} - \mathbf{C}\|_2 = \sigma_i(\mathbf{A} - \mathbf{B})$. But $\mathbf{B} +
# \mathbf{C}$ has rank at most $k + i - 1$, so by the first part this norm is at least $\sigma_{k+i}(\mathbf{A})$. Squared
# and summed over $i$ this is the claim about the Frobenius norm.
# ```
#
# ```{exercise} ★★ Program: holes in a matrix
# :label: svd-holes
# Some entries of a matrix `a` of rank one are unknown. The mask `known` is true where an entry is known.
# {prf:ref}`thm-eckart-young` gives an algorithm: fill the holes with zeros, take the best matrix of rank one, put its
# entries into the holes, and repeat. Write `fill_in(a, known)`, which returns the completed matrix with errors below one
# percent. The numbers in the holes of `a` mean nothing. Then show that the misfit, which is the distance between
# the matrix of rank one and the known entries, never grows.
# ```

# %%
def fill_in(a, known):
    """The completed matrix: an array of the shape of a, errors below 1 %.

    The bool array known has the shape of a (m, n). Where it is False, the
    entry of a may be any number or nan. In the matrix of rank one the
    absolute values lie between 1 and 9. At least half of each row and
    column is known, and each hole is a corner of a rectangle whose other
    corners are known. For a = np.array([[1., 2.], [3., -7.]]) and
    known = np.array([[True, True], [True, False]]) it is [[1, 2], [3, 6]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_proportion(a, known):  # a_ij = a_iq a_pj / a_pq for rank one
    full = a.copy()
    for i, j in np.argwhere(~known):
        rows, columns = np.where(known[:, j])[0], np.where(known[i])[0]
        p, q = next((p, q) for p in rows for q in columns if known[p, q])
        full[i, j] = a[i, q] * a[p, j] / a[p, q]
    return full

def allowed(known):
    half = min(known.mean(0).min(), known.mean(1).min()) >= 0.5
    return half and all((known[:, j, None] & known[i] & known).any() for i, j in np.argwhere(~known))

def with_holes(seed):
    rng = np.random.default_rng(seed)
    known = np.full(rng.integers(2, 7, 2), True)
    for i, j in rng.permutation(np.argwhere(known))[:rng.integers(1, known.size)]:
        known[i, j] = False
        known[i, j] = not allowed(known)
    return known

def of_rank_one(known):
    def matrix(factors, filling):
        u, v = np.split(np.where(factors < 0, factors - 1, factors + 1), [len(known)])
        return np.where(known, np.outer(u, v), filling)
    return on(-7.0, 0.0, 1000.0, np.nan).flatmap(
        lambda filling: vectors(sum(known.shape), -2, 2).map(lambda factors: matrix(factors, filling)))

cases = dict(a=of_rank_one, known=seeds().map(with_holes), tries=25, rtol=0.01)
grade(fill_in, by_proportion, **cases)

# %% [markdown]
# ```{solution-start} svd-holes
# :class: dropdown
# ```
# Let $\mathbf{B}_t$ be the approximation in round $t$. The filled matrix agrees with $\mathbf{B}_t$ in the holes, so its
# distance to $\mathbf{B}_t$ is the misfit of $\mathbf{B}_t$ on the known entries. $\mathbf{B}_{t+1}$ is the nearest matrix
# of rank one, so it is at most as far from the filled matrix as $\mathbf{B}_t$. Its misfit on the known entries is only a
# part of that distance. There may be local minima, and if a row has no known entry, nothing can determine it. The tempting
# wrong answer stops after one round, when the zeros in the holes still pull everything down. Others start from the
# meaningless numbers and stop early, take them for known, or put the mean of the known entries into the holes.

# %% jupyter={"source_hidden": true}
def fill_in_solution(a, known):
    full = np.where(known, a, 0)
    for _ in range(1000):
        full = np.where(known, a, low_rank(full, 1))
    return full

def one_round(a, known):
    return np.where(known, a, low_rank(np.where(known, a, 0), 1))

def keeps_the_filling(a, known):
    full = a
    for _ in range(30):
        full = np.where(known, a, low_rank(full, 1))
    return full

def ignores_the_mask(a, known):
    return low_rank(a, 1)

def by_the_mean(a, known):
    return np.where(known, a, a[known].mean())

assert grade(fill_in_solution, by_proportion, **cases)
assert not grade(one_round, by_proportion, **cases)
assert not grade(keeps_the_filling, by_proportion, **cases)
assert not grade(ignores_the_mask, by_proportion, **cases)
assert not grade(by_the_mean, by_proportion, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def candidates(seed, k):  # σ of A, and of what 20 matrices of rank k leave over
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(8, 6))
    Q = np.linalg.qr(rng.normal(size=(20, 8, k)))[0]
    return np.linalg.svd(A)[1], np.linalg.svd(A - Q @ Q.swapaxes(1, 2) @ A)[1]

def bounded(seed, k, assumed):
    sigma, tails = candidates(seed, k)  # (6,), (20, 6)
    return (tails[:, :6 - assumed] >= sigma[assumed:] - 1e-12).all()

verify('no matrix of rank k leaves smaller singular values than the sum of k terms',
       lambda seed, k: bounded(seed, k, k),
       slip=('says so of matrices of rank k + 1', lambda seed, k: bounded(seed, k + 1, k)),
       seed=seeds(), k=[1, 2, 3, 4], tries=100)

def attains(seed, shape, k, dropped):
    A = np.random.default_rng(seed).normal(size=shape)
    sigma, rest = np.linalg.svd(A)[1], A - low_rank(A, k)
    k = dropped(k)
    return (close(norm(rest) ** 2, (sigma[k:] ** 2).sum()) and close(norm(rest, 2), sigma[k] if k < len(sigma) else 0)
            and np.linalg.matrix_rank(A - rest, tol=1e-9) == k)

verify('the sum of k terms has rank k, and what is dropped is its error',
       lambda seed, shape, k: attains(seed, shape, k, lambda k: k),
       slip=('counts the last term twice', lambda seed, shape, k: attains(seed, shape, k, lambda k: k - 1)),
       seed=seeds(), shape=[(3, 3), (5, 4), (4, 6)], k=[1, 2, 3], tries=60)

def misfits_fall(seed, rank):
    rng = np.random.default_rng(seed)
    a, known = rng.uniform(1, 3, (6, 5)), rng.random((6, 5)) < 0.7
    full, found = np.where(known, a, 0), []
    for _ in range(20):
        best = rank(full)
        found.append(norm((a - best)[known]))
        full = np.where(known, a, best)
    return bool((np.diff(found) <= 1e-12).all())

def a_column(full):  # some matrix of rank one
    return full[:, :1] * np.ones(full.shape[1])

verify('filling holes again and again never makes the misfit larger',
       lambda seed: misfits_fall(seed, lambda full: low_rank(full, 1)),
       slip=('takes another matrix of rank one',
             lambda seed: misfits_fall(seed, lambda full: a_column(full) * full.sum() / 60)),
       seed=seeds(), tries=40)

verify(
    'alternating least squares arrives at the least error, from which the best of 10,000 random planes is far',
    lambda: close(norm(ratings - L @ R), norm(np.linalg.svd(ratings)[1][2:])),
    slip=('takes the best random plane', lambda: close(
        norm(rest, axis=(1, 2)).min(), norm(np.linalg.svd(ratings)[1][2:]))),
)

# %% [markdown]
# ## Compressing a picture with the SVD
#
# Now a real matrix: a photograph in grey, with one number for each pixel.

# %%
A = photograph('china').mean(2)                # (427, 640)
U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
m, n = A.shape
ranks = np.arange(1, 201)
stored = ranks * (m + n + 1)                   # numbers for each rank
svd_error = np.array([norm(sigma[k:]) for k in ranks]) / norm(A)

# %% mystnb={"image": {"alt": "Four pictures of a temple: of rank 5, blurred stripes that show little more than an outline; of rank 20, recognizable but blurred; of rank 80, nearly sharp; and the original."}} tags=["hide-input"]
fig, axes = panels(2, 2, height=2.0)
for ax, k in zip(axes.flat, (5, 20, 80, m), strict=True):
    title = f'rank {k}' + (': the original' if k == m else '')
    A_k = U[:, :k] * sigma[:k] @ Vt[:k]
    show_image(ax, A_k[::3, ::3], title, vmin=0, vmax=1, interpolation='none')

# %% [markdown] tags=["caption"]
# Rank 5 shows an outline made of horizontal and vertical stripes. Rank 20 shows the temple, and rank 80 shows most details.

# %% [markdown]
# How good is this way to store a picture? We compare it with the discrete cosine transform, on which JPEG is built. It
# writes every picture as a sum of the *same* fixed waves, and we keep the waves with the largest coefficients. For each of
# them we store two numbers, its value and its place. The waves are orthonormal, so the squared error is the sum of the
# squares of the coefficients that we drop.

# %%
waves = np.sort(abs(dctn(A, norm='ortho')).ravel())[::-1]
wave_error = np.array([norm(waves[s // 2:]) for s in stored]) / norm(A)
print('rank  stored  error: SVD  cosine waves')
for k in (5, 20, 80, 160):
    print(f'{k:4} {stored[k - 1] / A.size:7.1%} {svd_error[k - 1]:11.3f}'
          f' {wave_error[k - 1]:13.3f}')
first = (svd_error < wave_error).argmax()
print(f'the SVD is better from rank {ranks[first]} on,',
      f'with {stored[first] / A.size:.1%} of the numbers')

# %% mystnb={"image": {"alt": "Relative error against the share of numbers stored, on a logarithmic scale, for the SVD and for cosine waves. Both fall together; the waves are lower for small shares, the SVD for large ones."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.4, 2.6))
ax.plot(stored / A.size, svd_error, label='SVD')
ax.plot(stored / A.size, wave_error, label='cosine waves')
ax.set(yscale='log', xlabel='numbers stored / number of pixels', ylabel='relative error')
ax.set(yticks=[0.05, 0.1, 0.2], yticklabels=['5 %', '10 %', '20 %'])
ax.minorticks_off()
label_lines(ax)

# %% [markdown] tags=["caption"]
# Relative error against the share of the numbers that are stored. Fixed waves are better until about half of them are
# stored.

# %% [markdown]
# With 8 % of the numbers the SVD has an error of 14 %. The waves reach this error with fewer numbers. This does not
# contradict the theorem, because $\mathbf{A}_k$ is the best matrix *of rank $k$*, not the best of all ways to store a
# picture. The SVD has to store its own vectors, while the waves are the same for all pictures. And a slanted edge needs many
# terms of the SVD.
#
# ### Randomized SVD: the first terms of a large matrix
#
# A full SVD computes all 427 terms. If we want the first 20, we can multiply $\mathbf{A}$ by 28 random vectors
# $\boldsymbol\omega$. Each product $\mathbf{A}\boldsymbol\omega = \sum_i \sigma_i (\mathbf{v}_i \cdot
# \boldsymbol\omega)\,\mathbf{u}_i$ has large parts along the $\mathbf{u}_i$ with large $\sigma_i$. So these lie nearly in
# the space of the 28 products. The columns of $\mathbf{Q}$ are an orthonormal basis of this space. The SVD of the small
# matrix $\mathbf{Q}^\top\mathbf{A}$ then approximates the first 20 terms {cite}`halko2011finding`. We can improve the space
# by a pass, which multiplies $\mathbf{Q}$ by $\mathbf{A}\mathbf{A}^\top$: then $\sigma_i^3$ takes the place of $\sigma_i$.

# %%
def randomized_svd(A, k, passes, rng, extra=8):
    """The first k terms of the SVD of A (m, n), approximately."""
    Omega = rng.normal(size=(A.shape[1], k + extra)).astype(A.dtype)
    Q = np.linalg.qr(A @ Omega)[0]             # (m, k + extra)
    for _ in range(passes):
        Q = np.linalg.qr(A.T @ Q)[0]
        Q = np.linalg.qr(A @ Q)[0]
    U, sigma, Vt = np.linalg.svd(Q.T @ A, full_matrices=False)
    return Q @ U[:, :k], sigma[:k], Vt[:k]

# %%
least = norm(sigma[20:])
for passes in (0, 1, 2):
    above = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        U_20, sigma_20, Vt_20 = randomized_svd(A, 20, passes, rng)
        above.append(norm(A - U_20 * sigma_20 @ Vt_20) / least - 1)
    print(f'{passes} passes: error {min(above):.2%} to {max(above):.2%}',
          'above the least')

# %% [markdown]
# In the library this is `sklearn.utils.extmath.randomized_svd` or `torch.svd_lowrank`.

# %% tags=["checks"]
def codes_agree(k, coefficients):  # the squared error of a code is the sum of the squares that it drops
    spectrum = dctn(A, norm='ortho')
    kept = np.where(abs(spectrum) >= waves[k - 1], spectrum, 0)
    from scipy.fft import idctn
    return close(norm(A - idctn(kept, norm='ortho')), norm(coefficients[k:]))

verify('the error of the waves is the norm of the coefficients that are dropped', lambda k: codes_agree(k, waves),
       slip=('measures it by singular values', lambda k: codes_agree(k, sigma)), k=[10, 100, 400])
verify('the error of each rank is the norm of the singular values that are dropped',
       lambda k: close(norm(A - U[:, :k] * sigma[:k] @ Vt[:k]) / norm(A), svd_error[k - 1]),
       slip=('is one rank ahead', lambda k: close(norm(A - U[:, :k] * sigma[:k] @ Vt[:k]) / norm(A), svd_error[k])),
       k=[1, 20, 160])

def waves_win(rank, turn):  # which code is better changes once
    return bool(wave_error[rank - 1] < svd_error[rank - 1]) == (rank < turn)

verify('the waves are better for all smaller ranks, and the SVD from there on',
       lambda rank: waves_win(rank, ranks[first]),
       slip=('expects the change at rank 80', lambda rank: waves_win(rank, 80)), rank=list(range(1, 201)))

def near_least(seed, passes):  # of the photograph
    U, sigma, Vt = randomized_svd(A, 20, passes, np.random.default_rng(seed))
    above = norm(A - U * sigma @ Vt) / least - 1
    return bool(-1e-9 < above < 0.01) and close(U.T @ U, np.eye(20))

verify('with two passes the randomized SVD comes within one percent of the least error',
       lambda seed: near_least(seed, 2),
       slip=('expects this of one pass', lambda seed: near_least(seed, 1)), seed=seeds(), tries=20)

# %% [markdown]
# ## Principal component analysis: the axes of a cloud
#
# For 442 patients we know the total cholesterol in the blood and the part of it called LDL. High values go together, so the
# cloud of points is long in one direction. Which one? We subtract the mean from all points, and write these **centred**
# points as the rows of an $N \times D$ matrix $\mathbf{X}$. In the direction of a unit vector $\mathbf{v}$, their
# **variance** is $\|\mathbf{X}\mathbf{v}\|^2/N$. It is largest for the first right singular vector of $\mathbf{X}$:

# %%
def pca(X, k):
    """Mean (D,), k directions (D, k) and all variances of points (N, D)."""
    mu = X.mean(0)
    U, sigma, Vt = np.linalg.svd(X - mu, full_matrices=False)
    return mu, Vt[:k].T, sigma**2 / len(X)

# %%
blood = diabetes().x[:, 4:6]                   # (442, 2), both in mg/dl
mu, P, lam = pca(blood, 2)
P = P * np.sign(P[1])                          # choose the signs
print('mean', mu.round(1))
for i in range(2):
    print(f'direction {i + 1}:', P[:, i].round(3),
          f' variance {lam[i]:.0f} = {lam[i] / lam.sum():.1%}')

# %% mystnb={"image": {"alt": "A scatter plot of LDL against total cholesterol, a long narrow cloud rising to the right. From its centre a long arrow points along the cloud and a short arrow points across."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5, 3.1))
ax.scatter(*blood.T, s=9, color='C0', alpha=0.45)
for i, colour in (0, 'C1'), (1, 'C4'):
    tip = mu + 2 * np.sqrt(lam[i]) * P[:, i]
    ax.annotate('', tip, mu, arrowprops={'arrowstyle': '-|>', 'color': colour, 'lw': 2.2, 'shrinkA': 0, 'shrinkB': 0})
    ax.annotate(f'direction {i + 1}', tip, xytext=(8, -12) if i == 0 else (-8, 4), textcoords='offset points', color=colour,
                ha='left' if i == 0 else 'right')
ax.set(aspect='equal', xlabel='total cholesterol (mg/dl)', ylabel='LDL (mg/dl)', xlim=(90, 310), ylim=(35, 250));

# %% [markdown] tags=["caption"]
# The patients, and the two principal directions, which are the axes of the cloud. The arrows are two standard deviations
# long. The first direction carries most of the variance.

# %% [markdown]
# The right singular vectors $\mathbf{v}_i$ of the centred points are called **principal directions**. The variances along
# them are $\lambda_i = \sigma_i^2/N$, the eigenvalues of the covariance matrix $\mathbf{X}^\top\mathbf{X}/N$. The
# coordinates $\mathbf{X}\mathbf{v}_i$ are called **principal components**. They are uncorrelated, because the columns of
# $\mathbf{X}\mathbf{V} = \mathbf{U}\boldsymbol\Sigma$ are perpendicular.
#
# Principal directions also answer another question: for which line, or which $k$-dimensional plane, is the mean squared
# distance of the points least? Let the columns of $\mathbf{P}$ ($D \times k$) be an orthonormal basis of a plane. The rows
# of $\mathbf{X}\mathbf{P}\mathbf{P}^\top$ are the projections of the points. This matrix has rank at most $k$, so
# {prf:ref}`thm-eckart-young` bounds its error:
#
# ```{math}
# :label: svd-pca
# \frac1N \|\mathbf{X} - \mathbf{X}\mathbf{P}\mathbf{P}^\top\|_F^2 \;\ge\; \sum_{i > k} \lambda_i , \qquad \lambda_i = \frac{\sigma_i^2}{N},
# ```
#
# with equality for $\mathbf{P} = (\mathbf{v}_1, \dots, \mathbf{v}_k)$. The nearest plane goes through the mean, since the
# mean minimizes the sum of squares in each direction.
#
# ```{admonition} A tempting mistake
# :class: tip
# If you forget to subtract the mean, the first direction may be nearly that of the mean. For the digits below, the angle
# between the two is below half a degree. Then the first direction says nothing about how the digits differ.
# ```
#
# ### Principal components of the digits
#
# Each of 1797 handwritten digits is a point with 64 coordinates, its pixels. A principal direction has 64 entries, too,
# so we can look at it as a picture.

# %%
X, y, _ = digits()                             # (1797, 64), (1797,)
mu, P, lam = pca(X, 10)
P = P * np.sign(P[abs(P).argmax(0), range(10)])  # choose the signs
for k in (1, 2, 10, 20):
    print(f'{k:2} of 64 directions hold {lam[:k].sum() / lam.sum():.1%}')
uncentred = np.linalg.svd(X)[2][0]
angle = np.degrees(np.arccos(abs(uncentred @ mu) / norm(mu)))
print(f'not centred: direction 1 is {angle:.2f} degrees off the mean')

# %% mystnb={"image": {"alt": "Eight small pictures of 8 by 8 pixels. The first is a blurred stroke in the shape of an 8 or 0. The others show patches of violet and orange of growing contrast and detail."}} tags=["hide-input"]
fig, axes = panels(4, 2, height=1.6)
show_image(axes[0, 0], 1 - mu.reshape(8, 8), 'mean', vmin=0, vmax=1)
most = abs(P).max()
for i, ax in enumerate(axes.flat[1:]):
    show_image(ax, P[:, i].reshape(8, 8), f'direction {i + 1}', cmap='PuOr', vmin=-most, vmax=most)

# %% [markdown] tags=["caption"]
# The mean digit and the first seven principal directions. Adding a multiple of a direction to the mean makes the violet
# pixels darker and the orange ones lighter, or the reverse.

# %% [markdown]
# The share of the variance that the first $k$ directions hold is called the **explained variance**. A common rule
# fixes this share and keeps as many directions as it needs. The first two components of each digit are its coordinates on a map. In
# practice you call scikit-learn. It divides by $N - 1$ in place of $N$, and has its own signs:

# %%
model = PCA(n_components=2).fit(X)
print('variance by scikit-learn', model.explained_variance_.round(3))
print('ours, times N / (N - 1)  ', (lam[:2] * 1797 / 1796).round(3))
places = (X - mu) @ P[:, :2]                   # model.transform(X)

# %% mystnb={"image": {"alt": "A map with 600 small coloured numerals in a disc. 4 lies on the right, 6 at the lower right, 0 at the bottom, 9 and 3 on the left, 7 at the top; 1, 2, 5 and 8 overlap in the middle."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 4.6))
for digit in range(10):
    mine = places[:600][y[:600] == digit]
    ax.scatter(*mine.T, s=42, marker=f'${digit}$', color=f'C{digit % 5}', linewidths=0.3)
ax.set(xlabel='first principal component', ylabel='second principal component', aspect='equal');

# %% [markdown] tags=["caption"]
# The first 600 digits, drawn at their first two principal components. PCA does not know the labels, but 0, 4 and 6 have
# places of their own, and 3 nearly so. The digits 5 and 8 mix with others in the middle.

# %% [markdown]
# ```{exercise} ★ Pencil: two standardized features
# :label: pca-pencil
# Two features have mean 0, variance 1 and covariance $\rho$, with $0 < \rho < 1$. What are the principal directions and
# the variances along them? What share of the variance does the first one carry if $\rho = \tfrac{9}{10}$? What changes if
# the first feature is written in another unit, so that all its numbers are ten times as large? Write your formula for the
# share as `first_share(rho)`, so that it is also right for $\rho \le 0$.
# ```

# %%
def first_share(rho):
    """The share of the variance along the first direction: a float.

    rho is the covariance of the two features of variance 1, a float from
    -1 to 1, both included. first_share(0.0) is 0.5.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_eigenvalues(rho):
    lam = np.linalg.eigvalsh([[1, rho], [rho, 1]])
    return lam[-1] / lam.sum()

cases = dict(rho=on(0.0, 1.0, -1.0) | scalars(-1, 1))
grade(first_share, by_eigenvalues, **cases)

# %% [markdown]
# ```{solution-start} pca-pencil
# :class: dropdown
# ```
# The covariance matrix $\begin{pmatrix} 1 & \rho \\ \rho & 1 \end{pmatrix}$ has the eigenvectors $(1, 1)/\sqrt2$ and $(1,
# -1)/\sqrt2$ with the eigenvalues $1 + \rho$ and $1 - \rho$. For $\rho = \tfrac{9}{10}$ the first direction carries $19/20 =
# 95\,\%$. In the other unit the first variance is a hundred times the second. Then the first direction is within six degrees
# of $(1, 0)$ for every $\rho$. PCA depends on the units. Features with different units are therefore usually divided by
# their standard deviation first. For $\rho < 0$ the two directions change places. A wrong answer overlooks this; others give
# the variance in place of its share, or divide the two variances by each other.

# %% jupyter={"source_hidden": true}
def first_share_solution(rho):
    return (1 + abs(rho)) / 2

def for_positive_rho(rho):
    return (1 + rho) / 2

def variance_itself(rho):
    return 1 + abs(rho)

def quotient_of_variances(rho):
    return (1 + abs(rho)) / (1 - abs(rho))

assert grade(first_share_solution, by_eigenvalues, **cases)
assert not grade(for_positive_rho, by_eigenvalues, **cases)
assert not grade(variance_itself, by_eigenvalues, **cases)
assert not grade(quotient_of_variances, by_eigenvalues, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: how many directions tell the digits apart?
# :label: pca-neighbours
# We learn principal directions from 1200 digits. Each of the others gets the label of its nearest neighbour among the 1200,
# where distances are measured with the first $k$ principal components only. Predict: which is the smallest $k$ in the list
# 2, 5, 10, 20, 64 for which at least 95 % of the labels are right? Then measure, and compare with $k$ random directions.
# ```

# %%
def predicted_k():
    """The smallest k with at least 95 % of the labels right: an int.

    One of 2, 5, 10, 20, 64.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
order = np.random.default_rng(0).permutation(len(X))
train, test = order[:1200], order[1200:]

def share_right(directions):  # (64, k)
    nearest = cdist(X[test] @ directions, X[train] @ directions).argmin(1)
    return (y[train][nearest] == y[test]).mean()

def measured_k():
    directions = pca(X[train], 64)[1]
    return next(k for k in (2, 5, 10, 20, 64) if share_right(directions[:, :k]) >= 0.95)

grade(predicted_k, measured_k, [()])

# %% [markdown]
# ```{solution-start} pca-neighbours
# :class: dropdown
# ```
# Ten of 64 directions are enough. Random directions need about twice as many. On average, $k$ of them hold only the share
# $k/64$ of the variance. With 20 principal components as many labels are right as with all 64, and a distance costs less
# than a third.

# %% jupyter={"source_hidden": true}
assert grade(lambda: 10, measured_k, [()])
for wrong in 2, 5, 20, 64, [10]:
    assert not grade(lambda: wrong, measured_k, [()])
directions = pca(X[train], 64)[1]
for k in (2, 5, 10, 20, 64):
    found = [
        share_right(
            np.linalg.qr(np.random.default_rng(seed).normal(size=(64, 64)))[0][
                :, :k
            ]
        )
        for seed in range(5)
    ]
    print(
        f'k = {k:2}: principal {share_right(directions[:, :k]):.1%}, '
        f'random {min(found):.1%} to {max(found):.1%}'
    )

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def uncentred_pca(x, k):
    _, sigma, vt = np.linalg.svd(x)
    return 0, vt[:k].T, sigma**2 / len(x)

def as_sklearn(seed, method):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(30, 5)) @ rng.normal(size=(5, 5)) + 3
    (_, P, lam), library = method(x, 3), PCA(3, svd_solver='full').fit(x)
    return (close(abs(P.T @ library.components_.T), np.eye(3))
            and close(lam[:3], library.explained_variance_ * 29 / 30))

verify('principal directions and variances are those of scikit-learn', lambda seed: as_sklearn(seed, pca),
       slip=('forgets to subtract the mean', lambda seed: as_sklearn(seed, uncentred_pca)), seed=seeds(), tries=30)

def varies_most(seed, directions):  # no unit vector has more variance, and components are uncorrelated
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(40, 4)) @ rng.normal(size=(4, 4))
    V = directions(x)
    w = rng.normal(size=(200, 4))
    w /= norm(w, axis=1, keepdims=True)
    spread = np.cov((x @ V).T, bias=True)
    return bool((np.var(x @ w.T, axis=0) <= spread[0, 0] + 1e-9).all()) and close(spread, np.diag(np.diag(spread)))

verify('along the first direction the variance is largest, and components are uncorrelated',
       lambda seed: varies_most(seed, lambda x: pca(x, 4)[1]),
       slip=('turns the directions by some angle',
             lambda seed: varies_most(seed, lambda x: pca(x, 4)[1] @ np.linalg.qr(np.ones((4, 4)) + np.eye(4))[0])),
       seed=seeds(), tries=60)

def plane_through(seed, point):  # the best line with a given direction goes through the mean
    rng = np.random.default_rng(seed)
    x, v = rng.normal(size=(20, 3)) + 2, rng.normal(size=3)
    v /= norm(v)

    def misfit(p):
        rest = x - p
        return norm(rest - np.outer(rest @ v, v))

    others = [point(x) + shift for shift in rng.normal(size=(30, 3))]
    return misfit(point(x)) <= min(map(misfit, others))

verify('of all lines with one direction, that through the mean is nearest to the points',
       lambda seed: plane_through(seed, lambda x: x.mean(0)),
       slip=('takes the line through the origin', lambda seed: plane_through(seed, lambda x: 0 * x[0])),
       seed=seeds(), tries=60)

def first_axis(rho, unit):  # of two features with variance one, the first written in another unit
    return abs(np.linalg.eigh([[unit**2, unit * rho], [unit * rho, 1]])[1][0, 1])

verify('a unit ten times as small turns the first direction to within six degrees of the first axis',
       lambda rho: first_axis(rho, 10) > np.cos(np.radians(6)),
       slip=('keeps the unit', lambda rho: first_axis(rho, 1) > np.cos(np.radians(6))), rho=[0.01, 0.5, 0.9, 0.999])

# %% [markdown]
# ## Where it matters: how many components? Removing noise from digits
#
# If the directions with little variance contain mostly noise, it is better to drop them. Suppose that we see $\mathbf{y} =
# \mathbf{x} + \boldsymbol\varepsilon$, where the noise $\boldsymbol\varepsilon$ is independent and has the variance $s^2$ in
# each coordinate. We project $\mathbf{y}$ on the first $k$ principal directions of the clean data $\mathbf{x}$, and call the
# result $\hat{\mathbf{x}}_k$. This lacks the part of $\mathbf{x}$ in the other directions, and it keeps the noise in the
# first $k$. So the expected error is
#
# ```{math}
# :label: svd-denoise
# \mathbb{E}\,\|\hat{\mathbf{x}}_k - \mathbf{x}\|^2 = \sum_{i > k} \lambda_i + k\, s^2 .
# ```
#
# Keeping direction $i$ makes the error smaller if $\lambda_i > s^2$. We do not know the clean data. But the noisy data have
# nearly the same directions, with the variances $\lambda_i + s^2$. So the rule is: keep the directions in which the noisy
# data have a variance above $2s^2$.

# %%
def denoise(Y, k):
    mu, P, _ = pca(Y, k)
    return mu + (Y - mu) @ P @ P.T

def squared_error(picture):                    # mean over the digits
    return ((picture - X) ** 2).sum(1).mean()

# %% [markdown]
# We add noise with $s = 0.25$ to the digits, whose pixels go from 0 to 1, and repeat this ten times. Three errors serve as
# reference lines:
#
# - Doing nothing has the error $D s^2$.
# - Replacing each digit by the mean digit has the error $\sum_i \lambda_i$.
# - The best linear method knows the clean directions, and multiplies coordinate $i$ by $\lambda_i/(\lambda_i + s^2)$. It has
#   the error $\sum_i \lambda_i s^2/(\lambda_i + s^2)$.

# %%
s, (N, D) = 0.25, X.shape
ks = [0, 1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 24, 32, 40, 48, 64]
measured, by_rule, chosen = [], [], []
for seed in range(10):
    noisy = X + s * np.random.default_rng(seed).normal(size=X.shape)
    measured.append([squared_error(denoise(noisy, k)) for k in ks])
    chosen.append((pca(noisy, 0)[2] > 2 * s**2).sum())
    by_rule.append(squared_error(denoise(noisy, chosen[-1])))
measured = np.array(measured)                  # (10, 17)

# %%
lam = pca(X, 0)[2]                             # of the clean digits
formula = [lam[k:].sum() + k * s**2 for k in range(D + 1)]
shrunk = (lam * s**2 / (lam + s**2)).sum()
print(f'noisy {D * s**2:.2f}   mean digit {lam.sum():.2f}',
      f'  best linear method {shrunk:.2f}')
print(f'by the rule, k from {min(chosen)} to {max(chosen)}:',
      f'error {min(by_rule):.2f} to {max(by_rule):.2f}')
mu, P, _ = pca(X, 16)                          # the clean directions
ideal = squared_error(mu + (noisy - mu) @ P @ P.T)
print(f'k = 16: measured {measured[-1, ks.index(16)]:.3f},',
      f'clean directions {ideal:.3f}, formula {formula[16]:.3f}')

# %% mystnb={"image": {"alt": "Left: the variances of the first 61 directions on a logarithmic scale, falling steeply and crossing the dashed line of the noise near 16. Right: error against the number of directions kept, measured and by the formula, with a minimum near 15, well below the lines for the noisy pictures and for the mean digit and above the line of the best linear method."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
left.semilogy(np.arange(1, 62), lam[:61], '.', ms=4)
left.axhline(s**2, color=GREY, ls='--', lw=1)
left.text(38, 1.35 * s**2, 'noise s²')
left.set(xlabel='direction i', title='variance λ of the clean digits', ylim=(1e-6, 2))
for row in measured:
    right.plot(ks, row, color='C0', lw=1)
right.plot(formula, '--', lw=1.2, color='C1')
levels = {'noisy': D * s**2, 'mean digit': lam.sum(), 'best linear method': shrunk}
for name, level in levels.items():
    right.axhline(level, color=GREY, ls=':', lw=1)
    right.text(23, level + 0.07, name, fontsize=8)
right.set(xlabel='directions kept k', title='squared error of a digit', ylim=(0.9, 5.2))
right.text(34, 2.95, 'measured', color='C0', ha='right')
right.text(42, 2.2, 'formula', color='C1');

# %% [markdown] tags=["caption"]
# Left: the variances of the clean digits; about 16 are above that of the noise. Right: the error for $k$ directions. It is
# smallest near 15, at less than half the error of the noisy digits. Ten draws of the noise nearly agree.

# %% mystnb={"image": {"alt": "Three rows of eight digits: clean, under noise, and projected on 16 directions, with smooth strokes again."}} tags=["hide-input"]
kept = denoise(noisy, 16)
fig, axes = panels(8, 3, height=0.72)
for row, (name, pixels) in zip(axes, {'clean': X, 'noisy': noisy, 'k = 16': kept}.items(), strict=True):
    for ax, digit in zip(row, pixels, strict=False):
        show_image(ax, 1 - digit.reshape(8, 8), vmin=0, vmax=1)
    row[0].set_ylabel(name)

# %% [markdown] tags=["caption"]
# Clean digits, the same digits with noise, and their projections on 16 principal directions of the noisy data. The
# projections lose most of the noise and some detail.

# %% [markdown]
# The rule finds a good $k$ from the noisy digits and $s$ alone. The measured error lies above the formula. With the
# directions of the clean data it agrees up to chance. So the difference comes from the directions of the noisy data, which
# follow some of the noise.

# %% tags=["checks"]
clean = pca(X, D)[1]
noise = noisy - X

def brought_in(k, each):  # by the last noise, in k clean directions
    inside = ((noise @ clean[:, :k]) ** 2).sum(1).mean()
    return abs(inside - k * each) < 5 * s**2 * np.sqrt(2 * k / N)  # five standard errors of a mean of N chi-squares

verify('each direction kept brings in s²', lambda k: brought_in(k, s**2),
       slip=('brings in s', lambda k: brought_in(k, s)), k=[5, 15, 64])
verify('the error by the rule is within 2 % of the best of the list, in each draw',
       lambda draw, errors: errors[draw] < 1.02 * measured[draw].min(),
       slip=('keeps all directions',
             lambda draw, errors: measured[draw, -1] + 0 * errors[draw] < 1.02 * measured[draw].min()),
       draw=list(range(10)), errors=[by_rule])

def best_linear(i, factor):  # of one coordinate: E (a (x + e) - x)² = a² (λ + s²) - 2 a λ + λ
    def expected(a):
        return a**2 * (lam[i] + s**2) - 2 * a * lam[i] + lam[i]

    a = factor(lam[i])
    others = [expected(a + step) for step in (-0.01, 0.01)]
    return expected(a) < min(others) and close(expected(a), lam[i] * s**2 / (lam[i] + s**2))

verify('multiplying by λ / (λ + s²) is the best linear method', lambda i: best_linear(i, lambda v: v / (v + s**2)),
       slip=('keeps or drops', lambda i: best_linear(i, lambda v: float(v > s**2))), i=[0, 5, 15, 30])

# %% [markdown]
# ## Summary
#
# The first $k$ terms of the SVD are the best approximation of rank $k$, and the error is what the other singular values
# hold. For centred data the right singular vectors are the principal directions: the axes of the cloud, along which the data
# vary most. Keeping few of them compresses data, draws maps of them, and removes noise, as long as the directions that vary
# little do not matter.
#
# **Further reading.** {cite}`eckart1936approximation` and {cite}`mirsky1960symmetric` are the sources of the theorem.
# {cite}`trefethen1997numerical`, lecture 5, is a short way to it. {cite}`halko2011finding` is for readers with matrices too
# large for a full SVD. {cite}`murphy2022probabilistic` treats PCA as a probabilistic model, in the chapter on dimensionality
# reduction.
