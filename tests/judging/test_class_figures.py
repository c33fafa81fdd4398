"""Error rate and AUC on samples left out, against plain refits."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold

from sparsepath import GraftingClassifier, SparseRLSClassifier, SparseRLSRegressor
from sparsepath.judging.honest import honest_error

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
SCORE = X[:, 0] - X[:, 1] + 0.7 * RNG.standard_normal(60)
W = RNG.choice([0.0, 1.0, 3.0], 60)


@pytest.mark.parametrize("kind", [SparseRLSClassifier, GraftingClassifier])
@pytest.mark.parametrize("weights", [None, W])
@pytest.mark.parametrize("cuts", [[0.3], [-0.5, 0.8]])
def test_figures_are_those_of_refits(kind, weights, cuts):
    y = np.array(["low", "mid", "top"])[np.digitize(SCORE, cuts)]
    options = {"loss": "squared"} if kind is SparseRLSClassifier else {"l1": 0.02}
    model = kind(**options, validation=None)
    given = {} if weights is None else {"sample_weight": weights}
    folds = KFold(4)
    found = honest_error(model, X, y, validation=folds, choose=2, **given)
    wrong, areas = np.zeros(60), []
    w = np.ones(60) if weights is None else weights
    for train, test in folds.split(X):
        more = {} if weights is None else {"sample_weight": weights[train]}
        part = clone(model).fit(X[train], y[train], **more)
        part = part.at_size(max(k for k in part.path_.sizes if k <= 2))
        wrong[test] = part.predict(X[test]) != y[test]
        if len(cuts) == 1:
            area = roc_auc_score(y[test] == part.classes_[1], part.decision_function(X[test]))
            areas.append((area, w[test].sum()))
    expected = {"error_rate": np.average(wrong, weights=w)}
    if areas:
        expected["auc"] = np.average(*np.transpose(areas)[:1], weights=np.transpose(areas)[1])
    assert found.chosen.figures == pytest.approx(expected)
    assert 0 < expected["error_rate"] < 1


def test_numbers_have_none():
    model = SparseRLSRegressor(validation=3).fit(X, SCORE)
    assert model.honest_.figures == {}
    assert SparseRLSClassifier(validation=3).fit(X, SCORE > 0).honest_.figures.keys() == {
        "error_rate",
        "auc",
    }
