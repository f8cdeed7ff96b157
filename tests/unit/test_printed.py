"""What the reader of formulas must get right, construct by construct, and what it must refuse: the trusted base of the book."""
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from nbutils.cases import integers, matrices, scalars, vectors
from nbutils.checks import _counterexample, erratum, holds
from nbutils.printed import Box, FormulaError, Random, ShapeError, of, run, running
from nbutils.printed.checking import check
from nbutils.printed.comparing import compared
from nbutils.printed.displays import display, displays
from nbutils.printed.evaluating import Unfinished, evaluate
from nbutils.printed.grammar import children, form, parse
from nbutils.printed.spoiling import telling
from nbutils.printed.values import Scope, lift

A, B = np.array([[1., 2.], [3., 5.]]), np.array([[0., 1.], [4., -2.]])
S = np.array([[2., 1.], [1., 3.]])
x, y = np.array([1., -2.]), np.array([3., 0.5])
u, v = np.array([1., 2., 3.]), np.array([-1., 0., 2.])
LETTERS = dict(
    A=A, B=B, M=A, S=S, x=x, y=y, u=u, v=v, a=2.0, b=-3.0, n=4, f=lambda t: t ** 3, g=lambda w: w @ w, h=lambda w: w * 2, k=range(1, 3),
    family=[x, y], w=[y, x], t=[1., 7.], rest=11., N=10, Normal=lambda m, s: m + s - 2, F=[[4, 5], [2, 1], [5]], P=[[2, 3], [5, 1]], V=of(lambda X: X), W=of(lambda X: 2 * X),
    O=np.stack([y, x, x], 1), O_columns=[y, x, x], X=Random([0., 1., 5.], [0.5, 0.2, 0.3]), Y=Random([-1., 1.]),
    p=lambda t: {0: 0.5, 1: 0.2, 5: 0.3}.get(t, 0.0), ell=lambda t: float(t != 1), Z=Random([0., 3.]), dS=A,
    q=Box(-4, 4), r=Box(-9, 9, 2), inf_f=-7.0, is_even=lambda t: t % 2 == 0,
    H=[A, B, S], R=[np.arange(6.).reshape(2, 3)] * 4, G=lambda i, j: 10 * i + j,
    f_t_prime=lambda t: t / 4, f_t_star=lambda t: 3.0, f_t=lambda t: 1.0,
    z_in=[np.array([0., -1.]), np.array([0.6, -0.8]), np.array([9., 9.])], is_longer_than=lambda v, w: np.linalg.norm(v) > np.linalg.norm(w),
    E=lambda t: t % 2 == 0, L=lambda t: t < 4, c=lambda s, t: 2.5, c_given=lambda s, *t: 100.0 if len(t) == 1 else 104.0, partial_phi=lambda t: np.array([[t - 1, t + 1]]), phi=abs,
)


def value(latex, **more):
    """The value of a formula without relation, or the truth of one with a relation."""
    letters = LETTERS | more
    functions = frozenset(name for name, meaning in letters.items() if callable(meaning))
    (part,) = parse(latex, functions)
    kept = {n: m if callable(m) or isinstance(m, (Box, Random, range)) else lift(m) for n, m in letters.items()}
    computed = {n: m for n, m in kept.items() if isinstance(m, of)}
    return evaluate(part.node, Scope({n: m for n, m in kept.items() if n not in computed}, computed))


def scaled(k):
    return lambda z: z * k


def search(test, strategies):
    return _counterexample(test, strategies, 60)


@pytest.mark.parametrize('latex, want', [
    # numbers, sums and products
    (r'2 + 3 \cdot 4', 14), (r'-a^2', -4), (r'(-a)^2', 4), (r'2 a b', -12), (r'a / b', -2 / 3), (r'\frac{1}{2} a', 1),
    (r'\tfrac12 a^2', 2), (r'a - b - 1', 4), (r'a - (b - 1)', 6), (r'2^{a + 1}', 8), (r'0.25 n', 1), (r'n!', 24), (r'\binom{n}{2}', 6),
    (r'\sqrt{n}', 2), (r'\sqrt[3]{8}', 2), (r'\cos 90°', math.cos(math.pi / 2)), (r'|b|', 3), (r'|a| |b|', 6), (r'\lfloor 2.7 \rfloor', 2), (r'\lceil 2.1 \rceil', 3),
    (r'2 \pi', 2 * math.pi), (r'e^{2}', math.exp(2)), (r'a \times b', -6),
    # functions, with and without brackets
    (r'\log 2 a', math.log(4)), (r'\log a \, b', math.log(2) * -3), (r'\exp(a) + 1', math.exp(2) + 1), (r'\sin a + \cos a', math.sin(2) + math.cos(2)),
    (r'f(a)', 8), (r'f(a)^2', 64), (r"f'(a)", 12), (r"f''(a)", 12), (r'[f \circ f](a)', 512), (r'g(\mathbf{x})', 5), (r'G[1, 2]', 12),
    (r'\max(a, b)', 2), (r'\min(a, b, 0)', -3), (r'\max_i x_i', 1), (r'\max_i |x_i|', 2), (r'\arg\min_i x_i', 2),
    (r'\min_{i < j} (u_j - u_i)', 1), (r'\operatorname{sign}(b)', -1),
    (r'\min_{q} (q^2 - 3 q)', -9 / 4), (r'\sup_{q} (a q - \frac{1}{4} q^4)', 1.5 * 2 ** (1 / 3)),
    (r'\min_{\mathbf{r}} (\|\mathbf{r}\|^2 - 2 \mathbf{x}^\top\mathbf{r})', -5), (r'\inf f', -7),
    # vectors and matrices
    (r'\mathbf{x}^\top\mathbf{y}', x @ y), (r'\mathbf{x} \cdot \mathbf{y}', x @ y), (r'\mathbf{x}\mathbf{y}^\top', np.outer(x, y)),
    (r'\mathbf{x}^\top\mathbf{A}\mathbf{y}', x @ A @ y), (r'\mathbf{A}\mathbf{x}', (A @ x)[:, None]),
    (r'\mathbf{A}^{-1}\mathbf{x}', np.linalg.solve(A, x)[:, None]), (r'\mathbf{A}^{-\top}', np.linalg.inv(A).T), (r'\mathbf{A}^2', A @ A),
    (r'\mathbf{A}^\top\mathbf{A} + 2\mathbf{I}', A.T @ A + 2 * np.eye(2)), (r'\mathbf{I} - \mathbf{A}', np.eye(2) - A), (r'-\mathbf{I} + \mathbf{A}', A - np.eye(2)),
    (r'\sum_{j=1}^2 m_{11} m_{22} \cdots m_{jj}', 6), (r'\mathbf{A} \odot \mathbf{B}', A * B),
    (r'\mathbf{A} \otimes \mathbf{B}', np.kron(A, B)), (r'\mathbf{u} \times \mathbf{v}', np.cross(u, v)[:, None]),
    (r'\mathbf{u} \cdot (\mathbf{v} \times \mathbf{u})', 0), (r'm_{12}', 2), (r'\mathbf{A}_{12}', 2), (r'\mathbf{A}_{2,1}', 3), (r'\mathbf{A}_{:,2}', A[:, 1:]),
    (r'\mathbf{A}_{1,:}', A[:1]), (r'\mathbf{I}_3', np.eye(3)), (r'\mathbf{e}_2^\top\mathbf{x}', -2),
    (r'\det \mathbf{A}\mathbf{B}', np.linalg.det(A @ B)), (r'\det \mathbf{A} \; (1 + \mathbf{x}^\top\mathbf{y})', np.linalg.det(A) * (1 + x @ y)),
    (r'\operatorname{tr} \mathbf{A}^\top\mathbf{B}', np.trace(A.T @ B)), (r'\operatorname{rank}(\mathbf{x}\mathbf{y}^\top)', 1), (r'\operatorname{rank}[\mathbf{x} \,|\, \mathbf{y}]', 2),
    (r'\det[\mathbf{x} \,|\, \mathbf{y}]', 6.5),
    (r'\operatorname{vec}\mathbf{A}', A.T.reshape(-1, 1)), (r'\operatorname{diag}(\mathbf{x})', np.diag(x)),
    (r'\langle \mathbf{A}, \mathbf{B} \rangle', (A * B).sum()), (r'(a, b)', np.array([[2.], [-3.]])),
    (r'\begin{bmatrix} x_1 & 0 \\ 1 & y_2 \end{bmatrix}', [[1, 0], [1, 0.5]]),
    (r'\begin{bmatrix} \mathbf{A} & \mathbf{x} \\ \mathbf{y}^\top & 7 \end{bmatrix}', np.block([[A, x[:, None]], [y[None], 7]])),
    (r'\begin{bmatrix} u_1 \\ \vdots \\ u_3 \end{bmatrix}', u[:, None]), (r'\begin{bmatrix} a & \\ & b \end{bmatrix}', [[2, 0], [0, -3]]),
    (r'\sqrt{\mathbf{S}\mathbf{S}}', S), (r'(\mathbf{S}\mathbf{S})^{-1/2}', np.linalg.inv(S)), (r'e^{\mathbf{S}}', expm(S)),
    (r'[\mathbf{u}]_\times\mathbf{v}', np.cross(u, v)[:, None]), (r'[\mathbf{u}]_\times^\top\mathbf{v}', np.cross(v, u)[:, None]),
    # norms
    (r'\|\mathbf{x}\|', math.sqrt(5)), (r'\|\mathbf{x}\|_1', 3), (r'\lVert\mathbf{x}\rVert_\infty', 2), (r'\|\mathbf{x} - \mathbf{y}\|_2^2', 10.25),
    (r'\|\mathbf{A}\|_F', np.linalg.norm(A)), (r'\|\mathbf{A}\|_2', np.linalg.norm(A, 2)), (r'\|\mathbf{u}\|_3', 36 ** (1 / 3)),
    # sums, products, dots
    (r'\sum_i x_i^2 - \sum_i y_i', 5 - 3.5), (r'\sum_{i=1}^{3} u_i v_i', 5), (r'\sum_{i=2}^{n} i', 9), (r'\sum_{i < j} u_i u_j', 11),
    (r'\sum_{i, j} m_{ij}', 11), (r'\sum_i \sum_j m_{ij} x_i y_j', x @ A @ y), (r'\prod_{i=1}^{n} i', 24), (r'\sum_{k=0}^\infty 2^{-k}', 2),
    (r'\log \sum_k \exp(x_k) - 2', math.log(np.exp(x).sum()) - 2), (r'x_1 y_1 + \dots + x_2 y_2', x @ y), (r'1 + 2 + \dots + n', 10),
    (r'1 - 2 - \dots - n', -8), (r'u_1 + u_2 + \dots + u_3', 6), (r'1 + 3 + \dots + 9', 25), (r'\sum_{m=1}^2 (u_1 + u_2 + \dots + u_m)', 4),
    (r'\mathbf{H}_3 \cdots \mathbf{H}_2\mathbf{H}_1', S @ B @ A), (r'\mathbf{H}_1 \mathbf{H}_2 \cdots \mathbf{H}_3', A @ B @ S),
    (r'\mathbf{H}_1 \cdots \mathbf{H}_2 \mathbf{H}_3', A @ B @ S), (r'u_2 u_3 \cdots u_1', 1), (r'a u_2 \cdots u_3', 12), (r'u_1 \cdots u_3 a', 12),
    (r'\begin{bmatrix} u_1 v_1 & \cdots & u_1 v_3 \\ \vdots & & \vdots \\ u_3 v_1 & \cdots & u_3 v_3 \end{bmatrix}', np.outer(u, v)),
    (r'\begin{bmatrix} u_1 \\ u_2 \\ \vdots \\ u_3 \end{bmatrix}', u[:, None]), (r'\sum_{i, j, m} R_{ijm}', 60),
    (r'\max_{\|\mathbf{z}\| \le 1} \mathbf{x} \cdot \mathbf{z}', 2.2), (r'\min_{\mathbf{z}} \|\mathbf{z} - \mathbf{x}\|', math.sqrt(1.6)), (r'\max_i u_i \cdot b', -9), (r'1 \cdot 2', 2), (r'\sum_{k \in \{1, 3\}} k^2', 10), (r'\sum_{i \ne j} u_i u_j', 22),
    (r'\max_{\mathbf{w}, t} (t + \mathbf{x}^\top\mathbf{w})', 12), (r'\operatorname*{arg\,min}_{\mathbf{w}} \mathbf{u}^\top\mathbf{u} \mathbf{x}^\top\mathbf{w}', y[:, None]),
    (r'\sum_{t} t^2', 50), (r'a + \text{rest}', 13), (r'\text{rest} - a', 9),
    (r'\sum_{x_i > 0} x_i y_i', 3), (r'\sum_{u_i + v_j = 3} u_i v_j', 2),
    # derivatives, integrals, limits
    (r'\frac{\partial \|\mathbf{x}\|_2^2}{\partial \mathbf{x}}', 2 * x[:, None]), (r'\Big[ s^3 - s \Big]_1^2', 6), (r'[e^{-s}]_0^\infty', -1),
    (r"f'(\mathbf{A})", 3 * A ** 2), (r'd \operatorname{tr} \mathbf{S}^2', 2 * np.trace(S @ A)),
    (r'd^2 \operatorname{tr} \mathbf{S}^3', 6 * np.trace(S @ A @ A)), (r'd\mathbf{S}\, \mathbf{x}', (A @ x)[:, None]),
    (r'D_{\mathbf{y}} g(\mathbf{x})', 2 * x @ y), (r'2 D_{\mathbf{x} + \mathbf{y}} g(\mathbf{x}) + 1', 4 * x @ (x + y) + 1), (r'D_b f(a)', -36),
    (r'\nabla_{\mathbf{x}} (\mathbf{x}^\top\mathbf{A}\mathbf{x})', ((A + A.T) @ x)[:, None]), (r'\nabla g(\mathbf{x})', 2 * x[:, None]),
    (r'\nabla g(\mathbf{x})^\top \mathbf{y}', 2 * x @ y), (r'\frac{\partial}{\partial x_1} (x_1^2 x_2)', -4), (r'\nabla^2 g(\mathbf{x})', 2 * np.eye(2)),
    (r'\frac{\partial^2}{\partial x_1 \partial x_2} (x_1^2 x_2)', 2), (r'\frac{\partial^2 f(a)}{\partial a^2}', 12), (r'\frac{d}{d a} a^3', 12),
    (r'\partial h(\mathbf{x})', 2 * np.eye(2)), (r'\partial g(\mathbf{x})', 2 * x[None, :]),
    (r'\nabla_{\mathbf{A}} \det \mathbf{A}', np.linalg.det(A) * np.linalg.inv(A).T), (r'\frac{\partial |b|}{\partial b}', -1),
    (r'\int_0^1 t^2 \, dt', 1 / 3), (r'\int e^{-t^2} \, dt', math.sqrt(math.pi)), (r'\int e^{-t^2} e^{t} \, dt', math.sqrt(math.pi) * math.exp(0.25)),
    (r'\lim_{t \to 0} \frac{\sin t}{t}', 1), (r'\lim_{t \to 0^+} \frac{|t|}{t}', 1),
    # expectations over finitely many outcomes
    (r'\mathbb{E}[X]', 1.7), (r'\mathbb{E}[X^2]', 7.7), (r'\operatorname{Var}(X)', 7.7 - 1.7 ** 2), (r'\Pr[X > 0]', 0.5), (r'\mathbb{E}[X Y]', 0),
    (r'\mathbb{E}[X \mid X > 0]', 1.7 / 0.5), (r'\mathbb{E}_X[X + a]', 3.7), (r'\Pr[X > 0 \mid X < 2, Y = 1]', 0.2 / 0.7), (r'\Pr[X = 1, Y = 1]', 0.1), (r'\mathbb{E}_\ell[\log |X - 1|]', math.log(4) / 2),
    # sets and events
    (r'\{1, 3\} \cup \{2, 3\}', [1, 2, 3]), (r'\{1, 3\} \cap \{2, 3\}', [3]), (r'\{1, \dots, n\} \setminus \{2\}', [1, 3, 4]),
    (r'|\{1, 3\} \cup \{3\}|', 2), (r'F_1 \cup \dots \cup F_3', [1, 2, 4, 5]), (r'\bigcap_{i=1}^2 F_i', []), (r'\bigcup_{i=2}^3 F_i', [1, 2, 5]),
    (r'\Pr[\bigcup_i \{ u_i X = 10 \}]', 0.3), (r'\Pr[\{X > 0\} \cap \{Y = 1\}]', 0.25), (r'\Pr[\{X > 0\} \cup \{Y = 1\}]', 0.75),
    (r'\mathbb{E}_{X \sim p(X)}[X + a]', 3.7), (r'\mathbb{E}_{X \sim p}[X]', 1.7),
    (r'\operatorname{Cov}(X, X + Y)', 7.7 - 1.7 ** 2), (r'\operatorname{Cov}(X, Y)', 0), (r'\operatorname{Cov}(2 X)', 4 * (7.7 - 1.7 ** 2)),
    (r'\operatorname{Cov}(X \mathbf{x})', (7.7 - 1.7 ** 2) * np.outer(x, x)),
    (r'\sum_{(s, i) \in P} s^i', 2 ** 3 + 5), (r'\mathbb{E}_{(V, W) \sim D}[V W]', 7.7 * 2), (r'\mathbb{E}_{V \sim D}[V]', 1.7),
    (r'\mathbf{O}_2', x[:, None]), (r'\sum_j \mathbf{O}_j', (x + y + x)[:, None]), (r'\mathbf{O}_{2,3}', -2), (r'\mathbf{O}\mathbf{u}', np.stack([y, x, x], 1) @ u[:, None]),
    (r"f_{t'}(a) f_{t^*}(a) f_{t}(a)", 1.5), (r'G^{(1)}(2)', 12), (r'40\,000 + 1\,000\,000', 1040000), (r'2\,30', 60), (r'2.5\,100', 250),
    # fonts
    (r'N \mathcal{N}(a, b) \mathrm{N}', 100 * -3),
    (r'c(a, b) + c(a \mid b)', 102.5), (r'c(a \mid b, n)', 104), (r'c(a, b)', 2.5),
    (r'\mathbb{E}[\mathbb{E}[X \mid Z]]', 1.7), (r'\mathbb{E}[\operatorname{Var}(X + Z \mid Z)]', 4.81),
    (r'\operatorname{Var}(\mathbb{E}[X Y \mid Y])', 1.7 ** 2), (r'\mathbb{E}_\ell[X]', 2.5), (r'\mathbb{E}_\ell[(X - b)^2]', (9 + 64) / 2),
    # cases, indicators
    (r'\begin{cases} 1 & \text{if } a > 3 \\ 7 & \text{otherwise} \end{cases}', 7), (r'\mathbb{1}[a > b]', 1),
])
def test_value(latex, want):
    got = value(latex)
    assert np.shape(got) == np.shape(want), (got, want)
    assert np.allclose(got, want, rtol=1e-8, atol=1e-8), (got, want)


@pytest.mark.parametrize('latex, want', [
    (r'a = 2', True), (r'a \ne 2', False), (r'a < b', False), (r'b \le a \le 2', True), (r'b \le a < 2', False), (r'a = 2 = 3', False),
    (r'a = b \iff 1 = 2 \iff 1 = 1', False), (r'1 = 2 \iff a = b \implies 1 = 3', True), (r'a > b \implies 1 = 1 \iff 1 = 2', False),
    (r'a > b \iff b > a', False), (r'a < b \implies 1 = 2', True), (r'a > b \implies 1 = 2', False), (r'\mathbf{S} \succ 0', True),
    (r'\mathbf{x}\mathbf{x}^\top \succ 0', False), (r'\mathbf{x}\mathbf{x}^\top \succeq 0', True), (r'\mathbf{A} \succeq 0', False),
    (r'\mathbf{x} \in \mathbb{R}^2', True), (r'\mathbf{x} \in \mathbb{R}^3', False), (r'\mathbf{A} \in \mathbb{R}^{2 \times 2}', True),
    (r'a \in \mathbb{R}', True), (r'a \in [0, 2]', True), (r'a \in [0, 2)', False), (r'\mathbf{x} \in [-2, 1]^2', True), (r'\mathbf{x} \in [-2, 1)^2', False), (r'\mathbf{x} \in [-2, 1]^3', False),
    (r'a \in \{1, 3\}', False), (r'\mathbf{A} \sim (2, 2)', True),
    (r'\mathbf{x} = \mathbf{0}', False), (r'\mathbf{A} - \mathbf{A} = \mathbf{0}', True), (r'\mathbf{A}\mathbf{A}^{-1} = \mathbf{I}', True),
    (r'\arg\min_{q} (q - 1)^2 = 1', True), (r'\arg\min_{q} (q - 1)^2 = 1.001', False), (r'\arg\max_{q} (a q - q^2) = 1', True),
    (r'\arg\min_{\mathbf{r}} \|\mathbf{A}\mathbf{r} - \mathbf{x}\|^2 = \mathbf{A}^{-1}\mathbf{x}', True),
    (r'a \text{ is even}', True), (r'a + 1 \text{ is even}', False), (r'b \text{ is even} \iff a + b \text{ is even}', True),
    (r'\mathbf{y} \text{ is longer than } \mathbf{x} + \mathbf{x}', False), (r'\mathbf{y} \text{ is longer than } \mathbf{x}', True),
    (r'b, a \text{ is even} \implies a > 3', True), (r'n, a \text{ is even} \implies a > 3', False),
    (r'a > 1 \text{ and } b > 1 \implies a > 3', True), (r'a > 1 \text{ and } n > 1 \implies a > 3', False),
    (r'\mathbf{x}^\top\mathbf{y} \sim (1, 1)', True), (r'a \sim (2, 2)', False), (r'u_i \ge 1', None), (r'\mathbf{u} \ge 0', True), (r'\mathbf{v} > 0', False),
    (r'F_1 \cap F_2 = \emptyset', True), (r'F_1 \cap F_3 = \emptyset', False), (r'F_2 \cup F_1 = \{1, 2, 4, 5\}', True), (r'F_1 \cup F_3 = \{4\}', False),
    (r'F_1 \cap F_2 \subseteq F_3', True), (r'F_1 \subseteq F_2', False), (r'\{2, 1\} \subseteq \{1, \dots, n\}', True),
    (r'2 \notin F_1', True), (r'4 \notin F_1', False), (r'a \in E \cap L', True), (r'4 \in E \cap L', False), (r'4 \in E \cup L', True),
    (r'3 \in E \setminus L', False), (r'2 \in \partial\phi(a)', True), (r'3.1 \in \partial\phi(a)', False), (r'\partial\phi(a) = [1, 3]', True),
    (r'2 \in F_1 \cup F_2', True), (r'1 \in \arg\min_t t', True), (r'7 \in \arg\min_t t', False), (r'7 \in \arg\max_t (t - 1)(t - 7)', True),
    (r'\mathbf{x} \in \arg\max_{\mathbf{w}} \mathbf{x}^\top\mathbf{w}', True), (r'\mathbf{y} \in \arg\max_{\mathbf{w}} \mathbf{x}^\top\mathbf{w}', False), (r'2 \in F_2 \setminus F_2', False),
])
def test_statement(latex, want):
    if want is None:  # a counter that nothing binds: evaluating alone does not quantify
        with pytest.raises(FormulaError, match='no meaning was given for i'):
            value(latex)
    else:
        assert value(latex) is want


@pytest.mark.parametrize('latex', [
    r'\mathbf{x}\mathbf{y}', r'\mathbf{x} + 1', r'1 - \mathbf{x} \odot \mathbf{x}', r'\mathbf{A}\mathbf{x}^\top', r'\frac{1}{\mathbf{x}}',
    r'\sqrt{\mathbf{x}}', r'\mathbf{u} \times \mathbf{x}', r'\mathbf{x} = \mathbf{u}', r'\mathbf{A} + \mathbf{x}', r'|\mathbf{x}|',
    r'2^{\mathbf{x}}', r'\mathbf{x} \in [-2, 1]', r'\det \mathbf{u}', r'\mathbf{x} \odot \mathbf{u}', r'a = \mathbf{I}', r'\mathbf{x} \le \mathbf{u}',
])
def test_nothing_is_broadcast(latex):
    with pytest.raises(ShapeError):
        value(latex)


@pytest.mark.parametrize('latex, error', [
    (r'\mathbf{x} + \mathbf{z}', 'no meaning was given for z'), (r'a \le 3 \quad \text{by assumption}', 'words that cannot be run'),
    (r'a = 2 \text{ or } a = 3', 'words that cannot be run'), (r'\exists t \; t > a', 'there is'), (r'a \to 2', 'the relation to'),
    (r'\underbrace{a}_{2} = 2', 'below a brace'), (r'\begin{cases} 1 & \text{almost surely} \end{cases}', 'words in a case'),
    (r'\lim_{n \to \infty} 1 / n', 'limit at infinity'), (r'a \approx 2', 'how close'), (r'a \propto 2', 'with respect to what'),
    (r'\sum a', 'does not say over what'), (r'\nabla (a^2)', 'with respect to what'), (r'X = 1', 'stands outside an expectation'),
    (r'\frac{\partial^2 f(a)}{\partial a}', 'order 2 with respect to 1'), (r'\|\mathbf{A}\|', 'without its name'), (r'u_4', 'index 4 of 3'),
    (r'a \circledast b', 'left over'), (r'(a', 'expected'), (r'a^\dagger', 'mark dagger'), (r'\mathbf{w}_{\text{ridge}}', 'no meaning'),
    (r'a_{\text{old}}', 'subscript'), (r'\mathbf{A}_1', 'one index of a matrix'), (r'\mathbb{E}_b[X]', 'not random'), (r'\mathbb{E}_{Y \sim p}[Y]', 'other weights'),
    (r'A \in \mathbb{R}^\top', 'a mark that is no size'),
    (r'\min_{q} q', 'on the border'), (r'\min_{\mathbf{r}} \mathbf{x}^\top\mathbf{r}', 'inside its box'), (r'q + 1', 'outside of one'),
    (r'\operatorname{tr}(\mathbf{A}, \mathbf{B})', 'of several things'), (r'\exp(a, b)', 'of several things'),
    (r'a \cup F_1', 'no set of numbers'), (r'\sum_{(s, i, j) \in P} s', 'no lists of 3'), (r'a \text{ is odd}', 'words that cannot be run'), (r'a \text{ is even } \text{or odd}', 'words that cannot be run'), (r'a \subset b', 'subset'),
    (r'X \mid Y', 'left over'), (r'\Pr[X]', 'no statement'), (r'\mathbb{E}[X \mid Z]', 'stands outside'), (r'[a]_1^2', 'which letter'),
    (r'\operatorname{Cov}(X, Y, Y)', 'several things'), (r'\|f\|', 'no array'),
    (r'\mathcal{Q}(a, b)', 'no meaning was given for Q'),
    (r'u_3 \cdots u_1', 'do not lead from 3 to 1'), (r'1 + 2 + 4 + \dots + 8', 'before the dots do not follow'),
    (r'1 + \dots + 6 + 8', r'do not lead'), (r'u_1 + v_2 + \dots + u_3', 'what the dots leave out'), (r'u_1 + \dots + v_3', 'leave out'),
    (r'1 + \dots + 5 + 6 + 8', 'behind the dots do not follow'), (r'u_1 + \dots', 'where the dots end'), (r'u_1 - u_2 + \dots + u_3', 'sign'),
    (r'(u_1 + a) \cdots (u_3 - a)', 'leave out'), (r'\begin{bmatrix} u_1 \\ u_3 \\ \vdots \\ u_2 \end{bmatrix}', 'do not lead from 1 to 2'),
    (r'\sqrt{\mathbf{A}}', 'not symmetric'), (r'[\mathbf{x}]_\times', 'outside space'), (r"b'", 'with a prime'), (r'f(a', 'expected'), (r'\sin^2 a', 'behind the brackets'), (r'\mathbf{x} \perp \mathbf{y}', 'the relation perp'), (r'a \mp b', 'left over'),
])
def test_what_cannot_be_run_is_refused(latex, error):
    with pytest.raises(FormulaError, match=error):
        value(latex)


# formulas that are put together by chance, with values that are computed beside them

numbers = st.sampled_from([('a', 2.0), ('b', -3.0), ('n', 4.0), ('3', 3.0), (r'\mathbf{x}^\top\mathbf{y}', x @ y), (r'm_{12}', 2.0)])
columns = st.sampled_from([(r'\mathbf{x}', x[:, None]), (r'\mathbf{y}', y[:, None])])
squares = st.sampled_from([(r'\mathbf{A}', A), (r'\mathbf{B}', B), (r'\mathbf{S}', S)])


def combined(parts, *others):
    """Formulas made of smaller ones of the same shape, `others` being strategies for numbers to multiply with."""
    sums = st.tuples(parts, st.sampled_from('+-'), parts).map(
        lambda t: (f'{t[0][0]} {t[1]} ({t[2][0]})', t[0][1] + t[2][1] if t[1] == '+' else t[0][1] - t[2][1]))
    scaled = [st.tuples(o, parts).map(lambda t: (f'({t[0][0]}) ({t[1][0]})', t[0][1] * t[1][1])) for o in others]
    return st.one_of(sums, *scaled)


scalars_ = st.recursive(numbers, lambda p: st.one_of(
    combined(p, p), st.tuples(p, p).map(lambda t: (rf'\frac{{{t[0][0]}}}{{1 + ({t[1][0]})^2}}', t[0][1] / (1 + t[1][1] ** 2))),
    p.map(lambda t: (rf'\cos({t[0]})', math.cos(t[1])))), max_leaves=5)
matrices_ = st.recursive(squares, lambda p: st.one_of(
    combined(p, numbers), p.map(lambda t: (rf'({t[0]})^\top', t[1].T)),
    st.tuples(p, p).map(lambda t: (rf'({t[0][0]}) ({t[1][0]})', t[0][1] @ t[1][1]))), max_leaves=4)
vectors_ = st.recursive(columns, lambda p: st.one_of(
    combined(p, numbers), st.tuples(matrices_, p).map(lambda t: (f'({t[0][0]}) ({t[1][0]})', t[0][1] @ t[1][1]))), max_leaves=4)
quadratic = st.tuples(vectors_, matrices_, vectors_).map(
    lambda t: (rf'({t[0][0]})^\top ({t[1][0]}) ({t[2][0]})', (t[0][1].T @ t[1][1] @ t[2][1])[0, 0]))


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.one_of(scalars_, matrices_, vectors_, quadratic))
def test_composed_formulas_have_the_value_of_their_parts(pair):
    latex, want = pair
    got = value(latex)
    assert np.shape(got) == np.shape(want)
    assert np.allclose(got, want, rtol=1e-9, atol=1e-9)


# the displays of the book


def test_the_text_of_a_side_is_read_as_that_side():
    """Formula to tree to formula: what stands at a node's place is read as the same node, over all displays of the book."""
    sides = 0
    for label, latex in displays().items():
        try:
            parts = parse(latex)
        except FormulaError:
            continue
        for part in parts:
            for side in children(part.node) if part.node.op == 'relation' else ():
                text = latex[side.start:side.end]
                if side.end > side.start and not re.search(r'&|\\\\|\\text', text):
                    (again,) = parse(text)
                    assert form(again.node) == form(side), (label, text)
                    sides += 1
    assert sides > 500


# whole displays


@pytest.mark.parametrize('latex, meanings', [
    (r'(\mathbf{A}\mathbf{B})^\top = \mathbf{B}^\top\mathbf{A}^\top', dict(A=matrices(2, 3), B=matrices(3, 2))),
    (r'(a + b)^2 = a^2 + 2 a b + b^2', dict(a=scalars(), b=scalars())),
    (r'\sum_{i=1}^{n} i = \frac{n (n + 1)}{2}', dict(n=integers(2, 9))),
    (r'\operatorname{Var}[X] = \mathbb{E}[X^2] - (\mathbb{E}[X])^2', dict(X=LETTERS['X'])),
    (r'P(A \mid B) = \frac{P(B \mid A) P(A)}{P(B)}',
     dict(A=[frozenset({1, 2})], B=[frozenset({2, 3, 4})], P=lambda a, b=frozenset(range(6)): len(a & b) / len(b))),
    (r'\frac{\partial l}{\partial x_i} = 2 x_i', dict(x=vectors(3), l=of(lambda x: x @ x))),
    (r'(\mathbf{a} \times \mathbf{b}) \cdot (\mathbf{c} \times \mathbf{d}) = (\mathbf{a}\cdot\mathbf{c})(\mathbf{b}\cdot\mathbf{d}) - '
     r'(\mathbf{a}\cdot\mathbf{d})(\mathbf{b}\cdot\mathbf{c})', dict(zip('abcd', [vectors(3)] * 4, strict=True))),
    (r'x_{t+1} = x_t + a \quad \text{for all } t = 1, \dots, 3', dict(x=[[2., 5., 8., 11.]], a=3.0)),
])
def test_true_prints_hold_and_all_their_slips_fall(latex, meanings):
    report = run(latex, search, **meanings)
    assert report.counterexample is None
    assert report.rejected and not report.spoilt['survived'], report.spoilt['survived']


def test_the_variance_of_a_row_is_a_matrix():
    ends = Random([np.array([0., 0]), np.array([2., 0])])  # as a row and as a column; the variances of the entries add to 1
    for q in (r'\mathbf{q}', r'\mathbf{q}^\top'):
        assert run(rf'\operatorname{{Var}}({q}) = \mathbf{{C}}', search, q=ends, C=np.diag([1., 0])).counterexample is None
        with pytest.raises(ShapeError):
            run(rf'\operatorname{{Var}}({q}) = 1', search, q=ends)


def test_a_false_print_is_refuted_by_a_small_case():
    report = run(r'\|\mathbf{x}\|_p = \Big(\sum_i x_i^p\Big)^{1/p}', search, x=vectors(3), p=[1, 3])
    assert report.counterexample['p'] == 1 and np.array_equal(np.sort(report.counterexample['x']), [-1, 0, 0])


def test_a_false_print_in_which_nothing_is_drawn_is_refuted():
    assert run('a = 2', search, a=2.0).counterexample is None
    assert run('a = 3', search, a=2.0).counterexample == {}
    with pytest.raises(AssertionError, match='fails as printed'):
        check('false', 'a = 3', search, a=2.0)


def test_a_definition_is_used_and_not_claimed():
    report = run(r'c^2 = a^2 + b^2, \qquad c = \sqrt{a^2 + b^2}', search, a=scalars(), b=scalars())
    assert report.statements == 1 and not report.spoilt['survived']
    with pytest.raises(Unfinished, match='only definitions'):
        run(r'p = a^2', search, a=scalars())


@pytest.mark.parametrize('latex, meanings, error', [
    (r'\sqrt{a^2} = a \quad \text{for all } a \ge 0', dict(a=scalars(-5, -1)), 'no case meets the conditions'),
    (r'a = a \quad \text{for all nice } a', dict(a=scalars()), 'words that cannot be run'),
    (r'a = a \quad \text{for all } \epsilon', dict(a=scalars()), 'a condition that cannot be run'),
    (r'a = a, \quad b', dict(a=scalars(), b=1.0), 'no statement'),
])
def test_conditions_are_not_passed_over(latex, meanings, error):
    with pytest.raises(ValueError, match=error):
        run(latex, search, **meanings)


SEVERAL = dict(a=integers(-5, 5), b=integers(-5, 5))


@pytest.mark.parametrize('latex, meanings, true', [
    # conditions: of cases, of counters, of what is said of several letters
    (r'\sqrt{a^2} = a', dict(a=scalars()), False), (r'\sqrt{a^2} = a \quad \text{for all } a \ge 0', dict(a=scalars()), True),
    (r'\sqrt{a^2} = a \qquad (a \ge 0)', SEVERAL, True), (r'\sqrt{a^2} = a \qquad (a \ge -3)', SEVERAL, False),
    (r'a + b \ge 2 \quad \text{for all } a, b \in C', SEVERAL | dict(C=lambda t: t >= 1), True),
    (r'a - b \ge 0 \quad \text{for all } b \in C', SEVERAL | dict(C=lambda t: t >= 1), False),
    (r'a - b \ge 0 \quad \text{for all } b \in C \text{ and all } a \in D', SEVERAL | dict(C=lambda t: 1 <= t <= 2, D=lambda t: t >= 2), True),
    (r'm_{ij} = 0 \quad (i < j)', dict(m=[np.array([[1., 0.], [3., 5.]])]), True),
    (r'm_{ij} = 0 \quad (i \ne j)', dict(m=[np.array([[1., 0.], [3., 5.]])]), False),
    (r'y_k = 0 \quad (k \ne j)', dict(y=[np.eye(3)[0], np.eye(3)[2]], j=[1]), False),
    (r'y_j = 1, \qquad y_k = 0 \quad (k \ne j)', dict(y=[np.eye(3)[1]], j=[2]), True),
    (r'x_k > 0 \quad (k = 2, 3)', dict(x=[np.array([-1., 1., 2., -1.])]), True),
    (r'x_k > 0 \quad (k = 2, 3, 4)', dict(x=[np.array([-1., 1., 2., -1.])]), False),
    (r'|a| = a \quad (0 \le a \le 1)', dict(a=[-1., 0.5]), True),
    # two signs: both of them, or one where they stand on one side
    (r'(a \pm b)^2 = a^2 \pm 2 a b + b^2', SEVERAL, True), (r'a \pm b = a + b + 0 (\pm 1)', SEVERAL, False),
    (r'|a| = \pm a', SEVERAL, True), (r'|a| = \pm b', SEVERAL, False),
    # scripts, updates, probabilities
    (r'x^{(t-1)} < x^{(t+1)}', dict(x_t_minus_1=[1.0], x_t_1=[2.0]), True),
    (r'x_{t+1} < x_{t-1}', dict(x_t_minus_1=[1.0], x_t_1=[2.0]), False),
    (r'y_n - \hat{y}_n^{(-n)} = 2', dict(y=[np.array([5., 6.])], y_hat_n_minus_n=[3.0], n=1), True),
    (r'x_n \leftarrow x_n + n', dict(x=[np.array([5., 6.])], x_new=np.array([6., 8.])), True),
    (r'x_n \leftarrow x_n + 1', dict(x=[np.array([5., 6.])], x_new=np.array([6., 8.])), False),
    (r'\mathbf{x} \leftarrow 2 \mathbf{x}', dict(x=[np.array([5., 6.])], x_new=np.array([10., 12.])), True),
    (r'P(X > 0) = \tfrac12', dict(X=LETTERS['X']), True),
    (r"\mathbb{E}[x' + x^* + x_{\text{new}} + x^{(1)}] = 2 + 3 + 4 + 5", dict(z=Random([0.0, 2.0]), **{
        f'x_{name}': of(scaled(k)) for name, k in (('prime', 2), ('star', 3), ('new', 4), ('1', 5))}), True),
    (r'P(X > 0 \mid X < 2) = \tfrac12', dict(X=LETTERS['X']), False),
    (r'\|f\|^2 = 16', dict(f=np.polynomial.Polynomial([0, 2]), inner=lambda f, g: f(2) * g(2)), True),
])
def test_print_is_true_or_not(latex, meanings, true):
    assert (run(latex, search, spoil=False, **meanings).counterexample is None) is true


def test_a_sum_of_functions_is_a_function():
    functions = dict(f=[np.cos, np.exp], g=[np.sin, np.square], is_even=lambda f: f(1.0) == f(-1.0))
    assert run(r'f, g \text{ is even} \implies f + g \text{ is even}', search, spoil=False, **functions).counterexample is None
    assert run(r'f \text{ is even} \implies f + g \text{ is even}', search, spoil=False, **functions).counterexample is not None
    with pytest.raises(FormulaError, match='cannot be added'):
        run(r'f + 1 \text{ is even}', search, **functions)


def test_a_condition_on_counters_chooses_their_values():
    upper = dict(R=matrices(3, 3).map(np.triu))
    for condition in (r'\quad \text{for all } i > j', r'\quad (i > j)'):
        assert run('r_{ij} = 0' + condition, search, **upper).counterexample is None
    assert run(r'r_{ij} = 0 \quad \text{for all } i \ge j', search, **upper).counterexample is not None
    with pytest.raises(ValueError, match='no case meets'):
        run(r'r_{ij} = 0 \quad \text{for all } i > j + 2', search, **upper)
    with pytest.raises(FormulaError, match='stands in no statement'):
        run(r'r_{ij} = 0 \quad \text{for all } i > j > l', search, **upper)
    every = r'x_1 \ge 0 \quad \text{for all } x_i \ge 0'  # a counter of the condition alone: all its values
    assert run(every, search, x=vectors(2, -2, 2)).counterexample is None


def test_an_entry_of_a_matrix_that_has_a_meaning_is_not_defined_by_an_equation():
    latex, factors = r'c_{ij} = \sum_k a_{ik} b_{kj}', dict(A=matrices(2, 2), B=matrices(2, 2))
    assert run(latex, search, C=of(lambda A, B: A @ B), **factors).counterexample is None
    assert run(latex, search, C=of(lambda A, B: B @ A), **factors).counterexample is not None
    counters = dict(i=range(1, 3), j=range(1, 3))
    assert run(latex, search, C=of(lambda A, B: B @ A), **factors, **counters).counterexample is not None
    assert run(r'c_{12} = a_{12}', search, C=of(lambda A: A.T), A=matrices(2, 2)).counterexample is not None


def test_a_norm_can_be_any():
    norms = dict(norm=lambda x: abs(x).sum(), norm_star=lambda x: abs(x).max())
    assert value(r'\|\mathbf{y}\|', **norms) == value(r'\|\mathbf{y}\|_1') == 3.5
    assert value(r'\|\mathbf{y}\|_*^2', **norms) == 9


def test_unknown_options_are_refused():
    with pytest.raises(TypeError, match='no such option: nearly'):
        run('a = a', search, a=scalars(), options={'nearly': 1})


# two copies of a statement

@pytest.mark.parametrize('display, entry, found', [
    (r'\mathbf{w} = \sum_{i=1}^n \mathbf{x}_i .', r'w := \textstyle\sum_i x_i', 'same'),
    (r'(\mathbf{A}\mathbf{B})^\top = \mathbf{B}^\top \mathbf{A}^\top', r'(\mathbf{AB})^{\mathsf{T}} = \mathbf{B}^T \mathbf{A}^{T}', 'same'),
    (r'\begin{aligned} a &\le b \\ &< c \end{aligned}', r'a \leq b < c', 'same'), (r'a \le b < c', r'a \le b', 'partly'),
    (r'a \le b', r'a \ge b', 'other'), (r'\mathbf{w} = \sum_{i=1}^n \mathbf{x}_i', r'w = \sum_{i=2}^n x_i', 'other'),
    (r'x_i = y_j', r'x_j = y_i', 'other'), (r'\mathbf{A}^\top = \mathbf{B}', r'\mathbf{A} = \mathbf{B}', 'other'),
    (r'a = b', r'\text{both are equal}', 'words'), (r'a = b \quad (a \circledast b)', r'a = b \text{ for all } a', 'same'),
])
def test_two_copies_are_compared_as_trees(display, entry, found):
    assert compared(display, entry) == found


# as a check


def test_an_inequality_needs_equality_or_a_slip():
    latex, letters = r'\|\mathbf{x} + \mathbf{y}\| \le \|\mathbf{x}\| + \|\mathbf{y}\|', dict(x=vectors(3), y=vectors(3))
    with pytest.raises(TypeError, match='an inequality needs equality'):
        check('triangle', latex, search, **letters)
    with pytest.raises(TypeError, match='an inequality needs equality'):  # what is only supposed does not count
        check('supposed', r'a = b \implies a \le b + 1', search, a=[1.0, 2.0], b=[1.0, 2.0])
    with pytest.raises(AssertionError, match='not equal in the case'):
        check('triangle', latex, search, equality=dict(x=np.array([1., 0, 0]), y=np.array([0., 1, 0])), **letters)
    report = check('triangle', latex, search, equality=dict(x=np.array([1., 2, 2]), y=np.array([2., 4, 4])), **letters)
    assert report.rejected and {text for _, text in report.spoilt['survived']} <= {
        r'\|\mathbf{x} - \mathbf{y}\| \le \|\mathbf{x}\| + \|\mathbf{y}\|', r'\|\mathbf{x} \| \le \|\mathbf{x}\| + \|\mathbf{y}\|'}
    with pytest.raises(AssertionError, match='was not rejected'):
        check('triangle', latex, search, slip=('takes the difference', latex.replace('+', '-', 1)), **letters)
    wrong = ('leaves out the second norm', latex.replace(r' + \|\mathbf{y}\|', ''))
    with pytest.raises(AssertionError, match=r'\(sign flipped: \+ \\mathbf\{y\} → - \\mathbf\{y\}\)'):  # true as well, and tighter in some cases
        check('triangle', latex, search, slip=wrong, **letters)
    letters |= dict(alike={r'sign flipped: + \mathbf{y} → - \mathbf{y}': 'a negative is as long', r'term dropped: + \mathbf{y}': 'it is shorter'})
    check('triangle', latex, search, slip=wrong, **letters)
    with pytest.raises(AssertionError, match="slip 'says the same' was not rejected"):
        check('triangle', latex, search, slip=[wrong, ('says the same', latex)], **letters)


# A relation that is turned round passes where the cases know equality alone.
@pytest.mark.parametrize('latex, letters', [
    (r'|a| \ge a', dict(a=scalars(0, 9))), (r'|a| \ge a \ge -|a|', dict(a=scalars(0, 9))),
    (r'a^2 \ge a \quad \text{for all } a \ge 1', dict(a=[1.0, 1.0])),
    (r'\Pr[X \ge b] \ge 1 / 2', dict(X=Random([0., 1.]), b=[1.0])),
])
def test_each_relation_turned_round_is_rejected(latex, letters):
    with pytest.raises(AssertionError, match='hold turned round as well'):
        check('one way', latex, search, slip=('forgets the other one', '1 = 2'), **letters)


def test_a_case_of_equality_among_ones_hides_exponents():
    latex, letters = r'a b \le \frac{a^2 + b^2}{2}', dict(a=scalars(), b=scalars())
    with pytest.raises(AssertionError, match='spoilt prints hold as well'):
        check('means', latex, search, equality=dict(a=0.0, b=0.0), **letters)
    check('means', latex, search, equality=dict(a=3.0, b=3.0), **letters)


# A bound of 2 in place of 1 is true as well; the case in which the bound is reached gives it away, beside an equation, too.
def test_each_inequality_is_sharp_in_a_case_of_equality():
    letters, latex = dict(a=[1.0, -1.0, 0.5]), r'|a| = \sqrt{a^2}, \quad a \le |a| \le 1'
    check('bound', latex, search, equality=dict(a=1.0), also_true=2, **letters)
    with pytest.raises(AssertionError, match='not equal in the case .* 2'):
        check('bound', latex.replace('1', '2'), search, equality=dict(a=1.0), also_true=2, **letters)
    check('bound', latex, search, equality=[dict(a=0.5), dict(a=-1.0)], also_true=2, **letters)
    with pytest.raises(AssertionError, match='not equal in the case'):
        check('bound', latex, search, equality=dict(a=-1.0), also_true=2, **letters)


def test_strict_cases_reject_a_turned_relation():
    slip = ('forgets the other one', '1 = 2')
    check('bars', r'|a| \ge a \ge -|a|', search, slip=slip, a=scalars(-9, 9), alike={'bars dropped: |a|': 'a is not above a'})
    check('from one on', r'a^2 \ge a \quad \text{for all } a \ge 1', search, slip=slip, a=[-2.0, 0.5, 1.0, 3.0],
          alike={'exponent dropped: a^2': 'a is not below a'})
    check('half', r'\Pr[X \ge b] \ge 1 / 2', search, slip=slip, X=Random([0., 1.]), b=[1.0, 0.0, -1.0])
    check('pairs', r'2 \sum_{i < j} u_i u_j = (\sum_i u_i)^2 - \sum_i u_i^2', search, u=vectors(3),
          alike={'inequality reversed: < → >': 'each pair is counted once'})


def test_a_counter_on_the_right_alone_is_an_error():
    with pytest.raises(FormulaError, match='the counter j stands on the right side alone'):
        run(r'\sum_i x_i = x_j', search, x=[np.array([0., 0.])])
    for latex in (r'\sum_i x_i = x_j \quad \text{for all } j \le 2', r'x_j = \sum_i x_i', r'\sum_i x_i \ge x_j'):
        assert run(latex, search, x=[np.array([0., 0.])]).counterexample is None


def test_a_sum_without_its_counter_is_an_error():
    with pytest.raises(FormulaError, match='sum over j, which does not stand behind it'):
        run(r'\sum_{j=1}^2 x_i = 2 x_i', search, x=[np.array([0., 0.])])


@pytest.mark.parametrize('latex, letters, error', [
    (r'a > 9 \implies a = 2', dict(a=[1.0, 2.0]), 'before the arrow'),  # nothing is ever supposed
    (r'a = b \iff a^2 = b^2', dict(a=[1.0], b=[1.0]), 'both sides of an equivalence are false'),
    (r'a = b \implies 2 a = 2 b', dict(a=[1.0, 2.0], b=[1.0, 2.0]), 'hold turned round as well'),  # it is an equivalence
    (r'a > 0 \implies |a| = a', dict(a=[1.0, 0.0, -1.0], alike={'bars dropped: |a|': 'it is positive'}), None),
    (r'a > 1 \iff 3 a > a + 2', dict(a=[1.9, 7.0, 0.2]), 'spoilt prints hold as well'),  # no case is near the border
    (r'a > 1 \iff 3 a > a + 2', dict(a=[1.01, 7.0, 0.99, -1.0, 1.5]), None),
])
def test_implications_are_tried(latex, letters, error):
    if error:
        with pytest.raises(AssertionError, match=error):
            check('arrow', latex, search, **letters)
    else:
        assert check('arrow', latex, search, **letters).rejected


def test_each_slip_that_no_case_tells_is_named():
    latex, letters = '|a| + 3 b |a| = a + 3 a b', dict(a=[0.5, 2.0], b=[1.5, 3.0])
    first, second = {'bars dropped: |a|': 'it is positive'}, {'bars dropped: |a| (2)': 'it is positive'}
    check('bars', latex, search, alike=first | second, **letters)
    for named in ({}, first, second):
        with pytest.raises(AssertionError, match=r'no case tells .* \(bars dropped: \|a\|'):
            check('bars', latex, search, alike=named, **letters)
    with pytest.raises(AssertionError, match='noticed, or not made: number changed: 3 → 4'):
        check('bars', latex, search, alike=first | second | {'number changed: 3 → 4': 'it is not the same'}, **letters)
    with pytest.raises(AssertionError, match='no case tells'):  # b is 0 in all cases
        check('bars', latex, search, alike=first | second, a=[0.5, 2.0], b=[0.0])
    check('zero', r'a - a = 0', search, a=[0.5])  # that 0 and -0 are the same need not be said


def test_stronger_inequalities_are_rejected_or_named():
    latex, slip, letters = r'x^2 \le 4 b^2', ('forgets the square', r'x^2 \le b'), dict(b=[2.0, 5.0], share=[-1.8, 1.0])
    at = of(lambda b, share: share * b)
    report = check('bound', latex, search, slip=slip, x=at, **letters)
    weaker, stronger = r'x^2 \le 5 b^2', r'x^2 \le 4 b'
    assert ('number changed', weaker) in report.spoilt['survived'] and report.follows(weaker)
    assert ('exponent dropped', stronger) in report.spoilt['false']
    with pytest.raises(AssertionError, match=r'\(factor dropped: 4\)'):  # no case comes near to the bound
        check('bound', latex, search, slip=slip, x=at, **letters | dict(share=[-0.9, 0.8]))


def test_a_spoilt_conclusion_that_is_true_does_not_say_the_same():
    latex, spoilt = r'a > 1 \implies a \ge 1', ('number changed', r'a > 1 \implies a \ge 2')
    assert spoilt in run(latex, search, a=[3.0, 0.5]).spoilt['survived']
    assert spoilt in run(latex, search, a=[3.0, 0.5, 1.5]).spoilt['false']


def test_what_is_computed_from_given_letters_is_computed_once_a_case():
    calls = []
    report = run('c = 2 a', lambda test, drawn: (next((v for v in drawn['a'] if not test(a=v)), None), 2),
                 a=[1.0, 2.0], c=of(lambda a: calls.append(a) or 2 * a))
    assert report.rejected > 2 and calls[:2] == [1, 2] and len(calls) <= 3  # and once to see which letters are alike


def test_what_hangs_on_a_definition_is_computed_anew_for_each_print():
    scope = Scope({'a': 1.0}, {'c': of(lambda b: b + 1), 'd': of(lambda a: a + 1)}, {'b': lambda scope: 5.0})
    assert (scope.get('c'), scope.get('d'), scope.known()) == (6, 2, {'d': 2})


def test_a_spoilt_print_that_holds_is_reported():
    with pytest.raises(AssertionError, match='hold as well'):
        check('definition alone', r'c + 1 = 1 + c, \qquad c = 2 a', search, a=scalars())


@pytest.mark.parametrize('latex', [r'a^2 + b^2 = (a + b)^2', r'a \ge b'])
def test_a_false_print_fails(latex):
    with pytest.raises(AssertionError, match='fails as printed'):
        check('false', latex, search, equality=dict(a=1.0, b=1.0), a=scalars(), b=scalars())


def test_displays_are_found_by_label():
    assert display('la.cross.binet-cauchy').count(r'\times') == 2
    with pytest.raises(KeyError, match=':label: la.cross.nothing'):
        display('la.cross.nothing')


def test_holds_without_a_test_runs_the_display(capsys):
    holds('la.cross.binet-cauchy', a=vectors(3), b=vectors(3), c=vectors(3), d=vectors(3))
    said = re.fullmatch(
        r'✓ la\.cross\.binet-cauchy: as printed, \d+ cases; (\d+) of \1 spoilt variants rejected; would notice: (.+?): (.+)\n',
        capsys.readouterr().out)
    assert said[2] == 'sign flipped' and run(said[3], search, **{name: vectors(3) for name in 'abcd'}).counterexample


def test_a_named_slip_is_what_a_line_shows(capsys):
    slip = (r'adds where it subtracts', display('la.cross.binet-cauchy').replace(' - ', ' + '))
    holds('la.cross.binet-cauchy', slip=slip, **{name: vectors(3) for name in 'abcd'})
    assert '; would notice: adds where it subtracts: ' in capsys.readouterr().out


def test_the_most_telling_slip_is_shown():
    slips = [('letter replaced', 'a'), ('minus added', 'b'), ('sign flipped', 'c'), ('sign flipped', 'd')]
    assert telling(slips) == ('sign flipped', 'c') and telling(slips[:2]) == ('minus added', 'b') and telling(slips[:1]) == slips[0]


def test_erratum_runs_what_the_notes_print(capsys):
    erratum('dl.norms.lp', x=vectors(3), p=[1, 2, 3, 7])
    said = capsys.readouterr().out
    assert '✗ dl.norms.lp as printed in the notes fails at x = [' in said and '✓ dl.norms.lp as corrected holds as printed' in said


def test_no_print_is_rejected_for_a_fault_of_ours(monkeypatch):
    """An error in the middle of this package is no verdict on a spoilt print, as one of numpy's is."""
    doubled = {'x': scalars(), 'y': of(lambda x: x + x)}
    assert run('y = x + x', search, **doubled).rejected
    monkeypatch.setattr(running, '_agree', None)
    with pytest.raises(TypeError, match='not callable'):
        run('y = x + x', search, **doubled)
