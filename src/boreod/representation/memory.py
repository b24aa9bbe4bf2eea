"""The memory that a fit takes, and the memory that this process may still use.

The two are compared before long work begins.

The memory of a fit is counted, array by array, from the numbers of rows, columns and ks. This count
leaves out detectors of other libraries, classifiers that replace logistic regression, the choice of
columns for a budget, and compiled code (about 70 MB once in a process).

The system reports how much memory is free. A container or a job of a batch system may have a lower
limit, which is written in its control group (cgroup). Both versions of cgroups are supported, and
the limits of all parent groups are read as well.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from boreod.neighbors import depth_for
from boreod.representation.views import Space
from boreod.scores.base import PlannedScore
from boreod.text import show_bytes

# A search holds this many bytes per value of a reference row, in addition to the value itself. The
# bytes store float32 columns or a tree. "auto" chooses between the two only later.
SEARCH_BYTES = {"brute": 5, "tree": 11, "auto": 8}
# Training rows are split into this many folds if some rows are kept out of the reference rows.
FOLDS = 5
# The memory of deleted arrays of fewer bytes goes to the allocator, not to the system.
GIVEN_BACK = 2**25
# A table is held this many times: as it is read, as columns, and as rows of numbers.
COPIES = 3
# A thread holds about this many bytes for blocks of rows and buffers of linear algebra.
THREAD_BYTES = 6_000_000
# A sample size that an error proposes uses at most this share of the free memory, because small
# tables take a little more memory per row.
MEMORY_MARGIN = 0.65
# Errors propose samples of at least this many rows.
MIN_PROPOSED = 1000
CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")

Views = Sequence[tuple[Space, list[PlannedScore]]]


class NotEnoughMemoryError(MemoryError):
    """A table or its fit would take more memory than is available."""


def check_fit(needed: int, n_rows: int, n_columns: int) -> None:
    """Raise if a fit needs more bytes than are available; the error proposes a sample size."""
    available = available_memory()
    if needed <= available:
        return
    size = _largest_size(n_rows, MEMORY_MARGIN * available / needed)
    raise NotEnoughMemoryError(
        f"A fit of {n_rows} rows with {n_columns} columns takes about {show_bytes(needed)}, and "
        f"{show_bytes(available)} are left, so it would not fit into memory. Learn from a sample, "
        f"reference=Reference(size={size}) (--reference-size {size}), or compute fewer `scores` or "
        "`ks`; a budget does not help, because columns are chosen for it after the fit."
    )


def check_reading(n_rows: int, n_bytes: int, available: int) -> None:
    """Raise if a table in a file or a Dask collection would not fit into memory.

    ``n_rows`` and ``n_bytes`` are the rows and bytes that were counted so far.
    """
    needed = COPIES * n_bytes
    if needed > available:
        # The fit itself needs memory, too.
        size = _largest_size(n_rows, MEMORY_MARGIN * available / needed / COPIES)
        raise NotEnoughMemoryError(
            f"The table does not fit into memory: {n_rows} rows take about {show_bytes(needed)} to "
            f"be read, and {show_bytes(available)} are left. Learn from a sample: "
            f"reference=Reference(size={size}) (--reference-size {size})."
        )


def _largest_size(n_rows: int, share: float) -> int:
    """Return a round number that is at most this share of the rows, but at least MIN_PROPOSED."""
    sizes = [digits * 10**power for power in range(2, 12) for digits in (10, 15, 20, 30, 50, 70)]
    return max((size for size in sizes if size <= share * n_rows), default=MIN_PROPOSED)


def count_fit_memory(
    n_rows: int,
    n_columns: int,
    views: Views,
    backend: str,
    n_threads: int,
    n_bags: int,
    folded: bool = False,
) -> int:
    """Return the bytes that a fit takes at its peak.

    ``views`` are neighbor spaces with the scores planned in them, and ``backend`` is the search
    that the user asked for. ``n_bags`` is 0 if no detector is learned. If ``folded``, rows are
    scored in folds. A second neighbor graph then holds most of the rows, and all lists are longer.
    """
    # Hashes of the rows are counted first; every view adds more below.
    held = 24 * n_rows
    lists = 0
    for space, plan in views:
        size = n_rows if space.rows is None else len(space.rows)
        held += size * _bytes_to_keep(len(space.columns), plan, backend)
        # Lists of neighbors are needed only while the reference rows themselves are scored.
        deepest = max(p.ks[-1] for p in plan)
        reverse = max((p.ks[-1] for p in plan if p.definition.reads == "reverse"), default=0)
        of_one = 12 * (deepest + reverse) + 16
        if folded:
            of_one += _bytes_to_keep(len(space.columns), plan, backend)
            of_one += 12 * depth_for(deepest, 1.0 / FOLDS) + 16
        lists = max(lists, size * of_one)
    scores = 8 * n_rows * count_scores(views)
    table = scores + 8 * n_rows * n_columns
    # Bags hold log-odds, probabilities, a temporary array like them, and three out-of-bag masks.
    bags = (3 * 8 + 3) * n_rows * n_bags
    # Memory of small arrays stays with the process after they are deleted, so it still counts. When
    # bags are drawn, the deleted scores count. When log-odds are computed, a deleted copy of all
    # inliers counts.
    columns_at_once = max((len(p.ks) for _, plan in views for p in plan), default=0)
    gone = scores if 8 * n_rows * columns_at_once < GIVEN_BACK else 0
    copy_and_bags = table + bags if table < GIVEN_BACK else max(table, bags)
    moments = [lists + scores, scores + table + 8 * n_rows * n_columns]
    if n_bags:
        moments.append(gone + 2 * table + copy_and_bags)
    return held + max(moments) + n_threads * THREAD_BYTES


def count_scores(views: Views) -> int:
    """Return the number of score columns of all views."""
    return sum(len(p.ks) for _, plan in views for p in plan)


def _bytes_to_keep(n_columns: int, plan: list[PlannedScore], backend: str) -> int:
    """Return the bytes that a fitted view stores for one reference row."""
    # A view holds the row as the metric needs it, and links to its copies.
    rows = 8 * n_columns + 16
    # Two more columns are for distances that are computed as matrix products.
    search = SEARCH_BYTES[backend] * n_columns + 16
    radii = 8 * sum(len(ks) for ks in {p.ks for p in plan})
    compared = [p for p in plan if p.definition.compares()]
    frozen = 8 * sum(len(p.ks) * len(p.definition.descriptions) for p in compared)
    return rows + search + radii + frozen


def available_memory(cgroups: Path = CGROUPS, own: Path = OWN_CGROUPS) -> int:
    """Return the bytes that this process may still use.

    ``cgroups`` is the folder of all control groups. The file ``own`` lists this process's groups.
    """
    import psutil  # type: ignore[import-untyped]

    return min([int(psutil.virtual_memory().available), *_left_in_cgroups(cgroups, own)])


def _left_in_cgroups(cgroups: Path, own: Path) -> Iterator[int]:
    """Yield, for every memory limit of this process, the bytes that are left."""
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
        # In a container the root folder may be its own group, although the file names a path that
        # is not visible there. So all folders up to the root are tried.
        for folder in (group, *group.parents):
            yield from _left_in(folder, *files)
            if folder == root:
                break


def _left_in(folder: Path, limit_file: str, usage_file: str, reclaimable: str) -> Iterator[int]:
    """Yield the bytes left under the limit of one group; yield nothing if it has no limit."""
    limit, usage = _read(folder / limit_file).strip(), _read(folder / usage_file).strip()
    if limit.isdecimal() and usage.isdecimal():
        statistics = dict(line.split(" ", 1) for line in _read(folder / "memory.stat").splitlines())
        # Cached file contents count as used, but the system frees them when memory is needed.
        used = int(usage) - int(statistics.get(reclaimable, 0))
        yield max(0, int(limit) - max(0, used))


def _read(file: Path) -> str:
    try:
        return file.read_text()
    # The system is not Linux, uses the other version of cgroups, or does not permit reading.
    except OSError:
        return ""
