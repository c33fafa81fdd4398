"""LS-SVM, forward selection and reduced rank against refitting from scratch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit

from listening import Listener, listened
from slow_twins import rbf as twin
from sparsepath import (
    InputError,
    LSSVMClassifier,
    LSSVMForwardRegressor,
    LSSVMRegressor,
    ReducedRankKernelRidge,
)
from sparsepath.base.reconstruction import reconstruct
from sparsepath.data.synthetic import friedman
from sparsepath.errors import PathWarning
from sparsepath.kernel_machines.additions import Candidates, LowRank
from sparsepath.kernel_machines.lssvm import LSSVM, residuals
from sparsepath.kernel_machines.reduced_rank import ReducedRank

few = settings(max_examples=12, deadline=None, derandomize=True)


def problem(seed, n=14, d=3, T=1):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal((n, T))


@few
@given(
    st.integers(0, 999),
    st.integers(4, 18),
    st.integers(1, 2),
    st.floats(0.05, 500),
    st.floats(0.3, 50),
)
def test_lssvm_and_its_left_out_residuals(seed, n, T, gamma, sigma2):
    X, Y = problem(seed, n, 3, T)
    K = twin.gaussian(X, X, sigma2)
    machine = LSSVM(K, Y)
    beta, b = machine.fit(gamma)
    beta2, b2 = twin.lssvm(K, Y, gamma)
    assert_allclose(beta, beta2, rtol=1e-6, atol=1e-8)
    assert_allclose(b, b2, rtol=1e-6, atol=1e-8)
    single = [np.array([i]) for i in range(n)]
    expected = twin.lssvm_left_out(X, Y, gamma, sigma2, single)
    assert_allclose(machine.loo_residuals(gamma), expected, rtol=1e-6, atol=1e-8)
    assert_allclose(residuals(K, Y, [gamma], None)[0], expected, rtol=1e-6, atol=1e-8)
    blocks = np.array_split(np.random.default_rng(seed).permutation(n), 3)
    expected = twin.lssvm_left_out(X, Y, gamma, sigma2, blocks)
    assert_allclose(machine.block_residuals(gamma, blocks), expected, rtol=1e-6, atol=1e-8)


@few
@given(st.integers(0, 999), st.integers(3, 12), st.floats(0.5, 20))
def test_reconstruction(seed, n, sigma2):
    X, _ = problem(seed, n, 2)
    K = twin.gaussian(X, X, sigma2)
    found = reconstruct(K, min(4, n))
    for k in range(1, len(found.chosen) + 1):
        expected = twin.reconstruction_error(K, found.chosen[:k])
        assert_allclose(found.errors[k - 1], expected, rtol=1e-4, atol=1e-9)
        others = [
            twin.reconstruction_error(K, [*found.chosen[: k - 1], j])
            for j in range(n)
            if j not in found.chosen[: k - 1]
        ]
        assert expected <= min(others) + 1e-8


def test_reduced_rank_and_its_left_out_residuals():
    X, Y = problem(3, 15, 2, 2)
    K = twin.gaussian(X, X, 3.0)
    basis = reconstruct(K, 6)
    S = basis.chosen
    for gamma in (0.3, 30.0):
        beta, b, e = ReducedRank(basis, Y).fit(gamma)
        beta2, b2 = twin.reduced_rank(K, S, Y, gamma)
        assert_allclose(beta, beta2, rtol=1e-6)
        assert_allclose(b, b2, rtol=1e-6)
        for i in range(len(X)):
            rest = np.delete(np.arange(len(X)), i)
            F = np.column_stack([K[np.ix_(rest, S)], np.ones(len(rest))])
            P = np.zeros((len(S) + 1,) * 2)
            P[:-1, :-1] = K[np.ix_(S, S)] / gamma
            solution = np.linalg.solve(F.T @ F + P, F.T @ Y[rest])
            assert_allclose(e[i], Y[i] - np.append(K[i, S], 1) @ solution, rtol=1e-6)


def test_reduced_rank_with_all_samples_is_the_lssvm():
    X, Y = problem(5, 12, 3)
    K = twin.gaussian(X, X, 1.5)
    beta, b, e = ReducedRank(reconstruct(K, 12), Y).fit(4.0)
    machine = LSSVM(K, Y)
    assert_allclose(
        K[:, reconstruct(K, 12).chosen] @ beta + b, K @ machine.fit(4.0)[0] + machine.fit(4.0)[1]
    )
    assert_allclose(b, machine.fit(4.0)[1])
    # Both leave the sample out of the errors; the basis of the reduced rank keeps its centre.
    assert e.shape == Y.shape


def test_singular_kernels_end_the_choice():
    X = np.repeat(np.arange(4.0), 3)[:, None]
    found = reconstruct(twin.gaussian(X, X, 1.0), 12)
    assert sorted(X[found.chosen, 0]) == [0, 1, 2, 3]


@pytest.mark.parametrize("cv", ["loo", KFold(4, shuffle=True, random_state=0)])
def test_regressor_is_tuned_by_refitting(cv):
    data = friedman(30, 5, random_state=0)
    gammas, widths = [0.5, 5.0, 50.0], [2.0, 10.0]
    model = LSSVMRegressor(gammas, widths, cv=cv).fit(data.X, data.y)
    Z = (data.X - data.X.mean(0)) / data.X.std(0)
    splitter = LeaveOneOut() if cv == "loo" else cv
    blocks = [test for _, test in splitter.split(Z)]
    table = {
        (g, s): np.mean(twin.lssvm_left_out(Z, data.y[:, None], g, s, blocks) ** 2)
        for g in gammas
        for s in widths
    }
    assert (model.gamma_, model.sigma2_) == min(table, key=table.get)
    for row in model.cv_results_:
        expected = table[row["gamma"], row["sigma2"]]
        assert_allclose(row["mean_test_error"], expected, rtol=1e-8)
    assert_allclose(model.cv_error_, min(table.values()), rtol=1e-8)
    assert_allclose(np.mean(model.cv_residuals_**2), model.cv_error_, rtol=1e-8)
    beta, b = twin.lssvm(twin.gaussian(Z, Z, model.sigma2_), data.y[:, None], model.gamma_)
    assert_allclose(model.dual_coef_, beta[:, 0], rtol=1e-6, atol=1e-8)
    assert_allclose(model.intercept_, b[0], rtol=1e-6)


def test_forward_selection_is_that_of_refitting():
    data = friedman(25, 5, noise=0.1, random_state=2)
    gammas, widths = [5.0, 100.0], [3.0, 20.0]
    model = LSSVMForwardRegressor(3, gamma=gammas, sigma2=widths).fit(data.X, data.y)
    Z = (data.X - data.X.mean(0)) / data.X.std(0)
    single = [np.array([i]) for i in range(25)]
    subset = []
    for size in (1, 2, 3):
        table = {
            (i, g, s): np.mean(
                twin.lssvm_left_out(Z[:, [*subset, i]], data.y[:, None], g, s, single) ** 2
            )
            for i in range(5)
            if i not in subset
            for g in gammas
            for s in widths
        }
        i, g, s = min(table, key=table.get)
        subset.append(i)
        assert model.path_.subset(size) == tuple(subset)
        assert_allclose(model.path_.error(size), table[i, g, s], rtol=1e-8)
        assert model.parameters_[size] == (g, s)
    leave = (data.y - (data.y.sum() - data.y) / 24) ** 2
    assert_allclose(model.path_.error(0), leave.mean())
    small = model.at_size(1)
    assert list(small.selected_) == subset[:1]
    noise = data.X.copy()
    noise[:, subset[1:]] = 0
    assert_allclose(small.predict(noise), small.predict(data.X))


@few
@given(st.integers(0, 999), st.integers(8, 20), st.integers(2, 7), st.floats(0.05, 500))
def test_low_rank_machines_leave_out_as_refitting_does(seed, n, m, gamma):
    X, Y = problem(seed, n, 3, 2)
    K = twin.gaussian(X, X, 4.0)
    landmarks = np.sort(np.random.default_rng(seed).permutation(n)[:m])
    machine = LowRank(K[:, landmarks], landmarks, Y)
    expected = twin.weighted_reduced_rank_left_out(K, landmarks, Y, gamma, np.ones(n))
    assert_allclose(machine.residuals(gamma, None), expected, rtol=1e-5, atol=1e-7)
    single = [np.array([i]) for i in range(n)]
    assert_allclose(machine.residuals(gamma, single), expected, rtol=1e-5, atol=1e-7)
    blocks = np.array_split(np.random.default_rng(seed).permutation(n), 3)
    expected = twin.reduced_rank_blocks_left_out(K, landmarks, Y, gamma, blocks)
    assert_allclose(machine.residuals(gamma, blocks), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("cv", ["loo", KFold(5)])
def test_with_many_samples_the_errors_of_the_path_are_exact(cv):
    data = friedman(90, 8, random_state=0)
    model = LSSVMForwardRegressor(5, gamma=[10.0, 1e4], cv=cv, validation=None)
    model.fit(data.X, data.y)
    assert sorted(model.path_.subset(5)) == [0, 1, 2, 3, 4]
    Z = (data.X - data.X.mean(0)) / data.X.std(0)
    blocks = [test for _, test in (LeaveOneOut() if cv == "loo" else cv).split(Z)]
    for size, (gamma, sigma2) in model.parameters_.items():
        inputs = Z[:, model.path_.subset(size)]
        e = twin.lssvm_left_out(inputs, data.y[:, None], gamma, sigma2, blocks)
        assert_allclose(model.path_.error(size), np.mean(e**2), rtol=1e-7)
        beta, b = twin.lssvm(twin.gaussian(inputs, inputs, sigma2), data.y[:, None], gamma)
        assert_allclose(
            model.at_size(size).predict(data.X),
            (twin.gaussian(inputs, inputs, sigma2) @ beta + b)[:, 0],
            rtol=1e-5,
        )


def test_a_path_without_a_largest_size_ends_when_sizes_gain_nothing():
    data = friedman(80, 20, random_state=0)
    given = {"gamma": [10.0, 1e4], "sigma2": [10.0, 100.0], "validation": None}
    model = LSSVMForwardRegressor(**given).fit(data.X, data.y)
    assert model.path_.stopped == "several sizes gained nothing"
    assert model.path_.complete
    assert model.path_.sizes[-1] < 12
    wanted = LSSVMForwardRegressor(**given, choose=13).fit(data.X, data.y)
    assert len(wanted.selected_) == 13
    assert LSSVMForwardRegressor(20, **given).fit(data.X, data.y).path_.sizes[-1] == 20


def test_forward_selection_with_folds_and_the_empty_model():
    data = friedman(24, 5, random_state=0)
    model = LSSVMForwardRegressor(2, cv=KFold(4), choose=0, gamma=10.0, sigma2=3.0).fit(
        data.X, data.y
    )
    assert_allclose(model.predict(data.X), data.y.mean())
    assert model.get_support().sum() == 0
    e = [data.y[b] - data.y[a].mean() for a, b in KFold(4).split(data.X)]
    assert_allclose(model.path_.error(0), np.mean(np.concatenate(e) ** 2))


@listened
def test_forward_selection_tells_and_can_be_ended():
    data = friedman(30, 6, random_state=1)
    given = {"max_features": 4, "gamma": 10.0, "sigma2": 3.0}
    whole = LSSVMForwardRegressor(**given).fit(data.X, data.y)
    seen, listener = [], Listener()
    model = LSSVMForwardRegressor(**given, callback=lambda path: seen.append(path))
    model.set_callbacks(listener).fit(data.X, data.y)
    assert [path.sizes[-1] for path in seen] == [1, 2, 3, 4]
    assert [list(told.selected_) for told in listener.models[:2]] == [
        list(LSSVMForwardRegressor(**given | {"max_features": k}).fit(data.X, data.y).selected_)
        for k in (1, 2)
    ]
    assert model.path_.subsets == whole.path_.subsets
    assert "callback" not in model.path_.parameters
    asked = LSSVMForwardRegressor(**given, callback=lambda path: path.sizes[-1] == 2, choose=4)
    asked.fit(data.X, data.y)
    assert asked.path_.stopped == "asked to"
    assert len(asked.selected_) == 2


def test_forward_selection_keeps_what_it_has_when_interrupted():
    data = friedman(30, 6, random_state=1)

    def interrupt(path):
        if path.sizes[-1] == 3:
            raise KeyboardInterrupt

    model = LSSVMForwardRegressor(5, gamma=10.0, sigma2=3.0, callback=interrupt)
    with pytest.warns(PathWarning, match="size 3: it was interrupted"):
        model.fit(data.X, data.y)
    assert (model.path_.stopped, model.path_.complete) == ("interrupted", False)
    assert (
        model.path_.subsets
        == LSSVMForwardRegressor(3, gamma=10.0, sigma2=3.0).fit(data.X, data.y).path_.subsets
    )
    model.predict(data.X)


def test_an_interrupt_within_the_first_step_leaves_the_mean(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    data = friedman(30, 6, random_state=1)
    monkeypatch.setattr(Candidates, "best", interrupt)
    model = LSSVMForwardRegressor(gamma=10.0, sigma2=3.0)
    with pytest.warns(PathWarning, match="size 0: it was interrupted"):
        model.fit(data.X, data.y)
    assert (model.path_.sizes, model.path_.complete) == ((0,), False)
    assert_allclose(model.predict(data.X), data.y.mean())


def test_classifier_counts_left_out_samples():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.where(X[:, 0] ** 2 + X[:, 1] ** 2 > 1.5, "out", "in")
    model = LSSVMClassifier().fit(X, y)
    assert model.cv_accuracy_ > 0.8
    assert set(model.predict(X)) <= {"in", "out"}


def test_reduced_rank_on_some_columns():
    data = friedman(60, 8, random_state=0)
    model = ReducedRankKernelRidge(columns=[0, 1, 2, 3, 4], max_samples=30).fit(data.X, data.y)
    X = data.X.copy()
    X[:, 5:] = 0
    assert len(model.samples_) <= 30
    assert_allclose(model.predict(X), model.predict(data.X))


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        (LSSVMRegressor(gamma=-1.0), "gamma=-1.0"),
        (LSSVMRegressor(sigma2="wide"), "'tune'"),
        (LSSVMRegressor(cv="k"), "'loo'"),
        (LSSVMRegressor(cv=ShuffleSplit(2, random_state=0)), "test every sample once"),
        (LSSVMForwardRegressor(-1), "max_features=-1"),
        (ReducedRankKernelRidge(max_samples=0), "max_samples=0"),
    ],
)
def test_errors_lead_on(model, hint):
    data = friedman(20, 5, random_state=0)
    with pytest.raises(InputError, match=hint):
        model.fit(data.X, data.y)


@few
@given(st.integers(0, 999), st.integers(4, 14), st.floats(0.1, 50))
def test_weighted_errors_left_out(seed, n, gamma):
    X, Y = problem(seed, n, 2, 2)
    weights = np.random.default_rng(seed).uniform(0.2, 3.0, n)
    K = twin.gaussian(X, X, 3.0)
    machine = LSSVM(K, Y, weights)
    single = [np.array([i]) for i in range(n)]
    expected = twin.weighted_lssvm_left_out(X, Y, gamma, 3.0, weights, single)
    assert_allclose(machine.loo_residuals(gamma), expected, rtol=1e-6, atol=1e-8)
    assert_allclose(residuals(K, Y, [gamma], None, weights)[0], expected, rtol=1e-6, atol=1e-8)
    blocks = np.array_split(np.random.default_rng(seed).permutation(n), 2)
    expected = twin.weighted_lssvm_left_out(X, Y, gamma, 3.0, weights, blocks)
    assert_allclose(machine.block_residuals(gamma, blocks), expected, rtol=1e-6, atol=1e-8)
    basis = reconstruct(K, 3, weights=weights)
    expected = twin.weighted_reduced_rank_left_out(K, basis.chosen, Y, gamma, weights)
    assert_allclose(ReducedRank(basis, Y, weights).fit(gamma)[2], expected, rtol=1e-5, atol=1e-8)


def test_weights_steer_the_choice_of_samples():
    X = np.array([0.0, 0.1, 5.0, 5.1, 9.0])[:, None]
    K = twin.gaussian(X, X, 1.0)
    heavy = np.array([1.0, 1.0, 1.0, 1.0, 50.0])
    assert reconstruct(K, 1).chosen[0] != 4
    assert reconstruct(K, 1, weights=heavy).chosen[0] == 4


def test_samples_of_weight_zero_are_not_there():
    data = friedman(40, 5, random_state=0)
    weights = np.where(np.arange(40) % 4 == 0, 0.0, 1.0)
    kept = weights > 0
    for make in (
        lambda: LSSVMRegressor(cv=KFold(4)),
        lambda: LSSVMRegressor(),
        lambda: ReducedRankKernelRidge(sigma2=20.0, max_samples=10),
    ):
        some = make().fit(data.X, data.y, sample_weight=weights)
        assert np.isnan(some.cv_residuals_).tolist() == (~kept).tolist()
        if make().get_params().get("cv", "loo") == "loo":
            alone = make().fit(data.X[kept], data.y[kept])
            assert_allclose(some.predict(data.X), alone.predict(data.X))
            assert_allclose(some.cv_residuals_[kept], alone.cv_residuals_)


def test_no_columns_are_refused():
    with pytest.raises(InputError, match="columns is empty"):
        ReducedRankKernelRidge(1.0, 1.0, columns=[]).fit(np.eye(4), np.arange(4.0))


@pytest.mark.parametrize("machine", [LSSVMRegressor(), LSSVMForwardRegressor(1)])
def test_a_gamma_at_the_end_of_the_default_ones_is_told(machine):
    x = np.linspace(0, 1, 12)[:, None]
    with pytest.warns(PathWarning, match="largest one tried"):
        machine.fit(x, np.exp(x[:, 0]))


@pytest.mark.parametrize(
    "machine", [LSSVMRegressor(), LSSVMForwardRegressor(1), ReducedRankKernelRidge()]
)
@pytest.mark.parametrize("value", ["no", "False", 0, None])
def test_standardize_is_true_or_false(machine, value):
    data = friedman(30, 5, random_state=0)
    machine = clone(machine).set_params(standardize=value)
    with pytest.raises(InputError, match=r"standardize=.*; use True or False"):
        machine.fit(data.X, data.y)


def test_two_inputs_of_five_are_enough():
    """With few samples the least error is often that of all inputs, by chance."""
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (60, 5))
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * random.standard_normal(60)
    gammas = [1.0, 10.0, 100.0, 1000.0]
    model = LSSVMForwardRegressor(gamma=gammas, validation=None).fit(X, y)
    assert sorted(model.selected_) == [0, 1]
