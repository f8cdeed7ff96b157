# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Polynomial curve fitting
#
# - **Question.** A curve with too few parameters misses the pattern, one with too many swallows the noise. What happens in
#   between, and what beyond?
# - **You need** [least squares](least_squares.ipynb), the
#   [singular value decomposition](../linear_algebra/singular_value_decomposition.ipynb) and
#   [variances](../probability/expectations.ipynb).
# - **You build** polynomial regression in a bad and in a good basis, the exact price of every parameter, and a
#   polynomial of degree 400 through 21 points that behaves.
# - **Time** 7 s.

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
import numpy as np
from numpy.linalg import inv, lstsq, norm, pinv, qr, solve, svd
from numpy.polynomial.legendre import Legendre, leggauss, legval, legvander
from scipy.interpolate import BarycentricInterpolator
from scipy.linalg import helmert

from nbutils.cases import integers, seeds
from nbutils.checks import below, between, close, grade, verify
from nbutils.data import diabetes
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## Powers as features
#
# Linear regression fits straight lines. It takes one idea to make it fit curves: the *features* may be anything computed
# from the input. Take the powers of a single number $x$,
#
# ```{math}
# :label: polyfit-model
# \hat y = \sum_{j=0}^{d} w_j\, x^j = \mathbf{v}(x)^\top \mathbf{w} , \qquad
# \mathbf{v}(x) = (1, x, x^2, \dots, x^d) .
# ```
#
# As a function of $x$ this is a curve; as a function of $\mathbf{w}$ it is as linear as ever, and all that was said of
# [least squares](least_squares.ipynb) applies. The design matrix, with one power a column, is called *Vandermonde matrix*.
#
# The pattern to be found is the cubic {cite}`zhang2023dive`
#
# $$ f(x) = 5 + 1.2\,x - 3.4\,\frac{x^2}{2!} + 5.6\,\frac{x^3}{3!} , \qquad -2 \le x \le 2 , $$
#
# seen through noise of standard deviation $\sigma = 1$ at 21 points.

# %%
def truth(x):
    return 5 + 1.2 * x - 3.4 * x**2 / 2 + 5.6 * x**3 / 6

def spaced(rng, N, reach=2):  # one input in each of N equal parts
    return reach * (-1 + 2 * (np.arange(N) + rng.random(N)) / N)

def powers(x, degree):  # (N,) -> (N, degree + 1)
    return x[:, None] ** np.arange(degree + 1)

def fit_powers(x, y, degree):
    return lstsq(powers(x, degree), y, rcond=None)[0]

def as_in_numpy(seed, degree, lowest_first=True):
    rng = np.random.default_rng(seed)
    x, y = spaced(rng, 12), rng.normal(size=12)
    library = np.polyfit(x, y, degree)
    w = fit_powers(x, y, degree)
    return close(w, library[::-1] if lowest_first else library)

verify('least squares on powers is numpy\'s polyfit',
       as_in_numpy,
       control=lambda seed, degree: as_in_numpy(seed, degree, False),
       seed=seeds(), degree=integers(1, 6), tries=60)

# %% [markdown]
# (The control forgets that `polyfit` lists the highest power first.) How far can the degree go? Until the curve passes
# through all points.
#
# ````{prf:theorem} Interpolation
# :label: thm-interpolation
# Let $x_1, \dots, x_N$ be distinct. For all $y_1, \dots, y_N$ there is exactly one polynomial of degree at most $N - 1$
# with $p(x_n) = y_n$ for all $n$.
# ````
#
# ````{prf:proof}
# The Vandermonde matrix of degree $N - 1$ is square. If it sends $\mathbf{w}$ to $\mathbf{0}$, the polynomial with these
# weights has $N$ zeros but a degree below $N$, so it is the zero polynomial: $\mathbf{w} = \mathbf{0}$. A square matrix that
# sends only $\mathbf{0}$ to $\mathbf{0}$ is invertible.
# ````

# %%
def passes_through_all(seed, N, short):
    rng = np.random.default_rng(seed)
    x, y, new = spaced(rng, N), rng.normal(size=N), rng.uniform(-2, 2, 5)
    w = fit_powers(x, y, N - 1 - short)
    curve = BarycentricInterpolator(x, y)
    return close(powers(new, N - 1 - short) @ w, curve(new))

verify('degree N − 1 interpolates N points, in one way',
       lambda seed, N: passes_through_all(seed, N, 0),
       control=lambda seed, N: passes_through_all(seed, N, 1),
       seed=seeds(), N=integers(2, 8), tries=60)

# %% [markdown]
# Degree 1, 3 and 20 on the same 21 points. (From here on the curves are computed in another basis than powers. They are
# the same curves, with more correct digits; [the next part](#the-same-curve-on-a-better-scale) explains it.)

# %%
rng = np.random.default_rng(4)
x = spaced(rng, 21)
y = truth(x) + rng.normal(size=21)
grid = np.linspace(-2, 2, 401)
three = {d: Legendre.fit(x, y, d, [-2, 2]) for d in (1, 3, 20)}
for degree, curve in three.items():
    training = ((curve(x) - y) ** 2).mean()
    test = 1 + ((curve(grid) - truth(grid)) ** 2).mean()  # noise: 1
    print(f'degree {degree:2}: training error '
          f'{"none" if degree == 20 else f"{training:.2f}"}, '
          f'test error {test:.3g}')
assert training < 1e-9
library = [np.polyval(np.polyfit(x, y, d), grid) for d in (1, 3)]
assert close([three[1](grid), three[3](grid)], library)

# %% mystnb={"figure": {"caption": "On 21 points degree 1 is too stiff for the pattern and degree 3 finds it; degree 20 passes through all points and swings wildly between the outer ones."}, "image": {"alt": "Three panels with the same 21 points and the true cubic dashed. Degree 1: a straight line that misses the bends. Degree 3: a curve close to the truth. Degree 20: a curve through all points, quiet in the middle and swinging out of the picture near both ends."}} tags=["hide-input"]
fig, axes = panels(3, height=2.5, sharey=True)
for ax, (degree, curve), name in zip(
        axes, three.items(), ('underfits', 'fits', 'overfits'),
        strict=True):
    ax.plot(grid, truth(grid), '--', color=GREY, lw=1.2)
    ax.plot(grid, curve(grid), 'C0', lw=1.5)
    ax.plot(x, y, 'C1o', ms=3.5)
    ax.set(xlabel='x', ylim=(-16, 16), title=f'degree {degree} {name}')
axes[0].set_ylabel('y');

# %% [markdown]
# The line *underfits*: its error is large on the training points already, and no number of further points would help. The
# polynomial of degree 20 *overfits*: no error at all in training, and a huge one elsewhere. The training error alone would
# choose the worst of the three. By how much it deceives can be said exactly.
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
# higher.

# %%
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
       control=lambda seed, degree: price_of_parameters(seed, degree, -1),
       seed=seeds(), degree=integers(0, 10), tries=30)

# %% [markdown]
# Now 200 training sets of 21 points each, all degrees from 0 to 20, and besides degrees 1, 3 and 20 on 200 points.

# %%
def losses(seed, N, degrees):  # training, test: (2, len(degrees))
    rng = np.random.default_rng(seed)
    x = spaced(rng, N)
    y = truth(x) + rng.normal(size=N)
    curves = [Legendre.fit(x, y, d, [-2, 2]) for d in degrees]
    nodes, weights = leggauss(60)
    new = [(c(2 * nodes) - truth(2 * nodes)) ** 2 for c in curves]
    return [[((c(x) - y) ** 2).mean() for c in curves],
            1 + np.array(new) @ weights / 2]

degrees = np.arange(21)
few = np.array([losses(seed, 21, degrees) for seed in range(200)])
many = np.array([losses(seed, 200, [1, 3, 20]) for seed in range(200)])
expected = 1 - (degrees[3:-1] + 1) / 21  # of the training error
spread = few[:, 0, 3:-1].std(axis=0) / 200**0.5
assert (abs(few[:, 0, 3:-1].mean(axis=0) - expected) < 5 * spread).all()
test = np.median(few[:, 1], axis=0)
print('best degree by the median test error:', test.argmin())
for d in (1, 3, 8, 14):
    print(f'degree {d:2}: training {np.median(few[:, 0, d]):.2f}, '
          f'test {test[d]:.3g}')
print(f'degree 20 on 200 points: test {np.median(many[:, 1, 2]):.2f}')
assert test[20] > 1e6 and (few[:, 0, 20] < 1e-15).all()  # squared rounding
print('degree 20 on 21 points: training', below(few[:, 0, 20], 1e-15),
      f'and test {test[20]:.1e}')

# %% mystnb={"figure": {"caption": "Beyond degree 3 the training error on 21 points sinks towards zero while the test error climbs past a million: the training error alone would choose the worst degree."}, "image": {"alt": "Training and test error against the degree, logarithmic. Both fall steeply to degree 3. Then the training error sinks slowly along the dashed theoretical line and drops to nothing, while the test error rises, slowly at first, and beyond degree 10 by orders of magnitude up to a million and more."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.2))
for j, name in enumerate(('training', 'test')):
    part = few[:, j, :20 + j]
    low, high = np.quantile(part, (0.1, 0.9), axis=0)
    ax.fill_between(degrees[:20 + j], low, high, color=f'C{j}', alpha=0.25,
                    lw=0)
    ax.semilogy(degrees[:20 + j], np.median(part, axis=0), f'C{j}.-',
                label=name)
ax.semilogy(degrees[3:-1], expected, '--', color=GREY, lw=1.2,
            label='expected')
ax.set(xlabel='degree', ylabel='mean squared error', xticks=range(0, 21, 4),
       ylim=(1e-3, 1e8))
ax.legend(loc='upper left');

# %% [markdown]
# (Median, and the middle four fifths of the samples; the training error at degree 20 is zero and cannot be drawn.) This is the classical picture, the
# test error like a U. It says: stop at the degree where the errors part. It is not yet the whole picture.
#
# Real curves are seldom cubics, and noise is seldom that small. What does the body mass index of a patient with diabetes
# say about the course of the disease? We fit polynomials to 20 or to 300 of 442 patients {cite}`efron2004least` and test
# on 142 others, in 200 random splits. The index is scaled so that the training patients fill $[-1, 1]$; a test patient
# beyond is treated as if at the end, for no polynomial of high degree should be trusted outside its data. Degree 0, the
# mean, is the baseline.

# %%
patients, outcome, _ = diabetes()

def patient_errors(seed, N, degrees):  # test root mean squares
    order = np.random.default_rng(seed).permutation(442)
    test, train = order[:142], order[142:142 + N]
    bmi = patients[:, 2]
    low, high = bmi[train].min(), bmi[train].max()
    t = np.clip(2 * (bmi - low) / (high - low) - 1, -1, 1)
    fits = [legvander(t[test], d) @ lstsq(legvander(t[train], d),
                                          outcome[train], rcond=None)[0]
            for d in degrees]
    return ((np.array(fits) - outcome[test]) ** 2).mean(axis=1) ** 0.5

tried = (0, 1, 2, 3, 5, 8)
real = {N: np.median([patient_errors(seed, N, tried) for seed in range(200)],
                     axis=0) for N in (20, 300)}
print('degree        ' + ''.join(f'{d:5}' for d in tried))
for N, row in real.items():
    print(f'{N:3} patients: ' + ''.join(f'{e:5.0f}' for e in row))

# %% [markdown]
# The line is best. Whatever bend there is in the truth, it is too slight to be worth $\sigma^2/N$ with 20 patients, and
# does not show even with 300. But see how the bill depends on $N$: with 20 patients degree 8 is worse than no model at
# all, with 300 it costs next to nothing. Degrees are not too high as such, only too high for the data.
#
# ```{exercise} ★ How noisy was it?
# :label: polyfit-noise
# Suppose that the truth is a polynomial of degree at most $d$. Write `noise_variance(x, y, d)`, an estimate of $\sigma^2$
# from the squared residuals of the fit of degree $d$ to one training set, whose expectation is exactly $\sigma^2$.
# ```

# %%
def noise_variance(x, y, d):  # (N,), (N,), () -> ()
    raise NotImplementedError('your turn')

# %%
def noise_by_basis(x, y, d):  # noise in directions that f does not have
    Q, _ = qr(powers(x, d), mode='complete')
    return ((Q[:, d + 1:].T @ y) ** 2).mean()

noise_rng = np.random.default_rng(6)
noise_cases = [(spaced(noise_rng, N), noise_rng.normal(size=N), d)
               for N, d in ((5, 0), (9, 3), (30, 6))]
grade(noise_variance, noise_by_basis, noise_cases)

# %% [markdown]
# ```{solution-start} polyfit-noise
# :class: dropdown
# ```
# With $D = 0$ and $p = d + 1$ the first line of {eq}`polyfit-price` says that the sum of squared residuals is
# $\sigma^2(N - d - 1)$ in the mean: divide by that. The wrong answer forgets the constant among the parameters. For
# $d = 0$ this is the familiar $N - 1$.

# %% jupyter={"source_hidden": true}
def noise_variance_solution(x, y, d):
    residual = y - powers(x, d) @ fit_powers(x, y, d)
    return residual @ residual / (len(y) - d - 1)

def constant_forgotten(x, y, d):
    residual = y - powers(x, d) @ fit_powers(x, y, d)
    return residual @ residual / (len(y) - d)

assert grade(noise_variance_solution, noise_by_basis, noise_cases)
assert not grade(constant_forgotten, noise_by_basis, noise_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The same curve on a better scale
#
# This section continues [Powers as features](#powers-as-features). Near $x = 1$ the powers $x^{10}$ and $x^{11}$ look much
# alike. Columns that look alike make a matrix that is nearly singular, and a matrix with the condition number
# $\kappa = s_{\max}/s_{\min}$ costs about $\log_{10}\kappa$ of the sixteen digits in the [solution of a least-squares
# problem](least_squares.ipynb). How bad are powers? *No choice of points can save them.*
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
# many on $[0, 1]$. The remedy is to combine the
# same powers into columns that do not look alike. *Legendre's polynomials* $P_0 = 1$, $P_1 = x$,
# $P_2 = \frac12(3x^2 - 1), \dots$ are orthogonal on $[-1, 1]$, $\int_{-1}^1 P_i P_j \,\mathrm{d}x = 0$ for $i \ne j$, and
# on well-spread points their columns nearly are. The span is the same, hence so are the projection and the fitted curve.
# What changes are the weights.

# %%
def condition(V):
    s = svd(V, compute_uv=False)
    return s[0] / s[-1]

def lower_bound(degree, from_zero):
    root = 1 + 2**0.5
    if from_zero:
        return root ** (2 * degree) / (2 * (1 + degree) ** 0.5)
    return (root**degree - 1) / (2 * (1 + degree / 2) ** 0.5)

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

# %% tags=["hide-input"]
verify('the condition number is at least that large',
       lambda seed, degree, from_zero: above_bound(
           seed, degree, from_zero, from_zero),
       control=lambda seed, degree, from_zero: above_bound(
           seed, degree, from_zero, True),
       seed=seeds(), degree=integers(1, 12), from_zero=[True, False],
       tries=100)
verify('another basis, the same curve',
       lambda seed, degree: same_curve(seed, degree, 0),
       control=lambda seed, degree: same_curve(seed, degree, 0.1),
       seed=seeds(), degree=integers(1, 7), tries=40)

# %% [markdown]
# The first control uses the bound for $[0, 1]$ everywhere; the larger interval does better than that. The second is worth a
# thought: it adds a small ridge penalty, and the two bases part. As soon as weights have a price, the choice of the basis is
# no longer a matter of digits alone, but a statement about which curves are cheap. We shall come back to this.

# %%
points = -1 + 2 * (np.arange(81) + 0.5) / 81
reach = {'powers, [0, 1]': 14, 'powers, [−1, 1]': 24, 'Legendre': 24}
bases = {'powers, [0, 1]': lambda d: powers((1 + points) / 2, d),
         'powers, [−1, 1]': lambda d: powers(points, d),
         'Legendre': lambda d: legvander(points, d)}
lost = {name: [np.log10(condition(bases[name](d)))
               for d in range(1, reach[name] + 1)] for name in bases}
for name, digits in lost.items():
    a_degree = (digits[-1] - digits[4]) / (len(digits) - 5)
    print(f'{name:16} degree {len(digits)}: {digits[-1]:.2f} digits lost, '
          f'from degree 5 on {a_degree:.2f} each')

def recovered(basis, seed):  # relative error of the weights
    w = np.random.default_rng(seed).normal(size=15)
    found = lstsq(basis(14), basis(14) @ w, rcond=None)[0]
    return norm(found - w) / norm(w)

error = {name: np.median([recovered(basis, seed) for seed in range(15)])
         for name, basis in bases.items()}
# at most about the rounding 1e-16 times the condition 10^10.4
assert 1e-9 < error['powers, [0, 1]'] < 1e-5
print('degree 14, error of the weights: powers on [0, 1]',
      between(error['powers, [0, 1]'], 1e-9, 1e-5))
print('degree 14, error of the weights: Legendre',
      below(error['Legendre'], 1e-14))

# %% mystnb={"figure": {"caption": "Each degree of powers costs about 0.8 digits on $[0, 1]$ and about 0.4 on $[-1, 1]$, close to the proved bounds; Legendre's polynomials cost almost none."}, "image": {"alt": "Decimal digits lost against degree. Powers on 0 to 1: a steep straight line, ten digits at degree 14. Powers on minus 1 to 1: half as steep, nine at degree 24. Legendre: almost flat, near one. Dashed lower bounds run just below the two steep lines; a horizontal line marks the sixteen digits of double precision."}} tags=["hide-input"]
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

# %% [markdown]
# (Dashed: the bounds of the theorem. Forming $\mathbf{V}^\top\mathbf{V}$ would double all losses.)
#
# ```{exercise} ★★ Polynomials that suit the points
# :label: polyfit-recurrence
# On unevenly spread points Legendre's columns are not orthogonal. Make some that are, without orthogonalizing each against
# all before it: multiply the last column by $x$ entry by entry, and show that the result is already orthogonal to all
# columns but the last two. Write `orthonormal(x, d)`, an $N \times (d + 1)$ matrix with orthonormal columns, column $j$ a
# polynomial of degree $j$ with a positive leading coefficient.
# ```

# %%
def orthonormal(x, d):  # (N,), () -> (N, d + 1)
    raise NotImplementedError('your turn')

# %%
def orthonormal_by_qr(x, d):
    Q, R = qr(powers(x, d))
    return Q * np.sign(np.diag(R))

basis_rng = np.random.default_rng(7)
basis_cases = [(np.sort(basis_rng.exponential(size=N)), d)
               for N, d in ((4, 1), (7, 3), (12, 5))]
grade(orthonormal, orthonormal_by_qr, basis_cases)

# %% [markdown]
# ```{solution-start} polyfit-recurrence
# :class: dropdown
# ```
# Let $\mathbf{X} = \operatorname{diag}(\mathbf{x})$. For $i < j - 1$ is $\mathbf{q}_i^\top \mathbf{X}\mathbf{q}_j =
# (\mathbf{X}\mathbf{q}_i)^\top \mathbf{q}_j = 0$, because $\mathbf{X}\mathbf{q}_i$ has the degree $i + 1 <
# j$ and $\mathbf{q}_j$ is orthogonal to all lower degrees. So only $\mathbf{q}_j$ and $\mathbf{q}_{j-1}$ have to be
# subtracted: a recurrence with three terms, $O(Nd)$ operations in all {cite}`forsythe1957generation`. (It is Lanczos'
# iteration with the matrix $\mathbf{X}$.) The wrong answer subtracts the last column only, which is enough up to degree 1.

# %% jupyter={"source_hidden": true}
def orthonormal_solution(x, d, terms=2):
    columns = [np.full(len(x), len(x) ** -0.5)]
    for _ in range(d):
        new = x * columns[-1]
        for q in columns[-terms:]:
            new = new - (q @ new) * q
        columns.append(new / norm(new))
    return np.stack(columns, axis=1)

def last_column_only(x, d):
    return orthonormal_solution(x, d, terms=1)

assert grade(orthonormal_solution, orthonormal_by_qr, basis_cases)
assert not grade(last_column_only, orthonormal_by_qr, basis_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## More parameters than points
#
# This section continues [Powers as features](#powers-as-features). At degree 20 the polynomial passes through all 21
# points, and the test error is beyond a million. What would degree 40 do? The question used to be dismissed: 41 weights,
# 21 equations, infinitely many solutions. But the [pseudoinverse](../linear_algebra/singular_value_decomposition.ipynb)
# names one of them, the *shortest*, and [gradient descent](least_squares.ipynb) from zero finds the same one. Let us go
# on, first where everything can be computed.
#
# Let the features be $D = 200$ independent standard normal numbers, the truth a weighted sum of them with weights
# $w_j = 1/j$, $N = 20$ examples, and let the model see the first $p$ features only. For the model, the others are so much
# more noise.
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
# features that the model does not see, is the squared prediction error. See where the peak comes from. At $p = N$ the last
# column has a single dimension left in which it can stand out from the others. By chance it hardly does, so the smallest
# singular value is small, and noise is divided by its square. Take columns away, and each of the others has room. *Add*
# columns, and the rows have room: the equations become easier to satisfy, and short solutions suffice.

# %%
def expected_excess(N, p, length2, tau2):
    if p <= N - 2:
        return tau2 * p / (N - p - 1)
    if p >= N + 2:
        return (1 - N / p) * length2 + tau2 * N / (p - N - 1)
    return np.inf

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

# %%
def distances(seed, N, p, what):  # of each column from the others' span
    Phi = np.random.default_rng(seed).normal(size=(N, p))
    found = []
    for j in range(p):
        rest = np.delete(Phi, j, axis=1)
        found.append(Phi[:, j] - what * rest @ (pinv(rest) @ Phi[:, j]))
    return close(np.diag(inv(Phi.T @ Phi)),
                 1 / (np.array(found) ** 2).sum(axis=1))

# %% tags=["hide-input"]
verify('noise is divided by squared distances of columns',
       lambda seed, p: distances(seed, 7, p, 1),
       control=lambda seed, p: distances(seed, 7, p, 0),
       seed=seeds(), p=integers(2, 7), tries=40)
verify('the mean error on either side of the peak',
       lambda seed, size: excess(seed, *size, expected_excess),
       control=lambda seed, size: excess(seed, *size, not_exchanged),
       seed=seeds(), size=[(8, 2), (9, 3), (2, 8), (3, 9)], tries=12)

# %%
N, D, R, sigma2 = 20, 200, 200, 0.1
w = 1 / np.arange(1, D + 1)
rng = np.random.default_rng(0)
Phi = rng.normal(size=(R, N, D))
y = Phi @ w + sigma2**0.5 * rng.normal(size=(R, N))
sizes = np.array([1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 17, 18, 19, 20, 21, 22, 23,
                  24, 26, 28, 32, 40, 60, 100, 200])
errors, inverse, expected = [], [], []
for p in sizes:
    A, tail = Phi[:, :, :p], (w[p:] ** 2).sum()
    found = (pinv(A) @ y[:, :, None])[:, :, 0]
    errors.append(((found - w[:p]) ** 2).sum(axis=1) + tail)
    s = svd(A, compute_uv=False)  # (R, min(N, p))
    inverse.append([(s**-2).sum(axis=1), s[:, -1] ** -2])
    expected.append(expected_excess(N, p, w[:p] @ w[:p], sigma2 + tail) + tail)

# %%
errors, inverse = np.array(errors), np.median(inverse, axis=2)  # (25, 2)
middle, peak = np.median(errors, axis=1), sizes == N
print('most at p =', sizes[middle.argmax()], '- 1/s² most at p =',
      sizes[inverse[:, 1].argmax()])
share = (inverse[:, 1] / inverse[:, 0])[peak][0]
print(f'share of the smallest singular value there: {share:.0%}')
print(f'best: p = {sizes[middle.argmin()]}, {middle.min():.2f}; all 200: '
      f'{middle[-1]:.2f}')

# %% mystnb={"figure": {"caption": "With 20 examples the error peaks at $p = 20$ features, where the smallest singular value nearly vanishes; more features bring it down again, though not to its first low."}, "image": {"alt": "Left: squared error against the number of features, both logarithmic. It dips near eight features, rises to a peak at 20, the number of examples, falls to a second, higher valley near 28 and rises slowly; a dashed theoretical mean runs through the band and goes to infinity at the peak. Right: the median of the sum of inverse squared singular values and that of the smallest alone, both with a peak at 20, where they nearly meet."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3)
low, high = np.quantile(errors, (0.1, 0.9), axis=1)
left.fill_between(sizes, low, high, color='C0', alpha=0.25, lw=0)
left.loglog(sizes, middle, 'C0.-', label='median')
left.loglog(sizes, expected, '--', color=GREY, lw=1.3, label='mean, exact')
left.set(xlabel='features p', ylabel='squared error', ylim=(0.1, 1000),
         title='20 examples, noise 0.1')
left.legend()
for j, name in enumerate(('Σ 1/s²', '1/s², smallest')):
    right.loglog(sizes, inverse[:, j], f'C{j + 1}.-', label=name)
right.set(xlabel='features p', title='Inverse squared singular values')
right.legend()
for ax in (left, right):
    ax.set_xticks([1, 4, 20, 100], [1, 4, 20, 100])
    ax.minorticks_off();

# %% [markdown]
# The mean is infinite at the peak and next to it (there a simulated mean says nothing, so the figure shows medians and the
# middle four fifths of 200 draws). Here the second valley is higher than the first, and shallow: with $p$ grows the share
# $1 - N/p$ of $\mathbf{w}$ that 20 examples cannot see. More parameters are not better as such. What decides is *which*
# interpolant is the shortest one.
#
# ### A polynomial of infinite degree
#
# Back to curves. Put the interval on $[-1, 1]$ and write a polynomial of degree below $p$ as $q = \sum_{j<p} w_j \phi_j$
# with $\phi_j = \sqrt{2j + 1}\,P_j$, which have mean square 1. Short means cheap, so let every weight have a price:
# $j(j + 1)$, the price of wiggling, nothing for the constant. It is no arbitrary choice. Legendre's polynomials satisfy
# $-\big((1 - x^2) P_j'\big)' = j(j + 1) P_j$, and integrating by parts gives
#
# ```{math}
# :label: polyfit-energy
# \sum_{j<p} j(j + 1)\, w_j^2 = \frac12 \int_{-1}^1 (1 - x^2)\, q'(x)^2 \,\mathrm{d}x .
# ```
#
# Among all interpolating polynomials of degree below $p$ take the one for which this *energy* is least. What becomes of it
# as $p \to \infty$?
#
# ````{prf:theorem} The cheapest curve through all points
# :label: thm-cheapest-curve
# Among all continuous, piecewise differentiable $q$ on $(-1, 1)$ with $q(x_n) = y_n$, $x_1 < \dots < x_N$, the energy
# {eq}`polyfit-energy` is least for the curve that is linear in $u = \operatorname{artanh} x$ between neighbouring points
# and constant outside of them.
# ````
#
# ````{prf:proof}
# $\mathrm{d}x = (1 - x^2)\,\mathrm{d}u$, so the energy is $\frac12 \int_{-\infty}^\infty
# \big(\frac{\mathrm{d}q}{\mathrm{d}u}\big)^2 \mathrm{d}u$. Outside, 0 is the least. Between two points, $\int
# (\mathrm{d}q/\mathrm{d}u)^2\,\mathrm{d}u \ge (\Delta y)^2/\Delta u$ by Cauchy–Schwarz, with equality for constant slope.
# ````
#
# It joins the dots. That the polynomials really approach this curve as their degree grows (they are dense with respect to
# the energy) we do not prove but measure.

# %%
def frugal(x, y, p, power=1):  # (R, N), (R, N) -> weights (R, p)
    j, N = np.arange(1, p), x.shape[1]
    scale = np.sqrt((2 * j + 1) / (j * (j + 1.0)) ** power)
    P = legvander(x, p - 1)[:, :, 1:]  # (R, N, p - 1)
    H = helmert(N)  # (N - 1, N): takes the constant out
    v = scale * (pinv(H @ P * scale) @ (y @ H.T)[:, :, None])[:, :, 0]
    level = (y - (P @ v[:, :, None])[:, :, 0]).mean(axis=1)
    return np.column_stack([level, v])  # in the basis P_j

# %%
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

# %%
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
       control=lambda seed: energy(seed, lambda j: j**2), seed=seeds())
verify('the cheapest polynomial through the points',
       lambda seed, p: cheapest(seed, p, wiggling),
       control=lambda seed, p: cheapest(seed, p, lambda j: j**2),
       seed=seeds(), p=[3, 5, 6, 9, 14], tries=60)
verify('a tenfold degree, a gap several times smaller',
       lambda seed: gap(seed, 500, np.arctanh) < gap(seed, 50, np.arctanh) / 4,
       control=lambda seed: gap(seed, 500, straight)
       < gap(seed, 50, straight) / 4, seed=seeds(), tries=30)

# %% [markdown]
# Now the experiment: the cubic of the beginning, 21 points, noise of variance 1, and $p$ from 2 to 400. Up to $p = 21$
# these are the least-squares fits from above, whatever the price. Beyond, they interpolate.

# %%
def experiment(f, sigma, sizes, power=1, R=100, N=21):  # (sizes + 1, R)
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
plain, _, _, _ = experiment(cubic, 1, sizes, power=0)
middle = np.median(errors, axis=1)
print('least at p =', sizes[middle[:-1].argmin()],
      '- most at p =', sizes[middle.argmax()])
for p, name in ((4, 'degree 3'), (21, 'degree 20'), (40, 'degree 39'),
                (400, 'degree 399')):
    print(f'{name:10}: median error {middle[:-1][sizes == p][0]:.3g}')
print(f'dots joined: {middle[-1]:.3g}, plainly shortest at degree 399: '
      f'{np.median(plain, axis=1)[-2]:.3g}')

# %% mystnb={"figure": {"caption": "The error falls, explodes at $p = 21$ parameters for 21 points, and falls again if wiggling has a price: degree 399 then nearly joins the dots."}, "image": {"alt": "Left: test error against the number of parameters, both logarithmic: a valley at 4, a peak of about a hundred million at 21, and a second descent that levels off near one. Without the price, in grey, the curve turns up again after 30. Right: one data set; degree 20 leaves the picture at both ends, degree 399 goes through all points in nearly straight lines, the cubic passes between the points."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3.3)
low, high = np.quantile(errors[:-1], (0.1, 0.9), axis=1)
left.fill_between(sizes, low, high, color='C0', alpha=0.25, lw=0)
left.loglog(sizes, np.median(plain[:-1], axis=1), color=GREY, lw=1.2,
            label='plainly shortest')
left.loglog(sizes, middle[:-1], 'C0.-', label='cheapest')
left.axhline(middle[-1], color='C2', ls='--', lw=1.2, label='dots joined')
left.set(xlabel='parameters p', ylabel='squared error, noise taken off',
         title='Twice down')
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

# %% [markdown]
# A polynomial of degree 399 through 21 noisy points, and nothing explodes. Past the threshold every further parameter makes
# the cheapest interpolant cheaper, until it has become the curve that joins the dots. This is *double descent*
# {cite}`belkin2019reconciling`: the error falls, rises up to the *interpolation threshold* $p = N$, and falls again. The
# grey curve tells how much hangs on the price. Without it, when all weights but that of the constant cost the same, the
# shortest ones make spikes at the points and a constant in between, and the second descent turns into a failure.
#
# Is the second valley the deeper one? Not here. The truth *is* a cubic, and the fit of degree 3 has few parameters to pay
# for, while whoever interpolates takes over noise: joined dots carry two thirds of $\sigma^2$ (the exercise). It is
# different where no small degree is right and noise is weak. Take a kink, $4\,|x - 0.15|$, and $\sigma = 0.05$:

# %%
def kink(x):
    return 4 * abs(x - 0.15)

kinked, _, _, _ = experiment(kink, 0.05, [*range(2, 22), 400])
first = kinked[:20].min(axis=0)  # the best p <= 21, known only afterwards
print(f'best p up to 21: median error {np.median(first):.2g}, p = 400: '
      f'{np.median(kinked[-2]):.2g}')
wins = (kinked[-2] < first).sum()
assert wins > 60
print('p = 400 beats the best p up to 21 in', wins, 'of 100 sets')

# %% [markdown]
# The competitor was even chosen in hindsight, for each training set by its test error. So the classical U is one half of a
# picture. In its other half the number of parameters no longer tells how complex a fit is; what tells is the preference
# among all the curves that fit.
#
# ```{exercise} ★★★ What joined dots cost
# :label: polyfit-dots
# The curve of {prf:ref}`thm-cheapest-curve` is a weighted sum of the labels: $q(x_0) = \mathbf{s}(x_0)^\top\mathbf{y}$. Find
# $\|\mathbf{s}(x_0)\|^2$, by which noise enters its variance, and write `dots_noise(x, x0)` for sorted `x`, without a
# loop. What is its mean between two points, if $x_0$ is equally likely anywhere on the scale $u$?
# ```

# %%
def dots_noise(x, x0):  # (N,), (m,) -> (m,)
    raise NotImplementedError('your turn')

# %%
def dots_by_columns(x, x0):  # one label 1, the others 0
    S = [np.interp(np.arctanh(x0), np.arctanh(x), e) for e in np.eye(len(x))]
    return (np.array(S) ** 2).sum(axis=0)

dots_rng = np.random.default_rng(8)
dots_cases = [(spaced(dots_rng, N, 1), dots_rng.uniform(-1, 1, 6))
              for N in (3, 8, 30)]
grade(dots_noise, dots_by_columns, dots_cases)

# %% [markdown]
# ```{solution-start} polyfit-dots
# :class: dropdown
# ```
# Between neighbours the weights are $1 - \theta$ and $\theta$, where $\theta$ is the share of the way on the scale $u$, so
# $\|\mathbf{s}\|^2 = (1 - \theta)^2 + \theta^2$; outside it is 1. The mean over $\theta$ is $\frac13 + \frac13 = \frac23$,
# however many points there are: more data do not help this interpolant against noise. The nearest neighbour pays 1, the
# least-squares fit $p/N$. The wrong answer measures the way in $x$.

# %% jupyter={"source_hidden": true}
def dots_noise_solution(x, x0, scale=np.arctanh):
    u, u0 = scale(x), scale(x0)
    right = np.clip(np.searchsorted(u, u0), 1, len(u) - 1)
    share = (u0 - u[right - 1]) / (u[right] - u[right - 1])
    share = np.clip(share, 0, 1)
    return (1 - share) ** 2 + share**2

def on_the_wrong_scale(x, x0):
    return dots_noise_solution(x, x0, scale=lambda x: x)

assert grade(dots_noise_solution, dots_by_columns, dots_cases)
assert not grade(on_the_wrong_scale, dots_by_columns, dots_cases)

# %% [markdown]
# ```{solution-end}
# ```

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
