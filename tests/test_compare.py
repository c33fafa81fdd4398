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
    evaluate,
)
from sparsepath.data.synthetic import functional
from sparsepath.errors import InputError

TRAIN, TEST = functional(80, 5, random_state=0), functional(200, 5, random_state=1)


def paths() -> list[SelectionPath]:
    selectors = [LarsSelector(), MutualInfoSelector(), SparseRLSRegressor()]
    return [selector.fit(TRAIN.X, TRAIN.y).path_ for selector in selectors]


def test_held_out_errors_are_those_of_refitting():
    for path in paths():
        judged = evaluate(
            path,
            TRAIN.X,
            TRAIN.y,
            estimator=LinearRegression(),
            X_test=TEST.X,
            y_test=TEST.y,
        )
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
    errors = [
        evaluate(p, TRAIN.X, TRAIN.y, estimator=estimator, cv=4).error(2) for p in (one, other)
    ]
    assert errors[0] == errors[1]


def test_cross_validation_and_training_are_named():
    path = paths()[0]
    cv = KFold(4)
    selected = evaluate(path, TRAIN.X, TRAIN.y, estimator=LinearRegression(), cv=cv)
    trained = evaluate(path, TRAIN.X, TRAIN.y, estimator=LinearRegression())
    assert (selected.error_kind, trained.error_kind) == ("selection", "training")
    S = list(path.subset(3))
    out = cross_val_predict(LinearRegression(), TRAIN.X[:, S], TRAIN.y, cv=cv)
    assert selected.error(3) == pytest.approx(np.square(TRAIN.y - out).mean())
    assert trained.error(3) == trained.step(3).train_error


def test_classes_sparse_data_and_several_targets():
    X, y = load_iris(return_X_y=True)
    path = SelectionPath([Step((), 1.0), Step((2,), 0.5), Step((2, 3), 0.2)], n_features=4)
    judged = evaluate(path, X, y, estimator=KNeighborsClassifier(), cv=3)
    assert judged.criterion == "error rate of KNeighborsClassifier"
    assert judged.error(2) < 0.1
    assert judged.error(0) == pytest.approx(2 / 3, abs=0.05)
    Y = np.column_stack([y, X[:, 0]]).astype(float)
    dense = evaluate(path, X, Y, estimator=LinearRegression())
    sparse = evaluate(path, csr_array(X), Y, estimator=LinearRegression())
    np.testing.assert_allclose(dense.errors, sparse.errors)


def test_messages():
    path = paths()[0]
    with pytest.raises(InputError, match="both X_test and y_test"):
        evaluate(path, TRAIN.X, TRAIN.y, estimator=LinearRegression(), X_test=TEST.X)
    with pytest.raises(InputError, match="not both"):
        evaluate(
            path,
            TRAIN.X,
            TRAIN.y,
            estimator=LinearRegression(),
            X_test=TEST.X,
            y_test=TEST.y,
            cv=3,
        )
    with pytest.raises(InputError, match="made of 5 features"):
        evaluate(path, TRAIN.X[:, :3], TRAIN.y, estimator=LinearRegression())
