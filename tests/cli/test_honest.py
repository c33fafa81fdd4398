"""The command line leads with errors that hold on new data."""

import io
import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from sparsepath import SelectionPath, SparseRLSClassifier, SparseRLSRegressor, load_model
from sparsepath.cli import output, select
from sparsepath.data.readers import read_table, write_table
from sparsepath.methods import METHODS

from .conftest import Run, refused

pytestmark = pytest.mark.validated


def shuffled(folder: Path, seed: int) -> Path:
    """Shuffled labels beside 500 columns of noise."""
    rng = np.random.default_rng(seed)
    names = [f"g{j}" for j in range(500)]
    columns = dict(zip(names, rng.standard_normal((60, 500)).T, strict=True))
    write_table(folder / "noise.csv", {**columns, "y": rng.permutation(np.repeat(["a", "b"], 30))})
    return folder / "noise.csv"


@pytest.fixture(scope="module")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shuffled(tmp_path_factory.mktemp("noise"), 0)


def on(files, *options: object) -> tuple[object, ...]:
    return ("select", files["csv"], "--target", "progression", *options)


@pytest.mark.parametrize("seed", [1, 2])
def test_shuffled_labels_are_not_praised(run: Run, tmp_path: Path, seed: int) -> None:
    file = shuffled(tmp_path, seed)
    asked = ("select", file, "--target", "y", "--max-features", 40, "--alpha", 1, "--out", tmp_path)
    words = run(*asked, "--verbose").out
    record = json.loads((tmp_path / "honest.json").read_text())["honest"]
    path = SelectionPath.load(tmp_path / "path.json")
    assert path.errors.min() < 0.02 * path.errors[0]  # what the search believes
    assert record["size"] <= 3
    assert record["gain"] < 0.3
    assert record["interval"][1] > 0.9 * record["empty_error"]
    assert "Expected error: error rate" in words
    assert "9 % below" not in words
    assert all(float(auc) < 0.8 for auc in re.findall(r"AUC ([\d.]+\d)", words))
    assert words.index("on new data") < words.index("which the search itself minimised")


def test_none_is_the_answer(run: Run, noise: Path) -> None:
    asked = ("select", noise, "--target", "y", "--method", "greedy-rls")
    done = run(*asked, "--max-features", 30, "--verbose")
    assert "below the empty model" not in done.out
    assert "Selected: none of 500 features.\nExpected error: error rate 50 %" in done.out
    assert "Baseline: error rate 50 % (always predicting" in done.out
    assert "Why this size: no set of features does better on new data than none, although" in (
        done.out
    )
    assert "rows that the whole procedure never saw (10-fold, 10 times)" in done.out
    assert "mean of 10 random assignments to folds" in " ".join(done.out.split())
    [header] = [line for line in done.out.splitlines() if line.strip().startswith("size ")]
    assert header.split()[:3] == ["size", "error", "rate"]
    assert "criterion" in header


def test_a_size_that_is_no_better_than_none_is_told_so(run: Run, noise: Path) -> None:
    done = run("select", noise, "--target", "y", "--max-features", 6, "--choose", 5, "--verbose")
    assert "These features are no better than the baseline." in done.out
    assert "which the search itself minimised, is 0." in done.out
    assert ": optimistic." in done.out


def test_a_criterion_that_is_no_lower_is_not_called_optimistic(run: Run, tmp_path: Path) -> None:
    line = f"select {tmp_path / 'data.npy'} --target -1 --max-features 3 --alpha 1 --verbose"
    seen = set()
    for seed in (2, 3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 60))
        y = X[:, :5] @ [5, 4, 3, 2, 1] + 1e-3 * rng.standard_normal(300)
        np.save(tmp_path / "data.npy", np.c_[X, y])
        done = run(*line.split())
        details = done.out.split("Details: ")[1]
        figures = re.findall(r"(?:squared error|is) (\d\S+)", details)
        honest, criterion = map(float, figures)
        assert (": optimistic" in details) == (criterion < honest)
        seen.add(criterion < honest)
    assert seen == {True, False}


def test_none_that_was_asked_for_is_no_finding(run: Run, files) -> None:
    words = run(*on(files, "--method", "greedy-rls", "--choose", 0, "--quiet")).out
    assert words.startswith("Selected: none of 10 features.\nExpected error: RMSE 77.18")
    assert "better" not in words


def test_without_validation_it_says_so(run: Run, noise: Path) -> None:
    asked = ("select", noise, "--target", "y", "--no-validation", "--max-features", 30)
    record = json.loads(run(*asked, "--json").out)
    assert record["honest"] is None
    assert record["chosen"]["error_kind"] == record["path"]["error_kind"] == "selection"
    assert record["chosen"]["size"] > 5
    assert record["path"]["parameters"]["validation"] is None
    words = run(*asked).out
    assert "that the search itself minimised: no row was kept from the search." in words
    assert "on new data (" not in words
    assert "honest" not in words


def test_the_null_recommends_none(run: Run, noise: Path, tmp_path: Path) -> None:
    options = ("--max-features", 4, "--null", 39, "--choose", 2, "--out", tmp_path)
    done = run("select", noise, "--target", "y", *options, "--quiet")
    assert done.out.startswith(
        "Selected: none of 500 features; permuted targets reach the same error"
    )
    assert "No signal beyond noise (p =" in (done.out)
    found = json.loads((tmp_path / "honest.json").read_text())
    assert found["null"]["p_value"] == found["honest"]["p_value"] > 0.05
    assert found["honest"]["size"] == 0
    assert np.shape(found["null"]["null_errors"]) == (39, 4)
    assert len(load_model(tmp_path / "model.json").selected_) == 0


def test_more_than_noise_and_yet_of_no_use(run: Run, noise: Path, monkeypatch) -> None:
    monkeypatch.setattr("sparsepath.assessment.null.LEVEL", 1.0)  # any p-value is low enough
    words = run("select", noise, "--target", "y", "--max-features", 4, "--null", 19, "--quiet").out
    assert words.startswith("Selected: none of 500 features.\nExpected error: ")
    assert "The signal is real" not in words
    assert "but the improvement is too small to be useful on new data." in words


def test_the_record_is_that_of_the_estimator(run: Run, files, tmp_path: Path) -> None:
    table = read_table(files["csv"], target="progression")
    for options, parameters in (
        ([], {}),
        (["--choose", "min", "--validation", 4], {"choose": "min", "validation": 4}),
        (["--choose", 4], {"choose": 4}),
        (["--alpha", "1,10", "--choose", 0.02], {"alpha": [1.0, 10.0], "choose": 0.02}),
    ):
        options = ["--method", "greedy-rls", *options, "--model-format", "joblib"]
        done = run(*on(files, *options, "--json", "--out", tmp_path))
        record = json.loads(done.out)
        expected = SparseRLSRegressor(10, standardize=True, **parameters).fit(table.X, table.y)
        found = record["honest"]
        assert expected.honest_.to_dict().items() <= found.items()
        np.testing.assert_array_equal(found["errors"], expected.path_.honest_errors)
        assert found["sizes"] == list(expected.path_.sizes)
        assert record["chosen"]["columns"] == expected.selected_.tolist()
        assert record["chosen"]["r2"] == pytest.approx(expected.honest_.gain)
        assert record["path"]["parameters"]["validation"] == parameters.get("validation", "auto")
        model = joblib.load(tmp_path / "model.joblib")
        assert model.honest_ == expected.honest_
        assert model.get_params()["validation"] == parameters.get("validation", "auto")
        assert SelectionPath.load(tmp_path / "path.json").is_validated
        assert json.loads((tmp_path / "honest.json").read_text())["honest"] == found


def test_groups_stay_whole(run: Run, files) -> None:
    for options, cv in (([], "leave-one-group-out"), (["--cv", 5], "5-fold by groups")):
        asked = on(files, "--method", "greedy-rls", "--groups", "age", "--json", *options)
        record = json.loads(run(*asked).out)
        assert record["honest"]["validation"] == "10-fold by groups"
        assert cv in record["path"]["criterion"]


def test_as_many_folds_as_groups(run: Run, tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((60, 3))
    columns = {"a": X[:, 0], "b": X[:, 1], "y": X[:, 0] + X[:, 2], "of": np.arange(60) % 5}
    write_table(tmp_path / "few.csv", columns)
    asked = ("select", tmp_path / "few.csv", "--target", "y", "--groups", "of", "--json")
    done = run(*asked)
    assert json.loads(done.out)["honest"]["validation"] == "5-fold by groups"
    write_table(tmp_path / "few.csv", {**columns, "y": np.arange(60) % 5 / 7})
    null = json.loads(run(*asked, "--null", 19).out)["null"]
    assert null["p_value"] < 1, "a target that belongs to the groups is shuffled between them"


def test_rows_that_hang_together_and_copies_are_told_of(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    of = np.repeat(np.arange(30), 5)
    X = rng.standard_normal((30, 2))[of] + 0.3 * rng.standard_normal((150, 2))
    y = X[:, 0] + rng.standard_normal(30)[of] + 0.3 * rng.standard_normal(150)
    rows = np.r_[np.arange(150), 7, 70]
    columns = {"a": X[rows, 0], "b": X[rows, 1], "y": y[rows], "of": of[rows]}
    write_table(tmp_path / "some.csv", columns)
    asked = ("select", tmp_path / "some.csv", "--target", "y")
    alone = run(*asked, "--drop", "of").err
    assert "2 of 152 rows are copies of others" in alone
    assert "Warning: neighbouring rows have correlated errors (0." in alone
    assert "neighbouring" not in run(*asked, "--groups", "of").err
    assert "neighbouring" not in run(*asked, "--drop", "of", "--validation", "time").err


QUICK = {
    "elm-fs": ("--restarts", 2),
    "grafting": ("--l1", 0.1),
    "mlp-grafting": ("--l0", 0.1),
    "rbf": ("--r", 1, "--t", 1),
}


@pytest.mark.parametrize("method", [name for name in METHODS if name != "rank-rls"])
def test_every_method_leaves_out_whole_groups(run: Run, tmp_path: Path, method: str) -> None:
    X = np.random.default_rng(0).standard_normal((30, 2))
    columns = {"a": X[:, 0], "b": X[:, 1], "y": X[:, 0] + X[:, 1], "of": np.arange(30) % 6}
    write_table(tmp_path / "few.csv", columns)
    given = ("--groups", "of", "--validation", 3, *QUICK.get(method, ()))
    asked = ("select", tmp_path / "few.csv", "--target", "y", "--method", method)
    record = json.loads(run(*asked, *given, "--json").out)
    assert record["honest"]["validation"] == "3-fold by groups"


def test_methods_without_a_rule_are_judged_too(run: Run, files) -> None:
    options = ("--method", "grafting", "--l1", 10)
    done = run(*on(files, *options, "--json"))
    record = json.loads(done.out)
    assert record["honest"]["size"] == record["chosen"]["size"] == 4
    assert record["chosen"]["rule"] == "own"
    words = run(*on(files, *options, "--choose", "one_se", "--verbose")).out
    assert "Expected error: RMSE" in words
    assert "squared error on the training data, which the search itself minimised" in words


def test_stability_in_words_and_files(run: Run, files, tmp_path: Path) -> None:
    done = run(*on(files, "--stability", 10, "--choose", 1, "--out", tmp_path))
    assert "Over 10 random halves of the data the selection of 1 has a stability of" in done.out
    assert "Features selected in at least 75 % of the halves: none." in done.out
    two = run(*on(files, "--stability", 10, "--choose", 2, "--quiet")).out
    assert "2; chance alone would give at most 0.8." in two
    found = json.loads((tmp_path / "honest.json").read_text())["stability"]
    assert found["n_halves"] == 10
    assert found["expected_false"]["3"] == pytest.approx(9 / (0.5 * 10))
    assert {"bmi", "s5"} >= set(found["frequencies"]["1"])
    assert sum(found["frequencies"]["3"].values()) == pytest.approx(3)


def test_numbers_that_tell_nothing_are_refused(run: Run, files) -> None:
    refused(run(*on(files, "--null", 10)), "--null 10", "19")
    refused(run(*on(files, "--stability", 5)), "--stability 5", "even")
    refused(run(*on(files, "--validation", 1)), "--validation 1", "2")
    refused(run(*on(files, "--validation", 5, "--no-validation")), "exclude")


def test_classes_have_error_rate_and_auc_on_rows_left_out(run: Run, files) -> None:
    options = ("--target", "sex", "--max-features", 3, "--validation", 4)
    plain = run("select", files["csv"], *options, "--json").out
    chosen = json.loads(plain)["chosen"]
    words = run("select", files["csv"], *options, "--quiet").out
    rate, area = 100 * chosen["error_rate"], chosen["auc"]
    assert f"Expected error: error rate {rate:.3g} %" in words
    assert f"AUC {area:.3f}" in words
    table = read_table(files["csv"], target="sex")
    model = SparseRLSClassifier(3, validation=4).fit(table.X, table.y)
    names = ("error_rate", "balanced_error", "log_loss", "brier", "auc")
    assert model.honest_.figures == pytest.approx({name: chosen[name] for name in names})
    assert chosen["log_loss"] == pytest.approx(model.honest_.error)
    counted = json.loads(run("select", files["csv"], *options, "--loss", "zero-one", "--json").out)
    assert counted["chosen"]["error_rate"] == pytest.approx(counted["honest"]["error"])
    assert 0.5 < counted["chosen"]["auc"] < 1


def interrupted_after(fits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of a search, after so many whole ones."""
    from sparsepath import SparseRLSRegressor

    search, count = SparseRLSRegressor._fit, 0

    def impatient(self: SparseRLSRegressor, *given: Any) -> object:
        nonlocal count
        count += 1
        if count == fits + 1:
            signal.raise_signal(signal.SIGINT)
        return search(self, *given)

    monkeypatch.setattr(SparseRLSRegressor, "_fit", impatient)
    monkeypatch.setattr(SparseRLSRegressor, "_search_many", None)  # one search after another


def test_ctrl_c_in_the_validation_keeps_the_folds(run: Run, files, tmp_path, monkeypatch) -> None:
    interrupted_after(1 + 4, monkeypatch)  # the search, and four folds
    done = run(*on(files, "--max-features", 4, "--null", 19, "--out", tmp_path))
    assert done.code == 130
    assert "use only the completed parts (10-fold, 4 of 10 parts)" in done.err
    assert "Expected error: RMSE" in done.out
    path = SelectionPath.load(tmp_path / "path.json")
    assert path.complete
    assert path.validation == "10-fold, 4 of 10 parts"
    found = json.loads((tmp_path / "honest.json").read_text())
    assert (found["honest"]["whole"], found["null"]) == (False, None)


def test_ctrl_c_in_the_first_fold_keeps_the_path(run: Run, files, tmp_path, monkeypatch) -> None:
    interrupted_after(2, monkeypatch)
    done = run(*on(files, "--max-features", 4, "--null", 19, "--out", tmp_path))
    assert done.code == 130
    assert "the validation was interrupted: there is no honest error" in done.err
    assert "no row was kept from the search." in done.out
    path = SelectionPath.load(tmp_path / "path.json")
    assert path.complete
    assert not path.is_validated
    assert json.loads((tmp_path / "honest.json").read_text())["null"] is None


def test_ctrl_c_in_repetitions_keeps_what_is_done(run: Run, files, tmp_path, monkeypatch) -> None:
    options = ("--max-features", 4, "--no-validation", "--out", tmp_path)
    interrupted_after(2 + 6, monkeypatch)  # the search, the same again, six shuffles
    done = run(*on(files, *options, "--null", 40, "--stability", 10))
    assert done.code == 130
    assert "--null is of 6 shuffles instead of 40" in done.err
    assert "At least 19 shuffles are needed." in done.out
    assert "Selected: none" not in done.out
    found = json.loads((tmp_path / "honest.json").read_text())
    assert (found["null"]["n_permutations"], found["stability"]) == (6, None)


def test_the_bar_counts_repetitions(run: Run, files, monkeypatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    seen = []

    class Seen(output.ProgressBar):
        def count(self, done: int, of: int) -> None:
            super().count(done, of)
            seen.append((self.what, self.unit, self._bar.tasks[0].completed, of))

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(select, "ProgressBar", Seen)
    assert run(*on(files, "--validation", 3, "--null", 19, "--stability", 4)).code == 0
    assert seen[:3] == [("validating", "folds", done, 3) for done in range(3)]
    assert seen[3:22] == [("null", "shuffles", done, 19) for done in range(19)]
    assert seen[22:] == [("stability", "halves", done, 4) for done in range(4)]


def test_the_cost_of_validation_is_told_first(run: Run, files, monkeypatch) -> None:
    monkeypatch.setattr("sparsepath.cli.select.LONG", 0.01)
    done = run(*on(files, "--method", "greedy-rls"))
    assert "about 11 times to know the error on new data" in done.err
    assert "fewer folds (--validation 5) or --no-validation shorten it" in done.err
    few = run(*on(files, "--method", "greedy-rls", "--validation", 5)).err
    assert "--no-validation shortens it" in few
    assert "fewer folds" not in few
    several = run(*on(files)).err
    assert "and several methods, all of it about 6 times to know the error on new data" in several
    assert "a single method (--method greedy-rls) shortens it" in several
    assert "fewer folds" not in several
    assert run(*on(files, "--method", "greedy-rls", "--no-validation")).err == ""


def test_a_plan_of_what_select_would_do(run: Run, files) -> None:
    asked = ("plan", files["csv"], "--target", "progression")
    told = run(*asked, "--max-features", 3, "--validation", 5, "--null", 40, "--stability", 6).out
    assert "442 rows x 10 columns. The search takes about" in told
    assert "5 more with rows left out" in told
    assert "40 more with y shuffled" in told
    assert "6 more on halves" in told
    assert "in all 52 searches in about" in told
    assert "more" not in run(*asked, "--no-validation", "--method", "lars").out
    refused(run(*asked, "--memory", "1GB", "--null", 20), "--null", "memory")


def test_the_demo_leads_with_the_honest_error(run: Run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("demo").code == 0
    page = Path("demo-result/index.html").read_text(encoding="utf-8")
    assert "Expected error: RMSE 55.43 (90 % interval 52.62 to 58.60)" in page
    assert '"validation": "5-fold"' in page
