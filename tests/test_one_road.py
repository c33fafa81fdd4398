"""The same problem from an array, a data frame, files, the command line and a Dask cluster."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone

import sparsepath
from sparsepath import GraftingRegressor, SparseRLSClassifier, SparseRLSRegressor
from sparsepath.cli import main

dask = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(scope="module")
def client():
    quiet = {"silence_logs": 50, "dashboard_address": None, "threads_per_worker": 1}
    started = distributed.LocalCluster(n_workers=2, **quiet)
    with distributed.Client(started) as client:
        yield client
    started.close()


@st.composite
def problems(draw):
    """Data, an estimator, the options of the command line that stand for it, and weights."""
    seed = draw(st.integers(0, 999))
    rng = np.random.default_rng(seed)
    m, n = draw(st.integers(160, 240)), draw(st.integers(3, 6))
    X = rng.standard_normal((m, n)) @ (np.eye(n) + 0.4 * rng.standard_normal((n, n)))
    y = 2 * X[:, 0] - X[:, -1] + rng.standard_normal(m)
    kind = draw(st.sampled_from(["rls", "classes", "grafting"]))
    w = rng.integers(1, 4, m).astype(float) if draw(st.booleans()) else None
    if kind == "grafting":
        l1 = draw(st.sampled_from([0.02, 0.3]))
        return X, y, w, GraftingRegressor(l1), ["--method", "grafting", "--l1", str(l1)]
    parameters = {
        "max_features": 3,
        "search": draw(st.sampled_from(["forward", "floating", "swap", "backward"])),
        "cv": draw(st.sampled_from(["loo", 4])),
        "alpha": draw(st.sampled_from([0.1, 10.0])),
        "validation": draw(st.sampled_from(["auto", 4])),
        "choose": draw(st.sampled_from(["one_se", "min", 2])),
        "forbidden": draw(st.sampled_from([None, ["c1"]])),
    }
    named = {"max_features": "max-features", "forbidden": "forbid"}
    options = [
        word
        for name, value in parameters.items()
        if value not in (None, "auto")
        for word in (f"--{named.get(name, name)}", "c1" if name == "forbidden" else str(value))
    ]
    if kind == "rls":
        loss = draw(st.sampled_from(["squared", "absolute"]))
        return X, y, w, SparseRLSRegressor(loss=loss, **parameters), [*options, "--loss", loss]
    labels = np.where(y > 0.5, "late", "soon")
    return X, labels, w, SparseRLSClassifier(**parameters), options


def same(model, whole):
    """The same features, sizes, errors and intervals."""
    assert model.path_.sizes == whole.path_.sizes
    assert model.path_.subsets == whole.path_.subsets
    assert model.selected_.tolist() == whole.selected_.tolist()
    assert_allclose(model.path_.errors, whole.path_.errors, rtol=1e-9)
    assert_allclose(model.path_.honest_errors, whole.path_.honest_errors, rtol=1e-9)
    assert_allclose(model.honest_.error, whole.honest_.error, rtol=1e-8)
    assert_allclose(model.honest_.interval, whole.honest_.interval, rtol=1e-8)


@pytest.mark.validated
@settings(max_examples=5)
@given(problem=problems())
def test_every_storage_gives_the_same_answer(problem, tmp_path_factory, client):
    X, y, w, model, options = problem
    folder = tmp_path_factory.mktemp("road")
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    weights = {} if w is None else {"sample_weight": w}
    whole = clone(model).fit(frame, y, **weights)
    if getattr(model, "forbidden", None) is None:
        same(clone(model).fit(X, y, **weights), whole)
    table = frame.assign(y=y) if w is None else frame.assign(y=y, w=w)
    table.to_parquet(folder / "t.parquet", row_group_size=70)
    table.to_csv(folder / "t.csv", index=False)
    beside = {"target": "y"} if w is None else {"target": "y", "weights": "w"}
    for name in ("t.parquet", "t.csv"):
        same(clone(model).fit(sparsepath.open(folder / name, **beside)), whole)
    if getattr(model, "forbidden", None) is None:
        parts = [None if each is None else dask.from_array(each, chunks=60) for each in (y, w)]
        cut = dask.from_array(X, chunks=(60, X.shape[1]))
        same(clone(model).fit(cut, *parts), whole)
    command = ["select", str(folder / "t.parquet"), "--target", "y", *options]
    command += [] if w is None else ["--weights", "w"]
    for more in ([], ["--memory", "1GB"]):
        assert main([*command, *more, "--quiet", "--out", str(folder / "out")]) == 0
        path = sparsepath.SelectionPath.load(folder / "out" / "path.json")
        honest = json.loads((folder / "out" / "honest.json").read_text())["honest"]
        assert path.subsets == whole.path_.subsets
        assert_allclose(path.honest_errors, whole.path_.honest_errors, rtol=1e-9)
        assert honest["size"] == whole.honest_.size
        assert_allclose(honest["interval"], whole.honest_.interval, rtol=1e-8)
