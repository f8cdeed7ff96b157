"""Figures stored as SVG: what becomes of them on a page and in a link to it."""
import re
import shutil
import subprocess
from types import SimpleNamespace

import imagesize
import pytest
from booksite.page import svg_figures
from bs4 import BeautifulSoup
from conftest import ROOT
from PIL import Image, ImageColor

LETTER = '<path id="{id}-1" d="M0 0L3 5" transform="scale(0.01562)" />'
FIGURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 440.4 260.4" width="440.4pt" height="260.4pt" stroke-linejoin="round"'
    f' stroke-linecap="butt"><defs>{LETTER}<path id="{{id}}-2" d="M0 0L0 3.5" stroke="#787878" /></defs>'
    '<g class="mpl-line2d" stroke="#0d68ff"><use href="#{id}-2" x="1" /></g>'
    '<g class="mpl-text" aria-label="a &lt; b" fill="#787878" transform="translate(5 9) scale(0.1 -0.1)">'
    '<use href="#{id}-1" /><use href="#{id}-1" x="7" /></g></svg>'
)


SCALED = 'transform="translate({at}) scale(0.1 -0.1)"'
LABELS = {  # what matplotlib stores -> the text that lies over it
    f'<g class="mpl-text" aria-label="rows &amp; $n^2$" {SCALED.format(at="5 9")}><use href="#l" /><use href="#l" x="50" /></g>':
        [('x="5" y="9"', '10', '9.7', 'rows &amp; n²')],
    f'<g class="mpl-text" aria-label="two,&#10;lines"><g {SCALED.format(at="5 9")}><use href="#l" x="20" /></g>'
    f'<use href="#l" {SCALED.format(at="6 20")} /></g>': [('x="5" y="9"', '10', '6.7', 'two,'), ('x="6" y="20"', '10', '4.7', 'lines')],
    '<g class="mpl-text" aria-label="up" transform="translate(5 9) rotate(-90) scale(0.2 -0.2)"><use href="#l" /></g>':
        [('transform="translate(5 9) rotate(-90)"', '20', '9.4', 'up')],
    f'<use class="mpl-text" aria-label="5" {SCALED.format(at="5 9")} href="#l" />': [('x="5" y="9"', '10', '4.7', '5')],
    f'<g class="mpl-text" aria-label="$x_i$" {SCALED.format(at="5 9")}><use href="#l" transform="translate(40 -16) scale(0.5)" /></g>':
        [('x="5" y="9"', '10', '6.3', 'xᵢ')],
    f'<g class="mpl-text" aria-label="boxed"><path d="M0 0L9 9" /><g {SCALED.format(at="5 9")}><use href="#l" /></g></g>':
        [('x="5" y="9"', '10', '4.7', 'boxed')],
    '<g class="mpl-text" aria-label="costs \\$5">' + f'<g {SCALED.format(at="5 9")}><use href="#l" /></g></g>':
        [('x="5" y="9"', '10', '4.7', 'costs $5')],
}


@pytest.mark.parametrize('stored, texts', LABELS.items(), ids=[texts[0][-1] for texts in LABELS.values()])
def test_over_the_outlines_of_a_label_lies_its_text(stored, texts):
    """At its place, in its size, as wide as its outlines: the letter here is 3000 / 64 units wide."""
    letter = '<defs><path id="l" d="M0 0L3000 10L30 5" transform="scale(0.01562)" /></defs>'
    made = svg_figures.words(f'<svg xmlns="http://www.w3.org/2000/svg">{letter}{stored}</svg>')
    written = ''.join(f'<text {at} font-size="{size}" textLength="{width}">{text}</text>' for at, size, width, text in texts)
    assert made == f'<g fill="transparent" aria-hidden="true">{written}</g>'


def test_a_figure_without_labels_gets_no_text():
    assert svg_figures.words('<svg xmlns="http://www.w3.org/2000/svg"><defs/><path d="M0 0L9 9" /></svg>') == ''


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


def test_letters_and_nothing_else_have_a_rim_in_the_colour_of_the_page(body):
    css = (ROOT / 'book' / '_static' / 'book.css').read_text('utf-8')
    [(selector, rule)] = re.findall(r'^(svg\.figure [^{]*) \{([^}]*paint-order[^}]*)\}', css, re.M)
    assert 'stroke: var(--pst-color-background);' in rule
    rimmed = body.select(selector)
    assert len(rimmed) == 4 and {use['href'] for use in rimmed} == {'#g1'}, 'the letter of both figures, not their marks'


def test_the_words_of_a_figure_are_texts_that_its_reader_can_find(body):
    for figure in body.select('svg.figure'):
        [words] = figure.select('[fill="transparent"]')
        assert words['aria-hidden'] == 'true' and [text.get_text() for text in words.select('text')] == ['a < b']


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


def test_elsewhere_a_figure_has_the_colours_of_the_white_page(tmp_path):
    """A tick, drawn broad, is as grey as on the page in the pictures of both programs that make them."""
    svg = svg_figures.on_white(FIGURE.replace('d="M0 0L0 3.5"', 'd="M0 0L0 440" stroke-width="900"'))
    css = (ROOT / 'book' / '_static' / 'book.css').read_text('utf-8')
    grey = re.search(r'--grey: (#\w{6});', css)[1]  # the light page comes first
    (tmp_path / 'a.svg').write_text(svg)
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(imagedir='_images'))
    pictures = [svg_figures.preview(app, tmp_path / 'a.svg')]
    if shutil.which('rsvg-convert'):
        pictures.append(tmp_path / 'b.png')
        subprocess.run(['rsvg-convert', '--output', pictures[-1], tmp_path / 'a.svg'], check=True)
    for picture in pictures:
        assert Image.open(picture).convert('RGB').getpixel((300, 200)) == ImageColor.getrgb(grey)


def test_a_drawing_from_elsewhere_keeps_its_colours():
    assert svg_figures.on_white('<svg id="logo"></svg>') == '<svg id="logo"></svg>'
