"""Tables with text, categories and dates that are read in passes, converted to numeric columns.

One pass counts the values of non-numeric columns. ``TablePreparation`` is fitted to these counts as
to a table in memory. To impute missing values, further passes find the medians (``medians.py``).
Afterwards the numeric columns of a slab are computed when it is read, and only the requested ones.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import row_blocks
from sparsepath.data.medians import middle_values
from sparsepath.data.sources import FEWEST_ROWS, Answer, Columns, Joined, PartView, Slab, Source
from sparsepath.errors import InputError
from sparsepath.system.executor import Crew
from sparsepath.tables.cells import RawTable
from sparsepath.tables.features import Feature, RawColumn, infer_type
from sparsepath.tables.preparation import TablePreparation

MOST_VALUES = 1 << 20  # different values of a column that are counted
NUMBERS = ("number", "flag")

Tally = dict[str, RawColumn]  # how often which values occur in some columns


def _together(one: Tally, other: Tally) -> Tally:
    """Combine counts."""
    return {name: _joined(a, other[name]) for name, a in one.items()}


def _joined(a: RawColumn, b: RawColumn) -> RawColumn:
    if (a.kind, a.order) != (b.kind, b.order):
        raise InputError(
            f"column {a.name!r} holds {a.kind} in some rows and {b.kind} in others, or its values "
            "have another order; leave it out."
        )
    counts = a.counted() + b.counted()
    if len(counts) > MOST_VALUES:
        raise InputError(
            f"column {a.name!r} is text with more than {MOST_VALUES:,} distinct values; is it an "
            "id? Leave it out."
        )
    return replace(a, values=_values(a.kind, counts), counts=counts)


def _values(kind: str, counts: Counter[Any]) -> NDArray[Any]:
    """Return each distinct value."""
    known = [value for value in counts if value is not None]
    if kind in ("text", "ordered"):
        return np.array([*known, None], dtype=object)[:-1]
    return np.array(known, dtype="datetime64[us]" if kind == "date" else np.float64)


def count_values(part: Any, names: tuple[str, ...], hours: bool) -> Answer:
    """Return the counts of values in some columns of a part; for dates the hours, if needed."""
    total: Tally | None = None
    for cells, _ in part.cells(names):
        found = {column.name: _counted(column, hours) for column in cells}
        total = found if total is None else _together(total, found)
    return [Joined(total, _together)]


def _counted(column: RawColumn, hours: bool) -> RawColumn:
    there = column.values[~np.isnat(column.values)] if column.kind == "date" else column.values
    if column.kind == "date" and hours:  # a time of day in the first hour stays one
        floor = there.astype("datetime64[h]").astype("datetime64[us]")
        timed = (there != floor) & (floor == there.astype("datetime64[D]"))
        counts: Counter[Any] = Counter((floor + timed.astype("timedelta64[us]")).tolist())
    elif column.kind == "date":  # all that is to be known is whether there are times of day
        timed = there[there != there.astype("datetime64[D]")]
        some = np.concatenate([there[:1], timed[:1]]).astype("datetime64[us]")
        counts = Counter(dict.fromkeys(some, 1))
    elif column.kind in ("text", "ordered"):
        counts = Counter(column.values.tolist())
    else:
        counts = Counter()
    if column.n_missing:
        counts[None] = column.n_missing
    return replace(column, values=_values(column.kind, counts), counts=counts)


def values_of(source: Source, crew: Crew, missing: str) -> Tally:
    """Return the values of the columns that are no numbers, by one pass over these."""
    text = tuple(name for name, kind in _kinds(source).items() if kind not in NUMBERS)
    if not text:
        return {}
    (tally,) = source.asked(crew, len(text), count_values, text, missing != "error")
    found: Tally = tally.value
    return found if source.typed else {name: infer_type(column) for name, column in found.items()}


def _kinds(source: Source) -> dict[str, str]:
    assert source.names is not None
    kinds = source.kinds or ("number",) * source.n_features
    return dict(zip(source.names, kinds, strict=True))


def with_types(source: Source, known: Tally) -> Source:
    """Return the table with columns of the types that the values of all rows gave them."""
    types = {name: replace(column.rows(slice(0)), counts=None) for name, column in known.items()}
    parts = [source.over(part, TypedPart, source.names, types) for part in source.parts]
    kinds = {**_kinds(source), **{name: column.kind for name, column in known.items()}}
    made = replace(source, parts=parts, kinds=tuple(kinds.values()), typed=True)
    made.passes, made.readings = source.passes, source.readings
    return made


@dataclass(frozen=True, eq=False)
class TypedPart(PartView):
    """Rows of a table whose columns have known types."""

    names: tuple[str, ...]
    known: Tally

    def cells(self, names: Sequence[str]) -> Iterator[tuple[list[RawColumn], Slab]]:
        """Yield some raw columns, with targets and weights, one slab at a time."""
        for cells, slab in self.part.cells(names):
            yield [column.like(self.known.get(column.name, column)) for column in cells], slab

    def read(self, columns: Columns | None) -> Iterator[Slab]:
        """Yield the integers by which rows are compared; see ``RawTable.codes``."""
        names = self.names if columns is None else [self.names[i] for i in columns]
        for cells, slab in self.cells(names):
            codes = RawTable(cells).codes() if cells else np.zeros((len(slab.y), 0))
            (block,) = row_blocks(codes, 1)
            yield replace(slab, block=block)


def learnt(
    source: Source, crew: Crew, preparation: TablePreparation, known: Tally
) -> TablePreparation:
    """Return the preparation fitted to all rows of a source; ``known`` as of ``values_of``."""
    assert source.names is not None
    plain = {name: kind for name, kind in _kinds(source).items() if name not in known}
    known = known | {name: RawColumn(name, kind, np.zeros(0)) for name, kind in plain.items()}
    if preparation.missing != "error":
        for name, (pair, missing) in middle_values(source, crew, tuple(plain)).items():
            values = np.append(pair, [np.nan] * (missing > 0))  # the same median as all of them
            known[name] = replace(known[name], values=values)
    return preparation.fit(RawTable(known[name] for name in source.names))


@dataclass(frozen=True, eq=False)
class PreparedPart(PartView):
    """Rows of a table as numeric columns."""

    features: tuple[Feature, ...]

    def read(self, columns: Columns | None) -> Iterator[Slab]:
        of = np.repeat(np.arange(len(self.features)), [len(f.labels) for f in self.features])
        first = np.searchsorted(of, of)
        which = np.arange(len(of)) if columns is None else columns
        used = np.unique(of[which])
        for cells, slab in self.part.cells([self.features[i].name for i in used]):
            made = {
                i: self.features[i].columns(column) for i, column in zip(used, cells, strict=True)
            }
            X = np.empty((len(slab.y), len(which)), order="F")
            for j, place in enumerate(which):
                X[:, j] = made[of[place]][:, place - first[place]]
            (block,) = row_blocks(X, 1)
            yield replace(slab, block=block)


def prepare(source: Source, preparation: TablePreparation) -> Source:
    """Return the source as numeric columns without names."""
    features, n = preparation.features_, len(preparation.groups_)
    share = source.n_features / max(1, n)
    make = getattr(source, "prepared_part", PreparedPart)  # a cluster keeps its own
    parts = [make(_lower(part, share), features) for part in source.parts]
    made = replace(
        source, parts=parts, n_features=n, names=None, kinds=None, typed=False, groups=None
    )
    made.passes, made.readings = source.passes, source.readings
    return made


def _lower(part: Any, share: float) -> Any:
    """Return a part with smaller slabs, because the numeric columns are wider."""
    if hasattr(part, "height"):
        return replace(part, height=max(FEWEST_ROWS, int(min(1.0, share) * part.height)))
    return replace(part, part=_lower(part.part, share)) if hasattr(part, "part") else part
