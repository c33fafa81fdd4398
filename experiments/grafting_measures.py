"""What is measured in the grafting experiments: one algorithm on one instance."""

import time
import warnings
from functools import cache

import numpy as np

from grafting_problems import TABLE2, instance, saliency
from grafting_rivals import fit_rival
from sparsepath import GraftingClassifier, MLPGraftingClassifier

# The paper looks at one connection at a time, and judges nothing by cross-validation.
AS_PRINTED = {"look_ahead": 1, "n_threads": 1, "validation": None}


@cache
def warm_up():
    """Load what is compiled, once per process, so that no seconds count it."""
    GraftingClassifier(l1=0.1, l0=0.001, n_threads=1).fit(np.eye(4), [0, 1, 0, 1])


def fit_graft(letter, name, X, y):
    """(predictor, selected columns) of (a) or (b), by the parameters of Table 2."""
    linear, mlp, *_ = TABLE2[name]
    if letter == "a":
        model = GraftingClassifier(l1=linear[0], l0=linear[1], n_threads=1).fit(X, y)
    else:
        model = MLPGraftingClassifier(l1=mlp[0], l0=mlp[1], **AS_PRINTED).fit(X, y)
    return model.predict, model.selected_


def one(letter, name, seed):
    """Test error, features, saliency and CPU seconds of one algorithm on one instance."""
    warnings.simplefilter("ignore")
    if letter in "ab":
        warm_up()
    X, y, U, t, problem = instance(name, seed)
    begun = time.process_time()
    predict, selected = (fit_graft if letter in "ab" else fit_rival)(letter, name, X, y)
    seconds = time.process_time() - begun
    size = np.nan if selected is None else len(selected)
    salient = np.nan if problem is None else saliency(selected, problem)
    return float(np.mean(predict(U) != t)), size, salient, seconds


def smaller_l1_on_c(kind, l1, count):
    """Mean error, features and saliency of a graft on C."""
    if kind == "linear":
        model = GraftingClassifier(l1=l1, l0=0.001, n_threads=1)
    else:
        model = MLPGraftingClassifier(l1=l1, l0=0.001, max_connections=30, **AS_PRINTED)
    lines = []
    for seed in range(count):
        X, y, U, t, problem = instance("C", seed)
        model.fit(X, y)
        error_rate = np.mean(model.predict(U) != t)
        lines.append((error_rate, len(model.selected_), saliency(model.selected_, problem)))
    return np.mean(lines, axis=0).tolist()
