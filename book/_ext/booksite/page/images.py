"""Figures that wait until they are near the screen, and hold their place until then."""
import re
import struct
from pathlib import Path

_FIGURE = re.compile(r'<img (?=[^>]*src="[^"]*_images/(?P<name>[^"/]+\.png)")(?![^>]*(?:loading|width)=)')


def lazy(app, page, template, context, doctree):
    """Give each stored figure of a page its size, so that the text below does not move, and load it when it is needed."""
    if body := context.get('body'):
        names = {name: source for source, name in app.builder.images.items()} if '_images/' in body else {}
        context['body'] = _FIGURE.sub(lambda found: _sized(app, found, names), body)


def _sized(app, found, names):
    size = png_size(Path(app.srcdir, names[found['name']])) if found['name'] in names else None
    return f'<img loading="lazy" decoding="async" width="{size[0]}" height="{size[1]}" ' if size else found[0]


def png_size(path):
    """(width, height) of a PNG in pixels; None for another file."""
    with open(path, 'rb') as file:
        head = file.read(24)
    return struct.unpack('>II', head[16:24]) if head[:8] == b'\x89PNG\r\n\x1a\n' else None
