import time

import numpy as np
from threadpoolctl import threadpool_info

from nbutils.timing import seconds


def test_more_work_takes_longer():
    short, long = seconds(lambda: sum(range(10_000)), lambda: sum(range(200_000)))
    assert long > 5 * short > 0


def test_waiting_does_not_count():
    assert seconds(lambda: time.sleep(0.05), rounds=2) < 0.02


def test_jobs_run_on_one_thread_and_in_turn():
    calls = []

    def job(name):
        np.ones((2, 2)) @ np.ones((2, 2))
        calls.append((name, {pool['num_threads'] for pool in threadpool_info()}))

    seconds(lambda: job('a'), lambda: job('b'), rounds=3)
    assert [name for name, _ in calls] == ['a', 'b'] * 3
    assert all(threads == {1} for _, threads in calls)
