# ---
# jupyter:
#   book:
#     functions:
#       dropout: "dropout(normal(5), (uniform(5) > 0.5), 0.5)"
#       mask_probability: "mask_probability((uniform(6, 5) > 0.5), 0.2)"
#       dropout_ridge: "dropout_ridge(normal(20, 3), normal(20), 0.5)"
#     main: dropout-mask
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Dropout
#
# A network with 64 hidden units is trained on 500 handwritten digits. Its loss on new digits falls at first. Then it
# rises again, while the loss on the 500 digits goes on falling. **Dropout** {cite}`srivastava2014dropout` removes
# hidden units at random while the network is trained, for example half of them. In each step it draws anew, for each
# digit, which units are gone. How can the complete network then be used for new digits, and is it any better?
#
# - **You need** [hidden layers](hidden_layers.ipynb), [softmax](../classification/softmax.ipynb),
#   [means and variances](../probability/expectations.ipynb),
#   [ridge regression](../regression/ridge_regression.ipynb) and [weight decay](../regression/weight_decay.ipynb).
# - **You build** dropout as a layer equal to PyTorch's, the exact average over all 1024 masks of ten hidden units, the ridge
#   penalty that dropout adds to a linear regression, and an experiment with five sets of 500 digits.
# - **Runs in** 7 seconds. All tensors are float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from sklearn.linear_model import Ridge
from torch import nn

from nbutils import data
from nbutils.cases import integers, lists, on, scalars, seeds, vectors
from nbutils.checks import below, close, grade, verify
from nbutils.figures import GREY, label_lines, panels
from nbutils.training import batches, fit

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the matrices are small: a second thread would mostly wait
torch.set_printoptions(precision=3, sci_mode=False)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Dropout: a random mask, divided by 1 − p
#
# Take four hidden units with the values 2, −1, 4 and 3. For each unit we toss a coin that decides whether the unit
# stays. The units that stay are doubled, and the others become zero. Here are three rounds of tosses:

# %%
def dropout(h, r, p):
    return r * h / (1 - p)       # r is one where a unit stays, else zero

# %%
h, p = torch.tensor([2.0, -1.0, 4.0, 3.0]), 0.5
g = torch.Generator().manual_seed(3)
for _ in range(3):
    r = torch.rand(4, generator=g) >= p          # (4,) True: the unit stays
    kept = dropout(h, r, p) + 0.0                # + 0.0: 0, not -0
    print('r', *r.int().tolist(), '   dropout', *kept.int().tolist())

# %% [markdown]
# In general each unit is dropped with probability $p$, where $0 \le p < 1$, independently of the others. The **dropout mask**
# $\mathbf{r}$ is a row of zeros and ones, with a one for each unit that stays. Dropout turns the hidden layer
# $\mathbf{h}$ into
#
# ```{math}
# :label: dropout-mask
# \begin{aligned}
# \tilde{\mathbf{h}} &= \frac{\mathbf{r} \odot \mathbf{h}}{1 - p} , \\
# \Pr[r_j = 0] &= p , \quad \Pr[r_j = 1] = 1 - p .
# \end{aligned}
# ```
#
# Why do we divide by $1 - p$? The next layer adds up its inputs, and with half of them gone, its sums would be about
# half as large as without dropout. The division repairs this on average. The entry $\tilde h_j$ is zero with
# probability $p$ and $h_j / (1 - p)$ otherwise, so its mean is $(1 - p) \cdot h_j / (1 - p) = h_j$. The mean of its
# square is $h_j^2 / (1 - p)$. If we subtract $h_j^2$ from this number, we get the variance:
#
# ```{math}
# :label: dropout-moments
# \mathbb{E}[\tilde h_j] = h_j , \qquad \mathrm{Var}(\tilde h_j) = \frac{p}{1 - p}\, h_j^2 .
# ```
#
# So dropout does not change the mean. It adds noise, and large values get more of it. Both can be computed without any random
# draw, because four units have only $2^4 = 16$ masks. The probability of a mask is a product, with the factor
# $1 - p$ for each one and $p$ for each zero. We go through all masks:

# %%
def all_masks(m):                # (2**m, m) zeros and ones
    return torch.tensor(list(product([0.0, 1.0], repeat=m)))

# %%
def mask_probability(r, p):      # (..., m) -> (...)
    return torch.where(r == 1, 1 - p, p).prod(-1)

# %%
r = all_masks(4)                                 # (16, 4)
print('         h       ', h)
for p in (0.2, 0.5, 0.8):
    prob = mask_probability(r, p)                # (16,) sums to one
    mean = prob @ dropout(h, r, p)               # (4,)
    variance = prob @ (dropout(h, r, p) - mean) ** 2
    print(f'p = {p}  mean    ', mean)
    print('         variance', variance)
    print('         formula ', p / (1 - p) * h**2)

# %% [markdown]
# ### The same as a layer of PyTorch
#
# In training the masks are drawn. In use, on new examples, the network should give one answer and not a random one,
# so nothing is dropped. PyTorch has a flag for these two modes, `self.training`, in each module. `model.train()` sets
# the flag for a model and all its layers, and `model.eval()` clears it.

# %%
class Dropout(nn.Module):
    def __init__(self, p, g=None):               # g is a random generator
        super().__init__()
        self.p, self.g = p, g

    def forward(self, h):
        if not self.training:
            return h                             # in use: nothing is dropped
        r = torch.rand(h.shape, generator=self.g) >= self.p
        return dropout(h, r, self.p)

# %% [markdown]
# In practice you would type `nn.Dropout(p)` or `F.dropout(h, p, training=...)`. PyTorch draws its masks in another
# way, so we compare how often a unit is dropped, and the mean and the variance, for 100,000 units of value 1:

# %%
torch.manual_seed(0)
ones = torch.ones(100_000)
for name, layer in ('ours   ', Dropout(0.2)), ('PyTorch', nn.Dropout(0.2)):
    out = layer.train()(ones)
    print(f'{name}  dropped {(out == 0).double().mean():.2f},'
          f' mean {out.mean():.2f}, variance {out.var():.2f},',
          'in use unchanged:', torch.equal(layer.eval()(ones), ones))

# %% [markdown]
# The formula gives the variance $0.2/0.8 = 0.25$. Given the same mask, the results agree as well. To find out
# PyTorch's mask, we send a row of ones through `F.dropout`: the units that are not zero have stayed. After the same
# seed, PyTorch draws the same mask for another row of the same length:

# %%
torch.manual_seed(5)
r = F.dropout(torch.ones(1000), 0.2) > 0         # the mask
row = torch.linspace(-3, 3, 1000)
torch.manual_seed(5)
difference = F.dropout(row, 0.2) - dropout(row, r, 0.2)
print('largest difference', below(difference.abs().max(), 1e-14))

# %% [markdown]
# ### What goes backward
#
# For a given mask, dropout multiplies each entry by a number, $0$ or $1/(1-p)$. So the gradient is multiplied by the
# same numbers on its way back. Let $\ell$ be the loss of one example and
# $\tilde{\mathbf{g}} = \nabla_{\tilde{\mathbf{h}}}\, \ell$ its gradient after the mask. Then the gradient before the mask
# is $\nabla_{\mathbf{h}}\, \ell = \mathbf{r} \odot \tilde{\mathbf{g}} / (1 - p)$.

# %%
h = torch.tensor([2.0, -1.0, 4.0, 3.0], requires_grad=True)
w = torch.tensor([1.0, 2.0, -1.0, 0.5])          # weights of one output
r = torch.tensor([1.0, 0.0, 1.0, 1.0])
loss = (dropout(h, r, 0.5) @ w - 1) ** 2
loss.backward()
with torch.no_grad():
    g_tilde = 2 * (dropout(h, r, 0.5) @ w - 1) * w
print('autograd', h.grad + 0.0)
print('formula ', r * g_tilde / (1 - 0.5) + 0.0)

# %% [markdown]
# The second unit is off, and its gradient is zero. So this example moves neither the weights that lead into the unit
# nor those that lead out of it.
#
# ```{exercise} ★★ Pencil: how noisy is an output?
# :label: dropout-variance
# An output is a weighted sum of a masked hidden layer, $o = \sum_j \tilde h_j w_j + b$. What is its variance, over
# the masks? Write it as `output_variance(h, w, p)`.
# ```

# %%
def output_variance(h, w, p):
    """The variance of the output: arrays h and w (m,), 0 <= p < 1 -> number.

    output_variance(np.array([2.0, 1.0]), np.array([1.0, 1.0]), 0.5) is 5.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_all_masks(h, w, p):
    cases = [(np.prod([1 - p if on else p for on in r]), np.dot(r, h * w) / (1 - p)) for r in product([0, 1], repeat=len(h))]
    prob, o = np.array(cases).T
    return prob @ (o - prob @ o) ** 2

variance_cases = dict(
    h=vectors((1, 4), -3, 3, edges=True), w=lambda h: vectors(len(h), -3, 3, edges=True), p=on(0.0, 0.5) | scalars(0, 0.9))
grade(output_variance, by_all_masks, tries=50, **variance_cases)

# %% [markdown]
# ```{solution-start} dropout-variance
# :class: dropdown
# ```
# The units are dropped independently, so the variances of the terms add up. The term $\tilde h_j w_j$ has the
# variance $\frac{p}{1-p} h_j^2 w_j^2$, and the bias $b$ has none. The sum is $\frac{p}{1-p} \sum_j h_j^2 w_j^2$. The
# wrong answers forget the division by $1 - p$, drop all units by the same toss, and forget to square the weights.

# %% jupyter={"source_hidden": true}
def output_variance_solution(h, w, p):
    return p / (1 - p) * ((h * w) ** 2).sum()

def without_the_division(h, w, p):
    return p * (1 - p) * ((h * w) ** 2).sum()

def one_toss_for_all(h, w, p):
    return p / (1 - p) * (h * w).sum() ** 2

def weights_not_squared(h, w, p):
    return p / (1 - p) * (h**2 * w).sum()

assert grade(output_variance_solution, by_all_masks, tries=50, **variance_cases)
assert not grade(without_the_division, by_all_masks, tries=50, **variance_cases)
assert not grade(one_toss_for_all, by_all_masks, tries=50, **variance_cases)
assert not grade(weights_not_squared, by_all_masks, tries=50, **variance_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def moments(h, p, factor):  # over all masks: the mean is h, and the variance factor(p) h²
    h = torch.tensor(h)
    masks = all_masks(len(h))
    kept, prob = dropout(h, masks, p), mask_probability(masks, p)
    mean = prob @ kept
    return close(prob.sum(), 1.0) and close(mean, h) and close(prob @ (kept - mean) ** 2, factor(p) * h**2)

verify(
    'over all masks, dropout keeps the mean and has the variance p/(1 - p) h²',
    lambda h, p: moments(h, p, lambda p: p / (1 - p)),
    slip=('forgets the division', lambda h, p: moments(h, p, lambda p: p * (1 - p))),
    h=vectors((1, 6), -3, 3), p=scalars(0, 0.9), tries=30,
)

def same_as_library(seed, p, with_mask):
    x = torch.randn(200, generator=torch.Generator().manual_seed(seed))
    outs = []
    for row in (torch.ones(200), x):
        torch.manual_seed(seed)
        outs.append(F.dropout(row, p))
    return close(outs[1], with_mask(x, outs[0] > 0, p))

verify(
    'given the same mask, dropout is F.dropout',
    lambda seed, p: same_as_library(seed, p, dropout),
    slip=('does not divide', lambda seed, p: same_as_library(seed, p, lambda h, r, p: r * h)),
    seed=seeds(), p=scalars(0, 0.9), tries=40,
)

def share_and_spread(layer, p):  # four standard errors of a share, and of the mean of ones
    n = 100_000
    torch.manual_seed(1)
    out = layer.train()(torch.ones(n))
    return bool(
        abs((out == 0).double().mean() - p) <= 4 * (p * (1 - p) / n) ** 0.5
        and abs(out.mean() - 1) <= 4 * (p / (1 - p) / n) ** 0.5
        and torch.equal(layer.eval()(out), out))

for name, layer in ('our', Dropout), ('the library\'s', nn.Dropout):
    verify(
        f'{name} layer drops a share p in training, keeps the mean, and drops nothing in use',
        lambda p: share_and_spread(layer(p), p),
        slip=('takes p for the share that stays', lambda p: share_and_spread(layer(1 - p), p)),
        p=[0.2, 0.5, 0.8],
    )

def gradient_is(seed, p, backward):
    g = torch.Generator().manual_seed(seed)
    h, w = torch.randn(6, generator=g, requires_grad=True), torch.randn(6, generator=g)
    r = torch.rand(6, generator=g) >= p
    kept = dropout(h, r, p)
    (kept @ w).sin().backward()
    return close(h.grad, backward(r, (kept @ w).cos() * w, p))

verify(
    'the gradient passes through the same mask, divided by 1 - p',
    lambda seed, p: gradient_is(seed, p, lambda r, g, p: r * g / (1 - p)),
    slip=('forgets the division', lambda seed, p: gradient_is(seed, p, lambda r, g, p: r * g)),
    seed=seeds(), p=scalars(0.1, 0.8), tries=30,
)

# %% [markdown]
# ## Test time: one network in place of many
#
# Each mask makes another network out of the same weights, because the dropped units can be crossed out together with
# their arrows. With $m$ hidden units there are $2^m$ such networks. Each training step draws some of them, one for each
# example, and changes the weights that they share. For new examples we would like to average the answers of all these
# networks. We use the complete network without masks instead, which is a single pass. Is its answer the average?

# %% mystnb={"image": {"alt": "Two drawings of a network with three inputs, five hidden units and two outputs. Left: all units and all arrows. Right: two of the hidden units are grey, crossed out and without arrows."}} tags=["hide-input"]
def draw(ax, dropped, title):
    layers = [('x', 3, '$\\mathbf{x}$: 1 × d'), ('h', 5, '$\\mathbf{h}$: 1 × m'), ('o', 2, '$\\mathbf{o}$: 1 × q')]
    spots = [[(2.2 * i, (count - 1) / 2 - k) for k in range(count)] for i, (_, count, _) in enumerate(layers)]
    for i, (letter, _, shape) in enumerate(layers):
        for k, (x, y) in enumerate(spots[i]):
            off = letter == 'h' and k in dropped
            ax.add_patch(plt.Circle((x, y), 0.3, fc='none', ec=GREY if off else 'C0', lw=1 if off else 1.5))
            words = '×' if off else f'${letter}_{k + 1}$'
            ax.text(x, y, words, ha='center', va='center', fontsize=9, color=GREY if off else None)
        ax.text(2.2 * i, -2.9, shape, ha='center', fontsize=9)
    for i, (left, right) in enumerate(zip(spots, spots[1:], strict=False)):
        for (a, (x, y)), (b, (u, v)) in product(enumerate(left), enumerate(right)):
            if (b if i == 0 else a) not in dropped:
                away = 0.33 * np.array([u - x, v - y]) / np.hypot(u - x, v - y)
                ax.plot([x + away[0], u - away[0]], [y + away[1], v - away[1]], color=GREY, lw=0.7)
    ax.set(xlim=(-0.8, 5.2), ylim=(-3.1, 2.5), aspect='equal')
    ax.set_title(title, fontsize=10)
    ax.axis('off')

fig, (left, right) = panels(2, height=2.7)
draw(left, (), 'no mask: used on new examples')
draw(right, (1, 3), 'r = (1, 0, 1, 0, 1): one of 32')

# %% [markdown] tags=["caption"]
# Left: the complete network. Right: the network of one mask. Dropping a hidden unit removes all arrows into it and
# out of it.

# %% [markdown]
# With ten hidden units we can simply compare, because $2^{10} = 1024$ networks are quickly computed. We take random
# weights, three outputs and $p = 0.5$.

# %%
g = torch.Generator().manual_seed(3)
W_1, W_2 = torch.randn(4, 10, generator=g), torch.randn(10, 3, generator=g) / 2
b_2, x = torch.randn(3, generator=g), torch.randn(1, 4, generator=g)
h = F.relu(x @ W_1 + 1)                          # (1, 10) first biases: 1
r, p = all_masks(10), 0.5                        # (1024, 10)
prob = mask_probability(r, p)                    # (1024,)

# %%
o = dropout(h, r, p) @ W_2 + b_2                 # (1024, 3)
o_full = (h @ W_2 + b_2)[0]                      # (3,)
print('mean over all masks', prob @ o)
print('no mask            ', o_full)

# %% [markdown]
# The two rows agree, and not by accident: the output is an affine function of $\tilde{\mathbf{h}}$, so its mean is
# the same function of the mean of $\tilde{\mathbf{h}}$, which is $\mathbf{h}$. But suppose that these three numbers
# are the pre-activations of a second hidden layer, and a ReLU follows:

# %%
print('mean over all masks', prob @ F.relu(o))
print('no mask            ', F.relu(o_full))

# %% [markdown]
# Now all three numbers of the network without masks are too small. ReLU is a convex function, and the
# mean of a convex function is at least the function of the mean
# ([Jensen's inequality](../optimization/jensens_inequality.ipynb)):
#
# ```{math}
# :label: dropout-jensen
# \mathbb{E}\big[\operatorname{relu}(o_k)\big] \ge \operatorname{relu}\big(\mathbb{E}[o_k]\big) .
# ```
#
# So in a deeper network the pass without masks is in general not the average.

# %% mystnb={"image": {"alt": "Two histograms. Left: the values of one output spread around a solid line, the mean, and the dashed line of the network without masks coincides with it. Right: after ReLU about half of the values are zero, and the solid line lies to the right of the dashed line, which is at zero."}} tags=["hide-input"]
fig, axes = panels(2, height=2.5)
unit = int((prob @ F.relu(o) - F.relu(o_full)).argmax())
for ax, values, full, words in (
        (axes[0], o[:, unit], o_full[unit], 'output'), (axes[1], F.relu(o[:, unit]), F.relu(o_full[unit]), 'after ReLU')):
    ax.hist(values.numpy(), bins=24, weights=prob.numpy(), color='C0', alpha=0.45)
    ax.axvline(float(prob @ values), color='C1', lw=2.5)
    ax.axvline(float(full), color=GREY, lw=1.5, ls='--')
    ax.set(title=words, xlabel=f'$o_{unit + 1}$' if ax is axes[0] else f'relu($o_{unit + 1}$)')
axes[0].set_ylabel('probability');

# %% [markdown] tags=["caption"]
# One of the three numbers under all 1024 masks, before and after ReLU. Solid line: the mean over the masks. Dashed
# line: the network without masks. The lines coincide before ReLU and differ after it.

# %% [markdown]
# ### A softmax layer: the geometric mean
#
# If the three numbers are scores, a softmax turns them into probabilities of three classes, and we have 1024 rows of
# probabilities to average. There is a second way to do so. For each class, multiply its 1024 probabilities, each
# raised to the power $\Pr[\mathbf{r}]$, the probability of its mask. Then divide the three products by their sum, so
# that they add up to one. This is the normalized **geometric mean**.
#
# ```{prf:theorem} Without masks a softmax layer gives the geometric mean
# :label: thm-dropout-softmax
# Let the scores be an affine function of the masked units, $\mathbf{o}(\mathbf{r}) = \tilde{\mathbf{h}}\mathbf{W} +
# \mathbf{b}$. Then for each class $k$
#
# $$\frac{\prod_{\mathbf{r}} \operatorname{softmax}(\mathbf{o}(\mathbf{r}))_k^{\Pr[\mathbf{r}]}}
# {\sum_j \prod_{\mathbf{r}} \operatorname{softmax}(\mathbf{o}(\mathbf{r}))_j^{\Pr[\mathbf{r}]}}
# = \operatorname{softmax}(\mathbf{h}\mathbf{W} + \mathbf{b})_k .$$
# ```
#
# ```{prf:proof}
# :class: dropdown
# The logarithm of $\operatorname{softmax}(\mathbf{o})_k$ is $o_k - \operatorname{LSE}(\mathbf{o})$, with
# $\operatorname{LSE}(\mathbf{o}) = \log \sum_j e^{o_j}$. So the logarithm of the product is
# $\sum_{\mathbf{r}} \Pr[\mathbf{r}]\, o_k(\mathbf{r}) - c = (\mathbf{h}\mathbf{W} + \mathbf{b})_k - c$, where
# $c = \mathbb{E}[\operatorname{LSE}(\mathbf{o}(\mathbf{r}))]$ does not depend on $k$. The division by the sum removes
# the factor $e^{-c}$, and what remains is the softmax.
# ```
#
# A product of 1024 small powers is best computed with logarithms:

# %%
log_mean = prob @ o.log_softmax(1)               # (3,) log of the product
print('geometric mean ', log_mean.softmax(0))
print('no mask        ', o_full.softmax(0))
print('arithmetic mean', prob @ o.softmax(1))

# %% [markdown]
# So with one hidden layer, the network without masks is exactly the normalized geometric mean of all $2^m$ networks.
# It is not their arithmetic mean, which here is less sure of its answer.
#
# ```{exercise} ★★ Program: a network that was trained without the division
# :label: dropout-classic
# The first version of dropout did not divide in training: the hidden layer became $\mathbf{r} \odot \mathbf{h}$. When
# such a network is used, each hidden layer $\mathbf{h}$ is computed from the layer before it, and then replaced by the mean of
# $\mathbf{r} \odot \mathbf{h}$ over the masks. Write `in_use(x, Ws, bs, p)`, the output of such a network of $L \ge 1$
# layers. ReLU and dropout stood after each layer but the last.
# ```

# %%
def in_use(x, Ws, bs, p):
    """The output in use: array (d_0,) -> (d_L,).

    Ws and bs are lists of L weights (d_{l-1}, d_l) and biases (d_l,);
    p is the probability that a hidden unit was dropped.
    in_use(np.ones(1), [np.eye(1), np.eye(1)], [np.zeros(1), np.ones(1)], 0.2)
    is [1.8].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_means(x, Ws, bs, p):
    for layer, (W, b) in enumerate(zip(Ws, bs, strict=True)):
        if layer:
            masks = all_masks(len(x))
            x = (mask_probability(masks, p) @ (masks * torch.tensor(np.maximum(x, 0)))).numpy()
        x = np.dot(x, W) + b
    return x

def arrays_of(widths, seed):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(a, b)).round(2) for a, b in zip(widths, widths[1:], strict=False)]

classic_cases = dict(
    x=lambda Ws: vectors(len(Ws[0]), -2, 2),
    Ws=lists(on(1) | integers(1, 4), 2, 5).flatmap(lambda widths: seeds().map(lambda seed: arrays_of(widths, seed))),
    bs=lambda Ws: seeds().map(lambda seed: [arrays_of([1, W.shape[1]], seed)[0][0] for W in Ws]),
    p=on(0.0, 0.5) | scalars(0, 0.9),
)
grade(in_use, by_means, tries=60, **classic_cases)

# %% [markdown]
# ```{solution-start} dropout-classic
# :class: dropdown
# ```
# The mean of $r_j h_j$ is $(1 - p) h_j$, so each hidden layer is multiplied by $1 - p$. It is the same to multiply
# all weight matrices but the first by $1 - p$. The wrong answers forget the factor, multiply by $p$, and multiply the
# inputs as well, on which there was no dropout.

# %% jupyter={"source_hidden": true}
def in_use_solution(x, Ws, bs, p):
    for W, b in zip(Ws[:-1], bs[:-1], strict=True):
        x = (1 - p) * np.maximum(x @ W + b, 0)
    return x @ Ws[-1] + bs[-1]

def without_factor(x, Ws, bs, p):
    return in_use_solution(x, Ws, bs, 0)

def times_p(x, Ws, bs, p):
    return in_use_solution(x, Ws, bs, 1 - p)

def inputs_too(x, Ws, bs, p):
    return in_use_solution((1 - p) * x, Ws, bs, p)

assert grade(in_use_solution, by_means, tries=60, **classic_cases)
assert not grade(without_factor, by_means, tries=60, **classic_cases)
assert not grade(times_p, by_means, tries=60, **classic_cases)
assert not grade(inputs_too, by_means, tries=60, **classic_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def averaged(seed, p, m, of_scores, mean):  # does the mean over all masks equal the pass without?
    g = torch.Generator().manual_seed(seed)
    W, b, h = (torch.randn(*shape, generator=g) for shape in ((m, 3), (3,), (m,)))
    masks = all_masks(m)
    o = dropout(h, masks, p) @ W + b
    return close(mean(mask_probability(masks, p), of_scores(o)), of_scores(h @ W + b))

def arithmetic(prob, values):
    return prob @ values

def geometric(prob, values):
    return (prob @ values.log()).softmax(0)

drawn = dict(seed=seeds(), p=scalars(0.1, 0.8), m=integers(2, 7), tries=30)
verify(
    'for an affine output the mean over all masks is the output without masks',
    lambda **case: averaged(of_scores=lambda o: o, mean=arithmetic, **case),
    slip=('says so with a further ReLU', lambda **case: averaged(of_scores=F.relu, mean=arithmetic, **case)),
    **drawn,
)
verify(
    'for a softmax layer the geometric mean over all masks is the output without masks',
    lambda **case: averaged(of_scores=lambda o: o.softmax(-1), mean=geometric, **case),
    slip=('says so of the arithmetic mean',
          lambda **case: averaged(of_scores=lambda o: o.softmax(-1), mean=arithmetic, **case)),
    **drawn,
)
def relu_gap(seed, p, after):  # mean over all masks minus the pass without
    g = torch.Generator().manual_seed(seed)
    h, W = torch.rand(6, generator=g), torch.randn(6, 4, generator=g)
    masks = all_masks(6)
    return mask_probability(masks, p) @ after(dropout(h, masks, p) @ W) - after(h @ W)

verify(
    'a further ReLU is at least as large in the mean over all masks as without masks, and for some unit larger',
    lambda seed, p: bool((relu_gap(seed, p, F.relu) > -1e-12).all() and relu_gap(seed, p, F.relu).max() > 1e-3),
    slip=('says so without ReLU', lambda seed, p: bool(relu_gap(seed, p, lambda o: o).max() > 1e-3)),
    seed=seeds(), p=scalars(0.2, 0.8), tries=30,
)

# %% [markdown]
# (dropout-linear)=
# ## Dropout in linear regression is a ridge penalty
#
# What does the noise do to the weights? For linear regression with dropout on the *inputs* we can calculate it. Let
# $\mathbf{X}$ be the $n \times d$ matrix of inputs with the columns $\mathbf{x}_j$, $\mathbf{y}$ the targets, and
# $\tilde{\mathbf{X}}$ the inputs after dropout, with a mask of its own for each row. The prediction for a row has the
# right mean, and its variance is the sum over $j$ of $\frac{p}{1-p} x_{ij}^2 w_j^2$ (first exercise). The mean of a
# square is the square of the mean plus the variance. So the mean of the squared error, added up over the rows, is
#
# ```{math}
# :label: dropout-penalty
# \mathbb{E}\, \lVert \mathbf{y} - \tilde{\mathbf{X}} \mathbf{w} \rVert^2
# = \lVert \mathbf{y} - \mathbf{X} \mathbf{w} \rVert^2 + \frac{p}{1 - p} \sum_{j=1}^{d} \lVert \mathbf{x}_j \rVert^2 w_j^2 .
# ```
#
# The last term is a ridge penalty, in which each weight counts with the squared norm of its own column. We try it
# with three rows and four columns, and go through all $2^{12} = 4096$ masks:

# %%
g = torch.Generator().manual_seed(2)
X, y = torch.randn(3, 4, generator=g), torch.randn(3, 1, generator=g)
w, p = torch.randn(4, 1, generator=g), 0.3
r = all_masks(12).view(-1, 3, 4)                 # (4096, 3, 4)
errors = ((y - dropout(X, r, p) @ w) ** 2).sum((1, 2))
mean_error = mask_probability(r.flatten(1), p) @ errors
penalty = p / (1 - p) * ((X**2).sum(0) @ w**2)
print(f'mean over all masks {mean_error:.4f}, without dropout'
      f' {((y - X @ w)**2).sum():.4f} + penalty {penalty.item():.4f}')

# %% [markdown]
# The weights that minimize the right side follow from setting its gradient to zero, as in ridge regression. They are
# unique if $p > 0$ and no column is zero:

# %%
def dropout_ridge(X, y, p):
    penalty = p / (1 - p) * torch.diag((X**2).sum(0))     # (d, d)
    return torch.linalg.solve(X.T @ X + penalty, X.T @ y)

# %% [markdown]
# Does this happen with drawn masks, too? We take the 442 patients of the diabetes data, with ten measurements each,
# and subtract the means. Then we make 300 copies of the table, each with a mask of its own, and fit ordinary least
# squares to all copies together.

# %%
patients = data.diabetes()
X = torch.tensor(patients.x - patients.x.mean(0))         # (442, 10)
y = torch.tensor(patients.y - patients.y.mean())          # (442,)

def fit_copies(p, copies, g):
    r = torch.rand(copies, *X.shape, generator=g) >= p
    masked = dropout(X, r, p).flatten(0, 1)               # (copies * 442, 10)
    return torch.linalg.solve(masked.T @ masked, masked.T @ y.repeat(copies))

# %%
g = torch.Generator().manual_seed(0)
fitted = {p: fit_copies(p, 300, g) for p in (0.2, 0.5, 0.8)}
spread = X.std(0)                                         # (10,)
for p, w in fitted.items():
    formula = dropout_ridge(X, y, p)
    off = ((w - formula) * spread).norm() / (formula * spread).norm()
    print(f'p = {p}: distance from the formula {below(off, 0.05)}')

# %% mystnb={"image": {"alt": "Four curves of weights against p from 0 to 0.9. Those of blood values 1 and 2 start far from zero, the first below and the second above, and are near zero from p = 0.2 on. Those of body mass index and blood value 5 start above and fall slowly. Three dots on each curve."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.4, 2.8))
shares = torch.linspace(0, 0.9, 91)
path = torch.stack([dropout_ridge(X, y, p.item()) for p in shares]) * spread
for j, name in (2, 'body mass index'), (8, 'blood value 5'), (5, 'blood value 2'), (4, 'blood value 1'):
    line, = ax.plot(shares, path[:, j], label=name)
    ax.plot(list(fitted), [w[j] * spread[j] for w in fitted.values()], 'o', color=line.get_color(), ms=5)
ax.axhline(0, color=GREY, lw=0.8)
ax.set(xlabel='p', ylabel='weight × spread of its column', xlim=(0, 0.9))
label_lines(ax);

# %% [markdown] tags=["caption"]
# Four of the ten weights against $p$. Lines: the formula. Dots: least squares on 300 masked copies of the table. The
# first two blood values rise and fall together and get large weights of opposite sign without dropout; a little
# dropout makes them small.

# %% [markdown]
# Ridge regression treats all weights alike, so its answer depends on the units of the columns. Suppose that a mass in
# kilograms is written in grams. The numbers of this column become a thousand times as large, and so does its norm. For the
# same predictions its $w_j$ has to be a thousand times smaller, so the product $\lVert \mathbf{x}_j \rVert\, w_j$ in the penalty of
# dropout stays the same. For dropout the units do not matter.
#
# ```{exercise} ★★ Experiment: the same measurement twice
# :label: dropout-twice
# A table has two columns: a length in metres, and the same length in decimetres, so that the second column is ten
# times the first. What share of the prediction $x_1 w_1 + x_2 w_2$ comes from the second column? Predict it, up to
# 0.02, for (a) ridge regression with the penalty $w_1^2 + w_2^2$, and (b) the penalty of dropout with $p = 0.5$.
# Return the two shares. Then run the grader, and explain.
# ```

# %%
def predicted_shares():
    """The shares of the second column under (a) and (b): two floats."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def measured_shares():
    g = torch.Generator().manual_seed(0)
    metres = torch.randn(50, generator=g)
    table, target = torch.stack([metres, 10 * metres], 1), 3 * metres + torch.randn(50, generator=g)
    ridge = torch.linalg.solve(table.T @ table + torch.eye(2), table.T @ target)
    parts = [w * torch.tensor([1.0, 10.0]) for w in (ridge, dropout_ridge(table, target, 0.5))]
    return [(part[1] / part.sum()).item() for part in parts]

def is_measured(said):
    if len(said) != 2:
        raise ValueError('give two numbers')
    for name, guess, share in zip(('(a)', '(b)'), said, measured_shares(), strict=True):
        if not abs(guess - share) <= 0.02:
            raise ValueError(f'another share is measured for {name}; try it')
    return True

grade(lambda: is_measured(predicted_shares()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} dropout-twice
# :class: dropdown
# ```
# (a) Only the sum $w_1 + 10 w_2$ matters for the predictions. The second column needs a ten times smaller weight for
# the same effect, so it is cheaper for ridge regression: at the minimum $w_2 = 10 w_1$, and its share is $100/101$.
# (b) In the penalty of dropout the two columns cost the same, so they share the work equally: one half. The wrong
# answers expect equal shares from both, expect the ratio of the units, and exchange the two.

# %% jupyter={"source_hidden": true}
right_shares = measured_shares()
assert grade(lambda: is_measured(right_shares), lambda: True, [()])
assert not grade(lambda: is_measured((0.5, 0.5)), lambda: True, [()])
assert not grade(lambda: is_measured((10 / 11, 0.5)), lambda: True, [()])
assert not grade(lambda: is_measured((0.5, 100 / 101)), lambda: True, [()])
print('shares', ', '.join(f'{share:.2f}' for share in measured_shares()))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def best(seed, p, solver):  # no other weights have a smaller mean error over all masks
    g = torch.Generator().manual_seed(seed)
    A, t = torch.randn(3, 3, generator=g), torch.randn(3, generator=g)
    masks = all_masks(9).view(-1, 3, 3)
    prob = mask_probability(masks.flatten(1), p)
    w = solver(A, t, p).requires_grad_()
    (prob @ ((t - dropout(A, masks, p) @ w) ** 2).sum(1)).backward()
    return close(w.grad, torch.zeros(3))

verify(
    'the weights of dropout_ridge minimize the mean error over all masks',
    lambda seed, p: best(seed, p, dropout_ridge),
    slip=('penalizes all weights alike',
          lambda seed, p: best(seed, p, lambda A, t, p: torch.linalg.solve(A.T @ A + p / (1 - p) * torch.eye(3), A.T @ t))),
    seed=seeds(), p=scalars(0.1, 0.8), tries=30,
)

def by_sklearn(X, y, p):  # ridge regression on columns of norm one
    norms = X.norm(dim=0)
    return torch.tensor(Ridge(alpha=p / (1 - p), fit_intercept=False).fit((X / norms).numpy(), y.numpy()).coef_) / norms

verify(
    'dropout_ridge is the ridge regression of scikit-learn on columns of norm one',
    lambda p: close(dropout_ridge(X, y, p), by_sklearn(X, y, p)),
    slip=('takes p for the strength', lambda p: close(dropout_ridge(X, y, p), by_sklearn(X, y, p / (1 + p)))),
    p=[0.2, 0.5, 0.9],
)

def same_predictions(p, factor, solver):  # after a change of the unit of one column
    units = torch.ones(10)
    units[2] = factor
    return close(X @ solver(X, y, p), (X * units) @ solver(X * units, y, p), atol=1e-6)

verify(
    'the units of a column do not matter for dropout',
    lambda p, factor: same_predictions(p, factor, dropout_ridge),
    slip=('says so of ridge regression',
          lambda p, factor: same_predictions(
              p, factor, lambda X, y, p: torch.linalg.solve(X.T @ X + 442 * p / (1 - p) * torch.eye(10), X.T @ y))),
    p=[0.2, 0.5], factor=[0.1, 10.0],
)
verify(
    'least squares on 300 masked copies is near the formula',
    lambda p: bool(((fitted[p] - dropout_ridge(X, y, p)) * spread).norm() < 0.05 * (fitted[p] * spread).norm()),
    slip=('takes p for the share that stays',
          lambda p: bool(((fitted[p] - dropout_ridge(X, y, 1 - p)) * spread).norm() < 0.05 * (fitted[p] * spread).norm())),
    p=[0.2, 0.5, 0.8],
)

# %% [markdown]
# ## Does dropout help? Five sets of 500 digits
#
# Now we train networks with dropout on their hidden layer. In PyTorch you would write such a network like this:

# %%
model = nn.Sequential(
    nn.Linear(196, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 10))
print(model)

# %% [markdown]
# The digits are pictures of $28 \times 28$ pixels from MNIST {cite}`lecun1998gradient`. To save time we average
# blocks of $2 \times 2$ pixels, which leaves 196 numbers. We take five sets of 500 digits for the training, which
# have no digit in common, and 1000 other digits for the test.

# %%
def blocks(part):
    digits = data.mnist(part)
    x = F.avg_pool2d(torch.tensor(digits.x).view(-1, 28, 28), 2)
    return x.flatten(1), torch.tensor(digits.y)

# %%
x_train, y_train = (v[:2500].unflatten(0, (5, 500)).transpose(0, 1)
                    for v in blocks('train'))    # (500, 5, 196), (500, 5)
x_test, y_test = (v[:, None].expand(-1, 5, *v.shape[1:])
                  for v in blocks('test'))       # (1000, 5, 196), (1000, 5)
print(len(x_train), 'digits in each set,', len(x_test), 'for the test')

# %% [markdown]
# Also to save time, we train five networks side by side, one on each set: each weight matrix has one more axis, of
# length five. The networks share no weights. They differ in their start, in their digits and in their masks.

# %%
class FiveNetworks(nn.Module):
    def __init__(self, p, g):
        super().__init__()
        W_1 = torch.randn(5, 196, 64, generator=g) * (2 / 196) ** 0.5
        W_2 = torch.randn(5, 64, 10, generator=g) * (1 / 64) ** 0.5
        self.W_1, self.W_2 = nn.Parameter(W_1), nn.Parameter(W_2)
        self.b_1 = nn.Parameter(torch.zeros(5, 1, 64))
        self.b_2 = nn.Parameter(torch.zeros(5, 1, 10))
        self.dropout = Dropout(p, g)

    def forward(self, x):                        # (n, 5, 196)
        h = F.relu(x.transpose(0, 1) @ self.W_1 + self.b_1)    # (5, n, 64)
        o = self.dropout(h) @ self.W_2 + self.b_2              # (5, n, 10)
        return o.transpose(0, 1)                 # (n, 5, 10)

# %%
def losses(o, y):                                # (n, 5, 10), (n, 5) -> (5,)
    each = F.cross_entropy(o.flatten(0, 1), y.flatten(), reduction='none')
    return each.view(-1, 5).mean(0)

def share_right(o, y):                           # -> (5,)
    return (o.argmax(2) == y).double().mean(0)

# %% [markdown]
# We train with [AdamW](../regression/weight_decay.ipynb), so that weight decay can be switched on for comparison.
# There are fifteen passes through the 500 digits, and we measure after every third one. The function `fit` calls
# `model.train()` before its steps and `model.eval()` after them, so we measure without masks.

# %%
def train(p, lr=0.01, decay=0.0):
    g = torch.Generator().manual_seed(0)
    model = FiveNetworks(p, g)                   # the same start for all p
    optimizer = torch.optim.AdamW(model.parameters(), lr, weight_decay=decay)
    history = []
    for _ in range(5):
        fit(model, lambda o, y: losses(o, y).mean(), optimizer,
            batches(g, 50, x_train, y_train, epochs=3))
        with torch.no_grad():
            o = model(x_test)
            history.append(torch.stack([
                losses(o, y_test), share_right(o, y_test),
                losses(model(x_train), y_train)]))
    return model, torch.stack(history)           # (5, 3, 5) passes, what, set

# %%
settings = {f'p = {p}': dict(p=p) for p in (0.0, 0.2, 0.5, 0.8)}
settings['weight decay'] = dict(p=0.0, decay=1.0)
nets, histories = {}, {}
for name, setting in settings.items():
    nets[name], histories[name] = train(**setting)

# %% mystnb={"image": {"alt": "Loss against passes through the digits, at 3, 6, 9, 12 and 15. Without dropout the test loss falls until pass 9 and then rises, while the dashed training loss falls towards zero. With p = 0.5 the test loss starts higher, falls below it and stays level. With p = 0.8 it falls all the time and is the highest of all for most of the time."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.2, 3))
passes = [3, 6, 9, 12, 15]
for (name, history), colour in zip(list(histories.items())[:4], ('C1', 'C2', 'C0', 'C3'), strict=True):
    ax.plot(passes, history[:, 0].mean(1), 'o-', color=colour, label=name, ms=4)
ax.plot(passes, histories['p = 0.0'][:, 2].mean(1), '--', color=GREY, label='p = 0.0, training digits')
ax.set(xlabel='passes through the 500 digits', ylabel='cross-entropy', xticks=passes, ylim=(0, 1.3))
label_lines(ax);

# %% [markdown] tags=["caption"]
# Mean loss of the five networks. Solid: on the test digits. Dashed: without dropout, on the digits of the training.
# Without dropout the test loss rises again after nine passes, while the training loss falls towards zero. With $p = 0.5$ it
# stays level.

# %% [markdown]
# Is the difference at the end larger than chance? For each of the five sets we subtract the result without dropout
# from the result with dropout. We print the mean of the five differences with two standard errors of this mean.

# %%
def paired(history, reference):                  # mean difference, two errors
    difference = history[-1] - reference[-1]     # (3, 5)
    return difference.mean(1), 2 * difference.std(1) / 5**0.5

# %%
plain = histories['p = 0.0']
print(f'p = 0.0       test loss {plain[-1, 0].mean():.2f},'
      f' right {plain[-1, 1].mean():.1%}')
differences = {}
for name in list(histories)[1:]:
    mean, two = differences[name] = paired(histories[name], plain)
    print(f'{name:13} test loss {mean[0]:+.4f} ± {two[0]:.4f},'
          f'   right {mean[1]:+.3%} ± {two[1]:.3%}')

# %% [markdown]
# With $p = 0.2$ and $p = 0.5$ the test loss is lower by more than two standard errors. The share of right answers is
# not clearly different. So without dropout the networks are about as often right, but their probabilities are worse.
# With $p = 0.8$ they are right less often after these fifteen passes. Weight decay lowers the loss about as much as
# dropout.
#
# These numbers are for a single learning rate. Here are two smaller ones, without dropout and with $p = 0.5$. We print the
# test loss after twelve passes, an arrow, and the test loss after fifteen. The last numbers are the difference at the end. The
# last line compares dropout at the rate 0.01 with no dropout at 0.005:

# %%
slower = {lr: [train(p, lr)[1] for p in (0.0, 0.5)] for lr in (0.002, 0.005)}
for lr, (without, with_half) in slower.items():
    mean, two = paired(with_half, without)
    arrows = [f'{h[3, 0].mean():.2f} -> {h[4, 0].mean():.2f}'
              for h in (without, with_half)]
    print(f'rate {lr}  without {arrows[0]}  with {arrows[1]}'
          f'  {mean[0]:+.4f} ± {two[0]:.4f}')
mean, two = paired(histories['p = 0.5'], slower[0.005][0])
print(f'with at 0.01 against without at 0.005: {mean[0]:+.4f} ± {two[0]:.4f}')

# %% [markdown]
# With the rate 0.005 there is no clear difference. With the rate 0.002 both losses are still falling, and dropout makes
# the loss *larger*. So in this experiment dropout helps the networks that overfit. But networks without dropout reach the
# same test loss at the rate 0.005, up to two standard errors.
#
# The authors of dropout explain its effect by less *co-adaptation*: no unit can rely on certain other units being
# there {cite}`srivastava2014dropout`. Our experiment does not test this explanation.
#
# :::{admonition} A tempting mistake
# :class: warning
# It is easy to forget `model.eval()` before the test. Nothing fails: the masks just go on being drawn. We ask the
# networks with $p = 0.5$ twice in each mode:
# :::

# %%
model = nets['p = 0.5']
answers = {}
for mode in ('eval', 'train'):
    model.train(mode == 'train')                 # with False: model.eval()
    with torch.no_grad():
        first, second = model(x_test), model(x_test)
    changed = (first.argmax(2) != second.argmax(2)).double().mean()
    answers[mode] = share_right(first, y_test).mean(), changed
    print(f'{mode:5} right {answers[mode][0]:.2f},'
          f' other answer the second time {answers[mode][1]:.2f}')

# %% [markdown]
# The opposite mistake is as easy: if you measure during the training with `model.eval()` and do not call
# `model.train()` again, the rest of the training runs without dropout.

# %% tags=["checks"]
model.eval()

def clearly(name, row, sign):  # beyond two standard errors
    mean, two = differences[name]
    return bool(sign * mean[row] > two[row])

verify(
    'with p = 0.2, with p = 0.5 and with weight decay the test loss is lower by more than two standard errors',
    lambda name: clearly(name, 0, -1),
    slip=('says that more digits are right', lambda name: clearly(name, 1, 1)),
    name=['p = 0.2', 'p = 0.5', 'weight decay'],
)
verify(
    'with p = 0.8 fewer digits are right, by more than two standard errors',
    lambda name: clearly(name, 1, -1),
    slip=('says that its loss is lower', lambda name: clearly(name, 0, -1)),
    name=['p = 0.8'],
)

def by_rate(lr, sign):
    mean, two = paired(*slower[lr][::-1])
    return bool(sign * mean[0] > two[0])

def still_falls(lr):
    return all(h[4, 0].mean() < 0.98 * h[3, 0].mean() for h in slower[lr])

verify(
    'with the learning rate 0.002 the losses still fall and the one with dropout is larger; '
    'with 0.005 neither is clearly better',
    lambda small, middle: still_falls(small) and by_rate(small, 1) and not by_rate(middle, 1) and not by_rate(middle, -1),
    slip=('expects the loss to be smaller', lambda small, middle: by_rate(small, -1) or by_rate(middle, -1)),
    small=[0.002], middle=[0.005],
)

def rises(name, row):  # from pass 9 to pass 15, in the mean of the five networks
    return bool(histories[name][-1, row].mean() > 1.05 * histories[name][2, row].mean())

verify(
    'without dropout the test loss rises again while the training loss falls, and with p = 0.5 it does not rise by 5 %',
    lambda name, half: rises(name, 0) and not rises(name, 2) and not rises(half, 0),
    slip=('says that it rises with p = 0.5', lambda name, half: rises(half, 0)),
    name=['p = 0.0'], half=['p = 0.5'],
)
verify(
    'whoever forgets eval loses right answers, and gets other answers the second time',
    lambda mode: bool(answers[mode][0] < answers['eval'][0] - 0.02 and answers[mode][1] > 0.05),
    slip=('looks at eval twice', lambda mode: bool(answers[{'train': 'eval'}[mode]][1] > 0.05)),
    mode=['train'],
)

# %% [markdown]
# ## Summary
#
# Dropout sets each hidden unit to zero with probability $p$ and divides the others by $1 - p$, which keeps the mean
# and adds noise of variance $\frac{p}{1-p} h_j^2$; in use nothing is dropped, so remember `model.eval()`. For an affine
# output, the network without masks gives exactly the average over all masks; for a softmax layer it gives the geometric mean, and in
# deeper networks in general neither. In linear regression dropout is a ridge penalty, and on 500 digits it
# lowered the test loss of networks that had overfitted, about as much as weight decay did.
#
# **Further reading.** {cite:t}`srivastava2014dropout` is the full account, with many experiments and practical advice.
# {cite:t}`baldi2013understanding` treat the average over all masks, for deeper networks, too. {cite:t}`wager2013dropout`
# derive an approximate penalty for logistic regression, for readers who liked the third part.
