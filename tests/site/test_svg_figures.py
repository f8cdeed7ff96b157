"""Figures stored as SVG: what becomes of them on a page, in a link to it, and that their colours can be read."""
import re
import sys
from types import SimpleNamespace

import imagesize
import matplotlib
import matplotlib.style
import pytest
from booksite.page import svg_figures
from bs4 import BeautifulSoup
from conftest import ROOT

sys.path.insert(0, str(ROOT / 'tests' / 'unit'))
import test_figures as colours

LETTER = '<path id="{id}-1" d="M0 0L3 5" transform="scale(0.01562)" />'
FIGURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 440.4 260.4" width="440.4pt" height="260.4pt" stroke-linejoin="round"'
    f' stroke-linecap="butt"><defs>{LETTER}<path id="{{id}}-2" d="M0 0L0 3.5" stroke="#787878" /></defs>'
    '<g class="mpl-line2d" stroke="#0d68ff"><use href="#{id}-2" x="1" /></g>'
    '<g class="mpl-text" aria-label="a &lt; b" fill="#787878"><use href="#{id}-1" x="7" /></g></svg>'
)


@pytest.fixture
def body(tmp_path):
    """The body of a page with two stored figures, which share a letter, a drawing from elsewhere and a picture."""
    files = {'a.svg': FIGURE.replace('{id}', 'fa'), 'b.svg': FIGURE.replace('{id}', 'fb'), 'logo.svg': '<svg id="logo"></svg>'}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    app = SimpleNamespace(srcdir=tmp_path, builder=SimpleNamespace(images={name: name for name in files}))
    tags = ''.join(f'<p><img alt="x &lt; &quot;y&quot;" class="c" src="../_images/{name}"/></p>' for name in (*files, 'd.svg', 'e.png'))
    context = {'body': tags}
    svg_figures.put_in(app, '', '', context, None)
    return BeautifulSoup(context['body'], 'html.parser')


def test_a_figure_stands_in_the_page_with_its_words_and_its_size(body):
    figures = body.select('svg.figure')
    assert len(figures) == 2 and all(figure.parent.name == 'p' for figure in figures)
    for figure in figures:
        assert (figure['role'], figure['aria-label']) == ('img', 'x < "y"')
        assert (figure['viewbox'], figure['width'], figure['height']) == ('0 0 440.4 260.4', '734', '434')
        assert not figure.select('[aria-label]'), 'its alternative text speaks for all of it'
        assert [path['stroke'] for path in figure.select('[stroke]')] == ['#787878', '#0d68ff']
    assert [image['src'] for image in body.select('img')] == [f'../_images/{name}' for name in ('logo.svg', 'd.svg', 'e.png')]


def test_figures_of_a_page_share_their_letters_and_no_other_name(body):
    names = [element['id'] for element in body.select('[id]')]
    assert len(names) == len(set(names)) == 3
    assert {use['href'][1:] for use in body.select('use')} == set(names)
    [letters] = body.select('svg.glyphs')
    assert [path['d'] for path in letters.select('path')] == ['M0 0L3 5'] and letters['aria-hidden'] == 'true'
    assert body.find('svg') is letters, 'not inside a cell: a live page replaces what is there'


def test_links_to_a_page_show_a_picture(tmp_path):
    (tmp_path / 'a.svg').write_text(FIGURE.replace('{id}', 'fa'))
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(imagedir='_images'))
    assert imagesize.get(svg_figures.preview(app, tmp_path / 'a.svg')) == (800, 473)


def variables(theme):
    """Of the style sheet: the values of its variables on a ground."""
    css = (ROOT / 'book' / '_static' / 'book.css').read_text('utf-8')
    [block] = re.findall(rf'^html\[data-theme="{theme}"\] \{{(.*?)^\}}', css, re.S | re.M)
    return dict(re.findall(r'--([\w-]+): (#\w{6});', block))


def themed():
    """Of the style sheet: for each colour of the style its variable, once for lines and once for areas."""
    css = (ROOT / 'book' / '_static' / 'book.css').read_text('utf-8')
    rules = re.findall(r'svg\.figure \[(fill|stroke)="(#\w{6})"\] \{ (\w+): var\(--(\w+)\); \}', css)
    assert all(kind == again for kind, _, again, _ in rules)
    lines, areas = ({colour: name for kind, colour, _, name in rules if kind == wanted} for wanted in ('stroke', 'fill'))
    assert lines == areas
    return lines


def test_every_colour_of_the_style_has_a_variable():
    with matplotlib.style.context('nbutils.book'):
        cycle = matplotlib.rcParams['axes.prop_cycle'].by_key()['color']
    assert set(themed()) == {*(f'#{colour.lstrip("#")}' for colour in cycle), '#787878'}


@pytest.mark.parametrize('theme, ground', [('light', '#ffffff'), ('dark', '#121212')])
def test_colours_of_figures_can_be_read_and_told_apart(theme, ground):
    """Letters have these colours, too: 4.5:1 on the page and in its boxes. By eyes without red, green or blue cones as well."""
    values = variables(theme)
    shown = [values[name] for name in themed().values()]
    assert min(colours.contrast(value, place) for value in shown for place in (ground, values['box'])) >= 4.5
    bright = [values[name] for colour, name in themed().items() if colour != '#787878']
    for sight in colours.SIGHT.values():
        seen = [colours.lab(sight @ colours.linear(value)) for value in bright]
        assert min(colours.np.linalg.norm(a - b) for a, b in colours.itertools.combinations(seen, 2)) > 20
