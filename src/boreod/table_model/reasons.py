"""Reasons as a spreadsheet shows them: ``amount +2.3``."""

from typing import Any

from boreod.ensemble.explanation import Explanation
from boreod.ensemble.novelty import Novelty
from boreod.tables.arrow import pa

LONG = 1e5  # contributions from here on are written with an exponent


def reason_columns(
    explanation: Explanation, number: int, novelty: Novelty | None = None
) -> dict[str, Any]:
    """Return columns ``reason_1``, ``reason_2`` and so on, empty where there are no more.

    Parameters
    ----------
    explanation
        Of some rows.
    number
        How many reasons every row gets.
    novelty
        Of the same rows; the first reason of a novel row is that it is novel.
    """
    rows = [[write_reason(*reason) for reason in found] for found in top(explanation, number)]
    for row, words in enumerate([] if novelty is None else novelty.words()):
        rows[row] = rows[row] if words is None else [words, *rows[row]]
    return {
        f"reason_{place + 1}": pa.array(
            [texts[place] if place < len(texts) else None for texts in rows], pa.string()
        )
        for place in range(number)
    }


def top(explanation: Explanation, number: int) -> list[list[tuple[str, float]]]:
    """Return the reasons that moved each row most; what moved nothing is none.

    Parameters
    ----------
    explanation
        Of some rows.
    number
        How many reasons every row gets at most.
    """
    return [[pair for pair in row if pair[1] != 0.0] for row in explanation.top(number)]


def write_reason(name: str, contribution: float) -> str:
    """Return a reason in a few words.

    Examples
    --------
    >>> write_reason("amount", 2.31), write_reason("knn", 4.0772e150)
    ('amount +2.3', 'knn +4.08e+150')
    """
    spelled = f"{contribution:+.1f}" if abs(contribution) < LONG else f"{contribution:+.3g}"
    return f"{name} {spelled}"
