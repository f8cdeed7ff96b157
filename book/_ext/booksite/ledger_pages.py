"""The claims page and the errata page: directives that write out the ledger beside what was executed."""
from collections import Counter

from docutils import nodes
from sphinx.util.docutils import SphinxDirective, SphinxRole

from nbutils import ledger

from . import formula
from .build import book, check_anchor, claim_anchor, link, page_of, paragraph, section_anchor, table, title_of

VERDICTS = {  # verdict of the ledger -> what the tables call it once a cell has shown it
    'correct': 'holds',
    'wrong': 'wrong as printed',
    'garbled': 'restored, holds',
    'unclear': 'made precise, holds',
}
STATES = {'holds': 'Verified', 'wrong': 'Errata', 'uncheckable': 'Not checkable', 'to come': 'Still to come'}


def count(the_book, claims=None):
    """How many claims are in each state, and their `total`."""
    claims = list(ledger.claims().values()) if claims is None else claims
    counted = Counter(the_book.state(claim) for claim in claims)
    return {**{state: counted[state] for state in STATES}, 'total': len(claims)}


class LedgerNumber(SphinxRole):
    """A number of the ledger in running text: {ledger}`verified`."""

    def run(self):
        numbers = self.numbers()
        if self.text not in numbers:
            message = self.inliner.reporter.error(f'unknown number of the ledger: {self.text}', line=self.lineno)
            return [], [message]
        return [nodes.inline('', f'{numbers[self.text]:,}', classes=['ledger-number'])], []

    def numbers(self):
        the_book = book(self.env)
        counted = count(the_book)
        return {
            'total': counted['total'], 'verified': counted['holds'], 'errata': counted['wrong'],
            'checked': counted['holds'] + counted['wrong'], 'uncheckable': counted['uncheckable'],
            'to-come': counted['to come'], 'sections': len(the_book.sections),
            'cases': sum(check.cases or 0 for check in the_book.checks.values()),
        }


class ClaimSummary(SphinxDirective):
    """How far the book is, in four numbers."""

    def run(self):
        items = nodes.bullet_list(classes=['claim-summary'])
        for state, number in count(book(self.env)).items():
            words = 'statements' if state == 'total' else STATES[state].lower()
            line = paragraph(nodes.strong('', f'{number:,}'), f' {words}')
            items += nodes.list_item('', line, classes=[state.replace(' ', '-')])
        return [items]


class ClaimCounts(SphinxDirective):
    """How far the book is: one row for each chapter of the ledger, and the total."""

    def run(self):
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

    def run(self):
        return [self.chapter(page, sections) for page, sections in book(self.env).chapters.items()]

    def chapter(self, page, pages):
        made = nodes.section('', nodes.title('', title_of(self.env, page)), ids=[section_anchor(page)])
        made += [self.section(page.removeprefix('notebooks/')) for page in pages]
        return made

    def section(self, section):
        title = title_of(self.env, page_of(section))
        made = nodes.section('', nodes.title('', title), ids=[section_anchor(section)])
        self.state.document.note_explicit_target(made)
        claims = book(self.env).claims.get(section, [])
        made += paragraph(link(self.env, page_of(section), f'Read {title}'), classes=['claims-of'])
        if claims:
            made += self.claims(claims)
        else:
            made += paragraph('The notes state nothing here that could be checked.')
        return made

    def claims(self, claims):
        rows = [[statement(claim), [paragraph(self.verdict(claim))], self.evidence(claim)] for claim in claims]
        made = table(['Statement', 'Verdict', 'What was tried'], rows, ['claims'], [10, 3, 7])
        body = next(made.findall(nodes.tbody))
        for claim, row in zip(claims, body.children, strict=True):
            state = book(self.env).state(claim).replace(' ', '-')
            row['ids'], row['classes'] = [claim_anchor(claim.id)], [f'claim-{state}']
        return made

    def verdict(self, claim):
        state = book(self.env).state(claim)
        return VERDICTS[claim.verdict] if state in ('holds', 'wrong') else STATES[state].lower()

    def evidence(self, claim):
        check = book(self.env).checks.get(claim.id)
        if check is None:
            return [paragraph(claim.uncheckable or '')]
        said = [paragraph(link(self.env, page_of(check.section), tried(check), check_anchor(claim.id)))]
        if check.at:
            who = 'the printed form' if check.refuted else 'the control'
            said.append(paragraph(f'{who} fails at ', counterexample(check.at)))
        return said


class Errata(SphinxDirective):
    """The claims of one verdict, each as a short lesson: wrong, garbled or unclear."""
    required_arguments = 1

    def run(self):
        verdict = self.arguments[0]
        if verdict not in VERDICTS:
            raise self.error(f'unknown verdict {verdict!r}: one of {", ".join(VERDICTS)}')
        the_book = book(self.env)
        chosen = [
            claim for section in the_book.sections for claim in the_book.claims.get(section, ())
            if claim.verdict == verdict and claim.id in the_book.checks
        ]
        make = self.lesson if verdict == 'wrong' else self.note
        return [make(claim) for claim in chosen] or [paragraph('None so far.')]

    def lesson(self, claim):
        """Printed, the counterexample as executed, why it fails, the correction."""
        check = book(self.env).checks[claim.id]
        made = nodes.container(classes=['lesson'], ids=[f'erratum-{claim.id}'])
        made += paragraph(nodes.strong('', topic(claim)), ': the notes print')
        made += displayed(claim.notes)
        if check.at:
            made += paragraph('That fails at ', counterexample(check.at), '.')
        if claim.why:
            made += paragraph(sentence(claim.why))
        made += paragraph('It should read')
        made += displayed(claim.correct)
        made += self.source(check, f'the correction {tried(check)}')
        return made

    def note(self, claim):
        """What was made of a garbled or an unclear statement, in few lines."""
        made = nodes.container(classes=['lesson'], ids=[f'erratum-{claim.id}'])
        made += paragraph(nodes.strong('', topic(claim)))
        made += displayed(claim.correct or claim.notes)
        if claim.why:
            made += paragraph(sentence(claim.why))
        check = book(self.env).checks[claim.id]
        made += self.source(check, tried(check))
        return made

    def source(self, check, said):
        title = title_of(self.env, page_of(check.section))
        run = link(self.env, page_of(check.section), f'{title}: {said}', check_anchor(check.id))
        return paragraph(run, classes=['lesson-link'])


def topic(claim):
    """What the claim is about: the heading of the notes under which it stands, without its number."""
    heading = next(h for h in ledger.headings(claim.id.split('.')[0]) if h['id'] == claim.heading)
    return heading['heading'].split(' > ')[-1].lstrip('0123456789. ')


def statement(claim):
    """The cell of a table that says what is claimed: the form that holds, below it the form as printed."""
    lines = [paragraph(*formula.inline(claim.correct or claim.notes))]
    if claim.correct:
        lines.append(paragraph('as printed: ', *formula.inline(claim.notes), classes=['as-printed']))
    permalink = nodes.reference('', claim.id, refuri=f'#{claim_anchor(claim.id)}', internal=True, classes=['claim-id'])
    return [*lines, paragraph(permalink)]


def tried(check):
    return f'holds in {check.cases:,} case{"s" * (check.cases > 1)}' if check.cases else 'holds'


def counterexample(text):
    return nodes.literal('', text, classes=['counterexample'])


def displayed(latex):
    """A formula on its own line; one with words in it as a paragraph that may break."""
    if formula.has_words(latex):
        return paragraph(*formula.inline(latex), classes=['displayed'])
    latex = formula.in_lines(latex)
    return nodes.math_block(latex, latex, nowrap=False, number=None, label=None)


def sentence(text):
    """A remark of the ledger with a capital and a full stop, unless it starts with a formula."""
    first = text.split()[0].rstrip(',;:')
    if first.isalpha() and (len(first) > 1 or first == 'a'):
        text = text[0].upper() + text[1:]
    return text if text.endswith(('.', '?', '!')) else f'{text}.'
