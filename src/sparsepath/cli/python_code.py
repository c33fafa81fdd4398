"""Lines of Python that reproduce the result of a command."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.base import clone

from sparsepath.cli.input import InputSpec
from sparsepath.data.csv_dialect import csv_form
from sparsepath.data.formats import ending_format, native
from sparsepath.data.sources import Source
from sparsepath.methods.table_selector import TableSelector
from sparsepath.report.outcome import Outcome, beneath
from sparsepath.tables.cells import RawTable

LONGEST_CODE = 10_000  # characters of an estimator
MODULES = ("numpy", "pandas", "pyarrow.parquet")
MISSING_TO_PANDAS = {"None", "<NA>"}  # texts that are values here
COLUMN_LISTS = ("forced", "forbidden", "start")


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
    """Columns that are called ordered; the others have the type that the values suggest."""
    if source.preparing.categorical:
        raise _NoShortLines
    for cell in raw.cells if source.preparing.ordered else ():
        if cell.n_missing:  # numbers with gaps are no whole numbers to pandas
            raise _NoShortLines
        if cell.kind == "ordered":
            made = f"table[{cell.name!r}].astype(str), {list(cell.order)!r}, ordered=True"
            yield f"table.assign(**{{{cell.name!r}: pandas.Categorical({made})}})"


def _read(source: InputSpec, outcome: Outcome) -> str:
    """Return the call that reads the file."""
    path, kind = source.path, ending_format(source.path)[0]
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
