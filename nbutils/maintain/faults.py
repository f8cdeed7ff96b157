"""Inject faults and see what notices: `python -m nbutils.maintain.faults [--number N] [--seed S] [FILE.py ...]`.

A fault is one small edit (nbutils.maintain.mutations) to a section or to a module of nbutils. It is caught where a cell
then fails or gives another output than the stored one; for nbutils, also where a test fails. What is not caught
escapes: it shows what the book would not notice. A check that is too weak lets the fault escape that is made for it.

tests/faults/equivalent.yml lists faults that change nothing that counts, each with the reason.
"""
import argparse
import ast
import importlib.util
import multiprocessing
import os
import re
import signal
import sys
import time
from collections import Counter
from multiprocessing import connection
from pathlib import Path
from typing import NamedTuple

import nbformat
import psutil
import yaml

from nbutils.maintain import environment, execute, lint, mutations, notebooks, svg

GOAL = 0.95
CPU_SECONDS, WALL_SECONDS = 30, 300  # a notebook takes less than 10; what takes more is caught by its time
IDLE = 3  # so many faults in what a check calls, none of them noticed by it first: it may be no check
USERS = 3  # how many sections a fault of nbutils is tried on
PACKAGE = notebooks.ROOT / 'nbutils'
EQUIVALENT = notebooks.ROOT / 'tests' / 'faults' / 'equivalent.yml'
REPORT = notebooks.ROOT / '_build' / 'faults.txt'


# ---- what notices them ----

def shell_in(folder):
    """A shell that knows the function `nudged`, with which some faults are made."""
    shell = execute.Shell(folder)
    shell.shell.user_ns['nudged'] = mutations.nudged
    return shell


def differing(outputs, cell):
    """Whether the 'text' or only a 'figure' differs from the stored outputs of a cell; None where nothing does."""
    from nbutils.maintain import compare  # not above: numpy must find the fixed environment

    kept = 'output_type', 'name', 'text', 'data'
    got, stored = ([{k: v for k, v in o.items() if k in kept} for o in side] for side in (outputs, cell.outputs))
    got = compare.align(got, stored)
    texts = [[o | {'data': {k: v for k, v in o.get('data', {}).items() if k != svg.KIND}} for o in side]
             for side in (got, stored)]
    return None if got == stored else 'figure' if texts[0] == texts[1] else 'text'


def trial(shell, cells, code):
    """Run `code` in place of the first cell, then the others; gives (who noticed, how many cells later, words) or None."""
    for i, cell in enumerate(cells):
        outputs, error = shell.run(cell.source if i else code)
        if error is not None:
            who = 'check' if isinstance(error, AssertionError) else 'error'
            return who, i, f'{type(error).__name__}: {error}'[:200]
        if who := differing(outputs, cell):
            return who, i, ''
    return None


def spread(function, items, workers=1, seconds=None, cpu=None):
    """Call the function on each item in a forked process; yields (item, result), the result 'time' or 'error' for one
    that did not end in so many seconds, of the clock or of the processor, or that died.
    """
    context, todo, running = multiprocessing.get_context('fork'), list(items)[::-1], {}

    def call(item, send):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        send.send(function(item))

    while todo or running:
        while todo and len(running) < workers:
            receive, send = context.Pipe(False)
            process = context.Process(target=call, args=(item := todo.pop(), send))
            process.start()
            send.close()
            running[receive] = item, process, time.monotonic() + (seconds or 1e9)
        ready = connection.wait(running, 1)
        for receive, (item, process, end) in list(running.items()):
            if receive in ready or time.monotonic() > end or cpu and _computed(process.pid) > cpu:
                try:
                    result = receive.recv() if receive in ready else 'time'
                except EOFError:
                    result = 'error'
                process.kill()
                process.join()
                receive.close()
                del running[receive]
                yield item, result


def _computed(pid):
    """The processor seconds of a process so far. (A limit set by the system would coarsen the clock that it reads.)"""
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


class Result(NamedTuple):
    """What became of some of the `possible` faults of a section or module: (fault, what `trial` or `spread` gives)."""
    path: Path
    possible: int
    found: list
    broken: str = ''  # why nothing can be said

    @property
    def name(self):
        return f'nbutils.{stem(self.path)}' if self.path.is_relative_to(PACKAGE) else notebooks.name(self.path)


def section(path, number, seed):
    """Inject faults into one section: it runs once, and before each cell its faults are tried in forks."""
    cells = code_cells(path)
    sources = [cell.source for cell in cells]
    spared = mutations.free_names(sources)
    edits = [edit for i, source in enumerate(sources) if i and 'raise NotImplementedError' not in source
             for edit in mutations.possible(source, i, spared)]  # cell 0 is the launch cell
    faults, found, shell = mutations.drawn(edits, number, f'{seed} {notebooks.name(path)}'), [], shell_in(path.parent)
    for i, cell in enumerate(cells):
        here = [fault for fault in faults if fault.cell == i]
        found += spread(lambda fault: trial(shell, cells[fault.cell:], fault.code), here,
                        seconds=WALL_SECONDS, cpu=CPU_SECONDS)
        if noticed := trial(shell, [cell], cell.source):
            broken = f'unchanged, code cell {i + 1} differs from what is stored {noticed}: make record first'
            return Result(path, len(edits), found, broken)
    return Result(path, len(edits), found)


def changed_names(before, after):
    """The names that are bound by those statements of a cell that an edit has changed."""
    old = {ast.dump(line) for line in ast.parse(before).body}
    return {name for line in ast.parse(after).body if ast.dump(line) not in old for name in lint.bound_by(line)}


def code_cells(path):
    """The recorded code cells of a section."""
    return [c for c in nbformat.read(str(path.with_suffix('.ipynb')), 4).cells if c.cell_type == 'code']


def module(path, number, seed):
    """Inject faults into one module of nbutils: its tests run, then some sections that import it."""
    name = f'nbutils.{stem(path)}'
    tests = [t for t in sorted((notebooks.ROOT / 'tests' / 'unit').glob('test_*.py'))
             if re.search(rf'^from nbutils(\.{stem(path)} import| import.*\b{stem(path)}\b)', t.read_text('utf-8'), re.M)]
    users = sorted((p for p in recorded() if path in notebooks.modules(p)), key=lambda p: p.stat().st_size)[:USERS]
    code = path.read_text('utf-8')
    edits = [e for e in mutations.possible(code) if e.args[2] not in mutations.CHECKS]

    def notices(fault):
        try:
            plant(name, path, fault.code)
        except Exception as error:
            return 'error', 0, str(error)
        if fails(tests):
            return 'test', 0, ''
        for user in users:
            for _, found in spread(whole, [user], seconds=WALL_SECONDS, cpu=CPU_SECONDS):
                if found:
                    who, *where = [found] if isinstance(found, str) else found
                    return who, 0, f'{notebooks.name(user)}, {where}'
        return None

    unchanged = mutations.Fault(0, '', code, '', '')
    limits, start = dict(seconds=(1 + USERS) * WALL_SECONDS, cpu=4 * CPU_SECONDS), time.monotonic()
    for _, noticed in spread(notices, [unchanged], **limits):
        if noticed:
            return Result(path, len(edits), [], f'unchanged, it is noticed already: {noticed}')
    limits['seconds'] = 60 + 4 * (time.monotonic() - start)  # some faults wait for ever
    return Result(path, len(edits), list(spread(notices, mutations.drawn(edits, number, f'{seed} {name}'), **limits)))


def stem(path):
    """The name of a module of nbutils, or of a package with its `__init__.py`: 'checks', 'data'."""
    return path.parent.name if path.stem == '__init__' else path.stem


def plant(name, path, code):
    """Have this process import `code` in place of a module of nbutils."""
    spec = importlib.util.spec_from_file_location(name, path)  # of a package, too: then it knows its folder
    sys.modules[name] = planted = importlib.util.module_from_spec(spec)
    exec(compile(code, str(path), 'exec'), planted.__dict__)
    setattr(sys.modules['nbutils'], stem(path), planted)


def fails(tests):
    """Whether one of these files of tests fails, in this process."""
    import pytest

    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(null, stream)
    os.chdir(notebooks.ROOT)
    return bool(tests) and pytest.main(['-q', '-x', '-p', 'no:xdist', *map(str, tests)]) != 0


def whole(path):
    """Run a section as it is; gives what `trial` gives."""
    cells = code_cells(path)
    return trial(shell_in(path.parent), cells, cells[0].source)


def recorded():
    """The sections that have stored outputs."""
    return [p for p in notebooks.sources() if p.with_suffix('.ipynb').is_file()]


# ---- what is said about them ----

def judged(result, equivalent):
    """A result as {'caught': ..., 'equivalent': ..., 'escaped': ...}, lists of (fault, who noticed, where, words)."""
    known = {(e['was'].strip(), e['now'].strip()) for e in equivalent.get(result.name, ())}
    groups = {'caught': [], 'equivalent': [], 'escaped': []}
    for fault, found in result.found:
        by, after, words = (found, 0, '') if isinstance(found, str) else found or (None, 0, '')
        group = 'caught' if by else 'equivalent' if (fault.was, fault.now) in known else 'escaped'
        groups[group].append((fault, by, fault.cell + after, words))
    return groups


def stale(equivalent, results):
    """Entries of the list of equivalent faults that say nothing any more, as lines of text."""
    for result in results:
        lines = {line.strip() for line in result.path.read_text('utf-8').splitlines()}
        caught = {(fault.was, fault.now): by for fault, by, *_ in judged(result, {})['caught']}
        for entry in equivalent.get(result.name, ()):
            was, now = entry['was'].strip(), entry['now'].strip()
            if not set(was.splitlines()) <= lines:
                yield f'{result.name}: listed as equivalent, but its line is gone: {was}'
            elif (was, now) in caught:
                yield f'{result.name}: listed as equivalent, but {caught[was, now]} notices it: {now}'


def idle(result):
    """(number of the cell, claim or statement, how many) of each check of a section that was never the first to notice one
    of the `IDLE` faults or more in the functions that it calls, directly or through others.
    """
    sources = [c.source for c in code_cells(result.path)]
    nodes = list(ast.walk(ast.parse('\n'.join(sources))))
    functions = {node.name: lint.read(node) for node in nodes if isinstance(node, ast.FunctionDef)}
    touched = [(changed_names(sources[fault.cell], fault.code), fault.cell + by[1] if isinstance(by, tuple) else None)
               for fault, by in result.found]
    for i, source in enumerate(sources):
        for call in lint.check_calls(ast.walk(ast.parse(source))):
            called, more = set(), lint.read(call) & functions.keys()
            while more:
                called |= more
                more = set().union(*(functions[name] for name in more)) & functions.keys() - called
            noticed_in = [where for names, where in touched if names & called]
            if len(noticed_in) >= IDLE and i not in noticed_in:
                yield i, ast.unparse(call.args[0]), len(noticed_in)


def line(result, groups):
    """One line about a section."""
    by = Counter(noticed for _, noticed, *_ in groups['caught'])
    counts = ', '.join(f'{n} {who}' for who, n in by.most_common())
    return (f'{result.name}: {len(result.found)} of {result.possible} faults, {len(groups["caught"])} caught'
            f'{f" ({counts})" if by else ""}, {len(groups["equivalent"])} equivalent, {len(groups["escaped"])} escaped')


def diff(fault, where):
    """A fault as a diff."""
    lines = [f'- {text}' for text in fault.was.splitlines()] + [f'+ {text}' for text in fault.now.splitlines()]
    return '\n'.join([f'  {fault.kind}, code cell {where + 1}', *(f'    {text}' for text in lines)])


def main(argv=None):
    parser = argparse.ArgumentParser(description='Inject faults into sections and nbutils, and see what notices.')
    parser.add_argument('files', nargs='*', help='.py files of sections or of nbutils; without any, all')
    parser.add_argument('--number', type=int, default=12, help='how many faults for each file; 0: all')
    parser.add_argument('--seed', default='0', help='draws other faults')
    arguments = parser.parse_args(argv)
    environment.restart('nbutils.maintain.faults', argv)
    modules = [path for path in [*sorted(PACKAGE.glob('*.py')), PACKAGE / 'data' / '__init__.py']
               if stem(path) not in ('nbutils', 'ledger')]
    files = [Path(f).resolve() for f in arguments.files] or [*recorded(), *modules]
    if sys.platform != 'linux':
        sys.exit('faults are tried in forked processes, which are safe on Linux only')
    execute.hold(recorded())
    sys.exit(report(files, arguments.number, arguments.seed))


def report(files, number, seed):
    """Try the faults of these files, print a line for each and write REPORT; gives the exit status."""
    equivalent = (yaml.safe_load(EQUIVALENT.read_text('utf-8')) if EQUIVALENT.is_file() else None) or {}
    results, text, start = [], [], time.monotonic()

    def say(words):
        print(words, flush=True)
        text.append(words)

    def one(path):
        return module(path, number, seed) if path.is_relative_to(PACKAGE) else section(path, number, seed)

    for path, result in spread(one, files, workers=int(os.environ.get('JOBS') or os.cpu_count() or 1)):
        if isinstance(result, str):
            result = Result(path, 0, [], f'its process died ({result})')
        results.append((result, groups := judged(result, equivalent)))
        say(f'{result.name}: BROKEN: {result.broken}' if result.broken else line(result, groups))
        for fault, _, where, _ in groups['escaped']:
            say(diff(fault, where))
        for cell, what, times in () if path.is_relative_to(PACKAGE) else idle(result):
            say(f'  never the first or only to notice, code cell {cell + 1}: {what} ({times} faults in what it calls)')
    total = {group: [one for _, groups in results for one in groups[group]] for group in ('caught', 'equivalent', 'escaped')}
    for words in ('', *stale(equivalent, [result for result, _ in results])):
        say(words)
    tried = len(total['caught']) + len(total['escaped'])
    share = len(total['caught']) / tried if tried else 1.0
    say(f'{share:.1%} of {tried} faults caught, {len(total["equivalent"])} equivalent, of '
        f'{sum(result.possible for result, _ in results)} possible ones, seed {seed}, {time.monotonic() - start:.0f} s')
    REPORT.parent.mkdir(exist_ok=True)
    notebooks.replace(REPORT, '\n'.join(text) + '\n')
    print(f'This stands in {os.path.relpath(REPORT)}, too.')
    return int(share < GOAL or any(result.broken for result, _ in results))


if __name__ == '__main__':
    from nbutils.maintain import faults  # by its name, as `__main__` is the notebook that runs here

    faults.main()
