"""Calculus: theorems as functions, and cases without their hypotheses."""
from functools import cache

import numpy as np

from nbutils.cases import scalars
from nbutils.checks import close
from tests.hypotheses import theorem
from tests.prints import normal


def slope_of_x(x):
    """The derivative of relu(x) - relu(-x), which is x, over its two paths, where relu' = 0 at 0 as in the libraries."""
    return (x > 0) + (-x > 0)


for label, words in (('thm-reverse-mode', 'differentiable at the values that occur'),
                     ('thm-paths', 'a differentiable function of the values it is computed from')):
    theorem(label, lambda x: slope_of_x(x) == 1, x=[-2, -0.1, 3], without={words: dict(x=0)})


def least_cost(*n):
    """The fewest multiplications for a product of matrices of shapes (n[1], n[0]), (n[2], n[1]), ..."""
    @cache
    def cost(i, k):
        return min((cost(i, j) + cost(j, k) + n[i] * n[j] * n[k] for j in range(i + 1, k)), default=0)
    return cost(0, len(n) - 1)


theorem(
    'thm-reverse-optimal',
    lambda n: least_cost(*n) >= n[-1] * sum(a * b for a, b in zip(n[1:-1], n[:-2], strict=True)),
    n=[(3, 4, 2, 1), (2, 9, 2, 2, 1), (5, 2, 7, 1), (2, 2, 1)],
    without={'Let $n_L = 1$': dict(n=(1, 3, 3, 4)), 'all other $n_l \\ge 2$': dict(n=(2, 10, 1, 2, 1))},
)


def linear_at_zero(f, x, y):
    """Whether f (x, y) near 0 is its gradient times (x, y), up to what is small beside (x, y)."""
    h = 1e-6
    gradient = np.array([f(h, 0) - f(-h, 0), f(0, h) - f(0, -h)]) / (2 * h)
    return abs(f(h * x, h * y) - f(0, 0) - h * gradient @ [x, y]) <= 1e-3 * h


theorem(
    'thm-c1', linear_at_zero, f=[lambda x, y: x * y + np.sin(x), lambda x, y: np.exp(x - y)], x=[1, -1, 2], y=[1, 0.5],
    without={'are continuous at $\\mathbf{x}$': dict(f=lambda x, y: x * y / (x * x + y * y) if x or y else 0.0, x=1, y=1)},
)


def within_bounds(h, m2, m3, noise):
    """The quotients of m₂ x²/2 (forward) and of m₃ x³/6 (central) at 0, with errors of one size, for M₂ = M₃ = 1, δ = 1e-3."""
    forward = (m2 * h ** 2 / 2 + 2 * noise) / h
    central = (m3 * h ** 3 / 3 + 2 * noise) / (2 * h)
    return abs(forward) <= h / 2 + 2e-3 / h + 1e-12 and abs(central) <= h * h / 6 + 1e-3 / h + 1e-12


typical = dict(h=0.1, m2=1, m3=1, noise=1e-3)
theorem(
    'thm-best-step', within_bounds, h=[0.01, 0.1, 1], m2=[0.5, -1, 1], m3=[1, -1], noise=[0, 1e-3, -1e-3],
    without={
        'off by at most $\\delta$': typical | dict(noise=1e-2),
        "$|f''| \\le M_2$": typical | dict(h=1, m2=2),
        "$|f'''| \\le M_3$": typical | dict(h=1, m3=2),
    },
)
theorem(  # at 0, with R = 1
    'thm-jacobians-remainder', lambda f, slope, L, h: abs(f(h) - f(0) - slope * h) <= L / 2 * h * h + 1e-9,
    f=[lambda x: x * x, np.cos], slope=[0], L=[2], h=scalars(-0.99, 0.99),
    without={
        'be continuously differentiable': dict(f=lambda x: float(x > 0.5), slope=0, L=0, h=0.9),
        'changes at most at the rate $L$': dict(f=lambda x: x * x, slope=0, L=1, h=0.5),
        '$\\|\\mathbf{h}\\| < R$': dict(f=lambda x: float(x > 1), slope=0, L=0, h=2),
    },
)
theorem(
    'thm-differentials', lambda f, df, X, H: close((f(X + 1e-6 * H) - f(X)) / 1e-6, df(X) * H, atol=1e-4),
    f=[np.sin], df=[np.cos], X=normal(2, 2), H=normal(2, 2),
    without={'a differentiable function $\\sigma$': dict(f=abs, df=np.sign, X=np.zeros((2, 2)), H=np.ones((2, 2)))},
)


def spectral_norm_has_gradient(X, H):
    u, _, vt = np.linalg.svd(X)
    change = np.linalg.norm(X + 1e-6 * H, 2) - np.linalg.norm(X - 1e-6 * H, 2)
    return close(change / 2e-6, u[:, 0] @ H @ vt[0], atol=1e-4)


theorem(
    'thm-sigma-max', spectral_norm_has_gradient, X=normal(2, 2).map(lambda X: X + np.diag([5, 0])), H=normal(2, 2),
    without={'$\\sigma_1 > \\sigma_2$': dict(X=np.eye(2), H=np.diag([1., -1.]))},
)
