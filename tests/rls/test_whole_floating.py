"""Floating searches at once, up to the first removal: as step by step."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from problems import make
from rls.comparing import check_floating, correlated, design_of, judge_of, search, weights_of
from sparsepath.rls import forms
from sparsepath.rls.leave_one_out.carried import columns_of
from sparsepath.rls.leave_one_out.forward import Centred
from sparsepath.rls.leave_one_out.numbers import Noted
from sparsepath.rls.leave_one_out.whole_floating import PathRemovals
from sparsepath.tuning import TUNING


def moves_of(trail):
    return [(move.action, move.feature) for move in trail.moves]


def test_it_goes_on_step_by_step_from_the_first_removal():
    turned = 0
    for seed in range(12):
        case = correlated(seed, m=24, n=10)
        judge, size = judge_of(case), 7
        trail = search(design_of(case.X), case.Y, case.alpha, size, search="floating")
        steps = search(design_of(case.X), case.Y, case.alpha, size, search="floating", form="fused")
        assert moves_of(trail) == moves_of(steps)
        assert trail.stopped == steps.stopped
        check_floating(trail, judge, size)
        turned += any(move.action == "drop" for move in trail.moves)
        short = search(design_of(case.X), case.Y, case.alpha, 2, search="floating")
        if not any(move.action == "drop" for move in trail.moves):
            for k in short.steps:
                assert short.steps[k].error == trail.steps[k].error
                assert_array_equal(short.steps[k].coef, trail.steps[k].coef)
    assert 0 < turned < 12


@pytest.mark.parametrize("tile", [None, 20, 1])
@pytest.mark.parametrize("targets", [1, 3])
def test_models_without_a_feature_are_the_twins(monkeypatch, targets, tile):
    if tile is not None:
        monkeypatch.setattr(TUNING, "tile_numbers", tile)  # all sizes at once, two or one
    case = make("tall", m=30, n=8, T=targets, weighted=True, seed=2)
    design = design_of(case.X, weights_of(case), standardize=False)
    of, subset = Centred.of(design, case.Y), [5, 0, 3, 7, 1]
    noted = Noted(design, of, case.alpha, 6)
    removals = PathRemovals(design, of, case.alpha, noted.basis)
    noted.extend(columns_of(design, subset))
    judge = judge_of(case)
    removals.extend(3)
    removals.extend(5)
    for k in range(1, 6):
        sets = [tuple(i for i in subset[:k] if i != b) for b in subset[:k]]
        expected = np.array([judge.error_of(of) for of in sets])
        assert_allclose(removals.errors_without(k, list(range(k))), expected, rtol=1e-9)
        some = list(range(k - 1, -1, -2))
        assert_allclose(removals.errors_without(k, some), expected[some], rtol=1e-9)
        squares = [float((weights_of(case) @ residuals(case, of) ** 2).sum()) for of in sets[:-1]]
        bounds = removals.least_without(k)
        assert_allclose(bounds, np.array(squares) / design.total, rtol=1e-9)
        assert np.all(bounds <= np.array(squares) / design.total)


def test_bounds_hold_where_next_to_nothing_is_left():
    """Residuals of a billionth of the target, whose squares differ by rounding of the target's."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    Y = X @ np.array([[1.0], [1.0], [1.0], [1e-9], [2e-9], [1e-9]])
    Y += 1e-10 * rng.standard_normal(Y.shape)
    design = design_of(X, standardize=False)
    of, alpha = Centred.of(design, Y), 1e-12
    noted = Noted(design, of, alpha, 6)
    removals = PathRemovals(design, of, alpha, noted.basis)
    noted.extend(columns_of(design, range(6)))
    removals.extend(6)
    for k in range(2, 7):
        bounds = removals.least_without(k)
        assert np.all(bounds <= removals.errors_without(k, list(range(k - 1))))


def test_no_error_of_a_sample_that_is_fitted_by_itself():
    X = np.random.default_rng(0).standard_normal((8, 3))
    X[:, 1] = np.arange(8) == 2
    design = design_of(X, standardize=False, fit_intercept=False)
    of = Centred.of(design, X[:, :1] + X[:, 2:] ** 2)
    noted = Noted(design, of, 0.0, 3)
    removals = PathRemovals(design, of, 0.0, noted.basis)
    noted.extend(columns_of(design, [1, 0, 2]))
    removals.extend(3)
    with np.errstate(all="raise"):
        without = removals.errors_without(3, [0, 1])
    assert np.isfinite(without[0])
    assert without[1] == np.inf


def residuals(case, subset):
    """Those of ridge regression, by normal equations."""
    w, X = weights_of(case), case.X[:, list(subset)]
    X, Y = (of - w @ of / w.sum() for of in (X, case.Y))
    weighted = w[:, None] * X
    return Y - X @ np.linalg.solve(
        weighted.T @ X + case.alpha * np.eye(len(subset)), weighted.T @ Y
    )


@pytest.mark.parametrize("apart", [0.05, 0.3, 1.0])
def test_removals_that_cannot_pay_are_not_judged(monkeypatch, apart):
    """And those that may are: the moves are those of a search that judges all."""
    rng, judged = np.random.default_rng(4), []
    X = rng.standard_normal((300, 4)) @ rng.standard_normal((4, 12))
    X += apart * rng.standard_normal(X.shape)
    Y = X @ rng.standard_normal((12, 1)) + 0.5 * rng.standard_normal((300, 1))
    plain = PathRemovals.errors_without

    def counted(self, k, places):
        judged.extend(places)
        return plain(self, k, places)

    monkeypatch.setattr(PathRemovals, "errors_without", counted)
    trails = [search(design_of(X), Y, 1e-3, 10, search="floating")]
    few = len(judged)
    monkeypatch.setattr(PathRemovals, "least_without", lambda self, k: [0.0] * (k - 1))
    trails.append(search(design_of(X), Y, 1e-3, 10, search="floating"))
    assert moves_of(trails[0]) == moves_of(trails[1])
    assert few < 0.5 * (len(judged) - few)


def test_it_does_not_matter_who_chose_nor_where_the_search_was_cut(monkeypatch):
    case = make("tall", m=60, n=12, seed=1)
    trails = []
    for cut in (None, 0, 1):
        if cut is not None:
            monkeypatch.setattr(TUNING, "compiled_search_from", 0)
        if cut == 1:
            monkeypatch.setattr(TUNING, "stepwise_from", 0)
            monkeypatch.setattr(TUNING, "told_numbers", 1)
        trails.append(search(design_of(case.X), case.Y, 1.0, 8, search="floating"))
    for trail in trails[1:]:
        assert moves_of(trail) == moves_of(trails[0])
        assert [m.error for m in trail.moves] == [m.error for m in trails[0].moves]
        for k, step in trails[0].steps.items():
            assert_array_equal(trail.steps[k].coef, step.coef)


def test_by_the_gram_matrix_it_is_the_forward_path_to_the_last_bit(monkeypatch):
    """As long as nothing is dropped; and moves are those of the steps where something is."""
    monkeypatch.setattr(TUNING, "compiled_search_from", 0)
    monkeypatch.setattr(forms, "seconds_by_gram", lambda *shape: 0.0)
    turned = 0
    for seed in range(12):
        case = correlated(seed, m=24, n=10)
        trail, forward, steps = (
            search(design_of(case.X), case.Y, case.alpha, 7, **asked)
            for asked in (
                {"search": "floating"},
                {"search": "forward"},
                {"search": "floating", "form": "fused"},
            )
        )
        assert forward.form.startswith("gram")
        assert moves_of(trail) == moves_of(steps)
        if len(trail.moves) > 7:
            turned += 1
            continue
        assert [m.error for m in trail.moves] == [m.error for m in forward.moves]
        for k, step in forward.steps.items():
            assert_array_equal(trail.steps[k].coef, step.coef)
    assert 0 < turned < 12


def test_epsilon_ends_it_as_it_ends_the_steps():
    case = make("tall", m=40, n=9, seed=3)
    errors = search(design_of(case.X), case.Y, 1.0, 8, search="floating").errors
    epsilon = float(np.median(-np.diff(errors)))
    asked = {"search": "floating", "epsilon": epsilon}
    trail, steps = (
        search(design_of(case.X), case.Y, 1.0, 8, form=form, **asked) for form in ("auto", "fused")
    )
    assert trail.stopped == steps.stopped == "epsilon"
    assert moves_of(trail) == moves_of(steps)
    assert len(trail.moves) < 8


def test_a_search_that_was_interrupted_goes_on_with_the_same_numbers(tmp_path, monkeypatch):
    case = correlated(1, m=24, n=10)
    whole = search(design_of(case.X), case.Y, case.alpha, 7, search="floating")
    for stop in (2, 5):
        file = tmp_path / f"{stop}.json"
        asked = {"search": "floating", "checkpoint": file}
        search(
            design_of(case.X),
            case.Y,
            case.alpha,
            7,
            watch=lambda trail, stop=stop: len(trail.moves) >= stop,
            **asked,
        )
        again = search(design_of(case.X), case.Y, case.alpha, 7, **asked)
        assert moves_of(again) == moves_of(whole)
        assert [m.error for m in again.moves] == [m.error for m in whole.moves]
