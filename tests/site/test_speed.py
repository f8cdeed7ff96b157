"""What keeps pages light and builds quick. Seconds are measured by `make bench`, never here."""
import functools
import gzip
import http.server
import os
import re
import statistics
import threading

import pygments
import pytest
from booksite.page import highlight, page_scripts
from bs4 import BeautifulSoup
from conftest import KINDS, settle
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from test_reading import SECTION, SECTIONS

from nbutils.maintain import serve

MEDIAN, MOST = 110_000, 350_000  # bytes of a section as servers send it, packed; its figures and formulas are in it


def test_the_weight_of_the_search(site):
    """It comes with the first Ctrl-K, also to a phone. The prose, which is most of it, lies in files of its own."""
    assert len(gzip.compress((site / 'search_index.js').read_bytes(), 6)) < 400_000


def test_the_weight_of_pages(site):
    weights = {path.stem: len(gzip.compress(path.read_bytes(), 6)) for path in site.glob('notebooks/*/*.html')}
    assert not [page for page, weight in weights.items() if weight > MOST], 'fewer or smaller figures, or two sections'
    assert statistics.median(weights.values()) <= MEDIAN


# Code

CODE = 'import math\n\n\ndef root(x):\n    """Text."""\n    return [math.sqrt(x) + 1.5, "a<b"]  # comment\n'


def test_plain_tokens_have_no_element():
    lean, whole = (pygments.highlight(CODE, lexer(), HtmlFormatter()) for lexer in (highlight.LeanPython, PythonLexer))
    assert BeautifulSoup(lean, 'html.parser').get_text() == BeautifulSoup(whole, 'html.parser').get_text()
    kinds = re.findall(r'class="(\w+)"', lean)
    assert not {'n', 'p', 'w'} & set(kinds) and {'k', 'kn', 'nf', 'mf', 's2', 'c1', 'o'} <= set(kinds)


# What a page loads

@pytest.mark.parametrize('name', [f'notebooks/{SECTION}', 'book/index', 'search'])
def test_scripts_wait_and_the_index_of_the_search_stays_away(parsed, name):
    page = parsed(name)
    scripts = [script for script in page('script', src=True) if 'documentation_options' not in script['src']]
    assert not [s['src'] for s in scripts if not s.has_attr('defer')]
    assert [s['src'] for s in scripts if 'search_index' in s['src']] == ['search_index.js'] * (name == 'search')
    assert not [s['src'] for s in scripts if 'mathjax' in s['src']], 'formulas are set by the build'


@pytest.mark.parametrize('section', SECTIONS)
def test_figures_hold_their_place(parsed, section):
    """They are drawn in the page, with a size."""
    figures = parsed(f'notebooks/{section}').select('svg.figure')
    assert figures and not parsed(f'notebooks/{section}').select('article img')
    for figure in figures:
        width, height = map(float, figure['viewbox'].split()[2:])
        assert abs(int(figure['width']) / width - int(figure['height']) / height) < .02


def test_fonts_are_asked_for_where_they_are_used(site):
    assert len(page_scripts.fonts('<p>text</p>')) == 1
    assert len(page_scripts.fonts('<p><em>text</em></p>')) == 2
    assert len(page_scripts.fonts(r'<span class="math notranslate">\(x\)</span>')) == 4
    assert all((site / name).is_file() for name in page_scripts.fonts(r'<em>a</em> <span class="math x">\(\mathbf{x}\)</span>'))


@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_the_first_painting_knows_the_colours(page, address, scheme):
    """Style and letters depend on them; set by a script at the end, they make the whole page jump."""
    page.emulate_media(color_scheme=scheme)
    page.add_init_script("document.addEventListener('readystatechange', () => window.first ??= document.documentElement.dataset.theme)")
    page.route('**/*.js*', lambda route: route.abort())
    page.goto(f'{address}notebooks/{SECTION}.html')
    assert page.evaluate('window.first') == scheme


AT = """() => {  // what is read first, and where it stands
  const line = document.elementFromPoint(innerWidth / 2 - 60, 250)?.closest('p, li, pre, h2, h3, figure, div.math');
  return line && [line.textContent.slice(0, 50), Math.round(line.getBoundingClientRect().top)];
}"""
FRAMES = f"""
  window.frames_seen = [], window.moved = 0;
  const frame = () => (frames_seen.push([document.documentElement.scrollHeight, ({AT})()]), frames_seen.length < 40 && requestAnimationFrame(frame));
  requestAnimationFrame(frame);
  new PerformanceObserver(list => list.getEntries().forEach(e => moved += e.hadRecentInput ? 0 : e.value)).observe({{type: 'layout-shift', buffered: true}});
"""


@pytest.mark.parametrize('width', [1280, 390])
def test_a_reader_who_comes_back_or_to_a_place_sees_it_in_the_first_frame(page, address, lightest, width):
    """And nothing moves: what is folded is folded, and the whole text is there."""
    page.set_viewport_size({'width': width, 'height': 800})
    page.add_init_script(FRAMES)
    section = lightest(*KINDS)
    page.goto(f'{address}notebooks/{section}.html')
    settle(page)
    left = page.evaluate("scrollTo({top: Math.round(.6 * document.documentElement.scrollHeight), behavior: 'instant'}), scrollY")
    page.wait_for_timeout(300)
    place = page.evaluate("[...document.querySelectorAll('article h2')].at(-3).closest('section').id")
    for come in ('back', 'back again', 'to a place'):
        if come.startswith('back'):
            page.reload()
        else:
            page.goto('about:blank')
            page.goto(f'{address}notebooks/{section}.html#{place}')
        page.wait_for_function('frames_seen.length > 20')
        settle(page)
        page.wait_for_timeout(500)
        first, last = page.evaluate('frames_seen[0]'), page.evaluate(f'[document.documentElement.scrollHeight, ({AT})()]')
        assert first == last
        assert page.evaluate('scrollY') == left or come == 'to a place'
        assert page.evaluate('moved') < .02
    assert page.evaluate('id => Math.round(document.getElementById(id).getBoundingClientRect().top)', place) in range(50, 80)


@pytest.mark.parametrize('name', ['notebooks/optimization/jensens_inequality', 'notebooks/builders_guide/devices', 'book/errata'])
def test_the_contents_beside_a_page_do_not_move(browser, address, name):
    """Their parts do not unfold after the page stands, and the one that is read is not set in wider letters."""
    context = browser.new_context(viewport={'width': 1280, 'height': 800})
    page = context.new_page()
    page.add_init_script(FRAMES)
    page.goto(f'{address}{name}.html')
    settle(page)
    page.evaluate("scrollTo({top: .6 * document.documentElement.scrollHeight, behavior: 'instant'})")
    page.wait_for_timeout(300)
    page.reload()
    settle(page)
    page.evaluate("location.hash = [...document.querySelectorAll('article section section')].at(-3).id")
    page.wait_for_selector('.page-toc li.active')
    page.wait_for_timeout(300)
    assert page.evaluate('moved') == 0
    context.close()


class Halting(serve.Pages):
    """Sends the beginning of a section, and the rest when it is told to."""
    go_on = threading.Event()

    def beginning(content):
        return len(content) // 3

    def copyfile(self, source, outputfile):
        if '/notebooks/' in self.path:
            outputfile.write(source.read(type(self).beginning(os.pread(source.fileno(), 10**7, 0))))
            self.go_on.wait(10)
        super().copyfile(source, outputfile)


class HaltingAtTheFirstButton(Halting):
    go_on = threading.Event()

    def beginning(content):
        return content.index(b'</button>', content.index(b'header-article-items__end')) + len(b'</button>')


@pytest.fixture
def halting(site):
    """A function that serves the pages by a handler; gives the address of a section."""
    servers = []

    def start(handler):
        servers.append(http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(handler, directory=str(site))))
        threading.Thread(target=servers[0].serve_forever, daemon=True).start()
        return f'http://127.0.0.1:{servers[0].server_port}/notebooks/{SECTION}.html'

    yield start
    servers[0].shutdown()


def until_shown(page):
    while not page.evaluate("performance.getEntriesByName('first-contentful-paint').length"):
        page.wait_for_timeout(100)
    assert page.evaluate('document.readyState') == 'loading'


def test_on_a_slow_network_who_comes_to_a_place_is_not_left_before_a_blank_page(page, halting):
    """The place is not there yet; what has arrived is shown, and then the place."""
    page.goto(f'{halting(Halting)}#summary', wait_until='commit')
    until_shown(page)
    Halting.go_on.set()
    page.wait_for_load_state()
    assert 50 < page.evaluate("document.getElementById('summary').getBoundingClientRect().top") < 500


def test_buttons_that_arrive_one_after_the_other_do_not_move(page, halting):
    """They stand at the right end, so each would push those before it to the left."""
    page.set_viewport_size({'width': 1280, 'height': 900})
    page.add_init_script("""window.moved = 0;
      new PerformanceObserver(list => list.getEntries().forEach(e => moved += e.value)).observe({type: 'layout-shift', buffered: true});""")
    page.goto(halting(HaltingAtTheFirstButton), wait_until='commit')
    until_shown(page)
    HaltingAtTheFirstButton.go_on.set()
    page.wait_for_load_state()
    assert page.locator('.header-article-items__end button').first.is_visible()
    assert page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(moved))))') == 0


def test_icons_come_from_the_small_font(page, address):
    asked = []
    page.on('request', lambda request: asked.append(request.url))
    page.goto(f'{address}notebooks/{SECTION}.html', wait_until='networkidle')
    fonts = [url for url in asked if 'woff' in url and ('fontawesome' in url or 'icons' in url)]
    assert fonts and all('/fonts/icons-' in url for url in fonts), 'an icon is missing in book/_static/fonts/icons-*.woff2'
