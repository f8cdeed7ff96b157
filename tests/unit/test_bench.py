import nbformat

from nbutils.maintain import bench, notebooks


def test_a_run_is_measured(tmp_path, monkeypatch):
    work = 'import time\nstart = time.process_time()\nwhile time.process_time() < start + 1: pass'
    cells = [nbformat.v4.new_code_cell(code, execution_count=i) for i, code in enumerate((work, 'a = 1', '1 / 0'), 1)]
    path = tmp_path / 'chapter' / 'section.ipynb'
    path.parent.mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    monkeypatch.setattr(notebooks, 'ROOT', tmp_path)
    run = bench.by_nbval([path], '-p', 'nbutils.maintain.rerun', COLD='1')
    assert [(c.notebook, c.number) for c in run.cells] == [('chapter/section', i) for i in range(3)]
    assert 1 <= run.kernels < run.processor and run.cells[0].seconds > 1 and run.seconds > run.cells[0].seconds
    assert len(run.failed) == 1 and 'Cell 2' in run.failed[0]  # said, not counted as fast


def test_cells_alone_draw_their_figures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    figure = nbformat.v4.new_code_cell('import matplotlib.pyplot as plt\nplt.figure(); print("silent")')
    path = tmp_path / 'section.ipynb'
    nbformat.write(nbformat.v4.new_notebook(cells=[figure, nbformat.v4.new_code_cell('assert not plt.get_fignums()')]), path)
    assert [(c.notebook, c.number) for c in bench._run(path)] == [(f'{tmp_path.name}/section', i) for i in range(2)]


def test_goals():
    slow, quick = (bench.Run(s, 2 * s, [], 0, []) for s in (13.0, 10.0))
    assert bench.verdict('a to b', slow, quick, 1.2) == 'a to b: 1.30 (goal 1.2: NOT REACHED); counted in processor time 1.30'
    assert '0.77 (goal 0.8: reached)' in bench.verdict('b to a', quick, slow, 0.8)


def test_the_slowest_come_first():
    cells = [bench.Cell('a/x', 0, 1.0), bench.Cell('a/y', 0, 1.5), bench.Cell('a/x', 1, 1.0)]
    assert list(bench.largest(cells, 2)) == [
        'slowest notebooks: a/x 2.0 s, a/y 1.5 s', 'slowest cells: a/y cell 0 1.5 s, a/x cell 0 1.0 s']


def test_longest_first(tmp_path):
    for name, seconds in (('a', 3), ('b', 9), ('c', 5)):
        (tmp_path / f'{name}.py').write_text(f'# %% [markdown]\n# # T\n# **Time** {seconds} s\n')
    files = [tmp_path / f'{name}.ipynb' for name in 'abc']
    assert [f.stem for f in bench.longest_first(files)] == ['b', 'c', 'a']
