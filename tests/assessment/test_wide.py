"""The shapes of gene expression: the told errors beside an outer loop of scikit-learn alone."""

import numpy as np
import pytest
from experiments.paper_sets import available, load
from sklearn.linear_model import Ridge
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from slow_twins.judging import paired_choice
from sparsepath import SparseRLSClassifier

SIZE = 8


def looks_like(n=102, p=12600):
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], [n // 2, n - n // 2])
    X = rng.standard_normal((n, 10)) @ rng.standard_normal((10, p)) * 0.4
    X += rng.standard_normal((n, p))
    X[:, :60] += 1.2 * y[:, None] * rng.uniform(0.3, 1, 60)
    return X.astype(np.float32), y


def greedy(X, y, size):
    """Forward selection by leave-one-out ridge regression, each candidate from its hat matrix."""
    chosen, m = [], len(y)
    scaler = StandardScaler().fit(X)
    Z = scaler.transform(X)
    P, r = np.eye(m) - 1 / m, y - y.mean()
    subsets = [()]
    for _ in range(size):
        V = P @ Z
        s = 1.0 + np.einsum("ij,ij->j", Z, V)
        left = r[:, None] - V * ((Z.T @ r) / s)
        p = np.diag(P)[:, None] - V**2 / s
        errors = np.square(left / p).sum(0)
        errors[chosen] = np.inf
        best = int(errors.argmin())
        v = V[:, best] / np.sqrt(s[best])
        P = P - np.outer(v, v)
        r = P @ (y - y.mean())
        chosen.append(best)
        subsets.append(tuple(chosen))
    return subsets


def outer_loop(X, y, folds, size):
    losses = np.zeros((len(y), size + 1))
    for train, test in folds:
        scaler = StandardScaler().fit(X[train])
        A, B = scaler.transform(X[train]), scaler.transform(X[test])
        for k, subset in enumerate(greedy(X[train], y[train], size)):
            predicted = y[train].mean()
            if subset:
                columns = list(subset)
                predicted = Ridge(alpha=1.0).fit(A[:, columns], y[train]).predict(B[:, columns])
            losses[test, k] = (y[test] - predicted) ** 2
    return losses


def told_error(losses, n_draws=4000):
    """The size chosen on rows that were drawn, judged on the others; draws of our own."""
    rng = np.random.default_rng(7)
    errors = []
    for _ in range(n_draws):
        rows = rng.integers(0, len(losses), len(losses))
        away = np.setdiff1d(np.arange(len(losses)), rows)
        errors.append(losses[away, paired_choice(losses[rows])].mean())
    return np.mean(errors)


@pytest.mark.parametrize("name", ["colon cancer", "102 x 12600"])
def test_told_errors_are_those_of_an_outer_loop(name):
    if name == "colon cancer":
        if "colon_cancer" not in available():
            pytest.skip("the data set colon_cancer is absent; set SPARSEPATH_DATA to its folder")
        data = load("colon_cancer")
        X, y = np.asarray(data.X, dtype=np.float64), np.where(data.y == np.unique(data.y)[1], 1, -1)
    else:
        X, y = looks_like()
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    model = SparseRLSClassifier(SIZE, alpha=1.0, validation=folds).fit(X, y)
    losses = outer_loop(X.astype(np.float64), y.astype(float), list(folds.split(X, y)), SIZE)
    expected, size = losses.mean(0), paired_choice(losses)
    np.testing.assert_allclose(model.path_.honest_errors, expected, rtol=1e-4)
    se = losses.std(0, ddof=1) / np.sqrt(len(y))
    np.testing.assert_allclose(model.path_.honest_errors_se, se, rtol=1e-4)
    assert len(model.selected_) == model.honest_.size == size
    assert model.honest_.empty_error == pytest.approx(expected[0], rel=1e-6)
    few = 80 / len(losses)  # the correction of fewer samples than 80 is larger by this
    told = expected[size] + max(few, 1.0) * (told_error(losses) - expected[size])
    assert model.honest_.error == pytest.approx(told, rel=0.02)  # of 500 draws
    low, high = model.honest_.interval
    assert low < expected[size] < high
    tops = {subset[0] for subset in model.path_.subsets[1:]}
    assert tops == {greedy(X.astype(np.float64), y.astype(float), 1)[1][0]}
    assert model.path_.error(SIZE) < 0.6 * expected[SIZE], "the criterion is not the error"


@pytest.mark.validated
def test_by_default_other_folds_of_scikit_learn_tell_the_same_within_the_interval():
    """Nothing is given: neither folds nor size. Other deals of the folds by scikit-learn."""
    X, y = looks_like(72, 3000)
    model = SparseRLSClassifier(SIZE, alpha=1.0).fit(X, y)
    assert model.path_.validation.startswith("10-fold")
    deals = [StratifiedKFold(10, shuffle=True, random_state=seed) for seed in range(3)]
    told = [
        told_error(outer_loop(X.astype(float), y.astype(float), list(deal.split(X, y)), SIZE), 300)
        for deal in deals
    ]
    low, high = model.honest_.interval
    assert low < np.mean(told) < high
    assert model.honest_.error == pytest.approx(np.mean(told), rel=0.25)


def test_shuffled_labels_are_no_success():
    X, y = looks_like(60, 3000)
    y = np.random.default_rng(1).permutation(y)
    model = SparseRLSClassifier(20, alpha=1.0, validation=5).fit(X, y)
    assert model.path_.error(20) < 0.1 * model.path_.error(0)  # what the search believes
    assert model.honest_.gain < 0.2
    assert model.honest_.error > 0.8
