"""Paths on all rows and on training parts, side by side, against fits one by one."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit

from slow_twins import grafting as twin
from sparsepath import GraftingClassifierCV, GraftingRegressorCV, grafting_path
from sparsepath.grafting import joint_paths
from sparsepath.grafting.criterion import HuberLoss, Logistic, Penalty, SquaredLoss
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.fitting import GraftingProblem
from sparsepath.grafting.joint_paths import JointPaths
from sparsepath.system.threads import Threads
from sparsepath.system.tuning import TUNING

LOSSES = {"logistic": Logistic(), "huber": HuberLoss(), "squared": SquaredLoss()}
PARTS = np.geomspace(0.9, 0.05, 5)


def data(m=60, n=90, seed=0, kind="logistic"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) * np.logspace(-1, 1, n) + 10.0
    f = (X[:, :3] - 10.0) / np.logspace(-1, 1, n)[:3] @ [2.0, -1.0, 1.0]
    noise = rng.standard_normal(m)
    w = np.round(rng.exponential(size=m), 1) * (rng.random(m) < 0.9)
    return X, np.where(f + noise > 0, 1.0, -1.0) if kind == "logistic" else f + noise, w


class Repeated:
    """Splits whose training parts hold rows several times, as those of the bootstrap."""

    def get_n_splits(self, *_, **__):
        return 2

    def split(self, X, y=None, groups=None):
        for seed in range(2):
            rows = np.random.default_rng(seed).integers(0, len(X), len(X))
            yield rows, np.setdiff1d(np.arange(len(X)), rows)


@pytest.mark.parametrize("l2", [0.0, 0.1])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("shape", [(60, 12), (25, 60)])
def test_optima_and_certificates_are_those_of_the_twin(shape, kind, intercept, l2):
    X, y, _ = data(*shape, kind=kind)
    s = np.full(len(y), 1 / len(y))
    Z = twin.standardise(X, s, intercept)
    factors = np.linspace(0.5, 1.5, shape[1])
    penalty = Penalty.of(shape[1], 1.0, l2, l1_factors=factors)
    with Threads(1) as threads:
        design = GraftingDesign(X, s, threads, fit_intercept=intercept)
        paths = JointPaths(design, y, LOSSES[kind], penalty)
        top = np.abs(Z.T @ (s * twin.loss_and_slope(kind, np.zeros(len(y)), y)[1])).max()
        l1s = (top * PARTS).tolist()
        optima = list(paths.optima(l1s, 1e-9, threads))
    for l1, found in zip(l1s, optima, strict=True):
        C = twin.convex(kind, Z, y, s, l1 * factors, l2, intercept)[2]
        there = twin.criterion(kind, Z, y, s, found.w, found.b, l1 * factors, l2)
        assert found.certified
        assert found.criterion == pytest.approx(there, rel=1e-11)
        assert there == pytest.approx(C, rel=1e-7)
        assert there <= C * (1 + 1e-9)


@pytest.mark.parametrize("kind", LOSSES)
def test_the_gap_bounds_what_is_missing(kind):
    X, y, _ = data(50, 30, kind=kind)
    with Threads(1) as threads:
        design = GraftingDesign(X, np.full(50, 0.02), threads)

        def optima(tol):
            paths = JointPaths(design, y, LOSSES[kind], Penalty.of(30, 1.0))
            return list(paths.optima([0.1, 0.03, 0.01], tol, threads))

        for tol in (0.3, 1e-2, 1e-4):
            for loose, exact in zip(optima(tol), optima(1e-11), strict=True):
                missing = loose.criterion - exact.criterion
                assert missing <= (loose.gap + 1e-10) * loose.criterion
                assert loose.gap <= tol


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "cv", [KFold(3), ShuffleSplit(2, train_size=0.5, random_state=3), Repeated()],
    ids=["runs", "half", "repeated"],
)  # fmt: skip
@pytest.mark.parametrize(
    "options", [{}, {"fit_intercept": False}, {"standardize": False}, {"l2": 0.1}],
    ids=["plain", "no intercept", "as they are", "l2"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["logistic", "huber"])
def test_errors_of_parts_are_those_of_paths_to_their_rows(kind, options, cv, weighted):
    X, y, w = data(kind=kind)
    X[:, 5] = np.arange(60) < 20  # constant in training parts, or nearly
    w = w if weighted else np.ones(60)
    given = {"validation": None, "cv": cv, "tol": 1e-11, "choose": "min", **options}
    loss = {"loss": "huber"} if kind == "huber" else {}
    of = GraftingRegressorCV if loss else GraftingClassifierCV
    model = of(n_l1s=5, **given, **loss).fit(X, y, sample_weight=w)
    for k, (train, test) in enumerate(cv.split(X)):
        path = grafting_path(
            X[train], y[train], sample_weight=w[train], l1s=model.l1s_, tol=1e-11, loss=kind,
            **options,
        )  # fmt: skip
        for i, (coef, b) in enumerate(zip(path.coefs, path.intercepts, strict=True)):
            value, _ = twin.loss_and_slope(kind, X[test] @ coef[0] + b[0], y[test])
            assert model.cv_errors_[i, k] == pytest.approx(
                np.average(value, weights=w[test]), rel=1e-6
            )


@pytest.mark.parametrize("error", ["loss", "zero_one"])
def test_all_ways_give_the_same_errors(monkeypatch, error):
    """Parts that go along, parts for which there is no room, and parts without a certificate."""
    X, y, _ = data()
    of = {"n_l1s": 6, "validation": None, "error": error}
    along = GraftingClassifierCV(**of).fit(X, y).cv_errors_
    for change in ({"order": "C"}, {"order": "F"}):
        assert GraftingClassifierCV(**of).fit(np.array(X, **change), y).cv_errors_ == pytest.approx(
            along, rel=1e-7
        )
    assert (GraftingClassifierCV(n_jobs=2, **of).fit(X, y).cv_errors_ == along).all()
    with monkeypatch.context() as patch:
        patch.setattr(TUNING, "joint_numbers", 0)
        assert GraftingClassifierCV(**of).fit(X, y).cv_errors_ == pytest.approx(along, rel=1e-7)
    optima = JointPaths.optima

    def uncertified(self, *given):
        for found in optima(self, *given):
            for part, _ in self._parts:
                part.certified = False
            yield found._replace(certified=False, w=0.5 * found.w)

    monkeypatch.setattr(JointPaths, "optima", uncertified)
    model = GraftingClassifierCV(**of).fit(X, y)
    assert model.cv_errors_ == pytest.approx(along, rel=1e-7)
    assert model.dual_gap_ <= 1e-8


def test_no_joint_path_without_any_penalty():
    X, y, _ = data(60, 8)
    with Threads(1) as threads:
        problem = GraftingProblem(X, y[:, None], np.ones(60), Logistic(), threads)
        penalty = Penalty.of(8, 1.0, l1_factors=[0, 1, 1, 1, 1, 1, 1, 1])
        assert not joint_paths.has_joint_paths(problem.design, problem.loss, penalty)
