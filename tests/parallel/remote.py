"""What runs on workers in these tests; a module of its own, because they import it anew."""

import os
import signal
import time

from threadpoolctl import threadpool_info

from boreod.parallel import current_engine
from boreod.parallel.dask_engine import Message


def add_slowly(table, item):
    time.sleep(0.02)
    return table.sum() + item


def threads_in_a_task(_, item):
    blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return current_engine(7, False).n_threads, *blas


def flags(array, item):
    return array.flags.aligned, array.flags.writeable, item.flags.aligned


def fail(table, item):
    if item == 37:
        raise LookupError(f"item {item}")
    time.sleep(0.02)


def die(item):
    os.kill(os.getpid(), signal.SIGKILL)


def where(item):
    from distributed import get_worker

    time.sleep(0.02)
    return get_worker().address


class Counted:
    """Counts how often it arrives in a process."""

    arrivals = 0

    def __setstate__(self, state):
        Counted.arrivals += 1

    def __getstate__(self):
        return {"never": "empty"}


def arrivals():
    return Counted.arrivals


def use(counted, item):
    return type(counted).__name__


def held(dask_worker):
    return sum(
        type(value) is Message and type(value.content).__name__ == "Counted"
        for value in dask_worker.data.values()
    )


def tasks_left(dask_scheduler):
    return [key for key in dask_scheduler.tasks if not key.startswith("Message")]


def allow_failures(number, dask_scheduler):
    before, dask_scheduler.allowed_failures = dask_scheduler.allowed_failures, number
    return before
