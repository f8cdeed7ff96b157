# ---
# jupyter:
#   book:
#     functions:
#       layer_norm: "layer_norm(normal(3, 4), normal(4), normal(4))"
#       layer_norm_backward: "layer_norm_backward(normal(3, 4), normal(4), normal(3, 4))"
#       standardize: "standardize(normal(3, 4, 5), (1, 2))"
#       rms_norm: "rms_norm(normal(3, 4), normal(4))"
#     main: ml.ln.normalize
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Layer normalization
#
# Inside a network that translates, each word is a vector, and some vectors have much larger entries than others. Batch
# normalization brings them to one scale. But in training, it mixes the words of all sentences of a batch, and in use it
# computes something else than in training. How can we bring each vector to the same scale on its own?
#
# - **You need** [means and variances](../probability/expectations.ipynb), the [chain rule](../calculus/chain_rule.ipynb),
#   the [rank](../linear_algebra/singular_value_decomposition.ipynb) of a matrix, [channels](channels.ipynb) and, for the
#   comparison, [batch normalization](batch_normalization.ipynb).
# - **You build** layer normalization and its backward pass, its relatives (batch, instance, group and RMS normalization),
#   each equal to PyTorch's, and networks that learn from two examples at a time.
# - **Runs in** 10 seconds. Tensors are float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn
from torch.nn.functional import group_norm
from torch.utils.flop_counter import FlopCounterMode

from nbutils.cases import integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import below, between, close, grade, holds, verify
from nbutils.data import digits
from nbutils.figures import GREY, panels
from nbutils.printed import of
from nbutils.training import batches, fit

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the tensors are small: a second thread would mostly wait
torch.set_printoptions(precision=3, sci_mode=False)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Layer normalization of one row: mean, variance, scale and shift
#
# A layer has computed four numbers for one example. Their mean is 6. We subtract it, and divide by the standard deviation:

# %%
x = torch.tensor([1.0, 7, 7, 9])
mu = x.mean()
variance = ((x - mu) ** 2).mean()
x_hat = (x - mu) / variance.sqrt()
print(f'mean {mu:.2f}, variance {variance:.2f}')
print('standardized:', x_hat)

# %% [markdown]
# The differences from the mean are $-5, 1, 1, 3$. Their squares have the mean 9, so we divide by 3. The result has mean 0
# and variance 1, and it says which entries are large compared with the others of the same example.
#
# (ml.ln.per-observation)=
# This is **layer normalization**: the mean and the variance are taken over the $K$ features of one example, for each example by
# itself. For a vector $\mathbf{x} \in \mathbb{R}^K$ they are
#
# ```{math}
# :label: ml.ln.stats
# \mu = \frac{1}{K} \sum_{k=1}^K x_k, \qquad \sigma^2 = \frac{1}{K} \sum_{k=1}^K (x_k - \mu)^2 .
# ```
#
# If all entries are equal, $\sigma$ is zero. So a small number $\epsilon > 0$ is added before we divide. With
# $\mathbf{1} = (1, \dots, 1)$, the standardized vector is
#
# ```{math}
# :label: ml.ln.normalize
# \hat{\mathbf{x}} = \frac{\mathbf{x} - \mu \mathbf{1}}{\sqrt{\sigma^2 + \epsilon}} .
# ```
#
# The next layer may want another scale. So each feature gets a learned scale $\gamma_k$ and a learned shift $\beta_k$. They are the same for
# all examples, and begin at 1 and 0:
#
# ```{math}
# :label: ml.ln.affine
# \mathbf{y} = \boldsymbol{\gamma} \odot \hat{\mathbf{x}} + \boldsymbol{\beta} .
# ```

# %%
def layer_norm(X, gamma, beta, eps=1e-5):             # X: (..., K)
    mu = X.mean(-1, keepdim=True)                     # (..., 1)
    variance = ((X - mu) ** 2).mean(-1, keepdim=True)
    X_hat = (X - mu) / (variance + eps).sqrt()        # (..., K)
    return gamma * X_hat + beta

# %% [markdown]
# Now we put the example into a batch. The second row is ten times the first one:

# %%
X = torch.tensor([[ 1.0,  7.0,  7.0,  9.0],
                  [10.0, 70.0, 70.0, 90.0],
                  [ 3.0,  0.0, -1.0,  2.0]])          # (3, 4)
gamma, beta = torch.ones(4), torch.zeros(4)
print(layer_norm(X, gamma, beta))
print(nn.LayerNorm(4)(X).detach())                    # PyTorch

# %% [markdown]
# The first two rows give the same, because the scale is lost.
#
# (ml.ln.no-batch)=
# No row looks at another row. So a batch of one row works, and there is nothing to switch between training and
# evaluation. We try both with the third row:

# %%
layer = nn.LayerNorm(4)
print('alone:     ', layer(X[2:]).detach())
layer.eval()
print('evaluation:', layer(X)[2:].detach())

# %% [markdown]
# ### The backward pass of layer normalization
#
# Let $\mathcal{L}$ be the loss, and suppose that backpropagation has found $g_k = \partial \mathcal{L} / \partial \hat x_k$, which is $\gamma_k\, \partial
# \mathcal{L} / \partial y_k$. The entry $x_k$ acts on the loss in three ways: through its own $\hat x_k$, through the mean,
# and through the variance. The chain rule adds them up:
#
# ```{math}
# :label: eq-ln-backward
# \frac{\partial \mathcal{L}}{\partial x_k} = \frac{1}{\sqrt{\sigma^2 + \epsilon}} \Big( g_k - \frac{1}{K} \sum_{j=1}^K g_j
# - \hat x_k \, \frac{1}{K} \sum_{j=1}^K g_j \hat x_j \Big) .
# ```
#
# So two terms are subtracted from $g_k$. The first is the mean of all $g_j$. It comes from $\mu$. The second comes from $\sigma$. It is $\hat x_k$ times another
# mean, that of all $g_j \hat x_j$. In the code, this mean has the name `along`.
#
# :::{admonition} The three ways, one by one
# :class: dropdown
# Write $s = \sqrt{\sigma^2 + \epsilon}$, so $\hat x_j = (x_j - \mu)/s$. With respect to $x_k$, the mean $\mu$ has the
# derivative $1/K$. In $\sigma^2 = \frac{1}{K} \sum_j (x_j - \mu)^2$, $x_k$ acts directly and through $\mu$. The direct part gives
# $\frac{2}{K} (x_k - \mu)$. The other part gives $-\frac{2}{K^2} \sum_j (x_j - \mu)$, which is zero, because the differences from the mean sum to
# zero. The root $s$ has this derivative divided by $2s$: $(x_k - \mu)/(K s) = \hat x_k / K$.
#
# For $j \ne k$, only $\mu$ and $s$ change in $\hat x_j$, and the quotient rule gives $\partial \hat x_j / \partial x_k = -\frac{1}{s}
# (\frac{1}{K} + \frac{1}{K} \hat x_j \hat x_k)$. For $j = k$, $x_j$ itself changes, too, which adds $\frac{1}{s}$. We multiply by $g_j$ and sum over $j$.
# :::

# %%
def layer_norm_backward(X, gamma, dY, eps=1e-5):      # X, dY: (..., K)
    s = (X.var(-1, correction=0, keepdim=True) + eps).sqrt()
    X_hat = (X - X.mean(-1, keepdim=True)) / s
    G = gamma * dY
    along = (G * X_hat).mean(-1, keepdim=True)        # (..., 1)
    return (G - G.mean(-1, keepdim=True) - X_hat * along) / s

# %%
X.requires_grad_()                                    # only y_1 counts in L
dY = torch.tensor([[18.0, 0, 0, 0]]).repeat(3, 1)     # (3, 4)
nn.LayerNorm(4)(X).backward(dY)
ours = layer_norm_backward(X.detach(), gamma, dY)
print(ours)
print('difference from autograd:', below((ours - X.grad).abs().max()))
print('sums of the rows:', below(ours.sum(1).abs().max()))

# %% [markdown]
# In the second row, the input is ten times as large, so $\sigma$ is, too. The formula divides by it, so the gradient is ten times
# smaller. Each row of the gradient sums to zero, because a shift of the whole row changes nothing.
#
# ```{exercise} ★ Pencil: a layer with two features
# :label: layernorm-two
# What does layer normalization with $\epsilon = 0$ make of a row with two different entries, $\mathbf{x} = (a, b)$? What is left of the gradient
# of such a row?
# ```
#
# ```{solution-start} layernorm-two
# :class: dropdown
# ```
# The mean is $(a + b)/2$, and both entries are $|a - b|/2$ away from it, which is also the standard deviation. So the result is $(1, -1)$ if $a > b$, and $(-1, 1)$
# if $a < b$. It only says which entry is larger. A small change of $a$ or $b$ changes nothing, so the gradient is zero.
# ```{solution-end}
# ```

# %% tags=["checks"]
drawn = seeds().map(lambda seed: np.random.default_rng(seed).normal(size=5))
holds('ml.ln.stats', K=5, x=drawn, mu=of(lambda x: x.mean()), sigma=of(lambda x: x.std()))

def by_torch(x, gamma, beta, epsilon):
    x, gamma, beta = (torch.tensor(part) for part in (x, gamma, beta))
    return nn.functional.layer_norm(x, (len(x),), gamma, beta, float(epsilon)).numpy()

holds(
    'ml.ln.normalize',
    x=vectors(5), epsilon=scalars(0.1, 3), mu=of(lambda x: x.mean()), sigma=of(lambda x: x.std()),
    x_hat=of(lambda x, epsilon: by_torch(x, np.ones(5), np.zeros(5), epsilon)), **{'1': np.ones(5)},
)
holds(
    'ml.ln.affine',
    x=vectors(5), gamma=vectors(5), beta=vectors(5),
    x_hat=of(lambda x: by_torch(x, np.ones(5), np.zeros(5), 0.1)),
    y=of(lambda x, gamma, beta: by_torch(x, gamma, beta, 0.1)),
)

def draw(seed, *shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))

def others_change(seed, norm):  # the first row stays, the others become something else
    X = draw(seed, 4, 6)
    other = torch.cat([X[:1], 3 * draw(seed + 1, 5, 6) + 2])
    return close(norm(X)[0].detach(), norm(other)[0].detach(), rtol=0, atol=1e-12)

holds(
    'ml.ln.per-observation',
    lambda seed: others_change(seed, nn.LayerNorm(6)),
    slip=('averages over the observations', lambda seed: others_change(seed, nn.BatchNorm1d(6))),
    seed=seeds(), tries=20,
)

def same_alone(seed, norm):  # trains on a batch, then evaluates the same rows, one by one
    X = draw(seed, 4, 6)
    trained = norm(X).detach()
    norm.eval()
    return close(trained, torch.cat([norm(row[None]) for row in X]).detach(), rtol=0, atol=1e-12)

holds(
    'ml.ln.no-batch',
    lambda seed: same_alone(seed, nn.LayerNorm(6)),
    slip=('uses the statistics of a batch', lambda seed: same_alone(seed, nn.BatchNorm1d(6))),
    seed=seeds(), tries=20,
)

def ours_is_theirs(seed, gamma_too):
    X, gamma, beta, dY = draw(seed, 3, 5).requires_grad_(), draw(seed + 1, 5), draw(seed + 2, 5), draw(seed + 3, 3, 5)
    want = nn.functional.layer_norm(X, (5,), gamma, beta)
    want.backward(dY)
    back = layer_norm_backward(X.detach(), gamma if gamma_too else torch.ones(5), dY)
    return close(layer_norm(X, gamma, beta).detach(), want.detach()) and close(back, X.grad)

verify(
    'forward and backward are those of PyTorch',
    lambda seed: ours_is_theirs(seed, True),
    slip=('leaves gamma out of the backward pass', lambda seed: ours_is_theirs(seed, False)),
    seed=seeds(), tries=20,
)

# %% [markdown]
# ## Batch, instance, group and layer normalization: which entries are averaged
#
# In training, all these layers subtract a mean and divide by a standard deviation. They differ in the entries from which these two
# numbers are computed. So one function can do all of them. It is told the axes over which to average:

# %%
def standardize(X, axes, eps=1e-5):
    centred = X - X.mean(axes, keepdim=True)
    variance = (centred ** 2).mean(axes, keepdim=True)
    return centred / (variance + eps).sqrt()

# %% [markdown]
# Take a batch of $N = 3$ sequences of $T = 5$ places, with $C = 4$ channels at each place. Its shape is $(N, C, T)$. For
# pictures, the height and the width stand where $T$ stands. The layers average over these entries:
#
# - batch normalization: one channel, over all examples and all places,
# - instance normalization: one channel of one example, over its places,
# - group normalization: a group of channels of one example, over their places,
# - layer normalization: all channels of one example, either over all places or, as in the first part, at each place by itself.

# %%
N, C, T = 3, 4, 5
X = torch.randn(N, C, T, generator=torch.Generator().manual_seed(0))
in_two = X.reshape(N, 2, C // 2, T)                   # two groups
token_norm = nn.LayerNorm(C)                          # last axis: channels
kinds = {
    'batch': (nn.BatchNorm1d(C), standardize(X, (0, 2))),
    'instance': (nn.InstanceNorm1d(C), standardize(X, 2)),
    'group': (nn.GroupNorm(2, C),
              standardize(in_two, (2, 3)).reshape(N, C, T)),
    'layer': (nn.LayerNorm([C, T]), standardize(X, (1, 2))),
    'layer, each place': (lambda X: token_norm(X.mT).mT,  # .mT swaps C, T
                          standardize(X, 1))}

# %% [markdown]
# On which entries of the input does one output depend? We ask autograd: an entry counts if its derivative is not zero.

# %%
def inputs_of(norm, X, place):
    X = X.clone().requires_grad_()
    norm(X)[place].backward()
    return X.grad != 0

reached = {}
for name, (norm, ours) in kinds.items():
    reached[name] = inputs_of(norm, X, (1, 1, 2))
    print(f'{name:17} depends on {reached[name].sum():2} entries;',
          'ours differs', below((norm(X) - ours).abs().max()))

# %% mystnb={"image": {"alt": "Five rows of three grids, one grid for each example, with four rows for channels and five columns for places. One cell of the middle grid is marked with a cross. Shaded: for batch normalization the same channel in all three grids; for instance normalization one row of the middle grid; for group normalization two rows of it; for layer normalization the whole middle grid; for layer normalization at each place one column of it."}} tags=["hide-input"]
fig, axes = panels(1, rows=5, height=1.0)
for ax, (name, seen) in zip(axes.flat, reached.items()):
    for n, c, t in np.ndindex(N, C, T):
        ax.add_patch(plt.Rectangle((7 * n + t, C - 1 - c), 1, 1, fc='C0' if seen[n, c, t] else 'none', ec=GREY, lw=0.8))
    ax.plot(7 + 2.5, C - 1.5, 'x', color='C1', ms=7, mew=2)
    ax.text(-0.7, 2, name, ha='right', va='center', fontsize=9)
    ax.set(xlim=(-9, 19.3), ylim=(-0.2, 4.2), aspect='equal')
    ax.axis('off')
for n in range(N):
    axes.flat[0].text(7 * n + 2.5, 4.4, f'example {n}', ha='center', fontsize=9)

# %% [markdown] tags=["caption"]
# Blue: the entries that are averaged for the output at the cross. Rows are channels, columns are places. Only batch
# normalization looks at other examples. Only layer normalization at each place ignores the other places.

# %% [markdown]
# (dl.norm-fc.bn-fc)=
# Batch normalization (BN) also stands in dense layers. There are no places, so it averages each feature over the examples. Usually it stands between the affine
# map and the activation: $\mathbf{h} = \phi(\mathrm{BN}(\mathbf{W}\mathbf{x} + \mathbf{b}))$. The bias $\mathbf{b}$ could be left out, because
# it is subtracted again with the mean. In a convolutional layer, batch normalization averages
# each channel over the examples and all pixels. All this holds for the training. In evaluation, batch normalization uses averages that were stored before.
#
# Transformers normalize at each place, with layer normalization or with RMSNorm, which comes at the end of this page. In a batch, short sentences are filled with zeros to
# the length of the longest one. If each place is normalized by itself, these zeros and the other sentences do not
# change what the normalization makes of a word. For pictures in small batches, group normalization is an alternative {cite}`wu2018group`.
#
# ### Where it matters: learning from two examples at a time
#
# If the examples or the network are large, only a few examples fit into memory at a time. What does batch normalization make of a batch of two in a
# dense layer? (Behind a convolution it has more rows to average over, because each place of a picture counts as one.)

# %%
pair = torch.tensor([[1.0, 7.0, 7.0, 9.0],
                     [3.0, 0.0, 6.9, 2.0]])
print(nn.BatchNorm1d(4)(pair).detach())
try:
    nn.BatchNorm1d(4)(pair[:1])
except ValueError as error:
    print('one row:', str(error)[:43])

# %% [markdown]
# Each column becomes 1 and $-1$, up to $\epsilon$. The output only tells which of the two entries is larger: 7 and 6.9 give almost the same as 9
# and 2. In a batch of one row, all variances are zero, and PyTorch refuses such a batch.
#
# How much accuracy does this cost? We train a network on 1200 handwritten digits,
# and test on 597 others. Its hidden layer has 64 units, which are normalized by batch normalization, by layer normalization, or not at all. With batches of
# two, one pass over the digits has 600 steps. For comparison, we also take batches of 32. One pass has only 38 steps then, so we take four passes.

# %%
x, y, _ = digits()
x, y = torch.tensor(x), torch.tensor(y)               # (1797, 64), (1797,)
passes = {2: 1, 32: 4}                                # over 1200 digits
print(f'{len(x) - 1200} test digits')
for size, times in passes.items():
    print(f'batches of {size}: {times * -(-1200 // size)} steps')

# %%
norms = {'none': lambda units: nn.Identity(),
         'batch': nn.BatchNorm1d, 'layer': nn.LayerNorm}

def network(kind):
    return nn.Sequential(
        nn.Linear(64, 64, bias=False), norms[kind](64), nn.ReLU(),
        nn.Linear(64, 10))

# %% mystnb={"image": {"alt": "From left to right, joined by arrows: a digit of 8 by 8 pixels, then boxes: linear, no bias; norm or not, in orange; ReLU; linear. Below the arrows stands how many numbers there are for one example: 64, 64, 64, 64 and 10."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 1.5))
ax.imshow(x[0].reshape(8, 8), cmap='gray', extent=(0, 1.5, 0.25, 1.75))
for k, words in enumerate(('linear,\nno bias', 'norm\nor not', 'ReLU', 'linear')):
    left = 2.7 + 2.9 * k
    ax.add_patch(plt.Rectangle((left, 0.4), 1.8, 1.2, fc='none', ec='C1' if k == 1 else 'C0', lw=1))
    ax.text(left + 0.9, 1, words, ha='center', va='center', fontsize=9)
for k, units in enumerate((64, 64, 64, 64, 10)):
    start = 1.6 + 2.9 * k
    ax.annotate('', (start + 1.07, 1), (start, 1), arrowprops={'arrowstyle': '->', 'color': GREY})
    ax.text(start + 0.5, -0.1, units, ha='center', va='center', fontsize=9)
ax.set(xlim=(-0.1, 14.4), ylim=(-0.4, 1.9), aspect='equal')
ax.axis('off');

# %% [markdown] tags=["caption"]
# The network, with the shapes for one example. The three versions differ in the orange box alone.

# %% [markdown]
# We count the parameters, and the multiplications and additions in the two linear layers for one digit (FLOPs):

# %%
for kind in norms:
    model = network(kind).eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(x[:1])
    print(f'{kind:5} {sum(p.numel() for p in model.parameters()):,}'
          f' parameters, {counter.get_total_flops():,} FLOPs')

# %%
def accuracy(kind, size, lr, seed, epochs):
    torch.manual_seed(seed)
    model = network(kind)
    g = torch.Generator().manual_seed(seed)
    fit(model, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr),
        batches(g, size, x[:1200], y[:1200], epochs=epochs))
    return (model(x[1200:]).argmax(1) == y[1200:]).double().mean().item()

# %% [markdown]
# Each network is trained with three seeds and four learning rates. We print the mean accuracy of the best learning rate, and two
# standard errors over the seeds. We choose this rate on the test digits, so all scores are slightly too good:

# %%
rates = 0.004, 0.016, 0.064, 0.256
scores, best = {}, {}
for size in 2, 32:
    for kind in norms:
        runs = np.array([[accuracy(kind, size, lr, seed, passes[size])
                          for lr in rates]
                         for seed in range(3)])       # (3, 4)
        at = runs.mean(0).argmax()
        scores[kind, size], best[kind, size] = runs, runs[:, at]
        mean, error = runs[:, at].mean(), runs[:, at].std(ddof=1) / 3**0.5
        shown = f'{mean:.4f} ± {2 * error:.4f}, at rate {rates[at]}'
        if (kind, size) == ('batch', 2):
            shown = between(mean, 0.75, 0.85)         # see below
        print(f'batches of {size:2}, {kind:5}: {shown}')

# %%
gap = best['layer', 2] - best['batch', 2]             # paired by seed: (3,)
print(f'batches of  2, layer - batch: {between(gap.mean(), 0.03, 0.1)},',
      f'> 2 standard errors: {gap.mean() > 2 * gap.std(ddof=1) / 3**0.5}')
for size in 2, 32:
    gain = best['layer', size] - best['none', size]   # paired: (3,)
    print(f'batches of {size:2}, layer - none: {gain.mean():.4f}'
          f' ± {2 * gain.std(ddof=1) / 3**0.5:.4f}')

# %%
once = [[accuracy('batch', 32, lr, seed, 1) for lr in rates]
        for seed in range(3)]                         # 38 steps each
print(f'batches of 32, batch, one pass: {np.mean(once, 0).max():.3f}')
linear = LogisticRegression(max_iter=1000).fit(x[:1200], y[:1200])
print(f'logistic regression: {linear.score(x[1200:], y[1200:]):.3f}')

# %% mystnb={"image": {"alt": "Two panels, accuracy against the learning rate on a logarithmic axis. For batches of two, a wide band from 0.6 to 0.9 stands for batch normalization; the points of the best rates of layer normalization lie in its upper part. For batches of 32, batch and layer normalization lie together near the top, and no normalization is lower at small rates."}} tags=["hide-input"]
fig, axes = panels(2, height=2.5, sharey=True)
for ax, size in zip(axes, (2, 32)):
    for kind, colour in {'none': GREY, 'batch': 'C1', 'layer': 'C0'}.items():
        if (kind, size) == ('batch', 2):
            ax.fill_between(rates, 0.6, 0.9, color=colour, alpha=0.25, lw=0)
            continue
        ax.plot(rates, scores[kind, size].mean(0), color=colour)
        ax.plot(rates, scores[kind, size].T, '.', color=colour, ms=4)
    ax.axhline(0.1, color=GREY, ls='--', lw=1)
    ax.set(title=f'batches of {size}', xlabel='learning rate', xscale='log', ylim=(0, 1))
axes[0].set_ylabel('accuracy')
for kind, colour, height in ('batch', 'C1', 0.5), ('layer', 'C0', 0.38), ('none', GREY, 0.26):
    axes[1].text(0.25, height, kind, color=colour, ha='right')
axes[0].text(0.25, 0.13, 'chance', color=GREY, ha='right');

# %% [markdown] tags=["caption"]
# Accuracy on the test digits: a point for each seed, a line through the means. With batches of two, the runs of batch normalization
# lie somewhere in the orange band, at places that differ from computer to computer. The dashed line is chance.

# %% [markdown]
# With batches of two, batch normalization turns the larger entry into 1 and the smaller one into $-1$. If the two entries are nearly equal, a tiny change
# exchanges these outputs. Even the rounding errors, which differ from computer to computer, then change the training. So we print
# only two bounds for the accuracy.
#
# With batches of two, batch normalization reads fewer digits than layer normalization, each at its best learning rate, by more than two standard
# errors. With batches of 32, the
# same network with batch normalization reads 91 % of the digits, and after a single pass of 38 steps already 89.9 %. So batches of two, and not the number of
# steps, are the reason. Layer normalization reads 87 % with batches of two and 88 % with batches of 32. So the noisier gradients of batches of two cost it little.
#
# Is layer normalization better than none? Compared seed by seed, it gains a little with batches of 32, by more than two standard errors. With batches of
# two, its gain is smaller than two standard errors.
#
# Logistic regression, fitted until its loss falls no further, reads 92 % of the digits. So the experiment compares how fast these networks
# learn, and does not show how to read digits best.

# %% [markdown]
# ```{exercise} ★★ Program: group normalization
# :label: layernorm-group
# One example has $C$ channels and $T$ places. Cut the channels, in their order, into $G$ groups of the same size, and standardize each group over
# all its entries. Write `by_groups(X, G)`, with the same $\epsilon$ as `standardize`.
# ```

# %%
def by_groups(X, G):
    """The standardized channels: array (C, T), int -> array (C, T).

    G divides C, and T >= 2. For X = [[1., 1.], [3., 3.]] and G = 1 it is
    nearly [[-1., -1.], [1., 1.]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def groups_in_torch(X, G):
    return group_norm(torch.tensor(X)[None], G)[0].numpy()

grouped = dict(X=matrices(6, (2, 4)), G=on(1, 2, 3, 6))
grade(by_groups, groups_in_torch, **grouped)

# %% [markdown]
# ```{solution-start} layernorm-group
# :class: dropdown
# ```
# Bring the channels of a group, and their places, into one row, standardize each row, and restore the shape. It is a mistake to put
# each $G$-th channel into a group, to normalize each channel by itself, and to divide the sum of squares by one less than
# the number of entries.

# %% jupyter={"source_hidden": true}
def by_groups_solution(X, G):
    rows = X.reshape(G, -1)
    centred = rows - rows.mean(1, keepdims=True)
    s = np.sqrt((centred ** 2).mean(1, keepdims=True) + 1e-5)
    return (centred / s).reshape(X.shape)

def each_gth_channel(X, G):
    mixed = X.reshape(-1, G, X.shape[1]).swapaxes(0, 1)
    return by_groups_solution(mixed.reshape(X.shape), G).reshape(mixed.shape).swapaxes(0, 1).reshape(X.shape)

def each_channel(X, G):
    return by_groups_solution(X, len(X))

def one_less(X, G):
    n = X.size // G
    return by_groups_solution(X, G) * np.sqrt(max(n - 1, 1) / n)

assert grade(by_groups_solution, groups_in_torch, **grouped)
assert not grade(each_gth_channel, groups_in_torch, **grouped)
assert not grade(each_channel, groups_in_torch, **grouped)
assert not grade(one_less, groups_in_torch, **grouped)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★ Experiment: a longer sequence
# :label: layernorm-padding
# In a batch, zeros are appended to all sequences that are shorter than the longest one. Append three places with zeros to `X`, and compare the outputs at the first five places with those before. Predict for batch, instance and group normalization and for layer
# normalization at each place whether they change. Then try it, and explain.
# ```

# %%
def changes_when_padded():
    """Four truth values: batch, instance, group, layer at each place.

    [True, True, True, True], for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
longer = torch.cat([X, torch.zeros(N, C, 3)], 2)      # (N, C, T + 3)
padded = [not close(norm(longer)[..., :T].detach(), norm(X).detach())
          for norm in (kinds[name][0] for name in ('batch', 'instance', 'group', 'layer, each place'))]

def is_measured(answers):
    if len(answers) != 4 or not all(answer in (True, False) for answer in answers):
        raise ValueError('give four truth values')
    if list(answers) != padded:
        raise ValueError('something else is measured; append the zeros and look')
    return True

grade(lambda: is_measured(changes_when_padded()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} layernorm-padding
# :class: dropdown
# ```
# The first three average over places, so the zeros enter their means and variances, and the outputs change. Layer normalization at each
# place averages only over the channels of this place. So the appended zeros change nothing at the other places.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured([True, True, True, False]), lambda: True, [()])
assert not grade(lambda: is_measured([True, True, True, True]), lambda: True, [()])
assert not grade(lambda: is_measured([True, False, True, False]), lambda: True, [()])
assert not grade(lambda: is_measured([True, False, False, False]), lambda: True, [()])

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def hidden_layer(seed, after):  # (N, d) -> (N, K), against the layers of PyTorch in their order
    X, W, b = draw(seed, 6, 3), draw(seed + 1, 4, 3), draw(seed + 2, 4)
    Z = X @ W.T + b
    model = nn.Sequential(nn.BatchNorm1d(4), nn.Tanh())
    h = standardize(Z.tanh(), 0) if after else standardize(Z, 0).tanh()
    return close(h, model(nn.functional.linear(X, W, b)).detach())

holds(
    'dl.norm-fc.bn-fc',
    lambda seed: hidden_layer(seed, False),
    slip=('normalizes after the activation', lambda seed: hidden_layer(seed, True)),
    seed=seeds(), tries=20,
)

def pictures_too(seed, axes):
    X = draw(seed, 3, 4, 5, 6)                        # (N, C, H, W)
    return close(standardize(X, axes), nn.BatchNorm2d(4)(X).detach())

verify(
    'for pictures, batch normalization averages each channel over examples, height and width',
    lambda seed: pictures_too(seed, (0, 2, 3)),
    slip=('averages over the examples alone', lambda seed: pictures_too(seed, 0)),
    seed=seeds(), tries=20,
)
wanted = {'batch': N * T, 'instance': T, 'group': C // 2 * T, 'layer': C * T, 'layer, each place': C}
verify(
    'each output depends on the entries that are averaged, and on no other',
    lambda name: int(reached[name].sum()) == wanted[name] and close(kinds[name][0](X).detach(), kinds[name][1]),
    slip=('counts one example of the batch', lambda name: int(reached[name][1].sum()) == wanted[name]),
    name=list(kinds),
)

def ahead(first, second, size):  # by three points of accuracy, on average
    return bool(best[first, size].mean() - best[second, size].mean() > 0.03)

verify(
    'in batches of two, layer normalization is better than batch normalization by three points and more',
    lambda size: ahead('layer', 'batch', size),
    slip=('says so for batches of 32', lambda size: ahead('layer', 'batch', 16 * size)),
    size=[2],
)
def apart(first, second, size):  # paired over the seeds
    difference = best[first, size] - best[second, size]
    return bool(difference.mean() > 2 * difference.std(ddof=1) / 3**0.5)

verify(
    'by two standard errors, layer normalization is better than none in batches of 32, and not in batches of two',
    lambda small: apart('layer', 'none', 32) and not apart('layer', 'none', small),
    slip=('exchanges the sizes', lambda small: apart('layer', 'none', small)),
    small=[2],
)
verify(
    'in batches of two, the runs of batch normalization lie in the band of the figure',
    lambda band: band[0] < scores['batch', 2].min() and scores['batch', 2].max() < band[1],
    slip=('takes a narrow band', lambda band: band[0] < scores['batch', 2].min() and scores['batch', 2].max() < 0.75),
    band=[(0.6, 0.9)],
)

# %% [markdown]
# ## What layer normalization forgets, and RMSNorm
#
# Multiply a row by $\alpha > 0$. Its mean and its standard deviation are multiplied by $\alpha$, too, so $\hat{\mathbf{x}}$ stays the
# same if $\epsilon$ is zero. How much does $\epsilon$ change? Write $\mathrm{LN}$ for
# layer normalization with all $\gamma_k = 1$ and $\beta_k = 0$. Let $\mathbf{z}$ be the standardized row with $\epsilon = 0$:

# %%
x = torch.tensor([1.0, 7, 7, 9])
z = (x - x.mean()) / x.std(correction=0)
for alpha in 10, 1, 0.1, 0.01, 0.001:
    out = layer_norm(alpha * x, torch.ones(4), torch.zeros(4))
    lost = ((out - z) / z).abs().max()
    bound = 1e-5 / (2 * alpha**2 * 9)                 # variance of x: 9
    print(f'alpha {alpha:6}: relative change {lost:.3e}, bound {bound:.3e}')

# %% [markdown]
# For rows of ordinary size, $\epsilon$ hardly matters. For very small rows it does: with $\alpha = 0.001$, each entry is 31 % too small. The last
# column is the bound of a theorem:
#
# ```{prf:theorem} Layer normalization and scale
# :label: thm-ln-scale
# Let $\epsilon \ge 0$ and $\alpha > 0$, and let the entries of $\mathbf{x}$ be not all equal. Then for each $k$
#
# $$|\mathrm{LN}(\alpha \mathbf{x})_k - z_k| \le \frac{\epsilon}{2 \alpha^2 \sigma^2}\, |z_k| .$$
# ```
#
# ```{prf:proof}
# :class: dropdown
# The row $\alpha\mathbf{x}$ has the mean $\alpha\mu$ and the variance $\alpha^2\sigma^2$. So $\mathrm{LN}(\alpha\mathbf{x})_k =
# \alpha (x_k - \mu) / \sqrt{\alpha^2\sigma^2 + \epsilon} = z_k / \sqrt{1 + e}$ with $e = \epsilon / (\alpha^2 \sigma^2)$. For
# $e \ge 0$ we have $(1 + e)^{-1/2} \le 1$. This function of $e$ is convex, so it lies above its tangent at $e = 0$, which is $1 - e/2$. Hence $0 \le 1 - (1 + e)^{-1/2} \le e/2$.
# ```
#
# So the weights and biases of the layer in front can all be doubled, and the output stays the same up to this bound.
#
# ### The rank of the Jacobian
#
# A step in the direction $\mathbf{1}$ adds the same number to all entries of $\mathbf{x}$. A step in the direction $\mathbf{x}$ multiplies all entries by the same
# number. Layer normalization forgets both, so its output stays the same. Are these the only two forgotten directions? The [Jacobian](../calculus/jacobians.ipynb) has a singular value of zero
# for each forgotten direction:

# %%
def normalized(eps):
    return lambda x: layer_norm(x, torch.ones(4), torch.zeros(4), eps)

for eps in 0, 1e-5, 1:
    J = torch.func.jacrev(normalized(eps))(x)         # (4, 4)
    sizes = torch.linalg.svdvals(J).tolist()
    print(f'eps {eps}:', *[f'{s:.3e}' if s > 1e-14 else '0' for s in sizes])

# %% [markdown]
# With $\epsilon = 0$, two of four singular values are zero. The other two are $1/\sigma = 1/3$. With $\epsilon = 10^{-5}$, the scale is not quite forgotten.
# A step in the direction $\mathbf{x} - \mu\mathbf{1}$ changes the output a little. If the differences from the mean are $t$ times as large, the output
# is $t\, (\mathbf{x} - \mu\mathbf{1}) / \sqrt{t^2\sigma^2 + \epsilon}$. Its derivative with respect to $t$ at $t = 1$ is $\mathbf{x} - \mu\mathbf{1}$ times
# $\epsilon / (\sigma^2 + \epsilon)^{3/2}$, and this factor is the third singular value.
#
# ### RMSNorm: only the scale
#
# Is it necessary to subtract the mean? **RMSNorm** {cite}`zhang2019root` leaves it out. It divides by the root of the mean square, and adds no $\boldsymbol{\beta}$:
#
# ```{math}
# :label: eq-rms-norm
# \mathrm{RMSNorm}(\mathbf{x})_k = \gamma_k \frac{x_k}{\sqrt{\epsilon + \frac{1}{K} \sum_{j=1}^K x_j^2}} .
# ```

# %%
def rms_norm(X, gamma, eps=1e-5):                     # X: (..., K)
    square = (X ** 2).mean(-1, keepdim=True)
    return gamma * X / (square + eps).sqrt()

# %%
print(rms_norm(x, torch.ones(4)))
print(nn.RMSNorm(4, eps=1e-5)(x).detach())            # PyTorch
print(rms_norm(x - x.mean(), torch.ones(4)))          # layer norm
J = torch.func.jacrev(lambda x: rms_norm(x, torch.ones(4), 0))(x)
print('rank:', torch.linalg.matrix_rank(J).item())

# %% [markdown]
# The first two lines agree. In the third line, the mean was subtracted before, and RMSNorm gives the same as layer
# normalization. If you do not say otherwise, `nn.LayerNorm` takes $\epsilon = 10^{-5}$, but `nn.RMSNorm` takes the distance from 1 to the next
# float. So we passed $\epsilon$ to `nn.RMSNorm`.
#
# ````{prf:theorem} What the Jacobians forget
# :label: thm-ln-jacobian
# Let $\epsilon = 0$, and let no $\gamma_k$ be zero.
# If the entries of $\mathbf{x} \in \mathbb{R}^K$ are not all equal, the Jacobian of layer normalization has rank $K - 2$.
# Its null space is spanned by $\mathbf{1}$ and $\mathbf{x}$.
# If $\mathbf{x} \ne \mathbf{0}$, the Jacobian of RMSNorm has rank $K - 1$. Its null space is spanned by $\mathbf{x}$.
# ````
#
# ```{prf:proof}
# :class: dropdown
# Each $\gamma_k$ multiplies a row of the Jacobian by a number that is not zero. This changes neither the rank nor the null space, so let
# all $\gamma_k = 1$. A shift $\boldsymbol{\beta}$ does not change the Jacobian.
#
# Begin with RMSNorm. Let $r$ be the root of the mean square and $\mathbf{u} = \mathbf{x}/r$, so $\mathbf{u}^\top\mathbf{u} = K$. The derivative of $r$ with respect to $\mathbf{x}$ is
# $\mathbf{u}^\top / K$, so the product rule gives the Jacobian $\frac{1}{r} (\mathbf{I} - \frac{1}{K} \mathbf{u}\mathbf{u}^\top)$. The
# matrix in brackets is the projection onto all vectors orthogonal to $\mathbf{x}$. So its null space is spanned by $\mathbf{x}$.
#
# Layer normalization first multiplies by $\mathbf{P} = \mathbf{I} - \frac{1}{K}\mathbf{1}\mathbf{1}^\top$, which subtracts the mean, and then
# applies RMSNorm to $\mathbf{P}\mathbf{x}$, which is not zero. With $\mathbf{u} = \hat{\mathbf{x}}$, which is orthogonal to $\mathbf{1}$, the chain rule gives
# $\frac{1}{\sigma} (\mathbf{I} - \frac{1}{K} \hat{\mathbf{x}}\hat{\mathbf{x}}^\top) \mathbf{P} = \frac{1}{\sigma} (\mathbf{I} - \frac{1}{K}\mathbf{1}\mathbf{1}^\top - \frac{1}{K}
# \hat{\mathbf{x}}\hat{\mathbf{x}}^\top)$. This is $\frac{1}{\sigma}$ times the projection onto the vectors orthogonal to both. Its null space is
# spanned by $\mathbf{1}$ and $\hat{\mathbf{x}}$, and so by $\mathbf{1}$ and $\mathbf{x}$.
# ```

# %% mystnb={"image": {"alt": "Left: grey points scattered over the plane, each with a thin line along its ray to a blue point on a circle of radius root three. Right: the same for a cloud a fifth of the size, which lies inside the circle; its blue points lie on the same circle."}} tags=["hide-input"]
g = torch.Generator().manual_seed(2)
plane = torch.tensor([[1.0, -1, 0], [1, 1, -2]])
plane = plane / plane.norm(dim=1, keepdim=True)       # (2, 3): orthonormal, orthogonal to 1
fig, axes = panels(2, height=2.6)
for ax, scale, title in zip(axes, (1.5, 0.3), ('rows of ordinary size', 'rows a fifth of the size')):
    cloud = scale * torch.randn(16, 3, generator=g) + 1
    before, after = cloud @ plane.T, layer_norm(cloud, torch.ones(3), torch.zeros(3)) @ plane.T
    ax.plot(*torch.stack([before, after]).permute(2, 0, 1), color=GREY, lw=0.6)
    ax.plot(*before.T, '.', color=GREY)
    ax.plot(*after.T, '.', color='C0', ms=8)
    ax.add_patch(plt.Circle((0, 0), 3**0.5, fill=False, ec='C0', lw=0.8))
    ax.set(title=title, xlim=(-4.5, 4.5), ylim=(-3.4, 3.4), aspect='equal')
    ax.axis('off')

# %% [markdown] tags=["caption"]
# Rows of three features (grey), seen in the direction $\mathbf{1}$, which hides their shift, and what layer normalization makes of them
# (blue). Each row moves straight towards the centre, or away from it, onto a circle of radius $\sqrt{3}$.

# %% tags=["checks"]
def within(alpha, x, epsilon, constant):
    x = torch.tensor(x)
    z = (x - x.mean()) / x.std(correction=0)
    out = layer_norm(alpha * x, torch.ones(4), torch.zeros(4), epsilon)
    bound = constant * epsilon / (alpha**2 * x.var(correction=0)) * abs(z)
    return bool((abs(out - z) <= bound * (1 + 1e-6) + 1e-12).all())

verify(
    'layer normalization forgets the scale, up to the bound',
    lambda **case: within(constant=0.5, **case),
    slip=('halves the bound', lambda **case: within(constant=0.25, **case)),
    alpha=on(10.0, 1.0, 0.1, 0.01), x=on(np.array([1.0, 7, 7, 9]), np.array([0.0, 0, 0, 2])), epsilon=on(1e-5, 0.1),
)

def null_space(seed, K, norm, dimension):
    x = 2 * draw(seed, K) + 1
    J = torch.func.jacrev(norm)(x)
    lost = torch.stack([x, torch.ones(K)])[:dimension]
    sizes = torch.linalg.svdvals(J)
    return close(J @ lost.T, torch.zeros(K, dimension), atol=1e-9) and int((sizes > 1e-7 * sizes[0]).sum()) == K - dimension

def bare(x, eps):
    return layer_norm(x, torch.ones(len(x)), torch.zeros(len(x)), eps)

verify(
    'the Jacobian of layer normalization forgets the shift and the scale, and nothing else',
    lambda **case: null_space(norm=lambda x: bare(x, 0), dimension=2, **case),
    slip=('says so with eps = 0.1', lambda **case: null_space(norm=lambda x: bare(x, 0.1), dimension=2, **case)),
    seed=seeds(), K=integers(3, 7), tries=20,
)
verify(
    'the Jacobian of RMSNorm forgets the scale, and nothing else',
    lambda **case: null_space(norm=lambda x: rms_norm(x, torch.ones(len(x)), 0), dimension=1, **case),
    slip=('says that it forgets the shift, too',
          lambda **case: null_space(norm=lambda x: rms_norm(x, torch.ones(len(x)), 0), dimension=2, **case)),
    seed=seeds(), K=integers(3, 7), tries=20,
)

def smallest_but_one(seed, epsilon, power):  # the last singular value is zero, the one before it is that of the scale
    x = 2 * draw(seed, 5) + 1
    J = torch.func.jacrev(lambda x: bare(x, epsilon))(x)
    return close(torch.linalg.svdvals(J)[-2], epsilon / (x.var(correction=0) + epsilon) ** power)

verify(
    'with epsilon, the scale has the singular value ε / (σ² + ε)^(3/2)',
    lambda **case: smallest_but_one(power=1.5, **case),
    slip=('takes the root alone', lambda **case: smallest_but_one(power=0.5, **case)),
    seed=seeds(), epsilon=scalars(0.01, 0.5), tries=20,
)

def rms_is_theirs(seed, eps):
    X, gamma = draw(seed, 3, 5), draw(seed + 1, 5)
    return close(rms_norm(X, gamma, eps), nn.functional.rms_norm(X, (5,), gamma, 0.1))

verify(
    'RMSNorm is that of PyTorch',
    lambda seed: rms_is_theirs(seed, 0.1),
    slip=('takes another eps', lambda seed: rms_is_theirs(seed, 1e-5)),
    seed=seeds(), tries=20,
)

# %% [markdown]
# ## Summary
#
# Layer normalization standardizes each vector by its own mean and variance, then applies a learned scale and shift. It does not
# look at other examples, so it works for a single example and does the same in training and evaluation. Up to $\epsilon$, it forgets the
# shift and the scale of a vector, while RMSNorm, which does not subtract the mean, forgets only the scale.
#
# **Further reading.** {cite}`ba2016layer` introduced layer normalization, for recurrent networks. {cite}`wu2018group` compares
# batch, layer, instance and group normalization on pictures, for batches from 2 to 32. {cite}`zhang2023dive`, chapter 8, has batch and layer
# normalization side by side.
