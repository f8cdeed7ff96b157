"""Linear algebra: the meanings of letters."""

from itertools import pairwise, permutations, product

import numpy as np
from scipy import linalg, stats
from scipy.spatial import distance
from sklearn.covariance import shrunk_covariance

from nbutils.cases import integers, matrices, scalars, vectors
from nbutils.printed import Random, of
from tests.prints import normal, prints


def at(array):
    return lambda i, j: array[i, j] if 0 <= i < array.shape[0] and 0 <= j < array.shape[1] else 0.0

prints(
    'la.matmul.block-product',
    tries=15,
    **{f'M_{a}': matrices(*s) for a, s in {
    'ra': (2, 2), 'rb': (2, 3), 'sa': (3, 2), 'sb': (3, 3), 'at': (2, 2), 'au': (2, 4), 'bt': (3, 2), 'bu': (3, 4)}.items()},
    A=of(lambda M_ra, M_rb, M_sa, M_sb: np.block([[M_ra, M_rb], [M_sa, M_sb]])),
    B=of(lambda M_at, M_au, M_bt, M_bu: np.block([[M_at, M_au], [M_bt, M_bu]])),
)


def whitening(X):
    _, s, vt = np.linalg.svd(X, full_matrices=False)
    return vt.T / s * np.sqrt(len(X))

prints('la.whiten.condition-1', X=normal(6, 3), N=6, W=of(whitening))
prints('aw.mat-ops.mask', tries=20, M=matrices(3, 3, 0, 1).map(np.round), X=matrices(3, 3), c=scalars(), **{'1': np.ones(3)})
prints('la.cross.binet-cauchy', a=vectors(3), b=vectors(3), c=vectors(3), d=vectors(3))
prints(
    'dot-ncc',
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
    tries=20,
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

# tensors

prints(
    'tensors-place',
    tries=20,
    s=[[2, 3, 4], [5, 1, 2], [3, 2, 2]],
    n=3,
    t=of(lambda s: [k // 8 for k in np.empty(s).strides]),
    u=vectors(3, 0, 0.99),
    i=of(lambda s, u: [int(a * b) for a, b in zip(s, u, strict=True)]),
    place=of(lambda s: lambda i: np.ravel_multi_index(i, s)),
)
prints('la.notation.column-vectors', also_true=4, x=vectors(3), y=vectors(3), n=3)
prints(
    'tensors-silent',
    n=4,
    y_hat=vectors(4),
    y=vectors(4),
    y_bar=of(lambda y: y.mean()),
    L_tilde=of(lambda y_hat, y: np.subtract.outer(y_hat, y).var() + np.subtract.outer(y_hat, y).mean() ** 2),
)
prints(
    'tensors-box',
    x=normal(4, 5),
    X=of(lambda x: lambda i, j: x[i, j]),
    S=of(lambda x: lambda b, d: np.pad(x, ((1, 0), (1, 0))).cumsum(0).cumsum(1)[b, d]),
    a=integers(0, 2),
    b=integers(2, 4),
    c=integers(0, 3),
    d=integers(3, 5),
)
prints(
    'aw.tensor-ops.batched-or-reduce',
    tries=10,
    U=normal(12),
    V=normal(18),
    X=of(lambda U: list(U.reshape(2, 2, 3))),
    Y=of(lambda V: list(V.reshape(2, 3, 3))),
    Z=of(lambda U, V: list(np.einsum('nik,nkj->nij', U.reshape(2, 2, 3), V.reshape(2, 3, 3)))),
)

# norms

_orders = [1, 1.5, 2, 4, np.inf]


def lp(p):
    return lambda x: (abs(x) ** p).sum() ** (1 / p) if p < np.inf else abs(x).max()


def dual_order(p):
    return np.inf if p == 1 else 1 if p == np.inf else p / (p - 1)


def best_move(a, p):
    """The vector of length one that goes farthest along a."""
    if p == 1:
        return np.sign(a) * (abs(a) == abs(a).max()) / (abs(a) == abs(a).max()).sum()
    x = np.sign(a) * abs(a) ** (dual_order(p) - 1)
    return x / lp(p)(x)


def moves(a, p):
    """Vectors around the unit ball, the best move among them."""
    return [best_move(a, p), *np.random.default_rng(0).normal(size=(20, len(a)))]


def points_of_plane(w, b, x_0, p):
    """Points on the plane, the nearest one among them."""
    others = np.random.default_rng(0).normal(size=(10, len(w)))
    steps = [best_move(w, p), *others[abs(others @ w) > 1e-3]]
    return [x_0 - (w @ x_0 + b) / (w @ step) * step for step in steps]


prints('dl.norms.homog', alpha=scalars(), x=vectors(3), p=_orders, norm=of(lp))
prints(
    'dl.norms.triangle',
    x=vectors(3),
    y=vectors(3),
    p=_orders,
    norm=of(lp),
    equality=dict(x=np.array([1., -2, 3]), y=np.array([2., -4, 6]), p=1.5),
)
prints('dl.norms.definite', x=vectors(2, -2, 2).map(np.round), p=_orders, norm=of(lp))
prints('dl.norms.l2', x=vectors(3), n=3)
prints('dl.norms.l1', x=vectors(3), n=3)
prints('dl.norms.manhattan', x=vectors(3), y=vectors(3), n=3, d=distance.cityblock)
prints('norms-scaled', x=vectors(3).filter(np.any), n=3, p=_orders[:4], m=of(lambda x: abs(x).max()))
prints(
    'norms-limit', x=vectors(3), n=3, p=_orders[:4],
    equality=[dict(x=np.array([2., 2, -2]), p=1.5), dict(x=np.array([0., -2, 0]), p=1.5)],
)
prints(
    'norms-dual',
    tries=20,
    a=vectors(3).filter(np.any),
    x=vectors(3),
    p=_orders,
    x_in=of(moves),
    norm=of(lp),
    norm_star=of(lambda p: lp(dual_order(p))),
)
prints(
    'norms-distance',
    tries=20,
    w=vectors(3).filter(np.any),
    b=scalars(),
    x_0=vectors(3),
    p=_orders,
    x_in=of(points_of_plane),
    norm=of(lp),
    norm_star=of(lambda p: lp(dual_order(p))),
)
_corners = [np.array(signs) for signs in product([-1., 1.], repeat=3)]
prints(
    'norms-operator',
    tries=20,
    A=normal(2, 3).map(lambda A: A * 3 if A[0, 0] > 0 else A / 9),
    x=normal(3),
    p=[1, 2, np.inf],
    x_in=of(lambda A, p: [*_corners, *np.eye(3), np.linalg.svd(A)[2][0]]),
    norm=of(lambda p: lambda v: np.linalg.norm(v, p)),
)

# dot products

_directions = [np.array([c, s]) for c, s in [(1., 0.), (0.8, 0.6), (0.6, -0.8), (0., -1.), (-1., 0.), (-0.28, 0.96)]]


def half_precision(a, b):
    """The dot product as a running sum in numbers of 16 bits."""
    total = np.float16(0)
    for p, q in zip(a.astype(np.float16), b.astype(np.float16), strict=True):
        total += p * q
    return float(total)


def rounded(v):
    return v.astype(np.float16).astype(float)


def angle(a, b):
    return np.arccos(np.clip(a @ b / np.sqrt(a @ a) / np.sqrt(b @ b), -1, 1))


def angle_by_turning(a, b):
    """The angle from a to b in the plane, by the argument of a complex number."""
    return abs(np.angle(complex(*b) / complex(*a)))


prints('la.dot.sum', a=vectors(3), b=vectors(3), n=3)
prints('la.dot.matrix-form', a=vectors(3), b=vectors(3), n=3)
prints('la.dot.properties.distributive', a=vectors(3), b=vectors(3), c=vectors(3))
prints('dot-expand', a=vectors(3), b=vectors(3))
prints(
    'la.dot.geometric',
    a=vectors(2, 0.1, 10),
    b=vectors(2).filter(np.any),
    theta=of(angle_by_turning),
)
prints(
    'la.dot.orthonormal-basis',
    B=normal(2, 2),
    c=vectors(2).filter(np.any),
    d=vectors(2, 0.1, 10),
    a=of(lambda B, c: B @ c),
    b=of(lambda B, d: B @ d),
    theta=of(angle_by_turning),
)
prints('dot-parallelogram', a=vectors(3), b=vectors(3))
prints('dot-square', a=vectors(3).filter(np.any), b=vectors(3), t=scalars())
prints(
    'la.dot.projection-2',
    a=vectors(3).filter(np.any),
    b=vectors(3),
    proj=lambda a, b: np.linalg.lstsq(a[:, None], b, rcond=None)[0] * a,
)
prints('la.dot.cbs', a=vectors(3), b=vectors(3), equality=dict(a=np.array([1., -2, 3]), b=np.array([2., -4, 6])))
prints(
    'dot-subspace',
    A=normal(4, 2),
    b=vectors(4),
    x_hat=of(lambda A, b: np.linalg.lstsq(A, b, rcond=None)[0]),
)
prints('aw.vec-ops.max-dot', also_true=4, x=_directions, w=_directions)
prints('la.dot.trig-vectors', alpha=scalars(-4, 4), beta=scalars(-4, 4))
prints('la.dot.trig-even', alpha=scalars(-4, 4), beta=scalars(-4, 4))
prints('dot-half-angle', a=vectors(3).filter(np.any), b=vectors(3).filter(np.any), theta=of(angle))

# matrix multiplication


def fewest_multiplications(sizes):
    """The least cost of a chain of products, over all orders in which the inner sizes can be summed away."""
    if len(sizes) == 2:
        return 0
    return min(
        sizes[k - 1] * sizes[k] * sizes[k + 1] + fewest_multiplications(sizes[:k] + sizes[k + 1:])
        for k in range(1, len(sizes) - 1))


_blocks = {
    f'M_{name}': of(cut) for name, cut in {
        'ra': lambda A: A[:2, :3], 'rb': lambda A: A[:2, 3:], 'sa': lambda A: A[2:, :3], 'sb': lambda A: A[2:, 3:],
        'at': lambda B: B[:3, :2], 'au': lambda B: B[:3, 2:], 'bt': lambda B: B[3:, :2], 'bu': lambda B: B[3:, 2:],
    }.items()
}
_quarters = dict(
    A_11=of(lambda A: A[:2, :2]), A_12=of(lambda A: A[:2, 2:]), A_21=of(lambda A: A[2:, :2]), A_22=of(lambda A: A[2:, 2:]),
    B_11=of(lambda B: B[:2, :2]), B_12=of(lambda B: B[:2, 2:]), B_21=of(lambda B: B[2:, :2]), B_22=of(lambda B: B[2:, 2:]),
)

prints('la.matmul.entry', tries=20, m=2, n=3, p=4, A=matrices(2, 3), B=matrices(3, 4), C=of(lambda A, B: np.einsum('ik,kj->ij', A, B)))
prints(
    'la.matmul.generalises-dot',
    tries=10,
    m=2,
    p=4,
    A=matrices(2, 3),
    B=matrices(3, 4),
    a=of(lambda A: list(A)),
    b=of(lambda B: list(B.T)),
)
prints('aw.mat-ops.matmul', tries=20, X=matrices(2, 3), Y=matrices(3, 4), Z=of(lambda X, Y: np.tensordot(X, Y, 1)))
prints('la.matmul.outer', tries=20, u=vectors(2), v=vectors(3), m=2, n=3, otimes=np.outer)
prints('la.matmul.sum-of-outer', m=2, n=3, p=4, A=matrices(2, 3), B=matrices(3, 4))
prints('matmul-associative', tries=5, A=normal(2, 2), B=normal(2, 3), C=normal(3, 2))
prints(
    'matmul-chain',
    tries=10,
    sizes=normal(6).map(lambda v: [1 + int(9 * abs(x)) for x in v]),
    d=of(lambda sizes: lambda k: sizes[k]),
    c=of(lambda sizes: lambda i, j: fewest_multiplications(sizes[i:j + 1])),
    i=range(0, 5),
    j=range(0, 6),
    k=range(0, 6),
)
prints('la.matmul.block-partition', A=matrices(4, 5), B=matrices(5, 4), **_blocks)
prints(
    'la.matmul.block-names',
    A=matrices(4, 5),
    B=matrices(5, 4),
    **_blocks,
    M_rt=of(lambda M_ra, M_rb, M_at, M_bt: M_ra @ M_at + M_rb @ M_bt),
    M_ru=of(lambda M_ra, M_rb, M_au, M_bu: M_ra @ M_au + M_rb @ M_bu),
    M_st=of(lambda M_sa, M_sb, M_at, M_bt: M_sa @ M_at + M_sb @ M_bt),
    M_su=of(lambda M_sa, M_sb, M_au, M_bu: M_sa @ M_au + M_sb @ M_bu),
)
prints('matmul-strassen', tries=2, A=normal(4, 4), B=normal(4, 4), **_quarters)
prints('aw.mat-ops.hadamard', X=matrices(2, 3), Y=matrices(2, 3), Z=of(lambda X, Y: np.einsum('ij,ij->ij', X, Y)))
prints(
    'aw.mat-ops.not-linear',
    A=matrices(2, 3),
    X=matrices(2, 3),
    Y=matrices(2, 3),
    alpha=scalars(),
    beta=scalars(),
)
prints('aw.mat-ops.both-kinds', tries=10, A=normal(2, 2))

# the cross product

_space = dict(a=vectors(3), b=vectors(3), c=vectors(3))


def unit_normal(a, b):
    """The right-handed unit normal of two vectors, without a cross product."""
    n = np.linalg.svd(np.array([a, b]))[2][2]
    return n * np.sign(np.linalg.det([a, b, n]))


def orthogonal(n):
    """Orthogonal matrices with determinants of both signs, as a strategy."""
    return normal(n, n).map(lambda A: np.linalg.qr(A)[0] * np.sign(A[0]))


_signs = {ijk: round(np.linalg.det(np.eye(3)[list(ijk)])) for ijk in product(range(3), repeat=3)}

prints(
    'cross-components',
    tries=10,
    a=vectors(3),
    b=vectors(3),
    epsilon=lambda i, j, k: _signs[i - 1, j - 1, k - 1],
)
prints('la.cross.anticommutes', a=vectors(3), b=vectors(3))
prints('la.cross.distributive', **_space)
prints('la.cross.triple-1', **_space)
prints('la.cross.triple-2', **_space)
prints('la.cross.skew-matrix', a=vectors(3), b=vectors(3))
prints('la.cross.transpose', a=vectors(3), b=vectors(3))
prints('la.cross.vector-triple', **_space)
prints('la.cross.norm-squared', a=vectors(3), b=vectors(3))
prints('la.cross.geometric', a=normal(3), b=normal(3), theta=of(angle), n=of(unit_normal))
prints('la.cross.lagrange', tries=10, n=4, a=vectors(4), b=vectors(4))
prints('cross-mirror', Q=orthogonal(3), a=vectors(3), b=vectors(3))

# determinants

def heights(A):
    """The distances of the columns from the span of those before them."""
    fits = [np.linalg.lstsq(A[:, :j], A[:, j], rcond=None)[0] if j else [] for j in range(A.shape[1])]
    return np.array([np.linalg.norm(A[:, j] - A[:, :j] @ fit) for j, fit in enumerate(fits)])


prints(
    'det-leibniz',
    tries=10,
    n=3,
    A=normal(3, 3),
    sigma_in=[lambda k, p=p: p[k - 1] + 1 for p in permutations(range(3))],
    sgn=lambda sigma: -1 if sum(sigma(i) > sigma(j) for i, j in [(1, 2), (1, 3), (2, 3)]) % 2 else 1,
)
prints(
    'det-density',
    A=normal(2, 2),
    y=normal(2),
    p=lambda x: stats.norm.pdf(x).prod(),
    p_y=of(lambda A: lambda y: stats.multivariate_normal.pdf(y, cov=A @ A.T)),
)
prints('det-heights', n=3, A=normal(3, 3), a=of(lambda A: list(A.T)), h=of(heights))
prints('det-sylvester', k=2, n=3, U=normal(3, 2), V=normal(2, 3))
prints('det-lemma', A=normal(3, 3), u=vectors(3), v=vectors(3))
prints(
    'det-log',
    A=normal(3, 3),
    U=of(lambda A: linalg.lu(A)[2]),
    s=of(lambda A: (linalg.lapack.dgetrf(A)[1] != range(3)).sum()),
)

# LU


def spread(lam, W, y):
    """What minimizes lam |f - y|^2 plus the weighted squares of differences, as one least-squares problem."""
    n = len(y)
    edges = [np.sqrt(W[i, j]) * (np.eye(n)[i] - np.eye(n)[j]) for i in range(n) for j in range(i)]
    rows = np.concatenate([np.sqrt(lam) * np.eye(n), edges])
    return np.linalg.lstsq(rows, np.concatenate([np.sqrt(lam) * y, np.zeros(len(edges))]), rcond=None)[0]


_dominant = normal(3, 3).map(lambda A: A + 9 * np.eye(3))

prints('lu-product', A=_dominant, L=of(lambda A: linalg.lu(A)[1]), U=of(lambda A: linalg.lu(A)[2]))
prints('lu-cost', tries=2, n=[200, 201], options={'approx': 0.005})
prints(
    'lu-spread',
    lambda_=scalars(0.1, 2),
    W=normal(4, 4).map(lambda A: abs(A + A.T)),
    y=[np.eye(4)[k] for k in range(4)],
    M=of(lambda lambda_, W: lambda_ * np.eye(4) + np.diag(W.sum(0)) - W),
    g=of(lambda lambda_, W, y: spread(lambda_, W, y)),
)

# QR


def positive_qr(A):
    """The factors with a positive diagonal of R."""
    Q, R = np.linalg.qr(A)
    signs = np.sign(np.diag(R))
    return Q * signs, R * signs[:, None]


def mirror(v):
    """The matrix that turns v round and keeps what is perpendicular to it."""
    basis = np.linalg.svd(v[None])[2].T
    return basis * np.r_[-1, np.ones(len(v) - 1)] @ basis.T


def mirrors(A):
    """The mirrors by which the library makes A triangular, as (m, m) matrices."""
    (h, tau), _ = linalg.qr(A, mode='raw')
    normals = [np.r_[np.zeros(k), 1, h[k + 1:, k]] for k in range(A.shape[1])]
    return [np.eye(len(A)) - t * np.outer(v, v) for t, v in zip(tau, normals, strict=True)]


def slanted(slant):
    """Two unit vectors with this dot product."""
    return np.array([1., 0, 0, 0]), np.array([slant, np.sqrt(1 - slant ** 2), 0, 0])


def least_squares(A, b):
    return np.linalg.lstsq(A, b, rcond=None)[0]


def worst_changes(A):
    """The changes of A of length 1 that move the solution of least squares most, by its own length or by the residual's."""
    U, _, Vt = np.linalg.svd(A)
    solution = np.array([1., -1, 2]) / np.sqrt(6)
    return {'towards the solution': np.outer(U[:, 2], solution), 'towards the residual': np.outer(U[:, 4], Vt[2])}


_tall = dict(A=normal(5, 3), Q=of(lambda A: positive_qr(A)[0]), R=of(lambda A: positive_qr(A)[1]))
_third = dict(
    delta=scalars(-0.3, 0.3).filter(bool),
    a_2=vectors(4).filter(np.any),
    r_22=scalars(0.1, 2),
    a_3=normal(4),
    q_1=of(lambda delta: slanted(delta)[0]),
    q_2=of(lambda delta: slanted(delta)[1]),
    epsilon=of(lambda delta, a_2, r_22: abs(delta) * r_22 / np.linalg.norm(a_2)),
    r_13=of(lambda q_1, a_3: q_1 @ a_3),
    v_3=of(lambda a_3, q_1, q_2, r_13, r_23: a_3 - r_13 * q_1 - r_23 * q_2),
    r_33=of(lambda v_3: np.linalg.norm(v_3)),
    q_3=of(lambda v_3: v_3 / np.linalg.norm(v_3)),
    options={'approx': 1e-9},
)

prints(
    'qr-gram-schmidt',
    tries=20,
    **_tall,
    a=of(lambda A: list(A.T)),
    q=of(lambda Q: list(Q.T)),
    v=of(lambda A: [A[:, j] - A[:, :j] @ least_squares(A[:, :j], A[:, j]) if j else A[:, 0] for j in range(3)]),
    also_turned=1,  # below the diagonal both sides are zero
)
prints('la.qr.thin', m=5, n=3, **_tall)
prints('la.qr.orthonormal', n=3, **_tall)
prints('la.qr.gram-1', **_tall)
prints('la.qr.gram-2', **_tall)
prints('la.qr.gram-3', **_tall)
prints('la.qr.gram-det-1', **_tall)
prints('la.qr.gram-det-3', tries=20, n=3, **_tall)
prints('qr-mirror', tries=20, v=normal(3).map(lambda v: v / np.linalg.norm(v)), x=vectors(3), H=of(mirror))
prints(
    'qr-mirror-choice',
    x=normal(3),
    y=of(lambda x: np.array([-np.copysign(np.linalg.norm(x), x[0]), 0, 0])),
    H=of(lambda x, y: mirror(x - y)),
)
prints(
    'qr-full',
    n=3,
    A=normal(5, 3),
    H=of(mirrors),
    R=of(lambda A: linalg.qr(A, mode='economic')[1]),
    **{'0': np.zeros((2, 3))},
)
prints(
    'qr-height',
    tries=10,
    **_tall,
    a=of(lambda A: list(A.T)),
    c_in=of(lambda A, j: [
        np.r_[least_squares(A[:, :j - 1], A[:, j - 1]) if j > 1 else [], np.zeros(4 - j)], *np.random.default_rng(0).normal(size=(5, 3))]),
    x_in=of(lambda A: [np.linalg.svd(A)[2][2], *np.random.default_rng(1).normal(size=(8, 3))]),
    sigma_n=of(lambda A: np.linalg.svd(A)[1][2]),
    j=range(1, 4),
)
prints('qr-classical', tries=20, **_third, r_23=of(lambda q_2, a_3: q_2 @ a_3))
prints('qr-modified', tries=20, **_third, r_23=of(lambda q_1, q_2, a_3, r_13: q_2 @ (a_3 - r_13 * q_1)))
prints(
    'qr-least-squares',
    A=normal(5, 3),
    x=vectors(3),
    b=vectors(5),
    R=of(lambda A: linalg.qr(A, mode='economic')[1]),
    c=of(lambda A, b: (linalg.qr(A)[0].T @ b)[:3]),
    d=of(lambda A, b: (linalg.qr(A)[0].T @ b)[3:]),
    **{'0': np.zeros((2, 3))},
)
prints(
    'qr-squared',
    A=normal(5, 3),
    kappa=np.linalg.cond,
    sigma_1=of(lambda A: np.linalg.norm(A, 2)),
    sigma_n=of(lambda A: np.linalg.norm(A, -2)),
)
prints(
    'qr-sensitivity',
    tries=24,
    also_true=1,  # kappa is at least 1, so its third power is above the second
    A=normal(5, 3).map(lambda A: A / 9 if A[0, 0] > 0 else A),
    s=[0.1, 10.0],  # of the solution
    t=[0.0, 100.0],  # of the residual
    kind=['towards the solution', 'towards the residual'],
    b=of(lambda A, s, t: s * A @ [1, -1, 2] + t * np.linalg.svd(A)[0][:, 4]),
    E=of(lambda A, kind: worst_changes(A)[kind]),
    x=of(least_squares),
    r=of(lambda A, b, x: b - A @ x),
    delta=of(lambda A, b, E: (least_squares(A + 1e-6 * E, b) - least_squares(A - 1e-6 * E, b)) / 2e-6),
    kappa=of(lambda A: np.linalg.cond(A)),
    epsilon=of(lambda A, E: np.linalg.norm(E, 2) / np.linalg.norm(A, 2)),
    norm=lambda v: np.linalg.norm(v, 2),
)

# eigenvalues


def qr_powers(A):
    """The QR factors of I, A, A^2, ... with positive diagonals."""
    return [positive_qr(np.linalg.matrix_power(A, k)) for k in range(5)]


_similar = dict(
    S=normal(2, 2), A_2=normal(2, 2), A_1=of(lambda S, A_2: np.linalg.solve(S.T, (S @ A_2).T).T), lambda_=scalars())
_symmetric = normal(3, 3).map(lambda A: A + A.T)
_turning = normal(3, 3).map(lambda A: A @ A.T + np.eye(3))

prints('la.evd.similar-shift-1', **_similar)
prints('la.evd.similar-shift-2', **_similar)
prints('la.evd.similar-det-1', **_similar)
prints('la.evd.similar-det-2', **_similar)
prints(
    'evd-decomposition',
    tries=20,
    A=normal(3, 3),
    V=of(lambda A: np.linalg.eig(A)[1].astype(complex)),
    Lambda=of(lambda A: np.diag(np.linalg.eig(A)[0].astype(complex))),
    f=[linalg.expm, np.linalg.inv, lambda M: M @ M @ M - 2 * M],
)
prints(
    'evd-rayleigh',
    A=_symmetric,
    c=normal(3).map(lambda c: c / np.linalg.norm(c)),
    lambda_=of(lambda A: np.linalg.eigh(A)[0]),
    q=of(lambda A: list(np.linalg.eigh(A)[1].T)),
    x=of(lambda A, c: np.linalg.eigh(A)[1] @ c),
    rho=of(lambda A: lambda x: least_squares(x[:, None], A @ x)[0]),
)
prints(
    'evd-power',
    tries=20,
    k=[0, 1, 2, 3],
    A=_symmetric,
    c=normal(3),
    lambda_=of(lambda A: np.linalg.eigh(A)[0]),
    v=of(lambda A: list(np.linalg.eigh(A)[1].T)),
    x=of(lambda A, c: np.linalg.eigh(A)[1] @ c),
)
prints(
    'evd-qr-step',
    tries=20,
    B=_turning,
    k=range(1, 4),
    A=of(lambda B: [Q.T @ B @ Q for Q, _ in qr_powers(B)]),
    Q_hat=of(lambda B: [P.T @ Q for (P, _), (Q, _) in pairwise(qr_powers(B))]),
    R_hat=of(lambda B: [T @ np.linalg.inv(S) for (_, S), (_, T) in pairwise(qr_powers(B))]),
)
prints('evd-split', delta=scalars(0.01, 9))
# singular values


def right(A):
    return np.linalg.svd(A)[2].T


_singular = dict(
    U=of(lambda A: np.linalg.svd(A)[0]),
    sigma=of(lambda A: np.linalg.svd(A)[1]),
    V=of(right),
    u=of(lambda A: list(np.linalg.svd(A)[0].T)),
    v=of(lambda A: list(np.linalg.svd(A)[2])),
)
_flat = normal(4, 4).map(lambda M: M[:, :2] @ M[:, 2:].T)  # of rank 2
_data = np.array([[2., 1, 0], [-1, 1, 1], [0, -3, 0.5], [-1, 1, -1.5]])  # four points with mean zero
_variances = np.linalg.eigvalsh(np.cov(_data.T, bias=True))[::-1]

prints(
    'svd-formula',
    r=2,
    A=_flat,
    **_singular,
    Sigma=of(lambda A: np.diag(np.linalg.svd(A)[1])),
)
prints(
    'svd-nuclear',
    r=2,
    A=_flat.map(lambda A: A / 9 if A[0, 0] > 0 else A),
    **_singular,
    M=normal(4, 4),
    best=[True, False],
    Q=of(lambda M, U, V, best: U @ V.T if best else M / np.linalg.norm(M, 2)),
)
prints(
    'svd-polar',
    A=normal(3, 3),
    **_singular,
    Sigma=of(lambda A: np.diag(np.linalg.svd(A)[1])),
    Q=of(lambda A: linalg.polar(A)[0]),
    P=of(lambda A: linalg.polar(A)[1]),
)
prints(
    'low-rank-sum',
    r=3,
    k=[1, 2],
    A=normal(4, 3),
    **_singular,
    A_k=of(lambda A, k: A @ right(A)[:, :k] @ right(A)[:, :k].T),
)
prints(
    'svd-pca',
    also_true=6,  # what stands on the left only gets larger
    slip=('divides by N + 1', r'\frac{1}{N + 1} \|\mathbf{X} - \mathbf{X}\mathbf{P}\mathbf{P}^\top\|_F^2 \ge \sum_{i > k} \lambda_i'),
    k=[1, 2],
    N=6,
    X=normal(6, 3).map(lambda X: (9 if X[0, 0] > 0 else 0.1) * (X - X.mean(0))),
    M=normal(3, 3),
    best=[True, False],
    P=of(lambda X, M, best, k: (right(X) if best else np.linalg.qr(M)[0])[:, :k]),
    sigma=of(lambda X: np.linalg.svd(X)[1]),
    lambda_=of(lambda X: np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]),
)
prints(
    'svd-denoise',
    k=[0, 1, 2, 3],
    s=[0.5, 2.0],
    x=Random(list(_data)),
    z=Random([np.array(signs) for signs in product([-1., 1.], repeat=3)]),
    x_hat_k=of(lambda x, z, s, k: right(_data)[:, :k] @ right(_data)[:, :k].T @ (x + s * z)),
    lambda_=_variances,
)
prints(
    'pinv-split',
    r=2,
    A=_flat,
    **_singular,
    Sigma=of(lambda A: np.diag(np.linalg.svd(A)[1])),
    x=vectors(4),
    b=vectors(4),
    y=of(lambda A, x: right(A).T @ x),
    c=of(lambda A, b: np.linalg.svd(A)[0].T @ b),
)
prints(
    'pinv-def',
    r=2,
    A=_flat,
    **_singular,
    Sigma_plus=of(lambda sigma: np.diag([1 / sigma[0], 1 / sigma[1], 0, 0])),
    A_plus=of(lambda A: np.linalg.pinv(A, rcond=1e-10)),
)
prints('pinv-penrose', A=_flat, X=of(lambda A: np.linalg.pinv(A, rcond=1e-10)))
prints(
    'pinv-tikhonov',
    B=normal(3, 5),
    A=of(lambda B: np.linalg.qr(B)[0][:, :2] @ np.diag([1., 2]) @ np.linalg.qr(B.T)[0][:, :2].T),
    A_plus=of(lambda A: linalg.pinv(A, rtol=1e-10)),
)


def newton_by_misfits(A, t):
    """The iterate after t steps: the misfit of each singular direction is squared in every step."""
    U, sigma, Vt = np.linalg.svd(A)
    misfit = 1 - sigma ** 2 / sigma[0] ** 2
    return Vt.T * ((1 - misfit ** (2 ** t)) / sigma) @ U.T


prints(
    'pinv-newton',
    A=normal(3, 3),
    X_0=of(lambda A: newton_by_misfits(A, 0)),
    X=of(lambda A: [newton_by_misfits(A, t) for t in range(1, 5)]),
    t=range(1, 4),
)

# whitening

_features = normal(6, 3).map(lambda X: (X - X.mean(0)) * [1, 2, 0.5])
_table = dict(
    X=normal(5, 2).map(lambda X: 3 * X + [1, 5]),
    mu_hat=of(lambda X: X.mean(0)),
    sigma_hat=of(lambda X: X.std(0)),
)


def any_whitening(X, R):
    """A matrix that whitens, by Cholesky and a rotation: not by eigenvalues."""
    return np.linalg.inv(np.linalg.cholesky(np.cov(X.T, bias=True)).T) @ R


def without_trace(W):
    """W after a rotation that makes its trace zero: it whitens as well."""
    U, _, Vt = np.linalg.svd(W)
    return W @ Vt.T @ np.roll(np.eye(3), 1, 0) @ U.T


_whitened = dict(
    X=_features,
    Sigma=of(lambda X: np.cov(X.T, bias=True)),
    V=of(lambda Sigma: np.linalg.eigh(Sigma)[1]),
    Lambda=of(lambda Sigma: np.diag(np.linalg.eigh(Sigma)[0])),
    lambda_=of(lambda Sigma: np.linalg.eigh(Sigma)[0]),
)
_white = dict(
    **_whitened,
    turn=orthogonal(3),
    W=of(lambda X, turn: any_whitening(X, turn)),
    R=of(lambda W, V, lambda_: np.linalg.solve(W, V / np.sqrt(lambda_))),
)

prints('la.whiten.standardize', **_table, standardize=stats.zscore)
prints('la.whiten.standardize-eps', **_table, epsilon=1e-8, options={'approx': 1e-5}, also_true=2)
prints('la.whiten.condition-2', N=6, W=normal(3, 3), **_whitened)
prints('la.whiten.square-W', D=3, X=_features, W=of(lambda X: without_trace(any_whitening(X, np.eye(3)))))
prints('la.whiten.sigma-from-W-2', **_white)
prints('la.whiten.diagonalizable', **_whitened)
prints('la.whiten.W', **_white)
prints('la.whiten.W-inverse', **_white)
prints('la.whiten.R-arbitrary', **_white)
prints('la.whiten.pca', **_whitened, W=of(lambda X, V: V / (X @ V).std(0)))
prints('la.whiten.zca', **_whitened, W=of(lambda Sigma: np.linalg.inv(linalg.sqrtm(Sigma)).real))
prints('la.whiten.eps', **_whitened, epsilon=scalars(0.01, 2), R=orthogonal(3))
prints(
    'whitening-shrink',
    X=_features,
    rho=scalars(0, 1),
    Sigma_hat=of(lambda X: np.cov(X.T, bias=True)),
    m=of(lambda X: X.var(0).mean()),
    Sigma_hat_rho=of(lambda Sigma_hat, rho: shrunk_covariance(Sigma_hat, rho)),
)
prints(
    'whitening-mahalanobis',
    **_white,
    x=vectors(3),
    x_prime=vectors(3),
)
