"""Figures that are stored as SVG stand in the page itself: book.css gives them the colours of the page.

They are stored with colours as attributes, and with names that no two figures share.
"""
import html
import re
from pathlib import Path

import resvg_py

_IMAGE = re.compile(r'<img [^>]*?src="[^"]*_images/(?P<name>[^"/]+\.svg)"[^>]*>')
_ALT = re.compile(r'\balt="([^"]*)"')
_ROOT = re.compile(r'<svg [^>]*?viewBox="(?P<box>0 0 (?P<width>[\d.]+) (?P<height>[\d.]+))"[^>]*>')
_MARKS = re.compile(r' (?:aria-label|class)="[^"]*"| (?=/>)')  # the words of a drawing: its alternative text speaks for all
_TEXT = ' class="mpl-text"'
_STYLE = Path(__file__).parents[3] / '_static' / 'book.css'
_LIGHT = re.compile(r'^html\[data-theme\] \{([^}]*--grey[^}]*)^\}', re.M)  # the colours of the light page
_VALUE = re.compile(r'--([\w-]+): (#\w{6});')
_COLOUR = re.compile(r'^svg\.figure (\[(?:fill|stroke)="#\w{6}"\]) \{ (\w+): var\(--(\w+)\); \}', re.M)
_RIM = '.mpl-text use, use.mpl-text { stroke: #ffffff; stroke-width: 800px; stroke-linejoin: round; paint-order: stroke; }'
_GLYPH = re.compile(r'<path id="([^"]*)"( d="[^"]*" transform="scale[^"]*")/>')
_USED = re.compile(r'href="#([^"]*)"')
_LENGTH = re.compile(r' (width|height)="([\d.]+)pt"')  # resvg does not know points
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
    return (f'<svg class="figure" role="img" aria-label="{html.escape(alt)}" viewBox="{opening["box"]}" width="{width}"'
            f' height="{height}" stroke-linejoin="round" stroke-linecap="butt">{drawing}')


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
