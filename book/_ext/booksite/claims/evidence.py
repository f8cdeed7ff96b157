"""What the executed notebooks say about the claims of the ledger, read from the outputs stored in them.

Nothing here depends on Sphinx. `nbutils.checks` prints the lines; this module reads them back.
"""
import json
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import yaml

from nbutils import ledger

_CASES = r'(?: in (?P<cases>\d+) cases?)?'
_AT = r'(?: at (?P<at>.+))?'
_SLIP = r'would notice: (?P<slip>.+?)(?: \((?P<case>\w+ = .+)\))?'
_RAN = (r'as printed, (?P<cases>\d+) cases?; (?P<spoilt>\d+ of \d+) spoilt variants rejected; '
        r'would notice: (?P<slip>.+?): (?P<latex>.+)')
FORMS = [(kind, re.compile(form)) for kind, form in (
    ('verified', rf'✓ (?P<name>.+): holds{_CASES}; {_SLIP}'),
    ('holds', rf'✓ (?P<name>\S+) holds{_CASES}; {_SLIP}'),
    ('holds', rf'✓ (?P<name>\S+): {_RAN}'),
    ('printed', rf'✗ (?P<name>\S+) as printed(?: in the notes)? fails(?:: (?P<reason>.+)|{_AT})'),
    ('corrected', rf'✓ (?P<name>\S+) as corrected holds{_CASES}(?:; {_SLIP})?'),
    ('corrected', rf'✓ (?P<name>\S+) as corrected holds {_RAN}'),
)]
_LOOKS_LIKE_A_CHECK = re.compile(rf'[✓✗] (?:(?:{"|".join(ledger.FILES)})\.\S|.*: (?:holds|fails)\b)')


class Line(NamedTuple):
    """One line printed by a check.

    `kind` is that of its form; `name` the id of a claim or, where the kind is 'verified', a sentence of the book's own.
    `cases` is how many were tried, None where there are none. `at` is the case in which the slip or the
    printed form fails, `reason` why the printed form could not be put together. `slip` names the mistake that was
    noticed; `spoilt` says how many variants of a display, '3 of 3', were rejected, and `latex` is the one with the slip.
    """
    kind: str
    name: str
    cases: int | None = None
    at: str | None = None
    slip: str | None = None
    spoilt: str | None = None
    latex: str | None = None
    reason: str | None = None


class Check(NamedTuple):
    """What was executed for one claim: the line that says what holds, and for an erratum the one that says what fails."""
    id: str
    section: str
    cell: int
    holds: Line
    fails: Line | None = None


def read_line(text: str) -> Line | None:
    """The `Line` in one line of output, None where it is none. Raises ValueError for a check in an unknown form."""
    for kind, form in FORMS:
        if found := form.fullmatch(text):
            parts = {name: part for name, part in found.groupdict().items() if part is not None}
            if 'cases' in parts:
                parts['cases'] = int(parts['cases'])
            if 'case' in parts:
                parts['at'] = parts.pop('case')
            return Line(kind, **parts)
    if _LOOKS_LIKE_A_CHECK.match(text):
        raise ValueError(f'a check line in an unknown form: {text}')
    return None


class Book:
    """The sections of the table of contents, the ledger, and what the notebooks show about it.

    `problems` lists (place, message) for everything that must stop a build.
    """

    def __init__(self, root):
        self.root = Path(root)
        self.toc = yaml.safe_load((self.root / '_toc.yml').read_text('utf-8'))
        self.problems = []
        self.titles = {}  # of the pages whose titles other pages show
        self._cells = {}

    @cached_property
    def chapters(self) -> dict[str, list[str]]:
        """Page of each chapter -> pages of its sections, in the order of the table of contents."""
        return {
            chapter['file']: [section['file'] for section in chapter.get('sections', ())]
            for part in self.toc.get('parts', ()) for chapter in part['chapters']
            if 'sections' in chapter
        }

    @cached_property
    def numbers(self) -> dict[str, str]:
        """Page of each numbered chapter and section -> its number in the book: '3', '3.2'."""
        numbered = [part for part in self.toc.get('parts', ()) if part.get('numbered')]
        found = {}
        for number, chapter in enumerate((chapter for part in numbered for chapter in part['chapters']), 1):
            found[chapter['file']] = f'{number}'
            for place, section in enumerate(chapter.get('sections', ()), 1):
                found[section['file']] = f'{number}.{place}'
        return found

    @cached_property
    def sections(self) -> list[str]:
        """The notebooks of the table of contents, as the ledger names them: 'linear_algebra/norms'."""
        pages = [page for pages in self.chapters.values() for page in pages]
        return [page.removeprefix('notebooks/') for page in pages if page.startswith('notebooks/')]

    @cached_property
    def claims(self) -> dict[str, list[ledger.Claim]]:
        """Section -> its claims, for every section that the ledger names, in the order of the ledger."""
        found = {}
        for claim in ledger.claims().values():
            found.setdefault(claim.section, []).append(claim)
        return found

    @cached_property
    def lines(self) -> dict[str, list[tuple[int, Line]]]:
        """Section -> pairs of the number of a cell and a check `Line` that it printed. Fills `problems`."""
        found = {}
        for section in self.sections:
            printed = ((number, text) for number, cell in enumerate(self.cells(section), 1) for text in printed_lines(cell))
            found[section] = []
            for number, text in printed:
                try:
                    if line := read_line(text):
                        found[section].append((number, line))
                except ValueError as error:
                    self._report(section, number, str(error))
        return found

    @cached_property
    def verified(self) -> dict[str, list[str]]:
        """Section -> the sentences of the book's own that its cells have verified. Fills `problems`."""
        found = {}
        for section, lines in self.lines.items():
            said = found[section] = []
            for number, line in lines:
                if line.kind == 'verified' and line.name in said:
                    self._report(section, number, f'verified twice: {line.name}')
                elif line.kind == 'verified':
                    said.append(line.name)
        return found

    @cached_property
    def checks(self) -> dict[str, Check]:
        """Id -> `Check`, for all sections of the table of contents. Fills `problems`."""
        found = {}
        for section in self.sections:
            for check in self._checks_of(section):
                if check.id in found:
                    self._report(section, check.cell, f'{check.id} is checked twice, also in {found[check.id].section}')
                found[check.id] = check
            self._compare(section, found)
        return found

    @cached_property
    def questions(self) -> dict[str, str]:
        """Section -> its question in one line, as book/questions.yml puts it for readers of other pages."""
        path = self.root / 'book' / 'questions.yml'
        return yaml.safe_load(path.read_text('utf-8')) if path.is_file() else {}

    @cached_property
    def shown(self) -> list:
        """What pages about the whole book show of sections: checks, own statements, questions."""
        checks = [check._replace(cell=0) for check in self.checks.values()]  # where a cell stands is not shown
        return [checks, self.verified, self.questions]

    def notebook(self, section: str) -> Path:
        return self.root / 'notebooks' / f'{section}.ipynb'

    def name(self, section):
        return self.notebook(section).relative_to(self.root).as_posix()

    def cells(self, section: str) -> list[dict]:
        """The cells of a section's notebook, as nbformat stores them; none where the file is missing. Read once."""
        if section not in self._cells:
            path = self.notebook(section)
            self._cells[section] = json.loads(path.read_text('utf-8'))['cells'] if path.is_file() else []
        return self._cells[section]

    def state(self, claim: ledger.Claim) -> str:
        """One of 'holds', 'wrong', 'uncheckable', 'to come': where the book stands with a claim."""
        if claim.id in self.checks:
            return 'wrong' if self.checks[claim.id].fails else 'holds'
        return 'uncheckable' if claim.uncheckable else 'to come'

    def _checks_of(self, section):
        fails = {}
        for number, line in self.lines[section]:
            if line.kind == 'verified':
                continue
            if line.name not in ledger.claims():
                self._report(section, number, f'a check of {line.name}, which is no claim of book/claims')
            elif line.kind == 'printed':
                fails[line.name] = line
            elif line.kind == 'holds' or line.name in fails:
                yield Check(line.name, section, number, line, fails.get(line.name))

    def _compare(self, section, checks):
        """Report claims of the section without a check, and checks that the ledger contradicts."""
        if not self.notebook(section).is_file():  # the table of contents reports that
            return
        for claim in self.claims.get(section, ()):
            check = checks.get(claim.id)
            place = _place(claim.id)
            if check is None and not claim.uncheckable:
                self.problems.append((place, f'{claim.id}: no cell of {self.name(section)} shows a check of it'))
            elif check and bool(check.fails) != (claim.verdict == 'wrong'):
                shown = 'refutes' if check.fails else 'confirms'
                self._report(section, check.cell, f'it {shown} {claim.id}, which is {claim.verdict} in {place}')
        for check in checks.values():
            home = ledger.claims()[check.id].section
            if check.section == section != home:
                self._report(section, check.cell, f'a check of {check.id}, which belongs to {home}')

    def _report(self, section, cell, message):
        self.problems.append((f'{self.name(section)}:cell {cell}', message))


def printed_lines(cell: dict) -> Iterator[str]:
    """The lines that a cell wrote."""
    for output in cell.get('outputs', ()):
        if output.get('output_type') == 'stream' and output.get('name') == 'stdout':
            yield from ''.join(output['text']).splitlines()


def _place(claim_id):
    """File and line of a claim in the ledger."""
    name = f'{claim_id.split(".")[0]}.yml'
    lines = (ledger.FOLDER / name).read_text('utf-8').splitlines()
    number = next((n for n, text in enumerate(lines, 1) if text.strip() == f'- id: {claim_id}'), 1)
    return f'book/claims/{name}:{number}'
