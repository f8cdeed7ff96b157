"""The tool that mutates official solutions."""
import pytest
import yaml

from nbutils.maintain import graders, sections

PAGE = '''# %% [markdown]
# # Page

# %%
import numpy as np

from nbutils.cases import on, scalars
from nbutils.checks import grade

def doubled(x):
    return 2 * x

unused = 1 / np.zeros(1)
raise SystemExit  # what no exercise hangs on is not executed

# %% [markdown]
# ```{exercise} ★ Inside
# :label: page-inside
# ```

# %%
def inside(x, half):
    raise NotImplementedError('your turn')

# %%
def by_square(x, half):
    return x**2 <= doubled(half / 2)**2

cases = dict(x=CASES, half=scalars(1, 4))
grade(inside, by_square, **cases)

# %% [markdown]
# ```{solution-start} page-inside
# ```

# %%
def inside_solution(x, half):
    near = abs(x) <= half
    return near

def strict(x, half):
    near = abs(x) < half - 0.1
    return near

assert grade(inside_solution, by_square, **cases)
assert not grade(strict, by_square, **cases)
far = [1 / 0]

# %% [markdown]
# ```{solution-end}
# ```
'''
EDGES = 'lambda half: on(half, -half) | scalars()'
FEW = '[0.5137, 1.9713, -9.0]'
FIRST = {'was': 'near = abs(x) <= half', 'now': 'near = abs(x) < half'}


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.setattr(graders, 'RECORDS', tmp_path / 'records')
    monkeypatch.setattr(graders.notebooks, 'ROOT', tmp_path)

    def made(cases=EDGES, text=PAGE):
        path = tmp_path / 'chapter' / 'page.py'
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace('CASES', cases), 'utf-8')
        return path

    return made


def test_exercises_are_found(page):
    exercise, = sections.Section(page()).graded
    assert exercise.label == 'page-inside' and exercise.drawn and len(exercise.asked) == 2 and len(exercise.solved) == 1
    listed, = sections.Section(page(text=PAGE.replace('**cases', '[(1, 2)], atol=1'))).graded
    assert not listed.drawn and listed.digest != exercise.digest
    commented, = sections.Section(page(text=PAGE.replace('near = abs(x) <= half', 'near = abs(x) <= half  # so'))).graded
    assert commented.digest == exercise.digest
    assert not sections.Section(page(text=PAGE.replace('{solution-end}', '{note}'))).graded, 'its solution does not end'
    followed = sections.Section(page(text=f'{PAGE}\n# %%\nafter = 1\n'))
    assert len(followed.graded[0].solved) == 1 and followed.outside[-1].source == 'after = 1'


def edits(code, kind):
    return {fault.code for fault in graders.mutants(code, frozenset()) if fault.kind == kind}


@pytest.mark.parametrize('kind, code, changed', [
    ('boundary', 'y = a < b', {'y = a <= b'}),
    ('ignored', 'def f(x): return x', set()),
    ('ignored', 'def f(x):\n    return x', {'def f(x):\n    x = 0 * x\n    return x', 'def f(x):\n    x = 0 * x + 1\n    return x'}),
    ('term', 'y = a * b - c', {'y = a - c', 'y = b - c', 'y = (a * b)'}),
    ('term', 'y = a and b', {'y = a', 'y = b'}),
    ('branch', 'y = a if c else b', {'y = a', 'y = b'}),
    ('branch', 'if c: y = 1', {'if True: y = 1', 'if False: y = 1'}),
    ('unwrapped', 'y = abs(a) + np.maximum(a, 0)', {'y = a + np.maximum(a, 0)', 'y = abs(a) + a', 'y = abs(a) + 0'}),
    ('unwrapped', 'y = a.clip(0, 1)', {'y = a'}),
    ('function', 'y = a.max() + np.sum(b)', {'y = a.min() + np.sum(b)', 'y = a.max() + np.mean(b)'}),
    ('keyword', 'y = f(a, keepdims=True) + np.std(a)', {'y = f(a) + np.std(a)', 'y = f(a, keepdims=True) + np.std(a, ddof=1)'}),
    ('sign', 'y = ~a', {'y = a'}),
    ('constant', 'y = 2 * a', {'y = 3 * a', 'y = 1 * a'}),
])
def test_each_kind_of_slip(kind, code, changed):
    assert edits(code, kind) == changed


def test_wrong_answers_are_not_mutated(page):
    exercise, = sections.Section(page()).graded
    code, spared, tests = graders.official_code(exercise)
    assert spared == {'strict'} and tests == ['grade(answer_0, by_square, **cases)'] and 'far' not in code
    assert all('half - 0.1' in fault.code for fault in graders.mutants(code, spared))


def test_a_case_on_the_boundary_kills(page, capfd):
    assert graders.report([page(FEW)], True) == 1
    said = capfd.readouterr().out
    assert FIRST | {'why': ''} in yaml.safe_load(said[said.index('- was'):said.index('\n', said.rindex('why'))])
    assert graders.changed(page(FEW)) == ['page-inside']
    assert graders.report([page()], False) == 0
    assert '100.0% of ' in capfd.readouterr().out
    assert graders.changed(page()) == []
    assert graders.report([page()], False) == 0 and capfd.readouterr().out == ''


def test_a_survivor_is_listed_with_its_reason(page, capfd):
    path = page(FEW)
    graders.write(path, {'page-inside': {'equivalent': [FIRST | {'why': 'let us say so'}]}})
    assert graders.report([path], True) == 0
    assert graders.recorded(path)['page-inside']['equivalent'] and graders.changed(path) == []
    assert graders.report([page()], True) == 1
    assert 'listed as equivalent, but it does not survive' in capfd.readouterr().out


def test_a_wrong_official_solution_is_named(page, capfd):
    text = PAGE.replace('near = abs(x) <= half', 'near = abs(x) < half')
    assert graders.report([page(text=text)], True) == 1
    assert 'BROKEN: the official solution is refused: not yet: for x = ' in capfd.readouterr().out


def test_a_mutant_without_end_is_killed(page, capfd, monkeypatch):
    monkeypatch.setattr(graders, 'SPARE', 0.1)
    text = PAGE.replace('    near = abs(x) <= half', '    n = 0\n    while n < 1:\n        n += 1\n    near = abs(x) <= half')
    graders.report([page(text=text)], True)
    assert 'BROKEN' not in capfd.readouterr().out
