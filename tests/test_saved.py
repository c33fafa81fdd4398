"""Model files: the same predictions as the selector, plain data, never a half-read model."""

import json

import numpy as np
import pytest

from contract.every import NAMES, SELECTORS, X, make, target
from sparsepath import FileError, InputError, SparseRLSClassifier, load_model

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
    for place in range(0, len(whole), 7):
        changed = bytes([whole[place] ^ 1])
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
    with pytest.raises(FileError, match="was changed"):
        load_model(file)


def test_wrong_samples_are_refused(file):
    model = load_model(file)
    with pytest.raises(InputError, match="fitted to 6 columns"):
        model.predict(NEW[:, :3])
    with pytest.raises(InputError, match="there are models of the sizes"):
        model.at_size(99)
    assert not hasattr(model, "classes_")
