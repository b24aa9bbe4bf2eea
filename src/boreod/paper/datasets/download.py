"""Downloads of originals: checked, and whole or not there. The largest has 1.2 MB."""

import hashlib
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from boreod.files import whole_file
from boreod.paper.datasets.entries import Original

TIMEOUT = 30.0  # seconds without a byte
ELSEWHERE = "put the .npz file into a folder and pass it as `data`"


class DownloadError(OSError):
    """An original file could not be fetched or kept; the message says what to do."""


def fetch(original: Original, folder: Path) -> Path:
    """Return the path of an original in a folder, downloading it if it is not there.

    A file that is there but has another checksum is replaced; a missing folder is made.
    """
    target = folder / original.filename
    if target.is_file() and digest_of(target) == original.sha256:
        return target
    content = _download(original.url, original.size)
    digest = hashlib.sha256(content).hexdigest()
    if digest != original.sha256:
        raise DownloadError(
            f"{original.url} must have the SHA-256 {original.sha256} ({original.size} bytes); got "
            f"{digest} ({len(content)} bytes), which was discarded. Call again; if it comes again, "
            f"check BOREOD_MIRROR or {ELSEWHERE}."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(target) as unfinished:
            unfinished.write_bytes(content)
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


def _download(url: str, size: int) -> bytes:
    """Return a file; one that is longer than it should be is not read to its end."""
    try:
        with urlopen(Request(url, headers={"User-Agent": "boreod"}), timeout=TIMEOUT) as response:
            return bytes(response.read(size + 1))
    except HTTPError as error:
        error.close()
        raise DownloadError(
            f"{url} must answer 200; got {error.code} {error.reason}. Try again later, check "
            f"BOREOD_MIRROR if it is set, or {ELSEWHERE}."
        ) from error
    except (OSError, HTTPException) as error:
        raise DownloadError(
            f"{url} must be reachable; got {getattr(error, 'reason', error)}. Connect to a "
            f"network, set BOREOD_MIRROR to the address of a mirror, or {ELSEWHERE}."
        ) from error
