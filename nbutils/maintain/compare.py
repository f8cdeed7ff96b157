"""When outputs count as the same: text exactly, floats within a tolerance, figures by their texts, positions and colours."""
import base64
import collections
import copy
import difflib
import io
import itertools
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
from PIL import Image

from nbutils.maintain import svg

LINES = 20  # of a difference are shown
RTOL = 1e-3  # beside one unit of the last digit that is printed

# Figures. A position may differ by half a pixel at double density, which no screen shows, and by the rounding of both.
SHIFT = 0.5 * 72 / 240 + 2 * 0.5 * 10 ** -svg.DECIMALS  # points
STEP = 0.1  # points between the places along two paths that are compared
WIDTH = 1.01 * 10 ** -svg.DECIMALS  # of widths of lines, opacities and dashes: their rounding
LEVELS = 4  # of 255, of a colour: one step in a colour map of 256
# Pictures in figures: root mean square of the difference in grey levels, over the picture and over its worst block.
# Measured on 20 figures of the book: a curve shifted by 1 % of its axis 19 to 81, a transposed matrix 156 to 208.
BLOCK = 16  # pixels; compared block by block, so that a small change is not lost in a large picture
PICTURE_RMS, PICTURE_BLOCK = 3.0, 12.0
TILE = 4  # pixels: where every one of a tile differs by more than LEVELS, it is no edge that moved, but another colour

_NUMBER = re.compile(r'(?<![\w.])[-+−]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w])')
_PARTS = {'all': re.compile(r'(-?\d+\.?\d*)'), 'translate': re.compile(r'(?<=translate\()(.*?)(?=\))')}


# ---- numbers and texts ----

def relative_tolerance(text):
    """By what share of itself another value may differ from a printed number: 0 where it must be the same.

    Integers are exact, and so are floats with no digit after the point or with a single significant one (`3.`, `0.5`,
    `1e-16`). Others may differ by one unit of the last digit plus RTOL.
    """
    mantissa, _, exponent = text.lower().partition('e')
    digits = mantissa.partition('.')[2]
    if not digits or len(re.sub(r'\D', '', mantissa).lstrip('0')) < 2:
        return 0.0
    return 10.0 ** (int(exponent or 0) - len(digits)) / abs(_value(text)) + RTOL


def same_number(got, stored):
    """Whether two printed numbers agree within the smaller one of their tolerances."""
    if not any(re.search('[.eE]', text) for text in (got, stored)):
        return got == stored
    a, b = _value(got), _value(stored)
    allowed = min(relative_tolerance(text) * abs(_value(text)) for text in (got, stored))
    return abs(a - b) <= allowed * (1 + 1e-9)


def _value(text):
    return float(text.replace('−', '-'))


def same_text(got, stored):
    """Whether two texts agree: the words exactly, blanks up to their number, numbers as in `same_number`."""
    numbers = [_NUMBER.findall(text) for text in (got, stored)]
    return (
        _words(got) == _words(stored) and len(numbers[0]) == len(numbers[1])
        and all(map(same_number, *numbers))
    )


def _words(text):
    return re.sub(r' +', ' ', _NUMBER.sub(' # ', text)).strip()


# ---- figures ----

def same_figure(got, stored):
    """Whether two figures, SVGs as they are stored, show the same."""
    return got == stored or next(_apart(*_trees(got, stored), 'figure'), None) is None


def figure_differences(got, stored):
    """What differs between two figures, as lines of text; none where they show the same."""
    found = collections.defaultdict(list)
    for where, what, size in _apart(*_trees(got, stored), 'figure'):
        found[where, what].append(size)
    largest = [(*key, max(sizes)) for key, sizes in found.items()]
    largest.sort(key=lambda one: one[0] == 'figure')  # glyphs and clips, which are shared, come last
    return [f'{where}: {what}' + (f' by up to {size:.3g}' if size else '') for where, what, size in largest]


def _trees(*figures):
    return [ET.fromstring(svg.without_prefix(figure)) for figure in figures]


def _apart(new, old, where):
    """(where, what, by how much) of all that differs between two trees."""
    if new.get('aria-label') != old.get('aria-label'):
        yield where, f'now {new.get("aria-label")!r}', 0
        return
    if new.tag != old.tag or new.attrib.keys() != old.attrib.keys() or len(new) != len(old):
        yield where, f'{len(old)} parts {_kinds(old)}, now {len(new)} {_kinds(new)}', 0
        return
    for name in new.attrib:
        if new.get(name) != old.get(name):
            for what, size in _value_apart(name, new.get(name), old.get(name)):
                yield where, what, size
    for a, b, place in zip(new, old, _places(old, where), strict=True):
        yield from _apart(a, b, place)


def _kinds(element):
    return [child.get('aria-label') or child.get('class') or child.tag.rpartition('}')[2] for child in element][:LINES]


def _places(parent, where):
    """What the parts of an element are called: axes 2, line2d 1."""
    seen = collections.Counter()
    for child in parent:
        kind = child.get('class', '').removeprefix('mpl-')
        seen[kind] += 1
        label = f' {child.get("aria-label")!r}' if 'aria-label' in child.attrib else f' {seen[kind]}'
        yield f'{where.removeprefix("figure, ")}, {kind}{label}' if kind else where


def _value_apart(name, a, b):
    """(what, by how much) of the difference between two values of an attribute, where it counts."""
    if a.startswith('data:') and b.startswith('data:'):
        if not same_picture(a.partition(',')[2], b.partition(',')[2]):
            yield 'another picture', 0
    elif re.fullmatch('#[0-9a-f]{6} #[0-9a-f]{6}', f'{a} {b}'):
        if max(abs(x - y) for x, y in zip(bytes.fromhex(a[1:]), bytes.fromhex(b[1:]), strict=True)) > LEVELS:
            yield f'{name} {b}, now {a}', 0
    elif name in ('id', 'href', 'class') or '#' in a + b:
        yield f'{name} {b!r}, now {a!r}', 0
    else:
        yield from _numbers_apart(name, a, b)


def _numbers_apart(name, a, b):
    """(what, by how much) of two lists of numbers between which the same words stand; factors and angles are words."""
    parts = [_PARTS['translate' if name == 'transform' else 'all'].split(text) for text in (a, b)]
    if parts[0][::2] != parts[1][::2]:
        if not (name == 'd' and _same_lines(a, b)):
            yield f'{name} of another shape', 0
        return
    gap = max(abs(float(x) - float(y)) for numbers in zip(parts[0][1::2], parts[1][1::2], strict=True)
              for x, y in zip(*(text.split() for text in numbers), strict=True))
    positions = name in ('d', 'transform', 'x', 'y', 'width', 'height', 'viewBox')
    if gap > (SHIFT if positions else WIDTH) and not (name == 'd' and _same_lines(a, b)):
        yield ('moved' if positions else f'other {name}'), gap


def _same_lines(a, b):
    """Whether two paths of straight lines cover the same places, however they are cut into pieces.

    A level line that passes through a point of its grid has a vertex more or less there as rounding goes.
    """
    from scipy.spatial import cKDTree

    if not all(re.fullmatch(r'M[MLz\d .,e+-]*', path) for path in (a, b)):  # one of them has curves
        return False
    reach, corners = SHIFT + STEP / 2, [_corners(path) for path in (a, b)]
    if any(np.abs(end(corners[0], 0) - end(corners[1], 0)).max() > reach for end in (np.min, np.max)):
        return False  # which spares long paths, such as glyphs, their thousands of dots
    drawn = [_dotted(path) for path in (a, b)]
    return all(cKDTree(one).query(other)[0].max() <= reach for one, other in (drawn, drawn[::-1]))


def _corners(path):
    return np.array(_PARTS['all'].findall(path), float).reshape(-1, 2)


def _dotted(path):
    """Points along a path of straight lines, at most STEP apart, as an array (N, 2)."""
    dots = []
    for piece in re.findall(r'M[^M]*', path):
        corners = _corners(piece)
        if 'z' in piece:
            corners = np.concatenate([corners, corners[:1]])
        dots.append(corners)
        for start, end in itertools.pairwise(corners):
            count = int(np.ceil(np.hypot(*(end - start)) / STEP))
            dots.append(start + np.arange(1, count)[:, None] / max(count, 1) * (end - start))
    return np.concatenate(dots)


def same_picture(got, stored):
    """Whether two PNGs (base64) show the same."""
    a, b = _pixels(got), _pixels(stored)
    if a.shape != b.shape:
        return False
    apart = abs(a - b).astype(np.float32)
    blocks = _tiled(apart ** 2, BLOCK).mean((1, 3, 4))
    tiles = _tiled(apart, TILE).max(-1).min((1, 3))
    return bool(blocks.mean() <= PICTURE_RMS ** 2 and blocks.max() <= PICTURE_BLOCK ** 2 and tiles.max() <= LEVELS)


def _tiled(picture, side):
    """The (rows, columns, colours) of a picture as (rows, side, columns, side, colours), with zeros behind its edges."""
    picture = np.pad(picture, [(0, -picture.shape[0] % side), (0, -picture.shape[1] % side), (0, 0)])
    rows, columns = (n // side for n in picture.shape[:2])
    return picture.reshape(rows, side, columns, side, -1)


def _pixels(png):
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert('RGBA')
    picture = Image.alpha_composite(Image.new('RGBA', picture.size, 'white'), picture)
    return np.asarray(picture.convert('RGB')).astype(np.int16)


def align(got, stored):
    """The outputs `got`, with each value that agrees with the `stored` one replaced by it.

    So outputs agree exactly when `align(got, stored)` equals `stored`. Both are lists of notebook outputs; figures that
    come from a kernel are brought to the form of stored ones.
    """
    got = copy.deepcopy(got)
    svg.normalize(got)
    for new, old in zip(got, stored, strict=False):
        if new['output_type'] != old['output_type']:
            break
        for values, known in ((new, old), (new.get('data', {}), old.get('data', {}))):
            for key in values.keys() & known.keys() - {'data', 'metadata'}:
                if _same(key, values[key], known[key]):
                    values[key] = known[key]
    return got


def _same(key, got, stored):
    if got == stored or not (isinstance(got, str) and isinstance(stored, str)):
        return got == stored
    return same_figure(got, stored) if key == svg.KIND else same_text(got, stored)


# ---- what differs, for a maintainer ----

def differences(got, stored, folder, name):
    """What differs between the outputs `got` and the `stored` ones of a cell, as lines of text.

    Pictures that differ are written as files into `folder`, their names beginning with `name`.
    """
    for i, (new, old) in enumerate(itertools.zip_longest(align(got, stored), stored, fillvalue={})):
        new, old = _values(new), _values(old)
        for kind in dict.fromkeys([*old, *new]):
            if new.get(kind) == old.get(kind):
                continue
            if kind in new and kind in old:
                yield f'{kind}:'
            else:
                yield f'{kind}: stored, and now lost' if kind in old else f'{kind}: new, and not stored'
            if kind == svg.KIND:
                lines = _figure_difference(new.get(kind), old.get(kind), Path(folder, f'{name}-{i}'))
            else:
                lines = _text_difference(str(new.get(kind, '')), str(old.get(kind, '')))
            yield from ('  ' + line for line in lines)


def _values(output):
    """The comparable values of an output as {kind: value}, the text form of a picture left out."""
    data = dict(output.get('data', {}))
    if str(data.get('text/plain')).startswith('<Figure size'):
        del data['text/plain']
    named = {'text': output.get('name'), 'evalue': output.get('ename')}
    return data | {named[key]: output[key] for key in named if key in output}


def _figure_difference(got, stored, place):
    """What differs between two figures, and the files in which they are; one may be None."""
    if got and stored:
        yield from figure_differences(got, stored)[:LINES]
    for figure, what in ((got, 'got'), (stored, 'stored')):
        if figure:
            file = place.with_name(f'{place.name}-{what}.svg')
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(figure, 'utf-8')
            except OSError as error:  # a full disk
                yield f'the picture could not be written: {error}'
            else:
                yield str(file)


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
    a, b = _value(got), _value(stored)
    return abs(a - b) / abs(b) if b else np.inf
