"""What a section costs its reader: every section keeps the limits but for those that are listed, and the list only shrinks."""
from pathlib import Path

import pytest
import yaml

from nbutils.maintain import budget, notebooks

OVER = yaml.safe_load(Path(__file__).with_name('over_budget.yml').read_text('utf-8')) or {}


@pytest.mark.parametrize('path', notebooks.sources(), ids=notebooks.name)
def test_a_section_keeps_its_budget(path):
    measured = budget.measure(notebooks.read(path))
    exceeded, listed = budget.over(measured), OVER.get(notebooks.name(path), [])
    told = {name: f'{getattr(measured, name)}, at most {getattr(budget.LIMITS, name)}' for name in exceeded if name not in listed}
    assert not told, f'{notebooks.name(path)} is over its budget: {told}'
    assert not (kept := set(listed) - set(exceeded)), f'{notebooks.name(path)} keeps {sorted(kept)} now: take them from over_budget.yml'


def test_the_list_names_sections_of_the_book():
    assert not OVER.keys() - {notebooks.name(path) for path in notebooks.sources()}
