"""``rls_state``: labels, names, wrong arguments, and the path of a search of one's own."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import ShuffleSplit

from slow_twins import rls as twin
from sparsepath import InputError, SparseRLSClassifier, SparseRLSRegressor, rls_state
from sparsepath.rls import Update

COUNTING = ("zero_one", "balanced", "auc")


def problem(seed=0, m=30, n=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    score = X[:, 1] - X[:, 3] + 0.8 * rng.standard_normal(m)
    return X, score


@pytest.mark.parametrize("loss", COUNTING)
@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), ("no", "yes"), (False, True), (3, 7)])
def test_two_labels_of_any_kind(loss, labels):
    X, score = problem()
    y = np.array(labels)[(score > 0.5).astype(int)]
    error = twin.auc_leave_pair_out if loss == "auc" else twin.loo_error
    signs = np.where(score > 0.5, 1.0, -1.0)[:, None]
    with rls_state(X, y, loss=loss, standardize=False) as state:
        assert state.error == pytest.approx(error(X[:, []], signs, 1.0, loss=loss)[0])
        for _ in range(3):
            update = state.best_addition()
            state.add(update.feature)
            value, se = error(X[:, state.chosen], signs, 1.0, loss=loss)
            assert update.error == pytest.approx(value)
            assert (state.error, state.standard_error()) == pytest.approx((value, se))
        chosen = tuple(state.chosen)
        coef, _ = twin.ridge(X[:, state.chosen], signs, 1.0)
        assert_allclose(state.coef(), coef)
    model = SparseRLSClassifier(3, loss=loss, choose=3, standardize=False).fit(X, y)
    assert model.path_.subset(3) == chosen


def test_several_classes_have_a_target_each():
    X, score = problem()
    y = np.digitize(score, [-0.7, 0.7])
    with rls_state(X, y, loss="balanced") as state:
        state.add(1)
        assert state.coef().shape == (1, 3)
        expected = SparseRLSClassifier(1, loss="balanced", choose=1, forced=[1]).fit(X, y)
        assert state.error == pytest.approx(expected.path_.error(1))


@pytest.mark.parametrize("loss", COUNTING)
def test_what_cannot_be_counted_is_refused(loss):
    X, score = problem()
    for y, message in [
        (np.zeros(30), "y has 1"),
        (np.column_stack([score > 0, score < 0]), "one class label for each sample"),
    ]:
        with pytest.raises(InputError, match=message), rls_state(X, y, loss=loss):
            pass
    with pytest.raises(ValueError, match="continuous"), rls_state(X, score, loss=loss):
        pass


def test_auc_is_for_two_classes():
    X, score = problem()
    three = np.digitize(score, [-0.7, 0.7])
    with pytest.raises(InputError, match="two classes; y has 3"), rls_state(X, three, loss="auc"):
        pass


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"loss": "disagreement"}, "loss='disagreement'; use one of squared, .*auc"),
        ({"alpha": -1.0}, "alpha=-1.0"),
        ({"alpha": -1.0, "loss": "auc"}, "alpha=-1.0"),
        ({"alpha": np.nan}, "alpha=nan"),
    ],
)
def test_wrong_parameters_are_refused(given, message):
    X, score = problem()
    with pytest.raises(InputError, match=message), rls_state(X, score > 0, **given):
        pass


@pytest.mark.parametrize("loss", ["squared", "auc"])
def test_wrong_features_are_refused(loss):
    X, score = problem()
    y = score if loss == "squared" else score > 0
    with rls_state(pd.DataFrame(X, columns=list("abcde")), y, loss=loss) as state:
        with pytest.raises(InputError, match="there is no column 99; X has columns 0 to 4"):
            state.best_addition(features=[0, 99])
        with pytest.raises(InputError, match="there is no column 5"):
            state.add(5)
        with pytest.raises(InputError, match="no column 'bb'; did you mean 'b'"):
            state.best_addition(features=["bb"])
        with pytest.raises(InputError, match="neither the name nor the index"):
            state.add(1.5)
        with pytest.raises(InputError, match="action='move'"):
            state.find_best_update("move")
        with pytest.raises(InputError, match="action='swap'"):
            state.apply_update(Update("swap", 1))
        with pytest.raises(InputError, match="not selected"):
            state.drop(2)
        state.add(-1)  # the last column, as everywhere
        assert state.chosen == [4]
        with pytest.raises(InputError, match="already selected"):
            state.add("e")
        assert state.best_addition(features=["a", "d"]).feature in (0, 3)
        state.drop("e")
        assert state.chosen == []


@pytest.mark.parametrize("loss", ["squared", "absolute", "zero_one", "auc"])
def test_splits_judge_a_state_too(loss):
    X, score = problem(5, m=40)
    y = score if loss in ("squared", "absolute") else score > 0
    estimator = SparseRLSRegressor if loss in ("squared", "absolute") else SparseRLSClassifier
    groups = np.arange(40) // 2
    for cv, grouped in [
        (4, None),
        (ShuffleSplit(3, test_size=0.3, random_state=0), None),
        (4, groups),
    ]:
        given = {} if grouped is None else {"groups": grouped}
        options = {"loss": loss, "cv": cv}
        model = estimator(3, choose=3, validation=None, **options).fit(X, y, **given)
        with rls_state(X, y, **options, **given) as state:
            for _ in range(3):
                state.add(state.best_addition().feature)
            path = state.path()
        assert path.subsets == model.path_.subsets
        assert_allclose(path.errors, model.path_.errors)
        assert path.criterion == model.path_.criterion


@pytest.mark.parametrize("loss", ["squared", "zero_one", "auc"])
def test_a_search_of_ones_own_gives_a_path(loss):
    X, score = problem(3, n=7)
    y = score if loss == "squared" else score > 0
    table = pd.DataFrame(X, columns=[f"f{i}" for i in range(7)])
    estimator = SparseRLSRegressor if loss == "squared" else SparseRLSClassifier
    model = estimator(4, loss=loss, choose=4).fit(table, y)
    with rls_state(table, y, loss=loss) as state:
        before = state.path()
        assert before.sizes == (0,)
        for _ in range(4):
            state.add(state.best_addition().feature)
        trial = state.duplicate()
        trial.drop(trial.chosen[0])
        path = state.path()
        assert len(trial.path().moves) == len(path.moves) + 1
    assert path.subsets == model.path_.subsets
    assert_allclose(path.errors, model.path_.errors)
    assert_allclose(path.errors_se, model.path_.errors_se)
    assert path.criterion == model.path_.criterion
    assert path.names(2) == model.path_.names(2)
    assert_allclose(path.step(3).coef, model.path_.step(3).coef)


def test_former_names_work_and_name_their_successors():
    X, score = problem()
    with rls_state(X, score) as state:
        with pytest.warns(FutureWarning, match="now best_addition and best_removal"):
            update = state.find_best_update("add")
        assert update == state.best_addition()
        with pytest.warns(FutureWarning, match="now add and drop"):
            state.apply_update(update)
        assert state.chosen == [update.feature]
        state.add(state.best_addition().feature)
        with pytest.warns(FutureWarning, match="now best_addition and best_removal"):
            assert state.find_best_update("drop") == state.best_removal()


@pytest.mark.parametrize("options", [{}, {"cv": 5}, {"loss": "absolute"}])
def test_an_exchange_is_the_best_addition_after_a_removal(options):
    X, score = problem()
    with rls_state(X, score, **options) as state:
        state.add(0)
        state.add(3)
        found = state.best_exchange(3, features=[1, 2, 4])
        tried = state.duplicate()
        tried.drop(3)
        best = tried.best_addition([1, 2, 4])
        assert found.feature == best.feature
        assert found.error == pytest.approx(best.error)
        assert state.chosen == [0, 3]
        assert state.best_exchange(3, [1, 2, 4], below=best.error * (1 - 1e-6)) is None
        with pytest.raises(InputError, match="not selected"):
            state.best_exchange(1)
