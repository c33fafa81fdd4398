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
    """Steps, one of each size, ascending; a ``SelectionPath`` is these and their history."""

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
        """The sizes there are, ascending."""
        return tuple([len(step.subset) for step in self.steps])

    @property
    def subsets(self) -> list[tuple[int, ...]]:
        """The subsets, aligned with ``sizes``."""
        return [step.subset for step in self.steps]

    @property
    def errors(self) -> FloatArray:
        """The errors, aligned with ``sizes``."""
        return np.array([step.error for step in self.steps])

    @property
    def errors_se(self) -> FloatArray:
        """The standard errors of the errors, aligned with ``sizes``."""
        return np.array([step.error_se for step in self.steps])

    @property
    def honest_errors(self) -> FloatArray:
        """Errors on samples that the whole procedure never saw, aligned with ``sizes``."""
        return np.array([step.honest_error for step in self.steps])

    @property
    def honest_errors_se(self) -> FloatArray:
        """The standard errors of the honest errors, aligned with ``sizes``."""
        return np.array([step.honest_error_se for step in self.steps])

    @property
    def is_validated(self) -> bool:
        """Whether there are honest errors; sizes are then chosen by them."""
        return bool(self.validation)

    @property
    def error_label(self) -> str:
        """Name and kind of the errors."""
        return f"{self.criterion} ({self.error_kind} error)"

    @property
    def chosen_by(self) -> str:
        """What a size is chosen by: the honest error, or the criterion of the search itself."""
        if self.is_validated:
            return f"honest error ({self.validation}, the whole procedure repeated)"
        return f"{self.error_label}, which the search itself minimised"

    def step(self, size: int) -> Step:
        """The model of this size."""
        if size not in (sizes := self.sizes):
            raise InputError(f"no model of size {size}; the sizes are {ranges(sizes)}.")
        return self.steps[sizes.index(size)]

    def subset(self, size: int) -> tuple[int, ...]:
        """Columns of the model of this size, in order of entry."""
        return self.step(size).subset

    def names(self, size: int) -> tuple[str, ...]:
        """Names of the features of the model of this size, in order of entry."""
        return tuple(self.feature_names[i] for i in self.subset(size))

    def error(self, size: int) -> float:
        """The criterion at this size."""
        return self.step(size).error

    def error_se(self, size: int) -> float:
        """Standard error of the criterion at this size; NaN if unknown."""
        return self.step(size).error_se

    def honest_error(self, size: int) -> float:
        """The error at this size on samples that the whole procedure never saw; NaN if unknown."""
        return self.step(size).honest_error

    def honest_error_se(self, size: int) -> float:
        """Standard error of the honest error at this size; NaN if unknown."""
        return self.step(size).honest_error_se

    def rmse(self, size: int) -> float:
        """Root of the criterion, a squared error, at this size: in the units of the target."""
        self._check_squared()
        return math.sqrt(self.error(size))

    def r2(self, size: int) -> float:
        """R2 at this size: the part of the empty model's squared error that is gone.

        Both errors are of the path's kind: after leave-one-out those of models, on samples left out
        of them (Q2), but of features that the search chose with all samples. What to expect on new
        data is ``honest_.gain`` of the estimator. Below zero if the mean does better.
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
        """Coefficients, size x n_targets, in order of entry; None if the model has none."""
        return self.step(size).coef

    def intercept(self, size: int) -> FloatArray | None:
        """Intercepts, one per target; None if the model has none."""
        return self.step(size).intercept

    def choose(
        self, rule: Rule = None, *, size: int | None = None, within: float | None = None
    ) -> int:
        """Choose a size by exactly one of a rule, ``size`` and ``within``.

        The rule ``"min"`` takes the smallest size of least error; ``"one_se"`` the smallest whose
        error is at most the least plus its standard error; an int, or ``size``, that size; a float,
        or ``within``, the smallest size whose error is at most (1 + ``within``) times the least.

        The error is the honest one where there is one, and the standard error then that of the
        difference to the least; else it is the criterion that the search itself minimised.
        """
        given: list[Any] = [value for value in (rule, size, within) if value is not None]
        if len(given) != 1:
            raise InputError(f"choose takes one of rule, size= and within=; rules are {CHOICES}.")
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
        """The sizes to choose from, their errors, and how much above the least one_se allows."""
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
        """As ``choose``, with what there is.

        For a size that the path has not it is the nearest, with a warning unless the search did
        not finish; for ``"one_se"``, where a search that was cut has no standard error
        yet, the size of least error.
        """
        if is_size(rule):
            return nearest(int(rule), self.sizes, self.n_features, quiet=not self.complete)
        if not self.complete and isinstance(rule, str) and rule == "one_se":
            least = self.choose("min")
            return least if math.isnan(self.error_se(least)) else self.choose(rule)
        return self.choose(rule)

    def matrix(self) -> NDArray[np.bool_]:
        """The feature selection path (FSP): sizes x features, true where selected."""
        matrix = np.zeros((len(self), self.n_features), dtype=bool)
        for row, subset in zip(matrix, self.subsets, strict=True):
            row[list(subset)] = True
        return matrix

    def entering_together(self) -> list[Exchange]:
        """Where features came in together while others left, as the two inputs of an XOR do."""
        return [
            Exchange(len(larger), without(larger, smaller), without(smaller, larger))
            for smaller, larger in pairwise(self.subsets)
            if not set(smaller) <= set(larger)
        ]


def without(subset: tuple[int, ...], other: Iterable[int]) -> tuple[int, ...]:
    """A subset less what is in another one."""
    gone = set(other)
    return tuple(i for i in subset if i not in gone)
