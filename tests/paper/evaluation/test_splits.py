"""Which rows are learned from and which are judged."""

import numpy as np
import pytest

from boreod.paper.evaluation import split_rows

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


def test_protocols_judge_the_same_rows_and_repetitions_others():
    tests = [split_rows(CODES, 0, name).test.tolist() for name in ("transductive", "unseen")]
    assert tests[0] == tests[1]
    assert split_rows(CODES, 1, "unseen").test.tolist() != tests[0]
    assert split_rows(CODES, 0, "unseen", seed=1).test.tolist() != tests[0]


def test_an_oracle_gets_the_labels_of_judged_rows_only():
    split = split_rows(CODES, 0, "transductive")
    hindsight = split.in_hindsight(CODES)
    assert np.flatnonzero(hindsight >= 0).tolist() == split.test.tolist()
    unseen = split_rows(CODES, 0, "unseen")
    assert unseen.in_hindsight(CODES) is unseen.labels


def test_too_few_labels_and_unknown_protocols():
    with pytest.raises(ValueError, match="at least 4 labelled rows of each kind"):
        split_rows(np.repeat([0, 1], [50, 3]), 0, "unseen")
    with pytest.raises(ValueError, match="`protocol` must be one of transductive, unseen"):
        split_rows(CODES, 0, "inductive")
