"""How long pieces of code take, in a way that a busy machine does not disturb."""
import contextlib
import sys
from time import perf_counter, process_time
from timeit import timeit

import numpy as np
from threadpoolctl import threadpool_limits


def seconds(*jobs, rounds=5):
    """Processor seconds of each job, a function without arguments: its least over several rounds, on one thread.

    Gives a float for one job, an array for several, which are then run in turn. A job under 20 ms is repeated in each
    round for that time, so that a short disturbance cannot spoil all of its runs. Only ratios hold on
    other machines: print a verdict such as 'more than 10 times faster', not the seconds.
    """
    with threadpool_limits(1), _torch_on_one_thread():
        times = [[_least(job) for job in jobs] for _ in range(rounds)]
    least = np.min(times, axis=0)
    return least if len(jobs) > 1 else float(least[0])


def _least(job, enough=0.02):
    runs, end = [], perf_counter() + enough
    while not runs or perf_counter() < end:
        runs.append(timeit(job, timer=process_time, number=1))
    return min(runs)


@contextlib.contextmanager
def _torch_on_one_thread():
    """Torch's own threads: threadpoolctl does not see them all."""
    torch = sys.modules.get('torch')
    before = torch and torch.get_num_threads()
    try:
        if torch:
            torch.set_num_threads(1)
        yield
    finally:
        if torch:
            torch.set_num_threads(before)
