"""Stored weights belong to the code and the data that the book has now."""
import pytest

from nbutils import weights
from nbutils.maintain import weights as make


# Weights of other code, or of other data, show a reader what the page does not do.
@pytest.mark.parametrize('recipe', make.recipes().values(), ids=lambda recipe: recipe.name)
def test_weights_are_those_of_their_source_and_data(recipe):
    assert not (problem := make.stale(recipe)), problem


# A file that no training is listed for cannot be made again.
def test_each_file_of_weights_is_listed():
    assert {path.stem for path in weights.FOLDER.glob('*.safetensors')} == {*make.recipes()}, 'book/weights.yml, then make weights'
