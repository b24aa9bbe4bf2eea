"""Tables as companies have them, each with what must come out.

``python tests/messy/tables.py FOLDER`` writes them all, for a look at them. The rows are always the
same: forty payments, of which some are frauds. A case spoils how they are written, and says which
amounts, labels and notes must come out, or which sentence.
"""

import bz2
import gzip
import io
import json
import re
import sqlite3
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 40
RANDOM = np.random.default_rng(7)
AMOUNTS = np.round(RANDOM.lognormal(6.5, 1.2, ROWS), 2)
AMOUNTS[:3] = 1234.5, 12.0, 51080.25
FRAUD = np.arange(ROWS) % 8 == 2
COUNTRIES = RANDOM.choice(["DE", "FR", "US"], ROWS).tolist()
IDS = [f"p{number}" for number in range(ROWS)]
LABELS = ["1" if fraud else "0" for fraud in FRAUD]
CODES = FRAUD.astype(int)


@dataclass
class Case:
    """A messy table: how it is written and read, and what must come out."""

    name: str
    write: Callable[[Path], str]  # writes into a folder, and returns what to type
    reading: dict[str, Any] = field(default_factory=dict)
    roles: dict[str, Any] = field(default_factory=dict)  # drop, keep
    outlier_label: str | None = None
    amounts: np.ndarray | None = field(default_factory=lambda: AMOUNTS)  # NaN is missing
    codes: np.ndarray = field(default_factory=lambda: CODES)
    note: str | None = None  # a pattern, among the warnings
    like: str | None = None  # how fit's table says that amounts are written
    outputs: tuple[str, ...] = ()  # columns of numbers that are made of others than the amount
    error: str | None = None  # a pattern, if it must be refused


def grouped(value: float, comma: str = ",", point: str = ".", digits: int = 2) -> str:
    """Return a number with groups of thousands."""
    text = f"{value:,.{digits}f}"
    return text.translate(str.maketrans({",": comma, ".": point}))


WRITTEN: dict[str, tuple[Callable[[float], str], str]] = {
    "dollars": (lambda v: f"${grouped(v)}", "$1,234.50"),
    "dollars space": (lambda v: f"$ {grouped(v)}", "$1,234.50"),
    "currency before": (lambda v: f"USD {grouped(v)}", "USD 1,234.50"),
    "currency behind": (lambda v: f"{grouped(v)} CHF", "1,234.50 CHF"),
    "euro": (lambda v: f"{grouped(v, '.', ',')} €", "1.234,50€"),
    "euro before": (lambda v: f"€{grouped(v, '.', ',')}", "€1.234,50"),
    "german": (lambda v: grouped(v, ".", ","), "1.234,50"),
    "plain comma": (lambda v: f"{v:.2f}".replace(".", ","), "1234,50"),
    "french": (lambda v: grouped(v, "\u202f", ","), "1 234,50"),
    "nbsp": (lambda v: grouped(v, "\u00a0", ","), "1 234,50"),
    "swiss": (lambda v: grouped(v, "'", "."), "1'234.50"),
    "swiss letters": (lambda v: grouped(v, "\u2019", "."), "1'234.50"),
    "english": (grouped, "1,234.50"),
    "unit": (lambda v: f"{v:.2f} kg", "1234.50 kg"),
    "real": (lambda v: f"R$ {grouped(v, '.', ',')}", "R$ 1.234,50"),
}
SIGNED: dict[str, Callable[[float], str]] = {
    "parentheses": lambda v: f"({grouped(-v)})" if v < 0 else grouped(v),
    "dollars in parentheses": lambda v: f"(${grouped(-v)})" if v < 0 else f"${grouped(v)}",
    "trailing minus": lambda v: f"{grouped(-v)}-" if v < 0 else grouped(v),
    "unicode minus": lambda v: f"\u2212{grouped(-v)}" if v < 0 else grouped(v),
    "minus before dollars": lambda v: f"-${grouped(-v)}" if v < 0 else f"${grouped(v)}",
}


def table(amounts: list[Any], **others: list[Any]) -> dict[str, list[Any]]:
    """Return the columns of a table."""
    return {"id": IDS, "amount": amounts, "country": COUNTRIES, "fraud": LABELS, **others}


def as_csv(columns: dict[str, list[Any]], separator: str = ",", end: str = "\n") -> str:
    """Return separated text; cells are quoted where they must be."""

    def cell(value: Any) -> str:
        text = "" if value is None else str(value)
        return '"' + text.replace('"', '""') + '"' if separator in text or '"' in text else text

    lines = [list(columns), *zip(*columns.values(), strict=True)]
    return "".join(separator.join(map(cell, line)) + end for line in lines)


def text_file(content: str | bytes, name: str = "a.csv") -> Callable[[Path], str]:
    """Return what writes a file."""

    def write(folder: Path) -> str:
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
        return str(folder / name)

    return write


def csv_file(columns: dict[str, list[Any]], **options: Any) -> Callable[[Path], str]:
    return text_file(as_csv(columns, **options))


def parquet_file(columns: dict[str, list[Any]]) -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        pq.write_table(pa.table(columns), folder / "a.parquet")
        return str(folder / "a.parquet")

    return write


def workbook(
    columns: dict[str, list[Any]], empty_sheet: bool = False, above: Any = (), middle: Any = ()
) -> Callable[[Path], str]:
    """Return what writes a workbook; more lines may be above the names and amid the rows."""

    def write(folder: Path) -> str:
        book = openpyxl.Workbook()
        names, *rows = [list(columns), *zip(*columns.values(), strict=True)]
        for line in [*above, names, *rows[:9], *middle, *rows[9:]]:
            book.active.append(list(line))
        if empty_sheet:
            book.create_sheet("notes")
        book.save(folder / "a.xlsx")
        return str(folder / "a.xlsx")

    return write


def database(columns: dict[str, list[Any]], *more: str) -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        connection = sqlite3.connect(folder / "a.sqlite")
        names = ", ".join(f'"{name}"' for name in columns)
        connection.execute(f"CREATE TABLE payments ({names})")
        marks = ", ".join("?" * len(columns))
        rows = list(zip(*columns.values(), strict=True))
        connection.executemany(f"INSERT INTO payments VALUES ({marks})", rows)
        for name in more:
            connection.execute(f"CREATE TABLE {name} (a)")
        connection.commit()
        connection.close()
        return str(folder / "a.sqlite")

    return write


FILES = {"csv": csv_file, "parquet": parquet_file, "xlsx": workbook, "sqlite": database}


def replaced(changes: dict[int, Any], values: Any = AMOUNTS) -> list[Any]:
    """Return amounts, some of them something else."""
    return [changes.get(row, value) for row, value in enumerate(np.asarray(values).tolist())]


def missing(*rows: int) -> np.ndarray:
    values = AMOUNTS.copy()
    values[list(rows)] = np.nan
    return values


def number_cases() -> list[Case]:
    cases = [
        Case(f"{name}, {suffix}", make(table([write(v) for v in AMOUNTS])), like=like)
        for name, (write, like) in WRITTEN.items()
        for suffix, make in FILES.items()
        if suffix in ("csv", "parquet") or name in ("dollars", "german", "nbsp")
    ]
    signed = np.where(np.arange(ROWS) % 3 == 1, -AMOUNTS, AMOUNTS)
    for name, style in SIGNED.items():
        written = table([style(v) for v in signed])
        cases.append(Case(name, csv_file(written, separator=";"), amounts=signed))
    percent = table([f"{v:.2f}%" for v in AMOUNTS])
    whole = np.round(AMOUNTS) + 1000
    ambiguous = csv_file(table([grouped(v, digits=0) for v in np.minimum(whole, 9e5)]))
    cases += [
        Case("percent", csv_file(percent), amounts=AMOUNTS / 100, like="1.2%"),
        Case("ambiguous", ambiguous, error=r"'amount'.*--decimal \..*--decimal ,"),
        Case("thousands by word", ambiguous, {"decimal": "."}, amounts=np.minimum(whole, 9e5)),
        Case("fractions by word", ambiguous, {"decimal": ","},
             amounts=np.minimum(whole, 9e5) / 1e3),
        Case("currencies", csv_file(table([f"{'$€'[n % 2]}{n + 5}" for n in range(ROWS)])),
             error="several units"),
        Case("thousands and millions", csv_file(table([f"{v:.1f}{'kM'[n % 2]}"
                                                       for n, v in enumerate(AMOUNTS)])),
             error="several units: M, k"),
        Case("half percent", csv_file(table([f"{v:.2f}{'%' * (n % 2)}"
                                             for n, v in enumerate(AMOUNTS)])),
             error="several units: %, none.*--drop amount"),
    ]  # fmt: skip
    return cases


def bad_cases() -> list[Case]:
    words = {5: "ERR", 9: "N.A.", 20: "-"}
    told = r"3 bad cells .*'ERR'.*'N.A.'.*'-'.* count as missing"
    cases = [
        Case(f"bad cells, {suffix}", make(table([str(c) for c in replaced(words)])),
             amounts=missing(5, 9, 20), note=told)
        for suffix, make in FILES.items()
    ]  # fmt: skip
    bad = csv_file(table([str(c) for c in replaced(words)]))
    markers = dict(enumerate(["NA", "N/A", "#N/A", "NULL", "nan", "None", ""]))
    silent = csv_file(table(replaced(markers)))
    dollars = table([f"${c}" if isinstance(c, float) else c for c in replaced({3: "error"})])
    kept = np.delete(np.arange(ROWS), [5, 9, 20])
    infinite = table([float("inf") if row == 4 else v for row, v in enumerate(AMOUNTS)])
    totals = as_csv(table(AMOUNTS.tolist())) + f"TOTAL,{AMOUNTS.sum()},,\n"
    cases += [
        Case("lines of bad cells", bad, amounts=missing(5, 9, 20), note="line 7: 'ERR'"),
        Case("bad cells stop", bad, {"bad_cells": "error"}, error="Line 7.*'ERR'.*--bad-cells"),
        Case("bad rows left out", bad, {"bad_cells": "drop"}, amounts=AMOUNTS[kept],
             codes=CODES[kept], note="3 rows left out"),
        Case("usual markers", silent, amounts=missing(*range(7))),
        Case("bad dollars", csv_file(dollars), amounts=missing(3), note="line 5: 'error'"),
        Case("absurd", csv_file(table(replaced({6: 10**12}))), note=r"1e\+12 1 time, far from",
             amounts=np.where(np.arange(ROWS) == 6, 1e12, AMOUNTS)),
        Case("infinity", parquet_file(infinite), amounts=missing(4), note="row 5: inf"),
        Case("mixed cells of a workbook", workbook(table(replaced(words))),
             amounts=missing(5, 9, 20), note="3 bad cells"),
        Case("mixed cells of a database", database(table(replaced(words))),
             amounts=missing(5, 9, 20), note="3 bad cells"),
        Case("line of totals", text_file(totals), amounts=np.append(AMOUNTS, AMOUNTS.sum()),
             codes=np.append(CODES, -1), note="line of totals"),
        Case("sentinel", csv_file(table(replaced({6: -999}))), note="-999 1 time, far from",
             amounts=np.where(np.arange(ROWS) == 6, -999, AMOUNTS)),
        Case("no rows", text_file("id,amount,country,fraud\n"), error="no rows"),
    ]  # fmt: skip
    return cases


def file_cases() -> list[Case]:
    plain = as_csv(table(AMOUNTS.tolist()))
    semicolons = as_csv(table([f"{v:.2f}".replace(".", ",") for v in AMOUNTS]), ";", "\r\n")
    trailing = "".join(f"{line};;\r\n" for line in semicolons.splitlines())
    records = [dict(zip(table([]), row, strict=True)) for row in
               zip(*table(AMOUNTS.tolist()).values(), strict=True)]  # fmt: skip
    nested = [{**record, "place": {"lat": 1.0}} for record in records]
    header, *lines = plain.splitlines()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("export.csv", plain)

    def parts(folder: Path) -> str:
        for number, start in enumerate(range(0, ROWS, 15)):
            part = "\n".join([header, *lines[start : start + 15]])
            (folder / f"part{number}.csv").write_text(part)
        return str(folder)

    doubled = f"{header},note,note\n" + "".join(f"{line},x,y\n" for line in lines)
    zstd = pa.compress(plain.encode(), "zstd", asbytes=True)
    query = {"query": "SELECT * FROM payments"}
    return [
        Case("byte order mark", text_file(semicolons.encode("utf-8-sig")), like="1234,50"),
        Case("empty last columns", text_file(trailing), note="has no name"),
        Case("separator told", text_file("sep=;\r\n" + semicolons), like="1234,50"),
        Case("latin letters", text_file(plain.replace("US", "Ü").encode("cp1252")),
             {"encoding": "cp1252"}),
        Case("utf-16", text_file(plain.encode("utf-16"))),
        Case("tabs", text_file(plain.replace(",", "\t"), "a.txt")),
        Case("pipes", text_file(plain.replace(",", "|"))),
        Case("gzip", text_file(gzip.compress(plain.encode()), "a.csv.gz")),
        Case("zstandard", text_file(zstd, "a.csv.zst")),
        Case("bzip2", text_file(bz2.compress(plain.encode()), "a.csv.bz2")),
        Case("zip", text_file(archive.getvalue(), "a.zip")),
        Case("json array", text_file(json.dumps(records, indent=1), "a.json")),
        Case("json lines", text_file("\n".join(map(json.dumps, records)), "a.jsonl")),
        Case("json words", text_file(json.dumps([{**r, "amount": f"${r['amount']:,.2f}"}
                                                 for r in records]), "a.json")),
        Case("nested", text_file(json.dumps(nested), "a.json"), error="nested.*--drop place"),
        Case("nested dropped", text_file(json.dumps(nested), "a.json"), roles={"drop": "place"}),
        Case("one object", text_file(json.dumps({"data": records}), "a.json"), error="jq .data"),
        Case("nested not kept", text_file(json.dumps(nested), "a.json"),
             roles={"keep": ["amount", "country"]}),
        Case("names twice", text_file(doubled), error="distinct.*--drop note"),
        Case("names twice dropped", text_file(doubled), roles={"drop": ["note"]}),
        Case("folder", parts),
        Case("pattern", lambda folder: parts(folder) + "/part*.csv"),
        Case("empty sheet beside", workbook(table(AMOUNTS.tolist()), empty_sheet=True)),
        Case("query", database(table(AMOUNTS.tolist()), "other"), query),
        Case("tables", database(table(AMOUNTS.tolist()), "other"), error="--query"),
    ]  # fmt: skip


def label_cases() -> list[Case]:
    def labelled(outlier: str, inlier: str, other: str = "") -> Callable[[Path], str]:
        words = [outlier if fraud else inlier for fraud in FRAUD]
        words[-3:] = [other] * 3
        return csv_file(table(AMOUNTS.tolist(), fraud=words))

    codes = CODES.copy()
    codes[-3:] = -1
    both = {"labels": ("Y", "N")}
    return [
        Case("Y and N", labelled("Y", "N"), codes=codes),
        Case("ja and nein", labelled("Ja", "NEIN"), codes=codes),
        Case("another word beside labels", labelled("1", "0", "[0/1]"),
             error=r"holds '\[0/1\]' beside .*--outlier-label=1 --inlier-label=0"),
        Case("Y, N and ?", labelled("Y", "N", "?"), codes=codes),
        Case("true and false", labelled("TRUE", "False", "null"), codes=codes),
        Case("words", labelled("fraud", "legit"), codes=codes, outlier_label="fraud"),
        Case("words that are asked for", labelled("fraud", "legit", "dunno"),
             error="'legit'.*'dunno'.*--outlier-label.*--inlier-label"),
        Case("words of both", labelled("Y", "N", "dunno"), both, codes=codes, outlier_label="Y"),
    ]  # fmt: skip


def column_cases() -> list[Case]:
    """Return tables with columns of dates, ids, text, and what an earlier scoring has added."""
    amounts = AMOUNTS.tolist()
    days = [datetime(2024, 1, 1) + timedelta(hours=19 * number) for number in range(ROWS)]
    parts = ("when hour", "when weekday", "when day of month", "when age in days")
    dates = table(amounts, when=days)
    seconds = [int(day.replace(tzinfo=UTC).timestamp()) for day in days]
    forms = {
        "ISO": "%Y-%m-%d %H:%M:%S", "zones": "%Y-%m-%dT%H:%M:%S+01:00", "points": "%d.%m.%Y %H:%M",
        "slashes": "%m/%d/%Y %I:%M %p", "month names": "%d-%b-%Y %H:%M",
        "German months": "%d. Jänner %Y %H:%M", "names of zones": "%Y-%m-%d %H:%M:%S CET",
    }  # fmt: skip
    memos = [f"{'please ' * (n % 4)}pay {'it' * (n % 6)} {n}" for n in range(ROWS)]
    cards, many = [f"card {n * n % 11}" for n in range(ROWS)], [n % 27 for n in range(ROWS)]
    scored = {"probability": amounts, "rank": IDS, "outlier": LABELS, "reason_1": COUNTRIES}
    since = {"since": "card"}
    last = ("time since last card", "time since last card is missing")
    soon = [*(day.isoformat() for day in days[:-1]), "soon"]
    text = ("memo length", "memo words", "memo digits")
    return [
        *(Case(f"dates, {name}", csv_file(table(amounts, when=[d.strftime(form) for d in days])),
               outputs=parts) for name, form in forms.items()),
        Case("dates, parquet", parquet_file(dates), outputs=parts),
        Case("dates, workbook", workbook(dates), outputs=parts),
        Case("dates, database", database(table(amounts, when=[str(d) for d in days])),
             outputs=parts),
        Case("dates, seconds", csv_file(table(amounts, when=seconds)), outputs=parts),
        Case("dates, milliseconds", parquet_file(table(amounts, when=[s * 1000 for s in seconds])),
             outputs=parts),
        Case("dates, two forms", csv_file(table(amounts, when=[
            d.strftime("%m/%d/%Y %H:%M" if d.hour % 2 else "%Y-%m-%d %H:%M") for d in days])),
            outputs=parts),
        Case("dates, two orders", csv_file(table(amounts, when=[
            d.strftime("%m/%d/%Y" if n % 2 else "%d/%m/%Y") for n, d in enumerate(days)])),
            error="days first, such as .*months first, such as .*--drop when"),
        Case("dates, days since 1900", csv_file(table(amounts, date=[
            (d - datetime(1899, 12, 30)) / timedelta(days=1) for d in days])),
            outputs=("date hour", "date weekday", "date age in days")),
        Case("dates, one bad", csv_file(table(amounts, when=soon)),
             outputs=(*parts, "when is missing"), note="1 bad cell .*'soon'"),
        Case("times", csv_file(table(amounts, when=[f"{d:%H:%M}" for d in days])),
             outputs=("when hour",)),
        Case("ids with many levels", csv_file(table(amounts, shop=[f"s{n}" for n in many])),
             outputs=("shop frequency",)),
        Case("numbered codes", parquet_file(table(amounts, zip=[10115 + n for n in many])),
             outputs=("zip frequency",), note="taken for codes"),
        Case("truth of two kinds", csv_file(table(amounts, on=["True", "1", "0", "FALSE"] * 10)),
             outputs=("on",)),
        Case("codes with letters", csv_file(table(amounts, shop=[f"00{n}AA" for n in many])),
             outputs=("shop frequency",)),
        Case("free text", csv_file(table(amounts, memo=memos)), outputs=text, note="free text"),
        Case("row ids", csv_file(table(amounts, key=[f"k{n:04d}" for n in range(ROWS)])),
             note="--id key"),
        Case("since, csv", csv_file(table(amounts, card=cards, when=days)), since, outputs=last),
        Case("since, parquet", parquet_file(table(amounts, card=cards, when=days)), since,
             outputs=last),
        Case("since, unsorted", csv_file(table(amounts, card=cards, when=days[::-1])), since,
             error="sorted by 'when'"),
        Case("scored before", csv_file(table(amounts, **scored)), note="results of an earlier"),
    ]  # fmt: skip


def export_cases() -> list[Case]:
    """Return tables with lines that are no rows."""
    whole = table(AMOUNTS.tolist())
    plain = as_csv(whole, ";")
    header, *lines = plain.splitlines()
    names = list(whole)
    put_together = [header, *lines[:9], header, *lines[9:20], header, *lines[20:]]
    years = plain.replace("country", "2019")
    rule = "-" * 40
    drawn = "\n".join([rule, *(f"|{line.replace(';', '|')}|" for line in [header, *lines]), rule])
    drawn = "List\n\n" + drawn.replace("fraud|\n", f"fraud|\n{rule}\n")
    spoiled = drawn.replace(f"|{AMOUNTS[4]}|", "|ERR|")
    told = "2 lines repeating the column names are left out (line 11, line 23)"
    return [
        Case("title", text_file(f"Report of 2026-01-31\n\n{plain}"), note="1 line above .*Report"),
        Case("title, empty cells", text_file(f";;;\nReport;;;\nDate:;1.2.26;;\n;;;\n{plain}"),
             note="2 lines above the column names are left out: 'Report', 'Date:'"),
        Case("title, asked for", text_file(f"Report;;;\n{years}"), error="--header-line 2"),
        Case("title, answered", text_file(f"Report;;;\n{years}"), {"header": 2}),
        Case("title, workbook", workbook(whole, above=[[], ["Report"], []]), note="'Report'"),
        Case("empty rows, workbook", workbook(whole, middle=[[], []]),
             note="2 lines without any value are left out .line 11, line 12"),
        Case("empty rows", text_file(plain + ";;;\n;;;\n"), note="2 lines without .*line 42"),
        Case("names again", text_file("\n".join(put_together)), note=re.escape(told)),
        Case("names again, workbook", workbook(whole, middle=[names]), note="names .*line 11"),
        Case("lines drawn", text_file(spoiled, "a.txt"), amounts=missing(4), note="line 10: 'ERR'"),
        Case("totals of numbered rows", text_file(plain.replace(";p", ";") + "Summe;;;\n"),
             amounts=np.append(AMOUNTS, np.nan), codes=np.append(CODES, -1), note="line of totals"),
        Case("remarks below", text_file(plain + "Grand Totals (40 records)\nAcme\n"),
             note="2 lines below the table are left out: 'Grand Totals"),
        Case("remark amid rows", text_file("\n".join([header, "a remark", *lines])),
             error="Line 2 of .* has 1 cell for 4 columns"),
    ]  # fmt: skip


CASES = [
    *(*number_cases(), *bad_cases(), *file_cases(), *export_cases(), *label_cases()),
    *column_cases(),
]


def main(folder: str) -> None:
    """Write all tables, each into a folder of its own."""
    for case in CASES:
        place = Path(folder) / case.name.replace("/", " ")
        place.mkdir(parents=True, exist_ok=True)
        case.write(place)


if __name__ == "__main__":
    main(sys.argv[1])
