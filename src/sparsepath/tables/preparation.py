"""Tables with text, categories, dates and missing values, turned into numbers."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats
from sparsepath.tables.cells import cells_of, names_of, table_of
from sparsepath.tables.dates import DateFormats, check_formats
from sparsepath.tables.features import (
    DATES,
    MISSING,
    Feature,
    RawColumn,
    dates_said,
    learn,
    missing_said,
    quote_values,
)


class TablePreparation(TransformerMixin, BaseEstimator):
    """Convert a raw table to numeric columns.

    Text and categories become one indicator per value, ordered categories their rank, booleans 0
    and 1, dates (if requested) their parts. Everything that depends on the data, such as medians
    and the list of values, is determined by ``fit``, so that a pipeline or ``TableSelector``
    determines it again without the held-out samples.

    Parameters
    ----------
    missing : {"error", "median", "indicator"}
        "error": missing values raise an error. "median": impute the median, for categories the most
        frequent value. "indicator": impute, and add a column that marks missing values (a category
        gets an indicator for missing instead).
    dates : {"error", "parts", "clock"}
        "error": dates raise an error. "parts": dates become year, month, day, weekday and, if there
        are times of day, hour. "clock": as "parts", but times of day become an indicator for each
        weekday and each hour instead.
    max_categories : int
        Maximum number of values of a category that get an indicator: the most frequent ones that
        occur at least twice. All others, including new values, have all indicators zero.
    date_format : str, dict of str to str or None
        Format of dates in text columns, such as "%d.%m.%Y": for columns by name, or for all text
        columns that match. Dates such as 2024-12-31 need no format.

    Attributes
    ----------
    features_ : tuple of Feature
        Type of each column of the table.
    groups_ : array of int
        For each output column, the index of its column in the table.
    notes_ : dict of str to str
        Remarks by column: numbers read from text, text that differs in every row.
    n_features_in_ : int
    feature_names_in_ : array of str

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"colour": ["red", "blue", "red", "blue"], "size": [1.0, None, 3, 4]})
    >>> made = TablePreparation(missing="median").fit(table)
    >>> made.get_feature_names_out().tolist()
    ['colour=blue', 'colour=red', 'size']
    >>> made.transform(table)[:2].tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 3.0]]
    """

    features_: tuple[Feature, ...]
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        *,
        missing: str = "error",
        dates: str = "error",
        max_categories: int = 30,
        date_format: DateFormats = None,
    ) -> None:
        self.missing = missing
        self.dates = dates
        self.max_categories = max_categories
        self.date_format = date_format

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the encoding of all columns.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow) or array
            The table.
        y : object
            Ignored.
        """
        for name, allowed in (("missing", MISSING), ("dates", DATES)):
            if not isinstance(getattr(self, name), str) or getattr(self, name) not in allowed:
                raise InputError(
                    f"{name}={getattr(self, name)!r}; use one of {', '.join(allowed)}."
                )
        check_formats(self.date_format)
        parameters = self.get_params(deep=False)
        cells = table_of(X, self.date_format).cells
        _refuse(cells, missing=self.missing == "error", dates=self.dates == "error")
        self.features_ = tuple(learn(column, **parameters) for column in cells)
        notes = (
            _note(feature, column) for feature, column in zip(self.features_, cells, strict=True)
        )
        self.notes_ = {f.name: note for f, note in zip(self.features_, notes, strict=True) if note}
        self._know(names_of(X))
        return self

    def _know(self, names: Sequence[str] | None) -> None:
        self.n_features_in_ = len(self.features_)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    @property
    def groups_(self) -> NDArray[np.intp]:
        """For each output column, the index of its column in the table."""
        return np.repeat(
            np.arange(len(self.features_)), [len(f.labels) for f in self.features_]
        ).astype(np.intp)

    def transform(self, X: Any) -> Floats:
        """Return the table as numbers, samples x columns.

        Parameters
        ----------
        X : data frame with these columns, in any order, or array
            The table.
        """
        check_is_fitted(self)
        return self.some(X, range(len(self.features_)))

    def some(self, X: Any, wanted: Sequence[int]) -> Floats:
        """Transform only some columns of the table; outputs of the others are zero.

        Parameters
        ----------
        X : data frame with the wanted columns, in any order, or array
            The table.
        wanted : sequence of int
            Indices of table columns.
        """
        widths = np.bincount(self.groups_, minlength=len(self.features_))
        ends = np.cumsum(widths)
        features = [self.features_[i] for i in wanted]
        cells = cells_of(X, self._names_in(X, features), of=len(self.features_))
        rows = len(X) if not cells else len(cells[0].values)
        Z = np.zeros((rows, int(ends[-1])), order="F")
        for i, feature, column in zip(wanted, features, cells, strict=True):
            Z[:, ends[i] - widths[i] : ends[i]] = feature.columns(column)
        return Z

    def unseen(self, X: Any, wanted: Sequence[int]) -> list[str]:
        """Return messages about values that did not occur in ``fit``.

        Parameters
        ----------
        X : data frame or array
            The table.
        wanted : sequence of int
            Indices of table columns to check.
        """
        features = [self.features_[i] for i in wanted]
        cells = cells_of(X, self._names_in(X, features), of=len(self.features_))
        said = []
        for feature, column in zip(features, cells, strict=True):
            if values := feature.unseen(column):
                said.append(
                    f"column {feature.name!r} has values that the model does not know "
                    f"({quote_values(values)}); they count as none of those it knows."
                )
        return said

    def _names_in(self, X: Any, features: Sequence[Feature]) -> list[Any]:
        """Return the names of some features in X; for arrays, their positions."""
        if names_of(X) is not None:
            return [feature.name for feature in features]
        place = {feature.name: i for i, feature in enumerate(self.features_)}
        return [place[feature.name] for feature in features]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the output columns, such as ``colour=red``.

        Parameters
        ----------
        input_features : object
            Ignored: the names of the fit are used.
        """
        check_is_fitted(self)
        return np.array([name for feature in self.features_ for name in feature.labels], object)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        check_is_fitted(self)
        return {
            "asked": self.get_params(deep=False),
            "named": hasattr(self, "feature_names_in_"),
            "features": [feature.to_dict() for feature in self.features_],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "TablePreparation":
        """Return the preparation that ``to_dict`` converted.

        Parameters
        ----------
        record : dict
            Result of ``to_dict``.
        """
        made = cls(**record["asked"])
        made.features_ = tuple(Feature.from_dict(each) for each in record["features"])
        made.notes_ = {}
        made._know([feature.name for feature in made.features_] if record["named"] else None)
        return made


def _refuse(cells: Sequence[RawColumn], *, missing: bool, dates: bool) -> None:
    """Raise one error for all missing values and dates, if they are not allowed."""
    counts = {column.name: count for column in cells if missing and (count := column.n_missing)}
    said = [missing_said(counts, len(cells[0].values))] if counts else []
    if days := [column.name for column in cells if dates and column.kind == "date"]:
        said.append(dates_said(days))
    if said:
        raise InputError("; and ".join(said) + ".")


def _note(feature: Feature, column: RawColumn) -> str:
    name = feature.name[:80]
    if feature.style:
        of = f" in {feature.unit}" if feature.unit else ""
        return f"column {name!r} is text that was read as numbers{of}."
    if feature.is_empty:
        return f"column {name!r} has no values and is not used."
    if feature.kind != "category":
        return ""
    values = list(dict.fromkeys(text for text in column.texts() if text is not None))
    if not feature.labels and values:
        example = max(values, key=len)[:40]
        return (
            f"column {name!r} is text that is different in every row, such as {example!r}, and is "
            "not used; is it an id?"
        )
    if len(values) > len(feature.values):
        return (
            f"column {name!r} has {len(values)} different values; the {len(feature.values)} most "
            "frequent are used, and all others are treated alike."
        )
    return ""
