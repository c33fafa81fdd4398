"""A model as a formula: few enough parts that every language can write it down.

All models of the package have the form

    z_i = (x_i - centre_i) / scale_i             of the columns in use
    f_t = intercept_t + sum_i L_it z_i + sum_u C_ut h_u(z)         held within bounds, if any

with hidden units h that are all of one kind: tanh(A_u z + b_u), or Gaussians
exp(-s_u |z - c_u|^2). A predictor says what it is by ``formula``; what is written for other
languages (``sparsepath.export``) knows nothing else of it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats

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
