# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The Gaussian distribution
#
# - **Question.** Why this bell and no other, and what does a cloud of many jointly Gaussian numbers let you compute
#   exactly?
# - **You need** densities and covariances from [Expectations](expectations.ipynb), Cholesky's triangles from [LU
#   decomposition](../linear_algebra/lu_decomposition.ipynb), and
#   [eigenvectors](../linear_algebra/eigendecomposition.ipynb).
# - **You build** log-densities that survive hundreds of dimensions, marginals and conditionals, samplers for points and
#   for functions, and a program that completes half-covered digits.
# - **Time** 6 s.

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
from scipy.integrate import quad
from scipy.linalg import solve_triangular
from scipy.special import logsumexp
from scipy.stats import chi2, kstest, laplace, multivariate_normal, norm
from sklearn.linear_model import LinearRegression, Ridge

from nbutils.cases import integers, matrices, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.data import digits
from nbutils.figures import GREY, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## The normal distribution: one bell
#
# Drop a dart on a point of the floor, many times. Suppose only two things about where it lands, $(x, y)$ from the target:
# the errors to the east and to the north are independent, and no direction is preferred. John Herschel saw in 1850 that
# this fixes the law, up to one number.
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
# For $\sigma = 1$ the same two darts give the constant. In polar coordinates the plane integral of
# $e^{-(x^2 + y^2)/2}$ is elementary, because the circle of radius $r$ brings its length $2\pi r$ along:
#
# ```{math}
# :label: eq-gauss-constant
# \Big( \int e^{-x^2/2} dx \Big)^2 = \int_0^\infty e^{-r^2/2} \, 2\pi r \, dr = 2\pi \Big[ {-e^{-r^2/2}} \Big]_0^\infty = 2\pi .
# ```
#
# So $\varphi(z) = e^{-z^2/2} / \sqrt{2\pi}$ is a density, that of a *standard normal* variable $z$. Its mean is zero
# by symmetry, its variance is $\int z \cdot z \varphi(z) \, dz = [-z\varphi(z)] + \int \varphi(z) \, dz = 1$ by parts,
# as $\varphi' = -z\varphi$. Stretch it by $\sigma$ and move it to $\mu$: $y = \mu + \sigma z$ has mean $\mu$ and
# variance $\sigma^2$, and since $\sigma$ times as much room holds the same mass, the density
# $\frac1\sigma \varphi\big( \frac{y - \mu}{\sigma} \big)$, that is
#
# ```{math}
# :label: ml.mle.gaussian.univariate
# p(y \mid \mu, \sigma^2) = \mathcal{N}(y \mid \mu, \sigma^2) = \frac{1}{\sqrt{2\pi\sigma^2}} \exp\Big[ -\frac{(y - \mu)^2}{2\sigma^2} \Big] .
# ```
#
# As code, beside the function of SciPy, which takes the standard deviation $\sigma$ in place of $\sigma^2$:

# %%
def bell(y, mu, sigma2):
    return np.exp(-((y - mu) ** 2) / (2 * sigma2)) / np.sqrt(
        2 * np.pi * sigma2)

print(f'{bell(1.0, mu=0.5, sigma2=4.0):.4f}, '
      f'scipy {norm.pdf(1.0, 0.5, 2.0):.4f}')

# %% [markdown]
# Two independent standard normals have the joint density $e^{-(x^2 + y^2)/2} / 2\pi$, a hill with circles as level lines.
# Two independent Laplace variables, with density $\frac12 e^{-|x|}$, have squares, so some directions are different from
# others.

# %%
t = np.linspace(-4, 4, 161)
pairs = {
    law: np.add.outer(p.logpdf(t), p.logpdf(t))
    for law, p in (('Gaussian', norm), ('Laplace', laplace))
}
bells = [(0, 1), (-2, 0.25), (2, 2)]

# %% mystnb={"image": {"alt": "Left: three bell curves with different centres and widths. Middle: level lines of two independent Gaussian coordinates, concentric circles. Right: level lines of two independent Laplace coordinates, concentric squares standing on a corner."}} tags=["hide-input"]
fig, axes = panels(3, height=2.4)
for mu, sigma2 in bells:
    axes[0].plot(t, bell(t, mu, sigma2))
    axes[0].text(mu, bell(mu, mu, sigma2) + 0.02, f'{mu}, {sigma2}',
                 ha='center', color=axes[0].lines[-1].get_color())
axes[0].set(xlabel='y', ylabel='density', title='µ, σ²', ylim=(0, 0.92))
for ax, (law, log_p) in zip(axes[1:], pairs.items(), strict=True):
    top = log_p.max()
    levels = top - np.array([4.5, 3, 2, 1, 0.3])
    ax.contour(t, t, log_p, levels=levels, colors='C0', linestyles='-')
    ax.set(title=f'two {law}', xlabel='x', aspect='equal')
    ax.set(xlim=(-3.4, 3.4), ylim=(-3.4, 3.4), xticks=[-2, 0, 2])
axes[1].set(ylabel='y', yticks=[-2, 0, 2])
axes[2].set(yticks=[-2, 0, 2]);

# %% [markdown] tags=["caption"]
# Left: $\mu$ moves the bell and $\sigma^2$ widens it. Middle and right: two independent standard Gaussian coordinates prefer
# no direction, two independent Laplace coordinates do.

# %% [markdown]
# The circular symmetry proves more. A unit vector $\mathbf{a}$ is a direction like any other, so
# $\mathbf{a}^\top \mathbf{z}$ is distributed like the first coordinate $z_1$: standard normal. Now let
# $y_i = \mu_i + \sigma_i z_i$ be two independent Gaussian variables. Their sum is
# $\mu_1 + \mu_2 + (\sigma_1, \sigma_2) \cdot \mathbf{z}$, and $(\sigma_1, \sigma_2)$ is a direction times its length.
# Therefore
#
# ```{math}
# :label: eq-gauss-sum
# y_1 + y_2 \sim \mathcal{N}(\mu_1 + \mu_2, \; \sigma_1^2 + \sigma_2^2) .
# ```
#
# Variances add for any independent variables; that the sum is a bell again is the special property. Standard deviations do
# not add: with $\sigma_1 = 3$ and $\sigma_2 = 4$ the sum has the standard deviation 5, not 7.
#
# ```{exercise} ★★ Program: two thermometers
# :label: gaussian-fuse
# Two instruments measure one temperature $x$. The first says that $x$ has the density $\mathcal{N}(x \mid m_1, v_1)$,
# the second, independently, $\mathcal{N}(x \mid m_2, v_2)$. The combined opinion is proportional to the product of
# both densities. Show that it is Gaussian and write `fuse(m1, v1, m2, v2)`, which gives its mean and its variance.
# ```

# %%
def fuse(m1, v1, m2, v2):  # -> (mean, variance)
    raise NotImplementedError('your turn')

# %%
def fuse_by_quadrature(m1, v1, m2, v2):
    p = lambda x: norm.pdf(x, m1, v1**0.5) * norm.pdf(x, m2, v2**0.5)
    mass, first, second = (
        quad(lambda x: x**k * p(x), -30, 30, points=(m1, m2))[0]
        for k in range(3)
    )
    return first / mass, second / mass - (first / mass) ** 2

readings = [(20., 1., 22., 1.), (20., 4., 21., 0.5), (-1., 0.3, 2., 9.)]
grade(fuse, fuse_by_quadrature, readings)

# %% [markdown]
# ```{solution-start} gaussian-fuse
# :class: dropdown
# ```
# Exponents add: $-\frac12 \big[ (x - m_1)^2 / v_1 + (x - m_2)^2 / v_2 \big]$ is a parabola in $x$, so the product is a
# bell. The coefficient of $x^2$ says $\frac1v = \frac1{v_1} + \frac1{v_2}$ (*precisions* add), that of $x$ says
# $\frac mv = \frac{m_1}{v_1} + \frac{m_2}{v_2}$: each reading counts by its precision. Weighing by the variance
# instead trusts the worse instrument.

# %% jupyter={"source_hidden": true}
def fuse_solution(m1, v1, m2, v2):
    v = 1 / (1 / v1 + 1 / v2)
    return v * (m1 / v1 + m2 / v2), v

def weighs_by_variance(m1, v1, m2, v2):
    return (v1 * m1 + v2 * m2) / (v1 + v2), v1 * v2 / (v1 + v2)

assert grade(fuse_solution, fuse_by_quadrature, readings)
assert not grade(weighs_by_variance, fuse_by_quadrature, readings)

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
    lambda mu, sigma2: is_the_bell(mu, sigma2, bell),
    slip=(
        'takes the standard deviation for the variance',
        lambda mu, sigma2: is_the_bell(
            mu, sigma2, lambda y, m, v: bell(y, m, np.sqrt(v))
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
    got = (bell(s - u, 1, v1) * bell(u, -3, v2)).sum() * h
    return close(got, bell(s, -2, v), rtol=1e-9, atol=1e-14)

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

# %% [markdown]
# ## The multivariate Gaussian density
#
# Random variables are *independent* if their joint density is the product of their own,
# $p(y_1, \dots, y_D) = p(y_1) \cdots p(y_D)$. For $D$
# independent standard normals the product is $(2\pi)^{-D/2} e^{-\|\mathbf{z}\|^2/2}$, which depends on the length
# only: a round cloud. Every other Gaussian cloud is this one, stretched, sheared and moved.
#
# ```{prf:definition} Gaussian vector
# :label: def-gaussian-vector
# A random vector is *Gaussian* if it is distributed like $\mathbf{y} = \boldsymbol\mu + A \mathbf{z}$ with independent
# standard normal $z_1, \dots, z_k$, a vector $\boldsymbol\mu \in \mathbb{R}^D$ and a matrix
# $A \in \mathbb{R}^{D \times k}$.
# ```
#
# As for the single bell, everything follows from $\mathbf{z}$. The mean is $\boldsymbol\mu$, the covariance
# $\Sigma = \mathbb{E}[(\mathbf{y} - \boldsymbol\mu)(\mathbf{y} -
# \boldsymbol\mu)^\top] = A \, \mathbb{E}[\mathbf{z}\mathbf{z}^\top] A^\top = A A^\top$. These two say all: if
# $A A^\top = B B^\top$, fill up with zero columns to equal width; then $B = A Q$ with an orthogonal $Q$, and the cloud
# $Q\mathbf{z}$ is as round as $\mathbf{z}$. So $\mathcal{N}(\boldsymbol\mu, \Sigma)$ is well defined.
#
# If $A$ is square and invertible, $\mathbf{z} = A^{-1}(\mathbf{y} - \boldsymbol\mu)$, and volumes near
# $\mathbf{y}$ are $|\det A|$ times those near $\mathbf{z}$. So the density of $\mathbf{y}$ is
# $(2\pi)^{-D/2} |\det A|^{-1} e^{-\|A^{-1}(\mathbf{y} - \boldsymbol\mu)\|^2 / 2}$. Now $\det \Sigma = (\det A)^2$ and
# $\|A^{-1} \mathbf{v}\|^2 = \mathbf{v}^\top (A A^\top)^{-1} \mathbf{v}$, which leaves
#
# ```{math}
# :label: ml.mle.gaussian.multivariate
# \mathcal{N}(\mathbf{y} \mid \boldsymbol\mu, \Sigma) = \frac{1}{\sqrt{(2\pi)^D \det(\Sigma)}}
# \exp\Big[ -\frac12 (\mathbf{y} - \boldsymbol\mu)^\top \Sigma^{-1} (\mathbf{y} - \boldsymbol\mu) \Big] .
# ```
#
# Letter by letter, for a random covariance and a point in three dimensions:
# %%
def covariance(seed, D):  # a generic one, a mean and a point
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(D, D)) + 2 * np.eye(D)
    return A @ A.T, rng.normal(size=D), rng.normal(size=D)

def as_displayed(y, mu, Sigma, D):
    v = y - mu
    constant = np.sqrt((2 * np.pi) ** D * np.linalg.det(Sigma))
    return np.exp(-0.5 * v @ np.linalg.inv(Sigma) @ v) / constant

Sigma, mu, y = covariance(seed=0, D=3)
print(f'{as_displayed(y, mu, Sigma, D=3):.5f}, '
      f'scipy {multivariate_normal.pdf(y, mu, Sigma):.5f}')

# %% [markdown]
# **Which $\Sigma$ are allowed?** For every $\mathbf{v}$,
# $\mathbf{v}^\top \Sigma \mathbf{v} = \mathbb{E}\big[ (\mathbf{v}^\top (\mathbf{y} - \boldsymbol\mu))^2 \big] \ge 0$:
# a covariance is symmetric and positive *semi*definite ("psd"). For the *law* that is enough, as
# $\Sigma = A A^\top$ has a solution (eigenvectors times roots of eigenvalues). For the *density* it is not. If
# $\mathbf{v}^\top \Sigma \mathbf{v} = 0$ for some $\mathbf{v} \ne \mathbf{0}$, then $\mathbf{v}^\top \mathbf{y}$ is
# constant, the whole cloud lies in a plane of volume zero, and in the formula $\det \Sigma = 0$. So
# {eq}`ml.mle.gaussian.multivariate` needs
#
# ```{math}
# :label: ml.mle.gaussian.sigma-psd
# \Sigma = \Sigma^\top, \qquad \mathbf{v}^\top \Sigma \, \mathbf{v} > 0 \quad \text{for all } \mathbf{v} \ne \mathbf{0} ,
# ```
#
# positive *definite*.
#
# **On a computer** neither the inverse nor the determinant should appear. The determinant of $\frac{1}{100} I$ in 400
# dimensions is $(10^{-2})^{400} = 10^{-800}$, zero in floating point, and its logarithm is $-\infty$. Take instead
# Cholesky's lower triangle, $\Sigma = L L^\top$ with positive diagonal ({prf:ref}`thm-cholesky`). It is the most
# convenient $A$: the quadratic form is $\|L^{-1}(\mathbf{y} - \boldsymbol\mu)\|^2$, one forward substitution, and
# $\tfrac12 \log\det \Sigma = \sum_i \log L_{ii}$. Cholesky also refuses every $\Sigma$ that is not positive definite,
# so the condition is tested for free.

# %%
def gaussian_logpdf(y, mu, Sigma):  # y (..., D) -> (...)
    L = np.linalg.cholesky(Sigma)
    z = solve_triangular(L, np.reshape(y - mu, (-1, len(mu))).T, lower=True)
    log_p = -0.5 * (z**2).sum(0) - np.log(np.diag(L)).sum()
    return (log_p - len(mu) / 2 * np.log(2 * np.pi)).reshape(y.shape[:-1])

thin = 0.01 * np.eye(400)
got = gaussian_logpdf(np.full(400, 0.2), np.zeros(400), thin)
assert close(got, 400 * norm.logpdf(0.2, 0, 0.1))
print('determinant underflows:', np.linalg.det(thin) == 0)
print(f'log-density by Cholesky: {got:.1f}')

# %% [markdown]
# **The shape.** The density is constant where
# $(\mathbf{y} - \boldsymbol\mu)^\top \Sigma^{-1} (\mathbf{y} - \boldsymbol\mu) = r^2$, the image of the sphere
# $\|\mathbf{z}\| = r$: an ellipsoid. Its half-axes point along the eigenvectors of $\Sigma$ and are $r\sqrt{\lambda_i}$
# long, since $A = V \mathrm{diag}(\sqrt{\lambda_i})$ is one of the admissible matrices. If $\Sigma$ is diagonal, axes are
# parallel to the coordinates, the exponential of the sum splits into a product, and the coordinates are independent.
# Conversely, independence makes covariances vanish. So *for a Gaussian vector, uncorrelated means independent*; the same
# holds for blocks, and without a density, too: a block-diagonal $\Sigma$ is $A A^\top$ with a block-diagonal $A$, and then
# the blocks are made of different $z_i$.

# %%
shapes = {
    'isotropic': np.diag([1, 1.0]), 'diagonal': np.diag([2.5, 0.4]),
    'full': np.array([[2.0, 1.2], [1.2, 1.0]]),
}
t = np.linspace(-5, 5, 121)
grid = np.stack(np.meshgrid(t, t), axis=-1)  # (121, 121, 2)
hills = {k: gaussian_logpdf(grid, np.zeros(2), S) for k, S in shapes.items()}
axes_of = {  # rows: half-axes of the ellipse of radius 2
    k: 2 * (np.sqrt(lam) * V).T
    for k, (lam, V) in ((k, np.linalg.eigh(S)) for k, S in shapes.items())
}
for k, ends in axes_of.items():  # on the level line of radius 2
    drop = gaussian_logpdf(ends, np.zeros(2), shapes[k]) - hills[k].max()
    assert close(drop, [-2, -2]) and abs(ends[0] @ ends[1]) < 1e-12

# %% mystnb={"image": {"alt": "Level lines of three Gaussian densities in the plane: circles; ellipses parallel to the axes; tilted ellipses. In each panel two are solid, at radius 1 and 2, and the outermost, at radius 3, is dotted. The half-axes of the one of radius 2 are drawn along the eigenvectors."}} tags=["hide-input"]
fig, axes = panels(3, height=2.3, sharey=True)
for ax, (name, hill) in zip(axes, hills.items(), strict=True):
    drops = hill.max() - np.array([3, 2, 1, 0]) ** 2 / 2
    ax.contour(t, t, hill, levels=drops[1:3], colors='C0', linestyles='-')
    ax.contour(t, t, hill, levels=drops[:1], colors='C0', linestyles=':')
    for end in axes_of[name]:
        ax.plot([0, end[0]], [0, end[1]], color='C1')
    ax.set(title=name, xlabel='y₁', aspect='equal')
axes[0].set(ylabel='y₂');

# %% [markdown] tags=["caption"]
# The level lines of a Gaussian density are ellipses along the eigenvectors of $\Sigma$ with half-axes $r \sqrt{\lambda_i}$:
# circles for $\Sigma = I$, parallel to the axes for a diagonal $\Sigma$.

# %% [markdown]
# Solid lines are at radius 1 and 2, dotted ones at 3. How much is inside? The squared radius $\|\mathbf{z}\|^2$ has
# the *chi-squared* law with $D$ degrees of freedom, whatever $\Sigma$ is. For $D = 2$ the integral is that of
# {eq}`eq-gauss-constant`, stopped at $r$:
#
# ```{math}
# :label: eq-gauss-radius
# \Pr( \|\mathbf{z}\| \le r ) = 1 - e^{-r^2/2} .
# ```
#
# So the ellipse of radius 1 holds the share $1 - e^{-1/2} \approx 0.39$, not the 68 % of an interval. The larger $D$,
# the emptier the middle: $\mathbb{E}\|\mathbf{z}\|^2 = D$ with variance $2D$ (each $z_i^2$ has variance
# $\mathbb{E}[z^4] - 1 = 2$), so the length is $\sqrt{D}$ up to about $\sqrt{2D} / 2\sqrt{D} = \sqrt{1/2}$. The highest
# density is at the centre, but a sample is hardly ever near it.

# %%
z = np.random.default_rng(0).normal(size=(4000, 1000))
length = np.linalg.norm(z, axis=1)
assert abs(length.mean() - np.sqrt(1000)) < 0.06
print(f'1000 dimensions: length {length.mean():.1f} ± {length.std():.2f}')
radius = np.linspace(0.01, 13, 400)
shells = {D: 2 * radius * chi2.pdf(radius**2, D) for D in (1, 2, 10, 100)}

# %% mystnb={"image": {"alt": "Density of the length of a standard normal vector in 1, 2, 10 and 100 dimensions. In one it falls from its peak at zero; the others are humps of about equal width that move right, with peaks at about 1, 3 and 10."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.3))
for D, density in shells.items():
    ax.plot(radius, density)
    peak = density.argmax()
    ax.text(radius[peak] + 0.45, density[peak] - 0.05, f'D = {D}',
            color=ax.lines[-1].get_color())
ax.set(xlabel='length of z', ylabel='density', ylim=(0, 0.85), xlim=(0, 13))
ax.set_title('How far from the centre is a sample?');

# %% [markdown] tags=["caption"]
# In $D$ dimensions a standard normal vector has length about $\sqrt{D}$, with a spread that hardly changes; for large $D$
# hardly a sample comes near the centre.

# %% [markdown]
# ```{exercise} ★ Program: a region for 95 per cent
# :label: gaussian-ellipse
# A drone reports its position in the plane with a Gaussian error of covariance $\Sigma$. Write `half_axes(Sigma,
# level)`: the lengths of the half-axes, in increasing order, of the ellipse around the report that contains the drone
# with probability `level`.
# ```

# %%
def half_axes(Sigma, level):  # (2, 2), () -> (2,)
    raise NotImplementedError('your turn')

# %%
def half_axes_by_svd(Sigma, level):  # the singular values of r L
    L = np.linalg.cholesky(Sigma)
    stretch = np.linalg.svd(L)[1]
    return np.sqrt(chi2.ppf(level, 2)) * stretch[::-1]

reports = [
    (np.array([[2.0, 1.2], [1.2, 1.0]]), 0.95),
    (np.diag([4.0, 0.25]), 0.5), (np.array([[1, -0.9], [-0.9, 1]]), 0.99),
]
grade(half_axes, half_axes_by_svd, reports)

# %% [markdown]
# ```{solution-start} gaussian-ellipse
# :class: dropdown
# ```
# Solve {eq}`eq-gauss-radius` for $r = \sqrt{-2 \log(1 - \mathtt{level})}$; the half-axes are $r \sqrt{\lambda_i}$. For
# 95 % that is $r = \sqrt{-2 \ln 0.05} \approx 2.45$. The famous 1.96 belongs to one coordinate, and its ellipse holds
# only the share $1 - e^{-1.96^2/2} \approx 0.85$.

# %% jupyter={"source_hidden": true}
def half_axes_solution(Sigma, level):
    r = np.sqrt(-2 * np.log(1 - level))
    return r * np.sqrt(np.linalg.eigvalsh(Sigma))

def radius_of_an_interval(Sigma, level):
    r = norm.ppf((1 + level) / 2)
    return r * np.sqrt(np.linalg.eigvalsh(Sigma))

assert grade(half_axes_solution, half_axes_by_svd, reports)
assert not grade(radius_of_an_interval, half_axes_by_svd, reports)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
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

def same_logpdf(seed, D, mu_sign):
    Sigma, mu, _ = covariance(seed, D)
    y = np.random.default_rng(seed).normal(size=(3, 2, D))
    want = multivariate_normal.logpdf(y, mu, Sigma).reshape(3, 2)
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
    return close(gaussian_logpdf(y, np.zeros(2), Sigma), product)

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

# %% [markdown]
# ## Marginal and conditional distributions
#
# This section continues [The multivariate Gaussian density](#the-multivariate-gaussian-density).
# Split a Gaussian vector into two blocks,
#
# ```{math}
# :label: eq-gauss-blocks
# \mathbf{y} = \begin{bmatrix} \mathbf{a} \\ \mathbf{b} \end{bmatrix}, \qquad
# \boldsymbol\mu = \begin{bmatrix} \boldsymbol\mu_a \\ \boldsymbol\mu_b \end{bmatrix}, \qquad
# \Sigma = \begin{bmatrix} \Sigma_{aa} & \Sigma_{ab} \\ \Sigma_{ba} & \Sigma_{bb} \end{bmatrix} .
# ```
#
# *Marginals* cost nothing: some rows of $\boldsymbol\mu + A\mathbf{z}$ are again of this form, so
# $\mathbf{a} \sim \mathcal{N}(\boldsymbol\mu_a, \Sigma_{aa})$. You read off the block, and there is no integral. Now suppose
# that $\mathbf{b}$ has been observed.
#
# ```{prf:theorem} Conditioning
# :label: thm-gaussian-conditioning
# Let $\Sigma_{bb}$ be invertible and $K = \Sigma_{ab} \Sigma_{bb}^{-1}$. Given $\mathbf{b}$, the vector $\mathbf{a}$
# is Gaussian with mean $\boldsymbol\mu_a + K (\mathbf{b} - \boldsymbol\mu_b)$ and covariance
# $\Sigma_{aa} - K \Sigma_{ba}$.
# ```
#
# ```{prf:proof}
# Take away from $\mathbf{a}$ what $\mathbf{b}$ explains linearly:
# $\mathbf{r} = \mathbf{a} - \boldsymbol\mu_a - K (\mathbf{b} - \boldsymbol\mu_b)$. Then
# $\mathrm{Cov}(\mathbf{r}, \mathbf{b}) = \Sigma_{ab} - K \Sigma_{bb} = 0$. The pair $(\mathbf{r}, \mathbf{b})$ is a
# linear image of $\mathbf{y}$, hence Gaussian, hence $\mathbf{r}$ is not only uncorrelated with $\mathbf{b}$ but
# independent of it. Learning $\mathbf{b}$ leaves the law of $\mathbf{r}$ as it was: mean zero and covariance
# $\mathrm{Cov}(\mathbf{r}) = \mathrm{Cov}(\mathbf{r}, \mathbf{a}) = \Sigma_{aa} - K \Sigma_{ba}$. And $\mathbf{a}$ is
# $\mathbf{r}$ plus a vector that is now known.
# ```
#
# Two facts are important. The mean is *linear* in the observation: for Gaussian variables the best prediction of
# all, the conditional mean, is linear regression. And the covariance *does not depend on the observed value*: you know
# before the observation how uncertain you will be after it.

# %%
def condition(mu, Sigma, known, values):  # known: a mask of length D
    a, b = ~known, known
    K = np.linalg.solve(Sigma[b][:, b], Sigma[b][:, a]).T
    mean = mu[a] + (values - mu[b]) @ K.T  # values (..., |b|)
    return mean, Sigma[a][:, a] - K @ Sigma[b][:, a]

# %% [markdown]

# Was it necessary that the *pair* is Gaussian? Let $x$ be standard normal, $s = \pm 1$ a fair coin, and $y = s x$.
# Both $x$ and $y$ are standard normal and $\mathrm{Cov}(x, y) = \mathbb{E}[s] \, \mathbb{E}[x^2] = 0$. Yet
# $|y| = |x|$, so they are far from independent. Two Gaussian marginals do not make a Gaussian vector, and the theorem
# says nothing here.

# %%
rng = np.random.default_rng(3)
x = rng.normal(size=20_000)
y = x * rng.choice([-1, 1], size=20_000)
dkw = np.sqrt(np.log(2e6) / (2 * 20_000))  # exceeded once in 10^6
distance = kstest(y, norm.cdf).statistic
band = 5 * np.sqrt(3 / 20_000)  # Var(x y) = E x^4 = 3
mean = (x * y).mean()
assert distance < dkw and (abs(x) == abs(y)).all()
assert abs(mean) < band < (x * x).mean()
print(f'y: {distance:.4f} from normal, {dkw:.4f} allowed; '
      f'mean of x y: {mean:.4f}, {band:.4f} allowed')
print(f'both within (-1, 1): {((abs(x) < 1) & (abs(y) < 1)).mean():.2f}, '
      f'if independent {np.mean(abs(x) < 1) ** 2:.2f}')

# %% [markdown]
# For a true Gaussian pair, three cuts through the hill:

# %%
mu, Sigma = np.array([1.0, 0.5]), np.array([[2.0, 1.2], [1.2, 1.0]])
t = np.linspace(-4, 6, 201)
grid = np.stack(np.meshgrid(t, t), axis=-1)
hill = gaussian_logpdf(grid, mu, Sigma)
seen = np.array([-1.5, 0.5, 2.5])[:, None]
means, C = condition(mu, Sigma, np.array([False, True]), seen)
slices = norm.pdf(t, means, np.sqrt(C[0, 0]))  # (3, 201)
print(f'standard deviation of a: {np.sqrt(Sigma[0, 0]):.2f}, '
      f'given b: {np.sqrt(C[0, 0]):.2f}')

# %% mystnb={"image": {"alt": "Left: tilted elliptic level lines with three horizontal cuts; the points of highest density on the cuts lie on a straight line. Right: the densities of a given these three values of b, three bells of equal width, beside the wide bell of a alone."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
drops = hill.max() - np.array([3, 2, 1]) ** 2 / 2
left.contour(t, t, hill, levels=drops, colors=GREY, linestyles='-')
left.plot(means, seen, color='C4', ls='--', lw=1.2)
right.plot(t, norm.pdf(t, mu[0], np.sqrt(Sigma[0, 0])), color=GREY)
for i, (value, mean) in enumerate(zip(seen[:, 0], means[:, 0], strict=True)):
    left.axhline(value, color=f'C{i}', lw=1.2)
    left.plot(mean, value, 'o', color=f'C{i}')
    right.plot(t, slices[i])
    right.text(mean, slices[i].max() + 0.02, f'{value:g}',
               ha='center', color=f'C{i}')
left.set(xlabel='a', ylabel='b', title='Joint density, three cuts')
left.set(xlim=(-3.5, 5.5), ylim=(-2.8, 3.8))
right.set(xlabel='a', ylabel='density', ylim=(0, 0.7))
right.set_title('a given these b (grey: a alone)');

# %% [markdown] tags=["caption"]
# Given $b$, the mean of $a$ lies on a straight line in $b$, and its standard deviation, $0.75$ instead of $1.41$, is the
# same for every $b$.

# %% [markdown]
# **The precision matrix.** Complete the square in another order: as a function of $\mathbf{a}$ alone,
# the exponent of {eq}`ml.mle.gaussian.multivariate` has the quadratic part
# $-\frac12 \mathbf{a}^\top P_{aa} \mathbf{a}$, where $P = \Sigma^{-1}$ is the *precision matrix*. Conditioning means
# holding $\mathbf{b}$ fixed in that exponent, so
#
# ```{math}
# :label: eq-gauss-precision
# \mathrm{Cov}(\mathbf{a}) = \Sigma_{aa}, \qquad \mathrm{Cov}(\mathbf{a} \mid \mathbf{b}) = \Sigma_{aa} - \Sigma_{ab} \Sigma_{bb}^{-1} \Sigma_{ba} = P_{aa}^{-1} .
# ```
#
# Marginals are blocks of $\Sigma$, conditionals are blocks of $P$. A zero in $\Sigma$ is independence; a zero $P_{ij}$
# is independence *given all the others*. In a chain $y_1 \to y_2 \to y_3 \to \dots$, where each number depends on its
# neighbour, everything is correlated with everything, but $P$ has three diagonals:

# %%
steps = np.arange(5)
chain = 0.8 ** abs(steps[:, None] - steps)  # y_i = 0.8 y_(i-1) + noise
print(chain.round(2))
print((np.linalg.inv(chain) * 0.36).round(2) + 0.0)

# %% [markdown]
# ```{exercise} ★★ Program: partial correlations
# :label: gaussian-partial
# The *partial correlation* of $y_i$ and $y_j$ is their correlation given all other coordinates. Write
# `partial_correlations(Sigma)`, the matrix of all of them with ones on the diagonal, with a single inversion.
# ```

# %%
def partial_correlations(Sigma):  # (D, D) -> (D, D)
    raise NotImplementedError('your turn')

# %%
def partial_by_conditioning(Sigma):
    D = len(Sigma)
    R = np.eye(D)
    for i, j in zip(*np.triu_indices(D, k=1), strict=True):
        known = ~np.isin(np.arange(D), (i, j))
        zeros = np.zeros(D)
        _, C = condition(zeros, Sigma, known, zeros[known])
        R[i, j] = R[j, i] = C[0, 1] / np.sqrt(C[0, 0] * C[1, 1])
    return R

covariances = [(covariance(seed, D)[0],) for seed, D in ((1, 3), (2, 5))]
grade(partial_correlations, partial_by_conditioning, covariances)

# %% [markdown]
# ```{solution-start} gaussian-partial
# :class: dropdown
# ```
# Given the others, the pair has the covariance $\begin{bmatrix} P_{ii} & P_{ij} \\ P_{ij} & P_{jj} \end{bmatrix}^{-1}$ by
# {eq}`eq-gauss-precision`. Inverting a $2 \times 2$ matrix exchanges the diagonal and changes the sign beside it, so the
# correlation is $-P_{ij} / \sqrt{P_{ii} P_{jj}}$. The minus is easily lost.

# %% jupyter={"source_hidden": true}
def partial_correlations_solution(Sigma):
    P = np.linalg.inv(Sigma)
    d = np.sqrt(np.diag(P))
    return 2 * np.eye(len(P)) - P / np.outer(d, d)

def without_minus(Sigma):
    P = np.linalg.inv(Sigma)
    d = np.sqrt(np.diag(P))
    return P / np.outer(d, d)

assert grade(
    partial_correlations_solution, partial_by_conditioning, covariances)
assert not grade(without_minus, partial_by_conditioning, covariances)

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

# %% [markdown]
# ## Sampling: Box–Muller, Cholesky and Gaussian processes
#
# This section continues [Marginal and conditional distributions](#marginal-and-conditional-distributions). A computer offers
# independent uniform numbers in $(0, 1)$. Equation {eq}`eq-gauss-radius` shows the way to bells: the two darts of the
# beginning, read backwards. Draw a direction $2\pi v$ and a radius with $\Pr(r > t) = e^{-t^2/2}$; since
# $\Pr(\sqrt{-2 \log u} > t) = \Pr(u < e^{-t^2/2})$, the radius is $\sqrt{-2 \log u}$ {cite}`box1958note`:
#
# ```{math}
# :label: eq-box-muller
# z_1 = \sqrt{-2 \log u} \, \cos 2\pi v, \qquad z_2 = \sqrt{-2 \log u} \, \sin 2\pi v .
# ```
#
# The law is round, its radius and its angle are right, so $z_1, z_2$ are independent standard normals:

# %%
def box_muller(u, v, two=2):
    r = np.sqrt(-two * np.log(u))
    return np.stack([r * np.cos(2 * np.pi * v), r * np.sin(2 * np.pi * v)])

z = box_muller(*np.random.default_rng(1).random((2, 10_000)))
print('standard deviations', z.std(1).round(2))
print(f'share of z₁ below 1: {(z[0] < 1).mean():.3f}, '
      f'normal {norm.cdf(1):.3f}')

# %% [markdown]
# From there the definition is the program: any $A$ with $A A^\top = \Sigma$ turns $\mathbf{z}$ into
# $\boldsymbol\mu + A \mathbf{z}$, and $L$ is the cheapest. If samples are rows, the product is $\mathbf{z}^\top L^\top$;
# with $L$ in place of $L^\top$ the covariance would be $L^\top L$, another matrix.
# %%
def sample(mu, Sigma, N, rng):  # -> (N, D)
    L = np.linalg.cholesky(Sigma)
    return mu + rng.normal(size=(N, len(mu))) @ L.T

# %% [markdown]
# **Gaussian processes: random functions.** Let $y_i = f(t_i)$ be the values of a random function on a grid, with
# $\Sigma_{ij} = \exp(-(t_i - t_j)^2 / 2\ell^2)$: close points nearly agree, distant ones are almost independent. A sample
# is a smooth curve, and {prf:ref}`thm-gaussian-conditioning` turns five observed values into curves through them, with an
# error bar where nothing was seen. This is a *Gaussian process* {cite}`rasmussen2006gaussian`.
#
# Rounding errors cause a difficulty here. The function is so smooth that its 61 values are almost linear functions of a few;
# the smallest eigenvalues of $\Sigma$ fall far below the rounding errors of its entries, and Cholesky meets a pivot
# that is not positive. A *jitter* $10^{-9} I$, noise invisible in the picture, repairs it.

# %%
t = np.linspace(0, 10, 61)
kernel = np.exp(-((t[:, None] - t) ** 2) / 2)  # length scale 1
try:
    np.linalg.cholesky(kernel)
    refused = False
except np.linalg.LinAlgError:
    refused = True
assert refused
print('Cholesky refuses the exact kernel:', refused)
jittered = kernel + 1e-9 * np.eye(61)

rng = np.random.default_rng(5)
curves = sample(np.zeros(61), jittered, 3, rng)  # (3, 61)
known = np.isin(np.arange(61), [6, 15, 24, 33, 51])
values = np.sin(t[known]) + t[known] / 5
mean, C = condition(np.zeros(61), jittered, known, values)
after = sample(mean, C, 3, rng)  # (3, 56)
spread = np.sqrt(np.diag(C))
from_all = kernel[~known][:, known] @ np.linalg.inv(kernel[known][:, known])
assert close(mean, from_all @ values)
gap = spread[(~known)[:42].sum()]  # t = 7, in the middle of the gap
want = np.sqrt(1 - kernel[42, known] @ np.linalg.solve(
    kernel[known][:, known], kernel[known, 42]))
assert close(gap, want)
print(f'standard deviation at t = 7: {gap:.2f}, beforehand 1')

# %% mystnb={"image": {"alt": "Left: three smooth random curves wandering between minus two and two. Right: after five values are observed, curves pass through the five points and agree near them, and spread out in the gaps within a band."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.6, sharey=True)
left.plot(t, curves.T)
left.set(title='Before', xlabel='t', ylabel='f(t)')
right.fill_between(t[~known], mean - 2 * spread, mean + 2 * spread,
                   color=GREY, alpha=0.25, lw=0)
right.plot(t[~known], after.T)
right.plot(t[known], values, 'o', color=GREY)
right.set(title='After five observations, ± 2 sd', xlabel='t');

# %% [markdown] tags=["caption"]
# Conditioning 61 jointly Gaussian function values on five of them gives curves through the five points; what is left of the
# spread vanishes there and grows in the gaps.

# %% [markdown]
# ```{exercise} ★★★ Program: move the samples you have
# :label: gaussian-matheron
# Given samples `y` of $\mathcal{N}(\mathbf{0}, \Sigma)$, shape $(N, D)$, you can make samples of the conditional law
# without factoring the conditional covariance: move each sample by a linear function of *its own* error,
# $\mathbf{b} - \mathbf{b}_n$, where $\mathbf{b}$ is the observation and $\mathbf{b}_n$ the block of the sample. Find
# it and write `move(y, Sigma, known, values)`, which gives the moved vectors in full, shape $(N, D)$.
# ```

# %%
def move(y, Sigma, known, values):  # (N, D) -> (N, D)
    raise NotImplementedError('your turn')

# %%
def move_by_residuals(y, Sigma, known, values):
    out = np.empty_like(y)
    out[:, known] = values
    zeros = np.zeros(len(Sigma))
    at_sample, _ = condition(zeros, Sigma, known, y[:, known])
    at_values, _ = condition(zeros, Sigma, known, values)
    out[:, ~known] = at_values + (y[:, ~known] - at_sample)
    return out

moves = []
for seed, known in ((4, [1, 0, 0, 1]), (5, [0, 1, 0, 0])):
    Sigma, mu, y = covariance(seed, 4)
    known = np.array(known, bool)
    moves.append((np.stack([mu, 2 * y, y]), Sigma, known, y[known]))
grade(move, move_by_residuals, moves)

# %% [markdown]
# ```{solution-start} gaussian-matheron
# :class: dropdown
# ```
# In the proof of {prf:ref}`thm-gaussian-conditioning` the residual $\mathbf{r}_n = \mathbf{a}_n - K \mathbf{b}_n$ is
# independent of the observed block. Keep it and replace the block:
# $\mathbf{r}_n + K \mathbf{b} = \mathbf{a}_n + K (\mathbf{b} - \mathbf{b}_n)$. For all coordinates at once the matrix is
# $\Sigma_{\cdot b} \Sigma_{bb}^{-1}$, whose rows for $\mathbf{b}$ are the identity. Whoever adds $K \mathbf{b}$ to the
# sample as it is gets the mean right and leaves the covariance too large. This is *Matheron's rule*
# {cite}`wilson2020efficiently`; the only matrix it inverts is $\Sigma_{bb}$, however many unknowns there are.

# %% jupyter={"source_hidden": true}
def move_solution(y, Sigma, known, values):
    error = values - y[:, known]  # (N, |b|)
    return y + error @ np.linalg.solve(Sigma[known][:, known], Sigma[known])

def keeps_its_own_block(y, Sigma, known, values):
    K = np.linalg.solve(Sigma[known][:, known], Sigma[known])
    return y + values @ K

assert grade(move_solution, move_by_residuals, moves)
assert not grade(keeps_its_own_block, move_by_residuals, moves)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def standard_normal(seed, two, N=10_000):
    z = box_muller(*np.random.default_rng(seed).random((2, N)), two)
    slanted = np.array([[1, 0], [0, 1], [0.6, 0.8]]) @ z  # (3, N)
    dkw = np.sqrt(np.log(2e6) / (2 * N))  # exceeded once in 10^6
    return all(kstest(row, norm.cdf).statistic < dkw for row in slanted)

verify(
    'Box and Muller make standard normal pairs of uniform numbers',
    lambda seed: standard_normal(seed, two=2),
    slip=(
        'loses the 2 under the root',
        lambda seed: standard_normal(seed, two=1),
    ),
    seed=seeds(),
    tries=20,
)

def has_covariance(v, Sigma):  # v (N, D) of mean zero
    # Var(v_i v_j) = Σ_ii Σ_jj + Σ_ij² for a Gaussian vector
    d = np.diag(Sigma)
    band = 5 * np.sqrt((np.outer(d, d) + Sigma**2) / len(v))
    return (abs(v.T @ v / len(v) - Sigma) < band).all()

def on_the_wrong_side(mu, Sigma, N, rng):
    return mu + rng.normal(size=(N, len(mu))) @ np.linalg.cholesky(Sigma)

def samples_well(seed, sampler):
    Sigma, mu, _ = covariance(seed, 3)
    y = sampler(mu, Sigma, 4000, np.random.default_rng(seed))
    near = abs(y.mean(0) - mu) < 5 * np.sqrt(np.diag(Sigma) / 4000)
    return near.all() and has_covariance(y - mu, Sigma)

verify(
    'a Cholesky factor makes samples with the right mean and covariance',
    lambda seed: samples_well(seed, sample),
    slip=(
        'multiplies by L on the wrong side',
        lambda seed: samples_well(seed, on_the_wrong_side),
    ),
    seed=seeds(),
    tries=20,
)

# %% [markdown]
# ## Where it matters: the lower half of a digit
#
# This section continues [Marginal and conditional distributions](#marginal-and-conditional-distributions). Cover the lower
# half of a handwritten digit of $8 \times 8$ pixels. What is underneath? Treat a picture as a Gaussian vector with the mean
# and the covariance of 1200 pictures, and condition on the upper 32 pixels.
#
# The first attempt stops at once, and for the reason of {eq}`ml.mle.gaussian.sigma-psd`: some pixels at the rim are
# never inked, their variance is zero, $\Sigma$ is semidefinite and there is no density. We add $\tau^2 I$ with
# $\tau = \sqrt{0.01} = 0.1$, as if each pixel had been measured with an error of a tenth of the full range.

# %%
x, digit, _ = digits()
order = np.random.default_rng(0).permutation(len(x))
train, test = order[:1200], order[1200:]
upper = np.arange(64) < 32  # the observed half

def fit(pictures, tau2=0.01):
    S = np.cov(pictures.T, bias=True)
    return pictures.mean(0), S + tau2 * np.eye(64)

mu, Sigma = fit(x[train])
rank = np.linalg.matrix_rank(np.cov(x[train].T))
print(f'rank of the covariance: {rank} of 64')
one, C = condition(mu, Sigma, upper, x[test][:, upper])  # (597, 32)

# %% [markdown]
# The conditional mean is linear in the upper half, so some linear regression must give the very same picture. It is ridge
# regression with penalty $N \tau^2$: with the divisor $N$ its coefficients are
# $S_{ab} (S_{bb} + \tau^2 I)^{-1}$, and that is $K$.
#
# Ten kinds of digits are hardly one ellipsoid. So fit one Gaussian to each kind and let [Bayes'
# theorem](bayes_theorem.ipynb) weigh them: the weight of digit $c$, given the upper half $\mathbf{b}$, is proportional
# to $\pi_c \, \mathcal{N}(\mathbf{b} \mid \boldsymbol\mu_{c,b}, \Sigma_{c,bb})$. The prior $\pi_c$ is the digit's
# share, the likelihood a *marginal*; the prediction is the weighted mean of ten *conditional* means.

# %%
def ten_gaussians(train, test):  # prediction (n, 32), weights (10, n)
    b, log_w, means = x[test][:, upper], [], []
    for c in range(10):
        mine = x[train][digit[train] == c]
        mu, Sigma = fit(mine)
        log_p = gaussian_logpdf(b, mu[upper], Sigma[upper][:, upper])
        log_w.append(np.log(len(mine) / len(train)) + log_p)
        means.append(condition(mu, Sigma, upper, b)[0])
    w = np.exp(log_w - logsumexp(log_w, axis=0))
    return np.einsum('cn,cnd->nd', w, means), w

ten, weight = ten_gaussians(train, test)
named = (weight.argmax(0) == digit[test]).mean()
print(f'named right from the upper half alone: {named:.2f}')

def weights_by_scipy(b, c):  # up to a factor that all c share
    mu, Sigma = fit(x[train][digit[train] == c])
    p = multivariate_normal(mu[upper], Sigma[upper][:, upper]).logpdf(b)
    return p + np.log((digit[train] == c).mean())

log_w = np.array([weights_by_scipy(x[test][:, upper], c) for c in range(10)])
assert close(weight, np.exp(log_w - logsumexp(log_w, axis=0)))

# %% [markdown]
# Two reference lines beside them: the mean picture, and the lower half of the training digit whose upper half is
# nearest. Five random splits give the spread.

# %%
def rms_errors(seed):
    order = np.random.default_rng(seed).permutation(len(x))
    train, test = order[:1200], order[1200:]
    b, truth = x[test][:, upper], x[test][:, ~upper]
    mu, Sigma = fit(x[train])
    far = ((b[:, None] - x[train][:, upper]) ** 2).sum(2)  # (597, 1200)
    guesses = {
        'mean picture': mu[~upper],
        'nearest neighbour': x[train][far.argmin(1)][:, ~upper],
        'one Gaussian': condition(mu, Sigma, upper, b)[0],
        'ten Gaussians': ten_gaussians(train, test)[0],
    }
    return [np.sqrt(((g - truth) ** 2).mean()) for g in guesses.values()]

errors = np.array([rms_errors(seed) for seed in range(5)])  # (5, 4)
names = 'mean picture', 'nearest neighbour', 'one Gaussian', 'ten Gaussians'
for name, e in zip(names, errors.T, strict=True):
    print(f'{name:18} {e.mean():.4f} ± {e.std():.5f}')
assert (errors[:, 3] < errors[:, :3].min(1)).all()  # in every split

# %% mystnb={"image": {"alt": "Four rows of ten digits. The first is the truth, the second shows only the upper half, the third the completion by one Gaussian, blurred, the fourth the completion by ten Gaussians, mostly sharp and right."}} tags=["hide-input"]
chosen = [np.flatnonzero(digit[test] == c)[1] for c in range(10)]
blank = np.full((len(test), 32), np.nan)
rows = {'truth': x[test][:, ~upper], 'seen': blank,
        'one': one, 'ten': ten}
fig, axes = panels(10, rows=4, height=0.62)
for line, (name, lower) in zip(axes, rows.items(), strict=True):
    for ax, i in zip(line, chosen, strict=True):
        picture = np.append(x[test][i, upper], lower[i]).reshape(8, 8)
        show_image(ax, picture, vmin=0, vmax=1)
    line[0].set_ylabel(name, rotation=0, ha='right', va='center');

# %% [markdown] tags=["caption"]
# From the upper half of a digit one Gaussian completes a blur; ten Gaussians, one for each digit and weighed by Bayes'
# theorem, complete most of them more sharply.

# %% [markdown]
# The error bars deserve a look as well. If pictures were Gaussian, the squared radius of what is left,
# $\mathbf{r}^\top \mathrm{Cov}(\mathbf{a} \mid \mathbf{b})^{-1} \mathbf{r}$, would be chi-squared with 32 degrees of
# freedom.

# %%
r = x[test][:, ~upper] - one
radius2 = np.einsum('nd,de,ne->n', r, np.linalg.inv(C), r)
for level in (0.5, 0.9):
    inside = (radius2 < chi2.ppf(level, 32)).mean()
    print(f'promised {level:.0%}, found {inside:.0%}')
spread = radius2.std() / radius2.mean()
print(f'relative spread: {spread:.2f}, if Gaussian {np.sqrt(2 / 32):.2f}')

# %% [markdown]
# The numbers say that pictures are not Gaussian. The extra $\tau^2$ makes the region too large for almost every digit, and
# no other scale would be right: the squared radii spread nearly twice as far as chi-squared allows, as if some pictures
# had a much smaller error and some a much larger one than a common covariance can say. So keep apart what each half of
# {prf:ref}`thm-gaussian-conditioning` needs. The mean is the best linear prediction under *any* law with these second
# moments. The error bar, and the probability attached to it, are true only if the law is Gaussian.

# %% tags=["checks"]
def is_regression(model):
    model.fit(x[train][:, upper], x[train][:, ~upper])
    return close(model.predict(x[test][:, upper]), one)

verify(
    'the conditional mean is ridge regression',
    lambda: is_regression(Ridge(alpha=1200 * 0.01)),
    slip=('fits without a penalty', lambda: is_regression(LinearRegression())),
)

# %% [markdown]
# ## Summary
#
# Independence and rotational symmetry together force the bell, and linear images of a round cloud are all the Gaussian
# vectors: mean and covariance determine the law, level sets are ellipsoids along the eigenvectors, a density exists
# exactly if the covariance is positive definite. Marginals are blocks of the covariance and conditionals blocks of its
# inverse; the conditional mean is linear regression, the conditional covariance is known before the
# observation. One triangle $L$ with $L L^\top = \Sigma$ evaluates densities, draws samples and shows whether $\Sigma$ is
# positive definite. Everything beyond second moments, such as the probability of an error bar, needs the law to be Gaussian.
#
# **Further reading.** {cite}`maxwell1860illustrations` found the bell in the velocities of gas molecules by Herschel's
# argument; {cite}`bishop2006pattern` derives marginals and conditionals by completing the square,
# {cite}`rasmussen2006gaussian` carries them on to functions, and {cite}`vershynin2018high` shows what is strange about
# clouds in high dimensions.
