"""Any splits: the same choices and errors as refitting on every training part."""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_score,
)

from problems import Case, make, problems
from rls.comparing import (
    OTHERS,
    Judge,
    check_backward,
    check_floating,
    check_forward,
    check_swaps,
    design_of,
    examples,
    judge_of,
    same_steps,
    search,
    subsets,
    weights_of,
)
from slow_twins import rls
from sparsepath import InputError, SparseRLSRegressor
from sparsepath.rls.folds import moments as split_sums
from sparsepath.system.tuning import TUNING

SPLITTERS = {
    "kfold": KFold(3),
    "shuffled": KFold(4, shuffle=True, random_state=1),
    "shuffle split": ShuffleSplit(3, test_size=0.3, random_state=2),
    "part of the rest": ShuffleSplit(3, test_size=0.3, train_size=0.5, random_state=3),
    "groups": GroupKFold(3),
    "one group out": LeaveOneGroupOut(),
    "time": TimeSeriesSplit(3),
    "predefined": PredefinedSplit,
    "repeated": RepeatedKFold(n_splits=2, n_repeats=2, random_state=4),
    "single": ShuffleSplit(1, test_size=0.4, random_state=5),
}


def groups_of(m):
    return np.arange(m) * 7 % 4


def splits_of(name, m):
    splitter = SPLITTERS[name]
    if name == "predefined":
        splitter = PredefinedSplit((np.arange(m) * 5) % 4 - 1)  # a quarter is in no test part
    groups = groups_of(m) if "group" in name else None
    return list(splitter.split(np.zeros((m, 1)), None, groups))


@contextmanager
def route(name):
    """How the products come about: Gram matrices per part, or products with the data per step."""
    with pytest.MonkeyPatch.context() as patch:
        if name == "products":
            patch.setattr(TUNING, "split_gram_numbers", 0)
        yield


def on_both_routes(case, splits, size, **options):
    """The trails of both routes and of several blocks, which must be equal; the first of them."""
    fit_intercept = options.pop("fit_intercept", True)
    trails = []
    for name, layout in (("gram", "one"), ("products", "one"), ("products", "uneven")):
        with route(name):
            design = design_of(case.X, weights_of(case), layout, fit_intercept=fit_intercept)
            trails.append(search(design, case.Y, case.alpha, size, splits=splits, **options))
    return trails


# What sums of products can give: they hold the squares of what refits hold.
KINDS = (
    "tall",
    "wide",
    "duplicate",
    "constant",
    "targets",
    "ties",
    "sparse",
    "collinear",
    "scaled",
)


@st.composite
def split_problems(draw, **options):
    case = draw(problems(max_m=20, max_n=8, **options))
    splits = splits_of(draw(st.sampled_from(sorted(SPLITTERS))), len(case.X))
    w = weights_of(case)
    if any(w[train].sum() == 0 for train, _ in splits):
        case = Case(case.X, case.Y, case.alpha, None, case.name)
    return case, splits, draw(st.booleans())


def size_for(case, splits, most=4):
    """As far as every training part has room for."""
    w = weights_of(case)
    least = min(np.count_nonzero(w[train]) for train, _ in splits)
    return max(1, min(most, case.X.shape[1], least - 2))


# --- searches -------------------------------------------------------------------------------------


@examples(40)
@given(split_problems())
def test_forward(problem):
    case, splits, pooled = problem
    size = size_for(case, splits)
    judge = judge_of(case, error=rls.kfold_error(splits, pooled))
    for trail in on_both_routes(case, splits, size, pooled=pooled):
        check_forward(trail, judge, size)


@examples(10)
@given(split_problems(kinds=["tall", "targets", "sparse"]))
def test_forward_without_intercept(problem):
    case, splits, pooled = problem
    size = size_for(case, splits)
    judge = judge_of(case, error=rls.kfold_error(splits, pooled), fit_intercept=False)
    for trail in on_both_routes(case, splits, size, pooled=pooled, fit_intercept=False):
        check_forward(trail, judge, size)


@examples(10)
@given(split_problems(kinds=["tall", "duplicate", "targets", "ties"], alphas=[0.0]))
def test_forward_by_ordinary_least_squares(problem):
    case, splits, pooled = problem
    size = size_for(case, splits)
    judge = judge_of(case, error=rls.kfold_error(splits, pooled))
    for trail in on_both_routes(case, splits, size, pooled=pooled):
        check_forward(trail, judge, size)


@examples(12)
@given(split_problems(kinds=["tall", "wide", "collinear", "targets", "ties"]))
def test_floating(problem):
    case, splits, pooled = problem
    size = size_for(case, splits)
    judge = judge_of(case, error=rls.kfold_error(splits, pooled))
    for epsilon in (None, 1e-3 * judge.empty):
        for trail in on_both_routes(
            case, splits, size, pooled=pooled, search="floating", epsilon=epsilon
        ):
            check_floating(trail, judge, size, epsilon)


@examples(12)
@given(split_problems(kinds=["tall", "constant", "targets", "ties", "scaled"]))
def test_backward(problem):
    case, splits, pooled = problem
    judge = judge_of(case, error=rls.kfold_error(splits, pooled))
    for trail in on_both_routes(case, splits, 0, pooled=pooled, search="backward"):
        check_backward(trail, judge, 0)


@examples(12)
@given(split_problems(kinds=["tall", "collinear", "targets", "ties"]))
def test_swaps(problem):
    case, splits, pooled = problem
    size = min(3, size_for(case, splits))
    judge = judge_of(case, error=rls.kfold_error(splits, pooled))
    for trail in on_both_routes(case, splits, size, pooled=pooled, search="swap"):
        check_swaps(trail, judge, size)


@examples(15)
@given(split_problems(classification=True), st.sampled_from(OTHERS))
def test_other_losses(problem, loss):
    case, splits, pooled = problem
    pooled = pooled and loss != "balanced"
    size = min(3, size_for(case, splits))
    judge = judge_of(case, loss, error=rls.kfold_error(splits, pooled))
    for trail in on_both_routes(case, splits, size, loss=loss, pooled=pooled):
        check_forward(trail, judge, size)
    for trail in on_both_routes(case, splits, size, loss=loss, pooled=pooled, search="floating"):
        check_floating(trail, judge, size)
    for trail in on_both_routes(case, splits, 0, loss=loss, pooled=pooled, search="backward"):
        check_backward(trail, judge, 0, rtol=1e-7)  # it begins with more features than samples


@pytest.mark.parametrize("name", sorted(SPLITTERS))
def test_the_twins_own_paths(name):
    case = make("tall", m=24, n=7, weighted=True, seed=len(name), alpha=0.5)
    splits = splits_of(name, 24)
    for pooled in (False, True):
        path = rls.wrapper_forward(
            case.X, case.Y, 4, case.alpha, sw=case.sw, error=rls.kfold_error(splits, pooled)
        )
        for trail in on_both_routes(case, splits, 4, pooled=pooled):
            assert list(subsets(trail).values()) == [subset for subset, _, _ in path]
            got = [(s.error, s.error_se) for _, s in sorted(trail.steps.items())]
            assert_allclose(got, [p[1:] for p in path], rtol=1e-9)


def test_both_routes_are_what_they_say():
    case = make("tall", m=20, n=8)
    splits = splits_of("kfold", 20)
    with route("gram"):
        assert split_sums.SplitSums(design_of(case.X), case.Y, splits)._gram is not None
    with route("products"):
        assert split_sums.SplitSums(design_of(case.X), case.Y, splits)._gram is None


@pytest.mark.parametrize("name", ["kfold", "repeated", "part of the rest", "time"])
@pytest.mark.parametrize("search_name", ["forward", "floating", "backward", "swap"])
def test_the_routes_agree_on_a_larger_problem(name, search_name):
    case = make("targets", m=150, n=30, T=2, weighted=True, seed=8, alpha=3.0)
    size = 22 if search_name == "backward" else 8
    first, *others = on_both_routes(case, splits_of(name, 150), size, search=search_name)
    for trail in others:
        same_steps(first, trail)
        assert [(m.action, m.feature) for m in trail.moves] == [
            (m.action, m.feature) for m in first.moves
        ]


def test_leave_one_out_as_splits_is_the_leave_one_out():
    case = make("targets", m=20, n=9, T=3, weighted=True, seed=9)
    design = design_of(case.X, weights_of(case))
    splits = list(LeaveOneOut().split(case.X))
    for name in ("forward", "floating", "backward", "swap"):
        size = 0 if name == "backward" else 6
        loo = search(design, case.Y, case.alpha, size, search=name)
        pooled = search(design, case.Y, case.alpha, size, search=name, splits=splits, pooled=True)
        assert subsets(loo) == subsets(pooled)
        for k, step in loo.steps.items():
            assert_allclose(pooled.steps[k].error, step.error, rtol=1e-9)
            assert_allclose(pooled.steps[k].coef, step.coef, rtol=1e-7, atol=1e-10)


# --- against scikit-learn -------------------------------------------------------------------------


def sequential(case, cv, size, direction="forward", groups=None):
    """What scikit-learn chooses when it refits everything."""
    selector = SequentialFeatureSelector(
        Ridge(case.alpha),
        n_features_to_select=size,
        direction=direction,
        cv=cv,
        scoring="neg_mean_squared_error",
    )
    selector.fit(case.X, case.Y[:, 0])
    return np.flatnonzero(selector.get_support()).tolist()


@pytest.mark.parametrize("name", sorted(SPLITTERS))
def test_choices_and_scores_are_scikit_learns(name):
    case = make("tall", m=40, n=8, seed=len(name), alpha=2.0)
    y = case.Y[:, 0]
    splits = splits_of(name, 40)
    splitter = SPLITTERS[name] if name != "predefined" else splits
    groups = groups_of(40) if "group" in name else None
    model = SparseRLSRegressor(5, alpha=2.0, cv=splitter, choose=3, standardize=False).fit(
        case.X, y, groups=groups
    )
    assert sorted(model.selected_) == sequential(case, splits, 3)
    for size in range(1, 6):
        X = case.X[:, model.path_.subset(size)]
        scores = -cross_val_score(Ridge(2.0), X, y, cv=splits, scoring="neg_mean_squared_error")
        assert_allclose(model.path_.error(size), scores.mean(), rtol=1e-9)
        if len(splits) > 1:
            se = rls._se_of_parts(scores, [test for _, test in splits], np.ones(40))
            assert_allclose(model.path_.error_se(size), se, rtol=1e-7)
        else:
            assert np.isnan(model.path_.error_se(size))
        refit = Ridge(2.0).fit(X, y)
        assert_allclose(model.path_.coef(size)[:, 0], refit.coef_, rtol=1e-8)
        assert_allclose(model.path_.intercept(size), refit.intercept_, rtol=1e-8)
    assert np.isclose(
        model.path_.error(0), np.mean([((y[b] - y[a].mean()) ** 2).mean() for a, b in splits])
    )


def test_backward_is_scikit_learns():
    case = make("tall", m=40, n=8, seed=3)
    model = SparseRLSRegressor(search="backward", cv=KFold(5), choose=3, standardize=False).fit(
        case.X, case.Y[:, 0]
    )
    assert sorted(model.selected_) == sequential(case, KFold(5), 3, "backward")


def test_several_targets_are_summed():
    case = make("targets", m=30, n=6, T=3, seed=4)
    model = SparseRLSRegressor(4, cv=KFold(3), standardize=False).fit(case.X, case.Y)
    for size in (1, 4):
        X = case.X[:, model.path_.subset(size)]
        scores = cross_val_score(Ridge(), X, case.Y, cv=KFold(3), scoring="neg_mean_squared_error")
        assert_allclose(model.path_.error(size), -3 * scores.mean(), rtol=1e-9)


def test_stratified_folds_for_a_classifier():
    from sparsepath import SparseRLSClassifier
    from sparsepath.data.splits import splits_of

    case = make("tall", m=30, n=6, seed=5, classification=True)
    y = np.where(case.Y[:, 0] > 0, "yes", "no")
    splits = splits_of(3, case.X, y, classifier=True)
    shares = [np.mean(y[test] == "yes") for _, test in splits]
    assert np.ptp(shares) <= 0.1
    one = SparseRLSClassifier(4, cv=3, standardize=False).fit(case.X, y)
    other = SparseRLSClassifier(4, cv=splits, standardize=False).fit(case.X, y)
    judge = judge_of(case, error=rls.kfold_error(splits))
    assert one.path_.subsets == other.path_.subsets
    assert_allclose(one.path_.errors, [judge.error_of(s) for s in one.path_.subsets], rtol=1e-9)


# --- splits of other kinds ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gram", "products"])
def test_rows_drawn_twice_count_twice(name):
    """A bootstrap draws training rows with replacement; the others are its test part."""
    case = make("tall", m=20, n=8, seed=6, weighted=True)
    rng = np.random.default_rng(0)
    splits = []
    for _ in range(3):
        train = rng.integers(0, 20, 20)
        splits.append((train, np.setdiff1d(np.arange(20), train)))
    splits.append((np.arange(15), np.array([15, 15, 16, 17, 18, 19])))
    judge = judge_of(case, error=rls.kfold_error(splits))
    with route(name):
        design = design_of(case.X, case.sw, "three")
        for how in ("forward", "floating"):
            trail = search(design, case.Y, case.alpha, 4, splits=splits, search=how)
            for step in trail.steps.values():
                assert_allclose(step.error, judge.error_of(step.subset), rtol=1e-9)


@pytest.mark.parametrize("name", ["gram", "products"])
@pytest.mark.parametrize("kind", ["masks", "negative", "lists", "unsorted"])
def test_splits_as_numpy_indexes_with_them(name, kind):
    case = make("tall", m=18, n=7, seed=7)
    plain = splits_of("kfold", 18)
    if kind == "masks":
        given = [(np.isin(np.arange(18), a), np.isin(np.arange(18), b)) for a, b in plain]
    elif kind == "negative":
        given = [(a - 18, b - 18) for a, b in plain]
    elif kind == "lists":
        given = [(a.tolist(), b.tolist()) for a, b in plain]
    else:
        given = [(a[::-1], np.roll(b, 2)) for a, b in plain]
    with route(name):
        one, other = (
            SparseRLSRegressor(4, cv=cv).fit(case.X, case.Y[:, 0]) for cv in (plain, given)
        )
    assert one.path_.subsets == other.path_.subsets
    assert_allclose(one.path_.errors, other.path_.errors, rtol=1e-12)


def test_a_generator_is_used_once_and_remembered():
    case = make("tall", m=18, n=5, seed=8)
    y = case.Y[:, 0]
    model = SparseRLSRegressor(3, cv=KFold(3).split(case.X))
    first = model.fit(case.X, y).path_.errors.tolist()
    assert model.fit(case.X, y).path_.errors.tolist() == first


def test_a_test_part_of_weight_zero_is_left_out():
    case = make("tall", m=18, n=5, seed=9)
    splits = splits_of("kfold", 18)
    w = np.ones(18)
    w[splits[1][1]] = 0.0
    judge = Judge(case.X, case.Y, 1.0, sw=w, error=rls.kfold_error(splits))
    trail = search(design_of(case.X, w), case.Y, 1.0, 4, splits=splits)
    check_forward(trail, judge, 4)


@pytest.mark.parametrize(
    ("splits", "weights"),
    [
        ([], None),
        ([(np.arange(0), np.arange(18))], None),
        ([(np.arange(6), np.arange(6, 18))], np.repeat([0.0, 1.0], [6, 12])),
        ([(np.arange(6, 18), np.arange(6))], np.repeat([0.0, 1.0], [6, 12])),
    ],
    ids=["none", "empty training part", "training part of weight zero", "only test part of zero"],
)
def test_splits_without_samples_are_refused(splits, weights):
    case = make("tall", m=18, n=4)
    with pytest.raises(InputError, match="cv"):
        SparseRLSRegressor(cv=splits).fit(case.X, case.Y[:, 0], sample_weight=weights)


def test_rows_that_do_not_exist_are_refused():
    case = make("tall", m=18, n=4)
    with pytest.raises((InputError, IndexError)):
        SparseRLSRegressor(cv=[(np.arange(12), np.arange(12, 19))]).fit(case.X, case.Y[:, 0])


def test_criteria_that_are_not_known_are_refused():
    case = make("tall", m=18, n=4)
    with pytest.raises(InputError, match="loo"):
        SparseRLSRegressor(cv="kfold").fit(case.X, case.Y[:, 0])
    with pytest.raises(InputError, match="squared"):
        SparseRLSRegressor(cv=3, loss="zero_one").fit(case.X, case.Y[:, 0])


# --- where sums of products lose digits -----------------------------------------------------------


@pytest.mark.parametrize("name", ["gram", "products"])
@pytest.mark.parametrize("kind", ["scaled", "offset", "collinear"])
@pytest.mark.parametrize("alpha", [1e-8, 0.0])
def test_hard_columns(name, kind, alpha):
    """Up to what squared condition numbers allow, the errors are those of refits."""
    for seed in range(3):
        case = make(kind, m=30, n=7, alpha=alpha, seed=seed)
        splits = splits_of("shuffled", 30)
        judge = judge_of(case, error=rls.kfold_error(splits))
        rtol = 1e-6 if kind == "collinear" else 1e-8
        with route(name):
            for how in ("forward", "floating", "backward"):
                trail = search(
                    design_of(case.X),
                    case.Y,
                    alpha,
                    0 if how == "backward" else 6,
                    splits=splits,
                    search=how,
                )
                for step in trail.steps.values():
                    assert_allclose(step.error, judge.error_of(step.subset), rtol=rtol)
                assert len(trail.steps) >= 7


@pytest.mark.parametrize("how", ["forward", "floating", "swap"])
@pytest.mark.parametrize("targets", [1, 3])
def test_products_of_columns_may_come_from_the_rows(monkeypatch, how, targets):
    case = make("tall", m=60, n=23, T=targets, weighted=True, seed=6)
    splits = list(KFold(4, shuffle=True, random_state=0).split(case.X))
    asked = {"search": how, "splits": splits}
    plain = search(design_of(case.X, case.sw), case.Y, 0.1, 9, **asked)
    monkeypatch.setattr(TUNING, "split_gram_numbers", 1)
    monkeypatch.setattr(split_sums, "READ_ONCE", -np.inf)
    for cached in (1, 1 << 40):  # products from all rows, or from those of each part in turn
        monkeypatch.setattr(TUNING, "read_from_cache", cached)
        compiled = search(design_of(case.X, case.sw), case.Y, 0.1, 9, **asked)
        moves = [[(m.action, m.feature) for m in of.moves] for of in (plain, compiled)]
        assert moves[0] == moves[1]
        errors = [[m.error for m in of.moves] for of in (plain, compiled)]
        assert_allclose(errors[0], errors[1], rtol=1e-10)
