"""Costs, budgets, stopping rules, kernels and losses over splits, against plain refits."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from rls.comparing import OTHERS
from slow_twins import rls as twin
from sparsepath import (
    InputError,
    PathWarning,
    SparseKernelRLSClassifier,
    SparseKernelRLSRegressor,
    SparseRLSClassifier,
    SparseRLSRegressor,
)
from sparsepath.rls import PastOneSE, Patience, TimeLimit, Tolerance
from sparsepath.rls.groups import Grouped


def problem(seed, m=40, n=8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    w = np.array([1.0, 0.8, 0.5, 0.3])[:n]
    return X, X[:, :4] @ w + 0.7 * rng.standard_normal(m), rng


def by_gain_per_cost(X, y, costs, size, criterion):
    """Refit every candidate; the largest gain per cost, or the least loss times cost."""
    chosen, error = [], criterion(X[:, []], y[:, None], 1.0, True, None, "squared")[0]
    for _ in range(size):
        best = None
        for i in (i for i in range(X.shape[1]) if i not in chosen):
            after = criterion(X[:, [*chosen, i]], y[:, None], 1.0, True, None, "squared")[0]
            gain = error - after
            value = gain / costs[i] if gain > 0 else gain * costs[i]
            if best is None or value > best[0]:
                best = value, i, after
        chosen.append(best[1])
        error = best[2]
    return tuple(chosen)


@given(seed=st.integers(0, 200))
@settings(max_examples=15)
@pytest.mark.parametrize("cv", ["loo", KFold(4)], ids=["loo", "folds"])
def test_additions_by_gain_per_cost(cv, seed):
    X, y, rng = problem(seed)
    costs = rng.uniform(0.2, 5.0, X.shape[1])
    criterion = twin.loo_error if cv == "loo" else twin.kfold_error(list(cv.split(X)))
    model = SparseRLSRegressor(6, feature_costs=costs, cv=cv, standardize=False).fit(X, y)
    assert model.path_.subset(6) == by_gain_per_cost(X, y, costs, 6, criterion)


def test_budget_is_kept_and_spent():
    X, y, rng = problem(3, m=60, n=12)
    costs = rng.uniform(0.5, 3.0, 12)
    model = SparseRLSRegressor(feature_costs=costs, budget=6.0).fit(X, y)
    largest = model.path_.subset(max(model.path_.sizes))
    left = 6.0 - costs[list(largest)].sum()
    assert left >= 0
    assert all(costs[i] > left for i in range(12) if i not in largest)
    assert model.path_.stopped == "budget"


def by_groups(X, y, groups, criterion, loss="squared"):
    """Refit with every group added; returns the columns and the criterion after each addition."""
    chosen, steps = [], []
    left = list(groups)
    while left:
        tried = [
            (criterion(X[:, chosen + g], y[:, None], 1.0, True, None, loss)[0], g) for g in left
        ]
        least = min(value for value, _ in tried)
        value, best = next(pair for pair in tried if pair[0] <= least * (1 + 1e-10))
        chosen = chosen + best
        left.remove(best)
        steps.append((tuple(chosen), value))
    return steps


@given(seed=st.integers(0, 200))
@settings(max_examples=10)
@pytest.mark.parametrize("cv", ["loo", KFold(4)], ids=["loo", "folds"])
def test_groups_enter_as_one(cv, seed):
    X, y, _ = problem(seed, m=40, n=8)
    X[:, 7] = X[:, 6]  # a group that is collinear in itself
    labels = ["a", "b", "a", "c", "c", "c", "d", "d"]
    groups = [[0, 2], [1], [3, 4, 5], [6, 7]]
    criterion = twin.loo_error if cv == "loo" else twin.kfold_error(list(cv.split(X)))
    path = SparseRLSRegressor(feature_groups=labels, cv=cv, standardize=False).fit(X, y).path_
    for columns, value in by_groups(X, y, groups, criterion):
        assert path.subset(len(columns)) == columns
        assert path.error(len(columns)) == pytest.approx(value, rel=1e-9)
    back = (
        SparseRLSRegressor(feature_groups=labels, cv=cv, search="backward", standardize=False)
        .fit(X, y)
        .path_
    )
    for subset, error in zip(back.subsets, back.errors, strict=True):
        refit = criterion(X[:, list(subset)], y[:, None], 1.0, True, None, "squared")[0]
        assert error == pytest.approx(refit, rel=1e-9)
        assert all(set(g) <= set(subset) or not set(g) & set(subset) for g in groups)
    list(path.replay())


@given(seed=st.integers(0, 200))
@settings(max_examples=10)
@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("cv", ["loo", KFold(4)], ids=["loo", "folds"])
def test_columns_alone_among_groups_are_judged_at_once(cv, loss, seed):
    X, y, _ = problem(seed, m=40, n=12)
    X[:, 9] = X[:, 4]  # equal columns: the first one comes
    labels = [0, 1, 2, 3, 4, 5, 6, 7, 3, 9, 10, 7]
    groups = [[0], [1], [2], [3, 8], [4], [5], [6], [7, 11], [9], [10]]
    criterion = twin.loo_error if cv == "loo" else twin.kfold_error(list(cv.split(X)))
    options = {"cv": cv, "loss": loss, "standardize": False}
    asked = []

    def noted(self, group, squared):
        asked.append(group)
        return judged(self, group, squared)

    judged = Grouped._error_with
    with mock.patch.object(Grouped, "_error_with", noted):
        path = SparseRLSRegressor(8, feature_groups=labels, **options).fit(X, y).path_
    assert all(len(group) > 1 for group in asked)
    for columns, value in by_groups(X, y, groups, criterion, loss):
        if len(columns) <= 8:
            assert path.subset(len(columns)) == columns
            assert path.error(len(columns)) == pytest.approx(value, rel=1e-9)


def test_groups_with_costs_and_a_limit():
    X, y, _ = problem(4, m=50, n=6)
    labels = [0, 0, 1, 1, 2, 2]
    with pytest.warns(PathWarning, match="ends at size 2"):
        model = SparseRLSRegressor(3, feature_groups=labels).fit(X, y)
    assert model.path_.sizes == (0, 2)
    cheap = SparseRLSRegressor(
        feature_groups=labels, feature_costs=[100.0, 100.0, 1.0, 1.0, 1.0, 1.0]
    ).fit(X, y)
    assert cheap.path_.subset(2) != (0, 1)
    with pytest.raises(InputError, match="one label for each of the 6 columns"):
        SparseRLSRegressor(feature_groups=[1, 2]).fit(X, y)


@pytest.mark.parametrize("costs", [[1.0, 2.0], -np.ones(8), np.full(8, np.nan)])
def test_bad_costs_are_refused(costs):
    X, y, _ = problem(0)
    with pytest.raises(InputError, match="feature_costs must be 8"):
        SparseRLSRegressor(feature_costs=costs).fit(X, y)


def test_stopping_rules():
    X, y, _ = problem(5, m=80, n=20)
    full = SparseRLSRegressor(20, choose="min").fit(X, y).path_

    def stopped(rule):
        return SparseRLSRegressor(20, stop=rule, choose="min").fit(X, y).path_

    tolerance = stopped(Tolerance(0.05))
    last = max(tolerance.sizes)
    gains = 1 - full.errors[1:] / full.errors[:-1]
    assert last == int(np.flatnonzero(gains < 0.05)[0]) + 1
    assert tolerance.stopped == "tolerance"
    assert tolerance.subsets == full.subsets[: last + 1]

    patience = stopped(Patience(3))
    assert max(patience.sizes) == int(full.errors.argmin()) + 3
    assert max(stopped(TimeLimit(0.0)).sizes) == 1
    past = stopped(PastOneSE())
    least = full.errors.argmin()
    over = np.flatnonzero(full.errors > full.errors[least] + full.errors_se[least])
    over = over[over > least]
    assert max(past.sizes) == (over[0] if len(over) else 20)
    assert stopped([Patience(50), Tolerance(0.05)]).subsets == tolerance.subsets
    assert clone(SparseRLSRegressor(stop=Patience(3))).stop == Patience(3)


@pytest.mark.parametrize("rule", [lambda: Tolerance(1.5), lambda: Patience(0)])
def test_bad_rules_are_refused(rule):
    with pytest.raises(InputError):
        rule()


@given(seed=st.integers(0, 200))
@settings(max_examples=8)
@pytest.mark.parametrize("loss", OTHERS)
@pytest.mark.parametrize("pooled", [False, True])
def test_losses_over_splits(loss, pooled, seed):
    X, y, rng = problem(seed, m=36, n=5)
    y = np.where(y > np.median(y), 1.0, -1.0)
    weights = rng.integers(0, 3, 36).astype(float)
    cv = ShuffleSplit(3, test_size=12, random_state=seed)
    criterion = twin.kfold_error(list(cv.split(X)), pooled=pooled)
    for search, reference in [
        ("forward", twin.wrapper_forward(X, y[:, None], 4, 1.0, loss, sw=weights, error=criterion)),
        ("backward", twin.backward(X, y[:, None], 0, 1.0, loss, sw=weights, error=criterion)),
    ]:
        most = 4 if search == "forward" else None
        model = SparseRLSClassifier(
            most, loss=loss, cv=cv, pooled=pooled, search=search, standardize=False
        )
        path = model.fit(X, y, sample_weight=weights).path_
        for subset, value, _ in reference:
            assert set(path.subset(len(subset))) == set(subset)
            assert path.error(len(subset)) == pytest.approx(value, rel=1e-9, abs=1e-12)


@given(seed=st.integers(0, 200))
@settings(max_examples=6)
@pytest.mark.parametrize("search", ["forward", "backward"])
def test_auc_by_leaving_pairs_out(search, seed):
    X, y, rng = problem(seed, m=16, n=4)
    if seed % 3 == 0:
        X = np.round(X / 2)  # so that there are pairs of equal scores
    y = np.where(y > np.median(y), 1.0, -1.0)
    weights = rng.integers(0, 3, 16).astype(float) if seed % 2 else None
    if weights is not None and min(np.sum(weights[y > 0] > 0), np.sum(weights[y < 0] > 0)) < 3:
        return
    twins = {
        "forward": lambda: twin.wrapper_forward(
            X, y[:, None], 3, 1.0, "auc", sw=weights, error=twin.auc_leave_pair_out
        ),
        "backward": lambda: twin.backward(
            X, y[:, None], 0, 1.0, "auc", sw=weights, error=twin.auc_leave_pair_out
        ),
    }
    most = 3 if search == "forward" else None
    model = SparseRLSClassifier(most, loss="auc", search=search, standardize=False).fit(
        X, y, sample_weight=weights
    )
    for subset, value, _ in twins[search]():
        assert set(model.path_.subset(len(subset))) == set(subset)
        assert model.path_.error(len(subset)) == pytest.approx(value, abs=1e-12)
    coef, _ = twin.ridge(X[:, model.selected_], y[:, None], 1.0, sw=weights)
    np.testing.assert_allclose(model.coef_[0, model.selected_], coef[:, 0], rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("search", ["forward", "floating", "backward"])
def test_auc_over_splits_is_that_of_scikit_learn(search, weighted):
    X, y, rng = problem(7, m=60, n=6)
    y = (y > np.median(y)).astype(int)
    weights = rng.integers(1, 4, 60).astype(float) if weighted else None
    folds = StratifiedKFold(4)
    model = SparseRLSClassifier(
        5, loss="auc", cv=folds, search=search, choose="min", standardize=False
    )
    path = model.fit(X, y, sample_weight=weights).path_
    assert path.criterion == "4-fold AUC error"
    for subset, error in zip(path.subsets, path.errors, strict=True):
        areas = []
        for train, test in folds.split(X, y):
            sw = np.ones(60) if weights is None else weights
            coef, _ = twin.ridge(X[train][:, subset], 2.0 * y[train, None] - 1, 1.0, sw=sw[train])
            scores = (X[test][:, subset] @ coef)[:, 0]
            areas.append(roc_auc_score(y[test], scores, sample_weight=sw[test]))
        assert error == pytest.approx(1 - np.mean(areas), abs=1e-12)


def test_kernel_model_is_ridge_on_kernel_columns():
    X, y, _ = problem(1, m=50, n=2)
    model = SparseKernelRLSRegressor(8, gamma=0.7, alpha=0.01, choose=8).fit(X, y)
    K = rbf_kernel(X, np.unique(X, axis=0), gamma=0.7)
    linear = SparseRLSRegressor(8, alpha=0.01, choose=8, standardize=False).fit(K, y)
    assert model.path_.subsets == linear.path_.subsets
    np.testing.assert_allclose(model.predict(X), linear.predict(K), rtol=1e-10)
    coef, _ = twin.ridge(rbf_kernel(X, model.centres_, gamma=0.7), y[:, None], 0.01)
    np.testing.assert_allclose(model.coef_[0], coef[:, 0], rtol=1e-7)
    # With every sample as a centre and the plain kernel the fit approaches kernel ridge.
    full = KernelRidge(kernel="rbf", gamma=0.7, alpha=1e-3).fit(X, y)
    assert np.corrcoef(full.predict(X), model.predict(X))[0, 1] > 0.8


def test_kernels_given_by_name_and_by_function():
    X, y, _ = problem(2, m=40, n=3)
    named = SparseKernelRLSRegressor(5, kernel="polynomial", gamma=1.0, degree=2, coef0=1.0)
    own = SparseKernelRLSRegressor(5, kernel=lambda A, B: (A @ B.T + 1.0) ** 2)
    np.testing.assert_allclose(named.fit(X, y).predict(X), own.fit(X, y).predict(X), rtol=1e-8)
    given = SparseKernelRLSRegressor(3, candidates=X[:10]).fit(X, y)
    assert all(any(np.array_equal(c, x) for x in X[:10]) for c in given.centres_)
    drawn = [
        SparseKernelRLSRegressor(3, candidates=10, random_state=1).fit(X, y).centres_
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*drawn)
    with pytest.raises(InputError, match="kernel='cubic'"):
        SparseKernelRLSRegressor(kernel="cubic").fit(X, y)


@parametrize_with_checks([SparseKernelRLSRegressor(), SparseKernelRLSClassifier()])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("candidates", [None, 12, "given"])
def test_kernel_models_of_every_size_and_penalty(candidates):
    from sparsepath import SparseKernelRLSClassifier, SparseKernelRLSRegressor

    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    X[20:] = X[:10]  # equal samples are one candidate
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(30)
    w = np.r_[0.0, np.ones(29)]
    given = X[5:15] + 0.1 if candidates == "given" else candidates
    for kind, target in ((SparseKernelRLSRegressor, y), (SparseKernelRLSClassifier, y > 0)):
        model = kind(6, candidates=given, alpha=[1e-3, 1.0], random_state=0, gamma=0.7)
        model.fit(X, target, sample_weight=w)
        assert sorted(model.paths_) == [1e-3, 1.0]
        assert set(model.surface_.to_frame()["alpha"]) == {1e-3, 1.0}
        if candidates == "given":
            assert model.candidate_samples_ is None
        else:
            assert_allclose(X[model.candidate_samples_], model.candidate_centres_)
            assert 0 not in model.candidate_samples_
        for alpha, path in model.paths_.items():
            for size in path.sizes:
                other = model.at_size(size, alpha)
                centres = model.candidate_centres_[list(path.subset(size))]
                assert_allclose(other.centres_, centres)
                assert other.alpha_ == alpha
                distances = np.square(X[:, None] - centres).sum(2)
                scores = np.exp(-0.7 * distances) @ path.coef(size) + path.intercept(size)
                got = (other.predict if kind is SparseKernelRLSRegressor else
                       other.decision_function)(X)  # fmt: skip
                assert_allclose(got, scores[:, 0], rtol=1e-9, atol=1e-12)
        assert_allclose(model.centres_, model.candidate_centres_[model.linear_.selected_])
        with pytest.raises(InputError):
            model.at_size(99)
