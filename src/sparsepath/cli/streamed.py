"""Selecting from data that are read in passes: files larger than memory, a Dask cluster."""

import glob
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sparsepath.cli import figures
from sparsepath.cli.preparing import Preparing
from sparsepath.cli.progress import Watch
from sparsepath.cli.reading import TableSource
from sparsepath.cli.select import Outcome
from sparsepath.cli.settling import caught
from sparsepath.cli.streams import say
from sparsepath.cli.tasks import find_task
from sparsepath.data.features import MISSING
from sparsepath.data.formats import named_columns
from sparsepath.data.opening import open
from sparsepath.data.readers import COUNTED, Table
from sparsepath.data.sources import Source
from sparsepath.errors import InputError
from sparsepath.methods import METHODS, OPTIONS, check
from sparsepath.path import LONGEST_PATH

SAMPLE = 200_000  # rows whose target is looked at to tell numbers from classes
REFUSED = ("significance", "feature-groups")


def is_asked(data: Path, memory: float | None, dask: str | None) -> bool:
    """Whether the data are to be read in passes: a limit, a cluster, a folder or a pattern."""
    return bool(
        memory or dask or data.is_dir() or (glob.has_magic(str(data)) and not data.exists())
    )


def opened(asked: TableSource, memory: float | None) -> tuple[Source, list[str]]:
    """The source, without columns that are dropped, and without those that only number the rows.

    The names of the latter come beside it.
    """
    data, drop, keep_index = asked.path, asked.drop, asked.keep_index
    if "sheet" in asked.writing:
        raise InputError(f"{data} has no sheets; leave --sheet out.")

    def read(columns: Sequence[str] | None) -> Source:
        given = {"target": asked.target, "weights": asked.weights, "groups": asked.groups}
        return open(str(data), columns=columns, memory=memory, **given, **asked.writing)

    source = read(None)
    names = [*(source.names or ()), *source.index]
    if lost := sorted({*drop} - {*names}):
        raise InputError(f"{data} has no column {lost[0]!r} to --drop.")
    kept = {*drop, *(() if isinstance(keep_index, bool) else keep_index)}
    if source.names is None or (keep_index is True and not source.index and not drop):
        return source, []
    index = [] if keep_index is True else [*source.index, *_row_numbers(source, kept)]
    index = [name for name in index if name not in kept]
    wanted = [name for name in names if name not in {*drop, *index}]
    return (source if wanted == list(source.names) else read(wanted)), index


def _row_numbers(source: Source, kept: Collection[str]) -> list[str]:
    """Columns that are 0, 1, 2, ... or 1, 2, 3, ...; those that begin so are read to their end."""
    if source.kinds is None or source.names is None or len(source) < COUNTED:
        return []
    named = zip(source.names, source.kinds, strict=True)
    left = [name for name, kind in named if kind == "number" and name not in kept]
    first: dict[str, float] = {}
    for part in source.parts:
        for columns, slab in part.cells(left):
            rows = np.arange(slab.start, slab.start + len(slab.y))
            if not slab.start:
                first = {column.name: column.values[0] for column in columns}
            left = [
                column.name
                for column in columns
                if first[column.name] in (0, 1)
                and column.name in left
                and (column.values == first[column.name] + rows).all()
            ]
            if not left:
                return []
    return left


@contextmanager
def cluster(address: str | None) -> Iterator[Any]:
    """A client of the cluster at an address; ``local`` starts worker processes here."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise InputError(
            "--dask needs the package distributed: pip install sparsepath[dask]"
        ) from error
    with silenced():
        if address == "local":
            with LocalCluster(dashboard_address=None) as started, Client(started) as client:
                yield client
            return
        try:
            client = Client(address, timeout=10)
        except (OSError, ValueError) as error:
            raise InputError(f"--dask {address}: no scheduler answers there.") from error
        with client:
            yield client


@contextmanager
def silenced() -> Iterator[None]:
    """No logging meanwhile.

    Of a lost scheduler Dask tells by tracebacks; what came of it is said in one sentence.
    """
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def search(
    source: Source,
    given: Mapping[str, Any],
    *,
    method: str,
    asked: str,
    validation: str | int | None,
    memory: float | None,
    preparing: Preparing,
    client: Any = None,
    index: Sequence[str] = (),
    quiet: bool = False,
) -> Outcome:
    """Search in passes, and settle on a size."""
    from sparsepath import SparseRLSClassifier, SparseRLSRegressor, TableSelector

    for option in REFUSED:
        if option in given:
            raise InputError(f"--{option} needs data in memory; leave it out.")
    if preparing.missing not in MISSING:
        raise InputError(
            f"--missing {preparing.missing} needs data in memory; use {' or '.join(MISSING[1:])}."
        )
    entry = METHODS[method]
    y = _first_targets(source)
    task = find_task(y, asked, f"{source.where}: target {source.target!r}", labels=source.sparse)
    check(entry, task.name, given, len(np.unique(y)))
    options = {name: value for name, value in given.items() if name not in ("weights", "groups")}
    rule = options.pop("choose", "one_se")
    steps = min(options.get("max-features", LONGEST_PATH), source.n_features)
    if "max-features" in entry.options:
        options["max-features"] = steps
    if source.names is None:  # by their places in the file
        place = int(str(source.target).removeprefix("x")) if source.target else source.n_features
        places = (i for i in range(source.n_features + 1) if i != place)
        source.names = tuple(f"x{i}" for i in places)
    parameters = {OPTIONS[name].parameter: value for name, value in options.items()}
    model = entry.make(task.name, **parameters, choose=rule, validation=validation)
    if not isinstance(model, SparseRLSRegressor | SparseRLSClassifier):
        raise InputError(f"--method {method} needs data in memory; greedy-rls does not.")
    model.set_params(memory_budget=memory)
    if source.text or preparing.missing != "error":
        given = {"missing": preparing.missing, "dates": preparing.dates}
        model = TableSelector(model, **given, validation=validation)
    if client is not None:
        from sparsepath.data.clusters import on_cluster

        source = on_cluster(source, client)
    if not quiet:
        say(f"Note: {told(source)}; the data are read in passes.")
        if index:
            said = "numbers the rows and is" if len(index) == 1 else "number the rows and are"
            say(f"Note: {named_columns(index)} only {said} left out; --keep-index takes it.")
    with Watch(steps, 1, unit="features", backward=False, quiet=quiet) as watch:
        if watch.shown:
            model.set_params(callback=watch.callback)
        with caught() as notes:
            model.fit(source)
    if watch.shown:
        model.set_params(callback=None)
    names = tuple(model.feature_names_in_)
    table = Table(source, y, names, source.target or "y", source.where)
    known = {}
    if task.name == "regression":
        known = figures.of_numbers(model.path_, len(model.selected_), model.honest_)
    return Outcome(model, table, task, rule, notes, method, figures=known)


def _first_targets(source: Source) -> Any:
    """The targets of the first rows."""
    found: list[Any] = []
    for part in source.parts:
        found += [slab.y for slab in part.read(np.zeros(0, dtype=np.intp))]
        if sum(map(len, found)) >= SAMPLE:
            break
    return np.concatenate(found)


def told(source: Source) -> str:
    m, n = source.shape
    return f"{m:,} rows x {n:,} columns, {in_bytes(source.bytes)} of numbers"


def in_bytes(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.3g} {unit}"
        count /= 1000
    raise AssertionError
