"""Finished runs on disk, one line each, so that a stopped evaluation goes on where it was."""

import json
from pathlib import Path
from typing import Any

from boreod.files import __version__


class Journal:
    """Results of runs by their key, kept in a file of JSON lines.

    A run that was stopped, or killed in the middle of a line, loses that line and nothing else.
    Lines of another version of boreod are not used.

    Parameters
    ----------
    path
        The file, or None to keep results in memory only.

    Examples
    --------
    >>> journal = Journal(None)
    >>> journal.add("cardio/bore/1", {"auc": 0.95})
    >>> "cardio/bore/1" in journal, journal["cardio/bore/1"]["auc"]
    (True, 0.95)
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._results: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            self._read(path)

    def __contains__(self, key: str) -> bool:
        """Tell whether a run is finished."""
        return key in self._results

    def __getitem__(self, key: str) -> dict[str, Any]:
        """Return the result of a finished run."""
        return self._results[key]

    def add(self, key: str, result: dict[str, Any]) -> None:
        """Keep the result of a run; one that failed is kept in memory only, to be tried again."""
        self._results[key] = result
        if self._path is None or "error" in result:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"boreod": __version__, "run": key, "result": result})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def _read(self, path: Path) -> None:
        """Read all complete lines, and cut off one that is not."""
        content = path.read_bytes()
        complete = content[: content.rfind(b"\n") + 1]
        if complete != content:
            with path.open("r+b") as file:
                file.truncate(len(complete))
        for number, text in enumerate(complete.decode("utf-8", "replace").splitlines(), 1):
            try:
                line = json.loads(text)
                version, key, result = line["boreod"], line["run"], line["result"]
            except (ValueError, TypeError, KeyError):
                raise ValueError(
                    f"Line {number} of {path} is not a finished run. Delete that line, or the "
                    "file to start anew."
                ) from None
            if version == __version__:
                self._results[key] = result
