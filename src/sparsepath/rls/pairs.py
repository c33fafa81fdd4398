r"""Leave-pair-out: ranking and the area under the ROC curve by exact cross-validation.

For a pair of samples i and j the model is fitted without both and has to rank them. With P, r and
g of ``state.py``, leaving out rows B = {i, j} gives the residuals

    (e_i g_i, e_j g_j) = (P_BB)^-1 (r_i, r_j),        f = y - e.

For the area (``PairModel``) i is a positive sample, j a negative one, and the pair is wrong if
f_i < f_j, half wrong if they are equal. For ranking (``RankModel``) all pairs count, by
(e_i - e_j)^2 or by their order. Adding a feature changes P to P - zz'/pivot and r to r - z tau,
dropping one changes them to P + qq' and r - q tau, so that every candidate costs one evaluation of
all pairs and no fit. P is kept as an m x m matrix: for up to some thousands of samples.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import Floats
from sparsepath.errors import InputError
from sparsepath.rls.design import Design
from sparsepath.rls.fold_losses import KEPT_OF_SPARSE
from sparsepath.rls.fold_rows import STRIP
from sparsepath.rls.losses import NO_DECISION, ROOM, disorder
from sparsepath.rls.state import COLLINEAR, OFF_CENTRE, VANISHED
from sparsepath.rls.update import Costs, Update, pick

MOST_SAMPLES = 10000
FEWEST_RANKED = 4  # with a pair left out there must be another


class LeavePairOut(ABC):
    """A model on a growing and shrinking set of features, judged by leaving out pairs of samples.

    Parameters
    ----------
    design : Design
        The data; all features are held in memory, centred, unless they are sparse and many.
    Y : array of shape (m, 1)
        The target.
    alpha : float
        The ridge penalty of the models that are judged, zero or more.
    """

    _instead: str

    def __init__(self, design: Design, Y: Floats, alpha: float) -> None:
        if design.n_samples > MOST_SAMPLES:
            raise InputError(
                f"leaving out pairs compares all pairs of samples and takes at most "
                f"{MOST_SAMPLES}; there are {design.n_samples}. Use {self._instead}."
            )
        self.design, self.alpha = design, float(alpha)
        self.costs: Costs | None = None
        w = design.weights
        counted = np.flatnonzero(w > 0)
        self._g = np.sqrt(w[counted])
        self._y = Y[counted, 0]
        self.y_mean = (w @ Y) / design.total if design.fit_intercept else np.zeros(1)
        self._counted = counted
        # Kept: the columns and P X. Or, to save memory, neither: they are made from the data.
        numbers = len(counted) * design.n_features
        self._keeps = not design.sparse or numbers <= KEPT_OF_SPARSE
        self._X = design.rows(counted) * self._g[:, None] if self._keeps else None
        self._prepare()
        self._reset()
        self.empty_error = self.error

    @abstractmethod
    def _prepare(self) -> None:
        """Settle which pairs there are."""

    @abstractmethod
    def _pair_losses(self, z: Floats, inverse: float, tau: float) -> NDArray[Any] | None:
        """What every pair costs after r - z tau, P - zz' inverse; None if one leaves no room."""

    @abstractmethod
    def _mean(self, losses: NDArray[Any]) -> float:
        """The criterion."""

    @abstractmethod
    def standard_error(self) -> float:
        """Of the criterion."""

    def _reset(self) -> None:
        g, m = self._g, len(self._g)
        self._P = np.eye(m)
        if self.design.fit_intercept:
            self._P -= np.outer(g, g) / self.design.total
        self._r = g * (self._y - self.y_mean[0])
        self._C = None if self._X is None else self._X.copy()
        self.chosen: list[int] = []
        self._first = float(self._r @ self._r)
        self._measure()

    # What a search asks -------------------------------------------------------------------------

    def find_best_update(
        self, action: str = "add", features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """The best single addition or removal; see ``State.find_best_update``."""
        if action == "drop":
            which = np.array(self.chosen, dtype=np.intp)
            keep = np.ones(len(which), bool) if features is None else np.isin(which, list(features))
            return pick("drop", which[keep], self.errors_without()[keep], self.empty_error)
        allowed = ~self.design.constant
        if features is not None:
            allowed = allowed & np.isin(np.arange(len(allowed)), list(features))
        allowed[self.chosen] = False
        which = np.flatnonzero(allowed)
        errors = self.errors_with(which)
        worth = None if self.costs is None else self.costs.worth(which, errors, self.error)
        return pick("add", which, errors, self.empty_error, worth)

    def apply_update(self, update: Update) -> None:
        """Add or drop a feature."""
        if update.action == "add":
            self.add(update.feature)
        else:
            self.drop(update.feature)

    def _columns(self, features: NDArray[np.intp] | list[int]) -> Floats:
        """Columns as they stand."""
        if self._X is not None:
            return self._X[:, features]
        which = np.asarray(features, dtype=np.intp)
        return self.design.columns(which)[self._counted] * self._g[:, None]

    def _projected(self, features: NDArray[np.intp], columns: Floats) -> Floats:
        """P times these columns."""
        return self._P @ columns if self._C is None else self._C[:, features]

    def errors_with(self, features: NDArray[np.intp]) -> Floats:
        """The criterion with each of some features added; infinite where it cannot be said."""
        width = len(features) if self._keeps else max(1, STRIP // len(self._g))
        strips = np.split(features, range(width, len(features), width)) if len(features) else []
        return np.concatenate([np.zeros(0), *map(self._errors_with, strips)])

    def _errors_with(self, features: NDArray[np.intp]) -> Floats:
        X = self._columns(features)
        Z = self._projected(features, X)
        pivots = np.einsum("ij,ij->j", X, Z) + self.alpha
        usable = self._usable(features, pivots)
        pivots = np.where(usable, pivots, 1.0)
        tau = X.T @ self._r / pivots
        return np.where(usable, self._judge(Z, 1.0 / pivots, tau), np.inf)

    def errors_without(self) -> Floats:
        """The criterion with each chosen feature dropped, in the order of ``chosen``."""
        XS = self._columns(self.chosen)
        inverse = np.linalg.inv(XS.T @ XS + self.alpha * np.eye(XS.shape[1]))
        scale = np.sqrt(np.diag(inverse))
        y = self._g * (self._y - self.y_mean[0])
        tau = -(inverse @ (XS.T @ y)) / scale
        return self._judge(XS @ inverse / scale, np.full(len(tau), -1.0), tau)

    def add(self, b: int) -> None:
        """Add a feature."""
        one = np.array([b])
        x = self._columns(one)
        z = self._projected(one, x)[:, 0].copy()
        pivot = float(x[:, 0] @ z) + self.alpha
        if b in self.chosen or not self._usable(one, np.array([pivot]))[0]:
            raise InputError(f"feature {b} is chosen already or collinear with the chosen ones.")
        self._r = self._r - z * (x[:, 0] @ self._r / pivot)
        self._P -= np.outer(z, z / pivot)
        if self._C is not None and self._X is not None:
            self._C -= np.outer(z, (z @ self._X) / pivot)
        self.chosen.append(int(b))
        self._measure()

    def drop(self, b: int) -> None:
        """Drop a feature: the others are added anew."""
        if b not in self.chosen:
            raise InputError(f"feature {b} is not chosen; these are: {self.chosen}.")
        others = [i for i in self.chosen if i != b]
        self._reset()
        for i in others:
            self.add(i)

    def duplicate(self) -> Self:
        """A copy to try changes on."""
        other = copy.copy(self)
        other._P, other.chosen = self._P.copy(), list(self.chosen)
        other._C = None if self._C is None else self._C.copy()
        return other

    @property
    def _final_alpha(self) -> float:
        """The penalty of the model on all samples."""
        return self.alpha

    def coef(self) -> Floats:
        """Coefficients of the chosen features in the units of the data, |S| x 1."""
        XS = self._columns(self.chosen)
        A = XS.T @ XS + self._final_alpha * np.eye(XS.shape[1])
        w = np.linalg.solve(A, XS.T @ (self._g * (self._y - self.y_mean[0])))
        return (self.design.scales[self.chosen] * w)[:, None]

    def intercept(self) -> Floats:
        """The constant term."""
        return self.y_mean - self.design.means[self.chosen] @ self.coef()

    @property
    def vanished(self) -> bool:
        """Whether nothing is left of the residuals but rounding."""
        return bool(self._r @ self._r <= VANISHED**2 * self._first)

    def _measure(self) -> None:
        losses = self._pair_losses(np.zeros(len(self._r)), 1.0, 0.0)
        self._losses = losses
        self.error = np.inf if losses is None else self._mean(losses)

    def _judge(self, Z: Floats, inverse: Floats, tau: Floats) -> Floats:
        """The criterion after each of some changes r - z tau, P - zz' inverse."""
        out = np.full(len(tau), np.inf)
        for i in range(len(tau)):
            losses = self._pair_losses(Z[:, i], inverse[i], tau[i])
            if losses is not None:
                out[i] = self._mean(losses)
        return out

    def _residuals(
        self,
        rows: NDArray[np.intp],
        columns: NDArray[np.intp],
        z: Floats,
        inverse: float,
        tau: float,
    ) -> tuple[Floats, Floats, Floats]:
        """Residuals of both samples of every pair rows x columns, and the determinants of P_BB."""
        r = self._r - z * tau
        p = np.diag(self._P) - z * z * inverse
        cross = self._P[np.ix_(rows, columns)] - np.outer(z[rows] * inverse, z[columns])
        det = np.outer(p[rows], p[columns]) - cross**2
        room = np.where(det > ROOM, det, 1.0)
        first = (p[columns] * r[rows, None] - cross * r[columns]) / room / self._g[rows, None]
        second = (p[rows, None] * r[columns] - cross * r[rows, None]) / room / self._g[columns]
        return first, second, det

    def _usable(self, features: NDArray[np.intp], pivots: Floats) -> NDArray[np.bool_]:
        squares, sizes = self.design.squares[features], self.design.sizes[features]
        floor = COLLINEAR**2 * squares + (OFF_CENTRE * sizes) ** 2
        return np.asarray(pivots > floor)


class PairModel(LeavePairOut):
    """Judged by leave-pair-out AUC error; the parameters are those of ``LeavePairOut``, y is +-1.

    A pair of a positive and a negative sample weighs the product of its samples' weights.
    """

    _instead = "loss='balanced'"

    def __init__(self, design: Design, Y: Floats, alpha: float) -> None:
        assert Y.shape[1] == 1
        super().__init__(design, Y, alpha)

    def _prepare(self) -> None:
        self._positive = np.flatnonzero(self._y > 0)
        self._negative = np.flatnonzero(self._y <= 0)

    def _pair_losses(self, z: Floats, inverse: float, tau: float) -> NDArray[Any] | None:
        """How wrongly each pair is ranked, positives x negatives; None if one leaves no room."""
        pos, neg = self._positive, self._negative
        e_pos, e_neg, det = self._residuals(pos, neg, z, inverse, tau)
        if det.min() <= ROOM:
            return None
        f_pos, f_neg = self._y[pos, None] - e_pos, self._y[neg] - e_neg
        return disorder(f_pos - f_neg, NO_DECISION)

    def _mean(self, losses: NDArray[Any]) -> float:
        w = self._g**2
        a, b = w[self._positive], w[self._negative]
        return float(a @ losses @ b / (a.sum() * b.sum()))

    def standard_error(self) -> float:
        """Of the area, over positive and negative samples (DeLong)."""
        if self._losses is None or min(self._losses.shape) < 2:
            return float("nan")
        a, b = self._losses.mean(1), self._losses.mean(0)
        return float(np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)))


class RankModel(LeavePairOut):
    r"""Least squares on all pairs of samples, judged on each pair by the fit without both.

    What is minimised is sum_{i<j} (d_i - d_j)^2 + alpha |w|^2 with d = y - Xw, and with m samples
    the first sum is m sum_i (d_i - mean d)^2: ridge regression with an intercept and the penalty
    alpha / m. The models that are judged have m - 2 samples, hence the penalty alpha / (m - 2);
    the intercept cancels in e_i - e_j.

    Parameters
    ----------
    design, Y
        As for ``LeavePairOut``; all samples have the weight one.
    alpha : float
        The penalty beside the sum over all pairs.
    loss : {"squared", "disagreement"}
        The mean over pairs of (e_i - e_j)^2, or the share of pairs with different targets that
        are put in the wrong order; one that the scores do not tell apart counts half.
    """

    _instead = "splits (cv=10)"

    def __init__(self, design: Design, Y: Floats, alpha: float, loss: str) -> None:
        m = design.n_samples
        if m < FEWEST_RANKED:
            raise InputError(
                f"Found {m} samples; leaving out pairs needs at least {FEWEST_RANKED}."
            )
        self.loss = loss
        self._blur = NO_DECISION * float(np.ptp(Y))
        self._of_all = float(alpha) / m
        super().__init__(design, Y, alpha / (m - 2))

    @property
    def _final_alpha(self) -> float:
        return self._of_all

    def _prepare(self) -> None:
        m = len(self._y)
        self._everyone = np.arange(m)
        above = np.sign(self._y[:, None] - self._y)
        counts = above != 0 if self.loss == "disagreement" else ~np.eye(m, dtype=bool)
        self._above, self._counts = above, counts.astype(np.float64)
        if not counts.any():
            raise InputError("y has no two different values; there is no order to find.")

    def _pair_losses(self, z: Floats, inverse: float, tau: float) -> NDArray[Any] | None:
        """What each pair costs, m x m."""
        everyone = self._everyone
        first, second, det = self._residuals(everyone, everyone, z, inverse, tau)
        np.fill_diagonal(det, np.inf)
        if det.min() <= ROOM:
            return None
        gap = first - second
        np.fill_diagonal(gap, 0.0)
        if self.loss == "squared":
            return np.asarray(gap * gap)
        gap = self._above * (self._y[:, None] - self._y - gap)
        return disorder(gap, self._blur)

    def _mean(self, losses: NDArray[Any]) -> float:
        return float((self._counts * losses).sum() / self._counts.sum())

    def standard_error(self) -> float:
        """Of a mean over pairs: its first-order part is a mean over samples (Hoeffding)."""
        if self._losses is None:
            return float("nan")
        m = len(self._y)
        off = 2 * (self._counts * (self._losses - self.error)).sum(1) / self._counts.sum()
        return float(np.sqrt(off @ off * m / (m - 1)))
