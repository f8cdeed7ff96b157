"""The graders: every kind of wrong answer is seen, and the reader is told what helps."""
import functools
import time

import numpy as np
import pytest
import torch

from nbutils import grading
from nbutils.cases import (
    counted,
    counts,
    distributions,
    integers,
    lists,
    masks,
    matrices,
    on,
    once,
    scalars,
    square_matrices,
    vectors,
)
from nbutils.checks import grade

SQUARES = [(1,), (-2,), (3,)]
ANY, LONG = scalars(), vectors(40)  # of one source the cases are drawn once


def stub(x):
    raise NotImplementedError('your turn')


def square(x):
    return x**2


def rounded(x, t):  # |x| with its corner rounded off
    return x**2 / (2 * t) if abs(x) <= t else abs(x) - t / 2


CORNERS = dict(x=lambda t: on(0, t, -t, t / 2) | scalars(), t=scalars(0.05, 4))


# ---- on cases that are listed ----

def test_listed_cases():
    assert repr(grade(lambda x: x * x, square, SQUARES)) == 'correct on 3 cases'
    wrong = grade(lambda x: x * abs(x), square, SQUARES)
    assert not wrong and repr(wrong) == 'not yet: for x = -2 it gives -4, expected 4' and wrong.case == (-2,)


@pytest.mark.parametrize('answer, message', [
    (stub, 'not attempted yet'),
    (lambda x: None, 'not yet: for x = 1 it gives None, expected 1: is a return missing?'),
    (lambda x: [x, x], 'not yet: for x = 1 it gives an array of shape (2,), expected a number: 1'),
    (lambda x: 'one', "not yet: for x = 1 it gives 'one', expected a number: 1"),
    (lambda: 1, 'not yet: for 1 it raises TypeError: <lambda>() takes 0 positional arguments but 1 was given'),
    (lambda x: np.nan, 'not yet: for x = 1 it gives nan, expected 1'),
    (lambda *x: 2, 'not yet: for 1 it gives 2, expected 1'),
    (lambda x: x**2 + 1e-4, 'not yet: for x = 1 it gives 1.0001, expected 1'),
    (lambda x: x**2 * (1 + 2e-6), 'not yet: for x = 1 it gives 1.000002, expected 1'),
])
def test_what_is_wrong_is_told(answer, message):
    verdict = grade(answer, square, SQUARES)
    assert not verdict and repr(verdict) == message


def test_an_answer_cannot_spoil_the_cases():
    def spoil(x):
        x[:] = 0
        return 2

    ones = np.ones(2)
    assert repr(grade(spoil, np.sum, x=[ones])) == 'not yet: for x = [1, 1] it changes its argument x: work on a copy'
    assert grade(spoil, np.sum, [(ones,)]) and ones.sum() == 2


def test_an_answer_may_change_what_the_truth_changes():
    def double(x):
        x *= 2
        return x

    assert grade(double.__call__, double, x=vectors(3))


@pytest.mark.parametrize('given, error, message', [
    (([],), ValueError, 'at least one case'), ((), ValueError, 'at least one case'),
    (dict(x=3), TypeError, 'x=3: give a strategy'), (dict(x=[]), TypeError, r'x=\[\]: give a strategy'),
    (dict(x=ANY.filter(lambda x: x > 99), tries=8), ValueError, 'no case satisfies the filters on x'),
    (dict(x=lambda y: scalars(), y=lambda x: scalars()), TypeError, 'x, y wait for each other'),
])
def test_cases_must_be_there(given, error, message):
    with pytest.raises(error, match=message):
        grade(stub, square, *([] if isinstance(given, dict) else given), **(given if isinstance(given, dict) else {}))


# ---- on cases that are drawn ----

def test_the_simplest_case_is_shown_with_the_names_of_the_arguments():
    assert repr(grade(lambda x, t: rounded(x, t) * 1.0, rounded.__call__, **CORNERS)) == 'correct on 100 cases'
    wrong = grade(lambda x, t: x**2 / (2 * t) if abs(x) <= 1 else abs(x) - t / 2, rounded, **CORNERS)
    assert not wrong and repr(wrong) == 'not yet: for x = 1.5, t = 2 it gives 0.5, expected 0.5625'
    assert wrong.case == (1.5, 2.0)


def test_cases_are_the_same_every_time():
    tried = [], []
    for seen in tried:
        grade(lambda x, t: seen.append((x, t)) or rounded(x, t), rounded, x=lambda t: on(t) | scalars(), t=scalars(1, 2))
    assert tried[0] == tried[1] and len({*tried[0]}) > 50


def test_listed_cases_come_first_and_lists_are_combined():
    seen = []
    assert repr(grade(lambda x, y: seen.append((x, y)) or x * y, np.multiply, [(7, 8)], x=[1, 2], y=[3, 4])) == 'correct on 5 cases'
    assert seen == [(7, 8), (1, 3), (1, 4), (2, 3), (2, 4)]
    assert repr(grade(lambda x: x, abs, [(-3,)], x=integers(-9, 9))) == 'not yet: for x = -3 it gives -3, expected 3'
    assert repr(grade(lambda x: x, abs, [(3,)], x=integers(-9, 9))) == 'not yet: for x = -1 it gives -1, expected 1'


def test_a_short_case_is_shown_where_the_first_one_is_long():
    cases = dict(a=vectors((1, 2)) | integers(0, 99).map(lambda n: np.arange(n, n + 30.0)))
    assert repr(grade(lambda a: abs(a).sum() + 1, lambda a: abs(a).sum(), **cases)) == 'not yet: for a = [0] it gives 1, expected 0'


def test_an_argument_may_depend_on_others():
    products = dict(A=lambda B: matrices((1, 4), len(B)), B=matrices((1, 4), (1, 4)))
    shapes = set()
    assert grade(lambda A, B: shapes.add((A.shape, B.shape)) or A @ B, np.matmul, **products)
    assert len(shapes) > 10 and all(a[1] == b[0] for a, b in shapes)
    assert repr(grade(lambda A, B: B @ A, np.matmul, **products)).startswith('not yet: for A = [[0]], B = [[0, 0]] it raises ValueError: matmul')


@pytest.mark.parametrize('answer, message', [
    (lambda x: int('') if x == 0 else x, "not yet: for x = 0 it raises ValueError: invalid literal for int() with base 10: '' (line "),
    (lambda x: float('nan') if x == 0 else x, 'not yet: for x = 0 it gives nan, expected 0'),
    (lambda x: -x if x > 5 else x, 'not yet: for x = 6 it gives -6, expected 6'),
    (stub, 'not attempted yet'),
])
def test_drawn_cases_tell_what_is_wrong(answer, message):
    assert repr(grade(answer, lambda x: x, x=ANY)).startswith(message)


def test_the_line_of_an_exception_is_that_of_the_notebook():
    def answer(a):
        return np.linalg.cholesky(a)

    line = answer.__code__.co_firstlineno + 1
    assert repr(grade(answer, lambda a: a, a=matrices(2, 2))) == (
        'not yet: for a = [[0, 0], [0, 0]] it raises LinAlgError: Matrix is not positive definite '
        f'(line {line}: return np.linalg.cholesky(a))')


def test_long_results_show_the_entry_that_differs():
    wrong = grade(lambda a: np.where(a > 3, a + 1e-5, a), lambda a: a, a=[np.arange(8.0).reshape(2, 4)])
    assert repr(wrong) == ('not yet: for a = [[0, 1, 2, 3], [4, 5, 6, 7]] entry [1, 0] of the result is 4.00001, expected 4')


# ---- what an answer may give ----

@pytest.mark.parametrize('want, right, wrong, message', [
    (True, np.True_, 1.0, 'it gives 1, expected True or False: True'),
    (np.array([True, False]), [True, False], [1, 0], 'expected an array of shape (2,) of True and False: [True, False]'),
    (torch.tensor([True]), torch.tensor([True]), np.array([True]), 'it gives [True], expected a tensor of shape (1,) of True and False: [True]'),
    (True, True, False, 'it gives False, expected True'),
    (np.nan, np.nan, 0.0, 'it gives 0, expected nan'),
    (np.inf, np.inf, -np.inf, 'it gives -inf, expected inf'),
    (np.array([1.0, np.nan]), torch.tensor([1, np.nan]), [1.0, 2.0], 'it gives [1, 2], expected [1, nan]'),
    (1j, 1j, 1.0, 'it gives 1, expected 0+1j'),
    ((np.ones(2), 3.0), [torch.ones(2), 3], (np.ones(2), 4.0), 'part 1 of the result: it gives 4, expected 3'),
    ((np.ones(2), 3.0), [[1, 1], 3], np.ones(2), 'it gives [1, 1], expected tuple of 2: ([1, 1], 3)'),
    ({'a': 1.0}, {'a': 1}, {'a': 2}, "under 'a' it gives 2, expected 1"),
    ({'a': 1.0}, {'a': 1}, {'b': 1}, "it gives {'b': 1}, expected {'a': 1}"),
    ('up', 'up', 'down', "it gives 'down', expected 'up'"),
    (None, None, 0, 'it gives 0, expected None'),
    ({1, 2}, {2, 1}, [1, 2], 'it gives [1, 2], expected {1, 2}'),
    (np.ones((1, 2)), [[1, 1]], np.ones(2), 'it gives an array of shape (2,), expected an array of shape (1, 2): [[1, 1]]'),
    (10**7, 1e7, 10**7 + 1, 'it gives 10000001, expected 10000000'),
    (10**7, 10**7 * (1 + 1e-9), 10**7 + 1.0, 'it gives 10000001, expected 10000000'),
    (1e7, 10**7 + 1, 10**7 + 20, 'it gives 1.000002e+07, expected 1e+07'),
    (np.array([10**7, 1]), [1e7, 1], [10**7 + 1, 1], 'it gives [10000001, 1], expected [10000000, 1]'),
    (torch.tensor([10**7]), torch.tensor([10**7]), torch.tensor([10**7 - 1]), 'it gives [9999999], expected [1e+07]'),
    (1.0, torch.tensor(1.0), torch.tensor([1.0]), 'it gives a tensor of shape (1,), expected a number: 1'),
])
def test_values(want, right, wrong, message):
    assert grade(lambda: right, lambda: want, [()])
    verdict = grade(lambda: wrong, lambda: want, [()])
    assert not verdict and repr(verdict) in (f'not yet: {message}', f'not yet: it gives [1, 0], {message}')


def test_the_same_exception_is_expected():
    def root(x):
        if x < 0:
            raise ValueError('no root')
        return x**0.5

    def careless(x):
        return abs(x)**0.5

    def other(x):
        return careless(x) if x >= 0 else x['a']

    assert grade(root.__call__, root, x=ANY)
    assert repr(grade(careless, root, x=ANY)) == 'not yet: for x = -1 it gives 1, expected ValueError: no root'
    assert "it raises TypeError: 'float' object is not subscriptable" in repr(grade(other, root, x=ANY))
    with pytest.raises(TypeError):  # a mistake in the truth
        grade(careless, lambda x: x['a'], x=ANY)


def test_another_comparison():
    def direction(v):
        return v / np.linalg.norm(v)

    def up_to_sign(got, want):
        return abs(got @ want) > 1 - 1e-9

    cases = dict(v=vectors(2).filter(np.any))
    assert grade(lambda v: -direction(v), direction.__call__, same=up_to_sign, **cases)
    assert repr(grade(lambda v: v[::-1], direction, same=up_to_sign, v=[np.array([1.0, 0.0])])) == (
        'not yet: for v = [1, 0] it gives [0, 1], for example [1, 0] is right')


# ---- what an answer must not do ----

def test_the_truth_is_no_answer():
    def helped(x):
        return square(x)

    def twice(x):
        return [helped(v) for v in [x]][0]

    for answer in (square, helped, twice, lambda x: helped(x)):
        assert repr(grade(answer, square, x=ANY)) == 'right, but it calls square, with which it is compared: write your own'

    def wrapped(f):
        return lambda x: 2 * f(x)

    assert 'it calls square' in repr(grade(wrapped(square), wrapped(square), x=ANY))
    assert grade(wrapped(lambda x: x * x), wrapped(square), x=ANY)
    assert grade(functools.partial(np.multiply, 2), lambda x: 2 * x, x=ANY)
    assert 'calls sum' in repr(grade(np.sum, np.sum, x=vectors(2)))


def test_forbidden_functions():
    inv, before = np.linalg.inv, np.linalg.inv
    globals()['imported'] = inv

    def by_name(a):
        return np.linalg.inv(a)

    def imported_by_name(a):
        return imported(a)  # noqa: F821

    invertible = dict(a=matrices(2, 2).map(lambda a: a @ a.T + np.eye(2)))
    for answer in by_name, imported_by_name:
        assert repr(grade(answer, inv, without=['numpy.linalg.inv'], **invertible)) == (
            'not yet: for a = [[1, 0], [0, 1]] it calls numpy.linalg.inv, which is ruled out here')
    assert grade(lambda a: np.linalg.solve(a, np.eye(2)), inv, without=['numpy.linalg.inv'], **invertible)
    assert np.linalg.inv is before and globals()['imported'] is before
    tensors = dict(a=invertible['a'].map(torch.tensor))
    assert 'it calls torch.Tensor.inverse' in repr(grade(lambda a: a.inverse(), torch.linalg.inv, without=['torch.Tensor.inverse'], **tensors))
    assert grade(lambda a: a.inverse(), torch.linalg.inv, **tensors)


@pytest.mark.parametrize('answer', [
    lambda x: sum(v * v for v in x), lambda x: sum([v * v for v in x]), lambda x: sum(map(lambda v: v * v, x)),
    lambda x: np.vectorize(lambda v: v * v)(x).sum(), lambda x: functools.reduce(lambda s, v: s + v * v, x, 0.0),
])
def test_loops_are_counted(answer):
    verdict = grade(answer, lambda x: x @ x, lines=20, x=LONG)
    assert 'it runs more than 20 lines of Python' in repr(verdict)
    assert grade(answer, lambda x: x @ x, lines=lambda x: 10 * len(x), x=LONG)
    assert grade(lambda x: (x**2).sum(), lambda x: x @ x, lines=20, x=LONG)


def test_an_endless_loop_ends():
    def endless(x):
        while True:
            x += 1

    assert 'more than 1000 lines' in repr(grade(endless, square, lines=1000, x=ANY))


def test_what_can_be_read_once():
    def total(blocks):
        return sum((block**2).sum() for block in blocks)

    streams = dict(blocks=lists(vectors((1, 3)), most=3).map(once))
    assert grade(lambda blocks: sum(block @ block for block in blocks), total, **streams)
    assert repr(grade(lambda blocks: (np.concatenate(list(blocks))**2).sum(), total, **streams)) == (
        'not yet: for blocks = once([[0.0]]) it gives nan, expected 0')
    tensors = dict(blocks=streams['blocks'].map(lambda blocks: once(map(torch.tensor, blocks.items))))
    assert 'it gives nan' in repr(grade(lambda blocks: (torch.cat(list(blocks))**2).sum(), total, **tensors))
    assert 'ValueError: this can be read only once' in repr(grade(lambda blocks: max(map(len, blocks)) + total(blocks), total, **streams))


@pytest.mark.parametrize('case, spoil', [
    ([1, 2], lambda x: x.__setitem__(0, 5)),
    ({'a': 1.0}, lambda x: x.__setitem__('a', 2.0)),
    ([1.0], lambda x: x.__setitem__(0, float('nan'))),
    ([np.ones(2)], lambda x: x.__setitem__(0, 1)),
    (np.array([10**30, 2], object), lambda x: x.__setitem__(0, 5)),
    (np.array([1, 2]), lambda x: x.__setitem__(0, 5)),
    ({1, 2}, lambda x: x.pop()),
    ([{1, 2}], lambda x: x[0].add(3)),
])
def test_a_changed_argument_is_reported(case, spoil):
    def answer(x):
        spoil(x)
        return 1

    assert 'it changes its argument x' in repr(grade(answer, lambda x: 1, x=[case]))
    assert grade(lambda x: 1, lambda x: 1, x=[case]) and grade(lambda x: 1, lambda x: 1, x=[[float('nan'), 'word', None]])


def test_calls_are_counted():
    functions = dict(f=on(counted(np.cos, 2), counted(np.sin, 2)))
    assert grade(lambda f: f(1.0) + f(2.0), lambda f: f(2.0) + f(1.0), **functions)
    assert repr(grade(lambda f: f(1.0) + f(2.0) + f(1.0) - f(1.0), lambda f: f(2.0) + f(1.0), **functions)).startswith(
        'not yet: for f = cos it raises ValueError: cos was called more than 2 times (line ')


def test_warnings_are_not_shown(recwarn):
    grade(lambda x: np.log(x), np.log2, x=vectors(3))
    assert not recwarn.list


def test_grading_is_fast():
    def fit(X, y):
        return np.linalg.lstsq(X, y)[0]

    cases = dict(X=matrices((1, 6), (1, 4), edges=True), y=lambda X: vectors(len(X)))
    start = time.process_time()
    assert grade(lambda X, y: np.linalg.pinv(X) @ y, fit, atol=1e-6, **cases)
    for _ in range(3):
        assert not grade(lambda X, y: X.T @ y, fit, **cases)
    assert time.process_time() - start < 2  # 0.2 s where it was written, most of it for the draw


def test_what_has_no_equal():
    assert grading.unchanged(object(), object()) and grading.shown(stub) == 'stub'
    assert grading.shown(np.arange(200)).endswith('…') and len(grading.shown(np.arange(200))) == 160
    assert grading.shown({'a': np.float64(0.5), (1,): 1j}) == "{'a': 0.5, (1,): 0+1j}"


# ---- where cases come from ----

def drawn(strategy, number=100):
    return [value for value, in grading.Cases([], {'x': strategy}, number).drawn]


@pytest.mark.parametrize('low, high', [(-10, 10), (0.5, 2), (0, 1), (-3, -1)])
def test_edges_keep_their_range(low, high):
    for a in [*drawn(matrices((1, 4), (1, 3), low, high, edges=True)), *drawn(vectors((1, 4), low, high, edges=True))]:
        assert a.dtype == float and (low <= a).all() and (a <= high).all()


def test_edges_are_there():
    some = drawn(matrices(3, 3, edges=True))
    forms = {
        'zero': lambda a: not a.any(), 'identity': lambda a: (a == np.eye(3)).all(), 'equal': lambda a: a.any() and np.ptp(a) == 0,
        'constant column': lambda a: np.ptp(a[:, 0]) == 0 < np.ptp(a), 'zero column': lambda a: not a[:, 0].any() and a.any(),
        'equal rows': lambda a: (a[0] == a[2]).all() and np.ptp(a) > 0, 'negative': lambda a: (a < 0).all(), 'positive': lambda a: (a > 0).all(),
        'ties': lambda a: (abs(a) <= 2).all() and (a % 1 == 0).all() and len(np.unique(a)) > 2, 'plain': lambda a: len(np.unique(a)) > 8,
    }
    assert {name for name, form in forms.items() if any(map(form, some))} == forms.keys()


def test_other_sources():
    assert {a.shape for a in drawn(square_matrices((1, 3), edges=True))} == {(1, 1), (2, 2), (3, 3)}
    assert {a.shape for a in drawn(square_matrices(2))} == {(2, 2)}
    assert {len(some) for some in drawn(lists(vectors((1, 2)), 0, 3))} == {0, 1, 2, 3}
    assert {len(v) for v in drawn(vectors((0, 3)))} == {0, 1, 2, 3}
    assert all(v.dtype == np.int64 and 1 <= v.min() and v.max() <= 4 for v in drawn(counts(3, 1, 4)))
    some = drawn(masks(2, 3))
    assert all(m.dtype == bool and m.shape == (2, 3) for m in some) and {0, 6} <= {m.sum() for m in some}
    assert any(not m[0].any() and m[1].any() for m in some) and sum(0 < m.sum() < 6 for m in some) > 50
    some = drawn(distributions((1, 3)))
    assert all(np.isclose(p.sum(), 1) and (p >= 0).all() for p in some) and any((p == 0).any() for p in some)
