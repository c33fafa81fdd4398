"""Model files: plain data, which cannot run code.

A file is JSON: its schema, a checksum, and the content, which holds the small frozen models of
every size (``predictors.py``) and what a prediction needs beside them: names and layout of
the columns, labels of the classes, the size in use. Floats are exact. Nothing but numbers, texts
and lists is ever made of a file, and a changed one is refused.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsepath.classes import winners
from sparsepath.data.layout import Layout
from sparsepath.data.table import TablePreparation
from sparsepath.errors import FileError, InputError
from sparsepath.export import export
from sparsepath.export.subject import check_size
from sparsepath.files import replacing
from sparsepath.path_record import versions_in_use
from sparsepath.running import Predictor

SCHEMA = "sparsepath/model"
VERSION = 1


class SavedModel:
    """A fitted model as its file holds it; ``load_model`` reads one.

    It predicts as the selector did from which it was made, and has nothing of how it was found.

    Attributes
    ----------
    models_ : dict of size to Predictor
    selected_ : array of int
        The columns of the model in use.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the columns have names.
    classes_ : array
        Only of classifiers.
    estimator_ : str
        What it was fitted by.
    layout_ : Layout
        How the columns of the data are told apart.
    preparation_ : TablePreparation
        Only of models that take tables as they come.
    """

    models_: dict[int, Predictor]
    selected_: NDArray[np.intp]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    classes_: NDArray[Any]
    estimator_: str
    layout_: Layout
    preparation_: TablePreparation

    def __init__(self, content: dict[str, Any]) -> None:
        try:
            self.models_ = {
                int(each["size"]): Predictor.from_dict(each["model"]) for each in content["models"]
            }
            subsets = {int(each["size"]): each["features"] for each in content["models"]}
            self._subsets = {k: np.array(v, dtype=np.intp) for k, v in subsets.items()}
            self.n_features_in_ = int(content["n_features"])
            self.estimator_ = str(content["estimator"])
            self.layout_ = Layout(**content["layout"])
            if content.get("preparation") is not None:
                self.preparation_ = TablePreparation.from_dict(content["preparation"])
            if content["names"] is not None:
                self.feature_names_in_ = np.array(content["names"], dtype=object)
            if content["classes"] is not None:
                self.classes_ = np.array(content["classes"])
            self._content = content
            self.selected_ = self._subsets[int(content["size"])]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"it is not a whole model: {error!r}") from error

    @classmethod
    def of(cls, model: Any) -> Self:
        """The models of a fitted selector."""
        models = getattr(model, "models_", None)
        if not models:
            raise InputError(f"{type(model).__name__} has no models of its own to save.")
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
                "layout": Layout.of_model(model).to_dict(),
                "preparation": None if preparation is None else preparation.to_dict(),
                "classes": None if classes is None else _labels(classes),
                "size": len(model.selected_),
                "models": [
                    {
                        "size": size,
                        "features": list(model.path_.subset(size)),
                        "model": small.to_dict(),
                    }
                    for size, small in models.items()
                ],
            }
        )

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        if hasattr(self, "preparation_"):
            X = self.preparation_.some(X, self.selected_.tolist())
            return self.models_[len(self.selected_)].predict(X).reshape(len(X), -1)
        X = X if hasattr(X, "tocsr") else np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has shape {X.shape}; the model was fitted to {self.n_features_in_} columns."
            )
        out = self.models_[len(self.selected_)].predict(X)
        return np.asarray(out).reshape(X.shape[0], -1)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Numbers, or labels of classes, for samples with all the columns that the fit had."""
        out = self._outputs(X)
        if not hasattr(self, "classes_"):
            return out[:, 0] if out.shape[1] == 1 else out
        return self.classes_[winners(out)]

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Scores of the classes; with two, one score, above zero for the second."""
        if not hasattr(self, "classes_"):
            raise AttributeError("a model of numbers has no decision_function.")
        out = self._outputs(X)
        return out[:, 0] if out.shape[1] == 1 else out

    def at_size(self, size: int) -> "SavedModel":
        """The same with another size in use."""
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
        """The model as a program of another language; see ``PathSelector.export``."""
        return export(self, to, path, size=size, dtype=dtype)

    def to_bytes(self) -> bytes:
        """What the file holds."""
        text = _canonical(self._content)
        head = {"schema": SCHEMA, "schema_version": VERSION, "checksum": _checksum(text)}
        return (json.dumps(head)[:-1] + f', "content": {text}}}\n').encode()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file; an older one is replaced when this one is whole."""
        with replacing(path, "wb") as stream:
            stream.write(self.to_bytes())


def load_model(path: str | os.PathLike[str]) -> SavedModel:
    """Read a model file, as ``save_model`` and ``sparsepath select --out`` write it.

    No code is run, whoever wrote the file; one that was changed or cut is refused.

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
    """A model of a file's bytes; ``where`` is for messages."""
    if raw.lstrip()[:1] != b"{":
        pickled = raw[:1] in (b"\x80", b"x", b"\x1f", b"B") or where.suffix in (".joblib", ".pkl")
        why = (
            "it is a pickle, which can run any code when it is loaded; run select again for a "
            "model.json, or load it in Python with joblib if you trust it."
            if pickled
            else "it is not a model file as sparsepath select writes it (model.json)."
        )
        raise FileError(f"cannot load {where}: {why}")
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise FileError(f"cannot load {where}: the file is cut or damaged.") from error
    if record.get("schema") != SCHEMA:
        raise FileError(
            f"cannot load {where}: it is not a model file as sparsepath select writes it "
            "(model.json)."
        )
    if record.get("schema_version") != VERSION:
        raise FileError(
            f"cannot load {where}: its version is {record.get('schema_version')!r}, and this "
            f"sparsepath reads {VERSION}; use another sparsepath."
        )
    content = record.get("content")
    if not isinstance(content, dict) or record.get("checksum") != _checksum(_canonical(content)):
        raise FileError(f"cannot load {where}: the file was changed after it was written.")
    try:
        return SavedModel(content)
    except InputError as error:
        raise FileError(f"cannot load {where}: {error}") from error


def _canonical(content: Any) -> str:
    return json.dumps(content, allow_nan=False, separators=(",", ":"))


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _labels(classes: Any) -> list[Any]:
    """Labels as JSON holds them."""
    found = np.asarray(classes).tolist()
    return [label if isinstance(label, str | bool | int | float) else str(label) for label in found]
