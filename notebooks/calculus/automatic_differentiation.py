# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Automatic differentiation
#
# - **Question.** A program computes a number. How can we get the derivatives of that number, exact to the last digits and
#   for thousands of inputs at once, without writing down a formula for them?
# - **You need** [The chain rule](chain_rule.ipynb) with its two accumulations, [Jacobians](jacobians.ipynb), and
#   broadcasting from [Tensors and shapes](../linear_algebra/tensors.ipynb).
# - **You build** dual numbers, a reverse-mode engine for tensors in about a hundred lines, products with Jacobians and
#   Hessians, and a network that learns real digits with it.
# - **Time** 10 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import mpmath
import numpy as np
import torch

from nbutils.cases import scalars, seeds, vectors
from nbutils.checks import below, between, close, grade, verify
from nbutils.data import digits
from nbutils.figures import GREY, label_lines, panels
from nbutils.timing import seconds

torch.set_default_dtype(torch.float64)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Forward mode with dual numbers
#
# We extend the real numbers by a symbol $\varepsilon \ne 0$ with $\varepsilon^2 = 0$, in the same way as complex numbers
# extend them by $i$ with $i^2 = -1$. A *dual number* $a + b\varepsilon$ has a value $a$ and a slope $b$. Multiply out and
# drop $\varepsilon^2$:
#
# ```{math}
# :label: autodiff-dual-product
# (a + b\varepsilon)(c + d\varepsilon) = ac + (bc + ad)\,\varepsilon .
# ```
#
# The slope of the product is given by the product rule. By the binomial theorem
# $(a + b\varepsilon)^k = a^k + k a^{k-1} b\,\varepsilon$, so $p(a + b\varepsilon) = p(a) + p'(a)\,b\,\varepsilon$ for every
# polynomial $p$. For any other differentiable function we *define*
#
# ```{math}
# :label: autodiff-dual
# f(a + b\varepsilon) = f(a) + f'(a)\, b\, \varepsilon .
# ```
#
# The definition is consistent, because it respects composition. Apply $g$ to the right side: $g(f(a)) +
# g'(f(a))\,f'(a)\,b\,\varepsilon$. By the chain rule that is {eq}`autodiff-dual` for $g \circ f$. So it is enough to
# give this rule for the few functions that programs are made of; a program composed of them is differentiated when it is
# *run* on dual numbers. Here are the sum and the product, entry by entry for arrays, and the matrix product, to which
# {eq}`autodiff-dual-product` applies because each entry is a sum of products.

# %%
class Dual:  # value + slope eps, both of one shape
    __array_ufunc__ = None  # an array on the left leaves the work to us

    def __init__(self, value, slope=0.0):
        self.value = np.asarray(value, float)
        self.slope = np.broadcast_to(slope, self.value.shape)

    def __add__(x, y):
        y = y if isinstance(y, Dual) else Dual(y)
        return Dual(x.value + y.value, x.slope + y.slope)

    def __mul__(x, y, times=np.multiply):
        y = y if isinstance(y, Dual) else Dual(y)
        return Dual(times(x.value, y.value),
                    times(x.slope, y.value) + times(x.value, y.slope))

    __matmul__ = lambda x, y: x.__mul__(y, np.matmul)
    __rmatmul__ = lambda x, y: Dual(y) @ x
    __radd__, __rmul__ = __add__, __mul__
    __neg__ = lambda x: x * -1.0
    __sub__ = lambda x, y: x + -1.0 * y
    __rsub__ = lambda x, y: -x + y
    __truediv__ = lambda x, y: x * y ** -1.0
    __rtruediv__ = lambda x, y: x ** -1.0 * y

# %% [markdown]
# Everything else is a table with one line a function, a direct transcription of {eq}`autodiff-dual`. Summation is
# linear, so the slope of a sum is the sum of the slopes.

# %%
def dual_rule(f, derivative):
    return lambda x, *k: Dual(f(x.value, *k),
                              derivative(x.value, *k) * x.slope)

Dual.__pow__ = dual_rule(np.power, lambda a, k: k * a ** (k - 1))
Dual.exp = dual_rule(np.exp, np.exp)
Dual.log = dual_rule(np.log, lambda a: 1 / a)
Dual.sin = dual_rule(np.sin, np.cos)
Dual.relu = dual_rule(lambda a: np.maximum(a, 0), lambda a: a > 0)
Dual.sum = lambda x, *axis: Dual(x.value.sum(*axis), x.slope.sum(*axis))

def jvp(f, x, v):  # f(x) and J(x) v
    y = f(Dual(x, v))
    return y.value, y.slope

# %% [markdown]
# For a vector $\mathbf{x}$ with slopes $\mathbf{v}$ the result carries $\mathbf{J}_f(\mathbf{x})\,\mathbf{v}$, a
# *Jacobian-vector product* (jvp), the derivative in the direction $\mathbf{v}$. This is the forward accumulation of [The
# chain rule](chain_rule.ipynb): one direction in, all outputs out, nothing stored. Nothing is normalized: twice the
# direction gives twice the slope. Because our methods have the names that torch uses, the same program runs on both, and we
# can compare with torch's own forward mode:

# %%
def two_layers(x, W_1, W_2):  # (3,) -> (4,), of dual numbers or of torch
    hidden = (W_1 @ x + 0.3).relu()
    return (W_2 @ hidden).exp() / ((hidden**2.0).sum() + 2.0).log()

rng = np.random.default_rng(0)
arrays = [rng.normal(size=n) for n in ((5, 3), (4, 5), 3, 3)]
W_1, W_2, x, v = arrays
print(jvp(lambda x: two_layers(x, W_1, W_2), x, v)[1].round(4), 'dual numbers')
A, B, x, v = map(torch.tensor, arrays)
_, slopes = torch.func.jvp(lambda x: two_layers(x, A, B), (x,), (v,))
print(slopes.numpy().round(4), 'torch')

# %% [markdown]
# One call differentiates at all points of a grid at once: an array of values, an array of ones as slopes.

# %%
grid = np.linspace(0, 2 * np.pi, 400)
sine, slope = jvp(lambda x: x.sin(), grid, 1.0)
wave, wave_slope = jvp(lambda x: (x.sin() * 2.0).exp() / 4.0, grid, 1.0)
print('slope of the sine, less the cosine:',
      below(slope - np.cos(grid), 1e-15))

# %% mystnb={"image": {"alt": "Left: the sine and its derivative from dual numbers, which is the cosine. Right: a wave with sharp crests, the exponential of twice the sine, with its derivative, zero where the wave is highest and lowest."}} tags=["hide-input"]
fig, axes = panels(2, height=2.5)
titles = ('sin x', 'exp(2 sin x) / 4')
pairs = ((sine, slope), (wave, wave_slope))
for ax, title, (value, tangent) in zip(axes, titles, pairs, strict=True):
    ax.axhline(0, color=GREY, lw=0.6)
    ax.plot(grid, value, label='value')
    ax.plot(grid, tangent, label='slope')
    ax.set(title=title, xlabel='x', xticks=[0, np.pi, 2 * np.pi],
           xticklabels=['0', 'π', '2π'])
axes[0].legend(loc='lower left');

# %% [markdown] tags=["caption"]
# One run of a program on dual numbers gives its values and its exact slopes at all points of a grid, without a formula for
# its derivative.

# %% [markdown]
# ```{exercise} ★ A rule for the logistic function
# :label: autodiff-sigmoid
# Write `sigmoid_rule(a, b)`: the value and the slope of $\sigma(a + b\varepsilon)$, where $\sigma(a) = 1 / (1 +
# e^{-a})$. It must also be right at $a = -800$, where $e^{-a}$ overflows.
# ```

# %%
def sigmoid_rule(a, b):  # numbers -> (value, slope)
    raise NotImplementedError('your turn')

# %%
def sigmoid_by_torch(a, b):
    a, b = torch.tensor(a), torch.tensor(b)
    return torch.stack(torch.func.jvp(torch.sigmoid, (a,), (b,)))

points = [(0.0, 1.0), (1.5, -2.0), (-3.0, 0.5), (-800.0, 1.0), (40.0, 1.0)]
grade(sigmoid_rule, sigmoid_by_torch, points)

# %% [markdown]
# ```{solution-start} autodiff-sigmoid
# :class: dropdown
# ```
# $\sigma' = e^{-a}/(1 + e^{-a})^2 = \sigma(1 - \sigma)$. Since $\sigma(a) = e^{a}/(1 + e^{a})$ too, one may choose
# the form whose exponential is at most one. The mistake shown forgets to multiply by the incoming slope $b$.

# %% jupyter={"source_hidden": true}
def sigmoid_rule_solution(a, b):
    t = np.exp(-abs(a))
    value = (1 if a >= 0 else t) / (1 + t)
    return value, value * (1 - value) * b

def without_incoming_slope(a, b):
    value, _ = sigmoid_rule_solution(a, b)
    return value, value * (1 - value)

assert grade(sigmoid_rule_solution, sigmoid_by_torch, points)
assert not grade(without_incoming_slope, sigmoid_by_torch, points)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def pushed_as_by_torch(seed, length):
    rng = np.random.default_rng(seed)
    W_1, W_2 = rng.normal(size=(5, 3)), rng.normal(size=(4, 5))
    x, v = rng.normal(size=(2, 3))
    ours = jvp(lambda x: two_layers(x, W_1, W_2), x, v)
    A, B, *point = map(torch.tensor, (W_1, W_2, x, v))
    theirs = torch.func.jvp(
        lambda x: two_layers(x, A, B), *[(t,) for t in point]
    )
    return close(ours[0], theirs[0], atol=1e-10, rtol=1e-10) and close(
        ours[1] / length(v), theirs[1], atol=1e-10, rtol=1e-10
    )

verify(
    'dual numbers give torch.func.jvp to 1e-10',
    lambda seed: pushed_as_by_torch(seed, lambda v: 1),
    slip=(
        'divides the slope by the length of v',
        lambda seed: pushed_as_by_torch(seed, np.linalg.norm),
    ),
    seed=seeds(),
    tries=50,
)

# %% [markdown]
# ## Finite differences lose digits, dual numbers do not
#
# This section continues [Forward mode with dual numbers](#forward-mode-with-dual-numbers).
# Why not change the input a little and divide? Taylor's theorem, for $f$ three times continuously differentiable, gives
#
# ```{math}
# :label: autodiff-central
# \frac{f(x + h) - f(x - h)}{2h} = f'(x) + \frac{h^2}{6} f'''(\xi), \qquad |\xi - x| \le h ,
# ```
#
# so a small $h$ seems best. For $f = e^{2 \sin x}$ at $x = 0.5$, a tenth of the step makes the error a hundredth:

# %%
def f_array(x):
    return np.exp(2 * np.sin(x))

slope_at = 2 * np.cos(0.5) * f_array(0.5)
for h in (0.1, 0.01, 0.001):
    error = (f_array(0.5 + h) - f_array(0.5 - h)) / (2 * h) - slope_at
    print(f'h = {h}: error {error:.3e}')

# %% [markdown]
# But each computed value of $f$ is off by about $u\,|f|$, with $u = 2^{-53} \approx
# 10^{-16}$ in double precision, and the division by $2h$ magnifies it. For the sum of truncation and rounding error
#
# $$E(h) \approx \frac{h^2}{6}\,|f'''| + \frac{u\,|f|}{h}, \qquad E'(h) = 0 \iff h = \Big(\frac{3u\,|f|}{|f'''|}\Big)^{1/3} ,$$
#
# which is about $10^{-5}$ where $f$ and $f'''$ are of size one, with an error of order $u^{2/3}$. *A
# third of the digits is lost even with the best step.* One-sided differences, whose truncation error is of order $h$,
# do worse: best $h \approx u^{1/2}$, and half of the digits are lost. Dual numbers have no $h$. Their error is that
# of a few roundings, which a reference in double precision would share, so the one below has thirty digits.

# %%
def f(x):  # any kind of number with sin and exp
    return (x.sin() * 2.0).exp()

x = np.linspace(0.5, 1.2, 2001)
with mpmath.workdps(30):
    exact = np.array([
        2 * mpmath.cos(t) * mpmath.exp(2 * mpmath.sin(t)) for t in x])
steps = 10.0 ** np.arange(-15, 0.1, 0.5)

def typical_error(estimate):  # root mean square, relative
    with mpmath.workdps(30):
        return float(np.mean((estimate / exact - 1) ** 2)) ** 0.5

def g(x):  # 14 decimals: the digits after them depend on the machine
    return np.round(f_array(x), 14)

central = [typical_error((g(x + h) - g(x - h)) / (2 * h)) for h in steps]
one_sided = [typical_error((g(x + h) - g(x)) / h) for h in steps]
dual = typical_error(jvp(f, x, 1.0)[1])
assert 1e-12 < min(central) < 1e-9 < min(one_sided) < 1e-7
assert 3.2e-17 < dual < 3.1e-16  # the decade of 1e-16
best, best_one = steps[np.argmin(central)], steps[np.argmin(one_sided)]
print(f'best step: central {best:.1e}, one-sided {best_one:.1e}')
print('dual numbers err by about', f'{10.0 ** round(np.log10(dual)):.0e}')

# %% mystnb={"image": {"alt": "Relative error against the step on logarithmic axes. One-sided and central differences each make a V: the error falls with the step until rounding takes over, the one-sided ones above 1e-9, the central ones below it. A horizontal line for dual numbers lies below both, near 1e-16."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3.4))
ax.loglog(steps, one_sided, 'o-', color='C1', ms=3)
ax.loglog(steps, central, 'o-', color='C0', ms=3)
ax.axhline(10.0 ** round(np.log10(dual)), color='C2')
ax.text(1e-1, 3e-1, 'one-sided', color='C1', ha='right')
ax.text(4e-4, 1e-9, 'central', color='C0')
ax.text(1e-15, 2.5e-16, 'dual numbers: a rounding or two, without a step',
        color='C2')
ax.set(xlabel='step h', ylabel='relative error', ylim=(2e-17, 20));

# %% [markdown] tags=["caption"]
# The best central difference keeps about ten digits, the best one-sided difference fewer than eight; dual numbers need no
# step and lose only a rounding or two.

# %% [markdown]
# Three harder functions show the limits of the two methods.
#
# 1. **A large constant.** Add $10^{8}$ to $\sin x$. The derivative is the same, but the rounding error $u\,|f|/h$ grows
#    about $10^8$-fold. To a dual number the constant has slope 0, and nothing is lost.
# 2. **Low precision.** In float32, $u = 2^{-24}$, and the same balance leaves a central difference an
#    error of order $u^{2/3} \approx 10^{-5}$.
# 3. **A cancellation in the program itself.** $c(x) = (1 - \cos x)/x^2$ tends to $\tfrac12$ and its derivative to $0$
#    as $x \to 0$. At $x = 10^{-8}$ the computed cosine is exactly 1, so the *value* comes out as 0, and the slope
#    $\sin x/x^2 - 2(1 - \cos x)/x^3$ as $10^8$. Automatic differentiation applies exact rules to inexact numbers: it
#    cures the errors of differencing, not those of the program.

# %%
def relative_error(derivative):  # of sin, median over x
    return np.median(abs(derivative / np.cos(x) - 1))

def differences(f, x, steps):
    return [(f(x + h) - f(x - h)) / (2 * h) for h in steps.astype(x.dtype)]

raised = differences(lambda x: np.sin(x) + 1e8, x, steps)
raised_dual = jvp(lambda x: x.sin() + 1e8, x, 1.0)[1]
single = differences(np.sin, x.astype(np.float32), steps)
value, slope = jvp(  # cos x as sin(x + pi/2)
    lambda x: (1.0 - (x + np.pi / 2).sin()) / x ** 2.0, 1e-8, 1.0)

print('plus 1e8: the best difference errs by',
      between(min(map(relative_error, raised)), 1e-7, 1e-5))
print('  dual numbers err by', below(relative_error(raised_dual), 1e-15))
print('float32:  the best difference errs by',
      between(min(map(relative_error, single)), 1e-6, 1e-4))
print(f'(1 - cos x) / x² at 1e-8: value {value:.1f}, slope',
      between(abs(slope), 1e7, 1e9))

# %% [markdown]
# ```{exercise} ★★ The complex step: a slope without a difference
# :label: autodiff-complex-step
# Let $f$ be real on the real line and analytic. Expand $f(x + ih)$ and find a formula for $f'(x)$ with an error of
# order $h^2$ *in which nothing is subtracted*, so that $h = 10^{-100}$ does no harm. Write `complex_step(f, x)`.
# ```

# %%
def complex_step(f, x):
    raise NotImplementedError('your turn')

# %%
class Analytic:  # a function with a name and a known derivative
    def __init__(self, name, f, derivative):
        self.name, self.f, self.derivative = name, f, derivative

    def __call__(self, x):
        return self.f(x)

    def __repr__(self):
        return self.name

wavy = Analytic('exp(2 sin x)', f_array,
                lambda x: 2 * np.cos(x) * f_array(x))
cube = Analytic('x³ + 1e8', lambda x: x ** 3 + 1e8, lambda x: 3 * x ** 2)
questions = [(wavy, 0.7), (wavy, 2.0), (cube, 0.3), (cube, -2.0)]
grade(complex_step, lambda f, x: f.derivative(x), questions,
      atol=0, rtol=1e-14)

# %% [markdown]
# ```{solution-start} autodiff-complex-step
# :class: dropdown
# ```
# $f(x + ih) = f(x) + ih f'(x) - \tfrac{h^2}{2} f''(x) - \dots$, and the derivatives are real, so $\operatorname{Im}
# f(x + ih)/h = f'(x) - \tfrac{h^2}{6} f'''(x) + \dots$ {cite}`squire1998using`. With $h = 10^{-100}$ the second term
# is below every rounding error: $ih$ behaves as $\varepsilon$, since $(ih)^2$ is far too small to be seen beside 1.
# The best real difference misses the tolerance.

# %% jupyter={"source_hidden": true}
def complex_step_solution(f, x):
    return f(x + 1e-100j).imag / 1e-100

def central_difference(f, x):
    return (f(x + 1e-5) - f(x - 1e-5)) / 2e-5

truth = lambda f, x: f.derivative(x)
assert grade(complex_step_solution, truth, questions, atol=0, rtol=1e-14)
assert not grade(central_difference, truth, questions, atol=0, rtol=1e-14)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def error_and_term(x, h):  # of the central difference; h² f‴
    s, c, value = np.sin(x), np.cos(x), f_array(x)
    third = (8 * c**3 - 12 * s * c - 2 * c) * value
    quotient = (f_array(x + h) - f_array(x - h)) / (2 * h)
    return quotient - 2 * c * value, h**2 * third

def errs_by(share, x):
    error, term = error_and_term(x, 1e-3)
    return close(error, term * share, atol=1e-11, rtol=0)

verify(
    'a central difference errs by h² f‴ / 6',
    lambda x: errs_by(1 / 6, x),
    slip=('divides by 2 in place of 6', lambda x: errs_by(1 / 2, x)),
    x=scalars(-3, 3),
)

# %% [markdown]
# ## Reverse mode with a tape that runs backwards
#
# Dual numbers need one run for each input. A loss has one output and thousands of inputs, so we want the reverse
# accumulation: one sweep from the output back to *all* inputs. Write the program as a list of assignments $v_k =
# \varphi_k(v_1, \dots, v_{k-1})$, the *tape*; most $\varphi_k$ use one or two of their arguments, and inputs have
# none. Let the result be the last, $v_K$, a number. What is "the derivative of the result by $v_k$" when later
# entries depend on $v_k$ too? Cut the tape behind entry $k$. Take $v_1, \dots, v_k$ as free variables and compute the
# rest from them; call the result $F_k(v_1, \dots, v_k)$. Then the *adjoint* of $v_k$ is $\bar v_k = \partial F_k /
# \partial v_k$. For an input, this is the partial derivative of the program.
#
# ```{prf:theorem} Reverse mode
# :label: thm-reverse-mode
# Let every $\varphi_k$ be differentiable at the values that occur. Then $\bar v_K = 1$, and for $i < K$
#
# $$\bar v_i = \sum_{k > i} \bar v_k\, \frac{\partial \varphi_k}{\partial v_i} ,$$
#
# where only those $k$ count whose $\varphi_k$ uses $v_i$. So if the tape is read backwards and each entry adds $\bar
# v_k\, \partial\varphi_k/\partial v_i$ to the adjoints of its arguments, every adjoint is complete when its turn
# comes.
# ```
#
# ```{prf:proof}
# :class: dropdown
# $F_K = v_K$, so $\bar v_K = 1$. Cutting one entry earlier means putting $\varphi_k$ in the place of $v_k$:
# $F_{k-1}(v_1, \dots, v_{k-1}) = F_k\big(v_1, \dots, v_{k-1}, \varphi_k(v_1, \dots, v_{k-1})\big)$. All these functions are
# differentiable, and the chain rule {eq}`dl.chain.sum` gives
#
# $$\frac{\partial F_{k-1}}{\partial v_i} = \frac{\partial F_k}{\partial v_i} + \bar v_k\, \frac{\partial \varphi_k}{\partial v_i}
# \qquad (i < k) .$$
#
# Start from $\partial F_K/\partial v_i = 0$ and add these up for $k = K, K - 1, \dots, i + 1$. The left side is then
# $\partial F_i/\partial v_i = \bar v_i$.
# ```
#
# The algorithm follows this proof: it goes through the tape and treats the latest entry first. For tensors, an operation
# $\mathbf{v} = \varphi(\mathbf{a})$ adds $\mathbf{J}_\varphi^\top \bar{\mathbf{v}}$ to $\bar{\mathbf{a}}$, a
# *vector-Jacobian product* (vjp), and the Jacobian need never be formed. To find $\mathbf{J}^\top$, use an inner product: it
# is the map with $\langle \mathbf{g}, \mathbf{J}\,d\mathbf{a}\rangle = \langle \mathbf{J}^\top\mathbf{g},
# d\mathbf{a}\rangle$ for all $d\mathbf{a}$.
#
# | operation | differential | rule for the adjoint $\mathbf{g}$ of the result |
# |---|---|---|
# | $\mathbf{a} \odot \mathbf{b}$ | $d\mathbf{a} \odot \mathbf{b} + \mathbf{a} \odot d\mathbf{b}$ | $\mathbf{g} \odot \mathbf{b}$ and $\mathbf{g} \odot \mathbf{a}$ |
# | $\mathbf{A}\mathbf{B}$ | $d\mathbf{A}\,\mathbf{B} + \mathbf{A}\,d\mathbf{B}$ | $\mathbf{G}\mathbf{B}^\top$ and $\mathbf{A}^\top\mathbf{G}$ |
# | stretching an axis (broadcasting) | copies | sum over the copies |
# | sum over an axis | sum | copy along it |
# | picking entries by an index | picks | add back into zeros at the index |
# | $\exp \mathbf{a}$ | $e^{\mathbf{a}} \odot d\mathbf{a}$ | $\mathbf{g} \odot e^{\mathbf{a}}$ |
#
# The second line: $\langle \mathbf{G}, d\mathbf{A}\,\mathbf{B}\rangle = \operatorname{tr}(\mathbf{G}^\top
# d\mathbf{A}\,\mathbf{B}) = \operatorname{tr}(\mathbf{B}\mathbf{G}^\top d\mathbf{A}) = \langle
# \mathbf{G}\mathbf{B}^\top, d\mathbf{A}\rangle$, because a trace may be turned cyclically. The third: $\sum_i g_i\,a =
# (\sum_i g_i)\,a$. The fourth is the third read the other way, for the transpose of a transpose is the map itself,
# and the fifth holds because $\sum_j g_j\, a_{i_j}$ contains $a_k$ with the factor $\sum_{j : i_j = k} g_j$: an entry
# picked twice collects twice.
#
# Notice that the rules use only operations of the table, transposes, and the putting back, whose own rule is picking. So we
# write them *in tensors*, not in arrays: then the backward sweep can be taped as well, and differentiated again. A tensor
# stores its data, whether its derivative is needed, which tensors it was made of, with one rule for each, and its number
# on the tape.

# %%
class Tensor:
    __array_ufunc__ = None  # an array on the left leaves the work to us
    recording, count = True, 0

    def __init__(self, data, needs=False, parents=(), rules=()):
        self.data, self.needs = np.asarray(data, float), needs
        self.parents, self.rules, self.grad = parents, rules, None
        Tensor.count += 1
        self.place, self.shape = Tensor.count, self.data.shape

    detach = lambda a: Tensor(a.data)
    __add__ = __radd__ = lambda a, b: add(a, b)
    __mul__ = __rmul__ = lambda a, b: mul(a, b)
    __matmul__ = lambda a, b: matmul(a, lift(b))
    __rmatmul__ = lambda a, b: matmul(lift(b), a)
    __neg__ = lambda a: a * -1.0
    __sub__ = lambda a, b: a + -1.0 * lift(b)
    __rsub__ = lambda a, b: -a + b
    __truediv__ = lambda a, b: a * lift(b) ** -1.0
    __rtruediv__ = lambda a, b: a ** -1.0 * b
    __pow__ = lambda a, k: power(a, k)
    __getitem__ = lambda a, index: pick(a, index)

# %% [markdown]
# Every operation ends in `result`, which writes on the tape only if some argument needs a derivative. The elementwise
# operations come first. `power` has a constant exponent, and `relu` multiplies by a constant mask, which at 0 says 0.

# %%
def lift(a):
    return a if isinstance(a, Tensor) else Tensor(a)

def result(data, parents, *rules):
    if Tensor.recording and any(p.needs for p in parents):
        return Tensor(data, True, parents, rules)
    return Tensor(data)

def add(a, b):
    a, b = lift(a), lift(b)
    return result(a.data + b.data, (a, b),
                  lambda g: fit(g, a.shape), lambda g: fit(g, b.shape))

def mul(a, b):
    a, b = lift(a), lift(b)
    return result(a.data * b.data, (a, b), lambda g: fit(g * b, a.shape),
                  lambda g: fit(g * a, b.shape))

def power(a, k):
    return result(a.data ** k, (a,), lambda g: g * (k * a ** (k - 1)))

# %%
def exp(a):
    out = result(np.exp(a.data), (a,), lambda g: g * out)
    return out

def log(a):
    return result(np.log(a.data), (a,), lambda g: g / a)

def relu(a):
    mask = (a.data > 0).astype(float)
    return result(a.data * mask, (a,), lambda g: g * mask)

Tensor.exp, Tensor.log, Tensor.relu = exp, log, relu

# %% [markdown]
# Now those that move or merge axes, in pairs of transposes: summing and stretching, picking and putting back. `fit` undoes
# broadcasting. It sums over axes that were put in front and over axes of length one that were stretched.

# %%
def total(a, axis=None, keepdims=False):
    kept = a.data.sum(axis, keepdims=True).shape
    return result(a.data.sum(axis, keepdims=keepdims), (a,),
                  lambda g: stretch(reshape(g, kept), a.shape))

def stretch(a, shape):
    return result(np.broadcast_to(a.data, shape), (a,),
                  lambda g: fit(g, a.shape))

def fit(g, shape):
    if g.shape == shape:
        return g
    extra = len(g.shape) - len(shape)
    if extra:
        g = total(g, tuple(range(extra)))
    axes = tuple(i for i, n in enumerate(shape) if n < g.shape[i])
    return total(g, axes, keepdims=True) if axes else g

def reshape(a, shape):
    return result(a.data.reshape(shape), (a,),
                  lambda g: reshape(g, a.shape))

Tensor.sum, Tensor.reshape = total, reshape

# %%
def pick(a, index):
    return result(a.data[index], (a,), lambda g: put(g, index, a.shape))

def put(g, index, shape):
    data = np.zeros(shape)
    np.add.at(data, index, g.data)  # repeated indices add up
    return result(data, (g,), lambda h: h[index])

def swap(a):  # (..., m, n) -> (..., n, m)
    return result(a.data.swapaxes(-1, -2), (a,), swap)

def matmul(a, b):
    if len(b.shape) == 1:
        return matmul(a, b[:, None])[..., 0]
    if len(a.shape) == 1:
        return matmul(a[None, :], b)[..., 0, :]
    return result(a.data @ b.data, (a, b),
                  lambda g: fit(g @ swap(b), a.shape),
                  lambda g: fit(swap(a) @ g, b.shape))

# %% [markdown]
# The main function, `adjoints`, does what {prf:ref}`thm-reverse-mode` says. `tape` collects what the result depends
# on and sorts it, last assignment first: a tensor is numbered when it is made, so arguments always have smaller
# numbers than results. `adjoints` goes through it backwards. Unless `again` is set, the sweep itself is not taped.
# `backward` finally *adds* the adjoints to the field `grad` of the leaves, those tensors that nothing was computed into.

# %%
def tape(out):
    found, todo = {out}, [out]
    while todo:
        new = {p for p in todo.pop().parents if p.needs} - found
        found |= new
        todo += new
    return sorted(found, key=lambda t: -t.place)

def adjoints(out, seed=1.0, again=False):  # {tensor: its adjoint}
    bar, Tensor.recording = {out: lift(seed)}, again
    try:
        for t in tape(out):
            for p, rule in zip(t.parents, t.rules, strict=True):
                if p.needs:
                    g = rule(bar[t])
                    bar[p] = bar[p] + g if p in bar else g
    finally:
        Tensor.recording = True
    return bar

def backward(out, seed=1.0):
    for t, g in adjoints(out, seed).items():
        if not t.parents:
            t.grad = g.data if t.grad is None else t.grad + g.data

# %% [markdown]
# That is a complete engine. Softmax needs no rule of its own, being composed of taped operations. The largest score is
# subtracted as a *constant*, which is right since $\operatorname{softmax}$ does not depend on a common shift, and so
# neither does its derivative. Without this step the exponential of a score of 1000 would overflow:

# %%
def log_softmax(a):  # over the last axis
    a = a - a.data.max(-1, keepdims=True)
    return a - a.exp().sum(-1, True).log()

def softmax(a):
    return log_softmax(a).exp()

scores = Tensor([1000.0, 1001.0, 999.0])
print(softmax(scores).data.round(3))

# %% [markdown]
# Here is one neuron with one example and its squared error, in scalars: $\mathcal{L} = (u\,\sigma(u) - t)^2$ with $u = wx +
# b$ and $\sigma(u) = 1/(1 + e^{-u})$. The product $u\,\sigma(u)$ is the activation called swish. We give names to some
# steps; the tape contains what was made of what, so we can draw the graph from it.

# %%
w, x, b = (Tensor(v, needs=True) for v in (2.0, 0.5, -0.6))
wx = w * x
u = wx + b
e = (-u).exp()
s = 1.0 / (1.0 + e)
y = u * s
r = y - 1.0
loss = r ** 2.0
bar = adjoints(loss)
nodes = {'w': w, 'x': x, 'b': b, 'w x': wx, 'u': u, 'exp(-u)': e,
         'σ(u)': s, 'y': y, 'y - 1': r, 'loss': loss}
names = {t: name for name, t in nodes.items()}

def made_of(t):  # the named tensors next to it, through nameless ones
    for p in t.parents:
        if p.needs:
            yield from [names[p]] if p in names else made_of(p)

edges = [(start, end) for end, t in nodes.items() for start in made_of(t)]
print(len(tape(loss)), 'tensors on the tape,', len(edges), 'edges')
for t in (w, u, y):
    print(f'value {t.data:6.3f}   adjoint {bar[t].data:6.3f}')

# %% mystnb={"image": {"alt": "A graph from left to right: w and x make w x, which with b makes u. From u one edge goes straight to y, another through the exponential and the sigmoid. From y the path leads on to the loss. Each node shows its name, its value and its adjoint."}} tags=["hide-input"]
at = {'w': (0, 2), 'x': (0, 1), 'b': (0, 0), 'w x': (1, 1.5), 'u': (2, 1),
      'exp(-u)': (3, 2), 'σ(u)': (4, 2), 'y': (5, 1),
      'y - 1': (6.05, 1), 'loss': (7, 1)}
fig, ax = plt.subplots(figsize=(6.2, 3.1))
for start, end in edges:
    shrink = 20 if at[start][1] == at[end][1] else 26
    ax.annotate('', at[end], at[start], arrowprops=dict(
        arrowstyle='-|>', color=GREY, lw=1, shrinkA=shrink, shrinkB=shrink))
for name, (i, j) in at.items():
    t = nodes[name]
    ax.text(i, j + 0.25, name, ha='center', va='center', size=8)
    ax.text(i, j, f'{t.data:.3f}', ha='center', va='center', color='C0')
    ax.text(i, j - 0.25, f'{bar[t].data:.3f}', ha='center', va='center',
            color='C1')
ax.text(3.0, 0.1, 'value', color='C0')
ax.text(3.8, 0.1, 'adjoint', color='C1')
ax.set(xlim=(-0.45, 7.35), ylim=(-0.5, 2.5))
ax.axis('off');

# %% [markdown] tags=["caption"]
# The adjoint of a node is the derivative of the loss by its value. The value $u$ is used twice, so two messages from the
# right add up to its adjoint, $-1.057$.

# %% [markdown]
# Here $t = 1$, and $y = u\,\sigma(u)$. The value of $u$ is used twice, so two messages arrive at it from the right,
# one through $\sigma$ and one directly, and they are added. This is the sum of the multivariate chain rule.
#
# The next programs use every operation and every way in which shapes may be combined. We run each with the engine and with
# torch, and compare the gradients with respect to `a`.

# %%
index = np.array([2, 0, 2])  # one row is picked twice
programs = {
    'broadcasting': lambda a, b: a * b[0] + b[:, :1] - 2.0 / (b ** 2.0 + 1.0),
    'row and column': lambda a, b: (a[0] + b[:, 1].reshape((3, 1))) * a,
    'reductions': lambda a, b: a.sum(0) * b.sum(1, True) + a.sum(),
    'matrix times matrix': lambda a, b: a @ b[:, :2] @ (b[:2] @ a),
    'matrix times vector': lambda a, b: a @ b[1] + b[2] @ a,
    'dot product': lambda a, b: a[0] @ b[0],
    'batch of products': lambda a, b: a.reshape((3, 1, 3)) @ b,
    'repeated indices': lambda a, b: a[index] * b[index] ** 2.0,
    'exp and log': lambda a, b: (a.exp() + (b ** 2.0 + 1.0).log()).log(),
    'relu': lambda a, b: (a @ b).relu() * b.relu(),
}

# %%
for name, program in programs.items():
    arrays = np.random.default_rng(4).normal(size=(2, 3, 3))
    a, b = (Tensor(v, needs=True) for v in arrays)
    backward(program(a, b).sum())
    c, d = (torch.tensor(v, requires_grad=True) for v in arrays)
    program(c, d).sum().backward()
    print(f'{name:20} length of the gradient {np.linalg.norm(a.grad):.3f},'
          f' by torch {c.grad.norm():.3f}')

# %% [markdown]
# ```{exercise} ★★ The vector-Jacobian product of log-softmax
# :label: autodiff-log-softmax
# Composed of taped operations, `log_softmax` leaves six entries on the tape. Derive the vjp of $y_i = a_i - \log
# \sum_j e^{a_j}$ as a whole and write `log_softmax_vjp(a, g)` for arrays of shape `(n, q)`, each row on its own.
# ```

# %%
def log_softmax_vjp(a, g):  # (n, q), (n, q) -> (n, q)
    raise NotImplementedError('your turn')

# %%
def log_softmax_vjp_by_torch(a, g):
    a = torch.tensor(a, requires_grad=True)
    return torch.autograd.grad(a.log_softmax(-1), a, torch.tensor(g))[0]

rng = np.random.default_rng(2)
rows = [tuple(rng.normal(size=(2, 3, 5)) * scale) for scale in (1, 10, 1000)]
grade(log_softmax_vjp, log_softmax_vjp_by_torch, rows)

# %% [markdown]
# ```{solution-start} autodiff-log-softmax
# :class: dropdown
# ```
# $dy_i = da_i - \sum_j s_j\,da_j$ with $s_j = e^{a_j} / \sum_k e^{a_k}$. Hence $\sum_i g_i\,dy_i = \sum_j \big(g_j -
# s_j \sum_i g_i\big)\,da_j$, and the bracket is the answer. The mistake shown multiplies $s_j$ by its own $g_j$
# instead of the sum.

# %% jupyter={"source_hidden": true}
def stable_softmax(a):
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)

def log_softmax_vjp_solution(a, g):
    return g - stable_softmax(a) * g.sum(-1, keepdims=True)

def without_the_sum(a, g):
    return g - stable_softmax(a) * g

assert grade(log_softmax_vjp_solution, log_softmax_vjp_by_torch, rows)
assert not grade(without_the_sum, log_softmax_vjp_by_torch, rows)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def softmax_as_torch(shift, f):
    a = np.random.default_rng(1).normal(size=(4, 7))
    with np.errstate(over='ignore', invalid='ignore'):
        return close(f(Tensor(a + shift)).data, torch.tensor(a).softmax(-1))

verify(
    'softmax does not depend on a shift, however large',
    lambda shift: softmax_as_torch(shift, softmax),
    slip=(
        'does not subtract the largest score',
        lambda shift: softmax_as_torch(
            shift, lambda a: a.exp() / a.exp().sum(-1, True)
        ),
    ),
    shift=scalars(-1000, 1000),
)

def agrees_with_torch(program, seed):
    rng = np.random.default_rng(seed)
    arrays = rng.normal(size=(2, 3, 3))
    ours = [Tensor(v, needs=True) for v in arrays]
    theirs = [torch.tensor(v, requires_grad=True) for v in arrays]
    y, z = program(*ours), program(*theirs)
    weights = rng.normal(size=y.shape)  # the adjoint of the result
    backward((y * weights).sum())
    (z * torch.tensor(weights)).sum().backward()
    pairs = [(y.data, z), *zip([t.grad for t in ours],
                               [t.grad for t in theirs], strict=True)]
    return all(close(p, q, atol=1e-10, rtol=1e-10) for p, q in pairs)

def put_wrong(g, index, shape):
    data = np.zeros(shape)
    data[index] = g.data
    return result(data, (g,), lambda h: h[index])

def agrees_with_wrong_put(program, seed):
    global put
    put, right = put_wrong, put
    try:
        return agrees_with_torch(program, seed)
    finally:
        put = right

verify(
    'the engine gives the values and gradients of torch to 1e-10',
    lambda name, seed: agrees_with_torch(programs[name], seed),
    slip=(
        'overwrites where repeated indices must add',
        lambda name, seed: agrees_with_wrong_put(programs[name], seed),
    ),
    name=list(programs),
    seed=seeds(),
    tries=100,
)

# %% [markdown]
# ## Gradients accumulate, Hessian-vector products, detach and control flow
#
# This section continues [Reverse mode with a tape that runs backwards](#reverse-mode-with-a-tape-that-runs-backwards). We
# begin with a short example:
# $f(\mathbf{x}) = 2\,\mathbf{x}^\top\mathbf{x}$ has the gradient $4\mathbf{x}$, because $\sum_i 2x_i^2$ has the
# partial derivatives $4x_i$. If we call `backward` twice, the engine gives $8\mathbf{x}$:

# %%
x = Tensor(np.arange(4.0), needs=True)
backward(2.0 * (x @ x))
print('once: ', x.grad)
backward(2.0 * (x @ x))
print('twice:', x.grad)

# %% [markdown]
# This is intended. Adjoints are sums over all uses of $\mathbf{x}$, and a second use of $\mathbf{x}$ in a second
# program is one more term: gradients *accumulate*. This is useful when a large batch is processed in pieces, because the
# gradient of a sum is the sum of the gradients. Otherwise we must set `x.grad = None` before the next call. The last part of
# this page shows what happens in training if we forget it.
#
# **A result with many entries** has no gradient but a Jacobian. Backward from it needs a seed $\mathbf{g}$, one
# number for each entry, and gives $\mathbf{J}^\top\mathbf{g}$. With $\mathbf{g} = \mathbf{e}_i$ it is row $i$ of
# $\mathbf{J}$; with all ones it is the gradient of the sum. One row costs one sweep, one column one run with dual
# numbers. And since the sweep is made of taped operations, it can be differentiated too. The derivative of the number
# $\langle \nabla f(\mathbf{x}), \mathbf{v}\rangle$ by $\mathbf{x}$ is
#
# ```{math}
# :label: autodiff-hvp
# \begin{gathered}
# \nabla_{\mathbf{x}} \langle \nabla f(\mathbf{x}), \mathbf{v}\rangle = \mathbf{H}(\mathbf{x})\,\mathbf{v}, \\
# \text{that is,}\quad \frac{\partial}{\partial x_i} \sum_j \frac{\partial f}{\partial x_j}\, v_j = \sum_j \frac{\partial^2 f}{\partial x_i\,\partial x_j}\, v_j .
# \end{gathered}
# ```
#
# This *Hessian-vector product* costs a few sweeps, however many variables there are {cite}`pearlmutter1994fast`. The $n
# \times n$ Hessian, which for a network with a million weights would fill terabytes, never exists. (The vector
# $\mathbf{v}$ is held constant.)

# %%
def vjp(f, x, g):  # J(x)^T g
    x = Tensor(x, needs=True)
    return adjoints(f(x), g)[x].data

def hvp(f, x, v):  # H(x) v, for f with one number as result
    x = Tensor(x, needs=True)
    gradient = adjoints(f(x), again=True)[x]
    return adjoints((gradient * v).sum())[x].data

def outputs(A):  # a function (4,) -> (3,), of tensors here or of torch
    return lambda x: (A @ x).exp() / (1.0 + (x ** 2.0).sum())

def energy(A):
    return lambda x: (outputs(A)(x).log() ** 2.0).sum() + (x ** 3.0).sum()

# %%
rng = np.random.default_rng(0)
A, x, v = (rng.normal(size=n) for n in ((3, 4), 4, 4))
print(hvp(energy(A), x, v).round(3), 'two sweeps')
A, x, v = map(torch.tensor, (A, x, v))
print((torch.func.hessian(energy(A))(x) @ v).numpy().round(3), 'whole Hessian')

# %% [markdown]
# **Detach.** `detach` gives a new tensor with the same data and no parents, which is a constant for the sweep. With $y =
# x^2$ and $z = x \cdot y$ the derivative $3x^2$ has two parts, $y$ from the factor $x$ and $2x \cdot x$ through $y$.
# If we detach $y$, only $x^2$ is left. It is not the derivative of $z$, and this is the purpose: targets, running
# averages and the maximum inside our softmax are values that we use without differentiating through them.
#
# **Control flow.** The tape is written while the program runs, so it contains the steps of this run only. Loops
# are unrolled, and of a branch only the side that was taken is recorded. For example, take this function with a loop and a
# branch:

# %%
def stubborn(a):
    b, data = a * 2.0, float(a.data)
    while abs(float(b.data)) < 1000:
        b = b * 2.0
    return b if data > 0 else b * 100.0

def slope_of(f, a):
    a = Tensor(a, needs=True)
    return adjoints(f(a))[a].data

for a in (0.7, -3.0, 31.25):
    value = stubborn(Tensor(a)).data
    print(f'a = {a}: f(a) / a = {value / a:.0f},',
          f'slope {slope_of(stubborn, a):.0f}')

# %% [markdown]
# Whatever the input (except 0, for which the loop never ends), the output is $a$ times a constant $k$, a power of two and
# perhaps a hundred, which stays the same in a neighbourhood of almost every $a$. There $f(a) = ka$, and the slope is
# $k = f(a)/a$. At the exceptional points, such as $a = 31.25$ with $2^5 a = 1000$, the function *jumps*, no derivative
# exists, and the engine returns the slope of the branch that was taken. Automatic differentiation differentiates the
# run, not the function. If the two differ, there is no warning. For continuous functions put together from smooth
# pieces, as networks are, {cite:t}`bolte2020mathematical` prove that this happens only on a set of measure zero.
#
# ```{exercise} ★★★ A forward product from two reverse sweeps
# :label: autodiff-two-sweeps
# The engine only computes products with $\mathbf{J}^\top$. Use it to compute a *forward* product
# $\mathbf{J}(\mathbf{x})\,\mathbf{v}$, without dual numbers and without forming $\mathbf{J}$. Hint: how does
# $\mathbf{J}^\top\mathbf{g}$ depend on $\mathbf{g}$? Write `push(f, x, v)`.
# ```

# %%
def push(f, x, v):
    raise NotImplementedError('your turn')

# %%
def push_by_torch(f, x, v):
    return torch.func.jvp(f, (torch.tensor(x),), (torch.tensor(v),))[1]

def spiral(x):  # (2,) -> (3,)
    return x[[1, 0, 1]].exp() * (x ** 2.0).sum()

spots = np.random.default_rng(4).normal(size=(5, 2, 2))
cases = [(spiral, *spot) for spot in spots]
grade(push, push_by_torch, cases)

# %% [markdown]
# ```{solution-start} autodiff-two-sweeps
# :class: dropdown
# ```
# $\mathbf{g} \mapsto \mathbf{J}^\top\mathbf{g}$ is linear, and the number $\langle \mathbf{J}^\top\mathbf{g},
# \mathbf{v}\rangle = \langle \mathbf{g}, \mathbf{J}\mathbf{v}\rangle$ has the gradient $\mathbf{J}\mathbf{v}$ by
# $\mathbf{g}$. So make the seed a tensor that wants a derivative (any values will do), tape the first sweep, and run
# a second. The mistake asks for the derivative by $\mathbf{x}$: that is a second derivative.

# %% jupyter={"source_hidden": true}
def push_solution(f, x, v):
    x = Tensor(x, needs=True)
    y = f(x)
    g = Tensor(np.ones(y.shape), needs=True)
    pulled = adjoints(y, g, again=True)[x]
    return adjoints((pulled * v).sum())[g].data

def by_the_wrong_argument(f, x, v):
    return hvp(lambda x: f(x).sum(), x, v)

assert grade(push_solution, push_by_torch, cases)
assert not grade(by_the_wrong_argument, push_by_torch, cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def asked(times, v):
    x = Tensor(v, needs=True)
    for _ in range(times):
        backward(2.0 * (x @ x))
    return x.grad

verify(
    'gradients accumulate',
    lambda times, v: close(asked(times, v), times * 4 * v),
    slip=(
        'lets a second call replace the gradient',
        lambda times, v: close(asked(times, v), 4 * v),
    ),
    times=[1, 2, 5],
    v=vectors(3),
)

def by_quotient(f, x, v, h=1e-6):  # of gradients
    return (vjp(f, x + h * v, 1.0) - vjp(f, x - h * v, 1.0)) / (2 * h)

def case(seed):  # for a seed: A (3, 4), x (4,), v (4,), g (3,)
    rng = np.random.default_rng(seed)
    return [rng.normal(size=n) for n in ((3, 4), 4, 4, 3)]

def pulls_as_torch(seed, same_seed=True):
    A, x, _, g = case(seed)
    ours = vjp(outputs(A), x, g if same_seed else 0 * g + 1)
    A, x, g = map(torch.tensor, (A, x, g))
    theirs = torch.func.vjp(outputs(A), x)[1](g)[0]
    return close(ours, theirs, atol=1e-10, rtol=1e-10)

def curves_as_torch(seed, product):
    A, x, v, _ = case(seed)
    ours = product(energy(A), x, v)
    A, x, v = map(torch.tensor, (A, x, v))
    theirs = torch.func.hessian(energy(A))(x) @ v
    return close(ours, theirs, atol=1e-10, rtol=1e-10)

verify(
    'vjp as by torch.func.vjp',
    pulls_as_torch,
    slip=(
        'pulls with ones in place of the seed',
        lambda seed: pulls_as_torch(seed, False),
    ),
    seed=seeds(),
    tries=50,
)
verify(
    'Hessian times vector, exact',
    lambda seed: curves_as_torch(seed, hvp),
    tries=50,
    slip=(
        'takes a difference quotient of gradients',
        lambda seed: curves_as_torch(seed, by_quotient),
    ),
    seed=seeds(),
)

# %% tags=["checks"]
verify(
    'the program has the slope f(a) / a',
    lambda a: close(slope_of(stubborn, a), stubborn(Tensor(a)).data / a),
    slip=(
        'takes the branch of a positive input',
        lambda a: close(
            slope_of(stubborn, a), stubborn(Tensor(abs(a))).data / abs(a)
        ),
    ),
    a=scalars().filter(bool),
)
verify(
    'with x² detached, x · x² has the slope x²',
    lambda x: close(slope_of(lambda x: x * (x * x).detach(), x), x**2),
    slip=(
        'forgets to detach x²',
        lambda x: close(slope_of(lambda x: x * x * x, x), x**2),
    ),
    x=scalars(),
)

# %% [markdown]
# ## Where it matters: training a network on digits with our engine
#
# This section continues [Reverse mode with a tape that runs backwards](#reverse-mode-with-a-tape-that-runs-backwards). The
# 1797 handwritten digits have
# $8 \times 8$ pixels. We train two layers to classify them, with the mean *cross-entropy* of the true labels as loss:
#
# $$\mathbf{O} = \operatorname{relu}(\mathbf{X}\mathbf{W}_1 + \mathbf{b}_1)\,\mathbf{W}_2 + \mathbf{b}_2, \qquad
# \mathcal{L} = -\frac1n \sum_{i=1}^{n} \log \operatorname{softmax}(\mathbf{o}_i)_{y_i} .$$
#
# The program uses broadcasting for the biases, products, a mask, reductions, and an index that picks the label's entry of
# each row. It runs on our tensors and on those of torch, and we train with both.

# %%
def cross_entropy(x, y, params, log_softmax):  # x (n, 64), y (n,)
    W_1, b_1, W_2, b_2 = params
    scores = (x @ W_1 + b_1).relu() @ W_2 + b_2  # (n, 10)
    return -log_softmax(scores)[np.arange(len(y)), y].sum() / len(y)

def start(rng, hidden=32):
    return [rng.normal(size=(64, hidden)) * (2 / 64) ** 0.5,
            np.zeros(hidden),
            rng.normal(size=(hidden, 10)) * (2 / hidden) ** 0.5,
            np.zeros(10)]

def split(rng, test=397):
    x, y = digits()[:2]
    order = rng.permutation(len(x))
    return x[order[test:]], y[order[test:]], x[order[:test]], y[order[:test]]

def batches(n, epochs, rng, size=100):
    for _ in range(epochs):
        yield from rng.permutation(n).reshape(-1, size)

# %%
def train(seed, eta=0.3, epochs=25, zero=True):
    rng = np.random.default_rng(seed)
    x, y, x_test, y_test = split(rng)
    params = [Tensor(p, needs=True) for p in start(rng)]
    losses = []
    for batch in batches(len(x), epochs, rng):
        loss = cross_entropy(x[batch], y[batch], params, log_softmax)
        backward(loss)
        losses.append(float(loss.data))
        for p in params:
            p.data = p.data - eta * p.grad
            if zero:
                p.grad = None
    W_1, b_1, W_2, b_2 = (p.data for p in params)
    scores = np.maximum(x_test @ W_1 + b_1, 0) @ W_2 + b_2
    return params, losses, (scores.argmax(1) == y_test).mean()

# %%
def train_by_torch(seed, eta=0.3, epochs=25):
    rng = np.random.default_rng(seed)
    x, y, *_ = split(rng)
    params = [torch.tensor(p, requires_grad=True) for p in start(rng)]
    optimizer, losses = torch.optim.SGD(params, lr=eta), []
    for batch in batches(len(x), epochs, rng):
        loss = cross_entropy(torch.tensor(x[batch]), y[batch], params,
                             lambda a: a.log_softmax(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return params, losses

# %% [markdown]
# Five seeds, each with its own split, start and order. A classifier that always names the most frequent digit is right
# about one time in ten. The nearest class mean is a stronger reference.

# %%
def nearest_mean_accuracy(seed):
    x, y, x_test, y_test = split(np.random.default_rng(seed))
    means = np.stack([x[y == k].mean(0) for k in range(10)])  # (10, 64)
    gaps = ((x_test[:, None] - means) ** 2).sum(-1)  # (n, 10)
    return (gaps.argmin(1) == y_test).mean()

runs = [train(seed) for seed in range(5)]
reference, torch_losses = train_by_torch(0)
params, losses, _ = runs[0]
accuracy = np.array([run[2] for run in runs])
means = np.array([nearest_mean_accuracy(seed) for seed in range(5)])
assert close(losses, torch_losses, atol=1e-10, rtol=1e-10)
for p, q in zip(params, reference, strict=True):
    assert close(p.data, q, atol=1e-10, rtol=1e-10)
print(f'{len(losses)} steps; losses and weights equal torch to 1e-10')
print(f'test accuracy {accuracy.mean():.2f}, spread {np.ptp(accuracy):.3f};',
      f'nearest mean {means.mean():.2f}')
assert (accuracy > means + 0.03).all()

# %% [markdown]
# After hundreds of steps, our weights and those of torch agree to ten digits.
#
# :::{admonition} A tempting mistake
# :class: warning
# It is easy to forget `p.grad = None`, or `optimizer.zero_grad()`, in the training loop. There is no error message, but
# every step then uses the sum of all gradients so far.
# :::
#
# What happens if we forget it? Then step $t$ uses the sum of all gradients so
# far, and
#
# $$\mathbf{w}_{t+1} = \mathbf{w}_t - \eta \sum_{s \le t} \nabla\mathcal{L}_s(\mathbf{w}_s)
# \quad\Longrightarrow\quad \mathbf{w}_{t+1} - \mathbf{w}_t = (\mathbf{w}_t - \mathbf{w}_{t-1}) - \eta\, \nabla\mathcal{L}_t(\mathbf{w}_t) ,$$
#
# if we subtract the same line for $t - 1$. This is gradient descent with *momentum one*, like a ball that rolls without
# friction. For $\mathcal{L} = \tfrac{\lambda}{2} w^2$ this reads $w_{t+1} - (2 - \eta\lambda)\,w_t + w_{t-1} =
# 0$. The roots of $z^2 - (2 - \eta\lambda)\,z + 1$ have the product 1, and for $0 < \eta\lambda < 4$ they are a
# conjugate pair *on* the unit circle: $w_t$ oscillates and never converges, however small $\eta$ is. Here it is for the
# parabola and for the digits:

# %%
def never_zeroed(lam, eta, steps=1000):  # in the bowl, from w = 1
    w, path = Tensor(1.0, needs=True), [1.0]
    for _ in range(steps):
        backward(lam / 2 * w ** 2.0)
        w.data = w.data - eta * w.grad
        path.append(float(w.data))
    return np.array(path)

# %%
w = never_zeroed(1.0, 0.1)
print(f'bowl: the last swings are {abs(w[-40:]).max() / abs(w).max():.2f}',
      'times the largest')
forgotten = train(0, zero=False)[1]
gentle = train(0, eta=0.003, zero=False)[1]
epochs = np.reshape([losses, torch_losses, forgotten, gentle],
                    (4, 25, 14)).mean(2)  # mean loss of each epoch
ratio = epochs[2:, -1] / epochs[0, -1]
print('digits: the loss ends higher by a factor',
      f'{between(ratio[0], 10, 100)}; with a step 100 times smaller by one',
      between(ratio[1], 2, 4))

# %% mystnb={"image": {"alt": "Mean training loss of each epoch, logarithmic. With zeroing it falls smoothly, and dots from torch lie exactly on it. Without zeroing it soon climbs and stays far above; with a step a hundred times smaller it falls for a while and then wavers well above the zeroed run."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 3))
number = np.arange(1, 19)  # later the forgotten one hangs on rounding
for i, color, name in ((2, 'C1', 'forgotten'), (0, 'C0', 'zeroed'),
                       (3, 'C3', 'forgotten, step / 100')):
    ax.semilogy(number, epochs[i, :18], color=color, label=name)
ax.plot(number, epochs[1, :18], 'o', color='C2', ms=4)
ax.text(8, 0.11, 'dots: torch, zeroed', color='C2', ha='center')
ax.set(xlabel='epoch', ylabel='training loss', xticks=[1, 6, 12, 18])
label_lines(ax)

# %% [markdown] tags=["caption"]
# Gradients that are never zeroed act as momentum one: the loss soon climbs, and with a step 100 times smaller it stalls well
# above the zeroed run.

# %% [markdown]
# What does the gradient cost? 2410 weights are 2410 partial derivatives. {cite:t}`baur1983complexity` proved for programs
# made of $+$, $-$, $\times$, $\div$ that the function and all its derivatives together take at most five times the
# operations of the function alone, whatever the number of inputs: each operation of the tape causes a bounded number of
# operations in the sweep. Here the matrix products take most of the time. For one example the loss takes $64 \cdot 32 + 32
# \cdot 10 = 2368$ multiplications. The sweep needs as many again for the two weight matrices and $32 \cdot 10$ for the
# hidden layer: $2 \cdot 2368 + 32 \cdot 10 = 5056$ in all, little more than twice as many, apart from the bookkeeping.
# Central differences would evaluate the loss $2 \cdot 2410$ times.

# %%
x, y, *_ = split(np.random.default_rng(0))
n_weights = sum(p.data.size for p in params)
constants = [p.detach() for p in params]  # nothing is taped
value = lambda: cross_entropy(x, y, constants, log_softmax)
value_and_gradient = lambda: adjoints(
    cross_entropy(x, y, params, log_softmax))
once, both = seconds(value, value_and_gradient)
gain = 2 * n_weights * once / both
print(f'{n_weights} derivatives, more than 20 times faster than central',
      'differences:', gain > 20)
assert gain > 20 and n_weights == 2410

# %% tags=["checks"]
def rolls(lam, momentum):  # as torch.optim.SGD with momentum does
    w = torch.tensor(1.0, requires_grad=True)
    optimizer, path = torch.optim.SGD([w], 0.1, momentum), [1.0]
    for _ in range(50):
        optimizer.zero_grad()
        (lam / 2 * w**2).backward()
        optimizer.step()
        path.append(w.item())
    return close(never_zeroed(lam, 0.1, 50), path)

verify(
    'never zeroed is momentum one',
    lambda lam: rolls(lam, 1.0),
    tries=20,
    slip=('rolls with momentum 0.9', lambda lam: rolls(lam, 0.9)),
    lam=scalars(0.1, 4),
)

# %% [markdown]
# ## Summary
#
# Forward mode runs the program on numbers that carry a slope and gives one directional derivative for each run;
# reverse mode records the program on a tape and reads the tape backwards, and one sweep gives the derivatives of one number
# with respect to all inputs. Both apply exact rules to computed values, so they lose none of the digits that finite
# differences lose, but they differentiate the program as it ran, with its cancellations, its branches, its kinks and its
# detached parts. An engine of some hundred lines takes the same training steps as torch, and can differentiate its own
# derivatives.
#
# **Further reading.** Forward mode is due to {cite:t}`wengert1964simple`, reverse mode in its general form to
# {cite:t}`linnainmaa1976taylor`, and networks owe it to {cite:t}`rumelhart1986learning`.
# {cite:t}`griewank2008evaluating` is the standard work; {cite:t}`baydin2018automatic` survey the subject for machine
# learning.
