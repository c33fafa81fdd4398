"""Floating, backward and swapping searches equal their slow twins, move by move."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from problems import make, problems
from rls.comparing import (
    FORMS,
    OTHERS,
    Replay,
    check_backward,
    check_best_kept,
    check_floating,
    check_swaps,
    correlated,
    design_of,
    examples,
    judge_of,
    search,
    subsets,
    weights_of,
)
from slow_twins import rls
from sparsepath import InputError, SparseRLSRegressor
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.rls.criteria.table import CLASSES
from sparsepath.rls.engines import held_rows, make_model
from sparsepath.rls.parameters import SearchSpec
from sparsepath.rls.passes.engine import InPasses

KINDS = ("tall", "wide", "duplicate", "constant", "collinear", "targets", "ties", "sparse")


def size_for(case, most=5):
    counted = int(np.count_nonzero(weights_of(case)))
    return min(most, case.X.shape[1], counted - 3)


def all_forms(case, loss, size, **options):
    """Trails of all forms that apply, over one block and over several."""
    for form in FORMS[loss] if case.Y.shape[1] == 1 or loss == "squared" else ("passes",):
        for layout in ("one", "uneven"):
            design = design_of(case.X, weights_of(case), layout)
            yield search(design, case.Y, case.alpha, size, loss=loss, form=form, **options)


# --- against the twins, decision by decision ------------------------------------------------------


@examples(20)
@given(problems(kinds=KINDS, max_m=14, max_n=8), st.sampled_from([None, 1e-2, 1e-5]))
def test_floating(case, epsilon):
    judge, size = judge_of(case), size_for(case)
    epsilon = epsilon and epsilon * judge.empty
    for trail in all_forms(case, "squared", size, search="floating", epsilon=epsilon):
        check_floating(trail, judge, size, epsilon)


@examples(12)
@given(problems(kinds=KINDS, max_m=14, max_n=7))
def test_backward(case):
    judge = judge_of(case)
    for trail in all_forms(case, "squared", 0, search="backward"):
        check_backward(trail, judge, 0)


@examples(10)
@given(problems(kinds=KINDS, max_m=12, max_n=7))
def test_swaps(case):
    judge, size = judge_of(case), min(3, size_for(case))
    for trail in all_forms(case, "squared", size, search="swap"):
        check_swaps(trail, judge, size)


@examples(10)
@given(
    problems(kinds=["tall", "collinear", "ties"], max_m=12, max_n=6, classification=True),
    st.sampled_from(OTHERS),
)
def test_other_losses(case, loss):
    judge, size = judge_of(case, loss), min(3, size_for(case))
    for trail in all_forms(case, loss, size, search="floating"):
        check_floating(trail, judge, size)
    for trail in all_forms(case, loss, size, search="swap"):
        check_swaps(trail, judge, size)
    for trail in all_forms(case, loss, 0, search="backward"):
        check_backward(trail, judge, 0)


@pytest.mark.parametrize("seed", range(4))
def test_forced_and_forbidden(seed):
    case = make("collinear", m=16, n=8, alpha=1e-2, seed=seed, weighted=True)
    options = {"forced": (6, 1), "forbidden": (3,)}
    judge = judge_of(case, **options)
    design = design_of(case.X, case.sw, "three")
    run = {**options, "search": "floating"}
    check_floating(search(design, case.Y, case.alpha, 5, **run), judge, 5)
    epsilon = 1e-4 * judge.empty
    trail = search(design, case.Y, case.alpha, 5, epsilon=epsilon, **run)
    check_floating(trail, judge, 5, epsilon)
    check_swaps(search(design, case.Y, case.alpha, 4, **{**run, "search": "swap"}), judge, 4)
    trail = search(design, case.Y, case.alpha, 2, **{**run, "search": "backward"})
    check_backward(trail, judge, 2)
    assert set(trail.steps[2].subset) == {1, 6}


# --- against the twins' own results ---------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 5, 8, 10, 11])
def test_floating_is_algorithm_1_of_paper_002(seed):
    case = correlated(seed)
    best, moves = rls.floating_rls(case.X, case.Y, case.alpha, 1e-6, max_size=6)
    assert "drop" in {kind for kind, _, _ in moves}
    for trail in all_forms(case, "squared", 6, search="floating", epsilon=1e-6):
        assert [(m.action, m.feature) for m in trail.moves] == [m[:2] for m in moves]
        assert_allclose([m.error for m in trail.moves], [m[2] for m in moves], rtol=1e-9)
        assert {k: set(s.subset) for k, s in trail.steps.items()} == {
            k: set(subset) for k, (subset, _) in best.items()
        }


@pytest.mark.parametrize("seed", [2, 4, 6, 9])
def test_regrets(seed):
    """Where floating drops and swaps exchange again and again."""
    case = correlated(seed)
    judge, design = judge_of(case), design_of(case.X)
    trail = search(design, case.Y, case.alpha, 6, search="floating")
    assert check_floating(trail, judge, 6) >= 3
    trail = search(design, case.Y, case.alpha, 5, search="swap")
    assert check_swaps(trail, judge, 5) >= 3


@pytest.mark.parametrize("seed", range(4))
def test_backward_and_swaps_against_the_twins_paths(seed):
    case = make("tall", m=16, n=6, seed=seed, alpha=0.3, weighted=True)
    design = design_of(case.X, case.sw)
    path = rls.backward(case.X, case.Y, 0, case.alpha, sw=case.sw)
    trail = search(design, case.Y, case.alpha, 0, search="backward")
    assert trail.stopped == "min_features"
    assert {k: set(s) for k, s in subsets(trail).items()} == {len(s): set(s) for s, _, _ in path}
    for subset, value, se in path:
        step = trail.steps[len(subset)]
        assert_allclose((step.error, step.error_se), (value, se), rtol=1e-9)
    path = rls.forward_with_swaps(case.X, case.Y, 4, case.alpha, sw=case.sw)
    trail = search(design, case.Y, case.alpha, 4, search="swap")
    assert {k: set(s) for k, s in subsets(trail).items()} == {len(s): set(s) for s, _, _ in path}


# --- what is kept ---------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["forward", "floating", "backward", "swap"])
@pytest.mark.parametrize("cv", ["loo", 3])
def test_moves_replay_to_the_subsets_in_order_of_entry(how, cv):
    for seed in range(4):
        case = correlated(seed)
        model = SparseRLSRegressor(5, alpha=1e-3, search=how, cv=cv).fit(case.X, case.Y[:, 0])
        path = model.path_
        met = {tuple(path.start), *path.replay()}
        if how == "backward":  # all columns enter at once
            met = {tuple(sorted(s)) for s in met}
        for subset in path.subsets:
            assert (tuple(sorted(subset)) if how == "backward" else subset) in met


def test_the_best_of_each_size_is_kept():
    met_twice = 0
    for seed in range(8):
        case = correlated(seed)
        trail = search(design_of(case.X), case.Y, case.alpha, 6, search="floating")
        replay = Replay(trail, judge_of(case))
        sizes = [0]
        while replay.moves:
            sizes.append(len(replay.make()))
        met_twice += len(sizes) > len(set(sizes))
        check_best_kept(trail, replay)
        forward = search(design_of(case.X), case.Y, case.alpha, 6)
        for k, step in trail.steps.items():
            if all(move.action == "add" for move in trail.moves[:k]):
                assert step.error <= forward.steps[k].error * (1 + 1e-9)
    assert met_twice


def test_floating_without_epsilon_goes_on_to_the_size_asked():
    case = make("tall", m=40, n=10, seed=3)
    trail = search(design_of(case.X), case.Y, 1.0, 10, search="floating")
    assert trail.stopped == "max_features"
    assert set(trail.steps) == set(range(11))
    trail = search(design_of(case.X), case.Y, 1.0, 10, search="floating", epsilon=0.05)
    assert trail.stopped == "epsilon"


# --- the two short-cuts as building blocks --------------------------------------------------------


def state_of(case, loss="squared", **options):
    design = design_of(case.X, weights_of(case), **options)
    return InPasses(held_rows(design, case.Y, 20), case.alpha, CLASSES[loss], 20)


@pytest.mark.parametrize("kind", ["tall", "collinear", "offset", "scaled", "targets"])
def test_a_hundred_additions_and_removals_come_back_to_the_start(kind):
    case = make(kind, m=60, n=20, T=3 if kind == "targets" else 1, seed=1)
    X = case.X - case.X.mean(0)
    alpha = 1e-6 * np.linalg.eigvalsh(X.T @ X)[-1]
    case = make(kind, m=60, n=20, T=3 if kind == "targets" else 1, seed=1, alpha=alpha)
    state = state_of(case, layout="uneven")
    start = [3, 17, 5, 11]
    for i in start:
        state.add(i)
    judge = judge_of(case)

    def picture():
        order = np.argsort(state.chosen)
        scales = np.sqrt(state.design.squares[state.chosen])[order, None]
        return state.coef()[order] * scales, np.array([state.error, state.standard_error()])

    before = picture()
    best = state.best_addition()
    rng = np.random.default_rng(2)
    for _ in range(100):
        outside = [i for i in range(20) if i not in state.chosen]
        extra = rng.choice(outside, 3, replace=False)
        for i in extra:
            state.add(int(i))
        for i in rng.permutation(extra):
            state.drop(int(i))
        leaving = int(rng.choice(start))
        state.drop(leaving)
        state.add(leaving)
    assert sorted(state.chosen) == sorted(start)
    for old, new in zip(before, picture(), strict=True):
        assert_allclose(new, old, rtol=1e-9, atol=1e-9 * np.abs(old).max())
    again = state.best_addition()
    assert (best.feature, best.action) == (again.feature, again.action)
    assert_allclose(best.error, again.error, rtol=1e-9)
    assert_allclose(state.error, judge.error_of(start), rtol=1e-9)


@pytest.mark.parametrize(
    ("loss", "form"), [(loss, form) for loss, forms in FORMS.items() for form in forms]
)
def test_any_sequence_of_changes_leaves_the_right_neighbours(form, loss):
    """What is known of candidates follows wherever the model goes: one change, several, or none."""
    case = make("collinear", m=20, n=9, seed=4, alpha=0.01, weighted=True, classification=True)
    design = design_of(case.X, case.sw, "three")
    model = make_model(design, case.Y, case.alpha, SearchSpec(loss=CLASSES[loss], form=form))
    fresh = judge_of(case, loss)
    rng = np.random.default_rng(5)
    for step in range(40):
        inside = model.chosen
        grow = len(inside) < 2 or (len(inside) < 6 and rng.random() < 0.5)
        feature = int(rng.choice([i for i in range(9) if (i in inside) != grow]))
        (model.add if grow else model.drop)(feature)
        assert_allclose(model.error, fresh.error_of(model.chosen), rtol=1e-9, atol=1e-13)
        if step % 3 == 0:
            continue
        before = model.error
        best = model.best_addition()
        again = model.best_addition()
        assert again.feature == best.feature
        assert_allclose(again.error, best.error, rtol=1e-12)
        subset = (*model.chosen, best.feature)
        assert_allclose(best.error, fresh.error_of(subset), rtol=1e-9, atol=1e-13)
        others = [fresh.error_of((*model.chosen, i)) for i in range(9) if i not in model.chosen]
        assert best.error <= min(others) + fresh.near(min(others))
        worst = model.best_removal()
        rest = [i for i in model.chosen if i != worst.feature]
        assert_allclose(worst.error, fresh.error_of(rest), rtol=1e-9, atol=1e-13)
        assert model.error == before


def test_updates_among_some_features_only():
    case = make("tall", m=20, n=6, seed=6)
    for loss in ("squared", "huber"):
        state, judge = state_of(case, loss), judge_of(case, loss)
        state.add(2)
        some = state.best_addition([5, 2, 1])
        errors = {i: judge.error_of((2, i)) for i in (1, 5)}
        assert some.feature == min(errors, key=errors.get)
        assert state.best_addition([2]) is None
        assert state.best_addition([]) is None
        state.add(4)
        assert state.best_removal([2]).feature == 2
        assert state.best_removal([]) is None


@pytest.mark.parametrize("kind", ["tall", "collinear", "targets", "ties", "scaled"])
@pytest.mark.parametrize("alpha", [1e-6, 1.0, 100.0])
def test_the_best_of_many_removals_is_the_best_of_all(kind, alpha):
    """All removals are judged by one pass."""
    case = make(kind, 70, 30, T=2 if kind == "targets" else 1, seed=8, weighted=True, alpha=alpha)
    state = state_of(case, layout="uneven")
    judge = judge_of(case)
    for i in np.random.default_rng(9).permutation(30)[:26].tolist():
        state.add(i)
    for k in range(26, 12, -1):
        errors = {i: judge.error_of([j for j in state.chosen if j != i]) for i in state.chosen}
        best, least = state.best_removal(), min(errors.values())
        assert_allclose([best.error, errors[best.feature]], least, rtol=1e-8)
        some = sorted(errors)[::2]
        part = state.best_removal(some)
        assert part.feature in some
        assert_allclose(part.error, min(errors[i] for i in some), rtol=1e-8)
        state.drop(best.feature)
        assert len(state.chosen) == k - 1
        assert_allclose(state.error, best.error, rtol=1e-9)
    assert_allclose(state.error, judge.error_of(state.chosen), rtol=1e-9)


@pytest.mark.parametrize("kind", ["tall", "duplicate", "targets", "ties", "wide"])
@pytest.mark.parametrize("alpha", [1e-6, 1.0, 100.0])
def test_exchanges_are_ruled_out_where_refits_rule_them_out(kind, alpha):
    case = make(kind, 24, 9, T=2 if kind == "targets" else 1, seed=4, weighted=True, alpha=alpha)
    judge, state = judge_of(case), state_of(case, layout="uneven")
    for i in (3, 5, 1, 7):
        state.add(i)
    state.drop(5)
    for drop in state.chosen:
        others = [i for i in range(9) if i not in state.chosen]
        left = [i for i in state.chosen if i != drop]
        least = min(judge.error_of([*left, i]) for i in others)
        found = state.best_exchange(drop, others, least * (1 + 1e-8))
        assert_allclose(found.error, least, rtol=1e-9)
        assert state.best_exchange(drop, others, least * (1 - 4e-8)) is None


def test_an_empty_model_has_nothing_to_drop():
    case = make("tall", m=20, n=6, seed=6)
    assert state_of(case).best_removal() is None


def test_changes_that_cannot_be_made_are_refused():
    case = make("duplicate", m=20, n=4, seed=7)
    state = state_of(case)
    state.add(1)
    with pytest.raises(InputError, match="already selected"):
        state.add(1)
    with pytest.raises(InputError, match="not selected"):
        state.drop(2)
    twin = next(i for i in range(4) for j in range(i) if np.array_equal(case.X[:, i], case.X[:, j]))
    source = next(j for j in range(twin) if np.array_equal(case.X[:, twin], case.X[:, j]))
    plain = InPasses(held_rows(design_of(case.X), case.Y, 2), 0.0, SQUARED, 2)
    plain.add(source)
    with pytest.raises(InputError, match="collinear"):
        plain.add(twin)
    assert plain.chosen == [source]


@pytest.mark.parametrize(
    "how", [{}, {"cv": 5}, {"loss": "absolute"}, {"feature_costs": [1.0] * 12}]
)
def test_a_forward_search_stops_before_a_gain_below_epsilon(how):
    random = np.random.default_rng(3)
    X = random.standard_normal((60, 12))
    y = X[:, :4] @ [3.0, 2.0, 1.0, 0.5] + random.standard_normal(60)
    given = {"validation": None, "choose": "min", **how}
    errors = SparseRLSRegressor(**given).fit(X, y).path_.errors
    gains = -np.diff(errors)
    epsilon = float(np.sort(gains)[-3:].mean())  # between the third and the first of the gains
    stops = int(np.argmax(gains < epsilon))
    path = SparseRLSRegressor(epsilon=epsilon, **given).fit(X, y).path_
    assert 0 < stops < len(gains)
    assert list(path.sizes) == list(range(stops + 1))
    assert_allclose(path.errors, errors[: stops + 1], rtol=1e-12)
    assert path.stopped == "epsilon"
