"""Claims with a constant, a rate, a bound or a threshold reject the nearest false ones: see `tests.constants`."""
import re

import pytest

from nbutils import ledger
from nbutils.maintain import seals
from tests import constants

TABLE, EXCUSED = constants.table(), constants.excused()
_NUMBER = re.compile(r'\\sqrt|\\mathcal ?\{?O\}?|\bO\(|\\leq?\b|\\geq?\b|<|>|\\kappa|\\frac|\d')


@pytest.mark.parametrize('entry', TABLE, ids=lambda entry: f'{entry.section} {entry.name}')
def test_the_nearest_false_statements_are_rejected(book, entry):
    check = constants.Check(book[entry.section], entry.key, entry.section)
    passing = check.passing(entry.code, constants.KINDS[entry.kind])
    assert not passing, f'{entry.key} passes with {passing} in: {entry.code}'


@pytest.mark.parametrize('entry', TABLE[::20], ids=lambda entry: entry.name)
def test_the_numbers_themselves_are_accepted(book, entry):
    check = constants.Check(book[entry.section], entry.key, entry.section)
    assert len(check.passing(entry.code, lambda value: [value])) == 1


def numbers(latex):
    """What in a statement looks like a constant, a rate, a bound or a threshold; indices and words are none."""
    latex = re.sub(r'_(\{[^{}]*\}|\\?\w)', '', latex)
    latex = re.sub(r'\\text\{[^{}]*\}', lambda found: ' '.join(re.findall(r'\d[\d.]*', found[0])), latex)
    return _NUMBER.findall(re.sub(r'\\mathbf|\\mathbb\{R\}\^\{?[^ ]*', '', latex))


# A claim with a number gets a check by hand, and nobody asks whether another number would pass.
def test_each_claim_with_a_number_is_tried_or_excused(book):
    _, free = seals.present(book)
    wanted = {(name, key) for name, section in book.items() for key in section.by_hand if key in ledger.claims() and key not in free
              and numbers(ledger.claim(key).correct or ledger.claim(key).notes or '')}
    tried = {(entry.section, entry.key) for entry in TABLE}
    listed = {(section, key) for section, keys in EXCUSED.items() for key in keys}
    assert not (bad := listed - wanted), f'take these from none.yml: {sorted(bad)}'
    assert not (bad := listed & tried), f'in two lists: {sorted(bad)}'
    assert all(len(reason.split()) > 2 for keys in EXCUSED.values() for reason in keys.values())
    left = sorted(wanted - tried - listed)
    print(f'{len(wanted)} claims with a number are checked by hand: {len(wanted & tried)} tried, {len(listed)} excused, {len(left)} left')
    assert not left, f'try these in tests/constants, or excuse them in none.yml: {left}'
