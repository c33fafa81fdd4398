"""Small frozen models: all that a prediction needs, and nothing of how it was found.

A predictor is a frozen dataclass of arrays, numbers, texts and further such classes. So one way of
writing serves all: ``to_dict`` gives standard JSON values, floats exact, and ``from_dict`` makes
the same model of them. A class is identified by its package and name, "elm.Machine",
and must have registered itself by deriving from ``Frozen``: nothing else is ever made of a file.
Its ``parts`` say what each field is, and how the shapes of the arrays belong together; a record
that does not fit is refused.

All models of the package have the form

    z_i = (x_i - centre_i) / scale_i             of the columns in use
    f_t = intercept_t + sum_i L_it z_i + sum_u C_ut h_u(z)         held within bounds, if any
    prediction = f, or its inverse link: exp(f), exp(f) - 1 or max(f, 0)^2

with hidden units h that are all of one kind: tanh(A_u z + b_u), or Gaussians
exp(-s_u |z - c_u|^2). A predictor says what it is by ``formula``: few enough parts that every
language can write it down; what does so (``sparsepath.models.export``) knows nothing else of it.
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
        """Samples x units."""
        return np.tanh(Z @ self.weights.T + self.biases)


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Units exp(-s |z - c|^2)."""

    kind = "gaussian"
    centres: Floats  # units x inputs
    sharpness: Floats

    def outputs(self, Z: Floats) -> Floats:
        """Samples x units, by the differences themselves."""
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
    """What is computed from a sample; see the module.

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
        """Without units, on the columns as they are."""
        d = len(columns)
        return cls(columns, np.zeros(d), np.ones(d), slopes, intercept)

    @property
    def n_outputs(self) -> int:
        return len(self.intercept)

    def outputs(self, X: Floats) -> Floats:
        """Predictions, samples x outputs, for samples with all the columns of the data."""
        Z = (X[:, self.columns] - self.centre) / self.scale
        out = Z @ self.slopes + self.intercept
        if self.units is not None and self.coef is not None:
            out = out + self.units.outputs(Z) @ self.coef
        out = out if self.bounds is None else np.clip(out, *self.bounds)
        return INVERSE_LINKS[self.link](out)


class Frozen:
    """A frozen dataclass that can be written down.

    ``parts`` has for every field what it is, and of arrays the length of each axis: a letter, which
    means the same length in all fields and in those of parts, or a number. What it is: ``float``,
    ``int``, ``column`` (a number of a column), ``index:h`` (a number below the length h), one of
    several texts (``tanh|gaussian``), or the name of a class. ``?`` at the end: it may be None.
    """

    _kinds: ClassVar[dict[str, type["Frozen"]]] = {}
    parts: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        Frozen._kinds[cls._kind()] = cls

    @classmethod
    def _kind(cls) -> str:
        _, _, inside = cls.__module__.partition("sparsepath.")
        package = inside.removeprefix("models.").split(".")[0]
        return f"{package or cls.__module__}.{cls.__name__}"

    def to_dict(self) -> dict[str, Any]:
        """All of it as standard JSON values."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        values = {field.name: _written(getattr(self, field.name)) for field in fields}
        return {"kind": self._kind(), **values}

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Any:
        """Make of ``to_dict``'s answer the same thing again."""
        return _Reader().read(record)

    def check(self) -> None:
        """Refuse parts that do not fit together in a way that letters cannot express."""


class _Reader:
    """Reads one model: the lengths of axes by letter, and the indices that must be below them."""

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
            raise InputError(f"there is no model of the kind {kind!r}; use a newer sparsepath.")
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
            raise InputError(f"{name} has {len(numbers)} numbers, which is not the shape {shape}.")
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
        """Outputs for samples with all the columns that the fit had: numbers or class scores."""

    @abstractmethod
    def formula(self) -> Formula:
        """The same as a formula, for other languages."""


@dataclass(frozen=True, eq=False)
class Linear(Predictor):
    """X w + b from a few columns.

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
        """The model of a step of a path, if it has one."""
        if step.coef is None or step.intercept is None:
            return None
        return cls(np.array(step.subset, dtype=np.intp), step.coef, step.intercept)

    def predict(self, X: Any) -> Floats:
        return np.asarray(X[:, self.columns] @ self.coef) + self.intercept

    def formula(self) -> Formula:
        return Formula.linear(self.columns, self.coef, self.intercept)


@dataclass(frozen=True, eq=False)
class Linked(Predictor):
    """The inverse link of what another model puts out: a rate from its logarithm, for example.

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
