"""Decision thresholds: the best of all cuts, judged by parts that did not choose them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsepath import GraftingClassifier, InputError, SparseRLSClassifier, load_model
from sparsepath.assessment.calibration import CrossFittedCalibration
from sparsepath.assessment.thresholds import best_threshold, rule_of, thresholds


def worth(scores, index, weights, rule, t):
    """By a loop over the samples."""
    counts = np.zeros((2, 2))
    for score, true, weight in zip(scores, index, weights, strict=True):
        counts[true, int(score > t)] += weight
    if isinstance(rule, str) and rule == "f1":
        return 2 * counts[1, 1] / (2 * counts[1, 1] + counts[0, 1] + counts[1, 0])
    if isinstance(rule, str):
        return -(counts[0, 1] / counts[0].sum() + counts[1, 0] / counts[1].sum()) / 2
    return -(counts * rule).sum()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(2, 25),
    st.sampled_from(["balanced", "f1", np.array([[0.0, 1.0], [5.0, 0.0]])]),
    st.booleans(),
)
def test_no_cut_is_better(seed, n, rule, ties):
    rng = np.random.default_rng(seed)
    index = np.append(rng.integers(0, 2, n), [0, 1])
    scores = rng.standard_normal(n + 2) + index
    scores = np.round(scores) if ties else scores
    weights = rng.uniform(0.5, 2.0, n + 2)
    t = best_threshold(scores, index, weights, rule)
    values = np.unique(scores)
    cuts = [values[0] - 1, *((values[1:] + values[:-1]) / 2), values[-1] + 1]
    best = max(worth(scores, index, weights, rule, cut) for cut in cuts)
    assert worth(scores, index, weights, rule, t) == pytest.approx(best, abs=1e-9)


def test_every_part_is_judged_by_the_threshold_of_the_others():
    rng = np.random.default_rng(1)
    index = rng.integers(0, 2, 30)
    scores = (rng.standard_normal(30) + index)[:, None]
    rows = np.arange(30)
    parts = [(rows[k::3], {2: scores[k::3]}) for k in range(3)]
    own, moved = thresholds(
        parts, index, np.ones(30), "balanced", CrossFittedCalibration.none(parts)
    )
    assert own[0] == best_threshold(scores[:, 0], index, np.ones(30), "balanced")
    for k, (test, outputs) in enumerate(moved):
        away = np.setdiff1d(rows, test)
        t = best_threshold(scores[away, 0], index[away], np.ones(20), "balanced")
        np.testing.assert_allclose(outputs[2], scores[k::3] - t)


def rare(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    return X, np.where(X[:, 1] + X[:, 4] + rng.standard_normal(n) > 2.4, "yes", "no")


@pytest.mark.parametrize("kind", [SparseRLSClassifier, GraftingClassifier])
def test_a_rare_class_is_found_and_the_balanced_error_holds(kind, tmp_path):
    X, y = rare(1500, 0)
    model = kind(threshold="balanced", validation=10).fit(X, y)
    new, truth = rare(20_000, 1)
    found = model.predict(new)
    rates = [np.mean(found[truth == label] != label) for label in ("no", "yes")]
    assert model.honest_.figures["balanced_error"] == pytest.approx(np.mean(rates), abs=0.04)
    assert model.honest_.figures["balanced_error"] < 0.25
    plain = kind(validation=10).fit(X, y)
    assert plain.honest_.figures["balanced_error"] > 0.3
    np.testing.assert_array_equal(model.decision_function(new), plain.decision_function(new))
    model.save_model(tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(new), found)
    np.testing.assert_allclose(again.predict_proba(new), model.predict_proba(new), rtol=1e-12)


def test_a_number_is_a_probability():
    X, y = rare(600, 0)
    model = SparseRLSClassifier(threshold=0.2, validation=5).fit(X, y)
    np.testing.assert_array_equal(model.predict(X) == "yes", model.predict_proba(X)[:, 1] > 0.2)


def test_what_is_no_threshold_is_refused():
    for wrong in ("gini", 0.0, 1.5, [[0, 1]], [[0, -1], [1, 0]]):
        with pytest.raises(InputError, match="threshold="):
            rule_of(wrong)
    X = np.random.default_rng(0).standard_normal((30, 2))
    with pytest.raises(InputError, match="two classes"):
        SparseRLSClassifier(threshold="f1").fit(X, np.arange(30) % 3)
