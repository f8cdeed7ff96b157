import json

import pytest
from jsonschema import Draft202012Validator

from nbutils import ledger


@pytest.mark.parametrize('prefix', ledger.FILES)
def test_ledger_obeys_its_schema(prefix):
    schema = json.loads((ledger.FOLDER / 'schema.json').read_text())
    validator = Draft202012Validator(schema)
    problems = [f'{list(e.path)}: {e.message}' for e in validator.iter_errors(list(ledger.headings(prefix)))]
    assert not problems
    assert all(c.startswith(f'{prefix}.') for c in ledger.claims(prefix))


def test_ledger_is_whole():
    ids = [c['id'] for p in ledger.FILES for h in ledger.headings(p) for c in h['claims']]
    headings = [h['id'] for p in ledger.FILES for h in ledger.headings(p)]
    assert (len(headings), len(ids)) == (211, 674)
    assert len(set(headings)) == 211 and len(set(ids)) == 674


@pytest.mark.parametrize('fault', [
    {'verdict': 'maybe'}, {'id': 'xx.y'}, {'notes': ''}, {'nodes': 'misspelt'}, {'verdict': 'wrong'},
    {'was': {'verdict': 'wrong'}},
])
def test_the_schema_rejects(fault):
    schema = json.loads((ledger.FOLDER / 'schema.json').read_text())
    heading = {'id': 'dl.x', 'heading': 'X', 'section': 'a/b', 'claims': [{'id': 'dl.x.y', 'notes': 'x', 'verdict': 'correct'}]}
    validator = Draft202012Validator(schema)
    assert validator.is_valid([heading])
    heading['claims'][0] |= fault
    assert not validator.is_valid([heading])


def test_claims_know_their_heading_and_section():
    claim = ledger.claim('dl.norms.triangle')
    assert (claim.heading, claim.section, claim.verdict) == ('dl.norms', 'linear_algebra/norms', 'wrong')
