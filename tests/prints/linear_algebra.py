"""Linear algebra."""
import numpy as np

from nbutils.cases import matrices, scalars, seeds, vectors
from nbutils.printed import of
from tests.prints import prints


def normal(*shape):
    """Matrices or vectors with independent standard normal entries."""
    return seeds().map(lambda seed: np.random.default_rng(seed).normal(size=shape))


prints('la.cross.vector-triple-left', a=vectors(3), b=vectors(3), c=vectors(3))
prints('la.cross.jacobi', a=vectors(3), b=vectors(3), c=vectors(3))
prints('la.qr.gram-det-2', R=matrices(3, 3).map(np.triu))
prints('la.dot.projection-1', a=vectors(3).filter(np.any), b=vectors(3),
       proj=lambda a, b: np.linalg.lstsq(a[:, None], b, rcond=None)[0] * a)
prints('la.whiten.sigma', X=normal(6, 3).map(lambda X: X - X.mean(0)), N=6, Sigma=of(lambda X: np.cov(X.T, bias=True)))
prints('aw.mat-ops.mask', M=matrices(3, 3, 0, 1).map(np.round), X=matrices(3, 3), c=scalars(), **{'1': np.ones(3)})
