"""Probabilities of every classifier, their slope, and the figures that go with them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.metrics import balanced_accuracy_score, log_loss

from slow_twins import judging as slow
from sparsepath import (
    ELMFSClassifier,
    GraftingClassifierCV,
    LSSVMClassifier,
    SparseKernelRLSClassifier,
    SparseRBFClassifier,
    SparseRLSClassifier,
    TableSelector,
)
from sparsepath.assessment.calibration import FLATTEST, slope_of
from sparsepath.assessment.out_of_sample import left_out
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


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_slope_is_that_of_least_log_loss(n_classes):
    rng = np.random.default_rng(0)
    index = rng.integers(0, n_classes, 50)
    scores = 0.7 * rng.standard_normal((50, n_classes))
    scores[np.arange(50), index] += 0.5
    whole = scores
    if n_classes == 2:
        scores = scores[:, 1:] - scores[:, :1]
        whole = np.column_stack([0 * scores, scores])
    found = slope_of(scores, index, np.ones(50), n_classes)
    assert_allclose(found, slow.slope(whole.tolist(), index.tolist(), n_classes), rtol=1e-5)


def test_kernel_models_use_the_slope_of_their_number_of_centres():
    X, y = two_classes()
    model = SparseKernelRLSClassifier(6, validation=5).fit(X, y)
    slope = model._slopes[len(model.centres_)]
    assert slope != model._slopes[0]
    assert_allclose(model.predict_proba(X)[:, 1], expit(slope * model.decision_function(X)))


def test_slopes_of_separated_and_of_useless_scores_are_finite():
    index = np.repeat([0, 1], 20)
    apart = np.where(index == 1, 1.0, -1.0)[:, None]
    assert_allclose(slope_of(apart, index, np.ones(40), 2), np.log(21), rtol=1e-6)
    assert slope_of(-apart, index, np.ones(40), 2) == FLATTEST


@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_honest_figures_are_those_of_samples_left_out(spread):
    X, y = two_classes(80, spread=spread)
    found = left_out(SparseRLSClassifier(3, alpha=1.0), X, y, 5, yardstick="zero_one")
    figures, scores = found.figures, np.full((80, 4), np.nan)
    for part in figures.scores:
        scores[part.second], scores[part.first] = part.of_second, part.of_first
    index = (y == "yes").astype(int)
    for k in range(4):
        a = slope_of(scores[:, [k]], index, np.ones(80), 2)
        assert_allclose(figures.slopes[k], a, rtol=1e-8)
        p = np.exp(log_probabilities(scores[:, [k]], a))
        expected = {
            "log_loss": log_loss(y, p),
            "brier": 2 * np.mean((p[:, 1] - index) ** 2),
            "balanced_error": 1 - balanced_accuracy_score(index, scores[:, k] > 0),
            "error_rate": np.mean(index != (scores[:, k] > 0)),
        }
        at = figures.at(k)
        assert_allclose([at[name] for name in expected], [*expected.values()], rtol=1e-10)


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
