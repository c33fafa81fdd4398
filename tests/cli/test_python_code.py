"""The lines of Python in a run file give the result of the command."""

import json
import tomllib

import numpy as np
import pandas as pd
import pytest

from sparsepath.path.selection_path import SelectionPath

CASES = {
    "default": [],
    "size": ["--choose", "2", "--method", "floating-rls"],
    "penalties": ["--alpha", "0.1,10", "--cv", "5"],
    "grafting": ["--method", "grafting", "--l1", "0.05"],
    "a size on the way": ["--method", "grafting", "--l1", "0.05", "--choose", "1"],
    "least angles": ["--method", "lars", "--drop", "c2"],
    "weights": ["--weights", "w", "--alpha", "1"],
    "groups": ["--groups", "who", "--drop", "w", "--validation", "4"],
    "text": ["--drop", "w", "--validation", "4"],
    "text with gaps": ["--drop", "w", "--missing", "indicator", "--force", "c2"],
    "classes": ["--target", "late", "--loss", "balanced", "--validation", "4"],
    "a loss": ["--loss", "huber:2.5"],
    "significance": ["--significance", "0.05"],
    "constraints": ["--forbid", "c0", "--force", "c3"],
    "id": ["--forbid", "c0"],
    "id, taken": ["--keep-index"],
    "rows": ["--rows", "who=3", "--drop", "w"],
    "other rows": ["--rows", "who!=3", "--drop", "w"],
    "sample": ["--sample", "90", "--drop", "id"],
    "rows without gaps": ["--missing", "drop-rows", "--sample", "150"],
    "columns without gaps": ["--missing", "drop-columns"],
    "ordered": ["--ordered", "grade=1<2<3"],
    "text, declared": ["--categorical", "town"],
    "dates": ["--dates", "parts"],
    "passes": ["--memory", "1GB", "--alpha", "1"],
    "text in passes": ["--memory", "1GB", "--drop", "w", "--alpha", "1"],
    "id in passes": ["--memory", "1GB", "--alpha", "1"],
    "id in passes, forbidden": ["--memory", "1GB", "--alpha", "1", "--forbid", "c0"],
    "drop in passes": ["--memory", "1GB", "--alpha", "1", "--drop", "c0", "--force", "c2"],
    "id in passes, taken": ["--memory", "1GB", "--alpha", "1", "--keep-index"],
    "groups in passes": ["--memory", "1GB", "--groups", "who", "--drop", "w", "--validation", "4"],
}
FILES = {
    "parquet": lambda table: table.to_parquet("t.parquet", row_group_size=70),
    "feather": lambda table: table.to_feather("t.feather"),
    "npy": lambda table: np.save("t.npy", table.to_numpy(float)),
    "index.parquet": lambda table: (
        table.assign(day=range(7, 207)).set_index("day").to_parquet("t.index.parquet")
    ),
    "semicolons.csv": lambda table: table.to_csv(
        "t.semicolons.csv", index=False, sep=";", decimal=","
    ),
    "numbered.csv": lambda table: table.to_csv("t.numbered.csv"),
    "bare.csv": lambda table: table.to_csv("t.bare.csv", index=False, header=False),
    "packed.csv.gz": lambda table: table.to_csv("t.packed.csv.gz", index=False),
}


def frame(kind):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((200, 5)), columns=[f"c{j}" for j in range(5)])
    y = table.c0 - table.c3 + rng.standard_normal(200)
    if kind.startswith("text"):
        table["town"] = rng.choice(["Oulu", "Turku", "Espoo"], 200)
        y += 2 * (table.town == "Oulu")
    if kind in ("weights", "other rows", "rows", "sample") or kind[:5] in (
        "group",
        "text",
        "text ",
    ):
        table["w"] = rng.integers(1, 4, 200)
    if kind.startswith("group") or kind.endswith("rows"):
        table["who"] = rng.integers(0, 12, 200)
    if kind.startswith("id") or kind in ("sample", "groups in passes"):
        table.insert(0, "id", np.arange(200))
        y += 0.01 * table.id
    if kind.endswith("gaps"):
        table.loc[rng.choice(200, 20), "c1"] = np.nan
    if kind == "rows without gaps":
        y[rng.choice(200, 10)] = np.nan
    if kind == "ordered":
        table["grade"] = rng.integers(1, 4, 200)
        y += table.grade
    if kind == "dates":
        days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, 200), unit="D")
        table["day"] = days.strftime("%Y-%m-%d")
        y += days.month / 3
    if kind == "classes":
        return table.assign(late=np.where(y > 1, "yes", "no"))
    return table.assign(y=y)


def same(run, folder, file, options):
    """Run a command, and the lines of Python that it leaves."""
    done = run("select", file, *options, "--max-features", 4, "--out", "out", "--quiet")
    assert done.code == 0, done.err
    lines = tomllib.loads((folder / "out" / "run.toml").read_text())["python"]
    page = (folder / "out" / "index.html").read_text()
    assert json.dumps(lines[0])[1:-1] in page
    known = {}
    exec("\n".join(lines), known)
    model, path = known["model"], SelectionPath.load(folder / "out" / "path.json")
    assert path.sizes == model.path_.sizes
    assert [path.names(size) for size in path.sizes] == [
        model.path_.names(size) for size in path.sizes
    ]
    np.testing.assert_allclose(path.errors, model.path_.errors, rtol=1e-9)
    np.testing.assert_allclose(path.honest_errors, model.path_.honest_errors, rtol=1e-9)
    chosen = f"Selected: {len(model.selected_)} of" if len(model.selected_) else "Selected: none of"
    assert done.out.startswith(chosen)
    return lines


@pytest.mark.validated
@pytest.mark.parametrize("kind", CASES)
def test_the_lines_give_the_same_result(run, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    options = CASES[kind] if "--target" in CASES[kind] else ["--target", "y", *CASES[kind]]
    frame(kind).to_csv("t.csv", index=False)
    lines = same(run, tmp_path, "t.csv", options)
    if kind == "passes":
        assert len(lines) == 3


@pytest.mark.validated
@pytest.mark.parametrize("ending", FILES)
def test_so_they_do_for_every_kind_of_file(run, tmp_path, monkeypatch, ending):
    monkeypatch.chdir(tmp_path)
    FILES[ending](frame("id"))
    target = "x6" if ending in ("npy", "bare.csv") else "y"
    same(run, tmp_path, f"t.{ending}", ["--target", target])


@pytest.mark.validated
def test_lines_for_parquet_in_passes(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FILES["parquet"](frame("id"))
    lines = same(run, tmp_path, "t.parquet", ["--target", "y", "--memory", "1GB"])
    assert "drop=['id']" in lines[1]


@pytest.mark.validated
def test_there_are_none_for_a_text_that_pandas_takes_for_a_gap(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = frame("text")
    table.loc[:40, "town"] = "None"
    table.to_csv("t.csv", index=False)
    assert run("select", "t.csv", "--target", "y", "--out", "out", "--quiet").code == 0
    assert "python" not in tomllib.loads((tmp_path / "out" / "run.toml").read_text())
