"""Linear algebra: the meanings of letters."""

from itertools import permutations, product

import numpy as np
from scipy import linalg, stats
from scipy.spatial import distance

from nbutils.cases import integers, matrices, scalars, vectors
from nbutils.printed import of
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
prints('tensors-minimax', X=matrices(2, 3), equality=dict(X=np.array([[1., 3], [2, 5]])))
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


prints('norms-product', A=matrices(2, 3), B=matrices(3, 2))
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
prints('norms-limit', x=vectors(3), n=3, p=_orders[:4], equality=dict(x=np.array([2., 2, -2]), p=1.5))
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
prints(
    'dot-rounding',
    n=6,
    gamma_n=6 * 2.0**-11 / (1 - 6 * 2.0**-11),
    p=normal(3).map(rounded),
    q=normal(3).map(rounded),
    r=normal(3).map(rounded),
    s=[-1.0, 0.5],  # -1: the sum is zero
    a=of(lambda p, r, s: np.concatenate([p, p if s == -1 else r])),
    b=of(lambda q, s: np.concatenate([q, s * q])),
    s_hat=of(lambda a, b: half_precision(a, b)),
    slip=('takes the absolute value of the sum',
          r'|\hat s - \mathbf{a} \cdot \mathbf{b}| \le \gamma_n \Big| \sum_{i=1}^n a_i b_i \Big|'),
)
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
prints('dot-lagrange', tries=2, a=normal(3), b=normal(3))
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
