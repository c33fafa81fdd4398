"""Validation of input data, once, at the entry of every public function.

Afterwards, X is a two-dimensional array of a real type (unchanged type and order; bool becomes
uint8) or a SciPy CSC / CSR matrix, of finite numbers with finite squares, with the names of its
columns if there are any; y is float64 of shape (m, T) and not constant; sample weights are float64,
nonnegative and not all zero.
Data are copied only if necessary.
"""

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.errors import InputError
from sparsepath.system.frames import frame_of

NAMED_AT_MOST = 5
LARGEST_WEIGHT = 1e100  # whose square, times the number of samples, is a number
LARGEST = 1e150  # value of a feature whose square, times the number of samples, is a number
FEW_DIGITS = 1e-290  # a sum of squares below which floating point has few digits left


def some_of(names: Iterable[object]) -> str:
    """Return the first few names, quoted, and the number of others.

    >>> some_of(["a", "b"])
    "'a', 'b'"
    >>> some_of("abcdefgh")
    "'a', 'b', 'c', 'd', 'e' and 3 more"
    """
    listed = [repr(str(name)) for name in names]
    more = f" and {len(listed) - NAMED_AT_MOST} more" if len(listed) > NAMED_AT_MOST else ""
    return ", ".join(listed[:NAMED_AT_MOST]) + more


def named_columns(columns: Iterable[int], names: Sequence[Any] | NDArray[Any] | None) -> str:
    """Return columns for a message: by name, or by number if they have none.

    >>> named_columns([2, 0], "abc"), named_columns([2, 0], None)
    ("'a', 'c'", "'0', '2'")
    """
    return some_of(i if names is None else names[i] for i in sorted(columns))


def check_features(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return the checked features of an estimator's fit (``reset=True``) or later use.

    Sets or checks ``n_features_in_`` and ``feature_names_in_`` like scikit-learn. For plain numeric
    data scikit-learn's slower check is skipped.
    """
    checked = _plain_fit(estimator, X) if reset else None
    if checked is None:
        from sklearn.utils.validation import validate_data

        _refuse_text(X)
        _refuse_dates(X, "X")
        checked = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse=("csc", "csr"),
            dtype="numeric",
            ensure_all_finite=False,
        )
    if reset and checked.shape[0] == 1:
        raise InputError("X has 1 sample; at least two are needed.")
    names = getattr(estimator, "feature_names_in_", None)
    dtype = checked.dtype
    if not dtype.isnative:
        checked = checked.astype(dtype.newbyteorder("="))
    elif isinstance(checked, np.ndarray) and dtype == np.bool_:
        checked = checked.view(np.uint8)
    sparse_flags = dtype == np.bool_ and not isinstance(checked, np.ndarray)
    if sparse_flags or (dtype.kind == "f" and dtype.itemsize not in (4, 8)):
        checked = checked.astype(np.float64)
    _refuse_nonfinite(checked, names)
    return checked


def _plain_fit(estimator: Any, X: Any) -> NDArray[Any] | None:
    """Return features of a fit that need only a check for missing values; None for others."""
    names, columns = None, getattr(X, "columns", None)
    named = getattr(columns, "inferred_type", "string" if isinstance(columns, list) else "")
    if named in ("string", "integer") and _plain_numbers(X):
        names = np.asarray(columns, dtype=object) if named == "string" else None
        kind = () if isinstance(columns, list) else (np.result_type(*set(X.dtypes)),)
        X = X.to_numpy(*kind)
    if not _is_plain(X, 2):
        return None
    estimator.n_features_in_ = X.shape[1]
    if names is not None:
        estimator.feature_names_in_ = names
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return np.asarray(X)


def _is_plain(values: Any, *dimensions: int) -> bool:
    """Return whether it is an array of a plain numeric type."""
    known = type(values) is np.ndarray and values.ndim in dimensions and values.size > 0
    return known and values.dtype.kind in "fiu" and values.dtype.isnative


def _refuse_dates(values: Any, name: str) -> None:
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if kind in ("M", "m"):
        what = "dates" if kind == "M" else "lengths of time"
        raise InputError(
            f"{name} holds {what} ({values.dtype}); convert them to numbers first, for example "
            "days since the first."
        )


def _refuse_text(X: Any) -> None:
    if isinstance(X, np.ndarray) or not hasattr(X, "columns") or _plain_numbers(X):
        return
    import narwhals as nw

    frame = frame_of(X)
    if not isinstance(frame, nw.DataFrame):
        return
    text = (nw.String, nw.Categorical, nw.Enum, nw.Date, nw.Datetime, nw.Duration, nw.Time)
    found, others = [], []
    for i, (name, kind) in enumerate(frame.schema.items()):
        values = frame[:, i].to_list() if isinstance(kind, nw.Object) else ()
        if isinstance(kind, text) or any(isinstance(value, str) for value in values):
            found.append(name)
        elif not (kind.is_numeric() or isinstance(kind, nw.Boolean)) and not _is_numbers(X, i):
            others.append(name)
    if others:
        raise InputError(
            f"X has neither numbers nor text in column {some_of(others)}; convert them to numbers, "
            "or drop them."
        )
    if found:
        raise InputError(
            f"X holds text, categories or dates in column {some_of(found)}; "
            "TableSelector takes such tables; or encode (OneHotEncoder, OrdinalEncoder) or drop "
            "them first."
        )


def _is_numbers(X: Any, i: int) -> bool:
    """Return whether column i of a data frame has a numeric type of its own library."""
    own: Any = getattr(X, "dtypes", None)
    kind = getattr(own.iloc[i] if hasattr(own, "iloc") else None, "kind", "")
    if kind != "O":
        return kind in tuple("buif")
    values = X.iloc[:, i]
    return not hasattr(values, "array") or all(
        value is None or isinstance(value, Real | np.bool_ | Decimal) or value != value
        for value in values.array
    )


def _plain_numbers(X: Any) -> bool:
    """Return whether a frame contains only plain numbers (pandas with NumPy types, or polars).

    It checks the distinct types, because checking every column is slow.
    """
    library = type(X).__module__.partition(".")[0]
    if library == "polars" and hasattr(X, "columns") and hasattr(X, "to_numpy"):
        kinds = {type(kind): kind for kind in X.dtypes}  # to compare kinds takes long
        return all(not isinstance(kind, type) and kind.is_numeric() for kind in kinds.values())
    if library != "pandas" or not hasattr(X, "columns") or not X.size:
        return False
    if not X.columns.is_unique:
        return False
    return all(isinstance(kind, np.dtype) and kind.kind in "buif" for kind in set(X.dtypes))


def _refuse_nonfinite(X: Any, names: NDArray[Any] | None) -> None:
    """Raise an error for missing and infinite values, and for values whose squares are infinite."""
    values = X if isinstance(X, np.ndarray) else X.data
    if values.dtype.kind != "f" or np.isfinite(_sum_of_squares(values)):
        return
    bad = np.flatnonzero(_any_by_column(X, ~np.isfinite(values)))
    if not len(bad):
        if values.dtype == np.float64:  # single precision has no such numbers
            refuse_wide(_any_by_column(X, np.abs(values) >= LARGEST), names)
        return
    kind = "NaN" if np.isnan(values).any() else "infinity"
    which = named_columns(bad.tolist(), names)
    raise InputError(
        f"Input X contains {kind} in column {which}; "
        "impute (SimpleImputer) or drop these values first"
        f"{', or use TableSelector(..., missing=...).' if kind == 'NaN' else '.'}"
    )


def _sum_of_squares(values: NDArray[Any]) -> float:
    """Return the sum of squares, in one pass without a copy; NaN and infinity are not errors."""
    with np.errstate(invalid="ignore", over="ignore"):
        if values.flags.forc:
            flat = values.ravel(order="K")
            return float(np.vdot(flat, flat))
        return float(np.einsum("ij,ij->", values, values))


def _any_by_column(X: Any, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return for each column whether one of its values, or stored values, has a flag."""
    if isinstance(X, np.ndarray):
        return np.asarray(flags.any(axis=0))
    columns = X.tocoo().col[flags]
    return np.bincount(columns, minlength=X.shape[1]).astype(bool)


def refuse_wide(wide: NDArray[np.bool_], names: NDArray[Any] | None = None) -> None:
    """Raise an error for columns whose squares are infinite."""
    if wide.any():
        which = named_columns(np.flatnonzero(wide), names)
        raise InputError(
            f"column {which} has numbers whose squares exceed the range of floating point "
            "(1e150 and more, or 1e-150 and less); divide by their size."
        )


def check_target(y: Any, n_samples: int) -> tuple[NDArray[np.float64], bool]:
    """Return regression targets as float64, m x T, and whether they came as a vector."""
    if y is None:
        raise InputError("This estimator requires y to be passed, but the target y is None.")
    _refuse_dates(y, "y")
    Y = y
    if not _is_plain(y, 1, 2):
        from sklearn.utils.validation import check_array

        _refuse_text_target(y)
        try:
            Y = check_array(
                y,
                ensure_2d=False,
                dtype="numeric",
                ensure_all_finite=False,
                input_name="y",
                ensure_min_samples=0,
            )
        except OverflowError:
            raise InputError("y has whole numbers beyond the range of floating point.") from None
    plain = Y.ndim == 1
    if plain:
        Y = Y[:, None]
    if Y.ndim != 2:
        raise InputError(f"y has {Y.ndim} dimensions; it must be a vector or samples x targets.")
    if len(Y) != n_samples:
        from sklearn.utils.validation import check_consistent_length

        check_consistent_length(Y, np.empty(n_samples))
    Y = Y.astype(np.float64)
    if not np.isfinite(Y).all():
        kind = "NaN" if np.isnan(Y).any() else "infinity"
        raise InputError(f"Input y contains {kind}; drop these samples or impute them first.")
    return Y, plain


def _refuse_text_target(y: Any) -> None:
    """Raise an error for text, even if it looks like numbers."""
    values = np.asarray(y)
    if values.dtype.kind in "OSUT":
        text = next((value for value in values.ravel().tolist() if isinstance(value, str)), None)
        if text is not None:
            raise InputError(
                f"y holds text, such as {text!r}; this method predicts numbers. Convert y to "
                "numbers, or use a classifier if these are classes."
            )


def check_labels(y: Any, n_samples: int) -> NDArray[Any]:
    """Return class labels as a vector of the right length."""
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_y, check_consistent_length, column_or_1d

    if y is None:
        raise InputError("This estimator requires y to be passed, but the target y is None.")
    labels = column_or_1d(y, warn=True)
    _refuse_dates(labels, "y")
    if labels.dtype.kind == "f":
        _check_y(labels)
    if labels.dtype.kind == "O":
        _refuse_gaps(labels)
        _refuse_mixed(labels)
        labels = _plain_labels(labels)
    with np.errstate(invalid="ignore"):  # numbers beyond the whole ones
        check_classification_targets(labels)
    check_consistent_length(labels, np.empty(n_samples))
    return labels


def _plain_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return text as it is, and numbers that were stored as objects as numbers."""
    if all(isinstance(label, str) for label in labels):
        return labels
    if all(isinstance(label, int | float | np.number | np.bool_) for label in labels):
        plain = np.asarray(labels.tolist())
        if plain.dtype.kind in "biuf":
            return plain
    raise InputError(f"y has labels of type {type(labels[0]).__name__}; convert them to text.")


def _refuse_gaps(labels: NDArray[Any]) -> None:
    """Raise an error for missing labels (None, NaN and pandas' NA)."""
    gone = [
        i
        for i, label in enumerate(labels.tolist())
        if label is None or type(label).__name__ == "NAType" or label != label
    ]
    if gone:
        raise InputError(
            f"y has no label for {len(gone)} of {len(labels)} samples, the first of them sample "
            f"{gone[0]}; drop these samples."
        )


def _refuse_mixed(labels: NDArray[Any]) -> None:
    """Raise an error for labels that mix text and other types."""
    is_text = [isinstance(label, str) for label in labels.tolist()]
    if any(is_text) and not all(is_text):
        text, other = labels[is_text.index(True)], labels[is_text.index(False)]
        raise InputError(
            f"y has labels of different types, such as {text!r} and {other!r}; make all of them "
            "text, or all of them numbers."
        )


def check_weights(sample_weight: Any, n_samples: int) -> NDArray[np.float64]:
    """Return sample weights as float64; default: ones."""
    if sample_weight is None:
        return np.ones(n_samples)
    from sklearn.utils.validation import check_array, check_consistent_length

    if np.isscalar(sample_weight):
        sample_weight = np.full(n_samples, sample_weight)
    w = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight", copy=True
    )
    if w.ndim != 1:
        raise InputError(f"sample_weight has shape {w.shape}; it must be a vector, one per sample.")
    check_consistent_length(w, np.empty(n_samples))
    if w.min() < 0:
        raise InputError("sample_weight holds negative numbers; weights must be zero or more.")
    if np.count_nonzero(w) < 2:
        raise InputError(
            "sample_weight is above zero for fewer than two samples; at least two are needed."
        )
    if not 1 / LARGEST_WEIGHT < w.max() < LARGEST_WEIGHT:
        raise InputError(
            f"sample_weight holds numbers of the size of {w.max():.0e}, whose squares in floating "
            "point overflow; divide all weights by this number."
        )
    return w


def refuse_constant(Y: NDArray[np.float64]) -> None:
    """Raise an error for a constant target."""
    if Y[0, 0] == Y[-1, 0] and (Y[0] == Y).all():
        raise InputError(
            f"y is constant ({Y[0, 0]:g} for all samples); there is nothing to predict."
        )


def refuse_extremes(Y: NDArray[np.float64]) -> None:
    """Raise an error for targets whose squared errors, or their squares, overflow or underflow.

    Squares of squares are needed for the standard error of a squared error.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        off = Y - np.add.reduce(Y) / len(Y)
        squares = float(np.vdot(off, off))
    if squares or np.ptp(Y) > 0:
        refuse_extreme_squares(squares, np.abs(Y).max())


def refuse_extreme_squares(squares: float, largest: float) -> None:
    """Raise this error from the sum of squares about the mean of a varying target."""
    fourth = squares * squares
    if not FEW_DIGITS <= fourth < math.inf:
        raise InputError(
            f"y has numbers of the size of {largest:.0e}: floating point cannot represent their "
            f"squared errors and the standard errors of these; divide it by {largest:.0e}."
        )


def column_indices(
    given: Sequence[int] | Sequence[str] | None, names: Iterable[str] | None, n: int, what: str
) -> list[int]:
    """Return columns given by index or name as indices in the same order."""
    if given is None:
        return []
    whole = isinstance(given, Iterable) and getattr(given, "ndim", 1) > 0
    if isinstance(given, (str, bytes)) or not whole:
        raise InputError(f"{what}={given!r}; give a list of columns, such as [{given!r}].")
    known = {name: i for i, name in enumerate(names)} if names is not None else {}
    out: list[int] = []
    for item in given:
        if isinstance(item, str):
            if item not in known:
                import difflib

                close = difflib.get_close_matches(item, known, n=3)
                hint = f"; did you mean {some_of(close)}?" if close else "."
                raise InputError(f"{what}: there is no column {item!r}{hint}")
            out.append(known[item])
        else:
            number: object = item
            if isinstance(number, bool) or not isinstance(number, Integral):
                raise InputError(f"{what}: {item!r} is neither the name nor the index of a column.")
            i = int(number)
            if not -n <= i < n:
                raise InputError(f"{what}: there is no column {i}; X has columns 0 to {n - 1}.")
            out.append(i % n)
    if len(set(out)) < len(out):
        raise InputError(f"{what} names a column twice: {list(given)}.")
    return out
