"""The slow references agree with each other, with closed forms and with scikit-learn."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import Ridge
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import KFold, cross_val_score

from problems import KINDS, Case, classification, fixed, make, problems
from slow_twins import rls

few = settings(max_examples=12, deadline=None, derandomize=True)
each_case = pytest.mark.parametrize("case", fixed(), ids=repr)
SEARCHES = ("wrapper_forward", "forward_with_swaps", "backward")


def subsets(path: rls.Path) -> list[rls.Subset]:
    return [subset for subset, _, _ in path]


def assert_same_path(path: rls.Path, other: rls.Path, rtol: float = 1e-6) -> None:
    assert subsets(path) == subsets(other)
    assert_allclose([p[1:] for p in path], [p[1:] for p in other], rtol=rtol, atol=1e-10)


def residuals(X, Y, alpha, fit_intercept, sw):
    """Residuals of the fit and one minus leverage, the intercept an unpenalised column."""
    m, n = X.shape
    penalty = np.sqrt(alpha) * np.eye(n, n + fit_intercept)
    if fit_intercept:  # centred for its conditioning only
        X = np.column_stack([X - sw @ X / sw.sum(), np.ones(m)])
    root = np.sqrt(sw)[:, None]
    A = np.vstack([root * X, penalty])
    scale = np.linalg.norm(A, axis=0)
    hat = (X / scale) @ np.linalg.pinv(A / scale)[:, :m] * root.T
    return Y - hat @ Y, 1 - np.diag(hat)[:, None]


def rational_loo(X, Y, alpha, fit_intercept, sw):
    """Leave-one-out predictions of the first target by normal equations in exact arithmetic."""
    m, n = X.shape
    exact = np.vectorize(Fraction, otypes=[object])
    Z = exact(np.column_stack([X, np.ones((m, int(fit_intercept)))]))
    penalty = exact(np.diag([alpha] * n + [0.0] * fit_intercept))
    y, sw = exact(Y[:, 0]), exact(sw)
    F = []
    for j in range(m):
        rows = np.arange(m) != j
        A = (Z[rows].T * sw[rows]) @ Z[rows] + penalty
        M = np.column_stack([A, (Z[rows].T * sw[rows]) @ y[rows]])
        for i in range(len(M)):  # Gauss-Jordan; A is positive definite, so no pivot is zero
            M[i] /= M[i, i]
            others = np.arange(len(M)) != i
            M[others] -= np.outer(M[others, i], M[i])
        F.append(float(Z[j] @ M[:, -1]))
    return F


# --- fits and criteria ----------------------------------------------------------------------------


@each_case
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_is_scikit_learns(case: Case, fit_intercept: bool):
    model = Ridge(case.alpha, fit_intercept=fit_intercept, solver="svd")
    model.fit(case.X, case.Y, case.sw)
    coef, intercept = rls.ridge(case.X, case.Y, case.alpha, fit_intercept, case.sw)
    got, expected = case.X @ coef + intercept, model.predict(case.X).reshape(case.Y.shape)
    assert_allclose(got, expected, rtol=1e-7, atol=1e-7)


def test_ridge_with_alpha_zero_does_not_mind_scales():
    case = make("tall", m=20, n=5)
    scale = 10.0 ** np.array([-8, 8, 0, -4, 6])
    plain, _ = rls.ridge(case.X, case.Y, 0.0)
    scaled, _ = rls.ridge(case.X * scale, case.Y, 0.0)
    assert_allclose(scaled * scale[:, None], plain, rtol=1e-9)


@few
@given(problems())
def test_refitting_equals_the_closed_form(case: Case):
    sw = np.ones(len(case.X)) if case.sw is None else case.sw
    for fit_intercept in (True, False):
        F = rls.loo_predictions(case.X, case.Y, case.alpha, fit_intercept, case.sw)
        r, p = residuals(case.X, case.Y, case.alpha, fit_intercept, sw)
        assert_allclose((case.Y - F) * p, r, atol=1e-8)  # r / p has few digits when p is tiny


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_refitting_is_right_to_rounding(kind: str, fit_intercept: bool):
    case = make(kind, m=7, n=8 if kind == "wide" else 4, alpha=2.0**-10, weighted=True, seed=1)
    args = (case.X, case.Y, case.alpha, fit_intercept, case.sw)
    assert_allclose(rls.loo_predictions(*args)[:, 0], rational_loo(*args), rtol=1e-8, atol=1e-8)


def test_weights_are_repetitions():
    case = make("tall", m=10, n=3, seed=3)
    counts = np.arange(10) % 3
    again = np.repeat(np.arange(10), counts)
    weighted = rls.ridge(case.X, case.Y, 0.5, sw=counts)
    repeated = rls.ridge(case.X[again], case.Y[again], 0.5)
    for got, expected in zip(weighted, repeated, strict=True):
        assert_allclose(got, expected)


def test_losses():
    Y, F = np.array([[1.0], [1.0], [-1.0], [-1.0]]), np.array([[2.0], [-1.0], [1e-11], [-0.5]])
    sw = np.array([1.0, 3.0, 0.0, 2.0])
    assert_allclose(rls.losses(Y, F, sw, "squared")[1], (1 + 12 + 0.5) / 6)
    assert_allclose(rls.losses(Y, F, sw, "absolute")[1], (1 + 6 + 1) / 6)
    assert_allclose(rls.losses(Y, F, sw, "zero_one")[0], [0, 1, 0, 0])  # no decision: the first
    assert_allclose(rls.losses(-Y, -F, sw, "zero_one")[0], [0, 1, 1, 0])
    assert_allclose(rls.losses(Y, F, sw, "balanced")[1], (3 / 4 + 0 / 2) / 2)
    K = np.where(np.eye(3) > 0, 1.0, -1.0)
    scores = np.array([[0.3, 0.2, -1], [0.5, 0.5, 0.1], [-3, -2, -1]])
    assert_allclose(rls.losses(K, scores, None, "zero_one")[0], [0, 1, 0])
    assert_allclose(rls.losses(K, np.zeros((3, 3)), None, "zero_one")[0], [0, 1, 1])


@few
@given(classification())
def test_balanced_is_one_less_balanced_accuracy(case: Case):
    F = rls.loo_predictions(case.X, case.Y, case.alpha, True, case.sw)
    true, got = (np.hstack([-A, A]) if A.shape[1] == 1 else A for A in (case.Y, F))
    expected = 1 - balanced_accuracy_score(
        true.argmax(axis=1), got.argmax(axis=1), sample_weight=case.sw
    )
    value, _ = rls.loo_error(case.X, case.Y, case.alpha, True, case.sw, "balanced")
    scores = np.sort(got, axis=1)
    if np.all(scores[:, -1] - scores[:, -2] > 1e-9):  # rounding may decide a tie there
        assert_allclose(value, expected, atol=1e-12)


def test_standard_error_is_the_usual_one():
    case = make("tall", m=14, n=3, seed=5)
    F = rls.loo_predictions(case.X, case.Y, case.alpha)
    each, mean = rls.losses(case.Y, F, None, "squared")
    value, se = rls.loo_error(case.X, case.Y, case.alpha)
    assert_allclose((value, se), (mean, each.std(ddof=1) / np.sqrt(14)))


def test_loo_of_alpha_zero_is_undefined_with_dependent_columns():
    case = make("duplicate", m=9, n=3)
    assert rls.loo_error(case.X, case.Y, 0.0)[0] == np.inf
    assert rls.loo_error(case.X[:4], case.Y[:4], 0.0)[0] == np.inf
    path = rls.wrapper_forward(case.X, case.Y, 3, 0.0)
    assert len(path) == 1 + np.linalg.matrix_rank(case.X - case.X.mean(axis=0))
    assert np.all(np.isfinite([value for _, value, _ in path]))


@each_case
def test_kfold_error_is_cross_val_score(case: Case):
    splits = list(KFold(4, shuffle=True, random_state=0).split(case.X))
    scores = -case.Y.shape[1] * cross_val_score(
        Ridge(case.alpha, solver="svd"),
        case.X,
        case.Y,
        cv=splits,
        scoring="neg_mean_squared_error",
    )
    value, se = rls.kfold_error(splits)(case.X, case.Y, case.alpha)
    assert_allclose((value, se), (scores.mean(), scores.std(ddof=1) / 2), rtol=1e-6)
    pooled, _ = rls.kfold_error(splits, pooled=True)(case.X, case.Y, case.alpha)
    assert_allclose(pooled, np.average(scores, weights=[len(t) for _, t in splits]), rtol=1e-6)


def test_kfold_with_one_row_per_split_is_loo():
    case = make("targets", m=9, n=4, T=3, weighted=True, seed=2)
    error = rls.kfold_error(KFold(9).split(case.X), pooled=True)
    args = (case.X, case.Y, case.alpha, True, case.sw)
    assert_allclose(error(*args)[0], rls.loo_error(*args)[0])


def test_leave_pair_out_auc():
    case = make("tall", m=9, n=2, seed=4, classification=True)
    y, rows = case.Y[:, 0], np.arange(9)
    right = []
    for p, q in product(rows[y > 0], rows[y < 0]):
        train = (rows != p) & (rows != q)
        f = Ridge(case.alpha).fit(case.X[train], y[train]).predict(case.X[[p, q]])
        right.append(roc_auc_score([1, 0], f))
    value, _ = rls.auc_leave_pair_out(case.X, case.Y, case.alpha)
    assert_allclose(value, 1 - np.mean(right))


# --- searches -------------------------------------------------------------------------------------


GENTLE = ["tall", "wide", "duplicate", "collinear", "sparse"]
MILD = [1.0, 0.1, 10.0, 1e3]


@few
@given(problems(kinds=GENTLE, alphas=MILD, weights=False, max_m=14, max_n=8))
def test_three_algorithms_one_path_squared(case: Case):
    three_algorithms_one_path(case, "squared")


@few
@given(problems(kinds=GENTLE, alphas=MILD, weights=False, max_m=14, max_n=8, classification=True))
def test_three_algorithms_one_path_zero_one(case: Case):
    three_algorithms_one_path(Case(case.X, case.Y[:, :1], case.alpha, None, ""), "zero_one")


def three_algorithms_one_path(case: Case, loss: str) -> None:
    varying = np.ptp(case.X, axis=0) > 0  # the wrapper never takes a constant column
    X, Y, k = case.X[:, varying], case.Y, min(4, int(varying.sum()))
    first = rls.wrapper_forward(X, Y, k, case.alpha, loss, fit_intercept=False)
    second, w2 = rls.low_rank_lssvm(X, Y, k, case.alpha, loss)
    third, w3 = rls.greedy_rls(X, Y[:, 0], k, case.alpha, loss)
    assert_same_path(first, second)
    assert_same_path(first, third)
    w, _ = rls.ridge(X[:, list(first[-1][0])], Y, case.alpha, fit_intercept=False)
    assert_allclose(w2, w[:, 0], rtol=1e-6, atol=1e-8)
    assert_allclose(w3, w[:, 0], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_kfold_searches_choose_as_scikit_learn(seed: int, direction: str):
    case = make("tall", m=25, n=6, seed=seed)
    splits = list(KFold(5).split(case.X))
    selector = SequentialFeatureSelector(
        Ridge(case.alpha),
        n_features_to_select=3,
        direction=direction,
        cv=splits,
        scoring="neg_mean_squared_error",
    ).fit(case.X, case.Y[:, 0])
    search = rls.wrapper_forward if direction == "forward" else rls.backward
    path = search(case.X, case.Y, 3, case.alpha, error=rls.kfold_error(splits))
    assert sorted(path[-1][0]) == np.flatnonzero(selector.get_support()).tolist()


def test_forced_forbidden_constant_and_ties():
    case = make("tall", m=12, n=5, seed=1)
    X = np.column_stack([np.ones(12), case.X, case.X])  # columns 6.. repeat 1..5
    path = rls.wrapper_forward(X, case.Y, 9, 1.0, forced=(9, 3), forbidden=(1, 2))
    assert path[0][0] == (9, 3)
    assert sorted(path[-1][0]) == [3, 4, 5, 6, 7, 8, 9, 10]
    first = rls.wrapper_forward(X, case.Y, 1, 1.0)[1][0][0]
    assert 1 <= first <= 5


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("error", [rls.loo_error, rls.kfold_error(KFold(3).split(np.ones(12)))])
def test_values_belong_to_subsets(search: str, error: rls.Error):
    case = make("tall", m=12, n=5, seed=6, weighted=True)
    path = getattr(rls, search)(case.X, case.Y, 3, case.alpha, sw=case.sw, error=error)
    for subset, value, se in path:
        assert (value, se) == error(case.X[:, subset], case.Y, case.alpha, True, case.sw)


def test_swaps_leave_no_better_exchange():
    improved = 0
    for seed in range(6):
        case = make("collinear", m=12, n=6, seed=seed, alpha=1e-3)
        path = rls.forward_with_swaps(case.X, case.Y, 3, case.alpha)
        improved += set(path[-1][0]) != set(
            rls.wrapper_forward(case.X, case.Y, 3, case.alpha)[-1][0]
        )
        for subset, value, _ in path:
            for i, j in product(subset, set(range(6)) - set(subset)):
                other = [*(f for f in subset if f != i), j]
                assert rls.loo_error(case.X[:, other], case.Y, case.alpha)[0] > value * (1 - 2e-9)
    assert improved


def test_floating_replays_and_keeps_the_best_per_size():
    drops = 0
    for seed in range(8):
        case = make("collinear", m=12, n=6, seed=seed, alpha=1e-3)
        best, moves = rls.floating_rls(case.X, case.Y, case.alpha, 1e-6, max_size=5)
        S: list[int] = []
        least: dict[int, float] = {}
        for kind, feature, after in moves:
            (S.append if kind == "add" else S.remove)(feature)
            value, _ = rls.loo_error(case.X[:, S], case.Y, case.alpha)
            assert_allclose(after, value, rtol=1e-9)
            least[len(S)] = min(value, least.get(len(S), np.inf))
            drops += kind == "drop"
        for size, value in least.items():
            assert_allclose(best[size][1], value, rtol=1e-8)
        adds_only = rls.wrapper_forward(case.X, case.Y, len(best) - 1, case.alpha)
        if all(kind == "add" for kind, _, _ in moves):
            assert [best[size][0] for size in sorted(best)] == subsets(adds_only)
    assert drops


# --- ranking --------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [None, [0, 0, 0, 1, 1, 1, 1, 2]])
def test_rank_rls_minimises_its_objective(groups):
    case = make("tall", m=8, n=3, seed=7)
    X, y = case.X, case.Y[:, 0]
    same = np.ones((8, 8)) if groups is None else np.equal.outer(groups, groups)

    def objective(w):
        gap = np.subtract.outer(y - X @ w, y - X @ w)
        return (same * gap**2).sum() / 2 + 0.7 * w @ w

    found = minimize(objective, np.zeros(3), method="BFGS", options={"gtol": 1e-5})
    assert_allclose(rls.rank_rls(X, y, 0.7, groups), found.x, atol=1e-4)
