"""The same question has the same answer in Python and on the command line, for every method."""

import json
import warnings

import numpy as np
import pytest

from sparsepath.data.readers import write_table
from sparsepath.errors import PathWarning
from sparsepath.methods import METHODS, load

CASES = [
    (name, task) for name, method in METHODS.items() for task in method.tasks if task != "survival"
]
OWN = {"choose", "validation"}  # what the command line settles on after the search


def estimator(name, task, **parameters):
    """As Python has it; with what makes it this method, and the seed."""
    entry = METHODS[name]
    kind = entry.regressor if task == "regression" else entry.classifier
    return load(kind)(**entry.parameters, **parameters)


def selected(run, folder, name, task, m, n):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((m, n))
    y = X[:, 0] + 0.3 * rng.standard_normal(m)
    y = y if task == "regression" else np.where(y > np.median(y), "yes", "no")
    write_table(folder / "t.csv", {**{f"x{j}": X[:, j] for j in range(n)}, "y": y})
    done = run(
        *("select", folder / "t.csv", "--target", "y", "--task", task, "--method", name),
        *("--json", "--no-validation"),
    )
    assert done.code == 0, done.err
    return X, y, json.loads(done.out)


@pytest.mark.parametrize(("name", "task"), CASES)
def test_every_parameter_has_one_default(run, tmp_path, name, task):
    *_, found = selected(run, tmp_path, name, task, 12, 2)
    expected = estimator(name, task).get_params()
    if expected.get("alpha") == "auto":
        expected["alpha"] = 1.0  # of the search, without validation
    given = found["path"]["parameters"]
    assert {"standardize", "max_features"} & expected.keys() <= given.keys()
    for parameter in given.keys() - OWN:
        assert given[parameter] == json.loads(json.dumps(expected[parameter])), parameter
    assert found["chosen"]["rule"] == expected["choose"]


@pytest.mark.parametrize("name", [name for name in METHODS if METHODS[name].sizes == "up"])
def test_paths_of_wide_data_end_at_the_same_size(run, tmp_path, name):
    X, y, found = selected(run, tmp_path, name, "regression", 10, 22)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)
        model = estimator(name, "regression", validation=None).fit(X, y)
    assert [step["subset"] for step in found["path"]["steps"]] == [
        list(subset) for subset in model.path_.subsets
    ]
    assert found["chosen"]["columns"] == model.selected_.tolist()
