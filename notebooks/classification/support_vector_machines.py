# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Support vector machines
#
# - **Question.** A thousand lines separate two clouds without a mistake. Which of them deserves trust, what should it pay
#   for mistakes when none is perfect, and which few examples decide?
# - **You need** [Subgradients](../optimization/subgradients.ipynb), the Karush–Kuhn–Tucker conditions from
#   [Projected gradient descent](../optimization/projected_gradient_descent.ipynb), and the weights that run away in
#   [Logistic regression](logistic_regression.ipynb).
# - **You build** two dual solvers, one example and two examples at a time, that know how far they are from the
#   optimum, and agree with scikit-learn in weights, bias and dual variables.
# - **Time** 9 s.

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
from numpy.linalg import norm
from scipy.optimize import linprog, minimize
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, SVR, LinearSVC

from nbutils.cases import scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## The hard margin: the widest street between two classes
#
# Labels are $y_n = \pm 1$ on this page, and a hyperplane $\mathbf{w}^\top \mathbf{x} + b = 0$ answers with the sign of
# the left side. Suppose that it makes no mistake on the training data: all $y_n (\mathbf{w}^\top \mathbf{x}_n + b)$
# are positive. If the inputs had been measured a little differently, would it still make none? That depends on how
# near they come to it. The distance of $\mathbf{x}$ from the hyperplane $H$ is
#
# ```{math}
# :label: svm-distance
# \operatorname{dist}(\mathbf{x}, H) = \frac{|\mathbf{w}^\top \mathbf{x} + b|}{\|\mathbf{w}\|}
# ```
#
# For every $\mathbf{z}$ on the hyperplane, $\mathbf{w}^\top \mathbf{x} + b = \mathbf{w}^\top (\mathbf{x} - \mathbf{z})$
# is at most $\|\mathbf{w}\| \, \|\mathbf{x} - \mathbf{z}\|$ in absolute value, by Cauchy and Schwarz, with equality if
# $\mathbf{x} - \mathbf{z}$ is a multiple of $\mathbf{w}$: at the foot of the perpendicular. The *geometric margin* of
# the hyperplane is $\gamma = \min_n y_n (\mathbf{w}^\top \mathbf{x}_n + b) / \|\mathbf{w}\|$. Shift all inputs by less
# than $\gamma$, each as it likes, and not one answer changes. So look for the largest $\gamma$. The pair
# $(\mathbf{w}, b)$ may be multiplied by any positive number without moving the hyperplane; let us use this freedom to
# make the smallest $y_n(\mathbf{w}^\top \mathbf{x}_n + b)$ equal to 1. Then $\gamma = 1 / \|\mathbf{w}\|$, and large
# margin means short weights.
#
# ````{prf:theorem} One widest street
# :label: thm-svm-street
# If some hyperplane separates the two classes and both occur, then
#
# ```{math}
# :label: svm-hard
# \min_{\mathbf{w}, b} \ \tfrac12 \|\mathbf{w}\|^2 \quad \text{subject to} \quad y_n (\mathbf{w}^\top \mathbf{x}_n + b) \ge 1 \ \text{ for all } n
# ```
#
# has exactly one solution $(\mathbf{w}^*, b^*)$, and $1 / \|\mathbf{w}^*\|$ is the largest geometric margin.
# ````
#
# ```{prf:proof}
# Every separating pair, scaled as above, is permitted. A permitted pair has $\mathbf{w} \ne \mathbf{0}$, since
# $b \ge 1$ and $-b \ge 1$ exclude each other, and $\gamma \ge 1 / \|\mathbf{w}\|$, with equality if it is scaled. So
# shortest weights are the same as largest margin. *Existence.* Among permitted
# pairs with $\|\mathbf{w}\| \le r$ the bias is bounded, from below by an example of the positive class and from above
# by one of the other; these pairs form a closed bounded set, not empty if $r$ is large, on which the continuous
# $\|\mathbf{w}\|$ has a minimum. *Uniqueness.* Of two different optimal $\mathbf{w}$ the midpoint (with the midpoint
# of the biases) would be permitted and shorter. If there were one optimal $\mathbf{w}$ with two biases $b < b'$, take
# the one halfway. It raises the scores of positive examples above those with $b$, and lowers the scores of negative
# ones below those with $b'$, so that no constraint is tight any more, and the pair can be scaled down.
# ```
#
# A general solver finds it. scikit-learn's `SVC` finds the same hyperplane, with a price `C` for violations so high that
# none pays. The bias is not among the weights to be kept short; the last part shows what changes if it is.

# %%
def widest_street(X, y, price_of_b=0):  # -> b, w
    rows = y[:, None] * np.column_stack([np.ones(len(y)), X])
    price = np.append(price_of_b, np.ones(X.shape[1]))
    u = minimize(
        lambda u: price * u @ u / 2, np.ones(len(price)), method='SLSQP',
        jac=lambda u: price * u, options={'ftol': 1e-15, 'maxiter': 500},
        constraints={'type': 'ineq', 'fun': lambda u: rows @ u - 1,
                     'jac': lambda u: rows}).x
    return u[0], u[1:]

def clouds(seed, N=20):  # separable, with both classes
    rng = np.random.default_rng(seed)
    X, u = rng.normal(size=(N, 2)), rng.normal(size=2)
    score = X @ u / norm(u)
    score -= np.median(score)
    far = abs(score) > 0.2
    return X[far] + [2, 1], np.sign(score[far])

# %% [markdown]
# In the plane a second route needs no programming at all. Half the gap that one sees between the classes along a direction
# $\mathbf{u}$ of length 1, $\frac12 (\min_{y_n = 1} \mathbf{x}_n^\top \mathbf{u} - \max_{y_n = -1} \mathbf{x}_n^\top
# \mathbf{u})$, is the room for a hyperplane with this normal, and the best direction has the room $1 / \|\mathbf{w}^*\|$.
# And only those examples count whose constraint is tight. They stand on the edge of the street and are called *support
# vectors*. Delete all others, and nothing changes; delete one of them, and as a rule the street grows.

# %%
def room(X, y, u):  # u (..., 2) -> (...)
    along = u @ X.T
    return (along[..., y > 0].min(-1) - along[..., y < 0].max(-1)) / 2

angles = np.linspace(-np.pi, np.pi, 20_001)
compass = np.stack([np.cos(angles), np.sin(angles)], -1)

def on_kerb(X, y):
    b, w = widest_street(X, y)
    return np.flatnonzero(y * (X @ w + b) < 1 + 1e-6)

# %% tags=["hide-input"]
X_st, y_st = clouds(4, N=50)
b_st, w_st = widest_street(X_st, y_st)
tight = on_kerb(X_st, y_st)
print(f'{len(tight)} of {len(y_st)} examples hold the street, '
      f'width {2 / norm(w_st):.2f}')

# %% mystnb={"image": {"alt": "Left: two clouds of points with the widest street between them, a solid middle line and two dashed edges; three circled points lie on the edges. Right: the room between the classes against the direction of view, positive only in a small range of angles, with a single sharp peak at the direction of the solution."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
t = np.array([-9, 9])
for level, style in ((-1, '--'), (0, '-'), (1, '--')):
    left.plot(t, (level - b_st - w_st[0] * t) / w_st[1], style, color=GREY,
              lw=1.2)
for label, colour in ((1, 'C0'), (-1, 'C1')):
    left.plot(*X_st[y_st == label].T, 'o', ms=4, color=colour)
left.plot(*X_st[tight].T, 'o', ms=10, mfc='none', mec='C4', mew=1.4)
left.set(xlim=(-0.7, 4.7), ylim=(-1.7, 3.7), xlabel='x₁', ylabel='x₂',
         aspect='equal')
right.plot(np.degrees(angles), room(X_st, y_st, compass))
right.axhline(0, color=GREY, lw=0.8)
right.plot(np.degrees(np.arctan2(*w_st[::-1])), 1 / norm(w_st), 'o',
           color='C4')
right.set(xlabel='direction of the normal (degrees)', title='room',
          xticks=[-180, -90, 0, 90, 180]);

# %% [markdown] tags=["caption"]
# Of 43 examples three hold the widest street; its normal is the one direction in which the room between the classes is
# largest.

# %% [markdown]
# ```{exercise} ★★ Two hulls
# :label: svm-hulls
# The [convex hull](../optimization/convex_sets.ipynb) of some points consists of all their weighted means. Show that
# the street is as wide as the hulls of the two classes are apart, and write `hull_distance(A, B)` for the rows of `A`
# and `B` without mentioning a hyperplane.
# ```

# %%
def hull_distance(A, B):
    raise NotImplementedError('your turn')

# %%
def width_of_street(A, B):
    labels = np.repeat([1.0, -1.0], [len(A), len(B)])
    return 2 / norm(widest_street(np.concatenate([A, B]), labels)[1])

def clouds3(seed, N=20):  # in space two edges can be nearest
    rng = np.random.default_rng(seed)
    X, u = rng.normal(size=(N, 3)), rng.normal(size=3)
    score = X @ u / norm(u)
    score -= np.median(score)
    far = abs(score) > 0.2
    return X[far], np.sign(score[far])

planar = [(X[y > 0], X[y < 0]) for X, y in map(clouds, range(6))]
hulls = planar + [(B, A) for A, B in planar] + [
    (X[y > 0], X[y < 0]) for X, y in map(clouds3, range(3))]
grade(hull_distance, width_of_street, hulls, rtol=1e-4)

# %% [markdown]
# ```{solution-start} svm-hulls
# :class: dropdown
# ```
# For hull points $\mathbf{p}, \mathbf{q}$ and a unit vector $\mathbf{u}$, twice the room along $\mathbf{u}$ is at most
# $(\mathbf{p} - \mathbf{q})^\top \mathbf{u} \le \|\mathbf{p} - \mathbf{q}\|$: no street is wider than any two hull
# points are apart. For the nearest pair take $\mathbf{u}$ along $\mathbf{p} - \mathbf{q}$. As $\mathbf{p}$ is the point
# of its hull nearest to $\mathbf{q}$, all $\mathbf{x}$ of that hull have
# $(\mathbf{x} - \mathbf{p})^\top \mathbf{u} \ge 0$ (an obtuse angle), and likewise on the other side. So the street
# between the two perpendiculars is empty. This is the *dual* problem of {eq}`svm-hard`: the weights of the means live
# on examples instead of features. Two nearest *examples* are farther apart than the hulls.

# %% jupyter={"source_hidden": true}
def hull_distance_solution(A, B):
    signed, m = np.concatenate([A, -B]), len(A)
    sums = np.repeat(np.eye(2), [m, len(B)], axis=0)  # one sum a class
    p = minimize(lambda p: norm(p @ signed) ** 2, sums @ [1 / m, 1 / len(B)],
                 jac=lambda p: 2 * signed @ (p @ signed), method='SLSQP',
                 bounds=[(0, 1)] * len(sums), options={'ftol': 1e-14},
                 constraints={'type': 'eq', 'fun': lambda p: p @ sums - 1}).x
    return norm(p @ signed)

def nearest_examples(A, B):
    return norm(A[:, None] - B, axis=2).min()

assert grade(hull_distance_solution, width_of_street, hulls, rtol=1e-4)
assert not grade(nearest_examples, width_of_street, hulls, rtol=1e-4)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def distance(x, w, b):
    return abs(w @ x + b) / norm(w)

def nearest_by_solver(x, w, b):
    z = minimize(
        lambda z: (z - x) @ (z - x),
        x,
        jac=lambda z: 2 * (z - x),
        method='SLSQP',
        options={'ftol': 1e-15},
        constraints={'type': 'eq', 'fun': lambda z: w @ z + b},
    ).x
    return norm(z - x)

verify(
    'the distance is the score divided by the norm',
    lambda x, w, b: close(
        distance(x, w, b), nearest_by_solver(x, w, b), atol=1e-6
    ),
    slip=(
        'divides by the squared norm',
        lambda x, w, b: close(
            abs(w @ x + b) / norm(w) ** 2, nearest_by_solver(x, w, b)
        ),
    ),
    x=vectors(3),
    w=vectors(3, 1, 3),
    b=scalars(),
    tries=50,
)

def like_svc(seed, price_of_b):
    X, y = clouds(seed)
    b, w = widest_street(X, y, price_of_b)
    svc = SVC(kernel='linear', C=1e6, tol=1e-9).fit(X, y)
    return close(
        np.append(w, b),
        np.append(svc.coef_, svc.intercept_),
        rtol=1e-5,
        atol=1e-5,
    )

verify(
    'the program finds the hyperplane of SVC',
    lambda seed: like_svc(seed, 0),
    slip=('counts the bias among the weights', lambda seed: like_svc(seed, 1)),
    seed=seeds(),
    tries=40,
)

# %% tags=["checks"]
def is_seen(seed, share):
    X, y = clouds(seed)
    best = room(X, y, compass).max()
    return close(best, share / norm(widest_street(X, y)[1]), rtol=2e-3)

def unmoved(seed, drop):
    X, y = clouds(seed)
    kept = on_kerb(X, y)[drop:]
    return close(np.append(*widest_street(X[kept], y[kept])),
                 np.append(*widest_street(X, y)), rtol=1e-5, atol=1e-5)

verify(
    'the best direction has room 1 / norm',
    lambda seed: is_seen(seed, 1),
    slip=('takes the whole gap for the margin', lambda seed: is_seen(seed, 2)),
    seed=seeds(),
    tries=20,
)
verify(
    'the support vectors alone make the same street',
    lambda seed: unmoved(seed, 0),
    slip=('deletes a support vector, too', lambda seed: unmoved(seed, 1)),
    seed=seeds(),
    tries=30,
)

# %% [markdown]
# ## The soft margin and the hinge loss
#
# (ml.svm.soft.idea)=
# If a single example lies inside the other cloud, {eq}`svm-hard` has no permitted point at all. The remedy is to maximize
# the margin but allow some constraints to be violated. Each example gets a *slack* $\xi_n$, the amount by which it may fall
# short:
#
# ```{math}
# :label: ml.svm.soft.constraint
# y_n \, \mathbf{x}_n^\top \mathbf{w} \ge 1 - \xi_n, \qquad \xi_n \ge 0 .
# ```
#
# There is no bias here, and in this part and the next we do without: if one is wanted, a feature that is always 1 is
# appended, *and its weight is penalized like the others*. The last part sets the bias free. We minimize
#
# ```{math}
# :label: ml.svm.soft.objective
# \begin{aligned}
# \min_{\mathbf{w}, \boldsymbol\xi} \quad & \frac\lambda2 \|\mathbf{w}\|^2 + \frac1N \sum_{n=1}^N \xi_n \\
# \text{subject to} \quad & y_n \, \mathbf{x}_n^\top \mathbf{w} \ge 1 - \xi_n , \quad \xi_n \ge 0 \quad \text{for all } n ,
# \end{aligned}
# ```
#
# the width of the street against a mean fine. Whatever $\mathbf{w}$ is, the cheapest permitted slack is
# $\xi_n = \max(0, 1 - y_n \mathbf{x}_n^\top \mathbf{w})$. Put it in, and the constraints are gone:
#
# ```{math}
# :label: svm-primal
# P(\mathbf{w}) = \frac\lambda2 \|\mathbf{w}\|^2 + \frac1N \sum_{n=1}^N h(y_n \mathbf{x}_n^\top \mathbf{w}) , \qquad h(m) =
# \max(0, 1 - m) .
# ```
#
# So the *soft-margin* machine is nothing but a linear model with the *hinge loss* $h$ and the penalty of
# [ridge regression](../regression/ridge_regression.ipynb). A square plus convex functions is strictly convex and grows
# without bound, so there is exactly one minimum. Libraries write $C$ for the price of a trespass,
# $\frac12 \|\mathbf{w}\|^2 + C \sum_n h$; divide by $CN$ to see that $C = 1 / (\lambda N)$.

# %%
def hinge(m):
    return np.maximum(0, 1 - m)

def by_sklearn(X, y, lam):  # no bias: all weights are penalized
    model = LinearSVC(loss='hinge', C=1 / (lam * len(y)), tol=1e-10,
                      fit_intercept=False, max_iter=10**6, random_state=0)
    return model.fit(X, y).coef_[0]

# %% [markdown]
# Suppose, for example, that one input occurs twice, with both labels. Without slack the constraints are infeasible; with it
# they are feasible, and the two examples need a total slack of $(1 - m) + (1 + m) = 2$ or more.

# %%
def overlapping(seed, N=12, D=3):  # the last feature is always 1
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    X[:, -1] = 1
    y = np.sign(X @ rng.normal(size=D) + rng.normal(size=N))
    X[1], y[:2] = X[0], [1, -1]  # one input, both labels
    return X, y

# %% [markdown]
# What does $\lambda$ do? Let $\mathbf{w}_1, \mathbf{w}_2$ be optimal for $\lambda_1 < \lambda_2$, and write $H$
# for the mean hinge loss. Each is best at its own price,
#
# $$
# \begin{aligned}
# \tfrac{\lambda_1}2 \|\mathbf{w}_1\|^2 + H(\mathbf{w}_1) &\le \tfrac{\lambda_1}2 \|\mathbf{w}_2\|^2 + H(\mathbf{w}_2) , \\
# \tfrac{\lambda_2}2 \|\mathbf{w}_2\|^2 + H(\mathbf{w}_2) &\le \tfrac{\lambda_2}2 \|\mathbf{w}_1\|^2 + H(\mathbf{w}_1) .
# \end{aligned}
# $$
#
# Add the two: $(\lambda_2 - \lambda_1)(\|\mathbf{w}_2\|^2 - \|\mathbf{w}_1\|^2) \le 0$. A larger $\lambda$ never makes the
# weights longer, and then the first line says that it never makes $H$ smaller: shorter weights, more trespass. (Without a
# bias the street, $2 / \|\mathbf{w}\|$ wide, never gets narrower. Where the last weight is a penalized bias, the theorem is
# about the norm with it, and the visible street usually gets wider, but need not.)

# %%
rng = np.random.default_rng(7)
y_d = np.where(np.arange(80) % 2, 1.0, -1.0)
X_d = np.column_stack([
    rng.normal(size=(80, 2)) + y_d[:, None] * [0.9, 0.5], np.ones(80)])
streets = {lam: by_sklearn(X_d, y_d, lam) for lam in (1, 0.1, 0.001)}
for lam, w in streets.items():
    m = y_d * (X_d @ w)
    print(f'λ = {lam:5}: width {2 / norm(w[:2]):.2f}, in or beyond the '
          f'street {(m < 1 - 1e-6).sum()}, mistakes {(m < 0).sum()}')

# %% mystnb={"image": {"alt": "Three panels of the same two overlapping clouds. For lambda 1 the street between the dashed edges covers most points, for 0.1 it is narrower, for 0.001 narrower still; short lines lead from every trespassing point to the edge where it should be."}} tags=["hide-input"]
def draw(ax, w, X, y):  # the street of w (3,), and the points
    t = np.array([-9, 9])
    for level, style in ((-1, '--'), (0, '-'), (1, '--')):
        ax.plot(t, (level - w[2] - w[0] * t) / w[1], style, color=GREY,
                lw=1.2)
    for label, colour in ((1, 'C0'), (-1, 'C1')):
        ax.plot(*X[y == label, :2].T, 'o', ms=2.8, color=colour)
    ax.set(xlabel='x₁', xlim=(-3.6, 3.6), ylim=(-3.6, 3.6), aspect='equal')

fig, axes = panels(3, height=2.3, sharey=True)
for ax, (lam, w) in zip(axes, streets.items(), strict=True):
    short = hinge(y_d * (X_d @ w)) * y_d / (w[:2] @ w[:2])
    kerb = X_d[:, :2] + short[:, None] * w[:2]  # where it should be
    ax.plot(*np.stack([X_d[:, :2], kerb], 1).T, color='C2', lw=0.7)
    draw(ax, w, X_d, y_d)
    ax.set_title(f'λ = {lam}')
axes[0].set_ylabel('x₂');

# %% [markdown] tags=["caption"]
# On these data a larger price $\lambda$ on the weights makes the street wider and its trespassers more: 17 of 80 at $\lambda
# = 0.001$, 30 at 0.1, 57 at 1.

# %% [markdown]
# **What the hinge loss estimates.** The number of mistakes has steps and no useful slope. The hinge lies above the step,
# $h(m) \ge 1$ where $m \le 0$, so a small mean hinge guarantees few mistakes; it is convex; and unlike the
# [logistic loss](logistic_regression.ipynb) it is exactly zero from 1 on. Is anything lost in the exchange? Fix an
# input whose label is 1 with probability $\eta$ and let the score $f$ be free. For $|f| \le 1$ the expected hinge is
#
# ```{math}
# :label: svm-bayes
# \eta (1 - f) + (1 - \eta) (1 + f) = 1 + (1 - 2\eta) f ,
# ```
#
# a line with its lowest point at $f = \operatorname{sign}(2\eta - 1)$; farther out one of the two terms keeps growing while
# the other is zero. So with unlimited data and freedom the hinge finds exactly the better answer, as the [best
# classifier](discriminant_analysis.ipynb) does {cite}`bartlett2006convexity`, and *only* that: its score is $\pm 1$ for
# $\eta = 0.51$ and for $\eta = 0.99$. The logistic loss would find the log-odds. A support vector machine decides; it does
# not say how sure it is.

# %%
grid = np.linspace(-4, 4, 801)  # scores
logistic = lambda m: np.logaddexp(0, -m)

def best_score(loss, eta):  # (...) -> (...)
    eta = eta[..., None]
    risk = eta * loss(grid) + (1 - eta) * loss(-grid)
    return grid[risk.argmin(-1)]
assert close(best_score(logistic, np.array(0.75)), np.log(3), atol=0.005)

# %% mystnb={"image": {"alt": "Left: losses against the margin. The zero-one step, the hinge, a line falling to zero at margin 1, and the logistic loss, a smooth curve. Right: the best score against the probability of label 1; a step from minus 1 to 1 for the hinge, the smooth log-odds curve for the logistic loss."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.5)
m = np.linspace(-2.5, 3, 221)
left.step([-2.5, 0, 3], [1, 0, 0], where='post', color=GREY)
left.plot(m, hinge(m))
left.plot(m, logistic(m) / np.log(2))
left.text(-2.4, 1.15, 'mistake', color=GREY)
left.text(-0.95, 2.1, 'hinge', color='C0')
left.text(1.2, 0.5, 'logistic / log 2', color='C1')
left.set(xlabel='margin y f', title='loss')
eta = np.linspace(0.021, 0.979, 480)
right.plot(eta, best_score(hinge, eta))
right.plot(eta, best_score(logistic, eta))
right.set(xlabel='probability η of label 1', title='best score f');

# %% [markdown] tags=["caption"]
# Left: the hinge lies above the step of mistakes and is zero from margin 1 on. Right: its best score says only which label
# is likelier; that of the logistic loss says how much.

# %% [markdown]
# **Descent, one example at a time.** $P$ has corners, but a
# [subgradient](../optimization/subgradients.ipynb) everywhere: with one example drawn at random it is
# $\lambda \mathbf{w} - y_n \mathbf{x}_n$ if the margin is below 1, and $\lambda \mathbf{w}$ otherwise. Thanks to the
# square the steps may be $1 / \lambda t$, and the mean of the iterates comes within about $\frac{\log T}{\lambda T}$
# of the minimum {cite}`shalev2011pegasos`. Ten walks at once, averaged over their second halves:

# %%
def objective(w, X, y, lam):  # w (..., D) -> (...)
    return lam / 2 * (w**2).sum(-1) + hinge(y * (w @ X.T)).mean(-1)

def sgd(X, y, lam, picks):  # picks (T, walks) -> (walks, D)
    w = mean = np.zeros((picks.shape[1], X.shape[1]))
    for t, n in enumerate(picks, start=1):
        inside = y[n] * (X[n] * w).sum(1) < 1
        w = w - (lam * w - (inside * y[n])[:, None] * X[n]) / (lam * t)
        if 2 * t > len(picks):
            mean = mean + 2 * w / len(picks)
    return mean

walks = sgd(X_d, y_d, 0.1, np.random.default_rng(0).integers(
    80, size=(20_000, 10)))
excess = objective(walks, X_d, y_d, 0.1) - objective(
    streets[0.1], X_d, y_d, 0.1)
print(f'ten walks end above the minimum by {excess.min():.1e} '
      f'to {excess.max():.1e}')
for name, end in (('mean of the walks', walks.mean(0)),
                  ('LinearSVC', streets[0.1])):
    print(f'{name:17}', *(f'{v:.3f}' for v in end))

# %% [markdown]
# Two or three digits after $20000/80 = 250$ rounds through the data; and how good they are we know only because another
# solver told us the minimum. Both complaints have one remedy.
#
# ```{exercise} ★ The best threshold
# :label: svm-threshold
# Somebody hands you scores `f` and labels `y`. Write `least_hinge(f, y)`, the smallest mean hinge loss that any bias
# $b$, added to all scores, can achieve. No iteration is needed.
# ```

# %%
def least_hinge(f, y):
    raise NotImplementedError('your turn')

# %%
def least_hinge_by_program(f, y):  # variables: b, then the slacks
    N = len(y)
    rows = np.column_stack([y, np.eye(N)])
    return linprog(np.append(0, np.full(N, 1 / N)), A_ub=-rows,
                   b_ub=y * f - 1, bounds=[(None, None)] + [(0, None)] * N
                   ).fun

def scored(seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(15) < 0.4, 1.0, -1.0)
    return y + 2 * rng.normal(size=15) + 1, y

thresholds = [scored(seed) for seed in range(8)]
grade(least_hinge, least_hinge_by_program, thresholds)

# %% [markdown]
# ```{solution-start} svm-threshold
# :class: dropdown
# ```
# As a function of $b$ the loss is convex and piecewise linear, and its minimum is at a corner. Example $n$ has its
# corner where $y_n (f_n + b) = 1$, that is at $b = y_n - f_n$ (since $1 / y_n = y_n$). Try all $N$. Aligning the mean
# score with the mean label is quick and wrong.

# %% jupyter={"source_hidden": true}
def least_hinge_solution(f, y):
    corners = y - f
    return hinge(y * (f + corners[:, None])).mean(1).min()

def by_means(f, y):
    return hinge(y * (f + (y - f).mean())).mean()

assert grade(least_hinge_solution, least_hinge_by_program, thresholds)
assert not grade(by_means, least_hinge_by_program, thresholds)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def soft_program(X, y, lam, rule):  # rule: y, score -> margin; -> w, xi
    N, D = X.shape
    slope = np.append(np.zeros(D), np.full(N, 1 / N))
    u = minimize(
        lambda u: lam / 2 * (u[:D] @ u[:D]) + u[D:].mean(), np.ones(N + D),
        jac=lambda u: np.append(lam * u[:D], 0 * u[D:]) + slope,
        bounds=[(None, None)] * D + [(0, None)] * N, method='SLSQP',
        constraints={'type': 'ineq',
                     'fun': lambda u: rule(y, X @ u[:D]) - 1 + u[D:]},
        options={'ftol': 1e-14, 'maxiter': 500}).x
    return u[:D], u[D:]

def feasible(seed, most):  # slack at most this
    X, y = overlapping(seed)
    N, D = X.shape
    rows = np.column_stack([y[:, None] * X, np.eye(N)])
    box = [(None, None)] * D + [(0, most)] * N
    slack = np.append(np.zeros(D), np.ones(N))
    found = linprog(slack, A_ub=-rows, b_ub=-np.ones(N), bounds=box)
    return found.status == 0 and found.fun >= 2 - 1e-9

def slack_is_hinge(seed, lam, rule):
    X, y = overlapping(seed)
    xi = soft_program(X, y, lam, rule)[1]
    losses = hinge(y * (X @ by_sklearn(X, y, lam)))
    return close(xi, losses, atol=2e-6)
product = lambda y, score: y * score

def same_weights(seed, lam, assumed):
    X, y = overlapping(seed)
    w, _ = soft_program(X, y, assumed, product)
    return close(w, by_sklearn(X, y, lam), atol=2e-6)
holds(
    'ml.svm.soft.idea',
    lambda seed: feasible(seed, None),
    slip=('allows no slack', lambda seed: feasible(seed, 0)),
    seed=seeds(),
    tries=30,
)
holds(
    'ml.svm.soft.constraint',
    lambda seed, lam: slack_is_hinge(seed, lam, product),
    slip=(
        'takes label minus score for the margin',
        lambda seed, lam: slack_is_hinge(
            seed, lam, lambda y, score: y - score
        ),
    ),
    seed=seeds(),
    lam=[0.05, 0.2, 1],
    tries=20,
)

# %% tags=["checks"]
holds(
    'ml.svm.soft.objective',
    lambda seed, lam: same_weights(seed, lam, lam),
    slip=('loses the factor λ', lambda seed, lam: same_weights(seed, lam, 1)),
    seed=seeds(),
    lam=[0.05, 0.2, 1],
    tries=20,
)

def trade(seed, low, factor):  # changes of norm and of mean hinge
    X, y = overlapping(seed)
    w, v = (by_sklearn(X, y, lam) for lam in (low, factor * low))
    losses = [hinge(y * (X @ u)).mean() for u in (w, v)]
    return norm(v) <= norm(w) + 1e-9 and losses[1] >= losses[0] - 1e-9
verify(
    'a larger penalty: shorter weights, more trespass',
    trade,
    slip=(
        'makes the penalty smaller, not larger',
        lambda seed, low, factor: trade(seed, low, 1 / factor),
    ),
    seed=seeds(),
    low=[0.01, 0.1, 1],
    factor=[1.2, 5],
    tries=30,
)

# %% tags=["checks"]
def finds_side(eta, loss):
    return close(best_score(loss, np.array(eta)), np.sign(2 * eta - 1))

verify(
    'the best score under the hinge is the sign of 2 eta - 1',
    lambda eta: finds_side(eta, hinge),
    slip=('takes the logistic loss', lambda eta: finds_side(eta, logistic)),
    eta=scalars(0.02, 0.98).filter(lambda eta: abs(eta - 0.5) > 0.005),
)

# %% [markdown]
# ## The dual problem, support vectors and kernels
#
# This section continues [The soft margin and the hinge loss](#the-soft-margin-and-the-hinge-loss). Give every rule of
# {eq}`ml.svm.soft.constraint` a multiplier, divided by $N$ for convenience: $\alpha_n \ge 0$ for the margin and $\nu_n \ge
# 0$ for $\xi_n \ge 0$. The Lagrangian is
#
# ```{math}
# :label: svm-lagrangian
# \begin{aligned}
# \ell(\mathbf{w}, \boldsymbol\xi) = \frac\lambda2 \|\mathbf{w}\|^2 + \frac1N \sum_{n=1}^N \big[ &\xi_n + \alpha_n (1 - \xi_n - y_n \mathbf{x}_n^\top \mathbf{w}) \\
# &- \nu_n \xi_n \big] .
# \end{aligned}
# ```
#
# The [KKT conditions](../optimization/projected_gradient_descent.ipynb) ask that it be stationary. In $\xi_n$ this
# means $\alpha_n + \nu_n = 1$, so $0 \le \alpha_n \le 1$; and in $\mathbf{w}$ that it is
#
# ```{math}
# :label: svm-weights
# \mathbf{w}(\boldsymbol\alpha) = \frac{1}{\lambda N} \sum_{n=1}^N \alpha_n y_n \mathbf{x}_n .
# ```
#
# A force balance: each example pulls the weights towards its own side with a force $\alpha_n$ between 0 and 1, against
# the spring of the penalty. Complementary slackness, $\alpha_n (1 - \xi_n - m_n) = 0$ and $(1 - \alpha_n) \xi_n = 0$
# with the margin $m_n = y_n \mathbf{x}_n^\top \mathbf{w}$, leaves three sorts of examples: those beyond their edge, which
# do not pull, those on the edge, and trespassers, which pull with full force. For all $n$,
#
# ```{math}
# :label: svm-kkt
# \begin{aligned}
# \alpha_n = 0 \ &\implies \ m_n \ge 1 , \\
# 0 < \alpha_n < 1 \ &\implies \ m_n = 1 , \\
# \alpha_n = 1 \ &\implies \ m_n \le 1 .
# \end{aligned}
# ```
#
# The *support vectors* are those with $\alpha_n > 0$: by {eq}`svm-weights` they alone make the weights. Now put
# $\nu_n = 1 - \alpha_n$ and {eq}`svm-weights` back into $\ell$. The slacks drop out, the terms with
# $\mathbf{x}_n^\top \mathbf{w}$ add up to $-\lambda \|\mathbf{w}\|^2$, and the lowest value of the Lagrangian is
#
# ```{math}
# :label: svm-dual
# D(\boldsymbol\alpha) = \frac1N \sum_{n=1}^N \alpha_n - \frac\lambda2 \|\mathbf{w}(\boldsymbol\alpha)\|^2 , \qquad
# \boldsymbol\alpha \in [0, 1]^N .
# ```
#
# To maximize $D$ is the *dual problem*: a concave quadratic in a box, one variable for each example.
#
# ````{prf:theorem} The gap is a certificate
# :label: thm-svm-gap
# Let $\boldsymbol\alpha \in [0, 1]^N$, $\mathbf{w} = \mathbf{w}(\boldsymbol\alpha)$, and let $\mathbf{w}^*$ minimize $P$.
# Then
#
# ```{math}
# :label: svm-gap
# P(\mathbf{w}) - D(\boldsymbol\alpha) = \frac1N \sum_{n=1}^N \big[ h(m_n) - \alpha_n (1 - m_n) \big] \ \ge \ \lambda
# \|\mathbf{w} - \mathbf{w}^*\|^2 ,
# ```
#
# and no term of the sum is negative. The gap is zero if and only if {eq}`svm-kkt` holds for all $n$, and such an
# $\boldsymbol\alpha$ exists: $\max D = \min P$.
# ````
#
# ```{prf:proof}
# *The formula.* By {eq}`svm-weights`,
# $\lambda \|\mathbf{w}\|^2 = \mathbf{w}^\top (\lambda \mathbf{w}) = \frac1N \sum_n \alpha_n m_n$; insert this in
# $P - D = \lambda \|\mathbf{w}\|^2 + \frac1N \sum_n h(m_n) - \frac1N \sum_n \alpha_n$. As $h(m)$ is the larger of $0$
# and $1 - m$, and $\alpha_n (1 - m_n)$ a mean of the two, no term is negative, and one is zero exactly in the cases of
# {eq}`svm-kkt`.
#
# *Existence.* The continuous $D$ has a maximum on the compact box. Its slope is
# $\partial D / \partial \alpha_n = \frac1N (1 - m_n)$. At the maximum it is not positive where $\alpha_n = 0$, zero where
# $0 < \alpha_n < 1$, and not negative where $\alpha_n = 1$. This is {eq}`svm-kkt`, so the gap is zero.
#
# *The distance.* Let
# $G(\mathbf{v}) = \frac\lambda2 \|\mathbf{v}\|^2 + \frac1N \sum_n \alpha_n (1 - y_n \mathbf{x}_n^\top \mathbf{v})$. It is
# at most $P(\mathbf{v})$, and a quadratic with minimum $D(\boldsymbol\alpha)$ at $\mathbf{w}$, so
# $P(\mathbf{w}^*) \ge G(\mathbf{w}^*) = D(\boldsymbol\alpha) + \frac\lambda2 \|\mathbf{w}^* - \mathbf{w}\|^2$. (In
# particular no $D$ exceeds $\min P$, and where the gap is zero both are optimal.) And
# since $P - \frac\lambda2 \|\cdot\|^2$ is convex, also
# $P(\mathbf{w}) \ge P(\mathbf{w}^*) + \frac\lambda2 \|\mathbf{w} - \mathbf{w}^*\|^2$
# ([strong convexity](../optimization/convex_functions.ipynb)). Add the two.
# ```
#
# So *any* $\boldsymbol\alpha$ tells how far its weights can be from the best ones, without knowing these. (For one example
# $x = y = 1$ and $\lambda = 1$ both sides of {eq}`svm-gap` are $(1 - \alpha)^2$: the bound cannot be improved.)

# %%
def weights(alpha, X, y, lam):
    return (alpha * y) @ X / (lam * len(y))

def dual(alpha, X, y, lam):
    w = weights(alpha, X, y, lam)
    return alpha.mean() - lam / 2 * (w @ w)

# %% [markdown]
# **One force at a time.** A quadratic in a box is best climbed along its edges. With all other $\alpha$ fixed, $D$ is a
# parabola in $\alpha_n$ with slope $\frac1N (1 - m_n)$ and curvature $-\|\mathbf{x}_n\|^2 / \lambda N^2$. Go to its top,
# or as far as the box allows, and move the weights along by {eq}`svm-weights`:
#
# ```{math}
# :label: svm-ascent
# \alpha_n \leftarrow \operatorname{clip}\Big( \alpha_n + \lambda N \, \frac{1 - m_n}{\|\mathbf{x}_n\|^2}, \ 0, \ 1 \Big) .
# ```
#
# There is no learning rate, an update costs $O(D)$, and the gap says when to stop. This is the algorithm inside
# `LinearSVC` {cite}`hsieh2008dual`.
#
# ```{prf:theorem} Coordinate ascent arrives
# :label: thm-svm-ascent
# Let all $\mathbf{x}_n \ne \mathbf{0}$. In sweeps over all examples, each in any order,
# $D(\boldsymbol\alpha) \to \max D$ and $\mathbf{w}(\boldsymbol\alpha) \to \mathbf{w}^*$.
# ```
#
# ```{prf:proof}
# A sweep in the order $\pi$ is a continuous map $S_\pi$ of the box. It raises $D$ strictly unless no coordinate moves,
# as each parabola has a single top. Let $\boldsymbol\alpha_k$ be the state after $k$ sweeps. There are finitely many
# orders, so along some subsequence one $\pi$ is used throughout and $\boldsymbol\alpha_k$ converges, to
# $\hat{\boldsymbol\alpha}$ say. The values $D(\boldsymbol\alpha_k)$ increase to a limit, the same before and after a
# sweep: $D(S_\pi \hat{\boldsymbol\alpha}) = D(\hat{\boldsymbol\alpha})$. So no coordinate of $\hat{\boldsymbol\alpha}$
# moves. Each $\hat\alpha_n$ is best with the others fixed, which is {eq}`svm-kkt`, and the gap there is zero. Hence
# $D(\boldsymbol\alpha_k) \to \max D = P(\mathbf{w}^*)$, and
# $\frac\lambda2 \|\mathbf{w}(\boldsymbol\alpha_k) - \mathbf{w}^*\|^2 \le P(\mathbf{w}^*) - D(\boldsymbol\alpha_k)$, as
# in the proof before.
# ```

# %%
def ascent(X, y, lam, tol=1e-11, seed=0):  # -> alpha, w, P and D by sweep
    rng, N = np.random.default_rng(seed), len(y)
    alpha, w, record = np.zeros(N), np.zeros(X.shape[1]), []
    squares = (X**2).sum(1)
    while True:
        record.append((objective(w, X, y, lam), dual(alpha, X, y, lam)))
        if np.subtract(*record[-1]) <= tol:
            return alpha, w, np.array(record)
        for n in rng.permutation(N):
            top = alpha[n] + lam * N * (1 - y[n] * (X[n] @ w)) / squares[n]
            change = min(max(top, 0), 1) - alpha[n]
            if change:  # most weights soon stay at 0 or 1
                alpha[n] += change
                w += change * y[n] * X[n] / (lam * N)

# %% [markdown]
# On the two clouds the ascent ends at the weights of `LinearSVC`, and the three sorts of {eq}`svm-kkt` can be counted.

# %% tags=["hide-input"]
alpha_d, w_d, climb = ascent(X_d, y_d, 0.1)
assert close(w_d, streets[0.1]) and (np.diff(climb[:, 1]) >= -1e-15).all()
print(f'idle {(alpha_d == 0).sum()}, full force {(alpha_d == 1).sum()}, '
      f'in between {((alpha_d > 0) & (alpha_d < 1)).sum()}')
gap_20 = np.subtract(*climb[20])
print(f'gap after 20 sweeps {gap_20:.1e}, '
      f'excess of 250 rounds of SGD {excess.min():.1e}')

# %% mystnb={"image": {"alt": "Left: two overlapping clouds with the street; circles mark the support vectors, thin ones for those in or beyond the street, with full force, thick ones for the few on the edges. Right: primal objective falling and dual objective rising over sweeps towards each other, with the gap between them shaded; after about four sweeps they have met."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.9)
draw(left, w_d, X_d, y_d)
full, part = alpha_d == 1, (alpha_d > 0) & (alpha_d < 1)
left.plot(*X_d[full, :2].T, 'o', ms=8, mfc='none', mec='C2', mew=0.9)
left.plot(*X_d[part, :2].T, 'o', ms=10, mfc='none', mec='C4', mew=2)
left.set_ylabel('x₂')
sweeps = np.arange(13)
right.fill_between(sweeps, *climb[:13].T, alpha=0.2, lw=0)
right.plot(sweeps, climb[:13, 0])
right.plot(sweeps, climb[:13, 1])
right.text(2.5, climb[0, 0] * 0.75, 'P(w), an upper bound', color='C0')
right.text(3, climb[0, 0] * 0.22, 'D(α), a lower bound', color='C1')
right.set(xlabel='sweep', title='objective', ylim=(-0.02, 1.05),
          xticks=range(0, 13, 2));

# %% [markdown] tags=["caption"]
# Left: 32 of 80 examples pull (circles), two of them from the edges. Right: primal and dual objective enclose the minimum,
# and after four sweeps hardly a gap is left.

# %% [markdown]
# **When nobody needs to trespass**, the soft machine is the hard one, and not only in the limit $\lambda \to 0$. Let
# $\mathbf{w}$ solve {eq}`svm-hard` without bias, with margin $\gamma = 1 / \|\mathbf{w}\|$. Its KKT conditions give $a_n
# \ge 0$ with $\mathbf{w} = \sum_n a_n y_n \mathbf{x}_n$, and $a_n > 0$ only where $m_n = 1$; so $\|\mathbf{w}\|^2 = \sum_n
# a_n m_n = \sum_n a_n$. Then $\alpha_n = \lambda N a_n$ meets {eq}`svm-weights` and {eq}`svm-kkt`, unless some $\alpha_n$
# exceeds 1. Since $a_n \le \|\mathbf{w}\|^2$, any $\lambda \le \gamma^2 / N$ is small enough.
#
# **The dual sees inner products alone.** Multiply out the square in {eq}`svm-dual`: the inputs enter only through $K_{nm} =
# \mathbf{x}_n^\top \mathbf{x}_m$, and so do the scores $\frac{1}{\lambda N} \sum_m \alpha_m y_m K_{nm}$. So the same solver
# runs on any Gram matrix, also on $K_{nm} = k(\mathbf{x}_n, \mathbf{x}_m)$ with a *kernel*, a function that is the inner
# product of some features, which need never be computed. Instead of weights it keeps the scores, and an update costs
# $O(N)$. Which functions qualify is the subject of [Kernels](kernels.ipynb); here we use the bell $k(\mathbf{x},
# \mathbf{z}) = e^{-g \|\mathbf{x} - \mathbf{z}\|^2}$. Its Gram matrix is positive definite if the inputs are distinct
# {cite}`scholkopf2002learning`, so that the best $\boldsymbol\alpha$ is unique.

# %%
def ascent_by_gram(K, y, lam, tol=1e-11, seed=0):  # -> alpha, scores
    rng, N = np.random.default_rng(seed), len(y)
    alpha, f = np.zeros(N), np.zeros(N)
    while (hinge(y * f) - alpha * (1 - y * f)).mean() > tol:
        for n in rng.permutation(N):
            top = alpha[n] + lam * N * (1 - y[n] * f[n]) / K[n, n]
            change = min(max(top, 0), 1) - alpha[n]
            if change:
                alpha[n] += change
                f += change * y[n] * K[n] / (lam * N)
    return alpha, f

def bell(X, Z, g=1.0):  # (N, M)
    return np.exp(-g * ((X[:, None] - Z) ** 2).sum(-1))

# %% [markdown]
# ```{exercise} ★★ The squared hinge
# :label: svm-squared
# With $\frac12 h^2$ in place of $h$ the loss has no corner. Derive its dual and write `squared_svm(X, y, lam)`, the
# weights that minimize $\frac\lambda2 \|\mathbf{w}\|^2 + \frac{1}{2N} \sum_n h(y_n \mathbf{x}_n^\top \mathbf{w})^2$.
# Two places in `ascent` change. A few hundred sweeps will do.
# ```

# %%
def squared_svm(X, y, lam):
    raise NotImplementedError('your turn')

# %%
def squared_by_sklearn(X, y, lam):
    model = LinearSVC(loss='squared_hinge', C=1 / (2 * lam * len(y)),
                      fit_intercept=False, tol=1e-12, max_iter=10**6,
                      random_state=0)
    return model.fit(X, y).coef_[0]

squares = [(*overlapping(seed), lam) for seed in range(3) for lam in (0.3, 1)]
grade(squared_svm, squared_by_sklearn, squares, rtol=1e-5)

# %% [markdown]
# ```{solution-start} svm-squared
# :class: dropdown
# ```
# Write $\frac12 h(m)^2 = \max_{\alpha \ge 0} \, [\alpha (1 - m) - \frac12 \alpha^2]$ (the maximum is at
# $\alpha = h(m)$). As before, minimizing over $\mathbf{w}$ gives {eq}`svm-weights`, and the dual is {eq}`svm-dual` with
# $\alpha_n - \frac12 \alpha_n^2$ in place of $\alpha_n$ and no upper bound. Along $\alpha_n$ the slope is now
# $\frac1N (1 - m_n - \alpha_n)$ and the curvature $-\frac1N (1 + \|\mathbf{x}_n\|^2 / \lambda N)$. Nobody is on the
# edge any more: $\alpha_n = h(m_n)$, and each trespasser pulls in proportion. Who keeps the upper bound of 1 lets the
# worst of them pull too little.

# %% jupyter={"source_hidden": true}
def squared_svm_solution(X, y, lam, most=np.inf, sweeps=200):
    alpha, w, scale = np.zeros(len(y)), np.zeros(X.shape[1]), lam * len(y)
    for _ in range(sweeps):
        for n in range(len(y)):
            slope = 1 - y[n] * (X[n] @ w) - alpha[n]
            top = alpha[n] + slope / (1 + X[n] @ X[n] / scale)
            change = min(max(top, 0), most) - alpha[n]
            alpha[n] += change
            w += change * y[n] * X[n] / scale
    return w

def bound_kept(X, y, lam):
    return squared_svm_solution(X, y, lam, most=1)

assert grade(squared_svm_solution, squared_by_sklearn, squares, rtol=1e-5)
assert not grade(bound_kept, squared_by_sklearn, squares, rtol=1e-5)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def gap_at(seed, lam):  # a random alpha
    X, y = overlapping(seed)
    alpha = np.random.default_rng([seed, 1]).random(len(y))
    w = weights(alpha, X, y, lam)
    gap = objective(w, X, y, lam) - dual(alpha, X, y, lam)
    return gap, alpha, y * (X @ w), norm(w - by_sklearn(X, y, lam)) ** 2

def gap_is(seed, lam, sign):
    gap, alpha, m, _ = gap_at(seed, lam)
    terms = hinge(m) - alpha * (1 - sign * m)
    return close(gap, terms.mean()) and terms.min() >= 0

def bounds_distance(seed, lam, factor):
    gap, *_, squared = gap_at(seed, lam)
    return lam * squared <= factor * gap + 1e-9
verify(
    'the gap is a sum of terms that are not negative',
    lambda seed, lam: gap_is(seed, lam, 1),
    slip=(
        'measures with minus the margin',
        lambda seed, lam: gap_is(seed, lam, -1),
    ),
    seed=seeds(),
    lam=[0.05, 0.5, 5],
    tries=40,
)
verify(
    'the gap bounds the distance to the best weights',
    lambda seed, lam: bounds_distance(seed, lam, 1),
    slip=(
        'claims half the bound',
        lambda seed, lam: bounds_distance(seed, lam, 1 / 2),
    ),
    seed=seeds(),
    lam=[0.05, 0.5, 5],
    tries=40,
)

def arrives(seed, lam, asked):
    X, y = overlapping(seed)
    return close(ascent(X, y, lam)[1], by_sklearn(X, y, asked), atol=1e-6)

def three_sorts(seed, lam, outside, inside):
    X, y = overlapping(seed)
    alpha, w, _ = ascent(X, y, lam)
    m = y * (X @ w)
    on_kerb = abs(m - 1) < 1e-4
    return (alpha[m > 1 + 1e-4] == outside).all() and (
        alpha[m < 1 - 1e-4] == inside).all() and (
        on_kerb | (alpha == 0) | (alpha == 1)).all()
verify(
    'coordinate ascent has the weights of LinearSVC',
    lambda seed, lam: arrives(seed, lam, lam),
    slip=('loses the N in λN', lambda seed, lam: arrives(seed, lam, lam / 12)),
    seed=list(range(30)),
    lam=[0.05, 0.2, 1],
    tries=15,
)

# %% tags=["checks"]
verify(
    'three sorts: idle beyond the edge, full force inside',
    lambda seed, lam: three_sorts(seed, lam, 0, 1),
    slip=(
        'exchanges the idle and the trespassers',
        lambda seed, lam: three_sorts(seed, lam, 1, 0),
    ),
    seed=list(range(30)),
    lam=[0.05, 0.2, 1],
    tries=15,
)

# %% tags=["checks"]
def hard_street(X, y):
    rows = y[:, None] * X
    return minimize(
        lambda w: w @ w / 2,
        np.ones(X.shape[1]),
        method='SLSQP',
        jac=lambda w: w,
        options={'ftol': 1e-15},
        constraints={
            'type': 'ineq',
            'jac': lambda w: rows,
            'fun': lambda w: rows @ w - 1,
        },
    ).x

def nobody_trespasses(seed, factor):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 3))
    y = np.sign(X[:, 0])
    X[:, 0] += y / 2  # a street at least 1 wide
    w = hard_street(X, y)
    lam = factor / (12 * (w @ w))
    return close(ascent(X, y, lam, tol=1e-12)[1], w, atol=1e-5)

verify(
    'a small penalty gives the hard street exactly',
    lambda seed: nobody_trespasses(seed, 1),
    slip=(
        'takes a penalty ten times as large',
        lambda seed: nobody_trespasses(seed, 10),
    ),
    seed=list(range(30)),
    tries=10,
)

# %% tags=["checks"]
def by_box_solver(K, y, lam):
    Q = K * np.outer(y, y) / (lam * len(y))
    return minimize(lambda a: a @ Q @ a / 2 - a.sum(), 0 * y,
                    jac=lambda a: Q @ a - 1, bounds=[(0, 1)] * len(y),
                    method='L-BFGS-B',
                    options={'ftol': 1e-16, 'gtol': 1e-9}).x

def gram_agrees(seed, lam, pull):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 3)), np.where(rng.random(12) < 0.5, 1.0, -1.0)
    alpha, w, _ = ascent(X, y, lam, tol=1e-9)
    linear, f = ascent_by_gram(X @ X.T, y, lam, tol=1e-9)
    same = close(linear, alpha) and close(f, X @ w)
    K = bell(X, X, g=0.4)
    beta, f = ascent_by_gram(K, y, lam)
    return (
        same
        and close(beta, by_box_solver(K, y, lam), atol=1e-4)
        and (close(f, K @ (beta * pull(y)) / (lam * 12)))
    )

verify(
    'the solver needs nothing but the Gram matrix',
    lambda seed, lam: gram_agrees(seed, lam, lambda y: y),
    slip=(
        'lets the scores forget the labels',
        lambda seed, lam: gram_agrees(seed, lam, abs),
    ),
    seed=list(range(30)),
    lam=[0.05, 0.2, 1],
    tries=12,
)

# %% [markdown]
# ## A free bias: pairs of dual variables, and leaving one out
#
# This section continues [The dual problem, support vectors and kernels](#the-dual-problem-support-vectors-and-kernels). Now
# let the scores be $\mathbf{x}_n^\top \mathbf{w} + b$ with a bias that nobody penalizes, as in the first part. In the
# Lagrangian $b$ has the slope $-\frac1N \sum_n \alpha_n y_n$, which must vanish: the pulls of the two classes are in
# balance. With $\beta_n = y_n \alpha_n$ for the pull *with its sign*, which lies between $\min(0, y_n)$ and $\max(0, y_n)$,
# and $C = 1 / (\lambda N)$, the dual (times $N$) is
#
# ```{math}
# :label: svm-pairs-dual
# \max_{\boldsymbol\beta} \ \sum_{n=1}^N y_n \beta_n - \frac C2 \boldsymbol\beta^\top \mathbf{K} \boldsymbol\beta
# \quad \text{subject to} \quad \sum_{n=1}^N \beta_n = 0 .
# ```
#
# A single coordinate cannot move any more: coordinate ascent stands still at $\mathbf{0}$. But two can, in opposite
# directions {cite}`platt1999fast`. Which two? Let $\mathbf{f} = C \mathbf{K} \boldsymbol\beta$ be the scores without bias.
# The slope along $\beta_n$ is $y_n - f_n$, the bias that would put example $n$ exactly on its edge. Read it as a vote. By
# {eq}`svm-kkt`, whoever can still rise wants the bias at or above its vote, and whoever can still fall wants it at or
# below. So $\boldsymbol\beta$ is optimal if and only if
#
# ```{math}
# :label: svm-votes
# \max_{i \text{ can rise}} (y_i - f_i) \ \le \ b \ \le \ \min_{j \text{ can fall}} (y_j - f_j) \quad \text{for some } b ,
# ```
#
# and if not, the two extreme voters are the pair to move {cite}`keerthi2001improvements`: $\beta_i$ up and $\beta_j$
# down by $t$. Along $t$ the objective has slope $(y_i - f_i) - (y_j - f_j)$ and curvature
# $-C (K_{ii} + K_{jj} - 2 K_{ij})$; go to the top, or until one of them hits its bound. Formula {eq}`svm-gap` survives,
# with $m_n = y_n (f_n + b)$, for *every* $b$, as $\sum_n \beta_n b = 0$; in terms of $r_n = y_n - f_n - b$ its terms,
# times $N$, are $h(m_n) - \alpha_n (1 - m_n) = \max_\beta \beta r_n - \beta_n r_n$, the maximum over the range of
# $\beta_n$. We take $b$ halfway between the extreme votes and stop at a small gap, which is always reached
# {cite}`keerthi2002convergence` (we do not prove it).

# %%
def pairs(K, target, low, high, C, tol=1e-10):  # -> beta, b
    beta, f = np.zeros(len(K)), np.zeros(len(K))
    while True:
        vote = target - f
        i = np.where(beta < high, vote, -np.inf).argmax()
        j = np.where(beta > low, vote, np.inf).argmin()
        b = (vote[i] + vote[j]) / 2
        r = vote - b
        if (np.maximum(high * r, low * r) - beta * r).sum() <= tol:
            return beta, b
        bend = max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)  # 0: equal inputs
        t = min((vote[i] - vote[j]) / (C * bend),
                high[i] - beta[i], beta[j] - low[j])
        beta[i] += t
        beta[j] -= t
        f += C * t * (K[i] - K[j])

def free_bias(K, y, C, tol=1e-10):
    return pairs(K, y, np.minimum(0, y), np.maximum(0, y), C, tol)

# %% [markdown]
# `SVC` climbs the same dual {cite}`chang2011libsvm`, and arrives at the same dual variables, which it stores as $C \beta_n$
# for the support vectors, and at the same bias. The machine with a penalized bias is another model: a constant 1 appended
# to the inputs adds 1 to every $K_{nm}$, and its weight, the bias, is penalized. The difference is seen best by shifting
# all inputs. The free machine does not care, as $K_{ii} + K_{jj} - 2K_{ij} = \|\mathbf{x}_i - \mathbf{x}_j\|^2$ does not;
# for the other one a distant origin makes the bias expensive.

# %%
def twins(seed, N=20):  # two clouds, far from the origin
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(N) % 2, 1.0, -1.0)
    return rng.normal(size=(N, 2)) + y[:, None] * [0.8, 0.4] + [3, -2], y

def penalized_bias(K, y, C):
    alpha, _ = ascent_by_gram(K + 1, y, 1 / (C * len(y)))
    return alpha * y, (alpha * y).sum() * C

# %%
X_t, y_t = twins(2, N=80)
lines = {'free': free_bias(X_t @ X_t.T, y_t, 0.05),
         'penalized': penalized_bias(X_t @ X_t.T, y_t, 0.05)}
for name, (beta, b) in lines.items():
    wrong = np.sign(X_t @ X_t.T @ (0.05 * beta) + b) != y_t
    print(f'bias {name}: b = {b:.2f}, {wrong.sum()} of 80 wrong')
rng = np.random.default_rng(5)
angle = np.pi * np.arange(100) / 50 + 0.2
radius = np.where(np.arange(100) % 2, 1.0, 2.2) + 0.25 * rng.normal(size=100)
X_r = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], -1)
y_r = np.where(np.arange(100) % 2, 1.0, -1.0)
beta_r, b_r = free_bias(bell(X_r, X_r), y_r, 2)
u, v = np.meshgrid(np.linspace(-3.2, 3.2, 97), np.linspace(-3.2, 3.2, 97))
landscape = 2 * bell(np.stack([u, v], -1).reshape(-1, 2), X_r) @ beta_r + b_r
wrong = np.sign(2 * bell(X_r, X_r) @ beta_r + b_r) != y_r
print(f'rings: {(beta_r != 0).sum()} of 100 are support vectors, '
      f'{wrong.sum()} wrong')
print(f'rings: the score far from all examples is b = {b_r:.2f}')

# %% mystnb={"image": {"alt": "Left: two clouds far from the origin. The line with free bias runs between them; the one with penalized bias is tilted. Right: an inner disc of one class and an outer ring of the other; the boundary of the kernel machine is a closed curve between two dashed edges, circled support vectors lie on and between the edges. Outside all points runs a third dashed curve, where the score is minus 1 once more."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3)
for (name, (beta, b)), colour in zip(lines.items(), ('C2', 'C3'), strict=True):
    w = 0.05 * beta @ X_t
    t = np.array([-1.5, 7.5])
    left.plot(t, -(b + w[0] * t) / w[1], color=colour, label=f'b {name}')
right.contour(u, v, landscape.reshape(97, 97), [-1, 0, 1], colors=GREY,
              linestyles=['--', '-', '--'], linewidths=1.2)
for ax, X, y in ((left, X_t, y_t), (right, X_r, y_r)):
    for label, colour in ((1, 'C0'), (-1, 'C1')):
        ax.plot(*X[y == label].T, 'o', ms=3, color=colour)
    ax.set(xlabel='x₁', ylabel='x₂')
right.plot(*X_r[beta_r != 0].T, 'o', ms=8, mfc='none', mec='C4', mew=0.9)
left.plot(0, 0, '+', color=GREY, ms=10)
left.set(xlim=(-0.7, 6.7), ylim=(-5.5, 3.2))
left.legend(loc='upper right', fontsize=8);

# %% [markdown] tags=["caption"]
# Left: far from the origin (cross) a penalized bias turns the line. Right: with the bell as kernel, 23 of 100 examples hold
# a street that closes around the inner class.

# %% [markdown]
# The outermost dashed curve is no edge. Far from all examples every bell has died away and the score falls back to $b$,
# which lies between $-1$ and 0, so on the way out it crosses $-1$ a second time. A street has two edges where scores are
# linear; with a kernel the machine keeps its answer out there, but with less than the full margin.
#
# Whether the bias is penalized is a modelling decision, and defaults differ between two classes of one library: `SVC` sets
# it free, `LinearSVC` does not. With centred inputs, classes of similar size and a $C$ that is not too small, the
# difference is small.
#
# **Few support vectors, small leave-one-out error.** Leave example $n$ out, train on the rest with the same $C$, and
# see whether the machine errs on $n$; the share of errors is the *leave-one-out error*.
#
# ```{prf:theorem} Leave one out
# :label: thm-svm-loo
# An example with $\beta_n = 0$ may be left out without changing $\mathbf{w}^*$ nor, if the optimal bias without it is
# unique, the scores. If that is so for all of them, the leave-one-out error is at most the share of support vectors.
# ```
#
# ```{prf:proof}
# Drop the zero from $\boldsymbol\beta$. The other $\beta$ obey the bounds, add up to zero and give the same
# $\mathbf{w}$; with the same $b$ all their terms of the gap are still zero. So they, $\mathbf{w}$ and $b$ are optimal
# for the smaller problem, whose $\mathbf{w}$ is unique. And the machine is right about $n$, since $\beta_n = 0$ means a
# margin of at least 1.
# ```
#
# The mean of the leave-one-out error over training sets of size $N$ is the expected error of training with $N - 1$, so
# this is a bound on what is to come, in which the number of features does not occur {cite}`vapnik1998statistical`. It
# also saves work, because only support vectors need a new fit.
#
# **Where it matters.** The 569 breast tumours of [logistic regression](logistic_regression.ipynb)
# {cite}`street1993nuclear`, thirty measurements each, ten random splits into 398 and 171 patients. $C$ is chosen among four
# values by the mistakes in five folds within the 398; means and standard deviations come from the training part, inside the
# folds, too. (For leaving one out, the scaling of the 398 and $C$ are kept.) Beside the machines stand the majority, the
# nearer class mean, the machine without slack, and logistic regression, its penalty chosen in the same way.

# %%
table = load_breast_cancer()
sick = 1 - 2.0 * table.target  # 1: malignant
rng = np.random.default_rng(0)
orders = [rng.permutation(569) for _ in range(10)]
makers = {
    'logistic': lambda C: LogisticRegression(C=C, solver='newton-cholesky'),
    'no slack': lambda C: SVC(kernel='linear', C=1e6, tol=1e-6),
    'soft, linear': lambda C: SVC(kernel='linear', C=C, tol=1e-6),
    'soft, bell': lambda C: SVC(gamma=1 / 30, C=C, tol=1e-6),
}

def standardized(train, test):  # by the training part
    x, z = table.data[train], table.data[test]
    return (x - x.mean(0)) / x.std(0), (z - x.mean(0)) / x.std(0)

def mistakes(make, C, train, test):
    x, z = standardized(train, test)
    return (make(C).fit(x, sick[train]).predict(z) != sick[test]).sum()

def chosen(make, train):
    fold, prices = np.arange(len(train)) % 5, [0.01, 0.1, 1, 10]
    return min(prices, key=lambda C: sum(
        mistakes(make, C, train[fold != k], train[fold == k])
        for k in range(5)))

# %%
def nearer_mean(train, test):
    x, z = standardized(train, test)
    apart = [norm(z - x[sick[train] == s].mean(0), axis=1) for s in (1, -1)]
    return (np.sign(apart[1] - apart[0]) != sick[test]).mean()

rates = {'majority': [], 'nearer mean': [], **{name: [] for name in makers}}
prices, clean = {name: [] for name in makers}, []
for order in orders:
    train, test = order[:398], order[398:]
    rates['majority'].append((sick[test] == 1).mean())
    rates['nearer mean'].append(nearer_mean(train, test))
    for name, make in makers.items():
        C = 1e6 if name == 'no slack' else chosen(make, train)
        prices[name].append(C)
        rates[name].append(mistakes(make, C, train, test) / 171)
    clean.append(mistakes(makers['no slack'], 1e6, train, train) == 0)
for name, rate in rates.items():
    print(f'{name:12} wrong {np.mean(rate):.3f} ± {np.std(rate):.4f}')
worse = np.greater(rates['no slack'], rates['soft, linear']).sum()
print(f'no slack: perfect training in {sum(clean)} of 10 splits, '
      f'worse than soft in {worse}')

# %%
train = orders[0][:398]
A, B = standardized(train, orders[0][398:])
y, C = sick[train], prices['soft, linear'][0]
beta, b = free_bias(A @ A.T, y, C, tol=1e-9)
svc = makers['soft, linear'](C).fit(A, y)
assert close(C * beta @ A, svc.coef_[0], atol=2e-5)
assert close(B @ (C * beta @ A) + b, svc.decision_function(B), atol=1e-4)
held = np.flatnonzero(beta)
errors = 0
for n in held:
    rest = np.delete(np.arange(398), n)
    part = SVC(kernel='linear', C=C, tol=1e-6).fit(A[rest], y[rest])
    errors += part.predict(A[n:n + 1])[0] != y[n]
print(f'first split, C = {C}: {len(held)} of 398 are support vectors')
print(f'leave-one-out error {errors / 398:.3f}, at most '
      f'{len(held) / 398:.3f}, on the held-out patients '
      f'{rates["soft, linear"][0]:.3f}')

# %% mystnb={"image": {"alt": "Left: error rates in ten splits for five methods: nearer mean near 0.08, no slack near 0.04, and logistic, soft linear and soft bell together near 0.02. Right: histogram of margins of the 398 training patients; support vectors, at or below 1, are a small share, the bulk lies between 1 and 6."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
shown = [name for name in rates if name != 'majority']
for i, name in enumerate(shown):
    left.plot(i + np.linspace(-0.2, 0.2, 10), rates[name], 'o', ms=3.5,
              color=f'C{i}')
left.set_xticks(range(5), [name.replace(' ', '\n') for name in shown],
                fontsize=8)
left.set(ylabel='share of mistakes, held out', ylim=(0, None))
m = y * (A @ (C * beta @ A) + b)
edges = np.arange(-2.125, 8.5, 0.25)  # 1 in the middle of a bin
right.hist([m[beta == 0], m[beta != 0]], edges, stacked=True,
           color=['C0', 'C4'])
right.text(3.3, 30, 'not needed', color='C0')
right.text(-1.9, 12, 'support\nvectors', color='C4')
right.set(xlabel='margin y f', ylabel='patients');

# %% [markdown] tags=["caption"]
# Left: without slack the machine makes about twice the mistakes of the soft ones on held-out patients. Right: 48 of 398
# training patients, with margins of at most 1, hold the soft linear machine.

# %% [markdown]
# Our weights and decision values are those of `SVC`. A hyperplane without mistakes exists in the training part of
# every split, and it is a bad guide: the soft machine, which accepts a few mistakes for a wider street, errs about half as
# often. Between the kernel, the straight line and logistic regression these data show no difference that the spread
# of ten splits could not explain.
#
# ```{exercise} ★★★ A tube instead of a street
# :label: svm-tube
# *Support vector regression* has targets $y_n \in \mathbb{R}$ and the loss $\max(0, |y_n - f_n - b| - \varepsilon)$:
# errors up to $\varepsilon$ are free. Derive the dual of $\frac12 \|\mathbf{w}\|^2 + C \sum_n (\text{loss})$ and write
# `tube(K, y, C, eps)`, the fitted values at the training inputs, with `pairs` as it is. Hint: each example becomes two.
# ```

# %%
def tube(K, y, C, eps):
    raise NotImplementedError('your turn')

# %%
def tube_by_sklearn(K, y, C, eps):
    model = SVR(kernel='precomputed', C=C, epsilon=eps, tol=1e-8)
    return model.fit(K, y).predict(K)

def noisy_wave(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, size=(25, 1))
    return bell(x, x), 4 + np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=25)

waves = [(*noisy_wave(k), C, eps)
         for k in range(2) for C in (0.5, 5) for eps in (0.1, 0.4)]
grade(tube, tube_by_sklearn, waves, rtol=1e-5)

# %% [markdown]
# ```{solution-start} svm-tube
# :class: dropdown
# ```
# The loss is a sum of two hinges, $\max(0, (y_n - \varepsilon) - f_n - b)$, which is the maximum of
# $\beta (y_n - \varepsilon - f_n - b)$ over $0 \le \beta \le 1$, and $\max(0, f_n + b - (y_n + \varepsilon))$, the
# maximum of $\beta (y_n + \varepsilon - f_n - b)$ over $-1 \le \beta \le 0$. So write each example twice, with the
# targets $y_n - \varepsilon$ and $y_n + \varepsilon$ and these ranges: a pull from below and a push from above. The
# examples inside the tube have neither. (Exchange the two targets by mistake, and the sum of the hinges is the same but
# for a constant $2\varepsilon$: the answer is still right.) Whoever forgets the tube fits the median.

# %% jupyter={"source_hidden": true}
def tube_solution(K, y, C, eps, tol=1e-11):
    n = np.tile(np.arange(len(y)), 2)
    below = np.repeat([1.0, 0.0], len(y))
    target = np.append(y - eps, y + eps)
    beta, b = pairs(K[np.ix_(n, n)], target, below - 1, below, C, tol)
    return C * K[:, n] @ beta + b

def without_tube(K, y, C, eps):
    return tube_solution(K, y, C, 0)

assert grade(tube_solution, tube_by_sklearn, waves, rtol=1e-5)
assert not grade(without_tube, tube_by_sklearn, waves, rtol=1e-5)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def by_svc(K, y, C):
    svc = SVC(kernel='precomputed', C=C, tol=1e-8).fit(K, y)
    beta = np.zeros(len(y))
    beta[svc.support_] = svc.dual_coef_[0] / C
    return beta, svc.intercept_[0]

def same_machine(method, seed, C, gram):
    X, y = twins(seed)
    K = gram(X)
    (beta, b), (want, want_b) = method(K, y, C), by_svc(K, y, C)
    return close(beta, want, atol=2e-5) and close(b, want_b, atol=2e-5)

def stays(method, seed, C, shift):
    X, y = twins(seed)
    before, after = (method(Z @ Z.T, y, C)[0] @ Z for Z in (X, X + shift))
    return close(after, before, atol=2e-5)
grams = [lambda X: X @ X.T, lambda X: bell(X, X)]
verify(
    'pairs have the dual variables and the bias of SVC',
    lambda seed, C, g: same_machine(free_bias, seed, C, grams[g]),
    slip=(
        'penalizes the bias',
        lambda seed, C, g: same_machine(penalized_bias, seed, C, grams[g]),
    ),
    seed=list(range(40)),
    C=[0.05, 0.3, 1],
    g=[0, 1],
    tries=40,
)
verify(
    'with a free bias a shift of the inputs changes no weight',
    lambda seed, C, shift: stays(free_bias, seed, C, shift),
    slip=(
        'penalizes the bias',
        lambda seed, C, shift: stays(penalized_bias, seed, C, shift),
    ),
    seed=list(range(40)),
    C=[0.05, 0.3, 1],
    shift=vectors(2, -3, 3).filter(np.any),
    tries=20,
)

# %% tags=["checks"]
def score_moves(seed, chosen):  # largest change when one is left out
    X, y = twins(seed)
    K = bell(X, X, g=0.2)
    beta, b = free_bias(K, y, 1, tol=1e-12)
    f, moved = K @ beta + b, [0.0]
    for n in np.flatnonzero(chosen(beta)):
        rest = np.delete(np.arange(20), n)
        part, b_n = free_bias(K[np.ix_(rest, rest)], y[rest], 1, tol=1e-12)
        moved.append(abs(K[:, rest] @ part + b_n - f).max())
    return max(moved)
verify(
    'leaving out what is no support vector changes nothing',
    lambda seed: score_moves(seed, lambda beta: beta == 0) < 1e-4,
    slip=(
        'leaves out support vectors',
        lambda seed: score_moves(seed, lambda beta: beta != 0) < 1e-4,
    ),
    seed=list(range(40)),
    tries=12,
)

# %% [markdown]
# ## Summary
#
# The support vector machine looks for the widest street between two classes and, where there is none, pays for
# trespassing with the hinge loss, which aims at the better answer and at nothing finer. Its dual has one force for
# each example, zero for all who keep their distance; it is climbed one coordinate at a time, or two if a free bias
# demands balance, and the gap to the primal bounds the error of the weights at every moment. The dual sees inputs
# only through inner products, so a kernel bends the street, and the few examples that pull are all that matters.
#
# **Further reading.** {cite:t}`boser1992training` and {cite:t}`cortes1995support` are the beginning;
# {cite:t}`scholkopf2002learning` is the textbook, {cite:t}`steinwart2008support` the mathematics.
# {cite:t}`shalev2013stochastic` prove how fast coordinate ascent closes the gap, and {cite:t}`hastie2009elements`,
# chapter 12, compare the hinge with its relatives.
