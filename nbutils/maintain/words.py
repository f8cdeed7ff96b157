"""Numbers in words: what prose, captions and alt texts state must be shown, by an output, a figure's texts or the code.

The fewer digits a number has, the nearer must it be shown, because among many numbers a wrong one would find its like:
- near by, that is by the code cells around a paragraph or a figure, it is shown by a text output, by a figure's text other
  than its ticks, or, digit by digit, by a number in the code (a figure's code counts for the words under it alone);
- three digits, or two of a whole number, are shown by the outputs, figures and code of the same part and the opening as
  well; the opening and the summary speak of all parts;
- what is shown so may be said again in the same part, and in the opening and the summary;
- an inline formula such as `$1/\\sqrt{575} \\approx 0.042$` is computed.
A number may be rounded to the digits that it shows. One digit is too little for that, but after "about" or "near".
What the functions of `nbutils.data` that a section imports say of their data is shown. Years and sections of books come
from elsewhere. A citation alone excuses no number, because what a cell prints may stand beside it: what only the source
can show is listed in tests/book/numbers.yml.

Signs are not compared: prose says "minus", "below" and "falls by".
"""
import ast
import bisect
import html
import math
import re
from functools import cached_property
from typing import NamedTuple

from nbutils import data
from nbutils.maintain import lint, notebooks, svg
from nbutils.printed import operators, relations  # noqa: F401  (they enter their rules)
from nbutils.printed.evaluating import evaluate
from nbutils.printed.grammar import children, parse
from nbutils.printed.tokens import FormulaError
from nbutils.printed.values import Scope

# ---- what is said ----

_NO_PROSE = (  # of Markdown: (pattern, what stands in its place); displays first
    (re.compile(r'^ *(`{3,}|:{3,})\{math\}.*?^ *\1', re.M | re.S), ''),
    (re.compile(r'\$\$.*?\$\$', re.S), ''),
    (re.compile(r'^ *(?:`{3,}|:{3,})(?:\{[\w:-]+\})?|^ *:[\w-]+:.*$', re.M), ''),  # borders of blocks, and their labels
    (re.compile(r'\]\([^)]*\)|<[^>\n]*>|https?://\S+|\{#[^}]*\}'), ' '),
    (re.compile(r'\{cite[:\w]*\}`[^`]*`'), '†'),
    (re.compile(r'\{[\w:-]+\}`[^`]*`'), ' '),
)
_BETWEEN = re.compile(r'(?<=[.!?:])[*_)"’”]*\s+(?=[A-Z"“(*$`\[†])|\n\s*\n|\n\s*(?=[-*] |\d+\. |#)|\n?\|')
_FORMULA = re.compile(r'(?<!\\)\$([^$]+)\$')
_GROUPS = re.compile(r'(?<=\d)(?:\{,\}|\\,)(?=\d{3})')
_SHORT_FRACTION = re.compile(r'\\[td]?frac(?: *(\d)(?=\d|\{)|\{([^{}]*)\})(?:(\d)|\{([^{}]*)\})')
_POWER = re.compile(r'(?<![\d.a-zA-Z])(?:(\d+(?:\.\d+)?)(?: *\\(?:cdot|times) *))?10\^(?:\{([-+]?\d+)\}|(\d))')
_SCRIPT = re.compile(r'[_^](?:\{(?:[^{}]|\{[^{}]*\})*\}|\\?\w)')
_THOUSANDS = re.compile(r'(?<![\d.])(\d{1,3})((?:[, ]\d{3})+)(?!\d|[.,]\d)')
_NUMBER = re.compile(
    r'(?<![\w.:/])(\d+(?:\.\d+)?|\.\d+)(?:[eE]([-+]?\d+))?(?!\w|:\d|\.\d)'
    r'(?:-?\s*(%|per cent\b|percent\b|thousand\b|million\b|billion\b))?')
_SCALES = {'%': 0.01, 'per cent': 0.01, 'percent': 0.01, 'thousand': 1e3, 'million': 1e6, 'billion': 1e9}
_ROUGH = re.compile(r'(?:\b(?:[Aa]bout|around|near|nearly|almost|roughly|some)|≈)\s+(?:minus\s+|the\s+|-)?$')


class Number(NamedTuple):
    """A number as a text states it."""

    text: str  # as it stands
    value: float  # without its sign; 0.25 for 25 %
    step: float  # what one unit of its last digit is worth
    counts: bool  # it has a point, an exponent, a unit such as % or million, or three digits
    before: str = ''  # the words before it

    def equal(self, other):
        """Whether another number, no coarser than this one, has the same value."""
        return other.step <= self.step * 1.001 and abs(self.value - other.value) <= 1e-9 * self.value

    def rounded(self, other):
        """Whether another number, no coarser than this one, rounded to the digits of this one, is this one."""
        return other.step <= self.step * 1.001 and abs(self.value - other.value) <= self.step / 2 * (1 + 1e-9)

    def among(self, others):
        """Whether one of many numbers, rounded to the digits of this one, is this one."""
        return any(map(self.rounded, others))

    @property
    def digits(self):
        """How many digits say something: 2 in 0.074 and in 7400."""
        mantissa = re.match(r'[\d.]*', self.text)[0]
        return len(mantissa.replace('.', '').lstrip('0') if '.' in mantissa else mantissa.strip('0'))

    def bare(self):
        """The number without its unit: 25 for 25 %, which a table of per cents shows."""
        scale = next((scale for unit, scale in _SCALES.items() if self.text.endswith(unit)), 1)
        return self._replace(value=self.value / scale, step=self.step / scale)

    def rough(self):
        """The number with zeros at its end taken as no digits, where a word such as "about" stands before it; else None."""
        if not _ROUGH.search(self.before):
            return None
        zeros = len(re.search(r'0*$', re.match(r'[\d.]*', self.text)[0])[0]) if self.step >= 1 else 0
        return self._replace(step=self.step * 10**zeros)


def sentences(markdown):
    """The sentences of a Markdown text as plain text, without displayed formulas, addresses and labels.

    A citation is a dagger. Inline formulas stay, their powers of ten as `1e5`, other indices and exponents left out.
    """
    for pattern, other in _NO_PROSE:
        markdown = pattern.sub(other, markdown)
    markdown = _FORMULA.sub(lambda found: _plain(found[1]), markdown)
    return [' '.join(one.split()) for one in _BETWEEN.split(markdown) if one and one.strip()]


def _plain(formula):
    formula = _GROUPS.sub('', formula).replace('{.}', '.').replace(r'\%', '%').replace(r'\approx', '≈')
    formula = _SHORT_FRACTION.sub(lambda found: f' {found[1] or found[2]} / {found[3] or found[4]} · ', formula)
    formula = re.sub(r'\\(?:cdot|times|frac)(?![a-zA-Z])', ' · ', _SCRIPT.sub(' ', _powers(formula)))
    return re.sub(r'\\(?:[a-zA-Z]+|[,;!])', ' ', formula).replace('{', ' ').replace('}', ' ')


def _powers(formula):
    """Powers of ten as `1e5`."""
    return _POWER.sub(lambda found: f' {found[1] or 1}e{found[2] or found[3]} ', formula)


def numbers(text, small=False, spaced=True):
    """The numbers of a plain text that count; with `small` all of them. If `spaced`, 60 000 is one number."""
    text = text.replace('−', '-').replace('\u202f', ' ').replace('\u00a0', ' ')
    text = _THOUSANDS.sub(lambda found: re.sub('[, ]', '', found[0]) if spaced or ' ' not in found[0] else found[0], text)
    found = []
    for match in _NUMBER.finditer(text):
        digits, exponent, unit = match.groups()
        power, scale = int(exponent or 0), _SCALES.get(unit, 1)
        counts = bool('.' in digits or len(digits) > 2 or exponent or unit)
        if small or counts:
            step = 10.0 ** (power - len(digits.partition('.')[2])) * scale
            value = float(digits) * 10.0**power * scale
            found.append(Number(match[0].strip(), value, step, counts, text[max(0, match.start() - 20):match.start()]))
    return found


def computed(markdown):
    """(number, computed value) of the numbers to which inline formulas equate what has no letters.

    What they are computed from is given as computed, too, unless it has more digits: then a slip in it could be lost.
    """
    for pattern, other in _NO_PROSE[:2]:
        markdown = pattern.sub(other, markdown)
    for formula in _FORMULA.findall(markdown):
        latex = ' '.join(_GROUPS.sub('', formula).split())
        try:
            parts = parse(latex) if re.search(r'\d.*(?:=|\\approx)', latex) else []
        except (FormulaError, RecursionError):
            continue
        for part in parts:
            if part.node.op == 'relation':
                yield from _equated(part.node.args, latex)


def _equated(sides, latex):
    """(number, computed value) in a chain of sides and signs."""
    for left, sign, right in zip(sides[::2], sides[1::2], sides[2::2], strict=False):
        stated = numbers(_plain(latex[right.start:right.end]), small=True)
        value = _value(left) if any(children(left)) and _value(right) is not None else None
        if sign.text in ('=', 'approx') and len(stated) == 1 and value is not None:
            number = stated[0]._replace(before='≈ ' if sign.text == 'approx' else '')
            yield number.rough() or number, abs(value)
            given = numbers(_powers(latex[left.start:left.end]).replace('/', ' / '))  # those in exponents, too
            yield from ((one, one.value) for one in given if one.digits <= stated[0].digits)


def _value(node):
    """The value of a formula without letters; None of others."""
    try:
        value = evaluate(node, Scope({}))
    except (FormulaError, ArithmeticError, ValueError, TypeError):
        return None
    return value if isinstance(value, (int, float)) else None


# ---- what is shown ----

_LABEL = re.compile(r'(<g class="mpl-[xyz]tick">(?:\s*<use[^>]*>)?\s*<[^>]*?)?\baria-label="([^"]*)"')
_DRAWING = {  # arguments that shape a figure, and seeds: no statement is about them
    'alpha', 'bbox_to_anchor', 'borderaxespad', 'capsize', 'color', 'colors', 'columnspacing', 'dashes', 'dpi', 'elinewidth',
    'figsize', 'fontsize', 'handlelength', 'head_width', 'height', 'height_ratios', 'hspace', 'labelpad', 'linewidth',
    'linewidths', 'loc', 'lw', 'markeredgewidth', 'markersize', 'markevery', 'mew', 'ms', 'ncols', 'nrows', 'num', 'pad',
    'random_state', 'rotation', 'rwidth', 's', 'seed', 'shrinkA', 'shrinkB', 'width', 'width_ratios', 'wspace', 'xy',
    'xytext', 'zorder',
}
_PLACING = {'text', 'annotate', 'arrow', 'label_lines', 'panels', 'subplots', 'figure', 'subplots_adjust', 'margins',
            'default_rng', 'manual_seed', 'seeds'}
_GRIDS = {'linspace', 'geomspace', 'logspace'}  # their third argument says how finely something is drawn
_ARITHMETIC = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b, ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b, ast.Mod: lambda a, b: a % b, ast.Pow: lambda a, b: a**b,
}


def printed(outputs):
    """What the outputs of a cell say in text, as one string."""
    found = [(output.get('text', ''), output.get('data', {}).get('text/plain', '')) for output in outputs]
    texts = [''.join(text) for pair in found for text in pair]
    return '\n'.join(text for text in texts if not text.startswith('<Figure size'))


def labels(outputs):
    """The texts of the figures among the outputs of a cell, those of the ticks aside."""
    found = []
    for output in outputs:
        for tick, label in _LABEL.findall(''.join(output.get('data', {}).get(svg.KIND, ''))):
            if not tick:
                found += sentences(html.unescape(label))
    return found


def shown_by(outputs):
    """All numbers in the text outputs of a cell and in the texts of its figures, ticks aside."""
    return [number for text in [printed(outputs), *labels(outputs)] for number in numbers(text, small=True, spaced=False)]


def literals(tree):
    """The numbers of a syntax tree and of its strings, what is computed of numbers alone included.

    A slice counts by its length. Left out are other indices, seeds and what only shapes a figure.
    """
    found = []
    _gather(tree, found)
    return found


def documented(tree):
    """The numbers in what the functions of `nbutils.data` that a syntax tree imports say of themselves."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == 'nbutils.data':
            for alias in node.names:
                found += numbers(getattr(data, alias.name).__doc__)
    return found


def _gather(node, found):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        found += numbers(node.value)
    elif (value := _folded(node)) is not None and abs(value) < 1e300:
        found.append(Number(str(value), abs(float(value)), _precision(value), True))
    for child in _children(node):
        _gather(child, found)


def _children(node):
    """The parts of a piece of code that say something; of an index, how many it takes."""
    if isinstance(node, ast.Subscript) and getattr(node.value, 'attr', '') not in ('r_', 'c_'):
        ends = [(_folded(part.lower) or 0, part.upper) for part in ast.walk(node.slice) if isinstance(part, ast.Slice)]
        return [node.value, *(ast.Constant(_folded(high) - low) for low, high in ends if _folded(high) is not None)]
    if not isinstance(node, ast.Call):
        return ast.iter_child_nodes(node)
    name = lint.called(node)
    args = node.args[:2] if name in _GRIDS else node.args
    if name in _PLACING:
        args = [a for a in args if isinstance(a, ast.JoinedStr) or isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return [node.func, *args, *(k.value for k in node.keywords if k.arg not in _DRAWING)]


def _folded(node):
    """The value of numbers joined by arithmetic; None of other code."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) in (int, float) else None
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        a, b = _folded(node.left), _folded(node.right)
        if a is not None and b is not None and not (isinstance(node.op, ast.Pow) and abs(b) > 300):
            try:
                return _real(_ARITHMETIC[type(node.op)](a, b))
            except (ArithmeticError, ValueError):
                return None


def _real(value):
    return None if isinstance(value, complex) else value


def _precision(value):
    """What one unit of the last digit of a number is worth, as Python prints it: 2 does not show 2.0, nor 0.1 0.10."""
    mantissa, _, exponent = repr(value).partition('e')
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition('.')[2]))


# ---- what stands where ----

def beside(cells, index):
    """(kind, sentence) of the caption and the alt text of a cell, and of the prose of its part."""
    part = notebooks.parts(cells)
    prose = [cell.source for cell, its in zip(cells, part, strict=True)
             if notebooks.is_prose(cell) and its == part[index]]
    texts = [*notebooks.about(cells[index]), *(('prose', text) for text in prose)]
    return [(kind, sentence) for kind, text in texts for sentence in sentences(text)]


# ---- the rule ----

_REFERENCE = re.compile(
    r'\b(?:[Ss]ections?|[Cc]hapters?|[Pp]ages?|[Ee]xercises?|[Ff]ig(?:ures?|\.)|[Tt]heorems?|[Ee]quations?|[Vv]ersions?|'
    r'[Aa]lgorithms?|Python|CUDA)\s+\d[\d.]*(?:(?:\s*(?:,|and|or|to|–|-)\s*)+\d[\d.]*)*')
_YEAR = re.compile(
    r'(?:\b(?:in|since|until|from|to|and|by|of|early|late|year|January|February|March|April|May|June|July|August|September|'
    r'October|November|December)\s|\(|^)$', re.I)


class Statement(NamedTuple):
    """A number that a section states, and where."""

    cell: int
    part: int
    kind: str  # prose, caption or alt text
    sentence: str
    number: Number


class Pool:
    """Numbers that are shown, kept sorted."""

    def __init__(self, found):
        self.numbers = sorted({(n.value, n.step): n for n in found if n.value}.values(), key=lambda n: n.value)
        self.values = [n.value for n in self.numbers]

    def near(self, number):
        """The numbers within one and a half units of the last digit of a number."""
        low = bisect.bisect_left(self.values, number.value - 1.5 * number.step)
        return self.numbers[low:bisect.bisect_right(self.values, number.value + 1.5 * number.step)]

    def has(self, number):
        return any(map(number.equal, self.near(number)))

    def rounds(self, number):
        return any(map(number.rounded, self.near(number)))


class Numbers:
    """The numbers that a `sections.Section` states and those that it shows, as it is recorded."""

    def __init__(self, section):
        self.name, self.cells = section.name, section.stored.cells
        self.parts = notebooks.parts(self.cells)
        self.last = self.parts[-1]
        self.place = []  # of each cell: how many cells of text have come
        for cell in self.cells:
            self.place.append((self.place[-1] if self.place else 0) + notebooks.is_prose(cell))
        self.results, self.literals, self.documented = {}, {}, []
        for i, cell in enumerate(self.cells):
            if cell.cell_type == 'code' and 'remove-cell' not in cell.metadata.get('tags', []):
                tree = ast.parse(cell.source)
                self.results[i], self.literals[i] = shown_by(cell.outputs), literals(tree)
                self.documented += documented(tree)
        self._pools = {}

    def texts(self, i):
        """(kind, Markdown) of what a cell tells its reader: prose, or the caption and the alt text of a figure."""
        cell = self.cells[i]
        return [('prose', cell.source)] if notebooks.is_prose(cell) else [*notebooks.about(cell)]

    def statements(self):
        """All numbers that count in prose, captions and alt texts, in order."""
        return [Statement(i, self.parts[i], kind, sentence, number) for i in range(len(self.cells))
                for kind, text in self.texts(i) for sentence in sentences(text) for number in numbers(sentence)]

    def pools(self, i):
        """What is shown for the texts of a cell: (results near by, code near by, all of the part)."""
        if i not in self._pools:
            prose = self.cells[i].cell_type == 'markdown'
            part = [j for j in self.results if self.speaks_of(self.parts[i], self.parts[j])]
            near = [j for j in self.results if self.parts[j] == self.parts[i] and self.place[j] - self.place[i] in (-1, 0)]
            code = [j for j in near if (not self.draws(j) if prose else self.place[j] == self.place[i])]
            self._pools[i] = (
                Pool([n for j in near for n in self.results[j]]),
                Pool([n for j in code for n in self.literals[j]]),
                Pool([n for j in part for n in self.results[j] + self.literals[j]] + self.documented),
            )
        return self._pools[i]

    def draws(self, i):
        """Whether a cell shows a figure: its code is about positions, and counts for its own caption and alt text alone."""
        return any(svg.KIND in output.get('data', {}) for output in self.cells[i].outputs)

    def speaks_of(self, part, other):
        """Whether the texts of one part may repeat numbers of another: of the opening, and opening and summary of all."""
        return other in (0, part) or part in (0, self.last)

    def shows(self, statement):
        """Whether a number is shown, near by if it has few digits."""
        results, code, part = self.pools(statement.cell)
        number, rough = statement.number, statement.number.rough()
        for one in {number, number.bare()}:
            if results.has(one) or code.has(one) or one.digits > 1 and results.rounds(one):
                return True
            if one.digits > 1 and one.step >= 1 and part.has(one) or one.digits > 2 and part.rounds(one):
                return True
        return rough is not None and results.rounds(rough)

    def known(self):
        """The statements that are shown or computed, and may be repeated."""
        return [one for one in self.statements() if self.shows(one) or self.computes(one)]

    def repeats(self, statement, known):
        """Whether a number is one of the `known` statements of its part, or of any for the opening and the summary."""
        return any(self.speaks_of(statement.part, other.part) and statement.number.equal(other.number) for other in known)

    @cached_property
    def computed(self):
        """Of each cell {number: (the number, the value of the other side)} of what its inline formulas compute."""
        return [{number.value: (number, value) for _, text in self.texts(i) for number, value in computed(text)}
                for i in range(len(self.cells))]

    def computes(self, statement):
        """(the number, the value of the other side) where an inline formula of the cell computes it; else None."""
        return self.computed[statement.cell].get(statement.number.value)

    def nearest(self, statement):
        """The number of the part that comes nearest to a stated one, as words."""
        number, part = statement.number, self.pools(statement.cell)[2].numbers
        if not part or not number.value:
            return 'the part shows no number'
        best = min(part, key=lambda other: abs(math.log(other.value) - math.log(number.value)))
        digits = f', which rounds to {round(best.value / number.step) * number.step:.6g}' if best.step < number.step else ''
        return f'the nearest number of the part is {best.text}{digits}'


def elsewhere(statement):
    """Whether a number comes from elsewhere: it is a year or a section of a book."""
    number = statement.number
    if re.fullmatch(r'1[6-9]\d\d|20[0-2]\d', number.text) and _YEAR.search(number.before):
        return True
    return any(number.text in found[0] for found in _REFERENCE.finditer(statement.sentence))


def unshown(section, listed):
    """(message, None) for each number that nothing shows or a formula belies, (None, text) for each that is `listed`."""
    stated = section.statements()
    known = section.known()
    for one in stated:
        pair, number = section.computes(one), one.number
        where = f'{section.name}, cell {one.cell + 1}, {one.kind}: {number.text} in "{one.sentence}"'
        if pair is not None:
            stated, value = pair
            if abs(value - number.value) > stated.step / 2 * (1 + 1e-9):
                yield f'{where}: the formula gives {value:.6g}', None
        elif one in known or section.repeats(one, known) or elsewhere(one):
            continue
        elif number.text in listed:
            yield None, number.text
        else:
            yield (f'{where} is not shown: {section.nearest(one)}. Correct it, print it, '
                   'or list it with the reason in tests/book/numbers.yml'), None
