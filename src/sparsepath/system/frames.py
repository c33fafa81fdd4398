"""Output tables as data frames of the requested library or the first that is installed."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from sparsepath.errors import InputError

Installed: TypeAlias = Literal["pandas", "polars", "pyarrow"]  # the last always is
Make: TypeAlias = Installed | None
MAKES: tuple[Installed, ...] = get_args(Installed)


def make_frame(columns: Mapping[str, Sequence[Any]], backend: Make = None) -> Any:
    """Return a data frame of columns; the default library is the first of ``MAKES`` that is
    installed.
    """
    import narwhals

    for make in MAKES:
        if backend in (None, make):
            try:
                return narwhals.from_dict(columns, backend=make).to_native()
            except ImportError:
                pass
    raise InputError(f"{backend!r} is not installed or unknown; use pandas, polars or pyarrow.")
