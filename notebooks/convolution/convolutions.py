# ---
# jupyter:
#   book:
#     functions:
#       corr2d: corr2d(normal(5, 6), normal(2, 3))
#       convolve: convolve(normal(4), normal(3))
#       convolve2d: convolve2d(normal(3, 4), normal(2, 3))
#       filter_matrix: filter_matrix(normal(3), 6)
#     main: eq-conv-layer
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Convolution and cross-correlation
#
# A cat is the same cat in the left and in the right corner of a picture. A dense layer does not know this, because it has
# a separate weight for each pair of an input and an output pixel, billions of them for a photograph. How can a layer look for
# the same pattern everywhere, with a handful of weights?
#
# - **You need** [matrix products](../linear_algebra/matrix_multiplication.ipynb) and, for the experiment,
#   [training in minibatches](../regression/minibatch_training.ipynb) and
#   [cross-entropy](../classification/cross_entropy.ipynb).
# - **You build** the operation of a convolutional layer, the convolution that gave it its name, and a network that
#   finds a digit anywhere.
# - **Runs in** 9 seconds. Tensors are float32.

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
from scipy import signal
from torch import nn
from torch.nn.functional import conv1d, conv2d
from torch.utils.flop_counter import FlopCounterMode

from nbutils.cases import distributions, integers, matrices, scalars, seeds, square_matrices, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.data import digits, photograph
from nbutils.figures import GREY, panels, show_image
from nbutils.training import batches, fit

plt.style.use('nbutils.book')
torch.set_printoptions(precision=2, sci_mode=False)
torch.set_num_threads(1)  # the tensors are small: a second thread would mostly wait

# %% [markdown]
# ## From a dense layer to a convolutional layer
#
# The pixels nearby are enough to tell whether there is an ear at some place, and an ear looks the same in each corner. So a
# unit needs weights only for a small window of the picture, and all windows can [share
# them](from_dense_to_convolution.ipynb). What is left is a single small array of weights $\mathbf{V}$ with $k_h$ rows and
# $k_w$ columns, the **kernel**. A kernel of $5 \times 5$ has 25 weights, however large the picture is. The layer lays the kernel on each window
# of the picture $\mathbf{X}$, multiplies entry by entry, and sums. The window whose upper left pixel is $X_{i,j}$ gives
#
# ```{math}
# :label: eq-conv-layer
# Y_{i,j} = \sum_{a=0}^{k_h - 1} \sum_{b=0}^{k_w - 1} V_{a,b}\, X_{i+a,\,j+b} .
# ```

# %%
def corr2d(X, V):
    k_h, k_w = V.shape
    rows, columns = X.shape[0] - k_h + 1, X.shape[1] - k_w + 1
    Y = torch.zeros(rows, columns, dtype=torch.result_type(X, V))
    for i in range(rows):
        for j in range(columns):
            Y[i, j] = (X[i:i + k_h, j:j + k_w] * V).sum()
    return Y

# %%
X = torch.arange(9.0).reshape(3, 3)
V = torch.tensor([[0.0, 1.0],
                  [2.0, 3.0]])
print(corr2d(X, V))
print(conv2d(X[None, None], V[None, None])[0, 0])       # PyTorch

# %% mystnb={"image": {"alt": "Four panels. In each, a three by three grid with the numbers 0 to 8; a two by two window is shaded at one of its four places, with the weights 0, 1, 2, 3 as small numbers in its cells, and the sum is written above: 19, 25, 37, 43."}} tags=["hide-input"]
fig, axes = panels(2, rows=2, height=1.9)
Y = corr2d(X, V)
for ax, (i, j) in zip(axes.flat, np.ndindex(2, 2)):
    ax.add_patch(plt.Rectangle((j - 0.5, i - 0.5), 2, 2, alpha=0.25, lw=0))
    for r, c in np.ndindex(3, 3):
        ax.add_patch(plt.Rectangle((c - 0.5, r - 0.5), 1, 1, fill=False, ec=GREY, lw=0.7))
        ax.text(c, r, f'{X[r, c]:.0f}', ha='center', va='center')
    for r, c in np.ndindex(2, 2):
        ax.text(j + c + 0.12, i + r + 0.38, f'·{V[r, c]:.0f}', color='C1', fontsize=9)
    ax.set(xlim=(-0.6, 2.6), ylim=(2.6, -0.6), aspect='equal')
    ax.set_title(f'Y[{i}, {j}] = {Y[i, j]:.0f}', color='C0')
    ax.axis('off')

# %% [markdown] tags=["caption"]
# The four windows of the picture, with the weights of the kernel in the lower right corners of the pixels. Each output is
# the sum of the products, for example $0 \cdot 0 + 1 \cdot 1 + 3 \cdot 2 + 4 \cdot 3 = 19$.

# %% [markdown]
# PyTorch's function expects two more axes: one for the pictures of a batch, and one for the colours or **channels** of a
# picture. A layer has one kernel for each pair of an input channel and an output channel, and one bias for each output
# channel. We count these parameters:

# %%
layer = nn.Conv2d(3, 16, kernel_size=5)                 # 3 channels in, 16 out
print(sum(weights.numel() for weights in layer.parameters()))

# %% [markdown]
# These are $16 \cdot 3 \cdot 25$ weights and 16 biases, for pictures of all sizes.
#
# ### The size of the output: padding and stride
#
# A window of height $k_h$ that starts in row $i$ ends in row $i + k_h - 1$. In a picture with the rows $0, \dots, n_h - 1$
# it fits if $i$ is one of $0, \dots, n_h - k_h$, and likewise for the columns. So the output has the shape
#
# ```{math}
# :label: dl.crosscorr.shape
# (n_h - k_h + 1) \times (n_w - k_w + 1)
# ```
#
# Each layer makes the picture smaller, and pixels at the border lie in few windows. So **padding** puts $p$ rows of zeros
# above and below the picture, and $p$ columns of zeros on its left and right. A **stride** $s$ moves the window by $s$
# pixels at a time, which saves work and shrinks the output on purpose. Along an axis with $n$ pixels, a window of $k$ pixels
# then has $\lfloor (n + 2p - k)/s \rfloor + 1$ places. Here $n = 28$ and $k = 5$:

# %%
picture = torch.zeros(1, 1, 28, 28)
kernel = torch.zeros(1, 1, 5, 5)
for padding, stride in (0, 1), (2, 1), (0, 2), (2, 2):
    side = conv2d(picture, kernel, padding=padding, stride=stride).shape[-1]
    print(f'padding {padding}, stride {stride}: {side} x {side}')

# %% [markdown]
# If $k$ is odd, the padding $p = (k - 1)/2$ with stride 1 keeps the size of the picture.
#
# ### What a kernel can find
#
# Which window gives the largest output? Among windows of the same contrast, the one that looks like the kernel. (The contrast
# is the length of the window minus its mean, and the [inequality of Cauchy and Schwarz](../linear_algebra/dot_products.ipynb)
# says the rest. A window of more contrast can give more, although it looks different.) We use a small cat as the kernel. We
# subtract its mean, so that the output is 0 where a picture has one brightness:

# %%
cat = torch.tensor([[1.0, 0, 0, 0, 1],
                    [1, 1, 1, 1, 1],
                    [1, 0, 1, 0, 1],
                    [1, 1, 1, 1, 1],
                    [0, 1, 1, 1, 0]])
V = cat - cat.mean()
pictures, found = [], []
for top, left in (1, 1), (4, 12):
    X = torch.zeros(10, 18)
    X[top:top + 5, left:left + 5] = cat
    Y = corr2d(X, V)                                    # (6, 14)
    place = divmod(Y.argmax().item(), Y.shape[1])
    print(f'cat at {(top, left)}, largest output at {place}')
    pictures.append(X)
    found.append(Y)

# %% mystnb={"image": {"alt": "Above, two pictures with a small cat's head of five by five pixels, once near the left corner at the top and once near the right corner at the bottom. Below, the two outputs with the brightest pixel at the place of the cat."}} tags=["hide-input"]
fig, axes = panels(2, rows=2, height=1.6)
for column in range(2):
    show_image(axes[0, column], -pictures[column], 'picture').axes.spines[:].set_visible(True)
    show_image(axes[1, column], found[column], 'output', cmap='viridis')

# %% [markdown] tags=["caption"]
# Above, two pictures with the cat in different corners. Below, the outputs: the same kernel finds the cat in both pictures,
# and where the cat moves, the bright spot of the output moves along.

# %% [markdown]
# The simplest patterns in a photograph are edges. Sobel's kernel subtracts the right side of a window from its left side.
# The transposed kernel subtracts the lower side from the upper side:

# %%
temple = torch.tensor(photograph('china')[150:275, 85:210].mean(-1)).float()
sobel = torch.tensor([[1.0, 0, -1],
                      [2.0, 0, -2],
                      [1.0, 0, -1]])
vertical, horizontal = corr2d(temple, sobel), corr2d(temple, sobel.T)
print(temple.shape, vertical.shape)

# %% mystnb={"image": {"alt": "A grey photograph of a temple; beside it its vertical edges, in which the columns stand out, and its horizontal edges, in which the roofs and railings do."}} tags=["hide-input"]
fig, axes = panels(3, height=2.2)
show_image(axes[0], temple, 'photograph')
show_image(axes[1], abs(vertical), 'vertical edges', vmax=2)
show_image(axes[2], abs(horizontal), 'horizontal edges', vmax=2);

# %% [markdown] tags=["caption"]
# A photograph, and the sizes of the outputs of two kernels. Sobel's kernel finds vertical edges, as at the columns. The
# transposed kernel finds horizontal edges, as at roofs and railings.

# %% [markdown]
# In a network, nobody chooses the numbers of the kernel. They are [learned](computing_convolutions.ipynb).
#
# ```{exercise} ★★ Program: how many places?
# :label: convolutions-positions
# Put $p$ zeros on each side of a row of $n$ pixels. Let the window take steps of $s$. Spread its $k$ entries so that
# neighbours are $d$ pixels apart, which is called *dilation*. Write `positions(n, k, p, s, d)`, the length of the output,
# for integers for which at least one window fits.
# ```

# %%
def positions(n, k, p, s, d):
    """The number of places of the window, all arguments and it being ints.

    n, k, s and d are at least 1, p at least 0, and d (k - 1) + 1 <= n + 2 p.
    positions(5, 3, 0, 1, 1) is 3.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def length_in_torch(n, k, p, s, d):
    x, w = torch.zeros(1, 1, n), torch.zeros(1, 1, k)
    return conv1d(x, w, padding=p, stride=s, dilation=d).shape[-1]

windows = dict(
    n=integers(1, 20), k=lambda n, p, d: integers(1, (n + 2 * p - 1) // d + 1),
    p=integers(0, 4), s=integers(1, 5), d=integers(1, 4),
)
grade(positions, length_in_torch, **windows)

# %% [markdown]
# ```{solution-start} convolutions-positions
# :class: dropdown
# ```
# The spread window covers $d(k - 1) + 1$ of $n + 2p$ pixels, so it has $n + 2p - d(k - 1)$ places at stride 1,
# numbered from zero. The stride keeps the numbers $0, s, 2s, \dots$: divide the last number by $s$, round down and
# add one. Count the zeros of both sides, and spread only the gaps between the entries, of which there are $k - 1$. To
# round up in place of down is a third mistake.

# %% jupyter={"source_hidden": true}
def positions_solution(n, k, p, s, d):
    return (n + 2 * p - d * (k - 1) - 1) // s + 1

def one_side_only(n, k, p, s, d):
    return (n + p - d * (k - 1) - 1) // s + 1

def spreads_each_entry(n, k, p, s, d):
    return (n + 2 * p - d * k) // s + 1

def rounds_up(n, k, p, s, d):
    return -(-(n + 2 * p - d * (k - 1) - 1) // s) + 1

assert grade(positions_solution, length_in_torch, **windows)
assert not grade(one_side_only, length_in_torch, **windows)
assert not grade(spreads_each_entry, length_in_torch, **windows)
assert not grade(rounds_up, length_in_torch, **windows)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def in_torch(X, V, **options):
    return conv2d(torch.tensor(X)[None, None], torch.tensor(V)[None, None], **options)[0, 0]

verify(
    'the loop computes what a convolutional layer computes',
    lambda X, V: close(corr2d(torch.tensor(X), torch.tensor(V)), in_torch(X, V)),
    slip=('turns the kernel first', lambda X, V: close(corr2d(torch.tensor(X), torch.tensor(V).flip(0, 1)), in_torch(X, V))),
    X=matrices(4, 5), V=matrices(2, 3), tries=60,
)

def shape_is(k, more, plus):
    n = k[0] + more[0], k[1] + more[1]
    ours = corr2d(torch.ones(n), torch.ones(k)).shape
    return ours == in_torch(np.ones(n), np.ones(k)).shape == (n[0] - k[0] + plus, n[1] - k[1] + plus)

holds(
    'dl.crosscorr.shape',
    lambda k, more: shape_is(k, more, 1),
    slip=('counts the gaps between the first and the last place', lambda k, more: shape_is(k, more, 0)),
    k=[(1, 1), (1, 3), (2, 2), (3, 2), (5, 4)], more=[(0, 0), (0, 2), (1, 0), (4, 3)],
)

def places(n, k, p, s, both):
    side = in_torch(np.zeros((n, n)), np.zeros((k, k)), padding=p, stride=s).shape[0]
    return side == (n + (2 if both else 1) * p - k) // s + 1

def largest(W, same_contrast):  # W - W.mean() is the kernel or another window
    kernel, other = (cat - cat.mean()).double(), torch.tensor(W - W.mean())
    if same_contrast:
        other = other * kernel.norm() / other.norm()
    return bool((kernel * other).sum() <= (kernel * kernel).sum() * (1 + 1e-9))

verify(
    'among windows of one contrast none gives more than the one that looks like the kernel',
    lambda W: largest(W, True),
    slip=('lets the contrast differ', lambda W: largest(W, False)),
    W=matrices(5, 5).filter(lambda W: np.ptp(W) > 0.1), tries=60,
)

verify(
    'places of a window with padding and stride',
    lambda **case: places(both=True, **case),
    slip=('counts the padding of one side', lambda **case: places(both=False, **case)),
    n=integers(5, 12), k=integers(1, 5), p=integers(0, 4), s=integers(1, 4), tries=60,
)

# %% [markdown]
# ## Convolution and cross-correlation: the flip
#
# Why is the layer called convolutional? Throw two dice. The total is 7 if the first die shows 1 and the second 6, or 2 and
# 5, and so on. Let $f(a)$ be the probability that the first die shows $a$, and $g(b)$ the probability that the second shows
# $b$. For the total $i$ we sum over all $a$, and the second die must show $i - a$. This sum is the **convolution** of $f$
# and $g$,
#
# ```{math}
# :label: dl.convolutions.discrete
# (f * g)(i) = \sum_a f(a)\, g(i - a)
# ```
#
# where a value that no die can show has the probability zero. The code adds a copy of $g$ for each $a$. The copy is
# multiplied by $f(a)$ and starts at the place of $a$ (entry 0 of an array belongs to the face 1, and of the result to the total 2):

# %%
def convolve(f, g):
    h = f.new_zeros(len(f) + len(g) - 1)
    for a in range(len(f)):
        h[a:a + len(g)] += f[a] * g
    return h

# %% [markdown]
# For fair dice, we print how many of the 36 outcomes have each total from 2 to 12:

# %%
die = torch.ones(6) / 6                                 # faces 1 to 6
total = convolve(die, die)                              # totals 2 to 12
print((36 * total).int())
print((36 * np.convolve(die, die)).round().astype(int))

# %% [markdown]
# The formula is also a recipe. As $a$ grows, the argument $i - a$ of $g$ falls. So we *flip* $g$, *slide* it to the place
# $i$, multiply by $f$, and *sum*. For functions of $d$ real variables, the sum becomes an integral:
#
# ```{math}
# :label: dl.convolutions.integral
# (f * g)(\mathbf{x}) = \int f(\mathbf{z})\, g(\mathbf{x} - \mathbf{z}) \, d\mathbf{z}
# ```

# %% mystnb={"image": {"alt": "Three panels show a box and a flipped ramp that slides over it from left to right, the overlap shaded; below, the area of the overlap as a curve that rises to one half and falls again, with the three places marked."}} tags=["hide-input"]
fig, axes = plt.subplot_mosaic('abc;hhh', figsize=(6, 3.8))
line = np.linspace(-1, 2.6, 721)
box = np.where((line >= 0) & (line <= 1), 1, 0)
x = np.linspace(0, 2, 400)
areas = np.where(x < 1, x - x**2 / 2, (2 - x) ** 2 / 2)
for key, place in zip('abc', (0.4, 1.0, 1.6)):
    u = place - line
    ramp = np.where((u >= 0) & (u <= 1), 1 - u, 0)
    axes[key].plot(line, box)
    axes[key].plot(line, ramp)
    axes[key].fill_between(line, box * ramp, color='C2', alpha=0.45, lw=0)
    axes[key].set(title=f'x = {place}', xlabel='z', ylim=(0, 1.5))
    axes['h'].plot(place, np.interp(place, x, areas), 'o', color='C2', ms=7)
axes['a'].text(0.15, 1.12, 'f(z)', color='C0')
axes['c'].text(1.2, 1.12, 'g(x − z)', color='C1')
axes['h'].plot(x, areas, color='C2', zorder=0)
axes['h'].set(xlim=(-1, 2.6), ylim=(0, 0.6), xlabel='x', title='(f ∗ g)(x): the shaded area');

# %% [markdown] tags=["caption"]
# Above, the box $f(z) = 1$ on $[0, 1]$, and the ramp $g(z) = 1 - z$, flipped and slid to three places $x$. Below, $(f * g)(x)$,
# the shaded area under their product. It is largest where the whole ramp lies on the box.

# %% [markdown]
# If $\int |f|$ and $\int |g|$ are finite, this integral is finite for almost every $\mathbf{x}$, that is, except on a set of
# volume zero.
#
# ````{prf:theorem} Convolution of integrable functions
# :label: thm-convolution-exists
# :class: dropdown
# Let two functions be integrable:
#
# ```{math}
# :label: dl.convolutions.def-intro
# f, g : \mathbb{R}^d \to \mathbb{R}, \qquad
# \int |f(\mathbf{z})| \, d\mathbf{z} < \infty, \quad \int |g(\mathbf{z})| \, d\mathbf{z} < \infty
# ```
#
# Under {eq}`dl.convolutions.def-intro` the integral {eq}`dl.convolutions.integral` exists for almost every
# $\mathbf{x}$, $f * g$ is integrable, $f * g = g * f$, and $\int f * g = \int f \cdot \int g$.
# ````
#
# ```{prf:proof}
# :class: dropdown
# In $\iint |f(\mathbf{z})|\,|g(\mathbf{x} - \mathbf{z})| \, d\mathbf{z}\, d\mathbf{x}$ nothing is negative, so by
# Tonelli's theorem the order does not matter. Integrate over $\mathbf{x}$ first: a shift by $\mathbf{z}$ does not
# change $\int |g|$, which leaves $\int |f| \cdot \int |g| < \infty$. So the inner integral, as a function of
# $\mathbf{x}$, has a finite integral and is finite almost everywhere, which gives the first two statements. Now
# Fubini's theorem allows the same exchange without the bars, which gives the last. Substituting
# $\mathbf{z} \to \mathbf{x} - \mathbf{z}$, which keeps volumes, swaps $f$ and $g$.
# ```
#
# If two independent variables have the densities $f$ and $g$, their sum has the density $f * g$, as with the dice.
#
# Polynomials are multiplied by convolution, too. The coefficient of $t^i$ in a product collects all pairs of coefficients
# whose exponents add up to $i$. So convolutions obey the rules of products:
#
# ```{prf:theorem} Convolution is multiplication
# :label: thm-convolution-algebra
# For sequences $f(0), f(1), \dots$ with finitely many nonzero terms, $*$ is commutative, associative, linear in each
# argument, and $\delta = (1, 0, 0, \dots)$ is neutral: $\delta * f = f$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Send the sequence $f$ to the polynomial $\hat f(t) = \sum_a f(a)\, t^a$. This is linear, no two sequences share a
# polynomial, and the coefficient of $t^i$ in $\hat f \hat g$ is {eq}`dl.convolutions.discrete`, so
# $\widehat{f * g} = \hat f\, \hat g$. The product of polynomials has the four properties.
# ```
#
# ### The layer does not flip
#
# A picture has two coordinates. In two coordinates, the convolution is
#
# ```{math}
# :label: dl.convolutions.discrete2d
# (f * g)(i, j) = \sum_a \sum_b f(a, b)\, g(i - a, j - b)
# ```

# %%
def convolve2d(f, g):
    h = f.new_zeros(f.shape[0] + g.shape[0] - 1, f.shape[1] + g.shape[1] - 1)
    for a in range(f.shape[0]):
        for b in range(f.shape[1]):
            h[a:a + g.shape[0], b:b + g.shape[1]] += f[a, b] * g
    return h

# %% [markdown]
# The layer {eq}`eq-conv-layer` has a plus where the convolution has a minus, so it does not flip. Its operation is called
# **cross-correlation**. We write $-a$ and $-b$ in place of $a$ and $b$ in the sum, and obtain a convolution:
#
# ```{math}
# :label: dl.convolutions.ref-713
# \begin{gathered}
# \sum_{a,b} V_{a,b}\, X_{i+a,\,j+b} = \sum_{a,b} V_{-a,-b}\, X_{i-a,\,j-b} = (\tilde{\mathbf{V}} * \mathbf{X})(i, j), \\
# \tilde V_{a,b} = V_{-a,-b}
# \end{gathered}
# ```
#
# So the layer convolves the picture with $\tilde{\mathbf{V}}$, which is the kernel turned by half a turn. The entries
# $\tilde V_{a,b}$ have the indices $a = -(k_h - 1), \dots, 0$ and $b = -(k_w - 1), \dots, 0$. PyTorch's `conv2d` computes the cross-correlation,
# SciPy's `convolve2d` the convolution:

# %%
X = torch.arange(9.0).reshape(3, 3)
V = torch.tensor([[0.0, 1.0], [2.0, 3.0]])
print('torch conv2d:     ', conv2d(X[None, None], V[None, None]).flatten())
print('scipy correlate2d:', signal.correlate2d(X, V, 'valid').ravel())
print('scipy convolve2d: ', signal.convolve2d(X, V, 'valid').ravel())
turned = V.flip(0, 1)
print('with V turned:    ', signal.convolve2d(X, turned, 'valid').ravel())

# %% [markdown]
# ```{admonition} A tempting mistake
# :class: tip
# It is tempting to take the two operations for the same. If a kernel is *learned*, the flip does not matter, because
# training finds the turned kernel. If a kernel is *given*, the results differ: in the example, the first number of
# `conv2d` is 19, and that of `convolve2d` is 5. The results also differ if kernels are combined, because only the convolution is commutative
# and associative.
# ```
#
# Kernels can be built from smaller ones: $(1, 1) * (1, 1) = (1, 2, 1)$ smooths, and $(1, 1) * (1, -1) = (1, 0, -1)$ takes a difference. The convolution
# of $(1, 2, 1)$ as a column with $(1, 0, -1)$ as a row is Sobel's kernel:

# %%
smooth = convolve2d(torch.ones(1, 2), torch.ones(1, 2))
change = convolve2d(torch.ones(1, 2), torch.tensor([[1.0, -1.0]]))
print(convolve2d(smooth.T, change))

# %% [markdown]
# ```{exercise} ★ Pencil: swap the picture and the kernel
# :label: convolutions-swap
# Let $(f \star g)(i) = \sum_a f(a)\, g(i + a)$ be the cross-correlation of two sequences. Compute $f \star g$ and
# $g \star f$ for $f = (1, 2)$ and $g = (1, -1)$, at all places where they are not zero. What is the relation between
# the two in general? Write `swapped(c)`, which makes $g \star f$ of $f \star g$.
# ```

# %%
def swapped(c):
    """The values of g * f in order of place, from those of f * g: arrays.

    * is the cross-correlation. For f of length m and g of length n the places
    of f * g are 1 - m, ..., n - 1, so c has the shape (m + n - 1,).
    swapped(np.array([2.])) is [2.].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def from_definition(f, g):
    return np.array([sum(f[a] * g[i + a] for a in range(len(f)) if 0 <= i + a < len(g)) for i in range(1 - len(f), len(g))])

def of_a_pair(answer):
    return lambda f, g: answer(from_definition(f, g))

def swapped_first(f, g):
    return from_definition(g, f)

rows = dict(f=vectors((1, 4)), g=vectors((1, 4)))
grade(of_a_pair(swapped), swapped_first, **rows)

# %% [markdown]
# ```{solution-start} convolutions-swap
# :class: dropdown
# ```
# For $i = -1, 0, 1$, $f \star g$ is $2 \cdot 1 = 2$, $1 \cdot 1 + 2 \cdot (-1) = -1$ and $1 \cdot (-1) = -1$. For
# $g \star f$ the same places give $-1, -1, 2$: the same numbers backwards. In general, put $c = i + a$ in
# $\sum_a f(a)\, g(i + a) = \sum_c g(c)\, f(c - i)$, so $(f \star g)(i) =
# (g \star f)(-i)$. A convolution would stay as it is; here that is wrong. So is a change of sign, and so are the numbers
# read backwards around a circle, from the first one.

# %% jupyter={"source_hidden": true}
def swapped_solution(c):
    return c[::-1]

def as_a_convolution(c):
    return c

def with_other_sign(c):
    return -c

def around_a_circle(c):
    return np.roll(c[::-1], 1)

assert grade(of_a_pair(swapped_solution), swapped_first, **rows)
assert not grade(of_a_pair(as_a_convolution), swapped_first, **rows)
assert not grade(of_a_pair(with_other_sign), swapped_first, **rows)
assert not grade(of_a_pair(around_a_circle), swapped_first, **rows)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Program: many dice
# :label: convolutions-dice
# A die shows $0, 1, \dots, m - 1$ with the probabilities in the array `p` of shape (m,). Write `chances(p, n)`, the
# probabilities of all totals of $n \ge 1$ throws, an array of length $n (m - 1) + 1$. Plot it for many fair dice:
# what does it approach?
# ```

# %%
def chances(p, n):
    """The probabilities of all totals of n throws: (n (m - 1) + 1,).

    p (m,) has the sum 1; some entries may be 0. n is an int, at least 1.
    chances(np.array([0.5, 0.5]), 2) is [0.25, 0.5, 0.25].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_frequencies(p, n):  # the powers of the transform are those of the sum
    size = n * (len(p) - 1) + 1
    return np.fft.ifft(np.fft.fft(p, size) ** n).real

throws = dict(p=distributions((1, 6)), n=integers(1, 12))
grade(chances, by_frequencies, **throws)

# %% [markdown]
# ```{solution-start} convolutions-dice
# :class: dropdown
# ```
# The total of $n$ throws is the total of $n - 1$ throws plus one more, so convolve with `p` as often. Starting from the
# neutral element $\delta$ gives all $n$ factors. Starting from `p` and still convolving $n$ times is one throw too
# many, and convolving the result with itself each time doubles the number of throws. A correlation in place of a
# convolution turns the die upside down. By the central limit theorem the totals approach a bell curve.

# %% jupyter={"source_hidden": true}
def chances_solution(p, n):
    total = np.ones(1)
    for _ in range(n):
        total = np.convolve(total, p)
    return total

def one_throw_too_many(p, n):
    return np.convolve(chances_solution(p, n), p)

def doubles_each_time(p, n):
    for _ in range(min(n - 1, 9)):
        p = np.convolve(p, p)
    return p

def correlates(p, n):
    return chances_solution(p[::-1], n)

assert grade(chances_solution, by_frequencies, **throws)
assert not grade(one_throw_too_many, by_frequencies, **throws)
assert not grade(doubles_each_time, by_frequencies, **throws)
assert not grade(correlates, by_frequencies, **throws)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
holds(
    'dl.convolutions.discrete',
    lambda f, g: close(convolve(torch.tensor(f), torch.tensor(g)), np.convolve(f, g)),
    slip=('forgets the flip', lambda f, g: close(convolve(torch.tensor(f), torch.tensor(g)), np.correlate(f, g, 'full'))),
    f=vectors(4), g=vectors(3),
)
holds(
    'dl.convolutions.discrete2d',
    lambda f, g: close(convolve2d(torch.tensor(f), torch.tensor(g)), signal.convolve2d(f, g)),
    slip=('forgets the flip', lambda f, g: close(convolve2d(torch.tensor(f), torch.tensor(g)), signal.correlate2d(f, g))),
    f=matrices(3, 4), g=matrices(2, 3), tries=100,
)
holds(
    'dl.convolutions.ref-713',
    lambda X, V: close(in_torch(X, V), signal.convolve2d(X, V[::-1, ::-1], 'valid')),
    slip=('convolves with the kernel as it is', lambda X, V: close(in_torch(X, V), signal.convolve2d(X, V, 'valid'))),
    X=matrices(4, 5), V=matrices(3, 3), tries=100,
)

def over_cube(f, g, x, reach, step=0.2):  # x (d,) -> ()
    z = np.arange(-reach, reach, step) + step / 2
    z = np.stack(np.meshgrid(*[z] * len(x))).reshape(len(x), -1)  # (d, points)
    return (f(z) * g(x[:, None] - z)).sum() * step ** len(x)

def round_bell(z):  # (d, points) -> (points,)
    return np.exp(-(z**2).sum(0) / 2)

def settled(f, x):  # a larger cube changes nothing
    return close(over_cube(f, f, x, 8), over_cube(f, f, x, 16))

holds(
    'dl.convolutions.def-intro',
    lambda d, x: settled(round_bell, x[:d]),
    slip=('convolves the constant 1 with itself', lambda d, x: settled(lambda z: np.ones(z.shape[1]), x[:d])),
    d=[1, 2], x=vectors(2, -2, 2), tries=30,
)

# %% tags=["checks"]
def bell(z, mean, sd):
    return np.exp(-(((z - mean) / sd) ** 2) / 2) / (sd * np.sqrt(2 * np.pi))

def is_bell(x, m, s, sign):  # means add, and so do variances
    z = np.linspace(-40, 40, 4001)
    area = bell(z, m[0], s[0]) @ bell(x + sign * z, m[1], s[1]) * 0.02
    return close(area, bell(x, m.sum(), np.hypot(*s)))

holds(
    'dl.convolutions.integral',
    lambda x, m, s: is_bell(x, m, s, -1),
    slip=('forgets the flip', lambda x, m, s: is_bell(x, m, s, +1)),
    x=scalars(-3, 3), m=vectors(2, -3, 3), s=vectors(2, 0.5, 2),
)

def correlate(f, g):
    return np.correlate(f, g, 'full')

def commutes_and_associates(f, g, w, operation):
    return close(operation(f, g), operation(g, f)) and close(operation(f, operation(g, w)), operation(operation(f, g), w))

verify(
    'convolution is commutative and associative',
    lambda f, g, w: commutes_and_associates(f, g, w, np.convolve),
    slip=('says so of the cross-correlation', lambda f, g, w: commutes_and_associates(f, g, w, correlate)),
    f=vectors(3), g=vectors(2), w=vectors(3), tries=60,
)

# %% [markdown]
# ## Weight sharing and translation equivariance
#
# In one dimension we write the layer as a convolution with $f$, the kernel read backwards. On this page $f$ is called the
# **filter**. (Other texts often use *filter* for the kernel itself.) Training finds it. From the input $x^{(0)}$ the layer computes the output $x^{(1)}$, whose entry $n$ is
#
# ```{math}
# :label: ml.conv.conv
# x^{(1)}[n] = \sum_k f[k]\, x^{(0)}[n - k]
# ```
#
# The output depends linearly on the input, so it is the product of a matrix $\mathbf{T}$ with the input. Row $n$ of
# $\mathbf{T}$ holds $f[n - m]$ in column $m$, or zero if the filter has no such entry. So the layer is a dense layer with
# two restrictions: most weights are zero, and the others are equal along each diagonal. Such a matrix is called
# **Toeplitz**:
#
# ```{math}
# :label: ml.conv.sharing
# \mathbf{x}^{(1)} = \mathbf{T} \mathbf{x}^{(0)}, \qquad T_{n,m} = f[n - m] = T_{n+1,\,m+1}
# ```

# %%
def filter_matrix(f, N):
    T = f.new_zeros(N, N)
    for k in range(len(f)):
        T.diagonal(-k)[:] = f[k]
    return T

# %% [markdown]
# The product with $\mathbf{T}$ gives the same numbers as the convolution:

# %%
f = torch.tensor([0.9, -0.6, 0.3])
x = torch.tensor([1.0, 2, 0, 0, 1, 0])
print(filter_matrix(f, 6))
print(filter_matrix(f, 6) @ x)
print(convolve(f, x)[:6])

# %% mystnb={"image": {"alt": "Left a Toeplitz matrix: five coloured diagonals, each of one colour, the rest empty. Right a dense matrix in which every one of the 196 entries has its own colour."}} tags=["hide-input"]
stripes = filter_matrix(torch.tensor([0.9, -0.6, 0.3, 0.7, -0.2]), 14).numpy()
fig, axes = panels(2, height=2.9)
axes[0].imshow(np.where(stripes, stripes, np.nan), vmin=-1, vmax=1)
axes[1].imshow(np.random.default_rng(1).uniform(-1, 1, (14, 14)), vmin=-1, vmax=1)
axes[0].set_title('filter: 5 numbers')
axes[1].set_title('dense layer: 196 numbers')
for ax in axes:
    ax.set(xlabel='input pixel m', ylabel='output pixel n', xticks=[0, 13], yticks=[0, 13])

# %% [markdown] tags=["caption"]
# The matrix of a filter with 5 entries beside the matrix of a dense layer. The filter's matrix repeats the 5 numbers along
# its diagonals. In a dense layer, all 196 entries have to be learned.

# %% [markdown]
# Now we can say exactly what "the same everywhere" means. Let $S$ shift a signal by one place: entry $n$ of $S\mathbf{x}$ is
# $x[n - 1]$. If the input of {eq}`ml.conv.conv` is shifted, $n$ becomes $n - 1$ in each term of the sum. So the output is
# shifted in the same way:
#
# ```{math}
# :label: ml.conv.equivariance
# f * (S\mathbf{x}) = S (f * \mathbf{x})
# ```
#
# This is called **translation equivariance**. It is exact if the signal lies on a circle, where the first pixel follows the
# last. It makes no difference whether we shift before or after the convolution:

# %%
def on_circle(f, x):
    return sum(f[k] * x.roll(k) for k in range(len(f)))

x = torch.tensor([0.0, 0, 0, 0, 1, 2])
print('shifted before:', on_circle(f, x.roll(1)))
print('shifted after: ', on_circle(f, x).roll(1))

# %% [markdown]
# With zeros as padding, a shift to the right pushes the last pixel out of the picture, and a zero comes in:

# %%
def with_zeros(f, x):                                   # f (3,), padding 1
    return convolve(f, x)[1:-1]

def pushed(x):                                          # by one place
    return torch.cat([x.new_zeros(1), x[:-1]])

print('shifted before:', with_zeros(f, pushed(x)))
print('shifted after: ', pushed(with_zeros(f, x)))

# %% [markdown]
# Only the last output differs. It needs the last pixel, with the value 2. The shift has pushed this pixel out before the convolution, so the product
# $0.9 \cdot 2 = 1.8$ is missing.

# %% [markdown]
# Is there another way to treat all places alike, without sharing a filter? For a linear layer there is none:
#
# ```{prf:theorem} Equivariant means convolution
# :label: thm-equivariant-is-convolution
# A linear map $\mathbf{A}$ of signals on a circle of $N$ pixels satisfies $\mathbf{A}S = S\mathbf{A}$ if and only if
# $\mathbf{A}\mathbf{x} = f * \mathbf{x}$ (indices modulo $N$) for some filter $f$. That filter is
# $\mathbf{A}\mathbf{e}_0$, the answer to a single bright pixel.
# ```
#
# ```{prf:proof}
# :class: dropdown
# The bright pixel at place $m$ is $\mathbf{e}_m = S^m \mathbf{e}_0$. If $\mathbf{A}$ commutes with $S$, it commutes with
# $S^m$, so $\mathbf{A}\mathbf{e}_m = S^m \mathbf{A}\mathbf{e}_0 = S^m f$, the vector whose entry $n$ is $f[n - m]$.
# By linearity entry $n$ of $\mathbf{A}\mathbf{x} = \sum_m x[m]\, \mathbf{A}\mathbf{e}_m$ is $\sum_m f[n - m]\, x[m]$.
# The other direction is {eq}`ml.conv.equivariance`.
# ```
#
# A stride breaks the equivariance. With stride 2 the layer keeps every second output. If the input moves by two pixels, the
# output moves by one. But if the input moves by one pixel, the layer keeps the outputs that it dropped before. Here the
# filter $(1, -1)$ finds the two ends of a bright stretch, but the layer keeps only one of them:

# %%
edge = torch.tensor([1.0, -1.0])
row = torch.tensor([0.0, 0, 1, 1, 1, 0, 0, 0])
for shift in (0, 2, 1):
    print(f'shifted by {shift}:', on_circle(edge, row.roll(shift))[::2])

# %% [markdown]
# ```{exercise} ★★★ Program: the convolution in a dense layer
# :label: convolutions-average
# Take any matrix $\mathbf{A}$ of shape (N, N) and average it over all shifts,
# $\bar{\mathbf{A}} = \frac{1}{N} \sum_s S^{-s} \mathbf{A} S^s$. Show that $\bar{\mathbf{A}}$ commutes with $S$, so it
# is a convolution on the circle. Write `hidden_filter(A)`, its filter of shape (N,).
# ```

# %%
def hidden_filter(A):
    """The filter f of the average of A (N, N) over all shifts: (N,).

    f is the first column of the average, N >= 1.
    hidden_filter(np.array([[1., 2.], [3., 5.]])) is [3., 2.5].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_averaging(A):
    N = len(A)
    S = np.roll(np.eye(N), 1, axis=0)
    shifts = [np.linalg.matrix_power(S, s) for s in range(N)]
    return sum(P.T @ A @ P for P in shifts)[:, 0] / N

squares = dict(A=square_matrices((1, 6), edges=True))
grade(hidden_filter, by_averaging, **squares)

# %% [markdown]
# ```{solution-start} convolutions-average
# :class: dropdown
# ```
# $S^{-1} \bar{\mathbf{A}} S$ is the same sum with $s$ replaced by $s + 1$, and $s$ runs around the circle, so
# $S^{-1} \bar{\mathbf{A}} S = \bar{\mathbf{A}}$. The entry $(n, 0)$ of $S^{-s} \mathbf{A} S^s$ is
# $A_{n+s,\, s}$, so $f[n] = \frac{1}{N} \sum_s A_{n+s,\,s}$, the mean along a diagonal that wraps around. It is not the
# mean along a diagonal that ends at the border, nor along one on the other side, nor the first column of $\mathbf{A}$.

# %% jupyter={"source_hidden": true}
def hidden_filter_solution(A):
    m = np.arange(len(A))
    return A[(m[:, None] + m) % len(A), m].mean(1)

def wrong_side_of_the_diagonal(A):
    return hidden_filter_solution(A.T)

def first_column(A):
    return A[:, 0]

def without_wrapping(A):
    return np.array([A.diagonal(-n).mean() for n in range(len(A))])

assert grade(hidden_filter_solution, by_averaging, **squares)
assert not grade(wrong_side_of_the_diagonal, by_averaging, **squares)
assert not grade(first_column, by_averaging, **squares)
assert not grade(without_wrapping, by_averaging, **squares)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def torch_layer(x, f):  # (N,), (K,) -> (N,); torch does not flip
    padded = torch.tensor(np.r_[np.zeros(len(f) - 1), x])
    return conv1d(padded[None, None], torch.tensor(f.copy())[None, None])[0, 0]

def matrix_agrees(x, f, in_torch):
    return close(filter_matrix(torch.tensor(f), 6) @ torch.tensor(x), torch_layer(x, in_torch))

holds(
    'ml.conv.conv',
    lambda x, f: matrix_agrees(x, f, f[::-1]) and matrix_agrees(x, np.r_[f, 0], np.r_[0, f[::-1]]),
    slip=('gives torch the filter without a flip', lambda x, f: matrix_agrees(x, f, f)),
    x=vectors(6), f=vectors(3),
)

def is_toeplitz(T):
    return close(T[1:, 1:], T[:-1, :-1])

def shared(N, K, seed):  # a layer of torch, applied to the unit vectors
    torch.manual_seed(seed % 1000)
    layer = nn.Conv1d(1, 1, K, bias=False, dtype=torch.float64)
    T = layer(torch.eye(N, dtype=torch.float64)[:, None])[:, 0].T
    return is_toeplitz(T) and layer.weight.numel() == K and T[0, :K].equal(layer.weight[0, 0])

def locally_connected(N, K, seed):  # small windows, but each has a filter of its own
    T = np.zeros((N - K + 1, N))
    for i, window in enumerate(np.random.default_rng(seed).normal(size=(N - K + 1, K))):
        T[i, i:i + K] = window
    return is_toeplitz(T)

holds(
    'ml.conv.sharing', shared,
    slip=('gives each window a filter of its own', locally_connected),
    N=integers(6, 20), K=integers(1, 5), seed=seeds(), tries=30,
)

def follows(layer, x, f, s):
    f, x = torch.tensor(f), torch.tensor(x)
    return close(layer(f, x.roll(s)), layer(f, x).roll(s))

holds(
    'ml.conv.equivariance',
    lambda x, f, s: follows(on_circle, x, f, s),
    slip=('keeps each second output', lambda x, f, s: follows(lambda f, x: on_circle(f, x)[::2], x, f, s)),
    x=vectors(8), f=vectors(3), s=integers(-7, 7),
)

def follows_with_zeros(x, f, s, beyond):  # zeros enter at one end, and at the other end pixels leave
    wide = np.r_[np.zeros(7), x, np.zeros(7)]
    moved = with_zeros(torch.tensor(f), torch.tensor(wide[7 - s:15 - s]))
    wanted = convolve(torch.tensor(f), torch.tensor(wide))[8 - s:16 - s]
    return close(moved[beyond:8 - beyond], wanted[beyond:8 - beyond])

verify(
    'with zeros outside, only the K - 1 outputs at the border see what was pushed out',
    lambda x, f, s: follows_with_zeros(x, f, s, 1),  # one on each side
    slip=('expects none of them to', lambda x, f, s: follows_with_zeros(x, f, s, 0)),
    x=vectors(8), f=vectors(3), s=integers(-7, 7), tries=60,
)

# %% [markdown]
# ## Where it matters: a digit anywhere in the picture
#
# Does sharing weights help a network that learns? We put handwritten digits of 8 × 8 pixels into the left half of pictures
# of 12 × 24 pixels, and train on these pictures. Then we test with other digits, in the left half and in the right half.

# %%
x, y, _ = digits()
x, y = torch.tensor(x).float().reshape(-1, 8, 8), torch.tensor(y)

def place(images, first_column, g):
    X = torch.zeros(len(images), 1, 12, 24)
    corners = torch.randint(0, 5, (len(images), 2), generator=g)
    for picture, image, (top, left) in zip(X, images, corners.tolist()):
        left += first_column
        picture[0, top:top + 8, left:left + 8] = image
    return X

# %%
g = torch.Generator().manual_seed(0)
train, y_train, y_test = place(x[:1200], 0, g), y[:1200], y[1200:]
tests = {'left': place(x[1200:], 0, g), 'right': place(x[1200:], 12, g)}

# %% mystnb={"image": {"alt": "Two wide pictures of twelve by twenty-four pixels. In the first, a handwritten digit stands in the left half, in the second, the same digit stands in the right half."}} tags=["hide-input"]
fig, axes = panels(2, height=1.5)
for ax, (half, pictures) in zip(axes, tests.items()):
    show_image(ax, 1 - pictures[3, 0], half).axes.spines[:].set_visible(True)

# %% [markdown] tags=["caption"]
# One test digit in the left and in the right half. The networks are trained only on pictures like the left one, and tested
# on both kinds.

# %% [markdown]
# The dense network has a hidden layer with 64 units. The convolutional network has 24 kernels of 7 × 7 pixels, and keeps for
# each kernel only the largest output. This is called **max pooling** over the whole picture. If the digit moves, the outputs
# move along, but their maximum stays the same. So the result is *invariant*: it does not depend on the place of the digit,
# as long as no window is cut off at the border.

# %%
class Anywhere(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 24, kernel_size=7, padding=3)
        self.out = nn.Linear(24, 10)

    def forward(self, X):                               # (B, 1, 12, 24)
        maps = self.conv(X).relu()                      # (B, 24, 12, 24)
        return self.out(maps.amax((2, 3)))              # (B, 10)

def dense():
    return nn.Sequential(
        nn.Flatten(), nn.Linear(12 * 24, 64), nn.ReLU(), nn.Linear(64, 10))

# %% mystnb={"image": {"alt": "Two rows of boxes joined by arrows. Convolutional: a picture 1 by 12 by 24, a stack of 24 maps of 12 by 24, a thin box of 24, a thin box of 10; over the arrows: 24 kernels of 7 by 7, largest output of each, dense. Dense: a picture 12 by 24, thin boxes of 288, 64 and 10."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.7))
rows_of_boxes = {
    'convolutional': ([(2.4, '1 × 12 × 24', 1), (2.4, '24 × 12 × 24', 4), (0.15, '24', 1), (0.15, '10', 1)],
                      ['24 kernels\nof 7 × 7', 'largest\nof each', 'dense']),
    'dense': ([(2.4, '12 × 24', 1), (0.15, '288', 1), (0.15, '64', 1), (0.15, '10', 1)], ['flatten', 'dense', 'dense']),
}
for y, (name, (boxes, steps)) in zip((3.4, 0.2), rows_of_boxes.items()):
    ax.text(-0.2, y + 1.5, name, fontsize=11)
    for k, (width, shape, copies) in enumerate(boxes):
        left, tall = 4.4 * k, 1.2 if width > 1 else 1.8
        for c in reversed(range(copies)):
            ax.add_patch(plt.Rectangle((left + 0.14 * c, y - tall / 2 + 0.12 * c), width, tall, fc='C0', ec='w', lw=0.6))
        ax.text(left + width / 2, y - tall / 2 - 0.15, shape, ha='center', va='top', fontsize=10)
        if k < 3:
            start = left + width + 0.14 * (copies - 1) + 0.2
            ax.annotate('', (4.4 * (k + 1) - 0.2, y), (start, y), arrowprops={'arrowstyle': '->', 'color': GREY})
            ax.text((start + 4.4 * (k + 1) - 0.2) / 2, y + 0.15, steps[k], ha='center', va='bottom', fontsize=9)
ax.set(xlim=(-0.3, 14.2), ylim=(-1.6, 5.3))
ax.axis('off');

# %% [markdown] tags=["caption"]
# The shapes in the two networks. A stack has a map of outputs for each kernel. The convolutional network keeps one number of
# each map, so it forgets the place.

# %%
def trained(make, seed, lr):
    torch.manual_seed(seed)
    model = make()
    optimizer = torch.optim.Adam(model.parameters(), lr)
    g = torch.Generator().manual_seed(seed)
    dealt = batches(g, 50, train, y_train, epochs=6)
    fit(model, nn.CrossEntropyLoss(), optimizer, dealt)
    return model

@torch.no_grad()
def accuracy(model, half):
    return (model(tests[half]).argmax(1) == y_test).float().mean().item()

# %% [markdown]
# We train each network with three learning rates and three seeds. We print its weights, its operations for one picture (FLOPs:
# a multiplication and an addition count as two), and the lowest and the highest accuracy of the seeds:

# %%
scores = {}
for name, make in ('dense', dense), ('conv', Anywhere):
    model = make()
    with FlopCounterMode(display=False) as counter:
        model(train[:1])
    weights = sum(parameter.numel() for parameter in model.parameters())
    print(f'{name}: {weights} weights, {counter.get_total_flops()} FLOPs')
    for lr in (3e-3, 1e-2, 3e-2):
        models = [trained(make, seed, lr) for seed in range(3)]
        for half in tests:
            three = [accuracy(model, half) for model in models]
            scores[name, lr, half] = three
            print(f'  lr {lr:.0e}, {half:5}:'
                  f' {min(three):.2f} to {max(three):.2f}')

# %% mystnb={"image": {"alt": "Accuracy on the left and on the right half for three learning rates. Points of the convolutional network lie near the top in both halves; those of the dense network lie lower on the left and at the dashed line of chance on the right."}} tags=["hide-input"]
fig, axes = panels(2, height=2.6, sharey=True)
for ax, half in zip(axes, tests):
    for (name, colour), offset in zip({'dense': 'C1', 'conv': 'C0'}.items(), (-0.06, 0.06)):
        for at, lr in enumerate((3e-3, 1e-2, 3e-2)):
            ax.plot([at + offset] * 3, scores[name, lr, half], 'o', color=colour, alpha=0.7)
    ax.axhline(0.1, color=GREY, ls='--', lw=1)
    ax.set(title=f'tested on the {half} half', xlabel='learning rate', xticks=[0, 1, 2], ylim=(0, 1), xlim=(-0.4, 2.4))
    ax.set_xticklabels(['0.003', '0.01', '0.03'])
axes[0].set_ylabel('accuracy')
axes[0].text(0.3, 0.13, 'chance', color=GREY)
axes[1].text(1, 0.78, 'convolutional', color='C0', ha='center')
axes[1].text(1, 0.2, 'dense', color='C1', ha='center');

# %% [markdown] tags=["caption"]
# Accuracy for three learning rates, with a point for each seed. The convolutional network is as good on the right half, on
# which it was not trained. The dense network is at the level of chance there.

# %% [markdown]
# Sharing saves weights, not operations: the convolutional network has less than a tenth of the weights and needs about
# eighteen times as many operations. Why does the dense network fail on the right half? Too few weights cannot be the reason.
# We count which weights of its first layer the training has changed:

# %%
torch.manual_seed(0)
before = dense()[1].weight.reshape(64, 12, 24)
after = trained(dense, 0, 1e-2)[1].weight.reshape(64, 12, 24)
changed = (after != before).float()
print(f'changed on the left: {changed[..., :12].mean():.0%}')
print(f'changed on the right: {changed[..., 12:].sum():.0f} weights')

# %% [markdown]
# Each weight of the first layer multiplies one pixel. So its gradient is a multiple of this pixel, and zero where the pixel is 0. In
# training, all pixels of the right half were 0. So their weights are as random as at the start. The
# convolutional network uses the same kernels in both halves.
#
# ```{exercise} ★★ Experiment: is the convolution enough?
# :label: convolutions-flatten
# Replace the maximum over all places by `nn.Flatten()`, so that the last layer is `nn.Linear(24 * 12 * 24, 10)`. Predict for
# each half whether the network reads more than half of the digits there. Then train, look, and explain.
# ```

# %%
def more_than_half_read():
    """Two truth values in a list, for the left half and for the right half.

    [True, True], for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def flattened():
    return nn.Sequential(nn.Conv2d(1, 24, 7, padding=3), nn.ReLU(), nn.Flatten(), nn.Linear(24 * 12 * 24, 10))

flat = [trained(flattened, seed, 3e-3) for seed in range(3)]
shares_read = {half: [accuracy(model, half) for model in flat] for half in ('left', 'right')}

def is_measured(answers):
    if len(answers) != 2 or not all(answer in (True, False) for answer in answers):
        raise ValueError('give two truth values')
    if list(answers) != [np.mean(three) > 0.5 for three in shares_read.values()]:
        raise ValueError('something else is measured; train the network and look')
    return True

grade(lambda: is_measured(more_than_half_read()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} convolutions-flatten
# :class: dropdown
# ```
# On the left half it is good, on the right half not much better than the dense network. The convolution still moves
# its outputs along with the digit. But the last layer is dense again: it has weights of its own for each place, and
# those of the right half were never trained. Equivariance alone does not make a network invariant; something has to
# forget the place, as the maximum does.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured([True, False]), lambda: True, [()])
assert not grade(lambda: is_measured([True, True]), lambda: True, [()])
assert not grade(lambda: is_measured([False, False]), lambda: True, [()])
assert not grade(lambda: is_measured([False, True]), lambda: True, [()])
for half, three in shares_read.items():
    print(f'{half:5}: {min(three):.2f} to {max(three):.2f}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def at_chance(name, lr):  # 597 digits: five standard errors of a share of one in ten
    return bool(max(scores[name, lr, 'right']) < 0.1 + 5 * (0.1 * 0.9 / 597) ** 0.5)

verify(
    'on the half without training the dense network guesses',
    lambda lr: at_chance('dense', lr),
    slip=('says so of the convolutional one', lambda lr: at_chance('conv', lr)),
    lr=[3e-3, 1e-2, 3e-2],
)

lit = (train[:, 0] > 0).any(0)                          # (12, 24)
verify(
    'training changes weights of a pixel if and only if it was not black in each picture',
    lambda: bool((changed.bool().any(0) == lit).all()),
    slip=('expects changes everywhere', lambda: bool(changed.bool().any(0).all())),
)

def keeps(name, lr, loss=0.05):
    return bool(np.mean(scores[name, lr, 'right']) > np.mean(scores[name, lr, 'left']) - loss)

verify(
    'the convolutional network loses less than 5 points of accuracy on the other half',
    lambda lr: keeps('conv', lr),
    slip=('says so of the dense one', lambda lr: keeps('dense', lr)),
    lr=[3e-3, 1e-2, 3e-2],
)

def moves_along(seed, rows, columns, pool):  # a digit that stays away from the border
    torch.manual_seed(seed % 1000)
    model = Anywhere().double()
    X = torch.zeros(2, 1, 26, 38, dtype=torch.float64)
    image = x[seed % len(x)].double()
    X[0, 0, 8:16, 8:16] = X[1, 0, 8 + rows:16 + rows, 8 + columns:16 + columns] = image
    maps = model.conv(X).relu()
    a, b = model.out(pool(maps))
    return close(a.detach(), b.detach())

verify(
    'the maximum over all places does not notice a shift',
    lambda **case: moves_along(pool=lambda maps: maps.amax((2, 3)), **case),
    slip=('takes the mean over the left half',
          lambda **case: moves_along(pool=lambda maps: maps[..., :16].mean((2, 3)), **case)),
    seed=seeds(), rows=integers(0, 2), columns=integers(0, 14), tries=20,
)

# %% [markdown]
# ## Summary
#
# A convolutional layer lays one small kernel on each window of a picture. So it needs few weights, and where a pattern
# moves, the output moves along. What it computes is a cross-correlation, that is, a convolution with the turned kernel.
# The convolution of two sequences collects at place $i$ all products whose two places add up to $i$; it is commutative
# and associative. On a circle, convolutions are the only linear maps that treat all places alike.
#
# **Further reading.** {cite}`zhang2023dive`, chapter 7, builds a whole network from here. {cite}`dumoulin2016guide`
# draws padding and stride, and {cite}`goodfellow2016deep`, chapter 9, has the wider view. {cite}`gray2006toeplitz` is
# about Toeplitz matrices, {cite}`rudin1987real`, chapter 8, about the convolution of functions.
