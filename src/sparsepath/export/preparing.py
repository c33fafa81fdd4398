"""The columns of numbers that a model takes, as expressions on the columns of a table.

A model of ``TableSelector`` is a formula of columns that ``TablePreparation`` made. Each of these
is one of the terms below, which every language can write down.
"""

from dataclasses import dataclass
from typing import Any

from sparsepath.data.features import Feature
from sparsepath.data.table import TablePreparation


@dataclass(frozen=True)
class Term:
    """One column of numbers."""

    # "number", "flag", "equals" (1 if the value is value), "place" (of the value among values),
    # "part" (value is the part of a date) or "missing" (1 if there is no value).
    kind: str
    name: str  # the column of the table
    value: str = ""  # see kind
    values: tuple[str, ...] = ()  # see kind
    fill: Any = None  # what stands for a missing value; None: there is no answer then
    # For "equals" without fill: whether a missing value is no value like any other.
    absent: bool = False

    @property
    def may_lack(self) -> bool:
        """Whether there is an answer for a missing value."""
        return self.fill is not None or self.absent or self.kind == "missing"

    def to_dict(self) -> dict[str, Any]:
        """As plain values, without what does not matter."""
        every = {"value": self.value, "values": list(self.values), "fill": self.fill}
        told = {name: value for name, value in every.items() if value not in ("", [], None)}
        return {"kind": self.kind, "column": self.name, **told, "may_lack": self.may_lack}


def terms(preparation: TablePreparation) -> list[Term]:
    """A term for each column made."""
    return [term for feature in preparation.features_ for term in _terms(feature)]


def _terms(feature: Feature) -> list[Term]:
    name, fill = feature.name, feature.fill
    if feature.kind == "category":
        known = fill[0] if feature.missing == "median" and fill else None
        lacks = feature.missing != "error"
        made = [Term("equals", name, v, fill=known, absent=lacks) for v in feature.values]
    elif feature.kind == "date":
        filled = fill or (None,) * len(feature.values)
        made = [
            Term("part", name, part, fill=f) for part, f in zip(feature.values, filled, strict=True)
        ]
    else:
        kind = "place" if feature.kind == "ordered" else feature.kind
        made = [Term(kind, name, values=feature.values, fill=fill[0] if fill else None)]
    return made + [Term("missing", name)] * feature.flagged
