"""The job of ``sparsepath predict``: a saved model on another file."""

import csv
import io
import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.cli.options import listed
from sparsepath.cli.select import is_sparse
from sparsepath.data.formats import read_columns
from sparsepath.data.readers import read_table, write_table
from sparsepath.errors import FileError, InputError

Array = NDArray[Any]
NUMBERS = 1 << 24  # in one block of rows


def load_model(path: Path) -> Any:
    """A fitted model from a joblib file, which must be trusted: loading it can run code."""
    import joblib

    if path.is_dir():
        inside = path / "model.joblib"
        hint = f"; did you mean {inside}?" if inside.is_file() else "."
        raise FileError(f"cannot load {path}: it is a folder, not a model{hint}")
    try:
        model = joblib.load(path)
    except OSError as error:
        raise FileError(f"cannot load {path}: {error.strerror or error}.") from error
    except Exception as error:  # a file that is no pickle can raise nearly anything
        raise FileError(
            f"cannot load {path}: it is not a whole model file as sparsepath select writes it."
        ) from error
    if not (hasattr(model, "predict") and hasattr(model, "n_features_in_")):
        raise FileError(f"cannot use {path}: it holds a {type(model).__name__}, not a model.")
    return model


def predict(model: Any, path: Path) -> dict[str, Array]:
    """Predictions as columns: ``prediction``, or for a classifier ``label`` and ``score``.

    With more than two classes there is a score for each, ``score_A`` and so on. Only the columns
    that the model uses need be there, in any order.
    """
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    names = names or [f"x{i}" for i in range(model.n_features_in_)]
    used = np.asarray(getattr(model, "selected_", np.arange(len(names))), dtype=np.intp)
    read = _sparse_blocks if is_sparse(path) else _dense_blocks
    parts: list[dict[str, Array]] = []
    with warnings.catch_warnings():
        # The columns are put in the order of the names, but arrays do not carry names.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        parts.extend(_columns(model, X) for X in read(path, names, used))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _columns(model: Any, X: Any) -> dict[str, Array]:
    predicted = np.asarray(model.predict(X))
    if not hasattr(model, "classes_"):
        if predicted.ndim == 1:
            return {"prediction": predicted}
        return {f"prediction_{t}": predicted[:, t] for t in range(predicted.shape[1])}
    columns: dict[str, Array] = {"label": predicted}
    if hasattr(model, "decision_function"):
        scores = model.decision_function(X)
        if scores.ndim == 1:
            return {**columns, "score": scores}
        columns |= {f"score_{c}": scores[:, j] for j, c in enumerate(model.classes_)}
    return columns


def _sparse_blocks(path: Path, names: Sequence[str], used: NDArray[np.intp]) -> Iterator[Any]:
    """The columns in use of an svmlight file, all else zero; what the file lacks is zero."""
    from scipy.sparse import csr_array

    table = read_table(path)
    place = {names[i]: i for i in used}
    moved = np.array([place.get(name, -1) for name in table.names], dtype=np.intp)
    entries = table.X.tocoo()
    columns = moved[entries.col]
    keep = columns >= 0
    yield csr_array(
        (entries.data[keep], (entries.row[keep], columns[keep])),
        shape=(entries.shape[0], len(names)),
    )


def _dense_blocks(path: Path, names: Sequence[str], used: NDArray[np.intp]) -> Iterator[Any]:
    """The columns in use of a table, all else zero, some rows at a time."""
    columns = read_columns(path).features
    by_place = list(columns) == [f"x{j}" for j in range(len(columns))]
    # Columns without names go by their place, which means something in the same layout only.
    needed = names if by_place else [names[i] for i in used]
    missing = [name for name in needed if name not in columns]
    if missing:
        _refuse_missing(path, missing, list(columns), by_place)
    chosen = {i: columns[names[i]] for i in used}
    _refuse_unusable(path, {names[i]: values for i, values in chosen.items()})
    rows = len(next(iter(columns.values())))
    block = max(NUMBERS // len(names), 1)
    for first in range(0, rows, block):
        X = np.zeros((min(block, rows - first), len(names)), order="F")
        for i, values in chosen.items():
            X[:, i] = values[first : first + block]
        yield X


def _refuse_missing(
    path: Path, missing: Sequence[str], columns: Sequence[str], by_place: bool
) -> None:
    import difflib

    if by_place:
        raise InputError(
            f"{path} has {len(columns)} columns without names, and the model needs column "
            f"{missing[-1]}; lay the file out as the one it was fitted to."
        )
    lower = {name.lower(): name for name in columns}
    close = difflib.get_close_matches(missing[0].lower(), lower, n=1)
    hint = f" (is {lower[close[0]]!r} meant?)" if close else ""
    plural = "s" if len(missing) > 1 else ""
    raise InputError(
        f"{path} lacks the column{plural} {listed([repr(m) for m in missing], 5)} that the model "
        f"uses{hint}."
    )


def _refuse_unusable(path: Path, columns: dict[str, Array]) -> None:
    """One sentence if a column that the model uses is not made of finite numbers."""
    for name, values in columns.items():
        if values.dtype.kind not in "biuf":
            raise InputError(f"{path}: column {name!r} is text or dates; the model needs numbers.")
        bad = 0 if values.dtype.kind != "f" else np.count_nonzero(~np.isfinite(values))
        if bad:
            raise InputError(
                f"{path}: column {name!r} is missing or infinite in {bad} of {len(values)} rows; "
                "leave those rows out or impute them first."
            )


def write(columns: dict[str, Array], out: Path | None, as_json: bool) -> None:
    """Predictions to a file, or to stdout as CSV or as a JSON document."""
    if out is not None:
        write_table(out, columns)
        if not as_json:
            print(f"Written: {out} ({len(next(iter(columns.values()))):,} rows)")
    if as_json:
        print(json.dumps({name: _plain(values) for name, values in columns.items()}))
    elif out is None:
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*map(_plain, columns.values()), strict=True))
        sys.stdout.flush()
        sys.stdout.buffer.write(text.getvalue().encode())  # UTF-8, whatever the terminal is


def _plain(values: Array) -> list[Any]:
    return [v if isinstance(v, str | int | float) else str(v) for v in values.tolist()]
