"""What is measured in the grafting experiments: one algorithm on one instance."""

import time
import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold

from grafting_problems import TABLE2, instance
from grafting_rivals import fit_rival
from sparsepath import GraftingClassifier, MLPGraftingClassifier
from sparsepath.baselines import saliency

# The paper looks at one connection at a time, and judges nothing by cross-validation.
AS_PRINTED = {"look_ahead": 1, "n_threads": 1, "validation": None}


def fit_graft(letter, name, X, y):
    """(predictor, selected columns) of (a) or (b), by the parameters of Table 2."""
    linear, mlp, *_ = TABLE2[name]
    if letter == "a":
        model = GraftingClassifier(l1=linear[0], l0=linear[1], n_threads=1, validation=None).fit(
            X, y
        )
    else:
        model = MLPGraftingClassifier(l1=mlp[0], l0=mlp[1], **AS_PRINTED).fit(X, y)
    return model.predict, model.selected_


def one(letter, name, seed):
    """Test error, features, saliency and CPU seconds of one algorithm on one instance."""
    warnings.simplefilter("ignore")
    X, y, U, t, problem = instance(name, seed)
    begun = time.process_time()
    predict, selected = (fit_graft if letter in "ab" else fit_rival)(letter, name, X, y)
    seconds = time.process_time() - begun
    size = np.nan if selected is None else len(selected)
    salient = np.nan if problem is None or selected is None else saliency(selected, problem)
    return float(np.mean(predict(U) != t)), size, salient, seconds


L1S = {"a": np.geomspace(1e-4, 0.3, 8), "b": np.geomspace(1e-6, 0.1, 6)}
L0S = {"a": (1e-4, 1e-3, 5e-3, 2e-2), "b": (1e-3, 5e-3, 2e-2)}


def found_penalties(letter, name, folds=5):
    """l1 and l0 of a graft by the error rate of five folds of the first training set.

    Returned with that error rate, and with the one of the penalties of Table 2.
    """
    warnings.simplefilter("ignore")
    X, y, *_ = instance(name, 0)
    printed = TABLE2[name][0 if letter == "a" else 1]
    parts = list(StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y))

    def error(l1, l0):
        wrong = []
        for train, test in parts:
            if letter == "a":
                model = GraftingClassifier(l1=l1, l0=l0, n_threads=1, validation=None)
            else:
                model = MLPGraftingClassifier(l1=l1, l0=l0, max_connections=40, **AS_PRINTED)
            wrong.append(np.mean(model.fit(X[train], y[train]).predict(X[test]) != y[test]))
        return float(np.mean(wrong))

    errors = {(l1, l0): error(l1, l0) for l1 in L1S[letter] for l0 in L0S[letter]}
    best = min(errors, key=errors.get)
    return [*map(float, best), errors[best], error(*printed)]


def smaller_l1_on_c(kind, l1, count):
    """Mean error, features and saliency of a graft on C."""
    if kind == "linear":
        model = GraftingClassifier(l1=l1, l0=0.001, n_threads=1, validation=None)
    else:
        model = MLPGraftingClassifier(l1=l1, l0=0.001, max_connections=30, **AS_PRINTED)
    lines = []
    for seed in range(count):
        X, y, U, t, problem = instance("C", seed)
        model.fit(X, y)
        error_rate = np.mean(model.predict(U) != t)
        lines.append((error_rate, len(model.selected_), saliency(model.selected_, problem)))
    return np.mean(lines, axis=0).tolist()
