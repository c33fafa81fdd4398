"""Floating searches at once, up to the first removal: as step by step."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from problems import make
from rls.comparing import check_floating, correlated, design_of, judge_of, search, weights_of
from sparsepath.rls.leave_one_out.carried import columns_of
from sparsepath.rls.leave_one_out.forward import Centred
from sparsepath.rls.leave_one_out.whole_floating import NotedRemovals
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


@pytest.mark.parametrize("targets", [1, 3])
def test_models_without_a_feature_are_the_twins(monkeypatch, targets):
    monkeypatch.setattr(TUNING, "removals_bounded_from", 0)
    case = make("tall", m=30, n=8, T=targets, weighted=True, seed=2)
    design = design_of(case.X, weights_of(case), standardize=False)
    noted = NotedRemovals(design, Centred.of(design, case.Y), case.alpha, 6)
    subset = [5, 0, 3, 7, 1]
    noted.extend(columns_of(design, subset))
    noted.path(np.array(subset), False)
    judge = judge_of(case)
    for k in range(1, 6):
        sets = [tuple(i for i in subset[:k] if i != b) for b in subset[:k]]
        expected = [judge.error_of(of) for of in sets]
        assert_allclose(noted.errors_without(k), expected, rtol=1e-9)
        squares = [float((weights_of(case) @ residuals(case, of) ** 2).sum()) for of in sets[:-1]]
        least = min(squares, default=np.inf) / design.total
        assert_allclose(noted.least_without(k), least, rtol=1e-6)
        assert noted.least_without(k) <= min(expected[:-1], default=np.inf)


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
    monkeypatch.setattr(TUNING, "removals_bounded_from", 0)
    rng, judged = np.random.default_rng(4), []
    X = rng.standard_normal((300, 4)) @ rng.standard_normal((4, 12))
    X += apart * rng.standard_normal(X.shape)
    Y = X @ rng.standard_normal((12, 1)) + 0.5 * rng.standard_normal((300, 1))
    plain = NotedRemovals.errors_without
    monkeypatch.setattr(
        NotedRemovals, "errors_without", lambda self, k: (judged.append(k), plain(self, k))[1]
    )
    trails = [search(design_of(X), Y, 1e-3, 10, search="floating")]
    few = len(judged)
    monkeypatch.setattr(NotedRemovals, "least_without", lambda self, k: 0.0)
    trails.append(search(design_of(X), Y, 1e-3, 10, search="floating"))
    assert moves_of(trails[0]) == moves_of(trails[1])
    assert few < len(judged) - few


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
