"""The errata page: every statement of the notes that could not stay as printed, as a short lesson."""
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from nbutils import ledger

from ..build import CLAIMS_PAGE, book, check_anchor, claim_anchor, erratum_anchor, link, page_of, paragraph, title_of
from . import formula
from .check_lines import noticed, place_of, tried
from .evidence import Check

MENDED = {'wrong': 'Corrected', 'garbled': 'Restored', 'unclear': 'Made precise'}


class Errata(SphinxDirective):
    """The lessons of one verdict (wrong, garbled or unclear), by chapter."""
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        if self.arguments[0] not in MENDED:
            raise self.error(f'unknown verdict {self.arguments[0]!r}: one of {", ".join(MENDED)}')
        chapters = book(self.env).chapters.items()
        made = [self.chapter(page, lessons) for page, pages in chapters if (lessons := self.lessons(pages))]
        return made or [paragraph('None so far.')]

    def chapter(self, page, lessons):
        anchor = f'errata-{self.arguments[0]}-{page.removeprefix("book/")}'
        return nodes.section('', nodes.title('', title_of(self.env, page)), *lessons, ids=[anchor])

    def lessons(self, pages):
        the_book = book(self.env)
        claims = (claim for page in pages for claim in the_book.claims.get(page.removeprefix('notebooks/'), ()))
        return [self.lesson(claim) for claim in claims if claim.verdict == self.arguments[0] and claim.id in the_book.checks]

    def lesson(self, claim):
        """What is printed and where it fails, why; the form that holds and what was tried of it."""
        check = book(self.env).checks[claim.id]
        made = nodes.section('', nodes.title('', title(claim)), ids=[erratum_anchor(claim.id)], classes=['lesson'])
        made += printed(check)
        made += formula.displayed(claim.notes)
        if claim.why:
            made += paragraph(*formula.prose(sentence(claim.why)))
        made += self.mended(claim, check)
        if claim.correct:
            made += formula.displayed(claim.correct)
        made += paragraph(
            'Section ', link(self.env, page_of(check.section), title_of(self.env, page_of(check.section))),
            ', statement ', link(self.env, CLAIMS_PAGE, claim.id, claim_anchor(claim.id), ['claim-id']),
            classes=['lesson-foot'],
        )
        return made

    def mended(self, claim, check):
        """The line above the form that holds, with a link to its check."""
        run = link(self.env, page_of(check.section), tried(check.holds), check_anchor(check.id))
        rejected = noticed(check.holds)
        said = [mark('✓'), f' {MENDED[claim.verdict]}, it ', run, *(['; ', *rejected] if rejected else [])]
        return paragraph(*said, classes=['lesson-mended'])


def printed(check: Check) -> nodes.paragraph:
    """The line above the printed form, with the counterexample where it was refuted."""
    if not check.fails:
        return paragraph(mark('?'), ' As printed', classes=['lesson-printed', 'in-doubt'])
    return paragraph(mark('✗'), ' As printed, it fails', *place_of(check.fails), classes=['lesson-printed'])


def mark(sign: str) -> nodes.inline:
    return nodes.inline('', sign, classes=['verdict'])


def title(claim: ledger.Claim) -> str:
    """The title of a lesson: the ledger's, else the heading of the notes, without its number."""
    heading = next(h for h in ledger.headings(claim.id.split('.')[0]) if h['id'] == claim.heading)
    return claim.title or heading['heading'].split(' > ')[-1].lstrip('0123456789. ')


def sentence(text: str) -> str:
    """A remark of the ledger with a capital and a full stop, unless it starts with a formula."""
    first = text.split()[0].rstrip(',;:')
    if first.isalpha() and (len(first) > 1 or first == 'a'):
        text = text[0].upper() + text[1:]
    return text if text.endswith(('.', '?', '!')) else f'{text}.'
