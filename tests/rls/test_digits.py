"""Digits: offsets, weights of sparse data and tiny penalties take none away that the data hold."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold

from rls.comparing import FORMS, design_of, search, subsets
from sparsepath import SparseRLSRegressor
from sparsepath.rls.folds import model as folds
from sparsepath.system.tuning import TUNING

# --- sparse data with weights ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", [{"standardize": True, "alpha": 10.0}, {"cv": 4}], ids=str)
def test_sparse_data_with_weights_are_the_dense_ones(seed, options, monkeypatch):
    monkeypatch.setattr(TUNING, "split_gram_numbers", 0)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 4))
    X[:, 0] += 1e7
    y = X[:, 0] - 1e7 + rng.standard_normal(60)
    w = rng.choice([0.5, 1, 2, 3.3], 60)
    dense, sparse = (
        SparseRLSRegressor(**options).fit(M, y, sample_weight=w).path_ for M in (X, sp.csr_array(X))
    )
    assert dense.subsets == sparse.subsets
    assert_allclose(sparse.errors, dense.errors, rtol=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_a_column_of_ones_in_sparse_data_is_constant_whatever_the_weights(seed):
    rng = np.random.default_rng(seed)
    X = np.c_[rng.standard_normal((50, 3)), np.ones(50)]
    w = rng.random(50) * 3
    design = design_of(sp.csr_array(X), w)
    assert design.constant.tolist() == [False, False, False, True]


# --- offsets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [1e7, 1e9, 3e10])
@pytest.mark.parametrize("form", [*FORMS["squared"], "sparse", "pairs"])
def test_leave_one_out_does_not_lose_what_the_offset_leaves(offset, form):
    """Centred by hand, where subtraction is exact, or not: the same numbers."""
    rng = np.random.default_rng(0)
    far = offset + rng.standard_normal((40, 4))
    far[:, 3] = far[:, 0] + max(0.01, 3e-10 * offset) * (far[:, 3] - offset)  # nearly a copy
    near = far - offset
    weights = rng.choice([0.5, 1.0, 2.2], 40)
    y = near[:, :1] - near[:, 1:2] + 0.1 * rng.standard_normal((40, 1))
    options = {"form": form} if form in FORMS["squared"] else {}
    if form == "pairs":
        y, options = np.sign(y), {"loss": "auc"}
    given = sp.csc_array(far) if form == "sparse" else far
    expected = search(design_of(near, weights), y, 1e-9, 4, **options)
    trail = search(design_of(given, weights), y, 1e-9, 4, **options)
    assert subsets(trail) == subsets(expected)
    for k, step in expected.steps.items():
        assert_allclose(trail.steps[k].error, step.error, rtol=1e-11)
    shifted = search(design_of(near, weights), y + offset, 1e-9, 4) if form != "pairs" else None
    if shifted is not None:
        rounded = search(design_of(near, weights), (y + offset) - offset, 1e-9, 4)
        for k, step in rounded.steps.items():
            assert_allclose(shifted.steps[k].error, step.error, rtol=1e-11)


# --- folds at tiny penalties ----------------------------------------------------------------------


def exact_folds(X, y, alpha, splits):
    """Refits in exact arithmetic; the mean over splits."""
    errors = []
    for train, test in splits:
        F = np.vectorize(Fraction, otypes=[object])
        A, B, a, b = F(X[train]), F(X[test]), F(y[train]), F(y[test])
        mean, level = A.sum(0) / len(A), a.sum() / len(a)
        A, B, a, b = A - mean, B - mean, a - level, b - level
        K = A.T @ A + F(np.eye(A.shape[1])) * Fraction(alpha)
        c = A.T @ a
        k = len(c)
        for j in range(k):  # Gauss and Jordan; the matrix is positive definite
            c[j], K[j] = c[j] / K[j, j], K[j] / K[j, j]
            for i in range(k):
                if i != j:
                    c[i], K[i] = c[i] - K[i, j] * c[j], K[i] - K[i, j] * K[j]
        left = b - B @ c if k else b
        errors.append((left @ left) / len(left))
    return float(sum(errors) / len(errors))


@pytest.mark.parametrize("alpha", [0.0, 1e-12])
@pytest.mark.parametrize("kind", ["powers", "nearly constant", "nearly collinear"])
@pytest.mark.parametrize("search_name", ["forward", "floating", "backward"])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_folds_at_tiny_penalties_against_exact_arithmetic(alpha, kind, search_name, loss):
    rng = np.random.default_rng(1)
    x = rng.random(24)
    X = {"powers": x[:, None] ** np.arange(1, 8)}.get(kind, rng.standard_normal((24, 5)))
    if kind == "nearly constant":  # in all training parts but one
        X[:, 2] = 1e-7 * X[:, 2]
        X[3, 2] += 1.0
    elif kind == "nearly collinear":
        X[:, 2] = X[:, 0] + 1e-7 * X[:, 2]
    y = np.sin(5 * x) + X[:, 1] + 0.1 * rng.standard_normal(24)
    splits = list(KFold(4).split(X))
    n = X.shape[1]
    trail = search(design_of(X), y[:, None], alpha, 0 if search_name == "backward" else n,
                   splits=splits, search=search_name, loss=loss)  # fmt: skip
    assert max(trail.steps) == n
    if loss == "squared":
        for step in trail.steps.values():
            expected = exact_folds(X[:, list(step.subset)], y, alpha, splits)
            assert_allclose(step.error, expected, rtol=1e-7)


@pytest.mark.parametrize("search_name", ["forward", "floating", "swap", "backward"])
def test_rows_and_sums_agree_where_both_are_good(search_name, monkeypatch):
    """All from the rows, or all from sums: the same path on data that are no trouble."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 7))
    Y = X[:, :2] + rng.standard_normal((40, 2))
    w = rng.random(40)
    for loss, pooled in (("squared", False), ("squared", True), ("absolute", False)):
        trails = []
        for fine in (0.0, 1e9):
            monkeypatch.setattr(folds, "FINE", fine)
            given = {"splits": list(KFold(4).split(X)), "loss": loss, "pooled": pooled}
            size = 0 if search_name == "backward" else 5
            trails.append(search(design_of(X, w), Y, 1.0, size, search=search_name, **given))
        one, other = trails
        assert [(m.action, m.feature) for m in one.moves] == [
            (m.action, m.feature) for m in other.moves
        ]
        for k, step in one.steps.items():
            assert_allclose(other.steps[k].error, step.error, rtol=1e-11)
            assert_allclose(other.steps[k].error_se, step.error_se, rtol=1e-9)
            assert_allclose(other.steps[k].coef, step.coef, rtol=1e-9)


def test_the_penalty_by_leave_one_out_does_not_look_at_forbidden_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    y = X[:, 0] + X[:, 1] + 2 * rng.standard_normal(60)
    with_copy = np.c_[X, y + 1e-3 * rng.standard_normal(60)]
    expected = SparseRLSRegressor(alpha="loo").fit(X, y)
    for options in ({}, {"standardize": True}, {"loss": "absolute"}):
        expected = SparseRLSRegressor(alpha="loo", **options).fit(X, y)
        model = SparseRLSRegressor(alpha="loo", forbidden=[8], **options).fit(with_copy, y)
        assert model.alpha_ == pytest.approx(expected.alpha_, rel=1e-12)
        assert_allclose(
            list(model.alpha_errors_.values()), list(expected.alpha_errors_.values()), rtol=1e-9
        )
    wide = np.c_[with_copy, rng.standard_normal((60, 90))]
    forbidden = [8, *range(50, 99)]
    few = np.delete(wide, forbidden, axis=1)
    model = SparseRLSRegressor(2, alpha="loo", forbidden=forbidden).fit(wide, y)
    assert model.alpha_ == pytest.approx(SparseRLSRegressor(2, alpha="loo").fit(few, y).alpha_)
    everything = SparseRLSRegressor(alpha="loo", forbidden=range(8), choose="min")
    assert everything.fit(X, y).path_.sizes == (0,)


def test_the_rows_are_asked_once_the_chosen_columns_blur_everything(monkeypatch):
    """The largest K_jj (A^-1)_jj, from inverses of the training parts' products."""
    monkeypatch.setattr(folds, "FINE", 1e-2)
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 12))
    X[:, 1:] -= np.cumsum(X, axis=1)[:, :-1]  # no column is nearly one of the others, all are
    y, alpha = rng.standard_normal((60, 1)), 0.1
    splits = list(KFold(3).split(X))
    design = design_of(X)
    model, rough = folds.FoldModel(design, y, alpha, splits), []
    for b in range(12):
        if model._needs_rows(b):
            break
        model.add(b)
        blur = []
        for train, _ in splits:
            A = X[train, : b + 1] - X[train, : b + 1].mean(0)
            K = ((X[train, : b + 1] - X[:, : b + 1].mean(0)) ** 2).sum(0)
            blur.append(K * np.diag(np.linalg.inv(A.T @ A + alpha * np.eye(b + 1))))
        assert model.rough == (np.max(blur) >= 100)
        rough.append(model.rough)
    assert rough[-1]
    assert not rough[0]
