"""Model files: the same predictions as the selector, plain data, never a half-read model."""

import dataclasses
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from contract.every import NAMES, SELECTORS, X, make, target
from damage import damaged
from sparsepath import (
    FileError,
    InputError,
    SparseRLSClassifier,
    SparseRLSRegressor,
    TableSelector,
    load_model,
)
from sparsepath.errors import SparsepathError
from sparsepath.models.predictors import Frozen
from sparsepath.models.saved import SCHEMA, VERSION, read_model
from sparsepath.system.json_files import canonical, checksum

PREDICTING = [name for name in NAMES if hasattr(SELECTORS[name], "predict")]
NEW = np.random.default_rng(5).standard_normal((30, X.shape[1]))


@pytest.mark.parametrize("name", PREDICTING)
def test_a_file_predicts_as_the_selector(name, tmp_path):
    model = make(name, validation=None).fit(X, target(name))
    if not model.models_:
        pytest.skip("it keeps no models")
    model.save_model(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again.estimator_ == type(getattr(model, "selector_", model)).__name__
    assert again.selected_.tolist() == model.selected_.tolist()
    for size in model.path_.sizes:
        one, other = model.at_size(size), again.at_size(size)
        np.testing.assert_array_equal(other.predict(NEW), one.predict(NEW))
        if hasattr(one, "decision_function"):
            np.testing.assert_array_equal(other.decision_function(NEW), one.decision_function(NEW))
    assert again.to_bytes() == (tmp_path / "model.json").read_bytes()


def test_labels_keep_their_kind(tmp_path):
    for labels in ([3, 7, 9], ["a", "b", "c"], [True, False]):
        y = np.array(labels)[np.arange(len(X)) % len(labels)]
        model = SparseRLSClassifier(2, choose=2, validation=None).fit(X, y)
        model.save_model(tmp_path / "model.json")
        found = load_model(tmp_path / "model.json").predict(NEW)
        assert found.dtype.kind == y.dtype.kind
        assert found.tolist() == model.predict(NEW).tolist()


@pytest.fixture
def file(tmp_path):
    make("SparseRLSRegressor", validation=None).fit(X, X[:, 0]).save_model(tmp_path / "m.json")
    return tmp_path / "m.json"


def test_every_changed_byte_is_noticed_or_harmless(file):
    whole, expected = file.read_bytes(), load_model(file).predict(NEW)
    for place in range(len(whole)):
        for changed in (bytes([whole[place] ^ 1]), b"e", b"N"):  # 1e5 may overflow
            file.write_bytes(whole[:place] + changed + whole[place + 1 :])
            try:
                found = load_model(file)
            except FileError:
                continue
            np.testing.assert_array_equal(found.predict(NEW), expected)


def test_what_a_file_may_not_be(file):
    record = json.loads(file.read_text())
    for text in ("[" * 100_000, "{}", '{"schema": "sparsepath/model"}', "", "null"):
        file.write_text(text)
        with pytest.raises(FileError, match="cannot load"):
            load_model(file)
    record["content"]["models"] = "none"
    file.write_text(json.dumps(record))
    with pytest.raises(FileError, match="was modified"):
        load_model(file)


def test_wrong_samples_are_refused(file):
    model = load_model(file)
    with pytest.raises(InputError, match="fitted to 6 columns"):
        model.predict(NEW[:, :3])
    with pytest.raises(InputError, match="there are models of the sizes"):
        model.at_size(99)
    assert not hasattr(model, "classes_")


# --- named columns --------------------------------------------------------------------------------

LETTERS = list("abcdef")


@pytest.mark.parametrize("make_frame", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("name", PREDICTING)
def test_columns_are_found_by_name(name, make_frame, tmp_path):
    import pandas as pd

    frame = pd.DataFrame(X, columns=LETTERS)
    model = make(name, validation=None).fit(frame, target(name))
    if not model.models_:
        pytest.skip("it keeps no models")
    model.save_model(tmp_path / "model.json")
    saved = load_model(tmp_path / "model.json")
    expected = model.predict(frame)

    def predicted(columns):
        given = frame[columns]
        if make_frame == "polars":
            given = pytest.importorskip("polars").from_pandas(given)
        elif make_frame == "pyarrow":
            given = pytest.importorskip("pyarrow").Table.from_pandas(given)
        return saved.predict(given)

    used = [LETTERS[i] for i in saved.selected_]
    needed = [used, used[::-1]] if used else []
    for columns in (LETTERS, LETTERS[::-1], *needed):
        np.testing.assert_array_equal(predicted(columns), expected)
    np.testing.assert_array_equal(saved.predict(X), expected)  # arrays by position
    if used:
        with pytest.raises(InputError, match=f"lacks the column '{used[0]}'"):
            predicted([each for each in LETTERS if each != used[0]])
        with pytest.raises(InputError, match="lacks the column"):
            saved.predict(frame.rename(columns=dict(zip(LETTERS, "uvwxyz", strict=True))))


def test_frames_without_names_go_by_position(tmp_path):
    import pandas as pd

    named = SparseRLSRegressor(3, choose=3, validation=None)
    named.fit(pd.DataFrame(X, columns=LETTERS), X[:, 0] - X[:, 3])
    named.save_model(tmp_path / "model.json")
    saved = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(saved.predict(pd.DataFrame(X)), saved.predict(X))
    plain = SparseRLSRegressor(3, choose=3, validation=None).fit(X, X[:, 0] - X[:, 3])
    plain.save_model(tmp_path / "model.json")
    saved = load_model(tmp_path / "model.json")
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(6)])
    np.testing.assert_array_equal(saved.predict(frame[frame.columns[::-1]]), saved.predict(X))
    np.testing.assert_array_equal(saved.predict(frame.set_axis(LETTERS, axis=1)), saved.predict(X))


def test_values_that_are_no_finite_numbers(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(X, columns=LETTERS)
    model = SparseRLSRegressor(2, choose=2, validation=None).fit(frame, X[:, 0] - X[:, 3])
    model.save_model(tmp_path / "model.json")
    saved = load_model(tmp_path / "model.json")
    with pytest.raises(InputError, match="'a' is text or dates"):
        saved.predict(frame.assign(a="x"))
    with pytest.raises(InputError, match="'a' is missing or infinite in 1 of 48 rows"):
        saved.predict(frame.assign(a=[np.nan, *X[1:, 0]]))
    with pytest.raises(InputError, match="'d' is missing or infinite"):
        saved.predict(np.where(X[0, 3] == X, np.inf, X))
    with pytest.raises(InputError, match="'d' is missing or infinite in 1 of 48 rows"):
        saved.predict(csr_array(np.where(X[0, 3] == X, np.nan, X)))
    np.testing.assert_allclose(saved.predict(csr_array(X)), model.predict(frame), rtol=1e-12)
    with pytest.raises(InputError, match="is not numeric"):
        saved.predict(X.astype(object).astype(str) + "x")
    np.testing.assert_array_equal(saved.predict(frame.assign(b="x")), model.predict(frame))


# --- damage with a right checksum -----------------------------------------------------------------


def table_model():
    import pandas as pd

    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "size": rng.normal(size=90),
            "colour": rng.choice(["red", "blue", "green"], 90),
            "day": pd.Timestamp("2024-01-05") + pd.to_timedelta(rng.integers(0, 300, 90), "D"),
        }
    )
    y = 3 * table["size"] + 5 * (table["colour"] == "red") + table["day"].dt.month
    table.loc[3, "size"] = None
    selector = SparseRLSRegressor(3, choose=3, validation=None)
    return TableSelector(selector, dates="parts", missing="indicator").fit(table, y), table


def plain_model(name):
    import pandas as pd

    frame = pd.DataFrame(X, columns=LETTERS)
    return make(name, validation=None).fit(frame, target(name)), frame


@pytest.mark.parametrize(
    "name",
    [
        "table",
        "SparseRLSClassifier",
        "MLPGraftingClassifier",
        "SparseRBFRegressor",
        "LSSVMForwardRegressor",
        "ELMFSRegressor",
    ],
)
def test_a_wrong_structure_is_refused(name, tmp_path):
    model, data = table_model() if name == "table" else plain_model(name)
    model.save_model(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_bytes())["content"]
    refused = 0
    for wrong in damaged(content, np.random.default_rng(1), 300):
        head = {"schema": SCHEMA, "schema_version": VERSION, "checksum": checksum(canonical(wrong))}
        raw = json.dumps({**head, "content": wrong}).encode()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of numbers that overflow
                found = read_model(raw, Path("model.json"))
                found.predict(data)
                for language in ("c", "sql", "python", "javascript", "json"):
                    found.export(language)
        except SparsepathError:
            refused += 1
    assert refused > 200


def test_every_kind_of_model_says_what_its_parts_are():
    for kind, cls in Frozen._kinds.items():
        if dataclasses.is_dataclass(cls):
            assert [field.name for field in dataclasses.fields(cls)] == [*cls.parts], kind
