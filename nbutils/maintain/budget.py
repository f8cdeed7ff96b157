"""What a section costs its reader, measured: `python -m nbutils.maintain.budget [FILE.py ...]` (`make budget`).

The limits are those of the book's style, and every section keeps them. Two measures need a browser: how many screens down
the first figure or printed example stands, and where on the page the main formula. tests/site/test_pages.py takes them, and
holds them to `SCREENS` and `SHARE`.
"""
import ast
import re
import statistics
import sys
from pathlib import Path
from typing import NamedTuple

from nbutils.maintain import lint, notebooks, sections

BANNED = re.compile(
    r'\b(?:the notes|the scan|garbled|as printed|the controls?|the check|(?:is|are) restored|holds in [\d,]+ cases)\b', re.I)
SCREEN = 900  # px, of a page that is 1280 px wide
SCREENS, SHARE = 1.5, 0.20  # at most: screens to the first figure or printed example, part of the page to the main formula
_FOLDED = re.compile(  # solutions; proofs and notes that their class folds
    r'^ *`{3}\{solution-start\}.*?^ *`{3}\{solution-end\}\n *`{3}'
    r'|^ *(`{3,}|:{3,})\{(?:prf:proof|admonition)\}[^\n]*\n(?: *:[^\n]*\n)*? *:class:[^\n]*\bdropdown\b.*?^ *\1 *$',
    re.M | re.S)
_SENTENCE = re.compile(r'^\s*(?:\\begin\{(?:aligned|gathered)\}\s*)?&?\s*\\text\{\s*[^}]{12,}')


class Budget(NamedTuple):
    """What is measured of a section; `LIMITS` says how much of it is allowed."""

    words: int  # of prose in view
    lines: int  # of code in view, without figures and exercises
    code: int  # these lines, and those that are folded though they are no figure, no imports, no check and no exercise
    median: float  # lines of a cell in view
    longest: int
    checking: float  # share of the code in view that serves checks alone
    parts: int
    sentences: int  # displayed formulas that begin as sentences
    banned: int  # words about the making of the book


LIMITS = Budget(words=2200, lines=180, code=220, median=8, longest=20, checking=0.10, parts=4, sentences=0, banned=0)


def measure(section) -> Budget:
    """The budget of a `sections.Section`."""
    code, text = taught(section), section.prose
    lengths = [len(_lines(cell.source)) for cell in code] or [0]
    aside = sum(len(_lines(_without_imports(cell))) for cell in folded(section))
    captions = [words for cell in section.cells for _, words in notebooks.about(cell)]
    return Budget(
        words=len(_prose(_FOLDED.sub('', text)).split()), lines=sum(lengths), code=sum(lengths) + aside,
        median=statistics.median(lengths), longest=max(lengths),
        checking=round(_checking(code) / max(1, sum(lengths)), 3),
        parts=len(re.findall(r'^## (?!Summary)', text, re.M)),
        sentences=sum(bool(_SENTENCE.match(formula)) for formula in _displays(text)),
        banned=len(BANNED.findall('\n'.join([text, *captions]))))


def taught(section) -> list:
    """The code cells in view that teach: not those of figures, checks and exercises."""
    return [code for code in section.outside
            if not sections.OUT_OF_VIEW & code.tags and not code.metadata.get('jupyter')]


def folded(section) -> list:
    """The code cells that a page folds and that are neither a figure, nor checks, nor of an exercise."""
    return [code for code in section.outside if 'hide-input' in code.tags and 'checks' not in code.tags
            and 'image' not in code.metadata.get('mystnb', {})]


def _without_imports(code):
    """A cell as it is, or, if it imports, its definitions and assignments alone: no settings, which go with imports."""
    nodes = code.tree.body
    if not any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in nodes):
        return code.source
    kept = [node for node in nodes if not isinstance(node, (ast.Import, ast.ImportFrom, ast.Expr))]
    return '\n'.join(ast.get_source_segment(code.source, node) for node in kept)


def over(budget: Budget) -> list[str]:
    """The names of what exceeds its limit; where the lines in view do, nothing is said of all."""
    names = [name for name, value, limit in zip(Budget._fields, budget, LIMITS, strict=True) if value > limit]
    return [name for name in names if name != 'code' or 'lines' not in names]


def _lines(source):
    return [line for line in source.splitlines() if line.strip()]


def _checking(code):
    """How many lines serve checks alone: their calls, and the functions that nothing else uses."""
    statements = [(node, lint.read(node) - {getattr(node, 'name', None)}) for cell in code for node in cell.tree.body]
    checks = {id(node) for node, _ in statements if isinstance(node, ast.Expr) and [*lint.check_calls([node.value])]}
    while True:
        taught_names = set().union(*(used for node, used in statements if id(node) not in checks), set())
        more = {id(node) for node, _ in statements
                if isinstance(node, ast.FunctionDef) and node.name not in taught_names and id(node) not in checks
                and any(node.name in used for other, used in statements if id(other) in checks)}
        if not more:
            break
        checks |= more
    return sum(node.end_lineno - node.lineno + 1 for node, _ in statements if id(node) in checks)


def _prose(text):
    """What is read of a text: no displays, no markup; a formula in a line is one word."""
    text = re.sub(r'^ *(`{3,}|:{3,})\{math\}.*?^ *\1|\$\$.*?\$\$', '', text, flags=re.M | re.S)
    text = re.sub(r'\$[^$]+\$', 'x', text)
    text = re.sub(r'^ *(?:`{3,}|:{3,}).*$|^ *:[\w-]+:.*$|^\([^)]*\)=$|\]\([^)]*\)', '', text, flags=re.M)
    return re.sub(r'(?<!\w)[*_|#>-]+(?!\w)', ' ', text)


def _displays(text):
    for found in re.finditer(r'^ *(`{3,}|:{3,})\{math\}\n(?: *:[^\n]*\n)*(.*?)^ *\1|\$\$(.*?)\$\$', text, re.M | re.S):
        yield found[2] or found[3] or ''


def main(arguments):
    paths = [Path(argument).with_suffix('.py').resolve() for argument in arguments] or notebooks.sources()
    print(f'{"":44}' + ''.join(f'{name:>10}' for name in Budget._fields))
    print(f'{"at most":44}' + ''.join(f'{limit:>9} ' for limit in LIMITS))
    for path in paths:
        budget = measure(sections.Section(path))
        marks = ['*' if name in over(budget) else ' ' for name in Budget._fields]
        print(f'{notebooks.name(path):44}' + ''.join(f'{value:>9}{mark}' for value, mark in zip(budget, marks, strict=True)))
    print('\ncode: the lines in view, and those folded that are no figure, no imports, no check and no exercise')


if __name__ == '__main__':
    main(sys.argv[1:])
