"""Calculus: the meanings of letters."""

from itertools import combinations, pairwise, product

import numpy as np
import torch
from scipy import stats

from nbutils.cases import scalars, seeds, vectors
from nbutils.printed import Random, of
from tests.prints import normal, prints

maps = [lambda x: np.array([x[0] * x[1], np.sin(x[0])]), lambda x: np.array([x[0] ** 2 - x[1], x[0] + 3 * x[1]])]

prints(
    'aw.jacobians.taylor',
    f=maps,
    x_0=vectors(2, -2, 2),
    u=vectors(2, -1, 1),
    x=of(lambda x_0, u: x_0 + 1e-3 * u),
    options={'approx': 1e-5},
)
prints('aw.jacobians.rows', f=maps, x=vectors(2, -2, 2), y=of(lambda f, x: f(x)), c=2, options={'n': 2})
prints('aw.jacobians.chain', f=maps, g=maps, x=vectors(2, -2, 2))
_cov = seeds().map(lambda s: (lambda a: a @ a.T + np.eye(2))(np.random.default_rng(s).normal(size=(2, 2))))

prints(
    'deriv-likelihood',
    P=_cov,
    data=normal(7, 2),
    S=of(lambda data: np.cov(data.T, bias=True)),
    n=7,
    d=2,
    ell=of(lambda data: lambda P: stats.multivariate_normal.logpdf(data, data.mean(0), np.linalg.inv(P)).sum()),
)

# gradients

_hills = [lambda x: x[0] ** 2 * x[1] + np.sin(x[1] * x[2]), lambda x: np.exp(x[0] / 5) * x[2] + x[1] ** 3]


def by_torch(f, x):
    """The gradient, by autograd of the same formula."""
    with_torch = {_hills[0]: lambda x: x[0] ** 2 * x[1] + torch.sin(x[1] * x[2]),
                  _hills[1]: lambda x: torch.exp(x[0] / 5) * x[2] + x[1] ** 3}
    return torch.func.grad(with_torch[f])(torch.tensor(x)).numpy()

_hill = dict(f=_hills, x=vectors(3, -2, 2), tries=12)

prints('aw.gradients.gradient', d=3, **_hill)
prints('aw.gradients.directional', v=vectors(3), **_hill)
prints(
    'gradients-cosine',
    v=normal(3).map(lambda v: v / np.linalg.norm(v)),
    theta=of(lambda f, x, v: np.arccos(by_torch(f, x) @ v / np.linalg.norm(by_torch(f, x)))),
    **_hill | dict(x=vectors(3, 0.1, 2)),
)
_walk = dict(
    f=_hills,
    x=lambda t: np.array([np.cos(t), t ** 2, 1 - t]),
    x_dot=lambda t: np.array([-np.sin(t), 2 * t, -1]),
)

prints('gradients-curve', t=scalars(-2, 2), tries=12, **_walk)

_line = np.linspace(-4, 4, 21)
_bell = np.diff(stats.norm.cdf(_line + 0.2), prepend=0) / stats.norm.cdf(4.2)  # of the cells around these points

prints(
    'gradients-random',
    delta=[np.array([1., 0]), np.array([0., -2])],
    v_1=Random(_line, _bell),
    v_2=Random(_line, _bell),
    v=of(lambda v_1, v_2: np.array([v_1, v_2])),
    t=[0.6, 1.0],  # where cells meet
    slip=('one side only', r'\mathbb{P}\big( |\boldsymbol\delta \cdot \mathbf{v}| \le t\, \|\boldsymbol\delta\| \big) \le \frac{t}{\sqrt{2\pi}}'),
)

# Jacobians

_image = dict(f=maps, x=vectors(2, -2, 2), y=of(lambda f, x: f(x)), c=2, d=2, tries=12)


def three(x):
    return np.array([x[0] * x[1], np.sin(x[0]), x[1] ** 2])

prints('aw.jacobians.matrix', **_image | dict(f=three, y=of(lambda x: three(x)), c=3))
prints('aw.jacobians.columns', **_image | dict(y=of(lambda f: lambda i, x: f(x)[i - 1])))
prints('aw.jacobians.c-one', d=3, **_hill)
prints('aw.jacobians.c-d-one', f=[np.cos, lambda x: x ** 2 * np.sin(x)], x=scalars(-2, 2), tries=12)
prints('aw.jacobians.code-df', x=scalars())
_parabola = dict(f=lambda x: x ** 2 - 1.5 * x)

prints('aw.jacobians.code-f', **_parabola)
prints('aw.jacobians.code-lin', **_parabola)


def square(x):
    """The square of a complex number: its Jacobian changes at the rate 2 exactly."""
    return np.array([x[0] ** 2 - x[1] ** 2, 2 * x[0] * x[1]])

_square = dict(f=square, L=[2, 3], x_0=vectors(2, -2, 2), tries=12)  # 3 is a bound, too, which nothing reaches

prints(
    'jacobians-remainder',
    h=vectors(2, -2, 2),
    equality=dict(x_0=np.array([1., -1]), h=np.array([0.5, 2]), L=3),
    **_square | dict(f=lambda x: 1.5 * square(x), L=[3, 4]),
)
_around = np.linspace(0, 2 * np.pi, 721)


def worst_error(x_0, r):
    """The largest error of a linear forecast on a circle, as a function of its matrix."""
    h = r * np.array([np.cos(_around), np.sin(_around)])
    return lambda M: np.linalg.norm(square(x_0[:, None] + h) - square(x_0)[:, None] - M @ h, axis=0).max()

prints(
    'aw.jacobians.taylor-name',
    M=normal(2, 2),
    r=scalars(0.01, 2),
    m=of(lambda M, x_0: np.linalg.norm(M - 2 * np.array([[x_0[0], -x_0[1]], [x_0[1], x_0[0]]]), 2)),
    E=of(worst_error),
    slip=('half of it as good at twice the distance',
          r'E\big(\partial f(\mathbf{x}_0)\big) \le \tfrac L2 r^2 < m r - \tfrac L2 r^2 \le E(\mathbf{M}) \quad \text{for } r < 2 m/L'),
    **_square | dict(tries=40),
)


def nearest_tie(z, J, a):
    """The length of the shortest step after which a linear forecast of another score has caught up."""
    return min(np.linalg.norm(np.linalg.lstsq((J[a - 1] - J[k])[None], [z[k] - z[a - 1]], rcond=None)[0])
               for k in range(len(z)) if k != a - 1)

prints(
    'jacobians-margin',
    z=normal(4),
    a=of(lambda z: np.argmax(z) + 1),
    J=normal(4, 3),
    j=of(lambda J: list(J)),
    r=of(nearest_tie),
    k=range(1, 5),
)

# the chain rule

prints(
    'dl.chain.sum',
    x=vectors(2, -2, 2),
    u=of(lambda x: np.array([x[0] * x[1], np.sin(x[0]), x[1] ** 2])),
    y=of(lambda u: u[0] ** 2 * u[1] + u[1] * u[2]),
    m=3,
    tries=12,
)
_f, _g = [lambda u, m=m: m.stack([u[0] * u[1], m.sin(u[1])]) for m in (np, torch)], [
    lambda x, m=m: m.stack([x[0] + x[1] ** 2, m.exp(x[0] / 3)]) for m in (np, torch)]


def jacobian(f):
    return lambda x: torch.func.jacrev(f)(torch.tensor(x, dtype=torch.float64))

prints(
    'chain-jacobians',
    x=vectors(2, -2, 2),
    g=_g[0],
    J_g=jacobian(_g[1]),
    J_f=jacobian(_f[1]),
    J_fcircg=jacobian(lambda x: _f[1](_g[1](x))),
    tries=12,
)


def roads(W):
    """The sums over all paths of the products along them, path by path."""
    P = np.zeros_like(W)
    for i, k in product(range(len(W)), repeat=2):
        for size in range(len(W)):
            for between in combinations(range(i + 1, k), size):
                path = (i, *between, k)
                P[k, i] += np.prod([W[b, a] for a, b in pairwise(path)])
    return P + np.eye(len(W))

_edges = normal(4, 4).map(lambda W: np.tril(W, -1))

prints('chain-paths', W=_edges, K=4, P=of(lambda W: roads(W)))
prints(
    'chain-sweeps',
    W=_edges,
    i=[1, 2, 3],
    K=4,
    k=range(1, 5),
    j=range(1, 5),
    v_dot=of(lambda W, i: roads(W)[:, int(i) - 1]),
    v_bar=of(lambda W: roads(W)[3]),
    also_turned=1,  # of the slopes before the i-th, which are all zero, the sum is true as well
    tries=12,
)


def multiplications(n, forward):
    """How many it takes to multiply the Jacobians of all layers, one after the other."""
    shapes = list(zip(n[1:], n, strict=False))  # of the layers, first layer first
    counted, (rows, columns) = 0, shapes.pop(0 if forward else -1)
    while shapes:
        more = shapes.pop(0 if forward else -1)
        if forward:
            counted, rows = counted + more[0] * rows * columns, more[0]
        else:
            counted, columns = counted + rows * columns * more[1], more[1]
    return counted

prints(
    'chain-costs',
    widths=[[3, 5, 2, 4], [7, 2, 3, 1]],
    n=of(lambda widths: lambda layer: widths[layer]),
    L=3,
    C_forward=of(lambda widths: multiplications(widths, True)),
    C_reverse=of(lambda widths: multiplications(widths, False)),
)
_layers = [np.random.default_rng(k).normal(size=shape) for k, shape in enumerate([(4, 3), (3, 2), (2, 9)])]


def hidden(x):
    h_1 = np.tanh(_layers[0].T @ x)
    return [h_1, np.tanh(_layers[1].T @ h_1)]

prints(
    'chain-saliency',
    x=vectors(4, -2, 2),
    W=of(lambda: _layers),
    h=of(lambda x: hidden(x)),
    s=lambda x: (_layers[2].T @ hidden(x)[1])[7] - (_layers[2].T @ hidden(x)[1])[2],
    options={'n': 9},
    tries=6,
)

# matrix derivatives

prints('la.deriv.norm-squared', a=vectors(3), b=vectors(3), tries=12)
prints('la.deriv.norm', a=vectors(3, 1, 5), b=vectors(3, -5, 0), tries=12)
_square_matrix = normal(2, 2).map(lambda X: X + 3 * np.eye(2))
_nudged = dict(X=_square_matrix, dX=normal(2, 2), tries=12)

prints('deriv-product', Y=normal(2, 3), dY=normal(2, 3), sigma=np.tanh, **_nudged)
prints('deriv-inverse', **_nudged)
prints('deriv-resolvent', X=_square_matrix, H=normal(2, 2))
prints('deriv-jacobi', **_nudged)
prints(
    'deriv-sigma',
    sigma_1=of(lambda X: np.linalg.norm(X, 2)),
    u=of(lambda X: np.linalg.svd(X)[0][:, 0]),
    v=of(lambda X: np.linalg.svd(X)[2][0]),
    **_nudged,
)
prints(
    'deriv-symmetric',
    X=_square_matrix.map(lambda X: X + X.T),
    M=normal(2, 2),
    f=of(lambda X, M: np.trace(M.T @ (np.triu(X) + np.triu(X, 1).T))),
    G=of(lambda M: M),
    tries=12,
)
prints(
    'deriv-quadratic',
    A=normal(3, 3),
    x=vectors(3),
    h=vectors(3),
    H=of(lambda A: torch.func.hessian(lambda x: x @ torch.tensor(A) @ x)(torch.zeros(3, dtype=torch.float64))),
    f=of(lambda A: lambda x: x @ A @ x),
    tries=12,
)
prints('deriv-logdet-two', **_nudged | dict(tries=4))
prints('deriv-vec', A=normal(2, 3), X=normal(3, 2), B=normal(2, 4), tries=12)

# automatic differentiation

_dual = normal().map(lambda s: s * np.eye(2))  # numbers and the unit of dual numbers, as matrices

prints('autodiff-dual-product', a=_dual, b=_dual, c=_dual, d=_dual, epsilon=np.array([[0., 1], [0, 0]]))
prints('autodiff-gradient', d=3, **_hill)
prints('autodiff-accumulate', g=_hills, **_hill)
prints(
    'autodiff-hvp',
    f=_hills[0],
    x=vectors(3, -2, 2),
    v=vectors(3),
    H=lambda x: torch.func.hessian(lambda x: x[0] ** 2 * x[1] + torch.sin(x[1] * x[2]))(torch.tensor(x, dtype=torch.float64)),
    tries=3,
)
