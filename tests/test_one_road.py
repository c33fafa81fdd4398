"""The same problem from an array, a data frame, files, the command line and a Dask cluster."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold

import sparsepath
from sparsepath import (
    GraftingClassifier,
    GraftingRegressor,
    SparseRLSClassifier,
    SparseRLSRegressor,
    TableSelector,
    permutation_null,
    stability,
)
from sparsepath.cli import main

dask = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
OPTION = {  # what parameters are called on the command line, if not the same
    "max_features": "max-features",
    "class_weight": "class-weight",
    "forbidden": "forbid",
    "forced": "force",
    "sample_weight": "weights",
}
LOSSES = {  # over folds, categories with other losses need data in memory
    "numbers": [None, "absolute"],
    "classes": [None, "zero_one", "balanced"],
    "text": [None],
    "text classes": [None],
}
KINDS = [*LOSSES, "grafting", "grafted classes", "grafted text"]
GRAFTING = GraftingRegressor, GraftingClassifier  # its solver ends at a tolerance
CLASS_WEIGHTS = [None, "balanced", {"late": 3.0, "soon": 1.0}]
PHASES = (Phase.explicit, Phase.generate)  # a smaller problem is no clearer, and takes minutes
COLUMN = {"sample_weight": "w", "groups": "g"}


@pytest.fixture(scope="module")
def client():
    quiet = {"silence_logs": 50, "dashboard_address": None, "threads_per_worker": 1}
    started = distributed.LocalCluster(n_workers=2, **quiet)
    with distributed.Client(started) as client:
        yield client
    started.close()


@dataclass
class Problem:
    """A random problem: data, an estimator, and the options that stand for it."""

    frame: pd.DataFrame
    y: np.ndarray
    beside: dict[str, np.ndarray]  # arguments of fit, one entry for each row
    model: Any
    options: list[str] | None  # None: the command line has no such thing

    @property
    def is_plain(self) -> bool:
        """Whether columns are numbers that need no names."""
        named = getattr(self.model, "forced", None) or getattr(self.model, "forbidden", None)
        return not isinstance(self.model, TableSelector) and named is None

    @property
    def in_any_order(self) -> bool:
        """Whether no splits name rows by their numbers."""
        given = self.model.get_params().values()
        return not any(hasattr(value, "split") and not isinstance(value, str) for value in given)

    def table(self):
        """All columns together, as in a file."""
        beside = {COLUMN[name]: values for name, values in self.beside.items()}
        return self.frame.assign(y=self.y, **beside)

    def command(self, file):
        """What is typed."""
        named = [(OPTION.get(name, name), COLUMN[name]) for name in self.beside]
        more = [word for name, column in named for word in (f"--{name}", column)]
        return ["select", str(file), "--target", "y", *self.options, *more]


def typed(parameters):
    """Parameters as options; None if one of them cannot be typed."""
    words = []
    for name, value in parameters.items():
        if hasattr(value, "split") and not isinstance(value, str):
            return None
        if isinstance(value, dict):
            value = [f"{label}={weight}" for label, weight in value.items()]
        value = ",".join(value) if isinstance(value, list) else str(value)
        words += [f"--{OPTION.get(name, name)}", value]
    return words


@st.composite
def problems(draw, kinds=KINDS):
    """Problems of all kinds that the command line knows, too."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    kind = draw(st.sampled_from(kinds))
    m, n = draw(st.integers(160, 240)), draw(st.sampled_from([3, 5, 18]))
    X = rng.standard_normal((m, n)) @ (np.eye(n) + 0.4 * rng.standard_normal((n, n)) / n)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(n)])
    y = 2 * X[:, 0] - X[:, -1] + rng.standard_normal(m)
    labels = np.where(y > 1, "late", "soon")
    beside = {}
    if draw(st.booleans()):
        beside["sample_weight"] = rng.integers(1, 4, m).astype(float)
    if draw(st.booleans()):
        beside["groups"] = rng.integers(0, 12, m)
    if "text" in kind:
        shares = [0.4, 0.3, 0.2, *[0.005] * 20]  # without some rows there are other towns
        town = rng.choice(["Espoo", "Oulu", "Turku", *map(str, range(20))], m, p=shares)
        frame["town"], y = town, y + 2 * (town == "Oulu")
        frame["price"] = [f"$ {value:.2f}" for value in rng.uniform(1, 9, m)]
        missing = draw(st.sampled_from(["error", "median", "indicator"]))
        if missing != "error":
            frame.loc[rng.choice(m, 15, replace=False), ["c0", "town"]] = None

    def problem(target, model, options):
        if "text" in kind:
            given = getattr(model, "validation", "auto")
            model = TableSelector(model, missing=missing, validation=given)
            options = options and [*options, "--missing", missing]
        return Problem(frame, target, beside, model, options)

    if kind.startswith("graft"):
        l1 = draw(st.sampled_from([0.02, 0.1]))
        options = ["--method", "grafting", "--l1", str(l1)]
        if kind != "grafted classes":
            return problem(y, GraftingRegressor(l1), options)
        weights = draw(st.sampled_from(CLASS_WEIGHTS))
        options += [] if weights is None else typed({"class_weight": weights})
        return problem(labels, GraftingClassifier(l1, class_weight=weights), options)
    parts = KFold(3, shuffle=True, random_state=1)
    allowed = {
        "max_features": [3],
        "search": ["forward", "floating", "swap", "backward"],
        "cv": ["loo", 4, parts],
        # Of tables in passes penalties are not chosen by the honest errors of the table.
        "alpha": [1.0, 0.1, 10.0] if "text" in kind else [None, 0.1, 10.0],
        "validation": [None, 4, parts],
        "choose": ["one_se", "min", 2],
        "forbidden": [None, ["c1"]],
        "forced": [None, ["c2"]],
        "loss": LOSSES[kind],
        "class_weight": CLASS_WEIGHTS if "classes" in kind else [None],
    }
    drawn = {name: draw(st.sampled_from(values)) for name, values in allowed.items()}
    drawn = {name: value for name, value in drawn.items() if value is not None}
    options = typed(drawn)
    if "classes" in kind:
        return problem(labels, SparseRLSClassifier(**drawn), options)
    return problem(y, SparseRLSRegressor(**drawn), options)


def same(model, whole, digits=1e-9, corrected=1e-8):
    """The same features, sizes, errors and intervals."""
    assert model.path_.sizes == whole.path_.sizes
    assert model.path_.subsets == whole.path_.subsets
    assert model.selected_.tolist() == whole.selected_.tolist()
    assert_allclose(model.path_.errors, whole.path_.errors, rtol=digits)
    assert_allclose(model.path_.honest_errors, whole.path_.honest_errors, rtol=digits)
    assert_allclose(model.honest_.error, whole.honest_.error, rtol=corrected)
    assert_allclose(model.honest_.interval, whole.honest_.interval, rtol=corrected)


@pytest.mark.validated
@settings(max_examples=12, phases=PHASES)
@given(problem=problems())
def test_every_storage_gives_the_same_answer(problem, tmp_path_factory, client):
    folder = tmp_path_factory.mktemp("road")
    frame, y, model, beside = problem.frame, problem.y, problem.model, problem.beside
    whole = clone(model).fit(frame, y, **beside)
    if problem.is_plain:
        same(clone(model).fit(frame.to_numpy(), y, **beside), whole)
    if problem.in_any_order:
        order = np.random.default_rng(0).permutation(len(y))
        shuffled = {name: values[order] for name, values in beside.items()}
        turned = frame.iloc[order].reset_index(drop=True)
        by_tolerance = isinstance(getattr(model, "selector", model), GRAFTING)
        digits = 1e-5 if by_tolerance else 1e-9
        # Sizes with equally many mistakes tie in a bootstrap draw, and rounding decides.
        corrected = 1e-2 if is_classifier(model) else 10 * digits
        same(clone(model).fit(turned, y[order], **shuffled), whole, digits, corrected)
    table = problem.table()
    table.to_parquet(folder / "t.parquet", row_group_size=70)
    table.to_feather(folder / "t.feather", chunksize=50)
    table.to_csv(folder / "t.csv", index=False)
    columns = {"weights": "w"} if "sample_weight" in beside else {}
    columns |= {"groups": "g"} if "groups" in beside else {}
    for name in ("t.parquet", "t.csv", "t.feather"):
        data = sparsepath.open(folder / name, target="y", **columns)
        found = clone(model).fit(data)
        same(found, whole)
    if problem.is_plain:
        parts = {name: dask.from_array(values, chunks=60) for name, values in beside.items()}
        parts |= {"groups": beside["groups"]} if "groups" in beside else {}
        cut = dask.from_array(frame.to_numpy(), chunks=(60, frame.shape[1]))
        same(clone(model).fit(cut, dask.from_array(y, chunks=60), **parts), whole)
    for more in ([], ["--memory", "1GB"]) if problem.options else ():
        command = problem.command(folder / "t.parquet")
        assert main([*command, *more, "--quiet", "--out", str(folder / "out")]) == 0
        path = sparsepath.SelectionPath.load(folder / "out" / "path.json")
        honest = json.loads((folder / "out" / "honest.json").read_text())["honest"]
        assert path.subsets == whole.path_.subsets
        assert_allclose(path.errors, whole.path_.errors, rtol=1e-9)
        assert_allclose(path.honest_errors, whole.path_.honest_errors, rtol=1e-9)
        assert honest["size"] == whole.honest_.size
        assert_allclose(honest["interval"], whole.honest_.interval, rtol=1e-8)


@settings(max_examples=5, phases=PHASES)
@given(problem=problems(("numbers", "classes", "grafting")))
def test_so_do_shuffled_targets_and_halves(problem, tmp_path_factory):
    file = tmp_path_factory.mktemp("road") / "t.parquet"
    problem.table().to_parquet(file, row_group_size=70)
    columns = {"weights": "w"} if "sample_weight" in problem.beside else {}
    data = sparsepath.open(file, target="y", drop=["g"] * ("groups" in problem.beside), **columns)
    groups = problem.beside.pop("groups", None)
    found = []
    for X, y, more in ((problem.frame, problem.y, problem.beside), (data, None, {})):
        model = clone(problem.model).set_params(validation=None)
        null = permutation_null(model, X, y, 19, groups=groups, **more)
        halves = stability(model, X, y, 4, groups=groups, **more)
        found.append((null.p_value, null.null_errors, null.errors, halves.indices))
    for one, other in zip(*found, strict=True):
        assert_allclose(one, other, rtol=1e-9)
