"""Leaks on the command line: flagged, never dropped, the answer with and without them."""

import json

import pytest

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
