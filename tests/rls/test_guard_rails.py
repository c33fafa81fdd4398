"""Where numbers come to their limits: right answers or a clear word, never silent nonsense."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold

from problems import Case, make
from rls.comparing import FORMS, check_forward, design_of, judge_of, search, subsets
from slow_twins import rls
from sparsepath import (
    InputError,
    PathWarning,
    SparsepathError,
    SparseRLSClassifier,
    SparseRLSRegressor,
)

LOO_FORMS = [(loss, form) for loss, forms in FORMS.items() for form in forms]


def quiet(model, X, y, **options):
    """Fit, and return the words of path warnings; other warnings, and no end, are errors."""

    def limited(path):
        assert len(path.moves) < 500, f"no end in sight: {path.moves[-4:]}"

    model.set_params(callback=limited)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", PathWarning)
        model.fit(X, y, **options)
    return [str(w.message) for w in caught]


def sane(path):
    """No NaN among what was computed; errors of models that were searched for are finite."""
    assert np.isfinite(path.errors).all()
    for k in path.sizes:
        assert np.isfinite(path.coef(k)).all()
        assert np.isfinite(path.intercept(k)).all()


def exact_loo(X, y, alpha, subset):
    """Mean squared leave-one-out error in rational arithmetic, with an intercept."""
    m, k = len(X), len(subset)
    Z = [[Fraction(float(X[j, i])) for i in subset] + [Fraction(1)] for j in range(m)]
    t = [Fraction(float(v)) for v in y]
    total = Fraction(0)
    for j in range(m):
        rows = [i for i in range(m) if i != j]
        M = [
            [sum(Z[r][a] * Z[r][b] for r in rows) for b in range(k + 1)]
            + [sum(Z[r][a] * t[r] for r in rows)]
            for a in range(k + 1)
        ]
        for a in range(k):
            M[a][a] += Fraction(alpha)
        for a in range(k + 1):
            pivot = next(b for b in range(a, k + 1) if M[b][a] != 0)
            M[a], M[pivot] = M[pivot], M[a]
            M[a] = [v / M[a][a] for v in M[a]]
            for b in range(k + 1):
                if b != a and M[b][a] != 0:
                    M[b] = [v - M[b][a] * u for v, u in zip(M[b], M[a], strict=True)]
        predicted = sum(Z[j][a] * M[a][-1] for a in range(k + 1))
        total += (t[j] - predicted) ** 2
    return float(total / m)


# --- leverage -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("loss", "form"), LOO_FORMS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_least_squares_up_to_the_last_sample(loss, form, fit_intercept):
    """With alpha = 0 there is leave-one-out as long as there are more samples than coefficients."""
    case = make("wide", m=8, n=12, alpha=0.0, seed=1, classification=True)
    judge = judge_of(case, loss, fit_intercept=fit_intercept, wanted=12)
    design = design_of(case.X, None, "three", fit_intercept=fit_intercept)
    trail = search(design, case.Y, 0.0, 12, loss=loss, form=form, wanted=12)
    most = 7 - fit_intercept
    assert sorted(trail.steps) == list(range(most + 1))
    assert trail.stopped == "no candidate left"
    if loss in ("squared", "absolute"):
        check_forward(trail, judge, most - 1)


def test_the_estimator_says_where_it_ended():
    case = make("wide", m=8, n=12, seed=1)
    y = case.Y[:, 0]
    told = quiet(model := SparseRLSRegressor(10, alpha=0.0, choose="min"), case.X, y)
    assert len(told) == 1
    assert "size 6" in told[0]
    sane(model.path_)
    told = quiet(model := SparseRLSRegressor(alpha=0.0), case.X, y)  # goes as far as it can go
    assert told == []
    assert max(model.path_.sizes) == 6
    told = quiet(model := SparseRLSRegressor(12), case.X, y)
    assert told == []
    assert max(model.path_.sizes) == 12
    sane(model.path_)


@pytest.mark.parametrize(("loss", "form"), LOO_FORMS)
def test_a_column_that_singles_out_a_sample(loss, form):
    """Without a penalty the sample decides its own prediction: no leave-one-out, never chosen."""
    case = make("tall", m=20, n=4, seed=2, classification=True)
    X = np.column_stack([np.eye(20)[:, 3], case.X, 5.0 * np.eye(20)[:, 7]])
    trail = search(design_of(X), case.Y, 0.0, 6, loss=loss, form=form)
    assert set(trail.steps[max(trail.steps)].subset) == {1, 2, 3, 4}
    assert trail.stopped == "no candidate left"
    penalised = Case(X, case.Y, 0.5, None, "")
    trail = search(design_of(X), case.Y, 0.5, 6, loss=loss, form=form)
    check_forward(trail, judge_of(penalised, loss), 6)


@pytest.mark.parametrize("alpha", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15])
@pytest.mark.parametrize("form", FORMS["squared"])
def test_more_features_than_samples_with_hardly_a_penalty(alpha, form):
    case = make("wide", m=9, n=14, alpha=alpha, seed=3)
    trail = search(design_of(case.X), case.Y, alpha, 14, form=form)
    judge = judge_of(case)
    for k, step in trail.steps.items():
        expected = judge.error_of(step.subset)
        # Beyond seven features the fit is exact but for the penalty: 1 - leverage is about alpha.
        rtol = 1e-9 if k <= 6 else max(1e-9, 1e-13 / alpha)
        assert_allclose(step.error, expected, rtol=rtol)
    if 14 not in trail.steps:
        assert trail.stopped in ("no candidate left", "residuals vanished")
        assert alpha <= 1e-9
    if max(trail.steps) > 7:
        assert alpha >= 1e-12


def test_a_sample_of_enormous_weight():
    case = make("tall", m=20, n=4, seed=4)
    for weight in (1e3, 1e6, 1e9, 1e13):
        w = np.ones(20)
        w[5] = weight
        model = SparseRLSRegressor(3, choose="min", standardize=False)
        try:
            told = quiet(model, case.X, case.Y[:, 0], sample_weight=w)
        except InputError:
            continue
        judge = judge_of(Case(case.X, case.Y, 1.0, w, ""))
        if not told:
            for subset, error in zip(model.path_.subsets, model.path_.errors, strict=True):
                assert_allclose(error, judge.error_of(subset), rtol=1e-13 * weight + 1e-9)


@pytest.mark.parametrize("m", [2, 3, 4])
@pytest.mark.parametrize("alpha", [1.0, 0.0])
@pytest.mark.parametrize("search_name", ["forward", "floating", "backward", "swap"])
def test_hardly_any_samples(m, alpha, search_name):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((m, 3)), rng.standard_normal(m)
    model = SparseRLSRegressor(alpha=alpha, search=search_name, choose="min", standardize=False)
    if alpha == 0 and search_name == "backward" and m < 4:  # it cannot begin with all of them
        with pytest.raises(InputError, match="that the samples can distinguish"):
            quiet(model, X, y)
        return
    quiet(model, X, y)
    judge = judge_of(Case(X, y[:, None], alpha, None, ""))
    for subset, error in zip(model.path_.subsets, model.path_.errors, strict=True):
        assert_allclose(error, judge.error_of(subset), rtol=1e-7)
    assert np.isfinite(model.predict(X)).all()


def test_weights_that_leave_few_samples():
    case = make("tall", m=30, n=8, seed=6)
    w = np.zeros(30)
    w[:5] = 1.0
    for alpha in (0.0, 1.0):
        model = SparseRLSRegressor(alpha=alpha, choose="min", standardize=False)
        told = quiet(model, case.X, case.Y[:, 0], sample_weight=w)
        sane(model.path_)
        judge = judge_of(Case(case.X, case.Y, alpha, w, ""))
        for subset, error in zip(model.path_.subsets, model.path_.errors, strict=True):
            assert_allclose(error, judge.error_of(subset), rtol=1e-8)
        if alpha == 0:
            assert max(model.path_.sizes) == 3
        assert told == []


# --- vanishing residuals --------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("cv", ["loo", 4])
@pytest.mark.parametrize("search_name", ["forward", "floating", "swap"])
def test_an_exact_fit_ends_the_path(loss, cv, search_name):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((40, 10))
    y = 3.0 + X[:, [2, 5, 7]] @ [1.0, -2.0, 0.5]
    model = SparseRLSRegressor(
        alpha=0.0, loss=loss, cv=cv, search=search_name, choose="min", max_features=9
    )
    told = quiet(model, X, y)
    assert len(told) == 1
    assert "exactly" in told[0]
    assert sorted(model.path_.subset(3)) == [2, 5, 7]
    assert max(model.path_.sizes) == 3
    assert_allclose(model.predict(X), y, rtol=1e-9)
    assert model.path_.error(3) <= 1e-12 * model.path_.error(0)


@pytest.mark.parametrize("alpha", [1e-12, 1e-8])
def test_a_nearly_exact_fit_is_right_as_long_as_it_goes(alpha):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((30, 6))
    y = X[:, [1, 4]] @ [1.0, 1.0] + 1e-9 * rng.standard_normal(30)
    model = SparseRLSRegressor(alpha=alpha, choose="min", standardize=False)
    quiet(model, X, y)
    assert sorted(model.path_.subset(2)) == [1, 4]
    for k in (1, 2):
        value = rls.loo_error(X[:, model.path_.subset(k)], y[:, None], alpha)[0]
        assert_allclose(model.path_.error(k), value, rtol=1e-5)


# --- penalties ------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-12, 1e12, 1e300, 5e-324])
@pytest.mark.parametrize("kind", ["tall", "scaled", "offset", "duplicate", "collinear"])
@pytest.mark.parametrize("form", FORMS["squared"])
def test_penalties_at_the_ends(alpha, kind, form):
    case = make(kind, m=20, n=6, alpha=alpha, seed=9)
    design = design_of(case.X)
    trail = search(design, case.Y, alpha, 6, form=form)
    judge = judge_of(case)
    for k, step in trail.steps.items():
        assert np.isfinite(step.error)
        assert np.isfinite(step.coef).all()
        # A copy of a column is told from it by the penalty alone: what is left of it is rounding.
        rtol = 1e-9 if kind not in ("duplicate", "collinear") or alpha > 1 else 1e-5
        assert_allclose(step.error, judge.error_of(step.subset), rtol=rtol, err_msg=f"size {k}")
    if 6 not in trail.steps:
        assert kind in ("duplicate", "collinear")
        assert trail.stopped == "no candidate left"


# --- scales and offsets ---------------------------------------------------------------------------


@pytest.mark.parametrize("cv", ["loo", KFold(4)])
def test_least_squares_does_not_know_scales(cv):
    case = make("tall", m=30, n=8, seed=10)
    y = case.Y[:, 0]
    scale = 10.0 ** np.array([-8, 8, 0, -4, 4, 8, -8, 1])
    plain = SparseRLSRegressor(alpha=0.0, cv=cv, choose=8, standardize=False).fit(case.X, y)
    scaled = SparseRLSRegressor(alpha=0.0, cv=cv, choose=8, standardize=False).fit(
        case.X * scale, y
    )
    assert plain.path_.subsets == scaled.path_.subsets
    assert_allclose(scaled.path_.errors, plain.path_.errors, rtol=1e-9)
    assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=1e-7)


@pytest.mark.parametrize("scale", [1e-70, 1e-30, 1e30, 1e70])
@pytest.mark.parametrize("what", ["columns", "target"])
@pytest.mark.parametrize("cv", ["loo", 3])
def test_any_unit_that_floating_point_can_square(scale, what, cv):
    case = make("tall", m=30, n=5, seed=11)
    X, y = case.X, case.Y[:, 0]
    plain = SparseRLSRegressor(alpha=0.0, cv=cv, choose=5, standardize=False).fit(X, y)
    if what == "columns":
        other = SparseRLSRegressor(alpha=0.0, cv=cv, choose=5, standardize=False).fit(X * scale, y)
        assert_allclose(other.path_.errors, plain.path_.errors, rtol=1e-9)
    else:
        other = SparseRLSRegressor(alpha=0.0, cv=cv, choose=5, standardize=False).fit(X, y * scale)
        assert_allclose(other.path_.errors, plain.path_.errors * scale**2, rtol=1e-9)
    assert other.path_.subsets == plain.path_.subsets


@pytest.mark.parametrize("what", ["columns", "one column", "target"])
@pytest.mark.parametrize("cv", ["loo", 3])
def test_numbers_too_large_to_square_are_not_passed_over_in_silence(what, cv):
    case = make("tall", m=30, n=5, seed=11)
    X, y = case.X.copy(), case.Y[:, 0]
    if what == "target":
        y = y * 1e200
    else:
        X[:, : 5 if what == "columns" else 1] *= 1e200
    with pytest.raises((SparsepathError, Warning)):
        SparseRLSRegressor(cv=cv, standardize=False).fit(X, y)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("form", [*FORMS["squared"], "splits", "sparse"])
def test_offsets(offset, form):
    """A column is as exact as the digits that its offset leaves it."""
    case = make("tall", m=40, n=6, seed=12)
    digits = 2.0 ** np.floor(np.log2(offset) - 30)  # so that adding the offset rounds nothing
    X = np.round(case.X / digits) * digits if digits > 1e-9 else np.round(case.X * 2**20) / 2**20
    far = X + offset * np.array([1, -1, 1, 1, -1, 0.5])
    options = {"splits": list(KFold(4).split(X))} if form == "splits" else {}
    if form in FORMS["squared"]:
        options["form"] = form
    near = search(design_of(X), case.Y, 1.0, 6, **options)
    given = sp.csc_array(far) if form == "sparse" else far
    away = search(design_of(given), case.Y, 1.0, 6, **options)
    assert subsets(near) == subsets(away)
    for k, step in near.steps.items():
        assert_allclose(away.steps[k].error, step.error, rtol=1e-15 * offset + 1e-10)
        assert_allclose(away.steps[k].coef, step.coef, rtol=1e-13 * offset + 1e-9)


# --- constant and nearly constant columns ---------------------------------------------------------


@pytest.mark.parametrize("search_name", ["forward", "floating", "backward", "swap"])
@pytest.mark.parametrize(
    "options", [{}, {"cv": KFold(3)}, {"standardize": True}, {"alpha": 0.0}], ids=str
)
def test_constant_columns_are_never_chosen(search_name, options):
    case = make("tall", m=30, n=4, seed=13)
    third = np.full(30, 1 / 3)
    noise = third * (1 + 2**-52 * np.random.default_rng(0).integers(-1, 2, 30))
    weights = np.ones(30)
    weights[[4, 9]] = 0.0
    only_there = np.zeros(30)
    only_there[[4, 9]] = 7.0
    X = np.column_stack([np.zeros(30), case.X, third, noise, 1e8 * third, only_there])
    for given in (X, X.astype(np.float32), sp.csc_matrix(X)):
        model = SparseRLSRegressor(search=search_name, choose="min", **options)
        told = quiet(model, given, case.Y[:, 0], sample_weight=weights)
        assert told == []
        chosen = set().union(*model.path_.subsets)
        assert chosen == {1, 2, 3, 4}
        assert np.isfinite(model.predict(given)).all()
        plain = SparseRLSRegressor(search=search_name, choose="min", **options)
        plain.fit(given[:, 1:5], case.Y[:, 0], sample_weight=weights)
        assert_allclose(model.path_.errors, plain.path_.errors, rtol=1e-10)


def test_nothing_but_constant_columns():
    y = np.arange(6.0)
    for options in ({}, {"alpha": "loo"}, {"standardize": True}, {"search": "backward"}, {"cv": 2}):
        model = SparseRLSRegressor(choose="min", **options)
        quiet(model, np.ones((6, 3)), y)
        assert model.path_.sizes == (0,)
        assert_allclose(model.predict(np.ones((2, 3))), 2.5)


def test_a_constant_column_without_an_intercept_is_one():
    case = make("tall", m=30, n=3, seed=14)
    X = np.column_stack([case.X, np.ones(30), np.zeros(30)])
    y = case.Y[:, 0] + 50.0
    model = SparseRLSRegressor(alpha=1e-9, fit_intercept=False, choose=4).fit(X, y)
    assert model.path_.subset(1) == (3,)
    assert 4 not in set().union(*model.path_.subsets)
    other = SparseRLSRegressor(alpha=1e-9, choose=3).fit(case.X, y)
    assert_allclose(model.predict(X), other.predict(case.X), rtol=1e-7)


# --- collinear columns ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alpha", [0.0, 1e-10])
def test_squared_errors_over_splits_are_never_negative(seed, alpha):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 10))
    y = 3.0 + X[:, [2, 5, 7]] @ [1.0, -2.0, 0.5]
    model = SparseRLSRegressor(9, alpha=alpha, cv=4, choose="min")
    quiet(model, X, y)
    assert (model.path_.errors >= 0).all()
    assert sorted(model.path_.subset(3)) == [2, 5, 7]


@pytest.mark.parametrize("noise", [1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13, 0.0])
@pytest.mark.parametrize("alpha", [0.0, 1e-10, 1e-3])
@pytest.mark.parametrize("form", ["auto", "memory", "passes", "splits"])
def test_nearly_collinear_columns_against_exact_arithmetic(noise, alpha, form):
    rng = np.random.default_rng(15)
    X = rng.standard_normal((9, 3))
    X[:, 2] = X[:, 0] + X[:, 1] + noise * rng.standard_normal(9)
    y = X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(9)
    options = {"form": form}
    if form == "splits":
        options = {"splits": list(KFold(9).split(X)), "pooled": True}
    trail = search(design_of(X), y[:, None], alpha, 3, **options)
    assert {0, 1, 2} <= set(trail.steps)
    for k, step in trail.steps.items():
        expected = exact_loo(X, y, alpha, step.subset)
        # Columns stored with rounding errors of 1e-16 tell their difference with what is left.
        lost = 1e-16 / max(noise, np.sqrt(alpha), 1e-16)
        assert_allclose(step.error, expected, rtol=1e-9 + 100 * lost, err_msg=f"size {k}")
    if 3 not in trail.steps:
        assert trail.stopped == "no candidate left"
        assert noise <= 1e-9
        assert alpha <= 1e-10


def test_backward_from_collinear_columns_says_so():
    case = make("duplicate", m=20, n=5, seed=16)
    with pytest.warns(PathWarning, match="starts without .* collinear"):
        SparseRLSRegressor(search="backward", alpha=0.0).fit(case.X, case.Y[:, 0])


def test_forced_columns_that_are_collinear_are_refused_by_name():
    case = make("tall", m=20, n=4, seed=17)
    X = np.column_stack([case.X, case.X[:, 0] + case.X[:, 1]])
    with pytest.raises(InputError, match="collinear"):
        SparseRLSRegressor(alpha=0.0, forced=[0, 1, 4]).fit(X, case.Y[:, 0])
    quiet(SparseRLSRegressor(alpha=1e-3, forced=[0, 1, 4], choose="min"), X, case.Y[:, 0])


# --- classes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "zero_one", "balanced", "absolute"])
def test_one_sample_of_a_class(loss):
    case = make("tall", m=20, n=4, seed=18)
    for labels in (np.repeat([0, 1], [19, 1]), np.repeat(["a", "b", "c"], [12, 7, 1])):
        model = SparseRLSClassifier(3, loss=loss, choose="min", standardize=False)
        quiet(model, case.X, labels)
        sane(model.path_)
        Y = np.where(labels[:, None] == np.unique(labels), 1.0, -1.0)
        Y = Y[:, 1:] if Y.shape[1] == 2 else Y
        judge = judge_of(Case(case.X, Y, 1.0, None, ""), loss)
        for subset, error in zip(model.path_.subsets, model.path_.errors, strict=True):
            assert_allclose(error, judge.error_of(subset), rtol=1e-9, atol=1e-12)


def test_a_class_of_weight_zero_does_not_count():
    case = make("tall", m=30, n=4, seed=19)
    labels = np.repeat(["a", "b", "c"], 10)
    w = np.repeat([1.0, 1.0, 0.0], 10)
    for loss in ("squared", "zero_one", "balanced"):
        model = SparseRLSClassifier(3, loss=loss, choose="min")
        quiet(model, case.X, labels, sample_weight=w)
        sane(model.path_)
        assert model.path_.error(0) <= 4.0
    with pytest.raises(InputError, match="one class"):
        SparseRLSClassifier().fit(case.X, labels, np.repeat([1.0, 0.0, 0.0], 10))
