"""Searches over splits in the compiled core: every way through it against refits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold, LeaveOneGroupOut, ShuffleSplit, TimeSeriesSplit

from problems import Case, make, problems
from rls.comparing import Judge, check_forward, design_of, examples, judge_of, search, weights_of
from slow_twins import rls
from sparsepath import SparseRLSRegressor
from sparsepath.rls.criteria.losses import ResidualLoss
from sparsepath.rls.criteria.table import CLASSES, NUMBERS
from sparsepath.rls.folds import moments as split_sums
from sparsepath.rls.folds.losses import FoldLossModel
from sparsepath.rls.folds.model import FoldModel
from sparsepath.rls.pairs.queries import DisagreementModel, Order
from sparsepath.system.tuning import TUNING

SPLITTERS = {
    "three": KFold(3),
    "six": KFold(6, shuffle=True, random_state=1),
    "drawn": ShuffleSplit(4, test_size=0.3, train_size=0.5, random_state=0),
    "time": TimeSeriesSplit(3),
    "groups": LeaveOneGroupOut(),  # of few rows and of many
}
PRODUCTS = ("gram", "parts", "blocks", "rows")


def splits_of(name, m):
    groups = np.minimum(np.arange(m) // 2, 4) if name == "groups" else None
    return list(SPLITTERS[name].split(np.zeros((m, 1)), groups=groups))


def take_products_from(patch, how):
    """Products of columns from Gram matrices, from the rows part by part, or from all rows.

    "blocks" keeps what is left of the rows instead, where the splits are folds.
    """
    if how != "gram":
        patch.setattr(TUNING, "split_gram_numbers", 1)
        patch.setattr(split_sums, "READ_ONCE", -np.inf)
    patch.setattr(TUNING, "read_from_cache", 1 << 40 if how in ("parts", "blocks") else 1)
    patch.setattr(split_sums, "FEW_ROWS", 1 << 40 if how == "blocks" else 0)


@st.composite
def fold_problems(draw, **options):
    case = draw(problems(**options))
    splits = splits_of(draw(st.sampled_from(sorted(SPLITTERS))), len(case.X))
    w = weights_of(case)
    if any(w[part].sum() == 0 for pair in splits for part in pair):
        case = Case(case.X, case.Y, case.alpha, None, case.name)
    return case, splits, draw(st.booleans())


def check(problem, how="gram", most=7, layout="one", **options):
    """A search as far as every training part has room for, against refits."""
    case, splits, pooled = problem
    w = weights_of(case)
    least = min(np.count_nonzero(w[train]) for train, _ in splits)
    size = max(1, min(most, case.X.shape[1], least - 2))
    with pytest.MonkeyPatch.context() as patch:
        take_products_from(patch, how)
        design = design_of(case.X, w, layout, **options)
        trail = search(design, case.Y, case.alpha, size, splits=splits, pooled=pooled)
    error = rls.kfold_error(splits, pooled)
    check_forward(trail, judge_of(case, error=error, **options), size)


@examples(80)
@given(
    fold_problems(max_m=24, max_n=12), st.sampled_from(PRODUCTS), st.sampled_from(["one", "uneven"])
)
def test_squared_errors_against_refits(problem, how, layout):
    check(problem, how, layout=layout)


@examples(25)
@given(
    fold_problems(kinds=["tall", "wide", "targets", "sparse"], max_m=20, max_n=9),
    st.sampled_from(PRODUCTS),
)
def test_without_intercept(problem, how):
    check(problem, how, fit_intercept=False)


@examples(25)
@given(
    fold_problems(kinds=["tall", "duplicate", "targets", "ties"], alphas=[0.0], max_m=20),
    st.sampled_from(PRODUCTS),
)
def test_by_ordinary_least_squares(problem, how):
    check(problem, how)


@pytest.mark.parametrize("how", ["floating", "swap"])
def test_what_is_left_of_rows_and_sums_of_products_are_one_criterion(monkeypatch, how):
    case = make("wide", m=60, n=700, alpha=0.3, weighted=True, seed=2)
    splits = list(KFold(9, shuffle=True, random_state=0).split(case.X))
    trails = []
    for few in (0, 24):
        monkeypatch.setattr(split_sums, "FEW_ROWS", few)
        design = design_of(case.X, case.sw)
        sums = split_sums.SplitSums(design, case.Y, splits, once=True)
        assert (sums.few_rows is None) == (few == 0)
        size, given = 8 if how == "swap" else 25, {"splits": splits, "search": how}
        trails.append(search(design, case.Y, case.alpha, size, sums=sums, **given))
    one, other = trails
    assert [(m.action, m.feature) for m in one.moves] == [
        (m.action, m.feature) for m in other.moves
    ]
    for k, step in one.steps.items():
        assert_allclose(other.steps[k].error, step.error, rtol=1e-9)
        assert_allclose(other.steps[k].error_se, step.error_se, rtol=1e-8)
        assert_allclose(other.steps[k].coef, step.coef, rtol=1e-7, atol=1e-10)


class Named(ResidualLoss):
    """A loss of the user's own: one of the others, by its formula alone."""

    name = "named"

    def __init__(self, loss):
        self.loss = loss

    def of(self, e):
        return self.loss.of(e)


def neighbours(model, squared=False):
    which = np.setdiff1d(np.arange(model.design.n_features), model.chosen)
    return model.additions(which, squared), model.errors_without(squared)


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "in strips"])
@pytest.mark.parametrize("name", ["absolute", "huber", "log_cosh"])
@pytest.mark.parametrize(
    ("splitter", "how"), [("six", "gram"), ("six", "blocks"), ("drawn", "gram")]
)
def test_a_loss_in_python_is_the_loss_of_the_core(monkeypatch, name, splitter, how, kept):
    case = make("tall", m=40, n=9, T=2, weighted=True, seed=3)
    splits, design = splits_of(splitter, 40), design_of(case.X, case.sw)
    take_products_from(monkeypatch, how)
    sums = split_sums.SplitSums(design, case.Y, splits, once=True)
    assert (sums.few_rows is not None) == (how == "blocks")
    sums.memory = np.inf if kept else 0.0
    monkeypatch.setattr(TUNING, "strip_numbers", 100)
    monkeypatch.setattr("sparsepath.rls.folds.losses.RESIDUALS_AT_ONCE", 150)
    for pooled in (False, True):
        core, own = (
            FoldLossModel(design, case.Y, 0.3, splits, pooled, loss, sums)
            for loss in (NUMBERS[name], Named(NUMBERS[name]))
        )
        for feature in (4, 1, 7, 2):
            for model in (core, own):
                model.add(feature)
            assert_allclose(core.error, own.error, rtol=1e-12)
            assert_allclose(core.standard_error(), own.standard_error(), rtol=1e-10)
            for one, other in zip(neighbours(core), neighbours(own), strict=True):
                assert_allclose(one, other, rtol=1e-12)
        trial = core.duplicate()
        trial.drop(1)
        assert_allclose(trial.error, core.errors_without()[1], rtol=1e-9)
        assert core.chosen == [4, 1, 7, 2]


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "in strips"])
@pytest.mark.parametrize(("name", "classes"), [("zero_one", 1), ("balanced", 1), ("zero_one", 3)])
def test_mistakes_are_those_that_numpy_counts(monkeypatch, name, classes, kept):
    case = make("tall", m=60, n=8, T=classes, weighted=True, classification=True, seed=2)
    splits, design = splits_of("six", 60), design_of(case.X, case.sw)
    sums, loss = split_sums.SplitSums(design, case.Y, splits), CLASSES[name]
    sums.memory = np.inf if kept else 0.0
    core = FoldLossModel(design, case.Y, 1.0, splits, False, loss, sums)
    monkeypatch.setattr(type(loss), "kernel", None)
    plain = FoldLossModel(design, case.Y, 1.0, splits, False, loss, sums)
    for feature in (3, 0, 5):
        monkeypatch.undo()
        core.add(feature)
        found = core.error, *neighbours(core), *neighbours(core, squared=True)
        monkeypatch.setattr(type(loss), "kernel", None)
        plain.add(feature)
        expected = plain.error, *neighbours(plain), *neighbours(plain, squared=True)
        for one, other in zip(found, expected, strict=True):
            assert_allclose(one, other, rtol=1e-12)


@examples(40)
@given(
    seed=st.integers(0, 10**6),
    m=st.integers(2, 300),
    targets=st.sampled_from([2, 3, 40]),
    queries=st.sampled_from([1, 4]),
    weighted=st.booleans(),
    scores=st.sampled_from(["normal", "few", "skewed", "equal"]),
)
def test_pairs_in_the_wrong_order(seed, m, targets, queries, weighted, scores):
    """Compared, sorted by buckets or otherwise: against a comparison of all pairs."""
    rng = np.random.default_rng(seed)
    y, query = rng.integers(0, targets, m).astype(float), np.sort(rng.integers(0, queries, m))
    w = rng.choice([0.0, 1.0, 2.5], m) if weighted else np.ones(m)
    s = {
        "normal": rng.standard_normal,
        "few": lambda size: rng.integers(0, 5, size).astype(float),
        "skewed": lambda size: np.exp(12 * rng.standard_normal(size)),
        "equal": np.ones,
    }[scores](m)
    blur = float(rng.choice([0.0, 1e-9, 0.1]))
    above = (y[:, None] > y) & (query[:, None] == query)
    gap = s[:, None] - s
    wrong = np.where(gap < -blur, 1.0, np.where(gap <= blur, 0.5, 0.0))
    # Rounding in s +- blur is no business of the count.
    if np.any(np.abs(np.abs(gap[above]) - blur) < 1e-12 * np.abs(s).max()) and blur:
        return
    order = Order.of(y, w, query)
    if not len(order.rows):
        return
    expected = (above * np.outer(w, w) * wrong).sum()
    found = order.wrong(np.column_stack([s, s]), np.full(2, blur))
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("m", [30, 400])
@pytest.mark.parametrize("spread", [0.0, 1.0, 12.0])  # the last is too skewed for buckets
@pytest.mark.parametrize("blur", [0.0, 0.05])
def test_pairs_of_two_classes_in_the_wrong_order(m, spread, blur):
    rng = np.random.default_rng(m)
    y = np.where(rng.random(m) < 0.4, 1.0, -1.0)
    scores = np.exp(spread * rng.standard_normal((m, 3)))
    gap = scores[y > 0][:, None] - scores[y < 0]
    expected = ((gap < -blur) + 0.5 * (np.abs(gap) <= blur)).sum((0, 1))
    order = Order.of(y, np.ones(m), np.zeros(m, dtype=np.intp))
    assert_array_equal(order.wrong(scores, np.full(3, blur)), expected)


@pytest.mark.parametrize("m", [60, 2000])
def test_the_order_of_scores_is_judged_alike_for_one_model_and_for_many(m):
    rng = np.random.default_rng(m)
    X = np.round(rng.standard_normal((m, 70)), 1)
    Y = np.sign(X[:, :1] + rng.standard_normal((m, 1)) + 0.01)
    design, splits = design_of(X), list(KFold(4).split(X))
    sums = split_sums.SplitSums(design, Y, splits)
    model = DisagreementModel(design, Y, 1.0, False, sums, np.zeros(m, dtype=np.intp))
    for feature in (0, 5):
        model.add(feature)
    errors = model.additions(np.arange(70))
    for i in (1, 30, 63, 69):
        trial = model.duplicate()
        trial.add(i)
        assert_allclose(trial.error, errors[i], rtol=1e-12)
    orders, tests = [], [test for _, test in splits]
    for train, test in splits:
        centred = X[train][:, [0, 5]] - X[train][:, [0, 5]].mean(0)
        w = np.linalg.solve(centred.T @ centred + np.eye(2), centred.T @ Y[train, 0])
        orders.append(X[test][:, [0, 5]] @ w)
    expected = []
    for test, score in zip(tests, orders, strict=True):
        gap = score[Y[test, 0] > 0][:, None] - score[Y[test, 0] < 0]
        expected.append(((gap < -1e-9) + 0.5 * (np.abs(gap) <= 1e-9)).mean())
    assert_allclose(model.error, np.mean(expected), rtol=1e-12)


def doubtful(which):
    """Problems where a training part tells too little of some column, and the penalty."""
    case = make("tall", m=42, n=8, seed=3)
    X = case.X
    if which == "copies":
        X = np.column_stack([X, X[:, 2] * (1 + 1e-9), X[:, 5] + 1e-7 * X[:, 0]])
    elif which == "one fold":  # a column that lives in a single fold, or nearly so
        alone = np.zeros((42, 2))
        alone[:7, 0], alone[:, 1] = 1.0 + np.arange(7), 1e-5 * X[:, 0]
        alone[:7, 1] += X[:7, 1]
        X = np.column_stack([X, alone])
    else:
        X = X * np.logspace(0, -9, 8)
    return Case(X, case.Y + 5 * X[:, -1:] / np.abs(X[:, -1]).max(), 1e-9, None, which)


@pytest.mark.parametrize("how", ["gram", "blocks"])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("which", ["copies", "one fold", "scales"])
def test_rows_are_asked_where_sums_tell_too_little(monkeypatch, which, loss, how):
    take_products_from(monkeypatch, how)
    case, splits = doubtful(which), list(KFold(6).split(np.zeros((42, 1))))
    given = case.Y, case.alpha
    trail = search(design_of(case.X), *given, 8, splits=splits, loss=loss)
    short = search(design_of(case.X), *given, 2, splits=splits, loss=loss)
    judge = Judge(case.X, *given, loss, error=rls.kfold_error(splits))
    for step in trail.steps.values():
        assert_allclose(step.error, judge.error_of(step.subset), rtol=1e-5)
    for k, step in short.steps.items():
        assert step.error == trail.steps[k].error


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_the_number_of_threads_changes_nothing(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 9000))
    y = X[:, :3].sum(1) + rng.standard_normal(40)
    one, two = (
        SparseRLSRegressor(4, cv=4, loss=loss, validation=None, n_threads=threads).fit(X, y).path_
        for threads in (1, 2)
    )
    assert one.subsets == two.subsets
    assert_array_equal(one.errors, two.errors)
    assert_array_equal(one.steps[-1].coef, two.steps[-1].coef)


def test_what_was_dropped_leaves_no_trace():
    case = make("tall", m=40, n=9, T=2, weighted=True, seed=5)
    splits = splits_of("six", 40)
    straight, around = (
        FoldModel(design_of(case.X, case.sw), case.Y, 0.2, splits) for _ in range(2)
    )
    for feature in (3, 8, 1):
        straight.add(feature)
    for feature in (3, 5, 8, 1):
        around.add(feature)
    before = around.errors_without()[1]
    around.drop(5)
    assert_allclose(around.error, before, rtol=1e-10)
    assert around.error == straight.error
    assert_array_equal(around.coef(), straight.coef())
