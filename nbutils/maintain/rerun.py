"""A pytest plugin for nbval, which executes every cell again: outputs are compared as `nbutils.maintain.compare` does, in
kernels of `nbutils.maintain.execute` (with COLD=1 in Jupyter's own); with `--affected` only the notebooks that a change can
affect; one line for each notebook in place of a dot for each cell; a note of those that gave their stored outputs again;
and a failure for a notebook that takes much longer than its opening says.
"""
import functools
import time
from collections import Counter
from pathlib import Path

import pytest
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, RunningKernel
from nbval.plugin import IPyNbCell, IPyNbFile

from nbutils.maintain import compare, environment, execute, notebooks

OVER = 3  # times the time in its opening, in processor seconds: so much more no machine of these years takes


def pytest_addoption(parser):
    parser.addoption('--affected', action='store_true', help='only notebooks whose inputs changed since they last passed')


def pytest_configure(config):
    if config.option.nbval:
        environment.fix()
        config.option.loadscopereorder = False  # see pytest_collection_modifyitems
        config.pluginmanager.register(Rerun(config), 'rerun')


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    """Notebooks are collected as nbval collects them, in classes of this module."""
    found = yield
    return [Notebook.from_parent(parent, path=file_path) if type(one) is IPyNbFile else one for one in found]


# ---- what nbval collects and executes ----

class Notebook(IPyNbFile):
    def collect(self):
        try:
            for cell in super().collect():
                yield Cell.from_parent(self, name=cell.name, cell_num=cell.cell_num, cell=cell.cell, options=cell.options)
        except Exception as error:
            name, why = notebooks.name(self.path), str(error).partition('\n')[0][:200]
            raise pytest.Collector.CollectError(f'{name}.ipynb cannot be read; make record makes it anew: {why}') from None

    def setup(self):
        if execute.cold():
            self.kernel = JupyterKernel(CURRENT_ENV_KERNEL_NAME, cwd=self.path.parent)
        else:
            self.kernel = execute.Kernel(self.path.parent)

    def teardown(self):
        """End the kernel, and see how much it has computed."""
        if not isinstance(self.kernel, execute.Kernel):
            return super().teardown()
        self.kernel.stop()
        if self.stated and self.kernel.seconds > OVER * self.stated:
            pytest.fail(f'{notebooks.name(self.path)} takes {self.kernel.seconds:.0f} s, and its opening says '
                        f'{self.stated} s: make it shorter or correct the opening', pytrace=False)

    @functools.cached_property
    def stated(self):
        """The seconds in the notebook's opening, or None."""
        text = '\n'.join(cell.source for cell in self.nb.cells[:2])
        found = notebooks.RUNS_IN.search(text)
        return int(found[1]) if found else None


class Cell(IPyNbCell):
    def runtest(self):
        """What nbval does by the messages of Jupyter's kernels, with one of ours."""
        kernel, seconds = self.parent.kernel, self.config.option.nbval_cell_timeout
        if isinstance(kernel, JupyterKernel):
            return super().runtest()
        try:
            outputs = kernel.run(self.cell.source, seconds)
        except (TimeoutError, execute.Died) as error:
            self.parent.timed_out = True  # has nbval expect failures in what follows: one message is enough
            self.raise_cell_error(str(error) or f'Timeout of {seconds:g} seconds exceeded')
        if outputs and outputs[-1]['output_type'] == 'error':
            self.raise_cell_error('Cell execution caused an exception', '\n'.join(outputs[-1]['traceback']))
        if not self.compare_outputs(outputs, self.cell.outputs):
            self.raise_cell_error('Cell outputs differ', '\n'.join(self.comparison_traceback))

    def compare_outputs(self, test, ref, skip_compare=None):
        folder = self.config.rootpath / '_build' / 'differences'
        name = f'{self.path.parent.name}-{self.path.stem}-cell{self.cell_num}'
        self.comparison_traceback = list(compare.differences(test, ref, folder, name))
        return not self.comparison_traceback


class JupyterKernel(RunningKernel):
    """A kernel as JupyterLab starts it."""

    def execute_cell_input(self, cell_input, allow_stdin=None):
        # with history, as JupyterLab does: without it a closing semicolon would not silence a cell
        return self.kc.execute(cell_input, allow_stdin=allow_stdin, store_history=True, stop_on_error=False)


# ---- what is said about them ----

class Rerun:
    def __init__(self, config):
        self.config, self.main, self.start = config, not hasattr(config, 'workerinput'), time.perf_counter()
        self.cells, self.left, self.failed, self.seconds = Counter(), Counter(), Counter(), Counter()  # of each notebook
        self.running = set()
        known = notebooks.seen() if config.option.affected else {}
        self.reasons = {path.with_suffix('.ipynb'): notebooks.why(path, known) for path in notebooks.sources()}

    def say(self, line):
        self.config.pluginmanager.get_plugin('terminalreporter').write_line(line)

    def pytest_sessionstart(self):
        if self.main and (reason := execute.cold()):
            self.say(f'Plain kernels, which take longer: {reason}.')
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
        items.sort(key=lambda item: -(item.parent.stated or 0) if isinstance(item, Cell) else 0)

    def expect(self, ids):
        if not self.cells:
            self.cells = Counter(map(_notebook, ids))
            self.left = self.cells.copy()

    def pytest_collection_finish(self, session):
        self.expect([item.nodeid for item in session.items])
        sources = {item.path.with_suffix('.py') for item in session.items}
        execute.preload([path for path in sources if path.is_file()])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids):
        self.expect(ids)

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
        self.seconds[name] += report.duration
        self.failed[name] += report.outcome != 'passed'
        if report.when != 'teardown':
            return
        self.running.discard(report.nodeid)
        self.left[name] -= 1
        if not self.left[name] and self.main:
            done = sum(not n for n in self.left.values())
            verdict = f'{self.failed[name]} DIFFER' if self.failed[name] else 'as stored'
            self.say(f'[{done}/{len(self.left)}] {name}: {self.cells[name]} cells {verdict} ({self.seconds[name]:.1f} s)')

    def pytest_sessionfinish(self, session, exitstatus):
        if not self.main:
            return
        whole = not self.config.option.keyword  # else some cells were left out
        passed = {n for n, cells in self.left.items() if whole and not cells and not self.failed[n]}
        try:
            notebooks.remember([p for p in notebooks.sources() if notebooks.name(p) in passed])
        except OSError as error:
            self.say(f'What passed could not be noted ({error}): it is executed again the next time.')
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.config.option.affected:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self):
        if self.cells:
            took = time.perf_counter() - self.start
            self.say(f'{self.cells.total()} cells of {len(self.cells)} notebooks in {took:.0f} s')


def _notebook(node):
    return notebooks.name(Path(node.split('::')[0]))
