"""Searches with exchanges at once: as step by step, and as the twins."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from problems import Case, problems
from rls.comparing import (
    check_swaps,
    correlated,
    design_of,
    examples,
    judge_of,
    search,
    weights_of,
)
from sparsepath.rls.leave_one_out import swaps
from sparsepath.rls.leave_one_out.forward import Centred
from sparsepath.rls.leave_one_out.swaps import SWAP_PRICE, CompiledSwaps
from sparsepath.rls.search import SWAP_GAIN
from sparsepath.tuning import TUNING


def moves_of(trail):
    return [(move.action, move.feature) for move in trail.moves]


def searched(case, size, *, paid, **options):
    """A search once the loop is loaded, or before that."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SWAP_PRICE, "is_paid", lambda ahead=0.0: paid)
        design = design_of(case.X, weights_of(case))
        return search(design, case.Y, case.alpha, size, search="swap", **options)


def assert_same(trail, other):
    """To the last bit."""
    assert moves_of(trail) == moves_of(other)
    assert [m.error for m in trail.moves] == [m.error for m in other.moves]
    assert trail.errors == other.errors
    assert (trail.stopped, trail.form) == (other.stopped, other.form)
    assert trail.steps.keys() == other.steps.keys()
    for k, step in trail.steps.items():
        assert step.subset == other.steps[k].subset
        assert step.error == other.steps[k].error
        assert_array_equal(step.error_se, other.steps[k].error_se)
        assert_array_equal(step.coef, other.steps[k].coef)
        assert_array_equal(step.intercept, other.steps[k].intercept)


def loop_moves(case, size):
    """What the loop says, whatever the driver makes of it."""
    design = design_of(case.X, weights_of(case))
    allowed = (~design.constant).nonzero()[0]
    of = Centred.of(design, case.Y)
    found = CompiledSwaps(design, of, case.alpha, size, allowed).moves(SWAP_GAIN)
    return None if found is None else [(move.action, move.feature) for move in found]


@examples(60)
@given(problems(max_m=30), st.integers(1, 8))
def test_it_does_what_the_twins_do_and_does_not_show_who_chose(case, size):
    size = min(size, case.X.shape[1])
    trail = searched(case, size, paid=True)
    check_swaps(trail, judge_of(case), size)
    assert_same(trail, searched(case, size, paid=False))


@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 30.0])
def test_many_exchanges(alpha, targets):
    exchanged = known = 0
    for seed in range(25):
        case = correlated(seed, m=24, n=12, alpha=alpha)
        rng = np.random.default_rng(seed)
        more = case.X @ rng.standard_normal((12, targets - 1)) + rng.standard_normal(
            (24, targets - 1)
        )
        case = replace(case, Y=np.hstack([case.Y, more]))
        trail = searched(case, 8, paid=True)
        exchanged += check_swaps(trail, judge_of(case), 8)
        steps = search(design_of(case.X), case.Y, alpha, 8, search="swap", form="fused")
        assert moves_of(trail) == moves_of(steps)
        assert_allclose(trail.errors, steps.errors, rtol=1e-9)
        assert_same(trail, searched(case, 8, paid=False))
        found = loop_moves(case, 8)
        known += found is not None
        assert found is None or found == moves_of(steps)
    assert exchanged > 10
    assert known > 15


@pytest.mark.parametrize("shape", [(40, 300), (300, 20)])
def test_data_that_go_through_the_loop_from_the_start(monkeypatch, shape):
    """As large data do, wide and tall; columns that repeat others are never taken before them."""
    monkeypatch.setattr(TUNING, "compiled_search_from", 0)
    m, n = shape
    rng = np.random.default_rng(3)
    X = rng.standard_normal((m, 5)) @ rng.standard_normal((5, n)) + rng.standard_normal((m, n))
    X[:, n // 2] = X[:, 1]
    X[:, n - 1] = X[:, 2]
    Y = X @ rng.standard_normal((n, 1)) + rng.standard_normal((m, 1))
    case = Case(X, Y, 0.5, rng.choice([0.0, 0.5, 1.0, 2.0], m), "repeated")
    design = design_of(X, case.sw)
    trail = search(design, Y, case.alpha, 12, search="swap")
    steps = search(design, Y, case.alpha, 12, search="swap", form="fused")
    assert moves_of(trail) == moves_of(steps) == loop_moves(case, 12)
    assert any(move.action == "drop" for move in trail.moves)
    for k, step in trail.steps.items():
        assert step.subset == steps.steps[k].subset
        assert_allclose(step.error, steps.steps[k].error, rtol=1e-10)
        assert_allclose(step.coef, steps.steps[k].coef, rtol=1e-8, atol=1e-10)
        assert_allclose(step.intercept, steps.steps[k].intercept, rtol=1e-8, atol=1e-10)


def test_steep_removals_are_left_to_the_steps():
    """One column is another and a little noise: the loop says that it cannot say."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6))
    X[:, 5] = X[:, 0] + 1e-5 * rng.standard_normal(30)
    Y = 1e5 * (X[:, [5]] - X[:, [0]]) + X[:, [1]] + 0.1 * rng.standard_normal((30, 1))
    case = Case(X, Y, 1e-14, None, "steep")
    assert loop_moves(case, 5) is None
    trail = searched(case, 5, paid=True)
    steps = search(design_of(X), Y, case.alpha, 5, search="swap", form="fused")
    assert moves_of(trail) == moves_of(steps)
    assert_same(trail, searched(case, 5, paid=False))


@pytest.mark.parametrize("paid", [False, True])
def test_a_search_that_was_stopped_goes_on_with_the_same_numbers(tmp_path, paid):
    case = correlated(1, m=24, n=12)
    whole = searched(case, 7, paid=paid)
    halfway = [i for i, move in enumerate(whole.moves, 1) if move.action == "drop"]
    assert halfway
    for stop in (2, *halfway, len(whole.moves) - 1):
        file = tmp_path / f"{stop}.json"
        cut = searched(
            case,
            7,
            paid=paid,
            checkpoint=file,
            watch=lambda trail, stop=stop: len(trail.moves) >= stop,
        )
        assert len(cut.moves) == stop
        for other in (paid, not paid):
            assert_same(searched(case, 7, paid=other, checkpoint=file), whole)
            searched(
                case,
                7,
                paid=paid,
                checkpoint=file,
                watch=lambda trail, stop=stop: len(trail.moves) >= stop,
            )


def test_time_that_goes_by_without_the_loop_is_put_by():
    before = SWAP_PRICE.spent
    searched(correlated(0), 4, paid=False)
    assert SWAP_PRICE.spent > before


def test_no_room_for_more_moves_is_no_end(monkeypatch):
    monkeypatch.setattr(swaps, "MOVES", 1)
    case = correlated(1, m=24, n=12)
    assert loop_moves(case, 7) is None
    trail = searched(case, 7, paid=True)
    monkeypatch.undo()
    assert_same(trail, searched(case, 7, paid=True))
