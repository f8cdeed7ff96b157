"""Do the stored outputs hold under other conditions? `python -m nbutils.maintain.portable [FILE.ipynb ...]` runs notebooks
(all, if none is named) under each and prints a table: how many cells of each notebook differ. Kernels are forked,
but for `cold kernels` and `two threads`, as a process with threads cannot be forked. Where no notebook is named, stored
trainings are audited, too: their parameters are compared, for a loss can agree where parameters do not.
"""
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from nbutils import device
from nbutils.maintain import environment, notebooks

MET = 1e-9  # how far parameters may be apart, as a share of the largest, where float64 takes the same steps
CONDITIONS = {
    'as recorded': {},
    'two threads': {'OMP_NUM_THREADS': '2', 'MKL_NUM_THREADS': '2', 'OPENBLAS_NUM_THREADS': '2',
                    'OMP_WAIT_POLICY': 'PASSIVE'},  # by default one that waits computes, too: four times the work
    'AVX2': {'ATEN_CPU_CAPABILITY': 'avx2', 'ONEDNN_MAX_CPU_ISA': 'AVX2', 'MKL_CBWR': 'AVX2', 'OPENBLAS_CORETYPE': 'Haswell',
             'NPY_DISABLE_CPU_FEATURES': 'X86_V4 AVX512_ICL AVX512_SPR'},
    'oldest': {'ATEN_CPU_CAPABILITY': 'default', 'ONEDNN_MAX_CPU_ISA': 'SSE41', 'MKL_CBWR': 'COMPATIBLE',
               'OPENBLAS_CORETYPE': 'Nehalem', 'NPY_DISABLE_CPU_FEATURES': 'X86_V3 X86_V4 AVX512_ICL AVX512_SPR'},
    'cold kernels': {'COLD': '1'},
}


def differences(files, condition):
    """For each notebook, the cells that fail or differ under extra environment variables, by number.

    Raises RuntimeError where the run itself broke.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / 'report.xml'
        done = subprocess.run(
            [sys.executable, '-m', 'pytest', '-q', '-p', 'nbutils.maintain.rerun', '--nbval', '--nbval-current-env',
             '--nbval-cell-timeout', '300', '-n', str(os.cpu_count() or 1), '--dist', 'loadfile', f'--junitxml={report}',
             f'--rootdir={notebooks.ROOT}', *map(str, files)],
            env=os.environ | condition, cwd=notebooks.ROOT, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stdout + done.stderr)
        cases = ElementTree.parse(report).iter('testcase')
    found = {notebooks.name(path): [] for path in files}
    for case in cases:
        if any(child.tag in ('failure', 'error', 'skipped') for child in case):
            found['/'.join(case.get('classname').split('.')[-3:-1])].append(case.get('name').split()[-1])
    return found


def audits(condition):
    """For each stored training, how far from the stored parameters the steps end that are taken again, as a share of the
    largest, under extra environment variables. Raises RuntimeError where the run itself broke."""
    code = 'import json; from nbutils.maintain import weights; print(json.dumps(weights.audits()))'
    fixed = {name: os.environ.get(name, value) for name, value in environment.FIXED.items()}
    done = subprocess.run([sys.executable, '-c', code], env=os.environ | fixed | condition, cwd=notebooks.ROOT,
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    files = [Path(f).resolve() for f in sys.argv[1:]] or [p.with_suffix('.ipynb') for p in notebooks.sources()]
    files = [file for file in files if file.is_file()]
    columns, missed = {}, []
    for title, condition in CONDITIONS.items():
        columns[title] = differences(files, condition)
        print(f'{title}: {sum(map(len, columns[title].values()))} cells differ', flush=True)
        for name, cells in columns[title].items():
            if cells:
                print(f'  {name}: code cells {", ".join(cells)}', flush=True)
        for name, apart in ({} if sys.argv[1:] else audits(condition)).items():
            print(f'  weights {name}: parameters {apart:.0e} apart', flush=True)
            missed += [name] * (not apart < MET)
    names = [notebooks.name(path) for path in files]
    width = max(map(len, names))
    print('\nCells that differ:\n' + ' ' * width, *(f'{title:>13}' for title in columns))
    for name in names:
        print(f'{name:{width}}', *(f'{len(column[name]) or "-":>13}' for column in columns.values()))
    gpu = device.best().type
    print(f'{len(names)} notebooks, {len(columns)} conditions; '
          + (f'sections that choose a device ran on {gpu}.' if gpu != 'cpu' else 'no GPU was used.'))
    if any(cells for column in columns.values() for cells in column.values()):
        sys.exit('Print fewer digits, or the conclusion: what differs hangs on the machine.')
    if missed:
        sys.exit(f'{", ".join(sorted({*missed}))} misses its stored parameters: look for one whose gradient is zero but for '
                 'rounding, such as a bias before a normalization.')


if __name__ == '__main__':
    main()
