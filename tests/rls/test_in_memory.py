"""The engine in memory: additions, removals, exchanges and whole paths against refits."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from problems import Case, make, problems
from rls.comparing import (
    OTHERS,
    check_forward,
    check_swaps,
    correlated,
    design_of,
    examples,
    judge_of,
    same_steps,
    search,
    subsets,
    weights_of,
)
from sparsepath import SparseRLSRegressor
from sparsepath.errors import InputError
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.rls.criteria.table import CLASSES
from sparsepath.rls.history import SearchTrail
from sparsepath.rls.leave_one_out.in_memory import InMemory
from sparsepath.rls.update import Costs
from sparsepath.system.threads import Threads
from sparsepath.system.tuning import TUNING

KINDS = ("tall", "wide", "collinear", "scaled", "ties", "constant", "duplicate", "offset")
LOSSES = [name for name in OTHERS if CLASSES[name].kernel is not None]


def model_of(case, layout="one", size=8, loss=SQUARED):
    return InMemory(design_of(case.X, weights_of(case), layout), case.Y, case.alpha, loss, size)


def moves_of(trail):
    return [(move.action, move.feature) for move in trail.moves]


# --- forward --------------------------------------------------------------------------------------


@examples(60)
@given(problems(max_m=40, max_n=9, alphas=[1.0, 0.01, 0.0]), st.sampled_from(["one", "three"]))
def test_paths_against_refits(case, layout):
    size = min(6, case.X.shape[1], int(np.count_nonzero(weights_of(case))) - 3)
    design = design_of(case.X, weights_of(case), layout)
    trail = SearchTrail()
    found = InMemory(design, case.Y, case.alpha, SQUARED, size).path(size, ~design.constant)
    trail.take(found)
    trail.stopped = "residuals vanished" if found.vanished else ""
    check_forward(trail, judge_of(case), size)


@pytest.mark.parametrize("loss", ["squared", *LOSSES])
@given(
    kind=st.sampled_from(KINDS),
    targets=st.sampled_from([1, 1, 2, 3, 5]),
    weighted=st.booleans(),
    alpha=st.sampled_from([None, 1e-6, 100.0]),
    seed=st.integers(0, 99),
)
@examples(10)
def test_every_loss_against_refits(loss, kind, targets, weighted, alpha, seed):
    coded = CLASSES[loss].coded
    targets = max(targets, 3) if coded and targets > 1 else targets
    case = make(kind, m=26, n=9, T=targets, weighted=weighted, seed=seed, classification=coded)
    case = case if alpha is None else replace(case, alpha=alpha)
    trail = search(design_of(case.X, weights_of(case)), case.Y, case.alpha, 5, loss=loss)
    check_forward(trail, judge_of(case, loss), 5)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("kind", [*KINDS, "targets"])
def test_a_path_is_the_search_step_by_step(kind, loss):
    """To the last bit, and no number depends on which sizes come later."""
    case = make(kind, m=75, n=20, T=3 if kind == "targets" else 1, seed=2)
    design = design_of(case.X, weights_of(case))
    allowed = np.ones(20, dtype=bool)
    found = InMemory(design, case.Y, 0.1, CLASSES[loss], 12).path(12, allowed)
    short = InMemory(design, case.Y, 0.1, CLASSES[loss], 12)
    short.path(4, allowed)
    for name in ("subset", "errors", "errors_se", "coef", "intercept"):
        assert_array_equal(getattr(short.path(7, allowed), name), _first(found, name, 7))
    model = InMemory(design, case.Y, 0.1, CLASSES[loss], 3)
    for k, feature in enumerate(found.subset.tolist(), 1):
        assert model.best_addition().feature == feature
        model.add(feature)
        assert model.error == found.errors[k]
        assert model.standard_error() == found.errors_se[k]
        assert_array_equal(model.coef(), found.coef[k, :k])


def _first(found, name, k):
    values = getattr(found, name)
    k = min(k, len(found.subset))
    if name == "subset":
        return values[:k]
    return values[: k + 1, :k] if name == "coef" else values[: k + 1]


@pytest.mark.parametrize("apart", [1e-4, 1e-6])
@pytest.mark.parametrize("alpha", [1e-14, 0.0])
def test_columns_that_are_nearly_alike(apart, alpha):
    """What is left of them has few digits unless it is made orthogonal once more."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 1)) + apart * rng.standard_normal((40, 12))
        y = (X - X[:, :1])[:, 1:6] @ rng.standard_normal((5, 1))
        y += apart * rng.standard_normal((40, 1))
        found = InMemory(design_of(X), y, alpha, SQUARED, 8).path(8, np.ones(12, dtype=bool))
        for k in (2, 8):
            A = X[:, found.subset[:k]] - X[:, found.subset[:k]].mean(0)
            A = np.vstack([A - A.mean(0), np.sqrt(alpha) * np.eye(k)])
            b = np.vstack([y - y.mean(), np.zeros((k, 1))])
            refitted = np.linalg.lstsq(A, b, rcond=1e-15)[0]
            assert_allclose(found.coef[k, :k], refitted, rtol=1e-7)


def test_of_copies_of_columns_that_are_nearly_alike_the_first_is_chosen():
    """They differ by rounding only, if what is left of them has all its digits."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 1)) + 1e-5 * rng.standard_normal((40, 6))
        X = np.hstack([X, 3.0 * X, X / 7.0])
        y = (X - X[:, :1])[:, 1:5] @ rng.standard_normal((4, 1))
        y += 0.3 * y.std() * rng.standard_normal((40, 1))
        found = InMemory(design_of(X), y, 0.0, SQUARED, 4).path(4, np.ones(18, dtype=bool))
        assert max(found.subset) < 6


def test_of_copies_the_first_is_chosen_when_little_is_left_of_the_target():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((60, 8))
        y = X @ np.array([3e10, 2e10, 1e10, 1, 1, 1, 1, 1]) + rng.standard_normal(60)
        design = design_of(np.hstack([X, X * 3.0, X / 7.0]))
        found = InMemory(design, y[:, None], 0.0, SQUARED).path(7, np.ones(24, dtype=bool))
        assert max(found.subset) < 8


@pytest.mark.parametrize("loss", ["squared", "absolute", "zero_one"])
def test_a_sample_that_decides_its_own_prediction_leaves_no_room(loss):
    """A column that only one sample has would fit it whatever it is."""
    X, y = np.eye(8)[:, :3] + 0.0, np.array([1.0, -1, -1, 1, -1, 1, 1, 1])
    X[:, 2] = np.arange(8.0) ** 2
    trail = search(design_of(X), y[:, None], 0.0, 3, loss=loss)
    assert subsets(trail)[max(trail.steps)] == (2,)


@pytest.mark.validated
@pytest.mark.parametrize("turn", [np.asfortranarray, np.ascontiguousarray, lambda X: X[::-1][::-1]])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_memory_order_and_dtype_do_not_change_results(turn, dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(-50, 50, (90, 15))
    y = X[:, :3].sum(1) + rng.standard_normal(90)
    expected = SparseRLSRegressor(9).fit(np.asfortranarray(X, dtype=float), y)
    found = SparseRLSRegressor(9).fit(turn(X.astype(dtype)), y)
    assert found.path_.subsets == expected.path_.subsets
    assert_array_equal(found.path_.errors, expected.path_.errors)
    assert found.honest_.error == expected.honest_.error


@pytest.mark.parametrize("weighted", [False, True])
def test_larger_problems_in_noise(weighted):
    case = make("tall", m=120, n=80, seed=5, weighted=weighted)
    noise = Case(case.X, np.random.default_rng(6).standard_normal((120, 1)), 1.0, case.sw, "")
    given = (noise.Y, 1.0, 25)
    expected = search(design_of(noise.X, weights_of(noise)), *given, form="passes")
    design = design_of(noise.X, weights_of(noise), "three")
    same_steps(expected, search(design, *given, form="memory"))


# --- changes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["tall", "collinear", "offset", "scaled", "targets"])
def test_a_hundred_additions_and_removals_come_back_to_the_start(kind):
    T = 3 if kind == "targets" else 1
    X = make(kind, m=60, n=20, T=T, seed=1).X
    alpha = 1e-6 * np.linalg.norm(X - X.mean(0), 2) ** 2
    case = make(kind, m=60, n=20, T=T, seed=1, alpha=alpha)
    model = model_of(case, "uneven", size=2)
    start = [3, 17, 5, 11]
    for i in start:
        model.add(i)

    def picture():
        order = np.argsort(model.chosen)
        scales = np.sqrt(model.design.squares[model.chosen])[order, None]
        return model._core.p(), model.coef()[order] * scales, np.array([model.error])

    before, best = picture(), model.best_addition()
    rng = np.random.default_rng(2)
    for _ in range(100):
        outside = [i for i in range(20) if i not in model.chosen]
        extra = rng.choice(outside, 3, replace=False)
        for i in extra:
            model.add(int(i))
        for i in rng.permutation(extra):
            model.drop(int(i))
        leaving = int(rng.choice(start))
        model.drop(leaving)
        model.add(leaving)
    for old, new in zip(before, picture(), strict=True):
        assert_allclose(new, old, rtol=1e-9, atol=1e-9 * np.abs(old).max())
    again = model.best_addition()
    assert best.feature == again.feature
    assert_allclose(best.error, again.error, rtol=1e-9)
    assert_allclose(model.error, judge_of(case).error_of(start), rtol=1e-9)


@pytest.mark.parametrize("noise", [1e-3, 1e-5, 1e-7])
def test_rows_of_which_little_is_left_are_computed_again(monkeypatch, noise):
    """Without a penalty, columns that are copies but for a little noise, all of them chosen."""
    rng = np.random.default_rng(0)
    base = rng.standard_normal((60, 4))
    X = np.hstack([base, base @ rng.standard_normal((4, 4)) + noise * rng.standard_normal((60, 4))])
    Y = X @ rng.standard_normal((8, 1)) + 0.1 * noise * rng.standard_normal((60, 1))
    renewed = []
    renew = InMemory._renew
    monkeypatch.setattr(InMemory, "_renew", lambda *given: renewed.append(1) or renew(*given))
    expected = search(design_of(X), Y, 0.0, 8, form="passes")
    found = search(design_of(X), Y, 0.0, 8, form="memory")
    assert renewed
    assert subsets(found) == subsets(expected)
    for k, step in expected.steps.items():
        assert_allclose(found.steps[k].error, step.error, rtol=max(1e-9, 1e-14 / noise))


def test_copies_do_not_see_each_other_change():
    case = correlated(1, m=30, n=10)
    model = model_of(case)
    for i in (1, 4, 7):
        model.add(i)
    expected = model.duplicate()
    best = expected.best_addition()
    trials = [model.duplicate() for _ in range(3)]
    for trial, i in zip(trials, (1, 4, 7), strict=True):
        trial.drop(i)
    model.add(2)
    model.best_addition()
    model.drop(4)
    for trial, i in zip(trials, (1, 4, 7), strict=True):
        alone = model_of(case)
        for j in (1, 4, 7):
            if j != i:
                alone.add(j)
        for some in ([j for j in range(10) if j != i], range(10)):
            assert trial.best_addition(some).feature == (alone.best_addition(some).feature)
        trial.add(0)
        alone.add(0)
        assert_allclose(trial.error, alone.error, rtol=1e-10)
        assert_allclose(trial.best_addition().error, alone.best_addition().error)
    assert expected.best_addition() == best


def test_some_features_only_and_none():
    model = model_of(make("tall", m=20, n=6, seed=6))
    model.add(2)
    assert model.best_addition([5, 2, 1]).feature in (1, 5)
    assert model.best_addition([2]) is None
    assert model.best_addition([]) is None
    assert model.best_removal([]) is None
    first = model.best_addition((3, 4))
    assert model.best_addition((3, 4)) == first
    with pytest.raises(InputError, match="already selected"):
        model.add(2)
    with pytest.raises(InputError, match="not selected"):
        model.drop(5)


def test_room_for_more_features_than_were_announced():
    case = make("tall", m=60, n=30, seed=1)
    model = model_of(case, size=2)
    for i in range(25):
        model.add(i)
    assert_allclose(model.error, judge_of(case).error_of(range(25)), rtol=1e-9)


def test_costs_are_weighed_as_in_the_other_forms():
    case = make("tall", m=60, n=15, seed=3)
    costs = Costs(np.random.default_rng(0).uniform(0.5, 5.0, 15), 20.0)
    expected, found = (
        search(design_of(case.X), case.Y, 1.0, 8, form=form, costs=costs)
        for form in ("passes", "memory")
    )
    same_steps(expected, found)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("how", ["forward", "floating", "swap"])
def test_threads_change_no_bit(monkeypatch, how, loss):
    monkeypatch.setattr(TUNING, "shared_from", 0)
    case = make("targets", m=50, n=300, T=2, seed=4, weighted=True)
    trails = []
    for n in (1, 2, 5):
        with Threads(n) as crew:
            design = design_of(case.X, case.sw)
            design.threads = crew
            trails.append(search(design, case.Y, 0.1, 6, search=how, form="memory", loss=loss))
    for trail in trails[1:]:
        assert [(m.feature, m.error) for m in trail.moves] == [
            (m.feature, m.error) for m in trails[0].moves
        ]
        for k, step in trail.steps.items():
            assert np.array_equal(step.coef, trails[0].steps[k].coef)


# --- exchanges ------------------------------------------------------------------------------------


@examples(60)
@given(problems(max_m=30), st.integers(1, 8))
def test_searches_with_exchanges_against_refits(case, size):
    assume(np.ptp(case.Y) > 0)  # a constant target is refused before any search
    size = min(size, case.X.shape[1])
    design = design_of(case.X, weights_of(case))
    trail = search(design, case.Y, case.alpha, size, search="swap", form="memory")
    check_swaps(trail, judge_of(case), size)


@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 30.0])
def test_many_exchanges(alpha, targets):
    exchanged = 0
    for seed in range(4):
        case = correlated(seed, m=24, n=12, alpha=alpha)
        rng = np.random.default_rng(seed)
        more = case.X @ rng.standard_normal((12, targets - 1))
        more += rng.standard_normal((24, targets - 1))
        case = replace(case, Y=np.hstack([case.Y, more]))
        trail = search(design_of(case.X), case.Y, alpha, 8, search="swap", form="memory")
        exchanged += check_swaps(trail, judge_of(case), 8)
        other = search(design_of(case.X), case.Y, alpha, 8, search="swap", form="passes")
        assert moves_of(trail) == moves_of(other)
        assert_allclose(trail.errors, other.errors, rtol=1e-9)
    assert exchanged > 1


@pytest.mark.parametrize("loss", ["squared", *LOSSES])
@pytest.mark.parametrize("kind", ["tall", "duplicate", "targets", "ties", "wide"])
@pytest.mark.parametrize("alpha", [1e-6, 1.0, 100.0])
def test_the_best_exchange_against_refits(kind, alpha, loss):
    coded, T = CLASSES[loss].coded, 3 if kind == "targets" else 1
    case = make(kind, 24, 9, T=T, seed=4, weighted=True, alpha=alpha, classification=coded)
    judge, design = judge_of(case, loss), design_of(case.X, case.sw, "uneven")
    model = InMemory(design, case.Y, alpha, CLASSES[loss])
    for i in (3, 5, 1, 7):
        model.add(i)
    model.drop(5)
    for drop in model.chosen:
        left = [i for i in model.chosen if i != drop]
        for some in (range(9), range(0, 9, 2)):
            others = [i for i in some if i not in model.chosen]
            errors = {i: judge.error_of([*left, i]) for i in others}
            least = min(errors.values())
            found = model.best_exchange(drop, others, least * (1 + 1e-8) + 1e-12)
            assert_allclose(found.error, least, rtol=1e-9, atol=1e-13)
            assert_allclose(errors[found.feature], least, rtol=1e-9, atol=1e-13)
            assert model.best_exchange(drop, others, least * (1 - 1e-8) - 1e-12) is None


def test_a_removal_that_changes_coefficients_a_lot_is_tried_out():
    """One column is another and a little noise: bounds from coefficients have too few digits."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6))
    X[:, 5] = X[:, 0] + 1e-5 * rng.standard_normal(30)
    Y = 1e5 * (X[:, [5]] - X[:, [0]]) + X[:, [1]] + 0.1 * rng.standard_normal((30, 1))
    model = InMemory(design_of(X), Y, 1e-14, SQUARED)
    for i in (0, 5, 1):
        model.add(i)
    assert model._core.is_steep()
    trail = search(design_of(X), Y, 1e-14, 5, search="swap", form="memory")
    other = search(design_of(X), Y, 1e-14, 5, search="swap", form="passes")
    assert moves_of(trail) == moves_of(other)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("how", ["floating", "swap", "backward"])
def test_searches_that_turn_back_by_every_loss(loss, how):
    coded = CLASSES[loss].coded
    for seed, targets in ((1, 1), (2, 3)):
        case = make("ties", m=40, n=13, T=targets, seed=seed, weighted=True, classification=coded)
        asked = {"loss": loss, "search": how}
        size = 0 if how == "backward" else 7
        expected = search(design_of(case.X, case.sw), case.Y, 0.1, size, form="passes", **asked)
        got = search(design_of(case.X, case.sw), case.Y, 0.1, size, form="memory", **asked)
        assert moves_of(expected) == moves_of(got)
        errors = [[move.error for move in of.moves] for of in (expected, got)]
        assert_allclose(errors[0], errors[1], rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("how", ["forward", "floating", "swap"])
def test_a_search_that_was_stopped_goes_on_with_the_same_numbers(tmp_path, how, costs):
    case = correlated(1, m=24, n=12)
    prices = Costs(np.random.default_rng(0).uniform(0.5, 5.0, 12), 20.0) if costs else None
    options = {"search": how, "costs": prices}

    def searched(**more):
        return search(design_of(case.X), case.Y, case.alpha, 7, **options, **more)

    whole = searched()
    halfway = [i for i, move in enumerate(whole.moves, 1) if move.action == "drop"]
    assert halfway or how != "swap"
    for stop in (2, *halfway, len(whole.moves) - 1):
        file = tmp_path / f"{stop}.json"
        cut = searched(checkpoint=file, watch=lambda trail, stop=stop: len(trail.moves) >= stop)
        assert len(cut.moves) == stop
        again = searched(checkpoint=file)
        assert moves_of(again) == moves_of(whole)
        assert_array_equal(again.errors, whole.errors)
        for k, step in whole.steps.items():
            assert_array_equal(step.coef, again.steps[k].coef)


def test_exchanges_count_by_the_criterion_alone_where_features_have_costs():
    """The answer cannot be improved by one exchange that the budget allows."""
    for seed in range(6):
        case = correlated(seed, m=30, n=10)
        rng = np.random.default_rng(seed)
        costs = Costs(rng.uniform(0.5, 5.0, 10), 12.0)
        trail = search(
            design_of(case.X), case.Y, case.alpha, 6, search="swap", form="memory", costs=costs
        )
        judge = judge_of(case)
        chosen = list(trail.steps[max(trail.steps)].subset)
        now = judge.error_of(chosen)
        for drop in chosen:
            left = [i for i in chosen if i != drop]
            for i in set(range(10)) - set(chosen):
                if costs.of[[*left, i]].sum() <= costs.budget:
                    assert judge.error_of([*left, i]) >= now * (1 - 1e-8)
