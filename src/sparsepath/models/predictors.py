"""Small immutable models: everything that a prediction needs.

A predictor is a frozen dataclass of arrays, numbers, texts and further such classes. ``to_dict``
converts any of them to standard JSON values with exact floats, and ``from_dict`` converts back. A
class is identified by package and name, such as "elm.Machine"; only subclasses of ``Frozen`` can be
created from a file. ``parts`` declares the type of each field and how the shapes of the arrays are
related; an inconsistent record raises an error.

All models of the package have the form

    z_i = (x_i - centre_i) / scale_i             of the columns in use
    f_t = intercept_t + sum_i L_it z_i + sum_u C_ut h_u(z)         limited to bounds, if any
    prediction = f, or its inverse link: exp(f), exp(f) - 1 or max(f, 0)^2

with hidden units h of one kind: tanh(A_u z + b_u), or Gaussians exp(-s_u |z - c_u|^2). ``formula``
returns this form, the only interface that the exports (``sparsepath.models.export``) use.
"""

import contextlib
import dataclasses
import math
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats
from sparsepath.system.json_files import LONGEST_QUOTE, check

Columns = NDArray[np.intp]
NONFINITE = {"number": {"inf", "-inf", "nan"}}  # a float that JSON has no number for


@dataclass(frozen=True, eq=False)
class Tanh:
    """Units tanh(A z + b)."""

    kind = "tanh"
    weights: Floats  # A, units x inputs
    biases: Floats

    def outputs(self, Z: Floats) -> Floats:
        """Return the outputs, samples x units."""
        return np.tanh(Z @ self.weights.T + self.biases)


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Units exp(-s |z - c|^2)."""

    kind = "gaussian"
    centres: Floats  # units x inputs
    sharpness: Floats

    def outputs(self, Z: Floats) -> Floats:
        """Return the outputs, samples x units, computed from differences for accuracy."""
        off = ((Z[:, None] - self.centres) ** 2).sum(2)
        return np.exp(-self.sharpness * off)


def _squared(f: Floats) -> Floats:
    return np.square(np.maximum(f, 0.0))


def _exponential(f: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.exp(f)


def _exponential_less_one(f: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.expm1(f)


# By the link, the function of a prediction that the formula is for: its inverse.
INVERSE_LINKS: dict[str, Callable[[Floats], Floats]] = {
    "identity": np.asarray,
    "log": _exponential,
    "log1p": _exponential_less_one,
    "sqrt": _squared,
}


@dataclass(frozen=True, eq=False)
class Formula:
    """The formula of a model; see the module docstring.

    >>> line = Formula.linear(np.array([2]), np.array([[3.0]]), np.array([1.0]))
    >>> line.outputs(np.array([[9.0, 9.0, 2.0]])).tolist()
    [[7.0]]
    """

    columns: Columns  # of the data, in the order of the inputs
    centre: Floats
    scale: Floats
    slopes: Floats  # L, inputs x outputs
    intercept: Floats
    units: Tanh | Gaussian | None = None
    coef: Floats | None = None  # C, units x outputs
    bounds: Floats | None = None  # 2 x outputs
    link: str = "identity"  # see INVERSE_LINKS

    @classmethod
    def linear(cls, columns: Columns, slopes: Floats, intercept: Floats) -> "Formula":
        """Create a linear formula of unscaled columns."""
        d = len(columns)
        return cls(columns, np.zeros(d), np.ones(d), slopes, intercept)

    @property
    def n_outputs(self) -> int:
        return len(self.intercept)

    def outputs(self, X: Floats) -> Floats:
        """Return predictions, samples x outputs, for samples with all columns of the data."""
        Z = (X[:, self.columns] - self.centre) / self.scale
        out = Z @ self.slopes + self.intercept
        if self.units is not None and self.coef is not None:
            out = out + self.units.outputs(Z) @ self.coef
        out = out if self.bounds is None else np.clip(out, *self.bounds)
        return INVERSE_LINKS[self.link](out)


class Frozen:
    """A frozen dataclass with conversion to plain values.

    ``parts`` declares the type of every field and, for arrays, the length of each axis: a number,
    or a letter that means the same length in all fields. Types are ``float``, ``int``, ``column``
    (a column index), ``index:h`` (an index below the length h), one of several texts
    (``tanh|gaussian``), or the name of a class. ``?`` at the end: it may be None.
    """

    _kinds: ClassVar[dict[str, type["Frozen"]]] = {}
    parts: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, saved: bool = True, **given: Any) -> None:
        super().__init_subclass__(**given)
        if saved:
            Frozen._kinds[cls._kind()] = cls

    @classmethod
    def _kind(cls) -> str:
        _, _, inside = cls.__module__.partition("sparsepath.")
        package = inside.removeprefix("models.").split(".")[0]
        return f"{package or cls.__module__}.{cls.__name__}"

    def to_dict(self) -> dict[str, Any]:
        """Return standard JSON values."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        values = {field.name: _written(getattr(self, field.name)) for field in fields}
        return {"kind": self._kind(), **values}

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Any:
        """Return the object that ``to_dict`` converted."""
        return _Reader().read(record)

    def check(self) -> None:
        """Raise an error for inconsistent parts that ``parts`` cannot express."""


class _Reader:
    """Reader of one model: lengths of axes by letter, and indices that must be below them."""

    def __init__(self) -> None:
        self.lengths: dict[str, int] = {}
        self.indices: list[tuple[str, int, str]] = []  # the field, its largest value, the letter

    def read(self, record: Any) -> Any:
        model = self._read_model(record)
        for name, largest, letter in self.indices:
            if largest >= self.lengths.get(letter, 0):
                raise InputError(f"the model is damaged: {name} has {largest}, which is too large.")
        return model

    def _read_model(self, record: Any) -> Any:
        given = dict(record) if isinstance(record, Mapping) else {}
        kind = str(given.pop("kind", ""))[:LONGEST_QUOTE]
        if kind not in Frozen._kinds and re.fullmatch(r"[a-z][a-z_]*\.\w+", kind):
            with contextlib.suppress(ImportError):
                import_module(f"sparsepath.{kind.split('.')[0]}")
        if kind not in Frozen._kinds:
            raise InputError(f"unknown kind of model {kind!r}; use a newer sparsepath.")
        cls = Frozen._kinds[kind]
        try:
            check(given, dict.fromkeys(cls.parts, object), kind)
            model = cls(
                **{name: self._field(given[name], of, name) for name, of in cls.parts.items()}
            )
            model.check()
        except InputError as error:
            raise InputError(f"the model ({kind}) is damaged: {error}") from error
        return model

    def _field(self, value: Any, of: str, name: str) -> Any:
        if of.endswith("?") and value is None:
            return None
        kind, *axes = of.rstrip("?").split()
        if axes:
            return self._array(value, kind, axes, name)
        if kind == "float":
            check(value, (float, NONFINITE), name)
            return float(value["number"] if isinstance(value, dict) else value)
        if not kind[0].isupper():
            check(value, set(kind.split("|")), name)
            return value
        check(value, dict, name)
        part = self._read_model(value)
        if kind not in [base.__name__ for base in type(part).__mro__]:
            raise InputError(f"{name} must be of the kind {kind}.")
        return part

    def _array(self, value: Any, kind: str, axes: Sequence[str], name: str) -> NDArray[Any]:
        item, of = ((float, NONFINITE), {"float", "int"}) if kind == "float" else (int, {"int"})
        check(value, {"array": [item], "of": of, "shape": [int]}, name)
        numbers, shape = value["array"], value["shape"]
        fits = len(shape) == len(axes) and min(shape, default=0) >= 0
        if not fits or math.prod(shape) != len(numbers):
            raise InputError(
                f"{name} has {len(numbers)} numbers, which does not match the shape {shape}."
            )
        for axis, length in zip(axes, shape, strict=True):
            expected = int(axis) if axis.isdigit() else self.lengths.setdefault(axis, length)
            if length != expected:
                raise InputError(f"{name} has the shape {shape}, where {expected} is expected.")
        if kind == "float":
            numbers = [float(v["number"]) if isinstance(v, dict) else v for v in numbers]
            return np.array(numbers, dtype=np.float64).reshape(shape)
        if kind != "int" and min(numbers, default=0) < 0:
            raise InputError(f"{name} has {min(numbers)}, which is below zero.")
        if kind.startswith("index:") and numbers:
            self.indices.append((name, max(numbers), kind.partition(":")[2]))
        return np.array(numbers, dtype=np.intp).reshape(shape)


class Predictor(Frozen):
    """A model of one size."""

    @abstractmethod
    def predict(self, X: Any) -> Floats:
        """Return outputs for samples with all columns of the fit: numbers or class scores."""

    def moved(self, by: Floats) -> Any:
        """The same model with a number added to each output."""
        raise NotImplementedError(f"{type(self).__name__} has no class scores")

    @abstractmethod
    def formula(self) -> Formula:
        """Return the model as a formula for export."""


@dataclass(frozen=True, eq=False)
class Linear(Predictor):
    """Linear model of a few columns: X w + b.

    >>> model = Linear(np.array([1]), np.array([[2.0]]), np.array([0.5]))
    >>> model.predict(np.array([[9.0, 1.0], [9.0, 2.0]])).tolist()
    [[2.5], [4.5]]
    >>> Predictor.from_dict(model.to_dict()).predict(np.array([[9.0, 1.0]])).tolist()
    [[2.5]]
    """

    parts: ClassVar = {"columns": "column d", "coef": "float d t", "intercept": "float t"}
    columns: NDArray[np.intp]
    coef: Floats  # columns x targets
    intercept: Floats  # targets

    @classmethod
    def of(cls, step: Any) -> "Linear | None":
        """Return the model of a step of a path, if it is linear."""
        if step.coef is None or step.intercept is None:
            return None
        return cls(np.array(step.subset, dtype=np.intp), step.coef, step.intercept)

    def predict(self, X: Any) -> Floats:
        return np.asarray(X[:, self.columns] @ self.coef) + self.intercept

    def moved(self, by: Floats) -> "Linear":
        return dataclasses.replace(self, intercept=self.intercept + by)

    def formula(self) -> Formula:
        return Formula.linear(self.columns, self.coef, self.intercept)


@dataclass(frozen=True, eq=False)
class Linked(Predictor):
    """Apply an inverse link to the output of another model, such as exp for counts.

    >>> model = Linear(np.array([1]), np.array([[2.0]]), np.array([0.0]))
    >>> Linked(model, "sqrt").predict(np.array([[9.0, 1.0], [9.0, 2.0]])).tolist()
    [[4.0], [16.0]]
    """

    parts: ClassVar = {"model": "Predictor", "link": "log|log1p|sqrt"}
    model: Predictor  # of the linear predictor, or of the transformed target
    link: str

    def predict(self, X: Any) -> Floats:
        return INVERSE_LINKS[self.link](self.model.predict(X))

    def formula(self) -> Formula:
        return dataclasses.replace(self.model.formula(), link=self.link)


def _written(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        kind = "float" if value.dtype.kind == "f" else "int"
        numbers = [_written(number) for number in value.ravel().tolist()]
        return {"array": numbers, "of": kind, "shape": list(value.shape)}
    if isinstance(value, Frozen):
        return value.to_dict()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": repr(value)}
    return value
