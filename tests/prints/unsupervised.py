"""Unsupervised: the meanings of letters."""

import numpy as np

from nbutils.printed import of
from tests.prints import normal, prints


def rows(X):
    return list(X)

prints(
    'k-means-pythagoras',
    X=normal(5, 2),
    x=of(rows),
    C=[[1, 3, 4], [2, 5]],
    mu=normal(2),
    x_bar=of(lambda X, C: X[np.array(C) - 1].mean(0)),
)
