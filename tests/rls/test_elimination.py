"""Backward search in one pass per removal has the drops of refits, over samples and splits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold

from problems import Case, classification, make, problems
from rls.comparing import (
    check_backward,
    correlated,
    design_of,
    examples,
    judge_of,
    search,
    subsets,
    weights_of,
)
from slow_twins import rls
from sparsepath.errors import InputError, PathWarning
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.rls.engines import held_rows
from sparsepath.rls.folds.elimination import FoldElimination
from sparsepath.rls.leave_one_out import elimination
from sparsepath.rls.leave_one_out.elimination import Elimination
from sparsepath.rls.passes.engine import InPasses
from sparsepath.system.threads import Threads
from sparsepath.system.tuning import TUNING


def tune(patch, wide):
    patch.setattr(TUNING, "wide_from", 0 if wide else 1 << 40)
    patch.setattr(elimination, "WIDE", 1.0 if wide else 1.5)


def backward(case, layout="one", **options):
    design = design_of(case.X, weights_of(case), layout)
    return search(design, case.Y, case.alpha, 0, search="backward", **options)


KINDS = ["tall", "wide", "collinear", "scaled", "targets", "ties", "offset", "duplicate"]


@examples(12)
@given(problems(kinds=KINDS, max_m=16, max_n=10), st.booleans())
def test_squared_against_refits(case, wide):
    with pytest.MonkeyPatch.context() as patch:
        tune(patch, wide)
        trail = backward(case, "three")
    tiny = case.alpha < 1e-2 and case.X.shape[1] > 4  # then 1 - leverage comes down to the penalty
    check_backward(trail, judge_of(case), 0, rtol=1e-6 if tiny else 1e-8)


@examples(6)
@given(
    classification(kinds=["tall"], max_m=16, max_n=8),
    st.sampled_from(["zero_one", "balanced", "absolute"]),
)
def test_other_losses_against_refits(case, loss):
    check_backward(backward(case, loss=loss), judge_of(case, loss), 0)


@pytest.mark.parametrize(("m", "n"), [(14, 40), (20, 22), (40, 14)])
def test_longer_paths_against_the_twin(monkeypatch, m, n):
    """Wide data begin in the wide form, go over to the tall one and are set up again on the way."""
    monkeypatch.setattr(TUNING, "wide_from", 10)
    case = make("tall", m=m, n=n, seed=1)
    trail = backward(case)
    left = n - 4
    path = rls.backward(case.X, case.Y, left, case.alpha)
    for subset, value, se in path:
        step = trail.steps[len(subset)]
        assert set(step.subset) == set(subset)
        assert_allclose((step.error, step.error_se), (value, se), rtol=1e-9)
    judge = judge_of(case)
    for size, step in trail.steps.items():
        assert_allclose(step.error, judge.error_of(step.subset), rtol=1e-8, err_msg=str(size))


def test_the_same_drops_as_a_state_makes():
    case = make("collinear", m=50, n=16, seed=3, weighted=True, alpha=1e-3)
    design = design_of(case.X, case.sw)
    state = InPasses(held_rows(design, case.Y, 16), case.alpha, SQUARED, 16)
    model = Elimination(design, case.Y, case.alpha, SQUARED)
    for i in range(16):
        state.add(i)
    model.begin(range(16))
    while state.chosen:
        for i, error in zip(state.chosen, model.errors_without(), strict=True):
            trial = state.duplicate()
            trial.drop(i)
            assert_allclose(error, trial.error, rtol=1e-8)
        assert_allclose(
            model.coef(), state.coef(), rtol=1e-5, atol=1e-8 * np.abs(state.coef()).max()
        )
        best, other = state.best_removal(), model.best_removal()
        assert best.feature == other.feature
        state.drop(best.feature)
        model.drop(best.feature)
        assert model.chosen == state.chosen
        assert_allclose(model.error, state.error, rtol=1e-9)
        assert_allclose(model.intercept(), state.intercept(), rtol=1e-6, atol=1e-9)


def test_rows_of_which_little_is_left_are_recomputed(monkeypatch):
    renewed = []
    renew = Elimination._renew
    monkeypatch.setattr(Elimination, "_renew", lambda *given: renewed.append(1) or renew(*given))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 6))
    X = np.hstack([X, X + 1e-6 * rng.standard_normal((50, 6))])
    Y = X @ rng.standard_normal((12, 1)) + rng.standard_normal((50, 1))
    case = Case(X, Y, 0.0, None, "pairs")
    check_backward(backward(case), judge_of(case), 0, rtol=1e-7)
    assert renewed


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(TUNING, "thread_numbers", 100)
    monkeypatch.setattr(TUNING, "threaded_from", 0)
    case = make("targets", m=40, n=15, T=2, seed=4, weighted=True)
    trails = []
    for n in (1, 2, 5):
        with Threads(n) as crew:
            design = design_of(case.X, case.sw)
            design.threads = crew
            trails.append(search(design, case.Y, 0.1, 0, search="backward"))
    for trail in trails[1:]:
        assert [(m.feature, m.error) for m in trail.moves] == [
            (m.feature, m.error) for m in trails[0].moves
        ]


def test_what_it_refuses():
    case = make("tall", m=20, n=5, seed=1)
    model = Elimination(design_of(case.X), case.Y, 1.0, SQUARED)
    model.begin(range(5))
    with pytest.raises(InputError, match="not selected"):
        model.drop(7)
    for what in (lambda: model.add(1), model.best_addition):
        with pytest.raises(InputError, match="only removes"):
            what()
    assert model.best_removal([]) is None
    X = np.column_stack([case.X, case.X[:, 0]])
    splits = list(KFold(3).split(X))
    for options in ({}, {"splits": splits}):
        with pytest.warns(PathWarning, match="starts without '5'"):
            trail = search(design_of(X), case.Y, 0.0, 0, search="backward", **options)
        assert set(trail.start) == set(range(5))
    with pytest.raises(InputError, match="feature 5 is collinear"):
        Elimination(design_of(X), case.Y, 0.0, SQUARED).begin(range(6))


def test_a_copy_goes_its_own_way():
    case = correlated(1, m=30, n=8)
    model = Elimination(design_of(case.X), case.Y, 1.0, SQUARED)
    model.begin(range(8))
    model.drop(3)
    other = model.duplicate()
    other.drop(1)
    assert model.chosen == [0, 1, 2, 4, 5, 6, 7]
    assert model.best_removal() == model.duplicate().best_removal()


# --- splits ---------------------------------------------------------------------------------------


@examples(8)
@given(problems(kinds=["tall", "collinear", "targets", "ties", "scaled"], max_m=20, max_n=8))
def test_splits_against_refits(case):
    splits = list(KFold(3).split(case.X))
    w = weights_of(case)
    if any(np.count_nonzero(w[part]) < 3 for pair in splits for part in pair):
        return
    try:
        trail = backward(case, splits=splits)
    except InputError:  # collinear in a training part
        return
    judge = judge_of(case, error=rls.kfold_error(splits))
    check_backward(trail, judge, 0, rtol=1e-5 if case.alpha < 1e-2 else 1e-8)


def test_a_copy_over_splits_goes_its_own_way():
    case = correlated(1, m=30, n=8)
    model = FoldElimination(design_of(case.X), case.Y, 1.0, list(KFold(3).split(case.X)))
    model.begin(range(8))
    model.drop(3)
    other, before = model.duplicate(), model.errors_without()
    other.drop(1)
    assert model.chosen == [0, 1, 2, 4, 5, 6, 7]
    assert_allclose(model.errors_without(), before, rtol=0)


def test_inverses_are_set_up_again_where_little_is_left(monkeypatch):
    again = []
    monkeypatch.setattr(TUNING, "judged_by_rows", 0)  # else the rows would be asked
    set_up = FoldElimination._set_up
    monkeypatch.setattr(FoldElimination, "_set_up", lambda self: again.append(1) or set_up(self))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    X = np.hstack([X, X + 1e-3 * rng.standard_normal((60, 6))])
    Y = X @ rng.standard_normal((12, 1)) + rng.standard_normal((60, 1))
    splits = list(KFold(4).split(X))
    trail = search(design_of(X), Y, 1e-8, 0, search="backward", splits=splits)
    assert len(again) > 5
    for subset, value, se in rls.backward(X, Y, 8, 1e-8, error=rls.kfold_error(splits)):
        step = trail.steps[len(subset)]
        assert set(subsets(trail)[len(subset)]) == set(subset)
        assert_allclose((step.error, step.error_se), (value, se), rtol=1e-6)
