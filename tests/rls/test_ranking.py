"""Ranking: the same choices and errors as refitting on all pairs, written out one by one."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, LeaveOneGroupOut, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rls.comparing import (
    Judge,
    check_backward,
    check_floating,
    check_forward,
    check_swaps,
    design_of,
    examples,
    search,
)
from slow_twins import rls
from sparsepath import InputError, SparseRankRLS
from sparsepath.rls.criteria.pairs import pairs_weigh
from sparsepath.rls.pairs import model as pairs
from sparsepath.rls.pairs.queries import vary_within
from sparsepath.system.tuning import TUNING

LOSSES = ("squared", "disagreement")
CHECKS = {
    "forward": check_forward,
    "floating": check_floating,
    "backward": check_backward,
    "swap": check_swaps,
}


class RankJudge(Judge):
    """The twin's view; a column that is constant within all queries is not eligible."""

    def __init__(self, *args, groups=None, **options):
        self.groups = groups
        super().__init__(*args, **options)
        codes = np.zeros(len(self.X)) if groups is None else np.asarray(groups)
        sw = np.ones(len(self.X)) if self.sw is None else self.sw
        spread = sum(
            np.ptp(self.X[(codes == code) & (sw > 0)], axis=0)
            for code in np.unique(codes)
            if np.any((codes == code) & (sw > 0))
        )
        self.eligible = [i for i in self.eligible if spread[i] > 0]


def ranked(seed, m=9, n=4, levels=None, spread=0.0):
    """Samples, a target in levels if asked, queries of uneven sizes with offsets of their own."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    queries = np.sort(rng.integers(0, max(2, m // 4), m))
    y = X @ rng.standard_normal(n) + rng.standard_normal(m)
    if levels:
        y = np.digitize(y, np.quantile(y, np.linspace(0, 1, levels + 1)[1:-1])).astype(float)
    return X, y + spread * queries, queries, rng


def checked(trail, judge, how, size):
    # Coefficients are checked apart: they are not those of plain ridge regression.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rls.comparing.check_model", check_model)
        CHECKS[how](trail, judge, size)


def check_model(step, judge):
    X = judge.X[:, list(step.subset)]
    coef = rls.rank_rls(X, judge.Y[:, 0], judge.alpha, judge.groups, judge.sw)
    assert_allclose(step.coef[:, 0], coef, rtol=1e-7, atol=1e-9)
    sw = np.ones(len(X)) if judge.sw is None else judge.sw
    assert_allclose(sw @ (X @ step.coef + step.intercept - judge.Y), 0, atol=1e-8 * sw.sum())


@examples(12)
@given(
    st.integers(0, 10**6),
    st.sampled_from(LOSSES),
    st.sampled_from(sorted(CHECKS)),
    st.sampled_from([0.0, 1e-3, 1.0, 30.0]),
)
def test_leaving_out_pairs(seed, loss, how, alpha):
    X, y, _, _ = ranked(seed, m=9, levels=3 if seed % 2 else None)
    size = 0 if how == "backward" else 3
    zeros = np.zeros(len(X), dtype=np.intp)
    trail = search(design_of(X), y[:, None], alpha, size, loss=loss, search=how, queries=zeros)
    judge = RankJudge(X, y[:, None], alpha, loss, error=rls.rank_leave_pair_out)
    checked(trail, judge, how, size)


@examples(40)
@given(
    st.integers(0, 10**6),
    st.sampled_from(LOSSES),
    st.sampled_from(sorted(CHECKS)),
    st.sampled_from(["queries", "folds of queries", "cut", "shuffled", "no queries"]),
    st.sampled_from([1e-3, 1.0, 30.0]),
    st.booleans(),
    st.booleans(),
)
def test_splits(seed, loss, how, kind, alpha, pooled, weighted):
    X, y, queries, rng = ranked(seed, m=16, levels=3 if seed % 3 else None, spread=5.0)
    if seed % 4 == 0:
        X[:, 1] = queries  # it says nothing about the order within a query
    weights = rng.integers(0, 3, len(X)).astype(float) if weighted else np.ones(len(X))
    groups = None if kind == "no queries" else queries
    splitter = {
        "queries": LeaveOneGroupOut(),
        "folds of queries": GroupKFold(2),
        "cut": KFold(3, shuffle=True, random_state=seed % 100),
        "shuffled": ShuffleSplit(2, test_size=0.4, train_size=0.5, random_state=seed % 100),
        "no queries": KFold(3),
    }[kind]
    whole = kind in ("queries", "folds of queries")
    splits = list(splitter.split(X, y, queries if whole else None))
    codes = np.zeros(len(X), dtype=np.intp) if groups is None else queries.astype(np.intp)
    assume(all(pairs_weigh(weights[train], codes[train]) > 0 for train, _ in splits))
    assume(np.isfinite(rls.rank_kfold_error(splits, groups)(X, y, 1.0, True, weights, loss)[0]))
    size = 0 if how == "backward" else 3
    twin = rls.rank_kfold_error(splits, groups, pooled)
    judge = RankJudge(X, y[:, None], alpha, loss, sw=weights, error=twin, groups=groups)
    for numbers in (TUNING.split_gram_numbers, 0):  # Gram matrices, or products with the data
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(TUNING, "split_gram_numbers", numbers)
            design = design_of(X, weights, "three")
            vary_within(design, codes, standardize=False)
            options = {"loss": loss, "search": how, "splits": splits, "pooled": pooled}
            trail = search(design, y[:, None], alpha, size, queries=codes, **options)
        checked(trail, judge, how, size)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("groups", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
def test_the_estimator_is_the_twins_path(loss, groups, standardize):
    X, y, queries, _ = ranked(3, m=14, n=5, levels=4)
    given = queries if groups else None
    columns, units = X, np.ones(5)
    if standardize:  # over all pairs of a query, each sample with itself included
        of = queries if groups else np.zeros(14)
        units = np.sqrt(
            np.mean([(X[i] - X[j]) ** 2 / 2 for i, j in np.argwhere(of[:, None] == of)], axis=0)
        )
        X = X / units
    error = rls.rank_leave_pair_out
    if groups:
        error = rls.rank_kfold_error(list(LeaveOneGroupOut().split(X, y, queries)), queries)
    model = SparseRankRLS(4, loss=loss, choose="min", alpha=0.5, standardize=standardize).fit(
        columns, y, groups=given
    )
    for subset, value, se in rls.wrapper_forward(X, y[:, None], 4, 0.5, loss, error=error):
        assert model.path_.subset(len(subset)) == subset
        assert model.path_.error(len(subset)) == pytest.approx(value, rel=1e-9)
        assert model.path_.error_se(len(subset)) == pytest.approx(se, rel=1e-6, abs=1e-9)
    coef = rls.rank_rls(X[:, model.selected_], y, 0.5, given)
    assert_allclose((model.coef_ * units)[model.selected_], coef, rtol=1e-8)
    left_out = "leave-query-out" if groups else "leave-pair-out"
    kind = {"squared": "pairwise squared", "disagreement": "ranking"}[loss]
    assert model.path_.criterion == f"{left_out} {kind} error"


def test_score_is_the_share_of_pairs_in_order():
    X, y, queries, rng = ranked(5, m=40, n=3)
    model = SparseRankRLS(2).fit(X, y)
    tau = kendalltau(y, model.predict(X)).statistic
    assert model.score(X, y) == pytest.approx((tau + 1) / 2)
    two = (y > 0).astype(float)
    weights = rng.uniform(0.5, 2, 40)
    assert model.score(X, two) == pytest.approx(roc_auc_score(two, model.predict(X)))
    weighted = roc_auc_score(two, model.predict(X), sample_weight=weights)
    assert model.score(X, two, sample_weight=weights) == pytest.approx(weighted)
    counted = [
        (roc_auc_score(two[q], model.predict(X)[q]), two[q].sum() * (1 - two[q]).sum())
        for q in (queries == code for code in np.unique(queries))
        if 0 < two[q].mean() < 1
    ]
    by_query = np.average([a for a, _ in counted], weights=[n for _, n in counted])
    assert model.score(X, two, groups=queries) == pytest.approx(by_query)
    nothing = SparseRankRLS(2, choose=0).fit(X, y)
    assert nothing.score(X, y) == 0.5


def test_offsets_of_queries_do_not_matter():
    X, y, queries, rng = ranked(6, m=60, n=6)
    y = X[:, 0] - X[:, 2] + 0.1 * rng.standard_normal(60)
    offsets = 1e3 * rng.standard_normal(queries.max() + 1)
    one = SparseRankRLS(4).fit(X, y, groups=queries)
    other = SparseRankRLS(4).fit(X, y + offsets[queries], groups=queries)
    shifted = SparseRankRLS(4).fit(X + offsets[queries, None], y, groups=queries)
    for model in (other, shifted):
        assert model.path_.subsets == one.path_.subsets
        assert_allclose(model.path_.errors, one.path_.errors, rtol=1e-8)
        assert_allclose(model.coef_, one.coef_, rtol=1e-8)


@pytest.mark.parametrize("groups", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_what_must_not_matter(groups, loss):
    X, y, queries, rng = ranked(8, m=30, n=6, levels=4)
    given = queries if groups else None
    model = SparseRankRLS(5, loss=loss, n_threads=1).fit(X, y, groups=given)
    threads = SparseRankRLS(5, loss=loss, n_threads=2).fit(X, y, groups=given)
    assert_array_equal(threads.path_.errors, model.path_.errors)
    rows, columns = rng.permutation(30), rng.permutation(6)
    by_rows = SparseRankRLS(5, loss=loss).fit(
        X[rows], y[rows], groups=queries[rows] * 7 if groups else None
    )
    assert by_rows.path_.subsets == model.path_.subsets
    assert_allclose(by_rows.path_.errors, model.path_.errors, rtol=1e-10)
    shorter = SparseRankRLS(3, loss=loss).fit(X, y, groups=given)
    assert shorter.path_.subsets == model.path_.subsets[:4]
    sparse = SparseRankRLS(5, loss=loss).fit(sp.csr_array(X), y, groups=given)
    assert sparse.path_.subsets == model.path_.subsets
    if loss == "squared":  # counts have ties, which go to the lowest index
        by_columns = SparseRankRLS(5, loss=loss).fit(X[:, columns], y, groups=given)
        renamed = [tuple(columns[list(s)].tolist()) for s in by_columns.path_.subsets]
        assert renamed == model.path_.subsets
    twice = SparseRankRLS(4, loss=loss).fit(np.hstack([X, X]), y, groups=given)
    assert twice.path_.subset(1)[0] < 6


def test_options_of_the_other_estimators():
    X, y, queries, _ = ranked(10, m=60, n=8)
    labels = [0, 0, 1, 2, 2, 3, 4, 5]
    grouped = SparseRankRLS(feature_groups=labels).fit(X, y, groups=queries)
    assert all((0 in s) == (1 in s) and (3 in s) == (4 in s) for s in grouped.path_.subsets)
    forced = SparseRankRLS(4, forced=[5], forbidden=[0]).fit(X, y, groups=queries)
    assert all(5 in s and 0 not in s for s in forced.path_.subsets)
    cheap = SparseRankRLS(feature_costs=np.arange(1.0, 9.0), budget=6.0).fit(X, y, groups=queries)
    assert all(sum(i + 1 for i in s) <= 6 for s in cheap.path_.subsets)
    several = SparseRankRLS(4, alpha=[0.1, 10.0, 1e4]).fit(X, y, groups=queries)
    for alpha, path in several.paths_.items():
        single = SparseRankRLS(4, alpha=alpha).fit(X, y, groups=queries).path_
        assert_allclose(path.errors, single.errors, rtol=1e-12)
    folds_of_queries = SparseRankRLS(4, cv=3).fit(X, y, groups=queries)
    by_hand = SparseRankRLS(4, cv=GroupKFold(3)).fit(X, y, groups=queries)
    assert_array_equal(folds_of_queries.path_.errors, by_hand.path_.errors)


def test_queries_are_routed():
    X, y, queries, _ = ranked(11, m=48, n=5)
    with sklearn.config_context(enable_metadata_routing=True):
        model = SparseRankRLS(3, choose="min").set_fit_request(groups=True)
        model.set_score_request(groups=True)
        pipe = make_pipeline(StandardScaler(), model)
        grid = GridSearchCV(pipe, {"sparserankrls__alpha": [0.1, 100.0]}, cv=GroupKFold(3))
        grid.fit(X, y, groups=queries)
    scaled = StandardScaler().fit_transform(X)
    alpha = grid.best_params_["sparserankrls__alpha"]
    alone = SparseRankRLS(3, choose="min", alpha=alpha).fit(scaled, y, groups=queries)
    assert_array_equal(grid.best_estimator_[-1].coef_, alone.coef_)


def test_what_cannot_be_ranked_is_refused(monkeypatch):
    X, y, queries, _ = ranked(12, m=20, n=3)
    with pytest.raises(InputError, match="only one query"):
        SparseRankRLS().fit(X, y, groups=np.zeros(20))
    with pytest.raises(InputError, match="constant within every query"):
        SparseRankRLS().fit(X, queries.astype(float), groups=queries)
    with pytest.raises(InputError, match="group of each of the 20 samples"):
        SparseRankRLS().fit(X, y, groups=queries[:-1])
    with pytest.raises(InputError, match="at least 4"):
        SparseRankRLS().fit(X[:3], y[:3])
    with pytest.raises(InputError, match="does not support feature_groups"):
        SparseRankRLS(feature_groups=[0, 0, 1]).fit(X, y)
    with pytest.raises(InputError, match="alpha='loo'"):
        SparseRankRLS(alpha="loo").fit(X, y)
    with pytest.raises(InputError, match="takes one"):
        SparseRankRLS().fit(X, np.column_stack([y, y]))
    monkeypatch.setattr(pairs, "MOST_SAMPLES", 10)
    with pytest.raises(InputError, match="at most 10; there are 20"):
        SparseRankRLS().fit(X, y)


@parametrize_with_checks(
    [
        SparseRankRLS(),
        SparseRankRLS(
            search="swap",
            max_features=2,
            cv=KFold(3, shuffle=True, random_state=0),
            loss="disagreement",
            choose="min",
        ),
    ]
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_contract(estimator, check):
    check(estimator)
