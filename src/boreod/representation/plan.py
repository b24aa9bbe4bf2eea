"""The plan of a representation: which scores are computed at which k, and which are left out.

The parameters ``scores`` and ``ks`` are read only here. Some columns cannot exist for a small
table. If such a column belongs to the default grid, it is left out with a warning. If the user
named the column, an error is raised.
"""

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from boreod.neighbors import Ks
from boreod.scores import DETECTORS, SCORES, Score
from boreod.scores.base import PlannedScore

PAPER_KS: Ks = (1, *range(10, 101, 10))
NAMES = (*SCORES, *DETECTORS)
# This word, given instead of a list, chooses a few scores that differ much from each other.
FEW = "few"


class ColumnsLeftOutWarning(UserWarning):
    """Some columns of the grid of scores and ks cannot exist for this table and were left out."""


def read_scores(scores: Any) -> tuple[list[PlannedScore], list[tuple[str, Any]]]:
    """Split the parameter ``scores`` into scores and detectors; detectors search no neighbors.

    A score has ``ks`` of its own only if the user asked for a single column, such as ``"lof_10"``.
    """
    if isinstance(scores, str):
        scores = list(SCORES) if scores == "all" else [scores]
    if not isinstance(scores, Iterable):
        raise TypeError(f"`scores` must be 'all' or a list; got {scores!r}.")
    requests: list[PlannedScore] = []
    detectors: list[tuple[str, Any]] = []
    for item in scores:
        label, what = item if isinstance(item, tuple) and len(item) == 2 else (None, item)
        if label is not None and (not isinstance(label, str) or not label or "@" in label):
            raise ValueError(f"The name in a pair must be a text without '@'; got {label!r}.")
        can_score = hasattr(what, "score_samples") or hasattr(what, "decision_function")
        if isinstance(what, str) and what in DETECTORS:
            detectors.append((label or what, DETECTORS[what]))
        elif isinstance(what, str):
            requests.append(_read_name(what, label))
        elif what in SCORES.values():
            requests.append(PlannedScore(label or what.name, what()))
        elif isinstance(what, Score) and hasattr(what, "name"):
            requests.append(PlannedScore(label or what.name, what))
        elif can_score and hasattr(what, "fit") and not isinstance(what, type):
            detectors.append((label or type(what).__name__.lower(), what))
        else:
            raise TypeError(
                f"`scores` must hold names ({', '.join(NAMES)}), scores or detectors that can "
                "score new rows (`score_samples` or `decision_function`; for scikit-learn's "
                f"LocalOutlierFactor pass novelty=True); got {what!r}."
            )
    _check_distinct(requests, detectors)
    return requests, detectors


def _check_distinct(requests: list[PlannedScore], detectors: list[tuple[str, Any]]) -> None:
    """Raise if two requests would give columns of the same name."""
    by_label: dict[str, Score] = {}
    for request in requests:
        if by_label.setdefault(request.label, request.definition) != request.definition:
            raise ValueError(
                f"`scores` asks for {request.label!r} with different parameters, so the columns "
                "could not be told apart. Name them: ('a name', score)."
            )
    asked: list[tuple[str, Ks]] = [(label, ()) for label, _ in detectors]
    asked += [(request.label, request.ks) for request in requests]
    for label, ks in asked:
        if asked.count((label, ks)) > 1:
            raise ValueError(
                f"`scores` asks for {label!r} twice, so the columns could not be told apart. "
                "Drop one, or name both: ('a name', score)."
            )


def _read_name(name: str, label: str | None) -> PlannedScore:
    """Read ``"lof"`` or ``"lof_10"``."""
    match = re.fullmatch(r"([a-z]+)(?:_([1-9]\d*))?", name)
    if match is None or match[1] not in SCORES:
        raise ValueError(
            f"`scores` must be names among {', '.join(NAMES)}; scores of neighbors may have a k, "
            f"as in 'lof_10'; got {name!r}."
        )
    ks = (int(match[2]),) if match[2] else ()
    return PlannedScore(label or match[1], SCORES[match[1]](), ks)


def read_ks(ks: Any) -> Ks | None:
    """Check the parameter ``ks`` and return it sorted; None stands for the grid of the paper."""
    if ks is None:
        return None
    if isinstance(ks, Integral) or (isinstance(ks, np.ndarray) and ks.ndim == 0):
        ks = [ks if isinstance(ks, Integral) else ks.item()]
    if not isinstance(ks, Iterable) or isinstance(ks, str | bytes):
        raise TypeError(f"`ks` must be a list of positive integers; got {ks!r}.")
    values = list(ks)
    for k in values:
        if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
            raise ValueError(f"`ks` must be positive integers; got {k!r}.")
    if not values or len(set(values)) < len(values):
        raise ValueError(f"`ks` must hold at least one k, each once; got {values!r}.")
    return tuple(sorted(int(k) for k in values))


def make_plan(
    requests: Sequence[PlannedScore], ks: Ks | None, n_rows: int, view: str
) -> tuple[list[PlannedScore], list[str]]:
    """Return the scores of a view with their ks, and the names of columns that are left out."""
    planned: dict[str, PlannedScore] = {}
    left_out: list[str] = []
    for request in requests:
        wanted = request.ks or ks or PAPER_KS
        explicit = bool(request.ks or ks)
        if explicit and wanted[-1] >= n_rows:
            raise ValueError(
                f"`ks` must be integers from 1 to {n_rows - 1} (rows - 1); got {wanted[-1]}. "
                "Lower it or pass more rows."
            )
        smallest = request.definition.min_k
        if explicit and wanted[-1] < smallest:
            raise ValueError(
                f"'{request.label}' needs k of at least {smallest}; got {wanted[-1]}. "
                "Raise k or leave this score out."
            )
        possible = tuple(k for k in wanted if smallest <= k < n_rows)
        missing = tuple(k for k in wanted if k not in possible)
        left_out += replace(request, ks=missing).column_names(view)
        if possible:
            score = planned.setdefault(request.label, replace(request, ks=()))
            score.ks = tuple(sorted({*score.ks, *possible}))
    return list(planned.values()), left_out


def warn_left_out(left_out: Sequence[str], ks: Ks | None, n_rows: int) -> None:
    """Warn of columns that were left out, except k = 1 of the paper's grid.

    Some scores never have k = 1, so its absence needs no warning.
    """
    if ks is None:
        left_out = [name for name in left_out if not name.split("@")[0].endswith("_1")]
    if not left_out:
        return
    shown = ", ".join(left_out[:6]) + (" ..." if len(left_out) > 6 else "")
    warnings.warn(
        f"{len(left_out)} columns were left out, because their k is too small for the score, or is "
        f"not below the number of reference rows (at most {n_rows}): {shown}. In Python, `ks` "
        "sets other values of k.",
        ColumnsLeftOutWarning,
        stacklevel=5,
    )
