"""A drawing of what depends on what: nodes in layers from top to bottom, as SVG. Nothing here depends on Sphinx.

Layers by longest paths, bends where an edge crosses a layer, an order within each layer that crosses few edges (Sugiyama).
Graphviz would do it, and needs a binary.
"""
import textwrap
from functools import cache
from html import escape
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

WIDTH, PAD, GAP, ROW_GAP, BEND = 142, 8, 12, 30, 8  # pixels: of a box, inside it, between boxes and rows, for a bend
LINE, SMALL = 17, 15  # pixels of a line: of the title, of what stands below it
LETTERS, SMALL_LETTERS = 18, 23  # in such a line
MOST = 4  # boxes side by side, which fit into the column of the text


class Box(NamedTuple):
    """A node: its number and title, the address that it links to, and what else it needs, as boxes that stand inside it."""
    number: str
    title: str
    href: str
    inside: tuple = ()

    def lines(self, letters=LETTERS):
        return textwrap.wrap(f'{self.number} {self.title}', letters, break_long_words=False)

    @property
    def height(self):
        small = sum(len(box.lines(SMALL_LETTERS)) for box in self.inside)
        return 2 * PAD + LINE * len(self.lines()) + (SMALL * small + PAD if small else 0)


def draw(boxes: dict[str, Box], edges: list[tuple[str, str]], label: str) -> str:
    """SVG of `boxes` (name -> Box) and `edges` (pairs of names, from what is needed to what needs it; no cycles)."""
    rows, paths = _with_bends(_layers(list(boxes), edges), edges)
    steps = list(dict.fromkeys(step for path in paths for step in pairwise(path)))
    rows = _ordered(rows, steps)
    x = _places(rows)
    heights = [max(boxes[name].height for name in row if name in boxes) for row in rows]
    tops = [1 + sum(heights[:i]) + ROW_GAP * i for i in range(len(rows))]
    top = {name: tops[i] for i, row in enumerate(rows) for name in row}
    bottom = {name: top[name] + (boxes[name].height if name in boxes else heights[i])
              for i, row in enumerate(rows) for name in row}
    left = round(min(x[name] - _width(name) / 2 for name in x)) - 1
    size = round(max(x[name] + _width(name) / 2 for name in x)) + 1 - left, tops[-1] + heights[-1] + 1
    return '\n'.join([
        f'<svg class="map" role="group" aria-label="{escape(label)}" viewBox="{left} 0 {size[0]} {size[1]}" '
        f'width="{size[0]}" height="{size[1]}">',
        '<g class="edges" aria-hidden="true">', *(_edge(path, x, top, bottom) for path in paths), '</g>',
        *(_box(box, round(x[name] - WIDTH / 2), top[name]) for name, box in boxes.items()), '</svg>',
    ])


def _layers(names, edges):
    """Layer of each node: one below the lowest that it needs; what needs nothing stands just above its first user.

    What does not fit into a layer moves down, first of all what the fewest others build on (Coffman and Graham).
    """
    needs = {name: [a for a, b in edges if b == name] for name in names}
    users = {name: [b for a, b in edges if a == name] for name in names}
    ideal, below = _longest(names, needs), _longest(names, users)
    for name in names:
        if not needs[name] and users[name]:
            ideal[name] = min(ideal[user] for user in users[name]) - 1
    layer = {}
    for name in sorted(names, key=lambda name: (ideal[name], -below[name])):
        free = max([ideal[name], *(layer[other] + 1 for other in needs[name])])
        while list(layer.values()).count(free) == MOST:
            free += 1
        layer[name] = free
    return layer


def _longest(names, near):
    """How many steps the longest path from each node takes along `near`."""
    @cache
    def steps(name):
        return max((steps(other) + 1 for other in near[name]), default=0)

    return {name: steps(name) for name in names}


def _with_bends(layer, edges):
    """Rows of nodes, and each edge as a path with a bend in every layer that it crosses.

    A bend is the pair of the node where edges begin and the layer: edges with one beginning share their bends.
    """
    rows = [[name for name in layer if layer[name] == i] for i in range(max(layer.values()) + 1)]
    paths = []
    for a, b in edges:
        bends = [(a, i) for i in range(layer[a] + 1, layer[b])]
        for bend in bends:
            if bend not in rows[bend[1]]:
                rows[bend[1]].append(bend)
        paths.append([a, *bends, b])
    return rows, paths


def _ordered(rows, steps):
    """Each row ordered by the mean place of what its nodes hang from in the row above."""
    above = {name: [a for a, b in steps if b == name] for row in rows for name in row}
    for before, row in pairwise(rows):
        own, place = ({name: i for i, name in enumerate(names)} for names in (row, before))
        row.sort(key=lambda name: fmean([place[other] for other in above[name]] or [own[name]]))
    return rows


def _places(rows):
    """Middle of each node: rows are centred."""
    x = {}
    for row in rows:
        offsets = _offsets(row)
        middle = (offsets[-1] + _width(row[-1]) / 2 - _width(row[0]) / 2) / 2
        x.update({name: offset - middle for name, offset in zip(row, offsets, strict=True)})
    return x


def _width(name):
    return BEND if isinstance(name, tuple) else WIDTH


def _offsets(row):
    """How far each node of a row must stand from the first one."""
    widths = list(map(_width, row))
    offsets = [0]
    for a, b in pairwise(widths):
        offsets.append(offsets[-1] + (a + b) / 2 + (GAP if WIDTH in (a, b) else 0))
    return offsets


def _edge(path, x, top, bottom):
    made = f'M{x[path[0]]:.0f} {bottom[path[0]]}'
    for a, b in pairwise(path):
        middle = (bottom[a] + top[b]) / 2
        made += f'C{x[a]:.0f} {middle:.0f} {x[b]:.0f} {middle:.0f} {x[b]:.0f} {top[b]}'
        made += f'V{bottom[b]}' if b != path[-1] else 'm-3.5 -6l3.5 6l3.5 -6'
    return f'<path d="{made}"/>'


def _box(box, left, top):
    frame = f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{box.height}" rx="4"/>'
    made = _link(box, frame, left, top + PAD + 13, LINE, LETTERS)
    y = top + 2 * PAD + LINE * len(box.lines())
    if box.inside:
        made += f'<path class="rule" d="M{left + PAD} {y}h{WIDTH - 2 * PAD}"/>'
    for other in box.inside:
        made += _link(other, '', left, y + PAD + 8, SMALL, SMALL_LETTERS)
        y += SMALL * len(other.lines(SMALL_LETTERS))
    return made


def _link(box, frame, left, y, line, letters):
    words = [escape(text, quote=False) for text in box.lines(letters)]
    words[0] = words[0].replace(box.number, f'<tspan class="number">{box.number}</tspan>', 1)
    text = ' '.join(f'<tspan x="{left + PAD}" y="{y + line * i}">{part}</tspan>' for i, part in enumerate(words))
    return f'<a href="{escape(box.href)}"{"" if frame else " class=aside"}>{frame}<text>{text}</text></a>'
