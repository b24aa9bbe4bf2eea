"""Run and write the tables and figures of the paper, and a comparison with few labels."""

from collections.abc import Callable
from itertools import product

from boreod.files import __version__, write_text
from boreod.paper.reproduce.figures import (
    count_draws,
    reproduce_budget,
    reproduce_roc,
    reproduce_sensitivity,
    reproduce_tsne,
)
from boreod.paper.reproduce.quality import reproduce_quality
from boreod.paper.reproduce.setup import SETS, Settings
from boreod.paper.reproduce.tables import reproduce_table1, reproduce_table2
from boreod.tool.documents import Paragraph, Section, to_markdown, to_page

__all__ = ["PAPER_PARTS", "PARTS", "SETS", "Settings", "reproduce"]

PARTS: dict[str, Callable[[Settings], Section]] = {
    "table1": reproduce_table1,
    "tsne": reproduce_tsne,
    "table2": reproduce_table2,
    "roc": reproduce_roc,
    "sensitivity": reproduce_sensitivity,
    "budget": reproduce_budget,
    "quality": reproduce_quality,
}
# The parts that ``all`` runs.
PAPER_PARTS = tuple(name for name in PARTS if name != "quality")
TITLE = "Learning Representations for Outlier Detection on a Budget, reproduced"


def reproduce(parts: list[str], settings: Settings) -> list[Section]:
    """Run and write parts, and a report if there are several."""
    if set(parts) & set(PAPER_PARTS):
        count = settings.count
        if "budget" in parts:
            count = max(count, count_draws(settings))
        # Load all data before several processes ask for it at once.
        for name, repetition in product(settings.datasets, range(count)):
            settings.identify(name, repetition)
    sections = []
    for name in parts:
        sections.append(PARTS[name](settings))
        write_text(settings.folder / f"{name}.md", to_markdown(sections[-1], level=1))
    if len(parts) > 1:
        _write_report(settings, sections)
    return sections


def _write_report(settings: Settings, sections: list[Section]) -> None:
    options = "quick, " if settings.quick else ""
    text = (
        f"boreod {__version__}, {options}{settings.count} repetitions, seed "
        f"{settings.seed}. The paper: Micenková, McWilliams, Assent: Learning Representations for "
        "Outlier Detection on a Budget, 2015. All figures here were computed by the command "
        "boreod reproduce all; none was typed in but those marked as the paper's."
    )
    everything = [Section("About", [Paragraph(text)]), *sections]
    markdown = f"# {TITLE}\n\n" + "\n".join(to_markdown(section) for section in everything)
    write_text(settings.folder / "report.md", markdown)
    write_text(settings.folder / "report.html", to_page(TITLE, everything))
