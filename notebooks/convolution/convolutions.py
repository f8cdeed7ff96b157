# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Convolution and cross-correlation
#
# - **Question.** What does a convolution do to a picture, and why does a layer of that name compute something else?
# - **You need** sums, matrices, and for the last part [gradient descent](../optimization/gradient_descent.ipynb) and
#   [least squares](../regression/linear_regression.ipynb).
# - **You build** convolutions in one and two dimensions, edge filters for a photograph, two ways to make them fast, and
#   a kernel that is learned from examples.
# - **Time** 7 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %%
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from scipy import ndimage, signal
from scipy.linalg import circulant
from torch.nn.functional import conv1d, conv2d

from nbutils.cases import integers, matrices, scalars, seeds, vectors
from nbutils.checks import close, grade, holds
from nbutils.data import photograph
from nbutils.figures import GREY, panels, show_image
from nbutils.timing import seconds

plt.style.use('nbutils.book')
torch.set_default_dtype(torch.float64)

# %% [markdown]
# ## Flip, slide, sum
#
# Throw two dice. The total is 7 if the first shows 1 and the second 6, or 2 and 5, or 3 and 4, and so on: one term for
# every way to split 7 in two. If $f(a)$ is the chance that the first die shows $a$, and $g$ the same for the second,
# the chance of the total $i$ is the *convolution* of $f$ and $g$,
#
# ```{math}
# :label: dl.convolutions.discrete
# (f * g)(i) = \sum_a f(a)\, g(i - a)
# ```
#
# where a value outside the range of a die counts as zero. The two arguments add up to $i$: that is all there is to
# remember, and it explains the minus sign. The sum is also a recipe. As $a$ grows, $i - a$ falls, so *flip* $g$ end to
# end, *slide* it to the place $i$, multiply by $f$ and *sum*. In code it is easier to go through all pairs $(a, b)$ and to
# add $f(a)\, g(b)$ at the place $i = a + b$.

# %%
def convolve(f, g):
    h = [0.0] * (len(f) + len(g) - 1)
    for a in range(len(f)):
        for b in range(len(g)):
            h[a + b] += f[a] * g[b]
    return h

# %%
holds(
    'dl.convolutions.discrete',
    lambda f, g: close(convolve(f, g), np.convolve(f, g)),
    control=lambda f, g: close(np.correlate(f, g, 'full'), np.convolve(f, g)),
    f=vectors(4), g=vectors(3),
)

# %% [markdown]
# The *control*, which the check must reject to count, forgets to flip.
#
# For functions of $d$ real variables the sum turns into an integral,
#
# ```{math}
# :label: dl.convolutions.integral
# (f * g)(\mathbf{x}) = \int f(\mathbf{z})\, g(\mathbf{x} - \mathbf{z}) \, d\mathbf{z}
# ```
#
# In the notes the words "between two functions, say" are followed by a gap, which must have named the functions and
# where they live. That alone is too little: if both equal 1 everywhere, so does the integrand, and the integral is
# infinite. It is enough that both can be integrated:
#
# ```{math}
# :label: dl.convolutions.def-intro
# f, g : \mathbb{R}^d \to \mathbb{R}, \qquad
# \int |f(\mathbf{z})| \, d\mathbf{z} < \infty, \quad \int |g(\mathbf{z})| \, d\mathbf{z} < \infty
# ```
#
# ```{prf:theorem} Convolution of integrable functions
# :label: thm-convolution-exists
# Under {eq}`dl.convolutions.def-intro` the integral {eq}`dl.convolutions.integral` exists for almost every
# $\mathbf{x}$, $f * g$ is integrable, $f * g = g * f$, and $\int f * g = \int f \cdot \int g$.
# ```
#
# ```{prf:proof}
# In $\iint |f(\mathbf{z})|\,|g(\mathbf{x} - \mathbf{z})| \, d\mathbf{z}\, d\mathbf{x}$ nothing is negative, so by
# Tonelli's theorem the order does not matter. Integrate over $\mathbf{x}$ first: a shift by $\mathbf{z}$ does not
# change $\int |g|$, which leaves $\int |f| \cdot \int |g| < \infty$. So the inner integral, as a function of
# $\mathbf{x}$, has a finite integral and is finite almost everywhere, which gives the first two statements. Now
# Fubini's theorem allows the same exchange without the bars, which gives the last. Substituting
# $\mathbf{z} \to \mathbf{x} - \mathbf{z}$, which keeps volumes, swaps $f$ and $g$.
# ```
#
# The check integrates over a cube that reaches 8 or 16 from the origin. For bell curves on the line or in the plane
# the size no longer matters; for the constant 1 it does.

# %%
def over_cube(f, g, x, reach, step=0.2):  # x (d,) -> ()
    z = np.arange(-reach, reach, step) + step / 2
    z = np.stack(np.meshgrid(*[z] * len(x))).reshape(len(x), -1)  # (d, points)
    return (f(z) * g(x[:, None] - z)).sum() * step ** len(x)

def round_bell(z):  # (d, points) -> (points,)
    return np.exp(-(z ** 2).sum(0) / 2)

def one(z):
    return np.ones(z.shape[1])

def settled(f, x):
    return close(over_cube(f, f, x, 8), over_cube(f, f, x, 16))

holds(
    'dl.convolutions.def-intro',
    lambda d, x: settled(round_bell, x[:d]),
    control=lambda d, x: settled(one, x[:d]),
    d=[1, 2], x=vectors(2, -2, 2), tries=30,
)
x = np.array([0.5, -1.0])  # the bells themselves are known: see below
bells = over_cube(round_bell, round_bell, x, 8)
assert close(bells, np.pi * np.exp(-x @ x / 4))

# %% [markdown]
# The value has a witness too. Like the dice, independent variables with densities $f$ and $g$ have a sum with density
# $f * g$, and the sum of two normal variables is normal: means add, variances add.

# %%
def bell(z, mean, sd):
    return np.exp(-((z - mean) / sd) ** 2 / 2) / (sd * np.sqrt(2 * np.pi))

z = np.linspace(-40, 40, 4001)

def is_bell(x, m, s, sign):  # means m (2,), standard deviations s (2,)
    area = bell(z, m[0], s[0]) @ bell(x + sign * z, m[1], s[1]) * 0.02
    return close(area, bell(x, m.sum(), np.hypot(*s)))

holds(
    'dl.convolutions.integral',
    lambda x, m, s: is_bell(x, m, s, -1),
    control=lambda x, m, s: is_bell(x, m, s, +1),
    x=scalars(-3, 3), m=vectors(2, -3, 3), s=vectors(2, 0.5, 2),
)

# %% [markdown]
# Watch the recipe at work. Here $f$ is a box, and $g(t) = 1 - t$ on $[0, 1]$ falls; flipped, it rises. At each place
# $x$ the shaded area under the product is the height of the curve below. Sampled at steps of width $h$, the integral is
# $h$ times a sum, and the closed form $x - x^2/2$ on $[0, 1]$, then $(2 - x)^2/2$ on $[1, 2]$, confirms it.

# %%
h = 0.001
t = np.arange(0, 1, h) + h / 2  # the middles of 1000 short intervals
smeared = h * np.convolve(np.ones(1000), 1 - t)  # (1999,)
x = np.arange(1, 2000) * h
exact = np.where(x < 1, x - x ** 2 / 2, (2 - x) ** 2 / 2)
assert close(smeared, exact, atol=h)

# %% mystnb={"figure": {"caption": "$(f * g)(x)$ is the area under the product of $f$ and the flipped $g$, slid to $x$: it is largest, one half, where the ramp lies wholly on the box."}, "image": {"alt": "Three panels show a box and a flipped ramp that slides over it from left to right, the overlap shaded; below, the area of the overlap as a curve that rises to one half and falls again, with the three places marked."}} tags=["hide-input"]
fig, axes = plt.subplot_mosaic('abc;hhh', figsize=(6, 3.8))
line = np.linspace(-1, 2.6, 721)
f_line = np.where((line >= 0) & (line <= 1), 1, 0)
for key, place in zip('abc', (0.4, 1.0, 1.6), strict=True):
    u = place - line
    g_line = np.where((u >= 0) & (u <= 1), 1 - u, 0)
    axes[key].plot(line, f_line)
    axes[key].plot(line, g_line)
    axes[key].fill_between(line, f_line * g_line, color='C2', alpha=0.45, lw=0)
    axes[key].set(title=f'x = {place}', xlabel='z', ylim=(0, 1.5))
    axes['h'].plot(place, np.interp(place, x, smeared), 'o', color='C2', ms=7)
axes['a'].text(0.15, 1.12, 'f(z)', color='C0')
axes['c'].text(1.2, 1.12, 'g(x − z)', color='C1')
axes['h'].plot(x, smeared, color='C2', zorder=0)
axes['h'].set(xlim=(-1, 2.6), ylim=(0, 0.6), xlabel='x')
axes['h'].set_title('(f ∗ g)(x): the shaded area');

# %% [markdown]
# Two equal boxes give a triangle, because the overlap grows evenly and then shrinks evenly. A third box smooths the
# kinks, and with a fourth the result is hard to tell from the bell curve of the same mean and variance: the central
# limit theorem at work, since each box is the density of one more uniform random number.

# %%
box = np.ones(1000)  # height 1 over [-1/2, 1/2]
folds = [box]
for _ in range(3):
    folds.append(h * np.convolve(folds[-1], box))
middles = [h * (np.arange(len(f)) - (len(f) - 1) / 2) for f in folds]
assert close(folds[1], 1 - abs(middles[1]))  # the triangle
limit = bell(middles[3], 0, np.sqrt(4 / 12))
gap = abs(folds[3] - limit).max()
print(f'four boxes and the bell curve differ by at most {gap:.3f}')

# %% mystnb={"figure": {"caption": "Convolution smooths: two boxes make a triangle, and four boxes differ from the bell curve of the same mean and variance by at most $0.024$."}, "image": {"alt": "A box, a triangle, a smooth hump of three pieces and a hump of four pieces that nearly covers a dashed bell curve."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.8))
names = ('one box', 'two', 'three', 'four')
for f, at, name in zip(folds, middles, names, strict=True):
    ax.plot(np.r_[at[0], at, at[-1]], np.r_[0, f, 0], label=name)
ax.plot(middles[3], limit, '--', color=GREY, lw=1.2, label='bell curve')
ax.set(xlabel='x', ylabel='density')
ax.legend();

# %% [markdown]
# Polynomials are multiplied in the same way: collect all pairs of coefficients whose exponents add up to $i$. This
# proves the rules of the calculus without moving a single index.
#
# ```{prf:theorem} Convolution is multiplication
# :label: thm-convolution-algebra
# For sequences $f(0), f(1), \dots$ with finitely many nonzero terms, $*$ is commutative, associative, linear in each
# argument, and $\delta = (1, 0, 0, \dots)$ is neutral.
# ```
#
# ```{prf:proof}
# Send the sequence $f$ to the polynomial $\hat f(t) = \sum_a f(a)\, t^a$. This is linear, no two sequences share a
# polynomial, and the coefficient of $t^i$ in $\hat f \hat g$ is {eq}`dl.convolutions.discrete`, so
# $\widehat{f * g} = \hat f\, \hat g$. The product of polynomials has the four properties.
# ```
#
# Cross-correlation, the version without the flip that we meet next, has neither of the first two.

# %%
f, g, w = np.array([1., 2, 3]), np.array([1., -1]), np.array([2., 0, 1])

def correlate(f, g):
    return np.correlate(f, g, 'full')

for name, op in (('convolution', convolve), ('correlation', correlate)):
    commutes = close(op(f, op(w, g)), op(f, op(g, w)))
    associates = close(op(f, op(g, w)), op(op(f, g), w))
    print(f'{name}: commutes {commutes}, associates {associates}')

# %% [markdown]
# ```{exercise} ★ Many dice
# :label: convolutions-dice
# A die shows $0, 1, \dots, m - 1$ with the chances in `p` (m,). Write `chances(p, n)` that gives the chances of all
# totals of $n \ge 1$ throws, an array of length $n (m - 1) + 1$.
# ```

# %%
def chances(p, n):
    raise NotImplementedError('your turn')

# %%
def by_listing(p, n):  # every one of the m ** n outcomes
    total = np.zeros(n * (len(p) - 1) + 1)
    for throw in product(range(len(p)), repeat=n):
        total[sum(throw)] += np.prod(p[list(throw)])
    return total

fair, loaded = np.ones(6) / 6, np.array([0.2, 0.5, 0.3])
cases = [(fair, 1), (fair, 4), (loaded, 5)]
grade(chances, by_listing, cases)

# %% [markdown]
# ```{solution-start} convolutions-dice
# :class: dropdown
# ```
# The total of $n$ throws is the total of $n - 1$ throws plus one more: convolve with `p` as often. Starting from the
# neutral element $\delta$ gives all $n$ factors; starting from `p` and still convolving $n$ times is one throw too many.

# %% jupyter={"source_hidden": true}
def chances_solution(p, n):
    total = np.ones(1)
    for _ in range(n):
        total = np.convolve(total, p)
    return total

def one_throw_too_many(p, n):
    return np.convolve(chances_solution(p, n), p)

assert grade(chances_solution, by_listing, cases)
assert not grade(one_throw_too_many, by_listing, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## What a layer computes
#
# A picture has two coordinates, and so has the sum:
#
# ```{math}
# :label: dl.convolutions.discrete2d
# (f * g)(i, j) = \sum_a \sum_b f(a, b)\, g(i - a, j - b)
# ```
#
# Turn it around: instead of collecting for every $(i, j)$, let every entry $f(a, b)$ give. It contributes
# $f(a, b)\, g$ to the place that starts at $(a, b)$. Each entry *stamps* a copy of $g$, and the copies add up.

# %%
def convolve2d(f, g):
    h = np.zeros((f.shape[0] + g.shape[0] - 1, f.shape[1] + g.shape[1] - 1))
    for a, b in np.ndindex(f.shape):
        h[a:a + g.shape[0], b:b + g.shape[1]] += f[a, b] * g
    return h

# %%
holds(
    'dl.convolutions.discrete2d',
    lambda f, g: close(signal.convolve2d(f, g), convolve2d(f, g)),
    control=lambda f, g: close(signal.correlate2d(f, g), convolve2d(f, g)),
    f=matrices(3, 4), g=matrices(2, 3), tries=100,
)

# %% [markdown]
# Now to the layer. In equation (8) of the notes a pixel of the output is $u + \sum_{a,b} V_{a,b}\, X_{i+a,\, j+b}$: a
# window of $\mathbf{X}$ is weighted with $\mathbf{V}$, entry by entry, and summed. The sign is a plus, nothing is
# flipped. This is *cross-correlation*. The notes set out to say why "(7.1.3)" is called a convolution, but they have no
# equation of that number; (8) is meant, and the answer is one substitution, $a \to -a$ and $b \to -b$:
#
# ```{math}
# :label: dl.convolutions.ref-713
# \begin{gathered}
# \sum_{a,b} V_{a,b}\, X_{i+a,\,j+b} = \sum_{a,b} V_{-a,-b}\, X_{i-a,\,j-b} = (\tilde{\mathbf{V}} * \mathbf{X})(i, j), \\
# \tilde V_{a,b} = V_{-a,-b}
# \end{gathered}
# ```
#
# So the layer convolves after all, with the kernel turned by half a turn. For a kernel that is *learned* this is a
# matter of names: training would find the turned kernel. It matters where a kernel is *given* (scipy's `convolve2d`
# turns it, torch's `conv2d` does not) and where kernels are combined, since only convolution associates. Here is the
# layer, without the bias $u$, as its definition reads:

# %%
def corr2d(X, K):
    k_h, k_w = K.shape
    Y = np.zeros((X.shape[0] - k_h + 1, X.shape[1] - k_w + 1))
    for i, j in np.ndindex(Y.shape):
        Y[i, j] = (X[i:i + k_h, j:j + k_w] * K).sum()
    return Y

def by_torch(X, K):  # torch wants axes for the sample and the channel
    X, K = torch.tensor(X)[None, None], torch.tensor(K)[None, None]
    return conv2d(X, K)[0, 0].numpy()

X, K = np.arange(9.).reshape(3, 3), np.arange(4.).reshape(2, 2)
summed = corr2d(X, K)
assert close(summed, by_torch(X, K))
summed

# %% mystnb={"figure": {"caption": "Cross-correlation weighs a window entry by entry, without a flip, and sums: a $2 \\times 2$ kernel has four places on a $3 \\times 3$ picture, so the output is $2 \\times 2$."}, "image": {"alt": "The three by three picture with the entries 0 to 8, four times; a two by two window is marked at its four places, with the sum for each: 19, 25, 37, 43."}} tags=["hide-input"]
fig, axes = panels(4, height=2.0)
for ax, (i, j) in zip(axes, np.ndindex(2, 2), strict=True):
    window = plt.Rectangle((j - 0.5, i - 0.5), 2, 2, alpha=0.25, lw=0)
    ax.add_patch(window)
    for r, c in np.ndindex(3, 3):
        ax.text(c, r, f'{X[r, c]:.0f}', ha='center', va='center')
    for r, c in np.ndindex(2, 2):
        ax.text(j + c + 0.15, i + r + 0.4, f'·{K[r, c]:.0f}', color='C1')
    ax.set(xlim=(-0.55, 2.55), ylim=(2.55, -0.55), aspect='equal')
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_title(f'sum: {summed[i, j]:.0f}', color='C0');

# %% [markdown]
# The output is smaller than the input. A window of height $k_h$ that starts in row $i$ ends in row $i + k_h - 1$, and
# fits if that is at most $n_h - 1$, counting rows from zero. So $i$ runs from $0$ to $n_h - k_h$, which are
# $n_h - k_h + 1$ rows, and likewise for the columns. An $n_h \times n_w$ picture under a $k_h \times k_w$ kernel with
# $k_h \le n_h$ and $k_w \le n_w$ gives
#
# ```{math}
# :label: dl.crosscorr.shape
# (n_h - k_h + 1) \times (n_w - k_w + 1)
# ```

# %%
def shape_is(k, more, plus):
    n = (k[0] + more[0], k[1] + more[1])
    X, K = np.ones(n), np.ones(k)
    said = (n[0] - k[0] + plus, n[1] - k[1] + plus)
    return corr2d(X, K).shape == by_torch(X, K).shape == said

def is_convolution(X, V, kernel):
    return close(corr2d(X, V), signal.convolve2d(X, kernel, 'valid'))

holds(
    'dl.crosscorr.shape',
    lambda k, more: shape_is(k, more, 1),
    control=lambda k, more: shape_is(k, more, 0),
    k=[(1, 1), (1, 3), (2, 2), (3, 2), (5, 4)],
    more=[(0, 0), (0, 2), (1, 0), (4, 3)],
)
holds(
    'dl.convolutions.ref-713',
    lambda X, V: is_convolution(X, V, V[::-1, ::-1]),
    control=lambda X, V: is_convolution(X, V, V),
    X=matrices(4, 5), V=matrices(3, 3), tries=100,
)

# %% [markdown]
# What is a small window good for? The kernel $(1, -1)$ subtracts each pixel's right neighbour. Where the picture is
# even, the output is zero; where it changes from left to right, it is not: an *edge detector* for upright edges, two
# numbers long. It answers to noise as well, so one averages along the edge. Since convolution associates, a filter can
# be built from small ones: $(1, 1) * (1, 1) = (1, 2, 1)$ smooths, $(1, 1) * (1, -1) = (1, 0, -1)$ takes a difference
# over two pixels, and the first down the columns with the second along the rows is Sobel's kernel. Its transpose
# finds level edges. The oracle is scipy's own filter, which has the opposite sign.

# %%
smooth = convolve2d(np.array([[1., 1]]), np.array([[1., 1]]))
change = convolve2d(np.array([[1., 1]]), np.array([[1., -1]]))
sobel = convolve2d(smooth.T, change)
print(sobel.astype(int))

# %%
temple = photograph('china')[150:275, 85:210].mean(-1)  # (125, 125)
upright, level = corr2d(temple, sobel), corr2d(temple, sobel.T)  # (123, 123)
assert close(upright, -ndimage.sobel(temple, axis=1)[1:-1, 1:-1])
assert close(level, -ndimage.sobel(temple, axis=0)[1:-1, 1:-1])

# %% mystnb={"figure": {"caption": "Sobel's kernel answers where a picture changes from left to right, as at the columns; its transpose where it changes from top to bottom, as at roofs and railings."}, "image": {"alt": "A grey photograph of a temple; beside it its upright edges, in which the columns stand out, and its level edges, in which the roofs and railings do."}} tags=["hide-input"]
fig, axes = panels(3, height=2.2)
show_image(axes[0], temple, 'photograph')
show_image(axes[1], abs(upright), 'upright edges', vmax=2)
show_image(axes[2], abs(level), 'level edges', vmax=2);

# %% [markdown]
# ```{exercise} ★ How many positions?
# :label: convolutions-positions
# Put $p$ zeros on *each* side of a row of $n$ pixels, let the window take steps of $s$ (the *stride*), and spread its
# $k$ entries so that neighbours are $d$ pixels apart (the *dilation*). Write `positions(n, k, p, s, d)`, the
# length of the output. The same count holds for pooling layers.
# ```

# %%
def positions(n, k, p, s, d):
    raise NotImplementedError('your turn')

# %%
def length_in_torch(n, k, p, s, d):
    x, w = torch.zeros(1, 1, n), torch.zeros(1, 1, k)
    return conv1d(x, w, padding=p, stride=s, dilation=d).shape[-1]

cases = [
    (9, 3, 0, 1, 1), (9, 3, 1, 1, 1), (10, 3, 1, 2, 1), (12, 4, 2, 3, 2),
    (7, 7, 0, 4, 1), (16, 3, 2, 1, 2), (10, 3, 0, 4, 1),
]
grade(positions, length_in_torch, cases)

# %% [markdown]
# ```{solution-start} convolutions-positions
# :class: dropdown
# ```
# The spread window covers $d(k - 1) + 1$ pixels of $n + 2p$. By {eq}`dl.crosscorr.shape` it has
# $n + 2p - d(k - 1)$ places at stride 1, numbered from zero. The stride keeps the numbers $0, s, 2s, \dots$: the last
# number divided by $s$ and rounded down, plus one. The usual slip is to count the zeros of one side only.

# %% jupyter={"source_hidden": true}
def positions_solution(n, k, p, s, d):
    return (n + 2 * p - d * (k - 1) - 1) // s + 1

def one_side_only(n, k, p, s, d):
    return (n + p - d * (k - 1) - 1) // s + 1

assert grade(positions_solution, length_in_torch, cases)
assert not grade(one_side_only, length_in_torch, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## One filter at every place
#
# In one dimension, with $f$ the learnable filter and $x^{(0)}$ the input, a layer computes
#
# ```{math}
# :label: ml.conv.conv
# x^{(1)}[n] = \sum_k f[k]\, x^{(0)}[n - k]
# ```
#
# (the notes count $k$ from 1, hence their $n - k + 1$, and give filter and output an index $t$ without a word: as the
# number of the filter it makes sense, as a position it would contradict the next line). This is linear in $x^{(0)}$,
# so it is a matrix. Row $n$ holds $f[n - m]$ in column $m$ (zero where the filter has no such entry), so one number is
# repeated all along each diagonal. Such a matrix is called *Toeplitz*:
#
# ```{math}
# :label: ml.conv.sharing
# \mathbf{x}^{(1)} = \mathbf{T} \mathbf{x}^{(0)}, \qquad T_{n,m} = f[n - m] = T_{n+1,\,m+1}
# ```
#
# A dense layer on $N$ pixels has $N^2$ weights to learn, this one the $K$ entries of the filter, however long the
# signal: *the same filter at every position*. In code, the matrix is a sum of shifted identities. Torch
# cross-correlates, so its filter must be flipped to match, which the control forgets:

# %%
def filter_matrix(f, N):  # (K,) -> (N, N); x[-1], x[-2], ... count as zero
    return sum(f_k * np.eye(N, k=-k) for k, f_k in enumerate(f))

def torch_layer(x, f):  # (N,), (K,) -> (N,)
    padded = torch.tensor(np.r_[np.zeros(len(f) - 1), x])
    return conv1d(padded[None, None], torch.tensor(f.copy())[None, None])[0, 0]

def both_agree(x, f):
    y = filter_matrix(f, len(x)) @ x
    in_numpy = np.convolve(x, f)[:len(x)]
    return close(y, in_numpy) and close(y, torch_layer(x, f[::-1]))

holds(
    'ml.conv.conv',
    both_agree,
    control=lambda x, f: close(filter_matrix(f, 6) @ x, torch_layer(x, f)),
    x=vectors(6), f=vectors(3),
)

# %% [markdown]
# To see the sharing in torch itself, apply a layer to the unit vectors: the answers are the columns of its matrix. The
# control is a *locally connected* layer, whose windows are as small but have each a filter of its own.

# %%
def matrix_of(layer, N):  # -> (outputs, N)
    return layer(torch.eye(N)[:, None])[:, 0].detach().numpy().T

def shared(N, K, seed):
    layer = torch.nn.Conv1d(1, 1, K, bias=False)
    weights = np.random.default_rng(seed).normal(size=layer.weight.shape)
    layer.weight.data[:] = torch.tensor(weights)
    T = matrix_of(layer, N)
    return close(T[1:, 1:], T[:-1, :-1]) and layer.weight.numel() == K

def locally_connected(N, K, seed):
    windows = sliding_window_view(np.eye(N), K, axis=0)  # (N - K + 1, N, K)
    filters = np.random.default_rng(seed).normal(size=(N - K + 1, K))
    T = np.einsum('imk,ik->im', windows, filters)
    return close(T[1:, 1:], T[:-1, :-1])

holds(
    'ml.conv.sharing', shared, control=locally_connected,
    N=integers(6, 20), K=integers(1, 5), seed=seeds(), tries=30,
)

# %% mystnb={"figure": {"caption": "The matrix of a filter repeats five numbers along its diagonals, the same filter at every position; a dense layer has all 196 entries to learn."}, "image": {"alt": "Left a Toeplitz matrix: five coloured diagonals, each of one colour, the rest empty. Right a dense matrix in which every one of the 196 entries has its own colour."}} tags=["hide-input"]
rng = np.random.default_rng(1)
stripes = filter_matrix(np.array([0.9, -0.6, 0.3, 0.7, -0.2]), 14)
fig, axes = panels(2, height=2.9)
axes[0].imshow(np.where(stripes, stripes, np.nan), vmin=-1, vmax=1)
axes[1].imshow(rng.uniform(-1, 1, (14, 14)), vmin=-1, vmax=1)
axes[0].set_title('filter: 5 numbers')
axes[1].set_title('dense layer: 196 numbers')
for ax in axes:
    ax.set(xlabel='input pixel m', ylabel='output pixel n')
    ax.set(xticks=[0, 13], yticks=[0, 13])

# %% [markdown]
# Why share? Because a cat is a cat wherever it sits. Let $S$ shift a signal by one place. Shifting the input of
# {eq}`ml.conv.conv` replaces $n$ by $n - 1$ in the sum, and so shifts the output:
#
# ```{math}
# :label: ml.conv.equivariance
# f * (S\mathbf{x}) = S (f * \mathbf{x})
# ```
#
# This is *translation equivariance*. It is exact for signals without ends. Signals that have ends need a rule for what lies
# beyond: on a circle, where the first pixel follows the last, equivariance stays exact; with zeros, as in the control, it
# fails near the borders under a shift to the left: there pixels are pushed out on one side, and on the other the layer had
# already cut off what now should come in.

# %%
def on_circle(x, f):
    return sum(f_k * np.roll(x, k) for k, f_k in enumerate(f))

def zeros_outside(x, f):
    return np.convolve(x, f)[:len(x)]

def zeros_enter(x, s):  # and what leaves is lost
    wide = np.r_[np.zeros(max(s, 0)), x, np.zeros(max(-s, 0))]
    return wide[max(-s, 0):][:len(x)]

def follows(layer, shift, x, f, s):
    return close(layer(shift(x, s), f), shift(layer(x, f), s))

holds(
    'ml.conv.equivariance',
    lambda x, f, s: follows(on_circle, np.roll, x, f, s),
    control=lambda x, f, s: follows(zeros_outside, zeros_enter, x, f, s),
    x=vectors(8), f=vectors(3), s=integers(-7, 7),
)

# %% [markdown]
# The converse is the deeper half. Weight sharing is not one good way among many to treat all places alike. For a
# linear layer it is the only one.
#
# ```{prf:theorem} Equivariant means convolution
# :label: thm-equivariant-is-convolution
# A linear map $\mathbf{A}$ of signals on a circle of $N$ pixels satisfies $\mathbf{A}S = S\mathbf{A}$ if and only if
# $\mathbf{A}\mathbf{x} = f * \mathbf{x}$ (indices modulo $N$) for some filter $f$. That filter is
# $\mathbf{A}\mathbf{e}_0$, the answer to a single bright pixel.
# ```
#
# ```{prf:proof}
# The bright pixel at place $m$ is $\mathbf{e}_m = S^m \mathbf{e}_0$. If $\mathbf{A}$ commutes with $S$, it commutes with
# $S^m$, so $\mathbf{A}\mathbf{e}_m = S^m \mathbf{A}\mathbf{e}_0 = S^m f$, the vector whose entry $n$ is $f[n - m]$.
# By linearity entry $n$ of $\mathbf{A}\mathbf{x} = \sum_m x[m]\, \mathbf{A}\mathbf{e}_m$ is $\sum_m f[n - m]\, x[m]$.
# The other direction is {eq}`ml.conv.equivariance`.
# ```
#
# Equivariance is easily lost again. With stride 2 the layer keeps every other pixel. A shift by two pixels still
# gives a shift, by one; a shift by three makes it keep the *other* half:

# %%
row = photograph('china')[215, 90:154].mean(-1)  # (64,)
edge_filter = np.array([1., -1])
answers = [on_circle(np.roll(row, s), edge_filter) for s in (0, 2, 3)]
halves = [y[::2] for y in answers]  # stride 2
full = close(answers[2], np.roll(answers[0], 3))
even = close(halves[1], np.roll(halves[0], 1))
odd = any(close(halves[2], np.roll(halves[0], s)) for s in range(32))
print(f'stride 1 follows a shift by 3: {full}')
print(f'stride 2 follows a shift by 2: {even}, by 3: {odd}')

# %% mystnb={"figure": {"caption": "At stride 1 the edges follow a shift of the picture by three pixels; at stride 2 the layer keeps the other half of them, and their shape changes."}, "image": {"alt": "Three panels, each with two curves: a row of pixels and the same row three pixels later; their edges at stride one, again equal up to the shift; their edges at stride two, of different shape."}} tags=["hide-input"]
fig, axes = panels(3, height=2.5, sharex=True)
axes[0].plot(row[:32])
axes[0].plot(np.roll(row, 3)[:32])
axes[1].plot(answers[0][:32])
axes[1].plot(answers[2][:32])
axes[2].plot(range(0, 32, 2), halves[0][:16], 'o-', ms=3)
axes[2].plot(range(0, 32, 2), halves[2][:16], 'o-', ms=3)
titles = ('brightness', 'edges, stride 1', 'edges, stride 2')
for ax, title in zip(axes, titles, strict=True):
    ax.set(title=title, xlabel='pixel')
axes[0].set_ylim(0, 1.15)
axes[1].sharey(axes[2])
axes[0].text(0, 1.05, 'original', color='C0')
axes[0].text(31, 1.05, 'shifted by 3', color='C1', ha='right');

# %% [markdown]
# ```{exercise} ★★ The convolution in a dense layer
# :label: convolutions-average
# Take any matrix $\mathbf{A}$ (N, N) and average it over all shifts,
# $\bar{\mathbf{A}} = \frac{1}{N} \sum_s S^{-s} \mathbf{A} S^s$. Show that $\bar{\mathbf{A}}$ commutes with $S$, so that by
# {prf:ref}`thm-equivariant-is-convolution` it is a convolution on the circle. Write `hidden_filter(A)` that
# gives its filter (N,), without forming any of the products.
# ```

# %%
def hidden_filter(A):
    raise NotImplementedError('your turn')

# %%
def by_averaging(A):
    N = len(A)
    S = np.roll(np.eye(N), 1, axis=0)
    shifts = [np.linalg.matrix_power(S, s) for s in range(N)]
    return sum(P.T @ A @ P for P in shifts)[:, 0] / N

rng = np.random.default_rng(2)
cases = [(rng.normal(size=(N, N)),) for N in (1, 2, 5, 8)]
grade(hidden_filter, by_averaging, cases)

# %% [markdown]
# ```{solution-start} convolutions-average
# :class: dropdown
# ```
# $S^{-1} \bar{\mathbf{A}} S$ is the same sum with $s$ replaced by $s + 1$, and $s$ runs around the circle: so
# $S^{-1} \bar{\mathbf{A}} S = \bar{\mathbf{A}}$. The entry $(n, 0)$ of $S^{-s} \mathbf{A} S^s$ is
# $A_{n+s,\, s}$, so $f[n] = \frac{1}{N} \sum_s A_{n+s,\,s}$, the mean along a diagonal that wraps around.

# %% jupyter={"source_hidden": true}
def hidden_filter_solution(A):
    m = np.arange(len(A))
    return A[(m[:, None] + m) % len(A), m].mean(1)

def wrong_side_of_the_diagonal(A):
    return hidden_filter_solution(A.T)

assert grade(hidden_filter_solution, by_averaging, cases)
assert not grade(wrong_side_of_the_diagonal, by_averaging, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## The same numbers, faster
#
# This section continues [What a layer computes](#what-a-layer-computes), whose `corr2d` visits one window after the
# other. Python is slow at that. Lay every window out as a row of a matrix, known as *im2col*
# {cite}`chellapilla2006high`, and the layer becomes one product of a matrix and a vector, which hardware does best.
# `sliding_window_view` shows the windows without copying a number; `reshape` then does copy, and stores a pixel once
# for each window that it lies in, up to $k_h k_w$ times. The price of speed is memory.

# %%
def im2col(X, shape):  # -> (positions, k_h * k_w)
    return sliding_window_view(X, shape).reshape(-1, shape[0] * shape[1])

def corr2d_matrix(X, K):
    rows = X.shape[0] - K.shape[0] + 1
    return (im2col(X, K.shape) @ K.ravel()).reshape(rows, -1)

torch.set_num_threads(1)  # as numpy here: only the method shall differ

rng, wins = np.random.default_rng(3), {}
for n in (6, 128):
    X, K = rng.normal(size=(n, n)), rng.normal(size=(3, 3))
    assert close(corr2d_matrix(X, K), corr2d(X, K))
    assert close(by_torch(X, K), corr2d(X, K))
    loop, product_time, torch_time = seconds(
        lambda: corr2d(X, K), lambda: corr2d_matrix(X, K),
        lambda: by_torch(X, K))
    wins[n] = [loop > 20 * each for each in (product_time, torch_time)]
    print(f'{n} x {n} pixels, more than 20 times faster than the loop: '
          f'matrix product {wins[n][0]}, torch {wins[n][1]}')
assert all(wins[128]) and not any(wins[6])

# %% [markdown]
# For a large kernel better use of the hardware is not enough, since each output pixel costs $k_h k_w$ multiplications.
# A better *idea* comes from Fourier. On a circle of $N$ pixels write
# $\hat x[q] = \sum_n x[n]\, \omega^{qn}$ with $\omega = e^{-2\pi i/N}$.
#
# ```{prf:theorem} Convolution theorem
# :label: thm-convolution-fourier
# For signals on a circle, $\widehat{f * x}[q] = \hat f[q]\, \hat x[q]$ for every frequency $q$.
# ```
#
# ```{prf:proof}
# Insert the definition, split $\omega^{qn} = \omega^{qa}\, \omega^{q(n-a)}$, and sum over $n$ first:
#
# $$\sum_n \Big( \sum_a f[a]\, x[n - a] \Big) \omega^{qn}
#   = \sum_a f[a]\, \omega^{qa} \sum_n x[n - a]\, \omega^{q(n - a)} = \hat f[q]\, \hat x[q].$$
#
# The inner sum on the right runs over a whole turn, wherever it starts ($\omega^N = 1$), so it is $\hat x[q]$ for every
# $a$.
# ```
#
# It is {prf:ref}`thm-convolution-algebra` again: $\hat f[q]$ is the polynomial $\hat f(t)$ at $t = \omega^q$. In the
# language of matrices, all convolutions on the circle have the same eigenvectors, the waves, and the $\hat f[q]$ are the
# eigenvalues. The fast Fourier transform {cite}`cooley1965algorithm` takes about $N \log N$ operations instead of $N^2$,
# so transform, multiply, and transform back: once both signals are padded, the size of the kernel no longer matters.
# The padding, with zeros to $n + k - 1$, keeps the circle from folding one border onto the other; to correlate, turn
# the kernel.

# %%
def corr2d_fourier(X, K):
    size = [n + k - 1 for n, k in zip(X.shape, K.shape, strict=True)]
    spectrum = np.fft.rfft2(X, size) * np.fft.rfft2(K[::-1, ::-1], size)
    full = np.fft.irfft2(spectrum, size)
    return full[K.shape[0] - 1:X.shape[0], K.shape[1] - 1:X.shape[1]]

large = rng.normal(size=(33, 33))
assert close(corr2d_fourier(X, K), signal.correlate2d(X, K, 'valid'))
assert close(corr2d_fourier(X, large), corr2d_matrix(X, large))
for kernel in (K, large):
    product_time, fourier_time = seconds(
        lambda: corr2d_matrix(X, kernel), lambda: corr2d_fourier(X, kernel))
    wins[len(kernel)] = product_time > 5 * fourier_time
    print(f'kernel of {len(kernel)} x {len(kernel)}: '
          f'Fourier more than 5 times faster: {wins[len(kernel)]}')
assert wins[33] and not wins[3]

# %% [markdown]
# ```{exercise} ★★★ Undo a blur
# :label: convolutions-deblur
# A row of pixels was blurred on a circle and a little noise added: $\mathbf{y} = f * \mathbf{x} + \text{noise}$.
# Dividing, $\hat x = \hat y / \hat f$, blows up the noise wherever $\hat f$ is nearly zero. Find instead the
# $\mathbf{x}$ that minimises $\|f * \mathbf{x} - \mathbf{y}\|_2^2 + \lambda \|\mathbf{x}\|_2^2$, $\lambda > 0$. Write
# `deblur(y, f, lam)` for `y` and `f` of equal length with FFTs alone. Then try it on a row of a photograph: which
# $\lambda$ looks best?
# ```

# %%
def deblur(y, f, lam):
    raise NotImplementedError('your turn')

# %%
def by_matrix(y, f, lam):  # ridge regression with the matrix of the blur
    C = circulant(f)
    return np.linalg.solve(C.T @ C + lam * np.eye(len(y)), C.T @ y)

rng = np.random.default_rng(4)
cases = [
    (rng.normal(size=N), rng.uniform(size=N), lam)
    for N, lam in ((5, 0.1), (8, 1.0), (16, 0.01))
]
grade(deblur, by_matrix, cases)

# %% [markdown]
# ```{solution-start} convolutions-deblur
# :class: dropdown
# ```
# By Parseval's identity both squared norms are, up to the same factor $1/N$, sums over the frequencies, so every
# frequency has its own problem: minimise $|\hat f \hat x - \hat y|^2 + \lambda |\hat x|^2$ over one complex number.
# That is ridge regression with one unknown: $\hat x = \overline{\hat f}\, \hat y / (|\hat f|^2 + \lambda)$. Real data
# give a real $\mathbf{x}$, since conjugate frequencies get conjugate answers. The bar stands for the transposed matrix
# of the normal equations, and is easily forgotten.

# %% jupyter={"source_hidden": true}
def deblur_solution(y, f, lam):
    F, Y = np.fft.fft(f), np.fft.fft(y)
    return np.fft.ifft(F.conj() * Y / (abs(F) ** 2 + lam)).real

def no_bar(y, f, lam):
    F, Y = np.fft.fft(f), np.fft.fft(y)
    return np.fft.ifft(F * Y / (abs(F) ** 2 + lam)).real

assert grade(deblur_solution, by_matrix, cases)
assert not grade(no_bar, by_matrix, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Learning an edge
#
# In a network nobody writes $(1, -1)$ down. Can it be found from examples, a picture and its edges? With the $P$ windows
# of the picture as rows of $\mathbf{A}$ and the kernel as a vector $\mathbf{k}$, the edges are
# $\mathbf{y} = \mathbf{A}\mathbf{k}^*$, and learning is least squares:
#
# $$L(\mathbf{k}) = \frac{1}{2P} \|\mathbf{A}\mathbf{k} - \mathbf{y}\|_2^2, \qquad
#   \nabla L = \mathbf{H}\mathbf{k} - \tfrac{1}{P}\mathbf{A}^\top \mathbf{y}, \qquad
#   \mathbf{H} = \tfrac{1}{P} \mathbf{A}^\top \mathbf{A}.$$
#
# So there is an exact answer to compare with. A network uses gradient descent instead, and in the textbook experiment,
# ten steps on a toy picture {cite}`zhang2023dive`, that goes well. Take a real picture, start at zero with the step
# $\eta = 1/\lambda_{\max}(\mathbf{H})$, and count the steps until the kernel is right to 1 %.

# %%
picture = photograph('china')[120:320, 70:350].mean(-1)  # (200, 280)
edge, blur = np.array([1., -1]), np.array([0.5, 0.5])

def pairs(X):  # all windows of one row and two columns -> (P, 2)
    return sliding_window_view(X, (1, 2)).reshape(-1, 2)

def curvatures(X):
    return np.linalg.eigvalsh(pairs(X).T @ pairs(X) / len(pairs(X)))

def descend(X, truth, steps):  # -> relative errors after 0, 1, 2, ... steps
    A, k, errors = pairs(X), np.zeros(2), []
    H, b = A.T @ A / len(A), A.T @ (A @ truth) / len(A)
    eta = 1 / curvatures(X)[-1]
    for _ in range(steps):
        errors.append(np.linalg.norm(k - truth) / np.linalg.norm(truth))
        k = k - eta * (H @ k - b)
    return np.array(errors)

# %%
for name, truth in (('blur', blur), ('edge', edge)):
    A, errors = pairs(picture), descend(picture, truth, 300)
    assert close(np.linalg.lstsq(A, A @ truth)[0], truth)
    print(f'{name}: steps {(errors > 0.01).sum()}')
print(f'of the edge still missing after ten steps: {errors[10]:.2f}')

# %% [markdown]
# Least squares has either kernel at once. Gradient descent learns to blur in a single step, but from the very same picture
# it takes nearly two hundred to learn an edge. The reason is in $\mathbf{H}$, and a pencil is enough to find it. The
# entries are means of products of neighbouring pixels. Up to the outermost columns,
# $\mathbf{H} = \begin{pmatrix} c_0 & c_1 \\ c_1 & c_0 \end{pmatrix}$, where $c_0$ is the mean of $x_j^2$ and $c_1$ that
# of $x_j x_{j+1}$. The eigenvectors are $(1, 1)$ and $(1, -1)$: the blur and the edge! And the eigenvalue of the edge,
#
# $$c_0 - c_1 = \tfrac{1}{2} \operatorname{mean} (x_j - x_{j+1})^2,$$
#
# is small, because in a photograph *neighbours are alike*: $c_1$ is nearly $c_0$, hence positive, and
# $\lambda_{\max} = c_0 + c_1$ is the eigenvalue of the blur. Subtracting $\mathbf{k}^*$ from both sides of a step gives
# $\mathbf{k}_{t+1} - \mathbf{k}^* = (\mathbf{I} - \eta\mathbf{H})(\mathbf{k}_t - \mathbf{k}^*)$. So a step multiplies
# the error along an eigenvector with eigenvalue $\lambda$ by $1 - \lambda/\lambda_{\max}$: along the blur nothing is
# left, along the edge the fraction $1 - 1/\kappa$, where $\kappa = (c_0 + c_1)/(c_0 - c_1)$. Reaching 1 % takes at most
#
# $$\left\lceil \frac{\ln 100}{-\ln(1 - 1/\kappa)} \right\rceil \approx 4.6\, \kappa \text{ steps if } \kappa \text{ is large.}$$
#
# If this is right, it predicts every count and offers a cure: take the mean brightness away, which lowers $c_0 + c_1$
# and leaves $c_0 - c_1$ as it is {cite}`lecun1991eigenvalues`. Best would be pixels that know nothing of each other.

# %%
rng = np.random.default_rng(5)
sources = {
    'photograph': picture,
    'minus its mean': picture - picture.mean(),
    'noise': rng.normal(size=picture.shape),
}
curves, kept = {}, {}
for name, X in sources.items():
    low, high = curvatures(X)
    c_0, c_1 = (pairs(X) ** 2).mean(), pairs(X).prod(1).mean()
    if name != 'noise':  # there c_1 is zero but for chance
        kappa = (c_0 + c_1) / (c_0 - c_1)
        assert c_1 > 0 and close(kappa, high / low, rtol=1e-3)
    curves[name], kept[name] = descend(X, edge, 300), 1 - low / high
    needed = (curves[name] > 0.01).sum()
    most = int(np.ceil(np.log(100) / -np.log(kept[name])))
    assert needed <= most
    print(f'{name}: κ = {high / low:.2f}, steps {needed}, at most {most}')

# %% mystnb={"figure": {"caption": "Gradient descent needs nearly two hundred steps to learn an edge from a photograph, a third of these without the mean brightness, and one from noise, as $\\kappa$ predicts."}, "image": {"alt": "Error of the learned edge kernel against steps on a logarithmic scale: a slow straight descent for the photograph, three times as fast for the photograph minus its mean, and an immediate drop for noise. Broad lines of the predicted slopes lie under the first two."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.9))
for name in ('photograph', 'minus its mean'):
    ax.plot(kept[name] ** np.arange(300), color=GREY, lw=6, alpha=0.3)
for name, errors in curves.items():
    ax.plot(np.where(errors > 1e-4, errors, np.nan), label=name)
ax.axhline(0.01, color=GREY, lw=0.8)
ax.set(yscale='log', xlabel='steps', ylabel='relative error')
ax.set(xlim=(-3, 300), ylim=(1e-4, 2))
ax.text(299, 0.012, 'right to 1 %', ha='right')
ax.text(250, 6e-4, 'broad: predicted', ha='right')
ax.legend(loc='upper right');

# %% [markdown]
# One draw of noise proves little, so here are ten. And the ordinary way to train, torch's `conv2d` with automatic
# differentiation, makes the same errors step by step.

# %%
counts = []
for seed in range(10):
    noise = np.random.default_rng(seed).normal(size=picture.shape)
    counts.append((descend(noise, edge, 20) > 0.01).sum())
assert max(counts) <= 2
print(f'noise, ten draws: steps needed, at most: {max(counts)}')

# %%
X = torch.tensor(picture)[None, None]
Y = conv2d(X, torch.tensor(edge).reshape(1, 1, 1, 2))
kernel, errors = torch.zeros(1, 1, 1, 2, requires_grad=True), []
eta = 1 / curvatures(picture)[-1]
for _ in range(20):
    difference = kernel.detach().numpy().ravel() - edge
    errors.append(np.linalg.norm(difference) / np.linalg.norm(edge))
    loss = ((conv2d(X, kernel) - Y) ** 2).mean() / 2
    gradient, = torch.autograd.grad(loss, kernel)
    kernel.data -= eta * gradient
assert close(errors, descend(picture, edge, 20))

# %% [markdown]
# With noisy examples the exact answer is no longer the true kernel. If each entry of $\mathbf{y}$ gets independent noise
# of standard deviation $\sigma$, least squares is right on average, with covariance
# $\sigma^2 (\mathbf{A}^\top \mathbf{A})^{-1}$: where descent is slow, the data say little. For Sobel's nine numbers and
# $\sigma = 0.1$, the errors are a few of the standard deviations that this predicts.

# %%
rng = np.random.default_rng(6)
truth = np.outer([1., 2, 1], [1, 0, -1]).ravel()
A = sliding_window_view(picture, (3, 3)).reshape(-1, 9)
learned = np.linalg.lstsq(A, A @ truth + 0.1 * rng.normal(size=len(A)))[0]
predicted = 0.1 * np.sqrt(np.linalg.inv(A.T @ A).diagonal())
off = abs(learned - truth) / predicted
assert off.max() < 5
print(learned.reshape(3, 3).round(1) + 0.0)
print(f'largest error: {off.max():.1f} predicted standard deviations')

# %% [markdown]
# ```{exercise} ★★ The gradient is a correlation too
# :label: convolutions-gradient
# A layer correlates $\mathbf{X}$ with a kernel, and $\mathbf{G}$ is the gradient of the loss with respect to the output
# $\mathbf{Y}$. Derive the gradient with respect to the kernel, and write `kernel_gradient(X, G)`.
# ```

# %%
def kernel_gradient(X, G):
    raise NotImplementedError('your turn')

# %%
def by_autograd(X, G):
    k_h, k_w = X.shape[0] - G.shape[0] + 1, X.shape[1] - G.shape[1] + 1
    kernel = torch.zeros(1, 1, k_h, k_w, requires_grad=True)
    Y = conv2d(torch.tensor(X)[None, None], kernel)
    Y.backward(torch.tensor(G)[None, None])
    return kernel.grad[0, 0]

rng = np.random.default_rng(7)
sizes = [((4, 4), (3, 3)), ((5, 7), (3, 6)), ((6, 4), (6, 1))]
cases = [(rng.normal(size=n), rng.normal(size=m)) for n, m in sizes]
grade(kernel_gradient, by_autograd, cases)

# %% [markdown]
# ```{solution-start} convolutions-gradient
# :class: dropdown
# ```
# From $Y_{i,j} = \sum_{a,b} K_{a,b} X_{i+a,\,j+b}$ follows $\partial Y_{i,j} / \partial K_{a,b} = X_{i+a,\,j+b}$, and
# the chain rule gives $\sum_{i,j} G_{i,j} X_{i+a,\,j+b}$: the picture correlated with the gradient. (With respect to
# the pixel $X_{m,n}$ the same steps give $\sum_{i,j} G_{i,j} K_{m-i,\,n-j}$, a true convolution: the flip that the
# forward pass avoids returns in the backward pass.)

# %% jupyter={"source_hidden": true}
def kernel_gradient_solution(X, G):
    return np.tensordot(sliding_window_view(X, G.shape), G)

def flipped_gradient(X, G):
    return signal.convolve2d(X, G, 'valid')

assert grade(kernel_gradient_solution, by_autograd, cases)
assert not grade(flipped_gradient, by_autograd, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Summary
#
# Convolution sums over all ways in which two arguments add up, which makes it commutative, associative and, after a
# Fourier transform, a plain product; the layer of that name leaves out the flip and is a cross-correlation. It is the
# only linear map that treats all places alike, and it is computed as one matrix product over windows, or by Fourier
# transforms where the kernel is large. Its kernel can be learned, by least squares at once and by gradient descent at a
# speed that the picture decides: what neighbouring pixels have in common first, edges last.
#
# **Further reading.** {cite:t}`goodfellow2016deep`, chapter 9, on convolutional networks, and
# {cite:t}`dumoulin2016guide` on the arithmetic of padding and stride; {cite:t}`gray2006toeplitz` on Toeplitz and
# circulant matrices; {cite:t}`rudin1987real`, chapter 8, on the convolution of integrable functions.
