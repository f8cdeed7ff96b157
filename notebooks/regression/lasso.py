# ---
# jupyter:
#   book:
#     functions:
#       F: F(normal(3), normal(20, 3), normal(20), 0.1)
#       ridge: ridge(normal(20, 3), normal(20), 0.5)
#       gap_terms: gap_terms(normal(3), normal(20), normal(20, 3), normal(20), 0.1)
#       soft: soft(normal(5), 0.5)
#       sweep: '[w := normal(3), sweep(w, normal(20, 3), normal(20), 0.1) is None]'
#       certificate: certificate(normal(3), normal(20, 3), normal(20), 0.1)
#       coordinate_descent: coordinate_descent(normal(20, 3), normal(20), 0.1, tol=1e-5)
#       proved_zeros: proved_zeros(0 * normal(3), normal(20, 3), normal(20), 9.0)
#       proximal_walk: 'proximal_walk(lambda w: w - 1, lambda v, gamma: soft(v, gamma / 5), 1.0, normal(3), 9, 1)'
#       lasso_walk: lasso_walk(normal(20, 3), normal(20), 0.1, 9, 1)
#       path: path(normal(20, 3), normal(20), [0.5, 0.1], tol=1e-5)
#     main: ml.reg.lasso.objective
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The lasso
#
# A table holds ten measurements of 160 diabetes patients, and ninety more columns that look the same but belong to other
# patients. Which columns does a good prediction need? Least squares and ridge regression give every column a weight. How can
# minimizing a sum answer "not this one", with a weight that is not small but zero?
#
# - **You need** [ridge regression](ridge_regression.ipynb), [subgradients](../optimization/subgradients.ipynb) and
#   [projections](../optimization/projected_gradient_descent.ipynb).
# - **You build** coordinate descent that knows how far it is from the minimum, FISTA, the whole path of solutions, and a
#   trial with ninety useless columns.
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
import matplotlib.pyplot as plt
import numpy as np
from numpy.linalg import eigvalsh, lstsq, norm, pinv, qr, solve, svd
from scipy.optimize import brentq, minimize
from scipy.special import j1, jnp_zeros
from sklearn.linear_model import ElasticNet, Lasso, lars_path, lasso_path

from nbutils.cases import counted, matrices, on, scalars, seeds, square_matrices, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.data import diabetes
from nbutils.figures import GREY, label_lines, panels

plt.style.use('nbutils.book')

def case(seed, N=12, d=4):  # a random problem, columns of unequal length
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, d)) * rng.uniform(0.5, 2, d)
    return X, 2 * rng.normal(size=N), rng.uniform(0.05, 0.9)

# %% [markdown]
# ## The lasso: an L1 penalty that sets weights to zero
#
# We take two blood values, s3 and s5, of thirty patients, and fit them in three ways: by least squares, by
# [ridge regression](ridge_regression.ipynb), and by scikit-learn's `Lasso`.

# %%
X, y, _ = diabetes()
few = np.random.default_rng(1).permutation(442)[:30]
A, b = X[few][:, [6, 8]], y[few] - y[few].mean()
A = (A - A.mean(axis=0)) / A.std(axis=0)  # (30, 2)

# %%
def by_library(X, y, alpha):
    return Lasso(alpha, fit_intercept=False, tol=1e-14,
                 max_iter=100_000).fit(X, y).coef_

def ridge(X, y, alpha):
    one = np.eye(X.shape[1], dtype=X.dtype)
    return solve(X.T @ X + alpha * one, X.T @ y)

# %%
least, corner = lstsq(A, b)[0], by_library(A, b, 16)
print('least squares', least.round(1))
print('ridge        ', ridge(A, b, 10).round(1))
print('lasso        ', corner.round(1) + 0)

# %% [markdown]
# Only the lasso sets a weight to zero. Is this an accident? We disturb the targets 200 times:

# %%
draws = b + 10 * np.random.default_rng(2).normal(size=(200, 30))
by_lasso = sum(by_library(A, t, 16)[0] == 0 for t in draws)
by_ridge = sum(ridge(A, t, 10)[0] == 0 for t in draws)
print(f's3 is zero in {by_lasso} of 200 by the lasso, in {by_ridge} by ridge')

# %% [markdown]
# The reason is the penalty. For ridge regression, a weight of $\varepsilon$ costs $\varepsilon^2$, next to nothing, while a
# feature that has anything to say lowers the loss in proportion to $\varepsilon$. So every weight moves away from zero. To
# keep a weight at zero, the penalty must grow in proportion, too. The **lasso** {cite}`tibshirani1996regression` takes
# $|w_i|$:
#
# ```{math}
# :label: ml.reg.lasso.objective
# \begin{gathered}
# \min_{\mathbf{w}} \; \frac1N \sum_{n=1}^N |y_n - \mathbf{x}_n^\top \mathbf{w}|^2 + \lambda \|\mathbf{w}\|_1 , \\
# \text{where} \quad \|\mathbf{w}\|_1 := \sum_i |w_i| .
# \end{gathered}
# ```
#
# We halve the objective and put $\alpha = \lambda/2$, which is scikit-learn's convention:
#
# ```{math}
# :label: lasso-objective
# F(\mathbf{w}) = \frac{1}{2N} \|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2 + \alpha \|\mathbf{w}\|_1 \qquad (\alpha > 0) .
# ```
#
# A minimum exists, since $F$ is continuous and grows beyond all bounds with $\|\mathbf{w}\|_1$.

# %%
def F(w, X, y, alpha):
    return norm(y - X @ w) ** 2 / (2 * len(y)) + alpha * abs(w).sum()

# %% [markdown]
# A penalty acts like a limit: no weights with the same $\|\mathbf{w}\|_1$ or less have a smaller loss than the minimizer, since
# their $F$ would be smaller, too. For two weights this set is a square that stands on a corner. The loss has elliptic level
# lines around the least-squares weights. The first ellipse that reaches the square often meets it at a corner, where one
# weight is zero. The circle of ridge regression has no corners.

# %% mystnb={"image": {"alt": "Left: an ellipse around the least-squares weights touches the tip of a square standing on its corner, where the first weight is zero, and touches a circle at a point off both axes. Right: a hexagon in the plane of two targets; each target outside is joined to its nearest point of the hexagon. Targets nearest to an edge use one feature, those nearest to a vertex two, those inside none."}} tags=["hide-input"]
excess = lambda w: norm(A @ (w - least)) ** 2
level = excess(corner)
on_circle = ridge(A, b, brentq(lambda p: excess(ridge(A, b, p)) - level, 0, 100))
w1, w2 = np.meshgrid(np.linspace(-60, 60, 121), np.linspace(-48, 92, 141))
steps = np.stack([w1 - least[0], w2 - least[1]]).reshape(2, -1)
bowl = ((A @ steps) ** 2).sum(axis=0).reshape(w1.shape)

spokes = np.radians([12, 70, 140])
B = (np.array([[1.0], [0.8], [1.3]]) * np.stack(
    [np.cos(spokes), np.sin(spokes)], axis=1)).T  # 2 examples, 3 features
turn = np.linspace(0, 2 * np.pi, 721)
circle = np.stack([np.cos(turn), np.sin(turn)])
polygon = circle / abs(B.T @ circle).max(axis=0)  # N alpha = 1
targets = np.random.default_rng(3).uniform(-2.6, 2.6, (70, 2))
fits = [by_library(B, t, 0.5) for t in targets]
left_over = np.array([t - B @ w for t, w in zip(targets, fits, strict=True)])
used = np.array([(w != 0).sum() for w in fits])
fig, (ax, right) = panels(2, height=3.2)
ax.contour(w1, w2, bowl, level * np.array([0.3, 1, 3]), colors=GREY,
           linewidths=0.9)
size = abs(corner).sum() * np.array([[0, 1, 0, -1, 0], [1, 0, -1, 0, 1]])
ax.plot(*size, 'C0', lw=1.4)
ax.plot(*(norm(on_circle) * circle), 'C2', lw=1.2)
for w, look, name in ((least, 'C4*', 'least squares'),
                      (corner, 'C0o', 'lasso'), (on_circle, 'C2s', 'ridge')):
    ax.plot(*w, look, label=name)
ax.axhline(0, color=GREY, lw=0.5)
ax.axvline(0, color=GREY, lw=0.5)
ax.set(xlabel='weight of s3', ylabel='weight of s5', aspect='equal')
ax.legend(fontsize=8, ncols=3, loc='lower center', bbox_to_anchor=(0.4, 1),
          columnspacing=0.6, handletextpad=0.1)
right.fill(*polygon, color='C0', alpha=0.15, lw=0)
for k in range(3):
    t, r = targets[used == k].T, left_over[used == k].T
    right.plot([t[0], r[0]], [t[1], r[1]], f'C{k}', lw=0.7)
    right.plot(*t, f'C{k}o', ms=3.5, label=f'{k} features')
right.plot(*polygon, color=GREY, lw=1)
right.set(xlabel='$y_1$', ylabel='$y_2$', aspect='equal')
right.legend(fontsize=8, ncols=3, loc='lower center', bbox_to_anchor=(0.5, 1),
             columnspacing=0.6, handletextpad=0.1);

# %% [markdown] tags=["caption"]
# Left: where a level line first meets the lasso's square, the weight of s3 is zero; on ridge's circle it is not. Right: a
# nearest point on an edge means one feature, at a corner two.

# %% [markdown]
# ### Why the zeros are stable: the dual problem
#
# The right panel shows the space of the *targets*, for two examples and three features. Let $\mathbf{X}_j$ be the columns of
# $\mathbf{X}$. By {eq}`subgradients-lasso-optimal`, the residual of a minimizer correlates with no feature by more than
# $N\alpha$. Let $C$ contain all such vectors. The function $D$ is to bound $F$ from below:
#
# ```{math}
# :label: lasso-polyhedron
# \begin{aligned}
# C &= \{ \mathbf{z} \in \mathbb{R}^N : |\mathbf{X}_j^\top \mathbf{z}| \le N\alpha \text{ for all } j \} , \\
# D(\mathbf{z}) &= \tfrac{1}{2N} \big( \|\mathbf{y}\|^2 - \|\mathbf{y} - \mathbf{z}\|^2 \big) .
# \end{aligned}
# ```
#
# ````{prf:theorem} The gap is a sum of violations
# :label: thm-lasso-gap
# For every $\mathbf{w}$ and every $\mathbf{z} \in C$,
# ```{math}
# :label: lasso-gap
# \begin{aligned}
# N \big( F(\mathbf{w}) - D(\mathbf{z}) \big) = {} & \tfrac12 \|\mathbf{y} - \mathbf{X}\mathbf{w} - \mathbf{z}\|^2 \\
# & + \sum_j \big( N\alpha |w_j| - w_j \mathbf{X}_j^\top \mathbf{z} \big) ,
# \end{aligned}
# ```
# and no term on the right is negative. All vanish if and only if $\mathbf{w}$ is a minimizer of $F$ and $\mathbf{z}$
# its residual. This residual is the point of $C$ nearest to $\mathbf{y}$, the same for all minimizers.
# ````
#
# ````{prf:proof}
# :class: dropdown
# With $\mathbf{r} = \mathbf{y} - \mathbf{X}\mathbf{w}$,
#
# $$ \begin{aligned}
# \tfrac12 \|\mathbf{r} - \mathbf{z}\|^2 - \mathbf{z}^\top\mathbf{X}\mathbf{w}
# &= \tfrac12\|\mathbf{r}\|^2 + \tfrac12\|\mathbf{z}\|^2 - \mathbf{z}^\top(\mathbf{r} + \mathbf{X}\mathbf{w}) \\
# &= \tfrac12\|\mathbf{r}\|^2 - \tfrac12 \big( \|\mathbf{y}\|^2 - \|\mathbf{y} - \mathbf{z}\|^2 \big) ,
# \end{aligned} $$
#
# as $\mathbf{r} + \mathbf{X}\mathbf{w} = \mathbf{y}$. Add $N\alpha\|\mathbf{w}\|_1$ on both sides: that is
# {eq}`lasso-gap`, and its terms are not negative since $|w_j \mathbf{X}_j^\top\mathbf{z}| \le N\alpha|w_j|$. All vanish
# if and only if $\mathbf{z} = \mathbf{r} \in C$ and $\mathbf{X}_j^\top\mathbf{r} = N\alpha\operatorname{sign} w_j$
# wherever $w_j \ne 0$. These are the conditions {eq}`subgradients-lasso-optimal` for a minimum, necessary and
# sufficient. So the residual $\mathbf{r}^*$ of any minimizer attains $D(\mathbf{r}^*) = \min F \ge D(\mathbf{z})$ for
# all $\mathbf{z} \in C$. To maximize $D$ is to minimize $\|\mathbf{y} - \mathbf{z}\|$, and a closed convex set has just
# one nearest point.
# ````
#
# So the residual $\mathbf{r}^*$ of the lasso is the nearest point of a polyhedron, which has two sides for each feature,
# $\mathbf{X}_j^\top\mathbf{z} = \pm N\alpha$. The feature is used only if $\mathbf{r}^*$ lies on one of them. In the picture,
# the edges of the hexagon belong to one feature, its corners to two. If the target moves, the nearest point moves no further.
# So after a small move it is still away from a side that it did not touch, and the weight is still zero:
#
# ````{prf:theorem} Zeros hold
# :label: thm-lasso-zeros
# If $|\mathbf{X}_j^\top\mathbf{r}^*| < N\alpha$ and $\mathbf{X}_j \ne \mathbf{0}$, then $w_j = 0$ in every minimizer,
# and it remains so for all targets $\mathbf{y}'$ with
#
# $$ \|\mathbf{y}' - \mathbf{y}\| < \frac{N\alpha - |\mathbf{X}_j^\top\mathbf{r}^*|}{\|\mathbf{X}_j\|} . $$
# ````
#
# ````{prf:proof}
# :class: dropdown
# If $w_j \ne 0$, then $|\mathbf{X}_j^\top\mathbf{r}^*| = N\alpha$. For the rest, let $\mathbf{r}'$ be the residual that
# belongs to $\mathbf{y}'$. Projections onto convex sets [lengthen no
# distance](../optimization/projected_gradient_descent.ipynb), so
# $\|\mathbf{r}' - \mathbf{r}^*\| \le \|\mathbf{y}' - \mathbf{y}\|$ and $|\mathbf{X}_j^\top\mathbf{r}'| \le
# |\mathbf{X}_j^\top\mathbf{r}^*| + \|\mathbf{X}_j\| \, \|\mathbf{y}' - \mathbf{y}\| < N\alpha$.
# ````
#
# If $\mathbf{X}_j \ne \mathbf{0}$, its weight in ridge regression is a linear function of $\mathbf{y}$ that is zero on a
# hyperplane only. Targets with a density meet it with probability 0.

# %%
def gap_terms(w, z, X, y, alpha):  # sum N (F(w) - D(z)), all >= 0
    fit = norm(y - X @ w - z) ** 2 / 2
    return np.append(fit, len(y) * alpha * abs(w) - w * (X.T @ z))

# %% [markdown]
# ```{exercise} ★ Pencil: orthogonal features
# :label: lasso-orthogonal
# Let $\mathbf{X}^\top\mathbf{X} = N\mathbf{I}$. Solve the lasso with a formula: write `orthogonal_lasso(X, y, alpha)`.
# ```

# %%
def orthogonal_lasso(X, y, alpha):
    """The weights that minimize F: a float array (d,).

    X: float array (N, d) with X.T @ X = N * np.eye(d). y: float array (N,).
    alpha: float > 0. At most three lines may run, and no library's lasso.
    For X = [[1.], [-1.]], y = [4., 0.] and alpha = 0.5 the result is [1.5].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def orthogonal_by_descent(X, y, alpha):
    return Lasso(alpha, fit_intercept=False, tol=1e-14, max_iter=100_000).fit(X, y).coef_

shapes = matrices((4, 8), (1, 4), edges=True) | matrices(1, 1) | square_matrices(3)
cases = dict(
    X=shapes.map(lambda A: len(A) ** 0.5 * qr(A)[0]), y=lambda X: vectors(len(X), edges=True),
    alpha=on(0.5, 2.0) | scalars(0.01, 5),
)
formula = dict(lines=3, without=['sklearn.linear_model.ElasticNet.fit', 'sklearn.linear_model.lasso_path'])
grade(orthogonal_lasso, orthogonal_by_descent, **cases, **formula)

# %% [markdown]
# ```{solution-start} lasso-orthogonal
# :class: dropdown
# ```
# The loss is $\frac12\|\mathbf{w} - \mathbf{v}\|^2$ plus a constant, with the least-squares weights
# $\mathbf{v} = \frac1N\mathbf{X}^\top\mathbf{y}$. So the lasso is a single proximal step, the [soft
# threshold](../optimization/subgradients.ipynb) {eq}`subgradients-soft` of $\mathbf{v}$. It is tempting to delete the small
# weights and to keep the others whole. That solves another problem, in which every feature that is used costs the same,
# $\alpha^2 / 2$. The second wrong answer forgets the negative weights, and the third shrinks as ridge regression does.

# %% jupyter={"source_hidden": true}
def orthogonal_lasso_solution(X, y, alpha):
    v = X.T @ y / len(y)
    return np.sign(v) * np.maximum(abs(v) - alpha, 0)

def kept_whole(X, y, alpha):
    v = X.T @ y / len(y)
    return np.where(abs(v) > alpha, v, 0)

def no_negative_weights(X, y, alpha):
    return np.maximum(X.T @ y / len(y) - alpha, 0)

def as_ridge(X, y, alpha):
    return X.T @ y / len(y) / (1 + alpha)

assert grade(orthogonal_lasso_solution, orthogonal_by_descent, **cases, **formula)
assert not grade(kept_whole, orthogonal_by_descent, **cases, **formula)
assert not grade(no_negative_weights, orthogonal_by_descent, **cases, **formula)
assert not grade(as_ridge, orthogonal_by_descent, **cases, **formula)
assert not grade(by_library, orthogonal_by_descent, **cases, **formula)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: copies and units
# :label: lasso-units
# Fit the ten standardized features of all patients by the lasso, $\alpha = 5$. Then change bmi: (A) put ten equal columns
# in its place, (B) multiply it by 100, (C) divide it by 100. How does what bmi adds to the prediction change? Predict,
# then measure.
# ```

# %%
def predicted_changes():
    """For A, B and C, each 'falls', 'stays' or 'rises': a tuple of three.

    Asked for is the change of the prediction, without a sign, if bmi changes
    by one standard deviation. Less than 1 % counts as 'stays'.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def effect_of_bmi(copies=1, factor=1.0):
    features, label = diabetes().x, diabetes().y
    Z = (features - features.mean(axis=0)) / features.std(axis=0)
    columns = np.hstack([factor * Z[:, [2]]] * copies + [np.delete(Z, 2, axis=1)])
    return abs(factor * Lasso(5.0).fit(columns, label).coef_[:copies].sum())

changes = {'A': dict(copies=10), 'B': dict(factor=100.0), 'C': dict(factor=0.01)}

def is_measured(words):
    if len(words) != 3 or not {*words} <= {'falls', 'stays', 'rises'}:
        raise ValueError("give three words, each 'falls', 'stays' or 'rises'")
    for word, (letter, change) in zip(words, changes.items(), strict=True):
        ratio = effect_of_bmi(**change) / effect_of_bmi()
        if word != ('stays' if abs(ratio - 1) < 0.01 else 'rises' if ratio > 1 else 'falls'):
            raise ValueError(f'{letter} is measured otherwise; run it and compare')
    return True

grade(lambda: is_measured(predicted_changes()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} lasso-units
# :class: dropdown
# ```
# (A) Ten weights of the same sign cost what their sum costs, $\sum_j |w_j|$, so copies change nothing. (Ridge regression
# gains from spreading a weight over copies, because squares of parts are smaller.) (B) The same effect now needs a weight of
# a hundredth, at a hundredth of the price, so bmi is hardly shrunk any more. (C) It needs a hundred times the weight, at a
# price that it is not worth: the weight is zero. This is why features are standardized first.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured(('stays', 'rises', 'falls')), lambda: True, [()])
assert not grade(lambda: is_measured(('rises', 'rises', 'falls')), lambda: True, [()])  # as for ridge regression
assert not grade(lambda: is_measured(('stays', 'stays', 'stays')), lambda: True, [()])  # units do not matter
assert not grade(lambda: is_measured(('stays', 'falls', 'rises')), lambda: True, [()])  # the weight, not its effect
print(f'effect of bmi: {effect_of_bmi():.1f}', end='')
for letter, change in changes.items():
    print(f', {letter} {effect_of_bmi(**change):.1f}', end='')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def in_two_parts(X, y, lam):  # minimizer of the printed objective, value
    def printed(pq):
        w = np.subtract(*np.split(pq, 2))
        g = -2 * X.T @ (y - X @ w) / len(y)
        errors = [abs(b - x @ w) ** 2 for x, b in zip(X, y, strict=True)]
        return (sum(errors) / len(y) + lam * pq.sum(),
                np.concatenate([lam + g, lam - g]))

    n = 2 * X.shape[1]
    best = minimize(printed, np.zeros(n), jac=True, bounds=[(0, None)] * n,
                    options=dict(ftol=1e-16, gtol=1e-10))
    return np.subtract(*np.split(best.x, 2)), best.fun

def same_problem(seed, half):
    X, y, lam = case(seed)
    w, value = in_two_parts(X, y, lam)
    return (close(w, by_library(X, y, half * lam), atol=1e-5, rtol=0)
            and close(value, 2 * F(w, X, y, lam / 2)))

holds('ml.reg.lasso.objective', lambda seed: same_problem(seed, 0.5),
      slip=('forgets to halve λ', lambda seed: same_problem(seed, 1)),
      seed=seeds(), tries=40)

def is_gap(seed, price):  # price: N alpha or a slip of it
    X, y, alpha = case(seed)
    rng = np.random.default_rng(seed)
    w, z = rng.normal(size=4), rng.normal(size=12)
    z = z * rng.uniform() * price(12, alpha) / abs(X.T @ z).max()
    D = (norm(y) ** 2 - norm(y - z) ** 2) / 24
    terms = gap_terms(w, z, X, y, price(12, alpha) / 12)
    return (close(terms.sum() / 12, F(w, X, y, alpha) - D)
            and bool((terms >= -1e-12).all()))

def nearest(X, y, size):  # by a general solver
    sides = np.vstack([X.T, -X.T])
    rule = dict(type='ineq', fun=lambda z: size - sides @ z,
                jac=lambda z: -sides)
    return minimize(lambda z: (z - y) @ (z - y) / 2, 0 * y,
                    jac=lambda z: z - y, method='SLSQP', constraints=rule,
                    options=dict(ftol=1e-14, maxiter=300)).x

def is_nearest(seed, price):
    X, y, alpha = case(seed)
    r = y - X @ by_library(X, y, alpha)
    # SLSQP solves a quadratic problem in one step, up to rounding
    return close(r, nearest(X, y, price(12, alpha)), atol=1e-9, rtol=0)

def zero_holds(seed, radius):
    X, y, alpha = case(seed)
    c = X.T @ (y - X @ by_library(X, y, alpha))
    move = radius(12 * alpha - abs(c), norm(X, axis=0))
    ends = [by_library(X, y + 0.999 * m * s * x / norm(x), alpha)[j] == 0
            for j, (x, m, s) in enumerate(zip(X.T, move, np.sign(c),
                                              strict=True)) if m > 1e-6]
    return all(ends)

# %% tags=["checks"]
verify('the gap is a sum of violations',
       lambda seed: is_gap(seed, lambda N, alpha: N * alpha),
       slip=('writes α where Nα belongs',
             lambda seed: is_gap(seed, lambda N, alpha: alpha)),
       seed=seeds())

verify('the residual is the nearest point of the polyhedron',
       lambda seed: is_nearest(seed, lambda N, alpha: N * alpha),
       slip=('writes α where Nα belongs',
             lambda seed: is_nearest(seed, lambda N, alpha: alpha)),
       seed=seeds(), tries=30)

verify('zeros hold within the radius',
       lambda seed: zero_holds(seed, lambda slack, length: slack / length),
       slip=('forgets to divide by the length of the column',
             lambda seed: zero_holds(seed, lambda slack, length: slack)),
       seed=seeds(), tries=60)

def balanced(X, y, price, w):  # the pull of the errors is the price of the weights
    return close(X.T @ (y - X @ w), price * w)

verify(
    'ridge regression balances the pull of the errors and the price of the weights',
    lambda seed: balanced(*case(seed)[:2], 3.0, ridge(*case(seed)[:2], 3.0)),
    slip=('counts the price for each example', lambda seed: balanced(*case(seed)[:2], 3.0, ridge(*case(seed)[:2], 36.0))),
    seed=seeds(), tries=40,
)
verify(
    'the lasso sets the weight to zero in nine of ten disturbed draws and more, ridge in none',
    lambda: bool(by_lasso >= 180 and by_ridge == 0),
    slip=('exchanges the two', lambda: bool(by_ridge >= 180 and by_lasso == 0)),
)

# %% [markdown]
# ## Coordinate descent and the duality gap
#
# This section continues [The lasso: an L1 penalty that sets weights to
# zero](#the-lasso-an-l1-penalty-that-sets-weights-to-zero). How does a solver find the minimum? *Coordinate descent* changes
# one weight at a time. With $\mathbf{r} = \mathbf{y} - \mathbf{X}\mathbf{w}$ and $a_j = \frac1N\|\mathbf{X}_j\|^2 > 0$, the
# loss as a function of the new value $u$ of weight $j$ is a parabola with its lowest point at $v = w_j + \frac{1}{N a_j}
# \mathbf{X}_j^\top\mathbf{r}$. So we minimize $\frac{a_j}{2}(u - v)^2 + \alpha|u|$. This is a [proximal
# step](../optimization/subgradients.ipynb) of the absolute value, with the soft threshold $S_\gamma(v) =
# \operatorname{sign}(v)\max(|v| - \gamma, 0)$ as its answer:
#
# ```{math}
# :label: lasso-coordinate
# w_j \leftarrow \frac{1}{a_j} S_\alpha \big( \tfrac1N \mathbf{X}_j^\top \mathbf{r} + a_j w_j \big)
# ```

# %%
def soft(v, gamma):
    return np.sign(v) * np.maximum(abs(v) - gamma, 0)

def sweep(w, X, y, alpha):  # changes all weights, one after the other
    N, r = len(y), y - X @ w
    a = (X**2).sum(axis=0) / N
    for j, x in enumerate(X.T.copy()):  # columns, each in one piece
        old = w[j]
        v = x @ r / N + a[j] * old
        w[j] = (v - min(max(v, -alpha), alpha)) / a[j]  # soft(v, alpha)
        if w[j] != old:
            r += x * (old - w[j])

# %%
w = np.zeros(2)
for k in range(4):
    print(f'after {k} sweeps: weights', w.round(3),
          f' F = {F(w, A, b, 5):.3f}')
    sweep(w, A, b, 5)

# %% [markdown]
# It has no step size to choose, and one weight costs two passes over one column. But does it always arrive? With kinks
# this is not clear. The convex function $\frac12(w_1 + w_2 - 2)^2 + 2|w_1 - w_2|$ is zero at $(1, 1)$, but from $(0, 0)$,
# where it is 2, no change of one weight alone leads lower:

# %%
fold = lambda u, v: (u + v - 2) ** 2 / 2 + 2 * abs(u - v)
for u in (-0.5, 0.0, 0.5):
    print(f'at ({u:4}, 0): {fold(u, 0):.3f},'
          f' at (0, {u:4}): {fold(0, u):.3f}')

# %% [markdown]
# For the lasso this cannot happen, because each of its absolute values contains one weight only:
#
# ````{prf:theorem} Coordinate descent arrives
# :label: thm-lasso-coordinate
# Let all $a_j > 0$ and $\alpha > 0$. (a) If no single weight can be changed to lower $F$, then $\mathbf{w}$ is a
# minimizer. (b) A step {eq}`lasso-coordinate` from $w_j$ to $u$ lowers $F$ by at least $\frac{a_j}{2}(u - w_j)^2$. (c)
# The values $F$ converge to $\min F$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# (a) As a function of $w_j$ alone, $F$ has its minimum there if and only if the $j$-th line of
# {eq}`subgradients-lasso-optimal` holds, and all lines together say that $\mathbf{w}$ is a minimizer. (b) Along one
# coordinate $F$ is $\frac{a_j}{2}u^2$ plus a convex function, and such a function lies above its lowest value by at
# least $\frac{a_j}{2}$ times the squared distance from the minimizer. (c) By (b) the steps tend to zero, for their
# squares have a finite sum. The weights stay bounded, as
# $\alpha\|\mathbf{w}\|_1 \le F(\mathbf{w}) \le F(\mathbf{w}^{(0)})$. So from every subsequence of sweeps a further one
# converges, and since each update is a continuous map and the steps vanish, no single weight moves at the limit. By (a)
# it is a minimizer; $F$ falls along the whole sequence, hence to $\min F$.
# ````
#
# ### When to stop: the duality gap
#
# Small steps do not prove that the minimum is near. But {prf:ref}`thm-lasso-gap` gives a bound at every moment. Scale the
# residual until it lies in $C$,
#
# ```{math}
# :label: lasso-dual-point
# \mathbf{z} = \frac{\mathbf{r}}{\max\big( 1, \max_j |\mathbf{X}_j^\top\mathbf{r}| / (N\alpha) \big)} ,
# \quad
# F(\mathbf{w}) - F(\mathbf{w}^*) \le G := F(\mathbf{w}) - D(\mathbf{z}) .
# ```
#
# To maximize $D$ over $C$ is called the dual problem. The *duality gap* $G$ is known without knowing either optimum,
# and scikit-learn stops by it. We compute $G$ by {eq}`lasso-gap`, whose terms all vanish at the minimum, not
# as the difference of two large numbers.

# %%
def certificate(w, X, y, alpha):  # -> z in C, gap
    r = y - X @ w
    z = r / max(1, abs(X.T @ r).max() / (len(y) * alpha))
    terms = gap_terms(w, z, X, y, alpha)
    return z, np.maximum(terms, 0).sum() / len(y)  # no sign from rounding

def coordinate_descent(X, y, alpha, w=0.0, tol=1e-12, most=100_000):
    w = w + 0.0 * X[0]
    for _ in range(most):  # float32 needs a larger tol
        if certificate(w, X, y, alpha)[1] <= tol * (y @ y) / (2 * len(y)):
            break
        sweep(w, X, y, alpha)
    return w

# %% [markdown]
# The gap even proves zeros before the solver is done:
#
# ````{prf:theorem} Proved zeros
# :label: thm-lasso-proved
# Let $\mathbf{w}$, $\mathbf{z} \in C$ and $G$ be as in {eq}`lasso-dual-point`. If
# $|\mathbf{X}_j^\top\mathbf{z}| + \|\mathbf{X}_j\|\sqrt{2NG} < N\alpha$, then $w_j^* = 0$ in every minimizer
# $\mathbf{w}^*$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# Seen from $\mathbf{r}^*$, the point of $C$ nearest to $\mathbf{y}$, the angle between $\mathbf{z}$ and $\mathbf{y}$ is
# not acute, so $\|\mathbf{z} - \mathbf{r}^*\|^2 \le \|\mathbf{y} - \mathbf{z}\|^2 - \|\mathbf{y} - \mathbf{r}^*\|^2 =
# 2N\big(D(\mathbf{r}^*) - D(\mathbf{z})\big) \le 2NG$. Hence $|\mathbf{X}_j^\top\mathbf{r}^*| \le
# |\mathbf{X}_j^\top\mathbf{z}| + \|\mathbf{X}_j\|\sqrt{2NG} < N\alpha$, and {prf:ref}`thm-lasso-zeros` applies.
# ````
#
# Such features can be dropped at once, and the minimum stays the same {cite}`ndiaye2017gap`. We try it on 64 features: the
# ten measurements of all patients, their products, and the squares of all but sex.

# %%
def proved_zeros(w, X, y, alpha):  # -> (d,) bool
    z, gap = certificate(w, X, y, alpha)
    reach = abs(X.T @ z) + norm(X, axis=0) * np.sqrt(2 * len(y) * gap)
    return reach < len(y) * alpha

# %% tags=["hide-input"]
def standardized(X, train=slice(None)):
    return (X - X[train].mean(axis=0)) / X[train].std(axis=0)

def products(Z):  # (N, 10) -> (N, 64): no square of sex, it has two values
    i, j = np.triu_indices(10)
    return np.hstack([Z, (Z[:, i] * Z[:, j])[:, (i != 1) | (j != 1)]])

X, y, _ = diabetes()
Z, target = standardized(products(standardized(X))), standardized(y)
w, alpha = np.zeros(64), 0.05
end = by_library(Z, target, alpha)
lowest, record = F(end, Z, target, alpha), []
for _ in range(31):
    record.append((certificate(w, Z, target, alpha)[1],
                   F(w, Z, target, alpha) - lowest, (w == 0).sum(),
                   proved_zeros(w, Z, target, alpha).sum()))
    sweep(w, Z, target, alpha)
gaps, missing, zeros, proved = np.array(record).T
print('zeros of 64:', (end == 0).sum(), '  proved after 5, 10, 20 sweeps:',
      *proved[[5, 10, 20]].astype(int))

# %% mystnb={"image": {"alt": "Left: against the sweep, on a logarithmic axis, what is missing to the minimum falls steeply within twelve sweeps; the certified gap lies above it and follows, about twice as slowly. Right: the number of zero weights drops from 64 to 47 in the first sweep and settles at 51 within five; the number of proved zeros stays at zero for five sweeps, then climbs to 51 by the eleventh and stays."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.6)
left.semilogy(gaps, label='gap, certified')
shown = missing > 1e-11
left.semilogy(np.flatnonzero(shown), missing[shown], label='F − min F')
left.set(xlabel='sweep', title='What is missing')
left.legend(fontsize=8)
right.plot(zeros, 'C1', label='zero now')
right.plot(proved, 'C0', label='proved zero')
right.set(xlabel='sweep', ylabel='weights of 64', ylim=(0, 68))
right.legend(fontsize=8, loc='lower right');

# %% [markdown] tags=["caption"]
# The certified gap overstates what is missing, but it can prove: from the eleventh sweep on, all 51 zeros among the 64
# weights are certain.

# %% [markdown]
# By the eleventh sweep the gap has proved every zero of the answer, and a problem with thirteen features remains.
#
# ```{exercise} ★★ Program: the elastic net from the lasso
# :label: lasso-elastic
# The *elastic net* {cite}`zou2005regularization` adds the penalty of ridge regression: it minimizes
# $F(\mathbf{w}) + \frac{\beta}{2}\|\mathbf{w}\|^2$. Write `elastic_net(X, y, alpha, beta, solver)`, which calls a solver for
# the lasso once. (Recall the invented examples of ridge regression, and count.)
# ```

# %%
def elastic_net(X, y, alpha, beta, solver):
    """The weights that minimize the sum: a float array (d,).

    X: float array (N, d), N may be less than d. y: float array (N,).
    alpha, beta: floats > 0. solver: a function; solver(X, y, alpha) gives the
    minimizer of F. It can be called once. With coordinate_descent as solver,
    for X = [[1.]], y = [3.], alpha = beta = 1.0, the result is [1.].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def net_by_library(X, y, alpha, beta, solver):
    model = ElasticNet(alpha + beta, l1_ratio=alpha / (alpha + beta),
                       fit_intercept=False, tol=1e-14, max_iter=10_000)
    return model.fit(X, y).coef_

def a_lasso(X, y, alpha):
    return lasso_path(X, y, alphas=[alpha], tol=1e-14, max_iter=10_000)[1][:, 0]

cases = dict(
    X=matrices((1, 6), (1, 4), -3, 3, edges=True), y=lambda X: vectors(len(X), edges=True),
    alpha=on(1.0) | scalars(0.05, 3), beta=on(1.0) | scalars(0.2, 3), solver=[counted(a_lasso, 1)],
)
limits = dict(tries=40, atol=1e-6, without=['sklearn.linear_model.ElasticNet.fit', 'sklearn.linear_model.enet_path'])
grade(elastic_net, net_by_library, **cases, **limits)

# %% [markdown]
# ```{solution-start} lasso-elastic
# :class: dropdown
# ```
# $\frac{1}{2N}\big(\|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2 + N\beta\|\mathbf{w}\|^2\big)$ is the loss of $N + d$
# examples, the last $d$ with $\sqrt{N\beta}$ as feature $j$ and target 0. But the solver divides by $N + d$ where $N$
# is meant, so that $\alpha$ must shrink by the same factor, $N/(N + d)$. The first wrong answer forgets to count, and the
# second forgets the $N$ under the root. It is tempting to shrink the lasso's weights afterwards, as the third does:
# that is right for orthogonal features only.

# %% jupyter={"source_hidden": true}
def elastic_net_solution(X, y, alpha, beta, solver):
    N, d = X.shape
    taller = np.vstack([X, np.sqrt(N * beta) * np.eye(d)])
    return solver(taller, np.append(y, np.zeros(d)), alpha * N / (N + d))

def not_counted(X, y, alpha, beta, solver):
    return elastic_net_solution(X, y, alpha * (1 + X.shape[1] / len(y)), beta, solver)

def root_of_beta(X, y, alpha, beta, solver):
    return elastic_net_solution(X, y, alpha, beta / len(y), solver)

def shrunk_afterwards(X, y, alpha, beta, solver):
    return solver(X, y, alpha) / (1 + beta)

assert grade(elastic_net_solution, net_by_library, **cases, **limits)
assert not grade(not_counted, net_by_library, **cases, **limits)
assert not grade(root_of_beta, net_by_library, **cases, **limits)
assert not grade(shrunk_afterwards, net_by_library, **cases, **limits)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def agrees(seed, price):
    X, y, alpha = case(seed, N=15, d=6)
    w = coordinate_descent(X, y, price(alpha))  # gap below 1e-12
    return close(w, by_library(X, y, alpha), atol=1e-8, rtol=0)

def falls_enough(seed, share):  # one weight, as if the only feature
    X, y, alpha = case(seed, d=1)
    w = 3 * np.random.default_rng(seed).normal(size=1)
    new = w.copy()
    sweep(new, X, y, alpha)
    fall = F(w, X, y, alpha) - F(new, X, y, alpha)
    return fall >= share * norm(X) ** 2 / 12 * norm(new - w) ** 2 - 1e-12

def certified(seed, sweeps, gap):  # G is no less than the truth
    X, y, alpha = case(seed)
    w = np.random.default_rng(seed).normal(size=4)
    for _ in range(sweeps):
        sweep(w, X, y, alpha)
    missing = F(w, X, y, alpha) - F(by_library(X, y, alpha), X, y, alpha)
    return -1e-12 < missing <= gap(w, X, y, alpha) + 1e-12

def unscaled(w, X, y, alpha):
    return gap_terms(w, y - X @ w, X, y, alpha).sum() / len(y)
verify('coordinate descent finds scikit-learn\'s weights to 1e-6',
       lambda seed: agrees(seed, lambda alpha: alpha),
       slip=('takes α to be twice as large',
             lambda seed: agrees(seed, lambda alpha: 2 * alpha)),
       seed=seeds(), tries=40)

verify('a step falls by a/2 times its square',
       lambda seed: falls_enough(seed, 1 / 2),
       slip=('forgets the ½ of the parabola',
             lambda seed: falls_enough(seed, 1)),
       seed=seeds())

verify('the gap bounds what is missing',
       lambda seed, sweeps: certified(
       seed, sweeps, lambda *problem: certificate(*problem)[1]),
       slip=('takes the residual without scaling it',
             lambda seed, sweeps: certified(seed, sweeps, unscaled)),
       seed=seeds(), sweeps=[0, 1, 3], tries=60)

# %% tags=["checks"]
tried = np.linspace(-3, 3, 601)
assert fold(0, 0) == 2 and fold(1, 1) == 0 and min(fold(tried, 0).min(), fold(0, tried).min()) >= 2
assert (gaps >= missing - 1e-14).all() and (np.diff(proved) >= 0).all()
assert close(w, end, atol=1e-10, rtol=0) and missing[12] < 1e-10

def proofs_true(seed, proved):
    X, y, alpha = case(seed, N=20, d=8)
    w, end = np.zeros(8), by_library(X, y, alpha)
    early = []
    for _ in range(12):
        early.append(proved(w, X, y, alpha))
        sweep(w, X, y, alpha)
    return not any((end[zero] != 0).any() for zero in early)

def without_radius(w, X, y, alpha):
    return abs(X.T @ certificate(w, X, y, alpha)[0]) < len(y) * alpha

verify('proved zeros are zeros', lambda seed: proofs_true(seed, proved_zeros),
       slip=('leaves out the radius',
             lambda seed: proofs_true(seed, without_radius)),
       seed=seeds(), tries=40)

# %% [markdown]
# ## ISTA and FISTA: proximal gradient descent
#
# This section continues [Coordinate descent and the duality gap](#coordinate-descent-and-the-duality-gap). If $\mathbf{X}$
# is known only through products $\mathbf{X}\mathbf{v}$ and $\mathbf{X}^\top\mathbf{r}$, like a blur or a Fourier transform,
# we move all weights together. With $f$ the loss and $L$ the largest eigenvalue of $\frac1N\mathbf{X}^\top\mathbf{X}$, the
# proximal step, with the soft threshold of each entry, is
#
# ```{math}
# :label: lasso-ista
# P(\mathbf{v}) = S_{\alpha/L}\big( \mathbf{v} - \tfrac1L \nabla f(\mathbf{v}) \big) , \qquad
# \nabla f(\mathbf{v}) = -\tfrac1N \mathbf{X}^\top(\mathbf{y} - \mathbf{X}\mathbf{v}) .
# ```
#
# **ISTA** repeats this step. **FISTA** {cite}`beck2009fast` steps from a point *ahead* of the last one, in the manner of
# [Nesterov](../optimization/momentum.ipynb):
#
# ```{math}
# :label: lasso-fista
# \begin{aligned}
# \mathbf{w}^{(k)} &= P(\mathbf{v}^{(k)}) , \qquad \tau_{k+1} = \tfrac12 \big( 1 + \sqrt{1 + 4\tau_k^2} \big) , \\
# \mathbf{v}^{(k+1)} &= \mathbf{w}^{(k)} + \frac{\tau_k - 1}{\tau_{k+1}} \big( \mathbf{w}^{(k)} - \mathbf{w}^{(k-1)} \big) ,
# \end{aligned}
# ```
#
# with $\mathbf{v}^{(1)} = \mathbf{w}^{(0)}$ and $\tau_1 = 1$. The numbers $\tau_k$ solve $\tau_{k+1}^2 - \tau_{k+1} =
# \tau_k^2$.

# %%
def proximal_walk(grad, prox, L, w, T, ahead):  # ahead: 0 ISTA, 1 FISTA
    path, v, tau = [w], w, 1.0
    for _ in range(T):
        new = prox(v - grad(v) / L, 1 / L)
        after = (1 + (1 + 4 * tau**2) ** 0.5) / 2
        v = new + ahead * (tau - 1) / after * (new - path[-1])
        path.append(new)
        tau = after
    return np.array(path)  # (T + 1, d)

# %%
def lasso_walk(X, y, alpha, T, ahead):  # -> path, L
    L = eigvalsh(X.T @ X / len(y))[-1]
    grad = lambda v: -X.T @ (y - X @ v) / len(y)
    prox = lambda v, gamma: soft(v, gamma * alpha)
    return proximal_walk(grad, prox, L, 0.0 * X[0], T, ahead), L

# %% [markdown]
# How many steps do they need on the 64 features of the patients? A sweep of coordinate
# descent costs about as much as a step of the other two.

# %% tags=["hide-input"]
def fista_bound(L, far, k):  # far: distance of start and minimizer
    return 2 * L * far**2 / (k + 1) ** 2

def excesses(path, end, X, y, alpha):
    lowest = F(end, X, y, alpha)
    return np.array([F(w, X, y, alpha) - lowest for w in path[1:]])

X, y, _ = diabetes()
Z, target = standardized(products(standardized(X))), standardized(y)
alpha, T = 0.02, 400
end = by_library(Z, target, alpha)
slow, L = lasso_walk(Z, target, alpha, T, 0)
fast, _ = lasso_walk(Z, target, alpha, T, 1)
swept = [np.zeros(64)]
for _ in range(T):
    swept.append(swept[-1].copy())
    sweep(swept[-1], Z, target, alpha)
left_to_go = {name: excesses(path, end, Z, target, alpha) for name, path in (
    ('ISTA', slow), ('FISTA', fast), ('coordinates', swept))}
needed = {name: int(np.flatnonzero(e > 1e-6)[-1]) + 2
          for name, e in left_to_go.items()}
bounds = fista_bound(L, norm(end), np.arange(1, T + 1))
print('steps until F stays within a millionth:', needed)

# %% [markdown]
# For ISTA, $F(\mathbf{w}^{(t)}) - F(\mathbf{w}^*) \le L\|\mathbf{w}^{(0)} - \mathbf{w}^*\|^2 / (2t)$
# by {eq}`subgradients-ista-bound`. FISTA has the square of $k$ in the denominator:
#
# ````{prf:theorem} Rate of FISTA
# :label: thm-lasso-fista
# For every minimizer $\mathbf{w}^*$ and $k \ge 1$,
# ```{math}
# :label: lasso-fista-bound
# F(\mathbf{w}^{(k)}) - F(\mathbf{w}^*) \le \frac{2L\,\|\mathbf{w}^{(0)} - \mathbf{w}^*\|^2}{(k + 1)^2} .
# ```
# ````
#
# ````{prf:proof}
# :class: dropdown
# The proof of {eq}`subgradients-ista-bound` gives, for all $\mathbf{v}$ and $\mathbf{u}$,
#
# ```{math}
# :label: lasso-one-step
# F(P(\mathbf{v})) - F(\mathbf{u}) \le \tfrac{L}{2} \big( \|\mathbf{v} - \mathbf{u}\|^2 - \|P(\mathbf{v}) - \mathbf{u}\|^2 \big) .
# ```
#
# Compare step $k$ with a mixture of the last point and the goal,
# $\mathbf{u} = (1 - \frac{1}{\tau_k})\mathbf{w}^{(k-1)} + \frac{1}{\tau_k}\mathbf{w}^*$. Let $\delta_k$ be the left
# side of {eq}`lasso-fista-bound` and $\mathbf{p}_k = \tau_k\mathbf{w}^{(k)} - (\tau_k - 1)\mathbf{w}^{(k-1)}$,
# $\mathbf{p}_0 = \mathbf{w}^{(0)}$. Since $F$ is convex,
# $F(\mathbf{u}) - F(\mathbf{w}^*) \le (1 - \frac{1}{\tau_k})\,\delta_{k-1}$. The look ahead is made so that
# $\tau_k\mathbf{v}^{(k)} - (\tau_k - 1)\mathbf{w}^{(k-1)} = \mathbf{p}_{k-1}$. So {eq}`lasso-one-step`, times
# $\tau_k^2$, becomes
#
# $$ \tau_k^2 \delta_k - (\tau_k^2 - \tau_k)\,\delta_{k-1} \le \tfrac{L}{2}
# \big( \|\mathbf{p}_{k-1} - \mathbf{w}^*\|^2 - \|\mathbf{p}_k - \mathbf{w}^*\|^2 \big) . $$
#
# Now $\tau_k^2 - \tau_k$ is $\tau_{k-1}^2$, and 0 for $k = 1$: both sides telescope, and
# $\tau_k^2\delta_k \le \frac{L}{2}\|\mathbf{w}^{(0)} - \mathbf{w}^*\|^2$. Finally $\tau_{k+1} \ge \tau_k + \frac12$
# gives $\tau_k \ge \frac{k+1}{2}$.
# ````
#
# A single problem need not show these rates. After some steps the set of the zero weights may change no more, and from there
# on the error may shrink by a constant factor. The powers $1/t$ and $1/t^2$ belong to the problem with the largest error
# after $t$ steps, and for each $t$ this is another problem. So we take a family: weights that do not interact, each with a
# curvature $q \le L = 1$ of its own, $F(w) = \frac q2 (w - 1 - \frac\alpha q)^2 + \alpha|w|$ with the minimum at 1, and the
# start at 0.

# %% tags=["hide-input"]
q, alpha = np.geomspace(1e-6, 1, 601), 0.1
steps = np.arange(1, 1001)
curves = {}
for name, ahead in (('ISTA', 0), ('FISTA', 1)):
    walk = proximal_walk(lambda w: q * (w - 1) - alpha,
                         lambda v, gamma: soft(v, gamma * alpha), 1.0, 0 * q,
                         1000, ahead)[1:]  # (1000, 601)
    assert (walk >= 0).all()  # so that F - min F = q (w - 1)² / 2
    curves[name] = q / 2 * (walk - 1) ** 2
worst = {name: curve.max(axis=1) for name, curve in curves.items()}
for k in (10, 100, 1000):
    print(f'step {k:4}: worst excess of ISTA {worst["ISTA"][k - 1]:.2e},'
          f' of FISTA {worst["FISTA"][k - 1]:.2e}')

# %% mystnb={"image": {"alt": "Left, both axes logarithmic: the worst excess of ISTA approaches a straight line of slope minus one, that of FISTA one of slope minus two, each below its dashed bound; thin curves of three single problems touch the line of ISTA at one step each; two of them then plunge within the picture. Right, 64 features: the excess of coordinate descent drops below 1e-9 within thirty sweeps, FISTA in ripples within 300 steps, ISTA is slowest; FISTA's bound lies far above."}} tags=["hide-input"]
fig, (ax, right) = panels(2, height=3)
for k in (500, 400, 300):
    ax.loglog(steps, curves['ISTA'][:, k], color=GREY, lw=0.7)
ax.loglog(steps, worst['ISTA'], 'C0', label='ISTA, worst')
ax.loglog(steps, worst['FISTA'], 'C1', label='FISTA, worst')
ax.loglog(steps, 1 / (2 * steps), 'C0--', lw=1)
ax.loglog(steps, fista_bound(1, 1, steps), 'C1--', lw=1)
ax.set(xlabel='step', ylabel='F − min F', ylim=(1e-7, 1), title='Family')
ax.legend(fontsize=8, loc='lower left')
for k, (name, e) in enumerate(left_to_go.items()):
    shown = np.flatnonzero(e > 1e-9)
    right.semilogy(shown + 1, e[shown], f'C{k}', label=name)
right.semilogy(np.arange(1, T + 1), bounds, 'C1--', lw=1)
right.set(xlabel='step or sweep', ylim=(1e-9, 3), title='Patients')
right.legend(fontsize=8);

# %% [markdown] tags=["caption"]
# In the worst case ISTA falls like $1/t$ and FISTA like $1/t^2$, each within a small factor of its bound. On the patients
# coordinate descent needs far fewer sweeps than either needs steps.

# %% [markdown]
# :::{admonition} How large are the constants?
# :class: dropdown
# ISTA leaves an error of exactly $(1 - q)^t$, so that its worst excess is
#
# ```{math}
# :label: lasso-worst
# \max_q \tfrac q2 (1 - q)^{2t} = \frac{1}{2(2t + 1)} \Big( \frac{2t}{2t + 1} \Big)^{2t} \approx \frac{1}{4 e\, t} ,
# ```
#
# at $q = 1/(2t + 1)$. For FISTA $\tau_k \approx \frac k2$, and for small $q$ its error follows the equation
# $e'' + \frac3k e' + q e = 0$ with $e(0) = 1$, as {cite:t}`su2016differential` prove: an oscillation with waning
# friction, $e = 2 J_1(s)/s$ at $s = \sqrt q\,k$ with a Bessel function. The worst excess is then
# $\max_s \frac{q}{2} \cdot \frac{4 J_1(s)^2}{q k^2} = 2 \max J_1^2 / k^2$, where $\max J_1 \approx 0.582$ and
# $2 \cdot 0.582^2 \approx 0.677$. The two bounds, $\frac{1}{2t}$ and $\frac{2}{(k+1)^2}$, are
# too large by factors of $2e \approx 5.4$ and 3 only.
# :::
#
# ```{exercise} ★★ Program: only positive weights
# :label: lasso-positive
# Concentrations and prices cannot be negative. Write `positive_lasso(X, y, alpha)`, which minimizes the objective $F$ of
# the lasso {eq}`lasso-objective` over $\mathbf{w} \ge \mathbf{0}$. Find first the proximal step of $h(w) = \alpha w$ for
# $w \ge 0$, $\infty$ for $w < 0$.
# ```

# %%
def positive_lasso(X, y, alpha):
    """The weights >= 0 that minimize F: a float array (d,).

    X: float array (N, d) with independent columns, largest singular value at
    most ten times the smallest. y: float array (N,). alpha: float > 0.
    No library's lasso; errors up to 1e-6 do not matter.
    For X = [[1.]], y = [-2.] and alpha = 1.0 the result is [0.].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def positive_by_library(X, y, alpha):
    model = Lasso(alpha, positive=True, fit_intercept=False, tol=1e-14,
                  max_iter=10_000)
    return model.fit(X, y).coef_

cases = dict(
    X=(matrices((1, 8), (1, 4), -3, 3)).filter(lambda X: len(X) >= X.shape[1] and np.linalg.cond(X) < 10),
    y=lambda X: vectors(len(X), edges=True), alpha=on(1.0, 0.01) | scalars(0.01, 3),
)
limits = dict(tries=25, atol=1e-6, without=['sklearn.linear_model.ElasticNet.fit', 'sklearn.linear_model.lasso_path'])
grade(positive_lasso, positive_by_library, **cases, **limits)

# %% [markdown]
# ```{solution-start} lasso-positive
# :class: dropdown
# ```
# To minimize $\frac12(u - v)^2 + \gamma\alpha u$ over $u \ge 0$, take $u = v - \gamma\alpha$ or, if that is negative,
# zero. Everything else stays. It is tempting to cut off the negative weights of the ordinary lasso. That is not enough: the
# others were chosen to fit together with these. The second wrong answer forgets the price, and the third is the
# library's.

# %% jupyter={"source_hidden": true}
def positive_lasso_solution(X, y, alpha):
    G, c = X.T @ X / len(y), X.T @ y / len(y)
    prox = lambda v, gamma: np.maximum(v - gamma * alpha, 0)
    return proximal_walk(lambda v: G @ v - c, prox, eigvalsh(G)[-1], 0 * c,
                         600, 1)[-1]

def cut_off(X, y, alpha):
    return np.maximum(coordinate_descent(X, y, alpha), 0)

def free_of_charge(X, y, alpha):
    return positive_lasso_solution(X, y, 0.0)

def borrowed(X, y, alpha):
    return Lasso(alpha, positive=True, fit_intercept=False, tol=1e-14).fit(X, y).coef_

assert grade(positive_lasso_solution, positive_by_library, **cases, **limits)
assert not grade(cut_off, positive_by_library, **cases, **limits)
assert not grade(free_of_charge, positive_by_library, **cases, **limits)
assert not grade(borrowed, positive_by_library, **cases, **limits)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def keeps_fast_bound(seed, ahead):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 4)) + 3 * rng.normal(size=(12, 1))
    y, alpha = 2 * rng.normal(size=12), 0.02
    end = by_library(X, y, alpha)
    path, L = lasso_walk(X, y, alpha, 200, ahead)
    bound = fista_bound(L, norm(end), np.arange(1, 201))
    return bool((excesses(path, end, X, y, alpha) <= bound + 1e-12).all())

def arrives(seed, ahead, price):
    X, y, alpha = case(seed)
    w = lasso_walk(X, y, price * alpha, 1500, ahead)[0][-1]
    return close(w, by_library(X, y, alpha), atol=1e-9, rtol=0)

exact = (2 * steps / (2 * steps + 1)) ** (2 * steps) / (4 * steps + 2)
limit = 2 * j1(jnp_zeros(1, 1)[0]) ** 2
assert close(worst['ISTA'], exact, atol=0, rtol=1e-3)
assert close(worst['FISTA'][-1] * 1000**2, limit, atol=0, rtol=0.01)
assert (worst['FISTA'] <= fista_bound(1, 1, steps)).all()
assert (left_to_go['FISTA'] <= bounds).all()

verify('FISTA keeps to 2L|w*|² / (k+1)²',
       lambda seed: keeps_fast_bound(seed, 1),
       slip=('steps from the last point, not from one ahead',
             lambda seed: keeps_fast_bound(seed, 0)),
       seed=seeds(), tries=30)

verify('both arrive at scikit-learn\'s weights, to 1e-9',
       lambda seed, ahead: arrives(seed, ahead, 1),
       slip=('takes α to be twice as large',
             lambda seed, ahead: arrives(seed, ahead, 2)),
       seed=seeds(), ahead=[0, 1], tries=20)

def has_rate(name, power):
    late = steps >= 100
    slope = np.polyfit(np.log(steps[late]), np.log(worst[name][late]), 1)[0]
    return abs(slope + power) < 0.03

verify('at worst ISTA falls like 1/t, FISTA like 1/t²',
       lambda: has_rate('ISTA', 1) and has_rate('FISTA', 2),
       slip=('takes the exponent of FISTA to be 1.9',
             lambda: has_rate('FISTA', 1.9)))

# %% [markdown]
# ## The lasso path and feature selection
#
# This section continues [Coordinate descent and the duality gap](#coordinate-descent-and-the-duality-gap). Which $\alpha$
# should we take? We first look at all. From $\alpha_{\max} = \frac1N \max_j |\mathbf{X}_j^\top\mathbf{y}|$ on, all
# weights are zero. Going down from there, the answer for one $\alpha$ is a good start for the next. Together they make the
# *path*.

# %%
def path(X, y, alphas, tol=1e-12):  # from large to small -> (k, d)
    weights = [0.0 * X[0]]
    for alpha in alphas:
        weights.append(coordinate_descent(X, y, alpha, weights[-1], tol))
    return np.array(weights[1:])

# %%
X, y, names = diabetes()
Z = standardized(X)  # centred, so that y need not be
top = abs(Z.T @ y).max() / len(y)
alphas = top * np.geomspace(1.2, 0.002, 61)
ours = path(Z, y, alphas)
for a in (40, 20, 5, 1):
    print(f'alpha near {a:2}:', *[names[j] for j in np.flatnonzero(
        ours[abs(alphas - a).argmin()])])

# %% [markdown]
# In practice you call `lasso_path` of scikit-learn:

# %%
library = lasso_path(Z, y, alphas=alphas, tol=1e-14,
                     max_iter=100_000)[1].T
print('weights that are zero:', (ours == 0).sum(), (library == 0).sum())
print('largest weight:', abs(ours).max().round(2), abs(library).max().round(2))

# %% mystnb={"image": {"alt": "Ten weights against alpha, from large to small. All are zero at first; bmi and s5 leave zero first, then bp, s3, sex and others, one after the other along kinked lines. s1 leaves zero near 3 and plunges at small alpha, while s2 and s5 rise. s3 falls to about minus 10 and returns to zero at the right end."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.6))
for j, name in enumerate(names):
    ax.semilogx(alphas, ours[:, j], f'C{j % 5}', label=name,
                ls='-' if j < 5 else '--')
ax.invert_xaxis()
ax.set(xlabel='α', ylabel='weight per standard deviation')
label_lines(ax);

# %% [markdown] tags=["caption"]
# As $\alpha$ falls, the weights leave zero one after the other, bmi and s5 first; age, s2 and s4 come in only below $\alpha
# = 1$.

# %% [markdown]
# On the path of ridge regression every weight moves from the start. Here they come in one by one. The
# lines bend on the logarithmic axis, but as functions of $\alpha$ itself they consist of straight pieces:
#
# ````{prf:theorem} The path is piecewise linear
# :label: thm-lasso-path
# Let the columns of $\mathbf{X}$ be linearly independent. Then for each $\alpha > 0$ there is one minimizer, and
# $(0, \infty)$ falls into finitely many intervals on which it is an affine function of $\alpha$. Where $A$ is the set
# of its nonzero weights and $\mathbf{s}$ their signs,
# ```{math}
# :label: lasso-path
# \mathbf{w}_A(\alpha) = (\mathbf{X}_A^\top\mathbf{X}_A)^{-1} \big( \mathbf{X}_A^\top\mathbf{y} - N\alpha\,\mathbf{s} \big) .
# ```
# ````
#
# ````{prf:proof}
# :class: dropdown
# Two minimizers share the residual ({prf:ref}`thm-lasso-gap`), so $\mathbf{X}$ maps them to the same vector, and they
# are equal. By {eq}`subgradients-lasso-optimal`
# $\mathbf{X}_A^\top(\mathbf{y} - \mathbf{X}_A\mathbf{w}_A) = N\alpha\mathbf{s}$, which is {eq}`lasso-path`. Conversely,
# for a given pair $(A, \mathbf{s})$ the affine function {eq}`lasso-path` is the minimizer at $\alpha$ exactly when its
# entries have the signs $\mathbf{s}$ and $|\mathbf{X}_j^\top\mathbf{r}| \le N\alpha$ for $j \notin A$: linear
# inequalities in $\alpha$, which hold on an interval. There are at most $3^d$ pairs.
# ````
#
# Once $A$ and $\mathbf{s}$ are known, the lasso is least squares with a constant pull towards zero. So it is biased: as
# $\alpha$ grows, $\|\mathbf{w}\|_1$ falls even if every feature is needed. A single $|w_j|$ can grow, as that of s3 does
# from $\alpha = 0.1$ to $1$. Often one uses the lasso to choose features, and least squares to fit the chosen ones. The ends
# of the intervals are called **knots**. From one to the next the path can be followed exactly {cite}`efron2004least`.
#
# ### Useless features: the lasso against ridge regression
#
# We compare the two on three sets of features: the ten measurements; the 64 products; and the ten with *ninety decoys*, nine
# copies of the ten columns with the patients shuffled.
#
# In each of 20 splits 110 patients are held out and 160 of the others serve for training. Means and standard deviations
# come from the training part, in cross-validation from the four fifths that are fitted. $\alpha$, for both, is the best of a
# grid in five folds.

# %% tags=["hide-input"]
def ridge_weights(Z, t, prices):  # -> (k, d), by one decomposition
    P, root, Ut = svd(Z, full_matrices=False)
    return (root / (root**2 + prices[:, None]) * (P.T @ t)) @ Ut

def lasso_weights(Z, t, alphas):
    return lasso_path(Z, t, alphas=alphas, max_iter=10_000)[1].T

def prepared(X, part, features, seed):  # fitted on the part alone
    return standardized(features(standardized(X, part), seed), part)

def fold_errors(X, y, train, features, seed, weights, prices):  # (k,)
    total = 0
    for k in range(5):
        held, fit = train[k::5], np.delete(train, np.s_[k::5])
        Z, t = prepared(X, fit, features, seed), y - y[fit].mean()
        W = weights(Z[fit], t[fit], prices)
        total = total + ((W @ Z[held].T - t[held]) ** 2).sum(axis=1)
    return total / len(train)

def with_decoys(Z, seed):  # (N, 10) -> (N, 100)
    rng = np.random.default_rng(seed)
    return np.hstack([Z, *(Z[rng.permutation(len(Z))] for _ in range(9))])

grids = {ridge_weights: np.geomspace(1e4, 1, 21), lasso_weights: 50 * np.geomspace(1, 0.01, 21)}
tables = {'ten': lambda Z, seed: Z, 'products': lambda Z, seed: products(Z),
          'decoys': with_decoys}

def trial(seed, table):  # -> errors (5,), two sets of lasso weights
    order = np.random.default_rng(seed).permutation(442)
    test, train = order[:110], order[110:270]
    features = tables[table]
    Z, t = prepared(X, train, features, seed), y - y[train].mean()
    rows = [0 * Z[0], pinv(Z[train]) @ t[train]]
    for weights, prices in grids.items():
        best = fold_errors(X, y, train, features, seed, weights,
                           prices).argmin()
        rows.append(weights(Z[train], t[train], prices)[best])
    rows.append(weights(Z[train], t[train], 2 * prices[[best]])[0])
    errors = np.array(rows) @ Z[test].T - t[test]
    return np.sqrt((errors**2).mean(axis=1)), rows[-2:]

results = {table: [trial(seed, table) for seed in range(20)] for table in tables}
rmse, chosen = {}, {}
print('root mean squared error on held-out patients, mean of 20 splits')
print('features  mean  LS  ridge lasso   lasso beats ridge  weights used')
for table, rows in results.items():
    rmse[table] = np.array([e for e, _ in rows])  # (20, 5)
    chosen[table] = np.array([w for _, w in rows]) != 0  # (20, 2, d)
    mean, least, ridge_error, lasso_error, _ = rmse[table].mean(axis=0)
    wins = (rmse[table][:, 3] < rmse[table][:, 2]).sum()
    print(f'{table:8} {mean:5.0f} {least:4.0f} {ridge_error:5.1f} '
          f'{lasso_error:5.1f}   {wins:2} of 20'
          f'            {chosen[table][:, 0].sum(axis=1).mean():.0f}')
used, dearer = chosen['decoys'].mean(axis=0)
for name, share, error in (('best', used, rmse['decoys'][:, 3]),
                           ('twice the best', dearer, rmse['decoys'][:, 4])):
    print(f'decoys, {name} α: {share[:10].sum():.2f} real features and '
          f'{share[10:].sum():.2f} decoys, error {error.mean():.1f}')

# %% mystnb={"image": {"alt": "Left: error of the lasso against that of ridge, one point for each of 20 splits and three sets of features. With ten features the points lie near the diagonal, one clearly above it; with products all but two lie below it, with decoys all but one, by up to seven points. Right: how often each of the ten real features was used beside ninety decoys: bmi and s5 always, bp and s3 nearly always, sex, s4 and s6 in about a fifth of the splits, s2 in one, like a decoy, age and s1 never."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
for k, (table, errors) in enumerate(rmse.items()):
    left.plot(errors[:, 2], errors[:, 3], f'C{k}o', ms=4, label=table)
left.plot([49, 70], [49, 70], color=GREY, lw=0.8)
left.set(xlabel='RMSE of ridge', ylabel='RMSE of the lasso')
left.legend(fontsize=8, loc='upper left')
right.bar(range(10), used[:10], color='C2')
right.axhline(used[10:].mean(), color=GREY, ls='--', lw=1)
right.text(4.5, used[10:].mean() + 0.02, 'a decoy', ha='center',
           fontsize=8)
right.set(xticks=range(10), ylabel='share of 20 splits',
          title='Used beside ninety decoys')
right.set_xticklabels(names, rotation=60);

# %% [markdown] tags=["caption"]
# Left: the lasso beats ridge on the products and beside the decoys, and ties on the ten measurements. Right: beside ninety
# decoys it always uses bmi and s5, but sex in only one split of five.

# %% [markdown]
# On the ten measurements the two are equal. Beside the decoys, which are useless for certain, the lasso wins most clearly: they
# cost it less than two points, but ridge regression, which must give each of them some weight, more than five.
#
# :::{admonition} A tempting mistake
# :class: warning
# Do not read the choice of the lasso as a discovery. Half of the features used here are decoys. At twice the
# $\alpha$ nearly all of them are gone, but so is some of the accuracy, since a large $\alpha$ drops good features, too, and
# shrinks the rest. The $\alpha$ that predicts best is not the one that selects best. Nor is a feature useless because it is
# left out: the weight of sex is clearly not zero on all patients (see the error bars in [ridge
# regression](ridge_regression.ipynb)), but beside ninety decoys it is left out in four splits of five. Zeros are stable
# against a small change of the targets, not against another sample.
# :::
#
# ```{exercise} ★★★ Program: the next knot
# :label: lasso-knot
# At $\alpha$, between two knots, the minimizer is $\mathbf{w}$. At which smaller $\alpha'$ does a weight leave zero or
# return to it for the first time? Write `next_knot(X, y, alpha, w)`.
# ```

# %%
def next_knot(X, y, alpha, w):
    """The largest knot below alpha: a float; 0.0 if there is none.

    X: float array (N, d), N > d, with independent columns. y: float array
    (N,). alpha: float > 0, no knot. w: float array (d,), the minimizer of F
    at alpha, whose zeros are exact. At most 30 lines may run.
    For X = [[1.], [1.]], y = [3., 3.], alpha = 5.0, w = [0.] it is 3.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def knot_by_library(X, y, alpha, w):
    knots = lars_path(X, y, method='lasso')[0]
    return knots[knots < alpha].max(initial=0)

def related_features(seed):
    rng = np.random.default_rng(seed)
    N, d = 12, rng.integers(1, 6)
    return rng.normal(size=(N, d)) + rng.normal(size=(N, 1))

def between_knots(X, y):
    knots = lars_path(X, y, method='lasso')[0]
    return on(*(np.append(3 * knots[0], knots[:-1] + knots[1:]) / 2).tolist())

Z, target = standardized(diabetes().x), standardized(diabetes().y)
knots = lars_path(Z, target, method='lasso')[0]
patients = [(Z, target, a, by_library(Z, target, a)) for a in (knots[:-1] + knots[1:]) / 2]
cases = dict(
    X=seeds().map(related_features), y=lambda X: vectors(len(X), -3, 3).filter(np.any),
    alpha=between_knots, w=lambda X, y, alpha: [by_library(X, y, alpha)],
)
limits = dict(tries=40, lines=30, without=['sklearn.linear_model.lars_path'])
grade(next_knot, knot_by_library, patients, **cases, **limits)

# %% [markdown]
# ```{solution-start} lasso-knot
# :class: dropdown
# ```
# By {eq}`lasso-path` $\mathbf{w}_A(\alpha') = \mathbf{u} - N\alpha'\mathbf{v}$, so that weight $j \in A$ would be zero
# at $N\alpha' = u_j/v_j$. The correlation of a feature outside is $p_j + N\alpha' m_j$ and reaches $\pm N\alpha'$ at
# $N\alpha' = p_j/(\pm 1 - m_j)$. The largest of these values below $\alpha$ is the knot. The first wrong answer lets
# features enter only; on the way of the patients, s3 leaves once and comes back. The second lets them enter with positive
# weights only, and the third forgets that $\alpha$ is counted for each example.

# %% jupyter={"source_hidden": true}
def next_knot_solution(X, y, alpha, w, leaving=True, falling=True):
    A, N = w != 0, len(y)
    G = X[:, A].T @ X[:, A]
    u, v = solve(G, X[:, A].T @ y), solve(G, np.sign(w[A]))
    p, m = X[:, ~A].T @ (y - X[:, A] @ u), X[:, ~A].T @ X[:, A] @ v
    events = np.concatenate([p / (1 - m), p / (-1 - m) * falling, u / v * leaving]) / N
    return events[events < alpha].max(initial=0)

def never_leaving(X, y, alpha, w):
    return next_knot_solution(X, y, alpha, w, leaving=False)

def only_upwards(X, y, alpha, w):
    return next_knot_solution(X, y, alpha, w, falling=False)

def not_for_each_example(X, y, alpha, w):
    return next_knot_solution(X, y, alpha * len(y), w) * len(y)

assert grade(next_knot_solution, knot_by_library, patients, **cases, **limits)
assert not grade(never_leaving, knot_by_library, patients, **cases, **limits)
assert not grade(only_upwards, knot_by_library, patients, **cases, **limits)
assert not grade(not_for_each_example, knot_by_library, patients, **cases, **limits)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def on_signs(X, y, alpha, w):  # the weights, given only the signs of w
    A = w != 0
    G = X[:, A].T @ X[:, A]
    new = np.zeros(len(w))
    new[A] = solve(G, X[:, A].T @ y - len(y) * alpha * np.sign(w[A]))
    return new

def is_affine(seed, pull):
    X, y, alpha = case(seed, N=15, d=6)
    w = by_library(X, y, alpha)
    return close(on_signs(X, y, pull(alpha), w), w, atol=1e-10, rtol=0)

assert close(ours, library, atol=1e-7, rtol=0)
assert ((ours == 0) == (library == 0)).all()
assert ((ours == 0).all(axis=1) == (alphas > top)).all()

verify('signs and zeros determine the weights',
       lambda seed: is_affine(seed, lambda alpha: alpha),
       slip=('forgets the factor N of the pull',
             lambda seed: is_affine(seed, lambda alpha: alpha / 15)),
       seed=seeds(), tries=60)

verify(
    'the path is that of scikit-learn',
    lambda i: close(ours[i], library[i], atol=1e-4),
    slip=('takes the next price', lambda i: close(ours[i], library[i - 1], atol=1e-4)),
    i=list(range(6, 61, 6)),
)

# %% [markdown]
# ## Summary
#
# With the penalty $|w_j|$, the residual of the lasso is the nearest point of a polyhedron. The nearest point moves no further
# than the targets, so weights that are zero, away from the knots, stay zero under small changes of them. The duality gap
# bounds $F - \min F$ for any solver: coordinate descent, ISTA with the rate $1/t$, or FISTA with $1/t^2$. For the patients
# the lasso predicted better than ridge regression on the products and beside the decoys, and equally well on the ten
# measurements, but its choice of features should not be believed.
#
# **Further reading.** {cite}`tibshirani1996regression` introduced the lasso; {cite}`friedman2010regularization` tells how
# the path is computed in practice and {cite}`beck2009fast` is the source of FISTA and its rate.
# {cite}`hastie2015statistical` is the book on the subject, with what is known about when the right features are found;
# {cite}`boyd2004convex`, chapter 5, treats duality in general.
