"""The numbers of a forward path, afresh from what was chosen: whoever chose it, they are the same.

In loops that were built with the package (``small.py``), or in NumPy where there are none and where
data are long: the same for all searches of the same data.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.losses import ROOM
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out import small
from sparsepath.rls.leave_one_out.carried import columns_of
from sparsepath.rls.leave_one_out.forward import Centred
from sparsepath.tuning import TUNING

ONCE_MORE = 0.25  # part of a square that is left, below which a column is projected once more


@dataclass(frozen=True)
class Whole:
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

    def up_to(self, k: int) -> "Whole":
        """The path up to size k."""
        sizes = (self.errors[: k + 1], self.errors_se[: k + 1], self.coef[: k + 1, :k])
        return Whole(self.subset[:k], *sizes, self.intercept[: k + 1], False)


def loops_for(design: Design) -> small.SmallLoops | None:
    """The loops of the package for the numbers of a path, the same for all searches of the data."""
    return small.small_loops() if design.n_samples <= TUNING.native_numbers_up_to else None


def in_units(
    design: Design,
    of: Centred,
    k: int,
    vanished: bool,
    subset: NDArray[np.intp],
    errors: Floats,
    around: Floats,
    coef: Floats,
) -> Whole:
    """The path of size k in the units of the data."""
    total, counted = design.total, design.n_counted
    subset = subset[:k]
    coef = coef[: k + 1, :k] * design.scales[subset, None]
    return Whole(
        subset,
        errors[: k + 1] / total,
        np.sqrt(around[: k + 1] * (counted / (counted - 1))) / total,
        coef,
        intercepts(of.y_mean, design.means[subset], coef),
        bool(vanished),
    )


def intercepts(y_mean: Floats, means: Floats, coef: Floats) -> Floats:
    """The constant terms of every size, from sums in order of entry: later zeros change nothing."""
    sums = (means[:, None] * coef).cumsum(1)[:, -1] if len(means) else np.zeros((1, len(y_mean)))
    return np.asarray(y_mean - sums)


class Noted:
    """The path through features that come one by one, from their columns.

    Every feature adds a row to an orthonormal basis, z and its coefficients d in the augmented
    space of ``model.py``, once more made orthogonal where little is left of it. Then the residuals
    of size k are y less the sum of (y'z) z over the first k rows, and 1 - leverages and
    coefficients are such sums too: running ones, so that all sizes come at once, and none knows
    which come later.

    Attributes
    ----------
    size : int
        How many have come.
    basis : array of shape (size, m + size)
        Their rows.
    """

    def __init__(self, design: Design, of: Centred, alpha: float, size: int) -> None:
        T, m = of.y.shape
        self._design, self._of, self._alpha, self.size = design, of, alpha, 0
        self.basis = np.zeros((size, m + size))
        self._Z, self._d = self.basis[:, :m], self.basis[:, m:]
        self._rp, self._w = np.empty((size + 1, T + 1, m)), np.zeros((size + 1, T, size))
        self._rp[0, :-1], self._rp[0, -1] = of.y, of.p  # residuals and 1 - leverages
        self._errors, self._around = np.empty((2, size + 1))
        self._known = 0  # sizes of which all numbers are known
        self._loops = loops_for(design)

    def extend(self, columns: Floats) -> None:
        """Go on, one by one, to the models that have these columns too."""
        self._Z[self.size : self.size + len(columns)] = columns
        if self._loops is None:
            self._extend(columns)
        else:
            self._loops.extend_basis(self.basis, self.size, len(columns), self._alpha, ONCE_MORE)
        self.size += len(columns)

    def _extend(self, columns: Floats) -> None:
        alpha, m = self._alpha, columns.shape[1]
        for k, square in enumerate(np.vecdot(columns, columns).tolist(), self.size):
            rows, row, left = self.basis[:k, : m + k], self.basis[k, : m + k], square
            if k:
                Z, z = rows[:, :m], row[:m]
                t = Z @ z
                row -= t @ rows
                left -= float(t @ t)
                if not left > ONCE_MORE * square:
                    t = Z @ z + alpha * (rows[:, m:] @ row[m:])
                    row -= t @ rows
                    left = float(z @ z) + alpha * float(row[m:] @ row[m:])
            scale = 1.0 / math.sqrt(left + alpha)
            row *= scale
            self._d[k, k] = -scale

    def _stand(self) -> slice:
        """Residuals, 1 - leverages and coefficients of the sizes that are new; which they are."""
        k, low = self.size, max(self._known - 1, 0)
        here, new = slice(low, k + 1), slice(self._known, k + 1)
        self._known = k + 1
        if self._loops is not None:
            self._loops.stand_at(self.basis, self._of.y, self._rp, self._w, low, k)
            return new
        step = max(1, TUNING.tile_numbers // (4 * self._Z.shape[1]))
        for first in range(low, k, step):  # as many as stay in the cache
            last = min(k, first + step)
            Z, after = self._Z[first:last, None], self._rp[first + 1 : last + 1]
            along = np.vecdot(Z, self._of.y)[..., None]
            np.multiply(along, Z, out=after[:, :-1])
            np.square(Z, out=after[:, -1:])
            for before, here_too in pairwise(self._rp[first : last + 1]):
                np.subtract(before, here_too, out=here_too)
            np.multiply(along, self._d[first:last, None], out=self._w[first + 1 : last + 1])
        np.subtract.accumulate(self._w[here], axis=0, out=self._w[here])
        return new

    def path(self, subset: NDArray[np.intp], vanished: bool) -> Whole:
        """What has come, in the units of the data."""
        new, k = self._stand(), self.size
        if self._loops is None:
            self._errors[new], self._around[new] = self._judged(new)
        else:
            numbers = self._rp[new], self._errors[new], self._around[new]
            self._loops.sum_squares(*numbers, self._design.weights / self._design.total, ROOM)
        coef = self._w[: k + 1, :, :k].transpose(0, 2, 1)
        sums = self._errors[: k + 1], self._around[: k + 1]
        return in_units(self._design, self._of, k, vanished, subset, *sums, coef)

    def _judged(self, new: slice) -> tuple[Floats, Floats]:
        """Sums of the losses of some sizes, and of their squares around the part of each sample."""
        r, p, design = self._rp[new, :-1], self._rp[new, -1], self._design
        tight = p.min(1) <= ROOM
        if tight.any():
            p = np.maximum(p, ROOM)
        losses = np.square(r / p[:, None]).sum(1)
        errors = losses.sum(1)
        losses -= (errors / design.total)[:, None] * (1.0 if design.uniform else design.weights)
        errors[tight] = np.inf
        return errors, np.vecdot(losses, losses)


def numbers_of(
    design: Design, of: Centred, alpha: float, subset: NDArray[np.intp], vanished: bool
) -> Whole:
    """The path through these features, size by size: no number knows which sizes come later."""
    noted = Noted(design, of, alpha, len(subset))
    noted.extend(columns_of(design, subset))
    return noted.path(subset, vanished)
