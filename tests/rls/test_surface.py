"""Penalty and size chosen together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_score

from sparsepath import InputError, SelectionPath, SparseRLSRegressor, Step
from sparsepath.rls import Surface
from sparsepath.rls.folds import model as folds

ALPHAS = [0.01, 1.0, 30.0, 1000.0]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 10)) @ rng.standard_normal((10, 10))
    return X, X[:, :4] @ [1.0, -1.0, 0.5, 0.2] + 3 * rng.standard_normal(50)


def literally(surface, rule):
    """The rules of the documentation, over all pairs of penalty and size."""
    points = [
        (alpha, k, path.error(k), path.error_se(k))
        for alpha, path in surface.paths.items()
        for k in path.sizes
    ]
    least = min(point[2] for point in points)
    if isinstance(rule, int):
        there = [p for p in points if p[1] == rule]
        return max(p[0] for p in there if p[2] == min(q[2] for q in there)), rule
    [se] = {p[3] for p in points if p[2] == least}
    limit = {"min": least, "one_se": least + se}.get(rule) or least * (1 + rule)
    fine = [p for p in points if p[2] <= limit]
    size = min(p[1] for p in fine)
    error = min(p[2] for p in fine if p[1] == size)
    return max(p[0] for p in fine if p[1:3] == (size, error)), size


@pytest.mark.parametrize("cv", ["loo", KFold(5)])
@pytest.mark.parametrize("rule", ["min", "one_se", 0.02, 0.3, 0, 3, 7])
def test_choices_are_over_both(data, cv, rule):
    X, y = data
    model = SparseRLSRegressor(8, alpha=ALPHAS, cv=cv, choose=rule, standardize=False).fit(X, y)
    alpha, size = literally(model.surface_, rule)
    assert (model.alpha_, len(model.selected_)) == (alpha, size)
    assert model.path_ is model.paths_[alpha]
    ridge = Ridge(alpha=alpha).fit(X[:, model.selected_], y) if size else None
    if ridge is not None:
        assert_allclose(model.coef_[model.selected_], ridge.coef_, rtol=1e-8)


def test_the_surface_is_that_of_one_penalty_at_a_time(data):
    X, y = data
    cv = KFold(5)
    surface = SparseRLSRegressor(6, alpha=ALPHAS, cv=cv, standardize=False).fit(X, y).surface_
    for alpha, size, error, _ in surface.points:
        alone = SparseRLSRegressor(6, alpha=alpha, cv=cv, standardize=False).fit(X, y).path_
        assert_array_equal(alone.error(size), error)
        columns = list(surface.paths[alpha].subset(size))
        if columns:
            scores = cross_val_score(
                Ridge(alpha=alpha), X[:, columns], y, cv=cv, scoring="neg_mean_squared_error"
            )
            assert error == pytest.approx(-scores.mean(), rel=1e-10)


def test_one_gram_matrix_serves_all_penalties(data, monkeypatch):
    X, y = data
    made = []

    class Counted(folds.SplitSums):
        def __init__(self, *given, **named):
            made.append(1)
            super().__init__(*given, **named)

    monkeypatch.setattr("sparsepath.rls.engines.SplitSums", Counted)
    SparseRLSRegressor(3, alpha=ALPHAS, cv=3).fit(X, y)
    assert len(made) == 1


def test_ties_between_penalties():
    def path(*errors):
        steps = [Step(tuple(range(k)), e, 0.5) for k, e in enumerate(errors)]
        return SelectionPath(steps, n_features=3)

    same = Surface({1.0: path(4.0, 2.0, 1.0), 10.0: path(4.0, 2.0, 1.0), 0.1: path(4.0, 2.0, 1.0)})
    assert same.choose("min") == (10.0, 2)
    assert same.choose(1) == (10.0, 1)
    smaller = Surface({1.0: path(4.0, 2.0, 1.0), 10.0: path(4.0, 1.0, 1.2)})
    assert smaller.choose("min") == (10.0, 1)
    one_se = Surface({1.0: path(4.0, 1.4, 1.0), 10.0: path(4.0, 1.45, 1.2)})
    assert one_se.choose("one_se") == (1.0, 1)
    with pytest.raises(InputError, match="cannot choose by 'best'"):
        one_se.choose("best")
    with pytest.raises(InputError, match="no model of size 7"):
        one_se.choose(7)
    unknown = Surface({1.0: SelectionPath([Step((), 1.0)], n_features=1)})
    with pytest.raises(InputError, match="no standard error"):
        unknown.choose("one_se")


def test_frame_plot_and_other_points(data):
    X, y = data
    model = SparseRLSRegressor(4, alpha=ALPHAS).fit(X, y)
    frame = model.surface_.to_frame()
    assert list(frame.columns) == ["alpha", "size", "error", "error_se", "features"]
    assert len(frame) == len(ALPHAS) * 5
    assert frame.pivot(index="alpha", columns="size", values="error").shape == (4, 5)
    assert len(model.surface_.plot().lines) == len(ALPHAS)
    other = model.at_size(2, alpha=1000.0)
    assert other.alpha_ == 1000.0
    assert tuple(other.selected_) == model.paths_[1000.0].subset(2)
    with pytest.raises(InputError, match="no path for alpha=5"):
        model.at_size(2, alpha=5)
    assert not hasattr(SparseRLSRegressor(), "surface_")
