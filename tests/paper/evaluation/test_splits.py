"""Which rows are learned from and which are judged."""

import numpy as np
import pytest

from boreod.paper.evaluation.splits import split_rows

CODES = np.repeat([0, 1, -1], [50, 10, 40])


def test_transductive_rows_are_all_in_the_fit():
    split = split_rows(CODES, 0, "transductive")
    assert split.fitted.tolist() == list(range(100))
    assert (split.labels[split.test] == -1).all()
    assert (CODES[split.test] == 1).sum() == 4
    assert (CODES[split.test] == 0).sum() == 20
    learned = np.setdiff1d(np.arange(100), split.test)
    assert (split.labels[learned] == CODES[learned]).all()


def test_unseen_rows_are_not_in_the_fit():
    split = split_rows(CODES, 0, "unseen")
    assert not set(split.fitted) & set(split.test)
    assert len(split.fitted) + len(split.test) == 100  # unlabelled rows stay in the fit
    assert (split.labels == CODES[split.fitted]).all()


def test_protocols_judge_the_same_rows():
    tests = [split_rows(CODES, 0, name).test.tolist() for name in ("transductive", "unseen")]
    assert tests[0] == tests[1]


@pytest.mark.parametrize(("repetition", "seed"), [(1, 0), (0, 1)])
def test_repetitions_and_seeds_judge_other_rows(repetition, seed):
    first = split_rows(CODES, 0, "unseen").test.tolist()
    assert split_rows(CODES, repetition, "unseen", seed).test.tolist() != first


def test_an_oracle_gets_the_labels_of_judged_rows_only():
    split = split_rows(CODES, 0, "transductive")
    hindsight = split.in_hindsight(CODES)
    assert np.flatnonzero(hindsight >= 0).tolist() == split.test.tolist()
    unseen = split_rows(CODES, 0, "unseen")
    assert unseen.in_hindsight(CODES) is unseen.labels


@pytest.mark.parametrize(
    ("codes", "protocol", "message"),
    [
        (np.repeat([0, 1], [50, 3]), "unseen", "at least 4 labelled rows of each kind"),
        (CODES, "inductive", "`protocol` must be one of transductive, unseen"),
    ],
)
def test_too_few_labels_and_unknown_protocols(codes, protocol, message):
    with pytest.raises(ValueError, match=message):
        split_rows(codes, 0, protocol)
