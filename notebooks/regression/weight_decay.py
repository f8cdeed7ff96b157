# ---
# jupyter:
#   book:
#     functions:
#       monomials: monomials(5, 3)
#       decayed_step: decayed_step(normal(3), 0.5, normal(8, 3), normal(8), 0.1, 0.5)
#       adam: 'adam(lambda w: w - 1, normal(3), 0.1 * uniform(20), 0.1, True)'
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Weight decay
#
# A model with 50 features is trained on 50 examples. It fits them without any error, and its error on new examples is 47,
# where 200 examples would give 0.33. If all weights shrink a little in every training step, the same 50 examples give 0.681.
# Why does shrinking help, and why does it do two different things in SGD and in Adam?
#
# - **You need** [minibatch training](minibatch_training.ipynb), [ridge regression](ridge_regression.ipynb) and
#   [Adam](../optimization/adaptive_methods.ipynb).
# - **You build** training with weight decay, step by step equal to PyTorch's, an experiment that shows when decay helps, and
#   the function that AdamW really minimizes.
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
from functools import cache
from itertools import combinations_with_replacement
from math import comb

import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.linalg import eigh, lstsq, norm, pinv, solve
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.stats import sem
from sklearn.linear_model import LogisticRegression, Ridge
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss

from nbutils.cases import integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import close, erratum, grade, holds, verify
from nbutils.data import digits
from nbutils.figures import GREY, label_lines, panels
from nbutils.training import batches, fit

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Overfitting: more data, fewer features, or smaller weights
#
# We draw examples with $d = 50$ Gaussian features, fit them by least squares, and measure the mean squared error on new
# examples. Then we add a penalty on long weights, as in [ridge regression](ridge_regression.ipynb).

# %%
def world(seed, n, d, noise=0.5):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d)
    w, X = w / norm(w), rng.normal(size=(n, d))
    return X, X @ w + noise * rng.normal(size=n), w

# %%
def risks(seed, n, d, lam=0.0, noise=0.5):  # training, true
    X, y, w = world(seed, n, d, noise)
    if lam:
        found = solve(X.T @ X + n * lam * np.eye(d), X.T @ y)
    else:
        found = pinv(X) @ y  # the shortest, if several fit equally well
    return norm(y - X @ found) ** 2 / n, noise**2 + norm(found - w) ** 2

# %%
sizes = [10, 20, 35, 45, 50, 55, 70, 100, 200]
plain, decayed = (np.array([
    [risks(seed, n, 50, lam=alpha / n)[1] for seed in range(20)]
    for n in sizes]) for alpha in (0, 12.5))  # 12.5 = d sigma^2
for n in (20, 50, 200):
    k = sizes.index(n)
    print(f'n = {n:3}: median true error {np.median(plain[k]):5.2f} '
          f'without decay, {np.median(decayed[k]):.3f} with it')

# %% [markdown]
# A model that follows the noise of its training data has two obvious cures. One is **more data**. For least squares with $d$
# fixed Gaussian features and noise of variance $\sigma^2$, the training error is $\sigma^2(1 - \frac dn)$ on average, as $d$
# of the $n$ dimensions of the noise are fitted, and the true one is $\sigma^2\big(1 + \frac{d}{n - d - 1}\big)$
# ([cross-validation](cross_validation.ipynb) says why). So
#
# ```{math}
# :label: dl.weightdecay.more-data
# R - R_{\text{emp}} \to 0 \quad (n \to \infty) \qquad \text{for a fixed model with } d \text{ parameters.}
# ```
#
# But if the model grows with the data, the gap need not close. A model with two parameters per example interpolates for
# every $n$: its training error is always zero, its true error never. And on the way to the limit, more data can make things
# *worse*. Least squares has a peak where examples and parameters are equally many: there the smallest singular value is
# nearly zero, and the one exact fit needs enormous weights.
#
# The other cure is **a smaller model**, for example a polynomial of lower degree. But this changes the model in large steps.
# In $k$ variables the number of monomials of degree $d$ is
#
# ```{math}
# :label: dl.weightdecay.degree-coarse
# m_d = \binom{k - 1 + d}{k - 1} :
# ```
#
# write $x_1^{d_1} \cdots x_k^{d_k}$ as $d$ stars with $k - 1$ bars between the variables, and choose the places of the
# bars. With 20 variables one step from degree 2 to 3 adds 1540 features to $1 + 20 + 210 = 231$.

# %%
def monomials(k, d):
    return sum(1 for _ in combinations_with_replacement(range(k), d))

for d in (2, 3, 5):
    print(f'20 variables, degree {d}: {monomials(20, d)} monomials')

# %% mystnb={"image": {"alt": "Left: true error against the number of examples, logarithmic axes: without decay the median peaks near 50 at 50 examples and falls to 0.33 at 200; with decay it falls steadily below it. Right: number of monomials against degree on a logarithmic axis for 2, 5 and 20 variables; the last reaches 42504 at degree 5."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
for k, (name, errors) in enumerate((('with decay', decayed),
                                    ('without', plain))):
    low, high = np.quantile(errors, (0.1, 0.9), axis=1)
    left.fill_between(sizes, low, high, color=f'C{k}', alpha=0.2, lw=0)
    left.loglog(sizes, np.median(errors, axis=1), f'C{k}.-', label=name)
left.axvline(50, color=GREY, ls=':', lw=1)
left.set(xlabel='examples', ylabel='true error', title='50 features',
         ylim=(0.2, 2000), xticks=[10, 20, 50, 100, 200],
         xticklabels=[10, 20, 50, 100, 200])
left.minorticks_off()
left.legend(loc='upper right', fontsize=8)
for k in (20, 5, 2):
    right.semilogy([monomials(k, d) for d in range(6)], 'o-', ms=4,
                   label=f'k = {k}')
right.set(xlabel='degree', title='Monomials in k variables')
label_lines(right);

# %% [markdown] tags=["caption"]
# Left: without decay the error explodes where examples and features are equally many; decay takes the peak away. Right: with
# many variables one more degree multiplies the number of features.

# %% [markdown]
# **Weight decay** can be adjusted more finely: all features stay, and one real number says how long the weights may become.
# It also takes the peak away {cite}`nakkiran2021optimal`.
#
# ```{exercise} ★ Pencil: up to a degree
# :label: weight_decay-monomials
# A polynomial of degree $D$ in $k$ variables contains the monomials of all degrees up to $D$. By what factor does one more
# degree multiply the number of its coefficients? Write `growth(k, D)` in closed form.
# ```

# %%
def growth(k, D):
    """How many coefficients degree D + 1 has, over those of degree D: a float.

    k: int >= 1, the number of variables. D: int >= 0. At most three lines
    may run. growth(1, 1) is 1.5, because a line has two coefficients and a
    parabola three.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def growth_by_counting(k, D):
    def count(D):
        return sum(1 for d in range(D + 1)
                   for _ in combinations_with_replacement(range(k), d))
    return count(D + 1) / count(D)

cases = dict(k=on(1, 2) | integers(1, 6), D=on(0, 1) | integers(0, 5))
grade(growth, growth_by_counting, **cases, tries=40, lines=3)

# %% [markdown]
# ```{solution-start} weight_decay-monomials
# :class: dropdown
# ```
# A further variable, equal to 1, fills up the degree: there are $\binom{k + D}{k}$ coefficients, and the quotient of two
# neighbours is $(k + D + 1)/(D + 1)$. The first wrong answer compares the monomials of degree exactly $D + 1$ and $D$, the
# second is the factor of the degree before, and the third counts degree by degree, which is not a closed form.

# %% jupyter={"source_hidden": true}
def growth_solution(k, D):
    return (k + D + 1) / (D + 1)

def of_exact_degree(k, D):
    return (k + D) / (D + 1)

def one_degree_late(k, D):
    return (k + D) / D if D else 1.0

def degree_by_degree(k, D):
    total = 0
    for d in range(D + 1):
        total += comb(k - 1 + d, d)
    return 1 + comb(k + D, D + 1) / total

assert grade(growth_solution, growth_by_counting, **cases, tries=40, lines=3)
assert not grade(of_exact_degree, growth_by_counting, **cases, tries=40, lines=3)
assert not grade(one_degree_late, growth_by_counting, **cases, tries=40, lines=3)
assert not grade(degree_by_degree, growth_by_counting, **cases, tries=40, lines=3)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: where is the peak?
# :label: weight_decay-peak
# With 50 features and $\sigma = 0.5$ the error of least squares peaks at 50 examples. Where does it peak (A) for
# $\sigma = 2$, (B) with 30 features, (C) with 50 features, the last 25 of which are copies of the first 25? Predict three
# numbers, then measure them.
# ```

# %%
def predicted_peaks():
    """The numbers of examples with the largest median error: three ints.

    For A, B and C, each one of 20, 25, 30, 35, 40, 45, 50, 55, 60.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
@cache
def measured_peak(distinct, copies, noise):
    def error(seed, n):  # the true one, without the noise
        rng = np.random.default_rng(seed)
        X, w = rng.normal(size=(n, distinct)), rng.normal(size=distinct)
        y = X @ w / norm(w) + noise * rng.normal(size=n)
        found = lstsq(np.hstack([X] * copies), y)[0].reshape(copies, distinct).sum(axis=0)
        return norm(found - w / norm(w))

    return max(range(20, 61, 5), key=lambda n: np.median([error(seed, n) for seed in range(11)]))

settings = {'A': (50, 1, 2.0), 'B': (30, 1, 0.5), 'C': (25, 2, 0.5)}

def is_measured(peaks):
    if len(peaks) != 3:
        raise ValueError('give three numbers, for A, B and C')
    for peak, (letter, setting) in zip(peaks, settings.items(), strict=True):
        if peak != measured_peak(*setting):
            raise ValueError(f'{letter} is measured otherwise; run it and compare')
    return True

grade(lambda: is_measured(predicted_peaks()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} weight_decay-peak
# :class: dropdown
# ```
# The peak stands where the examples can just be fitted exactly, in one way only: where their number equals the *rank*, the
# number of independent features. Noise sets its height but not its place. Copies add columns, but no directions, so they do
# not count. The wrong answers let noise move the peak, expect it where it was, or count the copies.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured((50, 30, 25)), lambda: True, [()])
assert not grade(lambda: is_measured((60, 30, 25)), lambda: True, [()])
assert not grade(lambda: is_measured((50, 50, 25)), lambda: True, [()])
assert not grade(lambda: is_measured((50, 30, 50)), lambda: True, [()])
for letter, setting in settings.items():
    print(f'{letter}: the largest of the errors is that with {measured_peak(*setting)} examples')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def closes(size):  # like the theory, within 5 standard errors
    def one(n):
        gaps = np.diff([risks(seed, n, size(n)) for seed in range(64)]).ravel()
        want = 0.25 * 10 * (1 / n + 1 / (n - 11))
        return abs(gaps.mean() - want) < 5 * sem(gaps)
    return all(one(n) for n in (50, 100, 200))

holds('dl.weightdecay.more-data', lambda: closes(lambda n: 10),
      slip=('lets the model grow with the data',
            lambda: closes(lambda n: 2 * n)))
verify('a binomial coefficient counts the monomials of one degree',
       lambda k, d: monomials(k, d) == comb(k - 1 + d, k - 1),
       slip=('counts all monomials up to degree d',
             lambda k, d: monomials(k, d) == comb(k + d, k)),
       k=integers(1, 8), d=integers(0, 5), tries=60)

# %% [markdown]
# ## Weight decay in SGD is an L2 penalty
#
# We add a penalty on long weights to the mean loss of the examples, with a factor $\frac12$ that the gradient will cancel:
#
# ```{math}
# :label: weight-decay-objective
# J(\mathbf{w}, b) = \frac1n \sum_{i=1}^n l^{(i)}(\mathbf{w}, b) + \frac\lambda2 \|\mathbf{w}\|^2 .
# ```
#
# We train by [minibatches](minibatch_training.ipynb): at step $t$ the
# gradient is the mean over the batch $\beta_t$ plus $\lambda\mathbf{w}$. Collect the two terms with $\mathbf{w}$:
#
# ```{math}
# :label: dl.norms-wd.decay-step
# \mathbf{w} \leftarrow (1 - \eta\lambda)\,\mathbf{w} - \frac{\eta}{|\beta_t|} \sum_{i \in \beta_t}
# \frac{\partial}{\partial\mathbf{w}} l^{(i)}(\mathbf{w}, b)
# ```
#
# In each step all weights first shrink by the same factor $1 - \eta\lambda$, and then the data change them. This is *weight
# decay*. For squared loss, $l^{(i)} = \frac12(\mathbf{w}^\top\mathbf{x}^{(i)} + b - y^{(i)})^2$, the right side is
#
# ```{math}
# :label: dl.norms-wd.decay-expanded
# (1 - \eta\lambda)\,\mathbf{w} - \frac{\eta}{|\beta_t|} \sum_{i \in \beta_t} \mathbf{x}^{(i)} \big(
# \mathbf{w}^\top\mathbf{x}^{(i)} + b - y^{(i)} \big) .
# ```

# %%
def decayed_step(w, b, X, y, eta, lam):
    r = X @ w + b - y
    return (1 - eta * lam) * w - eta * X.T @ r / len(r), b - eta * r.mean()

# %% [markdown]
# In PyTorch you write `weight_decay=lam` for the weights, and nothing for the bias:

# %%
def by_optimizer(w, b, X, y, eta, lam):  # two groups: b is not decayed
    w, b, X, y = (torch.tensor(v) for v in (w, b, X, y))
    groups = [{'params': [w.requires_grad_()], 'weight_decay': lam},
              {'params': [b.requires_grad_()]}]
    optimizer = torch.optim.SGD(groups, lr=eta)
    (mse_loss(X @ w + b, y) / 2).backward()
    optimizer.step()
    return w.detach().numpy(), b.item()

# %%
rng = np.random.default_rng(0)
X, y = rng.normal(size=(5, 3)), rng.normal(size=5)
w, b = np.array([1.0, -2.0, 3.0]), 0.5
for name, step in (('ours   ', decayed_step), ('PyTorch', by_optimizer)):
    new_w, new_b = step(w, b, X, y, eta=0.1, lam=0.5)
    print(f'{name} w = {new_w.round(4)}, b = {new_b:.4f}')

# %% [markdown]
# ````{prf:theorem} Decay is a penalty, for plain gradient steps
# :label: thm-decay-penalty
# For differentiable losses, any batches and any step sizes $\eta_t$: stochastic gradient descent on
# {eq}`weight-decay-objective` and the decayed step {eq}`dl.norms-wd.decay-step` on the loss alone produce the same weights
# in every step, from the same start.
# ````
#
# ````{prf:proof}
# :class: dropdown
# By induction over the steps: $\mathbf{w} - \eta_t(\mathbf{g}_t + \lambda\mathbf{w}) = (1 - \eta_t\lambda)\,\mathbf{w} -
# \eta_t\mathbf{g}_t$, where $\mathbf{g}_t$ is the gradient of the batch at the common $\mathbf{w}$.
# ````
#
# This holds because the step is *linear* in the gradient. For Adam, in the last part, it is not.
#
# :::{admonition} A tempting mistake
# :class: warning
# If you give `weight_decay` to the optimizer as a whole, it decays the bias as well (and in networks the scales of
# normalization layers). But if all targets rise by 5, all predictions should rise by 5, and nothing else should change. A
# decayed bias cannot follow:
# :::

# %% tags=["hide-input"]
def trained(seed, shift, lam_b):
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(20, 3, generator=g)
    y = X.sum(dim=1, keepdim=True) + torch.randn(20, 1, generator=g)
    model = nn.Linear(3, 1)
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    groups = [{'params': [model.weight], 'weight_decay': 0.5},
              {'params': [model.bias], 'weight_decay': lam_b}]
    fit(model, mse_loss, torch.optim.SGD(groups, lr=0.1),
        [(X, y + shift)] * 150)
    return model(X)

for name, lam_b in (('free bias', 0.0), ('decayed bias', 0.5)):
    rise = (trained(0, 5, lam_b) - trained(0, 0, lam_b)).mean().item()
    print(f'{name}: the targets rise by 5, the predictions by {rise:.2f}')

# %% [markdown]
# ### When does weight decay help?
#
# A well-known example {cite}`zhang2023dive` has 200 features, 20 examples, and $y = 0.05 + 0.01\sum_j x_j + \epsilon$
# with noise of standard deviation 0.01. We train by minibatches of 5, with $\eta = 0.01$ for $150 \cdot 4 = 600$ steps,
# seven values of $\lambda$ side by side, from small and from large random weights. As the $x_j$ are independent
# standard normal, the true error (half the squared one) is
# $\frac12\big(\|\hat{\mathbf{w}} - \mathbf{w}\|^2 + (\hat b - b)^2 + 0.01^2\big)$.

# %% tags=["hide-input"]
def narrow_world(rng):  # 20 examples, 200 features
    X = rng.normal(size=(20, 200))
    return X, 0.05 + X.sum(axis=1) / 100 + 0.01 * rng.normal(size=20)

def narrow_risk(W, b):
    return (((W - 0.01) ** 2).sum(axis=-1) + (b - 0.05) ** 2 + 1e-4) / 2

def train(seed, start, lams, step=decayed_step):  # -> W, b, lengths, loss
    rng = np.random.default_rng(seed)
    X, y = narrow_world(rng)
    w = start * rng.normal(size=200)
    runs = [(w, 0.0)] * len(lams)
    lengths = []
    for _ in range(150):
        for batch in np.split(rng.permutation(20), 4):
            runs = [step(w, b, X[batch], y[batch], 0.01, lam)
                    for (w, b), lam in zip(runs, lams, strict=True)]
            lengths.append([norm(w) for w, _ in runs])
    W, b = (np.array(part) for part in zip(*runs, strict=True))
    loss = ((X @ W.T + b - y[:, None]) ** 2).mean(axis=0) / 2
    return W, b, np.array(lengths), loss

lams = np.array([0, 0.1, 0.3, 1, 3, 10, 30])
runs = {start: [train(seed, start, lams) for seed in range(6)]
        for start in (0.01, 1.0)}
for start, results in runs.items():
    true = np.mean([narrow_risk(W, b) for W, b, _, _ in results], axis=0)
    training = np.mean([loss for *_, loss in results], axis=0)
    for k in (0, 4):
        print(f'start {start:.2f}, lambda {lams[k]:.0f}: training error '
              f'{training[k]:.5f}, true error {true[k]:#.3g}')
print(f'all weights zero: {narrow_risk(np.zeros(200), 0.05):.4f}')

# %% [markdown]
# As we see, decay is a regularization: a worse fit to the training data, a smaller error on new examples. But all weights
# zero are nearly as good! So what did the decay really do?
#
# ````{prf:theorem} What happens to the start
# :label: thm-start-forgotten
# Let the loss of an example depend on $\mathbf{w}$ through $\mathbf{w}^\top\mathbf{x}^{(i)}$ alone, and let
# $\mathbf{P}$ project onto the vectors that are orthogonal to all training inputs. After $t$ decayed steps, whatever the
# batches, $\mathbf{P}\mathbf{w}_t = (1 - \eta\lambda)^t\, \mathbf{P}\mathbf{w}_0$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# The gradient of each example is a multiple of its input, so $\mathbf{P}$ takes it to zero. What is left of
# {eq}`dl.norms-wd.decay-step` is $\mathbf{P}\mathbf{w} \leftarrow (1 - \eta\lambda)\,\mathbf{P}\mathbf{w}$.
# ````
#
# Twenty inputs leave $200 - 20 = 180$ directions about which the data say nothing. Without decay the random start stays
# there for good and costs about $\frac12 \cdot 180$ if its entries have variance 1. With decay it fades. A start at zero
# would have done the same. Of the exact solutions below (`Ridge` with `alpha` $= n\lambda$), none is noticeably better than
# that for $\lambda = 10^{-6}$.

# %% tags=["hide-input"]
def ridge_risks(X, y, lams, risk):
    rows = []
    for lam in lams:
        model = Ridge(alpha=len(y) * lam).fit(X, y)
        rows.append(risk(model.coef_, model.intercept_))
    return rows

grid = np.geomspace(1e-6, 30, 16)
exact = np.array([
    ridge_risks(*narrow_world(np.random.default_rng(seed)), grid, narrow_risk)
    for seed in range(6)])
print(f'exact, lambda 1e-6: {exact[:, 0].mean():.4f}, '
      f'best of the grid: {exact.mean(axis=0).min():.4f}')

# %% [markdown]
# Decay really helps if there is signal to be separated from noise. We make the features unequal, with variances $1/j^2$,
# weights of size 1 and noise of variance 1, again 20 examples and 200 features. Now a few strong directions carry most of
# the signal, and with the weak ones the model would fit the noise.

# %% tags=["hide-input"]
variances = 1 / np.arange(1, 201) ** 2

def unequal_world(seed):  # -> X, y, the risk as a function
    rng = np.random.default_rng(seed)
    w, X = rng.normal(size=200), rng.normal(size=(20, 200)) * variances**0.5
    y = X @ w + rng.normal(size=20)
    return X, y, lambda v, b: 1 + b**2 + variances @ (v - w) ** 2

prices = np.geomspace(1e-5, 30, 14)
uneven = np.array([ridge_risks(*unequal_world(seed)[:2], prices,
                               unequal_world(seed)[2]) for seed in range(40)])
zero = [unequal_world(seed)[2](np.zeros(200), 0) for seed in range(40)]
k = uneven.mean(axis=0).argmin()
print(f'mean true error: no decay {uneven[:, 0].mean():.2f}, '
      f'best decay {uneven[:, k].mean():.2f}, zero {np.mean(zero):.2f}, '
      f'noise alone 1')
print('that decay beats none in', (uneven[:, k] < uneven[:, 0]).sum(), 'of 40')

# %% mystnb={"image": {"alt": "Three panels. Length of the weights during training from a large start: without decay it stays near 13, with lambda 3 it falls to almost zero in the first half. True error of the example against lambda: trained from start 1 the error falls from 25 to 0.01 as lambda grows; from 0.01 and exactly solved it is flat near the baseline. Unequal features: a valley between no decay and the zero model."}} tags=["hide-input"]
fig, (a, b, c) = panels(3, height=2.8)
for k, name in ((0, 'λ = 0'), (4, 'λ = 3')):
    a.semilogy(runs[1.0][0][2][:, k], f'C{k // 4}', label=name)
a.set(xlabel='step', title='length of w')
a.legend(fontsize=8)
for k, (start, results) in enumerate(runs.items()):
    true = np.mean([narrow_risk(W, bias) for W, bias, *_ in results], axis=0)
    b.loglog(lams[1:], true[1:], f'C{k + 2}o', ms=4, label=f'start {start}')
b.loglog(grid[grid > 0.05], exact.mean(axis=0)[grid > 0.05], 'C0',
         lw=4, alpha=0.4, label='exact')
b.axhline(0.01005, color=GREY, ls='--', lw=1, zorder=4)
b.set(xlabel='λ', title='error, example', ylim=(0.006, 100))
b.legend(fontsize=8)
low, high = np.quantile(uneven, (0.1, 0.9), axis=0)
c.fill_between(prices, low, high, color='C0', alpha=0.2, lw=0)
c.semilogx(prices, uneven.mean(axis=0), 'C0')
c.axhline(np.mean(zero), color=GREY, ls='--', lw=1)
c.set(xlabel='λ', title='error, unequal', ylim=(0.9, 5));

# %% [markdown] tags=["caption"]
# Left and middle: in the example decay mainly undoes a large start, and zero weights do as well. Right: with unequal
# features a moderate decay beats both no decay and zero weights.

# %% [markdown]
# The dashed line is the zero model. With unequal features, too little decay fits the noise, and too much loses the signal.
#
# ```{exercise} ★★ Program: where descent ends
# :label: weight_decay-limit
# Without decay and without a bias, full-batch gradient descent on $\frac1{2n}\|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2$
# starts at $\mathbf{w}_0$. Often many weights fit equally well, for example if there are more features than examples. Where
# does it end, if the step is small enough? Write `limit(X, y, w0)`.
# ```

# %%
def limit(X, y, w0):
    """The weights to which gradient descent converges: a float array (d,).

    X: float array (n, d), of any shape and rank. y: float array (n,).
    w0: float array (d,), the start. At most 20 lines may run.
    For X = [[1., 0.]], y = [5.] and w0 = [2., 3.] the result is [5., 3.].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def limit_by_descent(X, y, w0):  # 2^16 steps, by composing a step with itself
    eta = 1 / ((X**2).sum() or 1)
    A, b = np.eye(len(w0)) - eta * X.T @ X, eta * X.T @ y
    for _ in range(16):
        A, b = A @ A, A @ b + b
    return A @ w0 + b

def is_moderate(X):  # its singular values, except for zeros, differ little
    return norm(X, 2) * norm(pinv(X), 2) < 30

cases = dict(
    X=matrices((1, 4), (1, 6), edges=True).filter(is_moderate),
    y=lambda X: vectors(len(X), edges=True), w0=lambda X: vectors(X.shape[1], edges=True),
)
grade(limit, limit_by_descent, **cases, lines=20)

# %% [markdown]
# ```{solution-start} weight_decay-limit
# :class: dropdown
# ```
# Descent moves in the span of the inputs until nothing is left to explain. In $\mathbf{w} = \mathbf{w}_0 + \mathbf{v}$
# it starts at $\mathbf{v} = \mathbf{0}$ and ends at the shortest $\mathbf{v}$ that explains the rest:
# $\mathbf{w}_0 + \mathbf{X}^+(\mathbf{y} - \mathbf{X}\mathbf{w}_0)$. The first wrong answer forgets the start, the second
# adds it to the shortest solution, so that it counts twice in the directions of the inputs, and the third keeps of the
# start what the data determine.

# %% jupyter={"source_hidden": true}
def limit_solution(X, y, w0):
    return w0 + pinv(X) @ (y - X @ w0)

def shortest(X, y, w0):
    return pinv(X) @ y

def start_added(X, y, w0):
    return w0 + pinv(X) @ y

def wrong_part(X, y, w0):
    return pinv(X) @ (y + X @ w0)

assert grade(limit_solution, limit_by_descent, **cases, lines=20)
assert not grade(shortest, limit_by_descent, **cases, lines=20)
assert not grade(start_added, limit_by_descent, **cases, lines=20)
assert not grade(wrong_part, limit_by_descent, **cases, lines=20)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def without_the_factor(w, b, X, y, eta, lam):
    r = X @ w + b - y
    return w - eta * X.T @ r / len(r), b - eta * r.mean()

def by_penalty(w, b, X, y, eta, lam, half=0.5):
    w, b, X, y = (torch.tensor(v) for v in (w, b, X, y))
    penalized = lambda w, b: (mse_loss(X @ w + b, y) / 2
                              + half * lam * (w**2).sum())
    g_w, g_b = torch.func.grad(penalized, argnums=(0, 1))(w, b)
    return w - eta * g_w, b - eta * g_b

def by_decay(w, b, X, y, eta, lam):  # the bare gradient, and forgetting
    new_w, new_b = by_penalty(w, b, X, y, eta, 0.0)
    return new_w - eta * lam * torch.tensor(w), new_b

def hand(seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=3), rng.normal(), rng.normal(size=(5, 3)),
            rng.normal(size=5))

def same(seed, eta, lam, ours, theirs):
    pairs = zip(ours(*hand(seed), eta, lam), theirs(*hand(seed), eta, lam),
                strict=True)
    return all(close(a, b, atol=1e-13) for a, b in pairs)

rates = dict(eta=scalars(0.01, 0.5), lam=scalars(0.1, 3))
no_half = lambda *a: by_penalty(*a, half=1)
holds('dl.norms-wd.decay-step',
      lambda seed, eta, lam: same(seed, eta, lam, by_decay, by_penalty)
      and same(seed, eta, lam, by_decay, by_optimizer),
      slip=('forgets the ½ before λ',
            lambda seed, eta, lam: same(seed, eta, lam, by_decay, no_half)),
      seed=seeds(), tries=25, **rates)

erratum('dl.norms-wd.decay-expanded',
        printed=lambda seed, eta, lam: same(
            seed, eta, lam, without_the_factor, by_penalty),
        corrected=lambda seed, eta, lam: same(
            seed, eta, lam, decayed_step, by_penalty),
        seed=seeds(), tries=25, **rates)

def shrunk_after(w, b, X, y, eta, lam):
    w, b = without_the_factor(w, b, X, y, eta, lam)
    return (1 - eta * lam) * w, b

# %% tags=["checks"]
def same_run(seed, step):
    g = torch.Generator().manual_seed(seed)
    X, y = torch.randn(12, 3, generator=g), torch.randn(12, 1, generator=g)
    model = nn.Linear(3, 1)
    nn.init.normal_(model.weight, generator=g)
    nn.init.normal_(model.bias, generator=g)
    w, b = (p.detach().numpy()[0].copy() for p in model.parameters())
    optimizer = torch.optim.SGD(
        [{'params': [model.weight], 'weight_decay': 0.7},
         {'params': [model.bias]}], lr=0.2)
    falling = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    order = list(batches(g, 5, X, y, epochs=3))
    half = lambda prediction, y: mse_loss(prediction, y) / 2
    fit(model, half, optimizer, order, scheduler=falling)
    for t, (A, u) in enumerate(order):
        w, b = step(w, b, A.numpy(), u.numpy()[:, 0], 0.2 * 0.9**t, 0.7)
    return close(model.weight[0], w) and close(model.bias[0], b)
verify('a training run equals that of torch.optim.SGD',
       lambda seed: same_run(seed, decayed_step),
       slip=('shrinks the weights after the gradient step',
             lambda seed: same_run(seed, shrunk_after)),
       seed=seeds(), tries=5)

def shifts_along(seed, lam_b):
    return close(trained(seed, 5, lam_b), trained(seed, 0, lam_b) + 5,
                 atol=3e-6, rtol=0)  # 150 steps, rounded

verify('a free bias follows a shift of all targets',
       lambda seed: shifts_along(seed, 0.0),
       slip=('decays the bias as well', lambda seed: shifts_along(seed, 0.5)),
       seed=seeds(), tries=4)

def regularizes(step):
    def one(seed):
        W, b, _, loss = train(seed, 0.01, [0, 3], step)
        true = narrow_risk(W, b)
        return loss[0] < loss[1] and true[0] > 1.5 * true[1]
    return all(one(seed) for seed in range(3))

verify('decay fits the training data worse and new examples better',
       lambda: regularizes(decayed_step),
       slip=('trains without any decay',
             lambda: regularizes(without_the_factor)))

# %% tags=["checks"]
W_3, *_ = train(0, 0.01, [3])
exact_W = Ridge(alpha=60).fit(*narrow_world(np.random.default_rng(0))).coef_
assert norm(W_3[0] - exact_W) < 0.1 * norm(exact_W)

def forgets(seed, factor):
    rng = np.random.default_rng(seed)  # as in train
    X, _ = narrow_world(rng)
    P = np.eye(200) - pinv(X) @ X
    start = P @ rng.normal(size=200)
    W, *_ = train(seed, 1.0, [0, 0.3])
    return (close(P @ W[0], start)
            and close(P @ W[1], factor(0.3) ** 600 * start, atol=1e-12))
verify('where the data are silent the start fades by 1 - ηλ a step',
       lambda seed: forgets(seed, lambda lam: 1 - 0.01 * lam),
       slip=('shrinks by exp(−ηλ) instead of 1 − ηλ',
             lambda seed: forgets(seed, lambda lam: np.exp(-0.01 * lam))),
       seed=seeds(), tries=2)

# %% [markdown]
# ## Which weights decay: eigenvalues of the Hessian and early stopping
#
# We look at three directions with the curvatures 1, 0.1 and 0.01, and descend with decay $\lambda = 0.1$ and without.
# What share of the best weight is reached?

# %%
curvatures, eta, lam = np.array([1, 0.1, 0.01]), 0.25, 0.1
c, plain_c = np.zeros(3), np.zeros(3)  # the best weights are 1
for t in range(1, 401):
    c = (1 - eta * lam) * c - eta * curvatures * (c - 1)
    plain_c = plain_c - eta * curvatures * (plain_c - 1)
    if t in (40, 400):
        print(f'step {t:3}: with decay {c.round(3)}, without',
              plain_c.round(3))

# %% [markdown]
# For a quadratic loss this can be computed. Let the loss be $\frac12 \mathbf{v}^\top \mathbf{H} \mathbf{v}$ at $\mathbf{w} =
# \mathbf{w}^* + \mathbf{v}$, with the minimum at $\mathbf{w}^*$. Squared loss has $\mathbf{H} =
# \frac1n\mathbf{X}^\top\mathbf{X}$, and near a minimum every smooth loss is nearly of this form. Let $\mathbf{u}_j$ be
# orthonormal eigenvectors of $\mathbf{H}$, $s_1 \ge \dots \ge s_d \ge 0$ the eigenvalues, and $c_j =
# \mathbf{u}_j^\top\mathbf{w}$, $c_j^* = \mathbf{u}_j^\top\mathbf{w}^*$.
#
# ````{prf:theorem} Decay along eigenvectors
# :label: thm-decay-directions
# After $t$ full-batch steps with decay $\lambda > 0$
#
# $$ c_j(t) = f_j c_j^* + \big(1 - \eta(s_j + \lambda)\big)^t \big( c_j(0) - f_j c_j^* \big) , \qquad f_j =
# \frac{s_j}{s_j + \lambda} , $$
#
# and the weights converge from every start if and only if $\eta < 2/(s_1 + \lambda)$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# Multiply the step $\mathbf{w} \leftarrow (1 - \eta\lambda)\mathbf{w} - \eta\mathbf{H}(\mathbf{w} - \mathbf{w}^*)$ by
# $\mathbf{u}_j^\top$: $\;c_j \leftarrow \big(1 - \eta(s_j + \lambda)\big) c_j + \eta s_j c_j^*$. The fixed point is
# $f_j c_j^*$, and subtracting it from both sides leaves the stated factor. It is below 1 as $s_j + \lambda > 0$, and above
# $-1$ for all $j$ if and only if $\eta(s_1 + \lambda) < 2$.
# ````
#
# This says three things. *The limit* is shrunk by the filter factors $f_j$ of [ridge regression](ridge_regression.ipynb):
# directions with $s_j \gg \lambda$ keep what the data say, those with $s_j \ll \lambda$ lose it. *The speed*:
# if $\eta \le 1/(s_1 + \lambda)$, no direction takes more than about $1/(\eta\lambda)$ steps, while without decay a flat
# direction takes forever. *The step size* must be smaller than without decay, because $2/(s_1 + \lambda) < 2/s_1$.

# %% mystnb={"image": {"alt": "Left: coordinate over target against steps for eigenvalues 1, 0.1 and 0.01, solid with decay 0.1, dashed without. With decay they level off at ten elevenths, one half and one eleventh; without, the first two reach one, the last is still rising at the end. Right: shrinkage against eigenvalue on a logarithmic axis, two similar S-curves, for decay and for early stopping."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
times = np.arange(401)
for k, s in enumerate(curvatures):
    kept = s / (s + 0.1) * (1 - (1 - 0.25 * (s + 0.1)) ** times)
    left.plot(times, kept, f'C{k}', label=f's = {s:g}')
    left.plot(times, 1 - (1 - 0.25 * s) ** times, f'C{k}--', lw=1)
left.set(xlabel='step', ylabel='share of the target', xlim=(-5, 400),
         title='dashed: no decay')
label_lines(left)
s = np.geomspace(1e-3, 4, 100)
right.semilogx(s, s / (s + 0.1), 'C0', label='decay, λ = 0.1')
right.semilogx(s, 1 - (1 - 0.25 * s) ** 40, 'C1', label='40 steps, no decay')
right.set(xlabel='eigenvalue s', ylabel='share of the target',
          ylim=(-0.05, 1.35))
right.legend(fontsize=8, loc='upper left');

# %% [markdown] tags=["caption"]
# Decay $\lambda$ keeps the directions with eigenvalues $s \gg \lambda$ and shrinks those with $s \ll \lambda$ to nearly
# nothing; stopping early does much the same.

# %% [markdown]
# The right panel compares the limit with decay to a run without decay that is *stopped* after $t$ steps, where
# $\eta t\lambda = 1$. The curves are similar: *early stopping* leaves the flat directions alone, too.
#
# ```{exercise} ★★ Pencil: stopping early is a decay
# :label: weight_decay-stopping
# In a direction of curvature $s$, gradient descent without decay, from zero, is stopped after $t$ steps. Which $\lambda$
# would have led to the same weight in the limit? Write `equivalent(s, eta, t)`.
# ```

# %%
def equivalent(s, eta, t):
    """The decay lambda whose limit is the weight after t steps: a float.

    s: float > 0. eta: float > 0, the step size, with eta * s <= 1. t: int,
    t >= 1. At most three lines may run. equivalent(1.0, 0.5, 1) is 1.0,
    because both reach half of the best weight.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def equivalent_by_search(s, eta, t):
    w = 0.0
    for _ in range(t):
        w -= eta * s * (w - 1)
    return brentq(lambda lam: s / (s + lam) - w, -s / 2, 1e6, xtol=1e-14)

cases = dict(
    s=on(1.0, 0.01) | scalars(0.01, 4),
    eta=lambda s: (on(1.0, 0.5) | scalars(0.01, 1)).map(lambda share: share / s),
    t=on(1, 2) | integers(1, 40),
)
grade(equivalent, equivalent_by_search, **cases, lines=3)

# %% [markdown]
# ```{solution-start} weight_decay-stopping
# :class: dropdown
# ```
# With $q = (1 - \eta s)^t$ we need $s/(s + \lambda) = 1 - q$, so $\lambda = sq/(1 - q)$. For flat directions,
# $\eta t s \ll 1$, this is nearly $1/(\eta t)$, the first wrong answer: steep directions are decayed less. The second takes
# the share that is missing for the share that is reached, and the third forgets the curvature in the filter factor.

# %% jupyter={"source_hidden": true}
def equivalent_solution(s, eta, t):
    q = (1 - eta * s) ** t
    return s * q / (1 - q)

def for_flat_directions(s, eta, t):
    return 1 / (eta * t)

def share_missing(s, eta, t):
    q = (1 - eta * s) ** t
    return s * (1 - q) / q if q else 1e6

def curvature_forgotten(s, eta, t):
    return equivalent_solution(s, eta, t) / s

assert grade(equivalent_solution, equivalent_by_search, **cases, lines=3)
assert not grade(for_flat_directions, equivalent_by_search, **cases, lines=3)
assert not grade(share_missing, equivalent_by_search, **cases, lines=3)
assert not grade(curvature_forgotten, equivalent_by_search, **cases, lines=3)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def descend(H, best, w, eta, lam, t):
    for _ in range(t):
        w = (1 - eta * lam) * w - eta * H @ (w - best)
    return w

def by_direction(H, best, w, eta, lam, t):
    s, U = eigh(H)
    f = s / (s + lam)
    off = U.T @ w - f * (U.T @ best)
    return U @ (f * (U.T @ best) + (1 - eta * (s + lam)) ** t * off)

def unshrunk(H, best, w, eta, lam, t):
    s, U = eigh(H)
    return best + U @ ((1 - eta * (s + lam)) ** t * (U.T @ (w - best)))

def flat_bowl(seed):  # three weights, rank two
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(2, 3))
    return A.T @ A / 2, rng.normal(size=3), rng.normal(size=3)

def as_descent(seed, eta, lam, t, formula):
    problem = flat_bowl(seed)
    return close(formula(*problem, eta, lam, t),
                 descend(*problem, eta, lam, t))

def settles(seed, lam, room):  # just inside the bound and just outside
    H, best, w = flat_bowl(seed)
    s = eigh(H)[0][-1]
    end = solve(H + lam * np.eye(3), H @ best)
    inside, outside = (norm(descend(H, best, w, share * 2 / (s + room * lam),
                                    lam, 200) - end) for share in (0.95, 1.05))
    return bool(inside < 1e-7 < 1e6 < outside)  # 0.9^200, 1.1^200

assert close(c, by_direction(np.diag(curvatures), np.ones(3), np.zeros(3), 0.25, 0.1, 400))

verify('descent with decay, direction by direction',
       lambda seed, eta, lam, t: as_descent(seed, eta, lam, t, by_direction),
       slip=('forgets that the limit is shrunk',
             lambda seed, eta, lam, t: as_descent(seed, eta, lam, t,
                                                  unshrunk)),
       seed=seeds(), eta=scalars(0.01, 0.2), lam=scalars(0.05, 2),
       t=[1, 7, 40], tries=100)

verify('the bound 2 / (s + λ) for the step is sharp',
       lambda seed, lam: settles(seed, lam, 1),
       slip=('forgets λ in the bound for the step',
             lambda seed, lam: settles(seed, lam, 0)),
       seed=seeds(), lam=[0.3, 1.0], tries=6)

# %% [markdown]
# ## Adam and AdamW: penalty and decay are different
#
# {prf:ref}`thm-decay-penalty` needed a step that is linear in the gradient. [Adam](../optimization/adaptive_methods.ipynb)
# divides the gradient by its own size. Now it matters *where* the $\lambda\mathbf{w}$ enters: into the gradient, as a
# penalty (`torch.optim.Adam` with `weight_decay`), or after the division, as *decoupled decay* (AdamW
# {cite}`loshchilov2019decoupled`).

# %%
def adam(gradient, w, etas, lam, decoupled, eps=1e-8, betas=(0.9, 0.999)):
    path, m, s = [w], 0.0, 0.0
    for t, eta in enumerate(etas, 1):
        g = gradient(w) + (0 if decoupled else lam * w)
        m = betas[0] * m + (1 - betas[0]) * g
        s = betas[1] * s + (1 - betas[1]) * g**2
        m_hat, s_hat = m / (1 - betas[0] ** t), s / (1 - betas[1] ** t)
        kept = (1 - eta * lam) * w if decoupled else w
        w = kept - eta * m_hat / (np.sqrt(s_hat) + eps)
        path.append(w)
    return np.array(path)

# %% [markdown]
# Where do the two lead? We minimize a quadratic loss of two weights with its minimum at $(3, 0.5)$.

# %%
H, best = np.array([[1.0, 0.6], [0.6, 1.0]]), np.array([3.0, 0.5])
lam, start = 0.5, np.array([-1.0, 2.5])
etas = 0.3 / (1 + np.arange(600) / 20)  # falling

def slope(w):
    return H @ (w - best)

# %%
sgd = [start]
for _ in range(80):
    sgd.append((1 - 0.1 * lam) * sgd[-1] - 0.1 * slope(sgd[-1]))
paths = {'SGD, either way': np.array(sgd),
         'Adam, penalty': adam(slope, start, etas, lam, False),
         'AdamW': adam(slope, start, etas, lam, True, betas=(0.9, 0.95))}
for name, path in paths.items():
    print(f'{name:15} ends at', *(f'{w:.2f}' for w in path[-1]))

# %%
ridge_end = solve(H + lam * np.eye(2), H @ best)
in_box = minimize(lambda w: (w - best) @ H @ (w - best), 0 * best,
                  bounds=[(-1 / lam, 1 / lam)] * 2, tol=1e-12).x
print(f'ridge solution {ridge_end[0]:.2f} {ridge_end[1]:.2f}')
print(f'minimum with |w| at most 1/λ {in_box[0]:.2f} {in_box[1]:.2f}')

# %% mystnb={"image": {"alt": "Level lines of a tilted bowl with its minimum at (3, 0.5). From the upper left, the paths of SGD and of Adam with the penalty end at the same point, where a circle around the origin touches a level line. The path of AdamW ends on the right edge of the square of half side 2, where another level line touches it."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.4, 4))
u, v = np.meshgrid(np.linspace(-2.4, 4, 90), np.linspace(-2.4, 3, 90))
du, dv = u - best[0], v - best[1]
height = (du**2 + 1.2 * du * dv + dv**2) / 2
levels = [round((w - best) @ H @ (w - best) / 2, 4) for w in (in_box, ridge_end)]
ax.contour(u, v, height, sorted([*levels, 0.1, 3, 6]), colors=GREY,
           linewidths=0.7)
turn = np.linspace(0, 2 * np.pi, 181)
ax.plot(*(norm(ridge_end) * np.array([np.cos(turn), np.sin(turn)])), 'C3--',
        lw=1)
ax.plot([2, 2, -2, -2, 2], [-2, 2, 2, -2, -2], 'C2--', lw=1)
for k, (name, path) in enumerate(paths.items()):
    ax.plot(*path.T, f'C{k}', lw=1.5, label=name)
    ax.plot(*path[-1], f'C{k}o', ms=(8, 4, 6)[k])
ax.plot(*best, 'x', color=GREY, ms=8, mew=2)
ax.set(aspect='equal', xlabel='$w_1$', ylabel='$w_2$')
fig.legend(fontsize=8, ncols=3, loc='outside upper center');

# %% [markdown] tags=["caption"]
# Adam with the penalty ends where SGD does, at the ridge solution on the circle; AdamW ends on the edge of the box of half
# side $1/\lambda$.

# %% [markdown]
# So it is Adam with the penalty in its gradient that leads to ridge regression, not AdamW.
#
# ````{prf:theorem} Where the two end
# :label: thm-adamw-limit
# Let $L$ be continuously differentiable, with exact gradients, constant $\eta, \lambda, \epsilon > 0$ and
# $0 \le \beta_1, \beta_2 < 1$. If the weights converge to $\mathbf{w}$, then
#
# - with the penalty in the gradient, $\nabla L(\mathbf{w}) + \lambda\mathbf{w} = \mathbf{0}$: a stationary point of the
#   penalized loss, as under SGD;
# - for AdamW, $|w_i| < 1/\lambda$ for all $i$, and $\mathbf{w}$ is a stationary point of
#
# $$ L(\mathbf{w}) + \lambda\epsilon \sum_i \varphi(w_i) , \qquad
# \varphi(w) = -\frac{|w|}{\lambda} - \frac{\ln(1 - \lambda|w|)}{\lambda^2} . $$
# ````
#
# ````{prf:proof}
# :class: dropdown
# The gradient given to the averages converges, to $\mathbf{g}$ say, and so do its averages:
# $\hat{\mathbf{m}} \to \mathbf{g}$, $\hat{\mathbf{s}} \to \mathbf{g}^2$. As the weights converge, their steps go to zero.
# With the penalty inside, $\mathbf{g} = \nabla L + \lambda\mathbf{w}$ and the step $-\eta g_i/(|g_i| + \epsilon)$ is zero
# only for $\mathbf{g} = \mathbf{0}$. For AdamW, $\mathbf{g} = \nabla L$ and
#
# $$ \frac{g_i}{|g_i| + \epsilon} + \lambda w_i = 0 . $$
#
# So $\lambda|w_i| = |g_i|/(|g_i| + \epsilon) < 1$, the signs are opposite, and solving for $|g_i|$ gives $g_i =
# -\lambda\epsilon\, w_i/(1 - \lambda|w_i|) = -\lambda\epsilon\, \varphi'(w_i)$.
# ````
#
# Since $\epsilon$ is tiny, $\lambda\epsilon\varphi$ is nearly zero inside the box $|w_i| < 1/\lambda$ and grows steeply at
# its edge: AdamW with full gradients, if it converges, minimizes a convex loss *in a box* {cite}`xie2024implicit`. Inside,
# the limit is hardly shrunk at all. (With minibatches $\sqrt{\hat{\mathbf{s}}}$ measures the noise of the gradient, too, and
# makes the edge softer; the theorem does not cover that.)
#
# ### Adam and AdamW on handwritten digits
#
# We train [softmax regression](../classification/softmax.ipynb) on 100 of the digits by minibatches, with the bias
# not decayed and the step falling linearly to nearly zero, and compare the loss on the $1797 - 100 = 1697$ others.
# For reference we show the exact minimum of the penalized loss, by scikit-learn's solver.

# %% tags=["hide-input"]
X, y, _ = digits()

def split(seed):
    order = np.random.default_rng(seed).permutation(1797)
    return [torch.tensor(a[part]) for part in (order[:100], order[100:])
            for a in (X, y)]

def test_loss(seed, make, lam, epochs=50):
    A, t, B, u = split(seed)
    model = nn.Linear(64, 10)
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    optimizer = make([{'params': [model.weight], 'weight_decay': lam},
                      {'params': [model.bias], 'weight_decay': 0.0}], lr=0.05)
    falling = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0.01, 4 * epochs)
    order = torch.Generator().manual_seed(seed)
    fit(model, cross_entropy, optimizer,
        batches(order, 25, A, t, epochs=epochs), scheduler=falling)
    return cross_entropy(model(B), u).item()

def exact_loss(seed, lam):
    A, t, B, u = (v.numpy() for v in split(seed))
    model = LogisticRegression(C=1 / (100 * lam), max_iter=500).fit(A, t)
    return -model.predict_log_proba(B)[np.arange(1697), u].mean()

strengths = (0.003, 0.03, 0.3, 3.0)
makers = torch.optim.Adam, torch.optim.AdamW
losses = np.array([[[*(test_loss(seed, make, lam) for make in makers),
                     exact_loss(seed, lam)] for lam in strengths]
                   for seed in range(2)]).mean(axis=0)  # (4, 3)
print('lambda  Adam, penalty  AdamW  exact penalized minimum')
for lam, (inside, past, exact) in zip(strengths, losses, strict=True):
    print(f'{lam:<6} {inside:13.2f} {past:7.2f} {exact:12.2f}')
print(f'guessing: {np.log(10):.2f}')


# %% [markdown]
# Adam with the penalty has the loss of the penalized minimum. AdamW treats the same $\lambda$ as something much milder, so
# that its values (0.01 to 0.1 are usual) cannot be carried over. Why, then, is AdamW preferred for networks? There, training
# stops long before it converges, and what counts is the pull on the way. In AdamW it is the same for all weights, $1 -
# \eta\lambda$ per step. In Adam, the penalty's share of the gradient is divided like the rest, so weights with large
# gradients are hardly pulled at all {cite}`loshchilov2019decoupled`.
#
# ```{exercise} ★★★ Pencil: where AdamW stops in one dimension
# :label: weight_decay-adamw
# Let $L(w) = \frac h2 (w - c)^2$ with $h, c > 0$. Find the limit of AdamW from {prf:ref}`thm-adamw-limit` in closed
# form: `adamw_limit(h, c, lam, eps)`.
# ```

# %%
def adamw_limit(h, c, lam, eps):
    """The weight at which AdamW stops, if it converges: a float.

    h, c, lam, eps: floats > 0. eps may be as small as 1e-8; errors up to 1e-5
    do not matter. At most three lines may run.
    adamw_limit(1.0, 3.0, 0.5, 0.5) is 1.5.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def lowest_in_box(h, c, lam, eps):  # the loss with its soft wall
    def walled(w):
        return h * (w - c) ** 2 / 2 - eps * (w + np.log1p(-lam * w) / lam)

    edge = min(c, 1 / lam * (1 - 1e-12))
    return minimize_scalar(walled, bounds=(0, edge), method='bounded', options={'xatol': 1e-10}).x

cases = dict(
    h=on(1.0) | scalars(0.1, 10), c=on(1.0, 3.0) | scalars(0.1, 10),
    lam=on(0.5, 0.1) | scalars(0.01, 2), eps=on(0.5, 1e-8, 1e-3) | scalars(0.001, 2),
)
grade(adamw_limit, lowest_in_box, **cases, lines=3, atol=1e-5)

# %% [markdown]
# ```{solution-start} weight_decay-adamw
# :class: dropdown
# ```
# The limit lies between 0 and $c$, so $h(c - w)(1 - \lambda w) = \lambda\epsilon w$: a quadratic equation, $\lambda h\,
# w^2 - \big(h + \lambda (hc + \epsilon)\big) w + hc = 0$. Its smaller root is below both $c$ and $1/\lambda$. The first wrong
# answer, a quadratic penalty with $\lambda\epsilon$, forgets the edge of the box. The second is the limit for
# $\epsilon \to 0$, and the third is that of Adam with the penalty in its gradient.

# %% jupyter={"source_hidden": true}
def adamw_limit_solution(h, c, lam, eps):
    p = h + lam * (h * c + eps)
    return (p - (p**2 - 4 * lam * h * h * c) ** 0.5) / (2 * lam * h)

def without_wall(h, c, lam, eps):
    return h * c / (h + lam * eps)

def hard_wall(h, c, lam, eps):
    return min(c, 1 / lam)

def penalty_inside(h, c, lam, eps):
    return h * c / (h + lam)

assert grade(adamw_limit_solution, lowest_in_box, **cases, lines=3, atol=1e-5)
assert not grade(without_wall, lowest_in_box, **cases, lines=3, atol=1e-5)
assert not grade(hard_wall, lowest_in_box, **cases, lines=3, atol=1e-5)
assert not grade(penalty_inside, lowest_in_box, **cases, lines=3, atol=1e-5)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def by_torch(H, best, w, etas, lam, decoupled, eps, betas):
    make = torch.optim.AdamW if decoupled else torch.optim.Adam
    w = torch.tensor(w, requires_grad=True)
    optimizer = make([w], lr=1, weight_decay=lam, eps=eps, betas=betas)
    path = [w.detach().clone()]
    for eta in etas:
        optimizer.param_groups[0]['lr'] = eta
        w.grad = torch.tensor(H) @ (w.detach() - torch.tensor(best))
        optimizer.step()
        path.append(w.detach().clone())
    return torch.stack(path)

def bowl(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, 3))
    return A.T @ A / 6 + 0.2 * np.eye(3), 2 * rng.normal(size=3), \
        rng.normal(size=3)

def is_torch(seed, ours, theirs, eps=0.3, betas=(0.7, 0.95)):
    H, best, w = bowl(seed)
    etas = np.random.default_rng(seed).uniform(0.05, 0.3, 8)
    mine = adam(lambda w: H @ (w - best), w, etas, 0.2, ours, eps, betas)
    return close(mine, by_torch(H, best, w, etas, 0.2, theirs, eps, betas),
                 atol=1e-12)

verify('both are PyTorch\'s, step by step',
       lambda seed, which: is_torch(seed, which, which),
       slip=('exchanges Adam and AdamW',
             lambda seed, which: is_torch(seed, which, not which)),
       seed=seeds(), which=[True, False], tries=20)

verify('also with the settings by default',
       lambda seed: is_torch(seed, True, True, 1e-8, (0.9, 0.999)),
       slip=("takes Adam's penalty for AdamW's decay",
             lambda seed: is_torch(seed, False, True, 1e-8, (0.9, 0.999))),
       seed=seeds(), tries=5)

def penalized(H, best, lam):
    return solve(H + lam * np.eye(len(H)), H @ best)

def barrier(w, lam):
    return -abs(w) / lam - np.log(1 - lam * abs(w)) / lam**2

def walled(H, best, lam, eps):  # by a general optimizer
    loss = lambda w: ((w - best) @ H @ (w - best) / 2
                      + lam * eps * barrier(w, lam).sum())
    edge = (1 - 1e-9) / lam
    return minimize(loss, 0 * best, bounds=[(-edge, edge)] * len(H),
                    options={'ftol': 1e-15, 'gtol': 1e-10}).x

def ends(seed, decoupled, goal, lam=0.4, eps=0.5):
    H, best, w = bowl(seed)
    path = adam(lambda w: H @ (w - best), w, [0.05] * 900, lam, decoupled,
                eps, (0.9, 0.95))
    # the optimizer takes its slopes by differences, to 1e-8
    return close(path[-1], goal(H, best, lam, eps), atol=5e-6, rtol=0)

# %% tags=["checks"]
ridge_goal = lambda H, best, lam, eps: penalized(H, best, lam)
no_wall = lambda H, best, lam, eps: penalized(H, best, lam * eps)
assert close(paths['AdamW'][-1], in_box, atol=0.02)
assert close(paths['Adam, penalty'][-1], ridge_end, atol=0.02) and close(paths['SGD, either way'][-1], ridge_end, atol=0.02)
assert (abs(losses[:, 0] / losses[:, 2] - 1) < 0.03).all()

verify('the penalty in Adam leads to the penalized minimum',
       lambda seed: ends(seed, False, ridge_goal),
       slip=('takes AdamW for Adam with the penalty',
             lambda seed: ends(seed, True, ridge_goal)),
       seed=seeds(), tries=10)

verify('AdamW leads to the minimum between soft walls',
       lambda seed: ends(seed, True, walled),
       slip=('replaces the wall by a quadratic penalty',
             lambda seed: ends(seed, True, no_wall)),
       seed=seeds(), tries=10)

# %% [markdown]
# ## Summary
#
# Weight decay lets all weights shrink a little in every step. For plain gradient descent this is the same as an $\ell_2$
# penalty: directions with little curvature lose their weights, the random start among them, the others keep them, and the
# bias is left alone. It also takes away the peak where more data make things worse. In Adam, decay and penalty are
# different: the penalty leads to ridge regression, AdamW to the minimum of the loss in a box with the edges $\pm 1/\lambda$.
#
# **Further reading.** {cite}`krogh1991simple` is an early analysis of decay; {cite}`goodfellow2016deep`, section 7.1, has
# the eigendirections, {cite}`zhang2023dive` the example with 200 features; {cite}`loshchilov2019decoupled` took decay out
# of Adam's gradient, {cite}`xie2024implicit` found the box; {cite}`nakkiran2021optimal` is about the peak.
