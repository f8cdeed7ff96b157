"""What the letters of displayed formulas mean, for those whose meanings would clutter their pages: one file a chapter.

`prints(label, x=vectors(3), ...)` enters a display of the book with the meanings of its letters (see `nbutils.printed`);
`unrun.yml` lists the displays that no machine can run, with one of five reasons. `tests/book/test_prints.py` runs the table
and demands that each labelled display with a relation is in one of the two, or runs on its page.
"""
from importlib import import_module
from pathlib import Path

import numpy as np
import yaml

from nbutils.cases import seeds

REASONS = ('words', 'definition', 'quantifier', 'asymptotic', 'notation')
HERE = Path(__file__).parent
TABLE = {}  # label -> (keywords of `nbutils.printed.checking.check`, number of cases)


def prints(label, /, *, tries=60, **meanings):
    """Enter a display: the meaning of each letter, and `equality`, `slip`, `also_true`, `also_turned` or `options` where it
    needs them; `alike.yml` has the slips that no case can tell from it."""
    if label in TABLE:
        raise ValueError(f'{label} stands in the table twice')
    TABLE[label] = (meanings, tries)


def normal(*shape):
    """Arrays with independent standard normal entries, as a strategy."""
    return seeds().map(lambda seed: np.random.default_rng(seed).normal(size=shape))


def table():
    """The whole table, as {label: (keywords, tries)}."""
    for path in sorted(HERE.glob('*.py')):
        if path.stem != '__init__':
            import_module(f'tests.prints.{path.stem}')
    return TABLE


def unrun():
    """{label: (reason, remark)} of the displays that cannot run."""
    chapters = yaml.safe_load((HERE / 'unrun.yml').read_text('utf-8'))
    return {label: reason for labels in chapters.values() for label, entry in labels.items() for reason in entry.items()}


def alike():
    """{label: {name of a slip: why a print with it says the same as the display}}."""
    return yaml.safe_load((HERE / 'alike.yml').read_text('utf-8'))
