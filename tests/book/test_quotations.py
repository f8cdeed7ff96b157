"""The ledger quotes: each `notes` stands in the notes. See `nbutils.maintain.quotations`."""
import hashlib
from pathlib import Path

import pytest
import yaml

from nbutils import ledger
from nbutils.maintain import notebooks, quotations

FOLDER = Path(__file__).parents[1] / 'quotations'
ORIGINALS = notebooks.ROOT.parent / 'shared' / 'notes'
REPAIRS = yaml.safe_load((FOLDER / 'repairs.yml').read_text('utf-8')) or {}


def copied(prefix):
    """The digest of a file of notes, and its lines without layout."""
    first, *rest = (FOLDER / f'{prefix}.txt').read_text('utf-8').splitlines()
    return first.removeprefix('sha256 '), rest


# A quotation that is completed turns an unclear statement into a correct one, or convicts an author of what he did not write.
@pytest.mark.parametrize('prefix', ledger.FILES)
def test_the_ledger_quotes(prefix):
    text = ''.join(copied(prefix)[1])
    wrong = []
    for name, claim in ledger.claims(prefix).items():
        notes = quotations.plain(claim.notes)
        for repair in REPAIRS.get(name, ()):
            assert repair['quoted'] in notes and repair['noise'], name
            notes = notes.replace(repair['quoted'], repair['printed'])
        if (piece := quotations.missing(notes, text)) is not None:
            wrong.append(f'{name}: {piece}')
    assert not wrong, '\n'.join(['', *wrong, 'The notes do not print this: quote them, and put what you add into `correct`'])


def test_repairs_are_of_quotations():
    assert REPAIRS.keys() <= ledger.claims().keys()


@pytest.mark.parametrize('prefix', ledger.FILES)
def test_the_lines_are_those_of_the_notes(prefix):
    digest, kept = copied(prefix)
    originals = [path for path in ORIGINALS.glob('*.txt') if hashlib.sha256(path.read_bytes()).hexdigest() == digest]
    if not originals:
        pytest.skip('the notes are not at hand')
    assert quotations.lines(originals[0].read_text('utf-8')) == kept


@pytest.mark.parametrize('notes', [
    r'\frac{1}{N} \sum_{n=1}^N', r'\text{the sum } \frac1N\sum_{n = 1}^{N}', r'\text{the sum}\ [\dots]\ \text{of squares}',
])
def test_layout_is_no_matter(notes):
    text = ''.join(quotations.lines('- the sum $\\frac{1}{N} \\sum_{n=1}^N e_n^2$\n\nof *squares*'))
    assert quotations.missing(quotations.plain(notes), text) is None


@pytest.mark.parametrize('notes, found', [
    (r'\frac{1}{2N} \sum_{n=1}^N', r'\frac1{2N}\sum_{n=1}^N'), (r'\mathbf{e}_n^2', r'\mathbfe_n^2'),
    (r'\text{the mean}', 'themean'), (r'\text{of squares}\ [\dots]\ \text{the sum}', 'thesum'),
    (r'e_n^2 \text{ (of all examples)}', 'e_n^2(ofallexamples)'),
])
def test_what_is_changed_or_added_is_found(notes, found):
    text = ''.join(quotations.lines('- the sum $\\frac{1}{N} \\sum_{n=1}^N e_n^2$\n\nof *squares*'))
    assert quotations.missing(quotations.plain(notes), text) == found
