"""Data frames of any library: output tables, and those that are passed in."""

from collections import Counter
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


def frame_of(X: Any) -> Any:
    """Return a data frame of any library as one of narwhals; other objects are passed through."""
    import narwhals as nw

    try:
        return nw.from_native(X, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        given = Counter(X.columns if hasattr(X, "iloc") else X.column_names)
        twice = [repr(str(name)) for name, count in given.items() if count > 1]
        names = ", ".join(twice[:5])
        raise InputError(f"X has more than one column of the same name: {names}.") from error
