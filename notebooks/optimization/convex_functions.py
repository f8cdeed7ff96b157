# ---
# jupyter:
#   book:
#     functions:
#       gap: "gap(np.square, np.asarray(normal(3)), np.asarray(normal(3)), 0.3)"
#       conjugate: "conjugate(np.square(np.asarray(normal(9))), np.asarray(normal(9)), np.asarray(normal(4)))"
#     main: dl.convex-fn.definition
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Convex functions
#
# We train two classifiers from eight random starts each. The first ends at the same loss every time, the second at
# different losses, as if it had stopped in valleys that are not the deepest. Can you tell from the formula of a loss,
# before any training, that this will not happen? And that there is a minimum at all?
#
# - **You need** [gradients](../calculus/gradients.ipynb),
#   [eigenvalues of symmetric matrices](../linear_algebra/eigendecomposition.ipynb) and
#   [convex sets](convex_sets.ipynb).
# - **You build** three tests of convexity, rules that preserve it, the convex conjugate, and a proof by one chord that the
#   loss of a network is not convex.
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
import sympy as sp
import torch
from numpy.linalg import norm
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.spatial import ConvexHull
from scipy.special import expit, logsumexp
from torch.func import hessian
from torch.nn.functional import softplus

from nbutils import data
from nbutils.cases import integers, on, scalars, seeds, vectors
from nbutils.checks import below, close, erratum, grade, holds, verify
from nbutils.figures import GREY, panels

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Convex functions: the chord lies on or above the graph
#
# Connect two points of a graph by a straight line, the *chord*. How high does it lie above the graph? We measure it at three
# points between $x = 0.5$ and $x' = 2.5$:

# %%
def gap(f, u, v, lam):  # height of the chord over the graph
    return lam * f(u) + (1 - lam) * f(v) - f(lam * u + (1 - lam) * v)

for name, f in (('x²', np.square), ('sin x', np.sin)):
    heights = [gap(f, 0.5, 2.5, lam) for lam in (0.75, 0.5, 0.25)]
    print(f'{name:6}', *(f'{height:6.3f}' for height in heights))

# %% [markdown]
# The chord of $x^2$ lies above the graph, the chord of the sine below. A function is convex if the first case is the only
# one that occurs:
#
# ````{prf:definition} Convex function
# :label: def-convex-function
# Let $\mathcal{X} \subseteq \mathbb{R}^n$ be a convex set. A function $f : \mathcal{X} \to \mathbb{R}$ is *convex* if
# for all $\mathbf{x}, \mathbf{x}' \in \mathcal{X}$ and all $\lambda \in [0, 1]$
# ```{math}
# :label: dl.convex-fn.definition
# \lambda f(\mathbf{x}) + (1 - \lambda) f(\mathbf{x}') \ge f(\lambda \mathbf{x} + (1 - \lambda) \mathbf{x}') .
# ```
# It is *concave* if $-f$ is convex.
# ````
#
# The set must be convex, because otherwise $f$ might not be defined where the right side asks for it. In other words: *$h$
# is convex if and only if every segment between two points of the graph lies on or above the graph.* "On" is important: a
# straight line is its own chord, and it is convex. With random chords we can test functions on the interval from $-3$ to 3:

# %%
def random_chords():  # neither too short nor at their ends
    u, v = np.random.default_rng(0).uniform(-3, 3, (2, 4000))
    lam = np.random.default_rng(1).uniform(0.05, 0.95, 4000)
    keep = abs(u - v) > 0.01
    return u[keep], v[keep], lam[keep]

def worst_chord(f, least=-1e-12):  # None if no chord is below the graph
    u, v, lam = random_chords()
    heights = gap(f, u, v, lam)
    i = heights.argmin()
    return None if heights[i] >= least else (u[i], v[i], lam[i])

# %%
curves = {
    '3x − 2': lambda x: 3 * x - 2, 'x²': np.square, '|x|': abs, 'eˣ': np.exp,
    'ln(1 + eˣ)': lambda x: np.logaddexp(0, x),
    '1/(4 + x)': lambda x: 1 / (4 + x),
    'x³': lambda x: x**3, 'x⁴ − x²': lambda x: x**4 - x**2, 'sin x': np.sin,
}
for name, f in curves.items():
    chord = worst_chord(f)
    print(f'{name:10}', 'no chord below the graph' if chord is None else
          f'chord below between {min(chord[:2]):.2f} and {max(chord[:2]):.2f}')

# %% mystnb={"image": {"alt": "Three graphs with a chord. The parabola hangs below its chord, the straight line coincides with it, and the chord of the sine runs below the hump."}} tags=["hide-input"]
fig, axes = panels(3, height=2.1)
grid = np.linspace(-3, 3, 200)
for ax, name, ends in zip(
    axes, ('x²', '3x − 2', 'sin x'), ([-1, 2.5], [-1, 2],
                                   sorted(worst_chord(np.sin)[:2])),
    strict=True,
):
    f = curves[name]
    ax.plot(grid, f(grid), lw=3 if name == '3x − 2' else 1.8)
    ax.plot(ends, f(np.array(ends)), 'o-', lw=1.3,
            color='C4' if worst_chord(f) else 'C2')
    ax.set(title=name, xlabel='x')
axes[0].set_ylabel('height');

# %% [markdown] tags=["caption"]
# A function is convex if no chord passes below its graph: the parabola passes, a straight line just passes, and one chord is
# enough to refute the sine.

# %% [markdown]
# In $\mathbb{R}^D$ the definition is the same:
#
# ```{math}
# :label: ml.convexity.jensen
# \begin{gathered}
# h(\lambda \mathbf{u} + (1 - \lambda) \mathbf{v}) \le \lambda h(\mathbf{u}) + (1 - \lambda) h(\mathbf{v}) \\
# \forall \mathbf{u}, \mathbf{v} \in \mathbb{R}^D,\ 0 \le \lambda \le 1 .
# \end{gathered}
# ```
#
# The left side moves along a line, so *$h$ is convex if and only if its restriction to every line is*. Examples are
# all norms, by the triangle inequality; $\ln \sum_i e^{x_i}$; and $\mathbf{x}^\top \mathbf{A}
# \mathbf{x}$ with a positive semidefinite $\mathbf{A}$, because
#
# ```{math}
# :label: convex_functions-quadratic-gap
# \begin{gathered}
# \lambda\, \mathbf{u}^\top \mathbf{A} \mathbf{u} + (1 - \lambda)\, \mathbf{v}^\top \mathbf{A} \mathbf{v} - \mathbf{w}^\top \mathbf{A} \mathbf{w} = \lambda (1 - \lambda) (\mathbf{u} - \mathbf{v})^\top \mathbf{A} (\mathbf{u} - \mathbf{v}), \\
# \mathbf{w} = \lambda \mathbf{u} + (1 - \lambda) \mathbf{v} .
# \end{gathered}
# ```

# %%
A = np.array([[1.0, 2], [2, 1]])
u, v = np.array([1.0, -1]), np.array([-1.0, 1])
print('eigenvalues:', np.linalg.eigvalsh(A).round(2))
print('height of the chord:', round(gap(lambda x: x @ A @ x, u, v, 0.5), 2))

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: tip
# "All entries of $\mathbf{A}$ are positive, so $\mathbf{x}^\top \mathbf{A} \mathbf{x}$ is convex." *Positive semidefinite*
# is a statement about eigenvalues. This matrix has a negative one, and a chord passes below the graph.
# :::
#
# A function is *strictly convex* if the inequality is strict whenever the two points differ and $\lambda$ is not 0 or 1:
#
# ```{math}
# :label: ml.convexity.strict
# h(\lambda \mathbf{u} + (1 - \lambda) \mathbf{v}) < \lambda h(\mathbf{u}) + (1 - \lambda) h(\mathbf{v}) \quad \forall \mathbf{u} \ne \mathbf{v},\ 0 < \lambda < 1 .
# ```
#
# Then the graph contains no straight piece. So $x^2$ and $e^x$ are strictly convex, and $|x|$ is convex but not strictly.

# %% [markdown]
# ```{exercise} ★ Pencil: beyond the second point
# :label: convex_functions-endpoint
# Of a convex $f$ on the line you know $f(0) = a$ and $f(1) = b$. What is the least value that $f$ can have at $x$? Write
# `floor_at(a, b, x)`, for every $x$; where $f(x)$ can be as low as you like, it is $-\infty$. (For $x > 1$, where is 1 on the
# chord from 0 to $x$?)
# ```

# %%
def floor_at(a, b, x):
    """The least f(x) of a convex f with f(0) = a and f(1) = b: a float.

    a, b, x: floats. -np.inf if there is no least value.
    floor_at(1.0, 1.0, 2.0) is 1.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def floor_by_bisection(a, b, x):
    def fits(end):  # is the middle point of the three not above the chord?
        (p, f), (q, g), (r, h) = sorted([(0, a), (1, b), (x, end)])
        return (r - q) * f + (q - p) * h >= (r - p) * g
    low, high = -1e6, 1e6
    if x in (0, 1):
        return b if x else a
    if fits(low):
        return -np.inf
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high

cases = dict(
    a=on(0.0, 1.0) | scalars(), b=on(0.0, 1.0) | scalars(),
    x=on(0.0, 1.0, 0.5, 2.0, -1.0) | scalars(0, 1) | scalars(),
)
grade(floor_at, floor_by_bisection, **cases)

# %% [markdown]
# ```{solution-start} convex_functions-endpoint
# :class: dropdown
# ```
# For $x > 1$ take $\lambda = 1/x$. Then $1 = \lambda x + (1 - \lambda) 0$, so $b \le f(x)/x + (1 - 1/x) a$, that is
# $f(x) \ge a + (b - a) x$. In the same way for $x < 0$, with 0 on the chord from $x$ to 1. So beyond two known points a convex
# function lies above the line through them, and the line itself is such a function. Between them it lies below this line,
# and nothing holds it from below: $f$ may have a deep corner there. Of the wrong answers, the first takes the line for
# the floor everywhere, the second forgets where it starts, and the third takes for granted that $f$ does not fall
# below what is known.

# %% jupyter={"source_hidden": true}
def floor_solution(a, b, x):
    return -np.inf if 0 < x < 1 else a + (b - a) * x

def line_everywhere(a, b, x):
    return a + (b - a) * x

def line_from_one(a, b, x):
    return -np.inf if 0 < x < 1 else b + (b - a) * x

def never_below(a, b, x):
    return -np.inf if 0 < x < 1 else max(a + (b - a) * x, min(a, b))

assert grade(floor_solution, floor_by_bisection, **cases)
assert not grade(line_everywhere, floor_by_bisection, **cases)
assert not grade(line_from_one, floor_by_bisection, **cases)
assert not grade(never_below, floor_by_bisection, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ### Gradient and Hessian: tangents lie below the graph
#
# There are too many chords to try them all. Derivatives are easier to use:
#
# ````{prf:theorem} Three tests
# :label: thm-three-tests
# For a twice continuously differentiable $f$ on an open convex set these are equivalent:
# 1. no chord passes below the graph;
# 2. no tangent passes above it: $f(\mathbf{y}) \ge f(\mathbf{x}) + \nabla f(\mathbf{x}) \cdot (\mathbf{y} - \mathbf{x})$ for
#    all $\mathbf{x}, \mathbf{y}$;
# 3. no curvature is negative: $\mathbf{d}^\top \nabla^2 f(\mathbf{x})\, \mathbf{d} \ge 0$ for all $\mathbf{x}$ and
#    $\mathbf{d}$.
# ````
#
# ```{prf:proof}
# :class: dropdown
# 1 ⇒ 2. Divide $f(\mathbf{x} + \lambda(\mathbf{y} - \mathbf{x})) \le f(\mathbf{x}) + \lambda (f(\mathbf{y}) -
# f(\mathbf{x}))$ by $\lambda > 0$: $\frac{1}{\lambda} \big( f(\mathbf{x} + \lambda (\mathbf{y} - \mathbf{x})) -
# f(\mathbf{x}) \big) \le f(\mathbf{y}) - f(\mathbf{x})$. As $\lambda \to 0$ the left side becomes the directional
# derivative $\nabla f(\mathbf{x}) \cdot (\mathbf{y} - \mathbf{x})$.
#
# 2 ⇒ 1. Put the tangent at $\mathbf{w} = \lambda \mathbf{u} + (1 - \lambda) \mathbf{v}$. It lies below $f(\mathbf{u})$
# and $f(\mathbf{v})$; mix the two inequalities with weights $\lambda$ and $1 - \lambda$. The slopes cancel, for $\lambda
# (\mathbf{u} - \mathbf{w}) + (1 - \lambda)(\mathbf{v} - \mathbf{w}) = \mathbf{0}$, and $\lambda f(\mathbf{u}) + (1 -
# \lambda) f(\mathbf{v}) \ge f(\mathbf{w})$ remains.
#
# 3 ⇒ 2. By Taylor's formula with integral remainder along $\mathbf{d} = \mathbf{y} - \mathbf{x}$, $f(\mathbf{y}) -
# f(\mathbf{x}) - \nabla f(\mathbf{x}) \cdot \mathbf{d} = \int_0^1 (1 - s)\, \mathbf{d}^\top \nabla^2 f(\mathbf{x} + s
# \mathbf{d})\, \mathbf{d} \, ds \ge 0$.
#
# 2 ⇒ 3. If $\mathbf{d}^\top \nabla^2 f(\mathbf{x})\, \mathbf{d} < 0$, the same integral, for the point $\mathbf{y} =
# \mathbf{x} + \epsilon \mathbf{d}$ so near that the curvature is still negative on the way, is negative: the tangent at
# $\mathbf{x}$ passes above $f(\mathbf{y})$.
# ```
#
# We try all three tests on six functions of two positive variables, with derivatives by torch:

# %% tags=["hide-input"]
plane_functions = {
    'ln(eˣ + eʸ)': lambda p: torch.logsumexp(p, 0),
    'x²/y': lambda p: p[0] ** 2 / p[1],
    'x² + 3xy + y²': lambda p: p[0] ** 2 + 3 * p[0] * p[1] + p[1] ** 2,
    '(1 − xy)²': lambda p: (1 - p[0] * p[1]) ** 2,
    '−√(xy)': lambda p: -(p[0] * p[1]).sqrt(),
    'xy': lambda p: p[0] * p[1],
}

def three_tests(f):  # on the square from 0.3 to 2
    rng = np.random.default_rng(2)
    u, v = torch.tensor(rng.uniform(0.3, 2, (2, 2, 3000)))
    lam = torch.tensor(rng.uniform(0, 1, 3000))
    chord = lam * f(u) + (1 - lam) * f(v) - f(lam * u + (1 - lam) * v)
    slope = torch.func.jvp(f, (u,), (v - u,))[1]
    H = torch.vmap(hessian(f))(u.T)
    lowest = torch.linalg.eigvalsh(H)[:, 0]
    least = chord, f(v) - f(u) - slope, lowest
    return [bool(h.min() >= -1e-12) for h in least]

# %%
print('                chord  tangent  curvature')
for name, f in plane_functions.items():
    chord, tangent, curvature = three_tests(f)
    print(f'{name:14} {chord!s:>6} {tangent!s:>8} {curvature!s:>10}')

# %% [markdown]
# Look at $x^2 + 3xy + y^2$. Along both axes it bends upwards, but it is a saddle, because it bends downwards along the
# diagonal $x = -y$. Two positive second derivatives do not make a positive semidefinite Hessian.
#
# For the mean square error of a linear model the Hessian does not even depend on $\mathbf{w}$:
#
# ```{math}
# :label: ml.convexity.mse-linear
# \begin{gathered}
# L(\mathbf{w}) = \frac1N \|\mathbf{y} - \mathbf{X}\mathbf{w}\|^2, \qquad \nabla^2 L(\mathbf{w}) = \frac2N \mathbf{X}^\top \mathbf{X}, \\
# \mathbf{d}^\top \mathbf{X}^\top \mathbf{X} \mathbf{d} = \|\mathbf{X}\mathbf{d}\|^2 \ge 0 .
# \end{gathered}
# ```
#
# So least squares is convex. If the output goes through a $\tanh$ first, it is not:

# %%
def mse_hessian(seed, N, model):
    rng = np.random.default_rng(seed)
    X, y, w = map(torch.tensor, (
        rng.normal(size=(N, 3)), rng.normal(size=N), rng.normal(size=3)))
    return X, hessian(lambda w: ((y - model(X @ w)) ** 2).mean())(w)

for name, model in (('linear', torch.positive), ('tanh', torch.tanh)):
    _, H = mse_hessian(0, 5, model)
    print(f'{name:7} eigenvalues of the Hessian:',
          torch.linalg.eigvalsh(H).numpy().round(3))

# %% [markdown]
# With fewer examples than features, or with two equal columns, $\mathbf{X}\mathbf{d} =
# \mathbf{0}$ for some $\mathbf{d} \ne \mathbf{0}$. Then the loss is convex, but not strictly.

# %% [markdown]
# ```{exercise} ★★ Experiment: how much bowl is enough
# :label: convex_functions-enough
# Predict how the least $\mu \ge 0$ for which $a \sin(kx) + \frac\mu2 x^2$ is convex on the whole line depends on $a$ and $k$:
# write `enough(a, k)`. The grader measures the strongest downward curvature on a grid. Turn each knob alone: which of
# the two matters more, and why?
# ```

# %%
def enough(a, k):
    """The least mu that makes the function convex: a float, at least 0.

    a, k: floats of either sign, or 0.
    enough(1.0, 1.0) is 1.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def enough_by_grid(a, k):  # by second differences over one period
    if k == 0:
        return 0.0
    x, h = np.linspace(0, 2 * np.pi, 4001) / k, 1e-3 / k
    f = lambda x: a * np.sin(k * x)
    return max(0.0, -((f(x + h) - 2 * f(x) + f(x - h)) / h**2).min())

cases = dict(a=on(1.0, -1.0, 0.0) | scalars(-5, 5), k=on(1.0, 2.0, 0.0) | scalars(-6, 6))
grade(enough, enough_by_grid, **cases)

# %% [markdown]
# ```{solution-start} convex_functions-enough
# :class: dropdown
# ```
# The second derivative is $\mu - a k^2 \sin(kx)$, and the sine takes both signs, so $\mu = |a| k^2$. Twice the height
# needs twice the bowl, but waves twice as dense need four times as much, because each of the two derivatives brings
# a factor $k$. If you drop the absolute value, a negative $a$ seems to need no help. The other wrong answers differentiate
# once, and forget that $\frac\mu2 x^2$ has the curvature $\mu$. A function that some $\frac\mu2
# \|\mathbf{x}\|^2$ makes convex is called *weakly convex*; every smooth function whose curvature is bounded below is.

# %% jupyter={"source_hidden": true}
def enough_solution(a, k):
    return abs(a) * k**2

def enough_signed(a, k):
    return max(0.0, a * k**2)

def derived_once(a, k):
    return abs(a * k)

def doubled(a, k):
    return 2 * abs(a) * k**2

assert grade(enough_solution, enough_by_grid, **cases)
assert not grade(enough_signed, enough_by_grid, **cases)
assert not grade(derived_once, enough_by_grid, **cases)
assert not grade(doubled, enough_by_grid, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
always = ['x²', '|x|', 'eˣ', 'ln(1 + eˣ)']
holds('dl.convex-fn.definition',
      lambda name, u, v, lam: gap(curves[name], u, v, lam) >= -1e-12,
      slip=('goes beyond the two ends of the chord',
            lambda name, u, v, lam:
            gap(curves[name], u, v, 2 * lam) >= -1e-12),
      name=always, u=scalars(-3, 3), v=scalars(-3, 3), lam=scalars(0, 1))
x = sp.Symbol('x')
formulas = {
    '3x − 2': 3 * x - 2, 'x²': x**2, 'eˣ': sp.exp(x), 'x³': x**3,
    'ln(1 + eˣ)': sp.log(1 + sp.exp(x)), 'sin x': sp.sin(x),
    'x⁴ − x²': x**4 - x**2, '1/(4 + x)': 1 / (4 + x),
}

def bends_up(name):  # by a computer algebra system
    second = sp.lambdify(x, sp.diff(formulas[name], x, 2))
    return (np.array(second(np.linspace(-3, 3, 601))) >= 0).all()

def passes(name, least):
    return worst_chord(curves[name], least) is None

holds('ml.convexity.chord',
      lambda name: passes(name, -1e-12) == bends_up(name),
      slip=('takes "above" to mean strictly above',
            lambda name: passes(name, 1e-12) == bends_up(name)),
      name=list(formulas))

def convex_in_space(seed, entries):
    rng = np.random.default_rng(seed)
    B, lam = rng.normal(size=(3, 5)), rng.random()
    A, u = entries(B.T @ B), rng.normal(size=5)
    v = u + np.linalg.eigh(A)[1][:, 0]  # along which A bends least
    quadratic = lambda x: x @ A @ x
    formula = lam * (1 - lam) * (u - v) @ A @ (u - v)
    gaps = [gap(h, u, v, lam) for h in (norm, logsumexp, quadratic)]
    return min(gaps) >= -1e-12 and close(gaps[2], formula)

holds('ml.convexity.jensen', lambda seed: convex_in_space(seed, lambda A: A),
      slip=('makes the entries of A positive, not its eigenvalues',
            lambda seed: convex_in_space(seed, abs)),
      seed=seeds())

def strictly_below(name, u, d, lam):
    return gap(curves[name], u, u + d, lam) > 0

holds('ml.convexity.strict',
      lambda name, u, d, lam: d == 0 or strictly_below(name, u, d, lam),
      slip=('forgets that the two points must differ', strictly_below),
      name=['x²', 'eˣ'], u=scalars(-3, 3), d=scalars(0, 3),
      lam=scalars(0.01, 0.99))

# %% tags=["checks"]
def cup(p):  # R² -> R
    return torch.logsumexp(torch.stack([p[0], -2 * p[1], p[0] * 0]), 0)

def height_over_tangent(f, x, d):
    slope = torch.func.jvp(f, (x,), (d,))[1]
    return (f(x + d) - f(x) - slope).item()

def curvature_added_up(f, x, d, weight):
    node, part = np.polynomial.legendre.leggauss(40)  # on [-1, 1]
    s, part = torch.tensor((node + 1) / 2), torch.tensor(part / 2)
    H = torch.vmap(hessian(f))(x + s[:, None] * d)
    return (part * weight(s) * (H @ d @ d)).sum().item()

def heights_agree(x, d, weight):
    x, d = torch.tensor(x), torch.tensor(d)
    got = curvature_added_up(cup, x, d, weight)
    return close(got, height_over_tangent(cup, x, d), atol=1e-7)

verify('height over the tangent is curvature added up',
       lambda x, d: heights_agree(x, d, lambda s: 1 - s),
       slip=('forgets the weight in the integral',
             lambda x, d: heights_agree(x, d, torch.ones_like)),
       x=vectors(2, -2, 2), d=vectors(2, -2, 2), tries=12)
for f in plane_functions.values():
    chord, tangent, curvature = three_tests(f)
    assert chord == tangent == curvature

def bowl_for(seed, N, model):
    X, H = mse_hessian(seed, N, model)
    return close(H, 2 / N * X.T @ X)

def mse_is_convex(seed, N, model):
    X, H = mse_hessian(seed, N, model)
    return torch.linalg.eigvalsh(H)[0] >= -1e-12

examples = dict(seed=seeds(), N=integers(2, 7), tries=60)
holds('ml.convexity.mse-linear',
      lambda seed, N: mse_is_convex(seed, N, torch.positive),
      slip=('puts a tanh after the linear model',
            lambda seed, N: mse_is_convex(seed, N, torch.tanh)),
      **examples)

verify('the Hessian of the mean square is 2 XᵀX / N',
       lambda seed, N: bowl_for(seed, N, torch.positive),
       slip=('puts a tanh after the linear model',
             lambda seed, N: bowl_for(seed, N, torch.tanh)),
       **examples)

# %% [markdown]
# ## Minima of convex functions: local is global
#
# This is what convexity is good for: *for convex functions, every local minimum is a global minimum*.
#
# Suppose $f(\mathbf{z}) < f(\mathbf{x})$. On the segment from $\mathbf{x}$ to $\mathbf{z}$ the function stays on or below
# the chord, and the chord falls from the first step on: $f(\mathbf{x} + \lambda (\mathbf{z} - \mathbf{x})) \le
# f(\mathbf{x}) + \lambda (f(\mathbf{z}) - f(\mathbf{x})) < f(\mathbf{x})$ for every $\lambda > 0$. So $\mathbf{x}$ is no local minimum. We
# run gradient descent from several starts on $\frac14 x^4 + \frac{c}{2} x^2 + \frac12 x$, which is convex for $c \ge 0$ and
# has two valleys for $c < -3/\sqrt[3]{16} \approx -1.19$:

# %%
def well(x, c):
    return x**4 / 4 + c * x**2 / 2 + x / 2

def local_minima(slope, starts, eta=0.06, T=1000):
    x = starts
    for _ in range(T):
        x = x - eta * slope(x)
    return x

# %%
starts = np.array([-2.0, -0.5, 1.0, 2.0])
for c in (1, -2):
    ends = local_minima(lambda x: x**3 + c * x + 0.5, starts)
    print(f'c = {c:2}: ends  ', ends.round(3))
    print('        values', well(ends, c).round(3))

# %% [markdown]
# Is there *one* lowest point? If $f$ is strictly convex, two different minimizers are impossible, because the value at their
# midpoint would be strictly smaller. But this says *at most one*.
#
# :::{admonition} A tempting mistake
# :class: tip
# "A strictly convex function has a unique global minimum." The exponential function is strictly convex and
# has no minimum: it falls towards 0 and never gets there. "Unique" contains two statements, *at most one* and *at
# least one*, and strict convexity proves only the first. What is true:
# a strictly convex function has at most one minimizer, and one on all of $\mathbb{R}^n$ that is also coercive
# has exactly one, where *coercive* means $f(\mathbf{x}) \to \infty$ as $\|\mathbf{x}\| \to \infty$.
# :::
#
# The function $e^x - cx$ is strictly convex for each $c$. We count its minima on $[-40, 10]$, without and with
# $\frac12 x^2$, which makes it coercive:

# %%
def minima(c, mu):
    f = lambda x: np.exp(x) - c * x + mu * x**2 / 2
    falls = np.diff(f(np.linspace(-40, 10, 20_001))) < 0
    return (falls[:-1] & ~falls[1:]).sum()

for c in (-1, 0, 1):
    print(f'c = {c:2}: {minima(c, 0)} minima, with x²/2 {minima(c, 1)}')

# %% mystnb={"image": {"alt": "Four landscapes. A bowl with a flat bottom whose whole floor is marked as minimal; e to the x minus x with one minimum; e to the x, falling to the left without a minimum; and a double well with two marked valleys of different depth."}} tags=["hide-input"]
landscapes = {
    'convex:\nmany minimizers': lambda x: np.maximum(abs(x) - 1, 0) ** 2,
    'strictly convex:\none': lambda x: np.exp(x) - x,
    'strictly convex:\nnone': np.exp,
    'not convex:\na false one': lambda x: well(x, -2),
}
grid = np.linspace(-2.2, 2.2, 441)
fig, axes = plt.subplots(1, 4, figsize=(6, 2.1))
for ax, (name, f) in zip(axes, landscapes.items(), strict=True):
    y = f(grid)
    ax.plot(grid, y)
    inner = y[1:-1]
    valley = np.r_[False, (inner <= y[:-2]) & (inner <= y[2:]), False]
    best = valley & (y == y.min())
    ax.plot(grid[best], y[best], 'o', color='C2')
    ax.plot(grid[valley & ~best], y[valley & ~best], 'X', ms=7, color='C4')
    ax.set(xlabel='x', yticks=[], ylim=(y.min() - 0.4, y.min() + 4))
    ax.set_title(name, fontsize=8);

# %% [markdown] tags=["caption"]
# Convexity rules out false valleys, and strict convexity allows at most one minimizer; but $e^x$, strictly convex, has none
# at all.

# %% [markdown]
# ### Strong convexity: exactly one minimum, and how far it is
#
# Call $f$ **$\mu$-strongly convex**, $\mu > 0$, if $f - \frac\mu2 \|\mathbf{x}\|^2$ is still
# convex. By {prf:ref}`thm-three-tests` (its 1 ⇔ 2, for which a gradient is enough),
# applied to this difference, that means
#
# ```{math}
# :label: convex_functions-strong
# f(\mathbf{y}) \ge f(\mathbf{x}) + \nabla f(\mathbf{x}) \cdot (\mathbf{y} - \mathbf{x}) + \frac\mu2 \|\mathbf{y} - \mathbf{x}\|^2 \quad \text{for all } \mathbf{x}, \mathbf{y},
# ```
#
# or, with second derivatives, that all eigenvalues of all Hessians are at least $\mu$.
#
# ````{prf:theorem} One minimum, and how far it is
# :label: thm-strong-minimum
# A differentiable $\mu$-strongly convex $f$ on $\mathbb{R}^n$ has exactly one minimizer $\mathbf{x}^*$, and for every
# $\mathbf{x}$
# ```{math}
# :label: convex_functions-distance
# \|\mathbf{x} - \mathbf{x}^*\| \le \frac{\|\nabla f(\mathbf{x})\|}{\mu} .
# ```
# ````
#
# ```{prf:proof}
# :class: dropdown
# The right side of {eq}`convex_functions-strong` tends to infinity with $\|\mathbf{y}\|$. So outside a large ball $f$
# exceeds $f(\mathbf{x})$, and on the ball the continuous $f$ has a minimum: there is a minimizer. Write
# {eq}`convex_functions-strong` for the pair $(\mathbf{x}, \mathbf{x}^*)$ and for $(\mathbf{x}^*, \mathbf{x})$, where the
# gradient is $\mathbf{0}$, and add: $0 \ge -\nabla f(\mathbf{x}) \cdot (\mathbf{x} - \mathbf{x}^*) + \mu \|\mathbf{x} -
# \mathbf{x}^*\|^2$. By Cauchy–Schwarz $\mu \|\mathbf{x} - \mathbf{x}^*\|^2 \le \|\nabla f(\mathbf{x})\| \|\mathbf{x} -
# \mathbf{x}^*\|$. If $\mathbf{x}$ is itself a minimizer, the distance is $0$: only one.
# ```
#
# The ridge term $\frac\mu2 \|\mathbf{w}\|^2$ makes any convex loss strongly convex. (The companion bound on
# $f(\mathbf{x}) - f^*$ is {eq}`stationary_points-certificate`.) For $\ln(1 + e^w) + \frac14 w^2$ with $\mu = \frac12$:

# %%
slope = lambda w: expit(w) + 0.5 * w
best = brentq(slope, -9, 9)
for w in (-3.0, 0.0, 2.0):
    print(f'w = {w:4}: distance to the minimum {abs(w - best):.3f},',
          f'bound {abs(slope(w)) / 0.5:.3f}')

# %% tags=["checks"]
def all_reach_bottom(c):
    ends = local_minima(
        lambda x: x**3 + c * x + 0.5, np.linspace(-2.5, 2.5, 50))
    lowest = well(np.linspace(-3, 3, 6001), c).min()  # on a grid of 0.001
    return close(well(ends, c), np.full(50, lowest), atol=1e-5)

holds('ml.convexity.local-global', lambda c: c < 0 or all_reach_bottom(c),
      slip=('drops the hypothesis that f is convex', all_reach_bottom),
      c=scalars(-3, 3), tries=40)
ends = local_minima(lambda x: x**3 - 2 * x + 0.5, np.array([-1.0, 1.0]))
for start, end in zip((-1.0, 1.0), ends, strict=True):
    found = minimize(lambda x: well(x[0], -2), start, tol=1e-9).x[0]
    assert close(end, found, atol=1e-5)
erratum(
    'ml.convexity.unique-min',
    printed=lambda c: minima(c, 0) == 1,
    corrected=lambda c: minima(c, 0) <= 1 and minima(c, 1) == 1,
    c=scalars(-8, 8),
)

def within(w, shift, mu, factor):  # softplus(2 w1 - w2) + mu |w - shift|²/2
    a = np.array([2.0, -1.0])
    f = lambda w: (np.logaddexp(0, a @ w)
                   + mu / 2 * (w - shift) @ (w - shift))
    slope = lambda w: a * expit(a @ w) + mu * (w - shift)
    best = minimize(f, w, jac=slope, options={'gtol': 1e-9}).x
    bound = factor * norm(slope(w)) / mu
    return norm(w - best) <= bound + 1e-8

verify('the minimizer is within |gradient| / mu',
       lambda w, shift, mu: within(w, shift, mu, 1),
       slip=('halves the bound on the distance',
             lambda w, shift, mu: within(w, shift, mu, 0.5)),
       w=vectors(2, -3, 3), shift=vectors(2, -3, 3), mu=[0.5, 1, 3], tries=60)

# %% [markdown]
# ## Operations that preserve convexity, and the convex conjugate
#
# In practice a loss is put together from parts that are known to be
# convex, by operations that preserve convexity:
#
# | Operation | Convex for convex $f$, $g$ | Why | Not convex in general |
# |---|---|---|---|
# | sum | $f + c g$, $c \ge 0$ | gaps add | $fg$, $f - g$ |
# | maximum | $\max(f, g)$ | epigraphs intersect | $\min(f, g)$ |
# | affine inside | $f(\mathbf{A}\mathbf{x} + \mathbf{b})$ | lines go to lines | $f(g(\mathbf{x}))$ |
# | increasing outside | $\varphi(f(x))$, $\varphi$ convex and increasing | two inequalities | $\varphi$ convex |
# | partial minimum | $\inf_y h(x, y)$ if finite, $h$ convex in $(x, y)$ | epigraphs are projected | $h$ convex in $x$ and in $y$ |
#
# The sum is the most important one:
#
# ```{math}
# :label: ml.convexity.sum
# f, g \text{ convex} \implies f + g \text{ convex.}
# ```
#
# The gap of a sum is the sum of the gaps, and two numbers that are not negative have no negative sum. So a loss that is
# an average over examples is convex if each example's is. We try some combinations of $f = x^2$ and $g = (x - 1)^2$:

# %%
f, g = np.square, lambda x: (x - 1) ** 2
combinations = {
    'f + g': lambda x: f(x) + g(x), 'f g': lambda x: f(x) * g(x),
    'max(f, g)': lambda x: np.maximum(f(x), g(x)),
    'min(f, g)': lambda x: np.minimum(f(x), g(x)),
    'exp(f)': lambda x: np.exp(f(x)), 'exp(-f)': lambda x: np.exp(-f(x)),
}
for name, h in combinations.items():
    print(f'{name:10}', 'convex' if worst_chord(h) is None else 'not convex')

# %% [markdown]
# :::{admonition} Why increasing functions outside and partial minima preserve convexity
# :class: dropdown
# *Outside.* Since $\varphi$ increases, it keeps the inequality $f(\mathbf{w}) \le \lambda
# f(\mathbf{u}) + (1 - \lambda) f(\mathbf{v})$ between its arguments, and since it is convex,
# $\varphi(\lambda f(\mathbf{u}) + (1 - \lambda) f(\mathbf{v})) \le \lambda \varphi(f(\mathbf{u})) +
# (1 - \lambda) \varphi(f(\mathbf{v}))$. Where $\varphi$ falls, the first step turns round: $e^{-x^2}$ is
# the bell curve. *Partial minimum.* Choose $\mathbf{y}, \mathbf{y}'$ with $h(\mathbf{u}, \mathbf{y})$ and
# $h(\mathbf{v}, \mathbf{y}')$ as near to the infima as you like; then $\inf_{\mathbf{z}} h(\mathbf{w},
# \mathbf{z}) \le h(\mathbf{w}, \lambda \mathbf{y} + (1 - \lambda) \mathbf{y}') \le \lambda
# h(\mathbf{u}, \mathbf{y}) + (1 - \lambda) h(\mathbf{v}, \mathbf{y}')$. It is not enough that $h$ is convex in $x$ and
# in $y$: for $y^2 + 2xy + |x|$ the minimum over $y$ is $-x^2 + |x|$.
# :::
#
# With these rules you can read off that the losses of classical machine learning are convex. Logistic regression: $\ln(1 +
# e^t)$ has the second derivative $\sigma(t)(1 - \sigma(t)) > 0$; put the affine $-y\, \mathbf{x}^\top \mathbf{w}$ inside;
# average. The hinge loss $\max(0, 1 - y\, \mathbf{x}^\top \mathbf{w})$ is a maximum of two affine functions. The lasso is a
# sum of a square with something affine inside, and a norm. A network with a hidden layer does not fit the rules, because its
# inside is not affine. But the rules only ever prove convexity; if something does not follow from them, this proves nothing.
#
# ```{exercise} ★★ Program: a convexity checker
# :label: convex_functions-rules
# Write `verdict(bend, slope, inner)` for $\varphi(f(x))$ on the line: the outer $\varphi$ is strictly convex or
# concave and rises or falls, the inner $f$ is convex, affine or concave. Must the composition be convex, must it be concave,
# or can neither be said? The grader has an example for each of the twelve.
# ```

# %%
def verdict(bend, slope, inner):
    """1 if the composition must be convex, -1 if it must be concave, else 0.

    bend: 1 if the outer function is convex, -1 if concave.
    slope: 1 if it rises, -1 if it falls.
    inner: 1, 0 or -1, the inner function is convex, affine or concave.
    verdict(1, 1, 1) is 1: exp(x**2) is convex.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
outer = {
    (1, 1): np.exp, (1, -1): lambda t: np.exp(-t),
    (-1, 1): lambda t: -np.exp(-t), (-1, -1): lambda t: -np.exp(t),
}

def verdict_by_example(bend, slope, inner):
    x = np.linspace(-2, 2, 401)
    f = {1: x**2, 0: x, -1: -(x**2)}[inner]
    second = np.diff(outer[bend, slope](f), 2)
    return int((second > 0).all()) - int((second < 0).all())

cases = dict(bend=[1, -1], slope=[1, -1], inner=[1, 0, -1])
grade(verdict, verdict_by_example, **cases)

# %% [markdown]
# ```{solution-start} convex_functions-rules
# :class: dropdown
# ```
# Where both are smooth, $(\varphi \circ f)'' = \varphi''(f)\, f'^2 + \varphi'(f)\, f''$. The first term has the sign of
# `bend`, the second that of `slope * inner`. If the second is zero or agrees with the first, the sign is certain; otherwise
# each can win. Programs that accept only provably convex problems ("disciplined convex programming",
# {cite}`grant2006disciplined`) walk through a formula with this rule. To forget the slope is the classic mistake: it
# calls $e^{-x^2}$ convex. The second wrong answer asks for two terms that agree, and does not know what to say of an affine
# $f$. The third looks at the second term alone.

# %% jupyter={"source_hidden": true}
def verdict_solution(bend, slope, inner):
    return bend if slope * inner in (0, bend) else 0

def verdict_without_slope(bend, slope, inner):
    return bend if inner in (0, bend) else 0

def verdict_without_affine(bend, slope, inner):
    return bend if slope * inner == bend else 0

def verdict_without_bend(bend, slope, inner):
    return slope * inner

assert grade(verdict_solution, verdict_by_example, **cases)
assert not grade(verdict_without_slope, verdict_by_example, **cases)
assert not grade(verdict_without_affine, verdict_by_example, **cases)
assert not grade(verdict_without_bend, verdict_by_example, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ### The convex conjugate: a function of the slope
#
# A convex graph can be described in two ways: by its points, or by the lines below it. For each slope $s$ push a line up
# from below until it touches the graph. If it then reads $sx - c$, note down the number $c$:
#
# ````{prf:definition} Conjugate
# :label: def-conjugate
# The *convex conjugate* of $f$ is
# ```{math}
# :label: convex_functions-conjugate
# f^*(\mathbf{s}) = \sup_{\mathbf{x}} \big( \mathbf{s} \cdot \mathbf{x} - f(\mathbf{x}) \big) .
# ```
# ````

# %%
def conjugate(f, x, s):  # values f (n,) at x (n,) -> values at s (m,)
    return (s[:, None] * x - f).max(1)

points = np.linspace(-9, 9, 36_001)
s = np.array([0.2, 0.5, 0.9])
print('of x²/2:      ', conjugate(points**2 / 2, points, s).round(3))
print('of ln(1 + eˣ):', conjugate(np.logaddexp(0, points), points, s).round(3))
print('−entropy:     ', (s * np.log(s) + (1 - s) * np.log1p(-s)).round(3))

# %% [markdown]
# For fixed $\mathbf{x}$ the bracket is affine in $\mathbf{s}$, so $f^*$ is a maximum of affine functions: convex,
# whatever $f$ is. By definition, for all $\mathbf{x}$ and $\mathbf{s}$,
#
# ```{math}
# :label: convex_functions-fenchel-young
# f(\mathbf{x}) + f^*(\mathbf{s}) \ge \mathbf{s} \cdot \mathbf{x}
# ```
#
# (the *Fenchel–Young inequality*), with equality if the line of slope $\mathbf{s}$ touches at $\mathbf{x}$; for
# differentiable convex $f$, at $\mathbf{s} = \nabla f(\mathbf{x})$. Some pairs, each from setting the derivative of the
# bracket to zero:
#
# $$
# \begin{array}{c|cccc}
# f(x) & \frac12 x^2 & e^x & \ln(1 + e^x) & \ln \sum_i e^{x_i} \\ \hline
# f^*(s) & \frac12 s^2 & s \ln s - s & s \ln s + (1 - s) \ln(1 - s) & \sum_i s_i \ln s_i \\
# & & s > 0 & 0 < s < 1 & s \text{ a probability vector}
# \end{array}
# $$
#
# The last two are negative entropies: *the cross-entropy loss and the entropy are conjugate*, and the slope that touches
# $\ln \sum_i e^{x_i}$ at $\mathbf{x}$ is its gradient, the softmax.
#
# From the lines $sx - f^*(s)$ we can rebuild the graph, as the highest that they reach at $x$. That is the
# conjugate of the conjugate, $f^{**}(x) = \sup_s (s \cdot x - f^*(s))$.
#
# ````{prf:theorem} Fenchel–Moreau on an interval
# :label: thm-biconjugate
# For continuous $f : [a, b] \to \mathbb{R}$, $f^{**}$ is at each $x \in [a, b]$ the largest value that any convex
# function below $f$ has there. In particular $f^{**} = f$ if and only if $f$ is convex.
# ````
#
# ```{prf:proof}
# :class: dropdown
# By {eq}`convex_functions-fenchel-young`, $s x - f^*(s) \le f(x)$ for all $s$, so $f^{**} \le f$, and $f^{**}$ is convex
# as a maximum of affine functions. Let $g \le f$ be any convex function. At an inner point $x$ it has a line below it
# through its own point, $g(y) \ge g(x) + s (y - x)$: a slope $s$ between all slopes of chords to the left of $x$ and all
# to the right, which exists because for convex $g$ the former never exceed the latter. Then $f(y) \ge g(y)$ gives $s y -
# f(y) \le s x - g(x)$ for all $y$, that is $f^*(s) \le s x - g(x)$, and $f^{**}(x) \ge s x - f^*(s) \ge g(x)$. At the
# end $x = b$ take any $v < f(b)$; for a steep enough slope $s$ the line through $(b, v)$ lies below the continuous $f$
# on all of $[a, b]$, so $f^{**}(b) \ge v$. Hence $f^{**}(b) = f(b) \ge g(b)$, and the same at $a$.
# ```
#
# So $f^{**}$ is the *convex envelope* of $f$. For a graph of finitely many points it is enough to try the slopes of chords,
# because the edges of the envelope are chords.

# %% mystnb={"image": {"alt": "Left: a double well with lines of several slopes touching it from below and, over it, its convex envelope with a straight bridge between the valleys. Right: the conjugate as a function of the slope, convex with a kink at the slope of the bridge."}} tags=["hide-input"]
def chord_slopes(f, x, reach):
    i, j = np.triu_indices(len(x), 1)
    i, j = i[j - i <= reach], j[j - i <= reach]
    return (f[j] - f[i]) / (x[j] - x[i])
def envelope(f, x, reach):
    s = chord_slopes(f, x, reach)
    return conjugate(conjugate(f, x, s), s, x)

x = np.linspace(-2, 2, 201)
f = x**4 / 2 - x**2 * 1.2 + x / 3
s = np.linspace(-3, 3, 301)
fig, (left, right) = panels(2, height=2.7)
for slope in (-2, -0.6, 1 / 3, 1.2, 2.4):
    left.plot(x, slope * x - conjugate(f, x, np.array([slope])), color=GREY,
              lw=0.8)
left.plot(x, f, label='f', lw=1.4)
left.plot(x, envelope(f, x, 200), color='C1', lw=3, alpha=0.6, label='f**')
left.set(xlabel='x', ylim=(-2.6, 2.2))
left.legend(loc='upper center')
right.plot(s, conjugate(f, x, s), color='C2')
right.axvline(1 / 3, ls=':', color=GREY)
right.text(0.5, 5, 'slope of the bridge', color=GREY)
right.set(xlabel='slope s', ylabel='f*(s)');

# %% [markdown] tags=["caption"]
# The lines that touch a double well from below rebuild only its convex envelope $f^{**}$, and the envelope's straight bridge
# becomes a kink of the conjugate $f^*$.

# %% [markdown]
# A straight piece of the envelope becomes a kink of the conjugate: many points, one slope. Conversely, a kink of the
# envelope becomes a straight piece of $f^*$. Kinks are the subject of [subgradients](subgradients.ipynb).
#
# ```{exercise} ★★★ Pencil: rounding a corner
# :label: convex_functions-huber
# The *infimal convolution* $(f \mathbin{\square} g)(x) = \inf_y \big( f(y) + g(x - y) \big)$ is a partial minimum, so it
# keeps convexity. Show that $(f \mathbin{\square} g)^* = f^* + g^*$. Use it to find $|\cdot| \mathbin{\square} \frac{1}{2t}
# (\cdot)^2$ in closed form, and write it as `rounded(x, t)`. Which loss of robust statistics is it?
# ```

# %%
def rounded(x, t):
    """The infimum over y of |y| + (x - y)**2 / (2 t): a float.

    x: float. t: float > 0.
    rounded(3.0, 2.0) is 2.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def rounded_by_search(x, t):
    cost = lambda y: abs(y) + (x - y) ** 2 / (2 * t)
    ends = -abs(x) - 1, abs(x) + 1
    found = minimize_scalar(cost, bounds=ends, method='bounded', options={'xatol': 1e-9})
    return min(cost(0.0), found.fun)  # the corner is hit exactly

cases = dict(
    x=lambda t: on(0.0, t, -t, t / 2, -t / 2, 2 * t) | scalars(-6, 6),
    t=on(1.0, 2.0, 0.5) | scalars(0.05, 5),
)
grade(rounded, rounded_by_search, **cases)

# %% [markdown]
# ```{solution-start} convex_functions-huber
# :class: dropdown
# ```
# Substitute $x = y + z$: $\sup_x (sx - \inf_y \dots) = \sup_{y, z} (sy - f(y) + sz - g(z)) = f^*(s) + g^*(s)$. Here
# $f^*$ is $0$ for $|s| \le 1$ and infinite otherwise, and $g^*(s) = \frac{t}{2} s^2$. Conjugate back (the function is
# convex, and the proof of {prf:ref}`thm-biconjugate` for inner points serves the whole line):
# $\max_{|s| \le 1} (sx - \frac t2 s^2)$, attained at $s = x/t$ clipped to $[-1, 1]$. That is $\frac{x^2}{2t}$ for
# $|x| \le t$ and $|x| - \frac t2$ beyond, the loss of {cite:t}`huber1964robust`.
# Without $-\frac t2$ the pieces do not meet. If the corner is put at 1 for every $t$, they do not meet either, unless
# $t = 1$. And without the absolute value it is right on one side only.

# %% jupyter={"source_hidden": true}
def rounded_solution(x, t):
    s = np.clip(x / t, -1, 1)
    return s * x - t / 2 * s**2

def rounded_with_a_jump(x, t):
    return x**2 / (2 * t) if abs(x) <= t else abs(x)

def corner_at_one(x, t):
    return x**2 / (2 * t) if abs(x) <= 1 else abs(x) - t / 2

def one_sided(x, t):
    return x**2 / (2 * t) if x <= t else x - t / 2

assert grade(rounded_solution, rounded_by_search, **cases)
assert not grade(rounded_with_a_jump, rounded_by_search, **cases)
assert not grade(corner_at_one, rounded_by_search, **cases)
assert not grade(one_sided, rounded_by_search, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def pair(a, b):
    return lambda x: abs(x - a), lambda x: (x - b) ** 2

def combined(a, b, u, v, lam, combine):
    f, g = pair(a, b)
    return gap(lambda x: combine(f(x), g(x)), u, v, lam) >= -1e-12

def gaps_add(a, b, u, v, lam):
    f, g = pair(a, b)
    total = gap(lambda x: f(x) + g(x), u, v, lam)
    return close(total, gap(f, u, v, lam) + gap(g, u, v, lam))

spots = dict(a=scalars(-2, 2), b=scalars(-2, 2), u=scalars(-3, 3),
             v=scalars(-3, 3), lam=scalars(0, 1))

holds('ml.convexity.sum',
      lambda **c: combined(**c, combine=np.add) and gaps_add(**c),
      slip=('multiplies the functions in place of adding them',
            lambda **c: combined(**c, combine=np.multiply)),
      **spots)

verify('a maximum of convex functions is convex',
       lambda **c: combined(**c, combine=np.maximum),
       slip=('takes the minimum in place of the maximum',
             lambda **c: combined(**c, combine=np.minimum)),
       **spots)

chord = dict(u=scalars(-2, 2), v=scalars(-2, 2), lam=scalars(0, 1))

def rises(sign, u, v, lam):
    f = lambda x: np.exp(sign * (x**2 + abs(x - 1)))
    return gap(f, u, v, lam) >= -1e-9 * f(max(abs(u), abs(v)))

def partial_minimum(square, x):  # min over y of square x² + 2xy + y² + |x|
    h = lambda y: square * x**2 + 2 * x * y + y**2 + abs(x)
    return minimize_scalar(h).fun

def partial_minimum_is_convex(square, u, v, lam):
    return gap(lambda x: partial_minimum(square, x), u, v, lam) >= -1e-9

verify('convex and increasing, of convex, is convex',
       lambda **c: rises(1, **c),
       slip=('puts a decreasing function outside', lambda **c: rises(-1, **c)),
       **chord)

verify('the partial minimum of a jointly convex function is convex',
       lambda **c: partial_minimum_is_convex(2, **c),
       slip=('asks for convexity in x and in y only',
             lambda **c: partial_minimum_is_convex(0, **c)),
       tries=60, **chord)

# %% tags=["checks"]
closed_forms = {  # f, f*, slopes
    'x²/2': (np.square(points) / 2, lambda s: s**2 / 2, (-3, 3)),
    'eˣ': (np.exp(points), lambda s: s * np.log(s) - s, (0.01, 3)),
    'ln(1 + eˣ)': (
        np.logaddexp(0, points),
        lambda s: s * np.log(s) + (1 - s) * np.log1p(-s), (0.01, 0.99)),
}

def conjugates_agree(name, t, sign):
    f, dual, (low, high) = closed_forms[name]
    s = low + t * (high - low)
    grid = 1e-7  # step squared, times the largest second derivative, over 8
    return close(
        conjugate(f, points, np.array([s])), [sign * dual(s)], atol=grid)

verify('the table of conjugates', lambda name, t: conjugates_agree(name, t, 1),
       slip=('has the other sign in the conjugate',
             lambda name, t: conjugates_agree(name, t, -1)),
       name=list(closed_forms), t=scalars(0, 1), tries=60)

def touches(x, z):  # log-sum-exp at x, slope softmax(z)
    s = np.exp(z - logsumexp(z))
    return logsumexp(x) + s @ np.log(s) - s @ x

verify('Fenchel–Young holds for log-sum-exp, with equality at the softmax',
       lambda x, z: touches(x, z) >= -1e-12 and abs(touches(x, x)) < 1e-12,
       slip=('expects equality at every slope',
             lambda x, z: abs(touches(x, z)) < 1e-12),
       x=vectors(3, -4, 4), z=vectors(3, -4, 4))

def envelope_by_hull(f, x):
    roof = f.max() + 1
    corners = np.c_[np.r_[x[0], x, x[-1]], np.r_[roof, f, roof]]
    below = np.sort(ConvexHull(corners).vertices)[1:-1] - 1
    return np.interp(x, x[below], f[below])

def bumpy(seed):
    x = np.linspace(-2, 2, 41)
    a = np.random.default_rng(seed).normal(size=4)
    return x**4 / 4 + a @ [np.sin(k * x + k) for k in range(1, 5)], x

verify('the conjugate of the conjugate is the convex envelope',
       lambda seed: close(envelope(*bumpy(seed), 40),
                          envelope_by_hull(*bumpy(seed))),
       slip=('tries only the slopes between neighbours',
             lambda seed: close(envelope(*bumpy(seed), 1),
                                envelope_by_hull(*bumpy(seed)))),
       seed=seeds(), tries=40)

# %% [markdown]
# ## Where it matters: is the loss of a neural network convex?
#
# Is a handwritten digit even or odd? Two classifiers see 600 digits, shrunk to $4 \times 4$ pixels, and a constant:
# logistic regression, $z = \mathbf{w}^\top \mathbf{x}$, and a network with four hidden units, $z = \mathbf{v}^\top
# \tanh(\mathbf{W}^\top \mathbf{x})$. Both have the loss $\ln(1 + e^{-yz})$, $y = \pm 1$, averaged, plus
# $\frac{1}{5000} \|\cdot\|^2$. The first is strongly convex by the rules above, and L-BFGS solves it. The network takes
# 4000 steps of gradient descent. (With fixed steps the result is the same on every machine.) Eight random starts each:

# %%
digits = data.digits()
small = digits.x[:600].reshape(-1, 4, 2, 4, 2).mean((2, 4)).reshape(600, 16)
X = np.c_[np.ones(600), small]  # (N, 17)
y = np.where(digits.y[:600] % 2 == 0, 1.0, -1.0)

def linear(w):  # mean loss, slope
    z = X @ w
    dz = -y * expit(-y * z) / 600
    value = np.logaddexp(0, -y * z).mean() + w @ w / 5000
    return value, X.T @ dz + w / 2500

def network(w):  # w (17 * 4 + 4,)
    v, h = w[68:], np.tanh(X @ w[:68].reshape(17, 4))
    z = h @ v
    dz = -y * expit(-y * z) / 600
    inner = X.T @ (dz[:, None] * v * (1 - h**2))
    value = np.logaddexp(0, -y * z).mean() + w @ w / 5000
    return value, np.append(inner, h.T @ dz) + w / 2500

# %%
def train(model, size, seed):
    w = np.random.default_rng(seed).normal(size=size)
    if model is linear:
        return minimize(model, w, jac=True, method='L-BFGS-B',
                        options=dict(maxiter=3000, ftol=1e-13, gtol=1e-7)).x
    for _ in range(4000):
        w = w - 0.3 * model(w)[1]
    return w

ends = {model: [train(model, size, seed) for seed in range(8)]
        for model, size in ((linear, 17), (network, 72))}
final = {m: np.array([m(w)[0] for w in found]) for m, found in ends.items()}
print('logistic regression:', *(f'{f:.3f}' for f in final[linear]))
print('network:            ', *(f'{f:.3f}' for f in final[network]))

# %% [markdown]
# Different ends suggest that the loss of the network is not convex, but perhaps it has only stopped too early? For a proof
# we need one chord. Exchange two hidden units, with their weights. The network computes the same function, so the loss is
# the same at $\mathbf{w}$ and at the exchanged $\mathbf{w}'$. If the loss were convex, it would be no higher at any point
# between. So measure it there. (This works for every network with a hidden layer and a minimum at which two units differ:
# either the minimizers fill the whole segment, or the loss is not convex.)

# %%
def exchange(w, order):  # the hidden units in another order
    return np.r_[w[:68].reshape(17, 4)[:, order].ravel(), w[68:][order]]

def along(a, b, model, lam):  # loss from b (lam = 0) to a (lam = 1)
    return np.array([model(t * a + (1 - t) * b)[0] for t in lam])

lam = np.linspace(0, 1, 41)
best = ends[network][final[network].argmin()]
orders = [[1, 0, 2, 3], [0, 2, 1, 3], [3, 1, 2, 0]]
profiles = np.array([along(best, exchange(best, o), network, lam)
                     for o in orders])

# %%
print('loss of the network at λ = 0, ½, 1 for three exchanges:')
for profile in profiles:
    print(*(f'{value:.3f}' for value in profile[[0, 20, 40]]))
a, b = np.random.default_rng(1).normal(size=(2, 17))
print('logistic regression between two random points:')
print(*(f'{value:.3f}' for value in along(a, b, linear, lam)[[0, 20, 40]]))

# %% mystnb={"image": {"alt": "Left: final losses of eight starts; logistic regression's all on one level, the network's scattered at several lower levels. Right: loss along the segment between a trained network and the same network with two hidden units exchanged; three curves start and end at the same height and rise in the middle."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.6)
for (model, f), name in zip(
        final.items(), ('logistic regression', 'network'), strict=True):
    line, = left.plot(np.arange(1, 9), f, 'o')
    left.text(4.5, f.max() + 0.02, name, color=line.get_color(), ha='center')
left.set(xlabel='start', ylabel='loss at the end', xticks=[1, 4, 8],
         ylim=(0, 0.42))
right.plot(lam, profiles.T, color='C1', lw=1.3)
right.axhline(profiles[0, 0], ls=':', color=GREY)
right.text(0.5, profiles[0, 0] - 0.03, 'chord', color=GREY, ha='center',
           va='top')
right.set(xlabel='λ, from w′ (0) to w (1)', ylabel='loss of the network',
          ylim=(-0.2, None));

# %% [markdown] tags=["caption"]
# Left: from eight starts logistic regression ends at one loss, the network at several, all lower. Right: between a network
# and itself with two units exchanged, the loss rises above its chord.

# %% [markdown]
# The worst end of the network is still lower than the minimum of logistic regression. Convexity guarantees that you find the
# lowest loss of a model, not that the model is good.

# %% tags=["checks"]
def torch_loss(w, model):
    a = torch.tensor(X)
    z = a @ w if model is linear else (
        torch.tanh(a @ w[:68].reshape(17, 4)) @ w[68:])
    return softplus(-torch.tensor(y) * z).mean() + w @ w / 5000

for model, size in ((linear, 17), (network, 72)):
    w = torch.linspace(-1, 2, size, requires_grad=True)
    value = torch_loss(w, model)
    value.backward()
    assert close(model(w.detach().numpy())[0], value)
    assert close(model(w.detach().numpy())[1], w.grad)
spread = {m: np.ptp(f) / f.min() for m, f in final.items()}
print('logistic regression: one loss, spread', below(spread[linear], 1e-6))
assert spread[network] > 0.01
assert close(profiles[:, [0, 40]], np.full((3, 2), network(best)[0]))
straight = along(a, b, linear, lam)
chord = lam * linear(a)[0] + (1 - lam) * linear(b)[0]
print('points of logistic regression above the chord:',
      (straight > chord + 1e-12).sum())

# %% [markdown]
# ## Summary
#
# A function is convex if no chord passes below its graph, which for smooth functions is to say that no tangent passes above
# it or that no curvature is negative; sums, maxima, affine functions inside, increasing convex functions outside and partial
# minima preserve it. Then each local minimum is global; strict convexity allows at most one minimizer, strong convexity
# guarantees exactly one and bounds the distance to it. The conjugate describes the same graph by its slopes, returns the
# convex envelope when applied twice, and pairs the cross-entropy with the entropy.
#
# **Further reading.** Chapter 3 of {cite}`boyd2004convex` has many more examples,
# {cite}`rockafellar1970convex` the theory of conjugates, and {cite}`nesterov2018lectures` what strong
# convexity means for algorithms.
