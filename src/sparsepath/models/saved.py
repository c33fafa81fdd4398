"""Model files: plain data that cannot run code.

A file is JSON: a schema name, a checksum, and the content with the small models of every size
(``predictors.py``) and everything else a prediction needs: names and layout of the columns, class
labels, the size in use. Floats are exact. A modified file raises an error, and so does content
that does not match ``MODEL_SCHEMA``, whatever its checksum.
"""

import json
import os
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsepath.data.classes import USUAL_SLOPE, log_probabilities, winners
from sparsepath.data.layout import BY_NAME, BY_NUMBER, BY_PLACE, Layout
from sparsepath.data.names import NumberedNames
from sparsepath.errors import FileError, InputError
from sparsepath.models.export import export
from sparsepath.models.export.subject import check_size
from sparsepath.models.predictors import Predictor
from sparsepath.system.arrays import Floats
from sparsepath.system.files import replacing
from sparsepath.system.json_files import canonical, check, checksum, parse, plain, versions_in_use
from sparsepath.tables.cells import cells_of, text_names_of
from sparsepath.tables.features import CLOCK_PARTS, DATE_PARTS, DATES, MISSING
from sparsepath.tables.lags import LaggedColumn, after_history, earlier, history
from sparsepath.tables.preparation import TablePreparation

SCHEMA = "sparsepath/model"
VERSION = 1
_FEATURE = {
    "name": str,
    "kind": {"number", "flag", "category", "ordered", "date"},
    "values": [str],
    "missing": {*MISSING},
    "fill": [(str, float)],
    "flagged": bool,
    "unit": str,
    "style": str,
    "format?": str,
}
MODEL_SCHEMA = {
    "sparsepath": str,
    "estimator": str,
    "n_features": int,
    "names": (None, [str]),
    "layout": {
        "kind": {BY_NAME, BY_PLACE, BY_NUMBER},
        "columns": int,
        "first": int,
        "target": (None, int),
        "numbers": [int],
    },
    "preparation?": (
        None,
        {
            "asked": {
                "missing": {*MISSING},
                "dates": {*DATES},
                "max_categories": int,
                "date_format?": (None, str, dict),
            },
            "named": bool,
            "features": [_FEATURE],
        },
    ),
    "classes": (None, [(str, bool, int, float)]),
    # Of a target of dates: predictions are days since 1970-01-01.
    "dates?": (None, {"kind": {"date", "time"}, "format": str}),
    # Of a table in time order: for each feature a column and how many rows before, and how many
    # rows later the target lies.
    "lags?": (None, {"columns": [{"column": str, "lag": int}], "horizon": int}),
    "size": int,
    # For classes: what multiplies scores before the logistic function, and the score above which
    # the second of the two classes is predicted.
    "models": [
        {"size": int, "features": [int], "model": dict, "slope?": float, "threshold?": float}
    ],
}


class SavedModel:
    """Fitted model loaded from a file by ``load_model``.

    It predicts like the selector that was saved, and does not contain the search.

    Attributes
    ----------
    models_ : dict of size to Predictor
    selected_ : array of int
        Columns of the model in use.
    n_features_in_ : int
    feature_names_in_ : array of str
        Column names, if there are any.
    classes_ : array
        Class labels, for classifiers.
    estimator_ : str
        Name of the estimator.
    dates_ : dict of str to str or None
        If the target is a date, which is predicted as days since 1970-01-01: its kind ("date" or
        "time") and format.
    lagged_ : tuple of (str, int)
        For models with lags: for each feature a column, and how many rows before.
    horizon_ : int
        Number of rows ahead that are predicted.
    layout_ : Layout
        How the columns of the data are identified.
    preparation_ : TablePreparation
        Preparation, for models of raw tables.
    """

    models_: dict[int, Predictor]
    selected_: NDArray[np.intp]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    classes_: NDArray[Any]
    estimator_: str
    dates_: dict[str, str] | None
    lagged_: tuple[LaggedColumn, ...] = ()
    horizon_: int = 0
    layout_: Layout
    preparation_: TablePreparation

    def __init__(self, content: dict[str, Any]) -> None:
        check(content, MODEL_SCHEMA)
        self.n_features_in_, self.estimator_ = content["n_features"], content["estimator"]
        self.layout_ = Layout(**{**content["layout"], "numbers": (*content["layout"]["numbers"],)})
        if content.get("preparation") is not None:
            _check_features(content["preparation"]["features"])
            self.preparation_ = TablePreparation.from_dict(content["preparation"])
        if content["names"] is not None:
            self.feature_names_in_ = np.array(content["names"], dtype=object)
        if content["classes"] is not None:
            self.classes_ = np.array(content["classes"])
        self.dates_ = content.get("dates")
        lags = content.get("lags")
        if lags is not None:
            self.lagged_ = tuple(LaggedColumn(**each) for each in lags["columns"])
            self.horizon_ = int(lags["horizon"])
        self._content = content
        sizes = [each["size"] for each in content["models"]]
        self._subsets = {
            each["size"]: np.array(each["features"], dtype=np.intp) for each in content["models"]
        }
        self.models_ = {
            each["size"]: Predictor.from_dict(each["model"]) for each in content["models"]
        }
        self._check(sizes)
        check_size(content["size"], self.models_)
        self.selected_ = self._subsets[content["size"]]

    def _check(self, sizes: list[int]) -> None:
        """Raise an error for inconsistent parts."""
        n, names, classes = self.n_features_in_, self._content["names"], self._content["classes"]
        columns = n
        if hasattr(self, "preparation_"):
            columns = len(self.preparation_.groups_)
            _expect(len(self.preparation_.features_) == n, "a preparation of all features")
        _expect(names is None or len(names) == n, "a name for every feature")
        _expect(len(self.layout_.numbers) in (0, n), "a number for every feature")
        lagged = self.lagged_ or (LaggedColumn("", 0),) * n
        _expect(len(lagged) == n and min(e.lag for e in lagged) >= 0, "lags of every feature")
        _expect(not self.lagged_ or hasattr(self, "preparation_"), "a preparation of the lags")
        _expect(len(set(sizes)) == len(sizes), "one model of each size")
        _expect(classes is None or len(classes) > 1, "two classes or more")
        outputs = None if classes is None else 1 if len(classes) == 2 else len(classes)
        for size, subset in self._subsets.items():
            found = sorted(set(subset.tolist()))
            _expect(len(found) == len(subset) == size, f"{size} features in the model of that size")
            _expect(not found or 0 <= found[0] <= found[-1] < n, "features of the data")
            model = self.models_[size]
            _expect(isinstance(model, Predictor), "models that predict")
            formula = model.formula()
            used = formula.columns.tolist()
            _expect(max(used, default=-1) < columns, "models of columns of the data")
            if columns == n:
                _expect(set(used) <= set(found), f"the features of the model of size {size}")
            outputs = formula.n_outputs if outputs is None else outputs
            _expect(formula.n_outputs == outputs, f"models with {outputs} outputs")

    @classmethod
    def of(cls, model: Any) -> Self:
        """Return the models of a fitted selector.

        Parameters
        ----------
        model : fitted selector
            A selector with models.
        """
        models = getattr(model, "models_", None)
        if not models:
            raise InputError(f"{type(model).__name__} has no models to save.")
        names = getattr(model, "feature_names_in_", None)
        classes = getattr(model, "classes_", None)
        preparation = getattr(model, "preparation_", None)
        beneath = getattr(model, "selector_", model)
        return cls(
            {
                "sparsepath": versions_in_use()["sparsepath"],
                "estimator": type(beneath).__name__,
                "n_features": int(model.n_features_in_),
                "names": None if names is None else [str(name) for name in names],
                "layout": plain(Layout.of_model(model).to_dict()),
                "preparation": None if preparation is None else plain(preparation.to_dict()),
                "classes": None if classes is None else _labels(classes),
                "dates": getattr(model, "_dates", None),
                **_of_time(model),
                "size": len(model.selected_),
                "models": [
                    {
                        "size": size,
                        "features": [int(i) for i in model.path_.subset(size)],
                        "model": small.to_dict(),
                        **_of_classes(model, size),
                    }
                    for size, small in models.items()
                ],
            }
        )

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        wanted = self.selected_.tolist()
        if hasattr(self, "preparation_"):
            if self.lagged_ and wanted:
                X = earlier(X, [self.lagged_[i] for i in wanted])
            X = self.preparation_.some(X, wanted)
        else:
            X = self._columns(X)
        return np.asarray(self.models_[len(self.selected_)].predict(X)).reshape(X.shape[0], -1)

    def _columns(self, X: Any) -> Any:
        """Return the columns in use: by name if X and the model have names, else by position."""
        named = text_names_of(X)
        names = getattr(self, "feature_names_in_", NumberedNames(self.n_features_in_))
        wanted = {i: str(names[i]) for i in self.selected_.tolist()}
        known = hasattr(self, "feature_names_in_")
        if named is not None and (known or set(wanted.values()) <= set(named)):
            cells = cells_of(X, [*wanted.values()])
            columns = {}
            for place, column in zip(wanted, cells, strict=True):
                if column.kind not in ("number", "flag"):
                    raise InputError(f"column {column.name!r} is text or dates, not numbers.")
                columns[place] = column.values
        else:
            X = X if hasattr(X, "tocsr") else np.asarray(X)
            if X.ndim != 2 or X.shape[1] != self.n_features_in_:
                raise InputError(
                    f"X has shape {X.shape}; the model was fitted to {self.n_features_in_} columns."
                )
            if hasattr(X, "tocsr"):
                by_column, X = X.tocsc(), X.tocsr()
                for place, name in wanted.items():
                    _check_finite(by_column[:, [place]].data, name, X.shape[0])
                return X
            columns = {place: _numbers(X[:, place], name) for place, name in wanted.items()}
        for place, values in columns.items():
            _check_finite(values, wanted[place], len(values))
        return _Columns(columns, (X.shape[0], self.n_features_in_))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict numbers or class labels.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), array or sparse matrix
            Columns of a data frame are matched by name, in any order; only those in use are needed.
            Arrays, and frames if the model has no names, need all columns of the fit.
        """
        out = self._outputs(X)
        if not hasattr(self, "classes_"):
            return self._for_all_rows(out[:, 0] if out.shape[1] == 1 else out)
        label = self.classes_[winners(out - self._threshold_at(len(self.selected_)))]
        return self._for_all_rows(label)

    def _for_all_rows(self, found: NDArray[Any]) -> NDArray[Any]:
        """Return predictions with gaps for the first rows, which have no history."""
        rows = history(self.lagged_[i] for i in self.selected_) if self.lagged_ else 0
        return after_history(found, rows)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return class probabilities, one column per class.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), array or sparse matrix
            Samples in the form that ``predict`` takes.
        """
        if not hasattr(self, "classes_"):
            raise AttributeError("a model of numbers has no predict_proba.")
        slope = self._slope_at(len(self.selected_))
        return self._for_all_rows(np.exp(log_probabilities(self._outputs(X), slope)))

    def _slope_at(self, size: int) -> float:
        return float(self._entry(size).get("slope", USUAL_SLOPE))

    def _threshold_at(self, size: int) -> float:
        return float(self._entry(size).get("threshold", 0.0))

    def _entry(self, size: int) -> dict[str, Any]:
        found: dict[str, Any] = next(e for e in self._content["models"] if e["size"] == size)
        return found

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return class scores; with two classes one score, positive for the second.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), array or sparse matrix
            Samples in the form that ``predict`` takes.
        """
        if not hasattr(self, "classes_"):
            raise AttributeError("a model of numbers has no decision_function.")
        out = self._outputs(X)
        return self._for_all_rows(out[:, 0] if out.shape[1] == 1 else out)

    def at_size(self, size: int) -> "SavedModel":
        """Return a copy that uses the model of another size.

        Parameters
        ----------
        size : int
            One of the keys of ``models_``.
        """
        check_size(size, self.models_)
        return SavedModel({**self._content, "size": size})

    def export(
        self,
        to: str,
        path: str | os.PathLike[str] | None = None,
        *,
        size: int | None = None,
        dtype: str | None = None,
    ) -> str | bytes:
        """Return the model as a program in another language; see ``PathSelector.export``.

        Parameters
        ----------
        to : {"c", "javascript", "json", "onnx", "python", "sql", "sql-probability"}
            Language or format.
        path : path, optional
            File to write.
        size : int, optional
            One of the keys of ``models_``; default: the size in use.
        dtype : {"double", "float"}, optional
            Precision of an ONNX graph; default: "double".
        """
        return export(self, to, path, size=size, dtype=dtype)

    def to_bytes(self) -> bytes:
        """Return the content of the file."""
        text = canonical(self._content)
        head = {"schema": SCHEMA, "schema_version": VERSION, "checksum": checksum(text)}
        return (json.dumps(head)[:-1] + f', "content": {text}}}\n').encode()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file; an existing one is replaced after the new one is complete.

        Parameters
        ----------
        path : path
            File, such as "model.json".
        """
        with replacing(path, "wb") as stream:
            stream.write(self.to_bytes())


def load_model(path: str | os.PathLike[str]) -> SavedModel:
    """Load a model file written by ``save_model`` or ``sparsepath select --out``.

    Loading runs no code. A modified or truncated file raises an error.

    Parameters
    ----------
    path : path
        The file, such as "result/model.json".

    Returns
    -------
    SavedModel
    """
    where = Path(path)
    if where.is_dir():
        inside = where / "model.json"
        hint = f"; did you mean {inside}?" if inside.is_file() else "."
        raise FileError(f"cannot load {where}: it is a folder, not a model{hint}")
    try:
        raw = where.read_bytes()
    except OSError as error:
        raise FileError(f"cannot load {where}: {error.strerror or error}.") from error
    return read_model(raw, where)


def read_model(raw: bytes, where: Path) -> SavedModel:
    """Return the model in the bytes of a file; ``where`` is used in messages."""
    if raw.lstrip()[:1] != b"{":
        pickled = raw[:1] in (b"\x80", b"x", b"\x1f", b"B") or where.suffix in (".joblib", ".pkl")
        why = (
            "it is a pickle, which can run any code when it is loaded; run select again for a "
            "model.json, or load it in Python with joblib if you trust it."
            if pickled
            else "it is not a model file (model.json) written by sparsepath select."
        )
        raise FileError(f"cannot load {where}: {why}")
    try:
        record = parse(raw)
        if record.get("schema") != SCHEMA:
            raise InputError("it is not a model file (model.json) written by sparsepath select.")
        version = record.get("schema_version")
        if version != VERSION:
            raise InputError(
                f"its version is {version!r}, and this sparsepath reads {VERSION}; use another "
                "sparsepath."
            )
        content = record.get("content")
        if record.get("checksum") != checksum(canonical(content)):
            raise InputError("the file was modified after it was written.")
        return SavedModel(content)
    except InputError as error:
        raise FileError(f"cannot load {where}: {error}") from error


class _Columns:
    """A matrix with only some of its columns."""

    def __init__(self, columns: dict[int, Floats], shape: tuple[int, int]) -> None:
        self.columns, self.shape, self.ndim = columns, shape, 2

    def __getitem__(self, key: tuple[slice, NDArray[np.intp]]) -> Floats:
        rows, places = key
        made = np.empty((self.shape[0], len(places)), order="F")  # as NumPy takes columns
        for j, place in enumerate(places.tolist()):
            made[:, j] = self.columns[place]
        return made[rows]


def _check_finite(values: Floats, name: str, rows: int) -> None:
    if bad := np.count_nonzero(~np.isfinite(values)):
        raise InputError(
            f"column {name!r} is missing or infinite in {bad} of {rows} rows; leave those rows out "
            "or impute them first."
        )


def _numbers(values: NDArray[Any], name: str) -> Floats:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"column {name!r} is not numeric.") from error


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise InputError(f"it is incomplete: it must have {what}.")


def _check_features(features: list[dict[str, Any]]) -> None:
    """Raise an error for inconsistent descriptions of table columns."""
    for each in features:
        kind, fill = each["kind"], each["fill"]
        if kind == "date":
            _expect(
                set(each["values"]) <= {*DATE_PARTS, *CLOCK_PARTS}, "parts of dates that are known"
            )
        wanted = str if kind == "category" else float
        _expect(all(isinstance(value, str) == (wanted is str) for value in fill), "fitting fills")
        most = len(each["values"]) if kind == "date" else 1
        _expect(len(fill) in (0, most), "fitting fills")


def _of_time(model: Any) -> dict[str, Any]:
    """Return lags and horizon, for models of earlier rows."""
    lagged = getattr(model, "lagged_", ())
    columns = [{"column": each.column, "lag": each.lag} for each in lagged]
    horizon = getattr(model, "horizon_", getattr(model, "horizon", 0))
    return {"lags": {"columns": columns, "horizon": int(horizon)}} if lagged else {}


def _of_classes(model: Any, size: int) -> dict[str, float]:
    """Return slope and threshold of the scores of a size, for classifiers."""
    if not hasattr(model, "classes_") or not hasattr(model, "_slope_at"):
        return {}
    threshold = model._threshold_at(size)
    return {"slope": model._slope_at(size), **({"threshold": threshold} if threshold else {})}


def _labels(classes: Any) -> list[Any]:
    """Return class labels as JSON values."""
    found = np.asarray(classes).tolist()
    return [label if isinstance(label, str | bool | int | float) else str(label) for label in found]
