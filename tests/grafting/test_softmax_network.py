"""MLP grafting with three classes and more: derivatives, growth, weights, shapes, the picture."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from slow_twins import grafting as twin
from sparsepath import MLPGraftingClassifier
from sparsepath.grafting.criterion import Penalty, Softmax
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.networks.growing import Grower, Growth, candidate_gradients
from sparsepath.grafting.networks.softmax import SoftmaxCriterion, SoftmaxNetwork
from sparsepath.system.threads import Threads


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 5))
    y = np.argmax(X[:, :3] + 0.7 * rng.standard_normal((50, 3)), axis=1)
    s = rng.uniform(0.5, 1.5, 50)
    net = SoftmaxNetwork(
        units=np.array([0, 0, 1]),
        features=np.array([1, 4, 1]),
        weights=np.array([0.7, -1.2, 0.4]),
        biases=np.array([0.2, -0.5]),
        homes=np.array([2, 0]),
        out_units=np.array([0, 1, 0]),
        out_classes=np.array([1, 2, 0]),
        out_weights=np.array([0.8, -0.6, 0.3]),
        output_biases=np.array([0.1, -0.3, 0.2]),
    )
    return X, np.eye(3)[y], s / s.sum(), net


def slowly(net, X):
    """The outputs, from the twin."""
    links = list(zip(net.units, net.features, net.weights, strict=True))
    outs = list(zip(net.out_units, net.out_classes, net.out_weights, strict=True))
    return twin.softmax_scores(X, links, outs, net.homes, net.biases, net.output_biases)


def test_derivatives_by_finite_differences(small):
    X, Y, s, net = small
    l2 = np.array([0.1, 0.02, 0.1, 0.1, 0.03, 0.05, 0.05, 0.05])  # five features, three outputs
    task = SoftmaxCriterion(net, X[:, net.used], Y, s, Softmax(), np.zeros(8), l2)
    p = task.pack()
    assert net.scores(X[:, net.used]) == pytest.approx(slowly(net, X))
    value, g = task.smooth(p)
    H = task.hessian(p)
    for i in range(len(p)):
        e = np.zeros(len(p))
        e[i] = 1e-6
        up, down = task.smooth(p + e), task.smooth(p - e)
        assert (up[0] - down[0]) / 2e-6 == pytest.approx(g[i], abs=1e-8)
        assert (up[1] - down[1]) / 2e-6 == pytest.approx(H[i], abs=1e-7)
    direct = s @ twin.loss_and_slope("multinomial", slowly(net, X), Y)[0]
    squares = l2[[1, 4, 1, 6, 7, 5]] @ np.concatenate([net.weights, net.out_weights]) ** 2
    assert value == pytest.approx(direct + squares, rel=1e-12)


def test_all_candidate_gradients_by_finite_differences(small):
    X, Y, s, net = small
    with Threads(1) as threads:
        design = GraftingDesign(X, s, threads, standardize=False)
        design.means[:] = 0.0
        sizes = candidate_gradients(design, net, X[:, net.used], Y, Softmax())
    assert sizes.shape == (5, 8)  # two units, three new ones; five features, three outputs
    exist = set(zip(*(ids.tolist() for ids in net.places(5)), strict=True))
    homes = {(0, 7), (1, 5)}
    for row, column in np.ndindex(5, 8):
        if (row, column) in exist:
            continue
        if (row, column) in homes or (row >= 2 and column >= 5):
            assert sizes[row, column] == 0
            continue
        wider = net.with_place(row, column, 5)
        task = wider.criterion(X[:, wider.used], Y, s, Softmax(), np.zeros(8), np.zeros(8))
        p = task.pack()
        place = wider.n_connections - 1 if column >= 5 else len(wider.weights) - 1
        losses = []
        for e in (1e-6, -1e-6):
            p[place] = e
            moved = slowly(task.unpack(p), X)
            losses.append(s @ twin.loss_and_slope("multinomial", moved, Y)[0])
        assert abs(losses[0] - losses[1]) / 2e-6 == pytest.approx(sizes[row, column], abs=1e-8)


@pytest.mark.parametrize("seed", [0, 1])
def test_growth_step_by_step_as_the_twin(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 4))
    centres = np.array([[1.5, 0, 0, 0], [0, 1.5, 0, 0], [-1, -1, 0, 0], [1, 1, 2, 0]])
    X += np.repeat(centres, 30, axis=0)
    Y = np.repeat(np.eye(4), 30, axis=0)
    s = rng.uniform(0.5, 1.5, 120)
    s /= s.sum()
    l1, l0, steps = 0.005, 0.01, 8
    expected, least = twin.softmax_grow(twin.standardise(X, s), Y, s, l1, l0, steps)
    growth = Growth(max_connections=steps)
    with Threads(1) as threads:
        design = GraftingDesign(X, s, threads)
        grower = Grower(design, Y, Softmax(), Penalty.of(8, l1, 0.0, l0), growth)
        while grower.step():
            pass
    grown = grower.grown
    done = [line for line in grown.history if line.action == "add"]
    assert [(t.unit, t.feature, t.output) for t in done] == [line[:3] for line in expected]
    assert [t.criterion for t in done] == pytest.approx([line[3] for line in expected], rel=1e-7)
    assert grown.criterion == pytest.approx(least, rel=1e-7)
    assert {t.feature is None for t in done} == {True, False}


def test_weights_multiply_and_repeat():
    X, y = load_iris(return_X_y=True)
    shared = {"l1": 1e-3, "max_connections": 4}
    factors = {0: 2, 1: 1, 2: 3}
    counts = np.array([factors[k] for k in y])
    one = MLPGraftingClassifier(class_weight=factors, **shared).fit(X, y)
    two = MLPGraftingClassifier(**shared).fit(X, y, sample_weight=counts)
    three = MLPGraftingClassifier(**shared).fit(np.repeat(X, counts, 0), np.repeat(y, counts))
    plain = MLPGraftingClassifier(**shared).fit(X, y)
    assert one.criterion_ == pytest.approx(two.criterion_, rel=1e-12)
    assert one.criterion_ == pytest.approx(three.criterion_, rel=1e-7)
    assert abs(one.criterion_ - plain.criterion_) > 1e-3


@pytest.mark.parametrize("per", ["connection", "feature"])
def test_l0_per_connection_or_per_feature(per):
    X, y = load_iris(return_X_y=True)
    costs = np.array([1.0, 3.0, 0.5, 2.0])
    model = MLPGraftingClassifier(
        1e-3, l0=0.01, l0_per=per, feature_costs=costs, l1_factors=costs, max_connections=6
    ).fit(X, y)
    net = model.network_
    assert len(net.out_weights)
    l1 = 1e-3 * (costs[net.features] @ np.abs(net.weights) + np.abs(net.out_weights).sum())
    charged = costs[net.features].sum() + len(net.out_weights)
    if per == "feature":
        charged = costs[net.used].sum()
    assert model.criterion_ == pytest.approx(model.loss_ + l1 + 0.01 * charged, rel=1e-10)


def test_caps_leave_connections_to_outputs():
    X, y = load_iris(return_X_y=True)
    model = MLPGraftingClassifier(1e-4, max_hidden=1, max_features=1).fit(X, y)
    assert model.n_hidden_ == 1
    assert len(model.selected_) == 1
    assert len(model.network_.out_weights)


def test_shapes_probabilities_and_names():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = MLPGraftingClassifier(1e-3, max_connections=6).fit(X, names)
    scores, shares = model.decision_function(X), model.predict_proba(X)
    assert scores.shape == shares.shape == (150, 3)
    Z = (X - X.mean(0)) / X.std(0)
    assert scores == pytest.approx(slowly(model.network_, Z), abs=1e-9)
    assert shares == pytest.approx(np.exp(scores) / np.exp(scores).sum(1, keepdims=True))
    assert (model.predict(X) == model.classes_[shares.argmax(1)]).all()
    assert model.network_.output_biases.sum() == pytest.approx(0, abs=1e-12)
    smaller = model.at_size(1)
    assert smaller.decision_function(X).shape == (150, 3)
    sparse = MLPGraftingClassifier(1e-3, max_connections=6).fit(sp.csr_matrix(X), names)
    assert sparse.criterion_ == pytest.approx(model.criterion_, rel=1e-6)


def test_empty_units_leave_their_constants(small):
    X, _, _, net = small
    p = net.weights.copy()
    p[2] = 0.0  # the only connection of the second unit
    bare = SoftmaxNetwork(
        net.units, net.features, p, net.biases, net.homes,
        net.out_units, net.out_classes, net.out_weights, net.output_biases,
    )  # fmt: skip
    tidy = bare.tidy()
    assert (tidy.n_hidden, tidy.n_connections) == (1, 4)
    difference = slowly(tidy, X) - slowly(bare, X)
    assert difference == pytest.approx(np.tile(difference[0, :1], (50, 3)))


def test_picture_has_one_output_per_class():
    X, y = load_iris(return_X_y=True)
    model = MLPGraftingClassifier(1e-3, max_connections=6).fit(X, np.array(["u", "v", "w"])[y])
    ax = model.plot_network()
    shown = {text.get_text() for text in ax.texts}
    assert shown == {f"x{j}" for j in model.selected_} | {"u", "v", "w"}
    net = model.network_
    assert len(ax.lines) == net.n_connections + net.n_hidden
