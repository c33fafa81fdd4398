"""Every public selector that predicts has honest errors, and chooses by them."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold, KFold

from contract.every import LABELS, NAMES, NUMBERS, SELECTORS, X, make, takes, target
from slow_twins import judging as slow
from sparsepath import (
    InputError,
    MutualInfoSelector,
    PathWarning,
    SelectionPath,
    SparseKernelRLSClassifier,
    SparseKernelRLSRegressor,
    SparseRLSRegressor,
    TableSelector,
    compare,
    honest_error,
    stability,
)
from sparsepath.assessment.calibration import FLATTEST, STEEPEST

FOLDS = KFold(3, shuffle=True, random_state=1)
GROUPS = np.arange(48) * 7 % 12  # of four
PREDICTORS = [name for name in NAMES if hasattr(SELECTORS[name], "predict")]
# The losses of a selector that chooses a method are those of that method: test_auto_selector.py.
OF_ONE_METHOD = [
    name for name in PREDICTORS if not getattr(SELECTORS[name], "_chooses_method", False)
]


def of_one_penalty(name, **more):
    """The selector with a penalty that does not depend on the validation."""
    fixed: dict = {"alpha": 1.0} if name.startswith("SparseRLS") else {}
    if name == "TableSelector":
        fixed = {"selector": SparseRLSRegressor(alpha=1.0)}
    return make(name, **more, **fixed)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)
        yield


@pytest.mark.parametrize("name", OF_ONE_METHOD)
def test_honest_errors_are_those_of_an_outer_loop(name):
    y = target(name)
    model = of_one_penalty(name, validation=FOLDS).fit(X, y)
    path = model.path_
    expected = outer_loop(of_one_penalty(name, validation=None), model, y, FOLDS.split(X))
    np.testing.assert_allclose(path.honest_errors, expected, rtol=1e-7)
    assert path.validation == "3-fold"
    assert model.honest_.size == len(model.selected_)
    assert model.honest_.interval[0] <= model.honest_.error <= model.honest_.interval[1]
    assert SelectionPath.from_dict(path.to_dict()) == path
    other = model.at_size(path.sizes[0])
    assert other.honest_.error == pytest.approx(path.honest_error(path.sizes[0]))


def outer_loop(model, whole, y, splits, groups=None):
    """Mean losses of what was left out, by size: fits to the other samples, one after another.

    Where the method itself says with which size it ends, it is judged there by what it ends with.
    Decisions are judged by probabilities, whose calibration is learnt on the other parts.
    """
    sizes, own = whole.path_.sizes, None if hasattr(model, "choose") else len(whole.selected_)
    losses = {size: [] for size in sizes}
    scores = {size: np.zeros(len(y)) for size in sizes}
    splits = list(splits)
    for train, test in splits:
        given = {} if groups is None else {"groups": groups[train]}
        part = clone(model).fit(X[train], y[train], **given)
        for size in sizes:
            known = max((k for k in part.path_.sizes if k <= size), default=part.path_.sizes[0])
            judged = part if size == own else part.at_size(known)
            losses[size].append(_losses(judged, X[test], y[test]))
            if hasattr(judged, "decision_function"):
                scores[size][test] = judged.decision_function(X[test])
    if getattr(whole, "_metric", None) == "zero_one":
        codes, parts = np.unique(y, return_inverse=True)[1], [test for _, test in splits]
        for size, of in scores.items():
            both = np.column_stack([0 * of, of]).tolist()
            given = codes.tolist(), [1.0] * len(y), parts, 2
            p = slow.decided(both, *given, (FLATTEST, STEEPEST))
            losses[size] = [p.argmax(1) != codes]
    return [np.concatenate(losses[size]).mean() for size in sizes]


@pytest.mark.parametrize("name", OF_ONE_METHOD)
def test_groups_are_left_out_whole(name):
    """Those of ``fit`` are for the validation, and for the search's own splits if it has any."""
    if name == "SparseRankRLS":
        pytest.skip("its groups are queries, within which samples are compared")
    y = target(name)
    model = of_one_penalty(name, validation=3).fit(X, y, groups=GROUPS)
    assert model.path_.validation == "3-fold by groups"
    splits = GroupKFold(3).split(X, y, GROUPS)
    expected = outer_loop(of_one_penalty(name, validation=None), model, y, splits, GROUPS)
    np.testing.assert_allclose(model.path_.honest_errors, expected, rtol=1e-6)
    assert of_one_penalty(name, validation=GroupKFold(3)).fit(X, y, groups=GROUPS).honest_.size >= 0


OWN = [name for name in PREDICTORS if not takes(name, "choose")]


@pytest.mark.parametrize("name", OWN)
def test_a_method_that_settles_on_a_size_is_judged_by_what_it_ends_with(name):
    """scikit-learn's cross-validation of the estimator itself, whatever sizes its parts end with.

    Their models of the same size, on the way to larger ones, are no answers of the method.
    """
    y = target(name)
    told, scores = honest_error(make(name), X, y, validation=FOLDS), []
    assert told.left_out.own == told.chosen.size
    for train, test in FOLDS.split(X):
        scores.append(
            _losses(make(name, validation=None).fit(X[train], y[train]), X[test], y[test])
        )
    expected = np.concatenate(scores).mean()
    assert told.chosen.error == pytest.approx(expected, rel=1e-7)
    assert make(name, validation=FOLDS).fit(X, y).honest_.error == pytest.approx(expected, rel=1e-7)
    table = TableSelector(make(name), validation=FOLDS).fit(X, y)
    assert table.honest_.error == pytest.approx(expected, rel=1e-6)
    [one] = compare({"it": make(name)}, X, y, validation=FOLDS).contestants
    if not is_classifier(make(name)):  # which are compared by their error rates
        assert one.chosen.error == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("maker", [SparseKernelRLSRegressor, SparseKernelRLSClassifier])
@pytest.mark.parametrize("alpha", [0.01, [0.01, 1.0]])
def test_kernel_models_choose_centres_and_width_without_what_is_left_out(maker, alpha):
    y = LABELS if is_classifier(maker()) else NUMBERS
    plain = maker(6, alpha=alpha, validation=None, choose="min")
    model = maker(6, alpha=alpha, validation=FOLDS).fit(X, y)
    path = model.path_
    expected = outer_loop(plain, model, y, FOLDS.split(X))
    np.testing.assert_allclose(path.honest_errors, expected, rtol=1e-9)
    assert model.honest_.size == len(model.centres_)
    assert model.at_size(2).honest_.error == pytest.approx(path.honest_error(2))
    assert plain.fit(X, y).honest_ is None
    with pytest.raises(InputError, match="selects samples"):
        stability(model, X, y, 4)


def _losses(model, X, y):
    """By what the path is judged, written out."""
    usual = "zero_one" if is_classifier(model) else "squared"
    scoring = getattr(model, "_metric", usual)
    if scoring == "concordance":
        return np.full(len(y), discordance(y[:, 0], y[:, 1], model.predict(X)))
    if scoring == "ranking":
        off = y - model.predict(X)
        return (off - off.mean()) ** 2 * len(y) / (len(y) - 1)
    if not is_classifier(model):
        return (y - model.predict(X)) ** 2
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    if scoring == "zero_one":
        return (model.predict(X) != y).astype(float)
    scores = model.decision_function(X)
    return (sign - scores) ** 2 if scoring == "squared" else np.log1p(np.exp(-sign * scores))


def discordance(time, event, risk):
    """Pair by pair: the shorter time must be that of an event, and have the higher risk."""
    wrong = [
        0.5 if risk[i] == risk[j] else float(risk[i] < risk[j])
        for i, j in itertools.permutations(range(len(time)), 2)
        if event[i] and (time[i] < time[j] or (time[i] == time[j] and not event[j]))
    ]
    return np.mean(wrong)


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
    repeats = model.honest_.repeats
    times = f", {repeats} times" if repeats > 1 else ""
    assert model.path_.validation == f"{folds}-fold{times}"
    assert model.honest_.size == len(model.selected_)


def test_every_predictor_takes_it():
    assert all(takes(name, "validation") for name in PREDICTORS)


def test_a_selector_that_predicts_nothing():
    assert MutualInfoSelector(2).fit(X, NUMBERS).honest_ is None
    with pytest.raises(InputError, match="no predictions"):
        MutualInfoSelector(2, validation=3).fit(X, NUMBERS)
