"""Run files: the command, its data, and lines of Python that give the same result."""

import hashlib
import json
import os
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from sklearn.base import clone

from sparsepath.cli.input import InputSpec
from sparsepath.cli.output import STDIN, naming_stdin
from sparsepath.data.csv_dialect import csv_form
from sparsepath.data.formats import ending_format, native
from sparsepath.data.sources import Source
from sparsepath.errors import FileError, InputError
from sparsepath.methods.table_selector import TableSelector
from sparsepath.report.outcome import Outcome, beneath
from sparsepath.system.files import is_file
from sparsepath.system.json_files import check
from sparsepath.tables.cells import RawTable
from sparsepath.tables.features import infer_type

RUN = "run.toml"
ABOUT = "what was run on which data; sparsepath run repeats it"
SCHEMA = {"schema": "sparsepath/run", "schema_version": 1}
RUN_SCHEMA = {
    "schema": str,
    "schema_version": int,
    "sparsepath": str,
    "directory": str,
    "command": [str],
    "result": str,
    "python?": [str],
    "data?": {"file": str, "sha256": str},
}
REPEATED = ("select", "compare", "demo")  # the commands that leave a run file
LOCAL = "local"  # a Dask cluster that the command starts itself
LONGEST_CODE = 10_000  # characters of an estimator
MODULES = ("numpy", "pandas", "pyarrow.parquet")
MISSING_TO_PANDAS = {"None", "<NA>"}  # texts that are values here
COLUMN_LISTS = ("forced", "forbidden", "start")


def typed() -> list[str]:
    """Return the arguments of the command that runs; none outside of a command."""
    context = click.get_current_context(silent=True)
    return [] if context is None else [*(context.find_root().obj or ())]


def command() -> str:
    """Return the command that runs as it would be typed."""
    return shlex.join(["sparsepath", *typed()]) if typed() else ""


def run_file(data: Path | None, outcome: Any, code: Sequence[str] = ()) -> bytes:
    """Return the run file of the current command and its data.

    ``outcome`` are plain values that distinguish results; ``code`` are lines of Python that give
    the same result.
    """
    from sparsepath import __version__

    record: dict[str, Any] = {
        **SCHEMA,
        "sparsepath": __version__,
        "directory": os.getcwd(),
        "command": typed(),
        "result": hashlib.sha256(json.dumps(outcome).encode()).hexdigest(),
    }
    if code:
        record["python"] = list(code)
    lines = [f"{name} = {json.dumps(value)}" for name, value in record.items()]
    if data is not None and data.is_file():
        lines += ["", "[data]", f"file = {json.dumps(str(data))}", f'sha256 = "{_mark(data)}"']
    return ("\n".join(lines) + "\n").encode()


def _mark(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def load(file: Path) -> dict[str, Any]:
    """Load a run file."""
    try:
        record = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise FileError(f"cannot read {file}: it is not valid TOML ({error}).") from error
    if record.get("schema") != SCHEMA["schema"]:
        raise FileError(f"{file} is not a run file; sparsepath select --out DIR writes one, {RUN}.")
    if record.get("schema_version") != SCHEMA["schema_version"]:
        raise FileError(f"{file} was written by another version of sparsepath; use that version.")
    try:
        check(record, RUN_SCHEMA, "it")
    except InputError as error:
        raise FileError(f"{file} is damaged: {error}") from error
    return record


def again(
    file: Path, commands: Mapping[str, Any], out: Path | None, dask: str | None, anyway: bool
) -> tuple[list[str], bool]:
    """Run it again where it was run: the command, and whether the result is the same.

    A run file may come from anybody. So only commands that leave one are run, from ``commands``, by
    name; nothing is written but to the folder of the file, or to ``out``; and no scheduler that the
    file names is connected to, since a scheduler can have any code run.
    """
    record = load(file)
    command = record["command"]
    if not command or command[0] not in REPEATED:
        raise FileError(f"{file} is damaged: its command must be {', '.join(REPEATED)}.")
    folder = (file.parent if out is None else out).resolve()
    if out is None and not any((folder / name).is_file() for name in ("path.json", "compare.json")):
        raise FileError(f"{file} is not next to a result; name an output folder with --out.")
    where = Path(record["directory"])
    here = where if os.path.isdir(where) and os.access(where, os.X_OK) else Path.cwd()
    data = record.get("data")
    if data is not None and not anyway:
        _check_data(file, here / data["file"], data["sha256"])
    before = Path.cwd()
    os.chdir(here)
    try:
        job = commands[command[0]]
        with job.make_context(command[0], command[1:], obj=command) as context:
            if context.params.get("dask") not in (None, LOCAL) and dask is None:
                raise FileError(
                    f"{file} names a Dask cluster; a scheduler can run any code on this machine, "
                    "so name it with --dask if you trust it, or use --dask local."
                )
            # A search that goes on from a checkpoint would repeat nothing.
            changed: dict[str, Any] = {"out": folder, "checkpoint": None, "resume": False}
            changed |= {} if dask is None else {"dask": dask}
            context.params |= {k: v for k, v in changed.items() if k in context.params}
            job.invoke(context)
    finally:
        os.chdir(before)
    return command, load(folder / RUN)["result"] == record["result"]


def _check_data(file: Path, data: Path, expected: str) -> None:
    if not is_file(data):
        raise FileError(f"{data}, the input of the run, does not exist.")
    if _mark(data) != expected:
        raise FileError(f"{data} has changed since {file} was written; add --anyway to run it.")


# Lines of Python --------------------------------------------------------------------------------


class _NoShortLines(Exception):  # noqa: N818 (no error: it never leaves this module)
    """There are no short lines that read the same data."""


def with_code(outcome: Outcome, source: InputSpec) -> Outcome:
    """Return the outcome with lines of Python that reproduce it."""
    return replace(outcome, code=tuple(python_code(source, outcome)))


def python_code(source: InputSpec, outcome: Outcome) -> list[str]:
    """Return the lines; none if reading the data takes more than a few."""
    if outcome.is_nothing:
        return []
    try:
        if isinstance(outcome.table.X, Source):
            return _in_passes(source, outcome)
        return _in_memory(source, outcome)
    except _NoShortLines:
        return []


def _in_passes(source: InputSpec, outcome: Outcome) -> list[str]:
    table = outcome.table
    given: dict[str, Any] = {
        "target": source.target,
        "weights": source.weights,
        "groups": source.groups,
    }
    if source.keep_index:  # open leaves out an index without a name
        given["columns"] = list(table.names)
    else:
        given["drop"] = [*source.drop, *table.index] or None
    given |= source.writing
    imports, fitted = _fit(outcome, "data")
    return [
        f"import sparsepath; {imports}",
        f"data = sparsepath.open({str(source.path)!r}{_arguments(given)})",
        fitted,
    ]


def _in_memory(source: InputSpec, outcome: Outcome) -> list[str]:
    table = outcome.table
    if table.converted and not isinstance(outcome.model, TableSelector):
        raise _NoShortLines
    series = source.preparing.in_time
    drop = [name for name in dict.fromkeys(table.left_out) if not (series and name == table.target)]
    beside = list(table.beside)  # one column if the weights are the groups
    target = f"table[{table.target!r}]"
    if source.event is not None:
        target = f"numpy.column_stack(({target}, {_happened(outcome, beside.pop())}))"
    given = {"sample_weight": source.weights and beside[0], "groups": source.groups and beside[-1]}
    said = "".join(f", {name}=table[{column!r}]" for name, column in given.items() if column)
    features = f"table.drop(columns={drop!r})" if drop else "table"
    target = repr(table.target) if series else target
    imports, fitted = _fit(outcome, f"{features}, {target}{said}")
    read = [f"table = {expression}" for expression in _tables(source, outcome)]
    used = [m for m in MODULES if any(f"{m}." in line for line in [*read, target])]
    return [f"import {', '.join(used)}; {imports}", *read, fitted]


def _happened(outcome: Outcome, name: str) -> str:
    """Return the expression for which rows have the event."""
    values = outcome.table.beside[name][outcome.y[:, 1] > 0]
    return f"table[{name!r}].isin({sorted(set(values.tolist()))!r})"


def _fit(outcome: Outcome, data: str) -> tuple[str, str]:
    """Return the imports, and the line that fits."""
    model, names = clone(outcome.model), outcome.table.names
    selector = beneath(model)
    makers = {type(model).__name__, type(selector).__name__}
    parameters = selector.get_params(deep=False)
    for name in COLUMN_LISTS:
        if parameters.get(name) is not None:
            named = [names[j] if isinstance(j, int) else j for j in parameters[name]]
            selector.set_params(**{name: named})
    written = re.sub(r"\s+", " ", model.__repr__(N_CHAR_MAX=LONGEST_CODE))
    imports = f"from sparsepath import {', '.join(sorted(makers))}"
    for value in parameters.values():  # losses and rules to stop
        if type(value).__module__.startswith("sparsepath.rls."):
            maker, shown = type(value).__name__, repr(value)
            written = written.replace(shown, maker + shown[shown.index("(") :])
            imports += f"; from sparsepath.rls import {maker}"
    at = ""
    if "choose" not in parameters and outcome.rule != "own":
        at = f".at_size({outcome.size})"
    return imports, f"model = {written}.fit({data}){at}"


def _arguments(given: dict[str, Any]) -> str:
    return "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)


# The table as pandas reads it --------------------------------------------------------------------


def _tables(source: InputSpec, outcome: Outcome) -> Iterator[str]:
    """Return the lines that create ``table``: reading, then dropping rows."""
    table, policy, names = outcome.table, source.preparing, source.names
    yield _read(source, outcome)
    if names is not None:
        raise _NoShortLines
    if table.where is not None:
        column, relation, value = table.where
        yield f"table[table[{column!r}] {relation} {value!r}]"
    if policy.missing == "drop-rows":
        yield f"table.dropna(subset=[{table.target!r}])"
    if source.sample is not None:
        count, seed = source.sample
        drawn = f"numpy.random.default_rng({seed}).choice(len(table), {count}, replace=False)"
        yield f"table.iloc[numpy.sort({drawn})] if len(table) > {count} else table"
    if isinstance(table.X, RawTable):
        yield from _types(source, table.X)
    if policy.missing == "drop-rows":
        yield f"table.dropna(subset={list(table.names)!r})"
    if policy.missing == "drop-columns":
        yield "table.dropna(axis='columns')"


def _types(source: InputSpec, raw: RawTable) -> Iterator[str]:
    """Columns that are declared; the others have the type that the values suggest."""
    policy = source.preparing
    for cell in raw.cells if policy.ordered or policy.categorical else ():
        # Numbers with gaps are no whole numbers to pandas, and categories of digits are numbers.
        if cell.n_missing or infer_type(cell).kind != cell.kind:
            raise _NoShortLines
        if cell.kind == "ordered":
            made = f"table[{cell.name!r}].astype(str), {list(cell.order)!r}, ordered=True"
            yield f"table.assign(**{{{cell.name!r}: pandas.Categorical({made})}})"


def _read(source: InputSpec, outcome: Outcome) -> str:
    """Return the call that reads the file."""
    path, kind = source.path, ending_format(source.path)[0]
    if naming_stdin(str(path)) == STDIN:
        raise _NoShortLines
    if kind == "CSV":
        return _read_csv(path, outcome, dict(source.writing))
    if source.writing:
        raise _NoShortLines
    if kind == "Parquet":
        import pyarrow.parquet

        with native(path) as stream:
            about = pyarrow.parquet.ParquetFile(stream).schema_arrow.pandas_metadata or {}
        if any(isinstance(column, str) for column in about.get("index_columns", ())):
            # pandas would take columns of the file away
            reader = f"pyarrow.parquet.read_table({str(path)!r})"
            return f"{reader}.to_pandas(ignore_metadata=True)"
        return f"pandas.read_parquet({str(path)!r})"
    if kind == "Feather":
        return f"pandas.read_feather({str(path)!r})"
    if path.suffix.lower() == ".npy":
        return f"pandas.DataFrame(numpy.load({str(path)!r})).add_prefix('x')"
    raise _NoShortLines


def _read_csv(path: Path, outcome: Outcome, writing: dict[str, str]) -> str:
    """Return the call that reads a CSV file, with options that pandas does not infer."""
    form, raw = csv_form(path, **writing), outcome.table.X
    given: dict[str, Any] = {}
    delimiter = form.parse.delimiter
    if delimiter != ",":
        given["sep"] = r"\s+" if form.packed else delimiter
    if form.convert.decimal_point != ".":
        given["decimal"] = form.convert.decimal_point
    if "encoding" in writing or form.read.encoding != "utf-8":
        given["encoding"] = writing.get("encoding", form.read.encoding)
    if isinstance(raw, RawTable):
        texts = (cell.values.tolist() for cell in raw.cells if cell.kind == "text")
        if any(MISSING_TO_PANDAS.intersection(values) for values in texts):
            raise _NoShortLines
        given["na_values"] = ["?"]
    if not form.has_names:
        return f"pandas.read_csv({str(path)!r}, header=None{_arguments(given)}).add_prefix('x')"
    read = f"pandas.read_csv({str(path)!r}{_arguments(given)})"
    if "x0" in outcome.table.left_out:  # an index without a name, perhaps
        read += ".rename(columns={'Unnamed: 0': 'x0'})"
    return read
