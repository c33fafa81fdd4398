"""Medians of columns in passes are those of NumPy, to the bit; missing values as in memory."""

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from sklearn.base import clone

import sparsepath
from rls.test_sources import same_table
from sparsepath import SparseRLSRegressor, TableSelector
from sparsepath.data import medians
from sparsepath.data.sources import Source
from sparsepath.errors import FileError, InputError, PathWarning
from sparsepath.system.threads import Threads
from sparsepath.tables.features import RawColumn

pytestmark = pytest.mark.filterwarnings("ignore:the path ends at size")


class Rows:
    """A part of a table, in memory."""

    def __init__(self, columns):
        self.columns, self.n_rows, self.start = columns, len(columns["a"]), 0

    def cells(self, names):
        cut = self.n_rows // 2
        for rows in (slice(0, cut), slice(cut, None)):
            yield [RawColumn(name, "number", self.columns[name][rows]) for name in names], None


def found(tables):
    source = Source([Rows(table) for table in tables], len(tables[0]), tuple(tables[0]))
    with Threads(1) as crew:
        return medians.middle_values(source, crew, source.names), source


AWKWARD = st.one_of(
    st.floats(-1e300, 1e300),
    st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2**-52, -1.0, np.nan, 5e-324, 1e300, -1e300]),
)


@given(arrays(np.float64, st.integers(2, 60), elements=AWKWARD), st.integers(0, 3))
def test_the_median_is_that_of_all_values(values, few):
    """However few are collected: with 0 or 1 nearly all bits are found by counting."""
    medians.COLLECTED, before = few, medians.COLLECTED
    try:
        cut = len(values) // 3
        tables = [
            {"a": values[:cut], "b": values[:cut] * 0},
            {"a": values[cut:], "b": values[cut:] * 0},
        ]
        told, _ = found(tables)
    finally:
        medians.COLLECTED = before
    pair, missing = told["a"]
    there = np.sort(values[~np.isnan(values)])
    assert missing == np.isnan(values).sum()
    if not len(there):
        assert not len(pair)
        return
    middle = there[[(len(there) - 1) // 2, len(there) // 2]]
    assert pair.tolist() == middle.tolist()
    assert np.median(pair) == np.median(there)


def test_few_passes_for_many_rows():
    rng = np.random.default_rng(0)
    values = rng.standard_normal(300_000)
    told, source = found([{"a": values[i::3], "b": np.round(values[i::3])} for i in range(3)])
    assert np.median(told["a"][0]) == np.median(values)
    assert np.median(told["b"][0]) == np.median(np.round(values))
    assert source.readings <= 8


def with_gaps(m=260, seed=0):
    """Numbers, whole numbers, flags, text, numbers as text, ordered values, dates, with gaps."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 4))
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["n"] = pd.array(rng.integers(0, 9, m), dtype="Int64")
    frame["f"] = pd.array(rng.random(m) < 0.4, dtype="boolean")
    frame["town"] = rng.choice(["Oulu", "Turku", "Espoo"], m)
    frame["mass"] = [f"{v:.2f} kg" for v in rng.random(m)]
    levels = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    frame["rank"] = pd.Categorical(rng.choice(["low", "mid", "high"], m), dtype=levels)
    start = datetime.datetime(2020, 1, 31, 0, 30)
    frame["when"] = [start + datetime.timedelta(hours=int(h)) for h in rng.integers(0, 9000, m)]
    y = X[:, 0] + 2 * (frame.town == "Oulu") + 0.2 * frame.n.astype(float) + rng.standard_normal(m)
    for name in frame.columns.drop("d"):  # one column is whole
        frame.loc[rng.random(m) < 0.1, name] = None
    return frame, y.to_numpy()


@pytest.mark.parametrize("missing", ["median", "indicator"])
@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_missing_values_are_filled_as_in_memory(tmp_path, missing, kind):
    frame, y = with_gaps()
    model = SparseRLSRegressor(6, choose=4, validation=None)
    table = TableSelector(model, missing=missing, dates="parts", validation=None)
    whole = clone(table).fit(frame, y)
    for i, rows in enumerate((slice(0, 7), slice(7, 260))):
        part = frame.assign(y=y)[rows].reset_index(drop=True)
        getattr(part, f"to_{kind}")(tmp_path / f"{i}.{kind}")
    found = clone(table).fit(sparsepath.open(tmp_path, target="y"))
    same_table(whole, found)
    assert_allclose(found.predict(frame), whole.predict(frame), rtol=1e-6)


def test_medians_of_counted_values_and_times_in_the_first_hour(tmp_path):
    """Even counts whose middle values differ; the only time of day is half past midnight."""
    m = 40
    days = [datetime.datetime(2020, 1, 1 + i % 28) for i in range(m)]
    days[3] = days[3].replace(minute=30)
    frame = pd.DataFrame(
        {
            "a": np.arange(m) % 7 - np.arange(m) / 9,
            "mass": [None, None] + [f"{i % 2 + 1} kg" for i in range(m - 2)],
            "when": days,
        }
    )
    y = frame.a.to_numpy() + np.random.default_rng(0).standard_normal(m)
    frame.assign(y=y).to_parquet(tmp_path / "a.parquet", row_group_size=9)
    model = SparseRLSRegressor(2, choose=1, validation=None)
    table = TableSelector(model, missing="median", dates="parts", validation=None)
    whole = clone(table).fit(frame, y)
    found = clone(table).fit(sparsepath.open(tmp_path / "a.parquet", target="y"))
    assert found.preparation_.to_dict() == whole.preparation_.to_dict()
    mass, when = found.preparation_.features_[1:]
    assert mass.fill == (1.5,)
    assert "hour" in when.values


def test_what_is_missing_is_named_where_nothing_is_to_stand_for_it(tmp_path):
    frame, y = with_gaps()
    frame = frame[["a", "b", "town"]].assign(y=y)
    frame.to_parquet(tmp_path / "a.parquet")
    data = sparsepath.open(tmp_path / "a.parquet", target="y")
    model = TableSelector(SparseRLSRegressor(2, validation=None), validation=None)
    with pytest.raises(InputError, match="missing values in column"):
        model.fit(data)
    numbers = sparsepath.open(tmp_path / "a.parquet", target="y", columns=["a", "b"])
    with pytest.raises(FileError, match=r"column 'a' has missing values; .* TableSelector"):
        SparseRLSRegressor(2).fit(numbers)
    frame.assign(b=np.nan).to_parquet(tmp_path / "a.parquet")
    data = sparsepath.open(tmp_path / "a.parquet", target="y", columns=["a", "b"])
    with pytest.warns(PathWarning, match="column 'b' has no values"):
        found = clone(model).set_params(missing="median").fit(data)
    assert found.get_feature_names_out().tolist() == ["a"]
    for nothing in (None, pd.NaT):  # text and dates without any value
        frame.assign(b=nothing).to_parquet(tmp_path / "a.parquet")
        data = sparsepath.open(tmp_path / "a.parquet", target="y", columns=["a", "b"])
        with pytest.warns(PathWarning, match="column 'b' has no values"):
            clone(model).set_params(missing="median", dates="parts").fit(data)
