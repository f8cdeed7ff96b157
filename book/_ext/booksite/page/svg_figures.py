"""Figures that are stored as SVG stand in the page itself: book.css gives them the colours of the page.

They are stored with colours as attributes, and with names that no two figures share. Their letters are outlines, so that
a figure looks the same everywhere; over each line of them lies the same line as text that nobody sees, but that the search
of a browser finds and that can be selected and copied.
"""
import html
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import resvg_py

from ..finding import plain_text

_IMAGE = re.compile(r'<img [^>]*?src="[^"]*_images/(?P<name>[^"/]+\.svg)"[^>]*>')
_ALT = re.compile(r'\balt="([^"]*)"')
_ROOT = re.compile(r'<svg [^>]*?viewBox="(?P<box>0 0 (?P<width>[\d.]+) (?P<height>[\d.]+))"[^>]*>')
_MARKS = re.compile(r' (?:aria-label|class)="[^"]*"| (?=/>)')  # the words of a drawing: its alternative text speaks for all
_TEXT_CLASS = 'mpl-text'
_TEXT = f' class="{_TEXT_CLASS}"'
_STYLE = Path(__file__).parents[3] / '_static' / 'book.css'
_LIGHT = re.compile(r'^html\[data-theme\] \{([^}]*--grey[^}]*)^\}', re.M)  # the colours of the light page
_VALUE = re.compile(r'--([\w-]+): (#\w{6});')
_COLOUR = re.compile(r'^svg\.figure (\[(?:fill|stroke)="#\w{6}"\]) \{ (\w+): var\(--(\w+)\); \}', re.M)
_RIM = '.mpl-text use, use.mpl-text { stroke: #ffffff; stroke-width: 800px; stroke-linejoin: round; paint-order: stroke; }'
_GLYPH = re.compile(r'<path id="([^"]*)"( d="[^"]*" transform="scale[^"]*")/>')
_USED = re.compile(r'href="#([^"]*)"')
_LENGTH = re.compile(r' (width|height)="([\d.]+)pt"')  # resvg does not know points
_OUTLINE_NUMBER = re.compile(r'-?[\d.]+')
_SCALE = re.compile(r' ?scale\((-?[\d.]+)[^)]*\)')  # of letters: one of matplotlib's is drawn 100 units high
_PLACE = re.compile(r'translate\(([^ ]+) ([^)]+)\)')
_START = re.compile(r'translate\((-?[\d.]+)')
_EM, _OUTLINE_UNIT = 100, 1 / 64
_DOTS_A_POINT = 120 / 72  # as wide on the page as a picture of 120 dots an inch


def put_in(app, page, template, context, doctree):
    """Replace each image of a stored SVG in the body of a page by the SVG; a handler of html-page-context."""
    body = context.get('body')
    if not body or '.svg"' not in body:
        return
    sources = {name: Path(app.srcdir, source) for source, name in app.builder.images.items()}

    glyphs = {}

    def replaced(found):
        if found['name'] not in sources:
            return found[0]
        alt = _ALT.search(found[0])
        return in_page(sources[found['name']].read_text('utf-8'), html.unescape(alt[1]) if alt else '', glyphs) or found[0]

    body = _IMAGE.sub(replaced, body)
    drawn = ''.join(f'<path id="{name}"{outline}/>' for outline, name in glyphs.items())
    context['body'] = f'<svg class="glyphs" width="0" height="0" aria-hidden="true"><defs>{drawn}</defs></svg>{body}'


def in_page(svg, alt, glyphs):
    """A stored SVG as an element of HTML with its size in pixels, described by `alt`; None for an SVG from elsewhere.

    Its letters go into `glyphs`, outline to name: all figures of a page share them. They are a fifth of its bytes.
    """
    opening = _ROOT.match(svg)
    if opening is None:
        return None
    width, height = (round(float(opening[side]) * _DOTS_A_POINT) for side in ('width', 'height'))
    names = {}

    def share(found):
        names[found[1]] = glyphs.setdefault(found[2], f'g{len(glyphs) + 1}')
        return ''

    texts = svg[opening.end():].split(_TEXT)
    drawing = _GLYPH.sub(share, ' class="t"'.join(_MARKS.sub('', part) for part in texts))  # texts have a rim: see book.css
    drawing = _USED.sub(lambda found: f'href="#{names.get(found[1], found[1])}"', drawing)
    drawing = drawing.replace('</svg>', f'{words(svg)}</svg>')
    return (f'<svg class="figure" role="img" aria-label="{html.escape(alt)}" viewBox="{opening["box"]}" width="{width}"'
            f' height="{height}" stroke-linejoin="round" stroke-linecap="butt">{drawing}')


def words(svg):
    """The texts of a stored SVG as elements that hold their place, size and width, and do not show."""
    root = ET.fromstring(svg)
    reach = {f'#{path.get("id")}': _right(path.get('d', '')) for path in root[0] if 'scale' in path.get('transform', '')}
    made = ''
    for label in root.iter():
        if label.get('class') == _TEXT_CLASS and (said := label.get('aria-label')):
            lines, places = _readable(said).split('\n'), _places(label)
            if len(lines) != len(places):  # not as matplotlib writes them: all at the first place
                lines = [' '.join(lines)]
            made += ''.join(_line(line, place, reach) for line, place in zip(lines, places, strict=False))
    return f'<g fill="transparent" aria-hidden="true">{made}</g>' if made else ''


def _places(element):
    """The parts of a text that have a place each: its lines."""
    return [element] if 'transform' in element.attrib else [line for child in element for line in _places(child)]


def _line(text, place, reach):
    scale = float(_SCALE.search(place.get('transform'))[1])
    moved = _SCALE.sub('', place.get('transform'))
    letters = [part for part in place.iter() if 'href' in part.attrib]
    width = max((_end(letter, reach) if letter is not place else reach[letter.get('href')] for letter in letters), default=0)
    at = _PLACE.fullmatch(moved)
    at = f'x="{at[1]}" y="{at[2]}"' if at else f'transform="{moved}"'
    text = html.escape(text, quote=False)
    return f'<text {at} font-size="{scale * _EM:.3g}" textLength="{width * scale:.1f}">{text}</text>'


def _end(letter, reach):
    """How far to the right a letter of a line reaches, in the units of the line: some of a formula are smaller."""
    own = letter.get('transform', '')
    start = float(_START.search(own)[1] if own else letter.get('x', 0))
    return start + (float(_SCALE.search(own)[1]) if own else 1) * reach[letter.get('href')]


def _right(outline):
    return max(map(float, _OUTLINE_NUMBER.findall(outline)[::2]), default=0) * _OUTLINE_UNIT


def _readable(text):
    """A label with its formulas in signs of Unicode."""
    pieces = re.split(r'(?<!\\)\$', text)
    if len(pieces) % 2:
        pieces[1::2] = map(plain_text.formula, pieces[1::2])
    return ''.join(pieces).replace('\\$', '$')


def on_white(svg):
    """A stored SVG in the colours that book.css gives figures on the white page, for paper and for pictures elsewhere."""
    opening = _ROOT.match(svg)
    if opening is None:
        return svg
    css = _STYLE.read_text('utf-8')
    values = dict(_VALUE.findall(_LIGHT.search(css)[1]))
    rules = [f'{selector} {{ {kind}: {values[name]}; }}' for selector, kind, name in _COLOUR.findall(css)]
    return f'{opening[0]}<style>{" ".join([*rules, _RIM])}</style>{svg[opening.end():]}'


def preview(app, source):
    """The path of a PNG, 800 pixels wide on white, of the SVG at `source`, for those who link to a page; made once."""
    path = Path(app.outdir, app.builder.imagedir, f'{source.stem}.png')
    if not path.is_file():
        svg = _LENGTH.sub(r' \1="\2"', on_white(source.read_text('utf-8')), count=2)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(resvg_py.svg_to_bytes(svg_string=svg, background='white', width=800, skip_system_fonts=True)))
    return path
