"""What is left of a network after pruning, and the coefficients that are solved for it."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from experiments.paper_sets import available, load
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold

from slow_twins import rbf as twin
from sparsepath import PathWarning, SparseRBFRegressor, SparseRBFRegressorCV
from sparsepath.data.columns import are_copies
from sparsepath.data.synthetic import friedman, sparse_linear
from sparsepath.rbf.centres import place_centres
from sparsepath.rbf.grid import Scale
from sparsepath.rbf.lasso import BudgetLasso, _independent, _nearest
from sparsepath.rbf.model import RBFOptions, Trainer
from sparsepath.rbf.primal_dual import solve


@st.composite
def bases(draw):
    """Basis functions from nearly alike to nearly unrelated, a target, and a budget."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m, d = draw(st.integers(2, 40)), draw(st.integers(1, 30)), draw(st.integers(1, 4))
    X = rng.standard_normal((n, d))
    C = X[rng.integers(0, n, m)] if draw(st.booleans()) else rng.standard_normal((m, d))
    K = twin.kernel(X, C, np.full(d, 10.0 ** draw(st.integers(-3, 1)))).T
    y = X[:, 0] + 0.1 * rng.standard_normal(n)
    return np.vstack([np.ones(n), K]), y, 10.0 ** draw(st.integers(-1, 3))


@settings(max_examples=60, deadline=None)
@given(bases(), st.sampled_from(["nothing", "anything", "too much", "all alike"]))
def test_coefficients_are_the_best_within_the_budget(case, begun):
    """By the conditions of an optimum, which no other solver is needed for; from any start."""
    B, y, r = case
    drawn = np.random.default_rng(0).standard_normal(len(B)) * r
    start = {
        "nothing": None,
        "anything": drawn / (2 * np.abs(drawn).sum()),
        "too much": drawn,
        "all alike": np.full(len(B), r / len(B)),
    }[begun]
    a = BudgetLasso(B, y, r, start).a
    assert np.abs(a).sum() <= r * (1 + 1e-9)
    e = a @ B - y
    g = 2 / len(y) * B @ e
    scale = np.mean(y**2)
    gap = a @ g + r * np.abs(g).max()  # no other a within r gains more than this
    assert gap <= 2e-6 * np.mean(e**2) + 1e-9 * scale + 1e-15 * r**2  # the last by rounding
    assert np.count_nonzero(a) <= len(y) + 1


def test_coefficients_against_a_slow_solver():
    rng = np.random.default_rng(0)
    B, y = rng.standard_normal((8, 30)), rng.standard_normal(30)
    for r in (0.1, 0.5, 10.0):
        a = BudgetLasso(B, y, r).a
        assert_allclose(a, twin.budget_lasso(B, y, r), atol=1e-5)
        assert_allclose(BudgetLasso(B, y, r, rng.standard_normal(8)).a, a, atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(3, 12),
    st.sampled_from([0.3, 2.0, 1e4]),
    st.sampled_from([1.0, 1.002, 1.2, 100.0]),
)
def test_coefficients_are_left_out_as_by_refits(seed, m, r, factor):
    rng = np.random.default_rng(seed)
    B = np.vstack([np.ones(30), rng.standard_normal((m, 30)) + rng.standard_normal(30)])
    y = rng.standard_normal(30) + 0.3 * B[1]
    found = BudgetLasso(B, y, r)
    a = found.a
    assert_allclose(found.error, np.mean((a @ B - y) ** 2), rtol=1e-9)
    most = factor * found.error
    few, error = found.thinned(most)
    assert_allclose(error, np.mean((few @ B - y) ** 2), rtol=1e-9)
    assert_allclose(few, twin.thinned(B, y, r, a, most), atol=1e-7 * max(1.0, np.abs(a).max()))
    assert np.abs(few).sum() <= r * (1 + 1e-9)
    assert np.mean((few @ B - y) ** 2) <= most * (1 + 1e-12)


def test_corners_that_are_alike_share_what_one_would_have():
    """Least squares of columns that depend on each other: the least shares, not huge ones."""
    rng = np.random.default_rng(0)
    one, last, y = rng.standard_normal((3, 20))
    once = _nearest(np.vstack([one, last]), y, 2.0).shares
    twice = _nearest(np.vstack([one, one, last]), y, 2.0).shares
    assert_allclose(twice, [once[0] / 2, once[0] / 2, once[1]], rtol=1e-9)
    assert_array_equal(_independent(np.column_stack([one, last, one])).shape, (2,))


@pytest.mark.parametrize("t", [0.05, 0.5])
def test_coefficients_from_those_of_the_barrier_are_those_from_zero(t):
    """The very few that a network keeps do not depend on where their solver begins."""
    data = friedman(60, 6, random_state=0)
    trainer = Trainer(data.X, data.y, data.X, 50.0, t, RBFOptions())
    solution = trainer.run().solution
    B = trainer.network.place(solution.w)
    few = BudgetLasso(B, trainer.target, 50.0).a
    assert_allclose(BudgetLasso(B, trainer.target, 50.0, solution.alpha).a, few, atol=1e-4)
    assert np.count_nonzero(few) < 40


@pytest.mark.parametrize(
    ("seed", "r", "t", "most"), [(2, 1000.0, 0.003, 20), (1, 1000.0, 0.05, 32), (0, 20.0, 0.05, 9)]
)
@pytest.mark.parametrize("relevance", [0.0, 0.01, 0.5])
def test_the_pruned_network_fits_as_well_as_the_solution(seed, r, t, most, relevance):
    """Wide Gaussians with coefficients in the hundreds, and inputs of little weight that matter."""
    data = friedman(60, 6, random_state=seed)
    fit = Trainer(data.X, data.y, data.X, r, t, RBFOptions(relevance=relevance)).run()
    error = np.mean((fit.model.predict(data.X) - data.y) ** 2) / data.y.var()
    assert error == pytest.approx(fit.error)
    q = len(fit.dropped)
    limit = 1.01 * fit.solution.error + 1e-6
    assert error <= 1.002 * max(limit, (1 + (q + 4 * np.sqrt(2 * q)) / 60) * limit)
    assert relevance > 0 or not q
    assert 0 < len(fit.model.coef) <= most  # of 60


def test_inputs_of_little_weight_are_left_out_unless_they_are_missed():
    data = friedman(60, 6, random_state=0)

    def fitted(relevance):
        options = RBFOptions(relevance=relevance)
        return Trainer(data.X, data.y, data.X, 200.0, 0.05, options).run()

    whole, few = fitted(0.0), fitted(0.99)
    size = len(few.model.columns)
    assert 1 < size < len(whole.model.columns)  # one alone would do by its weight
    assert_array_equal(few.model.columns, whole.model.columns[:size])  # by falling weight
    assert sorted(few.dropped) == sorted(whole.model.columns[size:])


@pytest.mark.parametrize("seed", range(3))
def test_relevance_costs_no_error_on_new_data(seed):
    """Five inputs of small linear effect, which need next to no weight."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (1056, 12))
    y = np.sin(2.5 * X[:, 0]) + 0.15 * X[:, 1:6].sum(axis=1) + 0.05 * random.standard_normal(1056)
    errors = []
    for relevance in (0.0, 0.01):
        options = RBFOptions(relevance=relevance)
        model = Trainer(X[:56], y[:56], X[:56], 200.0, 0.2, options).run().model
        errors.append(np.mean((model.predict(X[56:]) - y[56:]) ** 2))
    assert errors[1] < 1.1 * errors[0]


@pytest.mark.parametrize("constant", [0.0, 1.0, -1e6])
def test_constant_columns_change_nothing(constant):
    data = friedman(60, 6, random_state=3)
    bare = Trainer(data.X, data.y, data.X, 20.0, 5.0, RBFOptions()).run()  # t is not used up
    X = np.insert(data.X, [0, 3, 6], constant, axis=1)
    other = Trainer(X, data.y, X, 20.0, 5.0, RBFOptions()).run()
    real = np.array([1, 2, 3, 5, 6, 7])
    assert_array_equal(other.model.columns, real[bare.model.columns])
    assert_allclose(other.model.relative, bare.model.relative, rtol=1e-9)
    assert_allclose(other.model.predict(X), bare.model.predict(data.X), rtol=1e-9)


def test_of_copies_the_first_is_the_input():
    data = friedman(60, 6, random_state=3)
    C = data.X[:20]
    bare = Trainer(data.X, data.y, C, 20.0, 5.0, RBFOptions()).run()

    def with_copies(X):
        return np.column_stack([X[:, :2], 1e3 * X[:, 0] + 7, X[:, 2:], -X[:, 1], X[:, 5]])

    X = with_copies(data.X)
    other = Trainer(X, data.y, with_copies(C), 20.0, 5.0, RBFOptions()).run()
    real = np.array([0, 1, 3, 4, 5, 6])
    assert_array_equal(other.model.columns, real[bare.model.columns])
    assert_allclose(other.model.relative, bare.model.relative, rtol=1e-9)
    assert_allclose(other.model.predict(X), bare.model.predict(data.X), rtol=1e-9)
    # A column that is a copy on the samples only, not where the centres sit, is none.
    places = with_copies(C)
    places[:, 2] = 0.0
    trainer = Trainer(X, data.y, places, 20.0, 5.0, RBFOptions())
    assert trainer.inputs.tolist() == [0, 1, 2, 3, 4, 5, 6]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 6), st.booleans())
def test_copies_are_those_that_comparing_all_pairs_finds(seed, n, d, coarse):
    rng = np.random.default_rng(seed)
    Z = rng.integers(-1, 2, (n, d)) / 2 if coarse else rng.standard_normal((n, d))
    Z = np.vstack([np.ones(d), Z])  # no column is all zero
    columns = rng.integers(0, d, 2 * d)
    Z = np.column_stack([Z, Z[:, columns] * rng.choice([-1.0, 1.0], 2 * d)])
    Z += 1e-14 * rng.standard_normal(Z.shape)
    for j in range(3 * d):
        apart = [min(abs(Z[:, i] - Z[:, j]).max(), abs(Z[:, i] + Z[:, j]).max()) for i in range(j)]
        assert are_copies(Z)[j] == (min(apart, default=1.0) < 1e-12)


def test_nothing_but_constants_selects_nothing():
    y = np.arange(10.0)
    model = Trainer(np.ones((10, 3)), y, np.ones((1, 3)), 20.0, 5.0, RBFOptions()).run().model
    assert not len(model.columns)
    assert_allclose(model.predict(np.ones((2, 3))), 4.5)


@pytest.mark.skipif("wine_spectra" not in available(), reason="no wine spectra; SPARSEPATH_DATA")
@pytest.mark.parametrize("split", range(3))
def test_spectra_need_few_centres(split):
    data = load("wine_spectra")
    rows = np.random.default_rng(split).permutation(len(data.y))[:94]
    X, y = data.X[rows].astype(float), data.y[rows].astype(float)
    fit = Trainer(X, y, X, 150.0, 0.007, RBFOptions(relevance=0.0)).run()
    assert len(fit.model.coef) <= 10  # of 94


def test_relaxed_errors_are_those_of_two_plain_fits_on_every_part():
    """The inputs of a first fit, fitted again with budgets of their own."""
    data, cv = friedman(60, 7, random_state=1), KFold(3)
    grid = {"rs": [30.0, 120.0], "ts": [0.03, 0.1, 0.4], "cv": cv}
    plain = SparseRBFRegressorCV(**grid, relaxed=False).fit(data.X, data.y)
    model = SparseRBFRegressorCV(**grid).fit(data.X, data.y)
    assert model.cv_results_["mean_test_score"].tolist() == (
        plain.cv_results_["mean_test_score"].tolist()
    )
    better = [
        k for k in model.path_.sizes
        if k not in plain.path_.sizes or model.path_.error(k) < plain.path_.error(k)
    ]  # fmt: skip
    assert better  # the small ones, which were wide
    firsts = [
        max(
            (node for node in model.cv_results_["params"] if node["t"] == t),
            key=lambda node: model.cv_results_["mean_test_score"][
                model.cv_results_["params"].index(node)
            ],
        )
        for t in grid["ts"]
    ]
    for k in better:
        chosen = model.at_size(k)
        assert any(
            _twice(data, cv, first, chosen.r_, chosen.t_) == pytest.approx(model.path_.error(k))
            for first in firsts
        )
        # And the model is the plain one of its columns.
        columns = np.sort(chosen.selected_)
        alone = SparseRBFRegressor(chosen.r_, chosen.t_, relevance=0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PathWarning)
            alone.fit(data.X[:, columns], data.y)
        if len(alone.selected_) == k:
            expected = alone.predict(data.X[:, columns])
            assert_allclose(chosen.predict(data.X), expected, rtol=1e-6)


def _twice(data, cv, first, r, t):
    errors = []
    for a, b in cv.split(data.X):
        columns = (
            Trainer(data.X[a], data.y[a], data.X[a], first["r"], first["t"], RBFOptions())
            .run()
            .model
        )
        X = data.X[:, np.sort(columns.columns)]
        again = Trainer(X[a], data.y[a], X[a], r, t, RBFOptions(relevance=0.0)).run().model
        errors.append(np.mean((data.y[b] - again.predict(X[b])) ** 2))
    return np.mean(errors)


def test_a_budget_at_the_end_of_what_was_tried_is_told():
    scale = Scale(np.array([2.0, 8.0]), 3)
    assert [scale.at(k) for k in (-1, 1, 3)] == pytest.approx([0.5, 8.0, 128.0])
    assert scale.next_to(4) == [3]  # three steps beyond the end
    assert [scale.ends_at(value) for value in (512.0, 128.0, 1 / 32)] == [True, False, True]
    assert not Scale(scale.values, None).ends_at(8.0)
    X = np.random.default_rng(0).uniform(-1, 1, (60, 3))
    y = X[:, 0] + 0.01 * np.random.default_rng(1).standard_normal(60)
    with pytest.warns(PathWarning, match=r"t = 0\.02 is at the end of the grid"):
        SparseRBFRegressorCV(rs=2, ts=2, cv=3, relaxed=False).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)  # so large an r takes many steps
        model = SparseRBFRegressorCV(rs=[3e4], ts=2, cv=3, validation=None).fit(X, y)
    assert model.at_size(3).t_ < 0.01  # beyond the end, where it is better


@pytest.mark.parametrize(("r", "t"), [(20.0, 0.06), (20.0, 0.5)])
def test_many_inputs_end_where_all_at_once_do(r, t):
    """On more inputs than are offered at a time: a stationary point of the whole problem."""
    data = sparse_linear(80, 310, 5, random_state=1)
    trainer = Trainer(data.X, data.y, data.X, r, t, RBFOptions())
    fit = trainer.run()
    whole = solve(trainer.network, r, t)
    assert fit.solution.error <= 1.01 * whole.error
    network, found = trainer.network, fit.solution
    network.place(found.w)
    slopes = network.gradient(found.alpha)[len(found.alpha) :]
    assert np.count_nonzero(found.w) <= 150
    assert slopes[found.w == 0].min() > -1.2 * found.eta
    assert found.gap < 1e-3
    assert set(fit.model.columns[:4]) <= set(data.relevant)


def test_many_inputs_may_be_interrupted():
    data = sparse_linear(60, 310, 5, random_state=0)
    trainer = Trainer(data.X, data.y, data.X, 20.0, 0.06, RBFOptions())

    def interrupt(solution):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trainer.run(interrupt)
    fit = trainer.so_far()
    assert not fit.solution.converged
    assert len(fit.solution.w) == 310
    assert fit.model.predict(data.X).shape == (60,)


def test_samples_are_centres_up_to_a_number_of_them():
    X = np.random.default_rng(0).standard_normal((320, 2))
    assert_array_equal(place_centres(X[:100], "auto", "kmeans", 0)[1], np.arange(100))
    places, rows = place_centres(X, "auto", "kmeans", 0)
    assert len(set(rows)) == 100
    assert_array_equal(places, X[rows])
    assert_array_equal(place_centres(X, "auto", "kmeans", 0)[1], rows)
    assert_array_equal(place_centres(X, "all", "kmeans", 0)[1], np.arange(320))


def test_no_more_centres_are_asked_for_than_there_are_places():
    """k-means would warn, and put several centres on one place."""
    X = np.random.default_rng(0).integers(0, 2, (320, 3)).astype(float)
    for centres in ("auto", 8, 100):
        places, rows = place_centres(X, centres, "kmeans", 0)
        assert len(places) == 8
        assert_array_equal(X[rows], places)


@pytest.fixture(scope="module")
def default_search():
    data = friedman(100, 10, random_state=0)
    return data, SparseRBFRegressorCV(validation=None).fit(data.X, data.y)


def test_a_size_between_those_of_the_budgets_is_found(default_search):
    _, model = default_search
    assert sorted(model.selected_) == [0, 1, 2, 3, 4]
    assert {4, 5, 6, 7} < set(model.path_.sizes)


def test_without_relaxed_refits_every_pair_of_budgets_is_tried(default_search):
    data, model = default_search
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)  # the largest r may be the best
        plain = SparseRBFRegressorCV(validation=None, relaxed=False).fit(data.X, data.y)
    assert len(plain.cv_results_["params"]) == 36
    least = -plain.cv_results_["mean_test_score"].max()
    assert plain.path_.error(len(plain.selected_)) == pytest.approx(least)
    assert least < 2.0  # a walk from coarse to fine ended at 2.38
    assert model.path_.error(5) < least


def test_a_quick_search_tries_some_nodes_and_compares_them_rightly(default_search):
    data, model = default_search
    results = model.cv_results_
    assert 1 < len(results["params"]) < 12  # of 36
    best = int(np.argmax(results["mean_test_score"]))
    node = results["params"][best]
    whole = SparseRBFRegressorCV([node["r"]], [node["t"]], relaxed=False, validation=None)
    complete = whole.fit(data.X, data.y).cv_results_["mean_test_score"][0]
    assert results["mean_test_score"][best] == pytest.approx(complete, rel=0.1)
    assert model.plot_surface("error") is not None  # with gaps


def test_effects_are_what_the_outputs_change_by():
    data = friedman(60, 7, random_state=2)
    trainer = Trainer(data.X, data.y, data.X, 60.0, 0.3, RBFOptions(relevance=0.0))
    solution = trainer.quick()
    h, effects = 1e-5, []
    for i in range(7):
        w = solution.w.copy()
        w[i] *= 1 - h
        moved = replace(solution, w=w)
        change = trainer.outputs(moved, data.X) - trainer.outputs(solution, data.X)
        effects.append(np.mean((change / h) ** 2))
    used = trainer.used(solution)
    assert_array_equal(used, [i for i in np.argsort(effects)[::-1] if i in used])
    assert set(used[:4]) == {0, 1, 2, 3}
    own = solution.w**2 * trainer.network.weight_effects() * data.y.var()
    assert_allclose(own, effects, rtol=1e-3)


def test_a_quick_solution_is_near_the_complete_one():
    data = friedman(80, 6, random_state=1)
    trainer = Trainer(data.X, data.y, data.X, 40.0, 0.3, RBFOptions())
    quick, complete = trainer.quick(), trainer.run().solution
    assert quick.iterations < complete.iterations
    assert complete.error < quick.error < 1.1 * complete.error
