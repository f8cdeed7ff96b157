"""The Makefile, as far as a test can run it without installing anything."""
import ast
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from nbutils.maintain.notebooks import ROOT


def make(*arguments, folder=ROOT, **environment):
    return subprocess.run(['make', *arguments], cwd=folder, capture_output=True, text=True, timeout=60,
                          env={'PATH': os.environ['PATH']} | environment)


def test_help_lists_every_target():
    said = make('help').stdout
    for target in ('site', 'read', 'live', 'test', 'lab', 'record', 'launch', 'data', 'weights', 'lock', 'wheel', 'links', 'release', 'clean'):
        assert any(line.startswith(f'{target} ') for line in said.splitlines()), said


def copied(folder):
    for name in ('Makefile', 'requirements-site.lock'):
        (folder / name).write_bytes((ROOT / name).read_bytes())
    return folder


@pytest.fixture(scope='module')
def fresh(tmp_path_factory):
    """A folder in which nothing is installed; what the first test makes there, an empty environment, serves the others."""
    return copied(tmp_path_factory.mktemp('fresh'))


def test_an_old_python_is_named(tmp_path):
    old = copied(tmp_path) / 'python2'
    old.write_text('#!/bin/sh\necho "Python 3.11 or newer is needed, this is 2.7" >&2; exit 1\n')
    old.chmod(0o755)
    ended = make('site', f'PYTHON={old}', folder=tmp_path)
    assert ended.returncode and 'Python 3.11 or newer is needed' in ended.stderr and not (tmp_path / '.venv').exists()


def test_an_install_without_network_says_what_to_do(fresh):
    nowhere = {'PIP_INDEX_URL': 'http://127.0.0.1:9/', 'PIP_RETRIES': '0', 'PIP_NO_CACHE_DIR': '1', 'HOME': str(fresh),
               'PIP_CONFIG_FILE': os.devnull}
    ended = make('site', f'PYTHON={sys.executable}', folder=fresh, **nowhere)
    assert ended.returncode and 'Stopped: check the network and run make again.' in ended.stderr
    assert not (fresh / '.venv' / 'site').exists()  # the next make installs again


def plain(name):
    return re.sub('[-_.]+', '-', name).lower()


def pins(name):
    """{package: version} of a file of requirements or a lock; where systems differ, the last line counts."""
    text = (ROOT / name).read_text('utf-8')
    return {plain(package): version for package, version in re.findall(r'^([\w.-]+)==([^\s;]+)', text, re.M)}


@pytest.mark.parametrize('name', ['requirements.lock', 'requirements-site.lock'])
def test_a_lock_has_what_is_asked_for_and_hashes_of_all(name):
    asked = pins('requirements-site.txt') | (pins('requirements.txt') if name == 'requirements.lock' else {})
    asked.pop('torch', None)
    locked = pins(name)
    assert asked.items() <= locked.items(), f'make lock: {asked.items() - locked.items()}'
    packages = re.split(r'^(?=\S)', (ROOT / name).read_text('utf-8'), flags=re.M)[1:]
    assert not [p for p in packages if not p.startswith('#') and '--hash=sha256:' not in p]
    assert not {'torch', 'triton'} & locked.keys() and not [p for p in locked if p.startswith(('nvidia', 'cuda'))]
    assert locked.items() <= pins('constraints.txt').items(), 'make lock'


def test_a_package_that_was_tampered_with_is_not_installed(fresh):
    """The control of the hashes: one digit of each is another one."""
    lock = fresh / 'requirements-site.lock'
    idna = re.search(r'^idna==.*?(?=^\S)', lock.read_text(), re.M | re.S)[0]
    folder = fresh / 'wheels'
    folder.mkdir()
    version = pins('requirements-site.lock')['idna']
    (folder / f'idna-{version}-py3-none-any.whl').write_bytes(b'something else')
    lock.write_text(idna)
    offline = {'PIP_NO_INDEX': '1', 'PIP_FIND_LINKS': str(folder), 'PIP_CONFIG_FILE': os.devnull, 'HOME': str(fresh)}
    ended = make('site', f'PYTHON={sys.executable}', folder=fresh, **offline)
    assert ended.returncode and 'THESE PACKAGES DO NOT MATCH THE HASHES' in ended.stderr
    assert not (fresh / '.venv' / 'site').exists()


def test_the_wheel_declares_what_it_imports():
    """All that modules outside `maintain` import, at their top or in a function, but torch."""
    names = set()
    for path in (ROOT / 'nbutils').rglob('*.py'):
        if 'maintain' not in path.parts:
            for node in ast.walk(ast.parse(path.read_text('utf-8'))):
                names |= {a.name for a in node.names} if isinstance(node, ast.Import) else set()
                names |= {node.module} if isinstance(node, ast.ImportFrom) and not node.level else set()
    outside = {name.partition('.')[0] for name in names} - sys.stdlib_module_names - {'nbutils', 'torch'}
    packages = importlib.metadata.packages_distributions()
    needed = {plain(packages[name][0]) for name in outside}
    declared = tomllib.loads((ROOT / 'pyproject.toml').read_text('utf-8'))['project']['dependencies']
    for_notebooks = {'scipy', 'sympy'}  # which nbutils need not import
    assert {'hypothesis', 'threadpoolctl'} <= needed <= {plain(re.match(r'[\w.-]+', d)[0]) for d in declared} <= needed | for_notebooks
    assert all(re.fullmatch(r'[\w-]+>=[\d.]+,<\d+', d) for d in declared), 'tests/wheel/install.py reads the lowest versions from them'


def test_binder_installs_from_the_lock_without_test_tools():
    lines = (ROOT / 'binder' / 'requirements.txt').read_text('utf-8').splitlines()
    names = {line for line in lines if re.fullmatch(r'[\w-]+', line)}
    text = (ROOT / 'requirements.txt').read_text('utf-8')
    known = {plain(name) for name in re.findall(r'^([\w-]+)==', text.partition('# testing')[0], re.M)}
    assert 'torch' in names and names <= known & pins('constraints.txt').keys() and '.' in lines and '-c ../constraints.txt' in lines
    python = (ROOT / 'binder' / 'runtime.txt').read_text().strip().removeprefix('python-')
    assert f'python-version: "{python}"' in (ROOT / '.github' / 'workflows' / 'ci.yml').read_text()


# sudo hands none of the caller's environment on, and a package that asks a question would wait for ever
def test_a_fresh_machine_is_asked_nothing(tmp_path):
    for name in ('bash', 'sh', 'dirname', 'env', 'cat'):
        (tmp_path / name).symlink_to(shutil.which(name))
    (tmp_path / 'python3').symlink_to(sys.executable)
    for name, does in {'id': 'echo 1000', 'make': ':', 'sudo': 'env -i "PATH=$PATH" "$@"',
                       'apt-get': f'echo "$DEBIAN_FRONTEND $*" >> {tmp_path}/asked'}.items():
        (tmp_path / name).write_text(f'#!/bin/sh\n{does}\n')
        (tmp_path / name).chmod(0o755)
    subprocess.run([ROOT / '.ci' / 'run'], env={'PATH': str(tmp_path)}, check=True)
    installs = [line for line in (tmp_path / 'asked').read_text().splitlines() if ' install ' in line]
    assert len(installs) == 2 and 'chromium' in installs[0] and 'texlive' in installs[1]
    assert all(line.startswith('noninteractive ') for line in installs), installs
