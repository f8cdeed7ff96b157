"""Figures: the style is `plt.style.use('nbutils.book')`; here is what most figures need beside it."""

GREY = '#787878'  # text, axes and reference lines: readable on the white and on the dark page


def panels(columns, rows=1, *, height=2.6, **options):
    """A figure as wide as the text with a grid of axes, `height` inches a row.

    Gives (figure, axes) as `plt.subplots` does, to which further options go.
    """
    import matplotlib.pyplot as plt

    return plt.subplots(rows, columns, figsize=(6, height * rows), **options)


def show_image(ax, pixels, title=None, **options):
    """Draw an array of shape (height, width), in grey, or (height, width, 3) on `ax` without ticks or frame."""
    picture = ax.imshow(pixels, **({'cmap': 'gray'} | options))
    ax.set(title=title or '', xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    return picture


def label_lines(ax, *, dx=6, gap=11):
    """Write the label of each line of `ax` at its right end, in its colour: a legend that needs no looking up.

    `dx` is the distance from the line and `gap` the least distance between two labels, both in points. Lines
    without a label are left alone. Call it after the limits and scales are set.
    """
    import numpy as np

    lines = [line for line in ax.get_lines() if not line.get_label().startswith('_')]
    ends = [(line, *line.get_xydata()[np.isfinite(line.get_xydata()).all(1)][-1]) for line in lines]
    points = 72 / ax.figure.dpi
    heights = [ax.transData.transform((x, y))[1] * points for _, x, y in ends]
    lowest = -np.inf
    for i in np.argsort(heights, kind='stable'):
        line, x, y = ends[i]
        lowest = max(heights[i], lowest + gap)
        ax.annotate(
            line.get_label(), (x, y), xytext=(dx, lowest - heights[i]), textcoords='offset points',
            color=line.get_color(), va='center', annotation_clip=False,
        )
