"""Texts as files."""

from pathlib import Path

from boreod.files import whole_file


def write_text(path: Path, text: str) -> None:
    """Write a file that takes the place of an old one at once; its folder is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8", newline="\n")
