"""The data sets of the papers: their sizes as published, and what is said when they are absent."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from experiments.paper_sets import SOURCES, available, diabetes, load

from experiments import paper_sets
from sparsepath.errors import FileError, InputError

SIZES = {  # rows, features, training rows if the source splits them
    "adult_a9a": (48842, 123, 32561),
    "anthrokids": (1019, 53, None),
    "anthrokids_full3900": (3900, 121, None),
    "arrhythmia": (452, 279, None),
    "australian": (690, 14, None),
    "bank32nh": (8192, 32, None),
    "boston_housing": (506, 13, None),
    "colon_alon_raw": (62, 2000, None),
    "colon_cancer": (62, 2000, None),
    "diabetes": (442, 10, None),
    "german_numer": (1000, 24, None),
    "ijcnn1": (141691, 22, 49990),
    "mfeat": (2000, 649, None),
    "mnist": (70000, 784, 60000),
    "poland_electricity_lag30": (1541, 30, 1370),
    "poland_electricity_series": (1601, 1, 1400),
    "santafe_laser_lag12": (10081, 12, 988),
    "santafe_laser_series": (10093, 1, 1000),
    "wine_spectra": (124, 256, 94),
}


def need(name):
    if name not in available():
        pytest.skip(f"the data set {name} is absent; set SPARSEPATH_DATA to its folder")
    return load(name)


def test_every_set_has_a_size_here():
    assert set(SIZES) == set(SOURCES)


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name):
    rows, features, train = SIZES[name]
    data = need(name)
    assert data.X.shape == (rows, features)
    assert data.X.dtype.kind in "iuf"
    assert data.X.flags.f_contiguous
    assert data.y.shape == (rows,)
    assert data.y.dtype.kind in "iuf"
    assert len(data.names) == len(set(data.names)) == features
    assert not {"split", "target"} & set(data.names)
    assert data.source == SOURCES[name]
    if name != "arrhythmia":
        assert np.isfinite(data.X).all()
    if train is None:
        assert data.split is None
    else:
        assert set(data.split) == {"train", "test"}
        assert np.count_nonzero(data.split == "train") == train


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("adult_a9a", {1: 7841 + 3846}),
        ("australian", {1: 307, -1: 383}),
        ("german_numer", {1: 300, -1: 700}),
        ("colon_cancer", {1: 22, -1: 40}),
        ("ijcnn1", {1: 4853 + 8712}),
        ("arrhythmia", {1: 245}),
        ("mfeat", dict.fromkeys(range(10), 200)),
    ],
)
def test_class_counts(name, counts):
    data = need(name)
    assert {label: np.count_nonzero(data.y == label) for label in counts} == counts


def test_arrhythmia_keeps_its_missing_values():
    data = need("arrhythmia")
    missing = np.isnan(data.X).sum(axis=0)
    assert missing.sum() == 408
    assert dict(zip(data.names, missing, strict=True))["J"] == 376


def test_mnist_is_bytes():
    data = need("mnist")
    assert data.X.dtype == np.uint8
    train = data.X[data.split == "train"]
    assert train.mean() / 255 == pytest.approx(0.1307, abs=5e-5)
    assert set(data.y) == set(range(10))


def test_lags_are_lags():
    series, lags = need("poland_electricity_series"), need("poland_electricity_lag30")
    values = series.y[series.split == "train"]
    assert lags.names[0] == "lag1"
    np.testing.assert_array_equal(lags.y[:1370], values[30:])
    np.testing.assert_array_equal(lags.X[:1370, 6], values[23:-7])


def test_bundled_diabetes():
    data = diabetes()
    assert data.X.shape == (442, 10)
    assert data.X[0, :4].tolist() == [59, 2, 32.1, 101]
    assert data.y[0] == 151
    assert data.y.mean() == pytest.approx(152.133, abs=1e-3)
    assert data.names == ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"]
    assert data.split is None


def test_bundled_diabetes_equals_the_file():
    stored, bundled = need("diabetes"), diabetes()
    np.testing.assert_array_equal(stored.X, bundled.X)
    np.testing.assert_array_equal(stored.y, bundled.y)
    assert stored.names == bundled.names


def small_set(folder, name="wine_spectra"):
    folder.mkdir(parents=True, exist_ok=True)
    columns = {"x1": [1, 2], "x2": [3, None], "split": ["train", "test"], "target": [0.5, 1.5]}
    pq.write_table(pa.table(columns), folder / f"{name}.parquet")


def test_folder_by_variable(tmp_path, monkeypatch):
    small_set(tmp_path)
    monkeypatch.setenv("SPARSEPATH_DATA", str(tmp_path))
    assert available() == ["wine_spectra"]
    data = load("wine_spectra")
    np.testing.assert_array_equal(data.X, [[1, 3], [2, np.nan]])
    assert data.y.tolist() == [0.5, 1.5]
    assert data.split.tolist() == ["train", "test"]
    assert data.names == ["x1", "x2"]


def test_folder_above_the_working_folder(tmp_path, monkeypatch):
    small_set(tmp_path / "shared" / "data")
    inside = tmp_path / "project" / "deep"
    inside.mkdir(parents=True)
    monkeypatch.delenv("SPARSEPATH_DATA", raising=False)
    monkeypatch.chdir(inside)
    assert available() == ["wine_spectra"]


def test_absent_file(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARSEPATH_DATA", str(tmp_path / "nowhere"))
    assert available() == []
    for name, file in [("mnist", r"mnist\.npz"), ("bank32nh", r"bank32nh\.parquet")]:
        with pytest.raises(FileError, match=rf"{name}.*{file}.*nowhere.*SPARSEPATH_DATA"):
            load(name)


def test_no_folder_at_all(tmp_path, monkeypatch):
    monkeypatch.delenv("SPARSEPATH_DATA", raising=False)
    monkeypatch.setattr(paper_sets, "_folder", lambda: None)
    assert available() == []
    with pytest.raises(FileError, match=r"mnist\.npz.*no data folder.*SPARSEPATH_DATA"):
        load("mnist")


def test_unknown_name():
    with pytest.raises(InputError, match=r"'boston'; did you mean 'boston_housing'.*wine_spectra"):
        load("boston")
