r"""Leave-pair-out: ranking and the area under the ROC curve by exact cross-validation.

For a pair of samples i and j the model is fitted without both and has to rank them. With P, r and
g of ``passes/engine.py``, leaving out rows B = {i, j} gives the residuals

    (e_i g_i, e_j g_j) = (P_BB)^-1 (r_i, r_j),        f = y - e.

For the area (``PairModel``) i is a positive sample, j a negative one, and the pair is wrong if
f_i < f_j, half wrong if they are equal. For ranking (``RankModel``) all pairs count, by
(e_i - e_j)^2 / 2 or by their order; ties of counts are broken by the mean of the former. Adding a
feature changes P to P - zz'/pivot and r to r - z tau, dropping one changes them to P + qq' and
r - q tau, so that every candidate costs one evaluation of all pairs and no fit.

Order. Scores may be tiny relative to y, so that y - e would lose their digits. So the model keeps H
= P0 - P and F = Hy, the fitted values without the constant term (rows are multiplied by g
throughout), and h = diag H. With an intercept and y centred, u the sum of all weights,

    g_B f_B  =  P_BB^-1 (P_BB y_B - r_B)  =  P_BB^-1 (F_B - H_BB y_B - g_B (g_i y_i + g_j y_j) / u),

and with a = F_i - h_i y_i - H_ij y_j, b = F_j - h_j y_j - H_ij y_i, the adjugate of P_BB gives

    det (f_i - f_j)  =  (P_jj a - P_ij b) / g_i - (P_ii b - P_ij a) / g_j
                        - (g_i y_i + g_j y_j) / u (h_i - h_j + H_ij (g_j / g_i - g_i / g_j)),

in which the terms that do not depend on the features have cancelled: all that is left is of the
size of the scores. H is kept as an m x m matrix: for up to some thousands of samples.
"""

import copy
from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dger

from sparsepath._core import pairs as core
from sparsepath.errors import InputError
from sparsepath.rls.criteria.losses import NO_DECISION, ROOM, Criterion, reach_of
from sparsepath.rls.design import Design
from sparsepath.rls.model import ExhaustiveEngine
from sparsepath.rls.update import VANISHED
from sparsepath.system.arrays import Floats
from sparsepath.system.tuning import TUNING

MOST_SAMPLES = 10000
SHARED_PAIRS = 1 << 20  # pairs of all candidates from which threads share them
FEWEST_RANKED = 4  # with a pair left out there must be another
FEWEST_CLASSED = 3  # or a sample
LEFT_OF_SCORES = 1e-14  # what a removal may leave of scores, over the reach of the model before it


class LeavePairOut(ExhaustiveEngine):
    """Model on a changing subset, evaluated by leaving out pairs of samples.

    All features are held in memory, centred, unless they are sparse and many. The target is m x 1;
    ``alpha`` is the ridge penalty of the evaluated models.
    """

    _instead: str

    def __init__(self, design: Design, Y: Floats, alpha: float) -> None:
        if design.n_samples > MOST_SAMPLES:
            raise InputError(
                f"leave-pair-out compares all pairs of samples and supports at most "
                f"{MOST_SAMPLES}; there are {design.n_samples}. Use {self._instead}."
            )
        self.design, self.alpha = design, float(alpha)
        w = design.weights
        counted = np.flatnonzero(w > 0)
        counted = counted[np.argsort(-Y[counted, 0], kind="stable")]
        self._g = np.sqrt(w[counted])
        self.y_mean = (w @ Y) / design.total if design.fit_intercept else np.zeros(1)
        self._y = Y[counted, 0] - self.y_mean[0]
        self._counted = counted
        # Kept: the columns and P X. Or, to save memory, neither: they are made from the data.
        numbers = len(counted) * design.n_features
        self._keeps = not design.sparse or numbers <= TUNING.kept_of_sparse
        self._X = design.rows(counted) * self._g[:, None] if self._keeps else None
        self._share = 1.0 / design.total if design.fit_intercept else 0.0
        self._reach = reach_of(design.squares, self.alpha)
        self._spread = float(np.ptp(self._y))
        self._prepare()
        self._pairs = core.Pairs(self._y, self._g, self._share, *self._span, ROOM)
        self._reset()
        self.empty_error, self.empty_squared = self.error, self.squared_error

    @abstractmethod
    def _prepare(self) -> None:
        """Determine the pairs; samples are sorted by descending y."""

    @property
    @abstractmethod
    def _span(self) -> tuple[int, int]:
        """Return bounds of the pairs i, j: i is below the first number, j at or above the
        second.
        """

    @abstractmethod
    def _weight(self, squared: bool) -> float:
        """Return the total weight of the pairs."""

    @abstractmethod
    def standard_error(self) -> float:
        """Return the standard error of the criterion."""

    def _reset(self) -> None:
        m = len(self._g)
        self._H, self._F = np.zeros((m, m)), np.zeros(m)
        self._C = None if self._X is None else self._X.copy()
        self.chosen: list[int] = []
        self._measure()

    # What a search asks -------------------------------------------------------------------------

    def _columns(self, features: NDArray[np.intp] | list[int]) -> Floats:
        """Return centred, scaled and weighted columns."""
        if self._X is not None:
            return self._X[:, features]
        which = np.asarray(features, dtype=np.intp)
        return self.design.columns(which)[self._counted] * self._g[:, None]

    def _projected(self, features: NDArray[np.intp], columns: Floats) -> Floats:
        """Return P times these columns."""
        return columns - self._H @ columns if self._C is None else self._C[:, features]

    def additions(self, features: NDArray[np.intp], squared: bool = False) -> Floats:
        """Return the criterion with each of some features added; infinite where it is undefined.

        ``squared`` returns the squared criterion, whatever the loss.
        """
        width = len(features) if self._keeps else max(1, TUNING.strip_numbers // len(self._g))
        strips = np.split(features, range(width, len(features), width)) if len(features) else []
        return np.concatenate([np.zeros(0), *(self._errors_with(s, squared) for s in strips)])

    def _errors_with(self, features: NDArray[np.intp], squared: bool) -> Floats:
        X = self._columns(features)
        Z = self._projected(features, X)
        pivots = np.einsum("ij,ij->j", X, Z) + self.alpha
        usable = pivots > self.design.floor(features)
        pivots = np.where(usable, pivots, 1.0)
        tau = X.T @ self._r / pivots
        reach = self._reach[self.chosen].sum() + self._reach[features]
        return np.where(usable, self._judge(Z, 1.0 / pivots, tau, reach, squared), np.inf)

    def errors_without(self, squared: bool = False) -> Floats:
        """Return the criterion with each selected feature removed, in the order of ``chosen``."""
        XS = self._columns(self.chosen)
        inverse = np.linalg.inv(XS.T @ XS + self.alpha * np.eye(XS.shape[1]))
        scale = np.sqrt(np.diag(inverse))
        tau = -(inverse @ (XS.T @ (self._g * self._y))) / scale
        reach = self._reach[self.chosen]
        Q, minus = XS @ inverse / scale, np.full(len(tau), -1.0)
        return self._judge(Q, minus, tau, reach.sum() - reach, squared)

    def add(self, b: int) -> None:
        """Add a feature."""
        one = np.array([b])
        x = self._columns(one)
        z = self._projected(one, x)[:, 0].copy()
        pivot = float(x[:, 0] @ z) + self.alpha
        if b in self.chosen or not pivot > self.design.floor(one)[0]:
            raise InputError(
                f"feature {b} is already selected or collinear with the selected ones."
            )
        self._F = self._F + z * (x[:, 0] @ self._r / pivot)
        self._H = dger(1.0 / pivot, z, z, a=self._H.T, overwrite_a=1).T
        if self._C is not None and self._X is not None:
            self._C = dger(-1.0 / pivot, z @ self._X, z, a=self._C.T, overwrite_a=1).T
        self.chosen.append(int(b))
        self._measure()

    def drop(self, b: int) -> None:
        """Remove a feature: the others are added again."""
        if b not in self.chosen:
            raise InputError(f"feature {b} is not selected; selected are: {self.chosen}.")
        others = [i for i in self.chosen if i != b]
        self._reset()
        for i in others:
            self.add(i)

    def duplicate(self) -> Self:
        """Return a copy."""
        other = copy.copy(self)
        other._H, other.chosen = self._H.copy(), list(self.chosen)
        other._C = None if self._C is None else self._C.copy()
        return other

    @property
    def _final_alpha(self) -> float:
        """Penalty of the model on all samples."""
        return self.alpha

    def coef(self) -> Floats:
        """Return the coefficients of the selected features in units of the data, |S| x 1."""
        if self._coef is None:
            XS = self._columns(self.chosen)
            A = XS.T @ XS + self._final_alpha * np.eye(XS.shape[1])
            w = np.linalg.solve(A, XS.T @ (self._g * self._y))
            self._coef: Floats | None = (self.design.scales[self.chosen] * w)[:, None]
        return self._coef

    def intercept(self) -> Floats:
        """Return the intercept."""
        return self.y_mean - self.design.means[self.chosen] @ self.coef()

    @property
    def _r(self) -> Floats:
        return self._g * self._y - self._F

    @property
    def vanished(self) -> bool:
        """Return whether the residuals are zero up to rounding."""
        y = self._g * self._y
        return bool(self._r @ self._r <= VANISHED**2 * (y @ y))

    @property
    def squared_error(self) -> float:
        """Return the squared criterion, whatever the loss."""
        return self._as_it_stands(True)[0] / self._weight(True)

    def _measure(self) -> None:
        """Compute the criterion of the current model and the contribution of every sample."""
        self._coef, squared = None, not self.counts
        total, self._own = self._as_it_stands(squared)
        self.error: float = total / self._weight(squared)

    def _as_it_stands(self, squared: bool) -> tuple[float, Floats]:
        """Return the sum over pairs, and the sums over the pairs of every sample."""
        blur = self._blur(self._reach[self.chosen].sum(keepdims=True))[0]
        return self._pairs.sums_by_sample(self._H, self._F, float(blur), squared)

    def _judge(
        self, Z: Floats, inverse: Floats, tau: Floats, reach: Floats, squared: bool
    ) -> Floats:
        """Return the criterion after each of some changes r - z tau, P - zz' inverse."""
        squared = squared or not self.counts
        change = (np.ascontiguousarray(Z.T), inverse, tau, self._blur(reach))
        threads = self.design.threads.n_threads if Z.size * len(Z) >= SHARED_PAIRS else 1
        sums = self._pairs.sums(self._H, self._F, *change, squared, threads)
        return np.asarray(sums / self._weight(squared))

    def _blur(self, reach: Floats) -> Floats:
        """Return the largest differences of scores that count as ties, for models of a reach."""
        before = self._reach[self.chosen].sum()
        reached = NO_DECISION * np.minimum(reach, 1.0) + LEFT_OF_SCORES * min(before, 1.0)
        return np.asarray(self._spread * reached)


class PairModel(LeavePairOut):
    """Model with the leave-pair-out AUC error; parameters of ``LeavePairOut``, y is +-1.

    The weight of a pair of a positive and a negative sample is the product of their weights.
    """

    _instead = "loss='balanced'"
    counts = True

    def _prepare(self) -> None:
        if (m := len(self._g)) < FEWEST_CLASSED:
            raise InputError(
                f"{m} samples are too few: leave-pair-out needs at least {FEWEST_CLASSED}."
            )
        self._n_positive = int(np.count_nonzero(self._y == self._y[0]))

    @property
    def _span(self) -> tuple[int, int]:
        return self._n_positive, self._n_positive

    def _weight(self, squared: bool) -> float:
        positive, negative = self._classes(self._g**2)
        return float(positive.sum() * negative.sum())

    def _classes(self, v: Floats) -> tuple[Floats, Floats]:
        return v[: self._n_positive], v[self._n_positive :]

    def standard_error(self) -> float:
        """Return the standard error of the AUC (DeLong) over weighted positive and negative
        samples.
        """
        if not np.isfinite(self.error):
            return float("nan")
        total = 0.0
        weights, own = self._classes(self._g**2), self._classes(self._own)
        for w, sums, others in zip(weights, own, weights[::-1], strict=True):
            if len(w) < 2:
                return float("nan")
            off = w / w.sum() * (sums / others.sum() - self.error)
            total += float(off @ off) * len(w) / (len(w) - 1)
        return float(np.sqrt(total))


class RankModel(LeavePairOut):
    r"""Least squares on all pairs of samples; each pair is evaluated by the fit without both.

    The objective is sum_{i<j} (d_i - d_j)^2 + alpha |w|^2 with d = y - Xw. With m samples the first
    sum is m sum_i (d_i - mean d)^2: ridge regression with an intercept and the penalty alpha / m.
    The evaluated models have m - 2 samples, hence the penalty alpha / (m - 2); the intercept
    cancels in e_i - e_j. All samples have weight one.

    If the loss does not count mistakes, the criterion is the mean over pairs of (e_i - e_j)^2 / 2,
    which for independent errors is their variance: the scale of a squared error per sample (for the
    empty model, the variance of y with m - 1). Otherwise it is the fraction of pairs with different
    targets in the wrong order; ties count one half.
    """

    _instead = "splits (cv=10)"

    def __init__(self, design: Design, Y: Floats, alpha: float, loss: Criterion) -> None:
        m = design.n_samples
        if m < FEWEST_RANKED:
            raise InputError(
                f"{m} samples are too few: leave-pair-out needs at least {FEWEST_RANKED}."
            )
        self.loss = loss
        self._of_all = float(alpha) / m
        super().__init__(design, Y, alpha / (m - 2))

    @property
    def counts(self) -> bool:
        return self.loss.counts

    @property
    def _final_alpha(self) -> float:
        return self._of_all

    def _prepare(self) -> None:
        m = len(self._y)
        _, level, count = np.unique(self._y, return_inverse=True, return_counts=True)
        self._partners = m - count[level].astype(np.float64)  # with a target of their own
        if not self._partners.any():
            raise InputError("y is constant; there is nothing to rank.")

    @property
    def _span(self) -> tuple[int, int]:
        return len(self._y), 0

    def _weight(self, squared: bool) -> float:
        # Pairs i, j and j, i are two, which halves the squares.
        ordered = self._partners_of(squared).sum()
        return float(ordered if squared else ordered / 2)

    def _partners_of(self, squared: bool) -> Floats:
        """Return the number of counted pairs of every sample."""
        m = len(self._y)
        return np.full(m, m - 1.0) if squared else self._partners

    def standard_error(self) -> float:
        """Return the standard error of a mean over pairs: its first-order part is a mean over
        samples (Hoeffding).
        """
        if not np.isfinite(self.error):
            return float("nan")
        m, squared = len(self._y), not self.counts
        mean = self.error * (2 if squared else 1)
        off = (self._own - mean * self._partners_of(squared)) / self._weight(squared)
        return float(np.sqrt(off @ off * m / (m - 1)))
