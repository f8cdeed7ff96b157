"""Figures as they are stored: matplotlib's SVG without what does not show, its numbers short, its texts readable.

What comes out is the same bytes each time, and small:
- each artist is an element of a class `mpl-...` (`mpl-axes`, `mpl-line2d`, ...); each text has it as its `aria-label`;
- styles are presentation attributes (`fill="#787878"`), which a page's style sheet can override;
- one `<defs>` holds glyphs, markers, clips and hatches; ids begin with a hash of the content, so that no two figures clash;
- positions have two decimals; metadata, invisible paths and empty groups are gone.
"""
import base64
import hashlib
import html
import io
import re
import xml.etree.ElementTree as ET

from PIL import Image

KIND = 'image/svg+xml'
DECIMALS = 2
LINEAR = 5  # decimals of factors, which multiply numbers up to some hundred

_INHERITED = ('fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'stroke-dashoffset',
              'stroke-linecap', 'stroke-linejoin', 'stroke-miterlimit')
_NUMBER = re.compile(r'-?\d+\.?\d*(?:e[-+]?\d+)?')
_MATRIX = re.compile(r'matrix\((\S+) 0 0 (\S+) ([^)]*)\)')  # of pictures
_REFERENCE = re.compile(r'(?<=#)[^)\s]+')
_PREFIX = re.compile(r'(?<=[#"])f[0-9a-f]{6}(?=-\d+[")])')


def normalized(svg):
    """The SVG that matplotlib wrote, as it is stored."""
    parser = ET.XMLParser(target=ET.TreeBuilder(insert_comments=True))
    parser.feed(svg)
    source = parser.close()
    definitions = ET.Element('defs')
    drawn = [part for child in source for part in _converted(child, definitions)]
    root = ET.Element('svg', {
        'xmlns': 'http://www.w3.org/2000/svg', 'viewBox': _short(source.get('viewBox')),
        'width': _short(source.get('width')), 'height': _short(source.get('height')),
        'stroke-linejoin': 'round', 'stroke-linecap': 'butt',  # of all paths; matplotlib says it in a style sheet
    })
    root.extend([definitions, *drawn])
    _name(root)
    text = ET.tostring(root, 'unicode')
    prefix = hashlib.sha256(text.encode()).hexdigest()[:6]
    return re.sub(r'(?<=[#"])f-(?=\d+[")])', f'f{prefix}-', text)


def without_prefix(svg):
    """The stored SVG with ids that do not tell one figure from another."""
    return _PREFIX.sub('', svg)


def normalize(outputs):
    """Bring the figures of a cell's outputs, in place, to the form in which they are stored."""
    for output in outputs:
        data = output.get('data', {})
        if KIND in data and '-//W3C//DTD' in data[KIND]:  # as matplotlib wrote it
            data[KIND] = normalized(data[KIND])


def bare_png(png):
    """The same picture (base64) without metadata (matplotlib writes its version into it), packed tightly."""
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert('RGBA')
    best = picture
    for mode in ('RGB', 'P', 'L'):  # the last one that loses nothing: opaque, of few colours, grey
        less = best.convert(mode, palette=Image.Palette.ADAPTIVE)
        if less.convert('RGBA') == picture:
            best = less
    file = io.BytesIO()
    best.save(file, 'PNG', optimize=True)
    return base64.b64encode(file.getvalue()).decode()


# ---- elements ----

def _converted(element, definitions):
    """The elements that stand for one of matplotlib's, none or several; what it defines is added to `definitions`."""
    tag = '' if element.tag is ET.Comment else element.tag.rpartition('}')[2]
    if tag in ('', 'style', 'metadata'):
        return []
    if tag == 'defs':
        definitions.extend(part for child in element for part in _converted(child, definitions))
        return []
    new = ET.Element(tag, dict(_attributes(tag, element)))
    if tag == 'path' and new.get('fill') == 'none' and 'stroke' not in new.attrib and 'id' not in new.attrib:
        return []
    new.extend(_merged([part for child in element for part in _converted(child, definitions)]))
    return _group(new, element) if tag == 'g' else [new]


def _attributes(tag, element):
    for key, value in element.attrib.items():
        key = key.rpartition('}')[2]
        if key == 'style':
            for rule in value.split(';'):
                name, _, setting = (part.strip() for part in rule.partition(':'))
                yield name, _short(setting)
        elif key == 'id' and tag == 'g':
            yield 'class', 'mpl-' + re.sub(r'_\d+$', '', value).replace('matplotlib.', '').lower()
        elif key == 'href' and value.startswith('data:'):
            yield key, 'data:image/png;base64,' + bare_png(value.partition(',')[2])
        elif key in ('id', 'href', 'clip-path'):
            yield key, value
        elif key == 'd':
            yield key, _path(value)
        elif key == 'transform':
            yield from _transform(tag, value)
        else:
            yield key, _short(value)


def _group(group, source):
    """A group as short as it can be said: the label of a text in place of the comment, nothing that holds only itself."""
    comments = [html.unescape(child.text.strip()) for child in source if child.tag is ET.Comment]
    if not len(group):
        return []
    if comments:
        group.set('aria-label', '\n'.join(comments))
    _share(group)
    if group.get('class') == 'mpl-figure' or not group.attrib:
        return list(group)
    child, names = group[0], group.attrib.keys()
    moved = 'clip-path' in names and (child.tag == 'use' or 'transform' in child.attrib)  # the clip would move as well
    if len(group) == 1 and not moved and not names & child.attrib.keys() and 'class' not in child.attrib:
        child.attrib = group.attrib | child.attrib
        return [child]
    return [group]


def _merged(parts):
    """Neighbours that are groups with the same attributes, made one; a class is never merged."""
    found = []
    for part in parts:
        if found and part.tag == found[-1].tag == 'g' and 'class' not in part.attrib and part.attrib == found[-1].attrib:
            found[-1].extend(part)
        else:
            found.append(part)
    return found


def _share(group):
    """Say once, for the group, what all its parts inherit alike."""
    for name in _INHERITED:
        values = {part.get(name) for part in group}
        if len(group) > 1 and len(values) == 1 and None not in values:
            group.set(name, values.pop())
            for part in group:
                del part.attrib[name]


def _name(root):
    """Number what is referred to, in the order of the document; other ids go, and definitions that nothing uses."""
    used = {name for part in root.iter() for key in ('href', 'clip-path', 'fill')
            for name in _REFERENCE.findall(part.get(key, '')) if not part.get(key).startswith('data:')}
    definitions, numbers = root[0], {}
    for part in list(definitions):
        if part.get('id') not in used or part.get('id') in numbers:
            definitions.remove(part)
        else:
            numbers[part.get('id')] = f'f-{len(numbers) + 1}'
    for part in root.iter():
        for key in ('href', 'clip-path', 'fill'):
            if '#' in part.get(key, '') and not re.match('data:|#[0-9a-f]{6}$', part.get(key)):
                part.set(key, _REFERENCE.sub(lambda found: numbers[found[0]], part.get(key)))
        if part.get('id') in numbers:
            part.set('id', numbers[part.get('id')])
        else:
            part.attrib.pop('id', None)


# ---- numbers ----

def _short(text, decimals=DECIMALS):
    """The text with its numbers rounded."""
    return _NUMBER.sub(lambda found: _plain(float(found[0]), decimals), text) if '#' not in text else text


def _plain(number, decimals):
    text = f'{number:.{decimals}f}'.rstrip('0').rstrip('.')
    return '0' if text == '-0' else text


def _path(d):
    """A path with rounded numbers; a command that is repeated is said once."""
    parts, last = [], None
    for command, numbers in re.findall(r'([MLQCz])([^MLQCz]*)', d):
        numbers = ' '.join(_plain(float(n), DECIMALS) for n in numbers.split())
        parts.append(f' {numbers}' if command == last else command + numbers)
        last = command
    return ''.join(parts)


def _transform(tag, text):
    """Transformations with rounded numbers; of what is used at another place, that place."""
    found = [
        (name, _short(numbers, DECIMALS if name == 'translate' else LINEAR))
        for name, numbers in re.findall(r'(\w+)\(([^)]*)\)', re.sub(_MATRIX, r'translate(\3) scale(\1 \2)', text))
    ]
    if tag == 'use' and [name for name, _ in found] == ['translate']:
        yield from zip('xy', found[0][1].split(), strict=True)
    else:
        yield 'transform', ' '.join(f'{name}({numbers})' for name, numbers in found)
