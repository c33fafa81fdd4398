"""Ctrl-C keeps what is done, and what is told says how much that is. Every signal is a real one."""

import signal

import numpy as np
import pytest

from sparsepath import (
    GraftingClassifier,
    LarsSelector,
    PathWarning,
    SparseRLSRegressor,
    honest_error,
    permutation_null,
    stability,
)
from sparsepath.assessment.folds import parts_of
from sparsepath.assessment.out_of_sample import held_out_losses

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 8))
y = X[:, 0] + X[:, 1] + rng.standard_normal(60)
WIDE = rng.standard_normal((70, 1000))  # greedy RLS searches several parts at once
LOUD = WIDE[:, 0] + rng.standard_normal(70)


@pytest.fixture(autouse=True)
def _python_hears_signals():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def after(done):
    """A callback that presses Ctrl-C when so many are done."""

    def press(so_far, of):
        if so_far == done:
            signal.raise_signal(signal.SIGINT)

    return press


@pytest.mark.parametrize(
    ("model", "data", "target"),
    [
        (SparseRLSRegressor(3, alpha=1.0), X, y),
        (SparseRLSRegressor(3, alpha=1.0), WIDE, LOUD),
        (LarsSelector(3), X, y),
        (GraftingClassifier(), X, (y > 0).astype(int)),
    ],
)
def test_a_fit_tells_the_error_of_the_folds_that_are_done(model, data, target):
    seen = []

    def press(path):
        seen.append(path)
        if path.complete and sum(one.complete for one in seen) == 5:  # the fifth fold begins
            signal.raise_signal(signal.SIGINT)

    model = model.set_params(callback=press, validation=10)
    with pytest.warns(
        PathWarning, match=r"use only the completed parts \(10-fold, 4 of 10 parts\)"
    ):
        model.fit(data, target)
    model.set_params(callback=None)
    classes = isinstance(model, GraftingClassifier)
    splits = parts_of(10, data, target, classes=classes).splits
    expected = held_out_losses(model, data, target, splits[:4], sizes=model.path_.sizes)
    np.testing.assert_allclose(model.path_.honest_errors, expected.errors)
    np.testing.assert_allclose(model.path_.honest_errors_se, expected.errors_se)
    record = model.honest_
    assert model.path_.complete
    assert (record.size, record.whole) == (len(model.selected_), False)
    assert model.path_.validation == record.validation == "10-fold, 4 of 10 parts"
    assert record.sentence().endswith(
        "from the completed parts of the validation, 10-fold, 4 of 10 parts."
    )
    assert "4 of 10 parts" in repr(model.path_)
    assert model.at_size(model.path_.sizes[-1]).honest_.sentence().endswith("4 of 10 parts.")


@pytest.mark.parametrize("done", [0, 1])
def test_one_fold_is_no_error(done):
    model = SparseRLSRegressor(3, validation=10)
    with pytest.raises(KeyboardInterrupt):
        honest_error(model, X, y, callback=after(done))
    folds = []

    def press(path):
        folds.append(path.complete)
        if sum(folds) == done + 1:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(PathWarning, match="interrupted: there is no honest error"):
        model.set_params(callback=press).fit(X, y)
    assert model.honest_ is None
    assert model.path_.complete


def test_an_honest_error_by_parts_and_the_null_that_it_came_to():
    with pytest.warns(PathWarning, match="10-fold, 10 times, 3 of 100 parts"):
        found = honest_error(SparseRLSRegressor(3), X, y, null=30, callback=after(3))
    assert (found.chosen.whole, found.null) == (False, None)
    splits = parts_of(10, X, y).splits
    np.testing.assert_allclose(
        found.errors, held_out_losses(SparseRLSRegressor(3), X, y, splits[:3]).errors
    )
    calls = []

    def in_the_null(done, of):
        calls.append(of)
        if calls.count(30) == 8:  # seven shuffles are done
            signal.raise_signal(signal.SIGINT)

    found = honest_error(SparseRLSRegressor(3), X, y, null=30, callback=in_the_null)
    assert found.chosen.whole
    assert len(found.null.null_errors) == 7
    assert found.chosen.size > 0, "seven shuffles cannot say that nothing is here"
    assert not found.is_nothing
    assert "At least 19 shuffles are needed" in found.sentence()


@pytest.mark.parametrize(("data", "target"), [(X, y), (WIDE, LOUD)])
def test_shuffles_and_halves(data, target):
    model = SparseRLSRegressor(2, n_threads=1)
    null = permutation_null(model, data, target, 30, callback=after(5))
    whole = permutation_null(model, data, target, 30)
    np.testing.assert_array_equal(null.null_errors, whole.null_errors[:5])
    assert "shuffled 5 times" in null.sentence()
    halves = stability(model, data, target, 20, callback=after(6))
    assert halves.n_runs == 6
    assert "Over 6 random halves" in halves.sentence()
