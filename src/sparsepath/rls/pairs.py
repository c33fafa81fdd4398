r"""Leave-pair-out: the area under the ROC curve by exact cross-validation.

For every positive sample i and negative sample j the model is fitted without both and has to rank
them. With P, r and g of ``state.py``, leaving out rows B = {i, j} gives the residuals

    (e_i g_i, e_j g_j) = (P_BB)^-1 (r_i, r_j),        f = y - e,

and the pair is wrong if f_i <= f_j. Adding a feature changes P to P - zz'/pivot and r to
r - z tau, dropping one changes them to P + qq' and r - q tau, so that every candidate costs one
evaluation of all pairs and no fit. P is kept as an m x m matrix: for up to some thousands of
samples.
"""

import copy
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import Floats
from sparsepath.errors import InputError
from sparsepath.rls.design import Design
from sparsepath.rls.losses import NO_DECISION, ROOM
from sparsepath.rls.state import COLLINEAR, OFF_CENTRE, VANISHED
from sparsepath.rls.update import Costs, Update, pick

MOST_SAMPLES = 10000


class PairModel:
    """A model on a growing and shrinking set of features, judged by leave-pair-out AUC error.

    Parameters
    ----------
    design : Design
        The data; all features are held in memory, centred.
    Y : array of shape (m, 1)
        +1 and -1.
    alpha : float
        The ridge penalty, zero or more.
    """

    def __init__(self, design: Design, Y: Floats, alpha: float) -> None:
        if Y.shape[1] != 1:
            raise InputError("loss='auc' is for two classes; use 'balanced' for more.")
        if design.n_samples > MOST_SAMPLES:
            raise InputError(
                f"loss='auc' compares all pairs of samples and takes at most {MOST_SAMPLES}; "
                f"there are {design.n_samples}. Use loss='balanced'."
            )
        self.design, self.alpha = design, float(alpha)
        self.costs: Costs | None = None
        w = design.weights
        counted = np.flatnonzero(w > 0)
        self._g = np.sqrt(w[counted])
        self._y = Y[counted, 0]
        self.y_mean = (w @ Y) / design.total if design.fit_intercept else np.zeros(1)
        self._X = design.rows(counted) * self._g[:, None]
        self._positive = np.flatnonzero(self._y > 0)
        self._negative = np.flatnonzero(self._y <= 0)
        self._reset()
        self.empty_error = self.error

    def _reset(self) -> None:
        g, m = self._g, len(self._g)
        self._P = np.eye(m)
        if self.design.fit_intercept:
            self._P -= np.outer(g, g) / self.design.total
        self._r = g * (self._y - self.y_mean[0])
        self._C = self._X.copy()
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

    def errors_with(self, features: NDArray[np.intp]) -> Floats:
        """The criterion with each of some features added; infinite where it cannot be said."""
        Z = self._C[:, features]
        pivots = np.einsum("ij,ij->j", self._X[:, features], Z) + self.alpha
        usable = self._usable(features, pivots)
        pivots = np.where(usable, pivots, 1.0)
        tau = self._X[:, features].T @ self._r / pivots
        return np.where(usable, self._judge(Z, 1.0 / pivots, tau), np.inf)

    def errors_without(self) -> Floats:
        """The criterion with each chosen feature dropped, in the order of ``chosen``."""
        XS = self._X[:, self.chosen]
        inverse = np.linalg.inv(XS.T @ XS + self.alpha * np.eye(XS.shape[1]))
        scale = np.sqrt(np.diag(inverse))
        y = self._g * (self._y - self.y_mean[0])
        tau = -(inverse @ (XS.T @ y)) / scale
        return self._judge(XS @ inverse / scale, np.full(len(tau), -1.0), tau)

    def add(self, b: int) -> None:
        """Add a feature."""
        z = self._C[:, b].copy()
        pivot = float(self._X[:, b] @ z) + self.alpha
        if b in self.chosen or not self._usable(np.array([b]), np.array([pivot]))[0]:
            raise InputError(f"feature {b} is chosen already or collinear with the chosen ones.")
        self._r = self._r - z * (self._X[:, b] @ self._r / pivot)
        self._P -= np.outer(z, z / pivot)
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

    def duplicate(self) -> "PairModel":
        """A copy to try changes on."""
        other = copy.copy(self)
        other._P, other._C, other.chosen = self._P.copy(), self._C.copy(), list(self.chosen)
        return other

    def coef(self) -> Floats:
        """Coefficients of the chosen features in the units of the data, |S| x 1."""
        XS = self._X[:, self.chosen]
        A = XS.T @ XS + self.alpha * np.eye(XS.shape[1])
        w = np.linalg.solve(A, XS.T @ (self._g * (self._y - self.y_mean[0])))
        return (self.design.scales[self.chosen] * w)[:, None]

    def intercept(self) -> Floats:
        """The constant term."""
        return self.y_mean - self.design.means[self.chosen] @ self.coef()

    @property
    def vanished(self) -> bool:
        """Whether nothing is left of the residuals but rounding."""
        return bool(self._r @ self._r <= VANISHED**2 * self._first)

    def standard_error(self) -> float:
        """Of the area, over positive and negative samples (DeLong)."""
        a, b = self._wrong.mean(1), self._wrong.mean(0)
        if min(len(a), len(b)) < 2:
            return float("nan")
        return float(np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)))

    # Pairs --------------------------------------------------------------------------------------

    def _measure(self) -> None:
        wrong = self._wrong_pairs(np.zeros((len(self._r), 1)), np.ones(1), np.zeros(1), 0)
        shape = (len(self._positive), len(self._negative))
        self._wrong: NDArray[np.bool_] = np.zeros(shape, dtype=bool)
        self.error = np.inf
        if wrong is not None:
            self._wrong = wrong
            self.error = float(self._mean(wrong))

    def _judge(self, Z: Floats, inverse: Floats, tau: Floats) -> Floats:
        """The criterion after each of some changes r - z tau, P - zz' inverse."""
        out = np.full(len(tau), np.inf)
        for i in range(len(tau)):
            wrong = self._wrong_pairs(Z, inverse, tau, i)
            if wrong is not None:
                out[i] = self._mean(wrong)
        return out

    def _mean(self, wrong: NDArray[np.bool_]) -> float:
        """Weighted share of wrong pairs; a pair's weight is the product of its samples' weights."""
        w = self._g**2
        a, b = w[self._positive], w[self._negative]
        return float(a @ wrong @ b / (a.sum() * b.sum()))

    def _wrong_pairs(
        self, Z: Floats, inverse: Floats, tau: Floats, i: int
    ) -> NDArray[np.bool_] | None:
        """Which pairs are ranked wrongly, positives x negatives; None if a pair leaves no room."""
        pos, neg = self._positive, self._negative
        z = Z[:, i]
        r = self._r - z * tau[i]
        p = np.diag(self._P) - z * z * inverse[i]
        cross = self._P[np.ix_(pos, neg)] - np.outer(z[pos] * inverse[i], z[neg])
        det = np.outer(p[pos], p[neg]) - cross**2
        if det.min() <= ROOM:
            return None
        e_pos = (p[neg] * r[pos, None] - cross * r[neg]) / det / self._g[pos, None]
        e_neg = (p[pos, None] * r[neg] - cross * r[pos, None]) / det / self._g[neg]
        f_pos, f_neg = self._y[pos, None] - e_pos, self._y[neg] - e_neg
        return np.asarray(f_pos <= f_neg + NO_DECISION)

    def _usable(self, features: NDArray[np.intp], pivots: Floats) -> NDArray[np.bool_]:
        squares, sizes = self.design.squares[features], self.design.sizes[features]
        floor = COLLINEAR**2 * squares + (OFF_CENTRE * sizes) ** 2
        return np.asarray(pivots > floor)
