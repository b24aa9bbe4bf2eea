"""Broken files: name, content, options, and words of the sentence that must come."""

import gzip
import io
import struct

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

BIG = 600_000  # rows of a narrow file that has more than one block


def as_parquet(table):
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def as_arrow(table):
    sink = io.BytesIO()
    pyarrow.feather.write_feather(table, sink, compression="uncompressed")
    return sink.getvalue()


SMALL = pa.table({"a": [1.0, 2.0], "b": ["x", "y"]})
PARQUET = as_parquet(SMALL)
DAMAGED = PARQUET[:4] + bytes(20) + PARQUET[24:]
LISTS = pa.table({"a": [1], "tags": [["x", "y"]]})
STRUCTS = pa.table({"a": [1], "place": [{"lat": 1.0}]})
TWICE = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
STOP, TRUE = {"bad_cells": "error"}, {"types": {"a": "boolean"}}
LONG = b"a,b\n" + b"1,2\n" * BIG

PACKED = gzip.compress(b"a,b\n" + bytes(range(48, 58)) * 9)
SPOILT = PACKED[:-8] + bytes(8)

BROKEN = [
    ("empty.csv", b"", {}, ["empty"]),
    ("blank.csv", b"\n\n  \n", {}, ["empty"]),
    ("header.csv", b"a,b\n", {}, ["no rows"]),
    ("header.csv", b"a,b\n\n\n", {}, ["no rows"]),
    ("short.csv", b"a,b\n1,2\n3\n", {}, ["Line 3", "1 cell ", "2"]),
    ("long.csv", b'a,b\n\n"x\ny",2\n3,4,5\n', {}, ["Line 5", "3 cells", "2"]),
    ("cell.csv", b"a,b\n" + b"x" * 200_000 + b",2\n3,4,5\n", {}, ["Row 2", "3 cells"]),
    ("later.csv", LONG + b"1,2,3\n", {}, [f"Line {BIG + 2}", "3 cells"]),
    ("word.csv", LONG + b"7,oops\n", STOP, [f"Line {BIG + 2}", "'b'", "'oops'", "--bad-cells"]),
    (
        "code.csv",
        LONG + b"7,0012\n",
        STOP,
        [f"Line {BIG + 2}", "'b'", "'0012'", "--bad-cells drop"],
    ),
    ("typed.csv", b"a,b\n1,x\n", STOP | {"types": {"b": "number"}}, ["Line 2", "'b'", "'x'"]),
    ("true.csv", b"a\ntrue\n" * 2, STOP | TRUE, ["Line 3", "'a'", "no truth value"]),
    ("quote.csv", b'a,b\n1,2\n3,"4\n5,6\n', {}, ["Line 3", "quotation mark", "never closed"]),
    ("latin.csv", b"a,b\n1,x\n2,caf\xe9\n", {}, ["line 3", "0xe9", "byte 14", "cp1252"]),
    ("utf16.csv", "a,b\n1,2\n".encode("utf-16-le"), {}, ["zero byte", "--encoding"]),
    ("zeros.csv", b"a,b\n1,2\n\x00\x00,3\n", {}, ["zero byte", "line 3"]),
    ("cp.csv", b"a\n\x81\n", {"encoding": "cp1252"}, ["not cp1252", "0x81"]),
    ("names.csv", b"a,b,a\n1,2,3\n", {}, ["'a'", "column 1", "column 3", "Rename"]),
    ("numbers.csv", b"1,2.5,-3\n4,5,6\n", {}, ["only numbers", "--no-header"]),
    ("excel.csv", b"PK\x03\x04rest", {}, ["Excel", "CSV"]),
    ("parquet.csv", PARQUET, {}, ["Parquet", "--format parquet"]),
    ("arrow.csv", as_arrow(SMALL), {}, ["Arrow", "--format arrow"]),
    ("cut.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 99)[:-9], {}, ["cut short"]),
    ("bad.csv.gz", SPOILT, {}, ["damaged"]),
    ("text.parquet", b"a,b\n1,2\n", {}, ["not a Parquet file"]),
    ("empty.parquet", b"", {}, ["not a Parquet file"]),
    ("cut.parquet", PARQUET[:-20], {}, ["not a Parquet file"]),
    ("pages.parquet", DAMAGED, {}, ["not a Parquet file", "damaged"]),
    ("rows.parquet", as_parquet(SMALL.slice(0, 0)), {}, ["no rows"]),
    ("list.parquet", as_parquet(LISTS), {}, ["'tags'", "nested"]),
    ("struct.parquet", as_parquet(STRUCTS), {}, ["'place'", "nested"]),
    ("bytes.parquet", as_parquet(pa.table({"a": [b"x"]})), {}, ["'a'", "binary"]),
    ("twice.parquet", as_parquet(TWICE), {}, ["'a'", "column 2"]),
    ("text.arrow", b"a,b\n1,2\n", {}, ["not an Arrow"]),
    ("empty.feather", b"", {}, ["not an Arrow"]),
    ("cut.arrow", as_arrow(SMALL)[:-30], {}, ["not an Arrow"]),
    ("huge.arrow", struct.pack("<II", 0xFFFFFFFF, 2**31 - 1), {}, ["not an Arrow"]),
    ("empty.jsonl", b"\n", {}, ["empty"]),
    ("list.jsonl", b'[{"a": 1}, 5]\n', {}, ["Object 2", "must be an object", "5"]),
    ("cut.json", b'[{"a": 1}, {"a"', {}, ["Object 2", "not JSON"]),
    ("comma.json", b'[{"a": 1} {"a": 2}]', {}, ["Object 2", "not JSON"]),
    ("broken.jsonl", b'{"a": 1}\n\n{"a": \n', {}, ["Line 3", "not JSON"]),
    ("nested.jsonl", b'{"a": 1}\n{"a": [1, 2]}\n', {}, ["Line 2", "nested", "'a'"]),
    ("deep.jsonl", b'{"a": 1}\n' + b"[" * 100_000 + b"\n", {}, ["Line 2", "nested"]),
    ("twice.jsonl", b'{"b": 0, "a": 1, "a": 2}\n', {}, ["Line 1", "twice: 'a'."]),
    ("half.jsonl", b'{"a": 1}\n{"a": "\\ud800"}\n', {}, ["Line 2", "half of a letter"]),
    ("half_key.jsonl", b'{"\\udc00": 1}\n', {}, ["Line 1", "half of a letter"]),
    ("word.jsonl", b'{"a": 1}\n' * 10_000 + b'{"a": "x"}', STOP, ["Line 10001", "'a'", "'x'"]),
    ("key.jsonl", b'{"a": 1}\n' * 10_000 + b'{"b": 1}', {}, ["Line 10001", "'b'"]),
    ("keys.jsonl", b"{}\n{}\n", {}, ["no keys"]),
    ("table.xlsx", b"PK", {}, ["cannot be read as an Excel workbook"]),
    ("table.sqlite", b"no database at all", {}, ["cannot be read as an SQLite database"]),
    ("table.duckdb", b"no database at all", {}, ["cannot be read as a DuckDB database"]),
    ("table.csv.zst", b"\x28\xb5\x2f\xfd\x00", {}, ["damaged"]),
    ("table.zip", b"PK\x03\x04", {}, ["not a zip archive"]),
    ("table.csv.lzo", b"BZ", {}, ["does not tell its format", "--format"]),
    ("a.csv", b"a,b\n1,2\n", {"format": "excel"}, ["format", "'excel'", "parquet"]),
    ("a.csv", b"a,b\n1,2\n", {"separator": "ab"}, ["separator", "'ab'"]),
    ("a.csv", b"a,b\n1,2\n", {"encoding": "klingon"}, ["encoding", "'klingon'"]),
    ("a.csv", b"a,b\n1,2\n", {"decimal": ";"}, ["decimal", "';'"]),
    ("a.csv", b"a,b\n1,2\n", {"bad_cells": "no"}, ["bad_cells", "'no'", "drop"]),
    ("a.csv", b"a,b\n1,2\n", {"types": {"a": "int"}}, ["'int'", "number"]),
    ("a.csv", b"amount,b\n1,2\n", {"columns": ["amonut"]}, ["'amonut'", "mean 'amount'"]),
    ("a.parquet", PARQUET, {"columns": ["c"]}, ["'c'", "'a', 'b'"]),
    ("a.csv", b"a,b\n1,2\n", {"batch_rows": 0}, ["batch_rows", "0"]),
]
