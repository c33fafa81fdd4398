"""Several methods on the same samples left out, beside an outer loop of scikit-learn's."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import LassoCV, LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from slow_twins import judging as twin
from sparsepath import (
    GraftingRegressor,
    GraftingRegressorCV,
    InputError,
    LarsSelector,
    SparseRLSClassifier,
    SparseRLSRegressor,
    TableSelector,
    compare,
    honest_error,
)
from sparsepath.assessment.calibration import FLATTEST, STEEPEST
from sparsepath.cli import main
from sparsepath.data.readers import write_table
from sparsepath.methods.candidates import entrants
from sparsepath.methods.table import METHODS

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X, Y = X[:150], Y[:150]
FOLDS = KFold(5, shuffle=True, random_state=0)
FIVE = make_pipeline(SelectKBest(f_regression, k=5), Ridge(0.1))


@pytest.fixture(scope="module")
def found():
    methods = {
        "RLS": SparseRLSRegressor(),
        "LARS": LarsSelector(),
        "five": FIVE,
        "lasso": LassoCV(cv=3),
        "scaled": make_pipeline(StandardScaler(), SparseRLSRegressor(4)),
        "graft": GraftingRegressor(l1=0.1),
    }
    return compare(methods, X, Y, validation=FOLDS)


def test_each_is_judged_as_alone(found):
    for name, model in (("RLS", SparseRLSRegressor()), ("five", FIVE)):
        alone = honest_error(model, X, Y, validation=FOLDS)
        assert found[name].chosen == alone.chosen
        np.testing.assert_array_equal(found[name].left_out.losses, alone.left_out.losses)
    predicted = cross_val_predict(LassoCV(cv=3), X, Y, cv=FOLDS)
    np.testing.assert_allclose(found["lasso"].loss, (Y - predicted) ** 2)
    assert found["RLS"].chosen.empty_error == pytest.approx(found["five"].chosen.empty_error)


def test_a_gap_is_known_no_better_than_the_choice_of_the_size():
    """One row decides which size is chosen: errors are corrected for that, and so is the gap."""
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(60, 3)), rng.normal(size=60)
    y = X[:, 0] + 0.1 * noise
    X[7, 1:] = 40.0  # only here do the other columns tell, and mislead
    y[7] += 3.0
    methods = {"alpha 1": SparseRLSRegressor(), "alpha 9": SparseRLSRegressor(alpha=9.0)}
    found = compare(methods, X, y, validation=FOLDS)
    for one in found.contestants:
        errors, rng = one.left_out.errors, np.random.default_rng(0)
        drawn = rng.multinomial(60, np.full(60, 1 / 60), 500)
        sizes = []
        for times in drawn:
            losses = np.repeat(one.left_out.losses, times, 0)
            best = losses.mean(0).argmin()
            off = losses - losses[:, [best]]
            allowed = np.sqrt(np.square(off - off.mean(0)).sum(0)) / 60
            sizes.append(np.flatnonzero(losses.mean(0) <= losses.mean(0)[best] + allowed)[0])
        np.testing.assert_allclose(one.shifts, errors[sizes] - errors[one.place], atol=1e-12)
    assert found.contestants[0].shifts.any()


@pytest.mark.parametrize("n_groups", [11, 24])
def test_methods_by_name_keep_groups_whole_as_select_does(n_groups, tmp_path):
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(n_groups), 4)
    A = rng.normal(size=(n_groups, 6))[group] + 0.1 * rng.normal(size=(len(group), 6))
    y = A[:, 0] - A[:, 1] + rng.normal(size=n_groups)[group]
    found = compare(["greedy-rls", "grafting", "lars"], A, y, groups=group)
    for name, estimator in (("greedy-rls", SparseRLSRegressor), ("grafting", GraftingRegressorCV)):
        alone = honest_error(estimator(), A, y, validation=10, groups=group)
        assert found[name].chosen == alone.chosen
    table = {f"x{i}": A[:, i] for i in range(6)} | {"y": y, "of": group}
    write_table(tmp_path / "data.csv", table)
    asked = [str(tmp_path / "data.csv"), "-t", "y", "--groups", "of", "--out", str(tmp_path)]
    assert main(["select", *asked, "--method", "greedy-rls", "--validation", "10"]) == 0
    honest = json.loads((tmp_path / "honest.json").read_text("utf-8"))
    assert honest["honest"]["error"] == found["greedy-rls"].chosen.error


def test_table_agreement_and_words(found):
    frame = found.to_frame()
    assert frame["honest_error"].is_monotonic_increasing
    assert frame["method"][0] == found.best.name
    for name, size, features in zip(frame["method"], frame["size"], frame["features"], strict=True):
        assert len(features.split(", ")) == size, name
    off = found["five"].loss - found.best.loss
    gap, se = found.gap("five")
    assert gap == pytest.approx(found["five"].chosen.error - found.best.chosen.error)
    choices = np.mean((found["five"].shifts - found.best.shifts) ** 2)
    assert se == pytest.approx(np.sqrt(off.var(ddof=1) / len(off) + choices))
    assert found.gap(found.best.name) == (0, 0)
    for feature, names in found.agreement.items():
        assert all(feature in found[name].features for name in names)
    assert set(found.common) == set.intersection(*(set(c.features) for c in found.contestants))
    assert "bmi" in found.common
    words = found.sentence()
    root = found.best.chosen.error**0.5
    assert words.startswith(f"Least RMSE on new data: {root:.4g} with {found.best.name}")
    name = found.contestants[-1].name
    gap = found[name].chosen.error ** 0.5 - root
    assert found.gap_said(name).startswith(f"{gap:.2f} ± ")
    with pytest.raises(InputError, match="no method 'nobody'"):
        found["nobody"]


def test_picture(found):
    figure = found.plot()
    assert len(figure.axes) == 1 + len(found.contestants)
    lines = [line.get_label() for line in figure.axes[0].get_lines()]
    assert {"RLS", "five", "the empty model"} <= set(lines)


def test_classes_by_name_with_groups_and_weights():
    data, labels = load_breast_cancer(return_X_y=True)
    data, labels = data[:120, :6], np.array(["no", "yes"])[labels[:120]]
    groups, weights = np.arange(120) % 30, np.linspace(0.5, 2, 120)
    given = {"groups": groups, "sample_weight": weights}
    both = compare(["greedy-rls", "floating-rls"], data, labels, validation=3, **given)
    assert both.best.chosen.measure == "error rate"
    assert both.best.chosen.validation == "3-fold by groups"
    alone = SparseRLSClassifier()
    scores, parts, codes = [[0.0, 0.0] for _ in range(120)], [], (labels == "yes").astype(int)
    for train, test in GroupKFold(3).split(data, labels, groups):
        part = {name: value[train] for name, value in given.items()}
        model = alone.set_params(validation=None).fit(data[train], labels[train], **part)
        size = min(both["greedy-rls"].chosen.size, model.path_.sizes[-1])
        for i, score in zip(test, model.at_size(size).decision_function(data[test]), strict=True):
            scores[i][1] = score
        parts.append(test)
    bounds = (FLATTEST, STEEPEST)
    shares = twin.decided(scores, codes.tolist(), weights.tolist(), parts, 2, bounds)
    wrong = shares.argmax(1) != codes
    np.testing.assert_array_equal(both["greedy-rls"].loss, wrong)
    with pytest.raises(InputError, match="are not for the same task"):
        compare({"a": LogisticRegression(), "b": Ridge()}, data, labels)


def candidates(shape, y, task=None):
    return entrants(None, np.broadcast_to(0.0, shape), y, task, 10, None, {})


def test_what_suits_and_what_it_costs():
    small, tall = (candidates((n, p), np.arange(n)) for n, p in ((200, 10), (10**6, 100)))
    assert list(small.estimators) == sorted(small.seconds, key=small.seconds.get)
    assert {"greedy-rls", "lars", "elm-fs", "rbf"} <= set(small.estimators)
    assert "rank-rls" not in {*small.estimators, *small.left_out}
    assert small.left_out == {}
    assert "greedy-rls" in tall.estimators
    assert "name it to include it" in tall.left_out["mi-forward"]
    two, three = (candidates((200, 10), np.arange(200) % k, "classification") for k in (2, 3))
    assert "rbf" in two.estimators
    assert three.left_out["rbf"] == "for two classes only"
    assert three.left_out["lars"] == "for regression only"


def test_the_estimates_are_those_of_the_estimators():
    """Every method has one, and it grows with the rows and the columns.

    Not that of ``auto``, which leaves out methods that would take longer than its budget.
    """
    rng = np.random.default_rng(0)
    for name, method in METHODS.items():
        if name == "auto":
            continue
        for task in method.tasks:
            few, many = (
                method.make(task).expected_seconds(rng.standard_normal(shape))
                for shape in ((100, 10), (3000, 300))
            )
            assert 3 * few < many, name
    given = candidates((300, 30), np.arange(300))
    for name in ("greedy-rls", "grafting", "rbf"):
        model = METHODS[name].make("regression")
        assert given.seconds[name] == 11 * model.expected_seconds(np.zeros((300, 30)))


def test_methods_that_take_too_long_are_named(monkeypatch):
    monkeypatch.setattr("sparsepath.methods.candidates.PATIENCE_SECONDS", 0.2)
    found = compare(None, X, Y, validation=3)
    assert "greedy-rls" in {one.name for one in found.contestants}
    assert "of one core; name it to include it" in found.passed_over["mlp-grafting"]
    assert "mlp-grafting was skipped: about" in found.sentence()


def test_a_budget_is_kept():
    class Slow(Ridge):
        def fit(self, X, y):
            import time

            time.sleep(0.7)
            return super().fit(X, y)

    found = compare({"quick": Ridge(), "slow": Slow()}, X, Y, budget=6)
    assert [one.name for one in found.contestants] == ["quick"]
    assert "within the time budget" in found.passed_over["slow"]
    assert "slow was skipped" in found.sentence()
    with pytest.raises(InputError, match="no method could finish"):
        compare({"slow": Slow()}, X, Y, budget=0.3)
    with pytest.raises(InputError, match="budget=-1"):
        compare({"quick": Ridge()}, X, Y, budget=-1)


def test_time_that_is_up_ends_a_fit_and_no_other():
    import signal
    import time

    class Endless(Ridge):
        def fit(self, X, y):
            time.sleep(600)

    before = signal.getsignal(signal.SIGALRM)
    methods = {"quick": Ridge(), "endless": Endless(), "after": Ridge()}
    found = compare(methods, X, Y, validation=3, budget=2)
    assert found.best.name == "quick"
    assert "within the time budget" in found.passed_over["endless"]
    assert signal.getsignal(signal.SIGALRM) is before
    with pytest.raises(InputError, match="endless: did not finish within the time budget"):
        compare({"endless": Endless()}, X, Y, budget=0.5)


def test_equal_errors_keep_the_order_of_the_methods():
    same = [SparseRLSRegressor(3, choose=3, search=how) for how in ("floating", "forward", "swap")]
    for order in (("a", "b", "c"), ("c", "a", "b")):
        found = compare(dict(zip(order, same, strict=True)), X, Y, validation=3)
        assert len({one.features for one in found.contestants}) == 1
        assert [one.name for one in found.contestants] == list(order)


def test_a_size_that_only_parts_reach_is_not_chosen():
    class More(SparseRLSRegressor):
        _search_many = None

        def fit(self, X, y, **given):
            self.max_features = 1 if len(X) == len(Y) else 6
            return super().fit(X, y, **given)

    found = compare({"more": More(choose="min")}, X, Y, validation=3, choose="min")
    assert found["more"].left_out.sizes == (0, 1)
    assert found["more"].chosen.size == len(found["more"].features) == 1


def test_interrupted_and_asked_to_end():
    class Stopped(Ridge):
        def fit(self, X, y):
            raise KeyboardInterrupt

    three = {"ridge": Ridge(), "stopped": Stopped(), "never": Ridge()}
    found = compare(three, X, Y, validation=3)
    assert [one.name for one in found.contestants] == ["ridge"]
    assert found.passed_over == {"stopped": "interrupted"}
    two = {"one": Ridge(), "two": Ridge()}
    found = compare(two, X, Y, validation=3, callback=lambda name, done, of: name == "two")
    assert found.passed_over == {"two": "stopped by the callback"}


@pytest.mark.parametrize("nothing", [{}, []])
def test_nobody(nothing):
    with pytest.raises(InputError, match="methods is empty"):
        compare(nothing, X, Y)


def test_methods_without_weights_are_passed_over_where_there_are_some(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((60, 4)), rng.random(60) + 0.5
    y = X[:, 0] + 0.1 * rng.standard_normal(60)
    found = compare(["lars", "greedy-rls"], X, y, validation=3, sample_weight=w)
    assert [one.name for one in found.contestants] == ["greedy-rls"]
    assert found.passed_over == {"lars": "LarsSelector does not support sample weights"}
    with pytest.raises(InputError, match="LarsSelector does not support sample weights"):
        TableSelector(LarsSelector()).fit(X, y, sample_weight=w)
    file = tmp_path / "data.csv"
    write_table(file, {**{f"x{j}": X[:, j] for j in range(4)}, "y": y, "w": w})
    call = ["compare", str(file), "--target", "y", "--weights", "w", "--validation", "3"]
    assert main([*call, "--methods", "lars,greedy-rls", "--quiet"]) == 0
    assert (
        "lars was skipped: LarsSelector does not support sample weights" in capsys.readouterr().out
    )


def test_selectors_of_scikit_learn_by_themselves():
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.feature_selection import RFECV, SelectFromModel, SelectKBest, f_regression
    from sklearn.linear_model import LinearRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    y = 2 * X[:, 1] - X[:, 4] + 0.3 * rng.normal(size=80)
    forest = SelectFromModel(RandomForestRegressor(10, random_state=0), max_features=2)
    best = SelectKBest(f_regression, k=2)
    found = compare(
        ["lars", RFECV(LinearRegression()), best, SelectKBest(f_regression, k=3), forest], X, y
    )
    names = {"lars", "RFECV", "SelectKBest", "SelectKBest-2", "SelectFromModel"}
    assert {one.name for one in found.contestants} == names
    assert set(found["SelectKBest"].features) == {"x1", "x4"}
    assert len(found["SelectKBest-2"].features) == 3
    assert {"x1", "x4"} <= set(found["RFECV"].features)
    by_hand = make_pipeline(SelectKBest(f_regression, k=2), StandardScaler(), Ridge())
    same = compare({"best": best, "by hand": by_hand}, X, y)
    assert same["best"].chosen.error == same["by hand"].chosen.error
    labels = np.where(y > 0, "yes", "no")
    classes = compare({"best": SelectKBest(k=2)}, X, labels)
    assert classes.measure == "error rate"
    assert best.get_params() == SelectKBest(f_regression, k=2).get_params()
