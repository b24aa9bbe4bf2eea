"""Downloads that can be interrupted: what came so far waits in a ``.part`` file."""

import hashlib
import os
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from boreod.datasets.entries import Original

BLOCK = 1 << 14  # bytes between two steps of the progress bar
TIMEOUT = 30.0  # seconds without a byte
ELSEWHERE = "put the .npz file into a folder and pass it as `data`"


class DownloadError(OSError):
    """An original file could not be fetched or kept; the message says what to do."""


def fetch(original: Original, folder: Path, *, verbose: bool = True) -> Path:
    """Return the path of an original in a folder, downloading it if it is not there.

    A file that is there but has another checksum is replaced; a missing folder is made.
    """
    target, part = folder / original.filename, folder / f"{original.filename}.part"
    if target.is_file() and digest_of(target) == original.sha256:
        return target
    url = original.url
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _complete(part, original, url, verbose)
        size, digest = part.stat().st_size, digest_of(part)
        if digest != original.sha256:
            part.unlink()
            raise DownloadError(
                f"{url} must have the SHA-256 {original.sha256} ({original.size} bytes); got "
                f"{digest} ({size} bytes), which was discarded. Call again to start over; if it "
                f"comes again, check BOREOD_MIRROR or {ELSEWHERE}."
            )
        os.replace(part, target)
    except DownloadError:
        raise
    except OSError as error:
        raise DownloadError(
            f"The cache must be a folder that can be written to; {folder} gave "
            f"{type(error).__name__}: {error.strerror}. Free disk space, or set BOREOD_CACHE to "
            "another folder."
        ) from error
    return target


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
            came = held
            while came <= original.size and (block := _read_block(response)):
                came += file.write(block)
                progress.advance()
    if came < min(promised, original.size):
        raise DownloadError(
            f"{url} must send {original.size} bytes; the connection ended after {came}. "
            "They are kept: call again to fetch the rest."
        )


def _open(url: str, part: Path, held: int) -> Any:
    """Ask for the file from the first byte that is not held."""
    headers = {"User-Agent": "boreod"} | ({"Range": f"bytes={held}-"} if held else {})
    try:
        return urlopen(Request(url, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        error.close()
        if error.code == 416:  # the server's file is shorter than what is held
            part.unlink()
        raise DownloadError(
            f"{url} must answer 200; got {error.code} {error.reason}. Try again later, check "
            f"BOREOD_MIRROR if it is set, or {ELSEWHERE}."
        ) from error
    except (OSError, HTTPException) as error:
        raise DownloadError(
            f"{url} must be reachable; got {getattr(error, 'reason', error)}. Connect to a "
            f"network, set BOREOD_MIRROR to the address of a mirror, or {ELSEWHERE}."
        ) from error


def _read_block(response: Any) -> bytes:
    """Return what a server sends next, nothing if it has ended or breaks off."""
    try:
        return bytes(response.read(BLOCK))
    except HTTPException as error:
        return getattr(error, "partial", b"")
    except OSError:
        return b""
