"""What a search minimises, and the capabilities of each criterion.

With rows scaled by g = sqrt(sample weight), residuals r (m x T) and p = 1 - leverage, the
leave-one-out residual of sample j is e_j = r_j / (p_j g_j). A loss turns e_j into a number; the
criterion is its mean with weights v_j that sum to one. ``Loss.weighted`` returns v_j * loss_j
directly, in a form that is valid for samples of weight zero. Over the test parts of splits, p is
one; everything else is the same.

Searches do not depend on the name of a criterion, only on its capabilities, and evaluate all
candidates if there is no short-cut. Each criterion names its compiled loop (``kernel``), so that no
criterion can be evaluated as another one. ``table.py`` has the names.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparsepath.assessment.metrics import Metric, Truth
from sparsepath.system.arrays import Floats

NO_DECISION = 1e-10  # difference of two scores, over their reach, that decides nothing
LABEL_ROUNDING = 4e-15  # and what rounding leaves of a difference of labels and residuals
ROOM = 1e-10  # 1 - leverage below this: the sample decides its own prediction, nothing is left out


class Criterion:
    """A criterion of the search."""

    name: ClassVar[str] = ""  # for messages, and for checkpoints
    coded: ClassVar[bool] = False  # whether it is for classes, coded +-1
    # Whether it counts mistakes: equal counts are told apart by the squared criterion of the same
    # models, left out in the same way, and a search ends when there is none left.
    counts: ClassVar[bool] = False
    several: ClassVar[bool] = True  # whether there may be several targets
    pairs: ClassVar[bool] = False  # whether it judges pairs of samples
    # Whether the lower bounds of the squared criterion are its own: for additions and removals,
    # which are then not all evaluated, and for the forms built on them.
    bounded: ClassVar[bool] = False
    by_sums: ClassVar[bool] = False  # whether its errors over splits follow from sums of products
    # The loss as compiled loops know it (``sparsepath._core.losses``); None: NumPy has to do.
    kernel: Any = None
    needs: ClassVar[str] = "samples of positive weight"  # what a test part must have to be judged

    def __init_subclass__(cls) -> None:
        """A subclass that changes the loss does not inherit the compiled loops."""
        super().__init_subclass__()
        if {"of", "weighted"} & set(vars(cls)) and "kernel" not in vars(cls):
            cls.kernel = None

    @property
    def label(self) -> str:
        """Name of the errors."""
        return f"{self.name.replace('_', '-')} error"

    @property
    def key(self) -> str:
        """Name with the parameters, if there are any."""
        given = ", ".join(f"{name}={value!r}" for name, value in sorted(vars(self).items()))
        return f"{self.name}({given})" if given else self.name

    def __repr__(self) -> str:
        return self.key

    @property
    def metric(self) -> str | Metric:
        """Name of the metric for predictions on new data."""
        return self.name

    def can_judge(self, Y: Floats, weights: Floats, queries: NDArray[np.intp]) -> bool:
        """Return whether the criterion is defined on a test fold."""
        return bool(weights.sum() > 0)


class Loss(Criterion, ABC):
    """A criterion that is a mean over samples."""

    balanced: ClassVar[bool] = False  # whether every class weighs the same

    def blur(self, reach: Any) -> Any:
        """Return the largest difference of scores that counts as a tie, for models of this
        reach.
        """
        return NO_DECISION * np.minimum(reach, 1.0) + LABEL_ROUNDING

    def sample_weights(self, Y: Floats, weights: Floats) -> Floats:
        """Return the weights v of the mean; they sum to one over all samples."""
        return weights / weights.sum()

    def total(
        self, residuals: list[Floats], p: Floats, g: Floats, v: Floats, Y: Floats, blur: Any = 0.0
    ) -> Floats:
        """Return the sums of ``weighted`` over the rows, one per column (the inner loop of a
        search).
        """
        return self.weighted(residuals, p, g, v, Y, blur).sum(0)

    @abstractmethod
    def weighted(
        self, residuals: list[Floats], p: Floats, g: Floats, v: Floats, Y: Floats, blur: Any = 0.0
    ) -> Floats:
        """Return v_j * loss_j for one model or, column by column, for several.

        Residuals r, one array per target, have shape (m,), or (m, c) for c models, and may be
        overwritten; so may p = 1 - leverage. g are square roots of the sample weights, v weights of
        the mean, Y raw targets, m x T; ``blur`` is the tie tolerance of each model, for losses that
        count mistakes.
        """


class ResidualLoss(Loss):
    """Loss that is a function of the residual, summed over targets.

    A subclass defines ``name`` and ``of``. Its attributes are parameters: they are recorded on the
    path and in checkpoints.
    """

    @abstractmethod
    def of(self, e: Floats) -> Floats:
        """Return the loss of each residual, in an array of the same shape.

        Parameters
        ----------
        e : array
            Residuals, of any shape.
        """

    def weighted(
        self, residuals: list[Floats], p: Floats, g: Floats, v: Floats, Y: Floats, blur: Any = 0.0
    ) -> Floats:
        """Return v_j * of(e_j); zero where the weight is zero."""
        column = columns_like(p)
        room = p * g[column]
        heavy = room > 0
        each = (np.divide(r, room, where=heavy, out=np.zeros_like(room)) for r in residuals)
        return sum_of(np.asarray(self.of(e), dtype=np.float64) for e in each) * v[column]

    @property
    def metric(self) -> str | Metric:
        def losses(truth: Truth, outputs: Floats) -> Floats:
            return np.asarray(self.of(truth.values - outputs)).sum(1)

        return Metric(self.label, losses)


def columns_like(p: Floats) -> Any:
    """Return an index that broadcasts vectors over the rows to p, for one or several models."""
    return (slice(None), None) if p.ndim == 2 else slice(None)


def sum_of(parts: Iterator[Floats]) -> Floats:
    """Return the sum, stored in the first array."""
    return reduce(operator.iadd, parts)


def per_weight(g: Floats, v: Floats) -> Floats:
    """Return v / g^2, constant for the losses that use it; zero where the weight is zero."""
    return np.divide(v, g * g, where=g > 0, out=np.zeros(len(g)))


def reach_of(squares: Floats, alpha: float) -> Floats:
    """Return q / (alpha + q) for every column with squared norm q."""
    whole = squares + alpha
    return np.divide(squares, whole, where=whole > 0, out=np.zeros(len(squares)))
