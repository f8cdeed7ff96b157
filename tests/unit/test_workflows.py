"""The workflows of continuous integration: sound, pinned by commit, with no more rights than they need."""
import json
import os
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


def script(workflow, job):
    """The last shell script of a job."""
    steps = yaml.safe_load((ROOT / '.github' / 'workflows' / workflow).read_text())['jobs'][job]['steps']
    return [step['run'] for step in steps if 'run' in step][-1]


def bash(text, **environment):
    done = subprocess.run(['bash', '-e', '-o', 'pipefail', '-c', text], cwd=ROOT, capture_output=True, text=True, env=os.environ | environment)
    assert done.returncode == 0, done.stdout + done.stderr


needs_jq = pytest.mark.skipif(not shutil.which('jq'), reason='there is no jq here; the machines of the workflows have it')


@needs_jq
def test_every_chapter_has_its_job(tmp_path):
    bash(script('ci.yml', 'chapters'), GITHUB_OUTPUT=str(tmp_path / 'output'))
    name, _, value = (tmp_path / 'output').read_text().strip().partition('=')
    assert name == 'names' and json.loads(value) == sorted({path.parent.name for path in ROOT.glob('notebooks/*/*.py')})


@needs_jq
@pytest.mark.parametrize('titles, done', [
    ([], 'issue create --title The weekly run fails'),
    (['Something else', 'The weekly run fails: why?'], 'issue create --title The weekly run fails'),
    (['Something else', 'The weekly run fails', 'The weekly run fails'], 'issue comment 2'),
])
def test_a_second_failure_comments_on_the_issue_of_the_first(tmp_path, titles, done):
    gh = tmp_path / 'gh'
    gh.write_text('#!/bin/sh\n[ "$2" = list ] && exec cat issues.json\nprintf "%s " "$@" >> said\n'.replace('issues.json', f'{tmp_path}/issues.json')
                  .replace('said', f'{tmp_path}/said'))
    gh.chmod(0o755)
    (tmp_path / 'issues.json').write_text(json.dumps([{'number': i, 'title': title} for i, title in enumerate(titles, 1)]))
    needs = {'newest': {'result': 'failure'}, 'links': {'result': 'success'}, 'macos': {'result': 'failure'}}
    bash(script('weekly.yml', 'report'), PATH=f'{tmp_path}:{os.environ["PATH"]}', TITLE='The weekly run fails', NEEDS=json.dumps(needs),
         REPOSITORY='me/book', RUN='the-address')
    said = (tmp_path / 'said').read_text().replace('--repo me/book ', '')
    assert said == f'{done} --body Failed: newest, macos. the-address '
