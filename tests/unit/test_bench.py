"""What `make bench` counts, on commands and reports of known size."""
import subprocess
import sys

import pytest

from nbutils.maintain import bench

ORPHAN = """
import subprocess, sys
subprocess.Popen([sys.executable, '-c', 'import time\\nwhile time.process_time() < 0.5: pass'])
sys.exit(3)
"""
MEASURE = f"""
import sys
from nbutils.maintain import bench
print(*bench.measured([sys.executable, '-c', {ORPHAN!r}])[1:])
"""


@pytest.mark.skipif(sys.platform != 'linux', reason='orphans can be counted on Linux only')
def test_work_of_processes_left_behind_is_counted():
    done = subprocess.run([sys.executable, '-c', MEASURE], capture_output=True, text=True, timeout=60)
    work, status = done.stdout.split()
    assert float(work) > 0.5 and status == '3'


def test_the_share_of_sections(tmp_path):
    cases = [('tests.book.test_rules', 'test_rule[a/x-recorded]', 1), ('notebooks.a.y', 'Cell 0', 2), ('tests.unit', 'test_b', 9)]
    report = tmp_path / 'report.xml'
    report.write_text('<r>' + ''.join(f'<testcase classname="{c}" name="{n}" time="{t}"/>' for c, n, t in cases) + '</r>')
    assert bench.share(report, ['a/x', 'a/y']) == 0.25
