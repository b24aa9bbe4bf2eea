"""One table and its splits: whatever is compared runs on the same ones."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from boreod.datasets.loading import rows_digest
from boreod.evaluation.journal import Journal
from boreod.evaluation.runner import Work, run_tasks
from boreod.evaluation.summary import Run

TABLE = "table"  # the name of an own table, where others have the name of a data set


@dataclass(frozen=True)
class Trials:
    """All that runs on one table have in common.

    Attributes
    ----------
    rows, codes
        The table and its labels (1, 0, -1).
    repetitions
        Number of splits.
    protocol, seed
        As in :func:`boreod.evaluation.splits.split_rows`.
    journal
        Keeps finished runs.
    n_jobs, verbose
        As in :func:`boreod.evaluation.run_tasks`.
    """

    rows: NDArray
    codes: NDArray
    repetitions: int
    protocol: str
    seed: int
    journal: Journal
    n_jobs: int | None
    verbose: bool

    def run(self, work: Work, variants: dict[str, Any], label: str) -> list[Run]:
        """Return one result for every variant and split, in this order.

        Parameters
        ----------
        work
            Gets rows, codes, a variant, the number of a split, protocol and seed.
        variants
            What ``work`` needs to know, by the name in the journal. What has the same name must
            have the same result: it is run once, whoever asks for it.
        label
            What is being done, in a few words.
        """
        plan = [(name, number) for name in variants for number in range(self.repetitions)]
        tasks = {
            f"{self._digest}/{name}/{self.protocol}/{number}/{self.seed}": (
                self.rows, self.codes, variants[name], number, self.protocol, self.seed,
            )
            for name, number in plan
        }  # fmt: skip
        results = run_tasks(work, tasks, self.journal, self.n_jobs, label, self.verbose)
        fact = {"dataset": TABLE, "protocol": self.protocol}
        return [
            {**fact, "method": name, "repetition": number, **result}
            for (name, number), result in zip(plan, results, strict=True)
        ]

    @cached_property
    def _digest(self) -> str:
        return rows_digest(self.rows, self.codes)[:16]
