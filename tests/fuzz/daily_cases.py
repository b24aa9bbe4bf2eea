"""The daily work with hostile names, and with tables in which a whole column is wrong.

Names: all commands do their work, and a name is text wherever it is shown. Whole columns: `score`
says so before the result, `--strict` writes nothing, and repaired tables are scored like good ones.
"""

import csv
import json
import re
import shutil
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from .corpus import make_unit_files
from .verdicts import REFUSED, SCORED, Wrong, call, check_folder, check_scores, check_sentence

Random = np.random.Generator
# What would be a tag or an attribute in HTML has a name that no page has.
MARK = "zq"
PIECES = (
    "$", "$$", "{", "}", "^", "_", "$_$", "$\\frac{a}$", "[", "]", "[/]", "[red]", "[bold", "\\",
    f"<{MARK}>", f"</{MARK}>", f"<{MARK} a='", f'<{MARK} a="', f"&{MARK};", f'" {MARK}=1 ',
    f"' {MARK}=1 ", f"<!--{MARK}", f"]]>{MARK}", "'", '"', "=", "+", "-", "@", "=1+1", "%s", "{0}",
    "\x1b[31m", "\x1b]0;x\x07", "\x08", "\x7f", "\x9b1m", "\x00", "\n", "\r", "\r\n", "\t", "\x0b",
    "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\u202e", "\u2066", "\u200f", "\u200b", "\ufeff",
    "\u05d0\u05d1", "\u0627\u0644", "\u4ef7\u683c", "\uff21\uff1d", "\U0001d518", "\U0001f600",
    "e\u0301", "\u00e9", "\u00a0", "\u3000", " ", "   ", "|", ";", ":", ",", "#", "*", "?", "~",
    "NA", "nan", "1", "2024-01-31", "true", "amount", "probability", "row", "reason_1",
)  # fmt: skip
FORMULA = re.compile(r"\s*[=+@-]")
SUFFIXES = ("parquet", "csv", "jsonl", "arrow")


def make_names(random: Random, good: Path, folder: Path) -> dict[str, Any]:
    """Write a table whose columns, ids, levels and labels have hostile names."""
    suffix = str(random.choice(SUFFIXES))
    columns = _draw_names(random, 6, suffix)
    ids, label = (_as_option(name) for name in columns[:2])
    levels, words = _draw_names(random, 4, suffix), _draw_names(random, 3, suffix)
    outliers = np.arange(150) % 12 == 3
    odd = random.random(150) < 0.1 + 0.5 * outliers
    texts = np.where(random.random(150) < 0.1, levels[2], np.where(odd, levels[0], levels[1]))
    table = {
        ids: [f"{levels[3]}{number}" for number in range(150)],
        label: np.where(outliers, words[0], words[1]).tolist(),
        columns[2]: (random.lognormal(2, 1, 150) * np.where(outliers, 9.0, 1.0)).tolist(),
        columns[3]: texts.tolist(),
        columns[4]: random.normal(size=150).tolist(),
        columns[5]: (random.random(150) < 0.3).tolist(),
    }
    for place in random.integers(150, size=int(random.integers(9))):
        table[label][place] = None
    file = f"{_as_file(words[2])}.{suffix}" if random.random() < 0.5 else f"table.{suffix}"
    odd_end = _as_file(levels[0]) if random.random() < 0.5 else "out"
    keys = list(table)
    shuffled = {keys[place]: table[keys[place]] for place in random.permutation(6)}
    write_table(shuffled, folder / file)
    methods = (["--method", "bore"], [])
    return {
        "way": suffix, "table": file, "ids": ids, "label": label, "levels": levels,
        "words": words, "stem": odd_end, "numbers": bool(random.random() < 0.2),
        "method": methods[random.integers(2)], "scored": str(random.choice(["csv", "parquet"])),
    }  # fmt: skip


def run_names(folder: Path, settings: dict[str, Any]) -> str:
    """Fit, look, score, explain, check and report; every command must do its work."""
    output, stem = folder / "output", settings["stem"]
    output.mkdir()
    table, model = folder / settings["table"], output / f"{stem}.boreod"
    scores, page = output / f"{stem}.{settings['scored']}", output / f"{stem}.html"
    outlier, inlier = settings["words"][:2]
    single = ["--jobs", 1]
    _say("fit", table, "--label", settings["label"], "--id", settings["ids"], "--outlier-label",
         outlier, "--inlier-label", inlier, *settings["method"], "--costs", "complexity:shared",
         "--budget", 40, "-o", model, *single)  # fmt: skip
    _say("info", model)
    numbers = ["--numbers"] if settings["numbers"] else []
    _say("score", model, table, "-o", scores, "--reasons", 3, *numbers, *single)
    _say("explain", model, table, *numbers, *single)
    _say("check", model, table, *single, allowed=(0, 3))
    _say("report", model, table, "-o", page, *single)
    check_folder(output, [path.name for path in (model, scores, page)])
    check_scores(scores, whole=True)
    _check_scored_names(scores, settings)
    _check_page(page.read_text(encoding="utf-8"))
    return SCORED


def _say(*arguments: object, allowed: tuple[int, ...] = (0,)) -> None:
    """Run a command, which must end well and print nothing that controls a terminal."""
    result = call(*arguments)
    text = result.stdout + result.stderr
    if result.exit_code not in allowed:
        raise Wrong(f"{text[-3000:]}\n{arguments[0]} ends with exit code {result.exit_code}")
    odd = [place for place, letter in enumerate(text) if not letter.isprintable()]
    odd = [place for place in odd if text[place] != "\n"]
    if odd:
        kinds = sorted({unicodedata.category(text[place]) for place in odd})
        around = text[max(0, odd[0] - 100) : odd[0] + 100]
        raise Wrong(f"{around!r}\n{arguments[0]} prints characters of kinds {', '.join(kinds)}")


def _check_scored_names(path: Path, settings: dict[str, Any]) -> None:
    """Raise if ids have changed, or if a spreadsheet would execute what we have written."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    else:
        rows = pq.read_table(path).to_pylist()
    expected = [f"{settings['levels'][3]}{number}" for number in range(150)]
    found = [row.get(settings["ids"]) for row in rows]
    if found != expected:
        raise Wrong(f"{found[:2]} {expected[:2]}\nids are not copied as they are")
    for row in rows:
        for name, cell in row.items():
            told = name.startswith(("reason_", "outside")) and name != settings["ids"]
            if told and cell and FORMULA.match(cell):
                raise Wrong(f"{name}: {cell!r}\na reason begins like a formula")


class _Page(HTMLParser):
    """Collects names of tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag and its attributes."""
        self.names |= {tag, *(name for name, _ in attrs)}

    def handle_comment(self, data: str) -> None:
        """Note a comment, as pages have none with a name."""
        self.names.add(data)

    def handle_entityref(self, name: str) -> None:
        """Note an entity."""
        self.names.add(name)


def _check_page(html: str) -> None:
    """Raise if a name has become a tag, an attribute, an entity, or the start of one."""
    page = _Page()
    page.feed(html)
    if f"<{MARK}" in html or f"</{MARK}" in html or any(MARK in name for name in page.names):
        place = html.find(f"<{MARK}")
        raise Wrong(f"{html[max(0, place - 200) : place + 200]!r}\na name is not escaped in a page")
    bare = re.search(r"<(?![a-zA-Z/!?])", re.sub(r"(?s)<(style|script).*?</\1>", "", html))
    if bare:
        raise Wrong(f"{html[bare.start() - 99 : bare.end() + 99]!r}\na page has a bare <")
    odd = sorted(
        {letter for letter in html if ord(letter) < 32 or 126 < ord(letter) < 160} - {"\n"}
    )
    if odd:
        raise Wrong(f"{odd}\na page has control characters")


def _draw_names(random: Random, count: int, suffix: str) -> list[str]:
    """Return different names of one to seven hostile pieces and a letter, some of them long."""
    names: list[str] = []
    while len(names) < count:
        pieces = [str(piece) for piece in random.choice(PIECES, random.integers(1, 8))]
        pieces.insert(int(random.integers(len(pieces) + 1)), f"n{len(names)}")
        name = "".join(pieces)
        if random.random() < 0.05:
            # A name has at most 10,000 letters; a level counts together with its column.
            name = (name * int(random.choice([20, 700])))[:4500]
        # A zero byte can be in no CSV file.
        name = name.replace("\x00", "") if suffix == "csv" else name
        names.append(name)
    return names


def _as_option(name: str) -> str:
    """Return a name that a shell can pass, and that is one name for options with lists."""
    return name.replace("\x00", "").replace(",", "").strip()


def _as_file(name: str) -> str:
    """Return a name that a file can have."""
    short = name.replace("\x00", "").replace("/", "").encode()[:180].decode(errors="ignore")
    return short or "x"


def write_table(columns: dict[str, Any], path: Path) -> None:
    """Write a table with other means than those of the library."""
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(columns)
            lines.writerows(zip(*columns.values(), strict=True))
    elif path.suffix == ".jsonl":
        rows = zip(*columns.values(), strict=True)
        text = "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)
        path.write_text(text, encoding="utf-8")
    elif path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    else:
        pyarrow.feather.write_feather(pa.table(columns), path, compression="uncompressed")


NUMBERS = ("weight", "height", "temperature", "amount")
# Products with powers of two are exact, so they can be taken back to the bit.
EXACT = (0.5, 2.0, 2.0**-7, 2.0**7, 2.0**-10, 2.0**10)
USUAL = (1e-3, 0.01, 100.0, 1000.0)
# A factor of so much or more must be noticed in a table of so many rows.
CLEAR, ENOUGH = 100.0, 60


def make_units(random: Random, good: Path, folder: Path) -> dict[str, Any]:
    """Write a good table, and the same one with faults in whole columns."""
    if not (good / "units.parquet").exists():
        make_unit_files(good)
    model = str(random.choice(["linear", "trees", "raw"]))
    shutil.copy(good / f"units-{model}.boreod", folder / "model.boreod")
    rows = pq.read_table(good / "units.parquet")
    count = int(random.choice([7, 29, 30, 60, 150, 400], p=[0.05, 0.05, 0.1, 0.2, 0.3, 0.3]))
    places = random.permutation(rows.num_rows)[:count]
    columns = rows.take(places).to_pydict()
    suffix = str(random.choice(SUFFIXES))
    write_table(columns, folder / f"good.{suffix}")
    settings: dict[str, Any] = {"way": model, "suffix": suffix, "rows": count, "scale": {},
                                "rename": {}, "unknown": [], "clear": False,
                                "gone": False}  # fmt: skip
    spoilt = random.permutation(NUMBERS)[: random.integers(4)].tolist()
    for name in spoilt:
        _spoil(columns, str(name), settings, random)
    write_table(_renamed(columns, settings, random), folder / f"bad.{suffix}")
    return settings


def _spoil(columns: dict, name: str, settings: dict[str, Any], random: Random) -> None:
    """Multiply a column by a factor, or turn Celsius into Fahrenheit; note the repair."""
    way, values = random.random(), columns[name]
    if way < 0.15:
        columns[name] = [value if value is None else 1.8 * value + 32.0 for value in values]
        settings["unknown"].append(name)
    elif way < 0.85:
        exact = random.random() < 0.7
        factor = float(random.choice(EXACT if exact else USUAL))
        columns[name] = [value if value is None else factor * value for value in values]
        if exact:
            settings["scale"][name] = 1.0 / factor
        else:
            settings["unknown"].append(name)
        settings["clear"] |= max(factor, 1.0 / factor) >= CLEAR


def _renamed(columns: dict, settings: dict[str, Any], random: Random) -> dict:
    """Return the columns with two names swapped, with another name, or as they are."""
    way, names = random.random(), dict.fromkeys(columns)
    one, two = (str(name) for name in random.permutation(NUMBERS)[:2])
    if way < 0.2:
        settings["rename"] = {one: two, two: one}
    elif way < 0.4:
        new = str(random.choice([one.upper(), f"{one}_2", "other", f"{one} (kg)", f"a={one}"]))
        settings["rename"], settings["gone"] = {new: one}, True
    back = {old: new for new, old in settings["rename"].items()}
    return {back.get(name, name): columns[name] for name in names}


def run_units(folder: Path, settings: dict[str, Any]) -> str:
    """Check and score the spoilt table, strictly too, and repair it."""
    output, suffix = folder / "output", settings["suffix"]
    output.mkdir()
    model, bad = folder / "model.boreod", folder / f"bad.{suffix}"
    plain, strict = output / "plain.csv", output / "strict.csv"
    checked = _run("check", model, bad, "--jobs", 1, allowed=(0, 3))
    asked = ["score", model, bad, "--jobs", 1, "--reasons", 2]
    if settings["gone"]:
        if checked.exit_code != 3:
            raise Wrong("check does not notice that a column is gone")
        done = _run(*asked, "-o", plain, allowed=(1,))
        check_sentence(done.stderr.strip())
        is_odd = True
    else:
        is_odd = _check_first_words(asked, plain, checked)
        if settings["clear"] and settings["rows"] >= ENOUGH and not is_odd:
            raise Wrong(f"{settings}\na factor of {CLEAR:.0f} or more is not noticed")
    strict.write_text("as it was")
    done = _run(*asked, "-o", strict, "--strict", allowed=(3,) if is_odd else (0,))
    if is_odd:
        if strict.read_text() != "as it was" or "(--strict)" not in done.stderr:
            raise Wrong(f"{done.stderr}\n--strict has written something, or does not say so")
    elif strict.read_bytes() != plain.read_bytes():
        raise Wrong("--strict gives other scores")
    if not settings["unknown"]:
        _check_repair(folder, asked, settings)
    expected = ["strict.csv"] + ([] if settings["gone"] else ["plain.csv"])
    check_folder(output, expected + ([] if settings["unknown"] else ["good.csv", "repaired.csv"]))
    return REFUSED if is_odd else SCORED


def _check_first_words(asked: list[object], plain: Path, checked: Any) -> bool:
    """Return whether a table is odd; raise if `score` does not say so before the result."""
    facts = json.loads(_run(*asked, "-o", plain, "--json").stdout)
    before = plain.read_bytes()
    shown = _run(*asked, "-o", plain).output
    if plain.read_bytes() != before:
        raise Wrong("the same command gives other scores")
    check_scores(plain, whole=True)
    is_odd = any(found["is_alarm"] for found in facts["findings"])
    is_odd |= (facts["novel"] or 0) > 0.05 * facts["rows"]
    head = re.split(r"(?m)^[\d,]+ rows? in ", shown)[0]
    says = "Note: " in head or "unlike the training table" in head
    if is_odd and not says:
        raise Wrong(f"{facts}\n{shown}\nscore says nothing about an odd table before the result")
    if is_odd != (checked.exit_code == 3):
        raise Wrong(f"{facts}\n{checked.output}\ncheck and score do not agree")
    return is_odd


def _check_repair(folder: Path, asked: list[object], settings: dict[str, Any]) -> None:
    """Raise unless the repaired table has the scores of the good one, to the bit."""
    good, repaired = folder / "output" / "good.csv", folder / "output" / "repaired.csv"
    options: list[object] = []
    for what in ("rename", "scale"):
        for name, value in settings[what].items():
            options += [f"--{what}", f"{name}={value}"]
    table = folder / f"good.{settings['suffix']}"
    _run("score", folder / "model.boreod", table, *asked[3:], "-o", good)
    _run(*asked, "-o", repaired, *options)
    if good.read_bytes() != repaired.read_bytes():
        pairs = zip(good.read_text().split("\n"), repaired.read_text().split("\n"), strict=False)
        first = next((pair for pair in pairs if pair[0] != pair[1]), "other lengths")
        raise Wrong(f"{options} {first}\na repaired table has other scores than the good one")


def _run(*arguments: object, allowed: tuple[int, ...] = (0,)) -> Any:
    """Run a command, which must end with one of these codes."""
    result = call(*arguments)
    if result.exit_code not in allowed:
        said, command = result.output[-3000:], arguments[0]
        raise Wrong(f"{said}\n{command} ends with {result.exit_code}, and not with {allowed}")
    return result
