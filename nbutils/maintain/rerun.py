"""A pytest plugin for nbval: with `--affected` only the notebooks that a change can affect; one line for each notebook in
place of a dot for each cell; a note of those that gave their stored outputs again; and a failure for a notebook that
takes much longer than its opening says. It also takes the waiting out of nbval.
"""
import contextlib
import functools
import math
import re
import statistics
import time
from pathlib import Path
from queue import Empty

import numpy as np
import psutil
import pytest

from nbutils.maintain import notebooks, warm

# A notebook fails that takes OVER times the time in its opening. That time is counted as work, in processor seconds of a
# machine on which `calibration` takes CALIBRATION of them, so that neither a slow nor a busy machine makes a difference.
# CALIBRATION: the median of 15 calls (0.048 to 0.049) on the machine where the times were stated.
# A processor that shares its caches with other work is slower by more than the calibration shows (1.6 times where that
# showed 1.2). So where MANY notebooks were executed, their median is taken for the pace of the machine, up to PACE.
OVER, CALIBRATION, MANY, PACE = 1.5, 0.048, 10, 2
IMPORTS = 3.0  # such seconds for the start and the imports of a plain kernel: the stated times are those of warm ones


def pytest_addoption(parser):
    parser.addoption('--affected', action='store_true', help='only notebooks whose inputs changed since they last passed')


def pytest_configure(config):
    if config.option.nbval:
        mend_nbval()
        config.option.loadscopereorder = False  # see pytest_collection_modifyitems
    config.pluginmanager.register(Rerun(config), 'rerun')


# ---- nbval without waiting ----

class KernelDied(Exception):
    pass


def mend_nbval():
    """Have nbval start kernels without a pause, see at once that one has died, and name a notebook that cannot be read."""
    from jupyter_client.blocking import BlockingKernelClient
    from nbval import kernel, plugin

    BlockingKernelClient.wait_for_ready = wait_for_ready
    kernel.RunningKernel.await_reply = functools.partialmethod(await_reply, kernel.RunningKernel.await_reply)
    plugin.IPyNbCell.runtest = functools.partialmethod(runtest, plugin.IPyNbCell.runtest)
    plugin.IPyNbFile.collect = functools.partialmethod(collect, plugin.IPyNbFile.collect)


def wait_for_ready(client, timeout=60):
    """Wait for the first answer of a kernel, without the 0.2 s of silence of jupyter_client: nbval asks again anyway."""
    client.kernel_info()
    for _ in range(math.ceil(timeout)):
        with contextlib.suppress(Empty):
            client.get_shell_msg(timeout=1)
            return
        if not client.is_alive():
            break
    raise RuntimeError('the kernel did not start')


def await_reply(running, patiently, message, timeout=None):
    """As nbval's own, but a kernel that dies is not waited for: that would take the whole time limit of a cell."""
    end = time.monotonic() + (math.inf if timeout is None else timeout)
    while True:
        try:
            return patiently(running, message, timeout=min(1, max(0, end - time.monotonic())))
        except Empty:
            if not running.is_alive():
                raise KernelDied from None
            if time.monotonic() >= end:
                raise


def runtest(cell, run):
    try:
        run(cell)
    except KernelDied:
        cell.parent.timed_out = True  # has nbval expect failures in what follows: one message is enough
        cell.raise_cell_error('the kernel died')


def collect(file, cells):
    try:
        yield from cells(file)
    except Exception as error:
        name, why = notebooks.name(file.path), str(error).partition('\n')[0][:200]
        raise pytest.Collector.CollectError(f'{name}.ipynb cannot be read; make record makes it anew: {why}') from None


# ---- the time of a notebook ----

def calibration():
    """Processor seconds of a fixed piece of work like that of notebooks: Python, text, and NumPy on small arrays."""
    rows = np.random.default_rng(0).normal(size=(150, 200))
    start = time.process_time()
    for row in rows:
        re.findall(r'\d+\.\d+', ' '.join(f'{x:.3f}' for x in row))
        sum(x * x for x in range(2000))
        np.sort(rows[:20], axis=None)
        for part in rows:
            part.sum()
    return time.process_time() - start


def stated(notebook):
    """The seconds in a notebook's opening, or None."""
    text = '\n'.join(cell.source for cell in notebook.cells[:2])
    found = re.search(r'\*\*Time\*\*\D{0,20}(\d+) s\b', text)
    return int(found[1]) if found else None


def spent(kernel):
    """(processor seconds that a kernel of nbval has taken, whether it is a warm one), or None if it is gone."""
    try:
        process = kernel.km.provisioner.process
        return sum(psutil.Process(process.pid).cpu_times()[:4]), isinstance(process, warm.Process)
    except (AttributeError, psutil.Error):
        return None


def slow(works):
    """What to say of each notebook that took OVER times its stated time, at the pace of this machine.

    works: for each name of a notebook its work and the time stated, in seconds.
    """
    ratios = {name: work / seconds for name, (work, seconds) in works.items()}
    pace = min(max(1, statistics.median(ratios.values())), PACE) if len(ratios) >= MANY else 1
    return {name: f'{name} takes {work / pace:.0f} s, and its opening says {said} s: make it shorter or correct the opening'
            for name, (work, said) in works.items() if ratios[name] > OVER * pace}


class Rerun:
    def __init__(self, config):
        self.config, self.cells, self.left, self.failed, self.seconds = config, {}, {}, {}, {}
        self.work_of = {}  # name: (work in seconds, seconds stated)
        self.running = set()
        self.start, self.main = time.perf_counter(), not hasattr(config, 'workerinput')
        self.cold = warm.enable() if self.main and config.option.nbval else None
        known = notebooks.seen() if config.option.affected else {}
        self.reasons = {path.with_suffix('.ipynb'): notebooks.why(path, known) for path in notebooks.sources()}

    def say(self, line):
        self.config.pluginmanager.get_plugin('terminalreporter').write_line(line)

    def pytest_sessionstart(self):
        if self.cold:
            self.say(f'Plain kernels, which take longer: {self.cold}.')
        if self.main and self.config.option.affected:
            affected = {path: why for path, why in self.reasons.items() if why}
            self.say(f'{len(affected)} of {len(self.reasons)} notebooks can be affected (ALL=1 executes all)')
            for path, why in affected.items():
                self.say(f'  {notebooks.name(path)}: {", ".join(why)}')

    def pytest_ignore_collect(self, collection_path):
        if self.config.option.affected and not self.reasons.get(collection_path, True):
            return True

    def pytest_collection_modifyitems(self, items):
        """The longest notebooks first, so that the last ones to end are short, and all workers end together."""
        items.sort(key=lambda item: -(stated(item.parent.nb) or 0) if hasattr(item.parent, 'nb') else 0)

    def expect(self, ids):
        if not self.cells:
            for node in ids:
                self.cells[_notebook(node)] = self.cells.get(_notebook(node), 0) + 1
            self.left = dict(self.cells)

    def pytest_collection_finish(self, session):
        self.expect([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids):
        self.expect(ids)

    @functools.cached_property
    def calibration(self):
        return min(calibration() for _ in range(2))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item, nextitem):
        """After a notebook's last cell, report its time. nbval stops the kernel at `yield`."""
        book, found = item.parent, None
        if hasattr(book, 'nb') and (nextitem is None or nextitem.parent is not book) and (found := spent(book.kernel)):
            item.user_properties.append(('kernel', found[0]))
        yield
        if found and (seconds := stated(book.nb)):
            work = self.work(*found, self.calibration)
            if work > OVER * seconds:  # once more, with the machine as it is now; the slower one counts
                work = self.work(*found, max(self.calibration, calibration(), calibration()))
            item.user_properties.append(('work', [work, seconds]))

    @staticmethod
    def work(took, is_warm, calibrated):
        return took * CALIBRATION / calibrated - IMPORTS * (not is_warm)

    def pytest_report_teststatus(self, report):
        if not report.failed:
            return report.outcome if report.when == 'call' else '', '', ''

    def pytest_runtest_logstart(self, nodeid):
        self.running.add(nodeid)

    def pytest_keyboard_interrupt(self):
        for node in sorted(self.running):
            self.say(f'Interrupted in {_notebook(node)}, {node.split("::")[-1]}.')

    def pytest_runtest_logreport(self, report):
        name = _notebook(report.nodeid)
        if report.when == 'teardown':
            self.running.discard(report.nodeid)
        self.seconds[name] = self.seconds.get(name, 0) + report.duration
        self.failed[name] = self.failed.get(name, 0) + (report.outcome != 'passed')
        self.left[name] -= report.when == 'teardown'
        self.work_of.update((name, value) for key, value in report.user_properties if key == 'work')
        if not self.left[name] and self.main:
            done = sum(not n for n in self.left.values())
            verdict = f'{self.failed[name]} DIFFER' if self.failed[name] else 'as stored'
            self.say(f'[{done}/{len(self.left)}] {name}: {self.cells[name]} cells {verdict} ({self.seconds[name]:.1f} s)')

    def pytest_sessionfinish(self, session, exitstatus):
        if not self.main:
            return
        for name in slow(self.work_of):
            self.failed[name] += 1
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        whole = not self.config.option.keyword  # else some cells were left out
        passed = {n for n, cells in self.left.items() if whole and not cells and not self.failed[n]}
        try:
            notebooks.remember([p for p in notebooks.sources() if notebooks.name(p) in passed])
        except OSError as error:
            self.say(f'What passed could not be noted ({error}): it is executed again the next time.')
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.config.option.affected:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self):
        for line in slow(self.work_of).values():
            self.say(line)
        if self.cells:
            self.say(f'{sum(self.cells.values())} cells of {len(self.cells)} notebooks in '
                     f'{time.perf_counter() - self.start:.0f} s')


def _notebook(node):
    path = Path(node.split('::')[0])
    return f'{path.parent.name}/{path.stem}'
