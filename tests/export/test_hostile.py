"""Hostile names, categories and labels: every program runs, agrees, and does nothing else."""

import importlib.util
import json
import shutil
import sqlite3
import subprocess

import numpy as np
import pandas as pd
import pytest

from export.hostile import LANGUAGES, by_c, by_onnx, by_python, fitted
from sparsepath import InputError, SparseRLSClassifier, SparseRLSRegressor, TableSelector

NEEDED = {"javascript": "node", "c99": "cc", "gnu11": "cc"}
MODULES = {"python": "math", "sqlite": "sqlite3", "duckdb": "duckdb", "onnx": "onnxruntime"}
THERE = [
    language
    for language in LANGUAGES
    if (language in NEEDED and shutil.which(NEEDED[language]))
    or (language in MODULES and importlib.util.find_spec(MODULES[language]))
]
rng = np.random.default_rng(0)
M = 60


@pytest.mark.parametrize("seed", range(8))
def test_programs_with_hostile_texts_agree(seed, tmp_path):
    model, frame = fitted(np.random.default_rng(seed))
    expected = model.predict(frame).tolist()
    for language in THERE:
        try:
            found = LANGUAGES[language](model, frame, tmp_path)
        except InputError:
            continue
        if hasattr(model, "classes_"):
            assert found == expected, language
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=language)


def plain(names, coef, labels=None):
    """A model of plain numbers with these names, and its rows."""
    frame = pd.DataFrame(rng.standard_normal((M, len(names))), columns=names)
    y = frame.to_numpy() @ np.array(coef, float)
    if labels is None:
        return SparseRLSRegressor(choose=len(names), validation=None).fit(frame, y), frame
    y = np.array(labels, dtype=object)[(y > 0).astype(int)]
    return SparseRLSClassifier(choose=len(names), validation=None).fit(frame, y), frame


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_trigraph_is_no_way_out_of_a_literal(tmp_path):
    label = '??/"}; __attribute__((constructor)) void p(void){*(int*)0=1;} //'
    model, frame = plain(["a", "??/"], [1, 2], [label, "??'"])
    for standard in ("c99", "gnu11"):
        assert by_c(model, frame, tmp_path, standard) == model.predict(frame).tolist()


def test_names_beyond_the_basic_plane(tmp_path):
    model, frame = plain(["😀", "a"], [1, 2])
    np.testing.assert_allclose(by_python(model, frame, tmp_path), model.predict(frame), rtol=1e-12)


@pytest.mark.parametrize("names", [["", "b"], ["a\0", "b"], ["a", "A"], ["é", "É"]])
def test_names_that_sql_has_no_columns_for(names):
    with pytest.raises(InputError, match="SQL"):
        plain(names, [1, 2])[0].export("sql")


def test_texts_that_a_language_has_not():
    model, _ = plain(["a", "b"], [1, 2], ["x\0y", "x"])
    for language in ("c", "sql"):
        with pytest.raises(InputError, match="null character"):
            model.export(language)
    model, _ = plain(["a", "b"], [1, 2], ["x", "\ud800"])
    for language in ("c", "sql", "python", "javascript", "json"):
        with pytest.raises(InputError, match="incomplete surrogate pair"):
            model.export(language)


def test_sqlite_does_not_take_a_missing_column_for_a_number():
    for model, frame in (plain(["bmi", "bp"], [1, 2]), plain(["bmi", "bp"], [1, 2], ["u", "v"])):
        base = sqlite3.connect(":memory:")
        query = f"SELECT {model.export('sql')} FROM data"
        frame.to_sql("data", base, index=False)
        found = [row[0] for row in base.execute(query)]
        if hasattr(model, "classes_"):
            assert found == model.predict(frame).tolist()
        else:
            np.testing.assert_allclose(found, model.predict(frame), rtol=1e-12)
        base.execute("UPDATE data SET bp = ''")
        assert {row[0] for row in base.execute(query)} == {None}
        base.execute("ALTER TABLE data RENAME COLUMN bp TO pressure")
        try:
            assert {row[0] for row in base.execute(query)} == {None}
        except sqlite3.OperationalError as error:  # as some builds have it
            assert "no such column" in str(error)  # noqa: PT017


def table(names, missing="error"):
    """A model of a table with two categories and a number, with these names."""
    frame = pd.DataFrame(
        {
            names[0]: rng.choice(["red", "green", names[0] or "blue"], M),
            names[1]: rng.choice(["up", "down", "left"], M),
            names[2]: rng.standard_normal(M),
        }
    )
    y = 2 * (frame[names[0]] == "red") + (frame[names[1]] == "up") + frame[names[2]]
    model = TableSelector(SparseRLSRegressor(choose=3, validation=None), missing=missing)
    return model.fit(frame, y), frame


def test_a_missing_column_of_a_table_is_refused(tmp_path):
    model, frame = table(["colour", "way", "size"], "median")
    space: dict = {}
    exec(model.export("python"), space)
    row = frame.iloc[0].to_dict()
    assert space["predict"](row) == pytest.approx(model.predict(frame)[0])
    for name in row:
        less = {key: value for key, value in row.items() if key != name}
        with pytest.raises(KeyError, match=name):
            space["predict"](less)
        if shutil.which("node"):
            model.export("javascript", tmp_path / "model.js")
            program = f"require('./model.js')({json.dumps(less)})"
            done = subprocess.run(
                ["node", "-e", program], cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert f"there is no {name}" in done.stderr
        base = sqlite3.connect(":memory:")
        frame.drop(columns=name).to_sql("data", base, index=False)
        query = f"SELECT {model.export('sql')} FROM data"
        if name == "colour":  # a value of its own has that name too
            base.execute("ALTER TABLE data ADD COLUMN colour")
            assert {row[0] for row in base.execute(query)} != {None}
            continue
        try:
            assert {row[0] for row in base.execute(query)} == {None}
        except sqlite3.OperationalError as error:
            assert "no such column" in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    "names", [["c0", "v1", "c1"], ["label", "variable", "variable_"], ["a", "a in double", "v0"]]
)
def test_columns_with_the_names_of_a_graph(names, tmp_path):
    pytest.importorskip("onnxruntime")
    model, frame = table(names)
    np.testing.assert_allclose(by_onnx(model, frame, tmp_path), model.predict(frame), rtol=1e-12)
    model, frame = table(["", "b", "c"])
    with pytest.raises(InputError, match="ONNX does not allow the input name ''"):
        model.export("onnx")


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_column_with_the_name_of_a_part_of_a_date():
    frame = pd.DataFrame(
        {
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, M), "D"),
            "when month": rng.choice(["red", "green", "blue"], M),
        }
    )
    frame.loc[3, "when"] = None
    y = frame["when"].dt.month.fillna(6) + 3 * (frame["when month"] == "red")
    y += 2 * frame["when"].isna()
    selector = SparseRLSRegressor(choose=2, validation=None)
    model = TableSelector(selector, dates="parts", missing="indicator").fit(frame, y)
    program = model.export("c")
    (when,) = [line for line in program.splitlines() if "/* when month; NAN" in line]
    (text,) = [line for line in program.splitlines() if "/* when month; NULL" in line]
    assert when.split()[0] == "double"
    assert "char" in text


def test_large_labels_keep_their_digits():
    frame = pd.DataFrame({"a": rng.standard_normal(M)})
    y = np.where(frame["a"] > 0, 2**60 + 1, 2**60)
    model = SparseRLSClassifier(choose=1, validation=None).fit(frame, y)
    assert '["1152921504606846976", "1152921504606846977"]' in model.export("javascript")
