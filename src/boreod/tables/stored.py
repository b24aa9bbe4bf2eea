"""A preparation as plain data, and back: what comes from a file is checked word for word."""

import math
from collections.abc import Mapping
from typing import Any

from boreod.tables.errors import LONGEST_NAME, TableError
from boreod.tables.steps import CategoryStep, NumberStep, PresenceStep, Step
from boreod.tables.summary import ColumnSummary
from boreod.text import shorten

VERSION = 1
MOST = 100_000  # columns or levels; more is no table of ours


def step_to_dict(step: Step) -> dict[str, Any]:
    """Return a step as numbers, words and lists."""
    if isinstance(step, NumberStep):
        data: dict[str, Any] = {"middle": step.middle, "marked": step.marked}
    elif isinstance(step, CategoryStep):
        data = {"levels": list(step.levels), "pooled": step.pooled, "marked": step.marked}
    else:
        data = {"kind": step.kind}
    task = "presence" if isinstance(step, PresenceStep) else step.kind
    return {"task": task, "name": step.name, **data}


def step_from_dict(data: Any) -> Step:
    """Return a step from plain data, or refuse it."""
    task = data.get("task") if isinstance(data, dict) else None
    if task in ("number", "boolean"):
        held = fields(data, "task", "name", "middle", "marked")
        return NumberStep(word(held["name"]), task, _number(held["middle"]), truth(held["marked"]))
    if task == "text":
        held = fields(data, "task", "name", "levels", "pooled", "marked")
        levels = words(held["levels"])
        if not levels:
            raise broken("a category without levels")
        return CategoryStep(
            word(held["name"]), levels, truth(held["pooled"]), truth(held["marked"])
        )
    if task == "presence":
        held = fields(data, "task", "name", "kind")
        if held["kind"] not in ("number", "boolean", "text"):
            raise broken(f"the kind {shorten(held['kind'])}")
        return PresenceStep(word(held["name"]), held["kind"])
    raise broken(f"the step {shorten(data)}")


def summary_from_dict(data: Any) -> list[ColumnSummary]:
    """Return the rows of a summary, or refuse them."""
    rows = []
    for row in entries(data):
        if len(entries(row)) != 4 or type(row[3]) is not int or not 0 <= row[3] <= MOST:
            raise broken(f"the summary {shorten(row)}")
        rows.append(ColumnSummary(word(row[0]), word(row[1]), word(row[2]), row[3]))
    return rows


def fields(data: Any, *names: str) -> Mapping[str, Any]:
    """Return a mapping that has exactly these keys."""
    if not isinstance(data, dict) or set(data) != set(names):
        got = sorted(map(str, data)) if isinstance(data, dict) else type(data).__name__
        raise broken(f"{shorten(got)} instead of {', '.join(names)}")
    return data


def entries(data: Any) -> list[Any]:
    """Return a list that is not too long."""
    if not isinstance(data, list) or len(data) > MOST:
        raise broken(f"{type(data).__name__} instead of a list of at most {MOST}")
    return data


def words(data: Any) -> tuple[str, ...]:
    """Return distinct words."""
    found = tuple(word(entry) for entry in entries(data))
    if len(set(found)) < len(found):
        raise broken("a name twice")
    return found


def word(data: Any) -> str:
    """Return a word."""
    if not isinstance(data, str) or len(data) > LONGEST_NAME:
        raise broken(f"{shorten(data)} instead of a word")
    return data


def truth(data: Any) -> bool:
    """Return True or False."""
    if not isinstance(data, bool):
        raise broken(f"{shorten(data)} instead of true or false")
    return data


def broken(what: str) -> TableError:
    """Return the error for data that this class did not write."""
    return TableError(
        f"The stored preparation of columns is damaged or of another version: it has {what}. "
        "Fit again."
    )


def _number(data: Any) -> float:
    try:
        if isinstance(data, int | float) and not isinstance(data, bool) and math.isfinite(data):
            return float(data)
    except OverflowError:  # a whole number of hundreds of digits
        pass
    raise broken(f"{shorten(data)} instead of a finite number")
