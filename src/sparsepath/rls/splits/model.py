r"""Exact cross-validation over any splits, from sums of products: after them nothing grows with m.

For a split with training part and test part let K = X'X over the training rows, centred there,
and let D hold the same products over the test rows, centred with the *training* means. With the
letters of ``leave_one_out/model.py`` on the training part (t = Z'x, pivot = alpha + s) and, on the
test rows,

    d_i   what is left of column i after regression on the chosen features, training coefficients
    e     what is left of the target

a candidate changes e to e - omega d_i with omega = c_i / pivot_i, so that its test error is
e'e - 2 omega e'd_i + omega^2 d_i'd_i: three numbers per candidate and split. Choosing b changes
them by rank one. With u = t_new / sqrt(pivot_b), so that d_i becomes d_i - u_i d_b,

    d_b'd_i = x_i'd_b - sum_l (d_b'd_l) u_l,i        x_i'd_b = D_i,b - sum_l (x_i'd_l) u_l,b

where l runs over the features chosen before: O(n |S|) per split and step.

The columns K_b and D_b of a chosen feature come from Gram matrices per split, or, where those
would be larger than the data, from one product X'V per step, V holding x_b on each part in turn.

Rounding. Sums of products know what is left of a column to 1e-16 of its square, and with
A = K + alpha I of the chosen features everything is blurred by the largest K_jj (A^-1)_jj. A
candidate of which less than ``FINE`` of its square is left, and every candidate once that number
has reached 1 / ``FINE``, is judged from the rows (``rows.py``), unless the data are so large
that it would take too long.
"""

import copy
from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.data.splitting import Split
from sparsepath.errors import InputError
from sparsepath.rls.design import Design
from sparsepath.rls.splits.asked import standard_error
from sparsepath.rls.splits.rows import RowFits, coefficients
from sparsepath.rls.splits.sums import SplitSums
from sparsepath.rls.update import EveryNeighbour
from sparsepath.tuning import TUNING

COLLINEAR_IN_PART = 1e-12  # part of a column's square that is left, from which it counts as nothing
FINE = 1e-6  # the same, from which sums of products tell too little
VANISHED = 1e-13  # part of the target's squares that is no more than rounding in such sums

Two = tuple[Floats, Floats]
Three = tuple[Floats, Floats, Floats]


class FoldModel(EveryNeighbour):
    """A model on a growing and shrinking set of features, judged by its error on test parts.

    Splits are as a scikit-learn splitter yields them. The error is the mean over splits of the mean
    squared error on the test part, as ``cross_val_score`` has it; ``pooled``: all squared errors
    over all test rows. Sums of products that are known already serve every penalty.
    """

    counts = False  # whether mistakes are counted, so that the squared criterion settles ties

    def __init__(
        self,
        design: Design,
        Y: Floats,
        alpha: float,
        splits: Sequence[Split],
        pooled: bool = False,
        sums: SplitSums | None = None,
    ) -> None:
        self.design, self.alpha, self.pooled = design, float(alpha), pooled
        self.sums = SplitSums(design, Y, splits) if sums is None else sums
        self._Y = Y
        numbers = design.n_samples * design.n_features
        self.by_rows = self.sums.plain and numbers * self.sums.n_splits <= TUNING.judged_by_rows
        self._compiled = numbers >= TUNING.compiled_search_from
        self._reset()
        self.empty_error, self.empty_squared = self.error, self.squared_error

    def _reset(self) -> None:
        """The empty model."""
        sums = self.sums
        n, F = self.design.n_features, sums.n_splits
        test, train = slice(0, F), slice(F, 2 * F)
        w = sums.weight
        center = self.design.fit_intercept
        self.mu = sums.x[train] / w[train, None] if center else np.zeros((F, n))
        nu = sums.y[train] / w[train, None] if center else np.zeros((F, sums.y.shape[1]))
        self._nu = nu
        self.share = np.full(F, w[test].sum()) if self.pooled else w[test] * F
        mu, x, y = self.mu, sums.x[test], sums.y[test]

        def outer(a: Floats, b: Floats) -> Floats:
            return a[:, :, None] * b[:, None]

        self.s = sums.squares[train] - w[train, None] * mu**2
        self.sizes = np.maximum(sums.squares[train], 0.0)
        self.c = sums.xy[train] - w[train, None, None] * outer(mu, nu)
        self.dd = sums.squares[test] - 2 * mu * x + w[test, None] * mu**2
        self.ed = sums.xy[test] - outer(mu, y) - outer(x, nu) + w[test, None, None] * outer(mu, nu)
        self._sse = (sums.yy[test] - 2 * nu * y + w[test, None] * nu**2).sum(1)
        self._c0, self._ed0, self._sse0 = self.c, self.ed, self._sse
        self.rough = False  # whether the rows have to be asked about everything
        self._fits: RowFits | None = None
        self._dead = self.design.constant
        self._G = np.zeros((F, 0, 0))  # d_l = sum_j G_lj x_j
        self._inverse = np.zeros((F, 0))  # the diagonal of A^-1
        self.chosen: list[int] = []
        self._coef: tuple[list[int], Floats] | None = None  # and the list they are for
        self._UH = np.zeros((2, F, 0, n))  # u and x'd of the chosen features, and room for more
        self._lent = False  # whether a copy of this model has the same room
        self._after: tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]] | None = None
        self._rho2 = np.zeros((F, 0))
        self._DD = np.zeros((F, 0, 0))
        self._K = np.zeros((F, 0, 0))
        self._D = np.zeros((F, 0, 0))
        self._all: tuple[Floats, ...] = ()

    # What a search asks -------------------------------------------------------------------------

    @property
    def fits(self) -> RowFits:
        """The chosen columns fitted to the rows of every training part."""
        if self._fits is None:
            design, pairs = self.design, self.sums.pairs
            self._fits = RowFits(design, self._Y, self.alpha, pairs, self.chosen)
        return self._fits

    @property
    def sse(self) -> Floats:
        """Squared errors on each test part, summed."""
        if not self.rough:
            return self._sse
        parts = enumerate(self.fits.parts)
        return np.array([self._squares(f, part.e[:, :, None])[0] for f, part in parts])

    def _judge(self, f: int, residuals: Floats, reach: Floats) -> Floats:
        """What residuals cost on the test rows of split f: rows x T x models to models.

        ``reach`` is that of each model; see ``criteria/losses.py``. Squares do not ask for it.
        """
        return self._squares(f, residuals)

    def _squares(self, f: int, residuals: Floats) -> Floats:
        w = self.design.weights[self.sums.pairs[f][1]]
        return np.asarray(np.einsum("i,itb,itb->b", w, residuals, residuals))

    def _from_rows(self, f: int, residuals: Floats, reach: Floats, squared: bool) -> Floats:
        """What residuals cost that were computed from the rows."""
        return self._squares(f, residuals) if squared else self._judge(f, residuals, reach)

    def _reach_with(self, features: NDArray[np.intp]) -> Floats:
        """The reach of the model with each of some features added."""
        return np.zeros(len(features))

    def _reach_without(self) -> Floats:
        """The reach of the model with each chosen feature dropped."""
        return np.zeros(len(self.chosen))

    def _joined(self, errors: Floats) -> Floats:
        """The criterion, from what models cost in every split."""
        return self._joined_squares(errors)

    def _joined_squares(self, errors: Floats) -> Floats:
        return np.asarray((errors / self.share[:, None]).sum(0))

    @property
    def fold_errors(self) -> Floats:
        """Mean squared error on each test part."""
        return self.sse / self.sums.weight[: self.sums.n_splits]

    @property
    def error(self) -> float:
        return self.squared_error

    @property
    def squared_error(self) -> float:
        """The squared criterion, whatever the loss."""
        return float((self.sse / self.share).sum())

    @property
    def vanished(self) -> bool:
        return bool(self.sse.sum() <= VANISHED * self._sse0.sum())

    def standard_error(self) -> float:
        """Standard error of the mean over splits (see ``asked.py``); NaN for a single one."""
        return float(standard_error(self.fold_errors, self.sums.overlap))

    def additions(self, features: NDArray[np.intp], squared: bool = False) -> Floats:
        """The criterion with each of some features added."""
        return self.errors_with(features, squared)[features]

    def duplicate(self) -> Self:
        """A copy to try changes on; arrays are shared until they change."""
        self._lent = True
        return copy.copy(self)

    def errors_with(
        self, features: NDArray[np.intp] | None = None, squared: bool = False
    ) -> Floats:
        """The criterion with each feature added; infinite where it is collinear in some split.

        If only some features are asked for, the others may be left infinite. ``squared`` asks for
        the squared criterion, whatever the loss.
        """
        which = np.arange(len(self._dead)) if features is None else features
        if self.rough:
            errors = np.full(len(self._dead), np.inf)
        else:
            errors = self._squares_by_sums() if squared else self._errors_by_sums()
            which = which[self.doubtful[which]]
        if self.by_rows and len(which):
            out = self._dead.copy()
            out[self.chosen] = True
            which = which[~out[which]]
        if self.by_rows and len(which):
            errors[which] = self._errors_by_rows(which, squared)
        return errors

    @property
    def doubtful(self) -> NDArray[np.bool_]:
        """The candidates of which sums of products tell too little."""
        if self._after is not None:
            return self._after[1]
        return np.asarray((self.s + self.alpha <= FINE * self.sizes).any(0))

    def _errors_by_sums(self) -> Floats:
        return self._squares_by_sums()

    def _squares_by_sums(self) -> Floats:
        if self._after is not None:
            errors, _, closed = self._after
            return np.where(closed | self.design.constant, np.inf, errors)
        pivots, fine = self._pivots()
        omega = self.c / pivots[:, :, None]
        change = np.einsum("fit,fit->fi", omega, omega * self.dd[:, :, None] - 2 * self.ed)
        return np.where(fine, self._joined_squares(self._sse[:, None] + change), np.inf)

    def _pivots(self) -> tuple[Floats, NDArray[np.bool_]]:
        """The pivots of all candidates, one where they are of no use, and where they are of use."""
        pivots = self.s + self.alpha
        fine = pivots > COLLINEAR_IN_PART * self.sizes
        return np.where(fine, pivots, 1.0), fine.all(0) & ~self.design.constant

    def _errors_by_rows(self, which: NDArray[np.intp], squared: bool) -> Floats:
        """The criterion with each of some features added, from the rows."""
        fits, F = self.fits, self.sums.n_splits
        joined = self._joined_squares if squared else self._joined
        out = np.empty(len(which))
        width = max(1, TUNING.strip_numbers // self.design.n_samples)
        for i in range(0, len(which), width):
            some = which[i : i + width]
            X = self.design.columns(some)
            errors, usable = np.empty((F, len(some))), np.ones(len(some), dtype=bool)
            for f, part in enumerate(fits.parts):
                judged = fits.judge(f, some, X)
                usable &= judged.usable
                left = part.e[:, :, None] - judged.d[:, None] * judged.omega.T
                errors[f] = self._from_rows(f, left, self._reach_with(some), squared)
            out[i : i + width] = np.where(usable, joined(errors), np.inf)
            # What is collinear stays so while features are only added.
            self._dead = self._dead.copy()
            self._dead[some[~usable]] = True
        return out

    def add(self, b: int) -> None:
        """Add a feature."""
        if b in self.chosen:
            raise InputError(f"feature {b} is chosen already.")
        if self.by_rows and (self.rough or self.doubtful[b]):
            if not np.isfinite(self.errors_with(np.array([b]))[b]):
                raise InputError(f"feature {b} is collinear with the chosen ones.")
            self.chosen = [*self.chosen, int(b)]
            self.rough, self._fits = True, None
            return
        self._fits = None
        K, D, everywhere = self._columns(b)
        k = len(self.chosen)
        if k == self._UH.shape[2] or self._lent:
            room = min(max(8, 2 * k), K.shape[1])
            wider = np.empty((*self._UH.shape[:2], room, K.shape[1]))
            wider[:, :, :k] = self._UH[:, :, :k]
            self._UH, self._lent = wider, False
        U, H = self._UH[:, :, :k]
        pivot = self.s[:, b] + self.alpha
        if np.any(pivot <= COLLINEAR_IN_PART * self.sizes[:, b]):
            raise InputError(f"feature {b} is collinear with the chosen ones.")
        u_b = U[:, :, b]
        d_l = _less(H[:, :, b], u_b, self._DD)
        d_bb = self.dd[:, b].copy()
        self._omega = omega = self.c[:, b] / pivot[:, None]
        e_b = self.ed[:, b].copy()
        c_b = self.c[:, b].copy()

        self._sse = np.maximum(self._sse + (omega * (omega * d_bb[:, None] - 2 * e_b)).sum(1), 0.0)
        steps = (u_b * self._rho2, u_b, d_l)
        if self._compiled:
            self._follow(K, D, steps, (pivot, d_bb), (omega, e_b, c_b))
        else:
            self._u = u = _less(K, steps[0], U)
            u /= pivot[:, None]
            x_d = _less(D, u_b, H)
            g = _less(x_d, d_l, U)
            self.ed = (
                self.ed
                - u[:, :, None] * (e_b - omega * d_bb[:, None])[:, None]
                - g[:, :, None] * omega[:, None]
            )
            self.dd = self.dd + u * (u * d_bb[:, None] - 2 * g)
            self.s = self.s - u * u * pivot[:, None]
            self.c = self.c - u[:, :, None] * c_b[:, None]
            self._UH[:, :, k] = u, x_d
        self._rho2 = np.concatenate([self._rho2, pivot[:, None]], axis=1)
        self._all = (*self._all, everywhere)
        self.chosen = [*self.chosen, int(b)]
        self._DD = _bordered(self._DD, np.concatenate([d_l, d_bb[:, None]], axis=1))
        self._K = _bordered(self._K, K[:, self.chosen])
        self._D = _bordered(self._D, D[:, self.chosen])
        v = (u_b[:, None] @ self._G)[:, 0]  # x_b is regressed on the chosen ones by v
        self._inverse = np.concatenate(
            [self._inverse + v * v / pivot[:, None], 1.0 / pivot[:, None]], axis=1
        )
        self._G = _below(self._G, -v)
        blur = self.sizes[:, self.chosen] * self._inverse
        self.rough = self.by_rows and bool(FINE * blur.max() >= 1.0)

    def _follow(self, K: Floats, D: Floats, steps: Three, of_b: Two, numbers: Three) -> None:
        """The same in a compiled loop, which judges the columns too."""
        from sparsepath.rls.splits.compiled import follow

        k, n = len(self.chosen), K.shape[1]
        sums = (self.s, self.dd, self.c, self.ed)
        changed = tuple(np.empty_like(of) for of in sums)
        self._after = errors, low, closed = np.empty(n), np.empty(n, bool), np.empty(n, bool)
        given = (self._sse, self.share, self.sizes, self.alpha, (FINE, COLLINEAR_IN_PART))
        new = (*changed, errors, low, closed)
        follow(K, D, self._UH, k, steps, of_b, numbers, sums, *given, new)
        self.s, self.dd, self.c, self.ed = changed
        self._u = self._UH[0, :, k].copy()

    def _columns(self, b: int) -> tuple[Floats, Floats, Floats]:
        """K_b, D_b of every split, and the column over all rows."""
        sums, mu = self.sums, self.mu
        F, w = sums.n_splits, sums.weight
        products = sums.column(b)
        test, train = products[:F], products[F : 2 * F]
        m_b, x_b = mu[:, b, None], sums.x[:F, b, None]
        K = train - (w[F : 2 * F, None] * m_b) * mu
        D = test - mu * x_b - sums.x[:F] * m_b + (w[:F, None] * m_b) * mu
        everywhere = products[-1]
        if self.design.fit_intercept:
            everywhere = everywhere - sums.x[-1] * (sums.x[-1, b] / w[-1])
        return K, D, everywhere

    def errors_without(self, squared: bool = False) -> Floats:
        """The criterion with each chosen feature dropped, in the order of ``chosen``.

        From the sums over the chosen features alone: dropping b changes the coefficients
        w = A^-1 c to w - (A^-1)_b w_b / (A^-1)_bb, and the test error is quadratic in them.
        """
        if self.rough:
            reach, joined = self._reach_without(), self._joined_squares if squared else self._joined
            left = enumerate(self.fits.without(f) for f in range(self.sums.n_splits))
            return joined(np.array([self._from_rows(f, e, reach, squared) for f, e in left]))
        W = self._coefficients_without()
        DW = np.einsum("fij,fjbt->fibt", self._D, W) - 2 * self._ed0[:, self.chosen][:, :, None]
        sse = self._sse0[:, None] + np.einsum("fibt,fibt->fb", W, DW)
        return (sse / self.share[:, None]).sum(0)

    def _coefficients_without(self) -> Floats:
        """Training coefficients with each chosen feature dropped: splits x |S| x dropped x T."""
        A = self._K + self.alpha * np.eye(len(self.chosen))
        root = np.sqrt(np.einsum("fii->fi", A))
        square = root[:, :, None] * root[:, None]
        inverse = np.linalg.inv(A / square) / square
        w = inverse @ self._c0[:, self.chosen]
        step = inverse / np.einsum("fbb->fb", inverse)[:, None]
        return w[:, :, None] - step[:, :, :, None] * w[:, None]

    def drop(self, b: int) -> None:
        """Drop a feature: the others are added anew, which costs O(n |S|^2) but no data."""
        if b not in self.chosen:
            raise InputError(f"feature {b} is not chosen; these are: {self.chosen}.")
        self.refit([i for i in self.chosen if i != b])

    def refit(self, features: Iterable[int]) -> None:
        """Begin again, and add some features."""
        self._reset()
        for i in features:
            self.add(i)

    # The model on all rows ----------------------------------------------------------------------

    def coef(self) -> Floats:
        """Coefficients of the chosen features in the units of the data, |S| x T."""
        if self._coef is None or self._coef[0] is not self.chosen:
            self._coef = self.chosen, self._coefficients()
        return self._coef[1]

    def _coefficients(self) -> Floats:
        S = self.chosen
        if not S:
            return np.zeros((0, self.sums.y.shape[1]))
        if self.rough:
            fitted = coefficients(self.design, self._Y, self.alpha, S)
            return self.design.scales[S, None] * fitted
        A = np.array([column[S] for column in self._all]) + self.alpha * np.eye(len(S))
        c = self.sums.xy[-1][S]
        if self.design.fit_intercept:
            c = c - np.outer(self.sums.x[-1][S], self.sums.y[-1]) / self.sums.weight[-1]
        root = np.sqrt(np.diag(A))[:, None]
        return self.design.scales[S, None] * (np.linalg.solve(A / root / root.T, c / root) / root)

    def intercept(self) -> Floats:
        """The constant term, one per target."""
        return self.sums.y_mean - self.design.means[self.chosen] @ self.coef()


def _less(a: Floats, x: Floats, A: Floats) -> Floats:
    """Rows a less x'A, split by split."""
    return a - (x[:, None] @ A)[:, 0]


def _below(A: Floats, last: Floats) -> Floats:
    """Triangular matrices with one more row, which ends in one, split by split."""
    F, k = last.shape
    out = np.zeros((F, k + 1, k + 1))
    out[:, :k, :k] = A
    out[:, k, :k] = last
    out[:, k, k] = 1.0
    return out


def _bordered(A: Floats, last: Floats) -> Floats:
    """Symmetric matrices with one more row and column, split by split."""
    F, k = last.shape
    out = np.empty((F, k, k))
    out[:, : k - 1, : k - 1] = A
    out[:, -1] = out[:, :, -1] = last
    return out
