"""Seals: what no machine can compare with its check was read together with it, and neither has changed since.

A theorem, a statement in words and a check by a hand-written test hang together only in a reader's head. For each of them
`book/seals.yml` has a line with three digests, of what is sealed:

- the statement: the block of a theorem or a definition, the display with a claim's id, the paragraph below an anchor
  `(id)=` or the words that `book/sentences.yml` quotes, the sentence of `verify`;
- the check: the statements of the notebook that call it, and all that these read, without comments and layout; what a part
  asserts or prints as a verdict beside checks and theorems has a line of its own, and so has its code in view that no check
  hangs on, whose results only the words beside them tell;
- the entry in the ledger: notes, correct, verdict, why.

A display that is executed as printed may change. `python -m nbutils.maintain.seals ID ...` shows the three as they were and
as they are, and renews the line: read them together before you commit it. Without an ID it lists what is broken.
"""
import ast
import difflib
import gc
import hashlib
import re
import subprocess
import sys
from functools import cache, cached_property
from typing import NamedTuple

import yaml

from nbutils import ledger
from nbutils.maintain import notebooks
from nbutils.printed import displays

SEALS = notebooks.ROOT / 'book' / 'seals.yml'
SENTENCES = notebooks.ROOT / 'book' / 'sentences.yml'
PRINTS = notebooks.ROOT / 'tests' / 'prints'
WHAT = ('statement', 'check', 'entry in the ledger')
HEADER = '''# Digests of each statement, of its check and of its entry in the ledger, which were read together: see
# nbutils/maintain/seals.py. Written by `make seal ID=...` alone, which shows what has changed.
'''
PROVED = ('theorem', 'lemma', 'proposition', 'corollary')
CHECKS = ('holds', 'erratum', 'verify')
SHOWN = 'shown-'  # how the names of seals begin of what is only shown
COMPARING = ('all', 'any', 'close', 'allclose', 'array_equal', 'equal')  # functions whose value is a verdict
ENTRY = ('notes', 'correct', 'verdict', 'why')
OLD = 40  # how many versions of a section are searched for the one that was sealed

_KINDS = '|'.join((*PROVED, 'definition'))
_BLOCK = re.compile(rf'^(`{{3,}}|:{{3,}})\{{prf:({_KINDS})\}}[ \t]*([^\n]*)\n(.*?)^\1[ \t]*$', re.S | re.M)
_CHECK = re.compile(rf'\b({"|".join(CHECKS)})\(')
_ANCHOR = re.compile(r'^\((\S+)\)=\n+(.*?)(?:\n\s*\n|\Z)', re.S | re.M)
_OPTIONS = re.compile(r'\A(?::\w+:.*\n)+')


class Statement(NamedTuple):
    """A theorem or a definition: its `kind`, its title and text, and the number of the part in which it stands."""
    kind: str
    text: str
    part: int


class Seal(NamedTuple):
    """What one line seals: two texts and the syntax trees of a check, each empty where there is none."""
    statement: str
    check: tuple
    entry: str

    def digests(self):
        return tuple(map(_digest, (self.statement, ' '.join(map(_fingerprint, self.check)), self.entry)))

    def shown(self):
        return self.statement.strip(), '\n'.join(map(ast.unparse, self.check)), self.entry.strip()


class Cell(NamedTuple):
    """A cell of a `.py` file: its last line there, what stands behind `# %%`, its text and the number of its part."""
    last: int
    head: str
    text: str
    part: int

    @property
    def prose(self):
        return self.head.startswith('[markdown]')

    @property
    def launch(self):
        return 'remove-cell' in self.head

    @property
    def exercise(self):
        return 'source_hidden' in self.head or 'grade(' in self.text

    @property
    def view(self):
        """Whether a reader of the page sees it as code that teaches."""
        hidden = re.search(r'"(checks|hide-input|hide-cell|remove-cell)"|mystnb', self.head)
        return not (self.prose or hidden or self.exercise or 'raise NotImplementedError' in self.text)


def cells(text):
    """The cells of a `.py` file in percent format. A part begins with a `##` heading; the opening is part 0."""
    pieces = re.split(r'^# %%[ \t]*(.*)\n', text, flags=re.M)
    line, part = pieces[0].count('\n'), 0
    for head, body in zip(pieces[1::2], pieces[2::2], strict=True):
        line += 1 + body.count('\n')
        if head.startswith('[markdown]'):
            body = re.sub(r'^# ?', '', body, flags=re.M)
            part += bool(re.match(r'## ', body))
        yield Cell(line, head, body, part)


class Section:
    """What can be sealed in the text of a section's `.py` file, and what each statement of its code hangs on."""

    def __init__(self, text):
        self.cells = list(cells(text))
        self.prose = '\n\n'.join(cell.text for cell in self.cells if cell.prose)
        self.code = ast.parse(text).body
        ahead = iter(self.cells)
        cell, self.cell_of = next(ahead), []  # the cell of each statement of the code
        for node in self.code:
            while node.lineno > cell.last:
                cell = next(ahead)
            self.cell_of.append(cell)
        self.names = [Names(node, cell) for node, cell in zip(self.code, self.cell_of, strict=True)]
        self.calls = {n: found for n, node in enumerate(self.code)
                      if _CHECK.search(self.cell_of[n].text) and (found := calls(node))}

    @cached_property
    def theorems(self):
        """{label: `Statement`} of the theorems and definitions. Raises ValueError for one without a label."""
        found = {}
        for cell in self.cells:
            for _, kind, title, body in _BLOCK.findall(cell.text) if cell.prose else ():
                options = _OPTIONS.match(body)
                label = re.search(r'^:label:\s*(\S+)', options[0], re.M) if options else None
                if not label:
                    raise ValueError(f'{kind} {title!r} has no :label:')
                found[label[1]] = Statement(kind, f'{title}\n{body[options.end():]}', cell.part)
        return found

    def said(self, quotes):
        """{id: text} of the labelled displays, the anchored paragraphs and those `quotes`, {id: words}, that stand in the
        prose."""
        prose = _squeezed(self.prose)
        there = {key: words for key, words in quotes.items() if _squeezed(words) in prose}
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
                if not (cell.exercise or cell.launch) and (n in self.calls or judges(node))]

    def checks_of(self, label):
        """The numbers of the statements that check a theorem: those of its part in cells that name it; if none do, all."""
        mine = [n for n in self.judging if self.cell_of[n].part == self.theorems[label].part]
        naming = [n for n in mine if re.search(rf'(?<![\w.-]){re.escape(label)}(?![\w.-])', self.cell_of[n].text)]
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
        trying = [n for n, cell in enumerate(self.cell_of) if n in self.calls or n in self.judging or cell.exercise]
        return [self.code[n].name for numbers in self._only_shown(trying).values() for n in numbers
                if isinstance(self.code[n], (ast.FunctionDef, ast.ClassDef))]

    def _only_shown(self, trying):
        """{part: [numbers of statements in view]} of what these statements do not hang on, imports left out."""
        tried, found = {id(node) for node in self.needed([*self.calls, *trying])}, {}
        for n, (node, cell) in enumerate(zip(self.code, self.cell_of, strict=True)):
            silent = isinstance(node, (ast.Import, ast.ImportFrom)) or isinstance(node, ast.Expr) and not (
                self.names[n].reads - {'print'} or self.names[n].changes)
            if cell.view and id(node) not in tried and not silent:
                found.setdefault(cell.part, []).append(n)
        return found

    @cached_property
    def titles(self):
        """The titles of the parts, as the number of a part counts them."""
        return ['opening', *re.findall(r'^## (.*)', '\n'.join(cell.text for cell in self.cells if cell.prose), re.M)]

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
        self._drawing = 'mystnb' in cell.head
        if not cell.launch:
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
            local = local | _stored(node) | {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
            reads = self.reads_later
        elif isinstance(node, ast.ClassDef):
            local = local | _stored(node)
        elif hasattr(node, 'generators'):  # a comprehension
            local = local | {name for g in node.generators for name in _stored(g.target)}
        elif reads is self.reads:
            changed = self._changed(node) - local - self.binds
            self.changes |= changed
            self.reads |= changed
        first = getattr(node, 'value', getattr(node, 'iter', None))  # what is assigned comes before its name
        for child in sorted(children(node), key=lambda child: child is not first):
            self._visit(child, local, reads)

    def _changed(self, node):
        """The names whose values a node may change: by an assignment to a part, or by a call whose value is dropped."""
        if isinstance(node, ast.AugAssign):
            return _bases(node.target)
        if isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
            return _bases(node)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and not self._drawing:
            call = node.value
            if getattr(call.func, 'id', '') not in (*CHECKS, 'print', 'grade'):
                return {name for part in (call.func, *call.args) if part is not call.func or isinstance(part, ast.Attribute)
                        for name in _bases(part)}
        return set()


def _bases(node):
    """The name at the bottom of `a.b[c]`, as a set; empty for what has none."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _stored(tree):
    """The names that are bound in a tree, functions included."""
    if isinstance(tree, ast.Name):
        return set() if isinstance(tree.ctx, ast.Load) else {tree.id}
    found = {tree.name} if isinstance(tree, (ast.FunctionDef, ast.ClassDef)) else set()
    return found.union(*map(_stored, children(tree)))


def calls(tree):
    """The calls of checks in a syntax tree."""
    return [node for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CHECKS]


def children(node):
    """The syntax trees directly below one, as `ast.iter_child_nodes` without contexts, in half the time."""
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            for child in value:
                if isinstance(child, ast.AST):
                    yield child
        elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
            yield value


def by_hand(call):
    """Whether a check has a test of its own; else it executes a display."""
    return len(call.args) > 1 or any(keyword.arg in ('printed', 'corrected') for keyword in call.keywords)


def judges(tree):
    """Whether a syntax tree asserts something, or prints whether something is so."""
    if isinstance(tree, ast.Assert):
        return True
    if isinstance(tree, ast.Call) and getattr(tree.func, 'id', '') == 'print':
        return any(map(_compares, tree.args))
    return any(map(judges, children(tree)))


def _compares(tree):
    name = getattr(tree.func, 'attr', getattr(tree.func, 'id', '')) if isinstance(tree, ast.Call) else ''
    return isinstance(tree, ast.Compare) or name in COMPARING or any(map(_compares, children(tree)))


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


@cache
def _fingerprint(node):
    return _digest(plain(node))


def _plain(value):
    if isinstance(value, list):
        return '[' + ' '.join(map(_plain, value)) + ']'
    return plain(value) if isinstance(value, ast.AST) else repr(value)


def _is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _digest(text):
    """Six hexadecimal digits that hang on all of a text but its spaces; 'none' for none."""
    text = _squeezed(text)
    return hashlib.sha256(text.encode()).hexdigest()[:6] if text else 'none'


def _squeezed(text):
    return ' '.join(text.split())


def seals(section, entries, quotes):
    """{key: `Seal`} of all that is to be sealed in a `Section`.

    `entries` are the claims of the ledger, by id, `quotes` the words that state those without a display.
    """
    found, statements = {}, section.said(quotes)
    for label, statement in section.theorems.items():
        found[label] = Seal(statement.text, section.needed(section.checks_of(label)), '')
    for key, numbers in section.unnamed.items():
        found[key] = Seal('', section.needed(numbers), '')
    for key, numbers in section.shown.items():
        found[key] = Seal('', tuple(section.code[n] for n in numbers), '')
    for key, checks in section.by_hand.items():
        said = statements.get(key, '')
        if key.startswith('verify-'):
            said = '\n'.join(sentence(call) for _, call in checks)
        entry = entries[key]._asdict() if key in entries else {}
        found[key] = Seal(said, section.needed([number for number, _ in checks]),
                          '\n'.join(f'{field}: {entry[field]}' for field in ENTRY if entry.get(field)))
    return found


def table():
    """The labels of the displays that run as printed by the table of tests/prints, read without executing it."""
    trees = (ast.parse(path.read_text('utf-8')) for path in sorted(PRINTS.glob('*.py')))
    return {node.value.args[0].value for tree in trees for node in tree.body
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.value.func.id == 'prints'}


def stored():
    """{section: {key: (three digests)}} of `book/seals.yml`."""
    lines = yaml.load(SEALS.read_text('utf-8'), yaml.CSafeLoader) if SEALS.is_file() else None
    return {section: {key: tuple(line.split()) for key, line in keys.items()} for section, keys in (lines or {}).items()}


def sections():
    """{name: `Section`} of the book as it is."""
    gc.disable()  # of the million nodes of the syntax trees none is garbage, and to find that out takes as long as all else
    try:
        return {notebooks.name(path): Section(path.read_text('utf-8')) for path in notebooks.sources()}
    finally:
        gc.freeze()
        gc.enable()


def quoted(text):
    """{section: {id: words}} of the text of `book/sentences.yml`."""
    return yaml.load(text, yaml.CSafeLoader) or {}


def present(book):
    """({section: {key: `Seal`}}, the labels of the displays that run as printed) of a book as of `sections`."""
    quotes = quoted(SENTENCES.read_text('utf-8'))
    free = table().union(*(section.executed for section in book.values()))
    return {name: unrun(section, free) | seals(section, ledger.claims(), quotes.get(name, {}))
            for name, section in book.items()}, free


def unrun(section, free):
    """{label: `Seal`} of the labelled displays that stand in no theorem and do not run: their labels are not in `free`."""
    return {label: Seal(latex, (), '') for label, latex in displays.in_text(section.prose).items()
            if label not in free and not any(f':label: {label}\n' in theorem.text for theorem in section.theorems.values())}


def broken(sealed, now, free):
    """(section, key, what is wrong) for each line that does not fit.

    `sealed` is as of `stored`, `now` as of `present`, `free` the labels of the displays that are executed.
    """
    for section in sorted({*sealed, *now}):
        lines, there = sealed.get(section, {}), now.get(section, {})
        for key in sorted({*lines, *there}):
            if key not in there:
                yield section, key, 'has a line, and there is no such statement or check'
            elif key not in lines:
                yield section, key, 'is not sealed'
            else:
                changed = [what for what, old, new in zip(WHAT, lines[key], there[key].digests(), strict=True)
                           if old != new and not (what == 'statement' and key in free)]
                if changed:
                    yield section, key, f'the {" and the ".join(changed)} changed since it was sealed'


def write(sealed):
    """Store the lines, sorted; a name stands above each, so that git merges changes of neighbours."""
    text = HEADER
    for section in sorted(sealed):
        lines = [f'  {key}:\n    {" ".join(sealed[section][key])}\n' for key in sorted(sealed[section])]
        text += f'\n{section}:\n{"".join(lines)}' if lines else ''
    notebooks.replace(SEALS, text)


def renew(key, sealed, now):
    """Show what a line seals, as it was and as it is, and put the line into `sealed`. Raises KeyError for an unknown key."""
    places = [section for section in sorted({*sealed, *now}) if key in {**sealed.get(section, {}), **now.get(section, {})}]
    if not places:
        raise KeyError(f'{key} is nothing that is sealed, or could be')
    for section in places:
        old = sealed.get(section, {}).pop(key, None)
        new = now.get(section, {}).get(key)
        print(f'\n{section}  {key}')
        if new is None:
            print('There is no such statement or check any more: its line is removed.')
            continue
        digests = new.digests()
        before = _before(section, key, old) if old and old != digests else (None,) * 3
        for what, text, then, same in zip(WHAT, new.shown(), before, map(str.__eq__, old or digests, digests), strict=True):
            print(f'\n-- {what}: {"as it was" if same and old else "new" if not old else "changed"}')
            print(_compared(then, text) if then is not None and not same else text or '(none)')
        sealed.setdefault(section, {})[key] = digests


def _compared(old, new):
    """Two texts as one, with - before the lines of the old one and + before those of the new one."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=10**6, lineterm='')
    return '\n'.join(list(lines)[3:])


def _before(section, key, digests):
    """The three texts as they were sealed, from the newest commit that has them; None where none of the last `OLD` has."""
    files = [f'notebooks/{section}.py', f'book/claims/{key.partition(".")[0]}.yml', 'book/sentences.yml']
    found = [None] * 3
    for commit in _git('log', f'-{OLD}', '--format=%h', '--', *files).split():
        text, entries, sentences = (_git('show', f'{commit}:{file}') for file in files)
        if not text:  # a commit from before the section
            continue
        claims = {c['id']: ledger.Claim(heading=h['id'], section=h['section'], **c)
                  for h in yaml.load(entries, yaml.CSafeLoader) or () for c in h['claims']}
        then = seals(Section(text), claims, quoted(sentences).get(section, {})).get(key)
        for i, digest in enumerate(then.digests() if then else ()):
            if found[i] is None and digest == digests[i]:
                found[i] = then.shown()[i]
        if None not in found:
            break
    return found


def _git(*arguments):
    """What git prints; '' where it fails, as for a file that a commit has not."""
    return subprocess.run(['git', *arguments], cwd=notebooks.ROOT, capture_output=True, text=True).stdout


def main():
    sealed, (now, free) = stored(), present(sections())
    if keys := sys.argv[1:]:
        for key in keys:
            renew(key, sealed, now)
        write(sealed)
        return
    problems = list(broken(sealed, now, free))
    for section, key, problem in problems:
        print(f'{section}  {key}: {problem}')
    hint = ' Read and renew each with: make seal ID=...' if problems else ''
    print(f'{len(problems)} of {sum(map(len, now.values()))} seals are broken.{hint}')


if __name__ == '__main__':
    main()
