"""The strong search: never above the others, equal to enumeration, the same every time."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from rls.comparing import correlated
from slow_twins import best_subsets
from sparsepath import InputError, SparseRLSClassifier, SparseRLSRegressor
from sparsepath.rls import Patience, rls_path

OTHERS = ("forward", "floating", "swap")


def tangled(seed, n=40, p=10, targets=1):
    """Columns of an arbitrary covariance matrix, where greedy searches go wrong."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p))
    Y = X[:, :4] @ rng.standard_normal((4, targets)) + 2 * rng.standard_normal((n, targets))
    return X, Y[:, 0] if targets == 1 else Y


def fit(search, X, y, kind=SparseRLSRegressor, **options):
    return kind(search=search, validation=None, **options).fit(X, y).path_


@pytest.mark.parametrize("seed", range(6))
def test_it_equals_enumeration(seed):
    X, y = tangled(seed, n=24, p=7)
    path = fit("strong", X, y)
    found = best_subsets.least(lambda some: best_subsets.left_out(X, y, 1.0, some), 7, 7)
    for size, (error, subset) in found.items():
        assert_allclose(path.error(size), error, rtol=1e-8)
        assert set(path.subset(size)) == subset


CASES = {
    "plain": {},
    "folds": {"cv": 4},
    "absolute": {"loss": "absolute"},
    "absolute folds": {"loss": "absolute", "cv": 4},
    "forced": {"forced": [5, 2], "forbidden": [0]},
    "start": {"start": [7, 8]},
    "groups": {"feature_groups": [0, 0, 1, 2, 2, 2, 3, 4, 5, 5]},
    "costs": {"feature_costs": np.arange(1.0, 11.0), "budget": 20},
    "parents": {"parents": {3: [7], 9: [1, 2]}},
    "patience": {"stop": Patience(2)},
    "no penalty": {"alpha": 0.0},
    "raw": {"standardize": False, "fit_intercept": False},
}


@pytest.mark.filterwarnings("ignore::sparsepath.errors.PathWarning")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_never_above_the_others(case, seed):
    X, y = tangled(10 + seed)
    options = {"max_features": 6, **CASES[case]}
    path = fit("strong", X, y, **options)
    for other in OTHERS:
        beside = fit(other, X, y, **options)
        assert set(beside.sizes) <= set(path.sizes)
        for size in beside.sizes:
            assert path.error(size) <= beside.error(size) * (1 + 1e-9), (other, size)
    check_constraints(path, options)


def check_constraints(path, options):
    labels = np.asarray(options.get("feature_groups", np.arange(10)))
    for subset in map(set, path.subsets):
        assert len(subset) <= 6
        assert subset >= set(options.get("forced", ()))
        assert not subset & set(options.get("forbidden", ()))
        for child, above in options.get("parents", {}).items():
            assert child not in subset or subset >= set(above)
        assert subset == set(np.flatnonzero(np.isin(labels, labels[list(subset)])))
        if "budget" in options:
            assert options["feature_costs"][list(subset)].sum() <= options["budget"]
    if path.sizes:
        replayed = [set(path.start), *map(set, path.replay())]
        assert all(set(subset) in replayed for subset in path.subsets)


@pytest.mark.parametrize("loss", ["squared", "zero_one", "auc"])
def test_classes_and_targets(loss):
    X, y = tangled(3, n=50)
    labels = np.where(y > np.median(y), "yes", "no")
    given = {"max_features": 4, "loss": loss, "kind": SparseRLSClassifier}
    path = fit("strong", X, labels, **given)
    for other in OTHERS:
        beside = fit(other, X, labels, **given)
        for size in set(beside.sizes) & set(path.sizes):
            assert path.error(size) <= beside.error(size) + 1e-12
    X, Y = tangled(4, targets=3)
    path, beside = (fit(name, X, Y, max_features=5) for name in ("strong", "swap"))
    assert all(path.error(k) <= beside.error(k) * (1 + 1e-9) for k in path.sizes)


def test_the_same_every_time_and_with_a_budget_that_is_not_reached():
    case = correlated(1)
    paths = [
        rls_path(case.X, case.Y, 6, search="strong", n_threads=threads, time_budget=budget)
        for threads, budget in ((1, None), (2, None), (1, 3600))
    ]
    for path in paths[1:]:
        assert path.subsets == paths[0].subsets
        assert path.errors.tolist() == paths[0].errors.tolist()
        assert path.stopped == "max_features"


def test_a_budget_ends_the_search_and_is_on_the_path():
    X, y = tangled(5)
    path = fit("strong", X, y, max_features=6, time_budget=0.0)
    assert path.stopped == "time"
    assert path.sizes[0] == 0


def test_a_callback_ends_the_search():
    X, y = tangled(6)
    seen = []
    whole = fit("strong", X, y)

    def callback(path):
        seen.append(len(path.moves))
        return len(path.moves) > len(whole.moves) - 2

    path = fit("strong", X, y, callback=callback)
    assert path.stopped == "asked to"
    assert seen == sorted(seen)
    assert not path.complete


def test_what_it_does_not_take():
    X, y = tangled(7)
    with pytest.raises(InputError, match="does not support checkpoints"):
        fit("strong", X, y, checkpoint="somewhere")
    with pytest.raises(InputError, match="time_budget=3 is for search='strong'"):
        fit("swap", X, y, time_budget=3)
    with pytest.raises(InputError, match="time_budget"):
        fit("strong", X, y, time_budget=-1)


def test_it_is_an_estimator_like_others():
    X, y = tangled(8)
    model = SparseRLSRegressor(4, search="strong", validation=3)
    fitted = clone(model).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert_allclose(again.predict(X), fitted.predict(X))
    assert again.path_.method == "strong-rls"
    grid = GridSearchCV(model, {"search": ["forward", "strong"], "alpha": [0.1, 10.0]}, cv=2)
    assert grid.fit(X, y).best_params_["alpha"] in (0.1, 10.0)
