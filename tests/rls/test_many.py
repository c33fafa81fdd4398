"""Many searches at once are the single searches, to the last feature."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from problems import make, problems
from rls.comparing import check_forward, design_of, examples, judge_of, weights_of
from sparsepath import SparseRLSRegressor
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError
from sparsepath.rls.leave_one_out import whole
from sparsepath.rls.leave_one_out.whole import whole_search
from sparsepath.rls.many import forward_searches
from sparsepath.rls.trail import SearchTrail
from sparsepath.tuning import TUNING


def by_bounds(monkeypatch):
    monkeypatch.setattr("sparsepath.rls.forms.FUSED_STEP", 1e15)


def check(found, i, X, Y, size, weights=None, **options):
    """Problem i is the fit of a regressor."""
    model = SparseRLSRegressor(size, choose="min", **{"standardize": False, **options}).fit(
        X, Y, weights
    )
    path = model.path_
    k = int(found.sizes[i])
    assert k == path.sizes[-1]
    assert tuple(found.subsets[i, :k]) == path.subset(k)
    assert (found.subsets[i, k:] == -1).all()
    assert_allclose(found.errors[i, : k + 1], path.errors, rtol=1e-9)
    assert_allclose(found.errors_se[i, : k + 1], path.errors_se, rtol=1e-7)
    assert np.isnan(found.errors[i, k + 1 :]).all()
    predicted = found.predict(i, X)
    for size in path.sizes:
        assert_allclose(
            predicted[size], model.at_size(size).predict(X).reshape(len(X), -1), atol=1e-8
        )
    assert np.isnan(predicted[k + 1 :]).all()


KINDS = ["tall", "wide", "duplicate", "constant", "collinear", "scaled", "ties", "offset"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"standardize": True}, {"fit_intercept": False}], ids=str)
def test_permutations_of_the_target(kind, options):
    case = make(kind, m=14 if kind == "wide" else 30, n=18 if kind == "wide" else 9, seed=3)
    rng = np.random.default_rng(0)
    Y = np.stack([case.Y, *(rng.permutation(case.Y) for _ in range(4))])
    found = forward_searches(case.X, Y, size=6, alpha=0.5, **options)
    for i in range(5):
        check(found, i, case.X, Y[i], 6, alpha=0.5, **options)


@pytest.mark.parametrize("bounds", [False, True])
def test_several_targets_weights_and_candidates(monkeypatch, bounds):
    if bounds:
        by_bounds(monkeypatch)
    case = make("targets", m=40, n=12, T=3, seed=1)
    weights = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], (4, 40))
    found = forward_searches(
        case.X, case.Y, size=5, weights=weights, candidates=[0, 2, 3, 5, 7, 8, 11]
    )
    for i, w in enumerate(weights):
        check(found, i, case.X, case.Y, 5, w, forbidden=[1, 4, 6, 9, 10])


@pytest.mark.parametrize("bounds", [False, True])
@pytest.mark.parametrize(("order", "kind"), [("C", "offset"), ("F", "tall")])
@pytest.mark.parametrize("others", [False, True], ids=["folds", "and others"])
@pytest.mark.parametrize("likely", [(), (1,)], ids=str)
@pytest.mark.parametrize("options", [{}, {"standardize": True}, {"fit_intercept": False}], ids=str)
def test_parts_of_the_rows(monkeypatch, bounds, order, kind, others, likely, options):
    """Left-out folds and half-samples; by bounds products come from those of all rows.

    If some columns are likely, only products with these and a few more are there from the start.
    """
    if bounds:
        by_bounds(monkeypatch)
    case = make(kind, m=60, n=12, seed=2)
    X = np.asarray(case.X if kind == "offset" else case.X + 3 * case.X[:, :1], order=order)
    rows = [np.delete(np.arange(60), np.arange(i, 60, 5)) for i in range(5)]
    if others:
        rng = np.random.default_rng(1)
        rows += [np.sort(rng.choice(60, 30, replace=False)), rng.choice(60, 60)]
    found = forward_searches(X, case.Y, size=6, rows=rows, likely=likely, **options)
    for i, part in enumerate(rows):
        check(found, i, X[part], case.Y[part], 6, **options)


def test_sparse_data_and_a_single_problem():
    case = make("sparse", m=40, n=10, seed=2)
    X = sp.csr_array(case.X)
    rows = [np.arange(0, 40, 2), np.arange(1, 40, 2)]
    found = forward_searches(X, case.Y, size=4, rows=rows)
    for i, part in enumerate(rows):
        check(found, i, case.X[part], case.Y[part], 4)
    check(forward_searches(case.X, case.Y, size=4), 0, case.X, case.Y, 4)


def test_where_no_candidate_is_left():
    case = make("wide", m=8, n=12, seed=1)
    Y = np.stack([case.Y, case.Y[::-1]])
    found = forward_searches(case.X, Y, size=10, alpha=0.0)
    assert found.sizes.tolist() == [6, 6]
    with pytest.warns(UserWarning, match="ends at size 6"):
        check(found, 1, case.X, Y[1], 10, alpha=0.0)


@pytest.mark.parametrize("bounds", [False, True])
def test_threads_change_no_bit(monkeypatch, bounds):
    if bounds:
        by_bounds(monkeypatch)
    monkeypatch.setattr(TUNING, "threaded_from", 0)
    case = make("tall", m=50, n=10, seed=4)
    rows = [np.delete(np.arange(50), np.arange(i, 50, 7)) for i in range(7)]
    answers = []
    for n in (1, 2, 5):
        with Threads(n) as crew:
            answers.append(forward_searches(case.X, case.Y, size=5, rows=rows, threads=crew))
    for other in answers[1:]:
        for name in ("subsets", "errors", "errors_se", "coef", "intercept"):
            assert np.array_equal(getattr(answers[0], name), getattr(other, name))


def test_problems_must_agree_in_number():
    with pytest.raises(InputError, match=r"\[2, 3\] problems"):
        forward_searches(np.eye(4), np.ones((2, 4, 1)), size=1, weights=np.ones((3, 4)))


@examples(25)
@given(
    problems(max_m=20, max_n=9, alphas=[1.0, 0.01, 0.0]),
    st.sampled_from(["plain", "compiled", "by bounds", "by products"]),
)
def test_whole_searches_against_refits(case, how):
    size = min(5, case.X.shape[1], int(np.count_nonzero(weights_of(case))) - 3)
    design = design_of(case.X, weights_of(case), "three" if how != "by products" else "one")
    options = {"compiled": how == "compiled", "by_bounds": how == "by bounds"}
    if how == "by products":
        options["data"] = raw_columns(design), products_of(design)
    found = whole_search(design, case.Y, case.alpha, size, ~design.constant, **options)
    trail = SearchTrail()
    trail.take(found, "max_features")
    check_forward(trail, judge_of(case), size)


@pytest.mark.parametrize("kept", [1, 3])
def test_a_choice_whose_row_is_no_longer_kept_is_computed_afresh(monkeypatch, kept):
    guards = (*whole.BOUND_GUARDS[:-1], kept)
    monkeypatch.setattr(whole, "BOUND_GUARDS", guards)
    case = make("tall", m=40, n=25, seed=2)
    design = design_of(case.X)
    trail = SearchTrail()
    given = (design, np.random.default_rng(3).standard_normal((40, 1)), 1.0, 8, ~design.constant)
    trail.take(whole_search(*given, by_bounds=True), "max_features")
    plain = SearchTrail()
    plain.take(whole_search(*given, compiled=False), "max_features")
    assert trail.steps[8].subset == plain.steps[8].subset
    assert_allclose(trail.errors, plain.errors, rtol=1e-10)


def raw_columns(design):
    return np.ascontiguousarray(design.blocks[0].columns(np.arange(design.n_features)).T)


def products_of(design):
    """Of columns centred elsewhere, with what brings them back."""
    X, w, mu = raw_columns(design), design.weights, raw_columns(design)[:, 0].copy()
    around = X - mu[:, None]
    off = design.means - mu
    shift = -0.5 * design.total * off
    every = np.arange(len(X))
    return (around * w) @ around.T, np.zeros((0, 0)), shift, off, every


def test_a_fit_that_is_not_watched_is_searched_as_a_whole():
    case = make("tall", m=40, n=9, seed=5)
    alone = SparseRLSRegressor(5).fit(case.X, case.Y[:, 0]).path_
    seen = SparseRLSRegressor(5, callback=lambda path: False).fit(case.X, case.Y[:, 0]).path_
    assert alone.subsets == seen.subsets
    assert_allclose(alone.errors, seen.errors, rtol=1e-12)
    assert alone.stopped == seen.stopped == "max_features"
    assert [(m.action, m.feature) for m in alone.moves] == [
        (m.action, m.feature) for m in seen.moves
    ]
    assert alone.data["form"] == seen.data["form"]
