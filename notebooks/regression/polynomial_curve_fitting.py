# ---
# jupyter:
#   book:
#     functions:
#       powers: powers(normal(9), 3)
#       fit_powers: fit_powers(normal(9), normal(9), 3)
#       condition: condition(powers(uniform(20), 3))
#       expected_excess: expected_excess(20, 5, 1.0, 0.1)
#     main: polyfit-model
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Polynomial curve fitting
#
# A cubic curve is measured at 21 points, with noise. A straight line misses the pattern. A polynomial of degree 20 passes
# through all 21 points, but between them it is wrong by tens of thousands. And a polynomial of degree 399 through the same
# points can be harmless. What happens in between, and what decides beyond?
#
# - **You need** [least squares](least_squares.ipynb), the
#   [singular value decomposition](../linear_algebra/singular_value_decomposition.ipynb) and
#   [variances](../probability/expectations.ipynb).
# - **You build** polynomial regression in two bases, the exact price of every parameter, and a curve of double descent.
# - **Runs in** 7 seconds.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from numpy.linalg import inv, lstsq, norm, pinv, qr, solve, svd
from numpy.polynomial.legendre import Legendre, leggauss, legval, legvander
from scipy.interpolate import BarycentricInterpolator
from scipy.linalg import helmert

from nbutils.cases import integers, lists, on, scalars, seeds, vectors
from nbutils.checks import below, between, close, grade, verify
from nbutils.data import diabetes
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## Polynomial regression: underfitting and overfitting
#
# The pattern to be found is the cubic {cite}`zhang2023dive`
#
# $$ f(x) = 5 + 1.2\,x - 3.4\,\frac{x^2}{2!} + 5.6\,\frac{x^3}{3!} , \qquad -2 \le x \le 2 , $$
#
# measured with noise of standard deviation $\sigma = 1$ at 21 points. We let numpy fit polynomials of three degrees:

# %%
def truth(x):
    return 5 + 1.2 * x - 3.4 * x**2 / 2 + 5.6 * x**3 / 6

def spaced(rng, N, reach=2):  # one input in each of N equal parts
    return reach * (-1 + 2 * (np.arange(N) + rng.random(N)) / N)

rng = np.random.default_rng(4)
x = spaced(rng, 21)
y = truth(x) + rng.normal(size=21)

# %%
grid = np.linspace(-2, 2, 401)
three = {d: Legendre.fit(x, y, d, [-2, 2]) for d in (1, 3, 20)}
for degree, curve in three.items():
    training = abs(curve(x) - y).max()
    new = abs(curve(grid) - truth(grid)).max()
    print(f'degree {degree:2}: largest error at the points {training:.2f}, '
          f'between them {new:.3g}')

# %% mystnb={"image": {"alt": "Three panels with the same 21 points and the true cubic dashed. Degree 1: a straight line that misses the bends. Degree 3: a curve close to the truth. Degree 20: a curve through all points, quiet in the middle and swinging out of the picture near both ends."}} tags=["hide-input"]
fig, axes = panels(3, height=2.5, sharey=True)
for ax, (degree, curve), name in zip(
        axes, three.items(), ('underfits', 'fits', 'overfits'),
        strict=True):
    ax.plot(grid, truth(grid), '--', color=GREY, lw=1.2)
    ax.plot(grid, curve(grid), 'C0', lw=1.5)
    ax.plot(x, y, 'C1o', ms=3.5)
    ax.set(xlabel='x', ylim=(-16, 16), title=f'degree {degree} {name}')
axes[0].set_ylabel('y');

# %% [markdown] tags=["caption"]
# On 21 points degree 1 is too stiff for the pattern and degree 3 finds it; degree 20 passes through all points and swings
# wildly between the outer ones.

# %% [markdown]
# The line *underfits*: its error is large on the training points already, and no number of further points would help. The
# polynomial of degree 20 *overfits*: no error at all in training, and a huge one elsewhere.
#
# How can linear regression fit curves? The *features* may be anything computed from the input. We take the powers of a
# single number $x$,
#
# ```{math}
# :label: polyfit-model
# \hat y = \sum_{j=0}^{d} w_j\, x^j = \mathbf{v}(x)^\top \mathbf{w} , \qquad
# \mathbf{v}(x) = (1, x, x^2, \dots, x^d) .
# ```
#
# As a function of $x$ this is a curve. As a function of $\mathbf{w}$ it is linear, so all that was said of
# [least squares](least_squares.ipynb) applies. The design matrix, with one power a column, is called *Vandermonde matrix*.

# %%
def powers(x, degree):  # (N,) -> (N, degree + 1)
    return x[:, None] ** np.arange(degree + 1, dtype=x.dtype)

def fit_powers(x, y, degree):
    return lstsq(powers(x, degree), y, rcond=None)[0]

print('ours   ', fit_powers(x, y, 3).round(3))
print('polyfit', np.polyfit(x, y, 3).round(3))

# %% [markdown]
# (`np.polyfit` lists the highest power first. We have used `Legendre.fit` above, which fits the same curves with more correct
# digits. The [next part](#the-vandermonde-matrix-is-ill-conditioned-legendre-polynomials) explains why.)
#
# How far can the degree go? Until the curve passes through all points.
#
# ````{prf:theorem} Interpolation
# :label: thm-interpolation
# Let $x_1, \dots, x_N$ be distinct. For all $y_1, \dots, y_N$ there is exactly one polynomial of degree at most $N - 1$
# with $p(x_n) = y_n$ for all $n$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# The Vandermonde matrix of degree $N - 1$ is square. If it sends $\mathbf{w}$ to $\mathbf{0}$, the polynomial with these
# weights has $N$ zeros but a degree below $N$, so it is the zero polynomial: $\mathbf{w} = \mathbf{0}$. A square matrix that
# sends only $\mathbf{0}$ to $\mathbf{0}$ is invertible.
# ````
#
# ### What each parameter costs
#
# The training error alone would choose degree 20. By how much it deceives can be computed exactly:
#
# ````{prf:theorem} What a parameter costs
# :label: thm-parameter-price
# Let $\mathbf{y} = \mathbf{f} + \boldsymbol\varepsilon$ with $\mathbb{E}\,\boldsymbol\varepsilon = \mathbf{0}$,
# $\operatorname{Cov}\boldsymbol\varepsilon = \sigma^2\mathbf{I}$, at $N$ fixed inputs, let $\hat{\mathbf{y}}$ be the
# least-squares fit on $p \le N$ independent columns, and $D^2$ the squared distance of $\mathbf{f}$ from their span. For
# new labels $\mathbf{y}'$ at the same inputs, independent of $\mathbf{y}$,
#
# ```{math}
# :label: polyfit-price
# \begin{aligned}
# \tfrac1N \mathbb{E}\,\|\mathbf{y} - \hat{\mathbf{y}}\|^2 &= \tfrac1N D^2 + \sigma^2 \big( 1 - \tfrac pN \big) , \\
# \tfrac1N \mathbb{E}\,\|\mathbf{y}' - \hat{\mathbf{y}}\|^2 &= \tfrac1N D^2 + \sigma^2 \big( 1 + \tfrac pN \big) .
# \end{aligned}
# ```
# ````
#
# ````{prf:proof}
# :class: dropdown
# $\hat{\mathbf{y}} = \mathbf{H}\mathbf{y}$ with the orthogonal projection $\mathbf{H}$ onto the span, and
# $\|(\mathbf{I} - \mathbf{H})\mathbf{f}\|^2 = D^2$. In the first line the error is $(\mathbf{I} - \mathbf{H})\mathbf{f} +
# (\mathbf{I} - \mathbf{H})\boldsymbol\varepsilon$; the parts are uncorrelated, and $\mathbb{E}\|(\mathbf{I} - \mathbf{H})
# \boldsymbol\varepsilon\|^2 = \sigma^2 \operatorname{tr}(\mathbf{I} - \mathbf{H}) = \sigma^2 (N - p)$. In the second it is
# $(\mathbf{I} - \mathbf{H})\mathbf{f} + \boldsymbol\varepsilon' - \mathbf{H}\boldsymbol\varepsilon$, three uncorrelated
# parts, of which the last two have mean squared lengths $\sigma^2 N$ and $\sigma^2 p$.
# ````
#
# So each parameter lowers the training error by $\sigma^2/N$ and raises the error on new labels by the same amount. It is
# worth its price if it takes more than that off $D^2/N$. At *new inputs*, between the points, the price can be very much
# higher. We draw 200 training sets of 21 points each and fit all degrees from 0 to 20. For comparison, we fit degree 20 to
# 200 points.

# %%
def losses(seed, N, degrees):  # training, test: (2, len(degrees))
    rng = np.random.default_rng(seed)
    x = spaced(rng, N)
    y = truth(x) + rng.normal(size=N)
    curves = [Legendre.fit(x, y, d, [-2, 2]) for d in degrees]
    nodes, weights = leggauss(60)  # an exact mean over [-1, 1]
    new = [(c(2 * nodes) - truth(2 * nodes)) ** 2 for c in curves]
    return [[((c(x) - y) ** 2).mean() for c in curves],
            1 + np.array(new) @ weights / 2]

# %%
degrees = np.arange(21)
few = np.array([losses(seed, 21, degrees) for seed in range(200)])
many = np.array([losses(seed, 200, [1, 3, 20]) for seed in range(200)])
training, test = np.median(few, axis=0)
expected = 1 - (degrees + 1) / 21  # of the training error, from degree 3 on
for d in (1, 3, 8, 14):
    print(f'degree {d:2}: training {training[d]:.2f}, test {test[d]:.3g}')
print(f'degree 20 on 21 points:  test {test[20]:.2e}')
print(f'degree 20 on 200 points: test {np.median(many[:, 1, 2]):.2f}')

# %% mystnb={"image": {"alt": "Training and test error against the degree, logarithmic. Both fall steeply to degree 3. Then the training error sinks slowly along the dashed theoretical line and drops to nothing, while the test error rises, slowly at first, and beyond degree 10 by orders of magnitude up to a million and more."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.2))
for j, name in enumerate(('training', 'test')):
    part = few[:, j, :20 + j]
    low, high = np.quantile(part, (0.1, 0.9), axis=0)
    ax.fill_between(degrees[:20 + j], low, high, color=f'C{j}', alpha=0.25, lw=0)
    ax.semilogy(degrees[:20 + j], np.median(part, axis=0), f'C{j}.-', label=name)
ax.semilogy(degrees[3:-1], expected[3:-1], '--', color=GREY, lw=1.2, label='expected')
ax.set(xlabel='degree', ylabel='mean squared error', xticks=range(0, 21, 4), ylim=(1e-3, 1e8))
ax.legend(loc='upper left');

# %% [markdown] tags=["caption"]
# Beyond degree 3 the training error on 21 points sinks towards zero while the test error climbs past a million: the training
# error alone would choose the worst degree.

# %% [markdown]
# (The figure shows the median and the middle four fifths of the samples. The training error at degree 20 is zero and cannot be
# drawn.) This is the classical picture, with the test error like a U. It says: stop at the degree where the two errors part.
#
# ### Where it matters: a polynomial for 442 patients
#
# Real curves are seldom cubics, and noise is seldom that small. What does the body mass index of a patient with diabetes
# say about the course of the disease? We fit polynomials to 20 or to 300 of 442 patients {cite}`efron2004least` and test
# on 142 others, in 200 random splits. The index is scaled so that the training patients fill $[-1, 1]$. A test patient
# beyond is treated as if at the end, because no polynomial of high degree should be trusted outside its data. Degree 0, the
# mean, is the baseline.

# %%
patients, outcome, _ = diabetes()
bmi = patients[:, 2]

def patient_errors(seed, N, degrees):  # test root mean squares
    order = np.random.default_rng(seed).permutation(442)
    test, train = order[:142], order[142:142 + N]
    low, high = bmi[train].min(), bmi[train].max()
    t = np.clip(2 * (bmi - low) / (high - low) - 1, -1, 1)
    fits = [Legendre.fit(t[train], outcome[train], d, [-1, 1])(t[test])
            for d in degrees]
    return ((np.array(fits) - outcome[test]) ** 2).mean(axis=1) ** 0.5

# %%
tried = (0, 1, 2, 3, 5, 8)
print('degree        ' + ''.join(f'{d:5}' for d in tried))
for N in (20, 300):
    errors = [patient_errors(seed, N, tried) for seed in range(200)]
    row = np.median(errors, axis=0)
    print(f'{N:3} patients: ' + ''.join(f'{e:5.0f}' for e in row))

# %% [markdown]
# The line is best. Whatever bend there is in the truth, it is too slight to be worth $\sigma^2/N$ with 20 patients, and
# does not show even with 300. The price depends on $N$: with 20 patients degree 8 is worse than no model at
# all, with 300 it costs next to nothing. Degrees are not too high as such, only too high for the data.
#
# ```{exercise} ★ Pencil: how noisy was it?
# :label: polyfit-noise
# Suppose that the truth is a polynomial of degree at most $d$. Write `noise_variance(x, y, d)`, an estimate of $\sigma^2$
# from the squared residuals of the fit of degree $d$ to one training set, whose expectation is exactly $\sigma^2$.
# ```

# %%
def noise_variance(x, y, d):
    """The estimate of the variance: a float.

    x, y: float arrays (N,), the entries of x are distinct. d: int >= 0, at
    most N - 2. For x = [0., 1.], y = [1., 3.] and d = 0 the result is 2.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def noise_by_basis(x, y, d):  # noise in directions that f does not have
    Q, _ = qr(powers(x, d), mode='complete')
    return ((Q[:, d + 1:].T @ y) ** 2).mean()

def in_cells(low, high):  # one input in each of N equal parts of [low, high], in any order
    def inputs(u):
        x = low + (high - low) * (np.arange(len(u)) + u) / len(u)
        return x[::-1] if u[0] > 0.4 else x
    return vectors((2, 12), 0, 0.8).map(inputs)

cases = dict(
    x=in_cells(-2, 2), y=lambda x: vectors(len(x), edges=True),
    d=lambda x: on(0, min(len(x) - 2, 6)) | integers(0, min(len(x) - 2, 6)),
)
grade(noise_variance, noise_by_basis, **cases)

# %% [markdown]
# ```{solution-start} polyfit-noise
# :class: dropdown
# ```
# With $D = 0$ and $p = d + 1$ the first line of {eq}`polyfit-price` says that the sum of squared residuals is
# $\sigma^2(N - d - 1)$ in the mean: divide by that. The first wrong answer forgets the constant among the parameters. (For
# $d = 0$ the divisor is the familiar $N - 1$.) The second is the training error, the third ignores the degree.

# %% jupyter={"source_hidden": true}
def noise_variance_solution(x, y, d):
    residual = y - powers(x, d) @ fit_powers(x, y, d)
    return residual @ residual / (len(y) - d - 1)

def constant_forgotten(x, y, d):
    return noise_variance_solution(x, y, d) * (len(y) - d - 1) / (len(y) - d)

def training_error(x, y, d):
    return ((y - powers(x, d) @ fit_powers(x, y, d)) ** 2).mean()

def around_the_mean(x, y, d):
    return y.var(ddof=1)

assert grade(noise_variance_solution, noise_by_basis, **cases)
assert not grade(constant_forgotten, noise_by_basis, **cases)
assert not grade(training_error, noise_by_basis, **cases)
assert not grade(around_the_mean, noise_by_basis, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: the degree that predicts best
# :label: polyfit-best
# Draw training sets from the cubic as in this part. Which degree from 0 to 5 has the smallest error on new inputs, in the
# median over 60 sets, (A) for 21 points and $\sigma = 0.1$, (B) for 21 points and $\sigma = 10$, (C) for 200 points and
# $\sigma = 10$? Predict three degrees, then measure and explain.
# ```

# %%
def predicted_degrees():
    """The best degrees for A, B and C: a tuple of three ints from 0 to 5."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
@cache
def median_errors(N, sigma):  # of degrees 0 to 5, against the truth
    nodes, weights = leggauss(10)
    rows = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = spaced(rng, N)
        y = truth(x) + sigma * rng.normal(size=N)
        curves = [Legendre.fit(x, y, d, [-2, 2]) for d in range(6)]
        rows.append([(c(2 * nodes) - truth(2 * nodes)) ** 2 @ weights / 2 for c in curves])
    return np.median(rows, axis=0)

trials = {'A': (21, 0.1), 'B': (21, 10.0), 'C': (200, 10.0)}

def is_measured(degrees):
    if len(degrees) != 3:
        raise ValueError('give three degrees, for A, B and C')
    for degree, (letter, trial) in zip(degrees, trials.items(), strict=True):
        if degree != median_errors(*trial).argmin():
            raise ValueError(f'{letter} is measured otherwise; run it and compare')
    return True

grade(lambda: is_measured(predicted_degrees()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} polyfit-best
# :class: dropdown
# ```
# The truth is a cubic, so it is tempting to answer 3 three times. But with strong noise and few points, two further
# parameters cost more than the bend is worth: each costs $\sigma^2/N$. With 200 points they are cheap again. Nor does weak
# noise ask for a degree above 3, because there is nothing left that it could take off the error.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured((3, 1, 3)), lambda: True, [()])
assert not grade(lambda: is_measured((3, 3, 3)), lambda: True, [()])  # the degree of the truth
assert not grade(lambda: is_measured((5, 1, 3)), lambda: True, [()])  # weak noise allows any degree
assert not grade(lambda: is_measured((3, 1, 1)), lambda: True, [()])  # only the noise matters
for letter, trial in trials.items():
    print(letter, ' '.join(f'{e:#.3g}' for e in median_errors(*trial)[1:4]), 'for degrees 1, 2, 3')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
library = [np.polyval(np.polyfit(x, y, d), grid) for d in (1, 3)]
assert close([three[1](grid), three[3](grid)], library)
spread = few[:, 0, 3:-1].std(axis=0) / 200**0.5
assert (abs(few[:, 0, 3:-1].mean(axis=0) - expected[3:-1]) < 5 * spread).all()
assert test[20] > 1e6 and (few[:, 0, 20] < 1e-15).all()  # squared rounding

# %% tags=["checks"]
def as_in_numpy(seed, degree, lowest_first=True):
    rng = np.random.default_rng(seed)
    x, y = spaced(rng, 12), rng.normal(size=12)
    library = np.polyfit(x, y, degree)
    w = fit_powers(x, y, degree)
    return close(w, library[::-1] if lowest_first else library)

verify('least squares on powers is numpy\'s polyfit', as_in_numpy,
       slip=("takes polyfit's weights in the wrong order",
             lambda seed, degree: as_in_numpy(seed, degree, False)),
       seed=seeds(), degree=integers(1, 6), tries=60)

def passes_through_all(seed, N, short):
    rng = np.random.default_rng(seed)
    x, y, new = spaced(rng, N), rng.normal(size=N), rng.uniform(-2, 2, 5)
    w = fit_powers(x, y, N - 1 - short)
    curve = BarycentricInterpolator(x, y)
    return close(powers(new, N - 1 - short) @ w, curve(new))

verify('degree N − 1 interpolates N points, in one way',
       lambda seed, N: passes_through_all(seed, N, 0),
       slip=('takes a degree too low by one',
             lambda seed, N: passes_through_all(seed, N, 1)),
       seed=seeds(), N=integers(2, 8), tries=60)

def price_of_parameters(seed, degree, sign):
    rng = np.random.default_rng(seed)
    x = spaced(rng, 15)
    f, P = np.cos(2 * x), legvander(x / 2, degree)
    H = P @ pinv(P)
    old, new = f + 0.7 * rng.normal(size=(2, 4000, 15))
    D2, p = norm(f - H @ f) ** 2, degree + 1
    fits = old @ H
    for labels, slope in ((old, -1), (new, sign)):
        errors = ((labels - fits) ** 2).mean(axis=1)
        want = D2 / 15 + 0.7**2 * (1 + slope * p / 15)
        if abs(errors.mean() - want) > 5 * errors.std() / 4000**0.5:
            return False
    return True

verify('a parameter takes σ²/N from one error and adds it to the other',
       lambda seed, degree: price_of_parameters(seed, degree, 1),
       slip=('lowers the error on new labels, too',
             lambda seed, degree: price_of_parameters(seed, degree, -1)),
       seed=seeds(), degree=integers(0, 10), tries=30)

def by_polyfit(seed, N, degree, cut=np.clip):
    order = np.random.default_rng(seed).permutation(442)
    test, train = order[:142], order[142:142 + N]
    inputs = cut(bmi[test], bmi[train].min(), bmi[train].max())
    guess = np.polyval(np.polyfit(bmi[train], outcome[train], degree), inputs)
    return np.sqrt(np.mean((guess - outcome[test]) ** 2))

verify(
    'the errors are those of polyfit, with inputs cut off at the ends of the training data',
    lambda seed, N, degree: close(patient_errors(seed, N, [degree])[0], by_polyfit(seed, N, degree)),
    slip=('does not cut them off', lambda seed, N, degree: close(
        patient_errors(seed, N, [degree])[0], by_polyfit(seed, N, degree, lambda x, low, high: x))),
    seed=[0, 1, 2], N=[20, 300], degree=[0, 1, 3],
)

# %% [markdown]
# ## The Vandermonde matrix is ill-conditioned: Legendre polynomials
#
# This section continues [Polynomial regression: underfitting and
# overfitting](#polynomial-regression-underfitting-and-overfitting). Near $x = 1$ the powers $x^{10}$ and $x^{11}$ look much
# alike. Columns that look alike make a matrix that is nearly singular, and a matrix with the condition number
# $\kappa = s_{\max}/s_{\min}$ costs about $\log_{10}\kappa$ of the sixteen digits in the [solution of a least-squares
# problem](least_squares.ipynb). How bad are powers? We also take *Legendre's polynomials*, $P_0 = 1$, $P_1 = x$,
# $P_2 = \frac12(3x^2 - 1), \dots$

# %%
def condition(V):
    s = svd(V, compute_uv=False)
    return s[0] / s[-1]

points = -1 + 2 * (np.arange(81) + 0.5) / 81
bases = {'powers, [0, 1]': lambda d: powers((1 + points) / 2, d),
         'powers, [−1, 1]': lambda d: powers(points, d),
         'Legendre': lambda d: legvander(points, d)}

# %%
print('digits lost       degree 5    10    14')
for name, basis in bases.items():
    digits = [np.log10(condition(basis(d))) for d in (5, 10, 14)]
    print(f'{name:16}', ''.join(f'{v:7.2f}' for v in digits))

# %% [markdown]
# Powers lose digits with every degree. No choice of points can prevent this:
#
# ````{prf:theorem} Vandermonde matrices are ill-conditioned
# :label: thm-vandermonde
# Let $\mathbf{V}$ have the powers $0$ to $d$ of the entries of $\mathbf{x}$, $N \ge d + 1$ distinct points, as rows. Then
#
# ```{math}
# :label: polyfit-vandermonde
# \begin{aligned}
# \mathbf{x} \in [-1, 1]^N &\implies \kappa(\mathbf{V}) \ge \frac{(1 + \sqrt2)^d - 1}{2\sqrt{1 + d/2}} , \\
# \mathbf{x} \in [0, 1]^N &\implies \kappa(\mathbf{V}) \ge \frac{(1 + \sqrt2)^{2d}}{2\sqrt{1 + d}} .
# \end{aligned}
# ```
# ````
#
# ````{prf:proof}
# :class: dropdown
# $s_{\max} \ge \sqrt N$, the length of the column of ones. To bound $s_{\min} \le \|\mathbf{V}\mathbf{c}\|/\|\mathbf{c}\|$
# from above we look for weights $\mathbf{c}$ that are large although their polynomial is small. Chebyshev's polynomial
# $T_d(\cos\theta) = \cos d\theta$ is that: its values on $[-1, 1]$ are at most 1, so
# $\|\mathbf{V}\mathbf{c}\| \le \sqrt N$. Its coefficients have alternating signs and only every second power occurs, so at
# the imaginary unit all terms point in one direction: $\sum_j |c_j| = |T_d(\mathrm{i})|$. From $T_d(x) = \frac12\big((x +
# \sqrt{x^2 - 1})^d + (x - \sqrt{x^2 - 1})^d\big)$,
#
# $$ |T_d(\mathrm{i})| = \tfrac12 \big| (1 + \sqrt2)^d + (1 - \sqrt2)^d \big| \ge \tfrac12 \big( (1 + \sqrt2)^d - 1 \big) . $$
#
# At most $1 + d/2$ of the $c_j$ are not zero, so $\|\mathbf{c}\| \ge \sum_j |c_j| / \sqrt{1 + d/2}$ (Cauchy–Schwarz).
# Divide: the factors $\sqrt N$ cancel. For $[0, 1]$ take $T_d(2x - 1)$. All $d + 1$ coefficients alternate, and their
# absolute sum is $|T_d(-3)| = \frac12\big((3 + 2\sqrt2)^d + (3 - 2\sqrt2)^d\big)$, where $3 + 2\sqrt2 = (1 + \sqrt2)^2$.
# ````
#
# So in the long run each degree costs at least $\ln(1 + \sqrt2) / \ln 10 \approx 0.383$ digits on $[-1, 1]$ and twice as
# many on $[0, 1]$. The remedy is to combine the same powers into columns that do not look alike. Legendre's polynomials are
# orthogonal on $[-1, 1]$, $\int_{-1}^1 P_i P_j \,\mathrm{d}x = 0$ for $i \ne j$, and
# on well-spread points their columns nearly are. The span is the same, hence so are the projection and the fitted curve.
# What changes are the weights.

# %% tags=["hide-input"]
def lower_bound(degree, from_zero):
    root = 1 + 2**0.5
    if from_zero:
        return root ** (2 * degree) / (2 * (1 + degree) ** 0.5)
    return (root**degree - 1) / (2 * (1 + degree / 2) ** 0.5)

def recovered(basis, seed):  # relative error of the weights
    w = np.random.default_rng(seed).normal(size=15)
    found = lstsq(basis(14), basis(14) @ w, rcond=None)[0]
    return norm(found - w) / norm(w)

reach = {'powers, [0, 1]': 14, 'powers, [−1, 1]': 24, 'Legendre': 24}
lost = {name: [np.log10(condition(bases[name](d))) for d in range(1, reach[name] + 1)] for name in bases}
for name, digits in lost.items():
    print(f'{name:16} from degree 5 on {(digits[-1] - digits[4]) / (len(digits) - 5):.2f} digits a degree')
error = {name: np.median([recovered(basis, seed) for seed in range(15)]) for name, basis in bases.items()}
# at most about the rounding 1e-16 times the condition 10^10.4
print('degree 14, error of the weights: powers on [0, 1]', between(error['powers, [0, 1]'], 1e-9, 1e-5))
print('degree 14, error of the weights: Legendre', below(error['Legendre'], 1e-14))

# %% mystnb={"image": {"alt": "Decimal digits lost against degree. Powers on 0 to 1: a steep straight line, ten digits at degree 14. Powers on minus 1 to 1: half as steep, nine at degree 24. Legendre: almost flat, near one. Dashed lower bounds run just below the two steep lines; a horizontal line marks the sixteen digits of double precision."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.2))
for name, digits in lost.items():
    ax.plot(range(1, len(digits) + 1), digits, '.-', label=name)
d = np.arange(1, 25)
for from_zero, color in ((True, 'C0'), (False, 'C1')):
    ax.plot(d, np.log10(lower_bound(d, from_zero)), '--', color=color, lw=1)
ax.axhline(16, color=GREY, lw=1)
ax.text(1, 16.3, 'all of double precision')
ax.set(xlabel='degree', ylabel='decimal digits lost', ylim=(-0.5, 18))
ax.legend(loc='upper left', bbox_to_anchor=(0.01, 0.9));

# %% [markdown] tags=["caption"]
# Each degree of powers costs about 0.8 digits on $[0, 1]$ and about 0.4 on $[-1, 1]$, close to the proved bounds (dashed);
# Legendre's polynomials cost almost none.

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# Two bases give the same least-squares curve, so it is tempting to think that the basis never matters. With a ridge penalty
# on the weights the two curves differ. As soon as weights have a price, the basis decides which curves are cheap. We come
# back to this in the next part.
# :::

# %%
for price in (0, 0.1):
    curves = []
    for basis in (powers, legvander):
        P = basis(x / 2, 5)
        w = solve(P.T @ P + price * np.eye(6), P.T @ y)
        curves.append(basis(grid / 2, 5) @ w)
    print(f'penalty {price}: the two curves differ by up to '
          f'{abs(curves[0] - curves[1]).max():.2f}')

# %% [markdown]
# ```{exercise} ★★ Program: polynomials that suit the points
# :label: polyfit-recurrence
# On unevenly spread points Legendre's columns are not orthogonal. Make orthonormal columns $\mathbf{q}_0, \mathbf{q}_1,
# \dots$, column $j$ a polynomial of degree $j$ with a positive leading coefficient. You need not orthogonalize each against
# all before it: multiply the last column by $x$ entry by entry, and show that the result is already orthogonal to all
# columns but the last two. Write `next_column(x, q, before)`.
# ```

# %%
def next_column(x, q, before):
    """The orthonormal column of the next degree: a float array (N,).

    x: float array (N,), distinct points. q: float array (N,), the column of
    degree j <= N - 2. before: that of degree j - 1; zeros if j is 0.
    For x = [0., 1.], q = [1., 1.] / sqrt(2) and before = [0., 0.] the result
    is [-1., 1.] / sqrt(2). No QR decomposition.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def columns_by_qr(x):
    Q, R = qr(powers(x, len(x) - 1))
    return Q * np.sign(np.diag(R))

def next_by_qr(x, q, before):
    Q = columns_by_qr(x)
    return Q[:, abs(Q.T @ q).argmax() + 1]

def one_before(x, q):
    Q = columns_by_qr(x)
    j = abs(Q.T @ q).argmax()
    return [Q[:, j - 1] if j else np.zeros(len(x))]

cases = dict(
    x=in_cells(-1, 1).map(lambda x: x[:6]) | in_cells(0, 2).map(lambda x: x[:6]),
    q=lambda x: on(*columns_by_qr(x).T[:-1]), before=one_before,
)
without = ['numpy.linalg.qr', 'scipy.linalg.qr']
grade(next_column, next_by_qr, **cases, without=without)

# %% [markdown]
# ```{solution-start} polyfit-recurrence
# :class: dropdown
# ```
# Let $\mathbf{X} = \operatorname{diag}(\mathbf{x})$. For $i < j - 1$ is $\mathbf{q}_i^\top \mathbf{X}\mathbf{q}_j =
# (\mathbf{X}\mathbf{q}_i)^\top \mathbf{q}_j = 0$, because $\mathbf{X}\mathbf{q}_i$ has the degree $i + 1 <
# j$ and $\mathbf{q}_j$ is orthogonal to all lower degrees. So only $\mathbf{q}_j$ and $\mathbf{q}_{j-1}$ have to be
# subtracted: a recurrence with three terms, $O(Nd)$ operations for all columns up to $d$ {cite}`forsythe1957generation`. (It
# is Lanczos' iteration with the matrix $\mathbf{X}$.) It is tempting to subtract the last column only, which is enough up to
# degree 1. The second wrong answer subtracts the column before it without a
# factor, and the third does not normalize.

# %% jupyter={"source_hidden": true}
def next_column_solution(x, q, before):
    new = x * q
    new = new - (q @ new) * q - (before @ new) * before
    return new / norm(new)

def last_column_only(x, q, before):
    return next_column_solution(x, q, 0 * q)

def without_a_factor(x, q, before):
    new = x * q - (q @ (x * q)) * q - before
    return new / norm(new)

def not_normalized(x, q, before):
    return x * q - (q @ (x * q)) * q - (before @ (x * q)) * before

def by_qr_again(x, q, before):
    Q = np.linalg.qr(np.stack([before, q, x * q], axis=1))[0]
    return Q[:, 2] * np.sign(Q[:, 2] @ (x * q))

assert grade(next_column_solution, next_by_qr, **cases, without=without)
assert not grade(last_column_only, next_by_qr, **cases, without=without)
assert not grade(without_a_factor, next_by_qr, **cases, without=without)
assert not grade(not_normalized, next_by_qr, **cases, without=without)
assert not grade(by_qr_again, next_by_qr, **cases, without=without)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def above_bound(seed, degree, from_zero, bound_for_zero):
    rng = np.random.default_rng(seed)
    x = spaced(rng, degree + 4, reach=1)
    x = (1 + x) / 2 if from_zero else x
    found = condition(powers(x, degree))
    return found >= lower_bound(degree, bound_for_zero)

def same_curve(seed, degree, price):
    rng = np.random.default_rng(seed)
    x, y, new = spaced(rng, 15, 1), rng.normal(size=15), np.linspace(-1, 1, 7)
    values = []
    for basis in (powers, legvander):
        P, lift = basis(x, degree), price * np.eye(degree + 1)
        values.append(basis(new, degree) @ solve(P.T @ P + lift, P.T @ y))
    return close(*values)
verify('the condition number is at least that large',
       lambda seed, degree, from_zero: above_bound(
           seed, degree, from_zero, from_zero),
       slip=('uses the bound for [0, 1] on [−1, 1]',
             lambda seed, degree, from_zero: above_bound(
             seed, degree, from_zero, True)),
       seed=seeds(), degree=integers(1, 12), from_zero=[True, False],
       tries=100)

verify('another basis, the same curve',
       lambda seed, degree: same_curve(seed, degree, 0),
       slip=('gives the weights a price, which depends on the basis',
             lambda seed, degree: same_curve(seed, degree, 0.1)),
       seed=seeds(), degree=integers(1, 7), tries=40)

# %% [markdown]
# ## Double descent: more parameters than points
#
# This section continues [Polynomial regression: underfitting and
# overfitting](#polynomial-regression-underfitting-and-overfitting). At degree 20 the polynomial passes through all 21
# points, and the test error is beyond a million. What would degree 40 do? There are 41 weights, 21 equations and
# infinitely many solutions. But the [pseudoinverse](../linear_algebra/singular_value_decomposition.ipynb)
# names one of them, the *shortest*, and [gradient descent](least_squares.ipynb) from zero finds the same one. We begin
# where everything can be computed.
#
# Let the features be $D = 200$ independent standard normal numbers, the truth a weighted sum of them with weights
# $w_j = 1/j$, $N = 20$ examples, and let the model see the first $p$ features only. For the model, the others are
# further noise. We draw 200 training sets:

# %%
N, D, R, sigma2 = 20, 200, 200, 0.1
w = 1 / np.arange(1, D + 1)
rng = np.random.default_rng(0)
Phi = rng.normal(size=(R, N, D))
y = Phi @ w + sigma2**0.5 * rng.normal(size=(R, N))

def shortest(p):  # weights of the first p features, (R, p)
    return (pinv(Phi[:, :, :p]) @ y[:, :, None])[:, :, 0]

def squared_error(p):  # of the prediction for a new input, (R,)
    return ((shortest(p) - w[:p]) ** 2).sum(axis=1) + (w[p:] ** 2).sum()

# %%
for p in (2, 8, 14, 18, 20, 22, 28, 40, 200):
    print(f'{p:3} features: median squared error '
          f'{np.median(squared_error(p)):6.2f}')

# %% [markdown]
# The error falls up to 8 features, rises up to $p = N = 20$, and then it falls again. The theorem says why.
#
# ````{prf:theorem} Two descents
# :label: thm-two-descents
# Let $\boldsymbol\Phi \in \mathbb{R}^{N \times p}$ have independent $\mathcal{N}(0, 1)$ entries, $\mathbf{y} =
# \boldsymbol\Phi\mathbf{w} + \mathbf{e}$, with $\mathbf{e}$ independent of $\boldsymbol\Phi$, of mean $\mathbf{0}$ and
# covariance $\tau^2\mathbf{I}$, $\tau > 0$. The shortest least-squares solution
# $\hat{\mathbf{w}} = \boldsymbol\Phi^+\mathbf{y}$ has
#
# ```{math}
# :label: polyfit-descents
# \mathbb{E}\,\|\hat{\mathbf{w}} - \mathbf{w}\|^2 = \begin{cases}
# \tau^2 \, \dfrac{p}{N - p - 1} & p \le N - 2 , \\[2ex]
# \infty & |p - N| \le 1 , \\[1ex]
# \Big( 1 - \dfrac Np \Big) \|\mathbf{w}\|^2 + \tau^2 \, \dfrac{N}{p - N - 1} & p \ge N + 2 .
# \end{cases}
# ```
# ````
#
# ````{prf:proof}
# :class: dropdown
# $\hat{\mathbf{w}} - \mathbf{w} = -(\mathbf{I} - \boldsymbol\Phi^+\boldsymbol\Phi)\mathbf{w} +
# \boldsymbol\Phi^+\mathbf{e}$, and the parts are uncorrelated, given $\boldsymbol\Phi$. *Noise:*
# $\mathbb{E}\|\boldsymbol\Phi^+\mathbf{e}\|^2 = \tau^2\, \mathbb{E}\sum_i 1/s_i^2$ with the singular values $s_i$ of
# $\boldsymbol\Phi$. For $p \le N$ the sum is the trace of $(\boldsymbol\Phi^\top\boldsymbol\Phi)^{-1}$. Its entry $jj$ is
# $1/\delta_j^2$, where $\delta_j$ is the distance of column $j$ from the span of the other $p - 1$ columns (by Cramer's
# rule it is a quotient of two Gram determinants). That distance is the length of the column's part in $N - p + 1$
# remaining dimensions, so $\delta_j^2$ is a sum of $k = N - p + 1$ squares of independent standard normals, and
# $\mathbb{E}[1/\delta_j^2] = 1/(k - 2)$ if $k > 2$, else infinite. For $p > N$ exchange rows and columns. *Bias:*
# $\mathbf{I} - \boldsymbol\Phi^+\boldsymbol\Phi$ projects onto the complement of the row space. No direction is preferred,
# so a unit vector keeps the same mean squared length whichever it is, and all $p$ together keep the trace, $p - N$ (or 0
# for $p \le N$).
# ````
#
# As new inputs have independent features, too, $\|\hat{\mathbf{w}} - \mathbf{w}\|^2$, plus the squared weights of the
# features that the model does not see, is the squared prediction error. Where does the peak come from? At $p = N$ the last
# column has a single dimension left in which it can differ from the others. By chance it hardly does, so the smallest
# singular value is small, and noise is divided by its square. With fewer columns, each has more room. With *more* columns
# than rows, the rows have more room: the equations become easier to satisfy, and short solutions suffice.

# %%
def expected_excess(N, p, length2, tau2):
    if p <= N - 2:
        return tau2 * p / (N - p - 1)
    if p >= N + 2:
        return (1 - N / p) * length2 + tau2 * N / (p - N - 1)
    return np.inf

# %%
def inverse_squares(p):  # of the singular values, medians: sum, smallest
    s = svd(Phi[:, :, :p], compute_uv=False)  # (R, min(N, p))
    return np.median([(s**-2).sum(axis=1), s[:, -1] ** -2], axis=1)

for p in (8, 20, 40):
    total, smallest = inverse_squares(p)
    print(f'{p:3} features: sum of 1/s² {total:7.2f}, '
          f'of the smallest alone {smallest:7.2f}')

# %% mystnb={"image": {"alt": "Left: squared error against the number of features, both logarithmic. It dips near eight features, rises to a peak at 20, the number of examples, falls to a second, higher valley near 28 and rises slowly; a dashed theoretical mean runs through the band and goes to infinity at the peak. Right: the median of the sum of inverse squared singular values and that of the smallest alone, both with a peak at 20, where they nearly meet."}} tags=["hide-input"]
sizes = np.array([1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 32, 40, 60, 100, 200])
errors, tails = np.array([squared_error(p) for p in sizes]), np.array([(w[p:] ** 2).sum() for p in sizes])
expected = [expected_excess(N, p, w[:p] @ w[:p], sigma2 + tail) + tail for p, tail in zip(sizes, tails)]
inverse = np.array([inverse_squares(p) for p in sizes])  # (25, 2)
fig, (left, right) = panels(2, height=3)
low, high = np.quantile(errors, (0.1, 0.9), axis=1)
left.fill_between(sizes, low, high, color='C0', alpha=0.25, lw=0)
left.loglog(sizes, np.median(errors, axis=1), 'C0.-', label='median')
left.loglog(sizes, expected, '--', color=GREY, lw=1.3, label='mean, exact')
left.set(xlabel='features p', ylabel='squared error', ylim=(0.1, 1000), title='20 examples, noise 0.1')
left.legend()
for j, name in enumerate(('Σ 1/s²', '1/s², smallest')):
    right.loglog(sizes, inverse[:, j], f'C{j + 1}.-', label=name)
right.set(xlabel='features p', title='Inverse squared singular values')
right.legend()
for ax in (left, right):
    ax.set_xticks([1, 4, 20, 100], [1, 4, 20, 100])
    ax.minorticks_off();

# %% [markdown] tags=["caption"]
# With 20 examples the error peaks at $p = 20$ features, where the smallest singular value nearly vanishes; more features
# bring it down again, though not to its first low.

# %% tags=["checks"]
def least_squares_of(k, p, kept):  # of draw k, with the first features alone
    found = np.linalg.lstsq(Phi[k, :, :min(p, kept)], y[k])[0]
    return np.r_[found, np.zeros(max(p - kept, 0))]

verify(
    'the weights are those of lstsq, the shortest ones beyond 20 features',
    lambda k, p: close(shortest(p)[k], least_squares_of(k, p, 200)),
    slip=('keeps 20 features at most', lambda k, p: close(shortest(p)[k], least_squares_of(k, p, 20))),
    k=[0, 7], p=[2, 8, 19, 40, 200],
)

def is_error_of_predictions(p, tail):
    new = np.random.default_rng(p).normal(size=(40_000, 200))
    squares = (new @ w - new[:, :p] @ shortest(p)[0]) ** 2
    return bool(abs(squares.mean() - squared_error(p)[0] + tail) < 5 * squares.std() / 200)

verify(
    'the squared error is that of predictions for new inputs',
    lambda p: is_error_of_predictions(p, 0),
    slip=('forgets the features that are left out', lambda p: is_error_of_predictions(p, (w[p:] ** 2).sum())),
    p=[2, 8, 40],
)
verify(
    'the sum of 1/s² is the squared Frobenius norm of the pseudoinverse',
    lambda p: close(inverse_squares(p)[0], np.median((pinv(Phi[:, :, :p]) ** 2).sum(axis=(1, 2)))),
    slip=('adds 1/s', lambda p: close(inverse_squares(p)[0], np.median(
        (svd(Phi[:, :, :p], compute_uv=False) ** -1.0).sum(axis=1)))),
    p=[8, 40],
)

# %% [markdown]
# The mean is infinite at the peak and next to it. (There a simulated mean says nothing, so the figure shows medians and the
# middle four fifths of 200 draws.) Here the second valley is higher than the first, and shallow: with $p$ grows the share
# $1 - N/p$ of $\mathbf{w}$ that 20 examples cannot see. More parameters are not better as such. What decides is *which*
# interpolating curve is the shortest one.
#
# ### A polynomial of degree 399 through 21 points
#
# Back to curves. Put the interval on $[-1, 1]$ and write a polynomial of degree below $p$ as $q = \sum_{j<p} w_j \phi_j$
# with $\phi_j = \sqrt{2j + 1}\,P_j$, which have mean square 1. We give every weight a price: $j(j + 1)$, nothing for the
# constant, so that curves which oscillate are expensive. Among all polynomials through the points, we take the cheapest. The
# price has a meaning. Legendre's polynomials satisfy $-\big((1 - x^2) P_j'\big)' = j(j + 1) P_j$, and integrating by parts
# gives
#
# ```{math}
# :label: polyfit-energy
# \sum_{j<p} j(j + 1)\, w_j^2 = \frac12 \int_{-1}^1 (1 - x^2)\, q'(x)^2 \,\mathrm{d}x .
# ```
#
# We repeat the experiment with the cubic: 21 points, noise of variance 1, 100 training sets, and $p$ from 2 to 400. Up to
# $p = 21$ these are the least-squares fits, whatever the price. Beyond, they interpolate.

# %% tags=["hide-input"]
def frugal(x, y, p, power=1):  # the cheapest fit: (R, N), (R, N) -> weights (R, p)
    j, N = np.arange(1, p), x.shape[1]
    scale = np.sqrt((2 * j + 1) / (j * (j + 1.0)) ** power)
    P = legvander(x, p - 1)[:, :, 1:]  # (R, N, p - 1)
    H = helmert(N)  # (N - 1, N): takes the constant out
    v = scale * (pinv(H @ P * scale) @ (y @ H.T)[:, :, None])[:, :, 0]
    level = (y - (P @ v[:, :, None])[:, :, 0]).mean(axis=1)
    return np.column_stack([level, v])  # in the basis P_j

def experiment(f, sigma, sizes, power=1, R=100, N=21):  # errors (sizes + 1, R); the last joins the dots
    rngs = [np.random.default_rng(seed) for seed in range(R)]
    x = np.array([spaced(rng, N, 1) for rng in rngs])
    y = f(x) + sigma * np.array([rng.normal(size=N) for rng in rngs])
    new = spaced(np.random.default_rng(R), 200, 1)
    curves = [frugal(x, y, p, power) @ legvander(new, p - 1).T for p in sizes]
    u, at = np.arctanh(x), np.arctanh(new)
    curves.append([np.interp(at, *pair) for pair in zip(u, y, strict=True)])
    return ((np.array(curves) - f(new)) ** 2).mean(axis=2), x, y, new

def cubic(x):
    return truth(2 * x)

# %%
sizes = np.array([2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 19, 20, 21, 22, 23, 24,
                  26, 28, 30, 34, 40, 50, 70, 100, 200, 400])
errors, x, y, new = experiment(cubic, 1, sizes)
middle = np.median(errors, axis=1)
plain = np.median(experiment(cubic, 1, sizes, power=0)[0], axis=1)
print('median error   cheapest   all weights at one price')
for p in (4, 21, 40, 400):
    i = list(sizes).index(p)
    print(f'degree {p - 1:3} {middle[i]:13.3g} {plain[i]:16.3g}')
print(f'dots joined{middle[-1]:13.3g}')

# %% mystnb={"image": {"alt": "Left: test error against the number of parameters, both logarithmic: a valley at 4, a peak of about a hundred million at 21, and a second descent that levels off near one. Without the price, in grey, the curve turns up again after 30. Right: one data set; degree 20 leaves the picture at both ends, degree 399 goes through all points in nearly straight lines, the cubic passes between the points."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3.3)
low, high = np.quantile(errors[:-1], (0.1, 0.9), axis=1)
left.fill_between(sizes, low, high, color='C0', alpha=0.25, lw=0)
left.loglog(sizes, plain[:-1], color=GREY, lw=1.2, label='one price for all')
left.loglog(sizes, middle[:-1], 'C0.-', label='cheapest')
left.axhline(middle[-1], color='C2', ls='--', lw=1.2, label='dots joined')
left.set(xlabel='parameters p', ylabel='squared error, noise taken off', title='Double descent')
left.set_xticks([2, 4, 10, 21, 100, 400], [2, 4, 10, 21, 100, 400])
left.minorticks_off()
left.legend(fontsize=8)
fine = np.linspace(-1, 1, 2001)
for p, color, lw in ((21, 'C3', 1), (4, 'C2', 1.6), (400, 'C0', 1.3)):
    curve = legval(fine, frugal(x[:1], y[:1], p)[0])
    right.plot(fine, curve, color, lw=lw, label=f'degree {p - 1}')
right.plot(x[0], y[0], 'C1o', ms=3.5)
right.set(xlabel='x', ylim=(-20, 18), title='One training set')
right.legend(fontsize=8, loc='lower center');

# %% [markdown] tags=["caption"]
# The error falls, explodes at $p = 21$ parameters for 21 points, and falls again if oscillation has a price: degree 399 then
# nearly joins the dots.

# %% [markdown]
# This is *double descent* {cite}`belkin2019reconciling`: the error falls, rises up to the *interpolation threshold* $p = N$,
# and falls again. Past the threshold every further parameter makes the cheapest curve cheaper, until it nearly joins the
# dots. The grey curve shows how much depends on the price. If all weights but that of the constant cost the same, the
# shortest solutions make spikes at the points and a constant in between, and the second descent does not last.
#
# What is the limit $p \to \infty$? The cheapest of all curves joins the dots:
#
# ````{prf:theorem} The cheapest curve through all points
# :label: thm-cheapest-curve
# Among all continuous, piecewise differentiable $q$ on $(-1, 1)$ with $q(x_n) = y_n$, $x_1 < \dots < x_N$, the energy
# {eq}`polyfit-energy` is least for the curve that is linear in $u = \operatorname{artanh} x$ between neighbouring points
# and constant outside of them.
# ````
#
# ````{prf:proof}
# :class: dropdown
# $\mathrm{d}x = (1 - x^2)\,\mathrm{d}u$, so the energy is $\frac12 \int_{-\infty}^\infty
# \big(\frac{\mathrm{d}q}{\mathrm{d}u}\big)^2 \mathrm{d}u$. Outside, 0 is the least. Between two points, $\int
# (\mathrm{d}q/\mathrm{d}u)^2\,\mathrm{d}u \ge (\Delta y)^2/\Delta u$ by Cauchy–Schwarz, with equality for constant slope.
# ````
#
# That the polynomials really approach this curve as their degree grows (they are dense with respect to
# the energy) we do not prove but measure.
#
# Is the second valley the deeper one? Not here. The truth *is* a cubic, and the fit of degree 3 has few parameters to pay
# for, while a curve through all points takes over the noise: joined dots carry two thirds of $\sigma^2$ (the exercise). It
# is different where no small degree is right and noise is weak. Take a kink, $4\,|x - 0.15|$, and $\sigma = 0.05$:

# %%
def kink(x):
    return 4 * abs(x - 0.15)

kinked = experiment(kink, 0.05, [*range(2, 22), 400])[0]
first = kinked[:20].min(axis=0)  # the best p <= 21, known only afterwards
print(f'best p up to 21: median error {np.median(first):.2g}, p = 400: '
      f'{np.median(kinked[-2]):.2g}')
print('p = 400 beats the best p up to 21 in', (kinked[-2] < first).sum(),
      'of 100 sets')

# %% [markdown]
# The competitor was even chosen in hindsight, for each training set by its test error. So the classical U is one half of a
# picture. In its other half the number of parameters no longer tells how complex a fit is. What tells is the preference
# among all the curves that fit.
#
# ```{exercise} ★★★ Program: what joined dots cost
# :label: polyfit-dots
# The curve of {prf:ref}`thm-cheapest-curve` is a weighted sum of the labels: $q(x_0) = \mathbf{s}(x_0)^\top\mathbf{y}$. Find
# $\|\mathbf{s}(x_0)\|^2$, by which noise enters its variance, and write `dots_noise(x, x0)` without a loop. Show that its
# mean between two points is $\frac23$, if $x_0$ is equally likely anywhere on the scale $u$.
# ```

# %%
def dots_noise(x, x0):
    """The squared length of the weights at each place: a float array (m,).

    x: float array (N,), N >= 2, sorted, distinct, in (-1, 1). x0: float array
    (m,), places in (-1, 1), also outside of the points. At most 10 lines may
    run. For x = [-0.5, 0.5] and x0 = [0., 0.5, 0.7] it is [0.5, 1., 1.].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def dots_by_columns(x, x0):  # one label 1, the others 0
    S = [np.interp(np.arctanh(x0), np.arctanh(x), e) for e in np.eye(len(x))]
    return (np.array(S) ** 2).sum(axis=0)

cases = dict(
    x=in_cells(-0.95, 0.95).map(np.sort),
    x0=lambda x: lists(on(*x.tolist(), -0.99, 0.99) | scalars(-0.99, 0.99), 1, 6).map(np.array),
)
grade(dots_noise, dots_by_columns, **cases, lines=10)

# %% [markdown]
# ```{solution-start} polyfit-dots
# :class: dropdown
# ```
# Between neighbours the weights are $1 - \theta$ and $\theta$, where $\theta$ is the share of the way on the scale $u$, so
# $\|\mathbf{s}\|^2 = (1 - \theta)^2 + \theta^2$; outside it is 1. The mean over $\theta$ is $\frac13 + \frac13 = \frac23$,
# however many points there are: more data do not help this interpolant against noise. The nearest neighbour pays 1, the
# least-squares fit $p/N$. It is tempting to measure the way in $x$, as the first wrong answer does. The second goes on in
# a straight line outside of the points, and the third takes the nearest neighbour.

# %% jupyter={"source_hidden": true}
def dots_noise_solution(x, x0, scale=np.arctanh):
    u, u0 = scale(x), scale(x0)
    right = np.clip(np.searchsorted(u, u0), 1, len(u) - 1)
    share = (u0 - u[right - 1]) / (u[right] - u[right - 1])
    share = np.clip(share, 0, 1)
    return (1 - share) ** 2 + share**2

def on_the_wrong_scale(x, x0):
    return dots_noise_solution(x, x0, scale=lambda x: x)

def straight_on(x, x0):
    u, u0 = np.arctanh(x), np.arctanh(x0)
    right = np.clip(np.searchsorted(u, u0), 1, len(u) - 1)
    share = (u0 - u[right - 1]) / (u[right] - u[right - 1])
    return (1 - share) ** 2 + share**2

def nearest_neighbour(x, x0):
    return np.ones(len(x0))

assert grade(dots_noise_solution, dots_by_columns, **cases, lines=10)
assert not grade(on_the_wrong_scale, dots_by_columns, **cases, lines=10)
assert not grade(straight_on, dots_by_columns, **cases, lines=10)
assert not grade(nearest_neighbour, dots_by_columns, **cases, lines=10)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def excess(seed, N, p, formula, R=3000):
    rng = np.random.default_rng(seed)
    Phi, w = rng.normal(size=(R, N, p)), 0.2 * rng.normal(size=p)
    e = 0.8 * rng.normal(size=(R, N))
    off = (pinv(Phi) @ (Phi @ w + e)[:, :, None])[:, :, 0] - w
    errors = (off**2).sum(axis=1)
    want = formula(N, p, w @ w, 0.8**2)
    return bool(abs(errors.mean() - want) < 5 * errors.std() / R**0.5)

def not_exchanged(N, p, length2, tau2):
    bias = max(1 - N / p, 0) * length2
    return bias + tau2 * p / (abs(N - p) - 1)

def distances(seed, N, p, what):  # of each column from the others' span
    Phi = np.random.default_rng(seed).normal(size=(N, p))
    found = []
    for j in range(p):
        rest = np.delete(Phi, j, axis=1)
        found.append(Phi[:, j] - what * rest @ (pinv(rest) @ Phi[:, j]))
    return close(np.diag(inv(Phi.T @ Phi)),
                 1 / (np.array(found) ** 2).sum(axis=1))
verify('noise is divided by squared distances of columns',
       lambda seed, p: distances(seed, 7, p, 1),
       slip=('forgets to subtract the projection',
             lambda seed, p: distances(seed, 7, p, 0)),
       seed=seeds(), p=integers(2, 7), tries=40)

verify('the mean error on either side of the peak',
       lambda seed, size: excess(seed, *size, expected_excess),
       slip=('does not exchange rows and columns for p > N',
             lambda seed, size: excess(seed, *size, not_exchanged)),
       seed=seeds(), size=[(8, 2), (9, 3), (2, 8), (3, 9)], tries=12)

def by_conditions(x, y, p, price):  # Lagrange, one system for all unknowns
    j, N = np.arange(p), len(x)
    prices = price(j) / (2 * j + 1)  # of the weights of P_j
    P = legvander(x, p - 1)
    system = np.block([[np.diag(prices), P.T], [P, np.zeros((N, N))]])
    return solve(system, np.append(np.zeros(p), y))[:p]

def cheapest(seed, p, price):
    rng = np.random.default_rng(seed)
    x, y = spaced(rng, 6, 1), rng.normal(size=6)
    if p < 6:
        want = lstsq(legvander(x, p - 1), y, rcond=None)[0]
    else:
        want = by_conditions(x, y, p, price)
    return close(frugal(x[None], y[None], p)[0], want, atol=1e-9, rtol=0)

def energy(seed, price):
    c = np.random.default_rng(seed).normal(size=7)
    nodes, weights = leggauss(9)
    slope = Legendre(c).deriv()(nodes)
    j = np.arange(7)
    integral = weights @ ((1 - nodes**2) * slope**2) / 2
    return close((price(j) * c**2 / (2 * j + 1)).sum(), integral)

# %% tags=["checks"]
def gap(seed, p, scale):  # to the curve that joins the dots
    rng = np.random.default_rng(seed)
    x, y = spaced(rng, 8, 1), rng.normal(size=8)
    new = np.linspace(-0.99, 0.99, 331)
    dots = np.interp(scale(new), scale(x), y)
    curve = legval(new, frugal(x[None], y[None], p)[0])
    return ((curve - dots) ** 2).mean() ** 0.5

wiggling, straight = lambda j: j * (j + 1), lambda x: x
verify('the price of wiggling is an energy',
       lambda seed: energy(seed, wiggling),
       slip=('takes j² for the price',
             lambda seed: energy(seed, lambda j: j**2)),
       seed=seeds())

verify('the cheapest polynomial through the points',
       lambda seed, p: cheapest(seed, p, wiggling),
       slip=('takes j² for the price',
             lambda seed, p: cheapest(seed, p, lambda j: j**2)),
       seed=seeds(), p=[3, 5, 6, 9, 14], tries=60)

verify('a tenfold degree, a gap several times smaller',
       lambda seed: gap(seed, 500, np.arctanh) < gap(seed, 50, np.arctanh) / 4,
       slip=('joins the dots on the scale of x',
             lambda seed: gap(seed, 500, straight)
             < gap(seed, 50, straight) / 4),
       seed=seeds(), tries=30)

# %% [markdown]
# ## Summary
#
# A polynomial is a linear model in the powers of its input: each parameter lowers the training error by $\sigma^2/N$
# whether it is needed or not, and the error on new labels shows the bill. Powers themselves lose a digit every one to
# three degrees, and orthogonal polynomials give the same curves without that loss. At as many parameters as points a
# singular value nearly vanishes and the error explodes; beyond, the shortest interpolant calms down again, and whether the
# second valley is a good place depends on what "short" means.
#
# **Further reading.** {cite}`bishop2006pattern`, chapter 1, tells the classical story on a sine.
# {cite}`trefethen2013approximation` is the book on polynomials that behave; {cite}`beckermann2000condition` has the sharp
# bounds for Vandermonde matrices. {cite}`belkin2019reconciling` named double descent, {cite}`belkin2020two` has the
# theorem on Gaussian features, {cite}`hastie2022surprises` its asymptotic theory; {cite}`loog2020brief` found it in papers
# from 1989 on.
