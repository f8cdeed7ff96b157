"""Classification: theorems as functions, and cases without their hypotheses."""
from fractions import Fraction

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from nbutils.cases import scalars, seeds, vectors
from nbutils.checks import close
from tests.hypotheses import theorem
from tests.prints import normal

ONE_HOT = np.eye(2)[[0, 1, 1, 0]]  # (4, 2)


def fit(X, Y, biases):
    """Weights of the least-squares fit, the shortest of the best: (d + 1, q)."""
    return np.linalg.pinv(np.hstack([X, np.full((len(X), 1), float(biases))])) @ Y


theorem(
    'thm-clf-sum-one', lambda X, Y, biases, x: close((np.append(x, 1) @ fit(X, Y, biases)).sum(), 1),
    X=normal(4, 2), Y=[ONE_HOT], biases=[True], x=vectors(2),
    without={
        'be linearly independent': dict(X=np.ones((4, 1)), Y=ONE_HOT, biases=True, x=np.array([3.])),
        'with biases': dict(X=np.arange(8.).reshape(4, 2), Y=ONE_HOT, biases=False, x=np.array([5., 0.])),
        'one-hot labels': dict(X=np.eye(4)[:, :2], Y=ONE_HOT + 1, biases=True, x=np.zeros(2)),
    },
)


def sees_shares_and_means(X, biases, x):
    shares, centre = ONE_HOT.mean(0), X.mean(0)
    means = ONE_HOT.T @ X / ONE_HOT.sum(0)[:, None]
    scores = shares * (1 + (means - centre) @ np.linalg.solve(np.cov(X.T, bias=True), x - centre))
    return close(np.append(x, 1) @ fit(X, ONE_HOT, biases), scores)


theorem(
    'thm-clf-ls-scores', sees_shares_and_means, X=normal(4, 2), biases=[True], x=vectors(2),
    without={'with biases': dict(X=np.array([[1., 0], [2, 1], [3, 5], [4, 1]]), biases=False, x=np.ones(2))},
)
TWO_GROUPS = np.repeat([0, 1], 4)


def same_border(X, biases):
    """Whether least squares on one-hot labels and LDA divide the plane along the same line."""
    B = np.linalg.pinv(np.hstack([X, np.full((8, 1), float(biases))])) @ np.eye(2)[TWO_GROUPS]  # (3, 2)
    means = np.array([X[TWO_GROUPS == j].mean(0) for j in (0, 1)])
    pooled = np.cov((X - means[TWO_GROUPS]).T, bias=True)
    w = np.linalg.solve(pooled, means[1] - means[0])
    line, other = np.append(w, -w @ means.mean(0)), B[:, 1] - B[:, 0]
    return close(line / np.linalg.norm(line), other / np.linalg.norm(other))


theorem(
    'thm-lda-least-squares', same_border, X=normal(8, 2), biases=[True],
    without={'with biases': dict(X=np.array([[1., 0], [2, 1], [3, 5], [4, 1], [3, 0], [4, 2], [5, 5], [7, 1]]), biases=False)},
)
# equally likely inputs; eta (n,), guess (n,), f (n,) of booleans
theorem(
    'thm-clf-bayes',
    lambda eta, guess, f: (abs(2 * eta - 1) * ((guess > 0.5 if f is None else f) != (eta > 0.5))).mean()
    <= 2 * abs(guess - eta).mean() + 1e-12,
    eta=vectors(4, 0, 1), guess=vectors(4, 0, 1), f=[None],
    without={'If $f$ decides as if $\\hat\\eta$ were $\\eta$': dict(eta=np.ones(2), guess=np.ones(2), f=np.zeros(2, bool))},
)
LAWS = stats.dirichlet([1, 1, 1]).rvs(5, random_state=0)
theorem(
    'thm-gibbs', lambda y, guess: -(y * np.log(guess)).sum() >= -(y * np.log(y)).sum() - 1e-12, y=[*LAWS], guess=[*LAWS],
    without={'For distributions': dict(y=LAWS[0], guess=np.ones(3))},
)


def no_value_below_zero(K):
    """Whether aᵀ K a is never negative."""
    return np.linalg.eigvalsh(K + K.T).min() > -1e-9


def is_gram(K):
    return close(K, K.T) and np.linalg.eigvalsh(K).min() > -1e-9


theorem(
    'thm-finite-mercer', lambda K: no_value_below_zero(K) == is_gram(K), K=normal(2, 2).map(lambda A: A + A.T),
    without={'A symmetric matrix': dict(K=np.array([[1., 1.], [-1., 1.]]))},
)
theorem(
    'thm-kernel-rules', lambda K, L: no_value_below_zero(K + 2 * L) and no_value_below_zero(K * L),
    K=normal(3, 2).map(lambda F: F @ F.T), L=normal(3, 1).map(lambda F: F @ F.T),
    without={'Let $k$ and $l$ be kernels': dict(K=np.eye(2), L=-np.eye(2))},
)
theorem(  # in a Hilbert space the combination ∑ aᵢ kₓᵢ has the squared length aᵀ K a
    'thm-rkhs', lambda K, a: a @ K @ a >= -1e-9, K=normal(2, 2).map(lambda F: F @ F.T), a=vectors(2),
    without={'For every kernel $k$': dict(K=np.array([[1., 2.], [2., 1.]]), a=np.array([1., -1.]))},
)
PLANE = np.stack(np.meshgrid(*[np.linspace(-2, 2, 17)] * 2), -1).reshape(-1, 2)  # functions; the first entry is f(x₁)


def represented(omega, all_of_them):
    """Whether all minimizers on a grid, or one, of (f(x₁) - 1)² + Ω(‖f‖) are multiples of (1, 0)."""
    J = (PLANE[:, 0] - 1) ** 2 + omega(np.linalg.norm(PLANE, axis=1))
    best = PLANE[J <= J.min() + 1e-12]
    return (best[:, 1] == 0).all() if all_of_them else (best[:, 1] == 0).any()


theorem(
    'thm-representer', represented, omega=[lambda r: r, lambda r: r * r / 9, lambda r: np.exp(r)], all_of_them=[True],
    without={'strictly increasing': dict(omega=lambda r: 0 * r, all_of_them=True)},
)
theorem(
    'thm-representer', represented, omega=[lambda r: 0 * r, lambda r: np.maximum(r, 1.1)], all_of_them=[False],
    without={'is only non-decreasing and there is a minimizer': dict(omega=lambda r: -r, all_of_them=False)},
)
theorem(
    'thm-kernel-ridge', lambda K, alpha: np.linalg.eigvalsh(K + alpha * np.eye(2)).min() > 1e-9,
    K=normal(2, 2).map(lambda F: F @ F.T), alpha=[0.1, 2],
    without={'Let $\\alpha > 0$': [dict(K=np.ones((2, 2)), alpha=0), dict(K=np.eye(2), alpha=-3)]},
)
theorem(  # the log odds at five points on a line, on one line
    'thm-logreg-gaussian', lambda p1, p0: close(np.diff(p1(np.arange(-2., 3)) - p0(np.arange(-2., 3)), 2), np.zeros(3)),
    p1=[stats.norm(1, 2).logpdf, stats.norm(-3, 2).logpdf], p0=[stats.norm(0, 2).logpdf],
    without={'be Gaussian': dict(p1=stats.laplace(1).logpdf, p0=stats.laplace(0).logpdf),
             'that both classes share': dict(p1=stats.norm(1, 2).logpdf, p0=stats.norm(0, 1).logpdf)},
)
theorem(  # at the minimum, if there is one, the probabilities are between 0 and 1, and the Hessian is Xᵀ diag(p (1 - p)) X
    'thm-logreg-existence', lambda X, p: np.linalg.eigvalsh(X.T @ (X * (p * (1 - p))[:, None])).min() > 1e-9,
    X=normal(4, 2), p=vectors(4, 0.2, 0.8), without={'have independent columns': dict(X=np.ones((4, 2)), p=np.full(4, 0.5))},
)


def margin_is_near_the_widest(z, lam):
    """The inequality for the signed inputs z (N, 2) and the weights that minimize the penalized loss."""
    best = minimize(lambda w: np.logaddexp(0, -z @ w).mean() + lam / 2 * w @ w, np.zeros(2), tol=1e-10).x
    r = np.linalg.norm(best)
    angles = np.linspace(0, 2 * np.pi, 20_001)
    widest = (z @ [np.cos(angles), np.sin(angles)]).min(0).max()
    return widest - (z @ best / r).min() <= np.log(2 * len(z)) / r + 1e-3


theorem(
    'thm-logreg-margin', margin_is_near_the_widest, tries=4, lam=[1e-3, 1e-5],
    z=[np.array([[1., 0.], [2., 1.], [0., 3.]]), np.array([[1., 1.], [-0.5, 2.]])],
    without={'so small that all its margins are positive': dict(z=np.r_[np.tile([1., 0.], (999, 1)), [[-2., 0.01]]], lam=1e-5)},
)


def expansion_errs_little(a, x):
    """Whether ‖a‖² - 2 a · x + ‖x‖², in floats, is as near to ‖a - x‖² as the theorem says."""
    with np.errstate(all='ignore'):
        computed = float(a @ a - 2 * (a @ x) + x @ x)
    if not np.isfinite(computed):
        return False
    exact = sum((Fraction(s) - Fraction(t)) ** 2 for s, t in zip(a.tolist(), x.tolist(), strict=True))
    m, u = len(a) + 2, Fraction(1, 2 ** 53)
    # (‖a‖ + ‖x‖)² is at least the sum of the squares
    squares = sum(Fraction(v) ** 2 for v in [*a.tolist(), *x.tolist()])
    return abs(Fraction(computed) - exact) <= m * u / (1 - m * u) * 2 * squares


theorem(
    'thm-knn-rounding', expansion_errs_little, a=vectors(3), x=vectors(3),
    without={'without overflow or underflow': [dict(a=np.array([1e200]), x=np.array([2e200])),
                                               dict(a=np.array([1e-170]), x=np.array([0.]))]},
)
p, q = np.array([0.7, 0.3]), np.array([0.2, 0.8])
theorem(  # the joint law of the labels of twins, where the question's is p
    'thm-knn-cover-hart', lambda joint: close(1 - np.trace(joint), 1 - (p ** 2).sum()), joint=[np.outer(p, p)],
    without={'be independent': dict(joint=np.diag(p)), 'of one law': dict(joint=np.outer(p, q))},
)


def twins_have_the_limit(label):
    """For labels that the input determines, so that the limit is 0: the error of one neighbour among 4000 on [0, 1]."""
    x = np.sort(np.random.default_rng(0).random(4000))
    left, right = np.diff(x, prepend=-1), np.diff(x, append=2)
    neighbour = np.where(left < right, np.roll(x, 1), np.roll(x, -1))
    return (label(x) != label(neighbour)).mean() < 0.02


theorem(
    'thm-knn-cover-hart', twins_have_the_limit, label=[lambda x: x > 0.5, lambda x: np.floor(5 * x) % 2],
    without={'be continuous at $\\mathbf{x}$': dict(label=lambda x: np.floor(x * 2 ** 40) % 2)},
)


def vote_errs_as_stated(k, r):
    """The error of k twins' vote, ties broken by a coin, against the formula; the likelier class has probability 1 - r."""
    votes = stats.binom(k, r)
    wrong = votes.sf(k / 2) + votes.pmf(k / 2) / 2
    return close(r * (1 - wrong) + (1 - r) * wrong, r + (1 - 2 * r) * votes.sf(k / 2))


theorem('thm-knn-vote', vote_errs_as_stated, k=[1, 3, 9], r=[0.1, 0.3, 0.5], without={'for fixed odd $k$': dict(k=2, r=0.3)})


def mean_distance_within(questions, examples, uniform):
    """Whether the mean distance of questions to the nearest of n = 50 examples in the plane lies between the bounds."""
    rng = np.random.default_rng(0)
    x, others = questions(rng, 300), examples(rng, 50)
    mean = cdist(x, others).min(1).mean()
    upper = 2 * np.sqrt(2) * (1 + 1 / np.e) / np.sqrt(50)
    return mean <= upper and (not uniform or mean >= 2 / 3 / np.sqrt(np.pi * 50) * 0.9)


def on_square(rng, n):
    return rng.random((n, 2))


def in_corner(rng, n):
    return rng.random((n, 2)) / 100


theorem(
    'thm-knn-nearest', mean_distance_within, questions=[on_square], examples=[on_square], uniform=[True],
    without={
        'of any one law': dict(questions=on_square, examples=in_corner, uniform=False),
        'on $[0, 1]^d$': dict(questions=lambda *a: 100 * on_square(*a), examples=lambda *a: 100 * on_square(*a), uniform=False),
        'If the law is uniform': dict(questions=in_corner, examples=in_corner, uniform=True),
    },
)


def far_seldom_differs(coordinates):
    """The bound for n = 5 examples, d = 400, ε = 0.5 and squared distances that are sums over `coordinates` (rng, shape)."""
    rng = np.random.default_rng(0)
    terms = (coordinates(rng, (100, 5, 400)) - coordinates(rng, (100, 1, 400))) ** 2
    distances, first = terms.sum(2), terms[..., 0]
    bound = 5 * first.var() / (400 * first.mean() ** 2 * 0.5 ** 2)
    return (distances.max(1) / distances.min(1) > 3).mean() <= bound


theorem(
    'thm-knn-concentration', far_seldom_differs, coordinates=[lambda rng, s: rng.random(s), lambda rng, s: rng.normal(size=s)],
    without={
        'Let the coordinates of all points be independent': dict(
            coordinates=lambda rng, s: np.broadcast_to(rng.random((*s[:2], 1)), s)),
        'of one law': dict(coordinates=lambda rng, s: rng.random(s) * np.r_[1, 1e-9 * np.ones(398), 100]),
    },
)
theorem(
    'thm-softmax-only', lambda g, s: (beta := np.log(g(1.))) > 0 and close(g(s), np.exp(beta * s)),
    g=[np.exp, lambda s: 3. ** s], s=scalars(-3, 3),
    without={'a strictly increasing function': [dict(g=lambda s: 1.0, s=1), dict(g=lambda s: np.exp(-s), s=1)]},
)


def one_street(x, y):
    """Whether among weights and biases on a grid that keep all margins at 1 or more, one alone has the least weights."""
    w, b = np.meshgrid(np.linspace(-2, 2, 9), np.linspace(-4, 4, 17))
    allowed = (y[:, None, None] * (w * x[:, None, None] + b) >= 1).all(0)
    return (abs(w) == abs(w[allowed]).min())[allowed].sum() == 1


theorem(
    'thm-svm-street', one_street, x=[np.array([-1., 1., 3.]), np.array([-4., 0., 2.])], y=[np.array([-1, 1, 1])],
    without={'both occur': dict(x=np.array([-1., 1.]), y=np.array([1, 1]))},
)


def gap_is_a_sum_of_terms(seed, alpha, lam, own):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(3, 2))  # y x
    w = alpha @ z / (lam * 3) if own else np.ones(2)
    terms = np.maximum(0, 1 - z @ w) - alpha * (1 - z @ w)
    P = np.maximum(0, 1 - z @ w).mean() + lam / 2 * w @ w
    D = alpha.mean() - lam / 2 * (v := alpha @ z / (lam * 3)) @ v
    return close(P - D, terms.mean()) and (terms > -1e-9).all()


theorem(
    'thm-svm-gap', gap_is_a_sum_of_terms, seed=seeds(), alpha=vectors(3, 0, 1), lam=[0.1, 1], own=[True],
    without={'Let $\\boldsymbol\\alpha \\in [0, 1]^N$': dict(seed=0, alpha=np.array([-5., 5., 9.]), lam=1, own=True),
             '$\\mathbf{w} = \\mathbf{w}(\\boldsymbol\\alpha)$': dict(seed=0, alpha=np.zeros(3), lam=1, own=False)},
)


def nothing_moves(x, y, C, unused):
    """Whether weight and bias on the line, the middle of the best ones, stay when an example is left out."""
    w, b = np.meshgrid(np.linspace(0, 1, 21), np.linspace(-2, 2, 81))

    def best(keep):
        slack = np.maximum(0, 1 - y[keep, None, None] * (w * x[keep, None, None] + b)).sum(0)
        J = w * w / 2 + C * slack
        found = J <= J.min() + 1e-9
        return w[found].mean(), b[found].mean()
    others = np.arange(len(x)) != unused
    return close(best(others), best(others | True))


theorem(  # with C = 0.1 both examples at ±1 are within the margin, and their biases make up an interval
    'thm-svm-loo', nothing_moves, x=[np.array([-1., 1., 4.])], y=[np.array([-1, 1, 1])], C=[10], unused=[2],
    without={'if the optimal bias without it is unique': dict(x=np.array([-1., 1., 4.]), y=np.array([-1, 1, 1]), C=0.1, unused=2)},
)
