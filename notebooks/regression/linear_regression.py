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
# For 442 patients with diabetes we know the age, the sex, the body mass index, the blood pressure and six blood values. One
# year later, the *progression* of the disease was measured, as a number of points from 25 to 346. How can we predict this
# number for a new patient, and how wrong will the prediction be?
#
# - **You need** [matrix products](../linear_algebra/matrix_multiplication.ipynb),
#   [gradients](../calculus/gradients.ipynb), [gradient descent](../optimization/gradient_descent.ipynb) and
#   [conditional expectations](../probability/expectations.ipynb).
# - **You build** the linear model and its squared loss. You find the best weights by a formula and by gradient descent, compare
#   them with those of scikit-learn and PyTorch, and you fit a line that wrong labels hardly change.
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
# Let us begin with one measurement, the body mass index. As a rule of thumb, we predict ten times the index, minus 110. The
# **residual** is the prediction minus the observed number. Here are the first four patients {cite}`efron2004least`:

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
# Each grey dot is a patient, the line is the rule of thumb. The blue dots are the averages of ten groups with similar body
# mass index, ± two standard errors. Many patients lie far from the line, but the averages lie near it.

# %% [markdown]
# In general there are $d$ measurements $x_1, \dots, x_d$, the **features**. Each feature $x_j$ has a **weight** $w_j$. If $x_j$
# grows by one unit and nothing else changes, the prediction changes by $w_j$. The **bias** $b$ is the prediction when all
# features are zero. In the rule of thumb, the weight is 10 and the bias is −110.
#
# The prediction is written $\hat{y}$. For $n$ examples, we put the features into the rows of a **design matrix**
# $\mathbf{X} \in \mathbb{R}^{n \times d}$. Then one matrix product gives the vector $\hat{\mathbf{y}}$ of all $n$ predictions:
#
# ```{math}
# :label: dl.linreg.predict
# \hat{y} = \mathbf{w}^\top \mathbf{x} + b , \qquad \hat{\mathbf{y}} = \mathbf{X} \mathbf{w} + b \mathbf{1} .
# ```
#
# Here $\mathbf{1}$ is the vector of $n$ ones. The code does not need this vector, because NumPy adds a number to each entry of
# an array:

# %%
def predict(X, w, b):
    return X @ w + b  # (n, d), (d,), () -> (n,)

# %% [markdown]
# For example, here are four predictions from the body mass index and the blood pressure, with the weights 8 and 1.5 and the
# bias −200:

# %%
two = X[:, [names.index('bmi'), names.index('bp')]]  # bp: blood pressure
print(predict(two[:4], w=np.array([8.0, 1.5]), b=-200.0))

# %% [markdown]
# ```{admonition} A tempting mistake
# :class: tip
# The observed numbers are called **targets** or **labels**. Suppose that they are stored as a column of shape $(442, 1)$. Then
# $\hat{\mathbf{y}} - \mathbf{y}$ is not a vector, but a matrix with the difference of each prediction and each target. There is no
# error message, and the mean of the squares is wrong:
# ```

# %%
y_hat = predict(bmi[:, None], np.array([10.0]), -110.0)
column = y[:, None]  # (442, 1)
for name, target in ('vector', y), ('column', column):
    residuals = y_hat - target
    print(f'targets as a {name}: shape of the difference {residuals.shape},'
          f' mean square {(residuals**2).mean():.0f}')

# %% [markdown]
# ### What a linear model claims
#
# Patients with the same features do not all have the same progression. A linear model is a statement about their *average*.
# Choose a patient at random. Let $X$ be the features (not the matrix $\mathbf{X}$), and $Y$ the progression. The model claims that the average of $Y$ over all
# patients with the features $\mathbf{x}$ is a weighted sum plus the bias:
#
# ```{math}
# :label: dl.linreg.cond-exp
# \mathbb{E}[Y \mid X = \mathbf{x}] = w_1 x_1 + \dots + w_d x_d + b
# ```
#
# This is an assumption, and you can test it. Sort the patients into groups with similar features, and compare the average of
# each group with the prediction. In the figure, the averages of the ten groups lie near the line.

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
# Which weights are best? A **loss function** measures the distance between the target $y^{(i)}$ and the prediction
# $\hat{y}^{(i)}$ of example $i$. The usual loss for regression is half the squared residual. It is
# never negative, and zero only if the prediction is equal to the target:
#
# ```{math}
# :label: dl.loss.sq
# l^{(i)}(\mathbf{w}, b) = \tfrac{1}{2} \big(\hat{y}^{(i)} - y^{(i)}\big)^2
# ```
#
# The factor $\tfrac12$ does not change which weights are best. It makes the derivative equal to the residual:
#
# ```{math}
# :label: dl.loss.half
# \frac{\mathrm{d}}{\mathrm{d} \hat{y}} \, \tfrac12 (\hat{y} - y)^2 = \hat{y} - y
# ```
#
# The loss of a data set is the mean of the losses of its examples:
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

# %% [markdown]
# We compare the rule of thumb with two other predictions. One uses the weight 12 in place of 10, and one predicts the mean of
# $y$ for all patients:

# %%
print(f'weight 10, bias -110:  {mean_loss(10 * bmi - 110, y):7.1f}')
print(f'weight 12, bias -110:  {mean_loss(12 * bmi - 110, y):7.1f}')
print(f'always the mean of y:  {mean_loss(y.mean(), y):7.1f}')

# %% [markdown]
# (dl.loss.large-diff)=
# If a residual is twice as large, its squared loss is four times as large. So a few large residuals make up much of the loss.
# ([Gaussian noise](gaussian_noise.ipynb) explains why squares are still the usual choice.) For example, take the 44
# patients with the largest residuals, a tenth of all. What is their share of the sum of all squares, and of the sum of
# all absolute values?

# %%
r = 10 * bmi - 110 - y
largest = np.sort(abs(r))[-44:]
print(f'share of the squares:         {(largest**2).sum() / (r**2).sum():.2f}')
print(f'share of the absolute values: {largest.sum() / abs(r).sum():.2f}')

# %% mystnb={"image": {"alt": "Left: the squared loss is a parabola, flatter than the absolute value near zero and steeper beyond one. Right: its derivative is a straight line, that of the absolute value a jump from -1 to 1."}} tags=["hide-input"]
t = np.linspace(-3, 3, 301)
fig, (left, right) = panels(2, height=2.6)
left.plot(t, squared_loss(t, 0))
left.plot(t, abs(t))
left.text(2.9, 4.3, 'r²/2', color='C0', ha='right')
left.text(1.2, 1.9, '|r|', color='C1', ha='right')
left.set(xlabel='residual r', title='loss')
right.plot(t, t)
right.plot(t, np.where(abs(t) < 0.01, np.nan, np.sign(t)))
right.text(2.3, 2.7, 'r', color='C0', ha='right')
right.text(2.9, 0.55, 'sign r', color='C1', ha='right')
right.set(xlabel='residual r', title='derivative of the loss');

# %% [markdown] tags=["caption"]
# Left: half the square of a residual $r$, and its absolute value. Right: their derivatives. The derivative of $r^2/2$ grows with
# the residual, so a large residual has a large influence on the best weights. The derivative of $|r|$ has the same size
# everywhere.

# %% [markdown]
# ### The normal equations
#
# To train a linear model is to find the weights and the bias with the least loss:
#
# ```{math}
# :label: dl.loss.argmin
# (\mathbf{w}^*, b^*) = \operatorname*{arg\,min}_{\mathbf{w},\, b} \; L(\mathbf{w}, b)
# ```
#
# For the bias we use a trick. We give each example one more feature, which is always 1. The weight of this feature is the bias.
# So let $\tilde{\mathbf{X}} = [\mathbf{X} \;\, \mathbf{1}]$ and $\boldsymbol\theta = (\mathbf{w}, b)$. Then the predictions are
# $\tilde{\mathbf{X}} \boldsymbol\theta$. The loss and, by the chain rule, its gradient are
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
# In other words, $\tilde{\mathbf{X}}^\top (\tilde{\mathbf{X}} \boldsymbol\theta^* - \mathbf{y}) = \mathbf{0}$: the residuals are
# orthogonal to each column of $\tilde{\mathbf{X}}$. Because one column is $\mathbf{1}$, the residuals have mean zero. The other
# columns say that the residuals are uncorrelated with each feature.

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
# The best line is close to the rule of thumb. Now we take all ten features. In the data, `bmi` is the body mass index and `bp`
# the blood pressure. The six blood values are total cholesterol (`s1`), LDL cholesterol (`s2`), HDL cholesterol (`s3`), the
# ratio of total to HDL cholesterol (`s4`), the logarithm of the triglycerides (`s5`) and blood sugar (`s6`).
#
# The features have different units, so their weights cannot be compared. Therefore we **standardize** each feature: we
# subtract its mean and divide by its standard deviation. Then a weight is the change of the prediction, in points, when the
# feature grows by one standard deviation.

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
# The linear model of all ten features as a single neuron. The numbers are the weights, and a thicker line
# is a weight of larger size. The weights of `s1` and `s5` have the largest size, that of age is nearly zero.

# %% [markdown]
# ### Gradient descent, scikit-learn and PyTorch
#
# [Gradient descent](../optimization/gradient_descent.ipynb) finds the same weights. It also works for models for which no formula
# gives the minimum. In each step we subtract a multiple $\eta$ of the gradient from the weights and the bias. Let
# $\mathbf{r} = \hat{\mathbf{y}} - \mathbf{y}$ be the residuals. The gradient with respect to $\mathbf{w}$ is
# $\frac1n \mathbf{X}^\top \mathbf{r}$, and the derivative with respect to $b$ is the mean of $\mathbf{r}$:

# %%
def gradient_descent(X, y, eta, steps):
    w, b = np.zeros(X.shape[1], X.dtype), 0.0
    for _ in range(steps):
        r = predict(X, w, b) - y  # (n,)
        w = w - eta * (X.T @ r) / len(y)
        b = b - eta * r.mean()
    return w, b

# %% [markdown]
# In PyTorch the linear model is the layer `nn.Linear`, and `backward` computes the gradient:

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

# %% [markdown]
# The four ways give the same weights and the same bias. The table shows four of the ten weights:

# %%
print('                     bmi      bp      s1      s5     bias')
for name, (weights, intercept) in fits.items():
    shown = ''.join(f'{weights[names.index(feature)]:8.2f}'
                    for feature in ('bmi', 'bp', 's1', 's5'))
    print(f'{name:16}{shown}{intercept:9.2f}')

# %% [markdown]
# In practice you call `LinearRegression`. It uses a method that is more accurate than the normal equations (see
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
# Each example has an importance $c_i > 0$. We look for the weights and the bias with the smallest
# $\sum_i c_i \cdot \tfrac12 (\hat{y}^{(i)} - y^{(i)})^2$. Derive the normal equations and write `weighted_fit(X, y, c)`.
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
# We know the targets of these 442 patients already. What we want is a small error on *new* patients from the same
# distribution. So the weights and the bias that we would like to have are
#
# ```{math}
# :label: dl.linreg.goal
# (\mathbf{w}_{\text{best}}, b_{\text{best}}) = \operatorname*{arg\,min}_{\mathbf{w},\, b} \;
# \mathbb{E}\Big[\tfrac12 \big(\mathbf{w}^\top X + b - Y\big)^2\Big] .
# ```
#
# How is this goal related to the average in {eq}`dl.linreg.cond-exp`? We call this average $m(\mathbf{x})$ and compare it with any
# other predictor $f$:
#
# ````{prf:theorem} The best predictor under squared loss
# :label: thm-conditional-mean
# Let $m(\mathbf{x}) = \mathbb{E}[Y \mid X = \mathbf{x}]$, and let $f(X)$ be a prediction of $Y$. If $Y$ and $f(X)$ have finite second
# moments, then
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
# The first term on the right is the same for all predictors $f$. The second term is the squared distance of $f$ from $m$,
# *averaged over the inputs* $X$. It is least for $f = m$, so the best predictor is the average $m$.
#
# If $m$ is not linear, no line is equal to $m$. Then the best line depends on the distribution of the inputs: it is close to
# $m$ where inputs are frequent. For example, let $m(x) = x^2$, and fit a line to inputs between 0 and 1. We print the
# root-mean-square distance of the line from $m$ on two intervals:

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
# The line was fitted to the grey points, whose inputs lie between 0 and 1. There it is close to $m(x) = x^2$. For larger $x$,
# where there were no points, it is far from $m$.

# %% [markdown]
# Now back to the patients. We have no new patients, so we hold out a quarter of the 442, chosen at random. We fit the model to
# the others and predict the held-out patients. The error is the root of the mean squared residual, in points. We repeat this
# for 100 random splits and print the mean error ± its standard deviation over the splits. For comparison, the model without
# any feature predicts the mean of the training targets for all patients:

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
    print(f'{name:10} error {errors[name].mean():.1f}'
          f' ± {errors[name].std():.1f}')

# %% [markdown]
# In some splits, the held-out patients are hard to predict for all models. Therefore we compare the models within each split.
# We also compute what fraction of the mean squared error disappears if we use all ten features:

# %%
pairs = [('no feature', 'bmi'), ('bmi', 'bmi, bp'), ('bmi, bp', 'all ten')]
for worse, better in pairs:
    wins = (errors[better] < errors[worse]).sum()
    print(f'{better:8} better than {worse:10} in {wins:3} of 100 splits')
removed = 1 - (errors['all ten'] / errors['no feature']) ** 2
print(f'all ten remove {removed.mean():.2f} ± {removed.std():.2f}'
      ' of the squared error')

# %% [markdown]
# So the ten features remove about half of the squared error. A prediction from them is typically wrong by about 55 points, and one without
# features by about 77.
#
# How much would the weights differ if we had examined 442 other patients? We imitate such patients by the **bootstrap**: we draw
# 442 times from our patients, with replacement, and fit the model to the patients drawn. We do this 100 times and print the
# standard deviation of some weights:

# %%
def resampled_weights(seed):
    drawn = np.random.default_rng(seed).integers(len(y), size=len(y))
    return least_squares(Z[drawn], y[drawn])[0]  # (10,)

weights = np.array([resampled_weights(seed) for seed in range(100)])
s1, s2 = weights[:, 4], weights[:, 5]
for name, weight in {'bmi': weights[:, 2], 's1': s1, 's2': s2,
                     's1 + s2': s1 + s2}.items():
    print(f'weight of {name:8} standard deviation {weight.std():4.1f}')
print(f'correlation of s1 and s2 in patients {np.corrcoef(Z.T)[4, 5]:.2f}')

# %% mystnb={"image": {"alt": "Ten columns of dots, one for each weight, a dot for each sample: narrow for age, sex, bmi and bp, very wide for s1 and s2, wide for s3, s4 and s5."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.8))
spots = np.random.default_rng(0).uniform(-0.25, 0.25, (100, 1)) + np.arange(10)
ax.plot(spots, weights, '.', color='C0', ms=3, alpha=0.5)
ax.axhline(0, color=GREY, lw=0.8)
ax.set(xticks=range(10), xticklabels=names, ylabel='weight per\nstandard deviation', title='one dot a bootstrap sample');

# %% [markdown] tags=["caption"]
# The ten weights in 100 bootstrap samples. The weight of the body mass index changes little from sample to sample. The weights of
# `s1` and `s2`, two features with a correlation of 0.90, change much.

# %% [markdown]
# Patients with much total cholesterol (`s1`) mostly have much LDL cholesterol (`s2`), too. Therefore a larger weight of one
# can be offset by a smaller weight of the other. The sum of the two weights changes much less than each of them. So even if
# a model predicts well, a single weight may mean little. [Ridge regression](ridge_regression.ipynb) keeps such weights small.
#
# ```{exercise} ★★ Experiment: do more features help?
# :label: linear_regression-noise
# Add $k$ columns of random numbers to the ten features, for $k = 0$, 50 and 200. First predict: does the error on the
# training patients fall or rise if $k$ grows from 0 to 200? And the error on the held-out patients? Return two words, each
# `'falls'` or `'rises'`. Then program the experiment and explain its result.
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
# The largest residuals have the largest influence on the best line, even if they come from mistakes. Here are 21 points near a
# rising line. In a second copy of the labels, one label is wrong: it is 25 too small. We fit lines to both copies, first by
# least squares and then by least **absolute values**, which minimizes the sum of $|\hat{y} - y|$:

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
# The arrow shows how the wrong label was moved. The least-squares line of the good labels (dashed) rises. With the wrong
# label, the least-squares line falls, but the line of least absolute values stays with the other twenty points.

# %% [markdown]
# (dl.loss.outliers)=
# How far can one label move the line? Let $\bar{x}$ be the mean of all $x_i$, and $S = \sum_i (x_i - \bar{x})^2$. By the normal
# equations, the least-squares slope is $w^* = \sum_i (x_i - \bar{x})\, y_i / S$. If $y_i$ moves by $\delta$, the slope moves by
# $\delta\, (x_i - \bar{x}) / S$. This is proportional to $\delta$. So one wrong label can give the line any slope, unless
# $x_i = \bar{x}$. With absolute values, only the signs of the residuals matter. As long as a label stays on its side of
# the line, the line remains a best one, however far the label moves.
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
# Absolute values do not protect the line from a wrong *feature*. If we add 300 to one $x_i$, both slopes become nearly zero:

# %%
far = x.copy()
far[i] += 300
(w_squares,), _ = least_squares(far[:, None], good)
w_absolute = QuantileRegressor(alpha=0).fit(far[:, None], good).coef_[0]
print(f'one bad feature: slope by squares {w_squares:.4f},'
      f' by absolute values {w_absolute:.4f}')

# %% [markdown]
# How much do wrong labels matter for the patients? Suppose that in a few of the 332 training labels the decimal point was
# shifted, so that these labels are ten times too large. The labels of the held-out patients remain right. The error is now the
# mean absolute residual, in points, averaged over 20 splits. The model without features predicts the mean of
# the training labels:

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
# The error on held-out patients, as a mean over 20 splits. The bands contain the middle 16 splits. With absolute values the
# error stays near 46, even with 33 bad labels. With squares it grows.

# %% [markdown]
# With clean labels, squares have a slightly smaller error than absolute values. With ten bad labels, three in a hundred, their
# error is 70.3. This is more than 66.4, the error of the mean of clean labels. With these bad labels, absolute values have the smaller
# error in every split. So use squares only if outliers hardly ever occur.
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

# %% tags=["checks"]
def by_pairs(x, labels):  # a line of least absolute residuals passes through two of the points
    i, j = np.triu_indices(len(x), 1)
    w = (labels[j] - labels[i]) / (x[j] - x[i])
    b = labels[i] - w * x[i]
    best = abs(labels - np.outer(w, x) - b[:, None]).sum(1).argmin()
    return w[best], b[best]

def two_routes(name, absolute):
    labels = {'good': good, 'bad': bad}[name]
    found = lines(labels)
    return (close(found['squares'], np.polyfit(x, labels, 1))
            and close(found['absolute values'], absolute(x, labels)))

verify(
    'the lines are those of polyfit and of the best pair of points',
    lambda name: two_routes(name, by_pairs),
    slip=('takes squares for both', lambda name: two_routes(name, lambda x, labels: np.polyfit(x, labels, 1))),
    name=['good', 'bad'],
)
verify(
    'one bad label turns the line of squares, and the other keeps its slope within a tenth',
    lambda kind: lines(good)['squares'][0] > 0 > lines(bad)['squares'][0]
    and abs(lines(bad)[kind][0] / lines(good)[kind][0] - 1) < 0.1,
    slip=('says so of the line of squares', lambda kind: abs(lines(bad)['squares'][0] / lines(good)[kind][0] - 1) < 0.1),
    kind=['absolute values'],
)

# %% [markdown]
# ## Summary
#
# A linear model predicts the average target by a weighted sum of the features plus a bias,
# $\mathbf{X} \mathbf{w} + b \mathbf{1}$ for all examples at once. The mean squared loss is least where the normal equations hold.
# We solve these equations directly, or we find the same weights by gradient descent. For the patients, ten features remove
# about half of the squared error on held-out patients. With ten bad labels in 332, absolute values predict better than
# squares.
#
# **Further reading.** {cite}`hastie2009elements`, chapter 3, on linear regression and its uses; {cite}`boyd2004convex`,
# section 6.1, on what different losses do to residuals; {cite}`huber1964robust`, the beginning of robust statistics;
# {cite}`zhang2023dive`, chapter 3, for a first course with more code.
