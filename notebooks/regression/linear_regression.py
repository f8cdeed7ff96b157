# ---
# jupyter:
#   book:
#     functions:
#       predict: predict(normal(5, 3), normal(3), 0.5)
#       with_ones: with_ones(np.asarray(normal(5, 3)))
#       least_squares: least_squares(np.asarray(normal(9, 3)), np.asarray(normal(9)))
#       gradient_descent: gradient_descent(np.asarray(normal(9, 3)), np.asarray(normal(9)), 0.1, 50)
#     main: dl.linreg.predict
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Linear regression
#
# 442 patients with diabetes were examined: age, sex, body mass index, blood pressure, and six blood values. One year later,
# a number from 25 to 346 said how far the disease had come. How can we predict this number for a new patient, and
# how wrong will the prediction be?
#
# - **You need** [matrix products](../linear_algebra/matrix_multiplication.ipynb),
#   [gradients](../calculus/gradients.ipynb), [gradient descent](../optimization/gradient_descent.ipynb) and
#   [conditional expectations](../probability/expectations.ipynb).
# - **You build** the linear model and its squared loss, find the best weights by a formula and by gradient descent, as
#   scikit-learn and PyTorch do, and make a fit that survives wrong labels.
# - **Runs in** 10 seconds, in float64.

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
import sympy as sp
import torch
import torch.nn.functional as F
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression, QuantileRegressor

from nbutils.cases import integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import close, erratum, grade, holds, verify
from nbutils.data import diabetes
from nbutils.figures import GREY, label_lines, panels

plt.style.use('nbutils.book')
torch.set_default_dtype(torch.float64)

# %% [markdown]
# ## The linear model: a weighted sum of features
#
# Let us begin with one measurement, the body mass index, and a rule of thumb: *ten points for each unit of the index, minus
# 110*. We apply it to the first four patients {cite}`efron2004least`:

# %%
X, y, names = diabetes()      # (442, 10), (442,)
bmi = X[:, names.index('bmi')]  # kg/m²
for i in range(4):
    guess = 10 * bmi[i] - 110
    print(f'body mass index {bmi[i]:.1f}: prediction {guess:5.1f},'
          f' observed {y[i]:3.0f}, residual {guess - y[i]:6.1f}')

# %% mystnb={"image": {"alt": "Disease progression against body mass index for 442 patients: a wide grey cloud that rises to the right, a straight line through it, and ten averages with error bars that lie along the line."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.2))
ax.plot(bmi, y, '.', ms=3, color=GREY, alpha=0.7)
groups = np.array_split(np.argsort(bmi, kind='stable'), 10)
for group in groups:
    error = 2 * y[group].std() / len(group) ** 0.5
    ax.errorbar(bmi[group].mean(), y[group].mean(), error, fmt='o', color='C0', ms=5)
ends = np.array([17.5, 42.5])
ax.plot(ends, 10 * ends - 110, color='C1')
ax.text(37, 282, 'the rule', color='C1', ha='right')
ax.text(26, 325, 'single patients', color=GREY, ha='right')
ax.text(36.5, 208, 'averages', color='C0', ha='left')
ax.set(xlabel='body mass index (kg/m²)', ylabel='disease progression');

# %% [markdown] tags=["caption"]
# Single patients stray far from the rule, but the averages of patients with a similar body mass index (with two standard
# errors) lie near its line. A linear model is a statement about these averages.

# %% [markdown]
# In general each of $d$ measurements $x_1, \dots, x_d$, the **features**, gets a **weight** $w_j$. It says by how much the prediction
# changes if $x_j$ grows by one unit and nothing else changes. The **bias** $b$ is the prediction when all features are
# zero; above, $b = -110$. If $n$ examples are the rows of a **design matrix** $\mathbf{X} \in \mathbb{R}^{n \times d}$, one product makes
# all predictions. For one example, and for all $n$:
#
# ```{math}
# :label: dl.linreg.predict
# \hat{y} = \mathbf{w}^\top \mathbf{x} + b , \qquad \hat{\mathbf{y}} = \mathbf{X} \mathbf{w} + b \mathbf{1} .
# ```
#
# Here $\mathbf{1}$ is the vector of $n$ ones. In code we need not write it, because adding a number to an array adds it to each entry:

# %%
def predict(X, w, b):
    return X @ w + b  # (n, d), (d,), () -> (n,)

# %%
two = X[:, [names.index('bmi'), names.index('bp')]]  # with blood pressure
print(predict(two[:4], w=np.array([8.0, 1.5]), b=-200.0))

# %% [markdown]
# ```{admonition} A tempting mistake
# :class: tip
# Adding arrays of different shapes can hide an error. If the targets are a column of shape $(442, 1)$, then
# $\hat{\mathbf{y}} - \mathbf{y}$ is no longer a vector but a matrix of all differences between any prediction and any target. Nothing
# complains:
# ```

# %%
y_hat = predict(bmi[:, None], np.array([10.0]), -110.0)
column = y[:, None]  # (442, 1)
print('shapes:', (y_hat - y).shape, (y_hat - column).shape)
print(f'mean squares: {((y_hat - y)**2).mean():.0f},'
      f' {((y_hat - column)**2).mean():.0f}')

# %% [markdown]
# ### What a linear model claims
#
# The patients with an index near 25 did not all fare alike. The model does not claim that they did. It claims that the
# *average* outcome $Y$ of all patients who share the measurements $\mathbf{x}$ is a weighted sum:
#
# ```{math}
# :label: dl.linreg.cond-exp
# \mathbb{E}[Y \mid X = \mathbf{x}] = w_1 x_1 + \dots + w_d x_d + b
# ```
#
# This is an assumption, and it can be tested: sort the patients into groups with similar features and compare the averages.
# In the figure, they stay near a line. The deviations of single patients may have any distribution with mean zero.

# %% tags=["checks"]
erratum(
    'dl.linreg.predict',
    printed=lambda X, w, b: close(predict(X, w, b), 3 * [w @ X[0] + b]),
    corrected=lambda X, w, b: close(predict(X, w, b), [w @ x + b for x in X]),
    slip=('adds the bias to the first example alone',
          lambda X, w, b: close(X @ w + b * np.eye(3)[0], [w @ x + b for x in X])),
    X=matrices(3, 2), w=vectors(2), b=scalars(),
)

def worst_group(seed, w, b, bend=0.0):  # of 16 groups, in standard errors
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (20_000, 2))
    noise = rng.exponential(size=len(X)) - 1  # mean 0, variance 1, lopsided
    y = predict(X, w, b) + bend * X[:, 0] ** 2 + noise
    i, j = (np.digitize(x, [-0.5, 0, 0.5]) for x in X.T)
    count = np.bincount(4 * i + j)
    excess = np.bincount(4 * i + j, y - predict(X, w, b)) / count
    return abs(excess * count**0.5).max()

holds(
    'dl.linreg.cond-exp',  # 5 standard errors: a false alarm in about 1 of 100,000 worlds of 16 groups
    lambda seed, w, b: worst_group(seed, w, b) < 5,
    slip=('a world that bends slightly', lambda seed, w, b: worst_group(seed, w, b, bend=0.3) < 5),
    seed=seeds(), w=vectors(2), b=scalars(), tries=40,
)

def averages_near(line, errors):
    return all(abs(y[group].mean() - line(bmi[group]).mean()) < errors * y[group].std() / len(group) ** 0.5
               for group in groups)

verify(
    'the averages of the ten groups lie within three standard errors of the rule',
    lambda errors: averages_near(lambda x: 10 * x - 110, errors),
    slip=('predicts the mean for all', lambda errors: averages_near(lambda x: y.mean() + 0 * x, errors)),
    errors=[3],
)

# %% [markdown]
# ## The squared loss and the best weights
#
# (dl.loss.distance)=
# Which weights are best? A **loss function** measures the distance between the observed $y^{(i)}$ and the predicted
# $\hat{y}^{(i)}$ of example $i$: it is never negative, and zero only if they are equal. The usual loss for regression is half the square:
#
# ```{math}
# :label: dl.loss.sq
# l^{(i)}(\mathbf{w}, b) = \tfrac{1}{2} \big(\hat{y}^{(i)} - y^{(i)}\big)^2
# ```
#
# The factor $\tfrac12$ changes no minimizer, and the derivative becomes simply the **residual**:
#
# ```{math}
# :label: dl.loss.half
# \frac{\mathrm{d}}{\mathrm{d} \hat{y}} \, \tfrac12 (\hat{y} - y)^2 = \hat{y} - y
# ```
#
# The loss of a data set is the mean over its examples, one number:
#
# ```{math}
# :label: dl.loss.mean-loss
# L(\mathbf{w}, b) = \frac{1}{n} \sum_{i=1}^{n} l^{(i)}(\mathbf{w}, b)
# = \frac{1}{n} \sum_{i=1}^{n} \tfrac12 \big(\hat{y}^{(i)} - y^{(i)}\big)^2
# ```

# %%
def squared_loss(y_hat, y):
    return (y_hat - y)**2 / 2

def mean_loss(y_hat, y):
    return squared_loss(y_hat, y).mean()

# %%
print(f'the rule:              {mean_loss(10 * bmi - 110, y):7.1f}')
print(f'12 points, minus 110:  {mean_loss(12 * bmi - 110, y):7.1f}')
print(f'always the mean of y:  {mean_loss(y.mean(), y):7.1f}')

# %% [markdown]
# (dl.loss.large-diff)=
# Squares let large residuals count more than in proportion: twice the residual costs four times as much. We could add up absolute
# values instead, and the last part of this page does so. Why squares are natural is the subject of
# [Gaussian noise](gaussian_noise.ipynb).

# %%
r = 10 * bmi - 110 - y
largest = np.sort(abs(r))[-44:]  # the worst tenth of the patients
print(f'the worst tenth has {(largest**2).sum() / (r**2).sum():.2f} of the'
      f' squares, {largest.sum() / abs(r).sum():.2f} of the absolute values')

# %% mystnb={"image": {"alt": "Left: the squared loss is a parabola, flatter than the absolute value near zero and steeper beyond one. Right: its derivative is a straight line, that of the absolute value a jump from -1 to 1."}} tags=["hide-input"]
t = np.linspace(-3, 3, 301)
fig, (left, right) = panels(2, height=2.6)
left.plot(t, squared_loss(t, 0))
left.plot(t, abs(t))
left.text(2.9, 4.3, 'r²/2', color='C0', ha='right')
left.text(1.2, 1.9, '|r|', color='C1', ha='right')
left.set(xlabel='residual r', title='Loss')
right.plot(t, t)
right.plot(t, np.where(abs(t) < 0.01, np.nan, np.sign(t)))
right.text(2.3, 2.7, 'r', color='C0', ha='right')
right.text(2.9, 0.55, 'sign r', color='C1', ha='right')
right.set(xlabel='residual r', title='Pull: the derivative of the loss');

# %% [markdown] tags=["caption"]
# Squares punish residuals beyond 2 more than absolute values do, and their pull grows with the residual. Absolute values
# pull with the same force at every distance.

# %% [markdown]
# ### The normal equations
#
# Training a linear model means finding the weights and the bias with the least loss:
#
# ```{math}
# :label: dl.loss.argmin
# (\mathbf{w}^*, b^*) = \operatorname*{arg\,min}_{\mathbf{w},\, b} \; L(\mathbf{w}, b)
# ```
#
# For the bias we use a trick: we give each example one more feature that is always 1. Its weight then is $b$. With
# $\tilde{\mathbf{X}} = [\mathbf{X} \;\, \mathbf{1}]$ and $\boldsymbol\theta = (\mathbf{w}, b)$ the predictions are
# $\tilde{\mathbf{X}} \boldsymbol\theta$, and by the chain rule
#
# $$
# L(\boldsymbol\theta) = \frac{1}{2n} \|\tilde{\mathbf{X}} \boldsymbol\theta - \mathbf{y}\|^2, \qquad
# \nabla L(\boldsymbol\theta) = \frac1n \tilde{\mathbf{X}}^\top (\tilde{\mathbf{X}} \boldsymbol\theta - \mathbf{y}).
# $$
#
# At the minimum the gradient is zero:
#
# ````{prf:theorem} Least squares
# :label: thm-least-squares-minimum
# $\boldsymbol\theta^*$ minimizes $L$ if and only if it solves the *normal equations*
# $\tilde{\mathbf{X}}^\top \tilde{\mathbf{X}} \boldsymbol\theta^* = \tilde{\mathbf{X}}^\top \mathbf{y}$. The minimizer
# is unique if and only if the columns of $\tilde{\mathbf{X}}$ are linearly independent.
# ````
#
# ````{prf:proof}
# :class: dropdown
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
# In other words, $\tilde{\mathbf{X}}^\top (\mathbf{y} - \tilde{\mathbf{X}} \boldsymbol\theta^*) = \mathbf{0}$: the residuals
# have mean zero, because of the column of ones, and are uncorrelated with each feature. Nothing linear is left in them.

# %%
def with_ones(X):
    return np.column_stack([X, np.ones(len(X), X.dtype)])  # (n, d + 1)

def least_squares(X, y):
    """The weights (d,) and the bias with the least squared loss."""
    X1 = with_ones(X)
    theta = np.linalg.solve(X1.T @ X1, X1.T @ y)  # (d + 1,)
    return theta[:-1], theta[-1]

# %%
(slope,), bias = least_squares(bmi[:, None], y)
line = slope * bmi + bias
print(f'slope {slope:.2f}, bias {bias:.1f}, loss {mean_loss(line, y):.1f}')

# %% [markdown]
# The rule of thumb was close. Now we take all ten features. We **standardize** each one (subtract its mean and
# divide by its standard deviation), so that a weight says what one standard deviation is worth and weights of
# different units can be compared.

# %%
Z = (X - X.mean(axis=0)) / X.std(axis=0)  # (442, 10)
w, b = least_squares(Z, y)

# %% mystnb={"image": {"alt": "A single neuron: ten named inputs on the left, joined to one output; thick lines for the weights of s1, s5, bmi and s2, thin ones for age and s6. Blue lines raise the prediction, orange ones lower it."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.4))
heights = np.linspace(1, 0, len(names))
for height, name, weight in zip(heights, names, w, strict=True):
    colour = 'C0' if weight > 0 else 'C1'
    ax.plot([0, 1], [height, 0.5], color=colour, lw=0.6 + abs(weight) / 7)
    ax.text(-0.35, height, name, va='center')
    text = f'{weight:+.1f}'.replace('-', '−')
    ax.text(-0.05, height, text, color=colour, ha='right', va='center')
ax.scatter(np.zeros(len(names)), heights, s=60, color=GREY, zorder=3)
ax.scatter([1], [0.5], s=500, color=GREY, zorder=3)
ax.text(1.08, 0.5, rf'$\hat{{y}}$ = sum + {b:.0f}', va='center')
ax.text(0.62, 0.92, 'raises the prediction', color='C0')
ax.text(0.62, 0.06, 'lowers it', color='C1')
ax.set(xlim=(-0.36, 1.5), ylim=(-0.06, 1.06))
ax.axis('off');

# %% [markdown] tags=["caption"]
# Drawn as a network, the linear model is a single neuron with $d = 10$ inputs. Per standard deviation, s1 and s5 move the
# prediction most, age hardly at all.

# %% [markdown]
# ### Gradient descent, scikit-learn and PyTorch
#
# The same weights can be found by [gradient descent](../optimization/gradient_descent.ipynb). This works for models
# whose equations cannot be solved, too. With standardized features a few thousand steps are enough; with the raw ones it would take
# [far more](../optimization/gradient_descent.ipynb). With the residuals $\mathbf{r} = \hat{\mathbf{y}} - \mathbf{y}$, the gradient with respect to $\mathbf{w}$
# is $\frac1n \mathbf{X}^\top \mathbf{r}$, and the one with respect to $b$ is the mean of $\mathbf{r}$.

# %%
def gradient_descent(X, y, eta, steps):
    w, b = np.zeros(X.shape[1], X.dtype), 0.0
    for _ in range(steps):
        r = predict(X, w, b) - y  # (n,)
        w = w - eta * (X.T @ r) / len(y)
        b = b - eta * r.mean()
    return w, b

# %% [markdown]
# In PyTorch the linear model is a layer, `nn.Linear`, and the gradients come by themselves:

# %%
layer = torch.nn.Linear(10, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.4)
inputs, targets = torch.tensor(Z), torch.tensor(y)[:, None]  # (442, 1)
for _ in range(5000):
    optimizer.zero_grad()
    (F.mse_loss(layer(inputs), targets) / 2).backward()
    optimizer.step()

# %%
library = LinearRegression().fit(Z, y)
descended = gradient_descent(Z, y, eta=0.4, steps=5000)
fits = {
    'normal equations': (w, b),
    'scikit-learn': (library.coef_, library.intercept_),
    'gradient descent': descended,
    'PyTorch': (layer.weight[0].detach().numpy(), layer.bias.item()),
}

# %%
print('                     bmi      bp      s1      s5     bias')
for name, (weights, intercept) in fits.items():
    shown = ''.join(f'{weights[names.index(feature)]:8.2f}'
                    for feature in ('bmi', 'bp', 's1', 's5'))
    print(f'{name:16}{shown}{intercept:9.2f}')

# %% [markdown]
# In practice you call the library, which uses a more accurate method than the normal equations (see
# [least squares](least_squares.ipynb)).
#
# ```{exercise} ★ Pencil: back to kilograms per square metre
# :label: linear_regression-units
# The weights above belong to $z_j = (x_j - m_j) / s_j$. A clinic wants to use raw measurements $x_j$. Which weights and
# which bias make the same predictions from these? Write `for_raw_features(w, b, m, s)`.
# ```

# %%
def for_raw_features(w, b, m, s):
    """The weights and then the bias for raw features: a float array (d + 1,).

    w, m, s: float arrays (d,), the weights, means and deviations, all s > 0.
    b: float, the bias. For w = [6.], b = 1.0, m = [5.], s = [2.]
    the result is [3., -14.].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def from_predictions(w, b, m, s):  # at 0 and at the unit vectors
    points = np.vstack([np.eye(len(w)), np.zeros(len(w))])
    at = predict((points - m) / s, w, b)
    return np.append(at[:-1] - at[-1], at[-1])

cases = dict(
    w=vectors((1, 4), edges=True), b=on(0.0) | scalars(),
    m=lambda w: vectors(len(w), edges=True),
    s=lambda w: vectors(len(w), 0.1, 10, edges=True),
)
grade(for_raw_features, from_predictions, **cases)

# %% [markdown]
# ```{solution-start} linear_regression-units
# :class: dropdown
# ```
# Put $z_j$ into the sum and collect:
# $\sum_j w_j (x_j - m_j)/s_j + b = \sum_j (w_j / s_j)\, x_j + \big(b - \sum_j w_j m_j / s_j\big)$. Each weight is divided by
# $s_j$, and the bias has to pay back the means. This is easily forgotten, as in the first wrong answer. The second
# multiplies by $s_j$, and the third pays back the means without dividing them.

# %% jupyter={"source_hidden": true}
def for_raw_features_solution(w, b, m, s):
    return np.append(w / s, b - (w / s) @ m)

def bias_kept(w, b, m, s):
    return np.append(w / s, b)

def multiplied(w, b, m, s):
    return np.append(w * s, b - (w * s) @ m)

def means_not_divided(w, b, m, s):
    return np.append(w / s, b - w @ m)

assert grade(for_raw_features_solution, from_predictions, **cases)
assert not grade(bias_kept, from_predictions, **cases)
assert not grade(multiplied, from_predictions, **cases)
assert not grade(means_not_divided, from_predictions, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Program: some patients count more
# :label: linear_regression-weighted
# Let each example have an importance $c_i > 0$, so that $\sum_i c_i \cdot \tfrac12 (\hat{y}^{(i)} - y^{(i)})^2$ is to
# be smallest. Derive the normal equations and write `weighted_fit(X, y, c)`.
# ```

# %%
def weighted_fit(X, y, c):
    """The weights and then the bias: a float array (d + 1,).

    X: float array (n, d), d >= 0; with a column of ones its columns are
    independent. y: float array (n,). c: float array (n,), all entries > 0.
    For X of shape (2, 0), y = [0., 3.] and c = [2., 1.] the result is [1.].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def weighted_by_library(X, y, c):
    if not X.shape[1]:
        return [np.average(y, weights=c)]
    model = LinearRegression().fit(X, y, sample_weight=c)
    return np.array([*model.coef_, model.intercept_])

def scaled_importances(X):
    return on(1.0, 1e-9, 1e9).flatmap(lambda size: vectors(len(X), 0.1, 5, edges=True).map(lambda c: size * c))

cases = dict(
    X=matrices((6, 9), (0, 3)).filter(lambda X: np.linalg.cond(with_ones(X)) < 100),
    y=lambda X: vectors(len(X), edges=True), c=scaled_importances,
)
grade(weighted_fit, weighted_by_library, **cases)

# %% [markdown]
# ```{solution-start} linear_regression-weighted
# :class: dropdown
# ```
# With the $c_i$ on the diagonal of $\mathbf{C}$, the gradient is
# $\tilde{\mathbf{X}}^\top \mathbf{C} (\tilde{\mathbf{X}} \boldsymbol\theta - \mathbf{y})$. So
# $\tilde{\mathbf{X}}^\top \mathbf{C} \tilde{\mathbf{X}} \boldsymbol\theta = \tilde{\mathbf{X}}^\top \mathbf{C} \mathbf{y}$.
# If you scale the rows of $\tilde{\mathbf{X}}$ and $\mathbf{y}$ instead, scale them by $\sqrt{c_i}$, because the loss squares them.
# The first wrong answer scales them by $c_i$, the second ignores the $c_i$, and the third
# multiplies only the targets.

# %% jupyter={"source_hidden": true}
def weighted_fit_solution(X, y, c):
    X1 = with_ones(X)
    return np.linalg.solve(X1.T @ (c[:, None] * X1), X1.T @ (c * y))

def scaled_by(X, y, c):
    return np.linalg.lstsq(c[:, None] * with_ones(X), c * y)[0]

def all_alike(X, y, c):
    return np.append(*least_squares(X, y))

def targets_weighted(X, y, c):
    return np.append(*least_squares(X, c * y / c.mean()))

assert grade(weighted_fit_solution, weighted_by_library, **cases)
assert not grade(scaled_by, weighted_by_library, **cases)
assert not grade(all_alike, weighted_by_library, **cases)
assert not grade(targets_weighted, weighted_by_library, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def torch_loss(y_hat, y):
    return F.mse_loss(torch.tensor(y_hat), torch.tensor(y), reduction='none') / 2

def like_a_distance(loss, a, b):
    return loss(a, b) >= 0 and (loss(a, b) == 0) == (a == b) and loss(a, b) == loss(b, a)

holds(
    'dl.loss.distance',
    lambda a, b: like_a_distance(squared_loss, a, b),
    slip=('forgets the square', lambda a, b: like_a_distance(lambda a, b: (a - b) / 2, a, b)),
    a=scalars(), b=scalars(),
)
holds(
    'dl.loss.sq',
    lambda y_hat, y: close(squared_loss(y_hat, y), torch_loss(y_hat, y)),
    slip=('forgets the half', lambda y_hat, y: close((y_hat - y) ** 2, torch_loss(y_hat, y))),
    y_hat=vectors(5), y=vectors(5),
)
guess, label = sp.symbols('guess label', real=True)

def derivative(loss):
    return sp.expand(sp.diff(loss, guess))

holds(
    'dl.loss.half',
    lambda: derivative((guess - label) ** 2 / 2) == guess - label,
    slip=('leaves out the half', lambda: derivative((guess - label) ** 2) == guess - label),
)

def one_number(y_hat, y, loss):
    return close(loss(y_hat, y), torch_loss(y_hat, y).mean())

erratum(
    'dl.loss.mean-loss',  # the notes give L an index: a value for each example
    printed=lambda y_hat, y: close(squared_loss(y_hat, y), 3 * [mean_loss(y_hat, y)]),
    corrected=lambda y_hat, y: one_number(y_hat, y, mean_loss),
    slip=('adds without dividing by n', lambda y_hat, y: one_number(y_hat, y, lambda a, b: squared_loss(a, b).sum())),
    y_hat=vectors(3), y=vectors(3),
)

# %% tags=["checks"]
def large_counts_more(loss, r):  # Σ r² <= max|r| Σ |r|, with equality only for equal sizes
    share, fair = loss(r).max() / loss(r).sum(), abs(r).max() / abs(r).sum()
    uneven = np.ptp(abs(r[r != 0])) > 0
    more = share - fair > 1e-9 if uneven else abs(share - fair) < 1e-9
    return bool(more) and close(loss(2 * r), 4 * loss(r))

holds(
    'dl.loss.large-diff',
    lambda r: large_counts_more(lambda r: squared_loss(r, 0), r),
    slip=('adds absolute values', lambda r: large_counts_more(abs, r)),
    r=vectors(4).filter(np.any),
)

def bias_afterwards(X, y):  # weights without a bias, then the mean residual
    w = np.linalg.lstsq(X, y)[0]
    return w, (y - X @ w).mean()

def is_minimum(fit, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(1, 1, (30, 3)), rng.normal(size=30)
    w, b = fit(X, y)
    least = mean_loss(predict(X, w, b), y)
    nearby = rng.normal(0, 0.1, (1000, 4))
    return all(least < mean_loss(predict(X, w + step[:3], b + step[3]), y) for step in nearby)

holds(
    'dl.loss.argmin',
    lambda seed: is_minimum(least_squares, seed),
    slip=('adds the bias after the fit', lambda seed: is_minimum(bias_afterwards, seed)),
    seed=seeds(), tries=10,
)

def gradient_is_torchs(seed, descend):  # one step of length 1 from zero is the gradient
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(7, 3)), rng.normal(size=7)
    theta = torch.zeros(4, requires_grad=True)
    (F.mse_loss(torch.tensor(with_ones(X)) @ theta, torch.tensor(y)) / 2).backward()
    w, b = descend(X, y, 1.0, 1)
    return close([*w, b], -theta.grad)

verify(
    'gradient descent uses the gradient of the mean loss',
    lambda seed: gradient_is_torchs(seed, gradient_descent),
    slip=('leaves out the half', lambda seed: gradient_is_torchs(seed, lambda X, y, eta, steps: gradient_descent(
        X, y, 2 * eta, steps))),
    seed=seeds(), tries=25,
)
verify(
    'the four fits agree',
    lambda name, digits: close(np.append(*fits[name]), np.append(w, b), atol=10.0**-digits),
    slip=('fits without a bias', lambda name, digits: close(np.append(*fits[name]), np.append(w, 0), atol=10.0**-digits)),
    name=[*fits], digits=[4],
)

# %% [markdown]
# ## New patients: the error on held-out data
#
# We know the outcomes of these patients already. What we want is a small error on *new* examples from the same
# distribution. The weights and the bias that we would like to have are
#
# ```{math}
# :label: dl.linreg.goal
# (\mathbf{w}_{\text{best}}, b_{\text{best}}) = \operatorname*{arg\,min}_{\mathbf{w},\, b} \;
# \mathbb{E}\Big[\tfrac12 \big(\mathbf{w}^\top X + b - Y\big)^2\Big] .
# ```
#
# Why should a squared error lead to the *average* in {eq}`dl.linreg.cond-exp`, and why "the same distribution"?
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
# :class: dropdown
# Write $Y - f = (Y - m) + (m - f)$ and square. The cross term is $2\, \mathbb{E}[(Y - m(X)) (m(X) - f(X))]$. Given $X$,
# the second factor is a constant and the first has mean zero by the definition of $m$; so the cross term vanishes for
# every value of $X$, hence on average.
# ````
#
# The first term is noise that no predictor removes. The second is a squared distance to $m$, *averaged over the
# inputs*. If $m$ is linear, its own weights make this distance zero, whatever the inputs are. If it is not, the best line is a
# compromise that is good where inputs are frequent. For example, let $m(x) = x^2$, and fit a line to inputs between 0 and 1. We print its
# root-mean-square distance from $m$ there and between 1 and 2:

# %%
rng = np.random.default_rng(3)
x_train = rng.random(60)
y_train = x_train**2 + 0.1 * rng.normal(size=60)
(w_short,), b_short = least_squares(x_train[:, None], y_train)
for low in (0, 1):
    t = np.linspace(low, low + 1, 101)
    distance = ((w_short * t + b_short - t**2)**2).mean() ** 0.5
    print(f'distance from m between {low} and {low + 1}: {distance:.2f}')

# %% mystnb={"image": {"alt": "A parabola and a line fitted to points between 0 and 1: close together there, ever farther apart between 1 and 2."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.7))
t = np.linspace(0, 2, 101)
ax.plot(x_train, y_train, '.', color=GREY, label='_points')
ax.plot(t, t**2, label='m(x) = x²')
ax.plot(t, w_short * t + b_short, label='fitted line')
ax.axvline(1, color=GREY, lw=0.8, ls=':')
ax.set(xlabel='x', ylabel='y', xlim=(0, 2))
label_lines(ax);

# %% [markdown] tags=["caption"]
# A line fitted on $[0, 1]$ is close to $m(x) = x^2$ there and ever farther from it beyond. Where the inputs lie decides
# which line is best.

# %% [markdown]
# To imitate new patients, we hold out a quarter of the real ones, fit on the rest, and predict the held-out quarter. We do
# this for 100 random splits. The reference is the model without any feature: its best bias is the mean of the
# training targets.

# %%
def split(seed):
    order = np.random.default_rng(seed).permutation(len(y))
    return order[110:], order[:110]  # training, held out

def held_out_error(columns, seed):
    train, test = split(seed)
    w, b = least_squares(Z[train][:, columns], y[train])
    residuals = predict(Z[test][:, columns], w, b) - y[test]
    return (residuals**2).mean() ** 0.5

# %%
features = {'no feature': [], 'bmi': [2], 'bmi, bp': [2, 3],
            'all ten': [*range(10)]}
errors = {}
for name, columns in features.items():
    errors[name] = np.array([held_out_error(columns, seed)
                             for seed in range(100)])
    print(f'{name:10} typical error {errors[name].mean():.1f}'
          f' ± {errors[name].std():.1f}')

# %% [markdown]
# The typical error is the root of the mean square, and ± is the standard deviation over splits. Some splits
# hold out patients that are harder to predict, for all models alike. So we compare within each split:

# %%
pairs = [('no feature', 'bmi'), ('bmi', 'bmi, bp'), ('bmi, bp', 'all ten')]
for worse, better in pairs:
    wins = (errors[better] < errors[worse]).sum()
    print(f'{better:8} better than {worse:10} in {wins:3} of 100 splits')
removed = 1 - (errors['all ten'] / errors['no feature']) ** 2
print(f'all ten remove {removed.mean():.2f} ± {removed.std():.2f}'
      ' of the squared error')

# %% [markdown]
# So a linear model of ten measurements explains about half of the variance, and leaves the other half. How firm are the weights themselves?
# We look at them over the 100 splits:

# %%
weights = np.array([least_squares(Z[train], y[train])[0]
                    for train, _ in map(split, range(100))])  # (100, 10)
s1, s2 = weights[:, 4], weights[:, 5]
print(f'correlation of s1 and s2 in patients: {np.corrcoef(Z.T)[4, 5]:.2f}')
print(f'spread of the weights: bmi {weights[:, 2].std():.1f},'
      f' s1 {s1.std():.1f}, s2 {s2.std():.1f}, s1 + s2 {(s1 + s2).std():.1f}')

# %% mystnb={"image": {"alt": "Ten columns of dots, one for each weight, a dot for each split: narrow for age, sex, bmi and bp, very wide for s1 and s2, wide for s3, s4 and s5."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.8))
spots = np.random.default_rng(0).uniform(-0.25, 0.25, (100, 1)) + np.arange(10)
ax.plot(spots, weights, '.', color='C0', ms=3, alpha=0.5)
ax.axhline(0, color=GREY, lw=0.8)
ax.set(xticks=range(10), xticklabels=names, ylabel='weight per\nstandard deviation', title='Each dot is one split');

# %% [markdown] tags=["caption"]
# Over 100 splits the weight of the body mass index is firm, while those of s1 and s2, two features with a correlation of
# 0.90, sway widely.

# %% [markdown]
# The features s1 and s2 are total and LDL cholesterol. They rise and fall together, so a larger weight of one can be
# offset by a smaller weight of the other, and their sum is much steadier. A good prediction does not make
# each weight meaningful. [Ridge regression](ridge_regression.ipynb) keeps such weights small.
#
# ```{exercise} ★★ Experiment: do more features help?
# :label: linear_regression-noise
# Add $k$ columns of random numbers to the ten features, for $k = 0$, 50 and 200. First predict what happens from $k = 0$ to
# $k = 200$ to the error on the training patients and to the error on the held-out patients. Return two words, each `'falls'`
# or `'rises'`. Then run it, look, and explain what you see.
# ```

# %%
def predicted_changes():
    """(training error, held-out error): a pair of 'falls' or 'rises'."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def both_errors(k, seed):
    train, test = split(seed)
    noise = np.random.default_rng(seed + 1000).normal(size=(len(y), k))
    more = np.column_stack([Z, noise])
    w, b = least_squares(more[train], y[train])
    squares = (predict(more, w, b) - y) ** 2
    return squares[train].mean() ** 0.5, squares[test].mean() ** 0.5

def is_measured(answer):
    if len(answer) != 2 or not {*answer} <= {'falls', 'rises'}:
        raise ValueError("give two words, each 'falls' or 'rises'")
    few, many = (np.mean([both_errors(k, seed) for seed in range(10)], axis=0) for k in (0, 200))
    if [*answer] != ['rises' if after > before else 'falls' for before, after in zip(few, many)]:
        raise ValueError('something else is measured; run it and compare')
    return True

grade(lambda: is_measured(predicted_changes()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} linear_regression-noise
# :class: dropdown
# ```
# The training error falls, because the old weights, with zeros for the new columns, are still allowed, so the minimum cannot be
# higher. The held-out error rises: the new weights fit the noise of the training patients, which does not repeat. This is
# called overfitting, and [a later section](generalization.ipynb) is about it.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured(('falls', 'rises')), lambda: True, [()])
for wrong in (
    ('falls', 'falls'),
    ('rises', 'rises'),
    ('rises', 'falls'),
    ('falls',),
    ('falls', 'stays'),
):
    assert not grade(lambda: is_measured(wrong), lambda: True, [()])
for k in (0, 50, 200):
    train_error, test_error = np.mean(
        [both_errors(k, seed) for seed in range(10)], axis=0
    )
    print(
        f'{k:3} random columns: training error {train_error:.1f}, '
        f'held-out error {test_error:.1f}'
    )

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def beats_neighbour(seed, low, dw, db):  # a line for m(x) = x², fitted on [0, 1]
    rng = np.random.default_rng(seed)
    x = rng.random(4000)
    w, b = least_squares(x[:, None], x**2 + 0.1 * rng.normal(size=4000))
    x = low + rng.random(10_000)  # new examples
    y = x**2 + 0.1 * rng.normal(size=10_000)
    return mean_loss(w[0] * x + b, y) < mean_loss((w[0] + dw) * x + b + db, y)

verify(
    'a fitted line predicts new examples of the same kind better than its neighbours',
    lambda seed, dw, db: beats_neighbour(seed, 0, dw, db),
    slip=('takes new examples from elsewhere', lambda seed, dw, db: beats_neighbour(seed, 1, dw, db)),
    seed=seeds(), dw=[-0.1, 0.0, 0.1], db=[-0.05, 0.05], tries=40,
)

def adds_up(seed, m):  # on a finite world: every (x, y) of a table of chances
    rng = np.random.default_rng(seed)
    chance, f = rng.dirichlet(np.ones(12)).reshape(4, 3), rng.normal(size=(4, 1))
    value = rng.normal(size=(4, 3))
    means = m(value, chance)
    return close((chance * (value - f) ** 2).sum(), (chance * ((value - means) ** 2 + (means - f) ** 2)).sum())

verify(
    'the squared error is the noise plus the distance from the conditional mean',
    lambda seed: adds_up(seed, lambda value, chance: (value * chance).sum(1, keepdims=True) / chance.sum(1, keepdims=True)),
    slip=('takes the mean of all targets', lambda seed: adds_up(seed, lambda value, chance: (value * chance).sum())),
    seed=seeds(), tries=50,
)
verify(
    'the sum of the two weights is steadier than each of them',
    lambda times: times * (s1 + s2).std() < min(s1.std(), s2.std()),
    slip=('says so of their difference', lambda times: times * (s1 - s2).std() < min(s1.std(), s2.std())),
    times=[1, 2],
)
verify(
    'all ten features beat two in most splits',
    lambda share: (errors['all ten'] < errors['bmi, bp']).mean() > share,
    slip=('says that two are better', lambda share: (errors['bmi, bp'] < errors['all ten']).mean() > share),
    share=[0.8],
)

# %% [markdown]
# ## Outliers: one bad label can turn the line
#
# Squares make large residuals expensive, and the fit goes a long way to avoid them. Here are 21 points near a rising line, and one
# label that was mistyped:

# %%
rng = np.random.default_rng(4)
x = rng.uniform(0, 10, 21)
good = 2 + 0.5 * x + rng.normal(0, 0.5, 21)
bad, i = good.copy(), x.argmax()
bad[i] -= 25

# %%
def lines(labels):  # slope and bias by squares and by absolute values
    (w,), b = least_squares(x[:, None], labels)
    median = QuantileRegressor(alpha=0).fit(x[:, None], labels)
    return {'squares': (w, b),
            'absolute values': (median.coef_[0], median.intercept_)}

for name, labels in ('good labels', good), ('one bad label', bad):
    slopes = {kind: w for kind, (w, _) in lines(labels).items()}
    print(f"{name:13}  slope by squares {slopes['squares']:6.3f},"
          f" by absolute values {slopes['absolute values']:.3f}")

# %% mystnb={"image": {"alt": "Twenty-one points along a rising line; an arrow shows one of them moved far below. The least-squares line of the good labels rises, that with the bad label falls; the least-absolute line stays with the other points."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.2))
ax.plot(x, bad, 'o', color=GREY, ms=4)
ax.annotate('', (x[i], bad[i] + 1), (x[i], good[i] - 1), arrowprops=dict(arrowstyle='->', color=GREY))
t = np.array([0, 10])
for (w_line, b_line), colour, style, name in (
        (lines(good)['squares'], GREY, '--', 'squares, good labels'),
        (lines(bad)['squares'], 'C0', '-', 'squares'),
        (lines(bad)['absolute values'], 'C1', '-', 'absolute values')):
    ax.plot(t, w_line * t + b_line, style, color=colour, label=name)
ax.set(xlabel='x', ylabel='y', xlim=(0, 10.2))
label_lines(ax);

# %% [markdown] tags=["caption"]
# One bad label turns the slope of least squares from rising to falling. The fit by absolute values keeps to the line of the
# other twenty points.

# %% [markdown]
# (dl.loss.outliers)=
# We can compute the pull of a single label. By the normal equations the slope is $w^* = \sum_i (x_i - \bar{x})\, y_i / S$ with
# $S = \sum_i (x_i - \bar{x})^2$, which is linear in the labels. Moving $y_i$ by $\delta$ moves the slope by exactly
# $\delta\, (x_i - \bar{x}) / S$: in proportion, without bound, unless $x_i = \bar{x}$. Least **absolute values**, on the other hand,
# pull with the same force at every distance. A label may move as far as it likes: as long as it stays on its side of the line, the line
# remains a best one.
#
# ```{prf:proof}
# :class: dropdown
# The first normal equation says $b^* = \bar{y} - w^* \bar{x}$; then the second reads
# $\sum_i (x_i - \bar{x}) \big(y_i - \bar{y} - w^* (x_i - \bar{x})\big) = 0$, and $\sum_i (x_i - \bar{x})\, \bar{y} = 0$.
#
# The sum $\sum_i |y_i - \tilde{\mathbf{x}}_i^\top \boldsymbol\theta|$ is convex in $\boldsymbol\theta$. So $\boldsymbol\theta$ is a
# minimizer if and only if zero is a subgradient: there are numbers $s_i \in [-1, 1]$ with
# $\sum_i s_i \tilde{\mathbf{x}}_i = \mathbf{0}$, where $s_i$ is the sign of the residual of each point off the line. Only the
# signs of the residuals enter, not their sizes.
# ```
#
# This does not cure everything. A wrong *feature* is a long lever, and both fits follow it:

# %%
far = x.copy()
far[i] += 300
(w_squares,), _ = least_squares(far[:, None], good)
w_absolute = QuantileRegressor(alpha=0).fit(far[:, None], good).coef_[0]
print(f'one bad feature: slope by squares {w_squares:.4f},'
      f' by absolute values {w_absolute:.4f}')

# %% [markdown]
# How much does this matter for the patients? Suppose that the decimal point was shifted in a few of the 332 training
# labels, so that they are ten times too large. The labels of the held-out patients stay as they are. The error is now the mean absolute
# one, in 20 splits:

# %%
def held_out_distances(wrong, seed):  # no feature, squares, absolute values
    train, test = split(seed)
    labels = y[train]
    labels[:wrong] *= 10
    fits = [LinearRegression(), QuantileRegressor(alpha=0)]
    guesses = [fit.fit(Z[train], labels).predict(Z[test]) for fit in fits]
    guesses = np.array([np.full(len(test), labels.mean()), *guesses])
    return abs(guesses - y[test]).mean(1)  # (3,)

# %%
wrong_counts = (0, 1, 3, 10, 33)
curves = np.array([[held_out_distances(wrong, seed) for seed in range(20)]
                   for wrong in wrong_counts])  # (5, 20 splits, 3 fits)
print('bad labels  no feature   squares  absolute values')
for wrong, (mean, squares, absolute) in zip(wrong_counts, curves.mean(1)):
    print(f'{wrong:10} {mean:11.1f} {squares:9.1f} {absolute:16.1f}')

# %% mystnb={"image": {"alt": "Error on held-out patients against the number of bad labels: the curves of squares and of no feature climb steeply, with wide bands; that of absolute values stays flat near 46."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
for k, (label, colour) in enumerate((('no feature', GREY), ('squares', 'C0'), ('absolute values', 'C1'))):
    low, high = np.quantile(curves[:, :, k], (0.1, 0.9), axis=1)
    ax.fill_between(wrong_counts, low, high, color=colour, alpha=0.2, lw=0)
    ax.plot(wrong_counts, curves[:, :, k].mean(axis=1), '.-', color=colour, label=label)
ax.set(xlabel='bad labels among 332', ylabel='mean absolute error', ylim=(0, None), xlim=(0, 33))
label_lines(ax);

# %% [markdown] tags=["caption"]
# With ten bad labels in 332, squares predict worse than the mean does with none. Absolute values keep an error of about 46
# even with 33. Bands hold the middle 16 of 20 splits.

# %% [markdown]
# With clean labels, squares are slightly ahead. With ten bad labels, three in a hundred, they do no better than the
# mean did with clean ones, and absolute values are better in every split. Squares are made for noise in which
# outliers hardly ever occur.
#
# ```{exercise} ★★ Program: how bad must one label be?
# :label: linear_regression-flip
# Derive by how much $y_i$ has to be moved to make the least-squares slope exactly zero. Write `flattening_shift(x, y, i)`.
# ```

# %%
def flattening_shift(x, y, i):
    """What is to be added to y[i] so that the slope is zero: a float.

    x, y: float arrays (n,), n >= 2. i: int from 0 to n - 1, where x[i] is not
    the mean of x.
    flattening_shift(np.array([0., 1.]), np.array([0., 3.]), 1) is -3.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def shift_by_secant(x, y, i):  # the slope is linear in y[i]: two values do
    def slope(shift):
        return LinearRegression().fit(x[:, None], y + shift * np.eye(len(x))[i]).coef_[0]
    return slope(0) / (slope(0) - slope(1))

def off_the_mean(x):
    return on(*np.flatnonzero(abs(x - x.mean()) > 0.1).tolist())

cases = dict(
    x=vectors((2, 8), edges=True).filter(lambda x: np.ptp(x) > 0.5),
    y=lambda x: vectors(len(x), edges=True), i=off_the_mean,
)
grade(flattening_shift, shift_by_secant, **cases)

# %% [markdown]
# ```{solution-start} linear_regression-flip
# :class: dropdown
# ```
# The slope becomes $\big(\sum_k (x_k - \bar{x}) y_k + \delta (x_i - \bar{x})\big) / S$, which is zero for
# $\delta = -\sum_k (x_k - \bar{x}) y_k / (x_i - \bar{x})$. The nearer $x_i$ lies to the mean, the farther its label must move. With
# $x_i$ in place of $x_i - \bar{x}$ the result would depend on where the axis starts. The second wrong answer moves the label
# the other way, and the third moves it to the mean, which flattens nothing if the other labels rise.

# %% jupyter={"source_hidden": true}
def flattening_shift_solution(x, y, i):
    return -((x - x.mean()) @ y) / (x[i] - x.mean())

def from_the_origin(x, y, i):
    return -(x @ y) / x[i] if x[i] else 0.0

def the_other_way(x, y, i):
    return (x - x.mean()) @ y / (x[i] - x.mean())

def to_the_mean(x, y, i):
    return y.mean() - y[i]

assert grade(flattening_shift_solution, shift_by_secant, **cases)
assert not grade(from_the_origin, shift_by_secant, **cases)
assert not grade(the_other_way, shift_by_secant, **cases)
assert not grade(to_the_mean, shift_by_secant, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★★ Program: the best of both
# :label: linear_regression-huber
# Huber's loss {cite}`huber1964robust` is $\tfrac12 r^2$ for $|r| \le k$ and $k |r| - \tfrac12 k^2$ beyond: squares for
# small residuals, absolute values for large ones. Write `huber_fit(X, y, k)`.
# *Hint:* the derivative is $r \cdot c(r)$ with an importance $c(r) \le 1$. Fit with importances, compute them anew from
# the residuals, and repeat. What does a fixed point satisfy?
# ```

# %%
def huber_fit(X, y, k):
    """The weights and then the bias with the least Huber loss: (d + 1,).

    X: float array (n, d); with a column of ones its columns are independent.
    y: float array (n,). k: float >= 1. Entries may be wrong by 1e-5.
    For large k it is the same as np.append(*least_squares(X, y)).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def huber_by_descent(X, y, k):
    X1, loss = torch.tensor(with_ones(X)), torch.nn.HuberLoss(reduction='sum', delta=k)

    def value_and_slope(theta):
        t = torch.tensor(theta, requires_grad=True)
        value = loss(X1 @ t, torch.tensor(y))
        return value.item(), torch.autograd.grad(value, t)[0].numpy()

    return minimize(value_and_slope, np.zeros(X1.shape[1]), jac=True, tol=1e-10).x

def with_outliers(X):
    rare = vectors(len(X), 0, 1).map(lambda u: np.where(u > 0.8, 30.0, 0.0))
    return rare.flatmap(lambda far: vectors(len(X), -3, 3).map(lambda y: y + far))

cases = dict(
    X=matrices((12, 16), (1, 3), -3, 3).filter(lambda X: np.linalg.cond(with_ones(X)) < 20),
    y=with_outliers, k=on(1.0, 2.0, 100.0) | scalars(1, 5),
)
grade(huber_fit, huber_by_descent, **cases, tries=30, atol=1e-5)

# %% [markdown]
# ```{solution-start} linear_regression-huber
# :class: dropdown
# ```
# The derivative is $r$ inside and $k \operatorname{sign}(r)$ outside, so $c(r) = \min(1, k / |r|)$. A fixed point
# solves $\tilde{\mathbf{X}}^\top \mathbf{C} (\tilde{\mathbf{X}} \boldsymbol\theta - \mathbf{y}) = \mathbf{0}$ with the
# $c$ of its own residuals, which says that the gradient of Huber's loss is zero. That loss is convex, so this is a
# minimum. Two rounds, as in the first wrong answer, are not enough. The second ignores $k$, and the third is least squares.

# %% jupyter={"source_hidden": true}
def huber_fit_solution(X, y, k, rounds=1000):
    X1, c = with_ones(X), np.ones(len(y))
    for _ in range(rounds):
        theta = np.linalg.solve(X1.T @ (c[:, None] * X1), X1.T @ (c * y))
        before, c = c, k / np.maximum(k, abs(y - X1 @ theta))
        if abs(c - before).max() < 1e-9:
            break
    return theta

def impatient(X, y, k):
    return huber_fit_solution(X, y, k, rounds=2)

def deaf(X, y, k):
    return huber_fit_solution(X, y, 1.0)

def by_squares(X, y, k):
    return np.append(*least_squares(X, y))

assert grade(huber_fit_solution, huber_by_descent, **cases, tries=30, atol=1e-5)
assert not grade(impatient, huber_by_descent, **cases, tries=30, atol=1e-5)
assert not grade(deaf, huber_by_descent, **cases, tries=30, atol=1e-5)
assert not grade(by_squares, huber_by_descent, **cases, tries=30, atol=1e-5)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def least_absolute(x, y):
    model = QuantileRegressor(alpha=0).fit(x[:, None], y)
    return model.coef_[0], model.intercept_

def sensitive(seed, i, delta, pull):  # one label moves by delta, away from the least-absolute line
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0, 10, 21), rng.normal(size=21)
    w, b = least_absolute(x, y)
    r = y - w * x - b
    i = np.flatnonzero(abs(r) > 1e-6)[i]  # two points lie on the line
    moved = y.copy()
    moved[i] += delta * np.sign(r[i])
    change = least_squares(x[:, None], moved)[0][0] - least_squares(x[:, None], y)[0][0]
    new_w, new_b = least_absolute(x, moved)
    stays = close(abs(moved - new_w * x - new_b).sum(), abs(moved - w * x - b).sum())
    return stays and close(change, (moved - y)[i] * pull(x)[i])

def centred(x):
    return (x - x.mean()) / ((x - x.mean()) ** 2).sum()

holds(
    'dl.loss.outliers',
    lambda seed, i, delta: sensitive(seed, i, delta, centred),
    slip=('forgets to subtract the mean of x', lambda seed, i, delta: sensitive(seed, i, delta, lambda x: x / (x @ x))),
    seed=seeds(), i=integers(0, 18), delta=scalars(1, 1000), tries=25,
)
clean, ten = curves[0].T, curves[wrong_counts.index(10)].T  # (3, 20) each: no feature, squares, absolute values
verify(
    'with ten bad labels absolute values are better than squares in every split',
    lambda split: ten[2, split] < ten[1, split],
    slip=('says so of clean labels', lambda split: clean[2, split] < clean[1, split]),
    split=[*range(20)],
)
verify(
    'with ten bad labels squares are no better on average than the mean of clean ones',
    lambda fit: ten[fit].mean() >= clean[0].mean(),
    slip=('says so of absolute values', lambda fit: ten[fit + 1].mean() >= clean[0].mean()),
    fit=[1],
)

# %% [markdown]
# ## Summary
#
# A linear model predicts the average outcome by a weighted sum of features, for all examples at once by
# $\mathbf{X} \mathbf{w} + b \mathbf{1}$. The mean squared loss is least where the normal equations hold, which we
# solve directly or by gradient descent, and on new examples from the same distribution its best predictor is the conditional
# mean. For the patients, ten features remove about half of the squared error, ten bad labels in 332 undo the gain, and
# absolute values keep it.
#
# **Further reading.** {cite}`hastie2009elements`, chapter 3, on linear regression and its uses; {cite}`boyd2004convex`,
# section 6.1, on what different losses do to residuals; {cite}`huber1964robust`, the beginning of robust statistics;
# {cite}`zhang2023dive`, chapter 3, for a first course with more code.
