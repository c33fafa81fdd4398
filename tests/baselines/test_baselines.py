"""What the papers compare with gives what it must, by other routes."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, cross_val_score
from sklearn.svm import SVC

from slow_twins import rls as twin
from sparsepath import ELMRegressor, GraftingClassifier, rls_path
from sparsepath.baselines import (
    l1_linear,
    l1_network,
    low_rank_path,
    random_path,
    saliency,
    scaling_path,
    svm_wrapper,
    wrapper_path,
)
from sparsepath.baselines.scaling import training_error, walk
from sparsepath.data.synthetic import sparse_linear, threshold_max, two_normals, xor_like


@pytest.fixture(scope="module")
def data():
    return sparse_linear(30, 6, 3, random_state=1)


@pytest.fixture(scope="module")
def classes():
    problem = two_normals(60, 6, 2, random_state=2)
    return (problem.X - problem.X.mean(0)) / problem.X.std(0), problem.y


def test_a_wrapper_around_ridge_regression_is_greedy_rls(data):
    path = wrapper_path(data.X, data.y, Ridge(1.0), 4, cv="loo")
    same = rls_path(data.X, data.y, 4, standardize=False)
    assert path.subsets == same.subsets
    assert_allclose(path.errors, same.errors, rtol=1e-9)
    assert path.error_kind == "selection"


def test_a_backward_wrapper_is_backward_rls(data):
    path = wrapper_path(data.X, data.y, Ridge(1.0), cv=5, direction="backward")
    same = rls_path(data.X, data.y, cv=5, search="backward", standardize=False)
    assert {size: set(path.subset(size)) for size in path.sizes} == {
        size: set(same.subset(size)) for size in same.sizes
    }
    assert_allclose(path.errors, same.errors, rtol=1e-9)


def test_low_rank_updates_give_the_path_of_the_plain_algorithm(data):
    path = low_rank_path(data.X, data.y, 4, alpha=0.3)
    slow, _ = twin.low_rank_lssvm(data.X, data.y, 4, 0.3)
    assert path.subsets == [tuple(subset) for subset, *_ in slow]
    assert_allclose(path.errors, [error for _, error, *_ in slow], rtol=1e-9)


def test_a_random_order_is_kept_and_drawn_by_the_seed(data):
    path = random_path(data.X, data.y, random_state=3)
    again = random_path(data.X, data.y, random_state=3)
    order = np.random.default_rng(3).permutation(6).tolist()
    assert path.subsets == again.subsets
    assert list(path.subset(6)) == order
    assert_allclose(
        path.error(2),
        twin.loo_error(data.X[:, order[:2]] / data.X[:, order[:2]].std(0), data.y[:, None], 1.0)[0],
        rtol=1e-9,
    )


def test_backward_logistic_elimination_drops_what_is_missed_least(classes):
    X, y = classes
    model = LogisticRegression(C=10.0)
    path = wrapper_path(X, y, model, cv=None, direction="backward", measure="log")
    assert path.error_kind == "training"
    assert set(path.subset(2)) == {0, 1}
    full = model.fit(X, y)
    losses = np.logaddexp(0, -y * full.decision_function(X))
    assert_allclose(path.error(6), losses.mean(), rtol=1e-9)


def test_gradient_descent_reaches_the_minimum_of_grafting(classes):
    X, y = classes
    w, b = l1_linear(X, y, 0.05)
    graft = GraftingClassifier(l1=0.05, standardize=False, validation=None).fit(X, y)
    assert_allclose(w, graft.coef_.ravel(), atol=1e-4)
    assert_allclose(b, graft.intercept_, atol=1e-4)
    assert 0 < np.count_nonzero(w) < 6


def test_a_network_of_all_connections_separates_what_a_line_cannot():
    problem = threshold_max(400, 4, 4, 0, random_state=0)
    X = (problem.X - problem.X.mean(0)) / problem.X.std(0)
    W, biases, intercept = l1_network(X, problem.y, 1e-5, n_hidden=6)
    scores = np.tanh(0.5 * (X @ W + biases)).sum(1) + intercept
    line, offset = l1_linear(X, problem.y, 1e-5)
    errors = [np.mean(np.sign(f) != problem.y) for f in (scores, X @ line + offset)]
    assert errors[0] < 0.1 < errors[1]


def test_the_wrapper_of_support_vectors_is_that_of_scikit_learn(classes):
    X, y = classes
    slow = SequentialFeatureSelector(SVC(C=1.0, gamma="auto"), n_features_to_select=3, cv=3)
    assert (
        sorted(svm_wrapper(X, y, 1.0, 3)) == np.flatnonzero(slow.fit(X, y).get_support()).tolist()
    )


def test_saliency_counts_a_copy_as_its_original():
    problem = threshold_max(20, 10, 10, 5, random_state=0)
    copies = np.flatnonzero(problem.original != np.arange(len(problem.original)))
    first = int(problem.original[copies[0]])
    assert saliency([first, copies[0]], problem) == pytest.approx(0.1 + 0.5 - 1)


def test_a_walk_of_scalings_goes_where_its_error_falls_and_then_down():
    """J = (b - 1)^2 on the grid {0, 1/2, 1}, worked out by hand."""
    walked = [*walk(lambda b: ((b[0] - 1) ** 2, 2 * (b - 1)), np.array([1]), 2)]
    assert [b.tolist() for b in walked] == [[0.5], [1.0], [0.5]]


def test_scalings_that_nothing_pulls_leave_first():
    centre = np.array([1.0, 0.3, 0.0])

    def judge(b):
        return float(np.sum((b - centre) ** 2)), 2 * (b - centre)

    walked = [*walk(judge, np.array([5, 5, 5]), 10)]
    counts = [np.count_nonzero(b) for b in walked]
    assert walked[-1][0] > 0
    assert counts[-1] == 1
    steps = np.abs(np.diff(walked, axis=0))
    assert steps.max() < 0.1 + 1e-12
    assert_allclose(np.min(walked, axis=0), [walked[-1][0], 0, 0], atol=1e-12)


def test_the_gradient_by_scalings_is_that_of_the_fitted_model(data):
    Z = (data.X - data.X.mean(0)) / data.X.std(0)
    t = data.y - data.y.mean()
    scaling = np.linspace(0.0, 1.0, 6)
    J, gradient = training_error(Ridge(1.0), Z, t, scaling)
    model = Ridge(1.0).fit(Z * scaling, t)
    off = t - model.predict(Z * scaling)
    assert_allclose(J, np.mean(off**2), rtol=1e-12)
    assert_allclose(gradient, -2 * (off @ Z) * model.coef_ / len(t), rtol=1e-6, atol=1e-8)


def test_algorithm_1_runs_on_machines_with_gaussian_neurons():
    problem = xor_like(150, random_state=0)
    machine = ELMRegressor(60, activation="gaussian", standardize=False, ridge=1e-4, random_state=0)
    path = scaling_path(problem.X, problem.y, machine, 3, n_restarts=3)
    assert set(path.subset(3)) == {0, 1, 2}
    assert path.error(3) < 0.5 * path.error(0)


def test_scalings_of_zero_and_one_are_subsets(data):
    machine = KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1)
    cv = KFold(3)
    path = scaling_path(data.X, data.y, machine, 4, cv=cv, n_restarts=3, n_levels=1)
    Z = (data.X - data.X.mean(0)) / data.X.std(0)
    t = data.y - data.y.mean()
    assert max(path.sizes) <= 4
    assert len(path.sizes) > 2
    for size in path.sizes[1:]:
        kept = np.isin(np.arange(6), path.subset(size))
        scores = cross_val_score(machine, Z * kept, t, cv=cv, scoring="neg_mean_squared_error")
        assert_allclose(path.error(size), -scores.mean(), rtol=1e-9)
    again = scaling_path(data.X, data.y, machine, 4, cv=cv, n_restarts=3, n_levels=1)
    assert path.subsets == again.subsets


LABELS = {
    "0 and 1": lambda y: (y > 0).astype(int),
    "text": lambda y: np.where(y > 0, "yes", "no"),
    "flags": lambda y: y > 0,
}


@pytest.mark.parametrize("labels", LABELS)
def test_two_labels_mean_the_same_in_any_coding(classes, labels):
    X, y = classes
    frame, coded = pd.DataFrame(X, columns=list("abcdef")), pd.Series(LABELS[labels](y))
    for fit in (
        lambda X, y: l1_linear(X, y, 0.05),
        lambda X, y: l1_network(X, y, 0.01, n_hidden=2),
        lambda X, y: [svm_wrapper(X, y, 1.0, 2)],
        lambda X, y: [wrapper_path(X, y, LogisticRegression(), 2, measure="log").errors],
    ):
        for expected, found in zip(fit(X, y), fit(frame, coded), strict=True):
            assert_allclose(found, expected, rtol=1e-12)


def test_a_class_that_the_training_part_lacks_has_probability_zero():
    X, y = np.arange(6.0)[:, None], np.array([1, 2, 1, 2, 0, 2])
    split = [(np.arange(4), np.array([5, 4]))]
    path = wrapper_path(X, y, LogisticRegression(), 1, cv=split, measure="log")
    known = LogisticRegression().fit(X[:4], y[:4]).predict_proba(X[5:])[0, 1]
    assert_allclose(path.error(1), -(np.log(known) + np.log(1e-300)) / 2, rtol=1e-12)


def test_more_features_than_columns_are_all_columns(data, classes):
    assert sorted(svm_wrapper(classes[0][:, :3], classes[1], 1.0, 5)) == [0, 1, 2]
    assert low_rank_path(data.X, data.y, 99).sizes[-1] == 6
    assert wrapper_path(data.X, data.y, Ridge(), 99).sizes[-1] == 6


X3, Y3 = np.eye(6)[:, :3], np.array([0, 1, 0, 1, 0, 1])
REFUSED = {
    "direction": (lambda: wrapper_path(X3, Y3, Ridge(), direction="up"), "direction"),
    "measure": (lambda: wrapper_path(X3, Y3, Ridge(), measure="auc"), "measure"),
    "no class": (lambda: wrapper_path(X3, Y3, Ridge(), measure="log"), "needs a classifier"),
    "no log": (lambda: wrapper_path(X3, Y3, SVC(), measure="log"), "needs predict_proba"),
    "estimator": (lambda: wrapper_path(X3, Y3, Ridge), "give an estimator"),
    "text": (lambda: wrapper_path(X3, Y3.astype(str), Ridge()), "y holds text"),
    "size": (lambda: wrapper_path(X3, Y3, Ridge(), -3), "max_features=-3"),
    "rank size": (lambda: low_rank_path(X3, Y3, -3), "max_features=-3"),
    "svm size": (lambda: svm_wrapper(X3, Y3, 1.0, -3), "max_features=-3"),
    "length": (lambda: wrapper_path(X3, Y3[:4], Ridge()), "inconsistent numbers of samples"),
    "svm length": (lambda: svm_wrapper(X3, Y3[:4], 1.0, 2), "inconsistent numbers of samples"),
    "alpha 0": (lambda: low_rank_path(X3, Y3, alpha=0.0), "above zero"),
    "alpha": (lambda: low_rank_path(X3, Y3, alpha="loo"), "alpha='loo'"),
    "start": (lambda: random_path(X3, Y3, start=[0]), "remove start"),
    "three classes": (lambda: l1_linear(X3, [0, 1, 2, 0, 1, 2], 0.1), "3 classes"),
    "one class": (lambda: l1_network(X3, np.ones(6), 0.1), "1 classes"),
    "l1": (lambda: l1_linear(X3, Y3, -0.1), "l1=-0.1"),
    "units": (lambda: l1_network(X3, Y3, 0.1, n_hidden=0), "n_hidden=0"),
    "no regressor": (lambda: scaling_path(X3, Y3, SVC()), "is a classifier"),
    "no estimator": (lambda: scaling_path(X3, Y3, Ridge), "give a regressor"),
    "starts": (lambda: scaling_path(X3, Y3, Ridge(), n_restarts=0), "n_restarts=0"),
    "C": (lambda: svm_wrapper(X3, Y3, 0.0, 2), "C=0.0"),
    "folds": (lambda: svm_wrapper(X3, Y3, 1.0, 2, cv=9), "9"),
    "twice": (lambda: saliency([0, 0], sparse_linear(20, 9, 4, random_state=0)), "twice"),
    "column": (lambda: saliency([9], sparse_linear(20, 9, 4, random_state=0)), "no column 9"),
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_cannot_be_is_refused(call):
    work, message = REFUSED[call]
    with pytest.raises(ValueError, match=message):
        work()
