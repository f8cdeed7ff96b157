"""The Makefile, as far as a test can run it without installing anything."""
import os
import subprocess
import sys

import pytest

from nbutils.maintain.notebooks import ROOT


def make(*arguments, folder=ROOT, **environment):
    return subprocess.run(['make', *arguments], cwd=folder, capture_output=True, text=True, timeout=60,
                          env={'PATH': os.environ['PATH']} | environment)


def test_help_lists_every_target():
    said = make('help').stdout
    for target in ('site', 'read', 'live', 'test', 'lab', 'record', 'launch', 'lock', 'clean'):
        assert any(line.startswith(f'{target} ') for line in said.splitlines()), said


@pytest.fixture
def fresh(tmp_path):
    for name in ('Makefile', 'requirements.txt', 'requirements-site.txt', 'constraints.txt', 'pyproject.toml', '_config.yml'):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    return tmp_path


def test_an_old_python_is_named(fresh):
    old = fresh / 'python2'
    old.write_text('#!/bin/sh\necho "Python 3.11 or newer is needed, this is 2.7" >&2; exit 1\n')
    old.chmod(0o755)
    ended = make('site', f'PYTHON={old}', folder=fresh)
    assert ended.returncode and 'Python 3.11 or newer is needed' in ended.stderr and not (fresh / '.venv').exists()


def test_an_install_without_network_says_what_to_do(fresh):
    nowhere = {'PIP_INDEX_URL': 'http://127.0.0.1:9/', 'PIP_RETRIES': '0', 'PIP_NO_CACHE_DIR': '1', 'HOME': str(fresh),
               'PIP_CONFIG_FILE': os.devnull}
    ended = make('site', f'PYTHON={sys.executable}', folder=fresh, **nowhere)
    assert ended.returncode and 'Stopped: check the network and run make again.' in ended.stderr
    assert not (fresh / '.venv' / 'site').exists()  # the next make installs again
