"""Execute notebooks and store their outputs: `python -m nbutils.maintain.record [--all] [--accept] [--prose] [FILE.py ...]`.

Without files, what changed since it was last recorded on this machine is recorded. Nothing is stored where a cell
fails or writes to stderr, nor where the outputs are equal to the stored ones within tolerance. What changed in outputs
is shown, with the caption, the alt text and the sentences that state its old numbers; pictures before and after, and
their difference, are written to `_build/differences`. Without `--accept`, an output that changed although no code up to
its cell did is refused: it can only come from a helper, a library or the machine. With `--prose` nothing is executed:
words, tags and alt texts enter the stored notebook, which keeps its outputs, if no code changed.
"""
import argparse
import difflib
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import nbformat

from nbutils.maintain import compare, execute, notebooks, svg, words
from nbutils.maintain.execute import Died, Kernel

CELL_SECONDS = 120
UNCHANGED = 'unchanged'
LINES = 60  # of changes in outputs are shown for one notebook
RUNNING = {}  # path -> the cell that is executed, in words; threads fill it, so that Ctrl-C can name it


class Refused(Exception):
    """Why a notebook was not recorded, as a message for the maintainer."""


def record(path, accept=False):
    """Execute the notebook of a `.py` file and store it beside it; gives lines that say what happened.

    Raises Refused, with the stored notebook left as it was, where a cell fails, and, unless `accept`, where an output
    changed that no change of the notebook's code explains.
    """
    target = path.with_suffix('.ipynb')
    notebook = executed(path)
    stored = _load(target)
    if stored is not None and _same(notebook, stored):
        return UNCHANGED
    differences = _differences(notebook, stored, path)
    if not accept and (cells := _unexplained(notebook, stored)):
        raise Refused('\n'.join([
            f'{notebooks.name(path)}, {", ".join(cells)}: the output changed, and no code of the notebook up to there did',
            *differences,
            '  A helper, a library or the machine gives another output: mend that, if the stored output is right.',
            '  If the new one is right, correct the words above that it belies, then: ACCEPT=1 make record',
        ]))
    changed = '\n'.join([_changes(notebook, stored), *differences])
    _write(target, nbformat.writes(notebook, version=nbformat.NO_CONVERT) + '\n')
    return changed


def reworded(path):
    """Store the words of a `.py` file, and its launch cell, with the outputs that are stored; gives what happened.

    Raises Refused where any other code differs from the stored one, for then the outputs may, too.
    """
    target = path.with_suffix('.ipynb')
    notebook, stored = notebooks.read(path), _load(target)
    code = [[c for c in book.cells if c.cell_type == 'code'] for book in (notebook, stored) if book]
    if len(code) < 2 or _after_launch(code[0]) != _after_launch(code[1]):
        raise Refused('code changed since it was recorded, not only words: record it without PROSE')
    for new, old in zip(*code, strict=True):
        new.outputs, new.execution_count = old.outputs, old.execution_count
    if _same(notebook, stored):
        return UNCHANGED
    _write(target, nbformat.writes(notebook, version=nbformat.NO_CONVERT) + '\n')
    return 'words changed, outputs kept'


def _after_launch(cells):
    """The sources of code cells without the launch cell, which is the first one and prints nothing."""
    launch = cells and cells[0].metadata.get('tags') == ['remove-cell']
    return [cell.source for cell in cells[1 if launch else 0:]]


def executed(path):
    """The notebook of a `.py` file with the outputs of all its cells, run in its folder; they hold nothing machine-bound."""
    notebook = notebooks.read(path)
    code = [(number, cell) for number, cell in enumerate(notebook.cells, 1) if cell.cell_type == 'code']
    with Kernel(path.parent) as kernel:
        for count, (number, cell) in enumerate(code, 1):
            where = f'{notebooks.name(path)}, cell {number} ({_first(cell)} ...)'  # as JupyterLab counts all cells
            RUNNING[path] = where
            try:
                outputs = kernel.run(cell.source, CELL_SECONDS)
            except TimeoutError:
                raise Refused(f'{where}: took more than {CELL_SECONDS} s') from None
            except Died as error:
                raise Refused(f'{where}: {error}') from None
            finally:
                RUNNING.pop(path, None)
            for output in outputs:
                if output['output_type'] == 'error':
                    raise Refused(f'{where}: {output["ename"]}: {output["evalue"]}')
                if output.get('name') == 'stderr':
                    raise Refused(f'{where} writes to stderr: {output["text"].strip()}')
            cell.outputs = nbformat.from_dict(outputs)
            svg.normalize(cell.outputs)
            cell.execution_count = count
    return notebook


def _first(cell):
    """The first line of a cell."""
    return cell.source.strip().partition('\n')[0]


def _load(target):
    """The notebook that is stored; None where there is none, or it is damaged: then it is made anew."""
    try:
        return nbformat.read(target, as_version=4)
    except (FileNotFoundError, ValueError, KeyError, AttributeError, nbformat.ValidationError):
        return None


def _same(notebook, stored):
    return (
        notebooks.cells_of(notebook) == notebooks.cells_of(stored)
        and notebook.metadata.get('book') == stored.metadata.get('book')
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


def _unexplained(notebook, stored):
    """The cells, in words, whose outputs changed although neither their source nor that of a cell before them did."""
    found = []
    code = [[(i, c) for i, c in enumerate(book.cells, 1) if c.cell_type == 'code'] for book in (notebook, stored) if book]
    for (number, new), (_, old) in zip(*code, strict=False) if stored else ():
        if new.source != old.source:
            break
        if compare.align(new.outputs, old.outputs) != old.outputs:
            found.append(f'cell {number} ({_first(new)} ...)')
    return found


def _differences(notebook, stored, path):
    """What changed in the outputs of the cells that were stored before, and the words about it, as indented lines."""
    folder, lines = notebooks.ROOT / '_build' / 'differences', []
    for number, new, old in _pairs(notebook.cells, stored.cells if stored else []):
        name = f'{path.parent.name}-{path.stem}-cell{number}'
        if found := list(compare.differences(new.outputs, old.outputs, folder, name)):
            found += _words(notebook.cells, number - 1, old.outputs)
            lines += [f'  cell {number} ({_first(new)} ...)', *('    ' + line for line in found)]
    return lines[:LINES] + [f'  ... and {len(lines) - LINES} more lines'] * (len(lines) > LINES)


def _words(cells, index, old):
    """What readers are told of a changed output: caption, alt text, the sentences of its part that state its old numbers."""
    before, now = words.shown_by(old), words.shown_by(cells[index].outputs)
    for kind, sentence in words.beside(cells, index):
        stated = [number for number in words.numbers(sentence, small=True) if number.among(before)]
        gone = [number.text for number in stated if not number.among(now)]
        if kind != 'prose' or gone or any(number.counts for number in stated):
            yield f'{kind}: {sentence}' + (f' [no longer there: {", ".join(gone)}]' if gone else '')


def _pairs(new, old):
    """(number, new cell, old cell) of the code cells that were there before, edited or not."""
    match = difflib.SequenceMatcher(None, [c.get('id') for c in old], [c.get('id') for c in new], autojunk=False)
    for what, start, end, first, last in match.get_opcodes():
        if what in ('equal', 'replace'):
            for i, j in zip(range(start, end), range(first, last), strict=False):
                if new[j].cell_type == old[i].cell_type == 'code':
                    yield j + 1, new[j], old[i]


def _write(target, text):
    try:
        notebooks.replace(target, text)
    except OSError as error:
        raise Refused(f'{target.name} could not be written ({error}); the old one is untouched') from None


def _one(path, accept, prose):
    start = time.perf_counter()
    try:
        said, good = reworded(path) if prose else record(path, accept), True
    except Refused as error:
        said, good = f'NOT RECORDED: {error}', False
    except Exception as error:  # the others are recorded all the same
        said, good = f'NOT RECORDED: {type(error).__name__}: {error}', False
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
    parser.add_argument('--accept', action='store_true', help='store outputs that changed by themselves, too')
    parser.add_argument('--prose', action='store_true', help='take over words, execute nothing; refused where code changed')
    arguments = parser.parse_args(argv)
    todo = _chosen(arguments)
    for path, why in todo.items():
        if not path.is_file():
            parser.error(f'there is no {path}')
        print(f'{notebooks.name(path)}: {", ".join(why)}')
    if not todo:
        print('Nothing to record: no notebook changed since it was last recorded (all: make record ALL=1).')
    if not arguments.prose:
        if todo and (reason := execute.cold()):
            print(f'Plain kernels, which take longer: {reason}.')
        execute.preload(todo)
    try:
        failed = record_all(todo, arguments.accept, arguments.prose)
    except KeyboardInterrupt:
        for where in list(RUNNING.values()):
            print(f'Stopped in {where}', file=sys.stderr)
        print('Stopped. Each stored notebook is whole, old or new; make record goes on with the rest.', file=sys.stderr)
        os._exit(130)  # with its threads; kernels end with this process
    if failed:
        sys.exit(f'{failed} not recorded; mend the cell named above, then make record again')


def record_all(todo, accept=False, prose=False):
    """Record notebooks, as many at once as there are processors; gives how many failed.

    By threads, because processes in their place would go on with the next notebook after Ctrl-C.
    """
    failed, pool = 0, ThreadPoolExecutor(max_workers=min(len(todo), os.cpu_count() or 1) or 1)
    for done, job in enumerate(as_completed([pool.submit(_one, p, accept, prose) for p in todo]), 1):
        path, good, said, seconds = job.result()
        first, *more = said.splitlines()
        print(f'[{done}/{len(todo)}] {notebooks.name(path)}: {first} ({seconds:.1f} s)', *more, sep='\n', flush=True)
        failed += not good
        if good and not prose:  # what was not executed, make test still executes
            _remember(path)
    return failed


def _remember(path):
    if not path.is_relative_to(notebooks.NOTEBOOKS):
        return
    try:
        notebooks.remember([path])
    except OSError as error:
        print(f'That this is recorded could not be noted ({error}): make test executes it again.')


if __name__ == '__main__':
    main()
