# ---
# jupyter:
#   book:
#     functions:
#       dual: dual(3)
#       lp_norm: lp_norm(normal(3, 4), 3)
#       power_iteration: power_iteration(normal(6, 3), 60)
#       rank: rank(normal(3, 2))
#       safe_norm: safe_norm(normal(5), 3)
#       steepest: steepest(normal(4), 3)
#     main: dl.norms.lp
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Norms
#
# A courier must deliver a parcel three blocks to the east and four blocks to the north. Along the streets the way is 7
# blocks long, a bird flies 5 blocks, and the longer of the two legs has 4. Each number is a reasonable length of the
# vector $(3, 4)$. What do all lengths have in common, and what changes if a program uses one in place of another?
#
# - **You need** the arrays of [Tensors and shapes](tensors.ipynb), and systems of linear equations.
# - **You build** every $\ell_p$ norm, safe from overflow, the distance from a point to a plane, the largest factor by
#   which a matrix stretches a vector, and the rank by elimination.
# - **Runs in** 5 seconds, in float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
import math
from functools import reduce
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.optimize import linprog
from sklearn.svm import SVC

from nbutils.cases import integers, lists, matrices, on, once, scalars, seeds, square_matrices, vectors
from nbutils.checks import close, erratum, grade, holds, verify
from nbutils.data import digits
from nbutils.figures import GREY, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## Norms of a vector: ℓ₁, ℓ₂ and ℓ∞
#
# These are the three lengths of the courier's way:

# %%
way = np.array([3.0, 4.0])
print('along the streets:', abs(way).sum())
print('as the bird flies:', np.sqrt((way**2).sum()))
print('the longer leg:   ', abs(way).max())

# %% [markdown]
# The bird's way is the hypotenuse of a right triangle. With $n$ coordinates, we apply Pythagoras' theorem $n - 1$ times,
# and each coordinate adds its square. This is the **Euclidean norm** or $\ell_2$ **norm**:
#
# ```{math}
# :label: dl.norms.l2
# \|\mathbf{x}\|_2 = \sqrt{\sum_{i=1}^n x_i^2}
# ```
#
# The way along the streets is the $\ell_1$ **norm**:
#
# ```{math}
# :label: dl.norms.l1
# \|\mathbf{x}\|_1 = \sum_{i=1}^n |x_i|
# ```
#
# Both belong to one family, the $\ell_p$ norms, and the largest leg is the limit of this family for $p \to \infty$:
#
# ```{math}
# :label: dl.norms.lp
# \|\mathbf{x}\|_p = \Big( \sum_{i=1}^{n} |x_i|^p \Big)^{1/p}, \quad p \ge 1,
# \qquad \|\mathbf{x}\|_\infty = \max_i |x_i|
# ```

# %%
def lp_norm(x, p):  # over the last axis of x
    x = abs(x)
    return x.max(-1) if p == np.inf else (x ** p).sum(-1) ** (1 / p)

# %%
print('   p    lp_norm    numpy')
for p in (1, 1.5, 2, 4, 10, np.inf):
    print(f'{p:4} {lp_norm(way, p):10.4f}'
          f' {np.linalg.norm(way, ord=p):8.4f}')

# %% [markdown]
# The larger $p$ is, the more the largest coordinate dominates. numpy's `np.linalg.norm(x, ord=p)` computes the same
# numbers, and so does `torch.linalg.vector_norm(x, ord=p)`. Without `ord`, $p = 2$.
#
# :::{admonition} A tempting mistake
# :class: warning
# It is easy to write $x_i^p$ in place of $|x_i|^p$, because for even $p$ the two agree. For odd $p$ the
# sum can be negative: $(3, -4)$ would have the $\ell_1$ norm $-1$.
# :::
#
# Every norm gives a distance $d(\mathbf{x}, \mathbf{y}) = \|\mathbf{x} - \mathbf{y}\|$. The distance of $\ell_1$ is
# called the **Manhattan distance**:
#
# ```{math}
# :label: dl.norms.manhattan
# d(\mathbf{x}, \mathbf{y}) = \|\mathbf{x} - \mathbf{y}\|_1 = \sum_{i=1}^n |x_i - y_i|
# ```
#
# (dl.norms.norm-size)=
# A norm measures the magnitude of the components, not their number: zeros at the end do not change $\|\mathbf{x}\|_p$, and
# doubling all components doubles it. The root mean square is different, because zeros at the end make it smaller.
#
# ### The three rules: homogeneity, triangle inequality, definiteness
#
# What makes a number a length? If we double a vector, its length doubles. A detour is never shorter than the straight way.
# Only the zero vector has the length zero.
#
# ```{prf:definition} Norm
# :label: def-norm
# A *norm* gives each vector $\mathbf{x}$ a number $\|\mathbf{x}\|$ that obeys {eq}`dl.norms.homog`, {eq}`dl.norms.triangle`
# and {eq}`dl.norms.definite` for all vectors and all $\alpha \in \mathbb{R}$.
# ```
#
# ```{math}
# :label: dl.norms.homog
# \|\alpha \mathbf{x}\| = |\alpha| \, \|\mathbf{x}\|
# ```
#
# ```{math}
# :label: dl.norms.triangle
# \|\mathbf{x} + \mathbf{y}\| \le \|\mathbf{x}\| + \|\mathbf{y}\|
# ```
#
# ```{math}
# :label: dl.norms.definite
# \|\mathbf{x}\| > 0 \iff \mathbf{x} \ne \mathbf{0}
# ```
#
# The second rule is the **triangle inequality**. Its two sides are seldom equal: for $\mathbf{y} = -\mathbf{x}$ the left
# side is 0 and the right side $2\|\mathbf{x}\|$.

# %%
def detour(x, y, p):  # how much longer x and then y is than x + y
    return lp_norm(x, p) + lp_norm(y, p) - lp_norm(x + y, p)

east, north = np.array([3.0, 0.0]), np.array([0.0, 4.0])
for p in (1, 2, np.inf, 0.5):
    print(f'p = {p}: detour {detour(east, north, p):6.2f}')

# %% mystnb={"image": {"alt": "Left: nested unit balls, from a four-pointed star for p one half over diamond, circle and rounded square to the square for p infinite. Right: how much longer the detour is, against the angle between two arrows; zero up to 90 degrees for p = 1, rising at once for p = 2, with a step and a plateau for p infinite."}} tags=["hide-input"]
t = np.linspace(0, 2 * np.pi, 721)
circle = np.stack([np.cos(t), np.sin(t)], -1)  # (721, 2)
fig, (left, right) = panels(2, height=2.7, width_ratios=[1.15, 1])
for p in (0.5, 1, 1.5, 2, 4, np.inf):
    ball = circle / lp_norm(circle, p)[:, None]
    style = dict(color=GREY, ls='--') if p < 1 else {}
    name = f'{p:g}'.replace('inf', '∞')
    left.plot(*ball.T, label=f'p = {name}', **style)
left.set(aspect='equal', xticks=[-1, 0, 1], yticks=[-1, 0, 1])
left.set_title('Unit balls')
left.legend(loc='center left', bbox_to_anchor=(1, 0.5), handlelength=1.2)
half = circle[:361]  # angles from 0 to 180 degrees
for p, name in ((1, '1'), (2, '2'), (np.inf, '∞')):
    gap = detour(half[0], half, p)
    right.plot(np.degrees(t[:361]), gap, label=f'p = {name}')
right.set(xticks=[0, 90, 180], xlabel='angle between x and y (degrees)')
right.set_title('‖x‖ + ‖y‖ − ‖x + y‖')
right.legend();

# %% [markdown] tags=["caption"]
# Left: for $p \ge 1$ the unit ball is convex, for $p < 1$ it is not. Right: a turn of up to 90 degrees from an axis costs
# nothing in $\ell_1$, while in $\ell_2$ every turn lengthens the way.

# %% [markdown]
# For $p = \frac12$ the detour is negative: the way over the corner would be shorter than the straight way. So the
# triangle inequality fails for $p < 1$. For $p \ge 1$ it holds:
#
# ```{prf:theorem} Minkowski
# :label: thm-minkowski
# For $p \ge 1$ and $p = \infty$, $\|\cdot\|_p$ is a norm.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Homogeneity and definiteness are clear from the formula. For the triangle inequality let $p < \infty$. The function $t
# \mapsto |t|^p$ is convex: between two points it stays below its chord. Let $\|\mathbf{u}\|_p = \|\mathbf{v}\|_p = 1$ and
# $0 \le \lambda \le 1$. Then $\sum_i |\lambda u_i + (1 - \lambda) v_i|^p \le \lambda \sum_i |u_i|^p + (1 - \lambda)
# \sum_i |v_i|^p = 1$, so the segment from $\mathbf{u}$ to $\mathbf{v}$ lies in the unit ball. For $\mathbf{x}, \mathbf{y}
# \ne \mathbf{0}$ of norms $a$ and $b$ take $\mathbf{u} = \mathbf{x}/a$, $\mathbf{v} = \mathbf{y}/b$ and $\lambda = a/(a +
# b)$. The point of the segment is $(\mathbf{x} + \mathbf{y})/(a + b)$; its norm is at most 1, so $\|\mathbf{x} +
# \mathbf{y}\|_p \le a + b$. For $p = \infty$, $|x_i + y_i| \le |x_i| + |y_i| \le \|\mathbf{x}\|_\infty +
# \|\mathbf{y}\|_\infty$ for every $i$.
# ```
#
# The proof uses the powers only to show that the **unit ball**, the set of all vectors of norm at most one, is convex. So
# for any homogeneous and definite function, the triangle inequality holds exactly if the unit ball is convex.
#
# The number of nonzero entries is often called the "$\ell_0$ norm". It is not a norm, because doubling a vector does not
# double it. The largest minus the smallest entry is not a norm either, because it is zero for $(1, 1, 1)$.
#
# ### How far apart are the norms?
#
# ```{prf:theorem} Equivalence of the $\ell_p$ norms
# :label: thm-lp-equivalence
# For $1 \le p \le q \le \infty$ and $\mathbf{x} \in \mathbb{R}^n$ (with $1/\infty = 0$)
#
# $$\|\mathbf{x}\|_q \le \|\mathbf{x}\|_p \le n^{1/p - 1/q}\, \|\mathbf{x}\|_q ,$$
#
# and both constants are best possible: $\mathbf{e}_1 = (1, 0, \dots, 0)$ attains the left one, $(1, \dots, 1)$ the right
# one.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Let $q$ be finite. *Left:* by homogeneity let $\|\mathbf{x}\|_p = 1$. Then
# every $|x_i| \le 1$, so $|x_i|^q \le |x_i|^p$, and the sum gives $\|\mathbf{x}\|_q \le 1$. *Right:* $s \mapsto s^{q/p}$ is
# convex, so the power of a mean is at most the mean of the powers (Jensen's inequality):
# $\big(\tfrac1n \sum_i |x_i|^p\big)^{q/p} \le \tfrac1n \sum_i |x_i|^q$. The $q$-th root is
# $n^{-1/p} \|\mathbf{x}\|_p \le n^{-1/q} \|\mathbf{x}\|_q$. For $q = \infty$ see {eq}`norms-limit`.
# ```
#
# So a sequence that converges in one norm converges in all of them. But the sizes can be very different, and typical
# vectors come close to the upper bound:

# %%
rng = np.random.default_rng(3)
for n in (100, 10_000, 1_000_000):
    x = rng.normal(size=n)
    print(f'n = {n:7}: l_1 / l_2 = {lp_norm(x, 1) / lp_norm(x, 2):5.1f},'
          f' the bound is {np.sqrt(n):6.1f}')

# %% [markdown]
# ```{admonition} Why any two norms on $\mathbb{R}^n$ lie within constant factors of each other
# :class: dropdown
# Let $N$ be any norm. First, $N(\mathbf{x}) \le \sum_i |x_i| N(\mathbf{e}_i) \le C \|\mathbf{x}\|_1$ with $C = \max_i
# N(\mathbf{e}_i)$. Hence $|N(\mathbf{x}) - N(\mathbf{y})| \le N(\mathbf{x} - \mathbf{y}) \le C \|\mathbf{x} -
# \mathbf{y}\|_1$: $N$ is continuous. On the closed and bounded set $\|\mathbf{x}\|_1 = 1$ it therefore has a least value
# $c$, positive by {eq}`dl.norms.definite`, and $c\|\mathbf{x}\|_1 \le N(\mathbf{x})$.
# ```
#
# ### Norms without overflow
#
# In half precision, in which networks are often trained, no number is larger than 65504. Already the square of 300 is
# larger. A gradient with the entries 300 and 400 then has an infinite norm. If we *clip* this gradient, that is, divide
# it by its norm, it becomes zero, and training stands still:

# %%
gradient = np.array([300, 400], dtype=np.float16)
with np.errstate(over='ignore'):
    naive = np.sqrt((gradient * gradient).sum())
print(f'norm {naive:g}, clipped', gradient / naive)

# %% [markdown]
# Homogeneity is the remedy. We take the largest entry $m = \max_i |x_i| > 0$ out of the norm:
#
# ```{math}
# :label: norms-scaled
# \|\mathbf{x}\|_p = m \, \Big( \sum_{i=1}^n \big( |x_i| / m \big)^p \Big)^{1/p}
# ```

# %%
def safe_norm(x, p):
    m = abs(x).max()
    if m == 0 or p == np.inf:
        return m
    return m * ((abs(x) / m) ** p).sum() ** (1 / p)

length = safe_norm(gradient, 2)
print(f'norm {length:g}, clipped', (gradient / length).round(1))

# %% [markdown]
# Now every term lies between 0 and 1, and one of them is 1. So the sum cannot overflow, and it lies between 1 and $n$. This
# also proves
#
# ```{math}
# :label: norms-limit
# \|\mathbf{x}\|_\infty \le \|\mathbf{x}\|_p \le n^{1/p} \, \|\mathbf{x}\|_\infty .
# ```
#
# Since $n^{1/p} \to 1$ for $p \to \infty$, the largest entry is indeed the limit of the family.
#
# ```{exercise} ★★ Program: a norm from its ball
# :label: norms-gauge
# Let $\mathbf{a}_1, \dots, \mathbf{a}_m$ span $\mathbb{R}^n$. Show that
# $B = \{\mathbf{x} : -1 \le \mathbf{a}_k \cdot \mathbf{x} \le 1 \text{ for all } k\}$ is the unit ball of a norm, and write
# `ball_norm(x, a)` for the array `a` with the rows $\mathbf{a}_k$.
# ```

# %%
def ball_norm(x, a):
    """The norm of x (n,): a float. The rows of a (m, n) span all vectors.

    ball_norm(np.array([1., -3.]), np.eye(2)) is 3.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_bisection(x, a):  # the smallest t for which x lies in t B
    low, high = 0.0, 1e6
    for _ in range(80):
        t = (low + high) / 2
        low, high = (low, t) if (abs(a @ x) <= t).all() else (t, high)
    return low

def spans(a):
    return np.linalg.matrix_rank(a) == a.shape[1]

cases = dict(
    x=lambda a: vectors(a.shape[1], edges=True),
    a=matrices((2, 4), (1, 2), edges=True).filter(spans),
)
grade(ball_norm, by_bisection, **cases)

# %% [markdown]
# ```{solution-start} norms-gauge
# :class: dropdown
# ```
# $\mathbf{x} \in tB$ means $|\mathbf{a}_k \cdot \mathbf{x}| \le t$ for all $k$, so the norm is
# $\|\mathbf{x}\| = \max_k |\mathbf{a}_k \cdot \mathbf{x}|$. It is homogeneous and obeys the triangle rule because each
# $|\mathbf{a}_k \cdot \mathbf{x}|$ does. It is definite because a vector orthogonal to a spanning family is orthogonal to
# itself. One wrong answer lacks the absolute value and forgets half of the ball. One takes off the
# signs too early, one does not look at the $\mathbf{a}_k$.

# %% jupyter={"source_hidden": true}
def ball_norm_solution(x, a):
    return abs(a @ x).max()

def half_of_the_ball(x, a):
    return (a @ x).max()

def signs_off_too_early(x, a):
    return (abs(a) @ abs(x)).max()

def of_the_cube(x, a):
    return abs(x).max()

assert grade(ball_norm_solution, by_bisection, **cases)
assert not grade(half_of_the_ball, by_bisection, **cases)
assert not grade(signs_off_too_early, by_bisection, **cases)
assert not grade(of_the_cube, by_bisection, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★ Experiment: how the norms grow with the dimension
# :label: norms-growth
#
# The $\ell_1$, $\ell_2$ and $\ell_\infty$ norm of $n$ independent standard normal numbers grow nearly like powers $n^a$.
# First predict the three exponents $a$, rounded to halves. Then measure them, for $n$ from a hundred to a million, and
# explain.
# ```

# %%
def predicted_exponents():
    """The exponents for l_1, l_2 and l_inf: a list of three floats.

    Each is a multiple of 0.5: [2.0, 2.0, 0.5], for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def measured_exponents():
    small, large = (np.random.default_rng(0).normal(size=n) for n in (100, 1_000_000))
    grown = [np.linalg.norm(large, p) / np.linalg.norm(small, p) for p in (1, 2, np.inf)]
    return [round(2 * math.log(g) / math.log(10_000)) / 2 for g in grown]

grade(predicted_exponents, measured_exponents, [()])

# %% [markdown]
# ```{solution-start} norms-growth
# :class: dropdown
# ```
# The $\ell_1$ norm is a sum of $n$ terms with the mean $\sqrt{2/\pi}$, so it grows like $n$. The squares have the mean 1,
# so the $\ell_2$ norm grows like $\sqrt n$. Each doubling of $n$ adds a little to the largest of the numbers, but less
# than any power of $n$ would. The wrong answers let every norm grow like $n$, forget the square root, and take the
# largest entry to grow as fast as the $\ell_2$ norm.

# %% jupyter={"source_hidden": true}
def predicted_exponents_solution():
    return [1.0, 0.5, 0.0]

def all_like_n():
    return [1.0, 1.0, 1.0]

def root_forgotten():
    return [1.0, 1.0, 0.0]

def largest_like_the_length():
    return [1.0, 0.5, 0.5]

assert grade(predicted_exponents_solution, measured_exponents, [()])
assert not grade(all_like_n, measured_exponents, [()])
assert not grade(root_forgotten, measured_exponents, [()])
assert not grade(largest_like_the_length, measured_exponents, [()])
for n in (100, 10_000, 1_000_000):
    x = np.random.default_rng(0).normal(size=n)
    print(f'n = {n:7}:', *(f'{lp_norm(x, p):10.1f}' for p in (1, 2, np.inf)))

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Program: one pass, two numbers
# :label: norms-stream
# A vector arrives in blocks and is too long to be kept. Write `stream_norm(blocks)`: the $\ell_2$ norm of all blocks
# together, safe from overflow, reading each block once. Hint: carry $(m, s)$ with $\|\mathbf{x}\|_2 = m\sqrt{s}$, and
# change both when a larger entry comes.
# ```

# %%
def stream_norm(blocks):
    """The l_2 norm of the arrays (k,) in blocks together: a float.

    k >= 1 may change. The iterable blocks can be read once, and each
    array is overwritten when the next one is asked for.
    stream_norm(iter([np.array([3., 4.]), np.array([12.])])) is 13.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def all_at_once(blocks):
    return math.hypot(*(entry for block in blocks for entry in block))

def scaled(scale):
    return vectors((1, 3), edges=True).map(lambda block: scale * block)

block = on(1.0, 1e200, 1e-200).flatmap(scaled)
cases = dict(blocks=lists(block, least=0).map(once), atol=0)
grade(stream_norm, all_at_once, **cases)

# %% [markdown]
# ```{solution-start} norms-stream
# :class: dropdown
# ```
# If the new block has a larger entry $m'$, the old sum $s = \sum (x_i / m)^2$ becomes $s\,(m/m')^2$ in the new unit. One
# wrong answer forgets this, one looks for the largest entry without taking off the signs, one squares too large numbers,
# and one keeps all blocks. {cite}`blue1978portable` does without the divisions.

# %% jupyter={"source_hidden": true}
def stream_norm_solution(blocks):
    m, s = 0.0, 0.0
    for block in blocks:
        larger = max(m, abs(block).max())
        if larger > 0:
            s = s * (m / larger)**2 + ((block / larger)**2).sum()
            m = larger
    return m * np.sqrt(s)

def keeps_the_old_sum(blocks):
    m, s = 0.0, 0.0
    for block in blocks:
        m = max(m, abs(block).max())
        s += ((block / m)**2).sum() if m > 0 else 0.0
    return m * np.sqrt(s)

def largest_with_sign(blocks):
    m, s = 0.0, 0.0
    for block in blocks:
        larger = max(m, block.max())
        if larger > 0:
            s = s * (m / larger)**2 + ((block / larger)**2).sum()
            m = larger
    return m * np.sqrt(s)

def squares_at_once(blocks):
    return np.sqrt(sum((block**2).sum() for block in blocks))

def keeps_all_blocks(blocks):
    return math.hypot(*np.concatenate([np.zeros(1), *blocks]))

assert grade(stream_norm_solution, all_at_once, **cases)
assert not grade(largest_with_sign, all_at_once, **cases)
assert not grade(keeps_the_old_sum, all_at_once, **cases)
assert not grade(squares_at_once, all_at_once, **cases)
assert not grade(keeps_all_blocks, all_at_once, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
holds(
    'dl.norms.l2',
    lambda x: close(np.sqrt((x**2).sum()), reduce(math.hypot, x)),
    slip=(
        'forgets the square root',
        lambda x: close((x**2).sum(), reduce(math.hypot, x)),
    ),
    x=vectors(4),
)
signs = np.array(list(product([-1, 1], repeat=3)))  # (8, 3)
holds(
    'dl.norms.l1',
    lambda x: close(abs(x).sum(), (signs @ x).max()),
    slip=(
        'adds the entries without their signs taken off',
        lambda x: close(abs(x.sum()), (signs @ x).max()),
    ),
    x=vectors(3),
)

def blocks(start, goal):  # crossings are pairs of integers
    front, steps = {start}, 0  # where exactly that many steps can lead
    while goal not in front:
        front = {
            (i + di, j + dj)
            for i, j in front
            for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1))
        }
        steps += 1
    return steps

holds(
    'dl.norms.manhattan',
    lambda i, j, k, m: blocks((i, j), (k, m)) == abs(i - k) + abs(j - m),
    slip=(
        'lets steps east pay for steps north',
        lambda i, j, k, m: blocks((i, j), (k, m)) == abs(i - k + j - m),
    ),
    i=integers(-3, 3),
    j=integers(-3, 3),
    k=integers(-3, 3),
    m=integers(-3, 3),
    tries=60,
)

# %% tags=["checks"]
erratum(
    'dl.norms.lp',
    printed=lambda x, p: close((x**p).sum(), np.linalg.norm(x, p) ** p),
    corrected=lambda x, p: close(lp_norm(x, p), np.linalg.norm(x, p)),
    x=vectors(3),
    p=[1, 2, 3, 7],
)
l_1_and_l_2 = {1: lambda x: abs(x).sum(), 2: lambda x: np.sqrt((x**2).sum())}
holds(
    'dl.norms.special-cases',
    lambda x, p: close(lp_norm(x, p), l_1_and_l_2[p](x)),
    slip=(
        'forgets the p-th root',
        lambda x, p: close((abs(x) ** p).sum(), l_1_and_l_2[p](x)),
    ),
    x=vectors(3),
    p=[1, 2],
)
erratum(
    'dl.norms.triangle',
    printed=lambda x, y, p: close(detour(x, y, p), 0),
    corrected=lambda x, y, p: detour(x, y, p) >= -1e-12,
    x=vectors(2),
    y=vectors(2),
    p=[1, 1.5, 2, 3, np.inf],
)
holds(
    'dl.norms.homog',
    lambda a, x, p: close(lp_norm(a * x, p), abs(a) * lp_norm(x, p)),
    slip=(
        'takes alpha with its sign',
        lambda a, x, p: close(lp_norm(a * x, p), a * lp_norm(x, p)),
    ),
    a=scalars(),
    x=vectors(3),
    p=[1, 1.5, 2, 3, np.inf],
)
holds(
    'dl.norms.definite',
    lambda x, p: (lp_norm(x, p) > 0) == x.any(),
    slip=(
        'calls a vector of equal entries zero',
        lambda x, p: (np.ptp(x) > 0) == x.any(),
    ),  # largest - smallest
    x=vectors(3),
    p=[1, 1.5, 2, 3, np.inf],
)

# %% tags=["checks"]
def power_mean(x, p):
    return (abs(x) ** p).mean() ** (1 / p)

def sees_size_only(f, x, p):
    longer = np.append(x, [0, 0])
    return close(f(longer, p), f(x, p)) and close(f(2 * x, p), 2 * f(x, p))

verify(
    'zeros that are appended leave a norm as it is',
    lambda x, p: sees_size_only(lp_norm, x, p),
    slip=(
        'divides by the number of entries',
        lambda x, p: sees_size_only(power_mean, x, p),
    ),
    x=vectors(3),
    p=[1, 1.5, 2, 3],
)

# %% tags=["checks"]
orders = [1, 1.5, 2, 3, np.inf]
verify(
    'lp_norm and safe_norm agree with numpy',
    lambda x, p: close(lp_norm(x, p), np.linalg.norm(x, p)) and close(safe_norm(x, p), np.linalg.norm(x, p)),
    slip=('forgets the p-th root', lambda x, p: close((abs(x) ** p).sum(), np.linalg.norm(x, p))),
    x=vectors(3), p=orders,
)

def survives(norm, x, unit):
    with np.errstate(over='ignore', under='ignore'):
        return close(norm(unit * x) / unit, math.hypot(*x))

verify(
    'safe_norm neither overflows nor underflows',
    lambda x, unit: survives(lambda v: safe_norm(v, 2), x, unit),
    slip=('squares the entries as they are', lambda x, unit: survives(lambda v: np.sqrt((v * v).sum()), x, unit)),
    x=vectors(3), unit=[1e200, 1.0, 1e-200],
)
assert naive == np.inf and close(length, 500) and close(gradient / length, [0.6, 0.8], rtol=1e-3)  # float16: 11 bits
assert lp_norm(way, 1) == 7 and lp_norm(way, 2) == 5 and lp_norm(way, np.inf) == 4

def in_bounds(x, p, q, power):
    return bool(np.linalg.norm(x, q) <= np.linalg.norm(x, p) * (1 + 1e-9)
                and np.linalg.norm(x, p) <= len(x) ** power(p, q) * np.linalg.norm(x, q) * (1 + 1e-9))

verify(
    'the constants of the equivalence are 1 and n to the power 1/p - 1/q',
    lambda x, p, q: in_bounds(x, p, q, lambda p, q: 1 / p - 1 / q),
    slip=('takes 0.7 times the exponent', lambda x, p, q: in_bounds(x, p, q, lambda p, q: 0.7 * (1 / p - 1 / q))),
    x=vectors((1, 4), edges=True), p=[1, 1.5, 2], q=[2, 3, np.inf],
)

# %% tags=["checks"]
def rules_of(f, x, y, a):  # homogeneity, triangle inequality, definiteness
    return [close(f(a * x), abs(a) * f(x)), bool(f(x + y) <= f(x) + f(y) + 1e-9), bool((f(x) > 0) == x.any())]

def only_breaks(f, number):
    rng = np.random.default_rng(0)
    cases = [(*rng.integers(-2, 3, (2, 3)).astype(float), rng.normal()) for _ in range(500)]
    kept = np.array([rules_of(f, *case) for case in cases]).all(axis=0)
    return bool(kept.sum() == 2 and not kept[number])

def impostors_break_one_rule(third):
    return (only_breaks(lambda x: np.count_nonzero(x), 0) and only_breaks(lambda x: lp_norm(x, 0.5), 1)
            and only_breaks(third, 2))

verify(
    'the number of nonzeros, p = 1/2 and largest minus smallest entry break one rule each',
    lambda: impostors_break_one_rule(np.ptp),
    slip=('takes the root mean square for the third', lambda: impostors_break_one_rule(lambda x: np.sqrt((x * x).mean()))),
)
assert detour(east, north, 1) == 0 and detour(east, north, 2) == 2 and detour(east, north, 0.5) < 0
quarter = circle[:181]  # angles from 0 to 90 degrees
assert abs(detour(quarter[0], quarter, 1)).max() < 1e-12 and (detour(quarter[0], quarter[1:], 2) > 0).all()

# %% [markdown]
# ## Dual norms: the distance to a plane
#
# A linear classifier gives an example $\mathbf{x}$ the score $\mathbf{a} \cdot \mathbf{x} = \sum_i a_i x_i$. Suppose that
# an opponent may change $\mathbf{x}$ by any vector of norm 1. By how much can the score rise? It depends on the norm in
# which the change is measured. For $\mathbf{a} = (2, -3, 0.5, 1)$:

# %%
def dual(p):  # the q with 1/p + 1/q = 1
    if p == 1:
        return np.inf
    return 1 if p == np.inf else p / (p - 1)

def steepest(a, p):  # of all x with l_p norm 1 the one with the largest a . x
    if p == 1:
        x = np.where(np.arange(a.size) == abs(a).argmax(), np.sign(a), 0)
    else:
        x = np.sign(a) * abs(a) ** (dual(p) - 1)
    return x / lp_norm(x, p)

# %%
a = np.array([2, -3, 0.5, 1])
for p in (1, 2, np.inf):
    x = steepest(a, p) + 0.0
    print(f'p = {p:3}: best change {x.round(2)}, the score rises by'
          f' {a @ x:.3f}')

# %% [markdown]
# Under $\ell_1$ the best change puts everything into one coordinate. Under $\ell_\infty$ it changes every coordinate by the
# full amount, in the direction of its sign. The rise is again a norm of $\mathbf{a}$, called the **dual norm**:
#
# ```{math}
# :label: norms-dual
# \|\mathbf{a}\|_* = \max_{\|\mathbf{x}\| \le 1} \mathbf{a} \cdot \mathbf{x},
# \qquad\text{so that}\qquad \mathbf{a} \cdot \mathbf{x} \le \|\mathbf{a}\|_* \, \|\mathbf{x}\|
# ```
#
# ```{prf:theorem} Hölder
# :label: thm-holder
# The dual of $\ell_p$ is $\ell_q$ with $\tfrac1p + \tfrac1q = 1$, where $p = 1$ belongs to $q = \infty$ and the other way
# round. In particular $|\mathbf{a} \cdot \mathbf{x}| \le \|\mathbf{a}\|_q \|\mathbf{x}\|_p$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# *At most.* Let $1 < p < \infty$. The logarithm is concave, so for $s, t > 0$
# $\log\!\big(\tfrac1p s^p + \tfrac1q t^q\big) \ge \tfrac1p \log s^p + \tfrac1q \log t^q = \log(st)$, that is,
# $st \le s^p/p + t^q/q$. Put $s = |x_i|$, $t = |a_i|$ with $\|\mathbf{x}\|_p = \|\mathbf{a}\|_q = 1$ and add:
# $\sum_i |a_i x_i| \le \tfrac1p + \tfrac1q = 1$. The general case follows by homogeneity. For $p = 1$,
# $\sum_i |a_i x_i| \le \max_i |a_i| \sum_i |x_i|$; for $p = \infty$ exchange the roles.
#
# *Attained.* For $p > 1$ take $x_i = \operatorname{sign}(a_i) |a_i|^{q - 1}$. Then $\mathbf{a} \cdot \mathbf{x} = \sum_i |a_i|^q$,
# and for finite $p$ also $\sum_i |x_i|^p = \sum_i |a_i|^q$, since $(q - 1)p = q$. So $\mathbf{a} \cdot \mathbf{x} /
# \|\mathbf{x}\|_p = \big(\sum_i |a_i|^q\big)^{1 - 1/p} = \|\mathbf{a}\|_q$. For $p = \infty$, $\mathbf{x}$ is the vector
# of signs. For $p = 1$ take $\pm\mathbf{e}_i$ at the largest $|a_i|$.
# ```
#
# So the three rises above are $\|\mathbf{a}\|_\infty = 3$, $\|\mathbf{a}\|_2 \approx 3.775$ and $\|\mathbf{a}\|_1 = 6.5$.
#
# ### The distance from a point to a plane
#
# How far is a point $\mathbf{x}_0$ from the plane $\mathbf{w} \cdot \mathbf{x} + b = 0$? For every $\mathbf{x}$ on the
# plane, {eq}`norms-dual` gives $|\mathbf{w} \cdot \mathbf{x}_0 + b| = |\mathbf{w} \cdot (\mathbf{x}_0 - \mathbf{x})| \le
# \|\mathbf{w}\|_* \|\mathbf{x}_0 - \mathbf{x}\|$. Both sides are equal if $\mathbf{x}_0 - \mathbf{x}$ is a multiple of
# the best change. So the distance is
#
# ```{math}
# :label: norms-distance
# \min_{\mathbf{w} \cdot \mathbf{x} + b = 0} \|\mathbf{x} - \mathbf{x}_0\| =
# \frac{|\mathbf{w} \cdot \mathbf{x}_0 + b|}{\|\mathbf{w}\|_*} .
# ```

# %% mystnb={"image": {"alt": "Three panels, one line each. Growing diamonds touch the line with a corner on the vertical axis, the largest of the growing circles touches it where the radius meets it at a right angle, growing squares with the corner on the diagonal."}} tags=["hide-input"]
w, b = np.array([1., 2.]), -2.0
fig, axes = panels(3, height=2.3, sharey=True)
for ax, p, name in zip(axes, (1, 2, np.inf), ('ℓ₁', 'ℓ₂', 'ℓ∞'), strict=True):
    distance = -b / lp_norm(w, dual(p))
    ball = circle / lp_norm(circle, p)[:, None]
    for part in (1 / 3, 2 / 3, 1):
        ax.plot(*(part * distance * ball).T, color='C0', lw=1.8 * part)
    ax.plot([-1.6, 1.6], [1.8, 0.2], color=GREY)
    ax.plot(*(distance * steepest(w, p)), 'o', color='C1', ms=8)
    ax.set(aspect='equal', xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    ax.set(xlim=(-1.6, 1.6), ylim=(-1.2, 1.9))
    ax.set_title(f'{name}: distance {distance:.2f}')

# %% [markdown] tags=["caption"]
# A growing ball first touches a line at the nearest point. In $\ell_1$ it is a corner on an axis, where a coordinate is
# zero; in $\ell_\infty$ both coordinates are equally large.

# %% [markdown]
# ### Why ℓ₁ gives zeros
#
# The corners of the $\ell_1$ ball lie on the axes, and a growing ball touches a plane with a corner. This is why
# minimizing an $\ell_1$ norm produces zeros:
#
# ```{prf:theorem} Sparse solutions
# :label: thm-sparse
# Let $\mathbf{A}$ have $m$ rows. If $\mathbf{A}\mathbf{x} = \mathbf{b}$ has a solution, then among its solutions of least
# $\ell_1$ norm there is one with at most $m$ nonzero entries.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Of the solutions of least norm (they exist, by continuity) let $\mathbf{x}$ have the fewest nonzero entries. If there
# were more than $m$, the columns of $\mathbf{A}$ at these places would be dependent, by {prf:ref}`thm-dimension`:
# $\mathbf{A}\mathbf{h} = \mathbf{0}$ for some $\mathbf{h} \ne \mathbf{0}$ that is zero wherever $\mathbf{x}$ is. All
# points $\mathbf{x} + t\mathbf{h}$ are solutions. As long as no entry changes its sign, the norm is $\|\mathbf{x}\|_1 + t
# \sum_i \operatorname{sign}(x_i) h_i$, linear in $t$. Its minimum lies at $t = 0$, inside an interval, so it is constant.
# Go on until an entry reaches zero: a solution of least norm with fewer nonzero entries, a contradiction.
# ```
#
# We try five random equations with 40 unknowns. To use a solver for linear programs, we write $\mathbf{x} = \mathbf{u} -
# \mathbf{v}$ with $\mathbf{u}, \mathbf{v} \ge \mathbf{0}$ and minimize the sum of all entries of $\mathbf{u}$ and
# $\mathbf{v}$.

# %%
rng = np.random.default_rng(4)
A, b = rng.normal(size=(5, 40)), rng.normal(size=5)
split = linprog(np.ones(80), A_eq=np.c_[A, -A], b_eq=b).x
least_1 = split[:40] - split[40:]
least_2 = np.linalg.pinv(A) @ b
for name, x in (('l_1', least_1), ('l_2', least_2)):
    print(f'least {name} norm: {(abs(x) > 1e-9).sum():2} nonzero entries')

# %% [markdown]
# ### Three classifiers for 4 and 9, and three attacks
#
# Many planes separate the handwritten digits 4 from 9 without an error. The safest plane is the one with the widest gap:
# the nearest picture is as far away as possible. But which norm measures the distance? An opponent who may change *every*
# pixel a little is measured by $\ell_\infty$. One who pays for the *sum* of all changes is measured by $\ell_1$.
#
# Let $y_k = \pm 1$ be the label of picture $\mathbf{x}_k$. By {eq}`norms-distance`, the plane with the widest gap in
# $\ell_p$ solves
#
# ```{math}
# :label: norms-margin
# \max_{\mathbf{w}, b} \; \min_k \; y_k (\mathbf{w} \cdot \mathbf{x}_k + b) \quad\text{subject to}\quad \|\mathbf{w}\|_q \le 1 ,
# \qquad \tfrac1p + \tfrac1q = 1 .
# ```
#
# For $q = 2$ this is the support vector machine. For $q = 1$ and $q = \infty$ it is a linear program
# {cite}`mangasarian1999arbitrary`, again with $\mathbf{w} = \mathbf{u} - \mathbf{v}$:

# %%
def widest(x, y, q):  # x (n, d), y (n,) of signs -> w (d,), b
    n, d = x.shape
    if q == 2:
        svm = SVC(kernel='linear', C=1e8, tol=1e-8).fit(x, y)
        return svm.coef_[0], svm.intercept_[0]
    z, one = y[:, None] * x, np.ones((n, 1))
    gap = np.block([-z, z, -y[:, None], one])  # of u, v, b and the gap
    total = np.r_[np.ones(2 * d), 0, 0]  # of u and v
    cost = 1e-6 * total - np.eye(2 * d + 2)[-1]  # of equal gaps, small w
    most = np.r_[np.zeros(n), 1 if q == 1 else 2 * d]
    bounds = [(0, 1)] * (2 * d) + [(None, None)] * 2
    best = linprog(cost, np.vstack([gap, total]), most, bounds=bounds).x
    return best[:d] - best[d:2 * d], best[-2]

# %%
x, y, _ = digits()  # greys from 0 to 1
pair = np.isin(y, (4, 9))
x, y = x[pair], np.where(y[pair] == 4, 1.0, -1.0)  # (361, 64), (361,)
attacks = {'l_inf': (np.inf, 0.24), 'l_2': (2, 1.2), 'l_1': (1, 4.0)}

# %% [markdown]
# One half of the pictures trains, the other half is attacked. By {eq}`norms-distance`, a picture withstands every change
# of $\ell_p$ norm $\varepsilon$ exactly if $y (\mathbf{w} \cdot \mathbf{x} + b) > \varepsilon \|\mathbf{w}\|_q$. We count
# such pictures for 41 values of $\varepsilon$ and ten random halves.

# %%
def withstand(q, seed):
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [len(y) // 2])
    w, b = widest(x[train], y[train], q)
    score = y[test] * (x[test] @ w + b)
    kept = []
    for p, most in attacks.values():
        budgets = np.linspace(0, most, 41) * lp_norm(w, dual(p))
        kept.append((score[:, None] > budgets).mean(axis=0))
    return w, np.array(kept)  # (64,), (3, 41)

# %%
runs = [[withstand(q, seed) for seed in range(10)] for q in (1, 2, np.inf)]
weights = np.array([row[0][0] for row in runs])  # (3, 64), first split
kept = np.array([[share for _, share in row] for row in runs])
majority = max((y > 0).mean(), (y < 0).mean())
print('smallest   no attack  l_inf 0.12  l_2 0.60  l_1 2.00')
for name, row in zip(('l_1', 'l_2', 'l_inf'), kept.mean(axis=1)):
    print(f'{name:10} {row[0, 0]:9.3f} {row[0, 20]:11.3f}'
          f' {row[1, 20]:9.3f} {row[2, 20]:9.3f}')
print(f'always 4   {majority:9.3f}')

# %% mystnb={"image": {"alt": "Top: three weight pictures of 8 by 8 pixels; the first uses a handful of pixels, the second grades nearly all, the third has 38 of the 64 at plus or minus the same value. Bottom: share of pictures still classified rightly against the size of the change; in each of the three panels another classifier is on top, and the losers fall below the line of always answering 4."}} tags=["hide-input"]
fig, axes = panels(3, 2, height=2.1)
names = ('ℓ₁', 'ℓ₂', 'ℓ∞')
for ax, w, name in zip(axes[0], weights, names, strict=True):
    top = abs(w).max()
    title = f'least {name}: {(abs(w) > 1e-6 * top).sum()} pixels'
    show_image(ax, w.reshape(8, 8), title, cmap='PuOr', vmin=-top, vmax=top)
for k, (ax, (_, most)) in enumerate(zip(axes[1], attacks.values())):
    for row, label in zip(kept.mean(axis=1), names, strict=True):
        ax.plot(np.linspace(0, most, 41), row[k], label=f'least {label}')
    ax.axhline(majority, color=GREY, lw=1, ls='--')
    ax.set(ylim=(0, 1.03), xlabel=f'change in {("ℓ∞", "ℓ₂", "ℓ₁")[k]}', yticks=[0, 0.5, 1])
axes[1, 0].set_ylabel('share right')
axes[1, 1].legend(fontsize=8, loc='lower left');

# %% [markdown] tags=["caption"]
# Each classifier withstands best the attack whose norm is dual to the norm of its weights (mean of ten splits); least
# $\ell_1$ and least $\ell_\infty$ fail against each other's attack.

# %% [markdown]
# Without an attack the three differ by less than one error in a hundred. Under attack, each wins against the attack for
# which it was built. Under the opposite attack, least $\ell_1$ and least $\ell_\infty$ are right less often than someone
# who always answers 4. The weights show why. Least $\ell_1$ reads few pixels. Whoever may shift all pixels a little gains
# nothing at the others, but whoever pays by the sum can concentrate on a single important pixel. Least $\ell_\infty$
# spreads its weights over the whole picture, with the opposite result. So choosing a norm means to say which changes we
# expect. The same duality holds for deep networks and small changes {cite}`goodfellow2015explaining`.

# %% [markdown]
# ```{exercise} ★★ Pencil: the dual of a group norm
# :label: norms-groups
# To remove whole channels of a network at once, one penalizes $\|\mathbf{X}\| = \sum_g \|\mathbf{x}_g\|_2$, where the rows
# $\mathbf{x}_g$ of $\mathbf{X}$ are the channels. Derive the dual norm, $\max \sum_g \mathbf{a}_g \cdot \mathbf{x}_g$ over
# $\|\mathbf{X}\| \le 1$, and write `group_dual(a)`.
# ```

# %%
def group_dual(a):
    """The dual norm of a (groups, 2), one row for each channel: a float.

    group_dual(np.array([[3., 4.], [0., 1.]])) is 5.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_corners(a):  # one group takes all, in one of 20000 directions
    t = np.linspace(0, 2 * np.pi, 20_001)
    return (a @ np.stack([np.cos(t), np.sin(t)])).max()

cases = dict(a=matrices((1, 4), 2, edges=True))
grade(group_dual, by_corners, **cases)

# %% [markdown]
# ```{solution-start} norms-groups
# :class: dropdown
# ```
# Within a group, $\mathbf{a}_g \cdot \mathbf{x}_g$ is at most $\|\mathbf{a}_g\|_2 \|\mathbf{x}_g\|_2$. Across groups
# these lengths form an $\ell_1$ ball, whose dual is $\ell_\infty$. So $\|\mathbf{A}\|_* = \max_g \|\mathbf{a}_g\|_2$, and
# only the best group moves: $\ell_1$ across groups makes whole groups zero. The wrong answers add up the groups, take the
# columns for the groups, or take the largest entry.

# %% jupyter={"source_hidden": true}
def group_dual_solution(a):
    return np.linalg.norm(a, axis=1).max()

def groups_added(a):
    return np.linalg.norm(a, axis=1).sum()

def groups_by_columns(a):
    return np.linalg.norm(a, axis=0).max()

def largest_entry(a):
    return abs(a).max()

assert grade(group_dual_solution, by_corners, **cases)
assert not grade(groups_added, by_corners, **cases)
assert not grade(groups_by_columns, by_corners, **cases)
assert not grade(largest_entry, by_corners, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def by_linear_program(a, p):  # the largest a . x over the unit ball, for p = 1 and infinity
    if p == np.inf:
        return -linprog(-a, bounds=(-1, 1)).fun
    return -linprog(np.r_[-a, a], np.ones((1, 2 * len(a))), [1]).fun

verify(
    'the best change gains what a linear program finds',
    lambda a, p: close(a @ steepest(a, p), by_linear_program(a, p)) and close(lp_norm(steepest(a, p), p), 1),
    slip=('moves along a itself', lambda a, p: close(a @ a / lp_norm(a, p), by_linear_program(a, p))),
    a=vectors((1, 4), edges=True).filter(np.any), p=[1, np.inf], tries=40,
)
verify(
    'the best change gains the dual norm',
    lambda a, p: close(a @ steepest(a, p), np.linalg.norm(a, dual(p))),
    slip=('takes the norm itself for its dual', lambda a, p: close(a @ steepest(a, p), np.linalg.norm(a, p))),
    a=vectors((1, 4), edges=True).filter(np.any), p=orders,
)
assert close(A @ least_1, b) and close(A @ least_2, b) and (abs(least_1) > 1e-9).sum() == 5
assert lp_norm(least_1, 1) < lp_norm(least_2, 1) and lp_norm(least_2, 2) < lp_norm(least_1, 2)

# %% tags=["checks"]
def gap_of_two(u, v, q, order):  # the gap between two pictures is half their distance
    w, b = widest(np.stack([u, v]), np.array([1.0, -1.0]), q)
    gap = min(w @ u + b, -(w @ v + b)) / np.linalg.norm(w, q)
    return close(gap, np.linalg.norm(u - v, order(q)) / 2, rtol=1e-3)  # the cost of small w is 1e-6 each

verify(
    'the widest gap between two points is half their distance in the dual norm',
    lambda u, v, q: gap_of_two(u, v, q, dual),
    slip=('measures the distance in the norm of the weights', lambda u, v, q: gap_of_two(u, v, q, lambda q: q)),
    u=vectors(3, 1, 5), v=vectors(3, -5, -1), q=[1, 2, np.inf], tries=40,
)

def as_simulated(seed, p, order):  # attack every picture as well as one can, and count
    rng = np.random.default_rng(seed)
    z, w, b = rng.normal(size=(60, 5)), rng.normal(size=5), rng.normal()
    signs = np.sign(z @ w + b)
    moved = (z - 0.3 * signs[:, None] * steepest(w, p)) @ w + b
    return bool(((moved * signs > 0) == (signs * (z @ w + b) > 0.3 * lp_norm(w, order(p)))).all())

verify(
    'the forecast of an attack is what the best attack does',
    lambda seed, p: as_simulated(seed, p, dual),
    slip=('measures the weights in the norm of the attack', lambda seed, p: as_simulated(seed, p, lambda p: p)),
    seed=seeds(), p=orders, tries=40,
)
for k, attack in enumerate((0, 1, 2)):  # in every split, each is ahead under its own attack
    rest = np.delete(kept, k, axis=0)[:, :, attack, 20].max(axis=0)
    assert (kept[k, :, attack, 20] > rest + 0.01).all()
assert np.ptp(kept.mean(axis=1)[:, 0, 0]) < 0.01 and kept.mean(axis=1)[0, 2, 20] < majority > kept.mean(axis=1)[2, 0, 20]

# %% [markdown]
# ## Matrix norms: operator norm, Frobenius norm, nuclear norm
#
# By which factor can a matrix stretch a vector? We try many directions $\mathbf{x}$ in the plane and compare
# $\|\mathbf{A}\mathbf{x}\|_p$ with $\|\mathbf{x}\|_p$. numpy's matrix norms are exactly these largest factors:

# %%
M = np.array([[1.2, 0.8], [-0.4, 1.0]])
t = np.linspace(0, 2 * np.pi, 721)
directions = np.stack([np.cos(t), np.sin(t)], -1)  # (721, 2)
for p in (1, 2, np.inf):
    factors = lp_norm(directions @ M.T, p) / lp_norm(directions, p)
    print(f'p = {p:3}: largest factor {factors.max():.2f},'
          f' numpy {np.linalg.norm(M, p):.2f}')

# %% mystnb={"image": {"alt": "Three panels. The unit diamond, circle and square, dashed, and what a matrix makes of each: a parallelogram, an ellipse, a parallelogram. Around each image the smallest ball that holds it; they touch at a marked point."}} tags=["hide-input"]
fig, axes = panels(3, height=2.3, sharey=True)
for ax, p, name in zip(axes, (1, 2, np.inf), ('1', '2', '∞'), strict=True):
    ball = directions / lp_norm(directions, p)[:, None]
    image = ball @ M.T
    size = np.linalg.norm(M, p)
    ax.plot(*ball.T, '--', color=GREY, lw=1)
    ax.fill(*image.T, color='C0', alpha=0.35)
    ax.plot(*(size * ball).T, color='C1', lw=1)
    far = image[lp_norm(image, p).argmax()]
    ax.plot(*np.stack([[0, 0], far], 1), 'o-', color='C1', markevery=[1])
    ax.set(aspect='equal', xticks=[-2, 0, 2], yticks=[-2, 0, 2])
    ax.set_title(f'‖A‖ = {size:.2f} for p = {name}')

# %% [markdown] tags=["caption"]
# The operator norm is the size of the smallest ball (orange) around the image (blue) of the unit ball (dashed). For one
# and the same matrix it is 1.80, 1.48 or 2.00, depending on the norm.

# %% [markdown]
# This largest factor is the **operator norm** of the matrix:
#
# ```{math}
# :label: norms-operator
# \|\mathbf{A}\| = \max_{\|\mathbf{x}\| \le 1} \|\mathbf{A}\mathbf{x}\|,
# \qquad\text{so that}\qquad \|\mathbf{A}\mathbf{x}\| \le \|\mathbf{A}\| \, \|\mathbf{x}\|
# ```
#
# It obeys the three rules and a fourth, because $\|\mathbf{A}\mathbf{B}\mathbf{x}\| \le \|\mathbf{A}\| \,
# \|\mathbf{B}\mathbf{x}\| \le \|\mathbf{A}\| \, \|\mathbf{B}\| \, \|\mathbf{x}\|$ for all $\mathbf{x}$:
# $\|\mathbf{A}\mathbf{B}\| \le \|\mathbf{A}\| \, \|\mathbf{B}\|$. The layers of a network are multiplied in this way, so
# the product of their norms bounds signals and gradients. For three norms there are formulas:
#
# ```{prf:theorem} Three operator norms
# :label: thm-operator-norms
# $\|\mathbf{A}\|_1$ is the largest column sum of $|a_{ij}|$, $\|\mathbf{A}\|_\infty$ the largest row sum, and
# $\|\mathbf{A}\|_2$ the largest singular value $\sigma_1$, the root of the largest eigenvalue of
# $\mathbf{A}^\top\mathbf{A}$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# *Columns.* $\mathbf{A}\mathbf{x} = \sum_j x_j \mathbf{a}_j$, so
# $\|\mathbf{A}\mathbf{x}\|_1 \le \sum_j |x_j| \|\mathbf{a}_j\|_1 \le \max_j \|\mathbf{a}_j\|_1 \cdot \|\mathbf{x}\|_1$,
# attained at $\mathbf{x} = \mathbf{e}_j$ for the largest column. *Rows.* Entry $i$ of $\mathbf{A}\mathbf{x}$ is the dot
# product of row $i$ with $\mathbf{x}$. Over $\|\mathbf{x}\|_\infty \le 1$ it is at most the $\ell_1$ norm of the row, by
# {prf:ref}`thm-holder`, attained at the signs of the row. *Euclidean norm.*
# $\|\mathbf{A}\mathbf{x}\|_2^2 = \mathbf{x}^\top\mathbf{A}^\top\mathbf{A}\,\mathbf{x}$. The symmetric
# $\mathbf{A}^\top\mathbf{A}$ has an orthonormal basis of eigenvectors $\mathbf{v}_i$ (the spectral theorem, proved in
# Eigenvalue decomposition) with eigenvalues $\|\mathbf{A}\mathbf{v}_i\|_2^2 = \sigma_i^2$, say
# $\sigma_1 \ge \sigma_2 \ge \dots \ge 0$. For $\mathbf{x} = \sum_i c_i \mathbf{v}_i$ we get
# $\|\mathbf{A}\mathbf{x}\|_2^2 = \sum_i \sigma_i^2 c_i^2 \le \sigma_1^2 \|\mathbf{x}\|_2^2$, attained at $\mathbf{v}_1$.
# ```
#
# $\|\mathbf{A}\|_2$ is also called the **spectral norm**. We can find it without a decomposition. Multiply a random
# vector by $\mathbf{A}^\top\mathbf{A}$ again and again. Each step multiplies the part of the vector along $\mathbf{v}_i$,
# the eigenvector with the eigenvalue $\sigma_i^2$, by $\sigma_i^2$. So the part along $\mathbf{v}_1$ outgrows the others
# if $\sigma_1 > \sigma_2$. This is **power iteration**:

# %%
def power_iteration(A, steps):  # the estimate after each step
    rng = np.random.default_rng(0)
    x = rng.normal(size=A.shape[1]).astype(A.dtype)
    estimates = []
    for _ in range(steps):
        x = A.T @ (A @ x)
        x = x / lp_norm(x, 2)
        estimates.append(lp_norm(A @ x, 2))
    return np.array(estimates)

# %%
rng = np.random.default_rng(5)
U, V = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (6, 3))
known = U[:, :3] * [3, 2, 1] @ V.T  # (6, 3), singular values 3, 2, 1
estimates = power_iteration(known, 9)
errors = 3 - estimates
print('the first estimates:', estimates[:4].round(4))
print(f'step 9 divides the error by {errors[7] / errors[8]:.2f}')

# %% [markdown]
# Near the end, each step divides the error by $(\sigma_1/\sigma_2)^4 = (3/2)^4 \approx 5.06$. One step divides the part
# along $\mathbf{v}_2$, relative to the part along $\mathbf{v}_1$, by $(\sigma_1/\sigma_2)^2$, and it enters the norm with
# its square.
#
# Two more norms are often used. The **Frobenius norm** takes the matrix as one long vector. Because the **trace**, the sum
# of the diagonal, equals the sum of the eigenvalues,
#
# $$ \|\mathbf{A}\|_F^2 = \sum_{i,j} a_{ij}^2 = \operatorname{tr} \mathbf{A}^\top\mathbf{A} = \sum_i \sigma_i^2 . $$
#
# The **nuclear norm** is $\|\mathbf{A}\|_{\text{nuc}} = \sum_i \sigma_i$. So spectral, Frobenius and nuclear norm are
# $\ell_\infty$, $\ell_2$ and $\ell_1$ of the singular values. If $r$ of these are not zero, {prf:ref}`thm-lp-equivalence`
# gives
#
# $$\|\mathbf{A}\|_2 \le \|\mathbf{A}\|_F \le \|\mathbf{A}\|_{\text{nuc}} \le \sqrt{r}\,\|\mathbf{A}\|_F \le r\,\|\mathbf{A}\|_2 .$$
#
# We compute these norms of the 1797 handwritten digits, one picture of 64 pixels in each row:

# %%
A = digits().x  # (1797, 64)
sigma = np.linalg.svd(A, compute_uv=False)  # (64,)
print('order    by hand    numpy')
for order, value in (
        (1, abs(A).sum(axis=0).max()), (np.inf, abs(A).sum(axis=1).max()),
        (2, power_iteration(A, 30)[-1]),
        ('fro', np.sqrt((A * A).sum())), ('nuc', sigma.sum())):
    print(f'{order:5} {value:10.1f} {np.linalg.norm(A, order):8.1f}')

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# `np.linalg.norm(A)` of a matrix, without an order, is the Frobenius norm and not the largest factor by which $\mathbf{A}$
# stretches a vector. The $9 \times 9$ identity matrix changes no length, but `np.linalg.norm(np.eye(9))` is 3. The largest
# factor is `np.linalg.norm(A, 2)`.
# :::
#
# ```{exercise} ★★★ Program: a norm that is hard to compute
# :label: norms-hard
# With two different norms it gets hard:
# $\|\mathbf{A}\|_{\infty \to 1} = \max_{\|\mathbf{x}\|_\infty \le 1} \|\mathbf{A}\mathbf{x}\|_1$. Show that the maximum is
# attained at a corner of the cube, and write `inf_to_one(a)`.
# ```

# %%
def inf_to_one(a):
    """The largest |A x|_1 over |x|_inf <= 1, for a (m, n): a float.

    n is at most 12, so exponential time is fine.
    inf_to_one(np.array([[1., 1.], [1., -1.]])) is 2.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_signs_of_rows(a):  # y . A x over all signs y, x at its best for each
    y = np.array(list(product([-1, 1], repeat=len(a))))
    return abs(y @ a).sum(1).max()

def large(seed):
    return np.random.default_rng(seed).integers(-9, 10, (8, 12)) * 1.0

cases = dict(
    a=matrices((1, 4), (1, 4), edges=True) | seeds().map(large),
)
grade(inf_to_one, by_signs_of_rows, **cases)

# %% [markdown]
# ```{solution-start} norms-hard
# :class: dropdown
# ```
# $\mathbf{x} \mapsto \|\mathbf{A}\mathbf{x}\|_1$ is convex, so along each edge of the cube, coordinate by coordinate, it
# is largest at an end. That leaves $2^n$ corners; the problem is NP-hard, so no fast method for large $n$ is to be
# expected. Two wrong answers climb, from one start or from twenty: they let $\mathbf{y}$ be the signs of
# $\mathbf{A}\mathbf{x}$, then $\mathbf{x}$ the signs of $\mathbf{A}^\top\mathbf{y}$, and so on. A climb never goes down,
# since each step is a maximization, but it can stop below the maximum. The third gives each entry of the matrix a sign of
# its own.

# %% jupyter={"source_hidden": true}
def inf_to_one_solution(a):
    x = np.array(list(product([-1, 1], repeat=a.shape[1])))  # (2^n, n)
    return abs(x @ a.T).sum(1).max()

def climb(a, x=None):
    x = np.ones(a.shape[1]) if x is None else x
    for _ in range(20):
        y = np.where(a @ x >= 0, 1, -1)
        x = np.where(a.T @ y >= 0, 1, -1)
    return abs(a @ x).sum()

def best_of_twenty(a):
    starts = np.random.default_rng(0).choice([-1, 1], (20, a.shape[1]))
    return max(climb(a, x) for x in starts)

def sign_for_each_entry(a):
    return abs(a).sum()

assert grade(inf_to_one_solution, by_signs_of_rows, **cases)
assert not grade(climb, by_signs_of_rows, **cases)
assert not grade(sign_for_each_entry, by_signs_of_rows, **cases)
assert not grade(best_of_twenty, by_signs_of_rows, **cases)
trials = np.random.default_rng(8).normal(size=(200, 8, 8))
stuck = [climb(a) < inf_to_one_solution(a) - 1e-9 for a in trials]
print(f'one climb misses the maximum of {np.mean(stuck):.0%} of the matrices')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
verify(
    'largest column sum, largest row sum and largest singular value are the operator norms',
    lambda A: close([abs(A).sum(0).max(), abs(A).sum(1).max(), np.sqrt(np.linalg.eigvalsh(A.T @ A)[-1].clip(0))],
                    [np.linalg.norm(A, p) for p in (1, np.inf, 2)], atol=1e-6),
    slip=('exchanges rows and columns', lambda A: close(abs(A).sum(1).max(), np.linalg.norm(A, 1))),
    A=matrices((1, 4), (1, 4), edges=True),
)

def finds_the_largest(seed, steps):
    A = np.random.default_rng(seed).normal(size=(5, 3)) * [3, 1, 0.5]
    return close(power_iteration(A, steps)[-1], np.linalg.svd(A)[1][0], rtol=1e-4)

verify(
    'power iteration ends at the largest singular value',
    lambda seed: finds_the_largest(seed, 400),
    slip=('stops after one step', lambda seed: finds_the_largest(seed, 1)),
    seed=seeds(), tries=40,
)
ratio = errors[7] / errors[8]
assert abs(ratio / (3 / 2) ** 4 - 1) < 0.02 and abs(ratio / (3 / 2) ** 2 - 1) > 1

def respects_products(seed, norm):
    B, C = np.random.default_rng(seed).normal(1, 1, (2, 4, 4))
    return bool(norm(B @ C) <= norm(B) * norm(C))

verify(
    'the norms 1, 2, infinity and Frobenius respect products',
    lambda seed, p: respects_products(seed, lambda B: np.linalg.norm(B, p)),
    slip=('takes the largest entry for such a norm', lambda seed, p: respects_products(seed, lambda B: abs(B).max())),
    seed=seeds(), p=[1, 2, np.inf, 'fro'],
)

# %% tags=["checks"]
def in_order(s, r):  # spectral, Frobenius and nuclear norm
    two, fro, nuc = s[0], np.sqrt((s * s).sum()), s.sum()
    return bool(np.all(np.diff([two, fro, nuc, r**0.5 * fro, r * two]) >= -1e-9))

verify(
    'the five norms stand in the order that the rank gives',
    lambda A: in_order(np.linalg.svd(A)[1], np.linalg.matrix_rank(A)),
    slip=('takes one less for the rank', lambda A: in_order(np.linalg.svd(A)[1], np.linalg.matrix_rank(A) - 1)),
    A=matrices((2, 4), (2, 4), edges=True).filter(np.any),
)
assert close(power_iteration(A, 30)[-1], np.linalg.norm(A, 2)) and close(sigma.sum(), np.linalg.norm(A, 'nuc'))
assert np.linalg.norm(np.eye(9)) == 3 and np.linalg.norm(np.eye(9), 2) == 1

# %% [markdown]
# ## Basis, linear independence and rank
#
# Does the length of a vector depend on the coordinates in which we write it? The vector $\mathbf{x} = (2.5, 3)$ is the
# sum $1.5\,\mathbf{b}_1 + 1\,\mathbf{b}_2$ of multiples of $\mathbf{b}_1 = (2, 1)$ and $\mathbf{b}_2 = (-0.5, 1.5)$. With
# respect to these two vectors it has the coordinates $\mathbf{c} = (1.5, 1)$:

# %%
B = np.array([[2, -0.5], [1, 1.5]])  # b_1 and b_2 are its columns
x = np.array([2.5, 3])
c = np.linalg.solve(B, x)
print('coordinates:', c, ' B c:', B @ c)
print(f'norm of x: {lp_norm(x, 2):.2f}, norm of c: {lp_norm(c, 2):.2f}')

# %% mystnb={"image": {"alt": "Left: one arrow with its coordinates in the standard basis, 2.5 and 3, and in a skewed basis, 1.5 and 1. Right: the unit square and the parallelogram that a matrix makes of it, spanned by the columns of the matrix."}} tags=["hide-input"]
def arrow(ax, start, end, color):
    style = dict(arrowstyle='-|>', color=color, lw=1.8, shrinkA=0, shrinkB=0)
    ax.annotate('', end, start, arrowprops=style)

fig, (left, right) = panels(2, height=2.9)
for k, (ax, color) in product((0, 1), ((left, 'C1'), (right, 'C0'))):
    arrow(ax, (0, 0), B[:, k], color)
    name = f'{"b" if ax is left else "A e"}{"₁₂"[k]}'
    shift = [(0.1, -0.3), (-0.35 if ax is left else -0.9, 0.1)][k]
    ax.text(*(B[:, k] + shift), name, color=color)
way = np.stack([B[:, 0], c[0] * B[:, 0], B @ c, B[:, 1]], 1)
left.plot(*way, '--', color='C1', lw=1)
left.plot([0, 2.5, 2.5], [0, 0, 3], ':', color=GREY)
arrow(left, (0, 0), B @ c, 'C0')
left.text(1.0, 3.35, 'x = (2.5, 3)\n   = 1.5 b₁ + 1 b₂', color='C0')
left.set(xlim=(-1, 4), title='One vector, two bases')
square = np.array([[0, 1, 1, 0], [0, 0, 1, 1]])
right.fill(*square, color=GREY, alpha=0.35)
right.fill(*B @ square, color='C0', alpha=0.25)
right.set(xlim=(-1.5, 3.5), title='A linear map of the unit square')
for ax in (left, right):
    ax.set(ylim=(-0.6, 4.4), aspect='equal')

# %% [markdown] tags=["caption"]
# Left: one vector has different coordinates in different bases, here $(2.5, 3)$ and $(1.5, 1)$. Right: the columns of a
# matrix are the images of the basis vectors.

# %% [markdown]
# A sum of multiples $c_1\mathbf{b}_1 + \dots + c_k\mathbf{b}_k = \mathbf{B}\mathbf{c}$ is called a **linear combination**
# of the $\mathbf{b}_j$, the columns of $\mathbf{B}$. All linear combinations form their **span**. If only $\mathbf{c} =
# \mathbf{0}$ gives $\mathbf{B}\mathbf{c} = \mathbf{0}$, the $\mathbf{b}_j$ are **linearly independent**. A **basis** is
# linearly independent and spans the whole space. Then each $\mathbf{x}$ has exactly one list $\mathbf{c}$ of coordinates,
# because $\mathbf{B}\mathbf{c} = \mathbf{B}\mathbf{c}'$ means $\mathbf{B}(\mathbf{c} - \mathbf{c}') = \mathbf{0}$.
#
# The Euclidean length of $\mathbf{x}$ can be computed from its coordinates, but we need the **Gram matrix** $\mathbf{G}$
# of all dot products of basis vectors. The **transpose** $\mathbf{B}^\top$ exchanges rows and columns, and
#
# $$\|\mathbf{x}\|_2^2 = \mathbf{x}^\top\mathbf{x} = (\mathbf{B}\mathbf{c})^\top \mathbf{B}\mathbf{c}
# = \mathbf{c}^\top\mathbf{G}\,\mathbf{c}, \qquad \mathbf{G} = \mathbf{B}^\top\mathbf{B} .$$

# %%
G = B.T @ B
print(G)
print(f'length from the coordinates: {np.sqrt(c @ G @ c):.2f}')

# %% [markdown]
# $\mathbf{G}$ is **symmetric**, that is, it equals its transpose. It is the identity only for a basis of perpendicular
# vectors of length one.
#
# All this needs only sums and multiples:
#
# ```{prf:definition} Vector space
# :label: def-vector-space
# A set with a sum $\mathbf{x} + \mathbf{y}$ and multiples $\alpha \mathbf{x}$, $\alpha \in \mathbb{R}$, is a (real)
# *vector space* if for all its elements and all numbers $\mathbf{x} + \mathbf{y} = \mathbf{y} + \mathbf{x}$ and
# $(\mathbf{x} + \mathbf{y}) + \mathbf{z} = \mathbf{x} + (\mathbf{y} + \mathbf{z})$; there is a $\mathbf{0}$ with
# $\mathbf{x} + \mathbf{0} = \mathbf{x}$, and to each $\mathbf{x}$ a $-\mathbf{x}$ with
# $\mathbf{x} + (-\mathbf{x}) = \mathbf{0}$; and
# $\alpha(\mathbf{x} + \mathbf{y}) = \alpha\mathbf{x} + \alpha\mathbf{y}$,
# $(\alpha + \beta)\mathbf{x} = \alpha\mathbf{x} + \beta\mathbf{x}$,
# $\alpha(\beta\mathbf{x}) = (\alpha\beta)\mathbf{x}$, $1\,\mathbf{x} = \mathbf{x}$.
# ```
#
# Pictures, polynomials and the weights of a network are vectors in this sense. A map $f$ between vector spaces is a **linear
# map** if it respects sums and multiples. Then $f(\mathbf{x}) = f(\sum_j x_j \mathbf{e}_j) = \sum_j x_j f(\mathbf{e}_j) =
# \mathbf{A}\mathbf{x}$, where column $j$ of $\mathbf{A}$ is $f(\mathbf{e}_j)$.
#
# ```{prf:theorem} Dimension
# :label: thm-dimension
# No independent family is larger than a spanning one. Hence all bases have equally many elements; their number
# is the *dimension*.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Let $\mathbf{b}_1, \dots, \mathbf{b}_n$ span, and let $\mathbf{v}_j = \sum_i a_{ij} \mathbf{b}_i$ for
# $j = 1, \dots, m$ with $m > n$. The system $\mathbf{A}\mathbf{d} = \mathbf{0}$ has fewer equations than unknowns. Each
# equation settles at most one unknown, so one stays free and some $\mathbf{d} \ne \mathbf{0}$ solves it. Then
# $\sum_j d_j \mathbf{v}_j = \sum_i (\mathbf{A}\mathbf{d})_i \mathbf{b}_i = \mathbf{0}$: the $\mathbf{v}_j$ are
# dependent. Of two bases, each is independent and the other spans, so neither is the larger.
# ```
#
# The **rank** of a matrix is the dimension of the span of its columns. We find it by **elimination**: subtracting a
# multiple of one row from another does not change which combinations of columns are zero. At the end the rows form a
# staircase, and the columns in which it has a step are independent and span all others. So the number of steps is the
# rank. It is also the dimension of the span of the rows.

# %%
def rank(A, tol=1e-9):
    A, r = A.astype(float), 0
    for j in range(A.shape[1]):
        if r == len(A):
            break
        i = r + abs(A[r:, j]).argmax()  # the largest pivot
        if abs(A[i, j]) > tol:
            A[[r, i]] = A[[i, r]]
            A[r + 1:] -= np.outer(A[r + 1:, j] / A[r, j], A[r])
            r += 1
    return r

# %%
A = digits().x  # (1797, 64)
print('rank of the digits:', rank(A), 'by numpy:', np.linalg.matrix_rank(A))
print('pixels that are always dark:', (A.max(axis=0) == 0).sum())

# %% [markdown]
# The digits span 61 dimensions, not 64, because three pixels are dark in all pictures.
#
# ```{exercise} ★ Pencil: the law of cosines
# :label: norms-gram
#
# Let $\mathbf{b}_1$ and $\mathbf{b}_2$ have length 1 and the angle $\theta$ between them, so that their dot product is
# $\cos\theta$. Write down the Gram matrix, and derive the squared length of $c_1\mathbf{b}_1 + c_2\mathbf{b}_2$:
# `squared_length(c1, c2, theta)`.
# ```

# %%
def squared_length(c1, c2, theta):
    """The squared length of c1 b_1 + c2 b_2: a float.

    c1 and c2 are floats of any sign, theta a float between 0 and pi.
    squared_length(3.0, 4.0, np.pi / 2) is 25.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_complex_numbers(c1, c2, theta):
    return abs(c1 + c2 * complex(math.cos(theta), math.sin(theta))) ** 2

cases = dict(
    c1=on(0.0, 1.0, -1.0) | scalars(), c2=on(0.0, 1.0, -1.0) | scalars(),
    theta=on(np.pi / 2, 0.0, np.pi) | scalars(0, 3.14),
)
grade(squared_length, by_complex_numbers, **cases)

# %% [markdown]
# ```{solution-start} norms-gram
# :class: dropdown
# ```
# The Gram matrix has ones on its diagonal and $\cos\theta$ beside it, so $\mathbf{c}^\top\mathbf{G}\mathbf{c} = c_1^2 +
# c_2^2 + 2 c_1 c_2 \cos\theta$. The law of cosines for a triangle has a minus, because there the third side is
# $c_1\mathbf{b}_1 - c_2\mathbf{b}_2$. The wrong answers take this minus, count the product once, or leave it out as if
# the basis were perpendicular.

# %% jupyter={"source_hidden": true}
def squared_length_solution(c1, c2, theta):
    return c1**2 + c2**2 + 2 * c1 * c2 * np.cos(theta)

def of_the_difference(c1, c2, theta):
    return c1**2 + c2**2 - 2 * c1 * c2 * np.cos(theta)

def product_once(c1, c2, theta):
    return c1**2 + c2**2 + c1 * c2 * np.cos(theta)

def as_if_perpendicular(c1, c2, theta):
    return c1**2 + c2**2

assert grade(squared_length_solution, by_complex_numbers, **cases)
assert not grade(of_the_difference, by_complex_numbers, **cases)
assert not grade(product_once, by_complex_numbers, **cases)
assert not grade(as_if_perpendicular, by_complex_numbers, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def of_rank(seed):  # 5 rows, 6 columns, at most 1 to 5 of them independent
    rng = np.random.default_rng(seed)
    k = rng.integers(1, 6)
    return rng.integers(-3, 4, (5, k)) @ rng.integers(-3, 4, (k, 6))

def exact_rank(seed):
    return sp.Matrix(of_rank(seed)).rank()

verify(
    'elimination finds the rank that exact fractions give',
    lambda seed: rank(of_rank(seed)) == exact_rank(seed),
    slip=('counts the rows that are not zero', lambda seed: of_rank(seed).any(axis=1).sum() == exact_rank(seed)),
    seed=seeds(), tries=30,
)
verify(
    'rows and columns have the same rank',
    lambda A: rank(A) == rank(A.T) == np.linalg.matrix_rank(A),
    slip=('counts the columns', lambda A: rank(A) == A.shape[1]),
    A=matrices((1, 3), (1, 3), -3, 3, edges=True).map(np.round), tries=60,
)
verify(
    'the Gram matrix gives the length from the coordinates',
    lambda B, c: close(np.sqrt(max(c @ (B.T @ B) @ c, 0)), np.linalg.norm(B @ c), atol=1e-6),
    slip=('adds the squares of the coordinates', lambda B, c: close(np.sqrt(c @ c), np.linalg.norm(B @ c))),
    B=square_matrices(3), c=vectors(3),
)
assert close(c, [1.5, 1]) and close(np.sqrt(c @ G @ c), np.hypot(2.5, 3)) and rank(A) == 61
assert (A.max(axis=0) == 0).sum() == 3

# %% [markdown]
# ## Summary
#
# A norm is homogeneous and definite and obeys the triangle inequality; on $\mathbb{R}^n$ all norms agree up to constants,
# which grow with $n$. Each norm has a dual norm, which gives distances to planes and explains why $\ell_1$ produces
# zeros; in an application, choose the norm by asking which changes are cheap. A matrix inherits its norms from vectors,
# and the spectral norm is found by power iteration.
#
# **Further reading.** {cite}`horn2013matrix` is the reference on norms of matrices, {cite}`golub2013matrix` on computing
# them, {cite}`higham2002accuracy` on what rounding does to them. {cite}`boyd2004convex` builds on dual norms, and
# {cite}`axler2015linear` develops vector spaces and linear maps from the beginning.
