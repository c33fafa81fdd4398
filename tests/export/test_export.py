"""Every model in every language, run by that language, agrees with ``predict``."""

import json
import shutil
import sqlite3
import subprocess

import numpy as np
import pytest
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from contract.every import NAMES, SELECTORS, X, make, target
from sparsepath import (
    InputError,
    LarsSelector,
    SparseRLSClassifier,
    SparseRLSRegressor,
    TableSelector,
)
from sparsepath.models.export import FORMATS, register_skl2onnx
from sparsepath.models.export.subject import Subject

rng = np.random.default_rng(3)
ROWS = rng.standard_normal((200, X.shape[1]))
ODD = ["age (years)", 'say "hi"', "für/ÿ", "select", "1st", "age years "]
PREDICTING = [name for name in NAMES if hasattr(SELECTORS[name], "predict")]
CLOSE = {"rtol": 1e-12, "atol": 1e-12}

KINDS = {
    "line": "SparseRLSRegressor",
    "logarithm": "GraftingRegressor",
    "network": "MLPGraftingRegressor",
    "gaussians": "SparseRBFRegressor",
    "kernel": "LSSVMForwardRegressor",
    "machine": "ELMFSRegressor",
    "two classes": "SparseRLSClassifier",
    "grown classes": "MLPGraftingClassifier",
}


@pytest.fixture(scope="module")
def fitted():
    import pandas as pd

    made = {}

    def fit(kind):
        if kind not in made:
            name = KINDS[kind]
            frame = pd.DataFrame(X, columns=ODD)
            choice = {"choose": 3} if "choose" in SELECTORS[name]().get_params() else {}
            more = {"loss": "poisson"} if kind == "logarithm" else {}
            y = np.abs(target(name)) if more else target(name)
            model = make(name, validation=None, **choice, **more).fit(frame, y)
            made[kind] = model, pd.DataFrame(ROWS, columns=ODD)
        return made[kind]

    return fit


@pytest.fixture(scope="module")
def many():
    """Three classes."""
    import pandas as pd

    labels = np.array(["it's a", "b", 'c "d"'])[np.digitize(X[:, 0] - X[:, 2], [-0.7, 0.7])]
    model = SparseRLSClassifier(3, choose=3, validation=None)
    return model.fit(pd.DataFrame(X, columns=ODD), labels), pd.DataFrame(ROWS, columns=ODD)


def answers(model, frame):
    """Scores (or numbers) and, of a classifier, labels."""
    size = len(model.selected_)
    scores = model.models_[size].predict(frame.to_numpy()).reshape(len(frame), -1)
    return scores, model.predict(frame)


def agree(model, frame, scores, given):
    """Numbers to the last digits; labels but where two classes tie to these digits."""
    expected, labels = answers(model, frame)
    if model.models_[len(model.selected_)].formula().link == "log":
        expected = np.log(expected)  # scores are those of the formula
    if scores is not None:
        np.testing.assert_allclose(np.reshape(scores, expected.shape), expected, **CLOSE)
    if hasattr(model, "classes_"):
        assert list(given) == list(labels)
    else:
        np.testing.assert_allclose(given, labels, **CLOSE)


def agree_in_probability(model, frame, given, **close):
    np.testing.assert_allclose(given, model.predict_proba(frame), **(close or CLOSE))


@pytest.mark.parametrize("name", PREDICTING)
def test_formulas_are_the_models(name):
    model = make(name, validation=None).fit(X, target(name))
    for size, small in model.models_.items():
        expected = np.asarray(small.predict(ROWS)).reshape(len(ROWS), -1)
        formula = small.formula()
        assert set(formula.columns) <= set(model.path_.subset(size))
        np.testing.assert_allclose(formula.outputs(ROWS), expected, rtol=1e-11, atol=1e-11)


def needs(program):
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"there is no {program}")


every = pytest.mark.parametrize("kind", [*KINDS, "many classes"])


def given(kind, fitted, many):
    return many if kind == "many classes" else fitted(kind)


@every
def test_python(kind, fitted, many):
    model, frame = given(kind, fitted, many)
    space: dict = {}
    exec(model.export("python"), space)
    rows = frame.to_dict("records")
    agree(model, frame, [space["scores"](row) for row in rows], [*map(space["predict"], rows)])
    if hasattr(model, "classes_"):
        agree_in_probability(model, frame, [*map(space["probabilities"], rows)])


@needs("node")
@every
def test_javascript(kind, fitted, many, tmp_path):
    model, frame = given(kind, fitted, many)
    model.export("javascript", tmp_path / "model.js")
    (tmp_path / "rows.json").write_text(json.dumps(frame.to_dict("records")))
    program = (
        'const p = require("./model.js"), rows = require("./rows.json");'
        "console.log(JSON.stringify([rows.map(p.scores), rows.map(p),"
        " p.probabilities ? rows.map(p.probabilities) : null]))"
    )
    shown = subprocess.run(
        ["node", "-e", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    scores, labels, shares = json.loads(shown.stdout)
    agree(model, frame, scores, labels)
    if hasattr(model, "classes_"):
        agree_in_probability(model, frame, shares)


@needs("cc")
@every
def test_c(kind, fitted, many, tmp_path):
    model, frame = given(kind, fitted, many)
    subject = Subject.of(model)
    program = model.export("c")
    fields = [f"x_{name}" for name in subject.identifiers()]
    used = frame[subject.inputs].to_numpy()
    table = ",\n".join("{" + ", ".join(map(float.hex, row)) + "}" for row in used.tolist())
    tail = (
        "double p[8]; sparsepath_probabilities(&rows[i], p);"
        f'for (int c = 0; c < {len(subject.classes)}; c++) printf("%.17g|", p[c]);'
        'printf(" %s\\n", sparsepath_label(&rows[i]));'
        if subject.classes
        else 'printf(" %.17g\\n", sparsepath_predict(&rows[i]));'
    )
    (tmp_path / "model.c").write_text(
        f"""{program}
#include <stdio.h>
static const struct sparsepath_row rows[] = {{{table}}};
int main(void) {{
    for (int i = 0; i < {len(used)}; i++) {{
        double out[SPARSEPATH_OUTPUTS];
        sparsepath_scores(&rows[i], out);
        for (int t = 0; t < SPARSEPATH_OUTPUTS; t++) printf("%.17g ", out[t]);
        {tail}
    }}
    return 0;
}}
"""
    )
    assert fields[0] in program
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *strict, "model.c", "-lm", "-o", "model"], cwd=tmp_path, check=True)
    shown = subprocess.run([tmp_path / "model"], capture_output=True, text=True, check=True)
    lines = [
        line.split(" ", len(answers(model, frame)[0][0])) for line in shown.stdout.splitlines()
    ]
    scores = np.array([line[:-1] for line in lines], dtype=float)
    last = [line[-1].strip() for line in lines]
    if subject.classes:
        told = [text.split("| ", 1) for text in last]
        last = [label for _, label in told]
        agree_in_probability(
            model, frame, [[float(p) for p in shares.split("|")] for shares, _ in told]
        )
    agree(model, frame, scores, last if subject.classes else np.array(last, dtype=float))


@every
def test_sqlite_and_duckdb(kind, fitted, many):
    duckdb = pytest.importorskip("duckdb")
    model, frame = given(kind, fitted, many)
    expression = model.export("sql")
    lite = sqlite3.connect(":memory:")
    frame.to_sql("data", lite, index=False)
    duck = duckdb.connect()
    duck.register("data", frame)
    for base in (lite, duck):
        found = base.execute(f"SELECT {expression} FROM data").fetchall()
        agree(model, frame, None, [row[0] for row in found])
        if hasattr(model, "classes_"):
            expression = model.export("sql-probability")
            shares = np.array(base.execute(f"SELECT {expression} FROM data").fetchall())
            shares = np.hstack([1 - shares, shares]) if shares.shape[1] == 1 else shares
            agree_in_probability(model, frame, shares, rtol=1e-9, atol=1e-12)
            expression = model.export("sql")


@every
@pytest.mark.parametrize("dtype", ["double", "float"])
def test_onnx(kind, dtype, fitted, many):
    runtime = pytest.importorskip("onnxruntime")
    model, frame = given(kind, fitted, many)
    session = runtime.InferenceSession(model.export("onnx", dtype=dtype))
    frame = frame if dtype == "double" else frame.astype(np.float32).astype(np.float64)
    rows = frame.to_numpy().astype(np.float64 if dtype == "double" else np.float32)
    found = dict(
        zip(
            (out.name for out in session.get_outputs()), session.run(None, {"X": rows}), strict=True
        )
    )
    expected, labels = answers(model, frame)
    close = CLOSE if dtype == "double" else {"rtol": 1e-5}
    scores = found["scores" if "label" in found else "variable"]
    np.testing.assert_allclose(scores, expected, **close)
    if "label" in found:
        assert found["label"].tolist() == list(labels)
        agree_in_probability(model, frame, found["probabilities"], **{"atol": 1e-6, **close})


def test_json_has_every_number(fitted):
    model, frame = fitted("machine")
    record = json.loads(model.export("json"))
    rows = frame[record["inputs"]].to_numpy()
    z = (rows - record["centre"]) / record["scale"]
    hidden = record["hidden"]
    h = np.tanh(z @ np.array(hidden["weights"]).T + hidden["biases"])
    out = np.clip(h @ hidden["coef"] + record["intercept"], *record["bounds"])
    np.testing.assert_allclose(out[:, 0], model.predict(frame), **CLOSE)


def test_other_sizes_and_none(tmp_path):
    model = SparseRLSRegressor(4, choose=4, validation=None).fit(X, X[:, 0] + X[:, 1])
    space: dict = {}
    for size in (0, 2):
        exec(model.export("python", size=size), space)
        row = {f"x{i}": value for i, value in enumerate(ROWS[0])}
        expected = model.at_size(size).predict(ROWS[:1])[0]
        assert space["predict"](row) == pytest.approx(expected, rel=1e-13)
        for to in set(FORMATS) - {"sql-probability"}:
            assert model.export(to, tmp_path / "file", size=size)
            assert (tmp_path / "file").stat().st_size


def test_what_cannot_be_exported():
    model = LarsSelector(2, validation=None).fit(X, X[:, 0])
    with pytest.raises(InputError, match="use one of c, javascript"):
        model.export("fortran")
    with pytest.raises(InputError, match="there are models of the sizes 0, 1"):
        model.export("c", size=7)
    with pytest.raises(InputError, match="for ONNX"):
        model.export("c", dtype="float")
    with pytest.raises(InputError, match="double or float"):
        model.export("onnx", dtype="half")


@needs("cc")
def test_names_cannot_break_out_of_a_program(tmp_path):
    import pandas as pd

    names = ["*/ int x; /*", '"; DROP TABLE data; --', "\\\n", "'''", '"""', "a`${1}`"]
    frame = pd.DataFrame(X, columns=names)
    model = SparseRLSRegressor(6, choose=6, validation=None).fit(frame, X.sum(1))
    expected = model.predict(frame)[0]
    space: dict = {}
    exec(model.export("python"), space)
    assert space["predict"](frame.iloc[0].to_dict()) == pytest.approx(expected, rel=1e-13)
    (tmp_path / "model.c").write_text(model.export("c"))
    subprocess.run(["cc", "-c", "-Werror", "-Wall", "model.c"], cwd=tmp_path, check=True)
    base = sqlite3.connect(":memory:")
    frame.to_sql("data", base, index=False)
    shown = base.execute(f"SELECT {model.export('sql')} FROM data").fetchone()[0]
    assert shown == pytest.approx(expected, rel=1e-13)


@every
@pytest.mark.parametrize("dtype", ["double", "float"])
def test_skl2onnx_at_the_end_of_a_pipeline(kind, dtype, fitted, many):
    runtime = pytest.importorskip("onnxruntime")
    skl2onnx = pytest.importorskip("skl2onnx")
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    model, frame = given(kind, fitted, many)
    register_skl2onnx(type(model))
    scaler = StandardScaler().fit(frame)
    scaler.mean_, scaler.scale_ = np.zeros(len(ODD)), np.full(len(ODD), 2.0)
    whole = Pipeline([("halve", scaler), ("select", model)])
    double = dtype == "double"
    frame = frame if double else frame.astype(np.float32).astype(np.float64)
    made = (DoubleTensorType if double else FloatTensorType)([None, len(ODD)])
    graph = skl2onnx.convert_sklearn(whole, "whole", [("X", made)], target_opset=17)
    session = runtime.InferenceSession(graph.SerializeToString())
    rows = 2.0 * frame.to_numpy().astype(np.float64 if double else np.float32)
    found = session.run(None, {"X": rows})
    expected, labels = answers(model, frame)
    close = CLOSE if double else {"rtol": 1e-5}
    np.testing.assert_allclose(found[-1], expected, **close)
    if len(found) == 2:
        assert found[0].tolist() == list(labels)


def test_units_go_along():
    pd = pytest.importorskip("pandas")
    onnx, duckdb = pytest.importorskip("onnx"), pytest.importorskip("duckdb")
    rng = np.random.default_rng(0)
    mass = rng.normal(70, 9, 60)
    cost = rng.normal(300, 20, 60)
    cells = [f"{value:.1f} CHF" for value in cost]
    frame = pd.DataFrame({"mass (kg)": mass, "cost */": cells, "plain": rng.normal(size=60)})
    y = mass - cost + frame["plain"]
    model = TableSelector(SparseRLSRegressor(choose=3, validation=None)).fit(frame, y)
    expected = {"mass (kg)": "kg", "cost */": "CHF"}
    assert json.loads(model.export("json"))["units"] == expected
    said = "mass (kg) in kg"
    for language, mark in (("c", "/* "), ("sql", "/* "), ("python", '"""'), ("javascript", "// ")):
        text = model.export(language)
        assert text.startswith(mark)
        assert said in text.partition("predict")[0]
        assert "in CHF" in text
    (line,) = model.export("python").splitlines()[2:3]
    assert line.startswith("Units: ")
    found = onnx.load_model_from_string(model.export("onnx")).metadata_props
    assert json.loads(found[0].value) == expected
    row = {"mass (kg)": 60.0, "cost */": 310.0, "plain": 0.5}
    answer = model.predict(pd.DataFrame({name: [value] for name, value in row.items()}))[0]
    table = pd.DataFrame([row])
    with duckdb.connect() as base:
        base.register("t", table)
        ((got,),) = base.execute(f"SELECT {model.export('sql')} FROM t").fetchall()
    assert got == pytest.approx(answer, rel=1e-12)
    space = {}
    exec(model.export("python"), space)
    assert space["predict"](row) == pytest.approx(answer, rel=1e-12)
