"""Fault injection: each kind of edit is the intended one; it is seen who notices, and what escapes."""
import json
import os
import subprocess
import sys

import nbformat
import pytest

from nbutils.maintain import environment, faults, mutations, notebooks, record

pytestmark = pytest.mark.skipif(sys.platform != 'linux', reason='faults are tried in forked processes')


def edits(code, kind, spared=frozenset()):
    """The lines that faults of a kind make of a piece of code."""
    return {fault.now for fault in mutations.drawn(mutations.possible(code, 0, spared), 0, 0) if fault.kind == kind}


@pytest.mark.parametrize('kind, code, changed', [
    ('sign', 'y = a + b', {'y = a - b'}),
    ('sign', 'y = -a\ny -= 1', {'y = a', 'y += 1'}),
    ('operands', 'y = a - b * c', {'y = (b * c) - a'}),
    ('operands', 'y = a @ (b + c)', {'y = (b + c) @ a'}),
    ('operands', 'y = abs(a - b) + (a - b) ** 2 + norm(a - b)', {'y = abs(a - b) + 2 ** (a - b) + norm(a - b)'}),
    ('operands', 'y = outer(a, b) + max(a, b)', {'y = outer(b, a) + max(a, b)'}),
    ('index', 'y = a[0] + a[i]', {'y = a[1] + a[i]', 'y = a[0] + a[i - 1]'}),
    ('index', 'y = a[k + 1:n]', {'y = a[(k + 1) + 1:n]', 'y = a[k + 2:n]', 'y = a[k + 1:n - 1]'}),
    ('index', 'for i in range(n): f(i)', {'for i in range(n - 1): f(i)'}),
    ('constant', 'y = 2 * a + 0.5', {'y = 3 * a + 0.5', 'y = 2 * a + 0.55'}),
    ('constant', "rng = default_rng(0)\nax.plot(a, lw=2)\ny = f(tol=1e-9, size=3)", set()),
    ('constant', 'y = a.reshape(-1, 3)', {'y = a.reshape(-1, 4)'}),
    ('transpose', 'y = a.T @ b', {'y = a @ b'}),
    ('comparison', 'y = a < b and c', {'y = a > b and c'}),
    ('comparison', 'if p and q: y = p or q', {'if p or q: y = p or q', 'if p and q: y = p and q'}),
    ('dropped', 'y = a\ny = y / 2\ny[0] = 1\ny.sort()', {'pass'}),
    ('dropped', 'y = a\nprint(y)\ndef f(x): return x', set()),
    ('axis', 'y = a.sum(0) + np.mean(a, axis=-1)', {'y = a.sum(1) + np.mean(a, axis=-1)', 'y = a.sum(0) + np.mean(a, axis=0)'}),
    ('figure', "ax.plot(a, b, color='C0')", {"ax.plot(b, a, color='C0')", "ax.plot(a, b, color='C1')"}),
    ('figure', "ax.set(xlabel='x', ylabel='y')\nax.axhline(1)", {"ax.set(xlabel='y', ylabel='x')", 'ax.axvline(1)'}),
    ('assert', 'assert a < b', {'assert a > b'}),
    ('assert', 'assert p and q\nassert p or q', {'assert p and q', 'assert not (p and q)'}),
    ('assert', 'assert works(a)', {'assert not works(a)'}),
    ('tolerance', 'assert close(a, b)', {'assert close(a, nudged(b))'}),
    ('tolerance', 'assert np.allclose(a, b, atol=1)', {'assert np.allclose(a, nudged(b, 1e-2), atol=1)'}),
    ('tolerance', 'assert abs(a - b) < 1e-9', {'assert abs(a - nudged(b, 1e-2)) < 1e-9'}),
    ('tolerance', 'assert grade(mine, truth, cases)', {'assert grade(mine, nudged(truth), cases)'}),
    ('answer', 'assert not grade(wrong, truth, cases)', {'assert not grade(truth.__call__, truth, cases)'}),
    ('slip', "holds('a', lambda x: x > 0, slip=('says no', lambda x: x > 1), x=[2])", {"holds('a', lambda x: x > 0, slip=('says no', lambda x: x > 0), x=[2])"}),
    ('slip', "holds('a', f, slip=('adds one', g), x=[2])", {"holds('a', f, slip=('adds one', f), x=[2])"}),
    ('slip', "erratum('a', printed=f, corrected=g, x=[2])", {"erratum('a', printed=g, corrected=g, x=[2])"}),
    ('sign', "holds('a', lambda x: x + 1, slip=('says no', lambda x: x - 1), x=[-1])", {"holds('a', lambda x: x - 1, slip=('says no', lambda x: x - 1), x=[-1])"}),
])
def test_each_kind_of_edit(kind, code, changed):
    assert edits(code, kind) == changed


def test_what_is_free_to_choose_is_spared():
    code = ['def wrong(x): return x + 1', 'cases = [(1 + 2,)]', 'def mine(x): return x + 1', 'wild = lambda x: x - 1',
            'grade(stub, mine, cases)', 'assert not grade(wrong, mine, cases)',
            'cases.append((2 + 3,))', "holds('a', lambda x: mine(x) > 0, slip=('says no', lambda x: wild(x) > 0), x=[1])"]
    spared = mutations.free_names(code)
    assert {'wrong', 'cases', 'wild'} <= spared and 'mine' not in spared
    assert [edits(cell, 'sign', spared) for cell in code] == [set(), set(), {'def mine(x): return x - 1'}, *[set()] * 5]
    assert edits('cases.append(1)', 'dropped', spared) == set() != edits('cases.append(1)', 'dropped')


def test_the_draw_is_seeded_and_takes_each_kind_in_turn():
    possible = mutations.possible('y = 1 + 2 + 3 + 4 + 5 + 6\ny = a.T @ b.T\nassert y == 3')
    first = mutations.drawn(possible, 5, 0)
    assert first == mutations.drawn(possible, 5, 0) != mutations.drawn(possible, 5, 1)
    assert {f.kind for f in first} == {'sign', 'constant', 'transpose', 'operands', 'assert'}


def test_what_is_nudged():
    assert mutations.nudged(2.0) == pytest.approx(2.002) and mutations.nudged([0, 0]).tolist() == [1e-3, 1e-3]
    assert mutations.nudged(lambda x: [x, 0], 0.5)(2).tolist() == [3, 0]
    assert mutations.nudged('no number') == 'no number'


def test_checks_that_never_notice_first_are_named(monkeypatch):
    sources = ['def f(x):\n    return x + 1', 'def g(x):\n    return f(x) - 2', "verify('near', lambda x: g(x) < 9, slip=('far off', h), x=[1])",
               "verify('far', lambda x: f(x) > 9, slip=('near by', h), x=[1])"]
    monkeypatch.setattr(faults, 'code_cells', lambda path: [nbformat.v4.new_code_cell(source) for source in sources])
    made = [mutations.Fault(0, '', f'def f(x):\n    return x + {n}', '', '') for n in (2, 3, 4)]

    def idle(*by):
        return list(faults.idle(faults.Result(None, 9, list(zip(made, by, strict=False)))))

    assert idle(*[('check', 2, '')] * 3) == [(3, "'far'", 3)]
    assert idle(('check', 3, ''), None, 'time') == [(2, "'near'", 3)]
    assert idle(None, 'time') == []


def test_each_file_gets_as_many_faults_as_were_asked_for(monkeypatch, capsys, tmp_path):
    files = [tmp_path / 'chapter' / f'{name}.py' for name in ('first', 'second')]
    files[0].parent.mkdir()
    for path in files:
        path.write_text('')
    monkeypatch.setenv('JOBS', '1')
    monkeypatch.setattr(faults, 'REPORT', tmp_path / 'faults.txt')
    monkeypatch.setattr(faults, 'section', lambda path, number, seed: faults.Result(path, number, []))
    monkeypatch.setattr(faults, 'idle', lambda result: [(0, "'a check'", 7)])
    faults.report(files, 12, 0)
    assert capsys.readouterr().out.count('0 of 12 faults') == 2


STRONG = [
    'import nbutils',
    'import matplotlib.pyplot as plt\nimport numpy as np\n\nfrom nbutils.checks import close, verify',
    'def mean(x):\n    return x.sum(0) / len(x)',
    'x = np.array([[2.0, 7.0], [3.0, 1.0], [4.0, 5.0]])\nassert close(mean(x), [3, 13 / 3])',
    'for v in x[:, 1]:\n    print(v - 1)',
    'fig, ax = plt.subplots()\nax.plot(x[:, 0], x[:, 1]);',
    'for _ in iter(int, 0):\n    pass',
    "verify('doubled', lambda a: close(2 * a, a + a), slip=('says no', lambda a: close(2 * a, a)), a=[1.0, 3.0])",
]
WEAK = [
    *STRONG[:4],
    'y = x.sum()\ny += 1',
    'assert close(mean(x), [3.001, 13 / 3], atol=1)',
    'assert y < 5 or y > 0',
    'for v in x[:0]:\n    assert v.any()',
]
RUN = '''
import json, sys
from pathlib import Path
from nbutils.maintain import execute, faults

folder = Path(sys.argv[1])
execute.hold(sorted(folder.glob('a/*.py')))
faults.CPU_SECONDS = 1
faults.REPORT, faults.EQUIVALENT = folder / 'faults.txt', folder / 'equivalent.yml'
files = sorted(folder.glob('a/*.py'))
results = dict(faults.spread(lambda path: faults.section(path, 0, 0), sorted(folder.glob('a/*.py')), workers=2))
print(json.dumps({p.stem: [[[f.kind, f.now, by] for f, by in r.found], r.broken] for p, r in results.items()}))

faults.section, weak = (lambda path, *_: results[path]), folder / 'a' / 'weak.py'
status = [faults.report([folder / 'a' / f'{name}.py'], 0, 0) for name in ('weak', 'outdated')]
escaped = [f for f, *_ in faults.judged(results[weak], {})['escaped']]
known = [{'was': f.was, 'now': f.now, 'why': 'free'} for f in escaped] + [
    {'was': 'gone = 1', 'now': 'gone = 2', 'why': 'free'}, {'was': 'y = x.sum()', 'now': 'y = 3', 'why': 'free'}]
faults.EQUIVALENT.write_text(json.dumps({'a/weak': known}))
print(json.dumps([*status, faults.report([weak], 0, 0)]))
'''


@pytest.fixture(scope='module')
def tried(tmp_path_factory):
    """What became of all faults of three small sections, and what is printed about them."""
    folder = tmp_path_factory.mktemp('faults')
    (folder / 'a').mkdir()
    for name, cells in (('strong', STRONG), ('weak', WEAK), ('outdated', ['import nbutils', 'print(1 + 2)'])):
        path = folder / 'a' / f'{name}.py'
        path.write_text('\n\n'.join(f'# %%\n{cell}' for cell in cells) + '\n')
        if name != 'outdated':
            record.record(path)
        else:
            nbformat.write(notebooks.read(path), path.with_suffix('.ipynb'))  # without any output
    ended = subprocess.run([sys.executable, '-c', RUN, str(folder)], capture_output=True, text=True, cwd=notebooks.ROOT,
                           env=os.environ | environment.FIXED)
    assert ended.returncode == 0, ended.stderr
    first, _, second = ended.stdout.partition('\n')
    return json.loads(first), second


def noticed(found, now):
    return [by and by if isinstance(by, str) or by is None else by[0] for _, made, by in found if made == now]


def test_a_fault_is_caught_by_what_notices_it(tried):
    found, broken = tried[0]['strong']
    assert not broken
    assert noticed(found, 'return x.sum(1) / len(x)') == ['error']
    assert noticed(found, 'return len(x) / x.sum(0)') == ['check']
    assert noticed(found, 'print(v + 1)') == ['text']
    assert noticed(found, 'ax.plot(x[:, 1], x[:, 0]);') == ['figure']
    assert noticed(found, 'for _ in iter(int, 1):') == ['time']
    assert noticed(found, 'ax.plot(x[:, 0], x[:, 2]);') == ['error']


def test_checks_that_are_too_weak_let_their_faults_escape(tried):
    strong = {(kind, by and by[0]) for kind, _, by in tried[0]['strong'][0] if kind in mutations.CHECKS}
    assert strong == {('tolerance', 'check'), ('slip', 'check')}
    weak = tried[0]['weak'][0]
    assert noticed(weak, 'assert close(mean(x), nudged([3.001, 13 / 3], 1e-2), atol=1)') == [None]
    assert noticed(weak, 'assert y > 5 or y > 0') == [None]
    assert noticed(weak, 'assert not v.any()') == [None]
    assert noticed(weak, 'y -= 1') == [None]  # nothing uses it


def test_an_outdated_section_is_named(tried):
    assert 'code cell 2 differs' in tried[0]['outdated'][1]


def test_the_report_counts_and_fails(tried):
    said = tried[1].splitlines()
    status = next(line for line in said if line.startswith('['))
    assert json.loads(status) == [1, 1, 0]  # escapes; an outdated section; escapes that are listed as equivalent
    assert any(line.startswith('a/outdated: BROKEN') for line in said)
    assert '    - y += 1' in said and '    + y -= 1' in said
    assert any(line.startswith('100.0% of') for line in said)
    assert [line for line in said if 'listed as' in line] == ['a/weak: listed as equivalent, but its line is gone: gone = 1']
