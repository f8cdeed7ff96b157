"""The hypotheses of all theorems are named, and what happens without them is shown: see `tests.hypotheses`."""
import ast

import pytest

from nbutils.checks import _counterexample
from nbutils.maintain import sections
from tests import hypotheses

TABLE, NAMED = hypotheses.table(), hypotheses.named()
NEEDED = 2  # how many hypotheses nobody has shown to be needed; this may only shrink


@pytest.mark.parametrize('entry', TABLE, ids=lambda entry: entry.label)
def test_a_theorem_holds_with_its_hypotheses_and_fails_without(entry):
    found, _ = _counterexample(entry.statement, entry.cases, entry.tries)
    assert found is None, f'{entry.label} fails at {found}'
    for words, cases in entry.without.items():
        for case in cases:
            assert not entry.statement(**case), f'{entry.label} holds without {words!r}: at {case}'


def test_each_theorem_names_its_hypotheses(book):
    theorems = {(name, label) for name, section in book.items() for label, statement in section.theorems.items()
                if statement.kind in sections.PROVED}
    missing = sorted(theorems - NAMED.keys())
    assert not missing, f'name their hypotheses in {hypotheses.NAMED.name}: {missing}'
    assert not (unused := sorted(NAMED.keys() - theorems)), f'no theorems of the book: {unused}'


# Words that the theorem has lost name a hypothesis that a reader does not see.
def test_hypotheses_stand_in_the_text(book):
    texts = {name: sections.squeezed(section.prose) for name, section in book.items()}
    lost = [f'{section} {label}: {words!r}' for (section, label), named in NAMED.items() for words in named
            if sections.squeezed(words) not in texts.get(section, '')]
    assert not lost, '\n'.join(['not in the words of the section:', *lost])


def test_what_shows_them_is_there(book):
    cases = {(entry.label, words) for entry in TABLE for words in entry.without}
    wanted = {(label, words) for (_, label), named in NAMED.items() for words, (way, _) in named.items() if way == 'case'}
    assert not (bad := wanted - cases), f'no cases in tests/hypotheses: {sorted(bad)}'
    assert not (bad := cases - wanted), f'cases of hypotheses that {hypotheses.NAMED.name} does not name so: {sorted(bad)}'
    quoted = {name for (name, _), named in NAMED.items() if 'code' in {way for way, _ in named.values()}}
    code = {name: [sections.squeezed(ast.unparse(node)) for node in book[name].code] for name in quoted}
    for (name, label), named in NAMED.items():
        for words, (way, what) in named.items():
            where = f'{name} {label}, {words!r}'
            assert way in hypotheses.WAYS, f'{where}: {way} is none of {hypotheses.WAYS}'
            assert way in ('case', 'needs') or len(what.split()) > (way == 'none'), f'{where}: {way} says nothing'
            if way == 'check':
                assert what in book[name].by_hand, f'{where}: no check by hand is called {what}'
            if way == 'code':
                assert any(sections.squeezed(what) in text for text in code[name]), f'{where}: no code of the section has {what!r}'


def test_few_hypotheses_are_not_shown():
    left = [f'{section} {label}: {words}' for (section, label), named in NAMED.items()
            for words, (way, _) in named.items() if way == 'needs']
    assert len(left) <= NEEDED, f'show a case without each in tests/hypotheses: {left}'
    assert len(left) == NEEDED, f'{len(left)} are left: lower NEEDED in {__file__}'
