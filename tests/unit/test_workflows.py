"""The workflows of continuous integration: sound, pinned by commit, with no more rights than they need."""
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from nbutils.maintain.notebooks import ROOT

WORKFLOWS = sorted((ROOT / '.github' / 'workflows').glob('*.yml'))


def linter():
    beside = Path(sys.executable).with_name('actionlint')
    return str(beside) if beside.is_file() else shutil.which('actionlint')


def lint(files):
    return subprocess.run([linter(), '-shellcheck=', '-pyflakes=', *map(str, files)], capture_output=True, text=True, cwd=ROOT)


@pytest.mark.skipif(not linter(), reason='there is no actionlint here; it is installed on Linux')
def test_actionlint_finds_nothing():
    assert WORKFLOWS
    found = lint(WORKFLOWS)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.skipif(not linter(), reason='there is no actionlint here; it is installed on Linux')
def test_actionlint_finds_a_fault(tmp_path):
    (tmp_path / 'bad.yml').write_text('on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{run: "${{ github.evnt }}"}]}}\n')
    found = lint([tmp_path / 'bad.yml'])
    assert found.returncode == 1 and '"evnt" is not defined' in found.stdout


@pytest.mark.parametrize('path', WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_rights_are_few(path):
    text = path.read_text()
    uses = re.findall(r'uses: (\S+)(.*)', text)
    assert all(re.fullmatch(r'[\w.-]+/[\w./-]+@[0-9a-f]{40}', name) and re.match(r' +# v\d', rest) for name, rest in uses), uses
    workflow = yaml.safe_load(text)
    assert workflow['permissions'] == {'contents': 'read'}
    writes = {name: {k for k, v in job.get('permissions', {}).items() if v == 'write'} for name, job in workflow['jobs'].items()}
    allowed = {'publish': {'pages', 'id-token'}, 'report': {'issues'}}
    assert all(rights <= allowed.get(name, set()) for name, rights in writes.items()), writes
