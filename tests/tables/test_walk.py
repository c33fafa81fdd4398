"""A newcomer's walk: a raw CSV to a recommendation, a page, a C function and an SQL expression."""

import csv
import json
import shutil
import sqlite3
import subprocess

import numpy as np
import pytest

from cli.conftest import program, refused

pytestmark = pytest.mark.validated


@pytest.fixture
def houses(tmp_path):
    """Categories, missing values, an id, a date, a unit, a copy of the target's sign."""
    rng = np.random.default_rng(5)
    rows = []
    for i in range(120):
        area, city = round(rng.normal(80, 20), 1), rng.choice(["Bern", "Chur", "Genf"])
        sold = np.datetime64("2023-01-01") + int(rng.integers(0, 700))
        price = 3 * area + 60 * (city == "Genf") + rng.normal(0, 8)
        area = area if rng.random() > 0.1 else ""
        city = city if rng.random() > 0.05 else ""
        lot = f"{rng.integers(200, 900)} m2"
        rows.append([f"H-{i:04}", area, city, sold, lot, round(rng.normal(), 3), round(price, 1)])
    file = tmp_path / "houses.csv"
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "area", "city", "sold", "lot", "noise", "price"])
        writer.writerows(rows)
    return file


ASKED = ("--target", "price", "--missing", "indicator", "--dates", "parts")


def test_the_walk(houses, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = run("select", "houses.csv", "--target", "price")
    refused(first, "'area', 'city'", "--missing median", "'sold'", "--dates parts")
    done = program("select", "houses.csv", *ASKED, "--out", "result")
    assert done.code == 0, done.err
    assert "Selected: 2 of 6 features: area, city." in done.out
    assert "'id' is text that is different in every row" in done.err
    assert (tmp_path / "result" / "index.html").stat().st_size < 1_000_000
    shown = run("predict", "result/model.json", "houses.csv")
    expected = np.array(shown.out.split()[1:], float)
    assert run("export", "result/model.json", "--to", "c", "--out", "model.c").code == 0
    expression = run("export", "result/model.json", "--to", "sql").out
    with houses.open() as stream:
        rows = list(csv.DictReader(stream))
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE houses (area REAL, city TEXT)")
    values = [(float(r["area"]) if r["area"] else None, r["city"] or None) for r in rows]
    base.executemany("INSERT INTO houses VALUES (?, ?)", values)
    found = base.execute(f"SELECT {expression} FROM houses").fetchall()
    np.testing.assert_allclose([row[0] for row in found], expected, rtol=1e-12)
    if shutil.which("cc") is None:
        return
    table = ",".join(
        f"{{{'NAN' if a is None else a}, {'NULL' if c is None else json.dumps(c)}}}"
        for a, c in values
    )
    (tmp_path / "main.c").write_text(
        '#include "model.c"\n#include <stdio.h>\n'
        f"static const struct sparsepath_row rows[] = {{{table}}};\n"
        f"int main(void) {{ for (int i = 0; i < {len(rows)}; i++) "
        'printf("%.17g\\n", sparsepath_predict(&rows[i])); return 0; }\n'
    )
    subprocess.run(["cc", "-std=c99", "main.c", "-lm", "-o", "main"], cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    np.testing.assert_allclose(np.array(said.split(), float), expected, rtol=1e-12)


def test_a_run_file_repeats_the_run(houses, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("select", "houses.csv", *ASKED, "--out", "result", "--quiet").code == 0
    before = json.loads((tmp_path / "result" / "path.json").read_text())
    shutil.rmtree(tmp_path / "result" / "nothing", ignore_errors=True)
    monkeypatch.chdir("/")
    done = run("run", tmp_path / "result" / "run.toml")
    assert done.code == 0, done.err
    assert "The result is the same." in done.err
    after = json.loads((tmp_path / "result" / "path.json").read_text())
    assert [s["subset"] for s in after["steps"]] == [s["subset"] for s in before["steps"]]
    houses.write_text(houses.read_text().replace("Bern", "Thun"))
    refused(run("run", tmp_path / "result" / "run.toml"), "has changed since", "--anyway")
    again = run("run", tmp_path / "result" / "run.toml", "--anyway")
    assert again.code == 0
    (tmp_path / "bad.toml").write_text("schema = 1")
    refused(run("run", tmp_path / "bad.toml"), "is not a run file")


def test_missing_values_other_ways(houses, run):
    done = run("select", houses, "--target", "price", "--dates", "parts", "--missing", "drop-rows")
    assert "rows with missing values left out" in done.err
    done = run(
        "select",
        houses,
        "--target",
        "price",
        "--drop",
        "sold",
        "--missing",
        "drop-columns",
        "--json",
    )
    record = json.loads(done.out)
    assert record["n_features"] == 3  # the id, the lot and the noise
    assert any("'area', 'city'" in note for note in record["notes"])


def test_compare_takes_raw_tables_and_writes_a_page(houses, run, tmp_path):
    done = run(
        "compare", houses, *ASKED, "--methods", "greedy-rls,lars", "--validation", "3",
        "--out", tmp_path / "contest",
    )  # fmt: skip
    assert done.code == 0, done.err
    record = json.loads((tmp_path / "contest" / "compare.json").read_text())
    assert {"area", "city"} <= set(record["common_features"])
    page = (tmp_path / "contest" / "compare.html").read_text()
    assert page.count("<polyline") == 2 * 2  # for wide screens and for phones
    assert "● from 1" in page
    assert "<script" not in page
    assert (tmp_path / "contest" / "run.toml").exists()


def test_values_that_were_never_seen_are_told(houses, run, tmp_path):
    run("select", houses, *ASKED, "--out", tmp_path / "result", "--no-validation", "--choose", "2")
    new = tmp_path / "new.csv"
    new.write_text("city,area\nPrag,80\nGenf,\n")
    done = run("predict", tmp_path / "result" / "model.json", new)
    assert done.code == 0
    assert "does not know ('Prag')" in done.err
    assert len(done.out.split()) == 3
    new.write_text("city\nGenf\n")
    refused(run("predict", tmp_path / "result" / "model.json", new), "lacks the column 'area'")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "a;b;y\n1,5;x;1\n2,5;z;2\n3,5;x;3\n4,0;z;4\n"),
        ("b.csv", "a|b|y\n1.5|x|1\n2.5|z|2\n3.5|x|3\n4|z|4\n"),
        ("c.jsonl", '{"a":1.5,"b":"x","y":1}\n{"a":2.5,"b":"z","y":2}\n'
         '{"a":3.5,"b":"x","y":3}\n{"a":4,"b":"z","y":4}\n'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_other_ways_of_writing_tables(run, tmp_path, name, text, encoding):
    if encoding == "utf-16" and not name.endswith("csv"):
        return
    (tmp_path / name).write_bytes(text.encode(encoding))
    done = run(
        "select", tmp_path / name, "--target", "y", "--task", "regression", "--no-validation",
        "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert json.loads(done.out)["chosen"]["features"][0] == "a"


def test_feather_latin_and_stdin(run, tmp_path, monkeypatch):
    import io
    import sys

    import pyarrow as pa
    import pyarrow.feather

    table = {"a": [1.0, 2, 3, 5, 4, 6], "ö": list("xzxzxz"), "y": [1, 2, 3, 5, 4, 6]}
    pyarrow.feather.write_feather(pa.table(table), tmp_path / "t.feather")
    quick = ("--target", "y", "--task", "regression", "--no-validation", "--quiet")
    first = run("select", tmp_path / "t.feather", *quick)
    text = "a,ö,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in zip(*table.values(), strict=True))
    (tmp_path / "l.csv").write_bytes(text.encode("latin-1"))
    assert run("select", tmp_path / "l.csv", *quick, "--encoding", "latin-1").out == first.out
    refused(run("select", tmp_path / "l.csv", *quick), "--encoding latin-1")
    refused(run("select", tmp_path / "l.csv", *quick, "--encoding", "klingon"), "klingon")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert run("select", "-", *quick).out == first.out
