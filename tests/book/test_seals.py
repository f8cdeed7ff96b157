"""What is sealed has not changed since it was read together: see `nbutils.maintain.seals`."""
import ast

from nbutils import ledger
from nbutils.maintain import seals, sections


# A statement can lose a hypothesis, a check can say less, the ledger can change its mind: each without the others, unseen.
def test_seals_are_whole(book):
    now, free = seals.present(book)
    problems = list(seals.broken(seals.stored(), now, free))
    keys = ' '.join(dict.fromkeys(key for _, key, _ in problems))
    assert not problems, '\n'.join([
        '', *(f'{section}  {key}: {problem}' for section, key, problem in problems),
        f"Does each check still show what its statement says? Read them together and renew: make seal ID='{keys}'"])


def unsealed(section):
    """The statements of a section in view, and those that judge, which no seal holds.

    Left out are imports, exercises, headings of what is printed, and checks that run what is displayed: their seal is the text.
    """
    sealed = {id(node) for seal in seals.seals(section, ledger.claims(), {}).values() for node in seal.check}
    for n, (node, cell) in enumerate(zip(section.code, section.cell_of, strict=True)):
        says = section.names[n].reads - {'print'} or section.names[n].changes or not isinstance(node, ast.Expr)
        judges = n in section.judging and not (n in section.calls and not any(map(sections.by_hand, section.calls[n])))
        if (judges or cell.in_view and says) and not (
                id(node) in sealed or isinstance(node, (ast.Import, ast.ImportFrom)) or cell.of_exercise):
            yield ast.unparse(node)


# A check that says less, or code that teaches something else, is noticed at once by its seal, if it has one.
def test_each_statement_that_teaches_or_judges_is_sealed(book):
    assert not (bad := {name: found for name, section in book.items() if (found := list(unsealed(section)))}), bad


def test_the_file_is_as_it_is_written(tmp_path, monkeypatch):
    text = seals.SEALS.read_text('utf-8')
    sealed = seals.stored()
    monkeypatch.setattr(seals, 'SEALS', tmp_path / 'seals.yml')
    seals.write(sealed)
    assert seals.SEALS.read_text('utf-8') == text, 'book/seals.yml is written by make seal alone'


# A claim that no display states can be reworded on its page until its check shows something else.
def test_claims_in_words_are_quoted(book):
    quotes = seals.quoted(seals.SENTENCES.read_text('utf-8'))
    for name, section in book.items():
        said = section.said(quotes.get(name, {}))
        silent = [key for key in section.by_hand if key in ledger.claims() and not said.get(key)]
        assert not silent, f'{name}: no display has this label, no paragraph this anchor, book/sentences.yml no words: {silent}'
        idle = [key for key in quotes.get(name, {}) if key not in section.by_hand or key in section.said({})]
        assert not idle, f'{name}: take these from book/sentences.yml, which have no check by hand, or another statement: {idle}'
    assert not quotes.keys() - book.keys()
