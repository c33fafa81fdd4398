"""Match columns between files by name, position or number.

Named columns (CSV, Parquet) are matched by name. Columns of arrays have positions and are called
x0, x1,
... Columns of svmlight files have numbers counted from 0 or 1, and are called x0 or x1, ... A model
must never use the neighbour of a column in another file, so an ambiguous match raises an error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sparsepath.errors import InputError

BY_NAME, BY_PLACE, BY_NUMBER = "names", "places", "numbers"


@dataclass(frozen=True)
class Layout:
    """Identification of the columns of a file."""

    kind: str  # 'names', 'places', 'numbers': what a column is known by
    # How many there are; of an svmlight file the features, up to the last that has an entry.
    columns: int
    first: int = 0  # the number of the first column: 1 for svmlight files that count from 1
    target: int | None = None  # the place of the target, if it is one of the columns
    # The numbers or places of the features, where they were given names of their own.
    numbers: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def of_model(cls, model: Any) -> "Layout":
        """Return the layout of the training file, as far as the model records it."""
        if isinstance(known := getattr(model, "layout_", None), cls):
            return known
        record = getattr(getattr(model, "path_", None), "data", {}).get("layout")
        if isinstance(record, Mapping):
            return cls(**record)
        named = getattr(model, "feature_names_in_", None) is not None
        return cls(BY_NAME if named else BY_PLACE, int(model.n_features_in_))

    @property
    def ends(self) -> tuple[str, str]:
        """Return the first and the last feature name of columns without names."""
        first, last = self.first, self.first + self.columns - 1
        return (
            f"x{first + (self.target == 0)}",
            f"x{last - (self.target == self.columns - 1 and last > first)}",
        )


def same_columns(
    path: Path, model: Layout, used: Sequence[str], file: Layout, known: Sequence[str]
) -> list[str]:
    """Return the names in another file of the columns that a model uses.

    ``model`` is the layout of the training file, ``file`` that of this one; ``used`` are the names
    that the model uses, ``known`` those in the file.
    """
    if file.kind == BY_NAME:
        if model.kind != BY_NAME:
            _check_names(path, model, known)
        return list(used)
    if model.kind == BY_NAME:
        some = ", ".join(map(repr, used[:3]))
        raise InputError(
            f"{path} has columns without names, but the model identifies its columns by name"
            + (f" ({some}{', ...' * (len(used) > 3)})" if used else "")
            + "; give a file with column names."
        )
    if file.kind == BY_PLACE:
        return _at_places(path, model, used, file)
    return _by_number(path, model, used, file)


def _check_names(path: Path, model: Layout, known: Sequence[str]) -> None:
    """Check that names x0, x1, ... of two files mean the same columns: first and last must
    agree.
    """
    absent = [name for name in model.ends if name not in known]
    if absent:
        raise InputError(
            f"{path} lacks the column {absent[0]!r}: the model was fitted to {_said(model)}, so "
            "which must have the same names."
        )


def _at_places(path: Path, model: Layout, used: Sequence[str], file: Layout) -> list[str]:
    features = model.columns - (model.target is not None)
    if model.kind == BY_NUMBER:
        same = file.columns == model.columns
    else:
        last = model.target == model.columns - 1
        same = file.columns == model.columns or (last and file.columns == features)
    if not same:
        or_less = ""
        if model.target is not None and model.target == features:
            or_less = f", or {features} without the target"
        raise InputError(
            f"{path} has {file.columns} columns without names, and {model.columns}{or_less} are "
            f"expected: the model was fitted to {_said(model)}."
        )
    return [f"x{int(name[1:]) - model.first}" for name in used]


def _by_number(path: Path, model: Layout, used: Sequence[str], file: Layout) -> list[str]:
    last = file.first + file.columns - 1  # the largest number that occurs
    if model.kind == BY_NUMBER:
        if model.first == 1 and file.first == 0:
            raise InputError(
                f"{path} counts its columns from 0, but the model was fitted to {_said(model)}; "
                "number the columns of the file from 1."
            )
        if model.first == 0 and file.first == 1 and last >= model.columns:
            raise InputError(
                f"{path} has a column {last} but no column 0, so it seems to count from 1, but the "
                f"model was fitted to {_said(model)}; number the columns of the file from 0."
            )
        return list(used)
    features = model.columns - (model.target is not None)
    if model.target in (None, features):
        if file.first == 0 and last < features:
            return list(used)
        if file.first == 1 and last == features:
            return [f"x{int(name[1:]) + 1}" for name in used]
    raise InputError(
        f"{path}: its columns {file.first} to {last} cannot be matched reliably, because the model "
        f"was fitted to {_said(model)}; give a file with the same layout."
    )


def _said(layout: Layout) -> str:
    if layout.kind == BY_NUMBER:
        first, last = layout.ends
        return f"an svmlight file counted from {layout.first} (columns {first} to {last})"
    where = "" if layout.target is None else f", the target in column x{layout.target}"
    plural = "s" * (layout.columns != 1)
    return f"a file of {layout.columns} column{plural} without names{where}"
