"""Tables out: data frames of the make that is asked for, or of one that is there."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from sparsepath.errors import InputError

Make: TypeAlias = Literal["pandas", "polars", "pyarrow"] | None
MAKES: tuple[Make, ...] = ("pandas", "polars", "pyarrow")  # the last is always installed


def make_frame(columns: Mapping[str, Sequence[Any]], backend: Make = None) -> Any:
    """A data frame of columns; without ``backend`` the first of ``MAKES`` that is installed."""
    import narwhals

    for make in MAKES if backend is None else (backend,):
        try:
            return narwhals.from_dict(columns, backend=make).to_native()
        except (ImportError, ValueError) as error:
            reason = error
    raise InputError(f"{backend!r} is missing: take pandas, polars or pyarrow.") from reason
