"""What tests ask of processes that they have started."""
import time

import psutil


def left(mark, seconds=60):
    """The commands of the processes that have MARK in their environment and do not end, however long they are given."""
    for _ in range(seconds * 10):
        found = [p.cmdline() for p in psutil.process_iter(['environ']) if (p.info['environ'] or {}).get('MARK') == str(mark)]
        if not found:
            break
        time.sleep(0.1)
    return found
