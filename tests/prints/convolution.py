"""Convolution: the meanings of letters."""

import numpy as np
import torch
from scipy import signal, stats
from torch import nn
from torch.nn.functional import batch_norm, conv1d, conv_transpose1d, conv_transpose2d
from torch.utils.flop_counter import FlopCounterMode

from nbutils.cases import integers, scalars, vectors
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
    'eq-dense-shuffled',
    W=lambda j, k: [[1.0, -2.0, 3.0, 0.5], [4.0, 1.0, -1.0, 2.0]][j][k],
    x=lambda k: [2.0, 5.0, -1.0, 3.0][k],
    pi=lambda k: [2, 0, 3, 1][k],
    n=4,
    j=range(2),
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

# weight sharing

_seen, _aims = np.random.default_rng(3).normal(size=(2, 4, 5))


prints(
    'eq-kernel-gradient',
    tries=12,
    V=normal(2, 2),
    X=lambda i, j: _seen[i - 1, j - 1],  # with a and b from 1, as the entries of an array are numbered here
    r=3,
    c=4,
    Y=of(lambda V: signal.correlate2d(_seen, V, 'valid')),
    L=of(lambda Y: (np.sin(Y) * _aims[:3, :4]).sum()),
    D=of(lambda Y: lambda i, j: np.cos(Y[i, j]) * _aims[i, j]),
    a=range(1, 3),
    b=range(1, 3),
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


# LeNet: sides, parameters and operations are those of torch

def square_layer(c_i, c_o, k):
    return nn.Conv2d(c_i, c_o, k, device='meta')


def multiplied_and_added(m, c_o, c_i, k):
    with FlopCounterMode(display=False) as counter:
        square_layer(c_i, c_o, k)(torch.empty(1, c_i, m + k - 1, m + k - 1, device='meta'))
    return counter.get_total_flops()


prints(
    'eq-lenet-side',
    n=integers(6, 12),
    p=integers(0, 3),
    k=integers(1, 6),
    s=integers(1, 4),
    m=of(lambda n, p, k, s: conv1d(torch.empty(1, 1, n), torch.empty(1, 1, k), padding=p, stride=s).shape[-1]),
    tries=40,
)
prints(
    'eq-lenet-parameters',
    c_o=integers(1, 5),
    c_i=integers(1, 5),
    k=integers(1, 5),
    P=of(lambda c_o, c_i, k: sum(p.numel() for p in square_layer(c_i, c_o, k).parameters())),
    tries=40,
)
prints(
    'eq-lenet-operations',
    m=integers(1, 5),
    c_o=integers(1, 5),
    c_i=integers(1, 5),
    k=integers(1, 5),
    F=of(multiplied_and_added),
    tries=40,
)


# stages: halved sides and doubled channels, the same operations

prints(
    'eq-modern-stage',
    c=integers(1, 5),
    m=integers(1, 8),
    F=lambda c, m: (c * m) ** 2 * multiplied_and_added(1, 1, 1, 3),
    tries=20,
)


# padding and stride: sizes are those of torch, p zeros or pixels on each side

def shape_only(*shape):
    return torch.empty(shape, device='meta')


def size_in_torch(n, p, d, k, s):
    return conv1d(shape_only(1, 1, n), shape_only(1, 1, k), padding=p, stride=s, dilation=d).shape[-1]


def size_back_in_torch(m, s, k, p, o):
    return conv_transpose1d(shape_only(1, 1, m), shape_only(1, 1, k), stride=s, padding=p, output_padding=o).shape[-1]


def pixels_seen(k, s, d):
    """How long a stretch of pixels one output depends on: the pixels themselves, layer by layer from above."""
    seen = {0}
    for kernel, stride, dilation in list(zip(k, s, d, strict=True))[::-1]:
        seen = {stride * place + dilation * a for place in seen for a in range(kernel)}
    return max(seen) - min(seen) + 1


def spread_of_steps(L, k):
    """The standard deviation of the sum of L numbers, each one of k neighbours with equal probability."""
    law = np.ones(1)
    for _ in range(L):
        law = np.convolve(law, np.ones(k) / k)
    places = np.arange(len(law))
    return (law @ places**2 - (law @ places) ** 2) ** 0.5


prints(
    'eq-output-size',
    n=integers(9, 20), p=integers(0, 5), d=integers(1, 3), k=integers(1, 4), s=integers(1, 5), m=of(size_in_torch),
)
prints(
    'eq-receptive-field',
    L=3, k=[[3, 2, 4], [1, 5, 2]], s=[[2, 3, 1], [1, 2, 4]], d=[[1, 2, 3], [3, 1, 1]], r=of(lambda k, s, d: pixels_seen(k, s, d)),
)
prints('eq-effective-field', L=integers(1, 12), k=integers(1, 7), sigma=of(spread_of_steps))

_small, _copied = (np.random.default_rng(seed).normal(size=shape) for seed, shape in ((5, (2, 3)), (6, (4, 3))))
_large = conv_transpose2d(*(torch.tensor(a)[None, None] for a in (_small, _copied)), stride=2)[0, 0].numpy()
prints(
    'eq-transposed',
    X=lambda r, c: _large[r, c],
    Y=lambda i, j: _small[i, j],
    W=lambda a, b: _copied[a, b] if 0 <= a < 4 and 0 <= b < 3 else 0.0,
    s=2,
    m_h=2,
    m_w=3,
    r=range(0, 6),
    c=range(0, 7),
)
prints(
    'eq-transposed-size',
    s=integers(2, 4), m=integers(3, 8), k=integers(4, 6), p=[0, 1, 2], o=[0, 1], n=of(size_back_in_torch),
)
prints('eq-transposed-adjoint', A=normal(3, 7), x=vectors(7), y=vectors(3))
prints('eq-conv-input-gradient', A=normal(3, 5), x=vectors(5, -2, 2), L=lambda y: np.sin(y[0]) + y[0] * y[1] ** 2 + y[2])

_map = np.random.default_rng(3).normal(size=(7, 8))
_windows = np.lib.stride_tricks.sliding_window_view(_map, (3, 3))[::2, ::2]
prints(
    'eq-pool-max',
    Y=lambda i, j: _windows[i, j].max(),
    X=lambda i, j: _map[i, j],
    s=2,
    a=range(0, 3),
    b=range(0, 3),
    i=range(0, 3),
    j=range(0, 3),
)
prints(
    'eq-pool-mean',
    Y=lambda i, j: _windows[i, j].mean(),
    X=lambda i, j: _map[i, j],
    k=3,
    s=2,
    i=range(0, 3),
    j=range(0, 3),
)


def share_of_middle(k):  # of the places of the largest entry, those that both windows see
    before, after = {(r, c) for r in range(k) for c in range(k)}, {(r, c + 1) for r in range(k) for c in range(k)}
    return len(before & after) / len(before | after)

prints('eq-pool-keep', p=share_of_middle, k=[1, 2, 3, 4, 7])


_kernel, _channels = (np.random.default_rng(seed).normal(size=shape) for seed, shape in ((3, (2, 3, 2, 2)), (4, (3, 3, 4))))
_summed = np.array([sum(signal.correlate2d(x, v, 'valid') for x, v in zip(_channels, slices, strict=True)) for slices in _kernel])
prints(
    'eq-channels',
    Y=lambda o, i, j: _summed[o, i, j],
    W=lambda o, c, a, b: _kernel[o, c, a, b],
    X=lambda c, i, j: _channels[c, i, j],
    c_i=3,
    k_h=2,
    k_w=2,
    o=range(0, 2),
    i=range(0, 2),
    j=range(0, 3),
)
_mix = np.random.default_rng(5).normal(size=(2, 3))
_mixed = np.tensordot(_mix, _channels, 1)
prints(
    'eq-pointwise',
    Y=lambda o, i, j: _mixed[o, i, j],
    W=lambda o, c: _mix[o, c],
    X=lambda c, i, j: _channels[c, i, j],
    c_i=3,
    o=range(0, 2),
    i=range(0, 3),
    j=range(0, 4),
)
_patterns = np.random.default_rng(6).normal(size=(3, 2, 2))
_answers = np.array([[[sum(_mix[o, d] * (signal.correlate2d(pixel, _patterns[d], 'valid')[0, 0] if d == c else 0.0) for d in range(3))
                       for pixel in np.eye(4).reshape(4, 2, 2)] for c in range(3)] for o in range(2)])
prints(  # the weights of both steps together, from their answers to single pixels of each channel
    'eq-separable',
    W=lambda o, c, a, b: _answers[o, c, 2 * a + b],
    P=lambda o, c: _mix[o, c],
    D=lambda c, a, b: _patterns[c, a, b],
    o=range(0, 2),
    c=range(0, 3),
    a=range(0, 2),
    b=range(0, 2),
)
prints('eq-separable-cost', c_i=[1, 3, 8], c_o=[1, 2, 16], k=[1, 3, 5])


# layer normalization

_pull = np.random.default_rng(4).normal(size=5)
prints(
    'eq-ln-backward',
    tries=12,
    x=normal(5),
    epsilon=scalars(0.1, 2),
    K=5,
    k=range(1, 6),
    sigma=of(lambda x: x.std()),
    x_hat=of(lambda x, epsilon: (x - x.mean()) / np.sqrt(x.var() + epsilon)),
    L=of(lambda x_hat: (np.sin(x_hat) * _pull).sum()),
    g=of(lambda x_hat: np.cos(x_hat) * _pull),
)
prints(
    'eq-rms-norm',
    x=normal(5),
    epsilon=scalars(0.1, 2),
    K=5,
    k=range(1, 6),
    gamma=normal(5),
    RMSNorm=of(lambda gamma, epsilon: lambda x: nn.functional.rms_norm(torch.tensor(x), (5,), torch.tensor(gamma), epsilon).numpy()),
)


# batch normalization: one unit, four rows
_unit, _arriving = np.random.default_rng(7).normal(2, 3, size=(2, 4))
_mean, _spread = float(_unit.mean()), float(_unit.std())
_standard = (_unit - _mean) / (_spread**2 + 0.1) ** 0.5


def normalized_in_torch(gamma, beta):
    scale, shift = torch.tensor([[gamma], [beta]], dtype=torch.float64)
    rows = batch_norm(torch.tensor(_unit)[:, None], None, None, scale, shift, True, eps=0.1)
    return lambda n: rows[n - 1, 0].item()


def gradient_in_torch():
    z = torch.tensor(_unit)[:, None].requires_grad_()
    batch_norm(z, None, None, training=True, eps=0.1).backward(torch.tensor(_arriving)[:, None])
    return lambda n: z.grad[n - 1, 0].item()


prints('dl.batchnorm.mu', mu=_mean, B=4, z=lambda n: _unit[n - 1])
prints('ml.bn.var', sigma=_spread, mu=_mean, B=4, z=lambda n: _unit[n - 1])
prints(
    'dl.batchnorm.bn',
    z=lambda n: _unit[n - 1],
    mu=_mean,
    sigma=_spread,
    epsilon=0.1,
    gamma=scalars(),
    beta=scalars(),
    y=of(normalized_in_torch),
    n=range(1, 5),
)
prints(
    'eq-bn-backward',
    delta=gradient_in_torch(),
    sigma=_spread,
    epsilon=0.1,
    B=4,
    g=lambda n: _arriving[n - 1],
    z_hat=lambda n: _standard[n - 1],
    n=range(1, 5),
)
prints(
    'eq-bn-running',
    mu_hat=lambda t: [1.0, 1.3, 1.81][t],  # three tenths of the way to 2, then to 3
    mu=lambda t: [2.0, 3.0][t],
    alpha=0.3,
    t=range(0, 2),
)

# residual networks

_branch = np.random.default_rng(4).normal(size=(4, 4))
prints(
    'eq-residual',
    x=vectors(4),
    f=lambda x: np.tanh(_branch @ x),
    y=of(lambda x: np.hstack([np.eye(4), np.eye(4)]) @ np.r_[x, np.tanh(_branch @ x)]),
)
