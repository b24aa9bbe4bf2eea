"""How much memory this process may still take.

The system knows what is free; a container or a job of a batch system may be allowed less, which
only its control group (cgroup) tells. Both versions of these are read, with all groups above.
"""

from collections.abc import Iterator
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")
UNITS = ("bytes", "kB", "MB", "GB", "TB")


def available_memory(cgroups: Path = CGROUPS, own: Path = OWN_CGROUPS) -> int:
    """Return the bytes that this process may still take.

    Parameters
    ----------
    cgroups
        Where the control groups are mounted.
    own
        The file that names those of this process.
    """
    import psutil  # type: ignore[import-untyped]

    return min([int(psutil.virtual_memory().available), *_left_in_cgroups(cgroups, own)])


def _left_in_cgroups(cgroups: Path, own: Path) -> Iterator[int]:
    """Give what every limit on this process leaves."""
    for line in _read(own).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, files = cgroups, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            root = cgroups / "memory"
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        group = root / path.strip("/")
        # A container may see its own group as the root, under whatever name the file gives it.
        for folder in (group, *group.parents):
            yield from _left_in(folder, *files)
            if folder == root:
                break


def _left_in(folder: Path, limit_file: str, usage_file: str, reclaimable: str) -> Iterator[int]:
    """Give what the limit of one group leaves, nothing if it has none."""
    limit, usage = _read(folder / limit_file).strip(), _read(folder / usage_file).strip()
    if limit.isdecimal() and usage.isdecimal():
        statistics = dict(line.split(" ", 1) for line in _read(folder / "memory.stat").splitlines())
        # Copies of files count as used, but the system gives them up when memory is asked for.
        used = int(usage) - int(statistics.get(reclaimable, 0))
        yield max(0, int(limit) - max(0, used))


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # no Linux, no such version, or not ours to read
        return ""
