"""What `make test` says of notebooks that cannot be executed, read or compared, in real runs: each ends with a message that
names the notebook and the cell, and leaves no process.
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import nbformat
import pytest

from nbutils.maintain import notebooks, rerun
from tests.processes import left

pytestmark = pytest.mark.timeout(600)

OPENING = '# Title\n\n- **Runs in** 6 seconds.'


def notebook(path, *code, opening=OPENING):
    """Write a notebook whose cells have run and printed nothing."""
    cells = [nbformat.v4.new_code_cell(source, execution_count=i) for i, source in enumerate(code, 1)]
    path.parent.mkdir(exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(opening), *cells]), path)
    return path


@pytest.fixture
def run(tmp_path):
    """Gives a function that starts the command of `make test` over notebooks in their own project."""
    (tmp_path / 'chapter').mkdir()
    (tmp_path / 'pytest.ini').write_text('[pytest]\n')
    runs = contextlib.ExitStack()

    def start(*options, workers='0', **settings):
        running = subprocess.Popen(
            [sys.executable, '-m', 'pytest', '-q', '-p', 'nbutils.maintain.rerun',
             '--nbval', '--nbval-current-env', '--color=no', '-p', 'no:cacheprovider', '-n', workers, '--dist', 'loadfile',
             *options, 'chapter'],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
            env=os.environ | {'PYTHONPATH': str(notebooks.ROOT), 'MARK': str(tmp_path)}, **settings)
        runs.callback(running.kill)
        return running

    with runs:
        yield start
    assert left(tmp_path) == []


def test_what_cannot_be_executed_read_or_written_is_named(run, tmp_path):
    notebook(tmp_path / 'chapter' / 'dies.ipynb', 'a = 1', 'import os\nos._exit(1)', 'a')
    notebook(tmp_path / 'chapter' / 'endless.ipynb', 'import time', 'while True: time.sleep(0.1)', 'a')
    notebook(tmp_path / 'chapter' / 'stubborn.ipynb', 'import signal, time; signal.signal(2, signal.SIG_IGN)', 'time.sleep(99)')
    notebook(tmp_path / 'chapter' / 'good.ipynb', 'a = 1')
    cut = notebook(tmp_path / 'chapter' / 'cut.ipynb', 'print(1)')
    cut.write_text(cut.read_text()[:150])
    (tmp_path / 'chapter' / 'list.ipynb').write_text('[]')
    figure = notebook(tmp_path / 'chapter' / 'figure.ipynb', 'a = 1')  # it draws no longer what is stored
    stored = json.loads(figure.read_text())
    stored['cells'][1]['outputs'] = [nbformat.v4.new_output('display_data', {'image/svg+xml': '<svg/>'})]
    figure.write_text(json.dumps(stored))
    (tmp_path / '_build').write_text('')  # in the place of the folder: writing fails as on a full disk
    (tmp_path / 'conftest.py').write_text('from nbutils.maintain import execute\nexecute.INTERRUPT_SECONDS = 1')
    said, _ = run('--nbval-cell-timeout', '3', '--continue-on-collection-errors').communicate()
    lines = said.splitlines()
    for wanted in ('dies.ipynb::Cell 1', 'endless.ipynb::Cell 1', 'stubborn.ipynb::Cell 1', 'figure.ipynb::Cell 0'):
        assert [line for line in lines if line.startswith('FAILED') and wanted in line], said
    assert 'Cell 1: the kernel died' in said and 'Timeout of 3 seconds exceeded' in said
    assert 'the picture could not be written' in said and 'INTERNALERROR' not in said
    assert 'chapter/cut.ipynb cannot be read; make record makes it anew' in said
    assert 'chapter/list.ipynb cannot be read; make record makes it anew' in said
    assert 'chapter/good: 1 cells as stored' in said and 'good.ipynb' not in [line for line in lines if 'FAILED' in line]


def test_ctrl_c_names_the_cell_and_leaves_nothing(run, tmp_path):
    notebook(tmp_path / 'chapter' / 'long.ipynb', 'import pathlib, time', 'pathlib.Path("started").touch()\ntime.sleep(99)')
    running = run(workers='1')
    while not (tmp_path / 'chapter' / 'started').exists():
        assert running.poll() is None
        time.sleep(0.1)
    time.sleep(1)  # until the worker has told which cell it is at
    os.killpg(running.pid, signal.SIGINT)
    said, _ = running.communicate()
    assert running.returncode == 2 and 'Interrupted in chapter/long, Cell 1.' in said


def test_a_notebook_that_takes_longer_than_it_says(run, tmp_path):
    (tmp_path / 'conftest.py').write_text('from nbutils.maintain import rerun\nrerun.OVER /= 4')  # so that a second is too long
    quick = '# Title\n\n- **Runs in** 1 second.'
    notebook(tmp_path / 'chapter' / 'slow.ipynb', 'import time\nwhile time.process_time() < 1: pass', opening=quick)
    notebook(tmp_path / 'chapter' / 'waits.ipynb', 'import time\ntime.sleep(1)', opening=quick)
    running = run()
    said, _ = running.communicate()
    assert running.returncode == 1
    assert 'chapter/slow takes ' in said and 'its opening says 1 s' in said and 'chapter/waits takes' not in said


@pytest.mark.parametrize('opening, seconds', [
    (OPENING, 6), ('# T\n\n**Runs in** 12 seconds, in float64', 12), ('# T', None), ('**Runs in** 12 s', None),
])
def test_stated_time(opening, seconds):
    book = SimpleNamespace(nb=nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(opening)]))
    assert rerun.Notebook.stated.func(book) == seconds
