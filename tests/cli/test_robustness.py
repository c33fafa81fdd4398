"""Damaged files and extreme options: one sentence and code 2, never a traceback."""

import bz2
import gzip
import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from .conftest import Run, program, refused

QUICK = ("--no-validation", "--max-features", "2", "--quiet")
IN_PASSES = ([], ["--memory", "1GB"])


# Files


def damaged_feather(path: Path) -> None:
    """A column of text whose second offset lies far behind its end."""
    text = pa.array(["one", "two", "three", "four"])
    _, offsets, data = text.buffers()
    places = np.frombuffer(offsets, np.int32).copy()
    places[1:3] = 2**30
    wild = pa.Array.from_buffers(pa.string(), 4, [None, pa.py_buffer(places.tobytes()), data])
    table = pa.table({"a": wild, "b": [1.0, 2.0, 3.0, 5.0], "y": [1.0, 2.0, 4.0, 4.5]})
    pyarrow.feather.write_feather(table, path, compression="uncompressed")


@pytest.mark.parametrize("memory", IN_PASSES)
def test_arrow_files_with_offsets_out_of_bounds(tmp_path: Path, memory: list[str]) -> None:
    """Reading such text ends the process if nobody checks the offsets; hence a program."""
    damaged_feather(tmp_path / "wild.feather")
    done = program("select", tmp_path / "wild.feather", "--target", "y", *QUICK, *memory)
    refused(done, "wild.feather", "offset")


def test_damaged_arrow_files_do_not_end_predict(run: Run, tmp_path: Path) -> None:
    good = tmp_path / "good.csv"
    good.write_text("a,b,y\n" + "".join(f"{i % 3},{i},{i * i}\n" for i in range(30)))
    assert run("select", good, "--target", "y", *QUICK, "--out", tmp_path / "out").code == 0
    damaged_feather(tmp_path / "wild.feather")
    model = tmp_path / "out" / "model.json"
    refused(program("predict", model, tmp_path / "wild.feather"), "wild.feather")


@pytest.mark.parametrize("text", ["[1, 2]", "1\n2\n", "5", '["a"]', "[null]", "[[1, 2]]"])
def test_json_that_holds_no_records(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    refused(run("select", tmp_path / "a.json", "--target", "y"), "a.json", "records")


def test_json_nested_without_end(run: Run, tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    refused(run("select", tmp_path / "deep.json", "--target", "y"), "deep.json", "nested")


def test_json_numbers_of_thousands_of_digits(run: Run, tmp_path: Path) -> None:
    rows = [{"a": i, "y": i} for i in range(3)]
    text = json.dumps(rows).replace("2}", "9" * 5000 + "}")
    (tmp_path / "long.json").write_text(text)
    refused(run("select", tmp_path / "long.json", "--target", "y"), "long.json")


def test_a_first_column_of_lists_and_an_unknown_target(run: Run, tmp_path: Path) -> None:
    table = pa.table({"a": [[1, 2], [3, 4]] * 5, "b": range(10)})
    pq.write_table(table, tmp_path / "lists.parquet")
    refused(run("select", tmp_path / "lists.parquet", "--target", "z"), "no column 'z'")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
@pytest.mark.parametrize("memory", IN_PASSES)
def test_packed_text_that_is_cut(run: Run, tmp_path: Path, pack, memory: list[str]) -> None:
    rng = np.random.default_rng(0)
    rows = "\n".join(",".join(map(str, row)) for row in rng.standard_normal((5000, 4)))
    content = pack(f"a,b,c,y\n{rows}\n".encode())
    file = tmp_path / ("a.csv.gz" if pack is gzip.compress else "a.csv.bz2")
    for length in (20, len(content) // 2, len(content) - 5):
        file.write_bytes(content[:length])
        refused(run("select", file, "--target", "y", *QUICK, *memory), file.name)


@pytest.mark.parametrize("memory", IN_PASSES)
def test_names_that_occur_twice(run: Run, tmp_path: Path, memory: list[str]) -> None:
    (tmp_path / "a.csv").write_text("0,0,y\n" + "".join(f"{i},{i % 3},{i}\n" for i in range(20)))
    done = run("select", tmp_path / "a.csv", "--target", "y", *QUICK, *memory)
    refused(done, "more than one column is called '0'")


@pytest.mark.parametrize("memory", IN_PASSES)
def test_every_cut_of_an_npy_header(run: Run, tmp_path: Path, memory: list[str]) -> None:
    np.save(tmp_path / "a.npy", np.random.default_rng(0).standard_normal((20, 3)))
    content = (tmp_path / "a.npy").read_bytes()
    for length in range(1, 130, 3):
        (tmp_path / "cut.npy").write_bytes(content[:length])
        done = run("select", tmp_path / "cut.npy", "--target", "2", *QUICK, *memory)
        refused(done, "cut.npy")
    for text in (b"{'descr': '<f8', 'fortran_order': False, 'shape': (20, 3, }", b"{[", b"'", b"x"):
        header = content[:10] + text.ljust(117) + b"\n" + content[128:]
        (tmp_path / "cut.npy").write_bytes(header)
        done = run("select", tmp_path / "cut.npy", "--target", "2", *QUICK, *memory)
        refused(done, "cut.npy")


def test_constant_columns_by_every_method(run: Run, tmp_path: Path) -> None:
    from sparsepath.methods import METHODS

    (tmp_path / "a.csv").write_text("a,b,y\n" + "".join(f"1,2,{i * 1.5}\n" for i in range(30)))
    for method in METHODS:
        given = ["--method", method, "--task", "regression", "--no-validation", "--quiet"]
        done = run("select", tmp_path / "a.csv", "--target", "y", *given)
        assert done.code in (0, 2), method


@pytest.mark.parametrize("memory", IN_PASSES)
def test_a_table_without_features(run: Run, tmp_path: Path, memory: list[str]) -> None:
    (tmp_path / "a.csv").write_text("y\n" + "".join(f"{i}\n" for i in range(20)))
    np.save(tmp_path / "a.npy", np.arange(20.0)[:, None])
    (tmp_path / "a.svm").write_text("".join(f"{i}\n" for i in range(20)))
    for name, target in (("a.csv", ["-t", "y"]), ("a.npy", ["-t", "0"]), ("a.svm", [])):
        done = run("select", tmp_path / name, *target, *QUICK, *memory)
        refused(done, name, "no feature column" if name != "a.svm" else "column")


@pytest.mark.parametrize("memory", IN_PASSES)
def test_labels_that_are_not_utf8(run: Run, tmp_path: Path, memory: list[str]) -> None:
    rows = "".join(f"{i % 5},{'né' if i % 2 else 'ja'}\n" for i in range(30))
    (tmp_path / "a.csv").write_bytes(f"a,y\n{rows}".encode("latin-1"))
    done = run("select", tmp_path / "a.csv", "--target", "y", *QUICK, *memory)
    refused(done, "a.csv", "UTF-8" if memory else "must be numbers or text")


def test_methods_without_any_error_are_drawn() -> None:
    """Errors that are all alike leave no range for the axis; Matplotlib would warn."""
    from sparsepath.assessment.plots import plot_contest

    curves = {"greedy-rls": ([0, 1, 2], np.zeros(3), 0)}
    maps = {"greedy-rls": ([0, 1, 2], np.tri(3, 2, -1, dtype=bool))}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot_contest(curves, "squared error", 0.0, maps, ["a", "b"])


@pytest.mark.parametrize("kind", ["npy", "svm"])
def test_missing_values_in_passes_of_files_that_are_no_tables(
    run: Run, files: dict[str, Path], kind: str
) -> None:
    given = ["--memory", "1GB", "--missing", "median", *QUICK]
    refused(run("select", files[kind], *given), f"diabetes.{kind} is not a table", "Parquet")


@pytest.mark.parametrize("memory", IN_PASSES)
@pytest.mark.parametrize("size", [1e83, 1e114, 1e-160])
def test_targets_whose_squares_overflow(
    run: Run, tmp_path: Path, size: float, memory: list[str]
) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 4))
    X[:, -1] *= size
    np.save(tmp_path / "a.npy", X)
    done = run("select", tmp_path / "a.npy", "--target", "3", *QUICK, *memory)
    refused(done, "y has numbers of the size of" if size > 1 else "y ")


def test_sparse_columns_whose_squares_overflow(tmp_path: Path) -> None:
    """The error alone, without warnings of NumPy before it."""
    rows = (f"{i % 7} 1:{i}e160 2:{i % 3}\n" for i in range(20))
    (tmp_path / "a.svm").write_text("".join(rows))
    done = program("select", tmp_path / "a.svm", *QUICK, "--task", "regression")
    refused(done, "squares exceed the range of floating point")


# Options


def test_a_decimal_mark_that_cannot_be(run: Run, files: dict[str, Path]) -> None:
    done = run("select", files["csv"], "--target", "progression", "--decimal", "9" * 500, *QUICK)
    refused(done, "--decimal 999", "use '.' or ','")


@pytest.mark.parametrize(
    "option", ["seed", "sample", "max-features", "cv", "choose", "null", "validation"]
)
def test_numbers_of_thousands_of_digits(run: Run, files: dict[str, Path], option: str) -> None:
    given = ["select", files["csv"], "--target", "progression", f"--{option}", "9" * 5000]
    refused(run(*given, "--quiet"), f"--{option}")


def test_a_size_of_thousands_of_digits(run: Run, files: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    given = ["select", files["csv"], "--target", "progression", *QUICK, "--out", out]
    assert run(*given).code == 0
    refused(run("predict", out / "model.json", files["csv"], "--size", "9" * 5000), "--size")
    refused(run("report", out / "path.json", "--size", "9" * 5000), "--size")


def test_targets_by_numbers_of_thousands_of_digits(run: Run, files: dict[str, Path]) -> None:
    for kind in ("csv", "npy"):
        for memory in IN_PASSES:
            refused(run("select", files[kind], "--target", "9" * 5000, *QUICK, *memory), "999")


@pytest.mark.parametrize("loss", ["huber:1e-5", "huber:0.00001", "huber:1e5"])
def test_a_small_parameter_of_a_loss(run: Run, files: dict[str, Path], loss: str) -> None:
    done = run("select", files["csv"], "--target", "progression", "--loss", loss, *QUICK)
    assert done.code == 0, done.err


@pytest.mark.parametrize("memory", IN_PASSES)
@pytest.mark.parametrize("delimiter", ["é", "\n", "\0", '"', "", "::"])
def test_a_delimiter_that_cannot_be(
    run: Run, files: dict[str, Path], delimiter: str, memory: list[str]
) -> None:
    given = ["select", files["csv"], "--target", "progression", "--delimiter", delimiter]
    refused(run(*given, *QUICK, *memory), "delimiter")


@pytest.mark.parametrize("memory", IN_PASSES)
@pytest.mark.parametrize("encoding", ["punycode", "base64", "idna", "rot13", "", "\0", "é", "hex"])
def test_an_encoding_that_cannot_be(
    run: Run, files: dict[str, Path], encoding: str, memory: list[str]
) -> None:
    given = ["select", files["csv"], "--target", "progression", "--encoding", encoding]
    done = run(*given, *QUICK, *memory)
    refused(done, "encoding")


# Names of files


LONG = "n" * 300


def test_names_that_are_too_long(run: Run, files: dict[str, Path], tmp_path: Path) -> None:
    data, asked = files["csv"], ["--target", "progression", *QUICK]
    for memory in IN_PASSES:
        refused(run("select", tmp_path / f"{LONG}.csv", *asked, *memory), "too long")
        refused(run("select", data, *asked, "--out", tmp_path / LONG, *memory), "too long")
        given = ["--checkpoint", tmp_path / LONG, *memory]
        refused(run("select", data, *asked, *given), "too long")
        refused(run("select", data, *asked, *given, "--resume"), "too long")
    refused(run("compare", tmp_path / f"{LONG}.csv", "--target", "y"), "too long")
    refused(run("plan", tmp_path / f"{LONG}.csv", "--target", "y"), "too long")
    out = tmp_path / "out"
    assert run("select", data, *asked, "--out", out).code == 0
    model, path = out / "model.json", out / "path.json"
    refused(run("predict", model, tmp_path / f"{LONG}.csv"), "too long")
    refused(run("predict", tmp_path / LONG, data), "too long")
    refused(run("predict", model, data, "--out", tmp_path / f"{LONG}.csv"), "too long")
    refused(run("export", model, "--to", "c", "--out", tmp_path / f"{LONG}.c"), "too long")
    refused(run("export", tmp_path / LONG, "--to", "c"), "too long")
    refused(run("report", path, "--out", tmp_path / f"{LONG}.html"), "too long")
    refused(run("report", tmp_path / LONG), "too long")
    refused(run("demo", "--out", tmp_path / LONG), "too long")


def test_names_nearly_too_long(run: Run, files: dict[str, Path], tmp_path: Path) -> None:
    """What is written beside needs a longer name than the file itself."""
    data, asked = files["csv"], ["--target", "progression", *QUICK]
    assert run("select", data, *asked, "--out", tmp_path / "out").code == 0
    out = tmp_path / ("n" * 251 + ".csv")
    done = run("predict", tmp_path / "out" / "model.json", data, "--out", out)
    assert done.code == 0, done.err
    assert out.exists()


def test_names_that_are_no_text(run: Run, files: dict[str, Path], tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.csv")
    Path(name).write_bytes(files["csv"].read_bytes())
    for memory in IN_PASSES:
        done = program("select", name, "--target", "progression", *QUICK, *memory)
        assert done.code == 0, done.err


def test_folders_with_too_many_entries_are_not_walked(run: Run, tmp_path, monkeypatch) -> None:
    from sparsepath.data import file_sources

    monkeypatch.setattr(file_sources, "MOST_ENTRIES", 20)
    for i in range(30):
        (tmp_path / f"{i}.other").touch()
    refused(run("select", tmp_path, "--target", "y"), "20", "pattern")


# The process


def test_streams_that_are_closed(files: dict[str, Path]) -> None:
    command = f"{sys.executable} -m sparsepath"
    asked = f"{files['csv']} --target progression --no-validation --max-features 2"
    for line in (
        f"{command} select {asked} >&-",
        f"{command} select {asked} >&- 2>&-",
        f"{command} --version >&-",
        f"{command} --help >&-",
        f"{command} select - --target y <&-",
        f"{command} select nothing.csv --target y 2>&-",
    ):
        done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, line
        assert "Exception" not in done.stderr, line
        assert done.returncode in (0, 2), line


def test_a_budget_longer_than_clocks_count(files: dict[str, Path]) -> None:
    asked = ["--target", "progression", "--methods", "lars,greedy-rls", "--validation", "2"]
    done = program("compare", files["csv"], *asked, "--budget", "9223372036854775807")
    assert "Traceback" not in done.err
    assert done.code == 0


def test_an_interrupt_while_modules_are_imported(files: dict[str, Path]) -> None:
    """The signal comes from an import hook, so that it falls into the imports for certain."""
    for module in ("numpy", "click", "sparsepath.cli.select"):
        script = (
            "import sys, os, signal\n"
            "class Hook:\n"
            "    def find_spec(self, name, *_):\n"
            f"        if name == {module!r}:\n"
            "            sys.meta_path.remove(self)\n"
            "            os.kill(os.getpid(), signal.SIGINT)\n"
            "sys.meta_path.insert(0, Hook())\n"
            "sys.argv[0] = 'sparsepath'\n"
            "from sparsepath.__main__ import program\n"
            "sys.exit(program())\n"
        )
        asked = ["select", str(files["csv"]), "--target", "progression"]
        command = [sys.executable, "-c", script, *asked]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode in (130, -signal.SIGINT), (module, done)
        assert done.stderr.strip() == "Interrupted.", module


def test_a_star_import_leaves_built_in_names_alone() -> None:
    import builtins

    import sparsepath

    assert not {*sparsepath.__all__} & {*dir(builtins)}
    assert callable(sparsepath.open)


# What a killed process leaves


@pytest.mark.parametrize("command", ["predict", "report", "export"])
def test_leftovers_of_killed_processes(
    run: Run, files: dict[str, Path], tmp_path: Path, command: str
) -> None:
    from sparsepath.system.files import _prefix

    out = tmp_path / "out"
    asked = ["--target", "progression", *QUICK, "--out", out]
    assert run("select", files["csv"], *asked).code == 0
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                          capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
    prefix = _prefix("page.html").replace(f"-{os.getpid()}-", f"-{gone}-")
    left = tmp_path / f"{prefix}abc.part"
    left.touch()
    given = {
        "predict": ["predict", out / "model.json", files["csv"], "--out", tmp_path / "p.csv"],
        "report": ["report", out / "path.json", "--out", tmp_path / "p.html"],
        "export": ["export", out / "model.json", "--to", "c", "--out", tmp_path / "p.c"],
    }[command]
    assert run(*given).code == 0
    assert not left.exists()
