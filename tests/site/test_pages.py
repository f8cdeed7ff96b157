"""Every page of the site in a browser without network: it loads, shows its mathematics, reads well, fits a phone."""
import functools
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from conftest import HERE, ROOT, settle

AXE = (HERE / 'vendor' / 'axe.min.js').read_text('utf-8')
OTHERS = ['search.html', '404.html']  # pages that Sphinx and the extension add


def table_of_contents():
    toc = yaml.safe_load((ROOT / '_toc.yml').read_text('utf-8'))
    files = [toc['root']]
    for chapter in (chapter for part in toc['parts'] for chapter in part['chapters']):
        files += [chapter['file'], *(section['file'] for section in chapter.get('sections', ()))]
    return [f'{file}.html' for file in files]


PAGES = [*table_of_contents(), *OTHERS]
every_page = pytest.mark.parametrize('name', PAGES)
every_section = pytest.mark.parametrize('name', [name for name in PAGES if name.startswith('notebooks/')])


class Visit(NamedTuple):
    """What a browser saw of one page."""
    console: list
    foreign: list
    failed: list
    raw_math: list
    math_errors: list
    violations: list
    overflow: dict
    wide_code: list
    wide_displays: list
    solutions: list


@pytest.fixture(scope='session')
def visit(browser, address):
    """A function from a page to its `Visit`; each page is opened once, as on a phone, and then widened."""
    context = browser.new_context(viewport={'width': 390, 'height': 844}, color_scheme='light')
    yield functools.cache(lambda name: look_at(context.new_page(), address, name))
    context.close()


def look_at(page, address, name):
    console, foreign, failed = [], [], []
    page.on('console', lambda message: message.type in ('error', 'warning') and console.append(message.text))
    page.on('pageerror', lambda error: console.append(str(error)))
    page.on('request', lambda request: request.url.startswith((address, 'data:')) or foreign.append(request.url))
    page.on('response', lambda response: response.status >= 400 and failed.append(response.url))
    page.goto(address + name)
    settle(page)
    page.add_style_tag(content='* { transition: none !important; animation: none !important; }')
    overflow = page.evaluate(OVERFLOW)
    page.set_viewport_size({'width': 1280, 'height': 900})
    raw, errors, code = page.evaluate(RAW_MATH), page.evaluate(MATH_ERRORS), page.evaluate(WIDE_CODE)
    solutions = [open_solution(solution) for solution in page.locator('div.solution').all()]
    displays = page.evaluate(WIDE_DISPLAYS)
    violations = barriers(page)
    page.close()
    return Visit(console, foreign, failed, raw, errors, violations, overflow, code, displays, solutions)


def open_solution(solution):
    """What a reader sees of a solution before and after a click on its title."""
    before = solution.evaluate(SEEN)
    solution.locator('.admonition-title').click()
    return before, solution.evaluate(SEEN)


def barriers(page):
    """What axe-core finds in light, and what it finds in dark by the rules about colour."""
    page.evaluate(AXE)
    page.evaluate(PRUNE)
    found = [f'light: {line}' for line in page.evaluate(VIOLATIONS, {})]
    page.emulate_media(color_scheme='dark')
    page.wait_for_function("(document.documentElement.dataset.theme ?? 'dark') === 'dark'")
    return found + [f'dark: {line}' for line in page.evaluate(VIOLATIONS, {'runOnly': COLOUR})]


COLOUR = ['color-contrast', 'link-in-text-block']
# axe is slow on many elements: it is shown the frame of each formula, each kind of coloured word in code and each
# kind of row of a table once
PRUNE = """() => {
  document.querySelectorAll('mjx-container').forEach(m => m.replaceChildren('x'));
  const seen = new Set();
  for (const word of document.querySelectorAll('pre span')) {
    const kind = word.className + word.closest('div.cell_input, div.cell_output, div.admonition, pre').className;
    if (seen.has(kind)) word.replaceWith(word.textContent);
    seen.add(kind);
  }
  for (const table of document.querySelectorAll('main table')) {
    const kinds = new Set();
    for (const row of table.querySelectorAll('tbody tr')) {
      if (kinds.has(row.className)) row.remove();
      kinds.add(row.className);
    }
  }
}"""
VIOLATIONS = """async options => (await axe.run({resultTypes: ['violations'], ...options})).violations
  .filter(v => ['moderate', 'serious', 'critical'].includes(v.impact))
  .map(v => `${v.id} (${v.impact}), ${v.nodes.length} times, first: ${v.nodes[0].html.slice(0, 200)}`)"""
SEEN = """box => {
  const seen = {opacityProperty: true, visibilityProperty: true};
  const unfolded = selector => [...box.querySelectorAll(selector)].filter(e => !e.closest('details:not([open])'));
  const visible = selector => unfolded(selector).map(e => e.checkVisibility(seen));
  return {
    text: visible('p:not(.admonition-title)'),
    code: visible('div.cell_input pre'),
    formulas: visible('.math mjx-container'),
  };
}"""
RAW_MATH = """[...document.querySelectorAll('.math')]
  .filter(m => !m.querySelector('mjx-container') || m.textContent.includes('\\\\('))
  .map(m => m.textContent.slice(0, 80))"""
MATH_ERRORS = """[...document.querySelectorAll('mjx-merror, [data-mjx-error], mjx-mtext[style*="red"]')]
  .map(m => m.dataset.mjxError || m.textContent || 'unknown command')"""
OVERFLOW = """() => {
  const scrolls = e => e.closest('mjx-container, pre, .dropdown-menu');
  const beyond = e => e.offsetParent && e.getBoundingClientRect().right > innerWidth + 1;
  const widest = [...document.querySelectorAll('main *')].filter(e => beyond(e) && !scrolls(e));
  return {
    page: document.documentElement.scrollWidth,
    window: innerWidth,
    widest: widest.slice(0, 3).map(e => e.outerHTML.slice(0, 120)),
  };
}"""
WIDE_DISPLAYS = """[...document.querySelectorAll('mjx-container[display]')]
  .filter(m => m.scrollWidth > m.clientWidth + 1)
  .map(m => `${m.closest('.math').id} ${m.scrollWidth - m.clientWidth} px: ${m.textContent.slice(0, 60)}`)"""
WIDE_CODE = """[...document.querySelectorAll('div.cell_input pre')]
  .filter(p => p.clientWidth && p.scrollWidth > p.clientWidth + 1)
  .map(p => p.textContent.split('\\n').sort((a, b) => b.length - a.length)[0])"""


@every_page
def test_nothing_is_logged_to_the_console(visit, name):
    expected = [line for line in visit(name).console if not (name == '404.html' and '404' in line)]
    assert not expected


@every_page
def test_no_request_leaves_the_site(visit, name):
    assert not visit(name).foreign, 'the book must be readable without network'
    assert not visit(name).failed


@every_page
def test_mathematics_is_typeset(visit, name):
    seen = visit(name)
    assert not seen.raw_math, 'TeX that MathJax left alone'
    assert not seen.math_errors, 'TeX that MathJax does not understand'


@every_page
def test_no_barrier(visit, name):
    """axe-core finds nothing moderate, serious or critical, in light and in dark."""
    assert not visit(name).violations


@every_page
def test_a_phone_shows_the_whole_width(visit, name):
    overflow = visit(name).overflow
    assert overflow['page'] <= overflow['window'], overflow['widest']


@every_section
def test_solutions_are_folded_whole_and_open(visit, name):
    """Text, executed code and formulas of a solution are hidden until its title is clicked."""
    assert len(visit(name).solutions) >= 3
    for before, after in visit(name).solutions:
        assert after['code'] and after['text'], 'the executed code and its explanation belong to the solution'
        assert not any(sum(before.values(), [])) and all(sum(after.values(), []))


@every_section
def test_code_of_79_columns_does_not_scroll(visit, name):
    """Longer lines are the business of tests/book; lines that keep the rule must fit the page."""
    assert not [line for line in visit(name).wide_code if len(line) <= 79]


@every_page
def test_displays_fit_the_column(visit, name):
    """At 1280 px no displayed formula scrolls, those of opened solutions included: break it with aligned or gathered."""
    assert not visit(name).wide_displays


def test_every_page_of_the_contents_is_built(site):
    assert not [name for name in PAGES if not Path(site, name).is_file()]
