"""The scikit-learn face: contract, units, weights, names, paths, cross-validation."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.linear_model import ElasticNet, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from sparsepath import (
    GraftingClassifier,
    GraftingClassifierCV,
    GraftingRegressor,
    GraftingRegressorCV,
    InputError,
    MLPGraftingClassifier,
    MLPGraftingClassifierCV,
    grafting_path,
)


@pytest.mark.filterwarnings("ignore:No features were selected")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        GraftingRegressor(),
        GraftingClassifier(),
        GraftingRegressorCV(n_l1s=3, least=0.1, cv=3),
        GraftingClassifierCV(n_l1s=3, least=0.1, cv=3),
        GraftingClassifier(l0=0.001),
    ],
    ids=repr,
)
def test_scikit_learn_contract(estimator):
    check_estimator(estimator)


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.mark.parametrize(("part", "l2"), [(0.3, 0.0), (0.1, 0.0), (0.01, 0.0), (0.05, 0.3)])
def test_objective_equals_liblinear_and_saga(cancer, part, l2):
    X, y = cancer
    Z = StandardScaler().fit_transform(X)
    t = np.where(y == 1, 1.0, -1.0)
    l1 = part * np.abs(Z.T @ (t - t.mean())).max() / (2 * len(t))
    model = GraftingClassifier(l1=l1, l2=l2 * l1).fit(X, y)
    total = l1 + 2 * l2 * l1
    rival = LogisticRegression(
        C=1 / (len(t) * total),
        l1_ratio=l1 / total,
        solver="liblinear" if l2 == 0 else "saga",
        intercept_scaling=1e4 if l2 == 0 else 1,
        tol=1e-7 if l2 == 0 else 1e-9,
        random_state=0,
        max_iter=100_000,
    ).fit(Z, t)

    def criterion_of(w, b):
        return np.logaddexp(0, -t * (Z @ w + b)).mean() + l1 * np.abs(w).sum() + l2 * l1 * w @ w

    theirs = criterion_of(rival.coef_[0], rival.intercept_[0])
    scale = Z.std() * X.to_numpy().std(axis=0)
    ours = criterion_of(
        model.coef_[0] * scale, model.intercept_[0] + model.coef_[0] @ X.to_numpy().mean(0)
    )
    assert model.criterion_ == pytest.approx(ours, rel=1e-12)
    assert ours <= theirs + 1e-12
    # liblinear itself stops within some 1e-8 of its optimum.
    assert ours == pytest.approx(theirs, rel=1e-7)
    assert model.kkt_violation_ <= 1e-8
    assert model.dual_gap_ <= 1e-8


def test_regression_equals_elastic_net():
    X, y = load_diabetes(return_X_y=True)
    y = y / y.std()
    model = GraftingRegressor(l1=0.01, l2=0.02).fit(X, y)
    rival = ElasticNet(alpha=0.05, l1_ratio=0.2, tol=1e-14, max_iter=10**6)
    rival.fit(StandardScaler().fit_transform(X), y)
    assert model.coef_ * X.std(axis=0) == pytest.approx(rival.coef_, abs=1e-9)
    assert model.intercept_ + model.coef_ @ X.mean(0) == pytest.approx(rival.intercept_)


@pytest.mark.parametrize("l0", [0.0, 0.002])
def test_weights_are_repetitions(cancer, l0):
    X, y = (part.to_numpy()[:120] for part in cancer)
    w = np.random.default_rng(0).integers(0, 4, 120)
    weighted = GraftingClassifier(l1=0.02, l0=l0).fit(X, y, sample_weight=w)
    repeated = GraftingClassifier(l1=0.02, l0=l0).fit(X.repeat(w, 0), y.repeat(w))
    assert weighted.coef_ == pytest.approx(repeated.coef_, rel=1e-6, abs=1e-9)


def test_class_weights_multiply_sample_weights(cancer):
    X, y = cancer
    factors = {0: 3.0, 1: 0.5}
    one = GraftingClassifier(class_weight=factors).fit(X, y)
    other = GraftingClassifier().fit(X, y, sample_weight=np.where(y == 0, 3.0, 0.5))
    assert one.coef_ == pytest.approx(other.coef_, abs=1e-9)


def test_sparse_float32_and_frames_give_the_same_model(cancer):
    X, y = load_digits(return_X_y=True)
    base = GraftingClassifier(l1=0.01).fit(X, y == 0)
    for other in (sp.csr_matrix(X), sp.csc_matrix(X), X.astype(np.float32), X.astype(np.uint8)):
        model = GraftingClassifier(l1=0.01).fit(other, y == 0)
        assert model.criterion_ == pytest.approx(base.criterion_, rel=1e-10)
        assert model.coef_ == pytest.approx(base.coef_, abs=1e-6)
    import polars

    frame = polars.DataFrame(cancer[0].to_dict("list"))
    model = GraftingClassifier(l1=0.1, l0=0.001).fit(frame, cancer[1])
    assert set(model.get_feature_names_out()) == set(model.path_.names(len(model.selected_)))


def test_features_of_high_cost_wait(cancer):
    X, y = cancer
    free = GraftingClassifier(l1=0.02, l0=0.001).fit(X, y)
    first = X.columns[free.selected_[0]]
    dear = GraftingClassifier(l1=0.02, l0=0.001, feature_costs={first: 1e6}).fit(X, y)
    assert free.selected_[0] not in dear.selected_
    unpenalised = GraftingClassifier(l1=1e3, l1_factors={first: 0.0}).fit(X, y)
    assert unpenalised.selected_.tolist() == [free.selected_[0]]


def test_path_agrees_with_single_fits(cancer):
    X, y = cancer
    found = grafting_path(X, y, n_l1s=6)
    assert found.n_selected[0] == 0
    assert found.kkt_violations.max() < 1e-8
    assert found.dual_gaps.max() < 1e-8
    for l1, C, coef in zip(found.l1s, found.criteria, found.coefs, strict=True):
        alone = GraftingClassifier(l1=l1).fit(X, y)
        assert pytest.approx(alone.criterion_, rel=1e-9) == C
        assert coef == pytest.approx(alone.coef_, rel=1e-4, abs=1e-6)
    *_, last = found.path.replay()
    assert sorted(last) == np.flatnonzero(found.coefs[-1, 0]).tolist()


def test_path_of_three_classes():
    X, y = load_digits(n_class=3, return_X_y=True)
    found = grafting_path(X, y, n_l1s=4, least=0.1)
    assert found.coefs.shape == (4, 3, 64)
    used = found.coefs != 0
    assert (used.any(1) == used.all(1)).all()  # a feature is in for all classes or for none
    model = GraftingClassifier(l1=0.02).fit(X, y)
    assert model.predict_proba(X).sum(1) == pytest.approx(1)
    assert model.score(X, y) > 0.98


def test_cross_validation_is_that_of_scikit_learn(cancer):
    from sklearn.model_selection import StratifiedKFold

    X, y = (part.to_numpy() for part in cancer)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    model = GraftingClassifierCV(n_l1s=5, cv=folds, error="zero_one", choose="min").fit(X, y)
    for i, l1 in enumerate(model.l1s_):
        for k, (train, test) in enumerate(folds.split(X, y)):
            plain = GraftingClassifier(l1=l1).fit(X[train], y[train])
            assert model.cv_errors_[i, k] == pytest.approx(1 - plain.score(X[test], y[test]))
    assert model.path_.error(len(model.selected_)) == model.cv_errors_.mean(1).min()
    least = model.cv_errors_[model.cv_errors_.mean(1).argmin()]
    se = np.sqrt(((least - least.mean()) ** 2).sum() / 3 / 4)  # four folds
    assert model.path_.error_se(len(model.selected_)) == pytest.approx(se)
    simple = clone(model).set_params(choose="one_se").fit(X, y)
    within = [k for k in model.path_.sizes if model.path_.error(k) <= least.mean() + se]
    assert len(simple.selected_) == min(within)
    assert len(simple.selected_) <= len(model.selected_)
    assert model.at_size(0).coef_.any() == False  # noqa: E712


def test_works_in_a_pipeline_and_transforms(cancer):
    X, y = cancer
    pipe = make_pipeline(StandardScaler(), GraftingClassifier(l1=0.05), LogisticRegression())
    assert pipe.fit(X, y).score(X, y) > 0.9
    assert pipe[1].transform(pipe[0].transform(X)).shape[1] == pipe[1].get_support().sum()


def test_newest_only_is_no_solver_for_the_criterion(cancer):
    X, y = cancer
    all_ = GraftingClassifier(l1=0.01).fit(X, y)
    newest = GraftingClassifier(l1=0.01, update="newest", max_features=30).fit(X, y)
    assert newest.criterion_ > all_.criterion_ + 1e-3


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"l1": -1}, "l1"),
        ({"l0": np.inf}, "l0"),
        ({"tol": 0}, "tol"),
        ({"selection": "best"}, "selection"),
        ({"stop": "never"}, "stop"),
        ({"feature_costs": [1, 2]}, "feature_costs"),
        ({"l1_factors": {"nobody": 1}}, "nobody"),
        ({"l0": 0.1, "steps": "batch"}, "steps"),
        ({"max_features": -1}, "max_features"),
        ({"standardize": "no"}, "standardize='no'; use True or False"),
        ({"fit_intercept": "False"}, "fit_intercept='False'; use True or False"),
    ],
)
def test_errors_name_the_parameter(cancer, parameters, word):
    with pytest.raises(InputError, match=word):
        GraftingClassifier(**parameters).fit(*cancer)


def test_networks_too_want_true_or_false(cancer):
    for kind in (MLPGraftingClassifier, MLPGraftingClassifierCV):
        with pytest.raises(InputError, match="standardize='no'; use True or False"):
            kind(standardize="no").fit(*cancer)


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan")])
def test_a_class_without_weight_is_refused(factor):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match=r"class_weight of class 1 .* above zero"):
        GraftingClassifier(class_weight={0: 1.0, 1: factor, 2: 1.0}).fit(X, y)


@pytest.mark.parametrize("face", [grafting_path, GraftingClassifierCV(n_l1s=12, least=0.01)])
def test_features_of_a_path_are_in_order_of_entry(cancer, face):
    X, y = cancer
    found = face(X, y, n_l1s=12) if face is grafting_path else face.fit(X, y)
    path = found.path if face is grafting_path else found.path_
    entered = [move.feature for move in path.moves if move.action == "add"]
    for size in path.sizes:
        subset = path.subset(size)
        places = [max(i for i, j in enumerate(entered) if j == k) for k in subset]
        assert places == sorted(places)
    if face is not grafting_path:  # coefficients go with their features
        by_hand = X.to_numpy() @ found.coef_[0] + found.intercept_[0]
        assert found.decision_function(X) == pytest.approx(by_hand)
        again = GraftingClassifier(l1=found.l1_).fit(X, y)
        assert found.coef_ == pytest.approx(again.coef_, abs=1e-5)
