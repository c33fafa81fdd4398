"""Centred columns and targets of a problem, and a forward path as arrays."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sparsepath.path.steps import Step
from sparsepath.rls.design import Design
from sparsepath.system.arrays import Floats


def columns_of(design: Design, features: Sequence[int] | NDArray[np.intp]) -> Floats:
    """Return some columns, centred, scaled and weighted, as rows."""
    which = np.asarray(features, dtype=np.intp)
    parts = [block.columns(which).T for block in design.blocks]
    out = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    out -= design.means[which, None]
    if design.left[which].any():
        out -= design.left[which, None]
    if not design.uniform:
        out *= np.sqrt(design.weights)
    if design.standardize:
        out *= design.scales[which, None]
    return out


@dataclass(frozen=True)
class CentredTargets:
    """Centred targets (T x m), initial ``1 - leverage``, and collinearity thresholds."""

    y: Floats
    y_mean: Floats
    p: Floats
    floor: Floats

    @classmethod
    def of(cls, design: Design, Y: Floats) -> Self:
        """Create it for targets, m x T."""
        w, total, y = design.weights, design.total, Y.T.copy()
        y_mean, p = np.zeros(len(y)), np.ones(len(w))
        if design.fit_intercept:
            y_mean = (y @ w) / total
            y -= y_mean[:, None]
            y -= ((y @ w) / total)[:, None]
            p -= w / total
        if not design.uniform:
            y *= np.sqrt(w)
        return cls(y, y_mean, p, design.floor())


@dataclass(frozen=True)
class ForwardPath:
    """A forward path as arrays.

    Attributes
    ----------
    subset : array of int, shape (k,)
        Features in order of entry.
    errors, errors_se : arrays of shape (k + 1,)
        The criterion of every size, from the empty model on, and its standard error.
    coef : array of shape (k + 1, k, T)
        Coefficients of every size in the order of ``subset``, in the units of the data.
    intercept : array of shape (k + 1, T)
    vanished : bool
        Whether nothing is left of the residuals but rounding.
    """

    subset: NDArray[np.intp]
    errors: Floats
    errors_se: Floats
    coef: Floats
    intercept: Floats
    vanished: bool

    @classmethod
    def of(cls, steps: Mapping[int, Step]) -> Self:
        """Create it from the steps of a forward search."""
        each = [steps[k] for k in range(max(steps) + 1)]
        intercept = np.array([step.intercept for step in each])
        coef = np.zeros((len(each), len(each) - 1, intercept.shape[1]))
        for k, step in enumerate(each):
            coef[k, :k] = step.coef
        subset = np.array(each[-1].subset, dtype=np.intp)
        errors = np.array([step.error for step in each])
        errors_se = np.array([step.error_se for step in each])
        return cls(subset, errors, errors_se, coef, intercept, vanished=False)

    def predict(self, X: Floats, rows: NDArray[np.intp]) -> Floats:
        """Return the predictions of every size for some rows: (k + 1) x rows x T."""
        chosen = np.asarray(X[np.ix_(rows, self.subset)], dtype=np.float64)
        coef = self.coef.transpose(1, 0, 2).reshape(len(self.subset), self.intercept.size)
        out = (chosen @ coef).reshape(len(rows), *self.intercept.shape) + self.intercept
        return np.asarray(out.transpose(1, 0, 2))


class ForwardSearch(ABC):
    """A plain forward search up to a size that runs entirely in the compiled core."""

    form = ""  # the engine, and why it was chosen

    def __init__(self, design: Design, size: int) -> None:
        self.design, self.size = design, size

    @abstractmethod
    def path(self, until: int) -> ForwardPath:
        """Select features up to this number; return the path so far."""

    def full_path(self) -> ForwardPath:
        """Run the search to its end and return the path."""
        return self.path(self.size)

    def in_parts(self, least: int) -> Iterator[ForwardPath]:
        """Yield the path so far, every few steps; the first time at size ``least`` or larger."""
        until, complete = 0, False
        while not complete:
            until = min(self.size, max(until + self.design.steps_together, least))
            found = self.path(until)
            complete = until == self.size or len(found.subset) < until
            yield found


def in_units(
    design: Design,
    of: CentredTargets,
    k: int,
    vanished: bool,
    subset: NDArray[np.intp],
    errors: Floats,
    around: Floats,
    coef: Floats,
) -> ForwardPath:
    """Return the path of size k in units of the data."""
    total, counted = design.total, design.n_counted
    subset = subset[:k]
    coef = coef[: k + 1, :k] * design.scales[subset, None]
    return ForwardPath(
        subset,
        errors[: k + 1] / total,
        np.sqrt(around[: k + 1] * (counted / (counted - 1))) / total,
        coef,
        intercepts(of.y_mean, design.means[subset], coef),
        bool(vanished),
    )


def intercepts(y_mean: Floats, means: Floats, coef: Floats) -> Floats:
    """Return the intercepts of every size, summed in order of entry."""
    sums = (means[:, None] * coef).cumsum(1)[:, -1] if len(means) else np.zeros((1, len(y_mean)))
    return np.asarray(y_mean - sums)
