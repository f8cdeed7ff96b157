# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The bias-variance decomposition
#
# Two hospitals fit the same model to their own patients, and for the next patient they predict different numbers. How much
# of the error is due to the accident of which patients a hospital has seen, and how much would remain if we averaged over
# all such accidents?
# - **You need** [expectations and variances](../probability/expectations.ipynb),
#   [least squares](least_squares.ipynb) and [ridge regression](ridge_regression.ipynb).
# - **You build** the decomposition, a simulator that measures it over hundreds of training sets, exact formulas that
#   referee the simulator, and an honest version for real patients.
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
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from numpy.linalg import eigvalsh, lstsq, norm, pinv, solve, svd
from numpy.polynomial.legendre import Legendre, leggauss, legvander
from scipy.optimize import minimize, minimize_scalar
from scipy.special import softmax
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from nbutils.cases import scalars, seeds, vectors
from nbutils.checks import below, close, grade, holds, verify
from nbutils.data import diabetes
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## Three reasons to be wrong
#
# Two hospitals study the same disease. Each measures thirty patients and fits the same kind of curve. The two curves
# differ, though nobody made a mistake: each hospital saw other patients, and patients are noisy. We cannot ask which curve
# is right, but we can ask what *the method* is worth, on average over all the hospitals that might have been.
#
# In a world of our own making that average can be watched. The truth is $f(x) = \sin 3x$ on $[-1, 1]$, every label carries
# noise of standard deviation $\sigma = \frac12$, and a training set has $N = 30$ examples. Below are twenty hospitals that
# fit a straight line and the same twenty fitting a polynomial of degree 12. (The polynomials are written in
# Legendre's basis, a better scale for the same curves, for reasons that
# [polynomial curve fitting](polynomial_curve_fitting.ipynb) explains.)

# %%
def truth(x):
    return np.sin(3 * x)

def spaced(rng, N):  # one input in each of N equal parts of [-1, 1]
    return -1 + 2 * (np.arange(N) + rng.random(N)) / N

def polynomial(x, x0, degree):  # (N,), (m,) -> (m, N): from labels to fits
    return legvander(x0, degree) @ pinv(legvander(x, degree))

rng = np.random.default_rng(0)
x, grid = spaced(rng, 30), np.linspace(-1, 1, 201)
labels = truth(x) + 0.5 * rng.normal(size=(20, 30))
twenty = {d: labels @ polynomial(x, grid, d).T for d in (1, 12)}  # (20, 201)
for degree, fits in twenty.items():
    library = [Legendre.fit(x, y, degree, [-1, 1])(grid) for y in labels]
    assert close(fits, library)

# %% mystnb={"image": {"alt": "Two panels with the sine curve dashed, twenty thin fits and their mean. Degree 1: the fits lie close together around a straight line that misses both bends of the sine. Degree 12: the fits swing wildly, most at the ends, while their mean runs along the sine, except at the very ends."}} tags=["hide-input"]
fig, axes = panels(2, height=2.7, sharey=True)
for ax, (degree, fits) in zip(axes, twenty.items(), strict=True):
    ax.plot(grid, fits.T, color='C0', lw=0.7, alpha=0.45)
    ax.plot(grid, fits.mean(axis=0), 'C1', lw=2.2, label='mean of the 20')
    ax.plot(grid, truth(grid), '--', color=GREY, label='truth')
    ax.set(xlabel='x', title=f'degree {degree}', ylim=(-2.2, 2.2))
axes[0].set_ylabel('prediction')
axes[0].legend(fontsize=8, loc='upper left');

# %% [markdown] tags=["caption"]
# Left: twenty lines agree and miss both bends together, which is bias. Right: twenty polynomials scatter around the truth,
# most at the ends, which is variance.

# %% [markdown]
# The lines agree with each other and are wrong together. The polynomials are right on average (twenty are too few to show
# it at the very ends) and hardly ever singly. The distance of the mean from the truth is called *bias*, the spread of the
# fits around their mean *variance*, and each of the two is a way to be wrong. A third remains even for one who knows $f$:
# the noise of the patient who is predicted.
#
# What is it that consists of three parts? Write $S$ for a training set drawn from a distribution $\mathcal{D}$, $f_S$ for
# what the method learns from it, and $\mathcal{L}_{\mathcal{D}}(f_S) = \mathbb{E}_{(x, y) \sim \mathcal{D}}[(y -
# f_S(x))^2]$ for its true risk, the mean squared error on new examples. This is itself random, because $S$ is. We are
# interested in its expectation over the training set,
#
# ```{math}
# :label: ml.bv.expected-risk
# \mathbb{E}_S\big[\mathcal{L}_{\mathcal{D}}(f_S)\big] =
# \mathbb{E}_S \, \mathbb{E}_{(x, y)} \big[ (y - f_S(x))^2 \big] =
# \mathbb{E}_{(x, y)} \, \mathbb{E}_S \big[ (y - f_S(x))^2 \big] .
# ```
#
# The averages may change places because the integrand is not negative (Tonelli's theorem). The right side is the one we
# need: hold the new example fixed and let the training sets pass by. A single training set can be far from the mean, as the
# risks of lines through 12 points show:

# %%
def risks_of_lines(seed, R=4000, N=12, sigma=0.3):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (R, N))  # here the inputs are random, too
    y = truth(x) + sigma * rng.normal(size=(R, N))
    centred = x - x.mean(axis=1, keepdims=True)
    slope = (centred * y).sum(axis=1) / (centred**2).sum(axis=1)
    level = y.mean(axis=1) - slope * x.mean(axis=1)
    nodes, weights = leggauss(20)  # integrals over [-1, 1]
    off = truth(nodes) - level[:, None] - slope[:, None] * nodes
    risks = sigma**2 + off**2 @ weights / 2  # one for each training set
    new = rng.uniform(-1, 1, R)
    errors = truth(new) + sigma * rng.normal(size=R) - level - slope * new
    return risks, errors**2

def same_in_both_orders(seed, sets):
    risks, errors = risks_of_lines(seed)
    risks = risks[sets]
    variance = risks.var() / risks.size + errors.var() / errors.size
    return bool(abs(risks.mean() - errors.mean()) < 5 * variance**0.5)

# %%
risks, _ = risks_of_lines(0)
low, high = np.quantile(risks, [0.05, 0.95])
print(f'risk of a line: mean {risks.mean():.2f}, in nine of ten training '
      f'sets from {low:.2f} to {high:.2f}')

# %% [markdown]
# Now fix a point $x_0$.
#
# ````{prf:theorem} Noise, bias and variance
# :label: thm-bias-variance
# Let $y_0 = f(x_0) + \varepsilon$ with $\mathbb{E}\,\varepsilon = 0$ and $\operatorname{Var}\varepsilon = \sigma^2 <
# \infty$. Let $f_S(x_0)$ be a random number with finite variance, independent of $\varepsilon$, and
# $\bar f(x_0) = \mathbb{E}_S[f_S(x_0)]$. Then
#
# ```{math}
# :label: ml.bv.three-terms
# \begin{aligned}
# \mathbb{E}\big[(y_0 - f_S(x_0))^2\big] = \underbrace{\sigma^2}_{\text{noise}}
# &+ \underbrace{\big(f(x_0) - \bar f(x_0)\big)^2}_{\text{squared bias}} \\
# &+ \underbrace{\mathbb{E}_S\big[(f_S(x_0) - \bar f(x_0))^2\big]}_{\text{variance}} .
# \end{aligned}
# ```
# ````
#
# ````{prf:proof}
# All functions are taken at $x_0$. Write the error as a sum of three, one for each reason:
#
# $$ y_0 - f_S = \varepsilon + (f - \bar f) + (\bar f - f_S) . $$
#
# Square and take expectations. The squares are the three terms. Of the mixed products, those with $\varepsilon$ vanish, for
# $\varepsilon$ has mean zero and is independent of the rest. The last one is a fixed number, $f - \bar f$, times
# $\mathbb{E}_S[\bar f - f_S] = 0$.
# ````
#
# See how little was used. The noise need not be Gaussian, the method need not be linear, and nothing was said of where $S$
# comes from. Used were the *square* and the *independence of the new label*. And as no term is negative, each is a lower
# bound of the total; the first one, the *irreducible error*, is there for every method, even for the one that knows $f$.
#
# (ml.bv.three-terms)=
# So the expected error is decomposed in three terms. Written out over both sources of chance, it is
#
# ```{math}
# :label: ml.bv.formula
# \begin{aligned}
# \mathbb{E}_{S} \, \mathbb{E}_{\varepsilon} \big[ (f(x_0) + \varepsilon - f_S(x_0))^2 \big]
# = {} &\operatorname{Var}[\varepsilon] \\
# &+ \big( f(x_0) - \mathbb{E}_{S'}[f_{S'}(x_0)] \big)^2 \\
# &+ \mathbb{E}_S \big[ \big( f_S(x_0) - \mathbb{E}_{S'}[f_{S'}(x_0)] \big)^2 \big] .
# \end{aligned}
# ```
#
# The letter $S'$ says that the inner average is another one: first all hospitals are averaged, then each is compared with
# the average.
#
# To measure the terms, draw $R$ training sets. One correction is needed. The mean of $R$ fits is not $\bar f$ but strays
# from it with variance $\frac1R \operatorname{Var}_S f_S$, and this inflates the squared distance to the truth. We take it
# off (and divide by $R - 1$ in the variance, for [the usual reason](../probability/expectations.ipynb)).

# %%
def noise(rng, shape):  # mean 0, variance 1, and not Gaussian
    return 3**0.5 * rng.uniform(-1, 1, shape)

def bias_variance(model, x, x0, f, sigma, R, rng):  # -> (m,), (m,)
    Y = f(x) + sigma * noise(rng, (R, len(x)))
    fits = model(x, Y, x0)  # (R, m)
    variance = fits.var(axis=0, ddof=1)
    return (fits.mean(axis=0) - f(x0)) ** 2 - variance / R, variance

def line(x, Y, x0):
    return Y @ polynomial(x, x0, 1).T

def quintic(x, Y, x0):
    return Y @ polynomial(x, x0, 5).T

def timid(x, Y, x0):  # not linear: believes in a slope only if it is large
    level, slope = pinv(legvander(x, 1)) @ Y.T
    return level[:, None] + np.outer(slope * (slope > 0.8), x0)

models = {'line': line, 'quintic': quintic, 'timid': timid}

# %% [markdown]
# The label $y_0$ must be a *new* one. If $x_0$ is one of the training inputs and $y_0$ its own label, then $\varepsilon$ and
# $f_S$ are not independent: the fit has been drawn towards this very label, and the error comes out too small.

# %% tags=["checks"]
def error_and_terms(seed, model, seen=False, R=40_000, sigma=0.3):
    rng = np.random.default_rng(seed)
    x, n = spaced(rng, 12), rng.integers(12)
    x0 = x[[n]]
    Y = truth(x) + sigma * noise(rng, (R, 12))
    y0 = Y[:, n] if seen else truth(x0) + sigma * noise(rng, R)
    errors = (y0 - models[model](x, Y, x0)[:, 0]) ** 2
    parts = bias_variance(models[model], x, x0, truth, sigma, R, rng)
    terms = np.array([sigma**2, parts[0][0], parts[1][0]])
    band = 5 * (2 * errors.var() / R) ** 0.5  # of both sides
    return errors.mean(), terms, band

def adds_up(seed, model, keep, seen=False):
    error, terms, band = error_and_terms(seed, model, seen)
    return bool(abs(error - terms[keep].sum()) < band
                and error > terms.max() - band)

# %% [markdown]
# ```{exercise} ★ How far should a mean be shrunk?
# :label: bias_variance-shrink
# Independent observations $y_1, \dots, y_N$ have mean $\mu$ and variance $\sigma^2 > 0$. Estimate $\mu$ by $c\,\bar y$ with
# a fixed number $c$. Find bias and variance, and write `best_shrink(mu, sigma, N)`, which returns the best $c$ and the mean
# squared error that it leaves.
# ```

# %%
def best_shrink(mu, sigma, N):  # -> (c, error)
    raise NotImplementedError('your turn')

# %%
def shrink_by_search(mu, sigma, N):
    def error(c):
        return (c * mu - mu) ** 2 + c**2 * sigma**2 / N

    found = minimize_scalar(error, tol=1e-12)
    return found.x, found.fun

shrink_cases = [(2.0, 3.0, 5), (-0.5, 1.5, 20), (10.0, 0.3, 2)]
grade(best_shrink, shrink_by_search, shrink_cases, rtol=1e-5)

# %% [markdown]
# ```{solution-start} bias_variance-shrink
# :class: dropdown
# ```
# The bias is $(c - 1)\mu$ and the variance $c^2 \sigma^2 / N$. The derivative $2(c - 1)\mu^2 + 2c\,\sigma^2/N$ vanishes
# at $c = \mu^2 / (\mu^2 + \sigma^2/N) < 1$, and the error there is $c\,\sigma^2/N$: always less than that of the mean
# itself. A little bias pays, though nobody can compute this $c$ without knowing $\mu$. The wrong answer forgets that the
# mean of $N$ has the variance $\sigma^2/N$.

# %% jupyter={"source_hidden": true}
def best_shrink_solution(mu, sigma, N):
    c = mu**2 / (mu**2 + sigma**2 / N)
    return c, c * sigma**2 / N

def of_one_observation(mu, sigma, N):
    c = mu**2 / (mu**2 + sigma**2)
    return c, c * sigma**2

assert grade(best_shrink_solution, shrink_by_search, shrink_cases, rtol=1e-5)
assert not grade(of_one_observation, shrink_by_search, shrink_cases,
                 rtol=1e-5)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
holds(
    'ml.bv.expected-risk',
    lambda seed: same_in_both_orders(seed, np.arange(4000)),
    slip=(
        'takes the risk of one particular training set for the expectation',
        lambda seed: same_in_both_orders(seed, np.arange(1)),
    ),
    seed=seeds(),
    tries=40,
)
two = [[0, 1], [0, 2], [1, 2]]
holds(
    'ml.bv.three-terms',
    lambda seed, model: adds_up(seed, model, [0, 1, 2]),
    slip=(
        'leaves one of the three terms out',
        lambda seed, model: any(adds_up(seed, model, k) for k in two),
    ),
    seed=seeds(),
    model=list(models),
    tries=12,
)
holds(
    'ml.bv.formula',
    lambda seed, model: adds_up(seed, model, [0, 1, 2]),
    slip=(
        'takes the new label from the training set',
        lambda seed, model: adds_up(seed, model, [0, 1, 2], seen=True),
    ),
    seed=seeds(),
    model=list(models),
    tries=12,
)

# %% [markdown]
# ## Exact, without drawing a number
#
# This section continues [Three reasons to be wrong](#three-reasons-to-be-wrong). A simulation that agrees with itself proves
# little. For a large family of methods the terms can be computed, and the simulator gets a referee. From here on
# the inputs $x_1, \dots, x_N$ are held fixed and the labels alone are random. (With random inputs, the law of total variance
# adds a second source: the part of $\operatorname{Var} f_S$ that comes from where the inputs happened to fall.)
#
# A method is a *linear smoother* if its prediction is a weighted sum of the labels, with weights that depend on the inputs
# only: $\hat f(x_0) = \mathbf{s}(x_0)^\top \mathbf{y}$. Least squares, ridge regression and nearest neighbours are of this
# kind.
#
# ````{prf:theorem} Linear smoothers
# :label: thm-linear-smoother
# Let $\mathbf{y} = \mathbf{f} + \boldsymbol\varepsilon$ with $f_n = f(x_n)$, $\mathbb{E}\,\boldsymbol\varepsilon =
# \mathbf{0}$ and $\operatorname{Cov}\boldsymbol\varepsilon = \sigma^2\mathbf{I}$. Then a linear smoother has at $x_0$
#
# ```{math}
# :label: bv-smoother
# \text{bias} = \mathbf{s}(x_0)^\top \mathbf{f} - f(x_0) , \qquad
# \text{variance} = \sigma^2 \, \|\mathbf{s}(x_0)\|^2 .
# ```
# ````
#
# ````{prf:proof}
# $\hat f(x_0) = \mathbf{s}^\top\mathbf{f} + \mathbf{s}^\top\boldsymbol\varepsilon$. The first part is fixed and is the mean;
# the second has variance $\mathbf{s}^\top (\sigma^2\mathbf{I}) \, \mathbf{s}$.
# ````
#
# So the bias is the error that the method makes on labels *without* noise, and the variance the mean square of what it
# makes of noise without labels. Three families, with a knob each: the degree of a polynomial, the price $\alpha$ of ridge
# regression (on the polynomials of degree 12, in Legendre's basis), the number $k$ of nearest neighbours whose labels are
# averaged.

# %%
def ridge(x, x0, alpha):  # (m, N)
    P = legvander(x, 12)
    return legvander(x0, 12) @ solve(P.T @ P + alpha * np.eye(13), P.T)

def neighbours(x, x0, k):  # (m, N)
    nearest = np.argsort(abs(x0[:, None] - x), axis=1)[:, :k]
    S = np.zeros((len(x0), len(x)))
    np.put_along_axis(S, nearest, 1 / k, axis=1)
    return S

def exact(S, x, x0, f, sigma):  # squared bias (m,), variance (m,)
    return (S @ f(x) - f(x0)) ** 2, sigma**2 * (S**2).sum(axis=1)

families = {
    'degree': (polynomial, np.arange(13)),
    'α': (ridge, np.geomspace(1e-2, 1e2, 17)),
    'k': (neighbours, np.arange(1, 31))}

# %% [markdown]
# Averaged over the training inputs, the formulas become so simple that one sees what each knob does.
#
# ````{prf:theorem} What the knobs do
# :label: thm-knobs
# Average squared bias and variance over the $N$ training inputs, under the hypotheses of {prf:ref}`thm-linear-smoother`.
#
# 1. *Least squares* with $d$ independent feature columns: the variance is $\sigma^2 d / N$; the squared bias is
#    $\frac1N$ times the squared distance of $\mathbf{f}$ from the span of the columns. Further columns never increase it.
# 2. *Ridge regression* on $\mathbf{X} = \sum_j \sqrt{s_j}\,\mathbf{p}_j\mathbf{u}_j^\top$: as $\alpha$ grows, the squared
#    bias never falls and the variance $\frac{\sigma^2}{N} \sum_j s_j^2/(s_j + \alpha)^2$ falls.
# 3. *Nearest neighbours*: the variance is $\sigma^2/k$ at every point. If $|f(x) - f(x')| \le L|x - x'|$, the bias at $x_0$
#   is at most $L$ times the mean distance of $x_0$ from its $k$ nearest inputs, a bound that never falls as $k$ grows.
# ````
#
# ````{prf:proof}
# Let the smoother turn $\mathbf{y}$ into $\mathbf{H}\mathbf{y}$ at the training inputs. By {eq}`bv-smoother` the averages
# are $\frac1N\|\mathbf{H}\mathbf{f} - \mathbf{f}\|^2$ and $\frac{\sigma^2}{N}
# \operatorname{tr}(\mathbf{H}\mathbf{H}^\top)$.
#
# 1. $\mathbf{H}$ is the orthogonal projection onto the columns: $\|\mathbf{H}\mathbf{f} - \mathbf{f}\|$ is the distance, and
#    $\operatorname{tr}(\mathbf{H}\mathbf{H}^\top) = \operatorname{tr}\mathbf{H} = d$. A larger span is nowhere farther away.
# 2. $\mathbf{H} = \sum_j f_j \mathbf{p}_j\mathbf{p}_j^\top$ with $f_j = s_j/(s_j + \alpha)$ (the
#    [filter factors](ridge_regression.ipynb)). So $\|\mathbf{H}\mathbf{f} - \mathbf{f}\|^2 =
#    \sum_j (1 - f_j)^2 (\mathbf{p}_j^\top\mathbf{f})^2$ plus the squared distance of $\mathbf{f}$ from all $\mathbf{p}_j$,
#    and $\operatorname{tr}(\mathbf{H}\mathbf{H}^\top) = \sum_j f_j^2$. Every $f_j > 0$ falls as $\alpha$ grows.
# 3. $\mathbf{s}(x_0)$ has $k$ entries $\frac1k$, so $\|\mathbf{s}\|^2 = \frac1k$. The bias is the mean of $k$ differences
#    $f(x_n) - f(x_0)$, each at most $L|x_n - x_0|$. The next neighbour is never nearer.
# ````

# %% tags=["checks"]
def rough(seed):  # a random curve, wilder than the sine
    c = np.random.default_rng(seed).normal(size=20)
    return lambda x: legvander(x, 19) @ c

def least_squares_terms(seed, degree, freedom):
    f, x = rough(seed), spaced(np.random.default_rng(seed), 30)
    bias2, variance = exact(polynomial(x, x, degree), x, x, f, 0.7)
    P = legvander(x, degree)
    distance = norm(f(x) - P @ lstsq(P, f(x), rcond=None)[0])
    more, _ = exact(polynomial(x, x, degree + 1), x, x, f, 0.7)
    return (close(bias2.sum(), distance**2) and more.sum() <= bias2.sum()
            and close(variance.mean(), 0.7**2 * freedom(degree) / 30))

# %% tags=["checks"]
def ridge_terms(seed, alpha, power=2):
    f, x = rough(seed), spaced(np.random.default_rng(seed), 30)
    bias2, variance = exact(ridge(x, x, alpha), x, x, f, 0.7)
    more, less = exact(ridge(x, x, 1.5 * alpha), x, x, f, 0.7)
    P = legvander(x, 12)
    s = eigvalsh(P.T @ P)
    formula = 0.7**2 * ((s / (s + alpha)) ** power).mean() * 13 / 30
    return bool(close(variance.mean(), formula) and more.mean() > bias2.mean()
                and less.mean() < variance.mean())

def neighbour_terms(seed, k, share):
    rng = np.random.default_rng(seed)
    x, x0 = spaced(rng, 30), rng.uniform(-1, 1, 9)
    bias2, variance = exact(neighbours(x, x0, k), x, x0, truth, 0.7)
    reach = np.sort(abs(x0[:, None] - x), axis=1)[:, :k].mean(axis=1)
    return bool(close(variance, np.full(9, 0.7**2 / k))
                and (bias2**0.5 <= share * 3 * reach).all())  # L = 3

# %% [markdown]
# Now the two stand side by side: exact terms as lines, the simulator as dots, each from 200 training sets; the bars
# hold four fifths of 20 repetitions. Both are averaged over new inputs that are uniform on $[-1, 1]$ (an integral, by
# Gauss's rule).

# %%
x, sigma = spaced(np.random.default_rng(0), 30), 0.5
nodes, weights = leggauss(40)
weights = weights / 2  # uniform on [-1, 1]

def curves(smoother, knobs, rng):  # exact (n, 2); simulated (n, 20, 2)
    lines, dots = [], []
    for knob in knobs:
        S = smoother(x, nodes, knob)
        lines.append([weights @ t for t in exact(S, x, nodes, truth, sigma)])
        model = lambda x, Y, x0, S=S: Y @ S.T
        dots.append([[weights @ t for t in bias_variance(
            model, x, nodes, truth, sigma, 200, rng)] for _ in range(20)])
    return np.array(lines), np.array(dots)

measured = {}
for name, (smoother, knobs) in families.items():
    few = knobs if name == 'degree' else knobs[::2]
    lines, dots = curves(smoother, few, np.random.default_rng(1))
    off = abs(dots.mean(axis=1) - lines) / dots.std(axis=1, ddof=1) * 20**0.5
    assert (off < 5.5).all(), off.max()
    measured[name] = few, lines, dots
    k = lines.sum(axis=1).argmin()
    print(f'best {name} tried = {few[k]:.3g}: bias² {lines[k, 0]:.4f}, '
          f'variance {lines[k, 1]:.4f}, sum {lines[k].sum():.4f}')

# %% mystnb={"image": {"alt": "Three panels with squared bias, variance and their sum. Against polynomial degree, bias falls in steps at odd degrees, variance rises, the sum is least at degree 3. Against the ridge price, bias rises and variance falls, with the least sum near 1. Against the number of neighbours the same, with the least sum near seven. Dots and short bars of the simulation lie on the lines."}} tags=["hide-input"]
fig, axes = panels(3, height=3, sharey=True)
for ax, (name, (knobs, lines, dots)) in zip(axes, measured.items(),
                                            strict=True):
    every = np.concatenate([dots, dots.sum(axis=2, keepdims=True)], axis=2)
    low, high = np.quantile(every, (0.1, 0.9), axis=1)  # (n, 3)
    exactly = np.column_stack([lines, lines.sum(axis=1)])
    for j, label in enumerate(('bias²', 'variance', 'sum')):
        color = ('C1', 'C2', 'C0')[j]
        ax.plot(knobs, exactly[:, j], color, label=label, lw=1.2)
        ax.plot(knobs, every[:, 0, j], 'o', color=color, ms=2.5)
        ax.vlines(knobs, low[:, j], high[:, j], color=color, lw=4, alpha=0.35)
    ax.set(ylim=(-0.01, 0.3), xlabel=name)
axes[1].set(xscale='log')
axes[2].set(xscale='log')
axes[2].set_xticks([1, 3, 10, 29], [1, 3, 10, 29])
axes[2].minorticks_off()
for ax, title in zip(axes, ('polynomial', 'ridge', 'neighbours'),
                     strict=True):
    ax.set_title(title)
axes[0].set_ylabel('mean squared error, noise taken off')
axes[0].legend(fontsize=8, loc='upper right');

# %% [markdown] tags=["caption"]
# In each family squared bias falls, all in all, where variance rises, and their sum is least in between: of the values
# tried, at degree 3, at $\alpha = 1$, at $k = 7$. The simulation (dots) confirms the exact lines.

# %% [markdown]
# In each panel one term falls, the other rises (at even degrees the bias over new inputs rises by a trace, too), and the
# sum has a valley. The bias of the polynomials falls at odd degrees only: the sine is odd, and an even power costs variance
# ($\sigma^2/N$ on average over the training inputs, more over new ones at high degrees) and buys nothing.
#
# Compare *across* panels, too. Degree 3 has less bias *and* less variance than three neighbours: a family that suits
# the truth pays less of both. The decomposition is a theorem; that its terms must be traded against each other is not.
# Within a family ordered by a knob, as in {prf:ref}`thm-knobs`, it is the rule, but more data lower the variance at no
# cost in bias, and beyond as many parameters as examples the variance may fall again ([double
# descent](polynomial_curve_fitting.ipynb)).

# %%
cubic, _ = curves(polynomial, [3], np.random.default_rng(2))
few, of_neighbours, _ = measured['k']
both = few[(of_neighbours > cubic).all(axis=1)]
print(f'the cubic has less bias and less variance than k = {both} neighbours')
longer = spaced(np.random.default_rng(0), 120)
S = polynomial(longer, nodes, 3)
four_times = [weights @ t for t in exact(S, longer, nodes, truth, sigma)]
print(f'four times the data: variance times {four_times[1] / cubic[0, 1]:.2f},'
      f' squared bias times {four_times[0] / cubic[0, 0]:.2f}')

# %% [markdown]
# ```{exercise} ★★ The best width of a window
# :label: bias_variance-window
# Inputs lie on a grid with spacing $h$, and the truth is $f(x) = a + bx + cx^2$. At a grid point far from the ends average
# the labels of the point itself and of $m$ neighbours on either side. Derive bias and variance and write
# `window(c, h, m, sigma)`, which returns both. How does the best total error fall as $h \to 0$?
# ```

# %%
def window(c, h, m, sigma):  # -> (bias, variance)
    raise NotImplementedError('your turn')

# %%
def window_by_smoother(c, h, m, sigma):
    x = h * np.arange(-m, m + 1)
    s = np.full(len(x), 1 / len(x))
    return s @ (5 - 3 * x + c * x**2) - 5, sigma**2 * (s @ s)

window_cases = [(2.0, 0.1, 1, 0.5), (-1.5, 0.3, 4, 1.0), (1.0, 0.5, 9, 2.0)]
grade(window, window_by_smoother, window_cases)

# %% [markdown]
# ```{solution-start} bias_variance-window
# :class: dropdown
# ```
# Constant and slope drop out by symmetry. What remains is $c h^2$ times the mean of $i^2$ for $|i| \le m$,
# $\frac{2}{2m + 1} \cdot \frac{m(m + 1)(2m + 1)}{6}$, so the bias is $\frac13 c h^2 m(m + 1)$; the variance is
# $\sigma^2/(2m + 1)$. With the width $w = mh$ the two are about $c w^2/3$ and $\sigma^2 h/(2w)$. For $c \ne 0$, minimizing
# $c^2 w^4/9 + \sigma^2 h/(2w)$ gives $w$ of the order $h^{1/5}$ and an error of the order $h^{4/5}$, that is $N^{-4/5}$ for
# $N$ points on a fixed interval: slower than the $N^{-1}$ of a fixed number of parameters, the price for not having to name
# the shape. The wrong answer averages the $2m$ neighbours and leaves out the middle.

# %% jupyter={"source_hidden": true}
def window_solution(c, h, m, sigma):
    return c * h**2 * m * (m + 1) / 3, sigma**2 / (2 * m + 1)

def without_the_middle(c, h, m, sigma):
    return c * h**2 * (m + 1) * (2 * m + 1) / 6, sigma**2 / (2 * m)

assert grade(window_solution, window_by_smoother, window_cases)
assert not grade(without_the_middle, window_by_smoother, window_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def by_library(name, knob, x, y, x0):
    if name == 'degree':
        return Legendre.fit(x, y, knob, [-1, 1])(x0)
    if name == 'α':
        model = Ridge(knob, fit_intercept=False)
        return model.fit(legvander(x, 12), y).predict(legvander(x0, 12))
    model = KNeighborsRegressor(knob).fit(x[:, None], y)
    return model.predict(x0[:, None])

def same_fit(seed, case, fix=lambda S: S):
    rng = np.random.default_rng(seed)
    x, x0 = spaced(rng, 20), rng.uniform(-1, 1, 5)
    y, (name, knob) = rng.normal(size=20), case
    S = fix(families[name][0](x, x0, knob))
    return close(S @ y, by_library(name, knob, x, y, x0))

verify(
    'the three families are those of numpy and scikit-learn',
    same_fit,
    slip=(
        'makes the weights of each prediction sum to one',
        lambda seed, case: same_fit(
            seed, case, lambda S: S / S.sum(axis=1, keepdims=True)
        ),
    ),
    seed=seeds(),
    tries=60,
    case=[('degree', 4), ('k', 3), ('α', 0.7), ('α', 5.0)],
)

# %% tags=["checks"]
verify(
    'least squares: bias is a distance, variance counts columns',
    lambda seed, degree: least_squares_terms(seed, degree, lambda d: d + 1),
    slip=(
        'counts the degree in place of the columns',
        lambda seed, degree: least_squares_terms(seed, degree, lambda d: d),
    ),
    seed=seeds(),
    degree=list(range(9)),
    tries=60,
)
verify(
    'ridge: a higher price, more bias, less variance',
    ridge_terms,
    slip=(
        'forgets to square the filter factors',
        lambda seed, alpha: ridge_terms(seed, alpha, power=1),
    ),
    seed=seeds(),
    alpha=scalars(0.01, 20),
    tries=60,
)
verify(
    'neighbours: variance σ²/k, bias within reach',
    lambda seed, k: neighbour_terms(seed, k, 1),
    slip=(
        'halves the reach of the neighbours',
        lambda seed, k: neighbour_terms(seed, k, 0.5),
    ),
    seed=seeds(),
    k=list(range(1, 31)),
    tries=100,
)

# %% tags=["checks"]
def squared_bias_of_three(seed, name, knob, correct=True):
    rng = np.random.default_rng(seed)
    x, x0 = spaced(rng, 12), rng.uniform(-1, 1, 1)
    S = families[name][0](x, x0, knob)
    model = lambda x, Y, x0: Y @ S.T
    Y = np.array(
        [bias_variance(model, x, x0, truth, 0.5, 3, rng) for _ in range(1500)]
    )[:, :, 0]
    found = Y[:, 0] + (not correct) * Y[:, 1] / 3
    want, _ = exact(S, x, x0, truth, 0.5)
    band = 5 * found.std() / len(found) ** 0.5
    return bool(abs(found.mean() - want[0]) < band)

verify(
    'three training sets estimate the squared bias without bias',
    lambda seed, knob: squared_bias_of_three(seed, 'degree', knob),
    slip=(
        'forgets the correction for the mean of three fits',
        lambda seed, knob: squared_bias_of_three(
            seed, 'degree', knob, correct=False
        ),
    ),
    seed=seeds(),
    knob=[1, 4],
    tries=8,
)

# %% [markdown]
# ## Patients come only once
#
# Of the 442 patients with diabetes nobody knows $f$ or $\sigma$, nobody can draw a second set, and no patient is there
# twice. What can still be measured?
#
# The *total* error can, on patients held out. The *variance* can, too, without knowing $f$: train on several sets and see
# how much the predictions differ. The habit is to draw these sets from one pool, overlapping. But sets that share patients
# agree more than strangers would. How much more can be computed for the simplest method, the mean of $n$ out of a pool of
# $M$.
#
# ````{prf:theorem} Overlapping and disjoint sets
# :label: thm-disjoint
# Let $y_1, \dots, y_M$ be numbers and $s^2$ their variance with divisor $M - 1$. The means of all subsets of size $n$ have
# the variance $\frac{s^2}{n}\big(1 - \frac nM\big)$ around their common mean. For two *disjoint* subsets with means $a$
# and $b$, the average of $\frac12 (a - b)^2$ over all such pairs is $\frac{s^2}{n}$.
# ````
#
# ````{prf:proof}
# Draw the patients one after the other without replacement and call their values $Y_1, Y_2, \dots$. Each has the variance
# $v = \frac{M - 1}{M} s^2$, and any two have the same covariance $c$. The sum of all $M$ is fixed, so its variance
# $Mv + M(M - 1)c$ is zero: $c = -\frac{v}{M - 1} = -\frac{s^2}{M}$, and $v - c = s^2$. The mean of $n$ has the variance
# $\frac1{n^2}\big(nv + n(n - 1)c\big) = \frac{v - c}{n} + c = \frac{s^2}{n} - \frac{s^2}{M}$. Two disjoint means have
# the covariance $c$ as well, so $\frac12 \mathbb{E}(a - b)^2 = \frac{v - c}{n} + c - c = \frac{s^2}{n}$.
# ````
#
# If the $y$ are independent with one common mean and variance $\sigma^2$, then $\mathbb{E}\,s^2 = \sigma^2$, and
# $\sigma^2/n$ is the true variance of a mean of $n$. Overlapping sets miss the share $\frac nM$ of it, and what they miss
# is booked as bias; disjoint sets miss nothing. The last statement is true for *every* method: disjoint parts of an
# independent sample are independent training sets, and half the squared difference of two independent fits has the variance
# of one as its expectation.
#
# So: shuffle the patients, set 142 aside for testing, cut the other $442 - 142 = 300$ into five training sets of 60,
# fit five times, and repeat with forty shuffles. The mean squared error on the test patients estimates the total
# without bias, the variance among the five estimates the variance without bias, and their difference is
#
# $$ \text{total} - \text{variance} = \text{noise} + \text{bias}^2 . $$
#
# Here it ends. At each $\mathbf{x}$ there is one patient with one label, and a smooth function plus large noise explains
# these 442 numbers as well as a rugged function with little noise. *No resampling separates noise from squared bias*; that
# would take patients with the same $\mathbf{x}$. But two things can be said. The noise is the same for all methods, so
# in *differences* between methods it cancels, and they are differences of squared bias. And the least value of noise plus
# squared bias that any method reaches is an upper bound for the noise.
#
# Two families: nearest neighbours on the ten standardized features, and ridge regression on 64 (the ten, their
# squares and their products, as in [ridge regression](ridge_regression.ipynb)). Units are taken from the training set each
# time.

# %%
X, y, _ = diabetes()
ks = np.array([1, 2, 3, 5, 8, 12, 18, 27, 40, 60])
alphas = np.geomspace(1, 1e4, 13)

def standardized(X, train):
    return (X - X[train].mean(axis=0)) / X[train].std(axis=0)

def products(Z):  # (442, 10) -> (442, 64), without the square of sex
    i, j = np.triu_indices(10)
    keep = (i != 1) | (j != 1)
    return np.hstack([Z, (Z[:, i] * Z[:, j])[:, keep]])

def by_neighbours(train, test):  # (10, 142): one row for each k
    Z = standardized(X, train)
    apart = ((Z[test][:, None] - Z[train]) ** 2).sum(axis=2)
    sums = y[train][np.argsort(apart, axis=1)].cumsum(axis=1)
    return sums[:, ks - 1].T / ks[:, None]

def by_ridge(train, test):  # (13, 142): one row for each alpha
    Z = standardized(products(standardized(X, train)), train)
    P, root, Ut = svd(Z[train], full_matrices=False)
    share = root / (root**2 + alphas[:, None])
    level = y[train].mean()
    return share * (P.T @ (y[train] - level)) @ Ut @ Z[test].T + level

# %%
def parts(fit, seed):  # noise + bias^2, variance: (2, knobs)
    order = np.random.default_rng(seed).permutation(442)
    test, pool = order[:142], order[142:].reshape(5, 60)
    fits = np.array([fit(train, test) for train in pool])  # (5, knobs, 142)
    variance = fits.var(axis=0, ddof=1).mean(axis=1)
    return ((fits - y[test]) ** 2).mean(axis=(0, 2)) - variance, variance

# %% tags=["hide-input"]
some, others = np.arange(60), np.arange(60, 442)
near = KNeighborsRegressor(5).fit(standardized(X, some)[some], y[some])
gaps = [near.predict(standardized(X, some)[others])
        - by_neighbours(some, others)[3]]
Z = standardized(products(standardized(X, some)), some)
shrunk = Ridge(alphas[6]).fit(Z[some], y[some])
gaps.append(shrunk.predict(Z[others]) - by_ridge(some, others)[6])
assert close(gaps, np.zeros((2, 382)))
print('predictions of both families: gap to scikit-learn', below(gaps, 1e-9))

# %%
patients = {'neighbours': (ks, by_neighbours), 'ridge': (alphas, by_ridge)}
found = {name: np.array([parts(fit, seed) for seed in range(40)])
         for name, (_, fit) in patients.items()}  # (40, 2, knobs)
print(f'variance of the labels: {y.var():.0f}')
for name, (knobs, _) in patients.items():
    rest, variance = found[name].mean(axis=0)
    best = (rest + variance).argmin()
    for k in (0, best, -1):
        print(f'{name:10} {knobs[k]:5.0f}: noise + bias² {rest[k]:.0f}, '
              f'variance {variance[k]:.0f}')

# %% mystnb={"image": {"alt": "Two stacked areas against the knob. Left, number of neighbours from 60 down to 1: noise plus squared bias falls from 5975 to 3075 and levels off, the variance on top of it grows to 3598, the sum is least near ten. Right, ridge price from large to small: noise plus squared bias falls from 5850 to about 2900, the variance grows steeply; the sum is least near 100."}} tags=["hide-input"]
fig, axes = panels(2, height=3, sharey=True)
for ax, (name, (knobs, _)) in zip(axes, patients.items(), strict=True):
    rest, variance = found[name].mean(axis=0)
    low, high = np.quantile(found[name].sum(axis=1), (0.1, 0.9), axis=0)
    ax.fill_between(knobs, 0, rest, color='C1', alpha=0.35, lw=0,
                    label='noise + bias²')
    ax.fill_between(knobs, rest, rest + variance, color='C2', alpha=0.45,
                    lw=0, label='variance')
    ax.errorbar(knobs, rest + variance, [rest + variance - low,
                                         high - rest - variance], fmt='C0.-',
                lw=1.2, label='total')
    ax.axhline(y.var(), color=GREY, ls='--', lw=1)
    ax.set(xscale='log', xlim=(knobs[-1] * 1.1, knobs[0] / 1.1),
           ylim=(0, 9500), title=name)
axes[0].set(xlabel='k', ylabel='squared error')
axes[0].set_xticks([60, 20, 5, 1], [60, 20, 5, 1])
axes[0].minorticks_off()
axes[1].set_xlabel('α')
axes[1].legend(fontsize=8, loc='upper left');

# %% [markdown] tags=["caption"]
# With 60 training patients the variance makes the total rise on the right; noise and squared bias, which no resampling
# separates, level off near 3000.

# %% [markdown]
# (Dashed: always predicting the mean. Bars: four fifths of the shuffles; these share their 442 patients, so the bars
# tell how much the shuffle matters, not how far the result is from the population.)
#
# Both families show the theory's shape on data for which no truth is known. The variance, drawn on top, is nearly all
# that moves on the right of each panel; the part below falls and then levels off near 3000. That floor, noise plus a
# bias that no setting removes, is about half the variance of the labels. The noise cannot be much larger than the
# lowest value seen; whether it is much smaller, these patients cannot tell. What can be told is where the *avoidable*
# error lies: at 60 training patients, both families at their best pay 357 and 488 for variance and, compared with the
# lowest floor, $3474 - 2869 = 605$ and $3544 - 2869 = 675$ for bias.
#
# ### Other losses
#
# The square was used in the proof, and it matters. For zero-one loss there is no such sum: where a classifier is wrong on
# average, *more* variance helps it. For the logarithmic loss there is one, with another mean.
#
# ```{exercise} ★★★ A decomposition for probabilities
# :label: bias_variance-log
# The classes have the true probabilities $\mathbf{p}$; the method, depending on its training set, predicts one of the rows
# $\mathbf{q}_1, \dots, \mathbf{q}_R$, all positive and equally likely. Its expected
# [Kullback–Leibler divergence](../classification/cross_entropy.ipynb) is $\frac1R \sum_r D(\mathbf{p} \,\|\,
# \mathbf{q}_r)$ with $D(\mathbf{p} \,\|\, \mathbf{q}) = \sum_i p_i \log\frac{p_i}{q_i}$. Find $\bar{\mathbf{q}}$,
# independent of $\mathbf{p}$, such that this is $D(\mathbf{p} \,\|\, \bar{\mathbf{q}})$ plus $\frac1R \sum_r
# D(\bar{\mathbf{q}} \,\|\, \mathbf{q}_r)$, and write `log_terms(p, Q)`, which returns the two.
# ```

# %%
def log_terms(p, Q):  # (c,), (R, c) -> (bias, variance)
    raise NotImplementedError('your turn')

# %%
def log_terms_by_search(p, Q):  # the centre is nearest to all q
    divergence = lambda a: (a * np.log(a / Q)).sum(axis=1).mean()
    found = minimize(lambda z: divergence(softmax(z)), np.zeros(len(p)),
                     tol=1e-12)
    return divergence(p) - found.fun, found.fun

log_rng = np.random.default_rng(9)
log_cases = [(log_rng.dirichlet(np.ones(c)), log_rng.dirichlet(np.ones(c), R))
             for c, R in ((2, 3), (4, 2), (5, 7))]
grade(log_terms, log_terms_by_search, log_cases, rtol=1e-5)

# %% [markdown]
# ```{solution-start} bias_variance-log
# :class: dropdown
# ```
# Only the mean of $\log \mathbf{q}_r$ enters the expected divergence. So let $\log\bar q_i = \frac1R \sum_r \log q_{ri} -
# \log Z$, the normalized *geometric* mean, with $Z \le 1$ the sum of the geometric means. Then $\frac1R \sum_r D(\mathbf{a}
# \,\|\, \mathbf{q}_r) = D(\mathbf{a} \,\|\, \bar{\mathbf{q}}) - \log Z$ for every $\mathbf{a}$. With $\mathbf{a} =
# \bar{\mathbf{q}}$ the variance comes out as $-\log Z \ge 0$, and with $\mathbf{a} =
# \mathbf{p}$ the claim. It also shows that $\bar{\mathbf{q}}$ is the centre: no $\mathbf{a}$ has a smaller mean
# divergence. The wrong answer uses the arithmetic mean.

# %% jupyter={"source_hidden": true}
def log_terms_solution(p, Q):
    geometric = np.exp(np.log(Q).mean(axis=0))
    centre = geometric / geometric.sum()
    return (p * np.log(p / centre)).sum(), -np.log(geometric.sum())

def with_arithmetic_mean(p, Q):
    centre = Q.mean(axis=0)
    variance = (centre * np.log(centre / Q)).sum(axis=1).mean()
    return (p * np.log(p / centre)).sum(), variance

assert grade(log_terms_solution, log_terms_by_search, log_cases, rtol=1e-5)
assert not grade(with_arithmetic_mean, log_terms_by_search, log_cases,
                 rtol=1e-5)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def half_squares(y, n, disjoint):  # mean of (a - b)^2 / 2 over pairs
    sets = list(combinations(range(len(y)), n))
    pairs = [
        (y[list(a)].mean() - y[list(b)].mean()) ** 2 / 2
        for a in sets
        for b in sets
        if not (disjoint and set(a) & set(b))
    ]
    return np.mean(pairs)

verify(
    'disjoint sets show the variance, overlapping ones a part of it',
    lambda y, n: (
        close(half_squares(y, n, True), y.var(ddof=1) / n)
        and close(half_squares(y, n, False), y.var(ddof=1) / n * (1 - n / 6))
    ),
    slip=(
        'takes overlapping sets for disjoint ones',
        lambda y, n: close(half_squares(y, n, False), y.var(ddof=1) / n),
    ),
    y=vectors(6),
    n=[1, 2, 3],
    tries=40,
)

# %% [markdown]
# ## Summary
#
# The expected squared error at a point is noise plus squared bias plus variance, for every method and every noise, as long
# as the new label is independent of the training set. For linear smoothers the terms need no simulation, and the formulas
# show what a knob does: the degree, the price and the number of neighbours each buy less of the one term with more of the
# other. With real data the variance is measured without bias on disjoint training sets, while noise and squared bias stay
# one number that only comparisons between methods can divide.
#
# **Further reading.** {cite}`geman1992neural` made the decomposition a central idea of machine learning;
# {cite}`hastie2009elements`, chapters 2 and 7, is the standard account. {cite}`james2003variance` treats general losses,
# {cite}`heskes1998bias` the logarithmic one, with the geometric mean of the exercise. {cite}`belkin2019reconciling` is
# where the valley gets a second side.
