import json

import pytest

from nbutils.maintain import notebooks, record

GOOD = '# %% [markdown]\n# # Title\n\n# %%\nx = 0.123456\nprint(x)\n\n# %% tags=["hide-input"]\nx\n'


@pytest.fixture
def section(tmp_path):
    path = tmp_path / 'chapter' / 'section.py'
    path.parent.mkdir()
    path.write_text(GOOD)
    return path


def test_recording_twice_gives_the_same_bytes(section):
    target = section.with_suffix('.ipynb')
    record.record(section)
    first = target.read_bytes()
    target.unlink()
    record.record(section)
    assert target.read_bytes() == first
    cells = json.loads(first)['cells']
    assert [c.get('execution_count') for c in cells] == [None, 1, 2] and cells[2]['metadata'] == {'tags': ['hide-input']}
    assert cells[1]['outputs'][0]['text'] == ['0.123456\n'] and sorted(section.parent.iterdir()) == [target, section]


def test_equal_outputs_are_left_alone(section):
    target = section.with_suffix('.ipynb')
    record.record(section)
    near = target.read_text().replace('"0.123456\\n"', '"0.123457\\n"')
    target.write_text(near)
    assert record.record(section) == 'unchanged' and target.read_text() == near
    target.write_text(near.replace('0.123457', '0.223457'))
    assert record.record(section) == '0 cells new or edited, 1 others with changed outputs'
    assert '0.123456' in target.read_text()


@pytest.mark.parametrize('cell, message', [
    ('assert 1 > 2, "no"', r'chapter/section, cell 4 \(assert 1 > 2, "no" ...\): AssertionError: no'),
    ('import sys\nsys.stderr.write("careful")', 'cell 4 writes to stderr: careful'),
    ('import warnings\nwarnings.warn("old")', 'cell 4 writes to stderr: .*UserWarning: old'),
    ('import os\nos._exit(1)', r'cell 4 \(import os ...\): the kernel died'),
    ('import time\ntime.sleep(60)', r'cell 4 \(import time ...\): took more than 2 s'),
])
def test_what_fails_is_not_recorded(section, cell, message, monkeypatch):
    monkeypatch.setattr(record, 'CELL_SECONDS', 2)
    target = section.with_suffix('.ipynb')
    record.record(section)
    before = target.read_bytes()
    section.write_text(GOOD + f'\n# %%\n{cell}\n\n# %%\n5\n')
    with pytest.raises(record.Refused, match=message):
        record.record(section)
    assert target.read_bytes() == before and len(list(section.parent.iterdir())) == 2


def test_a_damaged_notebook_is_made_anew(section):
    target = section.with_suffix('.ipynb')
    record.record(section)
    whole = target.read_bytes()
    target.write_bytes(whole[:200])
    record.record(section)
    assert target.read_bytes() == whole


def test_what_cannot_be_written_is_said(section, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, 'No space left on device')

    record.record(section)
    target = section.with_suffix('.ipynb')
    before = target.read_bytes()
    section.write_text(GOOD + '\n# %%\n6\n')
    monkeypatch.setattr(notebooks.os, 'replace', full)
    with pytest.raises(record.Refused, match='section.ipynb could not be written .*No space left.* untouched'):
        record.record(section)
    assert target.read_bytes() == before and len(list(section.parent.iterdir())) == 2


def test_ids_hang_on_the_text_alone(section):
    ids = [c.id for c in notebooks.read(section).cells]
    section.write_text('# %%\nnew\n\n' + GOOD)
    assert [c.id for c in notebooks.read(section).cells][1:] == ids
    section.write_text(GOOD + '\n# %%\nx = 0.123456\nprint(x)\n')
    assert [c.id for c in notebooks.read(section).cells] == [*ids, f'{ids[1]}-2']


def test_only_what_changed_is_recorded(section, monkeypatch, capsys):
    root = section.parent.parent
    (root / 'notebooks' / 'chapter').mkdir(parents=True)
    section = section.rename(root / 'notebooks' / 'chapter' / 'section.py')
    (root / 'requirements.txt').write_text('')
    (root / 'nbutils' / 'maintain').mkdir(parents=True)
    (root / 'nbutils' / 'book.mplstyle').write_text('')
    helper = root / 'nbutils' / 'helper.py'
    helper.write_text('a = 1\n')
    section.write_text('# %%\nfrom nbutils import helper\n')
    monkeypatch.setattr(notebooks, 'ROOT', root)
    monkeypatch.setattr(notebooks, 'NOTEBOOKS', root / 'notebooks')
    monkeypatch.setattr(notebooks, 'SEEN', root / '.cache' / 'seen.json')
    monkeypatch.setattr(record, 'execute', lambda notebook, path: notebook)

    def said():
        record.main([])
        return capsys.readouterr().out

    assert '[1/1] chapter/section: ' in said() and 'Nothing to record' in said()
    for file in (section, helper, section.with_suffix('.ipynb'), root / 'requirements.txt'):
        file.write_text(file.read_text() + '\n')
        out = said()
        assert f'chapter/section: {file.relative_to(root)}' in out and '[1/1] chapter/section: ' in out
        assert 'Nothing to record' in said()
