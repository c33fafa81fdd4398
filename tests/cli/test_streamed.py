"""The command line on data that are read in passes: same answer."""

import json
import subprocess
import sys

import numpy as np
import pytest

from sparsepath.cli import main
from sparsepath.system.json_files import canonical, checksum

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def written(folder, rows, n, dtype=np.float32, **how):
    """A file of noise with a few columns that matter."""
    rng = np.random.default_rng(0)
    for i in range(3 if rows < 1000 else 1):
        X = rng.standard_normal((rows, n)).astype(dtype)
        y = (X[:, :4] @ [1.0, -2.0, 3.0, 0.5] + rng.standard_normal(rows)).astype(dtype)
        columns = {f"c{j}": X[:, j] for j in range(n)}
        pq.write_table(pa.table({**columns, "y": y}), folder / f"{i}.parquet", **how)
    return folder


def document(capsys, *arguments):
    assert main([*arguments, "--json", "--quiet"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_pattern_is_searched_in_passes(tmp_path, capsys):
    folder = written(tmp_path, 300, 8)
    given = ["--target", "y", "--max-features", "5", "--choose", "4", "--no-validation"]
    found = document(capsys, "select", f"{folder}/*.parquet", *given)
    frame = pa.concat_tables(pq.read_table(path) for path in sorted(folder.glob("*.parquet")))
    (tmp_path / "one").mkdir()
    pq.write_table(frame, tmp_path / "one" / "all.parquet")
    whole = document(capsys, "select", str(tmp_path / "one" / "all.parquet"), *given)
    assert found["chosen"]["features"] == whole["chosen"]["features"]
    assert found["chosen"]["error"] == pytest.approx(whole["chosen"]["error"], rel=1e-9)


@pytest.mark.validated
def test_rows_in_an_order_are_validated_as_those_of_a_table(tmp_path, capsys):
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.standard_normal((300, 4)), axis=0)
    columns = {f"c{j}": walk[:, j] for j in range(4)}
    days = np.datetime64("2020-01-01") + np.arange(300)
    for name, more, drift in (("walk", {}, 0.5), ("days", {"day": days}, 0.0)):
        y = walk[:, 0] + drift * np.cumsum(rng.standard_normal(300)) + rng.standard_normal(300)
        file = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({**columns, **more, "y": y}), file, row_group_size=70)
        given = ["select", str(file), "--target", "y", "--dates", "parts"]
        chosen = document(capsys, *given)
        assert chosen["honest"]["validation"] == "10 parts in time order"
        ways = (["--method", "greedy-rls"], ["--memory", "1GB"])
        whole, found = (document(capsys, *given, *how) for how in ways)
        assert whole["honest"]["validation"] == "10 parts in time order"
        assert found["honest"]["validation"] == "10 parts in time order"
        if name == "walk":  # which parts of a date there are is learnt from all rows in passes
            assert found["honest"]["error"] == pytest.approx(whole["honest"]["error"], rel=1e-9)
    days = np.r_[days[:200], days[100:200]]
    pq.write_table(pa.table({**columns, "day": days, "y": y}), file, row_group_size=70)
    again = document(capsys, *given, "--memory", "1GB", "--max-features", "2")
    assert again["honest"]["validation"] == "10-fold"


def test_categories_in_passes_are_those_of_the_table(tmp_path, capsys):
    rng = np.random.default_rng(0)
    town = rng.choice(["Oulu", "Turku", "Espoo"], 200)
    columns = {f"c{i}": rng.standard_normal(200) for i in range(5)}
    y = columns["c1"] + 2 * (town == "Oulu") + 0.1 * rng.standard_normal(200)
    file = tmp_path / "towns.parquet"
    pq.write_table(pa.table({"town": town, **columns, "y": y}), file, row_group_size=60)
    given = [str(file), "--target", "y", "--max-features", "3", "--choose", "2", "--no-validation"]
    whole = document(capsys, "select", *given)
    found = document(capsys, "select", *given, "--memory", "1GB", "--out", str(tmp_path / "out"))
    assert sorted(found["chosen"]["features"]) == sorted(whole["chosen"]["features"])
    assert set(found["chosen"]["features"]) == {"town", "c1"}
    assert found["chosen"]["error"] == pytest.approx(whole["chosen"]["error"], rel=1e-9)
    assert main(["predict", str(tmp_path / "out" / "model.json"), str(file)]) == 0
    assert main(["plan", str(file), "--target", "y", "--memory", "1GB"]) == 0
    assert "200 rows x 6 columns" in capsys.readouterr().out


def test_columns_that_number_the_rows_are_left_out_as_in_memory(tmp_path, capsys):
    """An index of pandas, a column that counts; read as the file in memory is read."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((60, 4)), columns=list("abcd"))
    frame = frame.assign(n=np.arange(1, 61), y=frame.a + frame.b + rng.standard_normal(60))
    frame[rng.random(60) < 2].sample(frac=1, random_state=0).to_csv(tmp_path / "a.csv", sep=";")
    frame.to_csv(tmp_path / "b.csv", sep=";", decimal=",")
    given = ["--target", "y", "--max-features", "3", "--choose", "2", "--no-validation"]
    for name, more, names in (
        ("a.csv", [], "abcdn"),
        ("b.csv", [], "abcd"),
        ("b.csv", ["--force", "n"], "abcdn"),
        ("b.csv", ["--keep-index"], ["a", "b", "c", "d", "n", "x0"]),
    ):
        asked = ["select", str(tmp_path / name), *given, *more]
        whole = document(capsys, *asked)
        found = document(capsys, *asked, "--memory", "1GB")
        assert sorted(found["path"]["feature_names"]) == sorted(names)
        assert found["chosen"]["features"] == whole["chosen"]["features"]
        assert found["chosen"]["error"] == pytest.approx(whole["chosen"]["error"], rel=1e-9)
    assert main(["select", str(tmp_path / "b.csv"), *given, "--memory", "1GB"]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "columns 'n', 'x0' only number the rows" in told or "columns 'x0', 'n' only" in told


def test_missing_values_in_passes_are_those_of_the_table(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    y = X[:, 1] - X[:, 2] + 0.1 * rng.standard_normal(200)
    X[rng.random(X.shape) < 0.1] = np.nan
    columns = {f"c{i}": pa.array(X[:, i], from_pandas=i < 3) for i in range(5)}  # null and NaN
    pq.write_table(pa.table({**columns, "y": y}), tmp_path / "a.parquet", row_group_size=60)
    given = [str(tmp_path / "a.parquet"), "--target", "y", "--max-features", "3", "--choose", "2"]
    for missing in ("median", "indicator"):
        asked = ["select", *given, "--missing", missing, "--no-validation"]
        whole, found = document(capsys, *asked), document(capsys, *asked, "--memory", "1GB")
        assert found["chosen"]["features"] == whole["chosen"]["features"]
        assert found["chosen"]["error"] == pytest.approx(whole["chosen"]["error"], rel=1e-9)


def test_groups_in_passes_are_those_of_the_table(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X, who = rng.standard_normal((200, 5)), rng.integers(0, 10, 200)
    y = X[:, 1] - X[:, 2] + 0.5 * rng.standard_normal(10)[who] + 0.1 * rng.standard_normal(200)
    columns = {f"c{i}": X[:, i] for i in range(5)}
    table = pa.table({**columns, "who": [f"p{i}" for i in who], "y": y})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=60)
    asked = ["select", str(tmp_path / "a.parquet"), "--target", "y", "--max-features", "3"]
    asked += ["--choose", "2", "--groups", "who", "--cv", "5", "--no-validation"]
    whole, found = document(capsys, *asked), document(capsys, *asked, "--memory", "1GB")
    assert found["path"]["criterion"] == whole["path"]["criterion"]
    assert found["chosen"]["features"] == whole["chosen"]["features"]
    assert found["chosen"]["error"] == pytest.approx(whole["chosen"]["error"], rel=1e-9)


def test_a_plan_tells_passes_before_anything_runs(tmp_path, capsys):
    folder = written(tmp_path, 300, 8)
    assert main(["plan", str(folder), "--target", "y", "--max-features", "5"]) == 0
    told = capsys.readouterr().out
    assert "900 rows x 8 columns, 28.8 kB of numbers, in 3 parts" in told
    assert "Leave-one-out, 5 steps" in told
    assert main(["plan", str(folder), "--target", "y", "--cv", "10"]) == 0
    assert "10-fold criterion: 1 pass" in capsys.readouterr().out
    given = [str(folder), "--target", "y", "--method", "lars"]
    for command in ("plan", "select"):
        assert main([command, *given]) == 2
        assert "--method lars needs data in memory" in capsys.readouterr().err


def test_to_resume_there_must_be_a_checkpoint(tmp_path, capsys):
    """Gone on from, in memory and in passes, the answer is the same to the last digit."""
    folder, file = written(tmp_path, 300, 8), tmp_path / "moves.json"
    asked = ["select", str(folder), "--target", "y", "--no-validation", "--choose", "4"]
    for more, words in (
        ([], "--resume needs a checkpoint: add --checkpoint FILE"),
        (["--checkpoint", str(file)], f"there is no checkpoint {file}"),
    ):
        assert main([*asked, *more, "--resume"]) != 0
        assert words in " ".join(capsys.readouterr().err.split())
        assert not file.exists()
    asked += ["--checkpoint", str(file)]
    first = document(capsys, *asked)
    record = json.loads(file.read_text())
    del record["checksum"]
    record["moves"] = record["moves"][:3]  # as if it had been stopped there
    file.write_text(canonical({**record, "checksum": checksum(canonical(record))}))
    again = document(capsys, *asked, "--resume")
    assert again["chosen"] == first["chosen"]
    assert again["path"]["steps"] == first["path"]["steps"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--memory", "much"], "--memory much must be a size such as 2GB"),
        (
            ["--memory", "1GB", "--sample", "20"],
            "need data in memory; leave them out",
        ),
        (["--memory", "1GB", "--method", "lars"], "--method lars needs data in memory"),
        (["--memory", "1GB", "--significance", "0.05"], "needs data in memory; leave it out"),
        (["--memory", "1GB", "--drop", "zz"], "no column 'zz' among"),
        (["--memory", "1GB", "--sheet", "1"], "has no sheets; remove --sheet"),
        (["--memory", "1GB", "--decimal", ","], "decimal: only for CSV files"),
        (["--memory", "1GB", "--missing", "drop-rows"], "needs data in memory; use median or"),
    ],
)
def test_what_cannot_be_had_in_passes_is_said(tmp_path, capsys, more, words):
    folder = written(tmp_path, 30, 8)
    assert main(["select", str(folder), "--target", "y", *more]) != 0
    assert words in " ".join(capsys.readouterr().err.split())


@pytest.mark.validated
@pytest.mark.parametrize(
    "more",
    [
        ["--method", "greedy-rls"],
        ["--cv", "5", "--alpha", "1"],
        ["--method", "grafting", "--l1", "0.05"],
        ["--null", "19", "--stability", "10", "--alpha", "1", "--validation", "4"],
        ["--task", "classification", "--target", "late", "--loss", "zero-one", "--alpha", "1"],
    ],
    ids=str,
)
def test_with_a_limit_of_memory_the_answer_is_the_same(tmp_path, capsys, more):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    y = X[:, 0] - X[:, 4] + rng.standard_normal(300)
    columns = {f"c{j}": X[:, j] for j in range(6)}
    given = ["--max-features", "3", *([] if "--target" in more else ["--target", "y"]), *more]
    one = {"late": (y > 0).astype(int)} if "late" in more else {"y": y}
    pq.write_table(pa.table({**columns, **one}), tmp_path / "a.parquet", row_group_size=70)
    whole = document(capsys, "select", str(tmp_path / "a.parquet"), *given)
    found = document(capsys, "select", str(tmp_path / "a.parquet"), *given, "--memory", "1GB")
    for key in ("chosen", "honest", "null", "stability"):
        close(found[key], whole[key])


def close(found, expected):
    """The same numbers to 1e-9, and all else the same."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            close(found[key], expected[key])
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            close(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-8, abs=1e-10)
    else:
        assert found == expected


def test_a_local_cluster_finds_what_this_process_finds(tmp_path):
    """Worker processes are started by ``--dask local``, and a checkpoint is gone on from."""
    pytest.importorskip("distributed")
    folder = written(tmp_path, 300, 8)
    given = ["--target", "y", "--max-features", "5", "--choose", "4", "--no-validation", "--json"]
    found = []
    for more in (["--memory", "1GB"], ["--dask", "local"]):
        moves = ["--checkpoint", str(tmp_path / "moves.json")]
        run = "import sys; from sparsepath.cli import main; sys.exit(main(sys.argv[1:]))"
        command = [sys.executable, "-c", run, "select", f"{folder}/*.parquet", *given]
        done = subprocess.run([*command, *more, *moves], capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    here, there = found
    assert there["chosen"] == here["chosen"]
    assert there["path"]["data"]["fingerprint"] == here["path"]["data"]["fingerprint"]


@pytest.mark.parametrize("failures", [1, 2])
def test_a_worker_that_dies_while_a_local_cluster_starts(tmp_path, capsys, monkeypatch, failures):
    """Once: it is started again. Twice: one sentence."""
    distributed = pytest.importorskip("distributed")
    started = []

    def dying(**options):
        started.append(options)
        if len(started) <= failures:
            raise RuntimeError("Nanny failed to start.")
        return real(**options, processes=False, n_workers=1)

    real = distributed.LocalCluster
    monkeypatch.setattr(distributed, "LocalCluster", dying)
    folder = written(tmp_path, 300, 8)
    given = ["--target", "y", "--max-features", "2", "--no-validation", "--quiet"]
    code = main(["select", str(folder), *given, "--dask", "local"])
    assert len(started) == 2
    if failures == 1:
        assert code == 0
    else:
        assert code == 2
        assert "the worker processes do not start (Nanny failed" in capsys.readouterr().err
