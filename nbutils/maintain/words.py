"""Numbers in words: what prose, captions and alt texts state, and what cells show.

Signs are not compared: prose says "minus", "below" and "falls by".
"""
import html
import re
from typing import NamedTuple

from nbutils.maintain import svg

# ---- what is said ----

_NO_PROSE = (  # of Markdown: (pattern, what stands in its place)
    (re.compile(r'^ *(`{3,}|:{3,})\{math\}.*?^ *\1', re.M | re.S), ''),
    (re.compile(r'\$\$.*?\$\$', re.S), ''),
    (re.compile(r'^ *(?:`{3,}|:{3,})(?:\{[\w:-]+\})?|^ *:[\w-]+:.*$', re.M), ''),  # borders of blocks, and their labels
    (re.compile(r'\]\([^)]*\)|<[^>\n]*>|https?://\S+|\{#[^}]*\}'), ' '),
    (re.compile(r'\{cite[:\w]*\}`[^`]*`'), '†'),
    (re.compile(r'\{[\w:-]+\}`[^`]*`'), ' '),
)
_BETWEEN = re.compile(r'(?<=[.!?:])[*_)"’”]*\s+(?=[A-Z"“(*$`\[†])|\n\s*\n|\n\s*(?=[-*] |\d+\. |#)|\n?\|')
_FORMULA = re.compile(r'(?<!\\)\$([^$]+)\$')
_POWER = re.compile(r'(?<![\d.])(?:(\d+(?:\.\d+)?)(?: *\\(?:cdot|times) *))?10\^(?:\{([-+]?\d+)\}|(\d))')
_SCRIPT = re.compile(r'[_^](?:\{(?:[^{}]|\{[^{}]*\})*\}|\\?\w)')
_THOUSANDS = re.compile(r'(?<![\d.])(\d{1,3})((?:[, ]\d{3})+)(?![\d,]|\.\d)')
_NUMBER = re.compile(
    r'(?<![\w.:/])(\d+(?:\.\d+)?|\.\d+)(?:[eE]([-+]?\d+))?(?![\w:]|\.\d)'
    r'(?:-?\s*(%|per cent\b|percent\b|thousand\b|million\b|billion\b))?')
_SCALES = {'%': 0.01, 'per cent': 0.01, 'percent': 0.01, 'thousand': 1e3, 'million': 1e6, 'billion': 1e9}


class Number(NamedTuple):
    """A number as a text states it."""

    text: str  # as it stands
    value: float  # without its sign; 0.25 for 25 %
    step: float  # what one unit of its last digit is worth
    counts: bool  # it has a point, an exponent, a unit such as % or million, or three digits

    def is_(self, value):
        """Whether a value, rounded to the digits of this number, is this number."""
        return abs(self.value - value) <= self.step / 2 * (1 + 1e-9) + 1e-12 * self.value

    def among(self, values):
        """Whether one of the values, rounded to the digits of this number, is this number."""
        return any(map(self.is_, values))


def sentences(markdown):
    """The sentences of a Markdown text as plain text, without displayed formulas, addresses and labels.

    A citation is a dagger. Inline formulas stay, their powers of ten as `1e5`, other indices and exponents left out.
    """
    for pattern, other in _NO_PROSE:
        markdown = pattern.sub(other, markdown)
    markdown = _FORMULA.sub(lambda found: _plain(found[1]), markdown)
    return [' '.join(one.split()) for one in _BETWEEN.split(markdown) if one and one.strip()]


def _plain(formula):
    formula = re.sub(r'(?<=\d)(?:\{,\}|\\,)(?=\d{3})', '', formula).replace('{.}', '.').replace(r'\%', '%')
    formula = _POWER.sub(lambda found: f' {found[1] or 1}e{found[2] or found[3]} ', formula)
    return re.sub(r'\\(?:[a-zA-Z]+|[,;!])', ' ', _SCRIPT.sub(' ', formula)).replace('{', ' ').replace('}', ' ')


def numbers(text, small=False):
    """The numbers of a plain text that count; with `small` all of them."""
    text = text.replace('−', '-').replace('\u202f', ' ').replace('\u00a0', ' ')
    text = _THOUSANDS.sub(lambda found: re.sub('[, ]', '', found[0]), text)
    found = []
    for match in _NUMBER.finditer(text):
        digits, exponent, unit = match.groups()
        power, scale = int(exponent or 0), _SCALES.get(unit, 1)
        counts = bool('.' in digits or len(digits) > 2 or exponent or unit)
        if small or counts:
            step = 10.0 ** (power - len(digits.partition('.')[2])) * scale
            found.append(Number(match[0].strip(), float(digits) * 10.0**power * scale, step, counts))
    return found


# ---- what is shown ----

_LABEL = re.compile(r'(<g class="mpl-[xyz]tick">(?:\s*<use[^>]*>)?\s*<[^>]*?)?\baria-label="([^"]*)"')


def printed(outputs):
    """What the outputs of a cell say in text, as one string."""
    found = [(output.get('text', ''), output.get('data', {}).get('text/plain', '')) for output in outputs]
    texts = [''.join(text) for pair in found for text in pair]
    return '\n'.join(text for text in texts if not text.startswith('<Figure size'))


def labels(outputs):
    """(labels of the ticks, other texts) of the figures among the outputs of a cell."""
    ticks, others = [], []
    for output in outputs:
        for tick, label in _LABEL.findall(''.join(output.get('data', {}).get(svg.KIND, ''))):
            label = re.sub(r'\\mathdefault\{(.*?)\}\$', r'\1$', html.unescape(label))
            (ticks if tick else others).extend(sentences(label))
    return ticks, others


def shown_by(outputs):
    """The values of all numbers in the text outputs of a cell and in the texts of its figures, ticks aside."""
    return [number.value for text in [printed(outputs), *labels(outputs)[1]] for number in numbers(text, small=True)]


# ---- what stands where ----

def described(cell):
    """(kind, sentence) of the caption and the alt text of a code cell."""
    about = cell['metadata'].get('mystnb', {})
    for kind, holder, key in (('caption', 'figure', 'caption'), ('alt text', 'image', 'alt')):
        yield from ((kind, sentence) for sentence in sentences(about.get(holder, {}).get(key, '')))


def beside(cells, index):
    """(kind, sentence) of the caption and the alt text of a cell, and of the prose of its part."""
    yield from described(cells[index])
    part = parts(cells)
    for cell, its in zip(cells, part, strict=True):
        if cell['cell_type'] == 'markdown' and its == part[index]:
            yield from (('prose', sentence) for sentence in sentences(''.join(cell['source'])))


def parts(cells):
    """For each cell the number of its part, counted by the headings `##`; 0 for the opening."""
    found, part = [], 0
    for cell in cells:
        part += cell['cell_type'] == 'markdown' and ''.join(cell['source']).startswith('## ')
        found.append(part)
    return found
