# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Dot products and projections
#
# - **Question.** When do two lists of numbers point the same way, and how does that find a piece of a picture in the whole?
# - **You need** lengths, bases and Gram matrices ([Norms](../linear_algebra/norms.ipynb)), sine and cosine.
# - **You build** projections, angles that survive rounding, and a search for templates that no change of light can fool.
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
from dataclasses import dataclass
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
import torch
from numpy.lib.stride_tricks import sliding_window_view
from scipy import ndimage, stats
from scipy.signal import correlate

from nbutils.cases import counted, integers, on, scalars, seeds, square_matrices, vectors
from nbutils.checks import below, close, grade, holds
from nbutils.data import digits, photograph
from nbutils.figures import GREY, panels, show_image
from nbutils.timing import seconds

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## The dot product: a sum of products, or lengths and an angle
#
# Three loaves, no cheese, two melons: multiply each price by its amount and add up. Every bill is computed like this,
# every average, every mark at school, and the input of every artificial neuron.
#
# ```{math}
# :label: la.dot.sum
# \mathbf{a} \cdot \mathbf{b} = \sum_{i=1}^n a_i b_i
# ```
#
# If $\mathbf{a}$ and $\mathbf{b}$ are columns, matrices of shape $(n, 1)$, the same number is a row times a column:
#
# ```{math}
# :label: la.dot.matrix-form
# \sum_{i=1}^n a_i b_i = \mathbf{a}^\top \mathbf{b}
# ```
#
# The order matters. $\mathbf{a}\mathbf{b}^\top$ is the table of all $n^2$ products $a_i b_j$, and our sum is only
# its diagonal. In code the definition is a loop, and `exact` is the same sum in fractions, without rounding:

# %%
def dot(a, b):
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total

def exact(a, b):
    pairs = zip(map(Fraction, a.tolist()), map(Fraction, b.tolist()))
    return sum(x * y for x, y in pairs)

# %% [markdown]
# A computer rounds each product and each sum, multiplying it by some $1 + \delta$ with $|\delta| \le u = 2^{-53}$. In
# whatever order the terms are added, no $a_i b_i$ goes through more than $n$ roundings: its own product and at most
# $n - 1$ sums. A product of $n$ such factors differs from 1 by at most $\gamma_n = nu/(1 - nu)$
# {cite}`higham2002accuracy`, so, underflow aside, the computed value $\hat s$ satisfies
#
# ```{math}
# :label: dot-rounding
# |\hat s - \mathbf{a} \cdot \mathbf{b}| \le \gamma_n \sum_{i=1}^n |a_i|\,|b_i| .
# ```
#
# Loop, numpy, einsum and torch add in different orders and differ in their last digits, but all obey
# {eq}`dot-rounding`. On the right stands the sum of the *absolute* products. Where large terms cancel, no digit of a
# small result needs to be right.

# %%
routes = [
    dot, np.dot, lambda a, b: np.einsum('i,i->', a, b),
    lambda a, b: torch.dot(torch.tensor(a), torch.tensor(b)),
]
rng = np.random.default_rng(0)
inside = []
for n in (1, 10, 100, 1000):
    a, b = rng.normal(size=(2, n))
    true, nu = exact(a, b), Fraction(n, 2 ** 53)
    bound = nu / (1 - nu) * exact(abs(a), abs(b))
    for route in routes:
        inside.append(abs(Fraction(float(route(a, b))) - true) <= bound)
assert all(inside)
print('within the bound:', sum(inside), 'of', len(inside), 'products')
a, b = np.array([1e16, 1, -1e16]), np.ones(3)
print(f'1e16 + 1 - 1e16 = {dot(a, b):g}, exactly {exact(a, b)}')

# %%
faster = {}
for n in (3, 10_000):
    a, b = np.random.default_rng(1).normal(size=(2, n))
    lists = a.tolist(), b.tolist()  # Python loops faster over its own numbers
    loop, product = seconds(lambda: dot(*lists), lambda: a @ b)
    faster[n] = loop > 20 * product
    print(f'{n} entries: a @ b is more than 20 times faster:', faster[n])
assert faster[10_000] and not faster[3]

# %% [markdown]
# **The rules.** Three properties can be read off {eq}`la.dot.sum`, and most of what follows uses nothing else.
#
# ```{prf:definition} Inner product
# :label: def-inner-product
# An *inner product* gives every two vectors a number $\langle \mathbf{x}, \mathbf{y} \rangle$ such that
# $\langle \mathbf{x}, \mathbf{y} \rangle = \langle \mathbf{y}, \mathbf{x} \rangle$ (symmetric); $\langle \mathbf{x},
# \alpha\mathbf{y} + \beta\mathbf{z} \rangle = \alpha \langle \mathbf{x}, \mathbf{y} \rangle + \beta \langle \mathbf{x},
# \mathbf{z} \rangle$ (linear); and $\langle \mathbf{x}, \mathbf{x} \rangle > 0$ for $\mathbf{x} \ne \mathbf{0}$
# (positive).
# ```
#
# A special case of linearity is the distributive law:
#
# ```{math}
# :label: la.dot.properties.distributive
# \mathbf{a} \cdot (\mathbf{b} + \mathbf{c}) = \mathbf{a} \cdot \mathbf{b} + \mathbf{a} \cdot \mathbf{c}
# ```
#
# What looks like ordinary multiplication is not quite. There is nothing to cancel:
# $\mathbf{a} \cdot \mathbf{b} = \mathbf{a} \cdot \mathbf{c}$ says $\mathbf{a} \cdot (\mathbf{b} - \mathbf{c}) = 0$ and
# no more. And brackets cannot be moved: $(\mathbf{a} \cdot \mathbf{b})\,\mathbf{c}$ is a multiple of $\mathbf{c}$,
# $\mathbf{a}\,(\mathbf{b} \cdot \mathbf{c})$ one of $\mathbf{a}$.

# %%
a, b, c = (sp.Matrix(sp.symbols(f'{v}1:4')) for v in 'abc')
s, t = sp.symbols('s t')
assert a.dot(b) == b.dot(a)
assert sp.expand(a.dot(s * b + t * c) - s * a.dot(b) - t * a.dot(c)) == 0
assert a.dot(a) == sum(v ** 2 for v in a)
e1, e2, e3 = np.eye(3)
print('no cancelling:', e1 @ e2 == e1 @ e3, 'although e2 is not e3')
print('no moving of brackets:', (e1 @ e1) * e2, 'is not', e1 * (e1 @ e2))

# %% [markdown]
# **Lengths and an angle.** The square of a length is a dot product, $\|\mathbf{a}\|^2 = \mathbf{a} \cdot \mathbf{a}$. (In
# this section $\|\cdot\|$ is $\|\cdot\|_2$.) So lengths can be multiplied out:
#
# ```{math}
# :label: dot-expand
# \|\mathbf{a} \pm \mathbf{b}\|^2 = \|\mathbf{a}\|^2 \pm 2\,\mathbf{a} \cdot \mathbf{b} + \|\mathbf{b}\|^2
# ```
#
# Now look at the triangle with the sides $\mathbf{a}$, $\mathbf{b}$ and $\mathbf{a} - \mathbf{b}$. (Two vectors lie in
# a plane, however many dimensions there are around it.) The law of cosines gives its third side from the angle $\theta$
# between the first two: $\|\mathbf{a} - \mathbf{b}\|^2 = \|\mathbf{a}\|^2 + \|\mathbf{b}\|^2 -
# 2\,\|\mathbf{a}\|\,\|\mathbf{b}\| \cos\theta$. We compare this with {eq}`dot-expand`:
#
# ```{math}
# :label: la.dot.geometric
# \mathbf{a}^\top\mathbf{b} = \|\mathbf{a}\|_2\,\|\mathbf{b}\|_2 \cos\theta
# ```
#
# So the same number can be computed from coordinates, as a sum of products, or measured with ruler and protractor, as
# lengths and an angle.
#
# The right side needs no basis, because a ruler works without one. The sum on the left needs an *orthonormal* basis. In a
# basis with the columns $\mathbf{B}$ let
# $\mathbf{a} = \mathbf{B}\mathbf{c}$ and $\mathbf{b} = \mathbf{B}\mathbf{d}$. Then
#
# ```{math}
# :label: la.dot.orthonormal-basis
# \|\mathbf{a}\|\,\|\mathbf{b}\| \cos\theta = \mathbf{c}^\top \mathbf{G}\, \mathbf{d}, \qquad
# \mathbf{G} = \mathbf{B}^\top\mathbf{B} .
# ```
#
# That is $\sum_i c_i d_i$ for all $\mathbf{c}$ and $\mathbf{d}$ exactly if $\mathbf{G} = \mathbf{I}$, if the basis is
# orthonormal, since $\mathbf{c} = \mathbf{e}_i$ and $\mathbf{d} = \mathbf{e}_j$ pick out $g_{ij}$.
#
# **All inner products at once.** By linearity every inner product on $\mathbb{R}^n$ is
# $\langle \mathbf{x}, \mathbf{y} \rangle = \mathbf{x}^\top\mathbf{M}\mathbf{y}$ with
# $m_{ij} = \langle \mathbf{e}_i, \mathbf{e}_j \rangle$. Which matrices are allowed? The symmetric ones with
# $\mathbf{x}^\top\mathbf{M}\mathbf{x} > 0$ for all $\mathbf{x} \ne \mathbf{0}$, called *positive definite*. To
# see whether $\mathbf{M}$ is one of them, complete the square. If the first *pivot* $m_{11}$ is positive, put
# $\boldsymbol{\ell}_1 = (m_{11}, m_{21}, \dots, m_{n1}) / \sqrt{m_{11}}$; then
# $\mathbf{x}^\top\mathbf{M}\mathbf{x} = (\boldsymbol{\ell}_1 \cdot \mathbf{x})^2 + {}$terms in which $x_1$ does
# not occur. Go on with those. If all pivots are positive, $\mathbf{x}^\top\mathbf{M}\mathbf{x} = \sum_j
# (\boldsymbol{\ell}_j \cdot \mathbf{x})^2$, a sum that vanishes only at $\mathbf{0}$: its last square contains $x_n$
# alone, the one before only $x_{n-1}$ and $x_n$, and so on. If pivot $j$ is not positive, take $x_j = 1$, zeros below
# it, and choose $x_{j-1}, \dots, x_1$ so that all squares so far vanish: then
# $\mathbf{x}^\top\mathbf{M}\mathbf{x} \le 0$. This is the *Cholesky factorization*
# $\mathbf{M} = \mathbf{L}\mathbf{L}^\top$, with the $\boldsymbol{\ell}_j$ as columns of $\mathbf{L}$.

# %%
def cholesky(m):  # lower triangular l with l @ l.T = m; None: there is none
    l = np.zeros(m.shape)
    for j in range(len(m)):
        rest = m[j:, j] - l[j:, :j] @ l[j, :j]
        if rest[0] <= 0:
            return None
        l[j:, j] = rest / np.sqrt(rest[0])
    return l

rng = np.random.default_rng(2)
positive = 0
for m in rng.normal(size=(300, 3, 3)):
    m = m + m.T + 3 * np.eye(3)
    l = cholesky(m)
    assert (l is not None) == (np.linalg.eigvalsh(m)[0] > 0)
    positive += l is not None
    assert l is None or close(l @ l.T, m)
print(positive, 'of 300 symmetric matrices are positive definite')
m = np.diag([1., -1.])  # space and time, in the theory of relativity
x = np.array([1, 2])
print('diag(1, -1) is not one of them:', cholesky(m) is None)
print('it gives (1, 2) the squared length', x @ m @ x)

# %% [markdown]
# So $\langle \mathbf{x}, \mathbf{y} \rangle = (\mathbf{L}^\top\mathbf{x}) \cdot
# (\mathbf{L}^\top\mathbf{y})$: every inner product is the dot product, seen in other coordinates. Each has its
# own circles and its own right angles.

# %% mystnb={"image": {"alt": "Three panels: a circle, an upright ellipse and a slanted ellipse, the unit circles of three inner products. In each, two arrows that are perpendicular for that product; only in the first they look so."}} tags=["hide-input"]
products = {
    'M = I': np.eye(2), 'M = diag(1/2, 2)': np.diag([0.5, 2]),
    'M = [[1, −0.7], [−0.7, 1]]': np.array([[1, -0.7], [-0.7, 1]]),
}
t = np.linspace(0, 2 * np.pi, 361)
circle = np.stack([np.cos(t), np.sin(t)])  # (2, 361)
first = np.array([1., 0.5])
fig, axes = panels(3, height=2.3, sharey=True)
for ax, (name, m) in zip(axes, products.items(), strict=True):
    ax.plot(*np.linalg.solve(cholesky(m).T, circle), color='C0')
    second = np.array([-(m @ first)[1], (m @ first)[0]])  # first M second = 0
    for v, color in ((first, 'C1'), (second, 'C2')):
        v = v / np.sqrt(v @ m @ v)
        ax.annotate('', v, (0, 0), arrowprops=dict(
            arrowstyle='-|>', color=color, lw=1.8, shrinkA=0, shrinkB=0))
    ax.set(aspect='equal', xlim=(-1.65, 1.65), ylim=(-1.6, 1.6))
    ax.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    ax.set_title(name, fontsize=9)

# %% [markdown] tags=["caption"]
# Every inner product has its own circle and its own right angles: in each panel $\mathbf{x}^\top\mathbf{M}\,\mathbf{y} = 0$
# for the two arrows, but only for $\mathbf{M} = \mathbf{I}$ do they look perpendicular.

# %% [markdown]
# Is every norm a length in this sense? Add the two lines of {eq}`dot-expand`, and subtract them:
#
# ```{math}
# :label: dot-parallelogram
# \begin{aligned}
# \|\mathbf{a} + \mathbf{b}\|^2 + \|\mathbf{a} - \mathbf{b}\|^2 &= 2\,\|\mathbf{a}\|^2 + 2\,\|\mathbf{b}\|^2 \\
# \|\mathbf{a} + \mathbf{b}\|^2 - \|\mathbf{a} - \mathbf{b}\|^2 &= 4\, \mathbf{a} \cdot \mathbf{b}
# \end{aligned}
# ```
#
# The first, the *parallelogram law*, fails for $\ell_1$: with $\mathbf{e}_1, \mathbf{e}_2$ the left side is $8$, the
# right side $4$. So the taxi's norm comes from no inner product and knows no angles. (A norm that obeys the law always
# comes from one {cite}`jordan1935inner`.) The second, *polarization*, recovers the product from lengths. A linear
# map that keeps lengths keeps all angles too.

# %%
def parallelogram_gap(p):
    a, b = np.random.default_rng(3).normal(size=(2, 1000, 4))
    n = [np.linalg.norm(v, p, axis=1) ** 2 for v in (a + b, a - b, a, b)]
    return abs(n[0] + n[1] - 2 * n[2] - 2 * n[3]).max()

for p in (1, 1.5, 2, 3, np.inf):
    gap = below(parallelogram_gap(p))
    print(f'p = {p}: largest gap in the parallelogram law {gap}')

# %% [markdown]
# ```{exercise} ★ A product from a ruler
# :label: dot-ruler
# A ruler is a function: `ruler(x)` is the length of the vector `x` in some inner product that you do not know. Write
# `product(ruler, a, b)`.
# ```

# %%
def product(ruler, a, b):
    """The inner product of a and b, both (n,), from lengths alone: a float.

    ruler is a function: ruler(x) is the length of the array x (n,), at
    most three vectors may be measured. If ruler is np.linalg.norm,
    product(ruler, np.array([1., 2.]), np.array([3., -1.])) is 1.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
@dataclass
class Ruler:
    m: np.ndarray

    def __call__(self, x):
        return np.sqrt(x @ self.m @ x)

    @property
    def __name__(self):
        return f'Ruler({self.m.tolist()})'

def by_matrix(ruler, a, b):
    return a @ ruler.function.m @ b

def of_a_basis(B):  # the Gram matrix of the columns of B above the identity
    return counted(Ruler(B.T @ B + np.eye(len(B))), 3)

cases = dict(
    ruler=square_matrices((1, 4), -2, 2, edges=True).map(of_a_basis),
    a=lambda ruler: vectors(len(ruler.function.m), edges=True),
    b=lambda ruler: vectors(len(ruler.function.m), edges=True),
)
grade(product, by_matrix, **cases)

# %% [markdown]
# ```{solution-start} dot-ruler
# :class: dropdown
# ```
# Polarization, {eq}`dot-parallelogram`, was derived from the rules alone, so it holds for every inner product. A
# wrong answer starts from $\tfrac12(\|\mathbf{a} + \mathbf{b}\|^2 - \|\mathbf{a}\|^2 - \|\mathbf{b}\|^2)$, which would
# be right too, and forgets the squares. Others forget the factor, or take the dot product of the coordinates, as if the
# ruler were the usual one.

# %% jupyter={"source_hidden": true}
def product_solution(ruler, a, b):
    return (ruler(a + b) ** 2 - ruler(a - b) ** 2) / 4

def without_squares(ruler, a, b):
    return (ruler(a + b) - ruler(a) - ruler(b)) / 2

def without_factor(ruler, a, b):
    return ruler(a + b) ** 2 - ruler(a) ** 2 - ruler(b) ** 2

def usual_product(ruler, a, b):
    return a @ b

assert grade(product_solution, by_matrix, **cases)
assert not grade(without_squares, by_matrix, **cases)
assert not grade(without_factor, by_matrix, **cases)
assert not grade(usual_product, by_matrix, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def is_dot(table, a, b):
    return table.shape == (1, 1) and close(table[0, 0], dot(a, b))

holds(
    'la.dot.sum',
    lambda a, b: close(np.dot(a, b), float(exact(a, b))),
    slip=(
        'multiplies the two sums',
        lambda a, b: close(a.sum() * b.sum(), float(exact(a, b))),
    ),
    a=vectors(4),
    b=vectors(4),
    tries=100,
)
holds(
    'la.dot.matrix-form',
    lambda a, b: is_dot(a[:, None].T @ b[:, None], a, b),
    slip=(
        'puts the row and the column in the wrong order',
        lambda a, b: is_dot(a[:, None] @ b[:, None].T, a, b),
    ),
    a=vectors(4),
    b=vectors(4),
    tries=100,
)
holds(
    'la.dot.properties.distributive',
    lambda a, b, c: close(a @ (b + c), a @ b + a @ c),
    slip=(
        'pairs c with b in place of a',
        lambda a, b, c: close(a @ (b + c), a @ b + b @ c),
    ),
    a=vectors(3),
    b=vectors(3),
    c=vectors(3),
    tries=100,
)

# %% tags=["checks"]
def carried(seed):  # (5, 2), orthonormal columns: lengths stay
    rng = np.random.default_rng(seed)
    return np.linalg.qr(rng.normal(size=(5, 2)))[0]

def angle_in_plane(a, b):
    return np.arctan2(a[1], a[0]) - np.arctan2(b[1], b[0])

def lengths(*vs):
    return np.prod([np.hypot(*v) for v in vs])

holds(
    'la.dot.geometric',
    lambda a, b, seed: close(
        (carried(seed) @ a) @ (carried(seed) @ b),
        lengths(a, b) * np.cos(angle_in_plane(a, b)),
    ),
    slip=(
        'forgets the length of b',
        lambda a, b, seed: close(
            (carried(seed) @ a) @ (carried(seed) @ b),
            lengths(a) * np.cos(angle_in_plane(a, b)),
        ),
    ),
    a=vectors(2),
    b=vectors(2),
    seed=seeds(),
    tries=100,
)

def by_coordinates(seed, orthonormal, with_gram):
    rng = np.random.default_rng(seed)
    basis = rng.normal(size=(3, 3))
    basis = np.linalg.qr(basis)[0] if orthonormal else basis
    a, b = rng.normal(size=(2, 3))
    c, d = np.linalg.solve(basis, np.stack([a, b], 1)).T
    gram = basis.T @ basis if with_gram else np.eye(3)
    return close(c @ gram @ d, a @ b)

holds(
    'la.dot.orthonormal-basis',
    lambda seed: (
        by_coordinates(seed, orthonormal=False, with_gram=True)
        and by_coordinates(seed, orthonormal=True, with_gram=False)
    ),
    slip=(
        'forgets the Gram matrix of a skewed basis',
        lambda seed: by_coordinates(seed, False, with_gram=False),
    ),
    seed=seeds(),
    tries=60,
)

# %% [markdown]
# ## Projections: the nearest point on a line or a plane
#
# The sun stands right above a line, and $\mathbf{b}$ throws its shadow on it. Where does the shadow end? At the
# multiple of $\mathbf{a}$ that is nearest to $\mathbf{b}$. We expand the square of the distance, and complete the
# square in $t$:
#
# ```{math}
# :label: dot-square
# \begin{aligned}
# \|\mathbf{b} - t\,\mathbf{a}\|^2 &= \|\mathbf{b}\|^2 - 2t\,(\mathbf{a} \cdot \mathbf{b}) + t^2\,\|\mathbf{a}\|^2 \\
# &= \|\mathbf{a}\|^2 \Big( t - \frac{\mathbf{a} \cdot \mathbf{b}}{\mathbf{a} \cdot \mathbf{a}} \Big)^2
# + \|\mathbf{b}\|^2 - \frac{(\mathbf{a} \cdot \mathbf{b})^2}{\|\mathbf{a}\|^2}
# \end{aligned}
# ```
#
# Most of this section follows from this identity. Only the bracket depends on $t$, and it can be made zero. So the
# nearest multiple, the *projection* of $\mathbf{b}$ on $\mathbf{a} \ne \mathbf{0}$, is
#
# ```{math}
# :label: la.dot.projection-1
# \operatorname{proj}_{\mathbf{a}} \mathbf{b} = \frac{(\mathbf{a}^\top\mathbf{b})\, \mathbf{a}}{\mathbf{a}^\top\mathbf{a}} ,
# ```
#
# and what is left, $\mathbf{r} = \mathbf{b} - \operatorname{proj}_{\mathbf{a}} \mathbf{b}$, is perpendicular to
# $\mathbf{a}$: $\mathbf{a} \cdot \mathbf{r} = \mathbf{a} \cdot \mathbf{b} - \frac{\mathbf{a} \cdot
# \mathbf{b}}{\mathbf{a} \cdot \mathbf{a}}\, \mathbf{a} \cdot \mathbf{a} = 0$. Divide by
# $\mathbf{a}^\top\mathbf{a}$, not by $\|\mathbf{a}\|$: a longer $\mathbf{a}$ spans the same line and must give
# the same shadow.
#
# A number may stand on either side of a vector, so $(\mathbf{a}^\top\mathbf{b})\,\mathbf{a} =
# \mathbf{a}\,(\mathbf{a}^\top\mathbf{b}) = (\mathbf{a}\mathbf{a}^\top)\,\mathbf{b}$, and projection is
# multiplication by a matrix:
#
# ```{math}
# :label: la.dot.projection-2
# \operatorname{proj}_{\mathbf{a}} \mathbf{b} = \frac{\mathbf{a}\mathbf{a}^\top\, \mathbf{b}}{\mathbf{a}^\top\mathbf{a}}
# = \mathbf{P}\mathbf{b}, \qquad \mathbf{P} = \frac{\mathbf{a}\mathbf{a}^\top}{\mathbf{a}^\top\mathbf{a}}
# ```
#
# $\mathbf{P}$ is its own transpose, and $\mathbf{P}^2 = \mathbf{P}$, because the shadow of a shadow is the shadow. Its
# eigenvalues are 1, for $\mathbf{a}$, and 0, for everything perpendicular to $\mathbf{a}$.

# %%
def proj(a, b):
    return (a @ b) / (a @ a) * a

# %% tags=["hide-input"]
u = np.array([3, 1]) / np.sqrt(10)  # the direction of a

def draw(ax, start, v, color, below=0):  # a vector and its shadow
    tip = start + v
    ends = np.stack([proj(u, start), proj(u, tip)], 1)  # (2, 2)
    foot, side = ends[:, 1], -0.18 * np.sign(v @ u) * u
    up = 0.18 * (tip - foot) / np.linalg.norm(tip - foot)
    corner = np.stack([foot + up, foot + up + side, foot + side], 1)
    ax.annotate('', tip, start, arrowprops=dict(
        arrowstyle='-|>', color=color, lw=1.8, shrinkA=0, shrinkB=0))
    ax.plot(*np.stack([tip, foot], 1), '--', color=GREY, lw=1)
    ax.plot(*corner, color=GREY, lw=1)
    ends = ends + below * np.array([[u[1]], [-u[0]]])
    ax.plot(*ends, color=color, lw=4, alpha=0.7, solid_capstyle='butt')

# %% mystnb={"image": {"alt": "Left: two vectors b and c with their projections on the line of a, each joined to its shadow by a dashed segment with a right-angle mark; the shadow of c falls on the far side of the origin. Right: b followed by d, their sum, and the three shadows on the line of a; those of b and d lie end to end and are together as long as that of the sum."}} tags=["hide-input"]
zero, b, c, d = np.array([[0, 0], [1.3, 2], [-1.5, 0.8], [1.6, -0.2]])
fig, (left, right) = panels(2, height=2.4)
for ax in (left, right):
    ax.plot(*np.stack([-1.9 * u, 3.9 * u], 1), color=GREY, lw=1)
    ax.set(aspect='equal', xlim=(-1.9, 3.8), ylim=(-0.8, 2.4))
    ax.axis('off')
draw(left, zero, b, 'C0')
draw(left, zero, c, 'C1')
draw(right, zero, b, 'C0')
draw(right, b, d, 'C1')
draw(right, zero, b + d, 'C2', below=0.14)
left.text(0.35, 1.1, 'b', color='C0')
left.text(-0.8, 0.7, 'c', color='C1')
right.text(0.35, 1.1, 'b', color='C0')
right.text(2.0, 2.05, 'd', color='C1')
right.text(1.85, 0.95, 'b + d', color='C2')
for ax in (left, right):
    ax.text(3.8, 0.5, 'line of a', color=GREY, ha='right')
left.set_title('Shadows')
right.set_title('The shadow of a sum');

# %% [markdown] tags=["caption"]
# What a shadow leaves of a vector is perpendicular to the line of $\mathbf{a}$, and the shadow of a sum is the sum of the
# shadows: the distributive law.

# %% [markdown]
# The right picture is {eq}`la.dot.properties.distributive`: walk along $\mathbf{b}$, then along $\mathbf{d}$, and the
# shadow walks from shadow to shadow.
#
# **The inequality.** In {eq}`dot-square` choose the best $t$. The left side is the square of a length, so the right
# side cannot be negative:
#
# ```{math}
# :label: la.dot.cbs
# \Big( \sum_i a_i b_i \Big)^2 \le \Big( \sum_i a_i^2 \Big) \Big( \sum_i b_i^2 \Big)
# ```
#
# ```{prf:theorem} Cauchy, Bunyakovsky, Schwarz
# :label: thm-cbs
# For every inner product, $\langle \mathbf{a}, \mathbf{b} \rangle^2 \le \langle \mathbf{a}, \mathbf{a} \rangle \langle
# \mathbf{b}, \mathbf{b} \rangle$, with equality exactly if one of the two is a multiple of the other.
# ```
#
# ```{prf:proof}
# For $\mathbf{a} = \mathbf{0}$ both sides are zero. Otherwise {eq}`dot-square`, which used only the rules of
# {prf:ref}`def-inner-product`, holds with $\langle \cdot, \cdot \rangle$. At the best $t$ it says that $\langle
# \mathbf{b}, \mathbf{b} \rangle - \langle \mathbf{a}, \mathbf{b} \rangle^2 / \langle \mathbf{a}, \mathbf{a} \rangle$ is
# the square of the length of $\mathbf{b} - t\mathbf{a}$. That is never negative, and it is zero only if
# $\mathbf{b} = t\mathbf{a}$.
# ```
#
# Shadows are never longer than what throws them. How much is missing? For the dot product, *Lagrange's identity* tells:
#
# ```{math}
# :label: dot-lagrange
# \begin{aligned}
# \sum_i a_i^2 \sum_j b_j^2 - \Big( \sum_i a_i b_i \Big)^2
# &= \tfrac12 \sum_{i,j} \big( a_i^2 b_j^2 + a_j^2 b_i^2 - 2\, a_i b_i\, a_j b_j \big) \\
# &= \sum_{i < j} (a_i b_j - a_j b_i)^2
# \end{aligned}
# ```
#
# Each term is a squared $2 \times 2$ determinant. For $n = 3$ the determinants are, up to the sign, the entries of [the
# cross product](../linear_algebra/cross_product.ipynb).

# %%
a, b = (sp.Matrix(sp.symbols(f'{v}1:6')) for v in 'ab')
squares = sum((a[i] * b[j] - a[j] * b[i]) ** 2
              for j in range(5) for i in range(j))
assert sp.expand(a.dot(a) * b.dot(b) - a.dot(b) ** 2 - squares) == 0
a = np.array([1, -2, 3, 0, 4])
beside = 3 * a + [0, 0, 0, 1, 0]
gaps = [(a @ a) * (v @ v) - (a @ v) ** 2 for v in (3 * a, beside)]
print('missing for b = 3a:', gaps[0], '  for b = 3a + e4:', gaps[1])

# %% [markdown]
# **Many lines at once.** The shadow on a plane, or on any span of columns $\mathbf{A}$ (independent, $n \times k$), is
# the nearest point $\mathbf{A}\hat{\mathbf{x}}$. Its residual should be perpendicular to every column,
# $\mathbf{A}^\top(\mathbf{b} - \mathbf{A}\hat{\mathbf{x}}) = \mathbf{0}$:
#
# ```{math}
# :label: dot-subspace
# \mathbf{A}^\top\mathbf{A}\,\hat{\mathbf{x}} = \mathbf{A}^\top\mathbf{b}, \qquad \mathbf{A}\hat{\mathbf{x}} =
# \mathbf{P}\mathbf{b}, \quad \mathbf{P} = \mathbf{A}(\mathbf{A}^\top\mathbf{A})^{-1}\mathbf{A}^\top
# ```
#
# ```{prf:theorem} Nearest point
# :label: thm-projection
# If the columns of $\mathbf{A}$ are independent, {eq}`dot-subspace` has exactly one solution, and for all $\mathbf{x}$
#
# $$\|\mathbf{b} - \mathbf{A}\mathbf{x}\|^2 = \|\mathbf{b} - \mathbf{A}\hat{\mathbf{x}}\|^2 + \|\mathbf{A}(\hat{\mathbf{x}} - \mathbf{x})\|^2 .$$
# ```
#
# ```{prf:proof}
# If $\mathbf{A}^\top\mathbf{A}\mathbf{x} = \mathbf{0}$, then $\|\mathbf{A}\mathbf{x}\|^2 =
# \mathbf{x}^\top\mathbf{A}^\top\mathbf{A}\mathbf{x} = 0$, so $\mathbf{A}\mathbf{x} = \mathbf{0}$ and
# $\mathbf{x} = \mathbf{0}$: the square matrix $\mathbf{A}^\top\mathbf{A}$ is invertible. Write $\mathbf{b} -
# \mathbf{A}\mathbf{x} = (\mathbf{b} - \mathbf{A}\hat{\mathbf{x}}) + \mathbf{A}(\hat{\mathbf{x}} - \mathbf{x})$ and
# expand by {eq}`dot-expand`. The mixed term is $2\,(\hat{\mathbf{x}} - \mathbf{x})^\top
# \mathbf{A}^\top(\mathbf{b} - \mathbf{A}\hat{\mathbf{x}}) = 0$.
# ```
#
# That is Pythagoras, and all of [linear regression](../regression/linear_regression.ipynb). If the columns are
# orthonormal, $\mathbf{A}^\top\mathbf{A} = \mathbf{I}$, and the shadow on the plane is the sum of the shadows on its
# axes. One warning: to form $\mathbf{A}^\top\mathbf{A}$ is to square. Equally long columns that differ by $\delta$ give
# entries that differ only by about $\delta^2$, and for $\delta < \sqrt{10^{-16}} = 10^{-8}$ that is below rounding.
# Here the columns are $(1, \delta, 0)$ and $(1, 0, \delta)$, whose plane has the exact normal $(\delta, -1, -1)$.

# %%
def by_normal_equations(A, b):
    return A @ np.linalg.solve(A.T @ A, A.T @ b)

def by_orthonormal_columns(A, b):
    Q, _ = np.linalg.qr(A)
    return Q @ (Q.T @ b)

rng = np.random.default_rng(4)
A, b = rng.normal(size=(6, 3)), rng.normal(size=6)
for project in (by_normal_equations, by_orthonormal_columns):
    assert close(project(A, b), A @ np.linalg.lstsq(A, b)[0])

delta, b = np.logspace(-1, -6, 11), rng.normal(size=(3, 500))
error = np.zeros((2, 11))
for i, d in enumerate(delta):
    A, normal = np.array([[1, 1], [d, 0], [0, d]]), np.array([d, -1, -1])
    true = b - np.outer(normal, normal @ b) / (normal @ normal)
    error[0, i] = abs(by_normal_equations(A, b) - true).max()
    error[1, i] = abs(by_orthonormal_columns(A, b) - true).max()
slope = np.polyfit(np.log(delta), np.log(error[0]), 1)[0]
print(f'normal equations: error grows like delta^{slope:.0f}')
assert error[1].max() < 1e-13
print('orthonormal columns: error', below(error[1], 1e-13), 'throughout')

# %% [markdown]
# Each step by which the columns come ten times closer costs two digits on the first road. The second, an orthonormal
# basis for the span, is built in [QR decomposition](../linear_algebra/qr_decomposition.ipynb).
#
# ```{exercise} ★★ Two lines that never meet
# :label: dot-lines
# Two lines in $\mathbb{R}^n$, $\mathbf{p} + s\,\mathbf{u}$ and $\mathbf{q} + t\,\mathbf{v}$, are given by points and
# directions that are not parallel. Derive their distance and write `line_distance(p, u, q, v)`.
# ```

# %%
def line_distance(p, u, q, v):
    """The distance of the lines p + s u and q + t v: a float.

    All four are arrays (n,), n >= 2. The directions u and v are at least
    0.01 long, and so is the angle between them.
    p = (0, 0, 0), u = (1, 0, 0), q = (5, 2, 0) and v = (0, 0, 3) give 2.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_least_squares(p, u, q, v):  # the best s and t
    directions = np.stack([u / np.linalg.norm(u), -v / np.linalg.norm(v)], 1)
    s_and_t = np.linalg.lstsq(directions, q - p)[0]
    return np.linalg.norm(directions @ s_and_t - (q - p))

def other_direction(u):
    def turned(v):  # the sine of the angle is the height of v / |v| over the line of u
        length = np.linalg.norm(v)
        return length > 0.01 and np.linalg.norm(v - (v @ u) / (u @ u) * u) > 0.02 * length
    return vectors(len(u), edges=True).filter(turned)

cases = dict(
    p=lambda u: vectors(len(u), edges=True),
    u=vectors((2, 6), edges=True).filter(lambda u: np.linalg.norm(u) > 0.01),
    q=lambda u: vectors(len(u), edges=True),
    v=other_direction,
)
grade(line_distance, by_least_squares, **cases)

# %% [markdown]
# ```{solution-start} dot-lines
# :class: dropdown
# ```
# All differences between a point of one line and a point of the other are $\mathbf{p} - \mathbf{q}$ plus something in
# the span of $\mathbf{u}$ and $\mathbf{v}$. The shortest is what is left of $\mathbf{p} - \mathbf{q}$ when its shadow
# on this plane is taken away. A wrong answer takes away the shadow on $\mathbf{u}$, then the one on $\mathbf{v}$; the
# second step brings back a part along $\mathbf{u}$, unless the two are perpendicular. Others take away the shadow on
# $\mathbf{u}$ alone, or use the cross product, which exists only in space.

# %% jupyter={"source_hidden": true}
def line_distance_solution(p, u, q, v):
    A = np.stack([u / np.linalg.norm(u), v / np.linalg.norm(v)], 1)
    r = p - q - A @ np.linalg.solve(A.T @ A, A.T @ (p - q))
    return np.linalg.norm(r)

def one_after_the_other(p, u, q, v):
    r = p - q
    for a in (u, v):
        r = r - (a @ r) / (a @ a) * a
    return np.linalg.norm(r)

def of_the_point(p, u, q, v):
    r = p - q
    return np.linalg.norm(r - (u @ r) / (u @ u) * u)

def only_in_space(p, u, q, v):
    n = np.cross(u, v)
    return abs((p - q) @ n) / np.linalg.norm(n)

assert grade(line_distance_solution, by_least_squares, **cases)
assert not grade(one_after_the_other, by_least_squares, **cases)
assert not grade(of_the_point, by_least_squares, **cases)
assert not grade(only_in_space, by_least_squares, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def is_projector(p, a, b):
    return (
        close(p @ b, proj(a, b))
        and close(p @ p, p)
        and close(p, p.T)
        and close(np.linalg.eigvalsh(p), [0, 0, 1])
    )

holds(
    'la.dot.projection-1',
    lambda a, b: close(proj(a, b), a * np.linalg.lstsq(a[:, None], b)[0]),
    slip=(
        'divides by the length of a, not by its square',
        lambda a, b: close(
            (a @ b) * a / np.linalg.norm(a),
            a * np.linalg.lstsq(a[:, None], b)[0],
        ),
    ),
    a=vectors(3).filter(np.any),
    b=vectors(3),
    tries=100,
)
holds(
    'la.dot.projection-2',
    lambda a, b: is_projector(np.outer(a, a) / (a @ a), a, b),
    slip=(
        'does not divide by the squared length',
        lambda a, b: is_projector(np.outer(a, a), a, b),
    ),
    a=vectors(3).filter(np.any),
    b=vectors(3),
    tries=100,
)
holds(
    'la.dot.cbs',
    lambda a, b: (a @ b) ** 2 <= (a @ a) * (b @ b) * (1 + 1e-14),
    slip=(
        'squares entry by entry before it adds',
        lambda a, b: (a @ b) ** 2 <= (a * a) @ (b * b) * (1 + 1e-14),
    ),
    a=vectors(4),
    b=vectors(4),
    tries=100,
)

# %% [markdown]
# ## Angles and cosine similarity
#
# In $\mathbb{R}^{1000}$ an angle cannot be measured with a protractor. But {prf:ref}`thm-cbs` says that $\mathbf{a}
# \cdot \mathbf{b}$ lies between $-\|\mathbf{a}\|\,\|\mathbf{b}\|$ and $\|\mathbf{a}\|\,\|\mathbf{b}\|$, in every
# dimension and for every inner product. So {eq}`la.dot.geometric` can be turned around.
#
# ```{prf:definition} Angle
# :label: def-angle
# The *angle* between $\mathbf{a} \ne \mathbf{0}$ and $\mathbf{b} \ne \mathbf{0}$ is the $\theta \in [0, \pi]$ with
# $\cos\theta = \dfrac{\mathbf{a} \cdot \mathbf{b}}{\|\mathbf{a}\|\,\|\mathbf{b}\|}$, the *cosine similarity* of the
# two.
# ```
#
# (la.dot.similarity)=
# The dot product measures similarity in this sense: if the lengths stay fixed and $\mathbf{b}$ turns away from
# $\mathbf{a}$, then the product falls all the way, from $\|\mathbf{a}\|\,\|\mathbf{b}\|$ to its negative. The lengths
# must be fixed, because otherwise $2\mathbf{a}$ would be more similar to $\mathbf{a}$ than $\mathbf{a}$ itself. For
# unit vectors {eq}`dot-expand` becomes
#
# ```{math}
# :label: aw.vec-ops.max-dot
# \begin{gathered}
# \|\mathbf{x} - \mathbf{w}\|^2 = 2 - 2\, \mathbf{x} \cdot \mathbf{w}, \qquad\text{so that} \\
# \mathbf{x} \cdot \mathbf{w} \le 1, \qquad \mathbf{x} \cdot \mathbf{w} = 1 \iff \mathbf{x} = \mathbf{w}
# \qquad\text{for all } \|\mathbf{x}\| = \|\mathbf{w}\| = 1 .
# \end{gathered}
# ```
#
# So for unit vectors the largest product means the smallest distance.

# %%
def length(x):  # over the last axis
    return np.sqrt((x * x).sum(-1))

def cosine(a, b):
    return (a * b).sum(-1) / (length(a) * length(b))

a, b = np.random.default_rng(6).normal(size=(2, 100, 7))
by_torch = torch.cosine_similarity(torch.tensor(a), torch.tensor(b))
assert close(cosine(a, b), by_torch)

# %% [markdown]
# **Resonance.** Let $\mathbf{x}$ be an input and $\mathbf{w}$ the parameters of a neuron. The product is largest when
# the two point the same way, when they *resonate*, and gradient ascent brings this about. The gradient of $\mathbf{x}
# \cdot \mathbf{w}$ with respect to $\mathbf{w}$ is $\mathbf{x}$, so climbing means to add a little of the input; to
# keep the length, we divide by it:
#
# ```{math}
# :label: aw.vec-ops.resonate
# \mathbf{w} \leftarrow \frac{\mathbf{w} + \eta\,\mathbf{x}}{\|\mathbf{w} + \eta\,\mathbf{x}\|}
# \quad\longrightarrow\quad \frac{\mathbf{x}}{\|\mathbf{x}\|}
# ```
#
# Why does it arrive? Split $\mathbf{w}$ into $c = \cos\theta$ along $\mathbf{x}$ and $s = \sin\theta$ across. A step adds
# $\eta\|\mathbf{x}\|$ to $c$ and nothing to $s$, so $\cot\theta = c / s$ grows by
# $\eta\|\mathbf{x}\| / s \ge \eta\|\mathbf{x}\|$. Hence $c > 0$ after finitely many steps, unless $\mathbf{w}$ is exactly
# opposite ($s = 0$), and from then on each step divides $\tan\theta$ by
# $1 + \eta\|\mathbf{x}\|/c \ge 1 + \eta\|\mathbf{x}\|$. Without the division the weights turn the right way too, and grow
# for ever: Hebb's rule for neurons, which {cite}`oja1982simplified` repaired in this manner.

# %%
def resonate(w, x, keep_length=True, steps=60):
    for _ in range(steps):
        w = w + x / 2
        w = w / np.linalg.norm(w) if keep_length else w
    return w

x, w = np.array([0.6, 0.8]), np.array([-0.8, -0.6])
for steps in (0, 2, 4, 8):
    product = resonate(w, x, steps=steps) @ x
    grown = np.linalg.norm(resonate(w, x, False, steps))
    print(f'{steps} steps: product {product:.3f},'
          f' length without the division {grown:.2f}')

# %% [markdown]
# **All of trigonometry.** Put two arrows on the unit circle,
#
# ```{math}
# :label: la.dot.trig-vectors
# \mathbf{a} = \begin{bmatrix} \cos\alpha \\ \sin\alpha \end{bmatrix}, \qquad
# \mathbf{b} = \begin{bmatrix} \cos\beta \\ \sin\beta \end{bmatrix}, \qquad
# \|\mathbf{a}\| = \|\mathbf{b}\| = 1 ,
# ```
#
# and compare the two faces of their product. They enclose the angle $\alpha - \beta$, up to its sign and full turns,
# which the cosine does not see:
#
# ```{math}
# :label: la.dot.trig-difference
# \mathbf{a} \cdot \mathbf{b} = \cos\alpha \cos\beta + \sin\alpha \sin\beta = \cos(\alpha - \beta)
# ```
#
# ```{math}
# :label: la.dot.trig-even
# \cos(\alpha - \beta) = \cos(\beta - \alpha)
# ```
#
# The last line is the symmetry $\mathbf{a} \cdot \mathbf{b} = \mathbf{b} \cdot \mathbf{a}$. The other formulas follow
# by putting things in. With $-\beta$ for $\beta$, $\cos(\alpha + \beta) = \cos\alpha\cos\beta - \sin\alpha\sin\beta$.
# With $\tfrac\pi2 - \alpha$ for $\alpha$, $\sin(\alpha + \beta) = \cos\big((\tfrac\pi2 - \alpha) - \beta\big) =
# \sin\alpha\cos\beta + \cos\alpha\sin\beta$. With $\beta = \alpha$,
# $\cos 2\alpha = \cos^2\alpha - \sin^2\alpha = 1 - 2\sin^2\alpha$.

# %%
def arm(alpha):
    return np.array([np.cos(alpha), np.sin(alpha)])

def difference(p, q):  # the formula for cos(p - q), in symbols
    return sp.cos(p) * sp.cos(q) + sp.sin(p) * sp.sin(q)

alpha, beta = sp.symbols('alpha beta', real=True)
derived = {
    sp.cos(alpha + beta): difference(alpha, -beta),
    sp.sin(alpha + beta): difference(sp.pi / 2 - alpha, beta),
    sp.cos(2 * alpha): difference(alpha, -alpha),
}
for name, formula in derived.items():
    assert sp.simplify(sp.expand_trig(name) - formula) == 0
    print(name, '=', formula)

# %% [markdown]
# **Small angles and the arccosine.** {prf:ref}`def-angle` invites one to compute $\theta$ by an arccosine. For small
# angles that is bad advice. Near its top the cosine is flat, $\cos\theta \approx 1 - \theta^2/2$, and below $\theta
# \approx 10^{-8}$ a double cannot tell it from 1. An error of $u$ in the cosine moves the angle by $u/\sin\theta$.
# Rounding may even lift the cosine above 1, where there is no angle at all. By {eq}`aw.vec-ops.max-dot` and the last
# formula above, $\|\mathbf{u} - \mathbf{v}\|^2 = 2 - 2\cos\theta = 4\sin^2\tfrac\theta2$ for unit vectors, and likewise
# $\|\mathbf{u} + \mathbf{v}\|^2 = 4\cos^2\tfrac\theta2$. So
#
# ```{math}
# :label: dot-half-angle
# \theta = 2 \arctan \frac{\|\mathbf{u} - \mathbf{v}\|}{\|\mathbf{u} + \mathbf{v}\|},
# \qquad \mathbf{u} = \frac{\mathbf{a}}{\|\mathbf{a}\|}, \quad \mathbf{v} = \frac{\mathbf{b}}{\|\mathbf{b}\|},
# ```
#
# and this is steep everywhere. We can measure the error with vectors whose angle is known to all digits. If
# $\mathbf{a}$ has the integers $x, y, z, w$ as entries, then $\mathbf{p} = (-y, x, -w, z)$ is perpendicular to it and
# equally long, and $\mathbf{a} + 2^{-k}\mathbf{p}$, which a double holds without rounding, lies at the angle $\arctan
# 2^{-k}$.

# %%
def by_arccosine(a, b):
    return np.arccos(np.clip(cosine(a, b), -1, 1))

def by_half_angle(a, b):
    u, v = a / length(a)[:, None], b / length(b)[:, None]
    return 2 * np.arctan2(length(u - v), length(u + v))

rng = np.random.default_rng(7)
a = rng.integers(-1000, 1001, (200, 4)).astype(float)
p = a[:, [1, 0, 3, 2]] * [-1, 1, -1, 1]
tangent = 2.0 ** -np.arange(41)
angle = np.arctan(tangent)
error = {f: [abs(f(a, a + t * p) - true).max()
             for t, true in zip(tangent, angle, strict=True)]
         for f in (by_arccosine, by_half_angle)}
assert max(error[by_half_angle]) < 4e-16  # an ulp of π/4 is 1.1e-16
assert max(error[by_arccosine]) > 1.4e-8  # the angle of the cosine 1 - 2⁻⁵³
assert np.cos(np.float32(2e-4)) == 1  # in single precision
x = rng.normal(size=(10_000, 8))
print('some cosines of x and 3 x are above 1:', (cosine(x, 3 * x) > 1).any())

# %% mystnb={"image": {"alt": "Largest error of the angle against the angle, both on logarithmic scales. The arccosine's error grows as the angle shrinks, from about 1e-16 to above 1e-8, where it stays. The half-angle formula's error is about 1e-16 at all angles."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5, 2.7))
for f, name in ((by_arccosine, 'arccosine'), (by_half_angle, 'half angle')):
    ax.loglog(angle, error[f], label=name)
ax.loglog(angle, angle, '--', color=GREY, lw=1, label='the angle itself')
ax.set(xlim=(1.3, 5e-13), ylim=(1e-17, 10))
ax.set_xlabel('angle (radians), shrinking')
ax.set(ylabel='largest error (radians)', yticks=[1e-16, 1e-12, 1e-8, 1e-4, 1])
ax.legend(loc='upper right');

# %% [markdown] tags=["caption"]
# The error of the arccosine grows as the angle shrinks, until near $10^{-8}$ it is as large as the angle; the half-angle
# formula keeps an error of about $10^{-16}$ at all angles.

# %% [markdown]
# Beyond the point where blue meets the dashed line, the error exceeds the angle, and the exact cosine rounds to 1. In single
# precision that happens at $2 \cdot 10^{-4}$ already.
#
# **Alike in which sense?** Three ways to look for the nearest neighbour of $\mathbf{a}$ are in use: the largest
# product, the largest cosine, the smallest distance. Since
# $\|\mathbf{a} - \mathbf{b}\|^2 = \|\mathbf{a}\|^2 + \|\mathbf{b}\|^2 - 2\,\mathbf{a} \cdot \mathbf{b}$, they agree if
# all $\mathbf{b}$ have the same length, and in general they do not. Each of the 1797 handwritten digits names its
# nearest neighbour among the others; a name is right if it is the same digit. Then we dim the pictures that ask, each
# to a brightness between 0.3 and 1.

# %%
x, y, _ = digits()
rng = np.random.default_rng(8)
brightness = rng.uniform(0.3, 1, len(x))
square = (x * x).sum(1)  # (1797,)
print('                  right   right if dimmed   ever named')
for name, score in {
    'product': lambda xs: xs @ x.T,
    'cosine': lambda xs: xs @ x.T / np.sqrt(square),
    'distance': lambda xs: 2 * xs @ x.T - square,  # ||a|| plays no role
}.items():
    chosen = []
    for xs in (x, brightness[:, None] * x):
        s = score(xs)
        np.fill_diagonal(s, -np.inf)
        chosen.append(s.argmax(1))
    right = [(y[j] == y).mean() for j in chosen]
    named = len(np.unique(chosen[0]))
    print(f'largest {name:8} {right[0]:6.3f} {right[1]:17.3f} {named:12}'
          .replace('largest distance', 'least distance  '))

# %% mystnb={"image": {"alt": "Four panels. First: dot product against angle, three falling cosine curves for lengths in the ratio 1, 2 and 3. The others show the same cloud of points and one arrow; the thirty points most similar to the arrow lie beyond a straight line across it for the product, inside a wedge for the cosine, and in a disc around its tip for the distance."}} tags=["hide-input"]
a, cloud = np.array([1.0, 0.6]), np.random.default_rng(9).normal(size=(400, 2))
values = {
    'largest product': cloud @ a, 'largest cosine': cosine(cloud, a),
    'least distance': -((cloud - a) ** 2).sum(1),
}
fig, axes = panels(2, 2, height=2.7)
t = np.linspace(0, np.pi, 200)
for k in (3, 2, 1):
    name = f'‖b‖ = {k if k > 1 else ""}‖a‖'
    axes[0, 0].plot(np.degrees(t), k * np.cos(t), label=name)
axes[0, 0].set(xticks=[0, 90, 180], xlabel='angle (degrees)')
axes[0, 0].set_title('a · b, for ‖a‖ = 1')
axes[0, 0].legend()
for ax, (name, value) in zip(axes.flat[1:], values.items(), strict=True):
    best = value.argsort()[-30:]
    ax.scatter(*cloud.T, c=value, s=6, cmap='cool')
    ax.scatter(*cloud[best].T, s=26, facecolors='none', edgecolors='C1', lw=1)
    ax.annotate('', a, (0, 0), arrowprops=dict(
        arrowstyle='-|>', color=GREY, lw=2, shrinkA=0, shrinkB=0))
    ax.set(aspect='equal', xlim=(-3.2, 3.2), ylim=(-3.1, 3.1))
    ax.axis('off')
    ax.set_title(f'the 30 of {name}')

# %% [markdown] tags=["caption"]
# Similar in three ways: the product favours long vectors, the cosine ignores lengths, and the distance wants both direction
# and length to agree, so each names other neighbours of $\mathbf{a}$.

# %% [markdown]
# The product runs after long vectors: most digits are never named, and a few bright ones are named again and again.
# Dimming the question does not change its answer, since all products shrink alike, nor that of the cosine, but it moves
# the point from which distance is measured. (Language models compare words by cosine or by product, and the choice is
# the one in this picture.)
#
# ```{exercise} ★★ Similar to the same thing
# :label: dot-chain
# The cosine of $\mathbf{a}$ and $\mathbf{b}$ is $p$, that of $\mathbf{b}$ and $\mathbf{c}$ is $q$. How large and how
# small can the cosine of $\mathbf{a}$ and $\mathbf{c}$ be? Derive it from {prf:ref}`thm-cbs`, and write `chain(p, q)`,
# which returns `[least, largest]`.
# ```

# %%
def chain(p, q):
    """The least and the largest cosine of a and c: an array or list (2,).

    The cosines p and q are floats from -1 to 1, both included.
    chain(0.0, 0.0) is [-1, 1], and chain(1.0, 0.5) is [0.5, 0.5].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_angles(p, q):
    return np.sort(np.cos(np.arccos(p) + np.arccos(q) * np.array([-1, 1])))

from_minus_one = on(0.0, 1.0, -1.0) | scalars(-1, 1)
cases = dict(p=from_minus_one, q=from_minus_one)
grade(chain, by_angles, **cases)

# %% [markdown]
# ```{solution-start} dot-chain
# :class: dropdown
# ```
# Let all three have length one, and split $\mathbf{a} = p\,\mathbf{b} + \mathbf{r}$,
# $\mathbf{c} = q\,\mathbf{b} + \mathbf{s}$ with $\mathbf{r}, \mathbf{s}$ perpendicular to $\mathbf{b}$. By Pythagoras
# $\|\mathbf{r}\| = \sqrt{1 - p^2}$ and $\|\mathbf{s}\| = \sqrt{1 - q^2}$, so
# $\mathbf{a} \cdot \mathbf{c} = pq + \mathbf{r} \cdot \mathbf{s}$ lies between $pq \pm \sqrt{1 - p^2}\sqrt{1 - q^2}$,
# and both ends occur. With $p = \cos\alpha$, $q = \cos\beta$ the ends are $\cos(\alpha \pm \beta)$: angles obey the
# triangle rule. Two things that are quite similar to a third may have nothing in common with each other. The wrong
# answers forget the roots, allow every cosine, or turn the two ends round.

# %% jupyter={"source_hidden": true}
def chain_solution(p, q):
    room = np.sqrt((1 - p * p) * (1 - q * q))
    return np.array([p * q - room, p * q + room])

def without_roots(p, q):
    room = (1 - p * p) * (1 - q * q)
    return np.array([p * q - room, p * q + room])

def anything(p, q):
    return np.array([-1, 1])

def largest_first(p, q):
    return chain_solution(p, q)[::-1]

assert grade(chain_solution, by_angles, **cases)
assert not grade(without_roots, by_angles, **cases)
assert not grade(anything, by_angles, **cases)
assert not grade(largest_first, by_angles, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
theta = np.linspace(0, np.pi, 200)

def turned(a, seed):  # (200, n): a, turned by each theta
    p = np.random.default_rng(seed).normal(size=a.size)
    p -= (a @ p) / (a @ a) * a
    p *= np.linalg.norm(a) / np.linalg.norm(p)
    return np.outer(np.cos(theta), a) + np.outer(np.sin(theta), p)

def falls(values):
    return (np.diff(values) < 0).all()

growing = 1 + theta  # the lengths, not held fixed
holds(
    'la.dot.similarity',
    lambda a, seed: falls(turned(a, seed) @ a),
    slip=(
        'lets the vector grow while it turns',
        lambda a, seed: falls(growing * (turned(a, seed) @ a)),
    ),
    a=vectors(3).filter(np.any),
    seed=seeds(),
    tries=60,
)
holds(
    'aw.vec-ops.max-dot',
    lambda x, w: (
        close(length(x / length(x) - w / length(w)) ** 2, 2 - 2 * cosine(x, w))
        and cosine(x, w) <= 1 + 1e-15
    ),
    slip=(
        'forgets to divide by the lengths',
        lambda x, w: x @ w <= w @ w,
    ),
    x=vectors(3).filter(np.any),
    w=vectors(3).filter(np.any),
    tries=60,
)

def unit(seed):  # (2, 5), two random directions
    v = np.random.default_rng(seed).normal(size=(2, 5))
    return v / np.linalg.norm(v, axis=1)[:, None]

holds(
    'aw.vec-ops.resonate',
    lambda seed: close(resonate(*unit(seed)), unit(seed)[1]),
    slip=(
        'lets the weights grow for ever',
        lambda seed: close(resonate(*unit(seed), False), unit(seed)[1]),
    ),
    seed=seeds(),
)

# %% tags=["checks"]
holds(
    'la.dot.trig-vectors',
    lambda alpha: close(arm(alpha) @ [1, 1j], np.exp(1j * alpha)),
    slip=(
        'exchanges the sine and the cosine',
        lambda alpha: close(arm(alpha) @ [1j, 1], np.exp(1j * alpha)),
    ),
    alpha=scalars(),
)
holds(
    'la.dot.trig-difference',
    lambda alpha, beta: close(arm(alpha) @ arm(beta), np.cos(alpha - beta)),
    slip=(
        'adds the two angles',
        lambda alpha, beta: close(
            arm(alpha) @ arm(beta), np.cos(alpha + beta)
        ),
    ),
    alpha=scalars(),
    beta=scalars(),
    tries=100,
)
holds(
    'la.dot.trig-even',
    lambda alpha, beta: close(np.cos(alpha - beta), np.cos(beta - alpha)),
    slip=(
        'calls the sine even',
        lambda alpha, beta: close(np.sin(alpha - beta), np.sin(beta - alpha)),
    ),
    alpha=scalars(),
    beta=scalars(),
    tries=100,
)

# %% [markdown]
# ## In high dimensions random vectors are nearly perpendicular
#
# How similar are two vectors that have nothing to do with each other? In the plane, any angle is as likely as any
# other. In $\mathbb{R}^{1000}$, draw two arrows blindly, and they are perpendicular, nearly. To draw a direction
# without preference, take $d$ independent standard normal numbers $\mathbf{g}$ and divide by the length: the density of
# $\mathbf{g}$ depends on $\|\mathbf{g}\|$ only, so $\mathbf{u} = \mathbf{g} / \|\mathbf{g}\|$ prefers no direction, and
# does not depend on $\|\mathbf{g}\|$.
#
# ```{prf:theorem} Concentration of angles
# :label: thm-concentration
# Let $\theta$ be the angle between a random direction in $\mathbb{R}^d$ and a fixed one, or a second, independent random
# one. Then for every $t \ge 0$
#
# $$\mathbb{E} \cos\theta = 0, \qquad \mathbb{E} \cos^2\theta = \frac1d, \qquad
# \mathbb{P}(|\cos\theta| \ge t) \le 2\, e^{-d t^2/2} .$$
# ```
#
# ```{prf:proof}
# Turn space so that the other direction is $\mathbf{e}_1$; then $\cos\theta = u_1$. All $u_i$ have the same
# distribution, symmetric about zero, and $\sum_i u_i^2 = 1$, so $\mathbb{E} u_1 = 0$ and $\mathbb{E} u_1^2 = 1/d$. For
# the tail compare $u_1$ with $g_1 = \|\mathbf{g}\|\, u_1$. By independence, and because $s \mapsto s^k$ is convex
# (Jensen's inequality),
#
# $$\mathbb{E}\, g_1^{2k} = \mathbb{E} \|\mathbf{g}\|^{2k}\; \mathbb{E}\, u_1^{2k}
# \ge \big( \mathbb{E} \|\mathbf{g}\|^2 \big)^k\, \mathbb{E}\, u_1^{2k} = d^k\, \mathbb{E}\, u_1^{2k} .$$
#
# So no even moment of $u_1$ exceeds that of $g_1/\sqrt{d}$; the odd ones are zero. In the exponential series this gives
# $\mathbb{E}\, e^{\lambda u_1} \le \mathbb{E}\, e^{\lambda g_1/\sqrt d} = e^{\lambda^2/(2d)}$. If $u_1 \ge t$, then
# $e^{\lambda(u_1 - t)} \ge 1$, hence $\mathbb{P}(u_1 \ge t) \le e^{-\lambda t}\, e^{\lambda^2/(2d)}$ for every
# $\lambda > 0$. The best is $\lambda = dt$, with $e^{-dt^2/2}$. Below $-t$ it is the same.
# ```
#
# Even the exact law is at hand. Cut the unit sphere at height $t$. The cut is a sphere of radius $\sqrt{1 - t^2}$ and
# of dimension $d - 2$, and the rim between $t$ and $t + dt$ is slanted, of width $dt/\sqrt{1 - t^2}$. So the density is
# proportional to $(1 - t^2)^{(d - 2)/2} \cdot (1 - t^2)^{-1/2} = (1 - t^2)^{(d - 3)/2}$. On the ordinary sphere it is
# constant, as Archimedes knew.

# %%
def directions(rng, n, d):
    g = rng.normal(size=(n, d))
    return g / np.linalg.norm(g, axis=1)[:, None]

rng = np.random.default_rng(10)
cosines = {d: directions(rng, 20_000, d)[:, 0] for d in (2, 3, 10)}
pairs = (directions(rng, 4000, 1000) * directions(rng, 4000, 1000)).sum(1)
cosines[1000] = pairs
for d, c in cosines.items():
    law = stats.beta((d - 1) / 2, (d - 1) / 2, loc=-1, scale=2)
    p_value = stats.kstest(c, law.cdf).pvalue
    off = ((c * c).mean() - 1 / d) / (c * c).std() * np.sqrt(len(c))
    assert p_value > 1e-3 and abs(off) < 5
    t = np.array([1.3, 2, 3])
    shares = (abs(c) >= t[:, None] / np.sqrt(d)).mean(1)
    bounds = 2 * np.exp(-t * t / 2)
    assert (shares <= bounds).all() and (bounds < 1).all()
    print(f'd = {d:4}: p-value {p_value:.2f}; mean square off by {off:+.1f}'
          f' standard errors; {(shares / bounds).max():.2f} of the bound')

# %% mystnb={"image": {"alt": "Four histograms of the cosine between random directions with the exact density drawn over them: U-shaped in 2 dimensions, flat in 3, a bell in 10, a narrow spike at zero in 1000."}} tags=["hide-input"]
fig, axes = panels(4, height=2.0)
t = np.linspace(-0.995, 0.995, 1600)
for ax, (d, c) in zip(axes, cosines.items(), strict=True):
    law = stats.beta((d - 1) / 2, (d - 1) / 2, loc=-1, scale=2)
    edges = np.linspace(-1, 1, 41 if d < 1000 else 161)
    ax.hist(c, edges, density=True, alpha=0.5)
    ax.plot(t, law.pdf(t), color='C1', lw=1.2)
    ax.set(title=f'd = {d}', yticks=[], xticks=[-1, 0, 1], xlabel='cos θ')
    ax.set_ylim(0, 2 if d == 2 else 1.15 * law.pdf(0 if d > 2 else 0.9))
    ax.spines['left'].set_visible(False)

# %% [markdown] tags=["caption"]
# The cosine of the angle between random directions gathers at zero as the dimension grows: it is uniform for $d = 3$, and
# for $d = 1000$ nearly all directions are perpendicular.

# %% [markdown]
# Only $d$ directions can be exactly perpendicular to each other. But how many nearly? Among $N$ random directions there
# are fewer than $N^2/2$ pairs, and each has a cosine beyond $\pm t$ with probability at most $2e^{-dt^2/2}$. So the
# probability that *any* pair has one is below $N^2 e^{-dt^2/2}$, and as long as that is below 1 such a family exists:
# $N$ may grow like $e^{dt^2/4}$. In $\mathbb{R}^{1000}$ there is room for $e^{1000 \cdot 0.2^2/4} \approx 22000$
# directions, all within 12 degrees of a right angle to each other ($t = 0.2$). So there can be many more features,
# nearly independent, than axes; networks seem to make use of that room {cite}`elhage2022toy`.

# %%
N, d = 2000, 1000
u = directions(np.random.default_rng(11), N, d)
c = u @ u.T  # (N, N)
np.fill_diagonal(c, 0)
t = np.sqrt(2 * np.log(100 * N * N) / d)  # passed with probability < 1/100
assert abs(c).max() < t
print(f'{N} random directions in {d} dimensions')
print(f'largest |cos|: {abs(c).max():.3f}, expected below {t:.3f}')

# %% [markdown]
# Data are not random directions, however. If $\mathbf{x}$ and $\mathbf{y}$ are independent with mean
# zero and covariance $\boldsymbol{\Sigma}$, then $\mathbb{E} (\mathbf{x} \cdot \mathbf{y})^2 = \mathbb{E}\,
# \mathbf{x}^\top (\mathbf{y}\mathbf{y}^\top) \mathbf{x} = \operatorname{tr} \boldsymbol{\Sigma}^2$ and
# $\mathbb{E} \|\mathbf{x}\|^2 = \operatorname{tr} \boldsymbol{\Sigma}$, so a typical $\cos^2$ is not $1/d$ but about
# $1/d_{\text{eff}}$ with the *effective dimension* $d_{\text{eff}} = (\operatorname{tr} \boldsymbol{\Sigma})^2 /
# \operatorname{tr} \boldsymbol{\Sigma}^2$. It is $d$ if all directions vary alike, and less otherwise. Handwritten
# digits have 64 pixels:

# %%
x = digits().x
x = x - x.mean(0)
sigma = np.cov(x.T)  # (64, 64)
v = x / np.linalg.norm(x, axis=1)[:, None]
c = (v @ v.T)[np.triu_indices(len(x), 1)]
effective = np.trace(sigma) ** 2 / (sigma ** 2).sum()
print(f'1 / mean of cos^2:         {1 / (c * c).mean():.0f}')
print(f'(tr Sigma)^2 / tr Sigma^2: {effective:.0f}')

# %% [markdown]
# ```{exercise} ★★★ As perpendicular as possible
# :label: dot-welch
# Take $N > d \ge 1$ unit vectors in $\mathbb{R}^d$. They cannot all be perpendicular. Show that some two of them have
# $\cos^2\theta \ge \dfrac{N - d}{d\,(N - 1)}$, and write `least_square(n, d)` for this bound. (Hint: the Gram matrix
# has at most $d$ eigenvalues that are not zero, and their sum is its trace. Apply {prf:ref}`thm-cbs` to them and
# $(1, \dots, 1)$.) The corners of a simplex and the six long
# diagonals of the icosahedron reach it. Then explore: can four lines in space reach it? And five?
# ```

# %%
def least_square(n, d):
    """The bound on the largest squared cosine of n lines in R^d: a float.

    n and d are ints with n > d >= 1. least_square(6, 3) is 0.2.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_example(n, d):  # n unit vectors for which both inequalities of the proof, averaged over pairs, are sharp
    angles = 2 * np.pi * np.arange(n)[:, None] / n * np.arange(1, d // 2 + 1)
    v = np.concatenate([np.cos(angles), np.sin(angles), np.full((n, d % 2), 0.5**0.5)], 1)
    c = cosine_table(v)
    return (c[np.triu_indices(n, 1)] ** 2).mean()

def cosine_table(v):
    v = v / np.linalg.norm(v, axis=1)[:, None]
    return v @ v.T

cases = dict(n=lambda d: integers(d + 1, d + 30), d=integers(1, 12))
grade(least_square, by_example, **cases)

# %% [markdown]
# ```{solution-start} dot-welch
# :class: dropdown
# ```
# Let $\lambda_1, \dots, \lambda_d \ge 0$ be the eigenvalues. Their sum is the trace, $N$, and the sum of their squares
# is the sum of the squares of all entries:
#
# $$\begin{aligned}
# N^2 = \Big(\sum_k 1 \cdot \lambda_k\Big)^2 \le d \sum_k \lambda_k^2 &= d\, \Big( N + \sum_{i \ne j} \cos^2\theta_{ij}
# \Big) \\ &\le d\, \big( N + N(N - 1) \max \cos^2\theta_{ij} \big). \end{aligned}$$
#
# Solve for the maximum. The wrong answers average over all $N^2$ entries, those on the diagonal included, forget the
# dimension, or give the cosine in place of its square. This is the *Welch
# bound* {cite}`welch1974lower`. Four lines reach it as the diagonals of a cube; five in space cannot.

# %% jupyter={"source_hidden": true}
def least_square_solution(n, d):
    return (n - d) / (d * (n - 1))

def diagonal_counted(n, d):
    return (n - d) / (d * n)

def without_dimension(n, d):
    return (n - d) / (n - 1)

def cosine_itself(n, d):
    return ((n - d) / (d * (n - 1))) ** 0.5

assert grade(least_square_solution, by_example, **cases)
assert not grade(diagonal_counted, by_example, **cases)
assert not grade(without_dimension, by_example, **cases)
assert not grade(cosine_itself, by_example, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Where it matters: template matching by normalized correlation
#
# To look for a *template* $\mathbf{t}$, a small picture, in a large one, cut from the large one every window of the
# same size, and ask which window $\mathbf{x}$ is most similar. This is *template matching*, and each layer of
# a convolutional network does it with templates that it has learned. What does similar mean? When the light changes, a
# window changes into $\alpha\mathbf{x} + \beta\mathbf{1}$ with $\alpha > 0$, where $\mathbf{1} = (1, \dots, 1)$: more
# contrast, more brightness. A good score does not notice. So first remove what a constant can explain, the shadow on
# $\mathbf{1}$. By {eq}`la.dot.projection-1` it is $\frac{\mathbf{1} \cdot \mathbf{x}}{n}\,\mathbf{1}$, the mean. What
# is left is $\mathbf{Q}\mathbf{x} = \mathbf{x} - \bar{x}\,\mathbf{1}$, and
# $\mathbf{Q}(\alpha\mathbf{x} + \beta\mathbf{1}) = \alpha\,\mathbf{Q}\mathbf{x}$. Then take the cosine, which ignores
# $\alpha$:
#
# ```{math}
# :label: aw.vec-ops.template
# \operatorname{ncc}(\mathbf{x}, \mathbf{t}) = \frac{\mathbf{Q}\mathbf{x} \cdot
# \mathbf{Q}\mathbf{t}}{\|\mathbf{Q}\mathbf{x}\|\,\|\mathbf{Q}\mathbf{t}\|} = \frac{\mathbf{x} \cdot
# \mathbf{Q}\mathbf{t}}{\|\mathbf{Q}\mathbf{t}\| \sqrt{\|\mathbf{x}\|^2 - (\mathbf{1} \cdot \mathbf{x})^2/n}}
# ```
#
# This *normalized cross-correlation* is the correlation coefficient of statistics. The second form is the one to
# compute, and projections prove it. $\mathbf{Q}$ is its own transpose and its own square, so
# $\mathbf{Q}\mathbf{x} \cdot \mathbf{Q}\mathbf{t} = \mathbf{x} \cdot \mathbf{Q}\mathbf{t}$: no window has to be
# centred. And by Pythagoras $\|\mathbf{Q}\mathbf{x}\|^2 = \|\mathbf{x}\|^2 - \|\bar{x}\,\mathbf{1}\|^2$. It remains to
# have, for all windows, one dot product and two sums. The sums come from running totals: the sum over a window is the
# difference of two totals, once along each axis. (A window without any contrast has no direction. A small floor keeps
# rounding errors from becoming matches.)

# %%
def box_sums(x, shape):  # the sum over every window
    for axis, k in enumerate(shape):
        total = np.moveaxis(np.insert(x.cumsum(axis), 0, 0, axis), axis, 0)
        x = np.moveaxis(total[k:] - total[:-k], 0, axis)
    return x

def ncc(x, t, floor=1e-9):
    t = t - t.mean()
    spread = box_sums(x * x, t.shape) - box_sums(x, t.shape) ** 2 / t.size
    spread = np.maximum(spread, floor * t.size)
    return correlate(x, t, 'valid') / np.sqrt(spread) / np.linalg.norm(t)

def by_definition(x, t):  # a loop over all windows
    windows = sliding_window_view(x, t.shape)
    places = np.ndindex(windows.shape[:2])
    c = [np.corrcoef(windows[p].ravel(), t.ravel())[0, 1] for p in places]
    return np.reshape(c, windows.shape[:2])

# %%
x, t = np.random.default_rng(12).normal(size=(2, 50, 60))
t = t[:10, :12]
assert close(ncc(x, t), by_definition(x, t))
assert close(ncc(3 * x + 7, t), ncc(x, t))

faster = []
for part in (x[:11, :13], x):
    slow, fast = seconds(
        lambda: by_definition(part, t), lambda: ncc(part, t))
    faster.append(slow > 20 * fast)
    print(f'{ncc(part, t).size} windows: more than 20 times faster than '
          f'one by one: {faster[-1]}')
assert faster == [False, True]

# %% [markdown]
# (`correlate` is scipy's; it takes the way through the Fourier transform where that is faster, see
# [Convolutions](../convolution/convolutions.ipynb).) First a signal. In weak noise we plant a faded copy of a template
# of length 64, raised by a constant. Elsewhere somebody shouts: noise a hundred times as strong. For 64 unrelated
# numbers {prf:ref}`thm-concentration` expects cosines of about $\tfrac18$ (in the 63 dimensions that $\mathbf{Q}$
# leaves), and reaching even 0.8 has a probability below $2e^{-63 \cdot 0.8^2/2} \approx 3.5 \cdot 10^{-9}$ per window;
# the planted copy has $0.5/\sqrt{0.5^2 + 0.1^2} \approx 0.98$. The plain product is largest where the signal is loud.

# %%
def planted(seed):  # (signal, template, position)
    rng = np.random.default_rng(seed)
    t, signal = rng.normal(size=64), 0.1 * rng.normal(size=500)
    position = rng.integers(0, 200)
    signal[position:position + 64] += 0.5 * t + 0.3
    signal[320:440] *= 100
    return signal, t, position

# %% mystnb={"image": {"alt": "Three rows over the same axis. A signal with a quiet first part and a loud burst; the product with the template, largest inside the burst; the normalized correlation, near zero everywhere except for one spike at the planted copy."}} tags=["hide-input"]
signal, t, position = planted(1)
fig, axes = plt.subplots(3, figsize=(6, 3.9), sharex=True)
for ax, line, name in zip(axes, (
    signal, np.correlate(signal, t), ncc(signal, t),
), ('signal', 'product', 'ncc'), strict=True):
    ax.plot(line, lw=1)
    ax.set_title(name)
axes[0].plot([position, position + 64], [8, 8], color='C1')
axes[0].text(position, 11, 'planted here', color='C1')
axes[2].set(xlabel='position', yticks=[0, 0.5, 1]);

# %% [markdown] tags=["caption"]
# The product with the template is largest where the signal is loudest, in noise a hundred times as strong; the normalized
# correlation comes near one only at the planted copy.

# %% [markdown]
# Now a photograph, 213 by 320 pixels. From forty random places with some contrast we cut templates of 24 by 24 pixels
# and look for them in the same photograph, then in the photograph made brighter, with less contrast, lit from one side,
# with noise, and with all of this. Found means: right to one pixel, out of $190 \cdot 297 = 56\,430$ windows. Five
# scores compete. The product; the product with the centred template, which by {eq}`la.dot.properties.distributive` is
# $\mathbf{x} \cdot \mathbf{t} - \bar{t}\,(\mathbf{1} \cdot \mathbf{x})$; the cosine; the distance, by $-\|\mathbf{x} -
# \mathbf{t}\|^2 = 2\,\mathbf{x} \cdot \mathbf{t} - \|\mathbf{x}\|^2 - \|\mathbf{t}\|^2$; and ncc.

# %%
picture = photograph('china')[:426].mean(-1)
picture = picture.reshape(213, 2, 320, 2).mean((1, 3))  # half the size
size = 24
rng = np.random.default_rng(13)
places = []
while len(places) < 40:
    i, j = rng.integers(0, [213 - size, 320 - size])
    if picture[i:i + size, j:j + size].std() > 0.08:
        places.append((i, j))

def scores(x, t, total, square):
    product, n = correlate(x, t, 'valid'), t.size
    centred = product - t.mean() * total
    return {
        'product': product, 'centred': centred,
        'cosine': product / np.sqrt(square), 'distance': 2 * product - square,
        'ncc': centred / np.sqrt(
            np.maximum(square - total ** 2 / n, 1e-9 * n)),
    }

t = picture[60:60 + size, 60:60 + size]
total, square = (box_sums(v, t.shape) for v in (picture, picture ** 2))
own = scores(picture, t, total, square)['ncc'] / (t.std() * size)
assert close(own, ncc(picture, t))

# %%
noise = rng.normal(size=picture.shape)
light = np.linspace(1.2, 0.4, 320)  # from left to right
conditions = {
    'as it was': picture, 'brighter': picture + 0.2,
    'less contrast': 0.3 + 0.4 * picture, 'lit from the left': light * picture,
    'noise': picture + 0.2 * noise,
    'all of this': 0.2 + 0.4 * light * picture + 0.05 * noise,
}
names = ('product', 'centred', 'cosine', 'distance', 'ncc')
print(f'{"found, of 40":18}' + ''.join(f'{name:>10}' for name in names))
for condition, x in conditions.items():
    total, square = box_sums(x, (size, size)), box_sums(x * x, (size, size))
    hits = dict.fromkeys(names, 0)
    for i, j in places:
        t = picture[i:i + size, j:j + size]
        for name, s in scores(x, t, total, square).items():
            k, m = np.unravel_index(s.argmax(), s.shape)
            hits[name] += abs(k - i) <= 1 and abs(m - j) <= 1
    print(f'{condition:18}' + ''.join(f'{hits[n]:10}' for n in names))

# %% [markdown]
# The product fails in the best of circumstances: not one template is found in the very picture from which it was cut.
# It asks where the picture is bright, and goes to the sky. Changes of light, which {eq}`aw.vec-ops.template` was made
# to ignore, do not cost ncc a single template, and cost the distance most of them. The plain cosine does well in light
# and badly in noise: bright windows all point roughly along $\mathbf{1}$, so all cosines are close to one, and a little
# noise reorders them. With noise alone it is the distance that wins, and rightly: if a window is the template plus
# Gaussian noise, the least distance is the most likely place ([Maximum
# likelihood](../probability/maximum_likelihood.ipynb)), and ncc loses because it ignores brightness and contrast, which
# did not change here. A score should ignore what may change, and nothing else.

# %% mystnb={"image": {"alt": "Top: the photograph of a temple, darker towards the right, with one square on the temple where ncc finds the template and another in the sky where the product does; beside it the template. Bottom: the map of the product, a blur that is brightest in the sky, and the map of ncc, a fine texture whose maximum lies on the temple."}} tags=["hide-input"]
i, j = next((i, j) for i, j in places if 50 < i < 110 and 40 < j < 130)
t = picture[i:i + size, j:j + size]
x = conditions['lit from the left']
total, square = box_sums(x, t.shape), box_sums(x * x, t.shape)
maps = scores(x, t, total, square)
fig, axes = panels(2, 2, height=1.9)
show_image(axes[0, 0], x, 'lit from the left', vmin=0, vmax=1)
show_image(axes[0, 1], t, 'the template, enlarged')
for ax, name, color in ((axes[1, 0], 'product', 'C1'),
                        (axes[1, 1], 'ncc', 'C4')):
    show_image(ax, maps[name][::2, ::2], name, cmap='viridis',
               extent=(0, 297, 190, 0))
    row, column = np.unravel_index(maps[name].argmax(), maps[name].shape)
    ax.plot(column, row, 'o', ms=12, mfc='none', mec=color, mew=1.8,
            clip_on=False)  # one lies on the border
    axes[0, 0].add_patch(plt.Rectangle((column, row), size, size, fill=False,
                                       ec=color, lw=2))
axes[0, 0].set(xlim=(-2, 322), ylim=(215, -2));

# %% [markdown] tags=["caption"]
# In light that falls off to the right, the product goes to the bright sky, while the normalized correlation still finds the
# template on the temple.

# %% [markdown]
# Two limits remain. First, {prf:ref}`thm-concentration` does not apply here. Random vectors with $24^2 - 1 = 575$ free
# entries would have cosines of about $1/\sqrt{575} \approx 0.04$, and no two windows would ever be mistaken for each
# other. Photographs are smooth, their windows crowd into few directions, and what counts is the effective dimension of
# the previous section. Second, a cosine sees the pattern pixel by pixel. Turn the template, and the pixels no longer
# meet.

# %%
v = sliding_window_view(picture, (size, size))[::7, ::7].reshape(-1, size ** 2)
v = v - v.mean(1, keepdims=True)
v = v / np.linalg.norm(v, axis=1)[:, None]
c = (v @ v.T)[np.triu_indices(len(v), 1)]
effective = 1 / (c * c).mean()
print(f'windows have {size ** 2} pixels and behave like {effective:.0f}')

def found_turned(angle, margin=8):
    hits, large = [], size + 2 * margin
    inner = [(i, j) for i, j in places
             if margin <= i < 189 - margin and margin <= j < 296 - margin]
    for i, j in inner:
        part = picture[i - margin:, j - margin:][:large, :large]
        t = ndimage.rotate(part, angle, reshape=False, order=1)
        s = ncc(picture, t[margin:-margin, margin:-margin])
        k, m = np.unravel_index(s.argmax(), s.shape)
        hits.append(abs(k - i) <= 2 and abs(m - j) <= 2)
    return np.mean(hits)

degrees = np.arange(0, 21, 4)
shares = [found_turned(angle) for angle in degrees]
assert shares[0] == 1 and shares[4] < 0.25

# %% mystnb={"image": {"alt": "Share of templates found against the angle by which they are turned: all up to about four degrees, then a steady fall to almost none at 20 degrees."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(4.2, 2.3))
ax.plot(degrees, shares, 'o-')
ax.set(xlabel='template turned by (degrees)', ylabel='share found')
ax.set_ylim(0, 1.05)
ax.set_xticks(degrees);

# %% [markdown] tags=["caption"]
# The normalized correlation compares pixel by pixel: it finds nearly all templates that are turned by 4 degrees, and fewer
# than a quarter at 16 degrees.

# %% [markdown]
# A turn of 16 degrees, and nearly all templates are lost. What to do about it fills textbooks on vision
# {cite}`szeliski2022computer`; the answer of deep learning is to learn many templates, and templates of templates.
#
# ```{exercise} ★★ What light cannot explain
# :label: dot-fit
# How well can a window be explained as the template under another light? Derive the least value of
# $\|\mathbf{x} - \alpha\mathbf{t} - \beta\mathbf{1}\|^2$ over all $\alpha$ and $\beta$, and write `unexplained(x, t)`
# for vectors, without solving equations. How does it depend on ncc?
# ```

# %%
def unexplained(x, t):
    """The least |x - alpha t - beta 1|^2 over all alpha, beta: a float.

    x and t are arrays (n,), n >= 2; t is not constant, x may be. No solver
    of numpy is allowed. It is 2.0 for x = (1, -1, 1, -1) / 2**0.5 and
    t = (0, 0, 1, 1).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_least_squares(x, t):
    A = np.stack([t, np.ones(len(t))], 1)
    return ((x - A @ np.linalg.lstsq(A, x)[0]) ** 2).sum()

cases = dict(
    x=lambda t: vectors(len(t), edges=True) | vectors(2).map(lambda light: light[0] * t + light[1]),
    t=vectors((2, 8), edges=True).filter(lambda t: np.ptp(t) > 0.1),
    without=[f'numpy.linalg.{name}' for name in ('lstsq', 'solve', 'inv', 'pinv', 'qr', 'svd')] + ['numpy.polyfit'],
)
grade(unexplained, by_least_squares, **cases)

# %% [markdown]
# ```{solution-start} dot-fit
# :class: dropdown
# ```
# For fixed $\alpha$ the best $\beta$ removes the mean of what is left, so we minimize
# $\|\mathbf{Q}\mathbf{x} - \alpha\,\mathbf{Q}\mathbf{t}\|^2$. By {eq}`dot-square` the least value is
# $\|\mathbf{Q}\mathbf{x}\|^2 - (\mathbf{Q}\mathbf{x} \cdot \mathbf{Q}\mathbf{t})^2 / \|\mathbf{Q}\mathbf{t}\|^2 =
# \|\mathbf{Q}\mathbf{x}\|^2 (1 - \operatorname{ncc}^2)$. So $\operatorname{ncc}^2$ is the explained share, the $R^2$ of
# statistics. (A negative $\alpha$ is allowed here: a negative has $\operatorname{ncc} = -1$.) The wrong answers forget the
# constant, allow no negative $\alpha$, divide by the length of $\mathbf{x}$ even where it is zero, or solve equations.

# %% jupyter={"source_hidden": true}
def unexplained_solution(x, t):
    x, t = x - x.mean(), t - t.mean()
    return x @ x - (x @ t) ** 2 / (t @ t)

def without_constant(x, t):
    return x @ x - (x @ t) ** 2 / (t @ t)

def no_negatives(x, t):
    x, t = x - x.mean(), t - t.mean()
    return x @ x - max(x @ t, 0) ** 2 / (t @ t)

def by_the_cosine(x, t):
    x, t = x - x.mean(), t - t.mean()
    return x @ x * (1 - (x @ t) ** 2 / (x @ x * (t @ t)))

def by_equations(x, t):
    A = np.stack([t, np.ones(len(t))], 1)
    return ((x - A @ np.linalg.solve(A.T @ A, A.T @ x)) ** 2).sum()

assert grade(unexplained_solution, by_least_squares, **cases)
assert not grade(without_constant, by_least_squares, **cases)
assert not grade(no_negatives, by_least_squares, **cases)
assert not grade(by_the_cosine, by_least_squares, **cases)
assert not grade(by_equations, by_least_squares, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def found_by(score, seed):
    signal, t, position = planted(seed)
    return score(signal, t).argmax() == position

holds(
    'aw.vec-ops.template',
    lambda seed: found_by(ncc, seed),
    slip=(
        'takes the plain product for the similarity',
        lambda seed: found_by(np.correlate, seed),
    ),
    seed=seeds(),
)

# %% [markdown]
# ## Summary
#
# The dot product adds up products of coordinates and measures lengths and an angle, and the two agree in orthonormal
# bases. Completing one square gave the nearest multiple, the inequality of Cauchy, Bunyakovsky and Schwarz, and with it
# angles in every dimension, where random directions are nearly perpendicular. Which vectors count as similar depends on
# what is projected out and divided away first: that decides whether a template is found.
#
# **Further reading.** {cite}`horn2013matrix` treats inner products and positive definite matrices in full,
# {cite}`golub2013matrix` projections that survive rounding, {cite}`higham2002accuracy` the bound {eq}`dot-rounding`.
# {cite}`steele2004cauchy` draws a whole book out of {eq}`la.dot.cbs`. {cite}`ball1997elementary` shows how strange
# high-dimensional balls are, and {cite}`vershynin2018high` what follows for data.
