"""Labels and groups of all rows, one after another, for splitters that must see them.

They are the only thing as long as the rows that leaves them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.crew import Crew
from sparsepath.data.sources import Answer, Slab, Source
from sparsepath.errors import InputError


class Listed:
    """Labels that are put one after another when they are added."""

    def __init__(self, labels: NDArray[Any], start: int) -> None:
        self.labels, self.start = labels, start

    def __add__(self, other: "Listed") -> "Listed":
        first, second = sorted((self, other), key=lambda listed: listed.start)
        return Listed(np.concatenate([first.labels, second.labels]), first.start)


def labels_listed(slab: Slab) -> Answer:
    """The targets themselves."""
    return [Listed(np.asarray(slab.y), slab.start)]  # type: ignore[list-item]


def group_labels(part: Any, name: str) -> Answer:
    """The values of the column that says which samples belong together."""
    found, start = [], None
    for (column,), slab in part.cells((name,)):
        if column.n_missing:
            raise InputError(f"groups: column {name!r} has missing values; every row needs one.")
        found.append(column.values.astype(str) if column.kind == "text" else column.values)
        start = slab.start if start is None else start
    return [Listed(np.concatenate(found), start or 0)]  # type: ignore[list-item]


def groups_of(source: Source, crew: Crew, given: Any) -> NDArray[Any] | None:
    """The group of every row as a small whole number: from an array, or a column of the source."""
    if isinstance(given, str):
        raise InputError(
            f"groups={given!r}: name the column when the data are opened, open(..., groups=...), "
            "or give an array, one for each row."
        )
    if given is None and source.groups is None:
        return None
    if given is None:
        source.passes += 1 / max(1, source.n_features)
        source.readings += 1
        (found,) = crew.total(source.parts, group_labels, source.groups)
        given = found.labels  # type: ignore[attr-defined]
    values = np.asarray(given)
    if values.shape != (len(source),):
        raise InputError(
            f"groups has shape {values.shape}; give the group of each of the {len(source)} samples."
        )
    return np.unique(values, return_inverse=True)[1].astype(np.int32)
