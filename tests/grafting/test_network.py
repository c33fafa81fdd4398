"""MLP grafting: derivatives, growth step by step, the picture, the scikit-learn contract."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import check_estimator

from sparsepath import MLPGraftingClassifier, MLPGraftingRegressor, PathWarning
from sparsepath.data.synthetic import threshold_max
from sparsepath.grafting.criterion import Logistic, Penalty, SquaredLoss
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.networks.growing import Grower, Growth, candidate_gradients
from sparsepath.grafting.networks.network import GrownNetwork, NetworkCriterion
from sparsepath.system.threads import Threads

SHORT = {"max_connections": 2, "max_iter": 30, "tol": 1e-3}


@pytest.mark.filterwarnings("ignore:No features were selected")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(
    "estimator",
    [MLPGraftingRegressor(**SHORT), MLPGraftingClassifier(**SHORT)],
    ids=repr,
)
def test_scikit_learn_contract(estimator):
    check_estimator(estimator)


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (40, 6))
    Y = np.sign(X[:, :1] * X[:, 1:2] + 0.1 * rng.standard_normal((40, 1)))
    net = GrownNetwork(
        np.array([0, 0, 1]),
        np.array([1, 4, 1]),
        np.array([0.7, -1.2, 0.4]),
        np.array([0.2, -0.5]),
        0.1,
    )
    return X, Y, net


def by_hand(net, x, f=0.0):
    """The output for one row of all features, straight from the formula."""
    for unit in range(net.n_hidden):
        t = net.biases[unit]
        for u, i, w in zip(net.units, net.features, net.weights, strict=True):
            t += w * x[i] if u == unit else 0.0
        f += 2 / (1 + np.exp(-t)) - 1
    return f + net.output_bias


@pytest.mark.parametrize("loss", [Logistic(), SquaredLoss()], ids=lambda loss: type(loss).__name__)
def test_derivatives_by_finite_differences(small, loss):
    X, Y, net = small
    s = np.full(40, 1 / 40)
    task = NetworkCriterion(
        net, X[:, net.used], Y, s, loss, np.full(6, 0.01), np.full(6, 0.02)
    )  # fmt: skip
    p = task.pack()
    assert net.scores(X[:, net.used])[:, 0] == pytest.approx([by_hand(net, x) for x in X])
    value, g = task.smooth(p)
    H = task.hessian(p)
    for i in range(len(p)):
        e = np.zeros(len(p))
        e[i] = 1e-6
        up, down = task.smooth(p + e), task.smooth(p - e)
        assert (up[0] - down[0]) / 2e-6 == pytest.approx(g[i], abs=1e-8)
        assert (up[1] - down[1]) / 2e-6 == pytest.approx(H[i], abs=1e-7)
    direct = s @ loss.value(np.array([[by_hand(net, x)] for x in X]), Y)
    assert value == pytest.approx(direct + 0.02 * (net.weights**2).sum())


def test_candidate_gradients_by_finite_differences(small):
    X, Y, net = small
    s = np.full(40, 1 / 40)
    with Threads(1) as threads:
        design = GraftingDesign(X, s, threads, standardize=False)
        design.means[:] = 0.0
        sizes = candidate_gradients(design, net, X[:, net.used], Y, Logistic())
    assert sizes.shape == (3, 6)
    for unit, feature in [(0, 0), (1, 4), (2, 3), (2, 1)]:
        new = net.with_place(unit, feature, 0)
        around = []
        for w in (1e-6, -1e-6):
            moved = GrownNetwork(
                new.units, new.features, np.append(net.weights, w), new.biases, 0.1
            )
            around.append(np.logaddexp(0, -Y[:, 0] * moved.scores(X[:, moved.used])[:, 0]).mean())
        assert abs(around[0] - around[1]) / 2e-6 == pytest.approx(sizes[unit, feature], abs=1e-8)


def test_growth_by_hand_from_public_pieces():
    """Every kept step: the best gradient, a lower criterion, and a stationary point."""
    problem = threshold_max(200, 3, 0, 3, random_state=1)
    Y = problem.y[:, None].astype(float)
    s = np.full(200, 1 / 200)
    penalty = Penalty.of(6, 1e-3, 0.0, 0.01)
    with Threads(1) as threads:
        design = GraftingDesign(problem.X, s, threads)
        grower = Grower(design, Y, Logistic(), penalty, Growth())
        while grower.step():
            pass
    grown = grower.grown
    Z = (problem.X - problem.X.mean(0)) / problem.X.std(0)
    net = grown.network
    f = np.array([by_hand(net, z) for z in Z])
    C = np.logaddexp(0, -Y[:, 0] * f).mean() + 1e-3 * np.abs(net.weights).sum()
    assert grown.criterion == pytest.approx(C + 0.01 * len(net.weights), rel=1e-10)
    kept = [line.criterion for line in grown.history if line.action == "add"]
    assert (np.diff(kept) < 0).all()
    task = NetworkCriterion(net, Z[:, net.used], Y, s, Logistic(), penalty.l1, penalty.l2)
    g = task.smooth(task.pack())[1]
    g[: task.c] += 1e-3 * np.sign(net.weights)
    assert np.abs(g).max() < 1e-6
    first = np.abs(Z.T @ (Y[:, 0] - Y.mean())) / 400  # the empty model: p = (1 + mean)/2
    assert grown.history[0].feature == np.argmax(first)
    assert grown.history[0].gradient == pytest.approx(first.max() / 2)


def test_l0_per_feature_charges_a_feature_once():
    problem = threshold_max(200, 2, 0, 2, random_state=0)
    shared = {"l1": 1e-4, "l0": 0.02, "max_connections": 5}
    model = MLPGraftingClassifier(l0_per="feature", **shared).fit(problem.X, problem.y)
    net = model.network_
    penalty = 1e-4 * np.abs(net.weights).sum() + 0.02 * len(net.used)
    assert model.criterion_ == pytest.approx(model.loss_ + penalty, rel=1e-10)
    assert len(net.weights) > len(net.used)


def test_caps_and_tolerances():
    problem = threshold_max(200, 3, 0, 3, random_state=0)
    model = MLPGraftingClassifier(1e-6, max_hidden=2, max_features=2)
    model.fit(problem.X, problem.y)
    assert model.n_hidden_ <= 2
    assert len(model.selected_) <= 2
    several = MLPGraftingClassifier(1e-4, tol=[1e-2, 1e-7], max_connections=6)
    several.fit(problem.X, problem.y)
    for tol in (1e-2, 1e-7):
        one = MLPGraftingClassifier(1e-4, tol=tol, max_connections=6).fit(problem.X, problem.y)
        assert several.criterion_ <= one.criterion_ + 1e-12


def test_zero_weights_and_empty_units_leave():
    net = GrownNetwork(
        np.array([0, 1]), np.array([2, 3]), np.array([0.0, 1.0]), np.array([0.8, 0.1]), 0.5
    )
    tidy = net.tidy()
    assert tidy.n_hidden == 1
    Z = np.random.default_rng(0).standard_normal((5, 2))
    assert tidy.scores(Z[:, 1:]) == pytest.approx(net.scores(Z))


def test_sparse_input_and_picture():
    problem = threshold_max(200, 3, 0, 3, random_state=0)
    X = np.where(np.abs(problem.X) < 0.3, 0.0, problem.X)
    dense = MLPGraftingClassifier(1e-3, max_connections=4).fit(X, problem.y)
    sparse = MLPGraftingClassifier(1e-3, max_connections=4).fit(sp.csr_matrix(X), problem.y)
    assert sparse.criterion_ == pytest.approx(dense.criterion_, rel=1e-6)
    ax = dense.plot_network()
    shown = {text.get_text() for text in ax.texts}
    assert shown == {f"x{j}" for j in dense.selected_}


def test_class_weights_multiply_sample_weights():
    problem = threshold_max(200, 3, 0, 3, random_state=0)
    shared = {"l1": 1e-3, "max_connections": 3}
    one = MLPGraftingClassifier(class_weight={-1: 3.0, 1: 0.5}, **shared)
    one.fit(problem.X, problem.y)
    other = MLPGraftingClassifier(**shared)
    other.fit(problem.X, problem.y, sample_weight=np.where(problem.y == -1, 3.0, 0.5))
    plain = MLPGraftingClassifier(**shared).fit(problem.X, problem.y)
    assert one.criterion_ == pytest.approx(other.criterion_, rel=1e-9)
    assert abs(one.criterion_ - plain.criterion_) > 1e-3


def test_an_interrupt_keeps_the_network_so_far(monkeypatch):
    problem = threshold_max(200, 3, 0, 3, random_state=0)
    calls = []

    def minimise(self, *arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return plain(self, *arguments)

    plain = NetworkCriterion.minimise
    monkeypatch.setattr(NetworkCriterion, "minimise", minimise)
    model = MLPGraftingClassifier(1e-3, tol=[1e-3, 1e-7])
    with pytest.warns(PathWarning, match="interrupted"):
        model.fit(problem.X, problem.y)
    assert model.path_.stopped == "interrupted"
    assert not model.path_.complete
    assert len(model.network_.weights) == 2
    assert len(calls) == 3
