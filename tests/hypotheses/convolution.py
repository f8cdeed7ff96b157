"""Convolution: theorems as functions, and cases without their hypotheses."""
import numpy as np

from nbutils.cases import vectors
from nbutils.checks import close
from tests.hypotheses import theorem


def around(f, x):
    """The convolution of two signals on a circle."""
    return np.array([sum(f[k] * x[i - k] for k in range(len(x))) for i in range(len(x))])


def cut_off(f, x):
    """The convolution of two signals with zeros beyond their ends, cut to their length."""
    return np.convolve(f, x)[:len(x)]


FILTER = np.array([1., -2., 0., 0.5])
theorem(
    'thm-equivariant-is-convolution',
    lambda A, x: not close(A(np.roll(x, 1)), np.roll(A(x), 1)) or close(A(x), around(A(np.eye(4)[0]), x)),
    A=[lambda x: around(FILTER, x), lambda x: np.cumsum(x), lambda x: x.mean() + 0 * x], x=vectors(4),
    without={'A linear map': dict(A=lambda x: x ** 2, x=np.array([2., 1., 0., 3.]))},
)
theorem(
    'thm-convolution-fourier',
    lambda convolve, f, x: close(np.fft.fft(convolve(f, x)), np.fft.fft(f) * np.fft.fft(x)),
    convolve=[around], f=vectors(4), x=vectors(4), without={'on a circle': dict(convolve=cut_off, f=FILTER, x=np.ones(4))},
)
