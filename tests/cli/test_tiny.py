"""Hardly any rows: every method gives an answer or one sentence in our own words."""

import re

import numpy as np
import pytest

from sparsepath.data.readers import write_table
from sparsepath.methods import METHODS

from .conftest import Run, refused

FOREIGN = re.compile(  # words of scikit-learn, NumPy and Python
    r"n_splits|n_samples|n_neighbors|\w=|Found array|minimum of|populated|estimator|encountered"
    r"|Degrees of freedom|empty slice|\.py|\bnan\b|\binf\b|\bNone\b|\bFalse\b"
)
JUDGED = ["--validation", 2, "--stability", 2, "--null", 19]
CASES = [
    (name, task, rows, columns, ["--no-validation"] if rows == 2 or method.limits else JUDGED)
    for name, method in METHODS.items()
    for task in method.tasks
    for rows, columns in [(2, 1), (4, 2), (6, 1)]
    if not (method.limits and rows == 6)  # these take long
]


@pytest.mark.parametrize(("name", "task", "rows", "columns", "judged"), CASES)
def test_hardly_any_rows(run: Run, tmp_path, name, task, rows, columns, judged) -> None:
    X = np.random.default_rng(rows).standard_normal((rows, columns))
    # Of classes the smallest has one member.
    y = X[:, 0] * 2 + 1 if task == "regression" else np.array(["a", *["b"] * (rows - 1)])
    file = tmp_path / "t.csv"
    write_table(file, {**{f"x{j}": X[:, j] for j in range(columns)}, "y": y})
    alone = ["--threads", 1] if "threads" in METHODS[name].options else []
    done = run("select", file, "--target", "y", "--method", name, *judged, *alone)
    if done.code:
        refused(done)
    said = (done.out + done.err).replace(str(file), "")
    assert not FOREIGN.search(said), said
