# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Tensors and shapes
#
# - **Question.** Memory is one long line of numbers. How can a program see a matrix, a photograph or a batch of sentences
#   in it, and compute with each without a loop?
# - **You need** sums with indices, and a little Python. This is the first section of the book.
# - **You build** strides, broadcasting, reductions, cumulative sums and a complete `einsum`, each compared with numpy or
#   torch.
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
from math import prod

import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from scipy.ndimage import uniform_filter

from nbutils.cases import seeds, vectors
from nbutils.checks import close, grade, holds
from nbutils.data import diabetes, photograph
from nbutils.figures import GREY, label_lines, panels, show_image
from nbutils.timing import seconds

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Shapes and strides: one line of memory
#
# A colour photograph of 427 rows and 640 columns is, in memory, a single line of $427 \cdot 640 \cdot 3 = 819\,840$
# numbers. Nothing in the line says where a row ends. What makes it a picture is a *rule for reading it*, and many
# operations change this rule and leave the line alone. First, what we want to see in it:
#
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
# A number has order 0 and the shape `()`, a vector order 1, a
# matrix order 2; a batch of 32 colour pictures of $28 \times 28$ pixels is a tensor of shape `(32, 3, 28, 28)`. There are
# $s_1 s_2 \cdots s_n$ elements. For $n = 0$ the product is empty, hence 1, and a number is indeed one element. Two words
# deserve care. A vector in three-dimensional space has three *elements* but only one *axis*. And in mathematics a tensor
# is a multilinear map, of which an array holds the coordinates in some basis; in this book, as in every library, it is the
# array.
#
# Not every nested list is a tensor: `[[1, 2], [3]]` has no shape, for its rows disagree. The function below finds the shape
# by demanding that all entries have one and the same. It is tempting to look at the first entry only, as `shape_of_first`
# does:

# %%
def shape_of(x):  # of a nested list; None if it has no shape
    if not isinstance(x, list):
        return ()
    inner = {shape_of(entry) for entry in x}
    if len(inner) > 1 or None in inner:
        return None
    return (len(x), *(inner.pop() if inner else ()))

def shape_of_first(x):
    return (len(x), *shape_of_first(x[0])) if isinstance(x, list) and x else ()

for x in ([[1, 2, 3], [4, 5, 6]], [[1, 2], [3]]):
    print(x, 'has shape', shape_of(x), '- first entries:', shape_of_first(x))

# %%
x = torch.tensor([[1, 2.5], [True, -3]])
print('shape', tuple(x.shape), 'order', x.ndim, 'type', x.dtype)

# %% [markdown]
# (The type is one for all elements: a whole number, a fraction and a truth value have all become 64-bit floats.)
#
# **From a tuple of indices to a place.** Lay the elements down so that the last index runs fastest, which is called
# *row-major* order. One step along the last axis then moves one place. One step along axis $k$ has to jump over a whole
# block of shape $(s_{k+1}, \dots, s_n)$. The length of this jump is the *stride* $t_k$ of the axis, and
#
# ```{math}
# :label: tensors-place
# \operatorname{place}(i_1, \dots, i_n) = \sum_{k=1}^n i_k \, t_k , \qquad t_k = s_{k+1} s_{k+2} \cdots s_n , \quad t_n = 1 .
# ```
#
# ```{prf:theorem} Every place once
# :label: thm-row-major
# If all sizes are at least 1, {eq}`tensors-place` is a one-to-one map of the index tuples onto the places
# $0, 1, \dots, s_1 \cdots s_n - 1$.
# ```
#
# ```{prf:proof}
# By induction on $n$; for $n = 0$ the one empty tuple goes to place 0. Let $n \ge 1$. The indices $i_2, \dots, i_n$
# contribute, by hypothesis, every number $0, \dots, t_1 - 1$ exactly once, for a block has $s_2 \cdots s_n = t_1$
# elements. So $\operatorname{place} = i_1 t_1 + \text{rest}$ with $0 \le \text{rest} < t_1$. Division with remainder says
# that each $p$ has exactly one such representation, and $p < s_1 t_1$ means $i_1 < s_1$.
# ```
#
# Clocks work like this. A day has the shape `(24, 60, 60)` and the strides `(3600, 60, 1)`, and second number
# 7325 is at 2:02:05. In code, `read` takes the line of memory and a rule, and looks up every place:

# %%
def strides_of(shape):
    return [prod(shape[k + 1:]) for k in range(len(shape))]

def read(memory, shape, strides, start=0):
    index = np.indices(shape)  # (n, s_1, ..., s_n)
    return memory[start + np.tensordot(np.array(strides, int), index, 1)]

memory = np.arange(24.)
for shape in ((), (24,), (4, 6), (2, 3, 4), (2, 1, 3, 4)):
    x = read(memory, shape, strides_of(shape))
    assert close(x, memory[:prod(shape)].reshape(shape))
    assert strides_of(shape) == list(torch.zeros(shape).stride())
day = np.arange(24 * 3600)
place = np.argwhere(read(day, (24, 60, 60), (3600, 60, 1)) == 7325)
print('strides of (2, 3, 4):', strides_of((2, 3, 4)))
print('second 7325 is at', place[0].tolist())

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
# A shape is a rule for reading one line of memory: with the strides $(12, 4, 1)$ of shape $(2, 3, 4)$, the element with
# index $(1, 0, 2)$ stands at place 14.

# %% [markdown]
# **Other rules for the same line.** Nothing forces a rule to go row by row. Exchange the strides and the same line reads
# as the transpose. Double a stride and every other element is skipped; make it negative, and start at the end, and the
# axis runs backwards. A diagonal moves along two axes at once, so its stride is the *sum* of theirs. And if two axes have
# the same stride, they show overlapping windows of the line: the trick behind every
# [convolution](../convolution/convolutions.ipynb). For $\mathbf{X} \sim (3, 4)$, strides $(4, 1)$:
#
# | view | shape | strides | starts at |
# |---|---|---|---|
# | `X.T` | `(4, 3)` | 1, 4 | 0 |
# | `X[1]` | `(4,)` | 1 | 4 |
# | `X[:, 2]` | `(3,)` | 4 | 2 |
# | `X[:, ::-2]` | `(3, 2)` | 4, −2 | 3 |
# | `X.diagonal()` | `(3,)` | 5 | 0 |
# | windows of three of the line | `(10, 3)` | 1, 1 | 0 |

# %%
memory = np.arange(12.)
X = memory.reshape(3, 4)
rules = [
    (X.T, (4, 3), (1, 4), 0), (X[1], (4,), (1,), 4),
    (X[:, 2], (3,), (4,), 2), (X[:, ::-2], (3, 2), (4, -2), 3),
    (X.diagonal(), (3,), (5,), 0),
    (sliding_window_view(memory, 3), (10, 3), (1, 1), 0),
]
for view, *rule in rules:
    assert close(read(memory, *rule), view)
    assert np.shares_memory(view, memory)
    assert view.strides == tuple(8 * t for t in rule[1])  # numpy: in bytes
print('rules that agree with numpy:', len(rules), '- memory that it copied:',
      sum(view.nbytes for view, *_ in rules
          if not np.shares_memory(view, memory)), 'bytes')

# %% [markdown]
# **Views and copies.** What only changes the rule is a *view*. It costs nothing, however large the tensor, and it is not a
# new tensor: if you write into the view, you write into the original. Where no rule with constant strides can do it, numpy
# *copies*. So an assignment may or may not reach the original:

# %%
X = np.arange(12.).reshape(3, 4)
results = {
    'X.T': X.T, 'X[1:, ::2]': X[1:, ::2], 'X.reshape(2, 6)': X.reshape(2, 6),
    'X[[1, 2]]': X[[1, 2]], 'X[X > 5]': X[X > 5],
    'X.T.reshape(12)': X.T.reshape(12),
}
for name, result in results.items():
    print(f'{name:16}', 'view' if np.shares_memory(X, result) else 'copy')
X.T[0, 2] = -1
X[[0, 1]][0, 0] = -1
print('written through X.T:', X[2, 0] == -1)
print('written through X[[0, 1]]:', X[0, 0] == -1)

# %% [markdown]
# Why is the last of the six a copy? Two neighbouring axes, both longer than 1, can be read as one exactly if the outer
# step continues where the inner axis ends, $t_k = s_{k+1} t_{k+1}$. That holds in row-major order, and fails after a
# transposition, $1 \ne 3 \cdot 4$. Here numpy's `reshape` copies in silence, while torch's `view` refuses. (Torch has no
# negative strides either; its `flip` copies.)
#
# A transpose is free when it is made. The price comes later, when the elements are read across the line instead of along
# it, and the processor fetches a whole stretch of memory for each:

# %%
big = np.random.default_rng(0).normal(size=(1024, 1024))
free = 100 * seconds(lambda: big.T) < seconds(big.copy)
late = seconds(lambda: big.T.copy()) > 1.5 * seconds(big.copy)
try:
    torch.tensor(big).T.view(-1)
    refused = False
except RuntimeError:
    refused = True
assert free and late and refused
print('a transpose is over 100 times faster than a copy:', free)
print('copying across the line is over 1.5 times slower than along it:', late)
print('torch.view refuses to flatten a transpose:', refused)

# %% [markdown]
# **Reshape is not transpose.** Networks like their pictures with the colours first. From the photograph, thinned to
# $(107, 160, 3)$, two lines of code make the shape $(3, 107, 160)$. `transpose(2, 0, 1)` changes the order of the axes,
# and every element keeps its three indices. `reshape(3, 107, 160)` keeps the *places* and cuts the old line into new rows.
# No error is raised, no shape is wrong, and a network trains on what comes out:

# %%
photo = photograph('china')[::4, ::4].copy()  # (107, 160, 3), colours last
moved, cut = photo.transpose(2, 0, 1), photo.reshape(3, 107, 160)
assert (moved[0] == photo[:, :, 0]).all()
assert (cut.reshape(-1) == photo.reshape(-1)).all()
print('the same shape:', moved.shape == cut.shape)
print('the same tensor:', np.array_equal(moved, cut))

# %% mystnb={"image": {"alt": "Three pictures: a temple in colour; its red part in grey, looking right; and what reshape makes of it, fine horizontal stripes in which no temple can be seen."}} tags=["hide-input"]
fig, axes = panels(3, height=1.75)
pictures = (photo, moved[0], cut[0])
titles = ('original', 'transpose, part 0', 'reshape, part 0')
for ax, picture, title in zip(axes, pictures, titles, strict=True):
    show_image(ax, picture, title)

# %% [markdown] tags=["caption"]
# Both results have the shape $(3, 107, 160)$, but only the transpose is still a picture: reshape cuts the old line of memory
# into new rows and mixes the colours.

# %% [markdown]
# **Rows, columns, neither.** In most formulas,
#
# ```{math}
# :label: la.notation.column-vectors
# \mathbf{x} = \begin{bmatrix} x_1 \\ \vdots \\ x_n \end{bmatrix} \sim (n, 1), \qquad
# \mathbf{x}^\top \mathbf{y} \sim (1, 1), \qquad \mathbf{x}\,\mathbf{y}^\top \sim (n, n) :
# ```
#
# bold small letters are *column* vectors, matrices with one column. An array of shape `(n,)` is
# neither a column nor a row. It has a single axis, so its transpose is itself, and $\mathbf{x}\,\mathbf{y}^\top$, written
# down literally as `x @ y.T`, gives a number instead of a table.
#
# So a formula is translated, not copied. This is the dictionary for the whole book; formulas count from 1, code from 0.
#
# | formula | shape there | code | shape in code |
# |---|---|---|---|
# | number $a$ | | `a` | `()` |
# | vector $\mathbf{x}$, its first entry $x_1$ | $(n, 1)$ | `x`, `x[0]` | `(n,)`, `()` |
# | column, row $\mathbf{x}^\top$ | $(n, 1)$, $(1, n)$ | `x[:, None]`, `x[None, :]` | `(n, 1)`, `(1, n)` |
# | $\mathbf{x}^\top \mathbf{y}$ | $(1, 1)$ | `x @ y` | `()` |
# | $\mathbf{x}\,\mathbf{z}^\top$ | $(n, m)$ | `x[:, None] * z` | `(n, m)` |
# | $\mathbf{A}\mathbf{z}$, $\mathbf{A}^\top \mathbf{x}$ | $(n, 1)$, $(m, 1)$ | `A @ z`, `A.T @ x` | `(n,)`, `(m,)` |
# | $\mathbf{A} \odot \mathbf{B}$, entry by entry | $(n, m)$ | `A * B` | `(n, m)` |
# | $\mathbf{A}\mathbf{A}^\top$ | $(n, n)$ | `A @ A.T` | `(n, n)` |

# %%
n, m = 4, 3
for make in (np.zeros, torch.zeros):
    x, y, z = make(n), make(n), make(m)
    A, B = make((n, m)), make((n, m))
    found = [
        x, x[0], x[:, None], x[None, :], x @ y, x[:, None] * z, A @ z,
        A.T @ x, A * B, A @ A.T,
    ]
    want = [
        (n,), (), (n, 1), (1, n), (), (n, m), (n,), (m,), (n, m), (n, n),
    ]
    assert [tuple(v.shape) for v in found] == want
    print(f'{make.__module__:5}', *map(list, (v.shape for v in found)))

# %% [markdown]
# ```{exercise} ★ A picture as a sentence
# :label: tensors-patches
# A vision transformer reads a picture as a sentence whose words are square patches. Write `patches(x, p)`: it takes `x` of
# shape `(h, w, c)`, where `p` divides `h` and `w`, and gives shape `(h * w // p**2, p * p * c)`. Patches are ordered row
# by row, and so are the pixels in each. Use `reshape` and `transpose`, no loop.
# ```

# %%
def patches(x, p):
    raise NotImplementedError('your turn')

# %%
def patches_by_loop(x, p):
    h, w, _ = x.shape
    return np.array([
        x[i:i + p, j:j + p].ravel()
        for i in range(0, h, p) for j in range(0, w, p)
    ])

pictures = [
    (np.arange(48.).reshape(4, 4, 3), 2), (np.arange(72.).reshape(6, 4, 3), 2),
    (np.arange(54.).reshape(3, 9, 2), 3),
]
grade(patches, patches_by_loop, pictures)

# %% [markdown]
# ```{solution-start} tensors-patches
# :class: dropdown
# ```
# Split both axes into patch and place in the patch, `(h/p, p, w/p, p, c)`; bring the two patch axes to the front; merge.
# The wrong answer has the right shape, and cuts the line into pieces that are no squares.

# %% jupyter={"source_hidden": true}
def patches_solution(x, p):
    h, w, c = x.shape
    x = x.reshape(h // p, p, w // p, p, c).transpose(0, 2, 1, 3, 4)
    return x.reshape(-1, p * p * c)

def only_reshaped(x, p):
    return x.reshape(-1, p * p * x.shape[2])

assert grade(patches_solution, patches_by_loop, pictures)
assert not grade(only_reshaped, patches_by_loop, pictures)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def torch_shape(x):
    try:
        return tuple(torch.tensor(x).shape)
    except (ValueError, TypeError):  # torch refuses ragged lists
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
    slip=(
        'looks only at the first entry of each list',
        lambda seed: (
            shape_of_first(some_list(seed)) == torch_shape(some_list(seed))
        ),
    ),
    seed=seeds(),
)

def reads_as_printed(x, y):
    inner, outer = x.T @ y, x @ y.T
    products = [a * b for a in x.ravel() for b in y.ravel()]
    return (
        inner.shape == (1, 1)
        and outer.shape == (x.size, y.size)
        and close(outer.ravel(), products)
        and close(inner[0, 0], sum(products[:: x.size + 1]))
    )

holds(
    'la.notation.column-vectors',
    lambda x, y: reads_as_printed(x[:, None], y[:, None]),
    slip=(
        'takes an array with a single axis for a column',
        lambda x, y: reads_as_printed(x, y),
    ),
    x=vectors(3),
    y=vectors(3),
)

# %% [markdown]
# ## Broadcasting: shapes that stretch
#
# This section continues [Shapes and strides: one line of memory](#shapes-and-strides-one-line-of-memory). The product
# entry by entry, the *Hadamard product* $(\mathbf{A} \odot \mathbf{B})_{ij} = a_{ij} b_{ij}$, and all other operations
# entry by entry, need two tensors of one shape. But to subtract from every row of a table the means of the columns,
# must one first write them down once per row? No. A stride of *zero* reads the same numbers again and again, and
# nothing is stored:
#
# ```{prf:definition} Broadcasting
# :label: def-broadcasting
# Write two shapes below each other, aligned at the *right*, and fill the shorter one with ones in front. On every axis the
# two sizes must be equal, or one of them must be 1. The result takes the other size, and an axis of size 1 is read with
# stride 0:
#
# $$ Z[i_1, \dots, i_n] = X[i'_1, \dots, i'_n] \odot Y[i''_1, \dots, i''_n] , $$
#
# where $i'_k = 0$ if axis $k$ of $\mathbf{X}$ has size 1, else $i'_k = i_k$,
# and likewise $i''_k$ with $\mathbf{Y}$; here $\odot$ may be any operation entry by entry.
# ```

# %%
def broadcast_shape(s, t):
    n = max(len(s), len(t))
    s, t = ((1,) * (n - len(u)) + tuple(u) for u in (s, t))
    pairs = list(zip(s, t, strict=True))
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        raise ValueError(f'{s} and {t} do not fit')
    return tuple(b if a == 1 else a for a, b in pairs)

def stretch(x, shape):
    old = (1,) * (len(shape) - x.ndim) + x.shape
    strides = [0 if a == 1 else t for a, t in zip(old, strides_of(old))]
    return read(x.ravel(), shape, strides)

def hadamard(x, y):
    shape = broadcast_shape(x.shape, y.shape)
    return stretch(x, shape) * stretch(y, shape)

# %% [markdown]
# ("The larger of the two sizes" would be nearly right: an axis may also have size 0, and 1 against 0 gives 0.) Three
# thousand random pairs of shapes, of which about a fifth must be refused:

# %%
rng = np.random.default_rng(1)
refused = 0
for _ in range(3000):
    s, t = (tuple(rng.choice([0, 1, 1, 2, 3], rng.integers(0, 4)).tolist())
            for _ in range(2))
    x, y = rng.normal(size=s), rng.normal(size=t)
    try:
        want = torch.tensor(x) * torch.tensor(y)
    except RuntimeError:
        want, refused = None, refused + 1
    try:
        got = hadamard(x, y)
    except ValueError:
        got = None
    assert (got is None) == (want is None)
    if want is not None:
        assert got.shape == np.broadcast_shapes(s, t) and close(got, want)
print(f'all agree with torch and numpy; {refused / 3000:.0%} do not fit')

# %% mystnb={"image": {"alt": "A column of three numbers plus a row of four numbers gives a table of three by four sums. The column is repeated to the right and the row downwards in pale cells, which are not stored."}} tags=["hide-input"]
column, row = np.array([[10], [20], [30]]), np.array([[1, 2, 3, 4]])
fig, ax = plt.subplots(figsize=(6, 1.7))
for start, numbers, color in ((0, column, 'C0'), (5.5, row, 'C1'),
                              (11, column + row, 'C2')):
    for i, j in np.ndindex(3, 4):
        real = i < len(numbers) and j < numbers.shape[1]
        number = np.broadcast_to(numbers, (3, 4))[i, j]
        box = plt.Rectangle((start + j, -i), 1, 1, fc=color, ec=color, lw=1,
                            alpha=0.3 if real else 0.1)
        ax.add_patch(box)
        ax.text(start + j + 0.5, 0.5 - i, number, ha='center', va='center')
for x, text in ((4.75, '+'), (10.25, '=')):
    ax.text(x, -0.5, text, ha='center', va='center', fontsize=14)
for x, text in ((2, '(3, 1)'), (7.5, '(4,)'), (13, '(3, 4)')):
    ax.text(x, -2.6, text, ha='center', va='center')
ax.set(xlim=(-0.1, 15.1), ylim=(-3, 1.1), aspect='equal')
ax.axis('off');

# %% [markdown] tags=["caption"]
# An axis of size 1 is stretched by a stride of zero: a column and a row give the table of all sums, and the pale copies are
# never stored.

# %% [markdown]
# Three uses cover most of the book: a row against every row of a table, `X - mean` with `mean` of shape `(m,)`; a column
# against every column, `X / total[:, None]`; and *all pairs*, `x[:, None] - y`, the table of all differences. The last one
# replaces two nested loops, here for the squared distances between two clouds of 100 points in the plane:

# %%
def distances(p, q):  # (n, d), (m, d) -> (n, m)
    return ((p[:, None] - q) ** 2).sum(-1)

def distances_by_loop(p, q):
    return np.array([[((a - b) ** 2).sum() for b in q] for a in p])

p, q = np.random.default_rng(2).normal(size=(2, 100, 2))
assert close(distances(p, q), distances_by_loop(p, q))
slow = seconds(lambda: distances_by_loop(p, q))
faster = slow > 10 * seconds(lambda: distances(p, q))
assert faster
print('broadcasting is over 10 times faster than the loops:', faster)

# %% [markdown]
# **When shapes stretch by accident.** The rule never asks whether the stretching was meant. A model with one output returns
# predictions $\hat{\mathbf{y}}$ of shape `(n, 1)`; the targets have shape `(n,)`. Then `((y_hat - y) ** 2).mean()`
# subtracts a row from a column. It is the mean not of $n$ errors but of a table of $n^2$:
#
# $$ \tilde L = \frac{1}{n^2} \sum_{i=1}^n \sum_{j=1}^n (\hat y_i - y_j)^2 . $$
#
# What does a model learn that makes $\tilde L$ small? With the mean $\bar y$ of the targets, write
# $\hat y_i - y_j = (\hat y_i - \bar y) - (y_j - \bar y)$ and square. The mixed term contains $\sum_j (y_j - \bar y) = 0$,
# so
#
# ```{math}
# :label: tensors-silent
# \tilde L = \frac1n \sum_{i=1}^n (\hat y_i - \bar y)^2 + \frac1n \sum_{j=1}^n (y_j - \bar y)^2 .
# ```
#
# The second term does not depend on the model. The first asks it to predict the mean, for everyone. No error, a loss that
# falls, and a model that has learned nothing. We train both losses on 442 diabetes patients, over five random halvings,
# and score the half that was not used by $R^2$: 1 is perfect, and the mean of the test targets scores 0.

# %%
x, y, _ = diabetes()  # (442, 10), (442,)

def halves(seed):  # scaled by what the training half shows
    train, test = np.random.default_rng(seed).permutation(442).reshape(2, 221)
    X = (x - x[train].mean(0)) / x[train].std(0)
    X = np.c_[X, np.ones(442)]
    t = (y - y[train].mean()) / y[train].std()
    return [torch.tensor(v[half]) for half in (train, test) for v in (X, t)]

def train(X, t, loss, steps=150):
    w = torch.full((X.shape[1], 1), 0.3, requires_grad=True)
    for _ in range(steps):
        slope, = torch.autograd.grad(loss(X @ w, t), w)
        w = (w - 0.1 * slope).detach().requires_grad_()
    return w.detach()

losses = {
    'y_hat (n, 1), y (n,)': lambda y_hat, t: ((y_hat - t) ** 2).mean(),
    'both (n,)': lambda y_hat, t: ((y_hat[:, 0] - t) ** 2).mean(),
}

# %%
def R2(prediction, t):
    return (1 - ((prediction - t) ** 2).mean() / t.var(correction=0)).item()

scores = []
for seed in range(5):
    X, t, X_test, t_test = halves(seed)
    weights = [train(X, t, loss) for loss in losses.values()]
    weights.append(torch.linalg.lstsq(X, t[:, None]).solution)
    predictions = [(X_test @ w)[:, 0] for w in weights]  # the last are plotted
    scores.append([R2(prediction, t_test) for prediction in predictions])
names = [*losses, 'exact least squares']
for name, score in zip(names, np.transpose(scores), strict=True):
    low, high = np.round([score.min(), score.max()], 3) + 0.0  # no -0.00
    print(f'{name:22} R2 from {low:6.3f} to {high:6.3f}')

loss = next(iter(losses.values()))
y_hat = torch.linspace(-1, 1, len(t))[:, None]
by_formula = ((y_hat - t.mean()) ** 2).mean() + t.var(correction=0)
assert close(loss(y_hat, t), by_formula)

# %% mystnb={"image": {"alt": "Two scatter plots of predicted against true disease progression. With the shapes n by 1 and n the predictions lie on a flat line at the mean; with equal shapes they rise with the truth, around the diagonal."}} tags=["hide-input"]
fig, axes = panels(2, height=2.5, sharex=True, sharey=True)
for ax, guess, name in zip(axes, predictions, names, strict=False):
    ax.plot(t_test, guess, 'o', ms=3, alpha=0.6)
    ax.plot([-2, 2.5], [-2, 2.5], '--', color=GREY, lw=1)
    ax.set(title=name, xlabel='true progression (scaled)')
axes[0].set(ylabel='predicted', ylim=(-2.2, 2.7));

# %% [markdown] tags=["caption"]
# A loss that stretches shapes $(n, 1)$ and $(n,)$ into a table teaches the model to predict the mean for every patient; with
# equal shapes the same model follows the truth.

# %% [markdown]
# With matching shapes, descent comes close to the exact solution; with the others it ends where {eq}`tensors-silent` says.
# Libraries now warn in their own loss functions. In yours, one line does: `assert y_hat.shape == y.shape`.
#
# ```{exercise} ★★ All pairs without the third axis
# :label: tensors-pairs
# `distances` stores $n m d$ differences to give $n m$ numbers. Expand $\|\mathbf{p}_i - \mathbf{q}_j\|^2$ and write
# `lean_distances(p, q)`, which stores no array with more than two axes.
# ```

# %%
def lean_distances(p, q):  # (n, d), (m, d) -> (n, m)
    raise NotImplementedError('your turn')

# %%
def distances_by_broadcasting(p, q):
    return ((p[:, None] - q) ** 2).sum(-1)

rng = np.random.default_rng(3)
clouds = [
    (rng.normal(size=(n, d)), rng.normal(size=(m, d)))
    for n, m, d in ((4, 4, 2), (3, 5, 7), (1, 6, 3))
]
grade(lean_distances, distances_by_broadcasting, clouds)

# %% [markdown]
# ```{solution-start} tensors-pairs
# :class: dropdown
# ```
# $\|\mathbf{p}_i - \mathbf{q}_j\|^2 = \|\mathbf{p}_i\|^2 - 2\, \mathbf{p}_i \cdot \mathbf{q}_j + \|\mathbf{q}_j\|^2$: a
# column, a matrix product, a row. The wrong answer forgets to make the first a column. For $n = m$ it runs. The lean form
# has its own price, cancellation: for two near points far from the origin, the difference of large numbers leaves few
# digits.

# %% jupyter={"source_hidden": true}
def lean_distances_solution(p, q):
    return (p**2).sum(1)[:, None] - 2 * p @ q.T + (q**2).sum(1)

def no_column(p, q):
    return (p**2).sum(1) - 2 * p @ q.T + (q**2).sum(1)

assert grade(lean_distances_solution, distances_by_broadcasting, clouds)
assert not grade(no_column, distances_by_broadcasting, clouds)
far = [(p + 1e8, q + 1e8) for p, q in clouds]
assert not grade(lean_distances_solution, distances_by_broadcasting, far)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Reductions and cumulative sums along an axis
#
# A *reduction* replaces an axis by one number per line along it: a sum, a mean, a maximum. "Row sums" and "column sums"
# are words that mean opposite things to different people; so name the axis that *disappears*:
#
# $$ \Big(\sum\nolimits_{\text{axis } k} \mathbf{X}\Big)[i_1, \dots, \widehat{i_k}, \dots, i_n]
# = \sum_{i_k = 0}^{s_k - 1} X[i_1, \dots, i_n] . $$
#
# (The hat marks the index that is left out.) The shape loses its entry $s_k$. Or let it not disappear but shrink to size
# 1, `keepdims=True`. Then the result still fits what it was made from, and broadcasting does the rest. A *cumulative* sum
# keeps even the whole axis, and writes down every intermediate result: $C_i = x_1 + \dots + x_i$.

# %%
def total(x, axis, keepdims=False):
    result = np.zeros(np.moveaxis(x, axis, 0).shape[1:])
    for piece in np.moveaxis(x, axis, 0):
        result = result + piece
    return np.expand_dims(result, axis) if keepdims else result

def cumulative(x, axis):
    pieces, running = [], 0.0
    for piece in np.moveaxis(x, axis, 0):
        running = running + piece
        pieces.append(running)
    return np.stack(pieces, axis)

x = np.random.default_rng(0).normal(size=(2, 3, 4))
for k in range(3):
    assert close(total(x, k), x.sum(k))
    assert close(total(x, k, True) / x.shape[k], x.mean(k, keepdims=True))
    assert close(total(x, k), torch.tensor(x).sum(k))
    assert close(cumulative(x, k), np.cumsum(x, k))
    gone, kept = total(x, k).shape, total(x, k, True).shape
    print(f'sum over axis {k}: {gone}, kept {kept}')

# %% [markdown]
# The order of several sums is free, since it is all one sum. So is that of several maxima. But sum and maximum do not
# commute: for each $j$, $\sum_i x_{ij} \le \sum_i \max_l x_{il}$, hence
#
# ```{math}
# :label: tensors-minimax
# \max_j \sum_i x_{ij} \;\le\; \sum_i \max_j x_{ij} .
# ```
#
# (In sports, one all-rounder never scores more than a team that sends its best to each event.) Without `keepdims` the shapes
# can again fit by accident. Each row of a square table should be divided by its sum, to turn counts into probabilities:

# %%
rng = np.random.default_rng(1)
x = rng.normal(size=(500, 4, 3))
assert (x.sum(1).max(1) <= x.max(2).sum(1) + 1e-12).all()
counts = rng.integers(1, 9, (3, 3))
careless = counts / counts.sum(1)
careful = counts / counts.sum(1, keepdims=True)
print('rows sum to', careful.sum(1).round(2), 'with keepdims')
print('rows sum to', careless.sum(1).round(2), 'without')

# %% [markdown]
# **Sums of any box in four steps.** Differences undo cumulative sums, $C_b - C_a = x_{a+1} + \dots + x_b$, so from one
# table of $C$ every sum over an interval costs one subtraction. In a picture, accumulate along both axes: $S[b, d]$ is the
# sum over all rows before $b$ and all columns before $d$. Apply the rule once along each axis:
#
# ```{math}
# :label: tensors-box
# \sum_{i=a}^{b-1} \sum_{j=c}^{d-1} X[i, j] = S[b, d] - S[a, d] - S[b, c] + S[a, c] .
# ```
#
# This is the *summed-area table* {cite}`crow1984summed`; it also made face detectors fast {cite}`viola2001rapid`. To blur
# a picture, each pixel becomes the mean of a window around it. With {eq}`tensors-box` the work does not depend on the size
# of the window. Slices take the four corners of all windows at once:

# %%
def box_means(x, k):  # (h, w) -> (h - k + 1, w - k + 1), windows k by k
    S = np.pad(x, ((1, 0), (1, 0))).cumsum(0).cumsum(1)  # (h + 1, w + 1)
    return (S[k:, k:] - S[:-k, k:] - S[k:, :-k] + S[:-k, :-k]) / k**2

def box_means_by_loop(x, k):
    h, w = x.shape
    return np.array([
        [x[i:i + k, j:j + k].mean() for j in range(w - k + 1)]
        for i in range(h - k + 1)
    ])

grey = photograph('china').mean(-1)[::2, ::2]  # (214, 320)
k = 31
blurred = box_means(grey, k)
assert close(blurred, box_means_by_loop(grey, k))
inside = np.s_[k // 2:-(k // 2), k // 2:-(k // 2)]
assert close(blurred, uniform_filter(grey, k)[inside])  # scipy
slow = seconds(lambda: box_means_by_loop(grey, k), rounds=2)
faster = slow > 20 * seconds(lambda: box_means(grey, k))
assert faster
print('the table is over 20 times faster than the windows:', faster)

# %% mystnb={"image": {"alt": "Three pictures: the temple in grey; its cumulative sum along both axes, a smooth ramp from dark at the top left to bright at the bottom right; the temple blurred over windows of 31 pixels."}} tags=["hide-input"]
fig, axes = panels(3, height=1.75)
summed = grey.cumsum(0).cumsum(1)
titles = 'picture', 'summed both ways', f'means, {k} × {k}'
pictures = grey[inside], summed[inside], blurred
for ax, picture, title in zip(axes, pictures, titles, strict=True):
    show_image(ax, picture, title)

# %% [markdown] tags=["caption"]
# Four entries of the table of cumulative sums give the mean over any window, here of 31 by 31 pixels, so a wide blur costs
# no more than a narrow one.

# %% [markdown]
# **What a long sum loses.** Each addition rounds: it returns the sum times some $1 + \delta$ with $|\delta| \le u$, where
# $u = 2^{-24}$ for 32-bit floats. A running sum drags every number through many additions. There is a better tree: add
# neighbours, then neighbours of the results, and so on, called *pairwise* summation.
#
# ```{prf:theorem} Chain and tree
# :label: thm-tensors-pairwise
# The sum of $n$ numbers, added in any order, has the form $\sum_i x_i (1 + \theta_i)$, where $1 + \theta_i$ is a product
# of as many factors $1 + \delta$ as there are additions on the way of $x_i$ to the result: at most $n - 1$ for a running
# sum, $\log_2 n$ for the tree, if $n$ is a power of 2. So, up to terms of order $u^2$,
#
# $$ |\text{computed} - \text{exact}| \le m\, u \sum_i |x_i|, \qquad m = n - 1 \ \text{ or } \ m = \log_2 n . $$
# ```
#
# ```{prf:proof}
# Every addition multiplies what goes into it by a common $1 + \delta$. Follow one $x_i$ to the result and collect its
# factors; a product of $m$ of them differs from 1 by at most $(1 + u)^m - 1 = m u + O(u^2)$. In the chain $x_1$ takes part
# in all $n - 1$ additions. In the tree each $x_i$ takes part in one addition per level, and the number of terms halves at
# each level.
# ```
#
# For positive numbers the right side is $m\,u$ times the sum: relative error $n u$ against $u \log_2 n$. We measure it
# with 20 lists of numbers between 0 and 1. (The bounds are for the worst case; errors of random sign partly cancel.)

# %%
def pairwise(x):  # over the last axis, of length 2^k
    while x.shape[-1] > 1:
        x = x[..., ::2] + x[..., 1::2]
    return x[..., 0]

sizes = 2 ** np.arange(4, 19, 2)
numbers = np.random.default_rng(2).random((20, sizes[-1]), dtype=np.float32)
errors = []
for n in sizes:
    x = numbers[:, :n]
    exact = x.astype(float).sum(1)
    sums = np.cumsum(x, axis=1)[:, -1], pairwise(x)  # both 32-bit
    errors.append([abs(s / exact - 1).max() for s in sums])
chain, tree = np.transpose(errors)
u = 2.0 ** -24
assert (chain < sizes * u).all() and (tree < np.log2(sizes) * u).all()
assert chain[-1] > 30 * tree[-1]
stuck = np.float32(2**24) + np.float32(1) == np.float32(2**24)
print(f'at n = {sizes[-1]} the chain loses over 30 times more')
print('counting by ones in 32 bits stops at 16777216:', stuck)

# %% mystnb={"image": {"alt": "Relative error of a sum of n 32-bit numbers against n, both logarithmic. The chain rises from about 1e-7 to about 1e-5, below its bound n u; the tree stays near 1e-7, below its bound u log n."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
ax.plot(sizes, chain, 'o-', label='chain')
ax.plot(sizes, tree, 's-', label='tree')
ax.plot(sizes, sizes * u, ':', color='C0', label='bound n u')
ax.plot(sizes, np.log2(sizes) * u, ':', color='C1', label='bound u log₂ n')
ax.set(xscale='log', yscale='log', xlabel='number of terms n')
ax.set(ylabel='largest relative error', ylim=(1e-8, 3e-2))
label_lines(ax)

# %% [markdown] tags=["caption"]
# In 32 bits a running sum of $2^{18}$ numbers is over 30 times less accurate than adding in pairs; both stay below their
# bounds $n u$ and $u \log_2 n$.

# %% [markdown]
# Libraries use this: numpy's `sum` along the line of memory adds in pairs (of blocks of 128), its `cumsum` cannot. The
# bounds for dot products in [Dot products](dot_products.ipynb) follow the same path.
#
# ```{exercise} ★★ Sentences of different length
# :label: tensors-masked
# A batch of sentences is padded to one length $T$ to make a tensor. `x` of shape `(B, T, d)` holds a vector per word, and
# `keep` of shape `(B, T)` is true at real words; the padding may hold anything. Write `masked_mean(x, keep)` of shape
# `(B, d)`: the mean of the real words of each sentence, each of which has at least one.
# ```

# %%
def masked_mean(x, keep):
    raise NotImplementedError('your turn')

# %%
def mean_by_loop(x, keep):
    return np.array([a[k].mean(0) for a, k in zip(x, keep, strict=True)])

rng = np.random.default_rng(4)
sentences = []
for B, T, d in ((2, 3, 2), (4, 4, 4), (1, 5, 3)):
    length = rng.integers(1, T + 1, B)
    x = rng.normal(size=(B, T, d))
    sentences.append((x, np.arange(T) < length[:, None]))
grade(masked_mean, mean_by_loop, sentences)

# %% [markdown]
# ```{solution-start} tensors-masked
# :class: dropdown
# ```
# Zero the padding, sum over $T$, and divide by the number of real words, kept as a column. The wrong answer divides by
# $T$, so short sentences shrink. (Why `np.where` and not a product? The padding may hold `nan`, and `nan * 0` is `nan`.)

# %% jupyter={"source_hidden": true}
def masked_mean_solution(x, keep):
    x = np.where(keep[:, :, None], x, 0)  # (B, T, d)
    return x.sum(1) / keep.sum(1, keepdims=True)

def divided_by_T(x, keep):
    return (x * keep[:, :, None]).mean(1)

assert grade(masked_mean_solution, mean_by_loop, sentences)
assert not grade(divided_by_T, mean_by_loop, sentences)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Einsum: one notation for all products
#
# In $z_{ij} = \sum_k x_{ik} y_{kj}$ the summation sign says nothing new: $k$ stands on the right and not on the left, so
# it can only have been summed. Leave the sign out, as Einstein did {cite}`einstein1916grundlage`, and only the letters
# remain: `ik,kj->ij`.
#
# ```{prf:definition} Einsum
# :label: def-einsum
# In `einsum('ik,kj->ij', X, Y)` each tensor gets one letter per axis, and a letter has the same size wherever it stands.
# Each element of the result is the sum, over all values of the letters that do not stand behind the arrow, of the product
# of the elements of all tensors at their letters.
# ```
#
# One line of letters replaces a dozen functions and their conventions, and it states the shapes as well. Strides,
# broadcasting and reductions together make it in under twenty lines. Give every tensor *all* letters as axes. A letter
# it has is read with its stride (with the sum of the strides, if it has it twice: the diagonal). A letter it lacks is
# read with stride 0. Then multiply, and sum what is not wanted.

# %%
def einsum(spec, *tensors):
    terms, output = spec.split('->')
    terms = terms.split(',')
    pairs = [(a, s) for term, x in zip(terms, tensors, strict=True)
             for a, s in zip(term, x.shape, strict=True)]
    size = dict(pairs)
    if any(size[a] != s for a, s in pairs):
        raise ValueError(f'a letter of {spec} has two sizes')
    letters = output + ''.join(sorted(set(size) - set(output)))
    product = 1.0
    for term, x in zip(terms, tensors, strict=True):
        strides = [
            sum(t for b, t in zip(term, x.strides) if a == b)
            for a in letters
        ]
        product = product * as_strided(x, [size[a] for a in letters], strides)
    return product.sum(tuple(range(len(output), len(letters))))

# %% [markdown]
# Here is a map of what lies ahead. Every operation in it is an einsum, and the code below compares ours with the function
# that the library has for it, and with torch's.
#
# | operation | letters | where |
# |---|---|---|
# | transpose, sum over an axis, diagonal, trace | `ij->ji`, `ij->i`, `ii->i`, `ii->` | above |
# | dot product | `i,i->` | [Dot products](dot_products.ipynb) |
# | outer product, Hadamard product | `i,j->ij`, `ij,ij->ij` | [Matrix multiplication](matrix_multiplication.ipynb) |
# | matrix times vector, times matrix | `ij,j->i`, `ik,kj->ij` | [Matrix multiplication](matrix_multiplication.ipynb) |
# | squared length in a skewed basis | `i,ij,j->` | [Norms](norms.ipynb) |
# | cross product, with the symbol $\epsilon_{ijk}$ | `ijk,j,k->i` | [The cross product](cross_product.ipynb) |
# | determinant of three columns | `ijk,i,j,k->` | [Determinants](determinants.ipynb) |
# | $\mathbf{U}\,\mathrm{diag}(\boldsymbol\sigma)\,\mathbf{V}^\top$ | `ik,k,jk->ij` | [Singular value decomposition](singular_value_decomposition.ipynb) |
# | covariance, up to $1/n$ | `ni,nj->ij` | [Whitening](whitening.ipynb) |
# | a layer on a picture | `cijuv,ocuv->oij` | [Convolution](../convolution/convolutions.ipynb) |
# | scores of attention | `bhqd,bhkd->bhqk` | [Multi-head attention](../attention/multi_head_attention.ipynb) |

# %%
rng = np.random.default_rng(0)
a, b, c = rng.normal(size=(3, 3))
M, N, G = rng.normal(size=(3, 3, 3))
eps = np.cross(np.eye(3)[:, None], np.eye(3)).transpose(2, 0, 1)  # (3, 3, 3)
x, w = rng.normal(size=(2, 7, 7)), rng.normal(size=(4, 2, 3, 3))
windows = sliding_window_view(x, (3, 3), (1, 2))  # (2, 5, 5, 3, 3)
layer = torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(w))
q, k = rng.normal(size=(2, 2, 4, 5, 6))  # (batch, heads, words, entries)
table = [
    ('ij->ji', [M], M.T), ('ij->i', [M], M.sum(1)), ('ii->i', [M], np.diag(M)),
    ('ii->', [M], np.trace(M)), ('i,i->', [a, b], np.dot(a, b)),
    ('i,j->ij', [a, b], np.outer(a, b)), ('ij,ij->ij', [M, N], M * N),
    ('ij,j->i', [M, a], M @ a), ('ik,kj->ij', [M, N], M @ N),
    ('i,ij,j->', [a, G, a], a @ G @ a),
    ('ijk,j,k->i', [eps, a, b], np.cross(a, b)),
    ('ijk,i,j,k->', [eps, a, b, c], np.linalg.det(np.stack([a, b, c]))),
    ('ik,k,jk->ij', [M, a, N], M @ np.diag(a) @ N.T),
    ('ni,nj->ij', [M, M], M.T @ M), ('cijuv,ocuv->oij', [windows, w], layer),
    ('bhqd,bhkd->bhqk', [q, k], q @ k.transpose(0, 1, 3, 2)),
]

# %%
for spec, tensors, want in table:
    by_torch = torch.einsum(spec, *map(torch.tensor, tensors))
    assert close(einsum(spec, *tensors), want) and close(by_torch, want)
print(len(table), 'operations agree with their own functions and with torch')

# %% [markdown]
# **A stack of matrices.** With the letter $n$ for the number in a batch, many small products become one operation:
#
# ```{math}
# :label: aw.tensor-ops.bmm
# \mathbf{X} \sim (n, a, b), \quad \mathbf{Y} \sim (n, b, c) \quad \Rightarrow \quad
# \mathbf{Z} \sim (n, a, c), \quad \mathbf{Z}_i = \mathbf{X}_i \mathbf{Y}_i .
# ```
#
# A letter behind the arrow that both tensors have is *batched*: it pairs slices and mixes nothing. Rename it in
# one of them, `nab,mbc->nac`, and $m$ is summed: every slice of $\mathbf{X}$ is multiplied by the sum of all slices of
# $\mathbf{Y}$.

# %% mystnb={"image": {"alt": "Three stacks of three coloured tables. Slice by slice, the 2 by 4 tables of the first stack times the 4 by 3 tables of the second give the 2 by 3 tables of the third; one row, one column and one element of the front slices are framed."}} tags=["hide-input"]
rng = np.random.default_rng(5)
x, y = rng.normal(size=(3, 2, 4)), rng.normal(size=(3, 4, 3))
fig, ax = plt.subplots(figsize=(6, 2.3))
stacks = [(0, x, 'X ~ (3, 2, 4)'), (8, y, 'Y ~ (3, 4, 3)'),
          (15, x @ y, 'Z ~ (3, 2, 3)')]
for left, stack, name in stacks:
    rows, columns = stack.shape[1:]
    top = abs(stack).max()
    for i in (2, 1, 0):  # from the back to the front
        shift = 0.75 * i
        place = (left + shift, left + shift + columns,
                 -rows / 2 + shift, rows / 2 + shift)
        ax.imshow(stack[i], extent=place, cmap='PuOr', vmin=-top, vmax=top,
                  zorder=3 - i)
        edge = plt.Rectangle(place[::2], columns, rows, fill=False, ec=GREY,
                             zorder=3 - i)
        ax.add_patch(edge)
    ax.text(left + columns / 2, -2.8, name, ha='center')
for *corner, width, height in ((0, 0, 4, 1), (9, -2, 1, 4), (16, 0, 1, 1)):
    ax.add_patch(plt.Rectangle(corner, width, height, fill=False, ec='C2',
                               lw=2.5, zorder=9))
for x0, text in ((6.6, '×'), (13.4, '=')):
    ax.text(x0, 0, text, ha='center', va='center', fontsize=14)
ax.set(xlim=(-0.2, 19.8), ylim=(-3.2, 3.8))
ax.axis('off');

# %% [markdown] tags=["caption"]
# A batched product pairs slices and mixes none: an element of $\mathbf{Z}_i$ is a row of $\mathbf{X}_i$ times a column of
# $\mathbf{Y}_i$.

# %% [markdown]
# Most operations on tensors of higher order are batched variants of matrix operations, or combinations
# of matrix operations and reductions. For products this is a theorem, and it is how fast libraries compute them.
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
# Let $p$ and $q$ be the letters that stand in one tensor only and not behind the arrow. By the distributive law
# $\sum_{k, p, q} X_{nikp} Y_{nkjq} = \sum_k \big(\sum_p X_{nikp}\big) \big(\sum_q Y_{nkjq}\big)$: the two *reductions*.
# Several axes may be read as one, since by {prf:ref}`thm-row-major` tuples of indices and places correspond one to one.
# What is left is {eq}`aw.tensor-ops.batched-or-reduce`.
# ```
#
# In code, the axes must be put in order before the product and again after it:

# %%
def by_bmm(spec, x, y, ordered=True):
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

# %%
def some_product(seed):
    rng = np.random.default_rng(seed)
    size = dict(a=2, b=3, c=4, d=2, e=3)
    some = lambda letters, least: ''.join(
        rng.permutation(list(letters))[:rng.integers(least, len(letters) + 1)])
    p, q = some('abcde', 1), some('abcde', 1)
    x, y = (rng.normal(size=[size[a] for a in term]) for term in (p, q))
    return f'{p},{q}->{some(sorted(set(p + q)), 0)}', x, y
print('for example', some_product(7)[0])

# %% [markdown]
# What is no einsum? Whatever is not a sum of products: a maximum, a sort, a softmax. And what does it cost? Our first
# `einsum` forms all products before it sums, as many as the product of the sizes of *all* letters, and stores them.
# `by_bmm` never multiplies more often, stores no table of products, and stands on a matrix product that has been tuned for
# decades:

# %%
rng = np.random.default_rng(6)
x, y = rng.normal(size=(2, 2, 128, 128))  # two tensors (2, 128, 128)
a, b = rng.normal(size=(2, 256, 256))
u, v = torch.tensor(a), torch.tensor(b)
batched, single = 'nab,nbc->nac', 'ab,bc->ac'
assert close(einsum(batched, x, y), by_bmm(batched, x, y))
slow = seconds(lambda: einsum(batched, x, y))
faster = slow > 5 * seconds(lambda: by_bmm(batched, x, y))
ours, library = seconds(lambda: by_bmm(single, a, b),
                        lambda: torch.einsum(single, u, v))
near = ours < 10 * library
assert faster and near
print('by_bmm is over 5 times faster than all products at once:', faster)
print('by_bmm is within 10 times of torch.einsum at n = 256:', near)

# %% [markdown]
# With three or more tensors the *order* decides. $(\mathbf{A}\mathbf{B})\mathbf{x}$ takes $n^3 + n^2$ multiplications,
# $\mathbf{A}(\mathbf{B}\mathbf{x})$ only $2 n^2$, and all at once $n^3$ products of three. In attention, were there no
# softmax, the order would decide whether the cost grows with the square of the length of a text. For a chain of six
# matrices there are 42 orders; here are the counts of all:

# %%
def orders(sizes):  # multiplications of every way to set the brackets
    if len(sizes) == 2:
        return [0]
    return [
        left + right + sizes[0] * sizes[k] * sizes[-1]
        for k in range(1, len(sizes) - 1)
        for left in orders(sizes[:k + 1]) for right in orders(sizes[k:])
    ]

sizes = (40, 5, 60, 8, 100, 3, 50)
costs = np.sort(orders(sizes))
chain = [np.ones(s) for s in zip(sizes, sizes[1:])]
spec = 'ab,bc,cd,de,ef,fg->ag'
size, terms, by_numpy = dict(zip('abcdefg', sizes)), spec[:-4].split(','), 0
for pair in np.einsum_path(spec, *chain, optimize='optimal')[0][1:]:
    p, q = (set(terms.pop(k)) for k in sorted(pair, reverse=True))
    by_numpy += prod(size[a] for a in p | q)
    terms.append(p ^ q)
assert by_numpy == costs[0]
print(len(costs), 'orders, from', costs[0], 'to', costs[-1])
print('all letters at once:', prod(sizes))
print("numpy's einsum_path needs", by_numpy)

# %% mystnb={"image": {"alt": "The number of multiplications of all 42 orders of a chain of six matrices, sorted, on a logarithmic scale: they rise from about eleven thousand to half a million; from the left and from the right are marked, both near one hundred thousand."}} tags=["hide-input"]
def one_way(sizes):  # from the left
    return sum(sizes[0] * a * b for a, b in zip(sizes[1:], sizes[2:]))

fig, ax = plt.subplots(figsize=(6, 2.6))
ax.plot(np.arange(1, 43), costs, 'o-')
marks = ('from the left', sizes, 1), ('from the right', sizes[::-1], -1)
for name, s, side in marks:
    cost = one_way(s)
    place = np.searchsorted(costs, cost) + 1
    ax.plot(place, cost, 'o', color='C1', ms=8)
    ax.annotate(name, (place, cost), (-8 * side, 8 * side), color='C1',
                textcoords='offset points', va='center',
                ha='right' if side > 0 else 'left')
ax.set(yscale='log', xlabel='order, sorted by cost', ylabel='multiplications');

# %% [markdown] tags=["caption"]
# The order of the products decides the cost: for one chain of six matrices the 42 orders differ by a factor above 40, and
# both one-way orders are far from the cheapest.

# %% [markdown]
# ```{exercise} ★★★ The cheapest brackets
# :label: tensors-chain
# The number of orders grows exponentially with the length of the chain (these are the Catalan numbers). Yet the cheapest
# can be found in time $O(m^3)$ for $m$ matrices. Write `cheapest(sizes)`: the least number of multiplications for a chain
# of matrices of shapes `(sizes[0], sizes[1])`, `(sizes[1], sizes[2])`, ... Hint: whichever product comes last, the two
# parts before it must be cheapest themselves. Then explore: how often is it right to do the cheapest product first?
# ```

# %%
def cheapest(sizes):
    raise NotImplementedError('your turn')

# %%
def cheapest_of_all(sizes):  # tries every bracketing
    return min([0] if len(sizes) == 2 else [
        cheapest_of_all(sizes[:k + 1]) + cheapest_of_all(sizes[k:])
        + sizes[0] * sizes[k] * sizes[-1] for k in range(1, len(sizes) - 1)
    ])

rng = np.random.default_rng(8)
chains = [(rng.integers(2, 30, m).tolist(),) for m in (3, 4, 5, 6, 7, 8, 9)]
grade(cheapest, cheapest_of_all, chains)

# %% [markdown]
# ```{solution-start} tensors-chain
# :class: dropdown
# ```
# There are only $m(m+1)/2$ different parts, each a run of neighbours. Compute each once, the short ones first. (This is
# *dynamic programming*; the same idea reappears in the forward-backward algorithm and in the planning of `einsum`.) The
# wrong answer is greedy.

# %% jupyter={"source_hidden": true}
def cheapest_solution(sizes):
    m = len(sizes)
    best = {(i, i + 1): 0 for i in range(m - 1)}
    for length in range(2, m):
        for i in range(m - length):
            j = i + length
            best[i, j] = min(
                best[i, k] + best[k, j] + sizes[i] * sizes[k] * sizes[j]
                for k in range(i + 1, j))
    return best[0, m - 1]

def greedy(sizes):
    sizes, cost = list(sizes), 0
    while len(sizes) > 2:
        prices = [prod(sizes[k - 1:k + 2]) for k in range(1, len(sizes) - 1)]
        cost += min(prices)
        del sizes[1 + int(np.argmin(prices))]
    return cost

assert grade(cheapest_solution, cheapest_of_all, chains)
assert not grade(greedy, cheapest_of_all, chains)
tries = np.random.default_rng(9).integers(2, 30, (300, 8)).tolist()
right = np.mean([greedy(s) == cheapest_solution(s) for s in tries])
print(f'greedy is right for {right:.0%} of chains of seven')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def matrix_product(x, y):  # by three loops
    z = np.zeros((x.shape[0], y.shape[1]))
    for i, k, j in np.ndindex(*x.shape, y.shape[1]):
        z[i, j] += x[i, k] * y[k, j]
    return z

def is_batched(seed, spec):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(3, 2, 4)), rng.normal(size=(3, 4, 5))
    want = np.stack([matrix_product(*pair) for pair in zip(x, y)])
    assert close(want, torch.bmm(torch.tensor(x), torch.tensor(y)))
    return close(einsum(spec, x, y), want)

holds(
    'aw.tensor-ops.bmm',
    lambda seed: is_batched(seed, 'nab,nbc->nac'),
    slip=(
        'sums over the batch axis of the second factor',
        lambda seed: is_batched(seed, 'nab,mbc->nac'),
    ),
    seed=seeds(),
    tries=40,
)

def agrees(seed, ordered):
    product = some_product(seed)
    got, want = by_bmm(*product, ordered), np.einsum(*product)
    return got.shape == want.shape and close(got, want)

holds(
    'aw.tensor-ops.batched-or-reduce',
    lambda seed: agrees(seed, ordered=True),
    slip=(
        'leaves the axes in the order of the merged letters',
        lambda seed: agrees(seed, ordered=False),
    ),
    seed=seeds(),
)

# %% [markdown]
# ## Summary
#
# A tensor is a line of numbers with a rule for reading it, and shape, strides and starting place are the whole rule;
# transposes, slices, windows and stretched axes change the rule and copy nothing. Broadcasting and reductions replace
# loops, and they fail silently when shapes fit by accident, so assert shapes where they matter. `einsum` says with letters
# what is multiplied and what is summed, every product of two tensors in it is one batched matrix product, and for more
# than two the order of the products decides the cost.
#
# **Further reading.** {cite}`harris2020array` describes numpy's arrays, {cite}`paszke2019pytorch` torch's tensors.
# {cite}`higham2002accuracy` is the reference on sums in floating point, {cite}`golub2013matrix` on how matrix products use
# memory, and {cite}`kolda2009tensor` on tensors of higher order in mathematics.
