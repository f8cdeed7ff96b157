# ---
# jupyter:
#   book:
#     functions:
#       truth: truth(normal(4))
#       bias_variance: bias_variance(normal(9, 4), normal(4))
#       polynomial: polynomial(2 * uniform(20) - 1, uniform(4), 3)
#       exact_terms: exact_terms(normal(4, 5), normal(5), normal(4), 0.5)
#     main: ml.bv.three-terms
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The bias-variance decomposition
#
# Two hospitals fit the same model to their own patients, and for the next patient they predict different numbers. How
# much of the error comes from the chance that sent a hospital just these patients, and how much would remain if we
# averaged the predictions of many hospitals?
#
# - **You need** [expectations and variances](../probability/expectations.ipynb),
#   [least squares](least_squares.ipynb) and [ridge regression](ridge_regression.ipynb).
# - **You build** the decomposition into noise, bias and variance, exact formulas for three families of methods, and
#   a version for real patients.
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
from itertools import combinations, product

import matplotlib.pyplot as plt
import numpy as np
from numpy.linalg import eigvalsh, lstsq, norm, pinv, solve
from numpy.polynomial.legendre import Legendre, leggauss, legvander
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from nbutils.cases import integers, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.data import diabetes
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## Noise, bias and variance
#
# We begin in a world where we know the truth: $f(x) = \sin 3x$ on $[-1, 1]$. Each hospital has thirty patients. It measures
# their $x$, and labels $y = f(x) + \varepsilon$ with noise of standard deviation $\sigma = 0.5$. Then it fits a polynomial.
# We let 300 hospitals fit a straight line, a cubic, and a polynomial of degree 12:

# %%
def truth(x):
    return np.sin(3 * x)

def patients(rng, N=30):        # one input in each of N parts of [-1, 1]
    x = -1 + 2 * (np.arange(N) + rng.random(N)) / N
    return x, truth(x) + 0.5 * rng.normal(size=N)

# %%
rng, grid = np.random.default_rng(0), np.linspace(-1, 1, 201)
fits = {}                       # (300, 201) for each degree
for degree in (1, 3, 12):
    curves = [Legendre.fit(*patients(rng), degree) for _ in range(300)]
    fits[degree] = np.array([curve(grid) for curve in curves])

# %%
print('degree   mean of all hospitals at x = 1   their deviation')
for degree, predictions in fits.items():
    end = predictions[:, -1]
    print(f'{degree:6} {end.mean():20.3f} {end.std():25.3f}')
print(f' truth {truth(1):20.3f}')

# %% mystnb={"image": {"alt": "Two panels with the sine curve dashed, twenty thin fits and the mean of 300. Degree 1: the fits lie close together around a straight line that misses both bends of the sine. Degree 12: the fits swing wildly, most at the ends, while the mean runs along the sine."}} tags=["hide-input"]
fig, axes = panels(2, height=2.7, sharey=True)
for ax, degree in zip(axes, (1, 12), strict=True):
    ax.plot(grid, fits[degree][:20].T, color='C0', lw=0.7, alpha=0.45)
    ax.plot(grid, fits[degree].mean(axis=0), 'C1', lw=2.2)
    ax.plot(grid, truth(grid), '--', color=GREY)
    ax.set(xlabel='x', title=f'degree {degree}', ylim=(-2.2, 2.2))
axes[0].set_ylabel('prediction')
axes[0].text(-0.9, 1.55, 'mean of 300', color='C1')
axes[0].text(-0.9, 1.15, 'truth (dashed)')
axes[0].text(-0.9, 1.95, 'single hospitals', color='C0');

# %% [markdown] tags=["caption"]
# Left: the lines of twenty hospitals agree and miss both bends together, which is bias. Right: twenty polynomials of degree
# 12 scatter around the truth, which is variance.

# %% [markdown]
# The lines agree with each other and are wrong together. The polynomials of degree 12 are right on average and hardly
# ever singly. The distance of the mean of all hospitals from the truth is called **bias**, and the spread of the
# hospitals around their mean **variance**. A third part of the error remains even if we know $f$: the **noise** in the
# label that we predict.
#
# Write $S$ for a training set, $f_S$ for the fit that it leads to, and $\bar f(x_0)$ for the mean of $f_S(x_0)$ over all
# training sets.
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
# :class: dropdown
# All functions are taken at $x_0$. Write the error as the sum of its three causes:
#
# $$ y_0 - f_S = \varepsilon + (f - \bar f) + (\bar f - f_S) . $$
#
# Square and take expectations. The squares are the three terms. Of the mixed products, those with $\varepsilon$ vanish, for
# $\varepsilon$ has mean zero and is independent of the rest. The last one is a fixed number, $f - \bar f$, times
# $\mathbb{E}_S[\bar f - f_S] = 0$.
# ````
#
#
# The proof needs neither Gaussian noise nor a particular method. It needs the *square*, and a label $y_0$ that is
# *independent* of the training set. In code, with one row for each hospital:

# %%
def bias_variance(fits, f):     # (R, m), (m,) -> (m,), (m,)
    variance = fits.var(axis=0, ddof=1)
    return (fits.mean(axis=0) - f) ** 2 - variance / len(fits), variance

# %% [markdown]
# The mean of $R$ fits has itself the variance $\frac1R \operatorname{Var} f_S$. Its squared distance from the truth is
# larger by this on average, so the code subtracts it. We compare with the measured error: each hospital predicts new
# patients, whose labels have new noise.

# %%
print('degree  noise   bias²   variance   sum   measured error')
for degree, predictions in fits.items():
    bias2, variance = bias_variance(predictions, truth(grid))
    new = truth(grid) + 0.5 * rng.normal(size=predictions.shape)
    error = ((new - predictions) ** 2).mean()
    terms = 0.25, bias2.mean(), variance.mean()
    print(f'{degree:6}  {0.25:.2f} {terms[1]:8.3f} {terms[2]:8.3f}'
          f' {sum(terms):8.3f} {error:10.3f}')

# %% [markdown]
# The line suffers from bias, and the polynomial of degree 12 from variance. (Its bias is so small that the estimate comes
# out below zero.) The noise is the same for all methods, also for one that knows $f$; it is called the **irreducible
# error**.
#
# The theorem is about one point $x_0$. The *true risk* of a fit, $\mathcal{L}_{\mathcal{D}}(f_S) = \mathbb{E}_{(x, y) \sim
# \mathcal{D}}[(y - f_S(x))^2]$, averages over new patients from a distribution $\mathcal{D}$, and it is random, because $S$
# is. We are interested in its expectation over the training set:
#
# ```{math}
# :label: ml.bv.expected-risk
# \mathbb{E}_S\big[\mathcal{L}_{\mathcal{D}}(f_S)\big] =
# \mathbb{E}_S \, \mathbb{E}_{(x, y)} \big[ (y - f_S(x))^2 \big] =
# \mathbb{E}_{(x, y)} \, \mathbb{E}_S \big[ (y - f_S(x))^2 \big] .
# ```
#
# The averages may change places because the integrand is not negative (Tonelli's theorem). On the right we hold the input
# of the new patient fixed, and apply the theorem to each input.
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
# The letter $S'$ says that the inner average is taken first, over all hospitals. Then each hospital is compared with it.
#
# :::{admonition} A tempting mistake
# :class: warning
# The label $y_0$ must be a *new* one. If we take the patient from the training set, the fit has been drawn towards this
# very label, and the error comes out too small: for degree 12 it is less than the irreducible error.
# :::

# %%
on_training = []
for _ in range(300):
    x, y = patients(rng)
    on_training.append(((y - Legendre.fit(x, y, 12)(x)) ** 2).mean())
print(f'degree 12, error on the training set: {np.mean(on_training):.3f}')

# %% [markdown]
# ```{exercise} ★ Pencil: how far should a mean be shrunk?
# :label: bias_variance-shrink
# Independent observations $y_1, \dots, y_N$ have mean $\mu$ and variance $\sigma^2 > 0$. Estimate $\mu$ by $c\,\bar y$ with
# a fixed number $c$. Find bias and variance, and write `best_shrink(mu, sigma, N)`, which returns the best $c$ and the mean
# squared error that it leaves, as a tuple of floats.
# ```

# %%
def best_shrink(mu, sigma, N):
    """(c, mean squared error): float, float > 0, int >= 1 -> two floats.

    best_shrink(1.0, 1.0, 1) is (0.5, 0.5).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def shrink_by_listing(mu, sigma, N):  # all signs of noise; the error is a parabola in c
    means = np.array([np.mean(mu + sigma * np.array(signs)) for signs in product([-1, 1], repeat=N)])
    a, b, c = np.polyfit([0, 1, 2], [((k * means - mu) ** 2).mean() for k in (0, 1, 2)], 2)
    return -b / (2 * a), c - b**2 / (4 * a)

shrink_cases = dict(mu=on(0.0, 1.0) | scalars(-5, 5), sigma=on(1.0) | scalars(0.1, 5), N=integers(1, 6))
grade(best_shrink, shrink_by_listing, **shrink_cases)

# %% [markdown]
# ```{solution-start} bias_variance-shrink
# :class: dropdown
# ```
# The bias is $(c - 1)\mu$ and the variance $c^2 \sigma^2 / N$. The derivative $2(c - 1)\mu^2 + 2c\,\sigma^2/N$ vanishes at
# $c = \mu^2 / (\mu^2 + \sigma^2/N) < 1$, and the error there is $c\,\sigma^2/N$: always less than that of the mean itself.
# A little bias pays, though nobody can compute this $c$ without knowing $\mu$. The first wrong answer forgets that the mean
# of $N$ has the variance $\sigma^2/N$, the second does not shrink, and the third gives the variance for the error.

# %% jupyter={"source_hidden": true}
def best_shrink_solution(mu, sigma, N):
    c = mu**2 / (mu**2 + sigma**2 / N)
    return c, c * sigma**2 / N

def of_one_observation(mu, sigma, N):
    c = mu**2 / (mu**2 + sigma**2)
    return c, c * sigma**2

def without_bias(mu, sigma, N):
    return 1.0, sigma**2 / N

def variance_for_error(mu, sigma, N):
    c = mu**2 / (mu**2 + sigma**2 / N)
    return c, c**2 * sigma**2 / N

assert grade(best_shrink_solution, shrink_by_listing, **shrink_cases)
assert not grade(of_one_observation, shrink_by_listing, **shrink_cases)
assert not grade(without_bias, shrink_by_listing, **shrink_cases)
assert not grade(variance_for_error, shrink_by_listing, **shrink_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def spaced(rng, N):  # one input in each of N equal parts of [-1, 1]
    return -1 + 2 * (np.arange(N) + rng.random(N)) / N

def basis(x, x0, degree):  # (m, N): from labels to fits
    return legvander(x0, degree) @ pinv(legvander(x, degree))

def noise(rng, shape):  # mean 0, variance 1, and not Gaussian
    return 3**0.5 * rng.uniform(-1, 1, shape)

def risks_of_lines(seed, R=4000, N=12, sigma=0.3):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (R, N))
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

verify(
    'the expectation of the risk is the same in both orders',
    lambda seed: same_in_both_orders(seed, np.arange(4000)),
    slip=(
        'takes the risk of one particular training set for the expectation',
        lambda seed: same_in_both_orders(seed, np.arange(1)),
    ),
    seed=seeds(),
    tries=40,
)

# %% tags=["checks"]
def timid(x, Y, x0):  # not linear: believes in a slope only if it is large
    level, slope = pinv(legvander(x, 1)) @ Y.T
    return level[:, None] + np.outer(slope * (slope > 0.8), x0)

models = {'line': lambda x, Y, x0: Y @ basis(x, x0, 1).T, 'quintic': lambda x, Y, x0: Y @ basis(x, x0, 5).T, 'timid': timid}

def error_and_terms(seed, model, seen=False, R=40_000, sigma=0.3):
    rng = np.random.default_rng(seed)
    x, n = spaced(rng, 12), rng.integers(12)
    x0 = x[[n]]
    Y = truth(x) + sigma * noise(rng, (R, 12))
    y0 = Y[:, n] if seen else truth(x0) + sigma * noise(rng, R)
    errors = (y0 - models[model](x, Y, x0)[:, 0]) ** 2
    others = truth(x) + sigma * noise(rng, (R, 12))
    bias2, variance = bias_variance(models[model](x, others, x0), truth(x0))
    band = 5 * (2 * errors.var() / R) ** 0.5  # of both sides
    return errors.mean(), np.array([sigma**2, bias2[0], variance[0]]), band

def adds_up(seed, model, keep, seen=False):
    error, terms, band = error_and_terms(seed, model, seen)
    return bool(abs(error - terms[keep].sum()) < band
                and error > terms.max() - band)

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
parts = {d: [t.mean() for t in bias_variance(p, truth(grid))] for d, p in fits.items()}
assert parts[1][0] > 5 * parts[1][1] and parts[12][1] > 20 * abs(parts[12][0])
assert sum(parts[3]) < min(sum(parts[1]), sum(parts[12]))
assert np.mean(on_training) < 0.25

# %% [markdown]
# ## Linear smoothers: bias and variance without simulation
#
# For a large family of methods we can compute both terms. From here on the inputs $x_1, \dots, x_N$ of the training set are
# held fixed, and only the labels are random.
#
# A method is a **linear smoother** if its prediction is a weighted sum of the labels, with weights that depend on the inputs
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
# :class: dropdown
# $\hat f(x_0) = \mathbf{s}^\top\mathbf{f} + \mathbf{s}^\top\boldsymbol\varepsilon$. The first part is fixed and is the mean;
# the second has variance $\mathbf{s}^\top (\sigma^2\mathbf{I}) \, \mathbf{s}$.
# ````
#
#
# So the bias is the error of a prediction from labels *without* noise, and the variance is the mean square of a
# prediction from noise alone. With one row of weights for each new point:

# %%
def exact_terms(S, x, x0, sigma):  # (m, N) weights -> bias², variance
    bias = S @ truth(x) - truth(x0)
    return bias**2, sigma**2 * (S**2).sum(axis=1)

# %% [markdown]
# We compare three families, each with a knob: the degree of a polynomial, the penalty $\alpha$ of ridge regression on
# polynomials of degree 12, and the number $k$ of nearest neighbours whose labels are averaged. (All polynomials are written
# in Legendre's basis, which is [better conditioned](polynomial_curve_fitting.ipynb) than powers of $x$.)

# %%
def polynomial(x, x0, degree):  # (N,), (m,) -> (m, N)
    return legvander(x0, degree) @ pinv(legvander(x, degree))

def ridge(x, x0, alpha):
    P = legvander(x, 12)
    return legvander(x0, 12) @ solve(P.T @ P + alpha * np.eye(13), P.T)

def neighbours(x, x0, k):
    far = abs(x0[:, None] - x)
    nearest = np.argsort(far, axis=1, kind='stable')[:, :k]
    S = np.zeros_like(far)
    np.put_along_axis(S, nearest, 1 / k, axis=1)
    return S

# %%
families = {'degree': (polynomial, np.arange(13)),
            'α': (ridge, np.geomspace(1e-2, 1e2, 9)),
            'k': (neighbours, np.arange(1, 30, 2))}
x, _ = patients(np.random.default_rng(0))
nodes, weights = leggauss(40)   # weights / 2 @: mean over [-1, 1]

def average(terms):
    return [weights / 2 @ term for term in terms]

# %%
lines = {}                      # (knobs, 2) for each family
for name, (smoother, knobs) in families.items():
    lines[name] = np.array([
        average(exact_terms(smoother(x, nodes, knob), x, nodes, 0.5))
        for knob in knobs])
    best = lines[name].sum(axis=1).argmin()
    bias2, variance = lines[name][best]
    print(f'best {name:6} = {knobs[best]:2.0f}: bias² {bias2:.4f},'
          f' variance {variance:.4f}, sum {bias2 + variance:.4f}')

# %% [markdown]
# Does the simulation agree? We draw labels for the same inputs, 200 times for each setting:

# %%
rng = np.random.default_rng(1)
dots = {}
for name, (smoother, knobs) in families.items():
    labels = truth(x) + 0.5 * rng.normal(size=(200, 30))
    dots[name] = np.array([
        average(bias_variance(labels @ smoother(x, nodes, knob).T,
                              truth(nodes))) for knob in knobs])
    gap = abs(dots[name] - lines[name]).max()
    print(f'{name:6}: largest gap to the formulas {gap:.3f}')

# %% mystnb={"image": {"alt": "Three panels with squared bias, variance and their sum. Against polynomial degree, bias falls in steps at odd degrees, variance rises, the sum is least at degree 3. Against the ridge penalty, bias rises and variance falls, with the least sum near 1. Against the number of neighbours the same, with the least sum near seven. Dots of the simulation lie on the lines."}} tags=["hide-input"]
fig, axes = plt.subplots(3, figsize=(6, 6.6), sharey=True)
for ax, (name, (_, knobs)) in zip(axes, families.items(), strict=True):
    for j, (label, color) in enumerate((('bias²', 'C1'), ('variance', 'C2'), ('sum', 'C0'))):
        line = lines[name].sum(axis=1) if j == 2 else lines[name][:, j]
        dot = dots[name].sum(axis=1) if j == 2 else dots[name][:, j]
        ax.plot(knobs, line, color, lw=1.2, label=label)
        ax.plot(knobs, dot, 'o', color=color, ms=3)
    ax.set(ylim=(-0.01, 0.3), ylabel='squared error')
axes[0].set(xlabel='degree of the polynomial')
axes[1].set(xscale='log', xlabel='penalty α of ridge regression')
axes[2].set(xlabel='number k of neighbours')
axes[0].legend(loc='upper center', ncols=3);

# %% [markdown] tags=["caption"]
# In each family a setting with much less variance has more bias, and the sum, the error without the noise, is least in
# between. Lines: exact formulas; dots: 200 simulated training sets.

# %% [markdown]
# The best polynomial has degree 3, the best ridge penalty tried is 1, and the best number of neighbours 7. Averaged over
# the training inputs, the formulas show what each knob does:
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
# :class: dropdown
# Let the smoother turn $\mathbf{y}$ into $\mathbf{H}\mathbf{y}$ at the training inputs. By {eq}`bv-smoother` the averages
# are $\frac1N\|\mathbf{H}\mathbf{f} - \mathbf{f}\|^2$ and $\frac{\sigma^2}{N}
# \operatorname{tr}(\mathbf{H}\mathbf{H}^\top)$.
#
# 1. $\mathbf{H}$ is the orthogonal projection onto the columns: $\|\mathbf{H}\mathbf{f} - \mathbf{f}\|$ is the distance, and
#    $\operatorname{tr}(\mathbf{H}\mathbf{H}^\top) = \operatorname{tr}\mathbf{H} = d$. A larger span is nowhere farther away.
# 2. $\mathbf{H} = \sum_j \phi_j \mathbf{p}_j\mathbf{p}_j^\top$ with $\phi_j = s_j/(s_j + \alpha)$ (the
#    [filter factors](ridge_regression.ipynb)). So $\|\mathbf{H}\mathbf{f} - \mathbf{f}\|^2 =
#    \sum_j (1 - \phi_j)^2 (\mathbf{p}_j^\top\mathbf{f})^2$ plus the squared distance of $\mathbf{f}$ from all $\mathbf{p}_j$,
#    and $\operatorname{tr}(\mathbf{H}\mathbf{H}^\top) = \sum_j \phi_j^2$. Every $\phi_j > 0$ falls as $\alpha$ grows.
# 3. $\mathbf{s}(x_0)$ has $k$ entries $\frac1k$, so $\|\mathbf{s}\|^2 = \frac1k$. The bias is the mean of $k$ differences
#    $f(x_n) - f(x_0)$, each at most $L|x_n - x_0|$. The next neighbour is never nearer.
# ````
#
# Must we always pay for less bias with more variance? Not if we change the family: the cubic has less bias *and* less
# variance than three neighbours. And more data lower the variance, while the bias of the cubic stays as it is:

# %%
cubic, three = lines['degree'][3], lines['k'][1]
print(f'cubic:            bias² {cubic[0]:.4f}, variance {cubic[1]:.4f}')
print(f'three neighbours: bias² {three[0]:.4f}, variance {three[1]:.4f}')
longer, _ = patients(np.random.default_rng(0), N=120)
S = polynomial(longer, nodes, 3)
bias2, variance = average(exact_terms(S, longer, nodes, 0.5))
print(f'cubic, 4 N:       bias² {bias2:.4f}, variance {variance:.4f}')

# %% [markdown]
# ```{exercise} ★★ Program: the best width of a window
# :label: bias_variance-window
# Inputs lie on a grid with spacing $h$, and the truth is $f(x) = a + bx + cx^2$. At a grid point far from the ends average
# the labels of the point itself and of $m \ge 0$ neighbours on either side. Derive bias and variance and write
# `window(c, h, m, sigma)`, which returns both as a tuple, without a loop or an array: at most four lines of Python may run.
# How does the best total error fall as $h \to 0$?
# ```

# %%
def window(c, h, m, sigma):
    """(bias, variance): float, float > 0, int >= 0, float > 0 -> two floats.

    window(3.0, 1.0, 1, 3.0) is (2.0, 3.0).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def window_by_smoother(c, h, m, sigma):
    x = np.array([h * i for i in range(-m, m + 1)])
    s = np.array([1 / len(x) for _ in x])
    return s @ (5 - 3 * x + c * x**2) - 5, sigma**2 * (s @ s)

window_cases = dict(c=on(0.0, 3.0) | scalars(-5, 5), h=on(1.0, 0.1) | scalars(0.01, 2), m=integers(0, 9),
                    sigma=on(1.0) | scalars(0.1, 3))
grade(window, window_by_smoother, lines=4, **window_cases)

# %% [markdown]
# ```{solution-start} bias_variance-window
# :class: dropdown
# ```
# Constant and slope drop out by symmetry. What remains is $c h^2$ times the mean of $i^2$ for $|i| \le m$,
# $\frac{2}{2m + 1} \cdot \frac{m(m + 1)(2m + 1)}{6}$, so the bias is $\frac13 c h^2 m(m + 1)$; the variance is
# $\sigma^2/(2m + 1)$. With the width $w = mh$ the two are about $c w^2/3$ and $\sigma^2 h/(2w)$. For $c \ne 0$, minimizing
# $c^2 w^4/9 + \sigma^2 h/(2w)$ gives $w$ of the order $h^{1/5}$ and an error of the order $h^{4/5}$, that is $N^{-4/5}$ for
# $N$ points on a fixed interval. This is slower than the $N^{-1}$ of a fixed number of parameters. The first wrong answer
# leaves out the middle, the second gives the squared bias, and the third forgets the spacing.

# %% jupyter={"source_hidden": true}
def window_solution(c, h, m, sigma):
    return c * h**2 * m * (m + 1) / 3, sigma**2 / (2 * m + 1)

def without_the_middle(c, h, m, sigma):
    return c * h**2 * (m + 1) * (2 * m + 1) / 6, sigma**2 / max(2 * m, 1)

def bias_squared(c, h, m, sigma):
    return (c * h**2 * m * (m + 1) / 3) ** 2, sigma**2 / (2 * m + 1)

def spacing_forgotten(c, h, m, sigma):
    return c * m * (m + 1) / 3, sigma**2 / (2 * m + 1)

assert grade(window_solution, window_by_smoother, lines=4, **window_cases)
assert not grade(without_the_middle, window_by_smoother, lines=4, **window_cases)
assert not grade(bias_squared, window_by_smoother, lines=4, **window_cases)
assert not grade(spacing_forgotten, window_by_smoother, lines=4, **window_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: which term moves?
# :label: bias_variance-moves
# Start with the cubic on the thirty inputs and $\sigma = 0.5$. Predict how the average squared bias and the average
# variance change: `'A'`, if $\sigma$ is doubled; `'B'`, if there are 120 inputs; `'C'`, with degree 4 in place of 3; `'D'`,
# with degree 1 in place of 3. Return a dict from letters to pairs such as `('same', 'lower')`, first the squared bias, then
# the variance. "Same" means within a fifth.
# ```

# %%
def predicted_moves():
    """A dict: 'A' to 'D' -> ('lower', 'same' or 'higher', the same again)."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def terms_of(N=30, degree=3, sigma=0.5):
    x, _ = patients(np.random.default_rng(0), N)
    return np.array(average(exact_terms(polynomial(x, nodes, degree), x, nodes, sigma)))

changes = {'A': dict(sigma=1.0), 'B': dict(N=120), 'C': dict(degree=4), 'D': dict(degree=1)}

def named(ratio):
    return 'same' if 5 / 6 < ratio < 6 / 5 else 'higher' if ratio > 1 else 'lower'

def is_measured(moves):
    if sorted(moves) != sorted(changes):
        raise ValueError('give a pair for each of the letters A, B, C and D')
    for letter, pair in moves.items():
        if tuple(pair) != tuple(named(ratio) for ratio in terms_of(**changes[letter]) / terms_of()):
            raise ValueError(f'{letter} is measured otherwise; try it')
    return True

grade(lambda: is_measured(predicted_moves()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} bias_variance-moves
# :class: dropdown
# ```
# Bias is what happens without noise, so more noise does not move it. More data of the same kind hardly do, while the
# variance is multiplied by 4 or by about $\frac14$. The fourth degree costs variance and buys nothing, because the sine
# is odd. The line has more bias and less variance. The wrong answers let noise add to the bias, let more data cure it, or
# expect each further degree to lower it.

# %% jupyter={"source_hidden": true}
answer = {'A': ('same', 'higher'), 'B': ('same', 'lower'), 'C': ('same', 'higher'), 'D': ('higher', 'lower')}
assert grade(lambda: is_measured(answer), lambda: True, [()])
assert not grade(lambda: is_measured(answer | {'A': ('higher', 'higher')}), lambda: True, [()])  # noise adds to the bias
assert not grade(lambda: is_measured(answer | {'B': ('lower', 'lower')}), lambda: True, [()])  # more data cure bias
assert not grade(lambda: is_measured(answer | {'C': ('lower', 'higher')}), lambda: True, [()])  # each degree lowers it
for letter, change in changes.items():
    print(letter, (terms_of(**change) / terms_of()).round(2))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def of_smoother(S, f, x, x0):  # for another truth f: squared bias, variance
    return (S @ f(x) - f(x0)) ** 2, 0.7**2 * (S**2).sum(axis=1)

def rough(seed):  # a random curve, wilder than the sine
    c = np.random.default_rng(seed).normal(size=20)
    return lambda x: legvander(x, 19) @ c

def least_squares_terms(seed, degree, freedom):
    f, x = rough(seed), spaced(np.random.default_rng(seed), 30)
    bias2, variance = of_smoother(polynomial(x, x, degree), f, x, x)
    P = legvander(x, degree)
    distance = norm(f(x) - P @ lstsq(P, f(x), rcond=None)[0])
    more, _ = of_smoother(polynomial(x, x, degree + 1), f, x, x)
    return (close(bias2.sum(), distance**2) and more.sum() <= bias2.sum()
            and close(variance.mean(), 0.7**2 * freedom(degree) / 30))

def ridge_terms(seed, alpha, power=2):
    f, x = rough(seed), spaced(np.random.default_rng(seed), 30)
    bias2, variance = of_smoother(ridge(x, x, alpha), f, x, x)
    more, less = of_smoother(ridge(x, x, 1.5 * alpha), f, x, x)
    P = legvander(x, 12)
    s = eigvalsh(P.T @ P)
    formula = 0.7**2 * ((s / (s + alpha)) ** power).mean() * 13 / 30
    return bool(close(variance.mean(), formula) and more.mean() > bias2.mean()
                and less.mean() < variance.mean())

def neighbour_terms(seed, k, share):
    rng = np.random.default_rng(seed)
    x, x0 = spaced(rng, 30), rng.uniform(-1, 1, 9)
    bias2, variance = exact_terms(neighbours(x, x0, k), x, x0, 0.7)
    reach = np.sort(abs(x0[:, None] - x), axis=1)[:, :k].mean(axis=1)
    return bool(close(variance, np.full(9, 0.7**2 / k))
                and (bias2**0.5 <= share * 3 * reach).all())  # L = 3

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
def squared_bias_of_three(seed, knob, correct=True):
    rng = np.random.default_rng(seed)
    x, x0 = spaced(rng, 12), rng.uniform(-1, 1, 1)
    S = polynomial(x, x0, knob)
    labels = truth(x) + 0.5 * noise(rng, (1500, 3, 12))
    terms = np.array([bias_variance(three @ S.T, truth(x0)) for three in labels])[:, :, 0]
    found = terms[:, 0] + (0 if correct else terms[:, 1] / 3)
    want, _ = exact_terms(S, x, x0, 0.5)
    band = 5 * found.std() / len(found) ** 0.5
    return bool(abs(found.mean() - want[0]) < band)

verify(
    'three training sets estimate the squared bias without bias',
    lambda seed, knob: squared_bias_of_three(seed, knob),
    slip=(
        'forgets the correction for the mean of three fits',
        lambda seed, knob: squared_bias_of_three(seed, knob, correct=False),
    ),
    seed=seeds(),
    knob=[1, 4],
    tries=8,
)

def best_knob(name):
    return families[name][1][lines[name].sum(axis=1).argmin()]

verify(
    'the sums are least at degree 3, α = 1 and k = 7',
    lambda name, knob: bool(best_knob(name) == knob[name]),
    slip=('expects the same knob in each family', lambda name, knob: bool(best_knob(name) == knob['degree'])),
    name=[*families], knob=[{'degree': 3, 'α': 1, 'k': 7}],
)
assert (cubic < three).all()

# %% [markdown]
# ## Bias and variance with real patients
#
# Of the 442 patients with diabetes nobody knows $f$ or $\sigma$, and no patient is there twice. What can still be measured?
#
# The *total* error can be measured, on patients who are held out. The *variance* can be measured, too, without knowing
# $f$: train on several sets and see how much the predictions differ. But these sets must not overlap, because sets that
# share patients agree more than independent ones. How much more can be computed for the simplest method, the mean of $n$
# out of $M$ patients:
#
# ````{prf:theorem} Overlapping and disjoint sets
# :label: thm-disjoint
# Let $y_1, \dots, y_M$ be numbers and $s^2$ their variance with divisor $M - 1$. The means of all subsets of size $n$ have
# the variance $\frac{s^2}{n}\big(1 - \frac nM\big)$ around their common mean. For two *disjoint* subsets with means $a$
# and $b$, the average of $\frac12 (a - b)^2$ over all such pairs is $\frac{s^2}{n}$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# Draw the patients one after the other without replacement and call their values $Y_1, Y_2, \dots$. Each has the variance
# $v = \frac{M - 1}{M} s^2$, and any two have the same covariance $c$. The sum of all $M$ is fixed, so its variance
# $Mv + M(M - 1)c$ is zero: $c = -\frac{v}{M - 1} = -\frac{s^2}{M}$, and $v - c = s^2$. The mean of $n$ has the variance
# $\frac1{n^2}\big(nv + n(n - 1)c\big) = \frac{v - c}{n} + c = \frac{s^2}{n} - \frac{s^2}{M}$. Two disjoint means have
# the covariance $c$ as well, so $\frac12 \mathbb{E}(a - b)^2 = \frac{v - c}{n} + c - c = \frac{s^2}{n}$.
# ````
#
#
# If the $y$ are independent with variance $\sigma^2$, then $\sigma^2/n$ is the true variance of a mean of $n$. On
# average, sets drawn with overlaps miss the share $\frac nM$ of it, and disjoint sets nothing. Disjoint sets miss nothing
# for *every* method: disjoint parts of an independent sample are independent training sets.
#
# So we shuffle the patients, set 142 aside for testing, and cut the other $442 - 142 = 300$ into five training sets of 60.
# The mean squared error on the test patients estimates the total, the variance among the five predictions estimates the
# variance, and the difference is
#
# $$ \text{total} - \text{variance} = \text{noise} + \text{bias}^2 . $$

# %%
X, y, _ = diabetes()            # (442, 10), (442,)

def parts_of(model, seed):      # noise + bias², variance
    order = np.random.default_rng(seed).permutation(442)
    test, pools = order[:142], order[142:].reshape(5, 60)
    fits = np.array([model.fit(X[pool], y[pool]).predict(X[test])
                     for pool in pools])  # (5, 142)
    variance = fits.var(axis=0, ddof=1).mean()
    return ((fits - y[test]) ** 2).mean() - variance, variance

# %% [markdown]
# This is as far as we get. *No resampling separates noise from squared bias*; that would take patients with the same
# $\mathbf{x}$, or an assumption on $f$. But the noise is the same for all methods, so two methods differ in this sum only
# in squared bias. And each such sum estimates an upper bound for the noise. We compare nearest neighbours with ridge
# regression on the measurements, their squares and their products:

# %%
def neighbours_model(k):
    return make_pipeline(StandardScaler(), KNeighborsRegressor(int(k)))

def ridge_model(alpha):
    return make_pipeline(
        StandardScaler(), PolynomialFeatures(2, include_bias=False),
        StandardScaler(), Ridge(alpha))

# %%
methods = {'k': (neighbours_model, np.array([1, 2, 4, 10, 25, 60])),
           'α': (ridge_model, np.array([1, 10, 100, 1000, 10_000]))}
found = {name: np.array([[parts_of(make(knob), seed) for knob in knobs]
                         for seed in range(20)])  # (20, knobs, 2)
         for name, (make, knobs) in methods.items()}

# %%
print(f'variance of the labels: {y.var():.0f}')
for name, (_, knobs) in methods.items():
    for knob, (rest, variance) in zip(knobs, found[name].mean(axis=0),
                                      strict=True):
        print(f'{name} = {knob:5}: noise + bias² {rest:.0f},'
              f' variance {variance:4.0f}, total {rest + variance:.0f}')

# %% mystnb={"image": {"alt": "Two stacked areas against the knob. Left, number of neighbours from 60 down to 1: noise plus squared bias falls from about the variance of the labels to about half of it and levels off, the variance on top of it grows; the sum is least near ten. Right, ridge penalty from large to small: the same shape; the sum is least near 100."}} tags=["hide-input"]
fig, axes = panels(2, height=3, sharey=True)
for ax, (name, (_, knobs)) in zip(axes, methods.items(), strict=True):
    rest, variance = found[name].mean(axis=0).T
    ax.fill_between(knobs, 0, rest, color='C1', alpha=0.35, lw=0)
    ax.fill_between(knobs, rest, rest + variance, color='C2', alpha=0.45, lw=0)
    ax.plot(knobs, rest + variance, 'C0.-', lw=1.2)
    ax.axhline(y.var(), color=GREY, ls='--', lw=1)
    ax.set(xscale='log', xlim=(knobs.max(), knobs.min()), ylim=(0, 8000))
axes[0].set(xlabel='number k of neighbours', ylabel='squared error')
axes[0].set_xticks([60, 20, 5, 1], [60, 20, 5, 1])
axes[0].minorticks_off()
axes[0].text(50, 6200, 'always the mean')
axes[0].text(8, 1300, 'noise + bias²', ha='center', color='C1')
axes[0].text(3.2, 4300, 'variance', ha='center', color='C2')
axes[1].set_xlabel('penalty α');

# %% [markdown] tags=["caption"]
# With 60 training patients the variance makes the total rise on the right of each panel. Noise and squared bias, which no
# resampling separates, level off at about half the variance of the labels (dashed).

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

def least_total(name):
    return methods[name][1][found[name].sum(axis=2).mean(axis=0).argmin()]

verify(
    'the least total is reached in the middle, at k = 10 and α = 100',
    lambda name, knob: bool(least_total(name) == knob[name]),
    slip=('expects the most flexible setting to be best', lambda name, knob: bool(least_total(name) == methods[name][1][0])),
    name=[*methods], knob=[{'k': 10, 'α': 100}],
)
verify(
    'along the knob the variance grows and the rest falls by more than a third',
    lambda name: bool((np.diff(found[name].mean(axis=0)[:, 1]) < 0).all()
                      and found[name].mean(axis=0)[:, 0].min() < 2 / 3 * found[name].mean(axis=0)[-1, 0]),
    slip=('expects the variance to fall', lambda name: bool((np.diff(found[name].mean(axis=0)[:, 1]) > 0).all())),
    name=[*methods],
)

# %% [markdown]
# ## Summary
#
# The expected squared error at a point is noise plus squared bias plus variance, for every method and every noise of mean
# zero and finite variance, as long as the new label is independent of the training set. For linear smoothers the terms
# have formulas, and within a family the degree, the penalty or the number of neighbours trades bias for variance. With
# real data we can measure the variance on disjoint training sets, but not separate noise from squared bias.
#
# **Further reading.** {cite}`geman1992neural` made the decomposition a central idea of machine learning;
# {cite}`hastie2009elements`, chapters 2 and 7, is the standard account. {cite}`james2003variance` treats general losses,
# for which there need not be such a sum, and {cite}`heskes1998bias` the logarithmic loss, for which there is one.
# {cite}`belkin2019reconciling` show that beyond as many parameters as examples the test error may fall again.
