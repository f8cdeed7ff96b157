"""How fast the book is re-executed: `python -m nbutils.maintain.bench [FILE.ipynb ...]`.

Three runs of the same cells with the same number of workers, one after the other: the cells alone, in processes that hold
all imports, figures drawn as a notebook draws them; the run of `make test`, outputs compared; and nbval as it comes, with
a new kernel for each notebook and figures not compared. Ratios hold on other machines, seconds do not. Beside the time
that passed stands the time of the processors, which other work on the machine disturbs less.
"""
import collections
import contextlib
import importlib
import io
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from nbutils.maintain import environment, notebooks, rerun, warm

WORKERS = os.cpu_count() or 1
TO_ALONE, TO_NBVAL = 1.2, 0.5  # the goals: at most so many times the cells alone, and nbval as it comes
BUSY = 0.85  # below this share of the processors, the machine was doing other work, or waited

Run = collections.namedtuple('Run', 'seconds processor cells kernels failed')  # kernels: processor seconds in them
Cell = collections.namedtuple('Cell', 'notebook number seconds')


@contextlib.contextmanager
def clock():
    """Gives a function: (seconds, processor seconds of the processes that have ended) since the beginning."""
    def now():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.perf_counter(), used.ru_utime + used.ru_stime

    start = now()
    yield lambda: [b - a for a, b in zip(start, now(), strict=True)]


def cells_alone(files):
    """Execute the code cells of notebooks in forked processes that hold all imports; gives a Run."""
    for module in warm.PRELOAD:
        importlib.import_module(module)
    with clock() as passed, multiprocessing.get_context('fork').Pool(WORKERS, maxtasksperchild=1) as pool:
        cells = [cell for part in pool.imap_unordered(_run, longest_first(files), chunksize=1) for cell in part]
        pool.close()
        pool.join()
        seconds, processor = passed()
    return Run(seconds, processor, cells, processor, [])


def longest_first(files):
    """The order in which `rerun` executes notebooks."""
    return sorted(files, key=lambda file: -(rerun.stated(notebooks.read(file.with_suffix('.py'))) or 0))


def _run(file):
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
        found.append(Cell(notebooks.name(file), number, time.perf_counter() - start))
    return found


def by_nbval(files, *options, **extra):
    """Run nbval over notebooks; gives a Run. Raises RuntimeError if it breaks."""
    with tempfile.TemporaryDirectory() as folder, clock() as passed:
        report = Path(folder) / 'report.xml'
        done = subprocess.run(
            [sys.executable, '-m', 'pytest', '-q', '--nbval', '--nbval-current-env', '--nbval-cell-timeout', '300',
             '-n', str(WORKERS), '--dist', 'loadfile', *options, f'--junitxml={report}',
             f'--rootdir={notebooks.ROOT}', *map(str, files)],
            env=os.environ | extra, cwd=notebooks.ROOT, capture_output=True, text=True)
        seconds, processor = passed()
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stdout + done.stderr)
        cases = list(ElementTree.parse(report).iter('testcase'))
    cells = [Cell('/'.join(case.get('classname').split('.')[-3:-1]), int(case.get('name').split()[-1]),
                  float(case.get('time'))) for case in cases]
    kernels = sum(float(found.get('value')) for case in cases for found in case.iter('property')
                  if found.get('name') == 'kernel')
    failed = [line for line in done.stdout.splitlines() if line.startswith(('FAILED', 'ERROR'))]
    return Run(seconds, processor, cells, kernels, failed)


def start_alone():
    """(seconds, processor seconds) of the same command where there is no notebook to execute, and of a server's start."""
    with tempfile.TemporaryDirectory() as folder, clock() as passed:
        subprocess.run([sys.executable, '-m', 'pytest', '-q', '-p', 'nbutils.maintain.rerun', '--nbval', '-n', str(WORKERS),
                        folder], env=os.environ, cwd=notebooks.ROOT, capture_output=True)
        return passed()


def line(title, run):
    busy = run.processor / run.seconds / WORKERS
    return f'{title:36} {run.seconds:7.1f} s, {run.processor:7.1f} s of processors ({busy:.0%} busy with it)'


def verdict(what, run, other, goal):
    by_time, by_work = run.seconds / other.seconds, run.processor / other.processor
    reached = 'reached' if by_time <= goal else 'NOT REACHED'
    return f'{what}: {by_time:.2f} (goal {goal}: {reached}); counted in processor time {by_work:.2f}'


def largest(cells, most=10):
    """The slowest notebooks and cells as lines of text."""
    books = collections.Counter()
    for name, _, seconds in cells:
        books[name] += seconds
    yield 'slowest notebooks: ' + ', '.join(f'{name} {seconds:.1f} s' for name, seconds in books.most_common(most))
    yield 'slowest cells: ' + ', '.join(
        f'{c.notebook} cell {c.number} {c.seconds:.1f} s' for c in sorted(cells, key=lambda c: -c.seconds)[:most])


def main():
    environment.fix()
    files = [Path(f).resolve() for f in sys.argv[1:]] or [p.with_suffix('.ipynb') for p in notebooks.sources()]
    files = [file for file in files if file.is_file()]
    alone = cells_alone(files)
    print(f'{len(alone.cells)} cells of {len(files)} notebooks, {WORKERS} workers; '
          f'in cells {sum(c.seconds for c in alone.cells):.1f} s')
    print(line('the cells alone, imports done:', alone), flush=True)
    ours = by_nbval(files, '-p', 'nbutils.maintain.rerun')
    print(line('executed and compared (make test):', ours), *ours.failed, sep='\n', flush=True)
    start, start_work = start_alone()
    plain = by_nbval(files, '-p', 'no:nbutils.maintain.compare', COLD='1')
    print(line('nbval as it comes, plain kernels:', plain))
    print(f'overhead of make test, in processor time: {ours.processor - alone.processor:.1f} s: '
          f'{start_work:.1f} s for the start of pytest, its workers and the server of kernels ({start:.1f} s pass), '
          f'{ours.kernels - alone.processor:.1f} s in the kernels beyond the cells, '
          f'{ours.processor - ours.kernels - start_work:.1f} s for messages, comparing and reports')
    print(verdict('make test to the cells alone', ours, alone, TO_ALONE))
    print(verdict('make test to nbval as it comes', ours, plain, TO_NBVAL))
    if min(run.processor / run.seconds / WORKERS for run in (alone, ours, plain)) < BUSY:
        print('The machine was busy with other work, or waited: trust the ratios of processor time.')
    print(*largest(alone.cells), sep='\n')


if __name__ == '__main__':
    main()
