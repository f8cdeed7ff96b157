"""Builder's guide: the meanings of letters."""
import torch
from torch import nn

from nbutils.cases import integers, vectors
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
