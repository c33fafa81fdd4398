"""Paths of squared errors by products of columns: against a solver on the rows, and by rows."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold, ShuffleSplit

from problems import KINDS, problems
from slow_twins import grafting as twin
from sparsepath import GraftingRegressor, GraftingRegressorCV, grafting_path
from sparsepath._core import grafting as core
from sparsepath.grafting import folds, squares
from sparsepath.grafting.criterion import Penalty, SquaredLoss
from sparsepath.grafting.fitting import GraftingProblem
from sparsepath.grafting.procedure import GraftingOptions
from sparsepath.grafting.squares import SharedSums, SquaredProblem
from sparsepath.system.threads import Threads

PARTS = np.geomspace(1, 0.01, 6)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    problems(kinds=[k for k in KINDS if k != "targets"], max_m=18, max_n=9),
    st.sampled_from([0.0, 0.1]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_every_point_of_a_path_is_the_optimum(case, l2, intercept, standardize, factors):
    X = case.X
    y = 0.5 + (case.Y[:, 0] - case.Y[:, 0].mean()) / max(case.Y[:, 0].std(), 1e-3)
    w = np.ones(len(X)) if case.sw is None else case.sw
    if np.count_nonzero(w) < 3:
        w = np.ones(len(X))
    s = w / w.sum()
    f1 = 0.5 + np.arange(X.shape[1]) % 3 if factors else np.ones(X.shape[1])
    centred = X - (s @ X if intercept else 0.0)
    Z = twin.standardise(X, s, intercept) if standardize else centred
    with Threads(1) as threads:
        problem = GraftingProblem(
            X, y[:, None], w, SquaredLoss(), threads,
            fit_intercept=intercept, standardize=standardize,
        )  # fmt: skip
        penalty = Penalty.of(X.shape[1], 1.0, l2 * problem.scale, l1_factors=f1)
        l1s = problem.largest_l1(penalty) * PARTS
        fits = problem.path(l1s.tolist(), penalty, GraftingOptions())
    for l1, fit in zip(l1s, fits, strict=True):
        point = fit.solution
        *_, C = twin.convex("squared", Z, y, s, l1 * f1, l2 * problem.scale, intercept)
        again = twin.criterion(
            "squared",
            Z,
            y,
            s,
            point.W[:, 0],
            point.b[0] + problem.units[2],
            l1 * f1,
            l2 * problem.scale,
        )
        assert again == pytest.approx(point.criterion, rel=1e-8, abs=1e-13)
        assert point.criterion <= C + 1e-8 * abs(C) + 1e-13
        assert point.criterion >= C - 1e-6 * abs(C) - 1e-13  # the twin may be a little above
        assert point.violation <= 1e-8
        assert point.gap <= 1e-8
        assert fit.criterion == point.criterion
        assert sorted(fit.final.features) == np.flatnonzero(point.W[:, 0]).tolist()


def data(m=90, n=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) * np.logspace(-3, 3, n) + 100.0
    y = 7.0 + X[:, :3] @ [300.0, -100.0, 20.0] + rng.standard_normal(m)
    return X, y, np.round(rng.exponential(size=m), 1) * (rng.random(m) < 0.9)


class Repeated:
    """Splits whose training parts hold rows several times, as those of the bootstrap."""

    def get_n_splits(self, *_, **__):
        return 3

    def split(self, X, y=None, groups=None):
        for seed in range(3):
            rows = np.random.default_rng(seed).integers(0, len(X), len(X))
            yield rows, np.setdiff1d(np.arange(len(X)), rows)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "cv", [KFold(4), KFold(3, shuffle=True, random_state=0),
           ShuffleSplit(3, train_size=0.3, random_state=54), Repeated(),
           [(np.arange(80), np.arange(80, 90))]],
    ids=["runs", "shuffled", "few", "repeated", "one"],
)  # fmt: skip
@pytest.mark.parametrize(
    "options", [{}, {"fit_intercept": False}, {"standardize": False}, {"l2": 0.1}],
    ids=["plain", "no intercept", "as they are", "l2"],
)  # fmt: skip
def test_errors_of_parts_are_those_of_fits_to_their_rows(cv, options, weighted):
    X, y, w = data()
    if isinstance(cv, ShuffleSplit):
        cv = list(cv.split(X))
    w = w if weighted else np.ones(len(y))
    # columns nearly alike without an intercept: the usual tolerance leaves 1e-5 of the errors open
    of = {"validation": None, "tol": 1e-12, **options}
    rule = "min"  # one split has no standard error
    model = GraftingRegressorCV(n_l1s=5, cv=cv, choose=rule, **of).fit(X, y, sample_weight=w)
    parts = list(cv.split(X)) if hasattr(cv, "split") else cv
    for k, (train, test) in enumerate(parts):
        for i, l1 in enumerate(model.l1s_):
            plain = GraftingRegressor(l1=l1, **of).fit(X[train], y[train], sample_weight=w[train])
            error = np.average((y[test] - plain.predict(X[test])) ** 2, weights=w[test])
            assert model.cv_errors_[i, k] == pytest.approx(error, rel=1e-6)


def by_rows(monkeypatch):
    monkeypatch.setattr(squares, "FOR_EACH_L1", 0)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, bool])
def test_any_order_and_type(monkeypatch, order, kind):
    X, y, _ = data()
    X = np.asarray(np.round((X - X.mean(0)) / X.std(0)) if kind is not bool else X > 100.0, kind)
    X = np.array(X, order=order)
    model = GraftingRegressorCV(n_l1s=5, validation=None).fit(X, y)
    by_rows(monkeypatch)
    other = GraftingRegressorCV(n_l1s=5, validation=None).fit(X, y)
    assert model.cv_errors_ == pytest.approx(other.cv_errors_, rel=1e-6)
    assert model.coef_ == pytest.approx(other.coef_, rel=1e-5, abs=1e-7)
    assert model.path_.sizes == other.path_.sizes


def test_a_column_that_does_not_vary_in_a_part_sends_that_part_to_the_rows(monkeypatch):
    X, y, _ = data()
    X[:, 4] = 0.0
    X[3, 4] = 1.0  # constant in the training part of the first of five folds
    asked = []
    plain = SharedSums.problem
    monkeypatch.setattr(
        SharedSums, "problem", lambda self, *rows: asked.append(plain(self, *rows)) or asked[-1]
    )
    model = GraftingRegressorCV(n_l1s=5, cv=KFold(5), validation=None).fit(X, y)
    assert [each is None for each in asked].index(True) == 1
    assert sum(each is None for each in asked) == 1
    by_rows(monkeypatch)
    other = GraftingRegressorCV(n_l1s=5, cv=KFold(5), validation=None).fit(X, y)
    assert model.cv_errors_ == pytest.approx(other.cv_errors_, rel=1e-6)


def test_a_target_without_noise_keeps_its_certificates():
    """C is next to nothing beside the target: what products lost, the rows know."""
    X, _, _ = data()
    y = X[:, :3] @ [1.0, 2.0, 3.0]
    found = grafting_path(X, y, loss="squared", n_l1s=10, least=1e-7)
    assert found.kkt_violations.max() <= 1e-9
    assert found.dual_gaps.max() <= 1e-8
    Z = (X - X.mean(0)) / X.std(0)
    for i, l1 in enumerate(found.l1s):
        coef, b, C = found.coefs[i, 0], found.intercepts[i, 0], found.criteria[i]
        r = y - X @ coef - b
        assert found.losses[i] == pytest.approx(0.5 * (r**2).mean(), rel=1e-5)
        w = coef * X.std(0)
        assert 0.5 * (r**2).mean() + l1 * np.abs(w).sum() == pytest.approx(C, rel=1e-6)
        assert np.abs(Z.T @ r).max() / len(y) <= l1 * (1 + 1e-6) + 1e-9 * found.l1s[0]


@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_certificates_anywhere_are_those_of_the_rows(l2):
    """Away from the optimum too, where all terms of the dual bound matter."""
    rng = np.random.default_rng(0)
    Z, y, w = rng.standard_normal((40, 6)), rng.standard_normal(40), rng.standard_normal(6)
    w[:2] = 0.0
    s, l1 = np.full(40, 1 / 40), np.linspace(0.05, 0.2, 6)
    G, c, r = Z.T @ Z / 40, Z.T @ y / 40, Z.T @ (Z @ w - y) / 40
    ridge = np.full(6, l2)
    path = core.ProductsPath(G, c, y @ y / 40, l1, ridge, r == r, 2.0, 1e-300)
    path.move_to(1.0, w)
    loss, total, gap = path.loss, path.criterion, path.gap * path.criterion
    assert path.gradient == pytest.approx(r)
    assert total == pytest.approx(twin.criterion("squared", Z, y, s, w, 0.0, l1, l2))
    assert loss == pytest.approx(0.5 * ((Z @ w - y) ** 2).mean())
    u = Z @ w - y
    part = 1.0 if l2 else min(1.0, (l1 / np.abs(Z.T @ u / 40)).min())
    over = np.maximum(part * np.abs(Z.T @ u) / 40 - l1, 0.0)
    dual = -(0.5 * (part * u) ** 2 + part * u * y).mean() - (
        (over**2).sum() / (4 * l2) if l2 else 0
    )
    assert gap == pytest.approx(total - dual)
    assert 2.0 * path.violation == pytest.approx(
        max(
            abs(g + 2 * l2 * v + p * np.sign(v)) if v else max(abs(g) - p, 0.0)
            for g, v, p in zip(Z.T @ u / 40, w, l1, strict=True)
        )
    )


@pytest.mark.parametrize("kind", ["copies", "nearly collinear", "wide", "constant"])
def test_hard_data_are_solved_or_handed_to_the_rows(kind):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 20))
    if kind == "copies":
        X[:, 10:] = X[:, :10]
    elif kind == "nearly collinear":
        X = np.cumsum(X, axis=1) + 1e3 * rng.standard_normal((60, 1))
    elif kind == "wide":
        X = rng.standard_normal((15, 60))
    else:
        X[:, ::3] = 5.0
    y = X[:, 1] + X[:, 4] + 0.5 * rng.standard_normal(len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = grafting_path(X, y, loss="squared", n_l1s=15, least=1e-3)
    assert found.kkt_violations.max() <= 1e-9
    assert found.dual_gaps.max() <= 1e-8


def test_a_target_that_does_not_vary_in_a_part():
    X, y, _ = data()
    y[18:] = 3.0  # constant in the training part of the first of five folds
    model = GraftingRegressorCV(n_l1s=4, cv=KFold(5), validation=None).fit(X, y)
    assert model.cv_errors_[:, 0] == pytest.approx(((y[:18] - 3.0) ** 2).mean())


def test_what_is_not_certified_is_not_used(monkeypatch):
    """A loop that ends too soon must not be believed."""

    class Lazy:
        loss = criterion = violation = gap = 1.0
        weights, gradient = np.full(12, 0.1), np.zeros(12)

        def go_to(self, l1, tol):
            pass

    X, y, _ = data()
    right = GraftingRegressorCV(n_l1s=5, validation=None).fit(X, y)
    monkeypatch.setattr(SquaredProblem, "_path", lambda self, penalty: Lazy())
    model = GraftingRegressorCV(n_l1s=5, validation=None).fit(X, y)
    assert model.cv_errors_ == pytest.approx(right.cv_errors_, rel=1e-6)
    assert model.coef_ == pytest.approx(right.coef_, rel=1e-5, abs=1e-9)
    assert model.dual_gap_ <= 1e-9


def test_parts_that_are_told_to_end_do():
    X, y, _ = data()
    with Threads(1) as threads:
        problem = GraftingProblem(X, y[:, None], np.ones(90), SquaredLoss(), threads)
        penalty, options = Penalty.of(X.shape[1], 1.0), GraftingOptions()
        sums = problem.shared_sums(penalty, options, 4)
    l1s = problem.largest_l1(penalty) * PARTS
    ways = {"fit_intercept": True, "standardize": True}
    task = folds.PathTask(
        X, y[:, None], np.ones(90), SquaredLoss(), l1s, penalty, options, "loss", ways, sums
    )
    halt = folds.Halt(is_set=True)
    assert folds.path_errors(task, (np.arange(60), np.arange(60, 90), None), halt) is None
