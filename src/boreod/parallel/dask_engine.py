"""The engine of a Dask cluster: blocks of rows go to its workers, results come back here.

Items are sent in batches, so that small ones do not cost a task each, and only some batches are
submitted at a time, so that the scheduler never holds a whole table. Dask itself repeats what a
lost worker was doing. Only if all copies of a shared object are lost is there nothing to repeat it
with; the object is then sent again and what is missing starts again.
"""

import gc
import importlib
import logging
import pickle
import time
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any

from boreod.parallel.engines import (
    Engine,
    Item,
    Progress,
    Result,
    Threads,
    count_threads,
    one_blas_thread,
    use_engine,
)

BATCHES_PER_THREAD = 16  # so many that no worker waits long for the last one
MAX_BATCH_ITEMS = 64  # so that a batch stays a message of some megabytes
MAX_SUBMITTED_PER_THREAD = 4  # batches that the scheduler knows of
MAX_ROUNDS = 3
MAX_SCATTER_ATTEMPTS = 5
PAUSE = 1.0  # seconds after which the scheduler knows that a worker is gone
Sent = dict[int, tuple[weakref.ref[Any], Any]]  # by id, the object and its future
LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"
# Ctrl-C reaches all processes of a terminal; this one tells its workers when to stop
IGNORE_INTERRUPTS = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


@contextmanager
def dask(client: Any = None, n_workers: int | None = None) -> Iterator["DaskEngine"]:
    """Let a Dask cluster work for all estimators inside a ``with``; needs ``boreod[dask]``.

    Parameters
    ----------
    client
        A ``distributed.Client``, a cluster such as ``LocalCluster``, or the address of a scheduler.
        None takes the client that Dask uses by default, or, if there is none, starts a cluster of
        processes on this machine and closes it in the end.
    n_workers
        Start such a cluster in any case, with so many processes; otherwise it has one a core.
    """
    with ExitStack() as stack:
        connected = _connect(client, n_workers, stack)
        stack.enter_context(connected.as_current())
        # batches of many columns are large, and so are models: nothing to be warned of
        stack.enter_context(import_dask("dask").config.set({LARGE_GRAPH: "1 PB"}))
        sent: Sent = {}
        stack.callback(sent.clear)  # the workers drop everything
        stack.enter_context(use_engine(lambda _, verbose: DaskEngine(connected, sent, verbose)))
        yield DaskEngine(connected, sent)


class DaskEngine(Engine):
    """Tasks on the workers of a cluster; made by :func:`dask`.

    A shared object is remembered, with its future, until it dies here; then the workers drop it
    too, and so they hold the graph of one view and not those of all that came before.
    """

    def __init__(self, client: Any, sent: Sent, verbose: bool = False) -> None:
        self.client, self.verbose = client, verbose
        self._sent, self._counted_at, self._n_threads = sent, -float("inf"), 1

    def map_unordered(
        self,
        function: Callable[..., Result],
        items: Sequence[Item],
        callback: Callable[[Item, Result], None],
        label: str,
        shared: Sequence[Any] = (),
    ) -> None:
        """Call ``callback(item, function(*shared, item))`` for all items, in any order."""
        size = min(MAX_BATCH_ITEMS, -(-len(items) // (BATCHES_PER_THREAD * self._count_threads())))
        waiting = deque(items[start : start + size] for start in range(0, len(items), size or 1))
        with Progress(label, len(items), self.verbose) as progress:
            for _ in range(MAX_ROUNDS):
                if self.client.status != "running":
                    raise ConnectionError(
                        "The connection to the Dask scheduler was lost. See whether the cluster "
                        "runs, and open a new `with boreod.parallel.dask(...)`."
                    )
                things = [self._send(thing) for thing in shared]
                with closing(self._run(function, waiting, things, label)) as finished:
                    for item, result in finished:
                        callback(item, result)
                        progress.advance()
                if not waiting:
                    return
                for thing in shared:  # are sent again
                    self._sent.pop(id(thing), None)
        raise RuntimeError(
            f"The cluster lost its workers {MAX_ROUNDS} times during {label!r}. If they run out of "
            "memory, give them more, or fit to fewer rows; the logs of the workers tell."
        )

    def _run(
        self,
        function: Callable[..., Result],
        waiting: deque[Sequence[Item]],
        things: list[Any],
        label: str,
    ) -> Generator[tuple[Item, Result], None, None]:
        """Return items with results as they come; batches lost with their workers wait again."""
        lost, running = list[Sequence[Item]](), dict[Any, Sequence[Item]]()
        done = import_dask("distributed").as_completed(loop=self.client.loop)
        try:
            while running or (waiting and not lost):
                most = MAX_SUBMITTED_PER_THREAD * self._count_threads()
                while waiting and not lost and len(running) < most:
                    work, key = Message((function, waiting[0])), f"{label}-{uuid.uuid4().hex}"
                    future = self.client.submit(_run_batch, work, *things, key=key)
                    running[future] = waiting.popleft()
                    done.add(future)
                for future, results in self._collect(done.next_batch()):
                    batch = running.pop(future)
                    if results is None:
                        lost.append(batch)
                    else:
                        yield from zip(batch, results, strict=True)
        finally:
            if running:  # a failure or an interrupt
                self.client.cancel(list(running))
        waiting.extendleft(lost)

    def _collect(self, futures: list[Any]) -> Iterator[tuple[Any, list[Any] | None]]:
        """Return results, None for those that were lost; raise what the function raised."""
        distributed = import_dask("distributed")
        try:
            messages = self.client.gather(futures)  # all at once
        except Exception:  # of one of them; which one decides what to do
            messages = []
        for future, message in zip(futures, messages, strict=False):
            yield future, message.content
        for future in futures[len(messages) :]:
            try:
                yield future, future.result().content
            except (distributed.CancelledError, distributed.KilledWorker):
                yield future, None

    def _count_threads(self) -> int:
        """Return the number of threads of the cluster now; workers come and go."""
        now = time.monotonic()
        if now - self._counted_at > 1.0 and self.client.status == "running":
            self._counted_at = now
            self._n_threads = max(1, sum(self.client.nthreads().values()))
        return self._n_threads

    def _send(self, thing: Any) -> Any:
        """Return the future of an object, which every worker gets once.

        Lists, tuples and numbers are sent anew with every use: nobody can tell when they die.
        """
        number = id(thing)
        if number in self._sent:
            origin, future = self._sent[number]
            if origin() is thing and future.status == "finished":
                return future
        future = self._scatter(thing)
        with suppress(TypeError):
            self._sent[number] = weakref.ref(thing, lambda _: self._sent.pop(number, None)), future
        return future

    def _scatter(self, thing: Any) -> Any:
        """Give an object to one worker, of which the others get it when they need it.

        Dask can also hand it to all at once, but then waits forever for a worker that dies in the
        middle.
        """
        failure: Exception | None = None
        for _ in range(MAX_SCATTER_ATTEMPTS):
            try:
                return self.client.scatter(Message(thing), hash=False)
            except TimeoutError as error:  # there was no worker for half a minute
                failure = error
                break
            except (OSError, LookupError, ValueError) as error:  # the worker died meanwhile
                failure = error
                time.sleep(PAUSE)
        raise ConnectionError(
            f"The Dask cluster has no workers, or loses them: {failure}. Start workers and try "
            "again."
        )


def _run_batch(work: "Message", *shared: "Message") -> "Message":
    """Run on a worker."""
    function, items = work.content
    things = [message.content for message in shared]
    with one_thread():
        return Message([function(*things, item) for item in items])


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep work on a worker to one thread: every thread of the cluster has a task already."""
    with one_blas_thread(), use_engine(lambda *_: Threads(1)):
        yield


class Message:
    """Any object; arrays inside it arrive where processors and compiled code want them.

    Dask reads arrays where they lie in a message, which is at any byte. Kernels would be compiled
    again for such arrays and run slower on them.

    Examples
    --------
    >>> pickle.loads(pickle.dumps(Message({"k": 10}))).content
    {'k': 10}
    """

    def __init__(self, content: Any) -> None:
        self.content = content

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Take the arrays apart from the rest; the newer protocol copies nothing."""
        arrays: list[Any] = []
        cloudpickle = import_dask("cloudpickle")  # also sends what was made in a notebook
        rest = cloudpickle.dumps(self.content, protocol=5, buffer_callback=arrays.append)
        fixed = [array.raw().readonly for array in arrays]
        return _unpack, (rest, arrays if protocol >= 5 else [*map(bytes, arrays)], fixed)


def _unpack(rest: bytes, arrays: list[Any], fixed: list[bool]) -> Message:
    """Give every array memory of its own."""
    copies = [
        bytes(array) if readonly else bytearray(array)
        for array, readonly in zip(arrays, fixed, strict=True)
    ]
    return Message(pickle.loads(rest, buffers=copies))


def import_dask(module: str) -> Any:
    """Return a module of Dask or of what comes with it, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(
            "A Dask cluster needs Dask, which is not installed: pip install boreod[dask]"
        ) from None


def _connect(client: Any, n_workers: int | None, stack: ExitStack) -> Any:
    """Return a client, which the stack closes if it was not there before."""
    distributed = import_dask("distributed")
    if client is not None and n_workers is not None:
        raise ValueError("`client` and `n_workers` exclude each other: the client has its workers.")
    if client is None and n_workers is None:
        with suppress(ValueError):  # there is none
            client = distributed.default_client()
    if client is None:
        cluster = distributed.LocalCluster(
            n_workers=n_workers or count_threads(-1),
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",  # any port: others may have theirs
            preload=[IGNORE_INTERRUPTS],
            silence_logs=logging.ERROR,
        )
        client = stack.enter_context(cluster)
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
