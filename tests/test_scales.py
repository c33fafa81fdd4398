"""One scale of error: what a path calls a squared error is one, for every method alike.

Every estimator of the package that can predict is fitted to one small problem. The error of its
empty model must be the variance of y (times what leaving out costs the mean), it must grow with the
square of the units of y, and at every size it must be the training error of ``predict`` or near it.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import log_loss

import sparsepath
from sparsepath import InputError, PathWarning, SelectionPath, Step, grafting_path
from sparsepath.data.splits import splits_of

M, N = 60, 5
UNIT = 4.0  # a power of two, so that what follows is the same to the last bit
NOISE = 2.0


def estimators(wanted):
    found = {name: getattr(sparsepath, name) for name in sparsepath.__all__}
    classes = {name: cls for name, cls in found.items() if hasattr(cls, "fit")}
    return {name: cls for name, cls in classes.items() if wanted(cls())}


REGRESSORS = estimators(is_regressor)
CLASSIFIERS = estimators(is_classifier)

# What makes the fits quick, and penalties in the units of the target (c times as large).
OPTIONS = {
    "SparseKernelRLSRegressor": lambda c: {"max_centres": 4, "gamma": 0.05},
    "GraftingRegressor": lambda c: {"l1": 0.2 * c, "l0": 0.01 * c * c},
    "MLPGraftingRegressor": lambda c: {"max_hidden": 3, "max_connections": 6},
    "MLPGraftingRegressorCV": lambda c: {"max_hidden": 2, "max_connections": 5, "l1s": [1e-3]},
    "SparseRBFRegressor": lambda c: {"r": 10.0, "t": 0.2},
    "SparseRBFRegressorCV": lambda c: {"rs": [4.0, 10.0], "ts": [0.05, 0.2]},
    "LSSVMForwardRegressor": lambda c: {"max_features": 3, "gamma": 10.0, "sigma2": 20.0},
    "LSSVMRegressor": lambda c: {"gamma": [1.0, 10.0], "sigma2": 30.0},
    "ReducedRankKernelRidge": lambda c: {"gamma": [1.0, 10.0], "sigma2": 30.0},
    "ELMFSRegressor": lambda c: {"n_neurons": 8, "n_restarts": 3, "random_state": 0},
    "ELMRegressor": lambda c: {"n_neurons": 10, "random_state": 0},
    "OPELMRegressor": lambda c: {"n_neurons": 20, "random_state": 0},
    "MutualInfoRegressor": lambda c: {"max_features": 2, "n_restarts": 3, "random_state": 0},
}
MORE = {
    "SparseRLSRegressor": [{"cv": 5}, *({"search": s} for s in ("floating", "backward", "swap"))],
    "SparseRankRLS": [{"cv": 5}],
    "GraftingRegressor": [{"l0": 0.0}, {"update": "newest"}],
}
CASES = [(name, more) for name in REGRESSORS for more in [{}, *MORE.get(name, [])]]
QUICK = {
    "SparseKernelRLSClassifier": {"max_centres": 4, "gamma": 0.05},
    "MLPGraftingClassifier": {"max_hidden": 3, "max_connections": 6},
    "MLPGraftingClassifierCV": {"max_hidden": 2, "max_connections": 5, "l1s": [1e-3]},
    "SparseRBFClassifier": {"r": 10.0, "t": 0.2},
    "SparseRBFClassifierCV": {"rs": [4.0, 10.0], "ts": [0.05, 0.2]},
    "ELMFSClassifier": {"n_neurons": 8, "n_restarts": 3, "random_state": 0},
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((M, N)) * [1.0, 3.0, 0.5, 1.0, 2.0]
    return X, 30.0 + X @ [5.0, -1.5, 0.0, 2.0, 0.0] + NOISE * rng.standard_normal(M)


def fitted(name, X, y, more, c=1.0):
    options = OPTIONS.get(name, lambda c: {})(c)
    return REGRESSORS[name](**{**options, **more}).fit(X, c * y)


def of_the_mean(X, y, criterion, classes=False):
    """What the mean errs, as the criterion has it."""
    m = len(y)
    if "leave-one-out" in criterion:
        return y.var() * (m / (m - 1)) ** 2
    if "leave-pair-out" in criterion:  # half the mean squared difference of two samples
        return y.var() * m / (m - 1)
    parts = splits_of(5, X, y, classifier=classes)
    if "pairwise" in criterion:
        return np.mean([y[test].var(ddof=1) for _, test in parts])
    return np.mean([np.mean((y[test] - y[train].mean()) ** 2) for train, test in parts])


@pytest.mark.filterwarnings("ignore:the budget:sparsepath.PathWarning")
@pytest.mark.parametrize(("name", "more"), CASES)
def test_every_regressor_is_on_one_scale(name, more, data):
    X, y = data
    model, other = (fitted(name, X, y, more, c) for c in (1.0, UNIT))
    if not hasattr(model, "path_"):
        figure = "loo_error_" if hasattr(model, "loo_error_") else "cv_error_"
        assert 0.5 < getattr(model, figure) / np.mean((y - model.predict(X)) ** 2) < 10
        assert_allclose(getattr(other, figure), UNIT**2 * getattr(model, figure), rtol=1e-9)
        return
    path = model.path_
    assert "squared error" in path.criterion
    empty = y.var()
    if path.error_kind != "training":
        empty = of_the_mean(X, y, path.criterion)
    # Of a training part the largest l1 may leave a feature in: it is the error of that l1.
    assert_allclose(path.error(0), empty, rtol=0.02 if name == "GraftingRegressorCV" else 1e-9)
    assert other.path_.sizes == path.sizes
    assert_allclose(other.path_.errors, UNIT**2 * path.errors, rtol=1e-9)
    for size in path.sizes if hasattr(model, "at_size") else [len(model.centres_)]:
        used = model.at_size(size) if hasattr(model, "at_size") else model
        trained = np.mean((y - used.predict(X)) ** 2)
        if path.error_kind == "training":
            assert_allclose(path.error(size), trained, rtol=1e-9)
        else:
            assert 0.9 < path.error(size) / trained < 4
    least = path.choose("min")
    assert path.rmse(least) == path.error(least) ** 0.5
    assert_allclose(path.r2(least), 1 - path.error(least) / path.error(0))


def class_error(model, X, t, criterion):
    """The training error of a classifier, by what its criterion names; t is -1 or +1."""
    if "log loss" in criterion:
        return log_loss(t, model.predict_proba(X))
    if "squared error" in criterion:
        return np.mean((t - model.decision_function(X)) ** 2)
    assert "zero-one" in criterion
    return np.mean(t != model.predict(X))


@pytest.mark.filterwarnings("ignore:the budget:sparsepath.PathWarning")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_errs_by_what_its_criterion_names(name, data):
    X, y = data
    t = np.where(y + 3 * np.sin(17 * y) > 28, 1.0, -1.0)
    model = CLASSIFIERS[name](**QUICK.get(name, {})).fit(X, t)
    if not hasattr(model, "path_"):
        return
    path = model.path_
    if "zero-one" not in path.criterion:
        share = np.mean(t > 0)
        empty = t.var() if "squared" in path.criterion else log_loss(t, np.full(M, share))
        if path.error_kind == "training":
            assert_allclose(path.error(0), empty, rtol=1e-9)
        elif "squared" in path.criterion:
            expected = of_the_mean(X, t, path.criterion, classes=True)
            assert_allclose(path.error(0), expected, rtol=1e-9)
        else:
            assert_allclose(path.error(0), empty, rtol=0.05)
    for size in path.sizes if hasattr(model, "at_size") else [len(model.centres_)]:
        used = model.at_size(size) if hasattr(model, "at_size") else model
        trained = class_error(used, X, t, path.criterion)
        if path.error_kind == "training":
            assert_allclose(path.error(size), trained, rtol=1e-9)
        else:
            assert 0.8 < path.error(size) / trained < 4


def test_a_path_over_penalties(data):
    X, y = data
    found = grafting_path(X, y, n_l1s=6)
    assert found.path.criterion == "squared error"
    assert_allclose(2 * found.losses[0], y.var())
    assert found.path.error(0) == 2 * found.losses[0]
    largest = found.path.sizes[-1]
    coef, intercept = found.path.coef(largest)[:, 0], found.path.intercept(largest)[0]
    off = y - X[:, found.path.subset(largest)] @ coef - intercept
    assert_allclose(found.path.error(largest), np.mean(off**2))


@pytest.mark.parametrize("steps", ["single", "batch"])
def test_what_grafting_minimises_is_kept_apart(steps, data):
    X, y = data
    model = sparsepath.GraftingRegressor(0.5, l2=0.1, steps=steps).fit(X, y)
    for size in model.path_.sizes:
        used = model.at_size(size)
        w = used.coef_ * X.std(axis=0)
        penalties = 0.5 * np.abs(w).sum() + 0.1 * (w @ w)
        assert_allclose(used.criterion_, model.path_.error(size) / 2 + penalties, rtol=1e-9)
    assert_allclose(model.path_.moves[-1].error, model.path_.error(len(model.selected_)), rtol=1e-4)


def test_the_huber_loss_is_named(data):
    X, y = data
    model = sparsepath.GraftingRegressor(0.5, loss="huber", delta=2.5).fit(X, y)
    assert model.path_.criterion == "Huber loss (delta 2.5)"
    off = np.abs(y - model.predict(X))
    costs = np.where(off <= 2.5, off**2 / 2, 2.5 * (off - 1.25))
    assert_allclose(model.path_.error(len(model.selected_)), costs.mean())
    with pytest.raises(InputError, match="Huber loss"):
        model.path_.rmse(0)


def test_grafting_and_least_squares_agree(data):
    """Nearly without penalties they are the same model, so they must say the same error."""
    X, y = data
    full = np.column_stack([np.ones(M), X])
    off = y - full @ np.linalg.lstsq(full, y, rcond=None)[0]
    graft = sparsepath.GraftingRegressor(1e-9).fit(X, y).path_
    assert_allclose(graft.error(N), np.mean(off**2), rtol=1e-6)
    leverage = np.diag(full @ np.linalg.pinv(full))
    rls = sparsepath.SparseRLSRegressor(alpha=0.0).fit(X, y).path_
    lars = sparsepath.LarsSelector(l2=0.0).fit(X, y).path_
    for path in (rls, lars):
        assert_allclose(path.error(N), np.mean((off / (1 - leverage)) ** 2), rtol=1e-9)
    for splits in ("loo", 5):
        rank = sparsepath.SparseRankRLS(alpha=0.0, cv=splits).fit(X, y).path_
        assert 0.9 < rank.error(N) / rls.error(N) < 1.1


def test_several_targets_are_added_up(data):
    X, y = data
    Y = np.column_stack([y, 2 * y])
    for name in ("LSSVMRegressor", "ReducedRankKernelRidge", "ELMRegressor"):
        one, two = fitted(name, X, y, {}), fitted(name, X, Y, {})
        figure = "loo_error_" if hasattr(one, "loo_error_") else "cv_error_"
        assert_allclose(getattr(two, figure), 5 * getattr(one, figure), rtol=1e-9)


def test_r2_and_rmse():
    steps = [Step((), 4.0), Step((0,), 1.0), Step((0, 1), 5.0)]
    path = SelectionPath(steps, n_features=3, criterion="leave-one-out squared error")
    assert [path.r2(k) for k in path.sizes] == [0.0, 0.75, -0.25]
    assert [path.rmse(k) for k in (0, 1)] == [2.0, 1.0]
    with pytest.raises(InputError, match="no model of size 3"):
        path.r2(3)
    without = SelectionPath(steps[1:], n_features=3)
    with pytest.raises(InputError, match="empty model"):
        without.r2(1)
    assert without.rmse(1) == 1.0
    counted = SelectionPath(steps, n_features=3, criterion="leave-one-out zero-one error")
    for figure in (counted.r2, counted.rmse):
        with pytest.raises(InputError, match="zero-one error"):
            figure(1)


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("size", [1e100, 1e-100, 1e160, 1e-160])
def test_targets_whose_squares_no_number_can_hold_are_named(name, size):
    if name in ("SparseRankRLS", "SparseKernelRLSRegressor"):
        pytest.skip("judges by other errors")
    X, y = np.random.default_rng(0).standard_normal((M, N)), np.arange(M) * size
    with pytest.raises(InputError, match=r"^y has numbers of the size of .* divide it by"):
        REGRESSORS[name](**OPTIONS.get(name, lambda c: {})(1.0)).fit(X, y)


@pytest.mark.parametrize(
    "name", ["LarsSelector", "SparseRBFRegressor", "LSSVMForwardRegressor", "ELMFSRegressor",
             "ELMRegressor", "MutualInfoRegressor"],
)  # fmt: skip
def test_columns_whose_squares_no_number_can_hold_are_named_or_constant(name):
    X = np.random.default_rng(0).standard_normal((M, N))
    y = X[:, 0] + X[:, 1] ** 2
    model = REGRESSORS[name](**OPTIONS.get(name, lambda c: {})(1.0))
    with pytest.raises(InputError, match=r"column '2' has numbers .* divide by their size"):
        model.fit(X * [1, 1, 1e160, 1, 1], y)
    for size in (1e-155, 1e-200):  # squares without digits, and squares that are zero
        with pytest.warns(PathWarning, match=r"column '2' has numbers .* counts as constant"):
            model.fit(X * [1, 1, size, 1, 1], y)
        if hasattr(model, "path_"):
            assert all(2 not in subset for subset in model.path_.subsets)


@pytest.mark.parametrize("unit", [1e-20, 1e-8, 1e8])
@pytest.mark.parametrize(
    "model",
    [sparsepath.LarsSelector(5), sparsepath.MutualInfoRegressor(3, random_state=0)],
    ids=lambda model: type(model).__name__,
)
def test_paths_do_not_depend_on_the_units_of_the_target(model, unit):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 8))
    y = X[:, 2] - 2 * X[:, 5] + 0.5 * X[:, 7] + 0.6 * rng.standard_normal(60)
    path, other = clone(model).fit(X, y).path_, clone(model).fit(X, unit * y).path_
    assert other.subsets == path.subsets
    assert np.array(other.errors) / unit**2 == pytest.approx(np.array(path.errors), rel=1e-6)
