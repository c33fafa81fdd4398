"""Mutual information against all pairs and scikit-learn; searches; the selector."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_selection import mutual_info_regression
from sklearn.utils.estimator_checks import check_estimator

from slow_twins import elm as elm_twin
from slow_twins import information as twin
from sparsepath import (
    MutualInfoRegressor,
    MutualInfoSelector,
    OPELMRegressor,
    mutual_information,
)
from sparsepath._core import neighbors as core
from sparsepath.base import Trail
from sparsepath.data.columns import standardise
from sparsepath.data.synthetic import functional, xor_like
from sparsepath.errors import InputError, PathWarning
from sparsepath.information.kraskov import Estimator
from sparsepath.information.neighbors import choose_neighbors
from sparsepath.information.search import forward_backward
from sparsepath.path.steps import Step
from sparsepath.system.threads import Threads


def drawn(n: int, d: int, seed: int, ties: bool, q: int = 1):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d))
    Y = X[:, :1] ** 2 + random.standard_normal((n, q))
    return (np.round(X), np.round(Y)) if ties else (X, Y)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(8, 40),
    st.integers(1, 4),
    st.integers(0, 10_000),
    st.booleans(),
    st.integers(1, 7),
    st.sampled_from([1, 2]),
)
def test_equals_all_pairs(n, d, seed, ties, k, variant):
    X, Y = drawn(n, d, seed, ties, q=1 + seed % 2)
    found = mutual_information(X, Y, n_neighbors=k, variant=variant, standardize=False, n_threads=1)
    assert found == pytest.approx(twin.kraskov(X, Y, k, variant), abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(8, 60), st.integers(1, 4), st.integers(0, 10_000), st.booleans())
def test_trees_give_the_same_numbers(n, d, seed, ties):
    X, Y = drawn(n, d, seed, ties)
    with Threads(1) as threads:
        for variant in (1, 2):
            both = [
                Estimator(X.T.copy(), Y.T.copy(), 3, variant, threads, use_tree=use)
                .of(range(d))
                .value
                for use in (True, False)
            ]
            assert both[0] == pytest.approx(both[1], abs=1e-12)


def test_equals_scikit_learn_in_one_dimension():
    problem = functional(300, 8, random_state=0)
    ours = [
        max(0.0, mutual_information(problem.X[:, [i]], problem.y, n_neighbors=4)) for i in range(8)
    ]
    theirs = mutual_info_regression(problem.X, problem.y, n_neighbors=4, random_state=0)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("r", [0.0, 0.6, 0.9])
@pytest.mark.parametrize("variant", [1, 2])
def test_of_two_normals_it_is_known(r, variant):
    random = np.random.default_rng(0)
    x, e = random.standard_normal((2, 2000))
    found = mutual_information(x, r * x + np.sqrt(1 - r * r) * e, variant=variant)
    assert found == pytest.approx(-0.5 * np.log(1 - r * r), abs=0.05)


def test_additions_and_removals_equal_single_subsets():
    problem = functional(150, 6, random_state=0)
    XT, YT = standardise(problem.X)[0], standardise(problem.y[:, None])[0]
    with Threads(2) as threads:
        for variant in (1, 2):
            fast = Estimator(XT, YT, 4, variant, threads)
            added = fast.additions((3, 1), (0, 2, 5))
            removed = fast.removals((4, 0, 2, 1))
            again = fast.additions((3, 1, 5), (0,))  # from the kept distances
            other = fast.additions((2,), (4,))  # not from them
            plain = Estimator(XT, YT, 4, variant, threads)
            asked = [(3, 1, 0), (3, 1, 2), (3, 1, 5)]
            asked += [(0, 2, 1), (4, 2, 1), (4, 0, 1), (4, 0, 2), (3, 1, 5, 0), (2, 4)]
            for estimate, subset in zip([*added, *removed, *again, *other], asked, strict=True):
                assert estimate == plain.of(subset)
        assert Estimator(XT, YT, 4, 1, threads).removals((2,))[0].value == 0.0


def test_every_k_at_once():
    X, Y = drawn(70, 1, 0, ties=False)
    XT, YT = X.T.copy(), Y.T.copy()
    with Threads(1) as threads:
        one = Estimator(XT, YT, 1, 1, threads)
        out = np.empty((9, 70))
        core.Neighbors(YT, one.psi, 9, 1).every_k(XT, out)
        for k in range(1, 10):
            value = Estimator(XT, YT, k, 1, threads).of([0]).value
            assert out[k - 1].mean() + one.psi[70] == pytest.approx(value, abs=1e-12)


def test_choice_of_k_is_the_largest_separation():
    problem = xor_like(200, random_state=0)
    XT, YT = standardise(problem.X)[0], standardise(problem.y[:, None])[0]
    with Threads(1) as threads:
        first = choose_neighbors(XT, YT, threads, np.random.default_rng(0))
        second = choose_neighbors(XT, YT, threads, np.random.default_rng(0))
    assert first.n_neighbors == first.separation.argmax() + 1
    assert len(first.separation) == 20
    assert first.separation.max() > 3  # an informative feature is told from noise
    np.testing.assert_array_equal(first.separation, second.separation)


def test_separation_equals_its_definition():
    random = np.random.default_rng(2)
    X, Y = random.standard_normal((36, 2)), random.standard_normal((36, 1))
    XT, YT = X.T.copy(), Y.T.copy()
    with Threads(1) as threads:
        found = choose_neighbors(XT, YT, threads, np.random.default_rng(1), most=3, folds=4)
    random = np.random.default_rng(1)
    fold = random.permutation(np.arange(36) % 4)
    shuffled = np.stack([random.permutation(row) for row in XT])
    gaps = np.empty((2, 3))
    for i, k in np.ndindex(2, 3):
        told, null = (
            [twin.kraskov(rows[i, fold != f, None], Y[fold != f], k + 1, 1) for f in range(4)]
            for rows in (XT, shuffled)
        )
        spread = np.sqrt(np.var(told, ddof=1) + np.var(null, ddof=1))
        gaps[i, k] = (np.mean(told) - np.mean(null)) / spread
    assert (np.abs(gaps).max(0) > gaps.max(0)).any()  # so the sign is seen
    np.testing.assert_allclose(found.separation, gaps.max(0), rtol=1e-9)
    assert found.n_neighbors == gaps.max(0).argmax() + 1


@pytest.mark.parametrize("variant", [1, 2])
def test_forward_equals_the_slow_twin(variant):
    problem = functional(80, 6, random_state=0)
    X, Y = standardise(problem.X)[0].T, standardise(problem.y[:, None])[0].T
    selector = MutualInfoSelector(variant=variant, n_neighbors=5).fit(problem.X, problem.y)
    slow = twin.forward(X, Y, 5, variant)
    assert [move.feature for move in selector.path_.moves] == [feature for feature, _ in slow]
    np.testing.assert_allclose(-selector.path_.errors[1:], [v for _, v in slow], atol=1e-12)


def test_forward_backward_rests_where_no_step_helps():
    problem = functional(150, 7, random_state=0)
    selector = MutualInfoSelector(search="forward-backward", n_restarts=20, random_state=0)
    path = selector.fit(problem.X, problem.y).path_
    forward = MutualInfoSelector().fit(problem.X, problem.y).path_
    assert path.sizes == forward.sizes
    best = path.choose("min")
    assert path.error(best) <= forward.errors.min()
    X, Y = standardise(problem.X)[0].T, standardise(problem.y[:, None])[0].T
    here = set(path.subset(best))
    for i in range(7):
        if other := sorted(here ^ {i}):
            assert twin.kraskov(X[:, other], Y, 6) <= -path.error(best) + 1e-12


def test_a_climb_ends_where_a_step_changes_nothing():
    class Impatient(Estimator):
        calls = 0

        def additions(self, subset, features):
            self.calls += 1
            assert self.calls < 100, "the climb goes round"
            return super().additions(subset, features)

    X, Y = drawn(40, 1, 0, ties=False)
    XT, YT = np.repeat(X.T, 3, axis=0), Y.T.copy()  # a copy adds nothing and takes nothing away
    with Threads(1) as threads:
        trail = Trail()
        trail.offer(Step((), 0.0))
        estimator, rng = Impatient(XT, YT, 3, 1, threads), np.random.default_rng(0)
        forward_backward(estimator, [0, 1, 2], 3, trail, lambda: False, 4, rng)
    assert [step.error for step in trail.steps.values()][1:] == [trail.steps[1].error] * 3


def test_threads_change_nothing():
    problem = functional(300, 6, random_state=0)
    paths = [
        MutualInfoSelector(search="forward-backward", n_restarts=5, random_state=0, n_threads=n)
        .fit(problem.X, problem.y)
        .path_
        for n in (1, 3)
    ]
    assert paths[0] == paths[1]


@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"search": "forward-backward", "n_restarts": 3},
        {"n_neighbors": "resampling", "max_features": 2},
    ],
)
def test_scikit_learn_contract(options):
    options = {"n_neighbors": 3, "n_threads": 1, **options}
    check_estimator(MutualInfoSelector(**options), on_skip=None)


@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
def test_the_regressor_keeps_the_contract_too():
    check_estimator(MutualInfoRegressor(2, n_threads=1, random_state=0), on_skip=None)


def test_the_regressor_has_the_subsets_of_the_selector_and_errors_of_its_machines():
    problem = functional(120, 6, random_state=0)
    selector = MutualInfoSelector(4, random_state=0).fit(problem.X, problem.y)
    seen = []
    model = MutualInfoRegressor(4, random_state=0, callback=seen.append).fit(problem.X, problem.y)
    assert model.path_.subsets == selector.path_.subsets
    assert list(model.mutual_information_.values()) == (-selector.path_.errors).tolist()
    assert [path.errors.tolist() for path in seen] == [
        model.path_.errors[: size + 1].tolist() for size in range(1, 5)
    ]
    for size in (1, 3):
        columns = sorted(model.path_.subset(size))
        machine = OPELMRegressor(random_state=0).fit(problem.X[:, columns], problem.y)
        assert model.path_.error(size) == machine.loo_error_
        shown = model.at_size(size).predict(problem.X)
        assert shown == pytest.approx(machine.predict(problem.X[:, columns]))


def test_predictions_stay_within_reach_of_the_target():
    """One wild prediction far from the data spoils an error on new data; leave-one-out alike."""
    random = np.random.default_rng(1)
    X = random.standard_t(2, (80, 3))
    y = X[:, 0] + X[:, 1] ** 2 + 0.1 * random.standard_normal(80)
    new = 3.0 * random.standard_t(2, (500, 3))
    low, high = y.min() - 0.5 * np.ptp(y), y.max() + 0.5 * np.ptp(y)
    model = MutualInfoRegressor(3, choose=3, validation=None, random_state=0).fit(X, y)
    assert low <= model.predict(new).min()
    assert model.predict(new).max() <= high
    free = OPELMRegressor(random_state=0, reach=np.inf).fit(X, y)
    held = OPELMRegressor(random_state=0).fit(X, y)
    assert free.predict(new).max() > 1.5 * high
    np.testing.assert_allclose(held.predict(new), np.clip(free.predict(new), low, high))
    expected = elm_twin.held(y[:, None], (y - free.loo_predictions_)[:, None], 0.5)
    assert held.loo_error_ == pytest.approx(np.square(expected).mean())
    with pytest.raises(InputError, match="reach=-1"):
        OPELMRegressor(reach=-1).fit(X, y)


def test_stopping_and_constant_columns():
    problem = xor_like(100, random_state=0)
    X = problem.X.copy()
    X[:, 5] = 3.0
    told = []

    def callback(path):
        told.append(path)
        return len(told) == 2

    selector = MutualInfoSelector(callback=callback).fit(X, problem.y)
    assert selector.path_.sizes == (0, 1, 2)
    assert selector.path_.stopped == "asked to"
    assert MutualInfoSelector().fit(X, problem.y).path_.sizes == (0, 1, 2, 3, 4, 5)


@pytest.mark.parametrize("search", ["forward", "forward-backward"])
def test_ctrl_c_keeps_the_path_so_far(search):
    problem = xor_like(60, random_state=0)
    told = []

    def callback(path):
        told.append(path)
        if len(told) == 2:
            raise KeyboardInterrupt

    selector = MutualInfoSelector(
        search=search, n_restarts=5, random_state=0, callback=callback, choose=6
    )
    with pytest.warns(PathWarning, match="interrupted"):
        selector.fit(problem.X, problem.y)
    assert (selector.path_.complete, selector.path_.stopped) == (False, "interrupted")
    assert selector.path_.subsets == told[-1].subsets
    assert len(selector.selected_) == max(selector.path_.sizes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"search": "sideways"}, "search='sideways'; use one of forward, forward-backward"),
        ({"n_neighbors": "many"}, "n_neighbors='many'"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"n_neighbors": 20}, "n_neighbors=20 needs at least 21 samples, and there are 20"),
        ({"variant": 3}, "variant=3; use 1 or 2"),
        ({"max_features": -1}, "max_features=-1"),
    ],
)
def test_messages_name_what_was_given(options, message):
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(InputError, match=message):
        MutualInfoSelector(**options).fit(X, X[:, 0])


@pytest.mark.parametrize("n", [200, 600])
def test_nothing_is_selected_from_discrete_noise(n):
    for seed in range(8):
        random = np.random.default_rng(seed)
        X, y = random.integers(0, 2, (n, 10)), random.integers(0, 2, n)
        selector = MutualInfoSelector(discrete_target=True, n_threads=1).fit(X, y)
        assert not len(selector.selected_)


def test_nothing_is_selected_from_continuous_noise():
    for seed in range(8):
        X = np.random.default_rng(seed).standard_normal((150, 7))
        selector = MutualInfoSelector(5, n_threads=1).fit(X[:, 1:], X[:, 0])
        assert not len(selector.selected_)
    assert len(selector.shuffled_information_) == 19
    forced = MutualInfoSelector(5, choose=2, n_threads=1).fit(X[:, 1:], X[:, 0])
    assert len(forced.selected_) == 2
    assert not len(forced.shuffled_information_)


def test_two_bits_of_ten_are_all_that_an_exclusive_or_takes():
    X = np.random.default_rng(0).integers(0, 2, (600, 10))
    options = {"search": "forward-backward", "n_restarts": 10, "random_state": 0}
    selector = MutualInfoSelector(discrete_target=True, n_threads=1, **options)
    assert sorted(selector.fit(X, X[:, 0] ^ X[:, 1]).selected_) == [0, 1]


def test_codes_of_many_values_are_not_preferred():
    first = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        y = random.integers(0, 2, 600)
        informative = random.standard_normal(600) + 0.5 * (y - 0.5)  # .031 nat
        X = np.column_stack([random.integers(0, 40, (600, 10)), informative])
        selector = MutualInfoSelector(1, discrete_target=True, choose=1, n_threads=1).fit(X, y)
        first += selector.selected_[0] == 10
    assert first >= 16


def test_the_regressor_ends_when_sizes_gain_nothing():
    random = np.random.default_rng(0)
    X = random.standard_normal((120, 40))
    y = X[:, 0] + X[:, 1] ** 2 + 0.1 * random.standard_normal(120)
    model = MutualInfoRegressor(random_state=0, validation=None, n_threads=1).fit(X, y)
    sizes, errors = model.path_.sizes, model.path_.errors
    assert sizes[-1] < 15
    assert model.path_.complete
    assert model.path_.stopped == "several sizes gained nothing"
    assert min(errors[-3:]) >= min(errors[:-3])
    assert {0, 1} <= set(model.selected_)
    longer = MutualInfoRegressor(8, random_state=0, validation=None, n_threads=1).fit(X, y)
    assert longer.path_.sizes[-1] == 8  # a size that is given is reached
    assert longer.path_.errors[: len(errors)] == pytest.approx(errors[:9])
    wanted = MutualInfoRegressor(choose=9, random_state=0, validation=None, n_threads=1)
    assert len(wanted.fit(X, y).selected_) == 9
