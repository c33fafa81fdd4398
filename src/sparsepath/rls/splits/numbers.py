r"""The numbers of a forward path over splits, from the features in their order of entry.

Let A be the products of the chosen columns and the target over a training part, in their order of
entry, D those over the test part, both centred with training means. Eliminating column b from both,
with u = A_b / (A_bb + alpha),

    A_ij  <-  A_ij - u_i A_bj            D_ij  <-  D_ij - u_i (D_bj - u_j D_bb) - D_bi u_j,

where j runs over the target too: A then holds products of what is left of the training part, D
those of d and e, and D_yy is the test error of the first b columns. The same for all rows has the
coefficients: column j is sum_i B_ij x_i and what is left, where B_bj = u_j and B_ij loses B_ib u_j.
Nothing is summed over columns, so that no number knows which sizes come later. For the same reason
the compiled loop (``compiled_numbers.py``) has the same bits as NumPy: it makes the same single
operations, and may not reorder or contract them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.numbers import Whole
from sparsepath.rls.splits.asked import standard_error
from sparsepath.rls.splits.model import FoldModel


class PartProducts(NamedTuple):
    """A and D, |S| x (|S| + T) x splits, A with all rows as one more; errors of the empty model."""

    A: Floats
    D: Floats
    sse: Floats


class Shares(NamedTuple):
    """Splits as errors see them: what squared errors are divided by, weights, overlap of tests."""

    share: Floats
    weight: Floats
    overlap: float


class PathNumbers(ABC):
    """The path through features in an order of entry: errors over splits, coefficients on all rows.

    Attributes
    ----------
    steps : list of arrays
        Of the path that was asked for last, u of each column in every split, for the columns after
        it and the target.
    """

    def __init__(self, design: Design, alpha: float, y_mean: Floats, shares: Shares) -> None:
        self._design, self._alpha, self._y_mean, self._shares = design, alpha, y_mean, shares
        self.steps: list[Floats] = []

    @abstractmethod
    def _products(self, S: NDArray[np.intp]) -> PartProducts:
        """What training and test parts know of the chosen columns and the target."""

    def path(self, S: NDArray[np.intp], vanished: bool, *, compiled: bool = False) -> Whole:
        """The numbers of every size; ``compiled`` once the loops are loaded."""
        design, shares = self._design, self._shares
        A, D, empty = self._products(S)
        k, F = len(S), D.shape[2]
        T = D.shape[1] - k
        U, changes = np.empty((k, k + T, F)), np.zeros((k + 1, F, T))
        coef, B = np.zeros((k + 1, k, T)), np.zeros((k, k + T))
        loop = eliminate_compiled() if compiled else eliminate
        loop(A, D, self._alpha, U, changes, coef, B)
        self.steps = [U[b, b + 1 :] for b in range(k)]
        changes[0, :, 0] = empty
        sse = np.maximum(np.cumsum(changes, axis=0).sum(2), 0.0)
        coef *= design.scales[S, None]
        centre = np.zeros((k + 1, T))
        if k:
            centre = np.add.accumulate(design.means[S, None] * coef, axis=1)[:, -1]
        return Whole(
            S,
            (sse / shares.share).sum(1),
            standard_error(sse / shares.weight, shares.overlap),
            coef,
            self._y_mean - centre,
            vanished,
        )


class FoldNumbers(PathNumbers):
    """The same from the sums of products of a model.

    Parameters
    ----------
    model : FoldModel
        The empty model.
    """

    def __init__(self, model: FoldModel) -> None:
        sums = model.sums
        shares = Shares(model.share, sums.weight[: sums.n_splits], sums.overlap)
        super().__init__(model.design, model.alpha, sums.y_mean, shares)
        self._model = model
        self._c, self._ed, self._sse = model.c, model.ed, model.sse

    def _products(self, S: NDArray[np.intp]) -> PartProducts:
        model, sums = self._model, self._model.sums
        F, k, w = sums.n_splits, len(S), sums.weight
        T = self._c.shape[2]
        A, D = np.empty((k, k + T, F + 1)), np.empty((k, k + T, F))
        P = sums.among(S)
        means, x = model.mu[:, S].T, sums.x[:F, S].T
        test, train = w[:F], w[F : 2 * F]
        A[:, :k, :F] = P[:, :, F : 2 * F] - (train * means)[:, None] * means
        A[:, :k, F] = P[:, :, -1]
        A[:, k:, :F] = self._c[:, S].transpose(1, 2, 0)
        A[:, k:, F] = sums.xy[-1][S]
        if model.design.fit_intercept:
            A[:, :k, F] -= np.outer(sums.x[-1, S], sums.x[-1, S]) / w[-1]
            A[:, k:, F] -= np.outer(sums.x[-1, S], sums.y[-1]) / w[-1]
        D[:, :k] = P[:, :, :F] - x[:, None] * means - means[:, None] * x
        D[:, :k] += (test * means)[:, None] * means
        D[:, k:] = self._ed[:, S].transpose(1, 2, 0)
        return PartProducts(A, D, self._sse)


def eliminate(
    A: Floats, D: Floats, alpha: float, U: Floats, changes: Floats, coef: Floats, B: Floats
) -> None:
    """Eliminate the columns one by one; fill u, the changes of the errors, and coefficients."""
    k, F = len(A), D.shape[2]
    for b in range(k):
        own, right = D[b, b], D[b, b + 1 :]
        u = A[b, b + 1 :] / (A[b, b] + alpha)
        A[b + 1 :, b + 1 :] -= u[: k - b - 1, None] * A[b, b + 1 :]
        tests = u[:, :F]
        U[b, b + 1 :] = tests
        rest = right - tests * own
        omega, e_b = tests[k - b - 1 :], right[k - b - 1 :]
        changes[b + 1] = (omega * (omega * own - 2.0 * e_b)).T
        D[b + 1 :, b + 1 :] -= tests[: k - b - 1, None] * rest
        D[b + 1 :, b + 1 :] -= right[: k - b - 1, None] * tests
        B[:b, b + 1 :] -= B[:b, b, None] * u[:, F]
        B[b, b + 1 :] = u[:, F]
        coef[b + 1, : b + 1] = B[: b + 1, k:]


def eliminate_compiled() -> Callable[..., None]:
    """The compiled loop."""
    from sparsepath.rls.splits.compiled_numbers import eliminate

    return eliminate
