"""``sparsepath predict``: apply a saved model to another file."""

import csv
import difflib
import hashlib
import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.cli.input import is_sparse
from sparsepath.cli.output import say
from sparsepath.cli.results import CHECKSUM, MODEL, without_formulas
from sparsepath.data.column_lookup import Rows, checked_target, find_column, rows_where
from sparsepath.data.formats import read_columns
from sparsepath.data.layout import BY_NUMBER, Layout, same_columns
from sparsepath.data.names import NumberedNames
from sparsepath.data.readers import read_table, write_table
from sparsepath.data.survival import Event, events_of
from sparsepath.data.validation import some_of
from sparsepath.errors import FileError, InputError
from sparsepath.models import saved
from sparsepath.models.saved import SavedModel
from sparsepath.report import figures
from sparsepath.tables.cells import naming_the_file, raw_table
from sparsepath.tables.dates import parse_dates, written_dates
from sparsepath.tables.features import quote_values
from sparsepath.tables.lags import earlier, history

Array = NDArray[Any]
SURVIVAL = "Cox"  # in the names of estimators whose predictions are risks


@dataclass(frozen=True)
class PredictionInput:
    """File, rows and target column that predictions are evaluated on."""

    path: Path
    rows: Rows | None = None
    target: str | None = None
    writing: Mapping[str, str] = field(default_factory=dict)  # how a text file is written
    ids: str | None = None  # a column that names the rows
    formats: Mapping[str, str] = field(default_factory=dict)  # of dates, by column; of the target
    target_format: str = ""
    event: Event | None = None  # of survival times


@dataclass(frozen=True)
class PredictionData:
    """What was read: the columns that a model uses, by its names, and what goes with the rows."""

    rows: int
    features: Mapping[str, Array]
    y: Array | None = None
    ids: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Predictions:
    """Predictions as columns, and their error if there is a target to judge them by."""

    columns: dict[str, Array]
    error: dict[str, float]
    judged: int = 0  # rows with a prediction and a true value
    ids: tuple[str, ...] = ()  # the columns that name the rows


def load_model(path: Path, size: int | None = None) -> SavedModel:
    """Load a model at a size; raise an error if the path.json next to it belongs to another run."""
    if path.is_dir():
        return saved.load_model(path)  # which says what may be meant
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileError(f"cannot load {path}: {error.strerror or error}.") from error
    model = saved.read_model(content, path)
    model = model if size is None else model.at_size(size)
    beside = path.parent / "path.json"
    try:
        expected = json.loads(beside.read_text("utf-8"))["data"][CHECKSUM]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return model
    if path.name == MODEL and hashlib.sha256(content).hexdigest() != expected:
        # Which features and which coefficients are wanted is then anybody's guess.
        raise FileError(
            f"cannot use {path}: {beside} belongs to another run; "
            "run select again, or move the model to another folder."
        )
    return model


def predict(model: SavedModel, given: PredictionInput) -> Predictions:
    """Predictions as columns: ``prediction``, or for a classifier ``label`` and ``score``.

    For survival times ``risk`` and ``hazard_ratio``: its exponential, 1 for an average row.

    With more than two classes there is a score for each, ``score_A`` and so on. Probabilities are
    ``probability_A`` and so on; with two classes that of the second alone. Only the columns
    that the model uses need be there, in any order. A target that was dates is predicted as dates.
    """
    risks, dates = SURVIVAL in model.estimator_, model.dates_
    if dates is not None:
        given = replace(given, target_format=dates["format"])
    if risks and (given.target is None) != (given.event is None):
        raise InputError("the model is of survival times; give both --target COL and --event COL.")
    data = _read(model, given)
    with naming_the_file(given.path):
        X = (
            raw_table(data.features)
            if data.features
            else np.zeros((data.rows, model.n_features_in_))
        )
        _say_what_is_new(model, X)
        columns = _risks(model, X) if risks else _columns(model, X)
    if again := [name for name in data.ids if name in columns]:
        raise InputError(f"{given.path}: --id {again[0]}: this is the name of an output column.")
    shown = {**data.ids, **columns}
    if dates is not None:
        shown["prediction"] = written_dates(columns["prediction"], **dates)
    if data.y is None:
        return Predictions(shown, {}, ids=tuple(data.ids))
    columns, y = _with_truth(model, columns, data.y)
    if y.dtype.kind in "biuf" and "label" in columns and columns["label"].dtype.kind not in "biuf":
        y = y.astype(str)
    if (y.dtype.kind in "biuf") != (next(iter(columns.values())).dtype.kind in "biuf"):
        raise InputError(
            f"{given.path}: target {given.target!r} is text, but the model predicts numbers."
        )
    if hasattr(model, "classes_") and not np.isin(y, model.classes_.astype(y.dtype)).any():
        raise InputError(
            f"{given.path}: target {given.target!r} has none of the model's classes, "
            f"{quote_values(model.classes_.tolist(), 5)}."
        )
    return Predictions(shown, figures.on_rows(model, columns, y), len(y), tuple(data.ids))


def ranked(found: Predictions, by: str) -> Predictions:
    """Return the rows by decreasing values of a column, with their rank (ties in file order) and,
    if no column names them, their number in the file.

    Rows without a prediction come last, without a rank.
    """
    able = [name for name, values in found.columns.items() if values.dtype.kind in "iuf"]
    if by not in able:
        names = ", ".join(able) or "none"
        raise InputError(f"--rank-by {by}: the columns of numbers in the output are {names}.")
    values = found.columns[by]
    order = np.argsort(-values.astype(np.float64), kind="stable")
    known = ~np.isnan(values[order].astype(np.float64))
    ranks = np.where(known, np.arange(1.0, len(order) + 1), np.nan)
    first: dict[str, Array] = {"rank": ranks if not known.all() else ranks.astype(np.int64)}
    if not found.ids:
        first["row"] = order + 1
    if again := [name for name in first if name in found.columns]:
        raise InputError(f"--rank-by adds the column {again[0]!r}, and there is one already.")
    return replace(found, columns=first | {name: v[order] for name, v in found.columns.items()})


def _lagged(model: SavedModel) -> list[Any]:
    """Return the columns and lags that a model uses; none without lags."""
    return [model.lagged_[i] for i in model.selected_] if model.lagged_ else []


def _say_what_is_new(model: SavedModel, X: Any) -> None:
    """Print notes on values that the model does not know, and on rows without a prediction."""
    if not hasattr(model, "preparation_"):
        return
    places = _lagged(model)
    made = earlier(X, places) if places else X
    for note in model.preparation_.unseen(made, model.selected_.tolist()):
        say(f"Note: {note}")
    rows, horizon = history(places), model.horizon_ if model.lagged_ else 0
    said = [f"each prediction is for {horizon} row{'s' * (horizon != 1)} later"] * (horizon > 0)
    first = "first row has" if rows == 1 else f"first {rows} rows have"
    said += [f"the {first} no prediction, for lack of earlier rows"] * (rows > 0)
    if said:
        say(f"Note: {'; '.join(said)}.")


def _with_truth(
    model: SavedModel, columns: dict[str, Array], y: Array
) -> tuple[dict[str, Array], Array]:
    """Return the predictions that have a true value, ``horizon`` rows later, and these values."""
    if not model.lagged_:
        return columns, y
    first = history(_lagged(model))
    columns = {name: values[first : len(y) - model.horizon_] for name, values in columns.items()}
    kept = {  # without gaps they are of their own type again
        name: values.astype(values[:1].tolist()[0].__class__) for name, values in columns.items()
    }
    return kept, y[first + model.horizon_ :]


def _risks(model: SavedModel, X: Any) -> dict[str, Array]:
    risk = np.asarray(model.predict(X))
    with np.errstate(over="ignore"):
        return {"risk": risk, "hazard_ratio": np.exp(risk)}


def _columns(model: SavedModel, X: Any) -> dict[str, Array]:
    predicted = np.asarray(model.predict(X))
    if not hasattr(model, "classes_"):
        if predicted.ndim == 1:
            return {"prediction": predicted}
        return {f"prediction_{t}": predicted[:, t] for t in range(predicted.shape[1])}
    columns: dict[str, Array] = {"label": predicted}
    if hasattr(model, "decision_function"):
        scores = model.decision_function(X)
        if scores.ndim == 1:
            columns["score"] = scores
        else:
            columns |= {f"score_{c}": scores[:, j] for j, c in enumerate(model.classes_)}
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(X)
        first = 1 if shares.shape[1] == 2 else 0
        named = list(enumerate(model.classes_))[first:]
        columns |= {f"probability_{c}": shares[:, j] for j, c in named}
    return columns


def _read(model: SavedModel, given: PredictionInput) -> PredictionData:
    """Read the columns that a model uses, by its names for them, and what goes with the rows."""
    known = getattr(model, "feature_names_in_", NumberedNames(model.n_features_in_))
    names = [str(known[i]) for i in model.selected_.tolist()]
    layout = Layout.of_model(model)
    in_file = names
    if layout.numbers:  # the names are for people; the file goes by numbers
        in_file = [f"x{layout.numbers[i]}" for i in model.selected_.tolist()]
    if hasattr(model, "preparation_"):
        formats = {f.name: f.format for f in model.preparation_.features_ if f.format}
        given = replace(given, formats=formats)
    if places := _lagged(model):  # what is read are the columns that lags are made of
        names = in_file = [*dict.fromkeys(place.column for place in places)]
    if not is_sparse(given.path):
        return _from_table(given, layout, names, in_file)
    if hasattr(model, "preparation_"):
        raise InputError(f"{given.path}: the model takes tables with text or missing values.")
    return _from_svmlight(given, layout, names, in_file)


def _from_svmlight(
    given: PredictionInput, layout: Layout, names: Sequence[str], in_file: Sequence[str]
) -> PredictionData:
    """Read an svmlight file; columns without entries are zero."""
    if given.ids is not None:
        raise InputError(f"{given.path}: svmlight files have no columns for --id.")
    table = read_table(given.path, target=given.target, rows=given.rows)
    file = table.layout or Layout(BY_NUMBER, len(table.names))
    called = same_columns(given.path, layout, in_file, file, table.names)
    found = np.zeros((table.X.shape[0], len(names)))
    there = sorted((table.names.index(n), j) for j, n in enumerate(called) if n in table.names)
    places, to = np.array(there, dtype=np.intp).reshape(-1, 2).T
    entries = table.X.tocoo()
    if len(places):
        at = np.minimum(np.searchsorted(places, entries.col), len(places) - 1)
        keep = places[at] == entries.col
        found[entries.row[keep], to[at[keep]]] = entries.data[keep]
    features = {name: found[:, j] for j, name in enumerate(names)}
    return PredictionData(len(found), features, table.y if given.target is not None else None)


def _from_table(
    given: PredictionInput, layout: Layout, names: Sequence[str], in_file: Sequence[str]
) -> PredictionData:
    """Read the columns of a file of any other format."""
    path = given.path
    columns, beside, file, *_ = read_columns(path, **given.writing)
    known, every = list(columns), beside | columns
    n_rows = len(next(iter(columns.values())))
    keep: Any = slice(None)

    def column(key: str) -> tuple[str, Array]:
        name = find_column(path, key, known, beside)
        if len(every[name]) != n_rows:
            raise InputError(f"{path}: array {name!r} has {len(every[name])} rows, not {n_rows}.")
        return name, every[name]

    if given.rows is not None:
        name, values = column(str(given.rows[0]))
        keep = rows_where(path, name, values, given.rows)
    y = None
    if given.target is not None:
        name, values = column(given.target)
        form = {name: given.target_format}
        with naming_the_file(path):
            y = checked_target(path, name, parse_dates(name, values[keep], form))
    if given.event is not None:
        name, values = column(given.event[0])
        events = events_of(path, name, values[keep], given.event[1])
        y = np.column_stack((np.asarray(y), events))
    ids = {} if given.ids is None else dict([column(given.ids)])
    called = same_columns(path, layout, in_file, file, known)
    if missing := [name for name in called if name not in columns]:
        _refuse_missing(path, missing, known)
    with naming_the_file(path):
        features = {
            name: parse_dates(name, columns[there][keep], given.formats)
            for name, there in zip(names, called, strict=True)
        }
    rows = int(np.arange(n_rows)[keep].size)
    return PredictionData(rows, features, y, {name: v[keep] for name, v in ids.items()})


def _refuse_missing(path: Path, missing: Sequence[str], columns: Sequence[str]) -> None:
    lower = {name.lower(): name for name in columns}
    close = difflib.get_close_matches(missing[0].lower(), lower, n=1)
    hint = f" (is {lower[close[0]]!r} meant?)" if close else ""
    plural = "s" if len(missing) > 1 else ""
    raise InputError(
        f"{path} lacks the column{plural} {some_of(missing)} that the model uses{hint}."
    )


def write(found: Predictions, out: Path | None, as_json: bool, quiet: bool) -> None:
    """Predictions to a file, or to stdout as CSV or as a JSON document; their error in words."""
    columns = found.columns
    rows = len(next(iter(columns.values())))
    if out is not None:
        is_csv = out.suffix.lower() not in (".parquet", ".pq", ".npy")
        write_table(out, without_formulas(columns) if is_csv else columns)
        if not (as_json or quiet):
            print(f"Written: {out} ({rows:,} rows)")
    if as_json:
        error = {"error": found.error} if found.error else {}
        print(json.dumps({name: _plain(values) for name, values in columns.items()} | error))
    elif out is None:
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        shown = without_formulas(columns)
        writer.writerow(shown)
        writer.writerows(zip(*map(_plain, shown.values()), strict=True))
        sys.stdout.flush()
        sys.stdout.buffer.write(text.getvalue().encode())  # UTF-8, whatever the terminal is
    if found.error and not as_json:
        sys.stdout.flush()
        say(
            f"On {found.judged or rows:,} rows: {figures.format_figures(found.error)}"
            + ("." if quiet else " (honest if the search has not seen these rows).")
        )


def _plain(values: Array) -> list[Any]:
    """Values for CSV and JSON; None where there is no prediction."""
    found = [None if v != v else v for v in values.tolist()]
    return [v if v is None or isinstance(v, str | int | float) else str(v) for v in found]
