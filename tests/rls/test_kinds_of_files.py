"""Files as users have them: types, orders, row groups, forms of text; same path as in memory."""

import os

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

import sparsepath
from rls.test_sources import problem, same
from sparsepath import SparseRLSRegressor
from sparsepath.data.csv_cache import cache_file
from sparsepath.errors import FileError, InputError
from sparsepath.system.tuning import TUNING

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def frame():
    """Columns of every type that holds numbers."""
    X, y, _ = problem(m=240, n=8)
    made = pd.DataFrame(X, columns=[f"c{i}" for i in range(8)])
    made["c0"] = made.c0.astype("float32")
    made["c1"] = (10 * made.c1).round().astype("int16")
    made["c2"] = np.abs(20 * made.c2).round().astype("uint8")
    made["c3"] = made.c3 > 3
    return made.assign(y=y)


def fitted(*data, **options):
    return SparseRLSRegressor(5, choose="min", validation=None, **options).fit(*data)


def agrees(frame, what, **how):
    """Leave-one-out and folds, from files and from the frame."""
    for options in ({}, {"cv": 4}):
        whole = fitted(frame.drop(columns="y"), frame.y, **options)
        same(whole, fitted(sparsepath.open(what, target="y", **how), **options))


def nullable(frame):
    kinds = {"c1": "Int64", "c4": "Float64", "c3": "boolean"}
    return pa.Table.from_pandas(frame.astype(kinds))


def dictionaries(frame):
    table = pa.Table.from_pandas(frame)
    for name in ("c1", "c5"):
        place = table.column_names.index(name)
        table = table.set_column(place, name, table[name].dictionary_encode())
    return table


@pytest.mark.parametrize("kind", ["parquet", "feather"])
@pytest.mark.parametrize(
    "made", [pa.Table.from_pandas, nullable, dictionaries], ids=lambda f: f.__name__
)
def test_every_type_of_numbers(tmp_path, frame, made, kind):
    table, file = made(frame), tmp_path / f"a.{kind}"
    if kind == "parquet":
        with pq.ParquetWriter(file, table.schema) as writer:
            for low, rows in ((0, 0), (0, 100), (100, 0), (100, 3), (103, 137)):  # some are empty
                writer.write_table(table.slice(low, rows))
    else:
        with pa.OSFile(str(file), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=77)
    agrees(frame, file)


def test_decimals_are_numbers(tmp_path, frame):
    exact = pa.array([f"{v:.3f}" for v in frame.c4]).cast(pa.decimal128(12, 3))
    table = pa.Table.from_pandas(frame)
    place = table.column_names.index("c4")
    frame["c4"] = exact.cast(pa.float64()).to_numpy()
    pq.write_table(table.set_column(place, "c4", exact), tmp_path / "a.parquet")
    agrees(frame, tmp_path / "a.parquet")


def test_files_of_any_length_with_columns_in_any_order(tmp_path, frame):
    """Names that begin with a point or a line belong to other programs; types may differ."""
    frame.iloc[:3].to_parquet(tmp_path / "0.parquet")
    frame.iloc[3:200][frame.columns[::-1]].to_parquet(tmp_path / "1.parquet", row_group_size=50)
    frame.iloc[200:200].to_parquet(tmp_path / "2.parquet")
    frame.iloc[200:].astype({"c1": "float64"}).to_parquet(tmp_path / "3.parquet", row_group_size=1)
    (tmp_path / "_temporary").mkdir()
    for name in ("_metadata.parquet", ".0.parquet", "_temporary/4.parquet"):
        frame.to_parquet(tmp_path / name)
    agrees(frame, tmp_path)
    agrees(frame, f"{tmp_path}/[0-9].parquet")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.assign(more=1.0), r"0\.parquet has no column 'more', which .*1\.parquet has"),
        (lambda f: f.drop(columns="c5"), r"1\.parquet has no column 'c5', which .*0\.parquet has"),
        (lambda f: f.assign(c5="a"), "column 'c5' holds numbers in one of"),
        (lambda f: f.assign(c5=f.c5.where(f.c5 > 3)), "column 'c5' has missing values"),
    ],
)
def test_what_files_do_not_have_in_common_is_named(tmp_path, frame, change, words):
    frame.to_parquet(tmp_path / "0.parquet")
    change(frame).to_parquet(tmp_path / "1.parquet")
    with pytest.raises((InputError, FileError), match=words) as told:
        fitted(sparsepath.open(tmp_path, target="y"))
    assert "damaged" not in str(told.value)


def test_an_index_without_a_name_is_no_feature(tmp_path, frame):
    some = frame[frame.c4 > 2]
    some.to_parquet(tmp_path / "a.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "a.parquet").names
    agrees(some, tmp_path / "a.parquet")
    some.to_csv(tmp_path / "a.csv", float_format="%.17g")
    data = sparsepath.open(tmp_path / "a.csv", target="y")
    assert data.names == tuple(frame.columns[:-1])
    assert data.index == ("x0",)
    kept = sparsepath.open(tmp_path / "a.csv", target="y", columns=["x0", "c4"])
    assert kept.names == ("x0", "c4")


WRITTEN = [
    ("a.csv", {}, {}),
    ("a.CSV", {}, {}),
    ("a.tsv", {"sep": "\t"}, {}),
    ("a.txt", {"sep": "|"}, {}),
    ("a.csv", {"sep": ";", "decimal": ","}, {}),
    ("a.csv.gz", {}, {}),
    ("a.csv", {"encoding": "latin-1"}, {"encoding": "latin-1"}),
    ("a.csv", {"encoding": "utf-16"}, {}),
    ("a.csv", {"sep": "~"}, {"delimiter": "~"}),
]


@pytest.mark.parametrize(("name", "how", "said"), WRITTEN, ids=str)
def test_text_is_read_as_it_is_in_memory(tmp_path, frame, name, how, said):
    frame = frame.astype({"c0": "float64"}).rename(columns={"c6": "Höhe"})
    frame.to_csv(tmp_path / name, index=False, float_format="%.17g", **how)
    agrees(frame, tmp_path / name, **said)
    from sparsepath.data.readers import read_table

    whole = read_table(tmp_path / name, target="y", **said)
    same(
        fitted(pd.DataFrame(whole.X, columns=list(whole.names)), whole.y),
        fitted(sparsepath.open(tmp_path / name, target="y", **said)),
    )


def test_text_whose_later_rows_hold_something_else(tmp_path, monkeypatch):
    """Whole numbers, then others; nothing, then numbers; the first block does not tell."""
    monkeypatch.setattr(TUNING, "part_bytes", 0)
    rng = np.random.default_rng(0)
    m = 120_000
    a, b, c = rng.integers(0, 9, m).astype(object), rng.standard_normal(m).round(4), rng.random(m)
    a[m - 50 :] = a[m - 50 :] + 0.25
    y = a.astype(float) + b + c + rng.standard_normal(m)
    lines = (
        f"{p},{q:.4f},{r!r},{s!r}" for p, q, r, s in zip(a, b, c.tolist(), y.tolist(), strict=True)
    )
    (tmp_path / "a.csv").write_text("a,b,c,y\n" + "\n".join(lines))
    data = sparsepath.open(tmp_path / "a.csv", target="y")
    assert data.kinds == ("number",) * 3
    X = np.column_stack([a.astype(float), b, c])
    same(
        SparseRLSRegressor(3, choose="min", validation=None).fit(X, y),
        SparseRLSRegressor(3, choose="min", validation=None).fit(data),
    )
    with (tmp_path / "a.csv").open("a") as out:
        out.write("\nnone,1,2,3\n")
    assert sparsepath.open(tmp_path / "a.csv", target="y").text == ["a"]


def test_text_that_changes_after_its_conversion_is_named(tmp_path, frame):
    frame.to_csv(tmp_path / "a.csv", index=False)
    data = sparsepath.open(tmp_path / "a.csv", target="y")
    fitted(data)
    frame.head(100).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(FileError, match=r"a\.csv has changed since it was opened"):
        fitted(data)
    assert len(sparsepath.open(tmp_path / "a.csv", target="y")) == 100
    cache = cache_file(tmp_path / "a.csv")
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"], "nothing beside the data"
    cache.write_bytes(cache.read_bytes()[:-100])  # damaged: it is made again
    assert len(sparsepath.open(tmp_path / "a.csv", target="y")) == 100


@pytest.mark.parametrize(
    ("text", "words"),
    [("a b y\n1 2 3\n4 5 6\n", "separated by blanks are read in memory only"), ("", "empty")],
)
def test_text_that_cannot_be_converted_is_named(tmp_path, text, words):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises((InputError, FileError), match=rf"a\.csv.*{words}"):
        sparsepath.open(tmp_path / "a.csv", target="y")


def test_svmlight_files_of_different_widths(tmp_path):
    X, y, _ = problem(m=300, n=9)
    X, y = np.where(X > 4, X, 0.0).round(9), y.round(9)
    X[:100, 7:] = 0.0
    for zero_based in (False, True):
        folder = tmp_path / str(zero_based)
        folder.mkdir()
        X[100:, 0] *= 1 - zero_based  # so that one file does not tell where counting begins
        for i, rows in enumerate((slice(0, 100), slice(100, 300))):
            dump_svmlight_file(X[rows], y[rows], str(folder / f"{i}.svm"), zero_based=zero_based)
        same(fitted(X, y), fitted(sparsepath.open(folder)))
    (folder / "2.svm").write_text("1.5 a:3\n")
    with pytest.raises(FileError, match=r"2\.svm as svmlight: .*b.a."):
        sparsepath.open(folder)


def test_a_file_that_changes_between_passes_or_is_damaged_is_named(tmp_path, frame):
    file = tmp_path / "a.parquet"
    frame.to_parquet(file, row_group_size=60)
    data = sparsepath.open(file, target="y")

    def change(path):
        if len(path.moves) == 2:
            frame.iloc[::-1].to_parquet(file, row_group_size=60)

    with pytest.raises(FileError, match=r"a\.parquet has changed since it was opened"):
        fitted(data, callback=change, search="floating")
    data, then = sparsepath.open(file, target="y"), file.stat()
    whole = bytearray(file.read_bytes())
    whole[500:900] = bytes(b ^ 0x5A for b in whole[500:900])
    file.write_bytes(whole)
    os.utime(file, ns=(then.st_atime_ns, then.st_mtime_ns))  # nothing but its content tells
    with pytest.raises(FileError, match=r"a\.parquet cannot be read to its end"):
        fitted(data)
    file.unlink()
    with pytest.raises(FileError, match=r"a\.parquet cannot be read: No such file"):
        fitted(data)


def test_a_stream_of_arrow_is_no_file(tmp_path, frame):
    table = pa.Table.from_pandas(frame)
    with (
        pa.OSFile(str(tmp_path / "a.arrow"), "wb") as out,
        pa.ipc.new_stream(out, table.schema) as writer,
    ):
        writer.write_table(table)
    with pytest.raises(FileError, match=r"a\.arrow is not an Arrow file .* write it as"):
        sparsepath.open(tmp_path / "a.arrow", target="y")
