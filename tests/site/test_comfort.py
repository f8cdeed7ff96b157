"""Reading for hours: keys, menus, visible focus, targets of links, progress, print, one notation."""
import re
from collections import Counter
from io import BytesIO

import pytest
from conftest import settle
from PIL import Image
from test_pages import AXE, PAGES, PRUNE, VIOLATIONS

SECTION = 'linear_algebra/norms'
FOCUS = """() => {
  const at = document.activeElement, inner = at.querySelector('span') ?? at;
  const marked = e => getComputedStyle(e).outlineStyle !== 'none' || getComputedStyle(e).boxShadow !== 'none';
  return [at.outerHTML.slice(0, 120), marked(at) || marked(inner), at.className];
}"""
SHOWN = 'all => all.filter(e => e.checkVisibility({opacityProperty: true, visibilityProperty: true})).length'


def open_section(page, address):
    page.goto(f'{address}notebooks/{SECTION}.html')
    settle(page)


def test_arrow_keys_turn_pages(page, address):
    open_section(page, address)
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
    page.wait_for_selector('dialog[open]', state='detached')
    assert page.url == here
    page.keyboard.press('ArrowRight')
    page.wait_for_url(after)
    page.keyboard.press('ArrowLeft')
    page.wait_for_url(here)


def test_arrow_keys_scroll_wide_code(phone, address):
    open_section(phone, address)
    here = phone.url
    wide = phone.locator('div.cell_input pre[tabindex="0"]:visible').first
    wide.focus()
    phone.keyboard.press('ArrowRight')
    phone.wait_for_function("document.activeElement.scrollLeft > 0")
    assert phone.url == here


@pytest.mark.parametrize('section', ['optimization/momentum', 'linear_algebra/norms', 'regression/lasso'])
def test_what_was_printed_in_columns_is_shown_whole_or_visibly_goes_on(phone, address, section):
    """A letter or two beyond the edge would be lost unseen: smaller type shows them."""
    phone.goto(f'{address}notebooks/{section}.html')
    settle(phone)
    beyond = phone.eval_on_selector_all('.cell_output pre.columns', 'all => all.filter(e => e.clientWidth).map(e => e.scrollWidth - e.clientWidth)')
    assert beyond and not [px for px in beyond if 0 < px < 24]
    small = phone.eval_on_selector_all('.cell_output pre.columns', 'all => Math.min(...all.map(e => parseFloat(getComputedStyle(e).fontSize)))')
    assert small >= 9.6


def test_columns_stay_columns_on_a_phone(phone, address):
    """What was printed as a table scrolls in its box; a sentence wraps."""
    open_section(phone, address)
    outputs = phone.eval_on_selector_all('.cell_output pre', 'all => all.map(e => [e.textContent, getComputedStyle(e).whiteSpace])')
    tables = [style for text, style in outputs if re.search(r'\S {2,}\S', text)]
    assert tables and set(tables) == {'pre'} and {style for _, style in outputs} == {'pre', 'pre-wrap'}


def test_menus_open_on_a_phone(phone, address):
    """With the book's contents, or those of the page, open there is no barrier either, and Escape closes them."""
    open_section(phone, address)
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


def test_the_contents_can_be_put_away(page, address):
    open_section(page, address)
    page.get_by_role('button', name='Contents of the book').click()
    page.wait_for_function("document.querySelector('.bd-sidebar-primary').getBoundingClientRect().right <= 0")


def test_focus_is_always_visible(page, address):
    """From the link that skips to the text, which comes first, through menus, code and solutions."""
    open_section(page, address)
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


def test_the_text_is_one_key_away(page, address):
    open_section(page, address)
    page.keyboard.press('Tab')
    page.keyboard.press('Enter')
    page.keyboard.press('Tab')
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_a_link_leads_to_what_it_names(page, address):
    """An equation is outlined, below the bar of buttons, and Back returns to where the reader was."""
    open_section(page, address)
    link = page.locator('article p a[href^="#equation-"]').first
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


def test_a_link_into_a_folded_solution_unfolds_it(page, address):
    open_section(page, address)
    page.evaluate("document.querySelectorAll('.toggle-hidden p:not(.admonition-title)')[1].id = 'here'")
    page.evaluate("location.hash = '#here'")
    page.wait_for_function("""document.getElementById('here').checkVisibility({visibilityProperty: true})
        && document.getElementById('here').getBoundingClientRect().top < innerHeight""")


@pytest.mark.parametrize('kind, opens', [('div:not(.solution)', True), ('div.solution', False)])
def test_a_link_to_a_folded_theorem_unfolds_it_and_one_to_a_solution_does_not(page, address, kind, opens):
    open_section(page, address)
    box = page.locator(f'{kind}.toggle-hidden').first
    page.evaluate("id => location.hash = id", box.get_attribute('id'))
    target = page.locator('.toggle:target')
    target.wait_for()
    page.wait_for_timeout(50)
    assert target.evaluate("box => !box.matches('.toggle-hidden')") == opens


def test_progress_follows_the_page(page, address):
    open_section(page, address)
    width = "new DOMMatrix(getComputedStyle(document.body, '::before').transform).a"
    assert page.evaluate(width) == 0
    first_lines = page.add_style_tag(content='body > * { display: none !important; }')  # as long as the rest has not arrived
    assert page.evaluate(width) == 0
    first_lines.evaluate('style => style.remove()')
    page.evaluate("scrollTo({top: document.body.scrollHeight, behavior: 'instant'})")
    page.wait_for_function(f'{width} > .99')
    page.emulate_media(reduced_motion='reduce')
    assert page.evaluate("getComputedStyle(document.body, '::before').content") == 'none'


def test_paper(browser, address):
    """Printed from a dark screen: the text in the light, with solutions, without what can only be clicked."""
    context = browser.new_context(viewport={'width': 700, 'height': 1000}, color_scheme='dark')
    page = context.new_page()
    open_section(page, address)
    assert page.get_attribute('html', 'data-theme') == 'dark'
    page.emulate_media(media='print', color_scheme='dark')
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for gone in ('.bd-sidebar', '.bd-header-article', '.prev-next-footer', '.bd-footer', '.copybtn', '.toggle-button', '#jb-print-docs-body', '.headerlink'):
        assert not page.eval_on_selector_all(gone, SHOWN), gone
    assert page.locator('article h1').is_visible()
    solutions = page.locator('div.solution.toggle-hidden')
    assert solutions.count() >= 3
    for solution in solutions.all():
        assert solution.locator('p:not(.admonition-title)').first.evaluate_all(SHOWN)
        assert solution.bounding_box()['height'] > 100
    ink, paper = (page.evaluate(f'getComputedStyle(document.querySelector("{at}")).{what}') for at, what in (('article p', 'color'), ('body', 'backgroundColor')))
    assert max(map(int, re.findall(r'\d+', ink))) < 80 and paper == 'rgb(255, 255, 255)'
    cut = page.eval_on_selector_all('article img, article svg.figure, article pre, article mjx-container[display]', 'all => all.filter(e => e.getBoundingClientRect().right > innerWidth).length')
    assert not cut
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.get_attribute('html', 'data-theme') == 'dark'
    context.close()


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


CITED = 'article a.reference.internal[href*="bibliography.html#"]'


def test_a_citation_shows_the_work(page, address):
    """Beside it, for the pointer and for the keyboard, in place of the browser's own tooltip."""
    page.goto(f'{address}notebooks/optimization/momentum.html')
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


@pytest.mark.parametrize('section, target', [('optimization/momentum', CITED), ('regression/lasso', 'article a.reference.internal[href="#thm-lasso-gap"]:not(.check-back)')])
def test_a_finger_sees_what_a_link_leads_to_before_it_follows(browser, address, section, target):
    """The first tap shows it, a tap elsewhere takes it away, a second one on the link follows, and so does the link in the card."""
    context = browser.new_context(viewport={'width': 390, 'height': 844}, has_touch=True, device_scale_factor=2)
    page = context.new_page()
    page.goto(f'{address}notebooks/{section}.html')
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
        page.goto('about:blank')
        page.goto(here)
    context.close()


@pytest.mark.parametrize('section, target, part', [
    ('regression/lasso', '#equation-lasso-gap', 'mjx-container'), ('regression/lasso', '#thm-lasso-gap', '.proof mjx-container'),
    ('optimization/stationary_points', 'gradient_descent.html#equation-gradient-descent-sum', 'mjx-container'),
])
def test_a_link_shows_the_formula_that_it_leads_to(page, address, section, target, part):
    """Beside the link, for the pointer and for the keyboard; Escape takes it away."""
    page.goto(f'{address}notebooks/{section}.html')
    link = page.locator(f'article a.reference.internal[href="{target}"]:not(.check-back):visible').first
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


def test_on_a_phone_figures_open_at_full_size_and_code_wraps(phone, address):
    """By buttons, and a figure by a tap on it; that lines wrap is kept for other pages."""
    phone.goto(f'{address}notebooks/regression/lasso.html')
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
    phone.goto(f'{address}notebooks/regression/ridge_regression.html')
    assert phone.evaluate("document.documentElement.classList.contains('wrap-code')")
    assert phone.locator('button.wrap').first.get_attribute('aria-pressed') == 'true'


@pytest.mark.parametrize('width', [1280, 390])
def test_the_mark_of_a_formula_opens_what_was_checked(page, address, width):
    """The formula, what was tried, the mistake; from there to the code. Escape, a click elsewhere and the mark itself close it."""
    page.set_viewport_size({'width': width, 'height': 800})
    page.goto(f'{address}notebooks/classification/softmax.html')
    card = page.get_by_role('dialog', name='What was checked')
    mark = page.locator('a.check-badge:visible').nth(1)
    for close in (lambda: page.keyboard.press('Escape'), mark.click, lambda: page.mouse.click(5, 400)):
        mark.click()
        card.wait_for()
        assert mark.get_attribute('aria-expanded') == 'true' and card.locator('mjx-container').count()
        assert 'holds in 200 cases; would notice: sums over the other labels' in card.inner_text().replace('\n', ' ')
        assert not card.locator('[id]').count(), 'no address twice'
        box = card.bounding_box()
        assert box['x'] >= 0 and box['x'] + box['width'] <= width
        close()
        card.wait_for(state='detached')
    mark.click()
    card.get_by_role('link', name='The check and its code').click()
    card.wait_for(state='detached')
    assert page.url.endswith(mark.get_attribute('href'))


def test_the_card_of_an_erratum_says_what_fails(page, address, parsed):
    section = next(s for s in ('classification/softmax', 'linear_algebra/norms') if parsed(f'notebooks/{s}').select('li.check-printed'))
    page.goto(f'{address}notebooks/{section}.html')
    failing = [f'#{item["id"]}' for item in parsed(f'notebooks/{section}').select('li.check-printed')]
    mark = page.locator(', '.join(f'a.check-badge[href="{anchor}"]:visible' for anchor in failing)).first
    mark.click()
    text = page.get_by_role('dialog', name='What was checked').inner_text()
    assert 'a wrong version fails' in text and 'as corrected' in text
