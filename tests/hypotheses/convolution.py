"""Convolution: theorems as functions, and cases without their hypotheses."""
import numpy as np

from nbutils.cases import vectors
from nbutils.checks import close
from tests.hypotheses import theorem


def around(f, x):
    """The convolution of two signals on a circle."""
    return np.array([sum(f[k] * x[i - k] for k in range(len(x))) for i in range(len(x))])


def cut_off(f, x):
    """The convolution of two signals with zeros beyond their ends, cut to their length."""
    return np.convolve(f, x)[:len(x)]


FILTER = np.array([1., -2., 0., 0.5])
theorem(
    'thm-equivariant-is-convolution',
    lambda A, x: not close(A(np.roll(x, 1)), np.roll(A(x), 1)) or close(A(x), around(A(np.eye(4)[0]), x)),
    A=[lambda x: around(FILTER, x), lambda x: np.cumsum(x), lambda x: x.mean() + 0 * x], x=vectors(4),
    without={'A linear map': dict(A=lambda x: x ** 2, x=np.array([2., 1., 0., 3.]))},
)
theorem(
    'thm-convolution-fourier',
    lambda convolve, f, x: close(np.fft.fft(convolve(f, x)), np.fft.fft(f) * np.fft.fft(x)),
    convolve=[around], f=vectors(4), x=vectors(4), without={'on a circle': dict(convolve=cut_off, f=FILTER, x=np.ones(4))},
)


def row_normalized(x, epsilon, about):
    """The row with its mean subtracted if `about`, divided by the root of the mean square and epsilon; nan where that is 0."""
    c = x - about * x.mean()
    square = (c ** 2).mean() + epsilon
    return c / np.sqrt(square) if square > 0 else c * np.nan


def scale_forgotten(x, alpha, epsilon):
    z = row_normalized(x, 0, True)
    change = abs(row_normalized(alpha * x, epsilon, True) - z)
    return bool((change <= (epsilon / (2 * alpha ** 2 * (x.var() or np.nan)) + 1e-12) * abs(z)).all())


ROW = np.array([1., 7., 7., 9.])
theorem(
    'thm-ln-scale', scale_forgotten, x=[ROW, np.array([0., 0., 1.])], alpha=[0.01, 1., 10.], epsilon=[0., 1e-5, 0.1, 1.],
    without={
        r'$\epsilon \ge 0$': dict(x=ROW, alpha=1., epsilon=-0.5),
        r'$\alpha > 0$': dict(x=ROW, alpha=-1., epsilon=0.1),
        'be not all equal': dict(x=np.ones(3), alpha=1., epsilon=0.1),
    },
)


def what_is_lost(x, gamma, epsilon, about):
    """Whether the numerical Jacobian has the rank and the null space of the theorem."""
    step, lost = 1e-5, np.array([x, np.ones(len(x))])[:1 + about]
    J = np.array([gamma * (row_normalized(x + d, epsilon, about) - row_normalized(x - d, epsilon, about)) / (2 * step)
                  for d in step * np.eye(len(x))]).T
    if not np.isfinite(row_normalized(x, epsilon, about)).all():
        return False
    rank = np.linalg.matrix_rank(J, tol=1e-6)
    return bool(rank == len(x) - 1 - about and abs(J @ lost.T).max() < 1e-6)


ONES = np.ones(4)
theorem(
    'thm-ln-jacobian', what_is_lost, x=[ROW, np.array([0., 0., 1., -3.])], gamma=[ONES, np.array([-1., 2., 0.5, 3.])], epsilon=[0.], about=[True, False],
    without={
        r'$\epsilon = 0$': [dict(x=ROW, gamma=ONES, epsilon=1., about=about) for about in (True, False)],
        r'no $\gamma_k$ be zero': dict(x=ROW, gamma=np.array([0., 0., 0., 1.]), epsilon=0., about=True),
        'are not all equal': dict(x=ONES, gamma=ONES, epsilon=0., about=True),
        r'$\mathbf{x} \ne \mathbf{0}$': dict(x=0 * ONES, gamma=ONES, epsilon=0., about=False),
    },
)


def scale_forgotten_by_the_gradient(f, gradient, W, alpha):
    """Whether the gradient is orthogonal to W and that at alpha W is 1 / alpha times as large."""
    del f
    return close((gradient(W) * W).sum(), 0, atol=1e-6) and close(alpha * gradient(alpha * W), gradient(W), atol=1e-6)


def slopes(f, step=1e-6):
    """The numerical gradient of a function of a vector."""
    return lambda W: np.array([(f(W + d) - f(W - d)) / (2 * step) for d in step * np.eye(len(W))])


def direction(W):
    """Scale invariant: a function of the direction alone, and not the same at W and -W."""
    u = W / np.linalg.norm(W)
    return u[0] + 2 * u[0] * u[1] ** 2


DIRECTION = dict(f=direction, gradient=slopes(direction))
WEIGHTS = [np.array([1., 2., -1.]), np.array([-0.5, 0.3, 1.])]
theorem(
    'thm-wd-orthogonal', scale_forgotten_by_the_gradient, **{name: [value] for name, value in DIRECTION.items()},
    W=WEIGHTS, alpha=[0.5, 1., 3.],
    without={r'for all $\alpha > 0$': dict(f=np.sum, gradient=slopes(np.sum), W=WEIGHTS[0], alpha=3.)},
)


def square_after_a_step(gradient, momentum, W, eta, lam):
    """Whether the squared norm after a step, the second of two with momentum, is the sum of the theorem."""
    before = momentum * gradient(W + 1)
    after = (1 - eta * lam) * W - eta * (gradient(W) + before)
    return close(after @ after, (1 - eta * lam) ** 2 * W @ W + eta ** 2 * gradient(W) @ gradient(W), atol=1e-6)


theorem(
    'thm-wd-norm', square_after_a_step, gradient=[DIRECTION['gradient']], momentum=[0.], W=WEIGHTS, eta=[0.1, 1.], lam=[0., 0.5],
    without={
        r'$\mathcal{L}(\alpha \mathbf{W}) = \mathcal{L}(\mathbf{W})$ for each $\alpha > 0$': dict(
            gradient=slopes(np.sum), momentum=0., W=WEIGHTS[0], eta=1., lam=0.),
        'plain gradient descent': dict(gradient=DIRECTION['gradient'], momentum=0.9, W=WEIGHTS[0], eta=1., lam=0.),
    },
)


def lengths_kept(J, L, q, g):
    """The bounds for L blocks, all with the Jacobian J: with the skip connection and without it."""
    residual = np.linalg.norm(np.linalg.matrix_power((np.eye(len(J)) + J).T, L) @ g)
    plain, length = np.linalg.norm(np.linalg.matrix_power(J.T, L) @ g), np.linalg.norm(g)
    return bool((1 - q) ** L * length <= residual + 1e-12 and residual <= (1 + q) ** L * length + 1e-12
                and plain <= q ** L * length + 1e-12)


TURN = np.array([[0., -1.], [1., 0.]])
theorem(
    'thm-resnet-gradient', lengths_kept, J=[TURN / 2, -np.eye(2) / 2, 0 * TURN], q=[0.5, 0.7, 1.], L=[1, 2, 5], g=vectors(2),
    without={
        r'$0 \le q \le 1$': dict(J=-np.eye(2), q=2., L=2, g=np.ones(2)),
        r'$\|\mathbf{J}_\ell\| \le q$': [dict(J=-np.eye(2), q=0.5, L=2, g=np.ones(2)), dict(J=np.eye(2), q=0.5, L=2, g=np.ones(2))],
    },
)
