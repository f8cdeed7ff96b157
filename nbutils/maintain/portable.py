"""Do the stored outputs hold under other conditions? `python -m nbutils.maintain.portable` runs all notebooks under each
and prints a table: how many cells of each notebook differ.
"""
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from nbutils.maintain import notebooks

CONDITIONS = {
    'as recorded': {},
    'two threads': {'OMP_NUM_THREADS': '2', 'MKL_NUM_THREADS': '2', 'OPENBLAS_NUM_THREADS': '2'},
    'AVX2': {'ATEN_CPU_CAPABILITY': 'avx2', 'ONEDNN_MAX_CPU_ISA': 'AVX2', 'MKL_CBWR': 'AVX2', 'OPENBLAS_CORETYPE': 'Haswell',
             'NPY_DISABLE_CPU_FEATURES': 'X86_V4 AVX512_ICL AVX512_SPR'},
    'oldest': {'ATEN_CPU_CAPABILITY': 'default', 'ONEDNN_MAX_CPU_ISA': 'SSE41', 'MKL_CBWR': 'COMPATIBLE',
               'OPENBLAS_CORETYPE': 'Nehalem', 'NPY_DISABLE_CPU_FEATURES': 'X86_V3 X86_V4 AVX512_ICL AVX512_SPR'},
    'cold kernels': {'COLD': '1'},
}


def differences(condition):
    """For each notebook, the number of cells that fail or differ under extra environment variables.

    Raises RuntimeError where the run itself broke.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / 'report.xml'
        done = subprocess.run(
            [sys.executable, '-m', 'pytest', '-q', '--nbval', '--nbval-current-env', '--nbval-cell-timeout', '300', '-n',
             str(os.cpu_count() or 1), '--dist', 'loadfile', f'--junitxml={report}', 'notebooks'],
            env=os.environ | condition, cwd=notebooks.ROOT, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stdout + done.stderr)
        cases = ElementTree.parse(report).iter('testcase')
    found = Counter({notebooks.name(path): 0 for path in notebooks.sources()})
    for case in cases:
        _, chapter, section, *_ = (case.get('classname') or case.get('name')).replace('/', '.').split('.')
        found[f'{chapter}/{section}'] += any(child.tag in ('failure', 'error', 'skipped') for child in case)
    return found


def main():
    columns = {}
    for title, condition in CONDITIONS.items():
        columns[title] = differences(condition)
        print(f'{title}: {sum(columns[title].values())} cells differ', flush=True)
    names = [notebooks.name(path) for path in notebooks.sources()]
    width = max(map(len, names))
    print('\n' + ' ' * width, *(f'{title:>13}' for title in columns))
    for name in names:
        print(f'{name:{width}}', *(f'{column[name]:>13}' for column in columns.values()))
    if any(sum(column.values()) for column in columns.values()):
        sys.exit('Print fewer digits, or the conclusion: what differs hangs on the machine.')


if __name__ == '__main__':
    main()
