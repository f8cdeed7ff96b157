"""The displays of the book run as printed, and each that does not has a reason, as has each slip that no case can tell."""
import pytest
import yaml

from nbutils import ledger
from nbutils.checks import _counterexample
from nbutils.maintain import printed
from nbutils.printed.checking import check
from nbutils.printed.comparing import compared
from nbutils.printed.displays import display, displays
from tests import prints

TABLE, UNRUN, ALIKE = prints.table(), prints.unrun(), prints.alike()


@pytest.fixture(scope='module')
def places(book):
    return printed.places(book, TABLE, UNRUN)


@pytest.mark.parametrize('label', sorted(TABLE))
def test_display_runs_as_printed(label):
    meanings, tries = TABLE[label]
    check(label, display(label), lambda test, cases: _counterexample(test, cases, tries), alike=ALIKE.get(label, {}), **meanings)


def test_the_lists_name_displays_of_the_book_once(places):
    for label in [*TABLE, *UNRUN]:
        assert label in displays(), f'{label} is no display of the book: take it from tests/prints'
    assert set(ALIKE) <= set(TABLE), 'tests/prints/alike.yml names displays that are not in the table'
    twice = set(TABLE) & set(UNRUN) | {label for label, (_, place) in places.items() if place == 'page'} & {*TABLE, *UNRUN}
    assert not twice, f'in two lists, or on the page as well: {sorted(twice)}'
    assert {reason for reason, _ in UNRUN.values()} <= set(prints.REASONS)


def test_displays_without_a_place(places):
    left = sorted(label for label, (_, place) in places.items() if place == 'open')
    assert not left, f'run these on their pages or in tests/prints, or give a reason in unrun.yml: {left}'


# A display runs, and the ledger's entry of the same name is another copy of it: a slip in that one nothing else would notice.
def test_displays_say_what_the_ledger_says():
    wrong = []
    for name, claim in ledger.claims().items():
        found = compared(displays()[name], claim.correct or claim.notes) if name in displays() else 'same'
        if found != (claim.display or 'same'):
            wrong.append(f'{name}: the display and the ledger say "{found}" (display: in book/claims says {claim.display})')
    assert not wrong, '\n'.join(['', *wrong, 'Make them the same, or say in the field how they differ: see book/claims/README.md'])


def test_the_claims_page_states_what_runs(places):
    assert yaml.safe_load(printed.SUMS.read_text('utf-8')) == printed.sums(places), 'make printed'
