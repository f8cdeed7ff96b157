"""Claims and errata: what a reader finds there, how the pages and the sections link to each other, the filter."""
import functools
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from booksite.claims import claim_filter, errata, formula
from booksite.claims.evidence import Book
from conftest import ROOT, settle
from docutils import nodes

from nbutils import ledger

BOOK = Book(ROOT)
CLAIMS = {claim.id: claim for section in BOOK.sections for claim in BOOK.claims.get(section, ())}


@pytest.fixture(scope='module')
def arrives(site):
    """A function that says whether a link on a page leads to something that is there."""
    @functools.cache
    def anchors(path):
        return set(re.findall(r'\bid="([^"]*)"', path.read_text('utf-8')))

    def check(name, link):
        target = urlsplit(link['href'])
        return target.fragment in anchors((site / name).parent.joinpath(target.path).resolve())
    return check


# --- the pages as they are without scripts


def test_every_claim_has_a_row_a_permanent_link_and_a_link_to_its_check(parsed, arrives):
    page = parsed('book/claims')
    assert {row['id'] for row in page.select('table.claims tbody tr')} == {f'claim-{name}' for name in CLAIMS}
    for row in page.select('table.claims tbody tr'):
        claim = CLAIMS[row['id'].removeprefix('claim-')]
        assert row.select_one('a.claim-id')['href'] == f'#{row["id"]}'
        links = {urlsplit(link['href']).fragment: link for link in row.select('a[href]')}
        if claim.id in BOOK.checks:
            assert arrives('book/claims', links[f'check-{claim.id}'])
            assert claim.verdict == 'correct' or arrives('book/claims', links[f'erratum-{claim.id}'])


def test_without_scripts_the_tables_are_all_there_is(parsed):
    page = parsed('book/claims')
    assert not page.select('.claim-filter, form.claim-filter') and not page.select('table.claims [hidden]')
    assert any('claims.js' in script['src'] for script in page.select('script[src]'))
    assert not any('claims.js' in script['src'] for script in parsed('book/errata').select('script[src]'))


def test_own_statements_are_counted(parsed):
    own = sum(map(len, BOOK.verified.values()))
    assert own and f'verify {own:,} more statements' in ' '.join(parsed('book/claims').article.text.split())


def test_every_lesson_says_what_is_printed_why_it_fails_and_what_holds(parsed, arrives):
    page = parsed('book/errata')
    lessons = {lesson['id'].removeprefix('erratum-'): lesson for lesson in page.select('section.lesson')}
    assert set(lessons) == {name for name, claim in CLAIMS.items() if claim.verdict != 'correct' and name in BOOK.checks}
    for name, lesson in lessons.items():
        claim, check = CLAIMS[name], BOOK.checks[name]
        assert lesson.find(re.compile('^h[2-6]$')).text.strip('#'), name
        printed, mended = lesson.select_one('.lesson-printed'), lesson.select_one('.lesson-mended')
        assert ('fails' in printed.text) == (claim.verdict == 'wrong')
        assert not check.fails or (check.fails.at or '') in printed.text
        shown = [part for part in lesson.select('p, div.math') if not part.get('class') or part['class'][0] in ('math', 'displayed')]
        assert len(shown) == 1 + bool(claim.why) + bool(claim.correct), name
        assert mended.text.startswith(f'✓ {errata.MENDED[claim.verdict]}')
        for link in (mended.a, *lesson.select('.lesson-foot a')):
            assert '#' not in link['href'] or arrives('book/errata', link), link


def test_lessons_stand_in_their_chapter(parsed):
    for lesson in parsed('book/errata').select('section.lesson'):
        claim = CLAIMS[lesson['id'].removeprefix('erratum-')]
        chapter = next(page for page, pages in BOOK.chapters.items() if f'notebooks/{claim.section}' in pages)
        assert lesson.parent['id'] == f'errata-{claim.verdict}-{chapter.removeprefix("book/")}'


def test_a_badge_stands_at_every_formula_with_the_name_of_a_claim(parsed):
    found = 0
    for section in BOOK.sections:
        name = f'notebooks/{section}'
        page = parsed(name)
        checks = {nodes.make_id(f'equation-{check.id}'): check for check in BOOK.checks.values() if check.section == section}
        lines = {line['id']: line for line in page.select('ul.checks li[id]')}
        for display in page.select('div.math:has(span.eqno)'):
            badges = display.select('a.check-badge')
            check = checks.get(display['id'])
            assert len(badges) == (check is not None), f'{name}#{display["id"]}'
            for badge in badges:
                found += 1
                assert badge['aria-label'] == f'{"corrected and " * bool(check.fails)}checked: {check.id}'
                assert badge.text == '✓' and badge['href'] == f'#check-{check.id}'
                line = lines[badge['href'][1:]]
                assert not line.find_parent(['details', 'div'], class_=['solution', 'hide', 'toggle'])
    assert found > 200


def test_check_lines_are_lists_with_anchors(parsed):
    """Claims and the book's own statements alike; none is left as plain output, no anchor is given twice."""
    for section in BOOK.sections:
        page = parsed(f'notebooks/{section}')
        own = page.select('ul.checks li.check-verified[id]')
        assert len(own) == len(BOOK.verified[section])
        assert all(item['id'].startswith('verified-') for item in own)
        anchors = [item['id'] for item in page.select('ul.checks li[id]')]
        assert len(anchors) == len(set(anchors))
        assert not [text for output in page.select('.output.stream') if '✓' in (text := output.text)]


# --- what the pages are made of


@pytest.mark.parametrize('latex, words', [
    (r'\|\mathbf{x}\|_2 \le \sqrt{n}', ['||x||_2<=sqrtn', r'\mathbf{x}', 'norm', 'square root']),
    (r'\nabla f(\mathbf{x}) = \mathbf{A}^\top \mathbf{b}', ['nablaf(x)=A^Tb', 'gradient', 'transpose']),
    (r'\left(\mathbf{A} \odot \mathbf{B}\right)\mathbf{x}', ['(AodotB)x', 'Hadamard']),
])
def test_formulas_are_found_by_latex_by_signs_and_by_name(latex, words):
    text = claim_filter.search_words(ledger.claim('dl.norms.homog')._replace(notes=latex))
    assert not [word for word in ['dl.norms.homog', *words] if word not in text], text


def test_prose_is_cut_into_words_formulas_and_code():
    kinds = [(type(node).__name__, node.astext()) for node in formula.prose('So $a$, and `b_c`.')]
    assert kinds == [('Text', 'So '), ('math', 'a'), ('Text', ', and '), ('literal', 'b_c'), ('Text', '.')]


@pytest.mark.parametrize('latex, text', [
    (r'F =\text{information}', 'F =\N{NO-BREAK SPACE}information'),
    (r'\text{an array},\; x', 'an array, x'),
    (r'\text{an array} \; x', r'an array\; x'),
])
def test_words_and_mathematics_keep_their_distance(latex, text):
    assert ''.join(node.astext() for node in formula.inline(latex)) == text


# --- in a browser


@pytest.fixture
def page(page, site):
    """A page of the browser to which the claims come without their formulas: setting them is most of the work, none of the filter's."""
    text = re.sub(r'(<mjx-container\b[^>]*>).*?(</mjx-container>)', r'\1\2', (site / 'book' / 'claims.html').read_text('utf-8'), flags=re.S)
    page.route('**/book/claims.html*', lambda route: route.fulfill(body=text, content_type='text/html; charset=utf-8'))
    return page


@pytest.fixture
def claims(page, address):
    """A function that opens the claims page with the given end of the address."""
    def opened(end=''):
        page.goto(f'{address}book/claims.html{end}')
        return page
    return opened


STATE = """() => {
  const rows = [...document.querySelectorAll('table.claims tbody tr')].filter(row => row.checkVisibility());
  return {
    ids: rows.map(row => row.id.replace('claim-', '')),
    said: document.querySelector('.claim-filter [role=status]').textContent,
    headings: [...document.querySelectorAll('.claims-of-section')].filter(s => s.checkVisibility()).length,
  };
}"""


def chosen(**wanted):
    return [name for name, claim in CLAIMS.items() if all(getattr(claim, key) == value for key, value in wanted.items())]


def test_the_filter_follows_words_chapter_and_verdict(claims):
    page = claims()
    assert page.evaluate(STATE)['said'] == f'{len(CLAIMS)} statements'
    page.get_by_label('Verdict').select_option(label='wrong as printed')
    wrong = chosen(verdict='wrong')
    state = page.evaluate(STATE)
    assert sorted(state['ids']) == sorted(wrong) and state['said'] == f'{len(wrong)} of {len(CLAIMS)} statements'
    assert state['headings'] == len({CLAIMS[name].section for name in wrong}), 'sections without a hit are hidden'
    page.get_by_label('Chapter').select_option('linear_algebra')
    page.get_by_label('Words').fill('NORM  ||x||')
    state = page.evaluate(STATE)
    assert 'dl.norms.lp' in state['ids'] and all(CLAIMS[name].section.startswith('linear_algebra/') for name in state['ids'])
    page.wait_for_function("location.search.includes('words')")
    address = parse_qs(urlsplit(page.url).query)
    assert address == {'verdict': ['wrong'], 'chapter': ['linear_algebra'], 'words': ['NORM  ||x||']}
    page.reload()
    assert page.evaluate(STATE) == state, 'a filtered page can be linked'
    page.get_by_role('button', name='Show all').click()
    page.wait_for_function('!location.search')
    assert len(page.evaluate(STATE)['ids']) == len(CLAIMS)


def test_the_filter_works_by_keyboard_and_forgives_a_bad_address(claims):
    page = claims('?verdict=nonsense&chapter=optimization')
    assert page.evaluate(STATE)['said'].startswith(f'{sum(c.section.startswith("optimization/") for c in CLAIMS.values())} of ')
    page.get_by_label('Words').focus()
    page.keyboard.type('momentum')
    page.keyboard.press('Enter')
    page.keyboard.press('Tab')
    assert page.evaluate('document.activeElement.name') == 'chapter'
    page.keyboard.press('Home')
    hits = page.evaluate(STATE)['ids']
    assert hits and 'aw.momentum.expanded' in hits
    page.get_by_label('Words').fill('no such words')
    assert page.evaluate(STATE)['said'] == f'0 of {len(CLAIMS)} statements'


def test_a_link_to_a_statement_shows_it_whatever_is_filtered(claims):
    page = claims('?verdict=wrong#claim-la.whiten.square-W')
    assert len(page.evaluate(STATE)['ids']) == len(CLAIMS)
    page.wait_for_function(IN_VIEW, arg='claim-la.whiten.square-W')


IN_VIEW = """id => {
  const {top, bottom} = document.getElementById(id).getBoundingClientRect();
  return top > 0 && top < innerHeight - 20 && bottom > 0;
}"""


UNCUT = "(box => box.scrollWidth <= box.clientWidth)(document.querySelector('table.claim-counts').parentElement)"


def test_from_the_badge_to_the_check_to_the_claim_and_back(page, address, lightest):
    page.set_viewport_size({'width': 390, 'height': 844})
    section = lightest('div.math a.check-badge[aria-label^="corrected"]')
    page.goto(f'{address}notebooks/{section}.html')
    mark = page.get_by_role('link', name='corrected and checked: ').first
    name = mark.get_attribute('href').removeprefix('#check-')
    mark.click()
    page.get_by_role('link', name='The check and its code').click()
    page.wait_for_function(IN_VIEW, arg=f'check-{name}')
    page.locator(f'[id="check-{name}"] a.claim-id').click()
    page.wait_for_url(f'**/claims.html#claim-{name}')
    page.wait_for_function(IN_VIEW, arg=f'claim-{name}')
    assert page.evaluate(UNCUT), 'no column of the counts is cut'
    page.locator(f'[id="claim-{name}"] a', has_text=re.compile('^holds')).click()
    page.wait_for_url(f'**/{section}.html#check-{name}', wait_until='commit')


def test_the_mark_of_a_statement_in_words_has_its_card_and_is_not_printed(page, address, lightest):
    page.goto(f'{address}notebooks/{lightest("p > a.check-badge")}.html')
    settle(page)
    page.locator('p > a.check-badge:visible').first.click()
    assert 'would notice' in page.get_by_role('dialog', name='What was checked').inner_text() and 'check-' not in page.url
    page.emulate_media(media='print')
    assert not page.evaluate("[...document.querySelectorAll('a.check-badge')].some(badge => badge.checkVisibility())")
