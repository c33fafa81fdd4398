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
from sparsepath.rls.leave_one_out.projection import Projected
from sparsepath.tuning import TUNING

LOSSES = tuple(FORMS)


def all_ways(case: Case, loss: str, size: int, layouts=LAYOUTS, **options):
    """The trail of every form and layout; all must be equal, so that one can be checked."""
    fit_intercept = options.pop("fit_intercept", True)
    standardize = options.pop("standardize", False)
    trails = {}
    for layout in layouts:
        for form in FORMS[loss] if len(case.Y.T) == 1 or loss == "squared" else ("blocks",):
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
    first = trails["blocks", "one"]
    assert len(first.steps) == 16
    for trail in trails.values():
        same_steps(first, trail)


@pytest.mark.parametrize("credit", [-100, -2, 1])
@pytest.mark.parametrize("how", ["forward", "floating"])
def test_going_over_from_batches_to_passes_changes_nothing(monkeypatch, credit, how):
    case = make("collinear", m=100, n=40, alpha=0.1, weighted=True, seed=7)
    design = design_of(case.X, case.sw, "three")
    expected = search(design, case.Y, case.alpha, 15, form="blocks", search=how)
    monkeypatch.setattr(TUNING, "gram_credit", credit)
    monkeypatch.setattr(TUNING, "gram_columns", 0)
    monkeypatch.setattr(TUNING, "gram_batch", 3)
    design = design_of(case.X, case.sw, "three")
    same_steps(expected, search(design, case.Y, case.alpha, 15, form="bounds", search=how))


@pytest.mark.parametrize("kind", ["tall", "collinear", "scaled", "ties", "constant"])
@pytest.mark.parametrize("how", ["forward", "floating"])
@pytest.mark.parametrize("standardize", [False, True])
def test_all_columns_of_the_gram_matrix_at_once_change_nothing(kind, how, standardize):
    case = make(kind, m=90, n=25, weighted=True, seed=11)
    options = {"standardize": standardize}
    design = design_of(case.X, case.sw, **options)
    expected = search(design, case.Y, case.alpha, 12, form="blocks", search=how)
    design = design_of(case.X, case.sw, "uneven", **options)
    same_steps(expected, search(design, case.Y, case.alpha, 12, form="bounds", search=how))
    assert all(design.knows_gram(i) for i in range(25))


@pytest.mark.parametrize(("size", "limit"), [(2, 1 << 22), (3, 0)])
def test_the_gram_matrix_is_not_filled_for_few_steps_or_little_data(monkeypatch, size, limit):
    monkeypatch.setattr(TUNING, "gram_always", limit)
    monkeypatch.setattr(TUNING, "first_gram_batch", 3)
    monkeypatch.setattr(TUNING, "gram_batch", 3)
    case = make("tall", m=60, n=25, seed=1)
    design = design_of(case.X)
    search(design, case.Y, 1.0, size, form="bounds")
    assert 0 < sum(design.knows_gram(i) for i in range(25)) <= 3 * size


@pytest.mark.parametrize("m", [150, 1000, 4000])
def test_a_search_through_noise_where_many_stay_open(m):
    rng = np.random.default_rng(m)
    X, Y = rng.standard_normal((m, 300)), rng.standard_normal((m, 1))
    expected = search(design_of(X), Y, 1.0, 25, form="blocks")
    same_steps(expected, search(design_of(X), Y, 1.0, 25, form="gram"))


@pytest.mark.parametrize("kind", ["tall", "collinear", "scaled", "ties"])
@pytest.mark.parametrize("how", ["forward", "floating"])
@pytest.mark.parametrize("loss", ["squared", "absolute", "zero_one", "balanced"])
def test_compiled_loops_change_nothing(monkeypatch, kind, how, loss):
    case = make(kind, m=150, n=40, weighted=True, seed=5, classification=loss != "squared")
    given, asked = (case.Y, case.alpha, 12), {"search": how, "loss": loss}
    expected = search(design_of(case.X, case.sw), *given, form="blocks", **asked)
    monkeypatch.setattr(TUNING, "compiled_pass_from", 1)
    monkeypatch.setattr(TUNING, "compiled_search_from", 1)
    for form in ("fused", "bounds", "pass") if loss == "squared" else ("auto", "fused", "blocks"):
        design = design_of(case.X, case.sw, "three")
        same_steps(expected, search(design, *given, form=form, **asked))


def in_compiled_loops(case, loss, size):
    """Every way to compute a path, with all loops that are compiled for large data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TUNING, "compiled_pass_from", 1)
        patch.setattr(TUNING, "compiled_search_from", 1)
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


@pytest.mark.parametrize("n_candidates", [1, 3])
@pytest.mark.parametrize("k", [0, 3, 6])
def test_candidates_are_projected_in_several_strips(k, n_candidates):
    from sparsepath.rls.leave_one_out.compiled import STRIP, take_off

    rng = np.random.default_rng(k)
    m = 2 * STRIP + 7
    Z, W, r = (np.asfortranarray(rng.standard_normal((m, i))) for i in (k, n_candidates, 2))
    t = rng.standard_normal((k, n_candidates))
    expected = W - Z @ t
    squares, across = np.empty(n_candidates), np.empty((n_candidates, 2))
    take_off(Z.T, t, W.T, r.T, squares, across)
    np.testing.assert_allclose(W, expected, atol=1e-12)
    np.testing.assert_allclose(squares, (expected**2).sum(0))
    np.testing.assert_allclose(across, expected.T @ r, atol=1e-9)


@pytest.mark.parametrize("k", [0, 4, 6, 15])
def test_one_candidate_is_projected_and_measured_in_several_strips(k):
    from sparsepath.rls.leave_one_out.compiled import STRIP, take_off_one

    rng = np.random.default_rng(k)
    m = 2 * STRIP + 7
    Z = np.asfortranarray(rng.standard_normal((m, k)))
    t, (w, u, r, mix) = rng.standard_normal(k), rng.standard_normal((4, m))
    expected = w - Z @ t
    out = np.empty(k)
    sums = take_off_one(Z.T, t, w, u, r, mix, out)
    np.testing.assert_allclose(w, expected, atol=1e-12)
    np.testing.assert_allclose(out, Z.T @ u, atol=1e-9)
    np.testing.assert_allclose(sums, np.array([expected, r, mix]) @ expected, atol=1e-9)


def test_without_any_room_compiled_sums_are_infinite_or_say_so():
    from sparsepath.rls.leave_one_out.compiled import measure, sum_squares

    one, p = np.ones(9), np.full(9, 0.25)
    for share, inverse in ((np.inf, 0.25), (9 * 0.5**2 / 0.125**2, 0.125)):
        out = np.empty(1)
        sum_squares(one[None], one, p, one, np.array([0.5]), np.array([inverse]), 1e-10, out)
        assert out == share
    p[3] = 0.0
    sums = measure(one, p, one, one, one, 0.5, 1e-10, np.empty(9), np.empty(9))
    assert sums[1] == 1.0
    assert np.isfinite(sums).all()


def test_sums_of_the_chosen_columns_follow_additions_and_removals(monkeypatch):
    from sparsepath.rls.criteria.residuals import SQUARED
    from sparsepath.rls.leave_one_out.additions import BoundFinder
    from sparsepath.rls.leave_one_out.fitted_rows import mixture
    from sparsepath.rls.leave_one_out.model import State

    monkeypatch.setattr(TUNING, "compiled_pass_from", 1)
    case = make("tall", m=60, n=9, seed=1)
    state = State(design_of(case.X), case.Y, 1.0, SQUARED, BoundFinder("pass"))
    changes = (state.add, 3), (state.add, 5), (state.add, 0), (state.drop, 5), (state.add, 7)
    for change, feature in changes:
        change(feature)
        (rows,) = state.model.rows
        parts = mixture(9)[: len(state.chosen)]
        assert np.all((np.abs(parts) >= 1) & (np.abs(parts) <= 2))
        assert_allclose(rows._mixed, rows.Z @ parts, atol=1e-13)
        assert_allclose(rows.totals, rows.g @ rows.Z, atol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", ["pass", "gram", "fused"])
@pytest.mark.parametrize("how", ["forward", "floating"])
def test_a_search_and_its_replay_agree_to_the_last_bit(tmp_path, monkeypatch, how, form, weighted):
    """A search by passes holds candidates by their products, a replay by products with Z."""
    monkeypatch.setattr(TUNING, "compiled_pass_from", 1)
    monkeypatch.setattr(TUNING, "compiled_search_from", 1)
    case = correlated(7, m=300, n=10)
    X = np.asfortranarray(case.X + 3.0)
    weights = np.arange(len(X)) % 3 + 1.0 if weighted else np.ones(len(X))

    def run_to_end(watch=None, checkpoint=None):
        design = design_of(X, weights, "three")
        assert design.exchangeable != weighted
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


@pytest.mark.parametrize("form", ["bounds", "pass"])
def test_well_conditioned_candidates_are_projected_once(monkeypatch, form):
    monkeypatch.setattr(TUNING, "compiled_pass_from", 1)
    monkeypatch.setattr(Projected, "_once_more", None)
    case = make("tall", m=300, n=20, seed=3)
    search(design_of(case.X), case.Y, 50.0, 12, form=form)


def test_what_the_gram_matrix_leaves_is_taken_off(monkeypatch):
    """Nearly collinear columns, no penalty: t from the Gram matrix alone would not do."""
    monkeypatch.setattr(TUNING, "compiled_pass_from", 1)
    again = []
    once_more = Projected._once_more
    monkeypatch.setattr(
        Projected, "_once_more", lambda *given: again.append(given) or once_more(*given)
    )
    rng = np.random.default_rng(0)
    base = rng.standard_normal((300, 4))
    X = np.column_stack([base, base @ rng.standard_normal((4, 4))])
    X[:, 4:] += 1e-5 * rng.standard_normal((300, 4))
    Y = X @ rng.standard_normal((8, 1)) + rng.standard_normal((300, 1))
    expected = search(design_of(X), Y, 0.0, 8, form="blocks")
    same_steps(expected, search(design_of(X), Y, 0.0, 8, form="bounds"))
    assert again


@pytest.mark.parametrize("loss", ["absolute", "zero_one", "balanced"])
@pytest.mark.parametrize("kind", ["tall", "collinear", "scaled", "ties"])
def test_the_cache_agrees_with_evaluating_everybody(kind, loss):
    case = make(kind, m=200, n=40, weighted=True, seed=2, classification=True)
    trails = all_ways(case, loss, 12)
    first = trails["blocks", "one"]
    for trail in trails.values():
        same_steps(first, trail)


def test_the_bounds_spare_most_evaluations():
    from sparsepath.rls.constraints import Constraints
    from sparsepath.rls.criteria.residuals import SQUARED
    from sparsepath.rls.leave_one_out.additions import BoundFinder
    from sparsepath.rls.leave_one_out.model import State
    from sparsepath.rls.search import forward
    from sparsepath.rls.trail import SearchTrail

    case = make("tall", m=400, n=150, seed=3)
    for form in ("gram", "pass"):
        finder = BoundFinder(form)
        state = State(design_of(case.X), case.Y, 1.0, SQUARED, finder)
        forward(state, SearchTrail(), Constraints(range(150), state.model.design.constant, most=10))
        assert 10 <= finder.evaluated < 600  # of 1455


def test_weight_zero_is_as_good_as_absent():
    case = make("tall", m=30, n=6, seed=4, weighted=True)
    keep = case.sw > 0
    assert not keep.all()
    part = Case(case.X[keep], case.Y[keep], case.alpha, case.sw[keep], case.name)
    whole, less = (all_ways(c, "squared", 5)["gram", "one"] for c in (case, part))
    assert subsets(whole) == subsets(less)
    for k, step in whole.steps.items():
        assert_allclose(step.error, less.steps[k].error, rtol=1e-12)
        assert_allclose(step.error_se, less.steps[k].error_se, rtol=1e-9)
        assert_allclose(step.coef, less.steps[k].coef, rtol=1e-9)


def test_weights_are_a_matter_of_proportion_when_the_penalty_goes_along():
    case = make("tall", m=30, n=6, seed=5, weighted=True)
    double = Case(case.X, case.Y, 2 * case.alpha, 2 * case.sw, case.name)
    one, two = (all_ways(c, "squared", 5)["gram", "one"] for c in (case, double))
    same_steps(one, two)


def test_steps_hold_what_they_say():
    case = make("targets", m=14, n=6, T=3, seed=6)
    judge = judge_of(case)
    trail = all_ways(case, "squared", 6)["pass", "three"]
    check_steps(trail, judge)
    assert trail.stopped == "max_features"
    assert [move.action for move in trail.moves] == ["add"] * 6
    assert [move.error for move in trail.moves] == [trail.steps[k].error for k in range(1, 7)]
    assert_allclose(trail.steps[0].error, judge.empty, rtol=1e-12, atol=ATOL)
