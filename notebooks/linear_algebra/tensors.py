# ---
# jupyter:
#   book:
#     functions:
#       box_means: box_means(uniform(6, 7), 3)
#       broadcast_shape: "broadcast_shape((3, 1), (4,))"
#       cumulative: cumulative(normal(2, 3), 1)
#       distances: distances(normal(3, 2), normal(4, 2))
#       einsum: "einsum('ik,kj->ij', normal(2, 3), normal(3, 4))"
#       hadamard: hadamard(normal(3, 1), normal(4))
#       read: "read(normal(12), (4, 3), (1, 4))"
#       stretch: "stretch(normal(3, 1), (3, 4))"
#       strides_of: "strides_of((2, 3, 4))"
#       total: total(normal(2, 3), 1)
#     main: tensors-place
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Tensors and shapes
#
# A colour photograph is an array of the shape (107, 160, 3): rows, columns, colours. A network wants the colours first,
# that is, the shape (3, 107, 160). Both `photo.transpose(2, 0, 1)` and `photo.reshape(3, 107, 160)` have this shape, and
# neither gives an error. But only one of them is still a picture. What does a shape mean, and which operations respect
# it?
#
# - **You need** sums with indices, and a little Python. This is the first section of the book.
# - **You build** strides, broadcasting, sums along an axis and `einsum`, equal to numpy's, and see a loss function that
#   teaches nothing because of a shape.
# - **Runs in** 6 seconds, in float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from importlib import import_module
from math import prod

import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from scipy.ndimage import uniform_filter
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.linear_model import LinearRegression

from nbutils.cases import integers, masks, on, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.data import diabetes, photograph
from nbutils.figures import GREY, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## Shape and strides: how a tensor lies in memory
#
# In memory, the numbers of a photograph stand in a single line. The shape is part of the rule by which this line is
# read. For a small example, we read 24 numbers with the shape (2, 3, 4):

# %%
memory = np.arange(24)
X = memory.reshape(2, 3, 4)
print(X)
print('the element X[1, 0, 2] is', X[1, 0, 2])

# %% [markdown]
# ````{prf:definition} Tensor
# :label: def-tensor
# A *tensor* $\mathbf{X}$ of *order* $n$ gives a number $X[i_1, \dots, i_n]$ to every tuple of indices with
# $0 \le i_k < s_k$. (Places are counted from 0, as in code.) All its elements are of one type. The sizes of its *axes*
# form its *shape*, written
#
# ```{math}
# :label: aw.linalg.tensor
# \mathbf{X} \sim (s_1, s_2, \dots, s_n) .
# ```
# ````
#
# A number has the shape `()`, a vector one axis, and a matrix two. A list of lists such as `[[1, 2], [3]]` is no tensor,
# because its rows have different lengths.
#
# The usual order in memory is **row-major**: the last index runs fastest. A step along the last axis moves one place in
# memory. A step along axis $k$ jumps over a whole block of shape $(s_{k+1}, \dots, s_n)$. The length of this jump is the **stride**
# $t_k$:
#
# ```{math}
# :label: tensors-place
# \operatorname{place}(i_1, \dots, i_n) = \sum_{k=1}^n i_k \, t_k , \qquad t_k = s_{k+1} s_{k+2} \cdots s_n , \quad t_n = 1 .
# ```

# %%
def strides_of(shape):
    return [prod(shape[k + 1:]) for k in range(len(shape))]

def read(memory, shape, strides, start=0):
    index = np.indices(shape)  # (n, s_1, ..., s_n)
    return memory[start + np.tensordot(np.array(strides, int), index, 1)]

# %%
print('strides of (2, 3, 4):', strides_of((2, 3, 4)))
print('place of [1, 0, 2]:', 1 * 12 + 0 * 4 + 2 * 1)
print('as reshape reads it:', (read(memory, (2, 3, 4), (12, 4, 1)) == X).all())

# %% mystnb={"image": {"alt": "Top: a single cell, a row of four cells, a table of three by four cells, and two such tables that form one tensor, each cell with its place in memory. Bottom: 24 cells in a line; the element with index 1, 0, 2 is reached from place 0 by one jump of 12 and two steps of 1, at place 14."}} tags=["hide-input"]
def draw(numbers, x, y, color=GREY):
    for (i, j), number in np.ndenumerate(np.atleast_2d(numbers)):
        box = plt.Rectangle((x + j, y - i), 1, 1, fill=False, ec=color, lw=0.9)
        ax.add_patch(box)
        ax.text(x + j + 0.5, y - i + 0.47, int(number), color=color,
                ha='center', va='center', fontsize=7.5)

block = read(np.arange(24), (2, 3, 4), strides_of((2, 3, 4)))
fig, ax = plt.subplots(figsize=(6, 2.25))
line = np.arange(24)
for args in ((0, 0, 7), (line[:4], 2.5, 7), (block[0], 8, 7), (line, 0, 0),
             (block[0], 13.5, 7), (block[1], 18, 7, 'C0'), (14, 20, 7, 'C1'),
             (14, 14, 0, 'C1')):
    draw(*args)
labels = (0.5, 6.4, '()'), (4.5, 6.4, '(4,)'), (10, 4.4, '(3, 4)')
for x, y, text in (*labels, (17.75, 4.4, '(2, 3, 4)')):
    ax.text(x, y, text, ha='center', va='center')
for start, end, bend in ((0, 12, -0.22), (12, 13, -1), (13, 14, -1)):
    style = dict(arrowstyle='->', color='C1', lw=1.2, shrinkA=0, shrinkB=0,
                 connectionstyle=f'arc3,rad={bend}')
    ax.annotate('', (end + 0.5, 1), (start + 0.5, 1), arrowprops=style)
ax.text(6.5, 2.65, 'axis 0: 12', ha='center', color='C1')
ax.text(14.3, 1.75, 'axis 2: 1 + 1', color='C1')
ax.set(xlim=(-0.2, 24.2), ylim=(-0.2, 8.2), aspect='equal')
ax.axis('off');

# %% [markdown] tags=["caption"]
# A shape is a rule for reading one line of memory. With the strides $(12, 4, 1)$ of shape $(2, 3, 4)$, the element with
# index $(1, 0, 2)$ stands at place 14.

# %% [markdown]
# ```{prf:theorem} Every place once
# :label: thm-row-major
# If all sizes are at least 1, {eq}`tensors-place` is a one-to-one map of the index tuples onto the places
# $0, 1, \dots, s_1 \cdots s_n - 1$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# By induction on $n$; for $n = 0$ the one empty tuple goes to place 0. Let $n \ge 1$. The indices $i_2, \dots, i_n$
# contribute, by hypothesis, every number $0, \dots, t_1 - 1$ exactly once, for a block has $s_2 \cdots s_n = t_1$
# elements. So $\operatorname{place} = i_1 t_1 + \text{rest}$ with $0 \le \text{rest} < t_1$. Division with remainder says
# that each $p$ has exactly one such representation, and $p < s_1 t_1$ means $i_1 < s_1$.
# ```
#
# ### Reshape is not transpose
#
# Now we can answer the question of the opening. `transpose(2, 0, 1)` exchanges axes together with their strides, so that
# every element keeps its three indices. `reshape` keeps the line of memory and cuts it into new rows:

# %%
photo = photograph('china')[::4, ::4].copy()  # (107, 160, 3)
moved, cut = photo.transpose(2, 0, 1), photo.reshape(3, 107, 160)
print('shapes:', moved.shape, cut.shape)
print('the same numbers at the same places:', np.array_equal(moved, cut))

# %% mystnb={"image": {"alt": "Three pictures: a temple in colour; its red part in grey, looking right; and what reshape makes of it, fine horizontal stripes in which no temple can be seen."}} tags=["hide-input"]
fig, axes = panels(3, height=1.75)
pictures = (photo, moved[0], cut[0])
titles = ('original', 'transpose, part 0', 'reshape, part 0')
for ax, picture, title in zip(axes, pictures, titles, strict=True):
    show_image(ax, picture, title)

# %% [markdown] tags=["caption"]
# Both results have the shape $(3, 107, 160)$, but only the transpose is still a picture: reshape cuts the old line of
# memory into new rows and mixes the colours.

# %% [markdown]
# ### Views and copies
#
# The same line can be read by other rules. For $\mathbf{X} \sim (3, 4)$ with the strides $(4, 1)$:
#
# | view | shape | strides | starts at |
# |---|---|---|---|
# | `X.T` | `(4, 3)` | 1, 4 | 0 |
# | `X[:, 2]` | `(3,)` | 4 | 2 |
# | `X[:, ::-2]` | `(3, 2)` | 4, −2 | 3 |
# | `X.diagonal()` | `(3,)` | 5 | 0 |
# | windows of three of the line | `(10, 3)` | 1, 1 | 0 |
#
# Such a **view** costs nothing, however large the tensor, but it shares the memory: if you write into the view, you write
# into the original. Where no rule with constant strides exists, numpy makes a *copy*:

# %%
X = np.arange(12).reshape(3, 4)
results = {'X.T': X.T, 'X[1:, ::2]': X[1:, ::2], 'X[X > 5]': X[X > 5],
           'X.reshape(2, 6)': X.reshape(2, 6),
           'X.T.reshape(12)': X.T.reshape(12)}
for name, result in results.items():
    print(f'{name:16}', 'view' if np.shares_memory(X, result) else 'copy')

# %% [markdown]
# In the last line, no constant stride leads from one column of $\mathbf{X}$ to the next. There numpy's `reshape` copies
# without a word, while PyTorch's `view` raises an error.
#
# ### Row vectors, column vectors, and arrays with one axis
#
# In most formulas, bold small letters are *column* vectors, that is, matrices with one column:
#
# ```{math}
# :label: la.notation.column-vectors
# \mathbf{x} = \begin{bmatrix} x_1 \\ \vdots \\ x_n \end{bmatrix} \sim (n, 1), \qquad
# \mathbf{x}^\top \mathbf{y} \sim (1, 1), \qquad \mathbf{x}\,\mathbf{y}^\top \sim (n, n)
# ```
#
# An array of shape `(n,)` is neither a column nor a row, and its transpose is itself. So $\mathbf{x}\,\mathbf{y}^\top$,
# copied as `x @ y.T`, gives a number instead of a table. We translate as follows:
#
# | formula | shape there | code | shape in code |
# |---|---|---|---|
# | vector $\mathbf{x}$ | $(n, 1)$ | `x` | `(n,)` |
# | column, row $\mathbf{x}^\top$ | $(n, 1)$, $(1, n)$ | `x[:, None]`, `x[None, :]` | `(n, 1)`, `(1, n)` |
# | $\mathbf{x}^\top \mathbf{y}$ | $(1, 1)$ | `x @ y` | `()` |
# | $\mathbf{x}\,\mathbf{z}^\top$ | $(n, m)$ | `x[:, None] * z` | `(n, m)` |
# | $\mathbf{A}\mathbf{z}$, $\mathbf{A}^\top \mathbf{x}$ | $(n, 1)$, $(m, 1)$ | `A @ z`, `A.T @ x` | `(n,)`, `(m,)` |
#
# ```{exercise} ★ Program: a picture as a sentence
# :label: tensors-patches
#
# A vision transformer reads a picture as a sentence whose words are square patches. Write `patches(x, p)`. Patches are
# ordered row by row, and so are the pixels in each. Use `reshape` and `transpose`, no loop.
# ```

# %%
def patches(x, p):
    """The patches of x (h, w, c): an array (h * w // p**2, p * p * c).

    p >= 1 is an int that divides h and w. At most six lines may run.
    patches(np.arange(4.).reshape(2, 2, 1), 1) is [[0], [1], [2], [3]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def patches_by_cutting(x, p):
    h, w, _ = x.shape
    return np.array([x[i:i + p, j:j + p].ravel() for i in range(0, h, p) for j in range(0, w, p)])

def a_picture(p):
    def filled(sizes):
        rows, columns, colours = sizes
        shape = rows * p, columns * p, colours
        return np.random.default_rng(sum(sizes)).permutation(prod(shape)).reshape(shape) * 1.0
    return integers(1, 4).flatmap(lambda r: integers(1, 4).flatmap(
        lambda c: integers(1, 3).map(lambda k: filled((r, c, k)))))

cases = dict(x=lambda p: a_picture(p), p=integers(1, 4), lines=6)
grade(patches, patches_by_cutting, **cases)

# %% [markdown]
# ```{solution-start} tensors-patches
# :class: dropdown
# ```
# Split both axes into patch and place in the patch, `(h/p, p, w/p, p, c)`; bring the two patch axes to the front; merge.
# Of the wrong answers, the first only reshapes: it has the right shape, but cuts the line into pieces that are no
# squares. The second takes the patches column by column. The third uses a loop.

# %% jupyter={"source_hidden": true}
def patches_solution(x, p):
    h, w, c = x.shape
    x = x.reshape(h // p, p, w // p, p, c).transpose(0, 2, 1, 3, 4)
    return x.reshape(-1, p * p * c)

def only_reshaped(x, p):
    return x.reshape(-1, p * p * x.shape[2])

def column_by_column(x, p):
    h, w, c = x.shape
    x = x.reshape(h // p, p, w // p, p, c).transpose(2, 0, 1, 3, 4)
    return x.reshape(-1, p * p * c)

def with_a_loop(x, p):
    words = []
    for i in range(0, x.shape[0], p):
        for j in range(0, x.shape[1], p):
            words.append(x[i:i + p, j:j + p].ravel())
    return np.array(words)

assert grade(patches_solution, patches_by_cutting, **cases)
assert not grade(only_reshaped, patches_by_cutting, **cases)
assert not grade(column_by_column, patches_by_cutting, **cases)
assert not grade(with_a_loop, patches_by_cutting, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: what reaches the original?
# :label: tensors-written
#
# Let `X = np.zeros((3, 4))`. Which of these assignments change `X`? (a) `X.T[0] = 1`, (b) `X[[0, 1]][0] = 1`,
# (c) `X.reshape(12)[0] = 1`, (d) `X.T.reshape(12)[0] = 1`, (e) `X[[0, 1]] = 1`. Predict a list of five
# truth values. Then try them, and explain.
# ```

# %%
def predicted_changes():
    """Five truth values in a list, for (a) to (e).

    [False, False, False, False, True], for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def tried_changes():
    found = []
    for line in ('X.T[0] = 1', 'X[[0, 1]][0] = 1', 'X.reshape(12)[0] = 1', 'X.T.reshape(12)[0] = 1', 'X[[0, 1]] = 1'):
        names = {'X': np.zeros((3, 4))}
        exec(line, names)
        found.append(bool(names['X'].any()))
    return found

grade(predicted_changes, tried_changes, [()])

# %% [markdown]
# ```{solution-start} tensors-written
# :class: dropdown
# ```
# (a) and (c) write into views. In (b) the list of indices makes a copy, and the copy is written. (d) is the copy of the
# last line above. In (e) nothing is read first: an assignment to `X[...]` itself always writes into `X`. The wrong answers
# take everything for a view, everything with a list of indices for a copy, and every reshape for a view.

# %% jupyter={"source_hidden": true}
def predicted_changes_solution():
    return [True, False, True, False, True]

def all_views():
    return [True, True, True, True, True]

def lists_always_copy():
    return [True, False, True, False, False]

def reshape_never_copies():
    return [True, False, True, True, True]

assert grade(predicted_changes_solution, tried_changes, [()])
assert not grade(all_views, tried_changes, [()])
assert not grade(lists_always_copy, tried_changes, [()])
assert not grade(reshape_never_copies, tried_changes, [()])

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def shape_of(x):  # of a nested list, all of whose entries must have one shape; None if there is none
    if not isinstance(x, list):
        return ()
    inner = {shape_of(entry) for entry in x}
    if len(inner) > 1 or None in inner:
        return None
    return (len(x), *(inner.pop() if inner else ()))

def shape_of_first(x):
    return (len(x), *shape_of_first(x[0])) if isinstance(x, list) and x else ()

torch = import_module('torch')

def torch_shape(x):
    try:
        return tuple(torch.tensor(x).shape)
    except (ValueError, TypeError):  # torch refuses lists that are no tensors
        return None

def some_list(seed):  # nested; every other one lacks an element
    rng = np.random.default_rng(seed)
    x = row = np.zeros(rng.integers(2, 4, rng.integers(1, 4))).tolist()
    while isinstance(row[-1], list):
        row = row[-1]
    if rng.random() < 0.5:
        row.pop()
    return x

holds(
    'aw.linalg.tensor',
    lambda seed: shape_of(some_list(seed)) == torch_shape(some_list(seed)),
    slip=('looks only at the first entry of each list',
          lambda seed: shape_of_first(some_list(seed)) == torch_shape(some_list(seed))),
    seed=seeds(),
)

def reads_as_printed(x, y):
    inner, outer = x.T @ y, x @ y.T
    products = [a * b for a in x.ravel() for b in y.ravel()]
    return (inner.shape == (1, 1) and outer.shape == (x.size, y.size) and close(outer.ravel(), products)
            and close(inner[0, 0], sum(products[:: x.size + 1])))

verify(
    'with columns the formulas read as they are printed',
    lambda x, y: reads_as_printed(x[:, None], y[:, None]),
    slip=('takes an array with a single axis for a column', lambda x, y: reads_as_printed(x, y)),
    x=vectors(3), y=vectors(3),
)

# %% tags=["checks"]
def some_shape(seed):
    return tuple(np.random.default_rng(seed).integers(1, 5, seed % 5).tolist())

def as_numpy_reads(shape, strides):
    line = np.arange(prod(shape))
    inside = sum((s - 1) * t for s, t in zip(shape, strides)) < line.size
    return bool(inside and np.array_equal(read(line, shape, strides), line.reshape(shape)))

verify(
    'strides_of and read give what numpy reads',
    lambda seed: as_numpy_reads(some_shape(seed), strides_of(some_shape(seed)))
    and [8 * t for t in strides_of(some_shape(seed))] == list(np.zeros(some_shape(seed)).strides),
    slip=('lets the first index run fastest',
          lambda seed: as_numpy_reads(some_shape(seed), strides_of(some_shape(seed)[::-1])[::-1])),
    seed=seeds(),
)
line = np.arange(12)
views = [(line.reshape(3, 4).T, (4, 3), (1, 4), 0), (line.reshape(3, 4)[:, 2], (3,), (4,), 2),
         (line.reshape(3, 4)[:, ::-2], (3, 2), (4, -2), 3), (line.reshape(3, 4).diagonal(), (3,), (5,), 0),
         (sliding_window_view(line, 3), (10, 3), (1, 1), 0)]
assert all(np.array_equal(read(line, *rule), view) and view.strides == tuple(8 * t for t in rule[1])
           and np.shares_memory(view, line) for view, *rule in views)
assert [np.shares_memory(X, result) for result in results.values()] == [True, True, False, True, False]
assert (moved[0] == photo[:, :, 0]).all() and (cut.reshape(-1) == photo.reshape(-1)).all() and not np.array_equal(moved, cut)

# %% [markdown]
# ## Broadcasting: how shapes are stretched
#
# A column with the shape (3, 1) plus a row with the shape (4,) gives a table of all sums:

# %%
column, row = np.array([[10], [20], [30]]), np.array([1, 2, 3, 4])
print(column + row)

# %% mystnb={"image": {"alt": "A column of three numbers plus a row of four numbers gives a table of three by four sums. The column is repeated to the right and the row downwards in pale cells, which are not stored."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 1.7))
for start, numbers, color in ((0, column, 'C0'), (5.5, row[None], 'C1'), (11, column + row, 'C2')):
    for i, j in np.ndindex(3, 4):
        real = i < len(numbers) and j < numbers.shape[1]
        number = np.broadcast_to(numbers, (3, 4))[i, j]
        box = plt.Rectangle((start + j, -i), 1, 1, fc=color, ec=color, lw=1, alpha=0.3 if real else 0.1)
        ax.add_patch(box)
        ax.text(start + j + 0.5, 0.5 - i, number, ha='center', va='center')
for x, text in ((4.75, '+'), (10.25, '=')):
    ax.text(x, -0.5, text, ha='center', va='center', fontsize=14)
for x, text in ((2, '(3, 1)'), (7.5, '(4,)'), (13, '(3, 4)')):
    ax.text(x, -2.6, text, ha='center', va='center')
ax.set(xlim=(-0.1, 15.1), ylim=(-3, 1.1), aspect='equal')
ax.axis('off');

# %% [markdown] tags=["caption"]
# An axis of size 1 is repeated as often as the other shape demands: a column and a row give the table of all sums. The pale
# copies are never stored.

# %% [markdown]
# ```{prf:definition} Broadcasting
# :label: def-broadcasting
# Write two shapes below each other, aligned at the *right*, and fill the shorter one with ones in front. On every axis the
# two sizes must be equal, or one of them must be 1. The result takes the other size, and an axis of size 1 is read with
# stride 0.
# ```
#
# A stride of 0 reads the same number again and again. This works for all operations entry by entry. Multiplication entry by
# entry, the **Hadamard product**, is written $(\mathbf{A} \odot \mathbf{B})_{ij} = a_{ij} b_{ij}$:

# %%
def broadcast_shape(s, t):
    n = max(len(s), len(t))
    s, t = ((1,) * (n - len(u)) + tuple(u) for u in (s, t))
    if any(a != b and 1 not in (a, b) for a, b in zip(s, t)):
        raise ValueError(f'{s} and {t} do not fit')
    return tuple(b if a == 1 else a for a, b in zip(s, t))

# %%
def stretch(x, shape):
    old = (1,) * (len(shape) - x.ndim) + x.shape
    strides = [0 if a == 1 else t for a, t in zip(old, strides_of(old))]
    return read(x.ravel(), shape, strides)

def hadamard(x, y):
    shape = broadcast_shape(x.shape, y.shape)
    return stretch(x, shape) * stretch(y, shape)

# %%
print(broadcast_shape((32, 3, 28, 28), (3, 1, 1)))
print((hadamard(column, row) == column * row).all())

# %% [markdown]
# Three uses are frequent: a row against every row of a table, `X - mean` with `mean` of shape `(m,)`; a column
# against every column, `X / total[:, None]`; and *all pairs*. For example, the squared distances between all points of two
# clouds need no loop:

# %%
def distances(p, q):  # (n, d), (m, d) -> (n, m)
    return ((p[:, None] - q) ** 2).sum(-1)  # (n, 1, d) - (m, d)

points = np.array([[0., 0], [3, 4]])
print(distances(points, points))

# %% [markdown]
# ### When shapes are stretched by accident
#
# Broadcasting never asks whether we meant it. A model often returns predictions $\hat{\mathbf{y}}$ of shape `(n, 1)`,
# while the targets $\mathbf{y}$ have shape `(n,)`. Then `((y_hat - y) ** 2).mean()` subtracts a row from a column. It is
# the mean not of $n$ errors but of a table of $n^2$ numbers $(\hat y_i - y_j)^2$. With the mean $\bar y$ of the targets,
# this mean is
#
# ```{math}
# :label: tensors-silent
# \tilde L = \frac1n \sum_{i=1}^n (\hat y_i - \bar y)^2 + \frac1n \sum_{j=1}^n (y_j - \bar y)^2 ,
# ```
#
# because $\hat y_i - y_j = (\hat y_i - \bar y) - (y_j - \bar y)$, and in the square the mixed terms add up to zero. The
# second sum does not depend on the model, and the first is smallest if the model predicts the mean for everyone. We
# minimize both losses for 442 diabetes patients, for five random halvings, and score the other half by $R^2$: 1 is
# perfect, and predicting the mean of the test targets scores 0.

# %%
x, y, _ = diabetes()  # (442, 10), (442,)
losses = {
    'y_hat (n, 1), y (n,)': lambda y_hat, y: ((y_hat - y) ** 2).mean(),
    'both (n,)': lambda y_hat, y: ((y_hat[:, 0] - y) ** 2).mean(),
}

def halves(seed):  # scaled by what the training half shows
    train, test = np.random.default_rng(seed).permutation(442).reshape(2, 221)
    X = (x - x[train].mean(axis=0)) / x[train].std(axis=0)
    X = np.c_[X, np.ones(442)]  # (442, 11)
    t = (y - y[train].mean()) / y[train].std()
    return X[train], t[train], X[test], t[test]

def R2(prediction, t):
    return 1 - ((prediction - t) ** 2).mean() / t.var()

# %%
def fitted(X, t, loss):  # weights (11,), by a general minimizer
    return minimize(lambda w: loss(X @ w[:, None], t), np.full(11, 0.3)).x

scores, names = [], [*losses, 'exact least squares']
for seed in range(5):
    X, t, X_test, t_test = halves(seed)
    guesses = [X_test @ fitted(X, t, loss) for loss in losses.values()]
    guesses.append(LinearRegression().fit(X, t).predict(X_test))
    scores.append([R2(guess, t_test) for guess in guesses])
for name, score in zip(names, np.transpose(scores)):
    low, high = np.round([score.min(), score.max()], 3) + 0.0
    print(f'{name:22} R2 from {low:6.3f} to {high:6.3f}')

# %% mystnb={"image": {"alt": "Two scatter plots of predicted against true disease progression. With the shapes n by 1 and n the predictions lie on a flat line at the mean; with equal shapes they rise with the truth, around the diagonal."}} tags=["hide-input"]
fig, axes = panels(2, height=2.5, sharex=True, sharey=True)
for ax, guess, name in zip(axes, guesses, names):
    ax.plot(t_test, guess, 'o', ms=3, alpha=0.6)
    ax.plot([-2, 2.5], [-2, 2.5], '--', color=GREY, lw=1)
    ax.set(title=name, xlabel='true progression (scaled)')
axes[0].set(ylabel='predicted', ylim=(-2.2, 2.7));

# %% [markdown] tags=["caption"]
# A loss that stretches the shapes $(n, 1)$ and $(n,)$ into a table teaches the model to predict the mean for every
# patient. With equal shapes the same model follows the truth.

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# No error was raised, the loss fell, and the model learned nothing. PyTorch's own loss functions print a warning in this
# case, but a loss that you write yourself does not. One line prevents the mistake: `assert y_hat.shape == y.shape`.
# :::
#
# ```{exercise} ★ Pencil: which shapes fit?
# :label: tensors-fit
#
# Write `fits(s, t)`: whether two shapes can be broadcast to one. First decide by hand for (2, 3) and (3,), for (2, 3) and
# (2,), and for
# (5, 1, 3) and (4, 1).
# ```

# %%
def fits(s, t):
    """Whether arrays of the shapes s and t can be added: True or False.

    s and t are tuples of ints >= 0, with up to four entries, also none.
    The function broadcast_shape and numpy are not allowed.
    fits((2, 3), (3,)) is True.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def tried_by_numpy(s, t):
    try:
        np.empty(s) + np.empty(t)
    except ValueError:
        return False
    return True

def random_shape(seed):
    rng = np.random.default_rng(seed)
    return tuple(rng.choice([0, 1, 1, 2, 2, 3], rng.integers(0, 5)).tolist())

shapes = seeds().map(random_shape) | on((), (1,), (2,), (2, 3), (5, 1, 3))
cases = dict(s=shapes, t=shapes, without=['numpy.broadcast_shapes', 'numpy.empty', 'numpy.zeros', 'numpy.ones'])
grade(fits, tried_by_numpy, **cases)

# %% [markdown]
# ```{solution-start} tensors-fit
# :class: dropdown
# ```
# Only axes that stand below each other count, from the right. The three pairs fit, do not fit, and fit. The wrong answers
# align the shapes at the left, forget that a size 1 fits everything, and demand shapes of equal length.

# %% jupyter={"source_hidden": true}
def fits_solution(s, t):
    return all(a == b or a == 1 or b == 1 for a, b in zip(s[::-1], t[::-1]))

def aligned_left(s, t):
    return all(a == b or a == 1 or b == 1 for a, b in zip(s, t))

def without_stretching(s, t):
    return all(a == b for a, b in zip(s[::-1], t[::-1]))

def of_equal_length(s, t):
    return len(s) == len(t) and fits_solution(s, t)

assert grade(fits_solution, tried_by_numpy, **cases)
assert not grade(aligned_left, tried_by_numpy, **cases)
assert not grade(without_stretching, tried_by_numpy, **cases)
assert not grade(of_equal_length, tried_by_numpy, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Program: all pairs without the third axis
# :label: tensors-pairs
#
# `distances` stores $n m d$ differences to give $n m$ numbers. Expand $\|\mathbf{p}_i - \mathbf{q}_j\|^2$ and write
# `lean_distances(p, q)`, which stores no array with more than two axes.
# ```

# %%
def lean_distances(p, q):
    """The squared distances of all rows of p and q: an array (n, m).

    p is an array (n, d), q is (m, d), and n, m, d >= 1. A third axis
    is refused.
    lean_distances(np.array([[0., 0]]), np.array([[3., 4]])) is [[25.]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
class Flat(np.ndarray):  # an array that refuses a third axis
    def __array_finalize__(self, source):
        if self.ndim > 2:
            raise ValueError('an array with more than two axes')

def by_scipy(p, q):
    return cdist(np.array(p), np.array(q), 'sqeuclidean')

def cloud(d):
    return seeds().map(lambda seed: np.random.default_rng(seed).integers(-9, 10, (seed % 4 + 1, d)).astype(float).view(Flat))

cases = dict(p=integers(1, 4).flatmap(cloud), q=lambda p: cloud(p.shape[1]), without=['scipy.spatial.distance.cdist'])
grade(lean_distances, by_scipy, **cases)

# %% [markdown]
# ```{solution-start} tensors-pairs
# :class: dropdown
# ```
# $\|\mathbf{p}_i - \mathbf{q}_j\|^2 = \|\mathbf{p}_i\|^2 - 2\, \mathbf{p}_i \cdot \mathbf{q}_j + \|\mathbf{q}_j\|^2$: a
# column, a matrix product, a row. The first wrong answer forgets to make a column; for $n = m$ it runs. The second forgets
# the factor 2, and the third makes the third axis. The lean form has its own price: for two near points far from the
# origin, the difference of large numbers leaves few digits.

# %% jupyter={"source_hidden": true}
def lean_distances_solution(p, q):
    return (p**2).sum(1)[:, None] - 2 * p @ q.T + (q**2).sum(1)

def no_column(p, q):
    return (p**2).sum(1) - 2 * p @ q.T + (q**2).sum(1)

def without_the_two(p, q):
    return (p**2).sum(1)[:, None] - p @ q.T + (q**2).sum(1)

def with_a_third_axis(p, q):
    return ((p[:, None] - q) ** 2).sum(-1)

assert grade(lean_distances_solution, by_scipy, **cases)
assert not grade(no_column, by_scipy, **cases)
assert not grade(without_the_two, by_scipy, **cases)
assert not grade(with_a_third_axis, by_scipy, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def a_pair(seed):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=tuple(rng.choice([0, 1, 1, 2, 3], rng.integers(0, 4)).tolist())) for _ in range(2)]

def as_numpy(seed, rule):  # the same product, or both refuse
    x, y = a_pair(seed)
    try:
        want = x * y
    except ValueError:
        want = None
    try:
        got = rule(x, y)
    except ValueError:
        got = None
    return (got is None) == (want is None) and (want is None or got.shape == want.shape and close(got, want))

def aligned_at_the_left(x, y):
    n = max(x.ndim, y.ndim)
    return hadamard(*(u.reshape(u.shape + (1,) * (n - u.ndim)) for u in (x, y)))

verify(
    'hadamard broadcasts as numpy does, and refuses what numpy refuses',
    lambda seed: as_numpy(seed, hadamard),
    slip=('aligns the shapes at the left', lambda seed: as_numpy(seed, aligned_at_the_left)),
    seed=seeds(),
)
verify(
    'distances gives the squared distances of all pairs',
    lambda p, q: close(distances(p[:, None], q[:, None]), cdist(p[:, None], q[:, None], 'sqeuclidean')),
    slip=('forgets the square', lambda p, q: close(distances(p[:, None], q[:, None]), cdist(p[:, None], q[:, None]))),
    p=vectors((1, 3)), q=vectors((1, 3)),
)
first, both = losses.values()
y_hat = np.linspace(-1, 1, 221)[:, None]
assert close(first(y_hat, t), ((y_hat - t.mean()) ** 2).mean() + t.var())
accident, meant, exact = np.transpose(scores)
assert accident.max() < 0.01 and meant.min() > 0.3 and abs(meant - exact).max() < 1e-4

# %% [markdown]
# ## Reductions: sums along an axis
#
# A **reduction** replaces an axis by one number for each line along it: a sum, a mean, a maximum. "Row sums" and "column
# sums" mean opposite things to different people, so we name the axis that *disappears*:

# %%
def total(x, axis, keepdims=False):
    result = 0
    for piece in np.moveaxis(x, axis, 0):
        result = result + piece
    return np.expand_dims(result, axis) if keepdims else result

# %%
X = np.arange(24).reshape(2, 3, 4)
for axis in range(3):
    print(f'sum over axis {axis}: shape {total(X, axis).shape},',
          f'with keepdims {total(X, axis, keepdims=True).shape}')
print('the same as numpy:', (total(X, 1) == X.sum(axis=1)).all())

# %% [markdown]
# With `keepdims=True`, the axis does not disappear but gets the size 1. Then the result still fits the tensor from which
# it was made. Without `keepdims`, the shapes can fit by accident. Here each row of a square table should be divided by
# its sum:

# %%
counts = np.array([[1, 2, 1], [3, 3, 2], [5, 1, 4]])
careless = counts / counts.sum(axis=1)
careful = counts / counts.sum(axis=1, keepdims=True)
print('rows sum to', careful.sum(axis=1).round(2), 'with keepdims')
print('rows sum to', careless.sum(axis=1).round(2), 'without')

# %% [markdown]
# ### Cumulative sums and the summed-area table
#
# A *cumulative* sum keeps the axis and writes down every intermediate result:

# %%
def cumulative(x, axis):
    pieces, running = [], 0
    for piece in np.moveaxis(x, axis, 0):
        running = running + piece
        pieces.append(running)
    return np.stack(pieces, axis)

print(cumulative(np.array([[1, 2, 3], [10, 20, 30]]), axis=1))

# %% [markdown]
# Differences undo cumulative sums: with $C_i = x_1 + \dots + x_i$ we get $C_b - C_a = x_{a+1} + \dots + x_b$. So one
# table of $C$ gives the sum over every interval by one subtraction. In a picture, we accumulate along both axes: $S[b,
# d]$ is the sum over all rows before $b$ and all columns before $d$. Then four entries give the sum over any rectangle:
#
# ```{math}
# :label: tensors-box
# \sum_{i=a}^{b-1} \sum_{j=c}^{d-1} X[i, j] = S[b, d] - S[a, d] - S[b, c] + S[a, c] .
# ```
#
# This is the **summed-area table** {cite}`crow1984summed`, which also made face detectors fast {cite}`viola2001rapid`. It
# blurs a picture with the same work for windows of any size. Slices take the four corners of all windows at once:

# %%
def box_means(x, k):  # (h, w) -> (h - k + 1, w - k + 1), windows k by k
    S = np.pad(x, ((1, 0), (1, 0))).cumsum(0).cumsum(1)  # (h + 1, w + 1)
    return (S[k:, k:] - S[:-k, k:] - S[k:, :-k] + S[:-k, :-k]) / k**2

grey = photograph('china').mean(axis=-1)[::2, ::2]  # (214, 320)
blurred = box_means(grey, 31)
library = uniform_filter(grey, 31)[15:-15, 15:-15]  # without the border
print('shape', blurred.shape,
      'equal to scipy:', np.allclose(blurred, library))
print('additions for each pixel:', 31 * 31 - 1, 'by windows, 5 by the table')

# %% mystnb={"image": {"alt": "Three pictures: the temple in grey; its cumulative sum along both axes, a smooth ramp from dark at the top left to bright at the bottom right; the temple blurred over windows of 31 pixels."}} tags=["hide-input"]
inside = np.s_[15:-15, 15:-15]
fig, axes = panels(3, height=1.75)
titles = 'picture', 'summed both ways', 'means, 31 × 31'
pictures = grey[inside], grey.cumsum(0).cumsum(1)[inside], blurred
for ax, picture, title in zip(axes, pictures, titles, strict=True):
    show_image(ax, picture, title)

# %% [markdown] tags=["caption"]
# Four entries of the table of cumulative sums give the mean over any window, here of 31 by 31 pixels, so a wide blur costs
# no more than a narrow one.

# %% [markdown]
# ```{exercise} ★★ Program: sentences of different length
# :label: tensors-masked
#
# A batch of sentences is padded to one length $T$ to make a tensor. The padding may hold anything, also `nan`. Write
# `masked_mean(x, keep)`: the mean of the real words of each sentence.
# ```

# %%
def masked_mean(x, keep):
    """The mean vector of the real words of each sentence: (B, d).

    x is an array (B, T, d) with one vector for each word. keep (B, T) is
    true at real words, of which each sentence has at least one; where it
    is false, x may be anything, also nan or inf. At most six lines may run.
    masked_mean(np.array([[[1.], [9.]]]), np.array([[True, False]])) is [[1.]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def one_by_one(x, keep):
    return np.array([np.mean([word for word, real in zip(a, k) if real], axis=0) for a, k in zip(x, keep)])

def padded(keep):
    def fill(seed):
        rng = np.random.default_rng(seed)
        x = rng.integers(-9, 10, (*keep.shape, seed % 3 + 1)).astype(float)
        x[~keep] = rng.choice([0.0, 1.0, np.nan, np.inf])
        return x
    return seeds().map(fill)

real_words = masks((1, 4), (1, 5)).filter(lambda keep: keep.any(axis=1).all())
cases = dict(x=lambda keep: padded(keep), keep=real_words, lines=6)
grade(masked_mean, one_by_one, **cases)

# %% [markdown]
# ```{solution-start} tensors-masked
# :class: dropdown
# ```
# Set the padding to zero, sum over $T$, and divide by the number of real words, kept as a column. The wrong answers
# divide by $T$, so that short sentences shrink; multiply by the mask, although `nan * 0` is `nan`; and forget to keep the
# axis of the number of words.

# %% jupyter={"source_hidden": true}
def masked_mean_solution(x, keep):
    x = np.where(keep[:, :, None], x, 0)  # (B, T, d)
    return x.sum(1) / keep.sum(1, keepdims=True)

def divided_by_T(x, keep):
    return np.where(keep[:, :, None], x, 0).mean(1)

@np.errstate(invalid='ignore')
def multiplied_by_the_mask(x, keep):
    return (x * keep[:, :, None]).sum(1) / keep.sum(1, keepdims=True)

def without_the_axis(x, keep):
    return np.where(keep[:, :, None], x, 0).sum(1) / keep.sum(1)

assert grade(masked_mean_solution, one_by_one, **cases)
assert not grade(divided_by_T, one_by_one, **cases)
assert not grade(multiplied_by_the_mask, one_by_one, **cases)
assert not grade(without_the_axis, one_by_one, **cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def box(seed):
    return np.random.default_rng(seed).integers(-9, 10, (2, 3, 4)) * 1.0

verify(
    'total and cumulative agree with numpy on every axis',
    lambda seed, axis: close(total(box(seed), axis), box(seed).sum(axis))
    and close(total(box(seed), axis, True), box(seed).sum(axis, keepdims=True))
    and close(cumulative(box(seed), axis), box(seed).cumsum(axis)),
    slip=('goes along the axis before', lambda seed, axis: close(cumulative(box(seed), axis - 1), box(seed).cumsum(axis))),
    seed=seeds(), axis=[0, 1, 2], tries=60,
)

def means_of_windows(x, k):
    return sliding_window_view(x, (k, k)).mean((2, 3))

def shifted(x, k):  # leaves out the first row and column of each window
    return means_of_windows(np.roll(x, -1, (0, 1)), k)

verify(
    'the summed-area table gives the mean of every window',
    lambda seed, k: close(box_means(box(seed)[0], k), means_of_windows(box(seed)[0], k)),
    slip=('begins each window one place too late',
          lambda seed, k: close(box_means(box(seed)[0], k), shifted(box(seed)[0], k))),
    seed=seeds(), k=[1, 2, 3], tries=60,
)
assert close(careful.sum(axis=1), np.ones(3)) and not close(careless.sum(axis=1), np.ones(3))
assert close(blurred, library)

# %% [markdown]
# ## Einsum: one notation for all products of tensors
#
# In $z_{ij} = \sum_k x_{ik} y_{kj}$ the letter $k$ stands on the right and not on the left, so it can only have been
# summed. Without the summation sign, only the letters remain: `ik,kj->ij`. numpy and PyTorch compute products from such
# letters:

# %%
X, Y = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
print(np.einsum('ik,kj->ij', X, Y))
print('matrix product:', (np.einsum('ik,kj->ij', X, Y) == X @ Y).all())
print('sum over axis 0:', np.einsum('ik->k', X))
print('sum of all:', np.einsum('ik->', X))

# %% [markdown]
# ```{prf:definition} Einsum
# :label: def-einsum
# In `einsum('ik,kj->ij', X, Y)` each tensor gets one letter per axis, and a letter has the same size wherever it stands.
# Each element of the result is the sum, over all values of the letters that do not stand behind the arrow, of the product
# of the elements of all tensors at their letters.
# ```
#
# Strides, broadcasting and reductions together make it in a few lines. Every tensor gets *all* letters as axes. A letter
# that it has is read with its stride (with the sum of the strides if it has it twice: the diagonal). A letter that it
# lacks is read with stride 0. Then we multiply and sum:

# %%
def einsum(spec, *tensors):
    terms, output = spec.split('->')
    terms = terms.split(',')
    size = {a: s for term, x in zip(terms, tensors, strict=True)
            for a, s in zip(term, x.shape, strict=True)}
    letters = output + ''.join(sorted(set(size) - set(output)))
    product = 1
    for term, x in zip(terms, tensors):
        strides = [sum(t for b, t in zip(term, x.strides) if a == b)
                   for a in letters]
        product = product * as_strided(x, [size[a] for a in letters], strides)
    return product.sum(tuple(range(len(output), len(letters))))

# %% [markdown]
# Many operations of the next chapters are one line of letters:
#
# | operation | letters | where |
# |---|---|---|
# | transpose, diagonal, trace | `ij->ji`, `ii->i`, `ii->` | |
# | dot product | `i,i->` | [Dot products](dot_products.ipynb) |
# | outer product, Hadamard product | `i,j->ij`, `ij,ij->ij` | [Matrix multiplication](matrix_multiplication.ipynb) |
# | matrix times vector, times matrix | `ij,j->i`, `ik,kj->ij` | [Matrix multiplication](matrix_multiplication.ipynb) |
# | covariance, up to $1/n$ | `ni,nj->ij` | [Whitening](whitening.ipynb) |
# | a layer on a picture | `cijuv,ocuv->oij` | [Convolution](../convolution/convolutions.ipynb) |
# | scores of attention | `bhqd,bhkd->bhqk` | [Multi-head attention](../attention/multi_head_attention.ipynb) |
#
# ### Batched matrix products
#
# With a letter $n$ for the number in a batch, many small products become one operation:
#
# ```{math}
# :label: aw.tensor-ops.bmm
# \mathbf{X} \sim (n, a, b), \quad \mathbf{Y} \sim (n, b, c) \quad \Rightarrow \quad
# \mathbf{Z} \sim (n, a, c), \quad \mathbf{Z}_i = \mathbf{X}_i \mathbf{Y}_i .
# ```
#
# A letter behind the arrow that both tensors have is *batched*: it pairs slices and mixes nothing. In numpy and PyTorch,
# `X @ Y` does the same with tensors of order three.

# %%
rng = np.random.default_rng(5)
X, Y = rng.normal(size=(3, 2, 4)), rng.normal(size=(3, 4, 5))
Z = einsum('nab,nbc->nac', X, Y)
print('shape', Z.shape, ' equal to X @ Y:', np.allclose(Z, X @ Y))
print('slice 1 is the product of slices 1:', np.allclose(Z[1], X[1] @ Y[1]))

# %% mystnb={"image": {"alt": "Three stacks of three coloured tables. Slice by slice, the 2 by 4 tables of the first stack times the 4 by 5 tables of the second give the 2 by 5 tables of the third; one row, one column and one element of the front slices are framed."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.1))
stacks = [(0, X, 'X ~ (3, 2, 4)'), (8, Y, 'Y ~ (3, 4, 5)'), (17, Z, 'Z ~ (3, 2, 5)')]
for left, stack, name in stacks:
    rows, columns = stack.shape[1:]
    top = abs(stack).max()
    for i in (2, 1, 0):  # from the back to the front
        shift = 0.75 * i
        place = (left + shift, left + shift + columns, -rows / 2 + shift, rows / 2 + shift)
        ax.imshow(stack[i], extent=place, cmap='PuOr', vmin=-top, vmax=top, zorder=3 - i)
        edge = plt.Rectangle(place[::2], columns, rows, fill=False, ec=GREY, zorder=3 - i)
        ax.add_patch(edge)
    ax.text(left + columns / 2, -2.9, name, ha='center')
for *corner, width, height in ((0, 0, 4, 1), (9, -2, 1, 4), (18, 0, 1, 1)):
    ax.add_patch(plt.Rectangle(corner, width, height, fill=False, ec='C2', lw=2.5, zorder=9))
for x0, text in ((6.8, '×'), (15.6, '=')):
    ax.text(x0, 0, text, ha='center', va='center', fontsize=14)
ax.set(xlim=(-0.2, 24), ylim=(-3.4, 3.8))
ax.axis('off');

# %% [markdown] tags=["caption"]
# A batched product pairs slices and mixes none: an element of $\mathbf{Z}_i$ is a row of $\mathbf{X}_i$ times a column of
# $\mathbf{Y}_i$.

# %% [markdown]
# Most operations on tensors are batched matrix products, or combine matrix products and reductions. For products of two
# tensors this is a theorem, and it is how libraries compute an einsum fast:
#
# ````{prf:theorem} Every einsum of two tensors is one batched matrix product
# :label: thm-einsum-bmm
# Let no letter stand twice in one tensor. Sum each tensor over the letters that stand neither in the other one nor behind
# the arrow. Merge the remaining letters into four: $n$, in both tensors and behind the arrow; $k$, in both but not behind
# it; $i$, only in the first; $j$, only in the second. Then
#
# ```{math}
# :label: aw.tensor-ops.batched-or-reduce
# Z_{nij} = \sum_k X_{nik} Y_{nkj}, \qquad \text{that is,} \quad \mathbf{Z}_n = \mathbf{X}_n \mathbf{Y}_n ,
# ```
#
# up to the order of the axes.
# ````
#
# ```{prf:proof}
# :class: dropdown
# Let $p$ and $q$ be the letters that stand in one tensor only and not behind the arrow. By the distributive law
# $\sum_{k, p, q} X_{nikp} Y_{nkjq} = \sum_k \big(\sum_p X_{nikp}\big) \big(\sum_q Y_{nkjq}\big)$: the two *reductions*.
# Several axes may be read as one, since by {prf:ref}`thm-row-major` tuples of indices and places correspond one to one.
# What is left is {eq}`aw.tensor-ops.batched-or-reduce`.
# ```
#
# For example, in the scores of attention, `bhqd,bhkd->bhqk`, the letters `b` and `h` (text and head) are batched and `d`
# is summed. This is one matrix product for each text of the batch and each head:

# %%
queries, keys = rng.normal(size=(2, 2, 4, 6, 8))  # (2, 4, 6, 8) each
letters = einsum('bhqd,bhkd->bhqk', queries, keys)
merged = queries.reshape(8, 6, 8) @ keys.reshape(8, 6, 8).transpose(0, 2, 1)
print('shape', letters.shape, ' one batched product:',
      np.allclose(letters, merged.reshape(2, 4, 6, 6)))

# %% tags=["checks"]
def is_batched(seed, spec):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(3, 2, 4)), rng.normal(size=(3, 4, 5))
    want = torch.bmm(torch.tensor(x), torch.tensor(y))
    return close(einsum(spec, x, y), want)

holds(
    'aw.tensor-ops.bmm',
    lambda seed: is_batched(seed, 'nab,nbc->nac'),
    slip=('sums over the batch axis of the second factor', lambda seed: is_batched(seed, 'nab,mbc->nac')),
    seed=seeds(), tries=40,
)

def by_bmm(spec, x, y, ordered=True):  # two reductions, one batched matrix product
    terms, out = spec.split('->')
    p, q = terms.split(',')
    x = x.sum(tuple(k for k, a in enumerate(p) if a not in q + out))
    y = y.sum(tuple(k for k, a in enumerate(q) if a not in p + out))
    p, q = ([a for a in s if a in t + out] for s, t in ((p, q), (q, p)))
    size = dict(zip(p + q, x.shape + y.shape))
    n = [a for a in p if a in q and a in out]
    k = [a for a in p if a in q and a not in out]
    i, j = [a for a in p if a not in q], [a for a in q if a not in p]

    def merge(x, term, groups):  # axes in the order of the groups
        x = x.transpose([term.index(a) for g in groups for a in g])
        return x.reshape([prod(size[a] for a in g) for g in groups])

    z = merge(x, p, (n, i, k)) @ merge(y, q, (n, k, j))  # (n, i, j)
    z = z.reshape([size[a] for a in n + i + j])
    return z.transpose([(n + i + j).index(a) for a in out]) if ordered else z

def some_product(seed):
    rng = np.random.default_rng(seed)
    size = dict(a=2, b=3, c=4, d=2, e=3)

    def some(letters, least):
        return ''.join(rng.permutation(list(letters))[:rng.integers(least, len(letters) + 1)])

    p, q = some('abcde', 1), some('abcde', 1)
    x, y = (rng.normal(size=[size[a] for a in term]) for term in (p, q))
    return f'{p},{q}->{some(sorted(set(p + q)), 0)}', x, y

# %% tags=["checks"]
def agrees(seed, ordered):
    got, want = by_bmm(*some_product(seed), ordered), np.einsum(*some_product(seed))
    return got.shape == want.shape and close(got, want)

verify(
    'a merged product agrees with its formula',
    lambda seed: agrees(seed, ordered=True),
    slip=('leaves the axes in the order of the merged letters', lambda seed: agrees(seed, ordered=False)),
    seed=seeds(),
)

def as_numpy_sums(seed, change):
    spec, x, y = some_product(seed)
    got, want = einsum(change(spec), x, y), np.einsum(spec, x, y)
    return np.shape(got) == np.shape(want) and close(got, want)

verify(
    'einsum agrees with numpy',
    lambda seed: as_numpy_sums(seed, lambda spec: spec),
    slip=('turns the letters behind the arrow round', lambda seed: as_numpy_sums(
        seed, lambda spec: spec.split('->')[0] + '->' + spec.split('->')[1][::-1])),
    seed=seeds(),
)
S, v, w = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)
for spec, tensors, want in (
        ('ij->ji', [S], S.T), ('ii->i', [S], np.diag(S)), ('ii->', [S], np.trace(S)), ('i,i->', [v, w], v @ w),
        ('i,j->ij', [v, w], np.outer(v, w)), ('ij,ij->ij', [S, S], S * S), ('ij,j->i', [S, v], S @ v),
        ('ik,kj->ij', [S, S], S @ S), ('ni,nj->ij', [S, S], S.T @ S)):
    assert close(einsum(spec, *tensors), want)
image, filters = rng.normal(size=(2, 7, 7)), rng.normal(size=(4, 2, 3, 3))
windows = sliding_window_view(image, (3, 3), (1, 2))  # (2, 5, 5, 3, 3)
layer = torch.nn.functional.conv2d(torch.tensor(image), torch.tensor(filters))
assert close(einsum('cijuv,ocuv->oij', windows, filters), layer)
assert close(letters, queries @ keys.transpose(0, 1, 3, 2)) and close(Z, X @ Y)

# %% [markdown]
# ## Summary
#
# A tensor is a line of numbers with a rule for reading it: a shape, strides and a starting place. Transposes, slices,
# windows and stretched axes change the rule and copy nothing. Broadcasting and reductions replace loops, but they can do
# the wrong thing without an error when shapes fit by accident, so assert shapes where they matter. `einsum` says with
# letters what is multiplied and what is summed, and every product of two tensors in it is one batched matrix product.
#
# **Further reading.** {cite}`harris2020array` describes numpy's arrays, {cite}`paszke2019pytorch` PyTorch's tensors.
# {cite}`einstein1916grundlage` introduced the notation, {cite}`golub2013matrix` says how matrix products use
# memory, and {cite}`kolda2009tensor` treats tensors of higher order in mathematics.
