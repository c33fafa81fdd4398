"""A target on another scale: what is fitted, and errors and predictions in its own units."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold
from tests.cli.conftest import refused, run  # noqa: F401

from sparsepath import (
    InputError,
    SparseRLSClassifier,
    SparseRLSRegressor,
    TableSelector,
    load_model,
)
from sparsepath.methods.target_transform import SCALES, relative_error

SEED = np.random.default_rng(3)
TABLE = pd.DataFrame(SEED.normal(size=(120, 5)), columns=list("abcde"))
LINE = 4 + 0.6 * TABLE["a"] - 0.4 * TABLE["d"] + SEED.normal(0, 0.3, 120)
TARGETS = {"log": np.exp(LINE), "log1p": np.expm1(LINE.clip(0.01)), "sqrt": LINE.clip(0) ** 2}
BACK = {"log": np.exp, "log1p": np.expm1, "sqrt": lambda f: np.maximum(f, 0) ** 2}


@pytest.mark.parametrize("name", TARGETS)
def test_errors_are_of_the_target_itself(name):
    y, folds = TARGETS[name].to_numpy(), KFold(5, shuffle=True, random_state=0)
    forward = {"log": np.log, "log1p": np.log1p, "sqrt": np.sqrt}[name]
    rls = SparseRLSRegressor(3, alpha=1.0, choose=2, validation=None)
    model = TableSelector(rls, transform_target=name, validation=folds).fit(TABLE, y)
    assert model.transform_ == name
    squares = {size: [] for size in (0, 2, 3)}
    for train, test in folds.split(TABLE):
        for size in squares:
            if size:
                fitted = SparseRLSRegressor(3, alpha=1.0, choose=size, validation=None)
                fitted.fit(TABLE.iloc[train], forward(y[train]))
                predicted = BACK[name](fitted.predict(TABLE.iloc[test]))
            else:
                predicted = y[train].mean()
            squares[size].append(np.mean((y[test] - predicted) ** 2))
    for size, found in squares.items():
        assert model.path_.honest_error(size) == pytest.approx(np.mean(found), rel=1e-9)
    plain = SparseRLSRegressor(3, alpha=1.0, choose=2, validation=None).fit(TABLE, forward(y))
    assert np.allclose(model.predict(TABLE), BACK[name](plain.predict(TABLE)), rtol=1e-12)
    assert model.path_.criterion.endswith(f"of the {SCALES[name].words} of the target")


def test_auto_finds_the_scale():
    for name, y in {**TARGETS, None: LINE}.items():
        if name != "log1p":
            model = TableSelector(transform_target="auto", validation=None).fit(TABLE, y)
            assert model.transform_ == name
    zeros = TableSelector(transform_target="auto", validation=None)
    assert zeros.fit(TABLE, np.floor(TARGETS["log"] / 40)).transform_ == "log1p"


def test_relative_errors_do_not_depend_on_the_unit():
    y = TARGETS["log"].to_numpy()
    for scale in (None, SCALES["log"], SCALES["sqrt"]):
        errors = []
        for unit in (1.0, 100.0):
            z = unit * y if scale is None else scale.forward(unit * y)
            path = SparseRLSRegressor(3, alpha=1e-9, validation=None).fit(TABLE, z).path_
            errors.append(relative_error(path, scale, unit * y) / unit**2)
        assert errors[0] == pytest.approx(errors[1], rel=1e-6)


@pytest.mark.parametrize("language", ["python", "c", "sql", "javascript"])
def test_exports_are_in_units(language, tmp_path):
    model = TableSelector(transform_target="log", validation=None).fit(TABLE, TARGETS["log"])
    model.save_model(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert np.allclose(loaded.predict(TABLE), model.predict(TABLE), rtol=1e-12)
    program = loaded.export(language)
    assert "exp" in program
    if language == "python":
        made = {}
        exec(program, made)
        found = [made["predict"](row) for row in TABLE.to_dict("records")]
        assert np.allclose(found, model.predict(TABLE), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        ("log", LINE - 4, "needs a target with values above 0; the least value is -"),
        ("sqrt", LINE - 4, "values from 0 up"),
        ("log", np.floor(TARGETS["log"] / 80), r"the least value is 0 \(log1p and sqrt allow"),
        ("cube", LINE, "use one of 'log', 'log1p', 'sqrt', 'auto'"),
    ],
)
def test_refused(name, y, message):
    with pytest.raises(InputError, match=message):
        TableSelector(transform_target=name).fit(TABLE, y)


def test_classes_have_no_scale():
    with pytest.raises(InputError, match="is for regression"):
        TableSelector(SparseRLSClassifier(), transform_target="log").fit(TABLE, LINE > 4)


@pytest.mark.validated
def test_command_line(run, tmp_path):  # noqa: F811
    TABLE.assign(y=TARGETS["log"]).to_csv(tmp_path / "t.csv", index=False)
    given = tmp_path / "t.csv", "-t", "y"
    done = run("select", *given, "--transform-target", "auto", "--out", tmp_path / "out", "--json")
    assert "the logarithm of the target is fitted" in done.err
    found = json.loads(done.out)
    assert found["chosen"]["r2"] > json.loads(run("select", *given, "--json").out)["chosen"]["r2"]
    predicted = run("predict", tmp_path / "out" / "model.json", *given, "--json")
    model = TableSelector(SparseRLSRegressor(), transform_target="auto")
    model.fit(TABLE, TARGETS["log"])
    assert np.allclose(json.loads(predicted.out)["prediction"], model.predict(TABLE), rtol=1e-9)
    TABLE.assign(y=LINE - 4).to_csv(tmp_path / "t.csv", index=False)
    refused(run("select", *given, "--transform-target", "log"), "--transform-target log needs")
