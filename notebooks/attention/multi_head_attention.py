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
# - **Question.** A token often needs two things from two places at once. Why can one attention not bring both, and
#   what does it take to bring $h$ of them?
# - **You need** matrix products and the softmax ([Cross-entropy](../classification/cross_entropy.ipynb)).
# - **You build** the multi-head layer in three ways, equal to `torch.nn.MultiheadAttention` in values, gradients and
#   masks.
# - **Time** 10 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %%
from dataclasses import dataclass

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from matplotlib.colors import ListedColormap
from torch import nn

from nbutils.cases import integers, seeds
from nbutils.checks import close, grade, holds
from nbutils.figures import GREY, label_lines, panels, show_image
from nbutils.timing import seconds

plt.style.use('nbutils.book')
torch.set_default_dtype(torch.float64)

# %% [markdown]
# *The cat that chased the mice sleeps.* To choose the ending of *sleeps* one has to look back to *cat*; to know that
# the clause is over, to *mice*. Two questions, two places, one moment.
#
# Attention answers one question. A token asks with a *query* $\mathbf{q}_i$, every token offers a *key*
# $\mathbf{k}_j$ and a *value* $\mathbf{v}_j$, and what comes back is a mean of the values. The better a key agrees
# with the query, the more its value weighs:
#
# ```{math}
# :label: eq-mha-attend
# \mathbf{z}_i = \sum_{j=1}^{m} A_{ij}\, \mathbf{v}_j, \qquad
# A_{ij} = \frac{e^{s_{ij}}}{\sum_{l=1}^{m} e^{s_{il}}}, \qquad
# s_{ij} = \frac{\mathbf{q}_i^\top \mathbf{k}_j}{\sqrt{d}}.
# ```
#
# With queries, keys and values as the rows of matrices this is $\mathrm{Attention}(\mathbf{Q}, \mathbf{K}, \mathbf{V}) =
# \mathrm{softmax}(\mathbf{Q}\mathbf{K}^\top/\sqrt{d})\,\mathbf{V}$, the softmax taken along each row. The root is there
# because $\mathbf{q}^\top\mathbf{k}$ is a sum of $d$ products: if these are uncorrelated with mean zero and variance one,
# its standard deviation is $\sqrt{d}$, and undivided, for large $d$, it would saturate the softmax.
#
# The whole section rests on one function. A mask sets the scores of hidden keys to $-\infty$, which makes their weights
# zero, unless it hides all keys: then the softmax is $0/0$. So hidden weights are set to zero once more: a token that
# may look nowhere fetches nothing.

# %%
def attend(q, k, v, keep=None):
    """Means of the rows of v, and their weights; keep: True where to look."""
    scores = q @ k.mT / q.shape[-1] ** 0.5  # (..., n, m)
    if keep is not None:
        scores = scores.masked_fill(~keep, -torch.inf)
    weights = scores.softmax(-1)
    if keep is not None:
        weights = weights.masked_fill(~keep, 0)  # not 0/0 in empty rows
    return weights @ v, weights  # (..., n, d_v), (..., n, m)

# %% [markdown]
# ## Two needs, one mean
#
# Suppose that a token needs entry 1 of the token at place $j_1$ and entry 2 of the token at place $j_2$. One row of
# weights must serve both. Look only at $j_1$, and the second need gets nothing; look at both, and the two tokens
# arrive mixed. How bad is the best compromise? There is an exact answer, for any number of needs.
#
# ````{prf:theorem} No more needs than means
# :label: thm-mha-needs
#
# Let $\mathbf{x}_1, \dots, \mathbf{x}_n \in \mathbb{R}^r$ be random tokens, all of whose $nr$ entries are
# uncorrelated with mean zero and variance one, and let $j_1, \dots, j_r$ be distinct places. Given are $h$ weighted
# means $\mathbf{z}^s = \sum_j \alpha^s_j \mathbf{x}_j$ whose weights do not depend on the entries. However
# $x_{j_1,1}, \dots, x_{j_r,r}$ are estimated by linear functions of $\mathbf{z}^1, \dots, \mathbf{z}^h$, with or
# without a constant, the expected squared errors add up to at least $r - h$.
# ````
#
# ````{prf:proof}
# A linear estimate of need $t$ has the form $\sum_u \sum_j \beta_{u,j}\, x_{j,u}$, where each vector
# $\boldsymbol\beta_u \in \mathbb{R}^n$ is a combination of the weight rows
# $\boldsymbol\alpha^1, \dots, \boldsymbol\alpha^h$, so lies in their span $S$. As the entries are uncorrelated with
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
# If each need is a block of $c$ entries instead of one, both sides are multiplied by $c$: at most the fraction $h/r$
# of what is wanted can be explained. To test the theorem, draw softmax rows at random, then tokens, and let least
# squares find the best estimates:

# %%
g = torch.Generator().manual_seed(2)
r, n, N = 3, 4, 20000
places = torch.arange(r)
for h in (1, 2, 3):
    alpha = (4 * torch.randn(h, n, generator=g)).softmax(-1)  # (h, n)
    x = torch.randn(N, n, r, generator=g)
    means = torch.einsum('hj,Nju->Nhu', alpha, x).flatten(1)  # (N, h r)
    wanted = x[:, places, torch.arange(r)]  # (N, r)
    best = means @ torch.linalg.lstsq(means, wanted).solution
    found = (best - wanted).square().mean(0).sum()
    P = torch.linalg.pinv(alpha) @ alpha  # (n, n)
    theory = r - P[places, places].sum()
    assert abs(found - theory) < 0.1 and theory >= r - h
    print(f'heads: {h}, error {found:.2f}, theory {theory:.2f}, bound {r - h}')

# %% [markdown]
# (The band is more than five standard errors: three independent mean squares, each with standard deviation at most
# $\sqrt{2/20000} = 0.01$.) For one mean and two needs the proof gives more than a bound. Put the share $p$ of the weight on
# the first place and the rest on the second: the errors are $1 - p^2/(p^2 + (1-p)^2)$ and $1 - (1-p)^2/(p^2 + (1-p)^2)$,
# and they add up to one *whatever* $p$ is.

# %%
share = torch.linspace(0, 1, 101)
row = torch.stack([share, 1 - share])  # (2, 101)
missed = 1 - row**2 / (row**2).sum(0)  # error of each need
together = missed.sum(0)
assert close(together, torch.ones(101))

# %% mystnb={"figure": {"caption": "One weighted mean cannot serve two needs: what the first gains the second loses, and their expected squared errors add up to one however the attention is shared."}, "image": {"alt": "The error of the first need falls from one to zero as its share of the attention grows, that of the second rises from zero to one, and their sum stays flat at one"}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5, 2.6))
ax.plot(share, missed[0], label='first need')
ax.plot(share, missed[1], label='second need')
ax.plot(share, together, label='both together')
ax.set(xlabel='share of the attention on the first place', xlim=(0, 1))
ax.set(ylabel='expected squared error', ylim=(-0.03, 1.1))
label_lines(ax);

# %% [markdown]
# Dividing one attention is a zero-sum game. The way out is as plain as the theorem: ask twice.
#
# ```{exercise} ★★ Two heads that look nearly alike
# :label: mha-noise
#
# Two weight rows on the same two places span both of them however nearly parallel they are, so two heads that look
# nearly alike can still serve two needs. Now let each entry of each mean arrive with independent noise of standard
# deviation $s > 0$. Write `noisy_error(alpha, places, s)`, the least sum of expected squared errors, for `alpha` of
# shape $(h, n)$. Hint: for one need, minimize
# $\|\mathbf{A}^\top\mathbf{c} - \mathbf{e}\|^2 + s^2\|\mathbf{c}\|^2$ over $\mathbf{c} \in \mathbb{R}^h$,
# where $\mathbf{A}$ is `alpha`.
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
cases = [(rows, [0, 1], s) for rows in (alike, apart) for s in (0.1, 0.5)]
leaky = torch.tensor([[0.5, 0.2, 0.3], [0.1, 0.3, 0.6]])
cases.append((leaky, [2, 0], 0.5))
grade(noisy_error, by_least_squares, cases)

# %% [markdown]
# ```{solution-start} mha-noise
# :class: dropdown
# ```
# Setting the gradient to zero gives
# $(\mathbf{A}\mathbf{A}^\top + s^2\mathbf{I})\,\mathbf{c} = \mathbf{A}\mathbf{e}$, and there the sum is
# $1 - \mathbf{e}^\top\mathbf{A}^\top(\mathbf{A}\mathbf{A}^\top + s^2\mathbf{I})^{-1}\mathbf{A}\mathbf{e}$.
# With noise of 0.1, heads that look apart lose almost nothing and heads that look alike a quarter of everything: they
# must be subtracted to be told apart, and subtraction amplifies noise.

# %% jupyter={"source_hidden": true}
def noisy_error_solution(alpha, places, s):
    seen = alpha[:, places]  # (h, r)
    gram = alpha @ alpha.T + s**2 * torch.eye(len(alpha))
    return len(places) - (seen * torch.linalg.solve(gram, seen)).sum()

def square_forgotten(alpha, places, s):
    return noisy_error_solution(alpha, places, s**0.5)

assert grade(noisy_error_solution, by_least_squares, cases)
assert not grade(square_forgotten, by_least_squares, cases)
for name, rows in ('alike', alike), ('apart', apart):
    print(f'{name}: {noisy_error_solution(rows, [0, 1], 0.1):.3f} of 2')

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Several heads
#
# A *head* is an attention with projections of its own. Three learned matrices let it decide by itself what to ask,
# what to be found by and what to bring. One more matrix merges what several of them bring.
#
# ````{prf:definition} Multi-head attention
# :label: def-mha
#
# For $\mathbf{Q} \in \mathbb{R}^{n \times d_k}$, $\mathbf{K} \in \mathbb{R}^{m \times d_k}$,
# $\mathbf{V} \in \mathbb{R}^{m \times d_v}$,
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
def heads(Q, K, V, *W):  # W: W_Q, W_K, W_V, each (h, d, d with a tilde)
    per_head = zip(*W, strict=True)
    return [attend(Q @ A, K @ B, V @ C)[0] for A, B, C in per_head]

def multi_head(Q, K, V, W_Q, W_K, W_V, W_O):
    return torch.cat(heads(Q, K, V, W_Q, W_K, W_V), -1) @ W_O  # (n, d_o)

# %% [markdown]
# The oracle is `torch.nn.MultiheadAttention`. It keeps the matrices of all heads in one, transposed, and always takes
# $\tilde d_k = \tilde d_v = d_k/h$ and $d_o = d_k$. Two careless variants are refused: scores divided by the root of
# the *unprojected* size, and heads interleaved feature by feature.

# %%
def draw(seed, h=2, d_k=8, d_v=10, dt_k=4, dt_v=4, d_o=8, n=5, m=7):
    """Q, K, V, W_Q, W_K, W_V, W_O; dt is d with a tilde."""
    g = torch.Generator().manual_seed(seed)
    inputs = (n, d_k), (m, d_k), (m, d_v)
    weights = (h, d_k, dt_k), (h, d_k, dt_k), (h, d_v, dt_v), (h * dt_v, d_o)
    return [torch.randn(size, generator=g) for size in inputs + weights]

def torch_layer(W_Q, W_K, W_V, W_O):
    h, d, d_v = len(W_Q), W_Q.shape[1], W_V.shape[1]
    layer = nn.MultiheadAttention(d, h, bias=False, vdim=d_v, batch_first=True)
    parts = [W.mT.flatten(0, 1) for W in (W_Q, W_K, W_V)]  # (h dt, d)
    if d == d_v:
        state = {'in_proj_weight': torch.cat(parts)}
    else:
        names = [f'{letter}_proj_weight' for letter in 'qkv']
        state = dict(zip(names, parts, strict=True))
    layer.load_state_dict(state | {'out_proj.weight': W_O.T})
    return layer

# %%
def head_agrees(seed, size):  # size: what stands under the root
    Q, K, V, W_Q, W_K, W_V, _ = draw(seed)
    want = F.scaled_dot_product_attention(
        Q @ W_Q, K @ W_K, V @ W_V, scale=size**-0.5,
    )
    return close(torch.stack(heads(Q, K, V, W_Q, W_K, W_V)), want)

holds(
    'la.mha.head',
    lambda seed: head_agrees(seed, size=4),
    control=lambda seed: head_agrees(seed, size=8),
    seed=seeds(), tries=60,
)

# %%
def interleaved(*drawn):
    *inputs, W_O = drawn
    return torch.stack(heads(*inputs), -1).flatten(-2) @ W_O

def layer_agrees(seed, form):
    Q, K, V, *W = draw(seed)
    return close(form(Q, K, V, *W), torch_layer(*W)(Q, K, V)[0])

holds(
    'la.mha.multihead',
    lambda seed: layer_agrees(seed, multi_head),
    control=lambda seed: layer_agrees(seed, interleaved),
    seed=seeds(), tries=40,
)

# %% [markdown]
# The notes quote {cite}`vaswani2017attention` around these formulas: the projections go "to $d_k$, $d_k$ and $d_v$
# dimensions", and attention yields "$d_v$-dimensional output values". In that paper $d_k$ and $d_v$ are the
# *projected* sizes, which in the notes wear a tilde; so read $\tilde d_k$ and $\tilde d_v$. More than a letter hangs
# on it: the scores of a head are a product of an $n \times \tilde d_k$ and a $\tilde d_k \times m$ matrix, so their
# rank is at most $\tilde d_k$, however large $d_k$ is. This will decide an experiment.

# %% tags=["hide-input"]
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
    changes = [(which, axis) for which in (3, 4, 5, 6) for axis in (-2, -1)]
    others = [fits(*one_more(drawn, *change)) for change in changes]
    return fits(*drawn) and others == 7 * [False] + [True]  # d_o alone is free

def h_forgotten(dt_v, d_o, **sizes):
    *inputs, _ = draw(0, dt_v=dt_v, d_o=d_o, **sizes)
    return fits(*inputs, torch.ones(dt_v, d_o))

# %% tags=["hide-input"]
sizes = dict.fromkeys(['d_k', 'd_v', 'dt_k', 'dt_v', 'd_o'], integers(1, 6))
sizes |= {'h': integers(1, 4)}
holds(
    'la.mha.weight-shapes', only_these_fit, control=h_forgotten,
    **sizes, tries=40,
)

# %% tags=["hide-input"]
def scores_have_rank(rank, d_k, dt_k):  # 5 queries, 7 keys
    Q, K, _, W_Q, W_K, *_ = draw(0, d_k=d_k, dt_k=dt_k)
    return torch.linalg.matrix_rank(Q @ W_Q[0] @ (K @ W_K[0]).T) == rank

holds(
    'la.mha.quote-projected-dims',
    lambda **s: scores_have_rank(min(5, s['d_k'], s['dt_k']), **s),
    control=lambda **s: scores_have_rank(min(5, s['d_k']), **s),
    d_k=integers(1, 6), dt_k=integers(1, 6), tries=60,
)

def widths(**sizes):  # of a head, of all side by side, of the result
    *inputs, W_O = draw(0, **sizes)
    out = heads(*inputs)
    result = multi_head(*inputs, W_O)
    return out[0].shape[1], torch.cat(out, -1).shape[1], result.shape[1]

holds(
    'la.mha.quote-output-dims',
    lambda **s: widths(**s) == (s['dt_v'], s['h'] * s['dt_v'], s['d_o']),
    control=lambda **s: widths(**s) == (s['d_v'], s['h'] * s['d_v'], s['d_o']),
    **sizes, tries=60,
)

# %% [markdown]
# ### Self-attention, and what a head is
#
# In *self-attention* queries, keys and values come from the same tokens $\mathbf{X} \in \mathbb{R}^{T \times D}$:
#
# ```{math}
# :label: la.mha.self
# \begin{gathered}
# \mathrm{MultiHead}(\mathbf{X}, \mathbf{X}, \mathbf{X}), \\
# d_v = d_k = D, \quad \tilde d_v = \tilde d_k, \quad \text{embedding dimension } h \tilde d_v .
# \end{gathered}
# ```
#
# Here $d_v = d_k$ is forced, since both are the width of $\mathbf{X}$; $\tilde d_v = \tilde d_k$ is a habit. With $H$
# heads of width $D_h$, one head reads
#
# ```{math}
# :label: ml.tf.multihead.head
# \mathbf{Z}_h = \mathrm{softmax}\Big( \frac{\mathbf{X}\mathbf{W}_{Q,h}\mathbf{W}_{K,h}^\top\mathbf{X}^\top}{\sqrt{D_K}} \Big)\, \mathbf{X}\mathbf{W}_{V,h} \in \mathbb{R}^{T \times D_h}, \quad D_K = D_h .
# ```
#
# The scan of the notes shows $\mathbf{W}_V$ in the place of $\mathbf{W}_K$, and the last matrix without its $V$. All
# three have the same shape, so the damaged formula runs without complaint; only its numbers give it away. The heads
# are then joined,
#
# ```{math}
# :label: ml.tf.multihead.concat
# \mathbf{Z} = [\mathbf{Z}_1, \dots, \mathbf{Z}_H]\, \mathbf{W}_o = \sum_{h=1}^{H} \mathbf{Z}_h \mathbf{W}_o^{(h)}, \qquad \mathbf{W}_o \in \mathbb{R}^{H D_h \times D},
# ```
#
# where $\mathbf{W}_o^{(h)}$ is the $h$-th block of $D_h$ consecutive rows of $\mathbf{W}_o$. The second form is the
# product of block matrices, and it deserves a pause: *concatenate and project* means *add up*. With $\mathbf{A}_h$
# for the softmax of {eq}`ml.tf.multihead.head` the layer is
# $\sum_h \mathbf{A}_h \mathbf{X}\, (\mathbf{W}_{V,h}\mathbf{W}_o^{(h)})$. So a head is two things: a map of *where to
# look*, made by $\mathbf{W}_{Q,h}\mathbf{W}_{K,h}^\top$, and a rule for *what to bring*,
# $\mathbf{W}_{V,h}\mathbf{W}_o^{(h)}$ {cite}`elhage2021mathematical`.

# %% tags=["hide-input"]
def draw_self(seed, H=3, D_h=4):
    D = H * D_h
    X, _, _, *W = draw(seed, h=H, d_k=D, d_v=D, dt_k=D_h, dt_v=D_h, d_o=D)
    return X, *W

def Z(X, W_Q, W_K, W_V):  # (H, T, D_h), the formula as it stands
    scores = X @ W_Q @ W_K.mT @ X.T / W_K.shape[-1] ** 0.5
    return scores.softmax(-1) @ X @ W_V

def head_formula_agrees(seed, values_as_keys=False):
    X, W_Q, W_K, W_V, _ = draw_self(seed)
    found = Z(X, W_Q, W_V if values_as_keys else W_K, W_V)
    layer = torch_layer(W_Q, W_K, W_V, torch.eye(12))  # shows the heads
    return close(torch.cat(list(found), -1), layer(X, X, X)[0])

holds(
    'ml.tf.multihead.head',
    lambda seed: head_formula_agrees(seed),
    control=lambda seed: head_formula_agrees(seed, values_as_keys=True),
    seed=seeds(), tries=40,
)

# %% tags=["hide-input"]
def consecutive(W_o):  # (H, D_h, D)
    return W_o.unflatten(0, (3, 4))

def every_third(W_o):
    return W_o.unflatten(0, (4, 3)).transpose(0, 1)

def adds_up(seed, blocks):
    X, *W = draw_self(seed)
    terms = Z(X, *W[:3]) @ blocks(W[3])
    return close(terms.sum(0), torch_layer(*W)(X, X, X)[0])

holds(
    'ml.tf.multihead.concat',
    lambda seed: adds_up(seed, consecutive),
    control=lambda seed: adds_up(seed, every_third),
    seed=seeds(), tries=40,
)

# %% tags=["hide-input"]
def self_agrees(seed, H, D_h, form):
    X, *W = draw_self(seed, H, D_h)
    layer = torch_layer(*W)
    agrees = close(form(X, X, X, *W), layer(X, X, X)[0])
    return agrees and layer.embed_dim == H * D_h

holds(
    'la.mha.self',
    lambda seed, H, D_h: self_agrees(seed, H, D_h, multi_head),
    control=lambda seed, H, D_h: self_agrees(seed, H, D_h, interleaved),
    seed=seeds(), H=integers(1, 4), D_h=integers(1, 4), tries=40,
)

# %% [markdown]
# A small restoration remains. The notes cite an author "Kaiser, u."; the check finds out how he lost his initial. A
# program dropped the letter Ł, which TeX writes as `\L` in `\L ukasz`.

# %% tags=["hide-input"]
tex = (
    r'Vaswani, Ashish and Shazeer, Noam and Parmar, Niki'
    r' and Uszkoreit, Jakob and Jones, Llion and Gomez, Aidan N.'
    r' and Kaiser, \L ukasz and Polosukhin, Illia'
)
restored = (
    'Vaswani, A., Shazeer, N., Parmar, N., Uszkoreit, J., '
    'Jones, L., Gomez, A. N., Kaiser, Ł., Polosukhin, I.'
)

def short(person):
    last, first = person.split(', ')
    return ', '.join([last, ' '.join(f'{name[0]}.' for name in first.split())])

def cited(tex, crossed_l):
    people = tex.replace(r'\L ', crossed_l).split(' and ')
    return ', '.join(map(short, people))

assert 'Kaiser, u.' in cited(tex, crossed_l='')
holds(
    'la.mha.citation',
    lambda: cited(tex, crossed_l='Ł') == restored,
    control=lambda: cited(tex, crossed_l='') == restored,
)

# %% [markdown]
# ```{exercise} ★★ Other weights, same layer
# :label: mha-gauge
#
# Let $\mathbf{G}$ be an invertible $\tilde d_k \times \tilde d_k$ matrix. Someone replaces $\mathbf{W}^K$ by
# $\mathbf{W}^K\mathbf{G}$. Write `repair(W_Q, G)`, the matrix that must replace $\mathbf{W}^Q$ so that all scores
# stay what they were.
# ```

# %%
def repair(W_Q, G):
    raise NotImplementedError('your turn')

# %%
def products(answer):  # the matrix between X and its transpose in the scores
    return lambda W_Q, W_K, G: answer(W_Q, G) @ (W_K @ G).T

def product_before(W_Q, W_K, G):
    return W_Q @ W_K.T

numbers = torch.Generator().manual_seed(2)
drawn = torch.randn(3, 15, 3, generator=numbers)
cases = [tuple(each.split([6, 6, 3])) for each in drawn]
grade(products(repair), product_before, cases)

# %% [markdown]
# ```{solution-start} mha-gauge
# :class: dropdown
# ```
# We need $\mathbf{W}'(\mathbf{W}^K\mathbf{G})^\top = \mathbf{W}'\mathbf{G}^\top(\mathbf{W}^K)^\top =
# \mathbf{W}^Q(\mathbf{W}^K)^\top$, so $\mathbf{W}' = \mathbf{W}^Q\mathbf{G}^{-\top}$ will do. The same freedom exists
# between $\mathbf{W}^V_i$ and its block of $\mathbf{W}^O$. A single entry of $\mathbf{W}^Q$ therefore means nothing by
# itself; only the products do.

# %% jupyter={"source_hidden": true}
def repair_solution(W_Q, G):
    return torch.linalg.solve(G, W_Q.T).T

def transpose_forgotten(W_Q, G):
    return W_Q @ torch.linalg.inv(G)

assert grade(products(repair_solution), product_before, cases)
assert not grade(products(transpose_forgotten), product_before, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The layer line by line
#
# The loop over the heads is easy to read, but nobody runs it. The notes give, as pseudocode, the form that everybody
# runs: one `Linear` makes the queries, keys and values of all heads, and axes are moved until one batched product
# serves them all. Every line of it can go wrong *silently*, with the right shape and the wrong numbers. So let us run
# it, with a name for the result of each step.

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
    return dict(
        x=x, flat=flat, cut=cut, qkv=qkv, q=q, k=k, v=v, attention=attention,
        values=values, back=back, joined=joined, out=out,
    )

# %%
def linear(d_in, d_out, generator):
    layer = nn.Linear(d_in, d_out).requires_grad_(False)
    for p in layer.parameters():
        nn.init.normal_(p, generator=generator)
    return layer

g = torch.Generator().manual_seed(1)
batch_size, seq_length, input_dim, embed_dim, num_heads = 2, 5, 7, 24, 4
head_dim = embed_dim // num_heads
qkv_proj = linear(input_dim, 3 * embed_dim, g)
o_proj = linear(embed_dim, embed_dim, g)
x = torch.randn(batch_size, seq_length, input_dim, generator=g)
step = pseudocode(x, qkv_proj, o_proj, num_heads)
for name, tensor in step.items():
    print(f'{name:9}', tuple(tensor.shape))

# %% [markdown]
# All sizes differ, so the shapes that the notes write beside their lines are tested here, not just repeated. Now line
# by line.
#
# **The width of a head.** Write $E$ for `embed_dim`, $H$ for `num_heads` and $d$ for `head_dim`. A comment in the
# notes says
#
# ```{math}
# :label: la.mha.pseudocode.head-dim
# 3E = H \cdot 3d, \qquad d = \lfloor E / H \rfloor .
# ```
#
# This is true exactly when $H$ divides $E$, which they do not say: with 13 features and 3 heads the floor leaves
# $36 \ne 39$, and `reshape` raises an error.
#
# **Project and cut.** `Linear` treats every token alone. `reshape` keeps the order of the numbers in memory: feature
# $3dh + c$ of `flat` becomes entry $c$ of head $h$, all counted from zero. `permute` then carries the head axis
# forward past the tokens.

# %% tags=["hide-input"]
def reshapes(E, H):
    wanted = 2, H, 3 * (E // H)
    try:
        return torch.zeros(2, 3 * E).reshape(wanted).shape == wanted
    except RuntimeError:
        return False

holds(
    'la.mha.pseudocode.head-dim',
    lambda E, H: reshapes(E, H) == (3 * E == H * 3 * (E // H)) == (E % H == 0),
    control=lambda E, H: 3 * E == H * 3 * (E // H),
    E=integers(1, 30), H=integers(1, 8),
)

# %% tags=["hide-input"]
W, b, flat, cut = qkv_proj.weight, qkv_proj.bias, step['flat'], step['cut']
holds(
    'la.mha.pseudocode.qkv-shape',
    lambda t: close(flat[:, t], x[:, t] @ W.T + b),
    control=lambda t: close(flat[:, t], x[:, t] @ W.reshape(7, 72) + b),
    t=integers(0, 4),
)
holds(
    'la.mha.pseudocode.reshape',
    lambda h, c: close(cut[..., h, c], flat[..., 18 * h + c]),
    control=lambda h, c: close(cut[..., h, c], flat[..., 4 * c + h]),
    h=integers(0, 3), c=integers(0, 17),
)

# %% [markdown]
# Why not reshape straight to `(batch_size, num_heads, seq_length, 3 * head_dim)`? The shape would be right. But a
# reshape deals the numbers out in the order in which they lie, so the first head would receive *all* features of the
# first tokens, instead of *its* features of all tokens:

# %%
S, E, H = 6, 12, 3
owner = torch.arange(H).repeat_interleave(S * E // H)  # as it lies
wrong = owner.reshape(S, E)  # which head gets this number
right = owner.reshape(H, S, E // H).permute(1, 0, 2).reshape(S, E)

# %% mystnb={"figure": {"caption": "Left: reshaped, then permuted, each head gets its own features of all tokens. Right: a single reshape has the right shape too, but gives each head all features of two tokens."}, "image": {"alt": "Two grids of tokens by features coloured by head. With reshape and permute each head owns a block of columns, so some features of every token; with one reshape each head owns two whole tokens."}} tags=["hide-input"]
fig, axes = panels(2, height=2.2)
colours = ListedColormap(['C0', 'C1', 'C2'])
axes[0].set(title='reshape, then permute', ylabel='token')
axes[1].set(title='one reshape')
for ax, grid in zip(axes, (right, wrong), strict=True):
    ax.pcolormesh(grid, cmap=colours, edgecolor=GREY, lw=0.5, alpha=0.6)
    ax.set(xticks=[0, 4, 8, 12], yticks=[0, 2, 4, 6], ylim=(6, 0))
    ax.set(xlabel='feature (colour: head)');

# %% [markdown]
# **Three parts per head.** `chunk` splits the last axis *inside each head*. So the rows of the weight of `qkv_proj`
# come head by head, $q_1 k_1 v_1\, q_2 k_2 v_2 \dots$, while torch stacks them role by role. Weights copied from one
# to the other without reordering give a layer that runs, and computes something else.

# %% mystnb={"figure": {"caption": "The notes order the rows of the weight head by head, torch role by role. Weights copied from one to the other without reordering run, but make another layer."}, "image": {"alt": "Two strips of nine blocks. In the notes the blocks come as q1 k1 v1 q2 k2 v2 q3 k3 v3, in torch as q1 q2 q3 k1 k2 k3 v1 v2 v3."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 1.5))
by_head = [(role, h) for h in (1, 2, 3) for role in 'qkv']
by_role = [(role, h) for role in 'qkv' for h in (1, 2, 3)]
for y, order in enumerate((by_head, by_role)):
    for i, (role, h) in enumerate(order):
        c = f'C{"qkv".index(role)}'
        ax.barh(y, 3.8, left=4 * i + 0.1, height=0.7, color=c, alpha=0.2)
        ax.text(4 * i + 2, y, f'${role}_{h}$', color=c, fontsize=11,
                ha='center', va='center')
ax.set(yticks=[0, 1], yticklabels=['notes', 'torch'], ylim=(1.5, -0.5))
ax.set(xticks=range(0, 37, 4), xlim=(0, 36), xlabel='row of the weight')
ax.spines[:].set_visible(False);

# %% tags=["hide-input"]
qkv = step['qkv']
reshaped = cut.reshape(qkv.shape)
holds(
    'la.mha.pseudocode.permute',
    lambda h, t: close(qkv[:, h, t], cut[:, t, h]),
    control=lambda h, t: close(reshaped[:, h, t], cut[:, t, h]),
    h=integers(0, 3), t=integers(0, 4),
)

def part_agrees(role, h, block):  # block: which block of 6 rows it is
    rows = slice(6 * block, 6 * block + 6)
    return close(step['qkv'[role]][:, h], x @ W[rows].T + b[rows])

holds(
    'la.mha.pseudocode.chunk',
    lambda role, h: part_agrees(role, h, 3 * h + role),
    control=lambda role, h: part_agrees(role, h, 4 * role + h),
    role=[0, 1, 2], h=integers(0, 3),
)

# %% [markdown]
# **The one function left open.** The notes call `scaled_dot_product(q, k, v, mask=mask)` and define neither it nor
# the mask. It is our `attend`, on the last two axes; batch and heads just come along. What the mask means has to be
# *said*: here, and in `F.scaled_dot_product_attention`, `True` means *may be looked at*, while in
# `nn.MultiheadAttention` it means *blocked*. A mask with fewer axes is broadcast, so one of shape $(S, S)$ serves all
# heads.
#
# **And back.** Swapping the two axes once more brings token and head into their old order, and only then may the last
# two axes be merged: that is the $\mathrm{Concat}$ of {eq}`la.mha.multihead`. The output projection ends the layer.

# %% tags=["hide-input"]
def sdp_agrees(seed, blocked=False):
    g = torch.Generator().manual_seed(seed)
    q, k, v = torch.randn(3, 2, 3, 5, 4, generator=g)
    keep = (torch.rand(5, 5, generator=g) < 0.5) | torch.eye(5, dtype=bool)
    mixed, attention = attend(q, k, v, ~keep if blocked else keep)
    want = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
    return close(mixed, want) and close(attention.sum(-1), torch.ones(2, 3, 5))

holds(
    'la.mha.pseudocode.sdp',
    lambda seed: sdp_agrees(seed),
    control=lambda seed: sdp_agrees(seed, blocked=True),
    seed=seeds(), tries=60,
)
values, back = step['values'], step['back']
dealt = values.reshape(back.shape)
holds(
    'la.mha.pseudocode.permute-back',
    lambda h, t: close(back[:, t, h], values[:, h, t]),
    control=lambda h, t: close(dealt[:, t, h], values[:, h, t]),
    h=integers(0, 3), t=integers(0, 4),
)

# %% tags=["hide-input"]
side_by_side = torch.cat(list(values.unbind(1)), -1)
mixed_up = values.permute(0, 2, 3, 1).reshape(2, 5, 24)  # features first
holds(
    'la.mha.pseudocode.reshape-back',
    lambda: close(step['joined'], side_by_side),
    control=lambda: close(mixed_up, side_by_side),
)

def block_agrees(seed, order):  # order: which of our rows become torch's rows
    g = torch.Generator().manual_seed(seed)
    ours, last = linear(12, 36, g), linear(12, 12, g)
    x = torch.randn(2, 5, 12, generator=g)
    theirs = nn.MultiheadAttention(12, 4, batch_first=True)
    state = {f'in_proj_{k}': p[order] for k, p in ours.named_parameters()}
    theirs.load_state_dict(state | last.state_dict(prefix='out_proj.'))
    return close(pseudocode(x, ours, last, 4)['out'], theirs(x, x, x)[0])

plain = torch.arange(36)
by_roles = plain.reshape(4, 3, 3).transpose(0, 1).flatten()
holds(
    'la.mha.pseudocode.out',
    lambda seed: block_agrees(seed, by_roles),
    control=lambda seed: block_agrees(seed, plain),
    seed=seeds(), tries=40,
)

# %% [markdown]
# The last line is the whole block against torch, its control the copy without reordering. (There `input_dim` equals
# `embed_dim`; torch knows no other case.)
#
# ```{exercise} ★ Read torch's weights
# :label: mha-convert
#
# Write `to_notes(weight, heads)`: given the `in_proj_weight` of torch, of shape $(3E, D)$, return the weight of the
# notes' `qkv_proj` for the same layer.
# ```

# %%
def to_notes(weight, heads):
    raise NotImplementedError('your turn')

# %%
def block_by_block(weight, heads):
    blocks = weight.chunk(3 * heads)
    order = [heads * role + h for h in range(heads) for role in range(3)]
    return torch.cat([blocks[i] for i in order])

cases = [(torch.arange(12.0 * h).reshape(6 * h, 2), h) for h in (1, 2, 4)]
grade(to_notes, block_by_block, cases)

# %% [markdown]
# ```{solution-start} mha-convert
# :class: dropdown
# ```
# Name the axes as torch has them, role before head, swap the two, and flatten. Whoever names them the other way round
# applies the inverse permutation, which is the same one only for one head or three: test such code with two or four.

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
# A layer for real use also takes queries from one sequence and keys and values from another (*cross-attention*: a
# translation looks at its original), and it takes masks. So the three projections part company again, each still
# serving all heads in one product:

# %%
class MultiHead(nn.Module):
    def __init__(self, width, heads, d_key, d_value):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width)
        self.k = nn.Linear(d_key, width)
        self.v = nn.Linear(d_value, width)
        self.o = nn.Linear(width, width)

    def split(self, x):  # (B, T, width) -> (B, heads, T, width / heads)
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, query, key, value, keep=None):
        projected = self.q(query), self.k(key), self.v(value)
        mixed, weights = attend(*map(self.split, projected), keep)
        return self.o(mixed.transpose(1, 2).flatten(2)), weights

# %% [markdown]
# Both layers get the same weights, inputs and masks. Compared are the outputs, the weights of every head, and, after
# a backward pass with the same random cotangent, the gradients of all inputs and all parameters.

# %% tags=["hide-input"]
def parts(layer, of=lambda p: p):
    """Weights, then biases, of the maps to queries, keys, values, output."""
    if isinstance(layer, MultiHead):
        maps = layer.q, layer.k, layer.v, layer.o
        return [of(m.weight) for m in maps] + [of(m.bias) for m in maps]
    if layer.in_proj_weight is None:  # torch keeps three if widths differ
        names = [f'{letter}_proj_weight' for letter in 'qkv']
        weights = [of(getattr(layer, name)) for name in names]
    else:
        weights = of(layer.in_proj_weight).chunk(3)
    last, biases = layer.out_proj, of(layer.in_proj_bias).chunk(3)
    return [*weights, of(last.weight), *biases, of(last.bias)]

@torch.no_grad()
def pair(d_key, d_value, generator):
    """Our layer and torch's, with the same weights."""
    ours = MultiHead(12, 4, d_key, d_value)
    theirs = nn.MultiheadAttention(
        12, 4, kdim=d_key, vdim=d_value, batch_first=True)
    for p in theirs.parameters():
        nn.init.normal_(p, std=0.5, generator=generator)
    for mine, its in zip(parts(ours), parts(theirs), strict=True):
        mine.copy_(its)
    return ours, theirs

# %%
def trace(layer, arrays, cotangent, **options):
    """Output, weights per head, and the gradients of inputs and parameters."""
    inputs = [a.clone().requires_grad_() for a in arrays]
    out, weights = layer(*inputs, **options)
    (out * cotangent).sum().backward()
    gradients = [a.grad for a in inputs] + parts(layer, of=lambda p: p.grad)
    return [out, weights, *gradients]

def same(query, key, value, keep=None, **masks):
    g = torch.Generator().manual_seed(4)
    ours, theirs = pair(key.shape[-1], value.shape[-1], g)
    given = (query, key, value), torch.randn(query.shape, generator=g)
    mine = trace(ours, *given, keep=keep)
    its = trace(theirs, *given, average_attn_weights=False, **masks)
    return all(close(a, b) for a, b in zip(mine, its, strict=True))

# %% [markdown]
# Sequences of different lengths share a batch by *padding*: the short ones are filled up, and nobody may look at the
# filling. This mask has one row per sequence, $(B, m)$; two axes of length one make it fit the scores,
# $(B, h, n, m)$. The causal mask, $(n, n)$, is a lower triangle: look at yourself and at the past.

# %%
g = torch.Generator().manual_seed(5)
x = torch.randn(2, 5, 12, generator=g)
memory = [torch.randn(2, 7, width, generator=g) for width in (10, 9)]
past = torch.ones(5, 5, dtype=bool).tril()
real = torch.arange(7) < torch.tensor([[7], [3]])  # (B, m)
some = real[:, :5]
both = past & some[:, None, None]  # (B, 1, 5, 5)
agreed = {
    'self-attention': same(x, x, x),
    'causal mask': same(x, x, x, past, attn_mask=~past),
    'causal mask and padding': same(
        x, x, x, both, attn_mask=~past, key_padding_mask=~some),
    'cross-attention': same(x, *memory),
    'cross-attention and padding': same(
        x, *memory, real[:, None, None], key_padding_mask=~real),
}
for name, verdict in agreed.items():
    print(f'{name}: {verdict}')
assert all(agreed.values())
assert not same(x, x, x, past, attn_mask=past)  # torch's True is our False

# %% [markdown]
# One case is left, a famous source of `nan`: a row in which *everything* is masked, say an empty sentence in the
# batch. The softmax of nothing is $0/0$. Our `attend` answers zero, so the layer gives the bias of its output map,
# and gradients stay finite. What does torch do?

# %%
ours, theirs = pair(12, 12, torch.Generator().manual_seed(6))
bias = theirs.out_proj.bias.expand(5, 12)
empty = torch.tensor([[False] * 5, [True] * 5])  # the second sequence
mine, _ = ours(x, x, x, ~empty[:, None, None])
mine.sum().backward()
assert close(mine[1], bias)
assert all(p.grad.isfinite().all() for p in ours.parameters())

def answer(asked):  # torch's, with or without asking for the weights
    out, _ = theirs(x, x, x, key_padding_mask=empty, need_weights=asked)
    assert close(out[0], mine[0])
    return 'nan' if out[1].isnan().all() else close(out[1], bias) and 'bias'

print('in training, with weights:', answer(asked=True))
print('in training, without:', answer(asked=False))
theirs.eval()
with torch.no_grad():
    print('in evaluation, without:', answer(asked=False))

# %% [markdown]
# The same layer, the same input, and different answers: the three calls take different routes through the library,
# and only one of them guards its softmax. A layer that trained without trouble can answer `nan` on the day it is
# used. If a batch may hold an empty sequence, decide yourself what it gets.
#
# ```{exercise} ★ One mask for all
# :label: mha-mask
#
# Who generates text in batches pads on the *left*, so that all sequences end together. Write `keep_mask(lengths, T)`
# for this: shape $(B, 1, T, T)$, `True` where query $i$ of sequence $b$ may look at key $j$, that is, where $j \le i$
# and $j$ is among the last `lengths[b]` places.
# ```

# %%
def keep_mask(lengths, T):
    raise NotImplementedError('your turn')

# %%
def entry_by_entry(lengths, T):
    keep = torch.zeros(len(lengths), 1, T, T, dtype=bool)
    for b, length in enumerate(lengths):
        for i in range(T):
            for j in range(T):
                keep[b, 0, i, j] = T - length <= j <= i
    return keep

cases = [(torch.tensor(lengths), 5) for lengths in ([5], [4, 2], [1, 5, 0])]
grade(keep_mask, entry_by_entry, cases)

# %% [markdown]
# ```{solution-start} mha-mask
# :class: dropdown
# ```
# The filling comes first, so real keys are those with $j \ge T - \mathtt{length}$. The rows of the filling itself are
# masked entirely: this is how such rows arise every day. Padding on the right is the usual slip; it shows the filling
# to the real tokens and hides real tokens from each other.

# %% jupyter={"source_hidden": true}
def keep_mask_solution(lengths, T):
    i, j = torch.arange(T)[:, None], torch.arange(T)
    return (j <= i) & (j >= T - lengths[:, None, None, None])

def filled_on_the_right(lengths, T):
    i, j = torch.arange(T)[:, None], torch.arange(T)
    return (j <= i) & (j < lengths[:, None, None, None])

assert grade(keep_mask_solution, entry_by_entry, cases)
assert not grade(filled_on_the_right, entry_by_entry, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## What heads cost, and what they cannot see
#
# Count the entries in {eq}`la.mha.weight-shapes`: $h\,(2 d_k \tilde d_k + d_v \tilde d_v) + h \tilde d_v d_o$. With
# all outer sizes equal to $d$ and the usual $\tilde d_k = \tilde d_v = d/h$, the number of heads cancels: $4d^2$
# weights remain, and $4d$ biases if there are any, for every $h$. The same happens to the multiplications, $4Td^2$
# for the projections and $2T^2d$ for scores and means. **More heads need no more weights and no more multiplications**;
# what they are paid with is width, $d/h$ each. But the attention maps grow, to $hT^2$ numbers, each with an exponential,
# and in long sequences these cost time.

# %%
def count(d, h):
    return sum(p.numel() for p in nn.MultiheadAttention(d, h).parameters())

assert all(count(64, h) == 4 * 64**2 + 4 * 64 for h in (1, 2, 4, 8, 16, 64))
print('parameters at width 64, for any number of heads:', count(64, 1))

# %% [markdown]
# The notes run $H$ heads "in parallel"; in code the loop becomes an axis. The letters below are batch $b$, token $t$,
# head $h$, feature $d$, feature of a head $k$. The function `mix` turns queries, keys and values into means.

# %%
def by_loop(X, W_Q, W_K, W_V, W_O):
    per_head = zip(W_Q, W_K, W_V, strict=True)
    out = [attend(X @ A, X @ B, X @ C)[0] for A, B, C in per_head]
    return torch.cat(out, -1) @ W_O

def means(q, k, v, keep=None):
    return attend(q, k, v, keep)[0]

def at_once(X, W_Q, W_K, W_V, W_O, keep=None, mix=means):
    projections = W_Q, W_K, W_V
    q, k, v = (torch.einsum('btd,hdk->bhtk', X, W) for W in projections)
    blocks = W_O.unflatten(0, (len(W_Q), -1))  # (h, k, d)
    return torch.einsum('bhtk,hkd->btd', mix(q, k, v, keep), blocks)

# %%
def sample(seed, h, d=12, B=2, T=5):  # X, W_Q, W_K, W_V, W_O
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(B, T, d, generator=g)
    W = torch.randn(3, h, d, d // h, generator=g) / d**0.5
    return X, *W, torch.randn(d, d, generator=g) / d**0.5

def axes_not_swapped(X, *W):  # heads by a reshape alone
    B, T, d = X.shape
    flat = [X @ each.transpose(0, 1).flatten(1) for each in W[:3]]  # (B, T, d)
    q, k, v = (each.reshape(B, len(W[0]), T, -1) for each in flat)
    return attend(q, k, v)[0].transpose(1, 2).flatten(2) @ W[3]

def equals_the_loop(form, seed, h):
    drawn = sample(seed, h)
    return close(form(*drawn), by_loop(*drawn))

holds(
    'ml.tf.multihead.parallel',
    lambda seed, h: equals_the_loop(at_once, seed, h),
    control=lambda seed, h: equals_the_loop(axes_not_swapped, seed, h),
    seed=seeds(), h=[1, 2, 3, 4, 6], tries=60,
)

# %%
def races(T):  # 32 heads of width 4
    X, *W = sample(0, h=32, d=128, B=1, T=T)
    fused = F.scaled_dot_product_attention
    assert close(at_once(X, *W, mix=fused), by_loop(X, *W))
    with torch.no_grad():
        loop, stored, unstored = seconds(
            lambda: by_loop(X, *W), lambda: at_once(X, *W),
            lambda: at_once(X, *W, mix=fused), rounds=3)
    return stored < loop, unstored < stored / 1.5

wins = {T: races(T) for T in (8, 512)}
for T, (together, unstored) in wins.items():
    print(f'{T:3} tokens: heads together faster than one by one: {together}, '
          f'without maps 1.5 times faster still: {unstored}')
assert wins[8][0] and wins[512] == (False, True)

# %% [markdown]
# The multiplications are the same. With 8 tokens what disappears is the price of starting many small operations. With
# 512 tokens another price decides: together, `attend` writes the maps of all heads, $32 \cdot 512^2$ numbers, to fresh
# memory several times, and the loop only those of one head. The cure is not the loop, but to store no map at all:
# `F.scaled_dot_product_attention`, on which torch's layer is built, computes the same means piece by piece. (Measured on
# one core of a processor; other hardware may turn the order at another length.)
#
# ### A head sees a set
#
# Nowhere in the layer does the *place* of a token enter. Shuffle the tokens, and the outputs are shuffled along:
#
# ```{prf:theorem} Permutation equivariance
# :label: thm-mha-equivariance
#
# For every permutation matrix $\mathbf{P}$, $\mathrm{MultiHead}(\mathbf{PX}, \mathbf{PX}, \mathbf{PX}) = \mathbf{P}\,
# \mathrm{MultiHead}(\mathbf{X}, \mathbf{X}, \mathbf{X})$, and $\mathrm{MultiHead}(\mathbf{Q}, \mathbf{PK}, \mathbf{PV}) =
# \mathrm{MultiHead}(\mathbf{Q}, \mathbf{K}, \mathbf{V})$.
# ```
#
# ```{prf:proof}
# Let $\mathbf{S}$ be the scores of one head, $\mathbf{A}$ their softmax and $\mathbf{V}$ its projected values.
# Shuffling all tokens permutes the rows and the columns of the scores alike, to $\mathbf{PSP}^\top$. The
# softmax works on each row by itself, and permuting the entries of a row permutes its softmax, so $\mathbf{A}$
# becomes $\mathbf{PAP}^\top$. The values become $\mathbf{PV}$, and
# $\mathbf{PAP}^\top\mathbf{PV} = \mathbf{PAV}$ since $\mathbf{P}^\top\mathbf{P} = \mathbf{I}$.
# Concatenation and $\mathbf{W}^O$ act on each row alone and leave $\mathbf{P}$ in front. If only keys and values are
# shuffled, $\mathbf{A}$ becomes $\mathbf{AP}^\top$, and $\mathbf{AP}^\top\mathbf{PV} = \mathbf{AV}$.
# ```
#
# To this layer *dog bites man* and *man bites dog* are the same three outputs in another order. Order has to be put into
# the tokens, as in the experiment below, or into the mask: the causal mask stays in place when tokens move, which breaks
# the symmetry. What it gives in return is that no output depends on a later token, without which each new token of a text
# would change all the outputs before it, and they would have to be computed anew.

# %%
X, *W = sample(7, h=3)
shuffle = torch.tensor([3, 0, 4, 2, 1])
past = torch.ones(5, 5, dtype=bool).tril()
free, causal = at_once(X, *W), at_once(X, *W, past)
assert close(at_once(X[:, shuffle], *W), free[:, shuffle])
assert not close(at_once(X[:, shuffle], *W, past), causal[:, shuffle])

later = X.clone()
later[:, 3:] += 1  # the last two tokens change
assert close(at_once(later, *W, past)[:, :3], causal[:, :3])
assert not close(at_once(later, *W)[:, :3], free[:, :3])

# %% [markdown]
# ```{exercise} ★★ The mask moves too
# :label: mha-moving-mask
#
# Write `moved(keep, p)`: the mask with which the layer on the shuffled tokens `X[:, p]` gives the shuffled outputs of
# the layer on `X` with mask `keep`, of shape $(T, T)$.
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
patchy = torch.rand(5, 5, generator=numbers) < 0.5
masks = past, past.T, patchy | torch.eye(5, dtype=bool)
cases = [(keep, torch.randperm(5, generator=numbers)) for keep in masks]
grade(shuffle_first(moved), shuffle_last, cases)

# %% [markdown]
# ```{solution-start} mha-moving-mask
# :class: dropdown
# ```
# The mask is a table of pairs, like the scores, so by the proof it has to become
# $\mathbf{P}\,\mathtt{keep}\,\mathbf{P}^\top$: queries *and* keys are renamed.

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
# Twelve tokens sit on the hours of a clock. Each carries two cards $\mathbf{a}_i, \mathbf{b}_i \in \mathbb{R}^2$,
# filled with independent standard normal numbers, and knows its place by the direction of the clock's hand,
# $\mathbf{p}_i = (\cos 30°i, \sin 30°i)$; so $\mathbf{x}_i = (\mathbf{a}_i, \mathbf{b}_i, 2\mathbf{p}_i)$. Each wants
# card $\mathbf{a}$ of the hour *before* and card $\mathbf{b}$ of the *mirrored* hour:
# $\mathbf{y}_i = (\mathbf{a}_{i-1}, \mathbf{b}_{-i})$, indices modulo 12. That is a shift and a reversal at once.
#
# The two places never coincide, for $i - 1 = -i$ would need $2i = 1$ modulo 12. So {prf:ref}`thm-mha-needs` applies
# with $r = 2$: one head whose weights do not depend on the cards has a mean squared error of at least $\tfrac12$. For
# comparison: answering zero has error 1, and a row of equal weights, a bag of tokens, has $P_{jj} = \tfrac1{12}$,
# hence error $1 - \tfrac1{12} = 0.92$.

# %%
hour = torch.arange(12)
angle = hour * torch.pi / 6
hand = torch.stack([angle.cos(), angle.sin()], -1)  # (12, 2)

def clocks(B, generator):
    cards = torch.randn(B, 12, 4, generator=generator)
    y = torch.cat([cards[:, hour - 1, :2], cards[:, -hour, 2:]], -1)
    x = torch.cat([cards, 2 * hand.expand(B, 12, 2)], -1)
    return x, y  # (B, 12, 6), (B, 12, 4)

def layer(x, W_Q, W_K, W_V, W_O):  # R layers at once: W_Q (R, h, 6, w)
    q, k, v = (x[:, None] @ W[:, None] for W in (W_Q, W_K, W_V))
    mixed, maps = attend(q, k, v)  # (R, B, h, 12, w), (R, B, h, 12, 12)
    return mixed.transpose(2, 3).flatten(3) @ W_O[:, None], maps

def error(x, y, *W):
    return (layer(x, *W)[0] - y).square().mean((1, 2, 3))  # (R,)

# %% [markdown]
# **By hand.** Two heads need no training, because both wishes are *linear* in the hand: the hour before is a rotation
# by $-30°$, the mirrored hour a reflection, $\mathbf{p}_{-i} = (\cos 30°i, -\sin 30°i)$. Let the query of the first
# head be the rotated hand and that of the second the reflected hand, both times a large number $\beta$, and let the
# key be the hand itself. The score $\beta\,\mathbf{p}_{i-1}^\top\mathbf{p}_j$ is then largest at $j = i - 1$,
# and the softmax looks there alone; likewise the second. As values the first head picks the $\mathbf{a}$ cards and
# the second the $\mathbf{b}$ cards. This is, in its purest form, what the notes quote: attention "to information from
# different representation subspaces at different positions". The control lets both heads look at the same position.

# %%
def by_hand(maps, beta=50):  # maps (2, 2, 2): from the hand to the query
    W_Q, W_K, W_V = torch.zeros(3, 1, 2, 6, 2)  # two heads of width two
    W_Q[0, :, 4:], W_K[0, :, 4:] = beta * maps, torch.eye(2)
    W_V[0, 0, :2] = W_V[0, 1, 2:4] = torch.eye(2)
    return W_Q, W_K, W_V, torch.eye(4)[None]

cos, sin = 3**0.5 / 2, 0.5  # of 30 degrees
rotation = torch.tensor([[cos, -sin], [sin, cos]])
reflection = torch.tensor([[1.0, 0.0], [0.0, -1.0]])

# %%
def solves(seed, *maps):
    x, y = clocks(20, torch.Generator().manual_seed(seed))
    return bool(error(x, y, *by_hand(torch.stack(maps))) < 1e-3)

holds(
    'la.mha.subspaces',
    lambda seed: solves(seed, rotation, reflection),
    control=lambda seed: solves(seed, rotation, rotation),
    seed=seeds(), tries=40,
)

# %% [markdown]
# **By training.** Does gradient descent find this? Layers with 1, 2, 4 and 8 heads, all of total width 8 and so with
# equally many parameters, learn from fresh clocks, each from ten random starts. The ten run side by side as one more
# axis; Adam treats every weight by itself, so they do not disturb each other.

# %%
@dataclass(frozen=True)
class Run:
    heads: int
    width: int = 8  # of all heads together
    starts: int = 10  # layers trained side by side
    steps: int = 250
    batch: int = 8  # clocks per step
    rate: float = 0.04  # step size of Adam

@dataclass(frozen=True)
class Record:
    history: torch.Tensor  # (steps, starts), error on the clocks of each step
    error: torch.Tensor  # (starts,), on 500 new clocks
    maps: torch.Tensor  # (starts, heads, 12, 12), mean over the new clocks

# %%
def train(run):
    g = torch.Generator().manual_seed(0)
    shape = 3, run.starts, run.heads, 6, run.width // run.heads
    W = list(torch.randn(shape, generator=g) / 6**0.5)
    W_O = torch.randn(run.starts, run.width, 4, generator=g)
    W.append(W_O / run.width**0.5)
    optimizer = torch.optim.Adam([p.requires_grad_() for p in W], run.rate)
    history = []
    for _ in range(run.steps):
        losses = error(*clocks(run.batch, g), *W)
        optimizer.zero_grad()
        losses.sum().backward()
        optimizer.step()
        history.append(losses.detach())
    with torch.no_grad():
        x, y = clocks(500, g)
        out, maps = layer(x, *W)
        final = (out - y).square().mean((1, 2, 3))
        return Record(torch.stack(history), final, maps.mean(1))

# %%
records = {h: train(Run(heads=h)) for h in (1, 2, 4, 8)}
for h, record in records.items():
    spread = record.error.quantile(torch.tensor([0, 0.5, 1]))
    low, median, high = (f'{e:.2f}' if e > 0.01 else '<0.01' for e in spread)
    solved = (record.error < 0.01).sum()
    print(f'heads: {h}, error {low} to {high}, median {median},'
          f' solved from {solved} of 10 starts')
assert records[1].error.min() > 0.467 and records[8].error.min() > 0.6
assert all(records[h].error.median() < 0.01 for h in (2, 4))

# %% [markdown]
# (For a one-headed layer at the bound, half of the $500 \cdot 12 \cdot 4 = 24000$ squared errors on 500 clocks have
# mean one and standard deviation $\sqrt2$, so their mean is known to $\sqrt{2 \cdot 12000}/24000 = 0.0065$; 0.467 is
# the bound less five of these.)

# %% mystnb={"figure": {"caption": "Four heads reach error zero from every start, two heads from all but one; one head stops at its bound of one half or above, and eight heads of width one end near $0.7$."}, "image": {"alt": "Error against training step. Layers with two and four heads fall to zero, all but one. Most layers with one head stop at the bound one half, a few stay near 0.75, where all layers with eight heads end."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.2, 3))
ax.axhline(11 / 12, color=GREY, lw=1, ls='--')
ax.text(248, 0.945, 'bag of tokens', ha='right', color=GREY)
ax.axhline(1 / 2, color=GREY, lw=1, ls='--')
ax.text(248, 0.46, 'bound for one head', ha='right', va='top', color=GREY)
for i, (h, record) in enumerate(records.items()):
    smooth = record.history.unfold(0, 10, 10).mean(-1)  # over ten steps each
    for start, line in enumerate(smooth.T):
        label = '' if start else f'{h} heads' if h > 1 else '1 head'
        ax.plot(range(10, 260, 10), line, color=f'C{i}', lw=1, label=label)
ax.set(xlabel='training step', xlim=(0, 250))
ax.set(ylabel='mean squared error', ylim=(-0.03, 1.15))
label_lines(ax);

# %% mystnb={"figure": {"caption": "Wide heads learn a sharp shift or reversal of the hours, if training does not get stuck; the scores of a head of width one have rank one, and its map is a blurred plaid."}, "image": {"alt": "Attention maps of 12 by 12 hours. A single head shows one sharp diagonal or, from another start, a blurred plaid. Two heads show one sharp falling and one sharp rising diagonal. Heads of the eight-headed layer show plaids only."}} tags=["hide-input"]
one, two, eight = records[1], records[2], records[8]
best, worst = one.maps[[one.error.argmin(), one.error.argmax()], 0]
shown = {'one head, best': best, 'one head, worst': worst}
duo, octet = two.maps[two.error.argmin()], eight.maps[eight.error.argmin()]
shown |= {f'two heads: {i + 1}': duo[i] for i in range(2)}
shown |= {f'eight heads: {i + 1}': octet[i] for i in range(4)}
fig, axes = panels(4, 2, height=1.65)
for ax, (title, weights) in zip(axes.flat, shown.items(), strict=True):
    picture = show_image(ax, weights, cmap='viridis', vmin=0, vmax=1)
    ax.set_title(title, fontsize=9)
axes[1, 0].set(xlabel='key: hour 0 to 11', ylabel='query: hour 0 to 11')
fig.colorbar(picture, ax=axes, shrink=0.6, label='weight', ticks=[0, 1]);

# %% [markdown]
# From nine of ten starts two heads find what we did by hand: one becomes the shift, the other the reversal. The theorem
# only asks that their two rows together span the two places; that each takes one of them is training's own tidy idea. Four
# heads succeed from all ten starts. One head at best chooses *one* of its two duties, does it perfectly, and stops at the
# bound. (It could use the cards to decide where to look, which the theorem excludes; it gained nothing by that here.)
#
# Above the bound there are two failures: three layers, two of one head and one of two, and all layers of eight heads.
# They are the same failure. The worst of the single heads tries to please both wishes with one query, the sum of the
# rotated and the reflected hand. With $t = 30°i$ and the addition formulas,
#
# ```{math}
# :label: eq-mha-plaid
# \mathbf{p}_{i-1} + \mathbf{p}_{-i} = \begin{bmatrix} \cos(t - 30°) + \cos t \\ \sin(t - 30°) - \sin t \end{bmatrix}
# = 2 \cos(t - 15°) \begin{bmatrix} \cos 15° \\ -\sin 15° \end{bmatrix}.
# ```
#
# A rotation plus a reflection has rank one: the plane of the clock collapses onto a line, and the scores become a product
# $f_i\, g_j$ with $f_i = \cos(30°i - 15°)$ and $g_j = \cos(30°j + 15°)$. Such a product is a plaid, and it is the second
# map in the figure. The singular values of the scores tell the two kinds of head apart. Here they are read off the
# logarithm of the weights, averaged over the clocks, which is the scores as far as the head ignores the cards. A rotation
# or a reflection has two equal ones, so the first carries the share 0.50 of the sum of squares; in a plaid it carries all,
# or nearly, where the cards disturb the mean:

# %%
def centred(maps):  # up to a constant per row, which no softmax sees
    return maps.log() - maps.log().mean(-1, keepdim=True)

f, g = torch.cos(angle - torch.pi / 12), torch.cos(angle + torch.pi / 12)
plaid = torch.outer(f, g)
assert F.cosine_similarity(centred(worst).flatten(), plaid.flatten(), 0) > 0.99

chosen = {
    'one head, best start': best[None], 'one head, worst start': worst[None],
    'two heads, best start': duo, 'eight heads, best start': octet,
    'two heads, worst start': two.maps[two.error.argmax()],
    'four heads, first start': records[4].maps[0],
}
for name, maps in chosen.items():
    squares = torch.linalg.svdvals(centred(maps)) ** 2
    shares = squares[:, 0] / squares.sum(-1)
    print(f'{name}:', *(f'{share:.2f}' for share in shares))

# %% [markdown]
# For wide heads the plaid is a waiting room: the curves show layers that leave it late, and a few that still sit there. A
# head of width one has no way out. *All* its scores have rank one; it can weave plaids and nothing else, and eight such
# heads fail where two succeed. This is the low-rank bottleneck of {cite}`bhojanapalli2020lowrank`: more heads ask more
# questions, and each question gets shorter. The four heads of the first start show the other side: two follow the
# diagonals, and the other two stay plaids that are hardly needed. (From some other starts one or both of these share a
# diagonal instead.) In trained translation models, too, many heads can be removed at little loss
# {cite}`michel2019sixteen,voita2019analyzing`.
#
# ```{exercise} ★★★ The favourites of a head of width one
# :label: mha-favourites
#
# A head of width one has scores $f_i g_j$. Call key $j$ a favourite if it has the largest score for at least one
# query. Write `favourites(f, g)`, the number of favourites, without forming the matrix of scores; no entry of `f` is
# zero, and those of `g` are distinct. Then explain why width two is enough to make every hour of the clock a
# favourite.
# ```

# %%
def favourites(f, g):
    raise NotImplementedError('your turn')

# %%
def by_all_scores(f, g):
    return len(set(torch.outer(f, g).argmax(1).tolist()))

numbers = torch.randn(2, 12, generator=torch.Generator().manual_seed(9))
some, keys = numbers
cases = [(a, keys) for a in (some, some.abs(), -some.abs())]
cases += [(some, keys[:1]), (some, keys.abs())]
grade(favourites, by_all_scores, cases)

# %% [markdown]
# ```{solution-start} mha-favourites
# :class: dropdown
# ```
# A query with $f_i > 0$ prefers the largest $g_j$, one with $f_i < 0$ the smallest: there are never more than two
# favourites. In the plane the score is $\mathbf{f}_i^\top\mathbf{g}_j$, and the winner is the key that lies
# farthest in the direction of $\mathbf{f}_i$. Of keys on a circle each lies farthest in its own direction.

# %% jupyter={"source_hidden": true}
def favourites_solution(f, g):
    signs = int((f > 0).any()) + int((f < 0).any())
    return min(signs, len(g))

def always_two(f, g):
    return min(2, len(g))

assert grade(favourites_solution, by_all_scores, cases)
assert not grade(always_two, by_all_scores, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Summary
#
# One head brings one weighted mean, and $h$ means whose weights do not depend on what they carry serve at most $h$
# needs; several heads, whose outputs are simply added after a projection, ask several questions for the parameters
# and multiplications of one. The layer is a handful of axis moves that fail silently when confused, so it was held
# against torch in values, gradients and masks, down to the row that is masked entirely. Heads see a set, not a
# sequence, and pay for their number with their width: on the clock two heads can find a rotation and a reflection,
# one has to choose, and eight are too narrow for either.
#
# Further reading: {cite}`vaswani2017attention` introduced the layer, {cite}`zhang2023dive` build it step by step, and
# {cite}`elhage2021mathematical` take heads apart into where to look and what to bring.
