"""Serve the built website with cells that can be edited and run: `python -m nbutils.maintain.live FOLDER PORT`.

It is a Jupyter server that also shows the pages of the website, to those who know its token. The pages are those that are
published; what makes them live (`book/_live`), and the token, are put into their heads as they are served, so there is
nothing that could be published with them. Jupyter leads the browser to the first page by a file that no other user can read.
"""
import os
import signal
import sys
from html import escape
from pathlib import Path

from jupyter_server.base.handlers import AuthenticatedFileHandler, JupyterHandler
from jupyter_server.serverapp import ServerApp
from traitlets import Unicode

from . import environment

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / 'book' / '_live'
SITE = '/site/'  # where the website begins on this server
HEAD = (f'<link rel="stylesheet" href="{SITE}_live/live.css">'
        f'<script src="{SITE}_live/live.js" data-token="{{}}" defer></script></head>')


class LivePages(AuthenticatedFileHandler):
    """Files of the website; heads of pages end with `head_end`."""
    head_end = b'</head>'
    content_security_policy = JupyterHandler.content_security_policy  # scripts of these pages may ask the server

    @classmethod
    def get_content(cls, abspath, start=None, end=None):
        content = Path(abspath).read_bytes()
        if abspath.endswith('.html'):
            content = content.replace(b'</head>', cls.head_end, 1)
        return content[start:end]

    def get_content_size(self):
        return len(self.get_content(self.absolute_path))

    def check_xsrf_cookie(self):
        """Nothing is changed by reading; what is read, other sites do not see."""

    def should_return_304(self):
        return False  # a page that the browser has kept holds the token of another server


class Live(ServerApp):
    """A Jupyter server whose first page is that of the book in the folder `site`."""
    site = Unicode(config=True)
    default_url = SITE + 'book/index.html'

    def init_webapp(self):
        super().init_webapp()
        LivePages.head_end = HEAD.format(escape(self.identity_provider.token)).encode()
        self.web_app.add_handlers('.*', [
            (f'{SITE}_live/(.*)', LivePages, {'path': str(SCRIPTS)}), (f'{SITE}(.*)', LivePages, {'path': self.site})])

    def init_signal(self):
        """However it is ended, the kernels are shut down."""
        for name in ('SIGINT', 'SIGTERM', 'SIGHUP'):  # Ctrl-C, from outside, the terminal was closed
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda *_: self.stop(from_signal=True))


def main(folder, port='8000'):
    """Serve until Ctrl-C. Cells run under the conditions under which the book is recorded, without the user's settings."""
    environment.fix()
    private = ROOT / '_build' / 'live'  # not /tmp: a browser from a snap has another one
    os.environ |= {
        'JUPYTER_NO_CONFIG': '1', 'JUPYTER_RUNTIME_DIR': str(private),
        'IPYTHONDIR': str(private / 'ipython'),  # figures as a reader's kernel draws them
        'PYTHONPATH': os.pathsep.join(filter(None, (str(ROOT), os.environ.get('PYTHONPATH')))),
    }
    Live.launch_instance([
        f'--Live.site={Path(folder).resolve()}', f'--ServerApp.root_dir={ROOT}', '--ServerApp.ip=127.0.0.1',
        f'--ServerApp.port={port}', '--ServerApp.port_retries=0', '--ServerApp.open_browser=True', '--allow-root',
        '--log-level=CRITICAL',  # of what it logs only the address
        # the kernel of a page that was closed, or left, ends after some minutes
        '--MappingKernelManager.cull_idle_timeout=300', '--MappingKernelManager.cull_interval=60',
    ])


if __name__ == '__main__':
    main(*sys.argv[1:])
