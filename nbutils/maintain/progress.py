"""A pytest plugin: one line for each notebook that nbval has been through, in place of a dot for each cell."""
import time


def pytest_configure(config):
    config.pluginmanager.register(Progress(config), 'notebook-progress')


class Progress:
    def __init__(self, config):
        self.config, self.left, self.failed, self.seconds = config, {}, {}, {}
        self.start = time.perf_counter()

    def expect(self, ids):
        if not self.left:
            for node in ids:
                name = _notebook(node)
                self.left[name] = self.left.get(name, 0) + 1
            self.cells = dict(self.left)

    def pytest_collection_finish(self, session):
        self.expect([item.nodeid for item in session.items])

    def pytest_xdist_node_collection_finished(self, node, ids):
        self.expect(ids)

    def pytest_report_teststatus(self, report, config):
        if report.when == 'call' and report.passed or report.when != 'call' and not report.failed:
            return report.outcome if report.when == 'call' else '', '', ''

    def pytest_runtest_logreport(self, report):
        name = _notebook(report.nodeid)
        if name not in self.left:
            return
        self.seconds[name] = self.seconds.get(name, 0) + report.duration
        self.failed[name] = self.failed.get(name, 0) + report.failed
        self.left[name] -= report.when == 'teardown'
        if not self.left[name]:
            done = sum(not n for n in self.left.values())
            verdict = f'{self.failed[name]} DIFFER' if self.failed[name] else 'as stored'
            line = f'[{done}/{len(self.left)}] {name}: {self.cells[name]} cells {verdict} ({self.seconds[name]:.1f} s)'
            self.config.pluginmanager.get_plugin('terminalreporter').write_line(line)

    def pytest_terminal_summary(self, terminalreporter):
        if self.left:
            terminalreporter.write_line(
                f'{sum(self.cells.values())} cells of {len(self.cells)} notebooks in {time.perf_counter() - self.start:.0f} s')


def _notebook(node):
    return node.split('::')[0].removeprefix('notebooks/').removesuffix('.ipynb')
