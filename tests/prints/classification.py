"""Classification: the meanings of letters."""

from fractions import Fraction
from itertools import product

import numpy as np
import torch
from hypothesis import strategies as st
from scipy import integrate, special, stats
from sklearn.covariance import shrunk_covariance
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression
from sklearn.metrics import confusion_matrix, hinge_loss, precision_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors
from torch.nn import functional

from nbutils.cases import scalars, seeds, vectors
from nbutils.printed import Box, Random, of
from tests.prints import normal, prints

smooth = [lambda x: x[0] ** 2 * x[1] + np.sin(x[1]), lambda x: np.exp(x[0] / 5) + x[0] * x[1]]

prints(
    'ml.logreg.newton.taylor',
    L=smooth,
    w_t=vectors(2, -2, 2),
    u=vectors(2, -1, 1),
    w=of(lambda w_t, u: w_t + 1e-2 * u),
    options={'approx': 1e-5},
    tries=20,
)


def rows(X):
    return list(X)

sigmoid = special.expit

prints(
    'ml.logreg.mle.product',
    X=normal(4, 2),
    w=normal(2),
    v=normal(2),
    x=of(rows),
    y=[np.array([0., 1, 1, 0])],
    N=4,
    p=lambda a, *rest: stats.multivariate_normal.pdf(a, [0, 0]) if not rest else
     sigmoid(rest[0] @ rest[1]) if a == 1 else sigmoid(-rest[0] @ rest[1]),
    L=of(lambda X, y: lambda w: np.exp(stats.multivariate_normal.logpdf(X, [0, 0]).sum() - np.logaddexp(0, (1 - 2 * y) * (X @ w)).sum())),
    options={'over': ('w', 'v')},
)
prints('la.softmax.first-component', softmax=special.softmax, o=vectors(4), q=4)
prints(
    'ml.logreg.newton.hessian-matrix',
    X=normal(4, 2),
    y=[np.array([0., 1, 1, 0])],
    w=vectors(2, -2, 2),
    x=of(rows),
    N=4,
    sigma=sigmoid,
    L=of(lambda X, y: lambda w: np.logaddexp(0, (1 - 2 * y) * (X @ w)).mean()),
    tries=20,
)

def unit(n, k):
    return np.eye(n)[k]

prints(
    'dl.softmax-ce.gradient',
    o=vectors(3),
    y=[unit(3, k) for k in range(3)],
    l=of(lambda o, y: special.logsumexp(o) - y @ o),
    softmax=special.softmax,
)

def svm_dual(X, y, lam):
    """The forces of the optimum, by many sweeps of exact coordinate ascent."""
    n, alpha = len(y), np.zeros(len(y))
    for _ in range(3000):
        for k in range(n):
            w = (alpha * y) @ X / (lam * n)
            alpha[k] = np.clip(alpha[k] + lam * n * (1 - y[k] * X[k] @ w) / (X[k] @ X[k]), 0, 1)
    return alpha

_X, _y, _lam = np.random.default_rng(0).normal(size=(4, 2)), np.array([1., -1, 1, -1]), 0.3

_w_star = (svm_dual(_X, _y, _lam) * _y) @ _X / (_lam * 4)

prints(
    'svm-gap',
    also_true=1,
    N=4,
    lambda_=_lam,
    alpha=vectors(4, 0, 1),
    w=of(lambda alpha: (alpha * _y) @ _X / (_lam * 4)),
    w_star=_w_star,
    m=of(lambda w: _y * (_X @ w)),
    h=lambda m: max(0, 1 - m),
    P=lambda w: _lam / 2 * w @ w + np.maximum(0, 1 - _y * (_X @ w)).mean(),
    D=lambda alpha: alpha.mean() - _lam / 2 * ((alpha * _y) @ _X / (_lam * 4)) @ ((alpha * _y) @ _X / (_lam * 4)),
)

def expansions(f, g):
    return sum(a * b * np.exp(-(s - t) ** 2) for a, s in zip(f.a, f.x, strict=True) for b, t in zip(g.a, g.x, strict=True))


class Expansion:
    """sum of a_i k(x_i, .) with a Gaussian kernel"""

    def __init__(self, a, x):
        self.a, self.x = np.array(a), np.array(x)

    def __call__(self, t):
        return self.a @ np.exp(-(self.x - t) ** 2)


prints(
    'kernels-reproducing',
    f=[Expansion([1, -2], [0, 1.5]), Expansion([3], [2])],
    x=scalars(-3, 3),
    k=lambda x: Expansion([1], [x]),
    inner=expansions,
)
prints('softmax-lse', LSE=special.logsumexp, softmax=special.softmax, o=vectors(3))
prints(
    'ml.logreg.newton.hessian-sum',
    X=normal(4, 2),
    y=[np.array([0., 1, 1, 0])],
    w=vectors(2, -2, 2),
    x=of(rows),
    N=4,
    sigma=sigmoid,
    L=of(lambda X, y: lambda w: np.logaddexp(0, (1 - 2 * y) * (X @ w)).mean()),
    tries=20,
)
onehot3 = [np.eye(3)[k] for k in range(3)]

prints('dl.softmax-ce.substituted', o=vectors(3), y=onehot3, q=3, l=of(lambda o, y: special.logsumexp(o) - y @ o))
prints('dl.softmax.softmax', o=vectors(4), q=4, p=of(lambda o: special.softmax(o)))
prints(
    'ml.logreg.nll.nll',
    X=normal(4, 2),
    x=of(rows),
    y=[np.array([0., 1, 1, 0])],
    w=normal(2),
    N=4,
    sigma=sigmoid,
    p=lambda y, X, w: np.where(y == 1, sigmoid(X @ w), sigmoid(-X @ w)).prod(),
)
prints('dl.softmax-ce.expanded', o=vectors(3), y=onehot3, q=3, l=of(lambda o, y: special.logsumexp(o) - y @ o))
prints('dl.softmax-ce.logsumexp', o=vectors(3), y=onehot3, q=3, l=of(lambda o, y: -(y * special.log_softmax(o)).sum()))


def tensor(array):
    return torch.tensor(np.asarray(array), dtype=torch.float64)


# classification

_dots = [np.array([0., 1]), np.array([2., 1]), np.array([1., -1])]  # three inputs, each with six equally likely labels
_labels = {0: [0, 0, 0, 0, 1, 2], 2: [0, 1, 1, 1, 2, 2], 1: [2, 2, 2, 2, 2, 2]}

prints(
    'clf-two-parts',
    f=[lambda x: np.array([x[0], 1 - x[1], x[1] / 2]), lambda x: np.array([0.2, x[0] * x[1], 0.5])],
    p=lambda x: np.bincount(_labels[int(x[0])], minlength=3) / 6,
    x=Random(_dots, [0.5, 0.3, 0.2]),
    u=Random(range(6)),
    y=of(lambda x, u: np.eye(3)[_labels[int(x[0])][int(u)]]),
)
_ids = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 0])
_some_inputs = normal(10, 2)

prints(
    'clf-ls-scores',
    X=_some_inputs,
    o=of(lambda X: lambda j, x: LinearRegression().fit(X, np.eye(3)[_ids]).predict(x[None])[0, j - 1]),
    pi=np.bincount(_ids) / 10,
    mu=of(lambda X: [X[_ids == j].mean(0) for j in range(3)]),
    x_bar=of(lambda X: X.mean(0)),
    Sigma_T=of(lambda X: np.cov(X.T, bias=True)),
    x=vectors(2),
    tries=10,
)
_eta, _share = np.array([0.2, 0.9, 0.6, 0.5]), np.array([0.4, 0.1, 0.3, 0.2])

prints(
    'clf-excess',
    f=[lambda x, c=c: c[x] for c in product([0, 1], repeat=4)],
    f_star=lambda x: int(_eta[x] > 0.5),
    eta=lambda x: _eta[x],
    x=Random(range(4), _share),
    R=lambda f: sum(_share[x] * (_eta[x] if y else 1 - _eta[x]) for x in range(4) for y in (0, 1) if f(x) != y),
    R_star=(_share * np.minimum(_eta, 1 - _eta)).sum(),
)


def two_clouds_risk(pi_1, Delta):
    """The smaller of the two densities along the line through the means, integrated."""
    def density(t):
        return min(pi_1 * stats.norm.pdf(t, Delta / 2), (1 - pi_1) * stats.norm.pdf(t, -Delta / 2))
    border = np.log(1 / pi_1 - 1) / Delta
    return integrate.quad(density, -15, border)[0] + integrate.quad(density, border, 15)[0]

prints(
    'clf-gauss-risk',
    pi_1=scalars(0.2, 0.8),
    Delta=scalars(0.5, 4),
    pi_0=of(lambda pi_1: 1 - pi_1),
    tau=of(lambda pi_1: np.log((1 - pi_1) / pi_1)),
    R_star=of(two_clouds_risk),
    Phi=special.ndtr,
    tries=6,
)
_two_lists = seeds().map(lambda seed: np.random.default_rng(seed).integers(0, 3, (2, 9)))

prints(
    'clf-qda',
    x=vectors(2),
    pi=[np.array([0.5, 0.3, 0.2])],
    mu=of(lambda: [np.array([0., 1]), np.array([2., 0]), np.array([-1., 1])]),
    Sigma=of(lambda: [np.array([[2., 1], [1, 1]]), np.diag([0.5, 3]), np.array([[1., -0.5], [-0.5, 2]])]),
    o=of(lambda pi, mu, Sigma: lambda j, x: np.log(pi[j - 1] * 2 * np.pi) + stats.multivariate_normal.logpdf(
        x, mu[j - 1], Sigma[j - 1])),
    j=[1, 2, 3],
)
_lda = normal(10, 2).map(lambda X: LinearDiscriminantAnalysis(solver='lsqr', store_covariance=True).fit(X, _ids))

prints(
    'clf-lda',
    model=_lda,
    x=vectors(2),
    j=[1, 2, 3],
    o=of(lambda model: lambda j, x: model.decision_function(x[None])[0, j - 1]),
    w=of(lambda model: list(model.coef_)),
    b=of(lambda model: model.intercept_),
    pi=of(lambda model: model.priors_),
    mu=of(lambda model: list(model.means_)),
    Sigma=of(lambda model: model.covariance_),
    tries=10,
)
prints(
    'clf-shrinkage',
    Sigma=normal(3, 3).map(lambda A: A @ A.T),
    d=3,
    alpha=scalars(0, 1),
    Sigma_alpha=of(lambda Sigma, alpha: shrunk_covariance(Sigma, alpha)),
    tries=20,
)

prints(
    'clf-confusion',
    names=_two_lists,
    Y=of(lambda names: np.eye(3)[names[0].astype(int)]),
    Y_hat=of(lambda names: np.eye(3)[names[1].astype(int)]),
    C=of(lambda names: confusion_matrix(*names, labels=[0, 1, 2])),
)
_counts = [[5, 2, 1, 9], [3, 3, 3, 1], [1, 0, 4, 2]]  # true positives, false negatives, false positives, true negatives


def precision(counts):
    truth, said = np.repeat([1, 1, 0, 0], counts), np.repeat([1, 0, 1, 0], counts)
    return precision_score(truth, said)

prints(
    'clf-precision',
    counts=_counts,
    precision=of(lambda counts: precision(counts)),
    pi=of(lambda counts: (counts[0] + counts[1]) / sum(counts)),
    TPR=of(lambda counts: counts[0] / (counts[0] + counts[1])),
    FPR=of(lambda counts: counts[2] / (counts[2] + counts[3])),
)

# softmax

prints('la.softmax.last-component', softmax=special.softmax, o=vectors(4), q=4)
prints('softmax-odds', o=vectors(4), p=of(lambda o: special.softmax(o)))
prints('softmax-lse-definition', o=vectors(4), q=4, LSE=special.logsumexp, m=of(lambda o: max(o)))
prints(
    'softmax-lse-bounds',
    o=vectors(4),
    q=4,
    LSE=special.logsumexp,
    slip=('twice the logarithm', r'\operatorname{LSE}(\mathbf{o}) \le \max_k o_k + \frac12 \log q'),
)


def lead(o):
    return np.subtract(*np.sort(o)[:-3:-1])

prints(
    'softmax-rate',
    softmax=special.softmax,
    o=st.one_of(vectors(2), vectors(4)),
    beta=[0.3, 1, 2],
    q=of(lambda o: len(o)),
    m=of(lambda o: np.argmax(o) + 1),
    delta=of(lead),
    equality=dict(o=np.zeros(2), beta=1.0),
    slip=('the largest score in place of its lead',
          r'\|\operatorname{softmax}(\beta \mathbf{o}) - \mathbf{e}_m\|_1 \le 2 (q - 1) e^{-\beta o_m}'),
)


def of_scores(function):
    """What a function gives for the probabilities of the scores o at the inverse temperature beta."""
    return of(lambda beta, o: function(np.exp(beta * o - special.logsumexp(beta * o)), o))

prints(
    'softmax-beta',
    o=vectors(3, -2, 2),
    beta=scalars(0.1, 2),
    p=of_scores(lambda p, o: p),
    mu=of_scores(lambda p, o: p @ o),
    H=of_scores(lambda p, o: stats.entropy(p)),
    Var=of(lambda beta, o: lambda scores: np.cov(scores, aweights=special.softmax(beta * o), ddof=0)),
    tries=8,
)
prints(
    'softmax-log',
    o=vectors(3),
    q=3,
    p=of(lambda o: special.softmax(o)),
    z=of(lambda o: np.array([score - max(o) for score in o])),
)
prints('softmax-log-gradient', o=vectors(3), p=of(lambda o: special.softmax(o)), delta=np.eye(3), tries=20)


def state(x, V):
    """The maximum, the sum and the weighted values of the entries that were read."""
    return x.max(), np.exp(special.logsumexp(x) - x.max()), np.exp(x - x.max()) @ V



def part_of_state(k, which):
    return of(lambda x, V: state(x[which], V[which])[k])

prints(
    'softmax-merge',
    x=vectors(5),
    V=normal(5, 2),
    **{f'{name}{part}': part_of_state(k, which) for k, name in enumerate('msa')
       for part, which in {'': slice(5), '_1': slice(2), '_2': slice(2, 5)}.items()},
)


def softmax_jacobian(o):
    return torch.func.jacrev(lambda t: t.softmax(0))(tensor(o))

_pushed = dict(o=vectors(3, -3, 3), p=of(lambda o: special.softmax(o)), J=of(softmax_jacobian), g=vectors(3), tries=10,
               **{'1': np.ones(3)})

prints('softmax-jacobian', delta=np.eye(3), **_pushed)
prints('softmax-vjp', **_pushed)
prints('softmax-vjp-centred', m=[1, 2, 3], **_pushed)

def gumbel():
    """Noise that is rounded up to halves: its distribution function is right at all of them."""
    steps = np.arange(-4, 9) / 2
    return Random(steps, np.diff(np.exp(-np.exp(-np.r_[steps[:-1], np.inf])), prepend=0))

prints(
    'softmax-gumbel',
    o=vectors(2, -1, 1).map(lambda o: np.round(2 * o) / 2),
    q=2,
    t=[-0.5, 0.5, 1],
    G_1=gumbel(),
    G_2=gumbel(),
    G=of(lambda G_1, G_2: np.array([G_1, G_2])),
    LSE=special.logsumexp,
    tries=4,
)

# cross-entropy

_weights = np.random.default_rng(3).normal(size=(3, 2))


def probability(y, x):
    """The probability of one-hot rows for rows of inputs, or of one of them, in a linear softmax model."""
    Y, X = np.atleast_2d(y), np.atleast_2d(x)
    return np.exp(-functional.cross_entropy(tensor(X @ _weights.T), tensor(Y), reduction='sum').item())

prints(
    'dl.loglik.product',
    P=probability,
    X=normal(3, 2),
    x=of(rows),
    Y=[np.eye(3)[[0, 2, 1]], np.eye(3)[[1, 1, 2]]],
    y=of(lambda Y: list(Y)),
    n=3,
)
prints(
    'dl.loglik.cross-entropy',
    y=onehot3 + [np.array([0.2, 0.5, 0.3])],
    y_hat=vectors(3, -3, 3).map(special.softmax),
    q=3,
    l=lambda y, y_hat: functional.cross_entropy(tensor(np.log(y_hat)), tensor(y)),
)

# logistic regression

_answers = np.array([0., 1, 1, 0])


def coins(y, x, w):
    """The probability of the answers y, or of one of them, to the inputs x."""
    return stats.bernoulli.pmf(y, sigmoid(x @ w)).prod()


def mean_loss(X, y):
    return lambda w: np.logaddexp(0, (1 - 2 * y) * (X @ w)).mean()

_logistic = dict(X=normal(4, 2), x=of(rows), y=[_answers], N=4, sigma=sigmoid, tries=20)
_loss = dict(w=vectors(2, -2, 2), L=of(mean_loss), **_logistic)

prints('logreg-model', p=coins, w=normal(2), x=normal(2), z=scalars(), sigma=sigmoid, tries=20)
prints('ml.logreg.mle.bernoulli', p=coins, w=normal(2), **_logistic)
prints(
    'ml.logreg.mle.sigmoid-lik',
    w=normal(2),
    v=normal(2),
    L=of(lambda X, y: lambda w: 0.3 * coins(y, X, w)),
    options={'over': ('w', 'v')},
    **_logistic,
)
prints('ml.logreg.nll.simplified', p=coins, w=normal(2), **_logistic)
prints('logreg-gradient', p=of(lambda X, w: sigmoid(X @ w)), **_loss)
prints('ml.logreg.convexity.psd', v=vectors(2), **_loss)
_one_feature = np.array([[1., 0], [2., 0], [-1., 0], [0.5, 0]])

prints(
    'ml.logreg.convexity.geq',
    slip=('definite although one feature never occurs', r'\nabla^2 L(\mathbf{w}) \succ 0'),
    **_loss | dict(X=[_one_feature, np.array([[1., 2], [0, 1], [3, -1], [1, 1]])]),
)
prints(
    'ml.logreg.convexity.convex',
    u=vectors(2, -2, 2),
    t=scalars(-0.5, 1.5),
    slip=('the weights of the two ends exchanged',
          r'L((1 - t) \mathbf{w} + t \mathbf{u}) \le t L(\mathbf{w}) + (1 - t) L(\mathbf{u}) \quad (0 \le t \le 1)'),
    **_loss,
)


def derivatives(X, y, w):
    """Loss, gradient and Hessian of the mean logistic loss, by autograd."""
    def loss(w):
        return functional.binary_cross_entropy_with_logits(tensor(X) @ w, tensor(y))
    at = tensor(w)
    return loss(at).item(), torch.func.grad(loss)(at).numpy(), torch.func.hessian(loss)(at).numpy()


def taylor(X, y, w_t):
    value, g, H = derivatives(X, y, w_t)
    return lambda w: value + g @ (w - w_t) + (w - w_t) @ H @ (w - w_t) / 2


def descent_in_other_units(X, y, w_t, gamma_t):
    """A step of gradient descent on v = C^T w, read back, where C C^T is the Hessian."""
    C = np.linalg.cholesky(derivatives(X, y, w_t)[2])
    v = tensor(C.T @ w_t)
    slope = torch.func.grad(lambda v: functional.binary_cross_entropy_with_logits(
        tensor(X) @ torch.linalg.solve(tensor(C.T), v), tensor(y)))(v)
    return np.linalg.solve(C.T, (v - gamma_t * slope).numpy())

_newton = dict(
    X=[np.array([[1., 2], [0.5, 1], [1, -1], [0, 1]])],
    y=[_answers],
    w_t=vectors(2, -1, 1),
    L=of(mean_loss),
)

prints('ml.logreg.newton.idea', w=Box(-20, 20, 2), Q=of(taylor), tries=4, **_newton)
prints('ml.logreg.newton.is-gd', gamma_t=scalars(0.1, 2), w_t_1=of(descent_in_other_units), tries=10, **_newton)

def separable():
    """Points, each times its label: those of the page."""
    X = np.random.default_rng(3).normal(size=(60, 2)) * [1.5, 1]
    score = X @ [0.6, 0.8]
    return (np.sign(score)[:, None] * X)[abs(score) > 0.3]

_signed = separable()


def penalized(lambda_):
    """The weights with the least mean logistic loss and penalty, by Newton's method for smaller and smaller penalties."""
    w = np.zeros(2)
    for penalty in np.geomspace(1, lambda_, 30):
        for _ in range(6):
            p = sigmoid(-_signed @ w)
            hessian = (_signed.T * (p * (1 - p))) @ _signed / len(_signed) + penalty * np.eye(2)
            w = w - np.linalg.solve(hessian, penalty * w - p @ _signed / len(_signed))
    return w


def margin(u):
    return (_signed @ u).min()

_compass = np.linspace(0, 2 * np.pi, 100_001)

prints(
    'logreg-margin-bound',
    lambda_=[1e-3, 1e-5, 1e-7],
    w=of(penalized),
    r=of(lambda w: np.linalg.norm(w)),
    u=of(lambda w: w / np.linalg.norm(w)),
    m=margin,
    m_star=(_signed @ [np.cos(_compass), np.sin(_compass)]).min(0).max(),
    N=len(_signed),
    slip=('one over the square of the length', r'm^* - m(\mathbf{u}) \le \frac{\log 2N}{r^2}'),
)
prints(
    'logreg-family',
    p=lambda y, eta: stats.norm.pdf(y, eta),
    h=lambda y: np.exp(-y ** 2 / 2) / np.sqrt(2 * np.pi),
    A=lambda eta: eta ** 2 / 2,
    y=scalars(-3, 3),
    eta=scalars(-2, 2),
    tries=4,
)

# support vector machines


def distance(x, H):
    """From x to the hyperplane w^T z + b = 0: the shortest way to a z, by least norm."""
    w, b = H
    return np.linalg.norm(np.linalg.lstsq(w[None], -np.atleast_1d(w @ x + b), rcond=None)[0])

prints(
    'svm-distance',
    w=vectors(2).filter(np.any),
    b=scalars(),
    x=vectors(2),
    H=of(lambda w, b: [w, b]),
    dist=distance,
)


def signed_distances(X, y):
    return lambda w, b: min(label * np.sign(w @ x + b) * distance(x, [w, b]) for x, label in zip(X, y, strict=True))

prints(
    'svm-margin',
    X=normal(4, 2),
    x=of(rows),
    y=[np.array([1., -1, 1, -1])],
    w=vectors(2).filter(np.any),
    b=scalars(),
    n=range(1, 5),
    gamma=of(signed_distances),
    tries=20,
)


def hinge(m):
    return functional.hinge_embedding_loss(torch.tensor(float(m), dtype=torch.float64), torch.tensor(-1)).item()  # -1: with a margin

_margins = dict(
    X=normal(4, 2),
    x=of(rows),
    y=[np.array([1., -1, 1, -1]), np.array([1., 1, -1, -1])],
    w=vectors(2, -2, 2),
    tries=20,
)

prints(
    'ml.svm.soft.constraint',
    xi=of(lambda X, y, w: np.array([hinge(m) for m in y * (X @ w)])),
    equality=dict(X=np.array([[1., 2], [2, 1], [1, 0], [0, 1]]), y=np.array([1., -1, 1, -1]), w=np.array([-1., 0])),
    slip=('the slack on the wrong side', r'y_n \mathbf{x}_n^\top \mathbf{w} \ge 1 + \xi_n'),
    **_margins,
)
prints(
    'svm-primal',
    N=4,
    lambda_=scalars(0.1, 2),
    P=of(lambda X, y, lambda_: lambda w: lambda_ / 2 * w @ w + hinge_loss(y, X @ w)),
    h=hinge,
    m=scalars(-3, 3),
    **_margins,
)
prints('svm-bayes', eta=scalars(0, 1), f=scalars(-1, 1))


def lagrangian(X, y, lam, alpha, nu, w, xi):
    """The Lagrangian of the soft margin, for tensors."""
    return lam / 2 * w @ w + (xi + alpha * (1 - xi - y * (X @ w)) - nu * xi).mean()


def stationary(X, y, lam, alpha):
    """The weights at which the Lagrangian, a bowl of curvature lam in the weights, is stationary."""
    X, y, alpha, zero = tensor(X), tensor(y), tensor(alpha), tensor(np.zeros(4))
    slope = torch.func.grad(lambda w: lagrangian(X, y, lam, alpha, 1 - alpha, w, zero))(tensor(np.zeros(2)))
    return -slope.numpy() / lam

_forces = dict(N=4, lambda_=scalars(0.1, 2), alpha=vectors(4, 0, 1), **{k: v for k, v in _margins.items() if k != 'w'})

prints(
    'svm-lagrangian',
    nu=vectors(4, 0, 1),
    xi=vectors(4, 0, 2),
    w=vectors(2, -2, 2),
    ell=of(lambda X, y, lambda_, alpha, nu: lambda w, xi: lagrangian(*map(tensor, (X, y, lambda_, alpha, nu, w, xi)))),
    **_forces,
)
prints('svm-weights', w=of(lambda X, y, lambda_: lambda alpha: stationary(X, y, lambda_, alpha)), **_forces)


def lowest(X, y, lam, alpha):
    """The lowest value of the Lagrangian, which has none where alpha or 1 - alpha, the multipliers, are negative somewhere."""
    if min(alpha) < 0 or max(alpha) > 1:
        return -np.inf
    w, alpha = stationary(X, y, lam, alpha), tensor(alpha)
    return lagrangian(tensor(X), tensor(y), lam, alpha, 1 - alpha, tensor(w), torch.zeros(4))

prints(
    'svm-dual',
    w=of(lambda X, y, lambda_: lambda alpha: stationary(X, y, lambda_, alpha)),
    D=of(lambda X, y, lambda_: lambda alpha: lowest(X, y, lambda_, alpha)),
    slip=[(f'a range from {low} to {high}', rf'''D(\alpha) = \frac1N \sum_{{n=1}}^N \alpha_n - \frac\lambda2 \|\mathbf{{w}}(\alpha)\|^2
        \qquad \text{{for }} \alpha \in [{low}, {high}]^N''') for low, high in ((0, 2), (-1, 1))],
    **_forces | dict(alpha=vectors(4, -0.2, 1.2)),
)
_kerbs = np.array([[4.5, 1], [-4.5, 1], [3, 1], [-3, 1], [0.4, 0.2], [-0.4, 0.2], [0.5, -1], [-0.5, -1], [0, 1], [0, 1]])
_kinds = np.array([1., -1, 1, -1, 1, -1, -1, 1, 1, -1])
_optimum = svm_dual(_kerbs, _kinds, 0.1)

prints(
    'svm-kkt',
    alpha=_optimum,
    m=_kinds * (_kerbs @ ((_optimum * _kinds) @ _kerbs) / (0.1 * 10)),
    n=range(1, 11),
    also_true=3,  # what follows from 0 <= alpha <= 1 alone, or is weaker
    also_turned=1,  # no margin is 1 but those of weights between 0 and 1
)


def best_alone(X, y, lambda_, alpha):
    """Where the dual is largest along each coordinate between 0 and 1, the others as they are: the top of a parabola."""
    tops = []
    for n in range(len(y)):
        t = np.array([0, 0.5, 1])
        moved = np.where(np.arange(len(y)) == n, t[:, None], alpha)
        w = (moved * y) @ X / (lambda_ * len(y))
        a, b, _ = np.polyfit(t, moved.mean(1) - lambda_ / 2 * (w ** 2).sum(1), 2)
        tops.append(np.clip(-b / (2 * a), 0, 1))
    return np.array(tops)

prints(
    'svm-ascent',
    m=of(lambda X, y, lambda_, alpha: y * (X @ ((alpha * y) @ X)) / (lambda_ * 4)),
    alpha_new=of(best_alone),
    clip=np.clip,
    **_forces,
)

# kernels

prints('kernels-square', x=vectors(2), z=vectors(2), phi=lambda x: np.array([x[0] ** 2, np.sqrt(2) * x[0] * x[1], x[1] ** 2]))


def gaussian_kernel(gamma):
    return lambda x, z: rbf_kernel(np.atleast_2d(x), np.atleast_2d(z), gamma)[0, 0]

prints('kernels-rbf', x=vectors(2, -2, 2), z=vectors(2, -2, 2), gamma=scalars(0.1, 1), k=of(gaussian_kernel))


class Features:
    """A function of the space of `scale` times the Gaussian kernel: sum of a_i k(x_i, .)."""

    def __init__(self, a, x, gamma=0.5, scale=1.0):
        self.a, self.x, self.gamma, self.scale = np.array(a), np.array(x, float).reshape(len(a), -1), gamma, scale

    def __call__(self, x):
        return self.scale * self.a @ rbf_kernel(self.x, np.reshape(x, (1, -1)), self.gamma)[:, 0]


def inner(f, g):
    return f.scale * f.a @ rbf_kernel(f.x, g.x, f.gamma) @ g.a

prints(
    'kernels-evaluation',
    f=[Features([1, -2], [0, 1.5], scale=0.25), Features([3], [2], scale=0.25), Features([3], [2], scale=4.0)],
    x=scalars(-3, 3),
    k=of(lambda f: lambda x, *z: f.scale * gaussian_kernel(0.5)(x, *z) if z else Features([1], [x], scale=f.scale)),
    inner=inner,
    equality=[dict(f=Features([3], [2], scale=scale), x=2.0) for scale in (0.25, 4.0)],  # on either side of 1, whose root is 1
)
prints(
    'kernels-lipschitz',
    f=[Features([1, -2], [[0, 0], [1.5, 1]], 2.0), Features([10, -10], [[0.1, 0], [0, 0]], 2.0)],
    x=[np.array([0.1, 0]), np.array([1., 2])],
    z=[np.zeros(2), np.array([0.5, -1]), np.array([-0.1, 0])],
    gamma=2.0,
    inner=inner,
    slip=('without the 2', r'|f(\mathbf{x}) - f(\mathbf{z})| \le \sqrt{\gamma}\, \|f\| \, \|\mathbf{x} - \mathbf{z}\|'),
)
_places = np.array([[0.1], [0.7], [1.1], [2.0]])


def kernel_ridge(y, alpha):
    return KernelRidge(alpha=alpha, kernel='rbf', gamma=2).fit(_places, y)

_ridge = dict(y=vectors(4), alpha=scalars(0.1, 2), N=4, K=rbf_kernel(_places, gamma=2), a=of(lambda y, alpha: kernel_ridge(y, alpha).dual_coef_))

prints(
    'kernels-ridge',
    x=scalars(-1, 3),
    x_n=of(lambda n: _places[n - 1, 0]),
    k=gaussian_kernel(2),
    f=of(lambda y, alpha: lambda x: kernel_ridge(y, alpha).predict([[x]])[0]),
    tries=10,
    **_ridge,
)


def without(n, y, alpha):
    """What the fit to the others predicts at place n."""
    rest = np.arange(4) != n - 1
    return KernelRidge(alpha=alpha, kernel='rbf', gamma=2).fit(_places[rest], y[rest]).predict(_places[n - 1:n])[0]

prints('kernels-loo', n=range(1, 5), y_hat_n_minus_n=of(without), tries=10, **_ridge)
_nodes, _node_weights = np.polynomial.hermite_e.hermegauss(14)

prints(
    'kernels-bochner',
    g=[0.3, 0.5],
    kappa=of(lambda g: lambda delta: np.exp(-g * delta @ delta)),
    omega_1=Random(_nodes, _node_weights / _node_weights.sum()),
    omega_2=Random(_nodes, _node_weights / _node_weights.sum()),
    omega=of(lambda g, omega_1, omega_2: np.sqrt(2 * g) * np.array([omega_1, omega_2])),
    delta=vectors(2, -1, 1),
    d=2,
    tries=6,
)
_sampler = RBFSampler(gamma=0.5, n_components=5, random_state=0).fit(np.zeros((1, 2)))


def random_features(x):
    return _sampler.transform(np.reshape(x, (1, -1)))[0]

prints(
    'kernels-random',
    x=vectors(2),
    z=vectors(2),
    D=5,
    j=range(1, 6),
    omega=of(lambda: list(_sampler.random_weights_.T)),
    b=_sampler.random_offset_,
    zeta=lambda j, x: random_features(x)[j - 1],
    k_hat=lambda x, z: random_features(x) @ random_features(z),
    tries=10,
)

# nearest neighbours

prints('knn-expanded', a=vectors(3), x=vectors(3))


def expansion_error(a, x):
    """How far the expanded square, computed in float32, is from the exact one."""
    a, x = np.float32(a), np.float32(x)
    exact = sum((Fraction(p) - Fraction(q)) ** 2 for p, q in zip(a.tolist(), x.tolist(), strict=True))
    return float(abs(Fraction(float((a * a).sum() - 2 * (a @ x) + (x * x).sum())) - exact))

# Two points far from the origin; or two numbers whose products and first sum lie hardly above powers of two and are all
# rounded down by nearly half a unit, the most that a rounding can lose: their error is 0.92, or 0.77, of the bound.
_far = normal(2, 3).map(lambda points: list(1e3 + points))
_unlucky = [np.array([1024 + 2045 * 2.0 ** -13]), np.array([-512 - 2042 * 2.0 ** -14])]
_unlucky_too = [np.array([1024 + 1965 * 2.0 ** -13]), np.array([-2048 - 10641 * 2.0 ** -12])]

prints(
    'knn-gamma',
    points=st.one_of(_far, st.sampled_from([_unlucky, _unlucky_too])),
    a=of(lambda points: points[0]),
    x=of(lambda points: points[1]),
    d=of(lambda a: len(a)),
    u=2.0 ** -24,
    error=of(expansion_error),
    slip=[
        ('measures from each other and not from the origin',
         r'\text{error} \le \gamma_{d+2} \|\mathbf{a} - \mathbf{x}\|^2, \qquad \gamma_m = \frac{m u}{1 - m u}'),
        ('a tenth less',
         r'\text{error} \le 0.9 \gamma_{d+2} (\|\mathbf{a}\| + \|\mathbf{x}\|)^2, \qquad \gamma_m = \frac{m u}{1 - m u}'),
    ],
)
_even = np.array([[0.6, 0.2, 0.2]] * 2 + [[0.2, 0.2, 0.6]] * 2)
_laws = st.one_of(normal(4, 3).map(lambda scores: special.softmax(2 * scores, 1)), st.just(_even))  # at four equally likely inputs
_twins = dict(
    law=_laws,
    x=Random(range(4)),
    p=of(lambda law: lambda j, x: law[x, j - 1]),
    q=3,
    R_NN=of(lambda law: sum(p[i] * p[j] for p in law for i in range(3) for j in range(3) if i != j) / 4),
    R_star=of(lambda law: 1 - law.max(1).mean()),
)

prints('knn-limit', **_twins)
prints(
    'knn-cover-hart',
    equality=dict(law=_even),
    slip=('the bound for two labels', r'R_{\text{NN}} \le 2 R^* (1 - R^*)'),
    **_twins,
)
prints(
    'knn-local',
    p=st.one_of(normal(3).map(special.softmax), st.sampled_from([np.array([0.6, 0.2, 0.2]), np.array([0.5, 0.5, 0])])),
    q=3,
    r=of(lambda p: 1 - max(p)),
)


def risk_on_circle(a, n):
    """The mean of the error of copying, over the circle and over the distance of the nearest of n examples."""
    x = np.arange(64) / 64  # for cosines of few periods the mean over a grid is exact

    def error(t):
        p, q = 0.5 + a * np.cos(2 * np.pi * x), 0.5 + a * np.cos(2 * np.pi * (x + t / 2))
        return (p * (1 - q) + (1 - p) * q).mean() * stats.beta.pdf(t, 1, n)
    return integrate.quad(error, 0, 1)[0]

prints('knn-circle', a=scalars(0.1, 0.5), n=[1, 2, 5, 9], R_n=of(risk_on_circle), tries=6)


def wrong_vote(k, r):
    """The probability that the majority of k labels differs from one more, all of them less likely ones with r."""
    return sum(
        r ** sum(votes[1:]) * (1 - r) ** (k - sum(votes[1:])) * (r if votes[0] else 1 - r)
        for votes in product([0, 1], repeat=k + 1) if (2 * sum(votes[1:]) > k) != votes[0])

prints(
    'knn-vote',
    k=[1, 3, 5],
    r=scalars(0, 0.5),
    B=Random(range(6), of(lambda k, r: stats.binom.pmf(range(6), k, r))),
    rho=wrong_vote,
    tries=12,
)
_grid = np.array([[0., 0], [1, 0.5], [0.2, 1], [3, 3]])
_signs = list(product([-1., 1], repeat=4))

prints(
    'knn-bias-variance',
    k=[1, 2, 3],
    x=vectors(2, 0, 2),
    f=[lambda x: x[0] * x[1] + 1, lambda x: np.sin(3 * x[0])],
    noise=Random(_signs),
    sigma=[0.5, 2],
    x_i=of(lambda i: _grid[i - 1]),
    N_k=of(lambda k, x: list(NearestNeighbors(n_neighbors=k).fit(_grid).kneighbors([x])[1][0] + 1)),
    f_hat=of(lambda f, noise, sigma: lambda k, x: np.mean([f(_grid[i]) + sigma * noise[i] for i in np.argsort(
        np.linalg.norm(_grid - x, axis=1), stable=True)[:k]])),
    tries=6,
)


def nearest_corner(n, d):
    """How many coordinates of the nearest of n random corners of a cube differ: the probabilities of 0, ..., d."""
    farther = stats.binom.sf(np.arange(-1, d + 1), d, 0.5) ** n
    return farther[:-1] - farther[1:]

prints(
    'knn-arrival',
    d=10,
    n=[1, 3, 100, 1000],
    differing=Random(range(11), of(lambda n: nearest_corner(n, 10))),
    x=np.arange(10) % 2 * 1.0,
    x_prime=of(lambda differing: abs(np.arange(10) % 2 - (np.arange(10) < differing))),
    slip=('the exponent of an average', r"\mathbb{E} \|\mathbf{x} - \mathbf{x}'\| \le 2 \sqrt d \Big( 1 + \frac{1}{e (d - 1)} \Big) n^{-1/2}"),
)
prints(
    'knn-finite',
    d=[3, 10],  # not 2, for which the condition could be printed the wrong way round
    n=[1, 3, 100, 1000],
    eta=[0, 0.2, 0.4],  # the probability of one label, or of the other, by the first coordinate
    R_n=of(lambda n, d, eta: 2 * eta * (1 - eta) + (1 - 2 * eta) ** 2 * nearest_corner(n, d) @ np.arange(d + 1) / d),
    R_star=of(lambda eta: eta),
    c=of(lambda eta: 1 - 2 * eta),
    slip=('forgets that the neighbour is not there yet', r'R_n \le 2 R^* (1 - R^*)'),
)
_counts_of_two = [(i, j) for i in range(13) for j in range(i + 1)]

prints(
    'knn-concentrate',
    n=2,
    d=[12, 1],
    p=[0.5, 0.97],  # a squared difference is 9 with this probability, and else 0
    mu=of(lambda p: 9 * p),
    v=of(lambda p: 81 * p * (1 - p)),
    D=Random([9.0 * np.array(counts) for counts in _counts_of_two],
             of(lambda d, p: [stats.binom.pmf([i, j], d, p).prod() * (1 + (i != j)) for i, j in _counts_of_two])),
    # With one term, nearly always the same, the probability is (p * epsilon)^2 = 0.85 of the bound. No coordinates of one law
    # have differences as these, but the proof asks for nothing but their mean and variance.
    epsilon=[0.2, 0.6, 0.95],
    slip=[
        ('the square of the dimension',
         r'P \bigg( \frac{\max_i D_i}{\min_i D_i} > \frac{1 + \varepsilon}{1 - \varepsilon} \bigg) \le \frac{n v}{d^2 \, \mu^2 \varepsilon^2}'),
        ('a fifth less',
         r'P \bigg( \frac{\max_i D_i}{\min_i D_i} > \frac{1 + \varepsilon}{1 - \varepsilon} \bigg) \le \frac{0.8 n v}{d \, \mu^2 \varepsilon^2}'),
    ],
)
