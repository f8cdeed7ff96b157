"""A section of the book, read once for all who ask: its cells, parts and exercises, and what its code hangs on.

What the code hangs on is said by its statements, what each reads, binds and changes, and which of them are checks; a
statement is named by its number, counted over all code cells. `nbutils.maintain.rules` and `budget` judge a section, `seals`
digests what a check hangs on, `graders` and `weights` execute what an exercise or a training hangs on, and tests ask which
functions no check hangs on.
"""
import ast
import gc
import re
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import nbformat

from nbutils.maintain import exercises, lint, notebooks
from nbutils.printed import displays

PROVED = ('theorem', 'lemma', 'proposition', 'corollary')
SHOWN = 'shown-'  # how the names of seals begin of what is only shown
COMPARING = ('all', 'any', 'close', 'allclose', 'array_equal', 'equal')  # functions whose value is a verdict
OUT_OF_VIEW = {'checks', 'hide-input', 'hide-cell', 'remove-cell'}  # tags of code cells that a page folds or leaves out

_KINDS = '|'.join((*PROVED, 'definition'))
_BLOCK = re.compile(rf'^(`{{3,}}|:{{3,}})\{{prf:({_KINDS})\}}[ \t]*([^\n]*)\n(.*?)^\1[ \t]*$', re.S | re.M)
_PROOF = re.compile(r'^(`{3,}|:{3,})\{prf:proof\}[^\n]*\n(.*?)^\1[ \t]*$', re.S | re.M)
_LABEL = re.compile(r'^(?:\((\S+)\)=|:label: *(\S+)) *$', re.M)
_FORMULA = re.compile(r'(?<!\\)(\$\$?)(.+?)(?<!\\)\1', re.S)
_STYLE = r'\\(?:mathbf|boldsymbol|mathcal|mathbb|mathrm|text|hat|bar|tilde)\b'
_SYMBOL = re.compile(rf'(?:{_STYLE})?[\\{{\s]*\w+[}}\s]*(?:_\w|_\{{\w+\}})?')
_CHECK = re.compile(rf'\b({"|".join(lint.CHECKS)})\(')
_ANCHOR = re.compile(r'^\((\S+)\)=\n+(.*?)(?:\n\s*\n|\Z)', re.S | re.M)
_OPTIONS = re.compile(r'\A(?::\w+:.*\n)+')


class Statement(NamedTuple):
    """A theorem or a definition: its `kind`, its title and text, and the number of the part in which it stands."""
    kind: str
    text: str
    part: int


class Code:
    """A code cell, its `number`, counted from 1 as JupyterLab counts all cells, its part, its syntax tree, and the nodes of
    that."""

    def __init__(self, number, part, cell):
        self.number, self.part, self.source, self.metadata = number, part, cell.source, cell.metadata
        self.tags = {*cell.metadata.get('tags', [])}

    @cached_property
    def tree(self):
        return ast.parse(self.source)

    @cached_property
    def nodes(self):
        return list(ast.walk(self.tree))

    @property
    def is_launch(self):
        return 'remove-cell' in self.tags

    @property
    def of_exercise(self):
        """Whether it tries an exercise, or belongs to its solution."""
        return 'grade(' in self.source or 'checks' not in self.tags and bool(
            self.metadata.get('jupyter', {}).get('source_hidden'))

    @property
    def in_view(self):
        """Whether a reader of the page sees it as code that teaches."""
        return not (OUT_OF_VIEW & self.tags or 'mystnb' in self.metadata or self.of_exercise
                    or 'raise NotImplementedError' in self.source)


class Section:
    """A section: its `.py`, read as a notebook, and the `.ipynb` recorded from it. Each is read when first asked for."""

    def __init__(self, path):
        self.path, self.name = Path(path), notebooks.name(Path(path))

    @classmethod
    def of(cls, notebook):
        """A section of a notebook that is in no file of the book, an older one for example."""
        section = cls('')
        section.notebook = notebook
        return section

    # ---- its cells ----

    @cached_property
    def notebook(self):
        return notebooks.read(self.path)

    @property
    def cells(self):
        return self.notebook.cells

    @cached_property
    def stored(self):
        """The recorded notebook; None where there is none."""
        target = self.path.with_suffix('.ipynb')
        return nbformat.read(target, as_version=4) if target.is_file() else None

    @property
    def stored_code(self):
        """(number, cell) of the code cells of the recorded notebook, counted as in `Code`."""
        return [(i, c) for i, c in enumerate(self.stored.cells, 1) if c.cell_type == 'code'] if self.stored else []

    @cached_property
    def titles(self):
        """The titles of the parts, as the number of a part counts them."""
        return ['opening', *re.findall(r'^## (.*)', self.prose, re.M)]

    @cached_property
    def prose(self):
        """All text but the captions."""
        return '\n\n'.join(cell.source for cell in self.cells if notebooks.is_prose(cell))

    @cached_property
    def code_cells(self):
        """The code cells, each as a `Code`."""
        parts = notebooks.parts(self.cells)
        return [Code(i, parts[i - 1], cell) for i, cell in enumerate(self.cells, 1) if cell.cell_type == 'code']

    @property
    def trees(self):
        """(number, syntax tree, all its nodes) of each code cell."""
        return [(code.number, code.tree, code.nodes) for code in self.code_cells]

    @property
    def checks(self):
        """(function, claim id or statement) of every check, in order."""
        return [(call.func.id, sentence(call)) for code in self.code_cells for call in lint.check_calls(code.nodes)]

    @cached_property
    def exercises(self):
        return exercises.written(self.cells, self.code_cells)

    @property
    def graded(self):
        """The exercises with a solution and a grader."""
        return [exercise for exercise in self.exercises if exercise.is_solved and exercise.calls]

    @property
    def outside(self):
        """The code cells that belong to no exercise."""
        inside = {code for exercise in self.exercises for code in (*exercise.asked, *exercise.solved)}
        return [code for code in self.code_cells if code not in inside]

    # ---- its statements, and what they hang on ----

    @cached_property
    def code(self):
        """The statements."""
        return [node for code in self.code_cells for node in code.tree.body]

    @cached_property
    def cell_of(self):
        """Of each statement its cell."""
        return [code for code in self.code_cells for _ in code.tree.body]

    @cached_property
    def names(self):
        """Of each statement what it does to `Names`."""
        return [Names(node, cell) for node, cell in zip(self.code, self.cell_of, strict=True)]

    @cached_property
    def calls(self):
        """{number of a statement: the calls of checks in it}."""
        return {n: found for n, node in enumerate(self.code)
                if _CHECK.search(self.cell_of[n].source) and (found := [*lint.check_calls(ast.walk(node))])}

    @cached_property
    def theorems(self):
        """{label: `Statement`} of the theorems and definitions. Raises ValueError for one without a label."""
        found = {}
        for cell, part in zip(self.cells, notebooks.parts(self.cells), strict=True):
            for _, kind, title, body in _BLOCK.findall(cell.source) if cell.cell_type == 'markdown' else ():
                options = _OPTIONS.match(body)
                label = re.search(r'^:label:\s*(\S+)', options[0], re.M) if options else None
                if not label:
                    raise ValueError(f'{kind} {title!r} has no :label:')
                found[label[1]] = Statement(kind, f'{title}\n{body[options.end():]}', part)
        return found

    @property
    def proofs(self):
        """{key: text} of the proofs, each named after the last label before it."""
        found = {}
        for proof in _PROOF.finditer(self.prose):
            *_, last = '', *(next(filter(None, labels)) for labels in _LABEL.findall(self.prose[:proof.start()]))
            found[f'proof-{last}'] = found.get(f'proof-{last}', '') + _OPTIONS.sub('', proof[2])
        return found

    @property
    def formulas(self):
        """{key: text} of the formulas in prose and captions, part by part; those of theorems and proofs, and single symbols,
        left out."""
        found = {}
        for cell, part in zip(self.cells, notebooks.parts(self.cells), strict=True):
            text = _PROOF.sub('', _BLOCK.sub('', cell.source)) if cell.cell_type == 'markdown' else ''
            latex = (squeezed(latex) for _, latex in _FORMULA.findall(text))
            found.setdefault(part, []).extend(one for one in latex if not _SYMBOL.fullmatch(one))
        return {f'formulas-{_slug(self.titles[part])}': '\n'.join(sorted(latex)) for part, latex in found.items() if latex}

    def said(self, quotes):
        """{id: text} of the labelled displays, the anchored paragraphs and those `quotes`, {id: words}, that stand in the
        prose."""
        prose = squeezed(self.prose)
        there = {key: words for key, words in quotes.items() if squeezed(words) in prose}
        return there | dict(_ANCHOR.findall(self.prose)) | displays.in_text(self.prose)

    @cached_property
    def by_hand(self):
        """{key: [(number of the statement, call)]} of the checks with a test of their own."""
        found = {}
        for number, found_calls in self.calls.items():
            for call in found_calls:
                if by_hand(call):
                    found.setdefault(key_of(call), []).append((number, call))
        return found

    @property
    def executed(self):
        """The labels of the displays that run as printed on the page."""
        return {sentence(call) for found_calls in self.calls.values() for call in found_calls if not by_hand(call)}

    @cached_property
    def judging(self):
        """The numbers of the statements that say whether something is so, those of exercises left out."""
        return [n for n, (node, cell) in enumerate(zip(self.code, self.cell_of, strict=True))
                if not (cell.of_exercise or cell.is_launch) and (n in self.calls or judges(node))]

    def checks_of(self, label):
        """The numbers of the statements that check a theorem: those of its part in cells that name it; if none do, all."""
        mine = [n for n in self.judging if self.cell_of[n].part == self.theorems[label].part]
        naming = [n for n in mine if re.search(rf'(?<![\w.-]){re.escape(label)}(?![\w.-])', self.cell_of[n].source)]
        return naming or mine

    @cached_property
    def unnamed(self):
        """{key: [numbers of statements]} of the asserts and printed verdicts that check no theorem, part by part."""
        taken = {*self.calls}.union(*(self.checks_of(label) for label in self.theorems))
        found = {}
        for number in self.judging:
            if number not in taken:
                found.setdefault(f'verdicts-{_slug(self.titles[self.cell_of[number].part])}', []).append(number)
        return found

    @cached_property
    def shown(self):
        """{key: [numbers of statements]} of the code in view that no check, verdict or theorem hangs on, part by part."""
        return {f'{SHOWN}{_slug(self.titles[part])}': numbers for part, numbers in self._only_shown(self.judging).items()}

    @property
    def uncalled(self):
        """The names of the functions and classes in view that no check, verdict or exercise hangs on."""
        trying = [n for n, cell in enumerate(self.cell_of) if n in self.calls or n in self.judging or cell.of_exercise]
        return [self.code[n].name for numbers in self._only_shown(trying).values() for n in numbers
                if isinstance(self.code[n], (ast.FunctionDef, ast.ClassDef))]

    def _only_shown(self, trying):
        """{part: [numbers of statements in view]} of what these statements do not hang on, imports left out."""
        tried, found = {id(node) for node in self.needed([*self.calls, *trying])}, {}
        for n, (node, cell) in enumerate(zip(self.code, self.cell_of, strict=True)):
            silent = isinstance(node, (ast.Import, ast.ImportFrom)) or isinstance(node, ast.Expr) and not (
                self.names[n].reads - {'print'} or self.names[n].changes)
            if cell.in_view and id(node) not in tried and not silent:
                found.setdefault(cell.part, []).append(n)
        return found

    def needed(self, numbers):
        """The syntax trees of these statements and of those that make what they read, in their order."""
        found = {number: None for number in numbers}  # number -> names wanted of it, None for all
        todo, seen = [(number, number) for number in numbers], set()
        while todo:
            number, until = todo.pop()
            names = self.names[number]
            for name, limit in [*((name, number) for name in names.reads), *((name, until) for name in names.reads_later)]:
                if (name, limit) not in seen:
                    seen.add((name, limit))
                    for maker in self._makers(name, limit):
                        todo.append((maker, limit))
                        if found.setdefault(maker, set()) is not None:
                            found[maker].add(name)
        return tuple(_restricted(self.code[n], found[n] and frozenset(found[n])) for n in sorted(found))

    def _makers(self, name, limit):
        """The numbers of the statements before `limit` that make the value of a name: its last definition, changes since."""
        changed = []
        for number in range(limit - 1, -1, -1):
            names = self.names[number]
            if name in names.binds:
                if names.imports:  # what is done with a module, to seed it say, lasts for a cell
                    return [number, *(n for n in changed if self.cell_of[n] is self.cell_of[limit])]
                changed.append(number)
                if names.always:
                    break
            elif name in names.changes:
                changed.append(number)
        return changed


class Names:
    """What a statement of a notebook does to names.

    What it did not bind itself before it `reads`, at once, or `reads_later`, when its functions are called. It `binds`
    names, `always` or only in a branch or a loop, and `changes` values that names had.
    """

    def __init__(self, node, cell):
        self.reads, self.reads_later, self.binds, self.changes = set(), set(), set(), set()
        self.imports = isinstance(node, (ast.Import, ast.ImportFrom))
        self.always = not isinstance(node, (ast.If, ast.For, ast.While, ast.Try))
        self._drawing = 'mystnb' in cell.metadata
        if not cell.is_launch:
            self._visit(node, frozenset(), self.reads)

    def _visit(self, node, local, reads):
        """Enter what a node reads, binds and changes; names in `local` belong to a function or a comprehension."""
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                self.binds |= {node.id} - local
            elif node.id not in local | self.binds:
                reads.add(node.id)
            return
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self.binds.update((alias.asname or alias.name).split('.')[0] for alias in node.names if not local)
            return
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name not in local:
            self.binds.add(node.name)
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            for default in filter(None, [*node.args.defaults, *node.args.kw_defaults]):
                self._visit(default, local, reads)
            local = local | lint.bound(node) | {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
            reads = self.reads_later
        elif isinstance(node, ast.ClassDef):
            local = local | lint.bound(node)
        elif hasattr(node, 'generators'):  # a comprehension
            local = local | {name for g in node.generators for name in lint.bound(g.target)}
        elif reads is self.reads:
            changed = self._changed(node) - local - self.binds
            self.changes |= changed
            self.reads |= changed
        first = getattr(node, 'value', getattr(node, 'iter', None))  # what is assigned comes before its name
        for child in sorted(ast.iter_child_nodes(node), key=lambda child: child is not first):
            self._visit(child, local, reads)

    def _changed(self, node):
        """The names whose values a node may change: by an assignment to a part, or by a call whose value is dropped."""
        if isinstance(node, ast.AugAssign):
            return _bases(node.target)
        if isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
            return _bases(node)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and not self._drawing:
            call = node.value
            if getattr(call.func, 'id', '') not in (*lint.CHECKS, 'print', 'grade'):
                return {name for part in (call.func, *call.args) if part is not call.func or isinstance(part, ast.Attribute)
                        for name in _bases(part)}
        return set()


def _bases(node):
    """The name at the bottom of `a.b[c]`, as a set; empty for what has none."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def by_hand(call):
    """Whether a check has a test of its own; else it executes a display."""
    return len(call.args) > 1 or any(keyword.arg in ('printed', 'corrected') for keyword in call.keywords)


def judges(tree):
    """Whether a syntax tree asserts something, or prints whether something is so."""
    if isinstance(tree, ast.Assert):
        return True
    if lint.called(tree) == 'print':
        return any(map(_compares, tree.args))
    return any(map(judges, ast.iter_child_nodes(tree)))


def _compares(tree):
    return isinstance(tree, ast.Compare) or lint.called(tree) in COMPARING or any(map(_compares, ast.iter_child_nodes(tree)))


def key_of(call):
    """The name of a check in the list: the id of a claim, or the words of a sentence with hyphens between."""
    return f'verify-{_slug(sentence(call))}' if call.func.id == 'verify' else sentence(call)


def _slug(words):
    return '-'.join(re.findall(r'\w+', words.lower()))


def sentence(call):
    """What a check says that it shows: the id of a claim, or a sentence, or the code that makes it."""
    said = call.args[0]
    return said.value if isinstance(said, ast.Constant) else ast.unparse(said)


@cache
def _restricted(node, names):
    """An import without the names that are not wanted; all else as it is."""
    if names is None or not isinstance(node, (ast.Import, ast.ImportFrom)):
        return node
    wanted = [alias for alias in node.names if (alias.asname or alias.name).split('.')[0] in names]
    return ast.ImportFrom(node.module, wanted, node.level) if isinstance(node, ast.ImportFrom) else ast.Import(wanted)


def plain(node):
    """A syntax tree as text: the same for the same code, whatever its layout, comments, docstrings and version of Python."""
    fields = []
    for name, value in ast.iter_fields(node):
        if name == 'body' and isinstance(value, list) and value and _is_docstring(value[0]):
            value = value[1:]
        if value is not None and value != [] and name not in ('ctx', 'kind'):
            fields.append(f'{name}={_plain(value)}')
    return f'{type(node).__name__}({" ".join(fields)})'


def _plain(value):
    if isinstance(value, list):
        return '[' + ' '.join(map(_plain, value)) + ']'
    return plain(value) if isinstance(value, ast.AST) else repr(value)


def _is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def squeezed(text):
    """A text without what hangs on its layout."""
    return ' '.join(text.split())


def read_all():
    """{name: `Section`} of the book as it is, read as far as seals need it."""
    gc.disable()  # of the million nodes of the syntax trees none is garbage, and to find that out takes as long as all else
    try:
        book = {notebooks.name(path): Section(path) for path in notebooks.sources()}
        for section in book.values():
            section.names, section.calls  # noqa: B018
        return book
    finally:
        gc.freeze()
        gc.enable()
