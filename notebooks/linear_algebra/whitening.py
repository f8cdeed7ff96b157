# ---
# jupyter:
#   book:
#     functions:
#       standardize: standardize(normal(20, 3))
#       eigen: eigen(np.cov(normal(20, 3).T, dtype=normal(1).dtype))
#       whitening: whitening(normal(20, 3), np.linalg.qr(normal(3, 3))[0])
#       pca_white: pca_white(normal(20, 3))
#       zca_white: zca_white(normal(20, 3))
#       cholesky_white: cholesky_white(normal(20, 3))
#       regularized: regularized(normal(20, 3), 0.1)
#       shrinkage: shrinkage(normal(20, 3))
#       vote: vote(normal(20, 3), np.arange(20) % 3, normal(5, 3))
#     main: la.whiten.standardize
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Standardizing and whitening data
#
# A vote of the nearest neighbours names the grower of a wine from 13 chemical measurements. On the raw measurements it is
# right for 69.4 % of the wines. If we put all measurements on one scale first, it is right for 95.1 %. If we remove their
# correlations as well, it falls back to 89.8 %. When are the columns of a data set comparable, when are they free of each
# other, and what does it cost to make them so?
#
# - **You need** the spectral theorem from [Eigenvalue decomposition](../linear_algebra/eigendecomposition.ipynb), the
#   [Singular value decomposition](../linear_algebra/singular_value_decomposition.ipynb), and Cholesky's triangles from
#   [LU decomposition](../linear_algebra/lu_decomposition.ipynb).
# - **You build** standardization, three whitenings, the proof that all others are rotated versions of them, and a remedy for
#   too few samples.
# - **Runs in** 8 seconds.

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
from scipy.stats import ortho_group, zscore
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from nbutils.cases import integers, matrices, on, scalars, seeds, square_matrices
from nbutils.checks import close, grade, holds
from nbutils.data import diabetes, digits, photograph
from nbutils.figures import GREY, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## Standardizing: Z-scores put features on one scale
#
# The rows of $\mathbf{X}$ ($N \times D$) are samples, the columns features. Here are three features of 442 patients with
# diabetes, each in its unit, and the share that each has in the squared distance of two patients, on average:

# %%
patients = diabetes()
names = ['age', 'bmi', 's1']  # years, kg/m², total cholesterol in mg/dl
x = patients.x[:, [patients.names.index(name) for name in names]]
for name, column in zip(names, x.T):
    print(f'{name:4} mean {column.mean():6.1f}  standard deviation '
          f'{column.std():5.1f}  share {column.var() / x.var(0).sum():6.2%}')

# %% [markdown]
# The distance of two rows compares mostly cholesterol, because its numbers vary most. Another unit would change which
# patients are alike. So we want a new scale for each feature that does not depend on the unit, $x \mapsto a x + b$. We ask
# for mean 0 and variance 1: the first gives $b = -a\hat\mu$, the second $a^2\hat\sigma^2 = 1$. Up to the sign there is no
# choice:
# ```{math}
# :label: la.whiten.standardize
# \mathrm{standardize}(\mathbf{X})_{nd} = \frac{x_{nd} - \hat\mu_d}{\hat\sigma_d} ,
# ```
#
# with the mean $\hat\mu_d = \frac1N \sum_n x_{nd}$ and the variance $\hat\sigma_d^2 = \frac1N \sum_n (x_{nd} - \hat\mu_d)^2$
# of column $d$. This **Z-score** says how many standard deviations a value lies from the mean.

# %%
def standardize(x, eps=0.0):  # (N, D) -> (N, D)
    return (x - x.mean(0)) / np.sqrt(x.var(0) + eps)

print('first patient          ', x[0])
print('its Z-scores           ', standardize(x)[0].round(3))
print('by StandardScaler      ',
      StandardScaler().fit_transform(x)[0].round(3))
print('in months, g/m², mmol/l',
      standardize(x * [12, 1000, 0.0259])[0].round(3))

# %% [markdown]
# Standardizing gives each feature mean zero and variance one. A new unit $x' = \alpha x + \beta$ with
# $\alpha > 0$ changes $x - \hat\mu$ and $\hat\sigma$ by the same factor $\alpha$, so the score stays. With $N - 1$ in the
# variance all scores shrink by $\sqrt{(N-1)/N}$. You may use either, but not one here and the other there.
#
# A column that is constant has $\hat\sigma = 0$, and its score is $0/0$. Hence libraries add a small $\epsilon$,
# ```{math}
# :label: la.whiten.standardize-eps
# \frac{x_{nd} - \hat\mu_d}{\hat\sigma_d} \simeq \frac{x_{nd} - \hat\mu_d}{\sqrt{\hat\sigma_d^2 + \epsilon}} ,
# ```
#
# as batch normalization does. How far is that from the Z-score? The ratio of the two is
# $(1 + \epsilon/\hat\sigma^2)^{-1/2}$. With $u = \epsilon/\hat\sigma^2$ it lies between $1 - \tfrac12 u$ and
# $1 - \tfrac12 u + \tfrac38 u^2$, so the relative gap is nearly $\epsilon / 2\hat\sigma^2$: the sign $\simeq$ means
# $\epsilon \ll \hat\sigma^2$.
#
# (la.whiten.no-covariation)=
# Standardizing treats each feature alone. The correlation of two features is the mean product of their scores, so the
# correlations of the standardized data are those of the raw data, and how the features move together stays as it was.
#
# (la.whiten.standardize-purpose)=
# Features of comparable magnitude help with fitting. We can see this exactly for gradient descent on
# least squares, $\frac1{2N}\|\mathbf{X}\mathbf{w} - \mathbf{y}\|^2$, whose Hessian is $\frac1N\mathbf{X}^\top\mathbf{X}$.
# With the step size $1/\lambda_1$, one over the largest eigenvalue, the error along the $i$-th eigenvector shrinks by
# $1 - \lambda_i/\lambda_1$ per step, so the number of steps grows like the condition number
# $\kappa = \lambda_1/\lambda_D$ ([Gradient descent](../optimization/gradient_descent.ipynb)). Two independent features
# on the scales 1 and 1000 have $\kappa \approx 10^6$, after standardizing $\kappa \approx 1$.

# %%
def steps_needed(x, y, most=3000):  # to a thousandth of the distance
    H, target = x.T @ x / len(x), np.linalg.lstsq(x, y)[0]
    w, eta = 0 * target, 1 / np.linalg.norm(H, 2)
    step, near = 0, 1e-3 * np.linalg.norm(target)
    while step < most and np.linalg.norm(w - target) > near:
        w, step = w - eta * H @ (w - target), step + 1
    return step

# %%
rng = np.random.default_rng(0)
x = rng.normal(3, 1, (50, 2)) * [1, 1000]
y = x @ [1, 0.001] + rng.normal(size=50)
for name, z in {'centred': x - x.mean(0), 'standardized': standardize(x),
                'divided by one x.std()': (x - x.mean(0)) / x.std()}.items():
    steps = steps_needed(z, y)
    print(f'{name:23} condition number {np.linalg.cond(z.T @ z):9.4g}, '
          f'steps {"more than 2999" if steps == 3000 else steps}')

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# The last line forgets `axis=0`: one number divides all features. The data look small, but the features are as
# different as before, and the condition number stays.
# :::
#
# ```{exercise} ★ Program: statistics of the training set
# :label: whitening-train
# What is learnt from data must be learnt from the *training* data, and that includes $\hat{\boldsymbol\mu}$ and
# $\hat{\boldsymbol\sigma}$. Write `like_train(train, test)`: the test data on the scale of the training data. A column that
# is constant in `train` is only centred.
# ```

# %%
def like_train(train, test):
    """The test data on the scale of the training data: float array (M, D).

    train: float array (N, D), N >= 1. test: float array (M, D), M >= 1.
    like_train(np.array([[1.0], [3.0]]), np.array([[5.0]])) is [[3.0]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_scaler(train, test):
    return StandardScaler().fit(train).transform(test)

cases = dict(
    train=matrices((1, 8), (1, 3), edges=True) | on(3, 7, 8).flatmap(
        lambda n: scalars().map(lambda v: np.full((n, 2), v))),
    test=lambda train: matrices((1, 3), train.shape[1]),
)
grade(like_train, by_scaler, **cases)

# %% [markdown]
# ```{solution-start} whitening-train
# :class: dropdown
# ```
# Ask whether the largest and the smallest value of a column are equal, not whether $\hat\sigma > 0$. In floats the mean of
# three equal numbers need not be that number. Then $\hat\sigma$ is tiny, but not zero, and the second wrong answer divides
# by it. The first standardizes the test set by itself. With it, the prediction for one patient would depend on who else is in
# the test. The third protects itself with $\max(\hat\sigma, 1)$, which leaves every column alone whose deviation is below 1,
# and the fourth forgets `axis=0`.

# %% jupyter={"source_hidden": true}
def like_train_solution(train, test):
    same = train.max(0) == train.min(0)
    return (test - train.mean(0)) / np.where(same, 1, train.std(0))

def by_itself(train, test):
    return like_train_solution(test, test)

def trusts_zero(train, test):
    sigma = train.std(0)
    return (test - train.mean(0)) / np.where(sigma > 0, sigma, 1)

def at_least_one(train, test):
    return (test - train.mean(0)) / np.maximum(train.std(0), 1)

def one_deviation(train, test):
    sigma = train.std() if np.ptp(train) else 1
    return (test - train.mean(0)) / sigma

assert grade(like_train_solution, by_scaler, **cases)
assert not grade(by_itself, by_scaler, **cases)
assert not grade(trusts_zero, by_scaler, **cases)
assert not grade(at_least_one, by_scaler, **cases)
assert not grade(one_deviation, by_scaler, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def table(seed, n=30, d=4):  # features of very different size
    rng = np.random.default_rng(seed)
    unit = 10 ** rng.uniform(-2, 3, d)
    return (rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 5) * unit

holds('la.whiten.standardize',
      lambda seed: close(standardize(table(seed)), zscore(table(seed))),
      slip=('divides by N − 1 in the variance',
            lambda seed: close(zscore(table(seed), ddof=1),
                               zscore(table(seed)))),
      seed=seeds(), tries=50)

def small_gap(seed, power, careless=False):
    x = table(seed)
    eps, sigma = 10.0**power * x.var(0).min(), x.std(0)
    softened = standardize(x, eps)
    if careless:
        softened = (x - x.mean(0)) / (sigma + eps)
    u, gap = eps / sigma**2, 1 - softened / standardize(x)  # gap (N, D)
    return bool(((gap <= u / 2 + 1e-14)
                 & (gap >= u / 2 - 3 / 8 * u**2 - 1e-14)).all())

holds('la.whiten.standardize-eps', small_gap,
      slip=('adds ε to the standard deviation, not to the variance',
            lambda seed, power: small_gap(seed, power, careless=True)),
      seed=seeds(), power=[-1, -2, -3, -5], tries=50)

def correlations(x):
    return np.corrcoef(x.T)

def zero_and_one(x):
    return (close(x.mean(0), np.zeros(x.shape[1]), atol=1e-10)
            and close(x.var(0), np.ones(x.shape[1])))

holds('la.whiten.zscore-moments',
      lambda seed: zero_and_one(standardize(table(seed))),
      slip=('divides by the variance, not by its root',
            lambda seed: zero_and_one(
            (table(seed) - table(seed).mean(0)) / table(seed).var(0))),
      seed=seeds(), tries=50)

holds('la.whiten.no-covariation',
      lambda seed: close(correlations(standardize(table(seed))),
                         correlations(table(seed))),
      slip=('compares the covariances, which do change',
            lambda seed: close(np.cov(standardize(table(seed)).T),
                               np.cov(table(seed).T))),
      seed=seeds(), tries=50)

# %% tags=["checks"]
def by_one_number(x):  # axis=0 is missing
    return (x - x.mean(0)) / x.std()

def helps(seed, change):
    rng = np.random.default_rng(seed)
    x = rng.normal(3, 1, (50, 2)) * [1, 1000]
    y = x @ [1, 0.001] + rng.normal(size=50)
    raw = steps_needed(x - x.mean(0), y)
    return 10 * steps_needed(change(x), y) < raw

holds('la.whiten.standardize-purpose', lambda seed: helps(seed, standardize),
      slip=('divides all features by one number (forgets axis=0)',
            lambda seed: helps(seed, by_one_number)),
      seed=seeds(), tries=8)

# %% [markdown]
# ## Whitening: a covariance matrix that is the identity
#
# Here are two features of the patients, total cholesterol and LDL cholesterol, first standardized. Then we mix them by a
# matrix $\mathbf{W}$ that is explained below:

# %%
patients = diabetes()
pair = patients.x[:, [patients.names.index(k) for k in ('s1', 's2')]]
pair = (pair - pair.mean(0)) / pair.std(0)  # (442, 2)
sigma = pair.T @ pair / len(pair)
lam, v = np.linalg.eigh(sigma)
W = v / np.sqrt(lam) @ v.T
print('covariance before\n', sigma.round(3))
print('W\n', W.round(3))
print('covariance after\n', abs(np.cov((pair @ W).T, bias=True)).round(3))

# %% [markdown]
# To treat features together, we must mix them: a linear map on the feature dimension, $\mathbf{Z} = \mathbf{X}\mathbf{W}$,
# where row $n$ becomes $\mathbf{z}_n = \mathbf{W}^\top\mathbf{x}_n$. From now on $\mathbf{X}$ is centred. Its covariance
# matrix is
# ```{math}
# :label: la.whiten.sigma
# \boldsymbol\Sigma = \frac1N \mathbf{X}^\top\mathbf{X} ,
# ```
#
# and the data are called **white** if theirs is the identity: every feature has variance one and no two are correlated.
# (White light contains all colours with equal strength. White data vary equally in *all* directions, because along a unit vector
# $\mathbf{a}$ the variance is $\mathbf{a}^\top\mathbf{I}\,\mathbf{a} = 1$.) So we look for $\mathbf{W}$ with
# ```{math}
# :label: la.whiten.condition-1
# \mathbf{I} = \frac1N \mathbf{W}^\top\mathbf{X}^\top\mathbf{X}\mathbf{W} .
# ```
#
# The data enter only through their covariance,
# ```{math}
# :label: la.whiten.condition-2
# \frac1N \mathbf{W}^\top\mathbf{X}^\top\mathbf{X}\mathbf{W} = \mathbf{W}^\top\boldsymbol\Sigma\mathbf{W} .
# ```
#
# Which matrices may be used? If nothing is to be lost, the rows $\mathbf{x}_n$ must be recoverable from $\mathbf{z}_n$,
# which takes at least $D$ columns. More than $D$ cannot be white, because $\mathbf{W}^\top\boldsymbol\Sigma\mathbf{W}$ has
# at most rank $D$. So $\mathbf{W}$ is square, and it has to be invertible:
# ```{math}
# :label: la.whiten.square-W
# \mathbf{W} \in \mathbb{R}^{D \times D}, \quad \det\mathbf{W} \ne 0 .
# ```
#
# A negative determinant means that $\mathbf{W}$ contains a mirror image. That loses nothing, either. Now we solve
# $\mathbf{W}^\top\boldsymbol\Sigma\mathbf{W} = \mathbf{I}$ for $\boldsymbol\Sigma$. Multiply by the inverses of the outer
# factors, and use that inverse and transpose can be exchanged:
# ```{math}
# :label: la.whiten.sigma-from-W
# \boldsymbol\Sigma = (\mathbf{W}^\top)^{-1}\mathbf{W}^{-1}
# ```
#
# ```{math}
# :label: la.whiten.sigma-from-W-2
# (\mathbf{W}^\top)^{-1}\mathbf{W}^{-1} = (\mathbf{W}^{-1})^\top\mathbf{W}^{-1}
# ```
#
# So whitening means *factoring the covariance* as $\mathbf{F}^\top\mathbf{F}$ with $\mathbf{F} = \mathbf{W}^{-1}$. One way
# is always open: since $\boldsymbol\Sigma$ is real and symmetric, it has an orthonormal basis of eigenvectors,
# ```{math}
# :label: la.whiten.diagonalizable
# \boldsymbol\Sigma = \mathbf{V}\boldsymbol\Lambda\mathbf{V}^\top , \qquad \mathbf{V}^\top\mathbf{V} = \mathbf{I} ,
# ```
#
# with $\lambda_i = \mathbf{v}_i^\top\boldsymbol\Sigma\mathbf{v}_i = \frac1N\|\mathbf{X}\mathbf{v}_i\|^2 \ge 0$. So
# $\sqrt{\boldsymbol\Lambda}\,\mathbf{V}^\top$ is such a factor, and from one factor come all others:
#
# ````{prf:theorem} All whitenings
# :label: thm-all-whitenings
# Some square $\mathbf{W}$ whitens the data if and only if $\boldsymbol\Sigma$ is nonsingular. Then the whitening matrices
# are exactly
#
# ```{math}
# :label: la.whiten.W
# \mathbf{W} = \mathbf{V}\sqrt{\boldsymbol\Lambda^{-1}}\,\mathbf{R}^\top , \qquad \mathbf{R}^\top\mathbf{R} = \mathbf{I},
# ```
#
# in other words
#
# ```{math}
# :label: la.whiten.W-inverse
# \mathbf{W}^{-1} = \mathbf{R}\sqrt{\boldsymbol\Lambda}\,\mathbf{V}^\top .
# ```
# ````
#
# ```{prf:proof}
# :class: dropdown
# If $\mathbf{W}^\top\boldsymbol\Sigma\mathbf{W} = \mathbf{I}$, then $\mathbf{W}$ and $\boldsymbol\Sigma$ have rank $D$,
# since a product has no larger rank than its factors. Put $\mathbf{R} =
# \mathbf{W}^{-1}\mathbf{V}\sqrt{\boldsymbol\Lambda^{-1}}$. By {eq}`la.whiten.sigma-from-W-2`
#
# $$\mathbf{R}^\top\mathbf{R} = \sqrt{\boldsymbol\Lambda^{-1}}\,\mathbf{V}^\top (\mathbf{W}^{-1})^\top \mathbf{W}^{-1}\, \mathbf{V}\sqrt{\boldsymbol\Lambda^{-1}}
# = \sqrt{\boldsymbol\Lambda^{-1}}\,\mathbf{V}^\top\boldsymbol\Sigma\mathbf{V}\sqrt{\boldsymbol\Lambda^{-1}} = \mathbf{I} ,$$
#
# and solving for $\mathbf{W}^{-1}$ gives {eq}`la.whiten.W-inverse`. Conversely, if $\boldsymbol\Sigma$ is nonsingular, all
# $\lambda_i > 0$, and $\mathbf{W}$ of {eq}`la.whiten.W` gives $\mathbf{W}^\top\boldsymbol\Sigma\mathbf{W} =
# \mathbf{R}\sqrt{\boldsymbol\Lambda^{-1}}\,\boldsymbol\Lambda\sqrt{\boldsymbol\Lambda^{-1}}\,\mathbf{R}^\top =
# \mathbf{R}\mathbf{R}^\top = \mathbf{I}$.
# ```

# %%
def cov(z):
    return np.cov(z.T, bias=True)

def eigen(sigma):  # largest first, largest entry of each v_i positive
    lam, v = np.linalg.eigh(sigma)
    lam, v = lam[::-1], v[:, ::-1]
    top = abs(v).argmax(0)
    return lam, v * np.sign(v[top, range(len(lam))])

def whitening(x, r):  # W = V Lambda^(-1/2) R^T
    lam, v = eigen(x.T @ x / len(x))
    return v / np.sqrt(lam) @ r.T

# %% [markdown]
# Here $\mathbf{R}$ is any orthogonal matrix. The determinant
# ```{math}
# :label: la.whiten.R-arbitrary
# \det\mathbf{W} = \det\mathbf{V}\, \det\mathbf{R}\, \prod_{i} \lambda_i^{-1/2}
# ```
#
# is positive only if $\det\mathbf{R} = \det\mathbf{V}$, which is true of one half of all orthogonal matrices. So if you also
# ask for $\det\mathbf{W} > 0$, $\mathbf{R}$ is no longer arbitrary. The theorem says that whatever whitens, here a Cholesky
# factor that knows nothing of eigenvectors, contains an orthogonal $\mathbf{R}$:

# %%
def cloud(seed, n=40, d=4):  # centred, condition number about 10
    rng = np.random.default_rng(seed)
    u, v = ortho_group.rvs(d, size=2, random_state=rng)
    x = rng.normal(size=(n, d)) @ (u * np.geomspace(3, 0.3, d) @ v)
    return x - x.mean(0)

def is_white(z):
    return close(cov(z), np.eye(z.shape[1]))

# %%
inv = np.linalg.inv
x = cloud(1)
lam, v = eigen(cov(x))
W = inv(np.linalg.cholesky(cov(x))).T
R = inv(W) @ v / np.sqrt(lam)
print('white:', is_white(x @ W), ' R orthogonal:', close(R.T @ R, np.eye(4)))

# %% [markdown]
# ### What whitening does, and what it cannot do
#
# (la.whiten.whiten-purpose)=
# Whitening removes the correlation between the features, all of it, where standardizing removes none.
#
# (la.whiten.nonsingular)=
# But whitening needs a nonsingular $\boldsymbol\Sigma$, and that is a demand on the number of samples: $N$ centred rows add
# up to zero, so they span at most $N - 1$ dimensions, and $\boldsymbol\Sigma$ can only be nonsingular if $N \ge D + 1$.
#
# And uncorrelated is not independent. If $x$ is standard normal, $y = (x^2 - 1)/\sqrt2$ has mean 0, variance 1, and
# covariance $\mathbb{E}[x^3 - x]/\sqrt2 = 0$ with $x$. The pair is white, and yet $y$ is a function of $x$. Whitening looks
# at second moments only.

# %%
x = np.random.default_rng(0).normal(size=100_000)
y = (x**2 - 1) / np.sqrt(2)
error = np.sqrt(5 / x.size)  # of the correlation, as Var(x y) = 5
print(f'correlation of x and y    {np.corrcoef(x, y)[0, 1]:.4f},'
      f' standard error {error:.4f}')
print(f'correlation of x² and y   {np.corrcoef(x**2, y)[0, 1]:.4f}')

# %% tags=["checks"]
assert abs(np.corrcoef(x, y)[0, 1]) < 5 * error

# %% tags=["checks"]
def turned(seed, d=4):  # a random orthogonal matrix, of either sign
    return ortho_group.rvs(d, random_state=np.random.default_rng(seed))
holds('la.whiten.sigma',
      lambda s: close(cloud(s).T @ cloud(s) / 40, cov(cloud(s))),
      slip=('does not centre the data',
            lambda s: close((5 + cloud(s)).T @ (5 + cloud(s)) / 40,
                            cov(5 + cloud(s)))),
      s=seeds(), tries=50)

holds('la.whiten.condition-1',
      lambda s: is_white(cloud(s) @ whitening(cloud(s), turned(s))),
      slip=('transposes the whitening matrix',
            lambda s: is_white(cloud(s) @ whitening(cloud(s), turned(s)).T)),
      s=seeds(), tries=50)

def some_W(s):  # nothing to do with the data
    return np.random.default_rng(s).normal(size=(4, 4))

def through_sigma(s, outer):
    return close(cov(cloud(s) @ some_W(s)),
                 outer(some_W(s)) @ cov(cloud(s)) @ outer(some_W(s)).T)

holds('la.whiten.condition-2', lambda s: through_sigma(s, np.transpose),
      slip=('forgets to transpose the left factor',
            lambda s: through_sigma(s, lambda W: W)),
      s=seeds(), tries=50)

def lossless_iff(s, kind, allowed):  # X can be had back from X W
    x = cloud(s)
    W = whitening(x, turned(s))
    W[:, 0] *= np.sign(np.linalg.det(W))  # now det W > 0
    W[:, 0] *= {'plain': 1, 'mirrored': -1, 'flattened': 0}[kind]
    back = x @ W @ np.linalg.pinv(W)
    return close(back, x) == bool(allowed(np.linalg.det(W)))

holds('la.whiten.square-W',
      lambda s, kind: lossless_iff(s, kind, lambda det: abs(det) > 1e-9),
      slip=('forbids mirror images, which lose nothing',
            lambda s, kind: lossless_iff(s, kind, lambda det: det > 1e-9)),
      s=seeds(), kind=['plain', 'mirrored', 'flattened'], tries=50)

# %% tags=["checks"]
def gives_sigma(s, product):
    return close(product(whitening(cloud(s), turned(s))), cov(cloud(s)))

holds('la.whiten.sigma-from-W',
      lambda s: gives_sigma(s, lambda W: inv(W.T) @ inv(W)),
      slip=('exchanges the two inverses',
            lambda s: gives_sigma(s, lambda W: inv(W) @ inv(W.T))),
      s=seeds(), tries=50)

def same_product(s, last):
    W = whitening(cloud(s), turned(s))
    return close(inv(W.T) @ inv(W), last(W))

holds('la.whiten.sigma-from-W-2',
      lambda s: same_product(s, lambda W: inv(W).T @ inv(W)),
      slip=('forgets a transpose',
            lambda s: same_product(s, lambda W: inv(W) @ inv(W))),
      s=seeds(), tries=50)

def by_eigenvectors(s, transposed=False):
    a = np.random.default_rng(s).integers(-1, 2, (4, 4))
    sigma = (a @ a.T).astype(float)  # a few with repeated eigenvalues
    lam, v = np.linalg.eigh(sigma)
    again = v.T * lam @ v if transposed else v * lam @ v.T
    return (close(again, sigma) and close(v.T @ v, np.eye(4))
            and lam.min() > -1e-12)

holds('la.whiten.diagonalizable', by_eigenvectors,
      slip=('puts the transposed eigenvectors on the left',
            lambda s: by_eigenvectors(s, transposed=True)),
      s=seeds(), tries=50)

def factor_works(s, factor):  # F^T F = Sigma
    lam, v = eigen(cov(cloud(s)))
    F = factor(turned(s), np.diag(np.sqrt(lam)), v)
    return close(F.T @ F, cov(cloud(s)))

holds('la.whiten.W-inverse',
      lambda s: factor_works(s, lambda R, root, v: R @ root @ v.T),
      slip=('rotates before it scales back',
            lambda s: factor_works(s, lambda R, root, v: root @ R @ v.T)),
      s=seeds(), tries=50)

# %% tags=["checks"]
def is_inverse(s, change):
    lam, v = eigen(cov(cloud(s)))
    R = turned(s)
    F = R @ np.diag(np.sqrt(lam)) @ v.T
    return close(v / np.sqrt(lam) @ change(R), inv(F))

holds('la.whiten.W', lambda s: is_inverse(s, lambda R: R.T),
      slip=('forgets to transpose the rotation',
            lambda s: is_inverse(s, lambda R: R)),
      s=seeds(), tries=50)

def determinants(s):
    x, R = cloud(s), turned(s)
    W, v = whitening(x, R), eigen(cov(x))[1]
    return is_white(x @ W), *map(np.linalg.det, (W, R, v))

def sign_rule(white, W, R, v):
    return white and (W > 0) == (R * v > 0)

holds('la.whiten.R-arbitrary', lambda s: bool(sign_rule(*determinants(s))),
      slip=('asks for a positive determinant of every W',
            lambda s: bool(determinants(s)[0] and determinants(s)[1] > 0)),
      s=seeds(), tries=50)
holds('la.whiten.whiten-purpose',
      lambda s: close(np.corrcoef((cloud(s) @ whitening(
          cloud(s), turned(s))).T), np.eye(4)),
      slip=('only standardizes',
            lambda s: close(np.corrcoef(
            (cloud(s) / cloud(s).std(0)).T), np.eye(4))),
      s=seeds(), tries=50)

def can_be_white(seed, n):  # n samples of 4 features
    x = cloud(seed, n)
    with np.errstate(all='ignore'):
        return is_white(x @ whitening(x, np.eye(4)))

holds('la.whiten.nonsingular', lambda s, n: can_be_white(s, n) == (n > 4),
      slip=('forgets that centring costs one dimension',
            lambda s, n: can_be_white(s, n) == (n >= 4)),
      s=seeds(), n=integers(2, 9), tries=100)

# %% [markdown]
# ## PCA whitening, ZCA whitening and Cholesky whitening
#
# This section continues [Whitening: a covariance matrix that is the
# identity](#whitening-a-covariance-matrix-that-is-the-identity). White data stay white when they are rotated, because
# $\mathbf{R}\mathbf{z}$ has the covariance $\mathbf{R}\mathbf{I}\mathbf{R}^\top = \mathbf{I}$. So whiteness alone cannot
# choose among the matrices {eq}`la.whiten.W`. Three choices are in use, each best at something else.
#
# **PCA whitening**, $\mathbf{R} = \mathbf{I}$: rotate to the principal axes and scale each to variance one.
# ```{math}
# :label: la.whiten.pca
# \mathbf{W} = \mathbf{V}\sqrt{\boldsymbol\Lambda^{-1}}
# ```
#
# Its features are ordered by the variance that they had, so you can drop the last.
#
# **ZCA whitening** ("zero-phase"), $\mathbf{R} = \mathbf{V}$: rotate to the principal axes, scale, *rotate back*.
# ```{math}
# :label: la.whiten.zca
# \mathbf{W} = \mathbf{V}\sqrt{\boldsymbol\Lambda^{-1}}\,\mathbf{V}^\top = \boldsymbol\Sigma^{-1/2}
# ```
#
# It is symmetric and positive definite, the one inverse root of $\boldsymbol\Sigma$ of this kind, so that the signs and the
# order of the eigenvectors do not matter. And it leaves the data as similar to themselves as possible:
#
# ```{prf:theorem} ZCA changes least
# :label: thm-zca
# Among all whitening matrices, $\frac1N \sum_n \|\mathbf{W}^\top\mathbf{x}_n - \mathbf{x}_n\|^2$ is least for
# $\boldsymbol\Sigma^{-1/2}$ and only there, where it is $\sum_i (1 - \sqrt{\lambda_i})^2$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# The sum is $\operatorname{tr}(\mathbf{W}^\top\boldsymbol\Sigma\mathbf{W}) -
# 2\operatorname{tr}(\boldsymbol\Sigma\mathbf{W}) + \operatorname{tr}\boldsymbol\Sigma = D -
# 2\operatorname{tr}(\boldsymbol\Sigma\mathbf{W}) + \sum_i \lambda_i$. By {eq}`la.whiten.W`, $\boldsymbol\Sigma\mathbf{W} =
# \mathbf{V}\sqrt{\boldsymbol\Lambda}\,\mathbf{R}^\top$, and its trace is
# $\operatorname{tr}(\sqrt{\boldsymbol\Lambda}\,\mathbf{R}^\top\mathbf{V}) = \sum_i \sqrt{\lambda_i}\, q_{ii}$ with the
# orthogonal $\mathbf{Q} = \mathbf{R}^\top\mathbf{V}$. No entry of an orthogonal matrix exceeds 1, so the trace is at most
# $\sum_i \sqrt{\lambda_i}$, with equality, since all $\lambda_i > 0$, only if all $q_{ii} = 1$, that is,
# $\mathbf{Q} = \mathbf{I}$ and $\mathbf{R} = \mathbf{V}$.
# ```
#
# **Cholesky whitening.** With $\boldsymbol\Sigma = \mathbf{L}\mathbf{L}^\top$, $\mathbf{L}$ lower triangular, take
# $\mathbf{W} = (\mathbf{L}^{-1})^\top$, upper triangular. New feature $k$ is made of the old features $1, \dots, k$ alone:
# it is what the first $k - 1$ do not already tell linearly about feature $k$. This is Gram–Schmidt on the columns of
# $\mathbf{X}$, and the order of the features matters.

# %%
def pca_white(x):  # centred (N, D) -> W (D, D)
    return whitening(x, np.eye(x.shape[1], dtype=x.dtype))

def zca_white(x):
    return whitening(x, eigen(x.T @ x / len(x))[1])

def cholesky_white(x):
    return np.linalg.inv(np.linalg.cholesky(x.T @ x / len(x))).T

# %% tags=["hide-input"]
x = cloud(2)
change = {W.__name__: ((x @ W(x) - x) ** 2).sum(1).mean()
          for W in (pca_white, zca_white, cholesky_white)}
others = [((x @ whitening(x, R) - x) ** 2).sum(1).mean()
          for R in ortho_group.rvs(4, size=1000, random_state=3)]
for name, by in change.items():
    print(f'{name:14} changes the data by {by:5.2f}')
print(f'of 1000 random R, the best by     {min(others):5.2f}')

# %% [markdown]
# On real data: total cholesterol and LDL cholesterol of the 442 patients. The cell prints how strongly each old feature is
# correlated with the new one in its place, and the pictures show the patients, coloured by their total cholesterol.

# %%
patients = diabetes()
pair = patients.x[:, [patients.names.index(k) for k in ('s1', 's2')]]
pair = pair - pair.mean(0)
scores = pair / pair.std(0)
views = {
    'centred (mg/dl)': pair, 'standardized': scores,
    'PCA white': pair @ pca_white(pair), 'ZCA white': pair @ zca_white(pair),
    'Cholesky white': pair @ cholesky_white(pair),
    'standardized, ZCA white': scores @ zca_white(scores),
}

# %%
print(f'correlation of the two {(scores[:, 0] * scores[:, 1]).mean():.2f}')
print('                        white  old and new: first  second')
for name, z in views.items():
    first, second = abs((scores * z).mean(0) / z.std(0))
    print(f'{name:24}{is_white(z)!s:18}{first:8.2f}{second:8.2f}')

# %% mystnb={"image": {"alt": "Six scatter plots of the same patients, coloured by total cholesterol. Centred and standardized: a narrow slanted cloud. After each whitening a round cloud; the colours run nearly from left to right for PCA, exactly so for Cholesky, and on a slope for ZCA."}} tags=["hide-input"]
fig, axes = panels(3, 2, height=2.1)
for ax, (name, z) in zip(axes.flat, views.items(), strict=True):
    ax.scatter(*z.T, c=pair[:, 0], s=6, rasterized=True, antialiased=False)
    limit = 1.05 * abs(z).max()
    ax.set(aspect='equal', xlim=(-limit, limit), ylim=(-limit, limit))
    ax.set_title(name, fontsize=9)

# %% [markdown] tags=["caption"]
# All three whitenings make the same slanted cloud round and differ by a rotation: Cholesky keeps the first feature, PCA
# nearly does, and ZCA is close to both.

# %% [markdown]
# With Cholesky the colours run exactly from left to right, and all the change falls on the second feature. PCA's first axis is what the two have in common, which is close to either of them; its second, their contrast,
# resembles neither. ZCA divides the change between both.
#
# Standardizing first and then applying ZCA does not depend on units and gives the greatest sum of these correlations, for
# any number of features {cite}`kessy2018optimal`. For all ten features of the patients:

# %%
scores = (patients.x - patients.x.mean(0)) / patients.x.std(0)  # (442, 10)
kinds = {'PCA': pca_white, 'ZCA': zca_white, 'Cholesky': cholesky_white}
cross = {'before': scores.T @ scores / len(scores)}
for name, W in kinds.items():
    cross[name] = scores.T @ (scores @ W(scores)) / len(scores)
    kept = np.trace(abs(cross[name])) / 10  # old row, new column
    print(f'{name:9} mean |correlation| of feature k old and new {kept:.3f}')

# %% mystnb={"image": {"alt": "Four heat maps of correlations, ten by ten. Before: blocks off the diagonal. PCA: a few strong columns, no diagonal. ZCA: a strong diagonal and little else. Cholesky: a lower triangle, strong at first and weaker down the diagonal."}} tags=["hide-input"]
fig, axes = panels(4, height=1.8)
for ax, (name, c) in zip(axes, cross.items(), strict=True):
    picture = show_image(ax, c, name, cmap='PuOr', vmin=-1, vmax=1)
    ax.set_xlabel('features' if name == 'before' else 'new features')
axes[0].set_ylabel('features')
fig.colorbar(picture, ax=axes, ticks=[-1, 0, 1], shrink=0.7);

# %% [markdown] tags=["caption"]
# Of ten whitened features, ZCA keeps most close to their old ones, PCA mixes them all, and Cholesky favours those that come
# first.

# %% [markdown]
# ### Whitening by SVD, polar and QR decomposition
#
# Every way to factor the *data* matrix into orthonormal columns and something invertible is a whitening. If
# $\mathbf{X} = \mathbf{Q}\mathbf{B}$ with $\mathbf{Q}^\top\mathbf{Q} = \mathbf{I}$, then $\sqrt{N}\,\mathbf{Q}$ is white:
#
# | factors of $\mathbf{X}$ | white data | whitening |
# |---|---|---|
# | singular values, $\mathbf{U}\,(\mathbf{S}\mathbf{V}^\top)$ | $\sqrt{N}\,\mathbf{U}$ | PCA |
# | polar, $(\mathbf{U}\mathbf{V}^\top)(\mathbf{V}\mathbf{S}\mathbf{V}^\top)$ | $\sqrt{N}\,\mathbf{U}\mathbf{V}^\top$ | ZCA |
# | QR, $\mathbf{Q}$ times a triangle | $\sqrt{N}\,\mathbf{Q}$ | Cholesky |
#
# These factors are more accurate. $\boldsymbol\Sigma$ has the *square* of the condition number of $\mathbf{X}$, so for
# nearly dependent features the covariance has lost what the data still contain. Here are two features that differ only
# by $10^{-9}$:

# %%
x = cloud(4)
twins = np.stack([x[:, 0], x[:, 0] + 1e-9 * x[:, 1]], 1)  # (40, 2)
with np.errstate(all='ignore'):
    by_covariance = twins @ pca_white(twins)
by_svd = np.sqrt(40) * np.linalg.svd(twins, full_matrices=False)[0]
print('white by the covariance:', is_white(by_covariance))
print('white by the SVD:       ', is_white(by_svd))

# %% [markdown]
# ### ZCA filters of image patches
#
# We cut a photograph into overlapping patches of $8 \times 8$ pixels,
# 64 strongly correlated features. The columns of $\mathbf{W}$ are filters, each laid over a patch to give one white
# feature. PCA's are waves over the whole patch, and a white patch is no picture any more. ZCA's are all alike: one pixel
# *minus the neighbours that predict it*. What is left is the edges {cite}`bell1997independent`.

# %%
grey = photograph('china').mean(2)
windows = np.lib.stride_tricks.sliding_window_view(grey, (8, 8))[::3, ::3]
patches = windows.reshape(-1, 64)  # (29540, 64)
patches = patches - patches.mean(0)
filters = {'PCA': pca_white(patches), 'ZCA': zca_white(patches)}
across = filters['ZCA'][:, 3 * 8 + 3].reshape(8, 8)  # pixel (3, 3)
print(f'of a ZCA filter, the part outside of 5 x 5 pixels: '
      f'{1 - (across[1:6, 1:6]**2).sum() / (across**2).sum():.1%}')

# %% mystnb={"image": {"alt": "Two rows of 8 by 8 filters. PCA: waves that fill the patch, from coarse to fine. ZCA: a single dark purple pixel with a pale orange ring on a plain ground, at six places."}} tags=["hide-input"]
fig, axes = panels(6, 2, height=1.05)
for k, ax in enumerate(axes[0]):
    f = filters['PCA'][:, [0, 1, 3, 6, 12, 24][k]].reshape(8, 8)
    show_image(ax, f, cmap='PuOr', vmin=-abs(f).max(), vmax=abs(f).max())
for k, ax in enumerate(axes[1]):
    f = filters['ZCA'][:, [9, 11, 27, 28, 36, 54][k]].reshape(8, 8)
    show_image(ax, f, cmap='PuOr', vmin=-abs(f).max(), vmax=abs(f).max())
for row, name in zip(axes, filters, strict=True):
    row[0].set_ylabel(name);

# %% [markdown] tags=["caption"]
# PCA's filters are patterns over the whole patch; each ZCA filter is one pixel (purple, positive) minus its neighbours
# (orange, negative).

# %% [markdown]
# ```{exercise} ★★ Pencil: the most faithful features
# :label: whitening-cor
# Show that, among all whitenings, the sum over $k$ of the correlation between old feature $k$ and new feature $k$ is
# greatest if one standardizes first and then applies ZCA. Write `faithful(x)`, these white data.
# ```

# %%
def faithful(x):
    """White data whose features correlate most with the old ones: (N, D).

    x: float array (N, D), not centred, N > D, with a nonsingular covariance.
    faithful(np.array([[1.0], [3.0]])) is [[-1.0], [1.0]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def qualities(x, z):  # second moments of the new features, sum of correlations
    if np.shape(z) != x.shape:
        raise ValueError(f'an array of shape {np.shape(z)}, expected {x.shape}')
    moments = np.concatenate([z.mean(0, keepdims=True), z.T @ z / len(z)])
    old = (x - x.mean(0)) / x.std(0)
    return moments, (old * z).mean(0).sum()

def best_qualities(x):
    old = (x - x.mean(0)) / x.std(0)
    moments = np.eye(x.shape[1] + 1, x.shape[1], -1)
    return moments, np.linalg.norm(old, 'nuc') / np.sqrt(len(x))

def regular(x):
    with np.errstate(all='ignore'):
        old = (x - x.mean(0)) / x.std(0)
    return np.ptp(x, 0).min() > 0.1 and np.linalg.cond(old) < 100

cases = dict(x=integers(1, 3).flatmap(lambda d: matrices(
    (d + 1, 7), d, edges=True)).filter(regular), tries=60)
def judged(answer):
    return lambda x: qualities(x, answer(x))

grade(judged(faithful), best_qualities, **cases)

# %% [markdown]
# ```{solution-start} whitening-cor
# :class: dropdown
# ```
# White features have variance one, so the correlation of old and new feature $k$ is $\frac1N\sum_n s_{nk} z_{nk}$ with the
# scores $s_{nk}$. Every whitening of $\mathbf{X}$ is one of the scores. The sum over $k$ is the trace that was made largest
# in the proof of {prf:ref}`thm-zca`, now with the correlation matrix in place of $\boldsymbol\Sigma$. The first wrong answer
# forgets to standardize; it agrees with the right one only if correlated features have equal variances. The second stops at
# the principal axes, the third does not centre, and the fourth divides by $N - 1$.

# %% jupyter={"source_hidden": true}
def faithful_solution(x):
    z = (x - x.mean(0)) / x.std(0)
    lam, v = np.linalg.eigh(z.T @ z / len(z))
    return z @ (v / np.sqrt(lam)) @ v.T

def plain_zca(x):
    lam, v = np.linalg.eigh(np.atleast_2d(np.cov(x.T, bias=True)))
    return (x - x.mean(0)) @ (v / np.sqrt(lam)) @ v.T

def principal_axes(x):
    z = (x - x.mean(0)) / x.std(0)
    return z @ pca_white(z)

def not_centred(x):
    return x / x.std(0) @ zca_white((x - x.mean(0)) / x.std(0))

def by_sample_variance(x):
    return faithful_solution(x) * np.sqrt(1 - 1 / len(x))

assert grade(judged(faithful_solution), best_qualities, **cases)
assert not grade(judged(plain_zca), best_qualities, **cases)
assert not grade(judged(principal_axes), best_qualities, **cases)
assert not grade(judged(not_centred), best_qualities, **cases)
assert not grade(judged(by_sample_variance), best_qualities, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
x = cloud(2)
lam = eigen(x.T @ x / len(x))[0]
assert close(change['zca_white'], ((1 - np.sqrt(lam)) ** 2).sum())
assert min(others) > change['zca_white']
x = cloud(4)
u, _, vt = np.linalg.svd(x, full_matrices=False)
q, triangle = np.linalg.qr(x)
q = q * np.sign(np.diag(triangle))  # Cholesky's diagonal is positive
assert close(np.sqrt(40) * u @ vt, x @ zca_white(x))
assert close(np.sqrt(40) * q, x @ cholesky_white(x))
hidden = x[:, 1] - (x[:, 1] @ x[:, 0]) / (x[:, 0] @ x[:, 0]) * x[:, 0]  # the difference of the twins
cosine = abs(by_svd[:, 1] @ hidden) / np.linalg.norm(hidden) / np.sqrt(40)
assert close(cosine, 1, atol=1e-5)
assert all(is_white(scores @ W(scores)) for W in kinds.values())
assert close(np.triu(cross['Cholesky'], 1), np.zeros((10, 10)))
ring = [across[3, 2], across[3, 4], across[2, 3], across[4, 3]]
assert across[3, 3] > 0 > max(ring)

# %% tags=["checks"]
def as_scores(s, W):  # the SVD knows nothing of the covariance
    x = cloud(s)
    u = np.linalg.svd(x, full_matrices=False)[0]
    return close(abs(x @ W(x)), abs(np.sqrt(len(x)) * u),
                 atol=1e-11, rtol=0)  # rounding, times the square of κ

def without_root(x):
    lam, v = eigen(x.T @ x / len(x))
    return v / lam

holds('la.whiten.pca', lambda s: as_scores(s, pca_white),
      slip=('divides by the eigenvalues, not by their roots',
            lambda s: as_scores(s, without_root)),
      s=seeds(), tries=50)

def inverse_root(x):
    return np.linalg.inv(scipy.linalg.sqrtm(x.T @ x / len(x)))

def other_side(x):
    lam, v = eigen(x.T @ x / len(x))
    return v.T / np.sqrt(lam) @ v

holds('la.whiten.zca',
      lambda s: close(zca_white(cloud(s)), inverse_root(cloud(s))),
      slip=('exchanges the eigenvectors and their transpose',
            lambda s: close(other_side(cloud(s)), inverse_root(cloud(s)))),
      s=seeds(), tries=50)

# %% [markdown]
# ## Whitening in practice: small eigenvalues, new data, neighbours
#
# This section continues [Whitening: a covariance matrix that is the
# identity](#whitening-a-covariance-matrix-that-is-the-identity). Some pixels of the handwritten digits are blank in every
# picture, so they have variance zero, and whitening divides by its root. The usual way out adds $\epsilon$ to the
# eigenvalues:
# ```{math}
# :label: la.whiten.eps
# \mathbf{W}_\epsilon = \mathbf{V}\sqrt{(\boldsymbol\Lambda + \epsilon\mathbf{I})^{-1}}\,\mathbf{R}^\top , \qquad
# \mathbf{W}_\epsilon^\top\boldsymbol\Sigma\mathbf{W}_\epsilon = \mathbf{R}\boldsymbol\Lambda\,(\boldsymbol\Lambda + \epsilon\mathbf{I})^{-1}\mathbf{R}^\top .
# ```

# %%
def regularized(x, eps):  # V (Lambda + eps)^(-1/2), centred x
    lam, v = eigen(x.T @ x / len(x))
    with np.errstate(all='ignore'):  # eps = 0 divides by zero
        return np.maximum(lam, 0), v, v / np.sqrt(np.maximum(lam, 0) + eps)

pixels = digits().x
pixels = pixels - pixels.mean(0)
print('blank pixels:', (pixels == 0).all(0).sum())
for eps in (0.01, 1.0):
    lam, _, W = regularized(pixels, eps)
    after = lam / (lam + eps)  # variances of the new features
    print(f'eps = {eps:4g}: largest entry of W {abs(W).max():5.2f}, '
          f'{(after > 0.9).sum()} of 64 variances above 0.9')

# %% [markdown]
# Nothing is magnified by more than $1/\sqrt{\epsilon}$. The price is that the covariance is no longer the
# identity. Directions with $\lambda_i \gg \epsilon$ come out with variance nearly one, those with $\lambda_i \ll \epsilon$
# are faded out.
#
# ### Few samples: new data are not white
#
# Whitening trusts the *small* eigenvalues most, because it divides by their roots, and a sample makes the smallest too small
# on average. If we whiten the training data with their own statistics, they are perfectly white. And new data from the same
# source? For Gaussian data the mean variance of new whitened data is
# ```{math}
# :label: whitening-new
# \frac1D\, \mathbb{E}\,\|\mathbf{W}^\top(\mathbf{x} - \hat{\boldsymbol\mu})\|^2 = \frac{N + 1}{N - D - 2} ,
# ```
#
# not 1: more than 5 for $D = 10$ and $N = 15$, and infinite at $N = D + 2$.
#
# ```{admonition} Where the formula comes from
# :class: dropdown
# $N\hat{\boldsymbol\Sigma}$ has a Wishart distribution with $N - 1$ degrees of freedom, whose inverse has the mean
# $\boldsymbol\Sigma^{-1}/(N - D - 2)$. Independently of it, a new sample differs from the estimated mean with the covariance
# $(1 + \tfrac1N)\boldsymbol\Sigma$.
# ```
#
# The remedy is *shrinkage*: we move all eigenvalues towards their mean $m = \operatorname{tr}\hat{\boldsymbol\Sigma}/D$ by a
# share $\rho$,
# ```{math}
# :label: whitening-shrink
# \hat{\boldsymbol\Sigma}_\rho = (1 - \rho)\,\hat{\boldsymbol\Sigma} + \rho\, m\,\mathbf{I} ,
# ```
#
# which, up to a factor, is adding $\epsilon = \rho m/(1 - \rho)$ to all eigenvalues. The best $\rho$ can be estimated from
# the data {cite}`ledoit2004well`.
#
# ```{admonition} How large should ρ be?
# :class: dropdown
# Take $m$ and the mean of the data as known. The error of $\hat{\boldsymbol\Sigma}$ has mean zero, so the cross term drops
# out of
#
# $$\mathbb{E}\,\|\hat{\boldsymbol\Sigma}_\rho - \boldsymbol\Sigma\|_F^2 = (1 - \rho)^2\, b^2 + \rho^2 a^2 ,$$
#
# where $b^2 = \mathbb{E}\,\|\hat{\boldsymbol\Sigma} - \boldsymbol\Sigma\|_F^2$ and
# $a^2 = \|\boldsymbol\Sigma - m\mathbf{I}\|_F^2$. The parabola is least at $\rho = b^2/(a^2 + b^2)$, and $a^2 + b^2 =
# \mathbb{E}\,\|\hat{\boldsymbol\Sigma} - m\mathbf{I}\|_F^2$ for the same reason. Both can be estimated: the latter by what
# it is the mean of, and $b^2$ since $\hat{\boldsymbol\Sigma}$ is a mean of $N$ matrices $\mathbf{x}_n\mathbf{x}_n^\top$,
# whose scatter is $\frac1N\sum_n\|\mathbf{x}_n\mathbf{x}_n^\top - \hat{\boldsymbol\Sigma}\|_F^2 =
# \frac1N\sum_n\|\mathbf{x}_n\|^4 - \|\hat{\boldsymbol\Sigma}\|_F^2$; the mean has an $N$-th part of it.
# ```

# %%
def shrinkage(x):  # rho, for centred x
    sigma = x.T @ x / len(x)
    m = np.trace(sigma) / len(sigma)
    total = ((sigma - m * np.eye(len(sigma))) ** 2).sum()
    fourth = ((x ** 2).sum(1) ** 2).mean()
    return min((fourth - (sigma ** 2).sum()) / len(x) / total, 1)

x = cloud(0, n=12, d=8)
print(f'rho: ours {shrinkage(x):.4f}, '
      f'scikit-learn {ledoit_wolf(x, assume_centered=True)[1]:.4f}')

# %% tags=["hide-input"]
scores = diabetes().x
scores = (scores - scores.mean(0)) / scores.std(0)  # (442, 10)

def on_new_data(N, seed, shrink):  # mean variance of whitened new patients
    order = np.random.default_rng(seed).permutation(len(scores))
    train, test = scores[order[:N]], scores[order[N:]]
    mu = train.mean(0)
    lam, v = np.linalg.eigh(np.cov(train.T, bias=True))
    rho = shrinkage(train - mu) if shrink else 0
    lam = (1 - rho) * lam + rho * lam.mean()
    return (((test - mu) @ v / np.sqrt(lam)) ** 2).mean()

# %%
sizes = np.array([15, 20, 30, 50, 100, 200])
found = {shrink: np.array([[on_new_data(N, seed, shrink)
                            for seed in range(100)] for N in sizes])
         for shrink in (False, True)}  # each (6, 100)
gauss = (sizes + 1) / (sizes - 12)
print('N    plain  Gaussian  shrunk')
for row in zip(sizes, found[False].mean(1), gauss, found[True].mean(1)):
    print('{:3} {:6.2f} {:9.2f} {:7.2f}'.format(*row))

# %% mystnb={"image": {"alt": "Variance of whitened new data against the number of training samples, both logarithmic. Without shrinkage it starts far above one and approaches one slowly, close to the formula for Gaussian data; with shrinkage it stays near one throughout."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.8))
for shrink, name in ((False, 'plain'), (True, 'shrunk')):
    low, high = np.quantile(found[shrink], [0.1, 0.9], axis=1)
    line, = ax.plot(sizes, found[shrink].mean(1), label=name)
    ax.fill_between(sizes, low, high, color=line.get_color(), alpha=0.2)
fine = np.geomspace(14, 200, 200)
formula = (fine + 1) / (fine - 12)
ax.plot(fine, formula, '--', color=GREY, lw=1.2, label='Gaussian formula')
ax.axhline(1, color=GREY, ls=':', lw=1)
ax.set(xscale='log', yscale='log', ylabel='variance of new data')
ax.set(xlabel='training samples N (D = 10)', xticks=sizes)
ax.set(xticklabels=sizes, yticks=[1, 2, 5, 10], yticklabels=[1, 2, 5, 10])
ax.minorticks_off()
ax.legend();

# %% [markdown] tags=["caption"]
# Whitened with the statistics of few samples, new data vary far too much, on average about eightfold at $N = 15$, $D = 10$;
# shrinking the covariance keeps them near 1.

# %% [markdown]
# Patients are not Gaussian, and for few of them the formula is too low; from $N = 50$ on it is a good guide. Had we whitened
# *all* data with the statistics of all, the table would show a perfect 1 in every row, and the leak would hide the failure.
#
# ### Where it matters: nearest neighbours
#
# For plain least squares nothing changes. Any invertible $\mathbf{W}$
# gives the same predictions, because $\mathbf{X}\mathbf{w} = (\mathbf{X}\mathbf{W})(\mathbf{W}^{-1}\mathbf{w})$. For methods
# that compare rows by distance everything changes. After whitening, the squared distance of two samples is
# ```{math}
# :label: whitening-mahalanobis
# \begin{aligned}
# \|\mathbf{W}^\top(\mathbf{x} - \mathbf{x}')\|^2 &= (\mathbf{x} - \mathbf{x}')^\top \mathbf{W}\mathbf{W}^\top (\mathbf{x} - \mathbf{x}') \\
# &= (\mathbf{x} - \mathbf{x}')^\top \boldsymbol\Sigma^{-1} (\mathbf{x} - \mathbf{x}') ,
# \end{aligned}
# ```
#
# *Mahalanobis' distance*: $\mathbf{R}$ drops out, so no such method can tell PCA from ZCA. We classify 178 wines from three
# growers by 13 chemical measurements, each by a vote of its five nearest neighbours. One half trains (and gives all the
# statistics), the other is tested, in 20 random splits.

# %%
wine, grower = load_wine(return_X_y=True)  # (178, 13), (178,)

def maps(train):  # what to multiply centred rows with
    lam, v = eigen(np.cov(train.T, bias=True))
    soft = 0.1 * np.diag(train.var(0))
    lam_s, v_s = scipy.linalg.eigh(np.cov(train.T, bias=True) + soft)
    return {
        'raw': np.eye(13), 'standardized': np.diag(1 / train.std(0)),
        'PCA white': v / np.sqrt(lam), 'ZCA white': v / np.sqrt(lam) @ v.T,
        'white, eps = 0.1': v_s / np.sqrt(lam_s),
    }

# %%
def vote(train, labels, test, k=5):
    far = ((test[:, None] - train) ** 2).sum(-1)  # (tests, trains)
    nearest = labels[far.argsort(1, kind='stable')[:, :k]]  # (tests, k)
    return (nearest[:, :, None] == np.arange(3)).sum(1).argmax(1)

def one_split(seed):
    order = np.random.default_rng(seed).permutation(len(wine))
    a, b = np.split(order, 2)
    mu = wine[a].mean(0)
    return {name: vote((wine[a] - mu) @ M, grower[a], (wine[b] - mu) @ M)
            == grower[b] for name, M in maps(wine[a]).items()}

# %%
splits = [one_split(seed) for seed in range(20)]
right = {name: np.array([s[name].mean() for s in splits])
         for name in splits[0]}
variance = wine.var(0)
print(f'largest share of one feature: {variance.max() / variance.sum():.1%}')
print(f'{"always the commonest":20} {(grower == 1).mean():6.1%}')
for name, share in right.items():
    print(f'{name:20} {share.mean():6.1%} ± {share.std():.2%}')

# %% tags=["hide-input"]
order = ('raw', 'PCA white', 'standardized')
for worse, better in zip(order, order[1:]):
    wins = (right[better] >= right[worse]).sum()
    print(f'{better} at least as good as {worse} in {wins} of 20 splits')

# %% [markdown]
# Raw, the one measurement with large numbers (proline, in mg/l) decides nearly alone, and 69.4 % of the wines are right.
# Standardizing raises this to 95.1 %. Whitening then *loses* some of them and ends at 89.8 %. Standardizing treats all
# features as equals; whitening treats all *directions* as equals, also those in which the wines hardly differ. (A soft
# $\epsilon$, here a tenth of each variance, gives part of the loss back.)
#
# ### Whitening as a preconditioner for gradient descent
#
# For gradient descent on a least-squares loss the goal stays and the way changes. White features have $\kappa = 1$: with
# step size 1 the first step lands on the solution, since $\nabla L(\mathbf{w}) = \boldsymbol\Sigma(\mathbf{w} -
# \hat{\mathbf{w}}) = \mathbf{w} - \hat{\mathbf{w}}$. But to whiten we have to factor $\boldsymbol\Sigma$, and with this
# factor we could have solved the problem at once. Whitening pays as a *preconditioner* where one factorization serves many
# problems, or where a cheap part of it will do. Standardizing is that cheap part: no other scaling of the single features
# makes $\kappa$ smaller by more than the factor $D$ {cite}`vandersluis1969condition`. Batch
# normalization applies it inside a network, layer by layer {cite}`ioffe2015batch`.
#
# ```{exercise} ★★★ Program: an inverse root without eigenvalues
# :label: whitening-newton
# Networks that whiten inside need $\boldsymbol\Sigma^{-1/2}$ by matrix products alone. Start with
# $\mathbf{Y} = \boldsymbol\Sigma/\tau$, $\tau = \operatorname{tr}\boldsymbol\Sigma$, and $\mathbf{Z} = \mathbf{I}$, and
# iterate
#
# $$\mathbf{T} = \tfrac12(3\mathbf{I} - \mathbf{Z}\mathbf{Y}), \qquad \mathbf{Y} \leftarrow \mathbf{Y}\mathbf{T}, \qquad \mathbf{Z} \leftarrow \mathbf{T}\mathbf{Z} .$$
#
# Show that all matrices share the eigenvectors of $\boldsymbol\Sigma$, and that $e = 1 - zy$ becomes $\tfrac14 e^2(3 + e)$.
# Write `newton_root(sigma)` $= \boldsymbol\Sigma^{-1/2}$. How many steps does it need for a condition number $\kappa$?
# ```

# %%
def newton_root(sigma):
    """The inverse root of a covariance matrix: float array (D, D).

    sigma: float array (D, D), symmetric, with positive eigenvalues, the
    largest at most 1e5 times the smallest. No function of numpy.linalg or
    scipy.linalg that inverts, solves or factors may be called.
    newton_root(np.array([[4.0]])) is [[0.5]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_sqrtm(sigma):
    return np.linalg.inv(scipy.linalg.sqrtm(sigma))

def spread(sigma):
    lam = np.linalg.eigvalsh(sigma)
    return lam[0] > 0 and lam[-1] <= 1e5 * lam[0]

cases = dict(sigma=square_matrices((1, 4), -3, 3, edges=True).map(
    lambda a: a.T @ a).filter(spread).flatmap(
    lambda s: on(1, 100, 0.01).map(lambda factor: factor * s)))
edges = [(np.diag([1e4, 1.0]),), (np.diag([1.0, 1e5, 3.0]),)]
without = [f'{home}.{name}' for home in ('numpy.linalg', 'scipy.linalg')
           for name in ('inv', 'pinv', 'solve', 'eig', 'eigh', 'eigvalsh',
                        'svd', 'qr', 'cholesky', 'lstsq')]
without += ['scipy.linalg.sqrtm', 'scipy.linalg.fractional_matrix_power']
options = dict(cases, without=without, tries=50)
grade(newton_root, by_sqrtm, edges, **options)

# %% [markdown]
# ```{solution-start} whitening-newton
# :class: dropdown
# ```
# All are polynomials in $\boldsymbol\Sigma$, so in its eigenvectors the iteration runs with numbers: $y' z' = y z\, t^2$
# with $t = \tfrac12(3 - zy) = 1 + \tfrac12 e$. Then $1 - (1 - e)(1 + \tfrac12 e)^2 = \tfrac34 e^2 + \tfrac14 e^3$. Since
# $y/z$ keeps its value $\lambda/\tau$ and $yz \to 1$, $z \to (\lambda/\tau)^{-1/2}$. Dividing by the trace makes
# $0 \le e < 1$ at the start. At the start $zy = \lambda/\tau \ge 1/(D\kappa)$, and while it is small it grows by $\tfrac94$
# per step: about $\log(D\kappa) / \log\tfrac94$ steps and a few more are needed, here 16 and five more for $\kappa = 10^5$
# and $D = 4$. The first wrong answer does not undo the scaling by $\tau$, the second does not scale at all, which diverges
# once an eigenvalue exceeds 3, and the third takes ten steps for enough. The fourth goes by the eigenvectors.

# %% jupyter={"source_hidden": true}
def newton_root_solution(sigma, steps=30):
    tau, one = np.trace(sigma), np.eye(len(sigma))
    y, z = sigma / tau, one
    for _ in range(steps):
        t = (3 * one - z @ y) / 2
        y, z = y @ t, t @ z
    return z / np.sqrt(tau)

def scaled(sigma):
    return newton_root_solution(sigma) * np.sqrt(np.trace(sigma))

def never_scaled(sigma):
    y, z = sigma, np.eye(len(sigma))
    for _ in range(30):
        t = (3 * np.eye(len(sigma)) - z @ y) / 2
        y, z = y @ t, t @ z
    return z

def too_early(sigma):
    return newton_root_solution(sigma, steps=10)

def by_eigenvectors_of(sigma):
    lam, v = np.linalg.eigh(sigma)
    return v / np.sqrt(lam) @ v.T

assert grade(newton_root_solution, by_sqrtm, edges, **options)
assert not grade(scaled, by_sqrtm, edges, **options)
assert not grade(never_scaled, by_sqrtm, edges, **options)
assert not grade(too_early, by_sqrtm, edges, **options)
assert not grade(by_eigenvectors_of, by_sqrtm, edges, **options)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: what the growers have in common
# :label: whitening-within
# Take each training wine's difference from the mean of its own grower, and whiten with the covariance of these differences.
# Predict how the votes of 'within', 'standardized' and 'PCA white' rank, the best first. Then measure, and explain.
# ```

# %%
def ranking():
    """A list of 'within', 'standardized' and 'PCA white', the best first.

    For example ['PCA white', 'standardized', 'within'].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def within_share(seed):  # of right votes
    a, b = np.split(np.random.default_rng(seed).permutation(len(wine)), 2)
    means = np.array([wine[a][grower[a] == j].mean(0) for j in range(3)])
    M = pca_white(wine[a] - means[grower[a]])
    return (vote(wine[a] @ M, grower[a], wine[b] @ M) == grower[b]).mean()

shares = {name: right[name] for name in ('standardized', 'PCA white')}
shares['within'] = np.array([within_share(seed) for seed in range(20)])

def is_measured(names):
    if sorted(names) != sorted(shares):
        raise ValueError(f'give the names {", ".join(shares)} in some order')
    if list(names) != sorted(shares, key=lambda name: -shares[name].mean()):
        raise ValueError('another order is measured: try it')
    return True

grade(lambda: is_measured(ranking()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} whitening-within
# :class: dropdown
# ```
# The whitening of all wines shrinks the directions in which they vary most, and among these are the ones in which the
# growers differ: it removes the very thing that we look for. The differences from the grower's own mean do not contain it.
# To whiten them shrinks the directions in which wines of *one* grower vary, and leaves the distances between growers large
# in comparison. The covariance is not the enemy, only its estimate from all wines together. But this uses the labels, so
# it must be learnt from the training half.

# %% jupyter={"source_hidden": true}
print(', '.join(f'{name} {share.mean():.1%}' for name, share in shares.items()))
ahead = shares['within'] - shares['standardized']
print(f'within ahead of standardized by {ahead.mean():.2%} of the wines, '
      f'standard error {ahead.std() / 20**0.5:.2%}')
best = ['within', 'standardized', 'PCA white']
assert grade(lambda: is_measured(best), lambda: True, [()])
assert not grade(lambda: is_measured(best[::-1]), lambda: True, [()])
for wrong in best[1:] + best[:1], [best[0], *best[:0:-1]], best[:2], 'within':
    assert not grade(lambda: is_measured(wrong), lambda: True, [()])

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
with np.errstate(all='ignore'):
    assert not abs(regularized(pixels, 0)[2]).max() < 1e6  # eps is needed
for seed in range(20):
    x = cloud(seed, n=12, d=8)
    assert close(shrinkage(x), ledoit_wolf(x, assume_centered=True)[1])
assert all((s['PCA white'] == s['ZCA white']).all() for s in splits)

# %% tags=["checks"]
def tamed(seed, eps, used):
    x = cloud(seed, n=4, d=6)  # rank 3 of 6
    lam, v, W = regularized(x, used)
    bounded = np.isfinite(W).all() and abs(W).max() <= 1 / np.sqrt(eps)
    with np.errstate(invalid='ignore'):
        after = W.T @ (v * lam @ v.T) @ W
    return bool(bounded) and close(after, np.diag(lam / (lam + eps)))

holds('la.whiten.eps', lambda s, eps: tamed(s, eps, used=eps),
      slip=('adds no ε', lambda s, eps: tamed(s, eps, used=0)), s=seeds(),
      eps=[1e-1, 1e-3, 1e-5], tries=50)

# %% [markdown]
# ## Summary
#
# Standardizing gives each feature mean zero and variance one, independent of units, and leaves all correlations; whitening
# also removes these, and is unique up to a rotation. PCA, ZCA and Cholesky are three useful rotations: ordered,
# closest to the data, and triangular, that is, SVD, polar and QR factors of the data. Whitening divides by the square roots
# of eigenvalues, so it needs more samples than features, statistics from the training data, and shrinkage of the eigenvalues
# if samples are few.
#
# **Further reading.** {cite}`kessy2018optimal` compares the whitenings, {cite}`ledoit2004well` derives the shrinkage,
# {cite}`bell1997independent` discovered ZCA and the filters of natural scenes; {cite}`bishop2006pattern` and
# {cite}`murphy2022probabilistic` treat the Gaussian that stands behind it all.
