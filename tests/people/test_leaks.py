"""Leaks on the command line: flagged, never dropped, the answer with and without them."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from sparsepath import PathWarning, SparseRLSClassifier, SparseRLSRegressor

pytestmark = pytest.mark.validated


@pytest.fixture
def leaky(tables):
    return tables("survey", "leaky", rows=600, leaks=True)


def test_both_answers(run, leaky):
    done = run("select", leaky, "--target", "churned", "--drop", "customer")
    assert done.err.startswith("Warning: column 'status_code' alone determines the class; column ")
    assert "--drop status_code,refund_amount" in done.err
    with_them, without = done.out.split("\nWithout 'status_code' and 'refund_amount'")
    assert "refund_amount" in with_them.split("\n")[0]
    features = without.split("\n", 1)[0]
    assert "q03" in features
    assert "refund_amount" not in features


def test_quiet_keeps_the_warning(run, leaky):
    done = run("select", leaky, "--target", "churned", "--drop", "customer", "--quiet")
    assert "'status_code' alone determines the class" in done.err
    assert "Without 'status_code'" in done.out


def test_page_and_document(run, leaky, tmp_path):
    args = ("--target", "churned", "--drop", "customer", "--json", "--out", tmp_path / "out")
    found = json.loads(run("select", leaky, *args).out)["leaks"]
    assert [each["column"] for each in found["columns"]] == ["status_code", "refund_amount"]
    assert found["without"]["size"] == len(found["without"]["features"]) > 0
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert "Without 'status_code' and 'refund_amount'" in page


def test_a_column_that_is_forced_is_meant(run, leaky):
    done = run(
        "select", leaky, "--target", "churned", "--drop", "customer,refund_amount", "--force",
        "status_code",
    )  # fmt: skip
    assert "Warning: column" not in done.err
    assert "Without" not in done.out


def test_far_better_than_all_others_together(run, tmp_path):
    import numpy as np

    from sparsepath.data.readers import write_table

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] + rng.normal(size=300)
    late = y + rng.normal(0, 0.3, 300)
    columns = {f"x{j}": X[:, j] for j in range(4)} | {"late": late, "y": y}
    write_table(tmp_path / "data.csv", columns)
    done = run("select", tmp_path / "data.csv", "--target", "y")
    assert "'late' alone explains" in done.err
    assert "Without 'late'" in done.out


def test_python_warns_of_one_feature_that_explains_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = X @ rng.normal(size=6) + rng.normal(size=200)
    leak = np.column_stack([X, 0.03 * y * rng.normal(1, 0.02, 200)])
    frame = pd.DataFrame(leak, columns=[*"abcdef", "commission"])
    with pytest.warns(PathWarning, match="'commission' alone explains nearly 100 % of the vari"):
        SparseRLSRegressor().fit(frame, y)
    with pytest.warns(PathWarning, match="'x6' alone separates the classes"):
        SparseRLSClassifier().fit(leak, y > 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SparseRLSRegressor().fit(X, y)
        SparseRLSClassifier().fit(X, y > 0)
        SparseRLSRegressor(forced=["commission"]).fit(frame, y)  # it is wanted
        SparseRLSRegressor(validation=None).fit(frame, y)  # nothing is known


def test_lags_are_no_leaks_in_python():
    rng = np.random.default_rng(0)
    y = np.cumsum(rng.normal(size=401))
    X = np.column_stack([rng.normal(size=400), y[:-1]])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = SparseRLSRegressor(validation="time").fit(X, y[1:])
    assert model.selected_.tolist()[0] == 1
    assert not any("alone explains" in str(each.message) for each in said)
