"""Folds of ``cv`` follow the content of the rows: their order and storage change nothing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from sparsepath import (
    GraftingClassifierCV,
    GraftingRegressorCV,
    LSSVMForwardRegressor,
    MLPGraftingRegressorCV,
    SparseRankRLS,
    SparseRBFRegressorCV,
    SparseRLSClassifier,
    SparseRLSRegressor,
)
from sparsepath.data.folds import ContentFolds
from sparsepath.data.sources import from_array
from sparsepath.data.splits import splits_of

pytestmark = pytest.mark.filterwarnings("ignore")
MODELS = {
    "rls": SparseRLSRegressor(3, cv=4),
    "rls absolute": SparseRLSRegressor(3, cv=4, loss="absolute"),
    "rls classes": SparseRLSClassifier(3, cv=4, loss="zero_one"),
    "ranking": SparseRankRLS(3, cv=3),
    "grafting": GraftingRegressorCV(n_l1s=6),
    "grafting classes": GraftingClassifierCV(n_l1s=6),
    "networks": MLPGraftingRegressorCV(cv=3, n_l0s=3, patience=1),
    "rbf": SparseRBFRegressorCV(rs=[1.0, 5.0], ts=[0.3], centres=8, cv=3),
    "kernels": LSSVMForwardRegressor(2, cv=3, gamma=[1.0], sigma2=[4.0]),
}


def problem(name):
    rng = np.random.default_rng(3)
    X = rng.integers(-40, 40, (60, 5)) / 8
    y = X[:, 0] - X[:, 3] + rng.standard_normal(60)
    return X, np.where(y > 0, "yes", "no") if "classes" in name else y.round(2), rng


@pytest.mark.parametrize("name", MODELS)
def test_the_order_of_the_rows_changes_nothing(name):
    X, y, rng = problem(name)
    model = clone(MODELS[name])
    if name == "rbf":  # centres are drawn by row number
        model.set_params(centres=X[:8].copy())
    order = rng.permutation(60)
    one, other = clone(model).fit(X, y).path_, model.fit(X[order], y[order]).path_
    assert one.subsets == other.subsets
    assert_allclose(one.errors, other.errors, rtol=1e-3 if name == "networks" else 1e-6)


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_no_weight_are_not_there_and_copies_stay_together(classes, weighted):
    X, y, rng = problem("classes" if classes else "")
    weights = rng.integers(0, 3, 60).astype(float) if weighted else np.ones(60)
    rows = np.repeat(np.arange(60), weights.astype(int))
    of_row = np.full(60, -1)
    for fold, (train, test) in enumerate(splits_of(4, X, y, classifier=classes, weights=weights)):
        assert_array_equal(np.sort(np.r_[train, test]), np.arange(60))
        of_row[test] = fold
    for fold, (_, test) in enumerate(splits_of(4, X[rows], y[rows], classifier=classes)):
        assert set(of_row[rows[test]]) == {fold}


def test_folds_are_the_same_from_every_storage():
    X, y, _ = problem("")
    folds = [test.tolist() for _, test in ContentFolds(4).split(X, y)]
    stored = [sparse.csr_array(X), X.astype(np.float32), np.asfortranarray(X), from_array(X, y)]
    for data in stored:
        assert [test.tolist() for _, test in ContentFolds(4).split(data, y)] == folds


def test_a_fold_for_every_row_leaves_out_one_at_a_time():
    X, y, _ = problem("")
    X[1], y[1] = X[0], y[0]  # also where two rows are equal
    tests = [test.tolist() for _, test in splits_of(60, X, y)]
    assert tests == [[i] for i in range(60)]
    assert len(splits_of(5, X[[0, 1, 2, 3, 4]], y[[0, 1, 2, 3, 4]])) == 5
