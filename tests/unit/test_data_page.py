"""The page *Data* says what the loaders give, and its reference lines are computed again."""
import re

import pytest
import yaml

from nbutils.maintain import facts
from nbutils.maintain.notebooks import ROOT

STORED = yaml.safe_load(facts.FACTS.read_text('utf-8'))
PAGE = (ROOT / 'book' / 'data.md').read_text('utf-8')


def test_the_page_shows_each_set_once_and_each_picture():
    assert sorted(re.findall(r'```\{data-set\} (\w+)', PAGE)) == sorted(facts.loaders()) == sorted(STORED)
    assert sorted(re.findall(r'```\{figure\} data/(\w+)\.svg', PAGE)) == sorted(facts.DRAWN)
    assert sorted(p.stem for p in facts.PICTURES.iterdir()) == sorted(facts.DRAWN)


@pytest.mark.parametrize('name', facts.loaders())
def test_the_page_says_what_the_loader_gives(name, monkeypatch):
    monkeypatch.setattr(facts, 'BASELINES', {})
    assert facts.facts(name) == {key: said for key, said in STORED[name].items() if key != 'baselines'}, 'make data'


@pytest.mark.parametrize('name', facts.BASELINES)
def test_reference_lines_come_out_again(name):
    now, then = facts.BASELINES[name](), STORED[name]['baselines']
    assert now.keys() == then.keys(), 'make data'
    for what, value in now.items():
        assert abs(float(value) - float(then[what])) < 1.5 * 10 ** -len(value.partition('.')[2]), f'{what}: {value}: make data'


def test_counts_of_runs_by_hand():
    # after 'ab': a then b. Order 1: p(a) = (1 + 2 / 2) / (2 + 2) = 1/2
    assert facts.bits_per_character('ab', 'ab', 1) == 1
    # order 2: after a came b once: p(b) = (1 + 1/2) / (1 + 1) = 3/4
    assert abs(facts.bits_per_character('ab', 'ab', 2) - (1 + 0.4150375) / 2) < 1e-6


def test_words_said_together_are_those_said_alone():
    words = ['a', 'book', 'mathematics', 'data']
    assert facts.spoken(words) == [facts.spoken([word])[0] for word in words]
    assert facts.spoken(['book']) == ['B UH1 K']
