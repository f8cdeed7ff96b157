"""The rules of the book, over all notebooks. What each prevents stands in `nbutils.maintain.rules`."""
import re
from collections import Counter

import pytest
import yaml

from nbutils import ledger
from nbutils.maintain import lint, notebooks, rules, sections

pytestmark = pytest.mark.xdist_group('rules')  # one worker reads all notebooks, once
SECTIONS = [sections.Section(path) for path in notebooks.sources()]
COARSE = 98  # how many printed numbers may change by more than 5 % unnoticed; this may only shrink
TWO_SEEDS = 2  # how many means are taken over two runs; this may only shrink
ONE_SIDED = 3  # how many printed verdicts say that a number lies on one side, without the number; this may only shrink


@pytest.mark.parametrize('rule', rules.RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize('section', SECTIONS, ids=lambda section: section.name)
def test_rule(section, rule):
    problems = list(rule(section))
    assert not problems, '\n'.join(['', *problems])


# A page that is not in the contents is never found; an entry without a page breaks the build late.
def test_contents_and_notebooks_agree():
    listed = set(_files(yaml.safe_load((notebooks.ROOT / '_toc.yml').read_text('utf-8'))))
    there = {f'notebooks/{section.name}' for section in SECTIONS}
    assert {f for f in listed if f.startswith('notebooks/')} == there


def _files(entry):
    if isinstance(entry, dict):
        yield from (v for k, v in entry.items() if k in ('file', 'root'))
    for part in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
        yield from _files(part)


# One claim checked twice, by two notebooks, is one of them too many: which of them should be mended?
def test_each_claim_is_checked_by_one_notebook():
    found = Counter(i for section in SECTIONS for i in {i for function, i in section.checks if function != 'verify'})
    assert not [claim_id for claim_id, n in found.items() if n > 1]


# Two equations of the same name: a reference leads to the wrong one.
def test_labels_are_unique():
    labels = Counter(m for section in SECTIONS for m in re.findall(r'^:label: (\S+)', section.prose, re.M))
    assert not [label for label, n in labels.items() if n > 1]


# A number that is compared within more than 5 % is hardly compared: print one digit more, or a verdict.
def test_few_numbers_are_coarse():
    found = [f'{section.name}, cell {i}: {number}' for section in SECTIONS for i, number in rules.coarse(section)]
    print('\n'.join([f'{len(found)} printed numbers may change by more than {rules.COARSE:.0%} unnoticed:', *found]))
    assert len(found) <= COARSE


# A verdict on one side stays the same when what is measured changes by any factor: print the number with its bound.
def test_few_verdicts_are_one_sided():
    found = [f'{section.name}, cell {i}: {code}' for section in SECTIONS for i, code in lint.one_sided(section)]
    print('\n'.join([f'{len(found)} printed verdicts show no number:', *found]))
    assert len(found) <= ONE_SIDED


# Two runs of a training show neither a mean nor how far apart runs lie.
def test_means_are_taken_over_three_seeds_or_more():
    found = [f'{section.name}, cell {i} averages over {number} seeds: take {lint.SEEDS} or more' for section in SECTIONS for i, number in lint.few_seeds(section)]
    assert len(found) <= TWO_SEEDS, '\n'.join(['', *found])


# What a second reader remarked must have been settled when a section is written.
def test_remarks_are_settled():
    names = {section.name for section in SECTIONS}
    assert not [c.id for c in ledger.claims().values() if c.section in names and c.remark]


# The page of errata reads as a list of lessons: each has a title and says why, to readers who do not see the notes.
def test_corrections_are_lessons():
    names = {section.name for section in SECTIONS}
    claims = [c for c in ledger.claims().values() if c.section in names and c.verdict != 'correct']
    assert not [c.id for c in claims if not (c.title and c.why)]
    assert not [c.id for c in claims if re.search(r'\b(l\.|lines?) ?\d', f'{c.why} {c.correct}')]
