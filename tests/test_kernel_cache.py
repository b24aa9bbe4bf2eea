"""Machine code on disk is that of the source files at hand, whatever the time that these bear."""

import os
import re
import subprocess
import sys

CALLED = "from boreod.compiled import inner\n\n@inner\ndef part(value):\n    return value + {}\n"
KERNEL = (
    "from boreod.compiled import compiled\nfrom called import part\n\n"
    "@compiled\ndef kernel(value):\n    return part(value)\n"
)
USE = (
    "from boreod.compiled import count_kernels\nfrom kernels import kernel\n"
    "print(kernel(1.0), *count_kernels()[:2])"
)


FULL = (
    "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
)


def run(folder, before=""):
    paths = os.pathsep.join([str(folder), *filter(None, sys.path)])
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": paths}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [sys.executable, "-c", before + USE]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return [*result.stdout.split(), *re.findall(r"Compiled code could .*?\)", result.stderr)]


def test_code_is_compiled_again_if_another_file_changed(tmp_path):
    (tmp_path / "called.py").write_text(CALLED.format(1.0))
    (tmp_path / "kernels.py").write_text(KERNEL)
    assert run(tmp_path) == ["2.0", "1", "0"]
    os.utime(tmp_path / "kernels.py", (1e9, 1e9))  # images keep no parts of seconds
    assert run(tmp_path) == ["2.0", "0", "1"]
    (tmp_path / "called.py").write_text(CALLED.format(2.0))
    assert run(tmp_path) == ["3.0", "1", "0"]


def test_a_full_disk_stops_no_kernel(tmp_path):
    (tmp_path / "called.py").write_text(CALLED.format(1.0))
    (tmp_path / "kernels.py").write_text(KERNEL)
    told = "Compiled code could not be kept (File too large)"
    assert run(tmp_path, FULL) == ["2.0", "1", "0", told]
    assert run(tmp_path) == ["2.0", "1", "0"]
