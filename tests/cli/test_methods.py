"""Every method on a small file: what is printed and written, and the way back by ``predict``."""

import json
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.metrics import r2_score

from sparsepath import (
    GraftingRegressor,
    OPELMRegressor,
    SelectionPath,
    SparseRankRLS,
    SparseRLSRegressor,
    load_model,
)
from sparsepath.data.readers import read_table, write_table
from sparsepath.methods import METHODS, OPTIONS
from sparsepath.methods.mutual_info_regressor import MutualInfoRegressor

from .conftest import Done, Run, refused

QUICK = {
    "rbf": "--r 10 --cv 2",
    "elm-fs": "--restarts 2 --strategy scaling",
    "mi-forward-backward": "--restarts 2",
    "mlp-grafting": "--max-hidden 1",
}
CLASSIFIERS = [name for name, method in METHODS.items() if "classification" in method.tasks]
REGRESSION_ONLY = [name for name in METHODS if name not in CLASSIFIERS]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Forty rows of which ``a`` and ``b`` matter: numbers, two classes, three classes."""
    folder = tmp_path_factory.mktemp("small")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    y = 2 * X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=40)
    columns = {name: X[:, j] for j, name in enumerate("abcd")}
    targets = {
        "numbers": y,
        "two": np.where(y > 0, "yes", "no"),
        "three": np.array(["low", "mid", "top"])[np.digitize(y, [-1, 1])],
    }
    files = {name: folder / f"{name}.csv" for name in targets}
    for name, target in targets.items():
        write_table(files[name], {**columns, "y": target})
    return files


def select(run: Run, file: Path, method: str, *options: object) -> Done:
    quick = QUICK.get(method, "").split()
    return run("select", file, "--target", "y", "--method", method, *quick, *options)


def check_round_trip(run: Run, file: Path, out: Path) -> SelectionPath:
    """The path loads, and the program predicts what the saved model predicts."""
    path = SelectionPath.load(out / "path.json")
    assert path.feature_names == tuple("abcd")
    model = load_model(out / "model.json")
    X = read_table(file, target="y").X
    done = run("predict", out / "model.json", file, "--json")
    assert done.code == 0, done.err
    columns = json.loads(done.out)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        for size in path.sizes:  # a copy at every size predicts, from its columns alone
            other = model.at_size(size)
            assert tuple(other.selected_) == path.subset(size)
            unused = [j for j in range(4) if j not in path.subset(size)]
            changed = X.copy()
            changed[:, unused] = 7.0
            np.testing.assert_array_equal(other.predict(X), other.predict(changed))
        predicted = model.predict(X)
    if "label" in columns:
        assert columns["label"] == predicted.tolist()
    else:
        np.testing.assert_allclose(columns["prediction"], predicted, rtol=1e-9, atol=1e-12)
    return path


@pytest.mark.parametrize("method", METHODS)
def test_regression(run: Run, small: dict[str, Path], tmp_path: Path, method: str) -> None:
    done = select(run, small["numbers"], method, "--out", tmp_path, "--verbose")
    assert done.code == 0, done.err
    path = check_round_trip(run, small["numbers"], tmp_path)
    assert 0 in path.sizes
    assert f"Method: {method}" in done.out
    assert f"Error: {path.criterion}, " in done.out
    words = "optimistic" if path.error_kind != "training" else "on the training data"
    assert words in done.out
    assert "<- chosen" in done.out
    model = load_model(tmp_path / "model.json")
    assert 0 in model.selected_, "the feature that matters most"
    table = read_table(small["numbers"], target="y")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        assert r2_score(table.y, model.predict(table.X)) > 0.5


@pytest.mark.parametrize("kind", ["two", "three"])
@pytest.mark.parametrize("method", CLASSIFIERS)
def test_classification(
    run: Run, small: dict[str, Path], tmp_path: Path, method: str, kind: str
) -> None:
    done = select(run, small[kind], method, "--out", tmp_path, "--verbose")
    if kind == "three" and METHODS[method].two_classes:
        refused(done, f"{method} supports two classes, and the target has 3", "grafting")
        return
    assert done.code == 0, done.err
    check_round_trip(run, small[kind], tmp_path)
    assert "Task: classification" in done.out


@pytest.mark.parametrize("method", REGRESSION_ONLY)
def test_classes_are_refused(run: Run, small: dict[str, Path], method: str) -> None:
    refused(select(run, small["two"], method), f"{method} supports regression only", "grafting")


def test_whole_numbers_of_two_values(run: Run, small: dict[str, Path], tmp_path: Path) -> None:
    table = read_table(small["two"], target="y")
    np.savez(tmp_path / "two.npz", X=table.X, y=(table.y == "yes").astype(int))
    refused(select(run, tmp_path / "two.npz", "lars"), "--task regression")
    assert select(run, tmp_path / "two.npz", "lars", "--task", "regression").code == 0


@pytest.mark.parametrize("method", METHODS)
def test_options_that_a_method_has_not(run: Run, small: dict[str, Path], method: str) -> None:
    values = {
        "alpha": "1",
        "checkpoint": "keep.json",
        "class-weight": "balanced",
        "cv": "3",
        "force": "a",
        "forbid": "a",
        "start": "a",
        "significance": "0.05",
        "groups": "a",
        "l0": "0.1",
        "l1": "0.1",
        "l2": "0.1",
        "loss": "squared",
        "max-features": "2",
        "max-hidden": "2",
        "neighbors": "3",
        "r": "2",
        "restarts": "2",
        "search": "forward",
        "seed": "2",
        "strategy": "swap",
        "t": "2",
        "threads": "1",
        "threshold": "balanced",
        "time-budget": "5s",
        "weights": "a",
    }
    missing = set(OPTIONS) - METHODS[method].options
    assert missing - {"standardize"} <= set(values)
    for option in sorted(missing & set(values)):
        given = ("--method", method, f"--{option}", values[option])
        done = run("select", small["numbers"], "--target", "y", *given)
        refused(done, f"{method} has no option --{option}")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--method grafting --l1 -1", ["--l1 -1", "from 0 up"]),
        ("--method grafting --l2 much", ["--l2 much"]),
        ("--method grafting --l1 0.1 --cv 3", ["--l1", "--cv"]),
        ("--method grafting --l1 0.1 --choose one_se", ["--choose one_se", "standard errors"]),
        ("--method mlp-grafting --max-hidden 0", ["--max-hidden 0"]),
        ("--method rbf --r 0", ["--r 0", "above 0"]),
        ("--method rbf --r 3 --t 1 --cv 3", ["--cv"]),
        ("--method elm-fs --seed -1", ["--seed -1"]),
        ("--method elm-fs --seed 4294967296", ["--seed"]),
        ("--method elm-fs --restarts none", ["--restarts none"]),
        ("--method elm-fs --strategy bath", ["did you mean both?"]),
        ("--method lssvm-forward --cv 99", ["99"]),
        ("--method lars --choose 5", ["--choose 5"]),
        ("--loss auc", ["auc is not available for regression"]),
        ("--loss disagreement", ["disagreement is not available for regression with greedy-rls"]),
        ("--significance 0", ["--significance 0", "0.001"]),
        ("--significance 0.05 --search backward", ["makes none"]),
        ("--start a,e", ["--start", "no column 'e'"]),
    ],
)
def test_values_that_make_no_sense(run: Run, small, options: str, words: list[str]) -> None:
    refused(run("select", small["numbers"], "--target", "y", *options.split()), *words)


def test_one_penalty_one_pair_of_budgets(run: Run, small, tmp_path: Path) -> None:
    for options in (
        "--method grafting --l1 0.1 --l2 0.01 --l0 0.01",
        "--method rbf --r 20 --t 1",
        "--method mlp-grafting --l1 0.01 --l2 0.001 --l0 0.01 --max-hidden 2 --choose 1",
    ):
        given = (*options.split(), "--out", tmp_path, "--model-format", "joblib")
        done = run("select", small["numbers"], "--target", "y", *given)
        assert done.code == 0, done.err
        path = check_round_trip(run, small["numbers"], tmp_path)
        assert path.error_kind == "training"
        assert f"{path.criterion[1:]} on the training data" in done.out
    model = joblib.load(tmp_path / "model.joblib")
    assert (model.l1, model.l2, model.l0, model.max_hidden) == (0.01, 0.001, 0.01, 2)
    assert len(model.selected_) == 1


def test_grafting_by_the_squared_hinge(run: Run, small, tmp_path: Path) -> None:
    given = ("--method", "grafting", "--loss", "squared-hinge", "--model-format", "joblib")
    done = run("select", small["two"], "--target", "y", *given, "--out", tmp_path)
    assert done.code == 0, done.err
    model = joblib.load(tmp_path / "model.joblib")
    assert model.path_.criterion == "5-split squared hinge loss"
    three = run("select", small["three"], "--target", "y", *given)
    refused(three, "--loss squared_hinge is for two classes", "--loss logistic")


def test_sizes_that_a_path_lacks(run: Run, small, tmp_path: Path) -> None:
    given = ("--method", "rbf", "--r", 20, "--t", 1)
    arguments = ("select", small["numbers"], "--target", "y", *given, "--out", tmp_path)
    assert run(*arguments).code == 0
    smaller, larger = SelectionPath.load(tmp_path / "path.json").sizes
    assert (smaller, larger > 1) == (0, True)
    done = run(*arguments, "--choose", 1)
    assert done.code == 0
    assert "no size 1" in done.err
    assert "is used" in done.err
    assert "the nearest size to the 1 requested" in done.out
    lambdas = ("--method", "grafting", "--l1", 0.5, "--choose", 4)
    done = run("select", small["numbers"], "--target", "y", *lambdas)
    assert "no size 4" in done.err
    assert "is used" in done.err


def test_a_method_without_a_rule_is_taken_at_its_word(run: Run, tmp_path: Path) -> None:
    """The solver passes a larger set with a lower training error, but a higher criterion."""
    rng = np.random.default_rng(58)
    X = rng.standard_normal((40, 6))
    X[:, 3] = X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(40)
    y = X[:, 0] + X[:, 1] + 0.5 * X[:, 4] + 0.3 * rng.standard_normal(40)
    np.save(tmp_path / "data.npy", np.column_stack([X, y]))
    own = GraftingRegressor(0.02).fit(X, y)
    assert len(own.selected_) < own.path_.choose("min")
    given = ("--target", "6", "--method", "grafting", "--l1", 0.02, "--quiet")
    done = run("select", tmp_path / "data.npy", *given)
    assert f"Selected: {len(own.selected_)} of 6 features" in done.out
    assert "squared error on the training data" in done.out
    assert "the model with which the method ended" in done.out


def test_the_seed_decides(run: Run, small) -> None:
    def errors(*options: object) -> list[float]:
        done = select(run, small["numbers"], "elm-fs", "--json", "--max-features", 2, *options)
        return [step["error"] for step in json.loads(done.out)["path"]["steps"]]

    assert errors() == errors("--seed", 0) == errors("--threads", 1)
    assert errors() != errors("--seed", 1)


def test_mutual_information_is_judged_by_a_machine(run: Run, small, tmp_path: Path) -> None:
    done = select(
        run, small["numbers"], "mi-forward", "--out", tmp_path, "--model-format", "joblib"
    )
    assert "OP-ELM on the selected columns predicts" in done.out
    assert "leave-one-out squared error of OP-ELM" in done.out
    model = joblib.load(tmp_path / "model.joblib")
    assert isinstance(model, MutualInfoRegressor)
    assert model.mutual_information_.keys() == set(model.path_.sizes)
    assert type(model).__module__.startswith("sparsepath.methods.mutual_info_regressor")
    y = read_table(small["numbers"], target="y").y
    left_out = [(y[i] - np.delete(y, i).mean()) ** 2 for i in range(len(y))]
    np.testing.assert_allclose(model.path_.error(0), np.mean(left_out))


def test_the_judged_error_is_of_a_subset_whatever_its_order() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = 3 * X[:, 2] + X[:, 0]
    model = MutualInfoRegressor(2, search="forward", choose=2, random_state=0).fit(X, y)
    assert model.selected_.tolist() == [2, 0]
    machine = OPELMRegressor(random_state=0).fit(X[:, [0, 2]], y)
    assert model.path_.error(2) == machine.loo_error_
    np.testing.assert_array_equal(model.predict(X), machine.predict(X[:, [0, 2]]))


def test_auc(run: Run, small) -> None:
    done = run("select", small["two"], "--target", "y", "--loss", "auc", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["path"]["criterion"] == "leave-pair-out AUC error"
    refused(run("select", small["three"], "--target", "y", "--loss", "auc"), "two classes")
    done = run("select", small["two"], "--target", "y", "--loss", "auc", "--cv", 3)
    assert "3-fold AUC error" in done.out


def test_ranking_within_queries(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, query = rng.normal(size=(60, 4)), np.repeat(np.arange(12), 5)
    grade = np.digitize(X[:, 1] - X[:, 2] + rng.normal(size=12)[query], [-1, 0, 1])
    columns = {name: X[:, j] for j, name in enumerate("abcd")}
    file = tmp_path / "ranked.csv"
    write_table(file, {**columns, "query": query, "grade": grade})
    given = ("select", file, "--target", "grade", "--method", "rank-rls", "--drop", "query")
    done = run(
        "select",
        *given[1:6],
        "--groups",
        "query",
        "--out",
        tmp_path / "out",
        "--model-format",
        "joblib",
    )
    assert done.code == 0, done.err
    assert "leave-query-out pairwise squared error" in done.out
    model = joblib.load(tmp_path / "out" / "model.joblib")
    alone = SparseRankRLS(4, standardize=True).fit(X, grade, groups=query)
    assert model.path_.subsets == alone.path_.subsets
    np.testing.assert_allclose(model.coef_, alone.coef_)
    done = run("select", *given[1:6], "--groups", "query", "--loss", "disagreement", "--cv", 3)
    assert "3-fold ranking error" in done.out
    assert "leave-pair-out pairwise squared error" in run(*given, "--search", "floating").out
    refused(run(*given, "--weights", "a"), "rank-rls has no option --weights")


def test_penalty_and_size_together(run: Run, small) -> None:
    table = read_table(small["numbers"], target="y")
    alphas = ("0.1", "10", "100")
    for rule in ("one_se", "min", "2", "0.3"):
        given = ("--alpha", ",".join(alphas), "--choose", rule)
        done = run("select", small["numbers"], "--target", "y", *given, "--json")
        chosen = json.loads(done.out)["chosen"]
        value = {"2": 2, "0.3": 0.3}.get(rule, rule)
        penalties = [float(a) for a in alphas]
        model = SparseRLSRegressor(alpha=penalties, standardize=True, choose=value)
        model.fit(table.X, table.y)
        assert chosen["alpha"] == model.alpha_
        assert chosen["columns"] == model.selected_.tolist()
        said = run("select", small["numbers"], "--target", "y", *given).out
        assert f"alpha {model.alpha_:.4g} (of 0.1, 10, 100)" in said
        assert f"with alpha {model.alpha_:.4g}." in said


def test_start_sets_and_significance(run: Run, small) -> None:
    given = ("select", small["numbers"], "--target", "y", "--json")
    started = json.loads(run(*given, "--method", "floating-rls", "--start", "c,d").out)["path"]
    assert [(move["action"], move["feature"]) for move in started["moves"][:2]] == [
        ("add", 2),
        ("add", 3),
    ]
    assert started["parameters"]["start"] == ["c", "d"]
    tested = json.loads(run(*given, "--significance", "0.01").out)
    assert tested["path"]["stopped"] == "max_t"
    assert "a" in tested["chosen"]["features"]


@pytest.mark.validated
@pytest.mark.parametrize(("more", "logistic"), [((), True), (("--alpha", 1), False)])
def test_a_logistic_model_is_named(run: Run, tmp_path: Path, more: tuple[object, ...], logistic):
    """Also where the penalties of the search and of the model are the same number, as here."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 2))
    y = np.where(X[:, 0] + 0.2 * rng.standard_normal(100) > 0, "yes", "no")
    write_table(tmp_path / "t.csv", {"a": X[:, 0], "b": X[:, 1], "y": y})
    asked = ("--target", "y", "--method", "greedy-rls", "--verbose", *more)
    done = run("select", tmp_path / "t.csv", *asked)
    assert ("a logistic model of the selected columns (alpha 1)" in done.out) == logistic
    [details] = [line for line in done.out.splitlines() if line.startswith("Details: ")]
    assert details.count("log loss") == 1
