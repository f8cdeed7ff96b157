# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Norms
#
# - **Question.** How long is a vector, how large is a matrix, and why does the answer depend on who asks?
# - **You need** sums, roots, systems of linear equations and the arrays of [Tensors and shapes](tensors.ipynb).
# - **You build** rank by elimination, every $\ell_p$ norm safe from overflow, dual norms, and the norms of a matrix.
# - **Time** 5 s.

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
from dataclasses import dataclass
from functools import reduce
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.optimize import linprog
from sklearn.svm import SVC

from nbutils.cases import integers, lists, matrices, on, once, scalars, seeds, square_matrices, vectors
from nbutils.checks import below, close, erratum, grade, holds
from nbutils.data import digits
from nbutils.figures import GREY, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## Before length: vectors, bases, maps
#
# A list of numbers becomes a *vector* once it can be added to another one and multiplied by a number. Nothing is said about
# length.
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
# Arrows, photographs, polynomials and the weights of a network are vectors in this sense. Inside a computer the rules hold
# only nearly. The neighbours of $10^{16}$ lie 2 apart, so a 1 is lost beside it, and it matters which sum comes first:

# %%
x, y, z = 1.0, 1e16, -1e16
print('(x + y) + z equals x + (y + z):', (x + y) + z == x + (y + z))

# %% [markdown]
# Sums and multiples give *linear combinations* $c_1\mathbf{b}_1 + \dots + c_k\mathbf{b}_k = \mathbf{B}\mathbf{c}$, where the
# $\mathbf{b}_j$ are the columns of $\mathbf{B}$. All of them form the *span* of the $\mathbf{b}_j$. If only
# $\mathbf{c} = \mathbf{0}$ gives $\mathbf{B}\mathbf{c} = \mathbf{0}$, the $\mathbf{b}_j$ are *linearly independent*. A
# *basis* is independent and spans everything, so that each $\mathbf{x}$ has exactly one list $\mathbf{c}$ of *coordinates*:
# $\mathbf{B}\mathbf{c} = \mathbf{B}\mathbf{c}'$ means $\mathbf{B}(\mathbf{c} - \mathbf{c}') = \mathbf{0}$.
#
# ```{prf:theorem} Dimension
# :label: thm-dimension
# No independent family is larger than a spanning one. Hence all bases have equally many elements; their number
# is the *dimension*.
# ```
#
# ```{prf:proof}
# Let $\mathbf{b}_1, \dots, \mathbf{b}_n$ span, and let $\mathbf{v}_j = \sum_i a_{ij} \mathbf{b}_i$ for
# $j = 1, \dots, m$ with $m > n$. The system $\mathbf{A}\mathbf{d} = \mathbf{0}$ has fewer equations than unknowns. Each
# equation settles at most one unknown, so one stays free and some $\mathbf{d} \ne \mathbf{0}$ solves it. Then
# $\sum_j d_j \mathbf{v}_j = \sum_i (\mathbf{A}\mathbf{d})_i \mathbf{b}_i = \mathbf{0}$: the $\mathbf{v}_j$ are
# dependent. Of two bases, each is independent and the other spans, so neither is the larger.
# ```
#
# Settling one unknown per equation is an algorithm, *elimination*. Swapping rows and subtracting a multiple of one row from
# another change neither the span of the rows nor the solutions of $\mathbf{A}\mathbf{d} = \mathbf{0}$, the dependencies
# among the columns. At the end the rows form a staircase. Its nonzero rows are independent; its columns with a pivot are
# independent too and span all others, so the number of pivots, the *rank*, is the dimension spanned by the rows and by the
# columns alike. We take the largest entry of a column as pivot, so that no rounding error is multiplied by a factor above
# one.

# %%
def rank(a, tol=1e-9):  # a (m, n)
    a, r = a.astype(float), 0
    for j in range(a.shape[1]):
        if r < len(a):
            i = r + abs(a[r:, j]).argmax()
            if abs(a[i, j]) > tol:
                a[[r, i]] = a[[i, r]]
                a[r + 1:] -= np.outer(a[r + 1:, j] / a[r, j], a[r])
                r += 1
    return r

# %%
rng = np.random.default_rng(0)
ranks = []
for k in (1, 2, 3, 4, 5) * 4:
    a = rng.integers(-3, 4, (5, k)) @ rng.integers(-3, 4, (k, 6))  # (5, 6)
    assert rank(a) == np.linalg.matrix_rank(a) == sp.Matrix(a).rank()
    ranks.append(sp.Matrix(a).rank())
print('ranks by elimination, as by numpy and by exact fractions:', *ranks)

# %% [markdown]
# A map $f$ that respects sums and multiples is *linear*. It is known as soon as it is known on a basis:
# $f(\mathbf{x}) = f(\sum_j x_j \mathbf{e}_j) = \sum_j x_j f(\mathbf{e}_j) = \mathbf{A}\mathbf{x}$, where column $j$ of
# $\mathbf{A}$ is $\mathbf{a}_j = f(\mathbf{e}_j)$. First $\mathbf{B}$, then $\mathbf{A}$ is linear too, with the columns
# $\mathbf{A}(\mathbf{B}\mathbf{e}_j) = \sum_k b_{kj} \mathbf{a}_k$. That is why matrices are multiplied the way they are:
#
# ```{math}
# :label: norms-product
# (\mathbf{A}\mathbf{B})_{ij} = \sum_k a_{ik} b_{kj}
# ```
#
# The *transpose* moves a matrix to the other side of a dot product $\mathbf{x} \cdot \mathbf{y} = \sum_i x_i y_i$:
# $(\mathbf{A}\mathbf{x}) \cdot \mathbf{y} = \sum_{i,j} a_{ij} x_j y_i = \mathbf{x} \cdot (\mathbf{A}^\top\mathbf{y})$.
# Moving $\mathbf{A}$ and then $\mathbf{B}$ gives
# $(\mathbf{A}\mathbf{B})^\top = \mathbf{B}^\top\mathbf{A}^\top$, so
# $\mathbf{A}^\top\mathbf{A}$ is its own transpose, *symmetric*.

# %%
def matmul(a, b):  # a (m, r), b (r, n) -> (m, n)
    c = np.zeros((a.shape[0], b.shape[1]))
    for i, k, j in np.ndindex(*a.shape, b.shape[1]):
        c[i, j] += a[i, k] * b[k, j]
    return c

rng = np.random.default_rng(1)
a, b = rng.normal(size=(4, 5)), rng.normal(size=(5, 3))
for name, ab in (('@', a @ b), ('einsum', np.einsum('ik,kj->ij', a, b)),
                 ('(B^T A^T)^T', (b.T @ a.T).T)):
    assert close(matmul(a, b), ab)
    print(f'loops against {name}: gap', below(matmul(a, b) - ab))

# %% mystnb={"image": {"alt": "Left: one arrow with its coordinates in the standard basis, 2.5 and 3, and in a skewed basis, 1.5 and 1. Right: the unit square and the parallelogram that a matrix makes of it, spanned by the columns of the matrix."}} tags=["hide-input"]
basis, c = np.array([[2, -0.5], [1, 1.5]]), np.array([1.5, 1])

def arrow(ax, start, end, color):
    style = dict(arrowstyle='-|>', color=color, lw=1.8, shrinkA=0, shrinkB=0)
    ax.annotate('', end, start, arrowprops=style)

fig, (left, right) = panels(2, height=2.9)
for k, (ax, color) in product((0, 1), ((left, 'C1'), (right, 'C0'))):
    arrow(ax, (0, 0), basis[:, k], color)
    name = f'{"b" if ax is left else "A e"}{"₁₂"[k]}'
    shift = [(0.1, -0.3), (-0.35 if ax is left else -0.9, 0.1)][k]
    ax.text(*(basis[:, k] + shift), name, color=color)
way = np.stack([basis[:, 0], c[0] * basis[:, 0], basis @ c, basis[:, 1]], 1)
left.plot(*way, '--', color='C1', lw=1)
left.plot([0, 2.5, 2.5], [0, 0, 3], ':', color=GREY)
arrow(left, (0, 0), basis @ c, 'C0')
left.text(1.0, 3.35, 'x = (2.5, 3)\n   = 1.5 b₁ + 1 b₂', color='C0')
left.set(xlim=(-1, 4), title='One vector, two bases')
square = np.array([[0, 1, 1, 0], [0, 0, 1, 1]])
right.fill(*square, color=GREY, alpha=0.35)
right.fill(*basis @ square, color='C0', alpha=0.25)
right.set(xlim=(-1.5, 3.5), title='A linear map of the unit square')
for ax in (left, right):
    ax.set(ylim=(-0.6, 4.4), aspect='equal')

# %% [markdown] tags=["caption"]
# A vector has one length, but its coordinates depend on the basis: here $(2.5, 3)$ and $(1.5, 1)$.

# %% [markdown]
# In the left picture the arrow is the same in both bases, its coordinates are not, and
# $\sqrt{2.5^2 + 3^2} \ne \sqrt{1.5^2 + 1^2}$. If length is what it was at school, and $\mathbf{x} = \mathbf{B}\mathbf{c}$,
# then
#
# $$\mathbf{x} \cdot \mathbf{x} = (\mathbf{B}\mathbf{c}) \cdot (\mathbf{B}\mathbf{c})
# = \mathbf{c} \cdot (\mathbf{B}^\top\mathbf{B}\,\mathbf{c}) = \mathbf{c}^\top\mathbf{G}\,\mathbf{c},
# \qquad \mathbf{G} = \mathbf{B}^\top\mathbf{B},$$
#
# and the *Gram matrix* $\mathbf{G}$ is the identity only for an orthonormal basis. A vector space by itself does not know
# how long its vectors are. Length has to be agreed upon.
#
# ```{exercise} ★ Length in a skewed basis
# :label: norms-gram
# Write `length(c, gram)`: the school length of the vector with coordinates `c` in a basis whose Gram matrix is `gram`.
# ```

# %%
def length(c, gram):
    """The length of the vector with coordinates c (n,): a float.

    The basis has the symmetric Gram matrix gram (n, n).
    length(np.array([1., 2.]), np.diag([9., 4.])) is 5.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_triangular_basis(c, gram):  # one basis with this Gram matrix
    return np.linalg.norm(np.linalg.cholesky(gram).T @ c)

def gram_of(B):  # of the basis in the columns of B above the identity
    return B.T @ B + np.eye(len(B))

cases = dict(
    c=lambda gram: vectors(len(gram), edges=True),
    gram=square_matrices((1, 4), -3, 3, edges=True).map(gram_of),
)
grade(length, by_triangular_basis, **cases)

# %% [markdown]
# ```{solution-start} norms-gram
# :class: dropdown
# ```
# The squared length is $\mathbf{c}^\top\mathbf{G}\mathbf{c}$; what is left is the root. Of the wrong answers that the
# grader rejects, one adds the squares of the coordinates, as if every basis were orthonormal, one knows the lengths of the
# basis vectors but not their angles, and one forgets the root.

# %% jupyter={"source_hidden": true}
def length_solution(c, gram):
    return np.sqrt(c @ gram @ c)

def as_if_orthonormal(c, gram):
    return np.sqrt(c @ c)

def without_angles(c, gram):
    return np.sqrt(c**2 @ np.diag(gram))

def without_root(c, gram):
    return c @ gram @ c

assert grade(length_solution, by_triangular_basis, **cases)
assert not grade(as_if_orthonormal, by_triangular_basis, **cases)
assert not grade(without_angles, by_triangular_basis, **cases)
assert not grade(without_root, by_triangular_basis, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Three rules make a norm
#
# Stretch a vector, and its length stretches with it. A detour is never shorter than the straight way. Only the zero vector
# has no length. Whatever obeys these three rules may be called a length.
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
# A norm is never negative, for $0 = \|\mathbf{x} - \mathbf{x}\| \le \|\mathbf{x}\| + \|{-\mathbf{x}}\| = 2\|\mathbf{x}\|$.
# The best known one is the hypotenuse, taken $n - 1$ times: what $\mathbf{x}$ has along the first $k$ axes is perpendicular
# to the next axis, so each coordinate adds its square. The second is the way of a taxi through streets that run north and
# east:
#
# ```{math}
# :label: dl.norms.l2
# \|\mathbf{x}\|_2 = \sqrt{\sum_{i=1}^n x_i^2}
# ```
#
# ```{math}
# :label: dl.norms.l1
# \|\mathbf{x}\|_1 = \sum_{i=1}^n |x_i|
# ```
#
# Every norm gives a distance $d(\mathbf{x}, \mathbf{y}) = \|\mathbf{x} - \mathbf{y}\|$. The one of $\ell_1$ is called the
# *Manhattan distance*,
#
# ```{math}
# :label: dl.norms.manhattan
# d(\mathbf{x}, \mathbf{y}) = \|\mathbf{x} - \mathbf{y}\|_1 = \sum_{i=1}^n |x_i - y_i|,
# ```
#
# because it counts the blocks between two crossings of a street map whose streets run north and east.
#
# Both belong to one family, which is what machine learning mostly means by "the norms":
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

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# It is easy to write $x_i^p$ in place of $|x_i|^p$, because for $p = 2$, as for every even $p$, the two agree. For odd $p$ the
# sum can be negative: $(3, -4)$ would have the $\ell_1$ norm $-1$.
# :::
#
# The family obeys the first rule and the third, as you can read off. The triangle rule is the one with content, and the picture to have in mind is the *unit ball*,
# all vectors of norm at most one.
#
# ```{prf:theorem} Minkowski
# :label: thm-minkowski
# For $p \ge 1$ and $p = \infty$, $\|\cdot\|_p$ is a norm.
# ```
#
# ```{prf:proof}
# Let $p < \infty$. The function $t \mapsto |t|^p$ is convex: between two points it stays below its chord. Let
# $\|\mathbf{u}\|_p = \|\mathbf{v}\|_p = 1$ and $0 \le \lambda \le 1$. Then
# $\sum_i |\lambda u_i + (1 - \lambda) v_i|^p \le \lambda \sum_i |u_i|^p + (1 - \lambda) \sum_i |v_i|^p = 1$, so the segment
# from $\mathbf{u}$ to $\mathbf{v}$ lies in the unit ball. For $\mathbf{x}, \mathbf{y} \ne \mathbf{0}$ of norms $a$ and $b$
# take $\mathbf{u} = \mathbf{x}/a$, $\mathbf{v} = \mathbf{y}/b$ and $\lambda = a/(a + b)$. The point of the segment is
# $(\mathbf{x} + \mathbf{y})/(a + b)$; its norm is at most 1, so $\|\mathbf{x} + \mathbf{y}\|_p \le a + b$. For $p = \infty$,
# $|x_i + y_i| \le |x_i| + |y_i| \le \|\mathbf{x}\|_\infty + \|\mathbf{y}\|_\infty$ for every $i$.
# ```
#
# Powers entered only through the convexity of the ball. So the proof shows more: given {eq}`dl.norms.homog` and
# {eq}`dl.norms.definite`, the triangle rule says exactly that the unit ball is convex. (Conversely,
# $\|\lambda\mathbf{u} + (1 - \lambda)\mathbf{v}\| \le \lambda + (1 - \lambda)$.) Below $p = 1$ the ball caves in and the
# rule fails: for $p = \tfrac12$ the detour over $\mathbf{e}_1$ to $\mathbf{e}_1 + \mathbf{e}_2$ has length $1 + 1$, the
# straight way $(1 + 1)^2 = 4$.
#
# The two sides of {eq}`dl.norms.triangle` are seldom equal: for $\mathbf{y} = -\mathbf{x}$ the left side is 0 and the right
# side $2\|\mathbf{x}\|$.

# %%
def detour(x, y, p):  # how much longer the way over x is
    return lp_norm(x, p) + lp_norm(y, p) - lp_norm(x + y, p)

# %% [markdown]
# (dl.norms.norm-size)=
# A norm measures the magnitude of the components, not their number: zeros at the end do not change $\|\mathbf{x}\|_p$, and
# doubling all components doubles it. The root mean square is different, because zeros at the end make it smaller.
#
# We can now unmask impostors. Small integers as entries make zeros, axes and opposite vectors frequent, where rules break:

# %%
def broken_rules(f, n=3, pairs=10_000):
    rng = np.random.default_rng(0)
    x, y = rng.integers(-2, 3, (2, pairs, n)).astype(float)
    a = rng.normal(size=pairs)
    obeyed = {
        'homogeneity': np.allclose(f(a[:, None] * x), abs(a) * f(x)),
        'triangle': (f(x + y) <= f(x) + f(y) + 1e-9).all(),
        'definiteness': ((f(x) > 0) == x.any(-1)).all(),
    }
    return ', '.join(rule for rule, kept in obeyed.items() if not kept)

orders = (1, 1.5, 3, np.inf, 0.5)
candidates = {f'p = {p:g}': lambda x, p=p: lp_norm(x, p) for p in orders}
candidates |= {
    'number of nonzeros': lambda x: np.count_nonzero(x, -1),
    'largest minus smallest': lambda x: np.ptp(x, -1),
    'as printed, p = 3': lambda x: np.cbrt((x ** 3).sum(-1)),
}
for name, f in candidates.items():
    print(f'{name:22} breaks {broken_rules(f) or "nothing"}')

# %% [markdown]
# Three impostors break one rule each, so no rule follows from the other two. The "$\ell_0$ norm" of the literature, the
# number of nonzero entries, is one of them.

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
# Left: for $p \ge 1$ the unit ball is convex, below it caves in. Right: a turn of up to 90 degrees from an axis costs
# nothing in $\ell_1$, while in $\ell_2$ every turn lengthens the way.

# %% [markdown]
# On the right, $\mathbf{x}$ and $\mathbf{y}$ have Euclidean length one. For $p = 2$ only parallel arrows make no detour. For
# $p = 1$ none is made up to 90 degrees, as every taxi driver knows: all ways north and east are equally long.
#
# ```{exercise} ★★ A norm from its ball
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

holds(
    'dl.norms.norm-size',
    lambda x, p: sees_size_only(lp_norm, x, p),
    slip=(
        'divides by the number of entries',
        lambda x, p: sees_size_only(power_mean, x, p),
    ),
    x=vectors(3),
    p=[1, 1.5, 2, 3],
)

# %% [markdown]
# ## Lengths that survive the computer
#
# A double ends near $1.8 \cdot 10^{308}$, and squares get there first. At the other end squares vanish, and a vector that is
# not zero gets the length zero, against {eq}`dl.norms.definite`.

# %%
def naive_norm(x):
    return np.sqrt((x * x).sum())

with np.errstate(over='ignore', under='ignore'):
    for unit in (1e200, 1, 1e-200):
        x = np.array([3, 4]) * unit
        print(f'length of (3, 4) * {unit:g}: {naive_norm(x):g}', end='; ')
        print('numpy.linalg.norm agrees:', naive_norm(x) == np.linalg.norm(x))

# %% [markdown]
# The cure is {eq}`dl.norms.homog`: take the largest entry $m = \max_i |x_i| > 0$ out of the norm.
#
# ```{math}
# :label: norms-scaled
# \|\mathbf{x}\|_p = m \, \Big( \sum_{i=1}^n \big( |x_i| / m \big)^p \Big)^{1/p}
# ```
#
# Now every term lies in $[0, 1]$ and one of them is 1. The sum cannot overflow, and a term that vanishes could not be seen
# beside that one. Since the sum lies between 1 and $n$, the same line proves
#
# ```{math}
# :label: norms-limit
# \|\mathbf{x}\|_\infty \le \|\mathbf{x}\|_p \le n^{1/p} \, \|\mathbf{x}\|_\infty ,
# ```
#
# and since $n^{1/p} \to 1$, the largest entry is the limit of the family for $p \to \infty$, as its name claims. The oracle
# for $p = 2$ is the standard library's `hypot`; for $p = 3$ it is $6^3 + 8^3 + 10^3 = 12^3$.

# %%
def safe_norm(x, p):
    m = abs(x).max()
    if m == 0 or p == np.inf:
        return m
    return m * ((abs(x) / m) ** p).sum() ** (1 / p)

rng = np.random.default_rng(2)
for exponent in range(-300, 301, 5):
    x = rng.normal(size=10) * 10.0 ** exponent
    assert abs(safe_norm(x, 2) / math.hypot(*x) - 1) < 1e-14
assert close(safe_norm(np.array([6e150, -8e150, -1e151, 0]), 3), 12e150)
for p in (1, 2, 10, 100, 1000, np.inf):
    print(f'p = {p:4g}: {safe_norm(np.array([3., -4., 1.]), p):.3f}')

# %% [markdown]
# Are such numbers far-fetched? In half precision, in which networks are trained, numbers end at 65504. A gradient with the
# harmless entries 300 and 400 then has an infinite naive norm. *Clipping* it to length one divides by infinity, and training
# stands still:

# %%
gradient = np.array([300, 400], dtype=np.float16)
with np.errstate(over='ignore'):
    for norm in (naive_norm(gradient), safe_norm(gradient, 2)):
        print(f'norm {norm:g}, clipped', (gradient / norm).round(1))

# %% [markdown]
# ```{exercise} ★★ One pass, two numbers
# :label: norms-stream
# A vector arrives in blocks and is too long to be kept. Write `stream_norm(blocks)`: the $\ell_2$ norm of all blocks
# together, safe from overflow, reading each block once. Hint: carry $(m, s)$ with $\|\mathbf{x}\|_2 = m\sqrt{s}$, and change
# both when a larger entry comes.
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

# %% [markdown]
# ## How much the choice can matter
#
# How far can two norms of the same vector lie apart? (In the code, numpy's `norm` now stands for ours.)
#
# ```{prf:theorem} Equivalence of the $\ell_p$ norms
# :label: thm-lp-equivalence
# For $1 \le p \le q \le \infty$ and $\mathbf{x} \in \mathbb{R}^n$ (with $1/\infty = 0$)
#
# $$\|\mathbf{x}\|_q \le \|\mathbf{x}\|_p \le n^{1/p - 1/q}\, \|\mathbf{x}\|_q ,$$
#
# and both constants are best possible: $\mathbf{e}_1$ attains the left one, $(1, \dots, 1)$ the right one.
# ```
#
# ```{prf:proof}
# For $q = \infty$ this is {eq}`norms-limit`. Let $q$ be finite. *Left:* by homogeneity let $\|\mathbf{x}\|_p = 1$. Then
# every $|x_i| \le 1$, so $|x_i|^q \le |x_i|^p$, and the sum gives $\|\mathbf{x}\|_q \le 1$. *Right:* $s \mapsto s^{q/p}$ is
# convex, so the power of a mean is at most the mean of the powers (Jensen's inequality):
# $\big(\tfrac1n \sum_i |x_i|^p\big)^{q/p} \le \tfrac1n \sum_i |x_i|^q$. The $q$-th root is
# $n^{-1/p} \|\mathbf{x}\|_p \le n^{-1/q} \|\mathbf{x}\|_q$.
# ```
#
# For example $\|\mathbf{x}\|_\infty \le \|\mathbf{x}\|_2 \le \|\mathbf{x}\|_1 \le \sqrt{n}\,\|\mathbf{x}\|_2 \le
# n\,\|\mathbf{x}\|_\infty$.

# %%
n, orders = 50, (1, 1.5, 2, 3, np.inf)
rng = np.random.default_rng(3)
x = rng.normal(size=(1000, n)) ** 3  # (1000, n)
norms = {p: np.linalg.norm(x, p, axis=1) for p in orders}
ones = {p: np.linalg.norm(np.ones(n), p) for p in orders}
shares = []  # of the upper bound
for p, q in ((p, q) for p in orders for q in orders if p < q):
    most = n ** (1 / p - 1 / q)
    assert (norms[q] <= norms[p]).all() and (norms[p] <= most * norms[q]).all()
    assert close(ones[p], most * ones[q])
    shares.append([(norms[p] / norms[q]).max() / most,
                   ones[p] / ones[q] / most])
drawn, even = np.max(shares, axis=0)
print(f'of the upper bound: 1000 vectors {drawn:.2f}, (1, ..., 1) {even:.2f}')
x = rng.normal(size=1_000_000)
ratio = np.linalg.norm(x, 1) / np.linalg.norm(x) / np.sqrt(x.size)
print(f'l_1 / l_2 of a million normal numbers: {ratio:.2f} sqrt(n)')

# %% [markdown]
# More is true: on $\mathbb{R}^n$ *any* norm $N$ is equivalent to $\ell_1$. First,
# $N(\mathbf{x}) \le \sum_i |x_i| N(\mathbf{e}_i) \le C \|\mathbf{x}\|_1$ with $C = \max_i N(\mathbf{e}_i)$. Hence
# $|N(\mathbf{x}) - N(\mathbf{y})| \le N(\mathbf{x} - \mathbf{y}) \le C \|\mathbf{x} - \mathbf{y}\|_1$: $N$ is continuous. On
# the closed and bounded set $\|\mathbf{x}\|_1 = 1$ it therefore has a least value $c$, positive by {eq}`dl.norms.definite`,
# and $c\|\mathbf{x}\|_1 \le N(\mathbf{x})$. So what converges in one norm converges in all. That is no comfort about sizes:
# the constants grow with $n$, and the million random numbers reach four fifths of the worst case. (The factor tends to
# $\sqrt{2/\pi}$, the mean of $|x_i|$.)
#
# **Dual norms.** Of all moves $\mathbf{x}$ of length one, how far does the best go along $\mathbf{a}$? The answer is a norm
# again, the *dual* one. (The best move for $\mathbf{a} + \mathbf{b}$ does no better for either than its own best; and
# $\mathbf{x}$ along $\mathbf{a}$ gives more than zero.)
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
# *At most.* Let $1 < p < \infty$. The logarithm is concave, so for $s, t > 0$
# $\log\!\big(\tfrac1p s^p + \tfrac1q t^q\big) \ge \tfrac1p \log s^p + \tfrac1q \log t^q = \log(st)$, that is,
# $st \le s^p/p + t^q/q$. Put $s = |x_i|$, $t = |a_i|$ with $\|\mathbf{x}\|_p = \|\mathbf{a}\|_q = 1$ and add:
# $\sum_i |a_i x_i| \le \tfrac1p + \tfrac1q = 1$. Homogeneity does the rest. For $p = 1$,
# $\sum_i |a_i x_i| \le \max_i |a_i| \sum_i |x_i|$; for $p = \infty$ exchange the roles.
#
# *Attained.* For $p > 1$ take $x_i = \operatorname{sign}(a_i) |a_i|^{q - 1}$. Then
# $\mathbf{a} \cdot \mathbf{x} = \sum_i |a_i|^q$, and for finite $p$ also $\sum_i |x_i|^p = \sum_i |a_i|^q$, since
# $(q - 1)p = q$. So
# $\mathbf{a} \cdot \mathbf{x} / \|\mathbf{x}\|_p = \big(\sum_i |a_i|^q\big)^{1 - 1/p} = \|\mathbf{a}\|_q$. For $p = \infty$,
# $\mathbf{x}$ is the vector of signs. For $p = 1$ take $\pm\mathbf{e}_i$ at the largest $|a_i|$.
# ```
#
# Look at the maximizers: the best $\ell_\infty$ move uses *all* coordinates to the full, the best $\ell_1$ move only *one*.
# For these two $p$ the maximum in {eq}`norms-dual` is a linear program, so a solver can confirm it.

# %%
def dual(p):
    return {1: np.inf, np.inf: 1}.get(p) or p / (p - 1)

def steepest(a, p):  # of all x with l_p norm 1 the one with the largest a . x
    if p == 1:
        x = np.where(np.arange(a.size) == abs(a).argmax(), np.sign(a), 0)
    else:
        x = np.sign(a) * abs(a) ** (dual(p) - 1)
    return x / np.linalg.norm(x, p)

a = np.array([2., -3., 0.5, 1.])
for p in (1, 1.5, 2, 3, np.inf):
    assert close(a @ steepest(a, p), np.linalg.norm(a, dual(p)))
box = linprog(-a, bounds=(-1, 1))
diamond = linprog(np.r_[-a, a], np.ones((1, 8)), [1])  # x = u - v, u, v >= 0
assert close(-box.fun, np.linalg.norm(a, 1))
assert close(-diamond.fun, np.linalg.norm(a, np.inf))
print('best l_inf move:', steepest(a, np.inf))
print('best l_1 move:  ', steepest(a, 1) + 0.0)

# %% [markdown]
# **From a point to a plane.** How far is $\mathbf{x}_0$ from the plane $\mathbf{w} \cdot \mathbf{x} + b = 0$? For every
# $\mathbf{x}$ on it {eq}`norms-dual` gives $|\mathbf{w} \cdot \mathbf{x}_0 + b| = |\mathbf{w} \cdot (\mathbf{x}_0 -
# \mathbf{x})| \le \|\mathbf{w}\|_* \|\mathbf{x}_0 - \mathbf{x}\|$, with equality if we walk along the maximizer. So
#
# ```{math}
# :label: norms-distance
# \min_{\mathbf{w} \cdot \mathbf{x} + b = 0} \|\mathbf{x} - \mathbf{x}_0\| =
# \frac{|\mathbf{w} \cdot \mathbf{x}_0 + b|}{\|\mathbf{w}\|_*} .
# ```
#
# Blow up a ball until it touches the plane. A round one touches somewhere, a diamond with a corner, and corners lie on the
# axes. That is why $\ell_1$ produces zeros.

# %% mystnb={"image": {"alt": "Three panels, one line each. Growing diamonds touch the line with a corner on the vertical axis, the largest of the growing circles touches it where the radius meets it at a right angle, growing squares with the corner on the diagonal."}} tags=["hide-input"]
w, b = np.array([1., 2.]), -2.0
t = np.linspace(0, 2 * np.pi, 721)
circle = np.stack([np.cos(t), np.sin(t)], -1)  # (721, 2)
fig, axes = panels(3, height=2.3, sharey=True)
for ax, p, name in zip(axes, (1, 2, np.inf), ('ℓ₁', 'ℓ₂', 'ℓ∞'), strict=True):
    distance = -b / np.linalg.norm(w, dual(p))
    ball = circle / np.linalg.norm(circle, p, axis=1)[:, None]
    for part in (1 / 3, 2 / 3, 1):
        ax.plot(*(part * distance * ball).T, color='C0', lw=1.8 * part)
    ax.plot([-1.6, 1.6], [1.8, 0.2], color=GREY)
    ax.plot(*(distance * steepest(w, p)), 'o', color='C1', ms=8)
    ax.set(aspect='equal', xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    ax.set(xlim=(-1.6, 1.6), ylim=(-1.2, 1.9))
    ax.set_title(f'{name}: distance {distance:.2f}')

# %% [markdown] tags=["caption"]
# A growing ball first touches a line at the nearest point: $\ell_1$ with a corner on an axis, where a coordinate is zero,
# $\ell_\infty$ where all coordinates are equally large.

# %% [markdown]
# ```{prf:theorem} Sparse solutions
# :label: thm-sparse
# Let $\mathbf{A}$ have $m$ rows. If $\mathbf{A}\mathbf{x} = \mathbf{b}$ has a solution, then among its solutions of least
# $\ell_1$ norm there is one with at most $m$ nonzero entries.
# ```
#
# ```{prf:proof}
# Of the solutions of least norm (they exist, by continuity) let $\mathbf{x}$ have the fewest nonzero entries. If there were
# more than $m$, the columns of $\mathbf{A}$ at these places would be dependent, by {prf:ref}`thm-dimension`:
# $\mathbf{A}\mathbf{h} = \mathbf{0}$ for some $\mathbf{h} \ne \mathbf{0}$ that is zero wherever $\mathbf{x}$ is. All points
# $\mathbf{x} + t\mathbf{h}$ are solutions. As long as no entry changes its sign, the norm is
# $\|\mathbf{x}\|_1 + t \sum_i \operatorname{sign}(x_i) h_i$, linear in $t$. Its minimum lies at $t = 0$, inside an interval,
# so it is constant. Go on until an entry reaches zero: a solution of least norm with fewer nonzero entries, a contradiction.
# ```

# %%
rng = np.random.default_rng(4)
A, b = rng.normal(size=(5, 40)), rng.normal(size=5)
split = linprog(np.ones(80), A_eq=np.c_[A, -A], b_eq=b).x
x_1 = split[:40] - split[40:]
x_2 = np.linalg.pinv(A) @ b
one, t = np.eye(40), np.ones((40, 1))  # the last unknown is t >= |x_i|
x_inf = linprog(
    np.r_[np.zeros(40), 1], np.block([[one, -t], [-one, -t]]), np.zeros(80),
    np.c_[A, np.zeros(5)], b, bounds=(None, None),
).x[:40]
for name, x in (('l_1', x_1), ('l_2', x_2), ('l_inf', x_inf)):
    assert close(A @ x, b)
    zero = (abs(x) < 1e-9).sum()
    full = (abs(x) > abs(x).max() - 1e-9).sum()
    print(f'least {name:5}   zeros: {zero:2}   of largest size: {full:2}')

# %% [markdown]
# Five equations, five nonzero entries. Least $\ell_\infty$ does the opposite and drives all but four entries to the limit.
#
# ```{exercise} ★★ The dual of a group norm
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
# Within a group, $\mathbf{a}_g \cdot \mathbf{x}_g$ is at most $\|\mathbf{a}_g\|_2 \|\mathbf{x}_g\|_2$. Across groups these
# lengths form an $\ell_1$ ball, whose dual is $\ell_\infty$. So $\|\mathbf{A}\|_* = \max_g \|\mathbf{a}_g\|_2$, and only the
# best group moves: $\ell_1$ across groups makes whole groups zero. The wrong answers add up the
# groups, take the columns for the groups, or take the largest entry.

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

# %% [markdown]
# ## The size of a matrix
#
# A matrix does something to vectors, so let its size be the most that it does. The *operator norm* is the largest factor by
# which it stretches:
#
# ```{math}
# :label: norms-operator
# \|\mathbf{A}\| = \max_{\|\mathbf{x}\| \le 1} \|\mathbf{A}\mathbf{x}\|,
# \qquad\text{so that}\qquad \|\mathbf{A}\mathbf{x}\| \le \|\mathbf{A}\| \, \|\mathbf{x}\|
# ```
#
# The three rules carry over, and a fourth comes for free: $\|\mathbf{A}\mathbf{B}\mathbf{x}\| \le \|\mathbf{A}\| \,
# \|\mathbf{B}\mathbf{x}\| \le \|\mathbf{A}\| \, \|\mathbf{B}\| \, \|\mathbf{x}\|$ for all $\mathbf{x}$, hence
# $\|\mathbf{A}\mathbf{B}\| \le \|\mathbf{A}\| \, \|\mathbf{B}\|$. The layers of a network multiply, so this is the rule by
# which signals and gradients are bounded.
#
# ```{prf:theorem} Three operator norms
# :label: thm-operator-norms
# $\|\mathbf{A}\|_1$ is the largest column sum of $|a_{ij}|$, $\|\mathbf{A}\|_\infty$ the largest row sum, and
# $\|\mathbf{A}\|_2$ the largest singular value $\sigma_1$, the root of the largest eigenvalue of
# $\mathbf{A}^\top\mathbf{A}$.
# ```
#
# ```{prf:proof}
# *Columns.* $\mathbf{A}\mathbf{x} = \sum_j x_j \mathbf{a}_j$, so
# $\|\mathbf{A}\mathbf{x}\|_1 \le \sum_j |x_j| \|\mathbf{a}_j\|_1 \le \max_j \|\mathbf{a}_j\|_1 \cdot \|\mathbf{x}\|_1$,
# attained at $\mathbf{x} = \mathbf{e}_j$ for the largest column. *Rows.* Entry $i$ of $\mathbf{A}\mathbf{x}$ is the dot
# product of row $i$ with $\mathbf{x}$. Over $\|\mathbf{x}\|_\infty \le 1$ it is at most the $\ell_1$ norm of the row, by
# {prf:ref}`thm-holder`, attained at the signs of the row. *Euclid.*
# $\|\mathbf{A}\mathbf{x}\|_2^2 = \mathbf{x}^\top\mathbf{A}^\top\mathbf{A}\,\mathbf{x}$. The symmetric
# $\mathbf{A}^\top\mathbf{A}$ has an orthonormal basis of eigenvectors $\mathbf{v}_i$ (the spectral theorem, proved in
# Eigenvalue decomposition) with eigenvalues $\|\mathbf{A}\mathbf{v}_i\|_2^2 = \sigma_i^2$, say
# $\sigma_1 \ge \sigma_2 \ge \dots \ge 0$. For $\mathbf{x} = \sum_i c_i \mathbf{v}_i$ we get
# $\|\mathbf{A}\mathbf{x}\|_2^2 = \sum_i \sigma_i^2 c_i^2 \le \sigma_1^2 \|\mathbf{x}\|_2^2$, attained at $\mathbf{v}_1$.
# ```
#
# The last line suggests how to find $\sigma_1$. Multiply a random vector by $\mathbf{A}^\top\mathbf{A}$ again and again:
# after $k$ steps $c_i$ has become $\sigma_i^{2k} c_i$, and beside the direction $\mathbf{v}_1$ all others fade, as long as
# $\sigma_1 > \sigma_2$. In this *power iteration* the part along $\mathbf{v}_2$ shrinks by $(\sigma_2/\sigma_1)^2$ per step.
# In $\|\mathbf{A}\mathbf{x}\|_2^2 / \|\mathbf{x}\|_2^2$ it counts with its square, so the error of the norm shrinks by
# $(\sigma_2/\sigma_1)^4$.

# %%
def power_iteration(a, steps):  # the estimate after each step
    x = np.random.default_rng(0).normal(size=a.shape[1])
    estimates = []
    for _ in range(steps):
        x = a.T @ (a @ x)
        x /= np.linalg.norm(x)
        estimates.append(np.linalg.norm(a @ x))
    return np.array(estimates)

rng = np.random.default_rng(5)
u, v = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (6, 3))
known = u[:, :3] * [3, 2, 1] @ v.T  # (6, 3), with singular values 3, 2, 1
error = 3 - power_iteration(known, 9)
print(f'a step divides the error by {error[7] / error[8]:.2f}')
print(f'(sigma_1 / sigma_2)^4 =     {(3 / 2) ** 4:.2f}')

# %% [markdown]
# Two more norms are in daily use. The *Frobenius norm* takes the matrix as one long vector,
# $\|\mathbf{A}\|_F^2 = \sum_{i,j} a_{ij}^2 = \operatorname{tr} \mathbf{A}^\top\mathbf{A} = \sum_i \sigma_i^2$, since a trace
# is the sum of the eigenvalues. The *nuclear norm* is $\|\mathbf{A}\|_{\text{nuc}} = \sum_i \sigma_i$. (Its triangle rule is
# proved in Singular value decomposition; it favours low rank as $\ell_1$ favours zeros.) So spectral, Frobenius and nuclear
# norm are $\ell_\infty$, $\ell_2$ and $\ell_1$ of the singular values, and {prf:ref}`thm-lp-equivalence` compares them for a
# matrix of rank $r$ without another word:
#
# $$\|\mathbf{A}\|_2 \le \|\mathbf{A}\|_F \le \|\mathbf{A}\|_{\text{nuc}} \le \sqrt{r}\,\|\mathbf{A}\|_F \le r\,\|\mathbf{A}\|_2 .$$
#
# All this on 1797 handwritten digits, one picture of 64 pixels per row:

# %%
A = digits().x  # (1797, 64)
sigma = np.sqrt(abs(np.linalg.eigvalsh(A.T @ A)))  # (64,)
own = {
    1: abs(A).sum(0).max(), np.inf: abs(A).sum(1).max(),
    2: power_iteration(A, 30)[-1],
    'fro': np.sqrt((A * A).sum()), 'nuc': sigma.sum(),
}
for kind, value in own.items():
    assert close(value, np.linalg.norm(A, kind))
r = np.linalg.matrix_rank(A)
assert own[2] < own['fro'] < own['nuc'] < np.sqrt(r) * own['fro'] < r * own[2]
print('all five agree with numpy, in the order above, rank', r)

# %% mystnb={"image": {"alt": "Three panels. The unit diamond, circle and square, dashed, and what a matrix makes of each: a parallelogram, an ellipse, a parallelogram. Around each image the smallest ball that holds it; they touch at a marked point."}} tags=["hide-input"]
M = np.array([[1.2, 0.8], [-0.4, 1.0]])
t = np.linspace(0, 2 * np.pi, 721)
circle = np.stack([np.cos(t), np.sin(t)], -1)  # (721, 2)
fig, axes = panels(3, height=2.3, sharey=True)
for ax, p, name in zip(axes, (1, 2, np.inf), ('1', '2', '∞'), strict=True):
    ball = circle / np.linalg.norm(circle, p, axis=1)[:, None]
    image = ball @ M.T
    size = np.linalg.norm(M, p)
    ax.plot(*ball.T, '--', color=GREY, lw=1)
    ax.fill(*image.T, color='C0', alpha=0.35)
    ax.plot(*(size * ball).T, color='C1', lw=1)
    far = image[np.linalg.norm(image, p, axis=1).argmax()]
    ax.plot(*np.stack([[0, 0], far], 1), 'o-', color='C1', markevery=[1])
    ax.set(aspect='equal', xticks=[-2, 0, 2], yticks=[-2, 0, 2])
    ax.set_title(f'‖A‖ = {size:.2f} for p = {name}')

# %% [markdown] tags=["caption"]
# The operator norm is the size of the smallest ball around the image of the unit ball; for one and the same matrix it is
# 1.80, 1.48 or 2.00, depending on the norm.

# %% [markdown]
# The Frobenius norm respects products too: column by column, $\|\mathbf{A}\mathbf{B}\|_F^2 = \sum_j
# \|\mathbf{A}\mathbf{b}_j\|_2^2 \le \|\mathbf{A}\|_2^2 \|\mathbf{B}\|_F^2 \le \|\mathbf{A}\|_F^2 \|\mathbf{B}\|_F^2$. Not
# every norm of matrices does. The largest entry $\max_{ij} |a_{ij}|$ is one, and it can grow out of ones:

# %%
def keeps_products(norm, tries=500):
    rng = np.random.default_rng(6)
    pairs = rng.normal(1, 1, (tries, 2, 4, 4))
    return all(norm(a @ b) <= 1.000001 * norm(a) * norm(b) for a, b in pairs)

for kind in (1, 2, np.inf, 'fro'):
    assert keeps_products(lambda a, kind=kind: np.linalg.norm(a, kind))
assert not keeps_products(lambda a: abs(a).max())
ones = np.ones((2, 2))
print(f'largest entry of ones(2, 2): {ones.max():g}')
print(f'largest entry of its square: {(ones @ ones).max():g}')

# %% [markdown]
# ```{exercise} ★★★ A norm that is hard to compute
# :label: norms-hard
# The operator norms above are easy to compute. Mix the norms, and it gets hard:
# $\|\mathbf{A}\|_{\infty \to 1} = \max_{\|\mathbf{x}\|_\infty \le 1} \|\mathbf{A}\mathbf{x}\|_1$. Show that the maximum is
# attained at a corner of the cube, and write `inf_to_one(a)`. Then explore: start anywhere, let $\mathbf{y}$ be the signs of
# $\mathbf{A}\mathbf{x}$, then $\mathbf{x}$ the signs of $\mathbf{A}^\top\mathbf{y}$, and so on. How often does this climb
# stop below the summit?
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
# $\mathbf{x} \mapsto \|\mathbf{A}\mathbf{x}\|_1$ is convex, so along each edge of the cube, coordinate by coordinate, it is
# largest at an end. That leaves $2^n$ corners; the problem is NP-hard, so no fast method for large $n$ is to be expected.
# Two wrong answers climb, once from one place or from twenty. A climb never goes down, since each step is a maximization,
# but it can stop on a lower summit. The third gives each entry of the matrix a sign of its own.

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
print(f'one climb misses the summit of {np.mean(stuck):.0%} of the matrices')

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Where it matters: three ways to tell 4 from 9
#
# A linear classifier answers by the sign of $\mathbf{w} \cdot \mathbf{x} + b$. Between the digits 4 and 9 there is room for
# many planes without a training error. The safest is the one that an opponent must push the pictures farthest to cross. But
# who measures the push? An opponent who may change *every* pixel a little is measured by $\ell_\infty$, one who pays for the
# *sum* of all changes by $\ell_1$; $\ell_2$ lies between. With labels $y_k = \pm 1$ the nearest training picture lies
# $\min_k y_k (\mathbf{w} \cdot \mathbf{x}_k + b) / \|\mathbf{w}\|_q$ away, by {eq}`norms-distance`. The numerator can be
# scaled to one, so the widest gap in $\ell_p$ comes from
#
# ```{math}
# :label: norms-margin
# \begin{gathered}
# \min_{\mathbf{w}, b} \|\mathbf{w}\|_q \quad\text{subject to}\quad y_k (\mathbf{w} \cdot \mathbf{x}_k + b) \ge 1 \text{ for all } k, \\
# \tfrac1p + \tfrac1q = 1 .
# \end{gathered}
# ```
#
# For $q = 2$ this is the support vector machine; for $q = 1$ and $q = \infty$ it is a linear program
# {cite}`mangasarian1999arbitrary`. Only the norm distinguishes the three.

# %%
def widest(x, y, q):  # x (n, d), y (n,) of signs
    n, d = x.shape
    if q == 2:
        svm = SVC(kernel='linear', C=1e8, tol=1e-8).fit(x, y)  # no slack
        return svm.coef_[0], svm.intercept_[0]
    one, z = np.eye(d), y[:, None] * x
    # unknowns u, v >= 0, b, t: w = u - v and |w_j| <= u_j + v_j <= t
    cost = np.r_[np.full(2 * d, 1 if q == 1 else 1e-6), 0, q != 1]
    limits = np.block([
        [-z, z, -y[:, None], np.zeros((n, 1))],
        [one, one, np.zeros((d, 1)), -np.ones((d, 1))],
    ])
    bounds = [(0, None)] * (2 * d) + [(None, None)] * 2
    most = np.r_[-np.ones(n), np.zeros(d)]
    best = linprog(cost, limits, most, bounds=bounds).x
    return best[:d] - best[d:2 * d], best[-2]

# %% [markdown]
# (For $q = \infty$ the optimum is not unique; the cost $10^{-6}$ picks the one with the least $\ell_1$ norm.) One half of
# the 361 pictures trains, the other half is attacked. By {eq}`norms-distance` a picture survives a budget $\varepsilon$
# exactly if $y (\mathbf{w} \cdot \mathbf{x} + b) > \varepsilon \|\mathbf{w}\|_q$, where $q$ now belongs to the norm of the
# *attack*; none has to be simulated. Ten random splits:

# %%
@dataclass(frozen=True)
class Duel:
    q: float  # the norm of the weights that is made small
    seed: int  # of the split into halves

DUAL = {np.inf: 1, 2: 2, 1: np.inf}  # norm of the attack: of the weights
BUDGETS = {np.inf: 0.24, 2: 1.2, 1: 4.0}  # the largest; pixels go from 0 to 1
BUDGETS = {p: np.linspace(0, most, 41) for p, most in BUDGETS.items()}
x, y, _ = digits()
pair = np.isin(y, (4, 9))
x, y = x[pair], np.where(y[pair] == 4, 1.0, -1.0)

def fight(duel):
    order = np.random.default_rng(duel.seed).permutation(len(y))
    train, test = np.split(order, [len(y) // 2])
    w, b = widest(x[train], y[train], duel.q)
    score = y[test] * (x[test] @ w + b)
    kept = [
        (score[:, None] > np.linalg.norm(w, q) * BUDGETS[p]).mean(0)
        for p, q in DUAL.items()
    ]
    return w, kept  # (64,), (3 attacks, 41 budgets)

# %%
fights = [
    [fight(Duel(q, seed)) for seed in range(10)] for q in (1, 2, np.inf)
]
# (3 norms, 10 splits, 3 attacks, 41 budgets)
kept = np.array([[shares for _, shares in row] for row in fights])
majority = max((y > 0).mean(), (y < 0).mean())
print(len(y), 'pictures of 4 or 9')
rows = dict(zip(('l_1', 'l_2', 'l_inf'), kept.mean(1), strict=True))
rows['(always 4)'] = np.full((3, 41), majority)
print('smallest   no attack   l_inf 0.12   l_2 0.60   l_1 2.00')
for name, row in rows.items():
    clean, (a, b, c) = row[0, 0], row[:, 20]
    print(f'{name:10} {clean:9.3f} {a:12.3f} {b:10.3f} {c:10.3f}')
for k in range(3):  # in every split, against the attack dual to its norm
    others = np.delete(kept, k, axis=0)
    ahead = kept[k, :, k, 20] - others[:, :, k, 20].max(0)
    assert (ahead > 0).all()
    print(f'{list(rows)[k]:5} ahead in all splits, by {ahead.min():.3f}')

# %% mystnb={"image": {"alt": "Top: three weight pictures of 8 by 8 pixels; the first uses a handful of pixels, the second grades nearly all, the third has 38 of the 64 at plus or minus the same value. Bottom: share of pictures still classified rightly against the budget of an attack; in each of the three panels another classifier is on top, and the losers fall below the line of always answering 4."}} tags=["hide-input"]
fig, axes = panels(3, 2, height=2.1)
for ax, row, name in zip(axes[0], fights, ('ℓ₁', 'ℓ₂', 'ℓ∞'), strict=True):
    w = row[0][0]
    top = abs(w).max()
    title = f'least {name}: {(abs(w) > 1e-6 * top).sum()} pixels'
    show_image(ax, w.reshape(8, 8), title, cmap='PuOr', vmin=-top, vmax=top)
for attack, budgets in enumerate(BUDGETS.values()):
    ax, name = axes[1, attack], ('ℓ∞', 'ℓ₂', 'ℓ₁')[attack]
    for row, label in zip(kept.mean(1), ('ℓ₁', 'ℓ₂', 'ℓ∞'), strict=True):
        ax.plot(budgets, row[attack], label=f'least {label}')
    ax.axhline(majority, color=GREY, lw=1, ls='--')
    ax.set(ylim=(0, 1.03), xlabel=f'budget in {name}', yticks=[0, 0.5, 1])
axes[1, 0].set_ylabel('share right')
axes[1, 1].legend(fontsize=8, loc='lower left');

# %% [markdown] tags=["caption"]
# Each classifier withstands best the attack that is dual to the norm of its weights (mean of ten splits); least $\ell_1$ and
# least $\ell_\infty$ fail against each other's attack.

# %% [markdown]
# Without an attack the three differ by less than one error in a hundred. Under attack each wins against its own opponent.
# Against each other's opponents, the first and the third lose even to the dashed line, always answering 4. The weights show
# why. Least $\ell_1$ sits at a corner of its ball and reads few pixels. Who may shift all pixels a little gains nothing from
# the others, but who pays by the sum ruins a single important one. Least $\ell_\infty$ spreads its trust over the whole
# picture, with the opposite result. No norm is the right one; choosing it says which changes we expect. (Budgets count in
# $\mathbb{R}^{64}$, where a pixel may leave the range of greys.) The same duality decides about deep networks, in
# Adversarial examples {cite}`goodfellow2015explaining`.

# %% [markdown]
# ## Summary
#
# A norm is whatever is homogeneous and definite and has a convex unit ball; on $\mathbb{R}^n$ all norms agree up to
# constants, which grow with $n$. Each norm has a dual that gives distances to planes and explains why $\ell_1$ produces
# zeros, and matrices inherit norms from vectors, the spectral one being found by power iteration. On a computer take out the
# largest entry before squaring; in an application choose the norm by asking which changes are cheap.
#
# **Further reading.** {cite}`horn2013matrix` is the reference on norms of matrices, {cite}`golub2013matrix` on computing
# them, {cite}`higham2002accuracy` on what rounding does to them. {cite}`boyd2004convex` builds on dual norms, and
# {cite}`axler2015linear` develops vector spaces and linear maps from the beginning.
