"""Repeat the search of an estimator: squared errors need only products of columns.

Parts of the rows are condensed (``data/condensed.py``) to as many rows as there are columns, and
the same solver gives the same result on these. If cross-validation chooses l1, the training parts
of its splits are condensed too, within every part.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sparsepath.assessment.repetitions import Repetition, RepetitionResult, is_plain, linear_outputs
from sparsepath.data.condensed import Products
from sparsepath.data.folds import Rows
from sparsepath.data.splits import splits_of
from sparsepath.grafting.along import longer
from sparsepath.grafting.criterion import SquaredLoss
from sparsepath.grafting.fitting import GraftingProblem
from sparsepath.grafting.folds import errors_on
from sparsepath.grafting.procedure import of_each_l1
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads

GRAFTING_ROWS = 4  # rows for each column from which products of columns are worth making


def search_many(
    estimator: Any, X: Any, Y: Floats, given: Any, repetitions: Sequence[Repetition]
) -> Iterator[RepetitionResult | None] | None:
    """Return the result of each repetition; None where the rows are needed."""
    few = isinstance(X, np.ndarray) and X.shape[0] >= GRAFTING_ROWS * X.shape[1]
    relax = getattr(estimator, "relax", False)
    plain = estimator.loss == "squared" and estimator.fit_intercept and not relax
    if set(given) - {"groups"} or not few or not plain:
        return None
    return _searched(estimator, X, Y, given.get("groups"), repetitions)


def _searched(
    estimator: Any, X: Any, Y: Floats, groups: Any, repetitions: Sequence[Repetition]
) -> Iterator[RepetitionResult | None]:
    groups = None if groups is None else np.asarray(groups)
    products = Products(X, standardize=estimator.standardize)
    with Threads(1) as threads:
        for one in repetitions:
            y = Y if one.order is None else Y[one.order]
            search = _SharedSearch(estimator, X, y, groups, products, threads)
            rows = np.arange(len(y)) if one.rows is None else one.rows
            yield search.found(rows) if is_plain(y, one) else None


class _SharedSearch:
    """The search of an estimator in some rows."""

    def __init__(
        self, estimator: Any, X: Any, Y: Floats, groups: Any, products: Products, threads: Threads
    ) -> None:
        self.estimator, self.X, self.Y, self.groups = estimator, X, Y, groups
        self.products, self.threads = products, threads
        self.options = estimator._options()

    def problem(self, rows: Rows) -> GraftingProblem | None:
        """Rows that stand for these; None if they cannot be had, or a column does not vary."""
        few = self.products.condensed(self.Y[:, 0], rows)
        if few is None or len(few.usable) < self.X.shape[1]:
            return None
        return GraftingProblem.condensed(few, SquaredLoss(), self.threads)

    def found(self, rows: Rows) -> RepetitionResult | None:
        """Return the results of the search."""
        problem = self.problem(rows)
        if problem is None:
            return None
        if hasattr(self.estimator, "cv"):
            found = self._over_l1(problem, rows)
        else:
            of = self.estimator
            fit = problem.fit(of._penalty(of.l1, of.l0), self.options)
            found = problem.found(fit.record)
        if found is None:
            return None
        steps = found.steps
        steps = list(steps.values() if hasattr(steps, "values") else steps)
        label = f"{found.criterion} ({found.error_kind} error)"
        return RepetitionResult(
            {len(step.subset): step.subset for step in steps},
            {len(step.subset): float(step.error) for step in steps},
            lambda rows: linear_outputs(self.X[rows], steps),
            label,
            found.size,
        )

    def _over_l1(self, problem: GraftingProblem, rows: Rows) -> Any:
        """The path over l1 with the errors of its splits."""
        of, penalty = self.estimator, self.estimator._penalty(1.0, self.estimator.l0)
        l1s = of._values(problem, penalty)
        each = of_each_l1(self.options, penalty)
        y = self.Y[rows, 0]
        groups = None if self.groups is None else self.groups[rows]
        splits = list(splits_of(of.cv, self.X[rows], y, groups))
        parts = [self.problem(rows[train]) for train, _ in splits]
        while True:
            fits = problem.path(l1s.tolist(), penalty, self.options)
            errors = []
            for part, (_, test) in zip(parts, splits, strict=True):
                if part is None:
                    return None
                away = rows[test]
                found = [fit.final for fit in part.path(l1s[: len(fits)].tolist(), penalty, each)]
                weights = np.ones(len(away))
                errors.append(errors_on(part, found, self.X[away], self.Y[away], weights))
            if not of._goes_on(l1s, errors, penalty):
                return of._found(problem, l1s, fits, errors, 0.0)
            l1s = longer(l1s)
