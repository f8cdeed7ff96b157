# ---
# jupyter:
#   book:
#     functions:
#       embed: embed(torch.tensor([2, 0, 2]), normal(3, 4))
#       split: 'len(split(b"curious", {bytes([b]): b for b in range(256)} | {b"io": 256, b"iou": 257}))'
#       train_bpe: 'list(train_bpe(Counter({b"the": 4, b"then": 3, b"hen": 2}), 3).values())'
#     main: ml.tf.embedding.matmul
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Linear and embedding layers
#
# *"Curiouser and curiouser!" cried Alice.* A network multiplies matrices of numbers, but this sentence consists of
# letters, and Alice made up the word *curiouser*. How does a text become a matrix?
#
# - **You need** [tensors](../linear_algebra/tensors.ipynb), [matrix products](../linear_algebra/matrix_multiplication.ipynb),
#   [one-hot vectors](../classification/classification.ipynb),
#   [automatic differentiation](../calculus/automatic_differentiation.ipynb) and, for the last part,
#   [cross-entropy](../classification/cross_entropy.ipynb) and [modules](../builders_guide/modules.ipynb).
# - **You build** an embedding layer and its gradient, a tokenizer by byte pair encoding that agrees with
#   `tiktoken`, and a network that learns which tokens are alike.
# - **Runs in** 15 seconds. Tensors are float64 where no other type is named.

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
import re
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from nbutils import data
from nbutils.cases import counts, integers, lists, matrices, on, seeds, vectors
from nbutils.checks import below, between, close, grade, holds, verify
from nbutils.figures import GREY, label_lines, panels
from nbutils.printed import of
from nbutils.timing import seconds

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the matrices are small: a second thread would mostly wait
torch.set_printoptions(precision=3, sci_mode=False)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Embedding layer: a lookup that equals a product with one-hot vectors
#
# (ml.tf.embedding.tokenize)=
# A **tokenizer** splits a text into **tokens**, pieces from a fixed list. This list is the **vocabulary**, and a token's place
# in it is its **id**. Here the tokens are words and punctuation marks, and the vocabulary has $V = 5$ of them:

# %%
vocabulary = ['!', 'alice', 'and', 'cried', 'curiouser']
tokens = re.findall(r'\w+|!', 'curiouser and curiouser!')
ids = torch.tensor([vocabulary.index(token) for token in tokens])
print(tokens, ids)

# %% [markdown]
# (ml.tf.embedding.lookup)=
# An id is only a name: the id 4 is not twice the id 2. So each token gets $D$ numbers of its own, its **embedding**. Because
# formulas count from 1, the id 4 belongs to token 5. The embedding of token $i$ is the column $\mathbf{w}_i \in \mathbb{R}^D$ of
# a matrix $\mathbf{W} \in \mathbb{R}^{D \times V}$. To embed a text, we copy the columns of its tokens, and write them as the
# rows of a matrix $\mathbf{X}$. A matrix product gives the same numbers. If $\mathbf{e}_i$ is the one-hot vector with a 1 in
# place $i$,
#
# ```{math}
# :label: ml.tf.embedding.matmul
# \mathbf{W} \mathbf{e}_i = \mathbf{W}_{:,i} = \mathbf{w}_i .
# ```

# %%
def embed(ids, W):
    """Row t: the embedding of the token at position t."""
    return W.T[ids]                       # (T, D)

W = torch.tensor([[0., 1, 2, 3, 4], [9, 8, 7, 6, 5]])     # (D, V) = (2, 5)
E = F.one_hot(ids, 5).double()            # (T, V) = (4, 5)
print(embed(ids, W))                      # (T, D) = (4, 2)
print(E @ W.T)                            # the same

# %% [markdown]
# The one-hot vectors of the $T$ tokens are the rows of $\mathbf{E} \in \mathbb{R}^{T \times V}$, so the whole text becomes the
# matrix
#
# ```{math}
# :label: ml.tf.embedding.input-matrix
# \mathbf{X} = \mathbf{E} \mathbf{W}^\top \in \mathbb{R}^{T \times D} .
# ```

# %% mystnb={"image": {"alt": "Four columns of boxes from left to right. Tokens: curiouser, and, curiouser, an exclamation mark. Ids: 4, 2, 4, 0. Table: five rows of two cells, numbered 0 to 4, in which rows 0, 2 and 4 are coloured. X: four rows of two cells in the colours of rows 4, 2, 4 and 0, so that the first and the third row are alike. Below the columns stand the sizes T, T, V times D and T times D."}} tags=["hide-input"]
fig, ax = panels(1, height=2.7)
colours = {0: 'C2', 2: 'C1', 4: 'C0'}
def box(x, y, width, colour=None, words=''):
    if colour:
        ax.add_patch(plt.Rectangle((x, y - 0.4), width, 0.8, fc=colour, alpha=0.45, lw=0))
    ax.add_patch(plt.Rectangle((x, y - 0.4), width, 0.8, fc='none', ec=GREY, lw=0.8))
    ax.text(x + width / 2, y - 0.03, words, ha='center', va='center', fontsize=11)
for t, (token, i) in enumerate(zip(tokens, ids.tolist())):
    box(0, 3.5 - t, 3.1, None, token)
    box(4.9, 3.5 - t, 0.9, None, i)
    for column in (0, 1):
        box(12.6 + 0.9 * column, 3.5 - t, 0.9, colours[i], f'{W[column, i]:.0f}')
for i in range(5):
    ax.text(7.5, 4 - i, i, ha='center', va='center', fontsize=10, color=GREY)
    for column in (0, 1):
        box(8 + 0.9 * column, 4 - i, 0.9, colours.get(i), f'{W[column, i]:.0f}')
for x, name, size in ((1.55, 'tokens', '$T$'), (5.35, 'ids', '$T$'), (8.9, 'table $\\mathbf{W}^\\top$', '$V \\times D$'),
                      (13.5, '$\\mathbf{X}$', '$T \\times D$')):
    ax.text(x, 4.75, name, ha='center', va='bottom', fontsize=10.5)
    ax.text(x, -0.75, size, ha='center', va='top', fontsize=10.5)
for start, stop in ((3.3, 4.7), (6, 7.1), (10.1, 12.4)):
    ax.annotate('', (stop, 2), (start, 2), arrowprops={'arrowstyle': '->', 'color': GREY})
ax.text(11.2, 2.15, 'copy', ha='center', va='bottom', fontsize=10)
ax.set(xlim=(-0.2, 14.6), ylim=(-1.5, 5.5))
ax.axis('off');

# %% [markdown] tags=["caption"]
# From a text to a matrix: each token is replaced by its id, and each id fetches one row of the table $\mathbf{W}^\top$.
# Equal tokens fetch equal rows.

# %% [markdown]
# ### nn.Embedding and nn.Linear without a bias
#
# (la.embedding.onehot-linear)=
# In PyTorch, `nn.Embedding` takes ids, and `nn.Linear(..., bias=False)` takes the one-hot rows. If both have the same weights,
# their outputs are equal. The embedding stores $\mathbf{W}^\top$, and the linear layer $\mathbf{W}$.
#
# (la.embedding.lookup)=
# So an embedding layer is a table of parameters, in which row $i$ is read for the id $i$.

# %%
table = nn.Embedding.from_pretrained(W.T, freeze=False)    # (V, D)
linear = nn.Linear(5, 2, bias=False)
linear.weight.data = W                                # (D, V)
print(torch.stack([table(ids), linear(E)]).detach())  # (2, T, D)

# %% tags=["hide-input"]
try:
    table(torch.tensor([5]))
except IndexError as error:
    print('id 5 of 5 tokens:', error)

# %% [markdown]
# Ids from 0 to $V - 1$ are allowed. You meet this error if a text has an id that the table lacks, for example because the
# tokenizer has more tokens than the table has rows, or because padding is marked by $-1$.
#
# ### The gradient of an embedding: only rows that occur
#
# Let $\mathbf{g}_t$ be the gradient of the loss $L$ with respect to row $t$ of $\mathbf{X}$. These gradients are the
# rows of a matrix $\mathbf{G} \in \mathbb{R}^{T \times D}$. The [rule for a matrix
# product](../calculus/matrix_derivatives.ipynb) gives
#
# ```{math}
# :label: embedding-gradient
# \nabla_{\mathbf{W}} L(\mathbf{W}) = \mathbf{G}^\top \mathbf{E} .
# ```
#
# Column $i$ of this product is the sum of $\mathbf{g}_t$ over all positions $t$ at which token $i$ stands.
# `nn.Embedding` stores $\mathbf{W}^\top$, so there this sum is row $i$ of the gradient. We choose four
# vectors $\mathbf{g}_t$ with 1, 10, 100 and 1000, so that the digits of a sum show which were added:

# %%
G = torch.tensor([[1., 0], [10, 0], [100, 0], [1000, 2]])    # (T, D)
table(ids).backward(G)                    # as if G came from a loss
print(table.weight.grad)                  # (V, D)

# %% [markdown]
# *curiouser* stands at two positions, so the last row got $1 + 100$. *alice* and *cried* do not occur, so their
# rows are zero. The library adds each $\mathbf{g}_t$ to the row of its
# token, as `index_add_` does:

# %%
gradient = torch.zeros(5, 2).index_add_(0, ids, G)    # (V, D)
wrong = torch.zeros(5, 2)
wrong[ids] += G
print('index_add_:', gradient[4], ' +=:', wrong[4])

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# `wrong[ids] += G` reads the rows, adds, and writes them back. If a row is written twice, only one value stays, here 100 in
# place of 101. PyTorch does not promise which. In NumPy, use `np.add.at`.
# :::
#
# If a text has far fewer tokens than the vocabulary, most rows of this gradient are zero: it is **sparse**. With `sparse=True`
# it contains only the rows of the tokens that occur. `SGD` and `SparseAdam` can use it, and `Adam` refuses:

# %%
sparse = nn.Embedding(5, 2, sparse=True)
sparse(ids).backward(G)
rows = sparse.weight.grad.coalesce()      # equal rows added up
print(rows.indices(), rows.values(), sep='\n')
try:
    torch.optim.Adam(sparse.parameters()).step()
except RuntimeError as error:
    print(error)

# %% [markdown]
# ### What the lookup saves
#
# (la.embedding.optimized)=
# A lookup reads $TD$ numbers and computes nothing. The product with $\mathbf{E}$ takes $TVD$ multiplications and
# about as many additions. We count the operations for the sizes of the smallest GPT-2, in float32. The
# [device `meta`](../builders_guide/devices.ipynb) knows shapes only, so nothing large is computed:

# %%
V, D, T = 50257, 768, 1024
with torch.device('meta'), FlopCounterMode(display=False) as counter:
    onehot = torch.empty(T, V).float()
    X = onehot @ torch.empty(V, D).float()
print(f'{counter.get_total_flops() / 1e9:.1f} billion operations')
for name, tensor in ('one-hot rows', onehot), ('rows of X', X):
    print(f'{name:12} {tensor.nbytes / 1e6:6.1f} MB')
print(f'whole table  {4 * V * D / 1e6:6.1f} MB')

# %% [markdown]
# The lookup copies only the 3.1 MB. In training, a dense gradient is as large as the whole table, and a sparse one stores at
# most $T$ rows and their ids.
#
# Does the lookup save time, too? We measure both for a small and for a large vocabulary, with
# 64 tokens, $D = 64$ and one-hot rows made beforehand:

# %% tags=["hide-input"]
def slowness(V):                          # of the product, E given
    table, ids = torch.ones(V, 64), torch.arange(64) % V
    E = F.one_hot(ids, V).double()        # (64, V)
    look, multiply = seconds(lambda: F.embedding(ids, table),
                             lambda: E @ table)
    return multiply / look

slow = {V: slowness(V) for V in (4, 8192)}
print('time of the product, divided by that of the lookup')
print('V = 4:   ', between(slow[4], 0.2, 5))
print('V = 8192:', between(slow[8192], 20, 1e5))

# %% [markdown]
# For $V = 8192$ it saves much time, and for $V = 4$ little or none.

# %% tags=["checks"]
def cut(words):
    return re.findall(r'\w+|!', ' '.join(words))

holds(
    'ml.tf.embedding.tokenize',
    lambda words: cut(words) == words and set(cut(words)) <= set(vocabulary),
    slip=('loses the marks', lambda words: [token for token in cut(words) if token.isalpha()] == words),
    words=lists(on(*vocabulary), 1, 6), tries=60,
)

def column(V, D, i, shift):
    M = torch.randn(D, V, generator=torch.Generator().manual_seed(V))
    got, want = embed(torch.tensor([i % V]), M)[0], M[:, (i + shift) % V]
    return got.shape == (D,) and bool(got.equal(want))

holds(
    'ml.tf.embedding.lookup', lambda V, D, i: column(V, D, i, 0),
    slip=('takes the next column', lambda V, D, i: column(V, D, i, 1)),
    V=integers(1, 6), D=integers(1, 4), i=integers(0, 5), tries=60,
)
holds(
    'ml.tf.embedding.matmul', W=matrices(2, 5, -3, 3), e=[list(np.eye(5))], i=range(1, 6),
    w=of(lambda W: list(F.embedding(torch.arange(5), torch.tensor(W.T)).numpy())), tries=30,
)
holds(
    'ml.tf.embedding.input-matrix', W=matrices(2, 5, -3, 3), V=5, T=4, D=2, k=counts(4, 0, 4),
    E=of(lambda k: np.eye(5)[k.astype(int)]),
    X=of(lambda W, k: F.embedding(torch.tensor(k).long(), torch.tensor(W.T)).numpy()), tries=30,
)

# %% tags=["checks"]
def layers(seed, V, D, T):
    torch.manual_seed(seed)
    table, linear = nn.Embedding(V, D).double(), nn.Linear(V, D, bias=False).double()
    linear.weight.data = table.weight.detach().T.clone()
    ids, G = torch.randint(V, (T,)), torch.randn(T, D).double()
    return table, linear, ids, F.one_hot(ids, V).double(), G

def layers_agree(shift, **sizes):  # values and gradients
    table, linear, ids, E, G = layers(**sizes)
    a, b = table(ids), linear(E.roll(shift, 1))
    a.backward(G)
    b.backward(G)
    return close(a, b) and close(table.weight.grad, linear.weight.grad.T)

# %% tags=["checks"]
sizes = dict(seed=seeds(), V=integers(2, 6), D=integers(1, 4), T=integers(1, 8), tries=40)
holds(
    'la.embedding.onehot-linear', lambda **case: layers_agree(0, **case),
    slip=('has the one in the next place', lambda **case: layers_agree(1, **case)), **sizes,
)

def one_row(other, **sizes):  # a new row of the table changes the outputs of this token, and no others
    table, _, ids, E, _ = layers(**sizes)
    before = table(ids).detach().clone()
    i = ids[0].item()
    table.weight.data[(i + other) % table.num_embeddings] += 1
    changed = (table(ids) != before).any(1)
    return table.weight.requires_grad and bool(changed.equal(ids == i))

holds(
    'la.embedding.lookup', lambda **case: one_row(0, **case),
    slip=('changes the row of another token', lambda **case: one_row(1, **case)), **sizes,
)

def operations(V, D, T):
    def count(job):
        with FlopCounterMode(display=False) as counter:
            job()
        return counter.get_total_flops()

    table, ids = torch.ones(V, D), torch.zeros(T, dtype=torch.long)
    return count(lambda: F.embedding(ids, table)), count(lambda: torch.ones(T, V) @ table)

holds(
    'la.embedding.optimized', lambda V, D, T: operations(V, D, T) == (0, 2 * T * V * D),
    slip=('gives the lookup the cost of the product', lambda V, D, T: operations(V, D, T) == 2 * (2 * T * V * D,)),
    V=integers(1, 9), D=integers(1, 9), T=integers(1, 9), tries=30,
)
verify(
    'the lookup saves much time for a large table, and not for a small one',
    lambda few, many: 0.2 < slow[few] < 5 and slow[many] > 20,
    slip=('exchanges the sizes', lambda few, many: 0.2 < slow[many] < 5 and slow[few] > 20), few=[4], many=[8192],
)

def row_sums(seed, add):  # by index_add, or written once
    table, _, ids, _, G = layers(seed, 4, 2, 7)
    table(ids).backward(G)
    want = torch.zeros(4, 2, dtype=G.dtype)
    for i, g in zip(ids.tolist(), G):
        want[i] = want[i] + g if add else g
    return close(table.weight.grad, want) and close(torch.zeros_like(want).index_add_(0, ids, G), want)

# %% tags=["checks"]
def takes_sparse(name):  # whether an optimizer steps, and moves the rows that occur alone
    table = nn.Embedding(5, 2, sparse=True)
    before = table.weight.detach().clone()
    table(torch.tensor([4, 2, 4])).sum().backward()
    try:
        getattr(torch.optim, name)(table.parameters(), lr=0.1).step()
    except RuntimeError:
        return False
    return (table.weight != before).any(1).tolist() == [False, False, True, False, True]

verify(
    'SGD and SparseAdam take a sparse gradient', takes_sparse,
    slip=('says so of Adam', lambda name: takes_sparse(name.replace('Sparse', ''))), name=['SGD', 'SparseAdam'],
)
verify(
    'the gradient of a row is the sum over the positions of its token', lambda seed: row_sums(seed, True),
    slip=('keeps the last position alone', lambda seed: row_sums(seed, False)), seed=seeds(), tries=30,
)

# %% [markdown]
# ## Byte pair encoding (BPE): tokens between bytes and words
#
# Words are poor tokens: a name or a typing error that is not in the vocabulary has no id. Bytes are safe, because UTF-8 writes
# every text as a sequence of bytes, and there are only 256 of them. But then the sequence is long. **Byte pair encoding**
# {cite}`gage1994new,sennrich2016neural` lies between them. Training starts from bytes. Again and again it joins the most
# frequent pair of neighbouring tokens to a new token.
#
# The vocabulary is now a `dict` from tokens to ids. The first 256 ids are those of the bytes, and each new token gets the next
# one. So ids say in which order tokens were joined, and are called **ranks**. To split a word, start from its bytes. Look at
# all pairs of neighbours that together are a token, and join the pair with the lowest rank. Repeat until no pair is a token:

# %%
def split(word, rank):
    """The tokens of a word, both as bytes."""
    parts = [bytes([b]) for b in word]
    while len(parts) > 1:
        joined = [a + b for a, b in zip(parts, parts[1:])]
        best = min(joined, key=lambda token: rank.get(token, len(rank)))
        if best not in rank:
            break
        i = joined.index(best)
        parts[i:i + 2] = [best]
    return parts

# %% [markdown]
# In training, pairs that form the same token, such as *a*, *bc* and *ab*, *c*, are counted together:

# %%
def train_bpe(words, merges):
    """Ranks of 256 bytes and `merges` tokens; words: word -> how often."""
    rank = {bytes([b]): b for b in range(256)}
    parts = {word: split(word, rank) for word in words}
    for _ in range(merges):
        pairs = Counter()
        for word, times in words.items():
            for a, b in zip(parts[word], parts[word][1:]):
                pairs[a + b] += times
        if not pairs:
            break
        new = max(pairs, key=pairs.get)   # of equals, the one seen first
        rank[new] = len(rank)
        for word in words:
            if new in word:
                parts[word] = split(word, rank)
    return rank

# %%
small = Counter({b'the': 4, b'then': 3, b'hen': 2})
for merges in range(4):
    rank = train_bpe(small, merges)
    print(merges, 'merges:', *(split(word, rank) for word in small))

# %% [markdown]
# The pair *h*, *e* occurs $4 + 3 + 2 = 9$ times, so it is joined first. Then *t*, *he* leads
# with 7, and last *the*, *n* with 3.
#
# ### Train on Alice, encode and decode
#
# We do not let a token reach from one word into the next. Else frequent phrases such as *of the* would become tokens of their
# own, and a word would have different tokens next to different neighbours. So a regular expression first cuts the text into
# pieces: runs of the letters a to z, of digits, of other characters, and of spaces. The first three may begin with one space.
# GPT-2 uses a longer expression {cite}`radford2019language`.

# %%
PATTERN = r' ?[a-zA-Z]+| ?[0-9]+| ?[^ a-zA-Z0-9]+| +'

def encode(text, rank):
    words = re.findall(PATTERN, text)
    known = {word: [rank[part] for part in split(word.encode(), rank)]
             for word in set(words)}
    return [i for word in words for i in known[word]]

def decode(ids, rank):
    tokens = list(rank)                   # token number i is tokens[i]
    return b''.join(tokens[i] for i in ids).decode()

# %%
text = data.alice('train')
words = Counter(word.encode() for word in re.findall(PATTERN, text))
rank = train_bpe(words, 256)
print(list(rank)[256:270])
cuts = {}
for merges in (0, 16, 64, 256):           # the first merges are a list, too
    some = dict(list(rank.items())[:256 + merges])
    ids_there = encode('curiouser and curiouser!', some)
    cuts[merges] = [decode([i], some) for i in ids_there]

# %% mystnb={"image": {"alt": "Four rows with the text curiouser and curiouser, cut into coloured boxes. With 0 merges each of the 24 characters is a box. With 16 merges ou, er, nd and a space with a are boxes, in all 18; with 64 merges there are 16 boxes, among them the word and with its space; with 256 merges the 12 boxes are c, ur, i, ous, er, and with its space, c with its space, ur, i, ous, er and the exclamation mark."}} tags=["hide-input"]
fig, ax = panels(1, height=1.9)
for row, (merges, cut) in enumerate(cuts.items()):
    x, y = 0, 3 - row
    for i, token in enumerate(cut):
        ax.add_patch(plt.Rectangle((x + 0.07, y - 0.36), len(token) - 0.14, 0.72, fc=f'C{i % 3}', alpha=0.4, lw=0))
        for letter in token:
            ax.text(x + 0.5, y - 0.03, letter, ha='center', va='center', fontsize=12)
            x += 1
    ax.text(-0.4, y, f'{merges} merges', ha='right', va='center', fontsize=10.5, color=GREY)
    ax.text(x + 0.4, y, len(cut), ha='left', va='center', fontsize=10.5, color=GREY)
ax.text(x + 0.4, 3.75, 'tokens', ha='center', va='center', fontsize=10.5, color=GREY)
ax.set(xlim=(-5, 26.2), ylim=(-0.5, 4.1))
ax.axis('off');

# %% [markdown] tags=["caption"]
# Each box is a token of the same text. More merges give fewer and longer tokens.

# %% [markdown]
# A shorter list of merges is the beginning of a longer one, so we need to train only
# once. Now we encode the whole book. The library `tiktoken` takes our ranks and our pattern:

# %%
book = data.alice()
encoded = encode(book, rank)
print(f'{len(book)} characters, {len(encoded)} tokens')

# %%
try:
    import tiktoken
    library = tiktoken.Encoding('alice', pat_str=PATTERN,
                                mergeable_ranks=rank, special_tokens={})
    theirs = library.encode(book)
    differ = sum(a != b for a, b in zip(theirs, encoded))
    print(f'tiktoken: {len(theirs)} tokens, {differ} differ')
except ImportError:
    tiktoken = None
    print('pip install tiktoken, then run this cell again')

# %% [markdown]
# No token differs. `tiktoken.get_encoding('gpt2')` loads the tokens of GPT-2, which were made by
# byte pair encoding, too, from much more text: 256 bytes, 50000 merges and one token for the end of
# a text, so $256 + 50000 + 1 = 50257$.
#
# And a text that training never saw? Our text of *Alice* has no capitals and no digits:

# %%
for some_text in (' alice', ' Alice', ' 1865', ' na\u00efve', '\U0001f642'):
    print(f'{ascii(some_text):12}', *split(some_text.encode(), rank))
last = {*re.findall(PATTERN, data.alice('test'))}
print(len(last), 'pieces, new:', sum(p.encode() not in words for p in last))

# %% [markdown]
# Of the 795 different pieces of the last tenth, 167 do not occur in the training text. An unknown word falls into shorter
# tokens, in the worst case into its bytes. So every text has ids. The letter ï is two bytes,
# and the smiling face is four. A network sees ids and no letters: *alice* is one token, and *Alice* is three others, so nothing
# tells it that the two words share four letters.
#
# ### How many merges? Characters per token
#
# More merges give shorter sequences, but a larger table of embeddings. We encode the training text and the last tenth of the
# book:

# %% tags=["hide-input"]
steps = [0, 8, 16, 32, 64, 128, 192, 256]
length = {'training text': text, 'last tenth': data.alice('test')}
curves = {name: [] for name in length}
for merges in steps:
    some = dict(list(rank.items())[:256 + merges])
    for name, part in length.items():
        curves[name].append(len(part) / len(encode(part, some)))
for name, part in length.items():
    whole = len(part) / len(re.findall(PATTERN, part))
    print(f'{name:13}', *(f'{c:.2f}' for c in curves[name]),
          f' whole words {whole:.2f}')

# %% mystnb={"image": {"alt": "Characters per token against the number of merges from 0 to 256: two curves start at 1, rise steeply and then more slowly to 2.4 for the training text and 2.3 for the last tenth. A dashed line at 4.2 marks whole words."}} tags=["hide-input"]
fig, ax = panels(1, height=2.4)
for (name, curve), colour in zip(curves.items(), ('C0', 'C1')):
    ax.plot(steps, curve, 'o-', color=colour, ms=3.5, lw=1.4, label=name)
ax.axhline(whole, color=GREY, lw=1, ls='--')
ax.text(2, whole - 0.1, 'whole words', color=GREY, va='top')
ax.set(xlabel='merges', ylabel='characters per token', ylim=(0.8, 4.5), xlim=(-5, 260))
label_lines(ax)

# %% [markdown] tags=["caption"]
# The first merges shorten the text most. The limit, dashed for the last tenth, is the mean length of the pieces into which the
# regular expression cuts.

# %% [markdown]
# ```{exercise} ★★ Program: merge one pair
# :label: lae-merge
#
# Write `merge_pair(ids, a, b, new)`: from left to
# right, each id `a` directly followed by `b` is replaced, together with this `b`, by `new`. An id belongs to one pair
# at most. Return a new list.
# ```

# %%
def merge_pair(ids, a, b, new):
    """The list of ids after one merge.

    List of ints, three ints -> list of ints. For ids = [1, 2, 2, 1, 2],
    a = 1, b = 2, new = 9 it is [9, 2, 9]. For [1, 1, 1], a = b = 1,
    new = 9 it is [9, 1].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_text(ids, a, b, new):
    letters = ''.join(map(chr, ids)).replace(chr(a) + chr(b), chr(new))
    return [ord(letter) for letter in letters]

pairs_drawn = dict(ids=lists(on(1, 2, 12), 0, 9), a=integers(1, 2), b=integers(1, 2), new=integers(3, 20))
grade(merge_pair, by_text, **pairs_drawn)

# %% [markdown]
# ```{solution-start} lae-merge
# :class: dropdown
# ```
# Go through the list with a position $i$. After a merge the position moves on by two, so that no id is used twice.
# Three mistakes are tempting: to move on by one, to lose the last id, and to accept the two ids in either order.

# %% jupyter={"source_hidden": true}
def merge_pair_solution(ids, a, b, new):
    out, i = [], 0
    while i < len(ids):
        if ids[i:i + 2] == [a, b]:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out

def uses_ids_twice(ids, a, b, new):
    hits = [ids[i:i + 2] == [a, b] for i in range(len(ids))]
    return [new if hit else old for i, (hit, old) in enumerate(zip(hits, ids)) if hit or not (i and hits[i - 1])]

def loses_the_last(ids, a, b, new):
    return merge_pair_solution(ids, a, b, new)[:-1]

def in_either_order(ids, a, b, new):
    out, i = [], 0
    while i < len(ids):
        pair = len(ids) > i + 1 and {ids[i], ids[i + 1]} == {a, b}
        out.append(new if pair else ids[i])
        i += 1 + pair
    return out

assert grade(merge_pair_solution, by_text, **pairs_drawn)
assert not grade(uses_ids_twice, by_text, **pairs_drawn)
assert not grade(loses_the_last, by_text, **pairs_drawn)
assert not grade(in_either_order, by_text, **pairs_drawn)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def back_again(parts, drop=0):
    line = ''.join(parts)
    ids = encode(line, rank)
    return decode(ids[:len(ids) - drop], rank) == line

texts = lists(on('a', 'the', ' ', "'", 'Queen', '1865', '\n', '\u00ef', '\U0001f642', '-', ' said', '\u732b'), 1, 12)
verify(
    'every text comes back from its ids', lambda parts: back_again(parts),
    slip=('loses the last id', lambda parts: back_again(parts, 1)), parts=texts, tries=100,
)

# %% tags=["checks"]
def by_pairs(words, merges):  # the classical way: pairs of ids, merged one after the other
    ids, names = {word: list(word) for word in words}, [bytes([b]) for b in range(256)]
    for _ in range(merges):
        seen = Counter()
        for word, times in words.items():
            for pair in zip(ids[word], ids[word][1:]):
                seen[pair] += times
        a, b = max(seen, key=seen.get)
        names.append(names[a] + names[b])
        ids = {word: merge_pair_solution(old, a, b, len(names) - 1) for word, old in ids.items()}
    return {name: i for i, name in enumerate(names)}, {word: [names[i] for i in old] for word, old in ids.items()}

def trains_alike(merges, fewer):
    theirs, parts = by_pairs(words, merges)
    ours = train_bpe(words, merges - fewer)
    return ours == theirs and all(split(word, ours) == found for word, found in parts.items())

verify(
    'more merges give fewer tokens, and the tokens join to the text',
    lambda fewer, more: len(cuts[more]) < len(cuts[fewer]) and ''.join(cuts[more]) == 'curiouser and curiouser!',
    slip=('exchanges the two', lambda fewer, more: len(cuts[fewer]) < len(cuts[more])), fewer=[0, 16, 64], more=[256],
)
verify(
    'a word has no token in common with the same word with a capital',
    lambda word: not {*encode(f' {word}', rank)} & {*encode(f' {word.capitalize()}', rank)},
    slip=('compares the bytes', lambda word: not {*word.encode()} & {*word.capitalize().encode()}), word=['alice'],
)
verify(
    'of the 795 different pieces of the last tenth 167 are new',
    lambda new: len(last) == 795 and len(last - {*re.findall(PATTERN, text)}) == new,
    slip=('counts those that are known', lambda new: len(last & {*re.findall(PATTERN, text)}) == new), new=[167],
)
verify(
    'training by pairs of ids gives the same tokens, and the same splits of the words',
    lambda merges: trains_alike(merges, 0),
    slip=('does one merge less', lambda merges: trains_alike(merges, 1)), merges=[16],
)
verify(
    'merges shorten the unseen text, and whole words are the limit',
    lambda curve: bool((np.diff(curve) > 0).all()) and curve[-1] < whole,
    slip=('expects words', lambda curve: curve[-1] > whole), curve=[curves['last tenth']],
)
if tiktoken:
    def as_theirs(parts, ranks):
        line = ''.join(parts)
        return library.encode(line) == encode(line, ranks) and library.decode(encode(line, rank)) == line

    verify(
        'every text has the tokens that tiktoken gives', lambda parts: as_theirs(parts, rank),
        slip=('leaves out the last merges', lambda parts: as_theirs(parts, dict(list(rank.items())[:300]))),
        parts=texts, tries=100,
    )
    verify(
        'the book has the tokens that tiktoken gives', lambda end: theirs[:end] == encoded,
        slip=('leaves out the last one', lambda end: theirs[:end - 1] == encoded), end=[len(encoded)],
    )

# %% [markdown]
# ## nn.Linear: y = Wx + b, its shapes, and when it is linear
#
# (la.linear.definition)=
# A **linear layer** computes $\mathbf{W}\mathbf{x} + \mathbf{b}$. Its parameters are the weight matrix $\mathbf{W}$ and, unless
# `bias=False`, the bias vector $\mathbf{b}$. `nn.Linear(2, 3)` maps two numbers to three:

# %%
torch.manual_seed(0)
layer = nn.Linear(2, 3)
print({name: tuple(p.shape) for name, p in layer.named_parameters()})
X = embed(ids, W)                         # (T, 2)
print(*(tuple(layer(x).shape) for x in (X[0], X, X[None])))

# %% [markdown]
# The last axis has length 2 before the layer and 3 after it, and all axes in front of it are kept. For one token, a
# column $\mathbf{x} \in \mathbb{R}^{d}$, the weights $\mathbf{W} \in \mathbb{R}^{\hat d \times d}$ and the bias
# $\mathbf{b} \in \mathbb{R}^{\hat d}$ give the column
#
# ```{math}
# :label: la.linear.column-form
# \mathbf{y} = \mathbf{W}\mathbf{x} + \mathbf{b} .
# ```
#
# (la.linear.data-matrix)=
# A data matrix $\mathbf{X} \in \mathbb{R}^{n \times d}$ has one token in each *row*. The layer maps each row by itself,
# and nothing passes from one row to another. All rows at once are
#
# ```{math}
# :label: la.linear.row-form
# \mathbf{Y} = \mathbf{X}\mathbf{W}^\top + \mathbf{1}\mathbf{b}^\top .
# ```
#
# Here $\mathbf{1} \in \mathbb{R}^n$ is a column of ones, so $\mathbf{1}\mathbf{b}^\top$ repeats the bias in each row. In
# code, broadcasting does this.

# %%
A, b = layer.weight.detach(), layer.bias.detach()     # W, b of y = Wx + b
one_by_one = torch.stack([A @ x + b for x in X])      # (n, 3)
at_once = X @ A.T + torch.outer(torch.ones(4), b)     # (n, 3)
print(one_by_one)
print('all at once differs by', below(at_once - layer(X)))

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# You may meet $\mathbf{Y} = \mathbf{X}\mathbf{W} + \mathbf{B}$ with $\mathbf{B} \in \mathbb{R}^{n \times \hat d}$. It is right
# only if all rows of $\mathbf{B}$ are equal. Else each row has a bias of its own, and row $n + 1$ of a longer text has none.
# :::
#
# ### Affine, not linear
#
# A linear map sends sums to sums and multiples to multiples, so it sends $\mathbf{0}$ to $\mathbf{0}$. The layer sends
# $\mathbf{0}$ to $\mathbf{b}$. It is *affine*, that is, linear plus a fixed vector, and it is linear if and only if
# $\mathbf{b} = \mathbf{0}$. But if we append a 1 to $\mathbf{x}$, one matrix is enough. The longer vector
# $[\mathbf{x}; 1]$ holds the **homogeneous coordinates** of $\mathbf{x}$:
#
# ```{math}
# :label: la.linear.represents-linear
# \mathbf{W}\mathbf{x} + \mathbf{b} = \begin{bmatrix} \mathbf{W} & \mathbf{b} \end{bmatrix}
# \begin{bmatrix} \mathbf{x} \\ 1 \end{bmatrix} .
# ```

# %%
x, y = X[0], X[1]
print((layer(x) + layer(y) - layer(x + y)).detach(), 'b:', b)
Ab = torch.cat([A, b[:, None]], 1)        # (3, 3)
print(torch.cat([X, torch.ones(4, 1)], 1) @ Ab.T)

# %% [markdown]
# For a linear map the first line would be zero. Here it is $\mathbf{b}$.
#
# (la.linear.matrix-represents-map)=
# Why does every linear map have a matrix? Since $\mathbf{x}$ is the sum of the $x_j \mathbf{e}_j$, its image is the sum of
# $x_j$ times the image of $\mathbf{e}_j$. These images are the columns of the matrix. Let the columns of $\mathbf{P}$ be
# another basis of the inputs, and those of $\mathbf{Q}$ another basis of the outputs. In these bases the matrix of the map is,
# in general, another one, namely $\mathbf{Q}^{-1}\mathbf{W}\mathbf{P}$.
#
# ```{exercise} ★ Pencil: two layers, one matrix
# :label: lae-homogeneous
#
# Let $\hat{\mathbf{W}} = \begin{bmatrix} \mathbf{W} & \mathbf{b} \\ \mathbf{0}^\top & 1 \end{bmatrix}$, so that
# $\hat{\mathbf{W}}$ sends $[\mathbf{x}; 1]$ to $[\mathbf{y}; 1]$. Multiply the matrices of two layers, the second from
# the left. Which weights and which bias has the layer that does the work of both? Does it have more or fewer parameters
# than the two, if they lead from 8 numbers to 2 and back to 8?
# ```
#
# ```{solution-start} lae-homogeneous
# :class: dropdown
# ```
# The product $\begin{bmatrix} \mathbf{W}_2 & \mathbf{b}_2 \\ \mathbf{0}^\top & 1 \end{bmatrix} \begin{bmatrix}
# \mathbf{W}_1 & \mathbf{b}_1 \\ \mathbf{0}^\top & 1 \end{bmatrix}$ has the weights $\mathbf{W}_2\mathbf{W}_1$ and the
# bias $\mathbf{W}_2\mathbf{b}_1 + \mathbf{b}_2$. So two linear layers without an activation between them are one linear
# layer. The two have $18 + 24 = 42$ parameters, and the one has 72, but the rank of its weights is at most 2.
# ```{solution-end}
# ```

# %% tags=["checks"]
def parameters(d, d_out, turned):
    layer = nn.Linear(d, d_out)
    shapes = {name: tuple(p.shape) for name, p in layer.named_parameters() if p.requires_grad}
    return shapes == {'weight': (d, d_out) if turned else (d_out, d), 'bias': (d_out,)}

widths = dict(d=integers(1, 7), d_out=integers(1, 7), tries=40)
holds(
    'la.linear.definition', lambda d, d_out: parameters(d, d_out, False),
    slip=('stores the transpose', lambda d, d_out: parameters(d, d_out, True)), **widths,
)

def torch_linear(x, W, b):
    return F.linear(torch.tensor(x), torch.tensor(W), torch.tensor(b)).numpy()

drawn = dict(W=matrices(3, 2, -3, 3), b=vectors(3, -3, 3), tries=30)
holds('la.linear.column-form', x=vectors(2, -3, 3), y=of(lambda x, W, b: torch_linear(x, W, b)), **drawn)
holds(
    'la.linear.row-form', X=matrices(4, 2, -3, 3), Y=of(lambda X, W, b: torch_linear(X, W, b)), **{'1': np.ones(4)}, **drawn,
)
holds('la.linear.represents-linear', x=vectors(2, -3, 3), **drawn)

def by_rows(seed, n, mixed):
    torch.manual_seed(seed)
    layer, X = nn.Linear(3, 4).double(), torch.randn(n, 3).double()
    rows = torch.stack([layer(x) for x in X])
    return layer(X).shape == (n, 4) and close(layer(X.flip(0) if mixed else X), rows)

holds(
    'la.linear.data-matrix', lambda seed, n: by_rows(seed, n, False),
    slip=('turns the order of the rows', lambda seed, n: by_rows(seed, n, True)), seed=seeds(), n=integers(1, 6), tries=30,
)

def in_bases(seed, exchanged):  # coordinates in the columns of P in, of Q out
    g = np.random.default_rng(seed)
    M, P, Q, x = g.normal(size=(3, 2)), g.normal(size=(2, 2)), g.normal(size=(3, 3)), g.normal(size=2)
    images = np.stack([np.linalg.solve(Q, M @ p) for p in P.T], 1)  # column j: image of basis vector j
    want = np.linalg.solve(Q, M @ P) if not exchanged else np.linalg.solve(Q, M) @ np.linalg.inv(P)
    return close(images, want) and close(Q @ images @ x, M @ (P @ x))

holds(
    'la.linear.matrix-represents-map', lambda seed: in_bases(seed, False),
    slip=('takes the inverse of P', lambda seed: in_bases(seed, True)), seed=seeds(), tries=30,
)

def additive(seed, bias):
    torch.manual_seed(seed)
    layer, (x, y) = nn.Linear(3, 4, bias=bias).double(), torch.randn(2, 3).double()
    return close(layer(2 * x + y), 2 * layer(x) + layer(y))

verify(
    'without a bias the layer is linear', lambda seed: additive(seed, False),
    slip=('keeps the bias', lambda seed: additive(seed, True)), seed=seeds(), tries=30,
)

# %% [markdown]
# ## Where it matters: embeddings learned from Alice
#
# Nobody tells a network that *he* and *she* are used alike. Can it find out? It has to predict the next token from the
# current one. The network is an embedding and a linear layer with a softmax.

# %% mystnb={"image": {"alt": "Four boxes from left to right, joined by arrows: current token, id; nn.Embedding, V times D; nn.Linear, D to V; softmax. Between them stand the sizes of what passes: 1 number, D numbers, V scores, and at the end V probabilities of the next token."}} tags=["hide-input"]
fig, ax = panels(1, height=1.25)
for x, width, words_in in ((0, 2.8, 'id of the\ntoken'), (3.9, 4.2, 'nn.Embedding\n$V \\times D$'),
                           (9.7, 3.2, 'nn.Linear\n$D \\to V$'), (14.5, 2.7, 'softmax')):
    ax.add_patch(plt.Rectangle((x, 0), width, 2, fc='C0', alpha=0.18, lw=0))
    ax.text(x + width / 2, 1, words_in, ha='center', va='center', fontsize=10)
for x, stop, size in ((2.85, 3.85, '1'), (8.15, 9.65, '$D$'), (12.95, 14.45, '$V$'), (17.25, 18.5, '$V$')):
    ax.annotate('', (stop, 1), (x, 1), arrowprops={'arrowstyle': '->', 'color': GREY})
    ax.text((x + stop) / 2, 1.25, size, ha='center', va='bottom', fontsize=11)
ax.text(18.6, 1, 'next\ntoken', ha='left', va='center', fontsize=10)
ax.set(xlim=(-0.2, 20.8), ylim=(-0.3, 2.4))
ax.axis('off');

# %% [markdown] tags=["caption"]
# The network, with the number of values that pass.

# %% [markdown]
# We encode with half of the merges. Of the $256 + 128 = 384$ possible tokens we keep the 165 that occur in the training text:

# %%
small = dict(list(rank.items())[:256 + 128])
train, test = (torch.tensor(encode(data.alice(part), small))
               for part in ('train', 'test'))
used = train.unique()                     # most bytes never occur
V = len(used)
train, test = (torch.searchsorted(used, part) for part in (train, test))
names = [list(small)[i] for i in used]
print(f'V = {V}, training tokens: {len(train)}')

# %% [markdown]
# The loss is the mean cross-entropy of the next token. It depends on the current and the next token alone, so it is enough to
# count pairs: entry $i, j$ of $\mathbf{C} \in \mathbb{R}^{V \times V}$ says how often token $j$ follows token $i$. For the bits
# per character, we add the losses of the last tenth, and divide by $\ln 2$ and by the number of characters:

# %%
def count_pairs(ids):
    flat = V * ids[:-1] + ids[1:]
    return flat.bincount(minlength=V * V).view(V, V).double()

C, C_test = count_pairs(train), count_pairs(test)     # (V, V)

def bits(log_p):                          # per character, last tenth
    nats = -(C_test * log_p).sum().item()
    return nats / math.log(2) / len(data.alice('test'))

# %%
def fit_next(table, learned, lr=0.1, steps=100):
    """Log-probabilities (V, V) after training; row: current token."""
    table.requires_grad_(learned)
    model = nn.Sequential(table, nn.Linear(table.embedding_dim, V))
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        log_p = model(torch.arange(V)).log_softmax(1)
        (-(C * log_p).sum() / C.sum()).backward()
        optimizer.step()
    return model(torch.arange(V)).log_softmax(1).detach()

def new_table(D, seed):
    torch.manual_seed(seed)
    return nn.Embedding(V, D)             # standard normal numbers

# %% [markdown]
# (ml.tf.embedding.learned)=
# The embedding is learned by backpropagation, together with the linear layer. To see what this contributes, we also train
# the network with a **frozen** embedding: the random numbers stay.
#
# Two count models are the reference lines. The first ignores the current token. The second counts pairs, and adds 0.1 to
# each count so that no probability is zero.

# %%
alone = (C.sum(0) + 0.1) / (C.sum() + 0.1 * V)        # (V,)
counted = (C + 0.1) / (C + 0.1).sum(1, keepdim=True)  # (V, V)
lines = {'no context': alone.expand(V, V).log(),
         'counted pairs': counted.log()}
for name, log_p in lines.items():
    print(f'{name:14} {bits(log_p):.3f} bits per character')

# %%
sizes = (2, 4, 8, 16, 32)
tables = {(kind, D): [new_table(D, seed) for seed in range(3)]
          for kind in ('learned', 'frozen') for D in sizes}
fits = {(kind, D): [fit_next(table, kind == 'learned') for table in three]
        for (kind, D), three in tables.items()}
for (kind, D), three in fits.items():
    print(f'{kind:8} D = {D:2} ', *(f'{bits(log_p):.3f}' for log_p in three))

# %% mystnb={"image": {"alt": "Bits per character against D = 2, 4, 8, 16, 32. The learned embeddings fall from 2.97 to 2.48, where a dashed line marks the counted pairs. The frozen ones fall from 3.42 to 2.87, always far above. A second dashed line at 3.46 marks the model without context."}} tags=["hide-input"]
fig, ax = panels(1, height=2.5)
for kind, colour in (('frozen', 'C1'), ('learned', 'C0')):
    values = np.array([[bits(log_p) for log_p in fits[kind, D]] for D in sizes])
    ax.plot(sizes, values, 'o', color=colour, ms=4, alpha=0.7)
    ax.plot(sizes, values.mean(1), color=colour, lw=1.4, label=kind)
for name, log_p in lines.items():
    ax.hlines(bits(log_p), 2, 32, color=GREY, lw=1, ls='--')
    ax.annotate(name, (2, bits(log_p)), xytext=(0, 3), textcoords='offset points', color=GREY, fontsize=9)
ax.set(xscale='log', xticks=sizes, xticklabels=sizes, xlabel='numbers $D$ for each token',
       ylabel='bits per character', ylim=(2.35, 3.6))
ax.minorticks_off()
label_lines(ax)

# %% [markdown] tags=["caption"]
# Bits per character on the last tenth of the book, three seeds each. After 100 steps, learned embeddings come close to the
# counted pairs with 16 numbers for each token, and reach them with 32. Random ones of the same length stay far behind.

# %% [markdown]
# Is the learning rate to blame for the difference? We try 0.03, 0.1 and 0.3, with other random numbers in the linear layers.
# And do more steps help?

# %% tags=["hide-input"]
for kind, D in ('learned', 4), ('frozen', 32):
    rates = [bits(fit_next(new_table(D, 0), kind == 'learned', lr=lr))
             for lr in (0.03, 0.1, 0.3)]
    print(f'{kind:8} D = {D:2}: ', *(f'{b:.3f}' for b in rates))
def seen_bits(log_p):  # per character of the training text
    return -(C * log_p).sum().item() / math.log(2) / len(text)
for steps, log_p in (100, fits['learned', 32][0]), (400, fit_next(new_table(32, 0), True, steps=400)):
    print(f'learned  D = 32, {steps} steps: training text {seen_bits(log_p):.3f}, last tenth {bits(log_p):.3f}')

# %% [markdown]
# No rate is clearly better than 0.1. With $D = 32$, 400 steps fit the training text better, but the last tenth worse: the
# network overfits.
#
# Are the differences larger than chance? We cut the last tenth into blocks of 100 tokens and compare the mean losses block by
# block. The numbers after ± are two standard errors over the blocks.

# %%
def gap(a, b):                            # bits per token that a costs more
    d = ((b - a) / math.log(2))[test[:-1], test[1:]]
    blocks = d[:len(d) // 100 * 100].view(-1, 100).mean(1)
    return blocks.mean(), 2 * blocks.std() / len(blocks) ** 0.5

def average(kind, D):
    return torch.stack(fits[kind, D]).mean(0)         # over the seeds

for a, b in ((('frozen', 32), ('learned', 4)),
             (('learned', 16), 'counted pairs'),
             (('learned', 32), 'counted pairs')):
    other = lines[b] if b in lines else average(*b)
    mean, error = gap(average(*a), other)
    print(a, 'minus', b, f'{mean:.4f} ± {error:.4f} bits per token')

# %% [markdown]
# Four learned numbers for each token are better than 32 random ones, so it is the learning of the embedding that helps. With 16
# learned numbers the network is still slightly worse than the counted pairs. With 32 the difference is within its margin. The
# parameters of the network grow like $VD$, and the table of pairs like $V^2$.
#
# ### Which tokens are neighbours?
#
# Tokens with nearly equal embeddings get nearly equal predictions. Does training give similar directions to the embeddings of
# tokens that are followed by the same tokens? For five tokens we print the three others with the largest cosine similarity, on
# average over the three seeds:

# %%
def likeness(table):                      # cosines, (V, V)
    Z = F.normalize(table.weight.detach(), dim=1)
    return Z @ Z.T - 2 * torch.eye(V)     # no token is its own neighbour

S = sum(likeness(table) for table in tables['learned', 16]) / 3
for token in (b'.', b' of', b' he', b' had', b'ed'):
    nearest = S[names.index(token)].topk(3).indices
    print(token, *(names[i] for i in nearest))

# %% [markdown]
# The neighbours of a full stop are other marks, and those of *of* are prepositions. For *he* the network finds *we* and *she*,
# but also a question mark. With $D = 2$ we can draw the embeddings:

# %% mystnb={"image": {"alt": "165 points in the plane, three groups coloured. Most tokens without a letter, such as full stop and question mark, lie at the top. Tokens of a space and consonants, such as d and th, lie at the lower left. The vowels lie to the right. All others are grey, most of them in the middle."}} tags=["hide-input"]
fig, ax = panels(1, height=3.6)
Z = tables['learned', 2][0].weight.detach()
groups = {'without a letter': (rb'[^a-z]+', 'C1', (1.75, 4.3)),
          'space and consonants': (rb' [b-df-hj-np-tv-z]+', 'C2', (-1.2, -4.7)),
          'vowels': (rb'[aeiou]+', 'C0', (2.35, -1.15)), 'others': (rb'', GREY, (-3.9, 1.2))}
for i, name in enumerate(names):
    colour = next(c for pattern, c, _ in groups.values() if not pattern or re.fullmatch(pattern, name))
    ax.plot(*Z[i], 'o', ms=4, color=colour, alpha=0.75, mew=0)
    if name in (b'?', b' d', b' th', b' w', b'a', b'o', b'ou', b' said', b' she', b' the', b'ing', b'ed'):
        ax.annotate(name.decode(), Z[i], xytext=(4, 3), textcoords='offset points', fontsize=9, color=colour)
for name, (_, colour, place) in groups.items():
    ax.text(*place, name, color=colour, fontsize=10.5)
ax.set(xlabel='first number of the embedding', ylabel='second number');

# %% [markdown] tags=["caption"]
# The embeddings of one network with $D = 2$. Many vowels, marks, and tokens of a space and consonants lie in regions of their
# own.

# %% [markdown]
# To count, we take all tokens without a letter: the marks, and the space alone. For how many of them
# is the nearest neighbour again such a token?

# %% tags=["hide-input"]
marks = torch.tensor([not re.search(rb'[a-z]', name) for name in names])
m = marks.sum().item()
print(f'{m} tokens, by chance {m * (m - 1) / (V - 1):.2f}')
hits = {kind: [marks[likeness(table).argmax(1)][marks].sum().item()
               for table in tables[kind, 16]] for kind in ('learned', 'frozen')}
print(hits)

# %% [markdown]
# After learning, 14 or 15 of the 17 tokens have such a neighbour, depending on the seed. Without learning, at most 6 have one.
# The network has seen ids alone. It has learned from what follows them that these tokens belong together.
#
# ```{exercise} ★★ Experiment: feed the id as a number
# :label: lae-number
#
# Give the network the id itself as a number, scaled to mean 0 and variance 1, as a frozen
# embedding with $D = 1$. How much of the distance from *no context* to a learned embedding with $D = 1$ does it
# close, in bits per character? Predict: return `'less than a quarter'`, `'about half'` or
# `'more than three quarters'`. Then look, and explain.
# ```

# %%
def predicted_share():
    raise NotImplementedError('your turn')

# %% tags=["hide-input"]
def measured_share():
    number = torch.arange(V).double()
    table = nn.Embedding.from_pretrained(((number - number.mean()) / number.std())[:, None])
    ends = [bits(lines['no context']), bits(fit_next(new_table(1, 0), True))]
    torch.manual_seed(0)
    middle = bits(fit_next(table, False))
    return ends[0], middle, ends[1]

none, as_number, as_table = measured_share()

def is_measured(words):
    answers = {'less than a quarter': (0, 0.25), 'about half': (0.25, 0.75), 'more than three quarters': (0.75, 1.1)}
    if words not in answers:
        raise ValueError(f'return one of {list(answers)}')
    low, high = answers[words]
    return low <= (none - as_number) / (none - as_table) < high

grade(lambda: is_measured(predicted_share()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} lae-number
# :class: dropdown
# ```
# It closes about a tenth of the distance. With the id as a number, each score is a line over the ids, so that tokens
# with neighbouring ids must have similar predictions. But most ids are in the order of the merges, and neighbours in
# this order need not be used alike. With $D = 1$ a learned embedding is a number, too, and it can put tokens with
# similar followers side by side.

# %% tags=["hide-input"]
assert grade(lambda: is_measured('less than a quarter'), lambda: True, [()])
for wrong_words in 'about half', 'more than three quarters':
    assert not grade(lambda: is_measured(wrong_words), lambda: True, [()])
print(f'no context {none:.3f}, id as a number {as_number:.3f}, learned D = 1 {as_table:.3f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def costs_more(a, b):
    mean, error = gap(a, b)
    return bool(mean > error)

holds(
    'ml.tf.embedding.learned',
    lambda seed, D: costs_more(fits['frozen', D][seed], fits['learned', D][seed]),
    slip=('learns in neither', lambda seed, D: costs_more(fits['frozen', D][seed], fits['frozen', D][seed])),
    seed=[0, 1, 2], D=list(sizes),
)
verify(
    'four learned numbers are better than 32 random ones',
    lambda seed, a, b: costs_more(fits['frozen', b][seed], fits['learned', a][seed]),
    slip=('takes two for four', lambda seed, a, b: costs_more(fits['frozen', b][seed], fits['learned', a // 2][seed])),
    seed=[0, 1, 2], a=[4], b=[32],
)
verify(
    'with 32 learned numbers the counted pairs are not better by two standard errors',
    lambda D: not costs_more(average('learned', D), lines['counted pairs']),
    slip=('says so of 16', lambda D: not costs_more(average('learned', D // 2), lines['counted pairs'])), D=[32],
)
verify(
    'most tokens without a letter have a nearest neighbour of their kind after learning, and not before',
    lambda kind, other: min(hits[kind]) > m / 2 > max(hits[other]),
    slip=('exchanges the two', lambda kind, other: min(hits[other]) > m / 2 > max(hits[kind])),
    kind=['learned'], other=['frozen'],
)

def loss_by_tokens(seed, shift):  # pair by pair, as a training in batches would
    log_p = fits['learned', 2][seed]
    return close(-(C * log_p).sum() / C.sum(), F.nll_loss(log_p[train[:-1]], train[1:].roll(shift)))

verify(
    'the counted pairs give the mean cross-entropy of the next token', lambda seed: loss_by_tokens(seed, 0),
    slip=('moves the targets by one', lambda seed: loss_by_tokens(seed, 1)), seed=[0, 1, 2],
)

# %% [markdown]
# ## Summary
#
# Byte pair encoding starts from bytes, so that every text has tokens, and it merges the most frequent neighbours. An embedding
# layer equals a linear layer without bias on one-hot vectors, but it only copies rows, and the gradients of a repeated token
# are added up. A linear layer maps each row by $\mathbf{W}\mathbf{x} + \mathbf{b}$, which is linear if and only if the bias is
# zero.
#
# **Further reading.** {cite}`sennrich2016neural` brought byte pair encoding to translation. {cite}`bengio2003neural` learned
# embeddings from more than one token of context. {cite}`radford2019language`, section 2.2, explains why GPT-2 works with bytes.
