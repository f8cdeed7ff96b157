"""What was found about the graders belongs to the exercises as they are now; each mutant that survives has its reason."""
import pytest

from nbutils.maintain import graders, notebooks, sections

SOURCES = notebooks.sources()


@pytest.mark.parametrize('path', SOURCES, ids=notebooks.name)
def test_changed_graders_were_tried(path):
    assert not (labels := graders.changed(path)), (
        f'{", ".join(labels)}: its cells are not those whose grader was last tried: make graders FILES={path.relative_to(notebooks.ROOT)}')


@pytest.mark.parametrize('path', SOURCES, ids=notebooks.name)
def test_each_survivor_has_its_reason(path):
    there = {exercise.label for exercise in sections.Section(path).graded}
    for label, known in graders.recorded(path).items():
        assert label in there, f'{label} is no exercise of {notebooks.name(path)}: remove it from {graders.record_of(path)}'
        for entry in known.get('equivalent', ()):
            assert len(str(entry['why']).split()) > 2, f'{label}: say why {entry["now"]!r} is equivalent'
