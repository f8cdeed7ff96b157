"""Optimization: theorems as functions, and cases without their hypotheses. Most live on the line."""
import numpy as np

from nbutils.cases import scalars, vectors
from nbutils.checks import close
from tests.hypotheses import theorem

LINE = np.linspace(-3, 3, 601)  # steps of 0.01


def no_tangent_above_iff_no_curvature_below_zero(f, df, d2f, points):
    heights = f(points)[:, None] - f(points) - df(points) * (points[:, None] - points)
    return (heights > -1e-9).all() == (d2f(points) > -1e-9).all()


BUMPS = np.r_[LINE[LINE < -1], LINE[LINE > 1]]
theorem(
    'thm-three-tests', no_tangent_above_iff_no_curvature_below_zero,
    f=[np.exp], df=[np.exp], d2f=[np.exp], points=[LINE, LINE[:50]],
    without={'on an open convex set': dict(f=lambda x: -abs(x), df=lambda x: -np.sign(x), d2f=lambda x: 0 * x, points=BUMPS)},
)
theorem(
    'thm-strong-minimum', lambda slope, x, mu: abs(x) <= abs(slope(x)) / mu + 1e-12,  # minimizer 0
    slope=[lambda x: 2 * x, lambda x: x + x ** 3], x=scalars(-3, 3), mu=[0.5, 1],
    without={'$\\mu$-strongly convex': dict(slope=lambda x: 4 * x ** 3, x=0.1, mu=1)},
)
UNIT = np.linspace(0, 1, 2001)


def is_its_biconjugate(f):
    """Whether f on [0, 1] and the conjugate of its conjugate, with slopes from -50 to 50, are the same at 0 and 1/2."""
    slopes = np.linspace(-50, 50, 401)
    conjugate = (slopes[:, None] * UNIT - f(UNIT)).max(1)
    twice = [(slopes * x - conjugate).max() for x in (0, 0.5)]
    return close(twice, f(np.array([0, 0.5])), atol=0.05)


theorem('thm-biconjugate', is_its_biconjugate, f=[np.square, np.exp, lambda x: abs(x - 0.5)],
        without={'continuous': dict(f=lambda x: (x == 0) * 1.0)})


def nearest_iff_obtuse(C, x):
    """For a set of points on the line and each of its points: whether it is the nearest one just if no angle is acute."""
    return all((abs(x - p) == abs(x - C).min()) == ((x - p) * (C - p) <= 1e-9).all() for p in C)


theorem('thm-obtuse-angle', nearest_iff_obtuse, C=[np.linspace(-1, 1, 5)], x=[-3, 1, 1.5],
        without={'Let $C$ be convex': dict(C=np.array([-1., 1.]), x=0.5)})


def ends_nearest(sets, x):
    """Whether Dykstra's algorithm on sets of points on the line ends at the common point that is nearest."""
    y, removed = x, [0.0] * len(sets)
    for _ in range(50):
        for i, C in enumerate(sets):
            wish = y + removed[i]
            y = C[abs(C - wish).argmin()]
            removed[i] = wish - y
    common = np.intersect1d(*sets)
    return abs(y - x) <= abs(common - x).min() + 0.011


theorem('thm-dykstra', ends_nearest, sets=[[LINE[:400], LINE[150:]]], x=[-4, 0, 2.5],
        without={'closed convex set': dict(sets=[np.array([-1, 0, 1.2]), np.array([-1, 1.2])], x=0.4)})


def below_parabola(f, df, L, x, y):
    return f(y) <= f(x) + df(x) * (y - x) + L / 2 * (y - x) ** 2 + 1e-9


theorem('thm-descent-lemma', below_parabola, f=[np.sin], df=[np.cos], L=[1, 2], x=scalars(), y=scalars(),
        without={'If $f$ is $L$-smooth': dict(f=lambda x: 2 * x * x, df=lambda x: 4 * x, L=1, x=0, y=1)})
theorem(  # μ = 1, L = 4, minimizer 0
    'thm-gd-rate', lambda slope, x, eta: abs(x - eta * slope(x)) <= max(abs(1 - eta), abs(1 - 4 * eta)) * abs(x) + 1e-12,
    slope=[lambda x: x, lambda x: 4 * x, lambda x: 2.5 * x], x=scalars(-3, 3), eta=[0.1, 0.4, 0.5],
    without={'on quadratics': dict(slope=lambda x: x ** 3, x=3, eta=0.4)},
)
theorem(  # equally likely values
    'thm-jensen', lambda f, x: f(x).mean() > f(x.mean()) + 1e-9 or np.ptp(x) < 1e-3,
    f=[np.exp, np.square], x=vectors(3, -3, 3), without={'If $f$ is strictly convex': dict(f=abs, x=np.array([1., 2., 3.]))},
)


def ways_agree(f, df, C, w, gamma):
    """Whether the three ways to be optimal agree for a point and a set of points on the line."""
    lowest = w in C and f(w) <= f(C).min() + 1e-9
    level = (df(w) * (C - w) >= -1e-9).all()
    goal = w - gamma * df(w)
    stands = abs(C[abs(C - goal).argmin()] - w) < 1e-9
    return lowest == level == stands


box = np.linspace(-1, 2, 301)
typical = dict(f=np.square, df=lambda x: 2 * x, C=box, w=2.0, gamma=0.5)
theorem(
    'thm-constrained-optimum', ways_agree, f=[np.square], df=[lambda x: 2 * x], C=[box], w=[box[100], box[150], box[-1]],
    gamma=[0.5, 1],
    without={
        'Let $C$ be closed and convex': typical | dict(C=np.array([-1., 0.5]), f=lambda x: (x - 0.4) ** 2,
                                                       df=lambda x: 2 * (x - 0.4), w=0.5),
        '$f$ convex and differentiable': typical | dict(f=lambda x: -x ** 2, df=lambda x: -2 * x, w=-1.0),
        '\\in C$': typical | dict(C=box[200:], w=0.0),
        '$\\gamma > 0$': typical | dict(gamma=0),
    },
)


def keeps_rate(f, df, L, gamma, start, goal=0.0, wall=np.inf, prox=None):
    """Whether 50 steps from a start keep to L ‖w₀ - w*‖² / 2 t over the minimum, inside of walls, after a proximal step."""
    w = start
    for t in range(1, 51):
        w = np.clip(w - gamma * df(w), -wall, wall)
        w = prox(w) if prox else w
        if f(w) - f(goal) > L * (start - goal) ** 2 / (2 * t) + 1e-9:
            return False
    return True


def steep(x):
    return 4 * x ** 2


smooth = dict(f=lambda x: x * x / 2, df=lambda x: x, L=1, gamma=1, start=3.0)
hill = smooth | dict(f=np.cos, df=lambda x: -np.sin(x), start=0.0, goal=np.pi)
too_steep = smooth | dict(f=steep, df=lambda x: 8 * x)
rates = dict(f=[lambda x: np.logaddexp(x, -x)], df=[np.tanh], L=[2], start=scalars(-4, 4), wall=[5.0])
theorem(
    'thm-pgd-rate', keeps_rate, **rates, gamma=[0.5],
    without={'be convex': hill | dict(wall=5.0), '$L$-smooth': too_steep | dict(wall=5.0),
             '$\\gamma = 1/L$': smooth | dict(gamma=3, wall=50.0)},
)
theorem(
    'thm-stationary-rate', keeps_rate, **rates | dict(wall=[np.inf]), gamma=[0.5],
    without={'be convex': hill, '$L$-smooth': too_steep, '$0 < \\eta \\le 1/L$': smooth | dict(gamma=3)},
)


def sparse_step(v, price=0.45, gamma=0.25):
    """The proximal step of price times [w ≠ 0]."""
    return v if v * v / 2 > gamma * price else 0.0


def soft_step(v):
    return np.sign(v) * max(abs(v) - 0.5, 0)


with_price = dict(f=lambda x: (x - 1) ** 2 / 2 + abs(x), df=lambda x: x - 1, L=2, gamma=0.5, prox=soft_step)
theorem(  # f includes the term h, df does not
    'thm-ista-rate', keeps_rate, **{name: [value] for name, value in with_price.items()}, start=scalars(-4, 4),
    without={
        'Let $f$ be convex': hill, '$L$-smooth': too_steep, '$\\gamma = 1/L$': smooth | dict(gamma=3),
        '$h$ convex': dict(f=lambda x: (x - 1) ** 2 / 2 + 0.45 * (x != 0), df=lambda x: x - 1, L=4, gamma=0.25, start=0.0,
                           goal=1.0, prox=sparse_step),
    },
)


def multipliers_prove(f, df, g, dg, w, force):
    """Whether a point that is allowed, with a multiplier that balances the slope, is lowest among the allowed ones."""
    assert abs(df(w) + force * dg(w)) < 1e-9 and g(w) <= 1e-9
    return f(w) <= f(LINE[g(LINE) <= 1e-9]).min() + 1e-9


fence = dict(g=lambda x: x - 1, dg=lambda x: 1)
theorem(
    'thm-kkt', multipliers_prove, f=[lambda x: (x - 2) ** 2], df=[lambda x: 2 * (x - 2)], g=[fence['g']], dg=[fence['dg']],
    w=[1], force=[2],
    without={
        'Let $f$ and $g_1, \\dots, g_m$ be convex': [
            fence | dict(f=lambda x: -x ** 2, df=lambda x: -2 * x, w=0, force=0),
            dict(f=lambda x: (x + 0.5) ** 2, df=lambda x: 2 * x + 1, g=lambda x: 1 - x ** 2, dg=lambda x: -2 * x, w=1, force=1.5)],
        '\\lambda_i \\ge 0': fence | dict(f=np.square, df=lambda x: 2 * x, w=1, force=-2),
        '\\lambda_i \\, g_i(\\mathbf{w}^*) &= 0': fence | dict(f=lambda x: -x, df=lambda x: -1, w=0, force=1),
    },
)
theorem(
    'thm-stationary-first-order', lambda f, x: abs(f(x + 1e-6) - f(x - 1e-6)) < 1e-9, f=[np.square, lambda x: x ** 4], x=[0],
    without={'interior point': dict(f=lambda x: x, x=0),  # on [0, 1], where 0 is the minimum
             'is a local minimum': dict(f=np.sin, x=0)},
)
NEAR = np.array([-1e-3, -1e-4, 1e-4, 1e-3])
theorem(
    'thm-stationary-second-order', lambda f: (f(NEAR) > f(0)).all(), f=[np.square, lambda x: x ** 2 + 5 * x ** 3, np.cosh],
    without={'if $\\nabla f(\\mathbf{x}^+) = \\mathbf{0}$': dict(f=lambda x: x + x ** 2),
             '$\\mathbf{H} \\succ 0$': dict(f=lambda x: x ** 3)},
)


def shrinks(f, df, lowest, L, mu, x, eta=None):
    """Whether 20 steps of descent shrink the gap by 1 - μ/L each."""
    first = f(x) - lowest
    for t in range(1, 21):
        x = x - (1 / L if eta is None else eta) * df(x)
        if f(x) - lowest > (1 - mu / L) ** t * first + 1e-9:
            return False
    return True


valley = dict(f=lambda x: x * x, df=lambda x: 2 * x, lowest=0, mu=2, x=1.0)
theorem(
    'thm-stationary-pl', shrinks, f=[lambda x: x * x + 3 * np.sin(x) ** 2], df=[lambda x: 2 * x + 3 * np.sin(2 * x)],
    lowest=[0], L=[8], mu=[1 / 6], x=scalars(),
    without={
        'be $L$-smooth': valley | dict(L=0.5, mu=0.1),
        '\\ge \\mu \\, (f(\\mathbf{x}) - f^*)$': valley | dict(f=np.cos, df=lambda x: -np.sin(x), lowest=-1, L=1, mu=0.5, x=0.0),
        'with $\\eta = 1/L$': valley | dict(L=2, eta=1.5),
    },
)
theorem(  # around 0
    'thm-stationary-newton', lambda df, d2f, mu, M, x: abs(x - df(x) / d2f(x)) <= M / (2 * mu) * x * x + 1e-12,
    df=[lambda x: x + x ** 2 / 2], d2f=[lambda x: 1 + x], mu=[0.5], M=[1], x=scalars(-0.5, 0.5),
    without={
        'the stationary point $\\mathbf{x}^*$': dict(df=lambda x: 1 + x, d2f=lambda x: 1, mu=1, M=0, x=0.5),
        'be at least $\\mu > 0$': dict(df=lambda x: x ** 3, d2f=lambda x: 3 * x ** 2, mu=1, M=1, x=0.1),
        'be $M$-Lipschitz': dict(df=lambda x: x + x ** 2 / 2, d2f=lambda x: 1 + x, mu=0.5, M=0, x=0.5),
    },
)


def keeps_sgd_bound(mu, squares, start, scale=1.0):
    """The mean square of w for losses (w - y)² / 2 with y = ±1 by a coin, against 2 G² / (μ² t), for 200 steps of scale / (μ t)."""
    second = start ** 2
    for t in range(1, 201):
        step = scale / (mu * t)
        second = (1 - step) ** 2 * second + step ** 2
        if second > 2 * squares / (mu ** 2 * (t + 1)) + 1e-12:
            return False
    return True


theorem(
    'thm-sgd-rate', lambda mu, start, squares=None, scale=1.0: keeps_sgd_bound(
        mu, start ** 2 + 1 if squares is None else squares, start, scale), mu=[0.5, 1], start=scalars(-2, 2),
    without={
        '\\ge \\mu \\|\\mathbf{w} - \\mathbf{w}^*\\|^2$': dict(mu=4, start=2),
        '$\\mathbb{E}\\|\\nabla \\mathcal{L}_n(\\mathbf{w})\\|^2 \\le G^2$': dict(mu=1, start=0, squares=0.1),
        'With $\\gamma_t = \\frac{1}{\\mu t}$': dict(mu=1, start=2, scale=0.1),
    },
)


def two_valleys(x):
    return np.minimum(abs(x), 1 + abs(x - 5))


def subgradients_arrive(f, df, R, G, start, T=100):
    """Whether the best of T constant steps is within R G / √(T + 1) of the minimum, which is f(0)."""
    x, best = start, f(start)
    for _ in range(T):
        x = x - R / (G * np.sqrt(T + 1)) * df(x)
        best = min(best, f(x))
    return best - f(0) <= R * G / np.sqrt(T + 1) + 1e-9


theorem(
    'thm-subgradient-rate', subgradients_arrive, f=[lambda x: abs(x) + max(x, 0)], df=[lambda x: np.sign(x) + (x > 0)],
    R=[3], G=[2], start=scalars(-3, 3),
    without={
        'be convex': dict(f=two_valleys, df=lambda x: np.sign(x) if x < 3 else np.sign(x - 5), R=5, G=1, start=5),
        '$\\|\\mathbf{e}_0\\| \\le R$': dict(f=abs, df=np.sign, R=1, G=1, start=30),
        'all $\\|\\mathbf{g}\\| \\le G$': dict(f=lambda x: 9 * abs(x), df=lambda x: 9 * np.sign(x), R=1, G=0.1, start=0.37),
    },
)
