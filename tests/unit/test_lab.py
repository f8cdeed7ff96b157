"""`make lab`: what a learner saves in JupyterLab must reach the .py, and what the .py says must be what opens."""
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from nbutils.maintain import notebooks

SECTION = 'notebooks/linear_algebra/norms'


@pytest.fixture
def lab(tmp_path):
    """A running JupyterLab server over a copy of one section; gives a function (method, path, content) -> answer."""
    for name in ('pyproject.toml', f'{SECTION}.py', f'{SECTION}.ipynb'):  # the .ipynb is newer, as after recording
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((notebooks.ROOT / name).read_bytes())
    os.utime(tmp_path / f'{SECTION}.py', (0, 0))
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, '-m', 'jupyterlab', '--ServerApp.root_dir=.', '--no-browser', '--allow-root', f'--ServerApp.port={port}',
         '--IdentityProvider.token=secret'], cwd=tmp_path, stderr=subprocess.DEVNULL)

    def ask(method, path, content=None):
        request = urllib.request.Request(f'http://127.0.0.1:{port}/{path}', method=method, headers={'Authorization': 'token secret'},
                                         data=json.dumps(content).encode() if content else None)
        return json.load(urllib.request.urlopen(request, timeout=60))

    for _ in range(300):
        with contextlib.suppress(OSError):
            ask('GET', 'api/status')
            break
        time.sleep(0.2)
    yield ask
    server.terminate()
    server.wait()


def test_saving_a_notebook_writes_its_py(lab, tmp_path):
    path = tmp_path / f'{SECTION}.py'
    before = path.read_text('utf-8')
    model = lab('GET', f'api/contents/{SECTION}.ipynb')
    title = model['content']['cells'][0]
    title['source'] = title['source'].replace('# Norms', '# Lengths')
    lab('PUT', f'api/contents/{SECTION}.ipynb', {'type': 'notebook', 'format': 'json', 'content': model['content']})
    assert path.read_text('utf-8') == before.replace('# # Norms', '# # Lengths')


def test_exercises_and_boxes_render():
    listed = subprocess.run([sys.executable, '-m', 'jupyter', 'labextension', 'list'], capture_output=True, text=True)
    assert re.search(r'jupyterlab-myst \S+ .*enabled.* OK', re.sub(r'\x1b\[\d+m', '', listed.stdout + listed.stderr))
