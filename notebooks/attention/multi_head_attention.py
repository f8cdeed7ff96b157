# ---
# jupyter:
#   book:
#     functions:
#       attend: attend(normal(3, 4), normal(5, 4), normal(5, 2), uniform(3, 5) < 0.8)
#       multi_head: multi_head(normal(3, 4), normal(5, 4), normal(5, 6), normal(2, 4, 3), normal(2, 4, 3), normal(2, 6, 5), normal(10, 4))
#       MultiHead: "[torch.manual_seed(0), x := normal(2, 3, 8), MultiHead(8, 12, 4).to(x.dtype)(x)][2]"
#     main: la.mha.multihead
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Multi-head attention
#
# *Anna saw Ben.* To understand the word *saw*, you need two things: who saw, and who was seen. Attention gives a word one
# weighted mean of what the words of the sentence offer. If *saw* gives both persons the same weight, it receives a mixture of Anna and
# Ben, and the same from *Ben saw Anna*. How can a word look at two places at once and keep apart what it finds?
#
# - **You need** [scaled dot-product attention](scaled_dot_product_attention.ipynb),
#   [matrix products](../linear_algebra/matrix_multiplication.ipynb) and, for the experiment,
#   [training in minibatches](../regression/minibatch_training.ipynb).
# - **You build** the multi-head layer, first as a formula of two lines, then as a module equal to `nn.MultiheadAttention`.
# - **Runs in** 15 seconds. Tensors are float32, in the last part float64.

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
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.colors import ListedColormap, to_rgba
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from nbutils.cases import counts, integers, matrices, on, seeds, square_matrices, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.data import digits
from nbutils.figures import GREY, label_lines, panels, show_image
from nbutils.training import fit

plt.style.use('nbutils.book')
torch.set_printoptions(precision=2, sci_mode=False)
torch.set_num_threads(1)  # the matrices are small: a second thread would mostly wait

# %% [markdown]
# ## Multi-head attention: several places at once
#
# We build on [attention](scaled_dot_product_attention.ipynb): each query receives a mean of the values, in which a value
# weighs more if its key fits the query better.

# %%
def attend(Q, K, V, keep=None):
    """Means of the rows of V, and their weights; keep: True where to look."""
    S = Q @ K.mT / Q.shape[-1] ** 0.5              # (..., n, m) scores
    if keep is not None:
        S = S.masked_fill(~keep, -torch.inf)
    A = S.softmax(-1)                              # (..., n, m) weights
    return A @ V, A

# %% [markdown]
# Our sentence has three tokens, each a row of four numbers. The first two numbers name a person: $(3, 1)$ is Anna and $(1, 2)$
# is Ben. The third number is 1 for a verb. The fourth is the place: −1 before the verb and 1 after it.

# %%
def sentence(first, second):
    return torch.tensor([[*first, 0, -1], [0, 0, 1, 0], [*second, 0, 1.0]])
anna, ben = (3, 1), (1, 2)
who, verb, place = torch.eye(4).split([2, 1, 1], 1)   # (4, 2), (4, 1), (4, 1)

# %% [markdown]
# We begin with one attention. Its values are the first two numbers of each token. The query of *saw* is 10, and the key of
# *saw* is −1. All other queries and keys are 0. So *saw* scores −10 for itself and 0 for each person:

# %%
for X in sentence(anna, ben), sentence(ben, anna):
    z, A = attend(10 * X @ verb, -X @ verb, X @ who)   # (3, 2), (3, 3)
    print('saw: weights', A[1], ' receives', z[1])

# %% [markdown]
# Both sentences give *saw* the same mean, so nobody can tell who saw whom. Unequal weights would tell these two sentences
# apart, but *saw* would still receive a mixture of two persons. So we take two attentions. The first looks at what stands
# before the verb, and the second looks at what stands after it:

# %%
W_Q = torch.stack([10 * verb, 10 * verb])    # (2, 4, 1)
W_K = torch.stack([-place, place])           # (2, 4, 1)
W_V = torch.stack([who, who])                # (2, 4, 2)
for X in sentence(anna, ben), sentence(ben, anna):
    heads, A = attend(X @ W_Q, X @ W_K, X @ W_V)   # (2, 3, 2), (2, 3, 3)
    print('saw: weights', *A[:, 1])
    print('     receives', torch.cat([*heads], -1)[1])

# %% [markdown]
# Now *saw* receives four numbers: first who saw, then who was seen. Each attention is a **head**.

# %% mystnb={"image": {"alt": "Grids of cells from left to right: X with 3 rows and 4 columns; two branches, head 1 above and head 2 below, each a 3 by 3 map of weights times a 3 by 2 grid of values, giving a 3 by 2 grid; both joined to a 3 by 4 grid, times a 4 by 4 identity, giving the 3 by 4 result. In the row of saw, head 1 has its whole weight on the first token and head 2 on the last."}} tags=["hide-input"]
def draw_grid(ax, left, middle, numbers, name, shape):
    rows, columns = numbers.shape
    top = middle + rows / 2
    for i, j in product(range(rows), range(columns)):
        strength = 0.06 + 0.74 * abs(numbers[i, j]) / abs(numbers).max()
        colour = to_rgba('C0' if numbers[i, j] >= 0 else 'C1', float(strength))
        ax.add_patch(plt.Rectangle((left + j, top - i - 1), 1, 1, fc=colour, ec=GREY, lw=0.5))
    ax.text(left + columns / 2, top + 0.25, name, ha='center', va='bottom', fontsize=10)
    ax.text(left + columns / 2, top - rows - 0.3, shape, ha='center', va='top', fontsize=8.5)

fig, ax = plt.subplots(figsize=(6, 2.35))
X = sentence(anna, ben)
heads, A = attend(X @ W_Q, X @ W_K, X @ W_V)
joined = torch.cat([*heads], -1)
draw_grid(ax, 0, 0, X, r'$\mathbf{X}$', '$T\\times d_k$')
for row, word in enumerate(['Anna', 'saw', 'Ben']):
    ax.text(-0.3, 1 - row, word, ha='right', va='center', fontsize=8.5)
arrow = {'arrowstyle': '->', 'color': GREY}
for i, middle in enumerate((3.4, -3.4)):
    n = i + 1
    ax.annotate('', (8, middle), (4.3, middle / 4), arrowprops=arrow)
    weights = rf'$\mathbf{{W}}_{n}^Q,\ \mathbf{{W}}_{n}^K,\ \mathbf{{W}}_{n}^V$'
    ax.text(2.6, middle * 1.15, weights, ha='center', va='center', fontsize=8.5)
    draw_grid(ax, 8.3, middle, A[i], rf'$\mathbf{{A}}_{n}$', '$T\\times T$')
    ax.text(12, middle, '·', ha='center', va='center', fontsize=13)
    draw_grid(ax, 12.7, middle, X @ W_V[i], rf'$\mathbf{{X}}\mathbf{{W}}_{n}^V$', r'$T\times\tilde{d}_v$')
    ax.text(15.6, middle, '=', ha='center', va='center', fontsize=13)
    draw_grid(ax, 16.5, middle, heads[i], rf'$\mathrm{{head}}_{n}$', r'$T\times\tilde{d}_v$')
    ax.annotate('', (21.2, middle / 4), (18.9, middle), arrowprops=arrow)
for left, numbers, name, shape in [(21.6, joined, 'Concat', r'$T\times h\tilde{d}_v$'),
                                   (27.2, torch.eye(4), r'$\mathbf{W}^O$', r'$h\tilde{d}_v\times d_o$'),
                                   (32.8, joined, 'MultiHead', '$T\\times d_o$')]:
    draw_grid(ax, left, 0, numbers, name, shape)
ax.text(26.4, 0, '·', ha='center', va='center', fontsize=13)
ax.text(32, 0, '=', ha='center', va='center', fontsize=13)
ax.set(xlim=(-2.6, 37.2), ylim=(-6.6, 7), aspect='equal')
ax.axis('off');

# %% [markdown] tags=["caption"]
# From left to right: the $T = 3$ tokens of $d_k = 4$ numbers, the weights of each head times its values of $\tilde d_v = 2$
# numbers, both results side by side, and one more matrix. Blue is positive, orange negative.

# %% [markdown]
# ### The formula and its code
#
# In general there are $h$ heads. A query or key has length $d_k$, and a value has length $d_v$. Each head has three learned
# matrices. They shorten queries and keys to $\tilde d_k$ numbers, and values to $\tilde d_v$ numbers. Then attention runs:
#
# ```{math}
# :label: la.mha.head
# \mathrm{head}_i = \mathrm{Attention}(\mathbf{Q}\mathbf{W}_i^Q,\ \mathbf{K}\mathbf{W}_i^K,\ \mathbf{V}\mathbf{W}_i^V), \qquad i = 1, \dots, h.
# ```
#
# **Multi-head attention** sets the results of the heads side by side, which is called Concat, and multiplies them by one more
# learned matrix:
#
# ```{math}
# :label: la.mha.multihead
# \mathrm{MultiHead}(\mathbf{Q}, \mathbf{K}, \mathbf{V}) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, \mathbf{W}^O.
# ```

# %%
def multi_head(Q, K, V, W_Q, W_K, W_V, W_O):
    """All heads of one sequence: Q, K, V are matrices without a batch axis."""
    heads, _ = attend(Q @ W_Q, K @ W_K, V @ W_V)   # (h, n, d_v with a tilde)
    return torch.cat([*heads], -1) @ W_O           # (n, d_o)

X = sentence(anna, ben)
print(multi_head(X, X, X, W_Q, W_K, W_V, W_O=torch.eye(4)))

# %% [markdown]
# (ml.tf.multihead.parallel)=
# The second row of the output belongs to *saw*. There is no loop over the heads. For $n$ queries, `Q` has shape $(n, d_k)$ and
# `W_Q` has shape $(h, d_k, \tilde d_k)$. So `Q @ W_Q` makes the queries of all heads at once, and `attend` runs the heads in
# parallel.
#
# The learned matrices have these shapes, where $d_o$ is the length of a result:
#
# ```{math}
# :label: la.mha.weight-shapes
# \mathbf{W}_i^Q, \mathbf{W}_i^K \in \mathbb{R}^{d_k \times \tilde d_k}, \qquad
# \mathbf{W}_i^V \in \mathbb{R}^{d_v \times \tilde d_v}, \qquad
# \mathbf{W}^O \in \mathbb{R}^{h \tilde d_v \times d_o}.
# ```
#
# (la.mha.quote-output-dims)=
# Each head yields rows of length $\tilde d_v$, the concatenation has rows of length $h\tilde d_v$, and the result has rows
# of length $d_o$. In the original paper {cite}`vaswani2017attention`, $d_k$ and $d_v$ are the sizes that have a tilde here.
#
# (la.mha.subspaces)=
# So the layer attends to several places at once. Each head chooses by its own $\mathbf{W}_i^V$ what it takes from a token.
# The heads keep apart what they find, and $\mathbf{W}^O$ decides how it is combined.
#
# ### Self-attention, and what a head is
#
# (la.mha.self)=
# In **self-attention** queries, keys and values come from the same tokens $\mathbf{X} \in \mathbb{R}^{T \times D}$. The layer
# is then $\mathrm{MultiHead}(\mathbf{X}, \mathbf{X}, \mathbf{X})$, so $d_k = d_v = D$. Usually $\tilde d_k = \tilde d_v$,
# and $h\tilde d_v$ is called the **embedding dimension**. Written out, one head is
#
# ```{math}
# :label: ml.tf.multihead.head
# \mathrm{head}_i = \operatorname{softmax}\Big( \frac{\mathbf{X}\mathbf{W}_i^Q (\mathbf{W}_i^K)^\top \mathbf{X}^\top}{\sqrt{\tilde d_k}} \Big)\, \mathbf{X}\mathbf{W}_i^V .
# ```
#
# We cut $\mathbf{W}^O$ into $h$ blocks $\mathbf{W}_1^O, \dots, \mathbf{W}_h^O$ of $\tilde d_v$ consecutive rows each. A
# product of matrices in blocks is a sum, so
#
# ```{math}
# :label: ml.tf.multihead.concat
# \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, \mathbf{W}^O = \sum_{i=1}^{h} \mathrm{head}_i\, \mathbf{W}_i^O .
# ```
#
# So each head adds its own contribution to the result. The four matrices of a head occur here in two products. The product
# $\mathbf{W}_i^Q(\mathbf{W}_i^K)^\top$ decides where the head looks, and the product $\mathbf{W}_i^V\mathbf{W}_i^O$ decides
# what it brings {cite}`elhage2021mathematical`. In our example $\mathbf{W}^O$ is the identity, and its blocks have two rows:

# %%
blocks = torch.eye(4).split(2)                     # two blocks (2, 4) of W_O
for head, block in zip(attend(X @ W_Q, X @ W_K, X @ W_V)[0], blocks):
    print('a head adds to saw', (head @ block)[1])

# %% [markdown]
# ### The order of the tokens
#
# Why did each token carry its place? Because the layer itself does not know the order of the tokens. If all tokens change
# places, their results move with them. If only keys and values change places, nothing changes:
#
# ```{prf:theorem} Permutation equivariance
# :label: thm-mha-equivariance
#
# Without a mask, for every permutation matrix $\mathbf{P}$, $\mathrm{MultiHead}(\mathbf{PX}, \mathbf{PX}, \mathbf{PX}) = \mathbf{P}\,
# \mathrm{MultiHead}(\mathbf{X}, \mathbf{X}, \mathbf{X})$, and $\mathrm{MultiHead}(\mathbf{Q}, \mathbf{PK}, \mathbf{PV}) =
# \mathrm{MultiHead}(\mathbf{Q}, \mathbf{K}, \mathbf{V})$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Let $\mathbf{S}$ be the scores of one head, $\mathbf{A}$ their softmax and $\mathbf{V}$ its projected values.
# Shuffling all tokens permutes the rows and the columns of the scores alike, to $\mathbf{PSP}^\top$. The
# softmax works on each row by itself, and permuting the entries of a row permutes its softmax, so $\mathbf{A}$
# becomes $\mathbf{PAP}^\top$. The values become $\mathbf{PV}$, and
# $\mathbf{PAP}^\top\mathbf{PV} = \mathbf{PAV}$ since $\mathbf{P}^\top\mathbf{P} = \mathbf{I}$.
# Concatenation and $\mathbf{W}^O$ act on each row alone and leave $\mathbf{P}$ in front. If only keys and values are
# shuffled, $\mathbf{A}$ becomes $\mathbf{AP}^\top$, and $\mathbf{AP}^\top\mathbf{PV} = \mathbf{AV}$.
#
# A mask is a table of pairs, like the scores. If the tokens `X` become `X[p]`, the mask `keep` has to become `keep[p][:, p]`. A
# causal mask that stays in place when the tokens move breaks the symmetry.
# ```
#
# If we set the places to zero, all keys are zero, and each head gives each token the weight ⅓. For *saw* the two sentences
# become the same:

# %%
for X in sentence(anna, ben), sentence(ben, anna):
    X[:, 3] = 0
    print('saw receives', multi_head(X, X, X, W_Q, W_K, W_V, torch.eye(4))[1])

# %% [markdown]
# ```{exercise} ★ Pencil: other parameters, same layer
# :label: mha-gauge
#
# Let $\mathbf{G}$ be an invertible $\tilde d_k \times \tilde d_k$ matrix. Somebody replaces $\mathbf{W}_i^K$ by
# $\mathbf{W}_i^K\mathbf{G}$. By what must $\mathbf{W}_i^Q$ be replaced so that all scores stay what they were? Write
# `new_queries(W, G)`.
# ```

# %%
def new_queries(W, G):
    """What replaces the matrix W (D, k) of the queries: a tensor (D, k).

    G (k, k) is the invertible matrix that the keys are multiplied by. All
    are float64. For W = torch.tensor([[6.0]]) and G = torch.tensor([[2.0]])
    it is [[3.0]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def scores_with_new_keys(answer):  # the scores of unit vectors, for unit matrices of old keys
    return lambda W, G: answer(W, G) @ G.T

def scores_with_old_keys(W, G):
    return W

gauges = dict(
    W=lambda G: matrices((1, 4), len(G)).map(torch.tensor),
    G=square_matrices((1, 3), -3, 3, edges=True).map(lambda G: torch.tensor(G + 10 * np.eye(len(G)))),
)
grade(scores_with_new_keys(new_queries), scores_with_old_keys, **gauges)

# %% [markdown]
# ```{solution-start} mha-gauge
# :class: dropdown
# ```
# The scores contain these parameters only as the product $\mathbf{W}_i^Q(\mathbf{W}_i^K)^\top$. If $\mathbf{W}$ is the new
# matrix of the queries, this product becomes $\mathbf{W}(\mathbf{W}_i^K\mathbf{G})^\top =
# \mathbf{W}\mathbf{G}^\top(\mathbf{W}_i^K)^\top$. So $\mathbf{W} = \mathbf{W}_i^Q\mathbf{G}^{-\top}$ will do. A tempting
# mistake is to forget the transpose; others forget the inverse, or treat queries and keys alike. There is the same freedom
# between $\mathbf{W}_i^V$ and $\mathbf{W}_i^O$. A single entry of one of these
# matrices therefore means nothing by itself; only the two products do.

# %% jupyter={"source_hidden": true}
def new_queries_solution(W, G):
    return torch.linalg.solve(G, W.T).T

def without_transpose(W, G):
    return W @ torch.linalg.inv(G)

def without_inverse(W, G):
    return W @ G.T

def as_for_the_keys(W, G):
    return W @ G

assert grade(scores_with_new_keys(new_queries_solution), scores_with_old_keys, **gauges)
assert not grade(scores_with_new_keys(without_transpose), scores_with_old_keys, **gauges)
assert not grade(scores_with_new_keys(without_inverse), scores_with_old_keys, **gauges)
assert not grade(scores_with_new_keys(as_for_the_keys), scores_with_old_keys, **gauges)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def draw(seed, h=2, d_k=8, d_v=10, dt_k=4, dt_v=4, d_o=8, n=5, m=7):
    """Q, K, V, W_Q, W_K, W_V, W_O in float64; dt is d with a tilde."""
    g = torch.Generator().manual_seed(seed)
    inputs = (n, d_k), (m, d_k), (m, d_v)
    weights = (h, d_k, dt_k), (h, d_k, dt_k), (h, d_v, dt_v), (h * dt_v, d_o)
    return [torch.randn(size, generator=g, dtype=torch.float64) for size in inputs + weights]

def torch_layer(W_Q, W_K, W_V, W_O):
    h, d, d_v = len(W_Q), W_Q.shape[1], W_V.shape[1]
    layer = nn.MultiheadAttention(d, h, bias=False, vdim=d_v, batch_first=True, dtype=W_O.dtype)
    parts = [W.mT.flatten(0, 1) for W in (W_Q, W_K, W_V)]  # (h dt, d)
    state = dict(zip(['q_proj_weight', 'k_proj_weight', 'v_proj_weight'], parts))
    if d == d_v:
        state = {'in_proj_weight': torch.cat(parts)}
    layer.load_state_dict(state | {'out_proj.weight': W_O.T})
    return layer

def head_agrees(seed, size):  # size: what stands under the root
    Q, K, V, W_Q, W_K, W_V, _ = draw(seed)
    want = F.scaled_dot_product_attention(Q @ W_Q, K @ W_K, V @ W_V, scale=size**-0.5)
    joined = multi_head(Q, K, V, W_Q, W_K, W_V, torch.eye(8, dtype=Q.dtype))
    return close(torch.stack(joined.chunk(2, -1)), want)

holds(
    'la.mha.head',
    lambda seed: head_agrees(seed, size=4),
    slip=('divides by the root of the length before the projection', lambda seed: head_agrees(seed, size=8)),
    seed=seeds(), tries=25,
)

def interleaved(Q, K, V, W_Q, W_K, W_V, W_O):
    return torch.stack([*attend(Q @ W_Q, K @ W_K, V @ W_V)[0]], -1).flatten(-2) @ W_O

def layer_agrees(seed, form):
    Q, K, V, *W = draw(seed)
    return close(form(Q, K, V, *W), torch_layer(*W)(Q, K, V)[0])

holds(
    'la.mha.multihead',
    lambda seed: layer_agrees(seed, multi_head),
    slip=('interleaves the heads number by number', lambda seed: layer_agrees(seed, interleaved)),
    seed=seeds(), tries=25,
)

def one_by_one(Q, K, V, W_Q, W_K, W_V, W_O):
    pieces = [F.scaled_dot_product_attention(Q @ A, K @ B, V @ C) for A, B, C in zip(W_Q, W_K, W_V)]
    return torch.cat(pieces, -1) @ W_O

def axes_not_swapped(Q, K, V, *W):  # heads by a reshape alone
    q, k, v = ((X @ M.transpose(0, 1).flatten(1)).reshape(len(M), len(X), -1) for X, M in zip((Q, K, V), W))
    return torch.cat([*attend(q, k, v)[0]], -1) @ W[3]

# %% tags=["checks"]
holds(
    'ml.tf.multihead.parallel',
    lambda seed, h: close(multi_head(*draw(seed, h)), one_by_one(*draw(seed, h))),
    slip=('makes the heads by a reshape alone',
          lambda seed, h: close(axes_not_swapped(*draw(seed, h)), one_by_one(*draw(seed, h)))),
    seed=seeds(), h=[1, 2, 3, 4], tries=25,
)

def fits(*drawn):
    try:
        out = multi_head(*drawn)
    except RuntimeError:
        return False
    return out.shape == (len(drawn[0]), drawn[-1].shape[1])

def one_more(drawn, which, axis):  # a weight gets one more row or column
    wider = torch.cat([drawn[which], drawn[which].narrow(axis, 0, 1)], axis)
    return [*drawn[:which], wider, *drawn[which + 1:]]

def only_these_fit(**sizes):
    drawn = draw(0, **sizes)
    others = [fits(*one_more(drawn, which, axis)) for which in (3, 4, 5, 6) for axis in (-2, -1)]
    return fits(*drawn) and others == 7 * [False] + [True]  # d_o alone is free

def h_forgotten(dt_v, d_o, **sizes):
    *inputs, _ = draw(0, dt_v=dt_v, d_o=d_o, **sizes)
    return fits(*inputs, torch.ones(dt_v, d_o, dtype=torch.float64))

sizes = dict.fromkeys(['d_k', 'd_v', 'dt_k', 'dt_v', 'd_o'], integers(1, 6)) | {'h': integers(1, 4)}
holds(
    'la.mha.weight-shapes', only_these_fit,
    slip=('gives the last matrix the rows of one head', h_forgotten), **sizes, tries=30,
)

def widths(**sizes):  # of a head, of all side by side, of the result
    Q, K, V, W_Q, W_K, W_V, W_O = draw(0, **sizes)
    heads = attend(Q @ W_Q, K @ W_K, V @ W_V)[0]
    return heads.shape[-1], torch.cat([*heads], -1).shape[1], multi_head(Q, K, V, W_Q, W_K, W_V, W_O).shape[1]

holds(
    'la.mha.quote-output-dims',
    lambda **s: widths(**s) == (s['dt_v'], s['h'] * s['dt_v'], s['d_o']),
    slip=('takes the length before the projection for that of a head',
          lambda **s: widths(**s) == (s['d_v'], s['h'] * s['d_v'], s['d_o'])),
    **sizes, tries=30,
)

# %% tags=["checks"]
def fetches(seed, where):  # each head brings another number, from another place
    X = torch.randn(3, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    X[:, 2:] = sentence(anna, ben)[:, 2:]
    bring = torch.eye(4, dtype=X.dtype)[:2, :, None]
    asks, keys = 50 * W_Q.to(X), torch.stack([place if after else -place for after in where]).to(X)
    got = multi_head(X, X, X, asks, keys, bring, torch.eye(2, dtype=X.dtype))[1]
    return close(got, [X[0, 0], X[2, 1]])

holds(
    'la.mha.subspaces',
    lambda seed: fetches(seed, (False, True)),
    slip=('lets both heads look at the same position', lambda seed: fetches(seed, (True, True))),
    seed=seeds(), tries=25,
)

def draw_self(seed, h=3, dt=4):
    X, _, _, *W = draw(seed, h=h, d_k=h * dt, d_v=h * dt, dt_k=dt, dt_v=dt, d_o=h * dt)
    return X, *W

def self_agrees(seed, h, dt, form):
    X, *W = draw_self(seed, h, dt)
    layer = torch_layer(*W)
    return close(form(X, X, X, *W), layer(X, X, X)[0]) and layer.embed_dim == h * dt

holds(
    'la.mha.self',
    lambda **case: self_agrees(form=multi_head, **case),
    slip=('interleaves the heads number by number', lambda **case: self_agrees(form=interleaved, **case)),
    seed=seeds(), h=integers(1, 4), dt=integers(1, 4), tries=25,
)

def head_formula_agrees(seed, keys):  # keys: which of the three weights makes them
    X, *W = draw_self(seed)
    S = X @ W[0] @ W[keys].mT @ X.T / W[1].shape[-1] ** 0.5
    found = S.softmax(-1) @ X @ W[2]
    layer = torch_layer(*W[:3], torch.eye(12, dtype=X.dtype))  # shows the heads
    return close(torch.cat([*found], -1), layer(X, X, X)[0])

holds(
    'ml.tf.multihead.head',
    lambda seed: head_formula_agrees(seed, keys=1),
    slip=('makes the keys with the matrix of the values', lambda seed: head_formula_agrees(seed, keys=2)),
    seed=seeds(), tries=25,
)

def adds_up(seed, blocks):
    X, W_Q, W_K, W_V, W_O = draw_self(seed)
    terms = attend(X @ W_Q, X @ W_K, X @ W_V)[0] @ blocks(W_O)
    return close(terms.sum(0), torch_layer(W_Q, W_K, W_V, W_O)(X, X, X)[0])

holds(
    'ml.tf.multihead.concat',
    lambda seed: adds_up(seed, lambda W: W.unflatten(0, (3, 4))),
    slip=('takes every third row for a block',
          lambda seed: adds_up(seed, lambda W: W.unflatten(0, (4, 3)).transpose(0, 1))),
    seed=seeds(), tries=25,
)

# %% tags=["checks"]
def shuffles(seed, order_of):
    X, *W = draw_self(seed)
    p = torch.randperm(len(X), generator=torch.Generator().manual_seed(seed))
    Y = X[p]
    return (close(multi_head(Y, Y, Y, *W), multi_head(X, X, X, *W)[order_of(p)])
            and close(multi_head(X, Y, Y, *W), multi_head(X, X, X, *W)))

verify(
    'shuffled tokens give the shuffled results',
    lambda seed: shuffles(seed, lambda p: p),
    slip=('unshuffles in place of shuffling', lambda seed: shuffles(seed, torch.argsort)),
    seed=seeds(), tries=25,
)

# %% [markdown]
# ## The layer in PyTorch: reshape, permute and nn.MultiheadAttention
#
# In practice one linear layer makes the queries, keys and values of all heads at once. Then the axes of its result are moved,
# so that one batched product serves all heads. Let there be $B$ sequences of $T$ tokens of $D$ numbers. Let $E$ be the
# embedding dimension, and $d = E/h$ the width of one of the $h$ heads.

# %%
class MultiHead(nn.Module):
    """Self-attention with h heads: (B, T, D) -> (B, T, E), and the weights."""
    def __init__(self, D, E, h):
        super().__init__()
        self.h, self.d = h, E // h
        self.qkv_proj = nn.Linear(D, 3 * E)
        self.o_proj = nn.Linear(E, E)

    def split(self, x):                                   # (B, T, D)
        B, T, _ = x.shape
        flat = self.qkv_proj(x)                           # (B, T, 3E)
        cut = flat.reshape(B, T, self.h, 3 * self.d)      # (B, T, h, 3d)
        return cut.permute(0, 2, 1, 3).chunk(3, dim=-1)   # (B, h, T, d) each

    def merge(self, z):                                   # (B, h, T, d)
        return z.permute(0, 2, 1, 3).flatten(2)           # (B, T, E)

    def forward(self, x, keep=None):
        z, weights = attend(*self.split(x), keep)
        return self.o_proj(self.merge(z)), weights

# %%
torch.manual_seed(0)
layer = MultiHead(D=7, E=24, h=4)
x = torch.randn(2, 5, 7)                                  # B = 2, T = 5
q, k, v = layer.split(x)
z, weights = attend(q, k, v)
steps = {'x': x, 'qkv_proj(x)': layer.qkv_proj(x), 'q, k, v': q,
         'weights': weights, 'z': z, 'merge(z)': layer.merge(z),
         'layer(x)': layer(x)[0]}
for name, tensor in steps.items():
    print(f'{name:12}', tuple(tensor.shape))

# %% [markdown]
# A wrong step may give the right shape and wrong numbers, without an error. So we follow the numbers.
#
# (la.mha.pseudocode.qkv-shape)=
# **Project.** The linear layer treats each token alone. It makes $3E$ numbers from the $D$ numbers of a token.
#
# (la.mha.pseudocode.reshape)=
# **Cut.** `reshape` keeps the order of the numbers in memory. Counted from zero, head $i$ gets the numbers from
# $3d\,i$ to $3d\,(i + 1) - 1$ of `flat`. This works only if $h$ divides $E$:
#
# ```{math}
# :label: la.mha.pseudocode.head-dim
# 3E = h \cdot 3d, \qquad d = \lfloor E / h \rfloor .
# ```
#
# (la.mha.pseudocode.permute)=
# **Permute.** `permute` moves the axis of the heads before the axis of the tokens. A batched product uses the last two
# axes as matrices, and these are now tokens and numbers.
#
# (la.mha.pseudocode.chunk)=
# **Chunk.** `chunk` splits the last axis *inside each head*: the first $d$ numbers are the query, then come the key and the
# value.
#
# (la.mha.pseudocode.permute-back)=
# **And back.** After the attention, `permute` puts the axes of heads and tokens back into their old order.
#
# (la.mha.pseudocode.reshape-back)=
# Then the last two axes are merged, as in Concat.
#
# (la.mha.pseudocode.out)=
# Last comes `o_proj`. Its matrix is the transpose of $\mathbf{W}^O$.
#
# ```{admonition} A tempting mistake
# :class: tip
# Why not reshape straight to $(B, h, T, 3d)$? The shape is right. But the numbers are dealt out in the order in which they
# lie in memory. So the first head receives *all* numbers of the first tokens. It should receive *its* numbers of all tokens.
# ```

# %% mystnb={"image": {"alt": "Two grids of 6 tokens by 18 numbers coloured by head, three heads. With reshape and permute each head owns a block of six columns. With one reshape each head owns two whole rows."}} tags=["hide-input"]
owner = torch.arange(3).repeat_interleave(36)  # as it lies in memory
wrong = owner.reshape(6, 18)
right = owner.reshape(3, 6, 6).permute(1, 0, 2).reshape(6, 18)
fig, axes = panels(2, height=2.2)
axes[0].set(title='reshape, then permute', ylabel='token')
axes[1].set(title='one reshape')
for ax, grid in zip(axes, (right, wrong)):
    ax.pcolormesh(grid, cmap=ListedColormap(['C0', 'C1', 'C2']), edgecolor=GREY, lw=0.5, alpha=0.2)
    for head in range(3):
        rows, columns = np.nonzero(grid.numpy() == head)
        middle = columns.mean() + 0.5, rows.mean() + 0.5
        ax.text(*middle, f'head {head + 1}', color=f'C{head}', fontsize=11, ha='center', va='center')
    ax.set(xticks=[0, 6, 12, 18], yticks=[0, 2, 4, 6], ylim=(6, 0), xlabel='number')

# %% [markdown] tags=["caption"]
# Which head owns which number, for six tokens and $d = 2$? Left: cut and permuted, each head owns $3d = 6$ numbers of every
# token. Right: one reshape has the same shape, but gives each head all numbers of two tokens.

# %% [markdown]
# ### The same numbers as nn.MultiheadAttention
#
# PyTorch has this layer, but the rows of its weight matrix stand in another order. Our rows stand head by head. PyTorch's rows
# are first those of all queries, then of all keys, then of all values.

# %% mystnb={"image": {"alt": "Two strips of nine blocks. Ours: q1 k1 v1 q2 k2 v2 q3 k3 v3. PyTorch: q1 q2 q3 k1 k2 k3 v1 v2 v3."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 1.3))
orders = [(role, i) for i in (1, 2, 3) for role in 'qkv'], [(role, i) for role in 'qkv' for i in (1, 2, 3)]
for y, order in enumerate(orders):
    for position, (role, i) in enumerate(order):
        colour = f'C{"qkv".index(role)}'
        ax.barh(y, 0.95, left=position + 0.025, height=0.7, color=colour, alpha=0.2)
        ax.text(position + 0.5, y, f'${role}_{i}$', color=colour, fontsize=11, ha='center', va='center')
ax.set(yticks=[0, 1], yticklabels=['ours', 'PyTorch'], ylim=(1.5, -0.5), xticks=[], xlim=(0, 9))
ax.spines[:].set_visible(False);

# %% [markdown] tags=["caption"]
# The rows of the weight matrix in the two orders, for three heads. For example, $q_1$ are the rows that make the queries of
# head 1. If they are copied without reordering, the layer computes something else, without an error message.

# %%
def from_torch(rows, h):  # (3E, ...) in PyTorch's order -> in ours
    return rows.unflatten(0, (3, h, -1)).transpose(0, 1).flatten(0, 2)

theirs = nn.MultiheadAttention(24, 4, batch_first=True)   # E, h
ours = MultiHead(24, 24, 4)
with torch.no_grad():
    ours.qkv_proj.weight.copy_(from_torch(theirs.in_proj_weight, 4))
    ours.qkv_proj.bias.copy_(from_torch(theirs.in_proj_bias, 4))
ours.o_proj.load_state_dict(theirs.out_proj.state_dict());

# %%
x = torch.randn(2, 5, 24)
got, weights = ours(x)
want, their_weights = theirs(x, x, x, average_attn_weights=False)
print('results equal:', torch.allclose(got, want, atol=1e-6))
print('weights equal:', torch.allclose(weights, their_weights, atol=1e-6))

# %% [markdown]
# PyTorch's layer takes queries, keys and values as three arguments, because in **cross-attention** the keys and values come
# from another sequence. With `kdim` and `vdim` they may have other lengths than the queries. By default the layer also returns
# the weights, as a mean over the heads. `need_weights=False` saves their memory.
#
# ### Masks: True means hidden or visible
#
# (la.mha.pseudocode.sdp)=
# In `attend`, as in `F.scaled_dot_product_attention`, `True` means *may be looked at*. In `nn.MultiheadAttention`, `True`
# means *hidden*. So a mask for one has to be inverted for the other:

# %%
past = torch.ones(5, 5, dtype=bool).tril()                # (T, T) causal
real = torch.arange(5) < torch.tensor([[5], [3]])         # (B, T) no padding
got, _ = ours(x, past & real[:, None, None])              # (B, 1, T, T)
want, _ = theirs(x, x, x, attn_mask=~past, key_padding_mask=~real)
print('equal:', torch.allclose(got, want, atol=1e-6))

# %% [markdown]
# ```{admonition} Shapes of masks
# :class: dropdown
# A mask of shape $(T, T)$ serves all sequences and heads. A mask that differs from sequence to sequence needs an axis of length
# one for the heads, as in $(B, 1, T, T)$, or in $(B, 1, 1, T)$ if all queries share it. Without this axis, PyTorch takes the
# first axis of $(B, T, T)$ for the heads. Usually PyTorch then raises an error. But if $B = h$, the shapes fit, and the mask is wrong without an error message.
# `nn.MultiheadAttention` takes the padding mask as an argument of its own, of shape $(B, T)$.
# ```
#
# If *all* tokens of a sequence are hidden, the softmax divides zero by zero:

# %%
empty = torch.tensor([[False] * 5, [True] * 5])           # the second sequence

def entry(**options):  # the first number of the empty sequence
    out, _ = theirs(x, x, x, key_padding_mask=empty, **options)
    return out[1, 0, 0].item()

print('training, with weights:           ', entry())
print('training, without weights:        ', entry(need_weights=False))
theirs.eval()
with torch.no_grad():
    print('eval and no_grad, without weights:', entry(need_weights=False))

# %% [markdown]
# A layer that trained without trouble can return `nan` when it is used. So decide yourself what an empty sequence gets.
#
# ```{exercise} ★★ Program: weights for PyTorch
# :label: mha-convert
#
# Write `to_torch(rows, h)`, the opposite of `from_torch`.
# ```

# %%
def to_torch(rows, h):
    """The rows in PyTorch's order: a tensor of the shape of rows.

    rows (3 E, D) or (3 E,) is a tensor in our order; h divides E.
    For h = 2 the rows q1 k1 v1 q2 k2 v2 become q1 q2 k1 k2 v1 v2.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_numbers(rows, h):  # each row is put where it came from
    there = torch.empty_like(rows)
    there[from_torch(torch.arange(len(rows)), h)] = rows
    return there

def some_rows(number):
    return (vectors(number) | matrices(number, (1, 3))).map(torch.tensor)

conversions = dict(rows=lambda h: integers(1, 3).flatmap(lambda width: some_rows(3 * h * width)), h=integers(1, 5))
grade(to_torch, by_numbers, **conversions)

# %% [markdown]
# ```{solution-start} mha-convert
# :class: dropdown
# ```
# Name the axes as they are in our order, head before role, swap the two and flatten. A tempting mistake is to use
# `from_torch` once more. With one head or with three it gives the right order, because then swapping twice changes nothing:
# so test such code with two or four heads. Other wrong answers return the rows as they are, flatten the weights of a row, or
# sort the rows, which is right for rows that are numbered.

# %% jupyter={"source_hidden": true}
def to_torch_solution(rows, h):
    return rows.unflatten(0, (h, 3, -1)).transpose(0, 1).flatten(0, 2)

def unchanged(rows, h):
    return rows

def without_the_rest(rows, h):
    return rows.reshape(h, 3, -1).transpose(0, 1).flatten()

def sorted_rows(rows, h):
    return rows.sort(0).values

assert grade(to_torch_solution, by_numbers, **conversions)
assert not grade(from_torch, by_numbers, **conversions)
assert not grade(unchanged, by_numbers, **conversions)
assert not grade(without_the_rest, by_numbers, **conversions)
assert not grade(sorted_rows, by_numbers, **conversions)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Program: a mask for padding on the left
# :label: mha-mask
#
# When text is generated in batches, sequences are padded on the *left*, so that they all end at the same position. Write
# `keep_mask(lengths, T)`. It is `True` where query $i$ of sequence $b$ may look at key $j$: where $j \le i$ and $j$ is among the
# last `lengths[b]` positions.
# ```

# %%
def keep_mask(lengths, T):
    """A Boolean tensor (B, 1, T, T), True where a query may look at a key.

    lengths (B,) is a tensor of ints from 0 to T; T is an int, at least 1.
    keep_mask(torch.tensor([1]), 2) is [[[[False, False], [False, True]]]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_triangles(lengths, T):  # a triangle for the real tokens, with empty columns before it
    ones = torch.ones(T, T)
    return torch.stack([F.pad(ones[:, :n].tril(n - T), (T - n, 0))[None] for n in lengths.tolist()]) == 1

batches = dict(lengths=lambda T: counts((1, 3), 0, T).map(torch.tensor), T=integers(1, 6))
grade(keep_mask, by_triangles, **batches)

# %% [markdown]
# ```{solution-start} mha-mask
# :class: dropdown
# ```
# The empty tokens come first, so the real keys are those with $j \ge T - \mathtt{length}$. The rows of the empty tokens
# themselves see no key at all, so in generation rows without a visible key are common. Wrong answers pad on the right,
# let a token see later ones, or return numbers, with which `attend` cannot mask.

# %% jupyter={"source_hidden": true}
def keep_mask_solution(lengths, T):
    i, j = torch.arange(T)[:, None], torch.arange(T)
    return (j <= i) & (j >= T - lengths[:, None, None, None])

def padded_on_the_right(lengths, T):
    i, j = torch.arange(T)[:, None], torch.arange(T)
    return (j <= i) & (j < lengths[:, None, None, None])

def not_causal(lengths, T):
    real = torch.arange(T) >= T - lengths[:, None, None, None]
    return real.expand(-1, 1, T, T)

def not_boolean(lengths, T):
    return keep_mask_solution(lengths, T).float()

assert grade(keep_mask_solution, by_triangles, **batches)
assert not grade(padded_on_the_right, by_triangles, **batches)
assert not grade(not_causal, by_triangles, **batches)
assert not grade(not_boolean, by_triangles, **batches)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
@torch.no_grad()
def layer_of(seed, D=7, E=24, h=4):
    g = torch.Generator().manual_seed(seed)
    made = MultiHead(D, E, h).double().requires_grad_(False)
    for p in made.parameters():
        nn.init.normal_(p, std=0.5, generator=g)
    return made, torch.randn(2, 5, D, generator=g, dtype=torch.float64)

layer, x = layer_of(0)
W, b, flat = layer.qkv_proj.weight, layer.qkv_proj.bias, layer.qkv_proj(x)
qkv = torch.cat(layer.split(x), -1)                      # (B, h, T, 3d)
holds(
    'la.mha.pseudocode.qkv-shape',
    lambda t: flat.shape[-1] == 3 * 24 and close(flat[:, t], x[:, t] @ W.T + b),
    slip=('reshapes the weight in place of transposing it', lambda t: close(flat[:, t], x[:, t] @ W.reshape(7, 72) + b)),
    t=integers(0, 4),
)
holds(
    'la.mha.pseudocode.reshape',
    lambda i, c: close(qkv[:, i, :, c], flat[..., 18 * i + c]),
    slip=('interleaves the heads number by number', lambda i, c: close(qkv[:, i, :, c], flat[..., 4 * c + i])),
    i=integers(0, 3), c=integers(0, 17),
)

def reshapes(E, h):
    try:
        return MultiHead(2, E, h).split(torch.zeros(2, 3, 2))[0].shape == (2, h, 3, E // h)
    except RuntimeError:
        return False

holds(
    'la.mha.pseudocode.head-dim',
    lambda E, h: reshapes(E, h) == (3 * E == h * 3 * (E // h)) == (E % h == 0),
    slip=('says so for every width', lambda E, h: 3 * E == h * 3 * (E // h)),
    E=integers(1, 30), h=integers(1, 8), tries=60,
)
cut, dealt = flat.unflatten(-1, (4, 18)), flat.reshape(2, 4, 5, 18)
holds(
    'la.mha.pseudocode.permute',
    lambda i, t: close(qkv[:, i, t], cut[:, t, i]),
    slip=('reshapes straight to the shape with the heads first', lambda i, t: close(dealt[:, i, t], cut[:, t, i])),
    i=integers(0, 3), t=integers(0, 4),
)

def part_agrees(role, i, block):  # block: which block of 6 rows it is
    rows = slice(6 * block, 6 * block + 6)
    return close(layer.split(x)[role][:, i], x @ W[rows].T + b[rows])

holds(
    'la.mha.pseudocode.chunk',
    lambda role, i: part_agrees(role, i, 3 * i + role),
    slip=('takes the rows role by role', lambda role, i: part_agrees(role, i, 4 * role + i)),
    role=[0, 1, 2], i=[0, 1, 2, 3],
)

# %% tags=["checks"]
z = torch.randn(2, 4, 5, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
merged = layer.merge(z)
holds(
    'la.mha.pseudocode.permute-back',
    lambda t, i: close(merged[:, t].unflatten(-1, (4, 6))[:, i], z[:, i, t]),
    slip=('reshapes without permuting', lambda t, i: close(z.reshape(2, 5, 4, 6)[:, t, i], z[:, i, t])),
    t=integers(0, 4), i=integers(0, 3),
)
holds(
    'la.mha.pseudocode.reshape-back',
    lambda t: close(merged[:, t], torch.cat([*z[:, :, t].unbind(1)], -1)),
    slip=('sets the numbers of the heads alternately',
          lambda t: close(z[:, :, t].mT.flatten(1), torch.cat([*z[:, :, t].unbind(1)], -1))),
    t=integers(0, 4),
)

@torch.no_grad()
def same(seed, order, keep=None, hidden=None):
    """Whether our layer and torch's agree in results, weights and gradients, with rows of weights taken in an order."""
    ours, x = layer_of(seed, 12, 12, 4)
    theirs = nn.MultiheadAttention(12, 4, batch_first=True, dtype=x.dtype)
    state = {f'in_proj_{name}': p[order] for name, p in ours.qkv_proj.named_parameters()}
    theirs.load_state_dict(state | ours.o_proj.state_dict(prefix='out_proj.'))
    results = []
    for run in (lambda y: ours(y, keep), lambda y: theirs(y, y, y, attn_mask=hidden, average_attn_weights=False)):
        y = x.clone().requires_grad_()
        with torch.enable_grad():
            out, weights = run(y)
            out.square().sum().backward()
        results.append((out, weights, y.grad))
    return all(close(a, b) for a, b in zip(*results))

plain = torch.arange(36)
by_roles = plain.reshape(4, 3, 3).transpose(0, 1).flatten()
holds(
    'la.mha.pseudocode.out',
    lambda seed: same(seed, by_roles),
    slip=('copies the rows without reordering them', lambda seed: same(seed, plain)),
    seed=seeds(), tries=20,
)
holds(
    'la.mha.pseudocode.sdp',
    lambda seed: same(seed, by_roles, past, ~past),
    slip=('gives the mask of one to the other', lambda seed: same(seed, by_roles, past, past)),
    seed=seeds(), tries=20,
)

# %% tags=["checks"]
def moves(seed, T, mask_of):
    X, *W = draw_self(seed)
    X, g = X[:T], torch.Generator().manual_seed(seed)
    p = torch.randperm(T, generator=g)
    keep = (torch.rand(T, T, generator=g) < 0.5) | torch.eye(T, dtype=bool)
    def masked(X, keep):
        return torch.cat([*attend(X @ W[0], X @ W[1], X @ W[2], keep)[0]], -1) @ W[3]
    return close(masked(X[p], mask_of(keep, p)), masked(X, keep)[p])

verify(
    'the mask of shuffled tokens is shuffled in rows and columns',
    lambda seed, T: moves(seed, T, lambda keep, p: keep[p][:, p]),
    slip=('shuffles the queries alone', lambda seed, T: moves(seed, T, lambda keep, p: keep[p])),
    seed=seeds(), T=integers(1, 5), tries=25,
)

# %% [markdown]
# ## How many heads? Cost, width and a lower bound
#
# ### More heads cost no parameters, but they get narrow
#
# Let queries, keys, values and results have the length $E$, and let each head have the width $E/h$. Then the number of
# parameters does not depend on $h$: there are $4E^2$ entries of matrices and $4E$ biases. Neither does the number of
# multiplications: $4TE^2$ for the four projections and $2T^2E$ for the scores and the means.

# %%
E, T = 64, 128
x = torch.randn(1, T, E)
print('heads  parameters  multiplications  weights  rank of the scores')
for h in (1, 4, 16, 64):
    layer = MultiHead(E, E, h)
    with FlopCounterMode(display=False) as counter:
        A = layer(x)[1]                                   # (1, h, T, T)
    q, k, _ = layer.split(x)
    rank = torch.linalg.matrix_rank((q @ k.mT)[0, 0])     # of the first head
    parameters = sum(p.numel() for p in layer.parameters())
    multiplications = counter.get_total_flops() // 2      # it counts + and ×
    print(f'{h:5} {parameters:11} {multiplications:16} {A.numel():8} {rank:6}')

# %% [markdown]
# Two things do change with $h$. First, there are $hT^2$ attention weights, which cost time and memory.
#
# (la.mha.quote-projected-dims)=
# Second, each head gets narrower. The scores of a head multiply $\tilde d_k$ columns by $\tilde d_k$ rows, so their rank is at
# most $\tilde d_k$, however large $d_k$ is. This is the **low-rank bottleneck** {cite}`bhojanapalli2020lowrank`.
#
# ```{exercise} ★★ Pencil: the favourites of a head of width one
# :label: mha-favourites
#
# A head of width one has the scores $s_{ij} = f_i g_j$ with numbers $f_i$ and $g_j$. Call key $j$ a favourite if it has the
# largest score for at least one query. How many favourites can there be, if all $g_j$ are different and no $f_i$ is zero?
# Write `width_two(n)`: $n$ queries and $n$ keys, each a favourite.
# ```

# %%
def width_two(n):
    """Queries and keys of a head of width two: two tensors (n, 2) in a tuple.

    Each key has the largest score alone, by at least 1e-6, for some query.
    n is an int from 1 to 20. width_two(1) is, for example,
    (torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0]])).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def what_is_found(answer):  # the shapes, and the number of favourites
    def count(n):
        queries, keys = answer(n)
        S = queries @ keys.T
        best = S.argmax(1)
        second = S.scatter(1, best[:, None], -torch.inf).amax(1)
        return list(queries.shape), list(keys.shape), len(set(best[S.amax(1) >= second + 1e-6].tolist()))
    return count

def every_key(n):
    return [n, 2], [n, 2], n

numbers_of_keys = dict(n=integers(1, 20))
grade(what_is_found(width_two), every_key, **numbers_of_keys)

# %% [markdown]
# ```{solution-start} mha-favourites
# :class: dropdown
# ```
# A query with $f_i > 0$ prefers the largest $g_j$, and one with $f_i < 0$ the smallest. So there are at most two favourites.
# With width two the score is $\mathbf{f}_i^\top\mathbf{g}_j$, and the winner is the key that lies farthest in the direction of
# $\mathbf{f}_i$. Put the keys on a circle and let query $i$ be key $i$: each key lies farthest in its own direction.
# On a line only the two ends are favourites, on a spiral the keys near the centre are none, and a single query repeated has
# one favourite.

# %% jupyter={"source_hidden": true}
def width_two_solution(n):
    angles = torch.arange(n) * 2 * torch.pi / n
    circle = torch.stack([angles.cos(), angles.sin()], 1)
    return circle, circle

def along_a_line(n):
    keys = torch.stack([torch.arange(n) - n / 2, torch.ones(n)], 1)
    return keys, keys

def on_a_spiral(n):
    keys = width_two_solution(n)[1] * torch.arange(1, n + 1)[:, None]
    return keys, keys

def one_query_repeated(n):
    keys = width_two_solution(n)[1]
    return keys[:1].repeat(n, 1), keys

assert grade(what_is_found(width_two_solution), every_key, **numbers_of_keys)
assert not grade(what_is_found(along_a_line), every_key, **numbers_of_keys)
assert not grade(what_is_found(on_a_spiral), every_key, **numbers_of_keys)
assert not grade(what_is_found(one_query_repeated), every_key, **numbers_of_keys)

# %% [markdown]
# ```{solution-end}
# ```
#
# ### How many heads does a task need?
#
# A head that is to serve two needs has to divide its weight between two places.
#
# Take $n = 4$ tokens of $D = 3$ random numbers and $r = 3$ needs: the first number of the first token, the second
# number of the second token and the third number of the third token. We draw random weights for $h$ heads. From what the heads
# return, least squares estimates the three numbers. We print the sum of the three mean squared errors, and a bound:

# %%
g = torch.Generator().manual_seed(2)
tokens = torch.randn(20000, 4, 3, generator=g)                # N, n, r
wanted = tokens[:, range(3), range(3)]                        # (N, 3)
rows = {}
for h in (1, 2, 3):
    alpha = (4 * torch.randn(h, 4, generator=g)).softmax(-1)  # (h, 4)
    means = (alpha @ tokens).flatten(1)                       # (N, 3h)
    best = means @ torch.linalg.lstsq(means, wanted).solution
    error = (best - wanted).square().mean(0).sum()
    rows[h] = alpha
    print(f'heads: {h}, error {error:.2f}, at least {3 - h}')

# %% [markdown]
# With $h$ heads an error of at least $3 - h$ is left. The theorem says so in general. In the example, $j_t = t$.
#
# ````{prf:theorem} At most as many needs as heads
# :label: thm-mha-needs
#
# Let $\mathbf{x}_1, \dots, \mathbf{x}_n \in \mathbb{R}^D$ be random tokens, all of whose $nD$ entries are
# uncorrelated with mean zero and variance one. Need $t$ is entry $t$ of token $j_t$, for $t = 1, \dots, r$ with $r \le D$
# and distinct places $j_1, \dots, j_r$. Each of $h$ heads gives a mean
# $\mathbf{z}^{(s)} = \sum_j \alpha^{(s)}_j \mathbf{x}_j$ of the tokens, with fixed weights, for $s = 1, \dots, h$. If
# the needs are estimated by linear functions of $\mathbf{z}^{(1)}, \dots, \mathbf{z}^{(h)}$, with or without a constant, then the $r$ expected squared errors
# add up to at least $r - h$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# A linear estimate of need $t$ has the form $\sum_u \sum_j \beta_{u,j}\, x_{j,u}$, where each vector
# $\boldsymbol\beta_u \in \mathbb{R}^n$ is a combination of the weight rows
# $\boldsymbol\alpha^{(1)}, \dots, \boldsymbol\alpha^{(h)}$, so lies in their span $S$. As the entries are uncorrelated with
# variance one, its expected squared error is the sum of squares
# $\|\boldsymbol\beta_t - \mathbf{e}_{j_t}\|^2 + \sum_{u \ne t} \|\boldsymbol\beta_u\|^2$, and a constant would only
# add its own square. The second part is best zero. The first is smallest when
# $\boldsymbol\beta_t = \mathbf{P}\mathbf{e}_{j_t}$, with $\mathbf{P}$ the orthogonal projection onto $S$, and then,
# by Pythagoras, equals
# $1 - \|\mathbf{P}\mathbf{e}_{j_t}\|^2 = 1 - \mathbf{e}_{j_t}^\top\mathbf{P}\mathbf{e}_{j_t} = 1 - P_{j_t j_t}$,
# since $\mathbf{P}^\top = \mathbf{P} = \mathbf{P}^2$. The places are distinct, and no diagonal entry
# $P_{jj} = \|\mathbf{P}\mathbf{e}_j\|^2$ is negative, so
# $\sum_t P_{j_t j_t} \le \operatorname{tr} \mathbf{P} = \dim S \le h$. The errors add up to
# $r - \sum_t P_{j_t j_t} \ge r - h$.
# ````
#
# The proof shows more: the smallest error of the need at place $j$ is $1 - P_{jj}$, where $\mathbf{P}$ projects orthogonally
# onto the span of the rows of weights. For the weights above, these errors add up to

# %%
def missed(alpha):  # (h, n) rows of weights -> (n,) smallest errors
    return 1 - (torch.linalg.pinv(alpha) @ alpha).diagonal()

for h, alpha in rows.items():
    print(f'heads: {h}, formula {missed(alpha)[:3].sum():.2f}')
print('weights of the three heads at the third place:', alpha[:, 2])

# %% [markdown]
# With three heads the bound is 0, but the error is 1, because none of the three looks at the third place.

# %% mystnb={"image": {"alt": "The error of the first need falls from one to zero as its share of the weight grows, that of the second rises from zero to one, and their sum is a flat line at one."}} tags=["hide-input"]
share = torch.linspace(0, 1, 101)
errors = torch.stack([missed(torch.stack([p, 1 - p])[None]) for p in share])  # (101, 2)
fig, ax = plt.subplots(figsize=(5, 2.4))
ax.plot(share, errors[:, 0], label='first need')
ax.plot(share, errors[:, 1], label='second need')
ax.plot(share, errors.sum(1), label='both together')
ax.set(xlabel='share of the weight at the first place', xlim=(0, 1), ylabel='expected squared error', ylim=(-0.03, 1.1))
label_lines(ax);

# %% [markdown] tags=["caption"]
# One row of weights cannot serve two needs. What the first need gains the second loses, and their errors add up to one,
# however the weight is divided.

# %% [markdown]
# ### Heads that share their keys and values
#
# When a text is generated token by token, the keys and values of all earlier tokens are kept, in the **KV cache**. For each
# token these are $2hd$ numbers, where $d$ is the width of a head. In **grouped-query attention**
# {cite}`ainslie2023gqa` several heads therefore share one key and one value. `F.scaled_dot_product_attention` does this with
# `enable_gqa=True`.
#
# ```{exercise} ★★ Program: grouped-query attention
# :label: mha-grouped
#
# There are $h$ heads of queries, but only $g$ heads of keys and values, and $g$ divides $h$. The first $h/g$ heads of
# queries use the first keys and values, the next $h/g$ the second, and so on. Write `grouped(q, k, v)`.
# ```

# %%
def grouped(q, k, v):
    """The results (B, h, T, d) of h heads of queries: a tensor.

    q is (B, h, T, d), k and v are (B, g, T, d), and g divides h.
    F.scaled_dot_product_attention is not allowed.
    For h = 4, g = 2: q[:, :2] uses k[:, 0], and q[:, 2:] uses k[:, 1].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_torch(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

def tensors(*shape):
    return vectors(math.prod(shape), -3, 3).map(lambda entries: torch.tensor(entries).reshape(shape))

def shared(q):  # by 1, 2, ... heads of queries
    B, h, T, d = q.shape
    return on(*(g for g in range(1, h + 1) if h % g == 0)).flatmap(lambda g: tensors(B, g, T, d))

groups = dict(
    q=on((1, 4, 2, 1), (2, 6, 2, 3), (1, 6, 1, 4), (2, 1, 3, 2), (1, 4, 3, 9)).flatmap(lambda shape: tensors(*shape)),
    k=shared, v=lambda k: tensors(*k.shape), without=['torch.nn.functional.scaled_dot_product_attention'],
)
grade(grouped, by_torch, **groups)

# %% [markdown]
# ```{solution-start} mha-grouped
# :class: dropdown
# ```
# Give the heads of queries one more axis, the groups, and let the keys and values be broadcast over the heads of a group:
# nothing is copied. A tempting mistake is to repeat the keys as a whole, which assigns them in turn. With one group, or with
# as many groups as heads, this is the same, so test with other numbers. Other wrong answers use the first keys for all, give
# each head keys of its own, or divide the scores by a fixed 2, which is right for width 4 alone.

# %% jupyter={"source_hidden": true}
def grouped_solution(q, k, v):
    q = q.unflatten(1, (k.shape[1], -1))                  # (B, g, h/g, T, d)
    return attend(q, k[:, :, None], v[:, :, None])[0].flatten(1, 2)

def in_turn(q, k, v):
    times = q.shape[1] // k.shape[1]
    return attend(q, k.repeat(1, times, 1, 1), v.repeat(1, times, 1, 1))[0]

def one_for_all(q, k, v):
    return attend(q, k[:, :1], v[:, :1])[0]

def plain_attention(q, k, v):
    return attend(q, k, v)[0]

def divided_by_two(q, k, v):
    return grouped_solution(q * q.shape[-1] ** 0.5 / 2, k, v)

def by_the_library(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

assert grade(grouped_solution, by_torch, **groups)
assert not grade(in_turn, by_torch, **groups)
assert not grade(one_for_all, by_torch, **groups)
assert not grade(plain_attention, by_torch, **groups)
assert not grade(divided_by_two, by_torch, **groups)
assert not grade(by_the_library, by_torch, **groups)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def scores_have_rank(rank, d_k, dt_k):  # 5 queries, 7 keys
    Q, K, _, W_Q, W_K, *_ = draw(0, d_k=d_k, dt_k=dt_k)
    return bool(torch.linalg.matrix_rank(Q @ W_Q[0] @ (K @ W_K[0]).T) == rank)

holds(
    'la.mha.quote-projected-dims',
    lambda d_k, dt_k: scores_have_rank(min(5, d_k, dt_k), d_k, dt_k),
    slip=('forgets the length inside the head', lambda d_k, dt_k: scores_have_rank(min(5, d_k), d_k, dt_k)),
    d_k=integers(1, 6), dt_k=integers(1, 6), tries=36,
)

def costs(h, weights, map_size):
    with FlopCounterMode(display=False) as counter:
        layer = MultiHead(64, 64, h)
        maps = layer(torch.zeros(1, 32, 64))[1]
    return (sum(p.numel() for p in layer.parameters()) == weights
            and counter.get_total_flops() == 2 * (4 * 32 * 64**2 + 2 * 32**2 * 64) and maps.numel() == map_size)

verify(
    'parameters and multiplications do not depend on the number of heads',
    lambda h: costs(h, 4 * 64**2 + 4 * 64, h * 32**2),
    slip=('lets each head have the whole width', lambda h: costs(h, h * 4 * 64**2 + 4 * 64, h * 32**2)),
    h=[1, 2, 4, 8, 16, 64],
)

def least_error(seed, n, h, place, formula):  # all tokens of signs, equally likely
    alpha = torch.randn(h, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).softmax(-1)
    signs = torch.tensor([*product([-1.0, 1.0], repeat=n)], dtype=torch.float64)
    means = signs @ alpha.T
    best = means @ torch.linalg.lstsq(means, signs[:, place], driver='gelsd').solution
    return close((best - signs[:, place]).square().mean(), formula(alpha)[place])

verify(
    'the smallest error of a need is 1 - P_jj',
    lambda **case: least_error(formula=missed, **case),
    slip=('takes one minus a weight for the error',
          lambda **case: least_error(formula=lambda alpha: 1 - alpha[0], **case)),
    seed=seeds(), n=integers(2, 5), h=integers(1, 2), place=[0, 1], tries=25,
)

def favourites(seed, width, most):
    f, g = torch.randn(2, 40, width, generator=torch.Generator().manual_seed(seed))
    return len((f @ g.T).argmax(1).unique()) <= most

verify(
    'a head of width one has at most two favourites',
    lambda seed: favourites(seed, 1, 2),
    slip=('says so for width two', lambda seed: favourites(seed, 2, 2)),
    seed=seeds(), tries=25,
)

# %% [markdown]
# ## Where it matters: two questions about a digit
#
# One image of a handwritten digit is the query. Ten other images, one of each digit, are the keys. Each of the ten holds a card
# with four random numbers, which is its value. The task is to return the first two numbers on the card of the *same* digit and
# the last two numbers on the card of the *next* digit, where 0 follows 9.

# %%
torch.set_default_dtype(torch.float64)
x, y, _ = digits()
by_digit = np.stack([x[y == digit][:170] for digit in range(10)])
by_digit = torch.tensor(by_digit)                        # (10, 170, 64)
train, test = by_digit.split([120, 50], 1)
centre = train.mean((0, 1))
spread = (train - centre).std()
train, test = (train - centre) / spread, (test - centre) / spread

# %%
def rounds(images, B, g):
    """B rounds of the game: query, ten keys, ten cards, what is wanted."""
    asked = torch.randint(10, (B,), generator=g)
    pick = torch.randint(images.shape[1], (B, 11), generator=g)
    query = images[asked, pick[:, 10]][:, None]               # (B, 1, 64)
    keys = images[torch.arange(10), pick[:, :10]]             # (B, 10, 64)
    cards = torch.randn(B, 10, 4, generator=g)
    row = torch.arange(B)
    same, following = cards[row, asked], cards[row, (asked + 1) % 10]
    wanted = torch.cat([same[:, :2], following[:, 2:]], 1)
    return query, keys, cards, wanted[:, None]                # last: (B, 1, 4)

# %% [markdown]
# To save time, three networks are trained together, so each matrix has one more axis $s$. In `einsum`, $b$ counts the rounds,
# $h$ the heads and $n$ the tokens.

# %%
class Reader(nn.Module):
    """Three layers side by side; width: of all heads together."""
    def __init__(self, heads, width=32):
        super().__init__()
        d = width // heads
        self.W_Q = nn.Parameter(torch.randn(3, heads, 64, d) / 64**0.5)
        self.W_K = nn.Parameter(torch.randn(3, heads, 64, d) / 64**0.5)
        self.W_V = nn.Parameter(torch.randn(3, heads, 4, d) / 4**0.5)
        self.W_O = nn.Parameter(torch.randn(3, heads, d, 4) / width**0.5)

    def read(self, *inputs):                              # (3, B, n, D) each
        q, k, v = (torch.einsum('sbnD,shDd->sbhnd', x, W) for x, W
                   in zip(inputs, (self.W_Q, self.W_K, self.W_V)))
        z, A = attend(q, k, v)
        return torch.einsum('sbhnd,shdo->sbno', z, self.W_O), A

    def forward(self, *inputs):
        return self.read(*inputs)[0]                      # (3, B, 1, 4)

# %% [markdown]
# How good can one head be? Its weights depend on the images alone, so for fixed images {prf:ref}`thm-mha-needs` applies. The
# first and the third wanted number are $r = 2$ needs, so their errors add up to at least 1. The same is true of the second
# and the fourth, so the mean error is at least $\frac12$. For comparison, a model that returns zero has the error 1. A head
# with ten equal weights has $P_{jj} = \frac1{10}$ and the error 0.9.

# %%
def thrice(images, B, g):  # B rounds for each of the three networks
    return [part.unflatten(0, (3, B)) for part in rounds(images, 3 * B, g)]

def trained(heads, width=32, lr=1e-2, steps=100):
    torch.manual_seed(0)
    model = Reader(heads, width)
    g = torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters(), lr, fused=True)
    batches = (thrice(train, 96, g) for _ in range(steps))
    fit(model, F.mse_loss, optimizer, batches)
    return model

@torch.no_grad()
def test_errors(model):  # of the same digit, of the next
    *inputs, wanted = thrice(test, 1000, torch.Generator().manual_seed(99))
    squares = (model(*inputs) - wanted).square()          # (3, 1000, 1, 4)
    return squares.unflatten(-1, (2, 2)).mean((1, 2, 4))  # (3, 2)

# %%
models, errors = {}, {}
for h in (1, 2, 4, 8, 16, 32):
    models[h] = trained(h)
    errors[h] = test_errors(models[h])                    # (3, 2)
    low, high = errors[h].mean(1).aminmax()
    print(f'heads: {h:2}, width {32 // h:2}, error {low:.2f} to {high:.2f}')

# %% mystnb={"image": {"alt": "Test error against the number of heads from 1 to 32, on a logarithmic axis; three dots for each, close together. The error falls steeply from one head to two, is about the same for four, and then rises again, for 32 heads above that of one. Dashed lines mark equal weights at 0.9 and the bound for one head at 0.5."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.4, 2.9))
for height, name in (0.9, 'equal weights'), (0.5, 'bound for one head'):
    ax.axhline(height, color=GREY, lw=1, ls='--')
    ax.text(3.5, height + 0.015, name, ha='center', color=GREY)
for h, three in errors.items():
    ax.plot(3 * [h], three.mean(1), 'o', color='C0', alpha=0.7)
ax.plot(list(errors), [three.mean() for three in errors.values()], color='C0', lw=1)
ax.set(xscale='log', xticks=list(errors), xticklabels=list(errors), ylim=(0, 1), xlim=(0.9, 36))
ax.set(xlabel='number of heads, of width 32 together', ylabel='mean squared error')
ax.minorticks_off();

# %% [markdown] tags=["caption"]
# Three random starts for each number of heads. One head stays above its bound. Two
# or four heads are best, and with more the error grows.

# %% [markdown]
# What does the single head do?

# %%
for h in (1, 2):
    print(f'heads: {h}')
    for same, following in errors[h]:
        print(f'   same digit {same:.2f}   next digit {following:.2f}')

# %% [markdown]
# It answers one of the two questions. For the other it is about as bad as returning zero. Two heads answer both.

# %% mystnb={"image": {"alt": "Four ten by ten maps of weights, query digit against key digit. The only head: a bright diagonal. One of 32 heads: a dark blur without a diagonal. Two heads: one with a bright diagonal, one with a bright diagonal shifted by one digit."}} tags=["hide-input"]
@torch.no_grad()
def maps(model):  # (heads, 10, 10): mean weights, for each digit that asks
    queries, keys = test.transpose(0, 1).expand(3, -1, -1, -1).chunk(2, 1)
    return model.read(queries, keys, torch.zeros(3, 25, 10, 4))[1][0].mean(0)

shown = {'the only head': maps(models[1])[0]}
shown['one of 32 heads'] = maps(models[32])[0]
shown['two heads: head 1'], shown['two heads: head 2'] = maps(models[2])

fig, axes = panels(2, 2, height=2.5)
for ax, (title, weights) in zip(axes.flat, shown.items(), strict=True):
    picture = show_image(ax, weights, cmap='viridis', vmin=0, vmax=1)
    ax.set(xticks=range(10), yticks=range(10), xlabel='key', ylabel='query')
    ax.set_title(title)
fig.colorbar(picture, ax=axes, shrink=0.5, label='mean weight', ticks=[0, 0.5, 1]);

# %% [markdown] tags=["caption"]
# Mean weights over test images. Top: the only head has chosen one question, and a head of width one
# spreads its weight over all keys. Bottom: two heads share the two questions.

# %% [markdown]
# With 16 heads or more the error is larger again. Is the reason their number or their small width? We train 16 heads again, but
# each with width 8 in place of 2.

# %%
wide = test_errors(trained(16, 128)).mean(1)              # (3,)
print(f'16 heads of width 8: error {wide.min():.2f} to {wide.max():.2f}')

# %% [markdown]
# Now 16 heads are as good as four of the same width. So in 100 steps the small width did the harm, not the number. Do another
# rate or more steps help?

# %%
for lr, steps in (2e-2, 100), (1e-2, 200):
    low, high = test_errors(trained(16, 32, lr, steps)).mean(1).aminmax()
    print(f'lr {lr}, {steps} steps: error {low:.2f} to {high:.2f}')

# %% [markdown]
# The other rate does not help, but more steps do: narrow heads learn slowly.
# In trained translation models many heads can be removed at little loss {cite}`michel2019sixteen,voita2019analyzing`.
#
# ```{exercise} ★★ Experiment: two narrow heads
# :label: mha-narrow
#
# Is one wide head better than two narrow ones? First predict: sort the pairs (1, 32), (2, 16) and (32, 32) of a number of heads
# and their width together by the test error, smallest first. Then train with `trained(heads, width)`, look, and explain.
# ```

# %%
def predicted_order():
    """The pairs (1, 32), (2, 16) and (32, 32) in a list, least error first.

    [(1, 32), (2, 16), (32, 32)], for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
narrow = {(1, 32): errors[1].mean(), (2, 16): test_errors(trained(2, 16)).mean(), (32, 32): errors[32].mean()}

def is_measured(order):
    order = [tuple(pair) for pair in order]
    if sorted(order) != sorted(narrow):
        raise ValueError('name each of the three pairs once')
    if order != sorted(narrow, key=narrow.get):
        raise ValueError('another order is measured; train the layers and compare')
    return True

grade(lambda: is_measured(predicted_order()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} mha-narrow
# :class: dropdown
# ```
# Two heads of width 8 are best, although they have half as many parameters: there are two needs. One head of width 32
# can answer only one question, however wide it is. The 32 heads of width one are the worst: each of them has at most two
# favourites.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured([(2, 16), (1, 32), (32, 32)]), lambda: True, [()])
for wrong in ([(1, 32), (2, 16), (32, 32)], [(32, 32), (2, 16), (1, 32)], [(2, 16), (32, 32), (1, 32)],
              [(32, 32), (1, 32), (2, 16)], [(2, 16), (1, 32)], [2, 1, 32], '2', None):
    assert not grade(lambda: is_measured(wrong), lambda: True, [()])
for pair in sorted(narrow, key=narrow.get):
    print(f'heads: {pair[0]:2}, width together {pair[1]:2}, error {narrow[pair]:.2f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
bounds = {h: errors[h].mean(1) for h in errors}           # (3,) each

@torch.no_grad()
def same_layer(network, seed, h, divided):  # a reader and the function of the first part, which divides by the root of d
    torch.manual_seed(seed)
    model = Reader(h, 8)
    *inputs, _ = thrice(test, 2, torch.Generator().manual_seed(seed))
    W_Q, W_K, W_V, W_O = (W[network] for W in model.parameters())
    want = multi_head(*(x[network, 1] for x in inputs), W_Q * divided(8 // h), W_K, W_V, W_O.flatten(0, 1))
    return close(model(*inputs)[network, 1], want)

verify(
    'each of the three networks is a multi-head layer',
    lambda network, seed, h: same_layer(network, seed, h, lambda d: 1),
    slip=('divides by d', lambda network, seed, h: same_layer(network, seed, h, lambda d: d**-0.5)),
    network=[0, 1, 2], seed=seeds(), h=[1, 2, 4], tries=9,
)
verify(
    'after training, one head is above its bound of 1/2 and two or four heads are below, from every start',
    lambda seed, h: bool(bounds[1][seed] > 0.5 > bounds[h][seed]),
    slip=('says so for 32 narrow heads', lambda seed, h: bool(bounds[1][seed] > 0.5 > bounds[32][seed])),
    seed=[0, 1, 2], h=[2, 4],
)
verify(
    'a single head answers one question and is no better than zero at the other',
    lambda seed: bool(errors[1][seed].min() < 0.5 and errors[1][seed].max() > 0.95),
    slip=('says so for two heads', lambda seed: bool(errors[2][seed].min() < 0.5 and errors[2][seed].max() > 0.95)),
    seed=[0, 1, 2],
)
verify(
    'the width of the heads harms, and not their number',
    lambda a, b: bool(bounds[4][a] < bounds[16][b] - 0.05 and abs(wide[b] - bounds[4][a]) < 0.05),
    slip=('expects that wide heads are as bad as narrow ones', lambda a, b: bool(abs(wide[b] - bounds[16][a]) < 0.05)),
    a=[0, 1, 2], b=[0, 1, 2],
)

# %% [markdown]
# ## Summary
#
# One attention brings one weighted mean, so a token with two needs gets them mixed. Several heads look at several places
# at once. The layer moves axes, and a mistake there may go unnoticed, so compare it with `nn.MultiheadAttention` in results,
# weights and masks. More heads are narrower heads: two heads answer two questions, a single head has to choose,
# and narrow heads learn slowly.
#
# **Further reading.** {cite}`vaswani2017attention`, section 3.2.2, introduced the layer. {cite}`lippe2024uvadlc`, tutorial 6,
# builds a whole transformer from it, and {cite}`rush2018annotated` is the paper as a program, line by line.
