# ---
# jupyter:
#   book:
#     functions:
#       angle: angle(normal(5), normal(5))
#       box_sums: "box_sums(uniform(6, 7), (2, 3))"
#       cosine: cosine(normal(4, 3), normal(4, 3))
#       dot: dot(normal(4), normal(4))
#       length: length(normal(4, 3))
#       ncc: ncc(normal(6), normal(6))
#       proj: proj(normal(3), normal(3))
#       project: project(normal(6, 2), normal(6))
#       resonate: resonate(uniform(3), uniform(3), 0.5, 40)
#     main: la.dot.sum
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Dot products and projections
#
# Four people rate three films with one to five stars: Anna gives 5, 1 and 4 stars, Ben 4, 2 and 5, Carla 1, 5 and 2, and
# Dora gives 5 stars to each. Whose taste is like Anna's? We multiply the ratings film by film and add up. Anna and Ben
# get 42, Anna and Carla only 18, but Anna and Dora get 50. When does a sum of products measure similarity, and what can
# we do when it does not?
#
# - **You need** lengths, bases and Gram matrices ([Norms](../linear_algebra/norms.ipynb)), sine and cosine.
# - **You build** projections on lines and planes, the angle between two vectors, and a search for a piece of a photograph
#   that is not misled by the light.
# - **Runs in** 9 seconds, in float64.

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
from numpy.lib.stride_tricks import sliding_window_view
from numpy.linalg import norm
from scipy import stats
from scipy.signal import correlate
from sklearn.metrics.pairwise import cosine_similarity

from nbutils.cases import counted, integers, on, scalars, seeds, square_matrices, vectors
from nbutils.checks import below, between, close, grade, holds, verify
from nbutils.data import digits, photograph
from nbutils.figures import GREY, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## The dot product: a sum of products, or lengths and an angle
#
# We compute the numbers of the opening:

# %%
anna, ben, carla, dora = np.array([
    [5., 1, 4], [4, 2, 5], [1, 5, 2], [5, 5, 5]])
others = {'Ben': ben, 'Carla': carla, 'Dora': dora}
for name, ratings in others.items():
    print(f'Anna and {name:5}: {anna @ ratings:g}')

# %% [markdown]
# This sum of products is the **dot product** of two vectors:
#
# ```{math}
# :label: la.dot.sum
# \mathbf{a} \cdot \mathbf{b} = \sum_{i=1}^n a_i b_i
# ```

# %%
def dot(a, b):
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total

print('by the loop:', dot(anna, ben), ' by numpy:', anna @ ben)

# %% [markdown]
# In numpy we write `a @ b` or `np.dot(a, b)`, in PyTorch `torch.dot(a, b)`. If $\mathbf{a}$ and $\mathbf{b}$ are columns,
# that is, matrices of shape $(n, 1)$, the same number is a row times a column:
#
# ```{math}
# :label: la.dot.matrix-form
# \sum_{i=1}^n a_i b_i = \mathbf{a}^\top \mathbf{b}
# ```
#
# The order matters: $\mathbf{a}\mathbf{b}^\top$ is the table of all $n^2$ products $a_i b_j$. The dot product is symmetric,
# $\mathbf{a} \cdot \mathbf{b} = \mathbf{b} \cdot \mathbf{a}$, and linear in each factor. In particular,
#
# ```{math}
# :label: la.dot.properties.distributive
# \mathbf{a} \cdot (\mathbf{b} + \mathbf{c}) = \mathbf{a} \cdot \mathbf{b} + \mathbf{a} \cdot \mathbf{c}
# ```
#
# ```{admonition} A tempting mistake
# :class: warning
# We cannot cancel as with numbers. From $\mathbf{a} \cdot \mathbf{b} = \mathbf{a} \cdot \mathbf{c}$ follows only that
# $\mathbf{a} \cdot (\mathbf{b} - \mathbf{c}) = 0$, not $\mathbf{b} = \mathbf{c}$. For example, $\mathbf{a} = (1, 0, 0)$
# has the product 0 with both $(0, 1, 0)$ and $(0, 0, 1)$.
# ```
#
# ### The angle between two vectors
#
# The square of a length is a dot product, $\|\mathbf{a}\|^2 = \mathbf{a} \cdot \mathbf{a}$, where $\|\cdot\|$ is the
# Euclidean norm. So we can multiply out:
#
# ```{math}
# :label: dot-expand
# \|\mathbf{a} \pm \mathbf{b}\|^2 = \|\mathbf{a}\|^2 \pm 2\,\mathbf{a} \cdot \mathbf{b} + \|\mathbf{b}\|^2
# ```
#
# Look at the triangle with the sides $\mathbf{a}$, $\mathbf{b}$ and $\mathbf{a} - \mathbf{b}$. Let $\theta$ be the angle
# between $\mathbf{a}$ and $\mathbf{b}$. By the law of cosines, $\|\mathbf{a} - \mathbf{b}\|^2 = \|\mathbf{a}\|^2 +
# \|\mathbf{b}\|^2 - 2\,\|\mathbf{a}\|\,\|\mathbf{b}\| \cos\theta$. We compare this with {eq}`dot-expand`:
#
# ```{math}
# :label: la.dot.geometric
# \mathbf{a}^\top\mathbf{b} = \|\mathbf{a}\|_2\,\|\mathbf{b}\|_2 \cos\theta
# ```
#
# So the dot product mixes two things: how long the vectors are, and how well their directions agree. If we divide by the
# lengths, only the direction is left.
#
# ```{prf:definition} Angle
# :label: def-angle
# The *angle* between $\mathbf{a} \ne \mathbf{0}$ and $\mathbf{b} \ne \mathbf{0}$ is the $\theta \in [0, \pi]$ with
# $\cos\theta = \dfrac{\mathbf{a} \cdot \mathbf{b}}{\|\mathbf{a}\|\,\|\mathbf{b}\|}$. This cosine is the *cosine
# similarity* of the two.
# ```

# %%
def length(x):  # over the last axis
    return np.sqrt((x * x).sum(-1))

def cosine(a, b):
    return (a * b).sum(-1) / (length(a) * length(b))

print('            length    product    cosine')
for name, ratings in others.items():
    print(f'{name:9} {length(ratings):8.2f} {anna @ ratings:10.0f}'
          f' {cosine(anna, ratings):9.3f}')

# %% [markdown]
# Dora has the largest product because her vector is the longest. By the cosine, Ben is the most similar to Anna.
# scikit-learn's function for tables of vectors is `cosine_similarity(A, B)`.
#
# (la.dot.similarity)=
# The dot product measures similarity in this sense: if the lengths stay fixed and $\mathbf{b}$ turns away from
# $\mathbf{a}$, then the product falls all the way, from $\|\mathbf{a}\|\,\|\mathbf{b}\|$ to its negative. It is zero at a
# right angle, where the vectors are called **orthogonal**.

# %% mystnb={"image": {"alt": "Dot product against angle: three falling cosine curves for lengths in the ratio 1, 2 and 3. All cross zero at 90 degrees. Two dots: the curve of the longest vector at 60 degrees is higher than the curve of the shortest at 20 degrees."}} tags=["hide-input"]
t = np.linspace(0, np.pi, 200)
fig, ax = plt.subplots(figsize=(5, 2.7))
for k in (3, 2, 1):
    ax.plot(np.degrees(t), k * np.cos(t), label=f'‖b‖ = {k}')
    ax.text(182, -k, f'‖b‖ = {k}', color=ax.lines[-1].get_color(), va='center')
ax.axhline(0, color=GREY, lw=0.8)
for k, degrees, colour in ((3, 60, 'C0'), (1, 20, 'C2')):
    ax.plot(degrees, k * np.cos(np.radians(degrees)), 'o', color=colour)
ax.set(xticks=[0, 90, 180], xlabel='angle θ (degrees)', ylabel='a · b, for ‖a‖ = 1');

# %% [markdown] tags=["caption"]
# For vectors of one length, a larger product means a smaller angle. For different lengths it need not: the long vector at
# 60 degrees has a larger product than the short one at 20 degrees.

# %% [markdown]
# ### Coordinates, and other inner products
#
# Lengths and angles need no coordinates, but the sum of products does. Let $\mathbf{c}$ and $\mathbf{d}$ be the
# coordinates of $\mathbf{a} = \mathbf{B}\mathbf{c}$ and $\mathbf{b} = \mathbf{B}\mathbf{d}$ in the basis of the columns
# of $\mathbf{B}$. Then
#
# ```{math}
# :label: la.dot.orthonormal-basis
# \|\mathbf{a}\|\,\|\mathbf{b}\| \cos\theta = \mathbf{c}^\top \mathbf{G}\, \mathbf{d}, \qquad
# \mathbf{G} = \mathbf{B}^\top\mathbf{B} .
# ```
#
# This is $\sum_i c_i d_i$ for all $\mathbf{c}$ and $\mathbf{d}$ only if $\mathbf{G} = \mathbf{I}$, that is, if the basis is
# *orthonormal*: orthogonal vectors of length one.
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
# By linearity, every inner product on $\mathbb{R}^n$ is $\mathbf{x}^\top\mathbf{M}\mathbf{y}$ with $m_{ij} = \langle
# \mathbf{e}_i, \mathbf{e}_j \rangle$. The matrix $\mathbf{M}$ is symmetric, and $\mathbf{x}^\top\mathbf{M}\mathbf{x} > 0$
# for all $\mathbf{x} \ne \mathbf{0}$. Such a matrix is called **positive definite**.
#
# Does every norm come from an inner product? We add the two lines of {eq}`dot-expand`, and subtract them:
#
# ```{math}
# :label: dot-parallelogram
# \begin{aligned}
# \|\mathbf{a} + \mathbf{b}\|^2 + \|\mathbf{a} - \mathbf{b}\|^2 &= 2\,\|\mathbf{a}\|^2 + 2\,\|\mathbf{b}\|^2 \\
# \|\mathbf{a} + \mathbf{b}\|^2 - \|\mathbf{a} - \mathbf{b}\|^2 &= 4\, \mathbf{a} \cdot \mathbf{b}
# \end{aligned}
# ```
#
# The first line, the **parallelogram law**, fails for the $\ell_1$ norm. For $\mathbf{a} = (1, 0)$ and $\mathbf{b} = (0, 1)$
# its left side is 8 and its right side 4. So this norm comes from no inner product, and has no angles.
#
# ```{exercise} ★ Program: a product from a ruler
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
def exact(a, b):
    pairs = zip(map(Fraction, a.tolist()), map(Fraction, b.tolist()))
    return float(sum(x * y for x, y in pairs))

holds(
    'la.dot.sum',
    lambda a, b: close(np.dot(a, b), exact(a, b)),
    slip=('multiplies the two sums', lambda a, b: close(a.sum() * b.sum(), exact(a, b))),
    a=vectors(4), b=vectors(4), tries=100,
)
verify(
    'the loop gives the dot product',
    lambda a, b: close(dot(a, b), exact(a, b)),
    slip=('squares the entries of a', lambda a, b: close(dot(a, a), exact(a, b))),
    a=vectors(4), b=vectors(4), tries=100,
)

def is_dot(table, a, b):
    return table.shape == (1, 1) and close(table[0, 0], dot(a, b))

holds(
    'la.dot.matrix-form',
    lambda a, b: is_dot(a[:, None].T @ b[:, None], a, b),
    slip=('puts the row and the column in the wrong order', lambda a, b: is_dot(a[:, None] @ b[:, None].T, a, b)),
    a=vectors(4), b=vectors(4), tries=100,
)
holds(
    'la.dot.properties.distributive',
    lambda a, b, c: close(a @ (b + c), a @ b + a @ c),
    slip=('pairs c with b in place of a', lambda a, b, c: close(a @ (b + c), a @ b + b @ c)),
    a=vectors(3), b=vectors(3), c=vectors(3), tries=100,
)
assert [anna @ v for v in others.values()] == [42, 18, 50]
assert cosine(anna, ben) > cosine(anna, dora) > cosine(anna, carla)

# %% tags=["checks"]
def carried(seed):  # (5, 2), orthonormal columns: lengths stay
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(5, 2)))[0]

def angle_in_plane(a, b):
    return np.arctan2(a[1], a[0]) - np.arctan2(b[1], b[0])

def lengths(*vs):
    return np.prod([np.hypot(*v) for v in vs])

def product_of_carried(a, b, seed):
    return (carried(seed) @ a) @ (carried(seed) @ b)

holds(
    'la.dot.geometric',
    lambda a, b, seed: close(product_of_carried(a, b, seed), lengths(a, b) * np.cos(angle_in_plane(a, b))),
    slip=('forgets the length of b',
          lambda a, b, seed: close(product_of_carried(a, b, seed), lengths(a) * np.cos(angle_in_plane(a, b)))),
    a=vectors(2), b=vectors(2), seed=seeds(), tries=100,
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
    lambda seed: by_coordinates(seed, False, True) and by_coordinates(seed, True, False),
    slip=('forgets the Gram matrix of a skewed basis', lambda seed: by_coordinates(seed, False, with_gram=False)),
    seed=seeds(), tries=60,
)
theta = np.linspace(0, np.pi, 200)

def turned(a, seed):  # (200, n): a, turned by each theta
    p = np.random.default_rng(seed).normal(size=a.size)
    p -= (a @ p) / (a @ a) * a
    p *= norm(a) / norm(p)
    return np.outer(np.cos(theta), a) + np.outer(np.sin(theta), p)

# %% tags=["checks"]
holds(
    'la.dot.similarity',
    lambda a, seed: (np.diff(turned(a, seed) @ a) < 0).all(),
    slip=('lets the vector grow while it turns', lambda a, seed: (np.diff((1 + theta) * (turned(a, seed) @ a)) < 0).all()),
    a=vectors(3).filter(np.any), seed=seeds(), tries=60,
)
some = vectors((1, 5), edges=True).filter(lambda v: norm(v) > 0.01)
verify(
    'length and cosine agree with numpy and scikit-learn',
    lambda a: close(length(a), norm(a)) and close(cosine(a, a[::-1]), cosine_similarity([a], [a[::-1]])[0, 0]),
    slip=('forgets the length of the second vector', lambda a: close(a @ a[::-1] / norm(a), cosine(a, a[::-1]))),
    a=some,
)

def keeps_parallelogram(a, b, p):
    n = [norm(v, p) ** 2 for v in (a + b, a - b, a, b)]
    return close(n[0] + n[1], 2 * n[2] + 2 * n[3])

verify(
    'the parallelogram law holds for the Euclidean norm, and fails for the orders 1, 1.5, 3 and infinity',
    lambda a, b: keeps_parallelogram(a, b, 2)
    and not any(keeps_parallelogram(np.eye(2)[0], np.eye(2)[1], p) for p in (1, 1.5, 3, np.inf)),
    slip=('takes the largest entry for the length', lambda a, b: keeps_parallelogram(a, b, np.inf)),
    a=vectors(3), b=vectors(3),
)

# %% [markdown]
# ## Projections: the nearest point on a line or a plane
#
# Which point of the line through $\mathbf{0}$ and $\mathbf{a} = (3, 1)$ is nearest to $\mathbf{b} = (1.3, 2)$?

# %%
def proj(a, b):
    return (a @ b) / (a @ a) * a

a, b = np.array([3, 1]), np.array([1.3, 2])
nearest = proj(a, b)
print('nearest point:', nearest, ' distance:', norm(b - nearest).round(3))
for t in (0.4, 0.6):
    print(f'distance from {t} a: {norm(b - t * a):.3f}')

# %% mystnb={"image": {"alt": "Left: two vectors b and c with their projections on the line of a, each joined to its shadow by a dashed segment with a right-angle mark; the shadow of c falls on the far side of the origin. Right: b followed by d, their sum, and the three shadows on the line of a; those of b and d lie end to end and are together as long as that of the sum."}} tags=["hide-input"]
u = np.array([3, 1]) / np.sqrt(10)  # the direction of a

def draw(ax, start, v, color, below=0):  # a vector and its shadow
    tip = start + v
    ends = np.stack([proj(u, start), proj(u, tip)], 1)  # (2, 2)
    foot, side = ends[:, 1], -0.18 * np.sign(v @ u) * u
    up = 0.18 * (tip - foot) / norm(tip - foot)
    corner = np.stack([foot + up, foot + up + side, foot + side], 1)
    ax.annotate('', tip, start, arrowprops=dict(arrowstyle='-|>', color=color, lw=1.8, shrinkA=0, shrinkB=0))
    ax.plot(*np.stack([tip, foot], 1), '--', color=GREY, lw=1)
    ax.plot(*corner, color=GREY, lw=1)
    ends = ends + below * np.array([[u[1]], [-u[0]]])
    ax.plot(*ends, color=color, lw=4, alpha=0.7, solid_capstyle='butt')

zero, first, second, third = np.array([[0, 0], [1.3, 2], [-1.5, 0.8], [1.6, -0.2]])
fig, (left, right) = panels(2, height=2.4)
for ax in (left, right):
    ax.plot(*np.stack([-1.9 * u, 3.9 * u], 1), color=GREY, lw=1)
    ax.set(aspect='equal', xlim=(-1.9, 3.8), ylim=(-0.8, 2.4))
    ax.axis('off')
draw(left, zero, first, 'C0')
draw(left, zero, second, 'C1')
draw(right, zero, first, 'C0')
draw(right, first, third, 'C1')
draw(right, zero, first + third, 'C2', below=0.14)
left.text(0.35, 1.1, 'b', color='C0')
left.text(-0.8, 0.7, 'c', color='C1')
right.text(0.35, 1.1, 'b', color='C0')
right.text(2.0, 2.05, 'd', color='C1')
right.text(1.85, 0.95, 'b + d', color='C2')
for ax in (left, right):
    ax.text(3.8, 0.5, 'line of a', color=GREY, ha='right')
left.set_title('Projections')
right.set_title('The projection of a sum');

# %% [markdown] tags=["caption"]
# Left: the line from a vector to its projection is perpendicular to $\mathbf{a}$. Right: the projection of a sum is the
# sum of the projections, which is the distributive law.

# %% [markdown]
# We expand the squared distance from $t\,\mathbf{a}$ and complete the square in $t$:
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
# Only the bracket depends on $t$, and it can be made zero. So the nearest multiple of $\mathbf{a} \ne \mathbf{0}$, the **projection**
# of $\mathbf{b}$ on $\mathbf{a}$, is
#
# ```{math}
# :label: la.dot.projection-1
# \operatorname{proj}_{\mathbf{a}} \mathbf{b} = \frac{(\mathbf{a}^\top\mathbf{b})\, \mathbf{a}}{\mathbf{a}^\top\mathbf{a}} .
# ```
#
# We divide by $\mathbf{a}^\top\mathbf{a}$, not by $\|\mathbf{a}\|$, because a longer $\mathbf{a}$ spans the same line and
# must give the same projection. The rest, $\mathbf{b} - \operatorname{proj}_{\mathbf{a}} \mathbf{b}$, is orthogonal to
# $\mathbf{a}$. Because $(\mathbf{a}^\top\mathbf{b})\,\mathbf{a} = \mathbf{a}\,(\mathbf{a}^\top\mathbf{b}) =
# (\mathbf{a}\mathbf{a}^\top)\,\mathbf{b}$, we can also multiply by a matrix:
#
# ```{math}
# :label: la.dot.projection-2
# \operatorname{proj}_{\mathbf{a}} \mathbf{b} = \frac{\mathbf{a}\mathbf{a}^\top\, \mathbf{b}}{\mathbf{a}^\top\mathbf{a}}
# = \mathbf{P}\mathbf{b}, \qquad \mathbf{P} = \frac{\mathbf{a}\mathbf{a}^\top}{\mathbf{a}^\top\mathbf{a}}
# ```
#
# $\mathbf{P}$ is symmetric, and $\mathbf{P}^2 = \mathbf{P}$, because projecting a second time changes nothing.
#
# ### The Cauchy–Schwarz inequality
#
# For the best $t$, the left side of {eq}`dot-square` is a squared length. So its right side cannot be negative, which gives
#
# ```{math}
# :label: la.dot.cbs
# \Big( \sum_i a_i b_i \Big)^2 \le \Big( \sum_i a_i^2 \Big) \Big( \sum_i b_i^2 \Big) .
# ```
#
# ```{prf:theorem} Cauchy, Bunyakovsky, Schwarz
# :label: thm-cbs
# For every inner product, $\langle \mathbf{a}, \mathbf{b} \rangle^2 \le \langle \mathbf{a}, \mathbf{a} \rangle \langle
# \mathbf{b}, \mathbf{b} \rangle$, with equality exactly if one of the two is a multiple of the other.
# ```
#
# ```{prf:proof}
# :class: dropdown
# For $\mathbf{a} = \mathbf{0}$ both sides are zero. Otherwise {eq}`dot-square`, which used only the rules of
# {prf:ref}`def-inner-product`, holds with $\langle \cdot, \cdot \rangle$. At the best $t$ it says that $\langle
# \mathbf{b}, \mathbf{b} \rangle - \langle \mathbf{a}, \mathbf{b} \rangle^2 / \langle \mathbf{a}, \mathbf{a} \rangle$ is
# the square of the length of $\mathbf{b} - t\mathbf{a}$. That is never negative, and it is zero only if
# $\mathbf{b} = t\mathbf{a}$.
# ```
#
# Therefore the quotient in {prf:ref}`def-angle` lies between $-1$ and 1 in every dimension, and there is an angle with
# this cosine.
#
# ### Projection on a plane
#
# Now let $\mathbf{A}$ have $k$ columns. The nearest point in their span is $\mathbf{A}\hat{\mathbf{x}}$ if the rest is
# orthogonal to every column, $\mathbf{A}^\top(\mathbf{b} - \mathbf{A}\hat{\mathbf{x}}) = \mathbf{0}$:
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
# :class: dropdown
# If $\mathbf{A}^\top\mathbf{A}\mathbf{x} = \mathbf{0}$, then $\|\mathbf{A}\mathbf{x}\|^2 =
# \mathbf{x}^\top\mathbf{A}^\top\mathbf{A}\mathbf{x} = 0$, so $\mathbf{A}\mathbf{x} = \mathbf{0}$ and
# $\mathbf{x} = \mathbf{0}$: the square matrix $\mathbf{A}^\top\mathbf{A}$ is invertible. Write $\mathbf{b} -
# \mathbf{A}\mathbf{x} = (\mathbf{b} - \mathbf{A}\hat{\mathbf{x}}) + \mathbf{A}(\hat{\mathbf{x}} - \mathbf{x})$ and
# expand by {eq}`dot-expand`. The mixed term is $2\,(\hat{\mathbf{x}} - \mathbf{x})^\top
# \mathbf{A}^\top(\mathbf{b} - \mathbf{A}\hat{\mathbf{x}}) = 0$.
# ```

# %%
def project(A, b):  # (n, k), (n,) -> (n,), the nearest point in the span
    return A @ np.linalg.solve(A.T @ A, A.T @ b)

A, b = np.array([[1., 0], [1, 1], [1, 2]]), np.array([1., 2, 4])
rest = b - project(A, b)
print('nearest point:', project(A, b).round(3), ' rest:', rest.round(3))
print('numpy, by lstsq:', (A @ np.linalg.lstsq(A, b)[0]).round(3))

# %% [markdown]
# This is also how a straight line is fitted to data: the nearest point holds the heights of the best line through
# $(0, 1)$, $(1, 2)$ and $(2, 4)$. [Linear regression](../regression/linear_regression.ipynb) begins here.
#
# ```{exercise} ★★ Program: two lines that never meet
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
def by_lstsq(a, b):
    return a * np.linalg.lstsq(a[:, None], b)[0]

holds(
    'la.dot.projection-1',
    lambda a, b: close(proj(a, b), by_lstsq(a, b)),
    slip=('divides by the length of a, not by its square', lambda a, b: close((a @ b) * a / norm(a), by_lstsq(a, b))),
    a=vectors(3).filter(np.any), b=vectors(3), tries=100,
)

def is_projector(p, a, b):
    return (close(p @ b, proj(a, b)) and close(p @ p, p) and close(p, p.T)
            and close(np.linalg.eigvalsh(p), [0, 0, 1]))

holds(
    'la.dot.projection-2',
    lambda a, b: is_projector(np.outer(a, a) / (a @ a), a, b),
    slip=('does not divide by the squared length', lambda a, b: is_projector(np.outer(a, a), a, b)),
    a=vectors(3).filter(np.any), b=vectors(3), tries=100,
)
holds(
    'la.dot.cbs',
    lambda a, b: (a @ b) ** 2 <= (a @ a) * (b @ b) * (1 + 1e-14),
    slip=('squares entry by entry before it adds', lambda a, b: (a @ b) ** 2 <= (a * a) @ (b * b) * (1 + 1e-14)),
    a=vectors(4), b=vectors(4), tries=100,
)

# %% tags=["checks"]
def one_by_one(A, b):  # the projections on the columns, added
    return sum(proj(a, b) for a in A.T)

def nearest_of(seed, project):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(5, 2)), rng.normal(size=5)
    return close(project(A, b), A @ np.linalg.lstsq(A, b)[0])

verify(
    'the projection on a plane is the nearest point',
    lambda seed: nearest_of(seed, project),
    slip=('adds the projections on the columns', lambda seed: nearest_of(seed, one_by_one)),
    seed=seeds(), tries=60,
)
assert close(A.T @ rest, [0, 0]) and close(nearest, [1.77, 0.59]) and norm([1.3, 2] - nearest) < 1.518

# %% [markdown]
# ## Cosine similarity and angles, in two dimensions and in a thousand
#
# There are three usual ways to search for the vector that is most similar to $\mathbf{a}$: by the largest
# product, the largest cosine, or the smallest distance. Each of the 1797 handwritten digits names its most similar
# picture among the others. The answer is right if it is the same digit. Then we ask again with dimmed pictures, each
# multiplied by a random brightness between about a third and 1.

# %%
x, y, _ = digits()  # (1797, 64), (1797,)

def most_similar(asked, way):
    product = asked @ x.T  # (1797, 1797)
    score = {'product': product, 'cosine': product / length(x),
             'distance': 2 * product - (x * x).sum(axis=1)}[way]
    np.fill_diagonal(score, -np.inf)
    return score.argmax(axis=1)

# %%
brightness = np.random.default_rng(8).integers(20, 65, (len(x), 1)) / 64
ways = ('product', 'cosine', 'distance')
named = {way: most_similar(x, way) for way in ways}
dimmed = {way: most_similar(brightness * x, way) for way in ways}
print('           right   right if dimmed   ever named')
for way in ways:
    print(f'{way:9} {(y[named[way]] == y).mean():6.3f} '
          f'{(y[dimmed[way]] == y).mean():17.3f}'
          f' {len(np.unique(named[way])):12}')

# %% [markdown]
# (By {eq}`dot-expand`, the distance is smallest where $2\,\mathbf{a} \cdot \mathbf{b} - \|\mathbf{b}\|^2$ is largest.)
# The product favours long vectors: few bright digits are named again and again. Dimming the question does not change
# the order of the products or of the cosines, but it changes the order of the distances.

# %% mystnb={"image": {"alt": "Three panels with the same cloud of points and one arrow; the thirty points most similar to the arrow lie beyond a straight line across it for the product, inside a wedge for the cosine, and in a disc around its tip for the distance."}} tags=["hide-input"]
a, cloud = np.array([1.0, 0.6]), np.random.default_rng(9).normal(size=(400, 2))
values = {'largest product': cloud @ a, 'largest cosine': cosine(cloud, a), 'least distance': -((cloud - a) ** 2).sum(1)}
fig, axes = panels(3, height=2.3)
for ax, (name, value) in zip(axes.flat, values.items(), strict=True):
    best = value.argsort(kind='stable')[-30:]
    ax.scatter(*cloud.T, s=5, color=GREY)
    ax.scatter(*cloud[best].T, s=22, facecolors='none', edgecolors='C1', lw=1)
    ax.annotate('', a, (0, 0), arrowprops=dict(arrowstyle='-|>', color='C0', lw=2, shrinkA=0, shrinkB=0))
    ax.set(aspect='equal', xlim=(-3.2, 3.2), ylim=(-3.1, 3.1))
    ax.axis('off')
    ax.set_title(name)

# %% [markdown] tags=["caption"]
# The thirty points most similar to the arrow: the product prefers long vectors, the cosine ignores lengths, and the
# distance wants both direction and length to agree.

# %% [markdown]
# If all vectors have length one, the three ways agree, because {eq}`dot-expand` becomes
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
# ### Learning by turning towards the input
#
# Let $\mathbf{x}$ be an input and $\mathbf{w}$ the weights of a neuron. The gradient of $\mathbf{x} \cdot \mathbf{w}$ with
# respect to $\mathbf{w}$ is $\mathbf{x}$. So to increase the product, we add a little of the input. To keep the length, we
# divide by it:
#
# ```{math}
# :label: aw.vec-ops.resonate
# \mathbf{w} \leftarrow \frac{\mathbf{w} + \eta\,\mathbf{x}}{\|\mathbf{w} + \eta\,\mathbf{x}\|}
# \quad\longrightarrow\quad \frac{\mathbf{x}}{\|\mathbf{x}\|}
# ```

# %%
def resonate(w, x, eta=0.5, steps=60):
    for _ in range(steps):
        w = w + eta * x
        w = w / length(w)
    return w

towards, w = np.array([0.6, 0.8]), np.array([-0.8, -0.6])
for steps in (0, 2, 4, 8):
    product = resonate(w, towards, steps=steps) @ towards
    print(f'{steps} steps: product {product:6.3f}')

# %% [markdown]
# Unless $\mathbf{w}$ points exactly away from $\mathbf{x}$ at the start, it turns until the two directions agree: the
# neuron has learned its input as a template. Adding the input is Hebb's rule, and {cite}`oja1982simplified` added the
# normalization.
#
# ### Addition formulas from a dot product
#
# Two points on the unit circle,
#
# ```{math}
# :label: la.dot.trig-vectors
# \mathbf{a} = \begin{bmatrix} \cos\alpha \\ \sin\alpha \end{bmatrix}, \qquad
# \mathbf{b} = \begin{bmatrix} \cos\beta \\ \sin\beta \end{bmatrix}, \qquad
# \|\mathbf{a}\| = \|\mathbf{b}\| = 1 ,
# ```
#
# enclose the angle $\alpha - \beta$. So the two forms of the dot product, {eq}`la.dot.sum` and {eq}`la.dot.geometric`, give
#
# ```{math}
# :label: la.dot.trig-difference
# \mathbf{a} \cdot \mathbf{b} = \cos\alpha \cos\beta + \sin\alpha \sin\beta = \cos(\alpha - \beta) .
# ```
#
# The symmetry $\mathbf{a} \cdot \mathbf{b} = \mathbf{b} \cdot \mathbf{a}$ says that
#
# ```{math}
# :label: la.dot.trig-even
# \cos(\alpha - \beta) = \cos(\beta - \alpha) .
# ```
#
# ### Small angles
#
# The cosine is flat near its top: the cosine of a very small angle is rounded to 1, and an arccosine cannot find the
# angle. For unit vectors, $\|\mathbf{u} - \mathbf{v}\| = 2\sin\frac\theta2$ and $\|\mathbf{u} + \mathbf{v}\| =
# 2\cos\frac\theta2$, which gives a formula that works for all angles:
#
# ```{math}
# :label: dot-half-angle
# \theta = 2 \arctan \frac{\|\mathbf{u} - \mathbf{v}\|}{\|\mathbf{u} + \mathbf{v}\|},
# \qquad \mathbf{u} = \frac{\mathbf{a}}{\|\mathbf{a}\|}, \quad \mathbf{v} = \frac{\mathbf{b}}{\|\mathbf{b}\|}
# ```

# %%
def angle(a, b):
    u, v = a / length(a), b / length(b)
    return 2 * np.arctan2(length(u - v), length(u + v))

a = np.array([1.0, 2, -3, 4])
across = np.array([-2.0, 1, -4, -3])  # orthogonal, of the same length
b = a + 2.0**-30 * across  # at the angle arctan(2 ** -30)
true = np.arctan(2.0**-30)
by_arccosine = np.arccos(min(cosine(a, b), 1))
print(f'angle {true:.1e}')
print('error of the half-angle formula', below(angle(a, b) - true, 1e-15))
print('error of the arccosine', between(by_arccosine - true, 5e-10, 3e-8))

# %% [markdown]
# ### Random vectors in high dimensions are nearly orthogonal
#
# How similar are two vectors that have nothing to do with each other? We draw 2000 pairs of random directions:

# %%
rng = np.random.default_rng(10)
cosines = {}
print('   d   root of mean cos^2   1/sqrt(d)   |cos| > 0.2')
for d in (2, 3, 10, 100, 1000):
    cosines[d] = cosine(*rng.normal(size=(2, 2000, d)))
    print(f'{d:4} {np.sqrt((cosines[d] ** 2).mean()):15.3f}'
          f' {d ** -0.5:14.3f} {(abs(cosines[d]) > 0.2).mean():13.3f}')

# %% mystnb={"image": {"alt": "Four histograms of the cosine between random directions with the exact density drawn over them: U-shaped in 2 dimensions, flat in 3, a bell in 10, a narrow peak at zero in 100."}} tags=["hide-input"]
fig, axes = panels(4, height=2.0)
t = np.linspace(-0.995, 0.995, 1600)
for ax, d in zip(axes, (2, 3, 10, 100)):
    law = stats.beta((d - 1) / 2, (d - 1) / 2, loc=-1, scale=2)
    ax.hist(cosines[d], np.linspace(-1, 1, 41), density=True, alpha=0.5)
    ax.plot(t, law.pdf(t), color='C1', lw=1.2)
    ax.set(title=f'd = {d}', yticks=[], xticks=[-1, 0, 1], xlabel='cos θ')
    ax.set_ylim(0, 2 if d == 2 else 1.15 * law.pdf(0 if d > 2 else 0.9))
    ax.spines['left'].set_visible(False)

# %% [markdown] tags=["caption"]
# The cosine between random directions concentrates at zero as the dimension $d$ grows. For $d = 3$ it is uniformly
# distributed; the orange lines are the exact densities.

# %% [markdown]
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
# :class: dropdown
# To draw a random direction, take $d$ independent standard normal numbers $\mathbf{g}$ and divide by the length: the
# density of $\mathbf{g}$ depends on $\|\mathbf{g}\|$ only, so $\mathbf{u} = \mathbf{g} / \|\mathbf{g}\|$ prefers no
# direction, and does not depend on $\|\mathbf{g}\|$. Turn space so that the other direction is $\mathbf{e}_1$; then
# $\cos\theta = u_1$. All $u_i$ have the same distribution, symmetric about zero, and $\sum_i u_i^2 = 1$, so $\mathbb{E}
# u_1 = 0$ and $\mathbb{E} u_1^2 = 1/d$. For the tail compare $u_1$ with $g_1 = \|\mathbf{g}\|\, u_1$. By independence,
# and because $s \mapsto s^k$ is convex
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
# Real data are not random directions. If independent data vectors have mean zero and the covariance matrix
# $\boldsymbol{\Sigma}$, their typical $\cos^2$ is about $1/d_{\text{eff}}$ with the **effective dimension**
# $d_{\text{eff}} =
# (\operatorname{tr} \boldsymbol{\Sigma})^2 / \operatorname{tr} \boldsymbol{\Sigma}^2$. It is $d$ if all directions vary alike, and
# smaller otherwise. The handwritten digits have 64 pixels:

# %%
centred = x - x.mean(axis=0)
sigma = np.cov(centred.T)  # (64, 64)
table = cosine_similarity(centred)  # (1797, 1797)
squares = table[np.triu_indices(len(x), 1)] ** 2
effective = np.trace(sigma) ** 2 / np.trace(sigma @ sigma)
print(f'1 / mean of cos^2:   {1 / squares.mean():.1f}')
print(f'effective dimension: {effective:.1f}')

# %% [markdown]
# ```{exercise} ★★ Pencil: similar to the same thing
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

# %% [markdown]
# ```{exercise} ★★★ Pencil: as perpendicular as possible
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

# %% tags=["checks"]
def same_as(seed, way, rule):  # the picture named, by brute force
    ten = np.random.default_rng(seed).integers(0, len(x), 10)
    chosen = most_similar(x, way)[ten]
    return all(rule(x[k], np.delete(x, k, 0)) == c - (c > k) for k, c in zip(ten, chosen))

rules = {'product': lambda a, others: (others @ a).argmax(), 'cosine': lambda a, others: cosine(others, a).argmax(),
         'distance': lambda a, others: norm(others - a, axis=1).argmin()}
verify(
    'the three searches name what brute force names',
    lambda seed: all(same_as(seed, way, rules[way]) for way in rules),
    slip=('names the nearest for the largest product', lambda seed: same_as(seed, 'product', rules['distance'])),
    seed=seeds(), tries=3,
)
assert (named['product'] == dimmed['product']).all() and (named['cosine'] == dimmed['cosine']).mean() > 0.99  # rounding
assert len(np.unique(named['product'])) < 300 < 1000 < len(np.unique(named['cosine']))
holds(
    'aw.vec-ops.max-dot',
    lambda x, w: close(length(x / length(x) - w / length(w)) ** 2, 2 - 2 * cosine(x, w)) and cosine(x, w) <= 1 + 1e-15,
    slip=('forgets to divide by the lengths', lambda x, w: x @ w <= w @ w),
    x=vectors(3).filter(np.any), w=vectors(3).filter(np.any), tries=60,
)

def unit(seed):  # (2, 5), two random directions
    v = np.random.default_rng(seed).normal(size=(2, 5))
    return v / norm(v, axis=1)[:, None]

holds(
    'aw.vec-ops.resonate',
    lambda seed: close(resonate(*unit(seed)), unit(seed)[1]),
    slip=('never divides by the length', lambda seed: close(unit(seed)[0] + 30 * unit(seed)[1], unit(seed)[1])),
    seed=seeds(),
)

# %% tags=["checks"]
def arm(alpha):
    return np.array([np.cos(alpha), np.sin(alpha)])

holds(
    'la.dot.trig-vectors',
    lambda alpha: close(arm(alpha) @ [1, 1j], np.exp(1j * alpha)),
    slip=('exchanges the sine and the cosine', lambda alpha: close(arm(alpha) @ [1j, 1], np.exp(1j * alpha))),
    alpha=scalars(),
)
holds(
    'la.dot.trig-difference',
    lambda alpha, beta: close(arm(alpha) @ arm(beta), np.cos(alpha - beta)),
    slip=('adds the two angles', lambda alpha, beta: close(arm(alpha) @ arm(beta), np.cos(alpha + beta))),
    alpha=scalars(), beta=scalars(), tries=100,
)
holds(
    'la.dot.trig-even',
    lambda alpha, beta: close(np.cos(alpha - beta), np.cos(beta - alpha)),
    slip=('calls the sine even', lambda alpha, beta: close(np.sin(alpha - beta), np.sin(beta - alpha))),
    alpha=scalars(), beta=scalars(), tries=100,
)

def finds_angle(seed, k, rule):  # integers a, and p orthogonal to it and as long: the angle to a + p / 2^k is known
    a = np.random.default_rng(seed).integers(-1000, 1001, 4).astype(float)
    p = a[[1, 0, 3, 2]] * [-1, 1, -1, 1]
    return close(rule(a, a + 2.0**-k * p), np.arctan(2.0**-k), atol=4e-16, rtol=0)

verify(
    'the error of the half-angle formula is below 4e-16 at all angles',
    lambda seed, k: finds_angle(seed, k, angle),
    slip=('takes the arccosine', lambda seed, k: finds_angle(seed, k, lambda a, b: np.arccos(min(cosine(a, b), 1)))),
    seed=seeds(), k=[0, 5, 10, 20, 30, 40],
)

# %% tags=["checks"]
def tail(d, t):  # exact: (cos + 1) / 2 has a beta distribution
    return 2 * stats.beta((d - 1) / 2, (d - 1) / 2).sf((1 + t) / 2)

verify(
    'random cosines are large with probability at most 2 exp(-d t² / 2)',
    lambda d, t: tail(d, t) <= 2 * np.exp(-d * t * t / 2),
    slip=('doubles the exponent', lambda d, t: tail(d, t) <= 2 * np.exp(-d * t * t)),
    d=[2, 3, 10, 100, 1000], t=[0.0, 0.05, 0.1, 0.2, 0.5],
)

def mean_square_is(seed, d, value):  # within five standard errors
    squares = cosine(*np.random.default_rng(seed).normal(size=(2, 4000, d))) ** 2
    return bool(abs(squares.mean() - value(d)) < 5 * squares.std() / 4000**0.5)

verify(
    'the mean square of the cosine is 1/d',
    lambda seed, d: mean_square_is(seed, d, lambda d: 1 / d),
    slip=('takes 1/(d - 1)', lambda seed, d: mean_square_is(seed, d, lambda d: 1 / (d - 1))),
    seed=seeds(), d=[2, 3, 10], tries=30,
)
assert all(stats.kstest(c, stats.beta((d - 1) / 2, (d - 1) / 2, loc=-1, scale=2).cdf).pvalue > 1e-3
           for d, c in cosines.items())
assert abs(effective * squares.mean() - 1) < 0.25 and effective < 32

# %% [markdown]
# ## Template matching: normalized cross-correlation
#
# To find a small picture $\mathbf{t}$, the *template*, in a large one, we cut every window $\mathbf{x}$ of the same size
# from the large picture and ask which is most similar to $\mathbf{t}$. If the light changes, a window becomes
# $\alpha\mathbf{x} + \beta\mathbf{1}$ with $\alpha > 0$, where $\mathbf{1} = (1, \dots, 1)$: more contrast, more
# brightness. A good score ignores both. So we first subtract the projection on $\mathbf{1}$. By {eq}`la.dot.projection-1`
# this is $\bar{x}\,\mathbf{1}$, where $\bar x$ is the mean of the entries. What is left is $\mathbf{Q}\mathbf{x} =
# \mathbf{x} - \bar{x}\,\mathbf{1}$, and $\beta$ is gone. Then we take the cosine, which ignores $\alpha$. This is the **normalized
# cross-correlation**:
#
# ```{math}
# :label: dot-ncc
# \operatorname{ncc}(\mathbf{x}, \mathbf{t}) = \frac{\mathbf{Q}\mathbf{x} \cdot
# \mathbf{Q}\mathbf{t}}{\|\mathbf{Q}\mathbf{x}\|\,\|\mathbf{Q}\mathbf{t}\|} = \frac{\mathbf{x} \cdot
# \mathbf{Q}\mathbf{t}}{\|\mathbf{Q}\mathbf{t}\| \sqrt{\|\mathbf{x}\|^2 - (\mathbf{1} \cdot \mathbf{x})^2/n}}
# ```

# %%
def ncc(x, t):
    return cosine(x - x.mean(), t - t.mean())

for name, ratings in others.items():
    if name != 'Dora':
        print(f'Anna and {name:5}: {ncc(anna, ratings):6.3f}')

# %% [markdown]
# In statistics this number is the correlation coefficient. Carla's taste is the opposite of Anna's. Dora has none: for
# her, $\mathbf{Q}\mathbf{x} = \mathbf{0}$, and the quotient is not defined.
#
# The second form of {eq}`dot-ncc` is fast for all windows at once. It needs one dot product with $\mathbf{Q}\mathbf{t}$
# for each window, and the sums of $\mathbf{x}$ and of its squares over each window. The dot products are the
# cross-correlation of the picture with $\mathbf{Q}\mathbf{t}$, see [Convolutions](../convolution/convolutions.ipynb). The
# sums are differences of running totals, once along each axis:

# %%
def box_sums(x, shape):  # the sum over every window
    for axis, k in enumerate(shape):
        total = np.moveaxis(np.insert(x.cumsum(axis), 0, 0, axis), axis, 0)
        x = np.moveaxis(total[k:] - total[:-k], 0, axis)
    return x

# %% [markdown]
# We compare four scores on a photograph with 213 by 320 pixels. From forty random places with some contrast we cut
# templates of 24 by 24 pixels.

# %%
picture = photograph('china')[:426].mean(axis=-1)  # greys from 0 to 1
picture = picture.reshape(213, 2, 320, 2).mean(axis=(1, 3))
size, rng = 24, np.random.default_rng(13)
places = []
while len(places) < 40:
    i, j = rng.integers(0, [213 - size, 320 - size])
    if picture[i:i + size, j:j + size].std() > 0.08:
        places.append((i, j))

# %%
def scores(x, t, total, square):  # of all windows of x, by four rules
    product = correlate(x, t, 'valid')
    spread = np.maximum(square - total**2 / t.size, 1e-9 * t.size)
    centred = product - t.mean() * total
    return {'product': product, 'cosine': product / np.sqrt(square),
            'distance': 2 * product - square,
            'ncc': centred / np.sqrt(spread) / norm(t - t.mean())}

# %% [markdown]
# (The small floor for `spread` keeps windows without contrast from being divided by zero.) Then we look for the templates in
# six versions of the photograph. A template is found if the best window is at most one pixel away from the right place.

# %%
noise = rng.normal(size=picture.shape)
light = np.linspace(1.2, 0.4, 320)  # from left to right
conditions = {
    'as it was': picture, 'brighter': picture + 0.2,
    'less contrast': 0.3 + 0.4 * picture, 'lit from the left': light * picture,
    'noise': picture + 0.2 * noise,
    'all of this': 0.2 + 0.4 * light * picture + 0.05 * noise,
}

# %%
def found(x, rules=('product', 'cosine', 'distance', 'ncc')):
    total, square = box_sums(x, (size, size)), box_sums(x * x, (size, size))
    hits = dict.fromkeys(rules, 0)
    for i, j in places:
        s = scores(x, picture[i:i + size, j:j + size], total, square)
        for rule in rules:
            k, m = np.unravel_index(s[rule].argmax(), s[rule].shape)
            hits[rule] += abs(k - i) <= 1 and abs(m - j) <= 1
    return list(hits.values())

hits = {name: found(x) for name, x in conditions.items()}
print('found, of 40        product  cosine  distance  ncc')
for name, (a, b, c, d) in hits.items():
    print(f'{name:18} {a:8} {b:7} {c:9} {d:4}')

# %% mystnb={"image": {"alt": "Top: the photograph of a temple, darker towards the right, with one square on the temple where ncc finds the template and another in the sky where the product does; beside it the template. Bottom: the map of the product, a blur that is brightest in the sky, and the map of ncc, a fine texture whose maximum lies on the temple."}} tags=["hide-input"]
i, j = next((i, j) for i, j in places if 50 < i < 110 and 40 < j < 130)
t = picture[i:i + size, j:j + size]
shown = conditions['lit from the left']
maps = scores(shown, t, box_sums(shown, t.shape), box_sums(shown * shown, t.shape))
fig, axes = panels(2, 2, height=1.9)
show_image(axes[0, 0], shown, 'lit from the left', vmin=0, vmax=1)
show_image(axes[0, 1], t, 'the template, enlarged')
for ax, name, color in ((axes[1, 0], 'product', 'C1'), (axes[1, 1], 'ncc', 'C4')):
    show_image(ax, maps[name][::2, ::2], name, cmap='viridis', extent=(0, 297, 190, 0))
    row, column = np.unravel_index(maps[name].argmax(), maps[name].shape)
    ax.plot(column, row, 'o', ms=12, mfc='none', mec=color, mew=1.8, clip_on=False)  # one lies on the border
    axes[0, 0].add_patch(plt.Rectangle((column, row), size, size, fill=False, ec=color, lw=2))
axes[0, 0].set(xlim=(-2, 322), ylim=(215, -2));

# %% [markdown] tags=["caption"]
# In light that falls off to the right, the product is largest in the bright sky, while the normalized cross-correlation
# still finds the template on the temple.

# %% [markdown]
# The product finds not a single template, even in the photograph from which they were cut: it is largest where the
# picture is bright. Changes of brightness and contrast do not cost ncc a single template, while the distance finds only 2
# and 19 of 40. The plain cosine withstands these changes almost as well, but in noise it finds fewer than half as many as
# ncc. With noise alone the distance is best, because it uses brightness and contrast, which did not change here. So a
# score should ignore what may change, and nothing else. OpenCV offers ncc as `cv2.matchTemplate` with
# `cv2.TM_CCOEFF_NORMED`, scikit-image as `match_template`.
#
# ```{exercise} ★★ Experiment: other changes of the photograph
# :label: dot-changes
#
# How many of the forty templates does ncc find in the negative `1 - picture`, in the darker `picture**2`, and in the
# photograph upside down, `picture[::-1]`? (The right place is then the place of the flipped window.) Predict `'most'` or
# `'few'` for each, then measure and explain.
# ```

# %%
def predicted_finds():
    """Three words in a list: for the negative, the square, the flip.

    Each is 'most' or 'few': ['few', 'few', 'few'], for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def found_by_ncc(x, flipped=False):
    total, square = box_sums(x, (size, size)), box_sums(x * x, (size, size))
    hits = 0
    for i, j in places[::4]:
        s = scores(x, picture[i:i + size, j:j + size], total, square)['ncc']
        k, m = np.unravel_index(s.argmax(), s.shape)
        i = len(x) - size - i if flipped else i
        hits += abs(k - i) <= 1 and abs(m - j) <= 1
    return hits

ten = [found_by_ncc(1 - picture), found_by_ncc(picture**2), found_by_ncc(picture[::-1], True)]

def measured_finds():
    return ['most' if n > 7 else 'few' if n < 3 else 'some' for n in ten]

grade(predicted_finds, measured_finds, [()])

# %% [markdown]
# ```{solution-start} dot-changes
# :class: dropdown
# ```
# In the negative, ncc at the right place is $-1$, its smallest possible value. Squaring is no change of brightness and
# contrast, but within a window it is nearly one, because it keeps the order of the greys. Turned upside down, the pixels
# of a template no longer meet the pixels to which they belong. The wrong answers take the negative for a change of
# contrast, which would need $\alpha > 0$; expect that only exactly linear changes are ignored; and expect that ncc
# ignores turning, too.

# %% jupyter={"source_hidden": true}
def predicted_finds_solution():
    return ['few', 'most', 'few']

def negative_contrast():
    return ['most', 'most', 'few']

def only_linear():
    return ['few', 'few', 'few']

def ignores_turning():
    return ['few', 'most', 'most']

assert grade(predicted_finds_solution, measured_finds, [()])
assert not grade(negative_contrast, measured_finds, [()])
assert not grade(only_linear, measured_finds, [()])
assert not grade(ignores_turning, measured_finds, [()])
print('found of ten: negative, square, flip:', *ten)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Pencil: what light cannot explain
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
def by_definition(x, t):  # a loop over all windows, with numpy's correlation
    windows = sliding_window_view(x, t.shape)
    c = [np.corrcoef(windows[p].ravel(), t.ravel())[0, 1] for p in np.ndindex(windows.shape[:2])]
    return np.reshape(c, windows.shape[:2])

def map_agrees(seed, rule, sums):
    x, t = np.random.default_rng(seed).normal(size=(2, 12, 14))
    t = t[:4, :5]
    got = scores(x, t, sums(x, t.shape), sums(x * x, t.shape))[rule]
    return close(got, by_definition(x, t))

def same_sum_everywhere(x, shape):  # forgets that each window has sums of its own
    return np.full(np.subtract(x.shape, shape) + 1, box_sums(x, shape).mean())

verify(
    'the fast map is the correlation coefficient of each window',
    lambda seed: map_agrees(seed, 'ncc', box_sums),
    slip=('takes the same sums for all windows', lambda seed: map_agrees(seed, 'ncc', same_sum_everywhere)),
    seed=seeds(), tries=30,
)
verify(
    'ncc is the correlation coefficient, and ignores brightness and contrast',
    lambda x, light: close(ncc(x, x[::-1]), np.corrcoef(x, x[::-1])[0, 1]) and close(ncc(light * x + 7, x), 1),
    slip=('takes the plain cosine', lambda x, light: close(cosine(light * x + 7, x), 1)),
    x=vectors(4).filter(lambda x: np.ptp(x) > 0.1), light=[0.3, 1.0, 5.0],
)

def planted(seed):  # a quiet signal with a faded copy of a template in it, and a loud burst elsewhere
    rng = np.random.default_rng(seed)
    t, signal = rng.normal(size=(64, 1)), 0.1 * rng.normal(size=(500, 1))
    position = rng.integers(0, 200)
    signal[position:position + 64] += 0.5 * t + 0.3
    signal[320:440] *= 100
    return signal, t, position

def found_in(seed, rule):
    signal, t, position = planted(seed)
    return scores(signal, t, box_sums(signal, t.shape), box_sums(signal**2, t.shape))[rule].argmax() == position

verify(
    'normalized cross-correlation finds a faded copy beside louder noise',
    lambda seed: found_in(seed, 'ncc'),
    slip=('takes the plain product', lambda seed: found_in(seed, 'product')),
    seed=seeds(), tries=60,
)
assert hits['as it was'] == [0, 40, 40, 40]
assert [hits[name][3] for name in ('brighter', 'less contrast')] == [40, 40]
assert hits['brighter'][2] < hits['less contrast'][2] < 20 and min(hits[n][1] for n in ('brighter', 'less contrast')) > 37
assert hits['noise'][2] > hits['noise'][3] > 2 * hits['noise'][1] and hits['lit from the left'][3] == 40

# %% [markdown]
# ## Summary
#
# The dot product adds up products of coordinates. In an orthonormal basis it equals the two lengths times the cosine of
# the angle, so it measures similarity only between vectors of one length. Completing one square gives the projection and
# the Cauchy–Schwarz inequality, and in high dimensions random directions are nearly orthogonal. What counts as similar
# depends on what we project out and divide away first, and this decides whether a template is found.
#
# **Further reading.** {cite}`horn2013matrix` treats inner products and positive definite matrices in full,
# {cite}`golub2013matrix` projections that survive rounding, and {cite}`higham2002accuracy` the rounding errors of dot
# products. {cite}`steele2004cauchy` derives a whole book from the Cauchy–Schwarz inequality. {cite}`ball1997elementary`
# shows how strange high-dimensional balls are, and {cite}`vershynin2018high` what follows for data.
