"""How fast the book is re-executed: `python -m nbutils.maintain.bench [FILE.ipynb ...]`.

Three runs of the same cells with the same number of workers, one after the other: the cells alone, in processes that hold
all imports; the run of `make test`, outputs compared; and nbval as it comes, with a new kernel for each notebook.
Ratios hold on other machines; seconds do not.
"""
import io
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from nbutils.maintain import environment, notebooks

WORKERS = os.cpu_count() or 1
NBVAL = ['--nbval', '--nbval-current-env', '--nbval-cell-timeout', '300', '-n', str(WORKERS), '--dist', 'loadfile']


def cells_alone(files):
    """Execute the code cells of notebooks in forked processes that hold all imports; gives (seconds, per cell).

    `per cell` is a list of (notebook, number of the code cell, seconds). Figures are drawn as a notebook draws them.
    """
    import importlib

    from nbutils.maintain import warm

    for module in warm.PRELOAD:
        importlib.import_module(module)
    start = time.perf_counter()
    with multiprocessing.get_context('fork').Pool(WORKERS, maxtasksperchild=1) as pool:
        cells = [cell for part in pool.imap_unordered(_run, files, chunksize=1) for cell in part]
    return time.perf_counter() - start, cells


def _run(file):
    import contextlib

    import matplotlib.pyplot as plt

    os.chdir(file.parent)
    plt.switch_backend('agg')
    names, found = {'__name__': '__main__'}, []
    code = [c for c in json.loads(file.read_text('utf-8'))['cells'] if c['cell_type'] == 'code']
    for number, cell in enumerate(code):
        start = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(''.join(cell['source']), f'{file.stem}, cell {number}', 'exec'), names)
            for figure in map(plt.figure, plt.get_fignums()):
                figure.savefig(io.BytesIO(), bbox_inches='tight')
            plt.close('all')
        found.append((notebooks.name(file), number, time.perf_counter() - start))
    return found


def by_nbval(files, *options, **extra):
    """Run nbval over notebooks; gives (seconds, per cell) as `cells_alone` does. Raises RuntimeError if it breaks."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / 'report.xml'
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, '-m', 'pytest', '-q', *NBVAL, *options, f'--junitxml={report}', *map(str, files)],
            env=os.environ | extra, cwd=notebooks.ROOT, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stdout + done.stderr)
        cases = list(ElementTree.parse(report).iter('testcase'))
    cells = [('/'.join(case.get('classname').split('.')[-3:-1]), int(case.get('name').split()[-1]), float(case.get('time')))
             for case in cases]
    return seconds, cells


def largest(cells, most=10):
    """The slowest notebooks and cells as lines of text."""
    books = {}
    for name, _, seconds in cells:
        books[name] = books.get(name, 0) + seconds
    yield 'slowest notebooks: ' + ', '.join(
        f'{name} {seconds:.1f} s' for name, seconds in sorted(books.items(), key=lambda b: -b[1])[:most])
    yield 'slowest cells: ' + ', '.join(
        f'{name} cell {number} {seconds:.1f} s' for name, number, seconds in sorted(cells, key=lambda c: -c[2])[:most])


def main():
    environment.fix()
    files = [Path(f).resolve() for f in sys.argv[1:]] or [p.with_suffix('.ipynb') for p in notebooks.sources()]
    alone, cells = cells_alone(files)
    print(f'{len(cells)} cells of {len(files)} notebooks, {WORKERS} workers')
    print(f'the cells alone, imports done:      {alone:6.1f} s', flush=True)
    ours, inside = by_nbval(files, '-p', 'nbutils.maintain.rerun')
    print(f'executed and compared (make test):  {ours:6.1f} s, {ours / alone:.2f} times the cells alone', flush=True)
    plain, cold = by_nbval(files, COLD='1')
    print(f'the same with plain kernels:        {plain:6.1f} s; make test takes {ours / plain:.2f} of it')
    in_cells, in_cold = (sum(c[2] for c in run) / WORKERS for run in (inside, cold))
    print(f'overhead of make test: {ours - in_cells:.1f} s outside cells (start of pytest and kernels, comparing), '
          f'{in_cells - alone:.1f} s inside them; imports in plain kernels: {in_cold - in_cells:.1f} s')
    print(*largest(cells), sep='\n')


if __name__ == '__main__':
    main()
