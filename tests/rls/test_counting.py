"""Losses that count mistakes: ties, the end of the path, scales, and pairs, against refits."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

from problems import make
from rls.comparing import (
    Judge,
    check_backward,
    check_floating,
    check_forward,
    check_swaps,
    design_of,
    examples,
    search,
    subsets,
)
from slow_twins import rls as twin
from sparsepath import InputError, SparseRankRLS, SparseRLSClassifier, honest_error
from sparsepath.rls import ZeroOneByIndex
from sparsepath.rls.criteria.table import CLASSES
from sparsepath.rls.driver import run
from sparsepath.rls.engines import make_design
from sparsepath.rls.pairs.queries import Order
from sparsepath.rls.parameters import SearchSpec
from sparsepath.rls.update import Update
from sparsepath.system.threads import Threads

CHECKS = {
    "forward": check_forward,
    "floating": check_floating,
    "backward": check_backward,
    "swap": check_swaps,
}
COUNTING = ("zero_one", "balanced", "auc")


def churn(seed=0, m=200):
    """An identifier, a postal code, the age that decides, and what was spent."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 63, m)
    spend = rng.exponential(100, m)
    X = np.column_stack([np.arange(1000, 1000 + m), rng.integers(1e4, 1e5, m), age, spend])
    leaves = rng.random(m) < np.where(age > 45, 0.4, 0.02)  # so few that "no" is the best guess
    return X.astype(float), np.where(leaves, "yes", "no")


def expression(seed=0, m=72, n=400):
    """More columns than rows; two of them tell the classes apart, neither is among the first."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) < m // 3, 1.0, -1.0)
    X = rng.standard_normal((m, n))
    X[:, n - 50] += 1.6 * y
    X[:, n // 2] += 1.4 * y
    return X, y


def labelled(seed, m=24, n=7, coarse=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    if coarse:
        X = np.round(X)
    score = X @ (rng.standard_normal(n) * (rng.random(n) < 0.5)) + rng.standard_normal(m)
    return X, np.where(score > np.median(score), 1.0, -1.0), rng


# --- ties -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cv", ["loo", 5])
@pytest.mark.parametrize("loss", COUNTING)
def test_what_decides_comes_before_identifiers(loss, cv):
    X, y = churn()
    path = SparseRLSClassifier(4, loss=loss, cv=cv, standardize=True).fit(X, y).path_
    assert path.subset(1) == (2,)
    if loss == "zero_one":
        assert path.error(1) == pytest.approx(np.mean(y == "yes"))  # a tie with the empty model


@examples(30)
@given(
    st.integers(0, 10**6),
    st.sampled_from(COUNTING),
    st.sampled_from(sorted(CHECKS)),
    st.sampled_from(["loo", "folds"]),
    st.sampled_from([{}, {"feature_costs": True}, {"feature_groups": True}]),
)
def test_the_order_of_columns_does_not_matter(seed, loss, how, cv, options):
    if loss == "auc" and cv == "loo" and "feature_groups" in options:
        return
    X, y, rng = labelled(seed)
    n = X.shape[1]
    given = dict.fromkeys(options, np.array([0, 0, 1, 2, 3, 3, 4]))
    if "feature_costs" in options:
        given["feature_costs"] = rng.choice([0.5, 1.0, 2.0], n)
    order = rng.permutation(n)
    if "feature_groups" in options:  # in a group its columns keep their order
        order = np.array([6, 4, 5, 2, 0, 1, 3])
    how_much = {
        "loss": loss,
        "search": how,
        "cv": StratifiedKFold(3) if cv == "folds" else "loo",
        "choose": "min",
    }
    plain = SparseRLSClassifier(5, **how_much, **given).fit(X, y).path_
    given = {name: values[order] for name, values in given.items()}
    turned = SparseRLSClassifier(5, **how_much, **given).fit(X[:, order], y).path_
    assert [set(order[list(s)]) for s in turned.subsets] == [set(s) for s in plain.subsets]
    assert_allclose(turned.errors, plain.errors, atol=1e-12)


def test_ties_are_settled_alike_in_all_forms_and_on_any_number_of_threads():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 20))
    Y = np.where(X[:, :3].sum(1, keepdims=True) > 2.2, 1.0, -1.0)  # a rare class: many ties
    for loss in ("zero_one", "balanced"):
        for how in sorted(CHECKS):
            trails = []
            for form in ("memory", "auto", "passes"):
                for threads in (1, 3):
                    with Threads(threads) as crew:
                        design = make_design(X, np.ones(60), crew, n_blocks=3)
                        size = 0 if how == "backward" else 6
                        task = SearchSpec(
                            how, size, loss=CLASSES[loss], candidates=tuple(range(20)), form=form
                        )
                        trails.append(run(design, Y, 1.0, task))
            moves = [[(m.action, m.feature, m.error) for m in trail.moves] for trail in trails]
            assert moves[0] == moves[1]
            assert moves[2] == moves[3]
            assert moves[4] == moves[5]
            for other in (moves[2], moves[4]):
                assert [move[:2] for move in moves[0]] == [move[:2] for move in other]


@pytest.mark.parametrize("loss", COUNTING)
@pytest.mark.parametrize("how", ["floating", "swap"])
def test_a_search_that_is_taken_up_again_settles_ties_alike(loss, how, tmp_path):
    X, y, _ = labelled(5, m=40, n=12)
    options = {"loss": loss, "search": how, "choose": "min"}
    whole = SparseRLSClassifier(8, **options).fit(X, y).path_
    for stop in (1, 3, 6):
        file = tmp_path / f"{stop}.json"
        cut = {"checkpoint": file, "callback": lambda path, stop=stop: len(path.moves) >= stop}
        SparseRLSClassifier(8, **options, **cut).fit(X, y)
        again = SparseRLSClassifier(8, **options, checkpoint=file).fit(X, y).path_
        assert again.subsets == whole.subsets
        assert_array_equal(again.errors, whole.errors)


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("cv", ["loo", "folds"])
def test_costs_and_groups_against_refits(cv, grouped):
    """The gain per cost, of the count and then of the square; groups as one."""
    groups, labels = [[0, 1], [2], [3, 4, 5], [6]], np.array([0, 0, 1, 2, 2, 2, 3])
    if not grouped:
        groups, labels = [[i] for i in range(7)], None
    for seed in range(4):
        X, y, rng = labelled(seed, m=21)
        if seed % 2:  # a rare class: almost everything is a tie
            y = np.where(np.arange(21) < 4, 1.0, -1.0)
        costs = rng.choice([0.5, 1.0, 2.0], 7)
        splits = KFold(3)
        error = twin.loo_error if cv == "loo" else twin.kfold_error(list(splits.split(X)))
        path = SparseRLSClassifier(
            feature_costs=costs,
            feature_groups=labels,
            loss="zero_one",
            cv="loo" if cv == "loo" else splits,
            choose="min",
            standardize=False,
        ).fit(X, y)

        def judged(columns, loss, X=X, y=y, error=error):
            return error(X[:, columns], y[:, None], 1.0, True, None, loss)[0]

        chosen = []
        for _ in range(len(path.path_.sizes) - 1):

            def worth(group, loss, chosen=chosen, judged=judged, costs=costs):
                gain = judged(chosen, loss) - judged(chosen + group, loss)
                cost = costs[group].sum()
                return round(gain / cost if gain > 0 else gain * cost, 12)

            left = [g for g in groups if g[0] not in chosen]
            best = max(left, key=lambda g: (worth(g, "zero_one"), worth(g, "squared")))
            chosen = chosen + best
            assert path.path_.subset(len(chosen)) == tuple(chosen)


def test_equal_exchanges_are_settled_by_squares():
    """What a swap search asks of the best additions after different drops."""
    known = Update("add", 1, 0.25, squared=0.8)
    assert Update("add", 2, 0.25 * (1 + 1e-12), squared=0.7).beats(known, 1e-9)
    assert Update("add", 2, 0.2, squared=0.9).beats(known, 1e-9)
    assert not Update("add", 2, 0.3, squared=0.1).beats(known, 1e-9)
    assert not Update("add", 2, 0.25, squared=0.8).beats(known, 1e-9)
    assert not Update("add", 2, 0.25).beats(Update("add", 1, 0.25), 1e-9)  # nothing was counted
    assert Update("add", 2, 0.0, squared=0.7).beats(Update("add", 1, 0.0, squared=0.8), 1e-9)


# --- the end of the path --------------------------------------------------------------------------


@pytest.mark.parametrize("loss", COUNTING)
@pytest.mark.parametrize("cv", ["loo", 4])
def test_without_mistakes_the_path_ends(loss, cv):
    X, y = expression()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SparseRLSClassifier(30, loss=loss, cv=cv).fit(X, y)
    path = model.path_
    assert path.stopped == "no mistakes left"
    assert path.complete
    assert path.errors[-1] == 0
    assert (path.errors[:-1] > 0).all()
    assert set(path.subset(1)) <= {350, 200}
    longer = SparseRLSClassifier(30, loss=loss, cv=cv, choose=12).fit(X, y)
    assert len(longer.selected_) == max(longer.path_.sizes) == 12
    assert longer.path_.subsets[: len(path.subsets)] == path.subsets
    assert not {0, 1, 2} & set(longer.selected_.tolist())  # the first columns of the file


def test_a_floating_search_without_mistakes_still_drops():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((10, 5))
    y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    X[:, 2] = X[:, 0] + X[:, 1] + 0.6 * rng.standard_normal(10)
    trail = search(design_of(X), y[:, None], 1.0, 5, loss="zero_one", search="floating")
    assert [move.action for move in trail.moves] == ["add", "add", "add", "drop"]
    assert trail.moves[-2].error == trail.moves[-1].error == 0
    assert trail.stopped == "no mistakes left"
    check_floating(trail, Judge(X, y[:, None], 1.0, "zero_one"), 5)
    back = search(design_of(X), y[:, None], 1.0, 0, loss="zero_one", search="backward")
    assert min(back.steps) == 0  # a backward search goes on


def test_ranking_without_mistakes_ends():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6))
    path = SparseRankRLS(6, loss="disagreement").fit(X, X[:, 4]).path_
    assert path.subsets == [(), (4,)]
    assert path.stopped == "no mistakes left"


# --- scales ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1.0, 1e10])
@pytest.mark.parametrize("scale", [1.0, 1e-7])
def test_small_units_and_large_penalties_are_no_ties(scale, alpha):
    """A large penalty on small columns: only the direction of the coefficients is left."""
    rng = np.random.default_rng(0)
    y = np.r_[np.ones(50), -np.ones(50)]
    X = rng.standard_normal((100, 6))
    X[:, 2] += 1.5 * y
    folds = StratifiedKFold(5)
    reference = 1e-4 if scale < 1 or alpha > 1 else 1.0
    for loss in ("zero_one", "balanced"):
        if scale < 1 and alpha > 1:
            continue  # scores of 1e-22 beside labels of one
        for options in ({"cv": folds}, {"fit_intercept": False}):
            plain = SparseRLSClassifier(
                3, loss=loss, choose=3, alpha=1.0, **options, standardize=False
            )
            plain.fit(reference * X, y)
            far = SparseRLSClassifier(
                3, loss=loss, choose=3, alpha=alpha, **options, standardize=False
            )
            far.fit(scale * X, y)
            assert far.path_.subset(1) == plain.path_.subset(1) == (2,)
            assert far.path_.error(1) == pytest.approx(plain.path_.error(1))
    for cv in ("loo", folds):
        far = SparseRLSClassifier(
            3, loss="auc", cv=cv, alpha=alpha, choose=3, standardize=False
        ).fit(scale * X, y)
        plain = SparseRLSClassifier(3, loss="auc", cv=cv, choose=3, standardize=False).fit(
            reference * X, y
        )
        assert far.path_.subsets == plain.path_.subsets
        assert_allclose(far.path_.errors, plain.path_.errors)
        assert far.path_.error(1) < 0.2
    ranked = SparseRankRLS(3, loss="disagreement", alpha=alpha, choose=3, standardize=False).fit(
        scale * X, X[:, 2]
    )
    assert ranked.path_.subset(1) == (2,)
    assert ranked.path_.error(1) == 0
    assert ranked.score(scale * X, X[:, 2]) > 0.99


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_auc_over_folds_is_that_of_scikit_learn_at_any_scale(scale, weighted):
    X, y, rng = labelled(3, m=60, coarse=True)
    X = scale * X
    weights = rng.integers(1, 4, 60).astype(float) if weighted else np.ones(60)
    folds = StratifiedKFold(4)
    model = SparseRLSClassifier(4, loss="auc", cv=folds, choose=4, standardize=False)
    path = model.fit(X, y, sample_weight=weights).path_
    for subset, error in zip(path.subsets, path.errors, strict=True):
        areas = []
        for train, test in folds.split(X, y):
            coef, _ = twin.ridge(X[train][:, subset], y[train, None], 1.0, sw=weights[train])
            scores = (X[test][:, subset] @ coef)[:, 0]
            scores = np.round(scores / (np.abs(scores).max() or 1.0), 9)  # exact ties are ties
            areas.append(roc_auc_score(y[test], scores, sample_weight=weights[test]))
        assert error == pytest.approx(1 - np.mean(areas), abs=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e6])
def test_equal_rows_of_different_classes_are_ties(scale):
    rng = np.random.default_rng(2)
    half = scale * rng.standard_normal((20, 4)) + 0.1 * scale
    X, y = np.vstack([half, half]), np.repeat([1.0, -1.0], 20)
    other = scale * rng.standard_normal((14, 4)), np.repeat([1.0, -1.0], 7)
    same = [(np.arange(40, 54), np.arange(40))]  # equal rows have equal scores
    Z, t = np.vstack([X, other[0]]), np.r_[y, other[1]]
    model = SparseRLSClassifier(4, loss="auc", choose=4, cv=same, standardize=False)
    path = model.fit(Z, t).path_
    assert_allclose(path.errors, 0.5)
    # Each row is left out with its equal of the other class: no score tells them apart.
    X, Y = half[:4, :1].repeat(2, 0), np.tile([1.0, -1.0], 4)[:, None]
    trail = search(design_of(X), Y, 1.0, 1, loss="auc")
    assert trail.steps[1].error == pytest.approx(twin.auc_leave_pair_out(X, Y, 1.0)[0])


# --- pairs ----------------------------------------------------------------------------------------


@examples(20)
@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(CHECKS)),
    st.sampled_from([0.0, 1e-3, 1.0, 30.0]),
    st.booleans(),
    st.booleans(),
)
def test_auc_by_pairs_against_refits(seed, how, alpha, fit_intercept, weighted):
    X, y, rng = labelled(seed, m=11, n=4, coarse=bool(seed % 2) and alpha > 0)
    weights = rng.choice([0.5, 1.0, 2.0], 11) if weighted else None
    size = 0 if how == "backward" else 3
    design = design_of(X, weights, fit_intercept=fit_intercept)
    trail = search(design, y[:, None], alpha, size, loss="auc", search=how)
    error = twin.auc_leave_pair_out
    judge = Judge(X, y[:, None], alpha, "auc", fit_intercept, sw=weights, error=error)
    CHECKS[how](trail, judge, size)


@examples(20)
@given(st.integers(0, 10**6), st.sampled_from(sorted(CHECKS)), st.booleans())
def test_auc_over_folds_against_refits(seed, how, weighted):
    X, y, rng = labelled(seed, m=20, n=5, coarse=bool(seed % 2))
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], 20) if weighted else np.ones(20)
    splits = list(StratifiedKFold(3, shuffle=True, random_state=seed % 50).split(X, y))
    if any(len(np.unique(y[b][weights[b] > 0])) < 2 for _, b in splits):
        return
    size = 0 if how == "backward" else 3
    options = {"loss": "auc", "search": how, "splits": splits}
    judge = Judge(X, y[:, None], 1.0, "auc", sw=weights, error=twin.auc_kfold_error(splits))
    trail = search(design_of(X, weights), y[:, None], 1.0, size, **options)
    CHECKS[how](trail, judge, size)


def test_the_standard_error_of_auc_knows_weights():
    X, y, rng = labelled(4, m=14, n=3)
    whole = rng.integers(1, 4, 14).astype(float)
    for weights in (np.ones(14), whole, rng.uniform(0.1, 5.0, 14)):
        path = (
            SparseRLSClassifier(3, loss="auc", choose=3, standardize=False)
            .fit(X, y, sample_weight=weights)
            .path_
        )
        for subset in path.subsets:
            error = twin.auc_leave_pair_out(X[:, subset], y[:, None], 1.0, sw=weights)
            k = len(subset)
            assert (path.error(k), path.error_se(k)) == pytest.approx(error, rel=1e-9, abs=1e-14)
    a = path.error_se(2)
    heavy = SparseRLSClassifier(3, loss="auc", choose=3, standardize=False).fit(
        X, y, sample_weight=1e3 * weights
    )
    assert heavy.path_.error_se(2) == pytest.approx(a, rel=0.5)  # the scale of weights is no size


@examples(40)
@given(st.integers(0, 10**6), st.integers(0, 30), st.sampled_from([0.0, 0.3]))
def test_pairs_in_the_wrong_order_by_sorting(seed, m, blur):
    rng = np.random.default_rng(seed)
    y, queries = rng.integers(0, 4, m).astype(float), rng.integers(0, 3, m)
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], m)
    scores = np.round(rng.standard_normal((m, 3)), 1)
    order = Order.of(y, weights, queries)
    wrong, total = np.zeros(3), 0.0
    for i in range(m):
        for j in range(m):
            if queries[i] == queries[j] and y[i] > y[j]:
                gap = scores[i] - scores[j]
                cost = np.where(gap < -blur - 1e-12, 1.0, np.where(gap > blur + 1e-12, 0.0, 0.5))
                wrong += weights[i] * weights[j] * cost
                total += weights[i] * weights[j]
    assert order.total == pytest.approx(total)
    got = order.wrong(scores, np.full(3, blur + 1e-12))
    assert_allclose(got, wrong, atol=1e-12)


def peak(task):
    """The most memory that a task holds at once, in bytes."""
    tracemalloc.start()
    try:
        task()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_pairs_are_not_written_out():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 2))
    y = X[:, 0] + rng.standard_normal(6000) > 0
    few = SparseRLSClassifier(1, loss="auc", cv=2)
    few.fit(X[:50], y[:50])  # what is compiled and imported is no part of it
    assert peak(lambda: few.fit(X, y)) < 8e6  # 2.2 million pairs in each test part
    for loss in ("squared", "disagreement"):
        model = SparseRankRLS(1, loss=loss)
        model.fit(X[:50], X[:50, 1])
        matrix = 8 * 700**2
        assert peak(lambda model=model: model.fit(X[:700], X[:700, 1])) < 3.5 * matrix


# --- P X in memory --------------------------------------------------------------------------------


def test_many_ties_are_told_apart_as_from_the_columns():
    case = make("tall", m=25, n=18, seed=5)
    Y = np.where(np.arange(25)[:, None] < 3, 1.0, -1.0)  # all predict the larger class
    trails = [
        search(design_of(case.X), Y, 50.0, 4, loss="zero_one", form=form)
        for form in ("auto", "passes", "memory")
    ]
    assert subsets(trails[0]) == subsets(trails[1]) == subsets(trails[2])
    judge = Judge(case.X, Y, 50.0, "zero_one")
    check_forward(trails[0], judge, 4)


def test_auc_needs_two_classes_in_some_test_part():
    X, y, _ = labelled(0)
    with pytest.raises(InputError, match="none of the 12 test parts has samples of both classes"):
        SparseRLSClassifier(loss="auc", cv=KFold(12)).fit(X[np.argsort(y)], np.sort(y))


@pytest.mark.parametrize("loss", ["zero_one", "balanced"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("search", ["forward", "backward"])
def test_equal_scores_count_alike_in_criterion_and_honest_error(loss, n_classes, search):
    """Balanced folds leave the empty model without a decision: the first class, as in predict."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), 20 // n_classes * 2)
    X, folds = rng.standard_normal((len(y), 3)), StratifiedKFold(4)
    options = {"loss": loss, "search": search, "cv": folds, "pooled": True}
    model = SparseRLSClassifier(**options, validation=None).fit(X, y)
    found = honest_error(model, X, y, validation=folds)  # without a calibration
    counts = {len(test) for _, test in folds.split(X, y)}
    assert len(counts) == 1, "parts weigh alike"
    ends = [0, -1]  # no features and all of them: nothing is chosen in between
    assert_allclose(model.path_.errors[ends], found.errors[ends])
    assert model.path_.error(0) == pytest.approx(1 - 1 / n_classes)
    assert (model.at_size(0).predict(X) == 0).all()


def test_equal_scores_of_leave_one_out_are_those_of_predict():
    """A column of few values, without an intercept: some scores left out are exactly zero."""
    x = np.array([0.0, 0, 0, 0, 1, 1, -1, -1])
    y = np.array([0, 1, 0, 0, 1, 1, 0, 0])
    options = {"loss": "zero_one", "fit_intercept": False, "standardize": False}
    model = SparseRLSClassifier(**options, validation=None, choose=1).fit(x[:, None], y)
    assert model.path_.error(1) == pytest.approx(1 / 8), "the second class at zero"
    swapped = SparseRLSClassifier(**options, validation=None, choose=1).fit(-x[:, None], 1 - y)
    assert swapped.path_.error(1) == pytest.approx(3 / 8), "the first class is the other"
    empty = [one.path_.error(0) for one in (model, swapped)]
    assert empty == pytest.approx([3 / 8, 5 / 8])


# --- the paper's rule for ties --------------------------------------------------------------------


@pytest.mark.parametrize("cv", ["loo", KFold(4)], ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_of_equal_error_rates_the_lowest_index_is_chosen(seed, cv):
    X, y, _ = labelled(seed, m=20, n=8 if seed % 2 else 40)
    splits = [] if cv == "loo" else [*cv.split(X)]

    def rate(subset):
        if cv == "loo":
            return twin.loo_error(X[:, subset], y[:, None], 1.0, False, None, "zero_one")[0]
        one = np.ones(len(y))
        return twin.kfold_error(splits)(X[:, subset], y[:, None], 1.0, False, one, "zero_one")[0]

    chosen, rates = [], []
    for _ in range(6):
        found = {j: round(rate([*chosen, j]), 9) for j in range(X.shape[1]) if j not in chosen}
        chosen.append(min(found, key=lambda j: (found[j], j)))
        rates.append(found[chosen[-1]])
    given = {"fit_intercept": False, "standardize": False, "validation": None, "choose": 6}
    model = SparseRLSClassifier(6, alpha=1.0, loss=ZeroOneByIndex(), cv=cv, **given).fit(X, y)
    assert list(model.path_.subset(6)) == chosen
    assert_allclose(model.path_.errors[1:], rates, atol=1e-8)
    assert model.path_.criterion.endswith("zero-one error")
