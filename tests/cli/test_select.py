"""``sparsepath select``: every format, every option, what is printed and what is written."""

import io
import json
import math
import re
import sys
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut

from sparsepath import SelectionPath, SparseRLSClassifier, SparseRLSRegressor, Step, load_model
from sparsepath.cli import output
from sparsepath.data.readers import read_table, write_table
from sparsepath.data.task import find_task
from sparsepath.methods import METHODS

from .conftest import Run

TARGETS = {"csv": "progression", "parquet": "progression", "npy": "-1", "npz": "y", "svm": "y"}


@pytest.fixture(scope="module")
def diabetes() -> tuple[np.ndarray, np.ndarray, SparseRLSRegressor]:
    X, y = load_diabetes(return_X_y=True, scaled=False)
    return X, y, SparseRLSRegressor().fit(X, y)


@pytest.mark.parametrize("kind", TARGETS)
def test_every_format_gives_the_path_of_the_estimator(run: Run, files, diabetes, kind) -> None:
    done = run("select", files[kind], "--target", TARGETS[kind], "--json")
    assert done.code == 0
    record = json.loads(done.out)
    path = SelectionPath.from_dict(record["path"])
    expected = diabetes[2].path_
    assert path.subsets == expected.subsets
    np.testing.assert_allclose(path.errors, expected.errors, rtol=1e-9)
    assert record["chosen"]["columns"] == diabetes[2].selected_.tolist()
    assert record["task"] == "regression"
    first = {"csv": "bmi", "parquet": "bmi", "npy": "x2", "npz": "x2", "svm": "x3"}
    assert record["chosen"]["features"][0] == path.names(1)[0] == first[kind]


def test_output_says_what_was_done_and_what_to_use(run: Run, files) -> None:
    asked = ("--target", "progression", "--method", "greedy-rls")
    done = run("select", files["csv"], *asked, "--choose", 4, "--verbose")
    assert done.code == 0
    assert done.err == ""
    lines = done.out.splitlines()
    assert "442 rows, 10 features, target 'progression'" in done.out
    assert [line.split(":")[0] for line in lines[:4]] == [
        "Selected",
        "Expected error",
        "Baseline",
        "Why this size",
    ]
    assert "Task: regression" in done.out
    assert "--task classification" in done.out
    assert "optimistic for the chosen set, not an estimate of the error on new data" in done.out
    assert "bmi, s5, bp, s1.\nExpected error: larger than RMSE 55.51, R2 0.483, by the" in done.out
    assert "Baseline: RMSE 77.18 (predicting the mean)." in done.out
    [chosen] = [line for line in lines if "<- chosen" in line]
    assert chosen.split()[0] == "4"
    [least] = [line for line in lines if "<- least error" in line]
    assert least.split()[0] == "6"


def test_quiet_prints_the_recommendation_only(run: Run, files) -> None:
    done = run("select", files["csv"], "--target", "progression", "--quiet", "--choose", "min")
    assert done.out.startswith("Selected: 6 of 10 features: bmi, s5, bp, s1, sex, s2.")
    assert done.out.count("\n") == 4
    assert done.err == ""


def test_options_reach_the_estimator(run: Run, files, tmp_path: Path) -> None:
    options = ["--max-features", 6, "--alpha", "0.1,10", "--loss", "absolute", "--choose", 0.02]
    options += ["--no-standardize", "--force", "age", "--forbid", "bmi,s3", "--drop", "sex"]
    options += ["--threads", 1, "--out", tmp_path, "--json", "--model-format", "joblib"]
    done = run("select", files["csv"], "--target", "progression", *options)
    assert done.code == 0, done.err
    model = joblib.load(tmp_path / "model.joblib")
    table = read_table(files["csv"], target="progression", drop=["sex"])
    expected = SparseRLSRegressor(
        6,
        alpha=[0.1, 10],
        loss="absolute",
        choose=0.02,
        forced=[0],
        forbidden=[1, 5],
        standardize=False,
    ).fit(table.X, table.y)
    assert model.path_.subsets == expected.path_.subsets
    assert model.alpha_ == expected.alpha_
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.path_.parameters["forced"] == ["age"]
    assert model.path_.parameters["choose"] == 0.02
    assert "sex" not in model.feature_names_in_
    assert model.callback is None


def test_forced_features_are_used_whatever_is_chosen(run: Run, files) -> None:
    forced = ["select", files["csv"], "--target", "progression", "--force", "age,sex"]
    done = run(*forced, "--choose", 0.95, "--quiet")
    assert done.out.startswith(
        "Selected: 2 of 10 features: age, sex.\nExpected error: larger than RMSE"
    )
    done = run(*forced, "--choose", 3)
    assert "Selected: 3 of 10 features: age, sex, bmi." in done.out
    assert "(the forced features alone)." in done.out
    done = run(*forced, "--choose", 1)
    assert (done.code, "2 features are forced" in done.err) == (2, True)
    assert run(*forced, "--choose", "5.0").code == 2


@pytest.mark.parametrize("name", [name for name in METHODS if name.endswith("-rls")])
def test_every_search_runs(run: Run, files, name) -> None:
    done = run("select", files["csv"], "--target", "progression", "--method", name, "--json")
    assert done.code == 0
    assert json.loads(done.out)["path"]["method"] == name
    if name == "backward-rls":
        other = run("select", files["csv"], "--target", "-1", "--search", "backward", "--json")
        assert json.loads(other.out)["path"]["method"] == name


def test_cv_weights_groups_and_rows(run: Run, files, tmp_path: Path, diabetes) -> None:
    X, y, _ = diabetes
    rng = np.random.default_rng(0)
    weights, group = rng.integers(0, 3, len(y)), rng.integers(0, 6, len(y))
    part = np.where(np.arange(len(y)) < 300, "train", "test")
    names = load_diabetes().feature_names
    columns = {name: X[:, j] for j, name in enumerate(names)}
    columns |= {"y": y, "w": weights, "g": np.array(list("abcdef"))[group], "part": part}
    file = tmp_path / "more.csv"
    write_table(file, columns)

    def path(*options: object) -> SelectionPath:
        done = run("select", file, "--target", "y", "--json", *options)
        assert done.code == 0, done.err
        return SelectionPath.from_dict(json.loads(done.out)["path"])

    def expected(**parameters: object) -> SparseRLSRegressor:
        return SparseRLSRegressor(10, **parameters)

    some = part == "train"
    found = path("--rows", "part=train", "--drop", "g", "--weights", "w")
    fitted = expected().fit(X[some], y[some], sample_weight=weights[some])
    np.testing.assert_allclose(found.errors, fitted.path_.errors, rtol=1e-9)
    assert found.feature_names == tuple(names)
    for options, cv in (
        (["--cv", 3], GroupKFold(3)),
        (["--cv", "loo"], LeaveOneGroupOut()),
        ([], LeaveOneGroupOut()),
    ):
        found = path("--drop", "part,w", "--groups", "g", *options)
        fitted = expected(cv=cv).fit(X, y, groups=group)
        assert found.subsets == fitted.path_.subsets
        np.testing.assert_allclose(found.errors, fitted.path_.errors, rtol=1e-9)
    found = path("--drop", "part,w,g", "--cv", 5)
    np.testing.assert_allclose(found.errors, expected(cv=5).fit(X, y).path_.errors, rtol=1e-9)


def test_classes_in_words(run: Run, files, tmp_path: Path) -> None:
    done = run(
        "select",
        files["iris"],
        "--target",
        "kind",
        "--loss",
        "zero_one",
        "--out",
        tmp_path,
        "--model-format",
        "joblib",
    )
    assert "Task: " not in done.out  # text leaves no doubt
    model = joblib.load(tmp_path / "model.joblib")
    assert isinstance(model, SparseRLSClassifier)
    assert model.loss == "zero_one"
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]


def test_out_writes_all_files_and_replaces_old_ones(run: Run, files, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "result"
    for _ in range(2):
        done = run("select", files["csv"], "--target", "progression", "--out", folder)
        assert done.code == 0
        names = {"path.json", "path.csv", "path.png", "curve.png", "honest.json", "model.json"} | {
            "index.html",
            "run.toml",
        }
        assert {file.name for file in folder.iterdir()} == names
        [line] = [line for line in done.out.splitlines() if line.startswith("Written")]
        assert line.startswith(f"Written to {folder}: ")
        assert all(name in line for name in names)
    done = run("select", files["csv"], "--target", "progression", "--out", folder, "--verbose")
    assert all(str(folder / name) in done.out for name in names)
    path = SelectionPath.load(folder / "path.json")
    assert path.names(3) == ("bmi", "s5", "bp")
    table = read_table(folder / "path.csv", drop=["error_kind", "entered", "left", "features"])
    np.testing.assert_allclose(table.X[:, 1], path.errors)
    for name in ("path.png", "curve.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")


def test_old_results_stay_whole_when_a_run_fails(run: Run, files, tmp_path, monkeypatch) -> None:
    arguments = ("select", files["csv"], "--target", "progression", "--out", tmp_path)
    run(*arguments)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert run(*arguments, "--force", "nothing").code == 2

    def broken(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sparsepath.system.files.os.replace", broken)
    done = run(*arguments, "--choose", 2)
    assert done.code == 2
    assert "No space left on device" in done.err
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_long_paths_are_shortened_on_screen_only(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 60))
    y = X[:, :10].sum(1) + rng.normal(size=200)
    np.savez(tmp_path / "long.npz", X=X, y=y)
    done = run("select", tmp_path / "long.npz", "--target", "y", "--out", tmp_path / "out")
    shown = [line.split()[0] for line in done.out.splitlines() if line[:5].strip().isdigit()]
    assert len(shown) < 30
    assert {"0", "1", "5", "60"} <= set(shown)
    assert "sizes are left out here" in done.out
    assert "<- chosen" in done.out
    assert "least error" in done.out
    assert len((tmp_path / "out" / "path.csv").read_text().splitlines()) == 62


def test_features_that_leave_are_shown_and_markup_in_names_is_text(run: Run, tmp_path) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 300))
    proxy = a + b + 0.5 * rng.normal(size=300)
    file = tmp_path / "swap.csv"
    write_table(file, {"[red]a": a, "b, too": b, "proxy": proxy, "y": a + b})
    done = run("select", file, "--target", "y", "--method", "swap-rls", "--choose", 2)
    assert "leaves" in done.out
    assert "[red]a" in done.out
    done = run("select", file, "--target", "y", "--force", '"b, too",[red]a', "--json")
    assert json.loads(done.out)["path"]["steps"][0]["subset"] == [1, 0]


def test_no_feature_is_worth_it(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    np.save(tmp_path / "noise.npy", rng.normal(size=(60, 3)))
    done = run("select", tmp_path / "noise.npy", "--target", 2, "--quiet")
    assert done.out.startswith("Selected: none of 2 features.")


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b", "a", "b"], "classification"),
        ([True, False, True], "classification"),
        ([0, 1, 1, 0], "classification"),
        ([-1.0, 1.0, 1.0], "classification"),
        (np.arange(60) % 3, "classification"),
        (np.arange(25) % 3, "regression"),
        (np.arange(1000) % 21, "regression"),
        (np.arange(1000) % 5 + 1, "regression"),  # ratings
        (np.arange(1000) % 4, "classification"),
        (np.arange(60) % 3 + 0.5, "regression"),
        ([0.25, 0.75, 0.25], "regression"),
        ([1, 2, 3, 4, 5, 6], "regression"),
    ],
)
def test_task_is_found_by_the_target(y, task: str) -> None:
    assert find_task(np.asarray(y), "auto", "y").name == task


def test_task_can_be_asked_for(run: Run, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    np.savez(tmp_path / "two.npz", X=X, y=(X[:, 0] > 0).astype(int))
    for options, task in (([], "classification"), (["--task", "regression"], "regression")):
        done = run("select", tmp_path / "two.npz", "--target", "y", "--json", *options)
        assert json.loads(done.out)["task"] == task


def test_checkpoint_is_written_and_gone_on_from(run: Run, files, tmp_path: Path) -> None:
    keep = tmp_path / "keep.json"
    arguments = ("select", files["csv"], "--target", "progression", "--checkpoint", keep, "--json")
    first, second = run(*arguments), run(*arguments)
    assert keep.exists()
    before, after = (json.loads(done.out)["path"]["steps"] for done in (first, second))
    assert before == after
    assert run(*arguments, "--alpha", 3).code == 2


def test_progress_is_shown_on_a_terminal_after_a_moment(monkeypatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(output, "BAR_AFTER", 0.01)
    X, y = load_diabetes(return_X_y=True)
    with output.ProgressBar(10, 1, unit="features", backward=False, quiet=False) as watch:
        model = SparseRLSRegressor(3, callback=watch.callback).fit(X, y)
        time.sleep(0.3)
    assert "3/10" in screen.getvalue()
    assert math.isfinite(model.path_.error(3))
    with output.ProgressBar(10, 1, unit="features", backward=False, quiet=True) as watch:
        assert not watch.shown


def test_big_inputs_are_announced(run: Run, files, monkeypatch) -> None:
    monkeypatch.setattr("sparsepath.cli.select.LONG", 0.0)
    asked = ("--target", "progression", "--method", "greedy-rls")
    done = run("select", files["csv"], *asked)
    assert "442 rows x 10 columns" in done.err
    assert "10 steps" in done.err
    assert "--max-features" in done.err


def test_the_cost_of_networks_is_told_in_time(run: Run, files, monkeypatch) -> None:
    monkeypatch.setattr("sparsepath.cli.select.LONG", 0.0)
    options = ("--method", "elm-fs", "--max-features", 1, "--restarts", 1, "--no-validation")
    done = run("select", files["csv"], "--target", "progression", *options)
    assert re.search(r"; about [\d.]+ (s|min) of one core in all; a smaller", done.err)


def test_interrupted_searches_keep_the_path(run: Run, files, tmp_path, monkeypatch) -> None:
    from sparsepath.rls.leave_one_out.in_memory import InMemory

    add = InMemory.add

    def impatient(self: InMemory, feature: int) -> None:
        if len(self.chosen) == 3:
            raise KeyboardInterrupt
        add(self, feature)

    monkeypatch.setattr(InMemory, "add", impatient)
    # With a forced feature the search goes step by step.
    options = ("--choose", 5, "--out", tmp_path, "--force", "bmi")
    done = run("select", files["csv"], "--target", "progression", *options)
    assert done.code == 130
    assert "interrupted" in done.err
    assert "Selected: 3 of 10 features: bmi, s5, bp." in done.out
    path = SelectionPath.load(tmp_path / "path.json")
    assert path.sizes == (1, 2, 3)
    assert not path.complete
    assert len(load_model(tmp_path / "model.json").selected_) == 3


@pytest.mark.parametrize(
    ("method", "options", "place", "calls"),
    [
        ("elm-fs", ["--restarts", 30, "--strategy", "scaling"], "elm.search.restart", 25),
        ("elm-fs", ["--strategy", "swap"], "elm.rough.RoughJudge.__call__", 30),
        ("mi-forward", [], "information.search._step", 4),
        ("mi-forward-backward", [], "information.search._step", 20),
    ],
)
def test_other_searches_keep_the_path_too(
    run: Run, files, tmp_path, monkeypatch, method, options, place, calls
) -> None:
    import importlib

    parts = place.split(".")
    home = importlib.import_module("sparsepath." + ".".join(parts[:2]))
    for name in parts[2:-1]:
        home = getattr(home, name)
    real, count = getattr(home, parts[-1]), 0

    def impatient(*given: object, **named: object) -> object:
        nonlocal count
        count += 1
        if count == calls:
            raise KeyboardInterrupt
        return real(*given, **named)

    monkeypatch.setattr(home, parts[-1], impatient)
    options = [*options, "--method", method, "--threads", 1, "--choose", 10]
    done = run("select", files["csv"], "--target", "progression", *options, "--out", tmp_path)
    assert done.code == 130, done.err
    assert "interrupted" in done.err
    path = SelectionPath.load(tmp_path / "path.json")
    assert (path.complete, path.stopped) == (False, "interrupted")
    model = load_model(tmp_path / "model.json")
    assert 0 < len(model.selected_) <= 10


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("elm-fs", {"n_restarts": 25, "strategy": "scaling"}),
        ("elm-fs", {"n_restarts": 5, "strategy": "both"}),
        ("elm-fs", {"strategy": "swap"}),
        ("mi-forward-backward", {"n_restarts": 3}),
    ],
)
def test_calls_are_as_many_as_the_bar_expects(method, options) -> None:
    X = np.random.default_rng(0).standard_normal((40, 4))
    told: list[SelectionPath] = []
    entry = METHODS[method]
    model = entry.make("regression", max_features=3, choose="min", **options)
    model.set_params(callback=told.append).fit(X, X[:, 0] + X[:, 1] ** 2)
    given = {"restarts": options.get("n_restarts", 100), **options}
    assert entry.calls is not None
    assert len(told) == entry.calls(given, 3)


def test_the_bar_counts_calls(monkeypatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    path = SelectionPath([Step((), 1.0)], n_features=1, complete=False)
    with output.ProgressBar(4, 1, unit="climbs", backward=False, quiet=False) as watch:
        for _ in range(3):
            watch.callback(path)
        assert watch._bar.tasks[0].completed == 3
        for _ in range(2):  # a part is left out, and one of them is done
            watch.callback(path.replaced(complete=True))
        assert (watch._bar.tasks[0].description, watch._bar.tasks[0].completed) == ("validating", 1)


def test_interrupted_before_there_is_a_path(run: Run, files, tmp_path, monkeypatch) -> None:
    def impatient(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sparsepath.cli.input.read_table", impatient)
    done = run("select", files["csv"], "--target", "progression", "--out", tmp_path)
    assert done == (130, "", "Interrupted.\n")
    assert not list(tmp_path.iterdir())
