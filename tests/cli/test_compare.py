"""``sparsepath compare``: table, files, JSON, and what is refused."""

import csv
import json
from pathlib import Path

import pytest

from cli.conftest import Run
from sparsepath.comparison import compare
from sparsepath.entrants import entrants


def on(files, *more):
    return ("compare", files["csv"], "--target", "progression", "--validation", 4, *more)


def test_table_files_and_sentence(run: Run, files, tmp_path: Path) -> None:
    done = run(*on(files, "--methods", "greedy-rls,lars", "--out", tmp_path))
    assert done.code == 0
    assert "Note: about 1 s in all (greedy-rls 1 s, lars 1 s)" in done.err
    assert "rows that the whole procedure never saw (4-fold, the same for all)" in done.out
    assert "Least squared error on new data:" in done.out
    assert "Features that all of them take: " in done.out
    with (tmp_path / "compare.csv").open() as stream:
        table = list(csv.DictReader(stream))
    assert {row["method"] for row in table} == {"greedy-rls", "lars"}
    record = json.loads((tmp_path / "compare.json").read_text())
    assert [m["method"] for m in record["methods"]] == [row["method"] for row in table]
    assert "bmi" in record["common_features"]
    assert (tmp_path / "compare.png").read_bytes().startswith(b"\x89PNG")


def test_json_and_quiet(run: Run, files) -> None:
    record = json.loads(run(*on(files, "--methods", "lars", "--json")).out)
    assert record["schema"] == "sparsepath/comparison"
    assert record["methods"][0]["validation"] == "4-fold"
    words = run(*on(files, "--methods", "lars", "--quiet")).out
    assert words == record["sentence"] + "\n"


def test_a_seed_and_jobs_for_those_that_have_them(run: Run, files, monkeypatch) -> None:
    seen = {}

    def watched(methods, X, y, **more):
        found = compare(methods, X, y, **more)
        seen.update(entrants(methods, X, y, None, 4, None, more["options"])[0])
        return found

    monkeypatch.setattr("sparsepath.cli.compare.compare", watched)
    asked = on(files, "--methods", "rbf,lars,grafting", "--seed", 3, "--jobs", 1, "--budget", "1s")
    assert run(*asked, "--quiet").code == 0
    assert seen["rbf"].random_state == 3
    assert seen["grafting"].n_jobs == 1
    assert not hasattr(seen["lars"], "random_state")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--methods", "lasso"), "an L1 penalty is called grafting here"),
        (("--methods", "lars", "--task", "classification"), "lars does regression only"),
        (("--budget", "soon"), "must be a time, such as 90s, 5min or 1h"),
        (("--seed", "-1"), "must be a whole number from 0 up"),
        (("--validation", "1"), "number of folds from 2 up, loo or time"),
    ],
)
def test_refusals(run: Run, files, more, said) -> None:
    done = run(*on(files, *more))
    assert done.code == 2
    assert said in done.err
