"""Grafting one weight at a time: the same steps as a literal re-implementation."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slow_twins import grafting as twin
from sparsepath.grafting.criterion import Logistic, Penalty, SquaredHinge, SquaredLoss
from sparsepath.grafting.engines import Engine
from sparsepath.grafting.fitting import GraftingProblem
from sparsepath.grafting.procedure import GraftingOptions, choose_weight
from sparsepath.path.selection_path import SelectionPath
from sparsepath.system.threads import Threads

LOSSES = {"logistic": Logistic(), "squared": SquaredLoss(), "squared_hinge": SquaredHinge()}


def problem(seed, m, n, kind):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) * rng.uniform(0.5, 3, n) + rng.uniform(-2, 2, n)
    f = X @ (rng.standard_normal(n) * (rng.random(n) < 0.5)) + rng.standard_normal(m)
    rank = np.argsort(np.argsort(f))
    y = (f - f.mean()) / f.std() if kind == "squared" else np.where(rank >= m // 2, 1.0, -1.0)
    return X, y


def run(X, y, kind, penalty, **options):
    with Threads(1) as threads:
        whole = GraftingProblem(X, y[:, None], np.ones(len(y)), LOSSES[kind], threads)
        return whole.fit(penalty, GraftingOptions(steps="single", **options)), whole


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.integers(0, 10_000),
    st.integers(20, 40),
    st.integers(2, 7),
    st.sampled_from(["logistic", "squared", "squared_hinge"]),
    st.sampled_from([0.02, 0.1]),
    st.sampled_from([0.0, 0.02]),
    st.sampled_from([0.0, 0.002, 0.02]),
    st.booleans(),
    st.sampled_from(["first", "exhaust"]),
    st.booleans(),
)
def test_same_steps_as_the_twin(seed, m, n, kind, l1, l2, l0, costs_differ, stop, newest):
    X, y = problem(seed, m, n, kind)
    costs = np.random.default_rng(seed).uniform(0.5, 2, n) if costs_differ else np.ones(n)
    penalty = Penalty.of(n, l1, l2, l0, costs=costs)
    cap = n if newest else None
    found, _ = run(
        X, y, kind, penalty, stop=stop, update="newest" if newest else "all", max_features=cap
    )
    s = np.full(m, 1 / m)
    Z = twin.standardise(X, s)
    done, w, _b, C = twin.graft(
        kind, Z, y, s, l1, l2, l0 * costs, "bound" if costs_differ and l0 else "gradient", stop,
        newest, cap,
    )  # fmt: skip
    steps = [(step.action, step.feature) for step in found.record.history]
    assert found.criterion == pytest.approx(C, rel=1e-6)
    assert steps == done
    assert found.solution.W[:, 0] == pytest.approx(w, abs=1e-3)


def test_estimate_nine_weighs_costs_against_gradients():
    penalty = Penalty(np.full(3, 0.1), np.full(3, 0.2), np.array([0.5, 0.01, 0.02]))
    sizes = np.array([1.0, 0.6, 0.6])
    everybody = np.arange(3)
    assert (
        choose_weight(sizes, penalty, everybody, 0.0, "bound") == 0
    )  # no weight yet: the gradient
    assert choose_weight(sizes, penalty, everybody, 0.3, "gradient") == 0
    # .5 - .3 (1 - .1 - .06) = .248;  .01 - .3 (.6 - .1 - .06) = -.122;  .02 - ... = -.112
    assert choose_weight(sizes, penalty, everybody, 0.3, "bound") == 1
    # the same gradient: the weight that l2 holds down by more gains less
    held = Penalty(np.full(2, 0.1), np.array([0.5, 0.1]), np.full(2, 0.01))
    assert choose_weight(np.full(2, 0.6), held, np.arange(2), 0.3, "bound") == 1


def test_the_criterion_falls_and_the_path_replays():
    X, y = problem(5, 60, 12, "logistic")
    found, whole = run(X, y, "logistic", Penalty.of(12, 0.01, 0.0, 0.001))
    kept = [step.criterion for step in found.record.history if step.action == "add"]
    assert (np.diff(kept) < 0).all()
    path = whole.found(found.record)
    *_, last = SelectionPath(path.steps, n_features=12, moves=path.moves).replay()
    assert sorted(last) == sorted(found.final.features)
    assert 0 in found.record.models


def test_single_steps_reach_the_convex_optimum_and_weights_can_leave():
    from sklearn.datasets import load_breast_cancer

    X, t = load_breast_cancer(return_X_y=True)
    y = np.where(t == 1, 1.0, -1.0)
    with Threads(1) as threads:
        whole = GraftingProblem(X, y[:, None], np.ones(len(y)), Logistic(), threads)
        penalty = Penalty.of(30, 0.001)
        one = whole.fit(penalty, GraftingOptions(steps="single"))
        whole.restart()
        many = whole.fit(penalty, GraftingOptions())
    assert one.criterion == pytest.approx(many.criterion, rel=1e-9)
    assert any(step.action == "drop" for step in one.record.history)
    assert one.solution.violation < 1e-8


def test_undone_steps_leave_no_trace():
    X, y = problem(1, 50, 6, "squared")
    found, whole = run(X, y, "squared", Penalty.of(6, 0.01, 0.0, 0.05))
    assert found.record.history[-1].action == "undo"
    outputs = whole.design.outputs(found.solution.W, found.solution.b)
    assert outputs == pytest.approx(whole.engine.F, abs=1e-10)
    assert sorted(np.flatnonzero(found.solution.W[:, 0])) == sorted(found.final.features)


def test_an_interrupt_keeps_what_was_found(monkeypatch):
    X, y = problem(5, 60, 12, "logistic")
    penalty = Penalty.of(12, 0.01, 0.0, 1e-4)
    whole, _ = run(X, y, "logistic", penalty)
    assert len(whole.final.features) > 3
    calls = []

    def optimise(self, *arguments):
        calls.append(1)
        if len(calls) == 4:
            self.W[:] = 7.0  # half way through a step
            raise KeyboardInterrupt
        return plain(self, *arguments)

    plain = Engine.optimise
    monkeypatch.setattr(Engine, "optimise", optimise)
    with Threads(1) as threads:
        cut = GraftingProblem(X, y[:, None], np.ones(len(y)), LOSSES["logistic"], threads)
        with pytest.raises(KeyboardInterrupt):
            cut.fit(penalty, GraftingOptions(steps="single"))
        found = cut.cut_short(cut.so_far(), penalty, GraftingOptions(steps="single"))
    assert found.final.features == whole.final.features[:3]
    assert np.flatnonzero(found.solution.W[:, 0]).tolist() == sorted(found.final.features)


def test_copies_tie_to_the_lowest_index():
    X, y = problem(2, 40, 4, "logistic")
    doubled = np.concatenate([X, X, X], axis=1)
    found, _ = run(doubled, y, "logistic", Penalty.of(12, 0.05, 0.0, 1e-4))
    assert max(found.final.features) < 4
