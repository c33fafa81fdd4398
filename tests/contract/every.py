"""Every public selector, with data that suits it; tests know none by name.

They are those of the table of methods, and ``TableSelector``, which is any of them on a table.

``QUICK`` makes the fits short and nothing else; a selector without an entry runs by its defaults.
"""

import inspect

import numpy as np
from sklearn.base import is_classifier

import sparsepath
from sparsepath.base.selector import PathSelector

PUBLIC = {name: getattr(sparsepath, name) for name in sparsepath.__all__}
SELECTORS = {
    name: kind
    for name, kind in PUBLIC.items()
    if isinstance(kind, type) and issubclass(kind, PathSelector)
}
NAMES = sorted(SELECTORS)

_ELM = {"n_restarts": 4, "n_neurons": 12}
_RBF = {"centres": 12, "mu_min": 1e-4}
_GRID = {"centres": 8, "mu_min": 1e-3, "rs": [6.0], "ts": [0.05, 0.5], "cv": 2}
_GRAFT = {"l1": 0.02, "l0": 1e-4}
_L1S = {"n_l1s": 6, "cv": 3}
_MLP = {"max_connections": 5, "max_iter": 60, "tol": 1e-4}
_MLPS = {**_MLP, "l1s": [1e-3], "cv": 3, "patience": 2}
QUICK = {
    "AutoSelectorClassifier": {"time_budget": 0.01},
    "AutoSelectorRegressor": {"time_budget": 0.01},
    "ELMFSClassifier": _ELM,
    "ELMFSRegressor": _ELM,
    "GraftingClassifier": _GRAFT,
    "GraftingClassifierCV": _L1S,
    "GraftingCox": _GRAFT,
    "GraftingCoxCV": _L1S,
    "GraftingRegressor": _GRAFT,
    "GraftingRegressorCV": _L1S,
    "LSSVMForwardRegressor": {"gamma": [10.0, 100.0], "sigma2": [3.0, 30.0]},
    "MLPGraftingClassifier": _MLP,
    "MLPGraftingClassifierCV": _MLPS,
    "MLPGraftingRegressor": _MLP,
    "MLPGraftingRegressorCV": _MLPS,
    "SparseRBFClassifier": {**_RBF, "r": 4.0, "t": 0.05},
    "SparseRBFClassifierCV": _GRID,
    "SparseRBFRegressor": {**_RBF, "r": 4.0, "t": 0.05},
    "SparseRBFRegressorCV": _GRID,
}

rng = np.random.default_rng(7)
X = rng.standard_normal((48, 6))
NUMBERS = 2 * X[:, 0] - 1.5 * X[:, 2] + X[:, 4] * X[:, 0] + 0.3 * rng.standard_normal(48)
LABELS = np.where(np.median(NUMBERS) < NUMBERS, "yes", "no")
TIMES = np.column_stack([np.exp(-NUMBERS / 2), np.arange(48) % 4 > 0])
NEW = rng.standard_normal((9, 6))


def make(name, **more):
    """The selector with quick parameters, and with a fixed seed if it draws."""
    seed = {"random_state": 0} if takes(name, "random_state") else {}
    return SELECTORS[name](**{**seed, **QUICK.get(name, {}), **more})


def takes(name, parameter):
    """Whether the constructor has the parameter."""
    return parameter in inspect.signature(SELECTORS[name]).parameters


def fit_takes(name, parameter):
    """Whether ``fit`` has the parameter."""
    return parameter in inspect.signature(SELECTORS[name].fit).parameters


def target(name):
    """A target that suits the selector."""
    if "Cox" in name:
        return TIMES
    return LABELS if is_classifier(SELECTORS[name]()) else NUMBERS


def answers(model, rows=NEW):
    """What a fitted selector makes of samples: scores, predictions, or the columns it takes."""
    for method in ("decision_function", "predict"):
        if hasattr(model, method):
            return getattr(model, method)(rows)
    rows = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    return rows[:, model.get_support(indices=True)]


def plain(path, digits=12):
    """Subsets and errors of a path; the last digits of a convex solver may move."""
    each = [(step.error, step.train_error) for step in path.steps]
    return path.subsets, [tuple(f"{value:.{digits}g}" for value in pair) for pair in each]
