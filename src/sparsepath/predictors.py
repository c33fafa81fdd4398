"""Small frozen models: all that a prediction needs, and nothing of how it was found.

A predictor is a frozen dataclass of arrays, numbers, texts and further such classes. So one way of
writing serves all: ``to_dict`` gives standard JSON values, floats exact, and ``from_dict`` makes
the same model of them. A class is told by the room that it lives in and its name, "elm.Machine",
and must have registered itself by deriving from ``Frozen``: nothing else is ever made of a file.

All models of the package have the form

    z_i = (x_i - centre_i) / scale_i             of the columns in use
    f_t = intercept_t + sum_i L_it z_i + sum_u C_ut h_u(z)         held within bounds, if any

with hidden units h that are all of one kind: tanh(A_u z + b_u), or Gaussians
exp(-s_u |z - c_u|^2). A predictor says what it is by ``formula``: few enough parts that every
language can write it down; what does so (``sparsepath.export``) knows nothing else of it.
"""

import contextlib
import dataclasses
import math
import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.errors import InputError
from sparsepath.steps import Step

Columns = NDArray[np.intp]


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

    @classmethod
    def linear(cls, columns: Columns, slopes: Floats, intercept: Floats) -> "Formula":
        """Without units, on the columns as they are."""
        d = len(columns)
        return cls(columns, np.zeros(d), np.ones(d), slopes, intercept)

    @property
    def n_outputs(self) -> int:
        return len(self.intercept)

    def outputs(self, X: Floats) -> Floats:
        """Samples x outputs, for samples with all the columns of the data."""
        Z = (X[:, self.columns] - self.centre) / self.scale
        out = Z @ self.slopes + self.intercept
        if self.units is not None and self.coef is not None:
            out = out + self.units.outputs(Z) @ self.coef
        return out if self.bounds is None else np.clip(out, *self.bounds)


class Frozen:
    """A frozen dataclass that can be written down."""

    _kinds: ClassVar[dict[str, type["Frozen"]]] = {}

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        Frozen._kinds[cls._kind()] = cls

    @classmethod
    def _kind(cls) -> str:
        _, _, inside = cls.__module__.partition("sparsepath.")
        return f"{inside.split('.')[0] or cls.__module__}.{cls.__name__}"

    def to_dict(self) -> dict[str, Any]:
        """All of it as standard JSON values."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        values = {field.name: _written(getattr(self, field.name)) for field in fields}
        return {"kind": self._kind(), **values}

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Any:
        """Make of ``to_dict``'s answer the same thing again."""
        given = dict(record)
        kind = str(given.pop("kind", ""))
        if kind not in Frozen._kinds and re.fullmatch(r"[a-z_]+\.\w+", kind):
            with contextlib.suppress(ImportError):
                import_module(f"sparsepath.{kind.split('.')[0]}")
        if kind not in Frozen._kinds:
            raise InputError(f"there is no model of the kind {kind!r}; use a newer sparsepath.")
        try:
            return Frozen._kinds[kind](**{name: _read(value) for name, value in given.items()})
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"the model ({kind}) is damaged: {error}") from error


class Predictor(Frozen):
    """A model of one size."""

    @abstractmethod
    def predict(self, X: Any) -> Floats:
        """Outputs for samples with all the columns that the fit had: numbers, scores of classes."""

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

    columns: NDArray[np.intp]
    coef: Floats  # columns x targets
    intercept: Floats  # targets

    @classmethod
    def of(cls, step: Step) -> "Linear | None":
        """The model of a step of a path, if it has one."""
        if step.coef is None or step.intercept is None:
            return None
        return cls(np.array(step.subset, dtype=np.intp), step.coef, step.intercept)

    def predict(self, X: Any) -> Floats:
        return np.asarray(X[:, self.columns] @ self.coef) + self.intercept

    def formula(self) -> Formula:
        return Formula.linear(self.columns, self.coef, self.intercept)


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


def _read(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    if "kind" in value:
        return Frozen.from_dict(value)
    if "number" in value:
        return float(value["number"])
    dtype = np.float64 if value["of"] == "float" else np.intp
    numbers = [_read(number) for number in value["array"]]
    return np.array(numbers, dtype=dtype).reshape(value["shape"])
