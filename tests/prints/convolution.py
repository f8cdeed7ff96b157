"""Convolution: the meanings of letters."""

import numpy as np
from scipy import signal, stats

from nbutils.cases import scalars, vectors
from tests.prints import prints

S, TRIES = {}, {}

prints(
    'ml.conv.equivariance',
    f=vectors(5),
    x=vectors(5),
    S=np.roll(np.eye(5), 1, 0),
    **{'*': lambda f, x: np.fft.ifft(np.fft.fft(f) * np.fft.fft(x)).real},
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
