import json
import os
import resource
import signal
import subprocess
import sys
import time

import pytest

from nbutils.maintain import notebooks, record
from tests.processes import left

GOOD = '# %% [markdown]\n# # Title\n\n# %%\nx = 0.123456\nprint(x)\n\n# %% tags=["hide-input"]\nx\n'


@pytest.fixture
def section(tmp_path):
    path = tmp_path / 'chapter' / 'section.py'
    path.parent.mkdir()
    path.write_text(GOOD)
    return path


def test_recording_twice_gives_the_same_bytes(section):
    target = section.with_suffix('.ipynb')
    record.record(section)
    first = target.read_bytes()
    target.unlink()
    record.record(section)
    assert target.read_bytes() == first
    cells = json.loads(first)['cells']
    assert [c.get('execution_count') for c in cells] == [None, 1, 2] and cells[2]['metadata'] == {'tags': ['hide-input']}
    assert cells[1]['outputs'][0]['text'] == ['0.123456\n'] and sorted(section.parent.iterdir()) == [target, section]


def test_equal_outputs_are_left_alone(section):
    target = section.with_suffix('.ipynb')
    record.record(section)
    near = target.read_text().replace('"0.123456\\n"', '"0.123457\\n"')
    target.write_text(near)
    assert record.record(section) == 'unchanged' and target.read_text() == near
    target.write_text(near.replace('0.123457', '0.223457'))
    first, cell, kind, *_ = record.record(section, accept=True).splitlines()
    assert first == '0 cells new or edited, 1 others with changed outputs'
    assert (cell, kind) == ('  cell 2 (x = 0.123456 ...)', '    stdout:') and '0.123456' in target.read_text()


def test_words_are_taken_over_without_executing(section, monkeypatch):
    record.record(section)
    target = section.with_suffix('.ipynb')
    outputs = [cell.get('outputs') for cell in json.loads(target.read_text())['cells']]
    monkeypatch.setattr(record, 'Kernel', None)  # an execution would fail
    section.write_text(GOOD.replace('Title', 'Better title').replace('["hide-input"]', '["hide-cell"]'))
    assert record.reworded(section) == 'words changed, outputs kept' and record.reworded(section) == 'unchanged'
    cells = json.loads(target.read_text())['cells']
    assert cells[0]['source'] == ['# Better title'] and cells[2]['metadata'] == {'tags': ['hide-cell']}
    assert [cell.get('outputs') for cell in cells] == outputs and [c.get('execution_count') for c in cells] == [None, 1, 2]


@pytest.mark.parametrize('old, new', [('x = 0.123456', 'x = 0.2'), ('print(x)\n', 'print(x)\n\n# %%\nx + 1\n')])
def test_changed_code_is_no_change_of_words(section, old, new):
    with pytest.raises(record.Refused, match='code changed'):
        record.reworded(section)  # never recorded
    record.record(section)
    before = section.with_suffix('.ipynb').read_bytes()
    section.write_text(GOOD.replace(old, new))
    with pytest.raises(record.Refused, match='code changed'):
        record.reworded(section)
    assert section.with_suffix('.ipynb').read_bytes() == before


def test_of_all_code_the_launch_cell_may_change_with_words(section):
    text = '# %% tags=["remove-cell"]\nimport nbutils\n\n# %% tags=["remove-cell"]\na = 1\n\n# %%\nprint(a)\n'
    section.write_text(text)
    record.record(section)
    section.write_text(text.replace('import nbutils', 'import nbutils  # of version 2'))
    assert record.reworded(section) == 'words changed, outputs kept'
    section.write_text(text.replace('a = 1', 'a = 2'))
    with pytest.raises(record.Refused, match='code changed'):
        record.reworded(section)


HELPED = """# %% [markdown]
# # Title
#
# Nothing is 0.7391 here.

# %%
from helper import gain
print('ready')

# %% [markdown]
# ## A part
#
# The gain is $0.74$. In 8 of 10 runs it is larger. It is never 0.91.

# %% mystnb={"figure": {"caption": "A gain of 0.739 is enough."}, "image": {"alt": "A bar of height 0.739."}}
print(gain, '8 of 10')

# %% [markdown]
# ## Another
#
# The gain of 0.74 comes back.
"""


@pytest.fixture
def helped(section):
    """A section that prints what a helper beside it gives."""
    section.with_name('helper.py').write_text('gain = 0.7391\n')
    section.write_text(HELPED)
    record.record(section)
    section.with_name('helper.py').write_text('gain = 0.5391\n')
    return section


# A helper broke, make record is typed, and the wrong number is stored under sentences that say another.
def test_an_output_that_changed_by_itself_is_refused(helped, capsys):
    before = helped.with_suffix('.ipynb').read_bytes()
    with pytest.raises(SystemExit, match='1 not recorded'):
        record.main([str(helped)])
    _, first, *more = capsys.readouterr().out.splitlines()
    assert first.startswith("[1/1] chapter/section: NOT RECORDED: chapter/section, cell 4 (print(gain, '8 of 10') ...): "
                            'the output changed, and no code of the notebook up to there did')
    assert '      stored         0.7391   now         0.5391   relative gap 2.7e-01' in more
    assert more[-1].endswith('then: ACCEPT=1 make record') and helped.with_suffix('.ipynb').read_bytes() == before
    record.main(['--accept', str(helped)])
    assert b'0.5391' in helped.with_suffix('.ipynb').read_bytes() and record.record(helped) == 'unchanged'


@pytest.mark.parametrize('old, new, refused', [
    ("print('ready')", "print('go')", False),  # code before the output
    ('print(gain,', 'print(gain ,', False),  # its own code
    ('The gain is', 'Gain is', True),  # prose
    ('# ## Another', '# %%\n1\n\n# %% [markdown]\n# ## Another', True),  # code after it
    ('A bar of', 'The bar of', True),  # its alt text
])
def test_only_code_up_to_an_output_explains_it(helped, old, new, refused):
    helped.write_text(HELPED.replace(old, new))
    if refused:
        with pytest.raises(record.Refused, match=r'cell 4 .* no code'):
            record.record(helped)
    else:
        assert '0.5391' in record.record(helped)


# A changed output is stored, and the caption goes on to state the old number.
def test_the_words_beside_a_changed_output_are_shown(helped):
    said = record.record(helped, accept=True).splitlines()
    assert said[said.index('    caption: A gain of 0.739 is enough. [no longer there: 0.739]'):] == [
        '    caption: A gain of 0.739 is enough. [no longer there: 0.739]',
        '    alt text: A bar of height 0.739. [no longer there: 0.739]',
        '    prose: The gain is 0.74. [no longer there: 0.74]',
    ]


@pytest.mark.parametrize('cell, message', [
    ('assert 1 > 2, "no"', r'chapter/section, cell 4 \(assert 1 > 2, "no" ...\): AssertionError: no'),
    ('import sys\nsys.stderr.write("careful")', r'cell 4 \(import sys ...\) writes to stderr: careful'),
    ('import warnings\nwarnings.warn("old")', 'writes to stderr: .*UserWarning: old'),
    ('import os\nos.system("echo careful >&2")', 'writes to stderr: careful'),
    ('import time\ntime.sleep(60)', r'cell 4 \(import time ...\): took more than 2 s'),
])
def test_what_fails_is_not_recorded(section, cell, message, monkeypatch):
    monkeypatch.setattr(record, 'CELL_SECONDS', 2)
    target = section.with_suffix('.ipynb')
    record.record(section)
    before = target.read_bytes()
    section.write_text(GOOD + f'\n# %%\n{cell}\n\n# %%\n5\n')
    with pytest.raises(record.Refused, match=message):
        record.record(section)
    assert target.read_bytes() == before and len(list(section.parent.iterdir())) == 2


def test_ids_hang_on_the_text_alone(section):
    ids = [c.id for c in notebooks.read(section).cells]
    section.write_text('# %%\nnew\n\n' + GOOD)
    assert [c.id for c in notebooks.read(section).cells][1:] == ids
    section.write_text(GOOD + '\n# %%\nx = 0.123456\nprint(x)\n')
    assert [c.id for c in notebooks.read(section).cells] == [*ids, f'{ids[1]}-2']


def test_only_what_changed_is_recorded(section, monkeypatch, capsys):
    root = section.parent.parent
    (root / 'notebooks' / 'chapter').mkdir(parents=True)
    section = section.rename(root / 'notebooks' / 'chapter' / 'section.py')
    (root / 'requirements.txt').write_text('')
    (root / 'nbutils' / 'maintain').mkdir(parents=True)
    (root / 'nbutils' / 'book.mplstyle').write_text('')
    helper = root / 'nbutils' / 'helper.py'
    helper.write_text('a = 1\n')
    section.write_text('# %%\nfrom nbutils import helper\n')
    monkeypatch.setattr(notebooks, 'ROOT', root)
    monkeypatch.setattr(notebooks, 'NOTEBOOKS', root / 'notebooks')
    monkeypatch.setattr(notebooks, 'SEEN', root / '.cache' / 'seen.json')
    monkeypatch.setattr(record, 'executed', notebooks.read)

    def said():
        record.main([])
        return capsys.readouterr().out

    assert '[1/1] chapter/section: ' in said() and 'Nothing to record' in said()
    for file in (section, helper, section.with_suffix('.ipynb'), root / 'requirements.txt'):
        file.write_text(file.read_text() + '\n')
        out = said()
        assert f'chapter/section: {file.relative_to(root)}' in out and '[1/1] chapter/section: ' in out
        assert 'Nothing to record' in said()


# ---- the command, as a process ----

def start(*files, **environment):
    """`make record` of these files; its processes can be found by MARK in their environment."""
    return subprocess.Popen(
        [sys.executable, '-m', 'nbutils.maintain.record', *map(str, files)], cwd=notebooks.ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        env=os.environ | {'MARK': str(files[0].parent)} | environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))  # which nohup and & would have ignored


LONG = '# %%\nimport pathlib\npathlib.Path("NAME").touch()\n\n# %%\nimport time\ntime.sleep(99)\n'


@pytest.mark.parametrize('cold', ['', '1'])
@pytest.mark.parametrize('how', [signal.SIGINT, signal.SIGKILL])
def test_a_recording_that_is_stopped(section, cold, how):
    files = [section.with_name(f'long{i}.py') for i in range(3)]  # more than there are workers on a small machine
    for file in files:
        file.write_text(LONG.replace('NAME', f'{file.stem}.started'))
    files[0].with_suffix('.ipynb').write_text('old')
    running = start(*files, COLD=cold)
    while not list(section.parent.glob('*.started')):
        assert running.poll() is None
        time.sleep(0.1)
    time.sleep(0.3)
    os.killpg(running.pid, how)  # as the terminal does at Ctrl-C
    _, said = running.communicate(timeout=200)
    if how == signal.SIGINT:
        assert running.returncode == 130 and 'Traceback' not in said
        assert 'Stopped in chapter/long' in said and 'cell 2 (import time ...)' in said and 'make record goes on' in said
    assert left(section.parent) == []
    files = {p.name for p in section.parent.iterdir() if p.suffix != '.started'}
    assert files == {'section.py', 'long0.py', 'long1.py', 'long2.py', 'long0.ipynb'}
    assert files and section.with_name('long0.ipynb').read_text() == 'old'


def test_one_that_fails_stops_no_other(section):
    files = {name: section.with_name(f'{name}.py') for name in ('dies', 'damaged', 'broken')}
    files['dies'].write_text('# %%\nimport os\n\n# %%\nos._exit(1)\n')
    files['damaged'].write_text(GOOD)
    files['damaged'].with_suffix('.ipynb').write_bytes('{"cells": [{"source": "é'.encode()[:-1])
    files['broken'].write_bytes(b'# %%\n\xff\n')
    said, errors = start(section, *files.values()).communicate(timeout=300)
    assert 'chapter/dies: NOT RECORDED: chapter/dies, cell 2 (os._exit(1) ...): the kernel died' in said, said + errors
    assert 'chapter/broken: NOT RECORDED: UnicodeDecodeError' in said and 'Traceback' not in errors
    assert 'chapter/section: 2 cells new' in said and 'chapter/damaged: 2 cells new' in said and '2 not recorded' in errors
    assert left(section.parent) == []


def test_a_full_disk_leaves_the_old_notebook(section, monkeypatch):
    record.record(section)
    target = section.with_suffix('.ipynb')
    before, whole = target.read_bytes(), notebooks.replace
    section.write_text(GOOD + '\n# %%\nprint("x" * 300_000)\n')

    def limited(*arguments):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))  # the write itself fails, after a part
        try:
            whole(*arguments)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    monkeypatch.setattr(notebooks, 'replace', limited)
    with pytest.raises(record.Refused, match='section.ipynb could not be written .*File too large.* the old one is untouched'):
        record.record(section)
    assert target.read_bytes() == before
    assert {p.name for p in section.parent.iterdir()} == {'section.py', 'section.ipynb'}


def test_changed_pictures_are_written(section, monkeypatch):
    monkeypatch.setattr(notebooks, 'ROOT', section.parent)
    code = '# %%\nimport matplotlib.pyplot as plt\nplt.figure(figsize=(2, 2))\nplt.plot([0, 1]);\n'
    section.write_text(code)
    record.record(section)
    section.write_text(code.replace('[0, 1]', '[1, 0]'))
    first, cell, kind, *lines = record.record(section).splitlines()
    assert first.startswith('1 cells new or edited') and cell == '  cell 1 (import matplotlib.pyplot as plt ...)'
    assert kind == '    image/svg+xml:' and 'axes 1, line2d 1: moved by up to ' in ''.join(lines)
    assert sorted(p.name for p in (section.parent / '_build' / 'differences').iterdir()) == [
        f'chapter-section-cell1-0-{what}.svg' for what in ('got', 'stored')]
    assert record.record(section) == 'unchanged'
