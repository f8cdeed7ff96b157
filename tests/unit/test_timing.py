import time
from itertools import groupby

import numpy as np
import pytest
import torch
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
    assert [name for name, _ in groupby(name for name, _ in calls)] == ['a', 'b'] * 3
    assert len(calls) > 6  # short jobs are repeated within a round
    assert all(threads == {1} for _, threads in calls)


@pytest.mark.parametrize('job, ends', [(torch.get_num_threads, 1), (lambda: 1 / 0, ZeroDivisionError)])
def test_torch_gets_its_threads_back(job, ends):
    before, seen = torch.get_num_threads(), []
    torch.set_num_threads(2)
    try:
        if ends == 1:
            seconds(lambda: seen.append(job()), rounds=1)
            assert set(seen) == {1}
        else:
            with pytest.raises(ends):
                seconds(job)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
