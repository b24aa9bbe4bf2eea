"""Downloads that can be interrupted: what came so far waits in a ``.part`` file."""

import hashlib
import os
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from boreod.datasets.entries import Original

BLOCK = 1 << 14  # bytes between two steps of the progress bar
PATIENCE = 30.0  # seconds without a byte
ELSEWHERE = "put the .npz file into a folder and pass it as `data`"


class DownloadError(OSError):
    """An original file could not be fetched or kept; the message says what to do."""


def is_intact(path: Path, original: Original) -> bool:
    """Tell whether a file is there and is the original."""
    return path.is_file() and _digest(path) == original.sha256


def fetch(original: Original, folder: Path, *, verbose: bool = True) -> Path:
    """Return the path of an original in a folder, downloading it if it is not there.

    A file that is there but has another checksum is replaced.

    Parameters
    ----------
    original
        The file of the catalogue.
    folder
        The cache; it is created if needed.
    verbose
        Whether a progress bar may appear on a terminal.
    """
    target = folder / original.filename
    part = folder / f"{original.filename}.part"
    if is_intact(target, original):
        return target
    url = original.url
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _complete(part, original, url, verbose)
        _verify(part, original, url)
        os.replace(part, target)
    except DownloadError:
        raise
    except OSError as error:
        raise DownloadError(
            f"The cache must be a folder that can be written to; {folder} gave "
            f"{type(error).__name__}: {error.strerror}. Make room or set BOREOD_CACHE to another "
            "folder."
        ) from error
    return target


def _complete(part: Path, original: Original, url: str, verbose: bool) -> None:
    """Append to a file what it lacks."""
    from boreod.parallel import Progress

    held = part.stat().st_size if part.exists() else 0
    if held >= original.size:
        return
    with _open(url, part, held) as response:
        if response.status != 206:  # the server sends the file from its start
            held = 0
        length = response.headers.get("Content-Length", "")
        promised = held + int(length) if length.isdecimal() else original.size
        steps = (original.size - held) // BLOCK + 1
        with (
            part.open("ab" if held else "wb") as file,
            Progress(f"Downloading {original.filename}", steps, verbose) as progress,
        ):
            for block in _blocks(response, original.size - held):
                file.write(block)
                progress.advance()
    came = part.stat().st_size
    if came < min(promised, original.size):
        raise DownloadError(
            f"{url} must send {original.size} bytes; the connection ended after {came}. "
            "They are kept: call again to fetch the rest."
        )


def _open(url: str, part: Path, held: int) -> Any:
    """Ask for the file from the first byte that is not held."""
    headers = {"User-Agent": "boreod"}
    if held:
        headers["Range"] = f"bytes={held}-"
    try:
        return urlopen(Request(url, headers=headers), timeout=PATIENCE)
    except HTTPError as error:
        error.close()
        if error.code == 416:  # the server's file is shorter than what is held
            part.unlink()
        raise DownloadError(
            f"{url} must answer 200; got {error.code} {error.reason}. Try again later, check "
            f"BOREOD_MIRROR if it is set, or {ELSEWHERE}."
        ) from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise DownloadError(
            f"{url} must be reachable; got {reason}. Connect to a network, set BOREOD_MIRROR to "
            f"the address of a mirror, or {ELSEWHERE}."
        ) from error


def _blocks(response: Any, limit: int) -> Iterator[bytes]:
    """Yield what a server sends until it ends, breaks off or exceeds the limit."""
    came = 0
    while came <= limit:
        try:
            block = response.read(BLOCK)
        except HTTPException as error:
            block = getattr(error, "partial", b"")
        except OSError:
            block = b""
        if not block:
            return
        came += len(block)
        yield block


def _verify(part: Path, original: Original, url: str) -> None:
    """Discard a file that is not the original."""
    size, digest = part.stat().st_size, _digest(part)
    if digest != original.sha256:
        part.unlink()
        raise DownloadError(
            f"{url} must have the SHA-256 {original.sha256} ({original.size} bytes); got {digest} "
            f"({size} bytes), which was discarded. Call again to start over; if it comes again, "
            f"check BOREOD_MIRROR or {ELSEWHERE}."
        )


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
