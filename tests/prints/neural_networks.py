"""Multilayer perceptrons: the meanings of letters."""
from itertools import product

import numpy as np
import torch
from scipy import special, stats
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from nbutils.cases import integers, matrices, scalars, vectors
from nbutils.printed import Random, of
from tests.prints import normal, prints

prints(
    'hidden-collapse',
    x=matrices(1, 3), W_1=matrices(3, 2), b_1=matrices(1, 2), W_2=matrices(2, 2), b_2=matrices(1, 2),
)

_ends = np.linspace(0.5, 2.5, 5)  # of four pieces

prints(
    'hidden-hinges',
    m=4,
    a=0.5,
    f=[np.sin, np.exp, np.sqrt],
    t=[list(_ends[:-1])],
    s=of(lambda f: list(np.diff(f(_ends)) / 0.5)),
    relu=lambda z: max(z, 0),
    x=scalars(0.5, 2.5),
    f_m=of(lambda f: lambda x: np.interp(x, _ends, f(_ends))),
)

# vanishing and exploding gradients: three layers of sigmoid units without biases, one after the other


def sigmoid_net(W, h):
    """The hidden layers h(1), h(2), h(3), and the Jacobian of each for the one before."""
    layers, jacobians = [], []
    for weights in W:
        h = 1 / (1 + np.exp(-h @ weights))
        layers.append(h)
        jacobians.append((h * (1 - h))[:, None] * weights.T)
    return layers, jacobians


def mean_log_length(n):
    """The mean of log r for the density r**(n - 1) exp(-r**2 / 2), the length of n standard Gaussian numbers."""
    t = np.linspace(-60, 4, 20001)  # r = e**t
    weight = np.exp(n * t - np.exp(2 * t) / 2)
    return (t * weight).sum() / weight.sum()


_whole = of(lambda W, x: np.linalg.multi_dot([np.eye(2), *sigmoid_net(W, x)[1][::-1]]))
prints(
    'gradients-jacobians',
    W=normal(3, 2, 2).map(list), x=normal(2), l=[1, 2, 3], L=3,
    phi=lambda z: 1 / (1 + np.exp(-z)),
    J=of(lambda W, x: sigmoid_net(W, x)[1]),
    J_net=_whole,
    z=of(lambda W, x: [h @ weights for h, weights in zip([x, *sigmoid_net(W, x)[0]], W, strict=False)]),
)
prints(
    'gradients-row',
    W=normal(3, 2, 2).map(list), x=normal(2), l=[2, 3],
    J=of(lambda W, x: sigmoid_net(W, x)[1]),
    g=of(lambda W, x: [np.eye(2)[:1] @ np.linalg.multi_dot([np.eye(2), *sigmoid_net(W, x)[1][:k:-1], np.eye(2)]) for k in range(3)]),
)
prints('gradients-quarter', W=normal(3, 2, 2).map(list), x=normal(2), L=3, J_net=_whole,
       equality=dict(W=[np.eye(2), np.array([[1., -1], [-1, 1]])], x=np.zeros(2), L=2))
prints('gradients-rate', n=[1, 2, 4, 9], psi=lambda v: torch.digamma(torch.tensor(float(v), dtype=torch.float64)).item(), **{'lambda': mean_log_length})
prints('gradients-clip', g=normal(3), c=scalars(0.1, 4), g_new=of(lambda g, c: g if np.linalg.norm(g) <= c else g / np.linalg.norm(g) * c))

prints(
    'dl.limits.loan-increment',
    p=[lambda s, c=c, k=k: 0.1 + 0.9 * s**k / (s**k + c**k) for c in (20, 100) for k in (0.5, 1, 2)],
    slip=('turns the comparison round', 'p(50) - p(0) < p(1050) - p(1000)'),
)

_knots, _direction = [-1.0, -0.5, 0.5, 3.0], np.array([[1.0], [-2.0], [0.5]])

prints(
    'gen-dl-interpolant',
    n=4,
    y=[[1.0, 3.0, -2.0, 0.5], [0.0, 1.0, 0.0, 1.0]],
    t=[_knots],
    s=of(lambda y: list(np.diff(y) / np.diff(_knots))),
    relu=lambda z: np.maximum(z, 0),
    v=[_direction],
    x=matrices(1, 3, -1, 1).filter(lambda x: (x @ _direction).item() <= 3),
    f=of(lambda y: lambda x: np.interp((x @ _direction).item(), _knots, y)),
)


def _ridge(H, Y, lambda_):
    return H.T @ np.linalg.solve(H @ H.T + lambda_ * np.eye(len(H)), Y)


prints(
    'gen-dl-weights',
    H=normal(3, 5),
    Y=normal(3, 2),
    r=3,
    lambda_=scalars(0.1, 3),
    sigma=of(lambda H: np.linalg.svd(H)[1]),
    u=of(lambda H: list(np.linalg.svd(H)[0].T)),
    v=of(lambda H: list(np.linalg.svd(H)[2][:3])),
    W_lambda=of(_ridge),
)
# forward propagation

_net = dict(x=matrices(1, 3, -2, 2), W_1=matrices(3, 2, -2, 2), b_1=matrices(1, 2, -2, 2),
            W_2=matrices(2, 2, -2, 2), b_2=matrices(1, 2, -2, 2))


def _layers(x, W_1, b_1, W_2, b_2):
    """(pre-activations, hidden layer, scores) of the library for a row."""
    z = functional.linear(torch.tensor(x), torch.tensor(W_1.T), torch.tensor(b_1[0]))
    h = torch.tanh(z)
    return z, h, functional.linear(h, torch.tensor(W_2.T), torch.tensor(b_2[0]))


prints(
    'fp-objective',
    **_net,
    y=integers(1, 2),
    lambda_=scalars(0.1, 2),
    phi=np.tanh,  # not the ReLU, which may be applied twice
    softmax=lambda o: np.exp(o) / np.exp(o).sum(),
    z=of(lambda x, W_1, b_1, W_2, b_2: _layers(x, W_1, b_1, W_2, b_2)[0].numpy()),
    h=of(lambda x, W_1, b_1, W_2, b_2: _layers(x, W_1, b_1, W_2, b_2)[1].numpy()),
    o=of(lambda x, W_1, b_1, W_2, b_2: _layers(x, W_1, b_1, W_2, b_2)[2].numpy()),
    p=of(lambda x, W_1, b_1, W_2, b_2: _layers(x, W_1, b_1, W_2, b_2)[2].softmax(1).numpy()),
    p_columns=of(lambda p: list(p[0])),
    ell=of(lambda x, W_1, b_1, W_2, b_2, y: functional.cross_entropy(
        _layers(x, W_1, b_1, W_2, b_2)[2], torch.tensor([y - 1])).item()),
    J=of(lambda x, W_1, b_1, W_2, b_2, y, lambda_: functional.cross_entropy(
        _layers(x, W_1, b_1, W_2, b_2)[2], torch.tensor([y - 1])).item() + lambda_ / 2 * ((W_1**2).sum() + (W_2**2).sum())),
)


def _counted(widths, n):
    """(bytes that autograd saves in the forward pass of a ReLU network, beside data and parameters, its FLOPs)."""
    pairs = zip(widths, widths[1:], strict=False)
    net = torch.nn.Sequential(*[part for pair in pairs for part in (torch.nn.Linear(*pair), torch.nn.ReLU())][:-1])
    x, y, kept = torch.ones(n, widths[0]), torch.zeros(n, dtype=torch.long), {}
    known = {t.untyped_storage().data_ptr() for t in (x, y, *net.parameters())}

    def pack(t):
        if t.ndim and t.untyped_storage().data_ptr() not in known:
            kept[t.untyped_storage().data_ptr()] = t
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t), FlopCounterMode(display=False) as flops:
        functional.cross_entropy(net(x), y)
    return sum(t.nbytes for t in kept.values()), flops.get_total_flops()


# widths d_0, ..., d_3 of networks with three layers
_widths = [lambda layer, w=w: w[int(layer)] for w in ((2, 3, 4, 5), (5, 1, 2, 3), (1, 6, 1, 2), (4, 4, 2, 1))]

prints('fp-bytes', s=4, n=[1, 2, 5], d=_widths, L=3, M=of(lambda d, n: _counted([d(k) for k in range(4)], n)[0]))
prints('fp-flops', n=[1, 2, 5], d=_widths, L=3, C=of(lambda d, n: _counted([d(k) for k in range(4)], n)[1]))

# backpropagation

prints(
    'bp-root',
    L=[1, 2, 4, 9, 16, 24],
    k=[1, 2, 3, 4, 6, 24],
    equality={'L': 16, 'k': 4},
)

_skewed = Random(list(product([2.0, -1.0], repeat=3)), [np.prod(p) for p in product([1 / 3, 2 / 3], repeat=3)])

prints(  # weights of mean zero and variance 2, without symmetry
    'init-unit', tries=20, d=3, w=_skewed, h=vectors(3), sigma=2**0.5,
)

_grid = np.linspace(-7, 7, 41)  # of a density as smooth as this, more points give no more digits
_normal = Random(list(_grid), list(stats.norm.pdf(_grid) / stats.norm.pdf(_grid).sum()))
_moment = {np.sin: lambda v: (1 - np.exp(-2 * v)) / 2, np.cos: lambda v: (1 + np.exp(-2 * v)) / 2}  # E f(sqrt(v) Z)**2

prints(
    'init-forward',
    tries=20,
    l=2,
    d=[[3, 5], [7, 2]],
    sigma=scalars(0.1, 1),
    phi=[np.sin, np.cos],
    Z=_normal,
    v=of(lambda d, sigma, phi: [0.7, d[0] * sigma**2 * _moment[phi](0.7)]),
)
prints(
    'init-backward',
    tries=20,
    l=2,
    d=[[3, 5], [7, 2]],
    sigma=scalars(0.1, 1),
    phi=[np.sin, np.cos],
    Z=_normal,
    v=[[0.7, 0.4]],
    u=of(lambda d, sigma, phi: [d[1] * sigma**2 * _moment[np.sin if phi is np.cos else np.cos](0.7) * 2.5, 2.5]),
)
prints('init-bound', l=2, d=[[3, 5], [7, 2]], sigma=of(lambda d: (2 / (d[0] + d[1])) ** 0.5),
       c=of(lambda sigma: sigma / stats.uniform(-1, 2).std()))

_masks = Random(list(product([0., 1.], repeat=3)), of(lambda p: [np.prod(np.where(r, 1 - p, p)) for r in product([0, 1], repeat=3)]))

prints(
    'dropout-moments',
    p=[0.2, 0.5, 0.7],
    h=vectors(3, -3, 3),
    r=_masks,
    h_tilde=of(lambda r, h, p: np.array(r) * np.ravel(h) / (1 - p)),
    j=range(1, 4),
)
prints(
    'dropout-jensen',
    p=[0.2, 0.5],
    h=vectors(3, -3, 3),
    r=_masks,
    o=of(lambda r, h, p: np.array(r) * np.ravel(h) / (1 - p) + 0.3),
    relu=lambda z: max(z, 0),
    k=range(1, 4),
    equality=dict(h=np.array([1., 2, 3]), p=0.2),
)
prints(
    'dropout-penalty',
    p=[0.2, 0.5],
    d=2,
    X=matrices(2, 2, -3, 3),
    x=of(lambda X: list(X.T)),
    y=vectors(2, -3, 3),
    w=vectors(2, -3, 3),
    r=Random(
        list(product([0., 1.], repeat=4)), of(lambda p: [np.prod(np.where(r, 1 - p, p)) for r in product([0, 1], repeat=4)])),
    X_tilde=of(lambda r, X, p: np.reshape(r, (2, 2)) * X / (1 - p)),
)
# activation_functions

prints('activation-rescaled', z=scalars(-5, 5), sigma=special.expit)
prints('activation-slopes', z=scalars(-3, 3), sigma=special.expit)
prints(
    'activation-smooth',
    z=scalars(-4, 4),
    alpha=[0.01, 0.2, 0.5],
    sigma=special.expit,
    Phi=stats.norm.cdf,
    leaky=of(lambda alpha: lambda z: z if z > 0 else alpha * z),
    silu=lambda z: z / (1 + np.exp(-z)),
    gelu=lambda z: z * special.erfc(-z / np.sqrt(2)) / 2,
)
prints(
    'activation-gelu-tanh',
    z=scalars(-4, 4),
    gelu=lambda z: z * special.ndtr(z),
    options={'approx': 5e-4},
)
prints(
    'activation-shift',
    eta=scalars(0.1, 1),
    delta_j=scalars(-1, 1),
    x=vectors(3, -2, 2),
    x_prime=vectors(3, -2, 2),
    w_j=vectors(3, -2, 2),
    b_j=scalars(-1, 1),
)
