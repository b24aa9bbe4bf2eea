"""Files that are whole or not there."""

from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write a file that takes the place of an old one at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    try:
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
