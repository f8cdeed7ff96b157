"""Execute notebooks and store their outputs: `python -m nbutils.maintain.record [--all] [FILE.py ...]`.

Without files, what changed since it was last recorded on this machine is recorded. Nothing is stored where a cell
fails or writes to stderr, nor where the outputs are equal to the stored ones within tolerance.
"""
import argparse
import base64
import io
import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from PIL import Image

from nbutils.maintain import compare, environment, notebooks, warm

CELL_SECONDS = 120


class Refused(Exception):
    """Why a notebook was not recorded, as a message for the maintainer."""


def record(path):
    """Execute the notebook of a `.py` file and store it beside it; gives a line that says what happened.

    Raises Refused, with the stored notebook left as it was, where a cell fails.
    """
    target = path.with_suffix('.ipynb')
    notebook = execute(notebooks.read(path), path)
    stored = _load(target)
    if stored is not None and _same(notebook, stored):
        return 'unchanged'
    changed = _changes(notebook, stored)
    _write(target, nbformat.writes(notebook, version=nbformat.NO_CONVERT) + '\n')
    return changed


def execute(notebook, path):
    """Run all cells in the notebook's folder, in the fixed environment; outputs hold nothing machine-bound."""
    environment.fix()
    running = [0]
    client = NotebookClient(
        notebook, timeout=CELL_SECONDS, kernel_name='python3', record_timing=False,
        resources={'metadata': {'path': str(path.parent)}}, coalesce_streams=True,
        on_cell_execute=lambda cell, cell_index: running.append(cell_index),
    )
    try:
        client.execute(stderr=subprocess.DEVNULL)  # what the kernel program itself says is not the notebook's
    except CellExecutionError as error:
        raise Refused(f'{_where(notebook, path, running[-1])}: {error.ename}: {error.evalue}') from None
    except CellTimeoutError:
        raise Refused(f'{_where(notebook, path, running[-1])}: took more than {CELL_SECONDS} s') from None
    except DeadKernelError:
        raise Refused(f'{_where(notebook, path, running[-1])}: the kernel died') from None
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type == 'code':
            cell.metadata.pop('execution', None)
            for output in cell.outputs:
                if output.get('name') == 'stderr':
                    raise Refused(f'{notebooks.name(path)}, cell {number} writes to stderr: {output.text.strip()}')
                if 'image/png' in output.get('data', {}):
                    output.data['image/png'] = _bare_png(output.data['image/png'])
    return notebook


def _where(notebook, path, index):
    """A cell by its number, as JupyterLab counts all cells, and its first line."""
    return f'{notebooks.name(path)}, cell {index + 1} ({notebook.cells[index].source.strip().splitlines()[0]} ...)'


def _bare_png(png):
    """The same picture without metadata (matplotlib writes its version into it), packed tightly."""
    file = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(png))).save(file, 'PNG', optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def _load(target):
    try:
        return nbformat.read(target, as_version=4)
    except FileNotFoundError:
        return None
    except (nbformat.reader.NotJSONError, nbformat.ValidationError):
        return None  # damaged: it is made anew


def _same(notebook, stored):
    return (
        notebooks.cells_of(notebook) == notebooks.cells_of(stored)
        and [c.get('id') for c in notebook.cells] == [c.get('id') for c in stored.cells]
        and all(
            compare.align(new.outputs, old.outputs) == old.outputs and new.execution_count == old.execution_count
            for new, old in zip(notebook.cells, stored.cells, strict=True) if new.cell_type == 'code'
        )
    )


def _changes(notebook, stored):
    old = {c.get('id'): c.get('outputs') for c in stored.cells} if stored else {}
    code = [c for c in notebook.cells if c.cell_type == 'code']
    fresh = sum(c.id not in old for c in code)
    other = sum(c.id in old and compare.align(c.outputs, old[c.id] or []) != old[c.id] for c in code)
    return f'{fresh} cells new or edited, {other} others with changed outputs'


def _write(target, text):
    try:
        notebooks.replace(target, text)
    except OSError as error:
        raise Refused(f'{target.name} could not be written ({error}); the old one is untouched') from None


def _one(path):
    start = time.perf_counter()
    try:
        said, good = record(path), True
    except Refused as error:
        said, good = f'NOT RECORDED: {error}', False
    return path, good, said, time.perf_counter() - start


def _chosen(arguments):
    """The notebooks to record, with the reason of each."""
    if arguments.files:
        return {Path(f).resolve().with_suffix('.py'): ['asked for'] for f in arguments.files}
    known = {} if arguments.all else notebooks.seen()
    reasons = {path: notebooks.why(path, known) for path in notebooks.sources()}
    return {path: ['all'] if arguments.all else why for path, why in reasons.items() if why}


def main(argv=None):
    parser = argparse.ArgumentParser(description='Execute notebooks and store their outputs.')
    parser.add_argument('files', nargs='*', help='.py files of notebooks; without any, those that changed')
    parser.add_argument('--all', action='store_true', help='all notebooks, changed or not')
    arguments = parser.parse_args(argv)
    todo = _chosen(arguments)
    for path, why in todo.items():
        if not path.is_file():
            parser.error(f'there is no {path}')
        print(f'{notebooks.name(path)}: {", ".join(why)}')
    if not todo:
        print('Nothing to record: no notebook changed since it was last recorded (all: make record ALL=1).')
    failed = 0
    if todo and (reason := warm.enable()):
        print(f'Plain kernels, which take longer: {reason}.')
    with ProcessPoolExecutor(max_workers=min(len(todo), os.cpu_count() or 1) or 1) as pool:
        for done, job in enumerate(as_completed([pool.submit(_one, p) for p in todo]), 1):
            path, good, said, seconds = job.result()
            print(f'[{done}/{len(todo)}] {notebooks.name(path)}: {said} ({seconds:.1f} s)', flush=True)
            if good:
                notebooks.remember([path])
            failed += not good
    if failed:
        sys.exit(f'{failed} not recorded; mend the cell named above, then make record again')


if __name__ == '__main__':
    main()
