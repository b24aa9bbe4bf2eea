"""All code that uses Dask: the engine of a cluster, and tables that are Dask collections.

The engine sends blocks of rows to the workers and gets results back. Items are sent in batches, so
that a small item does not need a task of its own. Only some batches are submitted at a time, so
that the scheduler never holds a whole table. Dask repeats the work of a lost worker. If all copies
of a shared object are lost, Dask cannot repeat the work. The engine then sends the object again and
restarts the missing batches.

The partitions of a collection stay where they are. Rows that training needs are picked on the
workers and sent to this process. Functions of rows are sent to the partitions, and their results
form a Dask array. A process that holds a collection has already imported Dask, so only the engine
may have to import Dask.
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
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Some callers get this module as an argument, and call its `is_collection`.
from boreod.parallel import is_collection as is_collection  # noqa: PLC0414
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

# With this many batches per thread, workers do not wait long for the last batch.
BATCHES_PER_THREAD = 16
# With at most this many items, the message of a batch has only a few megabytes.
MAX_BATCH_ITEMS = 64
MAX_SUBMITTED_PER_THREAD = 4
MAX_ROUNDS = 3
MAX_SCATTER_ATTEMPTS = 5
# Futures of objects on the cluster, by the ids of the objects.
Sent = dict[int, Any]


@contextmanager
def connect(client: Any = None, n_workers: int | None = None) -> Iterator["DaskEngine"]:
    """Let a Dask cluster work inside a ``with`` block, see :func:`boreod.parallel.dask`."""
    with ExitStack() as stack:
        connected = _connect(client, n_workers, stack)
        stack.enter_context(connected.as_current())
        # Dask warns of large messages, but batches of many columns and models are always large.
        no_warning = {"distributed.admin.large-graph-warning-threshold": "1 PB"}
        stack.enter_context(import_dask("dask").config.set(no_warning))
        sent: Sent = {}
        # The workers drop all shared objects at the end.
        stack.callback(sent.clear)
        stack.enter_context(use_engine(lambda _, verbose: DaskEngine(connected, sent, verbose)))
        yield DaskEngine(connected, sent)


class DaskEngine(Engine):
    """An engine of tasks on the workers of a cluster; :func:`boreod.parallel.dask` makes it.

    A shared object and its future are remembered until this process deletes the object. Then the
    workers drop the object too. A worker never holds the neighbor graphs of two views at the same
    time.
    """

    def __init__(self, client: Any, sent: Sent, verbose: bool = False) -> None:
        self.client = client
        self.verbose = verbose
        self._sent = sent
        self._counted_at = -float("inf")
        self._n_threads = 1

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
                        "The connection to the Dask scheduler was lost. Check that the cluster is "
                        "running, and open a new `with boreod.parallel.dask(...)`."
                    )
                things = [self._send(thing) for thing in shared]
                with closing(self._run(function, waiting, things, label)) as finished:
                    for item, result in finished:
                        callback(item, result)
                        progress.advance()
                if not waiting:
                    return
                # Forgotten objects are sent again in the next round.
                for thing in shared:
                    self._sent.pop(id(thing), None)
        raise RuntimeError(
            f"The cluster lost its workers {MAX_ROUNDS} times during {label!r}. If workers run out "
            "of memory, give them more memory, or fit to fewer rows; see the logs of the workers."
        )

    def _run(
        self,
        function: Callable[..., Result],
        waiting: deque[Sequence[Item]],
        things: list[Any],
        label: str,
    ) -> Generator[tuple[Item, Result], None, None]:
        """Yield items with results as results arrive; lost batches return to ``waiting``."""
        lost: list[Sequence[Item]] = []
        running: dict[Any, Sequence[Item]] = {}
        done = import_dask("distributed").as_completed(loop=self.client.loop)
        try:
            while running or (waiting and not lost):
                most = MAX_SUBMITTED_PER_THREAD * self._count_threads()
                while waiting and not lost and len(running) < most:
                    work = Message((function, waiting[0]))
                    key = f"{label}-{uuid.uuid4().hex}"
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
            # After a failure or an interrupt, some batches are still running.
            if running:
                self.client.cancel(list(running))
        waiting.extendleft(lost)

    def _collect(self, futures: list[Any]) -> Iterator[tuple[Any, list[Any] | None]]:
        """Yield futures with results (None if lost); raise errors of the function."""
        distributed = import_dask("distributed")
        # Gathering all results at once is faster, but fails if one future failed. In that case, the
        # result of every future is read separately.
        try:
            messages = self.client.gather(futures)
        except Exception:
            messages = []
        for future, message in zip(futures, messages, strict=False):
            yield future, message.content
        for future in futures[len(messages) :]:
            try:
                yield future, future.result().content
            except (distributed.CancelledError, distributed.KilledWorker):
                yield future, None

    def _count_threads(self) -> int:
        """Return the current number of threads of the cluster; workers come and go."""
        now = time.monotonic()
        if now - self._counted_at > 1.0 and self.client.status == "running":
            self._counted_at = now
            self._n_threads = max(1, sum(self.client.nthreads().values()))
        return self._n_threads

    def _send(self, thing: Any) -> Any:
        """Return the future of an object that is sent to every worker only once.

        Lists, tuples and numbers have no weak references, so they are sent with every use.
        """
        future = self._sent.get(id(thing))
        if future is None or future.status != "finished":
            future = self._scatter(thing)
            with suppress(TypeError):
                weakref.finalize(thing, self._sent.pop, id(thing), None)
                self._sent[id(thing)] = future
        return future

    def _scatter(self, thing: Any) -> Any:
        """Give an object to one worker, from which other workers get the object when they need it.

        Dask can also send an object to all workers at once, but then waits forever for a worker
        that dies during the transfer.
        """
        failure: Exception | None = None
        for _ in range(MAX_SCATTER_ATTEMPTS):
            try:
                return self.client.scatter(Message(thing), hash=False)
            except TimeoutError as error:
                # There was no worker for half a minute.
                failure = error
                break
            except (OSError, LookupError, ValueError) as error:
                # The worker died. After a second, the scheduler has noticed its death.
                failure = error
                time.sleep(1.0)
        raise ConnectionError(
            f"The Dask cluster has no workers, or its workers die: {failure}. Start workers and "
            "try again."
        )


def _run_batch(work: "Message", *shared: "Message") -> "Message":
    """Return the results of a batch; this function runs on a worker."""
    function, items = work.content
    things = [message.content for message in shared]
    with one_thread():
        return Message([function(*things, item) for item in items])


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit a task to one thread, because every thread of the cluster has a task."""
    with one_blas_thread(), use_engine(lambda *_: Threads(1)):
        yield


class Message:
    """Any object, whose arrays arrive aligned in memory.

    Dask does not copy arrays out of a message, where they may begin at any byte. Kernels would be
    compiled again for unaligned arrays, and would be slower.

    Examples
    --------
    >>> pickle.loads(pickle.dumps(Message({"k": 10}))).content
    {'k': 10}
    """

    def __init__(self, content: Any) -> None:
        self.content = content

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Separate the arrays from the rest of the object; protocol 5 copies nothing."""
        arrays: list[Any] = []
        # Cloudpickle also sends functions that were defined in a notebook.
        cloudpickle = import_dask("cloudpickle")
        rest = cloudpickle.dumps(self.content, protocol=5, buffer_callback=arrays.append)
        fixed = [array.raw().readonly for array in arrays]
        return _unpack, (rest, arrays if protocol >= 5 else [*map(bytes, arrays)], fixed)


def _unpack(rest: bytes, arrays: list[Any], fixed: list[bool]) -> Message:
    """Return the message, after copying every array to memory of its own."""
    copies = [
        bytes(array) if readonly else bytearray(array)
        for array, readonly in zip(arrays, fixed, strict=True)
    ]
    return Message(pickle.loads(rest, buffers=copies))


def import_dask(module: str) -> Any:
    """Return Dask or a package that comes with it; the error says how to install Dask."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(
            "A Dask cluster needs Dask, which is not installed: pip install boreod[dask]"
        ) from None


def _connect(client: Any, n_workers: int | None, stack: ExitStack) -> Any:
    """Return a client. If the client was made here, ``stack`` closes it."""
    distributed = import_dask("distributed")
    if client is not None and n_workers is not None:
        raise ValueError("`client` and `n_workers` exclude each other: a client has workers.")
    if client is None and n_workers is None:
        # A ValueError means that there is no default client.
        with suppress(ValueError):
            client = distributed.default_client()
    if client is None:
        cluster = distributed.LocalCluster(
            n_workers=n_workers or count_threads(-1),
            threads_per_worker=1,
            # Port 0 is any free port.
            dashboard_address="127.0.0.1:0",
            # Ctrl-C reaches all processes of a terminal. This process stops its workers itself.
            preload=["import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"],
            silence_logs=logging.ERROR,
        )
        client = stack.enter_context(cluster)
    if isinstance(client, distributed.Client):
        if client.status != "running" or client.asynchronous:
            raise ValueError(
                f"`client` must be connected and not asynchronous; got {client!r}. Make a new "
                "client: distributed.Client(address)."
            )
        return client
    if not isinstance(client, str) and not hasattr(client, "scheduler_address"):
        raise TypeError(
            f"`client` must be a distributed.Client, a cluster, or the address of a scheduler such "
            f"as 'tcp://10.0.0.1:8786'; got {client!r}."
        )
    try:
        return stack.enter_context(distributed.Client(client, set_as_default=False))
    except (OSError, RuntimeError, ValueError) as error:
        reason = str(error).rstrip(".")
    # Delete the unfinished client now. If it were deleted later, the next client could not start.
    gc.collect()
    raise ConnectionError(f"No Dask scheduler answers at {client!r}: {reason}. Check the address.")


def count_rows(table: Any) -> list[int]:
    """Return the number of rows of every partition."""
    if _is_array(table) and not np.isnan(table.chunks[0]).any():
        return list(table.chunks[0])
    dask = import_dask("dask")
    return list(dask.compute(*[dask.delayed(len)(part) for part in _partitions(table)]))


def gather_rows(
    table: Any, positions: ArrayLike | None = None, sizes: list[int] | None = None
) -> Any:
    """Return all rows, or the rows at ascending ``positions``, as a local frame or array.

    Only these rows leave their partitions. ``sizes`` are the numbers of rows of the partitions. If
    ``sizes`` is None, the rows are counted.
    """
    if positions is None:
        return table.compute()
    dask = import_dask("dask")
    places = np.asarray(positions, dtype=np.int64)
    ends = list(accumulate(count_rows(table) if sizes is None else sizes))
    cuts = np.searchsorted(places, [0, *ends])
    if cuts[0] != 0 or cuts[-1] != len(places) or (np.diff(places) <= 0).any():
        raise ValueError(
            f"`positions` must ascend and lie between 0 and {ends[-1] - 1}, the last row."
        )
    chosen = [
        dask.delayed(_pick)(part, places[low:high] - start)
        for part, low, high, start in zip(
            _partitions(table), cuts[:-1], cuts[1:], [0, *ends[:-1]], strict=True
        )
        if low < high
    ]
    if _is_array(table):
        empty = np.empty((0, *table.shape[1:]), table.dtype)
        return np.concatenate(dask.compute(*chosen)) if chosen else empty
    return import_dask("pandas").concat(dask.compute(*chosen)) if chosen else table.head(0)


def map_rows(
    function: Callable[[Any, Any], NDArray], table: Any, model: Any, width: int | None, dtype: Any
) -> Any:
    """Return the results of a function for all rows as a lazy Dask array.

    The function gets the model, which is sent once to every worker, and a partition. It returns one
    result per row of the partition: ``width`` numbers, or a single number if ``width`` is None.
    """
    delayed = import_dask("dask").delayed
    da = import_dask("dask.array")
    # The model is part of the graph, so Dask can send it again when workers die.
    sent = delayed(Message(model), traverse=False)
    columns = () if width is None else (width,)
    sizes = table.chunks[0] if _is_array(table) else [np.nan] * table.npartitions
    apply = delayed(_apply, pure=False)
    parts = [
        da.from_delayed(apply(function, sent, part, columns, dtype), (rows, *columns), dtype=dtype)
        for part, rows in zip(_partitions(table), sizes, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _apply(
    function: Callable[[Any, Any], NDArray],
    sent: Message,
    part: Any,
    columns: tuple[int, ...],
    dtype: Any,
) -> NDArray:
    if len(part) == 0:
        return np.empty((0, *columns), dtype)
    if isinstance(part, np.ndarray):
        # Dask does not copy arrays out of a message, where they may not be aligned.
        part = np.require(part, requirements="A")
    with one_thread():
        return np.asarray(function(sent.content, part), dtype=dtype)


def _pick(part: Any, places: NDArray) -> Any:
    return part.iloc[places] if hasattr(part, "iloc") else part[places]


def _partitions(table: Any) -> list[Any]:
    """Return one delayed object per partition, with all columns."""
    if not _is_array(table):
        return list(table.to_delayed())
    return list(table.rechunk(dict.fromkeys(range(1, table.ndim), -1)).to_delayed().ravel())


def _is_array(table: Any) -> bool:
    return isinstance(table, import_dask("dask.array").Array)
