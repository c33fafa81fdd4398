"""Everything that can be wrong gives exit code 2 and one sentence, and no traceback."""

from pathlib import Path

import numpy as np
import pytest

from .conftest import Run, program, refused

GOOD = "a,b,y\n" + "".join(f"{i}.5,{i * i % 7},{(i * 5) % 11}.5\n" for i in range(20))


@pytest.fixture
def broken(tmp_path: Path, files: dict[str, Path]) -> Path:
    """A folder of files with which something is wrong, and a good one."""
    texts = {
        "good.csv": GOOD,
        "missing.csv": GOOD + "1,,2\n3,,4\n",
        "infinite.csv": GOOD + "inf,1,2\n",
        "text.csv": GOOD + "blue,1,2\n",
        "empty.csv": "",
        "head.csv": "a,b,y\n",
        "one.csv": "a,b,y\n1,2,3\n",
        "ragged.csv": "a,b,y\n1,2,3\n1,2\n",
        "twice.csv": "a,a,y\n1,2,3\n4,5,6\n",
        "constant.csv": "a,b,y\n" + "".join(f"{i},{i * i},3\n" for i in range(9)),
        "class.csv": "a,b,y\n" + "".join(f"{i},{i * i},red\n" for i in range(9)),
        "words.csv": "a,b,y\n" + "".join(f"{i},{i * i},name {i}\n" for i in range(50)),
        "holes.csv": GOOD + "1,2,\n",
        "only.csv": "y\n1\n2\n",
        "broken.svm": "1 1:2 nonsense\n",
        "data.xls": "a",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    for kind in ("parquet", "npy", "npz"):
        content = files[kind].read_bytes()
        (tmp_path / f"half.{kind}").write_bytes(content[: len(content) // 2])
    np.savez(tmp_path / "lengths.npz", X=np.ones((5, 2)), y=np.ones(4))
    np.save(tmp_path / "objects.npy", np.array([{}, []], dtype=object))
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("missing.csv", ["missing values in column 'b'"]),
        ("infinite.csv", ["infinite values in column 'a'"]),
        ("text.csv", ["'a' is numbers except 'blue'"]),
        ("empty.csv", ["empty"]),
        ("head.csv", ["no rows"]),
        ("one.csv", ["one row"]),
        ("ragged.csv", ["ragged.csv"]),
        ("twice.csv", ["more than one column is called 'a'"]),
        ("constant.csv", ["target 'y' is 3 in every row"]),
        ("class.csv", ["target 'y' is red in every row"]),
        ("words.csv", ["text with 50 different values", "too many"]),
        ("holes.csv", ["target 'y' is missing"]),
        ("only.csv", ["no feature column remains"]),
        ("broken.svm", ["svmlight"]),
        ("data.xls", ["workbook"]),
        ("half.parquet", ["cannot read", "Parquet"]),
        ("half.npy", ["cannot read"]),
        ("half.npz", ["cannot read"]),
        ("lengths.npz", ["4 rows", "5"]),
        ("objects.npy", ["pickled objects are not read"]),
        ("folder", ["no files found", ".parquet"]),
        ("absent.csv", ["No such file"]),
    ],
)
def test_files(run: Run, broken: Path, file: str, words: list[str]) -> None:
    out = broken / "out"
    refused(run("select", broken / file, "--target", "y", "--out", out), file, *words)
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("", ["--target", "a, b, y"]),
        ("--target yy", ["no column 'yy'", "'y'"]),
        ("--target 7", ["3 columns"]),
        ("--target y --method greedy-rl", ["did you mean greedy-rls?"]),
        (
            "--target y --loss zero",
            ["--loss zero", "squared, absolute, huber"],
        ),
        ("--target y --loss zero-one", ["zero-one is not available for regression"]),
        ("--target y --alpha -1", ["--alpha -1"]),
        ("--target y --alpha 1,x", ["--alpha 1,x"]),
        ("--target y --alpha nan", ["--alpha nan"]),
        ("--target y --choose most", ["--choose most"]),
        ("--target y --choose -3", ["--choose -3"]),
        ("--target y --choose 9", ["--choose 9", "2 features"]),
        ("--target y --max-features 1 --choose 2", ["raise --max-features"]),
        ("--target y --max-features two", ["--max-features", "two"]),
        ("--target y --max-features 0", ["--max-features"]),
        ("--target y --threads 0", ["--threads"]),
        ("--target y --cv 1", ["--cv 1"]),
        ("--target y --cv half", ["--cv half"]),
        ("--target y --cv 50", ["50"]),
        ("--target y --task guess", ["--task guess"]),
        ("--target y --task classification", ["--task regression"]),
        ("--target y --force c", ["no column 'c'"]),
        ("--target y --force a --forbid a", ["--force and --forbid both have 'a'"]),
        ("--target y --force a,b --max-features 1", ["--max-features 1"]),
        ("--target y --force a,,b", ["--force", "empty name"]),
        ("--target y --drop bb", ["no column 'bb'", "did you mean 'b'"]),
        ("--target y --rows a", ["--rows a", "split=train"]),
        ("--target y --rows a=77", ["no row has 'a' equal to '77'"]),
        ("--target y --weights q", ["no column 'q'"]),
        ("--target y --groups y", ["'y' is the target"]),
        ("--target y --method rbf --max-features 1", ["has no option --max-features"]),
        ("--target y --method swap-rls --search forward", ["swap-rls has no option --search"]),
        ("--target y --nonsense", ["--nonsense"]),
        ("--target", ["--target"]),
        ("--target y more", ["more"]),
        ("--target y --out {good}/x", ["is a file, not a folder"]),
    ],
)
def test_options(run: Run, broken: Path, options: str, words: list[str]) -> None:
    good = broken / "good.csv"
    given = [option.replace("{good}", str(good)) for option in options.split()]
    refused(run("select", good, *given), *words)
    assert good.read_text() == GOOD


def test_a_checkpoint_that_is_none_is_left_alone(run: Run, broken: Path) -> None:
    good = broken / "good.csv"
    other = broken / "other.csv"
    other.write_text(GOOD)
    for file, why in ((good, "it is the input file"), (other, "not a readable checkpoint")):
        refused(run("select", good, "--target", "y", "--checkpoint", file), why)
        assert file.read_text() == GOOD


def test_infinite_weights_are_named_as_what_they_are(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "weighted.csv"
    file.write_text("a,y,w\n1,3,1\n2,4,inf\n3,2,1\n4,1,2\n", "utf-8")
    done = run("select", file, "--target", "y", "--weights", "w")
    refused(done, "column 'w' is missing or infinite in 1 of 4 rows")


def test_text_as_weights_and_svmlight_columns(run: Run, files, tmp_path: Path) -> None:
    refused(run("select", files["iris"], "--target", "sl", "--weights", "kind"), "is text")
    refused(run("select", files["iris"], "--target", "kind", "--task", "regression"), "is text")
    refused(run("select", files["svm"], "--weights", "x1"), "svmlight files have no columns")
    refused(run("select", files["svm"], "--target", "x1"), "carry their own target")


def test_no_such_command(run: Run) -> None:
    refused(run("selekt"), "selekt")
    refused(run("predict"), "MODEL")


def test_as_a_program(broken: Path) -> None:
    refused(program("select", broken / "half.parquet", "--target", "y"), "half.parquet")
    refused(program("select", broken / "good.csv", "--nonsense"), "--nonsense")
