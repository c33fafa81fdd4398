"""Start sets, and features that come after others, against refits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold

from rls.comparing import (
    Judge,
    Replay,
    check_backward,
    check_best_kept,
    check_choice,
    check_floating,
    check_forward,
    check_steps,
    check_swaps,
    correlated,
    design_of,
    examples,
    search,
)
from slow_twins import rls
from sparsepath import InputError, SparseRankRLS, SparseRLSRegressor

CHECKS = {
    "forward": check_forward,
    "floating": check_floating,
    "backward": check_backward,
    "swap": check_swaps,
}
CRITERIA = {"loo": None, "folds": list(KFold(4).split(np.zeros((20, 1))))}


def judge_for(case, splits, kind=Judge, **options):
    error = rls.loo_error if splits is None else rls.kfold_error(splits)
    return kind(case.X, case.Y, case.alpha, error=error, **options)


# --- start sets -----------------------------------------------------------------------------------


@examples(20)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["forward", "floating", "swap"]),
    st.sampled_from(sorted(CRITERIA)),
    st.permutations(range(9)),
    st.integers(0, 3),
)
def test_a_search_from_a_start_set(seed, how, criterion, order, n_forced):
    case, splits = correlated(seed), CRITERIA[criterion]
    forced, start = tuple(order[:n_forced]), tuple(order[n_forced : n_forced + 3])
    trail = search(
        design_of(case.X),
        case.Y,
        case.alpha,
        6,
        search=how,
        forced=forced,
        start=start,
        splits=splits,
    )
    judge = judge_for(case, splits)
    check_steps(trail, judge)
    replay = Replay(trail, judge)
    assert trail.start == forced
    for feature in start:
        assert replay.moves[0].action == "add"
        assert replay.moves[0].feature == feature
        replay.make()
    while replay.moves:
        before, action = replay.subset, replay.moves[0].action
        if action == "add":
            moves = {i: (*before, i) for i in judge.additions(before)}
            left = trail.moves[len(trail.moves) - len(replay.moves) - 1]
            if how == "swap" and left.action == "drop":  # the other half of an exchange
                moves.pop(left.feature)
        else:
            assert replay.moves[0].feature not in forced
            moves = {i: tuple(j for j in before if j != i) for i in before if i not in forced}
        taken = replay.make()
        if how != "swap" or action == "add":
            check_choice(moves, taken, judge)
    check_best_kept(trail, replay)
    assert set(forced) <= set(replay.subset)
    if how == "forward":
        assert set(start) <= set(replay.subset)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_backward_from_a_start_set(criterion):
    case, splits = correlated(5), CRITERIA[criterion]
    trail = search(
        design_of(case.X),
        case.Y,
        case.alpha,
        1,
        search="backward",
        start=(7, 2, 4, 8),
        forced=(3,),
        splits=splits,
    )
    judge = judge_for(case, splits, forced=(3,), forbidden=(0, 1, 5, 6))
    check_backward(trail, judge, 1)


@pytest.mark.parametrize("cv", ["loo", 4])
def test_a_poor_start_is_dropped_again(cv):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    y = X[:, 0] + X[:, 1] + 0.1 * rng.standard_normal(60)
    for how in ("floating", "swap"):
        model = SparseRLSRegressor(4, search=how, start=[6, 7], cv=cv).fit(X, y)
        assert set(model.path_.subset(2)) == {0, 1}
        model = SparseRLSRegressor(4, search=how, forced=[6], start=[7], cv=cv).fit(X, y)
        assert all(6 in s for s in model.path_.subsets)
        assert set(model.path_.subset(3)) == {0, 1, 6}
    forward = SparseRLSRegressor(4, start=[6, 7], cv=cv).fit(X, y)
    assert forward.path_.subset(4) in ((6, 7, 0, 1), (6, 7, 1, 0))


def test_a_search_from_a_start_set_can_be_resumed(tmp_path):
    case = correlated(3)
    for how in ("forward", "floating", "swap", "backward"):
        options = {"search": how, "start": [8, 2, 5, 1], "alpha": 1e-3, "choose": "min"}
        whole = SparseRLSRegressor(**options).fit(case.X, case.Y[:, 0]).path_
        file = tmp_path / how
        SparseRLSRegressor(
            **options, checkpoint=file, callback=lambda path: len(path.moves) > 2
        ).fit(case.X, case.Y[:, 0])
        again = SparseRLSRegressor(**options, checkpoint=file).fit(case.X, case.Y[:, 0]).path_
        assert again.subsets == whole.subsets
        np.testing.assert_array_equal(again.errors, whole.errors)


# --- hierarchies ----------------------------------------------------------------------------------

PARENTS = {4: (0, 1), 5: (1,), 6: (4, 2), 8: (3,)}


class Ordered(Judge):
    """The twin's view of what may enter and leave."""

    def __init__(self, *args, parents=PARENTS, **options):
        self.parents = parents
        super().__init__(*args, **options)

    def additions(self, subset):
        return [i for i in super().additions(subset) if set(self.parents.get(i, ())) <= set(subset)]

    def removals(self, subset):
        needed = {p for i in subset for p in self.parents.get(i, ())}
        return [i for i in super().removals(subset) if i not in needed]


@examples(30)
@given(st.integers(0, 10**6), st.sampled_from(sorted(CHECKS)), st.sampled_from(sorted(CRITERIA)))
def test_children_come_after_their_parents(seed, how, criterion):
    case, splits = correlated(seed), CRITERIA[criterion]
    size = 0 if how == "backward" else 6
    trail = search(
        design_of(case.X), case.Y, case.alpha, size, search=how, parents=PARENTS, splits=splits
    )
    CHECKS[how](trail, judge_for(case, splits, Ordered), size)
    for step in trail.steps.values():
        assert all(set(PARENTS.get(i, ())) <= set(step.subset) for i in step.subset)


def interactions(seed=0, m=80):
    import pandas as pd

    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((m, 3)), columns=["a", "b", "c"])
    for first, second in ("ab", "ac", "bc"):
        X[first + second] = X[first] * X[second]
    y = X["ab"] + 0.4 * X["a"] - 0.4 * X["b"] + 0.1 * rng.standard_normal(m)
    return X, y, {"ab": ["a", "b"], "ac": ["a", "c"], "bc": ["b", "c"]}


@pytest.mark.parametrize("how", CHECKS)
def test_by_name_and_by_number(how):
    X, y, parents = interactions()
    free = SparseRLSRegressor(search=how).fit(X, y)
    assert free.path_.names(1) == ("ab",)
    named = SparseRLSRegressor(search=how, parents=parents).fit(X, y)
    numbered = SparseRLSRegressor(search=how, parents={3: [0, 1], 4: [0, 2], 5: [1, 2]}).fit(X, y)
    assert named.path_.subsets == numbered.path_.subsets
    assert set(named.path_.names(3)) == {"a", "b", "ab"}
    for subset in named.path_.subsets:
        assert all({0, 1} <= set(subset) for i in subset if i == 3)
    ranked = SparseRankRLS(search=how, parents=parents).fit(X, y)
    assert set(ranked.path_.names(3)) == {"a", "b", "ab"}


@pytest.mark.parametrize("how", ["forward", "floating", "backward"])
def test_groups_of_columns_in_a_hierarchy(how):
    X, y, _ = interactions()
    labels = ["a", "b", "c", "ab", "other", "other"]
    parents = {"ab": ["a", "b"], "bc": ["ab", "ac"]}  # a parent in its own group comes with it
    path = SparseRLSRegressor(search=how, feature_groups=labels, parents=parents).fit(X, y).path_
    for subset in path.subsets:
        assert (4 in subset) == (5 in subset)
        assert 3 not in subset or {0, 1} <= set(subset)
        assert 5 not in subset or 3 in subset
    assert max(path.sizes) == 6


def test_what_cannot_be_is_refused():
    X, y, parents = interactions()
    for options, words in [
        ({"parents": {"ab": ["a", "d"]}}, "no column 'd'"),
        ({"parents": {"ab": "a"}}, "a list of columns"),
        ({"parents": {"a": ["b"], "b": ["ab"], "ab": ["a"]}}, "is its own parent"),
        ({"parents": parents, "forced": ["ab", "a"]}, "not all its parents"),
        ({"parents": parents, "start": ["bc"]}, "not all its parents"),
        ({"start": ["a"], "forbidden": ["a"]}, "'a' is both in the start set and forbidden"),
        ({"start": ["a", "b"], "max_features": 1}, "less than the 2 features"),
        ({"start": [9]}, "no column 9"),
    ]:
        with pytest.raises(InputError, match=words):
            SparseRLSRegressor(**options).fit(X, y)
    constant = X.assign(a=1.0)
    with pytest.raises(InputError, match="'a' is constant and cannot be in the start set"):
        SparseRLSRegressor(start=["a"]).fit(constant, y)
    with pytest.warns(match="no feature|every remaining feature"):
        path = SparseRLSRegressor(parents=parents, forbidden=["a"]).fit(X, y).path_
    assert not {"ab", "ac"} & set(path.names(max(path.sizes)))
