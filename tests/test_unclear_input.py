"""Parameters and columns of a wrong kind are named, with what is allowed."""

import numpy as np
import pandas as pd
import pytest

import sparsepath
from sparsepath import GraftingRegressorCV, InputError, SparseRLSClassifier, SparseRLSRegressor

X = np.random.default_rng(0).standard_normal((30, 4))
y = X[:, 0] + np.random.default_rng(1).standard_normal(30)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (sparsepath.SparseRLSRegressor(callback=5), "callback=5 is not callable"),
        (sparsepath.SparseRLSRegressor(checkpoint=5), "checkpoint=5; give the name of a file"),
        (sparsepath.MLPGraftingRegressor(tol="x"), "tol='x'; give a number between 0 and 1"),
        (sparsepath.MLPGraftingRegressor(tol=[0.1, "x"]), "tol='x'; give a number between 0 and 1"),
        (sparsepath.MLPGraftingRegressor(tol=[]), "give a number between 0 and 1, or several"),
        (sparsepath.ReducedRankKernelRidge(tolerance=1.5), "tolerance=1.5; give a number between"),
    ],
)
def test_parameters(model, words):
    with pytest.raises(InputError, match=words):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pd.period_range("2020", periods=30, freq="M"), "period"),
        (pd.interval_range(0, 30), "interval"),
    ],
)
def test_columns_of_pandas_that_are_neither_numbers_text_nor_dates(values, kind):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(p=values)
    model = sparsepath.TableSelector(sparsepath.SparseRLSRegressor())
    with pytest.raises(InputError, match=f"'p' holds {kind}.*not numbers, text or dates"):
        model.fit(frame, y)


def test_a_column_without_any_value_is_a_column_of_missing_values():
    frame = pd.DataFrame(X, columns=list("abcd")).assign(p=None)
    model = sparsepath.TableSelector(sparsepath.SparseRLSRegressor())
    with pytest.raises(InputError, match="missing values in column 'p'"):
        model.fit(frame, y)


ROWS = np.arange(30)
SETS = np.array([{1}, {2}] * 15, dtype=object)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"groups": SETS}, "labels that cannot be sorted"),
        ({"groups": np.where(ROWS < 9, np.nan, ROWS)}, "groups contains NaN"),
        ({"validation": [([], ROWS)]}, "the training part of split 0 has no rows"),
        ({"cv": [(ROWS,)]}, "^cv cannot (be used to )?split these data"),
        ({"cv": [(ROWS, ROWS, ROWS)] * 9}, "^cv cannot (be used to )?split these data"),
    ],
)
def test_groups_and_splits(given, words):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    groups = given.pop("groups", None)
    for model in (SparseRLSRegressor(2, **given), GraftingRegressorCV(**given)):
        with pytest.raises(InputError, match=words) as error:
            model.fit(X, y, groups=groups)
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.array([{1}, {2}] * 15), "labels of type set; convert them to text"),
        (pd.PeriodIndex(["2020", "2021"] * 15, freq="Y"), "labels of type Period"),
        (np.array([10**30, 1] * 15, dtype=object), "labels of type int"),
    ],
)
def test_labels_that_are_neither_text_nor_numbers(labels, words):
    X = np.random.default_rng(0).standard_normal((30, 3))
    with pytest.raises(InputError, match=words):
        SparseRLSClassifier(2).fit(X, labels)


@pytest.mark.parametrize("kind", [int, float, bool])
def test_numbers_that_are_stored_as_objects_are_labels(kind):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), np.array([kind(0), kind(1)] * 15)
    found = SparseRLSClassifier(2).fit(X, y.astype(object))
    expected = SparseRLSClassifier(2).fit(X, y)
    assert found.classes_.dtype == expected.classes_.dtype
    assert (found.predict(X) == expected.predict(X)).all()


def test_targets_beyond_floating_point():
    X = np.random.default_rng(0).standard_normal((30, 3))
    with pytest.raises(InputError, match="whole numbers beyond the range"):
        SparseRLSRegressor(2).fit(X, np.array([10**400, 1] * 15, dtype=object))


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_columns_of_the_same_name(library, tmp_path):
    table = pd.DataFrame(X, columns=list("abcb"))
    model = SparseRLSRegressor(2, validation=None).fit(table.iloc[:, :3], y)
    model.save_model(tmp_path / "model.json")
    saved = sparsepath.load_model(tmp_path / "model.json")
    if library == "pyarrow":
        arrow = pytest.importorskip("pyarrow")
        table = arrow.Table.from_arrays(
            [arrow.array(X[:, j]) for j in range(4)], names=list("abcb")
        )
    for use in (saved.predict, lambda X: model.fit(X, y)):
        with pytest.raises(InputError) as error:
            use(table)
        assert str(error.value) == "X has more than one column of the same name: 'b'."
