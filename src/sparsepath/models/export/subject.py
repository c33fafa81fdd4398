"""A model to export: its formula and the names of its inputs and outputs.

A model of ``TableSelector`` is a formula of the columns created by ``TablePreparation``. Each of
these is one of the terms below: an expression of table columns that every language can write.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsepath.data.classes import USUAL_SLOPE
from sparsepath.data.names import NumberedNames
from sparsepath.errors import InputError
from sparsepath.models.predictors import Formula
from sparsepath.system.json_files import versions_in_use
from sparsepath.tables.features import Feature
from sparsepath.tables.preparation import TablePreparation
from sparsepath.tables.units import unit_of


@dataclass(frozen=True)
class Term:
    """One numeric column."""

    # "number", "flag", "equals" (1 if the value is value), "place" (of the value among values),
    # "part" (value is the part of a date) or "missing" (1 if there is no value).
    kind: str
    name: str  # the column of the table
    value: str = ""  # see kind
    values: tuple[str, ...] = ()  # see kind
    fill: Any = None  # what stands for a missing value; None: there is no answer then
    # For "equals" without fill: whether a missing value is no value like any other.
    absent: bool = False

    @property
    def may_lack(self) -> bool:
        """True if the term handles missing values."""
        return self.fill is not None or self.absent or self.kind == "missing"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without irrelevant fields."""
        every = {"value": self.value, "values": list(self.values), "fill": self.fill}
        told = {name: value for name, value in every.items() if value not in ("", [], None)}
        return {"kind": self.kind, "column": self.name, **told, "may_lack": self.may_lack}


def terms(preparation: TablePreparation) -> list[Term]:
    """Return a term for each output column of a preparation."""
    return [term for feature in preparation.features_ for term in _terms(feature)]


def _terms(feature: Feature) -> list[Term]:
    name, fill = feature.name, feature.fill
    if feature.kind == "category":
        known = fill[0] if feature.missing == "median" and fill else None
        lacks = feature.missing != "error"
        made = [Term("equals", name, v, fill=known, absent=lacks) for v in feature.values]
    elif feature.kind == "date":
        filled = fill or (None,) * len(feature.values)
        made = [
            Term("part", name, part, fill=f) for part, f in zip(feature.values, filled, strict=True)
        ]
    else:
        kind = "place" if feature.kind == "ordered" else feature.kind
        made = [Term(kind, name, values=feature.values, fill=fill[0] if fill else None)]
    return made + [Term("missing", name)] * feature.flagged


@dataclass(frozen=True, eq=False)
class Subject:
    """A model of one size, ready for export."""

    formula: Formula
    inputs: list[str]  # the names of the columns in use, in the formula's order
    n_columns: int  # how many columns the data had
    # The labels of a classifier. With two classes there is one output, and above zero it means the
    # second; with more the largest output decides, the first of equal ones.
    classes: list[Any] | None
    about: str  # one line on what this is
    # What the inputs are made of, where the model takes a table as it comes; None: they are columns
    # of the data.
    terms: list[Term] | None = None
    # Of the columns in use, where they are known: by the values or by the name.
    units: dict[str, str] = field(default_factory=dict)
    slope: float = USUAL_SLOPE  # what multiplies scores before the logistic function
    threshold: float = 0.0  # the score above which the second of the two classes is predicted

    @classmethod
    def of(cls, model: Any, size: int | None = None) -> "Subject":
        """Return the model of a fitted estimator or saved model at one of its sizes."""
        models = getattr(model, "models_", None)
        if not models:
            raise InputError(
                f"{type(model).__name__} has no models to export; give a fitted "
                "selector that predicts."
            )
        size = len(model.selected_) if size is None else size
        check_size(size, models)
        formula = models[size].formula()
        named = getattr(model, "feature_names_in_", None)
        names = NumberedNames(model.n_features_in_) if named is None else named
        n_columns, made = int(model.n_features_in_), None
        told: dict[str, str] = {}
        preparation = getattr(model, "preparation_", None)
        if preparation is not None:
            told = {f.name: f.unit for f in preparation.features_ if f.unit}
            names, every = preparation.get_feature_names_out(), terms(preparation)
            n_columns, made = len(names), [every[i] for i in formula.columns.tolist()]
        classes = getattr(model, "classes_", None)
        scored = classes is not None and hasattr(model, "_slope_at")
        beneath = getattr(model, "selector_", model)
        kind = getattr(model, "estimator_", type(beneath).__name__)
        plural, version = "" if size == 1 else "s", versions_in_use()["sparsepath"]
        inputs = [str(names[i]) for i in formula.columns.tolist()]
        columns = inputs if made is None else [term.name for term in made]
        values = [text for term in made or [] for text in (term.value, *term.values)]
        labels = [] if classes is None else [str(label) for label in np.asarray(classes).tolist()]
        _check_texts([*inputs, *columns, *values, *labels])
        units = {name: told.get(name) or unit_of(name) for name in columns}
        return cls(
            formula,
            inputs,
            n_columns,
            None if classes is None else np.asarray(classes).tolist(),
            f"{kind} on {size} feature{plural}, written by sparsepath {version}",
            made,
            {name: unit for name, unit in units.items() if unit},
            model._slope_at(size) if scored else USUAL_SLOPE,
            model._threshold_at(size) if scored else 0.0,
        )

    @property
    def units_said(self) -> str:
        """Return the units as one line for a comment; empty if none is known."""
        told = "; ".join(f"{name} in {unit}" for name, unit in self.units.items())
        return f"Units: {told}" if told else ""

    @property
    def columns(self) -> list[str]:
        """Required columns of the table, without repetition."""
        if self.terms is None:
            return self.inputs
        return list(dict.fromkeys(term.name for term in self.terms))

    @property
    def scaled(self) -> bool:
        """True if the inputs are scaled."""
        return bool(self.formula.centre.any() or (self.formula.scale != 1).any())

    def identifiers(self, names: list[str] | None = None) -> list[str]:
        """Return unique identifiers, valid in any language, for the inputs or other names."""
        found: list[str] = []
        for name in self.inputs if names is None else names:
            plain = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "x"
            plain = f"x_{plain}" if plain[0].isdigit() else plain
            again, count = plain, 2
            while again.lower() in {other.lower() for other in found}:
                again, count = f"{plain}_{count}", count + 1
            found.append(again)
        return found


def _check_texts(texts: list[str]) -> None:
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"{text!a} has an incomplete surrogate pair; rename it.") from error


def check_size(size: int, models: Iterable[int]) -> None:
    """Raise an error for a size without a model."""
    known = sorted(models)
    if size not in known:
        raise InputError(
            f"size={size!r}; there are models of the sizes {', '.join(map(str, known))}."
        )


def one_line(text: str) -> str:
    r"""Return text for a comment: no line breaks, and nothing that could end the comment.

    >>> one_line("a */ b\nc")
    'a * / b c'
    """
    plain = "".join(character if character.isprintable() else " " for character in text)
    return plain.replace("*/", "* /").replace("/*", "/ *")


def number(value: float) -> str:
    """Return an exact number literal for all languages, with a point or an exponent.

    >>> number(1.0), number(0.1), number(-1e-300)
    ('1.0', '0.1', '-1e-300')
    """
    if not math.isfinite(value):
        raise InputError("the model has coefficients that are not finite; it cannot be exported.")
    return repr(float(value))
