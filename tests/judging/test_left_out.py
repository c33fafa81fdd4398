"""Honest errors: the whole procedure repeated with parts left out, as an outer loop has it."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)

from slow_twins import judging as twin
from sparsepath import GraftingClassifierCV, InputError, SparseRLSClassifier, SparseRLSRegressor
from sparsepath.judging.honest import honest_error
from sparsepath.judging.left_out import AskedToEndError, left_out


def problem(n, p, seed=0, relevant=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.5, 20, p) + rng.uniform(-5, 5, p)
    y = X[:, :relevant] @ rng.uniform(1, 2, relevant) / 5 + rng.standard_normal(n)
    return X, y


def searched(size, alpha):
    def search(X, y):
        model = SparseRLSRegressor(size, alpha=alpha, standardize=True, choose="min").fit(X, y)
        return dict(zip(model.path_.sizes, model.path_.subsets, strict=True))

    return search


@pytest.mark.parametrize(
    "splitter",
    [
        KFold(5),
        KFold(4, shuffle=True, random_state=1),
        TimeSeriesSplit(3),
        LeaveOneOut(),
        [(np.arange(0, 30), np.arange(30, 40))],
    ],
    ids=repr,
)
def test_losses_are_those_of_an_outer_loop(splitter):
    X, y = problem(40, 12)
    splits = list(splitter.split(X)) if hasattr(splitter, "split") else splitter
    sizes = (0, 1, 2, 3, 4)
    found = left_out(SparseRLSRegressor(4, alpha=2.0, standardize=True), X, y, splitter)
    expected = twin.nested_losses(searched(4, 2.0), X, y, splits, sizes, 2.0)
    assert found.sizes == sizes
    np.testing.assert_allclose(found.losses, expected, rtol=1e-8)
    np.testing.assert_allclose(found.errors, np.nanmean(expected, 0), rtol=1e-8)


def test_wide_data_agree_with_an_outer_loop():
    X, y = problem(40, 300, relevant=2)
    splits = list(KFold(10, shuffle=True, random_state=0).split(X))
    model = SparseRLSRegressor(10, standardize=True)
    found = honest_error(model, X, y, validation=splits)
    expected = twin.nested_losses(searched(10, 1.0), X, y, splits, range(11), 1.0)
    np.testing.assert_allclose(found.errors, expected.mean(0), rtol=1e-8)
    assert found.chosen.size == twin.paired_choice(expected)
    assert found.chosen.empty_error == pytest.approx(expected[:, 0].mean())


def test_repeats_count_once_per_sample():
    X, y = problem(30, 5)
    splitter = RepeatedKFold(n_splits=3, n_repeats=4, random_state=0)
    found = left_out(SparseRLSRegressor(2, standardize=True), X, y, splitter)
    every = [
        twin.nested_losses(searched(2, 1.0), X, y, [split], (0, 1, 2), 1.0)
        for split in splitter.split(X)
    ]
    expected = np.nanmean(every, axis=0)
    np.testing.assert_allclose(found.losses, expected, rtol=1e-8)
    se = expected.std(0, ddof=1) / np.sqrt(30)
    np.testing.assert_allclose(found.errors_se, se, rtol=1e-8)


def test_weights_and_groups():
    X, y = problem(60, 6)
    groups, w = np.repeat(np.arange(12), 5), np.random.default_rng(1).uniform(0.5, 2, 60)
    given = {"sample_weight": w}
    found = left_out(SparseRLSRegressor(2), X, y, GroupKFold(4), fit_params=given, groups=groups)
    np.testing.assert_allclose(found.errors, np.average(found.losses, axis=0, weights=w))
    share = np.array([w[groups == g].sum() for g in range(12)]) / w.sum()
    off = (
        np.array([w[groups == g] @ (found.losses - found.errors)[groups == g] for g in range(12)])
        / w.sum()
    )
    assert share.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.errors_se, np.sqrt((off**2).sum(0) * 12 / 11))
    whole = left_out(SparseRLSRegressor(2), X, y, 4, groups=groups)
    assert whole.label == "4-fold by groups"


def test_weight_zero_is_no_sample():
    X, y = problem(50, 5)
    w = np.ones(50)
    w[::5] = 0
    splits = list(KFold(5, shuffle=True, random_state=3).split(X))
    model = SparseRLSRegressor(3, standardize=True)
    found = left_out(model, X, y, splits, fit_params={"sample_weight": w})
    kept = np.flatnonzero(w > 0)
    new = {old: i for i, old in enumerate(kept)}
    less = [
        ([new[i] for i in train if i in new], [new[i] for i in test if i in new])
        for train, test in splits
    ]
    without = left_out(model, X[kept], y[kept], less)
    np.testing.assert_allclose(found.errors, without.errors, rtol=1e-9)
    np.testing.assert_allclose(found.errors_se, without.errors_se, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_by_error_rate(n_classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 6))
    y = np.array(["a", "b", "c"])[
        np.digitize(X[:, 1] + 0.3 * rng.standard_normal(90), [-0.3, 0.5][: n_classes - 1])
    ]
    model = LogisticRegression()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    found = left_out(model, X, y, folds)
    expected = cross_val_predict(model, X, y, cv=folds) != y
    np.testing.assert_array_equal(found.losses[:, 0], expected)
    assert found.sizes == (6,)


def test_a_class_that_a_part_never_saw():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = np.array([0] * 20 + [1] * 19 + [2])
    found = left_out(SparseRLSClassifier(2, loss="zero_one"), X, y, 5)
    assert found.losses[39].min() == 1  # nobody could know
    assert np.isfinite(found.losses).all()


def test_a_part_with_nothing_to_learn():
    X = np.random.default_rng(0).standard_normal((12, 3))
    y = np.array([0.0] * 8 + [1, 2, 3, 4])
    found = left_out(SparseRLSRegressor(2), X, y, [(np.arange(8), np.arange(8, 12))])
    np.testing.assert_allclose(found.losses[8:, 0], [1, 4, 9, 16])


def test_any_predictor():
    X, y = problem(50, 4)
    found = honest_error(LinearRegression(), X, y, validation=KFold(5), choose="min")
    expected = (y - cross_val_predict(LinearRegression(), X, y, cv=KFold(5))) ** 2
    np.testing.assert_allclose(found.errors, [expected.mean()])


def test_frames_and_names():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    X, y = problem(40, 4)
    names = ["a", "b", "c", "d"]
    model = SparseRLSRegressor(2, forced=["c"])
    plain = left_out(SparseRLSRegressor(2, forced=[2]), X, y, 4)
    for make in (pandas.DataFrame(X, columns=names), polars.DataFrame(X, schema=names)):
        np.testing.assert_allclose(left_out(model, make, y, 4).errors, plain.errors)


def test_sizes_are_at_most():
    """A path with holes: the largest model that is no larger stands in."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    found = left_out(GraftingClassifierCV(n_l1s=5, cv=3), X, y, 3)
    assert found.sizes[0] == 0
    assert np.isfinite(found.losses).all()


@pytest.mark.parametrize("wrong", [1, 0, "5", True, 3.5])
def test_bad_validation(wrong):
    X, y = problem(20, 3)
    with pytest.raises(InputError, match="validation="):
        left_out(SparseRLSRegressor(), X, y, wrong)


def test_asked_to_end():
    X, y = problem(20, 3)
    calls = []

    def told(done, of):
        calls.append((done, of))
        return done == 2

    with pytest.raises(AskedToEndError):
        left_out(SparseRLSRegressor(1), X, y, 5, told=told)
    assert calls == [(0, 5), (1, 5), (2, 5)]
