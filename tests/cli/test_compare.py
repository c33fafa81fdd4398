"""``sparsepath compare``: table, files, JSON, and what is refused."""

import csv
import json
from pathlib import Path

import pytest

from cli.conftest import Run
from sparsepath.methods.comparison import compare


def on(files, *more):
    return ("compare", files["csv"], "--target", "progression", "--validation", 4, *more)


def test_table_files_and_sentence(run: Run, files, tmp_path: Path) -> None:
    done = run(*on(files, "--methods", "greedy-rls,lars", "--out", tmp_path))
    assert done.code == 0
    assert "Note: about 1 s in all (greedy-rls 1 s, lars 1 s)" in done.err
    assert "Validation: 4-fold, the same rows left out for all methods." in done.out
    assert "Least RMSE on new data:" in done.out
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
        seen.update(methods)
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
        (("--methods", "lars", "--task", "classification"), "lars supports regression only"),
        (("--budget", "soon"), "must be a time, such as 90s, 5min or 1h"),
        (("--seed", "-1"), "must be a whole number from 0 up"),
        (("--validation", "1"), "number of folds from 2 up, loo or time"),
    ],
)
def test_refusals(run: Run, files, more, said) -> None:
    done = run(*on(files, *more))
    assert done.code == 2
    assert said in done.err


def test_what_is_warned_of_is_a_note(run: Run, tmp_path: Path) -> None:
    rows = [f"{i},{i * i % 7},{i % 5}" for i in range(24)]
    (tmp_path / "few.csv").write_text("\n".join(["a,b,y", *rows]))
    asked = (tmp_path / "few.csv", "--target", "y", "--task", "regression", "--validation", 500)
    for command in (("compare", *asked, "--methods", "lars"), ("select", *asked)):
        done = run(*command)
        assert "Note: --validation 500 is more than the 24 samples; using leave-one-out" in done.err
        assert "PathWarning" not in done.err


def test_the_page_of_a_folder_names_its_path(run: Run, tmp_path: Path) -> None:
    assert f"{tmp_path} is a folder; give the path.json" in run("report", tmp_path).err
    (tmp_path / "path.json").write_text("{}")
    assert f"is a folder; give {tmp_path / 'path.json'}." in run("report", tmp_path).err
