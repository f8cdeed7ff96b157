"""Each part that a reader may start at, executed after the opening alone (`make parts`).

That names are bound is seen at every change, without executing; here it shows whether they hold what the part needs, too.
A section whose header names its main formula is read from its beginning, as `make notebooks` executes it.
"""
import pytest

from nbutils.maintain import execute, notebooks, rules

PAIRS = [rules.Pair(path) for path in notebooks.sources()]
PARTS = [(pair, title) for pair in PAIRS if not rules.from_its_beginning(pair) for title in rules.parts(pair)]
execute.preload([pair.path for pair, _ in PARTS])


def errors(pair, cells):
    """The errors of cells that run one after the other in a kernel of their own, as lines of text."""
    with execute.Kernel(pair.path.parent) as kernel:
        outputs = [output for cell in cells for output in kernel.run(cell.source, 120)]
    return [f'{output["ename"]}: {output["evalue"]}' for output in outputs if output['output_type'] == 'error']


@pytest.mark.parametrize('pair, title', PARTS, ids=[f'{pair.name}: {title}' for pair, title in PARTS])
def test_a_part_runs_alone(pair, title):
    assert not errors(pair, rules.parts(pair)[title])


def test_parts_that_lean_on_others_fail_without_them():
    """The control: in a section that is read from its beginning, some part does not run after the opening alone."""
    pair = next(pair for pair in PAIRS if pair.name == 'linear_algebra/whitening')
    assert any(error.startswith('NameError') for cells in rules.parts(pair).values() for error in errors(pair, cells))
