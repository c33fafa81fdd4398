"""``sparsepath predict``: a saved model on another file gives what the estimator gives."""

import csv
import io
import json
import re
import sqlite3
from pathlib import Path

import joblib
import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_diabetes, load_iris

from sparsepath import load_model
from sparsepath.data.formats import read_columns
from sparsepath.data.readers import write_table

from .conftest import Done, Run, refused
from .test_select import TARGETS


def table_of(text: str) -> dict[str, list[str]]:
    head, *rows = csv.reader(io.StringIO(text))
    return {name: [row[j] for row in rows] for j, name in enumerate(head)}


def last(done: Done) -> Done:
    """Without the note that a model file not known runs code."""
    note, error = done.err.splitlines()
    assert note.startswith("Note: loading ")
    return done._replace(err=f"{error}\n")


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("kind", TARGETS)
def test_round_trip_in_every_format(run: Run, files, tmp_path: Path, kind) -> None:
    assert run("select", files[kind], "--target", TARGETS[kind], "--out", tmp_path).code == 0
    model = load_model(tmp_path / "model.json")
    X = load_diabetes(scaled=False).data
    done = run("predict", tmp_path / "model.json", files[kind])
    assert done.code == 0
    assert done.err == ""
    found = [float(value) for value in table_of(done.out)["prediction"]]
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-12)
    shown = run("predict", tmp_path / "model.json", files[kind], "--json")
    assert json.loads(shown.out) == {"prediction": found}


def test_order_is_free_and_only_the_used_columns_are_needed(run: Run, files, tmp_path) -> None:
    run("select", files["csv"], "--target", "progression", "--out", tmp_path)
    model = tmp_path / "model.json"
    whole = run("predict", model, files["csv"])
    columns = read_columns(files["csv"]).features
    few = {name: columns[name] for name in ("bp", "s5", "bmi")}
    text = np.full(len(few["bp"]), "something")
    write_table(tmp_path / "few.parquet", {"note": text, **few})
    assert run("predict", model, tmp_path / "few.parquet").out == whole.out
    write_table(tmp_path / "lacks.csv", {"bp": few["bp"], "S5": few["s5"], "bmi": few["bmi"]})
    refused(run("predict", model, tmp_path / "lacks.csv"), "lacks the column 's5'", "'S5' meant")
    holes = {**few, "s5": np.where(few["s5"] > 5, np.nan, few["s5"])}
    write_table(tmp_path / "holes.csv", holes)
    refused(run("predict", model, tmp_path / "holes.csv"), "'s5'", "missing or infinite")
    write_table(tmp_path / "words.csv", {**few, "s5": text})
    refused(run("predict", model, tmp_path / "words.csv"), "'s5' is text")


def test_columns_without_names_need_the_same_layout(run: Run, files, tmp_path) -> None:
    values = np.load(files["npy"])
    np.save(tmp_path / "first.npy", np.roll(values, 1, axis=1))  # the target comes first
    run("select", tmp_path / "first.npy", "--target", 0, "--out", tmp_path)
    np.save(tmp_path / "bare.npy", values[:, :-1])
    done = run("predict", tmp_path / "model.json", tmp_path / "bare.npy")
    refused(done, "10 columns without names", "11 are expected", "target in column x0")


def test_classifiers_give_labels_and_scores(run: Run, files, tmp_path: Path) -> None:
    run("select", files["iris"], "--target", "kind", "--out", tmp_path)
    model = load_model(tmp_path / "model.json")
    done = table_of(run("predict", tmp_path / "model.json", files["iris"]).out)
    X = load_iris().data
    assert done.pop("label") == model.predict(X).tolist()
    kinds = ("setosa", "versicolor", "virginica")
    assert list(done) == [f"{of}_{kind}" for of in ("score", "probability") for kind in kinds]
    values = np.array(list(done.values()), dtype=float).T
    scores, shares = values[:, :3], values[:, 3:]
    np.testing.assert_allclose(shares, model.predict_proba(X), rtol=1e-10)
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-10, atol=1e-13)

    run("select", files["flower"], "--target", "kind", "--out", tmp_path)
    model = load_model(tmp_path / "model.json")
    done = table_of(run("predict", tmp_path / "model.json", files["flower"]).out)
    assert done["label"] == model.predict(X).tolist()
    assert "fleur, jaune ü" in done["label"]
    np.testing.assert_allclose(
        np.array(done["score"], dtype=float), model.decision_function(X), rtol=1e-10, atol=1e-13
    )


def test_predictions_go_to_a_file(run: Run, files, tmp_path: Path) -> None:
    run("select", files["csv"], "--target", "progression", "--out", tmp_path)
    model = tmp_path / "model.json"
    expected = [float(v) for v in table_of(run("predict", model, files["csv"]).out)["prediction"]]
    for ending in ("csv", "parquet"):
        done = run("predict", model, files["csv"], "--out", tmp_path / f"out.{ending}")
        assert done.code == 0
        assert done.out == f"Written: {tmp_path / f'out.{ending}'} (442 rows)\n"
        found = read_columns(tmp_path / f"out.{ending}").features["prediction"]
        np.testing.assert_allclose(found, expected, rtol=1e-15)
    run("predict", model, files["csv"], "--out", tmp_path / "out.npy")
    assert np.load(tmp_path / "out.npy").ravel().tolist() == expected
    refused(run("predict", model, files["csv"], "--out", tmp_path / "out.xls"), "suffix")

    run("select", files["iris"], "--target", "kind", "--out", tmp_path)
    kept = tmp_path / "out.npy"
    before = kept.read_bytes()
    refused(run("predict", model, files["iris"], "--out", kept), "text in column 'label'")
    assert kept.read_bytes() == before


def test_sparse_files_may_lack_empty_columns(run: Run, files, tmp_path: Path) -> None:
    run("select", files["svm"], "--choose", "min", "--max-features", 10, "--out", tmp_path)
    (tmp_path / "few.svm").write_text("1 3:32.1\n2 3:20 40:1\n")
    done = run("predict", tmp_path / "model.json", tmp_path / "few.svm")
    model = load_model(tmp_path / "model.json")
    expected = model.predict(np.array([[0, 0, v, *np.zeros(7)] for v in (32.1, 20)]))
    found = np.array(table_of(done.out)["prediction"], dtype=float)
    np.testing.assert_allclose(found, expected)


def test_models_that_are_none(run: Run, files, tmp_path: Path) -> None:
    data = files["csv"]
    refused(run("predict", tmp_path / "absent.json", data), "absent.json", "No such file")
    refused(run("predict", data, data), "not a model file")
    refused(run("predict", tmp_path, data), "folder")
    run("select", data, "--target", "progression", "--out", tmp_path)
    refused(run("predict", tmp_path, data), "did you mean", "model.json?")
    refused(run("predict", tmp_path / "path.json", data), "not a model file")
    half = tmp_path / "half.json"
    whole = (tmp_path / "model.json").read_bytes()
    half.write_bytes(whole[: len(whole) // 2])
    refused(run("predict", half, data), "truncated or damaged")
    place = whole.index(b'"intercept"')
    digit = next(i for i in range(place, len(whole)) if whole[i : i + 1].isdigit())
    half.write_bytes(
        whole[:digit] + b"%d" % (9 - int(whole[digit : digit + 1])) + whole[digit + 1 :]
    )
    refused(run("predict", half, data), "was modified")
    half.write_bytes(whole.replace(b'"schema_version": 1', b'"schema_version": 7'))
    refused(run("predict", half, data), "its version is 7")
    joblib.dump({"a": 1}, half)
    refused(run("predict", half, data), "it is a pickle")
    refused(run("predict", tmp_path / "model.json", tmp_path / "absent.csv"), "absent.csv")
    refused(run("predict", tmp_path / "model.json", data, "--size", 99), "models of the sizes 0, 1")


def test_a_spreadsheet_finds_no_formulas(run: Run, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    rows = np.where(X[:, 0] > 0, "=cmd|' /C calc'!A0", "-1")
    data, out = tmp_path / "data.csv", tmp_path / "result"
    lines = [
        f'@SUM(A1),{i},{a},{b},"{y}"' for i, ((a, b), y) in enumerate(zip(X, rows, strict=True))
    ]
    data.write_text("\n".join(["+name(),row,=1+1,b,y", *lines]) + "\n")
    done = run(
        "select", data, "--target", "y", "--drop", "+name(),row", "--choose", 1, "--out", out
    )
    assert done.code == 0, done.err
    path = (out / "path.csv").read_text()
    assert ',"\'=1+1"\n' in path
    assert not re.search(r'(^|,)"?[=@+]', path, re.MULTILINE)
    for file in ("new.csv", "new.parquet", None):
        more = [] if file is None else ["--out", tmp_path / file]
        done = run("predict", out / "model.json", data, "--id", "+name()", *more)
        assert done.code == 0, done.err
        if file == "new.parquet":
            found = pq.read_table(tmp_path / file)
            assert set(found["label"].to_pylist()) == {*rows.tolist()}
            continue
        text = done.out if file is None else (tmp_path / file).read_text()
        assert "'@SUM(A1)" in text
        assert "'=cmd|' /C calc'!A0" in text
        assert re.search(r'(^|,)"?-1"?(,|$)', text, re.MULTILINE)
        assert not re.search(r'(^|,)"?[=@+]', text, re.MULTILINE)


def test_rows_ranked_by_risk_in_sql(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, kind = rng.standard_normal(200), rng.choice(["a", "b", "c"], 200)
    y = np.where(x + (kind == "b") + 0.5 * rng.standard_normal(200) > 0.5, "yes", "no")
    data = tmp_path / "data.csv"
    write_table(data, {"x": x, "kind": kind, "y": y})
    assert run("select", data, "--target", "y", "--out", tmp_path / "out").code == 0
    model = tmp_path / "out" / "model.json"
    expression = run("export", model, "--to", "sql-probability").out
    shares = table_of(run("predict", model, data).out)["probability_yes"]
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE data (x, kind)")
    base.executemany("INSERT INTO data VALUES (?, ?)", zip(x.tolist(), kind.tolist(), strict=True))
    found = [row[0] for row in base.execute(f"SELECT {expression} FROM data")]
    np.testing.assert_allclose(found, np.array(shares, dtype=float), rtol=1e-8)
    assert "  sql-probability" in run("export", "--help").out


def test_numbers_have_no_probability_in_sql(run: Run, files, tmp_path: Path) -> None:
    assert run("select", files["csv"], "--target", "progression", "--out", tmp_path).code == 0
    done = run("export", tmp_path / "model.json", "--to", "sql-probability")
    refused(done, "a regression model has no probabilities; use sql")
