"""How long `make test` takes by stages, and what a section adds to it: `python -m nbutils.maintain.bench [STAGE ...]`.

Beside the time that passes stands the time of the processors, which other work on the machine disturbs less. A section
takes the share of a stage that the tests named after sections take of all its tests, and of the building a page's share.
"""
import contextlib
import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from nbutils.maintain import notebooks

STAGES = 'style', 'unit', 'rules', 'notebooks', 'site', 'site-tests'
ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of Linux: a server of kernels ends after the process that started it


def measured(command, **extra):
    """Run a command; gives (seconds, processor seconds of it and of all that it has started, exit status)."""
    if sys.platform == 'linux':
        ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    own = subprocess.Popen(command, cwd=notebooks.ROOT, env=os.environ | extra, stdout=subprocess.DEVNULL).pid
    ended = {}
    with contextlib.suppress(ChildProcessError):  # all have ended
        while True:
            process, status = os.wait()
            ended[process] = time.perf_counter() - start, os.waitstatus_to_exitcode(status)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, status = ended[own]
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, status


def share(report, sections):
    """The part of the time of a JUnit report that went into tests named after one of the sections."""
    times = {True: 0.0, False: 0.0}
    for case in ElementTree.parse(report).iter('testcase'):
        name = f'{case.get("classname")} {case.get("name")}'.replace('.', '/')
        times[any(section in name for section in sections)] += float(case.get('time'))
    return times[True] / (sum(times.values()) or 1)


def main():
    stages, sections = sys.argv[1:] or STAGES, [notebooks.name(path) for path in notebooks.sources()]
    print(f'{"":12}{"seconds":>9}{"processors":>12}{"a section":>11}   ({len(sections)} sections)')
    total, failed = [0.0, 0.0, 0.0], []
    for stage in stages:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, 'report.xml')
            seconds, work, status = measured(['make', stage, 'ALL=1', f'PYTHON={sys.executable}'],
                                             PYTEST_ADDOPTS=f'--junitxml={report}')
            if stage == 'site':
                part = len(sections) / max(1, len(list(notebooks.ROOT.glob('_build/html/**/*.html'))))
            else:
                part = share(report, sections) if report.is_file() else 0.0
        row = seconds, work, work * part / len(sections)
        total = [a + b for a, b in zip(total, row, strict=True)]
        failed += [stage] * bool(status)
        print(f'{stage:12}{row[0]:9.1f}{row[1]:12.1f}{row[2]:11.2f}', flush=True)
    print(f'{"all":12}{total[0]:9.1f}{total[1]:12.1f}{total[2]:11.2f}')
    if failed:
        sys.exit(f'These fail, and say little about time: {", ".join(failed)}')


if __name__ == '__main__':
    main()
