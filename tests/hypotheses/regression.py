"""Regression: theorems as functions, and cases without their hypotheses."""
from itertools import product

import numpy as np
from numpy.linalg import inv, matrix_rank, norm, pinv
from scipy import stats

from nbutils.cases import scalars, vectors
from nbutils.checks import close
from tests.hypotheses import theorem
from tests.prints import normal

I2, I3, I4 = np.eye(2), np.eye(3), np.eye(4)
SIGNS4 = np.array(list(product([-1., 1.], repeat=4)))  # equally likely noise (16, 4): independent, mean 0, variance 1
theorem(  # equally likely pairs of a noise and a fitted value, and f(x₀) = 2
    'thm-bias-variance',
    lambda noise, fitted: close(((2 + noise - fitted) ** 2).mean(), noise.var() + (2 - fitted.mean()) ** 2 + fitted.var()),
    noise=[np.tile([-1., 1.], 3)], fitted=[np.repeat([1., 2., 5.], 2)],
    without={'$\\mathbb{E}\\,\\varepsilon = 0$': dict(noise=np.tile([0., 2.], 3), fitted=np.repeat([1., 2., 5.], 2))},
)


def smooths(predict, f, noise):
    """Bias and variance of predict(y) (N,) -> number, whose weights are its answers to the unit vectors, f(x₀) = f[0], σ = 1."""
    weights = np.array([predict(e) for e in I4])
    answers = np.array([predict(f + e) for e in noise])
    return close(answers.mean() - f[0], weights @ f - f[0]) and close(answers.var(), (weights ** 2).sum())


case = dict(predict=np.mean, f=np.arange(4.), noise=SIGNS4)
theorem(
    'thm-linear-smoother', smooths, predict=[np.mean, lambda y: y[0], lambda y: y @ [0.5, 0.7, -0.2, 0]],
    f=vectors(4), noise=[SIGNS4],
    without={
        '$\\mathbb{E}\\,\\boldsymbol\\varepsilon = \\mathbf{0}$': case | dict(noise=SIGNS4 + 1),
        '$\\operatorname{Cov}\\boldsymbol\\varepsilon = \\sigma^2\\mathbf{I}$': case | dict(noise=np.array([[1.] * 4, [-1.] * 4])),
        'a linear smoother': case | dict(predict=np.median),
    },
)
theorem(  # the variance of least squares
    'thm-knobs', lambda X: close(np.trace(X @ pinv(X)), X.shape[1]), X=normal(4, 2),
    without={'independent feature columns': dict(X=np.ones((4, 2)))},
)
theorem(  # the bias of the mean of neighbours at 0, with L = 2
    'thm-knobs', lambda f, near: abs(f(near).mean() - f(np.zeros(1))[0]) <= 2 * abs(near).mean() + 1e-12,
    f=[lambda x: 2 * x, np.sin], near=vectors(3),
    without={"If $|f(x) - f(x')| \\le L|x - x'|$": dict(f=lambda x: (x > 0) * 1.0, near=np.array([0.1, 0.2, 0.3]))},
)


def two_folds(outcome):
    return [[0, 1], [2, 3]]


def sorted_folds(outcome):
    order = np.argsort(outcome, kind='stable')
    return [order[:2], order[2:]]


def nobody(labels, inputs, test_inputs):
    """Guesses the more frequent label, or 1."""
    return np.full(len(test_inputs), 1.0 if labels.sum() >= 0 else -1.0)


def accuracy_is_half(outcomes, inputs, folds, rule):
    right = []
    for labels in outcomes:
        x = inputs(labels)
        for F in folds(labels):
            T = [i for i in range(4) if i not in F]
            right.append(np.mean(rule(labels[T], x[T], x[F]) == labels[F]))
    return close(np.mean(right), 0.5)


case = dict(outcomes=SIGNS4, inputs=np.zeros_like, folds=two_folds, rule=nobody)
theorem(
    'thm-coin', accuracy_is_half, outcomes=[SIGNS4], inputs=[np.zeros_like, lambda y: np.arange(4.)], folds=[two_folds],
    rule=[nobody, lambda labels, x, at: -nobody(labels, x, at)],
    without={
        'fair coins': case | dict(outcomes=np.ones((1, 4))),
        'independent of each other, of all inputs and of the folds': [
            case | dict(outcomes=SIGNS4[[0, -1]]), case | dict(inputs=np.copy, rule=lambda labels, x, at: at),
            case | dict(folds=sorted_folds)],
    },
)


def estimates_the_risk(outcomes, folds, k):
    """For the mean of the labels ±1, fair coins, as prediction: its risk from n examples is 1 + 1/n."""
    N, errors = outcomes.shape[1], []
    for y in outcomes:
        for F in folds(y):
            errors += [*(y[F] - np.delete(y, F).mean()) ** 2 / N]
    return close(np.sum(errors) / len(outcomes), 1 + 1 / (N - N / k))


case = dict(outcomes=SIGNS4, folds=two_folds, k=2)
theorem(
    'thm-cv-expectation', estimates_the_risk, outcomes=[SIGNS4], folds=[two_folds, lambda y: [[0, 3], [1, 2]]], k=[2],
    without={
        'independent': case | dict(outcomes=SIGNS4[[0, -1]]),
        'let $k$ divide $N$': dict(outcomes=np.array(list(product([-1., 1.], repeat=3))), folds=lambda y: [[0, 1], [2]], k=2),
        'chosen without looking at the examples': case | dict(folds=sorted_folds),
    },
)
theorem(
    'thm-fold-shortcut', lambda X, F: matrix_rank(np.eye(len(F)) - (X @ pinv(X))[np.ix_(F, F)], 1e-9) == len(F),
    X=normal(5, 2), F=[[0], [1, 3]],
    without={'such that the fit without $F$ is unique': dict(X=I4[:, :2], F=[0])},
)


def has_the_limit_law(draw, density, leverage=False):
    """Whether √N times the error of the median of N = 201 draws is normal with variance 1 / 4 f(0)², to see in 3000 samples.

    With `leverage`, the first input is so large that its residual decides alone.
    """
    noise = draw(np.random.default_rng(0), (3000, 201))
    scaled = np.sqrt(201) * (noise[:, 0] if leverage else np.median(noise, axis=1))
    return stats.kstest(scaled * 2 * density, 'norm').statistic < 0.04


def laplace(rng, shape):
    return rng.laplace(size=shape)


def of_two_laws(rng, shape):
    """Inputs 1 and 3 with noise of this scale: least absolute deviations take the median of the quotients, the others thrice."""
    return np.hstack([laplace(rng, (shape[0], 100)), np.repeat(laplace(rng, (shape[0], 101)), 3, axis=1)])


def of_two_pieces(rng, shape):
    """Median 0 and the density 1/2 below it, 1/4 above."""
    u = rng.uniform(-1, 1, shape)
    return np.where(u > 0, 2 * u, u)


theorem(
    'thm-noise-lad', has_the_limit_law,
    draw=[laplace], density=[0.5], leverage=[False], tries=1,
    without={
        'independent $\\epsilon_n$': dict(draw=lambda rng, s: np.repeat(laplace(rng, (s[0], 1)), s[1], 1), density=0.5),
        'of one law': dict(draw=of_two_laws, density=np.sqrt(5) / 3),  # Q = 5, the mean density at 0 is 1/3
        'the median 0': dict(draw=lambda rng, s: rng.exponential(size=s), density=1),
        'a continuous density': dict(draw=of_two_pieces, density=3 / 8),
        '$f(0) > 0$': dict(draw=lambda rng, s: np.cbrt(rng.uniform(-1, 1, s)), density=0),
        '$\\max_n \\|\\mathbf{x}_n\\| / \\sqrt N \\to 0$': dict(draw=laplace, density=0.5, leverage=True),
    },
)
theorem(  # equally likely losses ±1 of a sample
    'thm-gen-fixed', lambda losses: close(losses.mean(1).std(), 1 / np.sqrt(losses.shape[1])), losses=[SIGNS4],
    without={'independent examples': dict(losses=SIGNS4[[0, -1]])},
)
theorem(  # labels ±1, constants as models
    'thm-gen-flattery',
    lambda model: np.mean([((y - model(y)) ** 2).mean() for y in SIGNS4]) <= 1 <= np.mean([model(y) ** 2 + 1 for y in SIGNS4]),
    model=[np.mean], without={'minimize $L_{S_n}$': dict(model=lambda y: 5)},
)
theorem(
    'thm-gen-exact', lambda X: close(np.trace(I4 - X @ pinv(X)) / 4, 1 - X.shape[1] / 4), X=normal(4, 2),
    without={'invertible $\\boldsymbol\\Sigma$': dict(X=np.outer([1., -2, 0, 3], [1, 1]))},
)


def lasso_line(x, y, price):
    """The lasso weight of one feature, for Nα = price."""
    return np.sign(x @ y) * max(abs(x @ y) - price, 0) / (x @ x)


theorem(
    'thm-lasso-gap', lambda X, w, z: (2 * abs(w) - w * (X.T @ z) >= -1e-9).all(),  # Nα = 2
    X=[I2, np.array([[1., 1.], [0., 1.]])], w=vectors(2), z=vectors(2, -1, 1),
    without={'every $\\mathbf{z} \\in C$': dict(X=I2, w=np.array([1., 0.]), z=np.array([3., 0.]))},
)
ones = np.ones(2)
theorem(
    'thm-lasso-zeros', lambda x, y: lasso_line(x, y, 2) == 0, x=[ones], y=vectors(2, -0.9, 0.9),
    without={'$|\\mathbf{X}_j^\\top\\mathbf{r}^*| < N\\alpha$': dict(x=ones, y=np.array([3., 0.]))},
)


def one_minimizer(X):
    """Whether moving weight between the first two features, both positive, changes 1/2 ‖y - X w‖² + ‖w‖₁."""
    y = X @ np.array([3., 3.])

    def objective(w):
        return ((y - X @ w) ** 2).sum() / 2 + abs(w).sum()
    return not close(objective(np.array([3., 3.])), objective(np.array([2., 4.])))


theorem('thm-lasso-path', one_minimizer, X=[I2, np.array([[1., 1.], [0., 2.], [3., 0.]])],
        without={'be linearly independent': dict(X=np.ones((3, 2)))})
flat = np.array([[2., 0., 0.], [0., 1., 0.]])  # N = 2, s₁ = 2, a null space


def lands_nearest_to_its_start(eta, start):
    w, y = start, np.array([2., 3.])
    for _ in range(300):
        w = w - eta * flat.T @ (flat @ w - y) / 2
    return close(w, pinv(flat) @ y + [0, 0, start[2]])


theorem('thm-ls-implicit', lands_nearest_to_its_start, eta=[0.3, 0.9], start=vectors(3),
        without={'$0 < \\eta < 2N / s_1^2$': [dict(eta=1.05, start=np.zeros(3)), dict(eta=-0.1, start=np.zeros(3))]})


def conjugate_gradients_keep_the_rate(X, y, start):
    best, s = pinv(X) @ y, np.linalg.svd(X)[1]
    rate = (s[0] - s[-1]) / (s[0] + s[-1])
    g = X.T @ (y - X @ start)
    w = start + (g @ g) / ((X @ g) @ (X @ g) + 1e-300) * g  # the first step
    return all(norm(X @ (v - best)) <= 2 * rate ** k * norm(X @ best) * (1 + 1e-9) for k, v in enumerate((start, w)))


theorem(
    'thm-ls-cg', conjugate_gradients_keep_the_rate, X=normal(4, 2), y=vectors(4), start=[np.zeros(2)],
    without={'With $\\mathbf{w}_0 = \\mathbf{0}$': dict(X=np.diag([2., 1.]), y=np.zeros(2), start=np.ones(2))},
)
THROWS = np.array([0., 0., 6.])  # equally likely values of Y
theorem(
    'thm-conditional-mean', lambda f, m: close(((THROWS - f) ** 2).mean(), ((THROWS - m) ** 2).mean() + (m - f) ** 2),
    f=scalars(), m=[2], without={'Let $m(\\mathbf{x}) = \\mathbb{E}[Y \\mid X = \\mathbf{x}]$': dict(f=2, m=0)},
)


def settles_in_the_band(eta, b):
    """The mean excess of a weight that learns a mean from batches of labels of variance 1: H = κ = λ = S = 1."""
    second, excess = 4.0, []
    for _ in range(20_000):
        excess.append(second / 2)
        second = min((1 - eta) ** 2 * second + eta ** 2 / b, 1e9)
    low = eta / (4 * b)
    return 0.98 * low <= np.mean(excess) <= 1.02 * low / (1 - eta / 2)


theorem('thm-minibatch-floor', settles_in_the_band, eta=[0.3, 1.0], b=[1, 4], tries=2,
        without={'$0 < \\eta < 2 / \\kappa_b$': dict(eta=2.5, b=1)})


def seldom_far(losses, K, price=0.0):
    """The bound for equally likely losses (m, N), [a, b] = [-1, 1], risk 0, δ = 1/2."""
    eps = 2 * np.sqrt((np.log(2 * K / 0.5) + price) / (2 * losses.shape[1]))
    return (abs(losses.mean(1)) >= eps).mean() <= 0.5


coins = np.array(list(product([-1., 1.], repeat=8)))
theorem(
    'thm-ms-union', seldom_far, losses=[coins], K=[1, 3],
    without={'be fixed before the test set is drawn': dict(losses=np.ones((1, 8)), K=1),  # chosen to fail on the test set
             'losses lie in $[a, b]$': dict(losses=9 * coins, K=1)},
)
theorem(  # the second model after one answer of two values
    'thm-ms-adaptive', lambda losses: seldom_far(losses, 1, 2 * np.log(2)), losses=[coins],
    without={'from the answers to the earlier ones': dict(losses=np.ones((1, 8))),
             'one of $m \\ge 2$ values': dict(losses=np.ones((1, 8)))},
)


def leads_down(J, r):
    p = -pinv(J) @ r
    return r @ J @ p < -1e-12 and close(r @ J @ p, -norm(J @ p) ** 2)


theorem('thm-nlls-descent', leads_down, J=normal(3, 2), r=normal(3).map(lambda r: r + 5),
        without={'$\\nabla L(\\mathbf{w}) \\ne \\mathbf{0}$': dict(J=I3[:, :2], r=I3[2])})


theorem(  # one weight, and no residual at 0, where the slope is 1: an error of the order of the square
    'thm-nlls-rate', lambda r, slope, w: abs(w - r(w) / slope(w)) <= 3 * w * w + 1e-15,
    r=[lambda w: w + w * w], slope=[lambda w: 1 + 2 * w], w=[1e-6, -1e-4], tries=2,
    without={'be three times continuously differentiable': dict(
        r=lambda w: w + abs(w) ** 1.5, slope=lambda w: 1 + 1.5 * np.sqrt(abs(w)), w=1e-6)},
)


def length_falls(J, r):
    lengths = [norm(inv(J.T @ J + price * I2) @ J.T @ r) for price in (0.1, 1, 10)]
    return lengths[0] > lengths[1] > lengths[2]


theorem('thm-nlls-bridge', length_falls, J=normal(3, 2), r=normal(3), without={'\\ne \\mathbf{0}$': dict(J=I3[:, :2], r=I3[2])})


def one_polynomial(x, degree):
    """Whether the coefficients are determined by any values at the points."""
    V = np.vander(x, degree + 1)
    return matrix_rank(V) == len(x) == degree + 1


points = np.array([-1., 0.5, 2.])
theorem('thm-interpolation', one_polynomial, x=[points, points ** 3], degree=[2],
        without={'be distinct': dict(x=np.array([1., 1., 2.]), degree=2), 'at most $N - 1$': dict(x=points, degree=3)})


def parameters_cost(X, mean, C, cross):
    """Both errors for f = 0, σ = 1, noise of this mean and covariance C in old and new labels, cross covariance `cross`."""
    H, N = X @ pinv(X), len(X)
    bias = norm(mean - H @ mean) ** 2
    old = bias + np.trace((np.eye(N) - H) @ C)
    new = bias + np.trace(C) + np.trace(H @ C) - 2 * np.trace(H @ cross)
    p = X.shape[1]
    return close([old, new], [N - p, N + p])


typical = dict(X=I4[:, :2], mean=np.zeros(4), C=I4, cross=0 * I4)
theorem(
    'thm-parameter-price', parameters_cost, X=normal(4, 2), mean=[np.zeros(4)], C=[I4], cross=[0 * I4],
    without={
        '$\\mathbb{E}\\,\\boldsymbol\\varepsilon = \\mathbf{0}$': typical | dict(mean=np.ones(4)),
        '$\\operatorname{Cov}\\boldsymbol\\varepsilon = \\sigma^2\\mathbf{I}$': typical | dict(C=np.diag([4., 0., 0., 0.])),
        'independent columns': typical | dict(X=np.ones((4, 2))),
        'independent of $\\mathbf{y}$': typical | dict(cross=I4),
    },
)


def condition_is_large(x, from_zero):
    d = len(x) - 1
    grows = 1 + np.sqrt(2)
    bound = grows ** (2 * d) / (2 * np.sqrt(1 + d)) if from_zero else (grows ** d - 1) / (2 * np.sqrt(1 + d / 2))
    return np.linalg.cond(np.vander(x)) >= bound


cosines = np.cos(np.pi * (np.arange(9) + 0.5) / 9)
theorem('thm-vandermonde', condition_is_large, x=[cosines, np.linspace(-1, 1, 9)], from_zero=[False],
        without={r'\mathbf{x} \in [-1, 1]^N': dict(x=np.exp(2j * np.pi * np.arange(9) / 9), from_zero=False)})
theorem('thm-vandermonde', condition_is_large, x=[(1 + cosines) / 2, np.linspace(0, 1, 9)], from_zero=[True],
        without={r'\mathbf{x} \in [0, 1]^N': dict(x=cosines, from_zero=True)})


def descends_as_stated(features, noise):
    """p = 1, N = 10, τ = 1: a mean squared error of 1/8, within 4 % in 40,000 draws."""
    rng = np.random.default_rng(0)
    phi = features(rng, (40_000, 10))
    e = noise(rng, phi)
    return abs(((phi * e).sum(1) / (phi ** 2).sum(1)) @ ((phi * e).sum(1) / (phi ** 2).sum(1)) / 40_000 * 8 - 1) < 0.04


def bell(rng, shape):
    return rng.normal(size=shape)


def own(rng, phi):
    return rng.choice([-1., 1.], size=phi.shape)


theorem(
    'thm-two-descents', descends_as_stated, features=[bell], noise=[own], tries=1,
    without={
        'independent $\\mathcal{N}(0, 1)$ entries': [
            dict(features=lambda rng, s: rng.choice([-1., 1.], size=s), noise=own),
            dict(features=lambda rng, s: np.repeat(bell(rng, (s[0], 1)), s[1], 1), noise=own)],
        'with $\\mathbf{e}$ independent of $\\boldsymbol\\Phi$': dict(features=bell, noise=lambda rng, phi: phi),
        'of mean $\\mathbf{0}$': dict(features=bell, noise=lambda rng, phi: own(rng, phi) + 1),
    },
)
theorem(  # through (0, 0) and (1, 1), against the line: slopes of pieces of equal width, and a jump
    'thm-cheapest-curve', lambda slopes, jump: np.mean(np.square(slopes)) >= (np.mean(slopes) + jump) ** 2 - 1e-12,
    slopes=vectors(3), jump=[0], without={'continuous': dict(slopes=np.zeros(3), jump=1)},
)


def loss_rises(losses, penalties, low, high):
    at_low, at_high = np.argmin(losses + low * penalties), np.argmin(losses + high * penalties)
    return losses[at_high] >= losses[at_low] and penalties[at_high] <= penalties[at_low]


theorem('thm-penalty-trade', loss_rises, losses=vectors(4), penalties=vectors(4), low=[0, 0.5], high=[1, 3],
        without={'If moreover $\\lambda \\ge 0$': dict(losses=np.array([0., 1.]), penalties=np.array([0., 2.]), low=-1, high=0)})
theorem('thm-ridge-minimum', lambda X, lam: matrix_rank(X.T @ X + lam * I2) == 2, X=[np.ones((3, 2)), np.eye(1, 2)], lam=[0.1, 2],
        without={'If $\\lambda > 0$': dict(X=np.ones((3, 2)), lam=0)})


def flatters_by_freedom(X, C, cross):
    """For σ = 1, α = 1 and noise with covariance C in old and new targets, cross covariance `cross`."""
    H = X @ inv(X.T @ X + I2) @ X.T
    gap = 2 * np.trace(H @ C) - 2 * np.trace(H @ cross)
    return close(gap, 2 * np.trace(H))


theorem('thm-optimism', flatters_by_freedom, X=normal(4, 2), C=[I4], cross=[0 * I4],
        without={'In the world': dict(X=I4[:, :2], C=np.diag([0., 0., 2., 2.]), cross=0 * I4),
                 'independent of $\\mathbf{y}$': dict(X=I4[:, :2], C=I4, cross=I4)})
theorem('thm-leave-one-out', lambda X, alpha: (np.diag(X @ pinv(X.T @ X + alpha * I2) @ X.T) < 1 - 1e-9).all(),
        X=normal(3, 2), alpha=[0.1, 3], without={'with $\\alpha > 0$': dict(X=I2, alpha=0)})


def is_posterior(X, y, alpha, variance=2.0, prior=0.5):
    """The mean and covariance of w given y by conditioning, against the theorem, for σ² and τ²."""
    gain = prior * X.T @ inv(prior * X @ X.T + variance * I3)
    ridge = inv(X.T @ X + alpha * I2)
    return close(gain @ y, ridge @ X.T @ y) and close(prior * (I2 - gain @ X), variance * ridge)


theorem('thm-ridge-posterior', is_posterior, X=normal(3, 2), y=vectors(3), alpha=[4],
        without={'With $\\alpha = \\sigma^2/\\tau^2$': dict(X=I3[:, :2], y=np.ones(3), alpha=0.25)})


def penalty_is_decay(step, w, eta, lam):
    """One step on ‖w - (1, 2)‖²/2 with the penalty in the gradient, and with decay beside the step."""
    g = w - [1, 2]
    return close(w - eta * step(g + lam * w), (1 - eta * lam) * w - eta * step(g))


theorem('thm-decay-penalty', penalty_is_decay, step=[lambda g: g, lambda g: 3 * g], w=[np.zeros(2)], eta=[0.1], lam=[0.5],
        without={'stochastic gradient descent': dict(step=np.sign, w=np.array([3., 3.]), eta=0.1, lam=0.5)})
theorem(  # one input, (1, 0); the start fades in the second coordinate
    'thm-start-forgotten', lambda gradient, w: close((0.95 * w - 0.1 * gradient(w))[1], 0.95 * w[1]),
    gradient=[lambda w: (w[0] - 3) * I2[0], lambda w: np.tanh(w[0]) * I2[0]], w=vectors(2),
    without={'depend on $\\mathbf{w}$ through $\\mathbf{w}^\\top\\mathbf{x}^{(i)}$ alone': dict(gradient=lambda w: w, w=np.ones(2))},
)


def follows_directions(X, batches, t=5, eta=0.1, lam=0.5):
    """t steps of decayed descent on ‖y - X w‖²/2 from 0, on the rows in turn or on all, for orthogonal directions."""
    y, s = np.array([1., 2., 3.]), (X ** 2).sum(0)
    w = np.zeros(2)
    for step in range(t):
        rows = [step % 3] if batches else [0, 1, 2]
        w = (1 - eta * lam) * w - eta * X[rows].T @ (X[rows] @ w - y[rows])
    end = s / (s + lam) * (X.T @ y / s)
    return close(w, end - (1 - eta * (s + lam)) ** t * end)


theorem('thm-decay-directions', follows_directions, X=[I3[:, :2], np.array([[1., 1.], [1., -1.], [2., 0.]]) * [1, 2]],
        batches=[False], without={'full-batch steps': dict(X=I3[:, :2], batches=True)})


def ends_level(eta, lam=0.5):
    """Whether Adam with β = 0, ε = 1 and the penalty in the gradient, for (w - 1)²/2, ends where the penalized loss is level."""
    w = 0.0
    for step in range(500):
        g = w - 1 + lam * w
        w = w - eta(step) * g / (abs(g) + 1)
    return abs(w - 1 + lam * w) < 1e-6


theorem('thm-adamw-limit', ends_level, eta=[lambda step: 0.5, lambda step: 0.1],
        without={'constant $\\eta': dict(eta=lambda step: 0.5 ** step)})
