"""Columns left unread by the solver: only where the bound proves that they do not matter."""

import numpy as np
import pytest

from sparsepath.grafting.criterion import Logistic, Penalty, Softmax
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.fitting import GraftingProblem, make_engine
from sparsepath.grafting.procedure import GraftingOptions
from sparsepath.grafting.solver import gradient_scale, solve
from sparsepath.system.threads import Threads
from sparsepath.system.tuning import TUNING


@pytest.fixture
def small_is_big(monkeypatch):
    """Screening, which is for big data, from the first number on."""
    monkeypatch.setattr(TUNING, "unread_from", 0)


def problem(m=120, n=300, classes=2):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n)) * rng.uniform(0.3, 3, n) + rng.standard_normal(n)
    scores = X[:, :classes] + rng.standard_normal((m, classes))
    if classes == 2:
        return X, np.where(scores[:, :1] > scores[:, 1:], 1.0, -1.0), Logistic()
    return X, np.eye(classes)[scores.argmax(1)], Softmax()


SETTINGS = [
    (order, *rest) for order in "FC" for rest in ((True, True), (False, True), (False, False))
]


@pytest.mark.parametrize(("order", "standardize", "fit_intercept"), SETTINGS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.usefixtures("small_is_big")
def test_what_is_left_unread_is_within_l1(order, standardize, fit_intercept, classes):
    X, Y, loss = problem(classes=classes)
    X = np.asarray(X, order=order)
    rng = np.random.default_rng(1)
    s = rng.uniform(0.5, 2, len(X))
    s /= s.sum()
    with Threads(1) as threads:
        design = GraftingDesign(X, s, threads, standardize=standardize, fit_intercept=fit_intercept)
        engine = make_engine(design, Y, loss)
        scale = gradient_scale(engine, engine.gradient())
        penalty = Penalty.of(design.n, 0.5 * scale)
        unread = 0
        for size in (0.1, 0.01, 0.001, 0.1, 0.0001):
            W = engine.W.copy()
            W[:3] += size * rng.standard_normal((3, Y.shape[1])) / design.scales[:3, None]
            engine.move_to(W, engine.b)
            given = engine.gradient_for(penalty)
            true = design.products(engine.slopes())
            old = np.abs(given - true).max(1) > 1e-12 * scale
            unread += old.sum()
            assert (np.linalg.norm(true, axis=1)[old] <= 0.5 * scale).all()
            assert (np.linalg.norm(given, axis=1)[old] <= 0.5 * scale).all()
            assert not old[:3].any()
            assert old.any() <= (not engine.known_gradient.exact)
    one_vector = classes == 2 or fit_intercept  # norms come with the first product with one
    assert (unread > 0) == (standardize or (order == "F" and one_vector))


@pytest.mark.parametrize("order", ["F", "C"])
@pytest.mark.parametrize("standardize", [True, False])
def test_the_path_is_the_same_with_and_without(order, standardize, monkeypatch):
    X, Y, loss = problem(m=150, n=200)
    X = np.asarray(X, order=order)
    found = []
    for big in (1 << 60, 0):
        monkeypatch.setattr(TUNING, "unread_from", big)
        with Threads(1) as threads:
            task = GraftingProblem(X, Y, np.ones(len(X)), loss, threads, standardize=standardize)
            l1s = task.scale * np.geomspace(1, 0.02, 12)
            fits = task.path(l1s.tolist(), Penalty.of(200, 1.0), GraftingOptions(tol=1e-10))
        found.append([fit.solution for fit in fits])
    for plain, screened in zip(*found, strict=True):
        assert screened.criterion == pytest.approx(plain.criterion, rel=1e-12)
        assert pytest.approx(plain.W, abs=1e-6) == screened.W
        assert screened.violation <= 1e-9
        assert screened.gap <= 1e-9


@pytest.mark.usefixtures("small_is_big")
def test_bounds_hold_over_many_small_steps():
    """Of a near copy of the column that moves, for which the bound is nearly an equality."""
    X, Y, loss = problem()
    X[:, 10] = X[:, 5] + 0.01 * X[:, 10]
    with Threads(1) as threads:
        design = GraftingDesign(np.asfortranarray(X), np.full(len(X), 1 / len(X)), threads)
        engine = make_engine(design, Y, loss)
        scale = gradient_scale(engine, engine.gradient())
        penalty = Penalty.of(design.n, 0.9 * scale)
        for _ in range(10):
            W = engine.W.copy()
            W[5] += 0.01
            engine.move_to(W, engine.b)
            given = engine.gradient_for(penalty)
            wrong = np.abs(given - design.products(engine.slopes()))[:, 0]
            assert (wrong <= engine.known_gradient.off + 1e-12).all()
    assert wrong[10] > 0.8 * engine.known_gradient.off[10] > 0


@pytest.mark.usefixtures("small_is_big")
def test_certificates_along_a_path_do_not_depend_on_what_was_read(monkeypatch):
    """Neighbouring l1 and a loose tolerance: some points are accepted as they are."""
    monkeypatch.setattr(GraftingProblem, "goes_jointly", lambda *_: False)
    X, Y, loss = problem()
    with Threads(1) as threads:
        task = GraftingProblem(np.asfortranarray(X), Y, np.ones(len(X)), loss, threads)
        l1s = (task.scale * np.geomspace(0.6, 0.5, 15)).tolist()
        fits = task.path(l1s, Penalty.of(task.design.n, 1.0), GraftingOptions(tol=0.02))
        unread = 0
        for l1, fit in zip(l1s, fits, strict=True):
            found = fit.solution
            task.engine.move_to(found.W, found.b)
            whole = task.engine.gradient()
            unread += (whole != found.gradient).sum()
            again = solve(
                task.engine, Penalty.of(task.design.n, l1), scale=task.scale, max_rounds=0,
                gradient=whole,
            )  # fmt: skip
            assert found.violation == pytest.approx(again.violation, abs=1e-12)
            assert found.gap == pytest.approx(again.gap, abs=1e-12)
        assert unread
