"""Files of every format, and the command line run in this process or as a program."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_iris

from sparsepath.cli import main
from sparsepath.data.readers import write_table


class Done(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    """The command line in this process: what a program would print and return."""

    def run(*arguments: object) -> Done:
        capsysbinary.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capsysbinary.readouterr()
        return Done(code, out.decode(), err.decode())

    return run


def program(*arguments: object, **options: object) -> Done:
    """The command line as a program of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "sparsepath", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        **options,  # type: ignore[call-overload]
    )
    return Done(done.returncode, done.stdout, done.stderr)


def refused(done: Done, *words: str) -> None:
    """Code 2, nothing on stdout, one line on stderr that has these words."""
    assert done.code == 2, done
    assert done.out == ""
    assert done.err.startswith("Error: ")
    assert done.err.count("\n") == 1
    assert done.err.rstrip().endswith((".", "?"))
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.err


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The diabetes data as CSV, Parquet, svmlight, npy and npz, and iris as CSV."""
    folder = tmp_path_factory.mktemp("files")
    X, y = load_diabetes(return_X_y=True, scaled=False)
    names = load_diabetes().feature_names
    columns = {name: X[:, j] for j, name in enumerate(names)} | {"progression": y}
    paths = {kind: folder / f"diabetes.{kind}" for kind in ("csv", "parquet", "svm", "npy", "npz")}
    write_table(paths["csv"], columns)
    pq.write_table(pa.table(columns), paths["parquet"])
    dump_svmlight_file(X, y, str(paths["svm"]), zero_based=False)
    np.save(paths["npy"], np.column_stack([X, y]))
    np.savez(paths["npz"], X=X, y=y)
    iris = load_iris()
    paths["iris"] = folder / "iris.csv"
    columns = {name: iris.data[:, j] for j, name in enumerate(["sl", "sw", "pl", "pw"])}
    write_table(paths["iris"], {**columns, "kind": iris.target_names[iris.target]})
    paths["flower"] = folder / "flower.csv"
    kind = np.where(iris.target == 1, "fleur, jaune ü", "other")
    write_table(paths["flower"], {**columns, "kind": kind})
    return paths
