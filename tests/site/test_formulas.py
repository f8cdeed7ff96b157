"""Formulas are set by the build, and look as a browser would set them."""
import json
import re
import types

import pytest
import yaml
from booksite.page import formulas
from conftest import KINDS, ROOT, settle
from test_pages import covering

SETTINGS = yaml.safe_load((ROOT / '_config.yml').read_text('utf-8'))['sphinx']['config']['mathjax3_config']


@pytest.fixture(scope='module')
def made(site):
    """Formula -> HTML, of all formulas of the site."""
    return json.loads((site.parent / '.doctrees' / 'formulas.json').read_text('utf-8'))['made']


def photograph(page, address, head, formulas_in_html):
    lines = '\n'.join(f'<p style="margin: 8px">{formula}</p>' for formula in formulas_in_html)
    answer = {'content_type': 'text/html; charset=utf-8', 'body': f'<!DOCTYPE html>{head}<body>{lines}</body>'}
    page.route('**/harness.html', lambda route: route.fulfill(**answer))
    page.set_default_timeout(120_000)
    page.goto(f'{address}harness.html')
    settle(page)
    assert page.locator('p > mjx-container').count() == len(formulas_in_html)
    return page.screenshot(full_page=True)


def test_each_pixel_is_as_a_browser_would_set_it(page, address, made):
    """Of the formulas that together hold every element and every letter of all; the control has one glyph less."""
    chosen = list(covering({formula: set(re.findall(r'<mjx-[\w-]+(?: class="[^"]*")?', text)) for formula, text in made.items()}))
    assert len(chosen) > 60
    style = '<link rel=stylesheet href="/_static/mathjax/chtml.css">'
    ours = photograph(page, address, style, [made[formula] for formula in chosen])
    spoilt = [made[formula] for formula in chosen[:-1]] + [made[chosen[-1]].replace('<mjx-c ', '<mjx-d ', 1)]
    assert photograph(page, address, style, spoilt) != ours
    script = f'<script>window.MathJax = {json.dumps(SETTINGS)}</script><script defer src="/_static/mathjax/tex-chtml.js"></script>'
    in_text = {False: r'\({}\)', True: r'\[{}\]'}
    written = [in_text[f.startswith('$$')].replace('{}', f.lstrip('$').replace('&', '&amp;').replace('<', '&lt;')) for f in chosen]
    assert photograph(page, address, script, written) == ours


def test_only_new_formulas_are_set(tmp_path, monkeypatch):
    orders = []
    monkeypatch.setattr(formulas, 'call', lambda program, settings, formulas: orders.append(formulas) or ['<b>'] * len(formulas))
    pages = {'a.html': r'<span class="math notranslate nohighlight">\(x &lt; 1\)</span>',
             'b.html': r'<div class="math notranslate nohighlight" id="e"><span class="eqno">(1)</span>\[x\\[4pt] y\]</div>'}
    config = types.SimpleNamespace(mathjax3_config={})
    app = types.SimpleNamespace(booksite_node='node', outdir=tmp_path, doctreedir=tmp_path, config=config)
    for name, text in pages.items():
        (tmp_path / name).write_text(text)
        formulas.put_in(app, None)
    formulas.put_in(app, None)
    assert orders == [[['x < 1', False]], [[r'x\\[4pt] y', True]]]
    assert (tmp_path / 'a.html').read_text() == '<span class="math notranslate nohighlight"><b></span>'
    assert (tmp_path / 'b.html').read_text() == '<div class="math notranslate nohighlight" id="e"><span class="eqno">(1)</span><b></div>'


# What a reader has of it: nothing moves.

SHIFTS = """window.shifts = [];
new PerformanceObserver(list => list.getEntries().forEach(entry => shifts.push(entry.sources.map(s => s.node).filter(
  node => (node?.nodeType === 1 ? node : node?.parentElement)?.closest('.bd-article')))))
  .observe({type: 'layout-shift', buffered: true});"""


@pytest.mark.parametrize('name', ['book/index', 'book/optimization', 'section'])
@pytest.mark.parametrize('width', [1280, 390])
def test_the_text_is_at_its_place_at_once(page, address, lightest, name, width):
    """Cold and warm: nothing of the text moves once it is shown."""
    page.set_viewport_size({'width': width, 'height': 900})
    page.add_init_script(SHIFTS)
    network = page.context.new_cdp_session(page)
    network.send('Network.enable')
    for cold in (True, False):
        network.send('Network.setCacheDisabled', {'cacheDisabled': cold})
        page.goto(f'{address}{name if name != "section" else "notebooks/" + lightest(*KINDS)}.html')
        settle(page)
        page.wait_for_timeout(100)
        moved = page.evaluate('shifts.flat().map(node => (node.outerHTML ?? node.data).slice(0, 200))')
        assert not moved


def test_the_text_stands_where_it_stands_on_every_page(page, address):
    places = set()
    for name in ('book/claims', 'book/glossary', 'notebooks/linear_algebra/norms'):
        page.goto(f'{address}{name}.html', wait_until='commit')
        places.add(page.locator('article h1').bounding_box()['x'])
    assert len(places) == 1
