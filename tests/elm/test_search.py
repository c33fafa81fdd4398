"""Algorithm 1 and the swap search against their slow twins."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slow_twins import elm as twin
from sparsepath import ELMFSRegressor
from sparsepath._core import elm as core
from sparsepath.data.columns import standardise
from sparsepath.data.synthetic import functional, xor_like
from sparsepath.elm.neighbours import Neighbourhood
from sparsepath.elm.network import Target, draw_neurons
from sparsepath.elm.pairs import best_pairs, polynomials
from sparsepath.elm.polish import clearly_better, losses, polish, tune_ridge
from sparsepath.elm.pool import Pool
from sparsepath.elm.rough import RoughJudge, rough_key
from sparsepath.elm.scaling import RULES, Best, Candidate, restart
from sparsepath.elm.search import (
    RestartPlan,
    Search,
    _rivals,
    _settled,
    _winner,
)
from sparsepath.elm.subsets import FEW, RIDGE, SCALINGS, SwapSearch
from sparsepath.system.threads import Threads


def search(pool, others, plan, seeds, threads, watch=None):
    """The machines at the end of a search, and whether the watcher ended it."""

    def told():
        return watch is not None and watch(run.machines())

    run = Search(pool, others, plan, threads, told)
    run.run(seeds)
    return run.machines(), run.ended


def pool_of(problem, m=20, ridge=1e-6, seed=0) -> Pool:
    XT, _, _ = standardise(problem.X)
    neurons = draw_neurons(m, len(XT), "tanh", np.random.default_rng(seed))
    return Pool(XT, Target(problem.y[:, None]), neurons, ridge)


slopes = st.lists(st.integers(-8, 8), min_size=1, max_size=6)


@settings(max_examples=200, deadline=None)
@given(slopes, st.integers(0, 10_000), st.sampled_from(RULES))
def test_neighbour_equals_the_slow_one(values, seed, rule):
    G = np.array(values, dtype=float)
    grid = np.random.default_rng(seed).integers(0, 4, len(G))
    steps = core.neighbour(G, grid, 3, RULES.index(rule))
    np.testing.assert_array_equal(steps, twin.neighbour(G, grid, 3, rule))


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 6), st.integers(0, 10_000), st.sampled_from(RULES), st.sampled_from([0, 0.3]))
def test_least_increase_of_C1(d, seed, rule, C1):  # noqa: N802
    random = np.random.default_rng(seed)
    g, grid = random.standard_normal(d), random.integers(0, 4, d)
    grid[random.integers(d)] = random.integers(1, 4)
    found, steps = core.increase(g, float(C1), grid, 3, RULES.index(rule))
    slow, slow_steps = twin.increase(g, C1, grid, 3, rule)
    assert found == pytest.approx(slow)
    np.testing.assert_array_equal(steps, slow_steps)
    assert sum(steps) < 0
    if found > C1:  # a little less is not enough
        assert twin.neighbour(g + found - 1e-9, grid, 3, rule).sum() >= 0


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("make", [xor_like, functional])
def test_restarts_equal_the_slow_twin(make, rule):
    problem = make(120, 6, random_state=1)
    pool = pool_of(problem)
    seeds = np.random.SeedSequence(5).spawn(6)
    best, starts = Best(), []
    for seed in seeds:
        best.merge(restart(pool, seed, 6, 10, rule, best))
        random = np.random.default_rng(seed)
        grid, m = random.integers(0, 11, 6), int(random.integers(1, 21))
        starts.append((grid, random.choice(20, m, replace=False)))
    W, b = pool.neurons.weights.T, pool.neurons.biases
    slow = twin.path(pool.XT.T, problem.y[:, None], W, b, starts, 1e-6, rule=rule)
    assert sorted(best.at) == sorted(slow)
    for size, (press, subset) in slow.items():
        assert best.at[size].subset == subset
        assert best.at[size].key[0] == pytest.approx(press, rel=1e-8)


@pytest.mark.parametrize("make", [xor_like, functional])
def test_rough_restarts_find_machines_of_nearly_that_error(make):
    problem = make(120, 6, random_state=1)
    pool = pool_of(problem)
    W, b = pool.neurons.weights.T, pool.neurons.biases
    for seed in np.random.SeedSequence(5).spawn(6):
        found = restart(pool, seed, 6, 10, "half", Best(), rough=True)
        assert found.at
        for machine in found.at.values():
            H = twin.hidden(pool.XT.T, W, b, machine.scaling)[:, machine.which]
            residuals = twin.loo_residuals(H, problem.y[:, None], 1e-6)
            assert machine.key[0] == pytest.approx(np.square(residuals).mean(), rel=0.01)
    fine = pool_of(problem, ridge=1e-7)  # too small a ridge for single precision
    exact, rough = (restart(fine, seed, 6, 10, "half", Best(), rough=r) for r in (False, True))
    assert [c.key for c in exact.at.values()] == [c.key for c in rough.at.values()]


def test_what_others_found_saves_work_and_changes_nothing():
    problem = xor_like(150, random_state=2)
    pool = pool_of(problem)
    seeds = np.random.SeedSequence(0).spawn(8)
    apart, together = Best(), Best()
    for seed in seeds:
        apart.merge(restart(pool, seed, 6, 10, "half", Best()))
        together.merge(restart(pool, seed, 6, 10, "half", together))
    assert {k: c.key for k, c in apart.at.items()} == {k: c.key for k, c in together.at.items()}


def more_pools(pool, how_many=2):
    """Other draws of as many neurons."""
    d = len(pool.XT)
    draws = [np.random.default_rng(100 + i) for i in range(how_many)]
    neurons = [draw_neurons(len(pool.neurons), d, "tanh", random) for random in draws]
    return [pool.drawn(each, pool.ridge) for each in neurons]


def test_swap_search_scores_and_optimum():
    problem = xor_like(80, 5, random_state=0)
    pool = pool_of(problem, m=10)
    others = more_pools(pool)
    with Threads(1) as threads:
        found = SwapSearch(pool, others, range(5), 5, threads)
        best = found.run()

    def value(pool, subset, scalings):
        W, b = pool.neurons.weights.T, pool.neurons.biases
        Y = problem.y[:, None]
        return twin.common_scaling(pool.XT.T, Y, W, b, subset, scalings, RIDGE)

    assert found.scalings[1] == found.scalings[2] == SCALINGS
    for by_size, judged in ((found.typical, found.seen), (found.scalings, found.known)):
        for subset, candidate in judged.items():
            score = value(pool, subset, by_size[len(subset)])
            assert candidate.key[0] == pytest.approx(score, rel=1e-5)
    for size in (3, 4, 5):  # the first look is at the scaling that was best before
        assert found.typical[size] == (best.at[size - 1].scaling.max(),)
    for subset, candidate in found.steady.items():
        scaling = (candidate.scaling.max(),)
        mean = np.mean([value(each, subset, scaling) for each in (pool, *others)])
        assert candidate.key[0] == pytest.approx(mean, rel=1e-5)
    for size, candidate in best.at.items():
        here = set(candidate.subset)
        judged = [c.key for s, c in found.steady.items() if len(s) == size]
        assert candidate.key == min(judged)
        for other in twin.subsets(5, size):
            if len(here & set(other)) == size - 1:
                assert other in found.seen
    assert best.at[2].subset == (1, 2)
    assert best.at[3].subset == (0, 1, 2)


def test_threads_change_nothing():
    problem = functional(150, 7, random_state=0)
    plan = RestartPlan("both", 12, 10, "half", 7)
    outcomes = []
    for n_threads in (1, 3):
        pool = pool_of(problem, m=30)
        with Threads(n_threads) as threads:
            seeds = np.random.SeedSequence(1).spawn(12)
            best, _ = search(pool, more_pools(pool), plan, seeds, threads)
        outcomes.append(
            {k: (c.key, c.scaling.tolist(), c.which.tolist()) for k, c in best.at.items()}
        )
    assert outcomes[0] == outcomes[1]


def test_polish_keeps_the_subset_and_never_harms():
    problem = functional(200, 6, random_state=0)
    pool = pool_of(problem, m=40)
    scaling = np.array([0.5, 0.5, 0, 0.5, 0, 0])
    start = tune_ridge(pool, scaling)
    better = polish(pool, start, 0.1)
    assert better.subset == start.subset
    assert better.key <= start.key
    assert better.key[0] < start.key[0]
    active = better.scaling[better.scaling > 0]
    assert active.min() >= 0.1 - 1e-12
    assert active.max() <= 1 + 1e-12


def noisy(seed, n=150, d=7):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d))
    y = X[:, 0] * (1 + X[:, 1]) + 0.4 * X[:, 0] * X[:, 2] * X[:, 3] + random.standard_normal(n)
    return Pool(
        standardise(X)[0], Target(y[:, None]), draw_neurons(25, d, "tanh", random), 1e-6, 1.0
    )


@pytest.mark.parametrize("rows", [500, 60])
@pytest.mark.parametrize("seed", range(4))
def test_no_machine_of_a_path_is_beaten_by_a_neighbour_of_another(seed, rows, monkeypatch):
    monkeypatch.setattr("sparsepath.elm.search.FIRST_ROWS", rows)
    pool = noisy(seed)
    with Threads(1) as threads:
        seeds = np.random.SeedSequence(seed).spawn(5)
        best, _ = search(
            pool, more_pools(pool), RestartPlan("both", 5, 10, "half", 7), seeds, threads
        )
    assert sorted(best.at) == list(range(1, 8))
    for size, machine in best.at.items():
        fit = pool.fit(machine.scaling, machine.which, machine.ridge)
        assert fit.leave_one_out().key == pytest.approx(machine.key, rel=1e-9)
        typical = np.exp(np.log(machine.scaling[list(machine.subset)]).mean())
        for i in range(7):
            scaling = machine.scaling.copy()
            scaling[i] = 0.0 if scaling[i] else typical
            other = int(np.count_nonzero(scaling))
            if other and (other < size or rows >= 150):  # one more is tried on a sample first
                error = pool.fit(scaling, machine.which, machine.ridge).leave_one_out().key[0]
                assert error >= (0.999 if other < size else 0.9) * best.at[other].key[0]


def test_of_many_features_those_listed_are_tried(monkeypatch):
    pool = pool_of(xor_like(40, 8, random_state=0))
    scores = {(0,): 5.0, (0, 1): 3.0, (0, 2): 3.5, (1, 5): 1.0}
    give_scores(monkeypatch, made_up(scores, 8))
    monkeypatch.setattr(SwapSearch, "_with_pairs", lambda search, level: [])
    for listed, pair in ((1, (0, 1)), (7, (1, 5))):
        monkeypatch.setattr("sparsepath.elm.subsets.LISTED", listed)
        with Threads(1) as threads:
            found = SwapSearch(pool, [], range(8), 2, threads)
            assert found.run().at[2].subset == pair
        assert found.listed[2][:2] == (0, 1)


def test_a_search_with_patience_ends_when_sizes_gain_nothing(monkeypatch):
    scores = {tuple(range(k)): value for k, value in enumerate((0, 9, 5, 4, 4.1, 3.97, 3.5, 1), 0)}
    give_scores(monkeypatch, made_up(scores, 8, other=99.0))
    pool = pool_of(xor_like(40, 8, random_state=0))
    for patience, end in ((2, 5), (3, 7), (None, 7)):
        with Threads(1) as threads:
            found = SwapSearch(pool, [], range(8), 7, threads, patience)
            assert max(found.run().at) == end
        assert found.gained_nothing() == (patience == 2)


def test_a_restart_begins_with_so_many_features():
    pool, starts = pool_of(functional(50, 9, random_state=0)), []

    class Loops:
        @staticmethod
        def descend(_, start, *rest):
            starts.append(start.copy())
            return True

    pool.double = Loops()
    for seed in np.random.SeedSequence(0).spawn(5):
        for active in (None, 20, 3):
            restart(pool, seed, 9, 10, "half", Best(), active)
    for whole, many, few in zip(*(starts[i::3] for i in range(3)), strict=True):
        np.testing.assert_array_equal(whole, many)
        assert np.count_nonzero(few) == 3
        assert set(np.flatnonzero(few)) < set(np.flatnonzero(whole))


def test_scalings_of_their_own_must_serve_other_neurons_too():
    random = np.random.default_rng(0)
    X = random.standard_normal((200, 3))
    XT, y = standardise(X)[0], np.sin(3 * X[:, :1]) + 0.1 * X[:, 1:2]
    pool, other = (
        Pool(XT, Target(y), draw_neurons(40, 3, "tanh", random), 1e-6, 1.0) for _ in range(2)
    )
    plain = tune_ridge(pool, np.full(3, 0.5))
    polished = [polish(pool, plain)]
    winner = _winner(pool, other, plain, polished, 0.1)
    assert np.ptp(winner.scaling) > 0.1
    blind = other.drawn(other.neurons, 1e-6)
    blind.target = Target(np.sin(3 * X[:, 2:]))  # for which other scalings are good
    scores = [
        blind.fit(c.scaling, slice(None), c.ridge).leave_one_out().key for c in (winner, plain)
    ]
    assert scores[0] > scores[1]
    assert np.ptp(_winner(pool, blind, plain, polished, 0.1).scaling) == 0


def test_a_better_machine_one_feature_away_takes_its_place():
    pool = noisy(0)
    good, poor = np.zeros(7), np.zeros(7)
    good[[0, 1, 5]], poor[[5, 6]] = 0.5, 0.5
    found = Best()
    found.offer(tune_ridge(pool, poor))
    found.offer(tune_ridge(pool, good))
    with Threads(1) as threads:
        settled = Neighbourhood(pool, pool, found, {3: range(7)}, 0.1).settled(threads)
    assert settled.at[2].subset == (0, 1)
    assert settled.at[2].key < found.at[2].key


@pytest.mark.parametrize("few", [1, 100])
def test_one_feature_more_that_gains_nothing_on_the_sample_is_not_tried_further(few, monkeypatch):
    pool = noisy(0)
    sample = pool.sample(60)
    good, poor = np.zeros(7), np.zeros(7)
    good[[0, 1]], poor[[0, 5, 6]] = 0.5, 0.5
    found = Best()
    for scaling in (good, poor):
        found.offer(tune_ridge(pool, scaling))
    judged = []

    def counted(given, machine, enough=np.inf):
        if given is pool:
            judged.append(machine.subset)
        return rough_key(given, machine, enough)

    monkeypatch.setattr("sparsepath.elm.neighbours.rough_key", counted)
    monkeypatch.setattr("sparsepath.elm.neighbours.FEW", few)
    with Threads(1) as threads:
        settled = Neighbourhood(pool, sample, found, {3: range(7)}, 0.1).settled(threads)
    first = {s for s in judged if len(s) == 3 and {0, 1} < set(s)}
    if few == 1:
        assert len(first) == 1
        return
    bar = sample.fit(poor, found.at[3].which, found.at[3].ridge).leave_one_out().key[0]
    for i in range(2, 7):
        scaling = good.copy()
        scaling[i] = 0.5
        here = sample.fit(scaling, found.at[2].which, found.at[2].ridge).leave_one_out().key[0]
        if settled.at[3].key == found.at[3].key:
            assert ((0, 1, i) in first) == (here < bar)
        elif here < bar:
            assert (0, 1, i) in first


def test_polishing_ends_when_a_round_gains_too_little(monkeypatch):
    pool = pool_of(functional(200, 6, random_state=0), m=40)
    start = tune_ridge(pool, np.array([0.5, 0.5, 0, 0.5, 0, 0]))
    one_round, ends = polish(pool, start, rounds=1), {}
    for worth in (1e-9, 1e-3, 10.0):
        monkeypatch.setattr("sparsepath.elm.polish.WORTH_A_ROUND", worth)
        ends[worth] = polish(pool, start)
    whole, usual, least = ends.values()
    assert whole.key <= usual.key < least.key < start.key
    np.testing.assert_array_equal(least.scaling, one_round.scaling)
    assert usual.key[0] <= 1.02 * whole.key[0]
    for machine in ends.values():
        again = pool.fit(machine.scaling, machine.which, machine.ridge).leave_one_out().key
        assert again == pytest.approx(machine.key, rel=1e-9)


def test_scalings_that_are_far_better_need_no_more_standard_errors(monkeypatch):
    random = np.random.default_rng(0)
    X = random.standard_normal((200, 3))
    XT, y = standardise(X)[0], np.sin(3 * X[:, :1]) + 0.1 * X[:, 1:2]
    pool, other = (
        Pool(XT, Target(y), draw_neurons(40, 3, "tanh", random), 1e-6, 1.0) for _ in range(2)
    )
    plain = tune_ridge(pool, np.full(3, 0.5))
    polished = [polish(pool, plain)]
    assert polished[0].key[0] < 0.75 * plain.key[0]
    monkeypatch.setattr("sparsepath.elm.search.STANDARD_ERRORS", 1e3)
    assert np.ptp(_winner(pool, other, plain, polished, 0.1).scaling) > 0.1
    monkeypatch.setattr("sparsepath.elm.search.FAR_BETTER", 0.0)
    assert np.ptp(_winner(pool, other, plain, polished, 0.1).scaling) == 0


def test_scalings_of_their_own_must_be_clearly_better():
    random = np.random.default_rng(0)
    X = random.standard_normal((200, 4))
    neurons = draw_neurons(40, 4, "tanh", random)
    noise = Pool(standardise(X)[0], Target(random.standard_normal((200, 1))), neurons, 1e-6, 1.0)
    plain = tune_ridge(noise, np.full(4, 0.5))
    other = polish(noise, plain)
    assert other.key < plain.key
    assert not clearly_better(noise, other, plain)
    assert not clearly_better(noise, plain, plain)
    y = np.sin(3 * X[:, :1]) + 0.1 * X[:, 1:2]
    signal = Pool(noise.XT, Target(y), neurons, 1e-6, 1.0)
    plain = tune_ridge(signal, np.full(4, 0.5))
    assert clearly_better(signal, polish(signal, plain), plain)
    gains = [
        np.square(twin.loo_residuals(twin.hidden(X_, W, b, c.scaling), y, c.ridge)).sum(1)
        for c in (plain, polish(signal, plain))
        for X_, W, b in [(signal.XT.T, neurons.weights.T, neurons.biases)]
    ]
    np.testing.assert_allclose(losses(signal, plain), gains[0], rtol=1e-5, atol=1e-9)
    difference = gains[0] - gains[1]
    assert difference.mean() > np.sqrt(9 + 2 * 3) * difference.std(ddof=1) / np.sqrt(200)


def test_constant_features_are_never_used():
    problem = xor_like(100, random_state=0)
    X = problem.X.copy()
    X[:, 4] = 7.0
    pool = Pool(
        standardise(X)[0],
        Target(problem.y[:, None]),
        draw_neurons(20, 6, "tanh", np.random.default_rng(0)),
        1e-6,
    )
    with Threads(1) as threads:
        best, _ = search(
            pool,
            [],
            RestartPlan("both", 5, 10, "half", 5),
            np.random.SeedSequence(0).spawn(5),
            threads,
        )
    assert all(4 not in candidate.subset for candidate in best.at.values())


def test_the_search_ends_when_asked():
    problem = xor_like(100, random_state=0)
    pool = pool_of(problem)
    told = []

    def watch(best):
        told.append(sorted(best.at))
        return len(told) == 2

    with Threads(1) as threads:
        _, stopped = search(
            pool,
            [],
            RestartPlan("swap", 1, 10, "half", 6),
            np.random.SeedSequence(0).spawn(1),
            threads,
            watch,
        )
    assert stopped
    assert told == [[1], [1, 2]]


def made_up(scores, d, other=9.0):
    """A judge that knows the score of some subsets."""

    def judge(pool, subset, scalings=()):
        scaling = np.zeros(d)
        scaling[list(subset)] = 1.0
        value = scores.get(subset, other - 0.001 * len(subset))
        return Candidate((value, value), scaling, np.arange(3), 1e-6)

    return judge


def give_scores(monkeypatch, judge):
    """All stages of the swap search are told the scores."""
    monkeypatch.setattr(
        "sparsepath.elm.subsets.RoughJudge", lambda pool, ridge, neurons=None: partial(judge, pool)
    )


def test_a_size_is_grown_from_the_best_few_of_the_size_before(monkeypatch):
    scores = {(0,): 5.0, (0, 1): 3.0, (0, 2): 3.1, (0, 1, 4): 2.0, (0, 2, 3): 1.0}
    give_scores(monkeypatch, made_up(scores, 6))
    with Threads(1) as threads:
        best = SwapSearch(pool_of(xor_like(40, random_state=0)), [], range(6), 3, threads).run()
    # No exchange of one feature leads from (0, 1, 4), grown from the best pair, to (0, 2, 3).
    assert [best.at[k].subset for k in (1, 2, 3)] == [(0,), (0, 1), (0, 2, 3)]


def test_a_pair_that_is_good_only_together_is_found_by_exchanges(monkeypatch):
    scores = {(i,): 5.0 + i / 10 for i in range(5)} | {(0, 5): 3.0, (5, 6): 1.0}
    give_scores(monkeypatch, made_up(scores, 8))
    monkeypatch.setattr(SwapSearch, "_with_pairs", lambda search, level: [])
    with Threads(1) as threads:
        best = SwapSearch(pool_of(xor_like(40, 8, random_state=0)), [], range(8), 2, threads).run()
    # Neither 5 nor 6 is among the five best alone: {0, 5} is grown, then 0 is exchanged.
    assert [best.at[k].subset for k in (1, 2)] == [(0,), (5, 6)]


def test_a_pair_without_merit_of_its_members_is_found_in_data(monkeypatch):
    random = np.random.default_rng(0)
    X = random.standard_normal((300, 9))
    y = X[:, :6].sum(1) + 2.5 * X[:, 7] * X[:, 8] + 0.1 * random.standard_normal(300)
    pool = Pool(standardise(X)[0], Target(y[:, None]), draw_neurons(30, 9, "tanh", random), 1e-6)
    with Threads(1) as threads:
        best = SwapSearch(pool, more_pools(pool), range(9), 2, threads).run()
        assert best.at[2].subset == (7, 8)
        monkeypatch.setattr(SwapSearch, "_with_pairs", lambda search, level: [])
        best = SwapSearch(pool, more_pools(pool), range(9), 2, threads).run()
        assert best.at[2].subset != (7, 8)  # out of reach for exchanges


@pytest.mark.parametrize("T", [1, 3])
def test_pairs_are_ranked_by_their_products(T):
    random = np.random.default_rng(T)
    XT, residuals = random.standard_normal((7, 60)), random.standard_normal((T, 60))
    XT[2], XT[4] = np.round(XT[2]), XT[4] > 0  # ties, and a feature of two values
    modulators = np.vstack([np.ones(60), random.standard_normal((2, 60))])
    scores = {
        (i, j): max(
            sum(twin.pair_score(XT[i], XT[j], g * r) for r in residuals) for g in modulators
        )
        for i, j in combinations(range(7), 2)
    }
    slow = sorted(scores, key=lambda pair: -scores[pair])
    assert best_pairs(polynomials(XT), residuals, modulators, 12) == slow[:12]


def test_equal_pairs_come_in_order():
    XT = np.tile(np.random.default_rng(0).permutation(30).astype(float), (4, 1))
    found = best_pairs(polynomials(XT), XT[:1] - XT[0].mean(), np.ones((1, 30)), 3)
    assert found == [(0, 1), (0, 2), (0, 3)]


SECOND_PAIRS = {
    "weaker": lambda a, b, c, d: 3 * a * b + 0.6 * c * d,
    "even times odd": lambda a, b, c, d: 3 * a * b + 2 * (c**2 - 1 / 3) * d,
    "acts on a feature": lambda a, b, c, d: 3 * a * b + 3 * a * c * d,
    "acts on the first pair": lambda a, b, c, d: 3 * a * b * (1 + 2 * c * d),
}


@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("kind", SECOND_PAIRS)
def test_a_pair_that_helps_only_on_top_of_a_stronger_one(kind, seed):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (500, 32))
    y = SECOND_PAIRS[kind](*X.T[:4]) + 0.15 * random.standard_normal(500)
    model = ELMFSRegressor(4, strategy="swap", random_state=seed, validation=None, n_threads=1)
    model.fit(X, y)  # restarts, which may find it by chance, are left out
    assert set(model.path_.subset(4)) == {0, 1, 2, 3}


def test_pairs_of_many_features_are_those_of_the_best_alone(monkeypatch):
    monkeypatch.setattr("sparsepath.elm.subsets.PAIRS_OF", 3)
    pool = pool_of(xor_like(60, 8, random_state=0))
    with Threads(1) as threads:
        search = SwapSearch(pool, [], range(8), 1, threads)
        search.run()
    alone = sorted(range(8), key=lambda i: search.seen[i,].key)
    assert search._paired == tuple(sorted(alone[:3]))


def test_more_restarts_find_more():
    random = np.random.default_rng(2)
    X = random.uniform(-1, 1, (400, 40))
    y = X[:, 0] * X[:, 1] * X[:, 2] + 0.05 * random.standard_normal(400)
    few, many = (
        ELMFSRegressor(3, n_restarts=n, random_state=0, validation=None, n_threads=1).fit(X, y)
        for n in (3, 60)
    )
    assert set(few.path_.subset(3)) != {0, 1, 2}
    assert set(many.path_.subset(3)) == {0, 1, 2}


def judged_by_draws(monkeypatch, first, mean):
    """A search in which what the first pool and the mean of all say of subsets is given."""
    pool = pool_of(xor_like(40, 8, random_state=0))
    others = more_pools(pool)
    rest = {subset: (3 * mean[subset] - value) / 2 for subset, value in first.items()}
    one, two = made_up(first, 8), made_up(rest, 8)

    def judge(given, subset, scalings=()):
        another = any(given is other for other in others)
        return (two if another else one)(given, subset)

    give_scores(monkeypatch, judge)
    return lambda threads: SwapSearch(pool, others, range(8), 1, threads)


def test_among_near_ties_the_mean_over_pools_decides(monkeypatch):
    first = {(0,): 1.0, (1,): 1.02, (2,): 1.04, (3,): 1.2}
    mean = {(0,): 1.2, (1,): 1.3, (2,): 1.1, (3,): 0.5}
    make = judged_by_draws(monkeypatch, first, mean)
    with Threads(1) as threads:
        found = make(threads)
        found.run()
    assert found.best.at[1].subset == (2,)
    assert found.best.at[1].key[0] == pytest.approx(1.1)
    assert found.ranked(1) == [(2,), (0,), (1,)]  # the fourth is not near the first
    assert sorted(found.steady) == [(0,), (1,), (2,)]


def test_only_a_few_are_judged_by_all_pools(monkeypatch):
    first = {(i,): 1.0 + i / 1000 for i in range(8)}
    make = judged_by_draws(monkeypatch, first, {(i,): 2.0 - i / 10 for i in range(8)})
    with Threads(1) as threads:
        found = make(threads)
        found.scalings[1] = found.typical[1] = SCALINGS
        assert found._look([(i,) for i in reversed(range(8))]) == {1}
    assert sorted(found.steady) == [(i,) for i in range(FEW)]
    assert found.best.at[1].subset == (FEW - 1,)


@pytest.mark.parametrize(
    ("restarted", "offered"),
    [((4,), [(0,), (1,), (2,), (4,), (4,)]), ((1,), [(0,), (1,), (2,), (1,)])],
)
def test_the_subset_of_the_restarts_is_polished_from_two_places(monkeypatch, restarted, offered):
    scores = {(0,): 1.0, (1,): 1.05, (2,): 1.08, (3,): 1.09, (4,): 2.0}
    judge = made_up(scores, 6)
    give_scores(monkeypatch, judge)
    pool, best = pool_of(xor_like(40, random_state=0)), Best()
    scaling = 0.3 * judge(pool, restarted).scaling
    best.offer(Candidate((0.5, 0.5), scaling, np.arange(5), 1e-6))
    with Threads(1) as threads:
        swaps = SwapSearch(pool, [], range(6), 1, threads)
        swaps.run([restarted])
    rivals = _rivals(pool, swaps, best, 1)
    assert [rival.subset for rival in rivals] == offered
    np.testing.assert_array_equal(rivals[-1].scaling, best.at[1].scaling)
    np.testing.assert_array_equal(rivals[-1].which, best.at[1].which)
    assert [rival.scaling.max() for rival in rivals[:-1]] == [1.0] * (len(offered) - 1)


def test_a_search_that_was_ended_gives_the_subsets_of_the_swap_search():
    pool = pool_of(xor_like(40, 3, random_state=0), m=5)
    found, best = Best(), Best()
    found.offer(Candidate((1.0, 1.0), np.array([0.5, 0, 0]), np.arange(5), 1e-6))
    best.offer(Candidate((0.0, 0.0), np.array([0, 0.5, 0]), np.arange(5), 1e-6))
    best.offer(Candidate((0.0, 0.0), np.array([0, 0.5, 1]), np.arange(5), 1e-6))
    settled = _settled(pool, found, best)
    assert {size: c.subset for size, c in settled.at.items()} == {1: (0,), 2: (1, 2)}


@pytest.mark.parametrize(
    ("third", "errors", "chosen"),
    [
        (1.08, {(0,): 1.0, (1,): 0.95, (2,): 0.97}, (0,)),  # the best by score stays
        (1.08, {(0,): 1.0, (1,): 0.85, (2,): 0.97}, (1,)),  # unless another is clearly better
        (1.08, {(0,): 1.0, (1,): 0.97, (2,): 0.80}, (2,)),
        (1.3, {(0,): 1.0, (1,): 0.97, (2,): 0.80}, (0,)),  # too far behind by score
        (1.08, {(0,): 1.0, (1,): 0.97, (3,): 0.10}, (0,)),  # near, but three are enough
        (1.08, {(0,): 1.0, (4,): 0.10}, (4,)),  # the restarts' is looked at in any case
    ],
)
def test_near_ties_are_settled_by_polished_errors(monkeypatch, third, errors, chosen):
    scores = {(0,): 1.0, (1,): 1.05, (2,): third, (3,): third + 0.01, (4,): 2.0}
    judge = made_up(scores, 6)
    give_scores(monkeypatch, judge)
    monkeypatch.setattr(
        "sparsepath.elm.search.tune_ridge",
        lambda pool, scaling, which=None: judge(pool, tuple(np.flatnonzero(scaling).tolist())),
    )

    def polished(pool, c, *_):
        return Candidate((errors.get(c.subset, 5.0), 0.0), c.scaling, c.which, 1e-6)

    monkeypatch.setattr("sparsepath.elm.search.polish", polished)
    monkeypatch.setattr(
        "sparsepath.elm.search.first_polish", lambda pool, sample, c, *_: polished(pool, c)
    )
    monkeypatch.setattr(
        "sparsepath.elm.search.clearly_better", lambda pool, a, b, *_: a.key < b.key
    )
    monkeypatch.setattr(Neighbourhood, "settled", lambda around, threads: around.machines)
    monkeypatch.setattr("sparsepath.elm.search.reevaluate", lambda pool, machine: machine)
    monkeypatch.setattr("sparsepath.elm.search._score", lambda other, machine: machine.key)

    def restarted(pool, *_, **__):
        best = Best()
        best.offer(judge(pool, (4,)))
        return best

    monkeypatch.setattr("sparsepath.elm.search.restart", restarted)
    pool = pool_of(xor_like(40, random_state=0))
    with Threads(1) as threads:
        seeds = np.random.SeedSequence(0).spawn(1)
        best, _ = search(pool, [], RestartPlan("both", 1, 10, "half", 1), seeds, threads)
    assert best.at[1].subset == chosen
    assert best.at[1].key[0] == errors[chosen]


def test_the_first_of_equals_is_kept():
    first, second = (
        Candidate((0.5, 0.5), scaling, np.arange(3), 1e-6)
        for scaling in (np.eye(3)[0], np.eye(3)[1])
    )
    best, other = Best(), Best()
    assert best.offer(first)
    assert not best.offer(second)
    other.offer(second)
    best.merge(other)
    assert best.at[1] is first
    assert best.offer(
        Candidate((0.5, 0.4), second.scaling, second.which, 1e-6)
    )  # less squared error


def test_the_best_prefix_is_a_machine_of_that_error():
    pool = pool_of(xor_like(60, 3, random_state=0), m=15, ridge=1e-3)
    found = RoughJudge(pool, 1e-3)((0, 1, 2), (0.5,))
    assert 1 < len(found.which) < 15
    assert pool.fit(found.scaling, found.which).leave_one_out().key == pytest.approx(
        found.key, rel=1e-5
    )
    for m in range(1, 16):
        assert pool.fit(found.scaling, np.arange(m)).leave_one_out().key[0] >= found.key[0] * (
            1 - 1e-5
        )
