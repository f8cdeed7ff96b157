"""Attention: theorems as functions, and cases without their hypotheses."""
from itertools import product

import numpy as np
from scipy.special import softmax

from nbutils.checks import close
from tests.hypotheses import theorem
from tests.prints import normal


def errors_of_estimates(tokens, weights, places, features):
    """Whether means of equally likely `tokens` (outcomes, n, r) leave squared errors of r - h or more.

    `weights` makes (h, n) weights of the tokens (n, r) of an outcome, `features` what is estimated from, linearly, of the means.
    """
    means = np.array([weights(x) @ x for x in tokens])  # (outcomes, h, r)
    known = features(means.reshape(len(tokens), -1))
    needs = tokens[:, places, range(tokens.shape[2])]
    known = np.hstack([known, np.ones((len(tokens), 1))])
    left = needs - known @ np.linalg.pinv(known) @ needs
    return (left ** 2).sum(1).mean() >= tokens.shape[2] - means.shape[1] - 1e-9


def fixed(*rows):
    return lambda x: np.array(rows, float)


def best_for(x):
    """One mean of two tokens of signs, from which both needs can mostly be read: z₁ = x₁₁ and z₂ = x₂₂ where that is possible."""
    a, b = x[0, 0] * x[1, 0], x[0, 1] * x[1, 1]
    return np.linalg.lstsq(np.array([[1, a], [b, 1]]), np.ones(2))[0][None]


def which(z):
    """One feature for each value of the means."""
    return np.unique(z, axis=0, return_inverse=True)[1].reshape(-1, 1) == np.arange(len(z))


signs = np.array(list(product([-1., 1.], repeat=4))).reshape(-1, 2, 2)
case = dict(tokens=signs, weights=fixed([0.5, 0.5]), places=[0, 1], features=lambda z: z)
theorem(
    'thm-mha-needs', errors_of_estimates,
    tokens=[signs], weights=[fixed([0.5, 0.5]), fixed([1, 0]), fixed([1, 2])], places=[[0, 1], [1, 0]], features=[lambda z: z],
    without={
        'uncorrelated': case | dict(tokens=signs[[0, -1]]),
        'variance one': case | dict(tokens=0.1 * signs),
        'distinct places': case | dict(weights=fixed([1, 0]), places=[0, 0]),
        'fixed weights': case | dict(weights=best_for),
        'linear functions': case | dict(weights=fixed([1, 2]), features=which),
    },
)


def attention(q, k, v, mask=0):
    return softmax(q @ k.T + mask, axis=-1) @ v


causal = np.where(np.tri(3) > 0, 0, -np.inf)


theorem(
    'thm-mha-equivariance', lambda P, X, Q, mask: close(attention(P @ X, P @ X, P @ X, mask), P @ attention(X, X, X, mask))
    and close(attention(Q, P @ X, P @ X), attention(Q, X, X)),
    P=[np.eye(3), np.eye(3)[[1, 2, 0]], np.eye(3)[::-1]], X=normal(3, 2), Q=normal(4, 2), mask=[0],
    without={
        'Without a mask': dict(P=np.eye(3)[::-1], X=np.eye(3)[:, :2], Q=np.eye(2), mask=causal),
        'permutation matrix': dict(P=np.diag([1., -1., 1.]), X=np.eye(3)[:, :2], Q=np.eye(2), mask=0),
    },
)


def network(X, mask, weights):  # attention, its input added, and a map of each token
    return np.tanh(weights * (X + attention(X, X, X, mask)))


theorem(
    'thm-pos-equivariance', lambda P, X, mask, weights: close(network(P @ X, mask, weights), P @ network(X, mask, weights)),
    P=[np.eye(3), np.eye(3)[[1, 2, 0]], np.eye(3)[::-1]], X=normal(3, 2), mask=[0], weights=[1, np.array([1., -2.])],
    without={
        'without a mask': dict(P=np.eye(3)[::-1], X=np.eye(3)[:, :2], mask=causal, weights=1),
        'in the same way on all tokens': dict(P=np.eye(3)[::-1], X=np.eye(3)[:, :2], mask=0, weights=np.array([[1.], [2.], [3.]])),
        'permutation matrix': dict(P=np.diag([1., -1., 1.]), X=np.eye(3)[:, :2], mask=0, weights=1),
    },
)


SIGNS = np.array(list(product([-1., 1.], repeat=4)))  # two independent vectors of two independent signs: 16 cases
Q, K = SIGNS[:, :2], SIGNS[:, 2:]
TWINS = Q[:, [0, 0]]  # its entries have mean zero and variance one, and are equal


def moments_are_right(q, k):
    """Whether the dot product of the vectors in the rows, all rows equally likely, has mean 0 and variance d_k."""
    scores = (q * k).sum(1)
    return close([scores.mean(), scores.var(), (scores / q.shape[1] ** 0.5).var()], [0, q.shape[1], 1])


theorem(
    'thm-sdpa-variance', moments_are_right, q=[Q], k=[K, K[:, [0, 0]]],  # those of k may be correlated
    without={
        'independent': dict(q=Q, k=Q),
        'mean zero': dict(q=Q + 1, k=K),
        'variance one': dict(q=2 * Q, k=K),
        'uncorrelated with each other': dict(q=TWINS, k=K[:, [0, 0]]),
    },
)
