"""What hangs on the machine is found, and where: on real runs."""
import os
import sys

import nbformat
import pytest

from nbutils.maintain import notebooks, portable

THREADS = 'import os\nprint("threads:", os.environ["OMP_NUM_THREADS"])'


@pytest.fixture
def files(tmp_path):
    for name, code, printed in (('good', 'print(1)', '1'), ('bound', THREADS, 'threads: 1')):
        cells = [nbformat.v4.new_code_cell('a = 1', execution_count=1), nbformat.v4.new_code_cell(
            code, execution_count=2, outputs=[nbformat.v4.new_output('stream', text=f'{printed}\n')])]
        path = tmp_path / 'chapter' / f'{name}.ipynb'
        path.parent.mkdir(exist_ok=True)
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return sorted(path.parent.iterdir())


@pytest.fixture(autouse=True)
def one_worker(monkeypatch):
    """Each worker of pytest takes seconds to start."""
    monkeypatch.setattr(os, 'cpu_count', lambda: 1)


def test_cells_that_hang_on_a_condition_are_found(files, monkeypatch):
    monkeypatch.setattr(notebooks, 'ROOT', files[0].parents[1])
    assert portable.differences(files, {'OMP_NUM_THREADS': '2'}) == {'chapter/bound': ['1'], 'chapter/good': []}


def test_what_was_found_is_printed(files, monkeypatch, capsys):
    monkeypatch.setattr(portable, 'CONDITIONS', {'as recorded': {}, 'two threads': {'OMP_NUM_THREADS': '2'}})
    monkeypatch.setattr(portable, 'differences', lambda files, condition: {
        'chapter/bound': ['1'] * bool(condition), 'chapter/good': []})
    monkeypatch.setattr(sys, 'argv', ['portable', *map(str, files)])
    with pytest.raises(SystemExit, match='Print fewer digits'):
        portable.main()
    said = capsys.readouterr().out
    assert 'as recorded: 0 cells differ' in said and 'two threads: 1 cells differ\n  chapter/bound: code cells 1\n' in said
    rows = [line.split() for line in said.splitlines() if line.startswith('chapter/')]
    assert rows == [['chapter/bound', '-', '1'], ['chapter/good', '-', '-']]
    assert '2 notebooks, 2 conditions; ' in said and ('GPU' in said or 'cuda' in said)


def test_a_run_that_breaks_is_no_success(tmp_path):
    with pytest.raises(RuntimeError, match='no tests ran'):
        portable.differences([tmp_path / 'lost.ipynb'], {'COLD': '1'})


def test_parameters_of_stored_trainings_are_compared():
    apart = portable.audits(portable.CONDITIONS['two threads'])
    assert 'alice_gru' in apart and 0 <= max(apart.values()) < portable.MET


def test_an_audit_that_breaks_is_no_success():
    with pytest.raises(RuntimeError, match='nowhere'):
        portable.audits({'PYTHONPATH': '', 'PYTHONSTARTUP': '', 'PYTHONHOME': '/nowhere'})


def test_a_training_that_misses_is_named(monkeypatch, capsys):
    monkeypatch.setattr(portable, 'CONDITIONS', {'as recorded': {}})
    monkeypatch.setattr(portable, 'differences', lambda files, condition: {notebooks.name(path): [] for path in files})
    monkeypatch.setattr(portable, 'audits', lambda condition: {'good': 1e-15, 'bad': float('nan')})
    monkeypatch.setattr(sys, 'argv', ['portable'])
    with pytest.raises(SystemExit, match='bad misses its stored parameters'):
        portable.main()
    assert 'weights good: parameters 1e-15 apart' in capsys.readouterr().out


def test_conditions_name_all_three_libraries_that_have_threads_or_instruction_sets():
    assert {'OMP_NUM_THREADS', 'MKL_NUM_THREADS', 'OPENBLAS_NUM_THREADS'} < set(portable.CONDITIONS['two threads'])
    for name in ('AVX2', 'oldest'):
        assert {'ATEN_CPU_CAPABILITY', 'ONEDNN_MAX_CPU_ISA', 'MKL_CBWR', 'OPENBLAS_CORETYPE'} < set(portable.CONDITIONS[name])
