"""The claims page: directives that write out the ledger beside what was executed."""
from collections import Counter
from collections.abc import Iterable

import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxDirective, SphinxRole

from nbutils import ledger

from ..build import (
    ERRATA_PAGE,
    book,
    check_anchor,
    claim_anchor,
    erratum_anchor,
    link,
    page_of,
    paragraph,
    section_anchor,
    table,
    title_of,
)
from . import claim_filter, formula
from .check_lines import noticed, place_of, tried
from .evidence import Book

VERDICTS = {  # verdict of the ledger -> what the tables call it once a cell has shown it
    'correct': 'holds',
    'wrong': 'wrong as printed',
    'garbled': 'restored, holds',
    'unclear': 'made precise, holds',
}
STATES = {'holds': 'Verified', 'wrong': 'Errata', 'uncheckable': 'Not checkable', 'to come': 'Still to come'}


def count(the_book: Book, claims: Iterable[ledger.Claim] | None = None) -> dict[str, int]:
    """How many claims are in each state, and their `total`."""
    claims = list(ledger.claims().values()) if claims is None else claims
    counted = Counter(the_book.state(claim) for claim in claims)
    return {**{state: counted[state] for state in STATES}, 'total': len(claims)}


class LedgerNumber(SphinxRole):
    """A number of the ledger in running text: {ledger}`verified`."""

    def run(self) -> list[nodes.Node]:
        numbers = self.numbers()
        if self.text not in numbers:
            message = self.inliner.reporter.error(f'unknown number of the ledger: {self.text}', line=self.lineno)
            return [], [message]
        return [nodes.inline('', f'{numbers[self.text]:,}', classes=['ledger-number'])], []

    def numbers(self) -> dict[str, int]:
        the_book = book(self.env)
        counted = count(the_book)
        return {
            'total': counted['total'], 'verified': counted['holds'],
            'lessons': sum(claim.verdict != 'correct' for claim in ledger.claims().values() if claim.id in the_book.checks),
            'own': sum(map(len, the_book.verified.values())),
            **self.printed(),
        }

    def printed(self) -> dict[str, int]:
        """How many displays there are, and how many run as printed: what `make printed` has counted."""
        path = book(self.env).root / 'book' / 'printed.yml'
        self.env.note_dependency(str(path))
        nothing = dict.fromkeys(('displays', 'displays-run', 'claim-displays', 'claim-displays-run'), 0)
        return yaml.safe_load(path.read_text('utf-8')) if path.is_file() else nothing


class ClaimCounts(SphinxDirective):
    """How far the book is: one row for each chapter of the ledger, and the total."""

    def run(self) -> list[nodes.Node]:
        the_book, chapters = book(self.env), {}
        for section, claims in the_book.claims.items():
            chapters.setdefault(section.split('/')[0], []).extend(claims)
        order = [page.removeprefix('book/') for page in the_book.chapters]
        order += [chapter for chapter in chapters if chapter not in order]
        known = [chapter for chapter in order if chapter in chapters]
        rows = [self.row(self.name_of(chapter), count(the_book, chapters[chapter])) for chapter in known]
        rows.append(self.row(nodes.strong('', 'All'), count(the_book)))
        return [table(['Chapter', *STATES.values(), 'Statements'], rows, ['claim-counts'], [4, 2, 2, 2, 2, 2])]

    def name_of(self, chapter):
        page = f'book/{chapter}'
        title = title_of(self.env, page)
        return link(self.env, page, title) if page in book(self.env).chapters else title

    def row(self, name, counted):
        return [[paragraph(name)], *([paragraph(str(number))] for number in counted.values())]


class ClaimTables(SphinxDirective):
    """Every section of the table of contents with its claims: what is stated, the verdict, what was tried."""

    def run(self) -> list[nodes.Node]:
        return [self.chapter(page, sections) for page, sections in book(self.env).chapters.items()]

    def chapter(self, page, pages):
        made = nodes.section('', nodes.title('', title_of(self.env, page)), ids=[section_anchor(page)])
        made += [self.section(page.removeprefix('notebooks/')) for page in pages]
        return made

    def section(self, section):
        title = title_of(self.env, page_of(section))
        made = nodes.section('', nodes.title('', title), ids=[section_anchor(section)], classes=['claims-of-section'])
        self.state.document.note_explicit_target(made)
        claims = book(self.env).claims.get(section, [])
        made += paragraph(link(self.env, page_of(section), f'Read {title}'), classes=['claims-of'])
        if claims:
            made += self.claims(claims)
        else:
            made += paragraph('The notes state nothing here that could be checked.')
        return made

    def claims(self, claims):
        rows = [[statement(claim), [self.verdict(claim)], self.evidence(claim)] for claim in claims]
        made = table(['Statement', 'Verdict', 'What was tried'], rows, ['claims'], [10, 3, 7])
        body = next(made.findall(nodes.tbody))
        for claim, row in zip(claims, body.children, strict=True):
            state = book(self.env).state(claim).replace(' ', '-')
            kind = state if claim.id not in book(self.env).checks else claim.verdict
            row['ids'], row['classes'] = [claim_anchor(claim.id)], [f'claim-{state}', f'verdict-{kind}']
        return made

    def verdict(self, claim):
        """What a cell has shown; a statement that could not stay as printed links to its lesson."""
        if claim.id not in book(self.env).checks:
            return paragraph(STATES[book(self.env).state(claim)].lower())
        said = VERDICTS[claim.verdict]
        if claim.verdict == 'correct' or ERRATA_PAGE not in self.env.found_docs:
            return paragraph(said)
        return paragraph(link(self.env, ERRATA_PAGE, said, erratum_anchor(claim.id)))

    def evidence(self, claim):
        check = book(self.env).checks.get(claim.id)
        if check is None:
            return [paragraph(claim.uncheckable or '')]
        lines = [[link(self.env, page_of(check.section), tried(check.holds), check_anchor(claim.id))]]
        if check.fails:
            lines.append(['the printed form fails', *place_of(check.fails)])
        lines.append(noticed(check.holds))
        return [paragraph(*line) for line in lines if line]


def statement(claim: ledger.Claim) -> list[nodes.paragraph]:
    """The cell of a table that says what is claimed: the form that holds, below it the form as printed.

    The words by which the filter of the page finds it stand there, too, unseen.
    """
    lines = [paragraph(*formula.inline(claim.correct or claim.notes))]
    if claim.correct:
        lines.append(paragraph('as printed: ', *formula.inline(claim.notes), classes=['as-printed']))
    permalink = nodes.reference('', claim.id, refuri=f'#{claim_anchor(claim.id)}', internal=True, classes=['claim-id'])
    return [*lines, paragraph(permalink, claim_filter.words(claim))]
