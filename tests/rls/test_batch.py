"""Many searches at once are the single searches, to the last feature."""

from contextlib import nullcontext
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from problems import make, problems
from rls.comparing import check_forward, design_of, examples, judge_of, weights_of
from sparsepath import SparseRLSRegressor
from sparsepath._core import gram_search as core
from sparsepath.rls import resampling
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.rls.engines import make_design, make_model
from sparsepath.rls.history import SearchTrail
from sparsepath.rls.leave_one_out import gram_search
from sparsepath.rls.leave_one_out.gram_search import ProductSearch, by_gram
from sparsepath.rls.leave_one_out.in_memory import InMemory
from sparsepath.rls.parameters import SearchSpec
from sparsepath.rls.resampling import _is_moderate, forward_paths
from sparsepath.rls.shared_moments import Problems
from sparsepath.system.threads import Threads
from sparsepath.system.tuning import TUNING


def forward_searches(X, Y, *, size, threads=None, **given):
    """The paths of all problems."""
    n = X.shape[1]
    allowed = np.isin(np.arange(n), given.pop("candidates", np.arange(n)))
    rows, alpha, likely = given.pop("rows", None), given.pop("alpha", 1.0), given.pop("likely", ())
    problems = Problems(X, Y, np.ones(len(X)), rows, alpha, min(size, n), allowed, given, likely)
    with nullcontext(threads) if threads is not None else Threads() as crew:
        return list(forward_paths(problems, crew))


def by_bounds(monkeypatch):
    monkeypatch.setattr(resampling, "products_pay", lambda *shape: True)


def check(found, X, Y, size, **options):
    """The path of a problem is that of a regressor."""
    model = SparseRLSRegressor(size, choose="min", **{"standardize": False, **options}).fit(X, Y)
    path = model.path_
    assert tuple(found.subset) == path.subset(path.sizes[-1])
    assert_allclose(found.errors, path.errors, rtol=1e-9)
    assert_allclose(found.errors_se, path.errors_se, rtol=1e-7)
    predicted = found.predict(X, np.arange(len(X)))
    assert len(predicted) == len(path.sizes)
    for size in path.sizes:
        assert_allclose(
            predicted[size], model.at_size(size).predict(X).reshape(len(X), -1), atol=1e-8
        )


KINDS = ["tall", "wide", "duplicate", "constant", "collinear", "scaled", "ties", "offset"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"standardize": True}, {"fit_intercept": False}], ids=str)
def test_permutations_of_the_target(kind, options):
    case = make(kind, m=14 if kind == "wide" else 30, n=18 if kind == "wide" else 9, seed=3)
    rng = np.random.default_rng(0)
    Y = np.stack([case.Y, *(rng.permutation(case.Y) for _ in range(4))])
    found = forward_searches(case.X, Y, size=6, alpha=0.5, **options)
    for i in range(5):
        check(found[i], case.X, Y[i], 6, alpha=0.5, **options)


@pytest.mark.parametrize("bounds", [False, True])
def test_several_targets_and_candidates(monkeypatch, bounds):
    if bounds:
        by_bounds(monkeypatch)
    case = make("targets", m=40, n=12, T=3, seed=1)
    rows = [np.delete(np.arange(40), np.arange(i, 40, 5)) for i in range(5)]
    found = forward_searches(case.X, case.Y, size=5, rows=rows, candidates=[0, 2, 3, 5, 7, 8, 11])
    for path, part in zip(found, rows, strict=True):
        check(path, case.X[part], case.Y[part], 5, forbidden=[1, 4, 6, 9, 10])


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
        check(found[i], X[part], case.Y[part], 6, **options)


def test_a_single_problem():
    case = make("sparse", m=40, n=10, seed=2)
    check(forward_searches(case.X, case.Y, size=4)[0], case.X, case.Y, 4)


def test_a_search_in_passes_has_the_same_path(monkeypatch):
    case = make("tall", m=60, n=12, seed=2)
    monkeypatch.setattr(resampling, "make_forward_search", lambda *given: None)
    rows = [np.arange(0, 60, 2), np.arange(1, 60, 2)]
    for path, part in zip(forward_searches(case.X, case.Y, size=4, rows=rows), rows, strict=True):
        check(path, case.X[part], case.Y[part], 4)


def test_where_no_candidate_is_left():
    case = make("wide", m=8, n=12, seed=1)
    Y = np.stack([case.Y, case.Y[::-1]])
    found = forward_searches(case.X, Y, size=10, alpha=0.0)
    assert [len(path.subset) for path in found] == [6, 6]
    with pytest.warns(UserWarning, match="ends at size 6"):
        check(found[1], case.X, Y[1], 10, alpha=0.0)


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
        assert all(map(same_bits, answers[0], other))


def in_memory(design, Y, alpha, size, allowed):
    return InMemory(design, Y, alpha, SQUARED, size).path(size, allowed)


def search_by_gram(*given, least):
    return ProductSearch(*given, by_gram(given[0], given[1], given[3])).in_parts(least)


@examples(25)
@given(
    problems(max_m=20, max_n=9, alphas=[1.0, 0.01, 0.0]),
    st.sampled_from(["in memory", "by products", "by gram"]),
)
def test_whole_searches_against_refits(case, how):
    size = min(5, case.X.shape[1], int(np.count_nonzero(weights_of(case))) - 3)
    design = design_of(case.X, weights_of(case), "three" if how != "by products" else "one")
    given, trail = (design, case.Y, case.alpha, size, ~design.constant), SearchTrail()
    if how == "by gram":
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(TUNING, "told_numbers", 1)
            for found in search_by_gram(*given, least=2):
                trail.take(found)
    elif how == "by products":
        trail.take(ProductSearch(*given, (raw_columns(design), products_of(design))).full_path())
    else:
        trail.take(in_memory(*given))
    check_forward(trail, judge_of(case), size)


def same_bits(one, other):
    return all(np.array_equal(getattr(one, of.name), getattr(other, of.name)) for of in fields(one))


@pytest.mark.parametrize("alpha", [1.0, 1e-6, 0.0])
@pytest.mark.parametrize("kind", [*KINDS, "targets", "long"])
def test_long_searches_in_parts_and_on_threads(monkeypatch, kind, alpha):
    """Rows are written several times; nothing depends on where a search is cut and who shares it.

    The path through the same features, from the columns, has the same errors and coefficients.
    """
    monkeypatch.setattr(TUNING, "threaded_from", 0)
    monkeypatch.setattr(TUNING, "thread_numbers", 1)
    shape = {"wide": (40, 60), "long": (1100, 30)}.get(kind, (90, 30))
    case = make("tall" if kind == "long" else kind, *shape, T=2 if kind == "targets" else 1, seed=3)
    answers = []
    for n_threads, numbers in ((1, 1 << 30), (1, 1), (3, 1)):
        monkeypatch.setattr(TUNING, "told_numbers", numbers)
        with Threads(n_threads) as crew:
            design = make_design(case.X, weights_of(case), crew)
            given = (design, case.Y, alpha, 18, ~design.constant)
            answers.append(list(search_by_gram(*given, least=3)))
    assert len(answers[0]) == 1
    assert len(answers[1]) == len(answers[2]) > 10
    found = answers[0][-1]
    assert same_bits(found, answers[1][-1])
    assert same_bits(found, answers[2][-1])
    assert len(answers[1][0].subset) == 3
    plain = in_memory(*given)
    assert np.array_equal(found.subset, plain.subset)
    assert_allclose(found.errors, plain.errors, rtol=1e-9)
    assert_allclose(found.errors_se, plain.errors_se, rtol=1e-7)
    scales = np.sqrt(design.squares[found.subset])[:, None]
    assert_allclose(found.coef * scales, plain.coef * scales, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("apart", [1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("how", ["products", "gram"])
def test_columns_chosen_beside_ones_nearly_alike(apart, how):
    """Of a column of which little is left, products are not told by those of whole columns."""
    rng = np.random.default_rng(0)
    X, more = rng.standard_normal((2, 60, 12))
    Y = (X + 0.7 * more) @ rng.standard_normal((12, 1)) + rng.standard_normal((60, 1))
    design = design_of(np.hstack([X, X + apart * more]))
    given = (design, Y, 0.0, 20, ~design.constant)
    data = by_gram(design, Y, 20) if how == "gram" else (raw_columns(design), products_of(design))
    found, plain = ProductSearch(*given, data).full_path(), in_memory(*given)
    assert np.array_equal(found.subset, plain.subset)
    assert_allclose(found.errors, plain.errors, rtol=1e-6)


def test_searches_that_use_the_same_memory_one_after_another():
    space, found = core.Space(), []
    for m, n, size in ((90, 30, 18), (40, 9, 5), (90, 30, 18)):
        case = make("targets", m=m, n=n, T=2, seed=m)
        design = design_of(case.X, weights_of(case))
        given = (design, case.Y, 1.0, size, ~design.constant, by_gram(design, case.Y, size))
        found.append(ProductSearch(*given, space).full_path())
        assert same_bits(found[-1], ProductSearch(*given).full_path())
    assert same_bits(found[0], found[2])


@pytest.mark.parametrize("kept", [1, 3])
def test_a_choice_whose_row_is_no_longer_kept_is_computed_afresh(monkeypatch, kept):
    monkeypatch.setattr(gram_search, "rows_kept", lambda m, n: kept)
    case = make("tall", m=40, n=25, seed=2)
    design = design_of(case.X)
    trail = SearchTrail()
    given = (design, np.random.default_rng(3).standard_normal((40, 1)), 1.0, 8, ~design.constant)
    trail.take(ProductSearch(*given, (raw_columns(design), products_of(design))).full_path())
    plain = SearchTrail()
    plain.take(in_memory(*given))
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
    none = np.zeros((0, 0))
    gram = (around * w) @ around.T
    return core.Products(gram, none, shift, off, every, every[:0], none)


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


@pytest.mark.parametrize("others", [False, True], ids=["folds", "halves"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("big", [1e4, 1e9, 1e11])
@pytest.mark.parametrize("columns", [(3, 5), ()], ids=["columns", "target only"])
def test_columns_that_a_part_barely_has(monkeypatch, columns, big, fit_intercept, others):
    """What is left of a large sum after a large one was taken off says nothing."""
    by_bounds(monkeypatch)
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 25))
    X[:, 5] = X[:, 3] + 0.4 * X[:, 5]  # once the one is chosen, the other has little to add
    Y = 2 * X[:, [3]] + X[:, [1]] + X[:, [5]] + rng.standard_normal((80, 1))
    X[0, list(columns)] = (big, -big)[: len(columns)]
    Y[0] = big  # and so of the target
    rows = [np.delete(np.arange(80), np.arange(i, 80, 5)) for i in range(5)]
    if others:
        half = np.sort(rng.permutation(80)[:40])
        rows = [half, np.setdiff1d(np.arange(80), half), *rows[:2]]
    options = {"fit_intercept": fit_intercept}
    found = forward_searches(np.asfortranarray(X), Y, size=6, rows=rows, likely=[1], **options)
    for i, part in enumerate(rows):
        check(found[i], X[part], Y[part], 6, **options)


def test_numbers_of_parts_do_not_depend_on_how_far_and_with_whom_they_are_searched(monkeypatch):
    """Nor on the columns that were thought likely; threads that share sums change no bit."""
    by_bounds(monkeypatch)
    case = make("tall", m=120, n=40, seed=6)
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(3):
        order = rng.permutation(120)
        rows += [np.sort(order[:60]), np.sort(order[60:])]
    X = np.asfortranarray(case.X)
    whole = forward_searches(X, case.Y, size=12, rows=rows)
    for likely in ((), (3,), (5, 7, 11, 2)):
        alone = forward_searches(X, case.Y, size=12, rows=rows, likely=likely, threads=Threads(1))
        for n_threads, size in ((3, 12), (2, 5)):
            with Threads(n_threads) as crew:
                found = forward_searches(
                    X, case.Y, size=size, rows=rows, likely=likely, threads=crew
                )
            for path, full, other in zip(found, whole, alone, strict=True):
                assert np.array_equal(path.subset, full.subset[:size])
                assert_allclose(path.errors, full.errors[: size + 1], rtol=1e-12)
                assert_allclose(path.errors_se, full.errors_se[: size + 1], rtol=1e-12)
                assert_allclose(path.coef, full.coef[: size + 1, :size], rtol=1e-10)
                if size == 12:
                    assert np.array_equal(path.errors, other.errors)
                    assert np.array_equal(path.coef, other.coef)


@examples(60)
@given(
    st.integers(0, 10**6),
    st.integers(0, 5),
    st.sampled_from([1, 3]),
    st.sampled_from(["even", "spiky", "z aimed at", "r aimed at"]),
)
def test_leverage_raises_the_criterion_by_the_lift_at_least(seed, steps, T, kind):
    rng = np.random.default_rng(seed)
    m = 300
    r, z, p = rng.standard_normal((T, m)), rng.standard_normal(m), rng.uniform(0.6, 1.0, m)
    Q = rng.standard_normal((m, max(steps, 1)))
    if kind != "even":
        r[:, 0] *= 20.0
        z[0] = 12.0
    if "aimed" in kind:  # a step takes away what is most of |z w|
        Q[0] = 0.0
        Q[0, 0] = 15.0
    Q = np.linalg.qr(Q)[0].T

    def w():
        return np.linalg.norm(r, axis=0) * p**-1.5

    before = w()
    known = float(np.linalg.norm(z * before)), float((z**4).sum() ** 0.25)
    since = []
    for i, q in enumerate(Q[:steps]):
        t, a = float(z @ q), rng.normal(scale=3.0, size=T)
        if kind == "z aimed at":
            a[:] = 0.0
        if kind == "r aimed at" and not i:
            a, t = r[:, 0] / q[0], 0.0
        row = float(np.linalg.norm(q * before)), float((q**4).sum() ** 0.25)
        z, r, p = z - t * q, r - np.outer(a, q), p - q * q
        since.append((t, *row, float((np.abs(w() - before) ** 4).sum() ** 0.25)))
        before = w()
    assume(p.min() > 0.05)
    pivot = float(z @ z) + rng.choice([0.0, 1.0, 100.0])
    tau = (r @ z) / pivot * ("aimed" not in kind)  # it holds for any
    left = p - z * z / pivot
    assume(left.min() > 0)
    e = r - np.outer(tau, z)
    rise = float((e**2 * (1 / left**2 - 1 / p**2)).sum())
    columns = np.array(since).reshape(-1, 4).T.copy()
    narrow = float(p.min() ** -1.5)
    lifted = core.lift(*known, *columns, narrow, float(np.linalg.norm(tau)), pivot)
    assert 0.0 <= lifted <= rise
    if not steps and kind == "even":
        assert lifted > 0.3 * rise


@pytest.mark.parametrize("alpha", [1e-8, 1e-6, 1e-4])
def test_bounds_of_copies_of_chosen_columns_hold(alpha):
    """Next to nothing is left of a copy, and rounding is many times the root of it."""
    for seed in range(40):
        case = make("duplicate", 90, 30, T=1, seed=seed)
        design = design_of(case.X, weights_of(case))
        task = SearchSpec(size=18, candidates=tuple(range(30)), form="passes")
        state = make_model(design, case.Y, alpha, task, None)
        for _ in range(12):
            update = state.best_addition()
            if update is not None:
                state.add(update.feature)
        out = design.constant
        rest = np.array([i for i in range(30) if i not in state.chosen and not out[i]])
        state._look(rest)
        errors = state._with(rest)
        for sharp in (False, True):
            assert np.all(state._bounds(rest, sharp) <= errors * (1 + 1e-13)), seed


@pytest.mark.parametrize("m", [1, 3, 4, 9])
@pytest.mark.parametrize("targets", [1, 3])
def test_what_lifts_of_bounds_are_made_of(m, targets):
    rng = np.random.default_rng(m)
    V, old, room = rng.standard_normal((targets, m)), rng.random(m), 1e-3
    for tight in range(m):
        p, w = rng.random(m) + 1.0, old.copy()
        p[tight], V[0, -1 - tight] = 1e-4, 50.0
        change, narrow = core.spikes((V**2).sum(0), 1 / np.maximum(p, room), w)
        expected = np.sqrt((V**2).sum(0)) * np.maximum(p, room) ** -1.5
        assert_allclose(w, expected)
        assert_allclose(change, (((expected - old) ** 4).sum()) ** 0.25)
        assert_allclose(narrow, room**-1.5)
        p[tight] = 0.5
        assert_allclose(core.spikes((V**2).sum(0), 1 / np.maximum(p, room), w)[1], 0.5**-1.5)


@pytest.mark.parametrize("order", ["C", "F"])
def test_columns_whose_squares_cannot_be_held_are_no_moderate_ones(monkeypatch, order):
    monkeypatch.setattr(TUNING, "tile_numbers", 8)
    X = np.asarray(np.random.default_rng(0).standard_normal((6, 4)), order=order)
    assert _is_moderate(X)
    assert _is_moderate((10 * X).astype(np.int16))
    assert _is_moderate(X[:0])
    X[2, 1] = 0.0
    assert _is_moderate(X)
    for value in (1e-120, -1e-120, 1e120, -1e120):
        Z = X.copy(order="K")
        Z[4, 2] = value
        assert not _is_moderate(Z)
        Z[4, 3] = 0.0
        assert not _is_moderate(Z)
