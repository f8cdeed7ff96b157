"""Unsupervised learning: theorems as functions, and cases without their hypotheses."""
import numpy as np

from nbutils.cases import vectors
from tests.hypotheses import theorem


def comes_to_rest(x, prototypes, rule):
    """Whether 20 rounds of k-means on the line end with two rounds alike; `rule` breaks a tie, by the number of the round."""
    m = np.array(prototypes)
    for step in range(20):
        distance = abs(x[:, None] - m)
        near = distance <= distance.min(1, keepdims=True)
        label = np.array([rule(step, i, np.flatnonzero(row)) for i, row in enumerate(near)])
        m = np.array([x[label == k].mean() if (label == k).any() else m[k] for k in range(len(m))])
        if step == 18:
            before = label
    return (label == before).all()


def first(step, i, ties):
    return ties[0]


def in_turn(step, i, ties):
    return ties[(step + i) % len(ties)]


theorem(
    'thm-lloyd', comes_to_rest, x=vectors(6), prototypes=[(-3., 4.), (0., 0.)], rule=[first],
    without={'be broken by a fixed rule': dict(x=np.zeros(2), prototypes=(0., 0.), rule=in_turn)},
)
