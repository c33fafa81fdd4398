"""What must not matter: the order of rows and columns, threads, blocks, other sizes, units."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from experiments import paper_sets
from problems import Case, make, problems
from rls.comparing import (
    FORMS,
    LAYOUTS,
    Judge,
    correlated,
    design_of,
    examples,
    same_steps,
    search,
    subsets,
    weights_of,
)
from slow_twins import rls
from sparsepath import SparseRLSClassifier, SparseRLSRegressor
from sparsepath.data.blocks import SparseBlock, row_blocks
from sparsepath.rls.criteria.table import CLASSES
from sparsepath.rls.design import Design
from sparsepath.rls.driver import run
from sparsepath.rls.parameters import SearchSpec
from sparsepath.system.threads import Threads
from sparsepath.system.tuning import TUNING

SEARCHES = ("forward", "floating", "backward", "swap")
KINDS = ("tall", "wide", "targets", "scaled", "offset", "sparse", "collinear")


def size_for(case, how, most=5):
    counted = int(np.count_nonzero(weights_of(case)))
    return 0 if how == "backward" else min(most, case.X.shape[1], counted - 3)


def one(case, how="forward", layout="one", **options):
    design = design_of(case.X, weights_of(case), layout)
    return search(design, case.Y, case.alpha, size_for(case, how), search=how, **options)


def close(a, b, empty):
    """Equal sets, or a tie: then what follows may differ."""
    for k in sorted(a.steps):
        if k not in b.steps or set(a.steps[k].subset) != set(b.steps[k].subset):
            other = b.steps[k].error if k in b.steps else np.nan
            assert_allclose(a.steps[k].error, other, rtol=1e-8, atol=1e-12 * empty)
            return
        assert_allclose(b.steps[k].error, a.steps[k].error, rtol=1e-9, atol=1e-13 * empty)


@examples(25)
@given(problems(kinds=KINDS), st.sampled_from(SEARCHES), st.randoms(use_true_random=False))
def test_the_order_of_rows(case, how, random):
    order = list(range(len(case.X)))
    random.shuffle(order)
    sw = None if case.sw is None else case.sw[order]
    other = Case(case.X[order], case.Y[order], case.alpha, sw, case.name)
    a, b = one(case, how), one(other, how)
    close(a, b, a.steps[max(a.steps)].error if how == "backward" else a.steps[0].error)


@examples(25)
@given(problems(kinds=KINDS), st.sampled_from(SEARCHES), st.randoms(use_true_random=False))
def test_the_order_of_columns(case, how, random):
    order = list(range(case.X.shape[1]))
    random.shuffle(order)
    other = Case(case.X[:, order], case.Y, case.alpha, case.sw, case.name)
    a, b = one(case, how), one(other, how)
    for step in b.steps.values():
        object.__setattr__(step, "subset", tuple(order[i] for i in step.subset))
    close(a, b, a.steps[max(a.steps)].error if how == "backward" else a.steps[0].error)


@pytest.mark.parametrize("alpha", [1.0, 1e-3, 0.0])
@pytest.mark.parametrize("form", ["auto", "memory", "passes", "splits"])
def test_equal_columns_go_to_the_lowest_index(alpha, form):
    case = make("tall", m=40, n=6, seed=1)
    X = np.hstack([case.X, case.X[:, ::-1], case.X])
    options = {"splits": list(KFold(4).split(X))} if form == "splits" else {"form": form}
    trail = search(design_of(X), case.Y, alpha, 6, **options)
    copies = [{i, 11 - i, 12 + i} for i in range(6)]
    taken: set[int] = set()
    for feature in trail.steps[6].subset:
        same = next(group for group in copies if feature in group)
        assert feature == min(same - taken)
        taken.add(feature)
    if alpha == 0:  # copies are collinear
        assert sorted(trail.steps[6].subset) == list(range(6))


@pytest.mark.parametrize("loss", ["squared", "absolute", "zero_one", "balanced"])
@pytest.mark.parametrize("how", ["forward", "floating", "swap"])
def test_ties_go_to_the_lowest_index_in_every_form(loss, how):
    case = make("ties", m=24, n=6, seed=2, classification=True)
    X = np.hstack([case.X, case.X])
    for form in FORMS[loss]:
        first = search(design_of(X), case.Y, 1.0, 1, loss=loss, form=form, search=how)
        left = [i for i in range(12) if np.ptp(X[:, i])]
        for by in (loss, "squared"):  # equal counts are settled by squares, equal squares by index
            errors = np.array([rls.loo_error(X[:, [i]], case.Y, 1.0, loss=by)[0] for i in left])
            left = np.array(left)[errors <= errors.min() * (1 + 1e-11)].tolist()
            if loss == "absolute":
                break
        assert first.steps[1].subset == (left[0],)


def test_equal_columns_are_dropped_lowest_index_first():
    case = make("tall", m=20, n=4, seed=3)
    X = np.hstack([case.X, case.X])
    trail = search(design_of(X), case.Y, 1.0, 0, search="backward")
    for move, twin in pairwise(trail.moves):
        if abs(move.feature - twin.feature) == 4:
            assert move.feature < twin.feature
    first = trail.moves[0].feature
    assert first < 4


@pytest.mark.parametrize("how", SEARCHES)
@pytest.mark.parametrize("options", [{}, {"loss": CLASSES["absolute"]}, {"splits": 3}], ids=str)
def test_the_number_of_threads_changes_no_bit(how, options):
    case = make("targets" if options == {} else "tall", m=90, n=15, T=2, seed=4, weighted=True)
    options = dict(options)
    if "splits" in options:
        options["splits"] = list(KFold(3).split(case.X))
    trails = []
    for threads in (1, 2, 5):
        with Threads(threads) as crew:
            blocks = row_blocks(case.X, 7)
            design = Design(blocks, case.sw, crew)
            size = 5 if how == "backward" else 8
            task = SearchSpec(search=how, size=size, candidates=tuple(range(15)), **options)
            trails.append(run(design, case.Y, case.alpha, task))
    first, *others = trails
    for other in others:
        assert [(m.action, m.feature, m.error) for m in first.moves] == [
            (m.action, m.feature, m.error) for m in other.moves
        ]
        for k, step in first.steps.items():
            again = other.steps[k]
            assert (step.subset, step.error, step.error_se) == (
                again.subset,
                again.error,
                again.error_se,
            )
            assert np.array_equal(step.coef, again.coef)
            assert np.array_equal(step.intercept, again.intercept)


def test_the_number_of_threads_of_an_estimator_changes_no_bit(monkeypatch):
    monkeypatch.setattr(TUNING, "block_numbers", 200)
    monkeypatch.setattr(TUNING, "block_rows", 10)
    case = make("tall", m=120, n=12, seed=5)
    for X in (case.X, np.asfortranarray(case.X), sp.csr_array(case.X)):
        assert len(row_blocks(X)) > 1
        coefs = [
            SparseRLSRegressor(6, n_threads=n, choose=6).fit(X, case.Y[:, 0]).coef_
            for n in (1, 2, 3, None)
        ]
        for coef in coefs:
            assert np.array_equal(coef, coefs[0])


@pytest.mark.parametrize("how", SEARCHES)
def test_the_number_of_blocks(how):
    for kind in ("tall", "collinear", "offset"):
        case = make(kind, m=40, n=9, seed=6, weighted=True, alpha=0.1)
        first, *others = [one(case, how, layout) for layout in LAYOUTS]
        for trail in others:
            same_steps(first, trail)
        sparse = sp.csr_array(case.X)
        cuts = (0, 2, 3, 30, 40)
        blocks = [SparseBlock(sparse[a:b].tocsc()) for a, b in pairwise(cuts)]
        design = Design(blocks, case.sw, Threads(1))
        size = size_for(case, how)
        same_steps(first, search(design, case.Y, case.alpha, size, search=how))


@pytest.mark.parametrize("how", ["forward", "floating", "swap"])
@pytest.mark.parametrize("options", [{}, {"cv": 3}, {"loss": "absolute"}], ids=str)
def test_a_size_does_not_depend_on_the_largest_size_asked_for(how, options):
    case = correlated(3, m=30, n=10)
    y = case.Y[:, 0]
    paths = {
        k: SparseRLSRegressor(k, alpha=case.alpha, search=how, **options).fit(case.X, y).path_
        for k in (2, 4, 7)
    }
    for k in (2, 4):
        moves, more = paths[k].moves, paths[7].moves[: len(paths[k].moves)]
        assert [(m.action, m.feature) for m in moves] == [(m.action, m.feature) for m in more]
        assert_allclose([m.error for m in moves], [m.error for m in more], rtol=1e-12)
        if how == "forward":
            assert paths[k].subsets == paths[7].subsets[: k + 1]
            assert_allclose(paths[k].errors, paths[7].errors[: k + 1], rtol=1e-12)


def test_standardized_paths_do_not_know_units():
    case = make("tall", m=40, n=6, seed=7)
    y = case.Y[:, 0]
    units = 10.0 ** np.array([-6, 3, 0, 5, -2, 1])
    shift = np.array([0, 10, -3, 0, 5, 100])
    plain = SparseRLSRegressor(5, standardize=True, choose=5).fit(case.X, y)
    other = SparseRLSRegressor(5, standardize=True, choose=5).fit(case.X * units + shift * units, y)
    assert plain.path_.subsets == other.path_.subsets
    assert_allclose(plain.path_.errors, other.path_.errors, rtol=1e-8)
    assert_allclose(plain.coef_, other.coef_ * units, rtol=1e-7)


def test_a_shift_of_target_and_columns_does_not_matter_with_an_intercept():
    case = make("tall", m=40, n=6, seed=8)
    plain = one(case)
    moved = one(Case(case.X + 1000.0, case.Y - 77.0, case.alpha, None, ""))
    same_steps(plain, moved, rtol=1e-8)


# --- real data ------------------------------------------------------------------------------------


def need(name):
    if name not in paper_sets.available():
        pytest.skip(f"the data set {name} is absent; set {paper_sets.VARIABLE} to its folder")
    return paper_sets.load(name)


@pytest.mark.parametrize(
    ("name", "rows", "size"),
    [
        ("australian", 230, 2),
        ("german_numer", 200, 3),
        ("boston_housing", 253, 2),
        ("colon_cancer", 62, 2),
    ],
)
def test_real_data_against_the_twin(name, rows, size):
    data = need(name)
    every = max(1, len(data.y) // rows)
    X = StandardScaler().fit_transform(data.X[::every].astype(float))
    y = data.y[::every]
    if name == "colon_cancer":
        X = X[:, :120]
    classes = name != "boston_housing"
    Y = np.where(y == y.max(), 1.0, -1.0)[:, None] if classes else y[:, None].astype(float)
    model = (SparseRLSClassifier if classes else SparseRLSRegressor)(
        size, choose="min", standardize=False
    )
    path = model.fit(X, Y[:, 0]).path_
    judge = Judge(X, Y, 1.0)
    for k in range(size + 1):
        value, se = judge.score(path.subset(k))
        assert_allclose((path.error(k), path.error_se(k)), (value, se), rtol=1e-9)
    # A first choice by refits of everything, and that no later step could have been better.
    for k in range(size if name != "colon_cancer" else 1):
        best = judge.best_addition(path.subset(k))
        assert best[1] == path.subset(k + 1)


@pytest.mark.parametrize("name", ["australian", "german_numer", "boston_housing"])
@pytest.mark.parametrize("how", ["forward", "backward"])
def test_real_data_in_folds_against_the_twin(name, how):
    data = need(name)
    X = StandardScaler().fit_transform(data.X.astype(float))
    y = data.y.astype(float)
    splits = list(KFold(4, shuffle=True, random_state=0).split(X))
    error = rls.kfold_error(splits)
    options = {"size": 3} if how == "forward" else {"size": X.shape[1] - 2}
    trail = search(design_of(X), y[:, None], 1.0, splits=splits, search=how, **options)
    if how == "forward":
        path = rls.wrapper_forward(X, y[:, None], 3, 1.0, error=error)
    else:
        path = rls.backward(X, y[:, None], X.shape[1] - 2, 1.0, error=error)
    found = subsets(trail)
    for subset, value, se in path:
        step = trail.steps[len(subset)]
        assert set(found[len(subset)]) == set(subset)
        assert_allclose((step.error, step.error_se), (value, se), rtol=1e-9)


def test_diabetes_in_raw_units_against_the_twin():
    data = paper_sets.diabetes()
    X, Y = data.X[::3], data.y[::3, None]
    for loss in ("squared", "absolute"):
        path = rls.wrapper_forward(X, Y, 3, 1.0, loss)
        model = SparseRLSRegressor(3, loss=loss, standardize=False).fit(X, Y[:, 0])
        assert model.path_.subsets == [subset for subset, _, _ in path]
        assert_allclose(model.path_.errors, [value for _, value, _ in path], rtol=1e-9)
        assert_allclose(model.path_.errors_se, [se for _, _, se in path], rtol=1e-9)
