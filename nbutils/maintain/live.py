"""Serve the built website with cells that can be edited and run: `python -m nbutils.maintain.live FOLDER PORT`.

The pages are those of the website as it is published; what makes them live (`book/_live`) is added while they are
served. A Jupyter server beside them runs the cells. Its token stands in the address that the browser opens, behind the #,
and in no file and no page: there is nothing that could be published with it.
"""
import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from . import environment, serve

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / 'book' / '_live'
HEAD = b'<link rel="stylesheet" href="/_live/live.css"><script src="/_live/live.js" defer></script></head>'
FIRST = 'book/index.html'


class LivePages(serve.Pages):
    """The pages of the website with the live scripts in their heads; /_live/ is the folder of these."""

    def translate_path(self, path):
        inside = super().translate_path(path)
        parts = Path(inside).relative_to(self.directory).parts
        return str(SCRIPTS.joinpath(*parts[1:])) if parts[:1] == ('_live',) else inside

    def do_GET(self):
        page = Path(self.translate_path(self.path))
        if page.suffix != '.html' or not page.is_file():
            return super().do_GET()
        body = page.read_bytes().replace(b'</head>', HEAD, 1)
        self.send_response(200)
        self.send_header('Content-Type', 'text/html; charset=utf-8')
        self.send_header('Content-Length', str(len(body)))
        self.send_header('Cache-Control', 'no-store')
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def jupyter(origin, token):
    """A Jupyter server for pages of `origin`, as long as the context lasts; gives its port.

    Cells run under the conditions under which the book is recorded. The user's own Jupyter settings are not read.
    Raises RuntimeError with the last lines of its log where it does not start.
    """
    environment.fix()
    port = free_port()
    command = [
        sys.executable, '-m', 'jupyter_server', '--no-browser', '--allow-root', '--ServerApp.ip=127.0.0.1',
        f'--ServerApp.port={port}', '--ServerApp.port_retries=0', f'--ServerApp.root_dir={ROOT}',
        f'--ServerApp.allow_origin={origin}',
        # the kernel of a page that was closed, or left, ends after some minutes
        '--MappingKernelManager.cull_idle_timeout=300', '--MappingKernelManager.cull_interval=60',
    ]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, 'log')
        environ = {
            **os.environ, 'JUPYTER_TOKEN': token, 'JUPYTER_NO_CONFIG': '1', 'JUPYTER_RUNTIME_DIR': folder,
            'IPYTHONDIR': folder,  # figures as a reader's kernel draws them
            'PYTHONPATH': os.pathsep.join(filter(None, (str(ROOT), os.environ.get('PYTHONPATH')))),
        }
        with log.open('wb') as stderr:
            # in a session of its own: Ctrl-C comes to us, and we stop it in order
            server = subprocess.Popen(command, env=environ, stdout=stderr, stderr=stderr, start_new_session=True)
        try:
            wait_for(server, port, log)
            yield port
        finally:
            server.terminate()  # it shuts its kernels down
            try:
                server.wait(15)
            except subprocess.TimeoutExpired:
                server.kill()  # its kernels notice that they are alone
                server.wait()


def free_port():
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        return free.getsockname()[1]


def wait_for(server, port, log, seconds=60):
    """Return when the server answers. Raises RuntimeError where it ends, or does not answer in time."""
    end = time.monotonic() + seconds
    while server.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f'http://127.0.0.1:{port}/api', timeout=5).close()
            return
        time.sleep(0.1)
    last = '\n'.join(log.read_text('utf-8', 'replace').splitlines()[-10:])
    raise RuntimeError(f'the Jupyter server did not start:\n{last}')


def main(argv=None):
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended from outside is ended like by Ctrl-C
    if hasattr(signal, 'SIGHUP'):  # the terminal was closed
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    running = serve.from_command_line(argv, 'live', LivePages)
    token = secrets.token_hex(24)
    try:
        with jupyter(f'http://127.0.0.1:{running.server_port}', token) as port:
            serve.run(running, f'{FIRST}#live={port}:{token}')
    except RuntimeError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:  # while it started
        pass


if __name__ == '__main__':
    main()
