import itertools

import matplotlib
import numpy as np
import pytest

from nbutils import figures

matplotlib.use('agg')
WHITE, DARK = '#ffffff', '#14181e'  # the grounds of the page


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
