"""Model files are refused in one sentence."""

import re
import tracemalloc

import pytest

from boreod import BORE
from boreod.persistence import ModelFileError, load_predictor

ALLOWANCE = 100_000_000


def assert_refused(path, content=None):
    """Load a file, expect one sentence, and look at the memory."""
    if content is not None:
        path.write_bytes(content)
    size = path.stat().st_size
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError) as caught:
            load_predictor(path, kind=BORE)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 2 * size + ALLOWANCE
    assert_one_sentence(str(caught.value))
    assert caught.value.__suppress_context__
    return str(caught.value)


def assert_one_sentence(message):
    assert re.fullmatch(r"The model file '.*' cannot be used: [^\n]{5,}[^.]\.", message), message
    assert ". " not in message
    assert len(message) < 600
