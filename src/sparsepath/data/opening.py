"""``open``: create a source from data of any kind that need not fit into memory."""

from collections.abc import Sequence
from typing import Any

from sparsepath.data import clusters, file_sources  # noqa: F401 (they register their kinds)
from sparsepath.data.column_lookup import Key, several
from sparsepath.data.file_sources import is_path
from sparsepath.data.sources import KINDS, Source, is_a
from sparsepath.errors import InputError


def open(
    what: Any,
    y: Any = None,
    *,
    target: Key | None = None,
    weights: Any = None,
    columns: Sequence[Key] | None = None,
    drop: Key | Sequence[Key] = (),
    memory: float | None = None,
    groups: Key | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Source:
    """Open data that need not fit into memory, for ``fit`` of estimators that read in passes.

    Parameters
    ----------
    what : path, glob, list of paths, table, array
        Files: Parquet, Feather, CSV (converted once to Parquet, in the folder that the environment
        variable ``SPARSEPATH_CACHE`` names, or in the user's cache folder), npy and svmlight, a
        directory or a pattern such as ``"data/*.parquet"``. Objects: a pyarrow dataset, a polars
        lazy frame, a Dask array or data frame, a NumPy array or memory map, a SciPy sparse matrix.
    y : array or str, optional
        Target of an array; for a table the name of its column, or a separate array.
    target : str or int, optional
        Target column of a table; for an npy file its number (default: the last). Columns of files
        are given by name or position (negative from the end).
    weights : str or array, optional
        Column of sample weights; for arrays, the weights.
    columns : sequence of str or int, optional
        Feature columns of a table; default: all other columns.
    drop : str, int or sequence of these, optional
        Columns of a table that are not features.
    memory : float, optional
        Limit of the memory for reading, in bytes.
    groups : str or int, optional
        Column of group labels, for tables in files; folds hold out whole groups.
    delimiter, decimal, encoding : str, optional
        Format of CSV files, if it cannot be inferred from their first lines.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsepath import SparseRLSRegressor
    >>> X = np.random.default_rng(0).standard_normal((500, 6))
    >>> data = open(X, X[:, 2] - X[:, 4])
    >>> data.shape
    (500, 6)
    >>> SparseRLSRegressor(2, choose=2, validation=None).fit(data).selected_
    array([2, 4])
    """
    if isinstance(y, str):
        target = y
        y = None
    said = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding}
    writing: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    if groups is not None:
        if not (is_path(what) or is_a(what, "pyarrow") or is_a(what, "polars")):
            raise InputError(f"groups={groups!r}: give fit an array of them, one for each row.")
        writing["groups"] = groups
    elif writing and not is_path(what):
        raise InputError(f"{', '.join(writing)}: only for CSV files.")
    for recognise, make in KINDS:
        if recognise(what):
            given = {"weights": weights, "columns": columns, "memory": memory, **writing}
            if is_path(what):
                return make(what, y, target=target, drop=several(drop), **given)
            source = make(what, y, target=target, **given)
            if several(drop):
                given["columns"] = _without(source, several(drop))
                source = make(what, y, target=target, **given)
            return source
    raise InputError(
        f"{type(what).__module__}.{type(what).__name__} is not a supported kind of data; give a "
        "path, a pattern, a pyarrow dataset, a polars lazy frame, a Dask array or data frame, or "
        "an array."
    )


def _without(source: Source, drop: Sequence[Key]) -> list[str]:
    """Return the features of a source without some."""
    names = [*(source.names or ())]
    if lost := [name for name in drop if name not in {*names, *source.index}]:
        raise InputError(f"{source.where} has no column {lost[0]!r} to drop.")
    return [name for name in names if name not in drop]


def as_source(X: Any, y: Any, weights: Any) -> Source:
    """Return the source given to ``fit``, or create one from other data."""
    if not isinstance(X, Source):
        return open(X, y, weights=weights)
    if y is not None or weights is not None:
        raise InputError(
            "a source has its target and weights: y and sample_weight must be None; give "
            "open(..., target=..., weights=...)."
        )
    X.count_afresh()
    return X
