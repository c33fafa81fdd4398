"""Every public selector that predicts has honest errors, and chooses by them."""

import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.model_selection import KFold

from contract.every import LABELS, NAMES, NUMBERS, SELECTORS, X, make, takes
from sparsepath import InputError, MutualInfoSelector, PathWarning, SelectionPath

FOLDS = KFold(3, shuffle=True, random_state=1)
PREDICTORS = [name for name in NAMES if hasattr(SELECTORS[name], "predict")]


def target(name):
    return LABELS if is_classifier(SELECTORS[name]()) else NUMBERS


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)
        yield


@pytest.mark.parametrize("name", PREDICTORS)
def test_honest_errors_are_those_of_an_outer_loop(name):
    y = target(name)
    model = make(name, validation=FOLDS).fit(X, y)
    path, losses = model.path_, {}
    for train, test in FOLDS.split(X):
        part = make(name, validation=None).fit(X[train], y[train])
        for size in path.sizes:
            known = max((k for k in part.path_.sizes if k <= size), default=part.path_.sizes[0])
            judged = part.at_size(known)
            losses.setdefault(size, []).append(_losses(judged, name, X[test], y[test]))
    expected = [np.concatenate(losses[size]).mean() for size in path.sizes]
    np.testing.assert_allclose(path.honest_errors, expected, rtol=1e-7)
    assert path.validation == "3-fold"
    assert model.honest_.size == len(model.selected_)
    assert model.honest_.interval[0] <= model.honest_.error <= model.honest_.interval[1]
    assert SelectionPath.from_dict(path.to_dict()) == path
    other = model.at_size(path.sizes[0])
    assert other.honest_.error == pytest.approx(path.honest_error(path.sizes[0]))


def _losses(model, name, X, y):
    """By what the path is judged, written out."""
    usual = "zero_one" if is_classifier(model) else "squared"
    stick = getattr(model, "_yardstick", usual)
    if stick == "ranking":
        off = y - model.predict(X)
        return (off - off.mean()) ** 2 * len(y) / (len(y) - 1)
    if not is_classifier(model):
        return (y - model.predict(X)) ** 2
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    if stick == "zero_one":
        return (model.predict(X) != y).astype(float)
    scores = model.decision_function(X)
    return (sign - scores) ** 2 if stick == "squared" else np.log1p(np.exp(-sign * scores))


@pytest.mark.parametrize("name", PREDICTORS)
def test_without_validation_there_is_no_honest_error(name):
    model = make(name, validation=None).fit(X, target(name))
    assert model.honest_ is None
    assert not model.path_.is_validated
    assert np.isnan(model.path_.honest_errors).all()
    assert "the search itself minimised" in model.path_.chosen_by


@pytest.mark.validated
@pytest.mark.parametrize("name", PREDICTORS)
def test_by_default(name):
    model = make(name).fit(X, target(name))
    folds = model._n_folds
    assert model.path_.validation == f"{folds}-fold"
    assert model.honest_.size == len(model.selected_)


def test_every_predictor_takes_it():
    assert all(takes(name, "validation") for name in PREDICTORS)


def test_a_selector_that_predicts_nothing():
    assert MutualInfoSelector(2).fit(X, NUMBERS).honest_ is None
    with pytest.raises(InputError, match="predicts nothing"):
        MutualInfoSelector(2, validation=3).fit(X, NUMBERS)
