"""Linear algebra: theorems as functions, and cases without their hypotheses."""
from itertools import permutations, product
from math import prod

import numpy as np
from scipy.linalg import schur
from scipy.optimize import linprog

from nbutils.cases import matrices, scalars, vectors
from nbutils.checks import close
from tests.hypotheses import theorem
from tests.prints import normal


def permanent(a):
    return sum(prod(a[i, k] for i, k in enumerate(order)) for order in permutations(range(len(a))))


I2, ONES = np.eye(2), np.ones((2, 2))
TURN, SHEAR = np.array([[0., -1.], [1., 0.]]), np.array([[1., 1.], [0., 1.]])

theorem(
    'thm-det', lambda D, A: close(D(A), D(np.eye(3)) * np.linalg.det(A)),
    D=[np.linalg.det, lambda a: 5 * np.linalg.det(a), lambda a: 0.0], A=normal(3, 3),
    without={'obeys only the first two': [
        dict(D=permanent, A=np.ones((3, 3))), dict(D=lambda a: np.linalg.det(a) ** 3, A=2 * np.eye(3))]},
)
theorem(  # on the line, where regions are intervals
    'thm-det-volume', lambda f, a, b: close(abs(f(b) - f(a)), abs(f(1) - f(0)) * abs(b - a)),
    f=[lambda x: 3 * x, lambda x: -x / 2], a=scalars(), b=scalars(),
    without={'A linear map': dict(f=lambda x: x ** 2, a=1, b=2)},
)


def all_matrices(values, n):
    """The n × n matrices with these entries, all equally likely: (len(values)^(n²), n, n)."""
    return np.array(list(product(values, repeat=n * n))).reshape(-1, n, n)


SIGNS, THREE = [-1., 1.], [-np.sqrt(1.5), 0., np.sqrt(1.5)]
theorem(
    'thm-det-random', lambda outcomes, factorial: close((np.linalg.det(outcomes) ** 2).mean(), factorial),
    outcomes=[all_matrices(SIGNS, 2), all_matrices(THREE, 2)], factorial=[2],
    without={
        'independent': dict(outcomes=np.array([ONES, -ONES]), factorial=2),
        'with mean 0': dict(outcomes=1 + all_matrices(SIGNS, 2), factorial=2),
        'variance 1': dict(outcomes=2 * all_matrices(SIGNS, 2), factorial=2),
    },
)
# n = 1: the square of the entry has the moments of chi² with one degree of freedom, 1, 3, 15
nodes, weights = np.polynomial.hermite_e.hermegauss(9)
theorem(
    'thm-det-random', lambda entry, p: close([(p * entry ** k).sum() for k in (2, 4, 6)], [1, 3, 15]),
    entry=[nodes], p=[weights / weights.sum()],
    without={'If they are normal': dict(entry=np.array(SIGNS), p=np.array([0.5, 0.5]))},
)
theorem(
    'thm-cbs',
    lambda G, a, b: (a @ G @ b) ** 2 <= (a @ G @ a) * (b @ G @ b) * (1 + 1e-12) + 1e-9
    and close((a @ G @ b) ** 2, (a @ G @ a) * (b @ G @ b)) == (np.linalg.matrix_rank([a, b], 1e-6) < 2),
    G=[I2, np.array([[2., 1.], [1., 3.]])], a=vectors(2).map(np.round), b=vectors(2).map(np.round),
    without={'inner product': [
        dict(G=np.diag([1., -1.]), a=np.array([1., 0.]), b=np.array([0., 1.])),  # squared lengths below zero
        dict(G=np.diag([1., 0.]), a=np.array([1., 0.]), b=np.array([0., 1.]))]},  # a vector of length zero
)
theorem(
    'thm-projection', lambda A: np.linalg.matrix_rank(A.T @ A) == A.shape[1], A=normal(4, 2),
    without={'independent': dict(A=np.ones((4, 2)))},
)


def circle(n, start=0.0):
    angle = start + 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle)], 1)  # (n, 2)


def angles_concentrate(u, v, t):
    """The theorem for d = 2 and equally likely pairs of directions, u and v (n, 2)."""
    c = (u * v).sum(1)
    return close([c.mean(), (c * c).mean()], [0, 1 / 2]) and (abs(c) >= t).mean() <= 2 * np.exp(-t * t)


theorem(
    'thm-concentration', angles_concentrate,
    u=[circle(360)], v=[np.tile(circle(1, a), (360, 1)) for a in (0, 0.3, 2)], t=[0, 0.5, 0.8, 1],
    without={
        'a random direction': dict(u=np.tile(circle(2), (180, 1)), v=np.tile([1., 0.], (360, 1)), t=0),
        'independent random one': dict(u=circle(360), v=circle(360), t=0),
        '$t \\ge 0$': dict(u=circle(360), v=np.tile([1., 0.], (360, 1)), t=-3),
    },
)


def diagonal_in_an_orthonormal_basis(A):
    T, Q = schur(A)
    return close(Q @ T @ Q.T, A) and close(T, np.diag(np.diag(T).real), atol=1e-7)


theorem(
    'thm-spectral', diagonal_in_an_orthonormal_basis, A=normal(3, 3).map(lambda A: A + A.T),
    without={'real': dict(A=np.array([[1, 1j], [1j, -1]])), 'symmetric': dict(A=TURN)},
)
theorem(
    'thm-bauer-fike',
    lambda V, J, E: (abs(np.subtract.outer(np.linalg.eigvals(V @ J @ np.linalg.inv(V) + E), np.diag(J))).min(1)
                     <= np.linalg.cond(V) * np.linalg.norm(E, 2) + 1e-9).all(),
    V=normal(2, 2), J=[np.diag([1., 2.]), np.diag([3., 3.])], E=matrices(2, 2, -0.1, 0.1),
    without={'Let $\\mathbf{A} = \\mathbf{V}\\boldsymbol\\Lambda\\mathbf{V}^{-1}$': dict(
        V=I2, J=SHEAR, E=np.array([[0, 0], [1e-4, 0]]))},
)
# of A = [[a, b], [c, d]] elimination needs l a = c, and no more
theorem(
    'thm-lu', lambda a, b, c, d: (a != 0 or c == 0) == (a != 0 and a * d - b * c != 0),
    a=[0], b=[1, 2], c=[1, -1], d=[0, 3],
    without={'Let $\\mathbf{A}$ be invertible': dict(a=0, b=0, c=0, d=1)},
)
theorem(
    'thm-cholesky',
    lambda A: (np.linalg.eigvalsh(A + A.T) > 0).all() == all(np.linalg.det(A[:k, :k]) > 0 for k in (1, 2)),
    A=normal(2, 2).map(lambda A: A + A.T + 2 * I2),
    without={'For a symmetric matrix': dict(A=np.array([[1., 3.], [0., 1.]]))},
)
theorem(
    'thm-schur', lambda A, B: np.linalg.eigvalsh(A * B).min() > -1e-9,
    A=normal(2, 2).map(lambda F: F @ F.T), B=normal(2, 1).map(lambda F: F @ F.T),
    without={'positive semidefinite': [dict(A=ONES - I2, B=ONES), dict(A=ONES, B=ONES - 2 * I2)]},
)
theorem(
    'thm-dimension', lambda family, spanning: family.shape[1] <= spanning.shape[1],
    family=[I2, I2[:, :1]], spanning=[I2, np.array([[1., 2., 3.], [0., 1., 1.]])],
    without={'No independent family': dict(family=np.ones((2, 3)), spanning=I2),
             'a spanning one': dict(family=I2, spanning=I2[:, :1])},
)


def lp(x, p):
    return abs(x).max() if p == np.inf else (abs(x) ** p).sum() ** (1 / p)


e1, e2 = I2
theorem(
    'thm-minkowski', lambda x, y, p: lp(x + y, p) <= (lp(x, p) + lp(y, p)) * (1 + 1e-9),
    x=vectors(2), y=vectors(2), p=[1, 1.5, 2, 7, np.inf], tries=60,
    without={'$p \\ge 1$': dict(x=e1, y=e2, p=0.5)},
)
theorem(
    'thm-lp-equivalence',
    lambda x, p, q: lp(x, q) <= lp(x, p) * (1 + 1e-9) and lp(x, p) <= 3 ** (1 / p - 1 / q) * lp(x, q) * (1 + 1e-9),
    x=vectors(3), p=[1, 1.5, 2], q=[2, 3, np.inf], tries=60,
    without={'p \\le q': dict(x=np.ones(3), p=2, q=1)},
)
theorem(
    'thm-holder', lambda a, x, p, q: abs(a @ x) <= lp(a, q) * lp(x, p) * (1 + 1e-9),
    a=vectors(3), x=vectors(3), p=[2], q=[2],
    without={'$\\tfrac1p + \\tfrac1q = 1$': dict(a=np.ones(3), x=np.ones(3), p=3, q=3)},
)


def some_least_solution_is_sparse(A, norm):
    """With b = A (1, ..., 1): whether a solution of least norm, as an algorithm finds it, has at most m nonzero entries."""
    (m, n), b = A.shape, A.sum(1)
    if norm == 2:
        x = np.linalg.pinv(A) @ b
    else:
        split = linprog(np.ones(2 * n), A_eq=np.hstack([A, -A]), b_eq=b, method='highs-ds').x
        x = split[:n] - split[n:]
    return (abs(x) > 1e-9).sum() <= m


theorem(
    'thm-sparse', some_least_solution_is_sparse, A=normal(2, 4), norm=[1],
    without={'least $\\ell_1$ norm': dict(A=np.ones((1, 2)), norm=2)},
)


def is_the_only_factorization(A, signs):
    """Whether the signs, put to the factors that numpy finds, give a diagonal above zero and the same factors again."""
    Q, R = np.linalg.qr(A)
    own = np.where(np.diag(R) < 0, -1, 1)
    Q, R = Q * own, (R.T * own).T
    return (np.diag(R) > 1e-9).all() and close(Q * signs, Q) and close(Q * signs @ (R.T * signs).T, A)


theorem(
    'thm-qr-unique', is_the_only_factorization, A=normal(3, 2), signs=[np.array([1, 1])],
    without={
        'the columns of $\\mathbf{A}$ are independent': dict(A=np.ones((3, 2)), signs=np.array([1, 1])),
        'with a positive diagonal': dict(A=np.eye(3)[:, :2], signs=np.array([1, -1])),
    },
)
theorem(
    'thm-svd',
    lambda A: close(np.sort(np.linalg.eigvals(A.T @ A).real), np.sort(np.linalg.svd(A)[1] ** 2), atol=1e-6),
    A=normal(3, 2), without={'a real $m \\times n$ matrix': dict(A=np.array([[1, 1j], [1j, -1]]))},
)


def sigma(A):
    return np.linalg.svd(A)[1]


theorem(
    'thm-eckart-young', lambda A, B, k: (sigma(A - B)[:3 - k] >= sigma(A)[k:] - 1e-9).all(),
    A=normal(3, 3), B=normal(3, 1).map(lambda b: b @ b.T), k=[1],
    without={'rank at most $k$': dict(A=np.eye(3), B=np.diag([1., 1., 0.]), k=1)},
)
theorem(
    'thm-pinv-jump',
    lambda A, E: np.linalg.norm(np.linalg.pinv(A + E), 2) >= (1 - 1e-9) / np.linalg.norm(E, 2),
    A=[np.diag([1., 0.]), np.zeros((2, 2))], E=[np.diag([0., 0.1]), np.diag([0.2, -0.1])],
    without={'$\\operatorname{rank}(\\mathbf{A} + \\mathbf{E}) > \\operatorname{rank} \\mathbf{A}$': dict(A=I2, E=0.1 * I2)},
)


def can_be_white_exactly_if_regular(x, k):
    """Whether some W with k columns whitens the data x (N, D) just if their covariance is nonsingular."""
    variances, directions = np.linalg.eigh(np.cov(x.T, bias=True))
    with np.errstate(divide='ignore', invalid='ignore'):
        white = x @ (directions / np.sqrt(abs(variances) * (variances > 1e-9)))[:, ::-1][:, :k]
    return (np.isfinite(white).all() and close(np.cov(white.T, bias=True), np.eye(k))) == (variances.min() > 1e-9)


flat = np.array([[1., 1., 0.], [-1., -1., 0.], [1., -1., 0.], [-1., 1., 0.]])
theorem(
    'thm-all-whitenings', can_be_white_exactly_if_regular, x=[*np.random.default_rng(0).normal(size=(5, 9, 3)), flat], k=[3],
    without={'square $\\mathbf{W}$': dict(x=flat, k=2)},
)


def with_factor(x, R):
    """Whether W = V Λ^(-1/2) Rᵀ whitens the centred data."""
    variances, directions = np.linalg.eigh(np.cov(x.T, bias=True))
    return close(np.cov((x @ (directions / np.sqrt(variances)) @ R.T).T, bias=True), np.eye(2))


theorem(
    'thm-all-whitenings', with_factor, x=normal(9, 2), R=[I2, TURN, np.diag([1., -1.])],
    without={'\\mathbf{R}^\\top\\mathbf{R} = \\mathbf{I}': dict(x=np.random.default_rng(0).normal(size=(9, 2)), R=SHEAR)},
)


def changes_enough(x, kind):
    """Whether W changes centred data by no less than ∑ (1 - √λ)², on average."""
    x = x - x.mean(0)
    variances, directions = np.linalg.eigh(np.cov(x.T, bias=True))
    W = {'ZCA': directions / np.sqrt(variances) @ directions.T, 'PCA': directions / np.sqrt(variances), 'none': I2}[kind]
    return ((x @ W - x) ** 2).sum(1).mean() >= ((1 - np.sqrt(variances)) ** 2).sum() - 1e-9


theorem(
    'thm-zca', changes_enough, x=normal(9, 2), kind=['ZCA', 'PCA'],
    without={'Among all whitening matrices': dict(x=np.array([[3., 0.], [-3., 0.], [0., 3.], [0., -3.]]), kind='none')},
)
