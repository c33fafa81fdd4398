"""Nothing that is read is written over, results never mix, and damage ends in one sentence."""

import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparsepath.data import formats
from sparsepath.data.readers import write_table

from .conftest import Run, program, refused

HEADER = b"\x93NUMPY\x01\x00v\x00"


def npy(shape: str, brace: bytes = b"}") -> bytes:
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, ".encode() + brace
    return HEADER + text.ljust(117) + b"\n" + bytes(80)


# Files that are not what they seem


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (npy("(5, 2)", b""), "damaged"),
        (npy("(5, 2"), "cannot read"),
        (npy("(10000000000, 1000)"), "claims more numbers than the file holds"),
        (npy("(-5, 2)"), "cannot read"),
    ],
)
def test_npy_headers(run: Run, tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "bad.npy").write_bytes(content)
    refused(run("select", tmp_path / "bad.npy", "--target", 0), "bad.npy", words)


def test_npz_that_unpacks_to_more_than_memory(run: Run, tmp_path: Path, monkeypatch) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", X=np.zeros((1000, 1000)), y=np.zeros(1000))
    monkeypatch.setattr(formats, "memory", lambda: 10**6)
    refused(
        run("select", tmp_path / "bomb.npz", "--target", "y"),
        "takes 0.00801 GB uncompressed",
        "memory",
    )


def test_npz_with_a_damaged_index(run: Run, files: dict[str, Path], tmp_path: Path) -> None:
    content = bytearray(files["npz"].read_bytes())
    content[-6:-2] = b"\xff\xff\xff\x7f"  # where the index begins
    (tmp_path / "index.npz").write_bytes(bytes(content))
    refused(run("select", tmp_path / "index.npz", "--target", "y"), "it is damaged, or another")


def test_rows_of_a_binary_column(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = {"b": [b"x\xff", b"y"] * 20, "a": rng.normal(size=40), "y": rng.normal(size=40)}
    pq.write_table(pa.table(columns), tmp_path / "bin.parquet")
    done = run("select", tmp_path / "bin.parquet", "--target", "y", "--rows", "b=y", "--json")
    assert json.loads(done.out)["n_samples"] == 20
    refused(run("select", tmp_path / "bin.parquet", "--target", "y", "--rows", "b=z"), "'y'")


def test_what_is_read_in_passes_is_called_by_its_name(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("a,b,y\n" + "".join(f"{i},{i * i % 7},{i % 5}\n" for i in range(30)))
    done = run("select", file, "--target", "z", "--memory", "1GB")
    refused(done, f"{file}: no column 'z' among 'a', 'b', 'y'")


def test_a_column_of_lists(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    file = tmp_path / "lists.parquet"
    columns = {"l": [[1, 2]] * 40, "a": rng.normal(size=40), "y": rng.normal(size=40)}
    pq.write_table(pa.table(columns), file)
    refused(run("select", file, "--target", "y"), "column 'l' holds lists", "drop it")
    refused(run("select", file, "--target", "l"), "target 'l' must be numbers or text")
    assert run("select", file, "--target", "y", "--drop", "l").code == 0


def test_a_method_that_needs_more_memory_than_there_is(run: Run, tmp_path: Path) -> None:
    n = 1_000_000
    entries = " ".join(f"{j}:1" for j in range(1, n + 1))
    rows = [f"1 {entries}", "0 1:1", "2 2:1", "1 3:1", "2 4:3"]
    (tmp_path / "wide.svm").write_text("\n".join(rows) + "\n")
    done = run("select", tmp_path / "wide.svm", "--method", "rbf", "--r", 5, "--t", 2)
    refused(done, "rbf needs about 1.6e+04 GB", "1,000,000 columns", "greedy-rls")


def test_memory_that_is_asked_for_in_vain(run: Run, files, monkeypatch) -> None:
    def greedy(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 74.5 GiB")

    monkeypatch.setattr("sparsepath.cli.input.read_table", greedy)
    refused(run("select", files["csv"], "--target", "progression"), "not enough memory", "74.5")


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
def test_output_that_finds_no_room(files: dict[str, Path]) -> None:
    command = [sys.executable, "-m", "sparsepath", "select", str(files["csv"])]
    with FULL.open("w") as stream:
        done = subprocess.run(
            [*command, "--target", "progression", "--method", "greedy-rls", "--json"],
            stdout=stream,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert done.stderr == "Error: cannot write the output: No space left on device.\n"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_columns_that_are_far_out_cost_nothing(tmp_path: Path) -> None:
    (tmp_path / "far.svm").write_text("1 1:1 900000000:1\n0 1:2\n1 2:1\n3 3:1\n2 2:2\n")
    script = (
        "import re, sys; from sparsepath.cli import main; "
        "code = main(sys.argv[1:]); "
        "peak = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]; "
        "print(code, peak, file=sys.stderr)"  # getrusage would count the parent before exec
    )
    out = tmp_path / "out"
    arguments = ["select", str(tmp_path / "far.svm"), "--choose", "1", "--verbose"]
    arguments += ["--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=300
    )
    code, peak = done.stderr.split()[-2:]
    assert code == "0", done.stderr
    assert int(peak) * 1024 < 1e9
    assert "4 features (of 900,000,000 columns; the others are empty)" in done.stdout
    assert sum(file.stat().st_size for file in out.iterdir()) < 10**6
    found = program("predict", out / "model.json", tmp_path / "far.svm")
    assert found.code == 0, found.err


# Outputs that are inputs


def test_predictions_never_replace_what_is_read(run: Run, files, tmp_path: Path) -> None:
    run("select", files["csv"], "--target", "progression", "--out", tmp_path)
    data, model = tmp_path / "data.csv", tmp_path / "model.json"
    data.write_bytes(files["csv"].read_bytes())
    (tmp_path / "link.csv").symlink_to(data)
    for output in (data, tmp_path / "link.csv", tmp_path / "." / "data.csv", model):
        before = output.read_bytes()
        refused(run("predict", model, data, "--out", output), "the input file")
        assert output.read_bytes() == before


def test_results_never_replace_the_data(run: Run, files, tmp_path: Path) -> None:
    for name in ("path.csv", "link.csv"):
        data = tmp_path / name
        if name == "path.csv":
            data.write_bytes(files["csv"].read_bytes())
        else:
            data.symlink_to(tmp_path / "path.csv")
        done = run("select", data, "--target", "progression", "--out", tmp_path)
        refused(done, "path.csv", "the input file")
    assert (tmp_path / "path.csv").read_bytes() == files["csv"].read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["link.csv", "path.csv"]


def test_the_demo_leaves_the_files_of_others(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("demo", "--out", out).code == 0
    assert run("demo", "--out", out).code == 0, "its own files it may replace"
    data = out / "diabetes.csv"
    data.write_text(data.read_text().replace("59", "58", 1))
    refused(run("demo", "--out", out), "diabetes.csv", "not written by the demo")
    for name in ("index.html", "diabetes.csv", "path.json"):
        folder = tmp_path / f"of {name}"
        folder.mkdir()
        (folder / name).write_text("mine")
        refused(run("demo", "--out", folder), name, "not from a demo")
        assert (folder / name).read_text() == "mine"
        assert len(os.listdir(folder)) == 1


# One run, one result


def test_a_result_of_two_runs_is_seen(run: Run, files, tmp_path: Path, monkeypatch) -> None:
    arguments = ("select", files["csv"], "--target", "progression", "--out", tmp_path)
    model = tmp_path / "model.json"
    assert run(*arguments).code == 0
    assert run("predict", model, files["csv"]).err == ""
    real, calls = os.replace, []

    def cut(one: Path, other: Path) -> None:
        calls.append(other)
        if [Path(c).parent for c in calls].count(tmp_path) == 2:
            raise OSError(5, "Input/output error")
        real(one, other)

    monkeypatch.setattr("sparsepath.system.files.os.replace", cut)
    refused(run(*arguments, "--choose", 7), "Input/output error")
    monkeypatch.undo()
    refused(run("predict", model, files["csv"]), "path.json belongs to another run")
    assert run(*arguments).code == 0
    assert run("predict", model, files["csv"]).code == 0
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals and limits")
def test_a_process_killed_while_it_writes_leaves_the_earlier_result(run: Run, files, tmp_path):
    first = ("select", files["csv"], "--target", "progression", "--no-validation")
    first = (*first, "--out", tmp_path)
    assert run(*first).code == 0
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    killed = (
        "import os, signal, sys; from sparsepath.cli import main; "
        "os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL); main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", killed, *map(str, first), "--choose", "2"]
    assert subprocess.run(command, stdout=subprocess.DEVNULL).returncode == -signal.SIGKILL
    after = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()}
    assert after == before
    assert [name for name in os.listdir(tmp_path) if name.endswith(".part")]
    limited = program(*first, "--choose", "2", preexec_fn=lambda: room_for(5000))
    refused(limited, f"cannot write {tmp_path}", "File too large")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert run("predict", tmp_path / "model.json", files["csv"]).code == 0


def room_for(size: int) -> None:
    """No file may become larger, as on a disk that is full."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class Payload:
    def __reduce__(self) -> tuple[object, ...]:
        return open, ("ran", "w")


def test_model_files_run_no_code(run: Run, files, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("select", files["csv"], "--target", "progression", "--out", "out")
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_bytes(Path("out/model.json").read_bytes())
    done = run("predict", elsewhere, files["csv"])
    assert (done.code, done.err) == (0, "")
    run("select", files["csv"], "--target", "progression", "--choose", 2, "--out", "two")
    Path("out/model.json").write_bytes(Path("two/model.json").read_bytes())
    refused(run("predict", "out/model.json", files["csv"]), "another run")
    for name in ("model.json", "model.joblib"):
        Path("two", name).write_bytes(pickle.dumps(Payload()))
        refused(run("predict", f"two/{name}", files["csv"]), "can run any code")
    assert not Path("ran").exists(), "it was not loaded at all"


# predict: rows, target, quiet


def test_predict_says_the_error(run: Run, files, tmp_path: Path) -> None:
    columns = formats.read_columns(files["csv"]).features
    part = np.where(np.arange(442) % 4 == 0, "test", "train")
    write_table(tmp_path / "parts.csv", {**columns, "part": part})
    data, model = tmp_path / "parts.csv", tmp_path / "out" / "model.json"
    options = ["--target", "progression"]
    run("select", data, *options, "--rows", "part=train", "--out", tmp_path / "out")
    for rows in ("part=test", "part!=train"):
        done = run("predict", model, data, *options, "--rows", rows)
        found = np.array(done.out.splitlines()[1:], dtype=float)
        truth = columns["progression"][part == "test"]
        rmse = np.sqrt(np.mean((found - truth) ** 2))
        r2 = 1 - rmse**2 / truth.var()
        words = f"On 111 rows: RMSE {rmse:.4g}, R2 {r2:.3f}"
        assert done.err == f"{words} (honest if the search has not seen these rows).\n"
    out = tmp_path / "p.csv"
    done = run("predict", model, data, *options, "--rows", rows, "--quiet", "--out", out)
    assert (done.out, done.err) == ("", f"{words}.\n")
    record = json.loads(run("predict", model, data, *options, "--rows", rows, "--json").out)
    assert record["error"] == {"rmse": pytest.approx(rmse), "r2": pytest.approx(r2)}
    refused(run("predict", model, data, "--target", "part"), "'part' is text")
    refused(run("predict", model, data, "--rows", "part=none"), "no row has 'part'")
    refused(run("predict", model, data, "--target", "progres"), "did you mean 'progression'")


def test_predictions_know_their_rows(run: Run, files, tmp_path: Path) -> None:
    names = np.array([f"row {i}" for i in range(40)])
    X = np.random.default_rng(0).normal(size=(40, 2))
    columns = {"name": names, "part": np.arange(40) % 2, "a": X[:, 0], "b": X[:, 1]}
    write_table(tmp_path / "named.csv", {**columns, "y": X[:, 0]})
    asked = ("select", tmp_path / "named.csv", "-t", "y", "--drop", "name,part", "-o", tmp_path)
    assert run(*asked, "--quiet").code == 0
    used = ("predict", tmp_path / "model.json", tmp_path / "named.csv")
    head, *rows = run(*used, "--id", "name").out.splitlines()
    assert head == "name,prediction"
    assert [row.split(",")[0] for row in rows] == names.tolist()
    plain = run(*used).out.splitlines()[1:]
    assert [row.split(",")[1] for row in rows] == plain
    found = json.loads(run(*used, "--id", "name", "--rows", "part=1", "--json").out)
    assert found["name"] == names[1::2].tolist()
    refused(run(*used, "--id", "nam"), "did you mean 'name'")
    refused(run(*used, "--id", "name", "-o", tmp_path / "out.npy"), "text in column 'name'")


def test_predict_says_the_error_rate(run: Run, files, tmp_path: Path) -> None:
    run("select", files["flower"], "--target", "kind", "--out", tmp_path)
    done = run("predict", tmp_path / "model.json", files["flower"], "--target", "kind", "--json")
    record = json.loads(done.out)
    truth = formats.read_columns(files["flower"]).features["kind"]
    assert record["error"]["error_rate"] == pytest.approx(np.mean(truth != record["label"]))
    second = truth == max(truth)
    score = np.array(record["score"])
    pairs = np.sign(score[second][:, None] - score[~second][None, :])
    assert record["error"]["auc"] == pytest.approx((pairs.mean() + 1) / 2)


def test_svmlight_labels_judge_too(run: Run, files, tmp_path: Path) -> None:
    run("select", files["svm"], "--out", tmp_path)
    done = run("predict", tmp_path / "model.json", files["svm"], "--target", "y")
    assert "On 442 rows: RMSE" in done.err


# predict: no neighbours


def test_no_neighbouring_column(run: Run, tmp_path: Path) -> None:
    from sklearn.datasets import dump_svmlight_file

    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 5))
    y = 3 * X[:, 0] - 2 * X[:, 2]
    for base in (0, 1):
        dump_svmlight_file(X, y, str(tmp_path / f"from{base}.svm"), zero_based=base == 0)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "Xy.npy", np.column_stack([X, y]))
    write_table(tmp_path / "named.csv", {f"x{j}": X[:, j] for j in range(5)})
    right = {
        "from0.svm": {"from0.svm", "X.npy", "named.csv"},
        "from1.svm": {"from1.svm", "X.npy"},
        "Xy.npy": {"from0.svm", "from1.svm", "X.npy", "Xy.npy", "named.csv"},
    }
    for source, able in right.items():
        out = tmp_path / source.replace(".", "-")
        assert (
            run(
                "select",
                tmp_path / source,
                "--target",
                "-1" if "npy" in source else "y",
                "--choose",
                2,
                "--out",
                out,
            ).code
            == 0
        )
        for file in ("from0.svm", "from1.svm", "X.npy", "Xy.npy", "named.csv"):
            done = run("predict", out / "model.json", tmp_path / file)
            if file in able:
                found = np.array(done.out.splitlines()[1:], dtype=float)
                assert np.corrcoef(found, y)[0, 1] > 0.999, (source, file)
            else:
                refused(done, file)
