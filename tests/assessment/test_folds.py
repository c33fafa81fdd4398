"""Default folds: stratified, whole cases, and the same whatever the order of the rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import KFold, TimeSeriesSplit

from sparsepath import InputError, PathWarning, SparseRLSClassifier
from sparsepath.assessment.folds import parts_of


def folds_by_row(parts, n):
    fold = np.full(n, -1)
    for number, (train, test) in enumerate(parts.splits):
        assert not set(train) & set(test)
        fold[test] = number
    return fold


def problem(seed, n=37, p=6, classes=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = rng.integers(0, classes, n) if classes else rng.standard_normal(n)
    return X, y


@given(st.integers(0, 1000), st.integers(2, 10), st.sampled_from([0, 2, 3]))
@settings(max_examples=40, deadline=None)
def test_the_order_of_rows_and_units_change_nothing(seed, k, classes):
    X, y = problem(seed, classes=classes)
    fold = folds_by_row(parts_of(k, X, y), len(y))
    assert set(fold) == set(range(k))
    order = np.random.default_rng(seed + 1).permutation(len(y))
    other = folds_by_row(parts_of(k, X[order], y[order]), len(y))
    np.testing.assert_array_equal(other, fold[order])
    scaled = folds_by_row(parts_of(k, X * 1e3 + 7, y * 2 + (0 if classes else 5)), len(y))
    np.testing.assert_array_equal(scaled, fold)
    for make in (sparse.csr_array, sparse.csc_matrix):
        np.testing.assert_array_equal(folds_by_row(parts_of(k, make(X), y), len(y)), fold)


@given(st.integers(0, 1000), st.sampled_from([0, 2]))
@settings(max_examples=30, deadline=None)
def test_weights_are_repetitions(seed, classes):
    X, y = problem(seed, classes=classes)
    w = np.random.default_rng(seed).integers(0, 4, len(y))
    w[:3] = 1
    weighted = parts_of(5, X, y, weights=w)
    fold = folds_by_row(weighted, len(y))
    assert (fold[w == 0] == -1).all()
    rows = np.repeat(np.arange(len(y)), w)
    repeated = parts_of(5, X[rows], y[rows])
    np.testing.assert_array_equal(folds_by_row(repeated, len(rows)), fold[rows])
    assert len(np.unique(repeated.clusters)) == (w > 0).sum()


def test_copies_stay_together():
    X, y = problem(0)
    X, y = np.vstack([X, X[:10]]), np.r_[y, y[:10]]
    fold = folds_by_row(parts_of(5, X, y), len(y))
    np.testing.assert_array_equal(fold[:10], fold[37:])


def different(X, y, validation=5):
    return len(np.unique(parts_of(validation, X, y).clusters))


def test_rows_that_are_equal_by_chance_are_no_copies():
    """Where there are few values to have, many samples have the same: no kind is left out whole."""
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 2, (300, 3)) * 1.0
    y = (rng.random(300) < 0.2 + 0.6 * answers[:, 0]).astype(int)
    assert different(answers, y) == 300
    assert different(sparse.csr_array(answers), y) == 300
    assert different(np.repeat(answers, 4, axis=1), y) == 300, "columns that say the same"
    assert different(np.eye(5)[rng.integers(0, 5, 300)], y) == 300, "one of five"
    assert different(rng.integers(20, 70, (900, 1)), rng.integers(0, 2, 900)) == 900
    many = rng.integers(0, 2, (400, 10))
    assert len(np.unique(many, axis=0)) < 400
    assert different(many, rng.integers(0, 2, 400)) == 400


@pytest.mark.parametrize("times", [2, 3, 12])
def test_rows_that_are_written_several_times_are(times):
    rng = np.random.default_rng(0)
    for X in (rng.standard_normal((40, 1)), rng.standard_normal((40, 6)).round(1)):
        for y in (rng.standard_normal(40), rng.integers(0, 2, 40)):
            rows = np.repeat(np.arange(40), times)
            assert different(X[rows], y[rows]) == 40
            few = np.r_[np.arange(40), 3, 7]
            assert different(X[few], y[few]) == 40
    whole = rng.integers(0, 30, (60, 8))  # of whole numbers, which no column tells apart
    y = rng.integers(0, 2, 60)
    rows = np.r_[np.arange(60), np.arange(20)]
    assert different(whole[rows], y[rows]) == 60
    assert different(sparse.csr_array(whole[rows]), y[rows]) == 60


def test_answers_of_yes_and_no_are_judged_as_samples():
    """The error that is told is that on new samples; all of a kind left out, it was far off."""
    rng = np.random.default_rng(0)

    def drawn(n):
        X = rng.integers(0, 2, (n, 3)) * 1.0
        return X, (rng.random(n) < 0.15 + 0.7 * X[:, 0]).astype(int)

    X, y = drawn(400)
    model = SparseRLSClassifier(alpha=1.0, validation=10).fit(X, y)
    new, truth = drawn(20000)
    error = np.mean((2 * truth - 1 - model.decision_function(new)) ** 2)
    assert model.selected_.tolist() == [0]
    assert model.honest_.interval[0] < error < model.honest_.interval[1]
    assert model.honest_.error == pytest.approx(error, rel=0.15)


def test_copies_on_both_sides_are_told_of():
    X, y = problem(0)
    rows = np.r_[np.arange(37), 4, 5, 30]
    with pytest.warns(PathWarning, match="6 rows held out by validation have copies"):
        parts_of(KFold(10), X[rows], y[rows])
    with pytest.warns(PathWarning, match="3 rows"):
        parts_of([(np.arange(37), np.arange(37, 40))], X[rows], y[rows])
    parts_of(KFold(10), X[rows], y[rows], groups=np.arange(40) % 10)
    parts_of(KFold(10), X[rows], y[rows], weights=np.arange(40) < 37)


def test_one_case_at_a_time():
    X, y = problem(0)
    rows = np.r_[np.arange(37), 4, 4, 30]
    found = parts_of("loo", X[rows], y[rows], weights=np.arange(40) != 20)
    tests = [test.tolist() for _, test in found.splits]
    assert len(tests) == 36
    assert tests[4] == [4, 37, 38]
    for train, test in found.splits:
        assert sorted([*train, *test]) == [i for i in range(40) if i != 20]


@pytest.mark.parametrize("classes", [2, 3])
def test_every_fold_has_its_share_of_classes(classes):
    X, y = problem(1, n=100, classes=classes)
    fold = folds_by_row(parts_of(5, X, y, classes=True), 100)
    assert np.bincount(fold).tolist() == [20] * 5
    for part in np.unique(y):
        shares = np.bincount(fold[y == part], minlength=5)
        assert shares.max() - shares.min() <= 1


def test_numbers_are_dealt_at_random():
    """The mean of the other folds predicts a fold as badly as it predicts new samples."""
    ratios = []
    for seed in range(400):
        X, y = problem(seed, n=20, p=2)
        splits = parts_of(10, X, y).splits
        left_out = np.concatenate([(y[test] - y[train].mean()) ** 2 for train, test in splits])
        ratios.append(left_out.mean() / (1 + 1 / 18))
    assert abs(np.mean(ratios) - 1) < 0.04  # stratified by y it is 0.9


def test_one_at_a_time():
    X, y = problem(0)
    found = parts_of("loo", X, y)
    assert found.label == "leave-one-out"
    assert len(found.splits) == 37
    groups = np.arange(37) % 6
    found = parts_of("loo", X, y, groups)
    assert found.label == "leave-one-group-out"
    assert len(found.splits) == 6


def test_in_the_order_of_time():
    X, y = problem(0)
    found = parts_of("time", X, y)
    assert found.label == "8 parts in time order"
    for (train, test), (before, there) in zip(
        found.splits, TimeSeriesSplit(8).split(X), strict=True
    ):
        assert train.tolist() == before.tolist()
        assert test.tolist() == there.tolist()
        assert train.max() < test.min()
    assert len(parts_of("time", *problem(0, n=300)).splits) == 10
    assert len(parts_of("time", X[:12], y[:12]).splits) == 2
    with pytest.raises(InputError, match="needs 12 rows"):
        parts_of("time", X[:11], y[:11])
    with pytest.raises(InputError, match="remove groups"):
        parts_of("time", X, y, groups=np.arange(37) % 5)


def test_labels_of_any_kind_and_several_targets():
    X, y = problem(2, classes=2)
    text = np.array(["no", "yes"])[y]
    np.testing.assert_array_equal(
        folds_by_row(parts_of(4, X, text), 37), folds_by_row(parts_of(4, X, y), 37)
    )
    Y = np.column_stack([y, X[:, 0]])
    assert set(folds_by_row(parts_of(4, X, Y), 37)) == {0, 1, 2, 3}


def test_fewer_cases_than_folds():
    X, y = problem(3, n=4)
    assert len(parts_of(10, X, y).splits) == 4
    with pytest.raises(InputError, match="are equal"):
        parts_of(10, np.ones((5, 2)), np.ones(5))
    with pytest.raises(InputError, match="one group"):
        parts_of(10, X, y, groups=np.zeros(4))
