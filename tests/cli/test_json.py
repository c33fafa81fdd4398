"""Documents of ``--json`` have the keys that docs/json.md says, and no others."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from sparsepath.data.readers import write_table

from .conftest import Run

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
ROW = re.compile(r"^\| `([\w.\[\]]+)` \| .+ \| (.+) \|$", re.MULTILINE)


def documented(command):
    """Keys of a command, and where they are."""
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S))
    return dict(ROW.findall(sections[command]))


def keys_of(value, known, before=""):
    """The keys in a document, as deep as the page goes."""
    if isinstance(value, list) and any(key.startswith(f"{before}[].") for key in known):
        before, value = f"{before}[]", value[0]
    if not isinstance(value, dict) or (
        before and not any(k.startswith(f"{before}.") for k in known)
    ):
        return {before} if before else set()
    inner = {f"{before}.{key}" if before else key: item for key, item in value.items()}
    found = set().union(*(keys_of(item, known, key) for key, item in inner.items()))
    return found | ({before} & set(known))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("json")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = X @ [2.0, 1.0, 0.0] + 0.3 * rng.standard_normal(60)
    columns = dict(zip("abc", X.T, strict=True))
    write_table(folder / "numbers.csv", {**columns, "y": y})
    write_table(folder / "two.csv", {**columns, "y": np.where(y > 0, "yes", "no")})
    write_table(folder / "three.csv", {**columns, "y": np.digitize(y, [-1, 1])})
    return folder


def check(run: Run, command, *arguments, there):
    """All that is always there, what else is said to be there, and nothing more."""
    done = run(command, *arguments, "--json")
    assert done.code == 0, done.err
    known = documented(command)
    document = json.loads(done.out)
    assert document.get("schema", "").startswith("sparsepath/") or command == "predict"
    expected = {key for key, where in known.items() if where in ("always", *there)}
    found = {
        "probability_A" if k.startswith("probability_") else k for k in keys_of(document, known)
    }
    assert found == expected
    return document


def test_select_and_what_uses_its_result(run: Run, folder) -> None:
    out, numbers = folder / "result", folder / "numbers.csv"
    asked = ("--target", "y", "--validation", 3)
    honest = ("with validation", "for regression, if known", "if the method has one")
    check(
        run, "select", numbers, *asked, "--null", 19, "--stability", 2, "--out", out,
        there=(*honest, "with `--null`", "with `--stability`"),
    )  # fmt: skip
    check(run, "select", numbers, "--target", "y", "--no-validation", "--method", "lars",
          there=("for regression, if known",))  # fmt: skip
    check(run, "predict", out / "model.json", numbers, there=("for regression",))
    check(run, "predict", out / "model.json", numbers, "--target", "y",
          there=("for regression", "with `--target`"))  # fmt: skip
    told = check(run, "export", out / "model.json", "--to", "sql", there=())
    assert told["file"] is None
    assert "a" in told["program"]
    told = check(run, "export", out / "model.json", "--to", "onnx", "--out", folder / "m.onnx",
                 there=())  # fmt: skip
    assert Path(told["file"]).stat().st_size > 0
    told = check(run, "report", out / "path.json", "--out", folder / "page.html", there=())
    assert Path(told["file"]).stat().st_size > 0
    assert check(run, "run", out / "run.toml", there=())["same"] is True
    refused = run("export", out / "model.json", "--to", "onnx", "--json")
    assert refused.code == 2
    assert "name a file with --out" in refused.err


@pytest.mark.parametrize(("name", "score"), [("two", "with two classes"), ("three", "")])
def test_classes(run: Run, folder, name, score) -> None:
    data, out = folder / f"{name}.csv", folder / name
    there = ["with validation", "for classification, if known", "if the method has one"]
    there += ["with two classes, if known"] * (name == "two")
    check(run, "select", data, "--target", "y", "--task", "classification", "--validation", 3,
          "--method", "greedy-rls", "--out", out, there=there)  # fmt: skip
    if score:
        check(
            run,
            "predict",
            out / "model.json",
            data,
            there=("for classification", score, "with probabilities"),
        )
    else:
        found = json.loads(run("predict", out / "model.json", data, "--json").out)
        several = [f"{of}_{c}" for of in ("score", "probability") for c in range(3)]
        assert list(found) == ["label", *several]


def test_compare_and_plan(run: Run, folder) -> None:
    asked = (folder / "numbers.csv", "--target", "y", "--validation", 3)
    check(run, "compare", *asked, "--methods", "greedy-rls,lars", there=())
    told = check(run, "plan", *asked, there=())
    assert told["searches"] == 4
    told = check(run, "plan", *asked, "--memory", "100MB", "--cv", 3, there=())
    assert told["searches"] == 1
