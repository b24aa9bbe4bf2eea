"""Reproduce the tables and figures of the paper, and check the claims of its text."""

import time
from collections.abc import Callable
from itertools import product

from boreod.files import write_text
from boreod.paper.reproduce import aggregation, budgets, claims, figures, tables
from boreod.paper.reproduce.setup import SETS, Settings, describe_code, hash_of, paragraphs
from boreod.text import count_of, show_seconds
from boreod.tool.documents import Section, to_markdown, to_page
from boreod.tool.drawing.style import load_pyplot

__all__ = ["PARTS", "SETS", "Settings", "reproduce"]

PARTS: dict[str, Callable[[Settings], Section]] = {
    "claims": claims.reproduce_claims,
    "table1": tables.reproduce_table1,
    "tsne": figures.reproduce_tsne,
    "table2": tables.reproduce_table2,
    "roc": figures.reproduce_roc,
    "sensitivity": figures.reproduce_sensitivity,
    "budget": budgets.reproduce_budget,
    "aggregation": aggregation.reproduce_aggregation,
}
# The parts that draw pictures.
DRAWN = {"tsne", "roc", "sensitivity", "budget"}
TITLE = "Learning Representations for Outlier Detection on a Budget, reproduced"


def reproduce(parts: list[str], settings: Settings) -> list[Section]:
    """Run and write parts, and a report if there are several."""
    started = time.perf_counter()
    # What is missing is reported before anything runs.
    if DRAWN & set(parts):
        load_pyplot()
    for name, repetition in product(settings.datasets, range(settings.count)):
        hash_of(name, repetition, settings.data)
    sections = []
    for name in parts:
        sections.append(PARTS[name](settings))
        write_text(settings.folder / f"{name}.md", to_markdown(sections[-1], level=1))
    if len(parts) > 1:
        about = paragraphs(
            "about",
            repetitions=count_of(settings.count, "repetition"),
            options=", quick" if settings.quick else "",
            seed=settings.seed,
            code=describe_code(),
            took=show_seconds(time.perf_counter() - started),
            total=show_seconds(sum(run.get("seconds", 0.0) for run in settings.journal.values())),
        )
        everything = [Section("About", about), *sections]
        markdown = f"# {TITLE}\n\n" + "\n".join(to_markdown(section) for section in everything)
        write_text(settings.folder / "report.md", markdown)
        write_text(settings.folder / "report.html", to_page(TITLE, everything))
    return sections
