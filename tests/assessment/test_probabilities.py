"""Probabilities of every classifier, their slope, and the figures that go with them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, log_loss
from sklearn.model_selection import KFold

from slow_twins import judging as slow
from sparsepath import (
    ELMFSClassifier,
    GraftingClassifierCV,
    LSSVMClassifier,
    PathWarning,
    SparseKernelRLSClassifier,
    SparseRBFClassifier,
    SparseRLSClassifier,
    TableSelector,
    load_model,
)
from sparsepath.assessment.calibration import (
    FLATTEST,
    MOST_BLOCKS,
    STEEPEST,
    calibrations,
    cross_fitted,
)
from sparsepath.data.classes import USUAL_SLOPE, log_probabilities

EVERY = {
    "rls": SparseRLSClassifier(4),
    "alpha auto": SparseRLSClassifier(4, alpha="auto", validation=4),
    "alpha loo": SparseRLSClassifier(4, alpha="loo"),
    "kernel": SparseKernelRLSClassifier(4),
    "elm-fs": ELMFSClassifier(2, random_state=0),
    "rbf": SparseRBFClassifier(),
    "ls-svm": LSSVMClassifier(),
    "grafting": GraftingClassifierCV(),
}


def two_classes(n=60, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    return X, np.where(X[:, 0] + X[:, 1] + spread * rng.standard_normal(n) > 0, "yes", "no")


@pytest.mark.parametrize("name", EVERY)
def test_probabilities_fit_the_predictions(name):
    X, y = two_classes()
    model = EVERY[name].fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (60, 2)
    assert_allclose(p.sum(1), 1)
    assert (model.classes_[p.argmax(1)] == model.predict(X)).all()
    assert_allclose(np.exp(model.predict_log_proba(X)), p)
    order = np.argsort(model.decision_function(X), kind="stable")
    assert (np.diff(p[order, 1]) >= 0).all()


def scored(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    index = rng.choice(n_classes, n, p=rng.dirichlet(np.full(n_classes, 2.0)))
    scores = 0.7 * rng.standard_normal((n, n_classes)) + rng.standard_normal(n_classes)
    scores[np.arange(n), index] += rng.uniform(-0.5, 3.0)
    return scores * 10 ** rng.uniform(-1, 1), index, rng.choice([0.0, 1.0, 2.5], n)


def as_given(scores):
    """Of two classes one column, the second against the first."""
    return scores[:, 1:] - scores[:, :1] if scores.shape[1] == 2 else scores


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_slope_and_offsets_are_those_of_least_log_loss(n_classes, seed):
    scores, index, weights = scored(40, n_classes, seed)
    given = as_given(scores)
    [made] = calibrations(given[None], index, weights[None], n_classes)
    bounds = (FLATTEST, STEEPEST)
    theta, loss = slow.calibration(
        scores.tolist(), index.tolist(), weights.tolist(), n_classes, bounds
    )
    [offsets], [slope] = made.offsets * made.slopes[:, None], made.slopes
    if n_classes > 2:
        assert_allclose(offsets.sum(), 0, atol=1e-9 * max(1, np.abs(offsets).max()))
        offsets = offsets[1:] - offsets[0]
    assert loss([slope, *offsets]) <= loss(theta) + 1e-12
    assert_allclose([slope, *offsets], theta, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("repeats", [1, 2])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_part_has_the_calibration_of_the_others(n_classes, repeats):
    n, folds, rng = 30, 7, np.random.default_rng(3)  # more parts than blocks
    index = np.arange(n) % n_classes
    parts, assignments = [], []
    for _ in range(repeats):
        scores, order = scored(n, n_classes, 1)[0] + 0.3 * rng.random(), rng.permutation(n)
        scores = as_given(scores + 0.1 * rng.standard_normal(scores.shape))
        assignments.append([order[i::folds] for i in range(folds)])
        parts += [(test, {2: scores[test]}) for test in assignments[-1]]
    found = cross_fitted(parts, index, np.ones(n), n_classes, repeats)
    for i, one in enumerate(found.of_parts):
        first = i // folds * folds
        block = [parts[j] for j in range(first + (i - first) % MOST_BLOCKS, first + folds, 5)]
        out = np.concatenate([test for test, _ in block])
        rest = [part for part in parts[first : first + folds] if not np.isin(part[0], out).any()]
        rows = np.concatenate([test for test, _ in rest])
        scores = np.concatenate([outputs[2] for _, outputs in rest])
        [alone] = calibrations(scores[None], index[rows], np.ones((1, len(rows))), n_classes)
        assert_allclose(one.slopes, alone.slopes, rtol=1e-6)
        assert_allclose(one.offsets, alone.offsets, rtol=1e-5, atol=1e-7)


def test_kernel_models_use_the_slope_of_their_number_of_centres():
    X, y = two_classes()
    model = SparseKernelRLSClassifier(6, validation=5).fit(X, y)
    slope = model._slopes[len(model.centres_)]
    assert slope != model._slopes[0]
    raw = SparseKernelRLSClassifier(6, validation=None).fit(X, y).at_size(len(model.centres_))
    offset = model._offsets[len(model.centres_)]
    assert_allclose(model.decision_function(X), raw.decision_function(X) + offset, atol=1e-12)
    assert_allclose(model.predict_proba(X)[:, 1], expit(slope * model.decision_function(X)))


def test_calibrations_of_separated_and_of_useless_scores_are_finite():
    index = np.repeat([0, 1], [30, 10])
    apart = np.where(index == 1, 1.0, -1.0)[:, None]
    for scores, wanted in ((apart, None), (-apart, FLATTEST), (0 * apart + 0.3, USUAL_SLOPE)):
        [made] = calibrations(scores[None], index, np.ones((1, 40)), 2)
        p = np.exp(made.logs({1: scores})[0])[:, 1]
        if wanted is None:
            # Platt's targets, but for the weak pull on the slope.
            assert_allclose(p, np.where(index == 1, 11 / 12, 1 / 32), rtol=0.02)
        else:
            assert_allclose(made.slopes, wanted, rtol=1e-3)
            assert_allclose(p, 0.25, atol=0.03)


@pytest.mark.parametrize("loss", ["squared", "zero_one"])
@pytest.mark.parametrize("cuts", [[0.8], [-0.5, 0.8]])
def test_honest_figures_are_those_of_samples_left_out(loss, cuts):
    """Of refits, with probabilities by the other parts of all that they leave out."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 4))
    index = np.digitize(X[:, 0] - X[:, 1] + rng.standard_normal(60), cuts)
    n_classes, folds = len(cuts) + 1, list(KFold(5).split(X))
    model = SparseRLSClassifier(3, alpha=1.0, loss=loss, choose=2, validation=folds).fit(X, index)
    scores = np.zeros((60, n_classes))
    for train, test in folds:
        part = SparseRLSClassifier(3, alpha=1.0, loss=loss, choose=2, validation=None)
        part.fit(X[train], index[train])
        of = part.decision_function(X[test])
        scores[test, -of.ndim % 2 if of.ndim == 1 else slice(None)] = of
    parts = [test for _, test in folds]
    bounds = (FLATTEST, STEEPEST)
    p = slow.decided(scores.tolist(), index.tolist(), [1.0] * 60, parts, n_classes, bounds)
    brier = (
        np.mean((p[:, 1] - index) ** 2)
        if n_classes == 2
        else np.mean(np.square(p - np.eye(n_classes)[index]).sum(1))
    )
    expected = {
        "log_loss": log_loss(index, p),
        "brier": brier,
        "balanced_error": 1 - balanced_accuracy_score(index, p.argmax(1)),
        "error_rate": np.mean(index != p.argmax(1)),
    }
    figures = model.honest_.figures
    assert_allclose([figures[name] for name in expected], [*expected.values()], rtol=1e-4)
    if loss == "zero_one":
        assert_allclose(model.honest_.error, expected["error_rate"])
    table = np.array(model.honest_.confusion)
    assert_allclose(table, confusion_matrix(index, p.argmax(1)))
    if n_classes == 2:
        bins = np.array(model.honest_.reliability)
        place = np.minimum((10 * p[:, 1]).astype(int), 9)
        for b in range(10):
            here = place == b
            told = [p[here, 1].mean(), index[here].mean()] if here.any() else [0, 0]
            assert_allclose(bins[b], [*told, here.sum()], rtol=1e-4)
    else:
        assert model.honest_.reliability is None


def rare(n, seed, cut):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    return X, (X[:, 1] + X[:, 4] + rng.standard_normal(n) > cut).astype(int)


@pytest.mark.validated
@pytest.mark.parametrize(
    "kind", [SparseRLSClassifier(alpha=1.0), ELMFSClassifier(4, random_state=0)]
)
def test_probabilities_of_a_rare_class_are_as_frequent_as_it_is(kind):
    X, y = rare(600, 0, 2.1)
    new, truth = rare(20_000, 1, 2.1)
    model = clone(kind).fit(X, y)
    p = model.predict_proba(new)
    assert 0.1 < truth.mean() < 0.13
    assert p[:, 1].mean() == pytest.approx(truth.mean(), abs=0.02)
    slope = model._slopes[len(model.selected_)]
    without = model._scores(new) - model._offsets[len(model.selected_)]
    before = log_loss(truth, np.exp(log_probabilities(without, slope)))
    assert log_loss(truth, p) < before - 0.005
    assert_array_equal(model.predict(new), p.argmax(1))
    assert_array_equal(model.predict(new), (model.decision_function(new) > 0).astype(int))
    assert np.mean(model.predict(new) != truth) == pytest.approx(
        model.honest_.figures["error_rate"], abs=0.02
    )


@pytest.mark.validated
def test_class_weights_hold_for_probabilities_too():
    X, y = rare(600, 0, 2.1)
    p = SparseRLSClassifier(class_weight="balanced").fit(X, y).predict_proba(X)[:, 1]
    assert p[y == 1].mean() + p[y == 0].mean() == pytest.approx(1.0, abs=0.05)


@pytest.mark.validated
def test_strong_penalties_do_not_favour_the_larger_class():
    """Scores are then nearly the mean of the targets."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 300)), np.arange(60) % 3 == 0
    X[:, :5] += 1.5 * y[:, None]
    model = SparseRLSClassifier(alpha=3e3, choose=8).fit(X, y)
    assert 0.2 < (model._scores(X) > 0).mean() < 0.5
    assert (model._scores(X) - model._offsets[8] > 0).mean() == 0
    assert model.honest_.figures["error_rate"] < 0.2


@pytest.mark.validated
def test_models_files_and_tables_have_the_offset(tmp_path):
    X, y = rare(300, 0, 2.0)
    table = pd.DataFrame(X, columns=list("abcdef"))
    for model in (
        SparseRLSClassifier(3, alpha=1.0),
        TableSelector(SparseRLSClassifier(3, alpha=1.0)),
    ):
        model.fit(table, y)
        size = len(model.selected_)
        assert abs(model._offsets[size][0]) > 0.1
        scores = model.decision_function(table)
        model.save_model(tmp_path / "m.json")
        again = load_model(tmp_path / "m.json")
        assert_allclose(again.decision_function(table), scores)
        assert_array_equal(again.predict(table), model.predict(table))
        assert_allclose(again.predict_proba(table), model.predict_proba(table))
        assert_allclose(model.models_[size].predict(X)[:, 0], scores)


@pytest.mark.validated
def test_a_class_that_is_never_predicted_is_said():
    X, y = rare(400, 0, 3.0)
    X = np.column_stack([X[:, :3], X[:, 1] + 3 * X[:, 0]])
    with pytest.warns(
        PathWarning, match=r"never predicts class 1 \(.* % of the rows\)\. Use class"
    ):
        SparseRLSClassifier(choose=2).fit(X, y)


@pytest.mark.validated
def test_wide_data_have_probabilities_that_are_not_too_sure():
    rng = np.random.default_rng(0)
    X, T = rng.standard_normal((60, 400)), rng.standard_normal((2000, 400))
    y, t = ((A[:, 0] + rng.standard_normal(len(A)) > 0).astype(int) for A in (X, T))
    model = SparseRLSClassifier(20, choose=20, alpha=1.0).fit(X, y)
    calibrated = log_loss(t, model.predict_proba(T))
    assert calibrated < log_loss(t, np.exp(log_probabilities(model._scores(T), USUAL_SLOPE)))
    assert calibrated < 0.75


@pytest.mark.validated
def test_a_fit_without_validation_forgets_the_slopes_of_another():
    X, y = two_classes()
    model = SparseRLSClassifier(3, alpha=1.0).fit(X, y)
    before = model.predict_proba(X)
    model.set_params(validation=None, choose=len(model.selected_)).fit(X, y)
    plain = np.exp(log_probabilities(model._scores(X), USUAL_SLOPE))
    assert_allclose(model.predict_proba(X), plain)
    assert not np.allclose(before, plain)


@pytest.mark.validated
def test_tables_have_the_slopes_of_their_own_validation():
    X, y = two_classes()
    table = pd.DataFrame(X, columns=list("abcde"))
    model = TableSelector(SparseRLSClassifier(3)).fit(table, y)
    slope = model._slopes[len(model.selected_)]
    scores = model.decision_function(table)
    assert_allclose(model.predict_proba(table)[:, 1], 1 / (1 + np.exp(-slope * scores)))
    assert_allclose(np.exp(model.predict_log_proba(table)), model.predict_proba(table))
