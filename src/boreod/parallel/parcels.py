"""What travels between processes of a Dask cluster, and arrives as it was sent."""

import pickle
import time
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from boreod.parallel.dask_door import load

ATTEMPTS = 5
PAUSE = 1.0  # seconds after which the scheduler knows that a worker is gone


class Envelope:
    """Any object; arrays inside it arrive where processors and compiled code want them.

    Dask reads arrays where they lie in a message, which is at any byte. Kernels would be compiled
    again for such arrays and run slower on them.

    Parameters
    ----------
    content
        What travels.

    Examples
    --------
    >>> pickle.loads(pickle.dumps(Envelope({"k": 10}))).content
    {'k': 10}
    """

    def __init__(self, content: Any) -> None:
        self.content = content

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Take the arrays apart from the rest; the newer protocol copies nothing."""
        arrays: list[Any] = []
        try:
            rest = pickle.dumps(self.content, protocol=5, buffer_callback=arrays.append)
        except (AttributeError, TypeError, pickle.PicklingError):  # made in a notebook
            arrays.clear()
            rest = load("cloudpickle").dumps(
                self.content, protocol=5, buffer_callback=arrays.append
            )
        fixed = [array.raw().readonly for array in arrays]
        return _unpack, (rest, arrays if protocol >= 5 else [*map(bytes, arrays)], fixed)


def _unpack(rest: bytes, arrays: list[Any], fixed: list[bool]) -> Envelope:
    """Give every array memory of its own."""
    copies = [
        bytes(array) if readonly else bytearray(array)
        for array, readonly in zip(arrays, fixed, strict=True)
    ]
    return Envelope(pickle.loads(rest, buffers=copies))


class Parcels:
    """Objects that all workers share: each is sent once, as long as it lives.

    An object is remembered until it dies here; then the workers drop it too, and so they hold the
    graph of one view and not those of all that came before. Lists, tuples and numbers are sent
    anew with every use, because nobody can tell when they die.

    Parameters
    ----------
    client
        A ``distributed.Client``.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._sent: dict[int, tuple[weakref.ref[Any], Any]] = {}

    def send(self, thing: Any) -> Any:
        """Return the future of an object, which every worker gets once."""
        number = id(thing)
        if number in self._sent:
            origin, future = self._sent[number]
            if origin() is thing and future.status == "finished":
                return future
        future = self._scatter(thing)
        try:
            origin = weakref.ref(thing, lambda _: self._sent.pop(number, None))
        except TypeError:
            return future
        self._sent[number] = origin, future
        return future

    def forget(self, things: Sequence[Any]) -> None:
        """Send these anew when they are used again."""
        for thing in things:
            self._sent.pop(id(thing), None)

    def check_connection(self) -> None:
        """Raise if the scheduler is gone."""
        if self.client.status != "running":
            raise ConnectionError(
                "The connection to the Dask scheduler was lost. See whether the cluster runs, and "
                "open a new `with boreod.parallel.dask(...)`."
            )

    def __enter__(self) -> "Parcels":
        """Begin with nothing sent."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the workers drop everything."""
        self._sent.clear()

    def _scatter(self, thing: Any) -> Any:
        """Give an object to one worker, of which the others get it when they need it.

        Dask can also hand it to all at once, but then waits forever for a worker that dies in the
        middle.
        """
        failure: Exception | None = None
        for _ in range(ATTEMPTS):
            try:
                return self.client.scatter(Envelope(thing), hash=False)
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
