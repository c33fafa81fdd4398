"""The exact search equals enumeration, in both of its forms, and its bounds hold if cut short."""

import json
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from slow_twins import best_subsets
from sparsepath import InputError, SparseRLSClassifier, SparseRLSRegressor, rls
from sparsepath.path.selection_path import SelectionPath
from sparsepath.rls import exact

P = 7


def tangled(seed, n=30, p=P, targets=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p))
    Y = X[:, :3] @ rng.standard_normal((3, targets)) + 2 * rng.standard_normal((n, targets))
    return X, Y[:, 0] if targets == 1 else Y


def fit(X, y, weights=None, **options):
    model = SparseRLSRegressor(search="exact", validation=None, **options)
    return model.fit(X, y, sample_weight=weights).path_


@pytest.fixture(params=["tree", "relaxation"])
def form(request, monkeypatch):
    """The tree alone, or relaxations down to a few columns."""
    if request.param == "relaxation":
        monkeypatch.setattr(exact, "TREE", 2)


CASES = {
    "plain": {},
    "forced": {"forced": [5, 2], "forbidden": [0]},
    "short": {"max_features": 3},
    "weak": {"alpha": 1e-3},
    "heavy": {"alpha": 100.0},
}


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_it_equals_enumeration(case, seed):
    options = CASES[case]
    targets = 1 + seed % 2
    X, Y = tangled(seed, targets=targets)
    weights = np.random.default_rng(seed).uniform(0.5, 2, len(X)) if seed == 2 else None
    path = fit(X, Y, weights, **options)
    total = len(X) if weights is None else weights.sum()
    alpha = options.get("alpha", 1.0)
    allowed = [i for i in range(P) if i not in options.get("forbidden", ())]
    best = best_subsets.least(
        lambda some: best_subsets.penalised(X, Y, alpha, some, weights) / total,
        P,
        min(options.get("max_features", P), len(allowed)),
        options.get("forced", ()),
        allowed,
    )
    certificate = path.certificate
    assert certificate["sizes"] == list(best) == list(path.sizes)
    assert certificate["values"] == certificate["lower_bounds"]
    for (size, (value, subset)), known in zip(best.items(), certificate["values"], strict=True):
        assert_allclose(known, value, rtol=1e-8)
        assert set(path.subset(size)) == subset
    assert path.stopped == "max_features"


def test_errors_are_those_of_leave_one_out():
    X, y = tangled(4)
    path = fit(X, y)
    for size in path.sizes:
        assert_allclose(path.error(size), best_subsets.left_out(X, y, 1.0, list(path.subset(size))))


@pytest.mark.parametrize("tree", [0, 64])
def test_bounds_hold_if_the_time_is_over(tree, monkeypatch):
    monkeypatch.setattr(exact, "TREE", tree)
    X, y = tangled(5, n=80, p=12)
    whole = fit(X, y).certificate
    path = fit(X, y, time_budget=0.0)
    certificate = path.certificate
    assert path.stopped == "time"
    for size, value, lower in zip(
        *(certificate[name] for name in ("sizes", "values", "lower_bounds")), strict=True
    ):
        best = whole["values"][size]
        assert lower <= best * (1 + 1e-9) <= value * (1 + 2e-9)


def test_the_tree_ended_early_has_sound_bounds():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 40)) @ rng.standard_normal((40, 40))
    y = X[:, :6].sum(1) + 20 * rng.standard_normal(120)
    path = fit(X, y, max_features=12, time_budget=0.5)
    certificate = path.certificate
    values, lower = np.array(certificate["values"]), np.array(certificate["lower_bounds"])
    assert (lower <= values).all()
    assert (lower > 0).all()


def test_the_certificate_is_in_files(tmp_path):
    X, y = tangled(6)
    path = fit(X, y)
    path.save(tmp_path / "path.json")
    again = SelectionPath.load(tmp_path / "path.json")
    assert again.certificate == path.certificate
    assert json.loads((tmp_path / "path.json").read_text())["data"]["certificate"]["sizes"]
    assert SparseRLSRegressor(2).fit(X, y).path_.certificate is None


REFUSED = {
    "folds": ({"cv": 5}, "cross-validation over folds"),
    "loss": ({"loss": "absolute"}, "does not support loss='absolute'"),
    "groups": ({"feature_groups": [0, 0, 1, 2, 3, 4, 5]}, "feature_groups"),
    "costs": ({"budget": 3}, "feature_costs and budget"),
    "parents": ({"parents": {1: [0]}}, "parents"),
    "start": ({"start": [1]}, "start"),
    "stop": ({"stop": rls.Patience(2)}, "stop"),
    "checkpoint": ({"checkpoint": "file"}, "does not support checkpoints"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_it_does_not_take(case):
    options, text = REFUSED[case]
    X, y = tangled(7)
    with pytest.raises(InputError, match=text):
        fit(X, y, **options)


def test_collinear_columns_without_a_penalty():
    X, y = tangled(8)
    X[:, 3] = X[:, 1]
    with pytest.raises(InputError, match="not collinear"):
        fit(X, y, alpha=0.0)


def test_it_is_an_estimator_like_others():
    X, y = tangled(9)
    model = SparseRLSClassifier(3, search="exact", validation=3)
    fitted = clone(model).fit(X, y > 0)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict(X) == fitted.predict(X)).all()
    assert again.path_.certificate == fitted.path_.certificate
    grid = GridSearchCV(SparseRLSRegressor(3), {"search": ["forward", "exact"]}, cv=2)
    assert grid.fit(X, y).best_params_["search"] in ("forward", "exact")


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("seed", range(4))
def test_it_needs_no_good_sets_to_begin_with(seed, monkeypatch):
    def first_columns(self, forced):
        for size in range(P + 1):
            columns = list(range(size))
            self.subsets[size], self.values[size] = tuple(columns), self.products.value(columns)

    X, y = tangled(20 + seed)
    expected = fit(X, y)
    monkeypatch.setattr(exact._Exact, "_first", first_columns)
    path = fit(X, y)
    assert [set(s) for s in path.subsets] == [set(s) for s in expected.subsets]
    assert path.certificate["values"] == path.certificate["lower_bounds"]


@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_the_relaxation_hold_for_any_coefficients(seed):
    X, y = tangled(30 + seed)
    Z = (X - X.mean(0)) / X.std(0)
    of = exact.RidgeProducts(Z.T @ Z + np.eye(P), Z.T @ (y - y.mean())[:, None], len(y) * y.var())
    d = exact._least_eigenvalue(of.M)
    assert 0 < d <= np.linalg.eigvalsh(of.M)[0]
    best = best_subsets.least(lambda some: best_subsets.penalised(X, y, 1.0, some), P, P, (2,))
    inside = np.arange(P) == 2
    rng, gaps = np.random.default_rng(seed), []
    for size in range(2, P):
        value, subset = best[size]
        w = np.zeros((P, 1))
        w[sorted(subset)] = of.factor(sorted(subset))[1]
        for v in (w, 0.5 * w, w + 0.1 * rng.standard_normal((P, 1))):
            found = exact._bound(of, d, inside, size - 1, v)
            assert found.bound <= value * (1 + 1e-9)
            out, must = found.decided(value * (1 + 1e-6))
            free = np.flatnonzero(~inside)
            assert not subset & set(free[out])
            assert subset >= set(free[must])
        gaps.append(1 - exact._bound(of, d, inside, size - 1, w).bound / value)
    assert min(gaps) < 0.5
