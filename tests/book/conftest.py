"""What several tests of the book read."""
import pytest

from nbutils.maintain import seals


@pytest.fixture(scope='session')
def book():
    """The `seals.Section` of each section, by name: to read all takes seconds. No test changes them."""
    return seals.sections()
