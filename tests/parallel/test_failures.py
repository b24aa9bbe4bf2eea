"""Threads whose work fails or is interrupted."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from boreod.compiled import Kernel, _load_numba
from boreod.parallel import Threads, computed_once


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_after_a_failure_nobody_takes_another_item(threads):
    taken = []

    def fail(item):
        taken.append(item)
        raise ValueError(item)

    with pytest.raises(ValueError, match="0"):
        Threads(threads).map(fail, list(range(1000)), "failing")
    assert len(taken) <= threads


def test_errors_in_threads_reach_the_caller():
    def fail(item):
        raise RuntimeError(f"block {item}")

    with pytest.raises(RuntimeError, match="block 0"):
        Threads(2).map(fail, [0, 1, 2], "failing")


def test_interrupt_stops_all_threads():
    """Ctrl-C in the middle of a long fit: a process of its own, a real signal."""
    code = (
        "import numpy as np, sys\n"
        "from boreod import OutlierRepresentation\n"
        "X = np.random.default_rng(0).normal(size=(60_000, 20))\n"
        "OutlierRepresentation(['lof'], [5], neighbors='brute').fit(X[:2000])\n"
        "print('ready', flush=True)\n"
        "try:\n"
        "    OutlierRepresentation(n_jobs=2).fit(X)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.7)
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        assert process.stdout.readline() == "interrupted\n"
        process.wait(timeout=20)
    assert time.monotonic() - started < 20


def test_interrupt_inside_a_kernel_is_an_interrupt():
    def interrupted(item):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as cause:
            raise SystemError("returned a result with an exception set") from cause

    with pytest.raises(KeyboardInterrupt):
        Threads(1).map(interrupted, [0], "work")
    with pytest.raises(SystemError):
        Threads(1).map(lambda item: (_ for _ in ()).throw(SystemError("other")), [0], "work")


def test_numbers_of_threads(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(5), raising=False)
    counts = {None: 1, 3: 3, -1: 5, -2: 4, -5: 1, -1000: 1}
    assert {n_jobs: Threads(n_jobs).n_threads for n_jobs in counts} == counts


class Made(Kernel):
    """A kernel for which nothing is compiled."""

    def _make(self):
        return self._function()


class Holder:
    """An object with something to compute."""

    def __init__(self, compute):
        self.compute = compute

    @computed_once
    def value(self):
        return self.compute()


def compile_with_numba(compute):
    from numba.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        compute()


def works_in_child(work):
    """Fork, and return whether a child can do something before an alarm ends it."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)
        work()
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded")
@pytest.mark.parametrize(
    "use",
    [
        lambda f: Made(f).dispatcher,
        lambda f: Holder(f).value,
        compile_with_numba,
        lambda f: Made(lambda: (f(), compile_with_numba(int))).dispatcher,
        lambda f: compile_with_numba(lambda: (f(), Made(int).dispatcher)),
    ],
    ids=["kernel", "property", "compiler", "kernel, then compiler", "compiler, then kernel"],
)
def test_a_fork_while_another_thread_is_in_its_first_prediction(use):
    """Locks that the thread holds have nobody in the child who would free them."""
    _load_numba()
    begun = threading.Event()

    def compute():
        begun.set()
        time.sleep(0.1)

    thread = threading.Thread(target=use, args=[compute])
    thread.start()
    begun.wait()
    assert works_in_child(lambda: use(lambda: None))
    thread.join()
    assert works_in_child(lambda: use(lambda: None))
