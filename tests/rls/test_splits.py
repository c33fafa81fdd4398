"""Splits: read as they are meant, named by what they do, judged as what they are."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn import model_selection as ms

from problems import make
from rls.comparing import design_of, search, subsets
from slow_twins import rls
from sparsepath import (
    InputError,
    SparseKernelRLSRegressor,
    SparseRankRLS,
    SparseRLSClassifier,
    SparseRLSRegressor,
)
from sparsepath.errors import PathWarning
from sparsepath.rls.folds import moments as split_sums
from sparsepath.rls.folds.splits import label_of, overlap, standard_error
from sparsepath.system.tuning import TUNING

M = 24
GROUPS = np.arange(M) % 6


def data(seed=0, m=M, n=5):
    case = make("tall", m=m, n=n, seed=seed)
    return case.X, case.Y[:, 0]


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cv", "groups", "criterion"),
    [
        ("loo", None, "leave-one-out squared error"),
        (ms.LeaveOneOut(), None, "leave-one-out squared error"),
        (ms.KFold(M), None, "leave-one-out squared error"),
        (3, None, "3-fold squared error"),
        (np.int64(3), None, "3-fold squared error"),
        (ms.KFold(4, shuffle=True, random_state=0), None, "4-fold squared error"),
        (ms.PredefinedSplit(np.arange(M) % 3), None, "3-fold squared error"),
        (
            ms.RepeatedKFold(n_splits=3, n_repeats=4, random_state=0),
            None,
            "squared error, 3-fold, 4 times",
        ),
        (ms.ShuffleSplit(7, random_state=0), None, "squared error, 7 shuffle splits"),
        (ms.TimeSeriesSplit(4), None, "squared error, 4 time splits"),
        (ms.LeavePOut(2), None, "leave-2-out squared error"),
        (ms.GroupKFold(3), GROUPS, "squared error, 3-fold by groups"),
        (ms.LeaveOneGroupOut(), GROUPS, "leave-one-group-out squared error"),
        (ms.LeavePGroupsOut(2), GROUPS, "leave-2-groups-out squared error"),
        (
            ms.GroupShuffleSplit(3, random_state=0),
            GROUPS,
            "squared error, 3 shuffle splits by groups",
        ),
        ([(np.arange(9), np.arange(9, 14)), (np.arange(5), np.arange(5, 9))], None, "splits"),
        ("loo", GROUPS, "leave-one-group-out squared error"),
        (3, GROUPS, "squared error, 3-fold by groups"),
        (np.int32(3), GROUPS, "squared error, 3-fold by groups"),
    ],
)
def test_the_criterion_says_what_was_done(cv, groups, criterion):
    X, y = data()
    model = SparseRLSRegressor(2, cv=cv, choose="min").fit(X, y, groups=groups)
    if criterion == "splits":
        criterion = "squared error, 2 splits"
    assert model.path_.criterion == criterion


def test_names_of_plain_lists():
    everyone = np.arange(6)
    halves = [(everyone[:3], everyone[3:]), (everyone[3:], everyone[:3])]
    assert label_of(halves) == "2-fold"
    assert label_of(halves * 3) == "2-fold, 3 times"
    assert label_of(halves[:1]) == "1 split"
    assert label_of([*halves, halves[0]]) == "3 splits"
    assert label_of([(everyone[everyone != i], [i]) for i in range(6)]) == "leave-one-out"


# --- groups ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("cv", ["loo", 3, np.int64(3)])
@pytest.mark.parametrize("kind", ["regressor", "classifier", "kernel", "ranker"])
def test_groups_are_kept_whole(cv, kind):
    X, y = data(1)
    make_model = {
        "regressor": lambda cv: SparseRLSRegressor(3, cv=cv, choose="min"),
        "classifier": lambda cv: SparseRLSClassifier(3, cv=cv, choose="min"),
        "kernel": lambda cv: SparseKernelRLSRegressor(3, cv=cv, choose="min"),
        "ranker": lambda cv: SparseRankRLS(3, cv=cv, choose="min"),
    }[kind]
    target = y > np.median(y) if kind == "classifier" else y
    explicit = ms.LeaveOneGroupOut() if cv == "loo" else ms.GroupKFold(3)
    got, expected = (make_model(c).fit(X, target, groups=GROUPS).path_ for c in (cv, explicit))
    assert got.subsets == expected.subsets
    assert_allclose(got.errors, expected.errors, rtol=1e-12)
    assert got.criterion == expected.criterion


@pytest.mark.parametrize(
    ("cv", "groups", "message"),
    [
        ("loo", np.zeros(M), "only one group"),
        (9, GROUPS, "more than the 6 groups"),
        (3, np.arange(5), "group of each"),
    ],
)
def test_groups_that_do_not_do(cv, groups, message):
    with pytest.raises(InputError, match=message):
        SparseRLSRegressor(cv=cv).fit(*data(), groups=groups)


def test_fewer_groups_than_the_usual_folds_are_left_out_one_at_a_time():
    (X, y), few = data(), GROUPS % 3
    found, expected = (SparseRLSRegressor(cv=cv).fit(X, y, groups=few).path_ for cv in (5, "loo"))
    assert found.subsets == expected.subsets
    assert_allclose(found.errors, expected.errors, rtol=1e-12)


# --- leave-one-out in other clothes ---------------------------------------------------------------


def leave_one_out_in_every_form():
    everyone = np.arange(M)
    pairs = [(everyone[everyone != i], [i]) for i in np.random.default_rng(0).permutation(M)]
    yield from (ms.LeaveOneOut(), ms.KFold(M), ms.LeavePOut(1), pairs, iter(pairs))


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_leave_one_out_is_recognised(monkeypatch, loss):
    X, y = data(2)
    monkeypatch.setattr(split_sums.SplitSums, "__init__", None)  # it would be called for splits
    expected = SparseRLSRegressor(3, loss=loss).fit(X, y).path_
    for cv in leave_one_out_in_every_form():
        path = SparseRLSRegressor(3, cv=cv, loss=loss).fit(X, y).path_
        assert path.criterion == expected.criterion
        assert path.errors.tolist() == expected.errors.tolist()
        assert [path.error_se(k) for k in path.sizes] == [
            expected.error_se(k) for k in expected.sizes
        ]


def test_what_is_not_quite_leave_one_out_is_not():
    X, y = data(3)
    everyone = np.arange(M)
    pairs = [(everyone[everyone != i], everyone[[i]]) for i in range(M)]
    twice = [*pairs[:-1], pairs[0]]
    less = [*pairs[:-1], (everyone[:-2], everyone[[-1]])]
    repeated = [*pairs[:-1], (np.r_[everyone[:-2], 0], everyone[[-1]])]
    for splits in (pairs[:-1], twice, less, repeated, [*pairs, pairs[0]]):
        model = SparseRLSRegressor(2, cv=splits, choose="min", standardize=False).fit(X, y)
        assert "splits" in model.path_.criterion
        error = rls.kfold_error(splits)
        for k in (0, 1, 2):
            expected = error(X[:, model.path_.subset(k)], y[:, None], 1.0)
            assert_allclose(model.path_.error(k), expected[0], rtol=1e-9)
            assert_allclose(model.path_.error_se(k), expected[1], rtol=1e-7)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_leave_one_out_with_weights_is_one_criterion_in_every_form(loss):
    X, y = data(4)
    w = np.random.default_rng(0).random(M) + 0.1
    w[:3] = 0
    given = {"loss": loss, "standardize": False, "validation": None}
    expected = SparseRLSRegressor(2, **given).fit(X, y, sample_weight=w).path_
    for cv in leave_one_out_in_every_form():
        path = SparseRLSRegressor(2, cv=cv, **given).fit(X, y, sample_weight=w).path_
        assert path.criterion == expected.criterion
        assert path.errors.tolist() == expected.errors.tolist()
    for k in (0, 1, 2):  # losses count with their weights
        reference = rls.loo_error(X[:, expected.subset(k)], y[:, None], 1.0, sw=w, loss=loss)
        assert_allclose(expected.error(k), reference[0], rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "zero_one", "auc"])
def test_many_parts_are_read_one_by_one(monkeypatch, loss):
    case = make("tall", m=60, n=6, seed=5, classification=True, weighted=True)
    splits = list(ms.ShuffleSplit(12, test_size=0.2, random_state=0).split(case.X))
    splits.append((np.r_[np.arange(30), np.arange(30)], np.arange(30, 60)))
    trails = []
    for many, gram in ((99, 0), (2, 0), (99, 1 << 25)):
        monkeypatch.setattr(TUNING, "many_parts", many)
        monkeypatch.setattr(TUNING, "split_gram_numbers", gram)
        for X in (case.X, sp.csr_array(case.X)):
            design = design_of(X, case.sw)
            trails.append(search(design, case.Y, 1.0, 3, splits=splits, loss=loss))
    for trail in trails[1:]:
        assert subsets(trail) == subsets(trails[0])
        for k, step in trail.steps.items():
            assert_allclose(step.error, trails[0].steps[k].error, rtol=1e-10)


# --- parts that do not count ----------------------------------------------------------------------


def test_an_empty_test_part_is_told_of_and_not_counted():
    X, y = data(6)
    everyone = np.arange(M)
    splits = [(everyone[:12], everyone[12:]), (everyone[12:], everyone[:12]), (everyone, [])]
    with pytest.warns(PathWarning, match="1 of 3 test parts"):
        model = SparseRLSRegressor(2, cv=splits, choose="min").fit(X, y)
    assert model.path_.criterion == "squared error, 3 splits, 2 of 3 parts"
    plain = SparseRLSRegressor(2, cv=splits[:2], choose="min").fit(X, y)
    assert_allclose(model.path_.errors, plain.path_.errors, rtol=1e-12)


def test_parts_with_one_class_have_no_area():
    X, y = data(7)
    labels = y > np.quantile(y, 0.3)
    order = np.argsort(labels, kind="stable")
    X, labels = X[order], labels[order]
    with pytest.warns(PathWarning, match="6 of 7 test parts do not have samples of both classes"):
        model = SparseRLSClassifier(2, loss="auc", cv=ms.KFold(7), choose="min").fit(X, labels)
    assert model.path_.criterion == "AUC error, 7-fold, 1 of 7 parts"
    with pytest.raises(InputError, match="both classes"):
        SparseRLSClassifier(2, loss="auc", cv=ms.LeaveOneOut()).fit(X, labels)
    with pytest.raises(InputError, match="positive weight"):
        SparseRLSRegressor(cv=[(np.arange(9), np.arange(9, M))]).fit(
            X, y, sample_weight=np.r_[np.ones(9), np.zeros(M - 9)]
        )


# --- standard errors ------------------------------------------------------------------------------


def test_repeats_are_not_independent():
    """Standard errors of one run of folds and of ten are much the same."""
    X, y = data(8, m=100, n=6)
    folds = ms.KFold(5, shuffle=True, random_state=0)
    once = SparseRLSRegressor(4, cv=folds, standardize=False).fit(X, y).path_
    often = ms.RepeatedKFold(n_splits=5, n_repeats=10, random_state=0)
    ten = SparseRLSRegressor(4, cv=often, standardize=False).fit(X, y).path_
    ratios = [ten.error_se(k) / once.error_se(k) for k in ten.sizes]
    assert 0.6 < np.mean(ratios) < 1.7
    splits = list(often.split(X))
    error = rls.kfold_error(splits)
    for k in ten.sizes:
        assert_allclose(ten.error_se(k), error(X[:, ten.subset(k)], y[:, None], 1.0)[1], rtol=1e-7)


def test_the_standard_error_is_right_on_average():
    """Losses drawn at random: the squared standard error is the variance of the mean."""
    rng = np.random.default_rng(0)
    m = 30
    tests = [rng.permutation(m)[: rng.integers(4, 12)] for _ in range(12)]
    w = rng.random(m) + 0.2
    c = overlap(tests, w)
    means, squares = [], []
    for _ in range(4000):
        loss = rng.standard_normal(m)
        parts = np.array([np.average(loss[t], weights=w[t]) for t in tests])
        means.append(parts.mean())
        squares.append(standard_error(parts, c) ** 2)
    assert_allclose(np.mean(squares), np.var(means), rtol=0.1)
    assert overlap([np.arange(4), np.arange(4, 9)], np.ones(9)) == pytest.approx(1.0)
    assert overlap([np.arange(4), np.arange(4)] * 3, np.ones(9)) == pytest.approx(6.0)
    assert np.isnan(standard_error(np.ones(6), 6.0))


def test_a_single_split_falls_back_to_the_least_error():
    X, y = data(9)
    split = ms.ShuffleSplit(1, test_size=0.4, random_state=0)
    with pytest.warns(PathWarning, match="minimum error is used instead"):
        model = SparseRLSRegressor(4, cv=split).fit(X, y)
    assert len(model.selected_) == model.path_.choose("min")
    seen = []
    with pytest.warns(PathWarning, match="minimum error") as told:
        SparseRLSRegressor(4, cv=split, callback=seen.append).fit(X, y)
    assert len(told) == 1
    assert len(seen) == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SparseRLSRegressor(4, cv=split, choose="min").fit(X, y)


# --- what is kept in memory -----------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["zero_one", "balanced", "absolute", "auc"])
@pytest.mark.parametrize("search_name", ["forward", "floating", "backward"])
def test_test_rows_in_strips_give_the_same(monkeypatch, loss, search_name):
    case = make("tall", m=40, n=7, seed=10, classification=True, weighted=True)
    splits = list(ms.KFold(4).split(case.X))
    size = 0 if search_name == "backward" else 4
    kept = search(design_of(case.X, case.sw), case.Y, 1.0, size, search=search_name, splits=splits,
                  loss=loss)  # fmt: skip
    monkeypatch.setattr(TUNING, "kept_of_sparse", 0)
    monkeypatch.setattr(TUNING, "strip_numbers", 80)
    runs = [(sp.csr_array(case.X), None), (case.X, 0.0)]
    for X, memory in runs:
        trail = search(design_of(X, case.sw), case.Y, 1.0, size, search=search_name, splits=splits,
                       loss=loss, memory=memory)  # fmt: skip
        assert subsets(trail) == subsets(kept)
        for k, step in trail.steps.items():
            assert_allclose(step.error, kept.steps[k].error, rtol=1e-10)


def test_sparse_data_stay_sparse(monkeypatch):
    """Nothing as large as samples times features is made of sparse data."""
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 3000), density=0.01, rng=rng, format="csr")
    y = np.where(X[:, :40].sum(1) + 0.1 * rng.standard_normal(60) > 0.2, 1, -1)
    from sparsepath.rls.design import Design

    monkeypatch.setattr(TUNING, "kept_of_sparse", 1000)
    monkeypatch.setattr(TUNING, "strip_numbers", 60 * 100)
    monkeypatch.setattr(TUNING, "split_gram_numbers", 0)
    columns, rows, widest = Design.columns, Design.rows, []

    def few_columns(self, which):
        widest.append(len(which) * self.n_samples)
        return columns(self, which)

    def no_rows(self, part):
        widest.append(len(part) * self.n_features)
        return rows(self, part)

    monkeypatch.setattr(Design, "columns", few_columns)
    monkeypatch.setattr(Design, "rows", no_rows)
    for options in ({"cv": 3}, {"cv": 3, "loss": "auc"}, {"loss": "auc"}):
        given = {"loss": "zero_one", **options}
        sparse = SparseRLSClassifier(2, choose="min", **given).fit(X, y).path_
        assert max(widest) <= 60 * 100
        dense = SparseRLSClassifier(2, choose="min", **given).fit(X.toarray(), y).path_
        widest.clear()
        assert sparse.subsets == dense.subsets
        assert_allclose(sparse.errors, dense.errors, rtol=1e-10)


def test_leaving_out_pairs_of_sparse_samples_in_strips(monkeypatch):

    case = make("collinear", m=24, n=6, seed=11, classification=True)
    kept = search(design_of(case.X), case.Y, 1.0, 4, search="floating", loss="auc")
    monkeypatch.setattr(TUNING, "kept_of_sparse", 0)
    monkeypatch.setattr(TUNING, "strip_numbers", 48)
    trail = search(design_of(sp.csr_array(case.X)), case.Y, 1.0, 4, search="floating", loss="auc")
    assert subsets(trail) == subsets(kept)
    for k, step in trail.steps.items():
        assert_allclose(step.error, kept.steps[k].error, rtol=1e-10)
