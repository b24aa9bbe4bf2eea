"""Modes and links of the files that commands write."""

import os
import shutil
import stat
import subprocess

import pytest

from tool.cli.runner import PROGRAM, run

FIT = ["fit", "payments.parquet", "--label", "fraud", "--id", "id", "--method", "bore", "--budget"]
COMMANDS = {
    "m.boreod": [*FIT, "15us", "-o"],
    "scores.csv": ["score", "small.boreod", "new.parquet", "-o"],
    "scores.jsonl": ["score", "small.boreod", "new.parquet", "-o"],
    "scores.parquet": ["score", "small.boreod", "new.parquet", "--engine", "dask", "-o"],
    "page.html": ["report", "small.boreod", "payments.parquet", "-o"],
}


@pytest.fixture
def place(folder, tmp_path):
    for path in folder.iterdir():
        shutil.copy(path, tmp_path)
    return tmp_path


def call(place, output, mask=0o022):
    """Run the command of an output in a process of its own."""
    command = [*PROGRAM, *COMMANDS[output], output]
    return subprocess.run(
        command, cwd=place, umask=mask, capture_output=True, text=True, check=False
    )


def mode_of(path):
    return f"{stat.S_IMODE(path.stat().st_mode):o}"


@pytest.mark.parametrize("output", COMMANDS)
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_new_files_follow_the_umask_and_models_are_private(place, output, mask):
    done = call(place, output, mask)
    assert done.returncode == 0, done.stderr
    usual = 0o600 if output.endswith("boreod") else 0o666
    assert mode_of(place / output) == f"{usual & ~mask:o}"


@pytest.mark.parametrize("output", COMMANDS)
@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_replaced_files_keep_their_mode_and_links_stay(place, output, mode):
    (place / "real").write_text("old")
    (place / "real").chmod(mode)
    (place / output).symlink_to("real")
    done = call(place, output)
    assert done.returncode == 0, done.stderr
    assert (place / output).is_symlink()
    assert mode_of(place / "real") == f"{mode:o}"
    assert (place / "real").stat().st_size > 100
    assert [path for path in place.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("output", COMMANDS)
def test_write_protected_files_are_refused_before_any_work(place, output):
    (place / output).write_text("old")
    (place / output).chmod(0o444)
    done = call(place, output)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        f"Error: {output} is write-protected, so it is not overwritten. Allow writing (chmod u+w), "
        "or choose another name.\n"
    )
    assert (place / output).read_text() == "old"
    assert mode_of(place / output) == "444"


@pytest.mark.parametrize("output", ["m.boreod", "scores.csv", "page.html"])
def test_links_in_a_circle_are_refused(place, output):
    (place / output).symlink_to("other")
    (place / "other").symlink_to(output)
    done = call(place, output)
    assert done.returncode == 1
    assert "link that leads back to itself" in done.stderr
    assert (place / output).is_symlink()


@pytest.mark.parametrize("mode", [None, 0o700, 0o775])
def test_folders_of_scores(folder, tmp_path, mode):
    output = tmp_path / "scores"
    if mode is not None:
        output.mkdir()
        output.chmod(mode)
    before = os.umask(0o027)
    try:
        run("score", folder / "small.boreod", folder / "new.parquet", "-o", f"{output}/")
    finally:
        os.umask(before)
    assert mode_of(output) == f"{0o750 if mode is None else mode:o}"
    assert [mode_of(path) for path in output.iterdir()] == ["640"]
