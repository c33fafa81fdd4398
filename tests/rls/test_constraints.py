"""What every state of a path must hold to, in every search, cut or whole."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold

from rls.comparing import correlated, design_of, examples
from slow_twins import rls
from sparsepath import InputError, PathWarning, SparseRLSRegressor
from sparsepath.rls import PastOneSE, Patience, Tolerance
from sparsepath.rls.constraints import Constraints
from sparsepath.rls.driver import run
from sparsepath.rls.parameters import SearchSpec
from sparsepath.rls.update import Costs
from sparsepath.system.tuning import TUNING

SEARCHES = ("forward", "floating", "backward", "swap")


# --- random problems with every constraint --------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rules:
    """What a set must be, said once more and without arrays."""

    n: int
    most: float
    forced: tuple
    forbidden: tuple
    groups: tuple  # a partition of the columns
    parents: dict
    costs: np.ndarray
    budget: float

    def hold(self, subset):
        there = set(subset)
        whole = all(there.isdisjoint(g) or there.issuperset(g) for g in self.groups)
        born = all(there.issuperset(self.parents.get(i, ())) for i in there)
        few = len(there) <= self.most and self.costs[list(there)].sum() <= self.budget + 1e-9
        return whole and born and few and there.issuperset(self.forced) and self.allowed(there)

    def allowed(self, there):
        return there.isdisjoint(self.forbidden)

    def close(self, columns):
        """The columns with their groups and parents, and theirs; None if one is forbidden."""
        there = set(columns)
        while True:
            more = there.union(*(g for g in self.groups if there.intersection(g)))
            more = more.union(*(self.parents.get(i, ()) for i in more))
            if more == there:
                return tuple(sorted(there)) if self.allowed(there) else None
            there = more


@st.composite
def constrained(draw):
    """Data, the rules, a start set and how to search."""
    n = draw(st.integers(3, 9))
    order = draw(st.permutations(range(n)))
    labels = draw(st.lists(st.integers(0, n), min_size=n, max_size=n))
    if draw(st.booleans()):
        labels = list(range(n))
    groups = {}
    for i, label in enumerate(labels):
        groups.setdefault(label, []).append(i)
    ranks = draw(st.permutations(range(n + 1)))  # no two groups wait for each other
    parents = {}
    for child in draw(st.lists(st.sampled_from(order), max_size=n, unique=True)):
        above = draw(st.lists(st.sampled_from(order), max_size=2, unique=True))
        parents[child] = tuple(p for p in above if ranks[labels[p]] < ranks[labels[child]])
    costs = np.array(draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n)))
    forbidden = tuple(draw(st.lists(st.sampled_from(order), max_size=2, unique=True)))
    rules = Rules(n, np.inf, (), forbidden, tuple(map(tuple, groups.values())), parents, costs, 0)
    forced = rules.close(draw(st.lists(st.sampled_from(order), max_size=2))) or ()
    start = rules.close([*forced, *draw(st.lists(st.sampled_from(order), max_size=2))]) or forced
    most = draw(st.integers(len(start), n))
    budget = costs[list(start)].sum() + draw(st.sampled_from([0.0, 1.0, 2.5, np.inf]))
    rules = replace(rules, forced=forced, most=most, budget=budget)
    task = SearchSpec(
        search=draw(st.sampled_from(SEARCHES)),
        size=most,
        most=most,
        candidates=tuple(i for i in range(n) if i not in forbidden),
        forced=forced,
        start=tuple(i for i in start if i not in forced),
        parents=parents,
        groups=rules.groups if labels != list(range(n)) else (),
        costs=Costs(costs, budget) if draw(st.booleans()) else None,
        splits=draw(
            st.sampled_from(
                [None, [(np.arange(7, 20), np.arange(7)), (np.arange(13), np.arange(13, 20))]]
            )
        ),
    )
    if task.costs is None:
        rules = replace(rules, budget=np.inf)
    case = correlated(draw(st.integers(0, 10**6)), n=n)
    X = case.X.copy()
    if draw(st.booleans()):  # copies, and a target that is fitted exactly
        X[:, n // 2 :] = X[:, : n - n // 2]
    alpha = draw(st.sampled_from([1e-3, 1.0]))
    return X, X[:, :2].sum(1, keepdims=True) if draw(st.booleans()) else case.Y, alpha, rules, task


def searched(X, Y, alpha, task, **options):
    """Run a search; the warnings that a path is cut short are no matter here."""
    watch = options.pop("watch", None)

    def limited(trail):
        assert len(trail.moves) <= 60 * X.shape[1], f"no end in sight: {trail.moves[-6:]}"
        return watch is not None and watch(trail)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)
        return run(design_of(X), Y, alpha, task, watch=limited, **options)


def sets_after_updates(trail):
    return [frozenset(trail.start), *(after for _, _, after in trail.history())]


@examples(150)
@given(constrained())
def test_no_state_of_a_path_breaks_a_constraint(problem):
    X, Y, alpha, rules, task = problem
    trail = searched(X, Y, alpha, task)
    assert trail.stopped not in ("", "interrupted", "asked to")
    for step in trail.steps.values():
        assert rules.hold(step.subset), f"{step.subset} on the path"
    below = replace(rules, most=np.inf, budget=np.inf) if task.backward else rules
    for number, subset in enumerate(sets_after_updates(trail)):
        assert below.hold(subset), f"{sorted(subset)} after {number} updates"
    if task.backward:
        assert set(sets_after_updates(trail)[-1]) == set(rules.forced)
    assert sum(update.count for update in trail.updates) == len(trail.moves)


@examples(30)
@given(constrained(), st.data())
def test_a_search_cut_at_any_update_goes_on_to_the_same_path(tmp_path_factory, problem, data):
    X, Y, alpha, _, task = problem
    stop = data.draw(st.sampled_from([(), (Patience(2),), (Tolerance(0.05),), (PastOneSE(),)]))
    task = replace(task, rules=stop)
    whole = searched(X, Y, alpha, task)
    folder = tmp_path_factory.mktemp("cut")

    def plain(trail):
        return (
            [(m.action, m.feature, m.error) for m in trail.moves],
            {k: (s.subset, s.error, s.coef.tolist()) for k, s in trail.steps.items()},
            trail.stopped,
            trail.errors,
        )

    for cut in range(1, len(whole.updates) + 1):
        file = folder / f"{cut}.json"
        part = searched(
            X, Y, alpha, task, checkpoint=file, watch=lambda t, cut=cut: len(t.updates) == cut
        )
        assert part.stopped == "asked to"
        for _ in range(2):  # and a search that has ended ends in the same way when run again
            assert plain(searched(X, Y, alpha, task, checkpoint=file)) == plain(whole)


@examples(60)
@given(constrained())
def test_swaps_end_where_no_exchange_that_may_be_made_helps(problem):
    X, Y, alpha, rules, task = problem
    # With costs an exchange is for the most gain per cost, which need not be a gain at all.
    task, rules = (
        replace(task, search="swap", splits=None, costs=None),
        replace(rules, budget=np.inf),
    )
    trail = searched(X, Y, alpha, task)
    if "vanished" in trail.stopped:
        return
    last = sets_after_updates(trail)[-1]
    units = [set(g) for g in (rules.groups if task.groups else ((i,) for i in range(rules.n)))]

    def error(subset):
        return rls.loo_error(X[:, sorted(subset)], Y, alpha)[0]

    for out in [unit for unit in units if unit <= last and rules.hold(last - unit)]:
        for other in [unit for unit in units if not unit & last and rules.hold(last - out | unit)]:
            assert error(last - out | other) > error(last) * (1 - 1e-6), (sorted(last), out, other)


@examples(40)
@given(constrained())
def test_what_may_enter_and_leave_is_what_leads_to_sets_that_hold(problem):
    """The constraints against all single additions and removals, one by one."""
    _, _, _, rules, task = problem
    sets = Constraints(
        task.candidates,
        np.zeros(rules.n, dtype=bool),
        forced=task.forced,
        groups=task.groups,
        parents=task.parents,
        costs=task.costs,
        most=task.most,
    )
    subset = rules.forced
    groups = rules.groups if task.groups else tuple((i,) for i in range(rules.n))
    rng = np.random.default_rng(0)
    for _ in range(12):
        entering = {
            i for g in groups if not set(g) & set(subset) and rules.hold((*subset, *g)) for i in g
        }
        leaving = {
            i
            for g in groups
            if set(g) <= set(subset) and rules.hold(set(subset) - set(g))
            for i in g
        }
        assert set(sets.entering(subset)) == entering
        assert set(sets.leaving(subset)) == leaving
        moves = sorted(entering | leaving)
        if not moves:
            break
        pick = rng.choice(moves)
        unit = set(next(g for g in groups if pick in g))
        subset = tuple(sorted(set(subset) ^ unit))


# --- by example -----------------------------------------------------------------------------------


def noise(m=100, n=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, n)), rng


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("cv", ["loo", KFold(4)])
def test_forced_features_are_in_every_model(search, cv):
    X, rng = noise()
    y = rng.standard_normal(100)
    model = SparseRLSRegressor(forced=[3, 1], search=search, cv=cv).fit(X, y)
    path = model.path_
    assert {1, 3} <= set(model.selected_)
    assert path.sizes == (2, 3, 4, 5)
    assert all({1, 3} <= set(subset) for subset in [path.start, *path.subsets, *path.replay()])
    if search != "backward":
        assert path.start == (3, 1)
    plain = SparseRLSRegressor(search=search, cv=cv).fit(X[:, [3, 1]], y).path_
    assert path.error(2) == pytest.approx(plain.error(2), rel=1e-12)


GROUPS = [0, 0, 0, 0, 1, 1, 2, 3, 3, 4]


@pytest.mark.parametrize("search", SEARCHES)
def test_a_forced_column_brings_its_group_and_none_of_it_leaves(search):
    X, rng = noise(60, 10)
    y = X[:, 0] + X[:, 5] + rng.standard_normal(60)
    options = {"search": search, "feature_groups": GROUPS, "forced": [2], "choose": "min"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)
        path = SparseRLSRegressor(6, **options).fit(X, y).path_
    assert path.sizes[0] == 4
    assert max(path.sizes) <= 6
    assert all({0, 1, 2, 3} <= set(subset) for subset in [*path.subsets, *path.replay()])
    with pytest.raises(InputError, match=r"max_features=2 is less than the 4 features .* groups"):
        SparseRLSRegressor(2, **options).fit(X, y)
    with pytest.raises(InputError, match="'0', '1', '2', '3' form one group"):
        SparseRLSRegressor(6, forbidden=[1], **options).fit(X, y)


def test_the_budget_is_kept_by_exchanges_groups_and_removals():
    X, _ = noise()
    y = 3 * X[:, 2] + X[:, 0] + X[:, 1]
    costs = np.array([1, 1, 9, 1, 1.0])
    for search in SEARCHES:
        options = {"search": search, "choose": "min"}
        path = SparseRLSRegressor(feature_costs=costs, budget=4, **options).fit(X, y).path_
        assert max(costs[list(subset)].sum() for subset in path.subsets) <= 4
        path = SparseRLSRegressor(feature_groups=[0, 0, 0, 0, 1], budget=2, **options).fit(X, y)
        assert set(path.path_.subsets) <= {(), (4,)}
    model = SparseRLSRegressor(search="backward", budget=2, choose="min").fit(X, y)
    assert len(model.selected_) == 2
    for given_as in ("forced", "start"):
        with pytest.raises(InputError, match=r"budget=1.0 is less than the 2 that"):
            SparseRLSRegressor(budget=1, **{given_as: [0, 3]}).fit(X, y)
    larger = SparseRLSRegressor(budget=1, start=[0, 1, 2], search="backward").fit(X, y).path_
    assert larger.sizes == (0, 1)
    assert larger.start == (0, 1, 2)


def test_a_backward_path_has_no_size_above_max_features():
    X, rng = noise(60, 8)
    y = X[:, :6].sum(1) + rng.standard_normal(60)
    whole = SparseRLSRegressor(search="backward", choose="min").fit(X, y)
    path = SparseRLSRegressor(3, search="backward", choose="min").fit(X, y).path_
    assert len(whole.selected_) > 3
    assert path.sizes == (0, 1, 2, 3)
    assert path.subsets == whole.path_.subsets[:4]
    assert [m.feature for m in path.moves] == [m.feature for m in whole.path_.moves]
    for wrong in ("x", -1, 2.5):
        with pytest.raises(InputError, match="max_features="):
            SparseRLSRegressor(wrong, search="backward").fit(X, y)
    with pytest.raises(InputError, match="max_features=1 is less than the 2"):
        SparseRLSRegressor(1, search="backward", forced=[0, 1]).fit(X, y)
    cut = SparseRLSRegressor(3, search="backward", callback=lambda p: len(p.moves) > 1)
    with pytest.warns(PathWarning, match="ends at size 6: .* before it reached max_features"):
        cut.fit(X, y)
    assert cut.path_.sizes == (6,)
    assert not cut.path_.complete


def test_a_child_that_is_forced_needs_forced_parents():
    X, rng = noise()
    y = rng.standard_normal(100)
    with pytest.raises(InputError, match="'4' is forced, but not all its parents"):
        SparseRLSRegressor(forced=[4], start=[0], parents={4: [0]}).fit(X, y)
    path = SparseRLSRegressor(start=[4, 0], parents={4: [0]}, choose="min").fit(X, y).path_
    assert [move.feature for move in path.moves[:2]] == [0, 4]


@pytest.mark.parametrize("search", SEARCHES)
def test_a_group_waits_for_the_parents_of_all_its_columns(search):
    groups, parents = [(0, 1), (2,), (3,), (4,)], {0: (2,), 1: (3,)}
    sets = Constraints(range(5), np.zeros(5, dtype=bool), groups=groups, parents=parents)
    assert sets.entering([2]).tolist() == [3, 4]
    assert sets.entering([3]).tolist() == [2, 4]
    assert sets.entering([2, 3]).tolist() == [0, 1, 4]
    assert sets.leaving([2, 3, 0, 1]) == [0, 1]
    X, rng = noise()
    y = 3 * X[:, 0] + 3 * X[:, 1] + 0.1 * rng.standard_normal(100)
    options = {"search": search, "feature_groups": [0, 0, 1, 2, 3], "parents": {0: [2], 1: [3]}}
    path = SparseRLSRegressor(choose="min", **options).fit(X, y).path_
    for subset in [*path.subsets, *path.replay()]:
        assert {2, 3} <= set(subset) or not {0, 1} & set(subset)


def test_why_nothing_more_can_enter_is_said():
    X, rng = noise()
    y = rng.standard_normal(100)
    for options, words in [
        (
            {"max_features": 3, "feature_groups": [0, 0, 1, 1, 1]},
            "no remaining group of columns fits",
        ),
        (
            {"forbidden": [0], "parents": {2: [0]}},
            "requires a parent, or is in a group with a column",
        ),
        ({"forbidden": [0], "feature_groups": [0, 0, 1, 2, 3]}, "is in a group with a column"),
    ]:
        with pytest.warns(PathWarning, match=words):
            SparseRLSRegressor(**options).fit(X, y)
    with pytest.raises(InputError, match="floating point cannot represent"):
        SparseRLSRegressor(forced=[0]).fit(X, y * 1e-200)
    groups = {"search": "backward", "feature_groups": [0, 0, 1, 2, 3]}
    assert SparseRLSRegressor(forced=[0], **groups).fit(X, y).path_.sizes == (2, 3, 4, 5)


@pytest.mark.parametrize("by_rows", [True, False])
@pytest.mark.parametrize("search", ["forward", "floating", "swap"])
def test_over_splits_a_group_does_not_enter_in_part(monkeypatch, search, by_rows):
    """Four training rows leave room for three columns; all rows tell all columns apart."""
    if not by_rows:
        monkeypatch.setattr(TUNING, "judged_by_rows", 0)
    groups = [(0, 1, 2), (3, 4, 5), (6, 7)]
    options = {"search": search, "feature_groups": [0, 0, 0, 1, 1, 1, 2, 2], "cv": 2, "alpha": 0}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((8, 8))
        y = X @ rng.standard_normal(8) + rng.standard_normal(8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = SparseRLSRegressor(**options, validation=None).fit(X, y).path_
        for subset in path.subsets:
            assert all(set(group) <= {*subset} or not {*group} & {*subset} for group in groups)


def test_what_is_collinear_on_all_rows_is_left_out_of_its_group_over_splits():
    rng = np.random.default_rng(0)
    level = np.arange(40) % 3
    X = np.column_stack([(level[:, None] == np.arange(3)).astype(float), rng.standard_normal(40)])
    y = X @ [1.0, 2.0, 4.0, 0.3] + 0.1 * rng.standard_normal(40)
    model = SparseRLSRegressor(alpha=0, cv=5, feature_groups=[0, 0, 0, 1], validation=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.fit(X, y).path_.subsets == [(), (0, 1), (0, 1, 3)]
