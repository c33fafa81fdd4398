"""The search from coarse to fine budgets: against plain loops and known inputs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold

from sparsepath.rbf import SparseRBFRegressorCV
from sparsepath.rbf.elimination import CoarseToFine, importances, quick_fit
from sparsepath.rbf.grid import Grid, GridData, Scale
from sparsepath.rbf.model import RBFOptions, Trainer


def problem(n, d, seed, weighted=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 10.0, d) + rng.normal(size=d)
    Z = (X - X.mean(0)) / X.std(0)
    y = 3.0 + 2.0 * (np.sin(2.0 * Z[:, 0]) + Z[:, 1] ** 2) + 0.2 * rng.normal(size=n)
    return X, y, rng.uniform(0.5, 2.0, n) if weighted else None


def outputs(fit, X):
    """What a network puts out, one sample and one centre at a time."""
    scaling, solution = fit.trainer.scaling, fit.solution
    found = []
    for x in X:
        total = solution.alpha[0]
        for a, c in zip(solution.alpha[1:], fit.trainer.centres, strict=True):
            far = 0.0
            for w, i in zip(solution.w, fit.trainer.inputs, strict=True):
                far += w * ((x[i] - c[i]) / scaling.scale[i]) ** 2
            total += a * np.exp(-far)
        found.append(scaling.y_mean + scaling.y_scale * total)
    return np.array(found)


@given(st.integers(0, 100), st.booleans())
def test_importances_are_what_shuffling_adds(seed, weighted):
    X, y, weights = problem(24, 4, seed, weighted)
    data = GridData(X, y, weights, RBFOptions(random_state=seed))
    split, columns = (np.arange(16), np.arange(16, 24)), np.array([0, 1, 3])
    fit = quick_fit(data, split, columns, (20.0, 0.5))
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(8) for _ in range(3)]
    test, of = X[16:][:, columns], None if weights is None else weights[16:]

    def error(rows):
        return np.average((outputs(fit, rows) - y[16:]) ** 2, weights=of)

    assert fit.fold.error == pytest.approx(error(test), rel=1e-8)
    found = importances(data, split, columns, fit)
    for i in range(3):
        grown = 0.0
        if i in fit.fold.columns:
            for order in orders:
                rows = test.copy()
                rows[:, i] = test[order, i]
                grown += (error(rows) - error(test)) / 3
        assert found[i] == pytest.approx(grown, rel=1e-6, abs=1e-8)


@given(st.integers(0, 100))
def test_a_fit_goes_on_to_where_it_would_have_come_from_the_start(seed):
    X, y, _ = problem(30, 3, seed)
    trainer = Trainer.placed((X, y, None), np.arange(30), 20.0, 0.5, RBFOptions())
    at_once, on = trainer.run(), trainer.at(20.0, 0.5).run(start=trainer.quick())
    assert abs(on.solution.J - at_once.solution.J) < 1e-5
    assert on.solution.w.sum() < 0.5
    assert on.solution.s.sum() < 20.0


def test_a_start_with_fewer_inputs_is_within_the_budgets():
    X, y, _ = problem(60, 5, 0)
    data, split = GridData(X, y, None, RBFOptions()), (np.arange(50), np.arange(50, 60))
    whole = quick_fit(data, split, np.arange(5), (20.0, 0.5))
    cold = quick_fit(data, split, np.array([0, 1]), (20.0, 0.5))
    warm = quick_fit(data, split, np.array([0, 1]), (20.0, 0.5), whole)
    assert warm.solution.iterations < cold.solution.iterations
    assert warm.solution.error == pytest.approx(cold.solution.error, rel=0.05)
    assert whole.on(np.array([0, 7]), whole.trainer.samples) is None
    assert whole.on(np.array([0, 1]), whole.trainer.samples[1:]) is None


def test_a_start_has_weights_above_zero_and_within_the_budget():
    X, y, _ = problem(60, 5, 0)
    data, split = GridData(X, y, None, RBFOptions()), (np.arange(50), np.arange(50, 60))
    fit = quick_fit(data, split, np.arange(5), (20.0, 0.5))
    w = fit.solution.w.copy()
    w[[1, 3]] = 0.0  # as of inputs that were not solved for, because there are many
    start = replace(fit, solution=replace(fit.solution, w=w)).on(
        np.array([0, 1, 2]), fit.trainer.samples
    )
    assert (start.w > 0).all()
    assert start.w.sum() == pytest.approx(w[:3].sum())


def test_the_expected_time_grows_with_the_problem():
    model, few = SparseRBFRegressorCV(), np.zeros((300, 30))
    assert 0.3 < model.expected_seconds(few) < 5.0
    assert model.expected_seconds(np.zeros((2000, 30))) > 4 * model.expected_seconds(few)
    listed = SparseRBFRegressorCV(rs=[10.0, 20.0], ts=[0.1] * 3)
    assert listed.expected_seconds(few) > model.expected_seconds(few)


def test_the_coarse_walk_ends_at_a_node_that_no_coarse_neighbour_improves():
    X, y, _ = problem(80, 4, 1)
    data = GridData(X, y, None, RBFOptions())
    rows = np.arange(80)
    splits = [(rows[rows % 2 != k], rows[rows % 2 == k]) for k in range(2)]
    grid = Grid(Scale(np.geomspace(2.0, 200.0, 4), 0), Scale(np.geomspace(0.02, 5.0, 4), 0))
    search = CoarseToFine(data, splits, grid)
    steps = search.search(None)
    while next(steps) != "3 inputs":  # then comes the removal of inputs
        pass
    error = {node: np.mean([fold.error for fold in folds]) for node, folds in search.tried.items()}
    best = min(error, key=error.get)
    for i, j in ((2, 0), (-2, 0), (0, 2), (0, -2)):
        near = best[0] + i, best[1] + j
        if 0 <= near[0] < 4 and 0 <= near[1] < 4:
            each = [quick_fit(data, split, np.arange(4), grid.at(near)) for split in splits]
            assert np.mean([fit.fold.error for fit in each]) > 0.999 * error[best]


@pytest.mark.parametrize("seed", range(2))
def test_useless_inputs_are_left_out_and_small_sizes_are_on_the_path(seed):
    X, y, _ = problem(150, 12, seed)
    model = SparseRBFRegressorCV(validation=None).fit(X, y)
    assert set(model.selected_) == {0, 1}
    assert {0, 1, 2, 3} <= set(model.path_.sizes)


def test_of_many_inputs_a_working_set_is_searched(monkeypatch):
    for module in ("elimination", "narrowing"):
        monkeypatch.setattr(f"sparsepath.rbf.{module}.MANY", 6)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (80, 20))
    y = np.sin(3 * X[:, 4]) + X[:, 13] ** 2 + 0.1 * rng.standard_normal(80)
    model = SparseRBFRegressorCV(3, 3, cv=KFold(2), centres=20, validation=None).fit(X, y)
    assert sorted(model.selected_) == [4, 13]
    assert max(model.path_.sizes) <= 6
    assert model.cv_results_["mean_n_inputs"].max() <= 6
    assert len(model.cv_results_["params"]) > 1
