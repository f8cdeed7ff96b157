# ---
# jupyter:
#   book:
#     functions:
#       levi_civita: levi_civita()
#       cross: cross(normal(3), normal(3))
#       hat: hat(normal(3))
#       vee: vee(hat(normal(3)))
#       expands_to_zero: 'expands_to_zero(lambda a, b: cross(a, b) + cross(b, a))'
#       lagrange_sum: lagrange_sum(normal(5), normal(5))
#       gram: gram(normal(5), normal(5))
#       area_vectors: area_vectors(normal(4, 5, 3))
#       heron: heron(normal(6, 3), normal(6, 3), normal(6, 3))
#     main: cross-components
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The cross product
#
# Sunlight warms a slope that faces the Sun. To compute how much, a program needs the direction in which each piece of ground
# faces, and all it has is the heights at the corners. Two edges of a piece are known: which vector stands at right angles to
# both? And why can this question be answered by a product in three dimensions, but hardly in any other?
#
# - **You need** lengths and matrices ([Norms](../linear_algebra/norms.ipynb)), the [dot product](dot_products.ipynb) and the
#   volume of a box.
# - **You build** the product out of one symbol, a program that proves identities, and the winter sun on a mountain.
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
from inspect import signature
from itertools import combinations, permutations

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from matplotlib.cbook import get_sample_data
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from scipy.spatial import ConvexHull

from nbutils.cases import counts, integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.figures import panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## The formula of the cross product
#
# The cross product of two vectors in space is a third vector. The *Levi-Civita symbol* gives its entries: let
# $\varepsilon_{ijk}$ be $1$ if $i, j, k$ are $1, 2, 3$ in this cyclic order, $-1$ if they are so after one exchange, and $0$
# if two of them are equal. Then
#
# ```{math}
# :label: cross-components
# (\mathbf{a} \times \mathbf{b})_i = \sum_{j,k} \varepsilon_{ijk}\, a_j b_k , \qquad
# \mathbf{a} \times \mathbf{b} = \begin{bmatrix} a_2 b_3 - a_3 b_2 \\ a_3 b_1 - a_1 b_3 \\ a_1 b_2 - a_2 b_1 \end{bmatrix}
# ```

# %%
def levi_civita():  # the symbol epsilon
    epsilon = np.zeros((3, 3, 3), dtype=np.int8)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        epsilon[i, j, k], epsilon[i, k, j] = 1, -1
    return epsilon

def cross(a, b):
    return np.einsum('ijk,j,k->i', levi_civita(), a, b)

# %%
a, b = np.array([2, 0, 0]), np.array([1, 3, 0])
print('a x b =', cross(a, b), ' by numpy:', np.cross(a, b))
print('dot products with a and b:', cross(a, b) @ a, cross(a, b) @ b)
print(cross(*(np.array(sp.symbols(f'{v}1:4')) for v in 'ab')))

# %% [markdown]
# The product of the two vectors in the plane of the floor points straight up, and its length 6 is the area of the
# parallelogram that they span. The last line shows that the same function multiplies symbols. So a computer can *prove*
# identities between such products: both sides are polynomials in the coordinates, and an identity holds if their difference
# expands to zero.

# %%
def expands_to_zero(difference):
    names = signature(difference).parameters
    symbols = {v: np.array(sp.symbols(f'{v}1:4')) for v in names}
    return not any(sp.expand(e) for e in np.ravel(difference(**symbols)))

print('a x b = b x a:',
      expands_to_zero(lambda a, b: cross(a, b) - cross(b, a)))
print('a x b = -(b x a):',
      expands_to_zero(lambda a, b: cross(a, b) + cross(b, a)))

# %% tags=["checks"]
def numerically_zero(difference):
    return lambda **case: close(abs(np.ravel(difference(**case))).max(), 0)

def proved(difference):
    assert expands_to_zero(difference)
    return numerically_zero(difference)

def refuted(difference):
    assert not expands_to_zero(difference)
    return numerically_zero(difference)

# %% [markdown]
# ### The cross product as a volume: the scalar triple product
#
# Where does {eq}`cross-components` come from? Three vectors span a slanted box. Let
# $\det[\mathbf{a}, \mathbf{b}, \mathbf{c}]$ be its volume, counted positive if $\mathbf{a}, \mathbf{b}, \mathbf{c}$ lie like
# thumb, index and middle finger of the right hand, negative for the left hand. Three properties can be seen in the box. The
# volume is linear in each vector; it changes its sign when two vectors are exchanged, so it is zero when two are equal; the
# unit cube has the volume one.
#
# Hold $\mathbf{a}$ and $\mathbf{b}$ fixed. The volume is then a linear function of $\mathbf{c}$, and a linear function with
# values in the numbers is the dot product with one vector, whose entries are its values at
# $\mathbf{e}_1, \mathbf{e}_2, \mathbf{e}_3$. This vector deserves a name.
#
# ```{prf:definition} Cross product
# :label: def-cross
# $\mathbf{a} \times \mathbf{b}$ is the vector with
# $(\mathbf{a} \times \mathbf{b}) \cdot \mathbf{c} = \det[\mathbf{a}, \mathbf{b}, \mathbf{c}]$ for all
# $\mathbf{c} \in \mathbb{R}^3$.
# ```
#
# Every law of the volume is now a law of the product. Two equal vectors span no volume, so $\mathbf{a} \times \mathbf{b}$ is
# perpendicular to $\mathbf{a}$ and to $\mathbf{b}$. Exchanging the two changes the sign, and linearity in the second vector
# distributes the product over sums:
#
# ```{math}
# :label: la.cross.anticommutes
# \mathbf{a} \times \mathbf{b} = -(\mathbf{b} \times \mathbf{a})
# ```
#
# ```{math}
# :label: la.cross.distributive
# \mathbf{a} \times (\mathbf{b} + \mathbf{c}) = (\mathbf{a} \times \mathbf{b}) + (\mathbf{a} \times \mathbf{c})
# ```
#
# To move the first of three vectors to the end takes two exchanges, so it changes nothing, and $\det[\mathbf{a}, \mathbf{b},
# \mathbf{c}] = \det[\mathbf{b}, \mathbf{c}, \mathbf{a}] = \det[\mathbf{c}, \mathbf{a}, \mathbf{b}]$ reads
#
# ```{math}
# :label: la.cross.triple-1
# \mathbf{a} \cdot (\mathbf{b} \times \mathbf{c}) = \mathbf{b} \cdot (\mathbf{c} \times \mathbf{a})
# ```
#
# ```{math}
# :label: la.cross.triple-2
# \mathbf{b} \cdot (\mathbf{c} \times \mathbf{a}) = \mathbf{c} \cdot (\mathbf{a} \times \mathbf{b})
# ```
#
# This *scalar triple product* is the volume again. Finally, write $\mathbf{a} = \sum_j a_j \mathbf{e}_j$ and
# $\mathbf{b} = \sum_k b_k \mathbf{e}_k$ and put $\mathbf{c} = \mathbf{e}_i$: entry $i$ of the product is
# $\sum_{j,k} \det[\mathbf{e}_j, \mathbf{e}_k, \mathbf{e}_i]\, a_j b_k$. By the three properties these determinants are the
# $\varepsilon_{ijk}$, and {eq}`cross-components` is derived.
#
# For three vectors of integers, the triple product and the volume of the hull of the eight corners of their box:

# %%
box = np.array([[2, 0, 0], [1, 3, 0], [1, 1, 4]])
a, b, c = box
corners = np.array(list(np.ndindex(2, 2, 2))) @ box  # (8, 3)
print('triple product', cross(a, b) @ c)
print(f'volume         {ConvexHull(corners).volume:.3f}')

# %% [markdown]
# With $\mathbf{a}$ fixed, $\mathbf{b} \mapsto \mathbf{a} \times \mathbf{b}$ is linear, hence a matrix; its columns are the
# vectors $\mathbf{a} \times \mathbf{e}_k$:
#
# ```{math}
# :label: la.cross.skew-matrix
# \mathbf{a} \times \mathbf{b} = [\mathbf{a}]_\times \mathbf{b}, \qquad
# [\mathbf{a}]_\times = \begin{bmatrix} 0 & -a_3 & a_2 \\ a_3 & 0 & -a_1 \\ -a_2 & a_1 & 0 \end{bmatrix}
# = -[\mathbf{a}]_\times^\top
# ```
#
# It is *skew-symmetric* because of the volume:
# $\mathbf{x} \cdot (\mathbf{a} \times \mathbf{y}) = \det[\mathbf{a}, \mathbf{y}, \mathbf{x}]$ changes its sign with
# $\mathbf{x}$ and $\mathbf{y}$ exchanged. Skewness and {eq}`la.cross.anticommutes` together write the product with the other
# vector's matrix, $\mathbf{a} \times \mathbf{b} = -[\mathbf{b}]_\times \mathbf{a}$, that is,
#
# ```{math}
# :label: la.cross.transpose
# \mathbf{a} \times \mathbf{b} = [\mathbf{b}]_\times^\top\, \mathbf{a}
# ```

# %%
def hat(a):  # the matrix of b -> a x b
    return np.einsum('ijk,j->ik', levi_civita(), a)

def vee(m):  # back: the vector of a skew matrix
    return np.array([m[2, 1], m[0, 2], m[1, 0]])

print(hat(np.array([1, 2, 3])))

# %% [markdown]
# ```{exercise} ★ Program: inside or outside?
# :label: cross-inside
# For points of the plane, given as $(x, y, 0)$, the third entry of
# $(\mathbf{q} - \mathbf{p}) \times (\mathbf{x} - \mathbf{p})$ tells on which side of the line from $\mathbf{p}$ to
# $\mathbf{q}$ the point $\mathbf{x}$ lies. Write `inside(x, triangle)`: whether `x` lies in the triangle with the rows of
# `triangle` as corners, in whatever order they come.
# ```

# %%
def inside(x, triangle):
    """Whether x lies in the triangle or on its boundary: a bool.

    x (3,) and the rows of triangle (3, 3) are floats with the third entry
    0. The corners are not on a line. All entries are whole or half
    numbers below 10, so that cross products have no rounding errors.
    inside(np.zeros(3), np.array([[0., 0, 0], [1, 0, 0], [0, 1, 0]]))
    is True.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_weights(x, triangle):  # x as a mean of the corners, in fractions: all weights are 0 or more
    rows = sp.Matrix(np.vstack([2 * triangle[:, :2].T, np.ones(3)]).astype(int))
    return all(weight >= 0 for weight in rows.LUsolve(sp.Matrix([int(2 * x[0]), int(2 * x[1]), 1])))

def in_plane(corners):
    return np.column_stack([corners.reshape(-1, 2), np.zeros(len(corners) // 2)])

def near(triangle):  # a corner, the middle of a side, a point further along it, one beside these, or any
    p, q, r = triangle
    special = on(p, q, r, (p + q) / 2, (q + r) / 2, (r + p) / 2, 2 * p - q, 2 * q - r)
    beside = special.flatmap(lambda x: on(x + [0.5, 0, 0], x - [0.5, 0, 0], x + [0, 0.5, 0], x - [0, 0.5, 0]))
    return special | beside | counts(2, -8, 8).map(lambda x: np.append(x / 2, 0))

def has_area(triangle):
    p, q, r = triangle
    return np.cross(q - p, r - p)[2] != 0

cases = dict(x=near, triangle=counts(6, -3, 3).map(in_plane).filter(has_area))
grade(inside, by_weights, **cases)

# %% [markdown]
# ```{solution-start} cross-inside
# :class: dropdown
# ```
# Walking around the triangle, an inner point is always on the same side: on the left if the corners come counterclockwise,
# on the right otherwise. The wrong answers take the left for granted, leave out the boundary, or look at two of the three
# sides.

# %% jupyter={"source_hidden": true}
def sides(x, triangle):
    following = np.roll(triangle, -1, axis=0)
    return np.cross(following - triangle, x - triangle)[:, 2]

def inside_solution(x, triangle):
    s = sides(x, triangle)
    return (s >= 0).all() or (s <= 0).all()

def on_the_left(x, triangle):
    return (sides(x, triangle) >= 0).all()

def without_boundary(x, triangle):
    s = sides(x, triangle)
    return (s > 0).all() or (s < 0).all()

def of_two_sides(x, triangle):
    s = sides(x, triangle)[:2]
    return (s >= 0).all() or (s <= 0).all()

assert grade(inside_solution, by_weights, **cases)
assert not grade(on_the_left, by_weights, **cases)
assert not grade(without_boundary, by_weights, **cases)
assert not grade(of_two_sides, by_weights, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
holds(
    'la.cross.anticommutes',
    proved(lambda a, b: cross(a, b) + cross(b, a)),
    slip=(
        'forgets that the exchange changes the sign',
        refuted(lambda a, b: cross(a, b) - cross(b, a)),
    ),
    a=vectors(3),
    b=vectors(3),
    tries=50,
)
holds(
    'la.cross.distributive',
    proved(lambda a, b, c: cross(a, b + c) - cross(a, b) - cross(a, c)),
    slip=(
        'exchanges the factors in the second term',
        refuted(lambda a, b, c: cross(a, b + c) - cross(a, b) - cross(c, a)),
    ),
    a=vectors(3),
    b=vectors(3),
    c=vectors(3),
    tries=50,
)
holds(
    'la.cross.triple-1',
    proved(lambda a, b, c: a @ cross(b, c) - b @ cross(c, a)),
    slip=(
        'exchanges the last two vectors, which changes the sign',
        refuted(lambda a, b, c: a @ cross(b, c) - b @ cross(a, c)),
    ),
    a=vectors(3),
    b=vectors(3),
    c=vectors(3),
    tries=50,
)
holds(
    'la.cross.triple-2',
    proved(lambda a, b, c: b @ cross(c, a) - c @ cross(a, b)),
    slip=(
        'exchanges the last two vectors, which changes the sign',
        refuted(lambda a, b, c: b @ cross(c, a) - c @ cross(b, a)),
    ),
    a=vectors(3),
    b=vectors(3),
    c=vectors(3),
    tries=50,
)

# %% tags=["checks"]
holds(
    'la.cross.skew-matrix',
    proved(lambda a, b: np.cross(a, b) - hat(a) @ b),
    slip=(
        'transposes the matrix, which changes the sign',
        refuted(lambda a, b: np.cross(a, b) - hat(a).T @ b),
    ),
    a=vectors(3),
    b=vectors(3),
    tries=50,
)
holds(
    'la.cross.transpose',
    proved(lambda a, b: cross(a, b) - hat(b).T @ a),
    slip=(
        'forgets to transpose the matrix',
        refuted(lambda a, b: cross(a, b) - hat(b) @ a),
    ),
    a=vectors(3),
    b=vectors(3),
    tries=50,
)

verify(
    'vee takes back what hat does',
    lambda a: close(vee(hat(a)), a),
    slip=('reads the other triangle', lambda a: close(vee(hat(a).T), a)),
    a=vectors(3),
)

# %% [markdown]
# ## Products of products
#
# This section continues [The formula of the cross product](#the-formula-of-the-cross-product). Everything else rests on one
# fact about the symbol.
#
# ```{prf:theorem} Two epsilons
# :label: thm-epsilon
# With $\delta_{jl} = 1$ for $j = l$ and $0$ otherwise,
# $\displaystyle \sum_i \varepsilon_{ijk}\, \varepsilon_{ilm} = \delta_{jl}\, \delta_{km} - \delta_{jm}\, \delta_{kl}$.
# ```
#
# ```{prf:proof}
# If $j = k$ or $l = m$, both sides are zero. Let $j \ne k$ and $l \ne m$. On the left only the one $i$ counts that differs
# from $j$ and $k$, and it must differ from $l$ and $m$, so $\{l, m\} = \{j, k\}$, or both sides are zero. In the same order,
# $l = j$ and $m = k$, the left side is $(\pm 1)^2 = 1$; in the opposite order one factor changes its sign, and it is $-1$.
# ```

# %% tags=["checks"]
delta, epsilon = np.eye(3, dtype=int), levi_civita()
left = np.einsum('ijk,ilm->jklm', epsilon, epsilon)
right = np.einsum('jl,km->jklm', delta, delta)
right -= np.einsum('jm,kl->jklm', delta, delta)
assert (left == right).all()

# %% [markdown]
# Put one product into another, use $\varepsilon_{ijk} = \varepsilon_{kij}$, and two epsilons meet:
#
# $$\begin{aligned}
# \big(\mathbf{a} \times (\mathbf{b} \times \mathbf{c})\big)_i
# &= \sum_{j,k} \varepsilon_{ijk}\, a_j \sum_{l,m} \varepsilon_{klm}\, b_l c_m
# = \sum_{j,l,m} \Big( \sum_k \varepsilon_{kij}\, \varepsilon_{klm} \Big) a_j b_l c_m \\
# &= \sum_{j,l,m} (\delta_{il} \delta_{jm} - \delta_{im} \delta_{jl})\, a_j b_l c_m
# = b_i\, (\mathbf{a} \cdot \mathbf{c}) - c_i\, (\mathbf{a} \cdot \mathbf{b}).
# \end{aligned}$$
#
# That is the *vector triple product*. Bracketing to the left follows by {eq}`la.cross.anticommutes`, since
# $(\mathbf{a} \times \mathbf{b}) \times \mathbf{c} = -\mathbf{c} \times (\mathbf{a} \times \mathbf{b})$:
#
# ```{math}
# :label: la.cross.vector-triple
# \mathbf{a} \times (\mathbf{b} \times \mathbf{c}) = \mathbf{b}\, (\mathbf{c} \cdot \mathbf{a}) - \mathbf{c}\, (\mathbf{a} \cdot \mathbf{b})
# ```
#
# ```{math}
# :label: la.cross.vector-triple-left
# (\mathbf{a} \times \mathbf{b}) \times \mathbf{c} = \mathbf{b}\, (\mathbf{c} \cdot \mathbf{a}) - \mathbf{a}\, (\mathbf{b} \cdot \mathbf{c})
# ```
#
# The two differ, so brackets matter: $\mathbf{e}_1 \times (\mathbf{e}_1 \times \mathbf{e}_2) = -\mathbf{e}_2$, but
# $(\mathbf{e}_1 \times \mathbf{e}_1) \times \mathbf{e}_2 = \mathbf{0}$. What holds instead of associativity is found by
# adding the three cyclic forms of {eq}`la.cross.vector-triple`: every term appears twice, with opposite signs.
#
# ```{math}
# :label: la.cross.jacobi
# \mathbf{a} \times (\mathbf{b} \times \mathbf{c}) + \mathbf{b} \times (\mathbf{c} \times \mathbf{a}) + \mathbf{c} \times (\mathbf{a} \times \mathbf{b}) = \mathbf{0}
# ```
#
# Two *products* of two products multiply as volumes. By {prf:ref}`def-cross` and the rotation of the three vectors,
# $(\mathbf{a} \times \mathbf{b}) \cdot (\mathbf{c} \times \mathbf{d}) = \det[\mathbf{a}, \mathbf{b}, \mathbf{c} \times
# \mathbf{d}] = \mathbf{a} \cdot \big(\mathbf{b} \times (\mathbf{c} \times \mathbf{d})\big)$, and the triple product inside
# gives the *Binet–Cauchy identity*
#
# ```{math}
# :label: la.cross.binet-cauchy
# (\mathbf{a} \times \mathbf{b}) \cdot (\mathbf{c} \times \mathbf{d}) =
# (\mathbf{a} \cdot \mathbf{c})(\mathbf{b} \cdot \mathbf{d}) - (\mathbf{a} \cdot \mathbf{d})(\mathbf{b} \cdot \mathbf{c})
# ```
#
# With $\mathbf{c} = \mathbf{a}$ and $\mathbf{d} = \mathbf{b}$ it measures the length of the product:
#
# ```{math}
# :label: la.cross.norm-squared
# \|\mathbf{a} \times \mathbf{b}\|_2^2 = \|\mathbf{a}\|_2^2\, \|\mathbf{b}\|_2^2 - (\mathbf{a} \cdot \mathbf{b})^2
# ```
#
# Jacobi's identity has a second reading. By {eq}`la.cross.anticommutes` it says $(\mathbf{a} \times \mathbf{b}) \times
# \mathbf{c} = \mathbf{a} \times (\mathbf{b} \times \mathbf{c}) - \mathbf{b} \times (\mathbf{a} \times \mathbf{c})$, or
# without $\mathbf{c}$: $[\mathbf{a} \times \mathbf{b}]_\times = [\mathbf{a}]_\times [\mathbf{b}]_\times -
# [\mathbf{b}]_\times [\mathbf{a}]_\times$. The cross product measures by how much two skew matrices fail to commute. Such
# matrices are velocities of rotations, and here Lie groups and their algebras will begin.

# %%
def commutator_gap(a, b):
    return hat(cross(a, b)) - (hat(a) @ hat(b) - hat(b) @ hat(a))

print('the two sides agree as polynomials:', expands_to_zero(commutator_gap))

# %% [markdown]
# Now the geometry. Let $\theta \in [0, \pi]$ be the angle between $\mathbf{a}$ and $\mathbf{b}$, so that
# $\mathbf{a} \cdot \mathbf{b} = \|\mathbf{a}\|_2 \|\mathbf{b}\|_2 \cos\theta$. Then {eq}`la.cross.norm-squared` becomes
# $\|\mathbf{a} \times \mathbf{b}\|_2^2 = \|\mathbf{a}\|_2^2 \|\mathbf{b}\|_2^2 (1 - \cos^2\theta)$, and $\sin\theta \ge 0$:
# the length is $\|\mathbf{a}\|_2 \|\mathbf{b}\|_2 \sin\theta$, base times height, the area of the parallelogram. The
# direction is perpendicular to both vectors, and of the two that are left it is the right-handed one, since
# $\det[\mathbf{a}, \mathbf{b}, \mathbf{a} \times \mathbf{b}] = \|\mathbf{a} \times \mathbf{b}\|_2^2$ is not negative. With
# $\mathbf{n}$ for the right-handed unit normal
#
# ```{math}
# :label: la.cross.geometric
# \mathbf{a} \times \mathbf{b} = \|\mathbf{a}\|_2\, \|\mathbf{b}\|_2\, \sin\theta\; \mathbf{n}
# ```
#
# For parallel vectors both sides are zero, whatever $\mathbf{n}$ is.

# %% mystnb={"image": {"alt": "Left: two arrows spanning a parallelogram, a third one standing on it at right angles. Middle: a slanted box over the same parallelogram. Right: the length of the cross product follows the sine of the angle, the dot product its cosine."}} tags=["hide-input"]
a, b, c = np.array([[1.6, 0.2, 0], [0.4, 1.1, 0], [0.4, 0.3, 1.2]])
base = np.array([0 * a, a, a + b, b])
walls = np.stack([base, np.roll(base, -1, 0)], 1)
walls = np.concatenate([walls, walls[:, ::-1] + c], 1)  # (4, 4, 3)
style = dict(alpha=0.15, facecolor='C0', edgecolor='C0', lw=1)
fig = plt.figure(figsize=(6, 2.4))
for spot, third, name in ((1, cross(a, b), 'a × b'), (2, c, 'c')):
    ax = fig.add_subplot(1, 3, spot, projection='3d', facecolor='none')
    faces = [base] if spot == 1 else [base, base + c, *walls]
    ax.add_collection3d(Poly3DCollection(faces, **style))
    for v, label in ((a, 'a'), (b, 'b'), (third, name)):
        color = 'C1' if v is third else 'C0'
        ax.quiver(0, 0, 0, *v, color=color, arrow_length_ratio=0.12, lw=2)
        ax.text(*(1.1 * v), label, color=color)
    ax.set(xlim=(-0.1, 2.4), ylim=(-0.1, 1.9), zlim=(-0.1, 1.9))
    ax.set_box_aspect((2.5, 2, 2), zoom=1.15)
    ax.set_axis_off()
ax = fig.add_subplot(1, 3, 3)
theta = np.linspace(0, np.pi, 181)
b = np.stack([np.cos(theta), np.sin(theta), 0 * theta], -1)  # (181, 3)
area = np.linalg.norm(np.cross([1, 0, 0], b), axis=1)
ax.plot(np.degrees(theta), area, color='C1', label='‖a × b‖')
ax.plot(np.degrees(theta), b[:, 0], color='C0', label='a · b')
ax.set(xticks=[0, 90, 180], xlabel='angle (degrees)', title='unit vectors')
ax.legend();

# %% [markdown] tags=["caption"]
# $\mathbf{a} \times \mathbf{b}$ is perpendicular to both factors, its length is the area that they span, and its dot product
# with $\mathbf{c}$ is the volume of the box; the area goes with the sine of the angle.

# %% [markdown]
# ```{exercise} ★★ Pencil: how far apart are two lines?
# :label: cross-lines
# Two lines in space, $\mathbf{p} + s\mathbf{u}$ and $\mathbf{q} + t\mathbf{v}$. Derive their distance from the volume of the
# box that $\mathbf{u}$, $\mathbf{v}$ and $\mathbf{q} - \mathbf{p}$ span, and write `line_distance(p, u, q, v)`. Take care of
# parallel lines.
# ```

# %%
def line_distance(p, u, q, v):
    """The distance of the lines p + s u and q + t v: a float.

    All four are arrays (3,), u and v not zero, but of any length. The
    directions are parallel, up to rounding, or their angle is larger than
    a thousandth. p = (0, 0, 0), u = (1, 0, 0), q = (5, 2, 0) and
    v = (0, 0, 1) give 2.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_least_squares(p, u, q, v):  # the best s and t
    directions = np.stack([u / np.linalg.norm(u), -v / np.linalg.norm(v)], 1)  # (3, 2)
    s_and_t = np.linalg.lstsq(directions, q - p, rcond=1e-9)[0]
    return np.linalg.norm(directions @ s_and_t - (q - p))

def other_direction(u):  # a multiple of u, or not nearly one
    def clear(v):
        return np.linalg.norm(np.cross(u, v)) > 1e-3 * np.linalg.norm(u) * np.linalg.norm(v) > 0
    multiples = scalars(0.1, 3).map(lambda t: t * u) | scalars(0.1, 3).map(lambda t: -t * u)
    return multiples | on(1e-12, 1.0, 1e12).flatmap(lambda scale: directions.map(lambda v: scale * v).filter(clear))

directions = vectors(3, edges=True).filter(lambda u: np.linalg.norm(u) > 0.01)
cases = dict(
    p=vectors(3, edges=True),
    u=on(1.0, 1e-12, 1e12).flatmap(lambda scale: directions.map(lambda u: scale * u)),
    q=vectors(3, edges=True),
    v=other_direction,
)
grade(line_distance, by_least_squares, **cases)

# %% [markdown]
# ```{solution-start} cross-lines
# :class: dropdown
# ```
# The distance is the height of the box over the parallelogram of $\mathbf{u}$ and $\mathbf{v}$: volume by area,
# $|(\mathbf{q} - \mathbf{p}) \cdot (\mathbf{u} \times \mathbf{v})| / \|\mathbf{u} \times \mathbf{v}\|_2$. For parallel lines
# it is the height of a parallelogram, $\|(\mathbf{q} - \mathbf{p}) \times \mathbf{u}\|_2 / \|\mathbf{u}\|_2$. With
# directions of length one, a cross product that is only a rounding error can be recognized. The wrong answers forget
# to divide by the area, forget parallel lines, or recognize only those whose cross product is exactly zero.

# %% jupyter={"source_hidden": true}
def line_distance_solution(p, u, q, v):
    u, v = u / np.linalg.norm(u), v / np.linalg.norm(v)
    n = np.cross(u, v)
    if np.linalg.norm(n) < 1e-9:
        return np.linalg.norm(np.cross(q - p, u))
    return abs((q - p) @ n) / np.linalg.norm(n)

def volume(p, u, q, v):
    return abs((q - p) @ np.cross(u, v))

def never_parallel(p, u, q, v):
    return volume(p, u, q, v) / np.linalg.norm(np.cross(u, v))

def without_tolerance(p, u, q, v):
    if not np.cross(u, v).any():
        return np.linalg.norm(np.cross(q - p, u)) / np.linalg.norm(u)
    return never_parallel(p, u, q, v)

assert grade(line_distance_solution, by_least_squares, **cases)
assert not grade(volume, by_least_squares, **cases)
assert not grade(never_parallel, by_least_squares, **cases)
assert not grade(without_tolerance, by_least_squares, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
three = {name: vectors(3) for name in 'abc'}
holds(
    'la.cross.vector-triple',
    proved(lambda a, b, c: cross(a, cross(b, c)) - b * (c @ a) + c * (a @ b)),
    slip=(
        'subtracts the term of the other bracketing',
        refuted(
            lambda a, b, c: cross(a, cross(b, c)) - b * (c @ a) + a * (b @ c)
        ),
    ),
    **three,
    tries=50,
)
holds(
    'la.cross.vector-triple-left',
    proved(lambda a, b, c: cross(cross(a, b), c) - b * (c @ a) + a * (b @ c)),
    slip=(
        'leaves out the brackets, as if the order did not matter',
        refuted(lambda a, b, c: cross(cross(a, b), c) - cross(a, cross(b, c))),
    ),
    **three,
    tries=50,
)
holds(
    'la.cross.jacobi',
    proved(
        lambda a, b, c: sum(
            cross(x, cross(y, z))
            for x, y, z in ((a, b, c), (b, c, a), (c, a, b))
        )
    ),
    slip=(
        'exchanges two vectors in the second term',
        refuted(
            lambda a, b, c: sum(
                cross(x, cross(y, z))
                for x, y, z in ((a, b, c), (b, a, c), (c, a, b))
            )
        ),
    ),
    **three,
    tries=50,
)

# %% tags=["checks"]
four = {name: vectors(3) for name in 'abcd'}
holds(
    'la.cross.binet-cauchy',
    proved(
        lambda a, b, c, d: (
            cross(a, b) @ cross(c, d) - (a @ c) * (b @ d) + (a @ d) * (b @ c)
        )
    ),
    slip=(
        'adds the second product where it is subtracted',
        refuted(
            lambda a, b, c, d: (
                cross(a, b) @ cross(c, d)
                - (a @ c) * (b @ d)
                - (a @ d) * (b @ c)
            )
        ),
    ),
    **four,
    tries=30,
)
holds(
    'la.cross.norm-squared',
    proved(
        lambda a, b: (
            cross(a, b) @ cross(a, b) - (a @ a) * (b @ b) + (a @ b) ** 2
        )
    ),
    slip=(
        'forgets the square of the dot product, and its sign',
        refuted(
            lambda a, b: cross(a, b) @ cross(a, b) - (a @ a) * (b @ b) + a @ b
        ),
    ),
    a=vectors(3),
    b=vectors(3),
    tries=50,
)

def from_geometry(a, b, hand=1):
    size_a, size_b = np.linalg.norm(a), np.linalg.norm(b)
    u, v = a / size_a, b / size_b
    theta = 2 * np.arctan2(np.linalg.norm(u - v), np.linalg.norm(u + v))
    n = np.linalg.qr(np.stack([u, v], 1), mode='complete')[0][:, 2]
    n = n * np.sign(np.linalg.det([a, b, n])) * hand
    return size_a * size_b * np.sin(theta) * n

holds(
    'la.cross.geometric',
    lambda a, b: close(cross(a, b), from_geometry(a, b)),
    slip=(
        'takes the left hand for the right one',
        lambda a, b: close(cross(a, b), from_geometry(a, b, hand=-1)),
    ),
    a=vectors(3).filter(np.any),
    b=vectors(3).filter(np.any),
)

# %% tags=["checks"]
verify(
    'the matrix of a cross product is the commutator of the two matrices',
    lambda a, b: close(commutator_gap(a, b), np.zeros((3, 3))),
    slip=('adds the two products', lambda a, b: close(hat(np.cross(a, b)), hat(a) @ hat(b) + hat(b) @ hat(a))),
    a=vectors(3), b=vectors(3),
)

# %% [markdown]
# ```{exercise} ★ Experiment: the same factor again and again
# :label: cross-again
# Let $\mathbf{u} = (0, 0, 2)^\top$. Begin with $\mathbf{v} = (1, 0, 1)^\top$ and replace $\mathbf{v}$ by
# $\mathbf{u} \times \mathbf{v}$, four times. Predict the vector that comes out. Then compute it, and explain.
# ```

# %%
def predicted_vector():
    """The vector after four products: a list of three ints, as [1, 0, 1]."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def computed_vector():
    v = np.array([1, 0, 1])
    for _ in range(4):
        v = np.cross([0, 0, 2], v)
    return v.tolist()

grade(predicted_vector, computed_vector, [()])

# %% [markdown]
# ```{solution-start} cross-again
# :class: dropdown
# ```
# The first product drops the part of $\mathbf{v}$ along $\mathbf{u}$, because that part is parallel to $\mathbf{u}$. What remains is
# perpendicular to $\mathbf{u}$. Each product turns it by a right angle and makes it $\|\mathbf{u}\| = 2$ times as long. Four right angles
# are a full turn, and the length grows by $2^4 = 16$. The wrong answers keep the part along $\mathbf{u}$, turn by half a
# turn only, or forget that $\mathbf{u}$ is not a unit vector.

# %% jupyter={"source_hidden": true}
def predicted_vector_solution():
    return [16, 0, 0]

def part_along_kept():
    return [16, 0, 16]

def half_a_turn():
    return [-16, 0, 0]

def unit_vector():
    return [1, 0, 0]

assert grade(predicted_vector_solution, computed_vector, [()])
assert not grade(part_along_kept, computed_vector, [()])
assert not grade(half_a_turn, computed_vector, [()])
assert not grade(unit_vector, computed_vector, [()])
v = np.array([1, 0, 1])
for step in range(1, 5):
    v = np.cross([0, 0, 2], v)
    print(f'after step {step}:', *v)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The wedge product: why the cross product needs three dimensions
#
# This section continues [The formula of the cross product](#the-formula-of-the-cross-product).
# The area of a parallelogram makes sense in any dimension, and so does the right side of {eq}`la.cross.norm-squared`, the
# determinant of the Gram matrix of $\mathbf{a}$ and $\mathbf{b}$. Lagrange found it to be a sum of squares:
#
# ```{math}
# :label: la.cross.lagrange
# \|\mathbf{a}\|_2^2\, \|\mathbf{b}\|_2^2 - (\mathbf{a} \cdot \mathbf{b})^2 = \sum_{1 \le i < j \le n} (a_i b_j - a_j b_i)^2
# ```
#
# To see it, sum over *all* pairs: $\sum_{i,j} (a_i b_j - a_j b_i)^2 = \sum_{i,j} (a_i^2 b_j^2 + a_j^2 b_i^2 - 2\, a_i b_i\,
# a_j b_j) = 2 \|\mathbf{a}\|_2^2 \|\mathbf{b}\|_2^2 - 2 (\mathbf{a} \cdot \mathbf{b})^2$, where each pair $i < j$ appears
# twice.
#
# The identity holds for every $n$. In three dimensions both sides are $\|\mathbf{a} \times \mathbf{b}\|_2^2$. It is tempting
# to make a product for $n = 4$ in the same cyclic way, with $a_{i+1} b_{i+2} - a_{i+2} b_{i+1}$ as entry $i$. But the length of
# this vector is not the area:

# %%
def lagrange_sum(a, b):
    pairs = combinations(range(len(a)), 2)
    return sum((a[i] * b[j] - a[j] * b[i]) ** 2 for i, j in pairs)

def gram(a, b):
    return (a @ a) * (b @ b) - (a @ b) ** 2

def cyclic(a, b):  # squared length of the product read off cyclically
    a_1, a_2, b_1, b_2 = (np.roll(v, -k) for v in (a, b) for k in (1, 2))
    return ((a_1 * b_2 - a_2 * b_1) ** 2).sum()

for n in (3, 4):
    a, b = np.random.default_rng(0).integers(-9, 10, (2, n))
    print(f'n = {n}: squared area {gram(a, b)}, sum of squares',
          f'{lagrange_sum(a, b)}, cyclic product {cyclic(a, b)}')

# %% [markdown]
# The numbers $a_i b_j - a_j b_i$ fill a skew matrix, the *wedge product*
# $\mathbf{a} \wedge \mathbf{b} = \mathbf{a}\mathbf{b}^\top - \mathbf{b}\mathbf{a}^\top$, and Lagrange's sum is half of its
# squared Frobenius norm. The wedge product exists everywhere; above the diagonal it has $n(n - 1)/2$ entries. They fill a
# vector of the same space exactly if $n(n - 1)/2 = n$, that is, $n = 3$. There {eq}`la.cross.vector-triple-left` gives
# $(\mathbf{a} \wedge \mathbf{b})\, \mathbf{c} = \mathbf{a} (\mathbf{b} \cdot \mathbf{c}) - \mathbf{b} (\mathbf{a} \cdot
# \mathbf{c}) = -(\mathbf{a} \times \mathbf{b}) \times \mathbf{c}$: the cross product is the wedge product, rolled up into a
# vector.

# %%
a, b = np.random.default_rng(0).integers(-9, 10, (2, 8))
wedge = np.outer(a, b) - np.outer(b, a)
print('half of the squared Frobenius norm of the wedge product:',
      (wedge ** 2).sum() // 2, ' squared area:', gram(a, b))

# %% [markdown]
# Is that the end? If we ask only for a bilinear product that is perpendicular to its factors and has the length of
# {eq}`la.cross.lagrange`, there is one in dimension 7 too, and in no other dimension above one {cite}`massey1983cross`. It
# comes from the octonions {cite}`baez2002octonions`: seven triples $(i, i + 1, i + 3)$, counted modulo 7, take over the role
# of $(1, 2, 3)$. But it pays a price.

# %%
seven = np.zeros((7, 7, 7), dtype=int)
for i in range(7):
    triple = np.array([i, i + 1, i + 3]) % 7
    for order in permutations(range(3)):
        seven[tuple(triple[list(order)])] = levi_civita()[order]

def cross_7(a, b):
    return np.einsum('ijk,j,k->i', seven, a, b)

a, b = (np.array(sp.symbols(f'{v}1:8')) for v in 'ab')
n = cross_7(a, b)
print('perpendicular:', sp.expand(n @ a) == sp.expand(n @ b) == 0)
print('length by Lagrange:', sp.expand(n @ n - gram(a, b)) == 0)
a, b, c = np.random.default_rng(3).integers(-9, 10, (3, 7))
turns = ((a, b, c), (b, c, a), (c, a, b))
print('Jacobi:', not sum(cross_7(x, cross_7(y, z)) for x, y, z in turns).any())

# %% [markdown]
# ```{exercise} ★★★ Program: many factors
# :label: cross-many
# {prf:ref}`def-cross` works in every dimension if one takes enough factors: let
# $\mathbf{v}_1 \times \dots \times \mathbf{v}_{n-1}$ be the vector whose dot product with $\mathbf{c}$ is
# $\det[\mathbf{v}_1, \dots, \mathbf{v}_{n-1}, \mathbf{c}]$. Write `cross_many(vs)` for an array of shape $(n - 1, n)$. Then
# explore: what is its length, and what does it give for $n = 2$?
# ```

# %%
def cross_many(vs):
    """The product of the rows of vs (n - 1, n), n >= 2: an array (n,).

    It is zero where the rows are dependent. cross_many(np.eye(3)[:2]) is
    [0, 0, 1].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_minors(vs):  # expand the determinant along its last row
    n = vs.shape[1]
    return np.array([(-1) ** (n - 1 + i) * np.linalg.det(np.delete(vs, i, axis=1)) for i in range(n)])

cases = dict(vs=integers(2, 5).flatmap(lambda n: matrices(n - 1, n, -5, 5, edges=True)))
grade(cross_many, by_minors, **cases)

# %% [markdown]
# ```{solution-start} cross-many
# :class: dropdown
# ```
# Entry $i$ is the determinant with $\mathbf{c} = \mathbf{e}_i$. The length is the volume spanned by the factors, the root of
# the determinant of their Gram matrix. For $n = 2$ there is one factor, and it is turned by a right angle. The wrong
# answers put $\mathbf{c}$ first, which changes the sign for even $n$, forget the signs of the minors, or give a vector of
# the right direction with length one.

# %% jupyter={"source_hidden": true}
def cross_many_solution(vs):
    units = np.eye(vs.shape[1])
    return np.array([np.linalg.det(np.vstack([vs, e])) for e in units])

def c_first(vs):
    units = np.eye(vs.shape[1])
    return np.array([np.linalg.det(np.vstack([e, vs])) for e in units])

def without_signs(vs):
    return np.array([np.linalg.det(np.delete(vs, i, axis=1)) for i in range(vs.shape[1])])

def of_length_one(vs):
    n = np.linalg.svd(vs)[2][-1]
    return n * np.sign(np.linalg.det(np.vstack([vs, n])))

assert grade(cross_many_solution, by_minors, **cases)
assert not grade(c_first, by_minors, **cases)
assert not grade(without_signs, by_minors, **cases)
assert not grade(of_length_one, by_minors, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def is_lagrange(square):
    def test(n, seed):
        a, b = np.random.default_rng(seed).integers(-9, 10, (2, n))
        return square(a, b) == lagrange_sum(a, b)

    return test

holds(
    'la.cross.lagrange',
    is_lagrange(gram),
    slip=(
        'reads the product off cyclically in four dimensions, too',
        is_lagrange(cyclic),
    ),
    n=[4, 2, 3, 5, 6, 7, 8],
    seed=seeds(),
)

# %% [markdown]
# ## Where it matters: the sunny side of a mountain
#
# Half a cross product of two edges of a triangle is its *area vector*: its length is the area, its direction the normal. The
# Sun does nothing but dot products with it. If the unit vector $\mathbf{s}$ points to the Sun, a triangle with the area
# vector $\mathbf{n}$ catches light in proportion to $\mathbf{n} \cdot \mathbf{s}$. We take real ground, 30 by 32 kilometres
# of Tennessee around the Jacksboro fault, whose heights come with matplotlib, and cut each cell of the grid into two
# triangles.

# %%
ground = get_sample_data('jacksboro_fault_dem.npz')
height = ground['elevation'].astype(float)  # (344, 403), metres
step_y = float(ground['dy']) * 111_200  # metres per degree of latitude
step_x = step_y * np.cos(np.radians(float(ground['ymin'])))
row, column = np.indices(height.shape)
# x points east, y north; the rows of the array run south
r = np.stack([column * step_x, -row * step_y, height], -1)

def area_vectors(r):  # (rows, columns, 3) -> (2, rows - 1, columns - 1, 3)
    nw, ne, sw, se = r[:-1, :-1], r[:-1, 1:], r[1:, :-1], r[1:, 1:]
    first = np.cross(sw - nw, ne - nw)
    second = np.cross(ne - se, sw - se)
    return np.stack([first, second]) / 2

n = area_vectors(r)

# %% [markdown]
# How much ground is there? Heron's formula gives the same area for each triangle from the lengths of its sides alone. The *sum* of all
# area vectors does not depend on the interior: by {eq}`la.cross.distributive` and {eq}`la.cross.anticommutes`
#
# $$\tfrac12 (\mathbf{q} - \mathbf{p}) \times (\mathbf{t} - \mathbf{p}) =
# \tfrac12 (\mathbf{p} \times \mathbf{q} + \mathbf{q} \times \mathbf{t} + \mathbf{t} \times \mathbf{p}),$$
#
# one term for each edge, in the direction in which the triangle is walked around. Two neighbours walk their common edge in
# opposite directions, so it cancels. What is left of the whole mountain is its outline.

# %%
def heron(p, q, t):
    a, b, c = (np.linalg.norm(v, axis=-1) for v in (q - p, t - q, p - t))
    s = (a + b + c) / 2
    return np.sqrt(s * (s - a) * (s - b) * (s - c))

areas = heron(r[:-1, :-1], r[1:, :-1], r[:-1, 1:])
assert close(np.linalg.norm(n[0], axis=-1), areas)
west, south, east, north = r[:, 0], r[-1], r[::-1, -1], r[0, ::-1]
outline = np.concatenate([west, south, east, north])
around = np.cross(outline, np.roll(outline, -1, 0)).sum(0) / 2
total = n.sum((0, 1, 2))
assert close(total / total[2], around / total[2])
slopes = np.linalg.norm(n, axis=-1)
print(f'area of the ground by area of the map: {slopes.sum() / total[2]:.3f}')

# %% [markdown]
# Now the Sun, at noon on the shortest day: due south, 30 degrees high at this latitude. Flat ground catches
# $\sin 30^\circ = 0.5$ per square metre. And now the mistake that waits in every program of this kind: we forget the minus
# sign of $y$, because arrays count their rows downwards. That mirrors the ground. What does a mirror do to a cross product?
# For an orthogonal matrix $\mathbf{Q}$, $\det[\mathbf{Q}\mathbf{a}, \mathbf{Q}\mathbf{b}, \mathbf{Q}\mathbf{c}] =
# \det\mathbf{Q} \det[\mathbf{a}, \mathbf{b}, \mathbf{c}]$ says that $(\mathbf{Q}\mathbf{a} \times \mathbf{Q}\mathbf{b})
# \cdot \mathbf{Q}\mathbf{c} = \det\mathbf{Q}\; (\mathbf{a} \times \mathbf{b}) \cdot \mathbf{c} = \det\mathbf{Q}\;
# \mathbf{Q}(\mathbf{a} \times \mathbf{b}) \cdot \mathbf{Q}\mathbf{c}$ for all $\mathbf{c}$. Hence
#
# ```{math}
# :label: cross-mirror
# \mathbf{Q}\mathbf{a} \times \mathbf{Q}\mathbf{b} = \det\mathbf{Q}\; \mathbf{Q} (\mathbf{a} \times \mathbf{b}), \qquad \det\mathbf{Q} = \pm 1 .
# ```
#
# A rotation takes the product along; a mirror also reverses it. So every normal of the mirrored ground points downwards, and
# the mountain lies in the dark. The obvious repair is to exchange the two factors. Then there is light, and everything looks
# right.

# %%
noon = np.radians(30)
sun = np.array([0, -np.cos(noon), np.sin(noon)])
mirrored = area_vectors(r * [1, -1, 1])
assert close(mirrored, -n * [1, -1, 1])
flat = area_vectors(r * [1, 1, 0])
flat_mirrored = area_vectors(r * [1, -1, 0])

falls_south = height[:-1] - height[1:]  # along the side that runs south
falls_south = np.stack([falls_south[:, :-1], falls_south[:, 1:]])

def light(n, chosen=...):  # caught per square metre of ground
    caught = np.maximum(n @ sun, 0)[chosen].sum()
    return caught / np.linalg.norm(n, axis=-1)[chosen].sum()

print('                          south slopes   north slopes   flat')
for name, v, level in (
        ('right', n, flat), ('minus sign lost', mirrored, flat_mirrored),
        ('and factors exchanged', -mirrored, -flat_mirrored)):
    there = light(v, falls_south > 0), light(v, falls_south < 0)
    print(f'{name:25} {there[0]:12.2f} {there[1]:14.2f} {light(level):6.2f}')

# %% mystnb={"image": {"alt": "Three square maps of the same hills. Left: heights, long parallel ridges and valleys. Middle: noon light, the slopes that face south are bright. Right: the same after the lost sign and the exchanged factors, bright and dark slopes have changed places."}} tags=["hide-input"]
part = np.s_[150:270, 150:270]
fig, axes = panels(3, height=2.3)
show_image(axes[0], height[part], 'height', cmap='viridis')
for ax, v, name in ((axes[1], n, 'noon'), (axes[2], -mirrored, 'two errors')):
    shade = v[0] @ sun / np.linalg.norm(v[0], axis=-1)
    show_image(ax, shade[part], name, vmin=0, vmax=1)

# %% [markdown] tags=["caption"]
# A lost minus sign and exchanged factors leave a picture of the noon light that looks as right as the true one, but has the
# sunny slopes on the wrong side.

# %% [markdown]
# In truth the southern slopes get nearly twice the light of the northern ones. The version with two errors makes as
# plausible a picture, without a blackout or a warning, and puts the vineyard on the wrong side of the ridge. (We count the
# angle of the ground to the Sun, not the shadow of one hill on another.) What the sunny slopes gain, the others lose: as
# long as all ground is lit, the total is $\mathbf{s}$ times the sum of the area vectors, and that depends on the outline
# alone.
#
# ```{exercise} ★★ Program: a volume from its surface
# :label: cross-volume
# The surface of a solid is given as triangles, an array of shape $(m, 3, 3)$, the corners counterclockwise as seen from
# outside. Write `solid_volume(triangles)`. Hint: each triangle and the origin span a slanted pyramid, whose volume is one
# sixth of a triple product. Why may the origin lie anywhere?
# ```

# %%
def solid_volume(triangles):
    """The volume inside a closed surface of m triangles: a float.

    triangles (m, 3, 3) has the corners of each as rows, counterclockwise
    as seen from outside. The solid need not be convex, and the origin may
    lie anywhere. With corners at the origin and one unit along each axis
    it is 1/6.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def surface(points):  # of the convex hull, corners counterclockwise
    hull = ConvexHull(points)
    t = points[hull.simplices]  # (m, 3, 3)
    normal = np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0])
    inward = (normal * hull.equations[:, :3]).sum(1) < 0
    t[inward] = t[inward, ::-1]
    return t

def dented(t):  # the first triangle is replaced by three that lead to the middle of all corners
    p, q, r = t[0]
    s = t.mean((0, 1))
    return np.concatenate([t[1:], [[p, q, s], [q, r, s], [r, p, s]]])

def by_prisms(triangles):  # between each triangle and the plane z = 0: mean height times area of the shadow
    p, q, r = np.moveaxis(triangles, 1, 0)
    shadows = np.cross((q - p)[:, :2], (r - p)[:, :2]) / 2
    return triangles[:, :, 2].mean(1) @ shadows

def wide(points):  # clearly not in one plane
    return np.linalg.svd(points - points.mean(0))[1][-1] > 0.5

solids = matrices((4, 7), 3).filter(wide).map(surface)
cases = dict(triangles=solids | solids.map(dented))
grade(solid_volume, by_prisms, **cases)

# %% [markdown]
# ```{solution-start} cross-volume
# :class: dropdown
# ```
# The pyramids have signs. Seen from the origin, those over the far side of the solid count positive, those over the near
# side negative, and the space between origin and solid cancels. In formulas: shifting the origin by $\mathbf{h}$ changes the
# sum by a multiple of $\mathbf{h} \cdot \sum \mathbf{n}$, and the area vectors of a closed surface add up to zero, since it
# has no outline. One wrong answer takes absolute values, which is right only if no pyramid counts negative. The
# others fill a dent, by the convex hull of all corners, or take a third of the triple products, as for pyramids over
# parallelograms.

# %% jupyter={"source_hidden": true}
def pyramids(triangles):
    p, q, t = np.moveaxis(triangles, 1, 0)
    return (p * np.cross(q, t)).sum(1) / 6

def solid_volume_solution(triangles):
    return pyramids(triangles).sum()

def without_signs(triangles):
    return abs(pyramids(triangles)).sum()

def without_dents(triangles):
    return ConvexHull(triangles.reshape(-1, 3)).volume

def over_parallelograms(triangles):
    return 2 * pyramids(triangles).sum()

assert grade(solid_volume_solution, by_prisms, **cases)
assert not grade(without_signs, by_prisms, **cases)
assert not grade(without_dents, by_prisms, **cases)
assert not grade(over_parallelograms, by_prisms, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def south_is_brighter(normals, level):
    return bool(light(normals, falls_south > 0) > light(level) > light(normals, falls_south < 0))

verify(
    'southern slopes catch more light than flat ground, northern ones less',
    lambda: south_is_brighter(n, flat),
    slip=('loses a minus sign and exchanges the factors', lambda: south_is_brighter(-mirrored, -flat_mirrored)),
)
verify(
    'flat ground catches the sine of the height of the sun',
    lambda: close(light(flat), np.sin(noon)),
    slip=('takes the cosine', lambda: close(light(flat), np.cos(noon))),
)

# %% [markdown]
# ## Summary
#
# The cross product is the vector that turns the signed volume of three vectors into a dot product, and the laws of the
# volume are its laws. All its identities follow from how two epsilons multiply, and each was proved here by expanding it in
# symbols. Its length is an area in every dimension, but only in dimension three does that area, the wedge product, fill a
# vector, whose sign depends on the orientation of space.
#
# **Further reading.** {cite}`massey1983cross` shows in a few pages why only the dimensions 3 and 7 have such a product,
# {cite}`baez2002octonions` where the second one comes from. {cite}`murray1994mathematical` puts skew matrices to work on
# robots, and {cite}`horn1981hill` tells the history of light on maps.
