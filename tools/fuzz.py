"""Fuzz the command line and the estimators: damaged files, extreme options, odd data and models.

``make fuzz N=100000``, or ``python tools/fuzz.py --cases 1000``. A case is made from its seed alone
and runs in this process: four of five are command lines, one is a fit from Python
(``fuzz_estimators.py``). A command line must end with exit code 0 or 2; code 2 comes with one
sentence and no traceback; no case may take more than a minute of CPU, change a file that it reads,
or leave parts of unfinished files. A run that was stopped continues; failing cases are kept in
``fails`` below the folder of results, and ``--replay SEED`` shows one.
"""

import argparse
import bz2
import contextlib
import csv
import functools
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from fuzz_estimators import Call, fault_of_call, make_call

from sparsepath.methods import METHODS

CPU_SECONDS = 60  # for one case
ADDRESS_SPACE = 16 << 30  # bytes that a worker may map
CHUNK = 500  # cases of a worker process
STOPPED = 143  # exit code after SIGTERM, as of ``timeout``: the case will be run again
BYTES_LIMIT = 1 << 20  # of a file that a case makes

NUMBERS = [
    "0", "1", "-1", "2", "3", "0.5", "1.5", "1e-300", "1e300", "1e400", "-1e400", "nan", "inf",
    "-inf", "0x10", "1_000", "١٢", "²", "½", "1e-5", "-0", "00", "1,5", "+3", "2147483647",
    "4294967296", "9223372036854775807", "-9223372036854775808", "18446744073709551616",
    "9" * 5000, "0." + "1" * 5000, "-" + "9" * 400,
]  # fmt: skip
TEXTS = [
    "a", "b", "y", "x0", "x1", "yes", "no", "true", "None", "null", "é", "😀", "a,b", "a;b", ",",
    ";", "|", ":", "=", "a=", "=1", "y=1", "a=x", "../..", ".", "/", "/dev/null", "~", "*", "?",
    "[a-z]", "[", "{", "}", "$HOME", "`id`", "%s", "{0}", "<b>", "&", "'", "\\", "--", "-",
    "--help", "auto", "regression", "classification", "loo", "time", "one_se", "min", "10%", "2GB",
    "1kB", "0GB", "1e9GB", "5s", "0s", "1e9h", "latin-1", "utf-16", "punycode", "squared",
    "huber:1e-5", "zero-one", "auc", "balanced", "median", "indicator", "drop-rows", "parts", "c",
    "sql", "onnx", "js", "python", "json", "joblib", "double", "", " ", "\t", "\n", '"', "x" * 300,
    "\udce9", "\u202e", "a" * 5000, "b\nc", "c\rd",
]  # fmt: skip
CELLS = [*NUMBERS, *TEXTS, "2024-02-30", "2024-12-31", "12:30", "$1,000", "\0", '"open', "#N/A"]
# Values with which a search is quick; without them most cases would end at the first option.
LIKELY: dict[str, Sequence[str]] = {
    "target": ["y"] * 12 + ["a", "x2", "-1", "2", "nothing"],
    "method": (*METHODS, "greedy-rls"),
    "methods": ["greedy-rls", "greedy-rls,lars", "lars,grafting", "all"],
    "max-features": ["1", "2", "3"],
    "validation": ["2", "3", "time"],
    "cv": ["2", "3", "loo"],
    "alpha": ["1", "0.1", "loo", "1,2"],
    "choose": ["min", "one_se", "2", "0.05"],
    "loss": ["squared", "absolute", "zero-one", "huber:1", "balanced"],
    "missing": ["median", "indicator", "drop-rows", "error"],
    "dates": ["parts", "drop", "error"],
    "memory": ["50MB", "200MB", "1GB"],
    "size": ["0", "1", "2", "2"],
    "to": ["c", "sql", "onnx", "javascript", "python", "json"],
    "task": ["auto", "regression", "classification"],
    "seed": ["0", "1", "7"],
    "threads": ["1", "2"],
    "budget": ["1s", "2s"],
    "delimiter": [",", ";", "\t"],
    "decimal": [".", ","],
    "encoding": ["utf-8", "latin-1", "utf-16"],
    "drop": ["a", "b", "a,b"],
    "rows": ["a=1", "b=2"],
    "search": ["forward", "floating", "swap"],
    "significance": ["0.05"],
    "sample": ["10", "30"],
}
# Options that multiply the work: what is accepted must stay small, or a case runs for hours.
REPEATED = {
    "null",
    "stability",
    "coefficients",
    "restarts",
    "max-hidden",
    "sample",
    "neighbors",
    "budget",
}
LEFT_OUT = {"dask"}  # starts processes, or waits for an address


@dataclass
class Case:
    """A command line, what it reads from stdin, and the files that it must leave as they are."""

    seed: int
    folder: Path
    arguments: list[str] = field(default_factory=list)
    stdin: bytes = b""
    call: Call | None = None  # a fit from Python instead

    @property
    def files(self) -> dict[str, str]:
        """The files of the case, with a digest of what they hold."""
        found = (path for path in sorted(self.folder.rglob("*")) if path.is_file())
        return {
            str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in found
        }


# Files -------------------------------------------------------------------------------------------


def column(rng: np.random.Generator, rows: int) -> list[Any]:
    """Cells of one kind: numbers, whole numbers, flags, text, dates, or a mixture."""
    kind = rng.integers(0, 12)
    if kind < 5:
        values: list[Any] = rng.standard_normal(rows).round(4).tolist()
    elif kind == 5:
        values = rng.integers(-3, 4, rows).tolist()
    elif kind == 6:
        values = (rng.random(rows) < 0.5).tolist()
    elif kind == 7:
        values = [f"v{i}" for i in rng.integers(0, 4, rows)]
    elif kind == 8:
        values = [f"2024-{i % 12 + 1:02}-{i % 28 + 1:02}" for i in range(rows)]
    elif kind == 9:
        values = [3.0] * rows
    elif kind == 10:
        values = (rng.standard_normal(rows) * 10.0 ** rng.integers(-300, 300)).tolist()
    else:
        values = [CELLS[i] for i in rng.integers(0, len(CELLS), rows)]
    if rng.random() < 0.2:
        values = [None if gap else v for v, gap in zip(values, rng.random(rows) < 0.2, strict=True)]
    return values


def table(rng: np.random.Generator) -> dict[str, list[Any]]:
    """A small table whose last column is usually ``y``."""
    rows = int(
        rng.choice([0, 1, 2, 3, 8, 30, 40, 60], p=[0.02, 0.02, 0.02, 0.04, 0.1, 0.4, 0.2, 0.2])
    )
    names = ["a", "b", "c", "d", "e"][: int(rng.integers(0, 6))]
    if rng.random() < 0.15:
        names = [TEXTS[i] for i in rng.integers(0, len(TEXTS), len(names))]
    columns = {name: column(rng, rows) for name in names}
    first = [v for v in next(iter(columns.values()), []) if isinstance(v, float)]
    if len(first) == rows and rng.random() < 0.7:
        columns["y"] = [1.5 * v + e for v, e in zip(first, rng.random(rows).tolist(), strict=True)]
    elif rng.random() < 0.9:
        columns["y"] = column(rng, rows)
    return columns


def as_csv(columns: dict[str, list[Any]], rng: np.random.Generator) -> bytes:
    """The table as text, in one of the forms that programs write."""
    stream = io.StringIO(newline="")
    writer = csv.writer(
        stream, delimiter=str(rng.choice([",", ";", "\t", "|"], p=[0.7, 0.1, 0.1, 0.1]))
    )
    if rng.random() < 0.95:
        writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    encoding = str(
        rng.choice(["utf-8", "utf-8-sig", "latin-1", "utf-16"], p=[0.85, 0.05, 0.05, 0.05])
    )
    return stream.getvalue().encode(encoding, errors="replace")


def arrow(columns: dict[str, list[Any]]) -> Any:
    """The table of pyarrow; columns of several kinds become text."""
    import pyarrow as pa

    made = {}
    for name, values in columns.items():
        plain = name.encode(errors="replace").decode()
        try:
            made[plain] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError):
            told = (str(v).encode(errors="replace").decode() for v in values)
            made[plain] = pa.array(list(told), pa.string())
    return pa.table(made)


def as_workbook(columns: dict[str, list[Any]]) -> bytes:
    """An Excel file of one sheet, as little of it as programs read."""
    from xml.sax.saxutils import escape

    def cell(value: Any) -> str:
        if isinstance(value, int | float):
            return f"<c><v>{float(value)!r}</v></c>"
        plain = (
            "".join(ch for ch in str(value) if ch.isprintable()).encode(errors="replace").decode()
        )
        return f'<c t="inlineStr"><is><t>{escape(plain)}</t></is></c>'

    rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    cells = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    space = "http://schemas.openxmlformats.org"
    main = f"{space}/spreadsheetml/2006/main"
    link = f"{space}/officeDocument/2006/relationships"
    listed = f"{space}/package/2006/relationships"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{space}/package/2006/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{listed}"><Relationship Id="r1" '
        f'Type="{link}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{link}"><sheets>'
        '<sheet name="one" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{listed}"><Relationship Id="r1" '
        f'Type="{link}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData>'
        "</worksheet>",
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return stream.getvalue()


def numeric(columns: dict[str, list[Any]]) -> np.ndarray:
    """The numbers of a table; 0 for what is none."""
    rows = len(next(iter(columns.values()), []))
    kept = [[v if isinstance(v, int | float) else 0 for v in c] for c in columns.values()]
    return np.array(kept, dtype=float).reshape(len(kept), rows).T


def as_svmlight(columns: dict[str, list[Any]]) -> bytes:
    X = numeric(columns)
    lines = (
        f"{row[-1]} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row[:-1]) if v) for row in X
    )
    return "\n".join(lines).encode()


def saved(write: Callable[[Any], None]) -> bytes:
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def as_records(columns: dict[str, list[Any]], lines: bool) -> bytes:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    text = "\n".join(map(json.dumps, rows)) if lines else json.dumps(rows)
    return text.encode()


def data_file(rng: np.random.Generator) -> tuple[str, bytes]:
    """The suffix and the bytes of a table in one of all formats."""
    import pyarrow.feather as feather
    import pyarrow.parquet as parquet

    columns = table(rng)
    kind = str(rng.choice([
        "csv", "csv", "csv", "tsv", "txt", "csv.gz", "csv.bz2", "parquet", "parquet", "feather",
        "arrow", "json", "jsonl", "npy", "npz", "svm", "svmlight", "xlsx",
    ]))  # fmt: skip
    if kind in ("csv", "tsv", "txt"):
        return kind, as_csv(columns, rng)
    if kind == "csv.gz":
        return kind, gzip.compress(as_csv(columns, rng), mtime=0)
    if kind == "csv.bz2":
        return kind, bz2.compress(as_csv(columns, rng))
    if kind == "parquet":
        size = int(rng.integers(1, 50))
        return kind, saved(lambda s: parquet.write_table(arrow(columns), s, row_group_size=size))
    if kind in ("feather", "arrow"):
        how = str(rng.choice(["uncompressed", "lz4", "zstd"]))
        return kind, saved(lambda s: feather.write_feather(arrow(columns), s, compression=how))
    if kind in ("json", "jsonl"):
        return kind, as_records(columns, kind == "jsonl")
    if kind == "npy":
        return kind, saved(lambda s: np.save(s, numeric(columns)))
    if kind == "npz":
        X = numeric(columns)
        return kind, saved(lambda s: np.savez(s, X=X[:, :-1], y=X[:, -1:].ravel()))
    if kind == "xlsx":
        return kind, as_workbook(columns)
    return kind, as_svmlight(columns)


# Damage ------------------------------------------------------------------------------------------


def damaged(raw: bytes, rng: np.random.Generator) -> bytes:
    """The bytes with some changed, lost, repeated or put in."""
    made = bytearray(raw)
    for _ in range(int(rng.choice([1, 1, 1, 2, 4, 20]))):
        n = len(made)
        i = int(rng.integers(0, n + 1))
        j = min(n, i + int(rng.choice([1, 2, 4, 16, 200])))
        kind = rng.integers(0, 9)
        if kind < 3 and i < n:
            made[i] ^= 1 << int(rng.integers(0, 8))
        elif kind == 3:
            del made[i:]
        elif kind == 4:
            del made[i:j]
        elif kind == 5:
            made[i:j] = bytes([int(rng.choice([0, 255, 32, 10, 34, 91]))]) * (j - i)
        elif kind == 6:
            made[i:i] = made[i:j] * int(rng.choice([1, 3, 50]))
        elif kind == 7:
            made[i:i] = rng.bytes(int(rng.integers(1, 20)))
        else:
            made = bytearray(token_changed(bytes(made), rng))
    return bytes(made[:BYTES_LIMIT])


def token_changed(raw: bytes, rng: np.random.Generator) -> bytes:
    """Text with one number or word replaced by an extreme one."""
    tokens = [*re.finditer(rb"[-+.\w]+", raw[:100_000])]
    if not tokens:
        return raw
    found = tokens[int(rng.integers(0, len(tokens)))]
    other = CELLS[int(rng.integers(0, len(CELLS)))]
    return raw[: found.start()] + other.encode(errors="replace") + raw[found.end() :]


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the values of a JSON document are."""
    yield place
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*place, key))


def changed_document(raw: bytes, rng: np.random.Generator) -> bytes:
    """A JSON file of the package with values of other kinds, and a checksum that fits."""
    from sparsepath.system.json_files import canonical, checksum

    document = json.loads(raw)
    for _ in range(int(rng.choice([1, 1, 2, 5]))):
        known = [*places(document)][1:]
        place = known[int(rng.integers(0, len(known)))]
        inner = document
        for key in place[:-1]:
            inner = inner[key]
        kind = rng.integers(0, 6)
        others = [None, True, -1, 0, 2, 10**6, 2**63, -0.5, 1e308, "", "x", [], {}, [[]], [1, "a"]]
        if kind == 0:
            del inner[place[-1]]
        elif kind == 1 and isinstance(inner, list):
            inner.insert(place[-1], inner[place[-1]])
        elif kind == 2:
            inner[place[-1]] = TEXTS[int(rng.integers(0, len(TEXTS)))]
        else:
            inner[place[-1]] = others[int(rng.integers(0, len(others)))]
        if not document:
            break
    try:
        if "content" in document:
            document["checksum"] = checksum(canonical(document["content"]))
        elif "checksum" in document:
            rest = {key: value for key, value in document.items() if key != "checksum"}
            document["checksum"] = checksum(canonical(rest))
        return json.dumps(document).encode(errors="replace")
    except Exception:  # a text that cannot be written: as it is, its checksum will not fit
        return json.dumps(document).encode(errors="replace")


# Cases -------------------------------------------------------------------------------------------


@functools.cache
def option_table() -> dict[str, list[tuple[str, bool]]]:
    """The options of every command, and whether each is a flag."""

    from sparsepath.cli.commands import app

    commands: Any = app
    return {
        name: [
            (p.opts[0], bool(getattr(p, "is_flag", False)))
            for p in command.params
            if p.opts[0].startswith("--") and p.opts[0][2:] not in LEFT_OUT
        ]
        for name, command in commands.commands.items()
    }


def value(name: str, case: Case, rng: np.random.Generator) -> str:
    """What is typed after an option."""
    if name in ("out", "checkpoint", "names"):
        made = [
            case.folder / "out" / f"{name}.json",
            case.folder / "none" / "there" / "x",
            case.folder,
        ]
        inputs = [path for path in sorted(case.folder.iterdir()) if path.suffix != ".toml"]
        kind = rng.random()
        if kind < 0.7:
            return str(made[int(rng.integers(0, 3))] if kind < 0.1 else made[0])
        if kind < 0.8 and inputs:
            return str(inputs[int(rng.integers(0, len(inputs)))])
        text = TEXTS[int(rng.integers(0, len(TEXTS)))]
        return str(case.folder / text.replace("/", "_").replace("..", "_"))
    if name in LIKELY and rng.random() < 0.8:
        return LIKELY[name][int(rng.integers(0, len(LIKELY[name])))]
    pool = NUMBERS if rng.random() < 0.5 else TEXTS
    given = pool[int(rng.integers(0, len(pool)))]
    digits = given.strip().removeprefix("+")
    if name in REPEATED and digits.isdecimal() and (len(digits) > 18 or int(digits) < 10):
        return given
    if name in REPEATED and re.fullmatch(r"[\d.e+-]+[a-zA-Z]*", digits):
        return "2"
    return given


def add_options(case: Case, command: str, given: Sequence[str], rng: np.random.Generator) -> None:
    known = option_table()[command]
    for _ in range(int(rng.choice([0, 0, 1, 1, 2, 5]))):
        option, flag = known[int(rng.integers(0, len(known)))]
        if option not in given:
            case.arguments += [option] if flag else [option, value(option[2:], case, rng)]
    if rng.random() < 0.03:
        case.arguments.insert(
            int(rng.integers(0, len(case.arguments) + 1)), TEXTS[int(rng.integers(0, len(TEXTS)))]
        )


def search_case(case: Case, base: Path, rng: np.random.Generator) -> None:
    """Select, compare or plan on a table, which may be damaged."""
    suffix, raw = data_file(rng)
    if rng.random() < 0.35:
        raw = damaged(raw, rng)
    data = case.folder / f"data.{suffix}"
    data.write_bytes(raw)
    command = str(rng.choice(["select", "compare", "plan"], p=[0.88, 0.04, 0.08]))
    name = str(data)
    if suffix in ("csv", "tsv", "txt") and rng.random() < 0.05:
        name, case.stdin = "-", raw
    case.arguments = [command, name]
    likely = {"svm": [], "svmlight": [], "npz": [], "npy": ["--target", "-1"]}
    if suffix in likely and rng.random() < 0.8:
        case.arguments += likely[suffix]
    else:
        case.arguments += ["--target", value("target", case, rng)]
    given = ["--target"]
    if command != "compare" and rng.random() < 0.9:
        case.arguments += ["--no-validation"]
        given += ["--no-validation", "--validation"]
    if command == "compare":
        case.arguments += ["--methods", "greedy-rls,lars", "--validation", "2"]
        given += ["--methods", "--validation"]
    if command == "select" and rng.random() < 0.3:
        case.arguments += ["--memory", str(rng.choice(["50MB", "200MB", "1GB", "1MB"]))]
        given += ["--memory"]
    if command == "select" and rng.random() < 0.1:
        checkpoint = case.folder / "moves.json"
        raw = (base / "moves.json").read_bytes()
        checkpoint.write_bytes(
            changed_document(raw, rng) if rng.random() < 0.6 else damaged(raw, rng)
        )
        case.arguments = ["select", str(base / "numbers.csv"), "--target", "y", "--no-validation"]
        case.arguments += ["--max-features", "2", "--checkpoint", str(checkpoint), "--resume"]
        given += ["--checkpoint", "--resume"]
    add_options(case, command, given, rng)


def artifact_case(case: Case, base: Path, rng: np.random.Generator) -> None:
    """Predict, export or report from a model or path, one of the files damaged."""
    kind = str(rng.choice(["numbers", "classes", "mixed"]))
    data = case.folder / "data.csv"
    model, path = case.folder / "model.json", case.folder / "path.json"
    sources = {model: base / kind / "model.json", path: base / kind / "path.json",
               data: base / f"{kind}.csv"}  # fmt: skip
    command = str(rng.choice(["predict", "export", "report"]))
    victim = {"predict": [model, data][int(rng.integers(0, 2))], "export": model, "report": path}
    for place, source in sources.items():
        raw = source.read_bytes()
        if place == victim[command] and rng.random() < 0.85:
            document = place != data and rng.random() < 0.7
            raw = changed_document(raw, rng) if document else damaged(raw, rng)
        place.write_bytes(raw)
    given: list[str] = []
    case.arguments = [command, str(path if command == "report" else model)]
    if command == "predict":
        case.arguments += [str(data)]
    if command == "export":
        case.arguments += ["--to", value("to", case, rng)]
        given = ["--to"]
    if command != "predict" and rng.random() < 0.8:
        case.arguments += ["--out", str(case.folder / "out" / "made")]
        (case.folder / "out").mkdir()
        given += ["--out"]
    add_options(case, command, given, rng)


def run_case(case: Case, base: Path, rng: np.random.Generator) -> None:
    """A run file that was changed."""
    (case.folder / "numbers.csv").write_bytes((base / "numbers.csv").read_bytes())
    text = (base / "numbers" / "run.toml").read_text()
    text = text.replace(str(base / "numbers.csv"), str(case.folder / "numbers.csv"))
    text = text.replace(str(base), str(case.folder))
    lines = text.splitlines()
    for _ in range(int(rng.integers(0, 3))):
        i = int(rng.integers(0, len(lines)))
        key = lines[i].split("=")[0].strip() or "x"
        other = ["5", '""', "[]", "{}", '["--", "run", "run.toml"]', "nan", "[[1]]", "1979-05-27"]
        other += ['["export", "a", "--to", "c"]', '"/"', '["select"]', "true"]
        kind = rng.integers(0, 3)
        if kind == 0:
            del lines[i]
        elif kind == 1:
            lines[i] = f"{key} = {other[int(rng.integers(0, len(other)))]}"
        else:
            lines.insert(i, f"{key} = {other[int(rng.integers(0, len(other)))]}")
        lines = lines or [""]
    raw = "\n".join(lines).encode()
    (case.folder / "run.toml").write_bytes(damaged(raw, rng) if rng.random() < 0.4 else raw)
    case.arguments = ["run", str(case.folder / "run.toml"), "--out", str(case.folder / "out")]
    add_options(case, "run", ["--out"], rng)


def line_case(case: Case, base: Path, rng: np.random.Generator) -> None:
    """Words in any order."""
    words = [*TEXTS, *NUMBERS, str(base / "numbers.csv"), str(base / "numbers" / "model.json")]
    words += [option for known in option_table().values() for option, _ in known]
    commands = [name for name in option_table() if name != "demo"]
    case.arguments = [str(rng.choice(commands))] if rng.random() < 0.8 else []
    case.arguments += [words[i] for i in rng.integers(0, len(words), int(rng.integers(0, 6)))]
    case.arguments = [word for word in case.arguments if word != "/"]  # a walk through the disk


def call_case(case: Case, base: Path, rng: np.random.Generator) -> None:
    """A fit from Python."""
    case.call = make_call(rng)


def make_case(seed: int, base: Path, folder: Path) -> Case:
    """The case of a seed, its files written to an empty folder."""
    rng = np.random.default_rng(seed)
    case = Case(seed, folder)
    kinds = [search_case, artifact_case, run_case, line_case, call_case]
    kinds[int(rng.choice(5, p=[0.5, 0.2, 0.04, 0.06, 0.2]))](case, base, rng)
    case.arguments = [word.replace("\0", "") for word in case.arguments]  # no system passes it on
    return case


def make_base(folder: Path) -> Path:
    """Models, paths, run files and a checkpoint that cases are made from."""
    from sparsepath.cli import main

    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3)).round(3)
    town = np.array(["Oulu", "Turku", "Espoo"])[rng.integers(0, 3, 40)]
    y = (X[:, 0] - X[:, 1] + 0.1 * rng.standard_normal(40)).round(3)
    rows = {
        "numbers": [("a", "b", "c", "y"), *((*x, t) for x, t in zip(X, y, strict=True))],
        "classes": [
            ("a", "b", "c", "y"),
            *((*x, "yes" if t > 0 else "no") for x, t in zip(X, y, strict=True)),
        ],
        "mixed": [
            ("a", "b", "town", "y"),
            *((x[0], x[1], n, t) for x, n, t in zip(X, town, y, strict=True)),
        ],
    }
    for name, lines in rows.items():
        path = folder / f"{name}.csv"
        path.write_text("\n".join(",".join(map(str, line)) for line in lines) + "\n")
        given = ["--target", "y", "--no-validation", "--max-features", "2", "--quiet"]
        more = ["--checkpoint", str(folder / "moves.json")] if name == "numbers" else []
        with Streams():
            code = main(["select", str(path), *given, *more, "--out", str(folder / name)])
        if code:
            raise SystemExit(f"the base files of the fuzzer cannot be made: select gives {code}")
    return folder


# Running -----------------------------------------------------------------------------------------


class Streams:
    """Stdin, stdout and stderr as files of this process, as a program has them."""

    def __init__(self, stdin: bytes = b"") -> None:
        self.stdin = stdin

    def __enter__(self) -> "Streams":
        self.before = sys.stdin, sys.stdout, sys.stderr
        self.files = [tempfile.TemporaryFile("w+b") for _ in range(3)]  # noqa: SIM115
        self.files[0].write(self.stdin)
        self.files[0].seek(0)
        sys.stdin = io.TextIOWrapper(self.files[0], encoding="utf-8")
        self.written = [os.dup(file.fileno()) for file in self.files[1:]]  # stdout may be closed
        sys.stdout = io.TextIOWrapper(self.files[1], encoding="utf-8")
        sys.stderr = io.TextIOWrapper(self.files[2], encoding="utf-8", errors="backslashreplace")
        return self

    def __exit__(self, *_: object) -> None:
        self.texts = []
        for stream, descriptor in zip((sys.stdout, sys.stderr), self.written, strict=True):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
            os.lseek(descriptor, 0, os.SEEK_SET)
            with os.fdopen(descriptor, "rb") as file:
                self.texts.append(file.read().decode(errors="replace"))
        ours = sys.stdin, sys.stdout, sys.stderr
        sys.stdin, sys.stdout, sys.stderr = self.before
        for one in ours:
            one.close()


def place_of(error: BaseException) -> str:
    """The kind of an exception, and the innermost line of the package that it passed."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "sparsepath" in f.filename]
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}: {str(error)[:120]}"


def fault_of(case: Case) -> tuple[int | None, str]:
    """Run a case: its exit code, and what is wrong with how it ended, or nothing."""
    from sparsepath.cli import main

    if case.call is not None:
        with contextlib.chdir(case.folder):  # a checkpoint may have any name
            return fault_of_call(case.call, case.folder)
    before, here = case.files, os.getcwd()
    raised, code = "", None
    os.chdir(case.folder)  # names such as "out" are looked up there
    try:
        with Streams(case.stdin) as caught:
            try:
                code = main(case.arguments)
            except BaseException as error:  # what would be a traceback
                raised = f"traceback: {place_of(error)}"
    finally:
        os.chdir(here)
    out, err = caught.texts
    if raised:
        return code, raised
    if code == STOPPED:
        sys.exit(code)
    if code not in (0, 2):
        return code, f"exit code {code}"
    if "Traceback (most recent" in out + err or re.search(r"\.py:\d+: \w*Warning", err):
        return code, f"trace on stderr: {err[-300:]}"
    lines = err.splitlines()
    said = [line for line in lines if line.startswith("Error: ")]
    if code == 2 and (len(said) != 1 or lines[-1] != said[0] or not said[0].endswith((".", "?"))):
        return code, f"code 2 without one sentence: {err[-300:]!r}"
    if code == 0 and said:
        return code, f"code 0 with an error: {said[0][:300]}"
    after = case.files
    if lost := [name for name in protected(case, before) if after.get(name) != before[name]]:
        return code, f"changed or removed {lost[0]}"
    if parts := [name for name in after if name.endswith(".part")]:
        return code, f"left {parts[0]}"
    return code, ""


def protected(case: Case, files: Iterable[str]) -> list[str]:
    """The files that a case reads; all if it has no output folder."""
    places = {"--out", "-o", "--checkpoint"} & {*case.arguments}
    pairs = zip(["", *case.arguments], case.arguments, strict=False)
    read = {word for option, word in pairs if option not in places}
    return [name for name in files if not places or str(case.folder / name) in read]


def run_seeds(
    seeds: Sequence[int], base: Path, scratch: Path, kept: Path | None = None
) -> Iterator[tuple[int, int | None, str]]:
    """Run cases one after the other: seed, exit code, fault."""
    for seed in seeds:
        folder = scratch / "case"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        case = make_case(seed, base, folder)
        untouched = scratch / "files"
        if kept is not None:
            shutil.rmtree(untouched, ignore_errors=True)
            shutil.copytree(folder, untouched)
            (untouched / "arguments.json").write_text(json.dumps(case.arguments))
        code, fault = fault_of(case)
        if fault and kept is not None:
            shutil.copytree(untouched, kept / str(seed), dirs_exist_ok=True)
        yield seed, code, fault


def work(low: int, high: int, results: Path) -> None:
    """A worker process: it ends when a case takes too much CPU or memory."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    scratch = results / f"work-{low}"
    log = results / f"log-{low}.txt"
    done = len(log.read_text().splitlines()) if log.exists() else 0
    with log.open("a", buffering=1) as stream:
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        for seed, code, fault in run_seeds(
            range(low + done, high), results / "base", scratch, results / "fails"
        ):
            signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
            stream.write(f"{seed}\t{code}\t{' '.join(fault.split())}\n")
    shutil.rmtree(scratch, ignore_errors=True)


def watch(low: int, high: int, results: Path) -> None:
    """Run a worker until its cases are done; a case that ended it is a fault."""
    log = results / f"log-{low}.txt"
    while True:
        done = len(log.read_text().splitlines()) if log.exists() else 0
        if done >= high - low:
            return
        command = [sys.executable, __file__, "--work", str(low), str(high), "--out", str(results)]
        code = subprocess.run(command, check=False).returncode
        if code == STOPPED:
            sys.exit(code)
        now = len(log.read_text().splitlines()) if log.exists() else 0
        if code and now < high - low:
            why = (
                f"more than {CPU_SECONDS} s of CPU"
                if code == -signal.SIGPROF
                else f"ended by {code}"
            )
            with log.open("a") as stream:
                stream.write(f"{low + now}\t{code}\tprocess: {why}\n")
            files = results / f"work-{low}" / "files"
            if files.exists():
                shutil.copytree(files, results / "fails" / str(low + now), dirs_exist_ok=True)


def summary(results: Path) -> tuple[Counter[str], list[str]]:
    """Cases by how they ended, and the faults."""
    counts: Counter[str] = Counter()
    faults = []
    for log in sorted(results.glob("log-*.txt")):
        for line in log.read_text().splitlines():
            seed, code, fault = line.split("\t", 2)
            kind = "fault" if fault else {"0": "done", "2": "refused"}[code]
            counts[kind] += 1
            if fault:
                faults.append(f"{seed}: {fault}")
    return counts, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="folder of results")
    parser.add_argument("--replay", type=int, help="run one case here and show how it ends")
    parser.add_argument("--work", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    results = given.out.resolve()
    if given.work:
        work(*given.work, results)
        return 0
    if not (results / "base" / "ready").exists():
        make_base(results / "base")
        (results / "base" / "ready").touch()
    (results / "fails").mkdir(exist_ok=True)
    if given.replay is not None:
        folder = results / "replay"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        case = make_case(given.replay, results / "base", folder)
        if case.call is not None:
            print(case.call)
            print(fault_of(case))
            return 0
        print("sparsepath", *case.arguments)
        from sparsepath.cli import main as command

        os.chdir(folder)
        return command(case.arguments)
    from concurrent.futures import ThreadPoolExecutor

    start = time.time()
    last = given.first + given.cases
    with ThreadPoolExecutor(given.jobs) as pool:
        chunks = range(given.first, last, CHUNK)
        done = [pool.submit(watch, low, min(low + CHUNK, last), results) for low in chunks]
        for one in done:
            one.result()
    counts, faults = summary(results)
    print("\n".join(faults[:200]))
    total = sum(counts.values())
    print(f"{total} cases: {dict(counts)}, {time.time() - start:.0f} s in this run")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
