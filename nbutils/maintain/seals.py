"""Seals: what no machine can compare with its check was read together with it, and neither has changed since.

A theorem, a statement in words and a check by a hand-written test hang together only in a reader's head. For each of them
`book/seals.yml` has a line with three digests, of what is sealed:

- the statement: the block of a theorem or a definition, the display with a claim's id, the paragraph below an anchor
  `(id)=` or the words that `book/sentences.yml` quotes, the sentence of `verify`; a proof has a line of its own,
  and so have the formulas that stand in a part's sentences;
- the check: the statements of the notebook that call it, and all that these read, without comments and layout; what a part
  asserts or prints as a verdict beside checks and theorems has a line of its own, and so has its code in view that no check
  hangs on, whose results only the words beside them tell;
- the entry in the ledger: notes, correct, verdict, why.

A display that is executed as printed may change. `python -m nbutils.maintain.seals ID ...` shows the three as they were and
as they are, and renews the line: read them together before you commit it. Without an ID it lists what is broken.
"""
import ast
import difflib
import hashlib
import subprocess
import sys
from functools import cache
from typing import NamedTuple

import yaml

from nbutils import ledger
from nbutils.maintain import notebooks
from nbutils.maintain.sections import Section, plain, read_all, sentence, squeezed
from nbutils.printed import displays

SEALS = notebooks.ROOT / 'book' / 'seals.yml'
SENTENCES = notebooks.ROOT / 'book' / 'sentences.yml'
PRINTS = notebooks.ROOT / 'tests' / 'prints'
WHAT = ('statement', 'check', 'entry in the ledger')
HEADER = '''# Digests of each statement, of its check and of its entry in the ledger, which were read together: see
# nbutils/maintain/seals.py. Written by `make seal ID=...` alone, which shows what has changed.
'''
ENTRY = ('notes', 'correct', 'verdict', 'why')
OLD = 40  # how many versions of a section are searched for the one that was sealed


class Seal(NamedTuple):
    """What one line seals: two texts and the syntax trees of a check, each empty where there is none."""
    statement: str
    check: tuple
    entry: str

    def digests(self):
        return tuple(map(_digest, (self.statement, ' '.join(map(_fingerprint, self.check)), self.entry)))

    def shown(self):
        return self.statement.strip(), '\n'.join(map(ast.unparse, self.check)), self.entry.strip()


@cache
def _fingerprint(node):
    return _digest(plain(node))


def _digest(text):
    """Six hexadecimal digits that hang on all of a text but its spaces; 'none' for none."""
    text = squeezed(text)
    return hashlib.sha256(text.encode()).hexdigest()[:6] if text else 'none'


def seals(section, entries, quotes):
    """{key: `Seal`} of all that is to be sealed in a `Section`.

    `entries` are the claims of the ledger, by id, `quotes` the words that state those without a display.
    """
    found, statements = {}, section.said(quotes)
    for label, statement in section.theorems.items():
        found[label] = Seal(statement.text, section.needed(section.checks_of(label)), '')
    found |= {key: Seal(text, (), '') for key, text in (section.proofs | section.formulas).items()}
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
    """{section: {key: (three digests)}} of `book/seals.yml`. Raises ValueError for lines that git has merged."""
    lines = yaml.load(SEALS.read_text('utf-8'), yaml.CSafeLoader) if SEALS.is_file() else None
    sealed = {section: {key: tuple(line.split()) for key, line in keys.items()} for section, keys in (lines or {}).items()}
    for section, keys in sealed.items():
        for key, digests in keys.items():
            if len(digests) != len(WHAT):
                raise ValueError(f'{SEALS.name}, {section}  {key}: {len(digests)} digests; take out what a merge put there')
    return sealed


def quoted(text):
    """{section: {id: words}} of the text of `book/sentences.yml`."""
    return yaml.load(text, yaml.CSafeLoader) or {}


def present(book):
    """({section: {key: `Seal`}}, the labels of the displays that run as printed) of a book as of `sections.read_all`."""
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
    """Show what a line seals, as it was and as it is, and put the line into `sealed`. Raises KeyError for an unknown key.

    Several sections may have a line of this name: then those count that are broken.
    """
    places = [section for section in sorted({*sealed, *now}) if key in {**sealed.get(section, {}), **now.get(section, {})}]
    if not places:
        raise KeyError(f'{key} is nothing that is sealed, or could be')
    digests = {place: now[place][key].digests() for place in places if key in now.get(place, {})}
    for section in [place for place in places if digests.get(place) != sealed.get(place, {}).get(key)] or places:
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
        then = seals(Section.of(notebooks.parsed(text)), claims, quoted(sentences).get(section, {})).get(key)
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
    sealed, (now, free) = stored(), present(read_all())
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
