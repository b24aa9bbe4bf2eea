"""Commands as a user types them, in this process or in one of their own."""

import subprocess
import sys

from typer.testing import CliRunner

from boreod.tool.cli import app

PROGRAM = [sys.executable, "-c", "from boreod.tool.cli import main; main()"]


def run(*arguments, code=0, **options):
    """Run a command here; expect an exit code and no traceback."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], **options)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def start_python(code, *arguments):
    """Start Python itself."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )


def start(folder, *arguments, **options):
    """Start a command in a process of its own."""
    return subprocess.Popen(
        [*PROGRAM, *map(str, arguments)], cwd=folder, stderr=subprocess.PIPE,
        stdout=subprocess.PIPE, **options,
    )  # fmt: skip
