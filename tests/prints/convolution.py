"""Convolution: the meanings of letters."""

import numpy as np
from scipy import signal, stats

from nbutils.cases import scalars, vectors
from nbutils.printed import of
from tests.prints import normal, prints

S, TRIES = {}, {}

prints(
    'ml.conv.equivariance',
    f=vectors(5),
    x=vectors(5),
    S=np.roll(np.eye(5), 1, 0),
    **{'*': lambda f, x: np.fft.ifft(np.fft.fft(f) * np.fft.fft(x)).real},
)

prints(
    'eq-im2col',
    A=np.array([[0., 1, 3, 4], [1, 2, 4, 5], [3, 4, 6, 7], [4, 5, 7, 8]]),  # the windows of 0, 1, ..., 8
    k=vectors(4),
    y=of(lambda k: signal.correlate2d(np.arange(9.).reshape(3, 3), k.reshape(2, 2), 'valid').ravel()),
)
prints(
    'eq-kernel-loss',
    A=normal(6, 2),
    k=vectors(2),
    k_star=vectors(2),
    P=6,
    L=of(lambda A, k_star: lambda k: ((A @ k - A @ k_star) ** 2).mean() / 2),
    H=of(lambda A: np.cov(A, rowvar=False, bias=True) + np.outer(A.mean(0), A.mean(0))),
)
_window = np.random.default_rng(1).normal(size=(2, 3))
_picture = np.random.default_rng(2).normal(size=(4, 5))
_output = signal.correlate2d(_picture, _window, 'valid')
prints(
    'eq-conv-layer',
    Y=lambda i, j: _output[i, j],
    V=lambda a, b: _window[a, b],
    X=lambda i, j: _picture[i, j],
    k_h=2,
    k_w=3,
    i=range(0, 3),
    j=range(0, 3),
)

_f, _g = np.random.default_rng(0).normal(size=(2, 3, 3))


def at(array):
    return lambda i, j: array[i, j] if 0 <= i < array.shape[0] and 0 <= j < array.shape[1] else 0.0

prints(
    'dl.convolutions.discrete2d',
    f=at(_f),
    g=at(_g),
    a=range(0, 3),
    b=range(0, 3),
    i=range(-1, 6),
    j=range(-1, 6),
    **{'*': lambda f, g: at(signal.convolve2d(_f, _g))},
)
prints(
    'dl.convolutions.discrete',
    f=(lambda f: lambda i: f[i] if 0 <= i < 3 else 0.0)([2.0, -1.0, 3.0]),
    g=(lambda g: lambda i: g[i] if 0 <= i < 2 else 0.0)([1.0, 4.0]),
    a=range(0, 3),
    i=range(-1, 6),
    **{'*': lambda f, g: (lambda h: lambda i: h[i] if 0 <= i < 4 else 0.0)(np.convolve([2.0, -1.0, 3.0], [1.0, 4.0]))},
)


def gauss(mean, variance):
    return lambda x: stats.norm.pdf(x, mean, variance ** 0.5)

prints(
    'dl.convolutions.integral',
    f=gauss(0.5, 0.7),
    g=gauss(-1.0, 0.4),
    x=scalars(-2, 2),
    z=(-12.0, 12.0),
    tries=5,
    **{'*': lambda f, g: gauss(-0.5, 1.1)},
)
