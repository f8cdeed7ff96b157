"""What a section costs its reader: every section keeps the limits."""
import pytest

from nbutils.maintain import budget, notebooks, sections


@pytest.mark.parametrize('path', notebooks.sources(), ids=notebooks.name)
def test_a_section_keeps_its_budget(path):
    measured = budget.measure(sections.Section(path))
    told = {name: f'{getattr(measured, name)}, at most {getattr(budget.LIMITS, name)}' for name in budget.over(measured)}
    assert not told, f'{notebooks.name(path)} is over its budget: {told}'
