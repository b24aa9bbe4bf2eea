"""Machine code on disk that is damaged, and outputs with odd modes or behind links.

Machine code: scores are the same to the bit, whatever is in its folder. Outputs: nobody gets access
who had none, what is write-protected stays as it is, and links stay links.
"""

import ctypes
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .model_cases import damage_often
from .verdicts import REFUSED, SCORED, Wrong, call, check_scores, check_sentence

Random = np.random.Generator
# Seconds for a process that may have to compile all kernels; a case has up to two of them.
PATIENCE = 85.0
# These models need a few kernels, some of them, and nearly all.
CODE_OF = ("raw", "knn", "everything")
FILE_MODES = (0o444, 0o400, 0o000, 0o644, 0o600, 0o666)
FOLDER_MODES = (0o555, 0o777, 0o500, 0o700, 0o755, 0o775, 0o1777, 0o000)
# Somebody who is not the administrator, and who owns nothing.
NOBODY = 65534


def make_caches(random: Random, good: Path, folder: Path) -> dict[str, Any]:
    """Copy warm machine code and damage some of its files; ``run_caches`` sets the modes."""
    name = str(random.choice(CODE_OF, p=[0.4, 0.4, 0.2]))
    warm = _warm_code(good, name)
    for item in ("model.boreod", "table.csv", "expected.csv", "notes.txt"):
        shutil.copy(warm / item, folder / item)
    shutil.copytree(warm / "cache", folder / "cache")
    files = sorted((folder / "cache").rglob("*.nb[ci]"))
    folders = sorted({file.parent for file in files} | {folder / "cache"})
    settings: dict[str, Any] = {"way": name, "done": [], "modes": {}, "owners": {}}
    ways = _DAMAGES if random.random() < 0.8 else _DAMAGES[:1]
    few = int(random.integers(1, 4))
    for place in random.permutation(len(files))[: few if random.random() < 0.9 else None]:
        way = ways[random.integers(len(ways))]
        if files[place].is_file():
            way(files[place], files, random)
            shown = str(files[place].relative_to(folder))
            settings["done"].append(f"{way.__name__[1:]} {shown}")
    if random.random() < 0.4:
        some, modes = (files, FILE_MODES) if random.random() < 0.4 else (folders, FOLDER_MODES)
        chosen = some[random.integers(len(some))]
        # Folders and files of strangers are rare, as only the administrator can make them.
        what, value = "modes", int(random.choice(modes))
        if random.random() < 0.1 and os.geteuid() == 0:
            what, value = "owners", NOBODY
        settings[what][str(chosen.relative_to(folder))] = value
    return settings


def run_caches(folder: Path, settings: dict[str, Any]) -> str:
    """Score a table with the damaged code, and once more with what is there then."""
    code, output = folder / "output" / "cache", folder / "output" / "scored.csv"
    shutil.copytree(folder / "cache", code, symlinks=True)
    for name, owner in settings["owners"].items():
        os.chown(folder / "output" / name, owner, owner)
    for name, mode in settings["modes"].items():
        (folder / "output" / name).chmod(mode)
    expected, notes = (folder / "expected.csv").read_bytes(), (folder / "notes.txt").read_text()
    try:
        told = score(folder, code, output)
        _check_code_run(told, output, expected)
        left = [path.name for path in code.rglob("*") if ".tmp" in path.name]
        if left:
            raise Wrong(f"{left}\nunfinished files are left in the folder of machine code")
        healed = not settings["modes"] and not settings["owners"]
        if healed and not any(path.suffix in (".nbi", ".nbc") for path in _folders_in(code)):
            output.unlink()
            again = score(folder, code, output)
            _check_code_run(again, output, expected)
            if again != notes:
                raise Wrong(f"{again}\nthe second process after some damage has notes, too")
    finally:
        open_up(folder / "output")
    return SCORED


def score(folder: Path, code: Path, output: Path) -> str:
    """Score a table in a fresh process that has its machine code in a folder; return its notes."""
    names = ("model.boreod", "table.csv")
    command = [sys.executable, "-m", "boreod", "score", *names, "--jobs", "1", "--reasons", "2"]
    try:
        done = subprocess.run(
            [*command, "-o", str(output)],
            cwd=folder,
            env={**os.environ, "NUMBA_CACHE_DIR": str(code)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
            preexec_fn=_obey_modes if os.geteuid() == 0 else None,
        )
    except subprocess.TimeoutExpired:
        raise Wrong(f"score takes more than {PATIENCE:.0f} s") from None
    if done.returncode != 0:
        raise Wrong(f"{done.stderr[-5000:]}\nscore ends with exit code {done.returncode}")
    return done.stderr


def _check_code_run(told: str, output: Path, expected: bytes) -> None:
    """Raise unless the scores are the expected ones, and all else that was said are notes."""
    odd = [line for line in told.splitlines() if not line.startswith("Note: ")]
    if odd or "Traceback" in told:
        raise Wrong(f"{told[-5000:]}\nscore says more than notes")
    if output.read_bytes() != expected:
        raise Wrong("scores differ with damaged machine code")


def _warm_code(good: Path, name: str) -> Path:
    """Return a folder with a model, a table, their machine code and their scores."""
    folder = good / f"code-{name}"
    if not (folder / "notes.txt").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shutil.copy(good / f"table-{name}.boreod", folder / "model.boreod")
        shutil.copy(good / "score.csv", folder / "table.csv")
        notes = [score(folder, folder / "cache", folder / "expected.csv") for _ in range(2)]
        (folder / "notes.txt").write_text(notes[1])
    return folder


def _obey_modes() -> None:
    """Let modes of files hold for the administrator too, in the program that is started next."""
    prctl = ctypes.CDLL(None).prctl
    # PR_CAPBSET_DROP of CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH.
    prctl(24, 1, 0, 0, 0)
    prctl(24, 2, 0, 0, 0)


def _folders_in(code: Path) -> list[Path]:
    return [path for path in code.rglob("*") if path.is_dir()]


def _bytes(file: Path, files: list[Path], random: Random) -> None:
    """Overwrite one to fifty bytes at random places."""
    content = np.frombuffer(file.read_bytes(), np.uint8).copy()
    if len(content):
        places = random.integers(len(content), size=random.integers(1, 51))
        content[places] = random.integers(256, size=len(places))
    file.write_bytes(content.tobytes())


def _cut(file: Path, files: list[Path], random: Random) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: random.integers(len(content) + 1)])


def _emptied(file: Path, files: list[Path], random: Random) -> None:
    file.write_bytes(b"")


def _garbage(file: Path, files: list[Path], random: Random) -> None:
    file.write_bytes(random.bytes(random.integers(1, 20_000)))


def _mixed(file: Path, files: list[Path], random: Random) -> None:
    file.write_bytes(damage_often(file.read_bytes(), random))


def _swapped(file: Path, files: list[Path], random: Random) -> None:
    """Change places with a file of the same kind, or of the other kind."""
    others = [other for other in files if other.is_file() and other != file]
    if random.random() < 0.8:
        others = [other for other in others if other.suffix == file.suffix]
    if others:
        other = others[random.integers(len(others))]
        mine = file.read_bytes()
        file.write_bytes(other.read_bytes())
        other.write_bytes(mine)


def _folder(file: Path, files: list[Path], random: Random) -> None:
    file.unlink()
    file.mkdir()
    if random.random() < 0.5:
        (file / "x").touch()


def _removed(file: Path, files: list[Path], random: Random) -> None:
    file.unlink()


_DAMAGES = (_bytes, _bytes, _cut, _emptied, _garbage, _mixed, _swapped, _swapped, _folder, _removed)


OUTPUTS = ("scored.csv", "scored.parquet", "scored.jsonl", "scored.arrow", "fitted.boreod",
           "page.html")  # fmt: skip
THERE = ("nothing", "file", "file", "file", "link", "link", "chain", "dangling", "lost", "loop",
         "folder", "link to folder", "twin")  # fmt: skip
MASKS = (0o022, 0o077, 0o027, 0o002, 0o000)
OPEN_FOLDERS = (0o755, 0o755, 0o700, 0o777, 0o1777, 0o555)


def make_modes(random: Random, good: Path, folder: Path) -> dict[str, Any]:
    """Write a model and tables; the settings say what is where the output will be."""
    for name, source in (("model.boreod", "table-knn.boreod"), ("table.csv", "score.csv"),
                         ("fit.csv", "fit.csv")):  # fmt: skip
        shutil.copy(good / source, folder / name)
        (folder / name).chmod(0o644)
    users = [0, NOBODY] if os.geteuid() == 0 else [os.geteuid()]
    any_mask = random.random() < 0.3
    return {
        "way": (there := str(random.choice(THERE))),
        "there": there,
        "output": str(random.choice(OUTPUTS, p=[0.25, 0.2, 0.1, 0.1, 0.2, 0.15])),
        "mode": int(random.integers(0o400, 0o1000)),
        "mask": int(random.integers(0o100) if any_mask else random.choice(MASKS)),
        "folder_mode": int(random.choice(OPEN_FOLDERS)),
        "user": int(random.choice(users)),
        "owner": int(random.choice(users)),
    }


def run_modes(folder: Path, settings: dict[str, Any]) -> str:
    """Run a command whose output is there already, and look at what is there then."""
    inside = folder / "output"
    inside.mkdir()
    name = settings["output"]
    command = commands(folder)[name]
    _warm_up(name, folder)
    try:
        user = settings["user"] if _can_enter(inside, settings["user"]) else os.geteuid()
        _put_there(inside / name, settings, user)
        inside.chmod(settings["folder_mode"])
        before = facts_of(inside)
        target = os.path.relpath(os.path.realpath(inside / name), os.path.realpath(inside))
        with acting(user, settings["mask"]):
            expected = _is_writable(inside / name)
            done = call(*command, inside / name)
        after = facts_of(inside)
    finally:
        open_up(inside)
    if done.exit_code != 0:
        _check_refusal(done, expected, before, after)
        return REFUSED
    if expected is False:
        raise Wrong(f"{before}\n{after}\na command writes what is protected or no file")
    _check_modes(before, after, target, settings, user)
    _check_content(inside / target, name)
    return SCORED


def commands(folder: Path) -> dict[str, list[object]]:
    """Return the commands of all outputs, without the output."""
    model, table, train = (folder / name for name in ("model.boreod", "table.csv", "fit.csv"))
    result: dict[str, list[object]] = {
        name: ["score", model, table, "--jobs", 1, "-o"] for name in OUTPUTS[:4]
    }
    result["fitted.boreod"] = ["fit", train, "--label", "fraud", "--id", "id", "--jobs", 1,
                               "--method", "bore", "--costs", "complexity:shared",
                               "--budget", 20, "-o"]  # fmt: skip
    result["page.html"] = ["report", model, train, "--jobs", 1, "-o"]
    return result


def _put_there(path: Path, settings: dict[str, Any], user: int) -> None:
    """Make what is there before the command: a file, a link, a folder or nothing."""
    inside, there = path.parent, settings["there"]
    holds_file = there in ("file", "link", "chain", "twin")
    real = path if there == "file" else inside / "real"
    if holds_file:
        real.write_text("old")
        real.chmod(settings["mode"])
    if there == "twin":
        path.hardlink_to(real)
    if there in ("folder", "link to folder"):
        (path if there == "folder" else inside / "real").mkdir()
    ends = {"link": "real", "link to folder": "real", "chain": "middle", "dangling": "later",
            "lost": "nowhere/later", "loop": "middle"}  # fmt: skip
    if there in ends:
        path.symlink_to(ends[there])
    if there in ("chain", "loop"):
        (inside / "middle").symlink_to("real" if there == "chain" else path.name)
    if os.geteuid() == 0:
        os.chown(inside, user, user)
        if holds_file:
            os.chown(real, settings["owner"], settings["owner"])


def _is_writable(path: Path) -> bool | None:
    """Return whether this user may write a file; None if its folder is not there."""
    try:
        target = path.resolve(strict=False)
    except (OSError, RuntimeError):
        return False
    if target.is_symlink() or target.is_dir():
        return False
    if not target.parent.is_dir():
        return None
    if not os.access(target.parent, os.W_OK | os.X_OK):
        return False
    if not target.exists():
        return True
    return bool(target.stat().st_mode & stat.S_IWUSR) and os.access(target, os.W_OK)


def facts_of(inside: Path) -> dict[str, tuple]:
    """Return the mode, the owners and the content of all that is in a folder."""
    facts = {}
    for path in sorted(inside.rglob("*")):
        status = path.lstat()
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_dir():
            content = "a folder"
        else:
            content = path.read_bytes() if os.access(path, os.R_OK) else b"unreadable"
            content = content if len(content) < 9 else f"{len(content)} bytes"
        mode = oct(stat.S_IMODE(status.st_mode))
        facts[str(path.relative_to(inside))] = (mode, status.st_uid, status.st_gid, content)
    return facts


def _check_refusal(done: Any, expected: bool | None, before: dict, after: dict) -> None:
    """Raise unless an output was refused for a reason, in a sentence, and all is as it was."""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("Note: ")]
    if done.exit_code not in (1, 2) or len(lines) != 1 or not lines[0].startswith("Error: "):
        raise Wrong(f"{done.stderr[-2000:]}\na command does not refuse an output in one sentence")
    check_sentence(lines[0])
    if expected:
        raise Wrong(f"{lines[0]}\n{before}\na command refuses an output that may be written")
    if before != after:
        raise Wrong(f"{lines[0]}\n{before}\n{after}\na command refuses an output and changes it")


def _check_modes(
    before: dict, after: dict, target: str, settings: dict[str, Any], user: int
) -> None:
    """Raise if the mode of the output is wrong, or anything else has changed."""
    both = f"{before}\n{after}\n"
    rest = [{name: fact for name, fact in facts.items() if name != target and
             not (settings["there"] == "lost" and name == "nowhere")}
            for facts in (before, after)]  # fmt: skip
    if rest[0] != rest[1]:
        raise Wrong(f"{both}other files than the output have changed")
    if target not in after or after[target][3] == b"old":
        raise Wrong(f"{both}a command ends well and has not written its output")
    new = int(after[target][0], 8)
    if target not in before:
        usual = 0o600 if settings["output"].endswith("boreod") else 0o666
        if new != usual & ~settings["mask"]:
            raise Wrong(f"{both}the mode of a new file is not {usual:o} less the umask")
        return
    old = int(before[target][0], 8)
    if new & ~old:
        raise Wrong(f"{both}the mode of a file is wider than before")
    keeps_owner = user == 0 or before[target][1:3] == (user, user)
    if keeps_owner and before[target][:3] != after[target][:3]:
        raise Wrong(f"{both}a file that may be written has another mode or owner than before")


def _check_content(path: Path, name: str) -> None:
    """Raise if the output is not whole."""
    if name.startswith("scored"):
        # Its suffix may be that of a target of a link, or none.
        whole = path.with_name(f"whole-{name}")
        shutil.copy(path, whole)
        check_scores(whole, whole=True)
    elif name == "page.html":
        if not path.read_text(encoding="utf-8").endswith("</html>\n"):
            raise Wrong("a report is not whole")
    else:
        from boreod import load

        load(path)


@contextmanager
def acting(user: int, mask: int) -> Iterator[None]:
    """Be another user, if this is the administrator, with another umask."""
    is_other = user != os.geteuid()
    groups, before = os.getgroups(), os.umask(mask)
    try:
        if is_other:
            os.setgroups([])
            os.setresgid(user, user, 0)
            # The saved user lets this process come back.
            os.setresuid(user, user, 0)
        yield
    finally:
        if is_other:
            os.setresuid(0, 0, 0)
            os.setresgid(0, 0, 0)
            os.setgroups(groups)
        os.umask(before)


def _can_enter(folder: Path, user: int) -> bool:
    """Return whether a user can reach a folder; temporary folders may be closed to others."""
    with acting(user, 0o022):
        return os.access(folder, os.X_OK)


@cache
def _warm_up(name: str, folder: Path) -> None:
    """Run a command once, as its later imports may be out of reach for other users."""
    scratch = folder / f"warm-{name}"
    call(*commands(folder)[name], scratch)
    scratch.unlink()


def open_up(folder: Path) -> None:
    """Let this user read, enter and delete all that is in a folder."""
    with suppress(OSError):
        folder.chmod(0o755)
    for base, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(base, name)
            if not path.is_symlink():
                with suppress(OSError):
                    path.chmod(path.stat().st_mode | (0o700 if name in folders else 0o600))
