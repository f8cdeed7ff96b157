"""Every page of the site in a browser without network: it loads, shows its mathematics, reads well, fits a phone."""
import functools
import json
import re

import pytest
import yaml
from conftest import HERE, ROOT, settle
from docutils.nodes import make_id

from nbutils.maintain import budget

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


def main_formula(name):
    """The identifier on the page of the formula that the header of its notebook calls `main`, or None."""
    header = json.loads((ROOT / name).with_suffix('.ipynb').read_text('utf-8'))['metadata'].get('book', {})
    return make_id(f'equation-{header["main"]}') if 'main' in header else None


FAULTS = {  # what must not be seen of any page, and why
    'console': 'nothing is logged to the console',
    'foreign': 'the book must be readable without network',
    'failed': 'a file is missing',
    'raw_math': 'TeX that MathJax left alone',
    'math_errors': 'TeX that MathJax does not understand',
    'wordless': 'a picture needs words: ![what it shows](file), or begin its cell with # %% mystnb={"image": {"alt": "what it shows"}}',
    'barriers': 'axe-core calls it moderate, serious or critical, in light or in dark (the pages of the cover)',
    'overflow': 'a phone shows the whole width',
    'columns': 'what was printed as a table scrolls in its box on a phone, and shows that it does: smaller type shows a letter or two more',
    'badges': 'the mark of a check, the number and the formula stand apart, and a mark stands beside its statement, on a phone, too',
    'wide_code': 'code of 79 columns fits at 1280 px; longer lines are the business of tests/book',
    'wide_displays': 'displays fit at 1280 px, those of opened solutions included: break it with aligned or gathered',
}


@pytest.fixture(scope='session')
def visit(browser, address, cover):
    """A function from a page to what `look_at` gives; each page is opened once, as on a phone, and then widened."""
    page = browser.new_context().new_page()
    page.add_init_script(STILL)
    return functools.cache(lambda name: look_at(page, address, name, cover.get(name)))


def look_at(page, address, name, kinds):
    """The faults of a page by their kind, its `solutions` and what is `reached`; axe-core is asked where it has `kinds` of markup to see."""
    seen = {fault: [] for fault in FAULTS}
    heard = {
        'console': lambda message: message.type in ('error', 'warning') and seen['console'].append(message.text),
        'pageerror': lambda error: seen['console'].append(str(error)),
        'request': lambda request: request.url.startswith((address, 'data:')) or seen['foreign'].append(request.url),
        'response': lambda response: response.status >= 400 and seen['failed'].append(response.url),
    }
    page.goto('about:blank')
    page.set_viewport_size({'width': 390, 'height': 844})
    page.emulate_media(color_scheme='light')
    for event, hear in heard.items():
        page.on(event, hear)
    page.goto(address + name)
    settle(page)
    seen |= {'overflow': page.evaluate(OVERFLOW), 'columns': page.evaluate(COLUMNS), 'badges': page.evaluate(CROSSED) + page.evaluate(AWAY)}
    page.set_viewport_size({'width': 1280, 'height': 900})
    seen |= {'raw_math': page.evaluate(RAW_MATH), 'math_errors': page.evaluate(MATH_ERRORS), 'wordless': page.evaluate(WORDLESS)}
    seen['badges'] += page.evaluate(CROSSED) + page.evaluate(AWAY)
    seen['wide_code'] = [line for line in page.evaluate(WIDE_CODE) if len(line) <= 79]
    if name.startswith('notebooks/'):
        seen['reached'] = page.evaluate(REACHED, main_formula(name))
    seen['solutions'] = page.evaluate(SOLUTIONS)
    seen['wide_displays'] = page.evaluate(WIDE_DISPLAYS)
    seen['barriers'] = barriers(page, kinds) if kinds else []
    for event, hear in heard.items():
        page.remove_listener(event, hear)
    return seen


@pytest.fixture(scope='session')
def kinds(site):
    """The kinds of markup of each page, the page that opens quickest first."""
    quickest = sorted(PAGES, key=lambda name: (site / name).stat().st_size)
    return {name: markup((site / name).read_text('utf-8')) for name in quickest}


@pytest.fixture(scope='session')
def cover(kinds):
    """Pages that together hold every kind of markup of the site: axe-core, which takes most of a visit, looks at these."""
    return covering(kinds)


def markup(html):
    """The kinds of elements in a page: tag, classes and role, with those of the element around it."""
    html = DRAWING.sub('', html)
    found, around = set(), ['']
    for closing, tag, attributes, empty in TAG.findall(html):
        if closing:
            while len(around) > 1 and around.pop().split(' ')[0] != tag:
                pass
            continue
        kind = ' '.join([tag, *sorted(' '.join(KIND.findall(attributes)).split())])
        found.add(f'{around[-1]} > {kind}')
        if tag not in VOID and not empty:
            around.append(kind)
    return found


def covering(kinds):
    """Few of the pages in which each kind of markup of any is found, each with the kinds that it alone is there for.

    They are chosen by greed, and of equals the first.
    """
    chosen, lacking = {}, set().union(*kinds.values())
    while lacking:
        name = max(kinds, key=lambda name: len(kinds[name] & lacking))
        chosen[name] = kinds[name] & lacking
        lacking -= chosen[name]
    return chosen


TAG = re.compile(r'<(/?)([a-z][\w-]*)((?:\s+[\w:.-]+(?:="[^"]*")?)*)\s*(/?)>')
KIND = re.compile(r'\s(?:class|role)="([^"]*)"')
DRAWING = re.compile(r'(?<=</defs>)<g\b.*?(?=</svg>)|<mjx-container\b.*?</mjx-container>|<script\b.*?</script>|<!--.*?-->', re.S)
VOID = {'area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'source', 'wbr'}


def barriers(page, kinds):
    """What axe-core finds in light, and what it finds in dark by the rules about colour.

    It sees the whole page, or, where this is in the cover for a FEW kinds of markup, the elements of these kinds.
    """
    page.evaluate(AXE)
    page.evaluate(PRUNE)
    place = page.evaluate_handle(OF_KINDS, sorted(kinds)) if len(kinds) <= FEW else None
    found = [f'light: {line}' for line in page.evaluate(VIOLATIONS, {'place': place})]
    page.emulate_media(color_scheme='dark')
    page.wait_for_function("(document.documentElement.dataset.theme ?? 'dark') === 'dark'")
    return found + [f'dark: {line}' for line in page.evaluate(VIOLATIONS, {'place': place, 'runOnly': COLOUR})]


STILL = """const still = new CSSStyleSheet();
still.replaceSync('* { transition: none !important; animation: none !important; }');
document.adoptedStyleSheets = [still];"""
FEW = 5
COLOUR = ['color-contrast', 'link-in-text-block']
# axe is slow on many elements: it is shown the frame of each formula, each kind of coloured word in code, each kind of part
# of a paragraph and each kind of row, entry and lesson once. Of one kind are those that lie in the same elements and differ
# only in words and in values
PRUNE = """() => {
  document.querySelectorAll('mjx-container').forEach(m => m.replaceChildren('x'));
  document.querySelectorAll('svg.figure, svg.glyphs').forEach(drawing => drawing.replaceChildren());
  const seen = new Set();
  for (const word of document.querySelectorAll('pre span')) {
    const kind = word.className + word.closest('div.cell_input, div.cell_output, div.admonition, pre')?.className;
    if (seen.has(kind)) word.replaceWith(word.textContent);
    seen.add(kind);
  }
  const around = e => e ? `${around(e.parentElement)} > ${e.tagName} ${e.className}` : '';
  const inside = e => e.outerHTML.replace(/>[^<]+</g, '>x<').replace(/ (?!class|role|style)([\\w-]+)="[^"]+"/g, ' $1="x"');
  for (const words of document.querySelectorAll('article :is(p, code)')) {
    const within = new Set();
    for (const part of [...words.children]) {
      if (within.has(inside(part))) part.remove();
      within.add(inside(part));
    }
  }
  for (const entries of ['.bd-sidebar-primary li, article :is(li, dt, dd, tbody tr, div.citation)', 'section.lesson, section.claims-of-section']) {
    for (const entry of document.querySelectorAll(entries)) {
      const kind = around(entry.parentElement) + inside(entry);
      if (seen.has(kind)) entry.remove();
      seen.add(kind);
    }
  }
}"""
# The elements of such kinds, as `markup` calls them, to which scripts may have given more classes; the whole page if one has none
OF_KINDS = """kinds => {
  const words = e => [e.localName, ...`${e.getAttribute('class') ?? ''} ${e.getAttribute('role') ?? ''}`.split(/\\s+/)];
  const is = (e, [tag, ...rest]) => e.localName === tag && rest.every(word => words(e).includes(word));
  const found = kinds.map(kind => {
    const [around, own] = kind.split(' > ').map(name => name.split(' '));
    return [...document.querySelectorAll(own[0])].filter(e => is(e, own) && is(e.parentElement, around));
  });
  if (found.some(elements => !elements.length)) return document;
  const elements = [...new Set(found.flat())];
  for (const element of elements) {
    for (let around = element; around; around = around.parentElement) {  // what is folded is opened: axe would not see it
      around.classList.remove('toggle-hidden');
      if (around.localName === 'details') around.open = true;
    }
  }
  return {include: elements};
}"""
VIOLATIONS = """async ({place, ...options}) => (await axe.run(place ?? document, {resultTypes: ['violations'], ...options})).violations
  .filter(v => ['moderate', 'serious', 'critical'].includes(v.impact))
  .map(v => `${v.id} (${v.impact}), ${v.nodes.length} times, first: ${v.nodes[0].html.slice(0, 200)}`)"""
SOLUTIONS = """() => [...document.querySelectorAll('div.solution')].map(box => {  // before and after a click on its title
  const seen = {opacityProperty: true, visibilityProperty: true};
  const unfolded = selector => [...box.querySelectorAll(selector)].filter(e => !e.closest('details:not([open])'));
  const visible = selector => unfolded(selector).map(e => e.checkVisibility(seen));
  const state = () => ({
    text: visible('p:not(.admonition-title)'),
    code: visible('div.cell_input pre'),
    formulas: visible('.math mjx-container'),
  });
  const before = state();
  box.querySelector('.admonition-title').click();
  return [before, state()];
})"""
REACHED = """main => {  // in px: the top of the first output or figure and of the main formula, and the length of the page
  const top = e => e.getBoundingClientRect().top + scrollY;
  const shown = [...document.querySelectorAll('main .cell_output')].filter(e => e.checkVisibility() && e.offsetHeight);
  const article = document.querySelector('main article') ?? document.querySelector('main');
  return {example: top(shown[0]), formula: main && top(document.getElementById(main)), length: article.scrollHeight};
}"""
RAW_MATH = """[...document.querySelectorAll('.math')]
  .filter(m => !m.querySelector('mjx-container') || m.textContent.includes('\\\\('))
  .map(m => m.textContent.slice(0, 80))"""
MATH_ERRORS = """[...document.querySelectorAll('mjx-merror, [data-mjx-error], mjx-mtext[style*="red"]')]
  .map(m => m.dataset.mjxError || m.textContent || 'unknown command')"""
WORDLESS = """[...document.querySelectorAll('main img, main svg.figure')]  // docutils says the name of the file where there are none
  .filter(e => !(e.alt ?? e.getAttribute('aria-label'))?.trim() || e.getAttribute('src')?.endsWith(e.alt))
  .map(e => e.outerHTML.slice(0, 120))"""
OVERFLOW = """() => {
  const scrolls = e => e.closest('mjx-container, pre, .dropdown-menu');
  const beyond = e => e.offsetParent && e.getBoundingClientRect().right > innerWidth + 1;
  const widest = [...document.querySelectorAll('main *')].filter(e => beyond(e) && !scrolls(e));
  const tooWide = document.documentElement.scrollWidth > innerWidth;
  return tooWide ? [`page of ${document.documentElement.scrollWidth} px`, ...widest.slice(0, 3).map(e => e.outerHTML.slice(0, 120))] : [];
}"""
COLUMNS = """[...document.querySelectorAll('.cell_output pre')].filter(e => e.clientWidth).flatMap(e => {
  const beyond = e.scrollWidth - e.clientWidth, style = getComputedStyle(e), table = /\\S {2,}\\S/.test(e.textContent);
  const faults = {
    'smaller than letters can be read': parseFloat(style.fontSize) < 9.6,
    'a little beyond the edge': e.matches('.columns') && beyond > 0 && beyond < 24,
    'a table that wraps': table && style.whiteSpace !== 'pre',
    'neither scrolls nor wraps': !['pre', 'pre-wrap'].includes(style.whiteSpace),
  };
  return Object.keys(faults).filter(fault => faults[fault]).map(fault => `${fault}: ${e.textContent.slice(0, 60)}`);
})"""
AWAY = """[...document.querySelectorAll('p > a.check-badge')].filter(badge => badge.checkVisibility({visibilityProperty: true})).filter(badge => {
  const box = badge.getBoundingClientRect(), statement = badge.parentElement.getBoundingClientRect();
  return box.top < statement.top - 4 || box.bottom > statement.bottom + 4;
}).map(badge => badge.hash)"""
CROSSED = """[...document.querySelectorAll('div.math a.check-badge')].filter(badge => badge.checkVisibility()).filter(badge => {
  const box = badge.getBoundingClientRect(), number = document.createRange();
  const text = [...badge.parentElement.childNodes].find(node => node.nodeType === 3);
  number.selectNode(text);
  const crosses = other => box.left < other.right && other.left < box.right && box.top < other.bottom - 6 && other.top + 6 < box.bottom;
  const formula = badge.closest('div.math').querySelector('mjx-container').getBoundingClientRect();
  return crosses(number.getBoundingClientRect()) || crosses(formula) || box.right > innerWidth;
}).map(badge => badge.hash)"""
WIDE_DISPLAYS = """[...document.querySelectorAll('mjx-container[display]')]
  .filter(m => m.scrollWidth > m.clientWidth + 1)
  .map(m => `${m.closest('.math').id} ${m.scrollWidth - m.clientWidth} px: ${m.textContent.slice(0, 60)}`)"""
WIDE_CODE = """[...document.querySelectorAll('div.cell_input pre')]
  .filter(p => p.clientWidth && p.scrollWidth > p.clientWidth + 1)
  .map(p => p.textContent.split('\\n').sort((a, b) => b.length - a.length)[0])"""


@every_page
def test_a_page_has_no_fault(visit, name):
    seen = visit(name)
    assert not any(seen[fault] for fault in FAULTS), '\n'.join(f'{why}: {seen[fault]}' for fault, why in FAULTS.items() if seen[fault])


@every_section
def test_solutions_are_folded_whole_and_open(visit, name):
    """Text, executed code and formulas of a solution are hidden until its title is clicked."""
    solutions = visit(name)['solutions']
    assert len(solutions) >= 3 and any(after['code'] for _, after in solutions), 'one exercise at least is solved by executed code'
    for before, after in solutions:
        assert after['text'], 'its explanation belongs to the solution'
        assert not any(sum(before.values(), [])) and all(sum(after.values(), []))


def test_a_new_kind_of_markup_brings_its_page_into_the_cover(site, kinds, cover):
    assert set().union(*(kinds[name] for name in cover)) == set().union(*kinds.values()) and len(cover) < len(PAGES) / 2
    plain = next(name for name in PAGES if name not in cover)
    text = (site / plain).read_text('utf-8')
    for old, new in (('<p>', '<p class="new">'), ('<p>', '<p role="note">'), ('<p>', '<p><b class="new">x</b>'), ('</h2>', '</h2><hr/>')):
        assert plain in covering(kinds | {plain: markup(text.replace(old, new, 1))}), new


@pytest.mark.parametrize('absent', [set(), {'section > p absent'}])
def test_axe_core_sees_a_few_kinds_alone(absent, page, address, site, cover):
    """Folded ones, too; and where scripts have changed one, the whole page."""
    name = next(name for name in PAGES if name.startswith('book/') and name not in cover)
    fault = '<details><summary>x</summary><p class="new">A word <a href="#"></a> and <a href="#">two</a>, <a href="#"></a></p></details>'
    text = (site / name).read_text('utf-8').replace('</section>', f'<p><img src="#"></p>{fault}</section>', 1)
    page.route(f'**/{name}', lambda route: route.fulfill(body=text, content_type='text/html'))
    page.goto(address + name)
    settle(page)
    rules = {line.split()[1] for line in barriers(page, {'details > p new'} | absent)}
    assert rules >= ({'image-alt'} if absent else {'link-name'}) and ('image-alt' in rules) == bool(absent)


@every_section
def test_a_page_begins_with_what_it_is_about(name, visit):
    reached = visit(name)['reached']
    assert reached['example'] <= budget.SCREENS * budget.SCREEN, 'the first figure or printed example stands within a screen and a half'
    if reached['formula'] is not None:
        assert reached['formula'] <= budget.SHARE * reached['length'], 'the main formula stands in the first fifth of the page'
