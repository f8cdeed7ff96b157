"""What is sealed has not changed since it was read together: see `nbutils.maintain.seals`."""
from nbutils.maintain import seals


# A statement can lose a hypothesis, a check can say less, the ledger can change its mind: each without the others, unseen.
def test_seals_are_whole():
    now, free = seals.present(seals.sections())
    problems = list(seals.broken(seals.stored(), now, free))
    keys = ' '.join(dict.fromkeys(key for _, key, _ in problems))
    assert not problems, '\n'.join([
        '', *(f'{section}  {key}: {problem}' for section, key, problem in problems),
        f"Does each check still show what its statement says? Read them together and renew: make seal ID='{keys}'"])


def test_the_file_is_as_it_is_written(tmp_path, monkeypatch):
    text = seals.SEALS.read_text('utf-8')
    sealed = seals.stored()
    monkeypatch.setattr(seals, 'SEALS', tmp_path / 'seals.yml')
    seals.write(sealed)
    assert seals.SEALS.read_text('utf-8') == text, 'book/seals.yml is written by make seal alone'
