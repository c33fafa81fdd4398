"""Selection from tables as they come: against a loop that uses scikit-learn alone."""

import warnings

import numpy as np
import pandas as pd
import pyarrow.feather
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import KFold
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sparsepath import (
    GraftingClassifier,
    InputError,
    LarsSelector,
    PathWarning,
    SelectionPath,
    SparseRLSClassifier,
    SparseRLSRegressor,
    TablePreparation,
    TableSelector,
    compare,
    honest_error,
)

pytestmark = pytest.mark.validated


def table(m=80, seed=0):
    rng = np.random.default_rng(seed)
    made = pd.DataFrame(
        {
            "age": rng.normal(40, 10, m).round(1),
            "colour": rng.choice(["red", "blue", "green", "mauve"], m, p=[0.4, 0.35, 0.2, 0.05]),
            "flag": rng.random(m) < 0.5,
            "income": rng.lognormal(3, 1, m),
        }
    )
    made["noise"] = rng.normal(size=m)
    y = 0.3 * made["age"] + 4 * (made["colour"] == "red") - 2 * made["flag"] + rng.normal(size=m)
    made.loc[rng.random(m) < 0.15, "age"] = np.nan
    made.loc[rng.random(m) < 0.1, "colour"] = None
    return made, y.to_numpy()


def ridge(Z, y, new, alpha=1.0):
    """Ridge regression whose penalty does not see the scales of the columns."""
    scaler = StandardScaler().fit(Z)
    model = Ridge(alpha).fit(scaler.transform(Z), y)
    return model.predict(scaler.transform(new))


def plain_columns(frame, new, missing):
    """What each column becomes, by scikit-learn alone, learnt on ``frame``."""
    made = {}
    for name in frame:
        if name == "colour":
            counts = frame[name].value_counts()
            often = sorted(counts.index[counts >= 2], key=lambda v: (-counts[v], v))
            if missing == "median":
                fill = SimpleImputer(strategy="most_frequent")
                old, later = (fill.fit(frame[[name]].astype(object)).transform(
                    f[[name]].astype(object)) for f in (frame, new))  # fmt: skip
            else:
                old, later = (f[[name]].astype(object).fillna("(none)") for f in (frame, new))
                often += ["(none)"] if frame[name].isna().any() else []
                old, later = old.to_numpy(), later.to_numpy()
            code = OneHotEncoder(categories=[often], handle_unknown="ignore", sparse_output=False)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made[name] = code.fit(old).transform(old), code.transform(later)
        else:
            fill = SimpleImputer(strategy="median", add_indicator=missing == "indicator")
            both = [f[[name]].astype(float) for f in (frame, new)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made[name] = fill.fit(both[0]).transform(both[0]), fill.transform(both[1])
    return made


def forward(frame, y, new, most, missing):
    """Greedy forward selection of whole columns by leave-one-out."""
    columns = plain_columns(frame, new, missing)

    def loo(names):
        # The scale of the penalty is that of all rows, as the package has it.
        Z = StandardScaler().fit_transform(np.hstack([columns[n][0] for n in names]))
        return RidgeCV([1.0], store_cv_results=True).fit(Z, y).cv_results_.sum()

    chosen, found = [], {0: np.full(len(new), y.mean())}
    while len(chosen) < most:
        left = [name for name in frame if name not in chosen]
        chosen.append(min(left, key=lambda name: loo([*chosen, name])))
        Z, later = (np.hstack([columns[n][k] for n in chosen]) for k in (0, 1))
        found[len(chosen)] = ridge(Z, y, later)
    return chosen, found


@pytest.mark.parametrize("missing", ["median", "indicator"])
def test_preparation_is_learnt_within_the_folds(missing):
    frame, y = table(40)
    folds = KFold(3, shuffle=True, random_state=1)
    model = TableSelector(SparseRLSRegressor(2, alpha=1.0), missing=missing, validation=folds).fit(
        frame, y
    )
    chosen, _ = forward(frame, y, frame, 2, missing)
    assert list(model.path_.names(2)) == chosen
    off = np.zeros((len(y), 3))
    for train, test in folds.split(frame):
        _, found = forward(frame.iloc[train], y[train], frame.iloc[test], 2, missing)
        for size, predicted in found.items():
            off[test, size] = (predicted - y[test]) ** 2
    np.testing.assert_allclose(model.path_.honest_errors, off.mean(0), rtol=1e-9)


def test_frames_of_all_makes_give_the_same_path():
    import polars as pl
    import pyarrow as pa

    frame, y = table()
    frame["grade"] = pd.Categorical(
        np.array(["low", "mid", "high"])[np.digitize(frame["income"], [15, 30])],
        ["low", "mid", "high"],
        ordered=True,
    )
    frame["day"] = pd.Timestamp("2024-01-30") + pd.to_timedelta(np.arange(len(frame)) % 50, "D")
    frame["weight"] = [f"{v:.1f} kg" for v in frame["income"]]
    arrow = pa.Table.from_pandas(frame)
    enum = pl.from_pandas(frame).with_columns(pl.col("grade").cast(pl.Enum(["low", "mid", "high"])))
    model = TableSelector(missing="indicator", dates="parts", validation=3)
    paths = [model.fit(each, y).path_ for each in (frame, arrow, enum)]
    assert paths[0].subsets == paths[1].subsets == paths[2].subsets
    assert paths[0].honest_errors.tolist() == paths[1].honest_errors.tolist()
    assert paths[0].honest_errors.tolist() == paths[2].honest_errors.tolist()
    made = model.preparation_
    kinds = {f.name: (f.kind, f.unit) for f in made.features_}
    assert kinds["grade"] == ("ordered", "")
    assert kinds["weight"] == ("number", "kg")
    codes = model.prepare(frame)[:, made.get_feature_names_out().tolist().index("grade")]
    assert codes.tolist() == frame["grade"].cat.codes.tolist()
    parts = [name for name in made.get_feature_names_out() if name.startswith("day ")]
    expected = frame["day"].dt
    for part in parts:
        Z = model.prepare(frame)[:, made.get_feature_names_out().tolist().index(part)]
        kind = part.split()[1]
        truth = expected.isocalendar().day if kind == "weekday" else getattr(expected, kind)
        assert Z.tolist() == truth.tolist()


def test_categories_are_in_or_out_as_one():
    frame, y = table()
    model = TableSelector(SparseRLSRegressor(), missing="median", validation=None).fit(frame, y)
    assert model.path_.sizes == tuple(range(6))
    for size, small in model.models_.items():
        columns = small.formula().columns
        of = model.preparation_.groups_
        assert set(of[columns]) == set(model.path_.subset(size))
    again = type(model.path_).from_dict(model.path_.to_dict())
    assert again.subsets == model.path_.subsets
    assert list(again.replay())[-1]


@pytest.mark.parametrize(
    "selector",
    [
        LarsSelector(),
        SparseRLSRegressor(3, search="floating"),
        SparseRLSRegressor(search="backward"),
        SparseRLSRegressor(
            2, forced=["colour"], forbidden=["noise"], feature_costs=[1, 2, 1, 1, 1]
        ),
    ],
    ids=lambda s: type(s).__name__,
)
def test_other_searches_tell_columns_of_the_table(selector):
    frame, y = table()
    model = TableSelector(selector, missing="indicator", validation=None).fit(frame, y)
    path = model.path_
    assert path.n_features == 5
    assert all(len(set(subset)) == len(subset) for subset in path.subsets)
    for size in path.sizes:
        used = model.preparation_.groups_[model.models_[size].formula().columns]
        assert set(used) <= set(path.subset(size))
        at = model.at_size(size)
        np.testing.assert_allclose(
            at.predict(frame), model.models_[size].predict(model.prepare(frame))[:, 0]
        )
        assert at.transform(frame).columns.tolist() == list(path.names(size))
    if getattr(selector, "forced", None):
        assert all("colour" in path.names(size) for size in path.sizes)
        assert not any("noise" in path.names(size) for size in path.sizes)
        assert path.sizes[-1] == 2


def test_classes_and_judging_take_tables():
    frame, y = table()
    labels = np.where(y > np.median(y), "high", "low")
    model = TableSelector(SparseRLSClassifier(2), missing="median", validation=3)
    model.fit(frame, labels)
    assert set(model.predict(frame)) <= {"high", "low"}
    assert model.score(frame, labels) > 0.6
    probable = TableSelector(GraftingClassifier(l1=0.02), missing="median", validation=None)
    assert probable.fit(frame, labels).predict_proba(frame).shape == (80, 2)
    found = honest_error(model, frame, labels, validation=3)
    assert found.chosen.size in (0, 1, 2)
    pair = {"a": model, "b": TableSelector(SparseRLSClassifier(1), missing="indicator")}
    both = compare(pair, frame, labels, validation=3)
    assert set(both.best.features) <= set(frame)


def test_what_is_refused_and_what_is_said():
    frame, y = table()
    with pytest.raises(InputError, match=r"missing values in columns 'age', 'colour' .*median"):
        TablePreparation().fit(frame)
    with pytest.raises(InputError, match=r"dates in column 'day': dates='parts'"):
        TablePreparation().fit(pd.DataFrame({"day": ["2024-01-01", "2024-01-02"]}))
    with pytest.raises(InputError, match="give their format"):
        TablePreparation().fit(pd.DataFrame({"day": ["1.2.2024", "31.12.2024"]}))
    with pytest.raises(InputError, match=r"different units \('g', 'kg'\)"):
        TablePreparation().fit(pd.DataFrame({"w": ["1 kg", "500 g", "2 kg"]}))
    odd = pd.DataFrame({"w": ["1", "2", "3", "n.d.", "5", "6"]})
    with pytest.raises(InputError, match=r"numbers except 'n.d.' in row 4"):
        TablePreparation().fit(odd)
    with pytest.raises(InputError, match="use one of error, median, indicator"):
        TablePreparation(missing="mean").fit(frame)
    ids = frame[["income"]].assign(id=[f"C-{i}" for i in range(len(frame))])
    with pytest.warns(UserWarning, match="'id' is text that is different in every row"):
        model = TableSelector(validation=None).fit(ids, y)
    assert model.path_.sizes == (0, 1)
    made = TablePreparation().fit(frame[["flag"]].assign(c=["a", "b"] * 40))
    assert made.transform(pd.DataFrame({"c": ["a", "?"], "flag": [1, 0]})).tolist() == [
        [1, 1, 0],
        [0, 0, 0],
    ]
    assert "counts as none" not in str(made.notes_)
    assert "'?'" in made.unseen(pd.DataFrame({"c": ["a", "?"], "flag": [1, 0]}), [1])[0]
    with pytest.raises(InputError, match="lacks the column 'c'"):
        made.transform(pd.DataFrame({"flag": [True]}))


def test_a_path_speaks_of_columns_of_the_table():
    frame, y = table()
    frame = frame.drop(columns="age")
    asked = {"forced": ["noise"], "forbidden": [1], "max_features": 2}
    seen = []
    model = TableSelector(
        SparseRLSRegressor(**asked), missing="median", validation=None, callback=seen.append
    ).fit(frame, y)
    said = {**asked, "forced": [3], "missing": "median", "selector": "SparseRLSRegressor"}
    for path in (seen[0], model.path_):
        assert {name: path.parameters[name] for name in said} == said
        assert path.feature_names == tuple(frame.columns)
    assert all(3 in subset and 1 not in subset for subset in model.path_.subsets)
    assert model.selector_.callback is None


def test_a_fit_to_arrays_forgets_the_names_of_an_earlier_one():
    frame, y = table()
    model = TableSelector(missing="median", validation=None).fit(frame, y)
    assert hasattr(model, "feature_names_in_")
    model.fit(frame[["income", "noise"]].to_numpy(), y)
    assert not hasattr(model, "feature_names_in_")


def test_forced_columns_of_a_table_on_the_command_line(tmp_path, capsys):
    from sparsepath.cli import main

    frame, y = table()
    frame.assign(y=y).to_csv(tmp_path / "table.csv", index=False)
    call = ["select", str(tmp_path / "table.csv"), "--target", "y", "--missing", "median"]
    more = ["--force", "noise", "--forbid", "colour", "--no-validation"]
    assert main([*call, *more, "--out", str(tmp_path / "out")]) == 0
    path = SelectionPath.load(tmp_path / "out" / "path.json")
    assert path.parameters["forced"] == ["noise"]
    assert path.parameters["forbidden"] == ["colour"]
    assert all("noise" in path.names(size) for size in path.sizes)


@pytest.mark.parametrize("missing", ["median", "indicator"])
def test_a_column_with_values_in_hardly_any_row_leaves_the_honest_error(missing):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((40, 4)), columns=list("abcd"))
    y = table["a"] + 0.3 * rng.standard_normal(40)
    table.loc[table.index != 7, "d"] = np.nan  # the fold without row 7 has no value of it
    model = TableSelector(SparseRLSRegressor(3), missing=missing).fit(table, y)
    assert model.honest_.error < 0.3
    table["d"] = np.nan
    with pytest.warns(PathWarning, match="'d' has no values and is not used"):
        model = TableSelector(SparseRLSRegressor(3), missing=missing).fit(table, y)
    assert model.honest_.error < 0.3
    assert model.get_feature_names_out().tolist() == ["a"]
    again = TablePreparation.from_dict(model.preparation_.to_dict())
    table["d"] = 1.0  # what never had a value is not read
    assert np.array_equal(again.transform(table), table[["a", "b", "c"]])


def test_columns_of_several_levels():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((40, 4)))
    y = table[1] + 0.3 * rng.standard_normal(40)
    table.columns = pd.MultiIndex.from_product([["a", "b"], [0, 1]])
    model = TableSelector(SparseRLSRegressor(2, choose=1)).fit(table, y)
    assert model.get_feature_names_out().tolist() == ["('a', 1)"]
    assert model.predict(table).shape == (40,)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_declared_category_of_digits_is_no_number(library, tmp_path):
    rng = np.random.default_rng(3)
    codes = rng.integers(1, 5, 120)
    y = np.array([0.0, 3.0, -2.0, 5.0, 1.0])[codes] + 0.1 * rng.normal(size=120)
    plain = pd.DataFrame({"code": codes.astype(str), "a": rng.normal(size=120)})
    frame = plain.astype({"code": "category"})
    if library == "polars":
        polars = pytest.importorskip("polars")
        frame = polars.from_pandas(frame)
    if library == "pyarrow":
        frame.to_feather(tmp_path / "t.feather")
        frame = pyarrow.feather.read_table(tmp_path / "t.feather")
    model = TableSelector(SparseRLSRegressor(alpha=1.0, choose=1)).fit(frame, y)
    assert [each.kind for each in model.preparation_.features_] == ["category", "number"]
    assert model.selected_.tolist() == [0]
    numbers = plain.astype({"code": float})
    for other in (frame, plain, numbers):  # the values of a category are enough
        np.testing.assert_allclose(model.predict(other), y, atol=1.0)
    assert TableSelector(SparseRLSRegressor(alpha=1.0)).fit(plain, y).preparation_.features_[
        0
    ].kind == ("number")


def test_a_size_that_is_no_whole_number_is_refused():
    frame, y = table()
    with pytest.raises(InputError, match=r"max_features=1\.5; give a whole number"):
        TableSelector(SparseRLSRegressor(1.5), missing="median").fit(frame, y)
