"""Convolution: the meanings of letters."""

import numpy as np
from scipy import signal

from nbutils.cases import vectors
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
