"""Reading for hours: keys, menus, visible focus, targets of links, progress, print, one notation."""
import re
from collections import Counter
from io import BytesIO

import pytest
from conftest import KINDS, MARK, TO_EQUATION, settle
from PIL import Image
from test_pages import AXE, PAGES, PRUNE, VIOLATIONS

FOCUS = """() => {
  const at = document.activeElement, inner = at.querySelector('span') ?? at;
  const marked = e => getComputedStyle(e).outlineStyle !== 'none' || getComputedStyle(e).boxShadow !== 'none';
  return [at.outerHTML.slice(0, 120), marked(at) || marked(inner), at.className];
}"""
SHOWN = 'all => all.filter(e => e.checkVisibility({opacityProperty: true, visibilityProperty: true})).length'


TO_THEOREM = 'article p a.reference.internal[href^="#thm-"]:not(.check-back)'
TO_EQUATION_ELSEWHERE = 'article p a.reference.internal[href*=".html#equation-"]'
CITED = 'article a.reference.internal[href*="bibliography.html#"]'
MARK_OF_ERRATUM = f'{MARK}[aria-label^="corrected"]'


@pytest.fixture
def open_section(address, lightest):
    """A function that opens the page of a section with something of every kind, or of those given, in a page of the browser."""
    def opened(page, *kinds):
        page.goto(f'{address}notebooks/{lightest(*(kinds or KINDS))}.html')
        settle(page)
    return opened


def test_arrow_keys_turn_pages(page, open_section):
    open_section(page)
    here = page.url
    for side, key in (('.right-next', 'right arrow'), ('.left-prev', 'left arrow')):
        assert key in page.get_attribute(side, 'title')
    after = page.evaluate("document.querySelector('.right-next').href")
    for modifier in ('Shift', 'Control', 'Alt'):
        page.keyboard.press(f'{modifier}+ArrowRight')
    page.keyboard.press('Control+k')
    page.wait_for_selector('dialog[open] input')
    page.keyboard.press('ArrowRight')
    page.keyboard.press('Escape')
    page.wait_for_function("document.activeElement === document.body")  # the field of the dialog has the focus for a frame more
    assert page.url == here
    page.keyboard.press('ArrowRight')
    page.wait_for_url(after)
    page.keyboard.press('ArrowLeft')
    page.wait_for_url(here, wait_until='commit')


def test_arrow_keys_scroll_wide_code(phone, open_section):
    open_section(phone)
    here = phone.url
    wide = phone.locator('div.cell_input pre[tabindex="0"]:visible').first
    wide.focus()
    phone.keyboard.press('ArrowRight')
    phone.wait_for_function("document.activeElement.scrollLeft > 0")
    assert phone.url == here


def test_menus_open_on_a_phone(phone, open_section):
    """With the book's contents, or those of the page, open there is no barrier either, and Escape closes them."""
    open_section(phone)
    phone.add_style_tag(content='* { transition: none !important; animation: none !important; }')
    phone.evaluate(AXE)
    phone.evaluate(PRUNE)
    assert not phone.evaluate(VIOLATIONS, {})
    for button, name in (('Contents of the book', 'Linear algebra'), ('On this page', 'Summary')):
        phone.get_by_role('button', name=button).click()
        phone.locator('dialog[open]').get_by_role('link', name=name).wait_for()
        assert not phone.evaluate(VIOLATIONS, {})
        phone.keyboard.press('Escape')
        phone.wait_for_selector('dialog[open]', state='detached')


def test_focus_is_always_visible(page, open_section):
    """From the link that skips to the text, which comes first, through menus, code and solutions."""
    open_section(page)
    page.add_style_tag(content='* { transition: none !important; }')
    seen = set()
    for number in range(300):
        page.keyboard.press('Tab')
        html, marked, kind = page.evaluate(FOCUS)
        assert marked, html
        assert number or 'main-content' in html
        seen.add(kind)
        if 'toggle-button' in kind:
            break
    assert any('primary-toggle' in kind for kind in seen) and any('toggle-button' in kind for kind in seen)
    page.keyboard.press('Enter')
    assert page.evaluate("document.activeElement.closest('.admonition').matches(':not(.toggle-hidden)')")


def test_the_text_is_one_key_away_and_the_contents_can_be_put_away(page, open_section):
    open_section(page)
    page.keyboard.press('Tab')
    page.keyboard.press('Enter')
    page.keyboard.press('Tab')
    assert page.evaluate("document.activeElement.closest('main') !== null")
    page.get_by_role('button', name='Contents of the book').click()
    page.wait_for_function("document.querySelector('.bd-sidebar-primary').getBoundingClientRect().right <= 0")


def test_a_link_leads_to_what_it_names(page, open_section):
    """An equation is outlined, below the bar of buttons, and Back returns to where the reader was."""
    open_section(page)
    link = page.locator(f'{TO_EQUATION}:visible').first
    link.scroll_into_view_if_needed()
    before = page.evaluate('scrollY')
    link.click()
    target = page.locator('div.math:target')
    page.wait_for_function("""(() => {
        const top = document.querySelector('div.math:target').getBoundingClientRect().top;
        return top >= document.querySelector('.bd-header-article').getBoundingClientRect().bottom && top < innerHeight;
    })()""")
    assert target.evaluate('e => getComputedStyle(e).outlineStyle') == 'solid'
    page.go_back()
    page.wait_for_function(f'Math.abs(scrollY - {before}) < 5')


def test_a_link_into_a_folded_solution_unfolds_it(page, open_section):
    open_section(page)
    page.evaluate("document.querySelectorAll('.toggle-hidden p:not(.admonition-title)')[1].id = 'here'")
    page.evaluate("location.hash = '#here'")
    page.wait_for_function("""document.getElementById('here').checkVisibility({visibilityProperty: true})
        && document.getElementById('here').getBoundingClientRect().top < innerHeight""")


def test_a_link_to_a_folded_theorem_unfolds_it_and_one_to_a_solution_does_not(page, open_section):
    open_section(page)
    for kind, opens in (('div:not(.solution)', True), ('div.solution', False)):
        box = page.locator(f'{kind}.toggle-hidden').first.get_attribute('id')
        page.evaluate("id => location.hash = id", box)
        target = page.locator(f'.toggle:target[id="{box}"]')
        target.wait_for()
        if opens:
            page.wait_for_function("id => !document.getElementById(id).matches('.toggle-hidden')", arg=box)
        else:
            page.wait_for_timeout(50)
            assert target.evaluate("box => box.matches('.toggle-hidden')")


def test_progress_follows_the_page(page, open_section):
    open_section(page)
    width = "new DOMMatrix(getComputedStyle(document.body, '::before').transform).a"
    assert page.evaluate(width) == 0
    first_lines = page.add_style_tag(content='body > * { display: none !important; }')  # as long as the rest has not arrived
    assert page.evaluate(width) == 0
    first_lines.evaluate('style => style.remove()')
    page.evaluate("scrollTo({top: document.body.scrollHeight, behavior: 'instant'})")
    page.wait_for_function(f'{width} > .99')
    page.emulate_media(reduced_motion='reduce')
    assert page.evaluate("getComputedStyle(document.body, '::before').content") == 'none'


PRESSED = """all => all.filter(e => {
  const {marginTop, display} = getComputedStyle(e);
  return parseFloat(marginTop) === 0 || e.matches('div.math') && display === 'block';
}).map(e => e.textContent)"""


def test_paper(phone, open_section):
    """Printed from a dark screen: the text in the light, with solutions, without what can only be clicked."""
    page = phone
    page.set_viewport_size({'width': 700, 'height': 1000})
    open_section(page)
    assert page.get_attribute('html', 'data-theme') == 'dark'
    page.emulate_media(media='print', color_scheme='dark')
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for gone in ('.bd-sidebar', '.bd-header-article', '.prev-next-footer', '.bd-footer', '.copybtn', '.toggle-button', 'a.check-badge', '#jb-print-docs-body', '.headerlink'):
        assert not page.eval_on_selector_all(gone, SHOWN), gone
    assert page.locator('article h1').is_visible()
    solutions = page.locator('div.solution.toggle-hidden')
    assert solutions.count() >= 3
    for solution in solutions.all():
        assert solution.locator('p:not(.admonition-title)').first.evaluate_all(SHOWN)
        assert solution.bounding_box()['height'] > 100
    pressed = page.eval_on_selector_all('div.admonition.toggle-hidden > .admonition-title ~ :is(p, div.math)', PRESSED)
    assert not pressed, 'what is folded on the screen has its distances, and formulas their numbers'
    ink, paper = (page.evaluate(f'getComputedStyle(document.querySelector("{at}")).{what}') for at, what in (('article p', 'color'), ('body', 'backgroundColor')))
    assert max(map(int, re.findall(r'\d+', ink))) < 80 and paper == 'rgb(255, 255, 255)'
    cut = page.eval_on_selector_all('article img, article svg.figure, article pre, article mjx-container[display]', 'all => all.filter(e => e.getBoundingClientRect().right > innerWidth).length')
    assert not cut
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.get_attribute('html', 'data-theme') == 'dark'


def test_identifiers_and_the_width_of_a_phone_are_given_once(site):
    twice = {}
    for name in PAGES:
        found = Counter(re.findall(r'<[a-z][^>]*\s(?:id|(?=name="viewport)name)="([^"]*)"', (site / name).read_text('utf-8')))
        twice |= {f'{name}#{identifier}': count for identifier, count in found.items() if count > 1}
    assert not twice


def test_a_transpose_is_written_in_one_way(site):
    """The ledger quotes its notes as they are; all else writes \\top."""
    quoting = {'book/claims.html', 'book/errata.html'}
    assert not [name for name in PAGES if name not in quoting and r'\mathsf{T}' in (site / name).read_text('utf-8')]


@pytest.mark.parametrize('section', ['optimization/momentum', 'convolution/batch_normalization'])
def test_the_words_of_a_figure_can_be_found_and_lie_over_its_letters(page, address, section):
    """By the search of the browser, in the place and the width of the outlines; and nothing else is seen."""
    page.goto(f'{address}notebooks/{section}.html')
    settle(page)
    beside = page.eval_on_selector_all('article svg.figure', """all => all.filter(e => e.checkVisibility()).flatMap(figure => {
        const box = e => e.getBoundingClientRect(), far = (a, b) => Math.max(Math.abs(a.left - b.left), Math.abs(a.right - b.right));
        const runs = [...figure.querySelectorAll('.t, .t g')].map(box);
        return [...figure.querySelectorAll('text')].filter(e => e.hasAttribute('x'))  // upright
          .map(e => [e.textContent, Math.min(...runs.filter(r => r.bottom > box(e).top && r.top < box(e).bottom).map(r => far(r, box(e))))]);
    })""")
    assert len(beside) > 10 and not [each for each in beside if each[1] > 6], 'in pixels; a space before the first letter is no outline'
    word = page.eval_on_selector_all('article svg.figure text', "all => all.map(e => e.textContent).find(text => /^[a-z]{4,}( [a-z]+)*$/.test(text))")
    found = page.evaluate("""word => {
        while (find(word, true)) {
            const chosen = getSelection();
            if (String(chosen) && chosen.anchorNode.parentElement.closest('svg.figure text')) return String(chosen);
        }
    }""", word)
    assert found == word
    figure = page.locator('article svg.figure:visible').first
    page.evaluate('getSelection().empty()')
    with_words = figure.screenshot()
    page.add_style_tag(content='svg.figure text { display: none; }')
    assert figure.screenshot() == with_words


def test_a_citation_shows_the_work(page, open_section):
    """Beside it, for the pointer and for the keyboard, in place of the browser's own tooltip."""
    open_section(page, CITED)
    link, card = page.locator(f'{CITED}:visible').first, page.locator('.card-of-link')
    title = link.get_attribute('title')
    link.hover()
    card.wait_for()
    text = card.inner_text().replace('\xa0', ' ')
    assert title[:30] in text and 'Cited in' not in text and not link.get_attribute('title')
    page.keyboard.press('Escape')
    card.wait_for(state='detached')
    assert link.get_attribute('title') == title
    page.mouse.move(0, 0)
    page.keyboard.press('Tab')
    link.focus()
    card.wait_for()
    assert link.get_attribute('aria-describedby') == card.get_attribute('id')
    link.blur()
    card.wait_for(state='detached')


@pytest.mark.parametrize('target', [CITED, TO_THEOREM])
def test_a_finger_sees_what_a_link_leads_to_before_it_follows(phone, open_section, target):
    """The first tap shows it, a tap elsewhere takes it away, a second one on the link follows, and so does the link in the card."""
    page = phone
    page.emulate_media(color_scheme='light')
    open_section(page, target)
    here = page.url
    formulas = page.eval_on_selector_all('article div.math > mjx-container', 'all => all.map(e => e.scrollWidth <= e.clientWidth && e.clientWidth > 0)')
    fits = page.locator('article div.math > mjx-container').nth(formulas.index(True))
    assert len(Image.open(BytesIO(fits.screenshot())).convert('RGB').crop((0, 0, 10, 3)).getcolors()) == 1, 'no shade, not of part of a pixel'
    link, card = page.locator(f'{target}:visible').first, page.get_by_role('dialog', name='Where the link leads')
    link.tap()
    card.wait_for()
    box = card.bounding_box()
    assert page.url == here and box['x'] >= 0 and box['x'] + box['width'] <= 390
    page.touchscreen.tap(2, 400)
    card.wait_for(state='detached')
    for follow in (link, card.get_by_role('link', name='Go there')):
        link.tap()
        card.wait_for()
        follow.tap()
        page.wait_for_url(lambda url: url != here)
        page.go_back()  # from a page that has arrived: Chromium gives the history of no other


@pytest.mark.parametrize('target, part', [
    (TO_EQUATION, 'mjx-container'), (TO_THEOREM, '.proof mjx-container'), (TO_EQUATION_ELSEWHERE, 'mjx-container'),
])
def test_a_link_shows_the_formula_that_it_leads_to(page, open_section, target, part):
    """Beside the link, for the pointer and for the keyboard; Escape takes it away."""
    open_section(page, target)
    link = page.locator(f'{target}:visible').first
    card = page.locator('.card-of-link')
    link.hover()
    card.locator(part).first.wait_for()
    box, of_link = card.bounding_box(), link.bounding_box()
    assert box['x'] >= 0 and box['x'] + box['width'] <= 1280
    assert min(abs(box['y'] - of_link['y'] - of_link['height']), abs(box['y'] + box['height'] - of_link['y'])) < 20
    assert link.get_attribute('aria-describedby') == card.get_attribute('id')
    assert not card.locator('a, button, [id]').count(), 'nothing in it to reach, and no address twice'
    page.keyboard.press('Escape')
    card.wait_for(state='detached')
    page.mouse.move(0, 0)
    page.keyboard.press('Tab')  # from here on the focus is shown
    link.focus()
    card.wait_for()
    link.blur()
    card.wait_for(state='detached')


def test_on_a_phone_figures_open_at_full_size_and_code_wraps(phone, address, open_section, lightest):
    """By buttons, and a figure by a tap on it; that lines wrap is kept for other pages."""
    open_section(phone, 'figure svg.figure')
    drawing = phone.locator('.bd-article figure svg.figure').first
    shown = drawing.bounding_box()['width']
    enlarged = phone.locator('dialog.enlarged')
    for opens in (phone.locator('button.enlarge').first, drawing):
        opens.click()
        box, all_of_it = enlarged.locator('svg').bounding_box(), enlarged.locator('.all')
        assert box['width'] > 1.9 * shown and box['x'] == 0 and box['y'] + box['height'] < 844, 'its left end, and all of its height'
        assert enlarged.get_by_text('Scroll sideways').is_visible()
        assert all_of_it.evaluate('e => { e.scrollTo({left: 9999, behavior: "instant"}); return e.scrollLeft + e.clientWidth - e.scrollWidth; }') > -2
        enlarged.get_by_role('button', name='Close').click()
        enlarged.wait_for(state='detached')
    code = phone.locator('.bd-article div.highlight:has(> button.wrap) > pre:visible').first
    wide = 'code => code.scrollWidth > code.clientWidth + 1'
    assert code.evaluate(wide)
    code.locator('xpath=following-sibling::button[contains(@class, "wrap")]').click()
    assert not code.evaluate(wide)
    phone.goto(f'{address}notebooks/{lightest(*KINDS)}.html')
    assert phone.evaluate("document.documentElement.classList.contains('wrap-code')")
    assert phone.locator('button.wrap').first.get_attribute('aria-pressed') == 'true'


def test_the_mark_of_a_formula_opens_what_was_checked(page, open_section):
    """The formula, what was tried, the mistake; from there to the code. Escape, a click elsewhere and the mark itself close it."""
    slipped = f'{MARK}[title^="Holds in"]'
    open_section(page, slipped)
    card, mark = page.get_by_role('dialog', name='What was checked'), page.locator(f'{slipped}:visible').first
    line = page.locator(f'[id="{mark.get_attribute("href")[1:]}"]').text_content()
    said = re.search('holds in .*would notice: [^,↩]+', line)[0]
    for width in (1280, 390):
        page.set_viewport_size({'width': width, 'height': 800})
        for close in (lambda: page.keyboard.press('Escape'), mark.click, lambda: page.mouse.click(5, 400)):
            mark.click()
            card.wait_for()
            assert mark.get_attribute('aria-expanded') == 'true' and card.locator('mjx-container').count()
            assert said in card.inner_text().replace('\n', ' ')
            assert not card.locator('[id]').count(), 'no address twice'
            box = card.bounding_box()
            assert box['x'] >= 0 and box['x'] + box['width'] <= width
            close()
            card.wait_for(state='detached')
    mark.click()
    card.get_by_role('link', name='The check and its code').click()
    card.wait_for(state='detached')
    assert page.url.endswith(mark.get_attribute('href'))


def test_the_card_of_an_erratum_says_what_fails(page, open_section):
    open_section(page, MARK_OF_ERRATUM)
    page.locator(f'{MARK_OF_ERRATUM}:visible').first.click()
    text = page.get_by_role('dialog', name='What was checked').inner_text()
    assert 'a wrong version fails' in text and 'as corrected' in text


def test_all_sections_are_folded_by_chapter_on_a_phone_and_open_on_a_desktop(phone, page, browser, address):
    """86 cards below each other are 15 screens; a reader opens the chapter, without a script, too."""
    high = "document.getElementById('all-sections').offsetHeight"
    for each in (phone, page):
        each.goto(f'{address}book/index.html')
    assert phone.evaluate(high) < 2000 and not phone.locator('.chapter-cards .sd-card:visible').count()
    assert page.locator('.chapter-cards .sd-card:visible').count() == page.locator('.chapter-cards .sd-card').count() > 80
    with browser.new_context(java_script_enabled=False, viewport={'width': 390, 'height': 844}) as context:
        bare = context.new_page()
        bare.goto(f'{address}book/index.html')
        bare.locator('.chapter-cards > summary').first.click()
        assert bare.locator('.chapter-cards .sd-card').first.is_visible()
