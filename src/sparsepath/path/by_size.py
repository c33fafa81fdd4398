"""The best model of each size, its errors, and the choice of a size."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsepath.errors import InputError
from sparsepath.path.choosing import CHOICES, check_rule, is_size, nearest, places, ranges
from sparsepath.path.steps import Exchange, FloatArray, Step

Rule: TypeAlias = str | float | None


class StepsBySize:
    """One step per size, in ascending order. ``SelectionPath`` adds the history of the search."""

    steps: tuple[Step, ...]
    n_features: int
    feature_names: Sequence[str]
    criterion: str
    error_kind: str
    validation: str
    complete: bool

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes on the path, ascending."""
        return tuple([len(step.subset) for step in self.steps])

    @property
    def subsets(self) -> list[tuple[int, ...]]:
        """Subsets, aligned with ``sizes``."""
        return [step.subset for step in self.steps]

    @property
    def errors(self) -> FloatArray:
        """Errors, aligned with ``sizes``."""
        return np.array([step.error for step in self.steps])

    @property
    def errors_se(self) -> FloatArray:
        """Standard errors of ``errors``, aligned with ``sizes``."""
        return np.array([step.error_se for step in self.steps])

    @property
    def honest_errors(self) -> FloatArray:
        """Out-of-sample errors of the full procedure, aligned with ``sizes``."""
        return np.array([step.honest_error for step in self.steps])

    @property
    def honest_errors_se(self) -> FloatArray:
        """Standard errors of the honest errors, aligned with ``sizes``."""
        return np.array([step.honest_error_se for step in self.steps])

    @property
    def is_validated(self) -> bool:
        """True if the path has honest errors; they then determine the size."""
        return bool(self.validation)

    @property
    def error_label(self) -> str:
        """Name and kind of the errors."""
        return f"{self.criterion} ({self.error_kind} error)"

    @property
    def chosen_by(self) -> str:
        """Error that determines the size: the honest error, or the criterion of the search."""
        if self.is_validated:
            return f"honest error ({self.validation}, the whole procedure repeated)"
        return f"{self.error_label}, which the search itself minimised"

    def step(self, size: int) -> Step:
        """Return the step of a size.

        Parameters
        ----------
        size : int
            One of ``sizes``.
        """
        if size not in (sizes := self.sizes):
            raise InputError(f"no model of size {size}; the sizes are {ranges(sizes)}.")
        return self.steps[sizes.index(size)]

    def subset(self, size: int) -> tuple[int, ...]:
        """Return the columns of the model of a size, in order of entry.

        Parameters
        ----------
        size : int
            One of ``sizes``.
        """
        return self.step(size).subset

    def names(self, size: int) -> tuple[str, ...]:
        """Return the feature names of the model of a size, in order of entry.

        Parameters
        ----------
        size : int
            One of ``sizes``.
        """
        return tuple(self.feature_names[i] for i in self.subset(size))

    def error(self, size: int) -> float:
        """Return the criterion at a size.

        Parameters
        ----------
        size : int
            One of ``sizes``.
        """
        return self.step(size).error

    def error_se(self, size: int) -> float:
        """Return the standard error of the criterion at a size; NaN if unknown.

        Parameters
        ----------
        size : int
            One of ``sizes``.
        """
        return self.step(size).error_se

    def honest_error(self, size: int) -> float:
        """Return the out-of-sample error of the full procedure at a size; NaN if unknown.

        Parameters
        ----------
        size : int
            One of ``sizes``.
        """
        return self.step(size).honest_error

    def honest_error_se(self, size: int) -> float:
        """Return the standard error of the honest error at a size; NaN if unknown.

        Parameters
        ----------
        size : int
            One of ``sizes``.
        """
        return self.step(size).honest_error_se

    def rmse(self, size: int) -> float:
        """Return the square root of the criterion, a squared error, in units of the target.

        Parameters
        ----------
        size : int
            One of ``sizes``.
        """
        self._check_squared()
        return math.sqrt(self.error(size))

    def r2(self, size: int) -> float:
        """Return R2 at a size: one minus the squared error divided by that of the empty model.

        Both errors are of the kind of the path. For leave-one-out this is Q2, computed for features
        that the search selected with all samples. ``honest_.gain`` of the estimator is the
        corresponding figure for new data. A negative value means that the mean predicts better.

        Parameters
        ----------
        size : int
            One of ``sizes``.
        """
        self._check_squared()
        here = self.error(size)
        if 0 not in self.sizes:
            raise InputError("R2 needs the error of the empty model, and the path has no size 0.")
        return 1.0 - here / self.error(0) if self.error(0) else math.nan

    def _check_squared(self) -> None:
        if "squared error" not in self.criterion:
            raise InputError(
                f"R2 and RMSE are of squared errors; the errors of this path are {self.criterion}. "
                "evaluate() measures the squared error of any regressor on its subsets."
            )

    def coef(self, size: int) -> FloatArray | None:
        """Return the coefficients, size x n_targets, in order of entry; None for nonlinear models.

        Parameters
        ----------
        size : int
            One of ``sizes``.
        """
        return self.step(size).coef

    def intercept(self, size: int) -> FloatArray | None:
        """Return the intercepts, one per target; None for nonlinear models.

        Parameters
        ----------
        size : int
            One of ``sizes``.
        """
        return self.step(size).intercept

    def choose(
        self, rule: Rule = None, *, size: int | None = None, within: float | None = None
    ) -> int:
        """Return the size that a rule selects. Pass exactly one argument.

        The errors are the honest errors if there are any, otherwise the criterion.

        Parameters
        ----------
        rule : {"min", "one_se"}, int or float, optional
            "min": the smallest size with the minimum error. "one_se": the smallest size within one
            standard error of the minimum (for honest errors, of the paired difference). An int: as
            ``size``. A float: as ``within``.
        size : int, optional
            This size.
        within : float, optional
            The smallest size whose error is at most (1 + ``within``) times the minimum.
        """
        given: list[Any] = [value for value in (rule, size, within) if value is not None]
        if len(given) != 1:
            raise InputError(
                f"choose takes exactly one of rule, size and within; the rules are {CHOICES}."
            )
        [value] = given
        if (size is not None and not is_size(size)) or isinstance(within, str | bool):
            raise InputError(f"cannot choose by {value!r}; allowed are {CHOICES}.")
        if within is None:
            check_rule(value)
            if is_size(value):
                return len(self.subset(int(value)))
        sizes, errors, allowance = self._choosable()
        return sizes[int(places(value, errors[None], lambda best: allowance[None])[0])]

    def _choosable(self) -> tuple[tuple[int, ...], FloatArray, FloatArray]:
        """Return the candidate sizes, their errors, and the allowance of "one_se" above the
        minimum.
        """
        if not self.is_validated:
            least = self.errors_se[int(np.argmin(self.errors))]
            return self.sizes, self.errors, np.full(len(self), least)
        steps = [step for step in self.steps if not math.isnan(step.honest_error)]
        return (
            tuple(len(step.subset) for step in steps),
            np.array([step.honest_error for step in steps]),
            np.array([step.honest_gap_se for step in steps]),
        )

    def settle(self, rule: Any) -> int:
        """Return the size that a rule selects, with a fallback if the path lacks it.

        For a size that is not on the path, return the nearest one, with a warning unless the search
        was stopped early. For ``"one_se"`` without standard errors (search stopped early), use
        ``"min"``.

        Parameters
        ----------
        rule : {"min", "one_se"}, int or float
            Rule that ``choose`` takes.
        """
        if is_size(rule):
            return nearest(int(rule), self.sizes, self.n_features, quiet=not self.complete)
        if not self.complete and isinstance(rule, str) and rule == "one_se":
            least = self.choose("min")
            return least if math.isnan(self.error_se(least)) else self.choose(rule)
        return self.choose(rule)

    def matrix(self) -> NDArray[np.bool_]:
        """Return the feature selection path (FSP): sizes x features, True where selected."""
        matrix = np.zeros((len(self), self.n_features), dtype=bool)
        for row, subset in zip(matrix, self.subsets, strict=True):
            row[list(subset)] = True
        return matrix

    def entering_together(self) -> list[Exchange]:
        """Return the sizes at which several features entered while others left (interactions)."""
        return [
            Exchange(len(larger), without(larger, smaller), without(smaller, larger))
            for smaller, larger in pairwise(self.subsets)
            if not set(smaller) <= set(larger)
        ]


def without(subset: tuple[int, ...], other: Iterable[int]) -> tuple[int, ...]:
    """Return the columns of a subset that are not in another one."""
    gone = set(other)
    return tuple(i for i in subset if i not in gone)
