"""What a search reads: the table, the columns beside it, and what of both takes no part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.cli.preparing import Preparing, Remark, named, ready, sampled
from sparsepath.cli.tasks import TargetTask, find_task
from sparsepath.data.formats import read_columns
from sparsepath.data.picking import Rows
from sparsepath.data.readers import Table, read_table
from sparsepath.errors import InputError

SPARSE_ENDINGS = (".svm", ".svmlight", ".libsvm", ".dat")


@dataclass(frozen=True)
class TableSource:
    """Which file, and what of it."""

    path: Path
    target: str | None = None
    drop: list[str] = field(default_factory=list)
    rows: Rows | None = None
    weights: str | None = None
    groups: str | None = None
    keep_index: bool | list[str] = False  # or the columns to keep, whatever they are
    preparing: Preparing = field(default_factory=Preparing)
    writing: Mapping[str, str] = field(default_factory=dict)  # how a text file is written
    names: Path | None = None  # a file of names for columns that have none
    sample: tuple[int, int] | None = None  # rows to draw, and the seed


@dataclass(frozen=True)
class Problem:
    """What was read: the table, and the columns beside it that say how rows count."""

    table: Table
    weights: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    preparing: Preparing = field(default_factory=Preparing)
    remarks: Sequence[Remark] = ()  # of what was left out

    @property
    def y(self) -> NDArray[Any]:
        assert self.table.y is not None
        return self.table.y

    def task(self, asked: str) -> TargetTask:
        """Regression or classification, as asked or as the target tells."""
        table = self.table
        label = f"{table.source}: target {table.target!r}"
        return find_task(self.y, asked, label, labels=is_sparse(Path(table.source)))


def read(source: TableSource) -> Problem:
    """Read the features, the target and what goes with the rows."""
    sparse = is_sparse(source.path)
    beside = [name for name in (source.weights, source.groups) if name is not None]
    if sparse and beside:
        raise InputError(
            f"{source.path}: svmlight files have no columns for --weights or --groups."
        )
    if source.target is None and not sparse:
        columns = read_columns(source.path, **source.writing)
        known = [*columns.beside, *columns.features]
        some = ", ".join(known if len(known) <= 12 else [*known[:6], "...", *known[-5:]])
        raise InputError(
            f"say which column to predict with --target; {source.path} has the columns {some}."
        )
    if source.target in beside:
        raise InputError(
            f"column {source.target!r} is the target; --weights and --groups need another."
        )
    table = read_table(
        source.path,
        target=source.target,
        drop=source.drop,
        rows=source.rows,
        beside=beside,
        keep_index=source.keep_index,
        mixed=not sparse,
        drop_unknown=source.preparing.missing == "drop-rows",
        **source.writing,  # type: ignore[arg-type]
    )
    drawn: list[Remark] = []
    if table.unknown:
        rows = f"{table.unknown:,} row{'s' * (table.unknown != 1)}"
        told = f"Note: {rows} without a value of {table.target!r} left out."
        drawn.append(Remark((), "", False, told))
    if source.sample is not None:
        table, said = sampled(table, *source.sample)
        drawn += said
    table, remarks = ready(table, source.preparing)
    extra = list(table.beside.values())
    if table.target in table.beside:
        raise InputError(
            f"column {table.target!r} is the target; --weights and --groups need another."
        )
    table = _without_empty(table) if sparse else table
    problem = Problem(
        table if source.names is None else named(table, source.names),
        extra[0] if source.weights is not None else None,
        extra[-1] if source.groups is not None else None,
        source.preparing,
        [*_not_features(source), *drawn, *remarks],
    )
    if problem.weights is not None and problem.weights.dtype.kind not in "biuf":
        raise InputError(f"{source.path}: --weights {source.weights} is text; it must be numbers.")
    if len(problem.y) < 2:
        raise InputError(f"{source.path} has one row only; selection needs at least two.")
    return problem


def _not_features(source: TableSource) -> list[Remark]:
    """The columns that the user has told not to be features."""
    of_rows = () if source.rows is None else (str(source.rows[0]),)
    told = {
        "left out by --drop": tuple(source.drop),
        "says which rows are used (--rows)": of_rows,
        "says how much rows count (--weights)": (source.weights,),
        "says which rows belong together (--groups)": (source.groups,),
    }
    return [
        Remark(tuple(map(str, names)), why, True)
        for why, names in told.items()
        if names and names[0] is not None
    ]


def _without_empty(table: Table) -> Table:
    """A sparse table without columns that have no entry: nothing can come of them.

    Numbers in a file may be as large as one likes, so there may be far more of these than of all
    else; the names of the others tell which they are.
    """
    from scipy.sparse import csr_array

    X = table.X
    some = np.unique(X.indices)
    if len(some) == X.shape[1] or not len(some):
        return table
    columns = np.searchsorted(some, X.indices).astype(X.indices.dtype)
    X = csr_array((X.data, columns, X.indptr), shape=(X.shape[0], len(some)))
    return replace(table, X=X, names=[table.names[j] for j in some.tolist()])


def is_sparse(path: Path) -> bool:
    """Whether the ending is that of an svmlight file, packed or not."""
    ending = path.suffixes[-2:-1] if path.suffix.lower() in (".gz", ".bz2") else path.suffixes[-1:]
    return "".join(ending).lower() in SPARSE_ENDINGS
