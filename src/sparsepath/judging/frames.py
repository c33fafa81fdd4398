"""Columns as a data frame of whichever make is at hand."""

from collections.abc import Mapping
from typing import Any

from sparsepath.errors import InputError

MAKES = ("pandas", "polars", "pyarrow")


def frame(columns: Mapping[str, list[Any]], backend: Any = None) -> Any:
    """A data frame of this make; default: the first that is installed of ``MAKES``."""
    import narwhals

    for make in MAKES if backend is None else (backend,):
        try:
            return narwhals.from_dict(dict(columns), backend=make).to_native()
        except (ImportError, ValueError):
            continue
    raise InputError(f"{backend!r} is missing: take pandas, polars or pyarrow.")
