"""The estimators: scikit-learn's contract, claims of the paper on drawn data, messages."""

import pickle
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from slow_twins import elm as twin
from sparsepath import (
    ELMClassifier,
    ELMFSClassifier,
    ELMFSRegressor,
    ELMRegressor,
    LarsSelector,
    OPELMClassifier,
    OPELMRegressor,
)
from sparsepath.data.columns import standardise
from sparsepath.data.synthetic import functional, xor_like
from sparsepath.elm import search as searching
from sparsepath.elm import selectors
from sparsepath.elm.heavy_tails import standardise_heavy
from sparsepath.elm.subsets import POOLS, SwapSearch
from sparsepath.errors import InputError, PathWarning

QUICK = {"n_restarts": 2, "n_neurons": 8, "n_threads": 1}


@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        ELMRegressor(),
        ELMRegressor(activation="gaussian"),
        ELMClassifier(),
        OPELMRegressor(40),
        OPELMClassifier(40),
        ELMFSRegressor(3, **QUICK),
        ELMFSClassifier(3, **QUICK),
        LarsSelector(),
    ],
    ids=repr,
)
def test_scikit_learn_contract(estimator):
    check_estimator(estimator, on_skip=None)


def test_leave_one_out_of_the_estimator_equals_refitting():
    problem = functional(40, 5, random_state=0)
    model = ELMRegressor(12, ridge=1e-3, random_state=0).fit(problem.X, problem.y)
    neurons = model._machine.neurons
    X = standardise(problem.X)[0].T
    H = twin.hidden(X, neurons.weights.T, neurons.biases, np.ones(5))
    expected = twin.loo_residuals(H, problem.y[:, None], 1e-3)[:, 0]
    np.testing.assert_allclose(problem.y - model.loo_predictions_, expected, rtol=1e-8)
    assert model.loo_error_ == pytest.approx(np.square(expected).mean())
    assert model.loo_error_se_ == pytest.approx(
        np.square(expected).std(ddof=1) / np.sqrt(len(expected))
    )


def test_several_targets_are_fitted_as_one_by_one():
    problem = functional(60, 5, random_state=0)
    Y = np.column_stack([problem.y, problem.X[:, 0]])
    both = ELMRegressor(10, random_state=0).fit(problem.X, Y).predict(problem.X)
    for t in range(2):
        alone = ELMRegressor(10, random_state=0).fit(problem.X, Y[:, t]).predict(problem.X)
        np.testing.assert_allclose(both[:, t], alone, rtol=1e-8)


def test_pruned_machine_is_no_worse_than_any_prefix():
    problem = xor_like(200, 4, random_state=0)
    model = OPELMRegressor(40, random_state=0).fit(problem.X, problem.y)
    assert model.n_neurons_ == model.loo_errors_.argmin() + 1
    assert model.loo_error_ == pytest.approx(model.loo_errors_.min(), rel=1e-9)
    assert len(model._machine.neurons) == model.n_neurons_


def test_pruning_for_several_targets_serves_all_of_them():
    problem = functional(150, 5, random_state=0)
    Y = np.column_stack([problem.y, 3 * problem.X[:, 0] ** 2])
    both = OPELMRegressor(40, random_state=0).fit(problem.X, Y)
    assert both.predict(problem.X).shape == Y.shape
    assert both.loo_error_ == pytest.approx(both.loo_errors_.min(), rel=1e-9)
    assert both.loo_predictions_.shape == Y.shape
    residuals = Y - both.loo_predictions_
    assert both.loo_error_ == pytest.approx(np.square(residuals).sum(1).mean(), rel=1e-9)
    assert both.loo_error_ < 0.2 * Y.var(0).sum()
    # the first neurons are the first of each target, in turn
    firsts = [OPELMRegressor(40, random_state=0).fit(problem.X, y)._machine for y in Y.T]
    leading = [machine.neurons.biases[0] for machine in firsts]
    np.testing.assert_array_equal(both._machine.neurons.biases[:2], leading)
    alone = OPELMRegressor(40, random_state=0).fit(problem.X, Y[:, :1])
    assert alone.predict(problem.X).shape == (150, 1)


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_pruned_machine_for_classes(load):
    X, y = load(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = OPELMClassifier(60, random_state=0).fit(X, names)
    assert model.loo_errors_[model.n_neurons_ - 1] == model.loo_errors_.min()
    assert model.loo_error_ == pytest.approx(model.loo_errors_.min())
    assert model.loo_error_ < 0.08
    assert model.score(X, names) > 0.92
    assert model.decision_function(X).shape == ((len(y), 3) if len(set(y)) == 3 else (len(y),))


@pytest.mark.parametrize("strategy", ["both", "swap", "scaling"])
def test_xor_path(strategy):
    problem = xor_like(600, random_state=1)
    model = ELMFSRegressor(
        strategy=strategy, n_restarts=30, n_neurons=60, random_state=0, choose="min"
    ).fit(problem.X, problem.y)
    path = model.path_
    assert [set(path.subset(k)) for k in (2, 3)] == [{1, 2}, {0, 1, 2}]
    assert path.error(3) == path.errors.min()
    assert set(model.selected_) == {0, 1, 2}
    assert path.error_kind == "selection"


def test_predictions_come_from_the_machine_that_earned_the_error():
    train, test = functional(400, 7, random_state=0), functional(2000, 7, random_state=1)
    model = ELMFSRegressor(6, n_restarts=5, random_state=0).fit(train.X, train.y)
    for size in (3, 5):
        held_out = np.square(test.y - model.at_size(size).predict(test.X)).mean()
        assert held_out < 2 * model.path_.error(size)
        assert (model.scalings_[size] > 0).sum() == size
    assert model.at_size(0).predict(test.X[:3]).tolist() == [pytest.approx(train.y.mean())] * 3
    with pytest.raises(InputError):
        model.at_size(7)


def test_standard_errors_and_training_errors_of_the_path():
    problem = functional(120, 5, random_state=0)
    model = ELMFSRegressor(2, strategy="swap", n_neurons=20, random_state=0)
    path = model.fit(problem.X, problem.y).path_
    for size in path.sizes:
        fitted = model.at_size(size).predict(problem.X)
        assert path.step(size).train_error == pytest.approx(np.square(problem.y - fitted).mean())
        assert path.step(size).train_error <= path.error(size)
        assert path.error_se(size) > 0
    n = len(problem.y)
    left_out = (problem.y - problem.y.mean()) * n / (n - 1)
    assert path.error(0) == pytest.approx(np.square(left_out).mean())


def test_the_unit_of_the_target_changes_nothing():
    problem = functional(80, 5, random_state=0)
    model = ELMFSRegressor(3, n_restarts=4, n_neurons=15, random_state=0, n_threads=1)
    plain = clone(model).fit(problem.X, problem.y)
    for factor in (1e-70, 1e-9, -3.0, 1e70):
        scaled = clone(model).fit(problem.X, factor * problem.y)
        assert scaled.path_.subsets == plain.path_.subsets
        np.testing.assert_allclose(
            scaled.path_.errors / factor / factor, plain.path_.errors, rtol=1e-6
        )
        np.testing.assert_allclose(
            scaled.predict(problem.X) / factor, plain.predict(problem.X), rtol=1e-6, atol=1e-7
        )
        assert scaled.ridges_ == pytest.approx(plain.ridges_, rel=1e-4)
    for factor in (1e160, 1e-160):
        with pytest.raises(InputError, match="cannot represent their squared errors"):
            clone(model).fit(problem.X, factor * problem.y)


@pytest.mark.parametrize("strategy", ["both", "scaling"])
def test_errors_are_of_the_machine_as_it_predicts(strategy):
    random = np.random.default_rng(2)
    X = np.exp(1.5 * random.standard_normal((60, 4)))  # heavy tails
    y = np.log(X[:, 0]) + X[:, 1] / 5 + random.standard_normal(60)
    model = ELMFSRegressor(
        3, strategy=strategy, n_restarts=3, n_neurons=12, random_state=0, reach=0.1, n_threads=1
    ).fit(X, y)
    XT = standardise_heavy(X)[0]
    for size in (1, 2, 3):
        machine, beta = model.models_[size], model.scalings_[size]
        used = np.flatnonzero(beta)
        weights, biases = machine.neurons.weights.T, machine.neurons.biases
        H = twin.hidden(XT[used].T, weights, biases, np.ones(size))
        plain = twin.loo_residuals(H, y[:, None], model.ridges_[size])
        expected = twin.held(y[:, None], plain, 0.1)
        assert model.path_.error(size) == pytest.approx(np.square(expected).mean(), rel=1e-6)
        far = model.at_size(size).predict(1e3 * X)
        margin = 0.1 * np.ptp(y)
        assert far.min() >= y.min() - margin - 1e-9
        assert far.max() <= y.max() + margin + 1e-9
    assert ELMFSRegressor(reach=np.inf, **QUICK).fit(X, y).predict(X).shape == (60,)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 6), st.sampled_from(["normal", "heavy", "copy"]))
def test_no_size_is_beaten_by_one_drop_from_the_next(seed, d, kind):
    random = np.random.default_rng(seed)
    X = random.standard_normal((40, d))
    if kind == "heavy":
        X = np.exp(X)
    elif kind == "copy":
        X[:, -1] = X[:, 0]
    y = X[:, 0] * (1 + X[:, 1]) + 0.5 * random.standard_normal(40)
    model = ELMFSRegressor(
        d, n_restarts=3, n_neurons=12, random_state=seed, n_threads=1, reach=np.inf
    ).fit(X, y)
    XT = standardise_heavy(X)[0]
    assert model.path_.sizes == tuple(range(d + 1))
    for size in range(2, d + 1):
        machine = model.models_[size]
        used, neurons = machine.features, machine.neurons
        for left in range(size):
            rest = np.arange(size) != left
            weights = neurons.weights[:, rest].T
            H = twin.hidden(XT[used[rest]].T, weights, neurons.biases, np.ones(size - 1))
            dropped = np.square(twin.loo_residuals(H, y[:, None], model.ridges_[size])).mean()
            assert dropped >= 0.998 * model.path_.error(size - 1)


def test_a_path_ends_at_twenty_features_unless_asked_for_more():
    X = np.random.default_rng(0).standard_normal((40, 22))
    few = {"strategy": "scaling", "random_state": 0, **QUICK}
    assert ELMFSRegressor(**few).fit(X, X[:, 0]).path_.sizes[-1] <= 20
    assert ELMFSRegressor(**few)._plan(22).size == 20
    assert ELMFSRegressor(22, **few)._plan(22).size == 22


def test_a_path_ends_before_that_where_nothing_is_gained():
    X = np.random.default_rng(0).standard_normal((60, 12))
    model = ELMFSRegressor(strategy="swap", random_state=0, **QUICK).fit(X, X[:, 0])
    assert model.path_.stopped == "several sizes gained nothing"
    assert model.path_.complete
    end = model.path_.sizes[-1]
    least = int(np.argmin(model.path_.errors))
    assert end < 12
    assert end - least >= 2
    longer = clone(model).set_params(choose=12).fit(X, X[:, 0])
    assert longer.path_.sizes[-1] == len(longer.selected_) == 12
    assert clone(model).set_params(max_features=12).fit(X, X[:, 0]).path_.sizes[-1] == 12


def test_the_cost_is_told_before_the_search():
    X = np.zeros((400, 30))
    told = ELMFSRegressor(10).expected_seconds(X)
    assert 0.1 < told < 1.0
    assert ELMFSRegressor(10).expected_seconds(X) == told
    few, many = (ELMFSRegressor(k).expected_seconds(X) / told for k in (2, 20))
    assert few < 0.7
    assert many > 1.4
    for strategy in ("scaling", "swap"):
        assert ELMFSRegressor(10, strategy=strategy).expected_seconds(X) < 0.99 * told


@pytest.mark.validated
@pytest.mark.parametrize("seed", range(3))
def test_of_noise_nothing_is_recommended(seed):
    random = np.random.default_rng(seed)
    X, y = random.standard_normal((80, 5)), random.standard_normal(80)
    model = ELMFSRegressor(3, random_state=seed, **QUICK).fit(X, y)
    assert model.path_.choose(size := int(np.argmin(model.path_.errors))) == size > 0
    assert not len(model.selected_)


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_classes_are_told_apart(load):
    X, y = load(return_X_y=True)
    X, names = X[:, :6], np.array(["a", "b", "c"])[y]
    model = ELMFSClassifier(3, n_restarts=3, n_neurons=25, random_state=0).fit(X, names)
    assert model.path_.criterion == "leave-one-out zero-one error"
    assert model.path_.errors[-1] < 0.1
    assert model.score(X, names) > 0.9
    squared = clone(model).set_params(loss="squared").fit(X, names)
    assert squared.path_.criterion == "leave-one-out squared error"


def test_threads_and_pickles_change_nothing():
    problem = xor_like(150, random_state=0)
    one, two = (
        ELMFSRegressor(n_restarts=6, n_neurons=30, random_state=3, n_threads=n).fit(
            problem.X, problem.y
        )
        for n in (1, 2)
    )
    assert one.path_ == two.path_
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.predict(problem.X), two.predict(problem.X))


def test_the_swap_search_has_other_draws_of_the_neurons(monkeypatch):
    given = []

    def search(pool, others, *rest):
        given.extend([pool, *others])
        return real(pool, others, *rest)

    real = searching.Search
    monkeypatch.setattr(searching, "Search", search)
    problem = xor_like(60, random_state=0)
    ELMFSRegressor(2, strategy="swap", random_state=0, **QUICK).fit(problem.X, problem.y)
    assert len(given) == POOLS
    assert {pool.neurons.weights.shape for pool in given} == {(8, 6)}
    assert len({pool.neurons.weights.tobytes() for pool in given}) == POOLS


def test_names_pipelines_and_callbacks():
    frame = load_iris(as_frame=True)
    told = []
    model = ELMFSRegressor(
        2, n_restarts=11, n_neurons=10, random_state=0, callback=lambda path: told.append(path)
    )
    make_pipeline(StandardScaler().set_output(transform="pandas"), model).fit(
        frame.data, frame.target.astype(float)
    )
    assert model.path_.names(1) == ("petal width (cm)",)
    assert len(told) == 2 + 2 + 1
    assert not told[0].complete
    assert model.path_.complete


@pytest.mark.parametrize("strategy", ["both", "scaling", "swap"])
@pytest.mark.parametrize("how", ["interrupted", "asked to"])
def test_a_search_can_be_ended(strategy, how):
    problem = xor_like(80, random_state=0)
    told = []

    def enough(path):
        told.append(path)
        if len(told) == 2 and how == "interrupted":
            raise KeyboardInterrupt
        return len(told) == 2

    model = ELMFSRegressor(
        6, strategy=strategy, n_restarts=30, n_neurons=10, random_state=0, callback=enough, choose=6
    )
    with pytest.warns(PathWarning, match="interrupted") if how == "interrupted" else nullcontext():
        model.fit(problem.X, problem.y)
    assert len(told) == 2
    assert model.path_.stopped == how
    assert not model.path_.complete
    assert model.path_.subsets == told[-1].subsets
    assert len(model.selected_) == max(model.path_.sizes)
    assert model.predict(problem.X).shape == (80,)


def test_an_interruption_before_anything_is_found_is_passed_on(monkeypatch):
    def impatient(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sparsepath.elm.search.restart", impatient)
    with pytest.raises(KeyboardInterrupt):
        ELMFSRegressor(n_threads=1).fit(np.eye(5), np.arange(5))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (ELMRegressor(0), "n_neurons=0"),
        (ELMRegressor(ridge=0), "ridge=0"),
        (ELMRegressor(activation="relu"), "activation='relu'; use one of tanh, gaussian"),
        (ELMFSRegressor(strategy="all"), "strategy='all'; use one of both, scaling, swap"),
        (ELMFSRegressor(rule="most"), "rule='most'; use one of half, sign, largest"),
        (ELMFSRegressor(max_features=-1), "max_features=-1"),
        (ELMFSRegressor(n_restarts=2.5), "n_restarts=2.5"),
        (ELMFSRegressor(n_levels=0), "n_levels=0"),
        (ELMFSRegressor(ridge=0), "ridge=0"),
        (ELMFSRegressor(reach=-1), "reach=-1; give a number, zero or more"),
        (ELMFSRegressor(reach="far"), "reach='far'"),
        (ELMFSClassifier(loss="hinge"), "loss='hinge'; use one of zero_one, squared"),
        (LarsSelector(max_features="many"), "max_features='many'"),
    ],
)
def test_messages_name_what_was_given(estimator, message):
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(InputError, match=message):
        estimator.fit(X, np.arange(20) % 2)


@pytest.mark.parametrize("l2", [0.0, 0.001, 0.5])
def test_lars_path_is_exact(l2):
    """The models are ridge regressions of the standardised columns, the errors those of refits."""
    problem = functional(60, 6, random_state=0)
    X, y = problem.X, problem.y
    model = LarsSelector(choose="min", l2=l2).fit(X, y)
    Z = (X - X.mean(0)) / X.std(0)

    def refit(columns, rows):
        centre = Z[rows][:, columns].mean(0)
        A, t = Z[rows][:, columns] - centre, y[rows] - y[rows].mean()
        penalty = l2 * len(y) * np.eye(len(columns))
        coef = np.linalg.solve(A.T @ A + penalty, A.T @ t)
        return lambda these: y[rows].mean() + (Z[these][..., columns] - centre) @ coef

    every = np.arange(len(y))
    for size in model.path_.sizes[1:]:
        columns = list(model.path_.subset(size))
        out = [refit(columns, np.delete(every, i))(i) for i in every]
        assert model.path_.error(size) == pytest.approx(np.square(y - out).mean())
        fitted = refit(columns, every)(every)
        np.testing.assert_allclose(model.at_size(size).predict(X), fitted)


def test_the_ridge_of_lars_keeps_predictions_for_unusual_rows_near():
    """Two nearly equal columns: least squares takes their difference, which is noise."""
    rng = np.random.default_rng(3)
    common = rng.standard_normal(40)
    X = common[:, None] + 1e-3 * rng.standard_normal((40, 2))
    y, unusual = common + 0.3 * rng.standard_normal(40), np.array([[5.0, -5.0]])
    off = {
        l2: abs(LarsSelector(2, choose=2, l2=l2, validation=None).fit(X, y).predict(unusual)[0])
        for l2 in (0.0, 0.001)
    }
    assert off[0.001] < 2 < 100 < off[0.0]


def test_lars_goes_to_the_size_that_is_asked_for():
    random = np.random.default_rng(5)  # here a coefficient changes its sign on the way
    X = random.standard_normal((60, 8)) @ random.standard_normal((8, 8))
    y = X @ random.standard_normal(8) + random.standard_normal(60)
    full = LarsSelector().fit(X, y).path_
    assert full.sizes == tuple(range(9))
    for size in range(9):
        assert LarsSelector(size).fit(X, y).path_.subsets == full.subsets[: size + 1]
    repeated = LarsSelector().fit(X[:, [0, 0, 1]], y).path_
    assert repeated.sizes == (0, 1, 2)


def test_lars_that_is_asked_little_by_little_is_the_same():
    from sklearn.linear_model import lars_path

    random = np.random.default_rng(0)
    X = random.standard_normal((300, 150)) @ random.standard_normal((150, 150))
    y = X @ random.standard_normal(150) + random.standard_normal(300)
    path = LarsSelector(140, l2=0).fit(X, y).path_
    scaled = (X - X.mean(0)) / X.std(0)
    order = lars_path(scaled, y - y.mean(), method="lar", max_iter=1000)[1][:140]
    assert list(path.subset(140)) == [int(i) for i in order]
    # the last model, whose columns are nearly dependent, is least squares still
    A = np.column_stack([np.ones(300), X[:, order]])
    hat = A @ np.linalg.pinv(A)
    left_out = (y - hat @ y) / (1 - np.diag(hat))
    assert path.error(140) == pytest.approx(np.square(left_out).mean(), rel=1e-6)


@pytest.mark.parametrize("how", ["interrupted", "asked to"])
def test_lars_tells_and_can_be_ended(how):
    problem = functional(60, 6, random_state=0)
    told = []

    def enough(path):
        told.append(path)
        if len(told) == 3 and how == "interrupted":
            raise KeyboardInterrupt
        return len(told) == 3

    model = LarsSelector(choose=6, callback=enough)
    with pytest.warns(PathWarning, match="ends at size 3") if how[0] == "i" else nullcontext():
        model.fit(problem.X, problem.y)
    full = LarsSelector().fit(problem.X, problem.y).path_
    assert [path.sizes[-1] for path in told] == [1, 2, 3]
    assert model.path_.subsets == full.subsets[:4] == told[-1].subsets
    assert (model.path_.stopped, model.path_.complete) == (how, False)
    assert len(model.selected_) == 3
    assert "callback" not in model.path_.parameters


@pytest.mark.parametrize("kind", [ELMFSRegressor, ELMFSClassifier])
@pytest.mark.parametrize("more", [{}, {"max_features": 2}, {"strategy": "swap"}])
@pytest.mark.parametrize("validation", [None, 5])
def test_constant_features_alone_give_the_empty_model(kind, more, validation):
    y = np.random.default_rng(0).standard_normal(40)
    y = y > 0 if kind is ELMFSClassifier else y
    model = kind(**more, validation=validation, **QUICK).fit(np.ones((40, 3)), y)
    assert model.path_.subsets == [()]
    assert len(set(model.predict(np.ones((4, 3))))) == 1


def test_columns_with_heavy_tails_have_a_smaller_scale():
    random = np.random.default_rng(0)
    X = np.column_stack(
        [
            random.standard_normal(300),
            random.standard_t(1.5, 300),
            random.random(300) < 0.1,  # no interquartile range
            np.ones(300),
        ]
    )
    plain, centre, scale = standardise(X)
    XT, same_centre, smaller = standardise_heavy(X)
    low, high = np.quantile(X[:, 1], [0.25, 0.75])
    expected = np.sqrt(X[:, 1].std() * (high - low) / 1.349)
    np.testing.assert_array_equal(same_centre, centre)
    np.testing.assert_array_equal(smaller[[0, 2, 3]], scale[[0, 2, 3]])
    np.testing.assert_array_equal(XT[[0, 2, 3]], plain[[0, 2, 3]])
    assert smaller[1] == pytest.approx(expected)
    assert smaller[1] < 0.7 * scale[1]
    np.testing.assert_allclose(XT.T * smaller + centre, X, atol=1e-9)


def test_heavy_tailed_inputs():
    random = np.random.default_rng(0)
    X = random.standard_t(2, (2400, 20))
    y = np.tanh(X[:, 0]) + np.abs(np.clip(X[:, 1], -3, 3)) + 0.15 * random.standard_normal(2400)
    model = ELMFSRegressor(3, choose=2, random_state=0, validation=None).fit(X[:400], y[:400])
    assert set(model.selected_) == {0, 1}
    off = y[400:] - model.predict(X[400:])
    assert np.square(off).mean() < 0.1 * y[400:].var()  # 0.15 with standard deviations


def two_products(seed, c, n=800):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (n, 32))
    noise = 0.15 * random.standard_normal(n)
    return X, 3 * X[:, 0] * X[:, 1] + 3 * c * X[:, 2] * X[:, 3] + noise


def without_second_pairs(monkeypatch):
    """Pairs on top of others are not looked for, so that a search misses them by chance."""
    real = SwapSearch._with_pairs
    monkeypatch.setattr(
        SwapSearch, "_with_pairs", lambda search, level: [] if level else real(search, level)
    )


@pytest.mark.validated
def test_a_subset_that_folds_found_starts_a_second_search(monkeypatch):
    without_second_pairs(monkeypatch)
    X, y = two_products(2, 0.5, 1800)
    train, test = slice(800), slice(800, None)
    given = {"n_restarts": 12, "random_state": 2}
    alone = ELMFSRegressor(4, validation=None, **given).fit(X[train], y[train])
    assert set(alone.path_.subset(4)) != {0, 1, 2, 3}
    with pytest.warns(PathWarning, match="missed a subset of size 4 that it found with a part"):
        model = ELMFSRegressor(4, **given).fit(X[train], y[train])
    assert set(model.selected_) == set(model.path_.subset(4)) == {0, 1, 2, 3}
    assert set(np.flatnonzero(model.scalings_[4])) == {0, 1, 2, 3}
    assert model.path_.error(4) < 0.2 * alone.path_.error(4)
    off = y[test] - model.predict(X[test])
    assert np.square(off).mean() == pytest.approx(model.path_.error(4), rel=0.2)
    assert model.path_.sizes == alone.path_.sizes


@pytest.mark.validated
def test_a_contradiction_that_stays_is_reported(monkeypatch):
    without_second_pairs(monkeypatch)
    X, y = two_products(2, 0.5)
    real = searching.Search.run
    monkeypatch.setattr(
        searching.Search, "run", lambda search, seeds, starts=(): real(search, seeds)
    )
    with pytest.warns(PathWarning, match=r"honest error at size 4, .* well below .* n_restarts"):
        ELMFSRegressor(4, n_restarts=12, random_state=2).fit(X, y)


@pytest.mark.validated
@pytest.mark.parametrize("kind", [ELMFSRegressor, ELMFSClassifier])
def test_no_second_search_without_a_contradiction(kind, monkeypatch):
    random = np.random.default_rng(0)
    X = random.standard_normal((150, 5))
    y = X[:, 0] * X[:, 1] + 0.1 * random.standard_normal(150)
    y = y > 0 if kind is ELMFSClassifier else np.column_stack([y, X[:, 2]])
    found, real = [], selectors.contradictions
    monkeypatch.setattr(selectors, "contradictions", lambda *a: found.append(real(*a)) or set())
    model = kind(3, random_state=0, n_restarts=3).fit(X, y)
    assert found == [set()]
    assert model.path_.honest_error(0) == pytest.approx(model.path_.error(0), rel=0.1)  # one scale


@pytest.mark.parametrize("standardize", [True, False])
def test_gaussian_machines_see_features_as_they_are_or_standardised(standardize):
    random = np.random.default_rng(3)
    X, y = random.normal(2.0, 3.0, (40, 3)), random.standard_normal(40)
    given = {"activation": "gaussian", "ridge": 1e-3, "reach": np.inf, "random_state": 5}
    model = ELMRegressor(8, standardize=standardize, **given).fit(X, y)
    neurons = model._machine.neurons
    seen = (X - X.mean(0)) / X.std(0) if standardize else X
    H = twin.gaussians(seen, neurons.weights, neurons.biases)
    w, c = twin.refit(H, y[:, None], 1e-3 * len(y))
    np.testing.assert_allclose(model.predict(X), (H @ w + c)[:, 0], rtol=1e-7)
    left_out = twin.loo_residuals(H, y[:, None], 1e-3)[:, 0]
    np.testing.assert_allclose(model.loo_error_, np.mean(left_out**2), rtol=1e-7)
