"""Honest errors: the whole procedure repeated with parts left out, as an outer loop has it."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.feature_selection import RFE, SelectKBest, SequentialFeatureSelector, f_regression
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from slow_twins import judging as twin
from sparsepath import GraftingClassifierCV, InputError, SparseRLSClassifier, SparseRLSRegressor
from sparsepath.assessment import honest_error, permutation_null, stability
from sparsepath.assessment.folds import parts_of
from sparsepath.assessment.out_of_sample import StopRequestedError, held_out_losses
from sparsepath.assessment.repetitions import repetitions


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
    found = held_out_losses(SparseRLSRegressor(4, alpha=2.0, standardize=True), X, y, splitter)
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
    found = held_out_losses(SparseRLSRegressor(2, standardize=True), X, y, splitter)
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
    found = held_out_losses(
        SparseRLSRegressor(2), X, y, GroupKFold(4), fit_params=given, groups=groups
    )
    np.testing.assert_allclose(found.errors, np.average(found.losses, axis=0, weights=w))
    share = np.array([w[groups == g].sum() for g in range(12)]) / w.sum()
    off = (
        np.array([w[groups == g] @ (found.losses - found.errors)[groups == g] for g in range(12)])
        / w.sum()
    )
    assert share.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.errors_se, np.sqrt((off**2).sum(0) * 12 / 11))
    whole = held_out_losses(SparseRLSRegressor(2), X, y, 4, groups=groups)
    assert whole.label == "4-fold by groups"


def test_weight_zero_is_no_sample():
    X, y = problem(50, 5)
    w = np.ones(50)
    w[::5] = 0
    splits = list(KFold(5, shuffle=True, random_state=3).split(X))
    model = SparseRLSRegressor(3, standardize=True)
    found = held_out_losses(model, X, y, splits, fit_params={"sample_weight": w})
    kept = np.flatnonzero(w > 0)
    new = {old: i for i, old in enumerate(kept)}
    less = [
        ([new[i] for i in train if i in new], [new[i] for i in test if i in new])
        for train, test in splits
    ]
    without = held_out_losses(model, X[kept], y[kept], less)
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
    found = held_out_losses(model, X, y, folds)
    expected = cross_val_predict(model, X, y, cv=folds) != y
    np.testing.assert_array_equal(found.losses[:, 1], expected)
    commonest = cross_val_predict(DummyClassifier(), X, y, cv=folds) != y
    np.testing.assert_array_equal(found.losses[:, 0], commonest)
    assert found.sizes == (0, 6)


def test_a_class_that_a_part_never_saw():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = np.array([0] * 20 + [1] * 19 + [2])
    found = held_out_losses(SparseRLSClassifier(2, loss="zero_one"), X, y, 5)
    assert found.losses[39].min() == 1  # nobody could know
    assert np.isfinite(found.losses).all()


def test_a_part_with_nothing_to_learn():
    X = np.random.default_rng(0).standard_normal((12, 3))
    y = np.array([0.0] * 8 + [1, 2, 3, 4])
    found = held_out_losses(SparseRLSRegressor(2), X, y, [(np.arange(8), np.arange(8, 12))])
    np.testing.assert_allclose(found.losses[8:, 0], [1, 4, 9, 16])


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), SelectKBest(f_regression, k=2), Ridge()),
        make_pipeline(RFE(LinearRegression(), n_features_to_select=2), LinearRegression()),
        make_pipeline(
            SequentialFeatureSelector(LinearRegression(), n_features_to_select=2, cv=2), Ridge()
        ),
        LinearRegression(),
        GridSearchCV(Lasso(), {"alpha": [0.5, 2.0]}),
    ],
    ids=lambda model: type(model[0] if isinstance(model, Pipeline) else model).__name__,
)
def test_any_predictor(model):
    X, y = problem(50, 4)
    found = honest_error(model, X, y, validation=KFold(5))
    predicted = cross_val_predict(model, X, y, cv=KFold(5))
    mean = cross_val_predict(DummyRegressor(), X, y, cv=KFold(5))
    expected = [((y - mean) ** 2).mean(), ((y - predicted) ** 2).mean()]
    np.testing.assert_allclose(found.errors, expected)
    selects = {LinearRegression: 4, GridSearchCV: 3}.get(type(model), 2)  # the lasso 3 of 4
    assert found.sizes[-1] == found.chosen.size == selects
    assert found.chosen.empty_error == pytest.approx(expected[0])
    assert found.chosen.error == pytest.approx(expected[1])
    assert permutation_null(model, X, y, 4).p_value == 0.2
    kept = stability(model, X, y, 4)
    assert len(kept.sizes) == 1
    assert set(kept.frequency(kept.sizes[0])) <= {"x0", "x1", "x2", "x3"}


def test_a_path_at_the_end_of_a_pipeline():
    X, y = problem(50, 6)
    first = SelectKBest(f_regression, k=4)
    model = make_pipeline(first, SparseRLSRegressor(3))
    found = honest_error(model, X, y, validation=KFold(5))
    losses = np.zeros(4)
    for train, test in KFold(5).split(X):
        part = make_pipeline(first, SparseRLSRegressor(3, validation=None)).fit(X[train], y[train])
        for size in range(4):
            rows = part[:-1].transform(X[test])
            losses[size] += ((y[test] - part[-1].at_size(size).predict(rows)) ** 2).sum() / 50
    np.testing.assert_allclose(found.errors, losses)
    kept = stability(model, X, y, 4)
    assert kept.frequencies.shape == (3, 6)
    assert set(kept.frequency(3)) <= {f"x{i}" for i in range(6)}


def test_what_cannot_be_judged():
    X, y = problem(30, 4)
    with pytest.raises(InputError, match="pipeline with a model"):
        honest_error(SelectKBest(k=2), X, y)
    with pytest.raises(InputError, match="PCA in the pipeline creates new columns"):
        stability(make_pipeline(PCA(2), Ridge()), X, y, 2)


def test_between_parts():
    """What models of other samples err is seen by how folds differ more than their samples do."""
    X, y = problem(60, 8)
    found = held_out_losses(SparseRLSRegressor(2), X, y, folds := KFold(6))
    for place in range(3):
        parts = [found.losses[test, place] for _, test in folds.split(X)]
        means = [part.mean() for part in parts]
        noise = np.mean([part.var(ddof=1) / len(part) for part in parts])
        assert found.between[place] == pytest.approx(max(np.var(means, ddof=1) - noise, 0))
    assert not held_out_losses(SparseRLSRegressor(2), X, y, "loo").between.any()


def test_frames_and_names():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    X, y = problem(40, 4)
    names = ["a", "b", "c", "d"]
    model = SparseRLSRegressor(2, forced=["c"])
    plain = held_out_losses(SparseRLSRegressor(2, forced=[2]), X, y, 4)
    for make in (pandas.DataFrame(X, columns=names), polars.DataFrame(X, schema=names)):
        np.testing.assert_allclose(held_out_losses(model, make, y, 4).errors, plain.errors)


def test_sizes_are_at_most():
    """A path with holes: the largest model that is no larger stands in."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    found = held_out_losses(GraftingClassifierCV(n_l1s=5, cv=3), X, y, 3)
    assert found.sizes[0] == 0
    assert np.isfinite(found.losses).all()


@pytest.mark.parametrize("wrong", [1, 0, "5", True, 3.5])
def test_bad_validation(wrong):
    X, y = problem(20, 3)
    with pytest.raises(InputError, match="validation="):
        held_out_losses(SparseRLSRegressor(), X, y, wrong)


def test_asked_to_end():
    X, y = problem(20, 3)
    calls = []

    def told(done, of):
        calls.append((done, of))
        return done == 2

    with pytest.raises(StopRequestedError):
        held_out_losses(SparseRLSRegressor(1), X, y, 5, callback=told)
    assert calls == [(0, 5), (1, 5), (2, 5)]
    assert (
        held_out_losses(SparseRLSRegressor(1), X, y, 5, callback=told, keep=True).known.sum() == 8
    )


@pytest.mark.parametrize("classes", [False, True])
def test_repeated_folds_are_averaged(classes):
    """Losses are means over assignments, each of which leaves every sample out once."""
    X, y = problem(40, 4)
    y = (y > 0).astype(int) if classes else y
    model = (SparseRLSClassifier if classes else SparseRLSRegressor)(3)
    parts = parts_of(5, X, y, classes=classes, repeats=4)
    assert (len(parts.splits), parts.repeats, parts.label) == (20, 4, "5-fold, 4 times")
    found = held_out_losses(model, X, y, 5, repeats=4)
    single = [held_out_losses(model, X, y, parts.splits[i : i + 5]) for i in range(0, 20, 5)]
    np.testing.assert_allclose(found.losses, np.mean([one.losses for one in single], axis=0))
    np.testing.assert_allclose(found.by_repeat, [one.errors for one in single])
    np.testing.assert_allclose(found.repeats_sd[1:], found.by_repeat.std(0, ddof=1)[1:])
    assert found.repeats == 4
    tests = [np.concatenate([test for _, test in parts.splits[i : i + 5]]) for i in (0, 5, 10, 15)]
    for rows in tests:
        assert sorted(rows) == list(range(40))
    assert len({tuple(parts.splits[i][1]) for i in (0, 5, 10, 15)}) == 4, "different assignments"
    first = parts_of(5, X, y, classes=classes).splits
    for (train, test), (again, left) in zip(first, parts.splits, strict=False):
        np.testing.assert_array_equal(train, again)
        np.testing.assert_array_equal(test, left)


def test_groups_stay_together_in_every_repetition():
    X, y = problem(40, 4)
    groups = np.arange(40) % 8
    parts = parts_of(4, X, y, groups, repeats=3)
    assert (len(parts.splits), parts.label) == (12, "4-fold by groups, 3 times")
    for train, test in parts.splits:
        assert not set(groups[train]) & set(groups[test])
    assert len({tuple(test) for _, test in parts.splits}) > 8
    assert parts_of(8, X, y, groups, repeats=3).repeats == 1, "one group at a time"
    assert parts_of(40, X, y, repeats=3).repeats == 1, "one sample at a time"


def test_the_shape_says_how_often_folds_are_assigned():
    model = SparseRLSRegressor(20)
    assert repetitions(model, 40, 10, 10) == repetitions(model, 150, 30, 10) == 10
    assert repetitions(model, 300, 30, 10) == repetitions(model, 151, 30, 10) == 1
    assert repetitions(model, 72, 7129, 10) > 1 == repetitions(model, 60, 60000, 10)
    slow = SparseRLSRegressor(search="floating")
    assert repetitions(slow, 100, 50, 10) < 10
    assert repetitions(LinearRegression(), 40, 10, 10) == 1, "nothing is known of its time"


@pytest.mark.validated
def test_few_samples_have_several_assignments_by_default():
    X, y = problem(40, 4)
    record = SparseRLSRegressor(3).fit(X, y).honest_
    assert (record.repeats, record.validation) == (10, "10-fold, 10 times")
    assert record.repeats_sd > 0
    assert "mean of 10 random assignments to folds, standard deviation" in record.sentence()
    assert honest_error(SparseRLSRegressor(3), X, y).chosen == record
    asked = SparseRLSRegressor(3, validation=10).fit(X, y).honest_
    assert (asked.repeats, asked.repeats_sd, asked.validation) == (1, None, "10-fold")
    assert "assignments" not in asked.sentence()
    X, y = problem(160, 4)
    assert SparseRLSRegressor(3).fit(X, y).honest_.repeats == 1


@pytest.mark.validated
@pytest.mark.parametrize("seed", [23, 2])
def test_a_chosen_empty_model_has_its_own_error(seed):
    """Log-normal columns, in whose models a few samples err hugely."""
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 400))
    X[:, :10] += 1.2 * y[:, None]
    model = SparseRLSClassifier(20, alpha=1.0).fit(np.exp(1.2 * X), y)
    assert len(model.selected_) == 0
    same = model.at_size(0).honest_
    assert model.honest_.error == same.error == pytest.approx(1.0)
    assert model.honest_.interval == same.interval == pytest.approx((1.0, 1.0))
    assert model.honest_.error == model.honest_.empty_error
