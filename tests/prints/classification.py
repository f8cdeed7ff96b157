"""Classification: the meanings of letters."""

from itertools import permutations, product

import numpy as np
import torch
from hypothesis import strategies as st
from scipy import integrate, special, stats
from sklearn.linear_model import LinearRegression
from sklearn.metrics import confusion_matrix, precision_score
from sklearn.preprocessing import LabelBinarizer
from torch.nn import functional

from nbutils.cases import matrices, scalars, seeds, vectors
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
prints('la.softmax.first-component', Softmax=special.softmax, x=vectors(4))
prints(
    'ml.logreg.newton.hessian-matrix',
    X=normal(4, 2),
    y=[np.array([0., 1, 1, 0])],
    w=vectors(2, -2, 2),
    x=of(rows),
    N=4,
    sigma=sigmoid,
    L=of(lambda X, y: lambda w: np.logaddexp(0, (1 - 2 * y) * (X @ w)).mean()),
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
    """The weights of the optimum, by many sweeps of exact coordinate ascent."""
    n, alpha = len(y), np.zeros(len(y))
    for _ in range(3000):
        for k in range(n):
            w = (alpha * y) @ X / (lam * n)
            alpha[k] = np.clip(alpha[k] + lam * n * (1 - y[k] * X[k] @ w) / (X[k] @ X[k]), 0, 1)
    return (alpha * y) @ X / (lam * n)

_X, _y, _lam = np.random.default_rng(0).normal(size=(4, 2)), np.array([1., -1, 1, -1]), 0.3

_w_star = svm_dual(_X, _y, _lam)

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
prints('softmax-lse', LSE=special.logsumexp, softmax=special.softmax, x=vectors(3))
prints(
    'ml.logreg.newton.hessian-sum',
    X=normal(4, 2),
    y=[np.array([0., 1, 1, 0])],
    w=vectors(2, -2, 2),
    x=of(rows),
    N=4,
    sigma=sigmoid,
    L=of(lambda X, y: lambda w: np.logaddexp(0, (1 - 2 * y) * (X @ w)).mean()),
)
onehot3 = [np.eye(3)[k] for k in range(3)]

prints('dl.softmax-ce.substituted', o=vectors(3), y=onehot3, q=3, l=of(lambda o, y: special.logsumexp(o) - y @ o))
prints('dl.softmax.softmax', o=vectors(4), y_hat=of(lambda o: special.softmax(o)))
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

prints(
    'dl.classification.one-hot',
    j=[1, 2, 3, 4],
    y=of(lambda j: functional.one_hot(torch.tensor(j - 1), 4)),
)
_animals = LabelBinarizer().fit(['cat', 'chicken', 'dog'])

prints(
    'dl.classification.cat-chicken-dog',
    y_cat=_animals.transform(['cat'])[0],
    y_chicken=_animals.transform(['chicken'])[0],
    y_dog=_animals.transform(['dog'])[0],
)
_inputs = np.random.default_rng(2).normal(size=(12, 2))


def guess_by_codes(x, c):
    """The name, 1, 2 or 3, with the largest output of least squares for one-hot codes."""
    return LinearRegression().fit(_inputs, np.eye(3)[c.astype(int) - 1]).predict(x[None]).argmax() + 1


def renaming(order):
    return lambda names: np.array(order)[np.array(names, int) - 1]

prints(
    'dl.classification.no-order',
    x=vectors(2, -2, 2),
    pi=[renaming(order) for order in permutations([1, 2, 3])],
    c=[np.array([1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 1, 2]), np.array([1, 1, 2, 2, 2, 3, 3, 1, 3, 3, 3, 1])],
    guess=guess_by_codes,
    tries=12,
)
prints(
    'dl.linear-model.outputs',
    x=vectors(4),
    W=matrices(3, 4),
    b=vectors(3),
    o=of(lambda x, W, b: functional.linear(tensor(x), tensor(W), tensor(b))),
)
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

prints('la.softmax.last-component', Softmax=special.softmax, x=vectors(4), n=4)


def lead(x):
    return np.subtract(*np.sort(x)[:-3:-1])

prints(
    'softmax-rate',
    softmax=special.softmax,
    x=st.one_of(vectors(2), vectors(4)),
    beta=[0.3, 1, 2],
    n=of(lambda x: len(x)),
    m=of(lambda x: np.argmax(x) + 1),
    delta=of(lead),
    equality=dict(x=np.zeros(2), beta=1.0),
    slip=('the largest score in place of its lead',
          r'\|\operatorname{softmax}(\beta \mathbf{x}) - \mathbf{e}_m\|_1 \le 2 (n - 1) e^{-\beta x_m}'),
)


def of_scores(function):
    """What a function gives for the probabilities of the scores x at the inverse temperature beta."""
    return of(lambda beta, x: function(np.exp(beta * x - special.logsumexp(beta * x)), x))

prints(
    'softmax-beta',
    x=vectors(3, -2, 2),
    beta=scalars(0.1, 2),
    p=of_scores(lambda p, x: p),
    mu=of_scores(lambda p, x: p @ x),
    H=of_scores(lambda p, x: stats.entropy(p)),
    Var=of(lambda beta, x: lambda scores: np.cov(scores, aweights=special.softmax(beta * x), ddof=0)),
    tries=8,
)
prints(
    'softmax-log',
    o=vectors(3),
    y_hat=of(lambda o: special.softmax(o)),
    z=of(lambda o: np.array([score - max(o) for score in o])),
)
prints('softmax-log-gradient', o=vectors(3), y_hat=of(lambda o: special.softmax(o)), delta=np.eye(3), tries=20)


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


def softmax_jacobian(x):
    return torch.func.jacrev(lambda t: t.softmax(0))(tensor(x))

_pushed = dict(x=vectors(3, -3, 3), p=of(lambda x: special.softmax(x)), J=of(softmax_jacobian), g=vectors(3), tries=10,
               **{'1': np.ones(3)})

prints('softmax-jacobian', delta=np.eye(3), **_pushed)
prints('softmax-vjp', **_pushed)
prints('softmax-vjp-centred', m=[1, 2, 3], **_pushed)

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
    h=stats.norm.pdf,
    A=lambda eta: eta ** 2 / 2,
    y=scalars(-3, 3),
    eta=scalars(-2, 2),
    tries=4,
)
