"""The engine of a Dask cluster: blocks of rows go to its workers, results come back here.

Items travel in bundles, so that small ones do not cost a task each, and only some bundles are under
way at a time, so that the scheduler never holds a whole table. Dask itself repeats what a lost
worker was doing. Only if all copies of a shared object are lost is there nothing to repeat it with;
the object is then sent again and what is missing starts again.
"""

import gc
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from boreod.parallel.current import use_engine
from boreod.parallel.dask_door import load
from boreod.parallel.local import Item, Result, Threads, count_threads, one_blas_thread
from boreod.parallel.parcels import Envelope, Parcels
from boreod.parallel.progress import Progress

BUNDLES_PER_THREAD = 16  # so many that no worker waits long for the last one
MOST_ITEMS = 64  # in a bundle, so that it stays a parcel of some megabytes
UNDER_WAY = 4  # bundles per thread that the scheduler knows of
ROUNDS = 3
LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"


@contextmanager
def dask(client: Any = None) -> Iterator["DaskEngine"]:
    """Let a Dask cluster work for all estimators inside a ``with``; needs ``boreod[dask]``.

    Parameters
    ----------
    client
        A ``distributed.Client``, a cluster such as ``LocalCluster``, or the address of a scheduler.
        None takes the client that Dask uses by default, or, if there is none, starts a cluster of
        processes on this machine and closes it in the end.
    """
    with ExitStack() as stack:
        connected = _connect(client, stack)
        stack.enter_context(connected.as_current())
        # bundles of many columns are large, and so are models: nothing to be warned of
        stack.enter_context(load("dask").config.set({LARGE_GRAPH: "1 PB"}))
        parcels = stack.enter_context(Parcels(connected))
        stack.enter_context(use_engine(partial(DaskEngine, parcels)))
        yield DaskEngine(parcels)


class DaskEngine:
    """Tasks on the workers of a cluster; made by :func:`dask`.

    Parameters
    ----------
    parcels
        Sends shared objects to the workers.
    n_jobs
        Checked and not used: the cluster has its own number of threads.
    verbose
        Show a progress bar when the work is long.
    """

    def __init__(self, parcels: Parcels, n_jobs: int | None = None, verbose: bool = False) -> None:
        count_threads(n_jobs)
        self.parcels, self.verbose = parcels, verbose

    def map(
        self,
        function: Callable[..., Result],
        items: Sequence[Item],
        label: str,
        shared: Sequence[Any] = (),
    ) -> list[Result]:
        """Return ``function(*shared, item)`` of all items, in their order."""
        results: dict[int, Result] = {}
        self._run(function, items, results.__setitem__, label, shared)
        return [results[place] for place in range(len(items))]

    def feed(
        self,
        function: Callable[..., Result],
        items: Sequence[Item],
        take: Callable[[Item, Result], None],
        label: str,
        shared: Sequence[Any] = (),
    ) -> None:
        """Call ``take(item, function(*shared, item))`` for all items, in any order."""
        self._run(function, items, lambda place, got: take(items[place], got), label, shared)

    def _run(
        self,
        function: Callable[..., Result],
        items: Sequence[Item],
        put: Callable[[int, Result], None],
        label: str,
        shared: Sequence[Any],
    ) -> None:
        with Progress(label, len(items), self.verbose) as progress:

            def arrived(bundle: range, results: list[Result]) -> None:
                for place, result in zip(bundle, results, strict=True):
                    put(place, result)
                    progress.advance()

            missing: list[range] = []
            for _ in range(ROUNDS):
                self.parcels.check_connection()
                sent = [self.parcels.send(thing) for thing in shared]
                errand = _Errand(self.parcels.client, function, items, sent, label)
                missing = errand.finish(missing or errand.bundles(), arrived)
                if not missing:
                    return
                self.parcels.forget(shared)
        raise RuntimeError(
            f"The cluster lost its workers {ROUNDS} times during {label!r}. If they run out of "
            "memory, give them more, or fit to fewer rows; the logs of the workers tell."
        )


class _Errand:
    """One function over many items with what its workers share."""

    def __init__(
        self,
        client: Any,
        function: Callable[..., Any],
        items: Sequence[Any],
        sent: list[Any],
        label: str,
    ) -> None:
        self._client, self._function, self._items = client, function, items
        self._sent, self._label = sent, label
        self._counted_at, self._threads = -float("inf"), 1

    def bundles(self) -> list[range]:
        """Return the places of the items, cut into bundles."""
        n = len(self._items)
        size = min(MOST_ITEMS, -(-n // (BUNDLES_PER_THREAD * self._count_threads())))
        return [range(start, min(n, start + size)) for start in range(0, n, max(1, size))]

    def finish(
        self, bundles: list[range], arrived: Callable[[range, list[Any]], None]
    ) -> list[range]:
        """Hand over results as they come; return the bundles that were lost with their workers."""
        waiting, lost = deque(bundles), list[range]()
        running: dict[Any, range] = {}
        done = load("distributed").as_completed(loop=self._client.loop)
        try:
            while running or (waiting and not lost):
                while waiting and not lost and len(running) < UNDER_WAY * self._count_threads():
                    future = self._submit(waiting[0])
                    running[future] = waiting.popleft()
                    done.add(future)
                for future, results in self._collect(done.next_batch()):
                    bundle = running.pop(future)
                    if results is None:
                        lost.append(bundle)
                    else:
                        arrived(bundle, results)
        finally:
            if running:  # a failure or an interrupt
                self._client.cancel(list(running))
        return lost + list(waiting)

    def _collect(self, futures: list[Any]) -> Iterator[tuple[Any, list[Any] | None]]:
        """Return results, None for those that were lost; raise what the function raised."""
        distributed = load("distributed")
        try:
            envelopes = self._client.gather(futures)  # one message for all
        except Exception:  # of one of them; which one decides what to do
            envelopes = []
        for future, envelope in zip(futures, envelopes, strict=False):
            yield future, envelope.content
        for future in futures[len(envelopes) :]:
            try:
                yield future, future.result().content
            except (distributed.CancelledError, distributed.KilledWorker):
                yield future, None

    def _submit(self, bundle: range) -> Any:
        task = _Task(self._function, [self._items[place] for place in bundle])
        key = f"{self._label}-{uuid.uuid4().hex}"
        return self._client.submit(task, *self._sent, key=key)

    def _count_threads(self) -> int:
        """Return the number of threads of the cluster now; workers come and go."""
        now = time.monotonic()
        if now - self._counted_at > 1.0 and self._client.status == "running":
            self._counted_at = now
            self._threads = max(1, sum(self._client.nthreads().values()))
        return self._threads


class _Task:
    """What runs on a worker: one bundle."""

    def __init__(self, function: Callable[..., Any], items: list[Any]) -> None:
        self._work = Envelope((function, items))

    def __call__(self, *shared: Envelope) -> Envelope:
        function, items = self._work.content
        things = [envelope.content for envelope in shared]
        with alone():
            return Envelope([function(*things, item) for item in items])


@contextmanager
def alone() -> Iterator[None]:
    """Keep work on a worker to one thread: every thread of the cluster has a task already."""
    with one_blas_thread(), use_engine(_one_thread):
        yield


def _one_thread(*_: Any) -> Threads:
    return Threads(1)


def _connect(client: Any, stack: ExitStack) -> Any:
    """Return a client, which the stack closes if it was not there before."""
    distributed = load("distributed")
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            client = stack.enter_context(distributed.LocalCluster(dashboard_address=":0"))
    if isinstance(client, distributed.Client):
        if client.status != "running" or client.asynchronous:
            raise ValueError(
                f"`client` must be connected and not asynchronous; got {client!r}. Make a new one: "
                "distributed.Client(address)."
            )
        return client
    if not isinstance(client, str) and not hasattr(client, "scheduler_address"):
        raise TypeError(
            f"`client` must be a distributed.Client, a cluster, or the address of a scheduler such "
            f"as 'tcp://10.0.0.1:8786'; got {client!r}."
        )
    try:
        return stack.enter_context(distributed.Client(client, set_as_default=False))
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a closed cluster
        reason = str(error).rstrip(".")
    gc.collect()  # closes the unfinished client now; later it would stop the next one's start
    raise ConnectionError(f"No Dask scheduler answers at {client!r}: {reason}. Check the address.")
