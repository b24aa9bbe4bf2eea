"""The comparison with few labels: sets of one's own, the document, and what is kept."""

import csv

import numpy as np
import pytest
from few_labels import choose_methods, compare_quality, find_sets, load_set, main

from boreod import BORE
from boreod.paper.reproduce import SETS, Settings

pytestmark = pytest.mark.filterwarnings("ignore")  # few rows: some k are left out, and said so
METHODS = ("detector", "bore", "knn")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a folder with two small sets, one of them in a folder of its own."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "more").mkdir()
    random = np.random.default_rng(0)
    for path, n_rows in ((folder / "far.npz", 80), (folder / "more" / "wide.npz", 60)):
        labels = np.repeat(np.array([0, 1], dtype=np.int8), [n_rows - 12, 12])
        points = random.normal(size=(n_rows, 3)) + 2.5 * labels[:, np.newaxis]
        np.savez(path, X=points, y=labels)
    np.savez(folder / "pima_v02.npz", X=points, y=labels)  # a sample of a set that is known
    return folder


@pytest.fixture(scope="module")
def settings(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    return Settings(folder, ("far", "wide"), 2, False, data, 1, 0, False)


@pytest.fixture(scope="module")
def document(settings):
    """Return the document; BORE, which is quicker, takes the place of Detector."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("boreod.paper.evaluation.methods.Detector", BORE)
        return compare_quality(settings, METHODS)


def test_figures_are_means_over_sets_of_the_single_runs(settings, document):
    written = (settings.folder / "quality.md").read_text(encoding="utf-8")
    assert written == document
    with (settings.folder / "quality.csv").open(encoding="utf-8", newline="") as file:
        runs = list(csv.DictReader(file))
    assert {(run["dataset"], run["seed"]) for run in runs} == {
        (name, seed) for name in ("far", "wide") for seed in "01"
    }
    assert {run["share"] for run in runs if run["method"] == "knn"} == {"0.0"}
    labelled = {run["share"] for run in runs if run["method"] == "bore"}
    assert labelled == {"0.05", "0.25", "1.0"}
    table = document.split("*100 % of the outliers labelled*")[1].split("\n\n")[1]
    rows = {line.split("|")[1].strip(): line.replace("*", "") for line in table.splitlines()}
    for method, title in (("detector", "Detector"), ("bore", "BORE")):
        chosen = [run for run in runs if run["method"] == method and run["share"] == "1.0"]
        assert len(chosen) == 4
        means = [np.mean([float(run[m]) for run in chosen]) for m in ("average_precision", "auc")]
        assert "| {} | {:.3f} | {:.3f} |".format(title, *means) in rows[title]


def test_the_document_says_how_it_was_made(settings, document):
    command = "`python benchmarks/few_labels.py --sets far,wide --methods detector,bore,knn --data FOLDER --seeds 2`"  # noqa: E501
    assert command in document
    assert "2 sets (far, wide), 2 seeds from 0" in document
    assert str(settings.data) not in document
    assert "scikit-learn 1" in document
    assert "| far |" in document
    assert "Detector is not told apart from" in document  # two sets tell nothing


def test_finished_runs_are_not_run_again(settings, document, monkeypatch):
    def fail(*_):
        raise AssertionError("must come from the journal")

    monkeypatch.setattr("few_labels.run_with_few_labels", fail)
    again = Settings(settings.folder, ("far", "wide"), 2, False, settings.data, 1, 0, False)
    assert "failed" not in compare_quality(again, ("bore", "knn"))


def test_a_method_that_fails_counts_as_nothing(data, tmp_path, monkeypatch):
    def fail(points, codes, name, share, seed):
        if name == "detector":
            raise RuntimeError("no luck")
        return {
            "average_precision": 0.5,
            "auc": 0.75,
            "early_auc": 0.0,
            "precision": 0.0,
            "took": 1,
        }

    monkeypatch.setattr("few_labels.run_with_few_labels", fail)
    settings = Settings(tmp_path, ("far",), 1, True, data, 1, 0, False)
    text = compare_quality(settings, ("detector", "iforest"))
    assert "| Detector | 0.000 | 0.000 | - | - | 0 |" in text  # without labels
    assert "| Detector | 0.000 | 0.000 | 1.000 | - | 0 |" in text
    assert "| isolation forest | **0.500** | **0.750** | - | 1.00 | 1 |" in text
    assert (
        "Detector, no labels, failed in 1 run (far), which count as 0: RuntimeError: no luck"
        in text
    )
    assert "| isolation forest | -0.500 | -0.500 |" in text


@pytest.mark.parametrize("path", ["wide", "{}/more/wide.npz"])
def test_sets_are_found_by_name_and_path(data, path):
    points, labels = load_set(path.format(data), data)
    assert points.shape == (60, 3)
    assert labels.sum() == 12


def test_sets_of_the_catalogue_and_of_a_folder(data):
    assert find_sets(None) == SETS
    assert find_sets(data) == (*SETS, "far", "wide")
    assert load_set("wine", data)[0].shape[1] == 13
    with pytest.raises(ValueError, match=r"got 'wid'\. Did you mean 'wide'"):
        load_set("wid", data)
    with pytest.raises(ValueError, match="existing folder"):
        find_sets(data / "nowhere")


def test_two_sets_of_one_name_are_refused(data, tmp_path):
    settings = Settings(tmp_path, ("far", str(data / "far.npz")), data=data)
    with pytest.raises(ValueError, match="'far' more than once"):
        compare_quality(settings, METHODS)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.npz").touch()
    with pytest.raises(ValueError, match="one file of each name"):
        find_sets(tmp_path)


def test_peers_that_are_missing_are_named(monkeypatch):
    monkeypatch.setattr("boreod.paper.evaluation.methods.find_spec", lambda name: None)
    names, missing = choose_methods(None)
    assert names == ["detector", "bore", "trees", "iforest", "knn"]
    assert [sentence.split()[0] for sentence in missing] == ["CatBoost", "XGBoost", "XGBOD"]
    assert all("pip install boreod[peers]" in sentence for sentence in missing)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("xgboost", r"No method to compare.*XGBoost does not take part"),
        ("svm", r"Methods are detector, .*; got 'svm'"),
    ],
)
def test_no_method_to_compare(monkeypatch, name, message):
    monkeypatch.setattr("boreod.paper.evaluation.methods.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=message):
        choose_methods([name])


def test_the_command_takes_files_and_methods(data, tmp_path, capsys):
    main(["--sets", str(data / "far.npz"), "--quick", "--methods", "iforest", "--jobs", "1",
          "-o", str(tmp_path)])  # fmt: skip
    printed = capsys.readouterr().out
    assert "| far | " in printed
    assert "Detector beside" not in printed
    assert (tmp_path / "quality.md").exists()
