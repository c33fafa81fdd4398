"""``--memory`` is the peak of resident memory above its start; files of every kind keep to it."""

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from scipy.sparse import random as random_sparse
from sklearn.datasets import dump_svmlight_file

from .conftest import program, refused

LIMIT = 60e6
ROWS, COLUMNS = 160_000, 60  # 77 MB of numbers

# The tiny file of the same kind loads the libraries; their memory belongs to the start.
MEASURED = """
import sys
from sparsepath.cli import main

def status(name):
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])

tiny, large, *given = sys.argv[1:]
assert main(["select", tiny, *given]) == 0
open("/proc/self/clear_refs", "w").write("5")  # the peak is counted from here on
start = status("VmRSS")
code = main(["select", large, *given])
print(status("VmHWM") - start, file=sys.stderr)
sys.exit(code)
"""


def written(folder: Path, kind: str, rows: int) -> Path:
    """A file of noise with a few columns that matter."""
    rng = np.random.default_rng(0)
    path = folder / f"rows{rows}.{kind}"
    if kind == "svm":
        X = random_sparse(rows, COLUMNS, 0.3, "csr", random_state=0)
        dump_svmlight_file(X, X[:, :3].sum(1).A1 + rng.standard_normal(rows), str(path))
        return path
    X = rng.standard_normal((rows, COLUMNS))
    y = X[:, :4] @ [1.0, -2.0, 3.0, 0.5] + rng.standard_normal(rows)
    table = pa.table({**{f"c{j}": X[:, j] for j in range(COLUMNS - 1)}, "y": y})
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=20_000)
    elif kind == "feather":
        pyarrow.feather.write_feather(table, path, chunksize=20_000)
    elif kind == "npy":
        np.save(path, np.column_stack([X[:, :-1], y]))
    else:
        with path.open("wb") if kind == "csv" else gzip.open(path, "wb", 1) as stream:
            pyarrow.csv.write_csv(table, stream)
    return path


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="no peak of a process")
@pytest.mark.parametrize("kind", ["parquet", "feather", "csv", "csv.gz", "npy", "svm"])
def test_the_peak_stays_within_a_fifth_of_the_limit(tmp_path: Path, kind: str) -> None:
    tiny, large = written(tmp_path, kind, 100), written(tmp_path, kind, ROWS)
    target = {"svm": [], "npy": ["--target", str(COLUMNS - 1)]}.get(kind, ["--target", "y"])
    given = [*target, "--max-features", "2", "--memory", "60MB", "--no-validation", "--quiet"]
    command = [sys.executable, "-c", MEASURED, str(tiny), str(large), *given]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    peak = int(done.stderr.split()[-1])
    assert peak <= 1.2 * LIMIT, f"{peak / 1e6:.0f} MB"


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv"])
def test_a_limit_that_cannot_be_kept_is_refused(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind, 20_000)
    done = program("select", path, "--target", "y", "--memory", "1MB", "--no-validation")
    refused(done, path.name, "within 1 MB", "MB", "--memory")


def test_columns_without_entries_take_no_memory(tmp_path: Path) -> None:
    """Four entries in two thousand million columns, whose names alone would take 100 GB."""
    text = "1 1:1 2147483647:1\n-1 2:1\n1 1:2\n"
    (tmp_path / "wide.svm").write_text(text)
    given = ["--no-validation", "--max-features", "3", "--quiet"]
    found = []
    for more in ([], ["--memory", "50MB"]):
        script = (
            "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33));"
            "from sparsepath.cli import main; sys.exit(main(sys.argv[1:]))"
        )
        command = [sys.executable, "-c", script, "select", str(tmp_path / "wide.svm"), *given]
        done = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found.append(done.stdout)
    assert found[0] == found[1]


def test_more_columns_than_memory_are_refused_in_python(tmp_path: Path) -> None:
    import sparsepath

    (tmp_path / "wide.svm").write_text("1 1:1 2147483647:1\n-1 2:1\n1 1:2\n")
    source = sparsepath.open(tmp_path / "wide.svm")
    assert source.shape == (3, 2147483647)
    with pytest.raises(sparsepath.InputError, match="2,147,483,647 columns"):
        sparsepath.SparseRLSClassifier(3).fit(source)
