"""What a section costs its reader, measured: `python -m nbutils.maintain.budget [FILE.py ...]` (`make budget`).

The limits are those of the book's style. `tests/book/over_budget.yml` lists the sections that do not keep them yet; a new
section keeps them all. Two measures need a browser: how many screens down the first figure or printed example stands, and
where on the page the main formula. tests/site/test_pages.py takes them, holds them to their limits, and leaves them in
`POSITIONS`; here they are printed.
"""
import ast
import hashlib
import json
import re
import statistics
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

from nbutils.maintain import notebooks

CHECKS = {'holds', 'verify', 'erratum'}
OUT_OF_VIEW = {'checks', 'hide-input', 'hide-cell', 'remove-cell'}
BANNED = re.compile(
    r'\b(?:the notes|the scan|garbled|as printed|the controls?|the check|(?:is|are) restored|holds in [\d,]+ cases)\b', re.I)
POSITIONS = notebooks.ROOT / '_build' / 'positions'  # a file for each section that a browser has measured
SCREEN = 900  # px, of a page that is 1280 px wide
SCREENS, SHARE = 1.5, 0.20  # at most: screens to the first figure or printed example, part of the page to the main formula
_FENCE = re.compile(r'(`{3,}|:{3,})\{?([\w:-]*)\}?(.*)')
_SENTENCE = re.compile(r'^\s*(?:\\begin\{(?:aligned|gathered)\}\s*)?&?\s*\\text\{\s*[^}]{12,}')
_DOWN = ('prf:proof', 'admonition')  # folded where their class says so


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


def measure(notebook) -> Budget:
    """The budget of a notebook, as `notebooks.read` gives it."""
    code = [cell.source for cell in taught(notebook)]
    lengths = [len(_lines(source)) for source in code] or [0]
    aside = sum(len(_lines(_without_imports(cell.source))) for cell in folded(notebook))
    view, texts = _view(notebook)
    said = '\n'.join([_without_blocks(view, ('admonition',), 'warning'), *_captions(notebook)])
    return Budget(
        words=len(_prose(view).split()), lines=sum(lengths), code=sum(lengths) + aside,
        median=statistics.median(lengths), longest=max(lengths),
        checking=round(_checking(code) / max(1, sum(lengths)), 3),
        parts=len(re.findall(r'^## (?!Summary)', '\n'.join(texts), re.M)),
        sentences=sum(bool(_SENTENCE.match(formula)) for formula in _displays(view)),
        banned=len(BANNED.findall(said)))


def _view(notebook):
    """(the prose of a notebook out of solutions, all its prose by cells)."""
    texts = [cell.source for cell in notebook.cells if notebooks.is_prose(cell)]
    shown = [text for text, solution in zip(texts, _in_solutions(texts), strict=True) if not solution]
    return '\n\n'.join(shown), texts


def pieces(notebook) -> int:
    """The words in view, where a formula in a line counts as many as blanks cut it into: the strictest reading."""
    return len(_prose(_view(notebook)[0], formula=lambda found: ' '.join('x' for _ in found[1].split())).split())


def taught(notebook) -> list:
    """The code cells in view that teach: not those of figures, checks and exercises."""
    return [cell for cell in _outside_exercises(notebook)
            if not OUT_OF_VIEW & {*cell.metadata.get('tags', [])} and not cell.metadata.get('jupyter')]


def folded(notebook) -> list:
    """The code cells that a page folds and that are neither a figure, nor checks, nor of an exercise."""
    return [cell for cell in _outside_exercises(notebook) if 'hide-input' in cell.metadata.get('tags', [])
            and 'checks' not in cell.metadata['tags'] and 'image' not in cell.metadata.get('mystnb', {})]


def _outside_exercises(notebook):
    exercise = False
    for cell in notebook.cells:
        if cell.cell_type == 'markdown':
            if '{exercise}' in cell.source:
                exercise = True
            if '{solution-end}' in cell.source:
                exercise = cell.source.rindex('{solution-end}') < cell.source.rfind('{exercise}')
        elif not exercise:
            yield cell


def _without_imports(source):
    """A cell as it is, or, if it imports, its definitions and assignments alone: no settings, which go with imports."""
    nodes = ast.parse(source).body
    if not any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in nodes):
        return source
    kept = [node for node in nodes if not isinstance(node, (ast.Import, ast.ImportFrom, ast.Expr))]
    return '\n'.join(ast.get_source_segment(source, node) for node in kept)


def over(budget: Budget) -> list[str]:
    """The names of what exceeds its limit; where the lines in view do, nothing is said of all."""
    names = [name for name, value, limit in zip(Budget._fields, budget, LIMITS, strict=True) if value > limit]
    return [name for name in names if name != 'code' or 'lines' not in names]


def termless(notebook, glossary=None) -> list[str]:
    """The headings of parts in which no term of the glossary stands: a student does not find them by searching."""
    found = (glossary or _glossary()).found
    headings = re.findall(r'^## (?!Summary)(.+)', '\n'.join(c.source for c in notebook.cells if notebooks.is_prose(c)), re.M)
    return [heading for heading in headings if not found(heading)]


@cache
def _glossary():
    sys.path.insert(0, str(notebooks.ROOT / 'book' / '_ext'))
    from booksite.finding.glossary import Glossary
    return Glossary(SimpleNamespace(root=notebooks.ROOT, sections={notebooks.name(path) for path in notebooks.sources()}))


def remember_positions(path, reached):
    """Keep what a browser measured of a page, in px: the tops of the first `example` and main `formula`, its `length`."""
    target = POSITIONS / f'{notebooks.name(path)}.json'
    target.parent.mkdir(parents=True, exist_ok=True)
    notebooks.replace(target, json.dumps(reached | {'of': _text_of(path)}))


def positions(path):
    """(screens to the first example, share of the page to the main formula, whether the text is still the one measured).

    None where no browser has measured the section, or, for the share, where its header names no main formula.
    """
    target = POSITIONS / f'{notebooks.name(path)}.json'
    if not target.is_file():
        return None
    reached = json.loads(target.read_text('utf-8'))
    share = reached['formula'] / reached['length'] if reached['formula'] is not None else None
    return reached['example'] / SCREEN, share, reached['of'] == _text_of(path)


def _text_of(path):
    return hashlib.sha256(path.with_suffix('.ipynb').read_bytes()).hexdigest()[:16]


def _lines(source):
    return [line for line in source.splitlines() if line.strip()]


def _checking(code):
    """How many lines serve checks alone: their calls, and the functions that nothing else uses."""
    trees = [ast.parse(re.sub(r'^[%!]', '# ', source, flags=re.M)) for source in code]
    statements = [(node, _used(node)) for tree in trees for node in tree.body]
    checks = {id(node) for node, _ in statements if _is_check(node)}
    while True:
        taught_names = set().union(*(used for node, used in statements if id(node) not in checks), set())
        more = {id(node) for node, _ in statements
                if isinstance(node, ast.FunctionDef) and node.name not in taught_names and id(node) not in checks
                and any(node.name in used for other, used in statements if id(other) in checks)}
        if not more:
            break
        checks |= more
    return sum(node.end_lineno - node.lineno + 1 for node, _ in statements if id(node) in checks)


def _is_check(node):
    return (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
            and getattr(node.value.func, 'id', None) in CHECKS)


def _used(node):
    """The names that a statement reads, its own name apart."""
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
    return names - {getattr(node, 'name', None)}


def _in_solutions(texts):
    """For each Markdown cell, whether it stands in a solution that spans several cells."""
    inside = False
    for text in texts:
        begins, ends = text.rfind('{solution-start}'), text.rfind('{solution-end}')
        yield inside and ends < 0
        inside = begins > ends if max(begins, ends) >= 0 else inside


def _without_blocks(text, kinds, css):
    """A text without its fenced blocks of these kinds that have a class."""
    kept, closing = [], None
    lines = text.splitlines()
    for i, line in enumerate(lines):
        fence = _FENCE.match(line.strip())
        if closing is None and fence and fence[2] in kinds:
            head = []
            for following in lines[i + 1:]:
                if not following.strip().startswith(':'):
                    break
                head.append(following)
            if any(re.search(rf':class:.*\b{css}\b', option) for option in head):
                closing = fence[1]
        elif closing is not None:
            if line.strip() == closing:
                closing = None
            continue
        if closing is None:
            kept.append(line)
    return '\n'.join(kept)


def _prose(text, formula='x'):
    """What is read of a text: no folded proofs and solutions, no displays, no markup; a formula in a line is one word.

    `formula` is what takes the place of such a formula, as a text or a function of the match.
    """
    text = re.sub(r'^ *`{3}\{solution-start\}.*?^ *`{3}\{solution-end\}\n *`{3}', '', text, flags=re.M | re.S)
    text = _without_blocks(text, _DOWN, 'dropdown')
    text = re.sub(r'^ *(`{3,}|:{3,})\{math\}.*?^ *\1|\$\$.*?\$\$', '', text, flags=re.M | re.S)
    text = re.sub(r'\$([^$]+)\$', formula, text)
    text = re.sub(r'^ *(?:`{3,}|:{3,}).*$|^ *:[\w-]+:.*$|^\([^)]*\)=$|\]\([^)]*\)', '', text, flags=re.M)
    return re.sub(r'(?<!\w)[*_|#>-]+(?!\w)', ' ', text)


def _displays(text):
    for found in re.finditer(r'^ *(`{3,}|:{3,})\{math\}\n(?: *:[^\n]*\n)*(.*?)^ *\1|\$\$(.*?)\$\$', text, re.M | re.S):
        yield found[2] or found[3] or ''


def _captions(notebook):
    for cell in notebook.cells:
        about = cell.metadata.get('mystnb', {})
        yield about.get('figure', {}).get('caption', '')
        yield about.get('image', {}).get('alt', '')


def main(arguments):
    paths = [Path(argument).with_suffix('.py').resolve() for argument in arguments] or notebooks.sources()
    columns = (*Budget._fields, 'pieces', 'termless', 'screens', 'formula')
    print(f'{"":44}' + ''.join(f'{name:>10}' for name in columns))
    print(f'{"at most":44}' + ''.join(f'{limit:>9} ' for limit in (*LIMITS, '', '', SCREENS, f'{SHARE:.0%}')))
    without = {}
    for path in paths:
        notebook = notebooks.read(path)
        budget, without[path] = measure(notebook), termless(notebook)
        exceeded = over(budget)
        marks = [f'{value:>9}{"*" if name in exceeded else " "}' for name, value in zip(Budget._fields, budget, strict=True)]
        rest = (f'{count:>9} ' for count in (pieces(notebook), len(without[path])))
        print(f'{notebooks.name(path):44}' + ''.join([*marks, *rest, *_places(path)]))
    print('\ncode: the lines in view, and those folded that are no figure, no imports, no check and no exercise'
          '\npieces: the words, where a formula in a line counts as many as blanks cut it into'
          '\ntermless: headings of parts without a term of the glossary'
          '\nscreens, formula: how far down the first figure or printed example stands, and the main formula, on a page of '
          f'1280 px by {SCREEN} px,\n  as make site-tests measured it last; ? where the section has changed since')
    for path, headings in without.items():
        if headings and arguments:
            print(f'{notebooks.name(path)}, without a term: ' + ' | '.join(headings))


def _places(path):
    """The two columns that a browser has measured."""
    if (found := positions(path)) is None:
        return [f'{"-":>9} '] * 2
    screens, share, fresh = found
    marks = ' *' if fresh else '??'
    told = [f'{screens:>9.1f}{marks[screens > SCREENS]}']
    return told + [f'{"-":>9} ' if share is None else f'{share:>9.0%}{marks[share > SHARE]}']


if __name__ == '__main__':
    main(sys.argv[1:])
