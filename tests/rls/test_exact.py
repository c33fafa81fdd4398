"""Forward selection with leave-one-out: every way to compute it equals refitting every model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from problems import KINDS, Case, classification, fixed, make, problems
from rls.comparing import (
    ATOL,
    FORMS,
    LAYOUTS,
    check_forward,
    check_steps,
    correlated,
    design_of,
    examples,
    judge_of,
    same_steps,
    search,
    subsets,
    weights_of,
)
from slow_twins import rls
from sparsepath._core import tall as core
from sparsepath.rls import engines
from sparsepath.rls.leave_one_out import gram_search
from sparsepath.rls.passes import engine
from sparsepath.system.tuning import TUNING

LOSSES = tuple(FORMS)


def all_ways(case: Case, loss: str, size: int, layouts=LAYOUTS, **options):
    """The trail of every form and layout; all must be equal, so that one can be checked."""
    fit_intercept = options.pop("fit_intercept", True)
    standardize = options.pop("standardize", False)
    trails = {}
    for layout in layouts:
        for form in FORMS[loss] if len(case.Y.T) == 1 or loss == "squared" else ("passes",):
            design = design_of(
                case.X,
                weights_of(case),
                layout,
                fit_intercept=fit_intercept,
                standardize=standardize,
            )
            trails[form, layout] = search(
                design, case.Y, case.alpha, size, loss=loss, form=form, **options
            )
    return trails


def size_for(case: Case, most: int = 5) -> int:
    """As far as leave-one-out leaves room for: fewer coefficients than samples that count."""
    counted = int(np.count_nonzero(weights_of(case)))
    return min(most, case.X.shape[1], counted - 3)


def check_all_ways(case: Case, loss: str, size: int, **options):
    judged = {
        key: options[key] for key in ("fit_intercept", "forced", "forbidden") if key in options
    }
    judge = judge_of(case, loss, **judged)
    for trail in all_ways(case, loss, size, **options).values():
        check_forward(trail, judge, size)


# --- hypothesis-made problems ---------------------------------------------------------------------


@examples(45)
@given(problems(max_m=16, max_n=8))
def test_squared(case):
    check_all_ways(case, "squared", size_for(case))


@examples(25)
@given(problems(max_m=16, max_n=8))
def test_squared_by_products(case):
    """The engine of tall data on data that are not."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (engines, gram_search):
            patch.setattr(module, "products_pay", lambda *shape: True)
        check_all_ways(case, "squared", size_for(case))


@examples(25)
@given(problems(max_m=16, max_n=8), st.sampled_from(["absolute", "huber", "log_cosh"]))
def test_other_residual_losses(case, loss):
    check_all_ways(case, loss, size_for(case))


@examples(15)
@given(classification(max_m=16, max_n=8), st.sampled_from(["zero_one", "balanced"]))
def test_counting_losses(case, loss):
    check_all_ways(case, loss, size_for(case))


@examples(15)
@given(problems(max_m=14, max_n=7), st.sampled_from(["squared", "absolute"]))
def test_without_intercept(case, loss):
    check_all_ways(case, loss, size_for(case), fit_intercept=False)


@examples(15)
@given(problems(alphas=[0.0], max_m=14, max_n=7), st.sampled_from(["squared", "absolute"]))
def test_ordinary_least_squares(case, loss):
    check_all_ways(case, loss, size_for(case))


@examples(10)
@given(
    classification(alphas=[0.0], max_m=14, max_n=7),
    st.sampled_from(["zero_one", "balanced"]),
    st.booleans(),
)
def test_ordinary_least_squares_that_counts(case, loss, fit_intercept):
    check_all_ways(case, loss, size_for(case), fit_intercept=fit_intercept)


@examples(15)
@given(st.data())
def test_forced_and_forbidden(data):
    case = data.draw(problems(kinds=["tall", "targets", "ties", "collinear"], max_m=14, max_n=8))
    n = case.X.shape[1]
    design = design_of(case.X, weights_of(case))
    live = np.flatnonzero(~design.constant).tolist()
    order = data.draw(st.permutations(live))
    forced = tuple(order[: data.draw(st.integers(0, min(2, len(order))))])
    rest = [i for i in range(n) if i not in forced]
    forbidden = tuple(data.draw(st.lists(st.sampled_from(rest), unique=True)) if rest else ())
    size = min(size_for(case), n - len(forbidden))
    if size >= len(forced):
        check_all_ways(case, "squared", size, forced=forced, forbidden=forbidden)


@examples(10)
@given(problems(kinds=["tall", "scaled", "targets", "sparse"], max_m=14, max_n=7))
def test_standardized_is_the_plain_path_of_standardized_columns(case):
    w = weights_of(case)
    counted = case.X[w > 0]
    live = counted.max(0) > counted.min(0)
    mean = w @ case.X / w.sum()
    scale = np.sqrt(w @ (case.X - mean) ** 2 / w.sum())
    X = np.where(live, (case.X - mean) / np.where(live, scale, 1.0), 0.0)
    plain = Case(X, case.Y, case.alpha, case.sw, case.name)
    judge = judge_of(plain)
    size = size_for(case)
    for trail in all_ways(case, "squared", size, standardize=True).values():
        for step in trail.steps.values():
            chosen = list(step.subset)
            coef, b = rls.ridge(X[:, chosen], case.Y, case.alpha, True, case.sw)
            assert_allclose(step.coef * scale[chosen, None], coef, rtol=1e-7, atol=1e-9)
            predicted = case.X[:, chosen] @ step.coef + step.intercept
            assert_allclose(predicted, X[:, chosen] @ coef + b, rtol=1e-7, atol=1e-7)
            assert_allclose(step.error, judge.error_of(chosen), rtol=1e-9)
            assert_allclose(step.error_se, judge.score(chosen)[1], rtol=1e-7)


# --- the twins' own paths -------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("case", fixed(classification=True), ids=repr)
def test_every_loss_and_kind_against_the_wrapper(case, loss):
    size = min(4, size_for(case))
    varying = np.flatnonzero(np.ptp(case.X[weights_of(case) > 0], axis=0) > 0)
    case = Case(case.X[:, varying], case.Y, case.alpha, case.sw, case.name)
    path = rls.wrapper_forward(case.X, case.Y, size, case.alpha, loss, sw=case.sw)
    for trail in all_ways(case, loss, size).values():
        assert list(subsets(trail).values()) == [subset for subset, _, _ in path]
        got = [(s.error, s.error_se) for _, s in sorted(trail.steps.items())]
        assert_allclose(got, [p[1:] for p in path], rtol=1e-9, atol=1e-12)


GENTLE = ("tall", "wide", "duplicate", "collinear", "sparse")


@pytest.mark.parametrize("kind", GENTLE)
@pytest.mark.parametrize("loss", ["squared", "zero_one"])
@pytest.mark.parametrize("seed", range(3))
def test_algorithms_2_and_3_of_the_paper(kind, loss, seed):
    m, n = (9, 14) if kind == "wide" else (16, 8)
    case = make(
        kind, m, n, alpha=[1.0, 0.1, 10.0][seed], seed=seed, classification=loss != "squared"
    )
    X = case.X[:, (case.X != 0).any(0)]
    case = Case(X, case.Y, case.alpha, None, case.name)
    second, w2 = rls.low_rank_lssvm(X, case.Y, 5, case.alpha, loss)
    third, w3 = rls.greedy_rls(X, case.Y[:, 0], 5, case.alpha, loss)
    for trail in all_ways(case, loss, 5, fit_intercept=False).values():
        for path, w in ((second, w2), (third, w3)):
            assert list(subsets(trail).values()) == [subset for subset, _, _ in path]
            got = [(s.error, s.error_se) for _, s in sorted(trail.steps.items())]
            assert_allclose(got, [p[1:] for p in path], rtol=1e-9, atol=1e-12)
            last = trail.steps[max(trail.steps)]
            assert_allclose(last.coef[:, 0], w, rtol=1e-8, atol=1e-10)


# --- larger problems: the ways among themselves ---------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_ways_agree_where_pruning_matters(kind):
    many = 3 if kind == "targets" else 1
    case = make(kind, m=150, n=50, T=many, alpha=0.1, weighted=True, seed=1)
    trails = all_ways(case, "squared", 15)
    first = trails["passes", "one"]
    assert len(first.steps) == 16
    for trail in trails.values():
        same_steps(first, trail)


@pytest.mark.parametrize("m", [150, 1000, 4000])
def test_a_search_through_noise_where_many_stay_open(m):
    rng = np.random.default_rng(m)
    X, Y = rng.standard_normal((m, 300)), rng.standard_normal((m, 1))
    expected = search(design_of(X), Y, 1.0, 25, form="memory")
    same_steps(expected, search(design_of(X), Y, 1.0, 25, form="passes"))


@pytest.mark.parametrize("kind", ["tall", "collinear", "scaled", "ties"])
@pytest.mark.parametrize("how", ["forward", "floating"])
@pytest.mark.parametrize("loss", ["squared", "absolute", "zero_one", "balanced"])
def test_compiled_loops_change_nothing(monkeypatch, kind, how, loss):
    case = make(kind, m=150, n=40, weighted=True, seed=5, classification=loss != "squared")
    given, asked = (case.Y, case.alpha, 12), {"search": how, "loss": loss}
    expected = search(design_of(case.X, case.sw), *given, form="memory", **asked)
    monkeypatch.setattr(TUNING, "compiled_pass_from", 1)
    for form in ("auto", "memory", "passes"):
        design = design_of(case.X, case.sw, "three")
        same_steps(expected, search(design, *given, form=form, **asked))


def in_compiled_loops(case, loss, size):
    """Every way to compute a path, with all loops that are compiled for large data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TUNING, "compiled_pass_from", 1)
        dense = np.asfortranarray(case.X)
        check_all_ways(Case(dense, case.Y, case.alpha, case.sw, case.name), loss, size)


@examples(20)
@given(problems(max_m=16, max_n=8), st.sampled_from(["squared", "absolute"]))
def test_compiled_loops_against_refits(case, loss):
    in_compiled_loops(case, loss, size_for(case))


@examples(10)
@given(classification(max_m=16, max_n=8), st.sampled_from(["zero_one", "balanced"]))
def test_compiled_loops_that_count_against_refits(case, loss):
    in_compiled_loops(case, loss, size_for(case))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["tall", "collinear", "scaled", "ties"])
def test_longer_paths_in_compiled_loops_against_refits(kind, loss):
    counts = loss in ("zero_one", "balanced")
    in_compiled_loops(make(kind, m=26, n=11, seed=6, classification=counts), loss, 8)


def test_without_any_room_compiled_sums_are_infinite():
    one, p = np.ones(9), np.full(9, 0.25)
    for share, inverse in ((np.inf, 0.25), (9 * 0.5**2 / 0.125**2, 0.125)):
        out = np.empty(1)
        core.sum_squares(one[None], one, p, one, np.array([0.5]), np.array([inverse]), 1e-10, out)
        assert out == share


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", ["auto", "memory", "passes"])
@pytest.mark.parametrize("how", ["forward", "floating"])
def test_a_search_and_its_replay_agree_to_the_last_bit(tmp_path, monkeypatch, how, form, weighted):
    """Whatever is known of the candidates in a search, and not in its replay, decides no number."""
    monkeypatch.setattr(TUNING, "compiled_pass_from", 1)
    case = correlated(7, m=300, n=10)
    X = np.asfortranarray(case.X + 3.0)
    weights = np.arange(len(X)) % 3 + 1.0 if weighted else np.ones(len(X))

    def run_to_end(watch=None, checkpoint=None):
        design = design_of(X, weights, "three")
        given = (design, case.Y, case.alpha, 8)
        return search(*given, search=how, form=form, watch=watch, checkpoint=checkpoint)

    whole = run_to_end()
    assert any(move.action == "drop" for move in whole.moves) == (how == "floating")
    for moves in range(1, len(whole.moves)):

        def interrupt(trail, moves=moves):
            if len(trail.moves) == moves:
                raise KeyboardInterrupt

        file = tmp_path / f"{moves}.json"
        with pytest.raises(KeyboardInterrupt):
            run_to_end(interrupt, file)
        resumed = run_to_end(checkpoint=file)
        assert [move.error for move in resumed.moves] == [move.error for move in whole.moves]
        for size, step in whole.steps.items():
            assert np.array_equal(step.coef, resumed.steps[size].coef)


def test_nearly_collinear_columns_are_projected_twice(monkeypatch):
    """No penalty, and next to nothing left of a column: one projection would leave too much."""
    project, again = engine.project, []
    monkeypatch.setattr(engine, "project", lambda *given: again.append(1) or project(*given))
    case = make("tall", m=300, n=20, seed=3)
    search(design_of(case.X), case.Y, 50.0, 2, form="passes")
    once = len(again)
    rng = np.random.default_rng(0)
    base = rng.standard_normal((300, 4))
    X = np.column_stack([base, base @ rng.standard_normal((4, 4))])
    X[:, 4:] += 1e-5 * rng.standard_normal((300, 4))
    Y = X @ rng.standard_normal((8, 1)) + rng.standard_normal((300, 1))
    expected = search(design_of(X), Y, 0.0, 8, form="memory")
    same_steps(expected, search(design_of(X), Y, 0.0, 8, form="passes"))
    assert len(again) > once


@pytest.mark.parametrize("loss", ["absolute", "zero_one", "balanced"])
@pytest.mark.parametrize("kind", ["tall", "collinear", "scaled", "ties"])
def test_the_cache_agrees_with_evaluating_everybody(kind, loss):
    case = make(kind, m=200, n=40, weighted=True, seed=2, classification=True)
    trails = all_ways(case, loss, 12)
    first = trails["passes", "one"]
    for trail in trails.values():
        same_steps(first, trail)


def test_the_bounds_spare_most_evaluations():
    from sparsepath.rls.constraints import Constraints
    from sparsepath.rls.criteria.residuals import SQUARED
    from sparsepath.rls.engines import held_rows
    from sparsepath.rls.history import SearchTrail
    from sparsepath.rls.search import forward

    case = make("tall", m=400, n=150, seed=3)
    rows = held_rows(design_of(case.X), case.Y, 10)
    model = engine.InPasses(rows, 1.0, SQUARED, 10)
    forward(model, SearchTrail(), Constraints(range(150), model.design.constant, most=10))
    assert 10 <= model.evaluated < 600  # of 1455


def test_weight_zero_is_as_good_as_absent():
    case = make("tall", m=30, n=6, seed=4, weighted=True)
    keep = case.sw > 0
    assert not keep.all()
    part = Case(case.X[keep], case.Y[keep], case.alpha, case.sw[keep], case.name)
    whole, less = (all_ways(c, "squared", 5)["passes", "one"] for c in (case, part))
    assert subsets(whole) == subsets(less)
    for k, step in whole.steps.items():
        assert_allclose(step.error, less.steps[k].error, rtol=1e-12)
        assert_allclose(step.error_se, less.steps[k].error_se, rtol=1e-9)
        assert_allclose(step.coef, less.steps[k].coef, rtol=1e-9)


def test_weights_are_a_matter_of_proportion_when_the_penalty_goes_along():
    case = make("tall", m=30, n=6, seed=5, weighted=True)
    double = Case(case.X, case.Y, 2 * case.alpha, 2 * case.sw, case.name)
    one, two = (all_ways(c, "squared", 5)["passes", "one"] for c in (case, double))
    same_steps(one, two)


def test_steps_hold_what_they_say():
    case = make("targets", m=14, n=6, T=3, seed=6)
    judge = judge_of(case)
    trail = all_ways(case, "squared", 6)["passes", "three"]
    check_steps(trail, judge)
    assert trail.stopped == "max_features"
    assert [move.action for move in trail.moves] == ["add"] * 6
    assert [move.error for move in trail.moves] == [trail.steps[k].error for k in range(1, 7)]
    assert_allclose(trail.steps[0].error, judge.empty, rtol=1e-12, atol=ATOL)
