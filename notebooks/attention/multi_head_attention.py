# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Multi-head attention
#
# - **Question.** A token often needs two things from two places at once. Why can one attention not bring both, and what
#   does it take to bring $h$ of them?
# - **You need** matrix products and the softmax ([Cross-entropy](../classification/cross_entropy.ipynb)).
# - **You build** the multi-head layer in three ways, equal to `torch.nn.MultiheadAttention` in values, gradients and masks.
# - **Time** 10 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/heads/main.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %%
from dataclasses import dataclass
from timeit import repeat

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from matplotlib.colors import ListedColormap
from torch import nn

from nbutils.cases import integers, seeds
from nbutils.checks import close, grade, holds
from nbutils.figures import GREY, label_lines, panels, show_image

plt.style.use('nbutils.book')
torch.set_default_dtype(torch.float64)

# %% [markdown]
# *The cat that chased the mice sleeps.* To choose the ending of *sleeps* one has to look back to *cat*; to know that the
# clause is over, to *mice*. Two questions, two places, one moment.
#
# Attention answers one question. A token asks with a *query* $\mathbf{q}_i$, every token offers a *key* $\mathbf{k}_j$
# and a *value* $\mathbf{v}_j$, and what comes back is a mean of the values. The more the key agrees with the query, the
# more its value weighs:
#
# ```{math}
# :label: eq-mha-attend
# \mathbf{z}_i = \sum_{j=1}^{m} A_{ij}\, \mathbf{v}_j, \qquad
# A_{ij} = \frac{e^{s_{ij}}}{\sum_{l=1}^{m} e^{s_{il}}}, \qquad
# s_{ij} = \frac{\mathbf{q}_i^{\mathsf{T}} \mathbf{k}_j}{\sqrt{d}}.
# ```
#
# With the queries as rows of $\mathbf{Q}$, and keys and values likewise, this is
# $\mathrm{Attention}(\mathbf{Q}, \mathbf{K}, \mathbf{V}) = \mathrm{softmax}(\mathbf{Q}\mathbf{K}^{\mathsf{T}}/\sqrt{d})\,\mathbf{V}$,
# the softmax taken along each row. The root is there because $\mathbf{q}^{\mathsf{T}}\mathbf{k}$ is a sum of $d$ products:
# if they are uncorrelated with mean zero and variance one, the sum has standard deviation $\sqrt{d}$, and dividing by it keeps the
# softmax from starting out saturated.
#
# The function below is all that this section needs. It subtracts the largest score of each row, which cancels in the fraction,
# so that no exponential overflows. The largest is then $e^0 = 1$, hence every row sum is at least one, unless a mask
# has removed all keys. In that one case the clamp makes the weights $0/1$ instead of $0/0$: who may look nowhere fetches nothing.

# %%
def attend(q, k, v, keep=None):
    """Means of the rows of v, and the weights; keep is True where looking is allowed."""
    scores = q @ k.mT / q.shape[-1] ** 0.5  # (..., n, m)
    if keep is not None:
        scores = scores.masked_fill(~keep, -torch.inf)
    top = scores.amax(-1, keepdim=True).clamp(min=-1e300)
    e = torch.exp(scores - top.detach())
    weights = e / e.sum(-1, keepdim=True).clamp(min=1)
    return weights @ v, weights  # (..., n, d_v), (..., n, m)

# %% [markdown]
# ## Two needs, one mean
#
# Suppose that a token needs entry 1 of the token at place $j_1$ and entry 2 of the token at place $j_2$. One row of
# weights must serve both. Look only at $j_1$, and the second need gets nothing; look at both, and the two tokens arrive mixed.
# How bad is the best compromise? There is an exact answer, and for any number of needs.
#
# ````{prf:theorem} $h$ means serve at most $h$ needs
# :label: thm-mha-needs
#
# Let the tokens $\mathbf{x}_1, \dots, \mathbf{x}_n \in \mathbb{R}^r$ have uncorrelated entries with mean zero and variance
# one, and let $j_1, \dots, j_r$ be distinct places. Given are $h$ weighted means
# $\mathbf{z}^s = \sum_j \alpha^s_j \mathbf{x}_j$ whose weights do not depend on the entries. Then
# linear functions of $\mathbf{z}^1, \dots, \mathbf{z}^h$ that estimate $x_{j_1,1}, \dots, x_{j_r,r}$ have expected squared
# errors that add up to at least $r - h$.
# ````
#
# ````{prf:proof}
# Any linear estimate of need $t$ has the form $\sum_u \sum_j \beta_{u,j}\, x_{j,u}$, where each vector $\boldsymbol\beta_u$ is a
# combination of the weight rows, so lies in their span $S$. As the entries are uncorrelated with variance one, its expected
# squared error is a sum of squares of coefficients, $\|\boldsymbol\beta_t - \mathbf{e}_{j_t}\|^2 + \sum_{u \ne t} \|\boldsymbol\beta_u\|^2$. The second part is
# best zero. The first is smallest when $\boldsymbol\beta_t = \mathbf{P}\mathbf{e}_{j_t}$, with $\mathbf{P}$ the orthogonal
# projection onto $S$, and then, by Pythagoras, equals
# $1 - \|\mathbf{P}\mathbf{e}_{j_t}\|^2 = 1 - \mathbf{e}_{j_t}^{\mathsf{T}}\mathbf{P}\mathbf{e}_{j_t} = 1 - P_{j_t j_t}$, since $\mathbf{P}$ is
# symmetric with $\mathbf{P}^2 = \mathbf{P}$. The places are distinct and the diagonal of $\mathbf{P}$ is nowhere negative, so
# $\sum_t P_{j_t j_t} \le \operatorname{tr} \mathbf{P} = \dim S \le h$. The errors add up to $r - \sum_t P_{j_t j_t} \ge r - h$.
# ````
#
# If each need is a block of $c$ entries instead of one, both sides are multiplied by $c$: of what is wanted, at most the fraction $h/r$ can be explained.
# Nothing in the proof asks that the weights be positive or that they come from a softmax. To test it, take softmax rows at random, draw
# tokens, and let least squares find the best estimates:

# %%
g = torch.Generator().manual_seed(0)
places, r, n, N = torch.tensor([3, 5, 8]), 3, 12, 20000
for h in (1, 2):
    alpha = (3 * torch.randn(h, n, generator=g)).softmax(-1)  # (h, n)
    x = torch.randn(N, n, r, generator=g)
    means = torch.einsum('hj,Nju->Nhu', alpha, x).flatten(1)  # (N, h r)
    wanted = x[:, places, torch.arange(r)]  # (N, r)
    best = means @ torch.linalg.lstsq(means, wanted).solution
    found = (best - wanted).square().mean(0).sum()
    P = torch.linalg.pinv(alpha) @ alpha  # (n, n)
    formula = r - P[places, places].sum()
    assert abs(found - formula) < 0.1 and formula >= r - h
    print(f'{h} of {r}: error {found:.1f}, formula {formula:.1f}, bound {r - h}')

# %% [markdown]
# The band 0.1 is five standard errors: each of the three mean squares has a standard deviation of at most
# $\sqrt{2/20000} = 0.01$, which gives $5 \cdot \sqrt3 \cdot 0.01$. For two needs and one mean the proof gives more than a bound. Put a share $p$ of the
# weight on the first place and the rest on the second. With the best rescaling the errors are
# $1 - p^2/(p^2 + (1-p)^2)$ and $1 - (1-p)^2/(p^2 + (1-p)^2)$. They add up to one *whatever* $p$ is:

# %%
share = torch.linspace(0, 1, 101)
row = torch.stack([share, 1 - share])  # (2, 101)
missed = 1 - row**2 / (row**2).sum(0)  # error of each need
assert close(missed.sum(0), torch.ones(101))

# %% mystnb={"image": {"alt": "The error of the first need falls from one to zero as its share of the attention grows, that of the second rises from zero to one, and their sum stays flat at one"}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(4.8, 2.6))
for line, name in zip((*missed, missed.sum(0)), ('first need', 'second need', 'both together'), strict=True):
    ax.plot(share, line, label=name)
ax.set(xlabel='share of the attention on the first place', ylabel='expected squared error', xlim=(0, 1))
label_lines(ax);

# %% [markdown]
# Dividing one attention is a zero-sum game. The way out is as plain as the theorem: ask twice.
#
# ```{exercise} ★★ Two heads that look nearly alike
# :label: mha-noise
#
# Two weight rows span a plane however nearly parallel they are, so without noise they serve two needs. Now let each entry of each
# mean arrive with independent noise of standard deviation $s > 0$. Write `noisy_error(alpha, places, s)`, the least sum of expected squared errors, for `alpha` of shape
# $(h, n)$. Hint: for one need, minimize $\|\mathbf{A}^{\mathsf{T}}\mathbf{c} - \mathbf{e}\|^2 + s^2\|\mathbf{c}\|^2$ over $\mathbf{c} \in \mathbb{R}^h$.
# ```

# %%
def noisy_error(alpha, places, s):
    raise NotImplementedError('your turn')

# %%
def by_least_squares(alpha, places, s):
    h, n = alpha.shape
    system = torch.cat([alpha.T, s * torch.eye(h)])
    target = torch.cat([torch.eye(n), torch.zeros(h, n)])[:, places]
    fit = torch.linalg.lstsq(system, target).solution
    return (system @ fit - target).square().sum()

alike = torch.tensor([[0.6, 0.4, 0.0], [0.5, 0.5, 0.0]])
apart = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
cases = [(alpha, [0, 1], s) for alpha in (alike, apart) for s in (0.1, 0.5)]
grade(noisy_error, by_least_squares, cases)

# %% [markdown]
# ```{solution-start} mha-noise
# :class: dropdown
# ```
# Setting the gradient to zero gives $(\mathbf{A}\mathbf{A}^{\mathsf{T}} + s^2\mathbf{I})\,\mathbf{c} = \mathbf{A}\mathbf{e}$, and at
# this $\mathbf{c}$ the sum is $1 - \mathbf{e}^{\mathsf{T}}\mathbf{A}^{\mathsf{T}}(\mathbf{A}\mathbf{A}^{\mathsf{T}} + s^2\mathbf{I})^{-1}\mathbf{A}\mathbf{e}$. With the noise at 0.1 the heads that look
# apart lose almost nothing, the others a good part: to take nearly parallel means apart one subtracts them, and subtraction amplifies noise.

# %% jupyter={"source_hidden": true}
def noisy_error_solution(alpha, places, s):
    seen = alpha[:, places]  # (h, r)
    gram = alpha @ alpha.T + s**2 * torch.eye(len(alpha))
    return len(places) - (seen * torch.linalg.solve(gram, seen)).sum()

def variance_forgotten(alpha, places, s):
    return noisy_error_solution(alpha, places, s**0.5)

assert grade(noisy_error_solution, by_least_squares, cases)
assert not grade(variance_forgotten, by_least_squares, cases)
print(f'alike {noisy_error_solution(alike, [0, 1], 0.1):.2f}, apart {noisy_error_solution(apart, [0, 1], 0.1):.2f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Several heads
#
# A *head* is an attention with projections of its own. It first maps queries, keys and values by three learned matrices, so that it decides
# by itself what to ask, what to be found by, and what to bring. $h$ heads do this side by side, and one more matrix sums up.
#
# ````{prf:definition} Multi-head attention
# :label: def-mha
#
# For $\mathbf{Q} \in \mathbb{R}^{n \times d_k}$, $\mathbf{K} \in \mathbb{R}^{m \times d_k}$, $\mathbf{V} \in \mathbb{R}^{m \times d_v}$,
#
# ```{math}
# :label: la.mha.head
# \mathrm{head}_i = \mathrm{Attention}(\mathbf{Q}\mathbf{W}_i^Q,\ \mathbf{K}\mathbf{W}_i^K,\ \mathbf{V}\mathbf{W}_i^V), \qquad i = 1, \dots, h,
# ```
#
# ```{math}
# :label: la.mha.multihead
# \mathrm{MultiHead}(\mathbf{Q}, \mathbf{K}, \mathbf{V}) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, \mathbf{W}^O,
# ```
#
# where the heads are set side by side along the features, and
#
# ```{math}
# :label: la.mha.weight-shapes
# \mathbf{W}_i^Q, \mathbf{W}_i^K \in \mathbb{R}^{d_k \times \tilde d_k}, \qquad
# \mathbf{W}_i^V \in \mathbb{R}^{d_v \times \tilde d_v}, \qquad
# \mathbf{W}^O \in \mathbb{R}^{h \tilde d_v \times d_o}.
# ```
# ````

# %%
def heads(Q, K, V, W_Q, W_K, W_V):
    return [attend(Q @ A, K @ B, V @ C)[0] for A, B, C in zip(W_Q, W_K, W_V, strict=True)]

def multi_head(Q, K, V, W_Q, W_K, W_V, W_O):
    return torch.cat(heads(Q, K, V, W_Q, W_K, W_V), -1) @ W_O  # (n, d_o)

# %% [markdown]
# The check draws everything at random. `torch.nn.MultiheadAttention` is the oracle; it keeps the matrices of all heads in one, transposed, and
# always takes $\tilde d_k = \tilde d_v = d_k/h$ and $d_o = d_k$. Two careless variants are
# refused: the scores divided by the root of the *unprojected* size, and the heads interleaved feature by feature.

# %%
def draw(seed, h=2, d_k=8, d_v=10, dt_k=4, dt_v=4, d_o=8, n=5, m=7):
    """Q, K, V, W_Q, W_K, W_V, W_O; dt_k and dt_v are the sizes with a tilde."""
    g = torch.Generator().manual_seed(seed)
    shapes = (n, d_k), (m, d_k), (m, d_v), (h, d_k, dt_k), (h, d_k, dt_k), (h, d_v, dt_v), (h * dt_v, d_o)
    return [torch.randn(shape, generator=g) for shape in shapes]

def stacked(W):  # (h, d, dt) -> (h dt, d), as torch keeps it
    return W.mT.flatten(0, 1)

def torch_layer(W_Q, W_K, W_V, W_O):
    h, d, d_v = len(W_Q), W_Q.shape[1], W_V.shape[1]
    layer = nn.MultiheadAttention(d, h, bias=False, vdim=d_v, batch_first=True)
    parts = [stacked(W) for W in (W_Q, W_K, W_V)]
    names = [f'{x}_proj_weight' for x in 'qkv']
    state = {'in_proj_weight': torch.cat(parts)} if d == d_v else dict(zip(names, parts, strict=True))
    layer.load_state_dict(state | {'out_proj.weight': W_O.T})
    return layer

# %%
def head_agrees(seed, size):  # what stands under the root
    Q, K, V, *W, _ = draw(seed)
    want = [F.scaled_dot_product_attention(Q @ A, K @ B, V @ C, scale=size**-0.5) for A, B, C in zip(*W, strict=True)]
    return close(torch.stack(heads(Q, K, V, *W)), torch.stack(want))

holds('la.mha.head', lambda seed: head_agrees(seed, size=4), control=lambda seed: head_agrees(seed, size=8), seed=seeds())

def interleaved(Q, K, V, W_Q, W_K, W_V, W_O):
    return torch.stack(heads(Q, K, V, W_Q, W_K, W_V), -1).flatten(-2) @ W_O

def layer_agrees(seed, form):
    Q, K, V, *W = draw(seed)
    return close(form(Q, K, V, *W), torch_layer(*W)(Q, K, V)[0])

holds(
    'la.mha.multihead',
    lambda seed: layer_agrees(seed, multi_head), control=lambda seed: layer_agrees(seed, interleaved),
    seed=seeds(), tries=40,
)

# %% [markdown]
# The notes surround these formulas with two sentences of {cite}`vaswani2017attention`: the projections go "to $d_k$, $d_k$ and $d_v$ dimensions", and attention yields
# "$d_v$-dimensional output values". In that paper $d_k$ and $d_v$ are the *projected* sizes; in the notes these wear a tilde, so read
# $\tilde d_k$ and $\tilde d_v$. It is more than a letter: the scores of a head are a product
# of an $n \times \tilde d_k$ and a $\tilde d_k \times m$ matrix, so their rank is at most $\tilde d_k$, however large $d_k$ is. Keep this in mind:
# at the end of this section it decides an experiment.

# %% tags=["hide-input"]
def fits(Q, K, V, W_Q, W_K, W_V, W_O):
    try:
        return multi_head(Q, K, V, W_Q, W_K, W_V, W_O).shape == (len(Q), W_O.shape[1])
    except RuntimeError:
        return False

def off_by_one(drawn, which, axis):  # one weight gets one row or column more
    W = drawn[which]
    return [*drawn[:which], torch.cat([W, W.narrow(axis, 0, 1)], axis), *drawn[which + 1:]]

def only_these_fit(h, **sizes):
    drawn = draw(0, h=h, **sizes)
    others = [off_by_one(drawn, which, axis) for which in (3, 4, 5, 6) for axis in (-2, -1)]
    return fits(*drawn) and [fits(*other) for other in others] == 7 * [False] + [True]  # d_o alone is free

sizes = dict(d_k=integers(1, 6), d_v=integers(1, 6), dt_k=integers(1, 6), dt_v=integers(1, 6), d_o=integers(1, 6))
holds(
    'la.mha.weight-shapes',
    only_these_fit,
    control=lambda dt_v, **s: fits(*draw(0, dt_v=dt_v, **s)[:-1], torch.ones(dt_v, s['d_o'])),
    h=integers(1, 4), **sizes, tries=60,
)

# %% tags=["hide-input"]
def scores(Q, K, V, W_Q, W_K, W_V, W_O):
    return (Q @ W_Q[0]) @ (K @ W_K[0]).T

holds(  # 5 queries, 7 keys
    'la.mha.quote-projected-dims',
    lambda d_k, dt_k: torch.linalg.matrix_rank(scores(*draw(0, d_k=d_k, dt_k=dt_k))) == min(5, d_k, dt_k),
    control=lambda d_k, dt_k: torch.linalg.matrix_rank(scores(*draw(0, d_k=d_k, dt_k=dt_k))) == min(5, d_k),
    d_k=integers(1, 6), dt_k=integers(1, 6), tries=60,
)

def widths(**s):  # of a head, of all side by side, of the result
    *inputs, W_O = draw(0, **s)
    out = heads(*inputs)
    return out[0].shape[1], torch.cat(out, -1).shape[1], multi_head(*inputs, W_O).shape[1]

holds(
    'la.mha.quote-output-dims',
    lambda h, **s: widths(h=h, **s) == (s['dt_v'], h * s['dt_v'], s['d_o']),
    control=lambda h, **s: widths(h=h, **s) == (s['d_v'], h * s['d_v'], s['d_o']),
    h=integers(1, 4), **sizes, tries=60,
)

# %% [markdown]
# ### Self-attention, and what a head is
#
# In *self-attention* queries, keys and values all come from the same tokens $\mathbf{X} \in \mathbb{R}^{T \times D}$:
#
# ```{math}
# :label: la.mha.self
# \mathrm{MultiHead}(\mathbf{X}, \mathbf{X}, \mathbf{X}), \qquad d_v = d_k = D, \quad \tilde d_v = \tilde d_k, \quad \text{embedding dimension } h \tilde d_v .
# ```
#
# Here $d_v = d_k$ is forced, as both are the width of $\mathbf{X}$; $\tilde d_v = \tilde d_k$ is a habit. In the letters of the other notes, $H$ heads of width $D_h$, one head reads
#
# ```{math}
# :label: ml.tf.multihead.head
# \mathbf{Z}_h = \mathrm{softmax}\Big( \frac{\mathbf{X}\mathbf{W}_{Q,h}\mathbf{W}_{K,h}^{\mathsf{T}}\mathbf{X}^{\mathsf{T}}}{\sqrt{D_K}} \Big)\, \mathbf{X}\mathbf{W}_{V,h} \in \mathbb{R}^{T \times D_h}, \qquad D_K = D_h .
# ```
#
# The scan of the notes shows $\mathbf{W}_V$ in the place of $\mathbf{W}_K$, and the last matrix without its $V$. All three have the same shape, so the damaged formula
# runs without complaint; the check refuses it. The heads are then joined:
#
# ```{math}
# :label: ml.tf.multihead.concat
# \mathbf{Z} = [\mathbf{Z}_1, \dots, \mathbf{Z}_H]\, \mathbf{W}_o = \sum_{h=1}^{H} \mathbf{Z}_h \mathbf{W}_o^{(h)}, \qquad \mathbf{W}_o \in \mathbb{R}^{H D_h \times D},
# ```
#
# where $\mathbf{W}_o^{(h)}$ is the $h$-th block of $D_h$ *consecutive rows* of $\mathbf{W}_o$. The second form is the product of block matrices, and it is worth a pause:
# *concatenate and project* means *add up*. With {eq}`ml.tf.multihead.head`, and $\mathbf{A}_h$ for its softmax, the layer is
# $\sum_h \mathbf{A}_h \mathbf{X}\, (\mathbf{W}_{V,h}\mathbf{W}_o^{(h)})$. So a head is two things, a map of *where to look*, made by $\mathbf{W}_{Q,h}\mathbf{W}_{K,h}^{\mathsf{T}}$,
# and a rule for *what to bring*, $\mathbf{W}_{V,h}\mathbf{W}_o^{(h)}$ {cite}`elhage2021mathematical`.

# %% tags=["hide-input"]
def draw_self(seed, H=3, D_h=4):
    X, _, _, W_Q, W_K, W_V, W_o = draw(seed, h=H, d_k=H * D_h, d_v=H * D_h, dt_k=D_h, dt_v=D_h, d_o=H * D_h)
    return X, W_Q, W_K, W_V, W_o

def Z(X, W_Q, W_K, W_V):  # (H, T, D_h), the formula as it stands
    return (X @ W_Q @ W_K.mT @ X.T / W_K.shape[-1] ** 0.5).softmax(-1) @ X @ W_V

def head_formula_agrees(seed, use_values_as_keys=False):
    X, W_Q, W_K, W_V, W_o = draw_self(seed)
    found = Z(X, W_Q, W_V if use_values_as_keys else W_K, W_V)
    layer = torch_layer(W_Q, W_K, W_V, torch.eye(12))  # W_o = I shows the heads
    return close(torch.cat(list(found), -1), layer(X, X, X)[0])

holds(
    'ml.tf.multihead.head',
    head_formula_agrees, control=lambda seed: head_formula_agrees(seed, use_values_as_keys=True),
    seed=seeds(), tries=40,
)

# %% tags=["hide-input"]
def adds_up(seed, blocks):  # blocks (H, D_h, D) of W_o
    X, *W, W_o = draw_self(seed)
    return close((Z(X, *W) @ blocks(W_o)).sum(0), torch_layer(*W, W_o)(X, X, X)[0])

holds(
    'ml.tf.multihead.concat',
    lambda seed: adds_up(seed, lambda W_o: W_o.unflatten(0, (3, 4))),
    control=lambda seed: adds_up(seed, lambda W_o: W_o.unflatten(0, (4, 3)).transpose(0, 1)),  # every third row
    seed=seeds(), tries=40,
)

def self_agrees(seed, H, D_h, embedding):
    X, *W = draw_self(seed, H, D_h)
    layer = torch_layer(*W)
    return layer.embed_dim == embedding and close(multi_head(X, X, X, *W), layer(X, X, X)[0])

holds(
    'la.mha.self',
    lambda seed, H, D_h: self_agrees(seed, H, D_h, embedding=H * D_h),
    control=lambda seed, H, D_h: self_agrees(seed, H, D_h, embedding=D_h),
    seed=seeds(), H=integers(1, 4), D_h=integers(1, 4), tries=40,
)

# %% [markdown]
# A small piece of restoration remains. The notes cite the paper with the author "Kaiser, u.", and the check finds out how he lost his initial: a program
# dropped the letter that TeX writes as `\L` from `\L ukasz`.

# %% tags=["hide-input"]
tex = (r'Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and Uszkoreit, Jakob and Jones, Llion'
       r' and Gomez, Aidan N. and Kaiser, \L ukasz and Polosukhin, Illia')
restored = ('Vaswani, A., Shazeer, N., Parmar, N., Uszkoreit, J., Jones, L., '
            'Gomez, A. N., Kaiser, Ł., Polosukhin, I.')

def cited(tex, crossed_l):
    people = [person.split(', ') for person in tex.replace(r'\L ', crossed_l).split(' and ')]
    return ', '.join(f'{last}, ' + ' '.join(f'{name[0]}.' for name in first.split()) for last, first in people)

assert 'Kaiser, u.' in cited(tex, crossed_l='')
holds(
    'la.mha.citation',
    lambda: cited(tex, crossed_l='Ł') == restored, control=lambda: cited(tex, crossed_l='') == restored,
)

# %% [markdown]
# ```{exercise} ★★ Other weights, same layer
# :label: mha-gauge
#
# Let $\mathbf{G}$ be an invertible $\tilde d_k \times \tilde d_k$ matrix. Someone replaces $\mathbf{W}^K$ by $\mathbf{W}^K\mathbf{G}$. Write
# `repair(W_Q, G)`, the matrix that must replace $\mathbf{W}^Q$ so that all scores stay what they were.
# ```

# %%
def repair(W_Q, G):
    raise NotImplementedError('your turn')

# %%
def products(answer):  # the matrix between X and X^T in the scores
    return lambda W_Q, W_K, G: answer(W_Q, G) @ (W_K @ G).T

def before(W_Q, W_K, G):
    return W_Q @ W_K.T

numbers = torch.Generator().manual_seed(2)
cases = [tuple(torch.randn(size, 3, generator=numbers) for size in (6, 6, 3)) for _ in range(3)]
grade(products(repair), before, cases)

# %% [markdown]
# ```{solution-start} mha-gauge
# :class: dropdown
# ```
# We need $\mathbf{W}'(\mathbf{W}^K\mathbf{G})^{\mathsf{T}} = \mathbf{W}'\mathbf{G}^{\mathsf{T}}(\mathbf{W}^K)^{\mathsf{T}} = \mathbf{W}^Q(\mathbf{W}^K)^{\mathsf{T}}$, so
# $\mathbf{W}' = \mathbf{W}^Q\mathbf{G}^{-\mathsf{T}}$ will do. The same freedom exists between $\mathbf{W}^V_i$ and its block of $\mathbf{W}^O$. A single entry of $\mathbf{W}^Q$
# therefore means nothing by itself; only the products do.

# %% jupyter={"source_hidden": true}
def repair_solution(W_Q, G):
    return torch.linalg.solve(G, W_Q.T).T

def transpose_forgotten(W_Q, G):
    return W_Q @ torch.linalg.inv(G)

assert grade(products(repair_solution), before, cases)
assert not grade(products(transpose_forgotten), before, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The layer line by line
#
# The loop over the heads is easy to read, but nobody runs it. The notes give the form that everybody runs, as pseudocode: one `Linear` makes the queries, keys and
# values of all heads at once, and the axes are moved so that one batched product serves all heads. Every line of it can go wrong *silently*, with the right shape
# and the wrong numbers. So let us run it as printed, one name for each step.

# %%
def pseudocode(x, qkv_proj, o_proj, num_heads, mask=None):
    batch_size, seq_length, _ = x.size()
    embed_dim = qkv_proj.out_features // 3
    head_dim = embed_dim // num_heads
    flat = qkv_proj(x)
    cut = flat.reshape(batch_size, seq_length, num_heads, 3 * head_dim)
    qkv = cut.permute(0, 2, 1, 3)
    q, k, v = qkv.chunk(3, dim=-1)
    values, attention = attend(q, k, v, mask)
    back = values.permute(0, 2, 1, 3)
    joined = back.reshape(batch_size, seq_length, embed_dim)
    out = o_proj(joined)
    return dict(x=x, flat=flat, cut=cut, qkv=qkv, q=q, k=k, v=v, attention=attention,
                values=values, back=back, joined=joined, out=out)

# %%
def linear(d_in, d_out, generator):
    layer = nn.Linear(d_in, d_out).requires_grad_(False)
    for p in layer.parameters():
        nn.init.normal_(p, generator=generator)
    return layer

g = torch.Generator().manual_seed(1)
batch_size, seq_length, input_dim, embed_dim, num_heads = 2, 5, 7, 12, 3
head_dim = embed_dim // num_heads
qkv_proj, o_proj = linear(input_dim, 3 * embed_dim, g), linear(embed_dim, embed_dim, g)
x = torch.randn(batch_size, seq_length, input_dim, generator=g)
step = pseudocode(x, qkv_proj, o_proj, num_heads)
for name, tensor in step.items():
    print(f'{name:9}', tuple(tensor.shape))

# %% [markdown]
# All sizes differ, so the shapes that the notes write beside their lines are tested here and not just repeated. Now the lines one at a time.
#
# **The width of a head.** A comment in the notes says
#
# ```{math}
# :label: la.mha.pseudocode.head-dim
# 3 \cdot \texttt{embed\_dim} = \texttt{num\_heads} \cdot 3 \cdot \texttt{head\_dim}, \qquad \texttt{head\_dim} = \lfloor \texttt{embed\_dim} / \texttt{num\_heads} \rfloor .
# ```
#
# This is true exactly when `num_heads` divides `embed_dim`, which they do not say: with 13 features and 3 heads the floor leaves $36 \ne 39$, and `reshape` raises an error.
#
# **Project and cut.** `Linear` treats every token alone. `reshape` keeps the order of the numbers in memory: feature $f$ of `flat` becomes entry $c$ of head $h$ with
# $f = 3 \cdot \texttt{head\_dim} \cdot h + c$. `permute` then carries the head axis forward past the tokens.

# %% tags=["hide-input"]
def reshapes(E, H):
    try:
        return torch.zeros(2, 3 * E).reshape(2, H, 3 * (E // H)).shape == (2, H, 3 * (E // H))
    except RuntimeError:
        return False

holds(
    'la.mha.pseudocode.head-dim',
    lambda E, H: reshapes(E, H) == (3 * E == H * 3 * (E // H)) == (E % H == 0),
    control=lambda E, H: 3 * E == H * 3 * (E // H),
    E=integers(1, 30), H=integers(1, 8),
)
tokens, some_heads, W, b = integers(0, 4), integers(0, 2), qkv_proj.weight, qkv_proj.bias
holds(
    'la.mha.pseudocode.qkv-shape',
    lambda t: close(step['flat'][:, t], x[:, t] @ W.T + b),
    control=lambda t: close(step['flat'][:, t], x[:, t] @ W.reshape(7, 36) + b),
    t=tokens,
)
holds(
    'la.mha.pseudocode.reshape',
    lambda h, c: close(step['cut'][:, :, h, c], step['flat'][:, :, h * 3 * head_dim + c]),
    control=lambda h, c: close(step['cut'][:, :, h, c], step['flat'][:, :, c * num_heads + h]),
    h=some_heads, c=integers(0, 3 * head_dim - 1),
)

# %% [markdown]
# Why not reshape straight to `(batch_size, num_heads, seq_length, 3 * head_dim)`? The shape would be right. But a reshape deals the numbers out in the order in which they lie,
# so the first head would receive *all* features of the first tokens, instead of *its* features of all tokens:

# %%
S, E, H = 6, 12, 3
lying = torch.arange(S * E).reshape(S, E)  # the numbers of one sequence
head_of = torch.arange(H).repeat_interleave(S * E // H).reshape(H, S, E // H)
right = head_of.permute(1, 0, 2).reshape(S, E)  # which head gets a number
wrong = head_of.reshape(S, E)

# %% mystnb={"image": {"alt": "Two grids of tokens by features coloured by head. With reshape and permute each head owns a block of columns, so some features of every token; with one reshape each head owns two whole tokens."}} tags=["hide-input"]
fig, axes = panels(2, height=2.2)
for ax, owner, title in zip(axes, (right, wrong), ('reshape, then permute', 'one reshape'), strict=True):
    ax.pcolormesh(owner, cmap=ListedColormap(['C0', 'C1', 'C2']), edgecolor=GREY, linewidth=0.5, alpha=0.6)
    ax.set(title=title, xlabel='feature', ylabel='token', xticks=[0, 4, 8, 12], yticks=[0, 2, 4, 6])
    ax.invert_yaxis();

# %% [markdown]
# **Three parts per head.** `chunk` splits the last axis *inside each head*. So the rows of the weight of `qkv_proj` come head by head, $q_1 k_1 v_1\, q_2 k_2 v_2 \dots$,
# while torch stacks them role by role. Weights copied from one to the other without reordering give a layer that runs, and computes something else.

# %% mystnb={"image": {"alt": "Two strips of nine blocks. In the notes the blocks come as q1 k1 v1 q2 k2 v2 q3 k3 v3, in torch as q1 q2 q3 k1 k2 k3 v1 v2 v3."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 1.5))
roles = 'qkv'
orders = {'notes': [(r, h) for h in (1, 2, 3) for r in roles], 'torch': [(r, h) for r in roles for h in (1, 2, 3)]}
for y, (name, order) in enumerate(orders.items()):
    for i, (role, h) in enumerate(order):
        colour = f'C{roles.index(role)}'
        ax.barh(y, 3.8, left=4 * i + 0.1, height=0.7, color=colour, alpha=0.3)
        ax.text(4 * i + 2, y, f'${role}_{h}$', color=colour, ha='center', va='center', fontsize=11)
ax.set(yticks=[0, 1], yticklabels=orders, xticks=range(0, 37, 12), xlabel='output feature of the projection', xlim=(0, 36))
ax.invert_yaxis()
ax.spines[:].set_visible(False);

# %% tags=["hide-input"]
holds(
    'la.mha.pseudocode.permute',
    lambda h, t: close(step['qkv'][:, h, t], step['cut'][:, t, h]),
    control=lambda h, t: close(step['cut'].reshape(2, 3, 5, 12)[:, h, t], step['cut'][:, t, h]),
    h=some_heads, t=tokens,
)

def part_agrees(role, h, block):  # block: how many blocks of head_dim rows come before
    rows = slice(block * head_dim, (block + 1) * head_dim)
    return close(step['qkv'[role]][:, h], x @ W[rows].T + b[rows])

holds(
    'la.mha.pseudocode.chunk',
    lambda role, h: part_agrees(role, h, 3 * h + role),
    control=lambda role, h: part_agrees(role, h, num_heads * role + h),
    role=[0, 1, 2], h=some_heads,
)

# %% [markdown]
# **The one function left open.** The notes call `scaled_dot_product(q, k, v, mask=mask)` and define neither it nor the mask. It is our `attend`, on the last two axes; batch and heads just come along.
# The meaning of the mask has to be *said*: here, and in `F.scaled_dot_product_attention`, `True` means *may be looked at*, while in `nn.MultiheadAttention` it means *blocked*. Read the wrong way round, a mask
# for the past becomes one for the future. A mask with fewer axes is broadcast, so one of shape $(S, S)$ serves all heads.
#
# **And back.** Swapping the two axes once more brings token and head into their old order, and only then may the last two axes be merged: that is the $\mathrm{Concat}$ of {eq}`la.mha.multihead`. The output projection ends the layer.

# %% tags=["hide-input"]
def drawn(seed, S=5):
    g = torch.Generator().manual_seed(seed)
    keep = (torch.rand(S, S, generator=g) < 0.5) | torch.eye(S, dtype=bool)
    return (*torch.randn(3, 2, 3, S, 4, generator=g), keep)

def sdp_agrees(q, k, v, keep, torch_mask):
    mixed, attention = attend(q, k, v, keep)
    sums = close(attention.sum(-1), torch.ones(2, 3, 5)) and attention.shape == (2, 3, 5, 5)
    return sums and close(mixed, F.scaled_dot_product_attention(q, k, v, attn_mask=torch_mask))

holds(
    'la.mha.pseudocode.sdp',
    lambda seed: sdp_agrees(*drawn(seed), torch_mask=drawn(seed)[-1]),
    control=lambda seed: sdp_agrees(*drawn(seed), torch_mask=~drawn(seed)[-1]),
    seed=seeds(),
)
holds(
    'la.mha.pseudocode.permute-back',
    lambda h, t: close(step['back'][:, t, h], step['values'][:, h, t]),
    control=lambda h, t: close(step['values'].reshape(2, 5, 3, 4)[:, t, h], step['values'][:, h, t]),
    h=some_heads, t=tokens,
)

# %% tags=["hide-input"]
side_by_side = torch.cat(list(step['values'].unbind(1)), -1)
holds(
    'la.mha.pseudocode.reshape-back',
    lambda: close(step['joined'], side_by_side),
    control=lambda: close(step['values'].permute(0, 2, 3, 1).reshape(2, 5, 12), side_by_side),
)

def block_agrees(seed, order):  # order: which of our rows become torch's rows
    g = torch.Generator().manual_seed(seed)
    ours, last, x = linear(12, 36, g), linear(12, 12, g), torch.randn(2, 5, 12, generator=g)
    theirs = nn.MultiheadAttention(12, 4, batch_first=True)
    theirs.load_state_dict({
        'in_proj_weight': ours.weight[order], 'in_proj_bias': ours.bias[order],
        'out_proj.weight': last.weight, 'out_proj.bias': last.bias,
    })
    return close(pseudocode(x, ours, last, 4)['out'], theirs(x, x, x)[0])

holds(
    'la.mha.pseudocode.out',
    lambda seed: block_agrees(seed, torch.arange(36).reshape(4, 3, 3).transpose(0, 1).flatten()),
    control=lambda seed: block_agrees(seed, torch.arange(36)),
    seed=seeds(), tries=40,
)

# %% [markdown]
# The last line is the whole block against torch, and its control is the copy without reordering. (For this one test `input_dim` equals `embed_dim`; torch knows no other case.)
#
# ```{exercise} ★ Read torch's weights
# :label: mha-convert
#
# Write `to_notes(weight, heads)`: given the `in_proj_weight` of torch, of shape $(3E, D)$, return the weight of the notes' `qkv_proj` for the same layer.
# ```

# %%
def to_notes(weight, heads):
    raise NotImplementedError('your turn')

# %%
def block_by_block(weight, heads):
    width = len(weight) // (3 * heads)
    starts = [(heads * role + h) * width for h in range(heads) for role in range(3)]
    return torch.cat([weight[start:start + width] for start in starts])

cases = [(torch.arange(6.0 * h * 2).reshape(6 * h, 2), h) for h in (1, 2, 4)]
grade(to_notes, block_by_block, cases)

# %% [markdown]
# ```{solution-start} mha-convert
# :class: dropdown
# ```
# Name the axes as torch has them, role before head, swap the two, and flatten. Whoever names them the other way round applies the inverse
# permutation, which is the same one only for one head or three: test such code with two or four.

# %% jupyter={"source_hidden": true}
def to_notes_solution(weight, heads):
    return weight.unflatten(0, (3, heads, -1)).transpose(0, 1).flatten(0, 2)

def inverse(weight, heads):
    return weight.unflatten(0, (heads, 3, -1)).transpose(0, 1).flatten(0, 2)

assert grade(to_notes_solution, block_by_block, cases)
assert not grade(inverse, block_by_block, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The same numbers as torch
#
# A layer for real use must also take queries from one sequence and keys and values from another (*cross-attention*: a translation looks at its original), and masks. So the three projections part
# company again, each still serving all heads in one product:

# %%
class MultiHead(nn.Module):
    def __init__(self, width, heads, d_key=None, d_value=None):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width)
        self.k = nn.Linear(d_key or width, width)
        self.v = nn.Linear(d_value or width, width)
        self.o = nn.Linear(width, width)

    def split(self, x):  # (B, T, width) -> (B, heads, T, width / heads)
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, query, key, value, keep=None):
        q, k, v = self.split(self.q(query)), self.split(self.k(key)), self.split(self.v(value))
        mixed, weights = attend(q, k, v, keep)
        return self.o(mixed.transpose(1, 2).flatten(2)), weights

# %% [markdown]
# Both layers get the same weights, the same inputs and the same masks. Compared are the outputs, the weights of every head, and, after a backward
# pass with the same random cotangent, the gradients of all inputs and all parameters.

# %%
def parts(layer, of=lambda p: p):
    """Weights, then biases, of the maps for queries, keys, values and output."""
    if isinstance(layer, MultiHead):
        maps = layer.q, layer.k, layer.v, layer.o
        return [of(m.weight) for m in maps] + [of(m.bias) for m in maps]
    if layer.in_proj_weight is None:  # torch keeps three where their widths differ
        weights = [of(getattr(layer, f'{x}_proj_weight')) for x in 'qkv']
    else:
        weights = of(layer.in_proj_weight).chunk(3)
    return [*weights, of(layer.out_proj.weight), *of(layer.in_proj_bias).chunk(3), of(layer.out_proj.bias)]

@torch.no_grad()
def pair(d_key, d_value, generator):
    """Our layer and torch's, with the same weights."""
    ours = MultiHead(12, 3, d_key, d_value)
    theirs = nn.MultiheadAttention(12, 3, kdim=d_key, vdim=d_value, batch_first=True)
    for p in theirs.parameters():
        nn.init.normal_(p, std=0.5, generator=generator)
    for mine, its in zip(parts(ours), parts(theirs), strict=True):
        mine.copy_(its)
    return ours, theirs

# %%
def same(query, key, value, keep=None, **torch_masks):
    g = torch.Generator().manual_seed(4)
    ours, theirs = pair(key.shape[-1], value.shape[-1], g)
    cotangent = torch.randn(query.shape, generator=g)
    results = []
    for layer, options in (ours, {'keep': keep}), (theirs, {'average_attn_weights': False} | torch_masks):
        inputs = [x.clone().requires_grad_() for x in (query, key, value)]
        out, weights = layer(*inputs, **options)
        (out * cotangent).sum().backward()
        gradients = [x.grad for x in inputs] + parts(layer, of=lambda p: p.grad)
        results.append([out, weights, *gradients])
    return all(close(mine, its) for mine, its in zip(*results, strict=True))

# %% [markdown]
# Sequences of different lengths share a batch by *padding*: the short ones are filled up, and nobody may look at the filling. This mask has shape $(B, m)$, one row per sequence; two axes of length one
# make it fit the scores $(B, h, n, m)$. The causal mask, $(n, n)$, is a lower triangle: look at yourself and at the past.

# %%
g = torch.Generator().manual_seed(5)
x = torch.randn(2, 5, 12, generator=g)
keys, values = torch.randn(2, 7, 10, generator=g), torch.randn(2, 7, 9, generator=g)
past = torch.ones(5, 5, dtype=bool).tril()
real = torch.arange(7) < torch.tensor([[7], [3]])  # (B, m)
both = past & real[:, None, None, :5]  # (B, 1, 5, 5)
results = {
    'self-attention': same(x, x, x),
    'causal mask': same(x, x, x, keep=past, attn_mask=~past),
    'causal and padding': same(x, x, x, keep=both, attn_mask=~past, key_padding_mask=~real[:, :5]),
    'cross-attention': same(x, keys, values),
    'cross-attention with padding': same(x, keys, values, keep=real[:, None, None], key_padding_mask=~real),
}
for name, verdict in results.items():
    print(f'{name}: {verdict}')
assert all(results.values())
assert not same(x, x, x, keep=past, attn_mask=past)  # torch's True means blocked

# %% [markdown]
# One case is left, and it is a famous source of `nan`: a row in which *everything* is masked, say an empty sentence in the batch. The softmax of nothing is $0/0$. Our `attend` answers zero, so that the layer gives
# the bias of its output map, and gradients stay finite. What does torch do?

# %%
ours, theirs = pair(12, 12, torch.Generator().manual_seed(6))
empty = torch.tensor([[True] * 5, [False] * 5])  # nothing to see in the second sequence
mine, _ = ours(x, x, x, empty[:, None, None])
mine.sum().backward()
asked, _ = theirs(x, x, x, key_padding_mask=~empty, need_weights=True)
unasked, _ = theirs(x, x, x, key_padding_mask=~empty, need_weights=False)
bias = theirs.out_proj.bias.expand(5, 12)
assert close(mine[1], bias) and all(p.grad.isfinite().all() for p in ours.parameters())
assert close(mine[0], asked[0]) and close(mine[0], unasked[0])
print('torch, weights asked for, gives nan:', bool(asked[1].isnan().all()))
print('torch, weights not asked for, gives the bias:', close(unasked[1], bias))

# %% [markdown]
# The same layer, the same input, and two answers, depending on whether one also asks to see the weights. The reason is that the two calls take different routes through the library, and only the second guards the softmax.
# If a batch may hold an empty sequence, decide yourself what it should get.
#
# ```{exercise} ★ One mask for all
# :label: mha-mask
#
# Write `keep_mask(lengths, T)` for causal self-attention on padded sequences: shape $(B, 1, T, T)$, `True` where query $i$ of sequence $b$ may look at key $j$, that is,
# where $j \le i$ and $j$ lies within the sequence.
# ```

# %%
def keep_mask(lengths, T):
    raise NotImplementedError('your turn')

# %%
def entry_by_entry(lengths, T):
    return torch.tensor([[[[j <= i and j < n for j in range(T)] for i in range(T)]] for n in lengths.tolist()])

cases = [(torch.tensor(lengths), T) for lengths, T in (([3], 3), ([4, 2], 4), ([1, 5, 0], 5))]
grade(keep_mask, entry_by_entry, cases)

# %% [markdown]
# ```{solution-start} mha-mask
# :class: dropdown
# ```
# The length limits the *keys*, the last axis. Masking the padded *queries* instead is the usual slip: real tokens then still look at the filling.

# %% jupyter={"source_hidden": true}
def keep_mask_solution(lengths, T):
    j = torch.arange(T)
    return (j <= j[:, None]) & (j < lengths[:, None, None, None])

def queries_masked(lengths, T):
    return keep_mask_solution(lengths + T, T) & (torch.arange(T) < lengths[:, None])[:, None, :, None]

assert grade(keep_mask_solution, entry_by_entry, cases)
assert not grade(queries_masked, entry_by_entry, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## What heads cost, and what they cannot see
#
# Count the entries in {eq}`la.mha.weight-shapes`: $h\,(2 d_k \tilde d_k + d_v \tilde d_v) + h \tilde d_v d_o$. With all outer sizes equal to $d$ and the usual $\tilde d_k = \tilde d_v = d/h$ the number of heads cancels. There remain
# $4d^2$ weights, and $4d$ biases if there are any, for every $h$. The same happens to the work: $4Td^2$ multiplications for the projections and $2T^2d$ for scores and means. **Heads are free**;
# only the attention maps, $hT^2$ numbers, grow. What is traded is width: $h$ pairs of maps and values, each $d/h$ wide, for one pair $d$ wide.

# %%
d = 64
counts = {h: sum(p.numel() for p in nn.MultiheadAttention(d, h).parameters()) for h in (1, 2, 4, 8, 16, 64)}
assert set(counts.values()) == {4 * d**2 + 4 * d}
print('parameters, for any number of heads:', counts[1])

# %% [markdown]
# In time they are free only if they run together. The notes run $H$ heads "in parallel", which in code means that the loop becomes an axis. The letters of `einsum` say it best: batch $b$, token $t$, head $h$, feature $d$, feature of a head $k$.

# %%
def by_loop(X, W_Q, W_K, W_V, W_O):
    heads = [attend(X @ A, X @ B, X @ C)[0] for A, B, C in zip(W_Q, W_K, W_V, strict=True)]
    return torch.cat(heads, -1) @ W_O

def at_once(X, W_Q, W_K, W_V, W_O, keep=None):
    q, k, v = (torch.einsum('btd,hdk->bhtk', X, W) for W in (W_Q, W_K, W_V))
    blocks = W_O.unflatten(0, (len(W_Q), -1))  # (h, k, d)
    return torch.einsum('bhtk,hkd->btd', attend(q, k, v, keep)[0], blocks)

# %%
def weights(seed, h, d, B=2, T=5):
    g = torch.Generator().manual_seed(seed)
    shapes = (B, T, d), (h, d, d // h), (h, d, d // h), (h, d, d // h), (d, d)
    return [torch.randn(shape, generator=g) / shape[-2] ** 0.5 for shape in shapes]

def heads_mixed_up(X, W_Q, W_K, W_V, W_O):  # reshaped to (B, h, T, k) in one go
    B, T, d = X.shape
    q, k, v = ((X @ W.transpose(0, 1).flatten(1)).reshape(B, len(W), T, -1) for W in (W_Q, W_K, W_V))
    return attend(q, k, v)[0].transpose(1, 2).flatten(2) @ W_O

holds(
    'ml.tf.multihead.parallel',
    lambda seed, h: close(at_once(*weights(seed, h, 12)), by_loop(*weights(seed, h, 12))),
    control=lambda seed, h: close(heads_mixed_up(*weights(seed, h, 12)), by_loop(*weights(seed, h, 12))),
    seed=seeds(), h=[1, 2, 3, 4, 6], tries=60,
)

# %%
def time(f):
    return min(repeat(f, number=10, repeat=7))

X, *W = weights(0, h=32, d=64, B=4, T=16)
layer = nn.MultiheadAttention(64, 32, batch_first=True)
with torch.no_grad():
    slow = time(lambda: by_loop(X, *W))
    fast = time(lambda: at_once(X, *W))
    library = time(lambda: layer(X, X, X, need_weights=False))
assert slow > 2 * fast and slow > 2 * library
print('32 heads at once, more than twice as fast as the loop:', slow > 2 * fast)
print('torch, more than twice as fast as the loop:', slow > 2 * library)

# %% [markdown]
# The multiplications are the same ones; what disappears is the price of starting 32 times as many small operations. Long sequences, where each operation is large, gain less.
#
# ### A head sees a set
#
# Nowhere in the layer does the *place* of a token enter. Shuffle the tokens, and the outputs are shuffled along:
#
# ```{prf:theorem} Permutation equivariance
# :label: thm-mha-equivariance
#
# For every permutation matrix $\mathbf{P}$, $\mathrm{MultiHead}(\mathbf{PX}, \mathbf{PX}, \mathbf{PX}) = \mathbf{P}\, \mathrm{MultiHead}(\mathbf{X}, \mathbf{X}, \mathbf{X})$, and
# $\mathrm{MultiHead}(\mathbf{Q}, \mathbf{PK}, \mathbf{PV}) = \mathrm{MultiHead}(\mathbf{Q}, \mathbf{K}, \mathbf{V})$.
# ```
#
# ```{prf:proof}
# Let $\mathbf{S}$ be the scores of one head and $\mathbf{A}$ their softmax. Shuffling all tokens turns $\mathbf{S}$ into $\mathbf{PSP}^{\mathsf{T}}$: rows and columns are permuted alike. The softmax works on each
# row by itself, and permuting the entries of a row permutes its softmax, so $\mathbf{A}$ becomes $\mathbf{PAP}^{\mathsf{T}}$. The values become $\mathbf{PV}$, and $\mathbf{PAP}^{\mathsf{T}}\mathbf{PV} = \mathbf{PAV}$ since
# $\mathbf{P}^{\mathsf{T}}\mathbf{P} = \mathbf{I}$. Concatenation and $\mathbf{W}^O$ act on each row alone and leave $\mathbf{P}$ in front. If keys and values alone are shuffled, $\mathbf{A}$ becomes $\mathbf{AP}^{\mathsf{T}}$, and $\mathbf{AP}^{\mathsf{T}}\mathbf{PV} = \mathbf{AV}$.
# ```
#
# To this layer *dog bites man* and *man bites dog* are the same three outputs in another order. Order has to be put into the tokens, as in the experiment below, or into the mask. The causal mask stays in place when tokens move, so it breaks
# the symmetry; what it gives instead is that no output depends on a later token, without which a text could not be generated from left to right.

# %%
X, *W = weights(7, h=3, d=12)
shuffle = torch.tensor([3, 0, 4, 2, 1])
past = torch.ones(5, 5, dtype=bool).tril()
assert close(at_once(X[:, shuffle], *W), at_once(X, *W)[:, shuffle])
assert not close(at_once(X[:, shuffle], *W, past), at_once(X, *W, past)[:, shuffle])

later = X.clone()
later[:, 3:] += 1
assert close(at_once(later, *W, past)[:, :3], at_once(X, *W, past)[:, :3])
assert not close(at_once(later, *W)[:, :3], at_once(X, *W)[:, :3])

# %% [markdown]
# ```{exercise} ★★ The mask moves too
# :label: mha-moving-mask
#
# Write `moved(keep, p)`, the mask with which the layer on the shuffled tokens `X[:, p]` gives the shuffled outputs of the layer on `X` with mask `keep`, of shape $(T, T)$.
# ```

# %%
def moved(keep, p):
    raise NotImplementedError('your turn')

# %%
def shuffle_first(answer):
    return lambda keep, p: at_once(X[:, p], *W, answer(keep, p))

def shuffle_last(keep, p):
    return at_once(X, *W, keep)[:, p]

numbers = torch.Generator().manual_seed(8)
some = (torch.rand(3, 5, 5, generator=numbers) < 0.5) | torch.eye(5, dtype=bool)
cases = [(keep, torch.randperm(5, generator=numbers)) for keep in (past, *some)]
grade(shuffle_first(moved), shuffle_last, cases)

# %% [markdown]
# ```{solution-start} mha-moving-mask
# :class: dropdown
# ```
# The mask is a table of pairs, like the scores, so by the proof it has to become $\mathbf{P}\,\texttt{keep}\,\mathbf{P}^{\mathsf{T}}$: queries *and* keys are renamed.

# %% jupyter={"source_hidden": true}
def moved_solution(keep, p):
    return keep[p][:, p]

def queries_only(keep, p):
    return keep[p]

assert grade(shuffle_first(moved_solution), shuffle_last, cases)
assert not grade(shuffle_first(queries_only), shuffle_last, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Where it matters: reading a clock
#
# Twelve tokens sit on the hours of a clock. Each carries two cards, $\mathbf{a}_i, \mathbf{b}_i \in \mathbb{R}^3$, filled with independent standard normal numbers, and it knows where it sits, by the direction of its hand:
# $\mathbf{x}_i = (\mathbf{a}_i, \mathbf{b}_i, 2\mathbf{p}_i)$ with $\mathbf{p}_i = (\cos 30°i, \sin 30°i)$. Each wants card $\mathbf{a}$ of the hour *before* and card $\mathbf{b}$ of the *mirrored* hour:
# $\mathbf{y}_i = (\mathbf{a}_{i-1}, \mathbf{b}_{-i})$, indices modulo 12. That is a shift and a reversal, two favourite exercises for attention, asked for at once. The two places never coincide ($i - 1 = -i$ would need $2i = 1$ modulo 12), so {prf:ref}`thm-mha-needs` applies
# with $r = 2$: one head whose weights do not depend on the cards has a mean squared error of at least $\tfrac12$. For comparison, to answer zero gives 1, and the mean of all twelve tokens gives $1 - \tfrac1{12} = 0.92$.

# %%
hour = torch.arange(12)
hand = torch.stack([torch.cos(hour * torch.pi / 6), torch.sin(hour * torch.pi / 6)], -1)  # (12, 2)

def clocks(number, generator):
    cards = torch.randn(number, 12, 6, generator=generator)
    wanted = torch.cat([cards[:, hour - 1, :3], cards[:, -hour, 3:]], -1)
    return torch.cat([cards, 2 * hand.expand(number, 12, 2)], -1), wanted  # (B, 12, 8), (B, 12, 6)

def layer(x, W_Q, W_K, W_V, W_O):  # W_Q (R, h, 8, w), W_O (R, h w, 6): R layers at once
    q, k, v = (x[:, None] @ W[:, None] for W in (W_Q, W_K, W_V))  # (R, B, h, 12, w)
    mixed, maps = attend(q, k, v)
    return mixed.transpose(2, 3).flatten(3) @ W_O[:, None], maps  # (R, B, 12, 6)

def error(x, y, *W):
    return (layer(x, *W)[0] - y).square().mean((1, 2, 3))  # (R,)

# %% [markdown]
# **By hand.** Two heads can do it without any training, because both wishes are *linear* in the hand. The hour before is a rotation by $-30°$, the mirrored hour a reflection, $\mathbf{p}_{-i} = (\cos 30°i, -\sin 30°i)$. Let the query
# of the first head be the rotated hand, that of the second the reflected hand, both times a large number, and let the key be the hand itself. Then the score $\beta\,\mathbf{p}_{i-1}^{\mathsf{T}}\mathbf{p}_j$ is largest at $j = i - 1$, and the softmax looks there alone.
# As values, the first head projects on the $\mathbf{a}$ cards, the second on the $\mathbf{b}$ cards: different positions, different subspaces. The control gives both heads the same query map.

# %%
def by_hand(maps, beta=50):  # maps (2, 2, 2): from the hand to where each head looks
    W_Q, W_K, W_V = torch.zeros(3, 1, 2, 8, 4)
    W_O = torch.zeros(1, 8, 6)
    W_Q[0, :, 6:, :2], W_K[0, :, 6:, :2] = beta * maps, torch.eye(2)
    for head in range(2):
        card = slice(3 * head, 3 * head + 3)
        W_V[0, head, card, :3] = W_O[0, 4 * head:4 * head + 3, card] = torch.eye(3)
    return W_Q, W_K, W_V, W_O

c, s = torch.tensor(3).sqrt() / 2, 0.5
before, mirror = torch.tensor([[c, -s], [s, c]]), torch.tensor([[1.0, 0.0], [0.0, -1.0]])
two, same_twice = torch.stack([before, mirror]), torch.stack([before, before])

def error_by_hand(seed, maps):
    return error(*clocks(20, torch.Generator().manual_seed(seed)), *by_hand(maps))

holds(
    'la.mha.subspaces',
    lambda seed: (error_by_hand(seed, two) < 1e-3).all(),
    control=lambda seed: (error_by_hand(seed, same_twice) < 1e-3).all(),
    seed=seeds(), tries=40,
)

# %% [markdown]
# **By training.** Does gradient descent find this? Four layers with 1, 2, 4 and 8 heads, all with total width 8 and so with the same number of parameters, learn from fresh clocks. Each is trained from five random starts; the five
# run side by side as one more axis, and since Adam treats every weight by itself they do not disturb each other.

# %%
@dataclass(frozen=True)
class Run:
    heads: int
    width: int = 8  # of all heads together
    starts: int = 5  # layers trained side by side
    steps: int = 300
    batch: int = 16  # clocks per step
    rate: float = 0.05  # step size of Adam

@dataclass(frozen=True)
class Record:
    history: torch.Tensor  # (steps, starts), error on the clocks of each step
    error: torch.Tensor  # (starts,), on 1000 new clocks
    maps: torch.Tensor  # (starts, heads, 12, 12), mean over the new clocks

# %%
def train(run):
    g, R, h = torch.Generator().manual_seed(0), run.starts, run.heads
    W = [torch.randn(R, h, 8, run.width // h, generator=g) / 8**0.5 for _ in range(3)]
    W.append(torch.randn(R, run.width, 6, generator=g) / run.width**0.5)
    optimizer = torch.optim.Adam([p.requires_grad_() for p in W], lr=run.rate)
    history = []
    for _ in range(run.steps):
        losses = error(*clocks(run.batch, g), *W)
        optimizer.zero_grad()
        losses.sum().backward()
        optimizer.step()
        history.append(losses.detach())
    with torch.no_grad():
        x, y = clocks(1000, g)
        return Record(torch.stack(history), error(x, y, *W), layer(x, *W)[1].mean(1))

# %%
records = {h: train(Run(heads=h)) for h in (1, 2, 4, 8)}
for h, record in records.items():
    low, high = record.error.aminmax()
    print(f'heads: {h}, error of the best layer {low:.2f}, of the worst {high:.2f}')
print(records[1].error,records[8].error)
assert records[2].error.max() < 0.01 and records[4].error.max() < 0.01

# %% mystnb={"image": {"alt": "Error against training step. Layers with two and four heads fall to zero. Most layers with one head stop at the bound one half, one of them near 0.8, where all layers with eight heads stay."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.2, 3))
ax.axhline(0.5, color=GREY, lw=1, ls='--')
ax.axhline(11 / 12, color=GREY, lw=1, ls='--')
for i, (h, record) in enumerate(records.items()):
    smooth = record.history.unfold(0, 10, 10).mean(-1)  # means over ten steps
    for start, line in enumerate(smooth.T):
        ax.plot(range(10, 310, 10), line, color=f'C{i}', lw=1, label='' if start else f'{h} head' + 's' * (h > 1))
ax.text(298, 0.93, 'mean of all tokens', ha='right', va='bottom', color=GREY)
ax.text(298, 0.45, 'bound for one head', ha='right', va='top', color=GREY)
ax.set(xlabel='training step', ylabel='mean squared error', ylim=(-0.03, 1.15), xlim=(0, 300))
label_lines(ax);

# %% mystnb={"image": {"alt": "Attention maps of 12 by 12 hours. A single head shows one sharp diagonal or, in another layer, a blurred plaid. Two heads show one sharp falling and one sharp rising diagonal. Heads of the eight-headed layer show plaids only."}} tags=["hide-input"]
one, pair_, many = records[1], records[2], records[8]
shown = [one.maps[one.error.argmin(), 0], one.maps[one.error.argmax(), 0], *pair_.maps[0], *many.maps[0, :4]]
titles = ['one head, best', 'one head, worst', 'two heads: first', 'two heads: second', *(f'eight heads: {i + 1}' for i in range(4))]
fig, axes = panels(4, 2, height=1.85)
for ax, picture, title in zip(axes.flat, shown, titles, strict=True):
    show_image(ax, picture, cmap='viridis', vmin=0, vmax=1)
    ax.set_title(title, fontsize=8.5)
axes[1, 0].set(xlabel='key: hour 0 to 11', ylabel='query: hour 0 to 11');

# %% [markdown]
# Two heads do in every run what we did by hand: one becomes the shift, the other the reversal. Nobody told them to divide the work; the bound makes it the only way. Four heads also succeed, with width to spare. One head chooses *one* of its two duties, does it perfectly, and stops just above
# the bound. (It may even look at the cards when it chooses where to look, which the theorem forbids. It gains nothing from that.)
#
# The two failures remain, and they are the same failure. The worst of the single heads tried to please both wishes with one query, the sum of the rotated and the reflected hand. With $t = 30°i$ and the addition formulas,
#
# ```{math}
# :label: eq-mha-plaid
# \mathbf{p}_{i-1} + \mathbf{p}_{-i} = \begin{bmatrix} \cos(t - 30°) + \cos t \\ \sin(t - 30°) - \sin t \end{bmatrix}
# = 2 \cos(t - 15°) \begin{bmatrix} \cos 15° \\ -\sin 15° \end{bmatrix}.
# ```
#
# A rotation plus a reflection has rank one: the clock collapses onto a line, and the scores become a product $f_i\, g_j$ with $f_i = \cos(30°i - 15°)$ and $g_j = \cos(30°j + 15°)$. That product is the plaid in the second map, and here is the test:

# %%
logs = one.maps[one.error.argmax(), 0].log()
centred = logs - logs.mean(1, keepdim=True)  # a softmax does not see constants per row
plaid = torch.outer(torch.cos(hour * torch.pi / 6 - torch.pi / 12), torch.cos(hour * torch.pi / 6 + torch.pi / 12))
likeness = F.cosine_similarity(centred.flatten(), plaid.flatten(), dim=0)
assert likeness > 0.99
print(f'cosine between the scores of the stuck head and the product: {likeness:.2f}')

# %% [markdown]
# A head among eight has width one, and *all* its scores have rank one: it can draw plaids and nothing else, so eight heads fail where two succeed. This is the low-rank bottleneck {cite}`bhojanapalli2020lowrank`. More heads ask
# more questions, and each question gets shorter. In trained translation models the balance often leaves room: many heads can be removed afterwards at little loss {cite}`michel2019sixteen,voita2019analyzing`.
#
# ```{exercise} ★★★ The favourites of a head of width one
# :label: mha-favourites
#
# A head of width one has scores $f_i g_j$. Call key $j$ a favourite if it has the largest score for at least one query. Write `favourites(f, g)`, the number of favourites, without forming the matrix of scores; all entries of
# `f` are nonzero and those of `g` distinct. Then explain why width two suffices to make every hour of the clock a favourite.
# ```

# %%
def favourites(f, g):
    raise NotImplementedError('your turn')

# %%
def by_all_scores(f, g):
    return len(set(torch.outer(f, g).argmax(1).tolist()))

numbers = torch.Generator().manual_seed(9)
f, g = torch.randn(2, 12, generator=numbers)
cases = [(f, g), (f.abs(), g), (-f.abs(), g), (f[:1], g[:1]), (f, g[:1])]
grade(favourites, by_all_scores, cases)

# %% [markdown]
# ```{solution-start} mha-favourites
# :class: dropdown
# ```
# A query with $f_i > 0$ prefers the largest $g_j$, one with $f_i < 0$ the smallest: there are never more than two favourites. In the plane the score is $\mathbf{f}_i^{\mathsf{T}}\mathbf{g}_j$, and the winner is the key that lies farthest in the direction of
# $\mathbf{f}_i$. Keys on a circle all have a direction in which they lie farthest, their own.

# %% jupyter={"source_hidden": true}
def favourites_solution(f, g):
    return min(len(g), int((f > 0).any()) + int((f < 0).any()))

def always_two(f, g):
    return min(len(g), 2)

assert grade(favourites_solution, by_all_scores, cases)
assert not grade(always_two, by_all_scores, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Summary
#
# One head brings one weighted mean, and $h$ means whose weights do not depend on what they carry serve at most $h$ needs; several heads, whose outputs are simply added after a projection, ask several questions at no cost in parameters or
# multiplications. The layer is a handful of axis moves that fail silently when reordered, so it was compared with torch in values, gradients and masks, including the row that is masked entirely. Heads see a set, not a sequence, and
# buy their number with their width: on a clock two heads find a rotation and a reflection, one must choose, and eight are too narrow for either.
#
# Further reading: {cite}`vaswani2017attention` introduced the layer; {cite}`zhang2023dive` builds it step by step; {cite}`elhage2021mathematical` takes heads apart into *where to look* and *what to bring*.
