"""One evaluator for the paths of all methods."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from sparsepath import (
    LarsSelector,
    MutualInfoSelector,
    OPELMRegressor,
    SelectionPath,
    SparseRLSRegressor,
    Step,
    compare_paths,
)
from sparsepath.data.synthetic import functional
from sparsepath.errors import InputError

TRAIN, TEST = functional(80, 5, random_state=0), functional(200, 5, random_state=1)


def paths() -> list[SelectionPath]:
    selectors = [LarsSelector(), MutualInfoSelector(), SparseRLSRegressor()]
    return [selector.fit(TRAIN.X, TRAIN.y).path_ for selector in selectors]


def test_held_out_errors_are_those_of_refitting():
    for path in paths():
        judged = path.evaluate(LinearRegression(), TRAIN.X, TRAIN.y, TEST.X, TEST.y)
        assert judged.error_kind == "honest"
        assert judged.subsets == path.subsets
        assert judged.method == path.method
        assert judged.error(0) == pytest.approx(np.square(TEST.y - TRAIN.y.mean()).mean())
        for size in judged.sizes[1:]:
            S = list(path.subset(size))
            model = LinearRegression().fit(TRAIN.X[:, S], TRAIN.y)
            losses = np.square(TEST.y - model.predict(TEST.X[:, S]))
            trained = np.square(TRAIN.y - model.predict(TRAIN.X[:, S]))
            assert judged.error(size) == pytest.approx(losses.mean())
            assert judged.error_se(size) == pytest.approx(losses.std(ddof=1) / np.sqrt(200))
            assert judged.step(size).train_error == pytest.approx(trained.mean())


def test_equal_subsets_get_equal_errors():
    estimator = OPELMRegressor(20, random_state=0)
    one = SelectionPath([Step((0, 3), 0.0)], n_features=5)
    other = SelectionPath([Step((3, 0), 0.0)], n_features=5)
    errors = [p.evaluate(estimator, TRAIN.X, TRAIN.y, cv=4).error(2) for p in (one, other)]
    assert errors[0] == errors[1]


def test_cross_validation_and_training_are_named():
    path = paths()[0]
    cv = KFold(4)
    selected = path.evaluate(LinearRegression(), TRAIN.X, TRAIN.y, cv=cv)
    trained = path.evaluate(LinearRegression(), TRAIN.X, TRAIN.y)
    assert (selected.error_kind, trained.error_kind) == ("selection", "training")
    S = list(path.subset(3))
    out = cross_val_predict(LinearRegression(), TRAIN.X[:, S], TRAIN.y, cv=cv)
    assert selected.error(3) == pytest.approx(np.square(TRAIN.y - out).mean())
    assert trained.error(3) == trained.step(3).train_error


def test_classes_sparse_data_and_several_targets():
    X, y = load_iris(return_X_y=True)
    path = SelectionPath([Step((), 1.0), Step((2,), 0.5), Step((2, 3), 0.2)], n_features=4)
    judged = path.evaluate(KNeighborsClassifier(), X, y, cv=3)
    assert judged.criterion == "error rate of KNeighborsClassifier"
    assert judged.error(2) < 0.1
    assert judged.error(0) == pytest.approx(2 / 3, abs=0.05)
    Y = np.column_stack([y, X[:, 0]]).astype(float)
    dense = path.evaluate(LinearRegression(), X, Y)
    sparse = path.evaluate(LinearRegression(), csr_array(X), Y)
    np.testing.assert_allclose(dense.errors, sparse.errors)
    fitted = LinearRegression().fit(X[:, [2]], Y).predict(X[:, [2]])
    assert dense.error(1) == pytest.approx(np.square(Y - fitted).sum(1).mean())  # of both targets


def test_nested_cross_validation_repeats_the_selection():
    cv, selector = KFold(3), LarsSelector(3)
    path = selector.fit(TRAIN.X, TRAIN.y).path_
    nested = path.evaluate(LinearRegression(), TRAIN.X, TRAIN.y, cv=cv, selector=selector)
    assert nested.error_kind == "honest"
    assert nested.subsets == path.subsets
    losses = []
    for train, test in cv.split(TRAIN.X):
        S = list(LarsSelector(3).fit(TRAIN.X[train], TRAIN.y[train]).path_.subset(2))
        model = LinearRegression().fit(TRAIN.X[train][:, S], TRAIN.y[train])
        losses.append(np.square(TRAIN.y[test] - model.predict(TRAIN.X[test][:, S])))
    assert nested.error(2) == pytest.approx(np.concatenate(losses).mean())


def test_sizes_that_a_fold_does_not_reach_are_left_out():
    path = LarsSelector().fit(TRAIN.X, TRAIN.y).path_
    nested = path.evaluate(LinearRegression(), TRAIN.X, TRAIN.y, cv=3, selector=LarsSelector(2))
    assert nested.sizes == (0, 1, 2)
    X = TRAIN.X[:60].copy()
    X[20:, 4] = 0.0  # constant where the first 20 rows are left out, so one fold ends at size 4
    whole = LarsSelector().fit(X, TRAIN.y[:60]).path_
    assert whole.sizes == (0, 1, 2, 3, 4, 5)
    nested = whole.evaluate(
        LinearRegression(), X, TRAIN.y[:60], cv=KFold(3), selector=LarsSelector()
    )
    assert nested.sizes == (0, 1, 2, 3, 4)


def test_a_judged_path_is_a_path(tmp_path):
    path = paths()[1]
    judged = path.evaluate(LinearRegression(), TRAIN.X, TRAIN.y, TEST.X, TEST.y)
    judged.save(tmp_path / "judged.json")
    assert SelectionPath.load(tmp_path / "judged.json") == judged
    assert path.error_kind == "selection"  # the path itself is as it was
    assert judged.choose("one_se") in path.sizes


def test_comparison_of_several_paths():
    found = compare_paths(
        dict(zip(("LARS", "MI", "RLS"), paths(), strict=True)),
        LinearRegression(),
        TRAIN.X,
        TRAIN.y,
        TEST.X,
        TEST.y,
    )
    assert found.error_label == "squared error of LinearRegression (honest error)"
    for name, path in found.paths.items():
        alone = path.evaluate(LinearRegression(), TRAIN.X, TRAIN.y, TEST.X, TEST.y)
        assert found.judged[name] == alone
    frame = found.to_frame()
    assert list(frame.columns[:3]) == ["size", "method", "features"]
    assert frame["size"].is_monotonic_increasing
    assert set(frame["error_kind"]) == {"honest"}
    assert len(frame) == sum(map(len, found.judged.values()))
    assert [ax.get_visible() for ax in found.plot().axes] == [True] * 7 + [False] * 2
    few = found.plot(curves=("RLS",))
    assert [ax.get_visible() for ax in few.axes] == [True] * 5 + [False]
    assert [text.get_text() for text in few.axes[4].get_legend().get_texts()] == list(found.paths)
    assert few.axes[3].get_title(loc="left") == "own error: RLS"
    with pytest.raises(InputError, match="no path is called 'ELM'"):
        found.plot(curves=("ELM",))


def test_messages():
    path = paths()[0]
    data = (LinearRegression(), TRAIN.X, TRAIN.y)
    with pytest.raises(InputError, match="both X_test and y_test"):
        path.evaluate(*data, TEST.X)
    with pytest.raises(InputError, match="not both"):
        path.evaluate(*data, TEST.X, TEST.y, cv=3)
    with pytest.raises(InputError, match="give cv as well"):
        path.evaluate(*data, selector=LarsSelector())
    with pytest.raises(InputError, match="has 5 features"):
        path.evaluate(LinearRegression(), TRAIN.X[:, :3], TRAIN.y)
    with pytest.raises(InputError, match="80 rows, but y has 79"):
        path.evaluate(LinearRegression(), TRAIN.X, TRAIN.y[:-1])
    with pytest.raises(InputError, match="paths is empty"):
        compare_paths({}, *data)
    with pytest.raises(InputError, match="one for each path"):
        compare_paths({"a": path}, *data, cv=3, selectors={"b": LarsSelector()})
