"""The rules that hold for every notebook. Each takes a `sections.Section` and yields what is wrong, with the remedy."""
import ast
import json
import re
import subprocess
import sys
import tomllib

import yaml
from nbval.plugin import find_comment_markers

from nbutils import ledger
from nbutils.maintain import compare, lint, notebooks, svg
from nbutils.maintain.sections import OUT_OF_VIEW, sentence

TAGS = {'checks', notebooks.CAPTION, 'remove-cell', 'hide-input', 'hide-output', 'hide-cell'}
VIEW, FOLDED = (25, 79), (60, 125)  # lines and columns of a cell in view, and of one whose code is folded
PICTURE_BYTES, NOTEBOOK_BYTES = 200_000, 1_000_000
CAPTION_WORDS = range(6, 46)
KINDS = ('Program', 'Pencil', 'Experiment')  # to write, to derive, to predict and try
LINES = {'verify': ':', 'holds': ('', ':'), 'erratum': ('',)}  # what stands behind the name; a display that ran has a colon
COARSE = 0.052  # the relative tolerance of a printed number above which a change is hardly seen: that of 2.0 is 0.051

LAUNCH = '''try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = '{address}/archive/refs/tags/v{version}.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {{address}}'], check=True)'''


def recorded(section):
    """A reader must get the outputs of the very text that is shown; else a fixed formula keeps its old result."""
    if section.stored is None:
        yield f'{section.name} was never recorded: make record'
    elif notebooks.cells_of(section.notebook) != notebooks.cells_of(section.stored):
        yield f'{section.name}: the .py and the .ipynb differ; the .py counts: make record'


def executed(section):
    """nbval by itself passes cells that were never run, so these must not be stored; nor may errors and warnings."""
    code = section.stored_code
    if section.stored and [c.execution_count for _, c in code] != list(range(1, len(code) + 1)):
        yield f'{section.name}: cells not run, or not in order from 1: make record'
    for i, cell in code:
        for output in cell.outputs:
            if output.output_type == 'error' or output.get('name') == 'stderr':
                yield f'{section.name}, cell {i}: an error or a warning is stored; mend the cell, then make record'


MACHINE_BOUND = {
    'a path': r'(?:/(?:home|root|tmp|usr|work|Users|content)/\w|site-packages|[A-Z]:\\)',
    'an address in memory': r'\b0x[0-9a-fA-F]{6,}',
    'a date': r'\b20\d\d-\d\d-\d\d\b',
    'a time of day': r'\b\d\d:\d\d:\d\d\b',
    'a version': r'\b\d+\.\d+\.\d+\b',
    'a device': r'\b(?:cuda|mps)(?::\d)?\b',
    'a duration': r'\b\d+(?:\.\d+)? ?(?:ms|µs|us|seconds|sec)\b',
}


def portable(section):
    """What hangs on the machine or the day cannot be compared on another: the book would fail everywhere else."""
    for i, cell in section.stored_code:
        for output in cell.outputs:
            text = output.get('text', '') + output.get('data', {}).get('text/plain', '')
            for what, pattern in MACHINE_BOUND.items():
                if found := re.search(pattern, text):
                    yield f'{section.name}, cell {i} prints {what} ({found[0]!r}): print the conclusion instead'


def tagged(section):
    """A misspelt tag does nothing, silently; and no output may go uncompared."""
    for i, cell in enumerate(section.cells, 1):
        if cell.cell_type == 'code' and (markers := [kind for kind, _ in find_comment_markers(cell.source)]):
            yield f'{section.name}, cell {i}: a comment tells nbval to look away ({", ".join(markers)}): remove it'
        if unknown := set(cell.metadata.get('tags', [])) - TAGS:
            yield f'{section.name}, cell {i}: unknown tag {", ".join(sorted(unknown))}; known are {", ".join(sorted(TAGS))}'


def described(section):
    """A reader who does not see the figure gets its file name read out unless it has alt text; one who looks at the figures
    alone learns from the captions what to see in them."""
    for i, cell in section.stored_code:
        pictures = [o.data[svg.KIND] for o in cell.outputs if svg.KIND in o.get('data', {})]
        about = dict(notebooks.about(cell))
        if pictures and len(about['alt text']) < 15:
            yield f'{section.name}, cell {i} draws a figure without alt text: # %% mystnb={{"image": {{"alt": "..."}}}}'
        below = section.stored.cells[i:i + 1]  # i counts from 1
        caption = about['caption'] if any(map(notebooks.is_caption, below)) else ''
        caption = re.sub(r'\$[^$]+\$', 'x', caption)
        if pictures and not (len(caption.split()) in CAPTION_WORDS and caption.endswith('.') and '$' not in caption):
            yield (f'{section.name}, cell {i}: a caption has {min(CAPTION_WORDS)} to {max(CAPTION_WORDS)} words, pairs of $ '
                   'and a full stop at its end; it stands in a cell below the figure: # %% [markdown] tags=["caption"]')
        for picture in pictures:
            if len(picture) > PICTURE_BYTES:
                yield f'{section.name}, cell {i}: a picture of {len(picture)} bytes; at most {PICTURE_BYTES}'
            if pale := re.findall(r'<\w+ class="mpl-text" aria-label="([^"]*)"[^>]* (?:fill-)?opacity="', picture):
                yield f'{section.name}, cell {i}: the text {pale[0]!r} of a figure has an alpha; letters need full contrast'
    if section.stored and (size := section.path.with_suffix('.ipynb').stat().st_size) > NOTEBOOK_BYTES:
        yield f'{section.name}: the recorded notebook has {size} bytes; at most {NOTEBOOK_BYTES}'


def shaped(section):
    """Long cells and lines are the first thing that makes a page unreadable, on a phone above all."""
    launch = launch_cell()
    for i, cell in enumerate(section.cells, 1):
        if cell.cell_type != 'code' or cell.source == launch:
            continue
        lines = cell.source.splitlines()
        folded = {'checks', 'hide-input'} & {*cell.metadata.get('tags', [])} or 'jupyter' in cell.metadata
        height, width = FOLDED if folded else VIEW
        if len(lines) > height:
            yield f'{section.name}, cell {i} has {len(lines)} lines; at most {height}: split it'
        if longest := [line for line in lines if len(line) > width]:
            yield f'{section.name}, cell {i} has a line of {len(longest[0])} columns; at most {width}'
    headings = re.findall(r'^# .+', section.prose, re.M)
    if len(headings) != 1 or not section.cells[0].source.startswith('# '):
        yield f'{section.name} must begin with its title and have no second one'
    if len(section.titles) - 1 != notebooks.parts(section.cells)[-1]:
        yield f'{section.name}: a heading ## stands within a cell: begin the cell with it, or with its anchor'
    opening = section.cells[0].source
    for words in ('**You need**', '**You build**', '**Runs in**'):
        if words not in opening:
            yield f'{section.name}: the opening lacks {words}'
    if '**Runs in**' in opening and not notebooks.RUNS_IN.search(opening):
        yield f'{section.name}: say "**Runs in** 9 seconds": make test compares it with what the kernel takes'
    if '?' not in opening.partition('**You need**')[0]:
        yield f'{section.name}: the opening raises no question'
    if not re.search(r'^## Summary$', section.prose, re.M):
        yield f'{section.name} lacks its ## Summary'


def braced(section):
    """MathJax shows an index that is a command with an argument, TeX stops at it, and there is no PDF."""
    if found := re.search(r'[_^]\\(?:math\w+|text\w*|operatorname|boldsymbol|bar|hat|tilde|sqrt|frac)\{', section.prose):
        yield f'{section.name} has {found[0]}...}} as an index: put braces around it'


def claims_checked(section):
    """A claim that nobody checks is what this book exists to rule out; so is a check of no known claim."""
    known, mine = ledger.claims(), {c.id for c in ledger.claims().values() if c.section == section.name}
    ids = [claim_id for function, claim_id in section.checks if function != 'verify']
    for claim_id in ids:
        if claim_id not in known:
            yield f'{section.name} checks {claim_id!r}, which is no claim of book/claims'
        elif claim_id not in mine:
            yield f'{section.name} checks {claim_id}, which belongs to {known[claim_id].section}'
    for claim_id in sorted(mine - set(ids)):
        if not known[claim_id].uncheckable:
            yield f'{section.name} does not check {claim_id}: add holds(...) or erratum(...)'
    for claim_id in sorted(mine & set(ids)):
        if known[claim_id].uncheckable:
            yield f'{claim_id} is checked by {section.name} and stands in the ledger as uncheckable'


def checks_printed(section):
    """A check whose line is not among the stored outputs was never run; the claims page would show nothing."""
    for (i, cell), code in zip(section.stored_code, section.code_cells, strict=False):  # `recorded` compares them
        printed = '\n'.join(o.text for o in cell.outputs if o.output_type == 'stream')
        for call in lint.check_calls(code.nodes):
            function, said = call.func.id, sentence(call)
            literal = isinstance(call.args[0], ast.Constant)
            if literal and not any(f'✓ {said}{mark} ' in printed for mark in LINES[function]):
                yield f'{section.name}, cell {i}: {function} of {said} left no line in the output: make record'


def coarse(section):
    """(cell, number) for each printed number that may change by more than `COARSE` before the comparison sees it.

    Lines of checks are left out: their numbers are cases, no results.
    """
    for i, cell in section.stored_code:
        for output in cell.outputs:
            lines = (output.get('text', '') or output.get('data', {}).get('text/plain', '')).splitlines()
            numbers = compare._NUMBER.findall('\n'.join(line for line in lines if not line.startswith(('✓', '✗'))))
            yield from ((i, number) for number in numbers if compare.relative_tolerance(number) > COARSE)


def exercises(section):
    """An exercise that is not graded, or whose grader accepts a wrong answer, teaches the wrong thing."""
    to_grade = [exercise for exercise in section.exercises if not re.search('Pencil:|Experiment:', exercise.title)]
    for exercise in section.exercises:
        for code in exercise.asked:
            hidden = code.metadata.get('jupyter', {}).get('source_hidden') or not exercise.drawn
            if re.search(r'\bgrade\(', code.source) and not (hidden and 'hide-input' in code.tags):
                yield (f'{section.name}: the grader of {exercise.label} is in view, and the truth with it: '
                       '# %% tags=["hide-input"] jupyter={"source_hidden": true}')
        if not exercise.is_solved:
            yield f'{section.name}: exercise {exercise.label} has no solution-start ... solution-end after it'
        elif exercise in to_grade:
            label = exercise.label
            asked, solved = ('\n'.join(code.source for code in codes) for codes in (exercise.asked, exercise.solved))
            if 'raise NotImplementedError' not in asked or not exercise.calls:
                yield f'{section.name}: exercise {label} needs a stub raising NotImplementedError and a cell grade(...)'
            if not re.search(r'^assert grade\(', solved, re.M):
                yield f'{section.name}: the solution of {label} is not graded: assert grade(...)'
            if not re.search(r'^assert not grade\(', solved, re.M):
                yield f'{section.name}: no wrong answer to {label} is shown to be rejected: assert not grade(...)'
    yield from drawn_exercises(section)


WRONG_ANSWERS = 3  # by category: a boundary or a special case, what was ignored or forgotten, a forbidden route


def drawn_exercises(section):
    """A grader that draws its cases belongs to a stub that says what comes in, and rejects three mistakes."""
    seen = set().union(*(lint.bound(code.tree) for code in section.code_cells if not OUT_OF_VIEW & code.tags))
    for exercise in section.graded:
        if not exercise.drawn:
            continue
        where = f'{section.name}: exercise {exercise.label}'
        stubs = [node for code in exercise.asked for node in code.nodes
                 if isinstance(node, ast.FunctionDef) and 'raise NotImplementedError' in ast.unparse(node)]
        for stub in stubs:
            if len((ast.get_docstring(stub) or '').splitlines()) < 2:
                yield f'{where}: the stub of {stub.name} needs a docstring with types, shapes and an example'
        rejected = sum(len(re.findall(r'^assert not grade\(', code.source, re.M)) for code in exercise.solved)
        if rejected < WRONG_ANSWERS:
            yield f'{where}: {rejected} wrong answers are rejected; at least {WRONG_ANSWERS}: assert not grade(...)'
        for call in exercise.calls:
            if isinstance(truth := call.args[1], ast.Name) and truth.id in seen:
                yield f'{where}: its reader sees the truth {truth.id}: define it in the folded cell of grade'


def folded_once(section):
    """Two closed lines one after the other look like a fault of the page, and a reader opens the wrong one."""
    above = None  # the number of a folded cell that shows nothing, if it stands right above
    for i, cell in enumerate(section.stored.cells if section.stored else (), 1):
        tags = cell.metadata.get('tags', [])
        if notebooks.is_caption(cell) or 'remove-cell' in tags:
            continue
        folded = cell.cell_type == 'code' and 'hide-input' in tags
        if folded and above:
            yield f'{section.name}, cells {above} and {i} are folded and nothing stands between them: make them one'
        above = i if folded and not cell.outputs else None


def ordered(section):
    """Which of two equal values comes first is chance, and falls otherwise on another machine, unless the sort is stable."""
    for i, _, nodes in section.trees:
        for call in _unstable(nodes):
            yield f"{section.name}, cell {i}: {ast.unparse(call)[:60]}: kind='stable' in numpy, stable=True in torch"


def _unstable(nodes):
    """The calls that give the order of values, by numpy's or torch's sort, without asking for a stable one."""
    read = {id(node.value) for node in nodes  # what is taken apart, as torch's pair of values and places is
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Tuple, ast.List))
            or isinstance(node, ast.Attribute) and node.attr == 'indices'
            or isinstance(node, ast.Subscript) and ast.unparse(node.slice) == '1'}
    for call in nodes:
        name = lint.called(call)
        if name == 'argsort' or name == 'sort' and id(call) in read and not ast.unparse(call.func).startswith('np.'):
            asked = {(keyword.arg, ast.unparse(keyword.value)) for keyword in call.keywords}
            if not asked & {('kind', "'stable'"), ('stable', 'True')}:
                yield call


def repository():
    """(address, version) of the project: the address from `_config.yml`, the version from `pyproject.toml`."""
    settings = yaml.safe_load((notebooks.ROOT / '_config.yml').read_text('utf-8'))['repository']
    project = tomllib.loads((notebooks.ROOT / 'pyproject.toml').read_text('utf-8'))['project']
    return settings['url'].rstrip('/'), project['version']


def launch_cell():
    """The text of the cell that makes a notebook run on a hosted service, with the release that it belongs to."""
    address, version = repository()
    return LAUNCH.format(address=address, version=version)


def launches(section):
    """A notebook opened on a hosted service must find nbutils, from this repository."""
    first = section.code_cells[0]
    if first.source != launch_cell() or first.metadata.get('tags') != ['remove-cell']:
        yield f'{section.name}: the first code cell must be the launch cell: make launch'


def parts(section):
    """The code cells of each `##` part behind those of the opening, as {title: [cells]}."""
    return {title: [code for code in section.code_cells if code.part in (0, number)]
            for number, title in enumerate(section.titles) if number}


def from_its_beginning(section):
    """Whether a section is read from its beginning, each part after the one before: its header names its main formula."""
    return 'main' in section.notebook.metadata.get('book', {})


def alone(section):
    """A part that leans on another in silence breaks when that one is edited, and a reader cannot start at it."""
    for title, cells in () if from_its_beginning(section) else parts(section).items():
        text = '\n\n'.join(cell.source for cell in cells)
        ruff = [sys.executable, '-m', 'ruff', 'check', '--isolated', '--select', 'F821', '--output-format', 'json', '-']
        for problem in json.loads(subprocess.run(ruff, input=text, capture_output=True, text=True).stdout):
            yield f'{section.name}, the part {title!r} after the opening alone: {problem["message"]}; bind it there'


def kinds(section):
    """What was only programmed was not derived, and what was only derived was not tried; a title says what is asked for."""
    titles = [exercise.title for exercise in section.exercises]
    found = [re.match(rf'★+ ({"|".join(KINDS)}): \S', title) for title in titles]
    for title, kind in zip(titles, found, strict=True):
        if not kind:
            yield f'{section.name}: begin the title of the exercise "{title}" with {": or ".join(KINDS)}:, after its stars'
    for kind in KINDS:
        if not any(m and m[1] == kind for m in found):
            yield f'{section.name} has no exercise of the kind {kind}'


RULES = (
    recorded, executed, portable, tagged, described, shaped, braced, claims_checked, checks_printed, exercises, kinds,
    launches, folded_once, ordered, alone, *lint.RULES,
)
