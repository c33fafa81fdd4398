"""The permutation test of the largest gain, and rules that are joined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import binom
from sklearn.base import clone
from sklearn.model_selection import KFold

from problems import problems
from rls.comparing import design_of, examples, weights_of
from slow_twins import rls
from sparsepath import InputError, SparseRankRLS, SparseRLSClassifier, SparseRLSRegressor
from sparsepath.rls import MaxT, PastOneSE, Patience, Tolerance
from sparsepath.rls.significance import p_value, permutations


@examples(15)
@given(
    problems(max_m=14, max_n=5, kinds=("tall", "wide", "targets", "sparse", "offset")),
    st.integers(0, 2),
    st.booleans(),
    st.sampled_from(["one", "uneven"]),
)
def test_the_p_value_is_that_of_literal_permutations(case, size, fit_intercept, layout):
    sw = weights_of(case)
    design = design_of(case.X, sw, layout, fit_intercept=fit_intercept)
    live = [i for i in range(case.X.shape[1]) if np.ptp(case.X[sw > 0, i]) > 0]
    size = min(size, len(live) - 1)
    chosen, feature = live[:size], live[size]
    alpha = max(case.alpha, 1e-6)
    dealt = list(permutations(3, size, 19, int(np.count_nonzero(sw))))
    given = p_value(design, case.Y, alpha, chosen, feature, live, dealt)
    twin = rls.max_t_p_value(
        case.X, case.Y, alpha, chosen, feature, live, dealt, fit_intercept, case.sw
    )
    # Gains that are equal but for rounding may fall on either side.
    assert abs(given - twin) <= 1e-12 or np.ptp(case.Y @ np.ones(case.Y.shape[1])) < 1e-9


def noise(seed, m=30, n=12):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, n)), rng.standard_normal(m)


def test_noise_is_let_in_as_often_as_the_level_says():
    level, runs = 0.2, 400
    rule = MaxT(level, n_permutations=49)
    let_in = sum(
        max(SparseRLSRegressor(1, choose="min", stop=rule).fit(*noise(seed)).path_.sizes)
        for seed in range(runs)
    )
    assert binom.ppf(0.001, runs, level) <= let_in <= binom.ppf(0.999, runs, level)


def test_noise_beside_a_signal_is_let_in_no_more_often():
    level, runs, let_in = 0.2, 200, 0
    for seed in range(runs):
        X, y = noise(seed)
        model = SparseRLSRegressor(2, choose="min", stop=MaxT(level, n_permutations=49))
        path = model.fit(X, y + 5 * X[:, 3]).path_
        assert path.subset(1) == (3,)
        let_in += 2 in path.sizes
    assert let_in <= binom.ppf(0.999, runs, level)


def test_signal_is_found_and_noise_left_out():
    X, y = noise(1, m=120, n=40)
    y = y + X[:, 5] - X[:, 17] + 0.8 * X[:, 30]
    for options in ({}, {"cv": KFold(5)}, {"search": "floating"}, {"search": "swap"}):
        model = SparseRLSRegressor(stop=MaxT(seed=4), choose="min", **options).fit(X, y)
        assert sorted(model.selected_) == [5, 17, 30]
        assert model.path_.stopped == "max_t"
    classes = SparseRLSClassifier(stop=MaxT(0.01), loss="zero_one", choose="min").fit(X, y > 0)
    assert len(classes.selected_)
    assert set(classes.selected_) <= {5, 17, 30}


def test_the_same_seed_the_same_answer_whatever_the_threads(tmp_path):
    X, y = noise(2, m=60, n=20)
    y = y + 0.4 * X[:, 1] + 0.4 * X[:, 2]
    rule = MaxT(0.3, n_permutations=99, seed=5)
    runs = [
        SparseRLSRegressor(stop=rule, choose="min", n_threads=threads).fit(X, y).path_
        for threads in (1, 2, 2)
    ]
    for other in runs[1:]:
        assert other.subsets == runs[0].subsets
        assert_array_equal(other.errors, runs[0].errors)
    # A search that goes on from a checkpoint makes the same test at the same step.
    file = tmp_path / "checkpoint"
    cut = SparseRLSRegressor(
        stop=rule, choose="min", checkpoint=file, callback=lambda path: len(path) > 1
    )
    cut.fit(X, y)
    again = SparseRLSRegressor(stop=rule, choose="min", checkpoint=file).fit(X, y)
    assert again.path_.subsets == runs[0].subsets


def sizes(rule, X, y):
    path = SparseRLSRegressor(12, stop=rule, choose="min").fit(X, y).path_
    return max(path.sizes), path.stopped


def test_rules_are_joined():
    X, y = noise(3, m=60)
    y = y + X[:, 0] + 0.5 * X[:, 1]
    tolerance, patience = sizes(Tolerance(0.05), X, y)[0], sizes(Patience(4), X, y)[0]
    assert tolerance < patience
    assert sizes(Tolerance(0.05) | Patience(4), X, y) == (tolerance, "tolerance")
    both, why = sizes(Tolerance(0.05) & Patience(4), X, y)
    assert both >= patience
    assert why == "tolerance and patience"
    significant = sizes(MaxT(), X, y)[0]
    assert sizes(MaxT() | Patience(4), X, y) == (significant, "max_t")
    later, why = sizes(MaxT() & Patience(4), X, y)
    assert later == max(patience, significant)
    assert why == "max_t and patience"
    assert sizes((lambda trail: "mine" if trail.size == 3 else None) | PastOneSE(), X, y)[1] == (
        "mine" if sizes(PastOneSE(), X, y)[0] > 3 else "one_se"
    )
    assert sizes(PastOneSE() & (lambda trail: "mine"), X, y)[0] == sizes(PastOneSE(), X, y)[0]
    rule = MaxT() & (Patience(2) | Tolerance(0.1))
    assert clone(SparseRLSRegressor(stop=rule)).stop == rule


@pytest.mark.parametrize(
    "options", [{"level": 0.0}, {"level": 1.0}, {"n_permutations": 9}, {"seed": -1}]
)
def test_bad_tests_are_refused(options):
    with pytest.raises(InputError, match="MaxT"):
        MaxT(**options)


def test_where_there_is_no_test():
    X, y = noise(4)
    with pytest.raises(InputError, match="makes none"):
        SparseRLSRegressor(stop=MaxT() | Patience(2), search="backward").fit(X, y)
    with pytest.raises(InputError, match="single columns"):
        SparseRLSRegressor(stop=MaxT(), feature_groups=np.arange(12) // 2).fit(X, y)
    with pytest.raises(InputError, match="not for ranking"):
        SparseRankRLS(stop=MaxT()).fit(X, y)


@pytest.mark.parametrize("kind", ["two", "uniform"])
@pytest.mark.parametrize("signal", [False, True])
def test_weights_that_are_no_inverse_variances_leave_the_level_alone(kind, signal):
    level, runs, let_in = 0.2, 150, 0
    for seed in range(runs):
        X, y = noise(seed, m=24, n=8)
        rng = np.random.default_rng(seed + 10**6)
        w = rng.choice([0.5, 10.0], 24) if kind == "two" else rng.random(24)
        if signal:
            y = y + 20 * X[:, 3]
        model = SparseRLSRegressor(1 + signal, choose="min", stop=MaxT(level, n_permutations=39))
        let_in += 1 + signal in model.fit(X, y, sample_weight=w).path_.sizes
    assert let_in <= binom.ppf(0.999, runs, level)
    assert signal or let_in >= binom.ppf(0.001, runs, level)
