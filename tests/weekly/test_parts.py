"""Each part that a reader may start at, executed after the opening alone (`make parts`).

That names are bound is seen at every change, without executing; here it shows whether they hold what the part needs, too.
A section whose header names its main formula is read from its beginning, as `make notebooks` executes it.
"""
import pytest

from nbutils.maintain import execute, notebooks, rules, sections

SECTIONS = [sections.Section(path) for path in notebooks.sources()]
PARTS = [(section, title) for section in SECTIONS if not rules.from_its_beginning(section) for title in rules.parts(section)]
execute.preload([section.path for section, _ in PARTS])


def errors(section, cells):
    """The errors of cells that run one after the other in a kernel of their own, as lines of text."""
    with execute.Kernel(section.path.parent) as kernel:
        outputs = [output for cell in cells for output in kernel.run(cell.source, 120)]
    return [f'{output["ename"]}: {output["evalue"]}' for output in outputs if output['output_type'] == 'error']


@pytest.mark.parametrize('section, title', PARTS, ids=[f'{section.name}: {title}' for section, title in PARTS])
def test_a_part_runs_alone(section, title):
    assert not errors(section, rules.parts(section)[title])


def test_parts_that_lean_on_others_fail_without_them():
    """The control: in a section that is read from its beginning, some part does not run after the opening alone."""
    section = next(section for section in SECTIONS if section.name == 'linear_algebra/whitening')
    assert any(error.startswith('NameError') for cells in rules.parts(section).values() for error in errors(section, cells))
