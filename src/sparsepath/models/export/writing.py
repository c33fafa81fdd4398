"""``export``: convert a fitted model to another language."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sparsepath.errors import InputError
from sparsepath.models.export.c import c
from sparsepath.models.export.onnx import onnx
from sparsepath.models.export.scripts import javascript, python
from sparsepath.models.export.sql import sql, sql_probability
from sparsepath.models.export.subject import Subject
from sparsepath.system.files import replacing

SCHEMA = {"schema": "sparsepath/formula", "schema_version": 1}


def as_json(subject: Subject) -> str:
    """Return the formula as JSON; ``predictors.py`` explains its parts."""
    formula, units = subject.formula, subject.formula.units
    hidden: dict[str, Any] | None = None
    if units is not None and formula.coef is not None:
        parts = {name: values.tolist() for name, values in vars(units).items()}
        hidden = {"kind": units.kind, **parts, "coef": formula.coef.tolist()}
    record = {
        **SCHEMA,
        "about": subject.about,
        "inputs": subject.inputs,
        "units": subject.units,
        "made_of": None if subject.terms is None else [t.to_dict() for t in subject.terms],
        "columns": formula.columns.tolist(),
        "n_columns": subject.n_columns,
        "centre": formula.centre.tolist(),
        "scale": formula.scale.tolist(),
        "slopes": formula.slopes.tolist(),
        "intercept": formula.intercept.tolist(),
        "hidden": hidden,
        "bounds": None if formula.bounds is None else formula.bounds.tolist(),
        "link": formula.link,
        "classes": subject.classes,
        "slope": None if subject.classes is None else subject.slope,
        "threshold": None if subject.classes is None else subject.threshold,
    }
    return json.dumps(record, allow_nan=False, indent=1, default=str) + "\n"


FORMATS: dict[str, tuple[Callable[[Subject], str | bytes], str]] = {
    "c": (c, "one C99 file, no allocation"),
    "javascript": (javascript, "one function, for browsers and Node"),
    "json": (as_json, "the formula as plain data"),
    "onnx": (onnx, "an ONNX graph in double precision (needs onnx)"),
    "python": (python, "one module that needs nothing else"),
    "sql": (sql, "one expression, for SQLite and DuckDB"),
    "sql-probability": (sql_probability, "the same for the probability of the second class"),
}


def export(
    model: Any,
    to: str,
    path: str | os.PathLike[str] | None = None,
    *,
    size: int | None = None,
    dtype: str | None = None,
) -> str | bytes:
    """Return a fitted selector or saved model as a program in another language.

    ``FORMATS`` lists the languages; the parameters are those of ``PathSelector.export``.
    """
    if to not in FORMATS:
        raise InputError(f"to={to!r}; use one of {', '.join(FORMATS)}.")
    if dtype is not None and to != "onnx":
        raise InputError(f"dtype is for ONNX only; remove it for {to!r}.")
    subject = Subject.of(model, size)
    made = onnx(subject, dtype) if dtype is not None else FORMATS[to][0](subject)
    if path is not None:
        with replacing(Path(path), "wb") as stream:
            stream.write(made if isinstance(made, bytes) else made.encode())
    return made
