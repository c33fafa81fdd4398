"""Classification with ``alpha="auto"``: logistic models of the columns that a search selects."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_iris

from slow_twins.logistic import fitted_outputs as minimum
from sparsepath import SparseRLSClassifier
from sparsepath.assessment.folds import parts_of
from sparsepath.assessment.out_of_sample import held_out_losses
from sparsepath.data.classes import encode_targets, log_probabilities
from sparsepath.models.saved import load_model
from sparsepath.rls.logistic_refits import LogisticRefits, fitted_sizes
from sparsepath.rls.penalties import CLASS_REFITS, CLASS_SEARCHES, PLAIN

NESTED = {0: (), 1: (3,), 2: (3, 0), 4: (3, 0, 1, 2)}
OTHERS = {0: (), 1: (3,), 2: (0, 1), 4: (2, 3, 1, 0)}


def problem(n=60, n_classes=2, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * [1, 2, 0.1, 5, 1][:p] + 4
    centres = rng.standard_normal((n_classes, p)) * [1, 2, 0.1, 5, 1][:p]
    codes = np.arange(n) % n_classes
    return X + 0.8 * centres[codes], codes


def centred(outputs):
    return outputs - outputs.mean(-1, keepdims=True) if outputs.shape[-1] > 1 else outputs


@pytest.mark.parametrize("subsets", [NESTED, OTHERS], ids=["nested", "not nested"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("fit_intercept", "standardize"), [(True, True), (False, True), (True, False)]
)
def test_refits_minimise_the_penalised_log_loss(subsets, n_classes, fit_intercept, standardize):
    X, codes = problem(n_classes=n_classes)
    weights = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    Y, alphas = encode_targets(codes, n_classes), [20.0, 0.3]
    options = {"fit_intercept": fit_intercept, "standardize": standardize}
    for data in (X, sparse.csr_matrix(X)):
        refits = LogisticRefits(data, Y, weights, **options)
        out = refits.outputs(subsets, alphas, data)
        for i, alpha in enumerate(alphas):
            models = refits.models(subsets, alpha)
            for size, columns in subsets.items():
                slow = minimum(X, codes, n_classes, weights, columns, alpha, **options)
                coef, intercept = models[size]
                fitted = X[:, list(columns)] @ coef + intercept
                assert_allclose(centred(fitted), centred(slow), atol=2e-4)
                assert_allclose(centred(out[size][i]), centred(fitted), rtol=2e-3, atol=1e-3)


def test_a_strong_penalty_leaves_the_shares_of_the_classes():
    X, codes = problem(90)
    codes = (np.arange(90) % 10 == 0).astype(int)
    refits = LogisticRefits(
        X, encode_targets(codes, 2), np.ones(90), fit_intercept=True, standardize=True
    )
    [out] = refits.outputs({3: (0, 1, 2)}, [1e4], X)[3]
    chances = 1 / (1 + np.exp(-out[:, 0]))
    assert_allclose(chances.mean(), 0.1, rtol=1e-4)
    assert np.ptp(chances) < 0.01


def test_separated_classes_and_a_class_without_samples_have_finite_outputs():
    X, codes = problem(60, 3)
    X[:, 0] += 100 * codes
    for rows in (slice(None), codes < 2):
        Y = encode_targets(codes, 3)[rows]
        refits = LogisticRefits(X[rows], Y, np.ones(len(Y)), fit_intercept=True, standardize=True)
        out = refits.outputs(NESTED, [1e-3], X)
        assert all(np.isfinite(each).all() for each in out.values())
        assert (out[4][0].argmax(1)[rows] == codes[rows]).all()


def test_equal_columns_share_their_coefficient():
    X, codes = problem()
    X[:, 1] = X[:, 0]
    models = LogisticRefits(
        X, encode_targets(codes, 2), np.ones(len(X)), fit_intercept=True, standardize=True
    ).models({2: (0, 1)}, 0.5)
    assert_allclose(models[2][0][0], models[2][0][1], rtol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_honest_errors_are_those_of_logistic_models_in_every_part(n_classes):
    X, codes = problem(40, n_classes)
    parts = parts_of(4, X, codes, classes=True)
    found = held_out_losses(SparseRLSClassifier(3, alpha="auto", validation=5), X, codes, parts)
    assert found.metric == "log loss"
    every = {each.way: each for each in (found, *found.others)}
    n = len(X)
    assert set(every) == {(n * s, n * r) for s in CLASS_SEARCHES for r in CLASS_REFITS}
    for way, each in every.items():
        alone = held_out_losses(SparseRLSClassifier(3, alpha=way.search), X, codes, parts)
        assert alone.subsets == each.subsets
        for (train, test), subsets in zip(parts.splits, each.subsets, strict=True):
            refits = LogisticRefits(
                X[train],
                encode_targets(codes[train], n_classes),
                np.ones(len(train)),
                fit_intercept=True,
                standardize=True,
            )
            for k, (size, columns) in enumerate(subsets.items()):
                coef, intercept = refits.models({size: columns}, way.refit)[size]
                logs = log_probabilities(X[test][:, list(columns)] @ coef + intercept)
                losses = -logs[np.arange(len(test)), codes[test]]
                assert_allclose(each.losses[test, k], losses, rtol=1e-3, atol=1e-4)


@pytest.mark.validated
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_model_is_the_logistic_one_of_the_chosen_columns(n_classes, tmp_path):
    X, codes = problem(80, n_classes)
    labels = np.array(["a", "b", "c"])[codes]
    model = SparseRLSClassifier(alpha="auto", validation=5).fit(X, labels)
    assert model.alpha_ == PLAIN  # sixteen samples per column: one search
    assert model.refit_alpha_ in [80 * r for r in CLASS_REFITS]
    columns = model.path_.subset(len(model.selected_))
    weights = np.ones(80)
    slow = minimum(X, codes, n_classes, weights, columns, model.refit_alpha_, True, True)
    logs = model.predict_log_proba(X)
    assert_allclose(logs, log_probabilities(slow), atol=1e-3)
    assert_allclose(model.predict_proba(X).sum(1), 1.0)
    assert (model.predict(X) == model.classes_[logs.argmax(1)]).all()
    model.save_model(tmp_path / "model.json")
    assert_allclose(
        load_model(tmp_path / "model.json").predict_proba(X), model.predict_proba(X), rtol=1e-9
    )
    smaller = model.at_size(1)
    assert_allclose(
        smaller.predict_log_proba(X),
        log_probabilities(
            minimum(
                X, codes, n_classes, weights, model.path_.subset(1), model.refit_alpha_, True, True
            )
        ),
        atol=1e-3,
    )


@pytest.mark.validated
def test_honest_figures_are_of_these_probabilities():
    X, codes = problem(80)
    model = SparseRLSClassifier(alpha="auto", validation=5, choose=2).fit(X, codes)
    found = held_out_losses(
        SparseRLSClassifier(alpha="auto", validation=5),
        X,
        codes,
        5,
        choose=2,
        sizes=model.path_.sizes,
    )
    k = found.sizes.index(2)
    assert_allclose(model.path_.step(2).honest_error, found.losses[:, k].mean())
    assert_allclose(found.figures.at(k)["log_loss"], found.losses[:, k].mean())
    assert model.honest_.measure == "log loss"
    assert model.honest_.figures["log_loss"] == model.honest_.error


@pytest.mark.validated
def test_a_loss_that_counts_classes_alike_moves_the_probabilities():
    X, codes = problem(120)
    rare = (codes == 1) & (np.arange(120) % 4 == 1)
    keep = rare | (codes == 0)
    X, y = X[keep], codes[keep]
    plain, alike = (
        SparseRLSClassifier(alpha="auto", loss=loss, choose=2).fit(X, y)
        for loss in ("zero_one", "balanced")
    )
    assert plain.honest_.measure == "error rate"
    assert alike.honest_.measure == "balanced error rate"
    assert_allclose(plain.predict_proba(X)[:, 1].mean(), y.mean(), rtol=1e-3)
    of_class = [alike.predict_proba(X)[y == c, 1].mean() for c in (0, 1)]
    assert_allclose(np.mean(of_class), 0.5, rtol=1e-3)


@pytest.mark.validated
def test_the_path_of_another_penalty_has_the_models_of_the_search():
    X, codes = problem(40)
    model = SparseRLSClassifier(3, alpha="auto").fit(X, codes)
    [other] = set(model.paths_) - {model.alpha_}
    scores = model.at_size(2, alpha=other).decision_function(X)
    alone = SparseRLSClassifier(3, alpha=other, validation=None, choose=2).fit(X, codes)
    assert_allclose(scores, alone.decision_function(X))
    assert_allclose(model.at_size(2, alpha=other).predict_proba(X), alone.predict_proba(X))


def test_a_given_size_is_fitted_in_the_parts_too():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    X = np.hstack([X, rng.standard_normal((150, 26))])
    assert 13 not in fitted_sizes(range(31))
    chosen, usual = (
        held_out_losses(
            SparseRLSClassifier(alpha="auto", choose=rule, validation=5), X, y, 3, sizes=range(31)
        )
        for rule in (13, "one_se")
    )
    assert (usual.losses[:, 13] == usual.losses[:, 12]).all()
    assert (chosen.losses[:, 13] != chosen.losses[:, 12]).any()
