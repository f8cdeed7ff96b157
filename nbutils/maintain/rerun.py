"""A pytest plugin for nbval: with `--affected` only the notebooks that a change can affect; one line for each notebook in
place of a dot for each cell; and a note of those that gave their stored outputs again.
"""
import time
from pathlib import Path

import pytest

from nbutils.maintain import notebooks, warm


def pytest_addoption(parser):
    parser.addoption('--affected', action='store_true', help='only notebooks whose inputs changed since they last passed')


def pytest_configure(config):
    config.pluginmanager.register(Rerun(config), 'rerun')


class Rerun:
    def __init__(self, config):
        self.config, self.cells, self.left, self.failed, self.seconds = config, {}, {}, {}, {}
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

    def pytest_report_teststatus(self, report):
        if not report.failed:
            return report.outcome if report.when == 'call' else '', '', ''

    def pytest_runtest_logreport(self, report):
        name = _notebook(report.nodeid)
        self.seconds[name] = self.seconds.get(name, 0) + report.duration
        self.failed[name] = self.failed.get(name, 0) + (report.outcome != 'passed')
        self.left[name] -= report.when == 'teardown'
        if not self.left[name] and self.main:
            done = sum(not n for n in self.left.values())
            verdict = f'{self.failed[name]} DIFFER' if self.failed[name] else 'as stored'
            self.say(f'[{done}/{len(self.left)}] {name}: {self.cells[name]} cells {verdict} ({self.seconds[name]:.1f} s)')

    def pytest_sessionfinish(self, session, exitstatus):
        if not self.main:
            return
        whole = not self.config.option.keyword  # else some cells were left out
        passed = {n for n, cells in self.left.items() if whole and not cells and not self.failed[n]}
        notebooks.remember([p for p in notebooks.sources() if notebooks.name(p) in passed])
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.config.option.affected:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self):
        if self.cells:
            self.say(f'{sum(self.cells.values())} cells of {len(self.cells)} notebooks in '
                     f'{time.perf_counter() - self.start:.0f} s')


def _notebook(node):
    path = Path(node.split('::')[0])
    return f'{path.parent.name}/{path.stem}'
