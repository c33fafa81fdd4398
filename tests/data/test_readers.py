"""Every format read from a real file; every refusal names the file or the column."""

import bz2
import gzip
import os
import pickle
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import issparse

from sparsepath.data.formats import read_columns
from sparsepath.data.readers import read_table, write_table
from sparsepath.errors import FileError, InputError

X = np.array([[1.5, 2.0, 3.0], [4.0, 5.25, 6.0], [7.0, 8.0, 9.125], [0.1, 1 / 3, 1e-300]])
Y = np.array([0.5, -1.0, 2.0, 3.5])


def csv_file(folder: Path, text: str, name: str = "cars.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def parquet_file(folder: Path, columns: dict, name: str = "cars.parquet") -> Path:
    path = folder / name
    pq.write_table(pa.table(columns), path)
    return path


def numbers(folder: Path, suffix: str) -> Path:
    """The same table, X with columns a, b, c and target y, in every named dense format."""
    path = folder / f"numbers{suffix}"
    write_table(path, {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": Y})
    return path


# The common ground of all formats


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt", ".parquet", ".pq", ".CSV"])
@pytest.mark.parametrize("target", ["y", 3, -1, "-1", "3"])
def test_named_formats(tmp_path, suffix, target):
    path = numbers(tmp_path, suffix)
    table = read_table(path, target=target)
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, Y)
    assert table.names == ["a", "b", "c"]
    assert table.target == "y"
    assert table.source == str(path)
    assert table.X.flags.f_contiguous
    assert table.X.dtype == np.float64
    assert table.y.flags.writeable


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy"])
def test_without_a_target_every_column_is_a_feature(tmp_path, suffix):
    table = read_table(numbers(tmp_path, suffix))
    np.testing.assert_array_equal(table.X, np.column_stack([X, Y]))
    assert table.y is None
    assert table.target is None


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_several_targets(tmp_path, suffix):
    table = read_table(numbers(tmp_path, suffix), target=["y", "b"])
    np.testing.assert_array_equal(table.y, np.column_stack([Y, X[:, 1]]))
    assert table.target == ("y", "b")
    assert table.names == ["a", "c"]
    assert read_table(numbers(tmp_path, suffix), target=["y"]).y.shape == (4, 1)


@pytest.mark.parametrize("drop", [["b"], "b", (1,), ["1"]])
def test_drop(tmp_path, drop):
    assert read_table(numbers(tmp_path, ".csv"), target="y", drop=drop).names == ["a", "c"]


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (["train", "test", "train"], "train"),
        ([0, 1, 0], "0"),
        ([0, 1, 0], 0),
        ([0.5, 1.0, 0.5], "0.50"),
        ([True, False, True], "true"),
        ([True, False, True], True),
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_rows(tmp_path, values, wanted, suffix):
    path = tmp_path / f"parts{suffix}"
    write_table(path, {"a": [1, 2, 3], "part": values, "y": ["u", "v", "w"]})
    table = read_table(path, target="y", rows=("part", wanted))
    np.testing.assert_array_equal(table.X, [[1], [3]])
    np.testing.assert_array_equal(table.y, ["u", "w"])
    assert table.names == ["a"]


def test_no_such_rows(tmp_path):
    path = csv_file(tmp_path, "a,part\n1,train\n2,test\n")
    with pytest.raises(InputError, match=r"cars\.csv.*'part' equal to 'tran'.*'train', 'test'"):
        read_table(path, rows=("part", "tran"))
    with pytest.raises(InputError, match=r"'a' equal to 'one'.*'1', '2'"):
        read_table(path, rows=("a", "one"))


def test_missing_values_in_other_rows_do_not_matter(tmp_path):
    path = csv_file(tmp_path, "a,part\n1,train\n,test\n")
    np.testing.assert_array_equal(read_table(path, rows=("part", "train")).X, [[1.0]])


# Types


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (["int8", "int8"], "int8"),
        (["uint8", "int16"], "int16"),
        (["bool", "uint8"], "uint8"),
        (["bool", "bool"], "uint8"),
        (["float32", "float32"], "float32"),
        (["float16", "float16"], "float32"),
        (["float32", "float64"], "float64"),
        (["int8", "float32"], "float64"),
        (["bool", "float64"], "float64"),
    ],
)
def test_common_type(tmp_path, types, expected):
    columns = {f"c{i}": np.array([0, 1, 1]).astype(t) for i, t in enumerate(types)}
    table = read_table(parquet_file(tmp_path, columns))
    assert table.X.dtype == expected
    np.testing.assert_array_equal(table.X, [[0, 0], [1, 1], [1, 1]])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 1], "i"),
        ([0.5, 1.0, 2.0], "f"),
        (["no", "yes", "no"], "U"),
        ([True, False, True], "b"),
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_target_kinds(tmp_path, values, kind, suffix):
    path = tmp_path / f"labels{suffix}"
    write_table(path, {"a": [1.0, 2.0, 3.0], "y": values})
    y = read_table(path, target="y").y
    assert y.dtype.kind == kind
    assert y.tolist() == values


def test_parquet_categories_decimals_and_chunks(tmp_path):
    path = tmp_path / "odd.parquet"
    table = pa.table(
        {
            "price": pa.array([1, 2, 3]).cast(pa.decimal128(21, 2)),
            "y": pa.array(["u", "v", "u"]).dictionary_encode(),
        }
    )
    pq.write_table(table, path, row_group_size=1)
    read = read_table(path, target="y")
    np.testing.assert_array_equal(read.X, [[1.0], [2.0], [3.0]])
    assert read.y.tolist() == ["u", "v", "u"]


# CSV


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_delimiters(tmp_path, mark):
    text = "\n".join(mark.join(row) for row in [['"length, cm"', "b;c", "y"], "123", "456"])
    text = text.replace("b;c", '"b;c"')
    table = read_table(csv_file(tmp_path, text), target="y")
    assert table.names == ["length, cm", "b;c"]
    assert table.X.tolist() == [[1, 2], [4, 5]]


@pytest.mark.parametrize(
    "text", ["a b y\n1 2 3\n4 5,5 6\n", "  a    b  y\n\n  1  2.0  3\n  4  5.5  6 \n"]
)
def test_blanks_however_many(tmp_path, text):
    table = read_table(csv_file(tmp_path, text, "cars.txt"), target="y")
    assert table.names == ["a", "b"]
    assert table.X.tolist() == [[1, 2], [4, 5.5]]


def test_blanks_in_names_part_no_columns(tmp_path):
    path = csv_file(tmp_path, "body mass\n1\n2\n")
    assert read_table(path).names == ["body mass"]


def test_a_table_on_its_side(tmp_path):
    pd = pytest.importorskip("pandas")
    path = csv_file(tmp_path, "name,s1,s2,s3\nage,1,2,3\nmpg,4,5,6\n")
    with pytest.raises(InputError, match=r"cars\.csv: no column 'mpg', but a row.*transposed"):
        read_table(path, target="mpg")
    turned = pd.read_csv(path, index_col=0).T.to_csv(index=False)  # as the message says
    assert read_table(csv_file(tmp_path, turned), target="mpg").X.tolist() == [[1], [2], [3]]


def test_other_delimiter_and_decimal_comma(tmp_path):
    path = csv_file(tmp_path, "a|y\n1|2\n")
    assert read_table(path, target="y", delimiter="|").names == ["a"]
    with pytest.raises(InputError, match=r"cars\.csv: delimiter.*'::'"):
        read_table(path, target="y", delimiter="::")
    path = csv_file(tmp_path, "a;y\n1,5;2,25\n")
    assert read_table(path, target="y", decimal=",").X.tolist() == [[1.5]]
    assert read_table(path, target="y").X.tolist() == [[1.5]]  # found out
    with pytest.raises(InputError, match="'1,5'"):
        read_table(path, decimal=".")


@pytest.mark.parametrize("first", ["5,6,7\n", "\n\n5,6,7\n", "\ufeff5,6,7\n"])
def test_no_names_on_top(tmp_path, first):
    table = read_table(csv_file(tmp_path, f"{first}1,2,3\n"), target=-1)
    assert table.names == ["x0", "x1"]
    assert table.target == "x2"
    assert table.X.tolist() == [[5, 6], [1, 2]]
    assert table.y.tolist() == [7, 3]


def test_numbered_names_of_a_bare_pandas_frame(tmp_path):
    table = read_table(csv_file(tmp_path, "0,1,2\n5,6,7\n"), target="2")
    assert table.names == ["0", "1"]
    assert table.X.tolist() == [[5, 6]]
    table = read_table(csv_file(tmp_path, ",0,1\n0,6,7\n"), drop=["x0"])
    assert table.names == ["0", "1"]


def test_byte_order_mark_and_windows_line_ends(tmp_path):
    table = read_table(csv_file(tmp_path, "\ufeffa,y\r\n1,2\r\n3,4\r\n"), target="y")
    assert table.names == ["a"]
    assert table.X.tolist() == [[1], [3]]


def test_a_type_that_changes_late_in_a_long_file(tmp_path):
    path = csv_file(tmp_path, "a,y\n" + "1,2\n" * 400_000 + "1.5,2\n")
    table = read_table(path, target="y")
    assert table.X.dtype == np.float64
    assert table.X[-1, 0] == 1.5


def test_very_wide_csv(tmp_path):
    n = 7_000  # a row of more than a megabyte, which is the usual block
    names = ",".join(f"g{j}" for j in range(n))
    row = ",".join(["0." + 155 * "1"] * n)
    table = read_table(csv_file(tmp_path, f"{names}\n{row}\n"))
    assert table.X.shape == (1, n)


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_packed_csv(tmp_path, suffix, pack):
    path = tmp_path / f"numbers.csv{suffix}"
    path.write_bytes(pack(b"a,y\n1,2\n"))
    assert read_table(path, target="y").X.tolist() == [[1]]


def test_ragged_row(tmp_path):
    with pytest.raises(FileError, match=r"cars\.csv.*a row has 3 cells instead of 2"):
        read_table(csv_file(tmp_path, "a,b\n1,2\n1,2,3\n"))


# svmlight

SVM = "+1 1:0.5 4:2\n-1 2:3\n+1 4:1\n"
DENSE = [[0.5, 0, 0, 2], [0, 3, 0, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize("suffix", [".svm", ".svmlight", ".libsvm", ".dat", ".svm.gz", ".dat.bz2"])
@pytest.mark.parametrize("target", [None, "y"])
def test_svmlight(tmp_path, suffix, target):
    pack = {".gz": gzip.compress, "bz2": bz2.compress}.get(suffix[-3:], bytes)
    path = tmp_path / f"a{suffix}"
    path.write_bytes(pack(SVM.encode()))
    table = read_table(path, target=target)
    assert issparse(table.X)
    assert table.X.format == "csr"
    np.testing.assert_array_equal(table.X.toarray(), DENSE)
    assert table.names == ["x1", "x2", "x3", "x4"]
    assert table.y.tolist() == [1, -1, 1]
    assert table.target == "y"


def test_svmlight_counted_from_zero(tmp_path):
    table = read_table(csv_file(tmp_path, "1 0:5 2:1\n", "zero.svm"))
    assert table.names == ["x0", "x1", "x2"]
    assert table.X.toarray().tolist() == [[5, 0, 1]]


def test_svmlight_options(tmp_path):
    path = csv_file(tmp_path, SVM, "a.svm")
    table = read_table(path, drop=["x3"], rows=("x2", "0"), n_features=6)
    assert table.names == ["x1", "x4", "x5", "x6"]
    np.testing.assert_array_equal(table.X.toarray(), [[0.5, 2, 0, 0], [0, 1, 0, 0]])
    assert table.y.tolist() == [1, 1]
    with pytest.raises(InputError, match=r"a\.svm has 4 features, more than n_features=3"):
        read_table(path, n_features=3)
    with pytest.raises(InputError, match=r"a\.svm.*own target.*'x2'"):
        read_table(path, target="x2")
    with pytest.raises(InputError, match=r"a\.svm.*no column 'z'.*'x1', 'x2'"):
        read_table(path, drop=["z"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2:nan 3:1\n", r"a\.svm has missing values in column 'x2'"),
        ("1 2:inf 3:1\n", r"a\.svm has infinite values in column 'x2'"),
        ("nan 2:1\n", r"a\.svm: target 'y' is missing"),
        ("1\n1\n", r"a\.svm: no feature column"),
    ],
)
def test_svmlight_content(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_table(csv_file(tmp_path, text, "a.svm"))


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "1 x:3\n", "1 2:x\n"])
def test_not_svmlight(tmp_path, text):
    with pytest.raises(FileError, match=r"a\.svm as svmlight"):
        read_table(csv_file(tmp_path, text, "a.svm"))


# npy and npz


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", "u1", "?"])
def test_npy(tmp_path, order, dtype):
    array = np.array([[1, 0, 1], [0, 1, 1]], dtype=dtype, order=order)
    np.save(tmp_path / "a.npy", array)
    table = read_table(tmp_path / "a.npy", target=-1)
    np.testing.assert_array_equal(table.X, array[:, :2])
    np.testing.assert_array_equal(table.y, array[:, 2])
    assert table.names == ["x0", "x1"]
    assert table.target == "x2"
    assert table.X.dtype == {">f8": "=f8", "?": "u1"}.get(dtype, dtype)
    assert table.X.dtype.isnative
    assert table.X.flags.f_contiguous


def digits(folder: Path, **more: object) -> Path:
    pixels = np.arange(12, dtype=np.uint8).reshape(4, 3)
    arrays = {"X": pixels, "y": np.array([7, 8, 9, 7]), "split": np.array([0, 0, 0, 1]), **more}
    np.savez(folder / "digits.npz", **arrays)
    return folder / "digits.npz"


def test_npz(tmp_path):
    table = read_table(digits(tmp_path), target="y", rows=("split", "0"))
    assert table.X.tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert table.X.dtype == np.uint8
    assert table.y.tolist() == [7, 8, 9]
    assert table.names == ["x0", "x1", "x2"]
    assert read_table(digits(tmp_path), target=-1).target == "x2"
    assert read_table(digits(tmp_path)).X.shape == (4, 3)
    two = digits(tmp_path, y=np.ones((4, 2)))
    assert read_table(two, target="y").y.shape == (4, 2)


def test_npz_with_one_table_of_any_name(tmp_path):
    path = tmp_path / "one.npz"
    np.savez(path, table=X, label=np.array(["u", "v", "u", "v"]))
    table = read_table(path, target="label")
    np.testing.assert_array_equal(table.X, X)
    assert table.y.tolist() == ["u", "v", "u", "v"]


def test_npz_refusals(tmp_path):
    with pytest.raises(InputError, match=r"digits\.npz: array 'y' has 2 rows, the features have 4"):
        read_table(digits(tmp_path, y=np.ones(2)), target="y")
    with pytest.raises(InputError, match=r"digits\.npz: no column 'z'.*'y', 'split', 'x0'"):
        read_table(digits(tmp_path), target="z")
    with pytest.raises(InputError, match=r"digits\.npz: 'split' has 2 dimensions"):
        read_table(digits(tmp_path, split=np.ones((4, 2))), rows=("split", 1))
    path = tmp_path / "two.npz"
    np.savez(path, a=X, b=X)
    with pytest.raises(InputError, match=r"two\.npz.*one 2-D array.*'a' \(4, 3\), 'b' \(4, 3\)"):
        read_table(path)
    np.save(tmp_path / "flat.npy", Y)
    with pytest.raises(InputError, match=r"flat\.npy.*one 2-D array"):
        read_table(tmp_path / "flat.npy")


def test_pickles_are_refused(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([[{}]], dtype=object))
    (tmp_path / "pickle.npy").write_bytes(pickle.dumps([1, 2]))
    np.savez(tmp_path / "objects.npz", X=X, y=np.array([{}] * 4))
    for name in ["objects.npy", "pickle.npy", "objects.npz"]:
        with pytest.raises(FileError, match=rf"{name}.*pickled objects are not read"):
            read_table(tmp_path / name)


# Features that are no finite numbers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a,colour\n1,red\n",
            r"text .*\(such as 'red' in row 1\) in column 'colour': encode.*by drop=\['colour'\]",
        ),
        (
            "a,when\n1,2024-05-06\n",
            r"text or dates \(such as '2024-05-06.*' in row 1\) in column 'when'",
        ),
        ("a,b\n1,\n2,3\n", r"missing values in column 'b': impute.*by drop=\['b'\]"),
        ("a,b\n1,?\n2,3\n", r"missing values in column 'b'"),
        ("a,b\n1,NaN\n2,3\n", r"missing values in column 'b'"),
        ("a,b\n1,\n2,\n", r"missing values in column 'b'"),
        ("a,b\n1,true\n2,\n", r"missing values in column 'b'"),
        ("a,b\n1,inf\n2,3\n", r"infinite values in column 'b'"),
        (
            "a,b,c,d\n1,,red,-inf\n2,3,,4\n",
            r"text .*in column 'c', and missing .*in column 'b', and infinite .*in column 'd'",
        ),
        (
            "a,b,c,d,e,f,g,h,i\n1" + ",u" * 8 + "\n",
            r"text .* in columns 'b', 'c', 'd', 'e', 'f' and 3 more: ",
        ),
    ],
)
def test_refused_features(tmp_path, text, message):
    with pytest.raises(InputError, match=rf"cars\.csv has {message}"):
        read_table(csv_file(tmp_path, text))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([None, None]),
        pa.array([1, None]),
        pa.array([True, None]),
        pa.array([1.0, float("nan")]),
    ],
)
def test_missing_in_parquet(tmp_path, column):
    with pytest.raises(InputError, match=r"cars\.parquet has missing values in column 'b'"):
        read_table(parquet_file(tmp_path, {"a": [1, 2], "b": column}))


@pytest.mark.parametrize("values", [[["u"], ["v"]], [b"u", b"v"], [{"k": 1}, {"k": 2}]])
def test_other_types_in_parquet(tmp_path, values):
    path = parquet_file(tmp_path, {"a": [1, 2], "b": values})
    with pytest.raises(InputError, match=r"cars\.parquet has text or dates .* in column 'b'"):
        read_table(path)
    with pytest.raises(InputError, match=r"cars\.parquet: target 'b' must be numbers or text"):
        read_table(path, target="b")


@pytest.mark.parametrize("label", ["1,\n2,3", "1,\n2,red", "1,inf\n2,3"])
def test_missing_target(tmp_path, label):
    path = csv_file(tmp_path, f"a,y\n{label}\n")
    with pytest.raises(InputError, match=r"cars\.csv: target 'y' .* in 1 of 2 rows"):
        read_table(path, target="y")


def test_date_target_and_mixed_targets(tmp_path):
    path = csv_file(tmp_path, "a,when,y,label\n1,2024-05-06,2,u\n")
    days = read_table(path, target="when", drop=["label"]).y
    assert days.tolist() == [(date(2024, 5, 6) - date(1970, 1, 1)).days]
    with pytest.raises(InputError, match=r"cars\.csv: several targets"):
        read_table(path, target=["y", "label"])
    with pytest.raises(InputError, match=r"cars\.csv: the list of targets is empty"):
        read_table(path, target=[])


# Unknown columns and files that are not what they should be


def test_unknown_column(tmp_path):
    path = csv_file(tmp_path, "Target,b,c,d,e,f,g\n1,2,3,4,5,6,7\n")
    message = (
        r"cars\.csv: no column 'taget' \(did you mean 'Target'\?\) among 'Target', 'b'.*and 2 more"
    )
    for options in [{"target": "taget"}, {"drop": ["taget"]}, {"rows": ("taget", "1")}]:
        with pytest.raises(InputError, match=message):
            read_table(path, **options)
    for target in [7, -8, "7"]:
        with pytest.raises(
            InputError, match=rf"cars\.csv has 7 columns.*no column number {target}"
        ):
            read_table(path, target=target)


def test_repeated_names(tmp_path):
    with pytest.raises(InputError, match=r"cars\.csv: more than one column is called 'a'"):
        read_table(csv_file(tmp_path, "a,b,a\n1,2,3\n"))


def test_nothing_left(tmp_path):
    path = csv_file(tmp_path, "a,y\n1,2\n")
    with pytest.raises(InputError, match=r"cars\.csv: no feature column"):
        read_table(path, target="y", drop=["a"])
    with pytest.raises(InputError, match=r"cars\.csv has no rows"):
        read_table(csv_file(tmp_path, "a,y\n"), target="y")
    np.save(tmp_path / "none.npy", np.ones((3, 0)))
    with pytest.raises(InputError, match=r"none\.npy: no feature column"):
        read_table(tmp_path / "none.npy")


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".svm", ".npy", ".npz", ".csv.gz"])
def test_absent_empty_folder(tmp_path, suffix):
    path = tmp_path / f"gone{suffix}"
    with pytest.raises(FileError, match=r"cannot read .*gone.*: No such file"):
        read_table(path, target="y")
    path.touch()
    with pytest.raises(FileError, match=r"cannot read .*gone.*empty"):
        read_table(path, target="y")
    path.unlink()
    path.mkdir()
    with pytest.raises(FileError, match=r"cannot read .*gone.*folder"):
        read_table(path, target="y")


def test_blank_csv(tmp_path):
    with pytest.raises(FileError, match=r"cars\.csv: the file is empty"):
        read_table(csv_file(tmp_path, "\n\n\n"))


@pytest.mark.parametrize("suffix", [".parquet", ".npy", ".npz", ".csv.gz", ".svm.gz", ".csv.bz2"])
@pytest.mark.parametrize("damage", ["half", "junk"])
def test_damaged(tmp_path, suffix, damage):
    path = tmp_path / f"broken{suffix}"
    values = np.random.default_rng(0).normal(size=(500, 2))
    if suffix == ".npz":
        np.savez(path, X=values)
    elif suffix in (".parquet", ".npy"):
        write_table(path, {"a": values[:, 0], "b": values[:, 1]})
    else:
        mark = "a,b\n{}" if "csv" in suffix else "{}"
        row = "{},{}\n" if "csv" in suffix else "1 1:{} 2:{}\n"
        pack = gzip.compress if suffix.endswith("gz") else bz2.compress
        path.write_bytes(pack(mark.format("".join(row.format(*v) for v in values)).encode()))
    read_table(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if damage == "half" else b"junk" * 100)
    with pytest.raises(FileError, match=r"cannot read .*broken") as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["cars.doc", "cars", "cars.parquet.gz", "cars.gz"])
def test_unknown_ending(tmp_path, name):
    with pytest.raises(FileError, match=rf"cannot read .*{name}.*\.csv, .*\.parquet"):
        read_table(csv_file(tmp_path, "a\n1\n", name))


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="permissions do not bind this user"
)
def test_unreadable(tmp_path):
    path = numbers(tmp_path, ".csv")
    path.chmod(0)
    with pytest.raises(FileError, match=r"numbers\.csv.*[Pp]ermission denied"):
        read_table(path)


def test_read_columns_keeps_what_is_wrong(tmp_path):
    columns = read_columns(csv_file(tmp_path, "a,b\n1,red\n,blue\n")).features
    np.testing.assert_array_equal(columns["a"], [1, np.nan])
    assert columns["b"].tolist() == ["red", "blue"]
    with pytest.raises(InputError, match=r"a\.svm"):
        read_columns(csv_file(tmp_path, SVM, "a.svm"))


# Writing


def test_written_numbers_come_back_exactly(tmp_path):
    values = np.random.default_rng(0).normal(size=1000) * 10.0 ** np.arange(-300, 200, 0.5)
    for name in ["w.csv", "w.tsv", "w.parquet", "w.npy"]:
        write_table(tmp_path / name, {"value": values, "square": values})
        np.testing.assert_array_equal(read_table(tmp_path / name).X, np.column_stack([values] * 2))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_written_text_comes_back(tmp_path, suffix):
    path = tmp_path / f"deep/er/w{suffix}"
    labels = ['a "quoted" one', "comma, semicolon;", "tab\tand\nline"]
    write_table(path, {"x": [1, 2, 3], "class, of": labels})
    assert read_table(path, target="class, of").y.tolist() == labels


@pytest.mark.parametrize(
    ("name", "columns", "error", "message"),
    [
        ("w.xlsx", {"a": [1]}, FileError, r"w\.xlsx.*\.csv, .*\.npy"),
        ("w.csv", {"a": [1], "b": [1, 2]}, InputError, r"w\.csv.*'a' \(1,\), 'b' \(2,\)"),
        ("w.csv", {"a": [[1, 2]]}, InputError, r"w\.csv.*'a' \(1, 2\)"),
        ("w.csv", {}, InputError, r"w\.csv"),
        ("w.npy", {"a": [1], "b": ["u"]}, InputError, r"w\.npy.*column 'b'"),
        ("w.csv", {"a": np.array([1, "u"], dtype=object)}, InputError, r"w\.csv"),
    ],
)
def test_refused_writing_leaves_the_old_file(tmp_path, name, columns, error, message):
    path = csv_file(tmp_path, "old", name)
    with pytest.raises(error, match=message):
        write_table(path, columns)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [name]
