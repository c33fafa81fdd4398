"""Mutual information where values are repeated, and of classes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression
from sklearn.utils.estimator_checks import check_estimator

from slow_twins import information as twin
from sparsepath import MutualInfoSelector, mutual_information
from sparsepath._core import neighbors as core
from sparsepath.errors import InputError
from sparsepath.information.kraskov import Estimator, target_rows
from sparsepath.information.neighbors import choose_neighbors
from sparsepath.information.tables import Codes, most_neighbors
from sparsepath.system.threads import Threads

KINDS = ("continuous", "tenths", "integers", "binary", "half zeros")


def column(kind: str, z: np.ndarray) -> np.ndarray:
    return {
        "continuous": z,
        "tenths": np.round(z, 1),
        "integers": np.round(2 * z),
        "binary": (z > 0).astype(float),
        "half zeros": np.maximum(z, 0.0),
    }[kind]


def mixed(n: int, kinds: list[str], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features of some kinds and a target of the last."""
    Z = np.random.default_rng(seed).standard_normal((n, len(kinds)))
    Z[:, -1] += Z[:, 0]
    columns = [column(kind, z) for kind, z in zip(kinds, Z.T, strict=True)]
    return np.column_stack(columns[:-1]), columns[-1][:, None]


problems = st.builds(
    mixed,
    st.integers(8, 40),
    st.lists(st.sampled_from(KINDS), min_size=2, max_size=4),
    st.integers(0, 10_000),
)


def estimates(X, Y, k, variant, rows=None):
    """By loops and by trees."""
    YT = Y.T.copy() if rows is None else rows
    with Threads(1) as threads:
        return [
            Estimator(X.T.copy(), YT, k, variant, threads, use_tree=tree)
            .of(range(X.shape[1]))
            .value
            for tree in (False, True)
        ]


@pytest.mark.parametrize("variant", [1, 2])
@pytest.mark.parametrize(("a", "b"), [(2, 2), (5, 5), (2, 11), (11, 11), (50, 50)])
def test_independent_variables_of_few_values_share_nothing(a, b, variant):
    random = np.random.default_rng(0)
    x, y = random.integers(0, a, 600), random.integers(0, b, 600)
    assert mutual_information(x, y, variant=variant) == pytest.approx(0, abs=0.03)


@settings(max_examples=100, deadline=None)
@given(problems, st.integers(1, 7), st.sampled_from([1, 2]))
def test_loops_and_trees_equal_the_definition(problem, k, variant):
    slow = twin.kraskov(*problem, k, variant)
    assert estimates(*problem, k, variant) == pytest.approx([slow, slow], abs=1e-12)


def textbook(X, Y, k, variant):
    """Equations 8 and 9 of Kraskov et al. (2004) as they stand, for data without ties."""
    n = len(X)
    dx, dy = (np.abs(A[:, None] - A[None]).max(2) + np.diag(np.full(n, np.inf)) for A in (X, Y))
    near = np.argsort(np.maximum(dx, dy), axis=1)[:, :k]
    ex, ey = (np.take_along_axis(d, near, 1).max(1)[:, None] for d in (dx, dy))
    eps = np.maximum(ex, ey)
    if variant == 1:
        counts = np.r_[(dx < eps).sum(1) + 1, (dy < eps).sum(1) + 1]
        return digamma(k) + digamma(n) - digamma(counts).sum() / n
    counts = np.r_[(dx <= ex).sum(1), (dy <= ey).sum(1)]
    return digamma(k) - 1 / k + digamma(n) - digamma(counts).sum() / n


@settings(max_examples=40, deadline=None)
@given(
    st.integers(8, 60),
    st.integers(1, 3),
    st.integers(1, 7),
    st.sampled_from([1, 2]),
    st.integers(0, 10_000),
)
def test_without_ties_it_is_that_of_kraskov(n, d, k, variant, seed):
    X, Y = mixed(n, ["continuous"] * (d + 1), seed)
    slow = textbook(X, Y, k, variant)
    assert estimates(X, Y, k, variant) == pytest.approx([slow, slow], abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(problems, st.integers(1, 7), st.sampled_from([1, 2]), st.integers(1, 12))
def test_classes_equal_the_definition(problem, k, variant, n_classes):
    X, Y = problem
    labels = (np.argsort(np.argsort(Y[:, 0])) * n_classes**2 // len(X)) % n_classes  # some are rare
    slow = twin.kraskov(X, labels[:, None], k, variant, classes=True)
    rows = target_rows(labels, len(X), True)
    assert estimates(X, Y, k, variant, rows) == pytest.approx([slow, slow], abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(problems, st.booleans())
def test_every_k_at_once(problem, classes):
    X, Y = problem[0][:, :1], problem[1]
    Y = (np.round(Y) if classes else Y).astype(float)
    XT, YT = X.T.copy(), target_rows(Y[:, 0].astype(int), len(X), True) if classes else Y.T.copy()
    with Threads(1) as threads:
        psi = Estimator(XT, YT, 1, 1, threads).psi
    out = np.empty((7, len(X)))
    core.Neighbors(YT, psi, 7, 1).every_k(XT, out)
    few = max(most_neighbors(Codes.rows(XT), Codes.rows(YT)), 0)  # where tables take over
    slow = [twin.kraskov(X, Y, k, 1, classes) for k in range(few + 1, 8)]
    np.testing.assert_allclose(out[few:].mean(1) + psi[len(X)], slow, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(problems, st.integers(1, 7), st.sampled_from([1, 2]), st.randoms(use_true_random=False))
def test_rows_may_come_in_any_order(problem, k, variant, random):
    X, Y = problem
    order = random.sample(range(len(X)), len(X))
    one, other = (
        mutual_information(*data, n_neighbors=k, variant=variant, n_threads=1)
        for data in ((X, Y), (X[order], Y[order]))
    )
    assert one == pytest.approx(other, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 5),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.5, 0.8, 1.0]),
    st.sampled_from([1, 2]),
    st.integers(0, 10_000),
    st.booleans(),
)
def test_of_discrete_variables_it_is_that_of_frequencies(a, b, link, variant, seed, skewed):
    random = np.random.default_rng(seed)
    n, exponent = 7 * a * b + int(random.integers(60)), 3.0 if skewed else 1.0  # some are rare
    x, other = (np.floor(c * random.random(n) ** exponent).astype(int) for c in (a, b))
    y = np.where(random.random(n) < link, x % b, other)
    plain = twin.frequencies(x, y)
    values = [
        mutual_information(x, y, variant=variant),
        mutual_information(x, y, variant=variant, discrete_target=True),
        mutual_information(random.permutation(a)[x] ** 3, np.exp(y), variant=variant),
        mutual_information(np.column_stack([x % 2, x]), y, variant=variant),
        MutualInfoSelector(1, n_threads=1, variant=variant).fit(x[:, None], y).path_.errors[-1] * -1
        if len(set(x)) > 1
        else plain,
    ]
    assert values == pytest.approx([plain] * len(values), abs=1e-12)  # any names do


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("variant", [1, 2])
def test_pairs_that_all_occur_often_are_counted_by_their_frequencies(variant, tree):
    """However many values there are: here each pair has ten samples."""
    x = np.repeat(np.arange(30.0), 10)
    y = np.r_[x[:150] // 30, x[150:] ** 2]
    with Threads(1) as threads:
        found = Estimator(x[None], y[None].copy(), 6, variant, threads, use_tree=tree).of([0])
    assert found.value == pytest.approx(twin.plug_in(x, y), abs=1e-12)
    shares = np.log(300 / np.array([np.sum(y == value) for value in y]))
    assert found.standard_error == pytest.approx(shares.std(ddof=1) / np.sqrt(300))


def test_discrete_subsets_among_others():
    """Additions and removals give what single subsets do, where some are discrete and some not."""
    random = np.random.default_rng(0)
    Z = random.integers(0, 3, (120, 4)).astype(float)
    Z[:, 3] = random.standard_normal(120)
    y = (Z[:, 0] + Z[:, 1] > 2) * 1.0
    XT, YT = Z.T.copy(), y[None]
    with Threads(1) as threads:
        found = Estimator(XT, YT, 3, 1, threads)
        added = [each.value for each in found.additions((0, 1), [2, 3])]
        removed = [each.value for each in Estimator(XT, YT, 3, 1, threads).removals((0, 1, 2, 3))]
    slow = [twin.kraskov(Z[:, list(s)], YT.T, 3) for s in ((0, 1, 2), (0, 1, 3))]
    assert added == pytest.approx(slow, abs=1e-12)
    rests = [[j for j in range(4) if j != i] for i in range(4)]
    slow = [twin.kraskov(Z[:, rest], YT.T, 3) for rest in rests]
    assert removed == pytest.approx(slow, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", KINDS)
def test_near_scikit_learn_on_mixed_data(kind, target):
    X, Y = mixed(800, [kind, target], 3)
    theirs = mutual_info_regression(
        X, Y[:, 0], discrete_features=False, n_neighbors=6, random_state=0
    )
    tolerance = 1e-9 if kind == target == "continuous" else 0.06
    assert mutual_information(X, Y) == pytest.approx(theirs[0], abs=tolerance)


def test_equals_scikit_learn_for_classes():
    random = np.random.default_rng(0)
    labels = random.choice(["a", "b", "c"], 400, p=[0.6, 0.38, 0.02])
    X = random.standard_normal((400, 3)) + np.outer(labels == "a", [2.0, 0.0, 0.5])
    theirs = mutual_info_classif(X, labels, discrete_features=False, n_neighbors=6, random_state=0)
    ours = [max(0, mutual_information(x, labels, discrete_target=True)) for x in X.T]
    np.testing.assert_allclose(ours, theirs, atol=1e-4)  # theirs counts a neighbour by rounding


def test_classes_are_names():
    random = np.random.default_rng(0)
    y = random.integers(0, 4, 300)
    X = random.standard_normal((300, 5))
    X[:, 2] += 3 * (y % 2)  # 0 and 2 are alike, 1 and 3 are
    paths = [
        MutualInfoSelector(
            discrete_target=True, n_neighbors="resampling", random_state=0, n_threads=1
        )
        .fit(X, labels)
        .path_
        for labels in (y, np.array(["d", "a", "c", "b"])[y], np.array([7, -1, 100, 0])[y])
    ]
    assert paths[0].subset(1) == (2,)
    for path in paths[1:]:
        assert path.subsets == paths[0].subsets
        np.testing.assert_allclose(path.errors, paths[0].errors, atol=1e-12)


def test_rare_classes_and_classes_of_one():
    x = np.r_[np.zeros(5), np.arange(5.0)]
    assert mutual_information(x, np.arange(10), discrete_target=True) == pytest.approx(0, abs=1e-12)
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(20), 5)  # fewer than there are neighbours to ask
    x = labels + 0.1 * random.standard_normal(100)
    assert mutual_information(x, labels, discrete_target=True) == pytest.approx(np.log(20), abs=0.2)


def test_the_emptiest_columns_do_not_come_first():
    random = np.random.default_rng(0)
    X = (random.random((500, 6)) < 0.02).astype(float)
    X[:, 4] = random.integers(0, 8, 500)
    y = X[:, 4] + random.integers(0, 3, 500)
    assert MutualInfoSelector(1, n_threads=1).fit(X, y).path_.subset(1) == (4,)
    with Threads(1) as threads:
        found = choose_neighbors(X.T.copy(), y[None].astype(float), threads, random)
    assert np.isfinite(found.separation).all()


@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
def test_scikit_learn_contract():
    check_estimator(
        MutualInfoSelector(n_neighbors=3, n_threads=1, discrete_target=True), on_skip=None
    )


def test_messages():
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(InputError, match="y has text; for classes, use discrete_target"):
        MutualInfoSelector().fit(X, ["a", "b"] * 10)
    with pytest.raises(InputError, match="discrete_target='yes'; use True"):
        MutualInfoSelector(discrete_target="yes").fit(X, X[:, 0])
