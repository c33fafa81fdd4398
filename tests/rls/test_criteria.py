"""Criteria say what they can; one of the user's own is scored as itself, in every form."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import KFold

from problems import make
from rls.comparing import (
    FORMS,
    OTHERS,
    check_forward,
    design_of,
    judge_of,
    search,
    subsets,
    weights_of,
)
from slow_twins import rls
from sparsepath import InputError, SelectionPath, SparseRankRLS, SparseRLSClassifier
from sparsepath import SparseRLSRegressor as Regressor
from sparsepath.errors import FileError
from sparsepath.methods import METHODS, OPTIONS
from sparsepath.methods.method import OF_COUNTS, OF_MARGINS
from sparsepath.rls import Huber, LogCosh, ResidualLoss, rls_state
from sparsepath.rls.criteria.losses import Criterion, Loss
from sparsepath.rls.criteria.residuals import Squared
from sparsepath.rls.criteria.table import CLASSES, NUMBERS, QUERIES


class Quartic(ResidualLoss):
    """The fourth power, less a little so that it is nobody else's."""

    name = "quartic"

    def of(self, e):
        return e**4 + 0.01 * np.abs(e)


def refit(X, Y, alpha, subset, of):
    """The mean of a loss over refits without each sample, by hand."""
    F = rls.loo_predictions(X[:, subset], Y, alpha, True, None)
    each = of(Y - F).sum(1)
    return each.mean(), each.std(ddof=1) / np.sqrt(len(each))


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("form", ["auto", "memory", "passes"])
def test_a_loss_of_ones_own_is_never_scored_as_another(form, n_targets):
    case = make("tall", m=25, n=7, T=n_targets, alpha=0.3, seed=4)
    design = design_of(case.X, None, "three")
    trail = search(design, case.Y, case.alpha, 4, loss=Quartic(), form=form)
    chosen = []
    for size in range(1, 5):
        errors = {
            i: refit(case.X, case.Y, case.alpha, [*chosen, i], Quartic().of)[0]
            for i in range(7)
            if i not in chosen
        }
        chosen.append(min(errors, key=errors.get))
        step = trail.steps[size]
        assert step.subset == tuple(chosen)
        expected = refit(case.X, case.Y, case.alpha, chosen, Quartic().of)
        assert_allclose((step.error, step.error_se), expected, rtol=1e-9)


def test_a_line_of_the_table_makes_a_loss_known_by_its_name(monkeypatch):
    for known in (NUMBERS, CLASSES):
        monkeypatch.setitem(known, "quartic", Quartic())
    case = make("tall", m=25, n=7, alpha=0.3, seed=4)
    given = {"alpha": 0.3, "standardize": False, "validation": None}
    for cv in ("loo", 5):
        path = Regressor(3, loss="quartic", cv=cv, **given).fit(case.X, case.Y[:, 0]).path_
        same = Regressor(3, loss=Quartic(), cv=cv, **given).fit(case.X, case.Y[:, 0]).path_
        assert path.subsets == same.subsets
        assert path.errors.tolist() == same.errors.tolist()
        if cv == "loo":
            expected = refit(case.X, case.Y, 0.3, list(path.subset(2)), Quartic().of)[0]
            assert_allclose(path.error(2), expected, rtol=1e-9)
    classes = SparseRLSClassifier(3, loss="quartic", validation=None)
    assert "quartic" in classes.fit(case.X, case.Y[:, 0] > 0).path_.criterion


@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("loss", OTHERS)
def test_compiled_loops_do_not_mistake_a_loss_for_another(loss, n_targets, monkeypatch):
    case = make("tall", m=40, n=8, T=n_targets, alpha=0.3, seed=1, weighted=True)
    if CLASSES[loss].coded:
        case = make("tall", m=40, n=8, T=n_targets, alpha=0.3, seed=1, classification=True)
    for how in ("forward", "floating", "swap"):
        given = case.Y, case.alpha, 4
        trail = search(design_of(case.X, case.sw), *given, loss=loss, search=how)
        plain = search(design_of(case.X, case.sw), *given, loss=loss, search=how, form="passes")
        assert trail.form.startswith("memory")
        made = [[(m.action, m.feature) for m in of.moves] for of in (trail, plain)]
        assert made[0] == made[1]
        for step in trail.steps.values():
            expected = judge_of(case, loss).score(step.subset)
            assert_allclose((step.error, step.error_se), expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("loss", ["huber", "log_cosh"])
@pytest.mark.parametrize("pooled", [False, True])
def test_weights_and_splits_against_refits(loss, pooled):
    case = make("tall", m=30, n=6, alpha=0.3, seed=2, weighted=True)
    splits = list(KFold(5).split(case.X))
    judge = judge_of(case, loss, error=rls.kfold_error(splits, pooled))
    design = design_of(case.X, weights_of(case))
    check_forward(search(design, case.Y, 0.3, 4, loss=loss, splits=splits, pooled=pooled), judge, 4)


def test_parameters_of_a_loss_count():
    case = make("tall", m=30, n=6, seed=2)
    X, y = case.X, 10 * case.Y[:, 0]
    near_squared = Regressor(4, loss=Huber(1e6)).fit(X, y).path_
    squared = Regressor(4).fit(X, y).path_
    assert near_squared.subsets == squared.subsets
    assert_allclose(near_squared.errors, np.array(squared.errors) / 2, rtol=1e-9)
    sharp = Regressor(4, loss=LogCosh(1e-4)).fit(X, y).path_
    absolute = Regressor(4, loss="absolute").fit(X, y).path_
    assert_allclose(np.array(sharp.errors) / 1e-4, absolute.errors, rtol=1e-3)
    assert near_squared.criterion == "leave-one-out Huber error (delta 1e+06)"
    for bad in (0, -1, np.inf, "1", True):
        with pytest.raises(InputError, match="above zero"):
            Huber(bad)


def test_a_loss_goes_through_estimators_files_and_states(tmp_path):
    case = make("tall", m=30, n=5, seed=3)
    model = Regressor(3, alpha=1.0, loss=Huber(0.5), validation=5)
    again = clone(model).fit(case.X, case.Y[:, 0])
    path = SelectionPath.load(again.path_.save(tmp_path / "path.json") or tmp_path / "path.json")
    assert path.parameters["loss"] == "huber(delta=0.5)"
    assert again.honest_.measure == "Huber error (delta 0.5)"
    with rls_state(case.X, case.Y, loss=Huber(0.5)) as state:
        state.add(state.best_addition().feature)
        assert state.error == pytest.approx(again.path_.error(1), rel=1e-12)


def test_a_checkpoint_knows_the_parameters_of_a_loss(tmp_path):
    case = make("tall", m=30, n=5, seed=3)
    file, y = tmp_path / "moves.json", case.Y[:, 0]
    first = Regressor(3, loss=Huber(0.5), checkpoint=file).fit(case.X, y)
    again = Regressor(3, loss=Huber(0.5), checkpoint=file).fit(case.X, y)
    assert again.path_.errors.tolist() == first.path_.errors.tolist()
    assert json.loads(file.read_text())["moves"]
    with pytest.raises(FileError, match="other data or parameters"):
        Regressor(3, loss=Huber(0.6), checkpoint=file).fit(case.X, y)


class Nameless(ResidualLoss):
    def of(self, e):
        return e * e


class OneNumber(ResidualLoss):
    name = "one-number"

    def of(self, e):
        return np.mean(e)


class Logarithm(ResidualLoss):
    name = "logarithm"

    def of(self, e):
        with np.errstate(divide="ignore"):
            return np.log(np.abs(e))


class Halved(Squared):
    """It claims the bounds of the squared loss, and has them not."""

    name = "halved"

    def of(self, e):
        return 0.5 * e**2


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (
            "hubert",
            "use one of squared, absolute, huber, log_cosh, poisson, gamma, tweedie, or",
        ),
        (Huber, "use one of squared"),
        (np.square, "use one of squared"),
        (Nameless(), "Nameless lacks a name"),
        (OneNumber(), r"OneNumber lacks a cost for each residual: of\(\) made shape \(\)"),
        (Logarithm(), "Logarithm lacks finite costs"),
        (Halved(), "Halved lacks bounds and sums of its own"),
        (CLASSES["zero_one"], "ZeroOne lacks support for regression"),
        (CLASSES["auc"], "AUC lacks support for this model"),
    ],
    ids=str,
)
def test_what_a_loss_lacks_is_named(loss, said):
    case = make("tall", m=20, n=4)
    with pytest.raises(InputError, match=said):
        Regressor(2, loss=loss).fit(case.X, case.Y[:, 0])


def test_a_ranking_takes_pairs_only():
    case = make("tall", m=20, n=4)
    with pytest.raises(
        InputError, match="Huber lacks support for this model, whose criteria are squared"
    ):
        SparseRankRLS(2, loss=Huber()).fit(case.X, case.Y[:, 0])


def test_classes_take_losses_of_residuals():
    case = make("tall", m=30, n=5, seed=3)
    labels = np.array(["a", "b", "c"])[np.arange(30) % 3]
    path = SparseRLSClassifier(2, loss=Quartic(), standardize=False).fit(case.X, labels).path_
    Y = np.where(labels[:, None] == np.array(["a", "b", "c"]), 1.0, -1.0)
    expected = refit(case.X, Y, 1.0, list(path.subset(2)), Quartic().of)[0]
    assert path.error(2) == pytest.approx(expected, rel=1e-9)


def test_every_criterion_says_what_it_can():
    assert {name for name in CLASSES if CLASSES[name].bounded} == {"squared"}
    assert all(CLASSES[name].kernel is not None for name in FORMS)
    assert set(FORMS) == {name for name, loss in CLASSES.items() if isinstance(loss, Loss)}
    for table in (NUMBERS, CLASSES, QUERIES):
        assert all(isinstance(criterion, Criterion) for criterion in table.values())
        assert all(criterion.name == name for name, criterion in table.items())


def test_the_command_line_has_the_same_losses():
    def typed(table):
        return {name.replace("_", "-") for name in table}

    more = {*OF_COUNTS, *OF_MARGINS}
    assert set(OPTIONS["loss"].values) == typed({**CLASSES, **QUERIES}) | more
    told = METHODS["greedy-rls"].losses
    assert {task: set(names) for task, names in told.items()} == {
        "regression": typed(NUMBERS) | set(OF_COUNTS),
        "classification": typed(CLASSES),
    }


def test_three_forms_agree_with_each_other_for_all_losses():
    case = make("wide", m=14, n=20, seed=6, classification=True)
    for loss, forms in FORMS.items():
        trails = [search(design_of(case.X), case.Y, 1.0, 4, loss=loss, form=f) for f in forms]
        assert all(subsets(trail) == subsets(trails[0]) for trail in trails)
