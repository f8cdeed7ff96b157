"""Linear algebra: the meanings of letters."""

import numpy as np
from scipy import stats

from nbutils.cases import matrices, scalars, vectors
from nbutils.printed import of
from tests.prints import normal, prints


def at(array):
    return lambda i, j: array[i, j] if 0 <= i < array.shape[0] and 0 <= j < array.shape[1] else 0.0

prints(
    'la.matmul.block-product',
    **{f'M_{a}': matrices(*s) for a, s in {
    'ra': (2, 2), 'rb': (2, 3), 'sa': (3, 2), 'sb': (3, 3), 'at': (2, 2), 'au': (2, 4), 'bt': (3, 2), 'bu': (3, 4)}.items()},
    A=of(lambda M_ra, M_rb, M_sa, M_sb: np.block([[M_ra, M_rb], [M_sa, M_sb]])),
    B=of(lambda M_at, M_au, M_bt, M_bu: np.block([[M_at, M_au], [M_bt, M_bu]])),
)


def whitening(X):
    _, s, vt = np.linalg.svd(X, full_matrices=False)
    return vt.T / s * np.sqrt(len(X))

prints('la.whiten.condition-1', X=normal(6, 3), N=6, W=of(whitening))
prints('aw.mat-ops.mask', M=matrices(3, 3, 0, 1).map(np.round), X=matrices(3, 3), c=scalars(), **{'1': np.ones(3)})
prints('la.cross.binet-cauchy', a=vectors(3), b=vectors(3), c=vectors(3), d=vectors(3))
prints(
    'aw.vec-ops.template',
    x=normal(4),
    t=normal(4),
    Q=np.eye(4) - 1 / 4,
    n=4,
    ncc=lambda x, t: np.corrcoef(x, t)[0, 1],
    **{'1': np.ones(4)},
)
prints('la.qr.gram-det-2', R=matrices(3, 3).map(np.triu))
prints(
    'la.dot.projection-1',
    a=vectors(3).filter(np.any),
    b=vectors(3),
    proj=lambda a, b: np.linalg.lstsq(a[:, None], b, rcond=None)[0] * a,
)
prints('la.whiten.sigma', X=normal(6, 3).map(lambda X: X - X.mean(0)), N=6, Sigma=of(lambda X: np.cov(X.T, bias=True)))
prints('dl.norms.lp', x=vectors(3), p=[1, 2, 3, 7])
prints('la.cross.vector-triple-left', a=vectors(3), b=vectors(3), c=vectors(3))
prints(
    'aw.mat-ops.no-composition',
    A=matrices(2, 2),
    B=matrices(2, 2),
    X=matrices(2, 2, -2, 2),
    f=[lambda Z: np.sin(Z[0, 0] * Z[1, 0]) + Z[0, 1] * Z[1, 1] ** 2, lambda Z: (Z ** 3).sum() * Z[0, 1]],
)
prints('evd-trace-det', A=matrices(3, 3), lambda_=of(lambda A: np.linalg.eigvals(A).astype(complex)))
prints(
    'qr-turn',
    x=scalars(0.1, 9),
    y=scalars(),
    h=of(lambda x, y: np.hypot(x, y)),
    c=of(lambda x, y: x / np.hypot(x, y)),
    s=of(lambda x, y: y / np.hypot(x, y)),
)
prints(
    'lu-square',
    alpha=scalars(0.1, 9),
    c=vectors(2),
    B=matrices(2, 2),
    x_1=scalars(),
    z=vectors(2),
    x=of(lambda x_1, z: np.r_[x_1, z]),
    A=of(lambda alpha, c, B: np.block([[np.array([[alpha]]), c[None]], [c[:, None], B]])),
)
prints(
    'det-unmix',
    W=normal(3, 3),
    w=of(lambda W: list(W)),
    x=normal(3),
    p=of(lambda W: lambda x: stats.hypsecant.pdf(W @ x).prod() * abs(np.linalg.det(W))),
)
prints(
    'la.dot.trig-difference',
    alpha=scalars(-4, 4),
    beta=scalars(-4, 4),
    a=of(lambda alpha: np.array([np.cos(alpha), np.sin(alpha)])),
    b=of(lambda beta: np.array([np.cos(beta), np.sin(beta)])),
)
prints('la.cross.jacobi', a=vectors(3), b=vectors(3), c=vectors(3))
prints('la.whiten.sigma-from-W', X=normal(6, 3), W=of(whitening), Sigma=of(lambda X: X.T @ X / len(X)))
