"""Error rate and AUC on samples left out, against plain refits."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold

from slow_twins import judging as twin
from sparsepath import GraftingClassifier, SparseRLSClassifier, SparseRLSRegressor
from sparsepath.assessment import correction
from sparsepath.assessment.calibration import FLATTEST, STEEPEST
from sparsepath.assessment.honest import honest_error

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
SCORE = X[:, 0] - X[:, 1] + 0.7 * RNG.standard_normal(60)
W = RNG.choice([0.0, 1.0, 3.0], 60)


@pytest.mark.parametrize("kind", [SparseRLSClassifier, GraftingClassifier])
@pytest.mark.parametrize("weights", [None, W])
@pytest.mark.parametrize("cuts", [[0.3], [-0.5, 0.8]])
def test_figures_are_those_of_refits(kind, weights, cuts):
    y = np.array(["low", "mid", "top"])[np.digitize(SCORE, cuts)]
    options = {"alpha": 1.0} if kind is SparseRLSClassifier else {"l1": 0.02}
    model = kind(**options, validation=None)
    given = {} if weights is None else {"sample_weight": weights}
    folds = KFold(4)
    found = honest_error(model, X, y, validation=folds, choose=2, **given)
    wrong, areas = np.zeros(60), []
    w = np.ones(60) if weights is None else weights
    for train, test in folds.split(X):
        more = {} if weights is None else {"sample_weight": weights[train]}
        part = clone(model).fit(X[train], y[train], **more)
        part = part.at_size(max(k for k in part.path_.sizes if k <= 2))
        wrong[test] = part.predict(X[test]) != y[test]
        if len(cuts) == 1:
            area = roc_auc_score(y[test] == part.classes_[1], part.decision_function(X[test]))
            areas.append((area, w[test].sum()))
    expected = {"error_rate": np.average(wrong, weights=w)}
    if areas:
        expected["auc"] = np.average(*np.transpose(areas)[:1], weights=np.transpose(areas)[1])
    figures = found.chosen.figures
    assert {name: figures[name] for name in expected} == pytest.approx(expected)
    assert ("auc" in figures) == ("auc" in expected)
    assert 0 < expected["error_rate"] < 1


def test_numbers_have_none():
    model = SparseRLSRegressor(validation=3).fit(X, SCORE)
    assert model.honest_.figures == {}
    assert SparseRLSClassifier(validation=3).fit(X, SCORE > 0).honest_.figures.keys() == {
        "error_rate",
        "balanced_error",
        "log_loss",
        "brier",
        "auc",
    }


def noisy(seed, n=40):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    return X, (X[:, 0] + X[:, 1] + 2 * rng.standard_normal(n) > 0).astype(int)


def test_figures_are_corrected_for_the_choice_like_the_error():
    """By the same choices in the same draws, sample by sample and pair by pair."""
    X, y = noisy(1)
    n, folds = len(y), list(KFold(4).split(X))
    model = SparseRLSClassifier(alpha=1.0, validation=folds, choose="min").fit(X, y)
    scores = np.zeros((n, 7))
    for train, test in folds:
        part = SparseRLSClassifier(alpha=1.0, validation=None).fit(X[train], y[train])
        for k in range(7):
            scores[test, k] = part.at_size(k).decision_function(X[test])
    losses = (np.where(y == 1, 1, -1)[:, None] - scores) ** 2
    parts, shares = [test for _, test in folds], np.zeros((n, 7))
    for j in range(7):
        both = [[0.0, s] for s in scores[:, j]]
        made = twin.decided(both, y.tolist(), [1.0] * n, parts, 2, (FLATTEST, STEEPEST))
        shares[:, j] = made[:, 1]
    mistakes = ((shares > 0.5) != (y == 1)[:, None]) * 1.0
    rng = np.random.default_rng(correction.SEED)
    counts = rng.multinomial(n, np.full(n, 1 / n), correction.N_DRAWS)
    draws = [np.repeat(np.arange(n), row) for row in counts]

    def choose(some):
        return int(some.mean(0).argmin())

    k = choose(losses)
    assert model.honest_.size == k
    luck = twin.drawn_luck(losses, draws, choose, k, 1.0, mistakes)
    wrong = twin.drawn_disorder(losses, draws, choose, k, parts, scores, y)
    assert luck > 0.005
    assert wrong > 0.005
    areas = [roc_auc_score(y[test], scores[test, k]) for test in parts]
    figures = model.honest_.figures
    assert figures["error_rate"] == pytest.approx(mistakes[:, k].mean() + luck)
    assert figures["auc"] == pytest.approx(np.mean(areas) - wrong)
    logs = -np.log(np.where((y == 1)[:, None], shares, 1 - shares))
    luck = twin.drawn_luck(losses, draws, choose, k, logs[:, 0].mean(), logs)
    assert figures["log_loss"] == pytest.approx(logs[:, k].mean() + luck, rel=1e-4)


@pytest.mark.parametrize(("loss", "figure"), [("zero_one", "error_rate"), ("auc", "auc")])
def test_one_record_has_one_rate(loss, figure):
    X, y = noisy(2)
    record = SparseRLSClassifier(loss=loss, validation=5).fit(X, y).honest_
    error = record.error if loss == "zero_one" else 1 - record.error
    assert record.figures[figure] == error


def test_rates_are_not_too_good():
    """Of noise, whose true rate is a half whatever is chosen; the least rate is far below."""
    rates = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((40, 8)), np.arange(40) % 2
        options = {"loss": "zero_one", "choose": "min", "validation": 5}
        model = SparseRLSClassifier(**options).fit(X, y)
        figures = model.honest_.figures
        rates.append((model.path_.honest_errors.min(), figures["error_rate"]))
    least, corrected = np.mean(rates, axis=0)
    assert least < 0.45
    assert corrected > least + 0.03


def test_every_size_has_its_figures():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=120) > 0, "yes", "no")
    model = SparseRLSClassifier(alpha=1.0, validation=KFold(4)).fit(X, y)
    chosen = len(model.selected_)
    assert model.at_size(chosen).honest_ == model.honest_
    other = 4 if chosen == 3 else 3
    record = model.at_size(other).honest_
    scores = np.empty(120)
    for train, test in KFold(4).split(X):
        part = SparseRLSClassifier(validation=None).fit(X[train], y[train]).at_size(other)
        scores[test] = part.decision_function(X[test])
    both, codes = np.column_stack([0 * scores, scores]).tolist(), (y == "yes").astype(int).tolist()
    parts = [test for _, test in KFold(4).split(X)]
    p = twin.decided(both, codes, [1.0] * 120, parts, 2, (FLATTEST, STEEPEST))
    predicted = np.array(["no", "yes"])[p.argmax(1)]
    table = [[np.sum((y == a) & (predicted == b)) for b in ("no", "yes")] for a in ("no", "yes")]
    assert record.figures["error_rate"] == pytest.approx(np.mean(predicted != y))
    assert np.array_equal(record.confusion, table)
    assert record.sentence().startswith("Error rate")
    assert model.at_size(other).at_size(chosen).honest_.confusion == model.honest_.confusion
