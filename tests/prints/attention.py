"""Attention: the meanings of letters."""
from collections import Counter
from functools import partial
from itertools import product

import numpy as np
import torch
from scipy import special

from nbutils.cases import counts, scalars, vectors
from nbutils.printed import Random, of
from tests.prints import normal, prints


def attention(q, k, v):
    return special.softmax(q @ k.T / np.sqrt(q.shape[1]), 1) @ v


def torch_attention(q, k, v, scale=None):
    q, k, v = (torch.tensor(array)[None] for array in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=scale)[0].numpy()


def torch_softmax(scores):
    return torch.tensor(scores).softmax(-1).numpy()


def torch_heads(Q, K, V, W_Q, W_K, W_V, W_O, heads=2):
    t = partial(torch.tensor, dtype=torch.float64)
    layer = torch.nn.MultiheadAttention(4, heads, bias=False, batch_first=True, dtype=torch.float64)
    w = np.concatenate([np.concatenate(list(m), 1).T for m in (W_Q, W_K, W_V)])
    with torch.no_grad():
        layer.in_proj_weight.copy_(t(w))
        layer.out_proj.weight.copy_(t(W_O.T))
        return layer(t(Q)[None], t(K)[None], t(V)[None])[0][0].numpy()

_weights = np.random.default_rng(0).normal(size=(3, 2, 4, 2))

_out = np.random.default_rng(1).normal(size=(4, 4))

prints(
    'la.mha.multihead',
    tries=15,
    MultiHead=lambda q, k, v: torch_heads(q, k, v, *_weights, _out),
    Concat=np.hstack,
    h=2,
    W_O=_out,
    head=of(lambda Q, K, V: [attention(Q @ a, K @ b, V @ c) for a, b, c in zip(*_weights, strict=True)]),
    Q=normal(3, 4),
    K=normal(5, 4),
    V=normal(5, 4),
)
# linear and embedding layers

def lookup_loss(ids, G):  # its gradient with respect to row t of X is row t of G
    def L(W):
        X = torch.nn.functional.embedding(torch.tensor(ids).long(), torch.tensor(np.asarray(W).T))
        return (X * torch.tensor(G)).sum().item()
    return L


prints(
    'embedding-gradient',
    tries=30,
    W=normal(2, 4),
    ids=counts(5, 0, 3),
    E=of(lambda ids: np.eye(4)[ids.astype(int)]),
    G=normal(5, 2),
    L=of(lookup_loss),
)
# scaled dot-product attention

prints(
    'la.attention.formula',
    tries=15,
    Attention=lambda q, k, v: torch_attention(q, k, v),
    softmax=lambda S: special.softmax(S, 1),
    Q=normal(3, 4),
    K=normal(5, 4),
    V=normal(5, 2),
    n=3,
    d_k=4,
    d_v=2,
)
prints(
    'ml.tf.attention.inner',
    Q=normal(2, 3),
    K=normal(4, 3),
    q=of(lambda Q: list(Q)),
    k=of(lambda K: list(K)),
    s=of(lambda Q, K: np.einsum('ik,jk->ij', Q, K)),
    i=range(1, 3),
    j=range(1, 5),
)
prints(
    'ml.tf.attention.softmax',
    tries=15,
    s=normal(2, 4),
    a=of(lambda s: torch_softmax(s / 3 ** 0.5)),
    d_k=3,
    m=4,
    i=range(1, 3),
    j=range(1, 5),
)
prints(
    'ml.tf.attention.average',
    tries=10,
    S=normal(2, 4),
    a=of(lambda S: torch_softmax(S)),
    V=normal(4, 2),
    v=of(lambda V: list(V)),
    z=of(lambda S, V: list(torch_attention(S, np.eye(4), V, scale=1.0))),
    m=4,
    i=range(1, 3),
    j=range(1, 5),
)
prints(
    'la.attention.self',
    tries=15,
    Attention=attention,
    X=normal(5, 4),
    W_Q=normal(4, 4),
    W_K=normal(4, 4),
    W_V=normal(4, 4),
    Z=of(lambda X, W_Q, W_K, W_V: torch_heads(X, X, X, W_Q[None], W_K[None], W_V[None], np.eye(4), heads=1)),
)
prints('eq-sdpa-jacobian', tries=10, s=normal(3), a=of(lambda s: special.softmax(s)), j=range(1, 4), l=range(1, 4))
prints('eq-sdpa-slope', tries=10, s=normal(3), a=of(lambda s: special.softmax(s)), m=3)
prints(
    'eq-sdpa-rescale',
    s=vectors(3),
    t=scalars(-3, 3),
    u=scalars(-3, 3),
    j=range(1, 4),
)
_signs = Random(np.array(list(product([-1.0, 1.0], repeat=2))))  # independent entries of mean 0 and variance 1
prints('la.attention.scale', tries=1, q=_signs, k=Random(np.array(list(product([-1.5 ** 0.5, 0, 1.5 ** 0.5], repeat=2)))), d_k=2)

# multi-head attention

prints(
    'la.mha.head',
    tries=15,
    Attention=attention,
    A=normal(8, 8),
    W_Q=of(lambda A: [A[:4, :3], A[4:, :3]]),
    W_K=of(lambda A: [A[:4, 3:6], A[4:, 3:6]]),
    W_V=of(lambda A: [A[:4, 6:], A[4:, 6:]]),
    head=of(lambda Q, K, V, W_Q, W_K, W_V: [torch_attention(Q @ a, K @ b, V @ c) for a, b, c in zip(W_Q, W_K, W_V, strict=True)]),
    Q=normal(3, 4),
    K=normal(5, 4),
    V=normal(5, 4),
    h=2,
)
prints('la.mha.pseudocode.head-dim', h=[1, 2, 3, 4], k=[1, 2, 5], E=of(lambda h, k: h * k))
prints(
    'ml.tf.multihead.head',
    tries=15,
    softmax=lambda S: special.softmax(S, 1),
    X=normal(5, 4),
    W_Q=of(lambda X: list(_weights[0])),
    W_K=of(lambda X: list(_weights[1])),
    W_V=of(lambda X: list(_weights[2])),
    d_tilde=lambda k: {1: 2}.get(k, 5),  # of keys
    k=1,
    head=of(lambda X: list(np.split(torch_heads(X, X, X, *_weights, np.eye(4)), 2, axis=1))),
    i=[1, 2],
)

# transformer language model: contexts and characters are numbers, those of _contexts and of _text

_text = 'abbacabbadabbacab'
_contexts = ['', 'a', 'b', 'ba', 'bb', 'ca', 'da', 'aca', 'bba', 'zzz', 'zz', 'z']  # z never came


def followers(s):
    return Counter(after for *before, after in zip(*(_text[k:] for k in range(len(s) + 1)), strict=False) if before == list(s))


def witten_bell(c, s):
    """The mixture as one sum over the context and its ends, each with what those before it leave."""
    s, share, left = _contexts[int(s)], 0.0, 1.0
    for start in range(len(s) + 1):
        after = followers(s[start:])
        if after:
            share += left * after['abcd'[int(c)]] / (after.total() + len(after))
            left *= len(after) / (after.total() + len(after))
    return share + left / 4


prints(
    'eq-witten-bell',
    p=witten_bell,
    n=lambda s, *c: followers(_contexts[int(s)])['abcd'[int(c[0])]] if c else followers(_contexts[int(s)]).total(),
    t=lambda s: len(followers(_contexts[int(s)])),
    c=range(4),
    s=range(1, 9),
    s_prime=of(lambda s: _contexts.index(_contexts[s][1:])),
)
prints(
    'eq-lm-bits',
    tries=30,
    N=5,
    scores=normal(5, 4),
    x=counts(5, 0, 3),
    s=of(lambda x: list(range(5))),
    log=lambda base, value: np.log(value) / np.log(base),
    p=of(lambda scores: lambda c, s: torch_softmax(scores[int(s)])[int(c)]),
    b=of(lambda scores, x: torch.nn.functional.cross_entropy(torch.tensor(scores)[1:], torch.tensor(x).long()[1:]).item() / np.log(2)),
)


def rms_norm(X):
    return X / np.sqrt((X**2).mean(1, keepdims=True))


def torch_block(X):
    x = torch.tensor(X)
    y = x + causal(torch.nn.RMSNorm(4, eps=0, dtype=x.dtype)(x))
    return [y.detach().numpy(), (y + gated(torch.nn.RMSNorm(4, eps=0, dtype=x.dtype)(y))).detach().numpy()]


def causal(x):
    return torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True)[0]


def gated(y):
    return torch.nn.functional.silu(y.flip(1)) * y


prints(
    'eq-lm-block',
    tries=15,
    X=normal(3, 4),
    Y=of(lambda X: torch_block(X)[0]),
    Z=of(lambda X: torch_block(X)[1]),
    RMSNorm=rms_norm,
    Attention=lambda X: special.softmax(X @ X.T / 2 + np.triu(np.full((3, 3), -np.inf), 1), 1) @ X,
    SwiGLU=lambda Y: Y[:, ::-1] * special.expit(Y[:, ::-1]) * Y,
)
