"""When outputs count as the same: text exactly, floats within a tolerance, figures as pictures."""
import base64
import copy
import difflib
import io
import itertools
import re
from pathlib import Path

import numpy as np
from PIL import Image

PICTURES = {'image/png', 'image/jpeg'}
LINES = 20  # of a difference are shown
RTOL = 1e-3  # beside one unit of the last digit that is printed
BLOCK = 16  # pixels; pictures are compared block by block, so that a small change is not lost in a large picture
# Pictures drawn with the same fonts: root mean square of the difference in grey levels (0 to 255), over the picture and over
# its worst block. Measured on 20 figures of the book: one letter changed in a title 15 to 55 in the worst block, in a label
# 26 to 71, a curve shifted by 1 % of its axis 19 to 81, another tick 35 to 146, a transposed matrix 156 to 208.
PICTURE_RMS, PICTURE_BLOCK = 3.0, 12.0
# Pictures drawn with other hinting differ by as much, but in all their text: in 42 to 100 % of its pieces (18 % in one
# figure, which therefore fails), where a changed letter or label alters 0 to 42 %. They are compared with less: each place
# of the size of a letter may have moved by some pixels. Then other hinting gives 11 to 31, swapped colours 65 to 118, a
# curve shifted by 2 % 60 to 66; a changed letter, 20 to 36, is seen for certain only with the fonts of the recording.
# With these limits 0 of 155 faults pass in figures of the book, and other hinting passes in 55 of 60 drawings of 20 figures.
OTHER_FONTS, SHIFT, LETTER, MOVED = 0.4, 3, 9, 33.0

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


def same_picture(got, stored):
    """Whether two PNGs (base64) show the same figure, drawn with the same fonts or with others."""
    if got == stored:
        return True
    a, b = _pixels(got), _pixels(stored)
    if a.shape == b.shape:
        if (a == b).all():
            return True
        rms, worst = _distance(a, b)
        if rms <= PICTURE_RMS and worst <= PICTURE_BLOCK:
            return True
    a, b = _cut_alike(a, b)
    return a is not None and _text_that_differs(a, b) >= OTHER_FONTS and _moved_distance(a, b) <= MOVED


def picture_distance(got, stored):
    """How far two PNGs (base64) differ, as (rms, rms of the worst block) in grey levels; inf where the sizes differ."""
    a, b = _pixels(got), _pixels(stored)
    return _distance(a, b) if a.shape == b.shape else (np.inf, np.inf)


def _pixels(png):
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert('RGBA')
    picture = Image.alpha_composite(Image.new('RGBA', picture.size, 'white'), picture)
    return np.asarray(picture.convert('RGB')).astype(np.int16)


def _distance(a, b):
    square = ((a - b).astype(np.float32) ** 2).mean(-1)
    square = np.pad(square, [(0, -n % BLOCK) for n in square.shape])
    rows, columns = (n // BLOCK for n in square.shape)
    blocks = square.reshape(rows, BLOCK, columns, BLOCK).mean((1, 3))
    return blocks.mean() ** 0.5, blocks.max() ** 0.5


def _cut_alike(a, b):
    """Two pictures cut to one size, at the edges where they then agree best; None where they differ by more than SHIFT."""
    rows, columns = (min(sizes) for sizes in zip(a.shape[:2], b.shape[:2], strict=True))
    spare = [(p.shape[0] - rows, p.shape[1] - columns) for p in (a, b)]
    if max(map(max, spare)) > SHIFT:
        return None, None
    cuts = [[p[i:i + rows, j:j + columns] for i in {0, y} for j in {0, x}] for p, (y, x) in zip((a, b), spare, strict=True)]
    return min(itertools.product(*cuts), key=lambda pair: _distance(*pair)[0])


def _text_that_differs(a, b):
    """The share of the pieces of grey text in the picture b, words or numbers, that look different in a."""
    from scipy import ndimage

    grey = (b.max(-1) - b.min(-1) < 12) & (b.mean(-1) < 225)
    pieces, _ = ndimage.label(ndimage.binary_dilation(grey, iterations=2))
    differs = abs(a - b).max(-1) > 20
    found = [differs[part].any() for part in ndimage.find_objects(pieces)
             if min(s.stop - s.start for s in part) <= 24]  # pixels: no picture in grey
    return sum(found) / len(found) if found else 0


def _moved_distance(a, b):
    """The rms of the worst place of two blurred pictures, where each place may have moved by up to SHIFT pixels."""
    from scipy import ndimage

    a, b = (ndimage.gaussian_filter(p.astype(np.float32), (1, 1, 0)) for p in (a, b))
    wide = np.pad(a, ((SHIFT, SHIFT), (SHIFT, SHIFT), (0, 0)), mode='edge')
    least = np.full(b.shape[:2], np.inf, np.float32)
    for y, x in itertools.product(range(2 * SHIFT + 1), repeat=2):
        square = ((wide[y:y + b.shape[0], x:x + b.shape[1]] - b) ** 2).mean(-1)
        np.minimum(least, ndimage.uniform_filter(square, LETTER, mode='constant'), out=least)
    return least.max() ** 0.5


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
    if got == stored:
        return True
    if key in PICTURES:
        return same_picture(got, stored)
    return isinstance(got, str) and isinstance(stored, str) and same_text(got, stored)


# ---- what differs, for a maintainer ----

def differences(got, stored, folder, name):
    """What differs between the outputs `got` and the `stored` ones of a cell, as lines of text.

    Pictures that differ are written as files into `folder`, their names beginning with `name`.
    """
    for i, (new, old) in enumerate(itertools.zip_longest(align(got, stored), stored, fillvalue={})):
        new, old = _values(new), _values(old)
        for kind in [*old, *(new.keys() - old.keys())]:
            if kind not in new or kind not in old:
                yield f'{kind}: stored, and now lost' if kind in old else f'{kind}: new, and not stored'
                yield from _picture_alone(kind, new, old, Path(folder), f'{name}-{i}')
            elif new[kind] != old[kind]:
                yield f'{kind}:'
                if kind in PICTURES:
                    yield '  ' + show_difference(new[kind], old[kind], folder, f'{name}-{i}')
                else:
                    yield from ('  ' + line for line in _text_difference(str(new[kind]), str(old[kind])))


def _values(output):
    """The comparable values of an output as {kind: value}, the text form of a picture left out."""
    data = dict(output.get('data', {}))
    if str(data.get('text/plain')).startswith('<Figure size'):
        del data['text/plain']
    named = {'text': output.get('name'), 'evalue': output.get('ename')}
    return data | {named[key]: output[key] for key in named if key in output}


def _picture_alone(kind, new, old, folder, name):
    value = new.get(kind, old.get(kind))
    if kind in PICTURES:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f'{name}-{"got" if kind in new else "stored"}.png'
        file.write_bytes(base64.b64decode(value))
        yield f'  {file}'
    else:
        yield from ('  ' + line for line in str(value).splitlines()[:LINES])


def _text_difference(got, stored):
    """Numbers side by side where they alone differ, else the lines that differ."""
    pairs = list(zip(_NUMBER.findall(got), _NUMBER.findall(stored), strict=False))
    apart = [(_gap(new, old), old, new) for new, old in pairs if not same_number(new, old)]
    if apart and _words(got) == _words(stored):
        gap, old, new = max(apart)
        yield (f'{len(apart)} of {len(pairs)} numbers beyond tolerance; largest relative gap {gap:.1e}: '
               f'stored {old}, now {new}')
        yield from (f'stored {old:>14}   now {new:>14}   relative gap {gap:.1e}' for gap, old, new in apart[:LINES])
    else:
        lines = difflib.unified_diff(stored.splitlines(), got.splitlines(), 'stored', 'now', n=1, lineterm='')
        yield from itertools.islice((line[:200] for line in lines), LINES)


def _gap(got, stored):
    a, b = (float(text.replace('−', '-')) for text in (got, stored))
    return abs(a - b) / abs(b) if b else np.inf


def show_difference(got, stored, folder, name):
    """Write two PNGs (base64) and their difference as files into `folder`; gives a line that says where."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for what, png in (('got', got), ('stored', stored)):
        (folder / f'{name}-{what}.png').write_bytes(base64.b64decode(png))
    a, b = (_pixels(png) for png in (got, stored))
    if a.shape != b.shape:
        sizes = ' and '.join(f'{p.shape[1]} x {p.shape[0]}' for p in (b, a))
        return f'pictures of different size, {sizes} pixels: {folder}/{name}-{{got,stored}}.png'
    Image.fromarray((255 - abs(a - b)).astype(np.uint8)).save(folder / f'{name}-difference.png')
    rms, worst = picture_distance(got, stored)
    return (
        f'pictures differ by {rms:.1f} (limit {PICTURE_RMS:g}), in one place by {worst:.1f} (limit {PICTURE_BLOCK:g}): '
        f'{folder}/{name}-{{got,stored,difference}}.png'
    )
