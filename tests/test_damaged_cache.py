"""Damaged machine code is compiled again, and code from folders of others is never read."""

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_kernel_cache import CALLED, KERNEL, USE

posix = pytest.mark.skipif(os.name != "posix", reason="needs modes of files")


def start(folder, before=""):
    paths = os.pathsep.join([str(folder), *filter(None, sys.path)])
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": paths}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [sys.executable, "-c", before + USE]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def run(folder, before=""):
    process = start(folder, before)
    stdout, stderr = process.communicate(timeout=100)
    assert process.returncode == 0, stderr
    return stdout.split(), stderr


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "called.py").write_text(CALLED.format(1.0))
    (tmp_path / "kernels.py").write_text(KERNEL)
    assert run(tmp_path)[0] == ["2.0", "1", "0"]
    return tmp_path


def cut(content):
    return content[: len(content) // 2]


def garble(content):
    return bytes((7 * place + 1) % 256 for place in range(len(content)))


def flip(content):
    """Change one byte near the end, within the machine code or the names of files."""
    place = 4 * len(content) // 5
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [lambda _: b"", cut, garble, flip])
def test_damaged_files_are_replaced(folder, suffix, damage):
    (file,) = (folder / "cache").rglob(f"*.{suffix}")
    file.write_bytes(damage(file.read_bytes()))
    found, told = run(folder)
    assert found == ["2.0", "1", "0"]
    assert (f"Machine code in {file.parent} is damaged" in told) == (
        damage != flip or suffix == "nbc"
    )
    assert run(folder) == (["2.0", "0", "1"], "")


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_folder_in_place_of_a_file(folder, suffix):
    (file,) = (folder / "cache").rglob(f"*.{suffix}")
    file.unlink()
    file.mkdir()
    found, told = run(folder)
    assert found == ["2.0", "1", "0"]
    assert "Compiled code could not be kept (Is a directory)" in told


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root reads everything")
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_an_unreadable_file_is_replaced(folder, suffix):
    (file,) = (folder / "cache").rglob(f"*.{suffix}")
    file.chmod(0)
    assert run(folder)[0] == ["2.0", "1", "0"]
    assert run(folder) == (["2.0", "0", "1"], "")


class Planted:
    def __reduce__(self):
        return os.mkdir, ("planted",)


def plant(folder):
    for file in (folder / "cache").rglob("*.nb*"):
        file.write_bytes(pickle.dumps(Planted()))


@posix
@pytest.mark.parametrize("what", ["cache", "cache/*", "cache/*/*.nbi"])
@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_planted_code_does_not_run(folder, what, mode, monkeypatch):
    monkeypatch.chdir(folder)
    (place,) = folder.glob(what)
    plant(folder)
    planted = {file: file.read_bytes() for file in (folder / "cache").rglob("*.nb*")}
    place.chmod(mode)
    if (what, mode) == ("cache", 0o1777):
        # Nobody can replace a folder in a sticky one, as in /tmp, so this is no code of others.
        place.chmod(0o777)
    found, told = run(folder)
    assert found[0] == "2.0"
    assert not (folder / "planted").exists()
    assert f"Other users may write to {place}, so machine code in" in told
    assert {file: file.read_bytes() for file in (folder / "cache").rglob("*.nb*")} == planted


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="needs another user")
def test_folders_of_another_user_are_not_trusted(folder, monkeypatch):
    monkeypatch.chdir(folder)
    plant(folder)
    (place,) = folder.glob("cache/*")
    os.chown(place, 12345, 12345)
    assert "Other users may write to" in run(folder)[1]
    assert not (folder / "planted").exists()


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="needs another group")
@pytest.mark.parametrize(("group", "is_open"), [(0, False), (12345, True)])
def test_only_a_group_of_the_user_may_write(folder, group, is_open):
    (place,) = folder.glob("cache/*")
    os.chown(place, 0, group)
    place.chmod(0o775)
    assert ("Other users may write to" in run(folder)[1]) == is_open


@posix
def test_an_own_folder_below_a_sticky_one_is_trusted(folder):
    (folder / "cache").chmod(0o1777)
    assert run(folder) == (["2.0", "0", "1"], "")


@posix
def test_nobody_else_may_write_to_new_files(tmp_path):
    (tmp_path / "called.py").write_text(CALLED.format(1.0))
    (tmp_path / "kernels.py").write_text(KERNEL)
    found, told = run(tmp_path, "import os; os.umask(0)\n")
    assert (found, told) == (["2.0", "1", "0"], "")
    for path in [tmp_path / "cache", *(tmp_path / "cache").rglob("*")]:
        assert path.stat().st_mode & 0o022 == 0
    assert run(tmp_path)[0] == ["2.0", "0", "1"]


@posix
@pytest.mark.parametrize("after", [0.0, 0.05, 0.1])
def test_a_kill_while_code_is_written(tmp_path, after):
    (tmp_path / "called.py").write_text(CALLED.format(1.0))
    (tmp_path / "kernels.py").write_text(KERNEL)
    process = start(tmp_path)
    give_up = time.monotonic() + 60
    while not any(Path(tmp_path / "cache").rglob("*.nb*")) and time.monotonic() < give_up:
        time.sleep(0.001)
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    found, told = run(tmp_path)
    assert (found[0], told) == ("2.0", "")


def test_an_index_of_new_sources_does_not_name_old_code(folder):
    """A process was killed after it had written the index, and before it wrote the code."""
    (code,) = (folder / "cache").rglob("*.nbc")
    old = code.read_bytes()
    (folder / "called.py").write_text(CALLED.format(2.0))
    assert run(folder)[0] == ["3.0", "1", "0"]
    code.write_bytes(old)
    assert run(folder)[0] == ["3.0", "1", "0"]
    assert run(folder)[0] == ["3.0", "0", "1"]


def test_an_import_of_numba_that_fails(tmp_path):
    (tmp_path / "numba.py").write_text("raise OSError('cannot map libllvmlite.so')")
    (tmp_path / "called.py").write_text(CALLED.format(1.0))
    (tmp_path / "kernels.py").write_text(KERNEL)
    process = start(tmp_path)
    told = process.communicate()[1].splitlines()[-1]
    words = "ImportError: Numba could not be imported (cannot map libllvmlite.so). Install it again"
    assert told.startswith(words)
