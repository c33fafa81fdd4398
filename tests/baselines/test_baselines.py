"""What the papers compare with gives what it must, by other routes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC

from slow_twins import rls as twin
from sparsepath import GraftingClassifier, InputError, rls_path
from sparsepath.baselines import (
    l1_linear,
    l1_network,
    low_rank_path,
    random_path,
    saliency,
    svm_wrapper,
    wrapper_path,
)
from sparsepath.data.synthetic import sparse_linear, threshold_max, two_normals


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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"direction": "up"}, "direction"),
        ({"measure": "auc"}, "measure"),
    ],
)
def test_what_is_not_known_is_refused(data, given, message):
    with pytest.raises(InputError, match=message):
        wrapper_path(data.X, data.y, Ridge(), **given)
    with pytest.raises(InputError, match="above zero"):
        low_rank_path(data.X, data.y, alpha=0.0)
