"""Fixtures of the site checks: the built site, its pages parsed, a server for it, and one browser without network."""
import fcntl
import functools
import gc
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from nbutils.maintain import serve

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
sys.path.insert(0, str(ROOT / 'book' / '_ext'))

NO_BROWSER = """the site checks need Chromium or Chrome, and none was found. Install one:
    Debian, Ubuntu:  sudo apt-get install chromium   (or chromium-browser)
    macOS:           brew install --cask chromium
    anywhere:        .venv/bin/playwright install --with-deps chromium
or set CHROMIUM to the path of one."""
NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome')
APPLICATIONS = (
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
)
FLAGS = [
    '--no-sandbox', '--process-per-site', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking',
    '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',  # the network is cut
]

# Selectors of what a reader uses on the page of a section: see `lightest`
TO_EQUATION, MARK = 'article p a.reference.internal[href^="#equation-"]:not(.check-back)', 'div.math a.check-badge'
KINDS = TO_EQUATION, MARK, 'pre.columns', 'div.admonition.dropdown:not(.solution)', 'div.solution', 'figure svg.figure'


def pytest_itemcollected(item):
    """Under `--dist loadgroup` a worker takes all visits of one page, all that reads parsed pages, or all else of a file."""
    group = 'parsed' if 'parsed' in item.fixturenames else item.path.name
    if 'visit' in item.fixturenames:
        group = item.callspec.params['name']
    item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope='session')
def site(testrun_uid):
    """The folder of the site, built from the tree as it is: by `make site-tests`, or one worker of pytest-xdist, while others wait."""
    if os.environ.get('SITE_IS_BUILT'):
        return ROOT / '_build' / 'html'
    (ROOT / '_build').mkdir(exist_ok=True)
    with open(ROOT / '_build' / '.lock', 'a+') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        if lock.read() != testrun_uid:
            command = [Path(sys.executable).with_name('jupyter-book'), 'build', ROOT, '-W', '-n', '--keep-going']
            built = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if built.returncode:
                pytest.fail(f'the site does not build:\n{built.stdout[-6000:]}', pytrace=False)
            lock.truncate(0)
            lock.write(testrun_uid)
    return ROOT / '_build' / 'html'


def parse(path):
    """A page, parsed; without drawings, formulas and the colours of code, which are most of it."""
    text = path.read_text('utf-8')
    text = re.sub(r'(<svg class="(?:figure|glyphs)"[^>]*>|<mjx-container\b[^>]*>).*?(</svg>|</mjx-container>)', r'\1\2', text, flags=re.S)
    text = re.sub(r'<pre>.*?</pre>', lambda code: re.sub(r'</?span[^>]*>', '', code[0]), text, flags=re.S)
    soup = BeautifulSoup(text, 'html.parser')
    gc.freeze()  # it stays: the garbage collector need not look at its elements again
    return soup


@pytest.fixture(scope='session')
def parsed(site):
    """A function from the name of a page, 'book/claims', to the page as `parse` gives it, each read once."""
    return functools.cache(lambda name: parse(site / f'{name}.html'))


@pytest.fixture(scope='session')
def lightest(site):
    """A function that gives the section whose page opens quickest of those in which each selector finds something unfolded."""
    paths = sorted(site.glob('notebooks/*/*.html'), key=lambda path: path.stat().st_size)
    pages = {f'{path.parent.name}/{path.stem}': functools.cache(functools.partial(parse, path)) for path in paths}

    def has(page, selector):
        return any(not found.find_parent(class_='dropdown') and not found.find_parent('details') for found in page.select(selector))

    return functools.cache(lambda *selectors: next(name for name, page in pages.items() if all(has(page(), each) for each in selectors)))


@pytest.fixture(scope='session')
def address(site):
    """Where the site is served, with a slash at the end."""
    server = serve.server(site, 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f'http://127.0.0.1:{server.server_port}/'
    server.shutdown()


def find_browser(playwright=None):
    """The path of a Chromium: CHROMIUM, one on the path, an application of macOS, Playwright's own; None without."""
    if named := os.environ.get('CHROMIUM'):
        return named
    found = (shutil.which(name) for name in NAMES)
    own = [playwright.chromium.executable_path] if playwright else []
    return next((path for path in (*found, *APPLICATIONS, *own) if path and Path(path).exists()), None)


@pytest.fixture(scope='session')
def browser():
    """One browser for all checks. Without one the checks are skipped; in CI they fail."""
    sync_api = pytest.importorskip('playwright.sync_api', reason='pip install playwright')
    with sync_api.sync_playwright() as playwright:
        path = find_browser(playwright)
        if path is None:
            (pytest.fail if os.environ.get('CI') else pytest.skip)(NO_BROWSER)
        launched = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope='session')
def desktop(browser):
    return kept(browser.new_context(viewport={'width': 1280, 'height': 900}, color_scheme='light'))


@pytest.fixture(scope='session')
def pocket(browser):
    return kept(browser.new_context(viewport={'width': 390, 'height': 844}, color_scheme='dark', has_touch=True, device_scale_factor=2))


def kept(context):
    """A context with a page that stays open: a window and a process for every other page would cost as much as the page."""
    context.new_page()
    return context


@pytest.fixture
def page(desktop):
    """A page of a desktop browser in which nothing was done before."""
    yield from fresh(desktop)


@pytest.fixture
def phone(pocket):
    """A page of a phone in the dark, in which nothing was done before."""
    yield from fresh(pocket)


def fresh(context):
    """A page of a context that is used again: scripts and fonts need not be read anew. What a page stores is forgotten."""
    page = context.new_page()
    yield page
    page.wait_for_load_state()  # Chromium may never close a page on its way to another
    context.new_cdp_session(page).send('Storage.clearDataForOrigin', {'origin': '*', 'storageTypes': 'local_storage'})
    page.close()


def without_scripts(page):
    page.context.new_cdp_session(page).send('Emulation.setScriptExecutionDisabled', {'value': True})
    return page


def settle(page):
    """Wait until a page and its fonts are there, and what it sets itself."""
    page.wait_for_load_state('load')
    page.evaluate('window.MathJax?.startup?.promise?.then(() => true)')
    page.evaluate('document.fonts.ready.then(() => true)')
