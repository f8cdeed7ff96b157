import base64
import io
import itertools
import re
import shutil
import subprocess
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from PIL import Image

from nbutils import figures
from nbutils.maintain import notebooks, svg

matplotlib.use('agg')
WHITE, DARK = '#ffffff', '#14181e'  # the grounds of the page
CSS = notebooks.ROOT / 'book' / '_static' / 'book.css'


@pytest.fixture
def plt():
    import matplotlib.pyplot as plt
    with plt.style.context('nbutils.book'):
        yield plt
        plt.close('all')


def linear(color):
    c = np.array(matplotlib.colors.to_rgb(color))
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(a, b):
    """Ratio of luminances, 1 to 21, as WCAG 2.2 defines it."""
    high, low = sorted((linear(c) @ [0.2126, 0.7152, 0.0722] for c in (a, b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


# What eyes without red, green or blue cones see of linear RGB: Machado, Oliveira and Fernandes (2009), severity 1.
SIGHT = {
    'full': np.eye(3),
    'no red': np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    'no green': np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    'no blue': np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}


def lab(rgb):
    """CIE L*a*b* of linear RGB."""
    xyz = np.clip(rgb, 0, 1) @ np.array([[0.4124, 0.2126, 0.0193], [0.3576, 0.7152, 0.1192], [0.1805, 0.0722, 0.9505]])
    f = np.cbrt(xyz / [0.9505, 1, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def colors(plt):
    return plt.rcParams['axes.prop_cycle'].by_key()['color']


@pytest.mark.parametrize('page', [WHITE, DARK])
def test_colors_are_readable_on_both_pages(plt, page):
    assert all(contrast(color, page) >= 3 for color in [*colors(plt), figures.GREY])
    assert contrast(plt.rcParams['text.color'], page) >= 4  # letters need more than lines


@pytest.mark.parametrize('sight', SIGHT)
def test_colors_stay_apart_for_all_eyes(plt, sight):
    seen = [lab(SIGHT[sight] @ linear(color)) for color in colors(plt)]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 20


def variables(theme):
    """Of the style sheet: the values of its variables on a ground."""
    css = CSS.read_text('utf-8')
    chosen = '' if theme == 'light' else f'="{theme}"'  # the light page's colours hold where no other are chosen
    [block] = re.findall(rf'^html\[data-theme{chosen}\] \{{([^}}]*--grey[^}}]*)^\}}', css, re.M)
    return dict(re.findall(r'--([\w-]+): (#\w{6});', block))


def themed():
    """Of the style sheet: for each color of the style its variable, once for lines and once for areas."""
    css = CSS.read_text('utf-8')
    rules = re.findall(r'svg\.figure \[(fill|stroke)="(#\w{6})"\] \{ (\w+): var\(--(\w+)\); \}', css)
    assert all(kind == again for kind, _, again, _ in rules)
    lines, areas = ({color: name for kind, color, _, name in rules if kind == wanted} for wanted in ('stroke', 'fill'))
    assert lines == areas
    return lines


def test_every_color_of_the_style_has_a_variable(plt):
    assert set(themed()) == {*(f'#{color.lstrip("#")}' for color in colors(plt)), figures.GREY}


@pytest.mark.parametrize('theme, ground', [('light', '#ffffff'), ('dark', '#121212')])
def test_colors_on_a_page_can_be_read_and_told_apart(theme, ground):
    """Letters have these colors, too: 4.5:1 on the page and in its boxes. By eyes without red, green or blue cones as well."""
    values = variables(theme)
    shown = {color: values[name] for color, name in themed().items()}
    assert min(contrast(value, place) for value in shown.values() for place in (ground, values['box'])) >= 4.5
    bright = [value for color, value in shown.items() if color != figures.GREY]
    for sight in SIGHT.values():
        seen = [lab(sight @ linear(value)) for value in bright]
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 20


def test_no_single_color_can_be_read_on_both_pages():
    """So a stored figure has one color, and the page gives it two values."""
    greys = [f'#{value:02x}{value:02x}{value:02x}' for value in range(256)]  # contrast hangs on luminance alone
    assert 4 < max(min(contrast(grey, '#ffffff'), contrast(grey, '#121212')) for grey in greys) < 4.5


def test_figures_have_no_ground_of_their_own(plt):
    fig, ax = plt.subplots()
    fig.canvas.draw()
    assert np.asarray(fig.canvas.buffer_rgba())[..., 3].min() == 0


def test_panels_are_as_wide_as_the_text(plt):
    fig, axes = figures.panels(3, 2, height=2, sharex=True)
    assert axes.shape == (2, 3) and tuple(fig.get_size_inches()) == (6, 4)


def test_show_image(plt):
    fig, ax = plt.subplots()
    picture = figures.show_image(ax, np.eye(3), 'identity', vmax=2)
    assert ax.get_title(loc='left') == 'identity' and len(ax.get_xticks()) == 0 and picture.get_clim() == (0, 2)
    assert picture.get_cmap().name == 'gray'


def test_labels_stand_at_the_ends_of_lines_and_apart(plt):
    fig, ax = plt.subplots()
    x = np.arange(4.0)
    for i, last in enumerate((1.0, 1.001, 3.0, np.nan)):
        ax.plot(x, np.append(x[:3], last), label=f'line {i}')
    ax.axhline(2)  # has no label
    figures.label_lines(ax)
    fig.canvas.draw()
    assert {t.get_text() for t in ax.texts} == {f'line {i}' for i in range(4)}
    boxes = sorted((t.get_window_extent().y0, t.get_window_extent().y1) for t in ax.texts)
    assert all(upper[0] >= lower[1] - 4 for lower, upper in itertools.pairwise(boxes))
    assert {t.get_color() for t in ax.texts} == {line.get_color() for line in ax.get_lines()[:4]}


# ---- as they are stored ----

def drawn(**settings):
    """A figure with all that matplotlib writes in ways of its own, as matplotlib writes it."""
    import matplotlib.pyplot as plt

    with plt.style.context(['nbutils.book', settings]):
        fig, (left, right) = plt.subplots(1, 2)
        left.plot([1, 2, 300], [1, 10, 100], 'o-', label='a < b')
        left.fill_between([1, 300], [1, 2], hatch='/')
        left.set(title='two\nlines', xlabel=r'$\lambda_1$ -- x', yscale='log')
        left.legend()
        right.imshow(np.eye(3))
        right.scatter([0, 1, 2], [0, 1, 1], c=[0.0, 0.5, 1.0], rasterized=True)
        file = io.BytesIO()
        fig.savefig(file, format='svg', bbox_inches='tight', dpi=240)
        plt.close(fig)
    return file.getvalue().decode()


@pytest.fixture(scope='module')
def figure():
    return svg.normalized(drawn())


def test_texts_of_a_stored_figure_are_readable(figure):
    labels = [part.get('aria-label') for part in ElementTree.fromstring(figure).iter() if 'aria-label' in part.attrib]
    assert {'two\nlines', r'$\lambda_1$ - - x', 'a < b', r'$\mathdefault{10^{2}}$', '0', '200'} <= {*labels}


def test_a_stored_figure_names_what_it_shares_by_its_content(figure):
    ids = re.findall(r' id="([^"]*)"', figure)
    assert len(ids) == len(set(ids)) > 20 and {name.partition('-')[0] for name in ids} == {ids[0].partition('-')[0]}
    used = re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', figure)
    assert {a or b for a, b in used} == set(ids)
    other = svg.normalized(drawn(**{'lines.linewidth': 3}))
    assert not {*ids} & {*re.findall(r' id="([^"]*)"', other)}


def test_a_stored_figure_can_stand_in_a_page(figure):
    assert not re.search(r'<\?|<!|<style|<metadata|style=|xlink|\d\.\d{6}', re.sub(r'base64,[^"]*', '', figure))
    assert 'fill="#0d68ff"' in figure and 'stroke="#787878"' in figure and len(figure) < 0.75 * len(drawn())


@pytest.mark.parametrize('settings', [
    {}, {'text.hinting': 'none'}, {'text.hinting': 'force_autohint'}, {'text.hinting_factor': 1}, {'text.antialiased': False},
])
def test_figures_are_the_same_bytes_again_and_with_other_hinting(figure, settings):
    assert svg.normalized(drawn(**settings)) == figure


def test_pictures_in_a_stored_figure_have_double_density(figure):
    pictures = [base64.b64decode(found) for found in re.findall(r'base64,([^"]*)', figure)]
    pixels = [Image.open(io.BytesIO(picture)) for picture in pictures]
    assert len(pixels) == 2 and all(picture.width > 240 and not picture.info for picture in pixels)


def test_what_is_stored_looks_as_it_was_drawn(figure, tmp_path):
    """Read by another program, where there is one."""
    convert = shutil.which('rsvg-convert')
    if not convert:
        pytest.skip('rsvg-convert is not installed')
    for name, text in (('drawn', drawn()), ('stored', figure)):
        (tmp_path / f'{name}.svg').write_text(text)
        subprocess.run([convert, '--zoom', '2', '-b', 'white', '-o', tmp_path / f'{name}.png', tmp_path / f'{name}.svg'], check=True)
    a, b = (np.asarray(Image.open(tmp_path / f'{name}.png').convert('RGB')).astype(int) for name in ('drawn', 'stored'))
    assert a.shape == b.shape and ((a - b) ** 2).mean() ** 0.5 < 1 and abs(a - b).max() < 64  # positions are rounded
