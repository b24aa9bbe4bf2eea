"""Too little memory gives a sentence, and a second signal ends a command, whatever it is doing."""

import os
import signal
import subprocess
import sys
import time

import pytest
from payments import make_frauds, small_model, write

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs limits and signals")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("limits")
    write(make_frauds(), path / "payments.csv")
    small_model().save(path / "fraud.boreod")
    return path


COMMANDS = [
    ["score", "fraud.boreod", "payments.csv", "-o", "scored.csv"],
    ["fit", "payments.csv", "--label", "fraud", "-o", "new.boreod"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize(
    ("option", "megabytes"),
    [("-v", 300), ("-v", 700), ("-v", 1100), ("-d", 100), ("-d", 200), ("-d", 230)],
)
def test_too_little_memory(command, option, megabytes, folder):
    limited = ["sh", "-c", f'ulimit {option} {megabytes * 1000}; exec "$@"', "sh", sys.executable]
    done = subprocess.run(
        [*limited, "-m", "boreod", *command],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    needed = f", and the limit is {megabytes * 1000} kB. Raise it (ulimit {option})"
    assert needed in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize(("option", "megabytes"), [("-v", 1500), ("-v", 1800), ("-d", 650)])
def test_enough_memory(command, option, megabytes, folder):
    """OpenBLAS and Arrow once took what Numba then lacked, and waited forever."""
    limited = ["sh", "-c", f'ulimit {option} {megabytes * 1000}; exec "$@"', "sh", sys.executable]
    subprocess.run([*limited, "-m", "boreod", *command], cwd=folder, timeout=100, check=True)


# The main thread waits in C code, which no handler of Python interrupts.
STUCK = """
import ctypes, sys
from boreod.tool.cli import app
module = sys.modules["boreod.tool.cli.app"]
def wait():
    print("ready", flush=True)
    library = ctypes.CDLL(None)
    # The lock is held already, so the second call waits forever, without Python's lock.
    held = ctypes.create_string_buffer(256)
    library.pthread_mutex_lock(held)
    library.pthread_mutex_lock(held)
module.app = wait
module.main()
"""
CLEANING = """
import sys, time
from boreod.tool.cli import app
module = sys.modules["boreod.tool.cli.app"]
def wait():
    try:
        print("ready", flush=True)
        time.sleep(60)
    finally:
        time.sleep(float(sys.argv[1]))
        print("cleaned", flush=True)
module.app = wait
module.main()
"""


def start(code, *arguments):
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    return process


NUMBERS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.mark.parametrize(("number", "code"), NUMBERS)
@pytest.mark.parametrize(
    "program", [(STUCK,), (CLEANING, "100")], ids=["code without an end", "a long cleanup"]
)
def test_a_second_signal_ends_what_python_cannot_interrupt(program, number, code):
    process = start(*program)
    process.send_signal(number)
    time.sleep(0.8)
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == code


@pytest.mark.parametrize(("number", "code"), NUMBERS)
def test_a_signal_that_comes_twice_at_once_lets_the_cleanup_end(number, code):
    """A terminal and the program that started the command both pass it on."""
    process = start(CLEANING, "0.2")
    # No pause: on a busy machine, even a short one may last as long as the time that counts.
    for _ in range(5):
        process.send_signal(number)
    stdout, stderr = process.communicate(timeout=20)
    assert (stdout, stderr) == ("cleaned\n", "Stopped.\n")
    assert process.returncode == code
