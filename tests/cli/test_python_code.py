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
    "classes": ["--target", "late", "--loss", "balanced", "--validation", "4"],
    "passes": ["--memory", "1GB", "--alpha", "1"],
    "text in passes": ["--memory", "1GB", "--drop", "w", "--alpha", "1"],
}


def frame(kind):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((200, 5)), columns=[f"c{j}" for j in range(5)])
    y = table.c0 - table.c3 + rng.standard_normal(200)
    if kind.startswith("text"):
        table["town"] = rng.choice(["Oulu", "Turku", "Espoo"], 200)
        y += 2 * (table.town == "Oulu")
    if kind in ("weights", "groups") or kind.startswith("text"):
        table["w"] = rng.integers(1, 4, 200)
    if kind == "groups":
        table["who"] = rng.integers(0, 12, 200)
    if kind == "classes":
        return table.assign(late=np.where(y > 1, "yes", "no"))
    return table.assign(y=y)


@pytest.mark.validated
@pytest.mark.parametrize("kind", CASES)
def test_the_lines_give_the_same_result(run, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    options = CASES[kind] if "--target" in CASES[kind] else ["--target", "y", *CASES[kind]]
    frame(kind).to_csv("t.csv", index=False)
    done = run("select", "t.csv", *options, "--max-features", 4, "--out", "out", "--quiet")
    assert done.code == 0, done.err
    lines = tomllib.loads((tmp_path / "out" / "run.toml").read_text())["python"]
    assert len(lines) == 3
    page = (tmp_path / "out" / "index.html").read_text()
    assert json.dumps(lines[0])[1:-1] in page
    known = {}
    exec("\n".join(lines), known)
    model, path = known["model"], SelectionPath.load(tmp_path / "out" / "path.json")
    assert path.sizes == model.path_.sizes
    assert [path.names(size) for size in path.sizes] == [
        model.path_.names(size) for size in path.sizes
    ]
    np.testing.assert_allclose(path.errors, model.path_.errors, rtol=1e-9)
    np.testing.assert_allclose(path.honest_errors, model.path_.honest_errors, rtol=1e-9)
    chosen = f"Selected: {len(model.selected_)} of" if len(model.selected_) else "Selected: none of"
    assert done.out.startswith(chosen)
