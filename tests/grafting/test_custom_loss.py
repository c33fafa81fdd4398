"""A squared hinge, and losses that a user gives."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.svm import LinearSVC

from slow_twins import grafting as twin
from sparsepath import (
    GraftingClassifier,
    GraftingClassifierCV,
    GraftingRegressor,
    GraftingRegressorCV,
    grafting_path,
)
from sparsepath.errors import InputError
from sparsepath.grafting import ConvexLoss
from sparsepath.grafting.criterion import Logistic, SquaredLoss


class PlainLogistic(ConvexLoss):
    """The logistic loss as its textbook formula."""

    def value(self, F, Y):
        return np.log1p(np.exp(-Y * F))[:, 0]

    def slope(self, F, Y):
        return -Y / (1 + np.exp(Y * F))

    def curvature(self, F, Y):
        return np.exp(Y * F) / (1 + np.exp(Y * F)) ** 2


class LogCosh(ConvexLoss):
    error_name = "log cosh"

    def value(self, F, Y):
        return np.log(np.cosh(F - Y))[:, 0]

    def slope(self, F, Y):
        return np.tanh(F - Y)

    def curvature(self, F, Y):
        return 1 - np.tanh(F - Y) ** 2


@pytest.fixture(scope="module")
def classes():
    X, y = load_breast_cancer(return_X_y=True)
    return (X[:200] - X[:200].mean(0)) / X[:200].std(0), y[:200]


@pytest.fixture(scope="module")
def numbers():
    random = np.random.default_rng(0)
    X = random.standard_normal((80, 10))
    return X, X[:, 0] - 0.5 * X[:, 3] + 0.5 * random.standard_normal(80)


def test_the_squared_hinge_is_that_of_liblinear(classes):
    X, y = classes
    l1 = 0.05
    machine = LinearSVC(
        penalty="l1", dual=False, C=1 / (l1 * len(y)), fit_intercept=False, tol=1e-8, max_iter=10**6
    ).fit(X, y)
    plain = {"fit_intercept": False, "standardize": False, "validation": 5}
    model = GraftingClassifier(l1, loss="squared_hinge", **plain).fit(X, y)
    np.testing.assert_allclose(model.coef_, machine.coef_, atol=1e-5)
    assert model.dual_gap_ < 1e-8
    assert model.path_.criterion == "squared hinge loss"
    assert model.honest_.measure == "error rate"
    assert model.predict_proba(X).sum(1) == pytest.approx(1.0)


def test_a_custom_loss_reaches_the_optimum_of_the_built_in_one(classes):
    X, y = classes
    given = {"l2": 0.01, "validation": None}
    own = GraftingClassifier(0.05, loss=PlainLogistic(), **given).fit(X, y)
    known = GraftingClassifier(0.05, **given).fit(X, y)
    assert own.criterion_ == pytest.approx(known.criterion_, rel=1e-9)
    assert own.selected_.tolist() == known.selected_.tolist()
    assert np.isnan(own.dual_gap_)
    assert own.kkt_violation_ < 1e-8
    single = {"l0": 0.01, "loss": PlainLogistic()}
    steps = [(h.action, h.feature) for h in clone(own).set_params(**single).fit(X, y).history_]
    known.set_params(l0=0.01).fit(X, y)
    assert steps == [(h.action, h.feature) for h in known.history_]


def test_a_custom_loss_of_numbers(numbers):
    X, y = numbers
    model = GraftingRegressor(0.05, loss=LogCosh(), validation=5).fit(X, y)
    Z, s = (X - X.mean(0)) / X.std(0), np.full(len(y), 1 / len(y))
    w, b = model.coef_ * X.std(0), model.intercept_ + X.mean(0) @ model.coef_
    g = Z.T @ (s * np.tanh(Z @ w + b - y))
    on = w != 0
    np.testing.assert_allclose(g[on], -0.05 * np.sign(w[on]), atol=1e-7)
    assert (np.abs(g[~on]) <= 0.05 + 1e-7).all()
    assert s @ np.tanh(Z @ w + b - y) == pytest.approx(0.0, abs=1e-7)
    size = len(model.selected_)
    value = np.log(np.cosh(model.predict(X) - y)).mean()
    assert model.path_.error(size) == pytest.approx(value, rel=1e-9)
    assert model.honest_.measure == "log cosh"
    assert model.honest_.error > value


def test_paths_and_cross_validation_take_a_custom_loss(classes, numbers):
    given = {"n_l1s": 6, "validation": None}
    own = GraftingClassifierCV(loss=PlainLogistic(), **given).fit(*classes)
    known = GraftingClassifierCV(**given).fit(*classes)
    np.testing.assert_allclose(own.cv_errors_, known.cv_errors_, rtol=1e-6)
    hinge = GraftingClassifierCV(loss="squared_hinge", error="zero_one", **given).fit(*classes)
    assert hinge.score(*classes) > 0.9
    path = grafting_path(*classes, loss="squared_hinge", n_l1s=4)
    assert path.kkt_violations.max() < 1e-8
    path = grafting_path(*numbers, loss=LogCosh(), n_l1s=4)
    assert path.kkt_violations.max() < 1e-8
    model = GraftingRegressorCV(loss=LogCosh(), **given).fit(*numbers)
    assert {0, 3} <= set(model.selected_.tolist())


class WrongSlope(LogCosh):
    def slope(self, F, Y):
        return 2 * np.tanh(F - Y)


class WrongShape(LogCosh):
    def value(self, F, Y):
        return np.log(np.cosh(F - Y))


def test_what_a_loss_lacks_is_said(numbers):
    X, y = numbers
    for loss, message in (
        (WrongSlope(), "slope.. of the loss WrongSlope is not the derivative"),
        (WrongShape(), "value.. of the loss WrongShape made shape .20, 1. .* return shape .20,."),
        (7, "loss=7; use one of squared, huber"),
    ):
        with pytest.raises(InputError, match=message):
            GraftingRegressor(loss=loss).fit(X, y)
    with pytest.raises(InputError, match="loss=7; use one of logistic, squared_hinge"):
        GraftingClassifier(loss=7).fit(X, y > 0)
    with pytest.raises(InputError, match="for two classes; y has 3"):
        GraftingClassifier(loss="squared_hinge").fit(*load_iris(return_X_y=True))


@pytest.mark.parametrize("kind", ["logistic", "squared"])
def test_the_check_accepts_the_losses_of_the_library(kind, numbers):
    X, y = numbers
    loss = {"logistic": Logistic(), "squared": SquaredLoss()}[kind]
    s, Z = np.full(len(y), 1 / len(y)), twin.standardise(X, np.full(len(y), 1 / len(y)))
    target = np.where(y > 0, 1.0, -1.0) if kind == "logistic" else y
    made = GraftingClassifier if kind == "logistic" else GraftingRegressor
    model = made(0.05, loss=loss, validation=None).fit(X, target)
    assert model.criterion_ == pytest.approx(
        twin.convex(kind, Z, target, s, 0.05, 0.0)[2], rel=1e-6
    )
