"""Memory that is left, in real systems and in made-up control groups."""

import psutil
import pytest

from boreod.representation.memory import available_memory
from boreod.text import show_bytes


def make_group(folder, limit, usage, version, reclaimable=0):
    """Write the files of one control group."""
    names = {
        2: ("memory.max", "memory.current", "inactive_file"),
        1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    }[version]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{usage}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{names[2]} {reclaimable}\n")


def left(tmp_path, own):
    (tmp_path / "own").write_text(own)
    return available_memory(tmp_path / "groups", tmp_path / "own")


@pytest.mark.parametrize(
    ("version", "own", "folder"),
    [
        (2, "0::/jobs/mine\n", "groups/jobs/mine"),
        (1, "9:pids:/\n4:cpu,memory:/jobs/mine\n0::/\n", "groups/memory/jobs/mine"),
    ],
)
def test_the_limit_of_the_own_group_counts(tmp_path, version, own, folder):
    make_group(tmp_path / folder, 50_000, 20_000, version)
    assert left(tmp_path, own) == 30_000


@pytest.mark.parametrize(("version", "root"), [(2, "groups"), (1, "groups/memory")])
def test_the_tightest_of_the_groups_above_counts(tmp_path, version, root):
    own = "0::/a/b\n" if version == 2 else "3:memory:/a/b\n"
    make_group(tmp_path / root, 90_000, 50_000, version)
    make_group(tmp_path / root / "a", 60_000, 40_000, version)
    make_group(tmp_path / root / "a" / "b", 55_000, 10_000, version)
    assert left(tmp_path, own) == 20_000


def test_a_container_may_see_its_group_as_the_root(tmp_path):
    make_group(tmp_path / "groups", 70_000, 10_000, 2)
    assert left(tmp_path, "0::/elsewhere/docker-1234\n") == 60_000


def test_copies_of_files_are_given_up(tmp_path):
    make_group(tmp_path / "groups", 70_000, 60_000, 2, reclaimable=25_000)
    assert left(tmp_path, "0::/\n") == 35_000


def test_an_exceeded_limit_leaves_nothing(tmp_path):
    make_group(tmp_path / "groups", 10_000, 10_500, 2)
    assert left(tmp_path, "0::/\n") == 0


@pytest.mark.parametrize("limit", ["max", 2**63 - 4096, ""])
def test_without_a_limit_the_system_decides(tmp_path, limit):
    make_group(tmp_path / "groups", limit, 10_000, 2)
    assert left(tmp_path, "0::/\n") == pytest.approx(psutil.virtual_memory().available, rel=0.2)


def test_this_system_has_some_memory_left_and_not_more_than_all():
    assert 0 < available_memory() < psutil.virtual_memory().total


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1500, "1.5 kB"),
        (9_960_000, "10 MB"),
        (999_600_000, "1.0 GB"),
        (123_400_000_000, "123 GB"),
        (7.6e16, "76000 TB"),
    ],
)
def test_sizes_are_shown_as_a_person_says_them(number, shown):
    assert show_bytes(number) == shown
