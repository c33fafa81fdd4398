"""Relaxed paths against the lasso of scikit-learn and ridge regressions on its features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Lasso
from sklearn.model_selection import KFold

from sparsepath import GraftingRegressorCV
from sparsepath.errors import InputError

MIXES = (1.0, 0.75, 0.5, 0.25, 0.0)
L1S = (1.5, 0.8, 0.4, 0.2, 0.1)


def problem(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 8)) * np.array([1, 5, 1, 0.2, 1, 1, 3, 1]) + 2.0
    return X, X[:, 0] * 2 + X[:, 1] / 3 - X[:, 4] + rng.standard_normal(60) + 5


def mixes(X, y, l1):
    """Coefficients and intercepts of all mixes, in the units of the data."""
    centre, scale, mean = X.mean(0), X.std(0), y.mean()
    Z, t, n = (X - centre) / scale, y - mean, len(y)
    w = Lasso(alpha=l1, fit_intercept=False, tol=1e-13, max_iter=100000).fit(Z, t).coef_
    S = np.flatnonzero(w)
    v = np.zeros_like(w)
    v[S] = np.linalg.solve(Z[:, S].T @ Z[:, S] / n + 1e-3 * np.eye(len(S)), Z[:, S].T @ t / n)
    for mix in MIXES:
        coef = (mix * w + (1 - mix) * v) / scale
        yield coef, mean - centre @ coef


@pytest.mark.parametrize("seed", range(4))
def test_the_path_has_the_best_mix_of_every_size(seed):
    X, y = problem(seed)
    model = GraftingRegressorCV(L1S, relax=True, cv=KFold(3), choose="min", validation=None).fit(
        X, y
    )
    best = {}
    for l1 in L1S:
        errors = np.zeros((3, len(MIXES)))
        for i, (train, test) in enumerate(KFold(3).split(X)):
            for j, (coef, b) in enumerate(mixes(X[train], y[train], l1)):
                errors[i, j] = np.mean((y[test] - X[test] @ coef - b) ** 2)
        for error, (coef, b) in zip(errors.mean(0), mixes(X, y, l1), strict=True):
            size = np.count_nonzero(coef)
            if size not in best or error < best[size][0]:
                best[size] = error, coef, b
    assert list(model.path_.sizes) == sorted(best)
    for size, (error, coef, b) in best.items():
        assert_allclose(model.path_.error(size), error, rtol=1e-7)
        known = model.at_size(size)
        assert_allclose(known.coef_, coef, rtol=1e-5, atol=1e-8)
        assert_allclose(known.intercept_, b, rtol=1e-5)


def test_relaxed_models_need_fewer_features():
    """Strong effects among noise: the lasso needs a small penalty, and noise comes along."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 40))
    y = 3 * X[:, :4].sum(1) + rng.standard_normal(100)
    plain = GraftingRegressorCV(choose="min").fit(X, y)
    relaxed = GraftingRegressorCV(choose="min", relax=True).fit(X, y)
    assert set(range(4)) <= set(relaxed.selected_)
    assert len(relaxed.selected_) < len(plain.selected_)
    assert relaxed.path_.error(4) < plain.path_.error(len(plain.selected_))
    assert relaxed.cv_errors_.shape == plain.cv_errors_.shape


@pytest.mark.parametrize("given", [{"loss": "huber"}, {"l0": 0.01}, {"steps": "single"}])
def test_what_cannot_be_relaxed_says_so(given):
    X, y = problem(0)
    with pytest.raises(InputError, match="relax=True needs squared loss"):
        GraftingRegressorCV(relax=True, **given).fit(X, y)
