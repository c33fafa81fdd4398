"""The same choices from arrays and from rows that are read in passes, whatever holds them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)

import sparsepath
from problems import make
from sparsepath import (
    GraftingRegressor,
    SparseRLSClassifier,
    SparseRLSRegressor,
    TableSelector,
    honest_error,
    permutation_null,
    stability,
)
from sparsepath.assessment import null
from sparsepath.data import folds
from sparsepath.data.csv_cache import cache_file
from sparsepath.data.moments import Coding
from sparsepath.data.sources import from_array
from sparsepath.errors import FileError, InputError
from sparsepath.rls.criteria.residuals import Absolute
from sparsepath.rls.passes import fitting
from sparsepath.rls.passes.fold_losses import StreamedFolds
from sparsepath.system.tuning import TUNING


def same(a, b, rtol=1e-9):
    """Two fits have the same path: subsets, errors, standard errors, coefficients, fingerprint."""
    assert a.path_.sizes == b.path_.sizes
    for k in a.path_.sizes:
        assert a.path_.subset(k) == b.path_.subset(k)
        assert_allclose(b.path_.error(k), a.path_.error(k), rtol=rtol)
        atol = 1e-12 * a.path_.error(0) if 0 in a.path_.sizes else 0.0
        assert_allclose(b.path_.error_se(k), a.path_.error_se(k), rtol=1e-6, atol=atol)
    assert_allclose(b.coef_, a.coef_, rtol=1e-6, atol=1e-9)
    assert_allclose(b.intercept_, a.intercept_, rtol=1e-6, atol=1e-9)
    assert [m.feature for m in a.path_.moves] == [m.feature for m in b.path_.moves]
    assert a.path_.criterion == b.path_.criterion
    assert a.path_.data["fingerprint"] == b.path_.data["fingerprint"]


def to_the_bit(a, b):
    """Two fits have the same numbers, not only to rounding."""
    for mine, yours in zip(a.path_.steps, b.path_.steps, strict=True):
        assert (mine.subset, mine.error, mine.error_se) == (
            yours.subset,
            yours.error,
            yours.error_se,
        )
        assert np.array_equal(mine.coef, yours.coef)
    assert a.coef_.tolist() == b.coef_.tolist()


def problem(m=400, n=14, seed=0, weighted=False, offset=3.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 5)) @ rng.standard_normal((5, n)) + rng.standard_normal((m, n))
    y = X @ np.where(np.arange(n) % 3 == 0, rng.standard_normal(n), 0.0)
    w = rng.integers(0, 4, m).astype(float) if weighted else None
    return X + offset, y + 2 * rng.standard_normal(m), w


GROUPS = np.arange(14) // 3
OPTIONS = [
    {"search": "forward"},
    {"search": "floating"},
    {"search": "swap"},
    {"search": "backward"},
    {"loss": "absolute"},
    {"fit_intercept": False},
    {"standardize": False, "alpha": 1e-3},
    {"feature_costs": np.arange(1.0, 15.0), "search": "floating"},
    {"feature_groups": GROUPS},
    {"feature_groups": GROUPS, "search": "floating", "alpha": 0.0},
    {"feature_groups": GROUPS, "search": "backward", "loss": "absolute"},
    {"feature_groups": GROUPS, "feature_costs": np.arange(1.0, 15.0)},
    {"cv": 5},
    {"cv": 7, "search": "swap"},
    {"cv": KFold(4, shuffle=True, random_state=0), "search": "floating"},
    {"cv": TimeSeriesSplit(4)},
    {"cv": RepeatedKFold(n_splits=3, n_repeats=2, random_state=1), "pooled": True},
    {"cv": 5, "search": "backward", "alpha": [0.1, 10.0]},
    {"cv": 5, "loss": "absolute", "search": "floating"},
    {"cv": KFold(3, shuffle=True, random_state=0), "loss": "absolute", "search": "backward"},
    {"cv": RepeatedKFold(n_splits=3, n_repeats=2, random_state=1), "loss": "huber", "pooled": True},
    {"cv": 4, "loss": "absolute", "feature_costs": np.arange(1.0, 15.0), "search": "swap"},
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_an_array_read_in_parts_gives_the_path_of_the_array(options, weighted):
    X, y, w = problem(weighted=weighted)
    given = {"max_features": 6, "choose": "min", **options}
    whole = SparseRLSRegressor(**given).fit(X, y, w)
    for rows in (37, 150, 400):
        same(whole, SparseRLSRegressor(**given).fit(from_array(X, y, w, rows=rows)))


@pytest.mark.parametrize("loss", ["squared", "zero_one", "balanced", "absolute"])
@pytest.mark.parametrize("classes", [2, 3])
def test_classes_read_in_parts(loss, classes):
    X, y, w = problem(weighted=True)
    labels = np.array(["no", "yes", "perhaps"])[np.digitize(y, np.quantile(y, [0.4, 0.8]))]
    labels = np.where(labels == "perhaps", "yes", labels) if classes == 2 else labels
    given = {"max_features": 4, "loss": loss, "choose": "min"}
    whole = SparseRLSClassifier(**given).fit(X, labels, w)
    parts = SparseRLSClassifier(**given).fit(from_array(X, labels, w, rows=130))
    same(whole, parts)
    assert list(parts.predict(X)) == list(whole.predict(X))
    for pooled in (False, True):
        folds = {**given, "cv": 4, "pooled": pooled, "search": "floating", "validation": None}
        whole = SparseRLSClassifier(**folds).fit(X, labels, w)
        parts = SparseRLSClassifier(**folds).fit(from_array(X, labels, w, rows=130))
        same(whole, parts)


@pytest.mark.parametrize("kind", ["tall", "ties", "duplicates", "collinear", "scaled", "constant"])
def test_awkward_columns_read_in_parts(kind):
    case = make(kind, m=60, n=10, seed=3)
    given = {"max_features": 5, "choose": "min", "alpha": max(case.alpha, 1e-3)}
    whole = SparseRLSRegressor(**given).fit(case.X, case.Y[:, 0])
    parts = SparseRLSRegressor(**given).fit(from_array(case.X, case.Y[:, 0], rows=25))
    same(whole, parts, rtol=1e-8)


def test_sparse_rows_several_targets_and_large_offsets():
    X, y, _ = problem()
    rng = np.random.default_rng(1)
    thin = np.where(rng.random(X.shape) < 0.2, X, 0.0)
    given = {"max_features": 5, "choose": "min"}
    whole = SparseRLSRegressor(**given).fit(sparse.csr_array(thin), y)
    same(whole, SparseRLSRegressor(**given).fit(from_array(sparse.csr_array(thin), y, rows=90)))
    Y = np.column_stack([y, X[:, 3] + rng.standard_normal(len(y))])
    whole = SparseRLSRegressor(**given).fit(X, Y)
    same(whole, SparseRLSRegressor(**given).fit(from_array(X, Y, rows=90)))
    far = X + 1e6 * np.arange(X.shape[1])
    far[:200] += np.linspace(0, 1e4, 200)[:, None]  # the first rows are no guide to the others
    whole = SparseRLSRegressor(**given).fit(far, y)
    same(whole, SparseRLSRegressor(**given).fit(from_array(far, y, rows=90)), rtol=1e-7)


def test_many_samples_need_few_passes_and_folds_need_one():
    X, y, _ = problem(m=20_000, n=40)
    steps = 10
    source = from_array(X, y, rows=5_000)
    for _ in range(2):  # every fit counts its own readings
        model = SparseRLSRegressor(steps, choose="min").fit(source)
    same(SparseRLSRegressor(steps, choose="min").fit(X, y), model)
    assert model.path_.data["readings"] <= steps // 2
    assert model.path_.data["passes"] <= 1 + steps / 4
    model = SparseRLSRegressor(steps, cv=5, search="swap").fit(from_array(X, y, rows=5_000))
    assert 1 < model.path_.data["passes"] < 1.2  # folds by the first columns, sums
    model = SparseRLSRegressor(steps, cv=5, validation=10, alpha=1.0).fit(
        from_array(X, y, rows=5_000)
    )
    assert model.path_.data["passes"] < 3  # folds, sums of all rows and of parts, predictions


def test_more_columns_than_products_fit_into_memory():
    X, y, _ = problem(m=150, n=60)
    given = {"max_features": 6, "choose": "min"}
    whole = SparseRLSRegressor(**given).fit(X, y)
    same(whole, SparseRLSRegressor(memory_budget=1e5, **given).fit(from_array(X, y, rows=40)))
    with pytest.raises(InputError, match="do not fit into memory"):
        SparseRLSRegressor(cv=5, memory_budget=1e5).fit(from_array(X, y, rows=40))


# Files -------------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    X, y, w = problem(m=300, weighted=True)
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    return frame.assign(y=y, w=w), tmp_path


def pieces(frame, folder, kind):
    """The frame in three files."""
    for i in range(3):
        part = frame.iloc[100 * i : 100 * (i + 1)].reset_index(drop=True)
        if kind == "parquet":
            part.to_parquet(folder / f"{i}.parquet", row_group_size=33)
        elif kind == "feather":
            part.to_feather(folder / f"{i}.feather")
        else:
            part.to_csv(folder / f"{i}.csv", index=False, float_format="%.17g")
    return folder


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv"])
def test_tables_give_the_path_of_the_frame(table, kind):
    frame, folder = table
    pieces(frame, folder, kind)
    given = {"max_features": 5, "choose": "min"}
    whole = SparseRLSRegressor(**given).fit(frame.drop(columns=["y", "w"]), frame.y, frame.w)
    for what in (folder, f"{folder}/*.{kind}", [folder / f"{i}.{kind}" for i in range(3)]):
        data = sparsepath.open(what, target="y", weights="w")
        assert data.shape == (300, 14)
        model = SparseRLSRegressor(**given).fit(data)
        same(whole, model)
        assert list(model.feature_names_in_) == list(whole.feature_names_in_)
    if kind == "csv":  # converted once, and again if the file changes
        caches = [cache_file(folder / f"{i}.csv") for i in range(3)]
        assert all(cache.is_file() for cache in caches)
        before = caches[0].stat().st_mtime_ns
        sparsepath.open(folder / "0.csv", target="y")
        assert caches[0].stat().st_mtime_ns == before
        frame.head(50).to_csv(folder / "0.csv", index=False)
        assert len(sparsepath.open(folder / "0.csv", target="y")) == 50


def with_categories(m=300):
    """Numbers, text, categories, a flag, numbers written as text, and a target that needs them."""
    X, y, w = problem(m=m, n=6, weighted=True)
    rng = np.random.default_rng(2)
    town = rng.choice(["Turku", "Oulu", "Espoo", "Vaasa"], m, p=[0.4, 0.3, 0.2, 0.1])
    size = rng.choice(["small", "large"], m)
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(6)])
    frame = frame.assign(
        town=town, noise=rng.choice(list("abc"), m), size=pd.Categorical(size), old=X[:, 1] > 3
    )
    frame["mass"] = [f"{v:.3f} kg" for v in rng.random(m)]
    frame.loc[7, "town"] = "Lahti"  # occurs once, and counts as none
    y = y + 3 * (town == "Oulu") - 2 * (town == "Espoo") + 2 * (size == "large")
    return frame, y, w


def same_table(a, b):
    """Two fits to a table have the same path, in columns of the table, and the same models."""
    assert a.preparation_.to_dict() == b.preparation_.to_dict()
    assert a.path_.subsets == b.path_.subsets
    assert_allclose(b.path_.errors, a.path_.errors, rtol=1e-9)
    assert_allclose(b.selector_.coef_, a.selector_.coef_, rtol=1e-6, atol=1e-9)
    assert list(b.get_feature_names_out()) == list(a.get_feature_names_out())


@pytest.mark.parametrize("options", [{}, {"cv": 4, "search": "floating"}, {"alpha": 1e-3}], ids=str)
@pytest.mark.parametrize("kind", ["parquet", "feather", "csv"])
def test_categories_in_files_give_the_path_of_the_table(tmp_path, kind, options):
    """Indicators of a column come and go as one, and count as one feature."""
    frame, y, w = with_categories()
    model = SparseRLSRegressor(5, choose=4, validation=None, **options)
    whole = TableSelector(model, validation=None).fit(frame, y, w)
    assert {"town", "size"} <= set(whole.get_feature_names_out())
    pieces(frame.assign(y=y, w=w), tmp_path, kind)
    data = sparsepath.open(tmp_path, target="y", weights="w")
    found = TableSelector(model).fit(data)
    same_table(whole, found)
    assert_allclose(found.predict(frame), whole.predict(frame), rtol=1e-6)
    with pytest.raises(InputError, match="TableSelector"):
        model.fit(data)


@pytest.mark.parametrize("options", [{}, {"choose": 2}, {"choose": "min"}], ids=str)
def test_tables_in_passes_have_the_honest_errors_of_the_same_folds(tmp_path, options):
    frame, y, w = with_categories()
    pieces(frame.assign(y=y, w=w), tmp_path, "parquet")
    model = SparseRLSRegressor(5, **options)
    folds = KFold(4, shuffle=True, random_state=0)
    found = TableSelector(model, validation=folds)
    found.fit(sparsepath.open(tmp_path, target="y", weights="w"))
    whole = TableSelector(model, validation=folds).fit(frame, y, w)
    assert found.path_.sizes == whole.path_.sizes
    assert_allclose(found.path_.honest_errors, whole.path_.honest_errors, rtol=1e-6)
    assert found.honest_.size == len(found.selected_)
    assert found.honest_.empty_error == pytest.approx(whole.honest_.empty_error)
    assert found.at_size(1).honest_.error == pytest.approx(whole.at_size(1).honest_.error)
    if options == {"choose": 2}:
        assert found.honest_.size == 2
        assert found.honest_.error == pytest.approx(found.path_.honest_error(2))
    without = TableSelector(model, validation=None)
    assert without.fit(sparsepath.open(tmp_path, target="y", weights="w")).honest_ is None


def test_tables_of_other_programs(table):
    import polars as pl
    import pyarrow.dataset as ds

    frame, folder = table
    pieces(frame, folder, "parquet")
    given = {"max_features": 5, "choose": "min"}
    whole = SparseRLSRegressor(**given).fit(frame.drop(columns=["y", "w"]), frame.y)
    used = [f"c{i}" for i in range(14)]
    dataset = ds.dataset(folder, format="parquet")
    lazy = pl.scan_parquet(f"{folder}/*.parquet").drop("w")
    for data in (
        sparsepath.open(dataset, target="y", columns=used),
        sparsepath.open(lazy, target="y"),
    ):
        same(whole, SparseRLSRegressor(**given).fit(data))
    weighted = SparseRLSRegressor(**given).fit(frame[used], frame.y, frame.w)
    same(weighted, SparseRLSRegressor(**given).fit(dataset, "y", "w"))  # as they are
    same(weighted, SparseRLSRegressor(**given).fit(lazy.drop("y"), frame.y, frame.w))
    few = frame[frame.c1 > 3]
    whole = SparseRLSRegressor(**given).fit(few[used], few.y, few.w)
    same(whole, SparseRLSRegressor(**given).fit(dataset.filter(ds.field("c1") > 3), "y", "w"))
    with pytest.raises(InputError, match="5 entries for 300 rows"):
        SparseRLSRegressor(**given).fit(lazy.drop("y"), frame.y[:5])


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_and_svmlight(tmp_path, order, monkeypatch):
    from sklearn.datasets import dump_svmlight_file

    X, y, _ = problem(m=300)
    X, y = X.round(9), y.round(9)  # so that text holds the numbers themselves
    given = {"max_features": 5, "choose": "min"}
    whole = SparseRLSRegressor(**given).fit(X, y)
    monkeypatch.setattr(TUNING, "part_bytes", 8_000)
    np.save(tmp_path / "a.npy", np.asarray(np.column_stack([X, y]), order=order))
    data = sparsepath.open(tmp_path / "a.npy")
    assert len(data.parts) > 1
    same(whole, SparseRLSRegressor(**given).fit(data))
    dump_svmlight_file(X, y, str(tmp_path / "a.svmlight"), zero_based=order == "C")
    data = sparsepath.open(tmp_path / "a.svmlight")
    assert len(data.parts) > 1
    same(whole, SparseRLSRegressor(**given).fit(data))


def test_files_that_change_or_end_too_soon_are_named(table):
    frame, folder = table
    pieces(frame, folder, "parquet")
    data = sparsepath.open(folder, target="y")
    frame.head(100).to_parquet(folder / "1.parquet")
    with pytest.raises(FileError, match=r"1\.parquet has changed since it was opened"):
        SparseRLSRegressor(3).fit(data)
    whole = (folder / "2.parquet").read_bytes()
    (folder / "2.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match=r"2\.parquet cannot be read to its end"):
        sparsepath.open(folder, target="y")
    np.save(folder / "a.npy", np.ones((50, 3)))
    whole = (folder / "a.npy").read_bytes()
    (folder / "a.npy").write_bytes(whole[:-100])
    with pytest.raises(FileError, match=r"a\.npy is cut short"):
        sparsepath.open(folder / "a.npy")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.assign(c1=["a"] * len(f)), "text, categories or dates in column 'c1'"),
        (lambda f: f.assign(c1=f.c1.where(f.c1 > 3)), "column 'c1'"),
        (lambda f: f.assign(c1=np.where(f.c1 > 3, np.inf, f.c1)), "NaN or infinity in column 'c1'"),
        (lambda f: f.assign(y=1.0), "y is constant"),
        (lambda f: f.assign(w=-1.0), "weights must be finite numbers, zero or more"),
        (lambda f: f.rename(columns={"y": "yy"}), "no column 'y' .did you mean 'yy'"),
    ],
)
def test_bad_tables_are_refused_by_name(table, change, words):
    frame, folder = table
    change(frame).to_parquet(folder / "a.parquet")

    def opened_and_fitted():
        data = sparsepath.open(folder / "a.parquet", target="y", weights="w")
        SparseRLSRegressor(3).fit(data)

    with pytest.raises((InputError, FileError), match=words):
        opened_and_fitted()


HONEST = [
    {},
    {"alpha": "auto"},
    {"alpha": "auto", "classes": 3, "choose": "min"},
    {"cv": 4},
    {"cv": 3, "validation": 4, "memory_budget": 1.1e5},  # a pass for every part
    {"cv": 4, "loss": "absolute"},
    {"cv": TimeSeriesSplit(3)},
    {"cv": KFold(3, shuffle=True, random_state=0), "validation": 3},
    {"loss": "huber", "validation": 3},
    {"alpha": [0.1, 10.0], "search": "floating"},
    {"alpha": "loo", "forced": [2], "choose": 3},
    {"feature_groups": GROUPS, "max_features": 14},
    {"validation": "time"},
    {"validation": ShuffleSplit(3, random_state=0)},
    {"validation": 4, "classes": 2},
    {"validation": 4, "classes": 3, "cv": 4},
    {"validation": 4, "classes": 2, "loss": "zero_one", "cv": 4},
    {"validation": 4, "classes": 3, "loss": "balanced"},
]


def same_honest(whole, other, rtol=1e-9):
    """Chosen size, honest errors, interval and what else is said of the error."""
    assert other.honest_.size == whole.honest_.size
    assert_allclose(other.path_.honest_errors, whole.path_.honest_errors, rtol=rtol)
    for name in ("error", "error_se", "interval", "empty_error"):
        assert_allclose(getattr(other.honest_, name), getattr(whole.honest_, name), rtol=10 * rtol)
    for name in ("measure", "validation", "repeats"):
        assert getattr(other.honest_, name) == getattr(whole.honest_, name)
    assert other.honest_.figures == pytest.approx(whole.honest_.figures, rel=rtol)
    assert (other.honest_.neighbours or 0) == pytest.approx(whole.honest_.neighbours or 0, rel=rtol)


@pytest.mark.validated
@pytest.mark.parametrize("options", HONEST, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_honest_errors_are_those_of_the_array(options, weighted):
    X, y, w = problem(m=300, weighted=weighted)
    given, maker = {"max_features": 4, "alpha": 1.0, **options}, SparseRLSRegressor
    if classes := given.pop("classes", 0):
        maker = SparseRLSClassifier
        y = np.array(["no", "yes", "so"])[np.digitize(y, np.linspace(-4, 4, classes - 1))]
    whole = maker(**given).fit(X, y, w)
    parts = maker(**given).fit(from_array(X, y, w, rows=70))
    same_honest(whole, parts)
    assert parts.selected_.tolist() == whole.selected_.tolist()


KINDS_OF_ROWS = {
    "few": lambda X, y: (X[:90], y[:90]),
    "copies": lambda X, y: (np.vstack([X, X[:60]]), np.append(y, y[:60])),
    "answers": lambda X, y: ((X[:, :4] > 3).astype(float), np.round(y / 4)),
    "ties": lambda X, y: (np.hstack([(X[:, :4] > 3) * 1.0, X[:, 4:]]), np.round(y)),
    "neighbours": lambda X, y: (X, y + 9 * np.sin(np.arange(len(y)) / 20)),
}


@pytest.mark.validated
@pytest.mark.parametrize("kind", KINDS_OF_ROWS)
@pytest.mark.parametrize("many", [False, True])
def test_the_default_folds_are_those_of_the_array(kind, many, monkeypatch):
    if many:
        monkeypatch.setattr(folds, "MANY_ROWS", 200)
        monkeypatch.setattr(folds, "MOST_KINDS", 100)
    X, y = KINDS_OF_ROWS[kind](*problem(m=300)[:2])
    whole = SparseRLSRegressor(3, alpha=1.0).fit(X, y)
    for rows in (40, 500):
        same_honest(whole, SparseRLSRegressor(3, alpha=1.0).fit(from_array(X, y, rows=rows)))
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = SparseRLSRegressor(3, alpha=1.0).fit(from_array(X[order], y[order], rows=40))
    assert shuffled.honest_.error == pytest.approx(whole.honest_.error, rel=0.2)
    if kind != "answers":  # rows that are equal by chance are dealt one by one
        assert_allclose(shuffled.path_.honest_errors, whole.path_.honest_errors, rtol=1e-9)


@pytest.mark.validated
def test_groups_of_samples_have_the_honest_errors_of_the_array():
    X, y, _ = problem(m=240)
    groups = np.random.default_rng(0).integers(0, 12, 240)
    for cv in ("loo", 3):
        whole = SparseRLSRegressor(4, cv=cv, alpha=1.0).fit(X, y, groups=groups)
        same_honest(
            whole, SparseRLSRegressor(4, cv=cv, alpha=1.0).fit(from_array(X, y), groups=groups)
        )


def test_shuffled_targets_and_halves_are_those_of_the_array():
    X, y, w = problem(m=200, weighted=True)
    model = SparseRLSRegressor(3, validation=None)
    whole = permutation_null(model, X, y, 5, sample_weight=w)
    source = from_array(X, y, w, rows=70)
    parts = permutation_null(model, source, None, 5)
    assert_allclose(parts.null_errors, whole.null_errors, rtol=1e-9)
    assert parts.p_value == whole.p_value
    halves = stability(model, X, y, 4, sample_weight=w)
    assert_allclose(stability(model, source, None, 4).frequencies, halves.frequencies)
    honest = honest_error(model, X, y, sample_weight=w, null=3)
    found = honest_error(model, source, None, null=3)
    assert_allclose(found.errors, honest.errors, rtol=1e-9)
    assert found.chosen.p_value == honest.chosen.p_value


def test_shuffled_targets_of_rows_that_are_not_loaded(monkeypatch):
    monkeypatch.setattr(null, "LOADED", 0)
    X, y, w = problem(m=200, weighted=True)
    model = SparseRLSRegressor(3, validation=None)
    whole = permutation_null(model, X, y, 3, sample_weight=w)
    parts = permutation_null(model, from_array(X, y, w, rows=70), None, 3)
    assert_allclose(parts.null_errors, whole.null_errors, rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "zero_one", "balanced"])
@pytest.mark.parametrize("cv", ["loo", 4])
def test_the_penalty_by_leave_one_out_on_all_features(cv, loss):
    X, y, w = problem(m=300, weighted=True)
    labels = np.array(["no", "yes", "so"])[np.digitize(y, np.quantile(y, [0.4, 0.8]))]
    given = {"max_features": 4, "alpha": "loo", "cv": cv, "loss": loss, "choose": "min"}
    model = SparseRLSClassifier(**given, forbidden=[3], validation=None)
    whole = model.fit(X, labels, w)
    grid = dict(whole.alpha_errors_)
    parts = clone(model).fit(from_array(X, labels, w, rows=90))
    same(whole, parts)
    assert_allclose(list(parts.alpha_errors_), list(grid), rtol=1e-12)
    assert_allclose(list(parts.alpha_errors_.values()), list(grid.values()), rtol=1e-9)


def test_the_penalty_by_all_features_needs_their_products():
    X, y, _ = problem(m=120)
    with pytest.raises(InputError, match="products do not fit into memory"):
        SparseRLSRegressor(4, alpha="loo", memory_budget=1e3).fit(from_array(X, y, rows=50))


@pytest.mark.parametrize("kind", ["numbers", "text"])
@pytest.mark.parametrize("cv", [3, "loo", "splitter"])
def test_groups_of_samples_stay_together(tmp_path, cv, kind):
    """From an array beside the rows, and from a column of files that is no feature then."""
    X, y, _ = problem(m=240)
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 9, 240)
    y = y + 3 * rng.standard_normal(9)[groups]
    groups = np.array([f"patient {g}" for g in groups]) if kind == "text" else groups
    cv = GroupKFold(4) if cv == "splitter" else cv
    given = {"max_features": 4, "cv": cv, "choose": "min", "search": "floating"}
    model = SparseRLSRegressor(**given, validation=None)
    whole = clone(model).fit(X, y, groups=groups)
    parts = clone(model).fit(from_array(X, y, rows=70), groups=groups)
    same(whole, parts)
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(14)])
    whole = clone(model).fit(frame, y, groups=groups)
    pieces(frame.assign(who=groups, y=y), tmp_path, "parquet")
    data = sparsepath.open(tmp_path, target="y", groups="who")
    assert "who" not in data.names
    same(whole, clone(model).fit(data))
    table = TableSelector(model, validation=None)
    same_table(clone(table).fit(frame, y, groups=groups), clone(table).fit(data))


def test_groups_that_cannot_be_used_are_named(tmp_path):
    X, y, _ = problem(m=600)
    source = from_array(X, y, rows=70)
    with pytest.raises(InputError, match=r"leaves out each of 600 groups, .* use cv=10"):
        SparseRLSRegressor(2).fit(source, groups=np.arange(600))
    with pytest.raises(InputError, match=r"groups has shape \(5,\); give the group of each of the"):
        SparseRLSRegressor(2, cv=3).fit(source, groups=np.arange(5))
    with pytest.raises(InputError, match="name the column when the data are opened"):
        SparseRLSRegressor(2, cv=3).fit(source, groups="who")
    with pytest.raises(InputError, match="give fit an array of them"):
        sparsepath.open(X, y, groups="who")
    frame = pd.DataFrame(X[:, :3], columns=list("abc")).assign(y=y, who=None)
    frame.to_parquet(tmp_path / "a.parquet")
    data = sparsepath.open(tmp_path / "a.parquet", target="y", groups="who")
    with pytest.raises(InputError, match="groups: column 'who' has missing values"):
        SparseRLSRegressor(2, cv=3).fit(data)
    with pytest.raises(InputError, match="groups: column 'who' has missing values"):
        GraftingRegressor(0.1).fit(data)


def test_what_a_pass_tells_is_kept_by_the_order_of_the_chosen():
    """Removals are told in the order in which features came in."""
    X, y, _ = problem(m=200)
    source, coding = from_array(X, y, rows=70), Coding()
    with source.crew(1) as crew:
        estimator = SparseRLSRegressor(cv=3)
        part = fitting._partings(estimator, source, None, None, False).whole()
        [design] = fitting.read(source, crew, coding, [part], estimator)
        sums = fitting.sums_for(design, part)
        model = StreamedFolds(design, 1.0, False, Absolute(), sums)
        told = []
        for order in ((0, 3, 6), (6, 0, 3)):
            for feature in order:
                model.add(feature)
            told.append(dict(zip(order, model.errors_without(), strict=True)))
            for feature in order:
                model.drop(feature)
    assert told[0].keys() == told[1].keys()
    assert_allclose([told[1][i] for i in told[0]], list(told[0].values()), rtol=1e-12)
    assert len({round(error, 6) for error in told[0].values()}) == 3


def test_mistakes_over_folds_of_groups_of_columns_need_memory():
    X, y, _ = problem(m=300)
    labels = np.where(y > np.median(y), "up", "down")
    grouped = SparseRLSClassifier(2, loss="zero_one", cv=4, feature_groups=GROUPS)
    with pytest.raises(InputError, match="with feature_groups, or with categories, needs data in"):
        grouped.fit(from_array(X, labels, rows=70))


GOING_ON = [
    {},
    {"cv": 4, "validation": "auto"},
    {"cv": 4, "loss": "absolute"},
    {"memory_budget": 1e4},
    {"search": "swap"},
    {"feature_groups": GROUPS, "max_features": 14},
]


@pytest.mark.parametrize(("search", "moves"), [("swap", 5), ("swap", 9), ("forward", 13)])
def test_figures_do_not_depend_on_when_they_are_asked_for(tmp_path, search, moves):
    """Models are judged again in other company, here of many candidates that are alike."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((8000, 30)).astype(np.float32)
    X[:, 5:10] += X[:, :5] * rng.uniform(0.3, 2)
    y = X[:, :12] @ np.linspace(3, 0.1, 12) + rng.standard_normal(8000)
    given = {"max_features": 16, "choose": "min", "search": search, "validation": None}
    unbroken = SparseRLSRegressor(**given).fit(from_array(X, y, rows=1600))
    kept = {"checkpoint": tmp_path / "moves.json", **given}
    stop = SparseRLSRegressor(callback=lambda path: len(path.moves) >= moves, **kept)
    stop.fit(from_array(X, y, rows=1600))
    to_the_bit(unbroken, SparseRLSRegressor(**kept).fit(from_array(X, y, rows=1600)))


@pytest.mark.parametrize("more", GOING_ON, ids=str)
@pytest.mark.parametrize("moves", [1, 3])
def test_a_checkpoint_is_gone_on_from_to_the_last_bit(tmp_path, more, moves):
    X, y, _ = problem(m=300)
    given = {"max_features": 6, "choose": "min", "search": "floating", "validation": None, **more}
    unbroken = SparseRLSRegressor(**given).fit(from_array(X, y, rows=70))
    kept = {"checkpoint": tmp_path / "moves.json", **given}
    stop = SparseRLSRegressor(callback=lambda path: len(path.moves) >= moves, **kept)
    assert len(stop.fit(from_array(X, y, rows=70)).path_.moves) < len(unbroken.path_.moves)
    resumed = SparseRLSRegressor(**kept).fit(from_array(X, y, rows=70))
    same(unbroken, resumed)
    to_the_bit(unbroken, resumed)
    if more.get("loss") != "absolute":
        assert resumed.path_.data == unbroken.path_.data


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_columns_of_files_are_named_or_numbered(tmp_path, ending):
    X, y, w = problem(m=60)
    frame = pd.DataFrame(X[:, :4], columns=list("abcd")).assign(w=w, y=y)
    file = tmp_path / f"t.{ending}"
    frame.to_csv(file, index=False) if ending == "csv" else frame.to_parquet(file)
    by_name = sparsepath.open(file, target="y", weights="w", drop=["a", "c"])
    by_place = sparsepath.open(file, target=-1, weights=4, drop=[0, "2"])
    assert by_place.names == by_name.names == ("b", "d")
    assert by_place.target == by_name.target == "y"
    assert sparsepath.open(file, target="y", columns=[3, "a"]).names == ("d", "a")
    with pytest.raises(InputError, match="has 6 columns, so there is no column number 6"):
        sparsepath.open(file, target=6)
    with pytest.raises(InputError, match="column 'y' is the target"):
        sparsepath.open(file, target="y", weights=-1)


@pytest.mark.validated
def test_tables_of_every_kind_have_the_honest_errors_of_memory(tmp_path):
    """Folders, a dataset, a lazy frame and partitions without a cluster, with text and groups."""
    pyarrow_dataset = pytest.importorskip("pyarrow.dataset")
    polars, frames = pytest.importorskip("polars"), pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(1)
    towns = ["Espoo", "Oulu", "Turku", *map("v{}".format, range(20))]
    town = rng.choice(towns, 200, p=[0.4, 0.3, 0.2, *[0.005] * 20])
    frame = pd.DataFrame({"a": rng.normal(size=200), "town": town, "b": rng.normal(size=200)})
    y = frame.a + 2 * (town == "Oulu") + rng.normal(size=200)
    groups = rng.integers(0, 20, 200)
    whole = TableSelector(SparseRLSRegressor()).fit(frame, y, groups=groups)
    table = frame.assign(y=y, g=groups)
    for name, rows in (("a", slice(0, 90)), ("b", slice(90, None))):
        table[rows].to_parquet(tmp_path / f"{name}.parquet")
    opened = [
        sparsepath.open(what, target="y", groups="g")
        for what in (
            tmp_path,
            pyarrow_dataset.dataset(tmp_path),
            polars.scan_parquet(tmp_path / "*.parquet"),
        )
    ]
    partitions = frames.from_pandas(table.drop(columns="g"), npartitions=3)
    found = [TableSelector(SparseRLSRegressor()).fit(data) for data in opened]
    data = sparsepath.open(partitions, target="y")
    found.append(TableSelector(SparseRLSRegressor()).fit(data, groups=groups))
    for model in found:
        assert model.path_.subsets == whole.path_.subsets
        assert_allclose(model.path_.honest_errors, whole.path_.honest_errors, rtol=1e-9)


@pytest.mark.validated
@pytest.mark.parametrize(
    ("more", "n_classes"),
    [({}, 2), ({"cv": 4}, 3), ({"loss": "zero_one", "cv": 4}, 2), ({"loss": "balanced"}, 2)],
    ids=str,
)
def test_class_weights_of_every_part_are_those_in_memory(more, n_classes):
    X, y, w = problem(m=200)
    labels = np.digitize(y, np.quantile(y, [0.7, 0.9][: n_classes - 1])).astype(str)
    model = SparseRLSClassifier(3, alpha=1.0, class_weight="balanced", **more)
    whole = clone(model).fit(X, labels, sample_weight=w)
    parts = clone(model).fit(sparsepath.open(X, labels, weights=w))
    assert parts.path_.subsets == whole.path_.subsets
    assert_allclose(parts.path_.errors, whole.path_.errors, rtol=1e-9)
    assert_allclose(parts.path_.honest_errors, whole.path_.honest_errors, rtol=1e-9)
    alike = clone(model).set_params(class_weight=None, validation=None)
    alike.fit(X, labels, sample_weight=w)
    assert not np.allclose(alike.path_.errors, whole.path_.errors, rtol=1e-3)
