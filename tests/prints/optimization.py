"""Optimization: the meanings of letters."""
from itertools import product

import numpy as np
from scipy import optimize

from nbutils.cases import matrices, scalars, vectors
from nbutils.printed import of
from tests.prints import normal, prints

_bowl = [lambda w: (w[0] - 1) ** 2 + 2 * (w[1] + w[0]) ** 2, lambda w: np.cosh(w[0] - 1) + (w[1] + 1) ** 4 + (w[1] + 1) ** 2]


def unit(n, k):
    return np.eye(n)[k]

_hess = np.array([[3., 1], [1, 2]])

_quad = dict(f=lambda x: x @ _hess @ x / 2 + x[0])


def quad_slope(x):
    return _hess @ x + unit(2, 0)


def by_torch(momentum, rates, steps=6):
    """The iterates of torch's SGD, and their differences."""
    import torch
    x = torch.tensor([2., -1.], dtype=torch.float64, requires_grad=True)
    optimizer, seen = torch.optim.SGD([x], lr=1., momentum=0), [x.detach().numpy().copy()]
    velocity = np.zeros(2)
    for t in range(1, steps):
        optimizer.zero_grad()
        (x @ torch.tensor(_hess) @ x / 2 + x[0]).backward()
        velocity = momentum * velocity - rates[t] * x.grad.numpy()
        with torch.no_grad():
            x += torch.tensor(velocity)
        seen.append(x.detach().numpy().copy())
    return seen

_rates = [0, 0.1, 0.2, 0.15, 0.1, 0.3]

_path, _plain = by_torch(0.9, _rates), by_torch(0.0, _rates)

_moving = dict(**_quad, t=range(2, 6), eta=lambda t: _rates[t], x=lambda t: _path[t], lambda_=0.9,
               g=lambda t: _path[t] - _path[t - 1] if t else np.zeros(2))

prints('aw.momentum.momentum', **_moving)
prints('aw.momentum.update', **_moving)
prints('aw.momentum.expanded', **_moving)
prints('aw.gd.gd-step', **_moving | dict(x=lambda t: _plain[t]))

def on_diamond(x):
    t = abs(x)
    if t.sum() <= 1:
        return 0.0
    return optimize.brentq(lambda theta: np.maximum(t - theta, 0).sum() - 1, 0, t.max())


def nearest_on_diamond(x):
    corners = np.array(list(product([-1, 1], repeat=3)))  # |v|_1 <= 1 as eight half-spaces
    best = optimize.minimize(lambda v: (v - x) @ (v - x), np.zeros(3), jac=lambda v: 2 * (v - x), method='SLSQP',
                             constraints={'type': 'ineq', 'fun': lambda v: 1 - corners @ v, 'jac': lambda v: -corners},
                             options={'ftol': 1e-15, 'maxiter': 500})
    return np.round(best.x, 6)

prints(
    'convex_sets-diamond',
    x=vectors(3, -2, 2),
    theta=of(lambda x: round(on_diamond(x), 6)),
    p=of(lambda x: nearest_on_diamond(x)),
)
prints('subgradients-worst', f=lambda w: max([*w[:3], np.sqrt(w @ w) - 1 - 3 ** -0.5]), w=vectors(5), k=3)
prints('convex_functions-quadratic-gap', u=vectors(3), v=vectors(3), A=matrices(3, 3), lambda_=scalars(0, 1))
prints(
    'ml.opt.gd-mse.residual',
    X=normal(4, 2),
    y=normal(4),
    w=normal(2),
    e=of(lambda X, y, w: np.array([b - a @ w for a, b in zip(X, y, strict=True)])),
)
