# ---
# jupyter:
#   book:
#     functions:
#       density: density(normal(5), normal(5), uniform(5) + 1)
#       gaussian_from: "gaussian_from(normal(4, 3), normal(3), (lambda A: A @ A.T)(normal(3, 9)))"
#       gaussian_logpdf: "gaussian_logpdf(normal(4, 3), normal(3), (lambda A: A @ A.T)(normal(3, 9)))"
#       condition: "condition(normal(4), (lambda A: A @ A.T)(normal(4, 9)), np.arange(4) < 2, normal(5, 2))"
#     main: ml.mle.gaussian.univariate
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The Gaussian distribution
#
# A laboratory has measured the total cholesterol of a patient, and we want to know the LDL cholesterol, which is a part of
# it. In other patients the two rise and fall together. What is the best guess for this patient, and how wide is its error
# bar? If the two numbers are jointly Gaussian, both answers are short formulas.
#
# - **You need** densities and covariances from [Expectations](expectations.ipynb), Cholesky's triangles from [LU
#   decomposition](../linear_algebra/lu_decomposition.ipynb), and
#   [eigenvectors](../linear_algebra/eigendecomposition.ipynb).
# - **You build** densities, samples and conditional distributions of Gaussian vectors, and a program that completes
#   half-covered digits.
# - **Runs in** 6 seconds, in float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
import math

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp
from scipy.stats import chi2, kstest, laplace, multivariate_normal, norm
from sklearn.linear_model import LinearRegression, Ridge

from nbutils.cases import integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.data import diabetes, digits
from nbutils.figures import GREY, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## The normal distribution: one bell
#
# We begin with a single number, the LDL cholesterol of 442 patients {cite}`efron2004least`:

# %%
X = diabetes().x
total, ldl = X[:, 4], X[:, 5]   # (442,) each
mu, sigma = ldl.mean(), ldl.std()
print(f'LDL: mean {mu:.1f}, standard deviation {sigma:.1f}')
for k in (1, 2):
    inside = (abs(ldl - mu) < k * sigma).mean()
    bell = norm.cdf(k) - norm.cdf(-k)
    print(f'within {k} standard deviations: {inside:.2f}, a bell {bell:.2f}')

# %% [markdown]
# The values gather around the mean and become rare on both sides, as under a bell. The **normal distribution**, or **Gaussian**, with mean
# $\mu$ and variance $\sigma^2$ has the density
#
# ```{math}
# :label: ml.mle.gaussian.univariate
# p(y \mid \mu, \sigma^2) = \mathcal{N}(y \mid \mu, \sigma^2) = \frac{1}{\sqrt{2\pi\sigma^2}} \exp\Big[ -\frac{(y - \mu)^2}{2\sigma^2} \Big] .
# ```
#
# As code, beside the function of SciPy, which takes the standard deviation $\sigma$ in place of the variance:

# %%
def density(y, mu, sigma2):
    bell = np.exp(-((y - mu) ** 2) / (2 * sigma2))
    return bell / np.sqrt(2 * np.pi * sigma2)

print(f'density of LDL 130: {density(130, mu, sigma**2):.5f}')
print(f'scipy:              {norm.pdf(130, mu, sigma):.5f}')

# %% mystnb={"image": {"alt": "A histogram of LDL cholesterol with its highest bars near the mean and a slightly longer tail to the right. A bell curve with the same mean and standard deviation runs along the tops of the bars."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.5))
ax.hist(ldl, bins=24, density=True, color=GREY, alpha=0.45)
t = np.linspace(20, 250, 300)
ax.plot(t, density(t, mu, sigma**2), color='C0')
ax.text(150, 0.0095, 'normal density with the same\nmean and standard deviation', color='C0')
ax.set(xlabel='LDL cholesterol, mg/dl', ylabel='density', xlim=(20, 250));

# %% [markdown] tags=["caption"]
# LDL cholesterol of 442 patients (bars) is nearly normal; its right tail is a little longer. Two numbers, mean and
# standard deviation, describe it.

# %% [markdown]
# ### Why this bell?
#
# Take $\mu = 0$ and $\sigma = 1$: a **standard normal** number $z$, with the density $\varphi(z) = e^{-z^2/2} /
# \sqrt{2\pi}$. Where does the factor $\sqrt{2\pi}$ come from? The square of the integral of $e^{-x^2/2}$ is an integral
# over the plane. There, the points at the distance $r$ from the origin form a circle of length $2\pi r$, and with this
# factor the integral is elementary:
#
# ```{math}
# :label: eq-gauss-constant
# \Big( \int e^{-x^2/2} dx \Big)^2 = \int_0^\infty e^{-r^2/2} \, 2\pi r \, dr = 2\pi \Big[ {-e^{-r^2/2}} \Big]_0^\infty = 2\pi .
# ```
#
# Every other normal number is a standard normal one, stretched by $\sigma$ and shifted by $\mu$: $y = \mu + \sigma z$.
#
# Two independent standard normal numbers have the joint density $e^{-(x^2 + y^2)/2} / 2\pi$, which depends only on the
# distance from the origin: no direction of the plane is preferred. No other distribution has this property. Think of the
# errors of a dart in two directions, which are independent and have no preferred direction:
#
# ```{prf:theorem} Herschel
# :label: thm-herschel
# Let $x$ and $y$ be independent with positive continuous densities $p$ and $q$, and let the joint density
# depend on $x^2 + y^2$ only. Then $p(x) = q(x) = C e^{-x^2 / 2\sigma^2}$ for some $\sigma > 0$.
# ```
#
# The proof turns independence and symmetry into the equation $h(s) + h(t) = h(s + t)$, whose continuous solutions are
# straight lines.
#
# ```{prf:proof}
# :class: dropdown
# Independence says that the joint density is the product, so $p(x)\, q(y) = g(x^2 + y^2)$. With $y = 0$ it says
# $p(x) = g(x^2) / q(0)$, with $x = 0$ it says $q(y) = g(y^2) / p(0)$, with both it says $p(0)\, q(0) = g(0)$. Multiply
# the first two: $g(s)\, g(t) = g(0)\, g(s + t)$ for all $s, t \ge 0$. So $h(s) = \log (g(s) / g(0))$ is additive,
# $h(s) + h(t) = h(s + t)$, and continuous. Additivity gives $h(m/n) = \frac mn h(1)$, continuity $h(s) = h(1)\, s$ for
# every $s \ge 0$. Hence $p(x) = p(0)\, e^{h(1) x^2}$, the same for $q$ up to the constant in front, and since the
# integral is finite, $h(1) < 0$: call it $-1/2\sigma^2$. Both integrate to one, so both constants agree.
# ```
#
#
# Because of this symmetry, sums are normal, too. Let $y_i = \mu_i + \sigma_i z_i$ for $i = 1, 2$ be independent. The sum is
# $\mu_1 + \mu_2 + (\sigma_1, \sigma_2) \cdot (z_1, z_2)$. The vector $(\sigma_1, \sigma_2)$ is its length
# $\sqrt{\sigma_1^2 + \sigma_2^2}$ times a direction, and along every direction $(z_1, z_2)$ is standard normal:
#
# ```{math}
# :label: eq-gauss-sum
# y_1 + y_2 \sim \mathcal{N}(\mu_1 + \mu_2, \; \sigma_1^2 + \sigma_2^2) .
# ```
#
# So variances add, and standard deviations do not:

# %%
rng = np.random.default_rng(0)
y1, y2 = rng.normal(0, 3, 100_000), rng.normal(0, 4, 100_000)
print(f'standard deviations {y1.std():.2f} and {y2.std():.2f},'
      f' of the sum {(y1 + y2).std():.2f}')

# %% [markdown]
# ```{exercise} ★★ Pencil: two thermometers
# :label: gaussian-fuse
# Two instruments measure one temperature $x$. The first says that $x$ has the density $\mathcal{N}(x \mid m_1, v_1)$, the
# second, independently, $\mathcal{N}(x \mid m_2, v_2)$. The combined density is proportional to the product of both. Show
# that it is Gaussian and write `fuse(m1, v1, m2, v2)`, which gives its mean and its variance as a tuple. All are floats,
# and $v_1, v_2 > 0$.
# ```

# %%
def fuse(m1, v1, m2, v2):
    """(mean, variance) of the normalized product: two floats.

    fuse(0.0, 1.0, 2.0, 1.0) is (1.0, 0.5).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def fuse_by_sums(m1, v1, m2, v2):  # on a grid, where the sum of a bell is exact up to rounding
    s = min(v1, v2) ** 0.5
    x = np.linspace(min(m1, m2) - 9 * s, max(m1, m2) + 9 * s, 4001)
    log_p = norm.logpdf(x, m1, v1**0.5) + norm.logpdf(x, m2, v2**0.5)
    p = np.exp(log_p - log_p.max())
    mean = (x * p).sum() / p.sum()
    return mean, ((x - mean) ** 2 * p).sum() / p.sum()

variances = on(1.0) | scalars(0.1, 9)
fuse_cases = dict(m1=on(0.0) | scalars(-5, 5), v1=variances, m2=scalars(-5, 5), v2=variances)
grade(fuse, fuse_by_sums, **fuse_cases)

# %% [markdown]
# ```{solution-start} gaussian-fuse
# :class: dropdown
# ```
# Exponents add: $-\frac12 \big[ (x - m_1)^2 / v_1 + (x - m_2)^2 / v_2 \big]$ is a parabola in $x$, so the product is a
# bell. The coefficient of $x^2$ says $\frac1v = \frac1{v_1} + \frac1{v_2}$ (*precisions* add), that of $x$ says $\frac mv =
# \frac{m_1}{v_1} + \frac{m_2}{v_2}$: each reading counts by its precision. The first wrong answer weighs by the variance
# and so trusts the worse instrument, the second takes the plain mean of both readings, and the third adds the variances.

# %% jupyter={"source_hidden": true}
def fuse_solution(m1, v1, m2, v2):
    v = 1 / (1 / v1 + 1 / v2)
    return v * (m1 / v1 + m2 / v2), v

def weighs_by_variance(m1, v1, m2, v2):
    return (v1 * m1 + v2 * m2) / (v1 + v2), v1 * v2 / (v1 + v2)

def plain_mean(m1, v1, m2, v2):
    return (m1 + m2) / 2, v1 * v2 / (v1 + v2)

def adds_variances(m1, v1, m2, v2):
    return (v2 * m1 + v1 * m2) / (v1 + v2), v1 + v2

assert grade(fuse_solution, fuse_by_sums, **fuse_cases)
assert not grade(weighs_by_variance, fuse_by_sums, **fuse_cases)
assert not grade(plain_mean, fuse_by_sums, **fuse_cases)
assert not grade(adds_variances, fuse_by_sums, **fuse_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def is_the_bell(mu, sigma2, density):  # mass, mean, variance; scipy
    # for a bell the error of an equally spaced sum decays like
    # exp(-2π²σ²/h²) with the spacing h, here σ/10
    y, h = np.linspace(-10, 10, 201, retstep=True)
    y, h = mu + np.sqrt(sigma2) * y, np.sqrt(sigma2) * h
    p = density(y, mu, sigma2)
    moments = [(y**k * p).sum() * h for k in range(3)]
    return close(
        moments, [1, mu, mu**2 + sigma2], rtol=1e-12, atol=1e-10
    ) and close(p, norm.pdf(y, mu, np.sqrt(sigma2)), rtol=1e-12, atol=0)

holds(
    'ml.mle.gaussian.univariate',
    lambda mu, sigma2: is_the_bell(mu, sigma2, density),
    slip=(
        'takes the standard deviation for the variance',
        lambda mu, sigma2: is_the_bell(
            mu, sigma2, lambda y, m, v: density(y, m, np.sqrt(v))
        ),
    ),
    mu=scalars(),
    sigma2=scalars(0.01, 9),
)

def same_after_turning(x, angle, log_p):
    c, s = np.cos(angle), np.sin(angle)
    turned = np.array([[c, -s], [s, c]]) @ x
    return close(log_p(turned).sum(), log_p(x).sum())

verify(
    'two independent bells have no preferred direction',
    lambda x, angle: same_after_turning(x, angle, norm.logpdf),
    slip=(
        'gives independent Laplace variables the same symmetry',
        lambda x, angle: same_after_turning(x, angle, laplace.logpdf),
    ),
    x=vectors(2, -5, 5),
    angle=scalars(0, 6),
)

def convolution_is_bell(s, v1, v2, v):  # of N(1, v1) and N(-3, v2)
    u, h = np.linspace(-33, 27, 1201, retstep=True)
    got = (density(s - u, 1, v1) * density(u, -3, v2)).sum() * h
    return close(got, density(s, -2, v), rtol=1e-9, atol=1e-14)

verify(
    'the sum of two independent bells is a bell, and variances add',
    lambda s, v1, v2: convolution_is_bell(s, v1, v2, v1 + v2),
    slip=(
        'adds standard deviations',
        lambda s, v1, v2: convolution_is_bell(
            s, v1, v2, (v1**0.5 + v2**0.5) ** 2
        ),
    ),
    s=scalars(-9, 5),
    v1=scalars(0.2, 5),
    v2=scalars(0.2, 5),
)
assert abs((y1 + y2).std() - 5) < 5 * 5 / np.sqrt(2 * 100_000)  # five standard errors

# %% [markdown]
# ## The multivariate Gaussian density
#
# Total cholesterol and LDL are two numbers of one patient. Their scatter plot is a tilted, elongated cloud. How do we
# describe it? We start with a round cloud, a vector $\mathbf{z}$ of independent standard normal numbers, and map it
# linearly:
#
# ```{prf:definition} Gaussian vector
# :label: def-gaussian-vector
# A random vector is *Gaussian* if it is distributed like $\mathbf{y} = \boldsymbol\mu + A \mathbf{z}$ with independent
# standard normal $z_1, \dots, z_k$, a vector $\boldsymbol\mu \in \mathbb{R}^D$ and a matrix
# $A \in \mathbb{R}^{D \times k}$.
# ```
#
# Its mean is $\boldsymbol\mu$, and its covariance is $\Sigma = \mathbb{E}[(\mathbf{y} - \boldsymbol\mu)(\mathbf{y} -
# \boldsymbol\mu)^\top] = A \, \mathbb{E}[\mathbf{z}\mathbf{z}^\top] A^\top = A A^\top$. Different matrices $A$ with the
# same $A A^\top$ give the same distribution, so we may write $\mathcal{N}(\boldsymbol\mu, \Sigma)$. A convenient $A$ is
# Cholesky's lower triangle $L$ with $\Sigma = L L^\top$:

# %%
def gaussian_from(z, mu, Sigma):  # z (N, D) -> (N, D)
    L = np.linalg.cholesky(Sigma)
    return mu + z @ L.T

# %%
both = np.stack([total, ldl], axis=1)         # (442, 2)
mu, Sigma = both.mean(0), np.cov(both.T)      # (2,), (2, 2)
z = np.random.default_rng(1).normal(size=(442, 2))
drawn = gaussian_from(z, mu, Sigma)
print('correlation of the patients:   ', np.corrcoef(both.T)[0, 1].round(3))
print('correlation of as many samples:', np.corrcoef(drawn.T)[0, 1].round(3))

# %% [markdown]
# To get the density, suppose that $A$ is square and invertible. Then $\mathbf{z} = A^{-1}(\mathbf{y} - \boldsymbol\mu)$ has
# the density $(2\pi)^{-D/2} e^{-\|\mathbf{z}\|^2/2}$, and the map makes volumes $|\det A|$ times as large, which makes the
# density as many times smaller. With $\det \Sigma = (\det A)^2$ and $\|A^{-1} \mathbf{v}\|^2 = \mathbf{v}^\top (A
# A^\top)^{-1} \mathbf{v}$ we find
#
# ```{math}
# :label: ml.mle.gaussian.multivariate
# \mathcal{N}(\mathbf{y} \mid \boldsymbol\mu, \Sigma) = \frac{1}{\sqrt{(2\pi)^D \det(\Sigma)}}
# \exp\Big[ -\frac12 (\mathbf{y} - \boldsymbol\mu)^\top \Sigma^{-1} (\mathbf{y} - \boldsymbol\mu) \Big] .
# ```
#
# Which $\Sigma$ are allowed? For every $\mathbf{v}$, $\mathbf{v}^\top \Sigma \mathbf{v} = \mathbb{E}\big[ (\mathbf{v}^\top
# (\mathbf{y} - \boldsymbol\mu))^2 \big] \ge 0$, so every covariance is symmetric and positive *semi*definite. If
# $\mathbf{v}^\top \Sigma \mathbf{v} = 0$ for some $\mathbf{v} \ne \mathbf{0}$, the whole cloud lies in a plane, its volume
# is zero, and it has no density. So {eq}`ml.mle.gaussian.multivariate` needs a positive *definite* covariance:
#
# ```{math}
# :label: ml.mle.gaussian.sigma-psd
# \Sigma = \Sigma^\top, \qquad \mathbf{v}^\top \Sigma \, \mathbf{v} > 0 \quad \text{for all } \mathbf{v} \ne \mathbf{0} .
# ```
#
# On a computer we avoid the inverse and the determinant. With $\mathbf{z} = L^{-1}(\mathbf{y} - \boldsymbol\mu)$, the
# exponent is $-\frac12 \|\mathbf{z}\|^2$ and $\frac12 \log\det \Sigma = \sum_i \log L_{ii}$. The logarithm of the density
# is then a sum. Cholesky also refuses a matrix that is not positive definite.

# %%
def gaussian_logpdf(y, mu, Sigma):  # y (N, D) -> (N,)
    L = np.linalg.cholesky(Sigma)
    z = solve_triangular(L, (y - mu).T, lower=True)  # (D, N)
    volume = np.log(np.diag(L)).sum() + len(mu) / 2 * math.log(2 * math.pi)
    return -(z**2).sum(0) / 2 - volume

# %%
patient = both[:1]
print(f'one patient: {gaussian_logpdf(patient, mu, Sigma)[0]:.3f},'
      f' scipy {multivariate_normal.logpdf(patient, mu, Sigma):.3f}')
thin = 0.01 * np.eye(400)       # 400 dimensions
print('its determinant:', np.linalg.det(thin))
point = np.full((1, 400), 0.2)
print(f'log-density: {gaussian_logpdf(point, np.zeros(400), thin)[0]:.1f}')

# %% [markdown]
# The second matrix shows why: its determinant, $0.01^{400} = 10^{-800}$, is zero in floating point, but the sum of
# logarithms is harmless.
#
# ### Ellipses, and how much is inside
#
# The density is constant where $\|\mathbf{z}\| = r$. The map $A$ turns this sphere into an ellipsoid. Its half-axes point
# along the eigenvectors of $\Sigma$ and are $r\sqrt{\lambda_i}$ long, where $\lambda_i$ are the eigenvalues.

# %%
lam, V = np.linalg.eigh(Sigma)
print('half-axes for r = 1:', np.sqrt(lam).round(1))
r = np.linalg.norm(solve_triangular(
    np.linalg.cholesky(Sigma), (both - mu).T, lower=True), axis=0)  # (442,)
for bound in (1, 2, 3):
    print(f'inside r = {bound}: {(r < bound).mean():.3f} of the patients,'
          f' {1 - np.exp(-bound**2 / 2):.3f} if Gaussian')

# %% mystnb={"image": {"alt": "A scatter plot of LDL against total cholesterol, an elongated cloud that rises from lower left to upper right. Three ellipses around its centre, along its long axis; most points lie inside the second one."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.6))
ax.plot(*both.T, 'o', color=GREY, ms=2.5, alpha=0.6)
turn = np.linspace(0, 2 * np.pi, 200)
circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
for bound in (1, 2, 3):
    ellipse = gaussian_from(bound * circle, mu, Sigma)
    ax.plot(*ellipse.T, color='C0', lw=1.2)
    ax.annotate(f'r = {bound}', ellipse[100], xytext=(-4, 0), textcoords='offset points',
                color='C0', ha='right', va='center')
for end in (2 * np.sqrt(lam) * V).T:
    ax.plot(*np.stack([mu, mu + np.sign(end[0]) * end]).T, color='C1')
ax.set(xlabel='total cholesterol, mg/dl', ylabel='LDL cholesterol, mg/dl', aspect='equal', xlim=(60, 320), ylim=(15, 255));

# %% [markdown] tags=["caption"]
# The lines of equal density are ellipses around the mean. Their half-axes (orange, for $r = 2$) point along the
# eigenvectors of the covariance. The ellipse with $r = 2$ holds 0.871 of the patients, nearly as many as under a Gaussian
# density.

# %% [markdown]
# The last column is the integral in {eq}`eq-gauss-constant`, stopped at $r$: in two dimensions, for every $\Sigma$,
#
# ```{math}
# :label: eq-gauss-radius
# \Pr( \|\mathbf{z}\| \le r ) = 1 - e^{-r^2/2} .
# ```
#
# So the ellipse with $r = 1$ holds the share 0.393 of a Gaussian cloud, less than the 68 % of an interval of one standard
# deviation. (Of the patients it holds a little more, because they are not exactly Gaussian.) In $D$ dimensions
# $\|\mathbf{z}\|^2$ has the **chi-squared** distribution with $D$ degrees of freedom: its mean is $D$ and its variance
# $2D$. For large $D$ the length is therefore always close to $\sqrt D$. The density is highest at the centre, but hardly a
# sample is near it:

# %%
for D in (1, 2, 10, 1000):
    length = np.linalg.norm(rng.normal(size=(2000, D)), axis=1)
    print(f'D = {D:4}: length {length.mean():5.2f} ± {length.std():.2f},'
          f' root of D {np.sqrt(D):.2f}')

# %% [markdown]
# ```{exercise} ★ Program: a region for 95 per cent
# :label: gaussian-ellipse
# A drone reports its position in the plane with a Gaussian error of covariance $\Sigma$, positive definite, of shape $(2,
# 2)$. Write `half_axes(Sigma, level)`: an array with the lengths of the two half-axes, in increasing order, of the ellipse
# around the report that contains the drone with probability `level`, a float in $(0, 1)$.
# ```

# %%
def half_axes(Sigma, level):
    """The half-axes in increasing order: (2, 2), float -> (2,).

    half_axes(np.diag([4.0, 1.0]), 1 - np.exp(-0.5)) is [1, 2].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def half_axes_by_svd(Sigma, level):  # the singular values of r L
    stretch = np.linalg.svd(np.linalg.cholesky(Sigma))[1]
    return np.sqrt(chi2.ppf(level, 2)) * stretch[::-1]

definite = matrices(2, 2, -2, 2, edges=True).map(lambda A: A @ A.T + 0.5 * np.eye(2))
drone_cases = dict(Sigma=definite, level=on(0.95, 0.5) | scalars(0.01, 0.99))
grade(half_axes, half_axes_by_svd, **drone_cases)

# %% [markdown]
# ```{solution-start} gaussian-ellipse
# :class: dropdown
# ```
# Solve {eq}`eq-gauss-radius` for $r = \sqrt{-2 \log(1 - \mathtt{level})}$; the half-axes are $r \sqrt{\lambda_i}$. The
# first wrong answer takes the radius of an interval: for 95 % the familiar 1.96, whose ellipse holds only the share $1 -
# e^{-1.96^2/2} \approx 0.85$. The second takes the variances on the diagonal for the eigenvalues. The third takes
# eigenvalues for lengths.

# %% jupyter={"source_hidden": true}
def half_axes_solution(Sigma, level):
    r = np.sqrt(-2 * np.log(1 - level))
    return r * np.sqrt(np.linalg.eigvalsh(Sigma))

def radius_of_an_interval(Sigma, level):
    r = norm.ppf((1 + level) / 2)
    return r * np.sqrt(np.linalg.eigvalsh(Sigma))

def along_the_coordinates(Sigma, level):
    r = np.sqrt(-2 * np.log(1 - level))
    return r * np.sqrt(np.sort(np.diag(Sigma)))

def without_the_root(Sigma, level):
    r = np.sqrt(-2 * np.log(1 - level))
    return r * np.linalg.eigvalsh(Sigma)

assert grade(half_axes_solution, half_axes_by_svd, **drone_cases)
assert not grade(radius_of_an_interval, half_axes_by_svd, **drone_cases)
assert not grade(along_the_coordinates, half_axes_by_svd, **drone_cases)
assert not grade(without_the_root, half_axes_by_svd, **drone_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def covariance(seed, D):  # a generic one, a mean and a point
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(D, D)) + 2 * np.eye(D)
    return A @ A.T, rng.normal(size=D), rng.normal(size=D)

def as_displayed(y, mu, Sigma, D):
    v = y - mu
    constant = np.sqrt((2 * np.pi) ** D * np.linalg.det(Sigma))
    return np.exp(-0.5 * v @ np.linalg.inv(Sigma) @ v) / constant

def agrees_with_scipy(seed, D, factors):
    Sigma, mu, y = covariance(seed, D)
    want = multivariate_normal.pdf(y, mu, Sigma)
    return close(as_displayed(y, mu, Sigma, factors), want, atol=0)

holds(
    'ml.mle.gaussian.multivariate',
    lambda seed, D: agrees_with_scipy(seed, D, factors=D),
    slip=(
        'takes a single factor 2 pi',
        lambda seed, D: agrees_with_scipy(seed, D, factors=1),
    ),
    seed=seeds(),
    D=integers(1, 4),
)

def has_density(A):
    (a, b), (_, c) = A @ A.T
    det = a * c - b * b  # exact, for small integers
    t, h = np.linspace(-24, 24, 193, retstep=True)
    u, v = np.meshgrid(t, t)
    with np.errstate(divide='ignore', invalid='ignore'):
        q = (c * u**2 - 2 * b * u * v + a * v**2) / det
        p = np.exp(-q / 2) / np.sqrt((2 * np.pi) ** 2 * det)
    return close([p.sum() * h**2, (u * v * p).sum() * h**2], [1, b])

holds(
    'ml.mle.gaussian.sigma-psd',
    lambda A: np.linalg.matrix_rank(A) < 2 or has_density(A),
    slip=('lets the covariance be singular', has_density),
    A=matrices(2, 2, -2, 2).map(np.round),
    tries=60,
)

# %% tags=["checks"]
def same_logpdf(seed, D, mu_sign):
    Sigma, mu, _ = covariance(seed, D)
    y = np.random.default_rng(seed).normal(size=(6, D))
    want = multivariate_normal.logpdf(y, mu, Sigma).reshape(6)
    return close(gaussian_logpdf(y, mu_sign * mu, Sigma), want)

verify(
    'the log-density by Cholesky agrees with scipy',
    lambda seed, D: same_logpdf(seed, D, 1),
    slip=(
        'changes the sign of the mean',
        lambda seed, D: same_logpdf(seed, D, -1),
    ),
    seed=seeds(),
    D=integers(1, 6),
    tries=60,
)

# %% tags=["checks"]
def factorises(y, rho):  # sigma = 1 and 2, correlation rho
    Sigma = np.array([[1, 2 * rho], [2 * rho, 4]])
    product = norm.logpdf(y[0]) + norm.logpdf(y[1], 0, 2)
    return close(gaussian_logpdf(y[None], np.zeros(2), Sigma)[0], product)

verify(
    'with a diagonal covariance the joint density is a product',
    lambda y: factorises(y, rho=0),
    slip=(
        'takes correlated coordinates for independent ones',
        lambda y: factorises(y, rho=0.5),
    ),
    y=vectors(2),
)

def share_inside(r, seed, formula, N=4000):
    rng = np.random.default_rng(seed)
    L = np.array([[2.0, 0], [1.1, 0.5]])  # any triangle
    y = rng.normal(size=(N, 2)) @ L.T
    m = np.einsum('nd,de,ne->n', y, np.linalg.inv(L @ L.T), y)
    p = formula(r)
    return abs((m <= r**2).mean() - p) < 5 * np.sqrt(p * (1 - p) / N)

verify(
    'the ellipse of radius r holds the share 1 - exp(-r^2 / 2)',
    lambda r, seed: share_inside(r, seed, lambda r: 1 - np.exp(-(r**2) / 2)),
    slip=(
        'takes the share of an interval',
        lambda r, seed: share_inside(r, seed, lambda r: chi2.cdf(r**2, 1)),
    ),
    r=scalars(0.1, 3),
    seed=seeds(),
    tries=60,
)

# %% tags=["checks"]
def has_covariance(v, Sigma):  # v (N, D) of mean zero
    # Var(v_i v_j) = Σ_ii Σ_jj + Σ_ij² for a Gaussian vector
    d = np.diag(Sigma)
    band = 5 * np.sqrt((np.outer(d, d) + Sigma**2) / len(v))
    return (abs(v.T @ v / len(v) - Sigma) < band).all()

def on_the_wrong_side(z, mu, Sigma):
    return mu + z @ np.linalg.cholesky(Sigma)

def samples_well(seed, sampler):
    Sigma, mu, _ = covariance(seed, 3)
    y = sampler(np.random.default_rng(seed).normal(size=(4000, 3)), mu, Sigma)
    near = abs(y.mean(0) - mu) < 5 * np.sqrt(np.diag(Sigma) / 4000)
    return near.all() and has_covariance(y - mu, Sigma)

verify(
    'a Cholesky factor makes samples with the right mean and covariance',
    lambda seed: samples_well(seed, gaussian_from),
    slip=(
        'multiplies by L on the wrong side',
        lambda seed: samples_well(seed, on_the_wrong_side),
    ),
    seed=seeds(),
    tries=20,
)
ends = (np.sqrt(lam) * V).T     # the half-axes for r = 1 end on the ellipse and are orthogonal
assert close(gaussian_logpdf(mu + ends, mu, Sigma), gaussian_logpdf(mu[None], mu, Sigma)[0] - [0.5, 0.5])
assert close(ends[0] @ ends[1], 0)
assert close(gaussian_logpdf(point, np.zeros(400), thin), [400 * norm.logpdf(0.2, 0, 0.1)])

# %% [markdown]
# ## Marginal and conditional distributions
#
# Now to the question of the opening. A patient has a total cholesterol of 250; what do we know about the LDL? In general we
# split a Gaussian vector into a block $\mathbf{a}$ that we want to know and a block $\mathbf{b}$ that has been observed:
#
# ```{math}
# :label: eq-gauss-blocks
# \mathbf{y} = \begin{bmatrix} \mathbf{a} \\ \mathbf{b} \end{bmatrix}, \qquad
# \boldsymbol\mu = \begin{bmatrix} \boldsymbol\mu_a \\ \boldsymbol\mu_b \end{bmatrix}, \qquad
# \Sigma = \begin{bmatrix} \Sigma_{aa} & \Sigma_{ab} \\ \Sigma_{ba} & \Sigma_{bb} \end{bmatrix} .
# ```
#
# The **marginal** distribution of $\mathbf{a}$, whatever $\mathbf{b}$ is, needs no integral. Some rows of $\boldsymbol\mu +
# A\mathbf{z}$ have the same form again, so $\mathbf{a} \sim \mathcal{N}(\boldsymbol\mu_a, \Sigma_{aa})$. The *conditional*
# distribution, given $\mathbf{b}$, is Gaussian, too:
#
# ```{prf:theorem} Conditioning
# :label: thm-gaussian-conditioning
# Let $\Sigma_{bb}$ be invertible and $K = \Sigma_{ab} \Sigma_{bb}^{-1}$. Given $\mathbf{b}$, the vector $\mathbf{a}$
# is Gaussian with mean $\boldsymbol\mu_a + K (\mathbf{b} - \boldsymbol\mu_b)$ and covariance
# $\Sigma_{aa} - K \Sigma_{ba}$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Take away from $\mathbf{a}$ what $\mathbf{b}$ explains linearly:
# $\mathbf{r} = \mathbf{a} - \boldsymbol\mu_a - K (\mathbf{b} - \boldsymbol\mu_b)$. Then
# $\mathrm{Cov}(\mathbf{r}, \mathbf{b}) = \Sigma_{ab} - K \Sigma_{bb} = 0$. The pair $(\mathbf{r}, \mathbf{b})$ is a
# linear image of $\mathbf{y}$, hence Gaussian, so $\mathbf{r}$ is not only uncorrelated with $\mathbf{b}$ but
# independent of it. Learning $\mathbf{b}$ leaves the distribution of $\mathbf{r}$ as it was: mean zero and covariance
# $\mathrm{Cov}(\mathbf{r}) = \mathrm{Cov}(\mathbf{r}, \mathbf{a}) = \Sigma_{aa} - K \Sigma_{ba}$. And $\mathbf{a}$ is
# $\mathbf{r}$ plus a vector that is now known.
# ```
#

# %%
def condition(mu, Sigma, known, values):  # known: a mask of length D
    a, b = ~known, known
    K = np.linalg.solve(Sigma[b][:, b], Sigma[b][:, a]).T
    mean = mu[a] + (values - mu[b]) @ K.T  # values (..., |b|)
    return mean, Sigma[a][:, a] - K @ Sigma[b][:, a]

# %%
known = np.array([True, False])  # total is known, LDL is not
seen = np.array([[150.0], [190], [250]])
means, C = condition(mu, Sigma, known, seen)
deviation = np.sqrt(C[0, 0])
print(f'LDL of anyone: {mu[1]:.0f} ± {np.sqrt(Sigma[1, 1]):.1f}')
for value, mean in zip(seen[:, 0], means[:, 0], strict=True):
    print(f'given total {value:.0f}: LDL {mean:.0f} ± {deviation:.1f}')
line = LinearRegression().fit(both[:, :1], ldl)
print('linear regression: ', line.predict(seen).round(0))

# %% [markdown]
# The guess for the patient with 250 is 163, and the error bar is less than half as wide as without the measurement. Two
# facts are important. First, the conditional mean is *linear* in the observation: for Gaussian vectors, the best prediction
# of all is linear regression. Second, the conditional covariance *does not depend on the observed value*. We know
# beforehand how uncertain we shall be.

# %% mystnb={"image": {"alt": "Left: the cloud of patients with its ellipses and three vertical lines at total cholesterol 150, 190 and 250; the conditional means lie on a straight line. Right: three bells of equal width for LDL given these values, and a wider grey bell for LDL alone."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
left.plot(*both.T, 'o', color=GREY, ms=1.5, alpha=0.5)
left.plot([80, 300], line.predict([[80], [300]]), color='C4', ls='--', lw=1.2)
t = np.linspace(20, 230, 300)
right.plot(t, density(t, mu[1], Sigma[1, 1]), color=GREY)
right.text(72, 0.0125, 'anyone', color=GREY, ha='right')
for i, (value, mean) in enumerate(zip(seen[:, 0], means[:, 0], strict=True)):
    left.axvline(value, color=f'C{i}', lw=1.2)
    left.plot(value, mean, 'o', color=f'C{i}')
    right.plot(t, density(t, mean, C[0, 0]), color=f'C{i}')
    right.text(mean, 0.0305, f'{value:.0f}', color=f'C{i}', ha='center')
left.set(xlabel='total cholesterol', ylabel='LDL', ylim=(20, 230))
right.set(xlabel='LDL', ylabel='density', ylim=(0, 0.034), title='LDL, given the total');

# %% [markdown] tags=["caption"]
# Given the total cholesterol, the mean of LDL lies on a straight line (dashed), and the bell is narrower and has the same
# width for every value.

# %% [markdown]
# Are the error bars right? We estimate mean and covariance from 300 patients and look at the others, in twenty random
# splits:

# %%
shares = []
for seed in range(20):
    order = np.random.default_rng(seed).permutation(442)
    fitted, others = both[order[:300]], both[order[300:]]
    mean, C = condition(fitted.mean(0), np.cov(fitted.T), known, others[:, :1])
    error = others[:, 1] - mean[:, 0]
    shares.append((abs(error) < 1.645 * np.sqrt(C[0, 0])).mean())
print(f'in the 90 % interval: {np.mean(shares):.3f} on average,'
      f' from {min(shares):.2f} to {max(shares):.2f}')

# %% [markdown]
# They are, for these patients, although neither measurement is exactly normal.
#
# ```{admonition} A tempting mistake
# :class: warning
# If a Gaussian *vector* has uncorrelated coordinates, $\Sigma$ is diagonal, the density is a product, and the coordinates
# are independent. It is not enough that each coordinate is normal. Let $x$ be standard normal, let a fair coin decide the
# sign $s = \pm 1$, and let $y = s x$. Both $x$ and $y$ are normal, and their covariance is $\mathbb{E}[s] \,
# \mathbb{E}[x^2] = 0$. But $|y| = |x|$ always.
# ```

# %%
x = rng.normal(size=20_000)
y = x * rng.choice([-1, 1], size=20_000)
both_small = ((abs(x) < 1) & (abs(y) < 1)).mean()
print(f'covariance: {np.mean(x * y):.3f}')
print(f'both within (-1, 1): {both_small:.2f},'
      f' if independent {np.mean(abs(x) < 1) ** 2:.2f}')

# %% [markdown]
# ### The precision matrix
#
# The inverse $P = \Sigma^{-1}$ is called the **precision matrix**. As a function of $\mathbf{a}$ alone, the exponent of
# {eq}`ml.mle.gaussian.multivariate` has the quadratic part $-\frac12 \mathbf{a}^\top P_{aa} \mathbf{a}$. To condition is to
# hold $\mathbf{b}$ fixed in this exponent, so
#
# ```{math}
# :label: eq-gauss-precision
# \mathrm{Cov}(\mathbf{a}) = \Sigma_{aa}, \qquad \mathrm{Cov}(\mathbf{a} \mid \mathbf{b}) = \Sigma_{aa} - \Sigma_{ab} \Sigma_{bb}^{-1} \Sigma_{ba} = P_{aa}^{-1} .
# ```
#
# Marginals are blocks of $\Sigma$, and conditionals are blocks of $P$. A zero in $\Sigma$ means independence, a zero
# $P_{ij}$ independence *given all the others*. In a chain, where each number is 0.8 times the one before plus noise, all
# numbers are correlated, but $P$ is zero except next to its diagonal:

# %%
steps = np.arange(5)
chain = 0.8 ** abs(steps[:, None] - steps)
print(chain.round(2))
print((np.linalg.inv(chain) * 0.36).round(2) + 0.0)

# %% [markdown]
# ### Gaussian processes: random functions
#
# The values $f(t_1), f(t_2), \dots$ of a random function can be a Gaussian vector, too. We take the covariance $\Sigma_{ij}
# = \exp(-(t_i - t_j)^2 / 2)$: values at neighbouring points nearly agree, and those at distant points are almost
# independent. Then the function is called a **Gaussian process** {cite}`rasmussen2006gaussian`, and `condition` tells what
# five observed values say about all others:

# %%
t = np.linspace(0, 10, 61)
kernel = np.exp(-((t[:, None] - t) ** 2) / 2) + 1e-9 * np.eye(61)
observed = np.isin(np.arange(61), [6, 15, 24, 33, 51])
values = np.sin(t[observed]) + t[observed] / 5
mean, C = condition(np.zeros(61), kernel, observed, values)
spread = np.sqrt(np.diag(C))
z = np.random.default_rng(5).normal(size=(3, 61))
before = gaussian_from(z, np.zeros(61), kernel)  # (3, 61)
after = gaussian_from(z[:, ~observed], mean, C)  # (3, 56)

# %% mystnb={"image": {"alt": "Left: three smooth random curves wandering between minus two and two. Right: after five values are observed, curves pass through the five points and agree near them, and spread out in the gaps within a band."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.6, sharey=True)
left.plot(t, before.T)
left.set(title='before', xlabel='t', ylabel='f(t)')
right.fill_between(t[~observed], mean - 2 * spread, mean + 2 * spread, color=GREY, alpha=0.25, lw=0)
right.plot(t[~observed], after.T)
right.plot(t[observed], values, 'o', color=GREY)
right.set(title='after five observations', xlabel='t');

# %% [markdown] tags=["caption"]
# Three random functions before and after conditioning on five values. The band, two standard deviations to each side,
# vanishes at the observations and grows in the gaps.

# %% [markdown]
# The term $10^{-9} \mathbf{I}$ in the code is called jitter. The exact matrix is so nearly singular that rounding errors
# make Cholesky fail.
#
# ```{exercise} ★★ Program: partial correlations
# :label: gaussian-partial
# The **partial correlation** of $y_i$ and $y_j$ is their correlation given all other coordinates. Write
# `partial_correlations(Sigma)` for a positive definite array of shape $(D, D)$ with $D \ge 2$: the matrix of all of them
# with ones on the diagonal. Five lines of Python are enough, so invert only once.
# ```

# %%
def partial_correlations(Sigma):
    """All partial correlations: (D, D) -> (D, D), ones on the diagonal.

    partial_correlations(np.array([[1, 0.5], [0.5, 1]])) is
    [[1, 0.5], [0.5, 1]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def partial_by_conditioning(Sigma):
    R = np.eye(len(Sigma))
    for i, j in zip(*np.triu_indices(len(Sigma), k=1), strict=True):
        known = ~np.isin(np.arange(len(Sigma)), (i, j))
        _, C = condition(np.zeros(len(Sigma)), Sigma, known, np.zeros(known.sum()))
        R[i, j] = R[j, i] = C[0, 1] / np.sqrt(C[0, 0] * C[1, 1])
    return R

def well_conditioned(D):
    return matrices(D, D, -2, 2, edges=True).map(lambda A: A @ A.T + np.eye(D))

partial_cases = dict(Sigma=well_conditioned(2) | well_conditioned(3) | well_conditioned(5))
grade(partial_correlations, partial_by_conditioning, lines=12, **partial_cases)

# %% [markdown]
# ```{solution-start} gaussian-partial
# :class: dropdown
# ```
# Given the others, the pair has the covariance $\begin{bmatrix} P_{ii} & P_{ij} \\ P_{ij} & P_{jj} \end{bmatrix}^{-1}$ by
# {eq}`eq-gauss-precision`. Inverting a $2 \times 2$ matrix exchanges the diagonal and changes the sign of the other
# entries, so the correlation is $-P_{ij} / \sqrt{P_{ii} P_{jj}}$. The first wrong answer loses the minus, the second also
# turns the diagonal, and the third gives plain correlations.

# %% jupyter={"source_hidden": true}
def partial_correlations_solution(Sigma):
    P = np.linalg.inv(Sigma)
    d = np.sqrt(np.diag(P))
    return 2 * np.eye(len(P)) - P / np.outer(d, d)

def without_minus(Sigma):
    P = np.linalg.inv(Sigma)
    d = np.sqrt(np.diag(P))
    return P / np.outer(d, d)

def diagonal_turned(Sigma):
    return -without_minus(Sigma)

def plain_correlations(Sigma):
    d = np.sqrt(np.diag(Sigma))
    return Sigma / np.outer(d, d)

assert grade(partial_correlations_solution, partial_by_conditioning, lines=12, **partial_cases)
assert not grade(without_minus, partial_by_conditioning, lines=12, **partial_cases)
assert not grade(diagonal_turned, partial_by_conditioning, lines=12, **partial_cases)
assert not grade(plain_correlations, partial_by_conditioning, lines=12, **partial_cases)
assert not grade(partial_by_conditioning, lambda Sigma: partial_by_conditioning(Sigma), lines=12, **partial_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def multiplies_back(seed, known, reduced):
    known = np.array(known)
    Sigma, mu, y = covariance(seed, 4)
    mean, C = condition(mu, Sigma, known, y[known])
    C = C if reduced else Sigma[~known][:, ~known]
    log_p = multivariate_normal.logpdf
    given = log_p(y[~known], mean, C)
    marginal = log_p(y[known], mu[known], Sigma[known][:, known])
    return close(given + marginal, log_p(y, mu, Sigma))

masks = [
    [True, False, False, True],
    [False, True, True, True],
    [False, False, True, False],
]
verify(
    'conditional times marginal is the joint density',
    lambda seed, known: multiplies_back(seed, known, reduced=True),
    slip=(
        'forgets that the observation reduces the covariance',
        lambda seed, known: multiplies_back(seed, known, reduced=False),
    ),
    seed=seeds(),
    known=masks,
    tries=60,
)

def precision_block(seed, known, inverse):
    known = np.array(known)
    Sigma, mu, y = covariance(seed, 4)
    _, C = condition(mu, Sigma, known, y[known])
    P = np.linalg.inv(Sigma)[~known][:, ~known]
    return close(C, np.linalg.inv(P) if inverse else P)

verify(
    'the conditional covariance is the inverse of a block of the precision',
    lambda seed, known: precision_block(seed, known, inverse=True),
    slip=(
        'forgets to invert the block of the precision',
        lambda seed, known: precision_block(seed, known, inverse=False),
    ),
    seed=seeds(),
    known=masks,
    tries=60,
)

# %% tags=["checks"]
def gap_is(share):  # within five standard errors of a covariance of x and s x: Var(x y) = E x^4 = 3
    return bool(abs(np.mean(x * y) - share) < 5 * np.sqrt(3 / 20_000))

verify(
    'x and s x are uncorrelated, normal and dependent',
    lambda share: gap_is(share) and kstest(y, norm.cdf).statistic < np.sqrt(np.log(2e6) / 40_000)
    and bool((abs(x) == abs(y)).all()),
    slip=('takes them for equal', lambda share: gap_is(share + 1)), share=[0.0],
)
# twenty splits share patients: their mean is as certain as the share of 442 patients at best
verify(
    'the 90 % intervals of LDL hold about 90 % of the other patients',
    lambda level: bool(abs(np.mean(shares) - level) < 2 * np.sqrt(0.9 * 0.1 / 442)),
    slip=('promises 95 % where it means 90 %',
          lambda level: bool(abs(np.mean(shares) - level - 0.05) < 2 * np.sqrt(0.9 * 0.1 / 442))),
    level=[0.9],
)
assert close(line.predict(seen), means[:, 0])
assert deviation < np.sqrt(Sigma[1, 1]) / 2
from_all = kernel[~observed][:, observed] @ np.linalg.inv(kernel[observed][:, observed])
assert close(mean, from_all @ values)

# %% [markdown]
# ## Where it matters: a Gaussian completes half a digit
#
# We cover the lower half of a handwritten digit of $8 \times 8$ pixels. What is underneath? We treat a picture as a
# Gaussian vector with the mean and the covariance of 1200 pictures, and condition on the upper 32 pixels.
#
# There is one obstacle. Some pixels at the rim are never inked, so their variance is zero, and $\Sigma$ is not positive
# definite. We add $\tau^2 \mathbf{I}$ with $\tau^2 = 0.01$, as if each pixel were measured with a small error.

# %%
x, digit, _ = digits()          # (1797, 64), (1797,)
upper = np.arange(64) < 32      # the observed half

def fit(pictures, tau2=0.01):
    S = np.cov(pictures.T, bias=True)
    return pictures.mean(0), S + tau2 * np.eye(64)

# %%
order = np.random.default_rng(0).permutation(len(x))
train, test = order[:1200], order[1200:]
S = np.cov(x[train].T)
print(f'rank of the covariance: {np.linalg.matrix_rank(S)} of 64')
mu, Sigma = fit(x[train])
one, C = condition(mu, Sigma, upper, x[test][:, upper])  # (597, 32)

# %% [markdown]
# The conditional mean is linear in the upper half. It is the prediction of ridge regression, `Ridge(1200 * 0.01)` in
# scikit-learn.
#
# But ten kinds of digits are hardly one ellipsoid. So we also fit one Gaussian to each kind and let [Bayes'
# theorem](bayes_theorem.ipynb) weigh them. Given the upper half $\mathbf{b}$, digit $c$ has a weight proportional to $\pi_c
# \, \mathcal{N}(\mathbf{b} \mid \boldsymbol\mu_{c,b}, \Sigma_{c,bb})$: its share among all digits times a *marginal*
# density. The prediction is the weighted mean of ten *conditional* means.

# %%
def ten_gaussians(train, b):    # b (n, 32) -> (n, 32), weights (10, n)
    log_w, means = [], []
    for c in range(10):
        mine = x[train][digit[train] == c]
        mu, Sigma = fit(mine)
        log_p = gaussian_logpdf(b, mu[upper], Sigma[upper][:, upper])
        log_w.append(np.log(len(mine) / len(train)) + log_p)
        means.append(condition(mu, Sigma, upper, b)[0])
    w = np.exp(log_w - logsumexp(log_w, axis=0))
    return np.einsum('cn,cnd->nd', w, means), w

# %%
ten, weight = ten_gaussians(train, x[test][:, upper])
named = (weight.argmax(0) == digit[test]).mean()
print(f'named right from the upper half alone: {named:.2f}')

# %% [markdown]
# As references we take the mean picture, and the lower half of the training picture whose upper half is nearest. Five
# random splits give the spread:

# %%
def guesses(train, b):
    mu, Sigma = fit(x[train])
    seen = x[train][:, upper]
    far = (seen**2).sum(1) - 2 * b @ seen.T  # plus a constant per row
    return {'mean picture': mu[~upper],
            'nearest picture': x[train][far.argmin(1)][:, ~upper],
            'one Gaussian': condition(mu, Sigma, upper, b)[0],
            'ten Gaussians': ten_gaussians(train, b)[0]}

# %%
errors = []
for seed in range(5):
    order = np.random.default_rng(seed).permutation(len(x))
    found = guesses(order[:1200], x[order[1200:]][:, upper])
    truth = x[order[1200:]][:, ~upper]
    errors.append([np.sqrt(((g - truth) ** 2).mean())
                   for g in found.values()])
for name, e in zip(found, np.transpose(errors), strict=True):
    print(f'{name:16} root mean square error {e.mean():.3f} ± {e.std():.3f}')

# %% mystnb={"image": {"alt": "Four rows of ten digits. The first is the truth, the second shows only the upper half, the third the completion by one Gaussian, blurred, the fourth the completion by ten Gaussians, mostly sharp and right."}} tags=["hide-input"]
chosen = [np.flatnonzero(digit[test] == c)[1] for c in range(10)]
rows = {'truth': x[test][:, ~upper], 'seen': np.full((len(test), 32), np.nan), 'one': one, 'ten': ten}
fig, axes = panels(10, rows=4, height=0.62)
for row, (name, lower) in zip(axes, rows.items(), strict=True):
    for ax, i in zip(row, chosen, strict=True):
        show_image(ax, np.append(x[test][i, upper], lower[i]).reshape(8, 8), vmin=0, vmax=1)
    row[0].set_ylabel(name, rotation=0, ha='right', va='center');

# %% [markdown] tags=["caption"]
# From the upper half of a digit, one Gaussian completes a blur. Ten Gaussians, one for each digit and weighed by Bayes'
# theorem, complete most of them more sharply.

# %% [markdown]
# Are the error bars right here, too? If pictures were Gaussian, the remaining error $\mathbf{r}$ would give a chi-squared
# number $\mathbf{r}^\top \mathrm{Cov}(\mathbf{a} \mid \mathbf{b})^{-1} \mathbf{r}$ with 32 degrees of freedom:

# %%
r = x[test][:, ~upper] - one    # (597, 32)
radius2 = (r * np.linalg.solve(C, r.T).T).sum(1)
for level in (0.5, 0.9):
    inside = (radius2 < chi2.ppf(level, 32)).mean()
    print(f'promised {level:.0%}, found {inside:.0%}')
spread = radius2.std() / radius2.mean()
print(f'relative spread: {spread:.2f}, if Gaussian {np.sqrt(2 / 32):.2f}')

# %% [markdown]
# They are not. The term $\tau^2 \mathbf{I}$ makes the regions too large, and no factor could mend them, because the squared
# radii spread nearly twice as far as those of Gaussian vectors. So the two halves of {prf:ref}`thm-gaussian-conditioning`
# need different things. The mean is the best *linear* prediction for all vectors with this mean and covariance. The error
# bar needs a Gaussian vector.
#
# ```{exercise} ★★ Experiment: which half says most?
# :label: gaussian-halves
# We show 32 of the 64 pixels and let one Gaussian predict the others. Predict the order of the root mean square errors,
# least error first, as a list of four letters: `'U'`, the upper half is shown; `'R'`, every second row; `'C'`, every second
# column; `'S'`, every second pixel, as the dark squares of a chessboard. Then measure and explain.
# ```

# %%
def predicted_halves():
    """The letters 'U', 'R', 'C' and 'S', least error first: a list."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
row, column = np.indices((8, 8))
shown_pixels = {'U': row < 4, 'R': row % 2 == 0, 'C': column % 2 == 0, 'S': (row + column) % 2 == 0}

def error_of(letter):
    known = shown_pixels[letter].ravel()
    guess, _ = condition(*fit(x[train]), known, x[test][:, known])
    return np.sqrt(((guess - x[test][:, ~known]) ** 2).mean())

def is_measured(letters):
    letters = list(letters)
    if sorted(letters) != sorted(shown_pixels):
        raise ValueError('name each of the letters U, R, C and S once')
    if letters != sorted(shown_pixels, key=error_of):
        raise ValueError('another order is measured; try the four and compare')
    return True

grade(lambda: is_measured(predicted_halves()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} gaussian-halves
# :class: dropdown
# ```
# A pixel is predicted best by its neighbours. On the chessboard nearly every hidden pixel has four visible ones, between
# rows or columns it has two, and most pixels of the lower half have none. Strokes of digits are more often steep than flat,
# so a pixel resembles the pixels above and below it more than those beside it, and rows are better than columns. The wrong
# answers exchange rows and columns, put the upper half first, or name a letter twice.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured(['S', 'R', 'C', 'U']), lambda: True, [()])
assert not grade(lambda: is_measured(['S', 'C', 'R', 'U']), lambda: True, [()])  # beside is as good as above
assert not grade(lambda: is_measured(['U', 'S', 'R', 'C']), lambda: True, [()])  # one connected part says most
assert not grade(lambda: is_measured(['S', 'S', 'C', 'U']), lambda: True, [()])  # one letter twice
S = np.corrcoef(x[train] @ np.eye(64) + 1e-9 * np.random.default_rng(0).normal(size=(1200, 64)), rowvar=False)
S = S.reshape(8, 8, 8, 8)[2:6, 2:6, 2:6, 2:6]
i = np.arange(3)
print(f'mean correlation with the pixel below:  {np.mean([S[i, j, i + 1, j] for j in range(4)]):.2f}')
print(f'mean correlation with the pixel beside: {np.mean([S[j, i, j, i + 1] for j in range(4)]):.2f}')
for letter in shown_pixels:
    print(letter, f'{error_of(letter):.3f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def is_regression(model):
    model.fit(x[train][:, upper], x[train][:, ~upper])
    return close(model.predict(x[test][:, upper]), one)

verify(
    'the conditional mean is ridge regression',
    lambda: is_regression(Ridge(alpha=1200 * 0.01)),
    slip=('fits without a penalty', lambda: is_regression(LinearRegression())),
)

def weights_by_scipy(c, prior):  # up to a factor that all c share
    mu, Sigma = fit(x[train][digit[train] == c])
    log_p = multivariate_normal(mu[upper], Sigma[upper][:, upper]).logpdf(x[test][:, upper])
    return log_p + prior * np.log((digit[train] == c).mean())

def weights_agree(prior):
    log_w = np.array([weights_by_scipy(c, prior) for c in range(10)])
    return close(weight, np.exp(log_w - logsumexp(log_w, axis=0)))

verify(
    'the weights of the ten Gaussians are posteriors', lambda prior: weights_agree(prior),
    slip=('forgets how common each digit is', lambda prior: weights_agree(0 * prior)), prior=[1],
)

verify(
    'ten Gaussians have the least error in each of five splits',
    lambda seed, place: int(np.argmin(errors[seed])) == place,
    slip=('expects one Gaussian to be best', lambda seed, place: int(np.argmin(errors[seed])) == place - 1),
    seed=[*range(5)], place=[3],
)
assert spread > 1.6 * np.sqrt(2 / 32)

# %% [markdown]
# ## Summary
#
# A Gaussian vector is a linear image of independent standard normal numbers, and its mean and covariance determine it.
# Marginals are blocks of the covariance, and conditionals are blocks of its inverse: the conditional mean is linear
# regression, and the conditional covariance does not depend on what was observed. Cholesky's triangle computes densities
# and draws samples, and predictions of the mean survive where data are not Gaussian, but error bars do not.
#
# **Further reading.** {cite}`maxwell1860illustrations` found the bell in the velocities of gas molecules by Herschel's
# argument; {cite}`bishop2006pattern` derives marginals and conditionals by completing the square,
# {cite}`rasmussen2006gaussian` carry them on to functions, and {cite}`vershynin2018high` explains high dimensions.
