# ---
# jupyter:
#   book:
#     functions:
#       im2col: im2col(normal(5, 6), 2, 3)
#       corr2d_product: corr2d_product(normal(5, 6), normal(2, 3))
#       corr2d_fourier: corr2d_fourier(normal(5, 6), normal(2, 3))
#     main: eq-im2col
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Fast convolutions and learned kernels
#
# A kernel of 33 × 33 numbers on a picture of 128 × 128 pixels takes ten million multiplications, and a network does this
# for thousands of kernels and pictures. Which computations give the same numbers in less time? And where do the
# numbers of the kernel come from?
#
# - **You need** [convolutions](convolutions.ipynb), [least squares](../regression/linear_regression.ipynb),
#   [gradient descent](../optimization/gradient_descent.ipynb) and
#   [eigenvectors](../linear_algebra/eigendecomposition.ipynb).
# - **You build** a convolution as a matrix product and by Fourier transforms, and you learn a kernel from a photograph.
# - **Runs in** 9 seconds. All tensors are float64.

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
from scipy.linalg import circulant
from torch import nn
from torch.nn.functional import conv2d

from nbutils.cases import integers, matrices, on, scalars, vectors
from nbutils.checks import close, grade, verify
from nbutils.data import photograph
from nbutils.figures import GREY
from nbutils.timing import seconds

plt.style.use('nbutils.book')
torch.set_default_dtype(torch.float64)
torch.set_printoptions(precision=2, sci_mode=False)
torch.set_num_threads(1)  # all methods on one thread: only the method shall differ

# %% [markdown]
# ## im2col: a convolution is a matrix product
#
# A convolutional layer lays a kernel on each window of a picture. Let us write each window as a row of a matrix:

# %%
def im2col(X, k_h, k_w):
    windows = X.unfold(0, k_h, 1).unfold(1, k_w, 1)     # (h, w, k_h, k_w)
    return windows.reshape(-1, k_h * k_w)               # (h * w, k_h * k_w)

# %%
X = torch.arange(9.0).reshape(3, 3)
V = torch.tensor([[0.0, 1.0],
                  [2.0, 3.0]])
print(X)
print(im2col(X, 2, 2))
print(im2col(X, 2, 2) @ V.flatten())

# %% [markdown]
# The first row is the window at the top left. Its product with the entries of the kernel, written as a vector
# $\mathbf{k}$, is the first output number, 19. So the whole layer is one product of a matrix $\mathbf{A}$ and a vector:
#
# ```{math}
# :label: eq-im2col
# \mathbf{y} = \mathbf{A} \mathbf{k} .
# ```
#
# This is known as **im2col**, "image to columns" {cite}`chellapilla2006high`. A matrix product is what hardware does
# best:

# %%
def corr2d_product(X, V):
    rows = X.shape[0] - V.shape[0] + 1
    return (im2col(X, *V.shape) @ V.flatten()).reshape(rows, -1)

def corr2d(X, V):                                       # window by window
    k_h, k_w = V.shape
    Y = X.new_zeros(X.shape[0] - k_h + 1, X.shape[1] - k_w + 1)
    for i in range(Y.shape[0]):
        for j in range(Y.shape[1]):
            Y[i, j] = (X[i:i + k_h, j:j + k_w] * V).sum()
    return Y

# %%
g = torch.Generator().manual_seed(3)
wins = {}
for n in (6, 128):
    X, V = torch.randn(n, n, generator=g), torch.randn(3, 3, generator=g)
    loop, product = seconds(lambda: corr2d(X, V), lambda: corr2d_product(X, V))
    wins[n] = loop > 40 * product
    print(f'{n:3} x {n:3} pixels: more than 40 times faster'
          f' than the loop: {wins[n]}')

# %% [markdown]
# The price is memory. `unfold` shows the windows without copying a number, but `reshape` copies, and stores each
# pixel once for each window that it lies in, up to $k_h k_w$ times.
#
# ```{exercise} ★ Pencil: the memory of im2col
# :label: computing-memory
# A batch has 32 pictures of 64 channels and 56 × 56 pixels in float32. A layer has kernels of 3 × 3 and pads with one row or
# column of zeros on each side. How much memory do the pictures take, and how much their im2col matrix? How many channels of
# output are needed until the output is as large as this matrix? Write `im2col_bytes(pictures, channels, n, k, p)`.
# ```

# %%
def im2col_bytes(pictures, channels, n, k, p):
    """The bytes of the im2col matrix, in float32: an int.

    There are so many pictures of n x n pixels in so many channels. The kernel
    is k x k; p zeros are padded on each side. All are ints, k <= n + 2 p.
    im2col_bytes(1, 1, 3, 2, 0) is 64: four windows of four numbers.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_unfolding(pictures, channels, n, k, p):
    windows = nn.Unfold(k, padding=p)(torch.zeros(pictures, channels, n, n, dtype=torch.float32))
    return windows.numel() * windows.element_size()

layers = dict(
    pictures=integers(1, 4), channels=integers(1, 4), n=integers(1, 9),
    k=lambda n, p: integers(1, n + 2 * p), p=integers(0, 2),
)
grade(im2col_bytes, by_unfolding, **layers)

# %% [markdown]
# ```{solution-start} computing-memory
# :class: dropdown
# ```
# The pictures have $32 \cdot 64 \cdot 56^2$ numbers of four bytes, 26 MB. With the padding there are $56^2$ windows in each, with $64
# \cdot 9$ numbers. So the matrix is nine times as large. The output has as many windows and one number for each output
# channel, so it would take $64 \cdot 9 = 576$ channels. Libraries therefore form the matrix in small pieces. Wrong answers
# take one window for each pixel, whatever the padding is, count the zeros of one side alone, or forget the channels.

# %% jupyter={"source_hidden": true}
def im2col_bytes_solution(pictures, channels, n, k, p):
    return 4 * pictures * channels * k**2 * (n + 2 * p - k + 1) ** 2

def a_window_for_each_pixel(pictures, channels, n, k, p):
    return 4 * pictures * channels * k**2 * n**2

def zeros_of_one_side(pictures, channels, n, k, p):
    return 4 * pictures * channels * k**2 * (n + p - k + 1) ** 2

def without_channels(pictures, channels, n, k, p):
    return 4 * pictures * k**2 * (n + 2 * p - k + 1) ** 2

assert grade(im2col_bytes_solution, by_unfolding, **layers)
assert not grade(a_window_for_each_pixel, by_unfolding, **layers)
assert not grade(zeros_of_one_side, by_unfolding, **layers)
assert not grade(without_channels, by_unfolding, **layers)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def agrees(method, X, V):
    return close(method(torch.tensor(X), torch.tensor(V)), signal.correlate2d(X, V, 'valid'))

verify(
    'the rows of im2col times the kernel are the cross-correlation',
    lambda X, V: agrees(corr2d_product, X, V),
    slip=('reads the kernel by columns', lambda X, V: agrees(lambda X, V: corr2d_product(X, V.T.reshape(V.shape)), X, V)),
    X=matrices(4, 5), V=matrices(2, 3), tries=60,
)
verify(
    'so is the loop over the windows',
    lambda X, V: agrees(corr2d, X, V),
    slip=('turns the kernel', lambda X, V: agrees(lambda X, V: corr2d(X, V.flip(0, 1)), X, V)),
    X=matrices(4, 5), V=matrices(2, 3), tries=60,
)
verify(
    'the product is faster by far for pictures, and not for six pixels a side',
    lambda n: bool(wins[n] == (n == 128)),
    slip=('says so for each size', lambda n: bool(wins[n])),
    n=[6, 128],
)

# %% [markdown]
# ## The convolution theorem: large kernels by Fourier transform
#
# For a large kernel better use of the hardware is not enough, because each output pixel costs $k_h k_w$ multiplications.
# Fourier had a better idea: decompose signals into waves. On a circle of $N$ pixels, write
# $\hat x[q] = \sum_n x[n]\, \omega^{qn}$ with $\omega = e^{-2\pi i/N}$. We convolve two signals on the circle, and
# look at their transforms:

# %%
f = torch.tensor([1.0, 2, 0, 0, 0])
x = torch.tensor([3.0, 1, 0, 2, 1])
circular = sum(f[k] * x.roll(k) for k in range(5))      # f * x
f_hat, x_hat, both_hat = map(torch.fft.fft, (f, x, circular))
for q in (1, 2):
    print(f'frequency {q}: {f_hat[q]:.2f} times {x_hat[q]:.2f}'
          f' is {f_hat[q] * x_hat[q]:.2f}, f * x has {both_hat[q]:.2f}')

# %% [markdown]
# ```{prf:theorem} Convolution theorem
# :label: thm-convolution-fourier
# For signals on a circle, $\widehat{f * x}[q] = \hat f[q]\, \hat x[q]$ for every frequency $q$.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Insert the definition, split $\omega^{qn} = \omega^{qa}\, \omega^{q(n-a)}$, and sum over $n$ first:
#
# $$\sum_n \Big( \sum_a f[a]\, x[n - a] \Big) \omega^{qn}
#   = \sum_a f[a]\, \omega^{qa} \sum_n x[n - a]\, \omega^{q(n - a)} = \hat f[q]\, \hat x[q].$$
#
# The inner sum on the right runs over a whole turn, wherever it starts ($\omega^N = 1$), so it is $\hat x[q]$ for every
# $a$. It is {prf:ref}`thm-convolution-algebra` again, because $\hat f[q]$ is the polynomial $\hat f(t)$ at
# $t = \omega^q$. In the language of matrices, all convolutions on the circle have the same eigenvectors, the waves,
# and the $\hat f[q]$ are the eigenvalues.
# ```
#
# The fast Fourier transform {cite}`cooley1965algorithm` takes about $N \log N$ operations. So we transform both
# signals, multiply, and transform back, and the size of the kernel hardly matters. Two details: A picture is no circle.
# So we append zeros up to $n + k - 1$ pixels, and windows at one border meet zeros, not the other border. And the layer does
# not flip the kernel. So we turn it before the convolution:

# %%
def corr2d_fourier(X, V):
    size = [n + k - 1 for n, k in zip(X.shape, V.shape)]
    spectrum = torch.fft.rfft2(X, size) * torch.fft.rfft2(V.flip(0, 1), size)
    full = torch.fft.irfft2(spectrum, size)
    return full[V.shape[0] - 1:X.shape[0], V.shape[1] - 1:X.shape[1]]

# %%
for k in (3, 33):
    V = torch.randn(k, k, generator=g)
    product, fourier = seconds(
        lambda: corr2d_product(X, V), lambda: corr2d_fourier(X, V))
    wins[k] = product > 10 * fourier
    print(f'kernel of {k:2} x {k:2}: Fourier more than 10 times faster:'
          f' {wins[k]}')

# %% [markdown]
# For the small kernels of most networks, the transforms win little or nothing. In SciPy, `signal.fftconvolve` is the method
# of this part, and `signal.convolve` chooses between it and the sum over the windows.
#
# ```{exercise} ★★★ Program: undo a blur
# :label: computing-deblur
# A row of pixels was blurred on a circle and a little noise added: $\mathbf{y} = f * \mathbf{x} + \text{noise}$.
# Dividing, $\hat x = \hat y / \hat f$, amplifies the noise wherever $\hat f$ is nearly zero. Find instead the
# $\mathbf{x}$ that minimizes $\|f * \mathbf{x} - \mathbf{y}\|_2^2 + \lambda \|\mathbf{x}\|_2^2$, $\lambda > 0$. Write
# `deblur(y, f, lam)` for numpy arrays `y` and `f` of equal length, with FFTs, without solving equations.
# ```

# %%
def deblur(y, f, lam):
    """The row x, real, of the length of y and f: arrays of shape (N,).

    lam is a float above zero. No function of numpy.linalg is allowed.
    deblur(np.array([2.]), np.array([1.]), 1.) is [1.].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_matrix(y, f, lam):  # the normal equations, with the matrix of the blur
    C = circulant(f)
    return np.linalg.solve(C.T @ C + lam * np.eye(len(y)), C.T @ y)

blurred = dict(
    y=vectors((1, 8)), f=lambda y: vectors(len(y), -3, 3, edges=True), lam=on(1.0, 0.01) | scalars(0.01, 2),
    without=['numpy.linalg.solve', 'numpy.linalg.inv', 'numpy.linalg.lstsq', 'numpy.linalg.pinv', 'scipy.linalg.solve'],
)
grade(deblur, by_matrix, **blurred)

# %% [markdown]
# ```{solution-start} computing-deblur
# :class: dropdown
# ```
# By Parseval's identity both squared norms are, up to the same factor $1/N$, sums over the frequencies. So each
# frequency has its own problem: minimize $|\hat f \hat x - \hat y|^2 + \lambda |\hat x|^2$ over one complex number.
# The answer is $\hat x = \overline{\hat f}\, \hat y / (|\hat f|^2 + \lambda)$. Real data
# give a real $\mathbf{x}$, because conjugate frequencies get conjugate answers. The bar stands for the transposed matrix
# of the normal equations, and is easily forgotten. Other wrong answers divide by $\hat f + \lambda$, or multiply $\lambda$
# by the length, as if the factor of Parseval's identity stood before one of the two norms alone.

# %% jupyter={"source_hidden": true}
def deblur_solution(y, f, lam):
    F, Y = np.fft.fft(f), np.fft.fft(y)
    return np.fft.ifft(F.conj() * Y / (abs(F) ** 2 + lam)).real

def no_bar(y, f, lam):
    F, Y = np.fft.fft(f), np.fft.fft(y)
    return np.fft.ifft(F * Y / (abs(F) ** 2 + lam)).real

def divides(y, f, lam):
    return np.fft.ifft(np.fft.fft(y) / (np.fft.fft(f) + lam)).real

def penalty_by_length(y, f, lam):
    return deblur_solution(y, f, lam * len(y))

def by_equations(y, f, lam):
    C = circulant(f)
    return np.linalg.solve(C.T @ C + lam * np.eye(len(y)), C.T @ y)

assert grade(deblur_solution, by_matrix, **blurred)
assert not grade(no_bar, by_matrix, **blurred)
assert not grade(divides, by_matrix, **blurred)
assert not grade(penalty_by_length, by_matrix, **blurred)
assert not grade(by_equations, by_matrix, **blurred)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def without_zeros(X, V):  # on the circle of the picture itself
    spectrum = torch.fft.rfft2(X) * torch.fft.rfft2(V.flip(0, 1), X.shape)
    return torch.fft.irfft2(spectrum, X.shape)[:X.shape[0] - V.shape[0] + 1, :X.shape[1] - V.shape[1] + 1]

verify(
    'Fourier transforms give the cross-correlation',
    lambda X, V: agrees(corr2d_fourier, X, V),
    slip=('forgets to cut the borders off', lambda X, V: agrees(without_zeros, X, V)),
    X=matrices(4, 5), V=matrices(2, 3), tries=60,
)

def transforms_multiply(f, x, convolution):
    return close(np.fft.fft(convolution(f, x)), np.fft.fft(f) * np.fft.fft(x), atol=1e-6)

verify(
    'on a circle the transform of a convolution is the product of the transforms',
    lambda f, x: transforms_multiply(f, x, lambda f, x: circulant(f) @ x),
    slip=('says so with zeros outside', lambda f, x: transforms_multiply(f, x, lambda f, x: np.convolve(f, x)[:5])),
    f=vectors(5), x=vectors(5), tries=60,
)
verify(
    'Fourier transforms are faster by far for 33 x 33 numbers, and not for 3 x 3',
    lambda k: bool(wins[k] == (k == 33)),
    slip=('says so for each kernel', lambda k: bool(wins[k])),
    k=[3, 33],
)

# %% [markdown]
# ## Learning a kernel: why edges come last
#
# In a network nobody writes an edge detector down. Can it be found from examples, from a picture and its edges? We
# take a photograph, compute its output under $(1, -1)$ and under the blur $(\frac12, \frac12)$, and let gradient
# descent find the two kernels. The step size is explained below.

# %%
temple = photograph('china')[120:320, 70:350]           # (200, 280, 3)
picture = torch.tensor(temple.mean(-1))
edge, blur = torch.tensor([1.0, -1.0]), torch.tensor([0.5, 0.5])

def train(truth, steps, eta):
    layer = nn.Conv2d(1, 1, kernel_size=(1, 2), bias=False)
    nn.init.zeros_(layer.weight)
    optimizer = torch.optim.SGD(layer.parameters(), eta)
    target = conv2d(picture[None, None], truth.reshape(1, 1, 1, 2))
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (layer(picture[None, None]) - target).square().mean() / 2
        loss.backward()
        optimizer.step()
    return layer.weight.detach().flatten()

# %%
def curvature(X):
    A = im2col(X, 1, 2)                                 # (P, 2)
    return A.T @ A / len(A)

eta = 1 / torch.linalg.eigvalsh(curvature(picture))[-1].item()
for steps in (1, 10, 100):
    print(f'{steps:3} steps: blur', train(blur, steps, eta),
          ' edge', train(edge, steps, eta))

# %% [markdown]
# The blur is found in a single step. But from the same picture, a hundred steps do not yet reach the edge. To see
# why, use {eq}`eq-im2col`: with $P$ windows, learning the true kernel $\mathbf{k}^*$ is least squares, and
#
# ```{math}
# :label: eq-kernel-loss
# L(\mathbf{k}) = \frac{1}{2P} \|\mathbf{A}\mathbf{k} - \mathbf{A}\mathbf{k}^*\|_2^2, \qquad
# \nabla L(\mathbf{k}) = \mathbf{H} (\mathbf{k} - \mathbf{k}^*), \qquad \mathbf{H} = \tfrac{1}{P} \mathbf{A}^\top \mathbf{A}.
# ```
#
# The entries of $\mathbf{H}$ are means of products of neighbouring pixels $x_j$ and $x_{j+1}$:

# %%
H = curvature(picture)
print(H)
values, vectors_of_H = torch.linalg.eigh(H)
for value, vector in zip(values, vectors_of_H.T):
    print(f'eigenvalue {value:.3f}, eigenvector', vector / vector[0])

# %% [markdown]
# The two means of squares differ only by the outermost columns of the picture, which we neglect:
# $\mathbf{H} = \begin{pmatrix} c_0 & c_1 \\ c_1 & c_0 \end{pmatrix}$, where $c_0$ is the mean of $x_j^2$ and $c_1$ that
# of $x_j x_{j+1}$. The eigenvectors are $(1, 1)$ and $(1, -1)$: the blur and the edge! The eigenvalue of the edge,
#
# $$c_0 - c_1 = \tfrac{1}{2} \operatorname{mean} (x_j - x_{j+1})^2,$$
#
# is small, because in a photograph *neighbours are alike*. That of the blur, $c_0 + c_1$, is large. A step of
# gradient descent gives
# $\mathbf{k}_{t+1} - \mathbf{k}^* = (\mathbf{I} - \eta\mathbf{H})(\mathbf{k}_t - \mathbf{k}^*)$. With
# $\eta = 1/\lambda_{\max}$ it multiplies the error along an eigenvector by $1 - \lambda/\lambda_{\max}$. Along the
# blur nothing is left. Along the edge the fraction $1 - 1/\kappa$ is left, where $\kappa = (c_0 + c_1)/(c_0 - c_1)$.
# So it takes
#
# $$\left\lceil \frac{\ln 100}{-\ln(1 - 1/\kappa)} \right\rceil \approx 4.6\, \kappa$$
#
# steps, for large $\kappa$, until the error is 1 %. If this is right, it offers a cure: take the mean brightness
# away, which lowers $c_0 + c_1$ and leaves $c_0 - c_1$ as it is {cite}`lecun1991eigenvalues`. The best would be
# pixels that know nothing of each other.

# %%
def descend(X, truth, steps):  # relative errors before steps 1, 2, ...
    H = curvature(X)
    eta = 1 / torch.linalg.eigvalsh(H)[-1]
    k, errors = torch.zeros(2), []
    for _ in range(steps):
        errors.append(((k - truth).norm() / truth.norm()).item())
        k = k - eta * H @ (k - truth)
    return np.array(errors)

# %%
noise = torch.randn(picture.shape, generator=torch.Generator().manual_seed(5))
centred = picture - picture.mean()
sources = {
    'photograph': picture, 'minus its mean': centred, 'noise': noise}
curves, kept = {}, {}
for name, X in sources.items():
    low, high = torch.linalg.eigvalsh(curvature(X)).tolist()
    curves[name], kept[name] = descend(X, edge, 300), 1 - low / high
    needed = (curves[name] > 0.01).sum()
    said = np.ceil(np.log(100) / -np.log(kept[name]))
    print(f'{name:15} κ = {high / low:5.2f}, predicted {said:.0f} steps,'
          f' needed {needed}')

# %% mystnb={"image": {"alt": "Error of the learned edge kernel against steps on a logarithmic scale: a slow straight descent for the photograph, three times as fast for the photograph minus its mean, and an immediate drop for noise. Broad lines of the predicted slopes lie under the first two."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.9))
for name in ('photograph', 'minus its mean'):
    ax.plot(kept[name] ** np.arange(300), color=GREY, lw=6, alpha=0.3)
for (name, errors), spot in zip(curves.items(), [(120, 0.075), (92, 0.004), (8, 2.5e-4)]):
    line, = ax.plot(np.where(errors > 1e-4, errors, np.nan))
    ax.text(*spot, name, color=line.get_color())
ax.axhline(0.01, color=GREY, lw=0.8, ls='--')
ax.set(yscale='log', xlabel='steps', ylabel='relative error', xlim=(-3, 300), ylim=(1e-4, 2))
ax.text(299, 0.012, 'right to 1 %', ha='right')
ax.text(290, 4e-4, 'broad: predicted', ha='right');

# %% [markdown] tags=["caption"]
# Gradient descent needs nearly two hundred steps to learn an edge from a photograph, a third of these without the mean
# brightness, and one from noise, as $\kappa$ predicts.

# %% [markdown]
# Least squares finds the kernel immediately. With noise in the examples no method finds it exactly. If each entry of
# $\mathbf{y}$ gets independent noise of standard deviation $\sigma$, least squares is right on average, with covariance
# $\sigma^2 (\mathbf{A}^\top \mathbf{A})^{-1}$. Along an eigenvector of a small eigenvalue, such as the edge, the descent is slow
# and the variance is large: what is learned slowly is also known less exactly. For the nine
# numbers of Sobel's kernel and $\sigma = 0.1$ it finds, rounded:

# %%
sobel = torch.tensor([[1.0, 0, -1], [2, 0, -2], [1, 0, -1]])
A = im2col(picture, 3, 3)                               # (P, 9)
y = A @ sobel.flatten() + 0.1 * torch.randn(len(A), generator=g)
learned = torch.linalg.lstsq(A, y[:, None]).solution[:, 0]
predicted = 0.1 * torch.linalg.inv(A.T @ A).diagonal().sqrt()
off = (learned - sobel.flatten()).abs() / predicted
print(learned.reshape(3, 3).round(decimals=1) + 0.0)
print(f'largest error: {off.max():.1f} predicted standard deviations')

# %% [markdown]
# ```{exercise} ★★ Program: the gradient is a correlation, too
# :label: computing-gradient
# A layer computes the cross-correlation $\mathbf{Y}$ of a picture $\mathbf{X}$ with a kernel, without padding, and
# $\mathbf{G}$ is the gradient of a loss with respect to $\mathbf{Y}$. Derive the gradient with respect to the kernel,
# and write `kernel_gradient(X, G)` for numpy arrays of two axes.
# ```

# %%
def kernel_gradient(X, G):
    """The gradient (h, w) with respect to the kernel: an array.

    X (m, n) and G (m - h + 1, n - w + 1) are arrays, G no larger than X.
    kernel_gradient(np.array([[1., 2.]]), np.array([[3.]])) is [[3., 6.]].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_autograd(X, G):
    X, G = torch.tensor(X), torch.tensor(G)
    size = X.shape[0] - G.shape[0] + 1, X.shape[1] - G.shape[1] + 1
    kernel = torch.zeros(1, 1, *size, dtype=X.dtype, requires_grad=True)
    conv2d(X[None, None], kernel).backward(G[None, None])
    return kernel.grad[0, 0]

pairs = dict(X=matrices((1, 5), (1, 5), edges=True), G=lambda X: matrices((1, len(X)), (1, X.shape[1])))
grade(kernel_gradient, by_autograd, **pairs)

# %% [markdown]
# ```{solution-start} computing-gradient
# :class: dropdown
# ```
# From $Y_{i,j} = \sum_{a,b} V_{a,b} X_{i+a,\,j+b}$ follows $\partial Y_{i,j} / \partial V_{a,b} = X_{i+a,\,j+b}$, and
# the chain rule gives $\sum_{i,j} G_{i,j} X_{i+a,\,j+b}$: the picture correlated with the gradient. With respect to
# the pixel $X_{m,n}$ the same steps give $\sum_{i,j} G_{i,j} V_{m-i,\,n-j}$, a true convolution: the flip that the
# forward pass avoids returns in the backward pass. Wrong answers flip $\mathbf{G}$ here, too, keep the shape of the
# picture, or give the gradient that belongs to the pixels.

# %% jupyter={"source_hidden": true}
def kernel_gradient_solution(X, G):
    return signal.correlate2d(X, G, 'valid')

def flipped_gradient(X, G):
    return signal.convolve2d(X, G, 'valid')

def shape_of_the_picture(X, G):
    return signal.correlate2d(X, G, 'same')

def gradient_for_the_picture(X, G):
    return signal.convolve2d(X, G)

assert grade(kernel_gradient_solution, by_autograd, **pairs)
assert not grade(flipped_gradient, by_autograd, **pairs)
assert not grade(shape_of_the_picture, by_autograd, **pairs)
assert not grade(gradient_for_the_picture, by_autograd, **pairs)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: a blurred and a sharpened photograph
# :label: computing-sharpened
# Take the mean of each pixel and its right neighbour, `picture[:, :-1] + picture[:, 1:]` divided by 2. Does gradient
# descent need more or fewer steps to learn the edge from this picture? What about
# `2 * picture[:, 1:-1] - (picture[:, :-2] + picture[:, 2:]) / 2`? Predict, compute $\kappa$ and count the steps to 1 %.
# ```

# %%
def predicted_steps():
    """Two words in a list, for the blurred and for the sharpened picture.

    Each is 'more' or 'fewer': ['fewer', 'fewer'], for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
variants = {
    'as it is': picture,
    'blurred': (picture[:, :-1] + picture[:, 1:]) / 2,
    'sharpened': 2 * picture[:, 1:-1] - (picture[:, :-2] + picture[:, 2:]) / 2,
}
steps_to_edge = {name: int((descend(X, edge, 1500) > 0.01).sum()) for name, X in variants.items()}

def is_measured(words):
    if len(words) != 2 or not set(words) <= {'more', 'fewer'}:
        raise ValueError("give two words, each 'more' or 'fewer'")
    plain, *others = steps_to_edge.values()
    if list(words) != ['more' if steps > plain else 'fewer' for steps in others]:
        raise ValueError('something else is measured; count the steps and compare')
    return True

grade(lambda: is_measured(predicted_steps()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} computing-sharpened
# :class: dropdown
# ```
# The blur makes neighbours more alike: $c_0 - c_1$ shrinks, and $\kappa$ and the number of steps grow. The second
# formula makes each pixel differ more from its neighbours, so it needs fewer steps. This is the reason why inputs are
# whitened: pixels that know nothing of each other have $\kappa = 1$.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured(['more', 'fewer']), lambda: True, [()])
assert not grade(lambda: is_measured(['fewer', 'more']), lambda: True, [()])
assert not grade(lambda: is_measured(['more', 'more']), lambda: True, [()])
assert not grade(lambda: is_measured(['fewer', 'fewer']), lambda: True, [()])
for name in ('blurred', 'as it is', 'sharpened'):
    low, high = torch.linalg.eigvalsh(curvature(variants[name])).tolist()
    print(f'{name:9} κ = {high / low:6.1f}, steps {steps_to_edge[name]}')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def rate_is(name, power, margin=0.02):  # the errors fall by this factor at each step
    errors = curves[name][5:60]
    return bool(abs(np.log(errors[1:] / errors[:-1]) / np.log(kept[name]) - power).max() < margin)

verify(
    'each step leaves the share 1 - 1/κ of the error',
    lambda name: rate_is(name, 1),
    slip=('leaves its root', lambda name: rate_is(name, 1 / 2)),
    name=['photograph', 'minus its mean'],
)

def is_nearly(name, kappa):
    windows = im2col(sources[name], 1, 2)
    low, high = torch.linalg.eigvalsh(curvature(sources[name]))
    return close(high / low, kappa(windows.square().mean(), windows.prod(1).mean()), rtol=1e-3)  # the outermost columns

verify(
    'κ follows from the products of neighbours',
    lambda name: is_nearly(name, lambda c_0, c_1: (c_0 + c_1) / (c_0 - c_1)),
    slip=('divides the two means', lambda name: is_nearly(name, lambda c_0, c_1: c_0 / c_1)),
    name=['photograph', 'minus its mean'],
)

def same_path(truth, factor):
    wanted = descend(picture, truth, 12)[-1]
    found = train(truth, 11, factor * eta)
    return close((found - truth).norm() / truth.norm(), wanted, atol=1e-6)

verify(
    'a layer of torch takes the steps of the formula',
    lambda: same_path(edge, 1), slip=('takes twice the step', lambda: same_path(edge, 2)),
)

def within(times):  # largest of nine errors of least squares, for noise of ten seeds
    shares = []
    for seed in range(10):
        noise = torch.randn(len(A), generator=torch.Generator().manual_seed(seed))
        error = torch.linalg.lstsq(A, 0.1 * noise[:, None]).solution[:, 0]
        shares.append((error / predicted).square().mean().item())
    # the mean of ten means of chi-squared numbers: dependent, so four times the standard error of nine
    return bool(abs(np.mean(shares) / times**2 - 1) < 4 * (2 / 90) ** 0.5)

verify(
    'the error of the noisy kernel has the predicted size',
    lambda: within(1), slip=('expects twice the deviation', lambda: within(2)),
)

# %% [markdown]
# ## Summary
#
# With each window as a row of a matrix, a convolutional layer is a matrix product, which is fast for small kernels
# and costs memory. The Fourier transform turns convolution into multiplication, which is fast for large kernels.
# Learning a kernel is least squares; gradient descent learns first what neighbouring pixels have in common, and edges
# last, unless the inputs are centred or whitened.
#
# **Further reading.** {cite}`zhang2023dive`, chapter 7, learns an edge from a toy picture.
# {cite}`chellapilla2006high` is the source of im2col, {cite}`cooley1965algorithm` that of the fast Fourier transform,
# and {cite}`lecun1991eigenvalues` explains why centred inputs learn faster.
