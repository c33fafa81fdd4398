"""A model fitted to a set of features: R, a, and the rows that answer for r, p and Z.

The derivation is in ``model.py``. What is here looks at no neighbour of the set: coefficients, the
criterion and its standard error, and the questions to the blocks of rows that projections
(``projection.py``) and removals (``removals.py``) need.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sparsepath.arrays import Floats
from sparsepath.data.crew import added
from sparsepath.rls.criteria.losses import Loss, reach_of
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.block import Rows
from sparsepath.rls.leave_one_out.fitted_rows import Measured, Weighed
from sparsepath.tuning import TUNING

CANCELLED = 1e-4  # what is left of a difference, over what was taken off, that is known well
VANISHED = 1e-13  # norm left of the residuals, over the target's, that counts as nothing

Result = TypeVar("Result")
Asked = ParamSpec("Asked")


@dataclass(frozen=True)
class Change:
    """An update that was made. For a drop: the rotation Q of Z, and q'y of the column released."""

    action: str
    feature: int
    Q: Floats | None = None
    released: Floats | None = None


class Fitted:
    """A model of chosen features, and its exact criterion.

    Parameters
    ----------
    design : Design
        The data.
    Y : array of shape (m, T)
        Targets; +-1 for the losses that count mistakes.
    alpha : float
        The ridge penalty, zero or more.
    loss : Loss
        How a leave-one-out residual is judged.

    Attributes
    ----------
    chosen : list of int
        Features in the model, in order of entry.
    error : float
        The criterion, a mean per sample.
    R, a : arrays
        See the derivation in ``model.py``.
    history : list
        The changes made so far, in order.
    """

    def __init__(self, design: Design, Y: Floats, alpha: float, loss: Loss) -> None:
        self.design, self.alpha = design, float(alpha)
        self.loss, self.counts = loss, loss.counts  # whether the squared criterion settles ties
        w = design.weights
        g = np.sqrt(w)
        v = loss.sample_weights(Y, w)
        self.n_targets = Y.shape[1]
        self.y_mean = (w @ Y) / design.total if design.fit_intercept else np.zeros(self.n_targets)
        numbers = design.n_samples * design.n_features
        compiled = not design.sparse and numbers >= TUNING.compiled_pass_from
        self.is_compiled = compiled and self.n_targets == 1
        live = np.flatnonzero(~design.constant)
        self.rows = [
            Rows(block, Y[part], g[part], v[part], loss, live, compiled, design.left)
            for block, part in zip(design.blocks, design.slices, strict=True)
        ]
        y_left = (w @ (Y - self.y_mean)) / design.total if design.fit_intercept else self.y_mean
        self.each(Rows.begin, self.y_mean, y_left, design.total, design.fit_intercept)
        self.chosen: list[int] = []
        self.R = np.zeros((0, 0))
        self.a = np.zeros((0, self.n_targets))
        self.history: list[Change] = []
        self._reach = reach_of(design.squares, self.alpha)
        self._squared_weights = float(v @ v)
        self.error = 0.0
        self._measure([], Rows.criterion)
        self.target_squares = float(self.residual_squares.sum())
        self.empty_error = self.error
        self.empty_squared = self.squared_error if self.counts else self.error

    # The model ----------------------------------------------------------------------------------

    def coef(self) -> Floats:
        """Coefficients of the chosen features in the units of the data, |S| x T."""
        return self.design.scales[self.chosen, None] * self.solve(self.a)

    def intercept(self) -> Floats:
        """The constant term, one per target."""
        return self.y_mean - self.design.means[self.chosen] @ self.coef()

    def standard_error(self) -> float:
        """Standard error of ``error`` as a mean over samples.

        From sums about the error before, which is near; unless the difference of the two is so
        much larger than what is left that little would be known of it. Samples of weight zero are
        none.
        """
        m = int(np.count_nonzero(self.design.weights))
        step = self.error - self._about
        moved = step**2 * self._squared_weights
        total = self._around - 2 * step * self._slope + moved
        if not total > CANCELLED * moved:
            total = sum(self.each(Rows.deviation, self.error))
        return float(np.sqrt(total * m / (m - 1)))

    @property
    def squared_error(self) -> float:
        """The squared criterion, whatever the loss."""
        return float(sum(self.each(Rows.score_squared)))

    def blur_without(self, places: NDArray[np.intp]) -> Floats:
        """The same with the feature at each of some places of ``chosen`` dropped."""
        reach = self._reach[self.chosen]
        return np.asarray(self.loss.blur(reach.sum() - reach[places]))

    def blur_of(self, features: Sequence[int]) -> float:
        """The same for a model of these features."""
        return float(self.loss.blur(self._reach[list(features)].sum()))

    def weighed(self) -> Weighed:
        """Sums over all rows with u = r / p^2; for the squared loss."""
        parts = zip(*self.few(0, Rows.weighed_sums), strict=True)
        return Weighed(*map(added, parts))

    @property
    def vanished(self) -> bool:
        """Whether nothing is left of the residuals but rounding."""
        return self.residual_squares.sum() <= VANISHED**2 * self.target_squares

    # Asking the rows -----------------------------------------------------------------------------

    def reserve(self, size: int) -> None:
        """Make room for this many features, so that no column is moved when more come."""
        self.each(Rows.reserve, size)

    def removals(self) -> tuple[Floats, Floats]:
        """For every chosen feature, q in terms of the columns of Z, and tau = -q'y."""
        inverse = self.solve(np.eye(len(self.chosen)))
        norms = np.sqrt(np.einsum("ij,ij->i", inverse, inverse))
        return inverse.T / norms, -self.solve(self.a) / norms[:, None]

    def each(
        self,
        message: Callable[Concatenate[Rows, Asked], Result],
        *args: Asked.args,
        **more: Asked.kwargs,
    ) -> list[Result]:
        """Ask every block, by a method of ``Rows``; answers in the order of the blocks."""
        return self.design.threads.ask(self.rows, None, message, *args, **more)

    def few(
        self,
        vectors: int,
        message: Callable[Concatenate[Rows, Asked], Result],
        *args: Asked.args,
        **more: Asked.kwargs,
    ) -> list[Result]:
        """The same, for a message that reads but few vectors of the length of the samples."""
        numbers = vectors * self.design.n_samples
        return self.design.threads.ask(self.rows, numbers, message, *args, **more)

    def sum(
        self,
        message: Callable[Concatenate[Rows, Asked], Floats],
        *args: Asked.args,
        **more: Asked.kwargs,
    ) -> Floats:
        """Ask every block and add up the answers."""
        return added(self.each(message, *args, **more))

    def usable(
        self, features: Sequence[int] | NDArray[np.intp], pivots: Floats
    ) -> NDArray[np.bool_]:
        """Which candidates are not collinear with the chosen ones, by their pivots."""
        chosen = np.asarray(features, dtype=np.intp)
        return (pivots > self.design.floor(chosen)) & ~self.design.constant[chosen]

    def solve(self, b: Floats, transposed: bool = False) -> Floats:
        """R^-1 b, or R^-T b."""
        return triangular(self.R, b, transposed) if len(self.R) else np.zeros_like(b)

    def _measure(
        self,
        features: Sequence[int],
        message: Callable[Concatenate[Rows, float, float, Asked], Measured],
        *args: Asked.args,
        **more: Asked.kwargs,
    ) -> None:
        """The criterion of the model of these features, with what is done to every block first."""
        about = self.error if np.isfinite(self.error) else 0.0
        blur = self.blur_of(features)
        answers = self.few(12 * self.n_targets, message, about, blur, *args, **more)
        self.error = float(sum(a.total for a in answers))
        self.residual_squares = added(a.squares for a in answers)
        self._about = about
        self._around = sum(a.around for a in answers)
        self._slope = sum(a.slope for a in answers)
        if any(a.tight for a in answers):
            self.error = np.inf


def triangular(R: Floats, b: Floats, transposed: bool = False) -> Floats:
    """R^-1 b, or R^-T b, for an upper triangular R that is known to be regular."""
    return lapack.dtrtrs(R, b, trans=int(transposed))[0]
