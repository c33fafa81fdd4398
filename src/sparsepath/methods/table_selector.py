"""Selection from raw tables: categories, dates and missing values are prepared within the fit.

The inner selector works on numeric columns (``TablePreparation``); results refer to the columns of
the table. Methods with feature groups select all numeric columns of a table column, or none. In
other methods numeric columns compete individually, and a table column counts as selected if any of
its numeric columns is. The path has the best subset of each number of table columns, by the
criterion of the search.
"""

import copy
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sparsepath.assessment.folds import in_time, parts_of
from sparsepath.assessment.held_out import HeldOutLosses
from sparsepath.assessment.in_passes import SharedValidation, parts_in_passes
from sparsepath.assessment.leaks import suspects
from sparsepath.assessment.out_of_sample import StopRequestedError, Ways
from sparsepath.assessment.repetitions import Repetition, RepetitionResult, quiet_copy
from sparsepath.assessment.validation import ON_ROWS_LEFT_OUT, validate
from sparsepath.base import Given, refuse_source
from sparsepath.base.parameters import check_shared, count
from sparsepath.base.selector import PathSelector, check_weights_taken
from sparsepath.data.folds import Rows
from sparsepath.data.opening import as_source
from sparsepath.data.prepared import learnt, values_of, with_types
from sparsepath.data.prepared import prepare as as_numbers
from sparsepath.data.row_values import SourceRows, groups_of
from sparsepath.data.sources import Source, is_source
from sparsepath.data.validation import column_indices
from sparsepath.errors import InputError, PathWarning, warn_user
from sparsepath.methods.table_penalties import TablePenalties
from sparsepath.methods.target_transform import (
    SCALES,
    TargetScale,
    candidates,
    check_transform,
    in_units,
    relative_error,
)
from sparsepath.path.selection_path import SelectionPath
from sparsepath.path.steps import Move, Step
from sparsepath.rls import SparseRLSRegressor
from sparsepath.rls.estimators import PredictingRLS
from sparsepath.system.arrays import Floats
from sparsepath.system.json_files import plain
from sparsepath.tables.cells import RawTable, names_of, table_of
from sparsepath.tables.dates import check_formats
from sparsepath.tables.features import target_numbers
from sparsepath.tables.lags import Lags, after_history, earlier, history
from sparsepath.tables.preparation import TablePreparation

BENEATH = {"validation": None, "choose": "min"}
# Fitted attributes of a search, and of a choice between methods.
OF_SEARCH = ("preparation_", "selector_", "transform_", "_sizes")
OF_CHOICE = (
    *("path_", "honest_", "selected_", "classes_", "n_features_in_", "method_", "comparison_"),
    *("left_out_", "_slopes", "_offsets", "_thresholds"),
)
COLUMNS = ("forced", "forbidden", "start")
OF_COLUMNS = (*COLUMNS, "feature_costs", "feature_groups", "max_features")  # not of numbers


Refit: TypeAlias = Callable[[Floats, TargetScale | None, SelectionPath], SelectionPath]


def _beneath(name: str) -> Any:
    """Descriptor of a method that exists if the inner selector has it."""
    return available_if(
        lambda self: hasattr(getattr(self, "selector_", None) or self._selector, name)
    )


@dataclass(eq=False, repr=False)
class TableSelector(MetaEstimatorMixin, PathSelector, BaseEstimator):
    """Selector for raw tables with text, categories, dates and missing values.

    The preparation (``TablePreparation``) is part of the fit: for the honest error it is repeated
    without the held-out samples. It is saved and exported with the model, which accepts raw tables.

    Parameters
    ----------
    selector : selector, optional
        One of this package; default: ``SparseRLSRegressor()``. Its ``max_features``, ``forced``,
        ``forbidden``, ``start``, ``feature_costs`` and ``feature_groups`` refer to columns of the
        table.
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
    transform_target : {"log", "log1p", "sqrt", "auto"} or None
        Scale on which the target is fitted. Predictions and honest errors are in its own units;
        predictions are medians if the errors are symmetric on that scale. "auto": the scale,
        including none, with the lowest squared error of the search (made comparable as by Box and
        Cox).
    lags : dict of str to int or list of int, optional
        Earlier values to use as features, for equally spaced rows in time order: ``{"load": 24}``
        adds the load 1 to 24 rows before, ``{"load": [1, 168]}`` that of these two. The target may
        be among them if ``y`` is the name of its column. Rows without all of them are not used.
    horizon : int
        Number of rows ahead to predict. With 1 or more, the current value of the target is known,
        and is a feature if ``y`` is the name of its column.
    choose : str, int, float or None
        Rule that chooses the size; None: that of ``selector``.
    validation : "auto", int, "loo", splitter or None
        Outer splits for the honest error: a number of folds ("auto": that of ``selector``), a
        scikit-learn splitter, or a list of splits. With ``lags`` or ``horizon``, "auto" is "time",
        training rows end before the first held-out target, and random folds raise an error.
    callback : callable, optional
        Called with the path so far; a true return value stops the search.

    Attributes
    ----------
    path_ : SelectionPath
        Path in terms of the columns of the table.
    preparation_ : TablePreparation
        Fitted preparation.
    selector_ : selector
        Fitted selector on the numeric columns.
    lagged_ : tuple of (str, int)
        With ``lags`` or ``horizon``: for each column of the path the column of the table, and how
        many rows before. Otherwise empty.
    transform_ : str or None
        Scale on which the target was fitted: "log", "log1p", "sqrt" or None.
    models_ : dict of size to Predictor
        Models of the numeric columns.
    selected_ : array of int
        Selected columns of the table.
    n_features_in_, feature_names_in_ : int, array of str
        Number and names of the columns of the table.
    classes_ : array
        Class labels, for classifiers.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation).

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sparsepath import SparseRLSRegressor, TableSelector
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"colour": rng.choice(["red", "blue", "green"], 90),
    ...                       "size": rng.normal(size=90), "noise": rng.normal(size=90)})
    >>> price = 3 * table["size"] + 5 * (table["colour"] == "red") + rng.normal(size=90)
    >>> table.loc[4, "size"] = None
    >>> model = TableSelector(SparseRLSRegressor(), missing="median").fit(table, price)
    >>> model.get_feature_names_out().tolist()
    ['colour', 'size']
    >>> model.predict(table).shape
    (90,)
    """

    selector: Any = None
    _: KW_ONLY
    missing: str = "error"
    dates: str = "error"
    max_categories: int = 30
    date_format: Any = None
    transform_target: str | None = None
    lags: Any = None
    horizon: int = 0
    choose: Any = None
    validation: Any = "auto"
    callback: Any = None

    @property
    def _selector(self) -> Any:
        return SparseRLSRegressor() if self.selector is None else self.selector

    @property
    def _n_folds(self) -> int:  # type: ignore[override]
        return int(self._selector._n_folds)

    @_beneath("expected_seconds")
    def expected_seconds(self, X: Any) -> float:
        """Estimate the CPU seconds of a search, without the folds of the honest error."""
        return float(self._selector.expected_seconds(X))

    def _fold_seconds(self, n: int, p: int) -> float:
        beneath = getattr(self._selector, "_fold_seconds", None)
        encoding = 5e-3 + 1e-4 * p  # measured at 100 and 140 rows
        return math.inf if beneath is None else encoding + float(beneath(n, p))

    @property
    def _metric(self) -> Any:
        return getattr(self._selector, "_metric", None)

    @property
    def cv(self) -> Any:
        """Splits of the search."""
        return getattr(self._selector, "cv", None)

    def __sklearn_tags__(self) -> Any:
        tags, beneath = super().__sklearn_tags__(), get_tags(self._selector)
        tags.estimator_type = beneath.estimator_type
        tags.classifier_tags, tags.regressor_tags = beneath.classifier_tags, beneath.regressor_tags
        tags.target_tags = beneath.target_tags
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> "TableSelector":
        """Prepare the table and select features.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), array, or source
            The table. Results of ``open``, pyarrow datasets, polars lazy frames and Dask data
            frames are read in passes.
        y : array, str or None
            The target. For data frames and data that are read in passes also the name of its
            column; for the latter also None.
        sample_weight : array, optional
            Sample weights, for selectors that support them.
        groups : array, optional
            Group labels; all splits keep groups together.
        """
        fitted = copy.copy(self)
        for name in [name for name in vars(fitted) if name.endswith("_")]:
            delattr(fitted, name)
        fitted.lagged_ = ()
        if is_source(X):
            fitted._fit_source(as_source(X, y, sample_weight), groups)
        else:
            fitted._fit(X, y, sample_weight, groups)
        self.__dict__ = fitted.__dict__  # all at once: an error or Ctrl-C leaves what was there
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Fit a table in memory."""
        check_shared(self)
        beneath = self._selector
        if not isinstance(beneath, PathSelector) or isinstance(beneath, TableSelector):
            raise InputError(
                f"selector={beneath!r} has no path of columns; give a selector of "
                "sparsepath, such as SparseRLSRegressor()."
            )
        check_formats(self.date_format)
        table, y, target = _with_target(table_of(X, self.date_format), y)
        names = names_of(X) if target is None else table.columns
        lags = Lags.of(self.lags, self.horizon)
        if lags is not None:
            table, y, names = self._in_time(lags, X, y, target, sample_weight, groups)
        elif target is not None:
            table = RawTable(cell for cell in table.cells if cell.name != target)
            names = table.columns
        if not is_classifier(beneath):
            y, self._dates = target_numbers(y, self.date_format)
        given = Given.of(table, y, sample_weight=sample_weight, groups=groups)
        check_weights_taken(beneath, given.more)
        automatic = getattr(beneath, "_chooses_method", False)
        paths = self._choose_method(given) if automatic else self._search(given)
        if self.validation is not None and not isinstance(X, RawTable):  # the command line looks
            for each in suspects(table, table.columns, y, classes=hasattr(self, "classes_")):
                if each.is_certain:
                    warn_user(
                        f"{each.sentence}, {ON_ROWS_LEFT_OUT}. If it is not known before the "
                        "target is, leave it out."
                    )
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        if automatic:
            return
        if lags is None:
            self._settle_by(self, given, paths=paths)
        else:
            parts = self._parts_in_time(len(table))
            self._settle_by(self._of_made_columns(), given, paths=paths, parts=parts)

    def _search(self, given: Given, refit: Refit | None = None) -> dict[Any, SelectionPath]:
        """Prepare the columns and search, once for every penalty among which honest errors choose;
        return the paths of these. The model is that of the first.
        """
        prepared = self._preparation.fit(given.X)
        of = self._checked(prepared)
        inner = clone(self._selector)
        inner.set_params(**self._asked(inner, of, prepared, given.X.columns))
        known = {name: v for name, v in given.more.items() if has_fit_parameter(inner, name)}
        Z, paths = prepared.transform(given.X), dict[Any, SelectionPath]()
        ways = self._ways(given.X, given.y, given.more)
        for name in [None] if ways is None else reversed(ways.estimators):
            one = inner if name is None else clone(inner).set_params(alpha=name)
            found = self._fit_beneath(one, Z, given, known, refit)
            self._take_from(found, prepared, given.X.columns)
            paths[name] = self.path_
            if not self.path_.complete:
                break
        return {} if ways is None else paths

    def _choose_method(self, given: Given) -> dict[Any, SelectionPath]:
        """Take over the method and the size that an ``AutoSelector`` chooses."""
        auto = self._automatic().fit(given.X, given.y, **given.more)
        if auto._chosen is None:  # no search has ended
            raise StopRequestedError
        self._offsets: dict[int, Floats] = {}
        for name in OF_SEARCH:
            setattr(self, name, getattr(auto._chosen, name))
        for name in OF_CHOICE:
            if hasattr(auto, name):
                setattr(self, name, getattr(auto, name))
        self._move_beneath()
        return {}

    def _move_beneath(self) -> None:
        """Add the offsets of a calibration to the models of the inner selector."""
        inner = self.selector_
        inner.path_ = inner.path_.moved({self._sizes[k]: b for k, b in self._offsets.items()})
        inner._take(len(inner.selected_))

    def _automatic(self) -> Any:
        """Return the inner ``AutoSelector``, whose methods prepare the table by themselves."""
        auto = clone(self._selector)
        if auto.final is not None:
            raise InputError(f"final={auto.final!r} is for arrays; remove it.")
        if self.lags or self.horizon:
            raise InputError("lags and horizon need one method; AutoSelector compares several.")
        auto.set_params(choose=self._asked_size, validation=self.validation, callback=self.callback)
        auto._prepared_by = clone(self).set_params(selector=None, callback=None)
        return auto

    def _ways(self, X: Any, y: Any, given: Mapping[str, Any]) -> Ways | None:
        """Return the ways among which honest errors choose; None if there is one."""
        inner = self._selector
        if getattr(inner, "_chooses_method", False):
            return self._automatic()._ways(X, y, given)
        if not isinstance(inner, PredictingRLS) or isinstance(inner.alpha, Real) or is_source(X):
            return None
        if self.validation is None:
            return None
        table = table_of(X, self.date_format)
        target = y if is_classifier(inner) else target_numbers(y, self.date_format)[0]
        Z = _with_columns(self._preparation.fit(table)).transform(table)
        wanted = {"validation": self.validation, "choose": self._asked_size}
        ways = clone(inner).set_params(**wanted)._ways(Z, target, given)
        return None if ways is None else TablePenalties(self, ways, table)

    def _of_way(
        self,
        judged: HeldOutLosses,
        path: SelectionPath,
        given: Given,
        paths: Mapping[Any, SelectionPath],
    ) -> tuple[SelectionPath, dict[str, Any]]:
        """Return the path and fitted attributes of the penalties that honest errors chose."""
        way, ways = judged.way, self._ways(given.X, given.y, given.more)
        assert isinstance(ways, TablePenalties)
        one = quiet_copy(ways.estimators[way.search])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PathWarning)
            one._search(given, partial(ways.refitted, alpha=way.refit))
        one.selector_.set_params(alpha=self._selector.alpha)
        one.selector_.alpha_, one.selector_.refit_alpha_ = way
        same = {name: path.parameters[name] for name in ("choose", "validation")}
        found = one.path_.replaced(
            parameters={**one.path_.parameters, **same},
            feature_names=path.feature_names,
            data=path.data,
        )
        return found, {name: getattr(one, name) for name in OF_SEARCH}

    def _in_time(
        self, lags: Lags, X: Any, y: Any, target: str | None, sample_weight: Any, groups: Any
    ) -> tuple[RawTable, Any, list[str]]:
        """Return the rows with all lags, and their targets ``horizon`` rows later."""
        if sample_weight is not None or groups is not None:
            raise InputError("lags and horizon exclude sample_weight and groups; remove them.")
        raw = table_of(X, self.date_format)
        self.lagged_ = lags.places(raw.columns, target)
        made = earlier(raw, self.lagged_, lags.horizon)
        first = history(self.lagged_) + lags.horizon
        return made, np.asarray(y)[first : first + len(made)], made.columns

    def _of_made_columns(self) -> "TableSelector":
        """Return a selector of columns that are there already, lags and all."""
        plain = copy.copy(self)
        plain.lags, plain.horizon = None, 0
        plain.lagged_ = ()
        return plain

    def _parts_in_time(self, rows: int) -> Any:
        """Return parts in time order; training rows end before the first target left out."""
        if self.validation is None:
            return None
        if not isinstance(self.validation, str) or self.validation == "loo":
            if hasattr(self.validation, "split"):
                return parts_of(self.validation, np.zeros((rows, 1)), np.zeros(rows))
            raise InputError(
                f"validation={self.validation!r}: with lags or horizon rows are validated in time "
                "order; use validation='time'."
            )
        return in_time(rows, gap=max(self.horizon - 1, 0))

    def _history(self, X: Any, wanted: Sequence[int] | None = None) -> Any:
        """Return the table with its lags, for the rows that have them."""
        lagged = self.lagged_
        if not lagged:
            return X
        places = lagged if wanted is None else [lagged[i] for i in wanted]
        return earlier(table_of(X, self.date_format), places) if places else X

    def _for_all_rows(self, found: Any) -> Any:
        """Return predictions with gaps for the first rows, which have no history."""
        lagged = self.lagged_
        return after_history(found, history(lagged[i] for i in self.selected_)) if lagged else found

    def _fit_beneath(
        self, inner: Any, Z: Floats, given: Given, known: Mapping[str, Any], refit: Refit | None
    ) -> Any:
        """Return the selector fitted to the target on its scale, with models of the target."""
        self.transform_, scale, y = None, None, given.y
        if self.transform_target is None:
            inner = inner.fit(Z, y, **known)
        else:
            target = check_transform(self.transform_target, y, classes=is_classifier(inner))
            inner, scale = _on_best_scale(inner, Z, target, self.transform_target, known)
            self.transform_ = None if scale is None else scale.link
        if refit is not None:
            inner.path_ = refit(Z, scale, inner.path_)
        if scale is not None:
            inner.path_ = in_units(inner.path_, scale, target, known.get("sample_weight"))
        return inner

    def _check(self, X: Any, y: Any) -> None:
        """Raise the errors that a fit would raise about the table and the target."""
        _with_columns(self._preparation.fit(table_of(X, self.date_format)))
        if self.transform_target is not None:
            check_transform(self.transform_target, y, classes=is_classifier(self._selector))

    @property
    def _preparation(self) -> TablePreparation:
        return TablePreparation(
            missing=self.missing,
            dates=self.dates,
            max_categories=self.max_categories,
            date_format=self.date_format,
        )

    def _checked(self, prepared: TablePreparation) -> NDArray[np.intp]:
        """Return the table column of each numeric column, and a note about columns without
        values.
        """
        of = _with_columns(prepared).groups_
        for feature in prepared.features_:
            if not feature.labels and feature.name in prepared.notes_:
                warn_user(prepared.notes_[feature.name])
        return of

    def _take_from(self, inner: Any, prepared: TablePreparation, columns: Sequence[str]) -> None:
        """Take the path of the inner selector, in terms of table columns."""
        inner.callback = None  # it is no part of the model
        self.preparation_, self.selector_ = prepared, inner
        self.n_features_in_ = len(columns)
        if hasattr(inner, "classes_"):
            self.classes_ = inner.classes_
        self.path_, self._sizes = self._in_table(inner.path_, prepared.groups_, columns)

    def _in_table(
        self, path: SelectionPath, of: NDArray[np.intp], names: Sequence[str]
    ) -> tuple[SelectionPath, dict[int, int]]:
        """Return a path of the inner selector in terms of table columns, including its
        parameters.
        """
        given = self._selector.get_params(deep=False)
        said = {name: given[name] for name in OF_COLUMNS if name in path.parameters}
        for name in COLUMNS:
            if said.get(name) is not None:
                said[name] = column_indices(said[name], names, len(names), name)
        said.update(self.get_params(deep=False), choose=self._asked_size)
        said["selector"] = type(self._selector).__name__
        del said["callback"]
        made, sizes = _in_features(path, of, names, given.get("max_features"))
        return made.replaced(parameters={**path.parameters, **plain(said)}), sizes

    def _fit_source(self, source: Source, groups: Any) -> None:
        """Fit in passes.

        The sums of the inner search serve the repetitions without a part, too, if the same columns
        of numbers are made of the table without it; otherwise they take passes of their own.
        """
        for name in ("date_format", "transform_target", "lags", "horizon"):
            if getattr(self, name):
                raise InputError(f"{name} needs data in memory; remove it.")
        refuse_source(self._selector, source)
        if source.names is None:
            raise InputError("data read in passes need column names.")
        if not all(hasattr(part, "cells") for part in source.parts):
            raise InputError(
                f"{source.where} is not a table: preparation in passes supports "
                "Parquet, Feather and CSV files; read it into memory, or write one of these."
            )
        inner, names = clone(self._selector), source.names
        threads = getattr(inner, "n_threads", None)
        with source.crew(threads) as crew:
            known = values_of(source, crew, self.missing)
            source = source if source.typed else with_types(source, known)
            prepared = learnt(source, crew, self._preparation, known)
            together = groups_of(source, crew, groups)
        of = self._checked(prepared)
        inner.set_params(**self._asked(inner, of, prepared, names))
        more = {} if together is None else {"groups": together}
        parts = parts_in_passes(self, source, together)
        shared = inner._validated = SharedValidation(parts)
        inner.fit(as_numbers(source, prepared), **more)
        del inner._validated
        self._take_from(inner, prepared, names)
        self.feature_names_in_ = np.array(names, dtype=object)

        def shorter(
            estimator: Any, again: Sequence[Repetition]
        ) -> Iterator[RepetitionResult | None]:
            assert shared.shorter is not None
            for one, each in zip(shared.shorter(inner, again), again, strict=True):
                yield self._in_features(one, source, each.rows, threads)

        how = {} if parts is None else {"parts": parts, "shorter": shorter}
        self._settle_by(self, Given.of(source, None, **more), **how)

    def _in_features(
        self, found: RepetitionResult | None, source: Source, rows: Any, n_threads: int | None
    ) -> RepetitionResult | None:
        """Return what the inner search found on some rows in terms of table columns; None if other
        columns of numbers are made of these rows.
        """
        if found is None:
            return None
        some = source.taken(rows, SourceRows(source, n_threads).targets()[0][rows])
        with source.crew(n_threads) as crew:
            known = values_of(some, crew, self.missing)
            prepared = learnt(some, crew, self._preparation, known)
        if prepared.features_ != self.preparation_.features_:
            return None
        of, most = prepared.groups_, self._selector.get_params().get("max_features")
        best = _best_of_size(found.subsets, found.errors, of, most)

        def outputs(of_rows: Rows) -> dict[int, Floats]:
            beneath = found.outputs(of_rows)
            return {size: beneath[k] for size, k in best.items()}

        subsets = {size: _features(found.subsets[k], of) for size, k in best.items()}
        errors = {size: found.errors[k] for size, k in best.items()}
        own = None if found.own is None else len(_features(found.subsets[found.own], of))
        return RepetitionResult(subsets, errors, outputs, own=own)

    def _steps_in_passes(self, source: Source) -> tuple[Source, dict[int, Step]]:
        """Return the columns of numbers of a table, and the models of the path on these."""
        beneath = self.selector_.path_
        steps = dict(zip(beneath.sizes, beneath.steps, strict=True))
        of_size = {size: steps[k] for size, k in self._sizes.items()}
        return as_numbers(source, self.preparation_), of_size

    def _settle_by(self, searcher: "TableSelector", given: Given, **how: Any) -> None:
        """Validate the path, by repetitions of a searcher, and choose the size."""
        rule, self.honest_ = self._rule(), None
        self._slopes: dict[int, float] = {}
        self._offsets = {}
        if self.path_.complete:
            self.path_, self.honest_ = validate(
                searcher, self.path_, rule, given, accept=self.__dict__.update, **how
            )
            self._move_beneath()
        self._take(self.path_.settle(rule) if self.honest_ is None else self.honest_.size)

    def _asked(
        self, inner: Any, of: Any, prepared: TablePreparation, names: Sequence[str]
    ) -> dict[str, Any]:
        """Return the parameters of the inner selector, with table columns converted to numeric
        columns.
        """
        takes = inner.get_params(deep=False)
        asked: dict[str, Any] = {name: value for name, value in BENEATH.items() if name in takes}
        if self.callback is not None:
            asked["callback"] = lambda path: self.callback(self._in_table(path, of, names)[0])
        n = len(prepared.features_)
        for name in COLUMNS:
            if takes.get(name) is not None:
                wanted = column_indices(takes[name], names, n, name)
                asked[name] = [int(j) for i in wanted for j in np.flatnonzero(of == i)]
        if takes.get("feature_costs") is not None:
            costs = np.asarray(takes["feature_costs"], dtype=np.float64)
            asked["feature_costs"] = (costs / np.bincount(of, minlength=n))[of]
        if "feature_groups" in takes and (
            len(np.unique(of)) < len(of) or takes["feature_groups"] is not None
        ):
            labels = takes["feature_groups"]
            groups = np.arange(n) if labels is None else np.unique(labels, return_inverse=True)[1]
            asked["feature_groups"] = groups[of]
            if takes.get("max_features") is not None:
                widths = np.sort(np.bincount(of, minlength=n))[::-1]
                most = count("max_features", takes["max_features"], 0)
                asked["max_features"] = int(widths[:most].sum())
        return asked

    @property
    def _asked_size(self) -> Any:
        return getattr(self._selector, "choose", None) if self.choose is None else self.choose

    @property
    def _own_size(self) -> int | None:
        if self.selector_._own_size is None:
            return None
        return len(np.unique(self.preparation_.groups_[self.selector_.selected_]))

    def _rule(self) -> Any:
        """Return the rule that chooses the size; None if the selector determines its own size."""
        return self._own_size if self._asked_size is None else self._asked_size

    def _used(self) -> Any:
        """Return the inner selector with the model in use."""
        check_is_fitted(self)
        return self.selector_.at_size(self._sizes[len(self.selected_)])

    def prepare(self, X: Any) -> Floats:
        """Return the numeric columns that the inner selector uses.

        Parameters
        ----------
        X : data frame with the columns of the fit, in any order, or array
            Samples.
        """
        check_is_fitted(self)
        return self.preparation_.transform(self._history(X))

    def _as_numbers(self, X: Any, y: Any) -> tuple[Floats, Any, Any]:
        """Return what the selector beneath was fitted to, and it with the names of its columns."""
        model, target = copy.copy(self._used()), y
        if not is_classifier(model):
            target = target_numbers(y, self.date_format)[0]
        if self.transform_ is not None:
            target = SCALES[self.transform_].forward(np.asarray(target, dtype=np.float64))
        names = tuple(map(str, self.preparation_.get_feature_names_out()))
        model.path_ = model.path_.replaced(feature_names=names)
        return self.prepare(X), target, model

    def _needed(self, X: Any) -> Floats:
        """Return the numeric columns, reading only the table columns in use."""
        check_is_fitted(self)
        wanted = self.selected_.tolist()
        return self.preparation_.some(self._history(X, wanted), wanted)

    def _at_sizes(self, X: Any) -> tuple[Floats, dict[int, Any]]:
        """Return the numeric columns and the inner selector at every size."""
        return self.prepare(X), {size: self.selector_.at_size(k) for size, k in self._sizes.items()}

    @_beneath("predict")
    def predict(self, X: Any) -> Any:
        """Predict for samples of a table.

        Parameters
        ----------
        X : data frame with the columns in use, or array
            Samples.
        """
        return self._for_all_rows(self._calibrated().predict(self._needed(X)))

    @_beneath("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Return class scores.

        Parameters
        ----------
        X : data frame with the columns in use, or array
            Samples.
        """
        return self._for_all_rows(self._used().decision_function(self._needed(X)))

    @_beneath("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities.

        Parameters
        ----------
        X : data frame with the columns in use, or array
            Samples.
        """
        return self._for_all_rows(self._calibrated().predict_proba(self._needed(X)))

    @_beneath("predict_log_proba")
    def predict_log_proba(self, X: Any) -> Any:
        """Return logarithms of the class probabilities.

        Parameters
        ----------
        X : data frame with the columns in use, or array
            Samples.
        """
        return self._for_all_rows(self._calibrated().predict_log_proba(self._needed(X)))

    def _calibrated(self) -> Any:
        """Return the inner selector with the model in use, and its calibrated slope."""
        model, size = self._used(), len(self.selected_)
        for name in ("_slopes", "_thresholds"):
            value = getattr(self, name, {}).get(size)
            if value is not None:
                setattr(model, name, {len(model.selected_): value})
        return model

    def _slope_at(self, size: int) -> float:
        known = getattr(self, "_slopes", {}).get(size)
        return float(self.selector_._slope_at(self._sizes[size]) if known is None else known)

    def _threshold_at(self, size: int) -> float:
        return float(getattr(self, "_thresholds", {}).get(size, 0.0))

    @_beneath("score")
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R2 for regression, accuracy for classification.

        Parameters
        ----------
        X : data frame with the columns in use, or array
            Samples.
        y : array
            Targets of the rows; with a horizon those of later rows count.
        sample_weight : array, optional
            Sample weights.
        """
        if self.lagged_:
            first = history(self.lagged_[i] for i in self.selected_)
            Z = self._needed(X)[: len(y) - first - self.horizon]
            return float(self._calibrated().score(Z, np.asarray(y)[first + self.horizon :]))
        return float(self._calibrated().score(self._needed(X), y, sample_weight))

    def transform(self, X: Any) -> Any:
        """Return the selected columns of a table, unchanged.

        Parameters
        ----------
        X : data frame or array
            Samples.
        """
        check_is_fitted(self)
        if names_of(X) is None:
            return np.asarray(X)[:, self.selected_]
        import narwhals as nw

        names = [str(self.feature_names_in_[i]) for i in self.selected_]
        return nw.from_native(X, eager_only=True).select(names).to_native()


def _with_columns(prepared: TablePreparation) -> TablePreparation:
    """Return a fitted preparation, if it can use any column."""
    if not len(prepared.groups_):
        why = " ".join([*prepared.notes_.values()][:1])
        raise InputError(f"no column of the table can be used. {why}")
    return prepared


def _on_best_scale(
    inner: Any, Z: Floats, target: Floats, name: str, known: Mapping[str, Any]
) -> tuple[Any, TargetScale | None]:
    """Return the selector fitted on the scale with the least error, and this scale."""
    best: tuple[Any, TargetScale | None] = inner, None
    least, scales = math.inf, candidates(name, target)
    for scale in scales:
        fitted = clone(inner).fit(Z, target if scale is None else scale.forward(target), **known)
        error = relative_error(fitted.path_, scale, target) if len(scales) > 1 else 0.0
        if error < least:
            best, least = (fitted, scale), error
    return best


def _with_target(table: RawTable, y: Any) -> tuple[RawTable, Any, str | None]:
    """Return the table, the target, and the name of its column if it is one of the table."""
    if not isinstance(y, str):
        return table, y, None
    if y not in table.columns:
        raise InputError(f"y={y!r}: the table has no column of this name.")
    cell = table.cells[table.columns.index(y)]
    if cell.n_missing:
        raise InputError(f"y={y!r} is missing in {cell.n_missing} rows; remove these rows.")
    return table, cell.values, y


def _in_features(
    path: SelectionPath, of: Any, names: Sequence[str], most: int | None
) -> tuple[SelectionPath, dict[int, int]]:
    """A path of columns of numbers as one of columns of the table, and which size is which.

    ``of`` says which column of the table each is made of.
    """
    known = dict(zip(path.sizes, path.steps, strict=True))
    subsets = {size: step.subset for size, step in known.items()}
    best = _best_of_size(subsets, {size: step.error for size, step in known.items()}, of, most)
    inside, moves = set(path.start), list[Move]()
    for move in path.moves:
        before = _features(sorted(inside), of)
        inside = inside | {move.feature} if move.action == "add" else inside - {move.feature}
        feature = int(of[move.feature])
        if (feature in before) != (feature in _features(inside, of)):
            moves.append(replace(move, feature=feature))
    steps = [
        replace(known[k], subset=_features(known[k].subset, of), coef=None, intercept=None)
        for k in best.values()
    ]
    made = path.replaced(
        steps=tuple(steps),
        n_features=len(names),
        feature_names=tuple(names),
        moves=tuple(moves),
        start=_features(path.start, of),
        data={**path.data, "n_features": len(names)},
        _models={size: path.model(k) for size, k in best.items()} if path.models else {},
    )
    return made, best


def _features(columns: Iterable[int], of: Any) -> tuple[int, ...]:
    """Return the columns of the table that columns of numbers are made of."""
    return tuple(dict.fromkeys(int(of[j]) for j in columns))


def _best_of_size(
    subsets: Mapping[int, Sequence[int]], errors: Mapping[int, float], of: Any, most: int | None
) -> dict[int, int]:
    """Return, for each number of columns of the table, the size of the best subset with these."""
    best: dict[int, int] = {}
    for k, subset in subsets.items():
        size = len(_features(subset, of))
        if (most is None or size <= most) and (size not in best or errors[k] < errors[best[size]]):
            best[size] = k
    return dict(sorted(best.items()))
