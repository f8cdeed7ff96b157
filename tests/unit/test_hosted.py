"""A notebook opened on a hosted service: its launch cell must bring nbutils, leave torch alone, and the rest must run."""
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from nbutils.maintain import notebooks, rules

SECTION = notebooks.NOTEBOOKS / 'linear_algebra' / 'qr_decomposition.py'  # one that takes little, and no torch
RUN = '''
import json, sys
for cell in json.load(open(sys.argv[1]))['cells']:
    if cell['cell_type'] == 'code':
        exec(compile(''.join(cell['source']).replace(sys.argv[2], sys.argv[3]), 'cell', 'exec'))
import nbutils, torch
from nbutils.printed.displays import display
print(display('dl.norms.lp'), nbutils.__file__, torch.__version__, sep=chr(10))
'''


def ask(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode and 'No matching distribution' in done.stderr and not os.environ.get('CI'):
        pytest.skip('a fresh environment needs a network')
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(600)
def test_a_notebook_runs_from_the_wheel_outside_the_repository(tmp_path):
    ask(sys.executable, '-m', 'pip', 'wheel', '-q', '--no-deps', '--no-build-isolation', '-w', tmp_path, notebooks.ROOT)
    wheel, = tmp_path.glob('nbutils-*.whl')
    ask(sys.executable, '-m', 'venv', '--without-pip', tmp_path / 'fresh')  # the service has one
    python = tmp_path / 'fresh' / 'bin' / 'python'
    packages = Path(ask(python, '-c', 'import sysconfig; print(sysconfig.get_path("purelib"))').strip())
    there = packages / 'torch'  # stands for the service's own torch
    there.mkdir()
    (there / '__init__.py').write_text('__version__ = "9.9"\nclass Tensor: pass\n')
    (packages / 'torch-9.9.dist-info').mkdir()
    (packages / 'torch-9.9.dist-info' / 'METADATA').write_text('Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n')

    service = tmp_path / 'service'  # all else that the service has, so that nothing is fetched
    service.mkdir()
    for found in Path(sysconfig.get_path('purelib')).iterdir():
        if not found.name.lower().startswith(('nbutils', '_nbutils', '_editable', '__editable__', 'torch')):
            (service / found.name).symlink_to(found)
    (packages / 'service.pth').write_text(str(service))

    empty = tmp_path / 'empty'
    empty.mkdir()
    address, version = rules.repository()
    environment = {k: v for k, v in os.environ.items() if not k.startswith('PYTHON')} | {'MPLBACKEND': 'agg'}
    said = ask(python, '-W', 'ignore', '-c', RUN, SECTION.with_suffix('.ipynb'),
               f'{address}/archive/refs/tags/v{version}.zip', wheel.as_uri(), cwd=empty, env=environment)
    *checks, origin, torch = said.splitlines()
    assert Path(origin).is_relative_to(packages) and torch == '9.9'
    assert any(line.startswith('✓ la.qr.thin holds') for line in checks)
    assert [p.name for p in empty.iterdir() if p.name != '.hypothesis'] == []
