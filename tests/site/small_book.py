"""Small books for the tests of builds: notebooks of a few cells, as they are stored."""
import gc
import importlib
import json
import multiprocessing
import os
import sys
from pathlib import Path

import yaml
from conftest import ROOT
from jupyter_book.cli import main as jupyter_book
from sphinx.application import builtin_extensions

EXTENSIONS = yaml.safe_load((ROOT / '_config.yml').read_text('utf-8'))['sphinx']['config']['extensions']

KERNEL = {'kernelspec': {'display_name': 'Python 3', 'language': 'python', 'name': 'python3'}}
GOOD = '✓ dl.chain.sum holds in 9 cases; would notice: says no (x = 1)\n'
TOC = '''
format: jb-book
root: book/index
parts:
  - caption: Chapters
    numbered: 2
    chapters:
      - file: book/calculus
        sections:
          - file: notebooks/calculus/chain_rule
  - caption: Last
    chapters:
      - file: book/claims
      - file: book/errata
'''


def markdown(source):
    return {'cell_type': 'markdown', 'metadata': {}, 'source': source}


def code(source, *outputs, **metadata):
    return {'cell_type': 'code', 'execution_count': 1, 'metadata': metadata, 'source': source, 'outputs': list(outputs)}


def printed(text):
    """What a cell has printed."""
    return {'output_type': 'stream', 'name': 'stdout', 'text': text}


def figure(width=120):
    """A figure that a cell has drawn."""
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 60" width="{width}pt" height="60pt">'
           f'<path d="M0 0L{width} 60" stroke="#0d68ff" /></svg>')
    return {'output_type': 'display_data', 'metadata': {}, 'data': {'image/svg+xml': svg}}


def write(path, *cells):
    """Write a notebook."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [cell | {'id': f'c{number}'} for number, cell in enumerate(cells)]
    path.write_text(json.dumps({'cells': cells, 'metadata': KERNEL, 'nbformat': 4, 'nbformat_minor': 5}))


def build(root, out=None, **environ):
    """Build a book as strictly as `make site` does, in `out`, or where it lies; gives the exit status and what was said.

    In a fork of this process, which has imported what Sphinx loads: imports are half of a small build.
    """
    late = {'myst_nb.sphinx_ext', 'sphinx_design.extension', 'jupyter_book.sphinx', 'sphinx.search.en', 'jsonschema'}
    for name in {*builtin_extensions, *EXTENSIONS, *late} - {'booksite'}:
        importlib.import_module(name)
    log = (out or root).with_suffix('.log')
    running = multiprocessing.get_context('fork').Process(target=_build, args=(root, out or root, log, environ))
    running.start()
    running.join()
    return running.exitcode, log.read_text('utf-8')


def _build(root, out, log, environ):
    gc.disable()  # as `booksite.caches` does a moment later: what was forked stays shared
    for stream in (1, 2):
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    sys.stdout, sys.stderr = (open(stream, 'w', closefd=False) for stream in (1, 2))  # in place of those of pytest
    os.environ.update({'BOOK_REPO_URL': '', 'BOOK_BRANCH': '', 'NO_COLOR': '1'} | environ)
    sys.path[:] = [place for place in sys.path if not Path(place or '.').resolve().is_relative_to(ROOT) or '.venv' in place]
    for name in [name for name in sys.modules if name.split('.')[0] in ('booksite', 'nbutils')]:
        del sys.modules[name]  # the book brings its own
    jupyter_book.main(['build', str(root), '--path-output', str(out), '-W', '-n', '--keep-going'], standalone_mode=False)
