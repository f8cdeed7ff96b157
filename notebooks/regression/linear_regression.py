# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Linear regression
#
# - **Question.** How should known numbers about a patient be added up to predict an unknown one, and what does it cost
#   to be wrong?
# - **You need** matrix-vector products, [gradients](../calculus/gradients.ipynb), [conditional
#   expectations](../probability/expectations.ipynb), and the length of a vector from [Norms](../linear_algebra/norms.ipynb).
# - **You build** the linear model, its squared loss, the weights that make the loss smallest, and a fit that survives
#   bad labels.
# - **Time** 8 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %%
import inspect
import re
from collections import Counter
from dataclasses import dataclass
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
import torch
from scipy.optimize import linprog, minimize
from sklearn.linear_model import LinearRegression, QuantileRegressor
from sklearn.utils import all_estimators

from nbutils import ledger
from nbutils.cases import integers, matrices, scalars, seeds, vectors
from nbutils.checks import close, erratum, grade, holds
from nbutils.data import diabetes
from nbutils.figures import GREY, label_lines, panels
from nbutils.timing import seconds

plt.style.use('nbutils.book')
torch.set_default_dtype(torch.float64)

# %% [markdown]
# ## A prediction is a weighted sum
#
# A doctor who has seen many patients with diabetes carries rules of thumb: the heavy ones fare worse, and high blood
# pressure adds to it. Linear regression is the plainest way to make such rules exact. Each of $d$ measurements
# $x_1, \dots, x_d$, the *features*, gets a *weight* $w_j$, which says by how much the prediction moves when $x_j$ grows
# by one unit and nothing else changes. The *bias* $b$ is what is predicted when all features are zero:
#
# ```{math}
# :label: dl.linreg.cond-exp
# \mathbb{E}[Y \mid X = \mathbf{x}] = w_1 x_1 + \dots + w_d x_d + b
# ```
#
# Read the left side with care. It is not the outcome $Y$ of one patient but the average over all patients who share the
# measurements $\mathbf{x}$; each of them strays from it for reasons that the features do not know. So
# {eq}`dl.linreg.cond-exp` is an assumption about averages, and it can be tested. Sort the examples into bins by the
# features: in every bin, the average of $Y$ minus the right side should vanish, up to its standard error. We try this in a
# world where the assumption is true and the noise is lopsided on purpose (an exponential variable minus its mean), because
# the assumption asks for mean zero and nothing more. A bin strays by five standard errors about once in a million; the
# control's world bends slightly.

# %%
def worst_bin(seed, w, b, bend=0.0):  # in standard errors
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (20_000, 2))
    noise = rng.exponential(size=len(X)) - 1  # mean 0, variance 1
    y = X @ w + b + bend * X[:, 0] ** 2 + noise
    i, j = (np.digitize(x, [-0.5, 0, 0.5]) for x in X.T)
    bins = 4 * i + j  # 16 cells
    count = np.bincount(bins)
    excess = np.bincount(bins, y - (X @ w + b)) / count
    return abs(excess * np.sqrt(count)).max()

holds(
    'dl.linreg.cond-exp',
    lambda seed, w, b: worst_bin(seed, w, b) < 5,
    control=lambda seed, w, b: worst_bin(seed, w, b, bend=0.3) < 5,
    seed=seeds(), w=vectors(2), b=scalars(), tries=40,
)

# %% [markdown]
# A data set has $n$ patients, one a row of the *design matrix* $\mathbf{X} \in \mathbb{R}^{n \times d}$. One product
# serves them all; $\mathbf{1}$ is the vector of $n$ ones. The predictions for one example and for all $n$ are
#
# ```{math}
# :label: dl.linreg.predict
# \hat{y} = \mathbf{w}^\top \mathbf{x} + b , \qquad \hat{\mathbf{y}} = \mathbf{X} \mathbf{w} + b \mathbf{1} .
# ```
#
# :::{admonition} Erratum
# :class: warning
# The notes print $\hat{y} = \mathbf{w}^\top \mathbf{x} + b = \mathbf{X} \mathbf{w} + b$. The middle is a number, the
# right side a list of $n$ numbers; they can be equal only when $n = 1$, or when all examples happen to get the same
# prediction. The slip is easy: both sides say "weights times features plus bias", and code adds the number $b$ to a
# vector without complaint (it *broadcasts* $b$ to $b \mathbf{1}$).
# :::

# %%
def predict(X, w, b):  # X (n, d) -> (n,)
    return X @ w + b

erratum(
    'dl.linreg.predict',
    printed=lambda X, w, b: close(predict(X, w, b), 3 * [w @ X[0] + b]),
    corrected=lambda X, w, b: close(predict(X, w, b), [w @ x + b for x in X]),
    X=matrices(3, 2), w=vectors(2), b=scalars(),
)

# %% [markdown]
# The matrix form is more than shorthand. Written out as two loops, the same sums take far longer, unless there are only a
# few of them:

# %%
def predict_by_loops(X, w, b):
    return [sum(w_j * x_j for w_j, x_j in zip(w, x, strict=True)) + b
            for x in X]

rng, faster = np.random.default_rng(0), {}
for n, d in ((5, 2), (10_000, 10)):
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    lists = X.tolist(), w.tolist()  # Python loops faster over its own numbers
    assert close(predict(X, w, 1.0), predict_by_loops(*lists, 1.0))
    slow, fast = seconds(
        lambda: predict_by_loops(*lists, 1.0), lambda: predict(X, w, 1.0))
    faster[n] = slow > 20 * fast
    print(f'{n} examples: matrix form more than 20 times faster:', faster[n])
assert faster[10_000] and not faster[5]

# %% [markdown]
# Drawn as a network, the model is a single neuron: an input for each feature, a line for each weight, and as output
# their sum plus the bias. The notes caption such a figure "with feature dimensionality $n$", two lines before $n$
# becomes the number of examples. The neuron has $d$ inputs, one for each *column* of $\mathbf{X}$:

# %%
def inputs(X):  # the weights of a fitted neuron, counted
    return LinearRegression().fit(X, X.sum(axis=1)).coef_.size

holds(
    'dl.loss.fig1',
    lambda n, d: inputs(np.eye(n, d)) == d,
    control=lambda n, d: inputs(np.eye(n, d)) == n,
    n=integers(2, 9), d=integers(1, 9),
)

# %% [markdown]
# Here it is for 442 real patients {cite}`efron2004least`: age, sex, body mass index, blood pressure, six blood values,
# and as target how far the disease had come a year later. How the weights were found is the business of the next
# sections. Each feature is *standardized* (mean zero, standard deviation one), so that a weight says what one standard
# deviation is worth, and weights of different units can be compared.

# %%
X, y, names = diabetes()
Z = (X - X.mean(axis=0)) / X.std(axis=0)  # (442, 10)
neuron = LinearRegression().fit(Z, y)

# %% mystnb={"figure": {"caption": "The linear model is a single neuron with ten inputs: per standard deviation, s1 and s5 move the prediction most, age hardly at all."}, "image": {"alt": "A single neuron: ten named inputs on the left, joined to one output; thick lines for the weights of s1, s5, bmi and s2, thin ones for age and s6."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.4))
heights = np.linspace(1, 0, len(names))
for height, name, weight in zip(heights, names, neuron.coef_, strict=True):
    colour = 'C0' if weight > 0 else 'C1'
    ax.plot([0, 1], [height, 0.5], color=colour, lw=0.6 + abs(weight) / 7)
    ax.text(-0.35, height, name, va='center')
    text = f'{weight:+.1f}'.replace('-', '−')
    ax.text(-0.05, height, text, color=colour, ha='right', va='center')
ax.scatter(np.zeros(len(names)), heights, s=60, color=GREY, zorder=3)
ax.scatter([1], [0.5], s=500, color=GREY, zorder=3)
bias = f'{neuron.intercept_:.0f}'
ax.text(1.08, 0.5, r'$\hat{y}$ = sum + ' + bias, va='center')
ax.plot([], [], color='C0', label='raises the prediction')
ax.plot([], [], color='C1', label='lowers it')
ax.legend(loc='lower right')
ax.set(xlim=(-0.36, 1.5), ylim=(-0.06, 1.06))
ax.axis('off');

# %% [markdown]
# ```{exercise} ★ Back to kilograms per square metre
# :label: linear_regression-units
# The neuron above was fitted to $z_j = (x_j - m_j) / s_j$. A clinic wants to feed it raw measurements. Write
# `raw_parameters(w, b, m, s)`: the weights and, as last entry, the bias of the same model in terms of $\mathbf{x}$, in
# one array of length $d + 1$.
# ```

# %%
def raw_parameters(w, b, m, s):
    raise NotImplementedError('your turn')

# %%
def raw_by_probing(w, b, m, s):  # the model's value at 0, its change per unit
    model = lambda x: ((x - m) / s) @ w + b
    at_zero = model(np.zeros(len(w)))
    steps = [model(e) - at_zero for e in np.eye(len(w))]
    return np.array([*steps, at_zero])

units_rng = np.random.default_rng(1)
units_cases = [
    (units_rng.normal(size=d), 150.0, units_rng.normal(25, 5, d),
     units_rng.uniform(1, 9, d)) for d in (1, 2, 10)
]
grade(raw_parameters, raw_by_probing, units_cases)

# %% [markdown]
# ```{solution-start} linear_regression-units
# :class: dropdown
# ```
# Put $z_j$ into the sum and collect:
# $\sum_j w_j (x_j - m_j)/s_j + b = \sum_j (w_j / s_j)\, x_j + \big(b - \sum_j w_j m_j / s_j\big)$. The weights shrink
# by $s_j$, and the bias has to pay back the means, which is the part that is easily forgotten.

# %% jupyter={"source_hidden": true}
def raw_parameters_solution(w, b, m, s):
    return np.array([*(w / s), b - (w / s) @ m])

def bias_unchanged(w, b, m, s):
    return np.array([*(w / s), b])

assert grade(raw_parameters_solution, raw_by_probing, units_cases)
assert not grade(bias_unchanged, raw_by_probing, units_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## What a mistake costs
#
# To choose weights we must say how bad a prediction is. A *loss function* puts a number on the distance between the
# observed $y^{(i)}$ and the predicted $\hat{y}^{(i)}$ of example $i$. The usual one for regression squares it:
#
# ```{math}
# :label: dl.loss.sq
# l^{(i)}(\mathbf{w}, b) = \tfrac{1}{2} \big(\hat{y}^{(i)} - y^{(i)}\big)^2
# ```
#
# The factor $\tfrac12$ changes no minimizer. It is there for the derivative, where it meets the 2 that the square
# leaves behind, so that the derivative is just the *residual*:
#
# ```{math}
# :label: dl.loss.half
# \frac{\mathrm{d}}{\mathrm{d} \hat{y}} \, \tfrac12 (\hat{y} - y)^2 = \hat{y} - y
# ```
#
# Like a distance, the loss is never negative, zero only for a perfect prediction, and the same in both directions;
# "distance" is still meant loosely, since it breaks the triangle inequality. PyTorch serves as an independent witness
# for the values, sympy for the derivative.

# %%
def squared_loss(y_hat, y):
    return (y_hat - y) ** 2 / 2

def torch_loss(y_hat, y):
    a, b = torch.tensor(y_hat), torch.tensor(y)
    return 0.5 * torch.nn.functional.mse_loss(a, b, reduction='none')

def like_a_distance(loss, a, b):
    zero_only_if_equal = (loss(a, b) == 0) == (a == b)
    return loss(a, b) >= 0 and zero_only_if_equal and loss(a, b) == loss(b, a)

assert squared_loss(0, 2) > squared_loss(0, 1) + squared_loss(1, 2)

# %% tags=["hide-input"]
holds(
    'dl.loss.distance',
    lambda a, b: like_a_distance(squared_loss, a, b),
    control=lambda a, b: like_a_distance(lambda a, b: (a - b) / 2, a, b),
    a=scalars(), b=scalars(),
)
holds(
    'dl.loss.sq',
    lambda y_hat, y: close(squared_loss(y_hat, y), torch_loss(y_hat, y)),
    control=lambda y_hat, y: close((y_hat - y) ** 2, torch_loss(y_hat, y)),
    y_hat=vectors(5), y=vectors(5),
)
guess, label = sp.symbols('guess label', real=True)
slope = lambda loss: sp.expand(sp.diff(loss, guess))
holds(
    'dl.loss.half',
    lambda: slope((guess - label) ** 2 / 2) == guess - label,
    control=lambda: slope((guess - label) ** 2) == guess - label,
)

# %% [markdown]
# The square makes large residuals count more than in proportion. Twice the residual costs four times as much, so the
# largest residual's share of the total is at least what it would be if absolute values were added up: with
# $r = \max_i |r_i|$, from $|r_i| \le r$ follows $r_i^2 \le r |r_i|$, hence $\sum_i r_i^2 \le r \sum_i |r_i|$, which is the
# same as $r^2 / \sum_i r_i^2 \ge r / \sum_i |r_i|$. The two are equal only if all nonzero residuals have the same size.

# %%
def largest_share(costs):
    return costs.max() / costs.sum()

def large_counts_more(loss, r):
    gain = largest_share(loss(r)) - largest_share(abs(r))
    uneven = np.ptp(abs(r[r != 0])) > 0
    more = gain > 1e-9 if uneven else abs(gain) < 1e-9
    return more and close(loss(2 * r), 4 * loss(r))

holds(
    'dl.loss.large-diff',
    lambda r: large_counts_more(lambda r: squared_loss(r, 0), r),
    control=lambda r: large_counts_more(abs, r),
    r=vectors(4).filter(np.any),
)

# %% mystnb={"figure": {"caption": "Squares punish residuals beyond 2 more than absolute values do, and their pull grows with the residual; absolute values pull with the same force at every distance."}, "image": {"alt": "Left: the squared loss is a parabola, flatter than the absolute value near zero and steeper beyond one. Right: its derivative is a straight line, that of the absolute value a jump from -1 to 1."}} tags=["hide-input"]
r = np.linspace(-3, 3, 301)
fig, (left, right) = panels(2, height=2.7)
left.plot(r, squared_loss(r, 0), label=r'$r^2/2$')
left.plot(r, abs(r), label='$|r|$')
left.set(xlabel='residual r', title='Loss')
right.plot(r, r)
right.plot(r, np.where(abs(r) < 0.01, np.nan, np.sign(r)))
right.set(xlabel='residual r', title='Pull (derivative of the loss)')
left.legend(loc='upper center');

# %% [markdown]
# That squared error is the loss most commonly used is a statement about habits, and habits leave traces. scikit-learn's
# plain linear models know no other loss; among its regressors with a choice, squared error is the most frequent
# default:

# %%
def default_losses():
    signatures = [inspect.signature(c).parameters
                  for _, c in all_estimators(type_filter='regressor')]
    return Counter(s[k].default for s in signatures
                   for k in ('loss', 'criterion') if k in s)

holds(
    'dl.loss.most-common',
    lambda: default_losses().most_common(1)[0][0] == 'squared_error',
    control=lambda: default_losses().most_common(1)[0][0] == 'absolute_error',
)

# %% [markdown]
# A fit is judged on all $n$ examples at once, by the average of their losses:
#
# ```{math}
# :label: dl.loss.mean-loss
# L(\mathbf{w}, b) = \frac{1}{n} \sum_{i=1}^{n} l^{(i)}(\mathbf{w}, b)
# = \frac{1}{n} \sum_{i=1}^{n} \tfrac12 \big(\hat{y}^{(i)} - y^{(i)}\big)^2
# ```
#
# :::{admonition} Erratum
# :class: warning
# The notes print $L^{(i)}(\mathbf{w}, b)$ on the left. But $i$ is summed over on the right and does not survive the
# sum: $L$ is one number for the whole data set, not one per example. The index is quickly carried over from
# {eq}`dl.loss.sq`.
# :::

# %%
def mean_loss(y_hat, y):
    return squared_loss(y_hat, y).mean()

def one_number(y_hat, y):
    again = mean_loss(y_hat[::-1], y[::-1])  # the order does not matter
    oracle = torch_loss(y_hat, y).mean()
    return close(mean_loss(y_hat, y), oracle) and close(again, oracle)

erratum(
    'dl.loss.mean-loss',  # as printed: a value for each example i
    printed=lambda y_hat, y: close(squared_loss(y_hat, y),
                                   3 * [mean_loss(y_hat, y)]),
    corrected=one_number,
    y_hat=vectors(3), y=vectors(3),
)

# %% [markdown]
# ## The weights that lose least
#
# Training means to find
#
# ```{math}
# :label: dl.loss.argmin
# (\mathbf{w}^*, b^*) = \operatorname*{arg\,min}_{\mathbf{w},\, b} \; L(\mathbf{w}, b)
# ```
#
# Average or total makes no difference here, since dividing by $n$ moves no minimum. A small trick rids us of the bias:
# give every example a further feature that is always 1, whose weight then is $b$. With
# $\tilde{\mathbf{X}} = [\mathbf{X} \;\, \mathbf{1}]$ and $\boldsymbol\theta = (\mathbf{w}, b)$ the predictions are
# $\tilde{\mathbf{X}} \boldsymbol\theta$. By the chain rule each example adds its residual times its features to the
# gradient, which {eq}`dl.loss.half` makes tidy:
#
# $$
# L(\boldsymbol\theta) = \frac{1}{2n} \|\tilde{\mathbf{X}} \boldsymbol\theta - \mathbf{y}\|^2, \qquad
# \nabla L(\boldsymbol\theta) = \frac1n \tilde{\mathbf{X}}^\top (\tilde{\mathbf{X}} \boldsymbol\theta - \mathbf{y}).
# $$
#
# ````{prf:theorem} Least squares
# :label: thm-least-squares-minimum
# $\boldsymbol\theta^*$ minimizes $L$ if and only if it solves the *normal equations*
# $\tilde{\mathbf{X}}^\top \tilde{\mathbf{X}} \boldsymbol\theta^* = \tilde{\mathbf{X}}^\top \mathbf{y}$. The minimizer
# is unique if and only if the columns of $\tilde{\mathbf{X}}$ are linearly independent.
# ````
#
# ````{prf:proof}
# Expanding the square gives, exactly and for every step $\boldsymbol\delta$,
#
# $$
# L(\boldsymbol\theta + \boldsymbol\delta) = L(\boldsymbol\theta) + \boldsymbol\delta^\top \nabla L(\boldsymbol\theta)
# + \tfrac{1}{2n} \|\tilde{\mathbf{X}} \boldsymbol\delta\|^2 .
# $$
#
# The normal equations say $\nabla L(\boldsymbol\theta^*) = \mathbf{0}$. If they hold, only the last term is left, and
# it is never negative: no step leads lower. If they fail, a short step along $-\nabla L$ does, because the last term
# shrinks with the square of the step. A step $\boldsymbol\delta \ne \mathbf{0}$ from $\boldsymbol\theta^*$ leads to
# another minimizer exactly when $\tilde{\mathbf{X}} \boldsymbol\delta = \mathbf{0}$, that is, when the columns are
# dependent. There is always a minimizer: $\tilde{\mathbf{X}}^\top \tilde{\mathbf{X}}$ and $\tilde{\mathbf{X}}^\top$
# have the same range, so the normal equations can be solved.
# ````
#
# In words, $\tilde{\mathbf{X}}^\top (\mathbf{y} - \tilde{\mathbf{X}} \boldsymbol\theta^*) = \mathbf{0}$: what is left
# unexplained has mean zero (the column of ones) and is uncorrelated with every feature. Nothing linear remains in it.
# For independent columns
# $\boldsymbol\theta^* = (\tilde{\mathbf{X}}^\top \tilde{\mathbf{X}})^{-1} \tilde{\mathbf{X}}^\top \mathbf{y}$, computed
# by solving, not inverting.

# %%
def with_ones(X):  # (n, d) -> (n, d + 1)
    return np.column_stack([X, np.ones(len(X))])

def least_squares(X, y):  # -> (d + 1,), the bias last
    X1 = with_ones(X)
    return np.linalg.solve(X1.T @ X1, X1.T @ y)

def gradient(theta, X, y):
    X1 = with_ones(X)
    return X1.T @ (X1 @ theta - y) / len(y)

# %% [markdown]
# The check takes 1000 random steps away from the solution. Its control fits the weights without a bias and adds the
# mean residual as bias afterwards, which looks harmless.

# %%
def bias_afterwards(X, y):
    w = np.linalg.lstsq(X, y, rcond=None)[0]
    return np.array([*w, (y - X @ w).mean()])

def is_minimum(fit, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(1, 1, (30, 3)), rng.normal(size=30)
    theta, steps = fit(X, y), rng.normal(0, 0.1, (4, 1000))
    losses = lambda t: ((with_ones(X) @ t - y[:, None]) ** 2).mean(axis=0) / 2
    lowest = (losses(theta[:, None]) < losses(theta[:, None] + steps)).all()
    return lowest and close(gradient(theta, X, y), np.zeros(4))

holds(
    'dl.loss.argmin',
    lambda seed: is_minimum(least_squares, seed),
    control=lambda seed: is_minimum(bias_afterwards, seed),
    seed=seeds(),
)

# %% [markdown]
# On the patients, five roads lead to the same eleven numbers: our solution, numpy's orthogonal factorization,
# scikit-learn, scipy's general optimizer, and the method that trains everything else in this book,
# [gradient descent](../optimization/gradient_descent.ipynb): from $\boldsymbol\theta = \mathbf{0}$, step again and
# again against the gradient, with step size $\eta = 1 / \lambda_{\max}$, one over the largest curvature of $L$.
# PyTorch's automatic derivative agrees with our gradient.

# %%
def gradient_descent(X, y, steps):
    curvature = with_ones(X).T @ with_ones(X) / len(y)  # Hessian of L
    eta = 1 / np.linalg.eigvalsh(curvature)[-1]
    path = [np.zeros(len(curvature))]
    for _ in range(steps):
        path.append(path[-1] - eta * gradient(path[-1], X, y))
    return np.array(path)  # (steps + 1, d + 1)

X, y, names = diabetes()
Z = (X - X.mean(axis=0)) / X.std(axis=0)
theta = least_squares(Z, y)
loss = lambda t: ((with_ones(Z) @ t - y) ** 2).mean() / 2
library = LinearRegression().fit(Z, y)
roads = {
    'lstsq': np.linalg.lstsq(with_ones(Z), y, rcond=None)[0],
    'scikit-learn': np.array([*library.coef_, library.intercept_]),
    'BFGS': minimize(loss, np.zeros(11), jac=lambda t: gradient(t, Z, y),
                     method='BFGS', options={'gtol': 1e-8}).x,
    'gradient descent': gradient_descent(Z, y, steps=12_000)[-1],
}

# %%
for road, result in roads.items():
    assert close(result, theta, atol=1e-5)
    print(f'{road} agrees: {close(result, theta, atol=1e-5)}')

A, t = torch.tensor(with_ones(Z)), torch.ones(11, requires_grad=True)
(0.5 * torch.nn.functional.mse_loss(A @ t, torch.tensor(y))).backward()
assert close(gradient(np.ones(11), Z, y), t.grad)

# %% [markdown]
# Twelve thousand steps are many, because some blood values are nearly copies of each other. The body mass index alone
# shows what is going on. The surface $L(w, b)$ is a bowl. In raw units, where the index is 26 on average, a change of
# $w$ can almost be undone by one of $b$, and the bowl is a gorge, over a hundred times as long as wide (the root of its
# condition number, which is the ratio of the largest curvature to the smallest). Descent drops to the floor and then
# hardly moves. Standardized, the Hessian is the identity and one step arrives.

# %%
bmi = X[:, [2]]
feature = {'Raw units': bmi, 'Standardized': (bmi - bmi.mean()) / bmi.std()}
fits = {k: least_squares(x, y) for k, x in feature.items()}
bmi_line = with_ones(bmi) @ fits['Raw units']  # (n,)
paths = {k: gradient_descent(x, y, steps=100) for k, x in feature.items()}
condition = {k: np.linalg.cond(with_ones(x)) ** 2 for k, x in feature.items()}
assert condition['Raw units'] > 10_000 and close(condition['Standardized'], 1)
assert close(paths['Standardized'][1], fits['Standardized'])
print('raw units after 100 steps, (w, b):', paths['Raw units'][-1].round(2))
print('           the minimum is (w, b):', fits['Raw units'].round(2))

# %%
def surface(x, best, width):  # L - min L, by the identity in the proof
    w, b = width * np.linspace(-1, 1, 81), 200 * np.linspace(-1, 1, 81)
    steps = np.stack(np.meshgrid(w, b)).reshape(2, -1)  # (2, 81 * 81)
    excess = ((with_ones(x) @ steps) ** 2).mean(axis=0) / 2
    return w + best[0], b + best[1], excess.reshape(81, 81)

widths = {'Raw units': 14, 'Standardized': 200}
surfaces = {k: surface(feature[k], fits[k], widths[k]) for k in feature}
levels = (35 * np.arange(1, 9)) ** 2 / 2

# %% mystnb={"figure": {"caption": "In raw units the loss is a narrow gorge, where descent is still far from the minimum after 100 steps; with a standardized feature one step reaches it."}, "image": {"alt": "Contours of the loss over weight and bias. Left, raw units: a long thin gorge; the descent path stops far from the minimum. Right, standardized: circles, and one step reaches the centre."}} tags=["hide-input"]
fig, axes = panels(2, height=3.2)
for ax, title in zip(axes, feature, strict=True):
    ax.contour(*surfaces[title], levels, colors=GREY, linewidths=0.7)
    ax.plot(*paths[title].T, 'C1.-', label='descent from (0, 0)')
    ax.plot(*fits[title], '*', color='C0', ms=11, label='minimum')
    ax.set(title=title, xlabel='weight w', ylabel='bias b')
    ax.set_box_aspect(1)
handles = axes[0].get_legend_handles_labels()
fig.legend(*handles, ncols=2, loc='outside upper right');

# %% [markdown]
# And this is the best line, with its residuals:

# %% mystnb={"figure": {"caption": "The least-squares line rises by about 10 per unit of body mass index; most of the spread between patients remains around it."}, "image": {"alt": "Disease progression against body mass index for 442 patients: a wide cloud that rises, the fitted line through it, thin vertical residuals from each point to the line."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.2))
ax.vlines(bmi[:, 0], bmi_line, y, color=GREY, lw=0.4, alpha=0.6)
ax.plot(bmi[:, 0], y, '.', ms=3.5, label='patients')
ends = [bmi.argmin(), bmi.argmax()]
ax.plot(bmi[ends, 0], bmi_line[ends], label='least squares')
ax.set(xlabel='body mass index (kg/m²)', ylabel='disease progression')
ax.legend(loc='lower right');

# %% [markdown]
# ```{exercise} ★★ Some patients count more
# :label: linear_regression-weighted
# Let every example have an importance $c_i > 0$, so that $\sum_i c_i \cdot \tfrac12 (\hat{y}^{(i)} - y^{(i)})^2$ is to
# be smallest. Derive the normal equations and write `weighted_fit(X, y, c)`, the bias last.
# ```

# %%
def weighted_fit(X, y, c):
    raise NotImplementedError('your turn')

# %%
def weighted_by_library(X, y, c):
    model = LinearRegression().fit(X, y, sample_weight=c)
    return np.array([*model.coef_, model.intercept_])

weighted_rng = np.random.default_rng(2)
weighted_cases = [
    (weighted_rng.normal(size=(12, d)), weighted_rng.normal(size=12),
     weighted_rng.uniform(0.1, 5, 12)) for d in (1, 3)
]
grade(weighted_fit, weighted_by_library, weighted_cases)

# %% [markdown]
# ```{solution-start} linear_regression-weighted
# :class: dropdown
# ```
# With the $c_i$ on the diagonal of $\mathbf{C}$, the gradient is
# $\tilde{\mathbf{X}}^\top \mathbf{C} (\tilde{\mathbf{X}} \boldsymbol\theta - \mathbf{y})$. So
# $\tilde{\mathbf{X}}^\top \mathbf{C} \tilde{\mathbf{X}} \boldsymbol\theta = \tilde{\mathbf{X}}^\top \mathbf{C} \mathbf{y}$.
# Who scales the rows of $\tilde{\mathbf{X}}$ and $\mathbf{y}$ instead must scale by $\sqrt{c_i}$: the square does the
# rest.

# %% jupyter={"source_hidden": true}
def weighted_fit_solution(X, y, c):
    X1 = np.column_stack([X, np.ones(len(X))])
    return np.linalg.solve(X1.T @ (c[:, None] * X1), X1.T @ (c * y))

def scaled_by_c(X, y, c):
    X1 = np.column_stack([X, np.ones(len(X))])
    return np.linalg.lstsq(c[:, None] * X1, c * y, rcond=None)[0]

assert grade(weighted_fit_solution, weighted_by_library, weighted_cases)
assert not grade(scaled_by_c, weighted_by_library, weighted_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## New patients
#
# The patients in the table are known already. The purpose is prediction: small error on *new* examples, drawn from the
# same distribution. The weights and the bias that we would like to have are
#
# ```{math}
# :label: dl.linreg.goal
# (\mathbf{w}_{\text{best}}, b_{\text{best}}) = \operatorname*{arg\,min}_{\mathbf{w},\, b} \;
# \mathbb{E}\Big[\tfrac12 \big(\mathbf{w}^\top X + b - Y\big)^2\Big] .
# ```
#
# Why should a squared error lead to the *average* {eq}`dl.linreg.cond-exp`, and why "the same distribution"? One
# identity answers both.
#
# ````{prf:theorem} The best predictor under squared loss
# :label: thm-conditional-mean
# Let $m(\mathbf{x}) = \mathbb{E}[Y \mid X = \mathbf{x}]$. If $Y$ and $f(X)$ have finite second moments, then
#
# $$
# \mathbb{E}\big[(Y - f(X))^2\big] = \mathbb{E}\big[(Y - m(X))^2\big] + \mathbb{E}\big[(m(X) - f(X))^2\big].
# $$
# ````
#
# ````{prf:proof}
# Write $Y - f = (Y - m) + (m - f)$ and square. The cross term is $2\, \mathbb{E}[(Y - m(X)) (m(X) - f(X))]$. Given $X$,
# the second factor is a constant and the first has mean zero by the definition of $m$; so the cross term vanishes for
# every value of $X$, hence on average.
# ````
#
# The first term is noise that no predictor removes; the second is a squared distance to $m$, *averaged over the
# inputs*. If $m$ is linear, its own $\mathbf{w}, b$ make that distance zero whatever inputs come. If it is not, the
# best line is a compromise, good where inputs were frequent. Below, $m(x) = x^2$. A line fitted on $[0, 1]$ beats its
# neighbours on new examples from $[0, 1]$, and loses on examples from $[1, 2]$: that is the control.

# %%
def beats_neighbour(seed, low, dw, db):
    rng = np.random.default_rng(seed)
    draw = lambda x: (x, x**2 + 0.1 * rng.normal(size=x.size))
    w, b = np.polyfit(*draw(rng.random(4000)), 1)
    x, y = draw(low + rng.random(10_000))  # new examples
    risk = lambda w, b: ((w * x + b - y) ** 2).mean() / 2
    return risk(w, b) < risk(w + dw, b + db)

holds(
    'dl.linreg.goal',
    lambda seed, dw, db: beats_neighbour(seed, 0, dw, db),
    control=lambda seed, dw, db: beats_neighbour(seed, 1, dw, db),
    seed=seeds(), dw=[-0.1, 0.0, 0.1], db=[-0.05, 0.05], tries=60,
)

# %%
rng = np.random.default_rng(3)
x_train = rng.random(60)
y_train = x_train**2 + 0.1 * rng.normal(size=60)
short_line = np.polyfit(x_train, y_train, 1)

# %% mystnb={"figure": {"caption": "A line fitted on $[0, 1]$ is close to $m(x) = x^2$ there and ever farther from it beyond: where the inputs lie decides which line is best."}, "image": {"alt": "A parabola and a line fitted to points between 0 and 1: close together there, ever farther apart between 1 and 2."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.7))
x = np.linspace(0, 2, 101)
ax.plot(x_train, y_train, '.', color=GREY, label='_points')
ax.plot(x, x**2, label='$m(x) = x^2$')
ax.plot(x, np.polyval(short_line, x), label='fitted line')
ax.axvline(1, color=GREY, lw=0.8, ls=':')
ax.set(xlabel='x', ylabel='y', xlim=(0, 2),
       title='A line is good where it was fitted')
label_lines(ax);

# %% [markdown]
# New patients are imitated by holding out a quarter of the real ones. Each of 100 random splits fits on the rest, means
# and standard deviations included, and predicts that quarter. The reference is the model without any feature: only a
# bias, and the best bias is the mean of the training targets.

# %%
@dataclass(frozen=True)
class Trial:
    features: tuple  # column numbers
    seed: int
    held_out: float = 0.25  # share of the patients that is not trained on

def run(trial, X, y):  # -> error on held-out patients (RMSE), parameters
    order = np.random.default_rng(trial.seed).permutation(len(y))
    test, train = np.split(order, [int(trial.held_out * len(y))])
    X = X[:, trial.features]
    X = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    X1 = np.column_stack([X, np.ones(len(X))])
    theta = np.linalg.lstsq(X1[train], y[train], rcond=None)[0]
    return np.sqrt(((X1[test] @ theta - y[test]) ** 2).mean()), theta

# %%
X, y, names = diabetes()
models = {'the mean': (), 'bmi': (2,), 'bmi, bp': (2, 3),
          'all ten': tuple(range(10))}
errors, weights = {}, {}
for label, features in models.items():
    records = [run(Trial(features, seed), X, y) for seed in range(100)]
    errors[label] = np.array([error for error, _ in records])
    weights[label] = np.array([theta for _, theta in records])
    spread = f'{errors[label].mean():.1f} ± {errors[label].std():.1f}'
    print(f'{label:9} RMSE on held-out patients {spread}')

for worse, better in [('the mean', 'bmi'), ('bmi', 'bmi, bp'),
                      ('bmi, bp', 'all ten')]:
    wins = (errors[better] < errors[worse]).sum()
    print(f'{better} better than {worse} in {wins} of 100 splits')

# %%
removed = 1 - (errors['all ten'] / errors['the mean']) ** 2
print("share of the mean's squared error removed by all ten: "
      f'{removed.mean():.3f} ± {removed.std():.3f}')

model = LinearRegression().fit(X[:, 2:4], y)
above = y > model.predict(X[:, 2:4])  # (442,)
g, h = np.meshgrid([18, 42], [62, 133])
plane = model.predict(np.column_stack([g.ravel(), h.ravel()])).reshape(2, 2)

# %% [markdown]
# The spreads overlap because some splits hold out harder patients than others; compared split by split the order is
# plain. All ten features remove half of the mean's squared error, no more. With two features the model is a plane:

# %% mystnb={"figure": {"caption": "With two features the model is a plane: the prediction rises with body mass index and with blood pressure, and patients lie on both sides of it."}, "image": {"alt": "A cloud of patients over body mass index and blood pressure, cut by the fitted plane, which rises in both directions; patients above and below it in two colours."}} tags=["hide-input"]
fig = plt.figure(figsize=(5, 3.2))
ax = fig.add_subplot(projection='3d', computed_zorder=False)
ax.scatter(*X[~above, 2:4].T, y[~above], s=5, color='C2')  # behind the plane
ax.plot_surface(g, h, plane, color='C1', alpha=0.4)
ax.scatter(*X[above, 2:4].T, y[above], s=5, color='C0')
for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
    axis.set_pane_color((0, 0, 0, 0))
    axis.line.set_color(GREY)
ax.grid(False)
ax.set(xlabel='body mass index (kg/m²)', xticks=[20, 30, 40],
       ylabel='blood pressure (mmHg)', yticks=[70, 100, 130],
       zlabel='progression', zticks=[100, 200, 300])
ax.set_box_aspect((4, 4, 3), zoom=1.1)
ax.view_init(15, -55);

# %% [markdown]
# How firm are the weights themselves? Over the 100 splits the one of the body mass index hardly moves, while those of
# s1 and s2 (total and LDL cholesterol) sway widely. The two rise and fall together, so more of one weight can be offset
# by less of the other; their *sum* is far steadier:

# %%
s1, s2 = weights['all ten'][:, [4, 5]].T  # (100,) each
correlation = np.corrcoef(X[:, 4], X[:, 5])[0, 1]
print(f'correlation of s1 and s2 among the patients: {correlation:.2f}')
spread_of = lambda w: f'{w.std():.2f}'
print('spread of the weights: bmi', spread_of(weights['all ten'][:, 2]))
print('s1', spread_of(s1), 's2', spread_of(s2), 'sum', spread_of(s1 + s2))

# %% mystnb={"figure": {"caption": "Over 100 splits the weight of the body mass index is firm, while those of s1 and s2, two features with a correlation of 0.90, sway widely."}, "image": {"alt": "Ten weights with their spread over splits: narrow for age, sex, bmi and bp, very wide for s1 and s2, wide for s3, s4 and s5."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.8))
spots = np.random.default_rng(0).uniform(-0.25, 0.25, (100, 1)) + np.arange(10)
ax.plot(spots, weights['all ten'][:, :10], '.', color='C0', ms=3, alpha=0.5)
ax.axhline(0, color=GREY, lw=0.8)
ax.set(xticks=range(10), xticklabels=names,
       ylabel='weight per\nstandard deviation',
       title='Each dot is one split');

# %% [markdown]
# A good prediction, then, does not make each weight meaningful. Taming such weights is the task of ridge regression.

# %% [markdown]
# ## One bad label
#
# Squares punish large residuals hard, and a fit avoids what is punished. So a single absurd label can drag the whole
# line. For one feature this can be computed. By the normal equations of {prf:ref}`thm-least-squares-minimum` the
# residuals have mean zero and are uncorrelated with $x$. The first says $b^* = \bar{y} - w^* \bar{x}$; then the second
# reads $\sum_i (x_i - \bar{x}) \big(y_i - \bar{y} - w^* (x_i - \bar{x})\big) = 0$. Since
# $\sum_i (x_i - \bar{x})\, \bar{y} = 0$, the slope is
#
# $$
# w^* = \frac{\sum_i (x_i - \bar{x})\, y_i}{S}, \qquad S = \sum_i (x_i - \bar{x})^2 ,
# $$
#
# which is linear in the labels. Moving $y_i$ by $\delta$ moves the slope by exactly $\delta\, (x_i - \bar{x}) / S$: in
# proportion, without bound, from every place but $x_i = \bar{x}$ (there only the bias moves).
#
# Replace squares by absolute values, and each point pulls with the same force, however far away it lies. To make
# $\sum_i |r_i|$ smallest, with $r_i = y_i - \tilde{\mathbf{x}}_i^\top \boldsymbol\theta$, is a game: a fitter chooses
# $\boldsymbol\theta$, an opponent answers with votes $s_i \in [-1, 1]$ that make $\sum_i s_i r_i$ large; the best votes
# are the signs of the $r_i$, and they yield $\sum_i |r_i|$. By linear programming duality {cite}`boyd2004convex` the
# opponent may as well move first. To keep the fitter from winning without limit, the votes must balance,
# $\tilde{\mathbf{X}}^\top \mathbf{s} = \mathbf{0}$; then the sum is $\mathbf{y}^\top \mathbf{s}$ whatever the fitter
# does. The opponent makes this largest, and the prices (multipliers) of the balance constraints are
# $\boldsymbol\theta$. In the end $s_i = \operatorname{sign}(r_i)$ for every point off the line: only *sides* count. A
# label may move as far as it likes; as long as it stays on its side, the same votes balance, every line costs at least
# the new $\mathbf{y}^\top \mathbf{s}$, and ours costs just that: it remains a best one.

# %%
def least_absolute(X, y):  # -> (d + 1,), the bias last
    X1 = np.column_stack([X, np.ones(len(X))])
    votes = linprog(-y, A_eq=X1.T, b_eq=np.zeros(X1.shape[1]), bounds=(-1, 1))
    return -votes.eqlin.marginals

# %% [markdown]
# Two witnesses: scikit-learn's median regression, and brute force, since some best line passes through two of the
# points.

# %%
def least_absolute_by_pairs(x, y):
    i, j = np.array(list(combinations(range(len(x)), 2))).T
    w = (y[j] - y[i]) / (x[j] - x[i])  # all lines through two points
    b = y[i] - w * x[i]
    cost = abs(y - w[:, None] * x - b[:, None]).sum(axis=1)
    return np.array([w[cost.argmin()], b[cost.argmin()]])

rng = np.random.default_rng(4)
x = rng.uniform(0, 10, 21)
y = 2 + 0.5 * x + rng.normal(0, 0.5, 21)
robust = least_absolute(x[:, None], y)
median = QuantileRegressor(alpha=0).fit(x[:, None], y)
assert close(robust, least_absolute_by_pairs(x, y))
assert close(robust, [median.coef_[0], median.intercept_])

# %% [markdown]
# The check moves one label by up to a thousand, away from the line. The least-squares slope must follow the formula,
# and the old least-absolute line must still be best. The control forgets to subtract $\bar{x}$.

# %%
def sensitive(seed, i, delta, pull):
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0, 10, 21), rng.normal(size=21)
    theta = least_absolute(x[:, None], y)
    r = y - theta[0] * x - theta[1]
    i = np.flatnonzero(abs(r) > 1e-6)[i]  # two points lie on the line
    moved = y.copy()
    moved[i] += delta * np.sign(r[i])
    change = np.polyfit(x, moved, 1)[0] - np.polyfit(x, y, 1)[0]
    cost = lambda t: abs(moved - t[0] * x - t[1]).sum()
    stays = close(cost(least_absolute(x[:, None], moved)), cost(theta))
    return stays and close(change, (moved - y)[i] * pull(x)[i])

centred = lambda x: (x - x.mean()) / ((x - x.mean()) ** 2).sum()
holds(
    'dl.loss.outliers',
    lambda seed, i, delta: sensitive(seed, i, delta, centred),
    control=lambda seed, i, delta: sensitive(seed, i, delta,
                                             lambda x: x / (x @ x)),
    seed=seeds(), i=integers(0, 18), delta=scalars(1, 1000), tries=25,
)

# %% [markdown]
# Absolute values do not cure everything. A wild *feature* is a long lever, and votes are weighed by the features:
# moving one point far to the right makes both fits follow it.

# %%
i = x.argmax()
bad_y, bad_x = y.copy(), x.copy()
bad_y[i] -= 25
bad_x[i] += 300
fitted = {
    'squares': np.polyfit(x, y, 1),
    'squares, one bad label': np.polyfit(x, bad_y, 1),
    'absolute values, one bad label': least_absolute(x[:, None], bad_y),
}
lever = least_absolute(bad_x[:, None], y)
slopes = [line[0] for line in fitted.values()]
assert robust[0] > 0.35 and lever[0] < 0.1
print('slope with a bad label: squares {1:.3f}, '
      'absolute values {2:.3f}'.format(*slopes))
print(f'slope with a bad feature: squares {np.polyfit(bad_x, y, 1)[0]:.4f}, '
      f'absolute values {lever[0]:.4f}')

# %% mystnb={"figure": {"caption": "One bad label turns the slope of least squares from rising to falling; the fit by absolute values keeps to the line of the other twenty points."}, "image": {"alt": "Twenty-one points along a rising line; one of them lies far below. The least-squares line tips downwards with it, the least-absolute line stays with the other points."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.2))
ax.plot(x, bad_y, 'o', color=GREY, ms=4)
ax.annotate('', (x[i], bad_y[i] + 1), (x[i], y[i] - 1),
            arrowprops=dict(arrowstyle='->', color=GREY))
t = np.array([0, 10])
for (label, line), width in zip(fitted.items(), (7, 1.8, 1.8), strict=True):
    ax.plot(t, line[0] * t + line[1], lw=width, label=label,
            alpha=0.4 if width > 2 else 1)
ax.set(xlabel='x', ylabel='y')
ax.legend(loc='lower left');

# %% [markdown]
# How much does it matter on the real patients? Suppose that a few of the 332 training labels got a decimal point
# shifted, so that 97 reads $10 \cdot 97 = 970$. The held-out patients' labels stay clean.

# %%
def held_out_errors(seed, bad, X, y):  # mean absolute: mean, squares, absolute
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = np.split(order, [110])
    labels = y[train]
    labels[:bad] *= 10
    X = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    w = least_absolute(X[train], labels)
    squares = LinearRegression().fit(X[train], labels)
    guesses = np.array([np.full(110, labels.mean()), squares.predict(X[test]),
                        X[test] @ w[:-1] + w[-1]])
    return abs(guesses - y[test]).mean(axis=1)

X, y, _ = diabetes()
bad_counts = (0, 1, 3, 10, 20, 33)
curves = np.array([[held_out_errors(seed, bad, X, y) for seed in range(20)]
                   for bad in bad_counts])  # (6, 20 splits, 3 methods)

# %%
clean, ten = curves[0], curves[bad_counts.index(10)]
assert clean[:, 1].mean() < clean[:, 2].mean()
assert ten[:, 1].mean() > clean[:, 0].mean()
assert (ten[:, 2] < ten[:, 1]).all()
print('mean absolute error on held-out patients, mean of 20 splits')
for bad, errors_of in zip(bad_counts, curves.mean(axis=1), strict=True):
    mean, squares, absolute = errors_of
    print(f'{bad:2} bad labels: the mean {mean:5.1f}, squares {squares:5.1f}, '
          f'absolute values {absolute:.1f}')

# %% mystnb={"figure": {"caption": "With ten bad labels in 332, squares predict worse than the mean does with none; absolute values keep an error of about 46 even with 33."}, "image": {"alt": "Error on held-out patients against the number of bad labels: squares and the mean climb steeply, with wide bands; absolute values stay flat at 46."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
for k, label in enumerate(('the mean', 'squares', 'absolute values')):
    low, high = np.quantile(curves[:, :, k], (0.1, 0.9), axis=1)
    ax.fill_between(bad_counts, low, high, color=f'C{k}', alpha=0.2, lw=0)
    ax.plot(bad_counts, curves[:, :, k].mean(axis=1), f'C{k}.-', label=label)
ax.set(xlabel='bad labels among 332', ylabel='mean absolute error',
       ylim=(0, None), title='Held-out patients; bands hold 80 % of 20 splits')
ax.legend();

# %% [markdown]
# On clean labels squares are slightly ahead. Ten bad labels, three in a hundred, and squares do no better than the
# clean labels' mean did, while absolute values beat them in every split. "Excessive sensitivity", as the notes put it,
# is the price of a loss that is made for Gaussian noise, in which outliers hardly ever occur.

# %% [markdown]
# ```{exercise} ★★ How bad must one label be?
# :label: linear_regression-flip
# Derive by how much $y_i$ has to be moved to make the least-squares slope exactly zero. Write
# `flattening_shift(x, y, i)`.
# ```

# %%
def flattening_shift(x, y, i):
    raise NotImplementedError('your turn')

# %%
def shift_by_secant(x, y, i):  # the slope is linear in y[i]: two values do
    slope = lambda shift: LinearRegression().fit(
        x[:, None], y + shift * np.eye(len(x))[i]).coef_[0]
    return slope(0) / (slope(0) - slope(1))

flip_rng = np.random.default_rng(5)
flip_cases = [(flip_rng.uniform(0, 10, 9), flip_rng.normal(size=9), i)
              for i in (0, 4, 8)]
grade(flattening_shift, shift_by_secant, flip_cases)

# %% [markdown]
# ```{solution-start} linear_regression-flip
# :class: dropdown
# ```
# The slope becomes $\big(\sum_k (x_k - \bar{x}) y_k + \delta (x_i - \bar{x})\big) / S$, which is zero for
# $\delta = -\sum_k (x_k - \bar{x}) y_k / (x_i - \bar{x})$. The nearer $x_i$ lies to the mean, the more it takes. With
# $x_i$ in place of $x_i - \bar{x}$ this would depend on where the axis starts.

# %% jupyter={"source_hidden": true}
def flattening_shift_solution(x, y, i):
    return -((x - x.mean()) @ y) / (x[i] - x.mean())

def not_centred(x, y, i):
    return -(x @ y) / x[i]

assert grade(flattening_shift_solution, shift_by_secant, flip_cases)
assert not grade(not_centred, shift_by_secant, flip_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★★ The best of both
# :label: linear_regression-huber
# Huber's loss {cite}`huber1964robust` is $\tfrac12 r^2$ for $|r| \le k$ and $k |r| - \tfrac12 k^2$ beyond: squares for
# small residuals, absolute values for large ones. Write `huber_fit(X, y, k)`, the bias last. Hint: its derivative is
# $r \cdot c(r)$ with an importance $c(r) \le 1$. Fit with importances, compute them anew from the residuals, and
# repeat; what does a fixed point satisfy?
# ```

# %%
def huber_fit(X, y, k):
    raise NotImplementedError('your turn')

# %%
def huber_by_descent(X, y, k):
    X1 = torch.tensor(np.column_stack([X, np.ones(len(X))]))
    loss = torch.nn.HuberLoss(reduction='sum', delta=k)

    def value_and_slope(theta):
        t = torch.tensor(theta, requires_grad=True)
        value = loss(X1 @ t, torch.tensor(y))
        return value.item(), torch.autograd.grad(value, t)[0].numpy()

    start = np.zeros(X1.shape[1])
    return minimize(value_and_slope, start, jac=True, tol=1e-10).x

huber_rng = np.random.default_rng(6)
huber_cases = [
    (huber_rng.normal(size=(40, d)), huber_rng.standard_t(2, 40), k)
    for d, k in ((1, 1.0), (3, 0.5))
]
grade(huber_fit, huber_by_descent, huber_cases, atol=1e-5)

# %% [markdown]
# ```{solution-start} linear_regression-huber
# :class: dropdown
# ```
# The derivative is $r$ inside and $k \operatorname{sign}(r)$ outside, so $c(r) = \min(1, k / |r|)$. A fixed point
# solves $\tilde{\mathbf{X}}^\top \mathbf{C} (\tilde{\mathbf{X}} \boldsymbol\theta - \mathbf{y}) = \mathbf{0}$ with the
# $c$ of its own residuals, which says that the gradient of Huber's loss is zero; that loss is convex, so this is a
# minimum. One round alone is not enough.

# %% jupyter={"source_hidden": true}
def huber_fit_solution(X, y, k, rounds=200):
    X1 = np.column_stack([X, np.ones(len(X))])
    c = np.ones(len(y))
    for _ in range(rounds):
        theta = np.linalg.solve(X1.T @ (c[:, None] * X1), X1.T @ (c * y))
        c = k / np.maximum(k, abs(y - X1 @ theta))
    return theta

def one_round(X, y, k):
    return huber_fit_solution(X, y, k, rounds=2)

assert grade(huber_fit_solution, huber_by_descent, huber_cases, atol=1e-5)
assert not grade(one_round, huber_by_descent, huber_cases, atol=1e-5)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The notes behind the formulas
#
# The formulas on this page, and many on later ones, come from study notes titled *Deep Learning* (February 2023), which
# follow the book *Dive into Deep Learning* {cite}`zhang2023dive` chapter by chapter. Their preface says that
# implementations are left out for now. That is so: no statement quoted from them contains code, whereas the same search
# does find code in the linear algebra notes that this book also works through, in their pseudocode of attention.

# %%
def has_code(notes):
    code = re.compile(r'\.\w+\(|\bdef \w+\(|^import ', re.MULTILINE)
    return any(code.search(c.notes) for c in ledger.claims(notes).values())

holds(
    'dl.preface.no-code',
    lambda: not has_code('dl'),
    control=lambda: not has_code('la'),
)

# %% [markdown]
# This book is the missing part. Each chapter of the notes, with the number of its headings and the chapters here that
# answer for them:

# %%
headings = [h for h in ledger.headings('dl') if re.match(r'\d', h['heading'])]
chapters = {}
for h in headings:
    chapter = h['heading'].split(' > ')[0]
    chapters.setdefault(chapter, []).append(h['section'].split('/')[0])
assert [int(c.split()[0]) for c in chapters] == list(range(1, 13))
for chapter, homes in chapters.items():
    print(f'{chapter} ({len(homes)}): {", ".join(sorted(set(homes)))}')

# %% [markdown]
# ## Summary
#
# A linear model predicts the average outcome by a weighted sum, for all examples at once by
# $\mathbf{X} \mathbf{w} + b \mathbf{1}$. The mean squared loss has its minima exactly where the normal equations hold,
# reached by solving them or by descending a bowl whose shape depends on the units, and on new examples from the same
# distribution it rewards the conditional mean. On real patients the ten features halve the squared error of the mean,
# ten bad labels in 332 undo the gain, and a loss that grows more slowly keeps it.
#
# **Further reading.** {cite}`hastie2009elements`, chapter 3, on linear regression and its uses; {cite}`boyd2004convex`,
# section 6.1, on what different losses do to residuals; {cite}`huber1964robust`, the beginning of robust statistics;
# {cite}`zhang2023dive`, chapter 3, the model for the notes.
