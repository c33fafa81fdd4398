"""The network as an estimator: selection, pruning, warnings, cross-validation, scikit-learn."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from experiments.rbf_printed import PrintedRBFRegressor
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from slow_twins import rbf as twin
from sparsepath import (
    InputError,
    LSSVMClassifier,
    LSSVMForwardRegressor,
    LSSVMRegressor,
    PathWarning,
    ReducedRankKernelRidge,
    SelectionPath,
    SparseRBFClassifier,
    SparseRBFClassifierCV,
    SparseRBFRegressor,
    SparseRBFRegressorCV,
)
from sparsepath.data.synthetic import bump, friedman
from sparsepath.rbf.model import nonzero_weights
from sparsepath.rbf.plots import plot_weights
from sparsepath.system.tuning import TUNING


@pytest.fixture(scope="module")
def data():
    return bump(60, 4, random_state=3)


@pytest.fixture(scope="module")
def fitted(data):
    return SparseRBFRegressor(5.95, 4.67).fit(data.X, data.y)


@pytest.mark.parametrize(
    "estimator",
    [
        SparseRBFRegressor(),
        SparseRBFRegressorCV(rs=[5.0], ts=[1.0], cv=2),
        SparseRBFClassifier(),
        SparseRBFClassifierCV(rs=[5.0], ts=[1.0], cv=2),
        LSSVMRegressor(),
        LSSVMClassifier(),
        LSSVMForwardRegressor(2, gamma=10.0),
        ReducedRankKernelRidge(10.0, 30.0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_scikit_learn_contract(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PathWarning, and "no features selected"
        for check in check_estimator(estimator, on_skip=None):
            assert check["status"] in ("passed", "skipped")


def test_selects_the_input_and_few_bases(fitted, data):
    assert fitted.selected_.tolist() == [0]
    assert fitted.get_support().tolist() == [True, False, False, False]
    assert fitted.converged_
    assert len(fitted.centres_) < 20
    assert fitted.feature_importances_.sum() == pytest.approx(1)
    assert fitted.feature_weights_[0] <= 4.67
    assert np.abs(fitted.coef_).sum() / data.y.std() <= 5.95
    assert fitted.duality_gap_ < 1e-3
    assert fitted.path_.sizes == (0, 1)
    assert fitted.path_.error_kind == "training"
    assert fitted.path_.error(0) == pytest.approx(data.y.var())


def test_prediction_is_the_formula_and_needs_only_what_is_used(fitted, data):
    X = data.X.copy()
    X[:, 1:] = 7.0
    assert_allclose(fitted.predict(X), fitted.predict(data.X))
    w = fitted.feature_weights_[fitted.selected_] / data.X.std(0)[fitted.selected_] ** 2
    K = twin.kernel(data.X[:, fitted.selected_], fitted.centres_, w)
    assert_allclose(fitted.predict(data.X), K @ fitted.coef_ + fitted.intercept_, rtol=1e-9)
    held = sum(
        value.size
        for value in vars(fitted.models_[len(fitted.selected_)]).values()
        if isinstance(value, np.ndarray)
    )
    assert held <= 4 * len(fitted.centres_) + 4
    assert_allclose(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))


def test_pruning_leaves_the_fit_alone(data):
    model = SparseRBFRegressor(5.95, 4.67, relevance=0).fit(data.X, data.y)
    pruned = np.mean((data.y - model.predict(data.X)) ** 2) / data.y.var()
    assert pruned == pytest.approx(model.training_error_, rel=2e-2)


def test_units_do_not_matter(fitted, data):
    other = SparseRBFRegressor(5.95, 4.67).fit(data.X * [1e-3, 5, 1, 1] + 100, 50 * data.y - 3)
    assert other.selected_.tolist() == [0]
    moved = data.X * [1e-3, 5, 1, 1] + 100
    assert_allclose(other.predict(moved), 50 * fitted.predict(data.X) - 3, rtol=1e-4, atol=1e-3)


def test_zero_rule_is_free_of_scale_and_capped():
    w = np.array([0.5, 0.4, 1e-7, 1e-7])
    assert nonzero_weights(w, 0.9001).tolist() == [True, True, False, False]
    assert nonzero_weights(3 * w, 3 * 0.9001).tolist() == [True, True, False, False]
    assert nonzero_weights(w, 100.0)[:2].all()  # a slack budget drops nothing of size


def test_centres_of_all_kinds(data):
    few = SparseRBFRegressor(6, 4, centres=15).fit(data.X, data.y)
    assert len(few.centres_) <= 15
    chosen = SparseRBFRegressor(6, 4, centres=15, placing="reconstruction").fit(data.X, data.y)
    assert_allclose(
        chosen.centres_[:, 0], chosen.centres_[:, 0][np.isin(chosen.centres_[:, 0], data.X[:, 0])]
    )
    given = SparseRBFRegressor(6, 4, centres=data.X[:10]).fit(data.X, data.y)
    assert set(given.selected_centres_) <= set(range(10))
    everybody = SparseRBFRegressor(6, 4, centres=500).fit(data.X, data.y)
    same = SparseRBFRegressor(6, 4).fit(data.X, data.y)
    assert_allclose(everybody.predict(data.X), same.predict(data.X))


def test_restarts_only_help(data):
    one = SparseRBFRegressor(5, 4).fit(data.X, data.y)
    more = SparseRBFRegressor(5, 4, n_init=3, random_state=1).fit(data.X, data.y)
    assert more.objective_ <= one.objective_ + 1e-12


def test_paper_schedule_and_alternating(data):
    direct = SparseRBFRegressor(5, 4).fit(data.X, data.y)
    turns = SparseRBFRegressor(5, 4, solver="alternating").fit(data.X, data.y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)
        paper = PrintedRBFRegressor(5, 4).fit(data.X, data.y)
    assert direct.objective_ <= paper.objective_ + 1e-6
    assert turns.objective_ == pytest.approx(direct.objective_, rel=2e-2)


@pytest.mark.parametrize("estimator", [SparseRBFRegressor, PrintedRBFRegressor])
def test_the_solution_before_pruning_has_all_coefficients_and_weights(data, estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)
        model = estimator(5, 4, centres="all", validation=None)
        raw = model.fit(data.X, data.y).solution_
    Z = (data.X - data.X.mean(0)) / data.X.std(0)
    target = (data.y - data.y.mean()) / data.y.std()
    K = np.exp(-(((Z[:, None] - Z) ** 2) @ raw.w))
    assert np.all(raw.alpha != 0)
    assert len(raw.alpha) == len(Z) + 1 > len(model.coef_) + 1
    assert np.abs(raw.alpha).sum() < 5
    assert raw.w.sum() < 4
    error = np.mean((target - raw.alpha[0] - K @ raw.alpha[1:]) ** 2)
    assert_allclose(error, model.training_error_, rtol=1e-8)


def test_the_former_schedule_is_deprecated(data):
    with pytest.warns(FutureWarning, match="schedule='paper' is now 'robust'"):
        model = SparseRBFRegressor(5, 4, schedule="paper").fit(data.X, data.y)
    assert model.objective_ == SparseRBFRegressor(5, 4).fit(data.X, data.y).objective_


def test_warnings(data):
    with pytest.warns(PathWarning, match="did not converge"):
        SparseRBFRegressor(5, 4, max_iter=1).fit(data.X, data.y)
    line = np.linspace(0, 1, 30)[:, None]
    with pytest.warns(PathWarning, match="is not exhausted"):
        SparseRBFRegressor(1e4, 0.5).fit(line, np.sin(3 * line[:, 0]))


def test_permutation_importances_find_linear_effects():
    problem, fresh = friedman(120, 6, random_state=0), friedman(300, 6, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)
        model = SparseRBFRegressor(100, 0.2).fit(problem.X, problem.y)
    importances = model.permutation_importances(fresh.X, fresh.y)
    assert model.feature_importances_[3] < 0.1  # the strongest linear effect has little weight
    assert importances[3] > importances[2]
    assert importances[5] < 0.1 * importances[3]


def test_names_and_pipelines(data):
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    model = SparseRBFRegressor(5.95, 4.67).fit(frame, data.y)
    assert model.get_feature_names_out().tolist() == ["a"]
    assert model.path_.names(1) == ("a",)
    assert model.transform(frame).shape == (60, 1)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), SparseRBFRegressor(t=4.0)),
        {"sparserbfregressor__r": [3.0, 6.0]},
        cv=2,
    )
    assert search.fit(data.X, data.y).best_score_ > 0.5


def test_cross_validation_is_that_of_the_plain_estimator(data):
    rs, ts, cv = [4.0, 8.0], [2.0, 5.0], KFold(3, shuffle=True, random_state=0)
    model = SparseRBFRegressorCV(rs, ts, cv=cv, choose="min").fit(data.X, data.y)
    results = model.cv_results_
    for k, node in enumerate(results["params"]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PathWarning)
            expected = cross_val_score(
                SparseRBFRegressor(**node), data.X, data.y, cv=cv, scoring="neg_mean_squared_error"
            )
        assert_allclose([results[f"split{i}_test_score"][k] for i in range(3)], expected)
        assert_allclose(results["mean_test_score"][k], expected.mean())
    best = results["params"][int(np.argmax(results["mean_test_score"]))]
    assert (model.r_, model.t_) == (best["r"], best["t"])
    assert model.path_.error(len(model.selected_)) == pytest.approx(
        -results["mean_test_score"].max()
    )
    plain = SparseRBFRegressor(model.r_, model.t_).fit(data.X, data.y)
    assert_allclose(model.predict(data.X), plain.predict(data.X))
    empty = [np.mean((data.y[b] - data.y[a].mean()) ** 2) for a, b in cv.split(data.X)]
    assert model.path_.error(0) == pytest.approx(np.mean(empty))


def test_cross_validation_does_not_depend_on_workers(data, monkeypatch):
    monkeypatch.setattr(TUNING, "workers_from", 0)
    grid = {"rs": [4.0, 8.0], "ts": [3.0], "cv": 2}
    one = SparseRBFRegressorCV(**grid).fit(data.X, data.y)
    two = clone(one).set_params(n_jobs=2).fit(data.X, data.y)
    assert np.array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
    assert np.array_equal(one.predict(data.X), two.predict(data.X))


def test_default_grid_and_plots(data, tmp_path):
    model = SparseRBFRegressorCV(rs=3, ts=3, cv=2, choose="one_se").fit(data.X, data.y)
    assert model.rs_[0] == 2
    assert len(model.rs_) == len(model.ts_) == 3
    for what in ("error", "inputs", "centres"):
        figure = model.plot_surface(what).get_figure()
        figure.savefig(tmp_path / f"{what}.png")
    model.plot_weights().get_figure().savefig(tmp_path / "weights.png")
    model.path_.save(tmp_path / "path.json")
    assert SelectionPath.load(tmp_path / "path.json") == model.path_


@pytest.mark.parametrize("n", [3, 40, 90])
def test_the_weights_of_all_inputs_are_drawn(n):
    shares = np.arange(n) / n
    axes = plot_weights(shares)
    np.testing.assert_array_equal([bar.get_height() for bar in axes.patches], shares)
    names = [label.get_text() for label in axes.get_xticklabels()]
    assert len(names) <= 40
    assert names[:2] == (["x0", "x1"] if n <= 40 else ["x0", "x3"])


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        (SparseRBFRegressor(r=0), "r=0"),
        (SparseRBFRegressor(t=np.nan), "t=nan"),
        (SparseRBFRegressor(solver="newton"), "direct, alternating"),
        (SparseRBFRegressor(schedule="slow"), "robust, paper"),
        (SparseRBFRegressor(centres="some"), "'all'"),
        (SparseRBFRegressor(centres=0), "centres=0"),
        (SparseRBFRegressor(centres=np.ones((2, 3))), "centres x 4"),
        (SparseRBFRegressor(placing="grid"), "kmeans"),
        (SparseRBFRegressor(n_init=0), "n_init=0"),
        (SparseRBFRegressor(relevance=1.5), "relevance=1.5"),
        (SparseRBFRegressorCV(rs=[]), "rs is empty"),
        (SparseRBFRegressorCV(ts=0), "ts=0"),
    ],
)
def test_errors_lead_on(model, hint, data):
    with pytest.raises(InputError, match=hint):
        model.fit(data.X, data.y)


def test_two_targets_are_refused(data):
    with pytest.raises(InputError, match="2 targets"):
        SparseRBFRegressor().fit(data.X, np.column_stack([data.y, data.y**2]))


def test_weights_are_repetitions(data):
    weights = np.arange(60) % 3
    twice = np.repeat(np.arange(60), weights)
    some = SparseRBFRegressor(5, 4).fit(data.X, data.y, sample_weight=weights)
    alone = SparseRBFRegressor(5, 4).fit(data.X[twice], data.y[twice])
    assert_allclose(some.predict(data.X), alone.predict(data.X), rtol=1e-5, atol=1e-6)
    assert some.path_.error(1) == pytest.approx(alone.path_.error(1), rel=1e-5)
    assert (weights[some.selected_centres_] > 0).all()
    centres = data.X[some.selected_centres_][:, some.selected_]
    assert_allclose(some.centres_, centres)


def test_weights_count_in_the_cross_validation(data):
    weights = np.where(np.arange(60) % 5 == 0, 0.0, 1.0 + np.arange(60) % 2)
    grid = {"rs": [6.0], "ts": [2.0, 5.0], "cv": KFold(3)}
    model = SparseRBFRegressorCV(**grid).fit(data.X, data.y, sample_weight=weights)
    for k, node in enumerate(model.cv_results_["params"]):
        for i, (a, b) in enumerate(KFold(3).split(data.X)):
            plain = SparseRBFRegressor(**node).fit(data.X[a], data.y[a], sample_weight=weights[a])
            off = (data.y[b] - plain.predict(data.X[b])) ** 2
            expected = -np.average(off, weights=weights[b])
            assert model.cv_results_[f"split{i}_test_score"][k] == pytest.approx(expected)


def test_search_tells_how_far_it_is_and_can_be_stopped(data):
    seen = []

    def stop(path):
        seen.append(path)
        return len(seen) == 3

    grid = {"rs": [6.0], "ts": [1.0, 3.0, 5.0], "cv": 2}
    model = SparseRBFRegressorCV(**grid, callback=stop).fit(data.X, data.y)
    assert [path.complete for path in seen] == [False, False, False]
    assert seen[0].sizes == (0,)
    assert model.ts_.tolist() == [1.0, 3.0]
    assert not model.path_.complete
    assert len(model.cv_results_["params"]) == 2
    assert "callback" not in model.path_.parameters

    def interrupt(path):
        raise KeyboardInterrupt

    assert model.path_.stopped == "asked to"
    with pytest.warns(PathWarning, match="interrupted"):
        model.set_params(callback=interrupt).fit(data.X, data.y)
    assert model.ts_.tolist() == []
    assert model.path_.sizes == (0,)
    assert model.path_.stopped == "interrupted"
    np.testing.assert_allclose(model.predict(data.X), data.y.mean())
    model.set_params(callback=None).fit(data.X, data.y)
    assert model.path_.complete


def test_zero_rule_compares_with_the_multipliers():
    w = np.array([0.5, 0.4, 7e-4, 1e-4])
    t = w.sum() + 1e-6  # the bound is 4.7e-4, below the cap
    assert nonzero_weights(w, t).tolist() == [True, True, True, False]


def test_a_budget_that_is_not_used_up_does_not_make_everything_zero():
    w = np.array([0.5, 0.006, 0.004])  # the bound is above all of them; the cap is 0.005
    assert nonzero_weights(w, 10.0).tolist() == [True, True, False]


def test_noise_seldom_selects_anything():
    """Seven of these eight draws have their least error elsewhere than at the mean."""
    chosen = []
    for seed in range(8):
        X = np.random.default_rng(seed).standard_normal((60, 5))
        model = SparseRBFRegressorCV(rs=3, ts=3, cv=3, validation=None).fit(X[:, 1:], X[:, 0])
        chosen.append(len(model.selected_))
    assert np.count_nonzero(chosen) <= 1


def test_constant_inputs_say_nothing_of_budgets():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SparseRBFRegressor(validation=None).fit(np.ones((20, 3)), np.arange(20.0))
    assert not len(model.selected_)


def test_fits_that_are_not_in_use_need_not_be_finished(data):
    search = SparseRBFRegressorCV(rs=[5.0], ts=[1.0], cv=2, max_iter=2, validation=None)
    with pytest.warns(PathWarning, match="the network in use has not converged; increase max_iter"):
        search.set_params(choose="min").fit(data.X, data.y)
    assert search.cv_results_["n_unconverged"].tolist() == [2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SparseRBFRegressorCV([5.0, 5e3], [1.0], cv=2, validation=None).fit(data.X, data.y)
