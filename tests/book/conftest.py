"""What several tests of the book read."""
import pytest

from nbutils.maintain import sections


@pytest.fixture(scope='session')
def book():
    """The `sections.Section` of each section, by name: to read all takes seconds. No test changes them."""
    return sections.read_all()
