"""Attention: the meanings of letters."""
from functools import partial

import numpy as np
from scipy import special

from nbutils.printed import of
from tests.prints import normal, prints


def attention(q, k, v):
    return special.softmax(q @ k.T / np.sqrt(q.shape[1]), 1) @ v


def torch_heads(Q, K, V, W_Q, W_K, W_V, W_O):
    import torch
    t = partial(torch.tensor, dtype=torch.float64)
    layer = torch.nn.MultiheadAttention(4, 2, bias=False, batch_first=True, dtype=torch.float64)
    w = np.concatenate([np.concatenate(list(m), 1).T for m in (W_Q, W_K, W_V)])
    with torch.no_grad():
        layer.in_proj_weight.copy_(t(w))
        layer.out_proj.weight.copy_(t(W_O.T))
        return layer(t(Q)[None], t(K)[None], t(V)[None])[0][0].numpy()

_weights = np.random.default_rng(0).normal(size=(3, 2, 4, 2))

_out = np.random.default_rng(1).normal(size=(4, 4))

prints(
    'la.mha.multihead',
    MultiHead=lambda q, k, v: torch_heads(q, k, v, *_weights, _out),
    Concat=np.hstack,
    h=2,
    W_O=_out,
    head=of(lambda Q, K, V: [attention(Q @ a, K @ b, V @ c) for a, b, c in zip(*_weights, strict=True)]),
    Q=normal(3, 4),
    K=normal(5, 4),
    V=normal(5, 4),
)
prints(
    'eq-mha-plaid',
    p=lambda i: np.array([np.cos(np.pi / 6 * i), np.sin(np.pi / 6 * i)]),
    i=range(-5, 6),
    t=of(lambda i: np.pi / 6 * i),
)
prints(
    'eq-mha-attend',
    Q=normal(2, 3),
    K=normal(4, 3),
    V=normal(4, 2),
    q=of(lambda Q: list(Q)),
    k=of(lambda K: list(K)),
    v=of(lambda V: list(V)),
    d=3,
    m=4,
    z=of(lambda Q, K, V: list(attention(Q, K, V))),
)
