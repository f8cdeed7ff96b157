"""Every part of every section executed alone, as a reader runs it who starts there (`make parts`).

That names are bound is seen at every change, without executing; here it shows whether they hold what the part needs, too.
"""
import contextlib
import io
import warnings

import matplotlib
import pytest

from nbutils.maintain import environment, notebooks, rules

PAIRS = [rules.Pair(path) for path in notebooks.sources()]
PARTS = [(pair, title) for pair in PAIRS for title in rules.sections(pair) if title]


def needed(pair, title):
    """The titles of all parts that one continues, directly or through others, in order."""
    return [t for before in rules.continued(pair, title) for t in [*needed(pair, before), before]]


@pytest.mark.parametrize('pair, title', PARTS, ids=[f'{pair.name}: {title}' for pair, title in PARTS])
def test_a_part_runs_alone(pair, title, monkeypatch):
    environment.fix()
    matplotlib.use('agg')
    monkeypatch.chdir(pair.path.parent)
    run([cell for part in dict.fromkeys(['', *needed(pair, title), title]) for cell in rules.sections(pair)[part]])
    matplotlib.pyplot.close('all')


def run(cells):
    """Execute the code among numbered cells, quietly."""
    names = {'__name__': '__main__'}
    for number, cell in cells:
        if cell.cell_type == 'code':
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter('ignore')
                exec(compile(cell.source, f'cell {number}', 'exec'), names)


def test_parts_that_lean_on_others_fail_without_them():
    """The control: where a part says that it continues another, it does not run after the opening alone."""
    pair, title = next((pair, title) for pair, title in PARTS if rules.continued(pair, title))
    with pytest.raises(NameError):
        run([cell for part in ('', title) for cell in rules.sections(pair)[part]])
