"""The release step, in a small repository of its own, and what it writes."""
import datetime
import tomllib

import nbformat
import pytest
import yaml

from nbutils.maintain import notebooks, release, rules, sections

FILES = {
    '_config.yml': 'repository:\n  url: https://github.com/me/book\n  branch: main\n',
    'pyproject.toml': '[project]\nname = "nbutils"\nversion = "0.2.0"\n',
    'CITATION.cff': 'cff-version: 1.2.0\nversion: 0.2.0\ndate-released: 2026-01-01\n',
    'CHANGELOG.md': '# Changelog\n\n## [0.4.0] - Unreleased\n\n## [0.3.0] - Unreleased\n\n### Added\n- A section.\n\n## [0.2.0] - 2026-01-01\n',
}


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with one section, committed, that `notebooks` takes for the book."""
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(notebooks, 'ROOT', tmp_path)
    monkeypatch.setattr(notebooks, 'NOTEBOOKS', tmp_path / 'notebooks')
    for name in ('AUTHOR', 'COMMITTER'):
        monkeypatch.setenv(f'GIT_{name}_NAME', 'me')
        monkeypatch.setenv(f'GIT_{name}_EMAIL', 'me@example.org')
    section = tmp_path / 'notebooks' / 'chapter' / 'section.py'
    section.parent.mkdir(parents=True)
    section.write_text(f'# %% [markdown]\n# # Title\n\n# %% tags=["remove-cell"]\n{rules.launch_cell()}\n\n# %%\n1 + 1\n')
    stored = notebooks.read(section)
    stored.cells[2].outputs = [nbformat.v4.new_output('execute_result', {'text/plain': '2'}, execution_count=2)]
    nbformat.write(stored, section.with_suffix('.ipynb'))
    release.git('init', '--quiet')
    release.git('add', '--all')
    release.git('commit', '--quiet', '--message', 'First')
    return tmp_path


def test_a_release_is_written_committed_and_tagged(repository, capsys):
    release.main(['0.3.0'])
    assert capsys.readouterr().out.endswith('git push origin HEAD v0.3.0\n')
    today = datetime.date.today()
    assert tomllib.loads((repository / 'pyproject.toml').read_text())['project']['version'] == '0.3.0'
    citation = yaml.safe_load((repository / 'CITATION.cff').read_text())
    assert (citation['version'], citation['date-released']) == ('0.3.0', today)
    assert f'## [0.3.0] - {today}\n' in (repository / 'CHANGELOG.md').read_text()
    section = repository / 'notebooks' / 'chapter' / 'section.py'
    pair = sections.Section(section)
    assert "/archive/refs/tags/v0.3.0.zip'" in section.read_text()
    assert not [*rules.launches(pair), *rules.recorded(pair)], 'the stored notebook goes with it'
    assert pair.stored.cells[2].outputs[0].data == {'text/plain': '2'}
    assert [c.id for c in pair.stored.cells] == [c.id for c in pair.cells]
    assert release.git('status', '--porcelain') == ''
    assert release.git('rev-parse', 'v0.3.0^{commit}') == release.git('rev-parse', 'HEAD')


def test_a_notebook_that_waits_for_recording_is_not_made_to_look_recorded(repository):
    section = repository / 'notebooks' / 'chapter' / 'section.py'
    section.write_text(section.read_text().replace('1 + 1', '1 + 2'))
    release.write('0.3.0', '2026-02-02')
    assert len([*rules.recorded(sections.Section(section))]) == 1


def changed(repository):
    (repository / 'CITATION.cff').write_text('')


def tagged(repository):
    release.git('tag', 'v0.3.0')


@pytest.mark.parametrize('version, before, why', [
    ('', None, 'three numbers'), ('1.2', None, 'three numbers'), ('v0.3.0', None, 'three numbers'),
    ('0.3.0', changed, 'has changes'), ('0.3.0', tagged, 'released already'),
    ('0.2.0', None, 'CHANGELOG.md says nothing'), ('0.4.0', None, 'CHANGELOG.md says nothing'), ('9.0.0', None, 'CHANGELOG.md says nothing'),
])
def test_what_cannot_be_released_is_refused(repository, version, before, why):
    if before:
        before(repository)
    head = release.git('rev-parse', 'HEAD')
    with pytest.raises(SystemExit, match=why):
        release.main([version])
    assert release.git('rev-parse', 'HEAD') == head


def test_the_files_of_the_book_can_be_released():
    """The patterns that release.write looks for stand once in each file; else a release stops half way."""
    version = tomllib.loads((notebooks.ROOT / 'pyproject.toml').read_text())['project']['version']
    citation = yaml.safe_load((notebooks.ROOT / 'CITATION.cff').read_text())
    assert citation['version'] == version and isinstance(citation['date-released'], datetime.date)
    assert f'## [{version}] - ' in (notebooks.ROOT / 'CHANGELOG.md').read_text()
