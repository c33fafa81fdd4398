"""Models of tables, saved and in every language, run by that language, agree with ``predict``."""

import datetime
import json
import shutil
import sqlite3
import subprocess

import numpy as np
import pandas as pd
import pytest

from sparsepath import SparseRLSClassifier, SparseRLSRegressor, TableSelector, load_model
from sparsepath.models.export.subject import Subject

CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def raw(m, seed):
    rng = np.random.default_rng(seed)
    made = pd.DataFrame(
        {
            "age (years)": rng.normal(40, 10, m),
            "colour": rng.choice(["it's red", 'blue "2"', "grün"], m),
            "flag": rng.random(m) < 0.5,
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], m), ["low", "mid", "high"], ordered=True
            ),
            "when": pd.Timestamp("2023-11-03") + pd.to_timedelta(rng.integers(0, 3000, m), "h"),
        }
    )
    y = made["age (years)"] / 5 + made["grade"].cat.codes + 2 * made["flag"]
    y = y + 3 * (made["colour"] == "grün") + made["when"].dt.month / 3 + rng.normal(size=m)
    return made, y.to_numpy()


def with_gaps(frame, seed):
    rng = np.random.default_rng(seed)
    for name in ("age (years)", "colour", "grade", "when"):
        frame.loc[rng.random(len(frame)) < 0.1, name] = None
    return frame


@pytest.fixture(scope="module", params=["error", "median", "indicator", "labels", "clock"])
def case(request):
    """A model and 200 rows of another table, a value that was never seen among them."""
    clock = request.param == "clock"
    missing = "median" if request.param in ("labels", "clock") else request.param
    frame, y = raw(120, 0)
    new, _ = raw(200, 1)
    if missing != "error":
        frame, new = with_gaps(frame, 2), with_gaps(new, 3)
    new.loc[7, "colour"] = "mauve"
    selector = SparseRLSRegressor(choose=5)
    if request.param == "labels":
        selector, y = SparseRLSClassifier(choose=5), np.where(y > np.median(y), "up", "down")
    if clock:
        y = y + 3 * (frame["when"].dt.hour == 7) + 2 * (frame["when"].dt.day_of_week == 2)
    dates = "clock" if clock else "parts"
    model = TableSelector(selector, missing=missing, dates=dates, validation=None).fit(frame, y)
    return model, new


def agree(model, new, given):
    expected = model.predict(new)
    if hasattr(model, "classes_"):
        assert list(given) == list(expected)
    else:
        np.testing.assert_allclose(given, expected, **CLOSE)


def rows_of(new, texts=True):
    """Rows as other programs have them: None for what is missing, dates as text."""
    rows = []
    for record in new.to_dict("records"):
        row = {k: None if pd.isna(v) else v for k, v in record.items()}
        if texts and row["when"] is not None:
            row["when"] = row["when"].isoformat(sep=" ")
        row["flag"] = bool(row["flag"])
        rows.append(row)
    return rows


def test_saved_models_take_tables(case, tmp_path):
    model, new = case
    model.save_model(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    agree(model, new, again.predict(new))
    agree(model, new, again.predict(new[new.columns[::-1]]))
    assert again.export("sql") == model.export("sql")
    agree(model.at_size(2), new, again.at_size(2).predict(new))


def test_python(case):
    model, new = case
    space: dict = {}
    exec(model.export("python"), space)
    agree(model, new, [space["predict"](row) for row in rows_of(new)])
    row = rows_of(new, texts=False)[0]
    assert space["predict"](row) == pytest.approx(space["predict"](rows_of(new)[0]))
    if model.missing == "error":
        with pytest.raises(ValueError, match="colour is missing"):
            space["predict"]({**row, "colour": None})


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_javascript(case, tmp_path):
    model, new = case
    model.export("javascript", tmp_path / "model.js")
    (tmp_path / "rows.json").write_text(json.dumps(rows_of(new)))
    program = (
        "const p = require('./model.js'), rows = require('./rows.json');"
        "console.log(JSON.stringify(rows.map(p)))"
    )
    shown = subprocess.run(
        ["node", "-e", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    agree(model, new, json.loads(shown.stdout))


def c_value(field, said, row):
    """What a row has for a field of the struct, by the comment behind it."""
    name = said.rsplit(";", 1)[0]
    for column in row:
        if name != column and not name.startswith(f"{column} "):
            continue
        value = row[column]
        if value is None:
            return "NULL" if "NULL" in said else "NAN"
        if isinstance(value, str):
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, datetime.datetime):
            part = name.rsplit(" ", 1)[1]
            return repr(float(value.isoweekday() if part == "weekday" else getattr(value, part)))
        return float(value).hex()
    raise AssertionError(name)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_c(case, tmp_path):
    model, new = case
    program = model.export("c")
    struct = program.split("struct sparsepath_row {\n")[1].split("\n};")[0].splitlines()
    fields = [line.strip().removesuffix(" */").split("; /* ", 1) for line in struct]
    table = ",\n".join(
        "{" + ", ".join(c_value(*field, row) for field in fields) + "}"
        for row in rows_of(new, texts=False)
    )
    call = (
        "sparsepath_label(&rows[i])"
        if hasattr(model, "classes_")
        else "sparsepath_predict(&rows[i])"
    )
    form = "%s" if hasattr(model, "classes_") else "%.17g"
    (tmp_path / "model.c").write_text(
        f"""{program}
#include <stdio.h>
static const struct sparsepath_row rows[] = {{{table}}};
int main(void) {{
    for (int i = 0; i < {len(new)}; i++) printf("{form}\\n", {call});
    return 0;
}}
"""
    )
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *strict, "model.c", "-lm", "-o", "model"], cwd=tmp_path, check=True)
    shown = subprocess.run([tmp_path / "model"], capture_output=True, text=True, check=True)
    lines = shown.stdout.split()
    agree(model, new, lines if hasattr(model, "classes_") else np.array(lines, float))


def test_sqlite_and_duckdb(case):
    duckdb = pytest.importorskip("duckdb")
    model, new = case
    expression = model.export("sql")
    lite = sqlite3.connect(":memory:")
    new.astype({"grade": object}).to_sql("data", lite, index=False)
    duck = duckdb.connect()
    duck.register("data", new.astype({"grade": str}).where(new.notna(), None))
    for base in (lite, duck):
        found = base.execute(f"SELECT {expression} FROM data").fetchall()
        agree(model, new, [row[0] for row in found])


def test_sqlite_takes_a_csv_as_it_imports_it(case):
    """Every value is a text then, and an empty one where nothing was."""
    model, new = case
    spelt = new.astype(object).where(new.notna(), "").map(str)
    lite = sqlite3.connect(":memory:")
    spelt.to_sql("data", lite, index=False, dtype="TEXT")
    found = lite.execute(f"SELECT {model.export('sql')} FROM data").fetchall()
    agree(model, new, [row[0] for row in found])
    if model.missing == "error":
        lite.execute("UPDATE data SET colour = ''")
        assert lite.execute(f"SELECT {model.export('sql')} FROM data").fetchone() == (None,)


@pytest.mark.parametrize("dtype", ["double", "float"])
def test_onnx_takes_the_columns_of_the_table(case, dtype):
    """Numbers, texts, and dates as seconds since 1970; NaN and "" for what is missing."""
    runtime = pytest.importorskip("onnxruntime")
    model, new = case
    session = runtime.InferenceSession(model.export("onnx", dtype=dtype))
    number = np.float64 if dtype == "double" else np.float32
    rows = {}
    for each in session.get_inputs():
        column = new[each.name]
        if each.name == "when":
            seconds = (column - pd.Timestamp(0)) / pd.Timedelta("1s")
            given = seconds.to_numpy(np.float64)
        elif each.type == "tensor(string)":
            given = np.array(["" if pd.isna(v) else str(v) for v in column], dtype=object)
        else:
            given = column.to_numpy(number)
            new = new.assign(**{each.name: given.astype(column.dtype)})
        rows[each.name] = given[:, None]
    found = session.run(None, rows)[0]
    found = found if hasattr(model, "classes_") else found[:, 0]
    if dtype == "double" or hasattr(model, "classes_"):
        agree(model, new, found)
    else:
        np.testing.assert_allclose(found, model.predict(new), rtol=1e-5)


@pytest.mark.parametrize("part", ["year", "month", "day", "weekday", "hour"])
def test_parts_of_dates_in_onnx(part):
    """A table of one date: its parts are those of the calendar over some centuries."""
    runtime = pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(0)
    hours = rng.integers(-24 * 365 * 300, 24 * 365 * 300, 3000)
    days = [datetime.datetime(1970, 1, 1) + datetime.timedelta(hours=int(h)) for h in hours]
    days += [
        datetime.datetime(2000, 2, 29),
        datetime.datetime(1900, 2, 28),
        datetime.datetime(2024, 12, 31, 23),
    ]
    expected = [d.isoweekday() if part == "weekday" else getattr(d, part) for d in days]
    y = np.array(expected, dtype=float)
    frame = pd.DataFrame({"when": np.array(days, dtype="datetime64[s]")})
    seconds = np.array([(d - datetime.datetime(1970, 1, 1)).total_seconds() for d in days])
    line = SparseRLSRegressor(1, choose=1, alpha=1e-9)
    model = TableSelector(line, dates="parts", validation=None).fit(frame, y)
    (found,) = runtime.InferenceSession(model.export("onnx")).run(None, {"when": seconds[:, None]})
    np.testing.assert_allclose(found[:, 0], y, rtol=1e-6, atol=1e-6)


def test_json_says_what_the_inputs_are_made_of(case):
    model, _ = case
    record = json.loads(model.export("json"))
    subject = Subject.of(model)
    assert [each["column"] for each in record["made_of"]] == [t.name for t in subject.terms]
    assert record["inputs"][0].startswith(record["made_of"][0]["column"])
