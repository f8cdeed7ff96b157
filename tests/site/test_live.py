"""`make live`: a reader edits and runs the cells of a page; nothing of it is in the pages that are published."""
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

import psutil
import pytest
from conftest import ROOT, fresh, settle
from test_pages import AXE, PRUNE

PAGE = 'notebooks/convolution/weight_sharing.html'  # of few cells: imports torch in a folded one, draws in the fourth
SERIOUS = """async part => (await axe.run(part, {resultTypes: ['violations']})).violations
  .filter(v => ['serious', 'critical'].includes(v.impact)).map(v => `${v.id}: ${v.nodes[0].html.slice(0, 200)}`)"""


def test_published_pages_know_nothing_of_it(site):
    """Neither thebe, nor our script, nor an address of a server, which would stand beside its token."""
    assert not [path for path in site.rglob('*') if re.search('thebe|live', path.name)]
    telling = re.compile(r'\bthebe\b|_live/|(?:127\.0\.0\.1|localhost)[:/]|[?&]token=')
    assert not [path for path in site.rglob('*.html') if telling.search(path.read_text('utf-8'))]


class Live:
    """`make live` as it runs: its address, its process, and those that it started."""

    def __init__(self, site, browser='true'):
        command = [sys.executable, '-m', 'nbutils.maintain.live', str(site), '0']
        environ = {**os.environ, 'BROWSER': browser, 'PYTHONPATH': str(ROOT)}  # true: one that does nothing
        for _ in range(3):  # between the choice of a free port and its use, a connection of the browser can take it
            self.process = subprocess.Popen(command, cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True,
                                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # ignored in the background
            said = next(line for line in self.process.stderr if '?token=' in line)
            self.site, self.token = re.search(r'(http://127\.0\.0\.1:\d+/site/)book/index\.html\?token=(\w+)', said).groups()
            if self.listens():
                return
        raise ConnectionError(f'no server at {self.site}: it ended with {self.process.returncode}')

    def listens(self):
        """Whether it takes connections, which it does a moment after it has named its address; False once it has ended."""
        address = urllib.parse.urlsplit(self.site)
        while self.process.poll() is None:
            try:
                socket.create_connection((address.hostname, address.port), timeout=5).close()
                return True
            except ConnectionRefusedError:
                time.sleep(0.05)
        return False

    def stop(self):
        """Ctrl-C; gives the exit status and the processes that are left."""
        started = psutil.Process(self.process.pid).children(recursive=True)
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(30)
        return started, status, psutil.wait_procs(started, 5)[1]


@pytest.fixture(scope='module')
def live(site):
    running = Live(site)
    yield running
    if running.process.poll() is None:
        running.stop()


@pytest.fixture(scope='module')
def reader(desktop, live):
    """The page of a reader, with methods for what readers do: one for all tests, for Python and the editors take long to start."""
    for page in fresh(desktop):
        yield Reader(page, live)


class Reader:
    """`problems` must stay empty."""

    def __init__(self, page, live):
        self.page, self.problems = page, []
        local = (live.site.removesuffix('site/'), 'data:')
        page.on('request', lambda request: request.url.startswith(local) or self.problems.append(request.url))
        page.on('pageerror', lambda error: self.problems.append(str(error)))
        page.goto(f'{live.site}{PAGE}?token={live.token}')
        settle(page)

    def press(self):
        """Start Python, where it does not run yet."""
        if not self.page.locator('.CodeMirror').count():
            self.page.click('text=Edit and run this page')
        self.wait('ready')

    def wait(self, state):
        self.page.wait_for_selector(f'.live-bar[data-state={state}]', timeout=60_000)

    def cell(self, number=None, code=None):
        """A cell by its number from 0, or the first with this text in its code."""
        if code:
            number = self.page.eval_on_selector_all(
                'div.cell', '(cells, code) => cells.findIndex(c => c.textContent.includes(code))', code)  # folded ones, too
        return self.page.locator('div.cell').nth(number)

    def write(self, cell, code):
        """Replace the code of a cell, by the keyboard."""
        cell.locator('.CodeMirror').click()
        self.page.keyboard.press('ControlOrMeta+a')
        self.page.keyboard.press('Delete')
        self.page.keyboard.insert_text(code)

    def run(self, cell, state='ran'):
        cell.locator('.live-row >> text="Run"').click()
        self.finished(cell, state)

    def finished(self, cell, state='ran'):
        cell.locator(f'xpath=self::*[@data-live="{state}"]').wait_for(timeout=60_000)
        return cell.locator('.live-output').inner_text()


CHECK = 'a.check-badge[href="#check-ml.conv.training.sum"]'


def test_a_cell_is_edited_and_run_with_what_it_needs(reader):
    """Cells above run first, the hidden launch cell among them; text, torch, figure and formula replace what was recorded."""
    page, third, drawing = reader.page, reader.cell(2), reader.cell(3)
    assert 'token' not in page.url and page.locator('.CodeMirror').count() == 0
    page.click(CHECK)
    assert 'Edit and run this page' in page.inner_text('.check-card .live-own'), 'the card says what to do before its numbers can be tried'
    page.keyboard.press('Escape')
    recorded = drawing.locator(':is(img, svg.figure)')
    alt, width = recorded.get_attribute('alt') or recorded.get_attribute('aria-label'), recorded.bounding_box()['width']
    caption = drawing.locator('figcaption').inner_text()
    reader.press()
    assert page.locator('.CodeMirror').count() == page.locator('div.cell').count()
    editor = third.locator('.CodeMirror')
    room = editor.bounding_box()['height'] - editor.locator('.CodeMirror-code').bounding_box()['height']
    assert 0 <= room < 40, 'as high as its content'
    editor.click()
    page.keyboard.press('Escape')
    assert page.evaluate('document.activeElement.ariaLabel') == 'Run cell 3'
    reader.write(third, 'import os, nbutils, IPython.display\nprint(os.path.basename(os.getcwd()), torch.arange(4).sum())\n'
                        "IPython.display.Latex(r'$\\frac{x}{2}$')")
    page.keyboard.press('Shift+Enter')
    assert reader.finished(third).startswith('convolution tensor(6)')
    assert third.locator('.live-output mjx-container mjx-mfrac').count() == 1
    reader.run(drawing)
    [figure] = drawing.locator('img').all()
    assert figure.get_attribute('src').startswith('data:image/') and figure.get_attribute('alt') == alt
    assert figure.bounding_box()['width'] == pytest.approx(width, abs=2), 'drawn as on the page'
    assert drawing.locator('.live-caption').inner_text() == caption
    assert not reader.problems


def test_the_card_of_a_check_tries_a_readers_own_numbers(reader):
    """It runs the check, offers a case, and takes others."""
    page = reader.page
    reader.press()
    page.click(CHECK)
    page.click('text=Try your own numbers')
    box = page.locator('.live-own textarea')
    box.wait_for(timeout=60_000)
    assert re.search(r'^\w+ = ', box.input_value(), re.M)
    answer = page.locator('.live-answer')
    page.wait_for_function("document.querySelector('.live-answer').textContent.includes('for these numbers')", timeout=60_000)
    box.fill('unheard_of = 3')
    page.click('.live-own >> text="Try"')
    page.wait_for_function("document.querySelector('.live-answer').textContent.includes('unheard_of')")
    assert answer.inner_text().startswith('NameError') and not reader.problems
    page.evaluate(AXE)
    assert not page.evaluate(SERIOUS, '.check-card')
    page.keyboard.press('Escape')


def test_an_exercise_is_done_and_kept(reader):
    """The grader answers, and what was written is there when the page is opened again; till then nothing of it is a barrier."""
    reader.press()
    stub, grader = reader.cell(code='def edge_derivatives(w, c, x, T)'), reader.cell(code='def by_unsharing')
    reader.run(grader)
    assert 'not attempted yet' in grader.locator('.live-output').inner_text()
    reader.write(stub, 'def edge_derivatives(w, c, x, T):\n    state = [x]\n    while len(state) < T:\n        state += [w * state[-1] + c]\n'
                       '    return [w ** (T - t) * h for t, h in enumerate(state, 1)]')
    reader.run(grader)  # the stub was changed, so it runs again, too
    assert re.search(r'correct on \d+ cases', grader.locator('.live-output').inner_text())
    reader.page.evaluate(AXE)
    reader.page.evaluate(PRUNE)
    assert not reader.page.evaluate(SERIOUS, '.bd-article-container')
    reader.page.reload()
    assert reader.page.locator('.CodeMirror').count() == 0
    reader.press()
    stub = reader.cell(code='def edge_derivatives(w, c, x, T)')
    assert 'enumerate(state, 1)' in stub.locator('.CodeMirror').inner_text()
    stub.locator('text=Undo changes').click()
    assert 'your turn' in stub.locator('.CodeMirror').inner_text()


def test_errors_interrupting_and_restarting(reader):
    page = reader.page
    reader.press()
    reader.write(reader.cell(1), 'before = 1\n')
    page.keyboard.type('1 / 0')  # a slash must not be taken as a shortcut for the search
    reader.run(reader.cell(1), 'failed')
    assert page.inner_text('.live-status') == 'Stopped at cell 2: ZeroDivisionError.'
    reader.write(reader.cell(1), 'import time\nprint("asleep")\ntime.sleep(100)')
    reader.cell(1).locator('.live-row >> text="Run"').click()
    reader.cell(1).locator('.live-output', has_text='asleep').wait_for(timeout=60_000)  # nothing else can be interrupted
    reader.cell(2).locator('.live-row >> text="Run"').click()
    page.click('text=Interrupt')
    reader.finished(reader.cell(1), 'failed')
    assert 'KeyboardInterrupt' in page.inner_text('.live-status') and not reader.cell(2).get_attribute('data-live')
    page.click('text=Restart')
    reader.wait('starting')
    reader.wait('ready')
    reader.write(reader.cell(1), "print('before' in globals())")
    page.keyboard.press('Shift+Enter')
    assert reader.finished(reader.cell(1)).strip() == 'False'


def test_the_token_is_in_no_command_line(tmp_path, site, page):
    """Every user of the machine can read those. The browser gets a file in a folder of its owner's, and only meanwhile."""
    browser, told = tmp_path / 'browser', tmp_path / 'told'
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {told}\nsleep 60\n')
    browser.chmod(0o755)
    live = Live(site, str(browser) + ' %s &')
    try:
        for _ in range(200):
            if not (told.is_file() and told.read_text()):
                page.wait_for_timeout(50)
        process = psutil.Process(live.process.pid)
        lines = [' '.join(p.cmdline()) for p in (process, *process.children(recursive=True))]
        assert len(lines) > 1 and not [line for line in lines if live.token in line]
        opened = told.read_text()
        file = Path(opened.removeprefix('file://'))
        assert opened.startswith('file:///') and live.token not in opened and file.parent.stat().st_mode & 0o077 == 0
        page.goto(opened)
        page.wait_for_url('**/book/index.html')
        assert 'Live' in page.inner_text('.live-status')
    finally:
        live.stop()
    assert not file.exists()


def test_without_the_token_there_is_nothing_to_see(live):
    with urllib.request.urlopen(live.site + PAGE) as answer:
        assert '/login?' in answer.url and live.token not in answer.read().decode()


def test_without_its_server_a_page_says_what_to_do_and_stays_readable(reader, live):
    """Ctrl-C stops everything, and the open page says so, whatever is pressed. The last test: others need the server."""
    page = reader.page
    reader.press()
    reader.write(reader.cell(1), 'import time\ntime.sleep(100)')
    page.keyboard.press('Shift+Enter')
    reader.wait('busy')
    started, status, left = live.stop()
    assert started and status == 0 and not left
    reader.wait('stopped')
    assert 'make live' in page.inner_text('.live-status')
    assert page.locator('.cell_output :is(img, svg.figure)').first.is_visible() and page.locator('.bd-article h1').is_visible()
    page.click('text=Connect')
    reader.wait('stopped')
    reader.cell(1).locator('.live-row >> text="Run"').click()
    page.wait_for_timeout(100)
    assert 'make live' in page.inner_text('.live-status') and not reader.cell(1).get_attribute('data-live')
