"""When outputs count as the same: text exactly, floats within a tolerance, figures as pictures. Also the pytest plugin
that teaches this to nbval, which by itself compares numbers as text and figures not at all.
"""
import base64
import copy
import io
import re
from pathlib import Path

import numpy as np
from PIL import Image

RTOL = 1e-3  # beside one unit of the last digit that is printed
BLOCK = 16  # pixels; pictures are compared block by block, so that a small change is not lost in a large picture
# Root mean square of the difference in grey levels (0 to 255), over the picture and over its worst block.
# Measured on the book's own style: tests/unit/test_compare.py shows what these limits reject and accept.
PICTURE_RMS, PICTURE_BLOCK = 3.0, 18.0

_NUMBER = re.compile(r'(?<![\w.])[-+−]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w])')


def same_number(got, stored):
    """Whether two printed numbers agree: integers exactly, floats to one unit of the last digit plus RTOL."""
    if not any(re.search('[.eE]', text) for text in (got, stored)):
        return got == stored
    a, b = (float(text.replace('−', '-')) for text in (got, stored))
    return abs(a - b) <= 1.01 * min(_unit(text) for text in (got, stored)) + RTOL * abs(b)


def _unit(text):
    """The value of one unit in the last printed digit of a float."""
    mantissa, _, exponent = text.lower().partition('e')
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition('.')[2]))


def same_text(got, stored):
    """Whether two texts agree: the words exactly, blanks up to their number, numbers as in `same_number`."""
    numbers = [_NUMBER.findall(text) for text in (got, stored)]
    return (
        _words(got) == _words(stored) and len(numbers[0]) == len(numbers[1])
        and all(map(same_number, *numbers))
    )


def _words(text):
    return re.sub(r' +', ' ', _NUMBER.sub(' # ', text)).strip()


def picture_distance(got, stored):
    """How far two PNGs (base64) differ, as (rms, rms of the worst block) in grey levels; inf where the sizes differ."""
    a, b = (_pixels(png) for png in (got, stored))
    if a.shape != b.shape:
        return np.inf, np.inf
    square = ((a - b) ** 2).mean(-1)
    square = np.pad(square, [(0, -n % BLOCK) for n in square.shape])
    rows, columns = (n // BLOCK for n in square.shape)
    blocks = square.reshape(rows, BLOCK, columns, BLOCK).mean((1, 3))
    return blocks.mean() ** 0.5, blocks.max() ** 0.5


def same_picture(got, stored):
    """Whether two PNGs (base64) show the same figure."""
    rms, worst = picture_distance(got, stored)
    return rms <= PICTURE_RMS and worst <= PICTURE_BLOCK


def _pixels(png):
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert('RGBA')
    return np.asarray(Image.alpha_composite(Image.new('RGBA', picture.size, 'white'), picture).convert('RGB'), float)


def align(got, stored):
    """The outputs `got`, with each value that agrees with the `stored` one replaced by it.

    So outputs agree exactly when `align(got, stored)` equals `stored`. Both are lists of notebook outputs.
    """
    got = copy.deepcopy(got)
    for new, old in zip(got, stored, strict=False):
        if new['output_type'] != old['output_type']:
            break
        for values, known in ((new, old), (new.get('data', {}), old.get('data', {}))):
            for key in values.keys() & known.keys() - {'data', 'metadata'}:
                if _same(key, values[key], known[key]):
                    values[key] = known[key]
    return got


def _same(key, got, stored):
    if key == 'image/png':
        return same_picture(got, stored)
    if isinstance(got, str) and isinstance(stored, str):
        return same_text(got, stored)
    return got == stored


def show_difference(got, stored, folder, name):
    """Write two PNGs (base64) and their difference as files into `folder`; gives a line that says where."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for what, png in (('got', got), ('stored', stored)):
        (folder / f'{name}-{what}.png').write_bytes(base64.b64decode(png))
    a, b = (_pixels(png) for png in (got, stored))
    if a.shape != b.shape:
        return f'pictures of different size: {folder}/{name}-{{got,stored}}.png'
    Image.fromarray((255 - abs(a - b)).astype(np.uint8)).save(folder / f'{name}-difference.png')
    rms, worst = picture_distance(got, stored)
    return (
        f'pictures differ by {rms:.1f} (limit {PICTURE_RMS:g}), in one block by {worst:.1f} (limit {PICTURE_BLOCK:g}): '
        f'{folder}/{name}-{{got,stored,difference}}.png'
    )


def pytest_configure(config):
    """Let nbval compare with `align`, in the fixed environment."""
    from nbval import kernel, plugin

    from nbutils.maintain import environment

    environment.fix()
    exactly = plugin.IPyNbCell.compare_outputs
    folder = config.rootpath / '_build' / 'differences'

    def compare_outputs(cell, test, ref, skip_compare=None):
        test, ref = (plugin.coalesce_streams(outputs) for outputs in (test, ref))
        skip = tuple(key for key in cell.parent.skip_compare if key not in ('image/png', 'image/jpeg'))
        aligned = align(test, ref)
        same = exactly(cell, aligned, ref, skip)
        if not same:
            cell.comparison_traceback += _pictures_that_differ(cell, aligned, ref, folder)
        return same

    def execute_cell_input(running, source, allow_stdin=None):
        # with history, as JupyterLab does: without it a closing semicolon would not silence a cell
        return running.kc.execute(source, allow_stdin=allow_stdin, store_history=True, stop_on_error=False)

    plugin.IPyNbCell.compare_outputs = compare_outputs
    kernel.RunningKernel.execute_cell_input = execute_cell_input


def _pictures_that_differ(cell, got, stored, folder):
    stem = Path(str(cell.parent.path)).stem
    for i, (new, old) in enumerate(zip(got, stored, strict=False)):
        a, b = (output.get('data', {}).get('image/png') for output in (new, old))
        if a and b and a != b:
            yield show_difference(a, b, folder, f'{stem}-cell{cell.cell_num}-{i}')
