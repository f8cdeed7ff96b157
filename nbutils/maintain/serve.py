"""Serve the built website on this machine: `python -m nbutils.maintain.serve FOLDER PORT`."""
import contextlib
import functools
import http.server
import sys
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


def server(folder, port):
    """An HTTP server of `folder` on 127.0.0.1; port 0 takes any free one. Raises OSError where the port is in use."""
    # as a class attribute, or a restarted server would wait for the old one's connections to time out
    http.server.ThreadingHTTPServer.allow_reuse_address = True
    return http.server.ThreadingHTTPServer(('127.0.0.1', port), functools.partial(Pages, directory=str(folder)))


def main(folder, port='8000'):
    """Open the website in a browser and serve it until Ctrl-C; ends with a message where that cannot be done."""
    if not Path(folder, 'index.html').is_file():
        sys.exit(f'There is no website in {folder}: make site')
    try:
        running = server(folder, int(port))
    except OSError as error:
        sys.exit(f'Port {port} cannot be had ({error.strerror}): make read PORT={int(port) + 1}')
    address = f'http://127.0.0.1:{running.server_port}/'
    print(f'The book is at {address} (Ctrl-C ends it)', flush=True)
    webbrowser.open(address)
    with running, contextlib.suppress(KeyboardInterrupt):
        running.serve_forever()


if __name__ == '__main__':
    main(*sys.argv[1:])
