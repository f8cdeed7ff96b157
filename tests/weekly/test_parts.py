"""Every part of every section executed alone, as a reader runs it who starts there (`make parts`).

That names are bound is seen at every change, without executing; here it shows whether they hold what the part needs, too.
"""
import pytest

from nbutils.maintain import execute, notebooks, rules

PAIRS = [rules.Pair(path) for path in notebooks.sources()]
PARTS = [(pair, title) for pair in PAIRS for title in rules.sections(pair) if title]
execute.preload([pair.path for pair in PAIRS])


def errors(pair, cells):
    """The errors of cells that run one after the other in a kernel of their own, as lines of text."""
    with execute.Kernel(pair.path.parent) as kernel:
        outputs = [output for cell in cells for output in kernel.run(cell.source, 120)]
    return [f'{output["ename"]}: {output["evalue"]}' for output in outputs if output['output_type'] == 'error']


@pytest.mark.parametrize('pair, title', PARTS, ids=[f'{pair.name}: {title}' for pair, title in PARTS])
def test_a_part_runs_alone(pair, title):
    assert not errors(pair, rules.alone(pair, title))


def test_parts_that_lean_on_others_fail_without_them():
    """The control: where a part says that it continues another, it does not run after the opening alone."""
    pair, title = next((pair, title) for pair, title in PARTS if rules.continued(pair, title))
    cells = [cell for part in ('', title) for _, cell in rules.sections(pair)[part] if cell.cell_type == 'code']
    assert any(error.startswith('NameError') for error in errors(pair, cells))
