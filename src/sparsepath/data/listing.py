"""Labels and groups of all rows, one after another, for splitters that must see them.

They are the only thing as long as the rows that leaves them.
"""

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.crew import Crew
from sparsepath.data.sources import Answer, Joined, Slab, Source
from sparsepath.errors import InputError


def _listed(labels: NDArray[Any], start: int) -> Answer:
    return [Joined([(start, labels)], operator.add)]


def in_order(found: Joined) -> NDArray[Any]:
    """Labels of parts, one after another."""
    return np.concatenate([labels for _, labels in sorted(found.value, key=lambda pair: pair[0])])


def labels_listed(slab: Slab) -> Answer:
    """The targets themselves."""
    return _listed(np.asarray(slab.y), slab.start)


def group_labels(part: Any, name: str) -> Answer:
    """The values of the column that says which samples belong together."""
    found, start = [], None
    for (column,), slab in part.cells((name,)):
        if column.n_missing:
            raise InputError(f"groups: column {name!r} has missing values; every row needs one.")
        found.append(column.values.astype(str) if column.kind == "text" else column.values)
        start = slab.start if start is None else start
    return _listed(np.concatenate(found), start or 0)


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
        given = in_order(*source.asked(crew, 1, group_labels, source.groups))
    values = np.asarray(given)
    if values.shape != (len(source),):
        raise InputError(
            f"groups has shape {values.shape}; give the group of each of the {len(source)} samples."
        )
    return np.unique(values, return_inverse=True)[1].astype(np.int32)
