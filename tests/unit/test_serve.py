import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest

from nbutils.maintain import serve


@pytest.fixture
def site(tmp_path):
    (tmp_path / 'index.html').write_text('home')
    (tmp_path / '404.html').write_text('not here')
    return tmp_path


def test_pages_and_the_404_page(site):
    running = serve.server(site, 0)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    address = f'http://127.0.0.1:{running.server_port}/'
    assert urllib.request.urlopen(address).read() == b'home'
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(address + 'deep/nowhere.html')
    assert error.value.code == 404 and error.value.read() == b'not here'
    running.shutdown()
    running.server_close()


def run(*arguments):
    return subprocess.run([sys.executable, '-m', 'nbutils.maintain.serve', *map(str, arguments)],
                          capture_output=True, text=True, timeout=60)


def test_a_port_in_use_is_named(site):
    with serve.server(site, 0) as running:
        ended = run(site, running.server_port)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f'Port {running.server_port} cannot be had')
    assert f'make read PORT={running.server_port + 1}' in ended.stderr


def test_a_missing_site_is_named(tmp_path):
    assert run(tmp_path).stderr == f'There is no website in {tmp_path}: make site\n'
