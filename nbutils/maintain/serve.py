"""Serve the built website on this machine: `python -m nbutils.maintain.serve FOLDER PORT`."""
import argparse
import contextlib
import functools
import http.server
import sys
import tempfile
import webbrowser
from pathlib import Path


class Pages(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, quietly; what is missing gets the book's own page 404.html."""

    def log_message(self, *args):
        pass

    def send_error(self, code, message=None, explain=None):
        page = Path(self.directory) / '404.html'
        if code != 404 or not page.is_file():
            return super().send_error(code, message, explain)
        body = page.read_bytes()
        self.send_response(404)
        self.send_header('Content-Type', 'text/html; charset=utf-8')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(body)


def server(folder, port, handler=Pages):
    """An HTTP server of `folder` on 127.0.0.1; port 0 takes any free one. Raises OSError where the port is in use."""
    # as a class attribute, or a restarted server would wait for the old one's connections to time out
    http.server.ThreadingHTTPServer.allow_reuse_address = True
    return http.server.ThreadingHTTPServer(('127.0.0.1', port), functools.partial(handler, directory=str(folder)))


def from_command_line(argv, target, handler=Pages):
    """The server that the arguments FOLDER PORT ask for; ends with a message where `make {target}` cannot serve."""
    parser = argparse.ArgumentParser(description='Serve the built website on this machine.')
    parser.add_argument('folder', type=Path)
    parser.add_argument('port', type=int, nargs='?', default=8000)
    arguments = parser.parse_args(argv)
    if not (arguments.folder / 'index.html').is_file():
        sys.exit(f'There is no website in {arguments.folder}: make site')
    try:
        return server(arguments.folder, arguments.port, handler)
    except OSError as error:
        sys.exit(f'Port {arguments.port} cannot be had ({error.strerror}): make {target} PORT={arguments.port + 1}')


def run(running, path='', folder=None):
    """Open the website at `path` in a browser and serve it until Ctrl-C.

    With a `folder`, the browser is given a file in it that leads to the address, for this user's eyes alone: what is secret
    in the address then stands in no command line, which everybody on the machine can read. Raises OSError where the file
    cannot be written.
    """
    address = f'http://127.0.0.1:{running.server_port}/{path}'
    print(f'The book is at {address} (Ctrl-C ends it)', flush=True)
    with leading_to(address, folder) if folder else contextlib.nullcontext(address) as opened:
        webbrowser.open(opened)
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            print()
        finally:
            running.server_close()


@contextlib.contextmanager
def leading_to(address, folder):
    """A page in `folder` that leads on to an address, as long as the context lasts; gives its own address, file://..."""
    text = f'<!DOCTYPE html><title>The book</title><meta http-equiv="refresh" content="0; url={address}">'
    with tempfile.NamedTemporaryFile('w', dir=folder, prefix='open-', suffix='.html') as page:  # only its owner can read it
        page.write(text)
        page.flush()
        yield Path(page.name).resolve().as_uri()


if __name__ == '__main__':
    run(from_command_line(None, 'read'))
