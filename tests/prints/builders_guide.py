"""Builder's guide: the meanings of letters."""
import functools

import numpy as np
import safetensors.numpy
import torch
from torch import nn

from nbutils.cases import counts, integers, matrices, vectors
from nbutils.printed import of
from tests.prints import prints

prints(
    'modules-leaky',
    z=vectors(3),
    a=vectors(3),
    j=[1, 2, 3],
    h=of(lambda z, a: nn.functional.prelu(torch.tensor(z)[None], torch.tensor(a))[0].numpy()),
)


def parameters(V, d, m, L):
    """How many parameters the modules have, counted one by one."""
    def linear(a, b):
        return nn.Linear(a, b, bias=False)

    blocks = [[*[linear(d, d)] * 4, linear(d, m), linear(d, m), linear(m, d), nn.RMSNorm(d), nn.RMSNorm(d)]] * L
    layers = [linear(V, d), *[layer for block in blocks for layer in block], nn.RMSNorm(d), linear(d, V)]
    return sum(p.numel() for layer in layers for p in layer.parameters())


prints('modules-count', V=[2, 5], d=[1, 3], m=[2, 4], L=[1, 3], P=of(parameters))


def counted(n, m, p, b):
    """The same, one operation and one number at a time."""
    operations = sum(2 for _ in range(n) for _ in range(m) for _ in range(p))
    numbers = sum(torch.empty(shape, device='meta').numel() for shape in ((n, m), (m, p), (n, p)))
    return operations / (b * numbers)


prints('devices-intensity', n=integers(1, 5), m=integers(1, 5), p=integers(1, 5), b=[2, 4, 8], I=of(counted))


def steps_of(make, rates, name=None):
    """(w, v, g) of four steps of an optimizer of PyTorch on ||w - 1||^2, w^3; v is what it keeps under this name."""
    w = nn.Parameter(torch.tensor([2.0, -1.0], dtype=torch.float64))
    optimizer, found = make([w]), []
    for rate in rates:
        optimizer.param_groups[0]['lr'] = rate
        optimizer.zero_grad()
        ((w - 1).square().sum() + (w**3).sum() / 10).backward()
        v = optimizer.state[w].get(name, torch.zeros(2))
        found.append([part.detach().numpy().copy() for part in (w, v, w.grad)])
        optimizer.step()
    return found


_rates = [0.1, 0.05, 0.2, 0.1]


@functools.cache  # when it is first asked for: importing the table stays quick
def moving():
    return steps_of(lambda p: torch.optim.SGD(p, momentum=0.7), _rates, 'momentum_buffer')


prints(
    'parameters-step',
    t=[1, 2, 3],
    beta=0.7,
    eta=np.array(_rates),
    w=lambda t: moving()[t - 1][0],
    v=lambda t: moving()[t - 1][1],
    g=lambda t: moving()[t - 1][2],
)


@functools.cache
def first():
    return steps_of(lambda p: torch.optim.Adam(p, eps=0.5), [0.1, 0.1, 0.1])


prints(
    'parameters-first',
    t=[0],
    i=[1, 2],
    eta=0.1,
    epsilon=0.5,
    w=lambda t, i: first()[t][0][i - 1],
    g=lambda t, i: first()[t][2][i - 1],
)


def written(n, b):
    """A file of the library with n_j numbers of b_j bytes in each of its tensors."""
    kinds = {1: np.uint8, 2: np.float16, 4: np.float32, 8: np.float64}
    return safetensors.numpy.save({str(j): np.zeros(int(m), kinds[int(c)]) for j, (m, c) in enumerate(zip(n, b, strict=True))})


prints(
    'parameters-size',
    J=3,
    n=counts(3, 1, 9),
    b=counts(3, 0, 3).map(lambda powers: 2**powers),
    h=of(lambda n, b: int.from_bytes(written(n, b)[:8], 'little')),
    S=of(lambda n, b: len(written(n, b))),
)


def through_tie(W, g, k):
    """The gradient of <g, W w_k> with respect to W where g is held fixed, by PyTorch."""
    one = torch.tensor(W, requires_grad=True)
    (torch.tensor(g) @ (one @ one[k - 1])).backward()
    return one.grad.numpy()


prints(
    'parameters-tied',
    W=matrices(4, 3),
    g=vectors(4),
    k=[1, 2, 4],
    w=of(lambda W: lambda k: W[k - 1]),
    e=lambda k: np.eye(4)[k - 1],
    G=of(through_tie),
)
