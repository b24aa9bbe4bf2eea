"""Damaged files: whatever is wrong with them, there is a table or one sentence."""

import numpy as np
import pytest
from fuzz.byte_damage import damage

from boreod.tables import TableError, read_table, write_batches

from .test_round_trips import make_table

SUFFIXES = ("csv", "jsonl", "parquet", "arrow", "csv.gz")
PER_FORMAT = 40


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_or_one_sentence(suffix, tmp_path):
    path = tmp_path / f"whole.{suffix}"
    write_batches(path, make_table().to_batches())
    content, random = path.read_bytes(), np.random.default_rng(0)
    sentences = []
    for number in range(PER_FORMAT):
        damaged = tmp_path / f"damaged_{number}.{suffix}"
        damaged.write_bytes(damage(content, random))
        try:
            read_table(damaged)
        except TableError as error:
            sentences.append(str(error))
    assert sentences  # some damage cannot be overlooked
    assert not [text for text in sentences if "\n" in text or len(text) > 1000]
